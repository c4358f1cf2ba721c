/* safetensors.h - reads and writes .safetensors files, trusting nothing in them.

   Do this:
       #define SAMBA_SAFETENSORS_IMPLEMENTATION      in exactly ONE file, before
       #include <samba/safetensors.h>
       cc -O2 program.c -lcjson                      (Debian: libcjson-dev)

   The format: 8 bytes, the length of the header, little-endian; the header, JSON that maps each
   tensor's name to its type, shape and place; then the data of all tensors. Row-major,
   little-endian. Refused, with a sentence that says where and why:
     a header above 100 MB or longer than the file, that does not start with {, or that is followed
     by anything but spaces; JSON that is not strict (UTF-8, no \u0000, no key twice in an object);
     metadata that is not text; a type the format does not know; a size that is not shape x type;
     tensors that overlap, or bytes that belong to no tensor; more than 8 dimensions.
   Memory is linear in the length of the header, at most some 25 bytes for each of its bytes; time
   is n log n in the number of tensors. The data is read when it is asked for, and read, not mapped:
   a file that shrinks meanwhile is an error, not a signal. A name inside a file is never opened: a
   set of shards is what the caller lists, or what lies in a folder.

   Options: SAMBA_SAFETENSORS_STATIC makes all functions private to the file. Define both
   SAMBA_SAFETENSORS_MALLOC(size) and SAMBA_SAFETENSORS_FREE(p) to allocate elsewhere; cJSON has
   its own hooks. Needs libc, cJSON; C99 or C++11. */
#ifndef SAMBA_SAFETENSORS_H
#define SAMBA_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SAMBA_SAFETENSORS_API
#if defined(SAMBA_SAFETENSORS_STATIC)
#define SAMBA_SAFETENSORS_API static inline
#elif defined(__cplusplus)
#define SAMBA_SAFETENSORS_API extern "C"
#else
#define SAMBA_SAFETENSORS_API extern
#endif
#endif

/* Name in the file, bits of one element. */
#define SAMBA_SAFETENSORS__DTYPES(X) \
    X(F32, 32) \
    X(F16, 16) \
    X(BF16, 16) \
    X(F64, 64) \
    X(BOOL, 8) \
    X(U8, 8) \
    X(I8, 8) \
    X(U16, 16) \
    X(I16, 16) \
    X(U32, 32) \
    X(I32, 32) \
    X(U64, 64) \
    X(I64, 64) \
    X(F4, 4) \
    X(F6_E2M3, 6) \
    X(F6_E3M2, 6) \
    X(F8_E5M2, 8) \
    X(F8_E4M3, 8) \
    X(F8_E8M0, 8) \
    X(F8_E4M3FNUZ, 8) \
    X(F8_E5M2FNUZ, 8) \
    X(C64, 64)

typedef enum samba_safetensors_dtype {

#define X(name, bits) SAMBA_SAFETENSORS_##name,
    SAMBA_SAFETENSORS__DTYPES(X)
#undef X
        SAMBA_SAFETENSORS_N_DTYPES
} samba_safetensors_dtype;

#define SAMBA_SAFETENSORS_MAX_DIMS 8

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct samba_safetensors samba_safetensors;

/* What a file says of a tensor. Lives until close. A scalar has ndim 0 and one element. */
typedef struct samba_safetensors_tensor {
    const char *name; /* UTF-8 */
    samba_safetensors_dtype dtype;
    int32_t ndim;
    int64_t dim[SAMBA_SAFETENSORS_MAX_DIMS];
    uint64_t count, bytes; /* elements; bytes in the file */
    size_t file;           /* which of the paths holds it */
    uint64_t at;           /* private: where in that file */
} samba_safetensors_tensor;

/* Opens a model of one file, or of several shards, and proves their headers. NULL with the reason
   in why (which may be NULL) if anything is wrong. */
SAMBA_SAFETENSORS_API samba_safetensors *samba_safetensors_open(const char *const *paths,
                                                                size_t n_paths, char *why,
                                                                size_t why_size);
/* The weights of a model in a folder, as transformers' save_pretrained writes them: of
   model.safetensors, or else of all model-*.safetensors, which must be what a
   model.safetensors.index.json beside them says. */
SAMBA_SAFETENSORS_API samba_safetensors *samba_safetensors_open_folder(const char *folder,
                                                                       char *why, size_t why_size);
SAMBA_SAFETENSORS_API void samba_safetensors_close(samba_safetensors *f);
/* Tensors in the order of files and data; at returns NULL beyond the last. */
SAMBA_SAFETENSORS_API size_t samba_safetensors_count(const samba_safetensors *f);
SAMBA_SAFETENSORS_API const samba_safetensors_tensor *samba_safetensors_at(
    const samba_safetensors *f, size_t i);
/* By name, NULL if there is none. Binary search. */
SAMBA_SAFETENSORS_API const samba_safetensors_tensor *samba_safetensors_find(
    const samba_safetensors *f, const char *name);
/* Pairs of the __metadata__ of all files, in their order; false beyond the last. */
SAMBA_SAFETENSORS_API bool samba_safetensors_metadata(const samba_safetensors *f, size_t i,
                                                      const char **key, const char **value);
/* Copies elements first ... first+n-1 of t as f32 to out. F32 bit for bit; BF16 and F16 exactly;
   every other type is refused. */
SAMBA_SAFETENSORS_API bool samba_safetensors_read_f32(const samba_safetensors *f,
                                                      const samba_safetensors_tensor *t,
                                                      uint64_t first, uint64_t n, float *out,
                                                      char *why, size_t why_size);
/* Compares with a model.safetensors.index.json: the same tensors, each in the file the index says,
   by the last part of its path. Opens no file but the index. */
SAMBA_SAFETENSORS_API bool samba_safetensors_check_index(const samba_safetensors *f,
                                                         const char *index_path, char *why,
                                                         size_t why_size);
SAMBA_SAFETENSORS_API const char *samba_safetensors_dtype_name(samba_safetensors_dtype dtype);
/* "(768,2304)"; returns text. */
SAMBA_SAFETENSORS_API const char *samba_safetensors_shape_text(int32_t ndim, const int64_t *dim,
                                                               char *text, size_t text_size);

/* ---- Writing --------------------------------------------------------------------------------- */

/* A tensor to write: F32, BF16 or F16. Wide types first keep everything aligned. */
typedef struct samba_safetensors_entry {
    const char *name;
    samba_safetensors_dtype dtype;
    int32_t ndim;
    int64_t dim[SAMBA_SAFETENSORS_MAX_DIMS];
} samba_safetensors_entry;

typedef struct samba_safetensors_writer samba_safetensors_writer;

/* Begins a file beside path with the header. metadata: n_metadata pairs key, value; a file for
   Python's transformers has "format", "pt". NULL with a reason. */
SAMBA_SAFETENSORS_API samba_safetensors_writer *samba_safetensors_create(
    const char *path, const samba_safetensors_entry *entries, size_t n, const char *const *metadata,
    size_t n_metadata, char *why, size_t why_size);
/* Appends the next n elements: of the first entry, then the second ... in pieces of any size.
   Rounds to nearest even for BF16 and F16. What is not finite, or becomes so by that rounding, is
   a failure, unless the writer allows it. After a failure put does nothing. */
SAMBA_SAFETENSORS_API bool samba_safetensors_put(samba_safetensors_writer *w, const float *data,
                                                 uint64_t n);
SAMBA_SAFETENSORS_API void samba_safetensors_allow_nonfinite(samba_safetensors_writer *w);
/* Syncs, and renames that file to path: until then the old one stays. Fails with the first reason,
   also if elements are missing; the temporary file is then removed. Frees w either way. */
SAMBA_SAFETENSORS_API bool samba_safetensors_finish(samba_safetensors_writer *w, char *why,
                                                    size_t why_size);
/* Gives up: removes the temporary file, frees w. */
SAMBA_SAFETENSORS_API void samba_safetensors_abandon(samba_safetensors_writer *w);
/* All at once: data[i] has the elements of entries[i]. */
SAMBA_SAFETENSORS_API bool samba_safetensors_save(const char *path,
                                                  const samba_safetensors_entry *entries,
                                                  const float *const *data, size_t n, char *why,
                                                  size_t why_size);

/* ---- Strict JSON, for other readers of model files ------------------------------------------- */

/* Parses with cJSON what is strict JSON: one object, UTF-8, no \u0000, no key twice in an object,
   at most max_depth levels, numbers of at most 60 characters (integers: only whole numbers from 0
   to 2^53). what names the text in the reason. Free with cJSON_Delete. */
struct cJSON;
SAMBA_SAFETENSORS_API struct cJSON *samba_safetensors_json(const char *text, size_t size,
                                                           int max_depth, bool integers,
                                                           const char *what, char *why,
                                                           size_t why_size);
/* The same for a file of at most 100 MB. */
SAMBA_SAFETENSORS_API struct cJSON *samba_safetensors_json_file(const char *path, int max_depth,
                                                                char *why, size_t why_size);
/* Replaces a file by text, as finish does. */
SAMBA_SAFETENSORS_API bool samba_safetensors_replace(const char *path, const void *bytes,
                                                     size_t size, char *why, size_t why_size);
#endif /* SAMBA_SAFETENSORS_H */

/* ============================================================================================== */
#if defined(SAMBA_SAFETENSORS_IMPLEMENTATION) && !defined(SAMBA_SAFETENSORS__IMPLEMENTED)
#define SAMBA_SAFETENSORS__IMPLEMENTED

