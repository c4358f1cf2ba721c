/* prompt_cache.h - the keys and values of a prompt in a file, for other processes.

   Needs samba.h and generate.h before it. `#define SAMBA_PROMPT_CACHE_IMPLEMENTATION` in one file
   enables the code; SAMBA_PROMPT_CACHE_STATIC makes all functions private to the file. C99 or
   C++11.

       samba_generate(&g, &d);                                       it has read the prompt
       samba_prompt_cache_save(&g, "prompt.cache", prompt, n, why, sizeof why);
       ... another process, the same model:
       n = samba_prompt_cache_load(&g, "prompt.cache", ids, g.length, why, sizeof why);
       ... samba_generate with n_cached = what a prompt has in common with ids

   What is computed then has the bits of a run that reads all of the prompt. The file is that of a
   generator of one row. It is refused by a generator of another model, of other weights, of another
   kind of cache: it has a hash of all weights, and of the logits behind its last token, which are
   computed again. Length and chunk may be others. Files from elsewhere can be
   opened: all is proved before the generator changes, but a file that was made to lie about what a
   model makes of a prompt will have its way.

   The file begins with these numbers, then come the tokens, i32, and for each buffer its name, its
   type, and its rows (K,n,D); all as this machine has them:

       8 bytes  "SAMBAKV1"
       u32      1, in the order of bytes; tokens; buffers; 0
       u64      hash of the weights; of the logits; of what follows; its bytes */
#ifndef SAMBA_PROMPT_CACHE_H
#define SAMBA_PROMPT_CACHE_H

#ifndef SAMBA_GENERATE_H
#error "prompt_cache.h: include samba.h and generate.h before"
#endif

#ifndef SAMBA_PROMPT_CACHE_API
#if defined(SAMBA_PROMPT_CACHE_STATIC)
#define SAMBA_PROMPT_CACHE_API static inline
#elif defined(__cplusplus)
#define SAMBA_PROMPT_CACHE_API extern "C"
#else
#define SAMBA_PROMPT_CACHE_API extern
#endif
#endif

/* Writes what the cache has of n tokens, which the last call of samba_generate has read as a prompt
   or written; the old file stays until the new one is safe. False with the reason in why. */
SAMBA_PROMPT_CACHE_API bool samba_prompt_cache_save(samba_generator *g, const char *path,
                                                    const int32_t *ids, int32_t n, char *why,
                                                    size_t why_size);
/* Fills the cache. Returns how many tokens it has now, which are written to ids, of room for so
   many; 0 with the reason in why, and what the cache had is void then. */
SAMBA_PROMPT_CACHE_API int32_t samba_prompt_cache_load(samba_generator *g, const char *path,
                                                       int32_t *ids, int32_t room, char *why,
                                                       size_t why_size);

#endif /* SAMBA_PROMPT_CACHE_H */

#if defined(SAMBA_PROMPT_CACHE_IMPLEMENTATION) && !defined(SAMBA_PROMPT_CACHE__IMPLEMENTED)
#define SAMBA_PROMPT_CACHE__IMPLEMENTED

#include "base.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct samba_prompt_cache__header {
    char magic[8];
    uint32_t one, tokens, buffers, zero;
    uint64_t weights, logits, hash, size;
} samba_prompt_cache__header;

static const char samba_prompt_cache__magic[] = "SAMBAKV1";

/* Bytes that grow, or are read from the front. */
typedef struct samba_prompt_cache__bytes {
    unsigned char *at;
    size_t size, room, read;
    bool fine; /* false: no memory, or fewer bytes than are asked for */
} samba_prompt_cache__bytes;

/* What both ways need. */
typedef struct samba_prompt_cache__job {
    samba_generator *g;
    const char *path;
    char *why;
    size_t why_size;
    const int32_t *ids;
    int32_t n;
    samba_prompt_cache__bytes body;
} samba_prompt_cache__job;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline bool
samba_prompt_cache__fail(const samba_prompt_cache__job *j, const char *fmt, ...)
{
    va_list args;
    if (!j->why || !j->why_size) return false;
    va_start(args, fmt);
    const int n = snprintf(j->why, j->why_size, "%s: ", j->path);
    if (n > 0 && (size_t)n < j->why_size) vsnprintf(j->why + n, j->why_size - (size_t)n, fmt, args);
    va_end(args);
    return false;
}

static inline bool samba_prompt_cache__fail_session(const samba_prompt_cache__job *j)
{
    return samba_prompt_cache__fail(j, "%s", samba_error(j->g->session));
}

