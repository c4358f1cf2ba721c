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
   run, and what was found. The error names the op, the step and the file. `tools/samba replay
   nan.replay` runs it again, on any machine, to the same bits; `tools/samba view nan.replay` makes
   a page of all that the run made until then, which opens at the op. A program with ops of its own
   is no program of tools/samba: it calls samba_replay_load and samba_replay_again itself.

   Before the file is written, the session itself repeats the run; if it does not find the same
   value, as the parameters were changed in a way that is not seen here, the error says so.

   The cost is a copy of all parameters and state before each run (and of gradients, unless the run
   is a whole step), in memory and time. Runs that go on from what temporaries hold (BCKWD by
   itself, sections one by one) are repeated together with those before them, from FWD on; inputs
   must not change in between. Only runs of this session are seen, not those of samba/parallel.h.

   Without a file, samba_replay_open(s, NULL), nothing is copied or checked but the losses after a
   training run: the first that is not finite is an error, which asks for a file. */
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

/* For the program that is loaded now; its parameters have values. path NULL: the losses alone are
   looked at. NULL after a failure, which the session's error explains. */
SAMBA_REPLAY_API samba_replay *samba_replay_open(samba_session *s, const char *path);
/* As samba_run and samba_run_with. False: the run failed; if it was ended by a value that is not
   finite, the file is there, and parameters and state are again what they were before it. */
SAMBA_REPLAY_API bool samba_replay_run(samba_replay *r, unsigned types);
SAMBA_REPLAY_API bool samba_replay_run_with(samba_replay *r, const samba_run_desc *desc);
SAMBA_REPLAY_API void samba_replay_close(samba_replay *r);

/* What a replay file says. Texts are the struct's. */
typedef struct samba_replay_found {
    char *tensor, *node, *op, *message; /* message: the error of that run */
    int64_t element, step;              /* step: from 1; 0: the program does not count them */
    float value;
    bool leaf;
    int32_t section, microbatch;
    uint64_t run;
    int32_t n_runs; /* that are repeated: the last one fails */
    samba_run_desc *runs;
    char *checkpoint, *folder; /* that the session reads; the folder in which it is for a while */
    bool locked;               /* private: that folder, by this file */
    int lock;
} samba_replay_found;

/* Does a replay file begin so? */
SAMBA_REPLAY_API bool samba_replay_is(const void *bytes, size_t size);
/* Loads the program of a replay file into a session that has traced nothing, and gives its tensors
   the values from before that run. checkpoint: a file that is written, for the session to read; it
   may replace another checkpoint, but no other file. NULL: one for a while, in a folder of its own,
   which samba_replay_free removes: close the session before. False: *why has the reason; found is
   to be freed all the same. */
SAMBA_REPLAY_API bool samba_replay_load(samba_session *s, const char *path, const char *checkpoint,
                                        samba_replay_found *found, char *why, size_t why_size);
/* Runs it. True: it was ended by the same value, in the same element, of the same op. The session
   has the error of the run. */
SAMBA_REPLAY_API bool samba_replay_again(samba_session *s, const samba_replay_found *found);
SAMBA_REPLAY_API void samba_replay_free(samba_replay_found *found);

#endif /* SAMBA_REPLAY_H */

#if defined(SAMBA_REPLAY_IMPLEMENTATION) && !defined(SAMBA_REPLAY__IMPLEMENTED)
#define SAMBA_REPLAY__IMPLEMENTED

#include "base.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMBA_REPLAY__MAGIC 0x50524253u /* SBRP */
#define SAMBA_REPLAY__VERSION 2u
#define SAMBA_REPLAY__MOST_RUNS 4096

/* ---- A file that is written or read from its beginning on ---- */

/* Numbers are little-endian. hash: FNV-1a (Fowler, Noll, Vo) of all bytes but the last eight of the
   file, which hold it. */
typedef struct samba_replay__file {
    FILE *f;
    uint64_t hash, left; /* left: bytes that may still be read */
    bool failed;
} samba_replay__file;

static inline uint64_t samba_replay__hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

/* f: open; NULL: it could not be. */
static inline bool samba_replay__begin_file(samba_replay__file *b, FILE *f)
{
    b->f = f;
    b->hash = 0xcbf29ce484222325u;
    b->left = 0;
    b->failed = !f;
    return f != NULL;
}

static inline bool samba_replay__close_file(samba_replay__file *b)
{
    if (b->f && fclose(b->f) != 0) b->failed = true;
    b->f = NULL;
    return !b->failed;
}

