/* microsoft.h - of onnx_import.h: what onnxruntime's optimizer joins nodes to, ops of
   com.microsoft: activations with a bias, normalizations with a residual, products with more to
   them. */

/* ---- Activations ---- */

/* Input 0 plus a bias, which is the next input if there is one. */
static samba_tensor *ox_biased(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    return x && ox_has(k, 1) ? samba_add(x, ox_in(k, 1)) : x;
}

static bool ox_op_bias_gelu(ox_node *k)
{
    return ox_floats_only(k, 2) && ox_give(k, 0, ox_type(k, 0), samba_gelu(ox_biased(k)));
}

static bool ox_op_fast_gelu(ox_node *k)
{
    return ox_floats_only(k, 2) && ox_give(k, 0, ox_type(k, 0), samba_gelu_tanh(ox_biased(k)));
}

static bool ox_op_quick_gelu(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    return x && ox_floats_only(k, 1)
        && ox_give(k, 0, ox_type(k, 0), ox_swish(x, ox_float(k, "alpha", 1.702f)));
}

/* Softmax of scores plus a bias, of which each row of several scores may share one. */
static bool ox_op_bias_softmax(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *bias = ox_in(k, 1);
    if (!x || !bias || !ox_floats_only(k, 2)) return false;
    int32_t axis = ox_axis(k, ox_int(k, "axis", 1), x->shape.ndim);
    if (axis < 0) return false;
    if (!ox_int(k, "is_inner_broadcast", 1))
        return ox_refuse(k, "with is_inner_broadcast = 0 is not offered");
    samba_tensor *rows = ox_as_rows(samba_add(x, bias), axis);
    samba_tensor *y = samba_softmax(rows, 1);
    return ox_give(k, 0, ox_type(k, 0), y ? samba_reshape(y, x->shape) : NULL);
}

/* The activation of a fused node, by name, with parameter i or what is usual. */
static samba_tensor *ox_fused(ox_node *k, samba_tensor *y, const float *params, size_t n)
{
    if (!y || !ox_attribute(k, "activation") || ox_text_is(k, "activation", "", "")) return y;
    if (ox_text_is(k, "activation", "", "Relu")) return samba_relu(y);
    if (ox_text_is(k, "activation", "", "Sigmoid")) return samba_sigmoid(y);
    if (ox_text_is(k, "activation", "", "Tanh")) return samba_tanh(y);
    if (ox_text_is(k, "activation", "", "LeakyRelu"))
        return samba_leaky_relu(y, n > 0 ? params[0] : 0.01f);
    if (ox_text_is(k, "activation", "", "Clip"))
        return n < 2 ? y : ox_clamp(y, params[0], params[1]);
    if (ox_text_is(k, "activation", "", "HardSigmoid"))
        return ox_hard_sigmoid(y, n > 0 ? params[0] : 0.2f, n > 1 ? params[1] : 0.5f);
    ox_refuse(k, "with this activation is not offered");
    return NULL;
}

/* ---- Products ---- */

/* Dimensions 0 to n - 3 of a batch of matrices come behind dimension n - 2. */
static samba_tensor *ox_turn_batch(samba_tensor *x, bool turn)
{
    if (!x || !turn || x->shape.ndim < 3) return x;
    return ox_move_axis(x, 0, x->shape.ndim - 2);
}

static bool ox_op_fused_mat_mul(ox_node *k)
{
    samba_tensor *a = ox_in(k, 0), *b = ox_in(k, 1);
    bool ta = ox_int(k, "transA", 0) != 0, tb = ox_int(k, "transB", 0) != 0;
    float alpha = ox_float(k, "alpha", 1.0f);
    if (!a || !b || !ox_floats_only(k, 2)) return false;
    a = ox_turn_batch(a, ox_int(k, "transBatchA", 0) != 0);
    b = ox_turn_batch(b, ox_int(k, "transBatchB", 0) != 0);
    if (!a || !b) return false;
    if (a->shape.ndim < 2) ta = false; /* a vector has nothing to be turned */
    if (b->shape.ndim < 2) tb = false;
    samba_tensor *y = ta || tb ? samba_matmul_transposed(a, ta, b, tb) : samba_matmul(a, b);
    return ox_give(k, 0, ox_type(k, 0), alpha == 1.0f ? y : samba_scale(y, alpha));
}

