/* transformer.h - of onnx_import.h: what language models are made of, since op set 21: RMS and
   group normalization, rotary positions, gated activations, attention. All of it is computed as
   f32. */

static bool ox_op_rms_norm(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *scale = ox_in(k, 1);
    if (!x || !scale || !ox_floats_only(k, 2)) return false;
    int32_t axis = ox_axis(k, ox_int(k, "axis", -1), x->shape.ndim);
    if (axis < 0) return false;
    samba_tensor *rows = ox_as_rows(x, axis);
    samba_tensor *mean = samba_mean(samba_mul(rows, rows), SAMBA_AXES(1), true);
    samba_tensor *y
        = samba_mul(rows, samba_rsqrt(samba_shift(mean, ox_float(k, "epsilon", 1e-5f))));
    y = y ? samba_reshape(y, x->shape) : NULL;
    return ox_give(k, 0, ox_type(k, 0), samba_mul(y, scale));
}

/* Before version 21 scale and bias are those of the groups, since then those of the channels. */
static bool ox_op_group_norm(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *scale = ox_in(k, 1), *bias = ox_in(k, 2);
    int64_t groups = ox_int(k, "num_groups", 0);
    if (!x || !scale || !bias || !ox_floats_only(k, 3)) return false;
    if (x->shape.ndim < 2 || groups < 1 || x->shape.dim[1] % groups)
        return ox_refuse(k, "needs (N,C,...) and num_groups that divides C");
    int32_t n = x->shape.dim[0], c = x->shape.dim[1], g = (int32_t)groups;
    int64_t want = k->version < 21 ? g : c;
    if (samba_count(&scale->shape) != want || samba_count(&bias->shape) != want)
        return ox_refuse(k, "its scale and bias must have %lld values", (long long)want);
    int32_t each = (int32_t)(samba_count(&x->shape) / n / g);
    samba_tensor *rows = samba_reshape(x, SAMBA_SHAPE(n, g, each));
    samba_tensor *mean = samba_mean(rows, SAMBA_AXES(2), true);
    samba_tensor *var = ox_variance(rows, mean, SAMBA_AXES(2));
    samba_tensor *y = ox_normalized(rows, mean, var, ox_float(k, "epsilon", 1e-5f), NULL, NULL);
    if (k->version < 21) {
        y = samba_mul(y, samba_reshape(scale, SAMBA_SHAPE(g, 1)));
        y = samba_add(y, samba_reshape(bias, SAMBA_SHAPE(g, 1)));
        return ox_give(k, 0, ox_type(k, 0), y ? samba_reshape(y, x->shape) : NULL);
    }
    y = y ? samba_reshape(y, x->shape) : NULL;
    y = samba_mul(y, ox_per_channel(scale, x));
    return ox_give(k, 0, ox_type(k, 0), samba_add(y, ox_per_channel(bias, x)));
}

/* x sigmoid(alpha x) */
static samba_tensor *ox_swish(samba_tensor *x, float alpha)
{
    return samba_mul(x, samba_sigmoid(samba_scale(x, alpha)));
}

static bool ox_op_swish(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    return x && ox_floats_only(k, 1)
        && ox_give(k, 0, ox_type(k, 0), ox_swish(x, ox_float(k, "alpha", 1.0f)));
}

static bool ox_op_swiglu(ox_node *k)
{
    samba_tensor *a = ox_in(k, 0), *b = ox_in(k, 1);
    if (!a || !b || !ox_floats_only(k, 2)) return false;
    return ox_give(k, 0, ox_type(k, 0), samba_mul(ox_swish(a, ox_float(k, "alpha", 1.0f)), b));
}

/* ---- Rotary positions ---- */

/* Of x (B,S,H,d) pairs of entries i and i + d/2, or 2i and 2i + 1, are turned by angles whose
   cosines and sines are (B,S,1,d/2). */
