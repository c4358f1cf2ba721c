// Softmax and normalization.
#include "emit.h"
#include "tools/cli/util/text.h"
#include <math.h>

static const piece pieces[] = {
    { "row_exp", "lanes_sum exp_below row_max not_a_number ",
      "/* y = e^(x - top), in place or not, and its sum: NaN if top is not finite. */\n"
      "SMALL static float row_exp(float *y, const float *x, float top, int n)\n"
      "{\n"
      "    float lane[32] = { 0.0f };\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        y[i] = exp_below(x[i] - top);\n"
      "        lane[i & 31] += y[i];\n"
      "    }\n"
      "    float sum = lanes_sum(lane);\n"
      "    return sum != 0.0f ? sum : NOT_A_NUMBER;\n"
      "}\n",
      128 },
    { "softmax", "row_exp ",
      "SMALL static void softmax(const float *x, float *y, int rows, int n)\n"
      "{\n"
      "    for (; rows > 0; rows--, x += n, y += n) {\n"
      "        float factor = 1.0f / row_exp(y, x, row_max(x, n), n);\n"
      "        for (int i = 0; i < n; i++) y[i] *= factor;\n"
      "    }\n"
      "}\n",
      0 },
    { "softmax_backward", "row_dot ",
      "SMALL static void softmax_backward(const float *dy, const float *y, float *dx, int rows, int n)\n"
      "{\n"
      "    for (; rows > 0; rows--, dy += n, y += n, dx += n) {\n"
      "        float sum = row_dot(dy, y, n);\n"
      "        for (int i = 0; i < n; i++) dx[i] = y[i] * (dy[i] - sum);\n"
      "    }\n"
      "}\n",
      0 },
    { "row_exp_sum", "lanes_sum exp_of exp_below row_max log_of not_a_number ",
      "/* log(sum of e^(x - top)), of 256 elements at a time, and top. */\n"
      "SMALL static float row_log_sum(const float *x, int n, float *top)\n"
      "{\n"
      "    float sum = 0.0f, old = *top = -INFINITE;\n"
      "    for (int at = 0; at < n; at += 256) {\n"
      "        float lane[32] = { 0.0f };\n"
      "        int end = n - at < 256 ? n - at : 256;\n"
      "        *top = row_max(x + at, end);\n"
      "        if (*top <= old) *top = old;\n"
      "        else sum = product(sum, exp_of(old - *top));\n"
      "        for (int i = 0; i < end; i++) lane[i & 31] += exp_below(x[at + i] - *top);\n"
      "        sum += lanes_sum(lane);\n"
      "        old = *top;\n"
      "    }\n"
      "    return log_of(sum != 0.0f ? sum : NOT_A_NUMBER);\n"
      "}\n",
      128 },
    { "log_softmax", "row_exp_sum ",
      "SMALL static void log_softmax(const float *x, float *y, int rows, int n)\n"
      "{\n"
      "    for (; rows > 0; rows--, x += n, y += n) {\n"
      "        float top, sum = row_log_sum(x, n, &top);\n"
      "        for (int i = 0; i < n; i++) y[i] = (x[i] - top) - sum;\n"
      "    }\n"
      "}\n",
      0 },
    { "log_softmax_backward", "row_sum exp_of multiply_add ",
      "SMALL static void log_softmax_backward(const float *dy, const float *y, float *dx, int rows, int n)\n"
      "{\n"
      "    for (; rows > 0; rows--, dy += n, y += n, dx += n) {\n"
      "        float sum = row_sum(dy, n);\n"
      "        for (int i = 0; i < n; i++) dx[i] = multiply_add(-exp_of(y[i]), sum, dy[i]);\n"
      "    }\n"
      "}\n",
      0 },
    { "batch_norm", "multiply_add relu ",
      "/* y = (x - mean) scale + shift for each channel; then relu, if asked for. */\n"
      "static void batch_norm(const float *x, const float (*channel)[3], float *y, int images,\n"
      "                       int channels, int plane, int with_relu)\n"
      "{\n"
      "    for (int c = 0; c < images * channels; c++)\n"
      "        for (int i = 0; i < plane; i++, x++, y++) {\n"
      "            const float *of = channel[c % channels];\n"
      "            float v = multiply_add(*x - of[0], of[1], of[2]);\n"
      "            *y = with_relu ? relu(v) : v;\n"
      "        }\n"
      "}\n",
      0 },
    { "channel_sums", "lanes_sum multiply_add ",
      "/* The sum of x over a channel, in 32 lanes. */\n"
      "static float channel_sum(const float *x, int images, int step, int plane)\n"
      "{\n"
      "    float lane[32] = { 0.0f };\n"
      "    for (; images > 0; images--, x += step)\n"
      "        for (int i = 0; i < plane; i++) lane[i & 31] += x[i];\n"
      "    return lanes_sum(lane);\n"
      "}\n"
      "\n"
      "/* The sum of (x - mean) d, or, if d is NULL, of (x - mean) squared. */\n"
      "static float channel_moment(const float *x, const float *d, float mean, int images, int step,\n"
      "                            int plane)\n"
      "{\n"
      "    float lane[32] = { 0.0f };\n"
      "    for (int n = 0; n < images; n++)\n"
      "        for (int i = 0; i < plane; i++) {\n"
      "            float from_mean = x[n * step + i] - mean, by = d ? d[n * step + i] : from_mean;\n"
      "            lane[i & 31] = multiply_add(from_mean, by, lane[i & 31]);\n"
      "        }\n"
      "    return lanes_sum(lane);\n"
      "}\n",
      128 },
    { "batch_norm_train", "channel_sums rsqrt_of not_a_number infinity relu ",
      "/* The same by mean and variance of the batch, which the running ones follow; or, if not training,\n"
      "   by the running ones. */\n"
      "static void batch_norm_train(const float *x, const float *weight, const float *bias, float *mean,\n"
      "                             float *variance, float *y, int images, int channels, int plane,\n"
      "                             float momentum, float eps, int training, int with_relu)\n"
      "{\n"
      "    int step = channels * plane;\n"
      "    float count = (float)(images * plane);\n"
      "    for (int c = 0; c < channels; c++, x += plane, y += plane) {\n"
      "        float m = mean[c], v = variance[c];\n"
      "        if (training) {\n"
      "            m = channel_sum(x, images, step, plane) / count;\n"
      "            v = channel_moment(x, NULL, m, images, step, plane) / count;\n"
      "            if (!(v < INFINITE)) v = NOT_A_NUMBER; /* f32 does not hold it */\n"
      "            float unbiased = v * count / (count > 1.0f ? count - 1.0f : 1.0f);\n"
      "            mean[c] = multiply_add(momentum, m - mean[c], mean[c]);\n"
      "            variance[c] = multiply_add(momentum, unbiased - variance[c], variance[c]);\n"
      "        }\n"
      "        float scale = (weight ? weight[c] : 1.0f) * rsqrt_of(v + eps), shift = bias ? bias[c] : 0.0f;\n"
      "        for (int n = 0; n < images; n++)\n"
      "            for (int i = n * step; i < n * step + plane; i++) {\n"
      "                float value = multiply_add(x[i] - m, scale, shift);\n"
      "                y[i] = with_relu ? relu(value) : value;\n"
      "            }\n"
      "    }\n"
      "}\n",
      0 },
    { "batch_norm_backward", "channel_sums rsqrt_of not_a_number infinity ",
      "static void batch_norm_backward(const float *dy, const float *x, const float *weight,\n"
      "                                const float *mean, const float *variance, float *dx, float *dw,\n"
      "                                float *db, int images, int channels, int plane, float eps,\n"
      "                                int training)\n"
      "{\n"
      "    int step = channels * plane;\n"
      "    float count = (float)(images * plane);\n"
      "    for (int c = 0; c < channels; c++, x += plane, dy += plane, dx += plane) {\n"
      "        float m = mean[c], v = variance[c], slope = 0.0f, shift = 0.0f;\n"
      "        float sum = channel_sum(dy, images, step, plane);\n"
      "        if (training) {\n"
      "            m = channel_sum(x, images, step, plane) / count;\n"
      "            v = channel_moment(x, NULL, m, images, step, plane) / count;\n"
      "            if (!(v < INFINITE)) v = NOT_A_NUMBER; /* f32 does not hold it */\n"
      "        }\n"
      "        float rstd = rsqrt_of(v + eps), scale = (weight ? weight[c] : 1.0f) * rstd;\n"
      "        float slopes = channel_moment(x, dy, m, images, step, plane) * rstd;\n"
      "        if (training) {\n"
      "            slope = slopes / count * rstd;\n"
      "            shift = sum / count;\n"
      "        }\n"
      "        dw[c] = slopes;\n"
      "        db[c] = sum;\n"
      "        for (int n = 0; n < images; n++)\n"
      "            for (int i = n * step; i < n * step + plane; i++)\n"
      "                dx[i] = scale * multiply_add(m - x[i], slope, dy[i] - shift);\n"
      "    }\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

static void set_rows(emitter *e, const node *n)
{
    const samba_shape *x = &in_of(e, n, 0)->spec.shape;
    int32_t last = x->dim[x->ndim - 1];
    set_word(&e->body, "n", "%d", last);
    set_word(&e->body, "rows", "%lld", (long long)(count_of(in_of(e, n, 0)) / last));
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
}

static bool emit_softmax(emitter *e, const node *n)
{
    set_rows(e, n);
    set_word(&e->body, "op", "%s", n->op);
    need(e, n->op);
    write_text(&e->body, "    ${op}(${x}, ${y}, ${rows}, ${n});\n");
    return true;
}

static bool emit_softmax_backward(emitter *e, const node *n)
{
    set_rows(e, n);
    set_tensor(e, "s", n->in[1]);
    set_word(&e->body, "op", "%s", n->op);
    need(e, n->op);
    write_text(&e->body, "    ${op}(${x}, ${s}, ${y}, ${rows}, ${n});\n");
    return true;
}

static void set_planes(emitter *e, const symbol *x)
{
    const samba_shape *s = &x->spec.shape;
    set_word(&e->body, "images", "%d", s->dim[0]);
    set_word(&e->body, "channels", "%d", s->dim[1]);
    set_word(&e->body, "plane", "%lld", (long long)(count_of(x) / s->dim[0] / s->dim[1]));
}

static void set_float(emitter *e, const char *word, float x)
{
    char text[32];
    float_text(text, x);
    set_word(&e->body, word, "%s", text);
}

// weight / sqrt(variance + eps), each step rounded as in the executor.
static float scale_of(float weight, float variance, float eps)
{
    volatile float sum = variance + eps;
    volatile float root = sqrtf(sum);
    volatile float rstd = 1.0f / root;
    volatile float scale = weight * rstd;
    return scale;
}

static const float *value_of(const emitter *e, const node *n, int32_t i)
{
    int32_t at = i < n->n_in ? base_of(e, n->in[i]) : -1;
    return at < 0 ? NULL : (const float *)e->p->symbols[at].value;
}

// Mean, scale and shift of each channel as a table.
static bool emit_batch_norm_constant(emitter *e, const node *n)
{
    int32_t channels = in_of(e, n, 0)->spec.shape.dim[1];
    const float *weight = value_of(e, n, 1), *bias = value_of(e, n, 2);
    const float *mean = value_of(e, n, 3), *variance = value_of(e, n, 4);
    float eps = attr_float(n, "eps");
    if (!mean || !variance) return cannot(e, n, "no statistics");
    int number = ++e->n_tables;
    write_plain(&e->data,
                "/* %s: mean, scale, shift of each channel */\n"
                "static const float %s_channels%d[%d][3] = {\n",
                in_c_comment(n->name), e->name, number, channels);
    for (int32_t c = 0; c < channels; c++) {
        char text[3][32];
        float_text(text[0], mean[c]);
        float_text(text[1], scale_of(weight ? weight[c] : 1.0f, variance[c], eps));
        float_text(text[2], bias ? bias[c] : 0.0f);
        write_plain(&e->data, "    { %s, %s, %s },\n", text[0], text[1], text[2]);
    }
    write_plain(&e->data, "};\n\n");
    set_word(&e->body, "table", "%s_channels%d", e->name, number);
    set_tensor(e, "x", n->in[0]);
    take_relu(e, n);
    need(e, "batch_norm");
    write_text(&e->body,
               "    batch_norm(${x}, ${table}, ${y}, ${images}, ${channels}, ${plane}, "
               "${relu});\n");
    return true;
}

static bool emit_batch_norm(emitter *e, const node *n)
{
    bool constant = e->p->pef.inference;
    for (int32_t i = 1; i < n->n_in; i++)
        constant = constant && (n->in[i] < 0 || is_constant(e, n->in[i]));
    set_planes(e, in_of(e, n, 0));
    if (constant) return emit_batch_norm_constant(e, n);
    if (e->p->pef.inference) return cannot(e, n, "statistics that are no constants");
    const char *const words[5] = { "x", "w", "b", "mean", "variance" };
    for (int32_t i = 0; i < 5; i++)
        set_tensor(e, words[i], i < n->n_in ? n->in[i] : -1);
    set_float(e, "momentum", attr_float(n, "momentum"));
    set_float(e, "eps", attr_float(n, "eps"));
    take_relu(e, n);
    e->trains = true;
    need(e, "batch_norm_train");
    write_text(&e->body,
               "    batch_norm_train(${x}, ${w}, ${b}, ${mean}, ${variance}, ${y}, "
               "${images},\n                     ${channels}, ${plane}, ${momentum}, ${eps}, "
               "${name}_training, ${relu});\n");
    return true;
}

static bool emit_batch_norm_backward(emitter *e, const node *n)
{
    const char *const words[5] = { "dy", "x", "w", "mean", "variance" };
    const char *const results[3] = { "dx", "dw", "db" };
    for (int32_t i = 0; i < 5; i++)
        set_tensor(e, words[i], i < n->n_in ? n->in[i] : -1);
    for (int32_t i = 0; i < 3; i++) {
        if (i >= n->n_out || n->out[i] < 0) return cannot(e, n, "absent gradients");
        set_tensor(e, results[i], n->out[i]);
    }
    set_planes(e, in_of(e, n, 1));
    set_float(e, "eps", attr_float(n, "eps"));
    e->trains = true;
    need(e, "batch_norm_backward");
    write_text(&e->body,
               "    batch_norm_backward(${dy}, ${x}, ${w}, ${mean}, ${variance}, ${dx}, "
               "${dw}, ${db},\n                        ${images}, ${channels}, ${plane}, ${eps}, "
               "${name}_training);\n");
    return true;
}

static const op_emitter ops[] = {
    { "softmax", emit_softmax },
    { "log_softmax", emit_softmax },
    { "softmax_backward", emit_softmax_backward },
    { "log_softmax_backward", emit_softmax_backward },
    { "batch_norm", emit_batch_norm },
    { "batch_norm_backward", emit_batch_norm_backward },
    { NULL, NULL },
};

const family norm_family = { ops, pieces };