static bool ox_op_fused_gemm(ox_node *k)
{
    float params[2];
    params[0] = ox_float(k, "activation_alpha",
                         ox_text_is(k, "activation", "", "HardSigmoid") ? 0.2f : 0.01f);
    params[1] = ox_float(k, "activation_beta", 0.5f);
    if (!ox_op_gemm(k)) return false;
    samba_tensor *y = ox_fused(k, k->out[0]->t, params, 2);
    return ox_give(k, 0, ox_type(k, 0), y);
}

/* A convolution, plus input 3, then its activation. */
static bool ox_op_fused_conv(ox_node *k)
{
    const Onnx__AttributeProto *params = ox_attribute(k, "activation_params");
    samba_tensor *x = ox_in(k, 0), *w = ox_in(k, 1), *b = ox_has(k, 2) ? ox_in(k, 2) : NULL;
    if (!x || !w || !ox_floats_only(k, 4)) return false;
    samba_tensor *y = ox_convolve(k, x, w, b);
    if (y && ox_has(k, 3)) y = samba_add(y, ox_in(k, 3));
    y = ox_fused(k, y, params ? params->floats : NULL, params ? params->n_floats : 0);
    return ox_give(k, 0, ox_type(k, 0), y);
}

/* ---- Normalizations ---- */

/* y = (x - mean) / sqrt(var + eps) of the last dimension, or without the mean (simple); gamma; beta
   unless NULL. Outputs 1 and 2 (simple: 2 alone) get the statistics if they are asked for. */
static bool ox_give_norm(ox_node *k, samba_tensor *x, samba_tensor *gamma, samba_tensor *beta,
                         bool simple)
{
    float eps = ox_float(k, "epsilon", simple ? 1e-5f : 1e-12f);
    if (!x || !gamma) return false;
    if (x->shape.ndim < 1) return ox_refuse(k, "x is a scalar");
    samba_tensor *y
        = simple ? samba_rms_normalize(x, gamma, eps) : samba_layer_normalize(x, gamma, beta, eps);
    if (!ox_give(k, 0, ox_type(k, 0), y)) return false;
    if (!ox_asks(k, 1) && !ox_asks(k, 2)) return true;
    samba_shape last = SAMBA_AXES(x->shape.ndim - 1);
    samba_tensor *mean = simple ? NULL : samba_mean(x, last, true);
    samba_tensor *squares = simple ? samba_mul(x, x) : NULL;
    samba_tensor *var = simple ? samba_mean(squares, last, true) : ox_variance(x, mean, last);
    samba_tensor *scale = samba_rsqrt(samba_shift(var, eps));
    if (simple && ox_asks(k, 1)) return ox_refuse(k, "its mean is not offered");
    if (ox_asks(k, 1) && !ox_give(k, 1, OX_FLOAT, mean)) return false;
    return !ox_asks(k, 2) || ox_give(k, 2, OX_FLOAT, scale);
}

/* x + skip + bias, which output 3 gets, too, and their normalization. */
static bool ox_op_skip_norm(ox_node *k)
{
    bool simple = k->arg != 0;
    int32_t at_bias = simple ? 3 : 4;
    samba_tensor *x = ox_in(k, 0), *skip = ox_in(k, 1), *gamma = ox_in(k, 2);
    if (!x || !skip || !gamma || !ox_floats_only(k, 5)) return false;
    samba_tensor *beta = !simple && ox_has(k, 3) ? ox_in(k, 3) : NULL;
    samba_tensor *sum = samba_add(x, skip);
    if (ox_has(k, at_bias)) sum = samba_add(sum, ox_in(k, at_bias));
    if (ox_asks(k, 3) && !ox_give(k, 3, ox_type(k, 0), sum)) return false;
    return ox_give_norm(k, sum, gamma, beta, simple);
}

/* As RMSNormalization; output 1 is the factor. */
static bool ox_op_simple_norm(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    if (!x || !ox_op_rms_norm(k)) return false;
    if (!ox_asks(k, 1)) return true;
    int32_t axis = ox_axis(k, ox_int(k, "axis", -1), x->shape.ndim);
    samba_shape kept = x->shape;
    for (int32_t d = axis; d < kept.ndim; d++)
        kept.dim[d] = 1;
    samba_tensor *rows = ox_as_rows(x, axis), *squares = samba_mul(rows, rows);
    samba_tensor *mean = samba_mean(squares, SAMBA_AXES(1), true);
    samba_tensor *scale = samba_rsqrt(samba_shift(mean, ox_float(k, "epsilon", 1e-5f)));
    return scale && ox_give(k, 1, OX_FLOAT, samba_reshape(scale, kept));
}

