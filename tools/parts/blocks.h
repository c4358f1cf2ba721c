/* ==== [blocks] ================================================================================ */
/* Made of ops, too: normalization by groups, transposed convolution, interpolation, rotary
   embedding, attention of groups of heads. */
/* v (C) as (C,1,1 ...), to go with x (N,C,*). */
SAMBA__FN samba_tensor *samba__as_channels(samba_tensor *v, const samba_tensor *x)
{
    samba_shape shape = samba_scalar_shape();
    if (!v || !x) return NULL;
    samba__push_dim(&shape, -1);
    for (int32_t i = 2; i < x->shape.ndim; i++)
        samba__push_dim(&shape, 1);
    return samba_reshape(v, shape);
}

/* ---- Normalization: a group is a row of layer_norm ---- */
SAMBA_API samba_tensor *samba_group_normalize(samba_tensor *x, int32_t groups, samba_tensor *w,
                                              samba_tensor *b, float eps)
{
    if (!x || !samba_ok(x->session)) return NULL;
    if (x->shape.ndim < 2 || groups < 1 || x->shape.dim[1] % groups) {
        samba_fail(x->session, SAMBA_ESHAPE,
                   "in samba_group_normalize: %s %S must be (N,C,*), and C a multiple of groups %d",
                   x->name, &x->shape, groups);
        return NULL;
    }

    const int32_t dim[3] = { x->shape.dim[0], groups, -1 };
    samba_tensor *rows = samba_reshape(x, samba__shape_of(dim, 3));
    samba_tensor *y = samba_reshape(samba_layer_normalize(rows, NULL, NULL, eps), x->shape);
    if (w) y = samba_mul(y, samba__as_channels(w, x));
    if (b) y = samba_add(y, samba__as_channels(b, x));
    return y;
}

SAMBA_API samba_tensor *samba_instance_normalize(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                                 float eps)
{
    int32_t channels = x && x->shape.ndim > 1 ? x->shape.dim[1] : 0;
    return samba_group_normalize(x, channels, w, b, eps);
}

SAMBA_API samba_tensor *samba_groupnorm(samba_tensor *x, const char *name, int32_t groups)
{
    int32_t n = x ? samba__layer_size(x, name, 1) : 0;
    if (!n) return NULL;
    samba_tensor *w = samba__layer_vector(x, name, "weight", n, SAMBA__WEIGHT, 1.0f);
    samba_tensor *b = samba__layer_vector(x, name, "bias", n, SAMBA__WEIGHT, 0.0f);
    samba_tensor *y = samba_group_normalize(x, groups, w, b, 1e-5f);
    return samba__layer_called(y, name, SAMBA__OP_layer_norm, w);
}

/* ---- Transposed convolution: what a convolution with these weights sends back to its input ----
 */
/* How long the result is along axis i of the spatial ones. */
SAMBA__FN int64_t samba__transposed_size(const samba_tensor *x, const samba_tensor *w,
                                         const samba_conv_transpose_opts *o, int32_t i)
{
    int64_t stride = o->stride[i] ? o->stride[i] : 1, n = x->shape.dim[2 + i];
    int64_t dilation = o->dilation[i] ? o->dilation[i] : 1, kernel = w->shape.dim[2 + i];
    return (n - 1) * stride - 2 * (int64_t)o->padding[i] + dilation * (kernel - 1)
        + o->output_padding[i] + 1;
}

