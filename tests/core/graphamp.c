// GraphAMP: bf16 between ops, f32 parameters. A small GPT learns a text as well as in f32, and what
// waits for the backward pass takes less memory.
// run: threads
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { B = 8, T = 32, C = 64, H = 4, LAYERS = 2, VOCAB = 128 };

typedef struct gpt {
    samba_session *s;
    samba_tensor *ids, *labels, *loss, *up;
} gpt;

static samba_tensor *heads(samba_tensor *x)
{
    return samba_permute(samba_reshape(x, SAMBA_SHAPE(B, T, H, C / H)), SAMBA_AXES(0, 2, 1, 3));
}

static const char *of(char *name, int layer, const char *part)
{
    snprintf(name, 32, "h%d__%s", layer, part);
    return name;
}

static samba_tensor *block(samba_tensor *x, int i, samba_tensor **up)
{
    char n[32];
    samba_attention_opts causal = { .causal = true };
    samba_tensor *h = samba_layernorm(x, of(n, i, "ln1"));
    samba_tensor *q = heads(samba_linear(h, of(n, i, "q"), C)),
                 *k = heads(samba_linear(h, of(n, i, "k"), C));
    samba_tensor *v = heads(samba_linear(h, of(n, i, "v"), C));
    samba_tensor *a = samba_scaled_dot_product_attention(q, k, v, NULL, &causal);
    a = samba_reshape(samba_permute(a, SAMBA_AXES(0, 2, 1, 3)), SAMBA_SHAPE(B, T, C));
    x = samba_add(x, samba_linear(a, of(n, i, "out"), C));
    h = samba_layernorm(x, of(n, i, "ln2"));
    *up = samba_gelu(samba_linear(h, of(n, i, "up"), 4 * C));
    return samba_add(x, samba_linear(*up, of(n, i, "down"), C));
}

static gpt opened(samba_graphamp preset, int threads)
{
    gpt g = { samba_open(&(samba_desc){ .threads = threads, .graphamp = preset }), NULL, NULL, NULL,
              NULL };
    g.ids = samba_input(g.s, "ids", SAMBA_I32, SAMBA_SHAPE(B, T));
    g.labels = samba_input(g.s, "labels", SAMBA_I32, SAMBA_SHAPE(B, T));
    samba_tensor *x = samba_embedding(g.ids, "wte", VOCAB, C);
    for (int i = 0; i < LAYERS; i++)
        x = block(x, i, &g.up);
    g.loss = samba_cross_entropy(samba_linear(samba_layernorm(x, "ln"), "head", VOCAB), g.labels);
    samba_program p = { .loss = g.loss, .outputs = { g.up } };
    p.optim = (samba_optim){ .kind = SAMBA_ADAMW, .lr = 1e-3f };
    CHECK(samba_compile(g.s, &p));
    return g;
}

// Step number `step` on the text; returns its loss.
static double trained_on(gpt *g, const unsigned char *text, size_t size, uint32_t step)
{
    int32_t ids[B * T], labels[B * T];
    for (uint32_t b = 0; b < B; b++) {
        size_t at = (step * B + b) * 2654435761u % (size - T - 1);
        for (uint32_t t = 0; t < T; t++) {
            ids[b * T + t] = text[at + t] % VOCAB;
            labels[b * T + t] = text[at + t + 1] % VOCAB;
        }
    }
    CHECK(samba_write(g->ids, ids) && samba_write(g->labels, labels) && samba_run(g->s, 0));
    return (double)samba_read(g->loss)[0];
}

// Under sanitizers each step takes 30 times as long, and reads and writes the same memory.
enum { STEPS = TEST_SANITIZED ? 24 : 300, LAST = STEPS / 6 };

static void test_same_loss(void)
{
    static unsigned char text[1 << 17];
    size_t size = read_into("tests/sambaflow/ROWS.md", text, sizeof text);
    CHECK(size > 0);
    if (size == 0) return;
    const samba_graphamp presets[3] = { SAMBA_MP0, SAMBA_MP1, SAMBA_MP4 };
    double last[3];
    uint64_t arena[3];
    for (int i = 0; i < 3; i++) {
        gpt g = opened(presets[i], 0);
        double sum = 0;
        for (uint32_t step = 0; step < STEPS; step++) {
            double loss = trained_on(&g, text, size, step);
            if (step >= STEPS - LAST) sum += loss / LAST;
        }
        last[i] = sum;
        arena[i] = g.s->program.rt->pef.region[SAMBA__REGION_ARENA];
        printf("mp%d: loss %.4f, %lu bytes between ops\n", (int)presets[i], last[i],
               (unsigned long)arena[i]);
        CHECK(samba_close(g.s) == 0);
    }
    CHECK(last[0] < 3.0 || TEST_SANITIZED); // it has learned
    for (int i = 1; i < 3; i++)
        CHECK(fabs(last[i] - last[0]) < 0.01 * last[0] && last[i] != last[0]);
    CHECK(arena[1] < arena[0] && (double)arena[2] < 0.75 * (double)arena[0]);
}

static bool is_bf16(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], 4);
        if (bits & 0xffff) return false;
    }
    return true;
}

