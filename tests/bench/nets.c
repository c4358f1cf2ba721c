// Small nets, training at batch 64: an MLP, ResFFNLogReg, LeNet-5, ResNet8.
//     cc -O2 -o bench_nets tests/bench/nets.c -lm -pthread -ldl && ./bench_nets [small]
#include "bench.h"
#include "nets.h"

enum { B = 64 };

static int steps; // of a turn: a training goes on and on, so a tenth of a second at least

// ---- The nets; torch_nets.py has the same -------------------------------------------------------

static samba_tensor *mlp(samba_tensor *x)
{
    x = samba_relu(samba_linear(samba_reshape(x, SAMBA_SHAPE(B, 784)), "fc1", 256));
    return samba_linear(samba_relu(samba_linear(x, "fc2", 128)), "fc3", 10);
}

static samba_tensor *res_ffn(samba_tensor *x)
{
    samba_tensor *h = samba_linear(samba_reshape(x, SAMBA_SHAPE(B, 784)), "gemm1", 512);
    samba_tensor *residual = h = samba_tanh(samba_layernorm(h, "norm1"));
    h = samba_layernorm(samba_linear(h, "gemm2", 512), "norm2");
    return samba_linear(samba_sigmoid(samba_add(h, residual)), "gemm3", 10);
}

// flops: of the products of a step and a sample, without the gradient of the image.
static const struct net {
    const char *name, *torch;
    samba_tensor *(*trace)(samba_tensor *x);
    int channels, side;
    float momentum;
    double flops;
} nets[] = {
    { "MLP 784-256-128-10", "MLP", mlp, 1, 28, 0, 4.0 * 784 * 256 + 6.0 * (256 * 128 + 128 * 10) },
    { "ResFFNLogReg 512", "ResFFN", res_ffn, 1, 28, 0.9f,
      4.0 * 784 * 512 + 6.0 * (512 * 512 + 512 * 10) },
    { "LeNet-5", "LeNet", lenet, 1, 28, 0,
      4.0 * 784 * 6 * 25 + 6.0 * (100 * 16 * 150 + 400 * 120 + 120 * 84 + 840) },
    { "ResNet8, 3x32x32", "ResNet8", resnet8, 3, 32, 0.9f,
      4.0 * 1024 * 27 * 16
          + 6.0
              * (1024 * 16 * 144 * 2 + 256 * 32 * (144 + 288 + 16) + 64 * 64 * (288 + 576 + 32)
                 + 640) },
};

// ---- The race -----------------------------------------------------------------------------------

static double run_samba(void *context)
{
    double start = bench_seconds();
    for (int i = 0; i < steps; i++)
        samba_run((samba_session *)context, 0);
    return (bench_seconds() - start) / steps;
}

static double run_torch(void *context)
{
    char request[16];
    snprintf(request, sizeof request, "run %d", steps);
    return peer_number((peer *)context, request);
}

// Weights by formula, the k-th parameter in alphabetical order from seed 100 + k: so PyTorch has
// them too.
static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void set_weights(samba_session *s)
{
    const char *names[128];
    int32_t n = samba_weight_names(s, names, 128);
    qsort(names, (size_t)n, sizeof *names, by_text);
    for (int32_t i = 0, k = 0; i < n; i++) {
        samba_tensor *t = samba_tensor_by_name(s, names[i]);
        if (strstr(names[i], "running") || strstr(names[i], "norm"))
            continue; // ones and zeros, as PyTorch's
        size_t count = (size_t)samba_count(&t->shape);
        double inputs = t->shape.ndim > 1 ? (double)count / t->shape.dim[0] : 100;
        float *x = numbers(count, 100 + (uint32_t)k++, 1 / sqrt(inputs));
        samba_write(t, x);
        free(x);
    }
}

static void race_net(const struct net *n)
{
    enum { SAMBA, EAGER, COMPILED, DEBIAN, ALL };

    static const torch_mode modes[ALL]
        = { [EAGER] = TORCH_EAGER, [COMPILED] = TORCH_COMPILE, [DEBIAN] = TORCH_DEBIAN };
    contender c[ALL] = { { .name = "samba" } };
    peer torch[ALL] = { { 0 } };
    char request[64];
    if (!wanted(n->name)) return;
    samba_session *s = samba_open(&(samba_desc){ .threads = bench.threads });
    size_t pixels = (size_t)n->channels * (size_t)n->side * (size_t)n->side;
    float *x = numbers(B * pixels, 1, 1);
    int32_t *y = choices(B, 2, 10);
    samba_tensor *image = samba_from_data_copy(s, "image", SAMBA_F32,
                                               SAMBA_SHAPE(B, n->channels, n->side, n->side), x);
    samba_tensor *label = samba_from_data_copy(s, "label", SAMBA_I32, SAMBA_SHAPE(B), y);
    samba_tensor *loss = samba_cross_entropy(n->trace(image), label);
    samba_compile(
        s,
        &(samba_program){ .loss = loss,
                          .optim = { .kind = SAMBA_SGD, .lr = 0.01f, .momentum = n->momentum } });
    set_weights(s);
    c[SAMBA].run = run_samba;
    c[SAMBA].context = s;
    snprintf(request, sizeof request, "make nets.Train %s", n->torch);
    for (int i = EAGER; i < ALL; i++) {
        c[i].name = torch_names[modes[i]];
        if ((i != EAGER && bench.small) || !torch_start(&torch[i], modes[i], bench.threads))
            continue;
        if (peer_ask(&torch[i], NULL, 0, request) < 0) continue;
        c[i].run = run_torch;
        c[i].context = &torch[i];
    }
    samba_run(s, 0); // the loss before the first update
    double first = (double)samba_read(loss)[0];
    for (int i = EAGER; i < ALL; i++)
        if (c[i].run) agree(n->name, c[i].name, first, peer_number(&torch[i], "value"), 1e-4);
    steps = 10;
    while (run_samba(s) * steps < 0.1)
        steps *= 2;
    double fma = race(c, ALL, CEILING_FMA, bench.threads > 1);
    for (int i = 0; i < ALL; i++)
        c[i].value = c[i].value > 0 ? B / c[i].value : 0;
    report(n->name, "samples/s", c, ALL, fma / n->flops, bench.threads);
    for (int i = EAGER; i < ALL; i++)
        peer_stop(&torch[i]);
    free(x);
    free(y);
    if (!samba_ok(s)) bench.disagreements++;
    samba_close(s);
}

int main(int argc, char **argv)
{
    bench_begin(argc, argv, "nets");
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        race_net(&nets[i]);
    return bench_end();
}