static inline void samba_replay__put(samba_replay__file *b, const void *from, size_t n)
{
    if (b->failed) return;
    b->failed = fwrite(from, 1, n, b->f) != n;
    b->hash = samba_replay__hash(b->hash, from, n);
}

static inline void samba_replay__put_number(samba_replay__file *b, uint64_t x)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(x >> 8 * i);
    samba_replay__put(b, bytes, 8);
}

static inline void samba_replay__put_block(samba_replay__file *b, const void *from, size_t n)
{
    samba_replay__put_number(b, n);
    samba_replay__put(b, from, n);
}

static inline void samba_replay__put_text(samba_replay__file *b, const char *text)
{
    samba_replay__put_block(b, text ? text : "", text ? strlen(text) : 0);
}

/* The next n bytes; without `to` they are passed by. */
static inline void samba_replay__get(samba_replay__file *b, void *to, uint64_t n)
{
    unsigned char passed[4096];
    if (n > b->left) b->failed = true;
    if (to && !b->failed) b->failed = fread(to, 1, (size_t)n, b->f) != n;
    for (uint64_t done = 0; !to && !b->failed && done < n;) {
        size_t part = n - done < sizeof passed ? (size_t)(n - done) : sizeof passed;
        b->failed = fread(passed, 1, part, b->f) != part;
        done += part;
    }
    if (!b->failed) b->left -= n;
}

static inline uint64_t samba_replay__get_number(samba_replay__file *b)
{
    unsigned char bytes[8] = { 0 };
    uint64_t x = 0;
    samba_replay__get(b, bytes, 8);
    for (int i = 7; !b->failed && i >= 0; i--)
        x = x << 8 | bytes[i];
    return x;
}

/* A block and a zero behind it; NULL if it is not there. */
static inline char *samba_replay__get_block(samba_replay__file *b, uint64_t *n)
{
    *n = samba_replay__get_number(b);
    char *bytes = b->failed || *n > b->left ? NULL : (char *)malloc((size_t)*n + 1);
    if (!bytes) {
        b->failed = true;
        return NULL;
    }
    samba_replay__get(b, bytes, *n);
    bytes[*n] = 0;
    return bytes;
}

static inline char *samba_replay__get_text(samba_replay__file *b)
{
    uint64_t n;
    return samba_replay__get_block(b, &n);
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

/* ---- Runs that are repeated ---- */

/* A description promises not to write what it points to; whoever made the copy frees it. */
static inline void samba_replay__free_copy(const void *copy)
{
    free((void *)(uintptr_t)copy);
}

static inline void samba_replay__free_runs(samba_run_desc *runs, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        samba_replay__free_copy(runs[i].graph);
        samba_replay__free_copy(runs[i].section_ids);
    }
}

/* A copy of what says what is run, in the modes of the session: the values are in the tensors. */
static inline bool samba_replay__copy_run(samba_run_desc *to, const samba_run_desc *d,
                                          const samba_session *s)
{
    bool train, running_stats;
    samba_modes(s, &train, &running_stats);
    memset(to, 0, sizeof *to);
    memcpy(to->types, d->types, sizeof to->types);
    to->own_order = d->own_order;
    to->eval = d->eval || !train;
    to->running_stats = d->running_stats || running_stats;
    to->graph = d->graph ? samba_replay__joined(d->graph, "") : NULL;
    bool fine = to->graph || !d->graph;
    if (d->n_section_ids < 1) return fine;
    size_t bytes = (size_t)d->n_section_ids * sizeof *d->section_ids;
    int32_t *ids = (int32_t *)malloc(bytes);
    if (ids) memcpy(ids, d->section_ids, bytes);
    to->section_ids = ids;
    to->n_section_ids = ids ? d->n_section_ids : 0;
    return fine && ids;
}

/* Types of part i of a run, a section or a schedule; 0: all, or none. */
static inline unsigned samba_replay__types_at(samba_session *s, const samba_run_desc *d, int32_t i)
{
    samba_section section;
    if (d->n_section_ids == 0) return i < SAMBA_MAX_RUNS ? d->types[i] : 0;
    if (i >= d->n_section_ids) return 0;
    return samba_describe_section(s, d->section_ids[i], &section) ? section.types : 0;
}

/* Of the last part. */
static inline unsigned samba_replay__last_types(samba_session *s, const samba_run_desc *d)
{
    int32_t i = d->n_section_ids > 0 ? d->n_section_ids - 1 : 0;
    if (d->n_section_ids == 0)
        while (i + 1 < SAMBA_MAX_RUNS && d->types[i + 1])
            i++;
    return samba_replay__types_at(s, d, i);
}

