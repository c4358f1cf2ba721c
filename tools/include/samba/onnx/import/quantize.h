/* quantize.h - of onnx_import.h: numbers of 8 bits. Products are exact: of two matrices they are
   samba.h's own, of bytes; of others, sums of up to 256 products of 8 bits fit into the 24 bits of
   an f32, and longer ones are added as i32. */

enum { OX_EXACT_TERMS = 256 };

/* A scale or zero point for each entry of an axis, in a shape that broadcasts with x. */
static samba_tensor *ox_along_axis(samba_tensor *v, const samba_tensor *x, int32_t axis)
{
    samba_shape s = samba_scalar_shape();
    if (!v || !x) return NULL;
    if (samba_count(&v->shape) == 1) return samba_reshape(v, s);
    s.ndim = x->shape.ndim;
    for (int32_t d = 0; d < s.ndim; d++)
        s.dim[d] = d == axis ? x->shape.dim[axis] : 1;
    return samba_reshape(v, s);
}

/* The same since version 21: with a block size, each entry of v along the axis is for so many of x.
   NULL after a refusal. */
static samba_tensor *ox_spread(ox_node *k, samba_tensor *v, const samba_tensor *x, int32_t axis)
{
    int64_t block = ox_int(k, "block_size", 0);
    if (!v || !x || block == 0) return ox_along_axis(v, x, axis);
    bool fits = block > 0 && v->shape.ndim == x->shape.ndim;
    for (int32_t d = 0; fits && d < x->shape.ndim; d++)
        fits = d == axis ? (x->shape.dim[d] - 1) / block + 1 == v->shape.dim[d]
                         : v->shape.dim[d] == x->shape.dim[d];
    if (!fits || block > INT32_MAX / v->shape.dim[axis]) {
        ox_refuse(k, "its scales do not fit x and block_size %lld", (long long)block);
        return NULL;
    }
    int32_t n = v->shape.dim[axis], each = (int32_t)block;
    samba_tensor *at = ox_steps(k->c, 1, 0, n * each, 1);
    at = ox_integers(at, ox_i32_scalar(k->c, each), OX_DIV, OX_INT32);
    samba_tensor *y = ox_gather_axis(v, at, axis);
    return n * each == x->shape.dim[axis] ? y : samba_slice(y, axis, 0, x->shape.dim[axis], 1);
}

/* The axis of scales and zero points; -1 after a refusal. */
static int32_t ox_scale_axis(ox_node *k, const samba_tensor *x, const samba_tensor *scale)
{
    if (samba_count(&scale->shape) == 1 && !ox_int(k, "block_size", 0)) return 0;
    return ox_axis(k, ox_int(k, "axis", 1), x->shape.ndim);
}

/* round(x) + zero, within the type's range; a zero of NULL is 0. 8 bits would hide a NaN: it ends
   the run. */
static samba_tensor *ox_saturated(samba_tensor *x, samba_tensor *zero, int32_t type)
{
    bool is_signed = type == OX_INT8 || type == OX_INT16 || type == OX_INT4 || type == OX_INT2;
    int32_t bits = type == OX_INT16 || type == OX_UINT16 ? 16 : 8 / ox_per_byte(type);
    float low = is_signed ? -(float)(1 << (bits - 1)) : 0.0f;
    float high = (float)(is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1);
    x = ox_unary(x, OX_ROUND);
    if (zero) x = samba_add(x, ox_to_f32(zero));
    x = ox_clamp(x, low, high);
    return x ? samba_apply(x->session, "onnx_truncate", &x, 1, NULL, 0) : NULL;
}

static bool ox_is_small(int32_t type)
{
    return type == OX_UINT8 || type == OX_INT8 || type == OX_UINT16 || type == OX_INT16
        || ox_is_few_bits(type);
}

/* x as codes, one scale and one zero for all of it. */
static bool ox_quantize_bytes(ox_node *k, ox_value *zero, int32_t type)
{
    ox_import *c = k->c;
    uint8_t none = 0;
    samba_tensor *in[3] = { ox_to_f32(ox_in(k, 0)), ox_in(k, 1), NULL };
    in[2] = zero ? ox_one_byte(c, zero)
                 : ox_constant(c, type == OX_INT8 ? SAMBA_I8 : SAMBA_U8, SAMBA_SCALAR, &none);
    if (!samba_ok(c->s)) return false;
    return ox_give_bytes(k, 0, type, samba_apply(c->s, "quantize_bytes", in, 3, NULL, 0));
}

