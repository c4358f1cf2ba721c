// The nets of tests/device/export.sh, and what their exported C is compared with.
//     export_nets make NET FILE            compiles a net and saves it with its values
//     export_nets drive FILE NAME STEPS    see export_drive.h
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include <stdio.h>
#include <stdlib.h>
#include "tests/device/export_drive.h"

// ---- Nets ---------------------------------------------------------------------------------------

static samba_tensor *conv(samba_tensor *x, const char *name, int32_t channels, int32_t kernel,
                          int32_t stride)
{
    int32_t pad = kernel / 2;
    samba_conv_opts opts = { .stride = { stride, stride }, .padding = { pad, pad } };
    return samba_conv2d(x, name, channels, kernel, &opts);
}

static samba_tensor *image(samba_session *s, int32_t batch, int32_t channels, int32_t rows,
                           int32_t columns)
{
    return samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(batch, channels, rows, columns));
}

static samba_tensor *make_mlp(samba_session *s)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 64));
    samba_tensor *h = samba_relu(samba_linear(x, "fc1", 32));
    return samba_softmax(samba_linear(h, "fc2", 10), 1);
}

// Each curve once, in rows that no block of a loop divides.
static samba_tensor *make_curves(samba_session *s)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(3, 7));
    samba_tensor *h = samba_tanh(samba_linear(x, "fc1", 37));
    h = samba_gelu(samba_linear(h, "fc2", 5));
    h = samba_silu(samba_linear(h, "fc3", 6));
    h = samba_sigmoid(samba_linear(h, "fc4", 33));
    h = samba_leaky_relu(samba_linear(h, "fc5", 3), 0.1f);
    h = samba_softplus(samba_linear(h, "fc6", 70));
    h = samba_gelu_tanh(samba_linear(h, "fc7", 40));
    return samba_log_softmax(samba_exp(samba_scale(h, 0.5f)), 1);
}

// MLPerf Tiny's detector of anomalies.
static samba_tensor *make_autoencoder(samba_session *s)
{
    static const int32_t wide[] = { 128, 128, 128, 128, 8, 128, 128, 128, 128 };
    samba_tensor *h = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 640));
    for (int i = 0; i < 9; i++) {
        char name[8];
        snprintf(name, sizeof name, "fc%d", i + 1);
        h = samba_relu(samba_linear(h, name, wide[i]));
    }
    return samba_linear(h, "fc10", 640);
}

static samba_tensor *lenet_logits(samba_tensor *x)
{
    const samba_pool_opts by_2 = { .kernel = { 2, 2 } };
    samba_tensor *h = samba_max_pool2d(samba_relu(conv(x, "conv1", 6, 5, 1)), &by_2);
    h = samba_max_pool2d(samba_relu(samba_conv2d(h, "conv2", 16, 5, NULL)), &by_2);
    h = samba_flatten(h, 1);
    h = samba_relu(samba_linear(h, "fc1", 120));
    h = samba_relu(samba_linear(h, "fc2", 84));
    return samba_linear(h, "fc3", 10);
}

static samba_tensor *make_lenet(samba_session *s)
{
    return samba_softmax(lenet_logits(image(s, 1, 1, 28, 28)), 1);
}

static samba_tensor *residual(samba_tensor *x, const char *name, int32_t channels, int32_t stride)
{
    char part[3][16];
    for (int i = 0; i < 3; i++)
        snprintf(part[i], sizeof part[i], "%s%c", name, "abs"[i]);
    samba_tensor *h = samba_relu(conv(x, part[0], channels, 3, stride));
    h = conv(h, part[1], channels, 3, 1);
    if (stride > 1) x = conv(x, part[2], channels, 1, stride);
    return samba_relu(samba_add(h, x));
}

// MLPerf Tiny's classifier of images.
static samba_tensor *make_resnet8(samba_session *s)
{
    samba_tensor *h = samba_relu(conv(image(s, 1, 3, 32, 32), "stem", 16, 3, 1));
    h = residual(h, "block1", 16, 1);
    h = residual(h, "block2", 32, 2);
    h = residual(h, "block3", 64, 2);
    h = samba_flatten(samba_adaptive_avg_pool2d(h, 1, 1), 1);
    return samba_softmax(samba_linear(h, "fc", 10), 1);
}

