/* elementwise.h - of onnx_import.h: arithmetic, comparisons, activations, casts. */

/* ---- One input ---- */

/* The custom kernels: arg is the kind. */
static bool ox_op_unary(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    if (x && x->dtype == SAMBA_I32 && k->arg == OX_SIGN) {
        samba_tensor *one = ox_i32_scalar(k->c, 1), *minus = ox_i32_scalar(k->c, -1);
        x = ox_integers(ox_integers(x, one, OX_MIN, OX_INT32), minus, OX_MAX, OX_INT32);
        return ox_give(k, 0, ox_type(k, 0), x);
    }
    if (x && x->dtype == SAMBA_I32) return ox_give(k, 0, ox_type(k, 0), x); /* Floor, Ceil */
    return ox_give(k, 0, ox_type(k, 0), ox_unary(x, k->arg));
}

enum {
    OX_NEG,
    OX_EXP,
    OX_LOG,
    OX_SQRT,
    OX_ABS,
    OX_RELU,
    OX_SIGMOID,
    OX_TANH,
    OX_SOFTPLUS,
    OX_RECIPROCAL,
    OX_SOFTSIGN,
    OX_HARD_SWISH,
    OX_MISH
};

static samba_tensor *ox_integer_map(ox_node *k, samba_tensor *x, int32_t type)
{
    samba_tensor *zero = ox_i32_scalar(k->c, 0), *minus = ox_integers(zero, x, OX_SUB, type);
    if (k->arg == OX_NEG) return minus;
    if (k->arg == OX_ABS) return ox_integers(x, minus, OX_MAX, type);
    if (k->arg == OX_RELU) return ox_integers(x, zero, OX_MAX, type);
    ox_refuse(k, "of integers is not offered");
    return NULL;
}

/* max(0, min(1, alpha x + beta)) */
static samba_tensor *ox_hard_sigmoid(samba_tensor *x, float alpha, float beta)
{
    if (!x) return NULL;
    samba_tensor *zero = samba_number(x->session, 0.0f), *one = samba_number(x->session, 1.0f);
    return samba_minimum(samba_maximum(samba_shift(samba_scale(x, alpha), beta), zero), one);
}

static samba_tensor *ox_map(samba_tensor *x, int32_t kind)
{
    switch (kind) {
    case OX_NEG:
        return samba_neg(x);
    case OX_EXP:
        return samba_exp(x);
    case OX_LOG:
        return samba_log(x);
    case OX_SQRT:
        return samba_sqrt(x);
    case OX_ABS:
        return samba_abs(x);
    case OX_RELU:
        return samba_relu(x);
    case OX_SIGMOID:
        return samba_sigmoid(x);
    case OX_TANH:
        return samba_tanh(x);
    case OX_SOFTPLUS:
        return samba_softplus(x);
    case OX_RECIPROCAL:
        return ox_reciprocal(x);
    case OX_SOFTSIGN:
        return samba_div(x, samba_shift(samba_abs(x), 1.0f));
    case OX_HARD_SWISH:
        return samba_mul(x, ox_hard_sigmoid(x, 1.0f / 6.0f, 0.5f));
    default:
        return samba_mul(x, samba_tanh(samba_softplus(x)));
    }
}

static bool ox_op_map(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    int32_t type = ox_type(k, 0);
    if (x && !ox_is_float(type)) return ox_give(k, 0, type, ox_integer_map(k, x, type));
    return ox_give(k, 0, type, ox_map(x, k->arg));
}

/* gamma (x > 0 ? x : alpha (e^(x/beta) - 1)) */
static samba_tensor *ox_elu(samba_tensor *x, float alpha, float beta, float gamma)
{
    if (!x) return NULL;
    samba_tensor *zero = samba_number(x->session, 0.0f), *above = samba_gt(x, zero);
    samba_tensor *low = samba_where(above, zero, x); /* e^100 is inf, 0 inf a NaN gradient */
    low = samba_scale(samba_shift(samba_exp(samba_scale(low, 1.0f / beta)), -1.0f), alpha);
    samba_tensor *y = samba_where(above, x, low);
    return gamma == 1.0f ? y : samba_scale(y, gamma);
}

