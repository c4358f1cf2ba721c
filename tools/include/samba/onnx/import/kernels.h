/* kernels.h - of onnx_import.h: ops that samba.h does not have, registered at run time. They are
   few and general: integers, selections by index, folds of rows. Kernels see f32, i32 and bool. */

enum { OX_UNIT = 1024 }; /* elements of a unit of flat work */

/* The elements of the units of a call. */
typedef struct ox_range {
    int64_t begin, end;
} ox_range;

static ox_range ox_elements(const samba_args *a)
{
    int64_t n = samba_count(&a->out_spec[0].shape);
    ox_range r = { a->begin * OX_UNIT, a->end * OX_UNIT };
    if (r.end > n) r.end = n;
    return r;
}

static void ox_flat_work(samba_work *w, const samba_call *c)
{
    w->units[0] = (samba_count(&c->out[0].shape) + OX_UNIT - 1) / OX_UNIT;
}

static void ox_single_work(samba_work *w, const samba_call *c)
{
    (void)c;
    w->units[0] = 1;
}

/* One unit per row of the input: all but the last dimension. */
static void ox_row_work(samba_work *w, const samba_call *c)
{
    const samba_shape *x = &c->in[0].shape;
    w->units[0] = x->ndim ? samba_count(x) / x->dim[x->ndim - 1] : 1;
}

static const int32_t *ox_i32(const samba_args *a, int i)
{
    return (const int32_t *)(const void *)a->in[i];
}

static int32_t *ox_out_i32(const samba_args *a)
{
    return (int32_t *)(void *)a->out[0];
}

static bool ox_expect(samba_call *c, int32_t n_in, int32_t n_attr)
{
    if (c->n_in != n_in || c->n_attr != n_attr)
        return samba_refuse(c, SAMBA_EARG, "%d inputs and %d attributes are needed", n_in, n_attr);
    for (int32_t i = 0; i < n_in; i++)
        if (c->in[i].shape.ndim < 0) return samba_refuse(c, SAMBA_EARG, "input %d is missing", i);
    c->n_out = 1;
    c->out[0] = c->in[0];
    return true;
}

static bool ox_expect_type(samba_call *c, int32_t i, samba_dtype type)
{
    if (c->in[i].dtype != type)
        return samba_refuse(c, SAMBA_EDTYPE, "input %d must be %T, not %T", i, (int)type,
                            (int)c->in[i].dtype);
    return true;
}

/* ---- onnx_copy: the same values in another place, such as an output that is an input ---- */

static bool ox_copy_shape(samba_call *c)
{
    return ox_expect(c, 1, 0);
}

static void ox_copy_kernel(const samba_args *a)
{
    ox_range r = ox_elements(a);
    size_t each = samba_dtype_size(a->out_spec[0].dtype);
    memcpy((char *)(void *)a->out[0] + (size_t)r.begin * each,
           (const char *)(const void *)a->in[0] + (size_t)r.begin * each,
           (size_t)(r.end - r.begin) * each);
}

static void ox_copy_vjp(samba_vjp *g)
{
    g->din[0] = g->dout[0];
}

/* ---- onnx_unary: functions of one f32 ---- */

#define OX_UNARY(X) \
    X(SIN, sinf(x)) \
    X(COS, cosf(x)) \
    X(TAN, tanf(x)) \
    X(ASIN, asinf(x)) \
    X(ACOS, acosf(x)) \
    X(ATAN, atanf(x)) \
    X(SINH, sinhf(x)) \
    X(COSH, coshf(x)) \
    X(ASINH, asinhf(x)) \
    X(ACOSH, acoshf(x)) \
    X(ATANH, atanhf(x)) \
    X(ERF, erff(x)) \
    X(FLOOR, floorf(x)) \
    X(CEIL, ceilf(x)) \
    X(ROUND, rintf(x)) \
    X(SIGN, x > 0 ? 1.0f : x < 0 ? -1.0f : x) \
    X(IS_NAN, x != x ? 1.0f : 0.0f) \
    X(IS_PLUS_INF, x == HUGE_VALF ? 1.0f : 0.0f) \
    X(IS_MINUS_INF, x == -HUGE_VALF ? 1.0f : 0.0f)

enum {

#define X(name, value) OX_##name,
    OX_UNARY(X)
#undef X
        OX_N_UNARY
};

static bool ox_unary_shape(samba_call *c)
{
    if (!ox_expect(c, 1, 1)) return false;
    return ox_expect_type(c, 0, SAMBA_F32);
}

static void ox_unary_kernel(const samba_args *a)
{
    ox_range r = ox_elements(a);
    const float *in = a->in[0];
    float *out = a->out[0];
    switch (a->attr[0]) {
#define X(name, value) \
    case OX_##name: \
        for (int64_t i = r.begin; i < r.end; i++) { \
            float x = in[i]; \
            out[i] = value; \
        } \
        break;
        OX_UNARY(X)
#undef X
    default:
        break;
    }
}

static samba_tensor *ox_unary(samba_tensor *x, int32_t kind)
{
    return x ? samba_apply(x->session, "onnx_unary", &x, 1, &kind, 1) : NULL;
}

static samba_tensor *ox_reciprocal(samba_tensor *x)
{
    return x ? samba_div(samba_number(x->session, 1.0f), x) : NULL;
}

/* a x^2 + b */
static samba_tensor *ox_square_plus(samba_tensor *x, float a, float b)
{
    x = samba_scale(samba_mul(x, x), a);
    return samba_shift(x, b);
}