#include "base.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define SAMBA_SAFETENSORS__POSIX 1
#if defined(O_CLOEXEC)
#define SAMBA_SAFETENSORS__CLOEXEC O_CLOEXEC
#else
#define SAMBA_SAFETENSORS__CLOEXEC 0
#endif
#else
#define SAMBA_SAFETENSORS__POSIX 0
#endif

#if !defined(SAMBA_SAFETENSORS_MALLOC)
#define SAMBA_SAFETENSORS_MALLOC(size) malloc(size)
#define SAMBA_SAFETENSORS_FREE(p) free(p)
#endif

enum {
    SAMBA_SAFETENSORS__MAX_HEADER = 100000000,
    SAMBA_SAFETENSORS__CHUNK = 1 << 15, /* bytes converted at a time */
    SAMBA_SAFETENSORS__WHY = 512,
    SAMBA_SAFETENSORS__DEPTH = 3 /* header, tensor, shape */
};

static const uint64_t samba_safetensors__max_integer = (uint64_t)1
    << 53; /* exact in cJSON's double */

/* ---- Reasons ---- */

/* Where the reason goes, and what every reason begins with. */
typedef struct samba_safetensors__why {
    char *text;
    size_t size;
    const char *what;
} samba_safetensors__why;

static inline samba_safetensors__why samba_safetensors__why_of(char *text, size_t size,
                                                               const char *what)
{
    samba_safetensors__why why;
    why.text = text;
    why.size = text ? size : 0;
    why.what = what ? what : "NULL";
    if (why.size) text[0] = 0;
    return why;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline bool
samba_safetensors__fail(const samba_safetensors__why *why, const char *fmt, ...)
{
    va_list args;
    char text[SAMBA_SAFETENSORS__WHY];
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (why->size) snprintf(why->text, why->size, "%s: %s", why->what, text);
    for (char *p = why->size ? why->text : text; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 127) *p = '?'; /* names in files are hostile */
    }
    return false;
}

static inline bool samba_safetensors__fail_memory(const samba_safetensors__why *why, uint64_t size)
{
    return samba_safetensors__fail(why, "there is no memory for %llu bytes",
                                   (unsigned long long)size);
}

/* n items of size bytes; NULL also if the product is no size_t. Never a block of 0 bytes. */
static inline void *samba_safetensors__alloc(uint64_t n, size_t size,
                                             const samba_safetensors__why *why)
{
    void *p = NULL;
    if (n <= (SIZE_MAX - 1) / size) p = SAMBA_SAFETENSORS_MALLOC((size_t)n * size + 1);
    if (!p) samba_safetensors__fail_memory(why, n);
    return p;
}

/* ---- Sorting ---- */

typedef int (*samba_safetensors__order)(const void *a, const void *b);

static inline void samba_safetensors__sift(const void **a, size_t root, size_t n,
                                           samba_safetensors__order order)
{
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && order(a[child], a[child + 1]) < 0) child++;
        if (order(a[root], a[child]) >= 0) return;
        const void *t = a[root];
        a[root] = a[child];
        a[child] = t;
    }
}

/* Heapsort (Williams 1964): n log n whatever a hostile file does, unlike some libc's qsort. */
static inline void samba_safetensors__sort(const void **a, size_t n, samba_safetensors__order order)
{
    for (size_t i = n / 2; i > 0; i--)
        samba_safetensors__sift(a, i - 1, n, order);
    for (size_t i = n; i > 1; i--) {
        const void *t = a[0];
        a[0] = a[i - 1];
        a[i - 1] = t;
        samba_safetensors__sift(a, 0, i - 1, order);
    }
}

static inline int samba_safetensors__text_order(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

/* ---- Strict JSON ---- */

/* cJSON takes texts that are no JSON, ends strings at \u0000, and does not say whether memory or
   the text is to blame. So the text is proved first; then only memory can be. */
typedef struct samba_safetensors__scan {
    const char *text;
    size_t size, at;
    bool integers;
    const samba_safetensors__why *why;
} samba_safetensors__scan;

static inline int samba_safetensors__peek(const samba_safetensors__scan *s)
{
    return s->at < s->size ? (unsigned char)s->text[s->at] : -1;
}

static inline bool samba_safetensors__bad(const samba_safetensors__scan *s, const char *what)
{
    return samba_safetensors__fail(s->why, "at byte %llu of the JSON text: %s",
                                   (unsigned long long)s->at, what);
}

static inline void samba_safetensors__skip_space(samba_safetensors__scan *s)
{
    int c;
    while ((c = samba_safetensors__peek(s)) == ' ' || c == '\n' || c == '\r' || c == '\t')
        s->at++;
}

static inline bool samba_safetensors__digits(samba_safetensors__scan *s)
{
    size_t start = s->at;
    while (samba_safetensors__peek(s) >= '0' && samba_safetensors__peek(s) <= '9')
        s->at++;
    return s->at > start;
}

static inline bool samba_safetensors__scan_integer(samba_safetensors__scan *s)
{
    size_t start = s->at;
    uint64_t value = 0;
    if (!samba_safetensors__digits(s))
        return samba_safetensors__bad(s, "here must be a whole number from 0");
    for (size_t i = start; i < s->at; i++) {
        value = 10 * value + (uint64_t)(s->text[i] - '0');
        if (value > samba_safetensors__max_integer)
            return samba_safetensors__bad(s, "a number above 2^53");
    }
    if (s->text[start] == '0' && s->at > start + 1) {
        return samba_safetensors__bad(s, "a number must not begin with 0");
    }
    int c = samba_safetensors__peek(s);
    return c != '.' && c != 'e' && c != 'E'
        ? true
        : samba_safetensors__bad(s, "a number here must be whole, without point and exponent");
}

static inline bool samba_safetensors__scan_number(samba_safetensors__scan *s)
{
    size_t start = s->at;
    if (s->integers) return samba_safetensors__scan_integer(s);
    if (samba_safetensors__peek(s) == '-') s->at++;
    size_t first = s->at;
    if (!samba_safetensors__digits(s)) return samba_safetensors__bad(s, "here must be a value");
    if (s->text[first] == '0' && s->at > first + 1) {
        return samba_safetensors__bad(s, "a number must not begin with 0");
    }
    if (samba_safetensors__peek(s) == '.') {
        s->at++;
        if (!samba_safetensors__digits(s))
            return samba_safetensors__bad(s, "after the point must be a digit");
    }
    if (samba_safetensors__peek(s) == 'e' || samba_safetensors__peek(s) == 'E') {
        s->at++;
        if (samba_safetensors__peek(s) == '+' || samba_safetensors__peek(s) == '-') s->at++;
        if (!samba_safetensors__digits(s))
            return samba_safetensors__bad(s, "an exponent must have a digit");
    }
    return s->at - start <= 60 ? true
                               : samba_safetensors__bad(s, "a number of more than 60 characters");
}

/* Four hexadecimal digits; -1 if they are none. */
static inline int32_t samba_safetensors__hex4(samba_safetensors__scan *s)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        int c = samba_safetensors__peek(s);
        int digit = c >= '0' && c <= '9' ? c - '0'
            : c >= 'a' && c <= 'f'       ? c - 'a' + 10
            : c >= 'A' && c <= 'F'       ? c - 'A' + 10
                                         : -1;
        if (digit < 0) return -1;
        value = 16 * value + digit;
    }
    return value;
}

/* What follows a backslash. */
static inline bool samba_safetensors__scan_escape(samba_safetensors__scan *s)
{
    int c = samba_safetensors__peek(s);
    if (c > 0 && strchr("\"\\/bfnrt", c)) {
        s->at++;
        return true;
    }
    if (c != 'u') return samba_safetensors__bad(s, "an unknown escape in a string");
    s->at++;
    int32_t code = samba_safetensors__hex4(s);
    if (code < 0) return samba_safetensors__bad(s, "\\u needs four hexadecimal digits");
    if (code == 0) return samba_safetensors__bad(s, "\\u0000 in a string");
    if (code >= 0xDC00 && code <= 0xDFFF) return samba_safetensors__bad(s, "half a surrogate pair");
    if (code < 0xD800 || code > 0xDBFF) return true;
    if (samba_safetensors__peek(s) != '\\')
        return samba_safetensors__bad(s, "half a surrogate pair");
    s->at++;
    if (samba_safetensors__peek(s) != 'u')
        return samba_safetensors__bad(s, "half a surrogate pair");
    s->at++;
    code = samba_safetensors__hex4(s);
    return code >= 0xDC00 && code <= 0xDFFF ? true
                                            : samba_safetensors__bad(s, "half a surrogate pair");
}

/* Length of the UTF-8 character at p, 0 if it is none (Unicode 15, table 3-7). */
static inline size_t samba_safetensors__utf8(const unsigned char *p, size_t n)
{
    uint32_t code;
    return samba_base_character(p, n, &code);
}

static inline bool samba_safetensors__scan_string(samba_safetensors__scan *s)
{
    if (samba_safetensors__peek(s) != '"')
        return samba_safetensors__bad(s, "here must be a string");
    s->at++;
    for (int c; (c = samba_safetensors__peek(s)) != '"';) {
        if (c < 0) return samba_safetensors__bad(s, "the text ends inside a string");
        if (c < ' ') return samba_safetensors__bad(s, "a control character in a string");
        if (c == '\\') {
            s->at++;
            if (!samba_safetensors__scan_escape(s)) return false;
            continue;
        }
        size_t n = samba_safetensors__utf8((const unsigned char *)s->text + s->at, s->size - s->at);
        if (!n) return samba_safetensors__bad(s, "a string that is not UTF-8");
        s->at += n;
    }
    s->at++;
    return true;
}

