// The ops: elementwise, reductions, products, shapes, normalization, losses, windows, attention.
//     cc -O1 -o ops examples/reference/ops.c -lm -pthread && ./ops
// The examples compute at once; traced, the same calls are recorded, and compiled.
#include "reference.h"

// ---- Elementwise --------------------------------------------------------------------------------

// samba_full, samba_number: constants.
static void constants(samba_session *s)
{
    is(samba_full(s, SAMBA_SHAPE(2, 2), 7), 7, 7, 7, 7);
    samba_tensor *half = samba_number(s, 0.5f);
    is(samba_mul(samba_full(s, SAMBA_SHAPE(3), 2), half), 1, 1, 1);
}

// samba_arange: numbers in equal steps.
static void counting(samba_session *s)
{
    is(samba_arange(s, 4, 1, 0.5f), 1, 1.5, 2, 2.5);
}

// samba_add, samba_sub, samba_mul, samba_div, samba_pow: with a row that is broadcast.
static void arithmetic(samba_session *s)
{
    samba_tensor *a = numbers(s, "a", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    samba_tensor *b = numbers(s, "b", SAMBA_SHAPE(3), 1, 2, 2); // (3), for each row of a
    is(samba_add(a, b), 2, 4, 5, 5, 7, 8);
    is(samba_sub(a, b), 0, 0, 1, 3, 3, 4);
    is(samba_mul(a, b), 1, 4, 6, 4, 10, 12);
    is(samba_div(a, b), 1, 1, 1.5, 4, 2.5, 3);
    is(samba_pow(a, b), 1, 4, 9, 4, 25, 36);
}

// samba_minimum, samba_maximum: element by element; samba_max is along axes.
static void smaller_and_larger(samba_session *s)
{
    samba_tensor *a = numbers(s, "a", SAMBA_SHAPE(3), 1, 5, 3);
    samba_tensor *b = numbers(s, "b", SAMBA_SHAPE(3), 2, 4, 3);
    is(samba_minimum(a, b), 1, 4, 3);
    is(samba_maximum(a, b), 2, 5, 3);
}

// samba_eq, samba_ne, samba_lt, samba_le, samba_gt, samba_ge: bool, 1 for true.
static void comparisons(samba_session *s)
{
    samba_tensor *a = numbers(s, "a", SAMBA_SHAPE(3), 1, 2, 3);
    samba_tensor *b = numbers(s, "b", SAMBA_SHAPE(3), 2, 2, 2);
    is(samba_eq(a, b), 0, 1, 0);
    is(samba_ne(a, b), 1, 0, 1);
    is(samba_lt(a, b), 1, 0, 0);
    is(samba_le(a, b), 1, 1, 0);
    is(samba_gt(a, b), 0, 0, 1);
    is(samba_ge(a, b), 0, 1, 1);
}

// samba_where: negative numbers become zero.
static void choose(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), -1, 2, -3);
    samba_tensor *zero = samba_number(s, 0);
    is(samba_where(samba_lt(x, zero), zero, x), 0, 2, 0);
}

// samba_neg, samba_abs, samba_exp, samba_log, samba_sqrt, samba_rsqrt: functions of one number.
static void functions(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), 1, 4, 9);
    is(samba_neg(x), -1, -4, -9);
    is(samba_abs(samba_neg(x)), 1, 4, 9);
    is(samba_sqrt(x), 1, 2, 3);
    is(samba_rsqrt(x), 1, 0.5, 1.0 / 3);
    is(samba_exp(samba_log(x)), 1, 4, 9);
}

// samba_sin, samba_cos, samba_erf, samba_log1p, samba_expm1: of radians; and near 0 to all digits.
static void more_functions(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2), 0, 1);
    is(samba_sin(x), 0, 0.841471);
    is(samba_cos(x), 1, 0.540302);
    is(samba_erf(x), 0, 0.842701);
    is(samba_log1p(x), 0, 0.693147);
    is(samba_expm1(x), 0, 1.718282);
}

// samba_floor, samba_ceil, samba_round, samba_sign: steps, through which no gradient flows.
static void steps(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), -1.5f, 0.5f, 2.5f);
    is(samba_floor(x), -2, 0, 2);
    is(samba_ceil(x), -1, 1, 3);
    is(samba_round(x), -2, 0, 2); // halves to even
    is(samba_sign(x), -1, 1, 1);
}

// samba_detach: round(x) whose gradient is that of x: what is added is a constant to it.
static void straight_through(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2), 0.75f, 2);
    samba_tensor *rest = samba_sub(samba_round(x), x);
    is(samba_add(x, samba_detach(rest)), 1, 2);
}