/* Do two values have the same known number? */
static bool ox_same_number(ox_import *c, ox_value *a, ox_value *b)
{
    const onnx_array *x = a ? ox_known_array(c, a) : NULL, *y = b ? ox_known_array(c, b) : NULL;
    return x && y && x->count == 1 && y->count == 1 && x->type == y->type
        && ox_number(x, 0) == ox_number(y, 0);
}

/* Codes that become numbers and then the same codes again. */
static bool ox_stays_codes(ox_node *k, const ox_value *scale, const ox_value *zero)
{
    ox_value *x = k->in[0];
    return x->codes && !x->known && zero && x->zero && x->codes->type == zero->type
        && ox_same_number(k->c, x->scale, k->in[1]) && ox_same_number(k->c, x->zero, k->in[2])
        && scale == k->in[1];
}

static bool ox_op_quantize(ox_node *k)
{
    ox_value *codes_of = ox_has(k, 0) ? k->in[0] : NULL;
    ox_value *by = ox_has(k, 1) ? k->in[1] : NULL, *at = ox_has(k, 2) ? k->in[2] : NULL;
    int32_t to = at ? at->type : (int32_t)ox_int(k, "output_dtype", OX_UINT8);
    if (to == 0) to = OX_UINT8;
    if (codes_of && ox_is_byte(to) && ox_one_code(by, at) && !ox_int(k, "block_size", 0)) {
        const ox_product *p = codes_of->product;
        if (ox_stays_codes(k, by, at)) return ox_give_value(k, 0, codes_of->codes);
        if (p && p->in[OX_CODES_SCALE] && (at || to == OX_UINT8))
            return ox_give_codes(k, p, by, at);
        return ox_quantize_bytes(k, at, to);
    }

    samba_tensor *x = ox_in(k, 0), *scale = ox_in(k, 1), *zero = ox_has(k, 2) ? ox_in(k, 2) : NULL;
    int32_t type = zero ? ox_type(k, 2) : (int32_t)ox_int(k, "output_dtype", 0);
    if (type == 0) type = OX_UINT8;
    if (!x || !scale) return false;
    if (!ox_is_small(type) && !ox_is_tiny(type))
        return ox_refuse(k, "to %s is not offered", ox_type_name(type));
    int32_t axis = ox_scale_axis(k, x, scale);
    if (axis < 0) return false;
    scale = ox_spread(k, scale, x, axis);
    samba_tensor *y = samba_div(ox_to_f32(x), scale);
    if (ox_is_tiny(type)) { /* its zero point is 0 */
        y = ox_as_tiny(y, type, ox_int(k, "saturate", 1) != 0, OX_ROUND_UP);
        return ox_give(k, 0, type, y);
    }
    y = ox_saturated(y, zero ? ox_spread(k, zero, x, axis) : NULL, type);
    return ox_give(k, 0, type, y);
}

/* The numbers of codes: in one op if they have one scale. */
static samba_tensor *ox_dequantized(ox_import *c, ox_value *v)
{
    bool one = ox_is_one(v->scale) && ox_is_one(v->zero) && ox_is_byte(v->codes->type);
    if (one) {
        samba_tensor *in[3] = { ox_bytes(c, v->codes), ox_tensor(c, v->scale), NULL };
        in[2] = v->zero ? ox_one_byte(c, v->zero) : NULL;
        if (!samba_ok(c->s)) return NULL;
        return samba_apply(c->s, "dequantize_bytes", in, 3, NULL, 0);
    }

    samba_tensor *x = ox_tensor(c, v->codes), *zero = v->zero ? ox_tensor(c, v->zero) : NULL;
    samba_tensor *scale = ox_along_axis(ox_tensor(c, v->scale), x, v->axis);
    if (zero) x = ox_integers(x, ox_along_axis(zero, x, v->axis), OX_SUB, OX_INT32);
    return samba_mul(ox_to_f32(x), scale);
}

/* Gives a value that its codes stand for: f32 is made of them if anybody asks for it. */
static bool ox_give_dequantized(ox_node *k, int32_t axis)
{
    ox_value *v = ox_new_value(k->c, OX_FLOAT);
    if (!v) return false;
    v->codes = k->in[0];
    v->scale = k->in[1];
    v->zero = ox_has(k, 2) ? k->in[2] : NULL;
    v->axis = axis;
    return ox_give_value(k, 0, v);
}