static inline bool samba_safetensors__scan_literal(samba_safetensors__scan *s, const char *word)
{
    size_t n = strlen(word);
    if (s->size - s->at < n || memcmp(s->text + s->at, word, n)) {
        return samba_safetensors__bad(s, "here must be a value");
    }
    s->at += n;
    return true;
}

/* A value with what it contains. Recursion is as deep as levels allows. */
static inline bool samba_safetensors__scan_value(samba_safetensors__scan *s, int levels)
{
    int c = samba_safetensors__peek(s);
    if (c == '"') return samba_safetensors__scan_string(s);
    if (c == 't') return samba_safetensors__scan_literal(s, "true");
    if (c == 'f') return samba_safetensors__scan_literal(s, "false");
    if (c == 'n') return samba_safetensors__scan_literal(s, "null");
    if (c != '{' && c != '[') return samba_safetensors__scan_number(s);
    int close = c == '{' ? '}' : ']';
    if (levels == 0) return samba_safetensors__bad(s, "nested too deep");
    s->at++;
    samba_safetensors__skip_space(s);
    if (samba_safetensors__peek(s) == close) {
        s->at++;
        return true;
    }
    for (size_t n = 0;; n++) {
        if (s->integers && close == ']' && n == SAMBA_SAFETENSORS_MAX_DIMS) {
            return samba_safetensors__bad(s, "an array here has at most 8 numbers");
        }
        if (close == '}') {
            if (!samba_safetensors__scan_string(s)) return false;
            samba_safetensors__skip_space(s);
            if (samba_safetensors__peek(s) != ':')
                return samba_safetensors__bad(s, "here must be a colon");
            s->at++;
            samba_safetensors__skip_space(s);
        }
        if (!samba_safetensors__scan_value(s, levels - 1)) return false;
        samba_safetensors__skip_space(s);
        c = samba_safetensors__peek(s);
        if (c != ',' && c != close) {
            return samba_safetensors__bad(
                s, close == '}' ? "here must be , or }" : "here must be , or ]");
        }
        s->at++;
        if (c == close) return true;
        samba_safetensors__skip_space(s);
    }
}

/* No object below has a key twice. */
static inline bool samba_safetensors__unique_keys(const cJSON *item,
                                                  const samba_safetensors__why *why)
{
    size_t n = 0;
    const cJSON *child;
    cJSON_ArrayForEach(child, item)
    {
        n++;
        if (!samba_safetensors__unique_keys(child, why)) return false;
    }
    if (!cJSON_IsObject(item) || n < 2) return true;
    const void **keys = (const void **)samba_safetensors__alloc(n, sizeof *keys, why);
    if (!keys) return false;
    n = 0;
    cJSON_ArrayForEach(child, item) keys[n++] = child->string;
    samba_safetensors__sort(keys, n, samba_safetensors__text_order);
    const char *twice = NULL;
    for (size_t i = 1; i < n && !twice; i++) {
        if (!samba_safetensors__text_order(keys[i - 1], keys[i])) twice = (const char *)keys[i];
    }
    if (twice) samba_safetensors__fail(why, "the key \"%.100s\" stands twice in one object", twice);
    SAMBA_SAFETENSORS_FREE(keys);
    return !twice;
}

/* integers: a header, which begins with { and may be followed by spaces alone. */
static inline cJSON *samba_safetensors__parse(const char *text, size_t size, int max_depth,
                                              bool integers, const samba_safetensors__why *why)
{
    samba_safetensors__scan s;
    s.text = text;
    s.size = size;
    s.at = 0;
    s.integers = integers;
    s.why = why;
    if (!integers) samba_safetensors__skip_space(&s);
    if (samba_safetensors__peek(&s) != '{') {
        samba_safetensors__bad(&s, "the text must start with {");
        return NULL;
    }
    if (!samba_safetensors__scan_value(&s, max_depth)) return NULL;
    while (samba_safetensors__peek(&s) == ' ')
        s.at++;
    if (!integers) samba_safetensors__skip_space(&s);
    if (s.at < size) {
        samba_safetensors__bad(&s, "something follows the JSON object");
        return NULL;
    }
    cJSON *json = cJSON_ParseWithLength(text, size);
    if (!json)
        samba_safetensors__fail(why, "there is no memory to parse %llu bytes of JSON",
                                (unsigned long long)size);
    if (json && samba_safetensors__unique_keys(json, why)) return json;
    cJSON_Delete(json);
    return NULL;
}

SAMBA_SAFETENSORS_API struct cJSON *samba_safetensors_json(const char *text, size_t size,
                                                           int max_depth, bool integers,
                                                           const char *what, char *why,
                                                           size_t why_size)
{
    samba_safetensors__why w = samba_safetensors__why_of(why, why_size, what);
    if (text) return samba_safetensors__parse(text, size, max_depth, integers, &w);
    samba_safetensors__fail(&w, "the text is NULL");
    return NULL;
}

/* ---- Files to read ---- */

#if SAMBA_SAFETENSORS__POSIX
typedef int samba_safetensors__handle;
#define SAMBA_SAFETENSORS__NO_FILE (-1)
#else
typedef FILE *samba_safetensors__handle;
#define SAMBA_SAFETENSORS__NO_FILE NULL
#endif

static inline void samba_safetensors__close_handle(samba_safetensors__handle h)
{
#if SAMBA_SAFETENSORS__POSIX
    if (h >= 0) close(h);
#else
    if (h) fclose(h);
#endif
}

/* Opens a regular file; a pipe, which may never end, is refused. */
static inline samba_safetensors__handle samba_safetensors__open(const char *path, uint64_t *size,
                                                                const samba_safetensors__why *why)
{
#if SAMBA_SAFETENSORS__POSIX
    struct stat st;
    int h = open(path, O_RDONLY | O_NONBLOCK | SAMBA_SAFETENSORS__CLOEXEC);
    if (h < 0 || fstat(h, &st)) {
        samba_safetensors__fail(why, "cannot be opened: %s", strerror(errno));
    } else if (!S_ISREG(st.st_mode) || st.st_size < 0) {
        samba_safetensors__fail(why, "is no regular file");
    } else {
        *size = (uint64_t)st.st_size;
        return h;
    }
#else
    FILE *h = fopen(path, "rb");
    long n = -1;
    if (h && !fseek(h, 0, SEEK_END)) n = ftell(h);
    if (n >= 0) {
        *size = (uint64_t)n;
        return h;
    }
    samba_safetensors__fail(why, "cannot be opened");
#endif
    samba_safetensors__close_handle(h);
    return SAMBA_SAFETENSORS__NO_FILE;
}

