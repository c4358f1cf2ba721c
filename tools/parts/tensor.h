/* ==== [tensor] ================================================================================ */
SAMBA_API samba_shape samba_scalar_shape(void)
{
    samba_shape shape = SAMBA__ZEROED;
    return shape;
}

SAMBA_API size_t samba_dtype_size(samba_dtype dtype)
{
    static const uint8_t sizes[SAMBA_N_DTYPES] = { 4, 2, 2, 4, 2, 1, 1, 1, 8, 2, 4 };
    return (unsigned)dtype < SAMBA_N_DTYPES ? sizes[dtype] : 0;
}

/* Is it compiled? */
SAMBA__FN bool samba__has_type(samba_dtype dtype)
{
    static const bool has[SAMBA_N_DTYPES] = { true,
                                              SAMBA__HAS_TYPE(BF16),
                                              SAMBA__HAS_TYPE(F16),
                                              SAMBA__HAS_TYPE(I32),
                                              SAMBA__HAS_TYPE(I16),
                                              SAMBA__HAS_TYPE(I8),
                                              SAMBA__HAS_TYPE(U8),
                                              SAMBA__HAS_TYPE(BOOL),
                                              SAMBA__HAS_TYPE(I64),
                                              SAMBA__HAS_TYPE(U16),
                                              SAMBA__HAS_TYPE(U32) };

    return has[dtype];
}

/* Elements of the dimensions begin ... end - 1; those before axis, and those after it. */
SAMBA__FN int64_t samba__span(const samba_shape *shape, int32_t begin, int32_t end)
{
    SAMBA_ASSERT(begin >= 0 && end <= shape->ndim);
    int64_t n = 1;
    for (int32_t i = begin; i < end; i++)
        n *= shape->dim[i];
    return n;
}

SAMBA__FN int64_t samba__outer(const samba_shape *x, int32_t axis)
{
    return samba__span(x, 0, axis);
}

SAMBA__FN int64_t samba__inner(const samba_shape *x, int32_t axis)
{
    return samba__span(x, axis + 1, x->ndim);
}

SAMBA_API int64_t samba_count(const samba_shape *shape)
{
    return shape ? samba__outer(shape, shape->ndim) : 0;
}

#define SAMBA__MAX_COUNT ((int64_t)1 << 40) /* elements of a tensor: byte counts stay exact */

/* A shape is sound if its rank, every dimension and their product are in range. */
SAMBA__FN bool samba__sound_shape(const samba_shape *shape)
{
    int64_t n = 1;
    if (shape->ndim < 0 || shape->ndim > SAMBA_MAX_DIMS) return false;
    for (int32_t i = 0; i < shape->ndim; i++) {
        if (shape->dim[i] < 1 || n > SAMBA__MAX_COUNT / shape->dim[i]) return false;
        n *= shape->dim[i];
    }
    return true;
}