static bool ox_op_elu(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    return ox_give(k, 0, ox_type(k, 0), ox_elu(x, ox_float(k, "alpha", 1.0f), 1.0f, 1.0f));
}

static bool ox_op_selu(ox_node *k)
{
    float alpha = ox_float(k, "alpha", 1.6732632423543772f);
    float gamma = ox_float(k, "gamma", 1.0507009873554805f);
    return ox_give(k, 0, ox_type(k, 0), ox_elu(ox_in(k, 0), alpha, 1.0f, gamma));
}

static bool ox_op_celu(ox_node *k)
{
    float alpha = ox_float(k, "alpha", 1.0f);
    return ox_give(k, 0, ox_type(k, 0), ox_elu(ox_in(k, 0), alpha, alpha, 1.0f));
}

static bool ox_op_leaky_relu(ox_node *k)
{
    return ox_give(k, 0, ox_type(k, 0), samba_leaky_relu(ox_in(k, 0), ox_float(k, "alpha", 0.01f)));
}

static bool ox_op_hard_sigmoid(ox_node *k)
{
    samba_tensor *y
        = ox_hard_sigmoid(ox_in(k, 0), ox_float(k, "alpha", 0.2f), ox_float(k, "beta", 0.5f));
    return ox_give(k, 0, ox_type(k, 0), y);
}

static bool ox_op_thresholded_relu(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *limit = samba_number(k->c->s, ox_float(k, "alpha", 1.0f));
    samba_tensor *above = samba_gt(x, limit);
    return ox_give(k, 0, ox_type(k, 0), samba_where(above, x, samba_number(k->c->s, 0.0f)));
}

static bool ox_op_shrink(ox_node *k)
{
    float bias = ox_float(k, "bias", 0.0f), lambda = ox_float(k, "lambd", 0.5f);
    samba_tensor *x = ox_in(k, 0), *zero = samba_number(k->c->s, 0.0f);
    samba_tensor *up = samba_shift(x, bias), *down = samba_shift(x, -bias);
    samba_tensor *above = samba_gt(x, samba_number(k->c->s, lambda));
    samba_tensor *below = samba_lt(x, samba_number(k->c->s, -lambda));
    return ox_give(k, 0, ox_type(k, 0), samba_where(above, down, samba_where(below, up, zero)));
}

static bool ox_op_gelu(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    bool tanh = ox_text_is(k, "approximate", "none", "tanh");
    return ox_give(k, 0, ox_type(k, 0), tanh ? samba_gelu_tanh(x) : samba_gelu(x));
}

static bool ox_op_not(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    if (x && x->dtype != SAMBA_BOOL) return ox_refuse(k, "takes bool only");
    return ox_give(k, 0, OX_BOOL, samba_eq(x, samba_number(k->c->s, 0.0f)));
}

static bool ox_op_is_nan(ox_node *k)
{
    return ox_give(k, 0, OX_BOOL, samba_cast(ox_unary(ox_in(k, 0), OX_IS_NAN), SAMBA_BOOL));
}

static bool ox_op_is_inf(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *y = NULL;
    if (ox_int(k, "detect_positive", 1)) y = ox_unary(x, OX_IS_PLUS_INF);
    if (ox_int(k, "detect_negative", 1))
        y = y ? samba_add(y, ox_unary(x, OX_IS_MINUS_INF)) : ox_unary(x, OX_IS_MINUS_INF);
    if (!y) y = samba_scale(ox_unary(x, OX_IS_NAN), 0.0f);
    return ox_give(k, 0, OX_BOOL, samba_cast(y, SAMBA_BOOL));
}

/* ---- Two inputs ---- */

