/* generate.h - sampling tokens, and generating text with a key-value cache.

   Needs samba.h before it. `#define SAMBA_GENERATE_IMPLEMENTATION` in one file enables the code;
   SAMBA_GENERATE_STATIC makes all functions private to the file. C99 or C++11.

   A generator owns two graphs of one PEF, "prefill" for chunks of the prompt and "decode" for one
   token per row. The model traces them in a samba_generator_model, such as gpt2_trace_step; this
   file only feeds tokens and draws the next ones. Prompts of a batch may differ in length. */
#ifndef SAMBA_GENERATE_H
#define SAMBA_GENERATE_H

#ifndef SAMBA_H
#error "generate.h: include samba.h before"
#endif

#ifndef SAMBA_GENERATE_API
#if defined(SAMBA_GENERATE_STATIC)
#define SAMBA_GENERATE_API static inline
#elif defined(__cplusplus)
#define SAMBA_GENERATE_API extern "C"
#else
#define SAMBA_GENERATE_API extern
#endif
#endif

/* How the next token is drawn from logits. All zero: greedy, the largest logit. */
typedef struct samba_sampling {
    float temperature; /* logits / temperature; 0: greedy */
    int32_t top_k;     /* only the k largest; 0: all */
    float top_p;       /* then only the fewest that have this mass, up to 1, which
                          is all, as is 0; for the likeliest alone: top_k = 1 */
    uint64_t seed;
    float min_p;              /* then only those at least so likely as this part of the likeliest */
    float repetition_penalty; /* above 1: tokens of the text so far are less likely, by
                                 samba_penalize; 0 and 1: none */
} samba_sampling;

/* The token drawn from logits (n); u in [0,1) decides. work holds n indices. Of equal logits the
   first one counts as larger; beside one of +inf no other has a chance, and -inf has none. -1: a
   logit is NaN, or all are -inf. Order of the filters as in Hugging Face's transformers:
   temperature, top_k, top_p, min_p. repetition_penalty is not applied here: see samba_penalize. */
SAMBA_GENERATE_API int32_t samba_sample(const float *logits, int32_t n, const samba_sampling *how,
                                        double u, int32_t *work);
/* Copies logits (n) to out; that of each id in text is divided by the penalty if it is positive,
   else multiplied, once however often it stands there. Keskar et al., "CTRL", 2019, as in
   transformers; before all filters, and in greedy texts, too. Ids outside 0 ... n-1 are passed
   over. */
SAMBA_GENERATE_API void samba_penalize(const float *logits, int32_t n, const int32_t *text,
                                       int32_t text_size, float penalty, float *out);
/* A number in [0,1) that depends on its arguments only. */
SAMBA_GENERATE_API double samba_sampling_number(uint64_t seed, uint64_t row, uint64_t step);

/* What keys and values are kept in. INT8: a row of D numbers as integers of 8 bits, multiples of
   its largest / 127, which is kept beside them: (D + 4) / 4D of the memory of F32, BF16 half of it.
   Arithmetic is in f32 all the same: a layer's rows are converted when it reads them, one layer at
   a time, so that texts are written about as fast as before, not faster. Of the largest logit,
   those of the goldens in tests/golden are off by at most 0.6 % with BF16, 1.7 % with INT8; those
   after 1,000 tokens of 12 layers of random weights, which amplify errors, by 1.8 % and 5.1 %. */
typedef enum samba_generator_cache {
    SAMBA_CACHE_F32 = 0,
    SAMBA_CACHE_BF16,
    SAMBA_CACHE_INT8
} samba_generator_cache;

/* What flags of programs name: plain, f32, bf16, int8, int4; f32, bf16, int8. False: none is called
   so. */
SAMBA_GENERATE_API bool samba_weights_called(const char *name, samba_weights *weights);
SAMBA_GENERATE_API bool samba_cache_called(const char *name, samba_generator_cache *cache);

/* One of the two graphs, for B rows of T tokens. */
typedef struct samba_generator_graph {
    const char *name;
    int32_t T;
    samba_generator_cache cache;
    samba_tensor *ids;      /* (B,T) i32 */
    samba_tensor *position; /* (B,T) i32: of each token in its text */
    samba_tensor *row;      /* (B,T) i32: where the cache keeps it; -1: nowhere */
    samba_tensor *last;     /* (B) i32: b T + t of the token whose logits are wanted */
    samba_tensor *key;      /* (rows) i32: 0, 1, 2 ... */
    samba_tensor *logits;   /* (B,V), set by the model */
} samba_generator_graph;

