// Every gradient against central differences of a second implementation: each op once more, in
// double, straight from its formula. Judges the goldens, too, so that neither is taken on trust.
//     cc -O2 -I. tests/core/gradcheck.c -lm -pthread -o gradcheck && ./gradcheck [GOLDEN_DIR [op]]
// With GRADCHECK_GOLDENS_ONLY defined the library's gradients are left out.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/op_calls.h"
#include "tests/lib/test.h"
#include <math.h>

static const double step = 1e-5;         // of the difference quotients
static const double value_rtol = 1.2e-7; // goldens are rounded to f32
static const double golden_rtol = 1e-6, library_rtol = 1e-4;

enum { N_DIRECTIONS = 3 };

// ---- Tensors in double --------------------------------------------------------------------------

typedef struct ref_tensor {
    int ndim, dim[GOLDEN_MAX_DIMS];
    int64_t n;
    double *v; // NULL: absent
} ref_tensor;

typedef struct ref_case {
    int n_in, n_out, n_attr;
    const double *attr;
    ref_tensor in[GOLDEN_MAX_IN], out[GOLDEN_MAX_OUT];
} ref_case;

// x to p significant bits with exponents from low up, to nearest even; infinite above max.
static double round_bits(double x, int p, int low, double max)
{
    if (x - x != 0 || x == 0) return x;
    int e = ilogb(x) < low ? low : ilogb(x);
    double unit = ldexp(1, e - (p - 1)), y = nearbyint(x / unit) * unit;
    return y > max ? (double)INFINITY : y < -max ? -(double)INFINITY : y;
}

static double to_f32(double x)
{
    return round_bits(x, 24, -126, 3.4028234663852886e38);
}

static double to_bf16(double x)
{
    return round_bits(x, 8, -126, 3.3895313892515355e38);
}

static double to_f16(double x)
{
    return round_bits(x, 11, -14, 65504);
}

// Sign, exponent and fraction of a 16-bit float.
static double from_half(unsigned h, int fraction_bits, int bias)
{
    unsigned scale = 1u << fraction_bits, top = (1u << (15 - fraction_bits)) - 1;
    unsigned fraction = h % scale;
    unsigned exponent = h / scale & top;
    double sign = h & 0x8000u ? -1.0 : 1.0;
    if (exponent == top) return fraction ? (double)NAN : sign * (double)INFINITY;
    if (!exponent) return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(fraction + scale, (int)exponent - bias - fraction_bits);
}

static double golden_value(const golden_tensor *t, size_t i)
{
    switch ((samba_dtype)t->dtype) {
    case SAMBA_F32:
        return (double)((const float *)t->data)[i];
    case SAMBA_BF16:
        return from_half(((const uint16_t *)t->data)[i], 7, 127);
    case SAMBA_F16:
        return from_half(((const uint16_t *)t->data)[i], 10, 15);
    case SAMBA_I32:
        return ((const int32_t *)t->data)[i];
    case SAMBA_I16:
        return ((const int16_t *)t->data)[i];
    case SAMBA_I8:
        return ((const int8_t *)t->data)[i];
    case SAMBA_U8:
        return ((const uint8_t *)t->data)[i];
    case SAMBA_BOOL:
        return ((const uint8_t *)t->data)[i];
    case SAMBA_I64:
        return (double)((const int64_t *)t->data)[i];
    case SAMBA_U16:
        return ((const uint16_t *)t->data)[i];
    case SAMBA_U32:
        return ((const uint32_t *)t->data)[i];
    }
    return 0;
}

static bool ref_alloc(ref_tensor *t, const golden_tensor *g)
{
    t->ndim = g->ndim;
    for (int i = 0; i < g->ndim; i++)
        t->dim[i] = g->dim[i];
    t->n = (int64_t)g->count;
    t->v = (double *)calloc(g->count, sizeof *t->v);
    return t->v != NULL;
}

static void ref_free(ref_case *c)
{
    for (int i = 0; i < c->n_in; i++)
        free(c->in[i].v);
    for (int i = 0; i < c->n_out; i++)
        free(c->out[i].v);
    memset(c, 0, sizeof *c);
}

static bool ref_load(ref_case *c, const golden_case *g)
{
    bool fine = true;
    memset(c, 0, sizeof *c);
    c->n_in = g->n_in;
    c->n_out = g->n_out;
    c->n_attr = g->n_attr;
    c->attr = g->attr;
    for (int i = 0; i < c->n_in; i++) {
        if (g->in[i].dtype == GOLDEN_ABSENT) continue;
        fine = fine && ref_alloc(&c->in[i], &g->in[i]);
        for (size_t k = 0; fine && k < g->in[i].count; k++)
            c->in[i].v[k] = golden_value(&g->in[i], k);
    }
    for (int i = 0; i < c->n_out; i++)
        fine = fine && ref_alloc(&c->out[i], &g->out[i]);
    return fine;
}

// Flat index <-> one index per dimension.
static void unravel(const ref_tensor *t, int64_t flat, int *at)
{
    for (int i = t->ndim - 1; i >= 0; i--) {
        at[i] = (int)(flat % t->dim[i]);
        flat /= t->dim[i];
    }
}

static int64_t ravel(const ref_tensor *t, const int *at)
{
    int64_t flat = 0;
    for (int i = 0; i < t->ndim; i++)
        flat = flat * t->dim[i] + at[i];
    return flat;
}

// The element of t that broadcasting puts at position `at` of a tensor of n dimensions.
static double broadcast(const ref_tensor *t, const int *at, int n)
{
    int64_t flat = 0;
    for (int i = 0; i < t->ndim; i++)
        flat = flat * t->dim[i] + (t->dim[i] == 1 ? 0 : at[n - t->ndim + i]);
    return t->v[flat];
}

static int attr_int(const ref_case *c, int i)
{
    return (int)c->attr[i];
}

static int attr_axis(const ref_case *c, int i, int ndim)
{
    int axis = attr_int(c, i);
    return axis < 0 ? axis + ndim : axis;
}

// Vectors along an axis: element k of vector v lies at first(v) + k * stride.
typedef struct lines {
    int64_t n, stride;
    int len;
} lines;

static lines lines_of(const ref_tensor *t, int axis)
{
    lines l = { 1, 1, t->dim[axis] };
    for (int i = axis + 1; i < t->ndim; i++)
        l.stride *= t->dim[i];
    l.n = t->n / l.len;
    return l;
}

static int64_t line_at(const lines *l, int64_t line, int k)
{
    return (line / l->stride * l->len + k) * l->stride + line % l->stride;
}

// ---- Elementwise: the formulas of reference.h; and cast -----------------------------------------

static double cast_to(double x, samba_dtype dtype)
{
    int bits = dtype == SAMBA_I32 ? 32 : dtype == SAMBA_I16 ? 16 : 8;
    double low = dtype == SAMBA_U8 ? 0 : -ldexp(1, bits - 1);
    double high = dtype == SAMBA_U8 ? 255 : ldexp(1, bits - 1) - 1;
    if (dtype == SAMBA_F32) return to_f32(x);
    if (dtype == SAMBA_BF16) return to_bf16(x);
    if (dtype == SAMBA_F16) return to_f16(x);
    if (dtype == SAMBA_BOOL) return x != 0;
    if (isnan(x)) return 0;
    return x <= low ? low : x >= high ? high : trunc(x);
}

// f32 to f32 stays in double: the quotients need it smooth.
static void r_cast(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++) {
        double x = c->in[0].v[i];
        for (int k = 0; k < c->n_attr; k++) {
            if (c->n_attr > 1 || c->attr[k] > 0) x = cast_to(x, (samba_dtype)attr_int(c, k));
        }
        c->out[0].v[i] = x;
    }
}

static void r_where(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS], n = c->out[0].ndim;
    for (int64_t i = 0; i < c->out[0].n; i++) {
        unravel(&c->out[0], i, at);
        c->out[0].v[i] = broadcast(&c->in[broadcast(&c->in[0], at, n) > 0 ? 1 : 2], at, n);
    }
}

// ---- Reductions and products --------------------------------------------------------------------

static bool is_reduced(const ref_case *c, int axis)
{
    for (int i = 1; i < c->n_attr; i++) {
        if (attr_axis(c, i, c->in[0].ndim) == axis) return true;
    }
    return c->n_attr == 1;
}

// Where element i of the input goes: its index without the reduced axes.
static int64_t reduced_index(const ref_case *c, int64_t i)
{
    int at[GOLDEN_MAX_DIMS];
    int64_t flat = 0;
    unravel(&c->in[0], i, at);
    for (int k = 0; k < c->in[0].ndim; k++) {
        if (!is_reduced(c, k)) flat = flat * c->in[0].dim[k] + at[k];
    }
    return flat;
}

static void r_sum(ref_case *c)
{
    for (int64_t i = 0; i < c->in[0].n; i++)
        c->out[0].v[reduced_index(c, i)] += c->in[0].v[i];
}

static void r_mean(ref_case *c)
{
    r_sum(c);
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] *= (double)c->out[0].n / (double)c->in[0].n;
}

