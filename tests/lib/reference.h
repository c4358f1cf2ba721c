// What each op of samba.h computes, in a few lines: the specification, and the oracle of
// tests/core/reference.c.
//
// Loops are naive, one output after the other. Sums are in double and in index order, so kernels,
// whose sums are f32 with a fixed tree, come close to them. Where samba.h promises a chain of fused
// multiply-adds in index order (products, convolutions) or a single rounding, the bits are the
// same. Shapes stand at the pointers: x (T,C) is a matrix of T rows of C numbers, row after row.
// Include after samba.h.
#ifndef REFERENCE_H
#define REFERENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// ---- Elementwise: y = f(a, b, c), p the attribute ----

static inline double ref_min(double a, double b)
{
    if (isnan(a) || isnan(b)) return NAN;
    return a < b ? a : b;
}

static inline double ref_max(double a, double b)
{
    return -ref_min(-a, -b);
}

static inline double ref_logistic(double x)
{
    return 1 / (1 + exp(-x));
}

// The standard normal distribution: its share below x, and its density at x.
static inline double ref_normal_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static inline double ref_normal_density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * 3.14159265358979323846);
}

// gelu_tanh is x h(x) with h = (1 + tanh u)/2, u = sqrt(2/pi) (x + 0.044715 x^3).
static inline double ref_gelu_by_tanh(double x)
{
    double u = sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
    return x * (1 + tanh(u)) / 2;
}

static inline double ref_gelu_by_tanh_slope(double x)
{
    double r = sqrt(2 / 3.14159265358979323846), t = tanh(r * (x + 0.044715 * x * x * x));
    return (1 + t) / 2 + x * (1 - t * t) / 2 * r * (1 + 3 * 0.044715 * x * x);
}

static inline double ref_silu_slope(double x)
{
    double s = ref_logistic(x);
    return s + x * s * (1 - s);
}

// The table of elementwise ops: reference, gradcheck, ops and nulls test what has a row here.
// F(name, inputs, y, error, kind): the largest error that is allowed, in units in the last place of
// y. 0.5: the exact number, rounded once. Other bounds are those of [math], or count roundings;
// what has a second term (1 - b^2) or a zero beside a pole (SLOPE) is allowed as much of the
// largest term. POSITIVE: its inputs are. First the ops that samba_NAME(x) and samba_NAME(a, b)
// call, then others.
#define REF_MAPS_OF_ONE(F) \
    F(neg, 1, -a, 0.5, ANY) \
    F(exp, 1, exp(a), 1, ANY) \
    F(log, 1, log(a), 1, POSITIVE) \
    F(sqrt, 1, sqrt(a), 0.5, POSITIVE) \
    F(rsqrt, 1, 1 / sqrt(a), 1.6, POSITIVE) \
    F(abs, 1, fabs(a), 0.5, ANY) \
    F(relu, 1, a < 0 ? 0 : a, 0.5, ANY) \
    F(sigmoid, 1, ref_logistic(a), 1.6, ANY) \
    F(tanh, 1, tanh(a), 1.6, ANY) \
    F(gelu, 1, a *ref_normal_below(a), 4.5, ANY) \
    F(gelu_tanh, 1, ref_gelu_by_tanh(a), 4, ANY) \
    F(silu, 1, a *ref_logistic(a), 3, ANY) \
    F(softplus, 1, ref_max(a, 0) + log1p(exp(-fabs(a))), 2, ANY) \
    F(sin, 1, sin(a), 3, ANY) \
    F(cos, 1, cos(a), 3, ANY) \
    F(erf, 1, erf(a), 1.6, ANY) \
    F(log1p, 1, log1p(a), 1.6, POSITIVE) \
    F(expm1, 1, expm1(a), 1.6, ANY) \
    F(floor, 1, floor(a), 0.5, ANY) \
    F(ceil, 1, ceil(a), 0.5, ANY) \
    F(round, 1, rint(a), 0.5, ANY) \
    F(sign, 1, isnan(a) ? a : (a > 0) - (a < 0), 0.5, ANY) \
    F(detach, 1, a, 0.5, ANY)

#define REF_MAPS_OF_TWO(F) \
    F(add, 2, a + b, 0.5, ANY) \
    F(sub, 2, a - b, 0.5, ANY) \
    F(mul, 2, a *b, 0.5, ANY) \
    F(div, 2, a / b, 0.5, ANY) \
    F(pow, 2, pow(a, b), 5, POSITIVE) \
    F(minimum, 2, ref_min(a, b), 0.5, ANY) \
    F(maximum, 2, ref_max(a, b), 0.5, ANY) \
    F(eq, 2, a == b, 0.5, ANY) \
    F(ne, 2, a != b, 0.5, ANY) \
    F(lt, 2, a < b, 0.5, ANY) \
    F(le, 2, a <= b, 0.5, ANY) \
    F(gt, 2, a > b, 0.5, ANY) \
    F(ge, 2, a >= b, 0.5, ANY)

#define REF_OTHER_MAPS(F) \
    F(where, 3, a != 0 ? b : c, 0.5, ANY) \
    F(leaky_relu, 1, a > 0 ? a : a * p, 0.5, ANY) \
    F(scale, 1, a *p, 0.5, ANY) \
    F(shift, 1, a + p, 0.5, ANY) \
    F(tanh_backward, 2, a *(1 - b * b), 2, ANY) \
    F(sigmoid_backward, 2, a *b *(1 - b), 3, ANY) \
    F(relu_backward, 2, b <= 0 ? 0 : a, 0.5, ANY) \
    F(leaky_relu_backward, 2, b > 0 ? a : a * p, 0.5, ANY) \
    F(gelu_backward, 2, a *(ref_normal_below(b) + b * ref_normal_density(b)), 12, SLOPE) \
    F(gelu_tanh_backward, 2, a *ref_gelu_by_tanh_slope(b), 12, SLOPE) \
    F(silu_backward, 2, a *ref_silu_slope(b), 12, SLOPE) \
    F(abs_backward, 2, b > 0 ? a : b < 0 ? -a : b, 0.5, ANY) \
    F(maximum_backward, 3, b < c ? 0 : b == c ? a / 2 : a, 0.5, ANY) \
    F(pow_backward, 3, c == 0 ? 0 : a * c * pow(b, c - 1), 8, POSITIVE) \
    F(pow_backward_exponent, 3, b == 0 && c < INFINITY ? 0 : a * c * log(b), 4, POSITIVE)

