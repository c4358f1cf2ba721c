/* codes.h - of onnx_import.h: products of numbers of 8 bits, their codes. What follows a product in
   the graph is computed along with it, by the op that makes the product: a cast, a scale, an
   offset, and the codes of the result. So neither weights nor results lie in memory as f32:

       DequantizeLinear of x and w, Conv, MatMul or Gemm, QuantizeLinear     one op, bytes to bytes
       DynamicQuantizeLinear, MatMulInteger or ConvInteger, Cast, Mul, Add   two ops, f32 to f32

   Each step is recorded with all before it, from the inputs of the first one; what nobody reads
   then is not part of the program. */

/* The numbers of inputs of affine_integer and convolution_integer. */
enum {
    OX_CODES_X,
    OX_CODES_W,
    OX_CODES_ZERO_X,
    OX_CODES_ZERO_W,
    OX_CODES_SCALE,
    OX_CODES_OFFSET,
    OX_CODES_ZERO_Y,
    OX_CODES_INPUTS
};

enum { OX_CODES_ATTRS = 7 }; /* of a convolution: the most */

/* A product, and what it is known to be part of. */
typedef struct ox_product {
    const char *op;
    samba_tensor *in[OX_CODES_INPUTS];
    int32_t attr[OX_CODES_ATTRS], n_attr;
    int32_t channels, axis; /* of y: which axis counts them */
    bool known;             /* scale and offset are constants */
    /* Paddings that differ are made equal by whole strides: then y has more than is wanted. */
    int32_t sides, first[2], out[2];
} ox_product;

/* y of a product; NULL after a refusal. */
static samba_tensor *ox_compute_product(ox_import *c, const ox_product *p)
{
    if (!samba_ok(c->s)) return NULL;
    samba_tensor *y = samba_apply(c->s, p->op, p->in, OX_CODES_INPUTS, p->attr, p->n_attr);
    for (int32_t i = 0; y && i < p->sides; i++) {
        int32_t axis = y->shape.ndim - p->sides + i, first = p->first[i];
        if (y->shape.dim[axis] != p->out[i]) y = samba_slice(y, axis, first, first + p->out[i], 1);
    }
    return y;
}

/* Gives y of a product, and remembers how it was made. */
static bool ox_give_product(ox_node *k, int32_t type, const ox_product *p)
{
    ox_product *kept = (ox_product *)ox_new(k->c, 1, sizeof *kept);
    samba_tensor *y = kept ? ox_compute_product(k->c, p) : NULL;
    if (!ox_give(k, 0, type, y)) return false;
    *kept = *p;
    k->out[0]->product = kept;
    return true;
}

/* ---- Weights ---- */

/* Codes w (k,n), or (n,k) if turned, in the order in which affine_integer reads them. Unsigned ones
   less 128. NULL after a refusal. */
static samba_tensor *ox_pack_codes(ox_import *c, ox_value *w, bool turned)
{
    enum { PANEL = 64 };

    int64_t n = ox_dim(w, turned ? 0 : 1), steps = ox_dim(w, turned ? 1 : 0);
    int64_t panels = (n - 1) / PANEL + 1, fours = (steps - 1) / 4 + 1;
    int less = w->type == OX_UINT8 ? 128 : 0;
    samba_shape shape = SAMBA_SHAPE((int32_t)panels, (int32_t)fours, PANEL, 4);
    uint8_t *codes = ox_known_bytes(c, w);
    uint8_t *packed = codes ? (uint8_t *)calloc((size_t)(panels * fours), PANEL * 4) : NULL;
    if (codes && !packed) samba_fail(c->s, SAMBA_ENOMEM, "out of memory while importing");

    for (int64_t k = 0; packed && k < steps; k++) {
        for (int64_t j = 0; j < n; j++) {
            int64_t at = (j / PANEL * fours + k / 4) * PANEL + j % PANEL;
            packed[at * 4 + k % 4] = (uint8_t)(codes[turned ? j * steps + k : k * n + j] - less);
        }
    }
    samba_tensor *t = packed ? ox_constant(c, SAMBA_I8, shape, packed) : NULL;
    free(packed);
    free(codes);
    return t;
}

