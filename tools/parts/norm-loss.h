/* ==== [norm-loss] ============================================================================= */
/* ---- batch_norm: y = w h + b with h = (x - mean) rstd, rstd = 1/sqrt(var + eps) for each channel.
   Training takes mean and var of the batch, and the running ones follow. Inputs x, w or none, b or
   none, running mean and var; outputs y and the two that overwrite the running ones. Attributes:
   momentum, eps. Ioffe, Szegedy, "Batch normalization", 2015. Backward, of n elements in a channel:
   db = sum dy, dw = sum dy h, dx = w rstd (dy - db/n - h dw/n), or w rstd dy if not in training.
   Inputs dy, x, w or none, running mean and var; attribute eps. Units are channels. ---- */
/* The rule of both ops: what comes after x, if it is there, has one value per channel of x. */
SAMBA__FN bool samba__batch_rule(samba_call *c, bool backward)
{
    int32_t first = backward ? 1 : 0;
    if (!samba__expect_all_f32(c, 1 + first, SAMBA__BATCH_NORM_INPUTS, 2 - first)) return false;

    const samba_shape *x = &c->in[first].shape;
    if (x->ndim < 2 || !samba__same_shape(x, &c->in[0].shape)
        || !samba__has(c, SAMBA__BATCH_NORM_MEAN) || !samba__has(c, SAMBA__BATCH_NORM_VARIANCE))
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "x %S must be (N,C,...), dy %S the same, and the running mean and variance be given", x,
            &c->in[0].shape);

    for (int32_t i = first + 1; i < SAMBA__BATCH_NORM_INPUTS; i++) {
        const samba_shape *s = &c->in[i].shape;
        if (samba__has(c, i) && (s->ndim != 1 || s->dim[0] != x->dim[1]))
            return samba_refuse(
                c, SAMBA_ESHAPE,
                "input %d is %S, but must have one value for each of the %d channels of %S", i, s,
                x->dim[1], x);
    }

    c->n_out = 3;
    c->out[0] = c->in[0];
    c->out[1] = c->out[2] = c->in[SAMBA__BATCH_NORM_MEAN];
    return true;
}