#define REF_ELEMENTWISE(F) \
    REF_MAPS_OF_ONE(F) \
    REF_MAPS_OF_TWO(F) \
    REF_OTHER_MAPS(F)

enum { REF_ANY, REF_POSITIVE, REF_SLOPE };

typedef struct ref_map {
    const char *name;
    int inputs;
    double (*f)(double a, double b, double c, double p);
    double error;
    int kind;
} ref_map;

#define REF_FUNCTION(name, inputs, y, error, kind) \
    static inline double ref_##name(double a, double b, double c, double p) \
    { \
        (void)a; \
        (void)b; \
        (void)c; \
        (void)p; \
        return y; \
    }
REF_ELEMENTWISE(REF_FUNCTION)

#define REF_ROW(name, inputs, y, error, kind) { #name, inputs, ref_##name, error, REF_##kind },
static const ref_map ref_maps[] = { REF_ELEMENTWISE(REF_ROW) };

enum { REF_N_MAPS = sizeof ref_maps / sizeof *ref_maps };

// NULL: it has no row.
static inline const ref_map *ref_map_of(const char *name)
{
    for (int i = 0; i < REF_N_MAPS; i++)
        if (!strcmp(ref_maps[i].name, name)) return &ref_maps[i];
    return NULL;
}

// Where the element of x lies that meets element e of y, to which x is stretched, as NumPy
// broadcasts.
static inline int64_t ref_broadcast_at(const samba_shape *x, const samba_shape *y, int64_t e)
{
    int64_t at = 0, step = 1;
    for (int32_t i = 1; i <= x->ndim; i++) { // the last axis first
        int32_t n = x->dim[x->ndim - i], m = y->dim[y->ndim - i];
        if (n > 1) at += e % m * step;
        step *= n;
        e /= m;
    }
    return at;
}

// x as a number of this type holds it: rounded to nearest even for halves, towards zero and to the
// nearest end of the range for integers.
static inline double ref_cast(double x, samba_dtype type)
{
    int e;
    double f = frexp(x, &e);
    if (type == SAMBA_F32) return (float)x;
    if (type == SAMBA_BOOL) return x != 0;
    if (type == SAMBA_BF16) return ldexp(rint(ldexp(f, 8)), e - 8);
    if (type == SAMBA_F16) {
        if (e < -13) return ldexp(rint(ldexp(x, 24)), -24); // subnormal
        return fabs(x) < 65520 ? ldexp(rint(ldexp(f, 11)), e - 11) : copysign(INFINITY, x);
    }
    int bits = type == SAMBA_I32 ? 31 : type == SAMBA_I16 ? 15 : type == SAMBA_I8 ? 7 : 8;
    double most = ldexp(1, bits) - 1, least = type == SAMBA_U8 ? 0 : -most - 1;
    if (isnan(x)) return 0;
    return trunc(ref_max(least, ref_min(x, most)));
}

// Four random words for a block: Philox4x32-10 (Salmon et al., 2011).
static inline void ref_philox(uint64_t key, uint64_t block, uint32_t stream, uint32_t word[4])
{
    uint32_t k[2] = { (uint32_t)key, (uint32_t)(key >> 32) };
    uint32_t c[4] = { (uint32_t)block, (uint32_t)(block >> 32), stream, 0 };
    for (int round = 0; round < 10; round++) {
        uint64_t p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
        uint32_t next[4] = { (uint32_t)(q >> 32) ^ c[1] ^ k[0], (uint32_t)q,
                             (uint32_t)(p >> 32) ^ c[3] ^ k[1], (uint32_t)p };
        memcpy(c, next, sizeof c);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    memcpy(word, c, sizeof c);
}

// What dropout multiplies element e by: word e mod 4 of block e / 4, as a number in [0, 1),
// decides. The key is the layer's, plus the seed times a prime.
static inline double ref_keep(uint64_t key, uint32_t seed, uint32_t counter, float rate, int64_t e)
{
    uint32_t word[4];
    ref_philox(key + seed * 0x9E3779B185EBCA87ull, (uint64_t)e / 4, counter, word);
    bool dropped = ldexp(word[e % 4] >> 8, -24) < (double)rate;
    return dropped ? 0 : (double)(1.0f / (1.0f - rate));
}

// ---- Reductions ----

// The element of y (the axes of the mask dropped) that element e of x (shape) belongs to.
static inline int64_t ref_kept_at(const samba_shape *shape, int32_t mask, int64_t e)
{
    int64_t at = 0, step = 1;
    for (int32_t i = shape->ndim - 1; i >= 0; i--) {
        int32_t n = shape->dim[i];
        if (!(mask >> i & 1)) {
            at += e % n * step;
            step *= n;
        }
        e /= n;
    }
    return at;
}

static inline void ref_sum(double *y, int64_t n_out, const float *x, const samba_shape *shape,
                           int32_t mask)
{
    memset(y, 0, (size_t)n_out * sizeof *y);
    for (int64_t e = 0; e < samba_count(shape); e++)
        y[ref_kept_at(shape, mask, e)] += (double)x[e];
}

static inline void ref_mean(double *y, int64_t n_out, const float *x, const samba_shape *shape,
                            int32_t mask)
{
    ref_sum(y, n_out, x, shape, mask);
    for (int64_t o = 0; o < n_out; o++)
        y[o] /= (double)(samba_count(shape) / n_out);
}

static inline void ref_max_of(double *y, int64_t n_out, const float *x, const samba_shape *shape,
                              int32_t mask)
{
    for (int64_t o = 0; o < n_out; o++)
        y[o] = -INFINITY;
    for (int64_t e = 0; e < samba_count(shape); e++) {
        double *top = &y[ref_kept_at(shape, mask, e)];
        *top = ref_max(*top, (double)x[e]);
    }
}

static inline void ref_square_sum(double *y, int64_t n_out, const float *x,
                                  const samba_shape *shape, int32_t mask)
{
    memset(y, 0, (size_t)n_out * sizeof *y);
    for (int64_t e = 0; e < samba_count(shape); e++)
        y[ref_kept_at(shape, mask, e)] += (double)x[e] * (double)x[e];
}

// The first largest of n numbers that are `step` apart; a NaN is larger than any number.
static inline int64_t ref_argmax(const float *x, int64_t n, int64_t step)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        float v = x[i * step], top = x[best * step];
        if (v > top || (isnan(v) && !isnan(top))) best = i;
    }
    return best;
}