/* The derivative at x, of which y is the value; NULL: it is 0 wherever there is one. */
static samba_tensor *ox_unary_slope(samba_tensor *x, samba_tensor *y, int32_t kind)
{
    const float root = 1.1283791670955126f; /* 2 / sqrt(pi) */
    switch (kind) {
    case OX_SIN:
        return ox_unary(x, OX_COS);
    case OX_COS:
        return samba_neg(ox_unary(x, OX_SIN));
    case OX_TAN:
        return ox_square_plus(y, 1.0f, 1.0f);
    case OX_ASIN:
        return samba_rsqrt(ox_square_plus(x, -1.0f, 1.0f));
    case OX_ACOS:
        return samba_neg(samba_rsqrt(ox_square_plus(x, -1.0f, 1.0f)));
    case OX_ATAN:
        return ox_reciprocal(ox_square_plus(x, 1.0f, 1.0f));
    case OX_SINH:
        return ox_unary(x, OX_COSH);
    case OX_COSH:
        return ox_unary(x, OX_SINH);
    case OX_ASINH:
        return samba_rsqrt(ox_square_plus(x, 1.0f, 1.0f));
    case OX_ACOSH:
        return samba_rsqrt(ox_square_plus(x, 1.0f, -1.0f));
    case OX_ATANH:
        return ox_reciprocal(ox_square_plus(x, -1.0f, 1.0f));
    case OX_ERF:
        return samba_scale(samba_exp(ox_square_plus(x, -1.0f, 0.0f)), root);
    default:
        return NULL;
    }
}

static void ox_unary_vjp(samba_vjp *g)
{
    samba_tensor *slope = ox_unary_slope(g->in[0], g->out[0], g->attr[0]);
    g->din[0]
        = slope ? samba_mul(g->dout[0], slope) : samba_full(g->session, g->in[0]->shape, 0.0f);
}

/* ---- onnx_fmod: the remainder of a / b with the sign of a, f32 ---- */

static bool ox_fmod_shape(samba_call *c)
{
    if (!ox_expect(c, 2, 0) || !ox_expect_type(c, 0, SAMBA_F32)) return false;
    if (!ox_expect_type(c, 1, SAMBA_F32)) return false;
    if (samba_count(&c->in[0].shape) != samba_count(&c->in[1].shape))
        return samba_refuse(c, SAMBA_ESHAPE, "the shapes must be equal");
    return true;
}

static void ox_fmod_kernel(const samba_args *a)
{
    ox_range r = ox_elements(a);
    for (int64_t i = r.begin; i < r.end; i++)
        a->out[0][i] = fmodf(a->in[0][i], a->in[1][i]);
}

/* ---- onnx_truncate: f32 to the i32 that stands for int64, or for unsigned numbers: a number that
   does not fit ends the run, as it does in arithmetic (samba_cast gives the nearest i32, for
   int32); so does NaN. Infinity is the largest i32: models cast log(0), and choose another value
   later ---- */

static bool ox_truncate_shape(samba_call *c)
{
    if (!ox_expect(c, 1, 0) || !ox_expect_type(c, 0, SAMBA_F32)) return false;
    c->out[0].dtype = SAMBA_I32;
    return true;
}

static void ox_truncate_kernel(const samba_args *a)
{
    ox_range r = ox_elements(a);
    for (int64_t i = r.begin; i < r.end; i++) {
        float x = a->in[0][i];
        bool fits = x >= -2147483648.0f && x < 2147483648.0f;
        int32_t limit = x > 0.0f ? INT32_MAX : INT32_MIN;
        bool infinite = x == HUGE_VALF || x == -HUGE_VALF;
        if (!fits && !infinite) samba_fault(a, 0, limit);
        ox_out_i32(a)[i] = fits ? (int32_t)x : limit;
    }
}

/* ---- onnx_tiny: floats rounded to those of 8 bits or 4 that an attribute names, to the nearest
   one, in a tie to the even one. What is too large becomes the largest (saturate), or infinity, or
   NaN where there is none; NaN in a type without it is -0, as ONNX's cases have it. Powers of 2
   (FLOAT8E8M0) are rounded up, down or to the nearest ---- */

enum { OX_TINY_TYPE, OX_TINY_SATURATE, OX_TINY_ROUND, OX_TINY_ATTRS };

enum { OX_ROUND_UP, OX_ROUND_DOWN, OX_ROUND_NEAREST };

static bool ox_tiny_shape(samba_call *c)
{
    if (!ox_expect(c, 1, OX_TINY_ATTRS) || !ox_expect_type(c, 0, SAMBA_F32)) return false;
    return ox_is_tiny(c->attr[OX_TINY_TYPE])
        || samba_refuse(c, SAMBA_EARG, "the type is no float of 8 bits or 4");
}

/* x, positive and finite, as the nearest number of t, without a limit. */
static float ox_tiny_nearest(const ox_tiny *t, float x)
{
    int exponent, least = 2 - t->bias; /* frexp's of the smallest number that is not subnormal */
    frexpf(x, &exponent);
    int shift = (exponent < least ? least : exponent) - 1 - t->mantissa;
    float steps = ldexpf(x, -shift), whole = floorf(steps), rest = steps - whole;
    bool up = rest > 0.5f || (rest == 0.5f && fmodf(whole, 2.0f) != 0);
    return ldexpf(up ? whole + 1 : whole, shift);
}

static float ox_to_tiny(int32_t type, float x, bool saturate)
{
    ox_tiny t = ox_tiny_of(type);
    float size = fabsf(x), most = ox_tiny_size(&t, t.most), y;
    if (x != x) return t.nan ? x : -0.0f;
    bool infinite = size == HUGE_VALF;
    y = infinite ? size : ox_tiny_nearest(&t, size);
    if (y > most) y = saturate || !t.nan ? most : t.infinities ? HUGE_VALF : NAN;
    if (y == 0 && t.unsigned_zero) return 0.0f;
    return x < 0 || (x == 0 && signbit(x)) ? -y : y;
}

/* The power of 2 that x becomes; of FLOAT8E8M0, which has no sign and no zero. */
static float ox_to_power(float x, int32_t round, bool saturate)
{
    int exponent;
    float size = fabsf(x), most = ldexpf(1.0f, 127), least = ldexpf(1.0f, -127);
    if (x != x) return x;
    if (size == HUGE_VALF) return saturate ? most : NAN;
    if (size < least) return least;
    float part = frexpf(size, &exponent); /* 0.5 <= part < 1 */
    bool up = round == OX_ROUND_UP ? part > 0.5f : round == OX_ROUND_NEAREST && part >= 0.75f;
    if (exponent - 1 + up > 127) return saturate ? most : NAN;
    return ldexpf(1.0f, exponent - 1 + up);
}

