// Layer norm and RMS norm.
#include "emit.h"
#include <string.h>

static const piece pieces[] = {
    { "row_norm", "row_sum row_squares rsqrt_of product abs_of bits infinity ",
      "/* 1, or where f32 does not hold the variance of x, a power of two that brings x near 1. */\n"
      "static float norm_unit(float variance, const float *x, int n)\n"
      "{\n"
      "    float most = 0.0f;\n"
      "    if (variance >= 1.17549435e-38f && variance < INFINITE) return 1.0f;\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        if (!(abs_of(x[i]) < INFINITE)) return 1.0f;\n"
      "        if (abs_of(x[i]) > most) most = abs_of(x[i]);\n"
      "    }\n"
      "    if (most == 0.0f) return 1.0f;\n"
      "    uint32_t exponent = float_bits(most) >> 23;\n"
      "    return bits_float(exponent < 254u ? (254u - exponent) << 23 : 0x00400000u);\n"
      "}\n"
      "\n"
      "/* h = (x - mean) / sqrt(mean of its squares + eps), in place or not; returns what is multiplied by.\n"
      "   Of RMS norm the mean is 0. */\n"
      "static float row_norm(float *h, const float *x, int n, float eps, int centered)\n"
      "{\n"
      "    float scale = 1.0f, mean, variance, unit;\n"
      "    for (;;) {\n"
      "        mean = centered ? row_sum(x, n) / (float)n : 0.0f;\n"
      "        variance = row_squares(x, mean, n) / (float)n + eps;\n"
      "        unit = norm_unit(variance, x, n);\n"
      "        if (unit == 1.0f) break;\n"
      "        for (int i = 0; i < n; i++) h[i] = x[i] * unit;\n"
      "        x = h;\n"
      "        eps = eps * unit * unit;\n"
      "        scale *= unit;\n"
      "    }\n"
      "    float r = rsqrt_of(variance);\n"
      "    for (int i = 0; i < n; i++) h[i] = product(x[i] - mean, r);\n"
      "    return r * scale;\n"
      "}\n",
      0 },
    { "norm", "row_norm multiply_add ",
      "/* y = h weight + bias for each row. */\n"
      "static void norm(const float *x, const float *weight, const float *bias, float *y, int rows, int n,\n"
      "                 float eps, int centered)\n"
      "{\n"
      "    for (; rows > 0; rows--, x += n, y += n) {\n"
      "        row_norm(y, x, n, eps, centered);\n"
      "        for (int i = 0; i < n; i++) {\n"
      "            if (weight && bias) y[i] = multiply_add(y[i], weight[i], bias[i]);\n"
      "            else if (weight) y[i] *= weight[i];\n"
      "            else if (bias) y[i] += bias[i];\n"
      "        }\n"
      "    }\n"
      "}\n",
      0 },
    { "norm_backward", "row_norm row_dot row_sum multiply_add product ",
      "/* The sum of x y z. */\n"
      "static float row_dot3(const float *x, const float *y, const float *z, int n)\n"
      "{\n"
      "    float lane[32] = { 0.0f };\n"
      "    for (int i = 0; i < n; i++) lane[i & 31] = multiply_add(x[i] * y[i], z[i], lane[i & 31]);\n"
      "    return lanes_sum(lane);\n"
      "}\n"
      "\n"
      "/* A row of dx, which holds h. */\n"
      "static void row_norm_backward(float *dx, const float *dy, const float *weight, int n, float r,\n"
      "                              int centered)\n"
      "{\n"
      "    float along = (weight ? row_dot3(dy, weight, dx, n) : row_dot(dy, dx, n)) / (float)n;\n"
      "    float mean = 0.0f;\n"
      "    if (centered) mean = (weight ? row_dot(dy, weight, n) : row_sum(dy, n)) / (float)n;\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        float d = weight ? product(dy[i], weight[i]) : dy[i];\n"
      "        dx[i] = r * (multiply_add(-dx[i], along, d) - mean);\n"
      "    }\n"
      "}\n"
      "\n"
      "/* dx, and unless they are NULL dw and db: the sums of 32 rows, one after the other. */\n"
      "static void norm_backward(const float *dy, const float *x, const float *weight, float *dx,\n"
      "                          float *dw, float *db, int rows, int n, float eps, int centered)\n"
      "{\n"
      "    float r[32];\n"
      "    for (int at = 0; at < rows; at += 32, dy += 32 * n, x += 32 * n, dx += 32 * n) {\n"
      "        int end = rows - at < 32 ? rows - at : 32;\n"
      "        for (int t = 0; t < end; t++) r[t] = row_norm(dx + t * n, x + t * n, n, eps, centered);\n"
      "        for (int i = 0; i < n; i++) {\n"
      "            float slope = 0.0f, shift = 0.0f;\n"
      "            for (int t = 0; t < end; t++) {\n"
      "                slope = multiply_add(dy[t * n + i], dx[t * n + i], slope);\n"
      "                shift += dy[t * n + i];\n"
      "            }\n"
      "            if (dw) dw[i] = at ? dw[i] + slope : slope;\n"
      "            if (db) db[i] = at ? db[i] + shift : shift;\n"
      "        }\n"
      "        for (int t = 0; t < end; t++)\n"
      "            row_norm_backward(dx + t * n, dy + t * n, weight, n, r[t], centered);\n"
      "    }\n"
      "}\n",
      256 },
    { NULL, NULL, NULL, 0 },
};

// What forward and backward share; x is input `first`, and the weight follows.
static void set_norm(emitter *e, const node *n, int32_t first)
{
    const samba_shape *x = &in_of(e, n, first)->spec.shape;
    int32_t last = x->dim[x->ndim - 1];
    char eps[32];
    float_text(eps, attr_float(n, "eps"));
    set_word(&e->body, "eps", "%s", eps);
    set_word(&e->body, "n", "%d", last);
    set_word(&e->body, "rows", "%lld", (long long)(count_of(in_of(e, n, first)) / last));
    set_word(&e->body, "centered", "%d", strncmp(n->op, "layer", 5) == 0);
    set_tensor(e, "x", n->in[first]);
    set_tensor(e, "w", first + 1 < n->n_in ? n->in[first + 1] : -1);
}

static bool emit_norm(emitter *e, const node *n)
{
    set_norm(e, n, 0);
    set_tensor(e, "b", n->n_in > 2 ? n->in[2] : -1);
    set_tensor(e, "y", n->out[0]);
    need(e, "norm");
    write_text(&e->body, "    norm(${x}, ${w}, ${b}, ${y}, ${rows}, ${n}, ${eps}, ${centered});\n");
    return true;
}

static bool emit_norm_backward(emitter *e, const node *n)
{
    const char *const results[3] = { "dx", "dw", "db" };
    set_norm(e, n, 1);
    set_tensor(e, "dy", n->in[0]);
    for (int32_t i = 0; i < 3; i++)
        set_tensor(e, results[i], i < n->n_out ? n->out[i] : -1);
    need(e, "norm_backward");
    write_text(&e->body,
               "    norm_backward(${dy}, ${x}, ${w}, ${dx}, ${dw}, ${db}, ${rows}, ${n},\n"
               "                  ${eps}, ${centered});\n");
    return true;
}

static const op_emitter ops[] = {
    { "layer_norm", emit_norm },
    { "rms_norm", emit_norm },
    { "layer_norm_backward", emit_norm_backward },
    { "rms_norm_backward", emit_norm_backward },
    { NULL, NULL },
};

const family rows_norm_family = { ops, pieces };
