/* replay.h - a file that repeats the run in which a value that is not finite arose; for samba.h.

   Needs samba.h before it. `#define SAMBA_REPLAY_IMPLEMENTATION` in one file enables the code;
   SAMBA_REPLAY_STATIC makes all functions private to the file. C99 or C++11.

       samba_compile(s, &program);                  // and values for parameters, if they are loaded
       samba_replay *r = samba_replay_open(s, "nan.replay");
       for (...) {
           samba_write(x, batch);
           if (!samba_replay_run(r, 0)) break;      // as samba_run
       }
       samba_replay_close(r);

   Values are checked, as with samba_set_check_finite. A run that is ended by a NaN or an infinity
   writes the file: the program, what parameters, state, inputs and hyperparameters were before the
   run, and what was found. `tools/samba replay nan.replay` runs it again, on any machine, to the same
   bits; with --view it shows all that the run made until then. The error says so, too.

   The cost is a copy of all parameters, state and gradients before each run. A run should be a whole
   step, or begin with FWD: what temporaries hold between runs is not kept. Modes are those of the
   description (eval, running_stats); samba_set_train(s, false) is not seen. */
#ifndef SAMBA_REPLAY_H
#define SAMBA_REPLAY_H

#ifndef SAMBA_H
#error "replay.h: include samba.h before"
#endif

#ifndef SAMBA_REPLAY_API
#if defined(SAMBA_REPLAY_STATIC)
#define SAMBA_REPLAY_API static inline
#elif defined(__cplusplus)
#define SAMBA_REPLAY_API extern "C"
#else
#define SAMBA_REPLAY_API extern
#endif
#endif

typedef struct samba_replay samba_replay;

/* For the program that is loaded now; its parameters have values. NULL after a failure, which the
   session's error explains. */
SAMBA_REPLAY_API samba_replay *samba_replay_open(samba_session *s, const char *path);
/* As samba_run and samba_run_with. False: the run failed; if it was ended by a value that is not
   finite, the file is there, and parameters and state are again what they were before it. */
SAMBA_REPLAY_API bool samba_replay_run(samba_replay *r, unsigned types);
SAMBA_REPLAY_API bool samba_replay_run_with(samba_replay *r, const samba_run_desc *desc);
SAMBA_REPLAY_API void samba_replay_close(samba_replay *r);

/* What a replay file says. Texts are the struct's. */
typedef struct samba_replay_found {
    char *tensor, *node, *op, *message, *graph; /* message: the error of that run */
    int64_t element;
    float value;
    bool leaf;
    int32_t section, microbatch;
    uint64_t run;
    samba_run_desc desc; /* to run it again */
    int32_t *section_ids;
} samba_replay_found;

/* Loads the program of a replay file into a session that has traced nothing, and gives its tensors
   the values from before that run. checkpoint: a file that is written, for the session to read, and
   the caller's to remove when the session is closed. False: *why has the reason; found is to be
   freed all the same. */
SAMBA_REPLAY_API bool samba_replay_load(samba_session *s, const char *path, const char *checkpoint,
                                        samba_replay_found *found, char *why, size_t why_size);
/* Runs it. True: it was ended by the same value, in the same element, of the same op. The session
   has the error of the run. */
SAMBA_REPLAY_API bool samba_replay_again(samba_session *s, const samba_replay_found *found);
SAMBA_REPLAY_API void samba_replay_free(samba_replay_found *found);

#endif /* SAMBA_REPLAY_H */

#if defined(SAMBA_REPLAY_IMPLEMENTATION) && !defined(SAMBA_REPLAY__IMPLEMENTED)
#define SAMBA_REPLAY__IMPLEMENTED

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMBA_REPLAY__MAGIC 0x50524253u /* SBRP */
#define SAMBA_REPLAY__VERSION 1u

/* ---- Bytes ---- */

/* A growing piece of memory that is written, or one that is read. Numbers are little-endian. */
typedef struct samba_replay__bytes {
    unsigned char *at;
    size_t size, cap, next; /* next: what is read next */
    bool failed;            /* no memory, or nothing more to read */
} samba_replay__bytes;

static inline void samba_replay__put(samba_replay__bytes *b, const void *from, size_t n)
{
    if (b->size + n > b->cap) {
        size_t cap = 2 * (b->size + n);
        unsigned char *more = (unsigned char *)realloc(b->at, cap);
        if (!more) {
            b->failed = true;
            return;
        }
        b->at = more;
        b->cap = cap;
    }
    if (n) memcpy(b->at + b->size, from, n);
    b->size += n;
}

