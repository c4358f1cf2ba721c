/* file.h - of onnx_import.h and onnx_export.h: a file in memory. */
#ifndef SAMBA_ONNX_FILE_H
#define SAMBA_ONNX_FILE_H

#include <stdio.h>
#include <stdlib.h>

/* All of a file, to be freed. NULL if it cannot be read or is empty. */
static inline void *onnx__read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    long n = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    void *bytes = n > 0 ? malloc((size_t)n) : NULL;
    bool fine = bytes && fseek(f, 0, SEEK_SET) == 0 && fread(bytes, 1, (size_t)n, f) == (size_t)n;
    if (f) fclose(f);
    if (!fine) free(bytes);
    *size = fine ? (size_t)n : 0;
    return fine ? bytes : NULL;
}
#endif
