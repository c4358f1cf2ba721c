/* window.h - of onnx_import.h: what slides a window: convolutions and poolings. */

enum { OX_SIDES = SAMBA_MAX_DIMS - 2 };

/* A window over the spatial dimensions of (N,C,...). */
typedef struct ox_slide {
    int32_t n; /* spatial dimensions */
    int64_t in[OX_SIDES], out[OX_SIDES], kernel[OX_SIDES], stride[OX_SIDES], dilation[OX_SIDES],
        before[OX_SIDES], after[OX_SIDES];
} ox_slide;

static bool ox_read_sides(ox_node *k, const char *name, int32_t n, int64_t otherwise, int64_t *to)
{
    int32_t given = 0;
    const int64_t *list = ox_ints(k, name, &given);
    if (list && given != n) return ox_refuse(k, "%s must have %d numbers", name, n);
    for (int32_t i = 0; i < n; i++) {
        to[i] = list ? list[i] : otherwise;
        if (to[i] < 0 || to[i] > 1 << 20) return ox_refuse(k, "%s is out of range", name);
    }
    return true;
}

/* Reads the attributes for an x of this shape; kernel is what is known of it already, or 0. */
static bool ox_read_slide(ox_node *k, const samba_shape *x, ox_slide *s)
{
    int32_t n = s->n = x->ndim - 2;
    int64_t pads[2 * OX_SIDES] = { 0 };
    if (n < 1) return ox_refuse(k, "needs at least 3 dimensions");
    if (!s->kernel[0] && !ox_read_sides(k, "kernel_shape", n, 0, s->kernel)) return false;
    if (!ox_read_sides(k, "strides", n, 1, s->stride)
        || !ox_read_sides(k, "dilations", n, 1, s->dilation)
        || !ox_read_sides(k, "pads", 2 * n, 0, pads))
        return false;
    for (int32_t i = 0; i < n; i++) {
        s->in[i] = x->dim[2 + i];
        s->before[i] = pads[i];
        s->after[i] = pads[n + i];
        if (s->kernel[i] < 1 || s->stride[i] < 1 || s->dilation[i] < 1)
            return ox_refuse(k, "kernel, strides and dilations must be at least 1");
    }
    return true;
}

static int64_t ox_reach(const ox_slide *s, int32_t i)
{
    return (s->kernel[i] - 1) * s->dilation[i] + 1;
}

/* Paddings by auto_pad, and the sizes of the result. */
static bool ox_place_slide(ox_node *k, ox_slide *s)
{
    bool upper = ox_text_is(k, "auto_pad", "NOTSET", "SAME_UPPER");
    bool lower = ox_text_is(k, "auto_pad", "NOTSET", "SAME_LOWER");
    bool valid = ox_text_is(k, "auto_pad", "NOTSET", "VALID");
    bool ceiling = ox_int(k, "ceil_mode", 0) != 0;
    for (int32_t i = 0; i < s->n; i++) {
        if (valid) s->before[i] = s->after[i] = 0;
        if (upper || lower) {
            int64_t out = (s->in[i] - 1) / s->stride[i] + 1;
            int64_t total = (out - 1) * s->stride[i] + ox_reach(s, i) - s->in[i];
            if (total < 0) total = 0;
            s->before[i] = upper ? total / 2 : total - total / 2;
            s->after[i] = total - s->before[i];
        }
        int64_t room = s->in[i] + s->before[i] + s->after[i] - ox_reach(s, i);
        if (room < 0) return ox_refuse(k, "the window is larger than what it slides over");
        s->out[i] = room / s->stride[i] + 1;
        if (ceiling && room % s->stride[i] && s->out[i] * s->stride[i] < s->in[i] + s->before[i])
            s->out[i]++;
    }
    return true;
}

/* ---- Convolution ---- */

/* Pads the last n dimensions; the convolution then needs no padding of its own. */
static samba_tensor *ox_pad_sides(samba_tensor *x, int32_t n, const int64_t *before,
                                  const int64_t *after)
{
    samba_shape b = samba_scalar_shape(), a = b;
    if (!x) return NULL;
    b.ndim = a.ndim = x->shape.ndim;
    for (int32_t i = 0; i < n; i++) {
        b.dim[b.ndim - n + i] = (int32_t)before[i];
        a.dim[a.ndim - n + i] = (int32_t)after[i];
    }
    return samba_pad(x, b, a, 0.0f);
}