/* Rows of the table that is input i, by indices (B,S); negative ones count from the end. */
static samba_tensor *ox_embedded(ox_node *k, int32_t i, samba_tensor *index)
{
    samba_tensor *table = ox_in(k, i);
    if (!table || !index) return NULL;
    if (table->shape.ndim != 2) {
        ox_refuse(k, "input %d is no matrix", i);
        return NULL;
    }
    index = ox_wrap_index(k->c, ox_to_i32(index), table->shape.dim[0]);
    return ox_gather_axis(table, index, 0);
}

/* Words, positions and segments, added and normalized. Output 1: how many words the mask leaves. */
static bool ox_op_embed_norm(ox_node *k)
{
    samba_tensor *ids = ox_in(k, 0), *gamma = ox_in(k, 5), *beta = ox_in(k, 6);
    if (!ids || !gamma || !beta) return false;
    if (ids->shape.ndim != 2) return ox_refuse(k, "needs input_ids (B,S)");
    int32_t length = ids->shape.dim[1];
    samba_tensor *at = ox_has(k, 8) ? ox_in(k, 8) : ox_steps(k->c, 2, 1, length, 1);
    samba_tensor *sum = ox_embedded(k, 2, ids);
    sum = samba_add(sum, ox_embedded(k, 3, at));
    if (ox_asks(k, 2) && !ox_has(k, 4) && !ox_give(k, 2, ox_type(k, 2), sum)) return false;
    if (ox_has(k, 4) && ox_has(k, 1)) sum = samba_add(sum, ox_embedded(k, 4, ox_in(k, 1)));
    if (ox_asks(k, 2) && ox_has(k, 4) && !ox_give(k, 2, ox_type(k, 2), sum)) return false;
    samba_tensor *y = samba_layer_normalize(sum, gamma, beta, ox_float(k, "epsilon", 1e-12f));
    if (!ox_give(k, 0, ox_type(k, 2), y)) return false;
    if (!ox_asks(k, 1)) return true;
    samba_tensor *count = ox_full(k->c, SAMBA_SHAPE(ids->shape.dim[0]), 0.0f);
    if (ox_has(k, 7)) count = samba_sum(ox_to_f32(ox_in(k, 7)), SAMBA_AXES(1), false);
    return ox_give(k, 1, OX_INT32, ox_to_i32(count));
}

/* ---- Products and other ops of codes: by the numbers that the codes are ---- */

/* What codes x are by a scale and a zero (NULL: 0), as a value that is computed when it is read. */
static ox_value *ox_coded(ox_import *c, ox_value *x, ox_value *scale, ox_value *zero)
{
    ox_value *v = x && scale ? ox_new_value(c, OX_FLOAT) : NULL;
    if (!v) return NULL;
    v->codes = x;
    v->scale = scale;
    v->zero = zero;
    v->known = x->known && scale->known && (!zero || zero->known);
    return v;
}

/* Input i, whose scale and zero follow, as numbers. */
static samba_tensor *ox_in_numbers(ox_node *k, int32_t i)
{
    if (!ox_has(k, i) || !ox_has(k, i + 1)) {
        ox_refuse(k, "input %d is missing", ox_has(k, i) ? i + 1 : i);
        return NULL;
    }
    if (!ox_is_byte(ox_type(k, i))) {
        ox_refuse(k, "of %s is not offered", ox_type_name(ox_type(k, i)));
        return NULL;
    }
    if (ox_size(k->in[i + 1]) != 1) {
        ox_refuse(k, "with several scales is not offered");
        return NULL;
    }
    ox_value *v = ox_coded(k->c, k->in[i], k->in[i + 1], ox_has(k, i + 2) ? k->in[i + 2] : NULL);
    return v ? ox_tensor(k->c, v) : NULL;
}