SAMBA__FN bool samba__same_shape(const samba_shape *a, const samba_shape *b)
{
    if (a->ndim != b->ndim) return false;
    for (int32_t i = 0; i < a->ndim; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

SAMBA__FN size_t samba__spec_bytes(const samba_spec *spec)
{
    return (size_t)samba_count(&spec->shape) * samba_dtype_size(spec->dtype);
}

SAMBA__FN bool samba__is_float(samba_dtype d)
{
    return d == SAMBA_F32 || d == SAMBA_BF16 || d == SAMBA_F16;
}

/* Is d a type for storing ids and labels, with which nothing is computed? */
SAMBA__FN bool samba__is_stored_only(samba_dtype d)
{
    return d == SAMBA_I64 || d == SAMBA_U16 || d == SAMBA_U32;
}

/* Types of integers: the C type of an element, its least and its greatest value. bool is none: it
   holds no numbers. */
/* clang-format off */
#define SAMBA__INTEGERS(X) \
    X(I64, int64_t,  INT64_MIN, INT64_MAX) \
    X(I32, int32_t,  INT32_MIN, INT32_MAX) \
    X(I16, int16_t,  INT16_MIN, INT16_MAX) \
    X(I8,  int8_t,   INT8_MIN,  INT8_MAX) \
    X(U32, uint32_t, 0,         UINT32_MAX) \
    X(U16, uint16_t, 0,         UINT16_MAX) \
    X(U8,  uint8_t,  0,         UINT8_MAX)

/* clang-format on */

/* The values of an integer type; false if d is none. */
SAMBA__FN bool samba__integer_range(samba_dtype d, int64_t *least, int64_t *most)
{
    switch (d) {
#define X(name, type, low, high) \
    case SAMBA_##name: \
        *least = low; \
        *most = high; \
        return true;
        SAMBA__INTEGERS(X)
#undef X

    case SAMBA_F32:
    case SAMBA_BF16:
    case SAMBA_F16:
    case SAMBA_BOOL:
        break;
    }

    *least = *most = 0;
    return false;
}

/* Element i of x, which is of an integer type. */
SAMBA__FN int64_t samba__integer_at(const void *x, samba_dtype d, int64_t i)
{
    switch (d) {
#define X(name, type, low, high) \
    case SAMBA_##name: \
        return ((const type *)x)[i];
        SAMBA__INTEGERS(X)
#undef X

    case SAMBA_F32:
    case SAMBA_BF16:
    case SAMBA_F16:
    case SAMBA_BOOL:
        break;
    }
    return 0;
}

/* Stores value, which fits, as element i of y. */
SAMBA__FN void samba__put_integer(void *y, samba_dtype d, int64_t i, int64_t value)
{
    switch (d) {
#define X(name, type, low, high) \
    case SAMBA_##name: \
        ((type *)y)[i] = (type)value; \
        break;
        SAMBA__INTEGERS(X)
#undef X

    case SAMBA_F32:
    case SAMBA_BF16:
    case SAMBA_F16:
    case SAMBA_BOOL:
        break;
    }
}

/* What stands for an optional input that is not given. */
SAMBA__FN samba_spec samba__absent(void)
{
    samba_spec spec = SAMBA__ZEROED;
    spec.shape.ndim = -1;
    return spec;
}

/* NumPy broadcasting: align at the right, 1 stretches. False if dimension *bad does not fit. */
SAMBA__FN bool samba__broadcast(const samba_shape *a, const samba_shape *b, samba_shape *out,
                                int32_t *bad)
{
    samba_shape r = samba_scalar_shape();
    r.ndim = a->ndim > b->ndim ? a->ndim : b->ndim;

    for (int32_t i = 0; i < r.ndim; i++) {
        int32_t ia = i - (r.ndim - a->ndim), ib = i - (r.ndim - b->ndim);
        int32_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];
        if (da != db && da != 1 && db != 1) {
            *bad = i;
            return false;
        }
        r.dim[i] = da == 1 ? db : da;
    }

    *out = r;
    return true;
}

/* ---- bf16 and f16 storage ---- */
SAMBA__INLINE float samba__from_bf16(uint16_t h)
{
    return samba__bits_float((uint32_t)h << 16);
}

/* Round to nearest even; a NaN stays a quiet NaN. */
SAMBA__INLINE uint16_t samba__to_bf16(float f)
{
    uint32_t u = samba__float_bits(f), nan = (u >> 16) | 0x40u;
    uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
    return (uint16_t)((u & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
}

/* Round to zero; a NaN stays a quiet NaN, though all its bits may be among those that go. */
SAMBA__INLINE uint16_t samba__cut_bf16(float f)
{
    uint32_t u = samba__float_bits(f);
    return (uint16_t)(u >> 16 | ((u & 0x7FFFFFFFu) > 0x7F800000u ? 0x40u : 0u));
}

/* Round up as often, of all 16 random bits, as f is near to what lies above: the mean is f. */
SAMBA__INLINE uint16_t samba__dither_bf16(float f, uint32_t bits)
{
    uint32_t u = f == f ? samba__float_bits(f) : 0x7FC00000u;
    return (uint16_t)((u + bits) >> 16);
}

/* IEEE half to float by scaling: exact for normals and subnormals alike. */
SAMBA__INLINE float samba__from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = (uint32_t)(h & 0x7FFFu) << 13;
    float scaled = samba__bits_float(rest) * 5.192296858534828e33f;
    uint32_t bits = rest >= 0x0F800000u ? rest | 0x7F800000u : samba__float_bits(scaled);
    return samba__bits_float(bits | sign);
}

/* Nearest even: adding a suitable power of two makes the float unit do the rounding. */
SAMBA__INLINE uint16_t samba__to_f16(float f)
{
    uint32_t u = samba__float_bits(f), sign = (u >> 16) & 0x8000u, a = u & 0x7FFFFFFFu;
    uint32_t nan = a > 0x7F800000u ? 0x7E00u : 0x7C00u;
    uint32_t tiny
        = samba__float_bits(samba__bits_float(a < 0x38800000u ? a : 0) + 0.5f) - 0x3F000000u;
    uint32_t normal = (a - 0x38000000u + 0xFFFu + ((a >> 13) & 1u)) >> 13;
    uint32_t large = a >= 0x477FF000u ? nan : normal;
    uint32_t magnitude = a < 0x38800000u ? tiny : large;
    return (uint16_t)(sign | magnitude);
}

/* n elements of any type to f32, and back. Integers saturate, NaN gives 0. */
#define SAMBA__EACH(type, statement) \
    if (SAMBA__HAS_TYPE(type)) \
        for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) \
    statement

SAMBA__KERNEL void samba__load_values(float *SAMBA__RESTRICT y, const void *x, samba_dtype dtype,
                                      int64_t n)
{
    const uint16_t *h = (const uint16_t *)x;

    switch (dtype) {
    case SAMBA_F32:
        memcpy(y, x, (size_t)n * 4);
        break;
    case SAMBA_BF16:
        SAMBA__EACH(BF16, y[i] = samba__from_bf16(h[i]));
        break;
    case SAMBA_F16:
        SAMBA__EACH(F16, y[i] = samba__from_f16(h[i]));
        break;

    case SAMBA_I32:
        SAMBA__EACH(I32, y[i] = (float)((const int32_t *)x)[i]);
        break;
    case SAMBA_I16:
        SAMBA__EACH(I16, y[i] = (float)((const int16_t *)x)[i]);
        break;
    case SAMBA_I8:
        SAMBA__EACH(I8, y[i] = (float)((const int8_t *)x)[i]);
        break;
    case SAMBA_U8:
        SAMBA__EACH(U8, y[i] = (float)((const uint8_t *)x)[i]);
        break;
    case SAMBA_BOOL:
        SAMBA__EACH(BOOL, y[i] = ((const uint8_t *)x)[i] ? 1.0f : 0.0f);
        break;

    case SAMBA_I64:
        SAMBA__EACH(I64, y[i] = (float)((const int64_t *)x)[i]);
        break;
    case SAMBA_U16:
        SAMBA__EACH(U16, y[i] = (float)h[i]);
        break;
    case SAMBA_U32:
        SAMBA__EACH(U32, y[i] = (float)((const uint32_t *)x)[i]);
        break;
    }
}

SAMBA__INLINE int32_t samba__saturate(float f, int32_t low, int32_t high)
{
    if (f != f) return 0;
    if (f <= (float)low) return low;
    return f >= (float)high ? high : (int32_t)f;
}

SAMBA__INLINE int64_t samba__saturate_i64(float f)
{
    if (f != f) return 0;
    if (f <= -9223372036854775808.0f) return INT64_MIN;
    return f >= 9223372036854775808.0f ? INT64_MAX : (int64_t)f;
}

SAMBA__INLINE uint32_t samba__saturate_u32(float f)
{
    if (!(f > 0.0f)) return 0;
    return f >= 4294967296.0f ? UINT32_MAX : (uint32_t)f;
}

SAMBA__KERNEL void samba__store_values(void *y, const float *SAMBA__RESTRICT x, samba_dtype dtype,
                                       int64_t n)
{
    uint16_t *h = (uint16_t *)y;

    switch (dtype) {
    case SAMBA_F32:
        memcpy(y, x, (size_t)n * 4);
        break;
    case SAMBA_BF16:
        SAMBA__EACH(BF16, h[i] = samba__to_bf16(x[i]));
        break;
    case SAMBA_F16:
        SAMBA__EACH(F16, h[i] = samba__to_f16(x[i]));
        break;

    case SAMBA_I32:
        SAMBA__EACH(I32, ((int32_t *)y)[i] = samba__saturate(x[i], INT32_MIN, INT32_MAX));
        break;
    case SAMBA_I16:
        SAMBA__EACH(I16, ((int16_t *)y)[i] = (int16_t)samba__saturate(x[i], -32768, 32767));
        break;
    case SAMBA_I8:
        SAMBA__EACH(I8, ((int8_t *)y)[i] = (int8_t)samba__saturate(x[i], -128, 127));
        break;
    case SAMBA_U8:
        SAMBA__EACH(U8, ((uint8_t *)y)[i] = (uint8_t)samba__saturate(x[i], 0, 255));
        break;
    case SAMBA_BOOL:
        SAMBA__EACH(BOOL, ((uint8_t *)y)[i] = x[i] != 0.0f);
        break;

    case SAMBA_I64:
        SAMBA__EACH(I64, ((int64_t *)y)[i] = samba__saturate_i64(x[i]));
        break;
    case SAMBA_U16:
        SAMBA__EACH(U16, h[i] = (uint16_t)samba__saturate(x[i], 0, UINT16_MAX));
        break;
    case SAMBA_U32:
        SAMBA__EACH(U32, ((uint32_t *)y)[i] = samba__saturate_u32(x[i]));
        break;
    }
}

#undef SAMBA__EACH

/* The same; [elementwise] has them for each instruction set. */
SAMBA__NOINLINE void samba__load(float *y, const void *x, samba_dtype dtype, int64_t n)
{
    samba__load_values(y, x, dtype, n);
}

SAMBA__NOINLINE void samba__store(void *y, const float *x, samba_dtype dtype, int64_t n)
{
    samba__store_values(y, x, dtype, n);
}

/* ---- Signatures: "*n,n?,n->*n". One letter is one dimension, '*' any leading ones (equal in all
   terms), '?' after a term makes it optional, "i:", "b:", "f:" before it i32, bool, f32, and "w:" a
   weight, in f32, bf16 or f16. ---- */
typedef struct samba__binding {
    int32_t letter[26]; /* 0: not bound yet */
    samba_shape star;
    bool star_bound;
} samba__binding;

typedef struct samba__term {
    samba_dtype dtype;
    bool star, optional, weights;
    char letters[SAMBA_MAX_DIMS + 1];
    int32_t n_letters;
} samba__term;

/* Reads one term; returns what follows it (after a comma or an arrow). */
SAMBA__FN const char *samba__read_term(const char *p, samba__term *t)
{
    memset(t, 0, sizeof *t);
    if ((*p == 'i' || *p == 'b' || *p == 'f' || *p == 'w') && p[1] == ':') {
        if (*p == 'i') t->dtype = SAMBA_I32;
        if (*p == 'b') t->dtype = SAMBA_BOOL;
        t->weights = *p == 'w';
        p += 2;
    }

    for (; *p && *p != ',' && *p != '-'; p++) {
        if (*p == '*')
            t->star = true;
        else if (*p == '?')
            t->optional = true;
        else if (*p >= 'a' && *p <= 'z' && t->n_letters < SAMBA_MAX_DIMS) {
            t->letters[t->n_letters++] = *p;
        }
    }

    if (*p == ',') return p + 1;
    return p[0] == '-' && p[1] == '>' ? p + 2 : p;
}

SAMBA__FN bool samba__bind_term(samba_call *call, int32_t i, const samba__term *t,
                                samba__binding *b)
{
    const samba_spec *x = &call->in[i];
    int32_t lead = x->shape.ndim - t->n_letters;
    if (x->dtype != t->dtype && !(t->weights && samba__is_float(x->dtype)))
        return samba_refuse(call, SAMBA_EDTYPE, "input %d is %T, but must be %T; use samba_cast", i,
                            (int)x->dtype, (int)t->dtype);
    if (lead < 0 || (lead > 0 && !t->star))
        return samba_refuse(call, SAMBA_ESHAPE, "input %d %S must have %s%d dimensions (%s%s)", i,
                            &x->shape, t->star ? "at least " : "", t->n_letters, t->star ? "*" : "",
                            t->letters);

    for (int32_t k = 0; k < t->n_letters; k++) {
        SAMBA_ASSERT(t->letters[k] >= 'a' && t->letters[k] <= 'z');
        int32_t *bound = &b->letter[t->letters[k] - 'a'], d = x->shape.dim[lead + k];
        if (*bound && *bound != d)
            return samba_refuse(call, SAMBA_ESHAPE,
                                "dimension %d of input %d is %d, but must be %d (%s%s)", lead + k,
                                i, d, *bound, t->star ? "*" : "", t->letters);
        *bound = d;
    }

    if (!t->star) return true;
    samba_shape star = x->shape;
    star.ndim = lead;
    if (b->star_bound && !samba__same_shape(&star, &b->star))
        return samba_refuse(call, SAMBA_ESHAPE, "leading dimensions %S of input %d must be %S",
                            &star, i, &b->star);
    b->star = star;
    b->star_bound = true;
    return true;
}

/* Checks the inputs of a call against a signature, and gives where its outputs begin there; NULL if
   they do not fit. */
SAMBA__NOINLINE const char *samba__match_inputs(const char *signature, samba_call *call,
                                                samba__binding *b)
{
    samba__term t;
    const char *p = signature;
    int32_t i = 0;
    bool inputs = true;
    memset(b, 0, sizeof *b);

    for (; inputs; i++) {
        p = samba__read_term(p, &t);
        inputs = p[-1] == ',';
        bool absent = i >= call->n_in || call->in[i].shape.ndim < 0;
        if (absent && t.optional) continue;
        if (absent) {
            samba_refuse(call, SAMBA_EARG, "input %d is missing (%s)", i, signature);
            return NULL;
        }
        if (!samba__bind_term(call, i, &t, b)) return NULL;
    }

    if (call->n_in > i) {
        samba_refuse(call, SAMBA_EARG, "%d inputs given, at most %d fit (%s)", call->n_in, i,
                     signature);
        return NULL;
    }
    return p;
}

/* Fills in the outputs, which begin at p in the signature. */
SAMBA__NOINLINE bool samba__match_outputs(const char *p, samba_call *call, const samba__binding *b)
{
    samba__term t;
    for (call->n_out = 0; *p && call->n_out < SAMBA_MAX_OUT; call->n_out++) {
        samba_spec *y = &call->out[call->n_out];
        p = samba__read_term(p, &t);
        y->dtype = t.dtype;
        y->shape = t.star ? b->star : samba_scalar_shape();
        if (y->shape.ndim + t.n_letters > SAMBA_MAX_DIMS)
            return samba_refuse(call, SAMBA_ESHAPE, "the result would have more than %d dimensions",
                                SAMBA_MAX_DIMS);

        for (int32_t k = 0; k < t.n_letters; k++)
            y->shape.dim[y->shape.ndim++] = b->letter[t.letters[k] - 'a'];
    }
    return true;
}

/* Checks the inputs of a call against a signature and fills in its outputs. */
SAMBA__INLINE bool samba__match(const char *signature, samba_call *call, samba__binding *b)
{
    const char *outputs = samba__match_inputs(signature, call, b);
    return outputs && samba__match_outputs(outputs, call, b);
}