// samba_relu, samba_leaky_relu, samba_sigmoid, samba_tanh, samba_gelu, samba_gelu_tanh, samba_silu,
// samba_softplus: activations at -1, 0 and 1.
static void activations(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), -1, 0, 1);
    is(samba_relu(x), 0, 0, 1);
    is(samba_leaky_relu(x, 0.1f), -0.1, 0, 1);
    is(samba_sigmoid(x), 0.268941, 0.5, 0.731059);
    is(samba_tanh(x), -0.761594, 0, 0.761594);
    is(samba_gelu(x), -0.158655, 0, 0.841345);
    is(samba_gelu_tanh(x), -0.158808, 0, 0.841192);
    is(samba_silu(x), -0.268941, 0, 0.731059);
    is(samba_softplus(x), 0.313262, 0.693147, 1.313262);
}

// samba_scale, samba_shift: with a number that is known when tracing.
static void scale_and_shift(samba_session *s)
{
    samba_tensor *celsius = numbers(s, "celsius", SAMBA_SHAPE(3), 0, 37, 100);
    is(samba_shift(samba_scale(celsius, 1.8f), 32), 32, 98.6, 212);
}

// samba_cast: to an integer, towards zero, and within what it holds.
static void conversion(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), -1.7f, 0, 1e30f);
    samba_tensor *whole = samba_cast(x, SAMBA_I32);
    holds(samba_read_i32(whole)[0] == -1);
    holds(samba_read_i32(whole)[2] == INT32_MAX);
    is(samba_cast(x, SAMBA_BOOL), 1, 0, 1);
}

// ---- Reductions and products --------------------------------------------------------------------

// samba_sum, samba_mean, samba_max: the axes that are named disappear, or become 1 with keepdim.
static void reductions(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    is(samba_sum(x, SAMBA_AXES(1), false), 6, 15);          // of each row
    is(samba_mean(x, SAMBA_AXES(0), false), 2.5, 3.5, 4.5); // of each column
    is(samba_max(x, SAMBA_ALL_AXES, false), 6);
    samba_tensor *mean = samba_mean(x, SAMBA_AXES(-1), true); // (2,1): fits to x again
    is(samba_sub(x, mean), -1, 0, 1, -1, 0, 1);
}

// samba_argsort: where the smallest is, the next one, and so on.
static void order(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(4), 3, 1, 4, 2);
    is(samba_argsort(x, 0, 0, false), 1, 3, 0, 2);
    is(samba_argsort(x, 0, 2, true), 2, 0);
}

// samba_argmax: where the largest of each row is, as i32.
static void largest(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 0, 7, 7, 9, 1, 2);
    is(samba_argmax(x, 1, false), 1, 0);
}

// samba_matmul, samba_matmul_transposed: rows times columns.
static void product(samba_session *s)
{
    samba_tensor *a = numbers(s, "a", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    samba_tensor *b = numbers(s, "b", SAMBA_SHAPE(3), 1, 0, 1);
    is(samba_matmul(a, b), 4, 10); // times a vector
    is(samba_matmul(a, samba_transpose(a, 0, 1)), 14, 32, 32, 77);
    is(samba_matmul_transposed(a, false, a, true), 14, 32, 32, 77); // and no copy of a
}

// samba_affine: a layer without parameters of its own; w has a row for each output.
static void affine(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), 1, 10, 100);
    samba_tensor *w = numbers(s, "w", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    samba_tensor *b = numbers(s, "b", SAMBA_SHAPE(2), 0.5f, -1);
    is(samba_affine(x, w, b), 321.5, 653);
    is(samba_affine(x, w, NULL), 321, 654);
}

// ---- Shape --------------------------------------------------------------------------------------

// samba_reshape, samba_flatten, samba_squeeze, samba_unsqueeze: other shapes of the same numbers.
static void shapes(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    samba_tensor *y = samba_reshape(x, SAMBA_SHAPE(3, -1)); // -1: what is left
    holds(y->shape.ndim == 2 && y->shape.dim[0] == 3 && y->shape.dim[1] == 2);
    y = samba_unsqueeze(y, 0); // (1,3,2)
    holds(y->shape.ndim == 3 && y->shape.dim[0] == 1);
    holds(samba_squeeze(y, 0)->shape.ndim == 2);   // (3,2)
    holds(samba_flatten(y, 1)->shape.dim[1] == 6); // (1,6)
    is(samba_flatten(y, 0), 1, 2, 3, 4, 5, 6);     // in the same order
}

