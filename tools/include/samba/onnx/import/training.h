/* training.h - of onnx_import.h: the ops of ai.onnx.preview.training. */

/* How many tensors are optimized: inputs are R, T, then `each` lists of equal length. */
static int32_t ox_n_optimized(ox_node *k, int32_t each)
{
    int32_t n = (k->n_in - 2) / each;
    if (n >= 1 && k->n_in == 2 + n * each) return n;
    ox_refuse(k, "has a wrong number of inputs");
    return 0;
}

/* norm_coefficient x + gradient */
static samba_tensor *ox_regularized(ox_node *k, samba_tensor *x, samba_tensor *gradient)
{
    return samba_add(samba_scale(x, ox_float(k, "norm_coefficient", 0.0f)), gradient);
}

static samba_tensor *ox_square(samba_tensor *x)
{
    return samba_mul(x, x);
}

static bool ox_op_adagrad(ox_node *k)
{
    int32_t n = ox_n_optimized(k, 3);
    samba_tensor *rate = ox_in(k, 0), *step = ox_to_f32(ox_in(k, 1));
    samba_tensor *slow = samba_shift(samba_scale(step, ox_float(k, "decay_factor", 0.0f)), 1.0f);
    rate = samba_div(rate, slow);
    for (int32_t i = 0; i < n; i++) {
        samba_tensor *x = ox_in(k, 2 + i), *h = ox_in(k, 2 + 2 * n + i);
        samba_tensor *g = ox_regularized(k, x, ox_in(k, 2 + n + i));
        h = samba_add(h, ox_square(g));
        samba_tensor *root = samba_shift(samba_sqrt(h), ox_float(k, "epsilon", 1e-6f));
        x = samba_sub(x, samba_div(samba_mul(rate, g), root));
        if (!ox_give(k, i, ox_type(k, 2 + i), x) || !ox_give(k, n + i, ox_type(k, 2 + i), h))
            return false;
    }
    return n > 0;
}

/* R sqrt(1 - beta^T) / (1 - alpha^T), or R itself before the first step. */
static samba_tensor *ox_adam_rate(ox_node *k, float alpha, float beta)
{
    samba_tensor *rate = ox_in(k, 0), *step = ox_to_f32(ox_in(k, 1));
    samba_tensor *one = samba_number(k->c->s, 1.0f);
    samba_tensor *b = samba_sub(one, samba_pow(samba_number(k->c->s, beta), step));
    samba_tensor *a = samba_sub(one, samba_pow(samba_number(k->c->s, alpha), step));
    samba_tensor *later = samba_div(samba_mul(rate, samba_sqrt(b)), a);
    return samba_where(samba_gt(step, samba_number(k->c->s, 0.0f)), later, rate);
}

static bool ox_op_adam(ox_node *k)
{
    int32_t n = ox_n_optimized(k, 4);
    float alpha = ox_float(k, "alpha", 0.9f), beta = ox_float(k, "beta", 0.999f);
    samba_tensor *rate = ox_adam_rate(k, alpha, beta);
    for (int32_t i = 0; i < n; i++) {
        samba_tensor *x = ox_in(k, 2 + i), *v = ox_in(k, 2 + 2 * n + i);
        samba_tensor *h = ox_in(k, 2 + 3 * n + i);
        samba_tensor *g = ox_regularized(k, x, ox_in(k, 2 + n + i));
        v = ox_blend(v, alpha, g, 1.0f - alpha);
        h = ox_blend(h, beta, ox_square(g), 1.0f - beta);
        samba_tensor *root = samba_shift(samba_sqrt(h), ox_float(k, "epsilon", 1e-6f));
        x = samba_sub(x, samba_div(samba_mul(rate, v), root));
        x = samba_scale(x, 1.0f - ox_float(k, "norm_coefficient_post", 0.0f));
        if (!ox_give(k, i, ox_type(k, 2 + i), x) || !ox_give(k, n + i, ox_type(k, 2 + i), v)
            || !ox_give(k, 2 * n + i, ox_type(k, 2 + i), h))
            return false;
    }
    return n > 0;
}

static bool ox_op_momentum(ox_node *k)
{
    int32_t n = ox_n_optimized(k, 3);
    float alpha = ox_float(k, "alpha", 0.0f), beta = ox_float(k, "beta", 0.0f);
    samba_tensor *rate = ox_in(k, 0), *step = ox_to_f32(ox_in(k, 1));
    samba_tensor *later = samba_gt(step, samba_number(k->c->s, 0.0f));
    samba_tensor *one = samba_number(k->c->s, 1.0f);
    samba_tensor *factor = samba_where(later, samba_number(k->c->s, beta), one);
    for (int32_t i = 0; i < n; i++) {
        samba_tensor *x = ox_in(k, 2 + i), *v = ox_in(k, 2 + 2 * n + i);
        samba_tensor *g = ox_regularized(k, x, ox_in(k, 2 + n + i));
        v = samba_scale(v, alpha);
        v = samba_add(v, samba_mul(factor, g));
        samba_tensor *way = v;
        if (ox_text_is(k, "mode", "standard", "nesterov"))
            way = samba_add(g, samba_scale(v, alpha));
        x = samba_sub(x, samba_mul(rate, way));
        if (!ox_give(k, i, ox_type(k, 2 + i), x) || !ox_give(k, n + i, ox_type(k, 2 + i), v))
            return false;
    }
    return n > 0;
}

/* Gradients of y in the first inputs, which are what `xs` names. */
static bool ox_op_gradient(ox_node *k)
{
    const Onnx__AttributeProto *xs = ox_attribute(k, "xs"), *y = ox_attribute(k, "y");
    if (!xs || !y || !y->has_s) return ox_refuse(k, "needs xs and y");
    char *name = (char *)ox_new(k->c, (int64_t)y->s.len, 1);
    if (!name) return false;
    memcpy(name, y->s.data, y->s.len);
    ox_value *target = ox_lookup(k->c, name);
    if (!target || xs->n_strings > (size_t)k->n_in) return ox_refuse(k, "cannot find %s", name);
    for (int32_t i = 0; i < (int32_t)xs->n_strings && i < k->n_out; i++) {
        samba_tensor *x = ox_in(k, i), *loss = ox_tensor(k->c, target);
        if (!ox_give(k, i, ox_type(k, i), x && loss ? samba_grad(loss, x) : NULL)) return false;
    }
    return true;
}