// MLPerf Tiny's spotter of keywords.
static samba_tensor *make_ds_cnn(samba_session *s)
{
    samba_conv_opts first = { .stride = { 2, 2 }, .padding = { 5, 1 } };
    samba_conv_opts deep = { .padding = { 1, 1 }, .groups = 64 };
    samba_tensor *x = image(s, 1, 1, 49, 10);
    samba_init values = { .kind = SAMBA_INIT_UNIFORM, .scale = 0.15f };
    samba_tensor *w = samba_param(s, "stem__weight", SAMBA_SHAPE(64, 1, 10, 4), values);
    samba_tensor *b = samba_param(s, "stem__bias", SAMBA_SHAPE(64), values);
    samba_tensor *h = samba_relu(samba_convolution(x, w, b, &first));
    for (int i = 0; i < 4; i++) {
        char name[2][8];
        for (int k = 0; k < 2; k++)
            snprintf(name[k], sizeof name[k], "%s%d", k ? "pw" : "dw", i);
        h = samba_relu(samba_conv2d(h, name[0], 64, 3, &deep));
        h = samba_relu(samba_conv2d(h, name[1], 64, 1, NULL));
    }
    h = samba_flatten(samba_adaptive_avg_pool2d(h, 1, 1), 1);
    return samba_softmax(samba_linear(h, "fc", 12), 1);
}

// Normalization, groups, dilation, strides and both poolings with borders.
static samba_tensor *make_odd(samba_session *s)
{
    samba_conv_opts wide = { .stride = { 2, 1 }, .padding = { 2, 3 }, .dilation = { 1, 2 } };
    samba_conv_opts groups = { .stride = { 1, 2 }, .padding = { 0, 1 }, .groups = 3 };
    samba_pool_opts most = { .kernel = { 3, 2 }, .stride = { 2, 1 }, .padding = { 1, 1 } };
    samba_pool_opts mean
        = { .kernel = { 3, 3 }, .stride = { 2, 2 }, .padding = { 1, 1 }, .ceil_mode = true };
    samba_tensor *h = samba_conv2d(image(s, 2, 2, 13, 11), "conv1", 9, 3, &wide);
    h = samba_max_pool2d(samba_relu(samba_batchnorm(h, "norm1")), &most);
    h = samba_conv2d(h, "conv2", 15, 3, &groups);
    h = samba_avg_pool2d(samba_silu(samba_batchnorm(h, "norm2")), &mean);
    return samba_linear(samba_flatten(h, 1), "fc", 3);
}

// What is computed at once is a constant of the program.
static samba_tensor *constant(samba_tensor *x, samba_dtype type)
{
    samba_set_tracing(x->session, false);
    x = samba_cast(samba_scale(x, 1.0f), type);
    samba_set_tracing(x->session, true);
    return x;
}

// A constant of whole numbers: least, least + 7 ..., modulo `span`.
static samba_tensor *numbers(samba_session *s, samba_dtype type, samba_shape shape, int least,
                             int span)
{
    static int made = 0;
    char name[24];
    size_t n = 1;
    snprintf(name, sizeof name, "numbers%d", made++);
    for (int32_t d = 0; d < shape.ndim; d++)
        n *= (size_t)shape.dim[d];
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)(least + (int)(7 * i) % span);
    samba_tensor *t = samba_from_data_copy(s, name, SAMBA_F32, shape, x);
    free(x);
    return constant(t, type);
}

// Weights (n,k) as affine_integer has them: (panels,fours,64,4), 0 beyond n and k.
static samba_tensor *packed(samba_session *s, const char *name, int32_t n, int32_t k)
{
    samba_shape shape = SAMBA_SHAPE((n + 63) / 64, (k + 3) / 4, 64, 4);
    float *x = calloc((size_t)shape.dim[0] * (size_t)shape.dim[1], 64 * 4 * sizeof *x);
    for (int32_t j = 0; x && j < n; j++)
        for (int32_t i = 0; i < k; i++) {
            int32_t four = j / 64 * shape.dim[1] + i / 4;
            x[(four * 64 + j % 64) * 4 + i % 4] = (float)((j * 11 + i * 7) % 256 - 128);
        }
    samba_tensor *t = samba_from_data_copy(s, name, SAMBA_F32, shape, x);
    free(x);
    return constant(t, SAMBA_I8);
}