/* Codes as unsigned ones: signed ones plus 128. */
static samba_tensor *ox_unsigned_codes(ox_import *c, ox_value *w)
{
    int64_t dim[SAMBA_MAX_DIMS];
    uint8_t *codes = ox_known_bytes(c, w),
            *moved = codes ? (uint8_t *)malloc((size_t)ox_size(w) + 1) : NULL;
    samba_tensor *t = NULL;
    if (codes && !moved) samba_fail(c->s, SAMBA_ENOMEM, "out of memory while importing");
    for (int64_t n = 0; moved && n < ox_size(w); n++)
        moved[n] = (uint8_t)(codes[n] + (w->type == OX_INT8 ? 128 : 0));
    ox_dims(w, dim);
    if (moved) t = ox_constant(c, SAMBA_U8, ox_shape(ox_ndim(w), dim), moved);
    free(moved);
    free(codes);
    return t;
}

/* The zeros (none: 0) of weights of this type, for weights that have become signed or unsigned. */
static samba_tensor *ox_moved_zeros(ox_import *c, const onnx_array *zero, int32_t type,
                                    bool with_sign)
{
    int64_t n = zero ? zero->count : 1, one = 1;
    int64_t more = with_sign ? (type == OX_UINT8 ? -128 : 0) : (type == OX_INT8 ? 128 : 0);
    uint8_t *codes = (uint8_t *)ox_new(c, n, 1);
    bool any = false;
    if (!codes) return NULL;
    for (int64_t i = 0; i < n; i++) {
        codes[i] = (uint8_t)((zero ? zero->i[i] : 0) + more);
        any = any || codes[i];
    }
    if (!any) return NULL;
    return ox_constant(c, with_sign ? SAMBA_I8 : SAMBA_U8, ox_shape(1, zero ? &n : &one), codes);
}

/* A value that is one number, of any shape, as a scalar; NULL: there is none. */
static samba_tensor *ox_one_byte(ox_import *c, ox_value *v)
{
    samba_tensor *t = v ? ox_bytes(c, v) : NULL;
    return t ? samba_reshape(t, samba_scalar_shape()) : NULL;
}

/* ---- The product of two values ---- */

/* What is multiplied: codes, and their zeros. */
typedef struct ox_factors {
    ox_value *x, *zero_x, *w, *zero_w;
    bool turned; /* w is (n,k) */
} ox_factors;

static bool ox_is_one(const ox_value *v)
{
    return !v || ox_size(v) == 1;
}

/* Are the zeros, if there are any, of 8 bits? */
static bool ox_zeros_are_bytes(const ox_factors *f)
{
    return (!f->zero_x || ox_is_byte(f->zero_x->type))
        && (!f->zero_w || ox_is_byte(f->zero_w->type));
}

/* Can x w be an affine_integer? Weights must be known, and x have one zero. */
static bool ox_is_affine(ox_import *c, const ox_factors *f)
{
    if (!ox_is_byte(f->x->type) || !ox_is_byte(f->w->type) || !f->w->known) return false;
    if (!ox_zeros_are_bytes(f)) return false;
    int32_t ndim = ox_ndim(f->x);
    if (ox_ndim(f->w) != 2 || ndim < 1 || ox_size(f->w) == 0 || ox_size(f->x) == 0) return false;
    if (f->zero_w && !f->zero_w->known) return false;
    int64_t n = ox_dim(f->w, f->turned ? 0 : 1);
    return ox_dim(f->x, ndim - 1) == ox_dim(f->w, f->turned ? 1 : 0) && ox_is_one(f->zero_x)
        && (ox_is_one(f->zero_w) || ox_size(f->zero_w) == n)
        && (!f->zero_w || ox_known_array(c, f->zero_w));
}

/* Fills in p for an affine_integer; false after a refusal. */
static bool ox_open_affine(ox_import *c, const ox_factors *f, ox_product *p)
{
    const onnx_array *zero = f->zero_w ? ox_known_array(c, f->zero_w) : NULL;
    memset(p, 0, sizeof *p);
    p->op = "affine_integer";
    p->channels = p->attr[0] = (int32_t)ox_dim(f->w, f->turned ? 0 : 1);
    p->n_attr = 1;
    p->axis = ox_ndim(f->x) - 1;
    p->in[OX_CODES_X] = ox_bytes(c, f->x);
    p->in[OX_CODES_W] = ox_pack_codes(c, f->w, f->turned);
    p->in[OX_CODES_ZERO_X] = ox_one_byte(c, f->zero_x);
    p->in[OX_CODES_ZERO_W] = ox_moved_zeros(c, zero, f->w->type, true);
    return samba_ok(c->s);
}