/* ---- Bytes ---- */

static inline unsigned char *samba_prompt_cache__extend(samba_prompt_cache__bytes *b, size_t n)
{
    if (b->fine && b->room - b->size < n) {
        const size_t room = b->room + n > 2 * b->room ? b->room + n : 2 * b->room;
        unsigned char *more = (unsigned char *)realloc(b->at, room);
        b->fine = more != NULL;
        if (more) b->at = more;
        if (more) b->room = room;
    }
    if (!b->fine) return NULL;
    b->size += n;
    return b->at + (b->size - n);
}

static inline void samba_prompt_cache__put(samba_prompt_cache__bytes *b, const void *data, size_t n)
{
    unsigned char *to = samba_prompt_cache__extend(b, n);
    if (to && n) memcpy(to, data, n);
}

/* The next n bytes; NULL if there are fewer. */
static inline const unsigned char *samba_prompt_cache__take(samba_prompt_cache__bytes *b, size_t n)
{
    b->fine = b->fine && b->size - b->read >= n;
    if (!b->fine) return NULL;
    b->read += n;
    return b->at + (b->read - n);
}

static inline uint32_t samba_prompt_cache__take_u32(samba_prompt_cache__bytes *b)
{
    uint32_t x = 0;
    const unsigned char *p = samba_prompt_cache__take(b, sizeof x);
    if (p) memcpy(&x, p, sizeof x);
    return x;
}

/* Against accidents, not against forgers: each step can be undone, so no change of a word is lost.
 */
static inline uint64_t samba_prompt_cache__hash(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, p + i, n - i < 8 ? n - i : 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return samba_base__mix(hash ^ n);
}

/* ---- What a program is ---- */

typedef int32_t (*samba_prompt_cache__names)(samba_session *s, const char **names, int32_t cap);

/* Names of the program, to be freed; NULL: no memory. */
static inline const char **samba_prompt_cache__list(samba_session *s,
                                                    samba_prompt_cache__names names_of, int32_t *n)
{
    *n = names_of(s, NULL, 0);
    const char **names = (const char **)malloc(((size_t)*n + 1) * sizeof *names);
    if (names) names_of(s, names, *n);
    return names;
}

static inline bool samba_prompt_cache__hash_tensor(const samba_prompt_cache__job *j,
                                                   const char *name, uint64_t *hash)
{
    samba_tensor *t = samba_tensor_by_name(j->g->session, name);
    const size_t size = t ? samba_bytes(t) : 0;
    void *data = t ? malloc(size + 1) : NULL;
    bool fine = data && samba_copy_out(t, data, size);
    *hash = samba_prompt_cache__hash(*hash, name, strlen(name));
    if (fine) *hash = samba_prompt_cache__hash(*hash, data, size);
    free(data);
    if (fine) return true;
    return samba_ok(j->g->session)
        ? samba_prompt_cache__fail(j, "there is no memory to look at %s", name)
        : samba_prompt_cache__fail_session(j);
}

/* Of all weights, as they are packed. */
static inline bool samba_prompt_cache__hash_weights(const samba_prompt_cache__job *j,
                                                    uint64_t *hash)
{
    int32_t n = 0;
    const char **names = samba_prompt_cache__list(j->g->session, samba_weight_names, &n);
    bool fine = names || samba_prompt_cache__fail(j, "there is no memory for a list of weights");
    *hash = 1;
    for (int32_t i = 0; fine && i < n; i++)
        fine = samba_prompt_cache__hash_tensor(j, names[i], hash);
    free(names);
    return fine;
}

/* Of the logits behind the last token, whose keys and values are written once more. */
static inline bool samba_prompt_cache__hash_logits(const samba_prompt_cache__job *j, uint64_t *hash)
{
    int32_t prompt_size = j->n, at = j->n - 1, text_size = j->n;
    int32_t *text = (int32_t *)(uintptr_t)j->ids; /* is read only */
    bool ended = false;
    samba_generate__generation e;
    samba_generate_desc d;
    memset(&e, 0, sizeof e);
    memset(&d, 0, sizeof d);
    d.prompt_size = &prompt_size;
    d.n_prompts = 1;
    d.text = &text;
    d.text_size = &text_size;
    e.g = j->g;
    e.d = &d;
    e.ended = &ended;
    e.input = (int32_t *)calloc(3 * (size_t)j->g->prefill.T + 1, sizeof *e.input);
    if (!e.input) return samba_prompt_cache__fail(j, "there is no memory for a prompt");
    bool fine = samba_generate__feed(&e, &j->g->prefill, &at);
    free(e.input);
    if (!fine) return samba_prompt_cache__fail_session(j);
    const float *logits = samba_read(j->g->prefill.logits);
    *hash = samba_prompt_cache__hash(1, logits, (size_t)j->g->V * sizeof *logits);
    return samba_ok(j->g->session) ? true : samba_prompt_cache__fail_session(j);
}