/* Is section id the first one of FWD in its graph? */
static inline bool samba_replay__is_first(samba_session *s, int32_t id)
{
    samba_section first, section;
    if (!samba_describe_section(s, id, &section)) return false;
    for (int32_t k = 0; k < id && samba_describe_section(s, k, &first); k++) {
        bool same = !first.graph || !section.graph || strcmp(first.graph, section.graph) == 0;
        if (same && (first.types & SAMBA_FWD)) return false;
    }
    return true;
}

/* Does a run need what the one before it left in temporaries? before: types with which that one
   ended. GRADNORM leaves the norm by which OPT clips. */
static inline bool samba_replay__goes_on(samba_session *s, const samba_run_desc *d, unsigned before)
{
    unsigned types = samba_replay__types_at(s, d, 0);
    if (d->n_section_ids > 0 && (types & SAMBA_FWD))
        return !samba_replay__is_first(s, d->section_ids[0]);
    if (types & (SAMBA_FWD | SAMBA_BCKWD)) return !(types & SAMBA_FWD);
    return (types & SAMBA_OPT) && !(types & SAMBA_GRADNORM) && (before & SAMBA_GRADNORM);
}

/* Do its gradients begin at zero? Then what they were before does not matter. */
static inline bool samba_replay__is_step(const samba_run_desc *d)
{
    if (d->n_section_ids > 0) return false;
    if (d->types[0] == 0 || (d->types[0] & SAMBA_ZEROGRAD)) return true;
    bool steps = false;
    for (int32_t i = 0; i < SAMBA_MAX_RUNS && d->types[i]; i++)
        steps = steps || (d->types[i] & SAMBA_OPT);
    return steps && (d->types[0] & SAMBA_BCKWD);
}

/* ---- Before a run ---- */

/* A tensor, and what it held before. */
typedef struct samba_replay__kept {
    samba_tensor *tensor;
    void *value;
    size_t bytes;
    bool input, gradient; /* an input stays as it is in a run */
} samba_replay__kept;

struct samba_replay {
    samba_session *session;
    char *path; /* NULL: losses alone */
    samba_replay__kept *kept;
    samba_tensor *counter; /* of steps, from before; NULL: none */
    int64_t step;          /* that the run belongs to; of losses alone: runs until now */
    int32_t n, n_runs;
    bool gradients; /* theirs were kept, too */
    samba_run_desc runs[SAMBA_REPLAY__MOST_RUNS];
};

/* An optimizer's count of its steps, "step" or "<name>step". */
static inline bool samba_replay__counts_steps(const samba_pef_symbol *q)
{
    size_t n = strlen(q->name);
    bool named = n >= 4 && strcmp(q->name + n - 4, "step") == 0;
    return named && q->role == SAMBA_ROLE_STATE && q->generated && q->spec.dtype == SAMBA_I32
        && samba_count(&q->spec.shape) == 1;
}

/* Lists what the checkpoint says that a program has between runs. */
static inline bool samba_replay__list(samba_replay *r, const samba_pef *pef)
{
    r->kept = (samba_replay__kept *)calloc((size_t)pef->n_symbols + 1, sizeof *r->kept);
    if (!r->kept) return false;
    for (int32_t i = 0; i < pef->n_symbols; i++) {
        samba_pef_symbol q = samba_pef_symbol_at(pef, i);
        bool input = q.role == SAMBA_ROLE_INPUT, gradient = q.role == SAMBA_ROLE_GRADIENT;
        bool state = q.role == SAMBA_ROLE_WEIGHT || q.role == SAMBA_ROLE_STATE;
        if (q.view_of >= 0 || (!input && !gradient && !state)) continue;
        samba_replay__kept *k = &r->kept[r->n];
        k->tensor = samba_tensor_by_name(r->session, q.name);
        if (!k->tensor) return false;
        k->bytes = samba_bytes(k->tensor);
        k->value = malloc(k->bytes);
        k->input = input;
        k->gradient = gradient;
        if (!k->value) return false;
        if (!r->counter && samba_replay__counts_steps(&q)) r->counter = k->tensor;
        r->n++;
    }
    return true;
}

/* A checkpoint for a while. */
static inline bool samba_replay__save(samba_replay *r, samba_base_scratch *scratch)
{
    char why[800];
    samba_save_opts any;
    any.allow_nonfinite = true;
    if (samba_base_open_scratch(scratch, r->path, true, why, sizeof why))
        return samba_save_with(r->session, scratch->file, &any);
    return samba_fail(r->session, SAMBA_EIO, "%s", why);
}

