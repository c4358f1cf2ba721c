// Ops of a transformer alone, forward, and forward and backward: time, share of the ceiling.
//     cc -O2 -o bench_ops tests/bench/ops.c -lm -pthread -ldl && ./bench_ops [small]
#include "bench.h"

// ---- The ops; torch_ops.py has the same. Inputs come from the formula with seeds 1, 2 ..., dy
// from 9

typedef struct graph {
    samba_session *s;
    samba_tensor *out[4];
    int n;
    bool backward;
} graph;

static samba_tensor *input(graph *g, const char *name, uint32_t seed, samba_shape shape)
{
    float *x = numbers((size_t)samba_count(&shape), seed, 1);
    samba_tensor *t = samba_from_data_copy(g->s, name, SAMBA_F32, shape, x);
    free(x);
    return t;
}

static samba_tensor *ids(graph *g, const char *name, uint32_t seed, int n, uint32_t most)
{
    int32_t *x = choices((size_t)n, seed, most);
    samba_tensor *t = samba_from_data_copy(g->s, name, SAMBA_I32, SAMBA_SHAPE(n), x);
    free(x);
    return t;
}

static void result(graph *g, samba_tensor *t)
{
    g->out[g->n++] = t;
}

// All that the op gives whose first result is t.
static void results(graph *g, samba_tensor *t)
{
    for (int o = 0; t && o < t->node->n_out; o++)
        result(g, t->node->out[o]);
}

static void attention(graph *g, int T)
{
    samba_shape shape = SAMBA_SHAPE(1, 12, T, 64);
    samba_attention_opts opts = { .causal = true, .scale = 0.125f };
    samba_tensor *qkv[3]
        = { input(g, "q", 1, shape), input(g, "k", 2, shape), input(g, "v", 3, shape) };
    if (!g->backward) {
        result(g, samba_scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], NULL, &opts));
        return;
    }
    samba_tensor *y = samba_scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], NULL, &opts),
                 *dy = input(g, "dy", 9, shape);
    samba_tensor *in[8] = { dy, qkv[0], qkv[1], qkv[2], y, y ? y->node->out[1] : NULL, NULL, NULL };
    const int32_t attr[4] = { opts.causal, samba_float_attr(opts.scale), 0, 0 };
    result(g, y);
    results(g, samba_apply(g->s, "scaled_dot_product_attention_backward", in, 8, attr, 4));
}

static void gelu(graph *g, int rows)
{
    samba_shape shape = SAMBA_SHAPE(rows, 3072);
    samba_tensor *x = input(g, "x", 1, shape), *y = samba_gelu_tanh(x);
    result(g, y);
    if (g->backward)
        result(g,
               samba_grad(samba_sum(samba_mul(y, input(g, "dy", 9, shape)), SAMBA_ALL_AXES, false),
                          x));
}

static void cross_entropy(graph *g, int rows)
{
    samba_tensor *x = input(g, "x", 1, SAMBA_SHAPE(rows, 50257)),
                 *label = ids(g, "label", 2, rows, 50257);
    samba_tensor *loss = samba_cross_entropy(x, label);
    result(g, loss);
    if (g->backward) result(g, samba_grad(loss, x));
}

static void layer_norm(graph *g, int rows)
{
    samba_shape shape = SAMBA_SHAPE(rows, 768);
    samba_tensor *x = input(g, "x", 1, shape), *w = input(g, "w", 2, SAMBA_SHAPE(768)),
                 *b = input(g, "b", 3, SAMBA_SHAPE(768));
    const int32_t attr[2] = { samba_float_attr(1e-5f), true }; // with the gradients of w and b
    result(g, samba_layer_normalize(x, w, b, 1e-5f));
    if (!g->backward) return;
    samba_tensor *in[3] = { input(g, "dy", 9, shape), x, w };
    results(g, samba_apply(g->s, "layer_norm_backward", in, 3, attr, 2));
}

static void softmax(graph *g, int n)
{
    samba_shape shape = SAMBA_SHAPE(4, 12, n, n);
    samba_tensor *y = samba_softmax(input(g, "x", 1, shape), -1);
    result(g, y);
    if (!g->backward) return;
    results(g,
            samba_apply(g->s, "softmax_backward", (samba_tensor *[]){ input(g, "dy", 9, shape), y },
                        2, (int32_t[]){ 3 }, 1));
}

static void embedding(graph *g, int n)
{
    samba_tensor *dy = input(g, "dy", 9, SAMBA_SHAPE(n, 768)), *at = ids(g, "ids", 1, n, 50257);
    results(g,
            samba_apply(g->s, "lookup_backward", (samba_tensor *[]){ dy, at }, 2,
                        (int32_t[]){ 50257 }, 1));
}