/* Is it (1,K,length,D)? */
static inline bool samba_prompt_cache__is_cache(const samba_generator *g, const samba_tensor *t)
{
    const int32_t *dim = t->shape.dim;
    return t->shape.ndim == 4 && dim[0] == 1 && dim[2] == g->length;
}

/* ---- Rows ---- */

/* The first n rows of each head, to the file or from it. */
static inline void samba_prompt_cache__copy_rows(const samba_tensor *t, unsigned char *cache,
                                                 unsigned char *rows, int32_t n, bool to_cache)
{
    const size_t row = (size_t)t->shape.dim[3] * samba_dtype_size(t->dtype);
    const size_t head = (size_t)t->shape.dim[2] * row, part = (size_t)n * row;
    for (int32_t k = 0; k < t->shape.dim[1]; k++) {
        unsigned char *a = cache + (size_t)k * head, *b = rows + (size_t)k * part;
        memcpy(to_cache ? a : b, to_cache ? b : a, part);
    }
}

static inline size_t samba_prompt_cache__rows_size(const samba_tensor *t, int32_t n)
{
    return (size_t)t->shape.dim[1] * (size_t)n * (size_t)t->shape.dim[3]
        * samba_dtype_size(t->dtype);
}

static inline void samba_prompt_cache__put_title(samba_prompt_cache__bytes *b,
                                                 const samba_tensor *t)
{
    const uint32_t title[4] = { (uint32_t)strlen(t->name), (uint32_t)t->dtype,
                                (uint32_t)t->shape.dim[1], (uint32_t)t->shape.dim[3] };
    samba_prompt_cache__put(b, title, sizeof title);
    samba_prompt_cache__put(b, t->name, title[0]);
}

static inline bool samba_prompt_cache__write_buffer(samba_prompt_cache__job *j, samba_tensor *t)
{
    const size_t size = samba_bytes(t);
    unsigned char *cache = (unsigned char *)malloc(size);
    samba_prompt_cache__put_title(&j->body, t);
    unsigned char *rows
        = samba_prompt_cache__extend(&j->body, samba_prompt_cache__rows_size(t, j->n));
    bool fine = cache && rows && samba_copy_out(t, cache, size);
    if (fine) samba_prompt_cache__copy_rows(t, cache, rows, j->n, false);
    free(cache);
    if (fine) return true;
    return samba_ok(j->g->session) ? samba_prompt_cache__fail(j, "there is no memory for a cache")
                                   : samba_prompt_cache__fail_session(j);
}

/* Finds the rows of a buffer in the file; NULL with the reason. */
static inline const unsigned char *samba_prompt_cache__find_rows(samba_prompt_cache__job *j,
                                                                 const samba_tensor *t)
{
    samba_prompt_cache__bytes *b = &j->body;
    const uint32_t length = samba_prompt_cache__take_u32(b);
    const uint32_t dtype = samba_prompt_cache__take_u32(b);
    const uint32_t heads = samba_prompt_cache__take_u32(b);
    const uint32_t columns = samba_prompt_cache__take_u32(b);
    const char *name = (const char *)samba_prompt_cache__take(b, length);
    bool same = name && length == strlen(t->name) && !memcmp(name, t->name, length)
        && dtype == (uint32_t)t->dtype && heads == (uint32_t)t->shape.dim[1]
        && columns == (uint32_t)t->shape.dim[3];
    const unsigned char *rows = NULL;
    if (same) rows = samba_prompt_cache__take(b, samba_prompt_cache__rows_size(t, j->n));
    if (!rows) {
        samba_prompt_cache__fail(j,
                                 "it was made by another model, or with another type of cache: "
                                 "%s is not what it has there",
                                 t->name);
    }
    return rows;
}