static void r_max(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = -(double)INFINITY;
    for (int64_t i = 0; i < c->in[0].n; i++) {
        double *y = &c->out[0].v[reduced_index(c, i)];
        if (c->in[0].v[i] > *y) *y = c->in[0].v[i];
    }
}

static void r_argmax(ref_case *c)
{
    lines l = lines_of(&c->in[0], attr_axis(c, 0, c->in[0].ndim));
    for (int64_t i = 0; i < l.n; i++) {
        int best = 0;
        for (int k = 1; k < l.len; k++) {
            if (c->in[0].v[line_at(&l, i, k)] > c->in[0].v[line_at(&l, i, best)]) best = k;
        }
        c->out[0].v[i] = best;
    }
}

static ref_tensor with_dim(ref_tensor t, int axis)
{
    for (int i = t.ndim++; i > axis; i--)
        t.dim[i] = t.dim[i - 1];
    t.dim[axis] = 1;
    return t;
}

// A vector is a row on the left, a column on the right; that dimension is not in the result.
static void r_matmul(ref_case *c)
{
    bool row_only = c->in[0].ndim == 1, column_only = c->in[1].ndim == 1;
    ref_tensor a = row_only ? with_dim(c->in[0], 0) : c->in[0];
    ref_tensor b = column_only ? with_dim(c->in[1], 1) : c->in[1];
    ref_tensor y = column_only ? with_dim(c->out[0], c->out[0].ndim) : c->out[0];
    if (row_only) y = with_dim(y, y.ndim - 1);
    int at[GOLDEN_MAX_DIMS], n = y.ndim;
    for (int64_t i = 0; i < y.n; i++) {
        unravel(&y, i, at);
        int row = at[n - 2], column = at[n - 1];
        for (int k = 0; k < a.dim[a.ndim - 1]; k++) {
            at[n - 2] = row;
            at[n - 1] = k;
            double left = broadcast(&a, at, n);
            at[n - 2] = k;
            at[n - 1] = column;
            y.v[i] += left * broadcast(&b, at, n);
        }
    }
}

static void r_affine(ref_case *c)
{
    int n = c->in[1].dim[0], depth = c->in[1].dim[1];
    for (int64_t i = 0; i < c->out[0].n; i++) {
        double sum = c->in[2].v ? c->in[2].v[i % n] : 0;
        for (int k = 0; k < depth; k++)
            sum += c->in[0].v[i / n * depth + k] * c->in[1].v[i % n * depth + k];
        c->out[0].v[i] = sum;
    }
}

// ---- Shape --------------------------------------------------------------------------------------

// reshape, flatten, squeeze, unsqueeze: the elements stay where they are.
static void r_same(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = c->in[0].v[i];
}

static void r_transpose(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS], a = attr_axis(c, 0, c->in[0].ndim), b = attr_axis(c, 1, c->in[0].ndim);
    for (int64_t i = 0; i < c->in[0].n; i++) {
        unravel(&c->in[0], i, at);
        int swap = at[a];
        at[a] = at[b];
        at[b] = swap;
        c->out[0].v[ravel(&c->out[0], at)] = c->in[0].v[i];
    }
}

static void r_permute(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS], to[GOLDEN_MAX_DIMS] = { 0 };
    for (int64_t i = 0; i < c->in[0].n; i++) {
        unravel(&c->in[0], i, at);
        for (int k = 0; k < c->in[0].ndim; k++)
            to[k] = at[attr_axis(c, k, c->in[0].ndim)];
        c->out[0].v[ravel(&c->out[0], to)] = c->in[0].v[i];
    }
}

static void r_slice(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS], axis = attr_axis(c, 0, c->in[0].ndim);
    int begin = attr_axis(c, 1, c->in[0].dim[axis]); // negative: from the end, too
    for (int64_t i = 0; i < c->out[0].n; i++) {
        unravel(&c->out[0], i, at);
        at[axis] = begin + at[axis] * attr_int(c, 3);
        c->out[0].v[i] = c->in[0].v[ravel(&c->in[0], at)];
    }
}

static void r_split(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS], axis = attr_axis(c, 1, c->in[0].ndim);
    for (int64_t i = 0; i < c->in[0].n; i++) {
        unravel(&c->in[0], i, at);
        ref_tensor *part = &c->out[at[axis] / attr_int(c, 0)];
        at[axis] %= attr_int(c, 0);
        part->v[ravel(part, at)] = c->in[0].v[i];
    }
}

static void r_cat(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS], axis = attr_axis(c, 0, c->in[0].ndim), begin = 0;
    for (int k = 0; k < c->n_in; begin += c->in[k++].dim[axis]) {
        for (int64_t i = 0; i < c->in[k].n; i++) {
            unravel(&c->in[k], i, at);
            at[axis] += begin;
            c->out[0].v[ravel(&c->out[0], at)] = c->in[k].v[i];
        }
    }
}

static void r_stack(ref_case *c)
{
    lines l = lines_of(&c->out[0], attr_axis(c, 0, c->out[0].ndim));
    for (int64_t i = 0; i < l.n; i++) {
        for (int k = 0; k < l.len; k++)
            c->out[0].v[line_at(&l, i, k)] = c->in[k].v[i];
    }
}

static void r_expand(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS];
    for (int64_t i = 0; i < c->out[0].n; i++) {
        unravel(&c->out[0], i, at);
        c->out[0].v[i] = broadcast(&c->in[0], at, c->out[0].ndim);
    }
}

static void r_gather(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS], axis = attr_axis(c, 0, c->in[0].ndim);
    for (int64_t i = 0; i < c->out[0].n; i++) {
        unravel(&c->out[0], i, at);
        at[axis] = (int)c->in[1].v[i];
        c->out[0].v[i] = c->in[0].v[ravel(&c->in[0], at)];
    }
}

static void r_pad(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS];
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = c->attr[c->n_attr - 1];
    for (int64_t i = 0; i < c->in[0].n; i++) {
        unravel(&c->in[0], i, at);
        for (int k = 0; k < c->in[0].ndim; k++)
            at[k] += attr_int(c, k);
        c->out[0].v[ravel(&c->out[0], at)] = c->in[0].v[i];
    }
}

// ---- Normalization and losses -------------------------------------------------------------------

static void r_log_softmax(ref_case *c)
{
    lines l = lines_of(&c->in[0], attr_axis(c, 0, c->in[0].ndim));
    for (int64_t i = 0; i < l.n; i++) {
        double max = -(double)INFINITY, sum = 0;
        for (int k = 0; k < l.len; k++)
            max = fmax(max, c->in[0].v[line_at(&l, i, k)]);
        for (int k = 0; k < l.len; k++)
            sum += exp(c->in[0].v[line_at(&l, i, k)] - max);
        for (int k = 0; k < l.len; k++) {
            int64_t at = line_at(&l, i, k);
            c->out[0].v[at] = c->in[0].v[at] - max - log(sum);
        }
    }
}

static void r_softmax(ref_case *c)
{
    r_log_softmax(c);
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = exp(c->out[0].v[i]);
}

static void r_layer_norm(ref_case *c)
{
    int n = c->in[0].dim[c->in[0].ndim - 1];
    for (int64_t row = 0; row < c->in[0].n; row += n) {
        const double *x = c->in[0].v + row;
        double mean = 0, var = 0;
        for (int k = 0; k < n; k++)
            mean += x[k] / n;
        for (int k = 0; k < n; k++)
            var += (x[k] - mean) * (x[k] - mean) / n;
        for (int k = 0; k < n; k++) {
            double w = c->in[1].v ? c->in[1].v[k] : 1, b = c->in[2].v ? c->in[2].v[k] : 0;
            c->out[0].v[row + k] = (x[k] - mean) / sqrt(var + c->attr[0]) * w + b;
        }
    }
}

static void r_rms_norm(ref_case *c)
{
    int n = c->in[0].dim[c->in[0].ndim - 1];
    for (int64_t row = 0; row < c->in[0].n; row += n) {
        const double *x = c->in[0].v + row;
        const double *w = c->in[1].v;
        double square = 0;
        for (int k = 0; k < n; k++)
            square += x[k] * x[k] / n;
        for (int k = 0; k < n; k++)
            c->out[0].v[row + k] = x[k] / sqrt(square + c->attr[0]) * (w ? w[k] : 1);
    }
}

static void r_batch_norm(ref_case *c)
{
    lines l = lines_of(&c->in[0], 1);
    int64_t count = l.n; // values of a channel
    for (int k = 0; k < l.len; k++) {
        double mean = 0, var = 0, momentum = c->attr[0];
        double old_mean = c->in[3].v[k], old_var = c->in[4].v[k];
        for (int64_t i = 0; i < l.n; i++)
            mean += c->in[0].v[line_at(&l, i, k)] / (double)count;
        for (int64_t i = 0; i < l.n; i++)
            var += pow(c->in[0].v[line_at(&l, i, k)] - mean, 2) / (double)count;
        bool train = c->attr[2] > 0;
        if (!train) momentum = 0;
        double unbiased = train ? var * (double)count / (double)(count - 1) : 0;
        c->out[1].v[k] = (1 - momentum) * old_mean + momentum * mean;
        c->out[2].v[k] = (1 - momentum) * old_var + momentum * unbiased;
        if (!train) {
            mean = old_mean;
            var = old_var;
        }
        for (int64_t i = 0; i < l.n; i++) {
            int64_t at = line_at(&l, i, k);
            double z = (c->in[0].v[at] - mean) / sqrt(var + c->attr[1]);
            c->out[0].v[at] = z * c->in[1].v[k] + c->in[2].v[k];
        }
    }
}