// Where the first `count` of n numbers in sorted order are: for each, how many stand before it. A
// NaN is larger than any number, and equal ones keep their order.
static inline void ref_argsort(double *y, const float *x, int n, int count, bool descending)
{
    for (int i = 0; i < n; i++) {
        int before = 0;
        for (int j = 0; j < n; j++) {
            bool below = x[j] < x[i] || (isnan(x[i]) && !isnan(x[j]));
            bool above = x[j] > x[i] || (isnan(x[j]) && !isnan(x[i]));
            bool first = descending ? above : below, other = descending ? below : above;
            before += first || (!other && j < i);
        }
        if (before < count) y[before] = i;
    }
}

// ---- Products: each element is one chain of fused multiply-adds in the order of k (exact) ----

// c (M,N) = c or 0, plus a b, where a is (M,K), or (K,M) if ta, and b is (K,N), or (N,K) if tb.
static inline void ref_matmul(double *c, const float *a, bool ta, const float *b, bool tb, int M,
                              int N, int K, bool accumulate)
{
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float sum = accumulate ? (float)c[m * N + n] : 0;
            for (int k = 0; k < K; k++)
                sum = fmaf(ta ? a[k * M + m] : a[m * K + k], tb ? b[n * K + k] : b[k * N + n], sum);
            c[m * N + n] = (double)sum;
        }
}

// y (T,N) = x (T,C) w (N,C)^T + b (N) or nothing
static inline void ref_affine(double *y, const float *x, const float *w, const float *b, int T,
                              int C, int N)
{
    ref_matmul(y, x, false, w, true, T, N, C, false);
    if (!b) return;
    for (int i = 0; i < T * N; i++)
        y[i] = (double)((float)y[i] + b[i % N]);
}

// w (N,K) of packed weights [N/32][K][32]; those of 4 bits [N/32][K/2][32], the lower half of a
// byte first, less 8; scales of integers [N/32][K/32][32] in bf16, which is the upper half of an
// f32.
static inline void ref_unpack(float *w, const void *packed, samba_dtype type, const uint16_t *scale,
                              int N, int K)
{
    for (int n = 0; n < N; n++)
        for (int k = 0; k < K; k++) {
            int at = (n / 32 * K + k) * 32 + n % 32,
                pair = (n / 32 * (K / 2) + k / 2) * 32 + n % 32;
            uint32_t bits
                = scale ? (uint32_t)scale[(n / 32 * (K / 32) + k / 32) * 32 + n % 32] << 16 : 0;
            float d, *y = &w[n * K + k];
            memcpy(&d, &bits, sizeof d);
            if (type == SAMBA_F32) *y = ((const float *)packed)[at];
            if (type == SAMBA_I8) *y = (float)((const int8_t *)packed)[at] * d;
            if (type == SAMBA_U8)
                *y = (float)((((const uint8_t *)packed)[pair] >> k % 2 * 4 & 15) - 8) * d;
        }
}

// ---- Ops that move values: y[e] = x[ref_..._at(e)], -1 where y has the padding instead ----

static inline int64_t ref_permuted_at(const samba_shape *x, const int32_t *axes, int64_t e)
{
    int64_t at = 0;
    for (int32_t i = x->ndim - 1; i >= 0; i--) { // axis i of y is axis axes[i] of x
        int64_t step = 1;
        for (int32_t k = axes[i] + 1; k < x->ndim; k++)
            step *= x->dim[k];
        at += e % x->dim[axes[i]] * step;
        e /= x->dim[axes[i]];
    }
    return at;
}

// range: begin, end, step for each axis
static inline int64_t ref_sliced_at(const samba_shape *x, const int32_t *range, int64_t e)
{
    int64_t at = 0, inner = 1;
    for (int32_t i = x->ndim - 1; i >= 0; i--) {
        const int32_t *r = range + 3 * i;
        int32_t n = (r[1] - r[0] - 1) / r[2] + 1;
        at += (r[0] + e % n * r[2]) * inner;
        inner *= x->dim[i];
        e /= n;
    }
    return at;
}

// room: before, after, between the elements of each axis
static inline int64_t ref_padded_at(const samba_shape *x, const int32_t *room, int64_t e)
{
    int64_t at = 0, inner = 1;
    for (int32_t i = x->ndim - 1; i >= 0; i--) {
        const int32_t *r = room + 3 * i;
        int64_t n = r[0] + (x->dim[i] - 1) * (r[2] + 1) + 1 + r[1], own = e % n - r[0];
        if (own < 0 || own % (r[2] + 1) || own / (r[2] + 1) >= x->dim[i]) return -1;
        at += own / (r[2] + 1) * inner;
        inner *= x->dim[i];
        e /= n;
    }
    return at;
}

// Where element e of gather's y, of the shape of index, comes from in x.
static inline int64_t ref_gathered_at(const samba_shape *x, const samba_shape *y, int32_t axis,
                                      const int32_t *index, int64_t e)
{
    int64_t at = 0, inner = 1, rest = e;
    for (int32_t i = x->ndim - 1; i >= 0; i--) {
        at += (i == axis ? index[e] : rest % y->dim[i]) * inner;
        inner *= x->dim[i];
        rest /= y->dim[i];
    }
    return at;
}

// ---- Lookup, also called embedding ----

// y (T,C): the rows id (T) of w (V,C)
static inline void ref_lookup(double *y, const int32_t *id, const float *w, int T, int C)
{
    for (int i = 0; i < T * C; i++)
        y[i] = (double)w[id[i / C] * C + i % C];
}

// dw (V,C) += the rows of dy (T,C), each to row id (T): what is there, plus a sum of f32 in the
// order of T (exact)
static inline void ref_lookup_backward(double *dw, const int32_t *id, const float *dy, int V, int T,
                                       int C)
{
    for (int i = 0; i < V * C; i++) {
        float sum = 0;
        for (int t = 0; t < T; t++)
            if (id[t] == i / C) sum += dy[t * C + i % C];
        dw[i] = (double)((float)dw[i] + sum);
    }
}

// ---- Convolution ----

// x (N,C,H,W), w (O,C/groups,KH,KW), y (N,O,OH,OW). Output (oy,ox) meets x at row oy stride -
// padding + ky dilation, and so for columns; beyond x lie zeros. Output channels o share their
// group's inputs.
typedef struct ref_conv {
    int N, C, H, W, O, KH, KW, groups;
    int stride[2], padding[2], dilation[2]; // rows, columns
} ref_conv;

