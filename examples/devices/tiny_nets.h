// The four reference models of MLPerf Tiny (Banbury and others, 2021), and what of them a device
// may train. Include it after samba.h.
//
//     net                        input      parameters, with batch norm   multiply-adds
//     DS-CNN, keywords           1x49x10        22,604     24,908           2,656,768
//     ResNet8, images            3x32x32        77,706     78,666          12,501,632
//     MobileNetV1-0.25, persons  3x96x96       210,850    221,794           7,489,664
//     autoencoder, anomalies     640           265,864    269,992             264,192
//
// They are trained on a host with batch norm, which then is folded into the weights before it: a
// device has the smaller nets. Where the published ones pad a window on one side by one more than
// on the other, these pad both sides alike, as PyTorch does: sizes and counts are the same ones.
#ifndef TINY_NETS_H
#define TINY_NETS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TINY_LAYERS = 32, TINY_MOST_WEIGHTS = 128 * 640 };

// What learns: nothing; all; all, within little memory (parts of the forward pass are computed
// again); the last k layers; all biases, and the last layer; or the biases of the last k layers
// with the weights of each second of them, and the last layer.
typedef enum tiny_update {
    TINY_NONE,
    TINY_FULL,
    TINY_TIGHT,
    TINY_LAST,
    TINY_BIAS,
    TINY_SPARSE,
    TINY_UPDATES
} tiny_update;

static const char *const tiny_update_names[TINY_UPDATES]
    = { "none", "full", "tight", "last", "bias", "sparse" };

typedef struct tiny_net {
    const char *name;
    int32_t dim[3], classes;             // of the input: channels, height, width; 0: not there
    int32_t last;                        // k
    int32_t memory;                      // RAM of the device for TINY_TIGHT
    int32_t parameters, with_norm, macs; // as published
} tiny_net;

static const tiny_net tiny_nets[] = {
    { "dscnn", { 1, 49, 10 }, 12, 3, 254000, 22604, 24908, 2656768 },
    { "resnet8", { 3, 32, 32 }, 10, 4, 760000, 77706, 78666, 12501632 },
    { "mobilenet", { 3, 96, 96 }, 2, 3, 1745000, 210850, 221794, 7489664 },
    { "autoencoder", { 640, 0, 0 }, 0, 3, 1430000, 265864, 269992, 264192 },
};

enum { TINY_NETS = 4 };

// A net while it is traced: its layers are listed in their order.
typedef struct tiny_trace {
    samba_session *session;
    bool norm;  // batch norm behind layers that have a relu
    bool masks; // see tiny_relu
    int32_t n;
    char layer[TINY_LAYERS][32];
    bool has_norm[TINY_LAYERS];
    int64_t macs, parameters; // of one row; with what batch norm has
} tiny_trace;

static inline void tiny_enter(tiny_trace *t, const char *name)
{
    snprintf(t->layer[t->n++], sizeof t->layer[0], "%s", name);
}

// A dense layer is a window of 1 x 1 that is applied once.
static inline void tiny_count(tiny_trace *t, int64_t applied, int64_t outputs, int64_t inputs)
{
    t->macs += applied * outputs * inputs;
    t->parameters += outputs * inputs + outputs;
}

static inline samba_tensor *tiny_norm(tiny_trace *t, samba_tensor *x)
{
    char name[48];
    if (!t->norm || !x) return x;
    snprintf(name, sizeof name, "%s_norm", t->layer[t->n - 1]);
    t->has_norm[t->n - 1] = true;
    t->parameters += 4 * x->shape.dim[1];
    return samba_batchnorm(x, name);
}

// The gradient of relu reads its values. Where no weight behind it learns, nobody else does, and a
// mask of a byte for each does as well as a float.
static inline samba_tensor *tiny_relu(const tiny_trace *t, samba_tensor *x)
{
    if (!t->masks || !x) return samba_relu(x);
    samba_tensor *zero = samba_number(t->session, 0);
    return samba_where(samba_gt(x, zero), x, zero);
}

static inline samba_tensor *tiny_param(tiny_trace *t, const char *part, samba_shape shape,
                                       int32_t inputs)
{
    char name[64];
    samba_init init = { SAMBA_INIT_UNIFORM, 0, sqrtf(1.0f / (float)inputs) };
    snprintf(name, sizeof name, "%s__%s", t->layer[t->n - 1], part);
    return samba_param(t->session, name, shape, init);
}