typedef struct samba_generator {
    samba_session *session;
    int32_t B, length, V; /* rows, most tokens in a row (prompt and new), ids */
    samba_generator_graph prefill, decode;
} samba_generator;

/* Begins both graphs in turn and lets trace record the model: it must set graph->logits. chunk:
   tokens of a prompt that are read at once. */
typedef bool (*samba_generator_model)(const void *model, samba_generator_graph *graph);
SAMBA_GENERATE_API bool samba_generator_trace(samba_generator *g, samba_session *s, int32_t B,
                                              int32_t chunk, int32_t length,
                                              samba_generator_model trace, const void *model);
/* The same with caches of another type, if the model makes them by samba_generator_keep. */
SAMBA_GENERATE_API bool samba_generator_trace_cache(samba_generator *g, samba_session *s, int32_t B,
                                                    int32_t chunk, int32_t length,
                                                    samba_generator_cache cache,
                                                    samba_generator_model trace, const void *model);
/* For models: the cache called name, (B,K,L,D), with the new rows x (B,K,T,D), in f32. */
SAMBA_GENERATE_API samba_tensor *samba_generator_keep(const samba_generator_graph *graph,
                                                      const char *name, samba_tensor *x);
/* The generator of a session that has loaded a PEF of one, without tracing. Constants that the
   model has made of its configuration are its own affair: llama_find_rotations. */
SAMBA_GENERATE_API bool samba_generator_find(samba_generator *g, samba_session *s);

/* What to generate. */
typedef struct samba_generate_desc {
    const int32_t *const *prompt; /* n_prompts <= B texts, each at least one token */
    const int32_t *prompt_size;
    int32_t n_prompts;
    const int32_t *n_cached; /* NULL, or of each prompt how many tokens the cache has from the
                                call before, which are not read again: at most those that this
                                row's text had then, but its last one */
    int32_t max_new_tokens;
    const int32_t *stop; /* a row ends after one of these */
    int32_t n_stop;
    samba_sampling sampling;
    /* called for each new token, as it comes; returning false ends the row */
    bool (*on_token)(void *user, int32_t row, int32_t token);
    void *user;
    /* out: for each row room for length tokens: the prompt and what was generated, with the stop */
    int32_t **text;
    int32_t *text_size;
} samba_generate_desc;

/* Rows end at a stop token, after max_new_tokens, or when they have length tokens. */
SAMBA_GENERATE_API bool samba_generate(samba_generator *g, const samba_generate_desc *d);

#endif

#if defined(SAMBA_GENERATE_IMPLEMENTATION) && !defined(SAMBA_GENERATE__IMPLEMENTED)
#define SAMBA_GENERATE__IMPLEMENTED
#include "base.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sampling ---- */

SAMBA_GENERATE_API double samba_sampling_number(uint64_t seed, uint64_t row, uint64_t step)
{
    uint64_t x = samba_base__mix(seed * 0x9E3779B97F4A7C15u + (row << 32) + step);
    x = samba_base__mix(x);
    return (double)(x >> 11) * (1.0 / 9007199254740992.0);
}

SAMBA_GENERATE_API void samba_penalize(const float *logits, int32_t n, const int32_t *text,
                                       int32_t text_size, float penalty, float *out)
{
    memcpy(out, logits, (size_t)n * sizeof *out);
    for (int32_t i = 0; i < text_size; i++) {
        const int32_t id = text[i];
        if (id < 0 || id >= n) continue;
        out[id] = logits[id] > 0.0f ? logits[id] / penalty : logits[id] * penalty;
    }
}

/* Is a the larger logit? */
static inline bool samba_generate__before(const float *logits, int32_t a, int32_t b)
{
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

/* Lets heap[i] sink to its place in a heap whose top is the largest logit. */
static inline void samba_generate__sink(const float *logits, int32_t *heap, int32_t n, int32_t i)
{
    for (int32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && samba_generate__before(logits, heap[child + 1], heap[child])) child++;
        if (!samba_generate__before(logits, heap[child], heap[i])) return;
        int32_t other = heap[i];
        heap[i] = heap[child];
        heap[child] = other;
    }
}

