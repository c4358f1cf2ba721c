/* norm.h - of onnx_import.h: softmax, normalizations, losses. */

/* ---- Softmax and its kin. Before version 13 all axes from `axis` on count as one ---- */

enum { OX_SOFTMAX, OX_LOG_SOFTMAX, OX_HARDMAX };

static samba_tensor *ox_hardmax(ox_import *c, samba_tensor *x, int32_t axis)
{
    samba_tensor *best = samba_argmax(x, axis, true);
    if (!best) return NULL;
    samba_tensor *steps = ox_steps(c, x->shape.ndim, axis, x->shape.dim[axis], 1);
    return ox_to_f32(ox_integers(best, steps, OX_EQ, OX_INT32));
}

static bool ox_op_softmax(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *y;
    bool old = k->version < 13;
    if (!x || !ox_floats_only(k, 1)) return false;
    int32_t axis = ox_axis(k, ox_int(k, "axis", old ? 1 : -1), x->shape.ndim);
    if (axis < 0) return false;
    samba_tensor *rows = old ? ox_as_rows(x, axis) : x;
    int32_t at = old ? 1 : axis;
    if (k->arg == OX_SOFTMAX)
        y = samba_softmax(rows, at);
    else if (k->arg == OX_LOG_SOFTMAX)
        y = samba_log_softmax(rows, at);
    else
        y = ox_hardmax(k->c, rows, at);
    return ox_give(k, 0, ox_type(k, 0), y ? samba_reshape(y, x->shape) : NULL);
}

/* ---- Statistics ---- */

/* A value for each channel, as (C,1,1...) beside x (N,C,...). */
static samba_tensor *ox_per_channel(samba_tensor *v, const samba_tensor *x)
{
    samba_shape s = samba_scalar_shape();
    if (!v || !x || x->shape.ndim < 2) return v;
    s.ndim = x->shape.ndim - 1;
    for (int32_t d = 1; d < s.ndim; d++)
        s.dim[d] = 1;
    s.dim[0] = (int32_t)samba_count(&v->shape);
    return samba_reshape(v, s);
}

static samba_tensor *ox_variance(samba_tensor *x, samba_tensor *mean, samba_shape axes)
{
    samba_tensor *d = samba_sub(x, mean);
    return d ? samba_mean(samba_mul(d, d), axes, true) : NULL;
}

/* (x - mean) / sqrt(var + eps) * scale + bias. */
static samba_tensor *ox_normalized(samba_tensor *x, samba_tensor *mean, samba_tensor *var,
                                   float eps, samba_tensor *scale, samba_tensor *bias)
{
    samba_tensor *y = samba_sub(x, mean);
    y = samba_mul(y, samba_rsqrt(samba_shift(var, eps)));
    if (scale) y = samba_mul(y, scale);
    return bias ? samba_add(y, bias) : y;
}

/* momentum old + (1 - momentum) new */
static samba_tensor *ox_running(samba_tensor *old, samba_tensor *new_one, float momentum)
{
    if (!old || !new_one) return NULL;
    return ox_blend(old, momentum, samba_reshape(new_one, old->shape), 1.0f - momentum);
}

static bool ox_op_batch_norm(ox_node *k)
{
    samba_tensor *in[5], *x;
    float eps = ox_float(k, "epsilon", 1e-5f), momentum = ox_float(k, "momentum", 0.9f);
    bool asked = ox_asks(k, 1) || ox_asks(k, 2) || ox_asks(k, 3) || ox_asks(k, 4);
    bool train = k->version >= 14 ? ox_int(k, "training_mode", 0) != 0 : asked;
    if (ox_folded_of(k->c, k->p)) return ox_give_value(k, 0, k->in[0]);
    for (int i = 0; i < 5; i++)
        if (!(in[i] = ox_in(k, i))) return false;
    x = in[0];
    if (k->version < 9 && !ox_int(k, "spatial", 1))
        return ox_refuse(k, "with spatial = 0 is not offered");
    samba_tensor *mean = ox_per_channel(in[3], x), *var = ox_per_channel(in[4], x);
    if (train) {
        samba_shape axes = samba_scalar_shape();
        for (int32_t d = 0; d < x->shape.ndim; d++)
            if (d != 1) axes.dim[axes.ndim++] = d;
        if (x->shape.ndim < 2 || samba_count(&x->shape) == x->shape.dim[1])
            return ox_refuse(k,
                             "with training_mode = 1 needs more than one value for each "
                             "channel: the variance of one is 0, and nothing passes; give a larger "
                             "batch, or export the model in evaluation mode");
        mean = samba_mean(x, axes, true);
        var = ox_variance(x, mean, axes);
        if (ox_asks(k, 1) && !ox_give(k, 1, ox_type(k, 3), ox_running(in[3], mean, momentum)))
            return false;
        if (ox_asks(k, 2) && !ox_give(k, 2, ox_type(k, 4), ox_running(in[4], var, momentum)))
            return false;
        if (ox_asks(k, 3) && !ox_give(k, 3, ox_type(k, 3), samba_reshape(mean, in[3]->shape)))
            return false;
        if (ox_asks(k, 4) && !ox_give(k, 4, ox_type(k, 4), samba_reshape(var, in[4]->shape)))
            return false;
    }
    samba_tensor *scale = ox_per_channel(in[1], x), *bias = ox_per_channel(in[2], x);
    return ox_give(k, 0, ox_type(k, 0), ox_normalized(x, mean, var, eps, scale, bias));
}