/* Before version 7 the second operand is broadcast only if told so, along `axis` ... */
static samba_tensor *ox_second(ox_node *k, const samba_tensor *a, int32_t i)
{
    samba_tensor *b = ox_in(k, i);
    if (!a || !b || k->version >= 7 || !ox_attribute(k, "axis")) return b;
    int32_t axis = ox_axis(k, ox_int(k, "axis", 0), a->shape.ndim);
    samba_shape s = b->shape;
    if (axis < 0 || axis + s.ndim > a->shape.ndim) return b;
    while (axis + s.ndim < a->shape.ndim)
        s.dim[s.ndim++] = 1;
    return samba_reshape(b, s);
}

static samba_tensor *ox_float_pair(samba_tensor *a, samba_tensor *b, int32_t kind)
{
    switch (kind) {
    case OX_ADD:
        return samba_add(a, b);
    case OX_SUB:
        return samba_sub(a, b);
    case OX_MUL:
        return samba_mul(a, b);
    case OX_DIV:
        return samba_div(a, b);
    case OX_POW:
        return samba_pow(a, b);
    case OX_MIN:
        return samba_minimum(a, b);
    case OX_MAX:
        return samba_maximum(a, b);
    case OX_EQ:
        return samba_eq(a, b);
    case OX_LT:
        return samba_lt(a, b);
    case OX_LE:
        return samba_le(a, b);
    case OX_GT:
        return samba_gt(a, b);
    default:
        return samba_ge(a, b);
    }
}

/* a (kind) b of this ONNX type; comparisons give bool. */
static samba_tensor *ox_pair(samba_tensor *a, samba_tensor *b, int32_t kind, int32_t type)
{
    bool compares = kind >= OX_EQ && kind <= OX_GE;
    if (ox_is_float(type)) return ox_float_pair(a, b, kind);
    a = ox_to_i32(a);
    samba_tensor *y = ox_integers(a, ox_to_i32(b), kind, type);
    return compares && y ? samba_cast(y, SAMBA_BOOL) : y;
}

/* Remembers of input == constant what the constant is: a good value for the input, if the outcome
   turns out to be needed while tracing. */
static void ox_note_comparison(ox_node *k)
{
    for (int32_t i = 0; i < 2; i++) {
        if (!k->in[i]->from || !k->in[1 - i]->known) continue;
        const onnx_array *a = ox_known_array(k->c, k->in[1 - i]);
        k->out[0]->from = k->in[i]->from;
        k->out[0]->compared = a && a->count == 1 ? a : NULL;
    }
}

static bool ox_op_pair(ox_node *k)
{
    samba_tensor *a = ox_in(k, 0), *b = ox_second(k, a, 1);
    bool compares = k->arg >= OX_EQ && k->arg <= OX_GE;
    if (a && b && ox_type(k, 0) != ox_type(k, 1))
        return ox_refuse(k, "its inputs are %s and %s, but must be of one type",
                         ox_type_name(ox_type(k, 0)), ox_type_name(ox_type(k, 1)));
    bool fine
        = ox_give(k, 0, compares ? OX_BOOL : ox_type(k, 0), ox_pair(a, b, k->arg, ox_type(k, 0)));
    if (fine && k->arg == OX_EQ) ox_note_comparison(k);
    return fine;
}

static bool ox_op_pow(ox_node *k)
{
    samba_tensor *a = ox_in(k, 0), *b = ox_second(k, a, 1);
    int32_t type = ox_type(k, 0);
    if (!ox_is_float(type) && !ox_is_float(ox_type(k, 1)))
        return ox_give(k, 0, type, ox_integers(a, b, OX_POW, type));
    a = ox_to_f32(a);
    samba_tensor *y = samba_pow(a, ox_to_f32(b));
    return ox_give(k, 0, type, ox_convert(k->c, y, OX_FLOAT, type));
}

