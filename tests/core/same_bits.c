// The same bits from every compiler, instruction set and number of threads.
//     cc -O2 -I. tests/core/same_bits.c -lm -pthread -o same_bits && ./same_bits
// Trains four small nets for 100 steps, in f32 and for fewer steps under presets of GraphAMP, and
// prints a hash of all losses and weights of each; without options for 1 ... 8 threads, with and
// without SIMD, which must agree. C99 and C++11.
//     ./same_bits --quick                                 fewer of them
//     ./same_bits --threads N [--portable] [--verbose]    one of them; verbose: step by step
// tests/core/same_bits.sh compares the hashes of many compilers.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/recipe.h"
#include "tests/lib/test.h"
#include <stdlib.h>

enum { STEPS = 100, STEPS_IN_BF16 = 30 };

typedef enum net_kind { RES_FFN, CONV, TRANSFORMER, MIXED, N_NETS } net_kind;

typedef struct training {
    const char *name;
    net_kind net;
    samba_graphamp preset;
} training;

static const training trainings[] = {
    { "resffn", RES_FFN, SAMBA_MP0 },
    { "conv", CONV, SAMBA_MP0 },
    { "transformer", TRANSFORMER, SAMBA_MP0 },
    { "mixed", MIXED, SAMBA_MP0 },
    { "resffn_mp1", RES_FFN, SAMBA_MP1 },
    { "resffn_mp4", RES_FFN, SAMBA_MP4 },
    { "conv_mp1", CONV, SAMBA_MP1 },
    { "conv_mp4", CONV, SAMBA_MP4 },
    { "transformer_mp1", TRANSFORMER, SAMBA_MP1 },
    { "transformer_mp4", TRANSFORMER, SAMBA_MP4 },
    { "mixed_mp1", MIXED, SAMBA_MP1 },
    { "mixed_mp4", MIXED, SAMBA_MP4 },
};

enum { N_TRAININGS = sizeof trainings / sizeof *trainings };

typedef struct config {
    int32_t threads, isa;
    bool verbose;
} config;

static samba_optim optimizer(samba_optim_kind kind, float lr)
{
    samba_optim o;
    memset(&o, 0, sizeof o);
    o.kind = kind;
    o.lr = lr;
    o.weight_decay = 0.2866f; // with lr 0.01, 1 - lr weight_decay depends on fusion
    if (kind == SAMBA_SGD) o.momentum = 0.9f;
    return o;
}

// ---- The fourth net: what the others leave out, weights drawn by the library --------------------

// x (B,4,S,S) -> (B,8,4,4)
static samba_tensor *mixed_convolutions(samba_tensor *x)
{
    samba_conv_opts grouped, along;
    samba_pool_opts by_2;
    memset(&grouped, 0, sizeof grouped);
    memset(&along, 0, sizeof along);
    memset(&by_2, 0, sizeof by_2);
    grouped.stride[0] = grouped.stride[1] = 2;
    grouped.padding[0] = grouped.padding[1] = 1;
    grouped.groups = 2;
    along.padding[0] = 2;
    along.dilation[0] = 2;
    by_2.kernel[0] = by_2.kernel[1] = 2;
    by_2.stride[0] = by_2.stride[1] = 1;
    samba_tensor *h = samba_silu(samba_conv2d(x, "conv1", 8, 3, &grouped));
    if (!h) return NULL;
    samba_shape shape = h->shape;
    h = samba_reshape(h, SAMBA_SHAPE(shape.dim[0], 8, shape.dim[2] * shape.dim[3]));
    h = samba_gelu_tanh(samba_conv1d(h, "conv2", 8, 3, &along));
    h = samba_avg_pool2d(samba_reshape(h, shape), &by_2);
    return samba_adaptive_avg_pool2d(h, 4, 4);
}

// h (B,n), elementwise, staying of size one
static samba_tensor *mixed_elementwise(samba_tensor *h)
{
    if (!h) return NULL;
    samba_session *s = h->session;
    samba_tensor *a = samba_softplus(h), *b = samba_shift(samba_abs(h), 0.5f);
    samba_tensor *c = samba_pow(samba_shift(a, 0.1f), samba_number(s, 0.7f));
    samba_tensor *d = samba_mul(samba_log(b), samba_rsqrt(b));
    samba_tensor *e = samba_where(samba_gt(a, b), samba_exp(samba_neg(b)), samba_sqrt(b));
    c = samba_maximum(samba_add(c, d), samba_sub(e, samba_leaky_relu(h, 0.1f)));
    return samba_minimum(c, samba_div(samba_scale(e, 3.0f), b));
}

