// Whole files, and which ones a folder has. Include where malloc and free are those of the C
// library.
#ifndef FILES_H
#define FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The bytes of the file, as many as there is room for: their number, 0 if it cannot be read.
static inline size_t read_into(const char *path, void *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(to, 1, room, f) : 0;
    if (f) fclose(f);
    return n;
}

// All bytes of the file and a zero behind them, to be freed; NULL if it cannot be read.
static inline void *read_whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    long n = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    char *bytes = n >= 0 ? (char *)calloc((size_t)n + 1, 1) : NULL;
    *size = bytes ? (size_t)n : 0;
    bool fine = bytes && !fseek(f, 0, SEEK_SET) && fread(bytes, 1, *size, f) == *size;
    if (f) fclose(f);
    if (fine) return bytes;
    free(bytes);
    *size = 0;
    return NULL;
}

static inline bool write_whole(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    bool fine = f && fwrite(bytes, 1, size, f) == size;
    if (f && fclose(f) != 0) fine = false;
    if (!fine) perror(path);
    return fine;
}

static inline bool file_exists(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f) fclose(f);
    return f != NULL;
}

// How many names in the folder begin and end so.
static inline int count_files(const char *folder, const char *begin, const char *end)
{
    DIR *list = opendir(folder);
    int n = 0;
    for (const struct dirent *e; list && (e = readdir(list)) != NULL;) {
        size_t length = strlen(e->d_name), last = strlen(end);
        bool ends = length >= last && !strcmp(e->d_name + length - last, end);
        n += ends && !strncmp(e->d_name, begin, strlen(begin));
    }
    if (list) closedir(list);
    return n;
}

// Files that replace others stand in their folder as samba-<hex>.tmp until they are complete.
static inline int count_temporaries(const char *folder)
{
    return count_files(folder, "samba-", ".tmp");
}

#endif