static void ox_tiny_kernel(const samba_args *a)
{
    ox_range r = ox_elements(a);
    int32_t type = a->attr[OX_TINY_TYPE];
    bool saturate = a->attr[OX_TINY_SATURATE] != 0;
    for (int64_t i = r.begin; i < r.end; i++) {
        float x = a->in[0][i];
        a->out[0][i] = type == OX_FLOAT8E8M0 ? ox_to_power(x, a->attr[OX_TINY_ROUND], saturate)
                                             : ox_to_tiny(type, x, saturate);
    }
}

/* ---- onnx_integer: i32, of which an attribute says which ONNX type it stands for: results wrap as
   that type does; 32 signed bits are the widest, beyond which the run ends ---- */

enum { OX_INTEGER_OP, OX_INTEGER_TYPE, OX_INTEGER_ATTRS }; /* its attributes */

enum {
    OX_ADD,
    OX_SUB,
    OX_MUL,
    OX_DIV,
    OX_MOD,
    OX_FMOD,
    OX_POW,
    OX_MIN,
    OX_MAX,
    OX_AND,
    OX_OR,
    OX_XOR,
    OX_SHL,
    OX_SHR,
    OX_EQ,
    OX_LT,
    OX_LE,
    OX_GT,
    OX_GE,
    OX_WRAP
};

/* What a value of 64 bits is as a number of this type. */
static int64_t ox_wrapped(int64_t v, int32_t type)
{
    switch (type) {
    case OX_UINT8:
        return (uint8_t)v;
    case OX_INT8:
        return (int8_t)v;
    case OX_UINT16:
        return (uint16_t)v;
    case OX_INT16:
        return (int16_t)v;
    case OX_INT32:
        return (int32_t)v;
    case OX_UINT32:
        return (uint32_t)v;
    case OX_UINT4:
        return v & 15;
    case OX_INT4:
        return ((v & 15) ^ 8) - 8;
    case OX_UINT2:
        return v & 3;
    case OX_INT2:
        return ((v & 3) ^ 2) - 2;
    case OX_BOOL:
        return v != 0;
    default:
        return v;
    }
}

static int64_t ox_power(int64_t base, int64_t exponent)
{
    int64_t y = 1;
    if (base == -1) return exponent % 2 ? -1 : 1;
    if (exponent < 0) return base == 1;
    for (; exponent > 0 && y < INT32_MAX && y > INT32_MIN; exponent--) {
        y *= base;
        if (base == 0 || base == 1) return base;
    }
    return y;
}