/* Can it be a convolution_integer, of this x and w? */
static bool ox_is_convolution(const ox_factors *f)
{
    if (!ox_is_byte(f->x->type) || !ox_is_byte(f->w->type)) return false;
    if (!ox_zeros_are_bytes(f)) return false;
    int32_t ndim = ox_ndim(f->x);
    if (ndim < 3 || ndim > 4 || ox_ndim(f->w) != ndim || ox_size(f->w) == 0) return false;
    return ox_size(f->x) > 0 && ox_is_one(f->zero_x)
        && (ox_is_one(f->zero_w) || ox_size(f->zero_w) == ox_dim(f->w, 0));
}

/* Attributes of a convolution; uneven paddings grow by whole strides until both sides are the same,
   and what y has more at its beginnings is dropped. */
static void ox_place_product(const ox_slide *s, int64_t groups, ox_product *p)
{
    int32_t *attr = p->attr; /* stride, padding, dilation: two of each; groups */
    for (int32_t i = 0; i < 2; i++) {
        int32_t side = i + s->n - 2;
        int64_t more = 0;
        attr[i] = side < 0 ? 1 : (int32_t)s->stride[side];
        attr[4 + i] = side < 0 ? 1 : (int32_t)s->dilation[side];
        if (side < 0) continue;
        while (s->before[side] != s->after[side] && s->before[side] + more < s->after[side])
            more += s->stride[side];
        int64_t both = s->before[side] + more;
        attr[2 + i] = (int32_t)both;
        p->first[side] = (int32_t)(more / s->stride[side]);
        p->out[side] = (int32_t)s->out[side];
    }
    attr[6] = (int32_t)groups;
    p->n_attr = OX_CODES_ATTRS;
    p->sides = s->n;
}

/* Fills in p for a convolution_integer; false after a refusal. */
static bool ox_open_convolution(ox_node *k, const ox_factors *f, ox_product *p)
{
    ox_import *c = k->c;
    ox_slide s = { 0 };
    int64_t groups = ox_int(k, "group", 1), dim[SAMBA_MAX_DIMS];
    if (groups < 1 || groups > INT32_MAX) return ox_refuse(k, "group is out of range");
    ox_dims(f->x, dim);
    samba_shape x = ox_shape(ox_ndim(f->x), dim);
    for (int32_t i = 0; i < x.ndim - 2; i++)
        s.kernel[i] = ox_dim(f->w, 2 + i);
    if (!ox_read_slide(k, &x, &s) || !ox_place_slide(k, &s)) return false;

    memset(p, 0, sizeof *p);
    p->op = "convolution_integer";
    p->channels = (int32_t)ox_dim(f->w, 0);
    p->axis = 1;
    ox_place_product(&s, groups, p);
    p->in[OX_CODES_X] = ox_bytes(c, f->x);
    p->in[OX_CODES_ZERO_X] = ox_one_byte(c, f->zero_x);

    const onnx_array *zero = f->zero_w ? ox_known_array(c, f->zero_w) : NULL;
    if (f->w->known && (zero || !f->zero_w)) {
        p->in[OX_CODES_W] = ox_unsigned_codes(c, f->w);
        p->in[OX_CODES_ZERO_W] = ox_moved_zeros(c, zero, f->w->type, false);
    } else {
        p->in[OX_CODES_W] = ox_bytes(c, f->w);
        p->in[OX_CODES_ZERO_W] = f->zero_w ? ox_bytes(c, f->zero_w) : NULL;
    }
    return samba_ok(c->s);
}

/* ---- Scales ---- */

/* v as one number, or one for each channel of p: NULL if it is neither. */
static samba_tensor *ox_of_channels(ox_import *c, ox_value *v, const ox_product *p, int32_t ndim)
{
    int64_t n = ox_size(v);
    if (n != 1 && n != p->channels) return NULL;
    for (int32_t d = 0; n > 1 && d < ox_ndim(v); d++)
        if (ox_dim(v, d) > 1 && d + ndim - ox_ndim(v) != p->axis) return NULL;
    samba_tensor *t = ox_to_f32(ox_tensor(c, v));
    samba_shape shape = samba_scalar_shape();
    if (n > 1) {
        shape.ndim = 1;
        shape.dim[0] = (int32_t)n;
    }
    bool tracing = ox_begin_known(c, v->known && !v->leaf);
    t = t ? samba_reshape(t, shape) : NULL;
    if (samba_ok(c->s)) samba_set_tracing(c->s, tracing);
    return t;
}

