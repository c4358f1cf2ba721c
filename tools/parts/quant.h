/* ==== [quant] ================================================================================= */
/* ---- int8 arithmetic. A number x is stored as an integer q of a grid:
       x = scale (q - zero),    q and zero in -128 ... 127
   so zero is what 0 is stored as, exactly: padding and relu need that. Activations have one grid
   for the whole tensor, which spans the range that was observed; weights one scale for each output
   channel and zero = 0. Then sums of products are integers:
       y = scale_x scale_w (sum over k of (q_x - zero_x) q_w + b / (scale_x scale_w))
   b, rounded, and -zero_x times the sum of a channel's weights are one int32, its bias. So kernels
   sum q_x q_w alone, in int32 and in any order: threads, vectors and processors cannot differ. No
   sum of INT8_MOST_K terms leaves an int32. It returns to the grid of y by a fixed-point factor:
       q_y = zero_y + ((sum multiplier + 2^(shift-1)) >> shift),  limited to least ... most
   in 64 bits, where >> rounds down, so halves go up. relu is least = zero_y.
   Jacob et al., "Quantization and training of neural networks for efficient
   integer-arithmetic-only inference", 2018, whose grids these are; its factor rounds twice.

   Before, in f32: observe keeps the range of a tensor, fake_quantize also replaces each value by
   the nearest on the grid of that range, and its gradient passes where the grid reaches. So one
   mechanism serves calibration and training, and [quantize] makes int8 programs of both. ---- */
enum { SAMBA__INT8_LEAST = -128, SAMBA__INT8_MOST = 127, SAMBA__INT8_MOST_K = 32768 };

#define SAMBA__INT8_MOST_BIAS 536870912.0 /* steps: beside it a sum of products fits an int32 */
#define SAMBA__LEAST_WEIGHT 1.5e-36f      /* 127 steps: smaller ones would be no normal numbers */

typedef struct samba__int8_grid {
    float scale;
    int32_t zero;
} samba__int8_grid;

/* x rounded to an integer, halves to even, and limited; least ... most lie within 2^22, and NaN is
   0: who may get one tells of it. To add 3 2^22 and take it away again leaves no room for a
   fraction. */
SAMBA__INLINE int32_t samba__nearest(float x, int32_t least, int32_t most)
{
    const float whole = 12582912.0f;
    if (x != x) return 0;
    x = x < (float)least ? (float)least : x;
    x = x > (float)most ? (float)most : x;
    return (int32_t)((x + whole) - whole);
}

/* The grid of a range that has 0. One that is hardly wider than 0 needs no fine steps. That of a
   range with a NaN or an infinity has such a scale, so all its numbers are NaN. */
SAMBA__FN samba__int8_grid samba__grid_of(float least, float most)
{
    samba__int8_grid g = { most / 255.0f - least / 255.0f, 0 };
    if (g.scale < 1e-30f) {
        g.scale = 1.0f;
        return g;
    }
    g.zero = samba__nearest((float)SAMBA__INT8_LEAST - least / g.scale, SAMBA__INT8_LEAST,
                            SAMBA__INT8_MOST);
    return g;
}

SAMBA__INLINE int32_t samba__to_grid(float x, samba__int8_grid g)
{
    return g.zero
        + samba__nearest(x / g.scale, SAMBA__INT8_LEAST - g.zero, SAMBA__INT8_MOST - g.zero);
}

SAMBA__INLINE float samba__from_grid(int32_t q, samba__int8_grid g)
{
    return (float)(q - g.zero) * g.scale;
}

/* x rounded to a number of the grid, in f32; NaN stays. */
SAMBA__INLINE float samba__on_grid(float x, samba__int8_grid g)
{
    return samba__unless_nan(x, samba__from_grid(samba__to_grid(x, g), g));
}

/* The scale of weights of which the largest has this size; NaN gives NaN. */
SAMBA__INLINE float samba__weight_scale(float most)
{
    return most < SAMBA__LEAST_WEIGHT ? 1.0f : most / (float)SAMBA__INT8_MOST;
}

/* ---- observe: a range (3) follows that of x: least, most, and how many batches it has seen. With
   momentum 0 it spans all of them, else it moves by this part of the way; it always has 0. A NaN in
   x makes it NaN for good. fake_quantize does the same first, but not where a program infers or
   samba_use_running_stats says so: then the range stays. ---- */
enum { SAMBA__RANGE_LEAST, SAMBA__RANGE_MOST, SAMBA__RANGE_BATCHES, SAMBA__RANGE_SIZE };