/* The tables of a checkpoint: its values, which may be many, are not needed. */
static inline bool samba_replay__list_saved(samba_replay *r, const char *checkpoint)
{
    char why[512] = "it cannot be read";
    unsigned char header[128];
    samba_pef pef;
    FILE *f = fopen(checkpoint, "rb");
    bool fine = f && fread(header, 1, sizeof header, f) == sizeof header && !fseek(f, 0, SEEK_END);
    long size = fine ? ftell(f) : 0;
    size_t n = size > 0 ? samba_pef_tables_size(header, (size_t)size) : 0;
    void *tables = n ? malloc(n) : NULL;
    if (n && !tables) {
        fclose(f);
        return false; /* for want of memory, as samba_replay_open says */
    }
    fine = tables && !fseek(f, 0, SEEK_SET) && fread(tables, 1, n, f) == n;
    if (f) fclose(f);
    fine = fine && samba_pef_open(&pef, tables, (size_t)size, why, sizeof why);
    if (!fine) samba_fail(r->session, SAMBA_EIO, "%s: %s", checkpoint, why);
    fine = fine && samba_replay__list(r, &pef);
    free(tables);
    return fine;
}

/* What a program has between runs is what it saves. */
static inline bool samba_replay__watch(samba_replay *r, const char *path)
{
    char why[800];
    samba_base_scratch scratch;
    r->path = samba_replay__joined(path, "");
    if (!r->path) return false;
    samba_base_output place; /* it is tried now whether the file can be written */
    if (!samba_base_begin(&place, path, "SBRP", why, sizeof why))
        return samba_fail(r->session, SAMBA_EIO, "in samba_replay_open: %s", why);
    samba_base_end(&place, false, NULL, 0);
    bool saved = samba_replay__save(r, &scratch);
    bool fine = saved && samba_replay__list_saved(r, scratch.file);
    samba_base_close_scratch(&scratch);
    return fine && samba_set_check_finite(r->session, true);
}

SAMBA_REPLAY_API samba_replay *samba_replay_open(samba_session *s, const char *path)
{
    if (!samba_ok(s)) return NULL;
    samba_replay *r = (samba_replay *)calloc(1, sizeof *r);
    bool fine = r != NULL;
    if (r) r->session = s;
    if (r && path) fine = samba_replay__watch(r, path);
    if (fine) return r;
    samba_fail(s, SAMBA_ENOMEM, "in samba_replay_open: no memory for a copy of the state");
    samba_replay_close(r);
    return NULL;
}

SAMBA_REPLAY_API void samba_replay_close(samba_replay *r)
{
    if (!r) return;
    for (int32_t i = 0; i < r->n; i++)
        free(r->kept[i].value);
    samba_replay__free_runs(r->runs, r->n_runs);
    free(r->kept);
    free(r->path);
    free(r);
}

/* What a run is fed in the place of parameters or state was there before it. */
static inline void samba_replay__keep_feeds(samba_replay *r, const samba_run_desc *d)
{
    for (int32_t i = 0; i < d->n_feeds; i++) {
        const samba_feed *feed = &d->feeds[i];
        for (int32_t k = 0; k < r->n; k++) {
            samba_replay__kept *kept = &r->kept[k];
            bool named = feed->name && strcmp(feed->name, kept->tensor->name) == 0;
            if ((!named && feed->tensor != kept->tensor) || !feed->data) continue;
            if (feed->bytes == kept->bytes) memcpy(kept->value, feed->data, kept->bytes);
        }
    }
}

/* Keeps what is there before a run, or notes that this one goes on from the last. */
static inline bool samba_replay__keep(samba_replay *r, const samba_run_desc *d)
{
    samba_session *s = r->session;
    bool goes_on = r->n_runs > 0
        && samba_replay__goes_on(s, d, samba_replay__last_types(s, &r->runs[r->n_runs - 1]));
    if (!goes_on) {
        samba_replay__free_runs(r->runs, r->n_runs);
        r->n_runs = 0;
        r->gradients = !samba_replay__is_step(d);
    }
    for (int32_t i = 0; !goes_on && i < r->n; i++) {
        samba_replay__kept *k = &r->kept[i];
        if (k->input || (k->gradient && !r->gradients)) continue;
        if (!samba_copy_out(k->tensor, k->value, k->bytes)) return false;
        if (k->tensor == r->counter) r->step = *(const int32_t *)k->value + (int64_t)1;
    }
    if (!goes_on) samba_replay__keep_feeds(r, d);
    if (r->n_runs == SAMBA_REPLAY__MOST_RUNS)
        return samba_fail(s, SAMBA_ERANGE, "in samba_replay_run: more than %d runs since FWD",
                          SAMBA_REPLAY__MOST_RUNS);
    if (samba_replay__copy_run(&r->runs[r->n_runs], d, s)) {
        r->n_runs++;
        return true;
    }
    samba_replay__free_runs(&r->runs[r->n_runs], 1);
    return samba_fail(s, SAMBA_ENOMEM, "in samba_replay_run: no memory");
}