static samba_tensor *apply(const char *op, samba_tensor *x, samba_tensor *const more[6],
                           const int32_t *attr, int32_t n_attr)
{
    samba_tensor *in[7] = { x };
    memcpy(in + 1, more, 6 * sizeof *in);
    int32_t n = 7;
    while (!in[n - 1])
        n--;
    return samba_apply(x->session, op, in, n, attr, n_attr);
}

// Codes with scales and zeros that are tensors, as ONNX has them: with signs and without, one zero
// and scale for all channels or one for each, known or made as the net runs; to sums, floats,
// codes.
static samba_tensor *make_codes(samba_session *s)
{
    const samba_shape one = samba_scalar_shape();
    const int32_t wide[7] = { 2, 1, 2, 1, 1, 2, 1 }, groups[7] = { 1, 1, 0, 1, 1, 1, 3 };
    const int32_t columns[2] = { 70, 5 };
    samba_tensor *x = image(s, 2, 3, 9, 8), *codes[3];
    samba_apply_all(s, "quantize_dynamic", &x, 1, NULL, 0, codes, 3);

    samba_tensor *per_channel = samba_scale(numbers(s, SAMBA_F32, SAMBA_SHAPE(6), 1, 9), 0.003f);
    samba_tensor *first[6]
        = { numbers(s, SAMBA_I8, SAMBA_SHAPE(6, 3, 3, 3), -90, 200), codes[2],
            numbers(s, SAMBA_I8, SAMBA_SHAPE(6), -3, 8), samba_mul(codes[1], per_channel),
            numbers(s, SAMBA_F32, SAMBA_SHAPE(6), -2, 5) };
    samba_tensor *h = samba_relu(apply("convolution_integer", codes[0], first, wide, 7));

    samba_tensor *tenth = samba_full(s, one, 0.1f), *zero = numbers(s, SAMBA_I8, one, -20, 1);
    samba_tensor *grid[3] = { h, tenth, zero };
    h = samba_apply(s, "quantize_bytes", grid, 3, NULL, 0);
    samba_tensor *second[6] = { numbers(s, SAMBA_U8, SAMBA_SHAPE(9, 2, 2, 2), 3, 251),
                                zero,
                                numbers(s, SAMBA_U8, one, 128, 1),
                                samba_full(s, one, 0.002f),
                                NULL,
                                numbers(s, SAMBA_U8, one, 100, 1) };
    h = samba_flatten(apply("convolution_integer", h, second, groups, 7), 1);

    samba_tensor *third[6]
        = { packed(s, "wide", 70, h->shape.dim[1]),         second[5],
            numbers(s, SAMBA_I8, SAMBA_SHAPE(70), -2, 5),   samba_full(s, one, 0.0004f),
            numbers(s, SAMBA_F32, SAMBA_SHAPE(70), -9, 20), numbers(s, SAMBA_I8, one, 5, 1) };
    h = apply("affine_integer", h, third, columns, 1);
    samba_tensor *last[6] = { packed(s, "narrow", 5, 70), third[5] };
    samba_tensor *sums = samba_cast(apply("affine_integer", h, last, columns + 1, 1), SAMBA_F32);

    samba_tensor *product[6] = { numbers(s, SAMBA_U8, SAMBA_SHAPE(70, 5), 0, 256),
                                 numbers(s, SAMBA_I8, SAMBA_SHAPE(2), -1, 9),
                                 numbers(s, SAMBA_U8, SAMBA_SHAPE(5), 120, 17) };
    samba_tensor *more = samba_cast(apply("matmul_integer", h, product, NULL, 0), SAMBA_F32);
    samba_tensor *scaled[3] = { h, tenth, third[5] };
    samba_tensor *floats = samba_apply(s, "dequantize_bytes", scaled, 3, NULL, 0);
    samba_tensor *parts[3] = { sums, more, floats };
    return samba_cat(parts, 3, 1);
}