static samba_tensor *ox_rotated(samba_tensor *x, samba_tensor *cosine, samba_tensor *sine,
                                bool interleaved)
{
    if (!x || !cosine || !sine) return NULL;
    samba_shape s = x->shape, pairs = s;
    int32_t half = s.dim[3] / 2, axis = interleaved ? 4 : 3;
    pairs.ndim = 5;
    pairs.dim[3] = interleaved ? half : 2;
    pairs.dim[4] = interleaved ? 2 : half;
    samba_shape part = s;
    part.dim[3] = half;
    samba_tensor *two = samba_reshape(x, pairs);
    samba_tensor *re = samba_reshape(samba_slice(two, axis, 0, 1, 1), part);
    samba_tensor *im = samba_reshape(samba_slice(two, axis, 1, 2, 1), part);
    samba_tensor *kept = samba_mul(cosine, re), *turned = samba_mul(sine, im);
    samba_tensor *new_re = samba_sub(kept, turned);
    turned = samba_mul(sine, re);
    kept = samba_mul(cosine, im);
    samba_tensor *new_im = samba_add(turned, kept);
    if (!new_re || !new_im) return NULL;

    samba_tensor *both[2];
    pairs.dim[axis] = 1;
    both[0] = samba_reshape(new_re, pairs);
    both[1] = samba_reshape(new_im, pairs);
    return samba_reshape(samba_cat(both, 2, axis), s);
}

/* The cache of input i as (B,S,1,half): rows that positions choose, or one for each token. */
static samba_tensor *ox_angles(ox_node *k, int32_t i, int32_t batch, int32_t length, int32_t half)
{
    samba_tensor *cache = ox_in(k, i), *index = ox_has(k, 3) ? ox_in(k, 3) : NULL;
    if (!cache || (ox_has(k, 3) && !index)) return NULL;
    if (index && cache->shape.ndim == 2) {
        index = ox_wrap_index(k->c, ox_to_i32(index), cache->shape.dim[0]);
        cache = ox_gather_axis(cache, index, 0);
    }
    if (!cache) return NULL;
    if (samba_count(&cache->shape) != (int64_t)batch * length * half) {
        ox_refuse(k, "its caches must have half of rotary_embedding_dim, %d, for each token", half);
        return NULL;
    }
    return samba_reshape(cache, SAMBA_SHAPE(batch, length, 1, half));
}

static bool ox_op_rotary(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    int64_t heads = ox_int(k, "num_heads", 0), turned = ox_int(k, "rotary_embedding_dim", 0);
    if (!x || !ox_floats_only(k, 3)) return false;
    samba_shape shape = x->shape;
    bool four = shape.ndim == 4;
    if (four)
        x = samba_permute(x, SAMBA_AXES(0, 2, 1, 3));
    else if (shape.ndim == 3 && heads > 0 && shape.dim[2] % heads == 0)
        x = samba_reshape(
            x,
            SAMBA_SHAPE(shape.dim[0], shape.dim[1], (int32_t)heads, shape.dim[2] / (int32_t)heads));
    else
        return ox_refuse(k, "needs (B,H,S,D), or (B,S,H D) and num_heads");
    if (!x) return false;
    int32_t d = x->shape.dim[3], r = turned ? (int32_t)turned : d;
    if (turned < 0 || turned > d || r % 2)
        return ox_refuse(k, "its rotary_embedding_dim must be even, and at most %d", d);
    samba_tensor *cosine = ox_angles(k, 1, x->shape.dim[0], x->shape.dim[1], r / 2);
    samba_tensor *sine = ox_angles(k, 2, x->shape.dim[0], x->shape.dim[1], r / 2);
    samba_tensor *head = r < d ? samba_slice(x, 3, 0, r, 1) : x;
    samba_tensor *y = ox_rotated(head, cosine, sine, ox_int(k, "interleaved", 0) != 0);
    if (r < d) {
        samba_tensor *both[2] = { y, samba_slice(x, 3, r, d, 1) };
        y = y && both[1] ? samba_cat(both, 2, 3) : NULL;
    }
    if (y && four) y = samba_permute(y, SAMBA_AXES(0, 2, 1, 3));
    return ox_give(k, 0, ox_type(k, 0), y ? samba_reshape(y, shape) : NULL);
}

/* ---- Attention ---- */

/* Input i as (B,H,S,D). */
static samba_tensor *ox_heads(ox_node *k, int32_t i, const char *heads)
{
    samba_tensor *x = ox_in(k, i);
    int64_t n = ox_int(k, heads, 0);
    if (!x || x->shape.ndim == 4) return x;
    if (x->shape.ndim != 3 || n < 1 || x->shape.dim[2] % n) {
        ox_refuse(k, "needs (B,H,S,D), or (B,S,H D) and %s", heads);
        return NULL;
    }
    samba_shape s
        = SAMBA_SHAPE(x->shape.dim[0], x->shape.dim[1], (int32_t)n, x->shape.dim[2] / (int32_t)n);
    return samba_permute(samba_reshape(x, s), SAMBA_AXES(0, 2, 1, 3));
}