/* x (*) in f32, and the range, which output o overwrites. */
SAMBA__FN bool samba__expect_range(samba_call *c, int32_t n_in, int32_t n_attr)
{
    if (!samba__expect_all_f32(c, n_in, n_in, n_attr)) return false;
    const samba_shape *range = &c->in[n_in - 1].shape;
    if (range->ndim != 1 || range->dim[0] != SAMBA__RANGE_SIZE)
        return samba_refuse(c, SAMBA_ESHAPE,
                            "input %d, the range, is %S, not (%d): least, most, number of batches",
                            n_in - 1, range, (int32_t)SAMBA__RANGE_SIZE);
    return true;
}

SAMBA__FN bool samba__expect_momentum(samba_call *c)
{
    float momentum = samba_attr_float(c->attr[SAMBA__OBSERVE_MOMENTUM]);
    if (!(momentum >= 0.0f && momentum <= 1.0f))
        return samba_refuse(c, SAMBA_ERANGE, "momentum is %g; it is 0 ... 1", (double)momentum);
    return true;
}

SAMBA__FN bool samba__observe_shape(samba_call *c)
{
    if (!samba__expect_range(c, 2, 1) || !samba__expect_momentum(c)) return false;
    c->out[0] = c->in[1];
    return true;
}

/* Where one end of a range goes: `now` is that of a batch. */
SAMBA__FN float samba__range_end(float before, float now, float momentum, bool most)
{
    if (before != before || now != now) return before + now;
    if (momentum > 0.0f) return samba__fma(momentum, now - before, before);
    return (now > before) == most ? now : before;
}

SAMBA__FN void samba__follow_range(const float *x, int64_t n, const float *before, float momentum,
                                   float *range)
{
    float least = 0.0f, most = 0.0f, batches = before[SAMBA__RANGE_BATCHES];
    bool nan = false;
    for (int64_t i = 0; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
        nan = nan | (x[i] != x[i]);
    }
    if (nan) least = most = samba__bits_float(0x7FC00000u);

    if (batches != 0.0f) {
        least = samba__range_end(before[SAMBA__RANGE_LEAST], least, momentum, false);
        most = samba__range_end(before[SAMBA__RANGE_MOST], most, momentum, true);
    }

    range[SAMBA__RANGE_LEAST] = least;
    range[SAMBA__RANGE_MOST] = most;
    range[SAMBA__RANGE_BATCHES] = batches + 1.0f;
}

SAMBA__FN void samba__observe_kernel(const samba_args *a)
{
    samba__follow_range(a->in[0], samba_count(&a->in_spec[0].shape), a->in[1],
                        samba_attr_float(a->attr[SAMBA__OBSERVE_MOMENTUM]), a->out[0]);
}

/* ---- fake_quantize: y = the number nearest to x on the grid of its range; inputs x and the range,
   outputs y and the range. dx = dy where the grid reaches, as if the steps were not there: Bengio,
   Leonard, Courville, "Estimating or propagating gradients through stochastic neurons", 2013. With
   half a step at either end, since an end of the range may lie between two numbers. NaN stays NaN,
   and so does the gradient there; an infinity is limited if the range stays, else all is NaN. ----
 */
enum { SAMBA__QUANT_BLOCK = 4096 }; /* elements of a unit */

SAMBA__FN void samba__blocks_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba__ceil_div(samba_count(&c->out[0].shape), SAMBA__QUANT_BLOCK);
}

/* The elements of units begin ... end-1 of output 0: first ... *last - 1. */
SAMBA__FN int64_t samba__block_range(const samba_args *a, int64_t *last)
{
    *last = samba__min64(a->end * SAMBA__QUANT_BLOCK, samba_count(&a->out_spec[0].shape));
    return a->begin * SAMBA__QUANT_BLOCK;
}

SAMBA__FN bool samba__fake_quantize_shape(samba_call *c)
{
    if (!samba__expect_range(c, 2, 1) || !samba__expect_momentum(c)) return false;
    c->n_out = 2;
    c->out[0] = c->in[0];
    c->out[1] = c->in[1];
    return true;
}

/* Phase 0 finds the range, phase 1 uses it. */
SAMBA__FN void samba__fake_quantize_work(samba_work *w, const samba_call *c)
{
    samba__blocks_work(w, c);
    w->n_phases = 2;
    w->units[1] = w->units[0];
    w->units[0] = 1;
}