// One with an op that export-c does not have.
static samba_tensor *make_unknown(samba_session *s)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(3, 7));
    return samba_cast(samba_linear(x, "fc", 5), SAMBA_BF16);
}

static samba_tensor *labels(samba_session *s, int32_t batch)
{
    return samba_input(s, "labels", SAMBA_I32, SAMBA_SHAPE(batch));
}

static samba_tensor *mlp_logits(samba_session *s, int32_t batch)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(batch, 18));
    samba_tensor *h = samba_relu(samba_linear(x, "fc1", 35));
    return samba_linear(samba_tanh(samba_linear(h, "fc2", 7)), "fc3", 5);
}

static samba_tensor *make_mlp_loss(samba_session *s)
{
    return samba_cross_entropy(mlp_logits(s, 6), labels(s, 6));
}

static samba_tensor *make_smoothed(samba_session *s)
{
    samba_loss_opts opts = { .label_smoothing = 0.1f,
                             .use_ignore_index = true,
                             .ignore_index = 1,
                             .reduction = SAMBA_REDUCE_SUM };
    return samba_cross_entropy_with(mlp_logits(s, 37), labels(s, 37), &opts);
}

static samba_tensor *make_regression(samba_session *s)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(5, 6));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(5, 40));
    samba_tensor *h = samba_sigmoid(samba_linear(x, "fc1", 9));
    h = samba_gelu(samba_linear(samba_silu(samba_linear(h, "fc2", 33)), "fc3", 12));
    return samba_mse(samba_linear(samba_leaky_relu(h, 0.2f), "fc4", 40), y, SAMBA_REDUCE_MEAN);
}

// What batchnorm reads is the gradient that comes back to it, too.
static samba_tensor *make_gated(samba_session *s)
{
    samba_tensor *h = samba_conv2d(image(s, 2, 2, 7, 5), "conv", 3, 3, NULL);
    samba_tensor *y = samba_batchnorm(h, "norm");
    return samba_sum(samba_mul(y, h), SAMBA_ALL_AXES, false);
}

static samba_tensor *make_lenet_loss(samba_session *s)
{
    return samba_cross_entropy(lenet_logits(image(s, 3, 1, 28, 28)), labels(s, 3));
}

// Small, with everything that a residual net has.
static samba_tensor *make_images_loss(samba_session *s)
{
    samba_tensor *x = image(s, 9, 2, 9, 7);
    samba_conv_opts deep = { .padding = { 1, 1 }, .groups = 6 };
    samba_tensor *h = samba_relu(samba_batchnorm(conv(x, "conv1", 6, 3, 2), "norm1"));
    h = samba_relu(samba_add(samba_batchnorm(samba_conv2d(h, "conv2", 6, 3, &deep), "norm2"), h));
    h = samba_relu(samba_conv2d(h, "conv3", 8, 1, NULL));
    h = samba_flatten(samba_adaptive_avg_pool2d(h, 1, 1), 1);
    return samba_cross_entropy(samba_linear(h, "fc", 3), labels(s, 9));
}

// Strides, dilations and groups that divide nothing.
static samba_tensor *make_strides_loss(samba_session *s)
{
    samba_conv_opts wide = { .stride = { 3, 2 }, .padding = { 2, 3 }, .dilation = { 2, 1 } };
    samba_conv_opts groups
        = { .stride = { 1, 2 }, .padding = { 1, 2 }, .dilation = { 1, 3 }, .groups = 3 };
    samba_pool_opts most = { .kernel = { 3, 2 }, .stride = { 1, 1 }, .padding = { 1, 1 } };
    samba_tensor *h = samba_tanh(samba_conv2d(image(s, 3, 2, 15, 14), "conv1", 9, 3, &wide));
    h = samba_max_pool2d(samba_conv2d(h, "conv2", 15, 3, &groups), &most);
    h = samba_conv2d(h, "conv3", 5, 2, &(samba_conv_opts){ .padding = { 1, 0 } });
    h = samba_flatten(samba_adaptive_avg_pool2d(h, 1, 1), 1);
    return samba_cross_entropy(samba_linear(h, "fc", 3), labels(s, 3));
}

