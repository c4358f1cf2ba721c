// Functions and layers made of ops: elements, reductions, sorting, noise, recurrent layers, losses.
//     cc -O1 -o functions examples/reference/functions.c -lm -pthread && ./functions
// The examples compute at once; traced, the same calls are recorded, and compiled.
#include "reference.h"

// ---- Functions of elements ----------------------------------------------------------------------

// samba_clamp, samba_reciprocal: within limits; 1 / x.
static void limits(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), -4, 0.5f, 4);
    is(samba_clamp(x, -1, 1), -1, 0.5, 1);
    is(samba_reciprocal(x), -0.25, 2, 0.25);
}

// samba_logical_and, samba_logical_or, samba_logical_not: of truths, or of numbers that are not 0.
static void truths(samba_session *s)
{
    samba_tensor *a = numbers(s, "a", SAMBA_SHAPE(4), 0, 0, 1, 1);
    samba_tensor *b = numbers(s, "b", SAMBA_SHAPE(4), 0, 1, 0, 1);
    is(samba_logical_and(a, b), 0, 0, 0, 1);
    is(samba_logical_or(a, b), 0, 1, 1, 1);
    is(samba_logical_not(a), 1, 1, 0, 0);
}

// samba_isnan, samba_isinf, samba_isfinite, samba_masked_fill: what is no number becomes 0.
static void not_finite(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3), NAN, INFINITY, 2);
    is(samba_isnan(x), 1, 0, 0);
    is(samba_isinf(x), 0, 1, 0);
    is(samba_masked_fill(x, samba_logical_not(samba_isfinite(x)), 0), 0, 0, 2);
}

// ---- Reductions, sums along an axis, sorting ----------------------------------------------------

// samba_min, samba_argmin, samba_prod: along an axis.
static void smallest(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 4, 2, 3, 1, 5, 2);
    is(samba_min(x, SAMBA_AXES(1), false), 2, 1);
    is(samba_argmin(x, 1, false), 1, 0);
    is(samba_prod(x, 1, false), 24, 10);
}

// samba_var, samba_std, samba_logsumexp: with the correction 1 the sum is divided by n - 1.
static void spread(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(4), 1, 3, 5, 7);
    is(samba_var(x, SAMBA_ALL_AXES, 0, false), 5);
    is(samba_std(x, SAMBA_ALL_AXES, 1, false), 2.581989);
    samba_tensor *large = numbers(s, "large", SAMBA_SHAPE(2), 1000, 1000);
    is(samba_logsumexp(large, SAMBA_ALL_AXES, false), 1000.693147); // e^1000 has no room
}

// samba_cumsum: each element is the sum of all up to it.
static void running_sum(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    is(samba_cumsum(x, 1), 1, 3, 6, 4, 9, 15);
}

// samba_sort, samba_topk: values, and where they were.
static void sorting(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(4), 3, 1, 4, 2), *index;
    is(samba_sort(x, 0, false, NULL), 1, 2, 3, 4);
    is(samba_topk(x, 2, 0, true, &index), 4, 3);
    is(index, 2, 0);
}

// ---- Selections, constants, noise ---------------------------------------------------------------

// samba_index_select, samba_scatter_add: rows by their numbers, and numbers added to rows.
static void selection(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(3, 2), 1, 2, 3, 4, 5, 6);
    is(samba_index_select(x, 0, integers(s, "rows", SAMBA_SHAPE(2), 2, 0)), 5, 6, 1, 2);
    samba_tensor *sum = numbers(s, "sum", SAMBA_SHAPE(3), 0, 0, 0);
    samba_tensor *to = integers(s, "to", SAMBA_SHAPE(4), 0, 2, 2, 0);
    samba_tensor *what = numbers(s, "what", SAMBA_SHAPE(4), 1, 2, 3, 4);
    is(samba_scatter_add(sum, 0, to, what), 5, 0, 5);
}

// samba_lookup_padded: rows of a table, one of which stands for "nothing" and does not learn.
static void padded(samba_session *s)
{
    samba_tensor *table = numbers(s, "table", SAMBA_SHAPE(3, 2), 0, 0, 1, 2, 3, 4);
    is(samba_lookup_padded(integers(s, "words", SAMBA_SHAPE(3), 2, 1, 0), table, 0), 3, 4, 1, 2, 0,
       0);
}

