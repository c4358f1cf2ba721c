// Data, initial weights and models of the training tests, exact in f32: tests/golden/make_train.py
// has the same recipe. Include samba.h first. C99 and C++11.
#ifndef RECIPE_H
#define RECIPE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { RECIPE_CLASSES = 10, RECIPE_MAX_PARAMS = 20 };

enum { // the streams of random words
    RECIPE_PIXEL = 1,
    RECIPE_CLASS,
    RECIPE_LABEL,
    RECIPE_PATTERN,
    RECIPE_TOKEN,
    RECIPE_WEIGHT = 100
};

// ---- Random words -------------------------------------------------------------------------------

// Wellons's lowbias32: a bijection of 32-bit words that scatters well.
static inline uint32_t recipe_mix(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
}

// Word i of a stream.
static inline uint32_t recipe_word(uint32_t stream, uint32_t i)
{
    return recipe_mix(i ^ recipe_mix(stream));
}

// FNV-1a, Fowler, Noll and Vo 1991. Start with h = recipe_hash_start.
static const uint64_t recipe_hash_start = 0xCBF29CE484222325u;

static inline uint64_t recipe_hash(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001B3u;
    return h;
}

// ---- Data ---------------------------------------------------------------------------------------

// Noise, brighter where the pattern of the class is; a quarter of the labels is random.
static inline void recipe_images(uint32_t step, uint32_t batch, uint32_t pixels, float *x,
                                 int32_t *label)
{
    for (uint32_t b = 0; b < batch; b++) {
        uint32_t row = step * batch + b, c = recipe_word(RECIPE_CLASS, row) % RECIPE_CLASSES;
        uint32_t h = recipe_word(RECIPE_LABEL, row);
        label[b] = (int32_t)(h % 4 == 0 ? (h >> 8) % RECIPE_CLASSES : c);
        for (uint32_t k = 0; k < pixels; k++) {
            uint32_t noise = recipe_word(RECIPE_PIXEL, row * pixels + k) >> 25;
            bool bright = recipe_word(RECIPE_PATTERN, c * pixels + k) % 4 == 0;
            x[b * pixels + k] = (float)(noise + (bright ? 64u : 0u)) * (1.0f / 256.0f);
        }
    }
}

// Sequences where 5 x + 3 follows x, but one token in four is random. The target is what follows.
static inline void recipe_tokens(uint32_t step, uint32_t batch, uint32_t length,
                                 uint32_t vocabulary, int32_t *ids, int32_t *target)
{
    for (uint32_t b = 0; b < batch; b++) {
        uint32_t first = (step * batch + b) * (length + 1), x = 0;
        for (uint32_t t = 0; t <= length; t++) {
            uint32_t h = recipe_word(RECIPE_TOKEN, first + t);
            x = t == 0 || h % 4 == 0 ? (h >> 8) % vocabulary : (5 * x + 3) % vocabulary;
            if (t < length) ids[b * length + t] = (int32_t)x;
            if (t > 0) target[b * length + t - 1] = (int32_t)x;
        }
    }
}

// ---- Models -------------------------------------------------------------------------------------

// fan > 0: U(+-1/sqrt(fan)); 0: 1 + U(+-1/4); -1: U(+-1/4).
typedef struct recipe_param {
    const char *name;
    int32_t fan;
} recipe_param;

typedef struct recipe_model {
    int32_t batch;                     // of one program run without microbatches
    int32_t pixels, hidden;            // ResFFN
    int32_t side, channels;            // ConvNet: of the square image; of the first convolution
    int32_t length, width, vocabulary; // Transformer: T, C, V
    recipe_param params[RECIPE_MAX_PARAMS];
} recipe_model;

static inline void recipe_add(recipe_model *m, const char *name, int32_t fan)
{
    int32_t n = 0;
    while (m->params[n].name)
        n++;
    m->params[n].name = name;
    m->params[n].fan = fan;
}

static inline recipe_model recipe_res_ffn(int32_t batch, int32_t pixels, int32_t hidden)
{
    recipe_model m;
    memset(&m, 0, sizeof m);
    m.batch = batch;
    m.pixels = pixels;
    m.hidden = hidden;
    recipe_add(&m, "gemm1__weight", pixels);
    recipe_add(&m, "gemm1__bias", pixels);
    recipe_add(&m, "norm1__weight", 0);
    recipe_add(&m, "norm1__bias", -1);
    recipe_add(&m, "gemm2__weight", hidden);
    recipe_add(&m, "gemm2__bias", hidden);
    recipe_add(&m, "norm2__weight", 0);
    recipe_add(&m, "norm2__bias", -1);
    recipe_add(&m, "gemm3__weight", hidden);
    recipe_add(&m, "gemm3__bias", hidden);
    return m;
}