/* ---- After a run that failed ---- */

/* Was it ended by the same value, in the same element, of the same op? */
static inline bool samba_replay__same(const samba_culprit *a, const samba_culprit *b)
{
    bool same_value = a->value == b->value || (a->value != a->value && b->value != b->value);
    return same_value && a->element == b->element && a->leaf == b->leaf
        && a->microbatch == b->microbatch && strcmp(a->tensor, b->tensor) == 0
        && strcmp(a->node, b->node) == 0 && strcmp(a->op, b->op) == 0;
}

/* Puts back what the runs have changed. */
static inline bool samba_replay__put_back(samba_replay *r)
{
    for (int32_t i = 0; i < r->n; i++) {
        const samba_replay__kept *k = &r->kept[i];
        if (k->input || (k->gradient && !r->gradients)) continue;
        if (!samba_write_bytes(k->tensor, k->value, k->bytes)) return false;
    }
    return true;
}

/* The runs once more, up to the one that fails. */
static inline bool samba_replay__runs_again(samba_session *s, const samba_run_desc *runs, int32_t n,
                                            samba_culprit *q)
{
    for (int32_t i = 0; i < n; i++) {
        bool fine = samba_run_with(s, &runs[i]);
        if (fine != (i + 1 < n)) return false;
    }
    return samba_nonfinite(s, q);
}