/* Keys or values, the earlier ones (input past) in front; output o gets them. */
static samba_tensor *ox_present(ox_node *k, samba_tensor *x, int32_t past, int32_t o)
{
    if (x && ox_has(k, past)) {
        samba_tensor *both[2] = { ox_in(k, past), x };
        x = both[0] ? samba_cat(both, 2, 2) : NULL;
    }
    return x && (!ox_asks(k, o) || ox_give(k, o, ox_type(k, o), x)) ? x : NULL;
}

/* x (B,h,T,D) for H heads: each of x serves H / h of them. */
static samba_tensor *ox_for_heads(ox_node *k, samba_tensor *x, int32_t heads)
{
    if (!x || x->shape.dim[1] == heads) return x;
    int32_t b = x->shape.dim[0], h = x->shape.dim[1], t = x->shape.dim[2], d = x->shape.dim[3];
    if (heads % h) {
        ox_refuse(k, "has %d heads of queries and %d of keys", heads, h);
        return NULL;
    }
    x = samba_expand(samba_reshape(x, SAMBA_SHAPE(b, h, 1, t, d)),
                     SAMBA_SHAPE(b, h, heads / h, t, d));
    return samba_reshape(x, SAMBA_SHAPE(b, heads, t, d));
}

static samba_tensor *ox_both(samba_tensor *a, samba_tensor *b)
{
    return a ? ox_integers(a, b, OX_AND, OX_INT32) : b;
}

/* 1 where query i may see key j, else 0, as i32; NULL: everywhere. It sees none behind
   i + offset (causal) or a window, and none that is padding. */
static bool ox_visible(ox_node *k, int32_t queries, int32_t keys, int32_t past,
                       samba_tensor **visible)
{
    ox_import *c = k->c;
    int64_t left = ox_int(k, "left_window_size", -1), right = ox_int(k, "right_window_size", -1);
    samba_tensor *offset = ox_i32_scalar(c, past), *filled = NULL;
    samba_tensor *i = ox_steps(c, 2, 0, queries, 1), *j = ox_steps(c, 2, 1, keys, 1);
    *visible = NULL;
    if (ox_has(k, 6)) {
        filled = ox_to_i32(ox_in(k, 6));
        filled = filled ? samba_reshape(filled, SAMBA_SHAPE(filled->shape.dim[0], 1, 1, 1)) : NULL;
        *visible = ox_integers(j, filled, OX_LT, OX_INT32);
        offset = ox_integers(filled, ox_i32_scalar(c, queries), OX_SUB, OX_INT32);
    }
    samba_tensor *at = ox_plus(i, offset); /* of the query, among the keys */
    if (ox_int(k, "is_causal", 0))
        *visible = ox_both(*visible, ox_integers(j, at, OX_LE, OX_INT32));
    if (right >= 0 && right < keys) {
        samba_tensor *last = ox_plus(at, ox_i32_scalar(c, (int32_t)right));
        *visible = ox_both(*visible, ox_integers(j, last, OX_LE, OX_INT32));
    }
    if (left >= 0 && left < (int64_t)keys + queries) {
        samba_tensor *first = ox_plus(at, ox_i32_scalar(c, -(int32_t)left));
        *visible = ox_both(*visible, ox_integers(j, first, OX_GE, OX_INT32));
    }
    return samba_ok(c->s);
}

/* 1 where an added mask leaves something to see: it is not -infinity. */
static samba_tensor *ox_open_places(samba_tensor *mask)
{
    if (!mask) return NULL;
    samba_tensor *shut = samba_number(mask->session, -INFINITY);
    return ox_to_i32(samba_gt(mask, shut));
}

/* Scores plus the mask, -infinity where it hides: input 3, whose last dimension may be shorter.
 *visible becomes 0 where it does, too. */