static int64_t ox_floor_mod(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t ox_integer_value(int32_t kind, int64_t a, int64_t b)
{
    switch (kind) {
    case OX_ADD:
        return a + b;
    case OX_SUB:
        return a - b;
    case OX_MUL:
        return a * b;
    case OX_DIV:
        return b ? a / b : 0;
    case OX_MOD:
        return b ? ox_floor_mod(a, b) : 0;
    case OX_FMOD:
        return b ? a % b : 0;
    case OX_POW:
        return ox_power(a, b);
    case OX_MIN:
        return a < b ? a : b;
    case OX_MAX:
        return a > b ? a : b;
    case OX_AND:
        return a & b;
    case OX_OR:
        return a | b;
    case OX_XOR:
        return a ^ b;
    case OX_SHL:
        return b < 0 || b > 31 ? 0 : a * ((int64_t)1 << b);
    case OX_SHR:
        return b < 0 || b > 31 ? (a < 0 ? -1 : 0) : a >> b;
    case OX_EQ:
        return a == b;
    case OX_LT:
        return a < b;
    case OX_LE:
        return a <= b;
    case OX_GT:
        return a > b;
    case OX_GE:
        return a >= b;
    default:
        return a;
    }
}

static bool ox_integer_shape(samba_call *c)
{
    if (!ox_expect(c, 2, 2)) return false;
    const samba_shape *x = &c->in[0].shape, *y = &c->in[1].shape;
    bool same = x->ndim == y->ndim;
    for (int32_t d = 0; same && d < x->ndim; d++)
        same = x->dim[d] == y->dim[d];
    if (!same) return samba_refuse(c, SAMBA_ESHAPE, "the shapes must be equal");
    return ox_expect_type(c, 0, SAMBA_I32) && ox_expect_type(c, 1, SAMBA_I32);
}

/* Comparisons of n numbers, one loop for each so that a compiler makes vectors of it; false: op is
   none. */
static bool ox_compare(int32_t op, const int32_t *x, const int32_t *y, int32_t *z, int64_t n)
{
    switch (op) {
    case OX_EQ:
        for (int64_t i = 0; i < n; i++)
            z[i] = x[i] == y[i];
        return true;
    case OX_LT:
        for (int64_t i = 0; i < n; i++)
            z[i] = x[i] < y[i];
        return true;
    case OX_LE:
        for (int64_t i = 0; i < n; i++)
            z[i] = x[i] <= y[i];
        return true;
    case OX_GT:
        return ox_compare(OX_LT, y, x, z, n);
    case OX_GE:
        return ox_compare(OX_LE, y, x, z, n);
    default:
        return false;
    }
}

/* The same for sums and products of n numbers that wrap at 32 bits. */
static bool ox_combine(int32_t op, const uint32_t *x, const uint32_t *y, uint32_t *z, int64_t n)
{
    switch (op) {
    case OX_ADD:
        for (int64_t i = 0; i < n; i++)
            z[i] = x[i] + y[i];
        return true;
    case OX_SUB:
        for (int64_t i = 0; i < n; i++)
            z[i] = x[i] - y[i];
        return true;
    case OX_MUL:
        for (int64_t i = 0; i < n; i++)
            z[i] = x[i] * y[i];
        return true;
    default:
        return false;
    }
}

static void ox_integer_kernel(const samba_args *a)
{
    ox_range r = ox_elements(a);
    const int32_t *x = ox_i32(a, 0), *y = ox_i32(a, 1);
    int32_t op = a->attr[OX_INTEGER_OP], type = a->attr[OX_INTEGER_TYPE], *z = ox_out_i32(a);
    int64_t n = r.end - r.begin;
    if (ox_compare(op, x + r.begin, y + r.begin, z + r.begin, n)) return;
    if (type == OX_INT32
        && ox_combine(op, (const uint32_t *)x + r.begin, (const uint32_t *)y + r.begin,
                      (uint32_t *)z + r.begin, n))
        return;

    bool divides = op >= OX_DIV && op <= OX_FMOD;
    for (int64_t i = r.begin; i < r.end; i++) {
        int64_t v = ox_wrapped(ox_integer_value(op, x[i], y[i]), type);
        if (v < INT32_MIN || v > INT32_MAX) {
            samba_fault(a, 0, x[i]);
            v = 0;
        }
        if (divides && y[i] == 0) samba_fault(a, 1, 0);
        z[i] = (int32_t)v;
    }
}

/* ---- onnx_select: cond ? a : b, of any one type ---- */

static bool ox_select_shape(samba_call *c)
{
    if (!ox_expect(c, 3, 0)) return false;
    c->out[0] = c->in[1];
    for (int32_t i = 0; i < 3; i++)
        if (samba_count(&c->in[i].shape) != samba_count(&c->in[1].shape))
            return samba_refuse(c, SAMBA_ESHAPE, "the shapes must be equal");
    return ox_expect_type(c, 0, SAMBA_BOOL) && ox_expect_type(c, 2, c->in[1].dtype);
}

static void ox_select_kernel(const samba_args *a)
{
    ox_range r = ox_elements(a);
    const uint8_t *cond = (const uint8_t *)(const void *)a->in[0];
    size_t each = samba_dtype_size(a->out_spec[0].dtype);
    for (int64_t i = r.begin; i < r.end; i++)
        memcpy((char *)(void *)a->out[0] + (size_t)i * each,
               (const char *)(const void *)a->in[cond[i] ? 1 : 2] + (size_t)i * each, each);
}

static void ox_select_vjp(samba_vjp *g)
{
    samba_tensor *dy = g->dout[0], *zero = samba_number(g->session, 0.0f);
    samba_tensor *chosen = samba_reshape(g->in[0], dy->shape);
    samba_tensor *da = samba_where(chosen, dy, zero), *db = samba_where(chosen, zero, dy);
    g->din[1] = da ? samba_reshape(da, g->in[1]->shape) : NULL;
    g->din[2] = db ? samba_reshape(db, g->in[2]->shape) : NULL;
}

/* ---- onnx_take: y[r][j] = x[r][index[j]], x (*,n), index i32 of any shape -> (*, that shape).
   Index -1 takes the value whose bits the attribute has. Other indices outside end the run. ---- */

static bool ox_take_shape(samba_call *c)
{
    if (!ox_expect(c, 2, 1) || !ox_expect_type(c, 1, SAMBA_I32)) return false;
    samba_shape *y = &c->out[0].shape;
    const samba_shape *index = &c->in[1].shape;
    if (y->ndim < 1) return samba_refuse(c, SAMBA_ESHAPE, "x is a scalar");
    y->ndim--;
    if (y->ndim + index->ndim > SAMBA_MAX_DIMS)
        return samba_refuse(c, SAMBA_ESHAPE, "the result has too many dimensions");
    for (int32_t d = 0; d < index->ndim; d++)
        y->dim[y->ndim++] = index->dim[d];
    return true;
}

static void ox_take_kernel(const samba_args *a)
{
    ox_range r = ox_elements(a);
    const samba_shape *x = &a->in_spec[0].shape;
    int64_t n = x->dim[x->ndim - 1], m = samba_count(&a->in_spec[1].shape);
    size_t each = samba_dtype_size(a->out_spec[0].dtype);
    for (int64_t i = r.begin; i < r.end; i++) {
        int32_t at = ox_i32(a, 1)[i % m];
        char *to = (char *)(void *)a->out[0] + (size_t)i * each;
        if (at >= 0 && at < n)
            memcpy(to, (const char *)(const void *)a->in[0] + (size_t)(i / m * n + at) * each,
                   each);
        else
            memcpy(to, &a->attr[0], each);
        if (at < -1 || at >= n) samba_fault(a, 1, at);
    }
}

/* ---- onnx_rows: y[i] = x[index[i]], x (n,*) of any type without gradient, index i32 of any shape.
   Indices outside end the run. ---- */

static bool ox_rows_shape(samba_call *c)
{
    if (!ox_expect(c, 2, 0) || !ox_expect_type(c, 1, SAMBA_I32)) return false;
    const samba_shape *x = &c->in[0].shape, *index = &c->in[1].shape;
    samba_shape *y = &c->out[0].shape;
    if (x->ndim < 1) return samba_refuse(c, SAMBA_ESHAPE, "x is a scalar");
    if (x->ndim - 1 + index->ndim > SAMBA_MAX_DIMS)
        return samba_refuse(c, SAMBA_ESHAPE, "the result has too many dimensions");
    *y = *index;
    for (int32_t d = 1; d < x->ndim; d++)
        y->dim[y->ndim++] = x->dim[d];
    return true;
}

static void ox_rows_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba_count(&c->in[1].shape);
}

static void ox_rows_kernel(const samba_args *a)
{
    const samba_shape *x = &a->in_spec[0].shape;
    size_t row = (size_t)(samba_count(x) / x->dim[0]) * samba_dtype_size(a->in_spec[0].dtype);
    char *to = (char *)(void *)a->out[0];
    for (int64_t i = a->begin; i < a->end; i++) {
        int32_t at = ox_i32(a, 1)[i];
        bool inside = at >= 0 && at < x->dim[0];
        if (!inside) samba_fault(a, 1, at);
        if (inside)
            memcpy(to + (size_t)i * row, (const char *)(const void *)a->in[0] + (size_t)at * row,
                   row);
        else
            memset(to + (size_t)i * row, 0, row);
    }
}