// samba_one_hot, samba_eye: a 1 at the place of a class, or on the diagonal.
static void ones(samba_session *s)
{
    is(samba_one_hot(integers(s, "ids", SAMBA_SHAPE(2), 2, 0), 3), 0, 0, 1, 1, 0, 0);
    is(samba_eye(s, 2), 1, 0, 0, 1);
}

// samba_randn_like, samba_rand_like: random numbers of the shape of x, as a VAE needs them.
static void noise(samba_session *s)
{
    samba_tensor *mean = samba_full(s, SAMBA_SHAPE(1000), 3);
    samba_tensor *z = samba_add(mean, samba_randn_like(mean, "noise"));
    holds(fabsf(samba_read(samba_mean(z, SAMBA_ALL_AXES, false))[0] - 3) < 0.2f);
    const float *u = samba_read(samba_rand_like(mean, "flat"));
    holds(u[0] >= 0 && u[0] < 1);
}

// ---- Recurrent layers ---------------------------------------------------------------------------

// samba_lstm, samba_gru, samba_rnn: two texts of 3 and 2 words; what is behind the end is 0.
static void recurrent(samba_session *s)
{
    samba_tensor *x = samba_randn(s, "words", SAMBA_SHAPE(2, 3, 4));
    samba_recurrent_state last;
    samba_recurrent_opts opts = { .bidirectional = true };
    opts.lengths = integers(s, "lengths", SAMBA_SHAPE(2), 3, 2);
    samba_tensor *y = samba_lstm(x, "lstm", 5, &opts, &last);
    holds(y->shape.dim[2] == 10); // two directions
    is(samba_slice(samba_flatten(y, 0), 0, 50, 54, 1), 0, 0, 0, 0);
    holds(last.c->shape.dim[0] == 2 && last.c->shape.dim[1] == 2 && last.c->shape.dim[2] == 5);

    opts = (samba_recurrent_opts){ .layers = 2, .relu = true };
    holds(samba_gru(x, "gru", 5, &opts, NULL)->shape.dim[2] == 5);
    holds(samba_rnn(x, "rnn", 5, &opts, NULL)->shape.dim[1] == 3);
}

// ---- Normalization by groups; images ------------------------------------------------------------

// samba_group_normalize, samba_instance_normalize, samba_groupnorm: each image by itself.
static void groups(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(1, 2, 2), 1, 3, 10, 30);
    is(samba_instance_normalize(x, NULL, NULL, 0), -1, 1, -1, 1);
    samba_tensor *y = samba_group_normalize(x, 1, NULL, NULL, 0); // one group of both channels
    is(samba_mean(y, SAMBA_ALL_AXES, false), 0);
    is(samba_groupnorm(x, "norm", 2), -0.999995, 0.999995, -1, 1);
}

// samba_conv_transpose, samba_conv_transpose2d, samba_conv_transpose1d: a number spreads a kernel.
static void transposed(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(1, 1, 2), 1, 2);
    samba_tensor *w = numbers(s, "w", SAMBA_SHAPE(1, 1, 2), 3, 4);
    samba_conv_transpose_opts opts = { .stride = { 2 } };
    is(samba_conv_transpose(x, w, NULL, &opts), 3, 4, 6, 8);
    holds(samba_conv_transpose1d(x, "up1", 5, 2, &opts)->shape.dim[2] == 4);
    samba_tensor *image = samba_randn(s, "image", SAMBA_SHAPE(1, 3, 4, 4));
    opts = (samba_conv_transpose_opts){ .stride = { 2, 2 } };
    holds(samba_conv_transpose2d(image, "up2", 5, 2, &opts)->shape.dim[3] == 8);
}

// samba_interpolate: twice as long.
static void resized(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(1, 1, 2), 0, 4);
    is(samba_interpolate(x, 4, 0, SAMBA_NEAREST, false), 0, 0, 4, 4);
    is(samba_interpolate(x, 4, 0, SAMBA_BILINEAR, false), 0, 1, 3, 4);
}

// ---- Attention ----------------------------------------------------------------------------------

