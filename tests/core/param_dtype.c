// Parameters stored as bf16 or f16: the bits of f32 programs over the same, rounded, values; steps
// that round at random with the right mean; checkpoints that change the type.
//     cc -O2 -I. tests/core/param_dtype.c -lm -pthread -o param_dtype && ./param_dtype
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/optimizers.h"
#include "tests/lib/test.h"
#include <stdlib.h>

typedef struct model {
    samba_session *s;
    samba_tensor *ids, *loss, *y, *w[5];
    int n;
} model;

// Weights that are read as rows, transposed and not, by a batch of products, and by two ops at
// once.
static model traced(samba_dtype dtype, int32_t rows, int32_t n, int32_t k, const samba_desc *desc)
{
    model m = { .s = samba_open(desc) };
    const samba_init init = { SAMBA_INIT_NORMAL, 0.0f, 0.1f };
    samba_set_param_dtype(m.s, dtype);
    m.ids = samba_randint(m.s, "ids", n, SAMBA_SHAPE(3, rows));
    samba_tensor *h = samba_linear(samba_embedding(m.ids, "table", n, k), "layer", k);
    samba_tensor *square = samba_param(m.s, "square", SAMBA_SHAPE(k, k), init);
    h = samba_layernorm(samba_matmul(samba_tanh(h), square), "norm");
    m.y = samba_affine(h, samba_tensor_by_name(m.s, "table__weight"), NULL);
    samba_tensor *labels = samba_randint(m.s, "labels", n, SAMBA_SHAPE(3, rows));
    m.loss = samba_cross_entropy(m.y, labels);
    const char *const names[]
        = { "table__weight", "layer__weight", "square", "layer__bias", "norm__weight" };
    for (; m.n < 5; m.n++)
        m.w[m.n] = samba_tensor_by_name(m.s, names[m.n]);
    return m;
}

static float *floats_of(samba_tensor *t)
{
    int64_t n = samba_count(&t->shape);
    void *raw = malloc(samba_bytes(t));
    float *x = (float *)malloc((size_t)n * sizeof *x);
    CHECK(samba_copy_out(t, raw, samba_bytes(t)));
    samba__load(x, raw, t->dtype, n);
    free(raw);
    return x;
}

static void check_equal(samba_tensor *a, samba_tensor *b)
{
    float *x = floats_of(a), *y = floats_of(b);
    CHECK(samba__same_shape(&a->shape, &b->shape));
    CHECK(!memcmp(x, y, (size_t)samba_count(&a->shape) * sizeof *x));
    if (test_bad) printf("    %s differs\n", a->name);
    free(x);
    free(y);
}

static bool train_with(model *m, const samba_optim *optim)
{
    return samba_compile(m->s,
                         &(samba_program){ .loss = m->loss, .outputs = { m->y }, .optim = *optim });
}

static bool train(model *m, samba_optim_kind kind, float lr)
{
    const samba_optim optim = { .kind = kind, .lr = lr, .momentum = 0.9f, .weight_decay = 0.01f };
    return train_with(m, &optim);
}