/* The adjoint of taking is adding to zeros. */
static void ox_take_vjp(samba_vjp *g)
{
    const samba_shape *x = &g->in[0]->shape;
    int32_t n = x->dim[x->ndim - 1], rows = (int32_t)(samba_count(x) / n);
    int32_t m = (int32_t)samba_count(&g->in[1]->shape);
    samba_tensor *in[2];
    in[0] = samba_reshape(g->dout[0], SAMBA_SHAPE(rows, m));
    in[1] = samba_reshape(g->in[1], SAMBA_SHAPE(m));
    samba_tensor *dx = in[0] && in[1] ? samba_apply(g->session, "onnx_put", in, 2, &n, 1) : NULL;
    g->din[0] = dx ? samba_reshape(dx, *x) : NULL;
}

/* ---- onnx_put: y (rows,n) zeros, then y[r][index[j]] += x[r][j] in order; -1 is left out. Its
   attribute is n ---- */

static bool ox_put_shape(samba_call *c)
{
    if (!ox_expect(c, 2, 1) || !ox_expect_type(c, 1, SAMBA_I32)) return false;
    samba_shape *y = &c->out[0].shape;
    bool fits = y->ndim == 2 && c->in[1].shape.ndim == 1 && c->in[1].shape.dim[0] == y->dim[1];
    if (!fits) return samba_refuse(c, SAMBA_ESHAPE, "x must be (rows,m), the index (m)");
    if (c->attr[0] < 1) return samba_refuse(c, SAMBA_EARG, "n must be at least 1");
    y->dim[1] = c->attr[0];
    return ox_expect_type(c, 0, SAMBA_F32);
}

static void ox_put_kernel(const samba_args *a)
{
    int64_t m = a->in_spec[0].shape.dim[1], n = a->attr[0];
    for (int64_t r = a->begin; r < a->end; r++) {
        const float *x = a->in[0] + r * m;
        float *y = a->out[0] + r * n;
        for (int64_t i = 0; i < n; i++)
            y[i] = 0;
        for (int64_t j = 0; j < m; j++) {
            int32_t at = ox_i32(a, 1)[j];
            if (at >= 0 && at < n)
                y[at] += x[j];
            else if (at != -1)
                samba_fault(a, 1, at);
        }
    }
}

static void ox_put_vjp(samba_vjp *g)
{
    samba_tensor *in[2] = { g->dout[0], g->in[1] };
    int32_t zero = samba_float_attr(0.0f);
    g->din[0] = samba_apply(g->session, "onnx_take", in, 2, &zero, 1);
}

/* ---- onnx_scatter: y = x, then y[index[j]] <- y (kind) update[j] in order; -1 is left out ---- */

enum { OX_SET = 100 };

static bool ox_scatter_shape(samba_call *c)
{
    if (!ox_expect(c, 3, 1)) return false;
    if (samba_count(&c->in[1].shape) != samba_count(&c->in[2].shape))
        return samba_refuse(c, SAMBA_ESHAPE, "as many updates as indices are needed");
    return ox_expect_type(c, 1, SAMBA_I32) && ox_expect_type(c, 2, c->in[0].dtype);
}

static void ox_scatter_one(const samba_args *a, int64_t to, int64_t from)
{
    int32_t kind = a->attr[0];
    size_t each = samba_dtype_size(a->out_spec[0].dtype);
    if (kind == OX_SET) {
        memcpy((char *)(void *)a->out[0] + (size_t)to * each,
               (const char *)(const void *)a->in[2] + (size_t)from * each, each);
    } else if (a->out_spec[0].dtype == SAMBA_I32) {
        ox_out_i32(a)[to] = (int32_t)ox_integer_value(kind, ox_out_i32(a)[to], ox_i32(a, 2)[from]);
    } else if (a->out_spec[0].dtype == SAMBA_F32) {
        float y = a->out[0][to], u = a->in[2][from];
        a->out[0][to] = kind == OX_ADD ? y + u
            : kind == OX_MUL           ? y * u
            : kind == OX_MIN           ? (u < y || u != u ? u : y)
                                       : (u > y || u != u ? u : y);
    }
}

static void ox_scatter_kernel(const samba_args *a)
{
    int64_t n = samba_count(&a->out_spec[0].shape), m = samba_count(&a->in_spec[1].shape);
    memcpy(a->out[0], a->in[0], (size_t)n * samba_dtype_size(a->out_spec[0].dtype));
    for (int64_t j = 0; j < m; j++) {
        int32_t at = ox_i32(a, 1)[j];
        if (at >= 0 && at < n)
            ox_scatter_one(a, at, j);
        else if (at != -1)
            samba_fault(a, 1, at);
    }
}

/* x keeps the gradient of what was not overwritten; an update has that of its place. */
static void ox_scatter_vjp(samba_vjp *g)
{
    int32_t kind = g->attr[0], fill = samba_float_attr(0.0f);
    samba_tensor *dy = g->dout[0], *taken[2] = { NULL, g->in[1] };
    if (kind != OX_SET && kind != OX_ADD) {
        samba_fail(g->session, SAMBA_EOP,
                   "ONNX: scattering with reduction mul, min or max has no "
                   "gradient; only none and add do");
        return;
    }
    taken[0] = samba_reshape(dy, SAMBA_SHAPE((int32_t)samba_count(&dy->shape)));
    samba_tensor *du = taken[0] ? samba_apply(g->session, "onnx_take", taken, 2, &fill, 1) : NULL;
    g->din[2] = du ? samba_reshape(du, g->in[2]->shape) : NULL;
    g->din[0] = dy;
    if (kind == OX_ADD) return;
    samba_tensor *in[3] = { dy, g->in[1], NULL };
    in[2] = samba_full(g->session, g->in[2]->shape, 0.0f);
    g->din[0] = samba_apply(g->session, "onnx_scatter", in, 3, &kind, 1);
}