/* Can DequantizeLinear wait? Of 8 bits, with a scale and a zero for all or for each entry. */
static bool ox_may_wait(ox_node *k, int32_t *axis)
{
    if (!ox_has(k, 0) || !ox_has(k, 1) || !ox_is_byte(ox_type(k, 0))) return false;
    if (ox_type(k, 1) != OX_FLOAT || ox_int(k, "block_size", 0) || ox_size(k->in[0]) == 0)
        return false;
    int32_t type = (int32_t)ox_int(k, "output_dtype", 0), ndim = ox_ndim(k->in[0]);
    if (type != 0 && type != OX_FLOAT) return false;
    bool one = ox_is_one(k->in[1]) && (!ox_has(k, 2) || ox_is_one(k->in[2]));
    int64_t at = ox_int(k, "axis", 1);
    *axis = one ? 0 : (int32_t)(at < 0 ? at + ndim : at);
    if (one) return true;
    if (*axis < 0 || *axis >= ndim) return false;
    int64_t n = ox_dim(k->in[0], *axis);
    return (ox_is_one(k->in[1]) || ox_size(k->in[1]) == n)
        && (!ox_has(k, 2) || ox_is_one(k->in[2]) || ox_size(k->in[2]) == n);
}

static bool ox_op_dequantize(ox_node *k)
{
    int32_t entry = 0;
    if (ox_may_wait(k, &entry)) return ox_give_dequantized(k, entry);
    samba_tensor *x = ox_in(k, 0), *scale = ox_in(k, 1), *zero = ox_has(k, 2) ? ox_in(k, 2) : NULL;
    if (!x || !scale) return false;
    int32_t axis = ox_scale_axis(k, x, scale);
    if (axis < 0) return false;
    bool tiny = ox_is_tiny(ox_type(k, 0)); /* its zero point is 0 */
    if (zero && !tiny) x = ox_integers(x, ox_spread(k, zero, x, axis), OX_SUB, OX_INT32);
    scale = ox_spread(k, scale, x, axis);
    int32_t type = (int32_t)ox_int(k, "output_dtype", 0);
    if (type == 0) type = ox_type(k, 1);
    if (!ox_is_float(type)) return ox_refuse(k, "to %s is not offered", ox_type_name(type));
    return ox_give(k, 0, type, samba_mul(ox_to_f32(x), scale));
}

static bool ox_op_dynamic_quantize(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *y[3] = { NULL, NULL, NULL };
    if (!x) return false;
    if (samba_apply_all(k->c->s, "quantize_dynamic", &x, 1, NULL, 0, y, 3) != 3) return false;
    return ox_give_bytes(k, 0, OX_UINT8, y[0]) && ox_give(k, 1, OX_FLOAT, y[1])
        && ox_give_bytes(k, 2, OX_UINT8, y[2]);
}

/* An 8-bit tensor less its zero point, as f32. rows: a zero point for each row of a matrix. */
static samba_tensor *ox_centered(ox_node *k, int32_t i, int32_t zero_at, int32_t axis)
{
    samba_tensor *x = ox_in(k, i), *zero = ox_has(k, zero_at) ? ox_in(k, zero_at) : NULL;
    if (x && ox_type(k, i) != OX_UINT8 && ox_type(k, i) != OX_INT8) {
        ox_refuse(k, "of %s is not offered", ox_type_name(ox_type(k, i)));
        return NULL;
    }
    if (zero && x) {
        bool whole = zero->shape.ndim > 1 && zero->shape.ndim == x->shape.ndim;
        if (!whole) zero = ox_along_axis(zero, x, axis < 0 ? axis + x->shape.ndim : axis);
        x = ox_integers(x, zero, OX_SUB, OX_INT32);
    }
    return ox_to_f32(x);
}

/* The product as i32, in pieces that are exact. */
static samba_tensor *ox_exact_product(samba_tensor *a, samba_tensor *b)
{
    samba_tensor *sum = NULL;
    if (!a || !b || a->shape.ndim < 2 || b->shape.ndim < 2) return ox_to_i32(samba_matmul(a, b));
    int32_t n = a->shape.dim[a->shape.ndim - 1];
    for (int32_t at = 0; at < n; at += OX_EXACT_TERMS) {
        int32_t end = at + OX_EXACT_TERMS < n ? at + OX_EXACT_TERMS : n;
        samba_tensor *left = samba_slice(a, a->shape.ndim - 1, at, end, 1);
        samba_tensor *y
            = ox_to_i32(samba_matmul(left, samba_slice(b, b->shape.ndim - 2, at, end, 1)));
        sum = sum ? ox_plus(sum, y) : y;
    }
    return sum;
}