// samba_transpose, samba_permute: axes change places, and the numbers move.
static void axes(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    is(samba_transpose(x, 0, 1), 1, 4, 2, 5, 3, 6);
    samba_tensor *image = samba_reshape(x, SAMBA_SHAPE(1, 3, 2));    // height, width, channels
    is(samba_permute(image, SAMBA_AXES(2, 0, 1)), 1, 3, 5, 2, 4, 6); // channels first
}

// samba_expand: repeats what has size 1, as broadcasting does.
static void repeat(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3, 1), 1, 2, 3);
    is(samba_expand(x, SAMBA_SHAPE(-1, 2)), 1, 1, 2, 2, 3, 3); // -1: as it is
}

// samba_slice, samba_pad: a part, and more around it.
static void parts(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    is(samba_slice(x, 1, 0, 3, 2), 1, 3, 4, 6); // columns 0 and 2
    is(samba_slice(x, 0, -1, 2, 1), 4, 5, 6);   // the last row
    samba_tensor *wide = samba_pad(x, SAMBA_SHAPE(0, 1), SAMBA_SHAPE(0, 1), 0);
    is(wide, 0, 1, 2, 3, 0, 0, 4, 5, 6, 0);
}

// samba_split, samba_cat, samba_stack: into parts, and together again.
static void together(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    samba_tensor *part[2];
    holds(samba_split(x, 2, 1, part, 2) == 2); // 2 columns, and the one that is left
    is(part[0], 1, 2, 4, 5);
    is(part[1], 3, 6);
    is(samba_cat(part, 2, 1), 1, 2, 3, 4, 5, 6);
    samba_tensor *row[2]
        = { numbers(s, "a", SAMBA_SHAPE(3), 1, 2, 3), numbers(s, "b", SAMBA_SHAPE(3), 4, 5, 6) };
    holds(samba_stack(row, 2, 0)->shape.ndim == 2); // (2,3): a new axis
    is(samba_stack(row, 2, 1), 1, 4, 2, 5, 3, 6);
}

// samba_gather: from each row the element that is asked for.
static void gather(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    samba_tensor *index = integers(s, "index", SAMBA_SHAPE(2, 1), 2, 0);
    is(samba_gather(x, 1, index), 3, 4);
}

// samba_write_rows: two rows of a cache get new values; row -1 is nobody's.
static void write_rows(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(3, 3), 0);
    samba_tensor *row = integers(s, "row", SAMBA_SHAPE(2), 2, -1);
    is(samba_write_rows(cache, x, row), 0, 0, 0, 0, 0, 0, 1, 2, 3);
}

// ---- Normalization ------------------------------------------------------------------------------

// samba_softmax, samba_log_softmax: numbers of any size become probabilities.
static void softmax(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), 1000, 1000, 1000.6931f); // + ln 2
    is(samba_softmax(x, 0), 0.250004, 0.250004, 0.499992);
    samba_tensor *same = numbers(s, "same", SAMBA_SHAPE(3), 7, 7, 7);
    is(samba_log_softmax(same, -1), -1.098612, -1.098612, -1.098612); // -ln 3
}

// samba_layer_normalize, samba_rms_normalize: each row by its own mean and variance.
static void normalize(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), 2, 4, 6);
    samba_tensor *w = numbers(s, "w", SAMBA_SHAPE(3), 1, 1, 2);
    samba_tensor *b = numbers(s, "b", SAMBA_SHAPE(3), 0, 10, 0);
    is(samba_layer_normalize(x, NULL, NULL, 1e-5f), -1.224744, 0, 1.224744);
    is(samba_layer_normalize(x, w, b, 1e-5f), -1.224744, 10, 2.449487);
    is(samba_rms_normalize(x, NULL, 0), 0.462910, 0.925820, 1.388730);
    is(samba_rms_normalize(x, w, 0), 0.462910, 0.925820, 2.777460);
}

// samba_batch_normalize: each channel over the batch; mean and var are state.
static void normalize_batch(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 2), 1, 10, 3, 30); // 2 samples, 2 channels
    samba_tensor *mean = samba_buffer(s, "mean", SAMBA_SHAPE(2), 0);
    samba_tensor *var = samba_buffer(s, "var", SAMBA_SHAPE(2), 1);
    samba_tensor *y = samba_batch_normalize(x, NULL, NULL, mean, var, 0.5f, 0);
    is(y, -1, -1, 1, 1);
    is(mean, 1, 10); // half way from 0 to 2 and to 20
    is(samba_batch_normalize(x, NULL, NULL, mean, var, 0.5f, 0), -1, -1, 1, 1);
}

// ---- Losses -------------------------------------------------------------------------------------

