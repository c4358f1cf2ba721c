/* file.h - of onnx_import.h and onnx_export.h: files, opened with suspicion. On POSIX systems (for
   gcc -std=c99: with _GNU_SOURCE) pipes and devices are refused, and links are followed only where
   a model may go; elsewhere fopen opens what it opens. */
#ifndef SAMBA_ONNX_FILE_H
#define SAMBA_ONNX_FILE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#define ONNX__POSIX 1
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#else
#define ONNX__POSIX 0
#endif

/* Opens a regular file to read. NULL with a reason. A pipe does not make it wait. */
static inline FILE *onnx__open(const char *path, const char **why)
{
#if ONNX__POSIX
    struct stat is;
    int handle = open(path, O_RDONLY | O_NONBLOCK);
    if (handle < 0 || fstat(handle, &is)) {
        *why = errno == ENOENT || errno == ENOTDIR ? "does not exist"
            : errno == EACCES                      ? "may not be read"
                                                   : "cannot be opened";
        if (handle >= 0) close(handle);
        return NULL;
    }
    FILE *f = S_ISREG(is.st_mode) ? fdopen(handle, "rb") : NULL;
    *why = S_ISDIR(is.st_mode) ? "is a folder, not a file"
        : S_ISREG(is.st_mode)  ? "cannot be opened"
                               : "is a pipe or a device, not a file";
    if (!f) close(handle);
#else
    FILE *f = fopen(path, "rb");
    *why = "cannot be opened";
#endif
    return f;
}

/* The bytes of an open file; -1: they cannot be counted. */
static inline int64_t onnx__file_size(FILE *f)
{
#if ONNX__POSIX
    struct stat is;
    return fseek(f, 0, SEEK_SET) || fstat(fileno(f), &is) ? -1 : (int64_t)is.st_size;
#else
    return fseek(f, 0, SEEK_END) ? -1 : (int64_t)ftell(f);
#endif
}

/* n bytes from the place at, to be freed. */
static inline uint8_t *onnx__read_part(FILE *f, int64_t at, size_t n)
{
    uint8_t *bytes = n < SIZE_MAX && at <= LONG_MAX ? (uint8_t *)malloc(n + 1) : NULL;
    bool fine = bytes && !fseek(f, (long)at, SEEK_SET) && fread(bytes, 1, n, f) == n;
    if (fine) return bytes;
    free(bytes);
    return NULL;
}

/* All of a file, to be freed. NULL, with a reason, if it cannot be read or is empty. */
static inline void *onnx__read_file(const char *path, size_t *size, const char **why)
{
    FILE *f = onnx__open(path, why);
    *size = 0;
    if (!f) return NULL;
    int64_t n = onnx__file_size(f);
    void *bytes = n > 0 && (uint64_t)n < SIZE_MAX ? onnx__read_part(f, 0, (size_t)n) : NULL;
    fclose(f);
    *why = n == 0 ? "is empty" : "cannot be read";
    *size = bytes ? (size_t)n : 0;
    return bytes;
}

/* What a path stands for when all links are followed, to be freed; NULL: unknown. */
static inline char *onnx__resolve(const char *path)
{
#if ONNX__POSIX
    return realpath(path, NULL);
#else
    char *copy = (char *)malloc(strlen(path) + 1);
    if (copy) strcpy(copy, path);
    return copy;
#endif
}

/* Of a path the folder, to be freed: "models/net.onnx" is in "models/.". */
static inline char *onnx__folder_of(const char *path)
{
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] != '/')
        n--;
    char *folder = (char *)malloc(n + 2);
    if (!folder) return NULL;
    memcpy(folder, path, n);
    strcpy(folder + n, ".");
    return folder;
}
#endif