// ---- Sequences ----------------------------------------------------------------------------------

enum { TOKENS = 70, WORDS = 11, WIDE = 12, HEADS = 3 }; // two blocks of keys

// (N,T,C) as (N,heads,T,C/heads).
static samba_tensor *split_heads(samba_tensor *x, int32_t batch)
{
    x = samba_reshape(x, SAMBA_SHAPE(batch, TOKENS, HEADS, WIDE / HEADS));
    return samba_transpose(x, 1, 2);
}

static samba_tensor *attend(samba_tensor *x, int32_t batch)
{
    static const char *const names[] = { "q", "k", "v" };
    const samba_attention_opts causal = { .causal = true };
    samba_tensor *of[3];
    for (int i = 0; i < 3; i++)
        of[i] = split_heads(samba_linear_no_bias(x, names[i], WIDE), batch);
    x = samba_scaled_dot_product_attention(of[0], of[1], of[2], NULL, &causal);
    x = samba_reshape(samba_transpose(x, 1, 2), SAMBA_SHAPE(batch, TOKENS, WIDE));
    return samba_linear(x, "join", WIDE);
}

// A transformer of one block, whose places are learned; its logits for the next word.
static samba_tensor *transformer(samba_session *s, int32_t batch)
{
    const samba_init small = { .kind = SAMBA_INIT_UNIFORM, .scale = 0.2f };
    samba_tensor *words = samba_input(s, "words", SAMBA_I32, SAMBA_SHAPE(batch, TOKENS));
    samba_tensor *place = samba_param(s, "place", SAMBA_SHAPE(TOKENS, WIDE), small);
    samba_tensor *x = samba_add(samba_embedding(words, "word", WORDS, WIDE), place);
    x = samba_add(x, attend(samba_layernorm(x, "norm1"), batch));
    samba_tensor *h = samba_gelu(samba_linear(samba_rmsnorm(x, "norm2"), "up", 2 * WIDE));
    x = samba_layernorm(samba_add(x, samba_linear(h, "down", WIDE)), "norm3");
    return samba_linear(samba_reshape(x, SAMBA_SHAPE(batch * TOKENS, WIDE)), "logits", WORDS);
}

static samba_tensor *make_transformer(samba_session *s)
{
    samba_tensor *x = samba_reshape(transformer(s, 1), SAMBA_SHAPE(1, TOKENS, WORDS));
    return samba_softmax(samba_slice(x, 1, TOKENS - 5, TOKENS, 2), 2);
}

static samba_tensor *make_transformer_loss(samba_session *s)
{
    return samba_cross_entropy(transformer(s, 2), labels(s, 2 * TOKENS));
}

// Attention written out, with its mask: products of batches, one of which is stretched.
static samba_tensor *spelled_attention(samba_tensor *q, samba_tensor *k)
{
    samba_tensor *p = samba_matmul_transposed(q, false, k, true);
    samba_tensor *far = samba_lt(p, samba_expand(samba_mean(p, SAMBA_SHAPE(2), true), p->shape));
    p = samba_where(far, samba_number(q->session, -8.0f), p);
    return samba_matmul(samba_softmax(p, 2), k);
}

// Values moved, chosen and compared in many ways.
static samba_tensor *make_moves(samba_session *s)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 5, 6));
    samba_tensor *at = samba_input(s, "at", SAMBA_I32, SAMBA_SHAPE(2, 3, 6));
    samba_tensor *h = samba_tanh(samba_linear(x, "fc1", 6));
    samba_tensor *parts[3] = { samba_slice(h, 1, 0, 5, 2), samba_permute(h, SAMBA_SHAPE(0, 2, 1)),
                               samba_gather(h, 1, at) };
    parts[1] = samba_pad(samba_slice(parts[1], 1, 1, 6, 1), SAMBA_SHAPE(0, 1, 1),
                         SAMBA_SHAPE(0, 0, 0), 0.5f);
    samba_tensor *y = samba_cat(parts, 3, 1);
    y = spelled_attention(y, samba_slice(h, 0, 0, 1, 1));
    y = samba_pow(samba_shift(samba_abs(y), 0.25f), samba_minimum(y, samba_scale(y, 0.5f)));
    samba_tensor *top = samba_max(y, SAMBA_SHAPE(0, 2), true);
    y = samba_mul(y, samba_cast(samba_ge(y, samba_scale(top, 0.7f)), SAMBA_F32));
    samba_tensor *best = samba_cast(samba_argmax(y, 1, true), SAMBA_F32);
    y = samba_maximum(y, samba_scale(samba_log_softmax(y, 2), -0.1f));
    return samba_add(samba_sum(y, SAMBA_SHAPE(1), false), samba_squeeze(best, 1));
}