/* The logits but -inf in a heap, and behind it those taken from its top, the largest last. */
typedef struct samba_generate__ranking {
    const float *logits;
    int32_t *index, n, n_heap;
    double most, temperature;
} samba_generate__ranking;

/* Also if the largest is infinite: equal ones have 1, all others 0. */
static inline double samba_generate__weight(const samba_generate__ranking *r, int32_t index)
{
    double below = (double)r->logits[index] - r->most;
    return (double)r->logits[index] == r->most ? 1 : exp(below / r->temperature);
}

/* The index of the logit with i larger ones before it. */
static inline int32_t samba_generate__ranked(samba_generate__ranking *r, int32_t i)
{
    while (r->n - r->n_heap <= i) {
        int32_t best = r->index[0];
        r->index[0] = r->index[--r->n_heap];
        r->index[r->n_heap] = best;
        samba_generate__sink(r->logits, r->index, r->n_heap, 0);
    }
    return r->index[r->n - 1 - i];
}

/* False: a logit is NaN, or all are -inf. */
static inline bool samba_generate__rank(samba_generate__ranking *r, const float *logits, int32_t n,
                                        int32_t *work)
{
    r->logits = logits;
    r->index = work;
    r->n = 0;
    for (int32_t i = 0; i < n; i++) {
        if (logits[i] != logits[i]) return false;
        if (logits[i] > -HUGE_VALF) work[r->n++] = i;
    }
    if (!r->n) return false;
    r->n_heap = r->n;
    for (int32_t i = r->n / 2; i-- > 0;)
        samba_generate__sink(logits, work, r->n, i);
    r->most = (double)logits[work[0]];
    return true;
}

/* The same, 0 if it is less than min_p: the likeliest one has 1. */
static inline double samba_generate__likely(const samba_generate__ranking *r, int32_t index,
                                            double min_p)
{
    double weight = samba_generate__weight(r, index);
    return weight < min_p ? 0 : weight;
}

/* Draws one of m candidates, each as often as its weight says. */
static inline int32_t samba_generate__pick(const samba_generate__ranking *r,
                                           const int32_t *candidate, int32_t m, double min_p,
                                           double u)
{
    double kept = 0;
    int32_t last = 0;
    for (int32_t i = 0; i < m; i++)
        kept += samba_generate__likely(r, candidate[i], min_p);
    for (int32_t i = 0; i < m; i++) {
        double weight = samba_generate__likely(r, candidate[i], min_p);
        u -= weight / kept;
        if (weight > 0) last = i;
        if (u < 0) return candidate[i];
    }
    return candidate[last]; /* rounding: u was almost 1 */
}

SAMBA_GENERATE_API int32_t samba_sample(const float *logits, int32_t n, const samba_sampling *how,
                                        double u, int32_t *work)
{
    samba_generate__ranking r;
    if (!samba_generate__rank(&r, logits, n, work)) return -1;
    r.temperature = (double)how->temperature;
    if (!(r.temperature > 0)) return work[0];

    int32_t k = how->top_k > 0 && how->top_k < r.n ? how->top_k : r.n, m = 0;
    double p = how->top_p > 0 && how->top_p < 1 ? (double)how->top_p : 1, all = 0, kept = 0;
    if (k < r.n) samba_generate__ranked(&r, k - 1);
    int32_t *candidate = r.index + (k < r.n ? r.n - k : 0);
    if (!(p < 1)) return samba_generate__pick(&r, candidate, k, (double)how->min_p, u);

    for (int32_t i = 0; i < k; i++)
        all += samba_generate__weight(&r, candidate[i]);
    while (m < k && kept < p * all)
        kept += samba_generate__weight(&r, samba_generate__ranked(&r, m++));
    return samba_generate__pick(&r, r.index + r.n - m, m, (double)how->min_p, u);
}

/* ---- Names ---- */

/* The number of a name among n; -1: it is none of them. */
static inline int samba_generate__place(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return i;
    return -1;
}

SAMBA_GENERATE_API bool samba_weights_called(const char *name, samba_weights *weights)
{
    static const char *const names[] = { "plain", "f32", "bf16", "int8", "int4" };
    const int i = samba_generate__place(names, 5, name);
    if (i >= 0) *weights = (samba_weights)i;
    return i >= 0;
}

SAMBA_GENERATE_API bool samba_cache_called(const char *name, samba_generator_cache *cache)
{
    static const char *const names[] = { "f32", "bf16", "int8" };
    const int i = samba_generate__place(names, 3, name);
    if (i >= 0) *cache = (samba_generator_cache)i;
    return i >= 0;
}