// bytes: of the least traffic for each element of n^power times elements; both: forward and
// backward.
static const struct op {
    const char *name, *torch;
    void (*trace)(graph *g, int n);
    int n;
    double elements, bytes, bytes_both; // in all; 0: not measured
    double flops, flops_both;           // 0: bandwidth is the ceiling
    bool small;
} ops[] = {

#define ATTENTION(T) \
    { \
        "attention 12x" #T "x64", "Attention", attention, T, 0, 0, 0, 2.0 * 12 * 64 * T *T, \
            7.0 * 12 * 64 * T *T, T == 512 \
    }
    ATTENTION(256),
    ATTENTION(512),
    ATTENTION(1024),
    ATTENTION(2048),
    ATTENTION(4096),
#undef ATTENTION
    { "GELU 1024x3072", "GELU", gelu, 1024, 1024.0 * 3072, 8, 20, 0, 0, true },
    { "cross-entropy 256x50257", "CrossEntropy", cross_entropy, 256, 256.0 * 50257, 4, 12, 0, 0,
      true },
    { "cross-entropy 1024x50257", "CrossEntropy", cross_entropy, 1024, 1024.0 * 50257, 4, 12, 0, 0,
      false },
    { "LayerNorm 1024x768", "LayerNorm", layer_norm, 1024, 1024.0 * 768, 8, 20, 0, 0, true },
    { "softmax 4x12x256x256", "Softmax", softmax, 256, 48.0 * 256 * 256, 8, 20, 0, 0, true },
    { "embedding gradient 1024", "Embedding", embedding, 1024, 50257.0 * 768, 0, 4, 0, 0, true },
};

// ---- The race -----------------------------------------------------------------------------------

// Contenders: samba, then PyTorch in these modes.
enum { SAMBA, EAGER, COMPILED, DEBIAN, ALL };

static const torch_mode modes[ALL]
    = { [EAGER] = TORCH_EAGER, [COMPILED] = TORCH_COMPILE, [DEBIAN] = TORCH_DEBIAN };
static peer torch[ALL];

typedef struct runner {
    graph g;
    peer *process;
    int repeat;
} runner;

static double run_samba(void *context)
{
    const runner *r = (const runner *)context;
    double start = 0;
    for (int i = -1; i < r->repeat; i++) {
        if (i == 0) start = bench_seconds();
        samba_run(r->g.s, 0);
    }
    return (bench_seconds() - start) / r->repeat;
}

static double run_torch(void *context)
{
    const runner *r = (const runner *)context;
    char request[32];
    double t[2] = { 0 };
    snprintf(request, sizeof request, "run %d", r->repeat);
    return peer_ask(r->process, t, 2, request) == 2 ? t[1] : t[0]; // a part, if there is one
}

static double value(const graph *g)
{
    double sum = 0;
    for (int i = 0; i < g->n; i++) {
        const float *x = samba_read(g->out[i]);
        for (int64_t k = 0; k < samba_count(&g->out[i]->shape); k++)
            sum += fabs((double)x[k]);
    }
    return sum;
}

// One row; returns the bytes that samba's compiler planned.
static size_t row(const struct op *op, bool backward)
{
    runner r[ALL] = { { .g = { .backward = backward } } };
    contender c[ALL] = { { .name = "samba", .run = run_samba } };
    char request[64], what[64];
    graph *g = &r[SAMBA].g;
    samba_program p = { .inference = true };
    g->s = samba_open(&(samba_desc){ .threads = bench.threads });
    op->trace(g, op->n);
    for (int i = 0; i < g->n; i++)
        p.outputs[i] = g->out[i];
    samba_compile(g->s, &p);
    snprintf(what, sizeof what, "%s%s", op->name,
             backward ? op->bytes || op->flops ? ", both" : "" : ", forward");
    r[SAMBA].repeat = 1;
    run_samba(&r[SAMBA]);
    double mine = value(g), once = run_samba(&r[SAMBA]);
    for (int i = 0; i < ALL; i++) {
        r[i].repeat = once < 0.02 ? (int)(0.02 / once) + 1 : 1;
        c[i].context = &r[i];
        if (i == SAMBA) continue;
        r[i].process = &torch[i];
        c[i].name = torch_names[modes[i]];
        // torch.compile fuses what bandwidth limits
        if (!torch[i].to || (i == COMPILED && op->bytes <= 0)) continue;
        snprintf(request, sizeof request, "make ops.%s %d %d", op->torch, op->n, backward);
        if (peer_ask(&torch[i], NULL, 0, request) < 0) continue;
        c[i].run = run_torch;
        agree(what, c[i].name, mine, peer_number(&torch[i], "value"), 1e-4);
    }
    bool all = bench.threads > 1;
    double flops = backward ? op->flops_both : op->flops,
           bytes = op->elements * (backward ? op->bytes_both : op->bytes);
    double limit = race(c, ALL, flops > 0 ? CEILING_FMA : CEILING_MODIFY, all);
    if (flops > 0)
        report_rate(what, "GFLOP/s", c, ALL, flops * 1e-9, limit * 1e-9, bench.threads);
    else
        report_ms(what, c, ALL, bytes / limit, bench.threads);
    size_t planned = samba_device_bytes(g->s);
    if (!samba_ok(g->s)) bench.disagreements++;
    samba_close(g->s);
    for (int i = EAGER; i < ALL; i++)
        peer_ask(&torch[i], NULL, 0, "make nothing");
    return planned;
}