SAMBA__FN void samba__batch_work(samba_work *w, const samba_call *c, bool backward)
{
    w->units[0] = c->in[backward ? 1 : 0].shape.dim[1];
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__channel_sums SAMBA__OF_NARROW(samba__channel_sums)
#define samba__channel_moments SAMBA__OF_NARROW(samba__channel_moments)
#define samba__batch_variance SAMBA__OF_NARROW(samba__batch_variance)
#define samba__batch_forward SAMBA__OF_NARROW(samba__batch_forward)
#define samba__batch_backward SAMBA__OF_NARROW(samba__batch_backward)
#define samba__batch_run SAMBA__OF_NARROW(samba__batch_run)
#if SAMBA__VEC_LANES < 16

/* sum x and, unless dy is NULL, sum dy over a channel of (N,C,*), in samba__row_sum's lanes. */
SAMBA__NOINLINE void samba__channel_sums(const samba_shape *s, const float *x, const float *dy,
                                         float *sum)
{
    float first[SAMBA__LANES] = { 0.0f }, second[SAMBA__LANES] = { 0.0f };
    ptrdiff_t plane = (ptrdiff_t)samba__inner(s, 1), next = plane * s->dim[1];
    bool both = dy != NULL;
    if (!both) dy = x; /* walked along, and not read */

    for (ptrdiff_t n = 0; n < s->dim[0]; n++, x += next, dy += next) {
        ptrdiff_t i = 0;
        for (; i + SAMBA__LANES <= plane; i += SAMBA__LANES) {
            samba__prefetch_rows(x + i + next, 16, SAMBA__LANES / 16); /* the next image */
            if (both) samba__prefetch_rows(dy + i + next, 16, SAMBA__LANES / 16);
            SAMBA__EACH_VEC
            for (int l = 0; l < SAMBA__LANES; l += SAMBA__VEC_LANES) {
                samba__vec v = samba__vec_load(x + i + l);
                samba__vec_store(first + l, samba__vec_add(samba__vec_load(first + l), v));
                if (!both) continue;
                v = samba__vec_load(dy + i + l);
                samba__vec_store(second + l, samba__vec_add(samba__vec_load(second + l), v));
            }
        }

        for (int l = 0; i < plane; i++, l++) {
            first[l] += x[i];
            if (both) second[l] += dy[i];
        }
    }

    sum[0] = samba__lanes_sum(first);
    sum[1] = samba__lanes_sum(second);
}

/* sum d d and, unless dy is NULL, sum d dy over a channel, d = x - mean. */
SAMBA__NOINLINE void samba__channel_moments(const samba_shape *s, const float *x, const float *dy,
                                            float mean, float *sum)
{
    float first[SAMBA__LANES] = { 0.0f }, second[SAMBA__LANES] = { 0.0f };
    ptrdiff_t plane = (ptrdiff_t)samba__inner(s, 1), next = plane * s->dim[1];
    bool both = dy != NULL;
    if (!both) dy = x; /* walked along, and not read */
    samba__vec less = samba__vec_set(-mean);

    for (ptrdiff_t n = 0; n < s->dim[0]; n++, x += next, dy += next) {
        ptrdiff_t i = 0;
        for (; i + SAMBA__LANES <= plane; i += SAMBA__LANES) {
            samba__prefetch_rows(x + i + next, 16, SAMBA__LANES / 16); /* the next image */
            if (both) samba__prefetch_rows(dy + i + next, 16, SAMBA__LANES / 16);
            SAMBA__EACH_VEC
            for (int l = 0; l < SAMBA__LANES; l += SAMBA__VEC_LANES) {
                samba__vec d = samba__vec_add(samba__vec_load(x + i + l), less);
                samba__vec_store(first + l, samba__vec_fma(d, d, samba__vec_load(first + l)));
                if (!both) continue;
                d = samba__vec_fma(d, samba__vec_load(dy + i + l), samba__vec_load(second + l));
                samba__vec_store(second + l, d);
            }
        }

        for (int l = 0; i < plane; i++, l++) {
            float d = x[i] - mean;
            first[l] = samba__fma(d, d, first[l]);
            if (both) second[l] = samba__fma(d, dy[i], second[l]);
        }
    }

    sum[0] = samba__lanes_sum(first);
    sum[1] = samba__lanes_sum(second);
}

/* The variance of a batch, or NaN where f32 does not hold it, for values beyond 1e19: the running
   variance could not follow, and 1 / sqrt of infinity would make every y the bias. */
SAMBA__FN float samba__batch_variance(float var)
{
    return var < SAMBA__INF ? var : SAMBA__NAN;
}

/* y of channel c, and its running mean and variance: of the batch the unbiased one, var count /
   (count - 1), goes into that. */
SAMBA__FN void samba__batch_forward(const samba_args *a, ptrdiff_t c)
{
    const samba_shape *s = &a->in_spec[0].shape;
    ptrdiff_t plane = (ptrdiff_t)samba__inner(s, 1), step = plane * s->dim[1];
    float count = (float)(plane * s->dim[0]);
    const float *x = a->in[SAMBA__BATCH_NORM_X] + c * plane;
    float mean = a->in[SAMBA__BATCH_NORM_MEAN][c], new_mean = mean;
    float var = a->in[SAMBA__BATCH_NORM_VARIANCE][c], new_var = var;

    if (!a->running_stats) {
        float momentum = samba_attr_float(a->attr[SAMBA__BATCH_NORM_MOMENTUM]), sum[2];
        samba__channel_sums(s, x, NULL, sum);
        mean = sum[0] / count;
        samba__channel_moments(s, x, NULL, mean, sum);
        var = samba__batch_variance(sum[0] / count);

        float unbiased = var * count / (count > 1.0f ? count - 1.0f : 1.0f);
        new_mean = samba__fma(momentum, mean - new_mean, new_mean);
        new_var = samba__fma(momentum, unbiased - new_var, new_var);
    }

    float rstd = samba__rsqrt(var + samba_attr_float(a->attr[SAMBA__BATCH_NORM_EPS]));
    const float *w = a->in[SAMBA__BATCH_NORM_WEIGHT], *b = a->in[SAMBA__BATCH_NORM_BIAS];
    float scale = (w ? w[c] : 1.0f) * rstd, shift = b ? b[c] : 0.0f;

    a->out[1][c] = new_mean;
    a->out[2][c] = new_var;

    for (ptrdiff_t n = 0; n < s->dim[0]; n++) {
        const float *from = x + n * step;
        float *SAMBA__RESTRICT y = a->out[0] + c * plane + n * step;
        for (ptrdiff_t i = 0; i < plane; i++)
            y[i] = samba__fma(from[i] - mean, scale, shift);
    }
}

/* dx, dw and db of channel c. By running values, mean and variance are constants. */
SAMBA__FN void samba__batch_backward(const samba_args *a, ptrdiff_t c)
{
    const samba_shape *s = &a->in_spec[0].shape;
    ptrdiff_t plane = (ptrdiff_t)samba__inner(s, 1), step = plane * s->dim[1];
    float count = (float)(plane * s->dim[0]), sum[2];
    const float *dy = a->in[SAMBA__BATCH_BACKWARD_DY] + c * plane;
    const float *x = a->in[SAMBA__BATCH_BACKWARD_X] + c * plane;
    float mean = a->in[SAMBA__BATCH_NORM_MEAN][c], var = a->in[SAMBA__BATCH_NORM_VARIANCE][c];
    float slope = 0.0f, shift = 0.0f;

    samba__channel_sums(s, x, dy, sum);
    float db = sum[1];
    if (!a->running_stats) mean = sum[0] / count;
    samba__channel_moments(s, x, dy, mean, sum);
    if (!a->running_stats) var = samba__batch_variance(sum[0] / count);

    float rstd = samba__rsqrt(var + samba_attr_float(a->attr[SAMBA__NORM_EPS]));
    const float *w = a->in[SAMBA__BATCH_BACKWARD_WEIGHT];
    float scale = (w ? w[c] : 1.0f) * rstd, dw = sum[1] * rstd;
    if (!a->running_stats) {
        slope = dw / count * rstd;
        shift = db / count;
    }

    a->out[1][c] = dw;
    a->out[2][c] = db;

    for (ptrdiff_t n = 0; n < s->dim[0]; n++) {
        const float *from = x + n * step, *d = dy + n * step;
        float *SAMBA__RESTRICT dx = a->out[0] + c * plane + n * step;
        for (ptrdiff_t i = 0; i < plane; i++)
            dx[i] = scale * samba__fma(mean - from[i], slope, d[i] - shift);
    }
}

SAMBA__NOINLINE void samba__batch_run(const samba_args *a, bool backward)
{
    const ptrdiff_t end = (ptrdiff_t)a->end;
    for (ptrdiff_t c = (ptrdiff_t)a->begin; c < end; c++)
        if (backward)
            samba__batch_backward(a, c);
        else
            samba__batch_forward(a, c);
}
#endif
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

SAMBA__OP_API samba_tensor *samba_batch_normalize(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                                  samba_tensor *mean, samba_tensor *var,
                                                  float momentum, float eps)
{
    samba_tensor *in[SAMBA__BATCH_NORM_INPUTS] = { x, w, b, mean, var };
    int32_t attr[2] = { samba_float_attr(momentum), samba_float_attr(eps) };
    if (!x || !mean || !var) return NULL;
    return samba__emit(x->session, SAMBA__OP_batch_norm, in, SAMBA__BATCH_NORM_INPUTS, attr, 2,
                       NULL);
}

SAMBA__FN void samba__batch_norm_vjp(samba_vjp *g)
{
    samba_tensor *in[5] = { g->dout[0], g->in[SAMBA__BATCH_NORM_X], g->in[SAMBA__BATCH_NORM_WEIGHT],
                            g->in[SAMBA__BATCH_NORM_MEAN], g->in[SAMBA__BATCH_NORM_VARIANCE] };
    samba_tensor *out[SAMBA_MAX_OUT] = { NULL };
    g->din[0] = samba__emit(g->session, SAMBA__OP_batch_norm_backward, in, 5,
                            g->attr + SAMBA__BATCH_NORM_EPS, 1, out);
    if (g->in[1]) g->din[1] = out[1];
    if (g->in[2]) g->din[2] = out[2];
}

/* ---- softmax: y = e^(x - max) / sum e^(x - max); dx = y (dy - sum(dy y)).
   log_softmax: y = x - max - log(sum e^(x - max)); dx = dy - e^y sum(dy).
   By definition, for a row of C numbers:
       for (max = -INFINITY, c = 0; c < C; c++) max = fmax(max, x[c]);
       for (sum = 0, c = 0; c < C; c++) sum += exp(x[c] - max);
       for (c = 0; c < C; c++) y[c] = exp(x[c] - max) / sum;
   Bridle, "Training stochastic model recognition algorithms", NIPS 1989.
   Attribute: the axis, which is the last one; the builders transpose others to there. ---- */
/* 1 or, backward, 2 inputs of one shape, all f32; the output has it too. */
SAMBA__FN bool samba__soft_rule(samba_call *c, int which)
{
    const char *signature = which & SAMBA__BACKWARD ? "*n,*n->*n" : "*n->*n";
    if (!samba__expect_match(c, signature, 1)) return false;
    if (c->attr[SAMBA__AXIS_NUMBER] != c->in[0].shape.ndim - 1)
        return samba_refuse(c, SAMBA_EARG,
                            "axis %d is not the last one of %S; transpose it to there",
                            c->attr[SAMBA__AXIS_NUMBER], &c->in[0].shape);
    return true;
}

SAMBA__FN void samba__soft_work(samba_work *w, const samba_call *c, int which)
{
    (void)which;
    w->units[0] = samba__outer(&c->in[0].shape, c->attr[SAMBA__AXIS_NUMBER]);
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__softmax_row SAMBA__OF_SET(samba__softmax_row)
#define samba__softmax_row_backward SAMBA__OF_SET(samba__softmax_row_backward)
#define samba__soft_run SAMBA__OF_SET(samba__soft_run)

SAMBA__FN void samba__softmax_row(float *y, const float *x, ptrdiff_t n, bool logs)
{
    float top, sum;
    if (logs) {
        sum = samba__log(samba__row_exp_sum(x, n, &top));
        SAMBA__IN_PLACE
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = (x[i] - top) - sum;
        return;
    }

    top = samba__row_max(x, n);
    sum = 1.0f / samba__unless_zero(samba__row_exp(y, x, top, n));
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] *= sum;
}

SAMBA__FN void samba__softmax_row_backward(float *dx, const float *dy, const float *y, ptrdiff_t n,
                                           bool logs)
{
    float sum = logs ? samba__row_sum(dy, n) : samba__row_dot(dy, y, n);
    if (logs) {
        SAMBA__IN_PLACE
        for (ptrdiff_t i = 0; i < n; i++)
            dx[i] = samba__fma(-samba__exp(y[i]), sum, dy[i]);
        return;
    }

    SAMBA__IN_PLACE
    for (ptrdiff_t i = 0; i < n; i++)
        dx[i] = y[i] * (dy[i] - sum);
}

SAMBA__NOINLINE void samba__soft_run(const samba_args *a, int which)
{
    ptrdiff_t n = (ptrdiff_t)samba__last_dim(a->in_spec);
    const ptrdiff_t end = (ptrdiff_t)a->end * n;

    for (ptrdiff_t at = (ptrdiff_t)a->begin * n; at < end; at += n) {
        const float *x = a->in[0] + at;
        float *y = a->out[0] + at;
        if (which & SAMBA__BACKWARD)
            samba__softmax_row_backward(y, x, a->in[1] + at, n, which & SAMBA__LOGS);
        else
            samba__softmax_row(y, x, n, which & SAMBA__LOGS);
    }
}
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

/* A builder with an axis, and its gradient. */
#define SAMBA__ALONG_AXIS(name) \
    SAMBA__OP_API samba_tensor *samba_##name(samba_tensor *x, int32_t axis) \
    { \
        if (!samba__find_axis(x, #name, &axis, 0)) return NULL; \
        int32_t last = x->shape.ndim - 1; \
        samba_tensor *y = samba_transpose(x, axis, last); \
        return samba_transpose(samba__emit1(SAMBA__OP_##name, y, &last, 1), axis, last); \
    } \
    SAMBA__GRAD1(name, SAMBA__BY_OP(name, y))
SAMBA__ALONG_AXIS(softmax)
SAMBA__ALONG_AXIS(log_softmax)
/* ---- layer_norm: h = (x - mean) r, r = 1/sqrt(mean((x - mean)^2) + eps), y = h w + b.
   With g = dy w: dx = r (g - mean(g) - h mean(g h)), dw = sum(dy h), db = sum(dy) over rows.
   By definition, for a row of C numbers:
       for (mean = 0, c = 0; c < C; c++) mean += x[c] / C;
       for (var = 0, c = 0; c < C; c++) var += (x[c] - mean) * (x[c] - mean) / C;
       for (c = 0; c < C; c++) y[c] = (x[c] - mean) / sqrt(var + eps) * w[c] + b[c];
   Ba, Kiros, Hinton, "Layer normalization", 2016.
   rms_norm is the same without means: h = x r, y = h w, dx = r (g - h mean(g h)).
   Zhang, Sennrich, "Root mean square layer normalization", NeurIPS 2019. ---- */
#define SAMBA__NORM_ROWS 32 /* rows whose share of dw, db is one partial sum */
#define SAMBA__COLUMNS 64   /* of a unit that sums columns */

/* Attributes: eps, and for gradients whether those of the weights are wanted. */
SAMBA__FN bool samba__norm_rule(samba_call *c, int which)
{
    static const char *const signature[4]
        = { /* rms_norm, layer_norm; and backward */
            "*n,n?->*n", "*n,*n,n?->*n,n", "*n,n?,n?->*n", "*n,*n,n?->*n,n,n"
          };

    samba__binding b;
    int32_t n_attr = which & SAMBA__BACKWARD ? 2 : 1;
    if (!samba__expect(c, 1, 3, n_attr)) return false;
    if (!(samba_attr_float(c->attr[SAMBA__NORM_EPS]) >= 0.0f))
        return samba_refuse(c, SAMBA_ERANGE, "eps is %g; it must be at least 0, such as 1e-5",
                            (double)samba_attr_float(c->attr[SAMBA__NORM_EPS]));

    if (!samba__match(signature[which], c, &b)) return false;
    if (n_attr == 2 && !c->attr[SAMBA__NORM_AFFINE]) c->n_out = 1;
    return true;
}

SAMBA__FN void samba__norm_work(samba_work *w, const samba_call *c, int which)
{
    int64_t n = samba__last_dim(c->in);
    w->units[0] = samba_count(&c->in[0].shape) / n;
    w->part = n;

    if (!(which & SAMBA__BACKWARD)) return;
    w->units[0] = samba__ceil_div(w->units[0], SAMBA__NORM_ROWS);
    w->part = n * SAMBA__NORM_ROWS;

    if (c->n_out == 1) return;
    w->n_phases = 2;
    w->units[1] = samba__ceil_div(n, SAMBA__COLUMNS);
    w->scratch = w->units[0] * n * (c->n_out - 1) * 4;
}

/* 1, or where f32 does not hold the variance of row x (n), or has lost bits of it below the normal
   numbers, the power of two that brings the largest of x near 1: h of x is h of x times it. So rows
   of 1e30 have the norm that they have, instead of 0. A row that is not finite stays so. */
SAMBA__NOINLINE float samba__norm_unit(float variance, const float *x, ptrdiff_t n)
{
    float most = 0.0f;
    if (variance >= 1.17549435e-38f && variance < SAMBA__INF) return 1.0f;

    for (ptrdiff_t i = 0; i < n; i++)
        most = samba__larger(most, samba__abs(x[i]));
    if (most == 0.0f || !(most < SAMBA__INF)) return 1.0f;
    uint32_t exponent = samba__float_bits(most) >> 23;
    return samba__bits_float(exponent < 254u ? (254u - exponent) << 23 : 0x00400000u);
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__norm_row SAMBA__OF_SET(samba__norm_row)
#define samba__norm_forward SAMBA__OF_SET(samba__norm_forward)
#define samba__norm_row_backward SAMBA__OF_SET(samba__norm_row_backward)
#define samba__norm_backward_rows SAMBA__OF_SET(samba__norm_backward_rows)
#define samba__norm_backward_columns SAMBA__OF_SET(samba__norm_backward_columns)
#define samba__norm_run SAMBA__OF_SET(samba__norm_run)

/* h of a row, or h w + b if there are both, in place or not; returns r. */
SAMBA__FN float samba__norm_row(float *h, const float *x, const float *w, const float *b,
                                ptrdiff_t n, const int32_t *attr, bool centered)
{
    float eps = samba_attr_float(attr[SAMBA__NORM_EPS]), scale = 1.0f, mean, r;

    for (;;) {
        mean = centered ? samba__row_sum(x, n) / (float)n : 0.0f;
        float variance = samba__row_squares(x, mean, n) / (float)n + eps;
        float unit = samba__norm_unit(variance, x, n);
        r = samba__rsqrt(variance);
        if (unit == 1.0f) break;

        for (ptrdiff_t i = 0; i < n; i++)
            h[i] = x[i] * unit;
        x = h;
        eps = eps * unit * unit;
        scale *= unit;
    }

    ptrdiff_t plain = w && b ? 0 : n;
    SAMBA__IN_PLACE
    for (ptrdiff_t i = 0; i < plain; i++)
        h[i] = samba__mul(x[i] - mean, r);
    SAMBA__IN_PLACE
    for (ptrdiff_t i = plain; i < n; i++)
        h[i] = samba__fma(samba__mul(x[i] - mean, r), w[i], b[i]);
    return r * scale;
}

/* y of row t */
SAMBA__FN void samba__norm_forward(const samba_args *a, ptrdiff_t t, ptrdiff_t n, bool centered)
{
    const float *SAMBA__RESTRICT w = a->n_in > 1 ? a->in[1] : NULL;
    const float *SAMBA__RESTRICT b = a->n_in > 2 ? a->in[2] : NULL;
    float *SAMBA__RESTRICT y = a->out[0] + t * n;
    samba__norm_row(y, a->in[0] + t * n, w, b, n, a->attr, centered);

    if (w && !b)
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] *= w[i];
    if (!w && b)
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] += b[i];
}

/* The gradient of a row, dx = r (g - mean(g) - h mean(g h)), in the place of its h. */
SAMBA__FN void samba__norm_row_backward(float *SAMBA__RESTRICT h_to_dx, const float *dy,
                                        const float *w, ptrdiff_t n, float r, bool centered)
{
    float sum_gh = w ? samba__row_dot3(dy, w, h_to_dx, n) : samba__row_dot(dy, h_to_dx, n);
    float sum_g = 0.0f;
    if (centered) sum_g = w ? samba__row_dot(dy, w, n) : samba__row_sum(dy, n);
    float mean_gh = sum_gh / (float)n, mean_g = sum_g / (float)n;

    for (ptrdiff_t i = 0; w && i < n; i++) {
        float h = h_to_dx[i], g = samba__mul(dy[i], w[i]);
        h_to_dx[i] = r * (samba__fma(-h, mean_gh, g) - mean_g);
    }

    for (ptrdiff_t i = 0; !w && i < n; i++) {
        float h = h_to_dx[i], g = dy[i];
        h_to_dx[i] = r * (samba__fma(-h, mean_gh, g) - mean_g);
    }
}

/* Phase 0: a block of rows of dx, with the block's partial sums of dw and db. */
SAMBA__FN void samba__norm_backward_rows(const samba_args *a, ptrdiff_t block, ptrdiff_t n,
                                         bool centered)
{
    ptrdiff_t first = block * SAMBA__NORM_ROWS, parts = a->n_out - 1;
    ptrdiff_t last = samba__min_index(first + SAMBA__NORM_ROWS,
                                      (ptrdiff_t)samba_count(&a->in_spec[0].shape) / n);

    float *SAMBA__RESTRICT dw = parts > 0 ? (float *)a->scratch + block * n * parts : NULL;
    float *SAMBA__RESTRICT db = parts > 1 ? dw + n : NULL;
    if (parts) memset(dw, 0, (size_t)(n * parts) * 4);

    for (ptrdiff_t t = first; t < last; t++) {
        const float *dy = a->in[0] + t * n;
        float *SAMBA__RESTRICT h = a->out[0] + t * n, r;
        r = samba__norm_row(h, a->in[1] + t * n, NULL, NULL, n, a->attr, centered);

        if (dw)
            for (ptrdiff_t i = 0; i < n; i++)
                dw[i] = samba__fma(dy[i], h[i], dw[i]);
        if (db)
            for (ptrdiff_t i = 0; i < n; i++)
                db[i] += dy[i];

        samba__norm_row_backward(h, dy, a->n_in > 2 ? a->in[2] : NULL, n, r, centered);
    }
}

/* Phase 1: 64 columns of dw and db, the blocks in order. */
SAMBA__FN void samba__norm_backward_columns(const samba_args *a, ptrdiff_t from, ptrdiff_t n)
{
    ptrdiff_t parts = a->n_out - 1, to = samba__min_index(from + SAMBA__COLUMNS, n);
    ptrdiff_t n_blocks
        = samba__ceil_index((ptrdiff_t)samba_count(&a->in_spec[0].shape) / n, SAMBA__NORM_ROWS);

    for (ptrdiff_t p = 0; p < n_blocks * parts; p++) {
        const float *SAMBA__RESTRICT part = (const float *)a->scratch + p * n;
        float *SAMBA__RESTRICT d = a->out[1 + p % parts];
        for (ptrdiff_t j = from; j < to; j++)
            d[j] = p < parts ? part[j] : d[j] + part[j];
    }
}

SAMBA__NOINLINE void samba__norm_run(const samba_args *a, int which)
{
    ptrdiff_t n = (ptrdiff_t)samba__last_dim(a->in_spec);
    bool centered = which & SAMBA__CENTERED;
    const ptrdiff_t end = (ptrdiff_t)a->end;

    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < end; u++) {
        if (!(which & SAMBA__BACKWARD))
            samba__norm_forward(a, u, n, centered);
        else if (a->phase == 0)
            samba__norm_backward_rows(a, u, n, centered);
        else
            samba__norm_backward_columns(a, u * SAMBA__COLUMNS, n);
    }
}
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

/* dx, and dw and db unless both are absent: in the order of the inputs. */
SAMBA__FN void samba__norm_vjp(samba_vjp *g, int32_t op)
{
    samba_tensor *w = g->n_in > 1 ? g->in[1] : NULL, *b = g->n_in > 2 ? g->in[2] : NULL;
    samba_tensor *in[3] = { g->dout[0], g->in[0], w };
    int32_t attr[2] = { g->attr[SAMBA__NORM_EPS], w || b };
    g->din[0] = samba__emit(g->session, op, in, 3, attr, 2, g->din);
}

SAMBA__OP_API samba_tensor *samba_layer_normalize(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                                  float eps)
{
    int32_t attr = samba_float_attr(eps);
    return samba__emit3(SAMBA__OP_layer_norm, x, w, b, &attr, 1);
}

SAMBA__FN void samba__layer_norm_vjp(samba_vjp *g)
{
    samba__norm_vjp(g, SAMBA__OP_layer_norm_backward);
}

SAMBA__OP_API samba_tensor *samba_rms_normalize(samba_tensor *x, samba_tensor *w, float eps)
{
    int32_t attr = samba_float_attr(eps);
    return samba__emit2(SAMBA__OP_rms_norm, x, w, &attr, 1);
}

SAMBA__FN void samba__rms_norm_vjp(samba_vjp *g)
{
    samba__norm_vjp(g, SAMBA__OP_rms_norm_backward);
}

/* ---- cross_entropy of a row: with p = softmax(x) and q = (1 - s) [c = target] + s/C,
   loss = -sum(q log p); dx = dloss (p - q). nll: loss = -x[target]; dx = -dloss [c = target].
   By definition, for a row of C logits and s = 0, with lse = max + log(sum e^(x - max)):
       loss = lse - x[target];
       for (c = 0; c < C; c++) dx[c] = dloss * (exp(x[c] - lse) - (c == target));
   Attributes: reduction, id to ignore, then smoothing s (cross_entropy) or C (nll_backward). A last
   input that only [microbatches] adds is what a mean divides by, instead of the targets here.
   Label smoothing: Szegedy et al., CVPR 2016. ---- */

/* Fills in the attributes and returns them. */
SAMBA__FN int32_t *samba__loss_attr(const samba_loss_opts *opts, int32_t attr[3])
{
    attr[SAMBA__LOSS_REDUCTION] = opts ? (int32_t)opts->reduction : SAMBA_REDUCE_MEAN;
    attr[SAMBA__LOSS_IGNORE] = opts && opts->use_ignore_index ? opts->ignore_index : -100;
    attr[SAMBA__LOSS_SMOOTHING] = samba_float_attr(opts ? opts->label_smoothing : 0.0f);
    return attr;
}

SAMBA__FN bool samba__loss_rule(samba_call *c, int which)
{
    static const char *const signature[4]
        = { /* nll, cross_entropy; and backward */
            "*c,i:*,?->*", "*,i:*,?->*", "*c,i:*,?->*", "*,*c,i:*,?->*c"
          };

    bool logits = which & SAMBA__LOGITS, backward = which & SAMBA__BACKWARD;
    int32_t n_in = logits && backward ? 3 : 2;
    samba__binding b;
    if (!samba__expect(c, n_in, n_in + 1, logits || backward ? 3 : 2)) return false;

    int32_t reduction = c->attr[SAMBA__LOSS_REDUCTION];
    bool one = reduction != SAMBA_REDUCE_NONE; /* loss, a scalar */
    if (reduction < SAMBA_REDUCE_MEAN || reduction > SAMBA_REDUCE_NONE)
        return samba_refuse(c, SAMBA_ERANGE, "reduction %d is not mean 0, sum 1, none 2",
                            reduction);

    if (!samba__match(signature[which] + (backward && one), c, &b)) return false;
    if (!backward && one) c->out[0].shape = samba_scalar_shape();
    if (!logits) return !backward || samba__append_dim(c, c->attr[SAMBA__NLL_CLASSES]);

    float s = samba_attr_float(c->attr[SAMBA__LOSS_SMOOTHING]);
    if (!(s >= 0.0f && s <= 1.0f))
        return samba_refuse(c, SAMBA_ERANGE, "label_smoothing is %g; it must be 0 ... 1",
                            (double)s);
    return true;
}

/* Phases: losses of rows, then their sum; or what all rows share, then rows. */
SAMBA__FN void samba__loss_work(samba_work *w, const samba_call *c, int which)
{
    bool backward = which & SAMBA__BACKWARD, logits = which & SAMBA__LOGITS;
    int64_t rows = samba_count(&c->in[logits && backward ? 2 : 1].shape);
    w->units[0] = backward ? 1 : rows;
    if (!backward) w->flops = logits ? 20 * samba_count(&c->in[0].shape) : rows;

    if (!backward && c->attr[SAMBA__LOSS_REDUCTION] == SAMBA_REDUCE_NONE) return;
    w->n_phases = 2;
    w->units[1] = backward ? rows : 1;
    w->scratch = w->units[0] * 4;
}

/* The class of row t, or -1 where the row does not count. A class out of range is a fault. */
SAMBA__INLINE int32_t samba__target(const samba_args *a, int32_t which, int64_t t, int64_t classes)
{
    int32_t id = samba__index(samba__in_i32(a, which) + t);
    if (id == a->attr[SAMBA__LOSS_IGNORE]) return -1;
    if (id >= 0 && id < classes) return id;
    samba_fault_at(a, which, id, t, 0, (int32_t)classes - 1);
    return -1;
}

/* What a sum of losses is multiplied by. The mean is over targets that count; NaN if none does. */
SAMBA__FN float samba__loss_share(const samba_args *a, int32_t which)
{
    const int32_t *id = samba__in_i32(a, which);
    ptrdiff_t n = (ptrdiff_t)samba_count(&a->in_spec[which].shape), counted = 0;
    if (a->attr[SAMBA__LOSS_REDUCTION] != SAMBA_REDUCE_MEAN) return 1.0f;
    if (which + 1 < a->n_in && a->in[which + 1])
        return a->in[which + 1][0] > 0.0f ? 1.0f / a->in[which + 1][0] : SAMBA__NAN;
    for (ptrdiff_t t = 0; t < n; t++)
        counted += id[t] != a->attr[SAMBA__LOSS_IGNORE];
    return counted ? 1.0f / (float)counted : SAMBA__NAN;
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__cross_entropy_row SAMBA__OF_SET(samba__cross_entropy_row)
#define samba__loss_units SAMBA__OF_SET(samba__loss_units)
#define samba__cross_entropy_row_backward SAMBA__OF_SET(samba__cross_entropy_row_backward)
#define samba__loss_backward_units SAMBA__OF_SET(samba__loss_backward_units)
#define samba__loss_run SAMBA__OF_SET(samba__loss_run)

SAMBA__FN float samba__cross_entropy_row(const float *x, ptrdiff_t n, int32_t target,
                                         float smoothing)
{
    float top, log_sum = samba__log(samba__row_exp_sum(x, n, &top)), loss;
    loss = log_sum - (x[target] - top);
    if (smoothing == 0.0f) return loss;
    return samba__fma(smoothing, log_sum - (samba__row_sum(x, n) / (float)n - top),
                      samba__mul(1.0f - smoothing, loss));
}

/* Phase 0: a loss per row. Phase 1: their sum or mean. */
SAMBA__FN void samba__loss_units(const samba_args *a, bool logits)
{
    ptrdiff_t n = (ptrdiff_t)samba__last_dim(a->in_spec);
    bool none = a->attr[SAMBA__LOSS_REDUCTION] == SAMBA_REDUCE_NONE;
    float *loss = none ? a->out[0] : (float *)a->scratch;
    float smoothing = logits ? samba_attr_float(a->attr[SAMBA__LOSS_SMOOTHING]) : 0.0f;

    if (a->phase == 1) {
        float sum = samba__row_sum(loss, (ptrdiff_t)samba_count(&a->in_spec[1].shape));
        a->out[0][0] = sum * samba__loss_share(a, 1);
        return;
    }

    const ptrdiff_t end = (ptrdiff_t)a->end;
    for (ptrdiff_t t = (ptrdiff_t)a->begin; t < end; t++) {
        const float *x = a->in[0] + t * n;
        int32_t target = samba__target(a, 1, t, n);
        SAMBA_ASSERT(target < n); /* or ignored */
        if (target < 0)
            loss[t] = 0.0f;
        else
            loss[t] = logits ? samba__cross_entropy_row(x, n, target, smoothing) : -x[target];
    }
}

SAMBA__FN void samba__cross_entropy_row_backward(float *dx, const float *x, ptrdiff_t n,
                                                 float smoothing, float dloss)
{
    float top = samba__row_max(x, n);
    float scale = dloss / samba__unless_zero(samba__row_exp(dx, x, top, n));
    float share = samba__mul(-dloss, smoothing / (float)n);
    SAMBA__IN_PLACE
    for (ptrdiff_t i = 0; i < n; i++)
        dx[i] = samba__fma(scale, dx[i], share);
}

/* Phase 0: the gradient of a row's loss where all rows share it, into scratch. Phase 1: rows. */
SAMBA__FN void samba__loss_backward_units(const samba_args *a, bool logits)
{
    ptrdiff_t n = (ptrdiff_t)samba__last_dim(a->out_spec);
    int32_t which = logits ? 2 : 1;
    bool none = a->attr[SAMBA__LOSS_REDUCTION] == SAMBA_REDUCE_NONE;
    float smoothing = logits ? samba_attr_float(a->attr[SAMBA__LOSS_SMOOTHING]) : 0.0f;
    float *shared = (float *)a->scratch;

    if (a->phase == 0) {
        *shared = a->in[0][0] * samba__loss_share(a, which);
        return;
    }

    const ptrdiff_t end = (ptrdiff_t)a->end;
    for (ptrdiff_t t = (ptrdiff_t)a->begin; t < end; t++) {
        float *dx = a->out[0] + t * n, dloss = none ? a->in[0][t] : *shared;
        int32_t target = samba__target(a, which, t, n);
        if (target < 0 || !logits)
            memset(dx, 0, (size_t)n * 4);
        else
            samba__cross_entropy_row_backward(dx, a->in[1] + t * n, n, smoothing, dloss);
        if (target >= 0) dx[target] = samba__fma(-dloss, 1.0f - smoothing, dx[target]);
    }
}

SAMBA__NOINLINE void samba__loss_run(const samba_args *a, int which)
{
    if (which & SAMBA__BACKWARD)
        samba__loss_backward_units(a, which & SAMBA__LOGITS);
    else
        samba__loss_units(a, which & SAMBA__LOGITS);
}
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

SAMBA__OP_API samba_tensor *samba_cross_entropy_with(samba_tensor *logits, samba_tensor *target,
                                                     const samba_loss_opts *opts)
{
    int32_t attr[3];
    return samba__emit2(SAMBA__OP_cross_entropy, logits, samba__ids_as_i32(target),
                        samba__loss_attr(opts, attr), 3);
}

SAMBA__OP_API samba_tensor *samba_cross_entropy(samba_tensor *logits, samba_tensor *target)
{
    return samba_cross_entropy_with(logits, target, NULL);
}

SAMBA__FN void samba__cross_entropy_vjp(samba_vjp *g)
{
    samba_tensor *in[4] = { g->dout[0], g->in[0], g->in[1], g->n_in > 2 ? g->in[2] : NULL };
    g->din[0] = samba__emit(g->session, SAMBA__OP_cross_entropy_backward, in, g->n_in > 2 ? 4 : 3,
                            g->attr, 3, NULL);
}

SAMBA__OP_API samba_tensor *samba_nll(samba_tensor *logp, samba_tensor *target,
                                      const samba_loss_opts *opts)
{
    int32_t attr[3];
    return samba__emit2(SAMBA__OP_nll, logp, samba__ids_as_i32(target),
                        samba__loss_attr(opts, attr), 2);
}

SAMBA__FN void samba__nll_vjp(samba_vjp *g)
{
    const samba_shape *x = &g->in[0]->shape;
    int32_t attr[3]
        = { g->attr[SAMBA__NLL_REDUCTION], g->attr[SAMBA__NLL_IGNORE], x->dim[x->ndim - 1] };
    samba_tensor *in[3] = { g->dout[0], g->in[1], g->n_in > 2 ? g->in[2] : NULL };
    g->din[0]
        = samba__emit(g->session, SAMBA__OP_nll_backward, in, g->n_in > 2 ? 3 : 2, attr, 3, NULL);
}