static inline recipe_model recipe_conv_net(int32_t batch, int32_t side, int32_t channels)
{
    recipe_model m;
    memset(&m, 0, sizeof m);
    m.batch = batch;
    m.side = side;
    m.pixels = side * side;
    m.channels = channels;
    recipe_add(&m, "conv1__weight", 9);
    recipe_add(&m, "conv1__bias", 9);
    recipe_add(&m, "bn1__weight", 0);
    recipe_add(&m, "bn1__bias", -1);
    recipe_add(&m, "conv2__weight", 9 * channels);
    recipe_add(&m, "conv2__bias", 9 * channels);
    recipe_add(&m, "bn2__weight", 0);
    recipe_add(&m, "bn2__bias", -1);
    recipe_add(&m, "fc__weight", channels * side * side / 8);
    recipe_add(&m, "fc__bias", channels * side * side / 8);
    return m;
}

static inline recipe_model recipe_transformer(int32_t batch, int32_t length, int32_t width,
                                              int32_t vocabulary)
{
    recipe_model m;
    memset(&m, 0, sizeof m);
    m.batch = batch;
    m.length = length;
    m.width = width;
    m.vocabulary = vocabulary;
    recipe_add(&m, "wte__weight", width);
    recipe_add(&m, "wpe", width);
    recipe_add(&m, "ln1__weight", 0);
    recipe_add(&m, "ln1__bias", -1);
    recipe_add(&m, "qkv__weight", width);
    recipe_add(&m, "qkv__bias", width);
    recipe_add(&m, "proj__weight", width);
    recipe_add(&m, "proj__bias", width);
    recipe_add(&m, "ln2__weight", 0);
    recipe_add(&m, "ln2__bias", -1);
    recipe_add(&m, "fc__weight", width);
    recipe_add(&m, "fc__bias", width);
    recipe_add(&m, "out__weight", 4 * width);
    recipe_add(&m, "out__bias", 4 * width);
    recipe_add(&m, "lnf__weight", 0);
    recipe_add(&m, "lnf__bias", -1);
    return m;
}

// What a model was traced to.
typedef struct recipe_net {
    samba_tensor *x, *target, *logits, *loss;
} recipe_net;

// x (B,F) -> (B,10)
static inline samba_tensor *recipe_trace_res_ffn(samba_tensor *x, int32_t hidden)
{
    samba_tensor *h = samba_linear(x, "gemm1", hidden);
    samba_tensor *residual = samba_tanh(samba_layernorm(h, "norm1"));
    h = samba_layernorm(samba_linear(residual, "gemm2", hidden), "norm2");
    h = samba_sigmoid(samba_add(h, residual));
    return samba_linear(h, "gemm3", RECIPE_CLASSES);
}

// x (B,1,S,S) -> (B,10)
static inline samba_tensor *recipe_trace_conv_net(samba_tensor *x, int32_t channels)
{
    samba_conv_opts same;
    samba_pool_opts by_2;
    memset(&same, 0, sizeof same);
    memset(&by_2, 0, sizeof by_2);
    same.padding[0] = same.padding[1] = 1;
    by_2.kernel[0] = by_2.kernel[1] = 2;
    samba_tensor *h = samba_batchnorm(samba_conv2d(x, "conv1", channels, 3, &same), "bn1");
    h = samba_max_pool2d(samba_relu(h), &by_2);
    h = samba_batchnorm(samba_conv2d(h, "conv2", 2 * channels, 3, &same), "bn2");
    h = samba_max_pool2d(samba_relu(h), &by_2);
    return samba_linear(samba_flatten(h, 1), "fc", RECIPE_CLASSES);
}

// (B,T,C) -> (B,H,T,C/H), with H = 4 heads
static inline samba_tensor *recipe_heads(samba_tensor *x)
{
    if (!x) return NULL;
    const int32_t *d = x->shape.dim;
    return samba_transpose(samba_reshape(x, SAMBA_SHAPE(d[0], d[1], 4, d[2] / 4)), 1, 2);
}