static samba_conv_opts ox_conv_opts(const ox_slide *s, int32_t first, int64_t groups)
{
    samba_conv_opts o = { { 0, 0 }, { 0, 0 }, { 0, 0 }, (int32_t)groups };
    for (int32_t i = first; i < s->n && i < first + 2; i++) {
        o.stride[i - first] = (int32_t)s->stride[i];
        o.dilation[i - first] = (int32_t)s->dilation[i];
    }
    return o;
}

/* One or two spatial dimensions: as samba.h has it. */
static samba_tensor *ox_conv_flat(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                  const ox_slide *s, int64_t groups)
{
    samba_conv_opts o = ox_conv_opts(s, 0, groups);
    bool even = true;
    for (int32_t i = 0; i < s->n; i++)
        even = even && s->before[i] == s->after[i];
    for (int32_t i = 0; i < s->n && even; i++)
        o.padding[i] = (int32_t)s->before[i];
    if (!even) x = ox_pad_sides(x, s->n, s->before, s->after);
    return samba_convolution(x, w, b, &o);
}

/* Three: the sum of flat ones, one for each layer of the kernel. */
static samba_tensor *ox_conv_deep(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                  const ox_slide *s, int64_t groups)
{
    samba_conv_opts o = ox_conv_opts(s, 1, groups);
    samba_tensor *sum = NULL;
    x = ox_pad_sides(x, 3, s->before, s->after);
    for (int32_t kd = 0; x && kd < s->kernel[0]; kd++) {
        int32_t at = kd * (int32_t)s->dilation[0], depth = (int32_t)s->out[0];
        int32_t step = (int32_t)s->stride[0];
        samba_tensor *y = samba_slice(x, 2, at, at + (depth - 1) * step + 1, step);
        y = samba_permute(y, SAMBA_AXES(0, 2, 1, 3, 4));
        if (!y) return NULL;
        y = samba_reshape(y,
                          SAMBA_SHAPE(y->shape.dim[0] * depth, y->shape.dim[2], y->shape.dim[3],
                                      y->shape.dim[4]));
        samba_tensor *layer = samba_squeeze(samba_slice(w, 2, kd, kd + 1, 1), 2);
        y = samba_convolution(y, layer, kd ? NULL : b, &o);
        sum = sum ? samba_add(sum, y) : y;
    }
    if (!sum) return NULL;
    int32_t depth = (int32_t)s->out[0];
    sum = samba_reshape(sum,
                        SAMBA_SHAPE(sum->shape.dim[0] / depth, depth, sum->shape.dim[1],
                                    sum->shape.dim[2], sum->shape.dim[3]));
    return samba_permute(sum, SAMBA_AXES(0, 2, 1, 3, 4));
}

static samba_tensor *ox_convolve(ox_node *k, samba_tensor *x, samba_tensor *w, samba_tensor *b)
{
    ox_slide s = { 0 };
    int64_t groups = ox_int(k, "group", 1);
    if (!x || !w) return NULL;
    bool fits = w->shape.ndim == x->shape.ndim && groups >= 1 && groups <= INT32_MAX
        && x->shape.ndim <= 5;
    if (!fits) ox_refuse(k, "needs 1 to 3 spatial dimensions, and w of the same rank as x");
    for (int32_t i = 0; fits && i < w->shape.ndim - 2; i++)
        s.kernel[i] = w->shape.dim[2 + i];
    if (!fits || !ox_read_slide(k, &x->shape, &s) || !ox_place_slide(k, &s)) return NULL;
    return s.n == 3 ? ox_conv_deep(x, w, b, &s, groups) : ox_conv_flat(x, w, b, &s, groups);
}

/* The bias that a batch norm has become; it may be a Constant that stands behind the convolution.
 */
static samba_tensor *ox_folded_bias(ox_import *c, const ox_folded *f)
{
    ox_value *v = ox_lookup(c, f->norm->input[2]);
    if (!v) v = ox_attribute_value(c, f->shift);
    return v ? ox_tensor(c, v) : NULL;
}

static bool ox_op_conv(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *w = ox_in(k, 1), *b = ox_has(k, 2) ? ox_in(k, 2) : NULL;
    const ox_folded *fold = ox_folded_of(k->c, k->p);
    if (fold) b = ox_folded_bias(k->c, fold);
    return ox_floats_only(k, 3) && ox_give(k, 0, ox_type(k, 0), ox_convolve(k, x, w, b));
}

/* ---- Transposed convolution: the adjoint of one, then cut by the paddings ---- */

