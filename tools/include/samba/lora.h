/* lora.h - LoRA adapters for samba.h: a large model learns by training few numbers.

   Needs samba.h before it. `#define SAMBA_LORA_IMPLEMENTATION` in one file enables the code;
   SAMBA_LORA_STATIC makes all functions private to the file. Define both SAMBA_LORA_MALLOC(size)
   and SAMBA_LORA_FREE(p) to allocate elsewhere. C99 or C++11.

       samba_lora lora = { .rank = 8, .alpha = 16, .targets = { "c_attn" } };
       samba_add_lora(s, &lora);                    // before tracing
       ... trace, compile, train: only the adapters change
       samba_merge_lora(s, &lora);                  // the same outputs without them

   Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021; names and start as in
   PEFT. */
#ifndef SAMBA_LORA_H
#define SAMBA_LORA_H

#ifndef SAMBA_H
#error "lora.h: include samba.h before"
#endif

#ifndef SAMBA_LORA_API
#if defined(SAMBA_LORA_STATIC)
#define SAMBA_LORA_API static inline
#elif defined(__cplusplus)
#define SAMBA_LORA_API extern "C"
#else
#define SAMBA_LORA_API extern
#endif
#endif

#define SAMBA_MAX_LORA_TARGETS 8

typedef struct samba_lora {
    int32_t rank;                                /* default 8 */
    float alpha;                                 /* default: the rank; SAMBA_ZERO: 0 */
    const char *targets[SAMBA_MAX_LORA_TARGETS]; /* up to the first NULL */
} samba_lora;

/* Every samba_affine or samba_linear traced from here on whose layer is called target, or ends with
   __target, becomes y = x W^T + b + alpha/rank (x A^T) B^T. The adapters NAME__lora_A__weight
   (rank,k), U(+-1/sqrt(k)), and NAME__lora_B__weight (n,rank), zeros, are trained; all other
   parameters made from here on are frozen. Keep lora while the session traces. */
SAMBA_LORA_API bool samba_add_lora(samba_session *s, const samba_lora *lora);
/* In the loaded program: W <- W + alpha/rank B A, then B <- 0. The same outputs, up to rounding,
   without the adapters. */
SAMBA_LORA_API bool samba_merge_lora(samba_session *s, const samba_lora *lora);

#endif /* SAMBA_LORA_H */

#if defined(SAMBA_LORA_IMPLEMENTATION) && !defined(SAMBA_LORA__IMPLEMENTED)
#define SAMBA_LORA__IMPLEMENTED

#include <math.h>
#include <stdio.h>
#include <string.h>
#ifndef SAMBA_LORA_MALLOC
#include <stdlib.h>
#define SAMBA_LORA_MALLOC(size) malloc(size)
#define SAMBA_LORA_FREE(p) free(p)
#endif

static inline int32_t samba_lora__rank(const samba_lora *lora)
{
    return lora->rank ? lora->rank : 8;
}

static inline float samba_lora__scale(const samba_lora *lora)
{
    const float none = 0.0f; /* SAMBA_ZERO has a sign */
    bool given = memcmp(&lora->alpha, &none, sizeof none) != 0;
    return given ? lora->alpha / (float)samba_lora__rank(lora) : 1.0f;
}

/* Does text end with end? Then *before is how much stands before it. */
static inline bool samba_lora__ends(const char *text, size_t n, const char *end, size_t *before)
{
    size_t m = strlen(end);
    if (n < m || memcmp(text + n - m, end, m) != 0) return false;
    *before = n - m;
    return true;
}

/* Is this the weight of a layer that gets an adapter? *n: the length of the layer's name. */
static inline bool samba_lora__target(const samba_lora *lora, const char *weight, size_t *n)
{
    size_t before, none;
    if (!samba_lora__ends(weight, strlen(weight), "__weight", n)) return false;
    for (int32_t i = 0; i < SAMBA_MAX_LORA_TARGETS && lora->targets[i]; i++) {
        if (!samba_lora__ends(weight, *n, lora->targets[i], &before)) continue;
        if (before == 0 || (before > 2 && samba_lora__ends(weight, before, "__", &none)))
            return true;
    }
    return false;
}

/* The n letters of name, then end; to be freed. NULL, with an error: no memory. */
static inline char *samba_lora__name_of(samba_session *s, const char *name, size_t n,
                                        const char *end)
{
    size_t size = n + strlen(end) + 1;
    char *full = (char *)SAMBA_LORA_MALLOC(size);
    if (full)
        snprintf(full, size, "%.*s%s", (int)n, name, end);
    else
        samba_fail(s, SAMBA_ENOMEM, "no memory for the name of an adapter");
    return full;
}

static inline samba_tensor *samba_lora__tensor(samba_session *s, const char *name, size_t n,
                                               const char *end)
{
    char *full = samba_lora__name_of(s, name, n, end);
    samba_tensor *t = full ? samba_tensor_by_name(s, full) : NULL;
    SAMBA_LORA_FREE(full);
    return t;
}

static inline samba_tensor *samba_lora__param(samba_session *s, const char *name, size_t n,
                                              const char *end, samba_shape shape, float scale)
{
    samba_init uniform = { SAMBA_INIT_UNIFORM, 0.0f, scale };
    char *full = samba_lora__name_of(s, name, n, end);
    samba_tensor *w = full ? samba_param(s, full, shape, uniform) : NULL;
    SAMBA_LORA_FREE(full);
    return samba_set_requires_grad(w, true) ? w : NULL;
}