static samba_tensor *ox_both_true(samba_tensor *a, samba_tensor *b)
{
    a = ox_to_i32(a);
    b = ox_to_i32(b);
    samba_tensor *y = ox_integers(a, b, OX_AND, OX_BOOL);
    return y ? samba_cast(y, SAMBA_BOOL) : NULL;
}

/* The remainder with the sign of the divisor, from that with the sign of the dividend. */
static samba_tensor *ox_floored(samba_tensor *rest, samba_tensor *divisor)
{
    if (!rest || !divisor) return NULL;
    samba_tensor *zero = samba_number(rest->session, 0.0f);
    samba_tensor *negative = samba_lt(rest, zero), *positive = samba_gt(rest, zero);
    samba_tensor *below = ox_both_true(negative, samba_gt(divisor, zero));
    samba_tensor *above = ox_both_true(positive, samba_lt(divisor, zero));
    samba_tensor *none = samba_eq(rest, zero), *signed_zero = ox_clamp(divisor, -1.0f, 1.0f);
    signed_zero = samba_scale(signed_zero, 0.0f);
    samba_tensor *y = samba_where(below, samba_add(rest, divisor), rest);
    y = samba_where(above, samba_add(rest, divisor), y);
    return samba_where(none, signed_zero, y);
}

static bool ox_op_mod(ox_node *k)
{
    samba_tensor *in[2];
    in[0] = ox_in(k, 0);
    in[1] = ox_in(k, 1);
    int32_t type = ox_type(k, 0), c_like = (int32_t)ox_int(k, "fmod", 0);
    samba_shape y;
    if (!in[0] || !in[1]) return false;
    if (!ox_is_float(type))
        return ox_give(k, 0, type, ox_integers(in[0], in[1], c_like ? OX_FMOD : OX_MOD, type));
    if (!c_like && k->version < 28) return ox_refuse(k, "of floats needs fmod = 1");
    if (!ox_common(&in[0]->shape, &in[1]->shape, &y))
        return ox_refuse(k, "its inputs do not broadcast");
    for (int i = 0; i < 2; i++)
        in[i] = ox_stretch(in[i], &y);
    samba_tensor *rest = samba_apply(k->c->s, "onnx_fmod", in, 2, NULL, 0);
    return ox_give(k, 0, type, c_like ? rest : ox_floored(rest, in[1]));
}

/* And, Or, Xor of bools. */
static bool ox_op_logic(ox_node *k)
{
    samba_tensor *a = ox_in(k, 0), *b = ox_second(k, a, 1);
    a = ox_to_i32(a);
    samba_tensor *y = ox_integers(a, ox_to_i32(b), k->arg, OX_BOOL);
    return ox_give(k, 0, OX_BOOL, y ? samba_cast(y, SAMBA_BOOL) : NULL);
}

static bool ox_op_bitwise(ox_node *k)
{
    int32_t type = ox_type(k, 0);
    samba_tensor *a = ox_in(k, 0), *b = ox_in(k, 1);
    if (a && b && (!ox_is_integer(type) || ox_type(k, 1) != type))
        return ox_refuse(k, "needs two tensors of one integer type");
    return ox_give(k, 0, type, ox_integers(a, b, k->arg, type));
}

static bool ox_op_bitwise_not(ox_node *k)
{
    int32_t type = ox_type(k, 0);
    samba_tensor *a = ox_in(k, 0);
    if (a && !ox_is_integer(type)) return ox_refuse(k, "needs integers");
    return ox_give(k, 0, type, ox_integers(a, ox_i32_scalar(k->c, -1), OX_XOR, type));
}

static bool ox_op_bit_shift(ox_node *k)
{
    bool left = ox_text_is(k, "direction", "", "LEFT");
    samba_tensor *a = ox_in(k, 0), *b = ox_in(k, 1);
    return ox_give(k, 0, ox_type(k, 0), ox_integers(a, b, left ? OX_SHL : OX_SHR, ox_type(k, 0)));
}