static inline int ref_conv_side(const ref_conv *g, int axis)
{
    int n = axis == 0 ? g->H : g->W, k = axis == 0 ? g->KH : g->KW;
    return (n + 2 * g->padding[axis] - g->dilation[axis] * (k - 1) - 1) / g->stride[axis] + 1;
}

// Calls visit with the element of x and of w that meet at each output, in the order (c,ky,kx).
typedef void (*ref_meeting)(void *to, int64_t y, int64_t x, int64_t w);

static inline void ref_conv_each(const ref_conv *g, ref_meeting visit, void *to)
{
    int OH = ref_conv_side(g, 0), OW = ref_conv_side(g, 1), cg = g->C / g->groups,
        og = g->O / g->groups;
    for (int n = 0; n < g->N; n++)
        for (int o = 0; o < g->O; o++)
            for (int oy = 0; oy < OH; oy++)
                for (int ox = 0; ox < OW; ox++)
                    for (int c = 0; c < cg; c++)
                        for (int ky = 0; ky < g->KH; ky++)
                            for (int kx = 0; kx < g->KW; kx++) {
                                int iy = oy * g->stride[0] - g->padding[0] + ky * g->dilation[0];
                                int ix = ox * g->stride[1] - g->padding[1] + kx * g->dilation[1];
                                if (iy < 0 || iy >= g->H || ix < 0 || ix >= g->W) continue; // zero
                                int64_t y = ((n * g->O + o) * OH + oy) * OW + ox;
                                int64_t x = ((n * g->C + o / og * cg + c) * g->H + iy) * g->W + ix;
                                visit(to, y, x, ((o * cg + c) * g->KH + ky) * g->KW + kx);
                            }
}

// The three products: y += x w (exact: a chain in this order), dx += dy w, dw += dy x.
typedef struct ref_conv_operands {
    double *sum;
    const float *x, *w, *dy;
} ref_conv_operands;

static inline void ref_conv_y(void *to, int64_t y, int64_t x, int64_t w)
{
    ref_conv_operands *p = (ref_conv_operands *)to;
    p->sum[y] = (double)fmaf(p->w[w], p->x[x], (float)p->sum[y]);
}

static inline void ref_conv_dx(void *to, int64_t y, int64_t x, int64_t w)
{
    ref_conv_operands *p = (ref_conv_operands *)to;
    p->sum[x] += (double)p->dy[y] * (double)p->w[w];
}

static inline void ref_conv_dw(void *to, int64_t y, int64_t x, int64_t w)
{
    ref_conv_operands *p = (ref_conv_operands *)to;
    p->sum[w] += (double)p->dy[y] * (double)p->x[x];
}

// ---- Pooling of planes x (P,H,W) to y (P,OH,OW) ----

typedef struct ref_pool {
    int P, H, W, OH, OW;
    int kernel[2], stride[2], padding[2];
    bool adaptive, exclude_padding, ceil_mode;
} ref_pool;

// Windows along an axis of n elements: those that fit, or with ceil_mode also one that is cut at
// the end, unless it would hold padding alone.
static inline int ref_pool_side(const ref_pool *g, int axis, int n)
{
    int room = n + 2 * g->padding[axis] - g->kernel[axis], stride = g->stride[axis];
    int side = (g->ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
    return g->ceil_mode && (side - 1) * stride >= n + g->padding[axis] ? side - 1 : side;
}

// Elements begin ... end - 1 of one axis are in window o; size counts padding as well, but not what
// is past it. Adaptive windows cut n elements in m parts, which may share an element.
static inline void ref_window(const ref_pool *g, int axis, int o, int *begin, int *end, int *size)
{
    int n = axis == 0 ? g->H : g->W, m = axis == 0 ? g->OH : g->OW, last = n + g->padding[axis];
    *begin = g->adaptive ? o * n / m : o * g->stride[axis] - g->padding[axis];
    *end = g->adaptive ? ((o + 1) * n + m - 1) / m : *begin + g->kernel[axis];
    *size = (*end < last ? *end : last) - *begin;
    if (*begin < 0) *begin = 0;
    if (*end > n) *end = n;
    if (g->exclude_padding) *size = *end - *begin;
}

// y (P,OH,OW), the means of windows; or if y is NULL dx (P,H,W), to which windows give shares of dy
static inline void ref_avg_pool(const ref_pool *g, const float *x, double *y, const float *dy,
                                double *dx)
{
    for (int o = 0; o < g->P * g->OH * g->OW; o++) {
        int y0, y1, h, x0, x1, w, plane = o / (g->OH * g->OW);
        double sum = 0;
        ref_window(g, 0, o / g->OW % g->OH, &y0, &y1, &h);
        ref_window(g, 1, o % g->OW, &x0, &x1, &w);
        for (int row = y0; row < y1; row++)
            for (int column = x0; column < x1; column++) {
                int at = (plane * g->H + row) * g->W + column;
                if (y)
                    sum += (double)x[at];
                else
                    dx[at] += (double)dy[o] / (h * w);
            }
        if (y) y[o] = sum / (h * w);
    }
}

// The largest, or the last NaN; dy goes to where it is, the first of equal ones.
static inline void ref_max_pool(const ref_pool *g, const float *x, double *y, const float *dy,
                                double *dx)
{
    for (int o = 0; o < g->P * g->OH * g->OW; o++) {
        int y0, y1, h, x0, x1, w, plane = o / (g->OH * g->OW), best = -1;
        ref_window(g, 0, o / g->OW % g->OH, &y0, &y1, &h);
        ref_window(g, 1, o % g->OW, &x0, &x1, &w);
        for (int row = y0; row < y1; row++)
            for (int column = x0; column < x1; column++) {
                int at = (plane * g->H + row) * g->W + column;
                if (best < 0 || x[at] > x[best] || isnan(x[at])) best = at;
            }
        if (y)
            y[o] = (double)x[best];
        else
            dx[best] += (double)dy[o];
    }
}

// ---- Norms ----

// The mean of n numbers; and 1 / sqrt(var + eps).
static inline double ref_mean_of(const float *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i];
    return sum / n;
}

static inline double ref_rstd_of(const float *x, int n, double mean, double eps)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += ((double)x[i] - mean) * ((double)x[i] - mean);
    return 1 / sqrt(sum / n + eps);
}