static inline bool samba_safetensors__read_at(samba_safetensors__handle h, uint64_t at, void *out,
                                              size_t size, const samba_safetensors__why *why)
{
#if SAMBA_SAFETENSORS__POSIX
    char *p = (char *)out;
    off_t offset = (off_t)at;
    if (offset < 0 || (uint64_t)offset != at || lseek(h, offset, SEEK_SET) != offset) {
        return samba_safetensors__fail(why, "byte %llu cannot be reached", (unsigned long long)at);
    }
    while (size > 0) {
        ssize_t n = read(h, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return samba_safetensors__fail(why, "cannot be read: %s", strerror(errno));
        if (n == 0) return samba_safetensors__fail(why, "got shorter while it was read");
        p += n;
        size -= (size_t)n;
    }
    return true;
#else
    bool fine = at <= LONG_MAX && !fseek(h, (long)at, SEEK_SET) && fread(out, 1, size, h) == size;
    return fine ? true : samba_safetensors__fail(why, "cannot be read");
#endif
}

SAMBA_SAFETENSORS_API struct cJSON *samba_safetensors_json_file(const char *path, int max_depth,
                                                                char *why, size_t why_size)
{
    samba_safetensors__why w = samba_safetensors__why_of(why, why_size, path);
    uint64_t size = 0;
    cJSON *json = NULL;
    samba_safetensors__handle h
        = path ? samba_safetensors__open(path, &size, &w) : SAMBA_SAFETENSORS__NO_FILE;
    if (!path) samba_safetensors__fail(&w, "the path is NULL");
    if (h == SAMBA_SAFETENSORS__NO_FILE) return NULL;
    if (size > SAMBA_SAFETENSORS__MAX_HEADER) {
        samba_safetensors__fail(&w, "has %llu bytes; 100 MB of JSON is the limit",
                                (unsigned long long)size);
    } else {
        char *text = (char *)samba_safetensors__alloc(size, 1, &w);
        if (text && samba_safetensors__read_at(h, 0, text, (size_t)size, &w)) {
            json = samba_safetensors__parse(text, (size_t)size, max_depth, false, &w);
        }
        SAMBA_SAFETENSORS_FREE(text);
    }
    samba_safetensors__close_handle(h);
    return json;
}

/* ---- Types ---- */

static inline const char *samba_safetensors__dtype_text(int i)
{
    static const char *const names[] = {
#define X(name, bits) #name,
        SAMBA_SAFETENSORS__DTYPES(X)
#undef X
    };
    return names[i];
}

static inline unsigned samba_safetensors__dtype_bits(int i)
{
    static const unsigned char of[] = {
#define X(name, bits) bits,
        SAMBA_SAFETENSORS__DTYPES(X)
#undef X
    };
    return of[i];
}

SAMBA_SAFETENSORS_API const char *samba_safetensors_dtype_name(samba_safetensors_dtype dtype)
{
    return (unsigned)dtype < SAMBA_SAFETENSORS_N_DTYPES ? samba_safetensors__dtype_text((int)dtype)
                                                        : "none";
}

SAMBA_SAFETENSORS_API const char *samba_safetensors_shape_text(int32_t ndim, const int64_t *dim,
                                                               char *text, size_t text_size)
{
    size_t at = 0;
    if (!text || !text_size) return "";
    text[0] = 0;
    for (int32_t i = -1; i <= ndim; i++) {
        int n = i < 0 ? snprintf(text, text_size, "(")
            : i == ndim
            ? snprintf(text + at, text_size - at, ")")
            : snprintf(text + at, text_size - at, "%s%lld", i ? "," : "", (long long)dim[i]);
        if (n < 0 || (size_t)n >= text_size - at) break;
        at += (size_t)n;
    }
    return text;
}

/* count and bytes of a shape; false if they are no uint64_t, or not whole bytes. */
static inline bool samba_safetensors__measure(int32_t ndim, const int64_t *dim, int dtype,
                                              uint64_t *count, uint64_t *bytes)
{
    uint64_t n = 1, bits = samba_safetensors__dtype_bits(dtype);
    for (int32_t i = 0; i < ndim; i++) {
        uint64_t d = (uint64_t)dim[i];
        if (d && n > UINT64_MAX / d) return false;
        n *= d;
    }
    if (n > UINT64_MAX / bits || n * bits % 8) return false;
    *count = n;
    *bytes = n * bits / 8;
    return true;
}

static inline uint32_t samba_safetensors__f16_bits(uint32_t h)
{
    uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, mantissa = h & 1023u;
    if (exponent == 31) return sign | 0x7F800000u | mantissa << 13;
    if (exponent) return sign | (exponent + 112) << 23 | mantissa << 13;
    if (!mantissa) return sign;
    for (exponent = 113; !(mantissa & 1024u); exponent--)
        mantissa <<= 1; /* subnormal in f16 */
    return sign | exponent << 23 | (mantissa & 1023u) << 13;
}

/* To nearest, ties to even. */
static inline uint32_t samba_safetensors__to_bf16(uint32_t x)
{
    if ((x & 0x7FFFFFFFu) > 0x7F800000u) return (x >> 16 | 64u) & 0xFFFFu; /* NaN stays NaN */
    return (x + 0x7FFFu + (x >> 16 & 1u)) >> 16 & 0xFFFFu;
}

static inline uint32_t samba_safetensors__to_f16(uint32_t x)
{
    uint32_t sign = x >> 16 & 0x8000u, a = x & 0x7FFFFFFFu;
    if (a > 0x7F800000u) return sign | 0x7E00u | (a >> 13 & 1023u);
    if (a >= 0x477FF000u) return sign | 0x7C00u;               /* 65520 and above */
    if (a < 0x33000001u) return sign;                          /* up to 2^-25 */
    uint32_t drop = a >= 0x38800000u ? 13u : 126u - (a >> 23); /* bits that fall away */
    uint32_t m = a >= 0x38800000u ? a - 0x38000000u : (a & 0x7FFFFFu) | 0x800000u;
    uint32_t half = 1u << (drop - 1), rest = m & ((half << 1) - 1), h = m >> drop;
    return sign | (h + (rest > half || (rest == half && (h & 1u))));
}

/* ---- Reading ---- */

typedef struct samba_safetensors__file {
    const char *path;
    samba_safetensors__handle handle;
    uint64_t size, data_at;
    char *strings; /* path, names, metadata */
    size_t used;
} samba_safetensors__file;

struct samba_safetensors {
    samba_safetensors__file *files;
    size_t n_files;
    samba_safetensors_tensor *tensors;
    size_t n_tensors, capacity;
    const void **by_name;  /* the tensors in the order of names */
    const char **metadata; /* pairs */
    size_t n_metadata, metadata_capacity;
};

SAMBA_SAFETENSORS_API void samba_safetensors_close(samba_safetensors *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->n_files; i++) {
        samba_safetensors__close_handle(f->files[i].handle);
        SAMBA_SAFETENSORS_FREE(f->files[i].strings);
    }
    SAMBA_SAFETENSORS_FREE(f->files);
    SAMBA_SAFETENSORS_FREE(f->tensors);
    SAMBA_SAFETENSORS_FREE(f->by_name);
    SAMBA_SAFETENSORS_FREE(f->metadata);
    SAMBA_SAFETENSORS_FREE(f);
}

/* Room for n more items of an array; doubles, so that many shards cost no square. */
static inline void *samba_safetensors__more(void *old, size_t used, size_t *capacity, size_t n,
                                            size_t size, const samba_safetensors__why *why)
{
    if (n <= *capacity - used) return old;
    size_t want = 2 * used + n; /* items exist in memory: far below overflow */
    void *p = samba_safetensors__alloc(want, size, why);
    if (!p) return NULL;
    if (used) memcpy(p, old, used * size);
    SAMBA_SAFETENSORS_FREE(old);
    *capacity = want;
    return p;
}

/* A copy that lives as long as the file. The block is as long as the header: it always fits. */
static inline const char *samba_safetensors__keep(samba_safetensors__file *file, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = file->strings + file->used;
    memcpy(copy, text, n);
    file->used += n;
    return copy;
}

static inline bool samba_safetensors__take_metadata(samba_safetensors *f,
                                                    samba_safetensors__file *file,
                                                    const cJSON *item,
                                                    const samba_safetensors__why *why)
{
    const cJSON *pair;
    size_t n = 0;
    if (!cJSON_IsObject(item))
        return samba_safetensors__fail(why, "__metadata__ must be an object");
    cJSON_ArrayForEach(pair, item)
    {
        n++;
        if (cJSON_IsString(pair)) continue;
        return samba_safetensors__fail(
            why, "__metadata__: the value of \"%.100s\" must be a string", pair->string);
    }
    const char **room = (const char **)samba_safetensors__more(
        (void *)f->metadata, 2 * f->n_metadata, &f->metadata_capacity, 2 * n, sizeof *room, why);
    if (!room && n) return false;
    f->metadata = room;
    cJSON_ArrayForEach(pair, item)
    {
        room[2 * f->n_metadata] = samba_safetensors__keep(file, pair->string);
        room[2 * f->n_metadata++ + 1] = samba_safetensors__keep(file, pair->valuestring);
    }
    return true;
}

/* Whole numbers of an array; false unless there are least ... most of them. */
static inline bool samba_safetensors__numbers(const cJSON *array, int least, int most, int64_t *out,
                                              int *n)
{
    const cJSON *item;
    *n = 0;
    if (!cJSON_IsArray(array)) return false;
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item) || *n == most) return false;
        out[(*n)++] = (int64_t)item->valuedouble; /* proved: 0 ... 2^53 */
    }
    return *n >= least;
}

static inline bool samba_safetensors__take_dtype(samba_safetensors_tensor *t, const cJSON *dtype,
                                                 const samba_safetensors__why *why)
{
    if (!cJSON_IsString(dtype)) {
        return samba_safetensors__fail(
            why, "tensor \"%.100s\": there is no dtype, or it is no string", t->name);
    }
    for (int i = 0; i < SAMBA_SAFETENSORS_N_DTYPES; i++) {
        if (strcmp(dtype->valuestring, samba_safetensors__dtype_text(i))) continue;
        t->dtype = (samba_safetensors_dtype)i;
        return true;
    }
    return samba_safetensors__fail(why, "tensor \"%.100s\": the dtype \"%.40s\" is unknown",
                                   t->name, dtype->valuestring);
}

/* One entry of the header. Its place in the data is proved later, with all others. */
static inline bool samba_safetensors__take_tensor(samba_safetensors_tensor *t, const cJSON *item,
                                                  uint64_t data_size,
                                                  const samba_safetensors__why *why)
{
    const cJSON *field, *dtype = NULL, *shape = NULL, *offsets = NULL;
    int64_t range[2] = { 0, 0 };
    int n = 0;
    char text[200];
    if (!cJSON_IsObject(item)) {
        return samba_safetensors__fail(why, "tensor \"%.100s\": its entry must be an object",
                                       t->name);
    }
    cJSON_ArrayForEach(field, item)
    {
        if (!strcmp(field->string, "dtype"))
            dtype = field;
        else if (!strcmp(field->string, "shape"))
            shape = field;
        else if (!strcmp(field->string, "data_offsets"))
            offsets = field;
        else
            return samba_safetensors__fail(why, "tensor \"%.100s\": the key \"%.40s\" is unknown",
                                           t->name, field->string);
    }
    if (!samba_safetensors__take_dtype(t, dtype, why)) return false;
    if (!samba_safetensors__numbers(shape, 0, SAMBA_SAFETENSORS_MAX_DIMS, t->dim, &n)) {
        return samba_safetensors__fail(
            why,
            "tensor \"%.100s\": shape must be an array of at most %d whole "
            "numbers",
            t->name, SAMBA_SAFETENSORS_MAX_DIMS);
    }
    t->ndim = n;
    if (!samba_safetensors__numbers(offsets, 2, 2, range, &n) || range[0] > range[1]) {
        return samba_safetensors__fail(why,
                                       "tensor \"%.100s\": data_offsets must be [begin, end] with "
                                       "begin <= end",
                                       t->name);
    }
    if ((uint64_t)range[1] > data_size) {
        return samba_safetensors__fail(
            why,
            "tensor \"%.100s\" ends at byte %llu of the data, but the file "
            "has %llu bytes of data",
            t->name, (unsigned long long)range[1], (unsigned long long)data_size);
    }
    samba_safetensors_shape_text(t->ndim, t->dim, text, sizeof text);
    if (!samba_safetensors__measure(t->ndim, t->dim, (int)t->dtype, &t->count, &t->bytes)) {
        return samba_safetensors__fail(
            why,
            "tensor \"%.100s\": %s %s is not a whole number of bytes below "
            "2^64",
            t->name, samba_safetensors_dtype_name(t->dtype), text);
    }
    t->at = (uint64_t)range[0];
    if (t->bytes == (uint64_t)(range[1] - range[0])) return true;
    return samba_safetensors__fail(why,
                                   "tensor \"%.100s\": %s %s takes %llu bytes, but data_offsets "
                                   "[%llu, %llu] holds %llu",
                                   t->name, samba_safetensors_dtype_name(t->dtype), text,
                                   (unsigned long long)t->bytes, (unsigned long long)range[0],
                                   (unsigned long long)range[1],
                                   (unsigned long long)(range[1] - range[0]));
}