// ---- AdamW for the parameters of GPT-2 124M -----------------------------------------------------

typedef struct adam {
    samba_session *s;
} adam;

// The gradient is the parameter itself. Only the optimizer counts.
static double run_adam(void *context)
{
    samba_session *s = ((adam *)context)->s;
    samba_run(s, samba_section_types(s) & ~(unsigned)SAMBA_OPT);
    double start = bench_seconds();
    samba_run(s, SAMBA_OPT);
    return bench_seconds() - start;
}

static int parameter_shapes(samba_shape *shape)
{
    int n = 0;
    for (int i = 0; i < 12; i++) {
        shape[n++] = SAMBA_SHAPE(2304, 768);
        shape[n++] = SAMBA_SHAPE(768, 768);
        shape[n++] = SAMBA_SHAPE(3072, 768);
        shape[n++] = SAMBA_SHAPE(768, 3072);
        shape[n++] = SAMBA_SHAPE(2304);
        shape[n++] = SAMBA_SHAPE(3072);
        for (int k = 0; k < 6; k++)
            shape[n++] = SAMBA_SHAPE(768);
    }
    shape[n++] = SAMBA_SHAPE(50257, 768);
    shape[n++] = SAMBA_SHAPE(1024, 768);
    shape[n++] = SAMBA_SHAPE(768);
    shape[n++] = SAMBA_SHAPE(768);
    return n;
}

static void adamw(void)
{
    static samba_shape shape[160];
    adam a = { samba_open(&(samba_desc){ .threads = bench.threads }) };
    runner r[ALL];
    contender c[ALL] = { { .name = "samba", .run = run_adam, .context = &a } };
    samba_tensor *loss = NULL, *first = NULL;
    double count = 0, mine = 0;
    int n = parameter_shapes(shape);
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        samba_tensor *p = samba_param(a.s, name, shape[i],
                                      (samba_init){ .kind = SAMBA_INIT_UNIFORM, .scale = 1 });
        samba_tensor *sum = samba_sum(samba_mul(p, p), SAMBA_ALL_AXES, false);
        loss = loss ? samba_add(loss, sum) : sum;
        count += (double)samba_count(&shape[i]);
        if (i == 0) first = p;
    }
    samba_compile(a.s,
                  &(samba_program){
                      .loss = samba_scale(loss, 0.5f),
                      .optim = { .kind = SAMBA_ADAMW, .beta2 = 0.999f, .weight_decay = 0.01f } });
    float *start = numbers((size_t)samba_count(&shape[0]), 1, 1);
    samba_write(first, start);
    free(start);
    for (int i = EAGER; i < ALL; i++) {
        r[i] = (runner){ .process = &torch[i], .repeat = 1 };
        c[i] = (contender){ .name = torch_names[modes[i]], .context = &r[i] };
        if (i != COMPILED && torch[i].to && peer_ask(&torch[i], NULL, 0, "make ops.AdamW 0 0") >= 0)
            c[i].run = run_torch;
    }
    double limit = race(c, ALL, CEILING_ADAM, bench.threads > 1);
    const float *w = samba_read(first);
    for (int64_t i = 0; i < samba_count(&shape[0]); i++)
        mine += fabs((double)w[i]);
    for (int i = EAGER; i < ALL; i++)
        if (c[i].run) agree("AdamW", c[i].name, mine, peer_number(&torch[i], "value"), 1e-5);
    report_ms("AdamW, 124M parameters", c, ALL, 28 * count / limit, bench.threads);
    if (!samba_ok(a.s)) bench.disagreements++;
    samba_close(a.s);
}

int main(int argc, char **argv)
{
    bench_begin(argc, argv, "ops");
    for (int i = EAGER; i < (bench.small ? COMPILED : ALL); i++)
        torch_start(&torch[i], modes[i], bench.threads);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        char what[64];
        if ((bench.small && !ops[i].small) || !wanted(ops[i].name)) continue;
        if (ops[i].bytes > 0 || ops[i].flops > 0) row(&ops[i], false);
        double planned = (double)row(&ops[i], true);
        if (ops[i].trace != attention) continue;
        snprintf(what, sizeof what, "  memory of both, per row of T = %d", ops[i].n);
        report_one(what, "KiB", planned / 1024 / ops[i].n, 0, bench.threads);
    }
    if (!bench.small && wanted("AdamW")) adamw();
    for (int i = EAGER; i < ALL; i++)
        peer_stop(&torch[i]);
    return bench_end();
}