// samba_cross_entropy, samba_cross_entropy_with, samba_nll: of class numbers; -100 does not count.
static void losses(samba_session *s)
{
    samba_tensor *target = integers(s, "target", SAMBA_SHAPE(2), 2, -100);
    samba_tensor *logits = numbers(s, "logits", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    is(samba_cross_entropy(logits, target), 0.407606);
    samba_loss_opts each = { .reduction = SAMBA_REDUCE_NONE };
    is(samba_cross_entropy_with(logits, target, &each), 0.407606, 0);
    is(samba_nll(samba_log_softmax(logits, 1), target, NULL), 0.407606);
}

// samba_mse: the mean of squares, or their sum.
static void squares(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), 1, 2, 3);
    samba_tensor *y = numbers(s, "y", SAMBA_SHAPE(3), 1, 4, 0);
    is(samba_mse(x, y, SAMBA_REDUCE_SUM), 13);
    is(samba_mse(x, y, SAMBA_REDUCE_MEAN), 13.0 / 3);
}

// ---- Windows ------------------------------------------------------------------------------------

// samba_convolution, samba_convolution_backward_input, samba_convolution_backward_weight: a window
// of 2 x 2 slides over an image; the others are its gradients.
static void convolution(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(1, 1, 3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9);
    samba_tensor *w = numbers(s, "w", SAMBA_SHAPE(1, 1, 2, 2), 1, 0, 0, -1);
    samba_tensor *y = samba_convolution(x, w, NULL, NULL);
    is(y, -4, -4, -4, -4);
    samba_tensor *dy = samba_full(s, y->shape, 1);
    is(samba_convolution_backward_input(dy, w, x->shape, NULL), 1, 1, 0, 1, 0, -1, 0, -1, -1);
    is(samba_convolution_backward_weight(x, dy, w->shape, NULL), 12, 16, 24, 28);
}

// samba_max_pool2d, samba_avg_pool2d, samba_adaptive_avg_pool2d: one number of each window.
static void pooling(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(1, 1, 3, 3), 1, 2, 3, 4, 5, 6, 7, 8, 9);
    samba_pool_opts window = { .kernel = { 2, 2 }, .stride = { 1, 1 } };
    is(samba_max_pool2d(x, &window), 5, 6, 8, 9);
    is(samba_avg_pool2d(x, &window), 3, 4, 6, 7);
    is(samba_adaptive_avg_pool2d(x, 1, 1), 5); // whatever size the image has
}

// ---- Tables and attention -----------------------------------------------------------------------

// samba_lookup: a row for each id.
static void lookup(samba_session *s)
{
    samba_tensor *table = numbers(s, "table", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    samba_tensor *ids = integers(s, "ids", SAMBA_SHAPE(3), 1, 0, 1);
    is(samba_lookup(ids, table), 4, 5, 6, 1, 2, 3, 4, 5, 6);
}

// samba_scaled_dot_product_attention: the second place attends to both, the first to itself alone.
static void attention(samba_session *s)
{
    samba_tensor *q = numbers(s, "q", SAMBA_SHAPE(2, 2), 1, 1, 1, 1); // all look alike
    samba_tensor *v = numbers(s, "v", SAMBA_SHAPE(2, 2), 10, 20, 30, 40);
    samba_attention_opts causal = { .causal = true };
    is(samba_scaled_dot_product_attention(q, q, v, NULL, &causal), 10, 20, 20, 30);
}

// samba_fake_quantize_weight: to the nearest of 127 steps of either sign, for each row.
static void fake_quantize_weight(samba_session *s)
{
    samba_tensor *w = numbers(s, "w", SAMBA_SHAPE(1, 2), 1.27f, 0.123f);
    is(samba_fake_quantize_weight(w, 0), 1.27, 0.12);
}

int main(void)
{
    RUN(constants);
    RUN(counting);
    RUN(arithmetic);
    RUN(smaller_and_larger);
    RUN(comparisons);
    RUN(choose);
    RUN(functions);
    RUN(more_functions);
    RUN(steps);
    RUN(straight_through);
    RUN(activations);
    RUN(scale_and_shift);
    RUN(conversion);
    RUN(reductions);
    RUN(largest);
    RUN(order);
    RUN(product);
    RUN(affine);
    RUN(shapes);
    RUN(axes);
    RUN(repeat);
    RUN(parts);
    RUN(together);
    RUN(gather);
    RUN(write_rows);
    RUN(softmax);
    RUN(normalize);
    RUN(normalize_batch);
    RUN(losses);
    RUN(squares);
    RUN(convolution);
    RUN(pooling);
    RUN(lookup);
    RUN(attention);
    RUN(fake_quantize_weight);
    return finish_examples();
}