static inline void samba_replay__put_number(samba_replay__bytes *b, uint64_t x)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(x >> 8 * i);
    samba_replay__put(b, bytes, 8);
}

static inline void samba_replay__put_block(samba_replay__bytes *b, const void *from, size_t n)
{
    samba_replay__put_number(b, n);
    samba_replay__put(b, from, n);
}

static inline void samba_replay__put_text(samba_replay__bytes *b, const char *text)
{
    samba_replay__put_block(b, text ? text : "", text ? strlen(text) : 0);
}

/* The next n bytes; NULL if there are not as many. */
static inline const void *samba_replay__get(samba_replay__bytes *b, uint64_t n)
{
    const void *at = b->at + b->next;
    if (b->failed || n > b->size - b->next) {
        b->failed = true;
        return NULL;
    }
    b->next += (size_t)n;
    return at;
}

static inline uint64_t samba_replay__get_number(samba_replay__bytes *b)
{
    const unsigned char *at = (const unsigned char *)samba_replay__get(b, 8);
    uint64_t x = 0;
    for (int i = 7; at && i >= 0; i--) x = x << 8 | at[i];
    return x;
}

static inline const void *samba_replay__get_block(samba_replay__bytes *b, uint64_t *n)
{
    *n = samba_replay__get_number(b);
    return samba_replay__get(b, *n);
}

static inline char *samba_replay__get_text(samba_replay__bytes *b)
{
    uint64_t n;
    const void *at = samba_replay__get_block(b, &n);
    char *text = at ? (char *)malloc((size_t)n + 1) : NULL;
    if (!text) {
        b->failed = true;
        return NULL;
    }
    memcpy(text, at, (size_t)n);
    text[n] = 0;
    return text;
}

/* FNV-1a (Fowler, Noll, Vo), of all bytes of the file but the last eight, which hold it. */
static inline uint64_t samba_replay__hash(const unsigned char *at, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

static inline bool samba_replay__read_file(samba_replay__bytes *b, const char *path)
{
    unsigned char part[1 << 14];
    memset(b, 0, sizeof *b);
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    for (;;) {
        size_t n = fread(part, 1, sizeof part, f);
        if (n == 0) break;
        samba_replay__put(b, part, n);
    }
    bool fine = !ferror(f) && !b->failed;
    fclose(f);
    return fine;
}

static inline bool samba_replay__write_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    bool fine = fwrite(bytes, 1, n, f) == n;
    return fclose(f) == 0 && fine;
}

/* ---- Before a run ---- */

/* A tensor that a run may change, and what it held before. */
typedef struct samba_replay__kept {
    samba_tensor *tensor;
    void *value;
    size_t bytes;
    bool changes; /* else it is an input or hyperparameter, which stays as it is in a run */
} samba_replay__kept;

struct samba_replay {
    samba_session *session;
    char *path, *temporary; /* the file, and a checkpoint while it is made */
    samba_replay__kept *kept;
    int32_t n;
};

/* Lists what the checkpoint says that a program has between runs. */
static inline bool samba_replay__list(samba_replay *r, const samba_pef *pef)
{
    r->kept = (samba_replay__kept *)calloc((size_t)pef->n_symbols + 1, sizeof *r->kept);
    if (!r->kept) return false;
    for (int32_t i = 0; i < pef->n_symbols; i++) {
        samba_pef_symbol q = samba_pef_symbol_at(pef, i);
        bool stays = q.role == SAMBA_ROLE_INPUT || q.role == SAMBA_ROLE_ARGIN;
        bool changes = q.role == SAMBA_ROLE_WEIGHT || q.role == SAMBA_ROLE_STATE
            || q.role == SAMBA_ROLE_GRADIENT;
        if (q.view_of >= 0 || (!stays && !changes)) continue;
        samba_replay__kept *k = &r->kept[r->n];
        k->tensor = samba_tensor_by_name(r->session, q.name);
        if (!k->tensor) return false;
        k->bytes = samba_bytes(k->tensor);
        k->value = malloc(k->bytes);
        k->changes = changes;
        if (!k->value) return false;
        r->n++;
    }
    return true;
}