// One block of GPT-2's kind, the embedding shared with the last layer. ids (B,T) -> (B,T,V)
static inline samba_tensor *recipe_trace_transformer(samba_tensor *ids, const recipe_model *m)
{
    samba_attention_opts causal;
    samba_init zero;
    samba_tensor *qkv[3] = { NULL, NULL, NULL };
    if (!ids) return NULL;
    memset(&causal, 0, sizeof causal);
    memset(&zero, 0, sizeof zero);
    causal.causal = true;
    samba_tensor *wpe = samba_param(ids->session, "wpe", SAMBA_SHAPE(m->length, m->width), zero);
    samba_tensor *x = samba_embedding(ids, "wte", m->vocabulary, m->width);
    samba_tensor *wte = samba_tensor_by_name(ids->session, "wte__weight");
    x = samba_add(x, wpe);
    samba_split(samba_linear(samba_layernorm(x, "ln1"), "qkv", 3 * m->width), m->width, -1, qkv, 3);
    for (int i = 0; i < 3; i++)
        qkv[i] = recipe_heads(qkv[i]);
    samba_tensor *h = samba_scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], NULL, &causal);
    if (!h) return NULL;
    h = samba_reshape(samba_transpose(h, 1, 2), x->shape);
    x = samba_add(x, samba_linear(h, "proj", m->width));
    h = samba_gelu(samba_linear(samba_layernorm(x, "ln2"), "fc", 4 * m->width));
    x = samba_add(x, samba_linear(h, "out", m->width));
    return samba_affine(samba_layernorm(x, "lnf"), wte, NULL);
}

// Traces the model for batches of the given size.
static inline recipe_net recipe_trace(samba_session *s, const recipe_model *m, int32_t batch)
{
    recipe_net net;
    if (m->vocabulary) {
        net.x = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(batch, m->length));
        net.target = samba_input(s, "target", SAMBA_I32, SAMBA_SHAPE(batch, m->length));
        net.logits = recipe_trace_transformer(net.x, m);
    } else if (m->channels) {
        net.x = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(batch, 1, m->side, m->side));
        net.target = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(batch));
        net.logits = recipe_trace_conv_net(net.x, m->channels);
    } else {
        net.x = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(batch, m->pixels));
        net.target = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(batch));
        net.logits = recipe_trace_res_ffn(net.x, m->hidden);
    }
    net.loss = samba_cross_entropy(net.logits, net.target);
    return net;
}

// ---- Feeding ------------------------------------------------------------------------------------

enum { RECIPE_MAX_BATCH = 64 * 784 }; // inputs of one batch

// Writes batch number step. Returns its hash.
static inline uint64_t recipe_feed(const recipe_net *net, const recipe_model *m, uint32_t step)
{
    static float x[RECIPE_MAX_BATCH];
    static int32_t ids[RECIPE_MAX_BATCH], target[RECIPE_MAX_BATCH];
    uint32_t batch = (uint32_t)m->batch, n = batch * (uint32_t)(m->vocabulary ? m->length : 1);
    const void *in = m->vocabulary ? (const void *)ids : (const void *)x;
    size_t in_size = 4 * (size_t)batch * (size_t)(m->vocabulary ? m->length : m->pixels);
    if (m->vocabulary) {
        recipe_tokens(step, batch, (uint32_t)m->length, (uint32_t)m->vocabulary, ids, target);
    } else {
        recipe_images(step, batch, (uint32_t)m->pixels, x, target);
    }
    samba_write(net->x, in);
    samba_write(net->target, target);
    return recipe_hash(recipe_hash(recipe_hash_start, in, in_size), target, 4 * (size_t)n);
}

// Sets every parameter to its recipe's value; to be called before compiling. Returns their hash.
static inline uint64_t recipe_set_weights(samba_session *s, const recipe_model *m)
{
    static float w[784 * 512];
    uint64_t hash = recipe_hash_start;
    for (uint32_t p = 0; p < RECIPE_MAX_PARAMS && m->params[p].name; p++) {
        int32_t fan = m->params[p].fan;
        samba_tensor *t = samba_tensor_by_name(s, m->params[p].name);
        if (!t || samba_bytes(t) > sizeof w) return 0;
        float base = fan == 0 ? 1.0f : 0.0f;
        float bound = fan > 0 ? (float)(1.0 / sqrt((double)fan)) : 0.25f;
        for (uint32_t i = 0; i < samba_bytes(t) / 4; i++) {
            uint32_t h = recipe_word(RECIPE_WEIGHT + p, i);
            float unit = (float)((int32_t)(h >> 8) - (1 << 23)) * (1.0f / 8388608.0f);
            w[i] = base + bound * unit; // base is 0 or the product exact: one rounding
        }
        samba_write(t, w);
        hash = recipe_hash(hash, w, samba_bytes(t));
    }
    return hash;
}

#endif
