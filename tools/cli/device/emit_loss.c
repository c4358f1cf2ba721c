// Losses and their gradients.
#include "emit.h"

static const piece pieces[] = {
{ "loss_share", "unless_nan ",
"/* What a sum of losses is multiplied by to be a mean of those that count. */\n"
"SMALL static float loss_share(const int32_t *target, int rows, int32_t ignored, int mean)\n"
"{\n"
"    int counted = 0;\n"
"    if (!mean) return 1.0f;\n"
"    for (int t = 0; t < rows; t++) counted += target[t] != ignored;\n"
"    return counted ? 1.0f / (float)counted : NOT_A_NUMBER;\n"
"}\n"
"\n"
"SMALL static bool targets_fit(const int32_t *target, int rows, int32_t ignored, int classes)\n"
"{\n"
"    for (int t = 0; t < rows; t++)\n"
"        if (target[t] != ignored && (target[t] < 0 || target[t] >= classes)) return false;\n"
"    return true;\n"
"}\n", 0 },
{ "cross_entropy", "loss_share row_exp_sum row_sum ",
"SMALL static void cross_entropy(const float *x, const int32_t *target, float *loss, int rows, int n,\n"
"                          int32_t ignored, float smoothing, int mean)\n"
"{\n"
"    float lane[32] = { 0.0f };\n"
"    for (int t = 0; t < rows; t++, x += n) {\n"
"        if (target[t] == ignored) continue;\n"
"        float top, log_sum = row_log_sum(x, n, &top), row = log_sum - (x[target[t]] - top);\n"
"        if (smoothing != 0.0f)\n"
"            row = multiply_add(smoothing, log_sum - (row_sum(x, n) / (float)n - top),\n"
"                               product(1.0f - smoothing, row));\n"
"        lane[t & 31] += row;\n"
"    }\n"
"    *loss = lanes_sum(lane) * loss_share(target, rows, ignored, mean);\n"
"}\n", 384 },
{ "cross_entropy_backward", "loss_share row_exp product ",
"SMALL static void cross_entropy_backward(const float *dloss, const float *x, const int32_t *target,\n"
"                                   float *dx, int rows, int n, int32_t ignored, float smoothing,\n"
"                                   int mean)\n"
"{\n"
"    float d = *dloss * loss_share(target, rows, ignored, mean);\n"
"    for (int t = 0; t < rows; t++, x += n, dx += n) {\n"
"        if (target[t] == ignored) {\n"
"            for (int i = 0; i < n; i++) dx[i] = 0.0f;\n"
"            continue;\n"
"        }\n"
"        float scale = d / row_exp(dx, x, row_max(x, n), n);\n"
"        float share = product(-d, smoothing / (float)n);\n"
"        for (int i = 0; i < n; i++) dx[i] = multiply_add(scale, dx[i], share);\n"
"        dx[target[t]] = multiply_add(-d, 1.0f - smoothing, dx[target[t]]);\n"
"    }\n"
"}\n", 0 },
{ NULL, NULL, NULL, 0 },
};

enum { MEAN = SAMBA_REDUCE_MEAN, SUM = SAMBA_REDUCE_SUM };

// The words that loss and gradient share; x is input `logits`, and its labels follow.
static bool set_loss(emitter *e, const node *n, int32_t logits)
{
    const samba_shape *x = &in_of(e, n, logits)->spec.shape;
    int32_t reduction = attr_of(n, "reduction"), classes = x->dim[x->ndim - 1];
    char smoothing[32];
    if (reduction != MEAN && reduction != SUM) return cannot(e, n, "a loss for each row");
    if (n->n_in > logits + 2 && n->in[logits + 2] >= 0) return cannot(e, n, "microbatches");
    float_text(smoothing, attr_float(n, "label_smoothing"));
    set_word(&e->body, "n", "%d", classes);
    set_word(&e->body, "rows", "%lld", (long long)(count_of(in_of(e, n, logits)) / classes));
    set_word(&e->body, "ignored", "%d", attr_of(n, "ignore_index"));
    set_word(&e->body, "smoothing", "%s", smoothing);
    set_word(&e->body, "mean", "%d", reduction == MEAN);
    set_tensor(e, "x", n->in[logits]);
    set_tensor(e, "target", n->in[logits + 1]);
    set_tensor(e, "y", n->out[0]);
    return true;
}

static bool emit_cross_entropy(emitter *e, const node *n)
{
    if (!set_loss(e, n, 0)) return false;
    need(e, "cross_entropy");
    write_text(&e->body, "    if (!targets_fit(${target}, ${rows}, ${ignored}, ${n})) return false;\n"
               "    cross_entropy(${x}, ${target}, ${y}, ${rows}, ${n}, ${ignored}, ${smoothing}, "
               "${mean});\n");
    return true;
}

static bool emit_cross_entropy_backward(emitter *e, const node *n)
{
    if (!set_loss(e, n, 1)) return false;
    set_tensor(e, "dloss", n->in[0]);
    need(e, "cross_entropy_backward");
    write_text(&e->body, "    cross_entropy_backward(${dloss}, ${x}, ${target}, ${y}, ${rows}, ${n}, "
               "${ignored},\n                           ${smoothing}, ${mean});\n");
    return true;
}

static const op_emitter ops[] = {
    { "cross_entropy", emit_cross_entropy },
    { "cross_entropy_backward", emit_cross_entropy_backward },
    { NULL, NULL },
};

const family loss_family = { ops, pieces };