static inline char *samba_replay__joined(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b) + 1;
    char *text = (char *)malloc(n + m);
    if (!text) return NULL;
    memcpy(text, a, n);
    memcpy(text + n, b, m);
    return text;
}

/* The checkpoint of what the session holds now. */
static inline bool samba_replay__checkpoint(samba_replay *r, samba_replay__bytes *b)
{
    samba_save_opts any;
    any.allow_nonfinite = true;
    bool fine = samba_save_with(r->session, r->temporary, &any)
        && (samba_replay__read_file(b, r->temporary)
            || samba_fail(r->session, SAMBA_EIO, "cannot read %s", r->temporary));
    remove(r->temporary);
    return fine;
}

SAMBA_REPLAY_API samba_replay *samba_replay_open(samba_session *s, const char *path)
{
    char why[512];
    samba_replay__bytes b = { NULL, 0, 0, 0, false };
    samba_pef pef;
    samba_replay *r = path && samba_ok(s) ? (samba_replay *)calloc(1, sizeof *r) : NULL;
    if (!r) {
        if (s) samba_fail(s, SAMBA_EARG, "in samba_replay_open: no path, or no memory");
        return NULL;
    }
    r->session = s;
    r->path = samba_replay__joined(path, "");
    r->temporary = samba_replay__joined(path, ".tmp");
    bool fine = r->path && r->temporary && samba_replay__checkpoint(r, &b);
    if (fine && !samba_pef_open(&pef, b.at, b.size, why, sizeof why))
        fine = samba_fail(s, SAMBA_EPEF, "%s", why);
    if (fine) fine = samba_replay__list(r, &pef);
    free(b.at);
    if (fine) fine = samba_set_check_finite(s, true);
    if (fine) return r;
    samba_fail(s, SAMBA_ENOMEM, "in samba_replay_open: no memory for a copy of the state");
    samba_replay_close(r);
    return NULL;
}

SAMBA_REPLAY_API void samba_replay_close(samba_replay *r)
{
    if (!r) return;
    for (int32_t i = 0; i < r->n; i++) free(r->kept[i].value);
    free(r->kept);
    free(r->path);
    free(r->temporary);
    free(r);
}

/* ---- After a run that failed ---- */

static inline void samba_replay__put_culprit(samba_replay__bytes *b, const samba_culprit *q,
                                             const char *message)
{
    uint32_t bits;
    memcpy(&bits, &q->value, sizeof bits);
    samba_replay__put_text(b, q->tensor);
    samba_replay__put_text(b, q->node);
    samba_replay__put_text(b, q->op);
    samba_replay__put_text(b, message);
    samba_replay__put_number(b, (uint64_t)q->element);
    samba_replay__put_number(b, bits);
    samba_replay__put_number(b, q->leaf);
    samba_replay__put_number(b, (uint64_t)q->section);
    samba_replay__put_number(b, (uint64_t)q->microbatch);
    samba_replay__put_number(b, q->run);
}

static inline void samba_replay__put_desc(samba_replay__bytes *b, const samba_run_desc *d)
{
    int32_t n = 0;
    while (n < SAMBA_MAX_RUNS && d->types[n]) n++;
    samba_replay__put_text(b, d->graph);
    samba_replay__put_number(b, d->eval);
    samba_replay__put_number(b, d->running_stats);
    samba_replay__put_number(b, d->own_order);
    samba_replay__put_number(b, (uint64_t)n);
    for (int32_t i = 0; i < n; i++) samba_replay__put_number(b, d->types[i]);
    samba_replay__put_number(b, (uint64_t)d->n_section_ids);
    for (int32_t i = 0; i < d->n_section_ids; i++)
        samba_replay__put_number(b, (uint64_t)d->section_ids[i]);
}