// value() of all rows, reduced; ignored rows are 0 and do not count in the mean.
static void reduce_loss(ref_case *c,
                        double (*value)(const ref_case *c, int64_t row, int n, int target))
{
    int n = c->in[0].dim[c->in[0].ndim - 1], reduction = attr_int(c, 0);
    int ignored = c->attr[1] > 0 ? attr_int(c, 2) : -100;
    double sum = 0, count = 0;
    for (int64_t i = 0; i < c->in[1].n; i++) {
        int target = (int)c->in[1].v[i];
        double loss = target == ignored ? 0 : value(c, i, n, target);
        if (target != ignored) count += 1;
        sum += loss;
        if (reduction == SAMBA_REDUCE_NONE) c->out[0].v[i] = loss;
    }
    if (reduction != SAMBA_REDUCE_NONE)
        c->out[0].v[0] = reduction == SAMBA_REDUCE_MEAN ? sum / count : sum;
}

static double smoothed_loss(const ref_case *c, int64_t row, int n, int target)
{
    const double *x = c->in[0].v + row * n;
    double max = x[0], sum = 0, uniform = 0, smoothing = c->attr[3];
    for (int k = 1; k < n; k++)
        max = fmax(max, x[k]);
    for (int k = 0; k < n; k++)
        sum += exp(x[k] - max);
    for (int k = 0; k < n; k++)
        uniform -= (x[k] - max - log(sum)) / n;
    return (1 - smoothing) * (max + log(sum) - x[target]) + smoothing * uniform;
}

static double picked_loss(const ref_case *c, int64_t row, int n, int target)
{
    return -c->in[0].v[row * n + target];
}

static void r_cross_entropy(ref_case *c)
{
    reduce_loss(c, smoothed_loss);
}

static void r_nll(ref_case *c)
{
    reduce_loss(c, picked_loss);
}

static void r_mse(ref_case *c)
{
    int reduction = attr_int(c, 0);
    for (int64_t i = 0; i < c->in[0].n; i++) {
        double square = pow(c->in[0].v[i] - c->in[1].v[i], 2);
        if (reduction == SAMBA_REDUCE_MEAN) square /= (double)c->in[0].n;
        c->out[0].v[reduction == SAMBA_REDUCE_NONE ? i : 0] += square;
    }
}

// ---- Images, tables, attention ------------------------------------------------------------------

// (N,C,L) is (N,C,L,1), and its options those of the first of two axes.
static ref_tensor as_image(ref_tensor t)
{
    if (t.ndim == 3) t.dim[t.ndim++] = 1;
    return t;
}

static double conv_element(const ref_case *c, const ref_tensor *x, const ref_tensor *w,
                           const int *at)
{
    int groups = attr_int(c, 6) ? attr_int(c, 6) : 1, group = at[1] / (w->dim[0] / groups);
    double sum = c->in[2].v ? c->in[2].v[at[1]] : 0;
    for (int64_t i = 0; i < w->n / w->dim[0]; i++) {
        int k[4], from[4];
        unravel(w, at[1] * (w->n / w->dim[0]) + i, k);
        from[0] = at[0];
        from[1] = group * w->dim[1] + k[1];
        bool inside = true;
        for (int d = 0; d < 2; d++) {
            int stride = attr_int(c, d) ? attr_int(c, d) : 1;
            int dilation = attr_int(c, 4 + d) ? attr_int(c, 4 + d) : 1;
            from[2 + d] = at[2 + d] * stride - attr_int(c, 2 + d) + k[2 + d] * dilation;
            inside = inside && from[2 + d] >= 0 && from[2 + d] < x->dim[2 + d];
        }
        if (inside) sum += x->v[ravel(x, from)] * w->v[ravel(w, k)];
    }
    return sum;
}

static void r_convolution(ref_case *c)
{
    ref_tensor x = as_image(c->in[0]), w = as_image(c->in[1]), y = as_image(c->out[0]);
    int at[4];
    for (int64_t i = 0; i < y.n; i++) {
        unravel(&y, i, at);
        y.v[i] = conv_element(c, &x, &w, at);
    }
}

// What one window sees: sum, maximum and number of the elements inside; area counts padding, too.
typedef struct window {
    double sum, max;
    int inside, area;
} window;

static window look(const ref_tensor *x, const int *at, const int *begin, const int *end,
                   const int *padding)
{
    window s = { 0, -(double)INFINITY, 0, 0 };
    for (int h = begin[0]; h < end[0]; h++) {
        for (int w = begin[1]; w < end[1]; w++) {
            int from[4] = { at[0], at[1], h, w };
            if (h < x->dim[2] + padding[0] && w < x->dim[3] + padding[1]) s.area++;
            if (h < 0 || w < 0 || h >= x->dim[2] || w >= x->dim[3]) continue;
            double v = x->v[ravel(x, from)];
            s.inside++;
            s.sum += v;
            s.max = fmax(s.max, v);
        }
    }
    return s;
}

static void pool(ref_case *c, bool average)
{
    int at[4], begin[2], end[2], padding[2] = { attr_int(c, 4), attr_int(c, 5) };
    for (int64_t i = 0; i < c->out[0].n; i++) {
        unravel(&c->out[0], i, at);
        for (int d = 0; d < 2; d++) {
            int kernel = attr_int(c, d), stride = attr_int(c, 2 + d) ? attr_int(c, 2 + d) : kernel;
            begin[d] = at[2 + d] * stride - padding[d];
            end[d] = begin[d] + kernel;
        }
        window s = look(&c->in[0], at, begin, end, padding);
        c->out[0].v[i] = !average ? s.max : s.sum / (c->attr[7] > 0 ? s.inside : s.area);
    }
}

static void r_max_pool2d(ref_case *c)
{
    pool(c, false);
}

static void r_avg_pool2d(ref_case *c)
{
    pool(c, true);
}

static void r_adaptive_avg_pool2d(ref_case *c)
{
    static const int padding[2] = { 0, 0 };
    int at[4], begin[2], end[2];
    for (int64_t i = 0; i < c->out[0].n; i++) {
        unravel(&c->out[0], i, at);
        for (int d = 0; d < 2; d++) {
            int size = c->in[0].dim[2 + d], parts = c->out[0].dim[2 + d];
            begin[d] = at[2 + d] * size / parts;
            end[d] = ((at[2 + d] + 1) * size + parts - 1) / parts;
        }
        window s = look(&c->in[0], at, begin, end, padding);
        c->out[0].v[i] = s.sum / s.inside;
    }
}

static void r_lookup(ref_case *c)
{
    int n = c->in[1].dim[1];
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = c->in[1].v[(int64_t)c->in[0].v[i / n] * n + i % n];
}

// Row t of one head: the weights of all keys, which stay 0 where the mask forbids.
static void attention_row(const ref_case *c, bool mask_is_bool, const int *at, double *p)
{
    const ref_tensor *q = &c->in[0], *k = &c->in[1], *mask = &c->in[3];
    int n = c->out[0].ndim, s_len = k->dim[n - 2], depth = q->dim[n - 1], to[GOLDEN_MAX_DIMS];
    double scale = c->attr[1] > 0 ? c->attr[1] : 1 / sqrt(depth), sum = 0, max = -(double)INFINITY;
    memcpy(to, at, sizeof to);
    for (int s = 0; s < s_len; s++) {
        int a[GOLDEN_MAX_DIMS], b[GOLDEN_MAX_DIMS];
        memcpy(a, at, sizeof a);
        memcpy(b, at, sizeof b);
        b[n - 2] = to[n - 1] = s;
        p[s] = 0;
        for (int d = 0; d < depth; d++) {
            a[n - 1] = b[n - 1] = d;
            p[s] += q->v[ravel(q, a)] * k->v[ravel(k, b)] * scale;
        }
        if (mask->v && !mask_is_bool) p[s] += broadcast(mask, to, n);
        if (mask->v && mask_is_bool && !(broadcast(mask, to, n) > 0)) p[s] = -(double)INFINITY;
        if (c->attr[0] > 0 && s > at[n - 2]) p[s] = -(double)INFINITY;
        max = fmax(max, p[s]);
    }
    for (int s = 0; s < s_len; s++)
        sum += p[s] = isinf(max) ? 0 : exp(p[s] - max);
    for (int s = 0; s < s_len; s++)
        p[s] = sum > 0 ? p[s] / sum : 0;
}