static inline int samba_safetensors__place_order(const void *a, const void *b)
{
    const samba_safetensors_tensor *s = (const samba_safetensors_tensor *)a;
    const samba_safetensors_tensor *t = (const samba_safetensors_tensor *)b;
    if (s->at != t->at) return s->at < t->at ? -1 : 1;
    if (s->bytes != t->bytes) return s->bytes < t->bytes ? -1 : 1;
    return strcmp(s->name, t->name);
}

/* Puts n tensors into the order of their data, and proves that they cover it exactly once. */
static inline bool samba_safetensors__cover(samba_safetensors_tensor *tensors, size_t n,
                                            uint64_t data_size, const samba_safetensors__why *why)
{
    uint64_t end = 0;
    const void **order = (const void **)samba_safetensors__alloc(n, sizeof *order, why);
    samba_safetensors_tensor *sorted
        = (samba_safetensors_tensor *)samba_safetensors__alloc(n, sizeof *sorted, why);
    bool fine = order && sorted;
    for (size_t i = 0; fine && i < n; i++)
        order[i] = &tensors[i];
    if (fine) samba_safetensors__sort(order, n, samba_safetensors__place_order);
    for (size_t i = 0; fine && i < n; i++) {
        sorted[i] = *(const samba_safetensors_tensor *)order[i];
        fine = sorted[i].at == end;
        if (!fine) {
            samba_safetensors__fail(
                why,
                "tensor \"%.100s\" begins at byte %llu of the data, but the one "
                "before it ends at %llu: tensors must %s",
                sorted[i].name, (unsigned long long)sorted[i].at, (unsigned long long)end,
                sorted[i].at < end ? "not overlap" : "leave no hole");
        }
        end += sorted[i].bytes;
    }
    if (fine && end != data_size) {
        fine = samba_safetensors__fail(
            why,
            "the tensors end at byte %llu of the data, but the file goes on "
            "to %llu",
            (unsigned long long)end, (unsigned long long)data_size);
    }
    if (fine && n) memcpy(tensors, sorted, n * sizeof *sorted);
    SAMBA_SAFETENSORS_FREE(order);
    SAMBA_SAFETENSORS_FREE(sorted);
    return fine;
}

/* The tensors and metadata of a parsed header. */
static inline bool samba_safetensors__take_header(samba_safetensors *f, size_t which,
                                                  const cJSON *json,
                                                  const samba_safetensors__why *why)
{
    samba_safetensors__file *file = &f->files[which];
    uint64_t data_size = file->size - file->data_at;
    const cJSON *item;
    size_t n = 0, first = f->n_tensors;
    cJSON_ArrayForEach(item, json) n++;
    samba_safetensors_tensor *room = (samba_safetensors_tensor *)samba_safetensors__more(
        f->tensors, f->n_tensors, &f->capacity, n, sizeof *room, why);
    if (!room && n) return false;
    f->tensors = room;
    cJSON_ArrayForEach(item, json)
    {
        if (!strcmp(item->string, "__metadata__")) {
            if (!samba_safetensors__take_metadata(f, file, item, why)) return false;
            continue;
        }
        samba_safetensors_tensor *t = &f->tensors[f->n_tensors];
        memset(t, 0, sizeof *t);
        t->name = samba_safetensors__keep(file, item->string);
        t->file = which;
        if (!samba_safetensors__take_tensor(t, item, data_size, why)) return false;
        f->n_tensors++;
    }
    samba_safetensors_tensor *added = f->tensors ? f->tensors + first : NULL;
    if (!samba_safetensors__cover(added, f->n_tensors - first, data_size, why)) return false;
    for (size_t i = first; i < f->n_tensors; i++)
        f->tensors[i].at += file->data_at;
    return true;
}

/* Opens shard number which, and proves its header. */
static inline bool samba_safetensors__open_file(samba_safetensors *f, size_t which,
                                                const char *path, const samba_safetensors__why *why)
{
    samba_safetensors__file *file = &f->files[which];
    unsigned char head[8];
    uint64_t length = 0;
    file->handle = samba_safetensors__open(path, &file->size, why);
    if (file->handle == SAMBA_SAFETENSORS__NO_FILE) return false;
    if (file->size < 8)
        return samba_safetensors__fail(why,
                                       "has %llu bytes; the length of the header "
                                       "alone takes 8",
                                       (unsigned long long)file->size);
    if (!samba_safetensors__read_at(file->handle, 0, head, 8, why)) return false;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | head[i];
    if (length > SAMBA_SAFETENSORS__MAX_HEADER) {
        return samba_safetensors__fail(
            why,
            "the header should be %llu bytes long; 100000000 is the limit. "
            "Is this a safetensors file?",
            (unsigned long long)length);
    }
    if (length > file->size - 8) {
        return samba_safetensors__fail(
            why, "the header should be %llu bytes long, but only %llu follow",
            (unsigned long long)length, (unsigned long long)(file->size - 8));
    }
    file->data_at = 8 + length;
    size_t path_size = strlen(path) + 1;
    char *text = (char *)samba_safetensors__alloc(length, 1, why);
    file->strings = (char *)samba_safetensors__alloc(length + path_size, 1, why);
    bool fine = text && file->strings
        && samba_safetensors__read_at(file->handle, 8, text, (size_t)length, why);
    cJSON *json = fine
        ? samba_safetensors__parse(text, (size_t)length, SAMBA_SAFETENSORS__DEPTH, true, why)
        : NULL;
    SAMBA_SAFETENSORS_FREE(text);
    if (!json) return false;
    file->path = samba_safetensors__keep(file, path);
    fine = samba_safetensors__take_header(f, which, json, why);
    cJSON_Delete(json);
    return fine;
}

static inline int samba_safetensors__name_order(const void *a, const void *b)
{
    return strcmp(((const samba_safetensors_tensor *)a)->name,
                  ((const samba_safetensors_tensor *)b)->name);
}

static inline bool samba_safetensors__index_names(samba_safetensors *f,
                                                  const samba_safetensors__why *why)
{
    f->by_name = (const void **)samba_safetensors__alloc(f->n_tensors, sizeof *f->by_name, why);
    if (!f->by_name) return false;
    for (size_t i = 0; i < f->n_tensors; i++)
        f->by_name[i] = &f->tensors[i];
    samba_safetensors__sort(f->by_name, f->n_tensors, samba_safetensors__name_order);
    for (size_t i = 1; i < f->n_tensors; i++) {
        if (samba_safetensors__name_order(f->by_name[i - 1], f->by_name[i])) continue;
        const samba_safetensors_tensor *a = (const samba_safetensors_tensor *)f->by_name[i - 1];
        const samba_safetensors_tensor *b = (const samba_safetensors_tensor *)f->by_name[i];
        return samba_safetensors__fail(why, "tensor \"%.100s\" is in %.100s, too", a->name,
                                       f->files[a->file < b->file ? a->file : b->file].path);
    }
    return true;
}

SAMBA_SAFETENSORS_API samba_safetensors *samba_safetensors_open(const char *const *paths,
                                                                size_t n_paths, char *why,
                                                                size_t why_size)
{
    samba_safetensors__why w = samba_safetensors__why_of(why, why_size, "samba_safetensors_open");
    if (!paths || !n_paths) {
        samba_safetensors__fail(&w, "there is no path");
        return NULL;
    }
    samba_safetensors *f = (samba_safetensors *)samba_safetensors__alloc(1, sizeof *f, &w);
    if (!f) return NULL;
    memset(f, 0, sizeof *f);
    f->files = (samba_safetensors__file *)samba_safetensors__alloc(n_paths, sizeof *f->files, &w);
    bool fine = f->files != NULL;
    for (size_t i = 0; fine && i < n_paths; i++) {
        memset(&f->files[i], 0, sizeof f->files[i]);
        f->files[i].handle = SAMBA_SAFETENSORS__NO_FILE;
        f->n_files = i + 1;
        w.what = paths[i] ? paths[i] : "samba_safetensors_open";
        fine = paths[i] ? samba_safetensors__open_file(f, i, paths[i], &w)
                        : samba_safetensors__fail(&w, "path %llu is NULL", (unsigned long long)i);
    }
    if (fine && samba_safetensors__index_names(f, &w)) return f;
    samba_safetensors_close(f);
    return NULL;
}

SAMBA_SAFETENSORS_API size_t samba_safetensors_count(const samba_safetensors *f)
{
    return f ? f->n_tensors : 0;
}

SAMBA_SAFETENSORS_API const samba_safetensors_tensor *samba_safetensors_at(
    const samba_safetensors *f, size_t i)
{
    return f && i < f->n_tensors ? &f->tensors[i] : NULL;
}