static bool ox_op_instance_norm(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *scale = ox_in(k, 1), *bias = ox_in(k, 2);
    samba_shape axes = samba_scalar_shape();
    if (!x || !scale || !bias) return false;
    if (x->shape.ndim < 3) return ox_refuse(k, "needs at least 3 dimensions");
    for (int32_t d = 2; d < x->shape.ndim; d++)
        axes.dim[axes.ndim++] = d;
    samba_tensor *mean = samba_mean(x, axes, true), *var = ox_variance(x, mean, axes);
    float eps = ox_float(k, "epsilon", 1e-5f);
    scale = ox_per_channel(scale, x);
    bias = ox_per_channel(bias, x);
    return ox_give(k, 0, ox_type(k, 0), ox_normalized(x, mean, var, eps, scale, bias));
}

static bool ox_op_layer_norm(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *w = ox_in(k, 1), *b = ox_has(k, 2) ? ox_in(k, 2) : NULL;
    float eps = ox_float(k, "epsilon", 1e-5f);
    int32_t axis = x && w ? ox_axis(k, ox_int(k, "axis", -1), x->shape.ndim) : -1;
    if (axis < 0) return false;
    samba_tensor *rows = ox_as_rows(x, axis);
    int64_t n = rows ? rows->shape.dim[1] : 0;
    bool whole = samba_count(&w->shape) == n && (!b || samba_count(&b->shape) == n);
    samba_tensor *flat_w = whole ? ox_flat(w) : NULL, *flat_b = whole && b ? ox_flat(b) : NULL;
    samba_tensor *y = samba_layer_normalize(rows, flat_w, flat_b, eps);
    y = y ? samba_reshape(y, x->shape) : NULL;
    if (!whole) y = samba_mul(y, w);
    if (!whole && b) y = samba_add(y, b);
    if (!ox_give(k, 0, ox_type(k, 0), y)) return false;
    if (!ox_asks(k, 1) && !ox_asks(k, 2)) return true;
    samba_shape kept = x->shape;
    for (int32_t d = axis; d < kept.ndim; d++)
        kept.dim[d] = 1;
    samba_tensor *mean = samba_mean(rows, SAMBA_AXES(1), true);
    samba_tensor *scale = samba_rsqrt(samba_shift(ox_variance(rows, mean, SAMBA_AXES(1)), eps));
    return scale && ox_give(k, 1, OX_FLOAT, samba_reshape(mean, kept))
        && ox_give(k, 2, OX_FLOAT, samba_reshape(scale, kept));
}

/* Sums over neighbouring channels: a product with a band matrix. */
static bool ox_op_lrn(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    int64_t size = ox_int(k, "size", 0);
    if (!x || !ox_floats_only(k, 1)) return false;
    if (x->shape.ndim < 3 || size < 1 || x->shape.dim[1] > 4096)
        return ox_refuse(k, "needs (N,C,...) and a size");
    int32_t n = x->shape.dim[1];
    float *band = (float *)ox_new(k->c, (int64_t)n * n, sizeof *band);
    for (int64_t i = 0; band && i < n; i++)
        for (int64_t j = 0; j < n; j++)
            band[i * n + j] = j >= i - (size - 1) / 2 && j <= i + size / 2;
    samba_tensor *sums = ox_mix(k->c, ox_to_last(samba_mul(x, x), 1), band, n, n);
    sums = samba_scale(ox_from_last(sums, 1), ox_float(k, "alpha", 1e-4f) / (float)size);
    samba_tensor *power = samba_number(k->c->s, ox_float(k, "beta", 0.75f));
    samba_tensor *base = samba_shift(sums, ox_float(k, "bias", 1.0f));
    return ox_give(k, 0, ox_type(k, 0), samba_div(x, samba_pow(base, power)));
}