static inline void samba_replay__put_culprit(samba_replay__file *b, const samba_culprit *q,
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

static inline void samba_replay__put_run(samba_replay__file *b, const samba_run_desc *d)
{
    int32_t n = 0;
    while (n < SAMBA_MAX_RUNS && d->types[n])
        n++;
    samba_replay__put_text(b, d->graph);
    samba_replay__put_number(b, d->eval);
    samba_replay__put_number(b, d->running_stats);
    samba_replay__put_number(b, d->own_order);
    samba_replay__put_number(b, (uint64_t)n);
    for (int32_t i = 0; i < n; i++)
        samba_replay__put_number(b, d->types[i]);
    samba_replay__put_number(b, (uint64_t)d->n_section_ids);
    for (int32_t i = 0; i < d->n_section_ids; i++)
        samba_replay__put_number(b, (uint64_t)d->section_ids[i]);
}

/* What a checkpoint does not keep: inputs, and gradients that a run adds to. */
static inline bool samba_replay__is_written(const samba_replay *r, const samba_replay__kept *k)
{
    return k->input || (k->gradient && r->gradients);
}

static inline bool samba_replay__put_values(samba_replay *r, samba_replay__file *b)
{
    uint64_t n = 0;
    for (int32_t i = 0; i < r->n; i++)
        n += samba_replay__is_written(r, &r->kept[i]);
    samba_replay__put_number(b, n);
    for (int32_t i = 0; i < r->n; i++) {
        const samba_replay__kept *k = &r->kept[i];
        if (!samba_replay__is_written(r, k)) continue;
        if (k->input && !samba_copy_out(k->tensor, k->value, k->bytes)) return false;
        samba_replay__put_text(b, k->tensor->name);
        samba_replay__put_block(b, k->value, k->bytes);
    }
    return true;
}

/* Up to the end of the file, without a length. */
static inline void samba_replay__put_checkpoint(samba_replay__file *b, const char *checkpoint)
{
    unsigned char part[1 << 14];
    FILE *f = fopen(checkpoint, "rb");
    size_t n = 1;
    while (f && n > 0 && !b->failed) {
        n = fread(part, 1, sizeof part, f);
        samba_replay__put(b, part, n);
    }
    if (!f || ferror(f)) b->failed = true;
    if (f) fclose(f);
}

/* Parameters and state are those from before the runs. */
static inline bool samba_replay__put_all(samba_replay *r, samba_replay__file *b,
                                         const samba_culprit *q, const char *message)
{
    samba_base_scratch scratch;
    samba_replay__put_number(b, SAMBA_REPLAY__MAGIC | (uint64_t)SAMBA_REPLAY__VERSION << 32);
    samba_replay__put_culprit(b, q, message);
    samba_replay__put_number(b, (uint64_t)r->step);
    samba_replay__put_number(b, (uint64_t)r->n_runs);
    for (int32_t i = 0; i < r->n_runs; i++)
        samba_replay__put_run(b, &r->runs[i]);

    if (!samba_replay__put_values(r, b)) return false;
    bool fine = samba_replay__save(r, &scratch);
    if (fine) samba_replay__put_checkpoint(b, scratch.file);
    samba_base_close_scratch(&scratch);
    samba_replay__put_number(b, b->hash);
    return fine && !b->failed;
}

static inline bool samba_replay__write(samba_replay *r, const samba_culprit *q, const char *message)
{
    char why[800] = "there is no memory, or its folder is full";
    samba_base_output out;
    samba_replay__file b;
    bool fine = samba_base_begin(&out, r->path, "SBRP", why, sizeof why);
    if (fine) {
        samba_replay__begin_file(&b, out.file);
        bool whole = samba_replay__put_all(r, &b, q, message);
        fine = samba_base_end(&out, whole, why, sizeof why);
    }
    if (!fine) samba_fail(r->session, SAMBA_EIO, "%s", why);
    return fine;
}

/* Proves that what was kept repeats the run, and writes it. */
static inline bool samba_replay__prove_and_write(samba_replay *r, const samba_culprit *q,
                                                 const char *message)
{
    samba_session *s = r->session;
    samba_culprit again;
    if (!samba_replay__put_back(r)) return false;
    bool same
        = samba_replay__runs_again(s, r->runs, r->n_runs, &again) && samba_replay__same(&again, q);
    samba_clear_error(s);
    if (!samba_replay__put_back(r)) return false;
    if (!same)
        return samba_fail(s, SAMBA_ESTATE,
                          "a run of the same values does not repeat it; between "
                          "runs something was changed that is not kept");
    return samba_replay__write(r, q, message);
}

/* The session's error behind the name of its code. */
static inline const char *samba_replay__sentence(samba_session *s)
{
    const char *space = strchr(samba_error(s), ' ');
    return space ? space + 1 : "";
}

/* While an error stands the session does nothing: it is taken down, and then said again, with what
   to do. */
static inline bool samba_replay__tell(samba_replay *r)
{
    samba_session *s = r->session;
    samba_culprit q;
    if (!samba_nonfinite(s, &q)) return false;
    char message[1600], step[40] = "";
    if (r->step) snprintf(step, sizeof step, "at step %lld, ", (long long)r->step);
    snprintf(message, sizeof message, "%s%s", step, samba_replay__sentence(s));
    samba_code code = samba_error_code(s);
    samba_clear_error(s);
    bool written = samba_replay__prove_and_write(r, &q, message);
    char *why = written ? NULL : samba_replay__joined(samba_replay__sentence(s), "");
    samba_clear_error(s);
    if (written)
        samba_fail(s, code,
                   "%s. To see it: tools/samba view %s; to run it again: tools/samba "
                   "replay %s",
                   message, r->path, r->path);
    else
        samba_fail(s, code, "%s. There is no replay file: %s", message, why ? why : "no memory");
    free(why);
    return false;
}

/* Of a training run: are all losses finite? */
static inline bool samba_replay__check_losses(samba_replay *r, const samba_run_desc *d)
{
    enum { MOST = 16 };

    samba_tensor *loss[MOST];
    r->step++;
    bool trains = d->types[0] == 0 ? d->n_section_ids == 0 : (d->types[0] & SAMBA_BCKWD) != 0;
    int32_t n = trains ? samba_losses(r->session, loss, MOST) : 0;
    for (int32_t i = 0; i < n && i < MOST; i++) {
        double value = samba_count(&loss[i]->shape) == 1 ? (double)samba_read(loss[i])[0] : 0.0;
        if (value - value == 0.0) continue;
        return samba_fail(r->session, SAMBA_ERANGE,
                          "the loss %s is %g in run %l of this training. "
                          "Begin it again with a replay file (the examples have --replay FILE): it "
                          "comes to the same run, and names the op that made the first such value",
                          loss[i]->name, value, r->step);
    }
    return true;
}

SAMBA_REPLAY_API bool samba_replay_run_with(samba_replay *r, const samba_run_desc *desc)
{
    if (!r || !desc || !samba_ok(r->session)) return false;
    if (!r->path) return samba_run_with(r->session, desc) && samba_replay__check_losses(r, desc);
    if (!samba_replay__keep(r, desc)) return false;
    bool quiet = samba_set_quiet(r->session, true); /* it is said once, when the file is there */
    bool fine = samba_run_with(r->session, desc) || samba_replay__tell(r);
    samba_set_quiet(r->session, quiet);
    return fine;
}

SAMBA_REPLAY_API bool samba_replay_run(samba_replay *r, unsigned types)
{
    samba_run_desc d;
    memset(&d, 0, sizeof d);
    d.types[0] = types;
    return samba_replay_run_with(r, &d);
}

/* ---- Again ---- */

SAMBA_REPLAY_API bool samba_replay_is(const void *bytes, size_t size)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return size >= 4 && b[0] == 'S' && b[1] == 'B' && b[2] == 'R' && b[3] == 'P';
}