// Outputs and gradients are those of a program whose f32 parameters hold what the halves hold.
static void test_same_bits(void)
{
    static const int32_t rows[] = { 1, 5, 40 }, n[] = { 33, 70, 200 }, k[] = { 16, 45, 300 };
    for (int dtype = SAMBA_BF16; dtype <= SAMBA_F16; dtype++)
        for (int i = 0; i < 9; i++)
            for (int variant = 0; variant < 3; variant++) { // AVX-512 or the like, AVX2, portable
                samba_desc desc = { .threads = 1 + variant, .portable = variant == 2 };
                model half
                    = traced((samba_dtype)dtype, rows[i % 3], n[i / 3], k[(i + i / 3) % 3], &desc);
                model full = traced(SAMBA_F32, rows[i % 3], n[i / 3], k[(i + i / 3) % 3], NULL);
                samba_tensor *dw[2][5];
                for (int w = 0; w < half.n; w++) {
                    dw[0][w] = samba_grad(half.loss, half.w[w]);
                    dw[1][w] = samba_grad(full.loss, full.w[w]);
                    CHECK(half.w[w]->dtype == (w < 3 ? (samba_dtype)dtype : SAMBA_F32));
                }
                samba_program p
                    = { .outputs = { half.y, dw[0][0], dw[0][1], dw[0][2] }, .inference = true };
                CHECK(samba_compile(half.s, &p));
                if (variant == 1 && half.s->program.rt && half.s->program.rt->isa)
                    half.s->program.rt->isa = 1;
                p.outputs[0] = full.y;
                for (int w = 0; w < 3; w++)
                    p.outputs[1 + w] = dw[1][w];
                CHECK(samba_compile(full.s, &p));
                for (int w = 0; w < 3; w++) {
                    float *x = floats_of(half.w[w]);
                    CHECK(samba_write(full.w[w], x));
                    free(x);
                }
                CHECK(samba_run(half.s, 0) && samba_run(full.s, 0));
                check_equal(half.y, full.y);
                for (int w = 0; w < 3; w++)
                    check_equal(dw[0][w], dw[1][w]);
                CHECK(samba_close(half.s) == 0 && samba_close(full.s) == 0);
                if (test_bad) {
                    printf("    type %d, case %d, variant %d\n", dtype, i, variant);
                    return;
                }
            }
}

// Parameters begin as f32 ones would, rounded to the nearest or cut.
static void test_begin(void)
{
    for (int cut = 0; cut < 2; cut++) {
        const samba_lazy_opts opts = { .rounding = cut ? "truncation" : "nearest_even" };
        samba_session *s[2] = { samba_open(NULL), samba_open(NULL) };
        samba_tensor *w[2];
        for (int i = 0; i < 2; i++) {
            CHECK(samba_enable_lazy_param(s[i], &opts));
            CHECK(samba_set_param_dtype(s[i], i ? SAMBA_BF16 : SAMBA_F32) == SAMBA_F32);
            w[i] = samba_param(s[i], "w", SAMBA_SHAPE(37, 21),
                               (samba_init){ SAMBA_INIT_UNIFORM, 0.5f, 2.0f });
        }
        float *x = floats_of(w[0]), *y = floats_of(w[1]);
        for (int i = 0; i < 37 * 21; i++)
            CHECK(y[i] == samba__from_bf16(cut ? samba__cut_bf16(x[i]) : samba__to_bf16(x[i])));
        CHECK(samba_set_param_dtype(s[1], SAMBA_F32) == SAMBA_BF16);
        CHECK(samba_bytes(w[1]) * 2 == samba_bytes(w[0]));
        free(x);
        free(y);
        CHECK(samba_close(s[0]) == 0 && samba_close(s[1]) == 0);
    }
}

// The same numbers are drawn whatever the threads, the instruction set, and how often it stops.
static void test_steps_repeat(void)
{
    for (int row = 0; row < SAMBA__N_OPTIMIZERS; row++) {
        samba_optim optim = optimizer_of_row(row);
        optim.lr = 0.01f;
        optim.weight_decay = 0.01f;
        if (optimizer_may_have_momentum(row)) optim.momentum = 0.9f;
        uint64_t first[5] = { 0 };
        for (int variant = 0; variant < 4; variant++) {
            model m = traced(SAMBA_BF16, 4, 50, 70,
                             &(samba_desc){ .threads = 1 + variant % 3, .portable = variant == 3 });
            CHECK(train_with(&m, &optim));
            if (variant == 1 && m.s->program.rt && m.s->program.rt->isa) m.s->program.rt->isa = 1;
            for (int step = 0; step < 12; step++) {
                CHECK(samba_run(m.s, 0));
                if (variant != 2 || step != 5) continue; // go on from a checkpoint
                CHECK(samba_save(m.s, "halves_test.ckpt") && samba_close(m.s) == 0);
                m = traced(SAMBA_BF16, 4, 50, 70, NULL);
                CHECK(train_with(&m, &optim) && samba_restore(m.s, "halves_test.ckpt"));
                remove("halves_test.ckpt");
            }
            for (int w = 0; w < m.n; w++) {
                size_t bytes = samba_bytes(m.w[w]);
                void *data = malloc(bytes);
                CHECK(samba_copy_out(m.w[w], data, bytes));
                uint64_t hash = samba__hash(data, bytes, 1);
                CHECK(variant == 0 || hash == first[w]);
                first[w] = hash;
                free(data);
            }
            CHECK(samba_close(m.s) == 0);
        }
    }
}