static samba_tensor *make_moves_loss(samba_session *s)
{
    samba_tensor *y = make_moves(s);
    return samba_mean(samba_mul(y, y), SAMBA_ALL_AXES, false);
}

// ---- Those that are made by name ----------------------------------------------------------------

typedef struct net {
    const char *name;
    samba_tensor *(*make)(samba_session *);
    bool trains, int8;
    samba_dtype weights; // f16: they are stored so; bf16: f32 that a half can hold
    float max_grad_norm;
    samba_optim optim;
} net;

// Texts of different lengths, forward and backward; and a layer that goes on from their states.
static samba_tensor *recurrent_net(samba_session *s, int kind)
{
    samba_tensor *(*const layers[3])(samba_tensor *, const char *, int32_t,
                                     const samba_recurrent_opts *, samba_recurrent_state *)
        = { samba_lstm, samba_gru, samba_rnn };
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3, 4));
    samba_tensor *numbers = samba_arange(s, 2, 3, -1.5f); // 3, 1.5
    samba_recurrent_opts opts = { .bidirectional = true };
    samba_recurrent_state last;
    opts.lengths = samba_cast(numbers, SAMBA_I32);
    samba_tensor *y = layers[kind](x, "r", 5, &opts, &last);
    opts = (samba_recurrent_opts){ .first = { samba_slice(last.h, 0, 1, 2, 1), NULL } };
    if (last.c) opts.first.c = samba_slice(last.c, 0, 0, 1, 1);
    y = layers[kind](samba_slice(y, 1, 0, 2, 1), "last", 5, &opts, NULL);
    return samba_linear(samba_reshape(y, SAMBA_SHAPE(2, 10)), "fc", 7);
}

static samba_tensor *make_lstm(samba_session *s)
{
    return recurrent_net(s, 0);
}

static samba_tensor *make_gru(samba_session *s)
{
    return recurrent_net(s, 1);
}

static samba_tensor *make_rnn(samba_session *s)
{
    return recurrent_net(s, 2);
}

static samba_tensor *make_lstm_loss(samba_session *s)
{
    return samba_cross_entropy(recurrent_net(s, 0), labels(s, 2));
}

static samba_tensor *make_gru_loss(samba_session *s)
{
    return samba_cross_entropy(recurrent_net(s, 1), labels(s, 2));
}

// What is elementwise, sorts or selects and has no net of its own.
static samba_tensor *functions_of(samba_tensor *x)
{
    samba_session *s = x->session;
    samba_tensor *h = samba_linear(x, "fc1", 23), *index;
    samba_tensor *wave = samba_mul(samba_sin(samba_scale(h, 30)), samba_cos(samba_scale(h, 1e6f)));
    samba_tensor *bent = samba_add(samba_erf(h), samba_expm1(samba_scale(h, 0.5f)));
    samba_tensor *steps = samba_add(samba_floor(samba_scale(h, 3)), samba_ceil(h));
    steps = samba_add(steps, samba_mul(samba_round(samba_scale(h, 5)), samba_sign(h)));
    h = samba_add(samba_add(wave, bent), samba_scale(steps, 0.1f));
    h = samba_add(h, samba_log1p(samba_abs(samba_detach(h))));
    h = samba_cumsum(samba_clamp(h, -2, 2), 1);
    samba_tensor *top = samba_topk(h, 9, 1, true, &index);
    h = samba_scatter_add(samba_scale(h, 0.5f), 1, index, top);
    samba_tensor *spread = samba_std(h, SAMBA_AXES(1), 1, true);
    samba_tensor *total = samba_logsumexp(h, SAMBA_AXES(1), true);
    h = samba_add(samba_mul(h, spread), total);
    h = samba_add(h, samba_prod(samba_slice(h, 1, 0, 5, 1), 1, true));
    samba_tensor *eye = samba_slice(samba_eye(s, 23), 0, 0, x->shape.dim[0], 1);
    return samba_linear(samba_add(samba_sort(h, 0, false, NULL), eye), "fc2", 7);
}