/* Puts back what the run has changed, and writes the file. */
static inline bool samba_replay__write(samba_replay *r, const samba_run_desc *d,
                                       const samba_culprit *q, const char *message)
{
    samba_replay__bytes b = { NULL, 0, 0, 0, false }, checkpoint = { NULL, 0, 0, 0, false };
    bool fine = true;
    for (int32_t i = 0; fine && i < r->n; i++) {
        const samba_replay__kept *k = &r->kept[i];
        if (k->changes) fine = samba_write_bytes(k->tensor, k->value, k->bytes);
        else fine = samba_copy_out(k->tensor, k->value, k->bytes);
    }
    if (!fine || !samba_replay__checkpoint(r, &checkpoint)) {
        free(checkpoint.at);
        return false;
    }
    samba_replay__put_number(&b, SAMBA_REPLAY__MAGIC | (uint64_t)SAMBA_REPLAY__VERSION << 32);
    samba_replay__put_culprit(&b, q, message);
    samba_replay__put_desc(&b, d);
    samba_replay__put_number(&b, (uint64_t)r->n);
    for (int32_t i = 0; i < r->n; i++) {
        samba_replay__put_text(&b, r->kept[i].tensor->name);
        samba_replay__put_block(&b, r->kept[i].value, r->kept[i].bytes);
    }
    samba_replay__put_block(&b, checkpoint.at, checkpoint.size);
    samba_replay__put_number(&b, b.failed ? 0 : samba_replay__hash(b.at, b.size));
    fine = !b.failed && samba_replay__write_file(r->temporary, b.at, b.size);
#if defined(_WIN32)
    if (fine) remove(r->path); /* rename does not replace there */
#endif
    fine = fine && rename(r->temporary, r->path) == 0;
    free(b.at);
    free(checkpoint.at);
    return fine || samba_fail(r->session, SAMBA_EIO, "cannot write %s", r->path);
}

/* While an error stands the session does nothing: it is taken down, and then said again. */
static inline bool samba_replay__tell(samba_replay *r, const samba_run_desc *d)
{
    samba_session *s = r->session;
    samba_culprit q;
    bool found = samba_nonfinite(s, &q);
    const char *space = strchr(samba_error(s), ' '); /* behind the name of the code */
    char *message = samba_replay__joined(space ? space + 1 : "", "");
    samba_code code = samba_error_code(s);
    if (!found || !message) {
        free(message);
        return false;
    }
    bool quiet = samba_set_quiet(s, true);
    samba_clear_error(s);
    bool written = samba_replay__write(r, d, &q, message);
    char *why = written ? NULL : samba_replay__joined(samba_error(s), "");
    samba_clear_error(s);
    samba_set_quiet(s, quiet);
    if (written)
        samba_fail(s, code, "%s. To see it again: tools/samba replay %s --view page.html", message,
                   r->path);
    else
        samba_fail(s, code, "%s. There is no replay file: %s", message, why ? why : "no memory");
    free(message);
    free(why);
    return false;
}

SAMBA_REPLAY_API bool samba_replay_run_with(samba_replay *r, const samba_run_desc *desc)
{
    if (!r || !desc || !samba_ok(r->session)) return false;
    for (int32_t i = 0; i < r->n; i++) {
        samba_replay__kept *k = &r->kept[i];
        if (k->changes && !samba_copy_out(k->tensor, k->value, k->bytes)) return false;
    }
    return samba_run_with(r->session, desc) || samba_replay__tell(r, desc);
}

SAMBA_REPLAY_API bool samba_replay_run(samba_replay *r, unsigned types)
{
    samba_run_desc d;
    memset(&d, 0, sizeof d);
    d.types[0] = types;
    return samba_replay_run_with(r, &d);
}

/* ---- Again ---- */

static inline void samba_replay__get_culprit(samba_replay__bytes *b, samba_replay_found *f)
{
    f->tensor = samba_replay__get_text(b);
    f->node = samba_replay__get_text(b);
    f->op = samba_replay__get_text(b);
    f->message = samba_replay__get_text(b);
    f->element = (int64_t)samba_replay__get_number(b);
    uint32_t bits = (uint32_t)samba_replay__get_number(b);
    memcpy(&f->value, &bits, sizeof bits);
    f->leaf = samba_replay__get_number(b) != 0;
    f->section = (int32_t)samba_replay__get_number(b);
    f->microbatch = (int32_t)samba_replay__get_number(b);
    f->run = samba_replay__get_number(b);
}

static inline void samba_replay__get_desc(samba_replay__bytes *b, samba_replay_found *f)
{
    f->graph = samba_replay__get_text(b);
    f->desc.graph = f->graph && *f->graph ? f->graph : NULL;
    f->desc.eval = samba_replay__get_number(b) != 0;
    f->desc.running_stats = samba_replay__get_number(b) != 0;
    f->desc.own_order = samba_replay__get_number(b) != 0;
    uint64_t n = samba_replay__get_number(b);
    if (n > SAMBA_MAX_RUNS) b->failed = true;
    for (uint64_t i = 0; !b->failed && i < n; i++)
        f->desc.types[i] = (unsigned)samba_replay__get_number(b);
    n = samba_replay__get_number(b);
    if (n > b->size / 8) b->failed = true;
    f->section_ids = b->failed ? NULL : (int32_t *)calloc((size_t)n + 1, sizeof *f->section_ids);
    for (uint64_t i = 0; f->section_ids && i < n; i++)
        f->section_ids[i] = (int32_t)samba_replay__get_number(b);
    f->desc.n_section_ids = b->failed ? 0 : (int32_t)n;
    f->desc.section_ids = n ? f->section_ids : NULL;
}