/* Max, Min, Sum, Mean of any number of inputs: arg is what joins two. */
enum { OX_MEAN = 200 };

static bool ox_op_variadic(ox_node *k)
{
    int32_t kind = k->arg == OX_MEAN ? OX_ADD : k->arg, type = ox_type(k, 0);
    samba_tensor *y = ox_in(k, 0);
    for (int32_t i = 1; i < k->n_in && y; i++)
        y = ox_pair(y, ox_in(k, i), kind, type);
    if (k->arg == OX_MEAN) y = samba_scale(y, 1.0f / (float)k->n_in);
    return ox_give(k, 0, type, y);
}

static bool ox_op_prelu(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *slope = ox_in(k, 1);
    if (x && slope && k->version < 7 && slope->shape.ndim == 1 && x->shape.ndim > 1) {
        samba_shape s = samba_scalar_shape(); /* one slope for each channel */
        for (int32_t d = 1; d < x->shape.ndim; d++)
            s.dim[s.ndim++] = 1;
        s.dim[0] = slope->shape.dim[0];
        slope = samba_reshape(slope, s);
    }
    samba_tensor *above = samba_gt(x, samba_number(k->c->s, 0.0f));
    return ox_give(k, 0, ox_type(k, 0), samba_where(above, x, samba_mul(x, slope)));
}

static bool ox_op_where(ox_node *k)
{
    samba_tensor *cond = ox_in(k, 0), *a = ox_in(k, 1), *b = ox_in(k, 2);
    bool floats = a && b && a->dtype == SAMBA_F32 && b->dtype == SAMBA_F32;
    return ox_give(k, 0, ox_type(k, 1), floats ? samba_where(cond, a, b) : ox_select(cond, a, b));
}

/* Limits are attributes up to version 6, then inputs. */
static bool ox_op_clip(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *limit;
    int32_t type = ox_type(k, 0);
    for (int i = 1; i <= 2; i++) {
        int32_t kind = i == 1 ? OX_MAX : OX_MIN;
        const char *name = i == 1 ? "min" : "max";
        if (k->version < 11) {
            if (!ox_attribute(k, name)) continue;
            limit = samba_number(k->c->s, ox_float(k, name, 0.0f));
        } else {
            if (!ox_has(k, i)) continue;
            limit = ox_in(k, i);
        }
        x = ox_pair(x, limit, kind, type);
    }
    return ox_give(k, 0, type, x);
}

/* ---- Types ---- */

/* The Identity of an initializer may have been made an initializer of its own (initial.h). */
static bool ox_op_identity(ox_node *k)
{
    if (!ox_has(k, 0)) return ox_refuse(k, "its input is missing");
    ox_value *own = k->in[0]->proto && ox_asks(k, 0) ? ox_lookup(k->c, k->p->output[0]) : NULL;
    return ox_give_value(k, 0, own && own->proto == k->in[0]->proto ? own : k->in[0]);
}