/* y as codes, by the scale and zero of inputs `at` and the next. */
static bool ox_give_as_codes(ox_node *k, samba_tensor *y, int32_t at, int32_t type)
{
    ox_import *c = k->c;
    ox_value *zero = ox_has(k, at + 1) ? k->in[at + 1] : NULL;
    uint8_t none = 0;
    samba_tensor *scale = ox_in(k, at), *in[3];
    if (!y || !scale) return false;
    if (zero) type = zero->type;
    if (samba_count(&scale->shape) != 1 || !ox_is_byte(type) || (zero && ox_size(zero) != 1))
        return ox_refuse(k, "needs one scale and one zero of 8 bits for its result");
    in[0] = y;
    in[1] = samba_reshape(scale, samba_scalar_shape());
    in[2] = zero ? ox_one_byte(c, zero)
                 : ox_constant(c, type == OX_INT8 ? SAMBA_I8 : SAMBA_U8, SAMBA_SCALAR, &none);
    if (!samba_ok(c->s)) return false;
    return ox_give_bytes(k, 0, type, samba_apply(c->s, "quantize_bytes", in, 3, NULL, 0));
}

/* a + b or a b; arg: which. */
static bool ox_op_q_linear_pair(ox_node *k)
{
    samba_tensor *a = ox_in_numbers(k, 0), *b = ox_in_numbers(k, 3);
    samba_tensor *y = k->arg == OX_MUL ? samba_mul(a, b) : samba_add(a, b);
    return ox_give_as_codes(k, y, 6, ox_type(k, 0));
}

enum { OX_Q_SIGMOID, OX_Q_LEAKY_RELU, OX_Q_SOFTMAX };

static bool ox_op_q_linear_map(ox_node *k)
{
    samba_tensor *x = ox_in_numbers(k, 0), *y = NULL;
    if (!x) return false;
    if (k->arg == OX_Q_SIGMOID) y = samba_sigmoid(x);
    if (k->arg == OX_Q_LEAKY_RELU) y = samba_leaky_relu(x, ox_float(k, "alpha", 0.01f));
    if (k->arg == OX_Q_SOFTMAX) {
        bool old = ox_int(k, "opset", 13) < 13;
        int32_t axis = ox_axis(k, ox_int(k, "axis", -1), x->shape.ndim);
        if (axis < 0) return false;
        y = old ? samba_softmax(ox_as_rows(x, axis), 1) : samba_softmax(x, axis);
        y = y ? samba_reshape(y, x->shape) : NULL;
    }
    return ox_give_as_codes(k, y, 3, ox_type(k, 0));
}

static bool ox_op_q_linear_average(ox_node *k)
{
    samba_tensor *x = ox_in_numbers(k, 0), *y;
    ox_slide s = { 0 };
    samba_pool_opts o;
    if (!x) return false;
    bool last = ox_int(k, "channels_last", 0) != 0;
    if (last) x = ox_move_axis(x, x->shape.ndim - 1, 1);
    if (!x || !ox_read_slide(k, &x->shape, &s) || !ox_place_slide(k, &s)) return false;
    y = ox_plain_pool(k, &s, &o) ? samba_avg_pool2d(x, &o) : ox_window_means(k, x, &s);
    if (y && last) y = ox_move_axis(y, 1, y->shape.ndim - 1);
    return ox_give_as_codes(k, y, 3, ox_type(k, 0));
}

/* Means of all pixels of a channel, or along axes. arg 1: GlobalAveragePool. */
static bool ox_op_q_linear_mean(ox_node *k)
{
    samba_tensor *x = ox_in_numbers(k, 0);
    int32_t n = 0;
    const int64_t *given = ox_ints(k, "axes", &n);
    samba_shape axes = samba_scalar_shape();
    if (!x) return false;
    int32_t last = k->arg && ox_int(k, "channels_last", 0) ? 1 : 0;
    if (k->arg && x->shape.ndim < 3) return ox_refuse(k, "needs at least 3 dimensions");
    for (int32_t d = 0; d < x->shape.ndim; d++) {
        bool inside = k->arg ? (last ? d > 0 && d < x->shape.ndim - 1 : d > 1) : n == 0;
        for (int32_t i = 0; !k->arg && i < n; i++)
            inside = inside || given[i] == d || given[i] == d - x->shape.ndim;
        if (inside) axes.dim[axes.ndim++] = d;
    }
    bool keeps = k->arg || ox_int(k, "keepdims", 1) != 0;
    return ox_give_as_codes(k, samba_mean(x, axes, keeps), 3, ox_type(k, 0));
}

