/* base.h - what companions and tools share: text of other people, and files that replace others.

   Part of the headers that include it: all functions are private to the file, and nothing is to be
   enabled. C99 or C++11; needs nothing else.

   Names of tensors, paths, lines of data are written by other people: any bytes may be in them.
   They leave a program by samba_base_write or samba_base_shown alone, which know how each language
   spells a character so that it stays a character:

       samba_base_write(f, SAMBA_BASE_C_COMMENT, name);
       printf("%s: written\n", samba_base_shown(path, room, sizeof room));

   A file is written as samba.h writes its own: beside the file that it will replace, under the name
   samba-<16 hex digits>.tmp, which nobody else has; when it is complete and on disk it takes the
   place of the other one, of which nothing is lost until then. A link is replaced, not followed.

       samba_base_output o;
       if (!samba_base_begin(&o, path, NULL, why, sizeof why)) return false;
       fprintf(o.file, ...);
       return samba_base_end(&o, true, why, sizeof why); */
#ifndef SAMBA_BASE_H
#define SAMBA_BASE_H

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__unix__) || defined(__APPLE__)
#define SAMBA_BASE__POSIX 1
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#if !defined(__cplusplus)
extern FILE *fdopen(int handle, const char *mode); /* strict -std=c99 hides them */
extern int fsync(int handle);
#endif
#if defined(O_CLOEXEC)
#define SAMBA_BASE__CLOEXEC O_CLOEXEC
#else
#define SAMBA_BASE__CLOEXEC 0
#endif
#else
#define SAMBA_BASE__POSIX 0
#endif

/* ==== Numbers ================================================================================= */
/* A host program may have chosen a locale in which 1.5 is 1,5. Files and flags of samba.h's
   companions have the point everywhere: what follows is fprintf, snprintf and strtod without the
   locale. */

typedef struct samba_base__sink {
    FILE *to;   /* or, if NULL: */
    char *text; /* with room for size bytes and their 0 */
    size_t size, n;
} samba_base__sink;

static inline void samba_base__put(samba_base__sink *sink, const char *p, size_t n)
{
    if (sink->to) fwrite(p, 1, n, sink->to);
    for (size_t i = 0; !sink->to && i < n; i++) {
        if (sink->n + i < sink->size) sink->text[sink->n + i] = p[i];
    }
    sink->n += n;
}

/* One conversion of a format: "%-*.3f". */
typedef struct samba_base__conversion {
    char spec[40]; /* without its stars */
    bool left;
    int width, precision; /* -1: none */
    int longs;            /* how many l; z, j and t count as a size */
    bool sized;
    char letter;
} samba_base__conversion;

static inline void samba_base__put_string(samba_base__sink *sink, const samba_base__conversion *c,
                                          const char *p)
{
    size_t n = 0, width = c->width > 0 ? (size_t)c->width : 0;
    while ((c->precision < 0 || n < (size_t)c->precision) && p[n])
        n++;
    for (size_t i = n; !c->left && i < width; i++)
        samba_base__put(sink, " ", 1);
    samba_base__put(sink, p, n);
    for (size_t i = n; c->left && i < width; i++)
        samba_base__put(sink, " ", 1);
}

static inline void samba_base__put_float(samba_base__sink *sink, const char *spec, double x)
{
    char text[600]; /* the largest double with some decimals */
    const char *point = localeconv()->decimal_point;
    size_t n = (size_t)snprintf(text, sizeof text, spec, x);
    char *at = *point ? strstr(text, point) : NULL;
    if (n >= sizeof text) n = sizeof text - 1;
    size_t head = at ? (size_t)(at - text) : n, tail = at ? head + strlen(point) : n;
    samba_base__put(sink, text, head);
    if (at) samba_base__put(sink, ".", 1);
    samba_base__put(sink, text + tail, n - tail);
}