/* x (N,C,D,H,W): the adjoint in depth by spreading the layers. */
static samba_tensor *ox_spread_depth(ox_import *c, samba_tensor *x, const ox_slide *s, int32_t kd,
                                     int64_t depth)
{
    int32_t *index = (int32_t *)ox_new(c, depth, sizeof *index);
    for (int64_t j = 0; index && j < depth; j++) {
        int64_t at = j - kd * s->dilation[0];
        bool hit = at >= 0 && at % s->stride[0] == 0 && at / s->stride[0] < s->in[0];
        index[j] = hit ? (int32_t)(at / s->stride[0]) : -1;
    }
    if (!index) return NULL;
    x = ox_take_known(c, ox_to_last(x, 2), index, SAMBA_SHAPE((int32_t)depth), 0.0f);
    return ox_from_last(x, 2);
}

static samba_tensor *ox_deconvolve(ox_import *c, samba_tensor *x, samba_tensor *w,
                                   const ox_slide *s, const int64_t *full, int64_t groups)
{
    int32_t n = x->shape.dim[0], m = (int32_t)(w->shape.dim[1] * groups), d = x->shape.ndim - 2;
    samba_conv_opts o = ox_conv_opts(s, d == 3, groups);
    samba_tensor *sum = NULL;
    if (d == 1)
        return samba_convolution_backward_input(x, w, SAMBA_SHAPE(n, m, (int32_t)full[0]), &o);
    int32_t h = (int32_t)full[d - 2], v = (int32_t)full[d - 1];
    if (d == 2) return samba_convolution_backward_input(x, w, SAMBA_SHAPE(n, m, h, v), &o);
    int32_t depth = x->shape.dim[2];
    samba_tensor *flat = samba_permute(x, SAMBA_AXES(0, 2, 1, 3, 4));
    flat = samba_reshape(flat,
                         SAMBA_SHAPE(n * depth, x->shape.dim[1], x->shape.dim[3], x->shape.dim[4]));
    for (int32_t kd = 0; kd < s->kernel[0]; kd++) {
        samba_tensor *layer = samba_squeeze(samba_slice(w, 2, kd, kd + 1, 1), 2);
        samba_tensor *y
            = samba_convolution_backward_input(flat, layer, SAMBA_SHAPE(n * depth, m, h, v), &o);
        y = samba_permute(samba_reshape(y, SAMBA_SHAPE(n, depth, m, h, v)),
                          SAMBA_AXES(0, 2, 1, 3, 4));
        y = ox_spread_depth(c, y, s, kd, full[0]);
        sum = sum ? samba_add(sum, y) : y;
    }
    return sum;
}

/* Sizes: full without padding; paddings from pads, auto_pad or output_shape. */
static bool ox_place_transposed(ox_node *k, ox_slide *s, int64_t *full, int64_t *extra)
{
    int32_t n = 0;
    const int64_t *wanted = ox_ints(k, "output_shape", &n);
    bool upper = ox_text_is(k, "auto_pad", "NOTSET", "SAME_UPPER");
    bool same = upper || ox_text_is(k, "auto_pad", "NOTSET", "SAME_LOWER");
    if (!ox_read_sides(k, "output_padding", s->n, 0, extra)) return false;
    if (wanted && n != s->n) return ox_refuse(k, "output_shape must have %d numbers", s->n);
    for (int32_t i = 0; i < s->n; i++) {
        full[i] = s->stride[i] * (s->in[i] - 1) + ox_reach(s, i);
        if (wanted || same) {
            int64_t size = wanted ? wanted[i] : s->in[i] * s->stride[i];
            int64_t total = full[i] + extra[i] - size;
            int64_t half = total / 2;
            s->before[i] = total < 0 ? 0 : upper ? half : total - half;
            s->after[i] = total - s->before[i];
            if (size < 1 || size > 1 << 20) return ox_refuse(k, "output_shape is out of range");
        }
        s->out[i] = full[i] + extra[i] - s->before[i] - s->after[i];
        if (s->out[i] < 1) return ox_refuse(k, "the result has no elements");
        if (full[i] > 1 << 30) return ox_refuse(k, "the result is too large");
    }
    return true;
}