// All elements have the gradient 1, which moves them by a tenth, or a hundredth, of their last bit:
// to the nearest, no step would change anything. The mean moves as far as it should.
static void test_mean(void)
{
    enum { N = 96, K = 64, STEPS = 200 };

    for (int hundredth = 0; hundredth < 2; hundredth++) {
        double lr = (hundredth ? 1e-2 : 1e-1) / 128, mean = 0, spread = 0, sure;
        samba_session *s = samba_open(NULL);
        samba_set_param_dtype(s, SAMBA_BF16);
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(N, K),
                                      (samba_init){ SAMBA_INIT_CONSTANT, 1.5f, 0.0f });
        samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(1, K));
        samba_tensor *loss = samba_sum(samba_affine(x, w, NULL), SAMBA_ALL_AXES, false);
        CHECK(samba_compile(
            s, &(samba_program){ .loss = loss, .optim = { .kind = SAMBA_SGD, .lr = (float)lr } }));
        for (int i = 0; i < STEPS; i++)
            CHECK(samba_run(s, 0));
        float *now = floats_of(w);
        for (int i = 0; i < N * K; i++)
            mean += (double)now[i] / (N * K);
        for (int i = 0; i < N * K; i++)
            spread += ((double)now[i] - mean) * ((double)now[i] - mean) / (N * K);
        sure = 5 * sqrt(spread / (N * K)); // five standard deviations of the mean
        CHECK(spread > 0 && sure < 0.2 * lr * STEPS);
        CHECK(fabs(mean - (1.5 - lr * STEPS)) < sure);
        if (test_bad)
            printf("    mean %.6f, expected %.6f within %.6f\n", mean, 1.5 - lr * STEPS, sure);
        free(now);
        CHECK(samba_close(s) == 0);
    }
}

// What is no number stays so; the largest numbers become infinite rather than small.
static void test_odd_numbers(void)
{
    const float inf = samba__bits_float(0x7f800000u), nan = samba__bits_float(0x7fffffffu);
    for (uint32_t bits = 0; bits < 65536; bits += 4095) {
        float a = samba__from_bf16(samba__dither_bf16(nan, bits)),
              b = samba__from_bf16(samba__dither_bf16(-nan, bits));
        CHECK(a != a && b != b);
        CHECK(samba__from_bf16(samba__dither_bf16(inf, bits)) == inf);
        CHECK(samba__from_bf16(samba__dither_bf16(-inf, bits)) == -inf);
        CHECK(samba__from_bf16(samba__dither_bf16(-1.5f, bits)) == -1.5f);
        CHECK(samba__dither_bf16(-0.0f, bits) == 0x8000u);
        CHECK(fabsf(samba__from_bf16(samba__dither_bf16(3.4e38f, bits))) >= 3.38e38f);
    }
}