static bool ox_op_q_linear_concat(ox_node *k)
{
    int32_t n = (k->n_in - 2) / 3;
    samba_tensor **part = (samba_tensor **)ox_new(k->c, n, sizeof *part);
    if (!part) return false;
    if (n < 1 || n * 3 + 2 != k->n_in) return ox_refuse(k, "needs three inputs for each tensor");
    for (int32_t i = 0; i < n; i++)
        if (!(part[i] = ox_in_numbers(k, 2 + 3 * i))) return false;
    samba_tensor *y = ox_cat(k, part, n, ox_int(k, "axis", 0), false);
    return ox_give_as_codes(k, y, 0, ox_type(k, 2));
}

static bool ox_op_q_linear_where(ox_node *k)
{
    samba_tensor *cond = ox_in(k, 0), *a = ox_in_numbers(k, 1), *b = ox_in_numbers(k, 4);
    return ox_give_as_codes(k, ox_select(cond, a, b), 7, ox_type(k, 1));
}

/* x w as f32: factors f of these scales, plus a bias unless NULL. */
static bool ox_give_float_product(ox_node *k, const ox_factors *f, ox_value *sx, ox_value *sw,
                                  ox_value *bias)
{
    ox_product p;
    ox_value *x = ox_coded(k->c, f->x, sx, f->zero_x), *w = ox_coded(k->c, f->w, sw, f->zero_w);
    if (!x || !w) return ox_refuse(k, "an input is missing");
    w->axis = ox_ndim(f->w) - 1;
    bool plain = ox_are_codes(x, w, 1) && ox_is_bias(bias, f->w, ox_ndim(f->w) - 1);
    if (plain && ox_is_affine(k->c, f))
        return ox_open_affine(k->c, f, &p) && ox_give_scaled(k, &p, x, w, bias);
    samba_tensor *a = ox_tensor(k->c, x), *b = ox_tensor(k->c, w);
    samba_tensor *y = samba_matmul(a, b);
    if (y && bias) y = samba_add(y, ox_tensor(k->c, bias));
    return ox_give(k, 0, OX_FLOAT, y);
}

static bool ox_op_mat_mul_integer_to_float(ox_node *k)
{
    if (!ox_has(k, 0) || !ox_has(k, 1) || !ox_has(k, 2) || !ox_has(k, 3))
        return ox_refuse(k, "an input is missing");
    ox_factors f = ox_factors_of(k, 0, 1, 4);
    return ox_give_float_product(k, &f, k->in[2], k->in[3], ox_has(k, 6) ? k->in[6] : NULL);
}

static ox_value *ox_value_of(ox_import *c, int32_t type, samba_tensor *t, samba_tensor *bytes)
{
    ox_value *v = ox_new_value(c, type);
    if (!v) return NULL;
    v->t = t;
    v->bytes = bytes;
    return v;
}

static bool ox_op_dynamic_mat_mul(ox_node *k)
{
    samba_tensor *a = ox_in(k, 0), *y[3];
    if (!a) return false;
    if (!ox_has(k, 1) || !ox_has(k, 2)) return ox_refuse(k, "an input is missing");
    if (samba_apply_all(k->c->s, "quantize_dynamic", &a, 1, NULL, 0, y, 3) != 3) return false;
    ox_factors f;
    memset(&f, 0, sizeof f);
    f.x = ox_value_of(k->c, OX_UINT8, NULL, y[0]);
    f.zero_x = ox_value_of(k->c, OX_UINT8, NULL, y[2]);
    ox_value *scale = ox_value_of(k->c, OX_FLOAT, y[1], NULL);
    f.w = k->in[1];
    f.zero_w = ox_has(k, 3) ? k->in[3] : NULL;
    if (!f.x || !f.zero_x || !scale) return false;
    return ox_give_float_product(k, &f, scale, k->in[2], ox_has(k, 4) ? k->in[4] : NULL);
}