/* a b or a / b of scales and offsets, each one number or one for each channel; computed now if they
   are known. */
static samba_tensor *ox_scales(ox_import *c, samba_tensor *a, samba_tensor *b, bool divide,
                               bool known)
{
    bool tracing = ox_begin_known(c, known);
    samba_tensor *y = divide ? samba_div(a, b) : samba_mul(a, b);
    if (samba_ok(c->s)) samba_set_tracing(c->s, tracing);
    return y;
}

/* The scale and zero of a result, as ops have them: one known number each, of 8 bits. */
static bool ox_one_code(ox_value *scale, ox_value *zero)
{
    return scale && scale->known && ox_is_one(scale) && ox_is_float(scale->type)
        && (!zero || (zero->known && ox_is_one(zero) && ox_is_byte(zero->type)));
}

/* The codes of a product, by scale and zero (none: 0, unsigned). */
static bool ox_give_codes(ox_node *k, const ox_product *p, ox_value *scale, ox_value *zero)
{
    ox_product q = *p;
    uint8_t none = 0;
    samba_tensor *by = ox_tensor(k->c, scale);
    bool tracing = ox_begin_known(k->c, scale->known && !scale->leaf);
    by = by ? samba_reshape(by, samba_scalar_shape()) : NULL;
    if (samba_ok(k->c->s)) samba_set_tracing(k->c->s, tracing);
    q.in[OX_CODES_SCALE] = ox_scales(k->c, q.in[OX_CODES_SCALE], by, true, q.known);
    if (q.in[OX_CODES_OFFSET])
        q.in[OX_CODES_OFFSET] = ox_scales(k->c, q.in[OX_CODES_OFFSET], by, true, q.known);
    q.in[OX_CODES_ZERO_Y]
        = zero ? ox_one_byte(k->c, zero) : ox_constant(k->c, SAMBA_U8, SAMBA_SCALAR, &none);
    return ox_give_bytes(k, 0, zero ? zero->type : OX_UINT8, ox_compute_product(k->c, &q));
}

/* ---- DequantizeLinear, and what reads its result ---- */

/* Are x (one scale) and w (one, or one for each entry of an axis) given by codes? */
static bool ox_are_codes(const ox_value *x, const ox_value *w, int32_t axis)
{
    if (!x || !w || !x->codes || !w->codes || !ox_is_float(x->type)) return false;
    bool each = ox_size(w->scale) > 1 || (w->zero && ox_size(w->zero) > 1);
    return ox_is_one(x->scale) && (!each || w->axis == axis);
}

/* The product of codes in f32, with an offset unless v is NULL; false after a refusal. fits: is the
   offset one for each channel? */
static bool ox_give_scaled(ox_node *k, ox_product *p, const ox_value *x, const ox_value *w,
                           ox_value *offset)
{
    ox_import *c = k->c;
    bool known = x->scale->known && w->scale->known;
    samba_tensor *sx = ox_tensor(c, x->scale), *sw = ox_tensor(c, w->scale);
    if (!sx || !sw) return false;
    bool tracing = ox_begin_known(c, known);
    int32_t n = (int32_t)samba_count(&sw->shape);
    sx = samba_reshape(sx, samba_scalar_shape());
    sw = samba_reshape(sw, n == 1 ? samba_scalar_shape() : SAMBA_SHAPE(n));
    if (samba_ok(c->s)) samba_set_tracing(c->s, tracing);
    p->in[OX_CODES_SCALE] = ox_scales(c, sx, sw, false, known);
    p->known = known && (!offset || (offset->known && !offset->leaf));
    if (offset) p->in[OX_CODES_OFFSET] = ox_of_channels(c, offset, p, 1 + p->axis);
    return samba_ok(c->s) && ox_give_product(k, x->type, p);
}

static bool ox_is_bias(const ox_value *v, const ox_value *w, int32_t axis)
{
    return !v || (ox_is_float(v->type) && ox_ndim(v) == 1 && ox_size(v) == ox_dim(w, axis));
}