// y (T,C) = h w (C) + b (C), h = (x - mean) rstd for each row; rms_norm: mean is taken as 0
static inline void ref_norm(double *y, const float *x, const float *w, const float *b, int T, int C,
                            double eps, bool centered)
{
    for (int t = 0; t < T; t++) {
        double mean = centered ? ref_mean_of(x + t * C, C) : 0;
        double rstd = ref_rstd_of(x + t * C, C, mean, eps);
        for (int c = 0; c < C; c++) {
            double h = ((double)x[t * C + c] - mean) * rstd;
            y[t * C + c] = h * (w ? (double)w[c] : 1) + (b ? (double)b[c] : 0);
        }
    }
}

// With g = dy w: dx (T,C) = rstd (g - mean(g) - h mean(g h)); dw (C) = sum of dy h, db (C) = sum of
// dy
static inline void ref_norm_backward(double *dx, double *dw, double *db, const float *dy,
                                     const float *x, const float *w, int T, int C, double eps,
                                     bool centered)
{
    memset(dw, 0, (size_t)C * sizeof *dw);
    memset(db, 0, (size_t)C * sizeof *db);
    for (int t = 0; t < T; t++, x += C, dy += C, dx += C) {
        double mean = centered ? ref_mean_of(x, C) : 0, rstd = ref_rstd_of(x, C, mean, eps);
        double mean_g = 0, mean_gh = 0;
        for (int c = 0; c < C; c++) {
            double h = ((double)x[c] - mean) * rstd, g = (double)dy[c] * (w ? (double)w[c] : 1);
            if (centered) mean_g += g / C;
            mean_gh += g * h / C;
            dw[c] += (double)dy[c] * h;
            db[c] += (double)dy[c];
        }
        for (int c = 0; c < C; c++) {
            double h = ((double)x[c] - mean) * rstd, g = (double)dy[c] * (w ? (double)w[c] : 1);
            dx[c] = rstd * (g - mean_g - h * mean_gh);
        }
    }
}

// Mean and variance of the elements of channel c of x (N,C,L).
static inline void ref_channel(const float *x, int N, int C, int L, int c, double *mean,
                               double *var)
{
    *mean = 0;
    *var = 0;
    for (int i = 0; i < N * L; i++)
        *mean += (double)x[(i / L * C + c) * L + i % L] / (N * L);
    for (int i = 0; i < N * L; i++) {
        double d = (double)x[(i / L * C + c) * L + i % L] - *mean;
        *var += d * d / (N * L);
    }
}

// y (N,C,L) = w (C) h + b (C), h = (x - mean) / sqrt(var + eps) by mean and variance of the batch,
// which the running ones (C) follow: old + momentum (new - old), of the variance with n - 1 in
// place of n.
static inline void ref_batch_norm(double *y, double *mean, double *var, const float *x,
                                  const float *w, const float *b, int N, int C, int L,
                                  double momentum, double eps)
{
    for (int c = 0; c < C; c++) {
        double m, v;
        ref_channel(x, N, C, L, c, &m, &v);
        for (int i = 0; i < N * L; i++) {
            int at = (i / L * C + c) * L + i % L;
            y[at] = (double)w[c] * ((double)x[at] - m) / sqrt(v + eps) + (double)b[c];
        }
        mean[c] += momentum * (m - mean[c]);
        var[c] += momentum * (v * N * L / (N * L - 1) - var[c]);
    }
}

// db (C) = sum of dy, dw (C) = sum of dy h, dx (N,C,L) = w rstd (dy - db/n - h dw/n)
static inline void ref_batch_norm_backward(double *dx, double *dw, double *db, const float *dy,
                                           const float *x, const float *w, int N, int C, int L,
                                           double eps)
{
    for (int c = 0; c < C; c++) {
        double mean, var, n = N * L;
        ref_channel(x, N, C, L, c, &mean, &var);
        double rstd = 1 / sqrt(var + eps);
        dw[c] = 0;
        db[c] = 0;
        for (int i = 0; i < N * L; i++) {
            int at = (i / L * C + c) * L + i % L;
            dw[c] += (double)dy[at] * ((double)x[at] - mean) * rstd;
            db[c] += (double)dy[at];
        }
        for (int i = 0; i < N * L; i++) {
            int at = (i / L * C + c) * L + i % L;
            double h = ((double)x[at] - mean) * rstd;
            dx[at] = (double)w[c] * rstd * ((double)dy[at] - db[c] / n - h * dw[c] / n);
        }
    }
}

// ---- Softmax and losses ----

// log(sum of e^x), through the largest, which keeps e^x in range
static inline double ref_log_sum_exp(const float *x, int n)
{
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++)
        top = ref_max(top, (double)x[i]);
    for (int i = 0; i < n; i++)
        sum += exp((double)x[i] - top);
    return top + log(sum);
}

// y (T,C) of rows x (T,C): log_softmax is x - log(sum e^x), softmax e to that
static inline void ref_softmax_rows(double *y, const float *x, int T, int C, bool logs)
{
    for (int i = 0; i < T * C; i++) {
        double l = (double)x[i] - ref_log_sum_exp(x + i / C * C, C);
        y[i] = logs ? l : exp(l);
    }
}

// dx (T,C) from dy and y: of softmax y (dy - sum(dy y)), of log_softmax dy - e^y sum(dy)
static inline void ref_softmax_backward(double *dx, const float *dy, const float *y, int T, int C,
                                        bool logs)
{
    for (int t = 0; t < T; t++, dx += C, dy += C, y += C) {
        double sum = 0;
        for (int c = 0; c < C; c++)
            sum += (double)dy[c] * (logs ? 1 : (double)y[c]);
        for (int c = 0; c < C; c++)
            dx[c] = logs ? (double)dy[c] - exp((double)y[c]) * sum
                         : (double)y[c] * ((double)dy[c] - sum);
    }
}

// The loss of each row of logp (T,C), 0 where label (T) is to be ignored: -sum of q logp, where q
// is 1 - s for the class of the label, plus s/C for all. s is 0 without label smoothing.
static inline void ref_losses(double *loss, const double *logp, const int32_t *label, int T, int C,
                              int32_t ignore, double s)
{
    for (int t = 0; t < T; t++) {
        loss[t] = 0;
        for (int c = 0; c < C && label[t] != ignore; c++) {
            double q = (c == label[t] ? 1 - s : 0) + s / C;
            if (q > 0) loss[t] -= q * logp[t * C + c];
        }
    }
}