/* ---- onnx_fold: x (*,n) -> (*); its attribute says how ---- */

enum {
    OX_FOLD_SUM,
    OX_FOLD_PROD,
    OX_FOLD_MIN,
    OX_FOLD_MAX,
    OX_FOLD_ARGMIN,
    OX_FOLD_ARGMAX,
    OX_FOLD_LAST = 16
}; /* of equal ones, the last is meant */

static int32_t ox_fold_kind(const int32_t *attr)
{
    return *attr & (OX_FOLD_LAST - 1);
}

static bool ox_fold_shape(samba_call *c)
{
    if (!ox_expect(c, 1, 1)) return false;
    if (c->in[0].shape.ndim < 1) return samba_refuse(c, SAMBA_ESHAPE, "x is a scalar");
    c->out[0].shape.ndim--;
    if (ox_fold_kind(c->attr) >= OX_FOLD_ARGMIN) c->out[0].dtype = SAMBA_I32;
    return c->in[0].dtype == SAMBA_I32 || ox_expect_type(c, 0, SAMBA_F32);
}

/* An element of input 0, f32 or i32, as a number. */
static double ox_element_of(const samba_args *a, int64_t at)
{
    return a->in_spec[0].dtype == SAMBA_I32 ? ox_i32(a, 0)[at] : (double)a->in[0][at];
}

/* As in NumPy, a NaN is the least and the most of its row, whatever else is there. */
static int32_t ox_fold_best(const samba_args *a, int64_t row, int64_t n)
{
    bool least = ox_fold_kind(a->attr) == OX_FOLD_ARGMIN, last = *a->attr & OX_FOLD_LAST;
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        double x = ox_element_of(a, row * n + i), y = ox_element_of(a, row * n + best);
        bool same = x == y || (x != x && y != y);
        bool better = least ? x < y : x > y;
        if (x != x && y == y) better = true;
        if (better || (last && same)) best = i;
    }
    return (int32_t)best;
}

static void ox_fold_floats(const samba_args *a, int64_t row, int64_t n)
{
    const float *x = a->in[0] + row * n;
    float y = x[0];
    for (int64_t i = 1; i < n; i++) {
        switch (a->attr[0]) {
        case OX_FOLD_SUM:
            y += x[i];
            break;
        case OX_FOLD_PROD:
            y *= x[i];
            break;
        case OX_FOLD_MIN:
            y = x[i] < y || x[i] != x[i] ? x[i] : y;
            break;
        default:
            y = x[i] > y || x[i] != x[i] ? x[i] : y;
            break;
        }
    }
    a->out[0][row] = y;
}

static void ox_fold_integers(const samba_args *a, int64_t row, int64_t n)
{
    static const int32_t kind[] = { OX_ADD, OX_MUL, OX_MIN, OX_MAX };
    const int32_t *x = ox_i32(a, 0) + row * n;
    int64_t y = x[0];
    for (int64_t i = 1; i < n; i++) {
        y = ox_integer_value(kind[ox_fold_kind(a->attr)], y, x[i]);
        if (y < INT32_MIN || y > INT32_MAX) {
            samba_fault(a, 0, x[i]);
            y = 0;
        }
    }
    ox_out_i32(a)[row] = (int32_t)y;
}

static void ox_fold_kernel(const samba_args *a)
{
    const samba_shape *x = &a->in_spec[0].shape;
    int64_t n = x->dim[x->ndim - 1];
    for (int64_t row = a->begin; row < a->end; row++) {
        if (ox_fold_kind(a->attr) >= OX_FOLD_ARGMIN)
            ox_out_i32(a)[row] = ox_fold_best(a, row, n);
        else if (a->in_spec[0].dtype == SAMBA_I32)
            ox_fold_integers(a, row, n);
        else
            ox_fold_floats(a, row, n);
    }
}

/* ---- onnx_mix: y[r][j] = the sum of w[j][i] x[r][i] over span[j][0] <= i < span[j][1]: x (*,n),
   w (m,n), span (m,2) i32 -> (*,m). A product with a matrix that is mostly 0, where an infinity
   must not meet the zeros. The gradient needs the matrix turned: w^T (n,m), its spans (n,2) ---- */

static bool ox_mix_shape(samba_call *c)
{
    if (!ox_expect(c, 5, 0)) return false;
    samba_shape *y = &c->out[0].shape;
    const samba_shape *w = &c->in[1].shape, *span = &c->in[2].shape;
    bool fits = y->ndim > 0 && w->ndim == 2 && span->ndim == 2 && span->dim[1] == 2
        && w->dim[1] == y->dim[y->ndim - 1] && span->dim[0] == w->dim[0];
    if (!fits) return samba_refuse(c, SAMBA_ESHAPE, "x must be (*,n), w (m,n), its spans (m,2)");
    y->dim[y->ndim - 1] = w->dim[0];
    for (int32_t i = 0; i < 5; i++)
        if (!ox_expect_type(c, i, i == 2 || i == 4 ? SAMBA_I32 : SAMBA_F32)) return false;
    return true;
}

static void ox_mix_kernel(const samba_args *a)
{
    int64_t m = a->in_spec[1].shape.dim[0], n = a->in_spec[1].shape.dim[1];
    for (int64_t r = a->begin; r < a->end; r++) {
        for (int64_t j = 0; j < m; j++) {
            int64_t first = ox_i32(a, 2)[2 * j], end = ox_i32(a, 2)[2 * j + 1];
            float sum = 0;
            if (first < 0 || end > n) samba_fault(a, 2, (int32_t)first);
            for (int64_t i = first < 0 ? 0 : first; i < end && i < n; i++)
                sum = fmaf(a->in[0][r * n + i], a->in[1][j * n + i], sum);
            a->out[0][r * m + j] = sum;
        }
    }
}