static void attention(ref_case *c, bool mask_is_bool)
{
    int at[GOLDEN_MAX_DIMS] = { 0 }, n = c->out[0].ndim, s_len = c->in[1].dim[n - 2];
    double *p = (double *)calloc((size_t)s_len, sizeof *p);
    for (int64_t i = 0; p && i < c->out[0].n; i++) {
        unravel(&c->out[0], i, at);
        if (at[n - 1] == 0) attention_row(c, mask_is_bool, at, p);
        for (int s = 0; s < s_len; s++) {
            int from[GOLDEN_MAX_DIMS];
            memcpy(from, at, sizeof from);
            from[n - 2] = s;
            c->out[0].v[i] += p[s] * c->in[2].v[ravel(&c->in[2], from)];
        }
    }
    free(p);
}

static void r_attention(ref_case *c)
{
    attention(c, false);
}

static void r_attention_bool(ref_case *c)
{
    attention(c, true);
}

// ---- Functions made of ops ----------------------------------------------------------------------

static double in_at(const ref_case *c, int k, int64_t i)
{
    return c->in[k].v[i];
}

static void r_clamp(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++) {
        double x = in_at(c, 0, i);
        c->out[0].v[i] = x < c->attr[0] ? c->attr[0] : x > c->attr[1] ? c->attr[1] : x;
    }
}

static void r_reciprocal(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = 1 / in_at(c, 0, i);
}

static void r_logical_not(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = in_at(c, 0, i) == 0;
}

static void r_isnan(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = isnan(in_at(c, 0, i)) != 0;
}

static void r_isinf(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = isinf(in_at(c, 0, i)) != 0;
}

static void r_isfinite(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = isfinite(in_at(c, 0, i)) != 0;
}

// Inputs a and b at element i of the output, as NumPy broadcasts.
static double stretched(const ref_case *c, int k, int64_t i)
{
    int at[GOLDEN_MAX_DIMS];
    unravel(&c->out[0], i, at);
    return broadcast(&c->in[k], at, c->out[0].ndim);
}

static void r_logical_and(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = stretched(c, 0, i) != 0 && stretched(c, 1, i) != 0;
}

static void r_logical_or(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = stretched(c, 0, i) != 0 || stretched(c, 1, i) != 0;
}

static void r_masked_fill(ref_case *c)
{
    for (int64_t i = 0; i < c->out[0].n; i++)
        c->out[0].v[i] = stretched(c, 1, i) > 0 ? c->attr[0] : stretched(c, 0, i);
}

// min, and what is made of sums over the axes that `from` and later attributes name; none: all.
static bool is_named(const ref_case *c, int from, int axis)
{
    for (int i = from; i < c->n_attr; i++)
        if (attr_axis(c, i, c->in[0].ndim) == axis) return true;
    return c->n_attr == from;
}

// The output that element i of the input belongs to.
static int64_t target_of(const ref_case *c, int from, int64_t i)
{
    int at[GOLDEN_MAX_DIMS];
    int64_t flat = 0;
    unravel(&c->in[0], i, at);
    for (int d = 0; d < c->in[0].ndim; d++)
        if (!is_named(c, from, d)) flat = flat * c->in[0].dim[d] + at[d];
    return flat;
}

static void r_min(ref_case *c)
{
    for (int64_t o = 0; o < c->out[0].n; o++)
        c->out[0].v[o] = (double)INFINITY;
    for (int64_t i = 0; i < c->in[0].n; i++) {
        double x = in_at(c, 0, i), *y = &c->out[0].v[target_of(c, 1, i)];
        if (x < *y || isnan(x)) *y = x;
    }
}

// The sum of e^x beside its maximum, which holds what is not finite.
static void r_logsumexp(ref_case *c)
{
    double *top = (double *)calloc((size_t)c->out[0].n, sizeof *top);
    for (int64_t o = 0; top && o < c->out[0].n; o++)
        top[o] = -1e300;
    for (int64_t i = 0; top && i < c->in[0].n; i++) {
        double x = in_at(c, 0, i), *t = &top[target_of(c, 1, i)];
        if (x > *t && x < 1e300) *t = x;
    }
    for (int64_t i = 0; top && i < c->in[0].n; i++) {
        int64_t o = target_of(c, 1, i);
        c->out[0].v[o] += exp(in_at(c, 0, i) - top[o]);
    }
    for (int64_t o = 0; top && o < c->out[0].n; o++)
        c->out[0].v[o] = top[o] > -1e300 ? top[o] + log(c->out[0].v[o]) : log(0.0);
    free(top);
}

static void variance(ref_case *c, bool root)
{
    int64_t n = c->in[0].n / c->out[0].n;
    double *mean = (double *)calloc((size_t)c->out[0].n, sizeof *mean);
    for (int64_t i = 0; mean && i < c->in[0].n; i++)
        mean[target_of(c, 2, i)] += in_at(c, 0, i) / (double)n;
    for (int64_t i = 0; mean && i < c->in[0].n; i++) {
        int64_t o = target_of(c, 2, i);
        c->out[0].v[o] += pow(in_at(c, 0, i) - mean[o], 2);
    }
    for (int64_t o = 0; o < c->out[0].n; o++) {
        double v = c->out[0].v[o] / ((double)n - c->attr[0]);
        c->out[0].v[o] = root ? sqrt(v) : v;
    }
    free(mean);
}

static void r_var(ref_case *c)
{
    variance(c, false);
}

static void r_std(ref_case *c)
{
    variance(c, true);
}

static void r_argmin(ref_case *c)
{
    lines l = lines_of(&c->in[0], attr_axis(c, 0, c->in[0].ndim));
    for (int64_t i = 0; i < l.n; i++) {
        int best = 0;
        for (int k = 1; k < l.len; k++)
            if (in_at(c, 0, line_at(&l, i, k)) < in_at(c, 0, line_at(&l, i, best))) best = k;
        c->out[0].v[i] = best;
    }
}

static void r_prod(ref_case *c)
{
    lines l = lines_of(&c->in[0], attr_axis(c, 0, c->in[0].ndim));
    for (int64_t i = 0; i < l.n; i++) {
        double y = 1;
        for (int k = 0; k < l.len; k++)
            y *= in_at(c, 0, line_at(&l, i, k));
        c->out[0].v[i] = y;
    }
}

static void r_cumsum(ref_case *c)
{
    lines l = lines_of(&c->in[0], attr_axis(c, 0, c->in[0].ndim));
    for (int64_t i = 0; i < l.n; i++) {
        double y = 0;
        for (int k = 0; k < l.len; k++)
            c->out[0].v[line_at(&l, i, k)] = y += in_at(c, 0, line_at(&l, i, k));
    }
}

static bool sorts_first(double x, double y, bool descending)
{
    bool below = x < y || (isnan(y) && !isnan(x)), above = y < x || (isnan(x) && !isnan(y));
    return descending ? above : below;
}

// Each element goes to the place that those before it leave. Input and output differ in length.
static void sorted(ref_case *c, int axis, bool descending)
{
    lines l = lines_of(&c->in[0], axis), to = lines_of(&c->out[0], axis);
    for (int64_t i = 0; i < l.n; i++) {
        for (int k = 0; k < l.len; k++) {
            double x = in_at(c, 0, line_at(&l, i, k));
            int place = 0;
            for (int j = 0; j < l.len; j++) {
                double other = in_at(c, 0, line_at(&l, i, j));
                bool first = sorts_first(other, x, descending);
                place += first || (!sorts_first(x, other, descending) && j < k);
            }
            if (place >= to.len) continue;
            c->out[0].v[line_at(&to, i, place)] = x;
            c->out[1].v[line_at(&to, i, place)] = k;
        }
    }
}

static void r_sort(ref_case *c)
{
    sorted(c, attr_axis(c, 0, c->in[0].ndim), attr_int(c, 1) != 0);
}

static void r_topk(ref_case *c)
{
    sorted(c, attr_axis(c, 1, c->in[0].ndim), attr_int(c, 2) != 0);
}

static void r_index_select(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS], axis = attr_axis(c, 0, c->in[0].ndim);
    for (int64_t i = 0; i < c->out[0].n; i++) {
        unravel(&c->out[0], i, at);
        at[axis] = (int)c->in[1].v[at[axis]];
        c->out[0].v[i] = c->in[0].v[ravel(&c->in[0], at)];
    }
}

static void r_scatter_add(ref_case *c)
{
    int at[GOLDEN_MAX_DIMS], axis = attr_axis(c, 0, c->in[0].ndim);
    memcpy(c->out[0].v, c->in[0].v, (size_t)c->out[0].n * sizeof(double));
    for (int64_t i = 0; i < c->in[2].n; i++) {
        unravel(&c->in[2], i, at);
        at[axis] = (int)c->in[1].v[i];
        c->out[0].v[ravel(&c->out[0], at)] += c->in[2].v[i];
    }
}

// What stands in the row of padding is 0, and does not count.
static void r_lookup_padded(ref_case *c)
{
    int n = c->in[1].dim[1], rows = c->in[1].dim[0], padding = (int)c->attr[0];
    if (padding < 0) padding += rows;
    for (int64_t i = 0; i < c->out[0].n; i++) {
        int row = (int)c->in[0].v[i / n];
        c->out[0].v[i] = row == padding ? 0 : c->in[1].v[(int64_t)row * n + i % n];
    }
}