SAMBA_API samba_tensor *samba_conv_transpose(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                             const samba_conv_transpose_opts *opts)
{
    samba_conv_transpose_opts o = SAMBA__ZEROED;
    samba_conv_opts forward = SAMBA__ZEROED;
    if (!x || !w || !samba_ok(x->session)) return NULL;
    if (opts) o = *opts;

    int32_t n = x->shape.ndim, groups = o.groups ? o.groups : 1;
    samba_shape y_shape = x->shape;
    bool fits = n >= 3 && n <= 4 && w->shape.ndim == n && w->shape.dim[0] == x->shape.dim[1];
    for (int32_t i = 0; fits && i < n - 2; i++) {
        int64_t size = samba__transposed_size(x, w, &o, i);
        int32_t stride = o.stride[i] ? o.stride[i] : 1;
        fits = size > 0 && size <= INT32_MAX && o.output_padding[i] >= 0
            && (o.output_padding[i] < stride || o.output_padding[i] < o.dilation[i]);
        y_shape.dim[2 + i] = (int32_t)size;
    }

    if (!fits) {
        samba_fail(
            x->session, SAMBA_ESHAPE,
            "in samba_conv_transpose(%s %S, %s %S): x (N,C,H,W) and weights (C,O/groups,KH,KW) are needed, and output_padding below stride or dilation",
            x->name, &x->shape, w->name, &w->shape);
        return NULL;
    }

    for (int i = 0; i < 2; i++) {
        forward.stride[i] = o.stride[i];
        forward.padding[i] = o.padding[i];
        forward.dilation[i] = o.dilation[i];
    }
    forward.groups = groups;
    y_shape.dim[1] = w->shape.dim[1] * groups;
    samba_tensor *y = samba_convolution_backward_input(x, w, y_shape, &forward);
    return b ? samba_add(y, samba__as_channels(b, y)) : y;
}

SAMBA__FN samba_tensor *samba__conv_transpose_layer(samba_tensor *x, const char *name, int32_t o,
                                                    int32_t kernel, int32_t spatial,
                                                    const samba_conv_transpose_opts *opts)
{
    int32_t c = x ? samba__layer_size(x, name, 1) : 0;
    int32_t groups = opts && opts->groups > 0 ? opts->groups : 1;
    if (!c) return NULL;
    if (o < 1 || o % groups) {
        samba_fail(x->session, SAMBA_ESHAPE,
                   "in layer %s: its %d channels cannot be split into groups %d", name, o, groups);
        return NULL;
    }

    const int32_t dim[4] = { c, o / groups, kernel, kernel };
    samba_shape w_shape = samba__shape_of(dim, 2 + spatial), b_shape = samba__shape_of(&o, 1);
    double taps = spatial == 2 ? (double)kernel * kernel : kernel, fan_in = o / groups * taps;
    samba_init init = samba__init_of_layer(fan_in);
    samba_tensor *w = samba__layer_param(x->session, name, "weight", &w_shape, SAMBA__WEIGHT, init);
    samba_tensor *b = samba__layer_param(x->session, name, "bias", &b_shape, SAMBA__WEIGHT, init);
    samba_tensor *y = samba_conv_transpose(x, w, b, opts);
    return samba__layer_called(y, name, SAMBA__OP_convolution_backward_input, w);
}

SAMBA_API samba_tensor *samba_conv_transpose2d(samba_tensor *x, const char *name, int32_t o,
                                               int32_t kernel,
                                               const samba_conv_transpose_opts *opts)
{
    return samba__conv_transpose_layer(x, name, o, kernel, 2, opts);
}

SAMBA_API samba_tensor *samba_conv_transpose1d(samba_tensor *x, const char *name, int32_t o,
                                               int32_t kernel,
                                               const samba_conv_transpose_opts *opts)
{
    return samba__conv_transpose_layer(x, name, o, kernel, 1, opts);
}

/* ---- Interpolation: rows, and columns, of x by their numbers ---- */
SAMBA__FN samba_tensor *samba__select_at(samba_tensor *x, int32_t axis, samba_tensor *at)
{
    return samba_index_select(x, axis, samba_cast(at, SAMBA_I32));
}

/* Along one axis, whose element i lies at i n / out. */
SAMBA__FN samba_tensor *samba__nearest_along(samba_tensor *x, int32_t axis, int32_t out)
{
    int32_t n = x->shape.dim[axis];
    volatile float step = (float)n / (float)out; /* see samba__attention_scale */
    if (n == out) return x;

    samba_tensor *at = samba_floor(samba_arange(x->session, out, 0.0f, step));
    return samba__select_at(x, axis, samba_minimum(at, samba__number_for(x, (float)(n - 1))));
}

/* Along one axis: (1 - t) x[i] + t x[i + 1], as x[i] + t (x[i + 1] - x[i]) of an infinity would be
   NaN. */