// What was trained in bf16 goes on in f32, exactly; and the other way round, rounded.
static void test_checkpoints(void)
{
    model half = traced(SAMBA_BF16, 4, 64, 64, NULL), full = traced(SAMBA_F32, 4, 64, 64, NULL);
    CHECK(train(&half, SAMBA_ADAMW, 0.01f) && train(&full, SAMBA_ADAMW, 0.01f));
    CHECK(samba_run(half.s, 0) && samba_save(half.s, "halves_test.ckpt")
          && samba_restore(full.s, "halves_test.ckpt"));
    for (int w = 0; w < half.n; w++)
        check_equal(half.w[w], full.w[w]);
    check_equal(samba_tensor_by_name(half.s, "square__exp_avg"),
                samba_tensor_by_name(full.s, "square__exp_avg"));
    CHECK(samba_run(full.s, 0) && samba_save(full.s, "halves_test.ckpt")
          && samba_restore(half.s, "halves_test.ckpt"));
    float *x = floats_of(full.w[2]), *y = floats_of(half.w[2]);
    for (int i = 0; i < 64 * 64; i++)
        CHECK(y[i] == samba__from_bf16(samba__to_bf16(x[i])));
    free(x);
    free(y);
    remove("halves_test.ckpt");
    CHECK(samba_close(half.s) == 0 && samba_close(full.s) == 0);
}

static void refused(model *m, bool done, samba_code code, const char *part)
{
    CHECK(!done && samba_error_code(m->s) == code);
    CHECK(strstr(samba_error(m->s), part) != NULL);
    samba_clear_error(m->s);
}

// Any type is written and copied out as f32.
static void test_as_f32(void)
{
    for (int dtype = 0; dtype < SAMBA_N_DTYPES; dtype++) {
        const float given[6] = { 1, 0, 100, 3, 7, 2 };
        float got[6] = { 0 };
        samba_session *s = samba_open(NULL);
        samba_tensor *t = samba_zeros(s, "t", (samba_dtype)dtype, SAMBA_SHAPE(2, 3));
        CHECK(samba_write_f32(t, given, 6) && samba_copy_out_f32(t, got, 6));
        for (int i = 0; i < 6; i++)
            CHECK(got[i] == (dtype == SAMBA_BOOL ? given[i] != 0 : given[i]));
        model m = { .s = s };
        refused(&m, samba_write_f32(t, given, 5), SAMBA_EARG, "6 elements; 5");
        refused(&m, samba_copy_out_f32(t, got, 7), SAMBA_EARG, "6 elements; 7");
        refused(&m, samba_write_f32(t, NULL, 6), SAMBA_EARG, "6 elements");
        CHECK(!samba_write_f32(NULL, given, 6) && !samba_copy_out_f32(NULL, got, 6));
        CHECK(samba_close(s) == 0);
    }
}

static void test_refused(void)
{
    model m = traced(SAMBA_F16, 4, 64, 64, NULL);
    refused(&m, train(&m, SAMBA_ADAMW, 0.01f), SAMBA_EDTYPE, "cannot be trained");
    refused(&m, train(&m, SAMBA_SGD, 0.01f), SAMBA_EDTYPE, "cannot be trained");
    samba_set_param_dtype(m.s, SAMBA_I32);
    refused(&m, samba_ok(m.s), SAMBA_EDTYPE, "samba_set_param_dtype");
    samba_set_param_dtype(m.s, (samba_dtype)99);
    refused(&m, samba_ok(m.s), SAMBA_EDTYPE, "samba_set_param_dtype");
    samba_tensor *x = samba_zeros(m.s, "x", SAMBA_F16, SAMBA_SHAPE(4, 64));
    refused(&m, samba_affine(x, m.w[2], NULL) != NULL, SAMBA_EDTYPE, "samba_cast");
    refused(&m, samba_matmul(x, m.w[2]) != NULL, SAMBA_EDTYPE, "samba_cast");
    CHECK(samba_set_param_dtype(NULL, SAMBA_BF16) == SAMBA_F32);
    CHECK(samba_close(m.s) == 0);
}

int main(void)
{
    RUN(test_same_bits);
    RUN(test_begin);
    RUN(test_steps_repeat);
    RUN(test_mean);
    RUN(test_odd_numbers);
    RUN(test_checkpoints);
    RUN(test_as_f32);
    RUN(test_refused);
    return test_summary();
}