static samba_tensor *make_functions(samba_session *s)
{
    return functions_of(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(3, 8)));
}

// And what draws.
static samba_tensor *make_noise_loss(samba_session *s)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(3, 8));
    samba_tensor *noise = samba_scale(samba_randn_like(x, "noise"), 0.1f);
    x = samba_add(x, samba_mul(noise, samba_rand_like(x, "flat")));
    return samba_cross_entropy(functions_of(x), labels(s, 3));
}

static const samba_optim sgd = { .kind = SAMBA_SGD, .lr = 0.05f };
static const samba_optim momentum
    = { .kind = SAMBA_SGD, .lr = 0.05f, .momentum = 0.9f, .weight_decay = 0.01f };
static const samba_optim nesterov
    = { .kind = SAMBA_SGD, .lr = 0.05f, .momentum = 0.5f, .nesterov = true };
static const samba_optim adam = { .kind = SAMBA_ADAM, .lr = 0.01f, .weight_decay = 0.02f };
static const samba_optim adamw = { .kind = SAMBA_ADAMW, .lr = 0.01f, .weight_decay = 0.02f };
static const samba_optim amsgrad
    = { .kind = SAMBA_ADAMW, .lr = 0.01f, .weight_decay = 0.02f, .beta2 = 0.9f, .amsgrad = true };
static const samba_optim rmsprop
    = { .kind = SAMBA_RMSPROP, .lr = 0.003f, .alpha = 0.9f, .weight_decay = 0.02f };
static const samba_optim centered
    = { .kind = SAMBA_RMSPROP, .lr = 0.003f, .eps = 1e-3f, .momentum = 0.5f, .centered = true };
static const samba_optim adagrad = { .kind = SAMBA_ADAGRAD,
                                     .lr = 0.02f,
                                     .lr_decay = 0.1f,
                                     .weight_decay = 0.02f,
                                     .initial_accumulator = 0.01f };
static const samba_optim lion = { .kind = SAMBA_LION, .lr = 0.001f, .weight_decay = 0.1f };