static inline void samba_replay__get_culprit(samba_replay__file *b, samba_replay_found *f)
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
    f->step = (int64_t)samba_replay__get_number(b);
}

static inline void samba_replay__get_run(samba_replay__file *b, samba_run_desc *d)
{
    char *graph = samba_replay__get_text(b);
    d->eval = samba_replay__get_number(b) != 0;
    d->running_stats = samba_replay__get_number(b) != 0;
    d->own_order = samba_replay__get_number(b) != 0;
    if (graph && *graph)
        d->graph = graph;
    else
        free(graph);
    uint64_t n = samba_replay__get_number(b);
    if (n > SAMBA_MAX_RUNS) b->failed = true;
    for (uint64_t i = 0; !b->failed && i < n; i++)
        d->types[i] = (unsigned)samba_replay__get_number(b);
    n = samba_replay__get_number(b);
    if (n > b->left / 8) b->failed = true;
    int32_t *ids = b->failed || n == 0 ? NULL : (int32_t *)calloc((size_t)n, sizeof *ids);
    for (uint64_t i = 0; ids && i < n; i++)
        ids[i] = (int32_t)samba_replay__get_number(b);
    d->section_ids = ids;
    d->n_section_ids = ids ? (int32_t)n : 0;
    if (n > 0 && !ids) b->failed = true;
}

static inline void samba_replay__get_runs(samba_replay__file *b, samba_replay_found *f)
{
    uint64_t n = samba_replay__get_number(b);
    bool fine = !b->failed && n > 0 && n <= SAMBA_REPLAY__MOST_RUNS;
    f->runs = fine ? (samba_run_desc *)calloc((size_t)n, sizeof *f->runs) : NULL;
    if (!f->runs) b->failed = true;
    for (uint64_t i = 0; f->runs && !b->failed && i < n; i++) {
        samba_replay__get_run(b, &f->runs[i]);
        f->n_runs++;
    }
}

static inline bool samba_replay__refuse(char *why, size_t size, const char *path,
                                        const char *reason)
{
    if (why && size) snprintf(why, size, "%s: %s", path, reason);
    return false;
}

/* NULL if the file is whole, and of this version; it then stands behind the first number. */
static inline const char *samba_replay__fault_of(samba_replay__file *b)
{
    unsigned char part[1 << 14], first[8] = { 0 };
    uint64_t hash = b->hash, stored = 0, total = 0;
    size_t held = 0, n = 1; /* held: bytes of part that may be the hash */
    while (n > 0) {
        n = fread(part + held, 1, sizeof part - held, b->f);
        if (total == 0) memcpy(first, part, n < 8 ? n : 8);
        total += n;
        held += n;
        if (held <= 8 || n == 0) continue;
        hash = samba_replay__hash(hash, part, held - 8);
        memmove(part, part + held - 8, 8);
        held = 8;
    }
    if (ferror(b->f)) return "it cannot be read";
    if (!samba_replay_is(first, (size_t)(total < 8 ? total : 8))) return "it is no replay file";
    for (int i = 7; held == 8 && i >= 0; i--)
        stored = stored << 8 | part[i];
    if (total < 16 || hash != stored) return "it is damaged, or was not written to its end";
    b->left = total - 8;
    rewind(b->f);
    uint64_t version = samba_replay__get_number(b) >> 32;
    return version == SAMBA_REPLAY__VERSION ? NULL : "it is of another version of samba/replay.h";
}

/* Gives the next tensor its value. */
static inline bool samba_replay__write_next(samba_session *s, samba_replay__file *b)
{
    uint64_t n;
    char *name = samba_replay__get_text(b), *value = samba_replay__get_block(b, &n);
    samba_tensor *t = name && value && !b->failed ? samba_tensor_by_name(s, name) : NULL;
    bool fine = t && samba_write_bytes(t, value, (size_t)n);
    free(name);
    free(value);
    return fine;
}

/* All that is left is the checkpoint. */
static inline bool samba_replay__extract(samba_replay__file *b, const char *path, char *why,
                                         size_t size)
{
    unsigned char part[1 << 14];
    samba_base_output out;
    if (!samba_base_begin(&out, path, "SAMBAPEF", why, size)) return false;
    bool fine = true;
    while (fine && b->left > 0) {
        size_t n = b->left < sizeof part ? (size_t)b->left : sizeof part;
        samba_replay__get(b, part, n);
        fine = !b->failed && fwrite(part, 1, n, out.file) == n;
    }
    bool damaged = b->failed;
    fine = samba_base_end(&out, !damaged, why, size) && fine;
    if (damaged) samba_replay__refuse(why, size, path, "the replay file cannot be read to its end");
    return fine;
}