/* Reads the conversion at fmt, which begins behind the %; returns what stands behind it. */
static inline const char *samba_base__read_conversion(samba_base__conversion *c, const char *fmt,
                                                      va_list *args)
{
    size_t n = 1;
    memset(c, 0, sizeof *c);
    c->spec[0] = '%';
    c->width = c->precision = -1;
    int *number = &c->width;
    for (; *fmt && n + 14 < sizeof c->spec; fmt++) {
        if (*fmt == '*') {
            *number = va_arg(*args, int);
            n += (size_t)snprintf(c->spec + n, sizeof c->spec - n, "%d", *number);
            continue;
        }
        bool digit = *fmt >= '0' && *fmt <= '9';
        if (digit) *number = (*number < 0 ? 0 : *number * 10) + (*fmt - '0');
        if (*fmt == '-') c->left = true;
        if (*fmt == '.') {
            number = &c->precision;
            c->precision = 0;
        }
        if (*fmt == 'l') c->longs++;
        if (*fmt == 'z' || *fmt == 'j' || *fmt == 't') c->sized = true;
        c->spec[n++] = *fmt;
        if (!digit && !strchr("-+ #.lzjth", *fmt)) break;
    }
    c->letter = *fmt;
    return *fmt ? fmt + 1 : fmt;
}

static inline void samba_base__put_formatted(samba_base__sink *sink, const char *fmt, va_list *args)
{
    samba_base__conversion c;
    char text[80];
    while (*fmt) {
        size_t plain = strcspn(fmt, "%");
        samba_base__put(sink, fmt, plain);
        fmt += plain;
        if (!*fmt) break;
        fmt = samba_base__read_conversion(&c, fmt + 1, args);
        text[0] = 0;
        if (c.letter == '%')
            samba_base__put(sink, "%", 1);
        else if (c.letter == 's')
            samba_base__put_string(sink, &c, va_arg(*args, const char *));
        else if (strchr("fFeEgGaA", c.letter))
            samba_base__put_float(sink, c.spec, va_arg(*args, double));
        else if (c.longs > 1)
            snprintf(text, sizeof text, c.spec, va_arg(*args, long long));
        else if (c.longs == 1)
            snprintf(text, sizeof text, c.spec, va_arg(*args, long));
        else if (c.sized)
            snprintf(text, sizeof text, c.spec, va_arg(*args, size_t));
        else
            snprintf(text, sizeof text, c.spec, va_arg(*args, int));
        samba_base__put(sink, text, strlen(text));
    }
}

#if defined(__GNUC__)
#define SAMBA_BASE__FORMAT(fmt, first) __attribute__((unused, format(printf, fmt, first)))
#else
#define SAMBA_BASE__FORMAT(fmt, first)
#endif

SAMBA_BASE__FORMAT(2, 3) static inline void samba_base_print(FILE *to, const char *fmt, ...)
{
    samba_base__sink sink = { to, NULL, 0, 0 };
    va_list args;
    va_start(args, fmt);
    samba_base__put_formatted(&sink, fmt, &args);
    va_end(args);
}

/* Returns how long the text is, or would be with room enough. */
SAMBA_BASE__FORMAT(3, 4)

static inline int samba_base_format(char *text, size_t size, const char *fmt, ...)
{
    samba_base__sink sink = { NULL, text, size ? size - 1 : 0, 0 };
    va_list args;
    va_start(args, fmt);
    samba_base__put_formatted(&sink, fmt, &args);
    va_end(args);
    if (size) text[sink.n < size ? sink.n : size - 1] = 0;
    return (int)sink.n;
}

/* The number that text begins with, of at most 300 characters; *end, unless NULL, is behind it. */
static inline double samba_base_number(const char *text, char **end)
{
    char copy[400];
    const char *point = localeconv()->decimal_point;
    if (strcmp(point, ".") == 0 || !*point) return strtod(text, end);
    size_t n = 0, at = SIZE_MAX, size = strlen(point);
    for (size_t i = 0; text[i] && i < 300 && strncmp(text + i, point, size) != 0; i++) {
        bool is_point = text[i] == '.' && at == SIZE_MAX;
        if (is_point) at = i;
        memcpy(copy + n, is_point ? point : text + i, is_point ? size : 1);
        n += is_point ? size : 1;
        if (n + size >= sizeof copy) break;
    }
    copy[n] = 0;
    char *stop = copy;
    double x = strtod(copy, &stop);
    size_t read = (size_t)(stop - copy);
    if (at != SIZE_MAX && read > at) read -= size - 1;
    uintptr_t behind = (uintptr_t)text + read;
    if (end) *end = (char *)behind;
    return x;
}