static const net nets[] = {
    { "mlp", make_mlp, .trains = false },
    { "curves", make_curves, .trains = false },
    { "autoencoder", make_autoencoder, .trains = false },
    { "lenet", make_lenet, .trains = false },
    { "resnet8", make_resnet8, .trains = false },
    { "ds_cnn", make_ds_cnn, .trains = false },
    { "odd", make_odd, .trains = false },
    { "codes", make_codes, .trains = false },
    { "unknown", make_unknown, .trains = false },
    { "transformer", make_transformer, .trains = false },
    { "moves", make_moves, .trains = false },
    { "lstm", make_lstm, .trains = false },
    { "gru", make_gru, .trains = false },
    { "rnn", make_rnn, .trains = false },
    { "functions", make_functions, .trains = false },
    { "mlp_f16", make_mlp, .weights = SAMBA_F16 },
    { "odd_coarse", make_odd, .weights = SAMBA_BF16 },
    { "ds_cnn_coarse", make_ds_cnn, .weights = SAMBA_BF16 },
    { "mlp_int8", make_mlp, .int8 = true },
    { "odd_int8", make_odd, .int8 = true },
    { "lenet_int8", make_lenet, .int8 = true },
    { "resnet8_int8", make_resnet8, .int8 = true },
    { "mlp_sgd", make_mlp_loss, true, false, SAMBA_F32, 0, sgd },
    { "mlp_momentum", make_smoothed, true, false, SAMBA_F32, 0, momentum },
    { "mlp_clipped", make_mlp_loss, true, false, SAMBA_F32, 0.01f, nesterov },
    { "mlp_adamw", make_smoothed, true, false, SAMBA_F32, 0, adamw },
    { "mlp_amsgrad", make_smoothed, true, false, SAMBA_F32, 0, amsgrad },
    { "mlp_rmsprop", make_mlp_loss, true, false, SAMBA_F32, 0, rmsprop },
    { "mlp_centered", make_smoothed, true, false, SAMBA_F32, 0.1f, centered },
    { "mlp_adagrad", make_mlp_loss, true, false, SAMBA_F32, 0, adagrad },
    { "mlp_lion", make_smoothed, true, false, SAMBA_F32, 0.1f, lion },
    { "regression", make_regression, true, false, SAMBA_F32, 0.5f, adam },
    { "lenet_sgd", make_lenet_loss, true, false, SAMBA_F32, 0, momentum },
    { "gated_sgd", make_gated, true, false, SAMBA_F32, 0, momentum },
    { "strides_sgd", make_strides_loss, true, false, SAMBA_F32, 0, momentum },
    { "transformer_adamw", make_transformer_loss, true, false, SAMBA_F32, 0.5f, adamw },
    { "moves_sgd", make_moves_loss, true, false, SAMBA_F32, 0, momentum },
    { "lstm_adamw", make_lstm_loss, true, false, SAMBA_F32, 0, adamw },
    { "gru_sgd", make_gru_loss, true, false, SAMBA_F32, 0, momentum },
    { "noise_sgd", make_noise_loss, true, false, SAMBA_F32, 0, sgd },
    { "images_adamw", make_images_loss, true, false, SAMBA_F32, 0, adamw },
};

// The ranges of all tensors, for int8.
static void calibrate(samba_session *s, samba_program p)
{
    samba_tensor *x = samba_tensor_by_name(s, "x");
    p.quantize = SAMBA_CALIBRATE;
    samba_compile(s, &p);
    size_t n = samba_bytes(x) / 4;
    float *value = malloc(n * sizeof *value);
    for (int i = 0; value && i < 4; i++) {
        fill_floats(value, n);
        samba_write(x, value);
        samba_run(s, 0);
    }
    free(value);
}

// Weights of few bits.
static void round_weights(samba_session *s)
{
    samba_tensor *all[64];
    int32_t n = samba_parameters(s, all, 64);
    for (int32_t i = 0; i < n; i++) {
        size_t count = samba_bytes(all[i]) / 4;
        float *x = malloc(count * sizeof *x);
        const float *from = samba_read(all[i]);
        for (size_t k = 0; x && from && k < count; k++)
            x[k] = (float)(int32_t)(from[k] * 512) / 512;
        if (x) samba_write(all[i], x);
        free(x);
    }
}

static int make(const char *name, const char *path)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        if (strcmp(nets[i].name, name)) continue;
        samba_session *s = samba_open(&(samba_desc){ .seed = 7 });
        samba_program p = { .pef = path, .inference = !nets[i].trains };
        if (nets[i].weights == SAMBA_F16) samba_set_param_dtype(s, SAMBA_F16);
        samba_tensor *y = nets[i].make(s);
        if (nets[i].trains) {
            p.loss = y;
            p.optim = nets[i].optim;
            p.max_grad_norm = nets[i].max_grad_norm;
        } else
            p.outputs[0] = y;
        if (nets[i].int8) calibrate(s, p);
        if (nets[i].int8) p.quantize = SAMBA_INT8;
        samba_compile(s, &p);
        if (nets[i].weights == SAMBA_BF16) round_weights(s);
        samba_save(s, path);
        return samba_close(s);
    }
    fprintf(stderr, "there is no net %s\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "make") == 0) return make(argv[2], argv[3]);
    if (argc == 5 && strcmp(argv[1], "drive") == 0) return drive(argv[2], argv[3], argv[4]);
    fprintf(stderr, "usage: export_nets make NET FILE | drive FILE NAME STEPS\n");
    return 2;
}