// h (B,n) -> (B,2 n): attention of the 8 columns of each row among themselves, by hand
static samba_tensor *mixed_reductions(samba_tensor *h)
{
    if (!h) return NULL;
    int32_t batch = h->shape.dim[0], n = h->shape.dim[1];
    samba_tensor *m = samba_reshape(h, SAMBA_SHAPE(batch, n / 8, 8));
    samba_tensor *score = samba_softmax(samba_matmul(samba_transpose(m, 1, 2), m), 1);
    samba_tensor *y = samba_matmul(m, score), *parts[3];
    y = samba_mul(y, samba_max(m, SAMBA_AXES(1), true));
    y = samba_sub(y, samba_mean(m, SAMBA_AXES(1, 2), true));
    parts[0] = samba_slice(y, 2, 0, 8, 2);
    parts[1] = samba_slice(y, 2, 1, 8, 2);
    parts[2] = m;
    return samba_reshape(samba_cat(parts, 3, 2), SAMBA_SHAPE(batch, 2 * n));
}

static recipe_net mixed_trace(samba_session *s, int32_t batch, int32_t side)
{
    recipe_net net;
    net.x = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(batch, 4, side, side));
    net.target = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(batch));
    samba_tensor *h = samba_permute(mixed_convolutions(net.x), SAMBA_SHAPE(0, 2, 3, 1));
    h = samba_dropout(samba_flatten(samba_rmsnorm(h, "norm"), 1), "drop", 0.2f);
    samba_set_param_dtype(s, SAMBA_BF16); // its steps round at random
    h = samba_linear_no_bias(h, "fc1", 64);
    samba_set_param_dtype(s, SAMBA_F32);
    h = mixed_reductions(mixed_elementwise(h));
    samba_tensor *logp = samba_log_softmax(samba_linear(h, "fc2", RECIPE_CLASSES), 1);
    net.logits = logp;
    net.loss = samba_nll(logp, net.target, NULL);
    samba_tensor *small = samba_sum(samba_mul(h, h), SAMBA_ALL_AXES, false);
    net.loss = samba_add(net.loss, samba_scale(small, 1e-6f));
    return net;
}

// ---- Hashes -------------------------------------------------------------------------------------

// Goes on with a hash of n values of `size` bytes, taken as little-endian whatever the machine is.
static uint64_t hash_values(uint64_t hash, const void *values, size_t bytes, size_t size)
{
    const uint8_t *from = (const uint8_t *)values;
    for (size_t i = 0; i < bytes; i += size) {
        uint8_t value[8];
        samba__copy_data(value, from + i, size, size);
        hash = recipe_hash(hash, value, size);
    }
    return hash;
}

static uint64_t hash_named(samba_session *s, const char *name, uint64_t hash, bool verbose)
{
    samba_tensor *t = samba_tensor_by_name(s, name);
    size_t bytes = samba_bytes(t);
    void *values = malloc(bytes + 1);
    if (!values || !samba_copy_out(t, values, bytes)) {
        free(values);
        return 0;
    }
    size_t size = samba_dtype_size(t->dtype);
    if (verbose)
        printf("  %s %016llx\n", name,
               (unsigned long long)hash_values(recipe_hash_start, values, bytes, size));
    hash = hash_values(hash, values, bytes, size);
    free(values);
    return hash;
}

// All weights, and the running statistics of batch norm; verbose: gradients are printed, too.
static uint64_t hash_state(samba_session *s, uint64_t hash, bool verbose)
{
    const char *names[64];
    char name[128];
    int32_t n = samba_weight_names(s, names, 64);
    for (int32_t i = 0; i < n && i < 64; i++) {
        hash = hash_named(s, names[i], hash, verbose);
        if (verbose) {
            snprintf(name, sizeof name, "%s__grad", names[i]);
            hash_named(s, name, hash, true);
        }
        const char *at = strstr(names[i], "__weight");
        if (!at || strncmp(names[i], "bn", 2)) continue;
        snprintf(name, sizeof name, "%.*s__running_mean", (int)(at - names[i]), names[i]);
        hash = hash_named(s, name, hash, verbose);
        snprintf(name, sizeof name, "%.*s__running_var", (int)(at - names[i]), names[i]);
        hash = hash_named(s, name, hash, verbose);
    }
    return hash;
}