// x (B,I,H,W) -> (B,O,H/s,W/s) without norm and relu, of windows kh x kw.
static inline samba_tensor *tiny_window(tiny_trace *t, samba_tensor *x, const char *name,
                                        samba_shape w, int32_t stride)
{
    int32_t groups = x ? x->shape.dim[1] / w.dim[1] : 1, inputs = w.dim[1] * w.dim[2] * w.dim[3];
    samba_conv_opts opts
        = { { stride, stride }, { w.dim[2] / 2, (w.dim[3] - 1) / 2 }, { 1, 1 }, groups };
    if (w.dim[2] % 2) opts.padding[0] = (w.dim[2] - 1) / 2;
    tiny_enter(t, name);
    samba_tensor *weight = tiny_param(t, "weight", w, inputs);
    samba_tensor *bias = tiny_param(t, "bias", SAMBA_SHAPE(w.dim[0]), inputs);
    samba_tensor *y = samba_convolution(x, weight, bias, &opts);
    if (y) tiny_count(t, y->shape.dim[2] * y->shape.dim[3], w.dim[0], inputs);
    return y;
}

static inline samba_tensor *tiny_conv(tiny_trace *t, samba_tensor *x, const char *name,
                                      samba_shape w, int32_t stride)
{
    return tiny_relu(t, tiny_norm(t, tiny_window(t, x, name, w, stride)));
}

// x (B,I) -> (B,O)
static inline samba_tensor *tiny_dense(tiny_trace *t, samba_tensor *x, const char *name, int32_t n)
{
    if (!x) return NULL;
    tiny_enter(t, name);
    tiny_count(t, 1, n, x->shape.dim[1]);
    return samba_linear(x, name, n);
}

// A window of 3 x 3 for each channel by itself, then one of 1 x 1 over all channels.
static inline samba_tensor *tiny_separable(tiny_trace *t, samba_tensor *x, int32_t i,
                                           int32_t channels, int32_t stride)
{
    char depth[32], point[32];
    int32_t from = x ? x->shape.dim[1] : 1;
    snprintf(depth, sizeof depth, "depth%d", (int)i);
    snprintf(point, sizeof point, "point%d", (int)i);
    x = tiny_conv(t, x, depth, SAMBA_SHAPE(from, 1, 3, 3), stride);
    return tiny_conv(t, x, point, SAMBA_SHAPE(channels, from, 1, 1), 1);
}

// The mean of each channel, and of these a dense layer.
static inline samba_tensor *tiny_head(tiny_trace *t, samba_tensor *x, int32_t classes)
{
    return tiny_dense(t, samba_flatten(samba_adaptive_avg_pool2d(x, 1, 1), 1), "fc", classes);
}

static inline samba_tensor *tiny_dscnn(tiny_trace *t, samba_tensor *x, int32_t classes)
{
    samba_tensor *h = tiny_conv(t, x, "conv", SAMBA_SHAPE(64, 1, 10, 4), 2);
    for (int32_t i = 1; i <= 4; i++)
        h = tiny_separable(t, h, i, 64, 1);
    return tiny_head(t, h, classes);
}

// Two convolutions, and x added to them: through a convolution of 1 x 1 where sizes change.
static inline samba_tensor *tiny_block(tiny_trace *t, samba_tensor *x, int32_t i, int32_t channels)
{
    char name[3][32];
    int32_t from = x ? x->shape.dim[1] : 1, stride = channels / from;
    for (int k = 0; k < 3; k++)
        snprintf(name[k], sizeof name[k], "block%d%c", (int)i, "abx"[k]);
    samba_tensor *h = tiny_conv(t, x, name[0], SAMBA_SHAPE(channels, from, 3, 3), stride);
    h = tiny_norm(t, tiny_window(t, h, name[1], SAMBA_SHAPE(channels, channels, 3, 3), 1));
    if (stride > 1) x = tiny_window(t, x, name[2], SAMBA_SHAPE(channels, from, 1, 1), stride);
    return tiny_relu(t, samba_add(h, x));
}

static inline samba_tensor *tiny_resnet8(tiny_trace *t, samba_tensor *x, int32_t classes)
{
    samba_tensor *h = tiny_conv(t, x, "conv", SAMBA_SHAPE(16, 3, 3, 3), 1);
    for (int32_t i = 1; i <= 3; i++)
        h = tiny_block(t, h, i, 8 << i);
    return tiny_head(t, h, classes);
}

