// Steps of optimizers, and the clipping of gradients.
#include "emit.h"

static const piece pieces[] = {
    { "sgd", "multiply_add ",
      "/* g += decay w; v = momentum v + (1 - dampening) g, at first g; w -= lr v. v may be NULL. */\n"
      "static void sgd(float *w, const float *g, float *v, int n, int32_t step, float lr, float decay,\n"
      "                float momentum, float clip, float dampening, int nesterov)\n"
      "{\n"
      "    float fresh = step <= 1 ? 1.0f : 1.0f - dampening, kept = step <= 1 ? 0.0f : momentum;\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        float d = multiply_add(decay, w[i], g[i] * clip);\n"
      "        if (v) {\n"
      "            v[i] = multiply_add(kept, v[i], d * fresh);\n"
      "            d = nesterov ? multiply_add(momentum, v[i], d) : v[i];\n"
      "        }\n"
      "        w[i] = multiply_add(-lr, d, w[i]);\n"
      "    }\n"
      "}\n",
      0 },
    { "power", "",
      "/* beta^n, in double: 1 - beta^n must be right for the first steps. */\n"
      "static double power(double beta, int32_t n)\n"
      "{\n"
      "    double r = 1.0;\n"
      "    for (; n > 0; n >>= 1, beta *= beta)\n"
      "        if (n & 1) r *= beta;\n"
      "    return r;\n"
      "}\n",
      0 },
    { "adamw", "multiply_add sqrt_of power ",
      "/* m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;\n"
      "   w -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps). Decay is decoupled, or part of g. */\n"
      "static void adamw(float *w, const float *g, float *m, float *v, int n, int32_t step, float lr,\n"
      "                  float decay, float b1, float b2, float eps, float clip, int decoupled)\n"
      "{\n"
      "    float rate = (float)((double)lr / (1.0 - power((double)b1, step)));\n"
      "    float root = 1.0f / sqrt_of((float)(1.0 - power((double)b2, step)));\n"
      "    float shrink = decoupled ? multiply_add(-lr, decay, 1.0f) : 1.0f;\n"
      "    float l2 = decoupled ? 0.0f : decay, c1 = 1.0f - b1, c2 = 1.0f - b2;\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        float d = multiply_add(l2, w[i], g[i] * clip);\n"
      "        m[i] = multiply_add(c1, d, b1 * m[i]);\n"
      "        v[i] = multiply_add(c2 * d, d, b2 * v[i]);\n"
      "        float size = sqrt_of(v[i]), by = multiply_add(size, root, eps) + (size - size);\n"
      "        w[i] = multiply_add(-rate, m[i] / by, w[i] * shrink);\n"
      "    }\n"
      "}\n",
      0 },
    { "amsgrad", "multiply_add sqrt_of power ",
      "/* As Adam, with the largest v so far in place of v. */\n"
      "static void amsgrad(float *w, const float *g, float *m, float *v, float *most, int n,\n"
      "                    int32_t step, float lr, float decay, float b1, float b2, float eps,\n"
      "                    float clip, int decoupled)\n"
      "{\n"
      "    float rate = (float)((double)lr / (1.0 - power((double)b1, step)));\n"
      "    float root = 1.0f / sqrt_of((float)(1.0 - power((double)b2, step)));\n"
      "    float shrink = decoupled ? multiply_add(-lr, decay, 1.0f) : 1.0f;\n"
      "    float l2 = decoupled ? 0.0f : decay, c1 = 1.0f - b1, c2 = 1.0f - b2;\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        float d = multiply_add(l2, w[i], g[i] * clip);\n"
      "        m[i] = multiply_add(c1, d, b1 * m[i]);\n"
      "        v[i] = multiply_add(c2 * d, d, b2 * v[i]);\n"
      "        if (!(most[i] >= v[i])) most[i] = v[i];\n"
      "        float size = sqrt_of(most[i]), by = multiply_add(size, root, eps) + (size - size);\n"
      "        w[i] = multiply_add(-rate, m[i] / by, w[i] * shrink);\n"
      "    }\n"
      "}\n",
      0 },
    { "rmsprop", "multiply_add sqrt_of ",
      "/* v = alpha v + (1 - alpha) g^2; w -= lr g / (sqrt(v) + eps). With a mean, v - mean^2 is below\n"
      "   the root; with a buffer, w -= lr buffer, which adds quotients up. Both may be NULL. */\n"
      "static void rmsprop(float *w, const float *g, float *v, float *mean, float *buffer, int n,\n"
      "                    float lr, float decay, float alpha, float eps, float momentum, float clip)\n"
      "{\n"
      "    float fresh = 1.0f - alpha;\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        float d = multiply_add(decay, w[i], g[i] * clip), size;\n"
      "        size = v[i] = multiply_add(fresh * d, d, alpha * v[i]);\n"
      "        if (mean) {\n"
      "            mean[i] = multiply_add(fresh, d - mean[i], mean[i]);\n"
      "            size = multiply_add(-mean[i], mean[i], size);\n"
      "            size = size < 0.0f ? 0.0f : size;\n"
      "        }\n"
      "        size = sqrt_of(size);\n"
      "        d = d / (multiply_add(size, 1.0f, eps) + (size - size));\n"
      "        if (buffer) d = buffer[i] = multiply_add(momentum, buffer[i], d);\n"
      "        w[i] = multiply_add(-lr, d, w[i]);\n"
      "    }\n"
      "}\n",
      0 },
    { "adagrad", "multiply_add sqrt_of ",
      "/* sum += g^2; w -= lr / (1 + (t - 1) lr_decay) g / (sqrt(sum) + eps) */\n"
      "static void adagrad(float *w, const float *g, float *sum, int n, int32_t step, float lr,\n"
      "                    float decay, float lr_decay, float eps, float clip)\n"
      "{\n"
      "    float rate = lr / multiply_add((float)(step - 1), lr_decay, 1.0f);\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        float d = multiply_add(decay, w[i], g[i] * clip);\n"
      "        sum[i] = multiply_add(d, d, sum[i]);\n"
      "        float size = sqrt_of(sum[i]), by = multiply_add(size, 1.0f, eps) + (size - size);\n"
      "        w[i] = multiply_add(-rate, d / by, w[i]);\n"
      "    }\n"
      "}\n",
      0 },
    { "lion", "multiply_add ",
      "/* w -= lr (sign(b1 m + (1 - b1) g) + decay w); m = b2 m + (1 - b2) g */\n"
      "static void lion(float *w, const float *g, float *m, int n, float lr, float decay, float b1,\n"
      "                 float b2, float clip)\n"
      "{\n"
      "    float c1 = 1.0f - b1, c2 = 1.0f - b2, shrink = multiply_add(-lr, decay, 1.0f);\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        float d = g[i] * clip, way = multiply_add(c1, d, b1 * m[i]);\n"
      "        float sign = (float)((way > 0.0f) - (way < 0.0f)) + (way - way);\n"
      "        m[i] = multiply_add(c2, d, b2 * m[i]);\n"
      "        w[i] = multiply_add(-lr, sign, w[i] * shrink);\n"
      "    }\n"
      "}\n",
      0 },
    { "clip_factor", "sqrt_of not_a_number infinity ",
      "/* What gradients are multiplied by so that their norm is at most `most`; NaN if it is not finite. */\n"
      "static float clip_factor(float squares, float most)\n"
      "{\n"
      "    float factor = most / (sqrt_of(squares) + 1e-6f);\n"
      "    if (!(squares < INFINITE)) return NOT_A_NUMBER;\n"
      "    return factor < 1.0f ? factor : 1.0f;\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

// A word of the value in a scalar; if it is absent, what stands for it.
static void set_scalar(emitter *e, const char *word, const node *n, int32_t i, const char *absent)
{
    bool is = i < n->n_in && n->in[i] >= 0;
    if (is)
        set_word(&e->body, word, "%s[0]", tensor_name(e, n->in[i]));
    else
        set_word(&e->body, word, "%s", absent);
}

static bool set_step(emitter *e, const node *n)
{
    if (out_of(e, n, 0)->spec.dtype != SAMBA_F32) return cannot(e, n, "parameters of this type");
    set_word(&e->body, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    set_tensor(e, "w", n->in[0]);
    set_tensor(e, "g", n->in[1]);
    return true;
}

static bool emit_sgd(emitter *e, const node *n)
{
    static const char *const scalars[] = { "step", "lr", "decay", "momentum", "clip" };
    char dampening[32];
    if (!set_step(e, n)) return false;
    set_tensor(e, "v", n->in[2]);
    for (int32_t i = 0; i < 5; i++)
        set_scalar(e, scalars[i], n, 3 + i, "1.0f");
    float_text(dampening, attr_float(n, "dampening"));
    set_word(&e->body, "dampening", "%s", dampening);
    set_word(&e->body, "nesterov", "%d", attr_of(n, "nesterov") != 0);
    need(e, "sgd");
    write_text(&e->body,
               "    sgd(${w}, ${g}, ${v}, ${n}, ${step}, ${lr},\n        ${decay}, "
               "${momentum}, ${clip}, ${dampening}, ${nesterov});\n");
    return true;
}

// states: those behind the parameter and its gradient; the scalars follow them.
static bool set_adam(emitter *e, const node *n, int32_t states)
{
    static const char *const scalars[] = { "step", "lr", "decay", "b1", "b2", "eps", "clip" };
    static const char *const names[] = { "m", "v", "most" };
    if (!set_step(e, n)) return false;
    for (int32_t i = 0; i < states; i++)
        set_tensor(e, names[i], n->in[2 + i]);
    for (int32_t i = 0; i < 7; i++)
        set_scalar(e, scalars[i], n, 2 + states + i, "1.0f");
    set_word(&e->body, "decoupled", "%d", attr_of(n, "decoupled") != 0);
    return true;
}

static bool emit_adamw(emitter *e, const node *n)
{
    if (!set_adam(e, n, 2)) return false;
    need(e, "adamw");
    write_text(&e->body,
               "    adamw(${w}, ${g}, ${m}, ${v}, ${n},\n          ${step}, ${lr}, ${decay}, "
               "${b1}, ${b2}, ${eps}, ${clip}, ${decoupled});\n");
    return true;
}

static bool emit_amsgrad(emitter *e, const node *n)
{
    if (!set_adam(e, n, 3)) return false;
    need(e, "amsgrad");
    write_text(&e->body,
               "    amsgrad(${w}, ${g}, ${m}, ${v}, ${most}, ${n},\n            ${step}, ${lr}, "
               "${decay}, ${b1}, ${b2}, ${eps}, ${clip}, ${decoupled});\n");
    return true;
}

// Input 3, if centered, is the mean of gradients; the last state may be absent, as may the clip.
static bool emit_mean_square(emitter *e, const node *n, bool centered)
{
    static const char *const scalars[] = { "lr", "decay", "alpha", "eps", "momentum", "clip" };
    int32_t buffer = centered ? 4 : 3;
    if (!set_step(e, n)) return false;
    set_tensor(e, "v", n->in[2]);
    set_tensor(e, "mean", centered ? n->in[3] : -1);
    set_tensor(e, "buffer", n->in[buffer]);
    for (int32_t i = 0; i < 6; i++)
        set_scalar(e, scalars[i], n, buffer + 2 + i, "1.0f");
    need(e, "rmsprop");
    write_text(&e->body,
               "    rmsprop(${w}, ${g}, ${v}, ${mean}, ${buffer}, ${n},\n            ${lr}, "
               "${decay}, ${alpha}, ${eps}, ${momentum}, ${clip});\n");
    return true;
}

static bool emit_rmsprop(emitter *e, const node *n)
{
    return emit_mean_square(e, n, false);
}

static bool emit_rmsprop_centered(emitter *e, const node *n)
{
    return emit_mean_square(e, n, true);
}

static bool emit_adagrad(emitter *e, const node *n)
{
    static const char *const scalars[] = { "step", "lr", "decay", "lr_decay", "eps", "clip" };
    if (!set_step(e, n)) return false;
    set_tensor(e, "sum", n->in[2]);
    for (int32_t i = 0; i < 6; i++)
        set_scalar(e, scalars[i], n, 3 + i, "1.0f");
    need(e, "adagrad");
    write_text(&e->body,
               "    adagrad(${w}, ${g}, ${sum}, ${n},\n            ${step}, ${lr}, ${decay}, "
               "${lr_decay}, ${eps}, ${clip});\n");
    return true;
}

static bool emit_lion(emitter *e, const node *n)
{
    static const char *const scalars[] = { "lr", "decay", "b1", "b2", "clip" };
    if (!set_step(e, n)) return false;
    set_tensor(e, "m", n->in[2]);
    for (int32_t i = 0; i < 5; i++)
        set_scalar(e, scalars[i], n, 4 + i, "1.0f");
    need(e, "lion");
    write_text(&e->body,
               "    lion(${w}, ${g}, ${m}, ${n},\n         ${lr}, ${decay}, ${b1}, ${b2}, "
               "${clip});\n");
    return true;
}

static bool emit_clip_factor(emitter *e, const node *n)
{
    set_tensor(e, "squares", n->in[0]);
    set_tensor(e, "most", n->in[1]);
    set_tensor(e, "y", n->out[0]);
    need(e, "clip_factor");
    write_text(&e->body, "    ${y}[0] = clip_factor(${squares}[0], ${most}[0]);\n");
    return true;
}

static bool emit_count(emitter *e, const node *n)
{
    bool always = attr_of(n, "training_only") == 0;
    set_tensor(e, "x", n->in[0]);
    if (!always) e->trains = true;
    write_text(&e->body,
               always ? "    ${x}[0] = (int32_t)((uint32_t)${x}[0] + 1u);\n"
                      : "    ${x}[0] += ${name}_training;\n");
    return true;
}

static bool emit_zero(emitter *e, const node *n)
{
    set_tensor(e, "x", n->out[0]);
    set_word(&e->body, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    write_text(&e->body, "    for (int i = 0; i < ${n}; i++) ${x}[i] = 0.0f;\n");
    return true;
}

// There is one microbatch: what begins anew with the first is a copy.
static bool emit_accumulate(emitter *e, const node *n)
{
    set_tensor(e, "x", n->out[0]);
    set_tensor(e, "dx", n->in[1]);
    set_word(&e->body, "adds", attr_of(n, "anew") ? "=" : "+=");
    set_word(&e->body, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    write_text(&e->body, "    for (int i = 0; i < ${n}; i++) ${x}[i] ${adds} ${dx}[i];\n");
    return true;
}

static const op_emitter ops[] = {
    { "sgd", emit_sgd },
    { "adamw", emit_adamw },
    { "amsgrad", emit_amsgrad },
    { "rmsprop", emit_rmsprop },
    { "rmsprop_centered", emit_rmsprop_centered },
    { "adagrad", emit_adagrad },
    { "lion", emit_lion },
    { "clip_factor", emit_clip_factor },
    { "count", emit_count },
    { "zero", emit_zero },
    { "accumulate", emit_accumulate },
    { NULL, NULL },
};

const family optimizer_family = { ops, pieces };
