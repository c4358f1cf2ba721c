// Losses and their gradients.
#include "emit.h"

static const piece pieces[] = {
    { "loss_share", "not_a_number ",
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
      "}\n",
      0 },
    { "cross_entropy_row", "row_exp_sum row_sum multiply_add product ",
      "SMALL static float cross_entropy_row(const float *x, int32_t target, int n, float smoothing)\n"
      "{\n"
      "    float top, log_sum = row_log_sum(x, n, &top), loss = log_sum - (x[target] - top);\n"
      "    if (smoothing == 0.0f) return loss;\n"
      "    return multiply_add(smoothing, log_sum - (row_sum(x, n) / (float)n - top),\n"
      "                        product(1.0f - smoothing, loss));\n"
      "}\n",
      256 },
    { "cross_entropy", "loss_share cross_entropy_row lanes_sum ",
      "SMALL static void cross_entropy(const float *x, const int32_t *target, float *loss, int rows, int n,\n"
      "                                int32_t ignored, float smoothing, int mean)\n"
      "{\n"
      "    float lane[32] = { 0.0f };\n"
      "    for (int t = 0; t < rows; t++, x += n)\n"
      "        if (target[t] != ignored) lane[t & 31] += cross_entropy_row(x, target[t], n, smoothing);\n"
      "    *loss = lanes_sum(lane) * loss_share(target, rows, ignored, mean);\n"
      "}\n",
      384 },
    { "cross_entropy_each", "loss_share cross_entropy_row ",
      "/* A loss for each row. */\n"
      "SMALL static void cross_entropy_each(const float *x, const int32_t *target, float *loss, int rows,\n"
      "                                     int n, int32_t ignored, float smoothing)\n"
      "{\n"
      "    for (int t = 0; t < rows; t++, x += n)\n"
      "        loss[t] = target[t] == ignored ? 0.0f : cross_entropy_row(x, target[t], n, smoothing);\n"
      "}\n",
      384 },
    { "cross_entropy_backward", "loss_share row_exp product multiply_add ",
      "/* The gradient of a loss that rows share, or that has `each` of them. */\n"
      "SMALL static void cross_entropy_backward(const float *dloss, const float *x, const int32_t *target,\n"
      "                                   float *dx, int rows, int n, int32_t ignored, float smoothing,\n"
      "                                   int mean, int each)\n"
      "{\n"
      "    float factor = loss_share(target, rows, ignored, mean);\n"
      "    for (int t = 0; t < rows; t++, x += n, dx += n) {\n"
      "        float d = dloss[each ? t : 0] * factor;\n"
      "        if (target[t] == ignored) {\n"
      "            for (int i = 0; i < n; i++) dx[i] = 0.0f;\n"
      "            continue;\n"
      "        }\n"
      "        float scale = d / row_exp(dx, x, row_max(x, n), n);\n"
      "        float share = product(-d, smoothing / (float)n);\n"
      "        for (int i = 0; i < n; i++) dx[i] = multiply_add(scale, dx[i], share);\n"
      "        dx[target[t]] = multiply_add(-d, 1.0f - smoothing, dx[target[t]]);\n"
      "    }\n"
      "}\n",
      0 },
    { "nll", "loss_share lanes_sum ",
      "/* x are logarithms of probabilities. A loss for all rows, or for `each` of them. */\n"
      "SMALL static void nll(const float *x, const int32_t *target, float *loss, int rows, int n,\n"
      "                      int32_t ignored, int mean, int each)\n"
      "{\n"
      "    float lane[32] = { 0.0f };\n"
      "    for (int t = 0; t < rows; t++, x += n) {\n"
      "        float row = target[t] == ignored ? 0.0f : -x[target[t]];\n"
      "        if (each) loss[t] = row;\n"
      "        lane[t & 31] += row;\n"
      "    }\n"
      "    if (!each) *loss = lanes_sum(lane) * loss_share(target, rows, ignored, mean);\n"
      "}\n",
      128 },
    { "nll_backward", "loss_share ",
      "SMALL static void nll_backward(const float *dloss, const int32_t *target, float *dx, int rows, int n,\n"
      "                               int32_t ignored, int mean, int each)\n"
      "{\n"
      "    float factor = loss_share(target, rows, ignored, mean);\n"
      "    for (int t = 0; t < rows; t++, dx += n) {\n"
      "        for (int i = 0; i < n; i++) dx[i] = 0.0f;\n"
      "        if (target[t] != ignored) dx[target[t]] = 0.0f - dloss[each ? t : 0] * factor;\n"
      "    }\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

// The words that losses and gradients share. Rows have so many classes, and the labels are input
// `labels`.
static bool set_loss(emitter *e, const node *n, int32_t classes, int32_t labels)
{
    int32_t reduction = attr_of(n, "reduction");
    char smoothing[32];
    if (n->n_in > labels + 1 && n->in[labels + 1] >= 0) return cannot(e, n, "microbatches");
    float_text(smoothing, attr_float(n, "label_smoothing"));
    set_word(&e->body, "n", "%d", classes);
    set_word(&e->body, "rows", "%lld", (long long)count_of(in_of(e, n, labels)));
    set_word(&e->body, "ignored", "%d", attr_of(n, "ignore_index"));
    set_word(&e->body, "smoothing", "%s", smoothing);
    set_word(&e->body, "mean", "%d", reduction == SAMBA_REDUCE_MEAN);
    set_word(&e->body, "each", "%d", reduction == SAMBA_REDUCE_NONE);
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "target", n->in[labels]);
    set_tensor(e, "y", n->out[0]);
    need(e, "loss_share");
    write_text(&e->body,
               "    if (!targets_fit(${target}, ${rows}, ${ignored}, ${n})) return false;\n");
    return true;
}

static int32_t last_of(const symbol *x)
{
    return x->spec.shape.dim[x->spec.shape.ndim - 1];
}

static bool emit_cross_entropy(emitter *e, const node *n)
{
    bool each = attr_of(n, "reduction") == SAMBA_REDUCE_NONE;
    if (!set_loss(e, n, last_of(in_of(e, n, 0)), 1)) return false;
    need(e, each ? "cross_entropy_each" : "cross_entropy");
    write_text(&e->body,
               each ? "    cross_entropy_each(${x}, ${target}, ${y}, ${rows}, ${n}, "
                      "${ignored}, ${smoothing});\n"
                    : "    cross_entropy(${x}, ${target}, ${y}, ${rows}, ${n}, "
                      "${ignored}, ${smoothing}, ${mean});\n");
    return true;
}

static bool emit_cross_entropy_backward(emitter *e, const node *n)
{
    if (!set_loss(e, n, last_of(in_of(e, n, 1)), 2)) return false;
    set_tensor(e, "dloss", n->in[0]);
    set_tensor(e, "x", n->in[1]);
    need(e, "cross_entropy_backward");
    write_text(&e->body,
               "    cross_entropy_backward(${dloss}, ${x}, ${target}, ${y}, ${rows}, ${n}, "
               "${ignored},\n                           ${smoothing}, ${mean}, ${each});\n");
    return true;
}

static bool emit_nll(emitter *e, const node *n)
{
    if (!set_loss(e, n, last_of(in_of(e, n, 0)), 1)) return false;
    need(e, "nll");
    write_text(&e->body,
               "    nll(${x}, ${target}, ${y}, ${rows}, ${n}, ${ignored}, ${mean}, "
               "${each});\n");
    return true;
}

static bool emit_nll_backward(emitter *e, const node *n)
{
    if (!set_loss(e, n, last_of(out_of(e, n, 0)), 1)) return false;
    need(e, "nll_backward");
    write_text(&e->body,
               "    nll_backward(${x}, ${target}, ${y}, ${rows}, ${n}, ${ignored}, "
               "${mean}, ${each});\n");
    return true;
}

static const op_emitter ops[] = {
    { "cross_entropy", emit_cross_entropy },
    { "cross_entropy_backward", emit_cross_entropy_backward },
    { "nll", emit_nll },
    { "nll_backward", emit_nll_backward },
    { NULL, NULL },
};

const family loss_family = { ops, pieces };