/* Names what an adapter makes after the product that it adapts: by that, samba_program.quantizes
   knows it. What computes at once has no such name. */
static inline samba_tensor *samba_lora__named(samba_tensor *t, const char *product, const char *end)
{
    if (!t || !samba_tracing(t->session)) return t;
    char *full = samba_lora__name_of(t->session, product, strlen(product), end);
    samba_tensor *named = full ? samba_name(t, full) : NULL;
    SAMBA_LORA_FREE(full);
    return named;
}

static inline samba_tensor *samba_lora__adapt(const samba_op *op, samba_tensor *const *in,
                                              int32_t n_in, samba_tensor *y, void *user)
{
    const samba_lora *lora = (const samba_lora *)user;
    const samba_tensor *w = n_in > 1 ? in[1] : NULL;
    size_t n;
    if (strcmp(op->name, "affine") != 0 || !samba_lora__target(lora, w->name, &n)) return y;
    int32_t rank = samba_lora__rank(lora), k = w->shape.dim[1];
    samba_tensor *a = samba_lora__param(y->session, w->name, n, "__lora_A__weight",
                                        SAMBA_SHAPE(rank, k), 1.0f / sqrtf((float)k));
    samba_tensor *b = samba_lora__param(y->session, w->name, n, "__lora_B__weight",
                                        SAMBA_SHAPE(w->shape.dim[0], rank), 0.0f);
    samba_tensor *inner = samba_lora__named(samba_affine(in[0], a, NULL), y->name, "__lora_A");
    samba_tensor *update = samba_lora__named(samba_affine(inner, b, NULL), y->name, "__lora_B");
    return samba_add(y, samba_scale(update, samba_lora__scale(lora)));
}

SAMBA_LORA_API bool samba_add_lora(samba_session *s, const samba_lora *lora)
{
    uintptr_t user = (uintptr_t)lora;
    if (!lora || !lora->targets[0] || lora->rank < 0 || lora->rank > 65536)
        return samba_fail(s, SAMBA_EARG,
                          "in samba_add_lora: a rank, and names of layers such as "
                          "c_attn in targets, are needed");
    return samba_set_frozen(s, true) && samba_on_trace(s, samba_lora__adapt, (void *)user);
}

/* w (n,k) <- w + scale b (n,rank) a (rank,k) */
static inline void samba_lora__sum(float *w, const float *b, const float *a, int64_t n, int64_t k,
                                   int64_t rank, float scale)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < k; j++) {
            float product = 0.0f;
            for (int64_t r = 0; r < rank; r++)
                product = fmaf(b[i * rank + r], a[r * k + j], product);
            w[i * k + j] = fmaf(scale, product, w[i * k + j]);
        }
    }
}

/* Merges the adapters of the layer whose name has n letters. */
static inline bool samba_lora__merge(samba_session *s, const samba_lora *lora, const char *name,
                                     size_t n)
{
    samba_tensor *a = samba_lora__tensor(s, name, n, "__lora_A__weight");
    samba_tensor *b = samba_lora__tensor(s, name, n, "__lora_B__weight");
    samba_tensor *w = samba_lora__tensor(s, name, n, "__weight");
    if (!a || !b || !w) return false;
    int64_t n_w = samba_count(&w->shape);
    int64_t n_a = samba_count(&a->shape), n_b = samba_count(&b->shape);
    float *w_data = (float *)SAMBA_LORA_MALLOC((size_t)(n_w + n_a + n_b) * sizeof *w_data);
    if (!w_data) return samba_fail(s, SAMBA_ENOMEM, "no memory to merge %s", w->name);
    float *a_data = w_data + n_w, *b_data = a_data + n_a;
    bool fine = samba_copy_out_f32(w, w_data, n_w) && samba_copy_out_f32(a, a_data, n_a)
        && samba_copy_out_f32(b, b_data, n_b);
    if (fine)
        samba_lora__sum(w_data, b_data, a_data, w->shape.dim[0], w->shape.dim[1], a->shape.dim[0],
                        samba_lora__scale(lora));
    fine = fine && samba_write_f32(w, w_data, n_w);
    memset(b_data, 0, (size_t)n_b * sizeof *b_data);
    fine = fine && samba_write_f32(b, b_data, n_b);
    SAMBA_LORA_FREE(w_data);
    return fine;
}

SAMBA_LORA_API bool samba_merge_lora(samba_session *s, const samba_lora *lora)
{
    int32_t n = samba_weight_names(s, NULL, 0);
    const char **names = (const char **)SAMBA_LORA_MALLOC((size_t)(n + 1) * sizeof *names);
    if (!names) return samba_fail(s, SAMBA_ENOMEM, "no memory for a list of %d parameters", n);
    samba_weight_names(s, names, n);
    bool fine = samba_ok(s);
    for (int32_t i = 0; fine && i < n; i++) {
        size_t layer;
        if (samba_lora__ends(names[i], strlen(names[i]), "__lora_A__weight", &layer))
            fine = samba_lora__merge(s, lora, names[i], layer);
    }
    SAMBA_LORA_FREE(names);
    return fine;
}
#endif /* SAMBA_LORA_IMPLEMENTATION */
/* MIT license, as samba.h. */