SAMBA__FN samba_tensor *samba__linear_along(samba_tensor *x, int32_t axis, int32_t out,
                                            bool align_corners)
{
    int32_t n = x->shape.dim[axis];
    volatile float step = (float)n / (float)out, start = 0.0f;
    if (n == out) return x;
    if (align_corners) step = out > 1 ? (float)(n - 1) / (float)(out - 1) : 0.0f;
    if (!align_corners) start = 0.5f * step - 0.5f;

    samba_tensor *place = samba_arange(x->session, out, start, step);
    place = samba_maximum(place, samba__number_for(x, 0.0f));
    samba_tensor *last = samba__number_for(x, (float)(n - 1));
    samba_tensor *below = samba_minimum(samba_floor(place), last);
    samba_tensor *above = samba_minimum(samba_shift(below, 1.0f), last);
    samba_tensor *share = samba_sub(place, below);
    share = samba_reshape(share, samba__shape_of(&out, 1));
    for (int32_t i = axis + 1; i < x->shape.ndim; i++)
        share = samba_unsqueeze(share, -1);

    samba_tensor *first = samba__select_at(x, axis, below);
    samba_tensor *second = samba__select_at(x, axis, above);
    first = samba_mul(first, samba_shift(samba_neg(share), 1.0f));
    return samba_add(first, samba_mul(second, share));
}

SAMBA_API samba_tensor *samba_interpolate(samba_tensor *x, int32_t out_h, int32_t out_w,
                                          samba_interpolation mode, bool align_corners)
{
    const int32_t out[2] = { out_h, out_w };
    if (!x || !samba_ok(x->session)) return NULL;
    int32_t n = x->shape.ndim;
    if (n < 3 || n > 4 || out_h < 1 || (n == 4 && out_w < 1) || (unsigned)mode > SAMBA_BILINEAR) {
        samba_fail(x->session, SAMBA_ESHAPE,
                   "in samba_interpolate(%s %S): (N,C,H,W) or (N,C,L) cannot be made (%d,%d)",
                   x->name, &x->shape, out_h, out_w);
        return NULL;
    }

    for (int32_t axis = 2; axis < n && x; axis++) {
        int32_t size = out[axis - 2];
        x = mode == SAMBA_NEAREST ? samba__nearest_along(x, axis, size)
                                  : samba__linear_along(x, axis, size, align_corners);
    }
    return x;
}

/* ---- Rotary embedding: Su et al., "RoFormer", 2021 ---- */
SAMBA_API samba_tensor *samba_rotary(samba_tensor *x, samba_tensor *positions, float base,
                                     bool interleaved)
{
    if (!x || !samba_ok(x->session)) return NULL;
    samba_session *s = x->session;
    int32_t n = x->shape.ndim, d = n ? x->shape.dim[n - 1] : 0, t = n > 1 ? x->shape.dim[n - 2] : 0;
    bool placed = !positions || (positions->shape.ndim == 1 && positions->shape.dim[0] == t);
    if (n < 2 || n > SAMBA_MAX_DIMS - 1 || d % 2 || !placed || !(base > 0.0f)) {
        samba_fail(
            s, SAMBA_ESHAPE,
            "in samba_rotary(%s %S): (*,T,D) with D even, positions (T) and a base above 0 are needed",
            x->name, &x->shape);
        return NULL;
    }

    volatile float step = -2.0f / (float)d; /* see samba__attention_scale */
    samba_tensor *pair = samba_arange(s, d / 2, 0.0f, step);
    samba_tensor *speed = samba_pow(samba_number(s, base), pair);
    if (!positions) positions = samba_arange(s, t, 0.0f, 1.0f);
    samba_tensor *angle = samba_mul(samba_unsqueeze(positions, 1), speed); /* (T,D/2) */
    if (interleaved) angle = samba_unsqueeze(angle, -1);
    samba_tensor *cosine = samba_cos(angle), *sine = samba_sin(angle);

    samba_shape pairs = x->shape;
    int32_t axis = n - 1;
    if (interleaved) {
        pairs.dim[n - 1] = d / 2;
        pairs.dim[n] = 2;
        pairs.ndim = axis = n + 1;
        axis = n;
    }

    samba_tensor *both = samba_reshape(x, pairs);
    int32_t half = interleaved ? 1 : d / 2;
    samba_tensor *a = samba_slice(both, axis, 0, half, 1);
    samba_tensor *b = samba_slice(both, axis, half, 2 * half, 1);
    samba_tensor *turned[2] = { samba_mul(a, cosine), samba_mul(b, cosine) };
    turned[0] = samba_sub(turned[0], samba_mul(b, sine));
    turned[1] = samba_add(turned[1], samba_mul(a, sine));
    return samba_reshape(samba_cat(turned, 2, axis), x->shape);
}