/* Gemm of codes; without the scale of y its result is f32. */
static bool ox_op_q_gemm(ox_node *k)
{
    float alpha = ox_float(k, "alpha", 1.0f);
    bool ta = ox_int(k, "transA", 0) != 0, tb = ox_int(k, "transB", 0) != 0, codes = ox_has(k, 7);
    ox_value *bias = ox_has(k, 6) ? k->in[6] : NULL;
    ox_product p;
    if (!ox_has(k, 0) || !ox_has(k, 1) || !ox_has(k, 3) || !ox_has(k, 4))
        return ox_refuse(k, "an input is missing");
    if (ox_ndim(k->in[0]) != 2 || ox_ndim(k->in[3]) != 2) return ox_refuse(k, "needs matrices");
    ox_factors f = ox_factors_of(k, 0, 3, 2);
    f.turned = tb;
    int64_t n = ox_dim(f.w, tb ? 0 : 1);
    bool fits = codes && !ta && alpha == 1.0f && ox_is_affine(k->c, &f) && ox_has_scales(k, 4, 7, n)
        && (!bias || ox_size(bias) == n);
    if (fits) return ox_open_affine(k->c, &f, &p) && ox_give_q_linear(k, &p, 4, 7, bias);

    ox_value *x = ox_coded(k->c, f.x, k->in[1], f.zero_x);
    ox_value *w = ox_coded(k->c, f.w, k->in[4], f.zero_w);
    if (!x || !w) return false;
    w->axis = tb ? 0 : 1;
    samba_tensor *a = ox_tensor(k->c, x), *b = ox_tensor(k->c, w), *sx = ox_in(k, 1);
    samba_tensor *y = samba_matmul_transposed(a, ta, b, tb);
    if (y && bias) {
        samba_tensor *steps = ox_to_f32(ox_tensor(k->c, bias)), *sw = ox_in(k, 4);
        steps = samba_mul(samba_mul(steps, samba_reshape(sx, samba_scalar_shape())), sw);
        y = samba_add(y, steps);
    }
    if (alpha != 1.0f) y = samba_scale(y, alpha);
    return codes ? ox_give_as_codes(k, y, 7, ox_type(k, 0)) : ox_give(k, 0, OX_FLOAT, y);
}

/* ---- DynamicQuantizeLSTM: weights of 8 bits, with a scale for each direction, or each column ----
 */

/* Input i (D,inputs,4H) as numbers, (D,4H,inputs); NULL after a refusal. Its scale and zero are
   inputs `at` and the next. */
static samba_tensor *ox_lstm_weights(ox_node *k, int32_t i, int32_t at)
{
    samba_tensor *codes = ox_in(k, i), *scale = ox_in(k, at);
    samba_tensor *zero = ox_has(k, at + 1) ? ox_in(k, at + 1) : NULL;
    if (!codes || !scale) return NULL;
    bool bytes = ox_is_byte(ox_type(k, i)) && codes->shape.ndim == 3;
    int32_t d = bytes ? codes->shape.dim[0] : 0, columns = bytes ? codes->shape.dim[2] : 0;
    int64_t n = samba_count(&scale->shape);
    bool fits = bytes && (n == d || n == (int64_t)d * columns)
        && (!zero || samba_count(&zero->shape) == n);
    if (!fits) {
        ox_refuse(k, "its weights must be of 8 bits (D,inputs,4H), with scales (D) or (D,4H)");
        return NULL;
    }
    samba_shape each = SAMBA_SHAPE(d, 1, n == d ? 1 : columns);
    if (zero) codes = ox_integers(codes, samba_reshape(zero, each), OX_SUB, OX_INT32);
    samba_tensor *w = samba_mul(ox_to_f32(codes), samba_reshape(scale, each));
    return w ? samba_permute(w, SAMBA_AXES(0, 2, 1)) : NULL;
}

/* Computed in f32 from the numbers that the weights are: onnxruntime rounds x and the state to 8
   bits in each step, which is less exact. */
static bool ox_op_dynamic_lstm(ox_node *k)
{
    bool known = ox_has(k, 1) && ox_has(k, 2) && k->in[1]->known && k->in[2]->known;
    bool tracing = ox_begin_known(k->c, known);
    samba_tensor *w = ox_lstm_weights(k, 1, 8), *r = ox_lstm_weights(k, 2, 10);
    if (samba_ok(k->c->s)) samba_set_tracing(k->c->s, tracing);
    return w && r && ox_unroll(k, w, r);
}