/* Is input i one zero, or one for each of `count` rows or columns? */
static bool ox_zeros_fit(ox_node *k, int32_t i, int64_t count)
{
    return !ox_has(k, i) || ox_size(k->in[i]) == 1 || ox_size(k->in[i]) == count;
}

/* The product of inputs a and b, of 8 bits, whose zero points follow so many places later. A single
   matrix b stays as it is, in bytes; others are computed with in f32. */
static samba_tensor *ox_integer_product(ox_node *k, int32_t a, int32_t b, int32_t later)
{
    bool plain = ox_has(k, a) && ox_has(k, b) && ox_ndim(k->in[b]) == 2 && ox_ndim(k->in[a]) > 0
        && ox_dim(k->in[a], ox_ndim(k->in[a]) - 1) > 0;
    if (plain) {
        int64_t rows = ox_size(k->in[a]) / ox_dim(k->in[a], ox_ndim(k->in[a]) - 1);
        plain = ox_zeros_fit(k, a + later, rows) && ox_zeros_fit(k, b + later, ox_dim(k->in[b], 1));
    }
    if (!plain) {
        samba_tensor *left = ox_centered(k, a, a + later, -2);
        return ox_exact_product(left, ox_centered(k, b, b + later, -1));
    }

    samba_tensor *in[4] = { ox_in_bytes(k, a), ox_in_bytes(k, b), NULL, NULL };
    if (ox_has(k, a + later)) in[2] = ox_in_bytes(k, a + later);
    if (ox_has(k, b + later)) in[3] = ox_in_bytes(k, b + later);
    return samba_ok(k->c->s) ? samba_apply(k->c->s, "matmul_integer", in, 4, NULL, 0) : NULL;
}

/* The codes that inputs x and w are, and their zeros, which follow `later`. */
static ox_factors ox_factors_of(ox_node *k, int32_t x, int32_t w, int32_t later)
{
    ox_factors f = { k->in[x], NULL, k->in[w], NULL, false };
    if (ox_has(k, x + later)) f.zero_x = k->in[x + later];
    if (ox_has(k, w + later)) f.zero_w = k->in[w + later];
    return f;
}

static bool ox_op_mat_mul_integer(ox_node *k)
{
    ox_product p;
    if (ox_has(k, 0) && ox_has(k, 1)) {
        ox_factors f = ox_factors_of(k, 0, 1, 2);
        if (ox_is_affine(k->c, &f))
            return ox_open_affine(k->c, &f, &p) && ox_give_product(k, OX_INT32, &p);
    }
    return ox_give(k, 0, OX_INT32, ox_integer_product(k, 0, 1, 2));
}

/* x (real value: scale_a scale_b x) to the scale and zero point of the result. */
static samba_tensor *ox_requantized(ox_node *k, samba_tensor *x, samba_tensor *scale,
                                    int32_t scale_at)
{
    samba_tensor *y_scale = ox_in(k, scale_at), *zero = ox_in(k, scale_at + 1);
    y_scale = ox_along_axis(y_scale, x, 0);
    samba_tensor *y = samba_div(samba_mul(ox_to_f32(x), scale), y_scale);
    return zero ? ox_saturated(y, ox_along_axis(zero, x, 0), ox_type(k, scale_at + 1)) : NULL;
}

/* Do scales x, w and y and the zero of y allow one op to make the codes of a product? */
static bool ox_has_scales(ox_node *k, int32_t w_at, int32_t y_at, int64_t channels)
{
    if (!ox_has(k, 1) || !ox_has(k, w_at) || !ox_has(k, y_at) || !ox_has(k, y_at + 1)) return false;
    const ox_value *sx = k->in[1], *sw = k->in[w_at];
    return sx->known && sw->known && ox_is_one(sx) && (ox_is_one(sw) || ox_size(sw) == channels)
        && ox_one_code(k->in[y_at], k->in[y_at + 1]);
}