/* ---- Attention of groups of heads: Ainslie et al., "GQA", 2023 ---- */
/* (T,S): which keys a query may attend to, by its place and theirs; the last query is at the last
   key. */
SAMBA__FN samba_tensor *samba__causal_mask(samba_session *s, int32_t T, int32_t S, int32_t window)
{
    samba_tensor *key = samba_arange(s, S, 0.0f, 1.0f);
    samba_tensor *query = samba_unsqueeze(samba_arange(s, T, (float)(S - T), 1.0f), 1);
    samba_tensor *mask = samba_ge(query, key);
    if (window < 1) return mask;
    samba_tensor *first = samba_shift(query, (float)(1 - window));
    return samba_logical_and(mask, samba_ge(key, first));
}

SAMBA__FN bool samba__check_heads(const samba_tensor *q, const samba_tensor *k,
                                  const samba_tensor *v, const samba_heads_opts *o)
{
    const samba_shape *x = &q->shape, *y = &k->shape;
    bool fits = x->ndim == 4 && y->ndim == 4 && v->shape.ndim == 4 && x->dim[0] == y->dim[0]
        && x->dim[1] % y->dim[1] == 0;
    if (!fits)
        return samba_fail(
            q->session, SAMBA_ESHAPE,
            "in samba_attention_heads(%s %S, %s %S): (N,H,T,D) and (N,G,S,D) are needed, H a multiple of G",
            q->name, x, k->name, y);
    if (o->window < 0 || (o->window && !o->causal))
        return samba_fail(q->session, SAMBA_EARG,
                          "in samba_attention_heads(%s %S): a window, %d, needs causal", q->name, x,
                          o->window);
    return true;
}

/* Queries that share a head of keys lie one after the other, as more queries of that head. */
SAMBA_API samba_tensor *samba_attention_heads(samba_tensor *q, samba_tensor *k, samba_tensor *v,
                                              const samba_heads_opts *opts)
{
    samba_heads_opts o = SAMBA__ZEROED;
    samba_attention_opts plain = SAMBA__ZEROED;
    if (opts) o = *opts;
    if (!q || !k || !v || !samba_ok(q->session) || !samba__check_heads(q, k, v, &o)) return NULL;

    int32_t N = q->shape.dim[0], H = q->shape.dim[1], T = q->shape.dim[2], D = q->shape.dim[3];
    int32_t G = k->shape.dim[1], S = k->shape.dim[2], E = v->shape.dim[3], share = H / G;
    bool masked = o.window || T != S || share > 1 || o.lengths;
    samba_tensor *mask = NULL;
    plain.scale = o.scale;
    plain.causal = o.causal && !masked;

    if (o.causal && masked) {
        mask = samba__causal_mask(q->session, T, S, o.window);
        const int32_t shared[3] = { share, T, S };
        mask = samba_expand(mask, samba__shape_of(shared, 3));
        mask = samba_reshape(mask, samba__shape2(share * T, S));
    }
    if (o.lengths) {
        const int32_t lengths[4] = { N, 1, 1, 1 };
        samba_tensor *length
            = samba_reshape(samba__ids_as_i32(o.lengths), samba__shape_of(lengths, 4));
        samba_tensor *there = samba_lt(samba_arange(q->session, S, 0.0f, 1.0f), length);
        mask = mask ? samba_logical_and(mask, there) : there;
    }

    const int32_t grouped[4] = { N, G, share * T, D }, result[4] = { N, H, T, E };
    samba_tensor *queries = samba_reshape(q, samba__shape_of(grouped, 4));
    samba_tensor *y = samba_scaled_dot_product_attention(queries, k, v, mask, &plain);
    return samba_reshape(y, samba__shape_of(result, 4));
}