/* ---- The two graphs ---- */

static inline samba_tensor *samba_generate__graph_input(samba_session *s, const char *graph,
                                                        const char *name, samba_shape shape)
{
    size_t size = strlen(graph) + strlen(name) + 3;
    char *full = (char *)malloc(size);
    if (!full) {
        samba_fail(s, SAMBA_ENOMEM, "no memory for the name of an input");
        return NULL;
    }
    snprintf(full, size, "%s__%s", graph, name);
    samba_tensor *t = samba_input(s, full, SAMBA_I32, shape);
    free(full);
    return t;
}

/* 0, 1, 2 ... to be freed */
static inline int32_t *samba_generate__numbers(samba_session *s, int32_t n)
{
    int32_t *number = (int32_t *)malloc((size_t)n * sizeof *number);
    if (!number) samba_fail(s, SAMBA_ENOMEM, "no memory for %d numbers", n);
    for (int32_t i = 0; number && i < n; i++)
        number[i] = i;
    return number;
}

static inline bool samba_generate__trace_graph(samba_generator *g, samba_generator_graph *graph,
                                               const char *name, int32_t T,
                                               samba_generator_model trace, const void *model)
{
    samba_session *s = g->session;
    graph->name = name;
    graph->T = T;
    if (!samba_begin_graph(s, name)) return false;
    graph->ids = samba_generate__graph_input(s, name, "ids", SAMBA_SHAPE(g->B, T));
    graph->position = samba_generate__graph_input(s, name, "position", SAMBA_SHAPE(g->B, T));
    graph->row = samba_generate__graph_input(s, name, "row", SAMBA_SHAPE(g->B, T));
    graph->last = samba_generate__graph_input(s, name, "last", SAMBA_SHAPE(g->B));
    if (!trace(model, graph) || !graph->logits) {
        return samba_fail(s, SAMBA_EARG, "in samba_generator_trace: the model made no logits");
    }
    char logits[32];
    snprintf(logits, sizeof logits, "%s__logits", name); /* by which samba_generator_find has it */
    return samba_name(graph->logits, logits) != NULL;
}

SAMBA_GENERATE_API bool samba_generator_trace(samba_generator *g, samba_session *s, int32_t B,
                                              int32_t chunk, int32_t length,
                                              samba_generator_model trace, const void *model)
{
    return samba_generator_trace_cache(g, s, B, chunk, length, SAMBA_CACHE_F32, trace, model);
}

SAMBA_GENERATE_API bool samba_generator_trace_cache(samba_generator *g, samba_session *s, int32_t B,
                                                    int32_t chunk, int32_t length,
                                                    samba_generator_cache cache,
                                                    samba_generator_model trace, const void *model)
{
    memset(g, 0, sizeof *g);
    g->session = s;
    g->B = B;
    g->length = length;
    g->prefill.cache = g->decode.cache = cache;
    if (B < 1 || chunk < 1 || length < 1 || length > 1 << 24) {
        return samba_fail(s, SAMBA_EARG,
                          "in samba_generator_trace: %d rows, chunks of %d, length "
                          "%d: each must be at least 1",
                          B, chunk, length);
    }
    int32_t *number = samba_generate__numbers(s, length);
    if (!number) return false;
    g->prefill.key = g->decode.key
        = samba_from_data_copy(s, "generator__key", SAMBA_I32, SAMBA_SHAPE(length), number);
    free(number);
    samba_set_batch_dim(g->prefill.key, -1);
    if (chunk > length) chunk = length;
    if (!samba_generate__trace_graph(g, &g->prefill, "prefill", chunk, trace, model)
        || !samba_generate__trace_graph(g, &g->decode, "decode", 1, trace, model))
        return false;
    g->V = g->decode.logits->shape.dim[1];
    return true;
}

/* ---- Caches ---- */

/* A buffer called name with the new rows x (B,K,T,D), all of x's type. */
static inline samba_tensor *samba_generate__write(const samba_generator_graph *graph,
                                                  const char *name, samba_tensor *x)
{
    if (!x) return NULL;
    samba_shape shape = x->shape;
    shape.dim[2] = graph->key->shape.dim[0];
    return samba_write_rows(samba_buffer_of(x->session, name, x->dtype, shape, 0.0f), x,
                            graph->row);
}