SAMBA_SAFETENSORS_API const samba_safetensors_tensor *samba_safetensors_find(
    const samba_safetensors *f, const char *name)
{
    size_t low = 0, high = f && name ? f->n_tensors : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const samba_safetensors_tensor *t = (const samba_safetensors_tensor *)f->by_name[middle];
        int order = strcmp(name, t->name);
        if (!order) return t;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

SAMBA_SAFETENSORS_API bool samba_safetensors_metadata(const samba_safetensors *f, size_t i,
                                                      const char **key, const char **value)
{
    if (!f || i >= f->n_metadata) return false;
    if (key) *key = f->metadata[2 * i];
    if (value) *value = f->metadata[2 * i + 1];
    return true;
}

static inline uint32_t samba_safetensors__load(const unsigned char *p, unsigned bytes)
{
    uint32_t x = (uint32_t)p[0] | (uint32_t)p[1] << 8;
    return bytes == 2 ? x : x | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

SAMBA_SAFETENSORS_API bool samba_safetensors_read_f32(const samba_safetensors *f,
                                                      const samba_safetensors_tensor *t,
                                                      uint64_t first, uint64_t n, float *out,
                                                      char *why, size_t why_size)
{
    unsigned char chunk[SAMBA_SAFETENSORS__CHUNK];
    samba_safetensors__why w
        = samba_safetensors__why_of(why, why_size, "samba_safetensors_read_f32");
    if (!f || !t || (n && !out)) return samba_safetensors__fail(&w, "an argument is NULL");
    w.what = f->files[t->file].path;
    if (t->dtype != SAMBA_SAFETENSORS_F32 && t->dtype != SAMBA_SAFETENSORS_F16
        && t->dtype != SAMBA_SAFETENSORS_BF16) {
        return samba_safetensors__fail(
            &w,
            "tensor \"%.100s\" is %s; only F32, F16 and BF16 can be read as "
            "f32. Convert the file",
            t->name, samba_safetensors_dtype_name(t->dtype));
    }
    if (first > t->count || n > t->count - first) {
        return samba_safetensors__fail(&w,
                                       "tensor \"%.100s\" has %llu elements; %llu from number %llu "
                                       "were asked for",
                                       t->name, (unsigned long long)t->count, (unsigned long long)n,
                                       (unsigned long long)first);
    }
    unsigned size = t->dtype == SAMBA_SAFETENSORS_F32 ? 4 : 2;
    for (uint64_t done = 0; done < n;) {
        size_t part = n - done < sizeof chunk / size ? (size_t)(n - done) : sizeof chunk / size;
        if (!samba_safetensors__read_at(f->files[t->file].handle, t->at + (first + done) * size,
                                        chunk, part * size, &w))
            return false;
        for (size_t i = 0; i < part; i++) {
            uint32_t x = samba_safetensors__load(chunk + i * size, size);
            if (t->dtype == SAMBA_SAFETENSORS_BF16) x <<= 16;
            if (t->dtype == SAMBA_SAFETENSORS_F16) x = samba_safetensors__f16_bits(x);
            memcpy(&out[done + i], &x, 4);
        }
        done += part;
    }
    return true;
}

static inline const char *samba_safetensors__base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Names the first tensor that is not among the n keys of map, all of which are tensors. */
static inline bool samba_safetensors__fail_unlisted(const samba_safetensors *f, const cJSON *map,
                                                    size_t n, const samba_safetensors__why *why)
{
    const cJSON *item;
    size_t i = 0;
    const void **keys = (const void **)samba_safetensors__alloc(n, sizeof *keys, why);
    if (!keys) return false;
    cJSON_ArrayForEach(item, map) keys[i++] = item->string;
    samba_safetensors__sort(keys, n, samba_safetensors__text_order);
    for (i = 0; i < n; i++) {
        const samba_safetensors_tensor *t = (const samba_safetensors_tensor *)f->by_name[i];
        if (strcmp((const char *)keys[i], t->name)) break;
    }
    const samba_safetensors_tensor *t = (const samba_safetensors_tensor *)f->by_name[i];
    SAMBA_SAFETENSORS_FREE(keys);
    return samba_safetensors__fail(why, "tensor \"%.100s\" of %.100s is not in the index", t->name,
                                   f->files[t->file].path);
}

SAMBA_SAFETENSORS_API bool samba_safetensors_check_index(const samba_safetensors *f,
                                                         const char *index_path, char *why,
                                                         size_t why_size)
{
    samba_safetensors__why w = samba_safetensors__why_of(why, why_size, index_path);
    const cJSON *item, *map;
    size_t n = 0;
    bool fine = true;
    if (!f) return samba_safetensors__fail(&w, "the safetensors are NULL");
    cJSON *json = samba_safetensors_json_file(index_path, 8, why, why_size);
    if (!json) return false;
    map = cJSON_GetObjectItemCaseSensitive(json, "weight_map");
    if (!cJSON_IsObject(map)) {
        cJSON_Delete(json);
        return samba_safetensors__fail(&w, "there is no object \"weight_map\"");
    }
    cJSON_ArrayForEach(item, map)
    {
        const samba_safetensors_tensor *t = samba_safetensors_find(f, item->string);
        n++;
        if (!cJSON_IsString(item)) {
            fine = samba_safetensors__fail(
                &w, "weight_map: the value of \"%.100s\" must be a file name", item->string);
        } else if (!t) {
            fine = samba_safetensors__fail(
                &w,
                "tensor \"%.100s\" of file %.100s is missing; was that file "
                "listed?",
                item->string, item->valuestring);
        } else if (strcmp(item->valuestring,
                          samba_safetensors__base_name(f->files[t->file].path))) {
            fine = samba_safetensors__fail(
                &w, "tensor \"%.100s\" should be in %.100s, but is in %.100s", item->string,
                item->valuestring, f->files[t->file].path);
        }
        if (!fine) break;
    }
    if (fine && n != f->n_tensors) fine = samba_safetensors__fail_unlisted(f, map, n, &w);
    cJSON_Delete(json);
    return fine;
}

/* ---- Folders ---- */

enum { SAMBA_SAFETENSORS__MAX_SHARDS = 4096 };

/* Paths of shards, each a block of its own. */
typedef struct samba_safetensors__shards {
    char **path;
    size_t n;
} samba_safetensors__shards;

static inline void samba_safetensors__free_shards(samba_safetensors__shards *shards)
{
    for (size_t i = 0; i < shards->n; i++)
        SAMBA_SAFETENSORS_FREE(shards->path[i]);
    SAMBA_SAFETENSORS_FREE(shards->path);
}

/* folder/name; NULL if there is no memory. */
static inline char *samba_safetensors__join(const char *folder, const char *name,
                                            const samba_safetensors__why *why)
{
    size_t n = strlen(folder), m = strlen(name);
    char *path = (char *)samba_safetensors__alloc(n + m + 1, 1, why);
    if (!path) return NULL;
    memcpy(path, folder, n);
    path[n] = '/';
    memcpy(path + n + 1, name, m + 1);
    return path;
}

static inline bool samba_safetensors__exists(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f) fclose(f);
    return f != NULL;
}

/* Is it model-....safetensors? */
static inline bool samba_safetensors__is_shard(const char *name)
{
    static const char begin[] = "model-", end[] = ".safetensors";
    const size_t n = strlen(name), n_begin = sizeof begin - 1, n_end = sizeof end - 1;
    if (n < n_begin + n_end || memcmp(name, begin, n_begin) != 0) return false;
    return memcmp(name + n - n_end, end, n_end) == 0;
}

#if SAMBA_SAFETENSORS__POSIX
/* Adds the shards that a folder has, in the order of their names, whatever that of the folder. */
static inline bool samba_safetensors__list_shards(const char *folder,
                                                  samba_safetensors__shards *shards,
                                                  const samba_safetensors__why *why)
{
    DIR *d = opendir(folder);
    if (!d) return samba_safetensors__fail(why, "cannot be read: %s", strerror(errno));
    bool fine = true;
    for (struct dirent *e; fine && (e = readdir(d));) {
        if (!samba_safetensors__is_shard(e->d_name)) continue;
        if (shards->n == SAMBA_SAFETENSORS__MAX_SHARDS) {
            fine = samba_safetensors__fail(why, "there are more than %d model-*.safetensors",
                                           SAMBA_SAFETENSORS__MAX_SHARDS);
            break;
        }
        shards->path[shards->n] = samba_safetensors__join(folder, e->d_name, why);
        fine = shards->path[shards->n] != NULL;
        if (fine) shards->n++;
    }
    closedir(d);
    samba_safetensors__sort((const void **)(void *)shards->path, shards->n,
                            samba_safetensors__text_order);
    return fine;
}
#else
/* Standard C cannot list a folder. */
static inline bool samba_safetensors__list_shards(const char *folder,
                                                  samba_safetensors__shards *shards,
                                                  const samba_safetensors__why *why)
{
    (void)folder;
    (void)shards;
    return samba_safetensors__fail(why,
                                   "shards are found on POSIX systems only: list them "
                                   "for samba_safetensors_open");
}
#endif

/* Finds one file, or its shards. */
static inline bool samba_safetensors__find_shards(const char *folder,
                                                  samba_safetensors__shards *shards,
                                                  const samba_safetensors__why *why)
{
    char *single = samba_safetensors__join(folder, "model.safetensors", why);
    if (!single) return false;
    if (samba_safetensors__exists(single)) {
        shards->path[shards->n++] = single;
        return true;
    }
    SAMBA_SAFETENSORS_FREE(single);
    if (!samba_safetensors__list_shards(folder, shards, why)) return false;
    if (shards->n) return true;
    return samba_safetensors__fail(why, "there is no model.safetensors, nor model-*.safetensors");
}

SAMBA_SAFETENSORS_API samba_safetensors *samba_safetensors_open_folder(const char *folder,
                                                                       char *why, size_t why_size)
{
    samba_safetensors__why w = samba_safetensors__why_of(why, why_size, folder);
    samba_safetensors__shards shards = { NULL, 0 };
    if (!folder) {
        samba_safetensors__fail(&w, "the folder is NULL");
        return NULL;
    }
    shards.path
        = (char **)samba_safetensors__alloc(SAMBA_SAFETENSORS__MAX_SHARDS, sizeof *shards.path, &w);
    char *index = samba_safetensors__join(folder, "model.safetensors.index.json", &w);
    samba_safetensors *f = NULL;
    bool single = false;
    if (shards.path && index && samba_safetensors__find_shards(folder, &shards, &w)) {
        f = samba_safetensors_open((const char *const *)shards.path, shards.n, why, why_size);
        single = !samba_safetensors__is_shard(samba_safetensors__base_name(shards.path[0]));
    }
    if (f && !single && samba_safetensors__exists(index)
        && !samba_safetensors_check_index(f, index, why, why_size)) {
        samba_safetensors_close(f);
        f = NULL;
    }
    if (shards.path) samba_safetensors__free_shards(&shards);
    SAMBA_SAFETENSORS_FREE(index);
    return f;
}

/* ---- Files to write ---- */

typedef struct samba_safetensors__output {
    samba_base_output base; /* beside the path, which it gets when it is complete and on disk */
    size_t used;
    unsigned char buffer[SAMBA_SAFETENSORS__CHUNK];
} samba_safetensors__output;

/* A reason that names the file. */
static inline bool samba_safetensors__tell(const samba_safetensors__why *why, const char *reason)
{
    if (why->size) snprintf(why->text, why->size, "%s", reason);
    return false;
}

static inline bool samba_safetensors__out_open(samba_safetensors__output *o, const char *path,
                                               const samba_safetensors__why *why)
{
    char reason[SAMBA_SAFETENSORS__WHY];
    memset(o, 0, sizeof *o);
    return samba_base_begin(&o->base, path, NULL, reason, sizeof reason)
        || samba_safetensors__tell(why, reason);
}

static inline bool samba_safetensors__out_write(samba_safetensors__output *o, const void *bytes,
                                                size_t size, const samba_safetensors__why *why)
{
    errno = 0;
    return fwrite(bytes, 1, size, o->base.file) == size
        || samba_safetensors__fail(why, "cannot be written: %s", strerror(errno));
}

static inline bool samba_safetensors__out_flush(samba_safetensors__output *o,
                                                const samba_safetensors__why *why)
{
    size_t n = o->used;
    o->used = 0;
    return samba_safetensors__out_write(o, o->buffer, n, why);
}

/* Gives up what was begun. */
static inline void samba_safetensors__out_drop(samba_safetensors__output *o)
{
    if (o->base.file) samba_base_end(&o->base, false, NULL, 0);
}

/* Frees in any case. */
static inline bool samba_safetensors__out_finish(samba_safetensors__output *o,
                                                 const samba_safetensors__why *why)
{
    char reason[SAMBA_SAFETENSORS__WHY];
    bool whole = samba_safetensors__out_flush(o, why);
    bool fine = samba_base_end(&o->base, whole, reason, sizeof reason);
    return fine || (whole && samba_safetensors__tell(why, reason));
}

SAMBA_SAFETENSORS_API bool samba_safetensors_replace(const char *path, const void *bytes,
                                                     size_t size, char *why, size_t why_size)
{
    samba_safetensors__why w = samba_safetensors__why_of(why, why_size, path);
    if (!path || (!bytes && size)) return samba_safetensors__fail(&w, "an argument is NULL");
    samba_safetensors__output *o
        = (samba_safetensors__output *)samba_safetensors__alloc(1, sizeof *o, &w);
    if (!o) return false;
    bool fine = samba_safetensors__out_open(o, path, &w);
    bool written = fine && samba_safetensors__out_write(o, bytes, size, &w);
    if (written)
        fine = samba_safetensors__out_finish(o, &w);
    else
        samba_safetensors__out_drop(o);
    SAMBA_SAFETENSORS_FREE(o);
    return fine && written;
}

/* ---- The header to write ---- */

/* Text that grows; failed once memory is out, or the text is above the limit. */
typedef struct samba_safetensors__text {
    char *p;
    size_t n, capacity;
    bool failed;
    const samba_safetensors__why *why;
} samba_safetensors__text;

static inline void samba_safetensors__add(samba_safetensors__text *t, const char *bytes, size_t n)
{
    if (t->failed) return;
    if (n > SAMBA_SAFETENSORS__MAX_HEADER - t->n) {
        samba_safetensors__fail(t->why, "the header would be above 100 MB");
        t->failed = true;
        return;
    }
    char *p = (char *)samba_safetensors__more(t->p, t->n, &t->capacity, n, 1, t->why);
    if (!p) {
        t->failed = true;
        return;
    }
    t->p = p;
    memcpy(t->p + t->n, bytes, n);
    t->n += n;
}

static inline void samba_safetensors__add_text(samba_safetensors__text *t, const char *text)
{
    samba_safetensors__add(t, text, strlen(text));
}

static inline void samba_safetensors__add_string(samba_safetensors__text *t, const char *text)
{
    char escape[8];
    samba_safetensors__add(t, "\"", 1);
    for (const char *p = text; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == '"' || *p == '\\') {
            int n = snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*p);
            samba_safetensors__add(t, escape, (size_t)n);
        } else {
            samba_safetensors__add(t, p, 1);
        }
    }
    samba_safetensors__add(t, "\"", 1);
}