static bool ox_op_mean_variance(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    int32_t n = 0;
    const int64_t *given = ox_ints(k, "axes", &n);
    static const int64_t usual[3] = { 0, 2, 3 };
    samba_shape axes = samba_scalar_shape();
    if (!x || !ox_floats_only(k, 1)) return false;
    if (!given) {
        given = usual;
        n = 3;
    }
    for (int32_t i = 0; i < n && i < SAMBA_MAX_DIMS; i++) {
        axes.dim[axes.ndim++] = ox_axis(k, given[i], x->shape.ndim);
        if (axes.dim[i] < 0) return false;
    }
    samba_tensor *mean = samba_mean(x, axes, true);
    samba_tensor *deviation = samba_sqrt(ox_variance(x, mean, axes));
    deviation = samba_shift(deviation, 1e-9f);
    samba_tensor *y = samba_div(samba_sub(x, mean), deviation);
    return ox_give(k, 0, ox_type(k, 0), y);
}

static bool ox_op_lp_normalization(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *norm;
    int32_t axis = x ? ox_axis(k, ox_int(k, "axis", -1), x->shape.ndim) : -1;
    if (axis < 0 || !ox_floats_only(k, 1)) return false;
    if (ox_int(k, "p", 2) == 1)
        norm = samba_sum(samba_abs(x), SAMBA_AXES(axis), true);
    else
        norm = samba_sqrt(samba_sum(samba_mul(x, x), SAMBA_AXES(axis), true));
    samba_tensor *zero = samba_number(k->c->s, 0.0f), *empty = samba_eq(norm, zero);
    return ox_give(k, 0, ox_type(k, 0), samba_where(empty, zero, samba_div(x, norm)));
}

/* ---- Losses ---- */

/* The weight of each target: 0 where it is ignored. NULL: all count 1. */
static samba_tensor *ox_target_weights(ox_node *k, samba_tensor *target, samba_tensor *valid)
{
    samba_tensor *w = ox_has(k, 2) ? ox_in(k, 2) : NULL;
    if (w) w = ox_take(w, target, 0.0f);
    if (!valid) return w;
    samba_tensor *one = samba_number(k->c->s, 1.0f), *zero = samba_number(k->c->s, 0.0f);
    return samba_where(valid, w ? w : one, zero);
}

/* logp (N,C,...), target (N,...) -> the negative log likelihood, reduced as the node says. */
static samba_tensor *ox_nll(ox_node *k, samba_tensor *logp, samba_tensor *target)
{
    samba_tensor *valid = NULL, *at = target;
    if (!logp || !target || logp->shape.ndim != target->shape.ndim + 1) {
        ox_refuse(k, "needs scores (N,C,...) and targets (N,...)");
        return NULL;
    }
    if (ox_attribute(k, "ignore_index")) {
        samba_tensor *ignored = ox_i32_scalar(k->c, (int32_t)ox_int(k, "ignore_index", 0));
        samba_tensor *same = ox_integers(target, ignored, OX_EQ, OX_INT32);
        valid = samba_eq(same, samba_number(k->c->s, 0.0f));
        at = ox_select(valid, target, ox_i32_scalar(k->c, 0));
    }
    samba_tensor *rows = ox_to_last(logp, 1);
    int32_t classes = logp->shape.dim[1], n = (int32_t)samba_count(&target->shape);
    samba_tensor *flat = at ? samba_reshape(at, SAMBA_SHAPE(n)) : NULL;
    samba_tensor *places = flat ? ox_plus(flat, ox_steps(k->c, 1, 0, n, classes)) : NULL;
    samba_tensor *loss = samba_neg(ox_take(ox_flat(rows), places, 0.0f));
    samba_tensor *w = ox_target_weights(k, flat, valid ? ox_flat(valid) : NULL);
    if (w) loss = samba_mul(loss, samba_expand(w, SAMBA_SHAPE(n)));
    samba_tensor *zero = valid ? samba_number(k->c->s, 0.0f) : NULL;
    if (valid) loss = samba_where(ox_flat(valid), loss, zero);
    if (ox_text_is(k, "reduction", "mean", "none"))
        return loss ? samba_reshape(loss, target->shape) : NULL;
    samba_tensor *sum = samba_sum(loss, SAMBA_ALL_AXES, false);
    if (ox_text_is(k, "reduction", "mean", "sum")) return sum;
    if (!w) return samba_scale(sum, 1.0f / (float)n);
    return samba_div(sum, samba_sum(samba_expand(w, SAMBA_SHAPE(n)), SAMBA_ALL_AXES, false));
}

static bool ox_op_nll_loss(ox_node *k)
{
    samba_tensor *logp = ox_in(k, 0), *target = ox_in(k, 1);
    return ox_give(k, 0, ox_type(k, 0), ox_nll(k, logp, target));
}

static bool ox_op_softmax_loss(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *target = ox_in(k, 1);
    if (!x || x->shape.ndim < 2) return x && ox_refuse(k, "needs scores (N,C,...)");
    samba_tensor *logp = samba_log_softmax(x, 1);
    if (ox_asks(k, 1) && !ox_give(k, 1, ox_type(k, 0), logp)) return false;
    return ox_give(k, 0, ox_type(k, 0), ox_nll(k, logp, target));
}