static inline bool samba_prompt_cache__read_buffer(samba_prompt_cache__job *j, samba_tensor *t,
                                                   bool write)
{
    const unsigned char *rows = samba_prompt_cache__find_rows(j, t);
    if (!rows) return false;
    if (!write) return true;
    const size_t size = samba_bytes(t);
    unsigned char *cache = (unsigned char *)calloc(1, size);
    if (!cache) return samba_prompt_cache__fail(j, "there is no memory for a cache");
    samba_prompt_cache__copy_rows(t, cache, (unsigned char *)(uintptr_t)rows, j->n, true);
    bool fine = samba_write_bytes(t, cache, size);
    free(cache);
    return fine ? true : samba_prompt_cache__fail_session(j);
}

typedef enum samba_prompt_cache__way {
    SAMBA_PROMPT_CACHE__WRITE, /* to the file */
    SAMBA_PROMPT_CACHE__PROVE, /* of the file */
    SAMBA_PROMPT_CACHE__READ
} samba_prompt_cache__way;

/* All caches of the program, in its order. Returns how many; -1 with the reason. */
static inline int32_t samba_prompt_cache__each(samba_prompt_cache__job *j,
                                               samba_prompt_cache__way way)
{
    int32_t n = 0, done = 0;
    const char **names = samba_prompt_cache__list(j->g->session, samba_buffer_names, &n);
    bool fine = names || samba_prompt_cache__fail(j, "there is no memory for a list of caches");
    for (int32_t i = 0; fine && i < n; i++) {
        samba_tensor *t = samba_tensor_by_name(j->g->session, names[i]);
        if (!t || !samba_prompt_cache__is_cache(j->g, t)) continue;
        fine = way == SAMBA_PROMPT_CACHE__WRITE
            ? samba_prompt_cache__write_buffer(j, t)
            : samba_prompt_cache__read_buffer(j, t, way == SAMBA_PROMPT_CACHE__READ);
        done++;
    }
    free(names);
    return fine ? done : -1;
}

/* ---- Files ---- */

static inline bool samba_prompt_cache__ready(const samba_prompt_cache__job *j)
{
    if (!samba_ok(j->g->session)) return samba_prompt_cache__fail_session(j);
    return j->g->B == 1
        || samba_prompt_cache__fail(j, "the generator has %d rows; a file is of one", (int)j->g->B);
}

SAMBA_PROMPT_CACHE_API bool samba_prompt_cache_save(samba_generator *g, const char *path,
                                                    const int32_t *ids, int32_t n, char *why,
                                                    size_t why_size)
{
    samba_prompt_cache__job j = { g, path, why, why_size, ids, n, { NULL, 0, 0, 0, true } };
    samba_prompt_cache__header h;
    if (!samba_prompt_cache__ready(&j)) return false;
    if (n < 1 || n > g->length)
        return samba_prompt_cache__fail(&j, "%d tokens; the generator has room for 1 ... %d",
                                        (int)n, (int)g->length);
    memset(&h, 0, sizeof h);
    samba_prompt_cache__put(&j.body, &h, sizeof h); /* is filled in below */
    samba_prompt_cache__put(&j.body, ids, (size_t)n * sizeof *ids);
    bool fine = samba_prompt_cache__hash_logits(&j, &h.logits)
        && samba_prompt_cache__hash_weights(&j, &h.weights);
    const int32_t buffers = fine ? samba_prompt_cache__each(&j, SAMBA_PROMPT_CACHE__WRITE) : -1;
    fine = buffers >= 0;
    if (fine && !j.body.fine)
        fine = samba_prompt_cache__fail(&j, "there is no memory for the file");
    if (fine) {
        memcpy(h.magic, samba_prompt_cache__magic, sizeof h.magic);
        h.one = 1;
        h.tokens = (uint32_t)n;
        h.buffers = (uint32_t)buffers;
        h.size = j.body.size - sizeof h;
        h.hash = samba_prompt_cache__hash(1, j.body.at + sizeof h, j.body.size - sizeof h);
        memcpy(j.body.at, &h, sizeof h);
        fine = samba_base_replace(path, j.body.at, j.body.size, why, why_size);
    }
    free(j.body.at);
    return fine;
}

/* All of the file into the body. */
static inline bool samba_prompt_cache__read_file(samba_prompt_cache__job *j)
{
    FILE *f = fopen(j->path, "rb");
    if (!f) return samba_prompt_cache__fail(j, "it cannot be read");
    for (size_t got = 1; got && j->body.fine;) {
        unsigned char *to = samba_prompt_cache__extend(&j->body, 1 << 16);
        got = to ? fread(to, 1, 1 << 16, f) : 0;
        if (to) j->body.size -= (1 << 16) - got;
    }
    bool fine = j->body.fine && !ferror(f);
    fclose(f);
    return fine || samba_prompt_cache__fail(j, "it cannot be read, or there is no memory for it");
}