// samba_rotary, samba_attention_heads: four heads of queries share two of keys; one new word.
static void heads(samba_session *s)
{
    samba_tensor *q = samba_randn(s, "q", SAMBA_SHAPE(1, 4, 1, 8));
    samba_tensor *k = samba_randn(s, "k", SAMBA_SHAPE(1, 2, 6, 8));
    samba_tensor *v = samba_full(s, SAMBA_SHAPE(1, 2, 6, 1), 3);
    k = samba_rotary(k, NULL, 10000, false);
    q = samba_rotary(q, numbers(s, "place", SAMBA_SHAPE(1), 5), 10000, false);
    samba_heads_opts opts = { .causal = true, .window = 4 };
    is(samba_attention_heads(q, k, v, &opts), 3, 3, 3, 3); // a mean of equal values
}

// ---- Losses -------------------------------------------------------------------------------------

// samba_bce_with_logits, samba_l1, samba_smooth_l1, samba_huber, samba_kl_div: element by element.
static void element_losses(samba_session *s)
{
    samba_tensor *x = numbers(s, "x", SAMBA_SHAPE(2), 0, 3);
    samba_tensor *y = numbers(s, "y", SAMBA_SHAPE(2), 1, 1);
    is(samba_bce_with_logits(x, y, NULL, SAMBA_REDUCE_NONE), 0.693147, 0.048587);
    is(samba_l1(x, y, SAMBA_REDUCE_NONE), 1, 2);
    is(samba_smooth_l1(x, y, 2, SAMBA_REDUCE_NONE), 0.25, 1);
    is(samba_huber(x, y, 1, SAMBA_REDUCE_NONE), 0.5, 1.5);
    samba_tensor *half = numbers(s, "half", SAMBA_SHAPE(2), 0.5f, 0.5f);
    is(samba_kl_div(samba_log(half), half, false, SAMBA_REDUCE_SUM), 0); // the same distribution
}

// samba_cosine_embedding, samba_triplet_margin: of rows.
static void row_losses(samba_session *s)
{
    samba_tensor *a = numbers(s, "a", SAMBA_SHAPE(1, 2), 1, 0);
    samba_tensor *b = numbers(s, "b", SAMBA_SHAPE(1, 2), 0, 2);
    samba_tensor *alike = numbers(s, "alike", SAMBA_SHAPE(1), 1);
    is(samba_cosine_embedding(a, b, alike, 0, SAMBA_REDUCE_MEAN), 1); // a right angle
    is(samba_triplet_margin(a, a, b, 3, SAMBA_REDUCE_MEAN), 0.763932);
}

// samba_cross_entropy_weighted: the second class counts three times.
static void weighted(samba_session *s)
{
    samba_tensor *logits = numbers(s, "logits", SAMBA_SHAPE(2, 2), 0, 0, 0, 0);
    samba_tensor *target = integers(s, "target", SAMBA_SHAPE(2), 0, 1);
    samba_tensor *weights = numbers(s, "weights", SAMBA_SHAPE(2), 1, 3);
    const samba_loss_opts each = { .reduction = SAMBA_REDUCE_NONE };
    is(samba_cross_entropy_weighted(logits, target, weights, &each, false), 0.693147, 2.079442);
}

// samba_ctc: of two frames, each of which is the blank or the class, three ways write one class.
static void alignment(samba_session *s)
{
    samba_tensor *logp = samba_full(s, SAMBA_SHAPE(2, 1, 2), -0.693147f);
    samba_tensor *target = integers(s, "target", SAMBA_SHAPE(1, 1), 1);
    samba_tensor *frames = integers(s, "frames", SAMBA_SHAPE(1), 2);
    samba_tensor *letters = integers(s, "letters", SAMBA_SHAPE(1), 1);
    is(samba_ctc(logp, target, frames, letters, 0, false), 0.287682); // -log(3/4)
}

int main(void)
{
    RUN(limits);
    RUN(truths);
    RUN(not_finite);
    RUN(smallest);
    RUN(spread);
    RUN(running_sum);
    RUN(sorting);
    RUN(selection);
    RUN(padded);
    RUN(ones);
    RUN(noise);
    RUN(recurrent);
    RUN(groups);
    RUN(transposed);
    RUN(resized);
    RUN(heads);
    RUN(element_losses);
    RUN(row_losses);
    RUN(weighted);
    RUN(alignment);
    return finish_examples();
}