static inline bool samba_safetensors__is_utf8(const char *text)
{
    size_t left = strlen(text), n = 0;
    for (; left > 0; text += n, left -= n) {
        n = samba_safetensors__utf8((const unsigned char *)text, left);
        if (!n) return false;
    }
    return true;
}

/* Appends "name":{...} for the data from byte *at on, and moves *at behind it. */
static inline bool samba_safetensors__add_entry(samba_safetensors__text *t,
                                                const samba_safetensors_entry *e, uint64_t *at,
                                                const samba_safetensors__why *why)
{
    uint64_t count = 0, bytes = 0;
    char text[200];
    bool known = e->dtype == SAMBA_SAFETENSORS_F32 || e->dtype == SAMBA_SAFETENSORS_F16
        || e->dtype == SAMBA_SAFETENSORS_BF16;
    if (!known)
        return samba_safetensors__fail(why,
                                       "tensor \"%.100s\": only F32, BF16 and F16 can be "
                                       "written",
                                       e->name);
    bool fine = e->ndim >= 0 && e->ndim <= SAMBA_SAFETENSORS_MAX_DIMS;
    for (int32_t i = 0; fine && i < e->ndim; i++) {
        fine = e->dim[i] >= 0 && (uint64_t)e->dim[i] <= samba_safetensors__max_integer;
    }
    fine = fine && samba_safetensors__measure(e->ndim, e->dim, (int)e->dtype, &count, &bytes)
        && bytes <= samba_safetensors__max_integer && *at <= samba_safetensors__max_integer - bytes;
    if (!fine) {
        return samba_safetensors__fail(
            why,
            "tensor \"%.100s\": the shape must have 0 to %d dimensions of "
            "at least 0, the file at most 2^53 bytes",
            e->name, SAMBA_SAFETENSORS_MAX_DIMS);
    }
    samba_safetensors__add_string(t, e->name);
    samba_safetensors__add_text(t, ":{\"dtype\":\"");
    samba_safetensors__add_text(t, samba_safetensors_dtype_name(e->dtype));
    samba_safetensors__add_text(t, "\",\"shape\":[");
    for (int32_t i = 0; i < e->ndim; i++) {
        snprintf(text, sizeof text, "%s%lld", i ? "," : "", (long long)e->dim[i]);
        samba_safetensors__add_text(t, text);
    }
    snprintf(text, sizeof text, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)*at,
             (unsigned long long)(*at + bytes));
    samba_safetensors__add_text(t, text);
    *at += bytes;
    return !t->failed;
}

static inline bool samba_safetensors__add_metadata(samba_safetensors__text *t,
                                                   const char *const *metadata, size_t n,
                                                   const samba_safetensors__why *why)
{
    if (!n) return true;
    samba_safetensors__add_text(t, "\"__metadata__\":{");
    for (size_t i = 0; i < 2 * n; i++) {
        if (!metadata[i] || !samba_safetensors__is_utf8(metadata[i])) {
            return samba_safetensors__fail(
                why, "string %llu of the metadata is NULL, or is not UTF-8", (unsigned long long)i);
        }
        samba_safetensors__add_string(t, metadata[i]);
        if (i + 1 < 2 * n) samba_safetensors__add_text(t, i % 2 ? "," : ":");
    }
    samba_safetensors__add_text(t, "}");
    return !t->failed;
}

