/* ==== [check-finite] ========================================================================== */
/* samba_desc.check_finite: the thread that makes values checks them while they are in its cache.
   What was found there lets [execute] name the op that made the first value that is not finite. */

/* A call of an op that is about to run. */
typedef struct samba__task {
    const samba_op *op;
    const samba_work *work;
    samba_args args;
    struct samba__findings *found; /* NULL: values are not checked */
} samba__task;

enum { SAMBA__NAN_IN = 1, SAMBA__INF_IN = 2 };
#if !defined(SAMBA_RUNTIME_ONLY)
#define SAMBA__NOWHERE INT64_MAX
#if defined(__GNUC__)
typedef int64_t samba__lowest __attribute__((aligned(8))); /* so that 32 bits have it atomic */
#else
typedef int64_t samba__lowest;
#endif
/* What is found in the outputs of an op at work. All of it but `overwritten` is atomic. */
typedef struct samba__findings {
    /* of each output the lowest element that is NaN, infinity, minus infinity */
    samba__lowest first[SAMBA_MAX_OUT][3];
    samba__lowest before[SAMBA_MAX_OUT][3]; /* the same of the state that it overwrites */
    int32_t overwritten;                    /* the input that output 0 overwrites, or -1 */
    int32_t least, most;                    /* of its elements but NaN, as samba__rank */
} samba__findings;

#if defined(SAMBA_NO_THREADS)
SAMBA__FN void samba__atomic_min64(samba__lowest *least, int64_t x)
{
    *least = samba__min64(*least, x);
}

SAMBA__FN void samba__atomic_min32(int32_t *least, int32_t x)
{
    *least = x < *least ? x : *least;
}
#else
SAMBA__FN void samba__atomic_min64(samba__lowest *least, int64_t x)
{
    int64_t old = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (x < old
           && !__atomic_compare_exchange_n(least, &old, x, false, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED)) {
    }
}

SAMBA__FN void samba__atomic_min32(int32_t *least, int32_t x)
{
    int32_t old = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (x < old
           && !__atomic_compare_exchange_n(least, &old, x, false, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED)) {
    }
}
#endif

/* Floats in their order as integers, -NaN first and NaN last. Its own inverse. */
SAMBA__INLINE int32_t samba__rank(uint32_t bits)
{
    return (int32_t)(bits ^ (bits >> 31 ? 0x7fffffffu : 0u));
}

SAMBA__FN float samba__ranked(int32_t rank)
{
    uint32_t bits = (uint32_t)rank;
    return samba__bits_float((uint32_t)samba__rank(bits));
}

/* Is one of n elements not finite? Their exponent bits are then all ones, or more with a fraction.
   Maxima of integers are vectorized as they stand. */
SAMBA__KERNEL bool samba__has_nonfinite(const void *x, int64_t n, samba_dtype type)
{
    if (type != SAMBA_F32) {
        const uint16_t *h = (const uint16_t *)x;
        uint16_t most = 0;
        for (int64_t i = 0; i < n; i++) {
            uint16_t a = (uint16_t)(h[i] & 0x7fffu);
            most = a > most ? a : most;
        }
        return most >= (type == SAMBA_BF16 ? 0x7f80u : 0x7c00u);
    }

    const uint32_t *f = (const uint32_t *)x;
    uint32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t a = f[i] & 0x7fffffffu;
        most = a > most ? a : most;
    }
    return most >= 0x7f800000u;
}

/* Widens span to the least and the largest samba__rank of x (n). */
SAMBA__KERNEL void samba__extremes(const uint32_t *x, int64_t n, int32_t span[2])
{
    int32_t least = span[0], most = span[1];
    for (int64_t i = 0; i < n; i++) {
        int32_t rank = samba__rank(x[i]);
        least = rank < least ? rank : least;
        most = rank > most ? rank : most;
    }
    span[0] = least;
    span[1] = most;
}

SAMBA__VECTORIZED SAMBA__FN bool samba__has_nonfinite_portable(const void *x, int64_t n,
                                                               samba_dtype type)
{
    return samba__has_nonfinite(x, n, type);
}

SAMBA__VECTORIZED SAMBA__FN void samba__extremes_portable(const uint32_t *x, int64_t n,
                                                          int32_t span[2])
{
    samba__extremes(x, n, span);
}

#if SAMBA__X86
SAMBA__AVX2_FN SAMBA__FN bool samba__has_nonfinite_avx2(const void *x, int64_t n, samba_dtype type)
{
    return samba__has_nonfinite(x, n, type);
}

SAMBA__AVX2_FN SAMBA__FN void samba__extremes_avx2(const uint32_t *x, int64_t n, int32_t span[2])
{
    samba__extremes(x, n, span);
}
#endif

/* Notes which of n elements, the first of which is number `at`, are not finite. */
SAMBA__NOINLINE void samba__note_nonfinite(samba__lowest first[3], const uint8_t *x, int64_t at,
                                           int64_t n, samba_dtype type)
{
    bool seen[3] = { false, false, false };
    for (int64_t i = 0; i < n; i++) {
        float value;
        samba__load(&value, x + (size_t)i * samba_dtype_size(type), type, 1);
        if (value - value == 0.0f) continue;
        int which = 0;
        if (value == value) which = value > 0.0f ? 1 : 2;
        if (!seen[which]) samba__atomic_min64(&first[which], at + i);
        seen[which] = true;
    }
}