static void r_one_hot(ref_case *c)
{
    for (int64_t i = 0; i < c->in[0].n; i++)
        c->out[0].v[i * attr_int(c, 0) + (int)in_at(c, 0, i)] = 1;
}

static void normalized(ref_case *c, int groups, double eps)
{
    int channels = c->in[0].dim[1];
    int64_t rows = c->in[0].dim[0] * groups, n = c->in[0].n / rows, plane = n * groups / channels;
    for (int64_t r = 0; r < rows; r++) {
        const double *x = c->in[0].v + r * n;
        double mean = 0, square = 0;
        for (int64_t i = 0; i < n; i++)
            mean += x[i] / (double)n;
        for (int64_t i = 0; i < n; i++)
            square += (x[i] - mean) * (x[i] - mean) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            int64_t channel = (r * n + i) / plane % channels;
            double y = (x[i] - mean) / sqrt(square + eps);
            if (c->in[1].v) y *= c->in[1].v[channel];
            if (c->in[2].v) y += c->in[2].v[channel];
            c->out[0].v[r * n + i] = y;
        }
    }
}

static void r_group_norm(ref_case *c)
{
    normalized(c, attr_int(c, 0), c->attr[1]);
}

static void r_instance_norm(ref_case *c)
{
    normalized(c, c->in[0].dim[1], c->attr[0]);
}

// Sizes of the last one or two dimensions; a missing second one is 1.
static int size_of(const ref_tensor *t, int i)
{
    return 2 + i < t->ndim ? t->dim[2 + i] : 1;
}

// Each element of x adds the kernel, times itself, to where it lies in y.
static void r_conv_transpose(ref_case *c)
{
    const ref_tensor *x = &c->in[0], *w = &c->in[1], *y = &c->out[0];
    int groups = attr_int(c, 8), C = x->dim[1], O = y->dim[1], each = O / groups;
    int H = size_of(x, 0), W = size_of(x, 1), KH = size_of(w, 0), KW = size_of(w, 1);
    int OH = size_of(y, 0), OW = size_of(y, 1);
    for (int64_t i = 0; i < y->n && c->in[2].v; i++)
        y->v[i] = c->in[2].v[i / (OH * OW) % O];
    for (int64_t i = 0; i < x->n * each * KH * KW; i++) {
        int kx = (int)(i % KW), ky = (int)(i / KW % KH), o = (int)(i / KW / KH % each);
        int64_t at = i / KW / KH / each;
        int column = (int)(at % W), row = (int)(at / W % H), channel = (int)(at / W / H % C);
        int64_t n = at / W / H / C;
        int oy = row * attr_int(c, 0) - attr_int(c, 2) + ky * attr_int(c, 6);
        int ox = column * attr_int(c, 1) - attr_int(c, 3) + kx * attr_int(c, 7);
        if (x->ndim == 3) ox = 0;
        if (oy < 0 || oy >= OH || ox < 0 || ox >= OW) continue;
        int to = channel / (C / groups) * each + o;
        double weight = w->v[((channel * each + o) * KH + ky) * KW + kx];
        y->v[((n * O + to) * OH + oy) * OW + ox] += x->v[at] * weight;
    }
}

// Where output i of an axis lies in x, and the share of the next element.
static int place_in(int i, int n, int out, int mode, bool align, double *share)
{
    double at = mode == 0 ? floor(i * (double)n / out)
        : align           ? (out > 1 ? i * (n - 1.0) / (out - 1) : 0)
                          : fmax((i + 0.5) * n / out - 0.5, 0);
    int low = (int)floor(at + 1e-9);
    *share = at - low;
    return low < n ? low : n - 1;
}

static void r_interpolate(ref_case *c)
{
    const ref_tensor *x = &c->in[0], *y = &c->out[0];
    int H = size_of(x, 0), W = size_of(x, 1), OH = size_of(y, 0), OW = size_of(y, 1);
    for (int64_t i = 0; i < y->n; i++) {
        double sx, sy;
        const double *plane = x->v + i / OW / OH * H * W;
        int row = place_in((int)(i / OW % OH), H, OH, attr_int(c, 2), attr_int(c, 3) != 0, &sy);
        int column = place_in((int)(i % OW), W, OW, attr_int(c, 2), attr_int(c, 3) != 0, &sx);
        int row2 = row + 1 < H ? row + 1 : row, column2 = column + 1 < W ? column + 1 : column;
        double upper = (1 - sx) * plane[row * W + column] + sx * plane[row * W + column2];
        double lower = (1 - sx) * plane[row2 * W + column] + sx * plane[row2 * W + column2];
        y->v[i] = (1 - sy) * upper + sy * lower;
    }
}

static void r_rotary(ref_case *c)
{
    const ref_tensor *x = &c->in[0];
    int d = x->dim[x->ndim - 1], t = x->dim[x->ndim - 2];
    bool interleaved = attr_int(c, 1) != 0;
    for (int64_t i = 0; i < x->n / 2; i++) {
        int64_t row = i / (d / 2), k = i % (d / 2);
        double at = c->in[1].v ? c->in[1].v[row % t] : (double)(row % t);
        double angle = at * pow(c->attr[0], -2.0 * (double)k / d);
        int64_t a = row * d + (interleaved ? 2 * k : k), b = a + (interleaved ? 1 : d / 2);
        c->out[0].v[a] = x->v[a] * cos(angle) - x->v[b] * sin(angle);
        c->out[0].v[b] = x->v[b] * cos(angle) + x->v[a] * sin(angle);
    }
}

// One query, to the keys that it may see.
static void one_query(ref_case *c, int n, int head, int t)
{
    const ref_tensor *q = &c->in[0], *k = &c->in[1], *v = &c->in[2];
    int H = q->dim[1], G = k->dim[1], T = q->dim[2], S = k->dim[2], D = q->dim[3], E = v->dim[3];
    int group = n * G + head / (H / G), last = attr_int(c, 0) ? t + S - T : S - 1;
    int first = attr_int(c, 1) ? last - attr_int(c, 1) + 1 : 0;
    double sum = 0, *y = c->out[0].v + ((n * H + head) * T + t) * E;
    for (int j = first < 0 ? 0 : first; j <= last; j++) {
        double dot = 0;
        if (c->in[3].v && j >= (int)c->in[3].v[n]) break;
        for (int i = 0; i < D; i++)
            dot += q->v[((n * H + head) * T + t) * D + i] * k->v[(group * S + j) * D + i];
        double weight = exp(dot * (c->attr[2] > 0 ? c->attr[2] : 1 / sqrt(D)));
        sum += weight;
        for (int i = 0; i < E; i++)
            y[i] += weight * v->v[(group * S + j) * E + i];
    }
    for (int i = 0; i < E && sum > 0; i++)
        y[i] /= sum;
}

static void r_attention_heads(ref_case *c)
{
    const ref_tensor *q = &c->in[0];
    for (int n = 0; n < q->dim[0]; n++)
        for (int h = 0; h < q->dim[1]; h++)
            for (int t = 0; t < q->dim[2]; t++)
                one_query(c, n, h, t);
}

// ---- Losses made of ops -------------------------------------------------------------------------

// n losses, mean, sum or none.
static void reduce_losses(ref_case *c, double *loss, int64_t n, int reduction)
{
    for (int64_t i = 0; i < n; i++) {
        if (reduction == SAMBA_REDUCE_NONE) c->out[0].v[i] = loss[i];
        if (reduction == SAMBA_REDUCE_SUM) c->out[0].v[0] += loss[i];
        if (reduction == SAMBA_REDUCE_MEAN) c->out[0].v[0] += loss[i] / (double)n;
    }
}

// Of x and y, broadcast, and the attribute p.
typedef double (*loss_fn)(double x, double y, double p);

static void element_losses(ref_case *c, loss_fn f, bool has_attribute)
{
    const ref_tensor *a = &c->in[0], *b = &c->in[1];
    ref_tensor all = a->ndim >= b->ndim ? *a : *b;
    int at[GOLDEN_MAX_DIMS], less = all.ndim - (a->ndim >= b->ndim ? b->ndim : a->ndim);
    const ref_tensor *small = a->ndim >= b->ndim ? b : a;
    all.n = 1;
    for (int i = 0; i < all.ndim; i++) {
        if (i >= less && small->dim[i - less] > all.dim[i]) all.dim[i] = small->dim[i - less];
        all.n *= all.dim[i];
    }
    double *loss = (double *)calloc((size_t)all.n, sizeof *loss);
    for (int64_t i = 0; loss && i < all.n; i++) {
        unravel(&all, i, at);
        double p = has_attribute ? c->attr[0] : 0;
        loss[i] = f(broadcast(a, at, all.ndim), broadcast(b, at, all.ndim), p);
    }
    if (loss) reduce_losses(c, loss, all.n, attr_int(c, has_attribute));
    free(loss);
}

static double l1_of(double x, double y, double p)
{
    (void)p;
    return fabs(x - y);
}