// What is rounded, and what is not: a scope may be left out, parameters stay f32.
static void test_scope(void)
{
    samba_session *s = samba_open(NULL);
    CHECK(samba_set_graphamp(s, SAMBA_MP4) == SAMBA_MP0);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(16, 16));
    samba_tensor *in = samba_tanh(samba_linear(x, "fc1", 16));
    CHECK(samba_set_graphamp(s, SAMBA_MP0) == SAMBA_MP4);
    samba_tensor *out = samba_tanh(samba_linear(in, "fc2", 16));
    samba_tensor *loss = samba_mean(samba_mul(out, out), SAMBA_ALL_AXES, false);
    samba_program p = { .loss = loss, .outputs = { in, out } };
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.1f };
    CHECK(samba_compile(s, &p) && samba_run(s, 0));
    CHECK(is_bf16(samba_read(in), 256) && !is_bf16(samba_read(out), 256));
    CHECK(!is_bf16(samba_read(samba_tensor_by_name(s, "fc1__weight")), 256));
    samba_set_graphamp(s, (samba_graphamp)2);
    CHECK(samba_error_code(s) == SAMBA_EARG);
    samba_clear_error(s);
    CHECK(samba_close(s) == 0);
}

// A layer's name is that of its product, not of the cast in front of it.
static void test_names_of_layers(void)
{
    samba_session *s = samba_open(&(samba_desc){ .graphamp = SAMBA_MP1 });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3, 8, 8));
    samba_tensor *h = samba_conv2d(samba_tanh(x), "conv", 4, 3, NULL);
    CHECK(h && !strcmp(h->name, "conv"));
    h = samba_linear(samba_flatten(h, 1), "fc", 5);
    CHECK(h && !strcmp(h->name, "fc") && h->dtype == SAMBA_F32);
    CHECK(samba_close(s) == 0);
}

// A gradient with respect to what GraphAMP has rounded, of which products read the bf16 itself: all
// that reads the value counts, products and others. Numbers here are exact in bf16.
static void test_gradient_of_rounded(void)
{
    enum { N = 4 };

    const samba_graphamp presets[3] = { SAMBA_MP0, SAMBA_MP1, SAMBA_MP4 };
    for (int i = 0; i < 3; i++) {
        float in[N], weight[N * N];
        for (int k = 0; k < N * N; k++)
            weight[k] = (float)(k - 5);
        for (int k = 0; k < N; k++)
            in[k] = 0.5f * (float)(k + 1);

        samba_session *s = samba_open(&(samba_desc){ .graphamp = presets[i] });
        samba_tensor *given = samba_from_data_copy(s, "in", SAMBA_F32, SAMBA_SHAPE(1, N), in);
        samba_tensor *w = samba_from_data_copy(s, "w", SAMBA_F32, SAMBA_SHAPE(N, N), weight);
        samba_tensor *x = samba_relu(given);
        samba_tensor *product = samba_sum(samba_matmul(x, w), SAMBA_ALL_AXES, false);
        samba_tensor *square = samba_sum(samba_mul(x, x), SAMBA_ALL_AXES, false);
        samba_tensor *dx_product = samba_grad(product, x);
        samba_tensor *dx_square = samba_grad(square, x);
        samba_tensor *dx_both = samba_grad(samba_add(product, square), x);

        // Two casts of the user's: what reads the bf16 does not read what was made of it.
        samba_tensor *half = samba_cast(x, SAMBA_BF16), *whole = samba_cast(half, SAMBA_F32);
        samba_tensor *apart = samba_sum(samba_matmul(whole, w), SAMBA_ALL_AXES, false);
        samba_tensor *dx_apart = samba_grad(samba_add(apart, product), whole);

        // The rule of tanh reads what tanh gave before it was rounded: t' = 1 - t^2, so dt'/dt = -2
        // t.
        samba_tensor *t = samba_tanh(given);
        samba_tensor *slope = samba_grad(samba_sum(t, SAMBA_ALL_AXES, false), given);
        samba_tensor *of_slope = samba_grad(samba_sum(slope, SAMBA_ALL_AXES, false), t);
        samba_program p = { .outputs = { dx_product, dx_square, dx_both, dx_apart, of_slope },
                            .inference = true };
        CHECK(samba_compile(s, &p) && samba_run(s, SAMBA_FWD));

        for (int k = 0; k < N && samba_ok(s); k++) {
            float row = 0;
            for (int j = 0; j < N; j++)
                row += weight[k * N + j];
            CHECK(samba_read(dx_product)[k] == row);
            CHECK(samba_read(dx_square)[k] == 2 * in[k]);
            CHECK(samba_read(dx_both)[k] == row + 2 * in[k]);
            CHECK(samba_read(dx_apart)[k] == row);
            CHECK(fabs((double)samba_read(of_slope)[k] + 2 * tanh((double)in[k])) < 1e-2);
        }
        CHECK(samba_close(s) == 0);
    }
}

// Steps under a preset, with 1 to 4 threads: each has the bits of the first.
static void check_same_bits(samba_graphamp preset)
{
    static const unsigned char text[]
        = "the same text again and again, for as long as it takes to learn it";
    double want[3];
    for (int threads = 1; threads <= 4; threads++) {
        gpt g = opened(preset, threads);
        for (uint32_t step = 0; step < 3; step++) {
            double loss = trained_on(&g, text, sizeof text, step);
            if (threads == 1) want[step] = loss;
            CHECK(loss == want[step]);
        }
        CHECK(samba_close(g.s) == 0);
    }
}

static void test_same_bits(void)
{
    check_same_bits(SAMBA_MP1);
    check_same_bits(SAMBA_MP4);
}

int main(void)
{
    RUN(test_same_loss);
    RUN(test_scope);
    RUN(test_names_of_layers);
    RUN(test_gradient_of_rounded);
    RUN(test_same_bits);
    return test_summary();
}