// What the gradient of a row's loss is multiplied by: the mean divides by the labels that count.
static inline double ref_loss_share(const int32_t *label, int T, int32_t ignore,
                                    samba_reduction reduction)
{
    int counted = 0;
    for (int t = 0; t < T; t++)
        counted += label[t] != ignore;
    return reduction == SAMBA_REDUCE_MEAN ? 1.0 / counted : 1;
}

// The losses as one number, or as they are.
static inline void ref_reduce_losses(double *y, const double *loss, const int32_t *label, int T,
                                     int32_t ignore, samba_reduction reduction)
{
    if (reduction == SAMBA_REDUCE_NONE) {
        memcpy(y, loss, (size_t)T * sizeof *y);
        return;
    }
    *y = 0;
    for (int t = 0; t < T; t++)
        *y += loss[t] * ref_loss_share(label, T, ignore, reduction);
}

// dx (T,C) for dloss (T): p - q of cross_entropy, p = softmax(x); -q of nll, p NULL
static inline void ref_losses_backward(double *dx, const double *dloss, const double *p,
                                       const int32_t *label, int T, int C, int32_t ignore, double s)
{
    for (int i = 0; i < T * C; i++) {
        int t = i / C;
        double q = (i % C == label[t] ? 1 - s : 0) + s / C;
        bool moves = label[t] != ignore && (p || q > 0);
        dx[i] = moves ? dloss[t] * ((p ? p[i] : 0) - q) : 0;
    }
}

// ---- Attention of one head ----

// q (T,D), k (S,D), v (S,E), y (T,E). mask (T,S) is added to the scores, keep (T,S) multiplies the
// probabilities, as dropout does; either may be NULL. Causal: row t sees keys 0 ... t.
typedef struct ref_attention {
    int T, S, D, E;
    const float *q, *k, *v, *mask;
    const double *keep;
    double scale;
    bool causal;
} ref_attention;

// May row t look at key s? What is hidden counts for nothing, whatever its key and value hold.
static inline bool ref_sees(const ref_attention *a, int t, int s)
{
    return !(a->causal && s > t) && !(a->mask && a->mask[t * a->S + s] == -INFINITY);
}

// q k^T scale + mask, in f32 as samba.h has it: where scores overflow, they are lost.
static inline double ref_score(const ref_attention *a, int t, int s)
{
    float dot = 0, scale = (float)a->scale;
    for (int d = 0; d < a->D; d++)
        dot = fmaf(a->q[t * a->D + d], a->k[s * a->D + d], dot);
    return (double)(a->mask ? fmaf(dot, scale, a->mask[t * a->S + s]) : dot * scale);
}

// p (T,S) = softmax of q k^T scale + mask, and lse (T), the logarithms of the sums; a row that sees
// no key is 0, and its lse -inf
static inline void ref_attention_p(const ref_attention *a, double *p, double *lse)
{
    for (int t = 0; t < a->T; t++, p += a->S) {
        double top = -INFINITY, sum = 0;
        bool sees = false;
        for (int s = 0; s < a->S; s++) {
            p[s] = ref_sees(a, t, s) ? ref_score(a, t, s) : -INFINITY;
            sees = sees || ref_sees(a, t, s);
            top = ref_max(top, p[s]);
        }
        for (int s = 0; s < a->S; s++) {
            p[s] = ref_sees(a, t, s) ? exp(p[s] - top) : 0;
            sum += p[s];
        }
        for (int s = 0; s < a->S && sum != 0; s++)
            p[s] /= sum;
        lse[t] = top + log(sum);
    }
}

// y (T,E) = (P keep) v
static inline void ref_attention_y(const ref_attention *a, const double *p, double *y)
{
    memset(y, 0, (size_t)(a->T * a->E) * sizeof *y);
    for (int t = 0; t < a->T; t++)
        for (int s = 0; s < a->S; s++) {
            if (!ref_sees(a, t, s)) continue;
            double share = p[t * a->S + s] * (a->keep ? a->keep[t * a->S + s] : 1);
            for (int e = 0; e < a->E; e++)
                y[t * a->E + e] += share * (double)a->v[s * a->E + e];
        }
}

// With dP = keep (dy v^T): dS = P (dP - sum(dP P) + dlse) scale, dq = dS k, dk = dS^T q,
// dv = (P keep)^T dy. dlse (T), the gradient of lse, may be NULL.
static inline void ref_attention_backward(const ref_attention *a, const double *p, const float *dy,
                                          const float *dlse, double *dq, double *dk, double *dv)
{
    int S = a->S, D = a->D, E = a->E;
    memset(dq, 0, (size_t)(a->T * D) * sizeof *dq);
    memset(dk, 0, (size_t)(S * D) * sizeof *dk);
    memset(dv, 0, (size_t)(S * E) * sizeof *dv);
    for (int t = 0; t < a->T; t++, p += S, dy += E) {
        double dp[1024], sum = dlse ? -(double)dlse[t] : 0;
        for (int s = 0; s < S; s++) {
            double keep = a->keep ? a->keep[t * S + s] : 1;
            dp[s] = 0;
            if (!ref_sees(a, t, s)) continue;
            for (int e = 0; e < E; e++) {
                dp[s] += keep * (double)dy[e] * (double)a->v[s * E + e];
                dv[s * E + e] += p[s] * keep * (double)dy[e];
            }
            sum += dp[s] * p[s];
        }
        for (int s = 0; s < S; s++)
            for (int d = 0; d < D && ref_sees(a, t, s); d++) {
                double ds = p[s] * (dp[s] - sum) * a->scale;
                dq[t * D + d] += ds * (double)a->k[s * D + d];
                dk[s * D + d] += ds * (double)a->q[t * D + d];
            }
    }
}

// ---- Optimizers: one step of n numbers, as torch.optim has them ----

// g += decay w; v = momentum v + (1 - dampening) g, at the first step g; w -= lr v, or with
// Nesterov's momentum lr (g + momentum v). v NULL: no momentum.
typedef struct ref_sgd {
    int step;
    double lr, decay, momentum, clip, dampening;
    bool nesterov;
} ref_sgd;

static inline void ref_sgd_step(const ref_sgd *o, double *w, double *v, const float *grad, int n)
{
    for (int i = 0; i < n; i++) {
        double g = (double)grad[i] * o->clip + o->decay * w[i], move = g;
        if (v) v[i] = o->step <= 1 ? g : o->momentum * v[i] + (1 - o->dampening) * g;
        if (v) move = o->nesterov ? g + o->momentum * v[i] : v[i];
        w[i] -= o->lr * move;
    }
}

// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= lr m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) +
// eps). Decoupled (AdamW): w shrinks by lr decay first; else (Adam) decay w is part of g.
typedef struct ref_adamw {
    int step;
    double lr, decay, b1, b2, eps, clip;
    bool decoupled;
} ref_adamw;

static inline void ref_adamw_step(const ref_adamw *o, double *w, double *m, double *v,
                                  const float *grad, int n)
{
    double c1 = 1 - pow(o->b1, o->step), c2 = 1 - pow(o->b2, o->step);
    for (int i = 0; i < n; i++) {
        double g = (double)grad[i] * o->clip + (o->decoupled ? 0 : o->decay * w[i]);
        m[i] = o->b1 * m[i] + (1 - o->b1) * g;
        v[i] = o->b2 * v[i] + (1 - o->b2) * g * g;
        if (o->decoupled) w[i] -= o->lr * o->decay * w[i];
        w[i] -= o->lr * m[i] / c1 / (sqrt(v[i] / c2) + o->eps);
    }
}

// As Adam, with the largest v so far in place of v.
static inline void ref_amsgrad_step(const ref_adamw *o, double *w, double *m, double *v,
                                    double *most, const float *grad, int n)
{
    double c1 = 1 - pow(o->b1, o->step), c2 = 1 - pow(o->b2, o->step);
    for (int i = 0; i < n; i++) {
        double g = (double)grad[i] * o->clip + (o->decoupled ? 0 : o->decay * w[i]);
        m[i] = o->b1 * m[i] + (1 - o->b1) * g;
        v[i] = o->b2 * v[i] + (1 - o->b2) * g * g;
        if (!(most[i] >= v[i])) most[i] = v[i];
        if (o->decoupled) w[i] -= o->lr * o->decay * w[i];
        w[i] -= o->lr * m[i] / c1 / (sqrt(most[i] / c2) + o->eps);
    }
}

// g += decay w; v = alpha v + (1 - alpha) g^2; w -= lr g / (sqrt(v) + eps). With a mean of g, its
// square is taken from v below the root, but no more than v; with a buffer, the quotients add up in
// it, and w -= lr buffer.
typedef struct ref_rmsprop {
    double lr, decay, alpha, eps, momentum, clip;
} ref_rmsprop;

static inline void ref_rmsprop_step(const ref_rmsprop *o, double *w, double *v, double *mean,
                                    double *buffer, const float *grad, int n)
{
    for (int i = 0; i < n; i++) {
        double g = (double)grad[i] * o->clip + o->decay * w[i];
        v[i] = o->alpha * v[i] + (1 - o->alpha) * g * g;

        double variance = v[i];
        if (mean) mean[i] = o->alpha * mean[i] + (1 - o->alpha) * g;
        if (mean) variance -= mean[i] * mean[i];
        if (variance < 0) variance = 0;

        double move = g / (sqrt(variance) + o->eps);
        if (buffer) move = buffer[i] = o->momentum * buffer[i] + move;
        w[i] -= o->lr * move;
    }
}

// g += decay w; sum += g^2; w -= lr / (1 + (t - 1) lr_decay) g / (sqrt(sum) + eps)
typedef struct ref_adagrad {
    int step;
    double lr, decay, lr_decay, eps, clip;
} ref_adagrad;

static inline void ref_adagrad_step(const ref_adagrad *o, double *w, double *sum, const float *grad,
                                    int n)
{
    double lr = o->lr / (1 + (o->step - 1) * o->lr_decay);
    for (int i = 0; i < n; i++) {
        double g = (double)grad[i] * o->clip + o->decay * w[i];
        sum[i] += g * g;
        w[i] -= lr * g / (sqrt(sum[i]) + o->eps);
    }
}

// w -= lr (sign(b1 m + (1 - b1) g) + decay w); m = b2 m + (1 - b2) g; the sign of an infinity is
// NaN.
typedef struct ref_lion {
    double lr, decay, b1, b2, clip;
} ref_lion;

static inline void ref_lion_step(const ref_lion *o, double *w, double *m, const float *grad, int n)
{
    for (int i = 0; i < n; i++) {
        double g = (double)grad[i] * o->clip, way = o->b1 * m[i] + (1 - o->b1) * g;
        double sign = way > 0 ? 1 : way < 0 ? -1 : 0;
        w[i] -= o->lr * (sign + (way - way) + o->decay * w[i]);
        m[i] = o->b2 * m[i] + (1 - o->b2) * g;
    }
}

// What all gradients are multiplied by, so that their norm is at most `most`; NaN if that is not
// finite.
static inline double ref_clip_factor(double square_sum, double most)
{
    double factor = most / (sqrt(square_sum) + 1e-6);
    if (!isfinite(square_sum)) return NAN;
    return factor < 1 ? factor : 1;
}

// ---- int8: x = scale (q - zero), q in -128 ... 127 ----

static inline int64_t ref_limit(int64_t q, int64_t least, int64_t most)
{
    return q < least ? least : q > most ? most : q;
}

// The nearest q, halves to even. x / scale is a number of f32.
static inline int ref_quantize(float x, float scale, int zero)
{
    if (isnan(x)) return zero;
    double steps = (double)(x / scale);
    if (steps < -1000) steps = -1000;
    if (steps > 1000) steps = 1000;
    return (int)ref_limit(zero + (int64_t)nearbyint(steps), -128, 127);
}

static inline double ref_dequantize(int q, float scale, int zero)
{
    return (double)scale * (q - zero);
}

// x as the grid has it, in f32; NaN stays, and a grid of no finite steps has nothing else.
static inline double ref_on_grid(float x, float scale, int zero)
{
    return isfinite(scale) && !isnan(x) ? ref_dequantize(ref_quantize(x, scale, zero), scale, zero)
                                        : NAN;
}

// The 255 steps from least to most, which 0 is one of; all zeros have steps of 1.
static inline void ref_grid(float least, float most, float *scale, int *zero)
{
    *scale = most / 255 - least / 255;
    *zero = 0;
    if (*scale < 1e-30f)
        *scale = 1;
    else if (isfinite(*scale))
        *zero = (int)ref_limit((int64_t)nearbyint((double)(-128 - least / *scale)), -128, 127);
}