static double smooth_l1_of(double x, double y, double beta)
{
    double d = fabs(x - y);
    return d < beta ? d * d / beta / 2 : d - beta / 2;
}

static double huber_of(double x, double y, double delta)
{
    double d = fabs(x - y);
    return d < delta ? d * d / 2 : delta * (d - delta / 2);
}

static double kl_of(double x, double y, double log_y)
{
    if (log_y > 0) return exp(y) * (y - x);
    return y > 0 ? y * (log(y) - x) : 0;
}

static void r_l1(ref_case *c)
{
    element_losses(c, l1_of, false);
}

static void r_smooth_l1(ref_case *c)
{
    element_losses(c, smooth_l1_of, true);
}

static void r_huber(ref_case *c)
{
    element_losses(c, huber_of, true);
}

static void r_kl_div(ref_case *c)
{
    element_losses(c, kl_of, true);
}

static void r_bce_with_logits(ref_case *c)
{
    int64_t n = c->in[0].n;
    double *loss = (double *)calloc((size_t)n, sizeof *loss);
    for (int64_t i = 0; loss && i < n; i++) {
        double x = in_at(c, 0, i), y = in_at(c, 1, i);
        double w = c->in[2].v ? c->in[2].v[i % c->in[2].n] : 1, small = log1p(exp(-fabs(x)));
        loss[i] = w * y * (fmax(-x, 0) + small) + (1 - y) * (fmax(x, 0) + small);
    }
    if (loss) reduce_losses(c, loss, n, attr_int(c, 0));
    free(loss);
}

// Of rows: the sums of a b, or the length of a - b + 1e-6.
static double row_dot(const ref_tensor *a, const ref_tensor *b, int row)
{
    int d = a->dim[1];
    double sum = 0;
    for (int i = 0; i < d; i++)
        sum += a->v[row * d + i] * b->v[row * d + i];
    return sum;
}

static double row_distance(const ref_tensor *a, const ref_tensor *b, int row)
{
    int d = a->dim[1];
    double sum = 0;
    for (int i = 0; i < d; i++)
        sum += pow(a->v[row * d + i] - b->v[row * d + i] + 1e-6, 2);
    return sqrt(sum);
}

static void r_cosine_embedding(ref_case *c)
{
    double loss[64];
    const ref_tensor *a = &c->in[0], *b = &c->in[1];
    for (int i = 0; i < a->dim[0]; i++) {
        double size = (row_dot(a, a, i) + 1e-12) * (row_dot(b, b, i) + 1e-12);
        double cosine = row_dot(a, b, i) / sqrt(size);
        loss[i] = in_at(c, 2, i) > 0 ? 1 - cosine : fmax(0, cosine - c->attr[0]);
    }
    reduce_losses(c, loss, a->dim[0], attr_int(c, 1));
}

static void r_triplet_margin(ref_case *c)
{
    double loss[64];
    const ref_tensor *a = &c->in[0];
    for (int i = 0; i < a->dim[0]; i++) {
        double near = row_distance(a, &c->in[1], i), far = row_distance(a, &c->in[2], i);
        loss[i] = fmax(0, near - far + c->attr[0]);
    }
    reduce_losses(c, loss, a->dim[0], attr_int(c, 1));
}

static void r_cross_entropy_weighted(ref_case *c)
{
    int C = c->in[0].dim[c->in[0].ndim - 1], reduction = attr_int(c, 0);
    int ignored = attr_int(c, 1) ? attr_int(c, 2) : -100;
    double total = 0, smooth = c->attr[3];
    for (int64_t i = 0; i < c->in[1].n; i++) {
        const double *x = c->in[0].v + i * C;
        double sum = 0, loss = 0;
        int target = (int)in_at(c, 1, i);
        if (target == ignored) continue;
        for (int k = 0; k < C; k++)
            sum += exp(x[k]);
        for (int k = 0; k < C; k++) {
            double w = c->in[2].v ? c->in[2].v[k] : 1;
            double share = (k == target ? 1 - smooth : 0) + smooth / C;
            loss += w * share * (log(sum) - x[k]);
            if (k == target) total += w;
        }
        c->out[0].v[reduction == SAMBA_REDUCE_NONE ? i : 0] += loss;
    }
    if (reduction != SAMBA_REDUCE_MEAN) return;
    if (total > 0 || c->attr[4] == 0) c->out[0].v[0] /= total;
}

// All paths through one text: what is likely after t frames, at each place.
static double ctc_of(ref_case *c, int n, int blank)
{
    double p[64] = { 0 }, next[64];
    const ref_tensor *x = &c->in[0];
    int N = x->dim[1], C = x->dim[2], S = c->in[1].dim[1], L = 2 * (int)c->in[3].v[n] + 1;
    for (int t = 0; t < (int)c->in[2].v[n]; t++) {
        const double *logit = x->v + (t * N + n) * C;
        double sum = 0;
        for (int k = 0; k < C; k++)
            sum += exp(logit[k]);
        for (int l = 0; l < L; l++) {
            int class = l % 2 ? (int)c->in[1].v[n * S + l / 2] : blank;
            bool skips = l % 2 && l > 1 && class != (int)c->in[1].v[n * S + l / 2 - 1];
            double before = t == 0 ? (l < 2) : p[l] + (l > 0 ? p[l - 1] : 0);
            if (t > 0 && skips) before += p[l - 2];
            next[l] = before * exp(logit[class]) / sum;
        }
        memcpy(p, next, sizeof p);
    }
    return -log(p[L - 1] + (L > 1 ? p[L - 2] : 0));
}

static void r_ctc(ref_case *c)
{
    for (int n = 0; n < c->in[0].dim[1]; n++) {
        double loss = ctc_of(c, n, attr_int(c, 0));
        c->out[0].v[n] = isinf(loss) && attr_int(c, 1) ? 0 : loss;
    }
}

// ---- Recurrent layers: step by step, a text at a time -------------------------------------------

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

// One layer in one direction: its parameters, and the state of one text.
typedef struct recurrent_pass {
    const ref_tensor *w, *u, *a, *b; // a and b: NULL without biases
    int gates, hidden, k;
    bool relu;
    double *h, *cell;
} recurrent_pass;

// Row `row` of W x + a, or of U h + b.
static double gate_sum(const ref_tensor *w, const ref_tensor *bias, int row, const double *x, int k)
{
    double sum = bias ? bias->v[row] : 0;
    for (int i = 0; i < k; i++)
        sum += w->v[row * k + i] * x[i];
    return sum;
}

static void recurrent_step(recurrent_pass *p, const double *x)
{
    double next[64];
    int H = p->hidden;
    for (int i = 0; i < H; i++) {
        double wx[4], uh[4];
        for (int g = 0; g < p->gates; g++) {
            wx[g] = gate_sum(p->w, p->a, g * H + i, x, p->k);
            uh[g] = gate_sum(p->u, p->b, g * H + i, p->h, H);
        }
        double sum = wx[0] + uh[0];
        if (p->gates == 1) next[i] = p->relu ? fmax(sum, 0) : tanh(sum);
        if (p->gates == 3) {
            double z = logistic(wx[1] + uh[1]), n = tanh(wx[2] + logistic(sum) * uh[2]);
            next[i] = (1 - z) * n + z * p->h[i];
        }
        if (p->gates == 4) {
            double fresh = logistic(sum) * tanh(wx[2] + uh[2]);
            p->cell[i] = logistic(wx[1] + uh[1]) * p->cell[i] + fresh;
            next[i] = logistic(wx[3] + uh[3]) * tanh(p->cell[i]);
        }
    }
    memcpy(p->h, next, (size_t)H * sizeof *next);
}

// x (T,k) of one text -> columns from `column` on of y (T,width), of which `length` steps count.
static void run_pass(recurrent_pass *p, const double *x, double *y, int length, int width,
                     int column, bool backward)
{
    for (int i = 0; i < length; i++) {
        int t = backward ? length - 1 - i : i;
        recurrent_step(p, x + t * p->k);
        memcpy(y + t * width + column, p->h, (size_t)p->hidden * sizeof *y);
    }
}

// The state of text n that pass number i begins with, and ends with in output `out`.
static double *state_of(ref_case *c, int in, int out, int i, int n, int hidden)
{
    int at = (i * c->in[0].dim[0] + n) * hidden;
    double *state = c->out[out].v + at;
    for (int k = 0; k < hidden; k++)
        state[k] = c->in[in].v ? c->in[in].v[at + k] : 0;
    return state;
}