/* The whole header with its length; the reader itself then proves it. */
static inline bool samba_safetensors__make_header(samba_safetensors__text *t,
                                                  const samba_safetensors_entry *entries, size_t n,
                                                  const char *const *metadata, size_t n_metadata,
                                                  const samba_safetensors__why *why)
{
    uint64_t at = 0;
    samba_safetensors__add(t, "\0\0\0\0\0\0\0\0{", 9);
    if (!samba_safetensors__add_metadata(t, metadata, n_metadata, why)) return false;
    for (size_t i = 0; i < n; i++) {
        const char *name = entries[i].name;
        if (!name || !strcmp(name, "__metadata__") || !samba_safetensors__is_utf8(name)) {
            return samba_safetensors__fail(why,
                                           "the name of tensor %llu is NULL, __metadata__, or not "
                                           "UTF-8",
                                           (unsigned long long)i);
        }
        if (i || n_metadata) samba_safetensors__add_text(t, ",");
        if (!samba_safetensors__add_entry(t, &entries[i], &at, why)) return false;
    }
    samba_safetensors__add_text(t, "}");
    while (!t->failed && t->n % 8)
        samba_safetensors__add(t, " ", 1); /* the data is aligned */
    if (t->failed) return false;
    for (int i = 0; i < 8; i++) {
        t->p[i] = (char)(unsigned char)((uint64_t)(t->n - 8) >> 8 * i & 255u);
    }
    cJSON *json = samba_safetensors__parse(t->p + 8, t->n - 8, SAMBA_SAFETENSORS__DEPTH, true, why);
    cJSON_Delete(json); /* no name stands twice */
    return json != NULL;
}

/* ---- Writing ---- */

struct samba_safetensors_writer {
    samba_safetensors__output out;
    char *path;
    uint64_t *counts; /* elements of each entry */
    unsigned char *dtypes;
    size_t n, entry; /* entry: where the next element goes */
    uint64_t in_entry;
    bool failed, allows_nonfinite;
    char why[SAMBA_SAFETENSORS__WHY]; /* the first reason */
};

static inline void samba_safetensors__free_writer(samba_safetensors_writer *w)
{
    SAMBA_SAFETENSORS_FREE(w->path);
    SAMBA_SAFETENSORS_FREE(w->counts);
    SAMBA_SAFETENSORS_FREE(w->dtypes);
    SAMBA_SAFETENSORS_FREE(w);
}

static inline bool samba_safetensors__writer_init(samba_safetensors_writer *w, const char *path,
                                                  const samba_safetensors_entry *entries, size_t n,
                                                  const samba_safetensors__why *why)
{
    uint64_t bytes;
    memset(w, 0, sizeof *w);
    w->n = n;
    w->path = (char *)samba_safetensors__alloc(strlen(path), 1, why);
    w->counts = (uint64_t *)samba_safetensors__alloc(n, sizeof *w->counts, why);
    w->dtypes = (unsigned char *)samba_safetensors__alloc(n, 1, why);
    if (!w->path || !w->counts || !w->dtypes) return false;
    memcpy(w->path, path, strlen(path) + 1);
    for (size_t i = 0; i < n; i++) {
        w->dtypes[i] = (unsigned char)entries[i].dtype;
        samba_safetensors__measure(entries[i].ndim, entries[i].dim, (int)entries[i].dtype,
                                   &w->counts[i], &bytes);
    }
    return true;
}

SAMBA_SAFETENSORS_API samba_safetensors_writer *samba_safetensors_create(
    const char *path, const samba_safetensors_entry *entries, size_t n, const char *const *metadata,
    size_t n_metadata, char *why, size_t why_size)
{
    samba_safetensors__why y = samba_safetensors__why_of(why, why_size, path);
    samba_safetensors__text t;
    if (!path || (!entries && n) || (!metadata && n_metadata)) {
        samba_safetensors__fail(&y, "an argument is NULL");
        return NULL;
    }
    memset(&t, 0, sizeof t);
    t.why = &y;
    samba_safetensors_writer *w = NULL;
    if (samba_safetensors__make_header(&t, entries, n, metadata, n_metadata, &y)) {
        w = (samba_safetensors_writer *)samba_safetensors__alloc(1, sizeof *w, &y);
    }
    bool fine = w && samba_safetensors__writer_init(w, path, entries, n, &y);
    if (fine) {
        fine = samba_safetensors__out_open(&w->out, path, &y)
            && samba_safetensors__out_write(&w->out, t.p, t.n, &y);
        if (!fine) samba_safetensors__out_drop(&w->out);
    }
    SAMBA_SAFETENSORS_FREE(t.p);
    if (fine) return w;
    if (w) samba_safetensors__free_writer(w);
    return NULL;
}

/* Is what is stored for an element finite? */
static inline bool samba_safetensors__is_finite(uint32_t stored, samba_safetensors_dtype dtype)
{
    uint32_t exponent = 0x7f800000u;
    if (dtype == SAMBA_SAFETENSORS_BF16) exponent = 0x7f80u;
    if (dtype == SAMBA_SAFETENSORS_F16) exponent = 0x7c00u;
    return (stored & exponent) != exponent;
}

/* Appends one element. */
static inline bool samba_safetensors__put_one(samba_safetensors_writer *w, float value,
                                              samba_safetensors_dtype dtype,
                                              const samba_safetensors__why *why)
{
    samba_safetensors__output *o = &w->out;
    uint32_t x;
    unsigned n = dtype == SAMBA_SAFETENSORS_F32 ? 4 : 2;
    if (o->used > sizeof o->buffer - 4 && !samba_safetensors__out_flush(o, why)) return false;
    memcpy(&x, &value, 4);
    if (dtype == SAMBA_SAFETENSORS_BF16) x = samba_safetensors__to_bf16(x);
    if (dtype == SAMBA_SAFETENSORS_F16) x = samba_safetensors__to_f16(x);
    if (!w->allows_nonfinite && !samba_safetensors__is_finite(x, dtype))
        return samba_safetensors__fail(
            why,
            "tensor %llu of %llu has a value that is not finite, %g, as %s; "
            "see samba_safetensors_allow_nonfinite",
            (unsigned long long)w->entry, (unsigned long long)w->n, (double)value,
            samba_safetensors_dtype_name(dtype));
    for (unsigned b = 0; b < n; b++)
        o->buffer[o->used++] = (unsigned char)(x >> 8 * b & 255u);
    return true;
}

SAMBA_SAFETENSORS_API bool samba_safetensors_put(samba_safetensors_writer *w, const float *data,
                                                 uint64_t n)
{
    if (!w || w->failed || (n && !data)) return false;
    samba_safetensors__why y = samba_safetensors__why_of(w->why, sizeof w->why, w->path);
    while (n > 0) {
        while (w->entry < w->n && w->in_entry == w->counts[w->entry]) {
            w->entry++;
            w->in_entry = 0;
        }
        if (w->entry == w->n) {
            w->failed = true;
            return samba_safetensors__fail(&y, "more elements were put than the tensors have");
        }
        uint64_t left = w->counts[w->entry] - w->in_entry, part = n < left ? n : left;
        samba_safetensors_dtype dtype = (samba_safetensors_dtype)w->dtypes[w->entry];
        for (uint64_t i = 0; i < part && !w->failed; i++) {
            w->failed = !samba_safetensors__put_one(w, data[i], dtype, &y);
        }
        if (w->failed) return false;
        data += part;
        n -= part;
        w->in_entry += part;
    }
    return true;
}

SAMBA_SAFETENSORS_API void samba_safetensors_allow_nonfinite(samba_safetensors_writer *w)
{
    if (w) w->allows_nonfinite = true;
}

SAMBA_SAFETENSORS_API void samba_safetensors_abandon(samba_safetensors_writer *w)
{
    if (!w) return;
    samba_safetensors__out_drop(&w->out);
    samba_safetensors__free_writer(w);
}

SAMBA_SAFETENSORS_API bool samba_safetensors_finish(samba_safetensors_writer *w, char *why,
                                                    size_t why_size)
{
    samba_safetensors__why y = samba_safetensors__why_of(why, why_size, "samba_safetensors_finish");
    if (!w) return samba_safetensors__fail(&y, "the writer is NULL");
    y.what = w->path;
    while (w->entry < w->n && w->in_entry == w->counts[w->entry]) {
        w->entry++;
        w->in_entry = 0;
    }
    if (!w->failed && w->entry < w->n) {
        samba_safetensors__why mine = samba_safetensors__why_of(w->why, sizeof w->why, w->path);
        w->failed = !samba_safetensors__fail(
            &mine, "tensor %llu of %llu got %llu of its %llu elements",
            (unsigned long long)w->entry, (unsigned long long)w->n, (unsigned long long)w->in_entry,
            (unsigned long long)w->counts[w->entry]);
    }
    bool fine = !w->failed;
    if (fine) {
        fine = samba_safetensors__out_finish(&w->out, &y);
    } else {
        if (y.size) snprintf(y.text, y.size, "%s", w->why);
        samba_safetensors__out_drop(&w->out);
    }
    samba_safetensors__free_writer(w);
    return fine;
}

SAMBA_SAFETENSORS_API bool samba_safetensors_save(const char *path,
                                                  const samba_safetensors_entry *entries,
                                                  const float *const *data, size_t n, char *why,
                                                  size_t why_size)
{
    samba_safetensors__why y = samba_safetensors__why_of(why, why_size, path);
    if (!data && n) return samba_safetensors__fail(&y, "data is NULL");
    samba_safetensors_writer *w
        = samba_safetensors_create(path, entries, n, NULL, 0, why, why_size);
    if (!w) return false;
    for (size_t i = 0; i < n; i++) {
        if (!data[i] && w->counts[i]) {
            samba_safetensors_abandon(w);
            return samba_safetensors__fail(&y, "the data of tensor \"%.100s\" is NULL",
                                           entries[i].name);
        }
        samba_safetensors_put(w, data[i], w->counts[i]);
    }
    return samba_safetensors_finish(w, why, why_size);
}
#endif /* SAMBA_SAFETENSORS_IMPLEMENTATION */
/* MIT license, as samba.h. */