static bool ox_op_conv_transpose(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *w = ox_in(k, 1), *b = ox_has(k, 2) ? ox_in(k, 2) : NULL;
    int64_t groups = ox_int(k, "group", 1), full[OX_SIDES], extra[OX_SIDES];
    ox_slide s = { 0 };
    if (!x || !w || !ox_floats_only(k, 3)) return false;
    if (w->shape.ndim != x->shape.ndim || x->shape.ndim > 5 || groups < 1 || groups > 1 << 20)
        return ox_refuse(k, "needs 1 to 3 spatial dimensions, and w of the same rank as x");
    for (int32_t i = 0; i < w->shape.ndim - 2; i++)
        s.kernel[i] = w->shape.dim[2 + i];
    if (!ox_read_slide(k, &x->shape, &s) || !ox_place_transposed(k, &s, full, extra)) return false;
    samba_tensor *y = ox_deconvolve(k->c, x, w, &s, full, groups);
    for (int32_t i = 0; i < s.n && y; i++)
        y = ox_pad_axis(k, y, 2 + i, -s.before[i], extra[i] - s.after[i], OX_PAD_CONSTANT, 0);
    if (b && y) {
        samba_shape column = samba_scalar_shape();
        column.ndim = y->shape.ndim - 1;
        for (int32_t i = 1; i < column.ndim; i++)
            column.dim[i] = 1;
        column.dim[0] = y->shape.dim[1];
        y = samba_add(y, samba_reshape(b, column));
    }
    return ox_give(k, 0, ox_type(k, 0), y);
}

/* ---- Pooling. Windows as rows: x (N,C,S) -> (N,C,out,taps), by an index; -1 is padding ---- */

typedef struct ox_windows {
    int32_t *index; /* [out][taps]: place in the image, or -1 */
    int32_t out, taps;
    int32_t *padded; /* [out]: places in the image or its declared padding */
    int32_t *inside; /* [out]: places in the image */
} ox_windows;

/* Where tap number `tap` of window number `window` lies along each side. */
static void ox_tap_at(const ox_slide *s, int64_t window, int64_t tap, int64_t *at)
{
    for (int32_t i = s->n - 1; i >= 0; i--) {
        at[i] = window % s->out[i] * s->stride[i] + tap % s->kernel[i] * s->dilation[i]
            - s->before[i];
        window /= s->out[i];
        tap /= s->kernel[i];
    }
}

static bool ox_find_windows(ox_node *k, const ox_slide *s, ox_windows *w)
{
    int64_t out = 1, taps = 1, at[OX_SIDES];
    for (int32_t i = 0; i < s->n; i++) {
        out *= s->out[i], taps *= s->kernel[i];
        if (out > 1 << 26 || taps > 1 << 26 || out * taps > 1 << 26)
            return ox_refuse(k, "windows of this size are too many");
    }
    w->out = (int32_t)out;
    w->taps = (int32_t)taps;
    w->index = (int32_t *)ox_new(k->c, out * taps, sizeof *w->index);
    w->padded = (int32_t *)ox_new(k->c, out, sizeof *w->padded);
    w->inside = (int32_t *)ox_new(k->c, out, sizeof *w->inside);
    if (!w->index || !w->padded || !w->inside) return false;
    for (int64_t o = 0; o < out; o++) {
        for (int64_t t = 0; t < taps; t++) {
            int64_t place = 0;
            bool inside = true, padded = true;
            ox_tap_at(s, o, t, at);
            for (int32_t i = 0; i < s->n; i++) {
                inside = inside && at[i] >= 0 && at[i] < s->in[i];
                padded = padded && at[i] < s->in[i] + s->after[i];
                place = place * s->in[i] + at[i];
            }
            w->index[o * taps + t] = inside ? (int32_t)place : -1;
            w->padded[o] += padded;
            w->inside[o] += inside;
        }
    }
    return true;
}

/* (N,C,out,taps) of x. */
static samba_tensor *ox_windows_of(ox_node *k, samba_tensor *x, const ox_windows *w, float fill)
{
    int32_t side = (int32_t)ox_after(&x->shape, 1);
    samba_tensor *y = samba_reshape(x, SAMBA_SHAPE(x->shape.dim[0], x->shape.dim[1], side));
    return ox_take_known(k->c, y, w->index, SAMBA_SHAPE(w->out, w->taps), fill);
}

/* (N,C,out) in its spatial dimensions. */
static samba_tensor *ox_pooled(samba_tensor *y, const samba_shape *x, const ox_slide *s)
{
    samba_shape shape = *x;
    for (int32_t i = 0; i < s->n; i++)
        shape.dim[2 + i] = (int32_t)s->out[i];
    return y ? samba_reshape(y, shape) : NULL;
}