/* ==== Text ==================================================================================== */

/* Bytes of the character of UTF-8 at p, of which n can be read, at least one; or, with *bad, of the
   longest beginning of one: what a decoder that replaces errors makes one U+FFFD of (Unicode 16.0,
   section 3.9, "maximal subpart"). */
static inline size_t samba_base_step(const void *text, size_t n, bool *bad)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned lead = p[0], low = 0x80, high = 0xBF;
    size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    *bad = lead >= 0x80 && (lead < 0xC2 || lead > 0xF4);
    if (*bad) return 1;
    if (lead == 0xE0) low = 0xA0;  /* no longer forms */
    if (lead == 0xED) high = 0x9F; /* no surrogates */
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F; /* nothing above U+10FFFF */

    for (size_t i = 1; i < size; i++) {
        if (i == n || p[i] < low || p[i] > high) {
            *bad = true;
            return i;
        }
        low = 0x80;
        high = 0xBF;
    }
    return size;
}

/* How many of the n bytes at p are one character, whose number is *code; 0: they begin with none.
 */
static inline size_t samba_base_character(const void *text, size_t n, uint32_t *code)
{
    const unsigned char *p = (const unsigned char *)text;
    bool bad = true;
    size_t size = n > 0 ? samba_base_step(p, n, &bad) : 0;
    if (bad) return 0;
    uint32_t c = p[0];
    if (size > 1) c &= 0x7Fu >> size;
    for (size_t i = 1; i < size; i++)
        c = c << 6 | (p[i] & 0x3Fu);
    *code = c;
    return size;
}

/* Where a text is going. A language of people shows what is no printable character as \xNN, byte
   for byte; C_STRING and JSON stand for the same characters. */
typedef enum samba_base_language {
    SAMBA_BASE_TERMINAL,  /* one line */
    SAMBA_BASE_C_COMMENT, /* within either kind of comment */
    SAMBA_BASE_C_STRING,  /* between the quotes: the same bytes */
    SAMBA_BASE_HTML,      /* text, or an attribute in quotes */
    SAMBA_BASE_JSON       /* between the quotes, in ASCII; also within an HTML script element */
} samba_base_language;

enum { SAMBA_BASE_SPELLING = 24 }; /* room for a character as any language spells it */

/* Control characters, and those that change the direction of what follows: source that is read in
   another order than it is compiled (Boucher and Anderson, "Trojan Source", 2021). */
static inline bool samba_base__is_unseen(uint32_t c)
{
    bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
    bool direction = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E)
        || (c >= 0x2066 && c <= 0x2069);
    return control || direction || c == 0x2028 || c == 0x2029 || c == 0xFEFF;
}

/* Each byte as \xNN. before: what a language puts in front of a backslash. */
static inline void samba_base__spell_bytes(const char *at, size_t n, const char *before, char *to)
{
    for (size_t i = 0; i < n; i++)
        to += snprintf(to, 6, "%s\\x%02X", before, (unsigned)(unsigned char)at[i]);
}

static inline void samba_base__spell_json(uint32_t c, char *to)
{
    static const char plain[] = "\"\\\n\r\t\b\f", letters[] = "\"\\nrtbf";
    const char *found = c && c < 0x80 ? strchr(plain, (int)c) : NULL;
    bool safe = c >= 0x20 && c < 0x7F && c != '<' && c != '>' && c != '&';
    if (found)
        snprintf(to, 3, "\\%c", letters[found - plain]);
    else if (safe)
        snprintf(to, 2, "%c", (int)c);
    else if (c < 0x10000)
        snprintf(to, 7, "\\u%04x", (unsigned)c);
    else
        snprintf(to, 17, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (c >> 10)),
                 (unsigned)(0xDC00 + (c & 0x3FF)));
}