static void recurrent(ref_case *c, int gates)
{
    int N = c->in[0].dim[0], T = c->in[0].dim[1], H = c->in[CALL_PARAMETERS + 1].dim[1];
    int layers = attr_int(c, 0), sides = 1 + attr_int(c, 1), each = attr_int(c, 2) ? 2 : 4;
    int width = sides * H, k = c->in[0].dim[2];
    double *from = (double *)calloc((size_t)(T * width), sizeof *from);
    for (int n = 0; n < N && from; n++) {
        int length = c->in[CALL_LENGTHS].v ? (int)c->in[CALL_LENGTHS].v[n] : T;
        double *y = c->out[0].v + n * T * width;
        for (int i = 0; i < layers * sides; i++) {
            const ref_tensor *w = &c->in[CALL_PARAMETERS + i * each];
            bool bias = each == 4;
            if (i % sides == 0) memcpy(from, y, (size_t)(T * width) * sizeof *from);
            recurrent_pass p = { w,     w + 1, bias ? w + 2 : NULL,   bias ? w + 3 : NULL,
                                 gates, H,     i < sides ? k : width, attr_int(c, 3) != 0,
                                 NULL,  NULL };
            p.h = state_of(c, CALL_FIRST_H, 1, i, n, H);
            if (gates == 4) p.cell = state_of(c, CALL_FIRST_C, 2, i, n, H);
            run_pass(&p, i < sides ? c->in[0].v + n * T * k : from, y, length, width, i % sides * H,
                     i % sides == 1);
        }
    }
    free(from);
}

static void r_lstm(ref_case *c)
{
    recurrent(c, 4);
}

static void r_gru(ref_case *c)
{
    recurrent(c, 3);
}

static void r_rnn(ref_case *c)
{
    recurrent(c, 1);
}

// ---- The table ----------------------------------------------------------------------------------

typedef struct reference {
    const char *op;
    const ref_map *map;       // an elementwise op, or
    void (*any)(ref_case *c); // outputs come zeroed
} reference;

static const reference references[] = {
    { "where", NULL, r_where },
    { "cast", NULL, r_cast },
    { "sum", NULL, r_sum },
    { "mean", NULL, r_mean },
    { "max", NULL, r_max },
    { "argmax", NULL, r_argmax },
    { "matmul", NULL, r_matmul },
    { "affine", NULL, r_affine },
    { "reshape", NULL, r_same },
    { "flatten", NULL, r_same },
    { "squeeze", NULL, r_same },
    { "unsqueeze", NULL, r_same },
    { "transpose", NULL, r_transpose },
    { "permute", NULL, r_permute },
    { "slice", NULL, r_slice },
    { "split", NULL, r_split },
    { "cat", NULL, r_cat },
    { "stack", NULL, r_stack },
    { "expand", NULL, r_expand },
    { "gather", NULL, r_gather },
    { "pad", NULL, r_pad },
    { "softmax", NULL, r_softmax },
    { "log_softmax", NULL, r_log_softmax },
    { "layer_norm", NULL, r_layer_norm },
    { "rms_norm", NULL, r_rms_norm },
    { "batch_norm", NULL, r_batch_norm },
    { "cross_entropy", NULL, r_cross_entropy },
    { "nll", NULL, r_nll },
    { "mse", NULL, r_mse },
    { "convolution", NULL, r_convolution },
    { "max_pool2d", NULL, r_max_pool2d },
    { "avg_pool2d", NULL, r_avg_pool2d },
    { "adaptive_avg_pool2d", NULL, r_adaptive_avg_pool2d },
    { "lookup", NULL, r_lookup },
    { "scaled_dot_product_attention", NULL, r_attention },
    { "clamp", NULL, r_clamp },
    { "reciprocal", NULL, r_reciprocal },
    { "logical_not", NULL, r_logical_not },
    { "isnan", NULL, r_isnan },
    { "isinf", NULL, r_isinf },
    { "isfinite", NULL, r_isfinite },
    { "logical_and", NULL, r_logical_and },
    { "logical_or", NULL, r_logical_or },
    { "masked_fill", NULL, r_masked_fill },
    { "min", NULL, r_min },
    { "logsumexp", NULL, r_logsumexp },
    { "var", NULL, r_var },
    { "std", NULL, r_std },
    { "argmin", NULL, r_argmin },
    { "prod", NULL, r_prod },
    { "cumsum", NULL, r_cumsum },
    { "sort", NULL, r_sort },
    { "topk", NULL, r_topk },
    { "index_select", NULL, r_index_select },
    { "scatter_add", NULL, r_scatter_add },
    { "lookup_padded", NULL, r_lookup_padded },
    { "one_hot", NULL, r_one_hot },
    { "group_norm", NULL, r_group_norm },
    { "instance_norm", NULL, r_instance_norm },
    { "conv_transpose", NULL, r_conv_transpose },
    { "interpolate", NULL, r_interpolate },
    { "rotary", NULL, r_rotary },
    { "attention_heads", NULL, r_attention_heads },
    { "l1", NULL, r_l1 },
    { "smooth_l1", NULL, r_smooth_l1 },
    { "huber", NULL, r_huber },
    { "kl_div", NULL, r_kl_div },
    { "bce_with_logits", NULL, r_bce_with_logits },
    { "cosine_embedding", NULL, r_cosine_embedding },
    { "triplet_margin", NULL, r_triplet_margin },
    { "cross_entropy_weighted", NULL, r_cross_entropy_weighted },
    { "ctc", NULL, r_ctc },
    { "lstm", NULL, r_lstm },
    { "gru", NULL, r_gru },
    { "rnn", NULL, r_rnn },
};

enum { N_REFERENCES = sizeof references / sizeof references[0] };

static void compute(const reference *ref, const golden_case *g, ref_case *c)
{
    int at[GOLDEN_MAX_DIMS], n = c->out[0].ndim;
    for (int i = 0; i < c->n_out; i++)
        memset(c->out[i].v, 0, (size_t)c->out[i].n * sizeof *c->out[i].v);
    for (int64_t i = 0; ref->map && i < c->out[0].n; i++) {
        double v[3] = { 0, 0, 0 }, p = c->n_attr ? c->attr[0] : 0;
        unravel(&c->out[0], i, at);
        for (int k = 0; k < ref->map->inputs; k++)
            v[k] = broadcast(&c->in[k], at, n);
        c->out[0].v[i] = ref->map->f(v[0], v[1], v[2], p);
    }
    if (ref->any == r_attention && g->in[3].dtype == SAMBA_BOOL)
        r_attention_bool(c);
    else if (ref->any)
        ref->any(c);
}

// ---- The judge ----------------------------------------------------------------------------------

// Worst errors of: the goldens' values, their gradients, the library's gradients.
typedef struct verdicts {
    double value, golden, library;
    int32_t quotients;
} verdicts;

typedef struct judge {
    const reference *ref;
    const golden_case *golden;
    ref_case up, down; // the case twice: the two sides of a quotient
    verdicts *worst;
} judge;

static void keep_worst(double *worst, double error, double limit, const char *what, int32_t index)
{
    if (!(error <= 1e300)) error = 1e300;
    if (error > *worst) *worst = error;
    if (error <= limit) return;
    printf("    %s %d is off by %.2e, more than %.1e\n", what, (int)index, error, limit);
    test_bad++;
}

static void judge_values(judge *j)
{
    compute(j->ref, j->golden, &j->up);
    for (int32_t k = 0; k < j->up.n_out; k++) {
        const golden_tensor *y = &j->golden->out[k];
        bool is_f32 = y->dtype == SAMBA_F32;
        double scale = is_f32 ? golden_scale((const float *)y->data, y->count) : 0, worst = 0;
        for (size_t i = 0; i < y->count; i++) {
            double want = j->up.out[k].v[i], got = golden_value(y, i);
            if (got == want || (isnan(got) && isnan(want))) continue;
            double error = fabs(got - want) / (is_f32 ? fabs(want) + 0.1 * scale : 0);
            if (!(error <= worst)) worst = error;
        }
        keep_worst(&j->worst->value, worst, value_rtol, "the golden value of output", k);
    }
}

// d sum(out r) / d input along d. Element by element, so that large outputs hide no small ones.
static double quotient(judge *j, int32_t input, const double *x, const double *d)
{
    double difference = 0;
    for (int64_t i = 0; i < j->up.in[input].n; i++) {
        j->up.in[input].v[i] = x[i] + step * d[i];
        j->down.in[input].v[i] = x[i] - step * d[i];
    }
    compute(j->ref, j->golden, &j->up);
    compute(j->ref, j->golden, &j->down);
    for (int k = 0; k < j->up.n_out; k++) {
        const float *r = j->golden->out[k].mate;
        for (int64_t i = 0; r && i < j->up.out[k].n; i++) {
            difference += (j->up.out[k].v[i] - j->down.out[k].v[i]) * (double)r[i];
        }
    }
    return difference / (2 * step);
}

// Uniform in [0,1): xorshift64*, Vigna 2016.
static double next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * 0x2545F4914F6CDD1Du) >> 11) / 9007199254740992.0;
}

// Either sign, half to all of the size of x (but at least of 1): large elements take large steps.
static void random_direction(double *d, const double *x, int64_t n, uint64_t *state)
{
    for (int64_t i = 0; i < n; i++) {
        double sign = next_random(state) < 0.5 ? -1 : 1;
        d[i] = sign * (0.5 + 0.5 * next_random(state)) * fmax(1, fabs(x[i]));
    }
}