/* Rows as integers of 8 bits, and what each row is a multiple of. A row that is NaN stays so, by
   its scale. */
static inline samba_tensor *samba_generate__write_int8(const samba_generator_graph *graph,
                                                       const char *name, samba_tensor *x)
{
    char scale_name[128];
    const int n = snprintf(scale_name, sizeof scale_name, "%s__scale", name);
    if (!x || n < 0 || n >= (int)sizeof scale_name) return NULL;
    samba_tensor *most = samba_max(samba_abs(x), SAMBA_SHAPE(-1), true);
    samba_tensor *scale = samba_scale(most, 1.0f / 127.0f);
    samba_tensor *least = samba_number(x->session, 1e-30f); /* a row of zeros is not divided by 0 */
    samba_tensor *steps = samba_round(samba_div(x, samba_maximum(scale, least)));
    samba_tensor *codes = samba_generate__write(graph, name, samba_cast(steps, SAMBA_I8));
    scale = samba_generate__write(graph, scale_name, scale);
    return samba_mul(samba_cast(codes, SAMBA_F32), scale);
}

SAMBA_GENERATE_API samba_tensor *samba_generator_keep(const samba_generator_graph *graph,
                                                      const char *name, samba_tensor *x)
{
    switch (graph->cache) {
    case SAMBA_CACHE_F32:
        return samba_generate__write(graph, name, x);
    case SAMBA_CACHE_BF16:
        x = samba_generate__write(graph, name, samba_cast(x, SAMBA_BF16));
        return samba_cast(x, SAMBA_F32);
    case SAMBA_CACHE_INT8:
        return samba_generate__write_int8(graph, name, x);
    }
    if (x) samba_fail(x->session, SAMBA_EARG, "a cache is f32, bf16 or int8");
    return NULL;
}

/* ---- Generators that are loaded ---- */

static inline samba_tensor *samba_generate__loaded(samba_session *s, const char *graph,
                                                   const char *part, int32_t ndim)
{
    char name[64];
    snprintf(name, sizeof name, "%s__%s", graph, part);
    samba_tensor *t = samba_tensor_by_name(s, name);
    if (t && t->shape.ndim == ndim) return t;
    if (t) {
        samba_fail(s, SAMBA_ESHAPE, "in samba_generator_find: %s %S is no part of a generator",
                   name, &t->shape);
    }
    return NULL;
}

/* The part of a graph that has a number for each token. */
static inline samba_tensor *samba_generate__loaded_ids(samba_session *s,
                                                       const samba_generator_graph *graph,
                                                       const char *part)
{
    samba_tensor *t = samba_generate__loaded(s, graph->name, part, 2);
    const samba_shape *ids = graph->ids ? &graph->ids->shape : t ? &t->shape : NULL;
    if (!t) return NULL;
    bool same
        = t->dtype == SAMBA_I32 && t->shape.dim[0] == ids->dim[0] && t->shape.dim[1] == ids->dim[1];
    if (same) return t;
    samba_fail(s, SAMBA_ESHAPE, "in samba_generator_find: %s %S is no i32 %S", t->name, &t->shape,
               ids);
    return NULL;
}

static inline bool samba_generate__find_graph(samba_generator_graph *graph, samba_session *s,
                                              const char *name)
{
    graph->name = name;
    graph->ids = samba_generate__loaded_ids(s, graph, "ids");
    graph->position = samba_generate__loaded_ids(s, graph, "position");
    graph->row = samba_generate__loaded_ids(s, graph, "row");
    graph->last = samba_generate__loaded(s, name, "last", 1);
    graph->logits = samba_generate__loaded(s, name, "logits", 2);
    if (!samba_ok(s)) return false;
    graph->T = graph->ids->shape.dim[1];
    return true;
}

SAMBA_GENERATE_API bool samba_generator_find(samba_generator *g, samba_session *s)
{
    memset(g, 0, sizeof *g);
    g->session = s;
    g->prefill.key = g->decode.key = samba_generate__loaded(s, "generator", "key", 1);
    if (!g->prefill.key || !samba_generate__find_graph(&g->prefill, s, "prefill")
        || !samba_generate__find_graph(&g->decode, s, "decode"))
        return false;
    g->B = g->prefill.ids->shape.dim[0];
    g->V = g->prefill.logits->shape.dim[1];
    g->length = g->prefill.key->shape.dim[0];
    if (g->decode.T != 1 || g->decode.ids->shape.dim[0] != g->B
        || g->decode.logits->shape.dim[1] != g->V || g->prefill.key->dtype != SAMBA_I32) {
        return samba_fail(s, SAMBA_ESHAPE,
                          "in samba_generator_find: prefill and decode are not of one generator");
    }
    int32_t *number = samba_generate__numbers(s, g->length);
    bool fine = number && samba_write(g->prefill.key, number);
    free(number);
    return fine;
}