static void ox_mix_vjp(samba_vjp *g)
{
    samba_tensor *in[5] = { g->dout[0], g->in[3], g->in[4], g->in[1], g->in[2] };
    g->din[0] = samba_apply(g->session, "onnx_mix", in, 5, NULL, 0);
}

/* ---- onnx_cumulate: sums of a row up to each element ---- */

enum { OX_CUMULATE_EXCLUSIVE, OX_CUMULATE_REVERSE, OX_CUMULATE_ATTRS };

static bool ox_cumulate_shape(samba_call *c)
{
    if (!ox_expect(c, 1, 2)) return false;
    if (c->in[0].shape.ndim < 1) return samba_refuse(c, SAMBA_ESHAPE, "x is a scalar");
    return c->in[0].dtype == SAMBA_I32 || ox_expect_type(c, 0, SAMBA_F32);
}

static void ox_cumulate_kernel(const samba_args *a)
{
    const samba_shape *x = &a->in_spec[0].shape;
    int64_t n = x->dim[x->ndim - 1];
    bool exclusive = a->attr[OX_CUMULATE_EXCLUSIVE], reverse = a->attr[OX_CUMULATE_REVERSE];
    bool integers = a->in_spec[0].dtype == SAMBA_I32;
    for (int64_t row = a->begin; row < a->end; row++) {
        float sum = 0;
        int64_t total = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = row * n + (reverse ? n - 1 - i : i);
            float before = sum;
            int64_t total_before = total;
            if (integers)
                total += ox_i32(a, 0)[at];
            else
                sum += a->in[0][at];
            if (total < INT32_MIN || total > INT32_MAX) samba_fault(a, 0, ox_i32(a, 0)[at]);
            if (integers)
                ox_out_i32(a)[at] = (int32_t)(exclusive ? total_before : total);
            else
                a->out[0][at] = exclusive ? before : sum;
        }
    }
}

/* ---- onnx_multiply_up: products instead of sums, without a gradient ---- */

static void ox_multiply_up_kernel(const samba_args *a)
{
    const samba_shape *x = &a->in_spec[0].shape;
    int64_t n = x->dim[x->ndim - 1];
    bool exclusive = a->attr[OX_CUMULATE_EXCLUSIVE], reverse = a->attr[OX_CUMULATE_REVERSE];
    bool integers = a->in_spec[0].dtype == SAMBA_I32;
    for (int64_t row = a->begin; row < a->end; row++) {
        float product = 1;
        int64_t whole = 1;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = row * n + (reverse ? n - 1 - i : i), whole_before = whole;
            float before = product;
            if (integers)
                whole *= ox_i32(a, 0)[at];
            else
                product *= a->in[0][at];
            bool fits = whole >= INT32_MIN && whole <= INT32_MAX;
            if (!fits) samba_fault(a, 0, ox_i32(a, 0)[at]);
            if (!fits) whole = 0;
            if (integers)
                ox_out_i32(a)[at] = (int32_t)(exclusive ? whole_before : whole);
            else
                a->out[0][at] = exclusive ? before : product;
        }
    }
}

/* Sums from the other end. */
static void ox_cumulate_vjp(samba_vjp *g)
{
    int32_t attr[OX_CUMULATE_ATTRS];
    attr[OX_CUMULATE_EXCLUSIVE] = g->attr[OX_CUMULATE_EXCLUSIVE];
    attr[OX_CUMULATE_REVERSE] = !g->attr[OX_CUMULATE_REVERSE];
    g->din[0] = samba_apply(g->session, "onnx_cumulate", g->dout, 1, attr, OX_CUMULATE_ATTRS);
}

/* ---- onnx_top: the indices of the k largest (or smallest) of each row, in order of value; of
   equal ones the first comes first. A NaN is larger than all numbers ---- */

enum { OX_TOP_COUNT, OX_TOP_LARGEST, OX_TOP_ATTRS };

static bool ox_top_shape(samba_call *c)
{
    if (!ox_expect(c, 1, 2)) return false;
    samba_shape *y = &c->out[0].shape;
    c->out[0].dtype = SAMBA_I32;
    int32_t count = c->attr[OX_TOP_COUNT];
    if (y->ndim < 1 || count < 1 || count > y->dim[y->ndim - 1])
        return samba_refuse(c, SAMBA_ESHAPE, "k is %d, but a row has no more than its elements",
                            count);
    y->dim[y->ndim - 1] = count;
    return c->in[0].dtype == SAMBA_I32 || ox_expect_type(c, 0, SAMBA_F32);
}

/* Does element i of a row come before element j? */
static bool ox_top_before(const samba_args *a, int64_t row, int32_t i, int32_t j)
{
    bool largest = a->attr[OX_TOP_LARGEST] != 0;
    double x = ox_element_of(a, row + i), y = ox_element_of(a, row + j);
    if (x == y || (x != x && y != y)) return i < j;
    if (x != x || y != y) return largest == (x != x);
    return largest ? x > y : x < y;
}

/* list[0 .. n) is a heap, in which parents come after their children, but for its entry at. */
static void ox_top_sift(const samba_args *a, int64_t row, int32_t *list, int32_t n, int32_t at)
{
    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && ox_top_before(a, row, list[child], list[child + 1])) child++;
        if (ox_top_before(a, row, list[child], list[at])) return;
        int32_t kept = list[at];
        list[at] = list[child];
        list[child] = kept;
    }
}

/* The first k of n in the order: a heap of those that are first so far, the last of them on top,
   then sorted in its place. */
static void ox_top_row(const samba_args *a, int64_t row, int32_t n, int32_t *list, int32_t k)
{
    for (int32_t i = 0; i < k; i++)
        list[i] = i;
    for (int32_t i = k / 2 - 1; i >= 0; i--)
        ox_top_sift(a, row, list, k, i);
    for (int32_t i = k; i < n; i++) {
        if (!ox_top_before(a, row, i, list[0])) continue;
        list[0] = i;
        ox_top_sift(a, row, list, k, 0);
    }

    for (int32_t end = k - 1; end > 0; end--) {
        int32_t last = list[0];
        list[0] = list[end];
        list[end] = last;
        ox_top_sift(a, row, list, end, 0);
    }
}