static inline samba_tensor *tiny_mobilenet(tiny_trace *t, samba_tensor *x, int32_t classes)
{
    samba_tensor *h = tiny_conv(t, x, "conv", SAMBA_SHAPE(8, 3, 3, 3), 2);
    for (int32_t i = 1, channels = 8; i <= 13; i++) {
        bool smaller = i == 2 || i == 4 || i == 6 || i == 12;
        channels *= smaller || i == 1 ? 2 : 1;
        h = tiny_separable(t, h, i, channels, smaller ? 2 : 1);
    }
    return tiny_head(t, h, classes);
}

static inline samba_tensor *tiny_autoencoder(tiny_trace *t, samba_tensor *x)
{
    samba_tensor *h = x;
    for (int i = 1; i <= 9; i++) {
        char name[32];
        snprintf(name, sizeof name, "fc%d", i);
        h = tiny_relu(t, tiny_norm(t, tiny_dense(t, h, name, i == 5 ? 8 : 128)));
    }
    return tiny_dense(t, h, "fc10", 640);
}

// x (B, net->dim) -> logits (B, classes), or x again, of the autoencoder (B, 640).
static inline samba_tensor *tiny_build(tiny_trace *t, const tiny_net *net, samba_tensor *x,
                                       bool norm, bool masks)
{
    memset(t, 0, sizeof *t);
    if (!x) return NULL;
    t->session = x->session;
    t->norm = norm;
    t->masks = masks;
    switch (net - tiny_nets) {
    case 0:
        return tiny_dscnn(t, x, net->classes);
    case 1:
        return tiny_resnet8(t, x, net->classes);
    case 2:
        return tiny_mobilenet(t, x, net->classes);
    default:
        return tiny_autoencoder(t, x);
    }
}

static inline samba_tensor *tiny_part(const tiny_trace *t, int32_t layer, const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "%s__%s", t->layer[layer], part);
    return samba_tensor_by_name(t->session, name);
}

// Freezes what does not learn: such parameters are read where they lie in flash, and nothing is
// kept for their sake. Call it after tiny_build, before samba_compile.
static inline void tiny_freeze(const tiny_trace *t, const tiny_net *net, tiny_update update)
{
    for (int32_t i = 0; i < t->n; i++) {
        bool late = i >= t->n - net->last, head = i == t->n - 1, odd = (t->n - 1 - i) % 2;
        bool all = update == TINY_FULL || update == TINY_TIGHT;
        bool weight = all || (update == TINY_LAST && late) || (update == TINY_BIAS && head)
            || (update == TINY_SPARSE && late && (head || odd));
        bool bias = weight || update == TINY_BIAS || (update == TINY_SPARSE && late);
        samba_set_requires_grad(tiny_part(t, i, "weight"), weight);
        samba_set_requires_grad(tiny_part(t, i, "bias"), bias);
    }
}

// Copies the parameters of a net to one without batch norm, which gives the same results: what
// batch norm does with its running values becomes part of weights and biases.
static inline bool tiny_fold(const tiny_trace *from, const tiny_trace *to)
{
    static float w[TINY_MOST_WEIGHTS], b[640];
    for (int32_t i = 0; i < from->n && samba_ok(from->session); i++) {
        samba_tensor *weight = tiny_part(from, i, "weight");
        const float *old_w = samba_read(weight), *old_b = samba_read(tiny_part(from, i, "bias"));
        const char *const parts[4]
            = { "norm__weight", "norm__bias", "norm__running_mean", "norm__running_var" };
        const float *norm[4] = { NULL, NULL, NULL, NULL };
        for (int k = 0; k < 4 && from->has_norm[i]; k++) {
            char name[64];
            snprintf(name, sizeof name, "%s_%s", from->layer[i], parts[k]);
            norm[k] = samba_read(samba_tensor_by_name(from->session, name));
        }
        int32_t outputs = weight->shape.dim[0];
        int64_t inputs = samba_count(&weight->shape) / outputs;
        for (int32_t o = 0; o < outputs; o++) {
            float g = norm[0] ? norm[0][o] / sqrtf(norm[3][o] + 1e-5f) : 1;
            b[o] = norm[0] ? (old_b[o] - norm[2][o]) * g + norm[1][o] : old_b[o];
            for (int64_t k = o * inputs; k < (o + 1) * inputs; k++)
                w[k] = old_w[k] * g;
        }
        samba_write(tiny_part(to, i, "weight"), w);
        samba_write(tiny_part(to, i, "bias"), b);
    }
    return samba_ok(from->session) && samba_ok(to->session);
}

#endif