// |gradient d - quotient| against the size such a sum has: sqrt(sum (gradient_i d_i)^2).
static double slope_error(const float *gradient, const golden_tensor *golden, const double *d,
                          double quotient)
{
    double slope = 0, norm = 0;
    for (size_t i = 0; i < golden->count; i++) {
        slope += (double)gradient[i] * d[i];
        norm += pow((double)golden->mate[i] * d[i], 2);
    }
    return fabs(slope - quotient) / (fabs(quotient) + sqrt(norm) + 1e-3);
}

static void judge_gradient(judge *j, int32_t input, const float *library)
{
    const golden_tensor *t = &j->golden->in[input];
    uint64_t state = 0x9E3779B97F4A7C15u + (uint64_t)input;
    double *d = (double *)calloc(t->count, sizeof *d), *x = (double *)calloc(t->count, sizeof *x);
    CHECK(d && x);
    for (int k = 0; d && x && k < N_DIRECTIONS; k++) {
        for (size_t i = 0; i < t->count; i++)
            x[i] = golden_value(t, i);
        random_direction(d, x, (int64_t)t->count, &state);
        double q = quotient(j, input, x, d);
        keep_worst(&j->worst->golden, slope_error(t->mate, t, d, q), golden_rtol,
                   "the golden gradient of input", input);
        if (library) {
            keep_worst(&j->worst->library, slope_error(library, t, d, q), library_rtol,
                       "the gradient of input", input);
        }
        j->worst->quotients++;
    }
    for (size_t i = 0; d && x && i < t->count; i++)
        j->up.in[input].v[i] = j->down.in[input].v[i] = x[i];
    free(d);
    free(x);
}

static void judge_gradients(judge *j, op_run *run)
{
    for (int32_t i = 0; i < j->golden->n_in; i++) {
        if (!j->golden->in[i].marked) continue;
        samba_tensor *grad = run ? samba_sn_grad(run->in[i]) : NULL;
        bool fits = grad && samba_bytes(grad) == j->golden->in[i].size;
        CHECK(fits || !run);
        judge_gradient(j, i, fits ? samba_read(grad) : NULL);
    }
}

static bool has_smooth_gradient(const golden_case *c)
{
    bool marked = false;
    for (int32_t i = 0; i < c->n_in; i++)
        marked = marked || c->in[i].marked;
    return marked && !(c->flags & GOLDEN_TIE);
}

static void judge_case(judge *j, const op_call *op)
{
    op_run run;
    bool loaded = ref_load(&j->up, j->golden), ran = false;
    loaded = ref_load(&j->down, j->golden) && loaded;
    memset(&run, 0, sizeof run);
    CHECK(loaded);
    if (loaded) judge_values(j);
    if (loaded && has_smooth_gradient(j->golden)) {
#if defined(GRADCHECK_GOLDENS_ONLY)
        (void)op;
#else
        ran = op_run_traced(&run, op, j->golden);
        CHECK(ran);
        op_complain(&run, j->golden);
#endif
        judge_gradients(j, ran ? &run : NULL);
    }
    op_close(&run);
    ref_free(&j->up);
    ref_free(&j->down);
}

// Without map and any: there is none.
static reference reference_of(const char *op)
{
    for (int i = 0; i < N_REFERENCES; i++) {
        if (!strcmp(references[i].op, op)) return references[i];
    }
    return (reference){ op, ref_map_of(op), NULL };
}

static void judge_op(const op_call *op, const char *dir)
{
    golden_file file;
    judge j;
    verdicts worst = { 0, 0, 0, 0 };
    int failed = test_failed;
    memset(&j, 0, sizeof j);
    reference ref = reference_of(op->name);
    j.ref = &ref;
    j.worst = &worst;
    test_bad = !op_cases(&file, dir, op) || (!ref.map && !ref.any);
    if (test_bad) {
        printf("%s: %s\n", op->name, file.why ? file.why : "no reference");
        test_end(op->name);
        golden_free(&file);
        return;
    }
    for (uint32_t i = 0; i < file.n_cases; i++) {
        test_bad = 0;
        j.golden = &file.cases[i];
        judge_case(&j, op);
        if (test_bad) {
            printf("    %s case %u:", op->name, (unsigned)i);
            golden_print(j.golden);
        }
        test_end(op->name);
    }
    printf("%-30s %5u %9.1e %9d %9.1e %9.1e %s\n", op->name, (unsigned)file.n_cases, worst.value,
           (int)worst.quotients, worst.golden, worst.library, test_failed > failed ? "FAILED" : "");
    golden_free(&file);
}

// ---- Second derivatives -------------------------------------------------------------------------

// Elements of the tests below lie apart from kinks: at 0, and where a equals b.
enum { N_SECOND = 70 };

// r d/dx f at an element; again for the derivative of that. i, j: by which inputs.
static double slope_of(const ref_map *map, const double v[3], int i)
{
    double up[3] = { v[0], v[1], v[2] }, down[3] = { v[0], v[1], v[2] };
    up[i] += 1e-4;
    down[i] -= 1e-4;
    return (map->f(up[0], up[1], up[2], 0) - map->f(down[0], down[1], down[2], 0)) / 2e-4;
}

static double bend_of(const ref_map *map, const double v[3], int i, int j)
{
    double up[3] = { v[0], v[1], v[2] }, down[3] = { v[0], v[1], v[2] };
    up[j] += 1e-4;
    down[j] -= 1e-4;
    return (slope_of(map, up, i) - slope_of(map, down, i)) / 2e-4;
}

// The gradient in input j of the gradient in input i, computed at once. NULL: there is none, or
// none is offered; then the bend must be 0, or the error say so.
static samba_tensor *second_gradient(samba_session *s, samba_tensor *y, samba_tensor *r,
                                     samba_tensor *xi, samba_tensor *xj)
{
    samba_tensor *slope = samba_grad(samba_sum(samba_mul(y, r), SAMBA_ALL_AXES, false), xi);
    return samba_ok(s) ? samba_grad(samba_sum(slope, SAMBA_ALL_AXES, false), xj) : NULL;
}

static void test_second(const op_call *op, const ref_map *map, int i, int j)
{
    float x[2][N_SECOND], r[N_SECOND];
    uint64_t state = 77;
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    samba_set_tracing(s, false);
    for (int e = 0; e < N_SECOND; e++) {
        x[0][e] = op_made_number(&state, 0.3, 3);
        x[1][e] = op_made_number(&state, 0.3, 3);
        if (map->kind != REF_POSITIVE && e % 2) x[0][e] = -x[0][e];
        r[e] = op_made_number(&state, 0.5, 1);
    }
    samba_shape shape = SAMBA_SHAPE(N_SECOND);
    samba_tensor *a = samba_from_data_copy(s, "a", SAMBA_F32, shape, x[0]);
    samba_tensor *b = samba_from_data_copy(s, "b", SAMBA_F32, shape, x[1]);
    samba_tensor *w = samba_from_data_copy(s, "r", SAMBA_F32, shape, r);
    samba_tensor *in[2] = { a, b };
    samba_tensor *y = op->one ? op->one(a) : op->two(a, b);
    samba_tensor *bend = second_gradient(s, y, w, in[i], in[j]);
    bool offered = samba_ok(s) || !strstr(samba_error(s), "second derivative");
    const float *got = bend ? samba_read(bend) : NULL;
    for (int e = 0; offered && e < N_SECOND; e++) {
        const double v[3] = { (double)x[0][e], (double)x[1][e], 0 };
        double want = (double)r[e] * bend_of(map, v, i, j), is = got ? (double)got[e] : 0;
        if (fabs(is - want) <= 1e-4 + 1e-3 * fabs(want)) continue;
        printf("    %s(%g, %g): the second derivative is %g, not %g\n", op->name, v[0], v[1], is,
               want);
        test_bad++;
    }
    samba_clear_error(s);
    samba_close(s);
}

// Every elementwise op with a row in reference.h: its gradient has the gradient that it should
// have, or is refused as one that has none.
static void test_second_derivatives(void)
{
    for (int k = 0; k < N_OP_CALLS; k++) {
        const op_call *op = &op_calls[k];
        const ref_map *map = ref_map_of(op->name);
        if (!map || (!op->one && !op->two)) continue;
        for (int i = 0; i < map->inputs; i++)
            for (int j = 0; j < map->inputs; j++)
                test_second(op, map, i, j);
    }
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : GOLDEN_DIR;
    printf("%-30s %5s %9s %9s %9s %9s   worst relative errors of the goldens' values,\n", "", "",
           "golden", "", "golden", "");
    printf("%-30s %5s %9s %9s %9s %9s   their gradients, and the library's\n", "op", "cases",
           "value", "quotients", "gradient", "gradient");
    int judged = 0;
    for (int i = 0; i < N_OP_CALLS; i++) {
        if (argc >= 3 && strcmp(argv[2], op_calls[i].name)) continue;
        judge_op(&op_calls[i], dir);
        judged++;
    }
    if (!judged) {
        printf("no op is called %s in OP_CALLS\n0 passed, 1 failed\n", argv[2]);
        return 1;
    }
#if !defined(GRADCHECK_GOLDENS_ONLY)
    if (argc < 3) RUN(test_second_derivatives);
#endif
    return test_summary();
}
