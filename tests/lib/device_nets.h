// Nets for tests of memory on small devices: the six that a budget is tried on, and those that a
// layout could get wrong. Include after samba.h.
#ifndef DEVICE_NETS_H
#define DEVICE_NETS_H

#include <stdlib.h>
#include <string.h>

// Traces a net and fills in all of the program but its target, memory and path.
typedef struct device_net {
    const char *name;
    void (*trace)(samba_session *s, samba_program *p);
    bool int8; // to be calibrated first
} device_net;

static inline void device_net_trains(samba_session *s, samba_program *p, samba_tensor *logits,
                                     samba_optim_kind kind)
{
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(logits->shape.dim[0]));
    p->outputs[0] = samba_name(logits, "logits");
    p->loss = samba_name(samba_cross_entropy(logits, label), "loss");
    p->optim.kind = kind;
    p->optim.lr = 0.05f;
    p->optim.momentum = kind == SAMBA_SGD ? 0.9f : 0;
}

static inline void device_net_infers(samba_program *p, samba_tensor *y)
{
    p->inference = true;
    p->outputs[0] = samba_name(y, "y");
}

static inline samba_tensor *device_mlp(samba_session *s, int32_t rows)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(rows, 24));
    samba_tensor *h = samba_relu(samba_linear(x, "fc1", 40));
    return samba_linear(samba_tanh(samba_linear(h, "fc2", 40)), "fc3", 5);
}

static inline void device_mlp_infer(samba_session *s, samba_program *p)
{
    device_net_infers(p, samba_softmax(device_mlp(s, 3), 1));
}

static inline void device_mlp_sgd(samba_session *s, samba_program *p)
{
    device_net_trains(s, p, device_mlp(s, 16), SAMBA_SGD);
}

static inline void device_mlp_adamw(samba_session *s, samba_program *p)
{
    device_net_trains(s, p, device_mlp(s, 16), SAMBA_ADAMW);
}

static inline samba_tensor *device_pooled(samba_tensor *x)
{
    samba_pool_opts half = { .kernel = { 2, 2 }, .stride = { 2, 2 } };
    return samba_max_pool2d(samba_relu(x), &half);
}

static inline void device_lenet(samba_session *s, samba_program *p)
{
    samba_conv_opts same = { .padding = { 2, 2 } };
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 1, 28, 28));
    samba_tensor *h = device_pooled(samba_conv2d(x, "conv1", 6, 5, &same));
    h = samba_flatten(device_pooled(samba_conv2d(h, "conv2", 16, 5, NULL)), 1);
    h = samba_relu(samba_linear(samba_relu(samba_linear(h, "fc1", 120)), "fc2", 84));
    device_net_infers(p, samba_softmax(samba_linear(h, "fc3", 10), 1));
}

static inline void device_conv_train(samba_session *s, samba_program *p)
{
    samba_conv_opts same = { .padding = { 1, 1 } },
                    half = { .stride = { 2, 2 }, .padding = { 1, 1 } };
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2, 12, 12));
    samba_tensor *h = samba_relu(samba_conv2d(x, "conv1", 6, 3, &same));
    h = samba_relu(samba_conv2d(h, "conv2", 8, 3, &half));
    device_net_trains(s, p, samba_linear(samba_flatten(h, 1), "fc", 3), SAMBA_SGD);
}

static inline void device_transformer(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 8, 16));
    samba_tensor *n = samba_layernorm(x, "norm1");
    samba_attention_opts causal = { .causal = true };
    samba_tensor *q = samba_linear(n, "q", 16);
    samba_tensor *k = samba_linear(n, "k", 16);
    samba_tensor *v = samba_linear(n, "v", 16);
    samba_tensor *seen = samba_scaled_dot_product_attention(q, k, v, NULL, &causal);
    samba_tensor *h = samba_add(x, samba_linear(seen, "o", 16));
    samba_tensor *wide = samba_gelu(samba_linear(samba_layernorm(h, "norm2"), "up", 32));
    h = samba_add(h, samba_linear(wide, "down", 16));
    device_net_trains(s, p, samba_linear(samba_flatten(h, 1), "head", 4), SAMBA_ADAMW);
}

// ---- What a layout could get wrong --------------------------------------------------------------

static inline void device_microbatches(samba_session *s, samba_program *p)
{
    device_net_trains(s, p, device_mlp(s, 4), SAMBA_ADAMW);
    p->microbatches = 3;
    p->max_grad_norm = 1;
}