static inline bool samba_replay__refuse(char *why, size_t size, const char *path, const char *reason)
{
    if (why && size) snprintf(why, size, "%s: %s", path, reason);
    return false;
}

/* Gives the next tensor its value. */
static inline bool samba_replay__write_next(samba_session *s, samba_replay__bytes *b)
{
    uint64_t n;
    char *name = samba_replay__get_text(b);
    const void *value = samba_replay__get_block(b, &n);
    samba_tensor *t = name && value ? samba_tensor_by_name(s, name) : NULL;
    free(name);
    return t && samba_write_bytes(t, value, (size_t)n);
}

/* What stands in the file before the values; then where they begin, and the checkpoint. */
static inline bool samba_replay__open_parts(samba_replay__bytes *b, samba_replay_found *f,
                                            size_t *values, const void **checkpoint, uint64_t *size)
{
    const uint64_t begin = SAMBA_REPLAY__MAGIC | (uint64_t)SAMBA_REPLAY__VERSION << 32;
    if (b->size < 16 || samba_replay__get_number(b) != begin) return false;
    samba_replay__bytes end = *b;
    end.next = b->size - 8;
    if (samba_replay__get_number(&end) != samba_replay__hash(b->at, b->size - 8)) return false;
    samba_replay__get_culprit(b, f);
    samba_replay__get_desc(b, f);
    *values = b->next;
    uint64_t n = samba_replay__get_number(b);
    for (uint64_t i = 0; !b->failed && i < 2 * n; i++) samba_replay__get_block(b, size);
    *checkpoint = samba_replay__get_block(b, size);
    return !b->failed;
}

SAMBA_REPLAY_API bool samba_replay_load(samba_session *s, const char *path, const char *checkpoint,
                                        samba_replay_found *found, char *why, size_t why_size)
{
    samba_replay__bytes b;
    size_t values = 0;
    const void *bytes = NULL;
    uint64_t size = 0;
    memset(found, 0, sizeof *found);
    bool fine = samba_replay__read_file(&b, path);
    if (!fine) samba_replay__refuse(why, why_size, path, "it cannot be read");
    else if (!samba_replay__open_parts(&b, found, &values, &bytes, &size))
        fine = samba_replay__refuse(why, why_size, path, "it is no replay file, or damaged");
    else if (!samba_replay__write_file(checkpoint, bytes, (size_t)size))
        fine = samba_replay__refuse(why, why_size, checkpoint, "it cannot be written");
    if (fine) {
        fine = samba_load(s, checkpoint, NULL);
        b.next = values;
        uint64_t n = samba_replay__get_number(&b);
        for (uint64_t i = 0; fine && i < n; i++) fine = samba_replay__write_next(s, &b);
        if (!fine) samba_replay__refuse(why, why_size, path, samba_error(s));
    }
    free(b.at);
    return fine;
}

SAMBA_REPLAY_API bool samba_replay_again(samba_session *s, const samba_replay_found *found)
{
    samba_culprit q;
    if (!samba_set_check_finite(s, true) || samba_run_with(s, &found->desc)) return false;
    if (!samba_nonfinite(s, &q)) return false;
    bool same_value = q.value == found->value || (q.value != q.value && found->value != found->value);
    return same_value && q.element == found->element && q.leaf == found->leaf
        && q.microbatch == found->microbatch && strcmp(q.tensor, found->tensor) == 0
        && strcmp(q.node, found->node) == 0 && strcmp(q.op, found->op) == 0;
}

SAMBA_REPLAY_API void samba_replay_free(samba_replay_found *found)
{
    free(found->tensor);
    free(found->node);
    free(found->op);
    free(found->message);
    free(found->graph);
    free(found->section_ids);
    memset(found, 0, sizeof *found);
}

#endif /* SAMBA_REPLAY_IMPLEMENTATION */