// The hash of a training; 0 after an error, which is printed.
static uint64_t train(const training *t, const config *c)
{
    const recipe_model models[N_NETS] = {
        recipe_res_ffn(16, 260, 64), recipe_conv_net(4, 16, 4), recipe_transformer(2, 7, 40, 30),
        recipe_conv_net(8, 24, 4), // of MIXED, only sizes are used
    };
    const recipe_model *m = &models[t->net];
    const bool mixed = t->net == MIXED;
    const uint32_t steps = t->preset ? STEPS_IN_BF16 : STEPS;
    static const samba_optim_kind optimizers[N_NETS]
        = { SAMBA_SGD, SAMBA_SGD, SAMBA_ADAMW, SAMBA_ADAM };
    samba_desc desc;
    samba_program program;
    memset(&desc, 0, sizeof desc);
    memset(&program, 0, sizeof program);
    desc.threads = c->threads;
    desc.portable = c->isa == SAMBA__ISA_PORTABLE;
    desc.graphamp = t->preset;
    samba_session *s = samba_open(&desc);
    // The 24 x 24 pixels of an image are 4 channels of 12 x 12.
    recipe_net net = mixed ? mixed_trace(s, m->batch / 2, 12) : recipe_trace(s, m, m->batch);
    if (!mixed) recipe_set_weights(s, m);
    program.loss = net.loss;
    program.optim = optimizer(optimizers[t->net], 0.01f);
    if (t->net >= TRANSFORMER) program.optim.max_grad_norm = 0.5f;
    if (mixed) program.microbatches = 2;
    if (samba_compile(s, &program) && s->program.rt->isa > c->isa) s->program.rt->isa = c->isa;
    uint64_t hash = recipe_hash_start;
    for (uint32_t step = 0; step < steps && samba_ok(s); step++) {
        recipe_feed(&net, m, step);
        samba_run(s, 0);
        float loss = samba_read(net.loss)[0];
        hash = hash_values(hash, &loss, sizeof loss, sizeof loss);
        if (!c->verbose) continue;
        printf("%s step %u loss %.9g\n", t->name, (unsigned)step, (double)loss);
        hash_state(s, hash, true);
    }
    hash = hash_state(s, hash, false);
    return samba_close(s) ? 0 : hash;
}

// One configuration. Prints "name hash" for each training.
static int print_hashes(const config *c)
{
    int failed = 0;
    for (int k = 0; k < N_TRAININGS; k++) {
        uint64_t hash = train(&trainings[k], c);
        printf("%s %016llx\n", trainings[k].name, (unsigned long long)hash);
        failed = failed || hash == 0;
    }
    return failed;
}

// All configurations: each must agree with the first.
static void compare_configurations(bool quick)
{
    static const int32_t threads[] = { 1, 2, 3, 4, 7, 8 };
    static const int32_t sets[] = { SAMBA__N_SETS - 1, SAMBA__N_SETS > 1, SAMBA__ISA_PORTABLE };
    for (int k = 0; k < N_TRAININGS; k++) {
        const training *t = &trainings[k];
        uint64_t first = 0;
        test_bad = 0;
        for (int i = 0; i < 18; i++) {
            config c = { threads[i / 3], sets[i % 3], false };
            if (quick && i % 5 != 0) continue; // 1, 2 portable, 4 AVX2 or the like, 8 threads
            uint64_t hash = train(t, &c);
            if (i == 0) first = hash;
            CHECK(hash != 0);
            if (hash == first && hash != 0) continue;
            test_bad++;
            if (test_bad == 1)
                printf("%s: %016llx with %d threads, at most instruction set %d, %016llx with 1\n",
                       t->name, (unsigned long long)hash, (int)c.threads, (int)c.isa,
                       (unsigned long long)first);
        }
        printf("%s %016llx\n", t->name, (unsigned long long)first);
        test_end(t->name);
    }
}

int main(int argc, char **argv)
{
    config c = { 0, SAMBA__N_SETS - 1, false };
    bool quick = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--threads") && i + 1 < argc)
            c.threads = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--quick"))
            quick = true;
        else if (!strcmp(argv[i], "--portable"))
            c.isa = SAMBA__ISA_PORTABLE;
        else if (!strcmp(argv[i], "--verbose"))
            c.verbose = true;
        else {
            fprintf(stderr, "usage: same_bits [--quick | --threads N [--portable] [--verbose]]\n");
            return 2;
        }
    }
    if (c.threads > 0) return print_hashes(&c);
    compare_configurations(quick);
    return test_summary();
}