/* Octal has three digits at most, so that a digit behind it is none of its. ?? may begin a
   trigraph:
   ??/ is a backslash. */
static inline void samba_base__spell_c_string(const char *at, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)at[i];
        if (c == '"' || c == '\\' || c == '?')
            to += snprintf(to, 3, "\\%c", c);
        else if (c < ' ' || c > '~')
            to += snprintf(to, 5, "\\%03o", (unsigned)c);
        else
            to += snprintf(to, 2, "%c", c);
    }
}

static inline const char *samba_base__html_name(uint32_t c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Spells the character of UTF-8, or the byte that belongs to none, with which the n bytes at `at`
   begin; n is not 0. Returns how many bytes that is. */
static inline size_t samba_base_spell(samba_base_language language, const char *at, size_t n,
                                      char spelling[SAMBA_BASE_SPELLING])
{
    uint32_t c = 0;
    size_t whole = samba_base_character(at, n, &c), size = whole ? whole : 1;
    const char *name = language == SAMBA_BASE_HTML ? samba_base__html_name(c) : NULL;
    /* a comment ends at an asterisk and a slash, and goes on behind a backslash at the end of a
       line, which ??/ stands for */
    bool ends = language == SAMBA_BASE_C_COMMENT && (c == '*' || c == '\\' || c == '?');
    bool layout = language == SAMBA_BASE_HTML && (c == '\n' || c == '\t');

    if (language == SAMBA_BASE_C_STRING)
        samba_base__spell_c_string(at, size, spelling);
    else if (language == SAMBA_BASE_JSON && whole)
        samba_base__spell_json(c, spelling);
    else if (name)
        snprintf(spelling, SAMBA_BASE_SPELLING, "%s", name);
    else if (!whole || ends || (samba_base__is_unseen(c) && !layout))
        samba_base__spell_bytes(at, size, language == SAMBA_BASE_JSON ? "\\" : "", spelling);
    else
        snprintf(spelling, SAMBA_BASE_SPELLING, "%.*s", (int)size, at);
    return size;
}

/* Writes a text as the language spells it, without quotes around it. */
static inline void samba_base_write_bytes(FILE *to, samba_base_language language, const char *text,
                                          size_t n)
{
    char spelling[SAMBA_BASE_SPELLING];
    for (size_t i = 0; i < n;) {
        i += samba_base_spell(language, text + i, n - i, spelling);
        fputs(spelling, to);
    }
}

static inline void samba_base_write(FILE *to, samba_base_language language, const char *text)
{
    samba_base_write_bytes(to, language, text, strlen(text));
}

/* A text as a terminal may be given it, in `room`, which is returned; it ends with ... if there is
   too little room for all of it. */
static inline const char *samba_base_shown(const char *text, char *room, size_t size)
{
    char spelling[SAMBA_BASE_SPELLING];
    size_t n = strlen(text), used = 0, cut = 0; /* cut: where ... still fits */
    room[0] = 0;
    for (size_t i = 0; i < n;) {
        i += samba_base_spell(SAMBA_BASE_TERMINAL, text + i, n - i, spelling);
        size_t more = strlen(spelling);
        if (used + more >= size) {
            memcpy(room + cut, size < 4 ? "" : "...", size < 4 ? 1 : 4);
            break;
        }
        memcpy(room + used, spelling, more + 1);
        used += more;
        if (used + 4 <= size) cut = used;
    }
    return room;
}

/* ==== Files =================================================================================== */

/* A file that is being written. */
typedef struct samba_base_output {
    FILE *file;
    int handle;             /* of it, in POSIX */
    char *path, *temporary; /* the file that it becomes; where it is until then */
    bool stays;             /* there: the old one is gone, and this one could not be renamed */
    bool named;             /* it has taken the place of the old one */
} samba_base_output;

/* False, with the reason. */
static inline bool samba_base__refuse(char *why, size_t size, const char *path, const char *reason)
{
    char room[500];
    samba_base_shown(path, room, sizeof room);
    if (why && size && snprintf(why, size, "%s: %s", room, reason) < 0) *why = 0;
    return false;
}

static inline bool samba_base__refuse_errno(char *why, size_t size, const char *path)
{
    char reason[200];
    snprintf(reason, sizeof reason, "it cannot be written: %s",
             errno ? strerror(errno) : "is the disk full?");
    return samba_base__refuse(why, size, path, reason);
}

/* SplitMix64 (Steele, Lea, Flood, 2014): each bit of the result depends on each of x. */
static inline uint64_t samba_base__mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* The next number of SplitMix64; any state is a seed. */
static inline uint64_t samba_base__draw(uint64_t *state)
{
    uint64_t drawn = samba_base__mix(*state);
    *state += 0x9E3779B97F4A7C15u;
    return drawn;
}

/* The folder of path with its slash, "" for the one we are in, and samba-<16 hex digits><ending>,
   of other digits with each call. NULL: no memory. */
static inline char *samba_base__name_beside(const char *path, const char *ending)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *name = (char *)malloc(folder + 32 + strlen(ending));
    if (!name) return NULL;
    uint64_t key = samba_base__mix((uint64_t)time(NULL)) ^ (uint64_t)clock();
#if SAMBA_BASE__POSIX
    key ^= samba_base__mix((uint64_t)getpid());
#endif
    key = samba_base__mix(key ^ samba_base__mix((uint64_t)(uintptr_t)name));
    memcpy(name, path, folder);
    snprintf(name + folder, 32 + strlen(ending), "samba-%08lx%08lx%s", (unsigned long)(key >> 32),
             (unsigned long)(key & 0xFFFFFFFFu), ending);
    return name;
}