// range (3) = least, most, batches seen: of all of them, or, with a momentum, following slowly
static inline void ref_observe(float *range, const float *x, int n, double momentum)
{
    double least = 0, most = 0;
    for (int i = 0; i < n; i++) {
        least = ref_min(least, (double)x[i]);
        most = ref_max(most, (double)x[i]);
    }
    if (range[2] > 0 && momentum > 0) {
        least = (double)range[0] + momentum * (least - (double)range[0]);
        most = (double)range[1] + momentum * (most - (double)range[1]);
    } else if (range[2] > 0) {
        least = ref_min(least, (double)range[0]);
        most = ref_max(most, (double)range[1]);
    }
    range[0] = (float)least;
    range[1] = (float)most;
    range[2]++;
}

// floor((numerator + half) / 2^shift): the nearest number, halves up
static inline int64_t ref_shift_right(int64_t numerator, int shift)
{
    int64_t unit = (int64_t)1 << shift, sum = numerator + unit / 2, q = sum / unit;
    return q * unit > sum ? q - 1 : q;
}

// What a channel makes of its sum of products: table has bias, multiplier and shift of each; to has
// zero, least and most of y.
static inline double ref_int8_output(int64_t sum, const int32_t *table, int channel,
                                     const int32_t *to)
{
    const int32_t *row = table + 3 * channel;
    return (double)ref_limit(to[0] + ref_shift_right((sum + row[0]) * row[1], row[2]), to[1],
                             to[2]);
}

// y (T,N) from x (T,K), w (N,K)
static inline void ref_affine_int8(double *y, const int8_t *x, const int8_t *w,
                                   const int32_t *table, const int32_t *to, int T, int K, int N)
{
    for (int t = 0; t < T; t++)
        for (int n = 0; n < N; n++) {
            int64_t sum = 0;
            for (int k = 0; k < K; k++)
                sum += x[t * K + k] * w[n * K + k];
            y[t * N + n] = ref_int8_output(sum, table, n, to);
        }
}

// y (T,N) from x (T,K), w (K,N), each less its zeros: of each row of x, of each column of w
static inline void ref_matmul_integer(double *y, const int32_t *x, const int32_t *w,
                                      const int32_t *zero_x, const int32_t *zero_w, int T, int K,
                                      int N)
{
    for (int t = 0; t < T; t++)
        for (int n = 0; n < N; n++) {
            int64_t sum = 0;
            for (int k = 0; k < K; k++)
                sum += (x[t * K + k] - zero_x[t]) * (w[k * N + n] - zero_w[n]);
            y[t * N + n] = (double)sum;
        }
}

// What becomes of a sum of products of bytes: i32, f32, or bytes from `least` on beside a zero.
typedef struct ref_end {
    const float *scale, *offset; // of each channel; NULL: i32, none
    bool bytes;
    int zero, least;
} ref_end;

static inline double ref_byte_end(const ref_end *e, int64_t sum, int channel)
{
    if (!e->scale) return (double)(int32_t)(uint32_t)sum;
    float y = fmaf((float)(int32_t)(uint32_t)sum, e->scale[channel],
                   e->offset ? e->offset[channel] : 0.0f);
    if (!e->bytes) return y;
    double code = e->zero + rint(y);
    return code < e->least ? e->least : code > e->least + 255 ? e->least + 255 : code;
}

// Sums of (x - zero_x) (w - zero_w), x and w as numbers, padding as zero_x.
typedef struct ref_conv_integer {
    const int32_t *x, *w, *zero_w; // one for each channel of y
    int64_t *sum;
    int zero_x, k; // terms of a sum
} ref_conv_integer;

static inline void ref_conv_integer_term(void *to, int64_t y, int64_t x, int64_t w)
{
    ref_conv_integer *p = (ref_conv_integer *)to;
    p->sum[y] += (p->x[x] - p->zero_x) * (p->w[w] - p->zero_w[w / p->k]);
}

// x to codes of a scale and a zero.
static inline double ref_code(float x, float scale, int zero, int least)
{
    ref_end e = { NULL, NULL, true, zero, least };
    float by = x / scale;
    double code = e.zero + rint(by);
    return code < least ? least : code > least + 255 ? least + 255 : code;
}

// Padding holds zero_x: so sums are those of x - zero_x over the inside, and zero_x times all
// weights.
typedef struct ref_conv_int8 {
    const int8_t *x, *w;
    int64_t *sum;
    int zero_x;
} ref_conv_int8;

static inline void ref_conv_int8_term(void *to, int64_t y, int64_t x, int64_t w)
{
    ref_conv_int8 *p = (ref_conv_int8 *)to;
    p->sum[y] += (p->x[x] - p->zero_x) * p->w[w];
}

static inline void ref_convolution_int8(double *y, const ref_conv *g, ref_conv_int8 *p,
                                        const int32_t *table, const int32_t *to)
{
    int OH = ref_conv_side(g, 0), OW = ref_conv_side(g, 1), K = g->C / g->groups * g->KH * g->KW;
    ref_conv_each(g, ref_conv_int8_term, p);
    for (int i = 0; i < g->N * g->O * OH * OW; i++) {
        int channel = i / (OH * OW) % g->O;
        int64_t all = 0;
        for (int k = 0; k < K; k++)
            all += p->w[channel * K + k];
        y[i] = ref_int8_output(p->sum[i] + p->zero_x * all, table, channel, to);
    }
}

// The largest of a window, or the mean of its numbers with zeros beside them, halves up.
static inline void ref_pool_int8(double *y, const ref_pool *g, const int8_t *x, bool max, int zero)
{
    for (int o = 0; o < g->P * g->OH * g->OW; o++) {
        int y0, y1, h, x0, x1, w, plane = o / (g->OH * g->OW), most = -128;
        ref_window(g, 0, o / g->OW % g->OH, &y0, &y1, &h);
        ref_window(g, 1, o % g->OW, &x0, &x1, &w);
        int sum = (h * w - (y1 - y0) * (x1 - x0)) * zero;
        for (int row = y0; row < y1; row++)
            for (int column = x0; column < x1; column++) {
                int q = x[(plane * g->H + row) * g->W + column];
                if (q > most) most = q;
                sum += q;
            }
        y[o] = max ? most : floor((2.0 * sum + h * w) / (2.0 * h * w));
    }
}

// y = a + b, or of one input alone: a factor takes its grid to that of y
static inline double ref_sum_int8(const int8_t *in, const int32_t *zero, const int32_t *factor,
                                  int n, int shift, const int32_t *to)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += (int64_t)(in[i] - zero[i]) * factor[i];
    return (double)ref_limit(to[0] + ref_shift_right(sum, shift), to[1], to[2]);
}

#endif