static bool ox_op_conv_of_any(ox_node *k)
{
    ox_value *x = ox_has(k, 0) ? k->in[0] : NULL, *w = ox_has(k, 1) ? k->in[1] : NULL;
    ox_value *bias = ox_has(k, 2) ? k->in[2] : NULL;
    ox_product p;
    if (!ox_are_codes(x, w, 0) || !ox_is_bias(bias, w, 0)) return ox_op_conv(k);
    ox_factors f = { x->codes, x->zero, w->codes, w->zero, false };
    if (!ox_is_convolution(&f)) return ox_op_conv(k);
    return ox_open_convolution(k, &f, &p) && ox_give_scaled(k, &p, x, w, bias);
}

static bool ox_op_mat_mul_of_any(ox_node *k)
{
    ox_value *x = ox_has(k, 0) ? k->in[0] : NULL, *w = ox_has(k, 1) ? k->in[1] : NULL;
    ox_product p;
    if (!ox_are_codes(x, w, 1)) return ox_op_mat_mul(k);
    ox_factors f = { x->codes, x->zero, w->codes, w->zero, false };
    if (!ox_is_affine(k->c, &f)) return ox_op_mat_mul(k);
    return ox_open_affine(k->c, &f, &p) && ox_give_scaled(k, &p, x, w, NULL);
}

static bool ox_op_gemm_of_any(ox_node *k)
{
    ox_value *x = ox_has(k, 0) ? k->in[0] : NULL, *w = ox_has(k, 1) ? k->in[1] : NULL;
    ox_value *bias = ox_has(k, 2) ? k->in[2] : NULL;
    bool turned = ox_int(k, "transB", 0) != 0;
    bool plain = !ox_int(k, "transA", 0) && ox_float(k, "alpha", 1.0f) == 1.0f
        && (!bias || ox_float(k, "beta", 1.0f) == 1.0f);
    int32_t axis = turned ? 0 : 1;
    ox_product p;
    if (!plain || !ox_are_codes(x, w, axis) || ox_ndim(x) != 2 || !ox_is_bias(bias, w, axis))
        return ox_op_gemm(k);
    ox_factors f = { x->codes, x->zero, w->codes, w->zero, turned };
    if (!ox_is_affine(k->c, &f)) return ox_op_gemm(k);
    return ox_open_affine(k->c, &f, &p) && ox_give_scaled(k, &p, x, w, bias);
}

/* ---- MatMulInteger and ConvInteger, and what follows them ---- */

static bool ox_op_cast_of_any(ox_node *k)
{
    const ox_product *p = ox_has(k, 0) ? k->in[0]->product : NULL;
    if (!ox_op_cast(k)) return false;
    if (p && !p->in[OX_CODES_SCALE] && k->out[0] && k->out[0]->type == OX_FLOAT)
        k->out[0]->product = p;
    return true;
}

/* The product that input i is, if the other input is its scale, or its offset. */
static bool ox_joins_product(ox_node *k, int32_t i, ox_product *p)
{
    ox_value *x = k->in[i], *other = k->in[1 - i];
    if (!x->product || other->product || !ox_is_float(x->type) || x->type != other->type)
        return false;
    *p = *x->product;
    int32_t at = k->arg == OX_MUL ? OX_CODES_SCALE : OX_CODES_OFFSET, ndim = ox_ndim(x);
    bool scaled = p->in[OX_CODES_SCALE] != NULL;
    if (scaled != (at == OX_CODES_OFFSET) || p->in[OX_CODES_OFFSET]) return false;
    if (ox_ndim(other) > ndim) return false;
    if (ox_size(other) != 1 && ox_size(other) != p->channels) return false;
    p->in[at] = ox_of_channels(k->c, other, p, ndim);
    p->known = (at == OX_CODES_SCALE || p->known) && other->known && !other->leaf;
    return p->in[at] != NULL;
}

static bool ox_op_pair_of_any(ox_node *k)
{
    ox_product p;
    ox_value *x = NULL;
    bool plain = ox_has(k, 0) && ox_has(k, 1) && !ox_attribute(k, "axis");
    for (int32_t i = 0; plain && k->arg != OX_DIV && i < 2; i++)
        if (ox_joins_product(k, i, &p)) return ox_give_product(k, k->in[i]->type, &p);
    int32_t part = plain ? ox_gelu_part_of(k, &x) : OX_GELU_NONE;
    if (!samba_ok(k->c->s)) return false;
    return (part == OX_GELU_ALL || ox_op_pair(k)) && ox_give_gelu_part(k, part, x);
}
