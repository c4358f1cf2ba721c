/* string.h - what samba.h uses of it; see libc.c. */
#ifndef WEB_STRING_H
#define WEB_STRING_H
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
char *strchr(const char *text, int byte);
char *strstr(const char *text, const char *part);
size_t strcspn(const char *text, const char *any);
char *strerror(int number);
#endif