/* The codes of a product of codes: by the scales of x, w and y, and a bias in steps unless NULL. */
static bool ox_give_q_linear(ox_node *k, ox_product *p, int32_t w_at, int32_t y_at, ox_value *bias)
{
    ox_import *c = k->c;
    bool tracing = ox_begin_known(c, true);
    samba_tensor *sx = ox_of_channels(c, k->in[1], p, 1 + p->axis);
    samba_tensor *sw = ox_to_f32(ox_tensor(c, k->in[w_at])), *steps = NULL;
    int32_t n = sw ? (int32_t)samba_count(&sw->shape) : 1;
    if (sw) sw = samba_reshape(sw, n == 1 ? samba_scalar_shape() : SAMBA_SHAPE(n));
    p->in[OX_CODES_SCALE] = sx && sw ? samba_mul(sx, sw) : NULL;
    if (samba_ok(c->s)) samba_set_tracing(c->s, tracing);
    if (!p->in[OX_CODES_SCALE]) return false;

    p->known = !bias || bias->known;
    tracing = ox_begin_known(c, p->known);
    if (bias) steps = ox_to_f32(ox_tensor(c, bias));
    if (samba_ok(c->s)) samba_set_tracing(c->s, tracing);
    if (steps) p->in[OX_CODES_OFFSET] = ox_scales(c, steps, p->in[OX_CODES_SCALE], false, p->known);
    return samba_ok(c->s) && ox_give_codes(k, p, k->in[y_at], k->in[y_at + 1]);
}

static bool ox_op_q_linear_mat_mul(ox_node *k)
{
    ox_product p;
    if (ox_has(k, 0) && ox_has(k, 3)) {
        ox_factors f = ox_factors_of(k, 0, 3, 2);
        if (ox_is_affine(k->c, &f) && ox_has_scales(k, 4, 6, ox_dim(f.w, 1)))
            return ox_open_affine(k->c, &f, &p) && ox_give_q_linear(k, &p, 4, 6, NULL);
    }
    samba_tensor *x = ox_integer_product(k, 0, 3, 2), *sa = ox_in(k, 1), *sb = ox_in(k, 4);
    if (!x || !sa || !sb) return false;
    if (samba_count(&sa->shape) > 1)
        return ox_refuse(k, "with a scale for each row is not offered");
    sa = ox_along_axis(sa, x, 0);
    samba_tensor *scale = samba_mul(sa, ox_along_axis(sb, x, x->shape.ndim - 1));
    return ox_give(k, 0, ox_type(k, 7), ox_requantized(k, x, scale, 6));
}

static bool ox_conv_is_exact(ox_node *k, const samba_tensor *w)
{
    if (w->shape.ndim < 1) return ox_refuse(k, "w is a scalar");
    return samba_count(&w->shape) / w->shape.dim[0] <= OX_EXACT_TERMS
        || ox_refuse(k, "with more than %d products in a sum is not offered", OX_EXACT_TERMS);
}

static bool ox_op_conv_integer(ox_node *k)
{
    ox_product p;
    if (ox_has(k, 0) && ox_has(k, 1)) {
        ox_factors f = ox_factors_of(k, 0, 1, 2);
        if (ox_is_convolution(&f))
            return ox_open_convolution(k, &f, &p) && ox_give_product(k, OX_INT32, &p);
    }
    samba_tensor *x = ox_centered(k, 0, 2, 0), *w = ox_centered(k, 1, 3, 0);
    if (!x || !w || !ox_conv_is_exact(k, w)) return false;
    return ox_give(k, 0, OX_INT32, ox_to_i32(ox_convolve(k, x, w, NULL)));
}

static bool ox_op_q_linear_conv(ox_node *k)
{
    ox_product p;
    if (ox_has(k, 0) && ox_has(k, 3)) {
        ox_factors f = ox_factors_of(k, 0, 3, 2);
        ox_value *bias = ox_has(k, 8) ? k->in[8] : NULL;
        bool fits = ox_is_convolution(&f) && ox_has_scales(k, 4, 6, ox_dim(f.w, 0));
        if (fits && (!bias || ox_size(bias) == ox_dim(f.w, 0)))
            return ox_open_convolution(k, &f, &p) && ox_give_q_linear(k, &p, 4, 6, bias);
    }
    samba_tensor *x = ox_centered(k, 0, 2, 0), *w = ox_centered(k, 3, 5, 0);
    if (!x || !w || !ox_conv_is_exact(k, w)) return false;
    samba_tensor *y = ox_to_i32(ox_convolve(k, x, w, NULL)), *sx = ox_in(k, 1), *sw = ox_in(k, 4);
    if (y && ox_has(k, 8)) y = ox_plus(y, ox_per_channel(ox_in(k, 8), y));
    if (!y || !sx || !sw) return false;
    sx = ox_along_axis(sx, y, 0);
    samba_tensor *scale = samba_mul(sx, ox_along_axis(sw, y, 1));
    return ox_give(k, 0, ox_type(k, 7), ox_requantized(k, y, scale, 6));
}