SAMBA__FN void samba__fake_quantize_kernel(const samba_args *a)
{
    float *range = a->out[1];
    if (a->phase == 0 && a->running_stats) {
        memmove(range, a->in[1], SAMBA__RANGE_SIZE * sizeof *range);
    } else if (a->phase == 0) {
        samba__follow_range(a->in[0], samba_count(&a->in_spec[0].shape), a->in[1],
                            samba_attr_float(a->attr[SAMBA__OBSERVE_MOMENTUM]), range);
    } else {
        int64_t last, i = samba__block_range(a, &last);
        samba__int8_grid g = samba__grid_of(range[SAMBA__RANGE_LEAST], range[SAMBA__RANGE_MOST]);
        for (; i < last; i++)
            a->out[0][i] = samba__on_grid(a->in[0][i], g);
    }
}

SAMBA__FN void samba__fake_quantize_vjp(samba_vjp *g)
{
    g->din[0]
        = samba__emit3(SAMBA__OP_fake_quantize_backward, g->dout[0], g->in[0], g->out[1], NULL, 0);
}

SAMBA__FN bool samba__fake_quantize_backward_shape(samba_call *c)
{
    if (!samba__expect_range(c, 3, 0)) return false;
    c->out[0] = c->in[0];
    if (!samba__same_shape(&c->in[0].shape, &c->in[1].shape))
        return samba_refuse(c, SAMBA_ESHAPE, "dy is %S, but x is %S", &c->in[0].shape,
                            &c->in[1].shape);
    return true;
}

SAMBA__FN void samba__fake_quantize_backward_kernel(const samba_args *a)
{
    int64_t last, i = samba__block_range(a, &last);
    samba__int8_grid g = samba__grid_of(a->in[2][SAMBA__RANGE_LEAST], a->in[2][SAMBA__RANGE_MOST]);
    float low = (float)(SAMBA__INT8_LEAST - g.zero) - 0.5f;
    float high = (float)(SAMBA__INT8_MOST - g.zero) + 0.5f;

    for (; i < last; i++) {
        float at = a->in[1][i] / g.scale, dy = at >= low && at <= high ? a->in[0][i] : 0.0f;
        a->out[0][i] = samba__unless_nan(at, dy);
    }
}

/* ---- fake_quantize_weight: the same for weights, whose largest in each channel is 127 steps, or
   -127, so that all of the gradient passes. Attribute: the axis that counts channels. ---- */
SAMBA__FN bool samba__fake_quantize_weight_shape(samba_call *c)
{
    if (!samba__expect_all_f32(c, 1, 1, 1) || !samba__expect_axis(c, c->attr[SAMBA__AXIS_NUMBER]))
        return false;
    c->out[0] = c->in[0];
    return true;
}

SAMBA__FN void samba__fake_quantize_weight_work(samba_work *w, const samba_call *c)
{
    w->units[0] = c->in[0].shape.dim[c->attr[SAMBA__AXIS_NUMBER]];
}

/* The size of the largest weight of channel u, or NaN if there is one: of x (before, channels,
 * behind). */
SAMBA__FN float samba__channel_size(const float *x, const samba_shape *shape, int32_t axis,
                                    int64_t u)
{
    int64_t behind = samba__inner(shape, axis), row = behind * shape->dim[axis];
    float most = 0.0f;
    for (int64_t i = u * behind; i < samba_count(shape); i += row)
        for (int64_t k = 0; k < behind; k++)
            most = samba__larger(most, samba__abs(x[i + k]));
    return most;
}

SAMBA__FN void samba__fake_quantize_weight_kernel(const samba_args *a)
{
    const samba_shape *shape = &a->in_spec[0].shape;
    int32_t axis = a->attr[SAMBA__AXIS_NUMBER];
    int64_t behind = samba__inner(shape, axis), row = behind * shape->dim[axis];

    for (int64_t u = a->begin; u < a->end; u++) {
        samba__int8_grid g
            = { samba__weight_scale(samba__channel_size(a->in[0], shape, axis, u)), 0 };
        for (int64_t i = u * behind; i < samba_count(shape); i += row)
            for (int64_t k = 0; k < behind; k++)
                a->out[0][i + k] = samba__on_grid(a->in[0][i + k], g);
    }
}
SAMBA__GRAD1(fake_quantize_weight, dy)

SAMBA__OP_API samba_tensor *samba_fake_quantize_weight(samba_tensor *w, int32_t axis)
{
    if (!samba__find_axis(w, "fake_quantize_weight", &axis, 0)) return NULL;
    return samba__emit1(SAMBA__OP_fake_quantize_weight, w, &axis, 1);
}