/* Can samba.h's own pooling do it? */
static bool ox_plain_pool(ox_node *k, const ox_slide *s, samba_pool_opts *o)
{
    bool plain = s->n == 2 && !ox_asks(k, 1);
    memset(o, 0, sizeof *o);
    for (int32_t i = 0; plain && i < 2; i++) {
        plain = s->dilation[i] == 1 && s->before[i] == s->after[i]
            && 2 * s->before[i] <= s->kernel[i];
        o->kernel[i] = (int32_t)s->kernel[i];
        o->stride[i] = (int32_t)s->stride[i];
        o->padding[i] = (int32_t)s->before[i];
    }
    o->ceil_mode = ox_int(k, "ceil_mode", 0) != 0;
    o->exclude_padding = !ox_int(k, "count_include_pad", 0);
    return plain;
}

/* Where the maximum of each window lies, as ONNX numbers it: through all of x. */
static bool ox_give_places(ox_node *k, samba_tensor *rows, const samba_shape *x, const ox_slide *s,
                           const ox_windows *w)
{
    int64_t side = ox_after(x, 1), n = (int64_t)w->out * w->taps;
    int32_t *table = (int32_t *)ox_new(k->c, n, sizeof *table);
    bool columns = ox_int(k, "storage_order", 0) == 1;
    for (int64_t i = 0; table && i < n; i++) {
        int64_t place = w->index[i] < 0 ? 0 : w->index[i], moved = 0, step = 1;
        for (int32_t d = 0; columns && d < s->n; d++) {
            int64_t below = 1;
            for (int32_t e = d + 1; e < s->n; e++)
                below *= s->in[e];
            moved += place / below % s->in[d] * step;
            step *= s->in[d];
        }
        table[i] = (int32_t)(columns ? moved : place);
    }
    samba_tensor *best = samba_argmax(rows, 3, false); /* (N,C,out) */
    best = best && table ? ox_plus(best, ox_steps(k->c, 3, 2, w->out, w->taps)) : NULL;
    samba_tensor *known
        = table ? ox_constant(k->c, SAMBA_I32, SAMBA_SHAPE((int32_t)n), table) : NULL;
    samba_tensor *at = ox_take(known, best, 0.0f);
    at = at ? ox_plus(at, ox_steps(k->c, 3, 1, x->dim[1], side)) : NULL;
    at = at ? ox_plus(at, ox_steps(k->c, 3, 0, x->dim[0], side * x->dim[1])) : NULL;
    return ox_give(k, 1, OX_INT64, ox_pooled(at, x, s));
}

static bool ox_op_max_pool(ox_node *k)
{
    samba_tensor *x = ox_to_f32(ox_in(k, 0)), *y;
    int32_t type = ox_type(k, 0);
    ox_slide s = { 0 };
    ox_windows w = { 0 };
    samba_pool_opts o;
    if (!x || !ox_read_slide(k, &x->shape, &s) || !ox_place_slide(k, &s)) return false;
    if (ox_is_integer(type) && type != OX_UINT8 && type != OX_INT8)
        return ox_refuse(k, "of %s is not offered", ox_type_name(type));
    if (ox_plain_pool(k, &s, &o)) {
        y = samba_max_pool2d(x, &o);
    } else {
        if (!ox_find_windows(k, &s, &w)) return false;
        samba_tensor *rows = ox_windows_of(k, x, &w, -HUGE_VALF);
        y = rows ? ox_pooled(samba_max(rows, SAMBA_AXES(3), false), &x->shape, &s) : NULL;
        if (rows && ox_asks(k, 1) && !ox_give_places(k, rows, &x->shape, &s, &w)) return false;
    }
    return ox_give(k, 0, type, ox_is_float(type) ? y : ox_to_i32(y));
}

/* Sums of windows divided by how many elements they have. */
static samba_tensor *ox_window_means(ox_node *k, samba_tensor *x, const ox_slide *s)
{
    ox_windows w = { 0 };
    bool padding = ox_int(k, "count_include_pad", 0) != 0;
    if (!ox_find_windows(k, s, &w)) return NULL;
    float *share = (float *)ox_new(k->c, w.out, sizeof *share);
    for (int32_t i = 0; share && i < w.out; i++) {
        int32_t n = padding ? w.padded[i] : w.inside[i];
        share[i] = n > 0 ? 1.0f / (float)n : 0.0f;
    }
    samba_tensor *rows = ox_windows_of(k, x, &w, 0.0f);
    if (!rows || !share) return NULL;
    samba_tensor *sums = samba_sum(rows, SAMBA_AXES(3), false);
    samba_tensor *shares = ox_constant(k->c, SAMBA_F32, SAMBA_SHAPE(w.out), share);
    return ox_pooled(samba_mul(sums, shares), &x->shape, s);
}

