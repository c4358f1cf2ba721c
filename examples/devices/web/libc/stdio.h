/* stdio.h - files in memory: samba_save and samba_restore use them, and the page takes from them
   what it downloads, and puts there what it loads. See libc.c. */
#ifndef WEB_STDIO_H
#define WEB_STDIO_H
#include <stddef.h>

typedef struct FILE FILE;
#define EOF (-1)
#define SEEK_SET 0
#define SEEK_END 2
extern FILE *const stderr;

FILE *fopen(const char *name, const char *mode);
int fclose(FILE *f);
int fgetc(FILE *f);
int fputc(int byte, FILE *f);
size_t fread(void *to, size_t size, size_t n, FILE *f);
size_t fwrite(const void *from, size_t size, size_t n, FILE *f);
int fseek(FILE *f, long offset, int from);
long ftell(FILE *f);
int feof(FILE *f);
int ferror(FILE *f);
int fflush(FILE *f);
int fprintf(FILE *f, const char *format, ...);
int remove(const char *name);
int rename(const char *from, const char *to);

/* Makes an empty file of this size for the page to fill; NULL without memory. */
void *file_make(const char *name, size_t size);
/* What is in a file; NULL if there is none. */
void *file_bytes(const char *name, size_t *size);
#endif