/* ---- Generating ---- */

/* What a call needs beside the graphs. */
typedef struct samba_generate__generation {
    samba_generator *g;
    const samba_generate_desc *d;
    int32_t *input; /* ids, position, row: (B,T) each; last (B) */
    int32_t *work;  /* (V) */
    float *logits;  /* (V) of a row, penalized */
    int32_t *n_new; /* (B) tokens that were generated */
    bool *ended;    /* (B) */
} samba_generate__generation;

/* Runs a graph over the tokens at, at + 1 ... of each text, T of them or as many as there are. */
static inline bool samba_generate__feed(samba_generate__generation *e, samba_generator_graph *graph,
                                        const int32_t *at)
{
    int32_t B = e->g->B, T = graph->T, *ids = e->input, *position = ids + B * T,
            *row = position + B * T, *last = row + B * T;
    for (int32_t b = 0; b < B; b++) {
        last[b] = b * T;
        for (int32_t t = 0; t < T; t++) {
            bool real = b < e->d->n_prompts && !e->ended[b] && at[b] + t < e->d->text_size[b];
            ids[b * T + t] = real ? e->d->text[b][at[b] + t] : 0;
            position[b * T + t] = real ? at[b] + t : 0;
            row[b * T + t] = real ? at[b] + t : -1;
            if (real) last[b] = b * T + t;
        }
    }
    size_t each = (size_t)B * sizeof *ids, all = each * (size_t)T;
    return samba_write_bytes(graph->ids, ids, all)
        && samba_write_bytes(graph->position, position, all)
        && samba_write_bytes(graph->row, row, all) && samba_write_bytes(graph->last, last, each)
        && samba_run_graph(e->g->session, graph->name, SAMBA_FWD);
}

/* Draws the next token of row b, stores it and tells the caller. */
static inline bool samba_generate__draw(samba_generate__generation *e, int32_t b,
                                        const float *logits)
{
    const samba_generate_desc *d = e->d;
    double u = samba_sampling_number(d->sampling.seed, (uint64_t)b, (uint64_t)e->n_new[b]);
    if (d->sampling.repetition_penalty > 0) {
        samba_penalize(logits, e->g->V, d->text[b], d->text_size[b], d->sampling.repetition_penalty,
                       e->logits);
        logits = e->logits;
    }
    int32_t token = samba_sample(logits, e->g->V, &d->sampling, u, e->work);
    if (token < 0) {
        return samba_fail(e->g->session, SAMBA_ERANGE,
                          "text %d: a logit after token %d is NaN, or "
                          "all are -inf; the weights are damaged, or training has diverged: "
                          "samba_set_check_finite finds which op made it",
                          b, d->text_size[b]);
    }
    d->text[b][d->text_size[b]++] = token;
    e->n_new[b]++;
    e->ended[b] = e->n_new[b] >= d->max_new_tokens || d->text_size[b] >= e->g->length;
    for (int32_t i = 0; i < d->n_stop; i++)
        e->ended[b] = e->ended[b] || token == d->stop[i];
    if (d->on_token && !d->on_token(d->user, b, token)) e->ended[b] = true;
    return true;
}

/* Reads the prompts in chunks; the last chunk of each gives its first new token. */
static inline bool samba_generate__read_prompts(samba_generate__generation *e, int32_t *at)
{
    int32_t T = e->g->prefill.T;
    for (bool more = true; more;) {
        more = false;
        if (!samba_generate__feed(e, &e->g->prefill, at)) return false;
        const float *logits = samba_read(e->g->prefill.logits);
        for (int32_t b = 0; b < e->d->n_prompts; b++) {
            bool was_ended = e->ended[b], done = at[b] + T >= e->d->prompt_size[b];
            if (was_ended || at[b] >= e->d->prompt_size[b]) continue;
            at[b] += T;
            more = more || !done;
            if (done && !samba_generate__draw(e, b, logits + (int64_t)b * e->g->V)) return false;
        }
    }
    return true;
}