/* Are both names those of one file? */
static inline bool samba_base_same_file(const char *a, const char *b)
{
#if SAMBA_BASE__POSIX
    struct stat s, t;
    if (!stat(a, &s) && !stat(b, &t)) return s.st_dev == t.st_dev && s.st_ino == t.st_ino;
#endif
    return strcmp(a, b) == 0;
}

/* Does the file that has this name begin with up to 1,000 bytes among which `mark` stands? An empty
   one does. */
static inline bool samba_base__has_mark(const char *path, const char *mark)
{
    char begin[1001];
    size_t n, length = strlen(mark);
    FILE *f = fopen(path, "rb");
    if (!f) return errno == ENOENT;
    n = fread(begin, 1, sizeof begin - 1, f);
    bool has = n == 0 && !ferror(f);
    for (size_t i = 0; !has && i + length <= n; i++)
        has = memcmp(begin + i, mark, length) == 0;
    fclose(f);
    return has;
}

/* May a file be written there? There is none, or a regular one; and with a mark, it has that. */
static inline bool samba_base_may_replace(const char *path, const char *mark, char *why,
                                          size_t size)
{
#if SAMBA_BASE__POSIX
    struct stat about;
    errno = 0;
    bool there = stat(path, &about) == 0;
    if (!there && errno != ENOENT) return samba_base__refuse_errno(why, size, path);
    if (there && S_ISDIR(about.st_mode))
        return samba_base__refuse(why, size, path, "this is a folder; name a file in it");
    if (there && !S_ISREG(about.st_mode))
        return samba_base__refuse(why, size, path, "what has this name is no regular file");
#endif
    if (!mark || samba_base__has_mark(path, mark)) return true;
    return samba_base__refuse(
        why, size, path,
        "another file has this name, which is none of those "
        "that are written here, so it stays: remove it, or choose another name");
}

#if SAMBA_BASE__POSIX
/* "samba-<16 hex digits>" and the ending, of four characters */
static inline bool samba_base__is_ours(const char *name, const char *ending)
{
    return strlen(name) == 26 && strncmp(name, "samba-", 6) == 0
        && strspn(name + 6, "0123456789abcdef") == 16 && strcmp(name + 22, ending) == 0;
}