static bool ox_cast_to(ox_node *k, int32_t to)
{
    int32_t from = ox_type(k, 0);
    if (!ox_type_size(to) || !ox_type_size(from))
        return ox_refuse(k, "from %s to %s is not offered", ox_type_name(from), ox_type_name(to));
    const onnx_array *known = ox_has(k, 0) ? ox_known_array(k->c, k->in[0]) : NULL;
    bool integers = known && known->i && (to == OX_INT64 || to == from);
    if (integers) { /* stays exact, whatever the values are */
        onnx_array *a = ox_host_array(k->c, to, known->ndim, known->dim);
        for (int64_t n = 0; a && n < a->count; n++)
            a->i[n] = known->i[n];
        return ox_give_host(k, 0, a);
    }
    if (known && known->f && to == OX_INT64) {
        onnx_array *a = ox_host_array(k->c, to, known->ndim, known->dim);
        for (int64_t n = 0; a && n < a->count; n++) {
            double x = ox_number(known, n);
            bool infinite = x == HUGE_VAL || x == -HUGE_VAL; /* as onnx_truncate has it */
            if (!infinite && !(fabs(x) < 9.2e18)) return ox_refuse(k, "%g is no int64", x);
            a->i[n] = !infinite ? (int64_t)x : x > 0 ? INT32_MAX : INT32_MIN;
        }
        return ox_give_host(k, 0, a);
    }
    for (int64_t n = 0; known && known->i && to == OX_DOUBLE && n < known->count; n++)
        if ((int64_t)(float)known->i[n] != known->i[n])
            return ox_refuse(k, "%lld is no float, with which double is computed",
                             (long long)known->i[n]);
    if (ox_is_tiny(to) && from != to) {
        int32_t round = ox_text_is(k, "round_mode", "up", "down") ? OX_ROUND_DOWN
            : ox_text_is(k, "round_mode", "up", "nearest")        ? OX_ROUND_NEAREST
                                                                  : OX_ROUND_UP;
        bool saturate = ox_int(k, "saturate", 1) != 0;
        return ox_give(k, 0, to, ox_as_tiny(ox_in(k, 0), to, saturate, round));
    }
    return ox_give(k, 0, to, ox_convert(k->c, ox_in(k, 0), from, to));
}

static bool ox_op_cast(ox_node *k)
{
    const Onnx__AttributeProto *to = ox_attribute(k, "to");

    static const struct {
        const char *name;
        int32_t type;
    } old[] = { { "FLOAT", OX_FLOAT }, { "DOUBLE", OX_DOUBLE }, { "FLOAT16", OX_FLOAT16 },
                { "INT64", OX_INT64 }, { "INT32", OX_INT32 },   { "BOOL", OX_BOOL },
                { "UINT8", OX_UINT8 } };

    int64_t type = ox_int(k, "to", 0);
    for (size_t i = 0; to && to->has_s && i < sizeof old / sizeof *old; i++) /* version 1 */
        if (ox_text_is(k, "to", "", old[i].name)) type = old[i].type;
    return ox_cast_to(k, type > 0 && type < OX_N_TYPES ? (int32_t)type : 0);
}

static bool ox_op_cast_like(ox_node *k)
{
    return ox_cast_to(k, ox_type(k, 1));
}

/* ---- Dropout: nothing is dropped where nobody trains ---- */

static bool ox_op_dropout(ox_node *k)
{
    bool trains = false;
    if (!ox_has(k, 0)) return ox_refuse(k, "its input is missing");
    if (k->version >= 12 && ox_has(k, 2)) {
        const onnx_array *mode = ox_need(k, 2, "training_mode");
        if (!mode) return false;
        trains = mode->count > 0 && ox_number(mode, 0) != 0;
    } else if (k->version < 7 && !ox_int(k, "is_test", 0)) {
        return ox_refuse(k, "in training mode draws random numbers of its own");
    }
    if (trains) {
        const onnx_array *ratio = ox_has(k, 1) ? ox_need(k, 1, "ratio") : NULL;
        if (!samba_ok(k->c->s)) return false;
        if (!ratio || ratio->count < 1 || ox_number(ratio, 0) != 0)
            return ox_refuse(k, "in training mode draws random numbers of its own");
    }
    if (ox_asks(k, 1)) {
        int64_t dim[SAMBA_MAX_DIMS];
        int32_t type = k->version >= 10 ? OX_BOOL : ox_type(k, 0);
        ox_dims(k->in[0], dim);
        onnx_array *mask = ox_host_array(k->c, type, ox_ndim(k->in[0]), dim);
        for (int64_t n = 0; mask && n < mask->count; n++) {
            if (mask->i)
                mask->i[n] = 1;
            else
                mask->f[n] = 1.0f;
        }
        if (!ox_give_host(k, 1, mask)) return false;
    }
    return ox_give_value(k, 0, k->in[0]);
}