/* The program and state, then the values in front of them, which begin at *values. */
static inline bool samba_replay__load_parts(samba_session *s, samba_replay__file *b,
                                            const char *checkpoint, char *why, size_t size)
{
    const char *damaged = "the replay file is damaged, or there is no memory for it";
    uint64_t left = b->left, n = samba_replay__get_number(b);
    long values = ftell(b->f) - 8;
    for (uint64_t i = 0; !b->failed && i < 2 * n; i++)
        samba_replay__get(b, NULL, samba_replay__get_number(b));
    if (b->failed || values < 0) return samba_replay__refuse(why, size, checkpoint, damaged);
    if (!samba_replay__extract(b, checkpoint, why, size)) return false;

    bool fine = samba_load(s, checkpoint, NULL) && fseek(b->f, values, SEEK_SET) == 0;
    b->left = left;
    samba_replay__get_number(b);
    for (uint64_t i = 0; fine && i < n; i++)
        fine = samba_replay__write_next(s, b);
    if (!fine && why && size)
        snprintf(why, size, "%s", samba_ok(s) ? damaged : samba_replay__sentence(s));
    return fine;
}

/* Where the session reads the program: where the caller says, or for a while. */
static inline bool samba_replay__choose_checkpoint(samba_replay_found *found, const char *path,
                                                   const char *checkpoint, char *why, size_t size)
{
    samba_base_scratch scratch;
    if (checkpoint && samba_base_same_file(checkpoint, path))
        return samba_replay__refuse(why, size, checkpoint,
                                    "this is the replay file itself; give "
                                    "the checkpoint another name");
    if (checkpoint)
        found->checkpoint = samba_replay__joined(checkpoint, "");
    else if (samba_base_open_scratch(&scratch, path, true, why, size)) {
        found->checkpoint = scratch.file;
        found->folder = scratch.folder;
        found->locked = scratch.locked;
        found->lock = scratch.lock;
    } else
        return false;
    return found->checkpoint || samba_replay__refuse(why, size, path, "no memory");
}

SAMBA_REPLAY_API bool samba_replay_load(samba_session *s, const char *path, const char *checkpoint,
                                        samba_replay_found *found, char *why, size_t why_size)
{
    samba_replay__file b;
    memset(found, 0, sizeof *found);
    if (!samba_replay__begin_file(&b, fopen(path, "rb")))
        return samba_replay__refuse(why, why_size, path, strerror(errno));
    const char *fault = samba_replay__fault_of(&b);
    if (!fault) {
        samba_replay__get_culprit(&b, found);
        samba_replay__get_runs(&b, found);
        if (b.failed) fault = "it is damaged, or there is no memory for it";
    }
    bool fine = !fault || samba_replay__refuse(why, why_size, path, fault);
    fine = fine && samba_replay__choose_checkpoint(found, path, checkpoint, why, why_size)
        && samba_replay__load_parts(s, &b, found->checkpoint, why, why_size);
    samba_replay__close_file(&b);
    return fine;
}

SAMBA_REPLAY_API bool samba_replay_again(samba_session *s, const samba_replay_found *found)
{
    samba_culprit q, f;
    memset(&f, 0, sizeof f);
    f.tensor = found->tensor;
    f.node = found->node;
    f.op = found->op;
    f.element = found->element;
    f.value = found->value;
    f.leaf = found->leaf;
    f.microbatch = found->microbatch;
    return samba_set_check_finite(s, true)
        && samba_replay__runs_again(s, found->runs, found->n_runs, &q)
        && samba_replay__same(&q, &f);
}

SAMBA_REPLAY_API void samba_replay_free(samba_replay_found *found)
{
    samba_replay__free_runs(found->runs, found->n_runs);
    free(found->runs);
    free(found->tensor);
    free(found->node);
    free(found->op);
    free(found->message);
    if (found->folder) {
        samba_base_scratch scratch;
        scratch.folder = found->folder;
        scratch.file = found->checkpoint;
        scratch.locked = found->locked;
        scratch.lock = found->lock;
        samba_base_close_scratch(&scratch);
    } else
        free(found->checkpoint);
    memset(found, 0, sizeof *found);
}

#endif /* SAMBA_REPLAY_IMPLEMENTATION */