/* Opens a file or a folder that nobody holds the lock of; -1: somebody does. */
static inline int samba_base__open_left(const char *name)
{
    int handle = open(name, O_RDONLY | O_NONBLOCK | SAMBA_BASE__CLOEXEC);
    if (handle < 0 || !flock(handle, LOCK_EX | LOCK_NB)) return handle;
    close(handle);
    return -1;
}

/* Removes a folder for scratch files, with what is in it. */
static inline void samba_base__sweep_folder(const char *folder)
{
    size_t n = strlen(folder);
    char *name = (char *)malloc(n + 32);
    DIR *list = name ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (list && (entry = readdir(list)) != NULL) {
        bool ours = samba_base__is_ours(entry->d_name, ".tmp") || !strcmp(entry->d_name, "file");
        if (ours) snprintf(name, n + 32, "%s/%.26s", folder, entry->d_name);
        if (ours) unlink(name);
    }
    if (list) closedir(list);
    free(name);
    rmdir(folder);
}

/* Removes temporary files and folders that killed programs left in the folder of this path: nobody
   holds their locks. */
static inline void samba_base__sweep(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *name = (char *)malloc(folder + 32);
    if (!name) return;
    memcpy(name, path, folder);
    memcpy(name + folder, ".", 2);
    DIR *list = opendir(name);

    const struct dirent *entry;
    while (list && (entry = readdir(list)) != NULL) {
        bool is_folder = samba_base__is_ours(entry->d_name, ".dir");
        if (!is_folder && !samba_base__is_ours(entry->d_name, ".tmp")) continue;
        memcpy(name + folder, entry->d_name, 27);
        int handle = samba_base__open_left(name);
        if (handle >= 0 && is_folder) samba_base__sweep_folder(name);
        if (handle >= 0 && !is_folder) unlink(name);
        if (handle >= 0) close(handle);
    }

    if (list) closedir(list);
    free(name);
}

/* Creates the file, which is not there yet, and locks it, which tells others that it is no
   leftover. One of them may sweep it away before that: it has no link then. -1: it cannot be. */
static inline int samba_base__create(const char *name, unsigned mode)
{
    struct stat about;
    int handle = open(name, O_WRONLY | O_CREAT | O_EXCL | SAMBA_BASE__CLOEXEC, mode);
    if (handle < 0) return -1;
    flock(handle, LOCK_EX); /* file systems without locks have no sweepers either */
    bool known = fstat(handle, &about) == 0;
    if (known && about.st_nlink > 0) return handle;
    int reason = known ? EEXIST : errno;
    if (!known) unlink(name);
    close(handle);
    errno = reason;
    return -1;
}

/* Whoever may not read the old file may not read the new one. 0: nobody can say who may. */
static inline unsigned samba_base__mode_of(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) return errno == ENOENT ? 0666u : 0u;
    return ((unsigned)about.st_mode & 0666u) | 0200u;
}

/* Puts what was written on the disk; some file systems cannot. */
static inline bool samba_base__sync(int handle)
{
    int failed;
    do
        failed = fsync(handle);
    while (failed && errno == EINTR);
    return !failed || errno == EINVAL;
}

/* The folder's entry has to reach the disk as well, or a power cut could bring the old file back.
   Who may write in a folder may still not read it: then that is left to the system. */
static inline bool samba_base__sync_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash) slash[slash == path] = 0;
    int handle;
    do
        handle = open(slash ? path : ".", O_RDONLY | SAMBA_BASE__CLOEXEC);
    while (handle < 0 && errno == EINTR);
    if (handle < 0) return errno == EACCES;
    bool fine = samba_base__sync(handle);
    int reason = errno;
    close(handle);
    errno = reason;
    return fine;
}
#endif

static inline FILE *samba_base__open_temporary(samba_base_output *o)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        free(o->temporary);
        o->temporary = samba_base__name_beside(o->path, ".tmp");
        if (!o->temporary) return NULL;