static inline bool samba_generate__generate(samba_generate__generation *e, int32_t *at)
{
    if (!samba_generate__read_prompts(e, at)) return false;
    for (;;) {
        bool more = false;
        for (int32_t b = 0; b < e->d->n_prompts; b++) {
            at[b] = e->d->text_size[b] - 1;
            more = more || !e->ended[b];
        }
        if (!more) return true;
        if (!samba_generate__feed(e, &e->g->decode, at)) return false;
        const float *logits = samba_read(e->g->decode.logits);
        for (int32_t b = 0; b < e->d->n_prompts; b++) {
            if (!e->ended[b] && !samba_generate__draw(e, b, logits + (int64_t)b * e->g->V))
                return false;
        }
    }
}

static inline bool samba_generate__check_prompts(const samba_generator *g,
                                                 const samba_generate_desc *d)
{
    samba_session *s = g->session;
    if (d->n_prompts < 1 || d->n_prompts > g->B || d->max_new_tokens < 1) {
        return samba_fail(s, SAMBA_EARG,
                          "in samba_generate: %d prompts and %d new tokens; there "
                          "are rows for 1 ... %d prompts, and at least one token is made",
                          d->n_prompts, d->max_new_tokens, g->B);
    }
    if (!(d->sampling.temperature >= 0) || d->sampling.top_k < 0
        || !(d->sampling.top_p >= 0 && d->sampling.top_p <= 1)) {
        return samba_fail(s, SAMBA_ERANGE,
                          "in samba_generate: temperature %g and top_k %d must not "
                          "be negative, top_p %g is 0 ... 1",
                          (double)d->sampling.temperature, d->sampling.top_k,
                          (double)d->sampling.top_p);
    }
    if (!(d->sampling.min_p >= 0 && d->sampling.min_p <= 1)
        || !(d->sampling.repetition_penalty >= 0 && d->sampling.repetition_penalty < HUGE_VALF)) {
        return samba_fail(s, SAMBA_ERANGE,
                          "in samba_generate: min_p %g is 0 ... 1, repetition_penalty %g must not "
                          "be negative",
                          (double)d->sampling.min_p, (double)d->sampling.repetition_penalty);
    }
    for (int32_t b = 0; b < d->n_prompts; b++) {
        const int32_t n = d->prompt_size[b], cached = d->n_cached ? d->n_cached[b] : 0;
        if (n < 1 || n >= g->length) {
            return samba_fail(s, SAMBA_ERANGE,
                              "in samba_generate: prompt %d has %d tokens; this "
                              "generator takes 1 ... %d",
                              b, n, g->length - 1);
        }
        if (cached < 0 || cached >= n) {
            return samba_fail(s, SAMBA_ERANGE,
                              "in samba_generate: %d of the %d tokens of prompt %d are cached; at "
                              "least the last one has to be read",
                              cached, n, b);
        }
    }
    return true;
}

SAMBA_GENERATE_API bool samba_generate(samba_generator *g, const samba_generate_desc *d)
{
    samba_generate__generation e = { g, d, NULL, NULL, NULL, NULL, NULL };
    size_t B = (size_t)g->B, T = (size_t)g->prefill.T;
    if (!samba_ok(g->session) || !samba_generate__check_prompts(g, d)) return false;
    int32_t *numbers = (int32_t *)calloc(3 * B * T + 3 * B + (size_t)g->V, sizeof *numbers);
    e.ended = (bool *)calloc(B, sizeof *e.ended);
    e.logits = (float *)malloc((size_t)g->V * sizeof *e.logits);
    bool fine = numbers && e.ended && e.logits;
    if (fine) {
        int32_t *at = numbers;
        e.n_new = at + B;
        e.work = e.n_new + B;
        e.input = e.work + g->V;
        for (int32_t b = 0; b < d->n_prompts; b++) {
            memcpy(d->text[b], d->prompt[b], (size_t)d->prompt_size[b] * sizeof **d->text);
            d->text_size[b] = d->prompt_size[b];
            at[b] = d->n_cached ? d->n_cached[b] : 0;
        }
        fine = samba_generate__generate(&e, at);
    } else {
        samba_fail(g->session, SAMBA_ENOMEM, "no memory to generate %d rows", g->B);
    }
    free(numbers);
    free(e.ended);
    free(e.logits);
    return fine;
}
#endif