/* Is the file whole, and of this generator as far as can be said without its weights? */
static inline bool samba_prompt_cache__check(samba_prompt_cache__job *j,
                                             samba_prompt_cache__header *h, int32_t room)
{
    const unsigned char *p = samba_prompt_cache__take(&j->body, sizeof *h);
    if (p) memcpy(h, p, sizeof *h);
    if (!p || memcmp(h->magic, samba_prompt_cache__magic, sizeof h->magic))
        return samba_prompt_cache__fail(j, "it is no cache of a prompt");
    if (h->one != 1 || h->zero)
        return samba_prompt_cache__fail(j, "it was written where bytes have another order");
    const size_t size = j->body.size - sizeof *h;
    if (h->size != size || h->hash != samba_prompt_cache__hash(1, j->body.at + sizeof *h, size))
        return samba_prompt_cache__fail(j, "it is damaged");
    if (h->tokens < 1 || h->tokens > (uint32_t)j->g->length || h->tokens > (uint32_t)room) {
        return samba_prompt_cache__fail(j, "it has %u tokens; there is room for %d",
                                        (unsigned)h->tokens,
                                        (int)(room < j->g->length ? room : j->g->length));
    }
    j->n = (int32_t)h->tokens;
    return true;
}

/* Tokens of this generator? */
static inline bool samba_prompt_cache__check_ids(samba_prompt_cache__job *j, int32_t *ids)
{
    const unsigned char *p = samba_prompt_cache__take(&j->body, (size_t)j->n * sizeof *ids);
    if (!p) return samba_prompt_cache__fail(j, "it is damaged");
    memcpy(ids, p, (size_t)j->n * sizeof *ids);
    j->ids = ids;
    for (int32_t i = 0; i < j->n; i++) {
        if (ids[i] >= 0 && ids[i] < j->g->V) continue;
        return samba_prompt_cache__fail(j, "token %d is %d; the model has 0 ... %d", (int)i,
                                        (int)ids[i], (int)j->g->V - 1);
    }
    return true;
}

static inline bool samba_prompt_cache__check_weights(samba_prompt_cache__job *j,
                                                     const samba_prompt_cache__header *h)
{
    uint64_t weights = 0;
    if (!samba_prompt_cache__hash_weights(j, &weights)) return false;
    return weights == h->weights
        || samba_prompt_cache__fail(j, "it was made by a model of other weights");
}

static inline bool samba_prompt_cache__fill(samba_prompt_cache__job *j,
                                            const samba_prompt_cache__header *h)
{
    const size_t first = j->body.read;
    const int32_t buffers = samba_prompt_cache__each(j, SAMBA_PROMPT_CACHE__PROVE);
    if (buffers < 0) return false;
    if ((uint32_t)buffers != h->buffers || j->body.read != j->body.size)
        return samba_prompt_cache__fail(j, "it was made by another model: it has %u caches, not %d",
                                        (unsigned)h->buffers, (int)buffers);
    if (!samba_prompt_cache__check_weights(j, h)) return false;

    uint64_t logits = 0;
    j->body.read = first;
    if (samba_prompt_cache__each(j, SAMBA_PROMPT_CACHE__READ) < 0
        || !samba_prompt_cache__hash_logits(j, &logits))
        return false;
    return logits == h->logits
        || samba_prompt_cache__fail(j, "it was made by another model: its logits are others");
}

SAMBA_PROMPT_CACHE_API int32_t samba_prompt_cache_load(samba_generator *g, const char *path,
                                                       int32_t *ids, int32_t room, char *why,
                                                       size_t why_size)
{
    samba_prompt_cache__job j = { g, path, why, why_size, NULL, 0, { NULL, 0, 0, 0, true } };
    samba_prompt_cache__header h;
    bool fine = samba_prompt_cache__ready(&j) && samba_prompt_cache__read_file(&j)
        && samba_prompt_cache__check(&j, &h, room) && samba_prompt_cache__check_ids(&j, ids)
        && samba_prompt_cache__fill(&j, &h);
    free(j.body.at);
    return fine ? j.n : 0;
}

#endif /* SAMBA_PROMPT_CACHE_IMPLEMENTATION */
/* MIT license, as samba.h. */