#if SAMBA_BASE__POSIX
        unsigned mode = samba_base__mode_of(o->path);
        o->handle = mode ? samba_base__create(o->temporary, mode) : -1;
        FILE *f = o->handle >= 0 ? fdopen(o->handle, "wb") : NULL;
        if (f) return f;
        if (o->handle >= 0) {
            close(o->handle);
            remove(o->temporary);
            return NULL;
        }
#else
        FILE *f = fopen(o->temporary, "wb");
        if (f) return f;
#endif
        if (errno != EEXIST && errno != EINTR) return NULL;
    }
    return NULL;
}

/* Begins a file that will replace the one at path. mark: NULL, or what a file has among its first
   1,000 bytes that may be replaced; others stay. False: *why has the reason, and nothing is to be
   ended. */
static inline bool samba_base_begin(samba_base_output *o, const char *path, const char *mark,
                                    char *why, size_t size)
{
    memset(o, 0, sizeof *o);
    if (!samba_base_may_replace(path, mark, why, size)) return false;
    size_t n = strlen(path) + 1;
    o->path = (char *)malloc(n);
    if (!o->path) return samba_base__refuse(why, size, path, "no memory");
    memcpy(o->path, path, n);
#if SAMBA_BASE__POSIX
    samba_base__sweep(path);
#endif
    errno = 0;
    o->file = samba_base__open_temporary(o);
    if (o->file) return true;

    samba_base__refuse_errno(why, size, path);
    free(o->temporary);
    free(o->path);
    return false;
}

/* Puts what was written on the disk, and in its place. */
static inline bool samba_base__finish(samba_base_output *o)
{
    if (ferror(o->file)) return false; /* errno is that of what failed, mostly */
    errno = 0;
    if (fflush(o->file) != 0) return false;
#if SAMBA_BASE__POSIX
    if (!samba_base__sync(o->handle)) return false;
    if (rename(o->temporary, o->path) != 0) return false;
    o->named = true;
    return samba_base__sync_folder(o->temporary);
#else
    FILE *f = o->file;
    o->file = NULL;
    if (fclose(f) != 0) return false;
    if (rename(o->temporary, o->path) == 0) return true;
    remove(o->path); /* rename does not replace there */
    o->stays = rename(o->temporary, o->path) != 0;
    return !o->stays;
#endif
}

/* Ends it. whole: it takes the place of the old one; else that stays, as it does after a failure;
   but if the folder alone could not be flushed, the new one is there, and a power cut may take it.
   Without POSIX rename may replace nothing, so the old one is removed before it. If the new one
   cannot be renamed then, it stays under its temporary name, which *why says. */
static inline bool samba_base_end(samba_base_output *o, bool whole, char *why, size_t size)
{
    bool fine = whole && samba_base__finish(o);
    if (o->stays)
        samba_base__refuse(why, size, o->temporary, "all of it is here: rename it");
    else if (whole && !fine)
        samba_base__refuse_errno(why, size, o->path);
    if (!fine && !o->stays && !o->named) remove(o->temporary);
    if (o->file) fclose(o->file);
    free(o->temporary);
    free(o->path);
    memset(o, 0, sizeof *o);
    return fine;
}

/* Writes these bytes as a whole file. */
static inline bool samba_base_replace(const char *path, const void *bytes, size_t n, char *why,
                                      size_t size)
{
    samba_base_output o;
    if (!samba_base_begin(&o, path, NULL, why, size)) return false;
    fwrite(bytes, 1, n, o.file);
    return samba_base_end(&o, true, why, size);
}

/* Puts a file that others have written on the disk, and gives it another name, which may be that of
   a file. False, with errno: it could not be, or its folder not be flushed. */
static inline bool samba_base_rename(const char *from, const char *to)
{
#if SAMBA_BASE__POSIX
    size_t n = strlen(to) + 1;
    char *name = (char *)malloc(n);
    int handle = name ? open(from, O_RDONLY | SAMBA_BASE__CLOEXEC) : -1;
    bool fine = handle >= 0 && samba_base__sync(handle) && rename(from, to) == 0;
    int reason = errno;
    if (handle >= 0) close(handle);
    errno = reason;
    if (fine) memcpy(name, to, n);
    fine = fine && samba_base__sync_folder(name);
    free(name);
    return fine;
#else
    return rename(from, to) == 0;
#endif
}