static bool ox_op_average_pool(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    ox_slide s = { 0 };
    samba_pool_opts o;
    if (!x || !ox_floats_only(k, 1)) return false;
    if (!ox_read_slide(k, &x->shape, &s) || !ox_place_slide(k, &s)) return false;
    bool plain = ox_plain_pool(k, &s, &o);
    return ox_give(k, 0, ox_type(k, 0),
                   plain ? samba_avg_pool2d(x, &o) : ox_window_means(k, x, &s));
}

/* (sum |x|^p)^(1/p) along axes; NULL: refused. */
static samba_tensor *ox_p_norm(ox_node *k, samba_tensor *x, samba_shape axes, bool keeps_dims)
{
    int64_t p = ox_int(k, "p", 2);
    if (p < 1) {
        ox_refuse(k, "p is less than 1");
        return NULL;
    }
    if (p == 2) return samba_sqrt(samba_sum(samba_mul(x, x), axes, keeps_dims));

    samba_tensor *sizes = samba_abs(x);
    samba_tensor *powers = samba_pow(sizes, samba_number(k->c->s, (float)p));
    samba_tensor *sum = samba_sum(powers, axes, keeps_dims);
    return samba_pow(sum, samba_number(k->c->s, 1.0f / (float)p));
}

static bool ox_op_lp_pool(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    ox_slide s = { 0 };
    ox_windows w = { 0 };
    if (!x || !ox_floats_only(k, 1)) return false;
    if (!ox_read_slide(k, &x->shape, &s) || !ox_place_slide(k, &s)) return false;
    if (!ox_find_windows(k, &s, &w)) return false;

    samba_tensor *rows = ox_windows_of(k, x, &w, 0.0f);
    samba_tensor *y = rows ? ox_p_norm(k, rows, SAMBA_AXES(3), false) : NULL;
    return y && ox_give(k, 0, ox_type(k, 0), ox_pooled(y, &x->shape, &s));
}

/* One number of each channel: arg is the reduction. */
static samba_tensor *ox_of_image(ox_node *k, samba_tensor *x, samba_shape axes)
{
    switch (k->arg) {
    case OX_R_MAX:
        return samba_max(x, axes, true);
    case OX_R_MEAN:
        return samba_mean(x, axes, true);
    default:
        return ox_p_norm(k, x, axes, true);
    }
}

static bool ox_op_global_pool(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    samba_shape axes = samba_scalar_shape();
    if (!x || !ox_floats_only(k, 1)) return false;
    if (x->shape.ndim < 3) return ox_refuse(k, "needs at least 3 dimensions");
    for (int32_t d = 2; d < x->shape.ndim; d++)
        axes.dim[axes.ndim++] = d;

    samba_tensor *y = ox_of_image(k, x, axes);
    return y && ox_give(k, 0, ox_type(k, 0), y);
}

/* The values go back to where MaxPool found them. */
static bool ox_op_max_unpool(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *at = ox_in(k, 1);
    samba_shape inner;
    ox_slide s = { 0 };
    if (!x || !at || !ox_read_slide(k, &x->shape, &s)) return false;
    inner = x->shape;
    for (int32_t i = 0; i < s.n; i++) {
        int64_t size = (s.in[i] - 1) * s.stride[i] + s.kernel[i] - s.before[i] - s.after[i];
        if (size < 1) return ox_refuse(k, "the result has no elements");
        if (size > 1 << 30) return ox_refuse(k, "the result is too large");
        inner.dim[2 + i] = (int32_t)size;
    }
    samba_tensor *zeros = ox_full(k->c, inner, 0.0f);
    samba_tensor *y = ox_scatter(zeros, at, x, OX_SET);
    if (ox_has(k, 2)) {
        const onnx_array *shape = ox_need(k, 2, "output_shape");
        if (!shape) return false;
        if (!shape->i || shape->count != inner.ndim)
            return ox_refuse(k, "its output_shape is wrong");
        for (int32_t d = 0; d < inner.ndim; d++) {
            int64_t more = shape->i[d] - inner.dim[d];
            if (more < 0 || more > 1 << 20) return ox_refuse(k, "its output_shape is too small");
            y = ox_pad_axis(k, y, d, 0, more, OX_PAD_CONSTANT, 0);
        }
    }
    return ox_give(k, 0, ox_type(k, 0), y);
}