/* Notes in first which elements [begin,end) of the memory of output o are not finite now. */
SAMBA__FN void samba__check_memory(const samba__task *t, int32_t o, int64_t begin, int64_t end,
                                   samba__lowest first[3])
{
    samba_dtype type = t->args.out_spec[o].dtype;
    if (!t->args.out[o] || !samba__is_float(type) || begin >= end) return;
    const uint8_t *x = (const uint8_t *)t->args.out[o] + (size_t)begin * samba_dtype_size(type);
    if (samba__set_of(t->args.isa)->has_nonfinite(x, end - begin, type))
        samba__note_nonfinite(first, x, begin, end - begin, type);
}

SAMBA__FN void samba__check_elements(const samba__task *t, int32_t o, int64_t begin, int64_t end)
{
    samba__check_memory(t, o, begin, end, t->found->first[o]);
}

/* Is it an update of which a unit makes one element of every output? Its samba_work.part is 0, but
   it may be run, and checked, in parts. */
SAMBA__FN bool samba__is_flat(const samba__task *t)
{
    return samba__class_of(t->op) == SAMBA__IS_STEP;
}

/* Is output o checked part by part, or is it complete only when the op is? */
SAMBA__FN bool samba__has_parts(const samba__task *t, int32_t o)
{
    const samba_spec *spec = t->args.out_spec;
    if (samba__is_flat(t)) return samba_count(&spec[o].shape) == samba_count(&spec[0].shape);
    return t->work->part != 0 && o == 0;
}

/* Checks `rows` ranges of elements that were just made. The first one is [begin,end). */
SAMBA__FN void samba__check_part(const samba__task *t, int64_t begin, int64_t end, int64_t rows,
                                 int64_t pitch)
{
    for (int32_t o = 0; o < t->args.n_out; o++) {
        if (!samba__has_parts(t, o)) continue;
        for (int64_t r = 0; r < rows; r++)
            samba__check_elements(t, o, begin + r * pitch, end + r * pitch);
    }
}

/* The output that overwrites input k in place; -1: none. */
SAMBA__FN int32_t samba__output_over(const samba_args *a, int32_t k)
{
    for (int32_t o = 0; o < a->n_out; o++)
        if (a->in[k] && a->in[k] == a->out[o]) return o;
    return -1;
}

/* Notes what is not finite in the parameter and the state that a step is about to overwrite, such
   as what a checkpoint brought: that is not the step's doing. */
SAMBA__FN void samba__note_state(const samba__task *t, int64_t begin, int64_t end)
{
    for (int32_t k = 0; k < t->args.n_in; k++) {
        int32_t o = samba__output_over(&t->args, k);
        if (o >= 0 && samba__has_parts(t, o))
            samba__check_memory(t, o, begin, end, t->found->before[o]);
    }
}

/* Notes the range of the same elements of an input that is about to be overwritten in place. NaN
   has ranks beyond those of the infinities: where there is one, it is left out, slowly. */
SAMBA__FN void samba__note_overwritten(const samba__task *t, int64_t begin, int64_t end,
                                       int64_t rows, int64_t pitch)
{
    const int32_t low = samba__rank(0xff800000u), high = samba__rank(0x7f800000u);
    if (t->found->overwritten < 0) return;

    for (int64_t r = 0; r < rows; r++) {
        const float *x = t->args.in[t->found->overwritten] + begin + r * pitch;
        const uint32_t *bits = (const uint32_t *)(const void *)x;
        int32_t span[2] = { INT32_MAX, INT32_MIN };
        samba__set_of(t->args.isa)->extremes(bits, end - begin, span);
        if (span[0] < low || span[1] > high) {
            span[0] = INT32_MAX;
            span[1] = INT32_MIN;
            for (int64_t i = 0; i < end - begin; i++)
                if (x[i] == x[i]) samba__extremes(bits + i, 1, span);
        }

        samba__atomic_min32(&t->found->least, span[0]);
        samba__atomic_min32(&t->found->most, -1 - span[1]); /* ~rank: its minimum is the maximum */
    }
}

/* An output that is checked as a whole. */
typedef struct samba__rest {
    const samba__task *task;
    int32_t out;
} samba__rest;

SAMBA__FN void samba__check_job(void *context, int64_t begin, int64_t end, int32_t thread)
{
    const samba__rest *rest = (const samba__rest *)context;
    (void)thread;
    samba__check_elements(rest->task, rest->out, begin, end);
}

/* Checks the outputs that were not checked part by part. */
SAMBA__FN void samba__check_rest(const samba__task *t, samba__pool *pool)
{
    for (int32_t o = 0; o < t->args.n_out; o++) {
        samba__rest rest = { t, o };
        /* Attention notes for its gradient that a row has nothing to attend: -inf. */
        bool note = o > 0 && samba__is(t->op, SAMBA__OP_scaled_dot_product_attention);
        if (note || samba__has_parts(t, o)) continue;
        samba__pool_run(pool, samba__check_job, &rest, samba_count(&t->args.out_spec[o].shape),
                        1 << 16);
    }
}

SAMBA__FN void samba__begin_findings(samba__findings *f, samba__task *t)
{
    const samba_args *a = &t->args;
    for (int32_t o = 0; o < SAMBA_MAX_OUT; o++)
        for (int32_t k = 0; k < 3; k++)
            f->first[o][k] = f->before[o][k] = SAMBA__NOWHERE;
    f->least = f->most = INT32_MAX;
    f->overwritten = -1;
    t->found = f;

    if (t->work->part <= 0) return;
    for (int32_t k = 0; k < a->n_in; k++) {
        bool as_large = samba_count(&a->in_spec[k].shape) == samba_count(&a->out_spec[0].shape);
        bool overwritten = a->in[k] == a->out[0] && a->in_spec[k].dtype == SAMBA_F32 && as_large;
        if (overwritten) f->overwritten = k;
    }
}
#endif