/* ---- A file for a while ---- */

/* A name for a file that others write and read, in a folder which nobody else may enter. */
typedef struct samba_base_scratch {
    char *folder, *file;
    bool locked; /* which tells others that it is no leftover */
    int lock;
} samba_base_scratch;

#if SAMBA_BASE__POSIX
/* Locks the folder that was made. False: one who sweeps was quicker. */
static inline bool samba_base__lock_folder(samba_base_scratch *scratch)
{
    struct stat named, locked;
    int handle = open(scratch->folder, O_RDONLY | SAMBA_BASE__CLOEXEC);
    if (handle < 0) return false;
    flock(handle, LOCK_EX); /* file systems without locks have no sweepers either */
    bool same = !stat(scratch->folder, &named) && !fstat(handle, &locked)
        && named.st_dev == locked.st_dev && named.st_ino == locked.st_ino;
    scratch->lock = handle;
    scratch->locked = same;
    if (!same) close(handle);
    return same;
}
#endif

static inline bool samba_base__make_folder(samba_base_scratch *scratch, const char *beside)
{
#if SAMBA_BASE__POSIX
    for (int attempt = 0; attempt < 10; attempt++) {
        free(scratch->folder);
        scratch->folder = samba_base__name_beside(beside, ".dir");
        if (!scratch->folder) return false;
        bool made = mkdir(scratch->folder, 0700) == 0;
        if (made && samba_base__lock_folder(scratch)) return true;
        int reason = errno;
        if (made) rmdir(scratch->folder);
        errno = reason;
        if (!made && reason != EEXIST) return false;
    }
    return false;
#else
    free(scratch->folder);
    scratch->folder = samba_base__name_beside(beside, ".dir");
    return scratch->folder != NULL;
#endif
}

/* Makes the folder beside a path. anywhere: where none can be there, in TMPDIR or /tmp; but from
   there a file may not be renamable to the path. */
static inline bool samba_base_open_scratch(samba_base_scratch *scratch, const char *beside,
                                           bool anywhere, char *why, size_t size)
{
    static const char name[] = "/file";
    memset(scratch, 0, sizeof *scratch);
#if SAMBA_BASE__POSIX
    samba_base__sweep(beside);
#endif
    errno = 0;
    bool made = samba_base__make_folder(scratch, beside);
#if SAMBA_BASE__POSIX
    const char *other = getenv("TMPDIR");
    char path[1024];
    int length = snprintf(path, sizeof path, "%s/", other && *other ? other : "/tmp");
    bool other_fits = anywhere && length < (int)sizeof path;
    if (!made && other_fits) made = samba_base__make_folder(scratch, path);
#endif
    if (!made) samba_base__refuse_errno(why, size, beside);

    size_t n = made ? strlen(scratch->folder) : 0;
    scratch->file = made ? (char *)malloc(n + sizeof name) : NULL;
    if (scratch->file) {
        memcpy(scratch->file, scratch->folder, n);
        memcpy(scratch->file + n, name, sizeof name);
#if !SAMBA_BASE__POSIX
        scratch->file[n] = '.'; /* no folder, but a name beside */
#endif
        return true;
    }
#if SAMBA_BASE__POSIX
    if (made) rmdir(scratch->folder);
    if (made) close(scratch->lock);
#endif
    if (made) samba_base__refuse(why, size, beside, "no memory");
    free(scratch->folder);
    memset(scratch, 0, sizeof *scratch);
    return false;
}

/* Removes the file, if it is there, and its folder. */
static inline void samba_base_close_scratch(samba_base_scratch *scratch)
{
    if (scratch->file) remove(scratch->file);
#if SAMBA_BASE__POSIX
    if (scratch->folder) rmdir(scratch->folder);
    if (scratch->locked) close(scratch->lock);
#endif
    free(scratch->file);
    free(scratch->folder);
    memset(scratch, 0, sizeof *scratch);
}

#endif /* SAMBA_BASE_H */