static samba_tensor *ox_masked(ox_node *k, samba_tensor *scores, samba_tensor **visible)
{
    int32_t keys = scores->shape.dim[3];
    samba_tensor *hidden = samba_number(k->c->s, -INFINITY), *shown = *visible;
    samba_tensor *mask = ox_has(k, 3) ? ox_in(k, 3) : NULL;
    if (ox_has(k, 3) && !mask) return NULL;
    if (mask) {
        bool chooses = mask->dtype == SAMBA_BOOL;
        int32_t last = mask->shape.ndim - 1, n = last < 0 ? 1 : mask->shape.dim[last];
        if (chooses) mask = ox_to_i32(mask);
        if (n > 1 && n < keys)
            mask = ox_pad_axis(k, mask, last, 0, keys - n, OX_PAD_CONSTANT,
                               chooses ? 0 : samba_float_attr(-INFINITY));
        if (chooses)
            shown = ox_both(shown, mask);
        else
            scores = samba_add(scores, mask);
        *visible = chooses ? shown : ox_both(shown, ox_open_places(mask));
    }
    if (!shown || !scores) return scores;
    return ox_select(samba_cast(shown, SAMBA_BOOL), scores, hidden);
}

/* A row that sees nothing becomes zeros, not NaN. It is one by what is visible, not by its scores:
   those that overflow are no reason to hide that. */
static samba_tensor *ox_attention_weights(samba_tensor *scores, samba_tensor *visible)
{
    if (!scores || !visible || visible->shape.ndim < 1) return samba_softmax(scores, 3);
    samba_tensor *zero = samba_number(scores->session, 0.0f);
    samba_tensor *sees = ox_fold(visible, OX_FOLD_MAX);
    sees = sees ? samba_unsqueeze(sees, sees->shape.ndim) : NULL;
    sees = sees ? samba_cast(sees, SAMBA_BOOL) : NULL;
    samba_tensor *weights = samba_softmax(ox_select(sees, scores, zero), 3);
    return ox_select(sees, weights, zero);
}

static bool ox_op_attention(ox_node *k)
{
    samba_tensor *q = ox_heads(k, 0, "q_num_heads"), *visible;
    samba_tensor *keys = ox_present(k, ox_heads(k, 1, "kv_num_heads"), 4, 1);
    samba_tensor *values = ox_present(k, ox_heads(k, 2, "kv_num_heads"), 5, 2);
    int64_t mode = ox_int(k, "qk_matmul_output_mode", 0);
    if (!q || !keys || !values || !ox_floats_only(k, 3)) return false;
    if (ox_has(k, 4) != ox_has(k, 5) || (ox_has(k, 4) && ox_has(k, 6)))
        return ox_refuse(k, "needs past_key with past_value, or nonpad_kv_seqlen alone");
    int32_t H = q->shape.dim[1], S = q->shape.dim[2], T = keys->shape.dim[2], D = q->shape.dim[3];
    int32_t past = ox_has(k, 4) ? k->in[4]->t->shape.dim[2] : 0;
    keys = ox_for_heads(k, keys, H);
    values = ox_for_heads(k, values, H);
    float scale = ox_float(k, "scale", 1.0f / sqrtf((float)D)), cap = ox_float(k, "softcap", 0.0f);
    samba_tensor *stage[4], *turned = keys ? samba_permute(keys, SAMBA_AXES(0, 1, 3, 2)) : NULL;
    stage[0] = samba_scale(samba_matmul(q, turned), scale);
    stage[1]
        = cap != 0.0f ? samba_scale(samba_tanh(samba_scale(stage[0], 1.0f / cap)), cap) : stage[0];
    if (!stage[1] || !values || !ox_visible(k, S, T, past, &visible)) return false;
    stage[2] = ox_masked(k, stage[1], &visible);
    stage[3] = ox_attention_weights(stage[2], visible);
    if (mode < 0 || mode > 3) return ox_refuse(k, "its qk_matmul_output_mode is out of range");
    if (ox_asks(k, 3) && !ox_give(k, 3, ox_type(k, 0), stage[mode])) return false;
    samba_tensor *y = samba_matmul(stage[3], values);
    if (y && k->in[0]->t->shape.ndim == 3) {
        int32_t wide = H * y->shape.dim[3];
        y = samba_permute(y, SAMBA_AXES(0, 2, 1, 3));
        y = samba_reshape(y, SAMBA_SHAPE(q->shape.dim[0], S, wide));
    }
    return ox_give(k, 0, ox_type(k, 0), y);
}