static inline void device_graphs(samba_session *s, samba_program *p)
{
    samba_begin_graph(s, "train");
    device_net_trains(s, p, device_mlp(s, 8), SAMBA_SGD);
    samba_begin_graph(s, "use");
    samba_tensor *x = samba_input(s, "one", SAMBA_F32, SAMBA_SHAPE(1, 24));
    samba_tensor *h = samba_relu(samba_linear(x, "fc1", 40));
    h = samba_linear(samba_tanh(samba_linear(h, "fc2", 40)), "fc3", 5);
    p->outputs[1] = samba_name(samba_softmax(h, 1), "classes");
}

static inline void device_spatial(samba_session *s, samba_program *p)
{
    device_mlp_sgd(s, p);
    p->mapping = SAMBA_MAPPING_SPATIAL;
}

static inline void device_in_products(samba_session *s, samba_program *p)
{
    device_spatial(s, p);
    p->optim.momentum = 0; // so that no gradient of a layer is whole
}

static inline void device_twice(samba_session *s, samba_program *p)
{
    device_mlp_sgd(s, p);
    p->outputs[1] = p->outputs[0];
    p->outputs[2] = p->loss;
}

static inline void device_dropped(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(6, 24));
    samba_tensor *h
        = samba_dropout(samba_batchnorm(samba_linear(x, "fc1", 20), "norm"), "drop", 0.25f);
    device_net_trains(s, p, samba_linear(h, "fc2", 5), SAMBA_ADAMW);
}

static inline void device_int8(samba_session *s, samba_program *p)
{
    samba_conv_opts same = { .padding = { 1, 1 } };
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 3, 12, 12));
    samba_tensor *h = device_pooled(samba_conv2d(x, "conv1", 8, 3, &same));
    h = samba_relu(samba_conv2d(h, "conv2", 8, 3, &same));
    device_net_infers(p, samba_linear(samba_flatten(h, 1), "fc", 4));
}

static inline void device_cube_kernel(const samba_args *a)
{
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = a->in[0][i] * a->in[0][i] * a->in[0][i];
}

static const samba_op device_cube
    = { .name = "cube", .wire = 0x8003, .signature = "*->*", .kernel = device_cube_kernel };
static const samba_op *const device_own_ops[] = { &device_cube };
static const samba_runtime_desc device_own = { .ops = device_own_ops, .n_ops = 1 };

static inline void device_own_op(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(3, 24));
    samba_tensor *h = samba_linear(x, "fc1", 40);
    samba_register_op(s, &device_cube);
    device_net_infers(p, samba_linear(samba_apply(s, "cube", &h, 1, NULL, 0), "fc2", 5));
}

enum { BUDGET_NETS = 6, DEVICE_NETS = 14 };

static const device_net device_nets[DEVICE_NETS] = {
    { "mlp_infer", device_mlp_infer, false },
    { "mlp_sgd", device_mlp_sgd, false },
    { "mlp_adamw", device_mlp_adamw, false },
    { "lenet", device_lenet, false },
    { "conv_train", device_conv_train, false },
    { "transformer", device_transformer, false },
    { "microbatches", device_microbatches, false },
    { "graphs", device_graphs, false },
    { "spatial", device_spatial, false },
    { "in_products", device_in_products, false },
    { "twice", device_twice, false },
    { "dropped", device_dropped, false },
    { "int8", device_int8, true },
    { "own_op", device_own_op, false },
};

// Values of all inputs: small numbers of both signs, or classes.
static inline void device_net_fill(samba_session *s, samba_program *p)
{
    const char *names[8];
    int32_t n = samba_input_names(s, names, 8);
    for (int32_t i = 0; i < n && i < 8; i++) {
        samba_tensor *t = samba_tensor_by_name(s, names[i]);
        int64_t count = samba_count(&t->shape) * (p->microbatches > 1 ? p->microbatches : 1);
        float *value = (float *)malloc((size_t)count * sizeof *value);
        for (int64_t k = 0; value && k < count; k++) {
            value[k] = (float)(k * 7 % 23) / 16 - 0.6f;
            int32_t class = (int32_t)(k % 3);
            if (t->dtype == SAMBA_I32) memcpy(&value[k], &class, sizeof class);
        }
        if (value) samba_write_bytes(t, value, (size_t)count * sizeof *value);
        free(value);
    }
}

// Traces net i, compiles it by p (whose path, target and memory are the caller's) and loads it.
static inline bool device_net_compile(samba_session *s, int i, samba_program *p)
{
    const device_net *n = &device_nets[i];
    n->trace(s, p);
    if (n->int8) {
        samba_program first = *p;
        first.quantize = SAMBA_CALIBRATE;
        first.pef = NULL;
        first.memory = 0;
        if (!samba_compile(s, &first)) return false;
        device_net_fill(s, &first);
        if (!samba_run(s, SAMBA_FWD)) return false;
        p->quantize = SAMBA_INT8;
    }
    return samba_compile(s, p);
}

#endif