static void ox_top_kernel(const samba_args *a)
{
    const samba_shape *x = &a->in_spec[0].shape;
    int32_t n = x->dim[x->ndim - 1], k = a->attr[OX_TOP_COUNT];
    for (int64_t row = a->begin; row < a->end; row++)
        ox_top_row(a, row * n, n, ox_out_i32(a) + row * k, k);
}

/* ---- onnx_det: x (*,n,n) -> (*), by elimination with pivots ---- */

static bool ox_det_shape(samba_call *c)
{
    if (!ox_expect(c, 1, 0)) return false;
    samba_shape *y = &c->out[0].shape;
    if (y->ndim < 2 || y->dim[y->ndim - 1] != y->dim[y->ndim - 2])
        return samba_refuse(c, SAMBA_ESHAPE, "the last two dimensions must be equal");
    y->ndim -= 2;
    return ox_expect_type(c, 0, SAMBA_F32);
}

static void ox_det_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba_count(&c->out[0].shape);
    w->scratch = samba_count(&c->in[0].shape) * 8;
}

static double ox_det_of(double *m, int64_t n)
{
    double det = 1;
    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;
        for (int64_t r = c + 1; r < n; r++)
            if (fabs(m[r * n + c]) > fabs(m[pivot * n + c])) pivot = r;
        if (m[pivot * n + c] == 0) return 0;
        if (pivot != c) det = -det;
        for (int64_t k = 0; k < n && pivot != c; k++) {
            double kept = m[c * n + k];
            m[c * n + k] = m[pivot * n + k];
            m[pivot * n + k] = kept;
        }
        det *= m[c * n + c];
        for (int64_t r = c + 1; r < n; r++) {
            double f = m[r * n + c] / m[c * n + c];
            for (int64_t k = c; k < n; k++)
                m[r * n + k] -= f * m[c * n + k];
        }
    }
    return det;
}

static void ox_det_kernel(const samba_args *a)
{
    const samba_shape *x = &a->in_spec[0].shape;
    int64_t n = x->dim[x->ndim - 1];
    for (int64_t row = a->begin; row < a->end; row++) {
        double *m = (double *)a->scratch + row * n * n;
        for (int64_t i = 0; i < n * n; i++)
            m[i] = (double)a->in[0][row * n * n + i];
        a->out[0][row] = (float)ox_det_of(m, n);
    }
}

/* ---- The table of these ops; those of other files add themselves in table.h ---- */

static const samba_op ox_kernels[] = {
    { .name = "onnx_copy",
      .wire = 0x9000,
      .shape = ox_copy_shape,
      .work = ox_flat_work,
      .kernel = ox_copy_kernel,
      .vjp = ox_copy_vjp },
    { .name = "onnx_unary",
      .wire = 0x9001,
      .shape = ox_unary_shape,
      .work = ox_flat_work,
      .kernel = ox_unary_kernel,
      .vjp = ox_unary_vjp,
      .cost = 20 },
    { .name = "onnx_tiny",
      .wire = 0x9024,
      .shape = ox_tiny_shape,
      .work = ox_flat_work,
      .kernel = ox_tiny_kernel },
    { .name = "onnx_integer",
      .wire = 0x9002,
      .shape = ox_integer_shape,
      .work = ox_flat_work,
      .kernel = ox_integer_kernel },
    { .name = "onnx_select",
      .wire = 0x9003,
      .shape = ox_select_shape,
      .work = ox_flat_work,
      .kernel = ox_select_kernel,
      .vjp = ox_select_vjp },
    { .name = "onnx_take",
      .wire = 0x9004,
      .shape = ox_take_shape,
      .work = ox_flat_work,
      .kernel = ox_take_kernel,
      .vjp = ox_take_vjp },
    { .name = "onnx_rows",
      .wire = 0x900E,
      .shape = ox_rows_shape,
      .work = ox_rows_work,
      .kernel = ox_rows_kernel },
    { .name = "onnx_scatter",
      .wire = 0x9005,
      .shape = ox_scatter_shape,
      .work = ox_single_work,
      .kernel = ox_scatter_kernel,
      .vjp = ox_scatter_vjp },
    { .name = "onnx_fold",
      .wire = 0x9006,
      .shape = ox_fold_shape,
      .work = ox_row_work,
      .kernel = ox_fold_kernel },
    { .name = "onnx_cumulate",
      .wire = 0x9007,
      .shape = ox_cumulate_shape,
      .work = ox_row_work,
      .kernel = ox_cumulate_kernel,
      .vjp = ox_cumulate_vjp },
    { .name = "onnx_multiply_up",
      .wire = 0x9025,
      .shape = ox_cumulate_shape,
      .work = ox_row_work,
      .kernel = ox_multiply_up_kernel },
    { .name = "onnx_put",
      .wire = 0x900C,
      .shape = ox_put_shape,
      .work = ox_row_work,
      .kernel = ox_put_kernel,
      .vjp = ox_put_vjp },
    { .name = "onnx_top",
      .wire = 0x9008,
      .shape = ox_top_shape,
      .work = ox_row_work,
      .kernel = ox_top_kernel },
    { .name = "onnx_fmod",
      .wire = 0x900A,
      .shape = ox_fmod_shape,
      .work = ox_flat_work,
      .kernel = ox_fmod_kernel },
    { .name = "onnx_truncate",
      .wire = 0x900B,
      .shape = ox_truncate_shape,
      .work = ox_flat_work,
      .kernel = ox_truncate_kernel },
    { .name = "onnx_mix",
      .wire = 0x900D,
      .shape = ox_mix_shape,
      .work = ox_row_work,
      .kernel = ox_mix_kernel,
      .vjp = ox_mix_vjp },
    { .name = "onnx_det",
      .wire = 0x9009,
      .shape = ox_det_shape,
      .work = ox_det_work,
      .kernel = ox_det_kernel },
};
