// int8: training for it. What each op computes is tested in reference.c.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- Training: fake_quantize ----

enum { B = 16, F = 8, C = 3 };

typedef struct trained {
    samba_session *s;
    samba_tensor *x, *label, *logits, *loss;
} trained;

static trained trace_trained(void)
{
    trained m = { .s = samba_open(NULL) };
    m.x = samba_input(m.s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    m.label = samba_input(m.s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    samba_tensor *w = samba_param(m.s, "w", SAMBA_SHAPE(C, F), (samba_init){ SAMBA_INIT_UNIFORM, 0, 0.3f });
    samba_tensor *x = samba_fake_quantize(m.x, "image");
    m.logits = samba_affine(x, samba_fake_quantize_weight(w, 0), NULL);
    m.loss = samba_cross_entropy(m.logits, m.label);
    return m;
}

// Class c lights the elements i with i % C == c; brighter in later steps.
static void give_batch(trained *m, int step)
{
    float x[B * F];
    int32_t label[B];
    for (int b = 0; b < B; b++) {
        label[b] = (b + step) % C;
        for (int i = 0; i < F; i++) x[b * F + i] = i % C == label[b] ? 1 + 0.01f * (float)step : -0.1f;
    }
    CHECK(samba_write(m->x, x) && samba_write(m->label, label));
}

static void test_training(void)
{
    trained m = trace_trained();
    samba_program p = { .loss = m.loss, .outputs = { m.logits }, .optim = { .kind = SAMBA_SGD, .lr = 0.5f } };
    CHECK(samba_compile(m.s, &p));
    samba_tensor *range = samba_tensor_by_name(m.s, "image__range");
    float first = 0, last = 0;
    for (int step = 0; step < 100; step++) {
        give_batch(&m, step);
        CHECK(samba_run(m.s, 0));
        last = samba_read(m.loss)[0];
        if (step == 0) first = last;
        if (step == 0) CHECK(samba_read(range)[1] == 1 && samba_read(range)[0] == -0.1f);
    }
    CHECK(last < first / 4);
    CHECK(samba_read(range)[1] > 1.2f && samba_read(range)[1] < 2 && samba_read(range)[2] == 100);
    float before[3];                            // a test leaves it alone, and so does inference
    memcpy(before, samba_read(range), sizeof before);
    CHECK(samba_use_running_stats(m.s, true) && samba_run(m.s, SAMBA_FWD));
    CHECK(!memcmp(before, samba_read(range), sizeof before));
    CHECK(samba_compile(m.s, &(samba_program){ .inference = true, .outputs = { m.logits } }));
    give_batch(&m, 500);
    CHECK(samba_use_running_stats(m.s, false) && samba_run(m.s, SAMBA_FWD));
    CHECK(!memcmp(before, samba_read(range), sizeof before));
    CHECK(samba_close(m.s) == 0);
}

// The gradient passes within the range and stops outside; of weights all of it passes.
static void test_straight_through(void)
{
    samba_session *s = samba_open(NULL);
    float value[4] = { -3, -0.3f, 0.4f, 9 }, range[3] = { -1, 1, 1 };
    samba_tensor *x = samba_param(s, "x", SAMBA_SHAPE(4), (samba_init){ SAMBA_INIT_CONSTANT, 0, 0 });
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(1, 4), (samba_init){ SAMBA_INIT_CONSTANT, 1, 0 });
    samba_tensor *y = samba_fake_quantize(x, "x");
    samba_tensor *loss = samba_sum(samba_add(y, samba_fake_quantize_weight(w, 0)), SAMBA_ALL_AXES, false);
    CHECK(samba_write(x, value) && samba_write(w, value));
    CHECK(samba_write(samba_tensor_by_name(s, "x__range"), range));
    samba_use_running_stats(s, true);
    CHECK(samba_compile(s, &(samba_program){ .loss = loss, .optim = { .kind = SAMBA_SGD } }));
    CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
    const float dx[4] = { 0, 1, 1, 0 }, dw[4] = { 1, 1, 1, 1 };
    CHECK_CLOSE(samba_read(samba_sn_grad(x)), dx, 4, 0, 0);
    CHECK_CLOSE(samba_read(samba_sn_grad(w)), dw, 4, 0, 0);
    CHECK(samba_close(s) == 0);
}

static void test_refusals(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 32769));
    samba_tensor *q = samba_input(s, "q", SAMBA_I8, SAMBA_SHAPE(2, 32769));
    samba_tensor *w = samba_input(s, "w", SAMBA_I8, SAMBA_SHAPE(3, 32769));
    samba_tensor *table = samba_input(s, "table", SAMBA_I32, SAMBA_SHAPE(3, 3));
    samba_tensor *product[3] = { q, w, table }, *two[2] = { q, q };
    const int32_t grid[2] = { samba_float_attr(0), 0 }, far[2] = { samba_float_attr(1), 128 };
    const int32_t to[3] = { 0, -128, 127 }, upside_down[3] = { 0, 5, 4 };
    const int32_t sum[8] = { 0, 0, (1 << 21) + 1, 0, 1, 0, -128, 127 };
    CHECK(!samba_apply(s, "quantize", &x, 1, grid, 2) && said(s, "scale"));
    CHECK(!samba_apply(s, "quantize", &x, 1, far, 2) && said(s, "-128 ... 127"));
    CHECK(!samba_apply(s, "dequantize", &x, 1, grid, 2) && said(s, "must be i8"));
    CHECK(!samba_apply(s, "affine_int8", product, 3, to, 3) && said(s, "overflow an int32"));
    CHECK(!samba_apply(s, "affine_int8", product, 3, upside_down, 3) && said(s, "most is 4"));
    CHECK(!samba_apply(s, "add_int8", two, 2, sum, 8) && said(s, "a factor is 2097153"));
    CHECK(!samba_fake_quantize(q, "layer") && said(s, "must be f32"));
    CHECK(samba_close(s) == 0);
}

int main(void)
{
    RUN(test_training);
    RUN(test_straight_through);
    RUN(test_refusals);
    return test_summary();
}
