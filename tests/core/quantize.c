// int8: training for it, calibration, programs. What each op computes is tested in reference.c.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdlib.h>
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
    samba_tensor *w
        = samba_param(m.s, "w", SAMBA_SHAPE(C, F), (samba_init){ SAMBA_INIT_UNIFORM, 0, 0.3f });
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
        for (int i = 0; i < F; i++)
            x[b * F + i] = i % C == label[b] ? 1 + 0.01f * (float)step : -0.1f;
    }
    CHECK(samba_write(m->x, x) && samba_write(m->label, label));
}

static void test_training(void)
{
    trained m = trace_trained();
    samba_program p
        = { .loss = m.loss, .outputs = { m.logits }, .optim = { .kind = SAMBA_SGD, .lr = 0.5f } };
    CHECK(samba_compile(m.s, &p));
    samba_tensor *range = samba_tensor_by_name(m.s, "image__range");
    float first = 0, last = 0, most = 1;
    for (int step = 0; step < 100; step++) {
        give_batch(&m, step);
        CHECK(samba_run(m.s, 0));
        most += 0.01f * (1 + 0.01f * (float)step - most);
        CHECK(fabsf(samba_read(range)[1] - most) < 1e-4f);
        last = samba_read(m.loss)[0];
        if (step == 0) first = last;
        if (step == 0) CHECK(samba_read(range)[1] == 1 && samba_read(range)[0] == -0.1f);
    }
    CHECK(last < first / 4);
    CHECK(samba_read(range)[1] > 1.2f && samba_read(range)[2] == 100);
    float before[3]; // a test leaves it alone, and so does inference
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
    samba_tensor *x
        = samba_param(s, "x", SAMBA_SHAPE(4), (samba_init){ SAMBA_INIT_CONSTANT, 0, 0 });
    samba_tensor *w
        = samba_param(s, "w", SAMBA_SHAPE(1, 4), (samba_init){ SAMBA_INIT_CONSTANT, 1, 0 });
    samba_tensor *y = samba_fake_quantize(x, "x");
    samba_tensor *loss
        = samba_sum(samba_add(y, samba_fake_quantize_weight(w, 0)), SAMBA_ALL_AXES, false);
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

// ---- Calibration and compilation ----

// A net with all that int8 knows: a residual sum whose input is also an output, a padded and a
// grouped convolution with batch_norm, relu apart, cat of two grids, both poolings, a layer and a
// matmul that read the same tensor.
enum { N = 3, SIDE = 8, CLASSES = 5, MOST_Y = N * 6 * SIDE * SIDE };

typedef struct net {
    samba_session *s;
    samba_tensor *x, *y[4];
} net;

static net trace_net(bool portable, int32_t threads)
{
    net m = { .s = samba_open(&(samba_desc){ .portable = portable, .threads = threads }) };
    m.x = samba_input(m.s, "x", SAMBA_F32, SAMBA_SHAPE(N, 2, SIDE, SIDE));
    samba_tensor *h = samba_conv2d(m.x, "conv1", 6, 3, &(samba_conv_opts){ .padding = { 1, 1 } });
    h = samba_relu(samba_batchnorm(h, "norm"));
    m.y[0] = h;
    samba_tensor *g
        = samba_conv2d(h, "conv2", 6, 3, &(samba_conv_opts){ .padding = { 1, 1 }, .groups = 6 });
    h = samba_relu(samba_add(g, h));
    samba_tensor *parts[2] = { h, g };
    h = samba_relu(samba_cat(parts, 2, 1));
    h = samba_max_pool2d(samba_pad(h, SAMBA_SHAPE(0, 0, 1, 0), SAMBA_SHAPE(0, 0, 0, 1), 0),
                         &(samba_pool_opts){ .kernel = { 3, 3 }, .stride = { 2, 2 } });
    h = samba_flatten(samba_adaptive_avg_pool2d(h, 2, 2), 1);
    m.y[1] = samba_softmax(samba_linear(h, "fc", CLASSES), -1);
    samba_tensor *w = samba_param(m.s, "w", SAMBA_SHAPE(48, CLASSES),
                                  (samba_init){ SAMBA_INIT_UNIFORM, 0, 0.2f });
    m.y[2] = samba_matmul(h, w);
    return m;
}

static void give_images(net *m, int batch)
{
    float x[N * 2 * SIDE * SIDE];
    uint32_t word[4];
    for (int i = 0; i < N * 2 * SIDE * SIDE; i++) {
        samba_random(7, "images", (uint64_t)(batch * 10000 + i), word);
        x[i] = (float)(word[0] >> 8) / (1 << 23) - 0.9f;
    }
    CHECK(samba_write(m->x, x));
}

static samba_program program_of(const net *m, samba_quantize quantize)
{
    return (samba_program){ .inference = true,
                            .quantize = quantize,
                            .outputs = { m->y[0], m->y[1], m->y[2] } };
}

static void calibrate(net *m, int batches)
{
    samba_program p = program_of(m, SAMBA_CALIBRATE);
    CHECK(samba_compile(m->s, &p));
    for (int i = 0; i < batches; i++) {
        give_images(m, i);
        CHECK(samba_run(m->s, 0));
    }
}

static int ops_of(const samba_session *s, const char *name)
{
    int n = 0;
    for (uint32_t i = 0; i < s->program.rt->pef.n_nodes; i++) {
        const samba_op *op = samba__node_at(&s->program.rt->pef, i).op;
        n += op && !strcmp(op->name, name);
    }
    return n;
}

// Numbers of f32 and int8 are close, and those of int8 are the same bits with every kernel and from
// a file.
static void test_compiled(void)
{
    static float want[3][MOST_Y], got[3][MOST_Y], first[3][MOST_Y];
    const char *path = "quantize_test.pef";
    for (int variant = 0; variant < 3; variant++) {
        net m = trace_net(variant == 2, 1 + variant);
        calibrate(&m, 4);
        for (int o = 0; o < 3; o++)
            CHECK(samba_copy_out(m.y[o], want[o], samba_bytes(m.y[o])));
        samba_program p = program_of(&m, SAMBA_INT8);
        CHECK(samba_compile(m.s, &p));
        CHECK(ops_of(m.s, "convolution_int8") == 2 && ops_of(m.s, "affine_int8") == 2);
        CHECK(ops_of(m.s, "add_int8") == 1 && ops_of(m.s, "cat") == 1
              && ops_of(m.s, "max_pool2d_int8") == 1);
        CHECK(ops_of(m.s, "avg_pool2d_int8") == 1 && ops_of(m.s, "quantize") == 1);
        CHECK(ops_of(m.s, "batch_norm") == 0 && ops_of(m.s, "add") == 0
              && ops_of(m.s, "dequantize") == 3);
        give_images(&m, 3);
        CHECK(samba_run(m.s, 0));
        for (int o = 0; o < 3; o++) {
            size_t bytes = samba_bytes(m.y[o]);
            CHECK(samba_copy_out(m.y[o], got[o], bytes));
            if (variant == 0) memcpy(first[o], got[o], bytes);
            CHECK(!memcmp(first[o], got[o], bytes));
            CHECK_CLOSE(got[o], want[o], bytes / 4, 0, o == 0 ? 0.03 : 0.06);
        }
        CHECK(samba_save(m.s, path) && samba_close(m.s) == 0);
    }
    net m = { .s = samba_open(NULL) };
    CHECK(samba_load(m.s, path, NULL));
    m.x = samba_tensor_by_name(m.s, "x");
    give_images(&m, 3);
    CHECK(samba_run(m.s, 0));
    const char *names[3];
    CHECK(samba_output_names(m.s, names, 3) == 3);
    int same = 0;
    for (int i = 0; i < 3; i++) {
        samba_tensor *y = samba_tensor_by_name(m.s, names[i]);
        for (int o = 0; o < 3; o++)
            same += !memcmp(samba_read(y), first[o], samba_bytes(y));
    }
    CHECK(same == 3);
    CHECK(samba_close(m.s) == 0);
    remove(path);
}

static bool is_not_conv1(const samba_tensor *y, void *user)
{
    (void)user;
    return strcmp(y->name, "conv1") != 0;
}

// Left out, a layer is f32, as is what only it would have made int8.
static void test_layer_left_out(void)
{
    net m = trace_net(false, 1);
    calibrate(&m, 2);
    samba_program p = program_of(&m, SAMBA_INT8);
    p.quantizes = is_not_conv1;
    CHECK(samba_compile(m.s, &p));
    CHECK(ops_of(m.s, "convolution_int8") == 1 && ops_of(m.s, "convolution") == 1);
    give_images(&m, 0);
    CHECK(samba_run(m.s, 0) && samba_close(m.s) == 0);
}

// What products took in as int8, the program would not see: weights, biases and what batch_norm
// has.
static void test_writes_are_refused(void)
{
    float zeros[4096] = { 0 };
    net m = trace_net(false, 1);
    calibrate(&m, 2);
    samba_program p = program_of(&m, SAMBA_INT8);
    CHECK(samba_compile(m.s, &p));
    int32_t n = samba_parameters(m.s, NULL, 0), refused = 0;
    samba_tensor **list = (samba_tensor **)calloc((size_t)n, sizeof *list);
    samba_parameters(m.s, list, n);
    for (int32_t i = 0; i < n; i++) {
        bool wrote = samba_write(list[i], zeros);
        bool in_program = list[i]->symbol >= 0;
        CHECK(samba_bytes(list[i]) <= sizeof zeros && wrote == in_program);
        CHECK(wrote || strstr(samba_error(m.s), "call samba_set_tracing(s, true)"));
        refused += !wrote;
        samba_clear_error(m.s);
    }
    CHECK(refused > 3 && samba_set_tracing(m.s, true));
    for (int32_t i = 0; i < n; i++)
        CHECK(samba_write(list[i], zeros));
    CHECK(samba_compile(m.s, &p) && samba_close(m.s) == 0);
    free(list);
}

// Zeros alone have a range, which is none; a NaN has no range, and the tensor is named.
static void test_ranges(void)
{
    float x[N * 2 * SIDE * SIDE] = { 0 };
    net m = trace_net(false, 1);
    samba_set_quiet(m.s, true);
    samba_program p = program_of(&m, SAMBA_INT8), calibration = program_of(&m, SAMBA_CALIBRATE);
    CHECK(!samba_compile(m.s, &p) && said(m.s, "has no range"));
    CHECK(samba_compile(m.s, &calibration) && samba_write(m.x, x) && samba_run(m.s, 0));
    CHECK(samba_compile(m.s, &p) && samba_write(m.x, x) && samba_run(m.s, 0)
          && samba_read(m.y[1])[0] > 0);
    x[5] = NAN;
    CHECK(samba_compile(m.s, &calibration) && samba_write(m.x, x) && samba_run(m.s, 0));
    CHECK(!samba_compile(m.s, &p) && said(m.s, "the range of x is"));
    calibrate(&m, 1); // begins anew
    CHECK(samba_compile(m.s, &p));
    p.weights = SAMBA_WEIGHTS_BF16;
    CHECK(!samba_compile(m.s, &p) && said(m.s, "use one of them"));
    p = program_of(&m, SAMBA_INT8);
    p.microbatches = 2;
    CHECK(!samba_compile(m.s, &p) && said(m.s, "without microbatches"));
    p = program_of(&m, SAMBA_INT8);
    p.inference = false;
    CHECK(!samba_compile(m.s, &p) && said(m.s, "with inference"));
    CHECK(samba_close(m.s) == 0);
}

// The only reader of a product may be an op that keeps running statistics, which are an output: it
// is computed, so calibration follows it.
static void test_ranges_behind_an_update(void)
{
    samba_session *s = samba_open(NULL);
    samba_init one = { SAMBA_INIT_CONSTANT, 1, 0 };
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(8, 3));
    samba_tensor *scale = samba_param(s, "scale", SAMBA_SHAPE(4), one);
    samba_tensor *shift = samba_param(s, "shift", SAMBA_SHAPE(4), one);
    samba_tensor *mean = samba_buffer(s, "mean", SAMBA_SHAPE(4), 0);
    samba_tensor *variance = samba_buffer(s, "variance", SAMBA_SHAPE(4), 1);
    samba_batch_normalize(samba_linear(x, "fc", 4), scale, shift, mean, variance, 0.25f, 1e-5f);

    samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { mean } };
    float values[24];
    for (int i = 0; i < 24; i++)
        values[i] = (float)(i % 7) - 3;
    CHECK(samba_compile(s, &p));
    CHECK(samba_write(x, values) && samba_run(s, 0));
    p.quantize = SAMBA_INT8;
    CHECK(samba_compile(s, &p));
    CHECK(samba_write(x, values) && samba_run(s, 0));
    CHECK(samba_close(s) == 0);
}

// What a product reads may be a parameter, or a value that is the same as one with another name:
// calibration knows both.
static void test_ranges_by_other_names(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x
        = samba_param(s, "x", SAMBA_SHAPE(2, 3), (samba_init){ SAMBA_INIT_NORMAL, 0, 1 });
    samba_tensor *in = samba_input(s, "in", SAMBA_F32, SAMBA_SHAPE(2, 3));
    samba_tensor *first = samba_mul(x, in), *same = samba_mul(in, x);
    samba_tensor *y = samba_linear(x, "a", 4), *z = samba_linear(same, "b", 4);
    samba_program p
        = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { y, z, first } };
    float values[6] = { 1, -2, 3, 4, -5, 6 };
    CHECK(samba_compile(s, &p));
    CHECK(samba_write(in, values) && samba_run(s, SAMBA_FWD));
    p.quantize = SAMBA_INT8;
    CHECK(samba_compile(s, &p));
    CHECK(samba_write(in, values) && samba_run(s, SAMBA_FWD));
    CHECK(samba_close(s) == 0);
}

// A net trained with fake_quantize needs no calibration, and computes what it computed in training.
static void test_trained_compiles(void)
{
    float before[B * C], after[B * C];
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_tensor *w
        = samba_param(s, "w", SAMBA_SHAPE(C, F), (samba_init){ SAMBA_INIT_UNIFORM, 0, 0.3f });
    samba_tensor *y
        = samba_affine(samba_fake_quantize(x, "image"), samba_fake_quantize_weight(w, 0), NULL);
    y = samba_fake_quantize(y, "logits");
    samba_tensor *loss = samba_mean(samba_mul(y, y), SAMBA_ALL_AXES, false);
    CHECK(samba_compile(
        s, &(samba_program){ .loss = loss, .outputs = { y }, .optim = { .kind = SAMBA_SGD } }));
    float data[B * F];
    for (int i = 0; i < B * F; i++)
        data[i] = (float)(i * 37 % 64) / 32 - 1;
    CHECK(samba_write(x, data) && samba_run(s, SAMBA_FWD));
    CHECK(samba_use_running_stats(s, true) && samba_run(s, SAMBA_FWD));
    CHECK(samba_copy_out(y, before, sizeof before));
    CHECK(samba_compile(
        s, &(samba_program){ .inference = true, .quantize = SAMBA_INT8, .outputs = { y } }));
    CHECK(samba_write(x, data) && samba_run(s, 0) && samba_copy_out(y, after, sizeof after));
    const float step = 2e-2f; // one step of the grid of y at most
    CHECK_CLOSE(after, before, B * C, 0, step);
    CHECK(samba_close(s) == 0);
}

// ---- Random nets: the same bits with any kernel and number of threads, and close to f32 ----

enum { NETS = 60, DEPTH = 7 };

static uint32_t pick(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % n;
}

// One more op on a picture h (2,C,H,W), of those that fit it.
static samba_tensor *grow(samba_tensor *h, samba_tensor *before, uint32_t *state, int at)
{
    char name[24];
    int32_t side = h->shape.dim[2], channels = h->shape.dim[1],
            kernel = 1 + 2 * (int32_t)pick(state, 2);
    snprintf(name, sizeof name, "layer%d", at);
    bool same = before->shape.dim[1] == channels && before->shape.dim[2] == side;
    samba_conv_opts o
        = { .padding = { kernel / 2, kernel / 2 }, .groups = pick(state, 3) ? 1 : channels };
    o.stride[0] = o.stride[1] = side > 4 ? 1 + (int32_t)pick(state, 2) : 1;
    samba_pool_opts window
        = { .kernel = { 2, 2 }, .stride = { 1, 1 }, .exclude_padding = pick(state, 2) };
    samba_tensor *pair[2] = { h, before };
    switch (pick(state, 8)) {
    case 0:
        return samba_relu(h);
    case 1:
        return side > 2 ? samba_max_pool2d(h, &window) : h;
    case 2:
        return side > 2 ? samba_avg_pool2d(h, &window) : h;
    case 3:
        return same ? samba_add(h, before) : h;
    case 4:
        return same ? samba_cat(pair, 2, 1) : samba_relu(h);
    case 5:
        return samba_pad(h, SAMBA_SHAPE(0, 0, 1, 0), SAMBA_SHAPE(0, 0, 0, 1), 0);
    default:
        break;
    }
    h = samba_conv2d(h, name, channels * (1 + (int32_t)pick(state, 2)), kernel, &o);
    return pick(state, 2) ? samba_relu(h) : h;
}

// The outputs of int8 in y, and of f32 in want.
static void run_random(uint32_t seed, bool portable, int32_t threads, float *want, float *y)
{
    uint32_t state = seed;
    float x[2 * 3 * 7 * 7];
    samba_session *s = samba_open(&(samba_desc){ .portable = portable, .threads = threads });
    samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3, 7, 7));
    samba_tensor *before = in, *h = samba_conv2d(in, "first", 4, 3, NULL);
    for (int i = 0; i < DEPTH; i++) {
        samba_tensor *next = grow(h, before, &state, i);
        before = h;
        h = next;
    }
    samba_tensor *out = samba_linear(samba_flatten(h, 1), "last", 9);
    samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { out, h } };
    for (int i = 0; i < 2 * 3 * 7 * 7; i++)
        x[i] = (float)pick(&state, 2001) / 1000 - 1;
    CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_run(s, 0));
    CHECK(samba_copy_out(out, want, samba_bytes(out)));
    p.quantize = SAMBA_INT8;
    CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_run(s, 0));
    CHECK(samba_copy_out(out, y, samba_bytes(out)) && ops_of(s, "affine_int8") == 1);
    CHECK(samba_close(s) == 0);
}

static void test_random(void)
{
    enum { MOST = 18 };

    float want[MOST], y[MOST], other[MOST];
    for (uint32_t seed = 1; seed <= NETS && !test_bad; seed++) {
        float most = 0, worst = 0;
        run_random(seed, true, 1, want, y);
        run_random(seed, false, 3, want, other);
        CHECK(!memcmp(y, other, sizeof y));
        for (int i = 0; i < MOST; i++)
            most = fmaxf(most, fabsf(want[i]));
        for (int i = 0; i < MOST; i++)
            worst = fmaxf(worst, fabsf(y[i] - want[i]));
        CHECK(most > 0 && worst < 0.15f * most);
        if (test_bad) printf("    of net %u: %g of %g\n", seed, (double)worst, (double)most);
    }
}

// A sum that an int32 could not hold stays f32, with a warning; one that it just holds is int8.
static void note(samba_log_level level, const char *text, void *user)
{
    if (level == SAMBA_LOG_WARNING && strstr(text, "could overflow an int32")) ++*(int *)user;
}

static void test_longest_sum(void)
{
    static float x[32769];
    for (int32_t k = 32768; k <= 32769; k++) {
        int warnings = 0, n = k == 32768;
        samba_session *s = samba_open(&(samba_desc){ .log = note, .user = &warnings });
        samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, k));
        samba_tensor *y = samba_linear(in, "layer", 2);
        samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { y } };
        for (int i = 0; i < k; i++)
            x[i] = i % 2 ? 1.0f : -1.0f;
        CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_run(s, 0));
        p.quantize = SAMBA_INT8;
        CHECK(samba_compile(s, &p) && ops_of(s, "affine_int8") == n
              && ops_of(s, "affine") == 1 - n);
        CHECK(warnings == 1 - n && samba_close(s) == 0);
    }
}

// What GraphAMP has traced in bf16 stays so, with a warning.
static void note_bf16(samba_log_level level, const char *text, void *user)
{
    if (level == SAMBA_LOG_WARNING && strstr(text, "trace with mp0")) ++*(int *)user;
}

static void test_bf16_stays(void)
{
    for (int preset = SAMBA_MP0; preset <= SAMBA_MP1; preset++) {
        int warnings = 0;
        float values[16] = { -1, 1 };
        samba_session *s = samba_open(&(samba_desc){
            .log = note_bf16, .user = &warnings, .graphamp = (samba_graphamp)preset });
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 8));
        samba_tensor *y = samba_linear(x, "layer", 4);
        samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { y } };
        CHECK(samba_compile(s, &p) && samba_write(x, values) && samba_run(s, 0));
        p.quantize = SAMBA_INT8;
        CHECK(samba_compile(s, &p) && ops_of(s, "affine_int8") == 1 - preset);
        CHECK((warnings > 0) == (preset == SAMBA_MP1) && samba_close(s) == 0);
    }
}

// Sums of what nearly cancels out stay f32: one step of their inputs is more than all they hold.
// Before, their factors were cut and they were wrong without a word.
static void note_sum(samba_log_level level, const char *text, void *user)
{
    if (level == SAMBA_LOG_WARNING && strstr(text, "this sum stays f32")) ++*(int *)user;
}

static void test_sums_that_cancel(void)
{
    enum { ROWS = 4, WIDE = 8 };

    float x[ROWS * WIDE], w[WIDE * WIDE], want[ROWS * WIDE], most = 0;
    for (int i = 0; i < ROWS * WIDE; i++)
        x[i] = (float)(i * 37 % 64) / 32 - 1;
    for (int relu = 0; relu < 2; relu++) {
        for (int shift = 0; shift <= 20;
             shift += 5) { // inputs are about 2^shift times as large as the sum
            int warnings = 0, worth_int8 = shift < 8;
            samba_session *s = samba_open(&(samba_desc){ .log = note_sum, .user = &warnings });
            samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS, WIDE));
            samba_tensor *sum = samba_add(samba_linear(in, "a", WIDE), samba_linear(in, "b", WIDE));
            samba_tensor *y = relu ? samba_relu(sum) : sum;
            for (int i = 0; i < WIDE * WIDE; i++)
                w[i] = i % (WIDE + 1) ? 0 : ldexpf(1, shift);
            CHECK(samba_write(samba_tensor_by_name(s, "a__weight"), w));
            for (int i = 0; i < WIDE * WIDE; i++)
                w[i] = i % (WIDE + 1) ? 0 : 1 - w[i];
            CHECK(samba_write(samba_tensor_by_name(s, "b__weight"), w));
            samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { y } };
            CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_run(s, 0));
            CHECK(samba_copy_out(y, want, sizeof want));
            p.quantize = SAMBA_INT8;
            CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_run(s, 0));
            CHECK(ops_of(s, "add_int8") == worth_int8 && ops_of(s, "add") == 1 - worth_int8);
            CHECK(warnings == 1 - worth_int8);
            for (int i = 0; i < ROWS * WIDE; i++)
                most = fmaxf(most, fabsf(samba_read(y)[i]) / ldexpf(1, shift));
            if (shift == 0) CHECK_CLOSE(samba_read(y), want, ROWS * WIDE, 0, 0.05);
            CHECK(samba_close(s) == 0);
        }
    }
    CHECK(most < 4);
}

// Weights that two products share are stored once, but for a product that needs other steps.
static int int8_weights(samba_session *s, int64_t *bytes)
{
    const char *names[64];
    int n = 0;
    *bytes = 0;
    for (int32_t i = 0, all = samba_weight_names(s, names, 64); i < all; i++) {
        n += strstr(names[i], "__int8_weight") != NULL;
        *bytes += (int64_t)samba_bytes(samba_tensor_by_name(s, names[i]));
    }
    return n;
}

static void test_tied_weights(void)
{
    enum { WIDE = 32, ROWS = 3, TABLE = 12 * WIDE };

    float x[ROWS * WIDE], want[2][ROWS * WIDE], b[WIDE] = { 0 };
    for (int i = 0; i < ROWS * WIDE; i++)
        x[i] = (float)(i * 37 % 64) / 32 - 1;
    for (int large_bias = 0; large_bias < 2; large_bias++) {
        int64_t bytes;
        samba_session *s = samba_open(NULL);
        samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS, WIDE));
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(WIDE, WIDE),
                                      (samba_init){ SAMBA_INIT_UNIFORM, 0, 0.3f });
        samba_tensor *bias
            = samba_param(s, "b", SAMBA_SHAPE(WIDE), (samba_init){ SAMBA_INIT_CONSTANT, 0, 0 });
        samba_tensor *h = samba_affine(in, w, bias), *y = samba_affine(samba_tanh(h), w, NULL);
        for (int i = 0; i < WIDE; i++)
            b[i] = large_bias ? 3e8f : 0.1f;
        CHECK(samba_write(bias, b));
        samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { h, y } };
        CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_run(s, 0));
        CHECK(samba_copy_out(h, want[0], sizeof want[0])
              && samba_copy_out(y, want[1], sizeof want[1]));
        p.quantize = SAMBA_INT8;
        for (int twice = 0; twice < 2; twice++) {
            CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_run(s, 0));
            CHECK(int8_weights(s, &bytes) == 1 + large_bias);
            CHECK(bytes == (1 + large_bias) * WIDE * WIDE + 2 * TABLE);
            CHECK_CLOSE(samba_read(h), want[0], ROWS * WIDE, 0.01, 0.05);
            CHECK_CLOSE(samba_read(y), want[1], ROWS * WIDE, 0, 0.05);
        }
        CHECK(samba_close(s) == 0);
    }
}

// ---- Odd programs: each is int8, close to f32, and the same from a file ----

typedef struct odd {
    samba_session *s;
    samba_tensor *x, *y[4];
} odd;

enum { ODD_ROWS = 4, ODD = 32 };

static odd odd_twice(samba_session *s, samba_tensor *x) // one output is listed twice
{
    samba_tensor *y = samba_relu(samba_linear(x, "a", ODD));
    return (odd){ s, x, { y, y } };
}

static odd odd_input(samba_session *s, samba_tensor *x) // an output is the input itself
{
    return (odd){ s, x, { samba_linear(x, "a", ODD), x } };
}

static odd odd_shared(samba_session *s,
                      samba_tensor *x) // h + h, cat of h and h, read by f32 as well
{
    samba_tensor *h = samba_linear(x, "a", ODD), *two[2] = { h, h };
    samba_tensor *c = samba_linear(samba_cat(two, 2, 1), "b", ODD);
    return (odd){ s, x, { samba_relu(samba_add(h, h)), c, samba_tanh(h) } };
}

static odd odd_norm(samba_session *s, samba_tensor *x) // f32 between two products
{
    samba_tensor *h = samba_layernorm(samba_linear(x, "a", ODD), "norm");
    h = samba_softmax(samba_linear(h, "b", ODD), -1);
    return (odd){ s, x, { samba_linear(h, "c", ODD) } };
}

static odd odd_graphs(samba_session *s, samba_tensor *x) // two graphs of one layer
{
    samba_begin_graph(s, "one");
    samba_tensor *y = samba_relu(samba_linear(x, "a", ODD));
    samba_begin_graph(s, "two");
    return (odd){ s, x, { y, samba_linear(samba_tanh(x), "a", ODD) } };
}

static odd odd_conv(samba_session *s, samba_tensor *x) // groups, dilation and stride at once
{
    samba_tensor *h = samba_reshape(x, SAMBA_SHAPE(ODD_ROWS, 2, 2, 8));
    samba_conv_opts o
        = { .stride = { 1, 2 }, .padding = { 1, 3 }, .dilation = { 1, 2 }, .groups = 2 };
    h = samba_conv2d(h, "a", 6, 3, &o);
    return (odd){ s, x, { samba_relu(h), samba_neg(h) } };
}

// Gives data, and runs all graphs there are.
static void run_odd(samba_session *s, samba_tensor *x, bool graphs)
{
    float data[ODD_ROWS * ODD];
    for (int i = 0; i < ODD_ROWS * ODD; i++)
        data[i] = (float)(i * 37 % 64) / 32 - 0.9f;
    CHECK(samba_write(x, data));
    if (graphs) CHECK(samba_run_graph(s, "one", 0) && samba_run_graph(s, "two", 0));
    if (!graphs) CHECK(samba_run(s, 0));
}

static odd trace_odd(odd (*trace)(samba_session *s, samba_tensor *x))
{
    samba_session *s = samba_open(NULL);
    return trace(s, samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(ODD_ROWS, ODD)));
}

static void check_odd(const char *name, odd (*trace)(samba_session *s, samba_tensor *x),
                      int products)
{
    enum { MOST = 1024 };

    static float want[4][MOST], got[4][MOST];
    const char *path = "quantize_odd.pef";
    bool graphs = trace == odd_graphs;
    odd m = trace_odd(trace);
    samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE };
    memcpy(p.outputs, m.y, sizeof m.y);
    CHECK(samba_compile(m.s, &p));
    for (int i = 0; i < 2; i++)
        run_odd(m.s, m.x, graphs);
    CHECK(samba_compile(m.s, &p)); // calibrated twice
    run_odd(m.s, m.x, graphs);
    for (int o = 0; o < 4 && m.y[o]; o++)
        CHECK(samba_copy_out(m.y[o], want[o], samba_bytes(m.y[o])));
    p.quantize = SAMBA_INT8;
    CHECK(samba_compile(m.s, &p));
    CHECK(ops_of(m.s, "affine_int8") + ops_of(m.s, "convolution_int8") == products);
    run_odd(m.s, m.x, graphs);
    for (int o = 0; o < 4 && m.y[o]; o++) {
        size_t bytes = samba_bytes(m.y[o]);
        float most = 0;
        CHECK(samba_copy_out(m.y[o], got[o], bytes));
        for (size_t i = 0; i < bytes / 4; i++)
            most = fmaxf(most, fabsf(want[o][i]));
        CHECK_CLOSE(got[o], want[o], bytes / 4, 0, 0.03 * (double)most);
    }
    CHECK(samba_save(m.s, path) && samba_close(m.s) == 0);
    samba_session *s = samba_open(NULL);
    CHECK(samba_load(s, path, NULL));
    run_odd(s, samba_tensor_by_name(s, "x"), graphs);
    const char *names[8];
    for (int i = 0, n = samba_output_names(s, names, 8); i < n; i++) {
        samba_tensor *y = samba_tensor_by_name(s, names[i]);
        int same = 0;
        for (int o = 0; o < 4; o++)
            same += !memcmp(samba_read(y), got[o], samba_bytes(y));
        CHECK(same > 0);
    }
    CHECK(samba_close(s) == 0);
    if (test_bad) printf("    %s\n", name);
    remove(path);
}

static void test_odd_programs(void)
{
    check_odd("an output twice", odd_twice, 1);
    check_odd("an input as output", odd_input, 1);
    check_odd("shared inputs", odd_shared, 2);
    check_odd("f32 between", odd_norm, 3);
    check_odd("two graphs", odd_graphs, 2);
    check_odd("a convolution", odd_conv, 1);
}

// Ranges of zeros, and of what is next to nothing or very large, make programs that run; an
// infinity becomes the end of the range, and a NaN, for which no int8 stands, ends the run.
static void test_extreme_ranges(void)
{
    static const float sizes[] = { 0, 1e-38f, 1e-30f, 1e-12f, 1e12f, 1e30f };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        float x[8], want[8];
        samba_session *s = samba_open(NULL);
        samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 8));
        samba_tensor *h = samba_linear(in, "a", 8),
                     *y = samba_relu(samba_add(h, samba_linear(h, "b", 8)));
        samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { y } };
        for (int k = 0; k < 8; k++)
            x[k] = sizes[i] * (float)(k % 5 - 2);
        float zeros[8] = { 0 };
        CHECK(samba_write(samba_tensor_by_name(s, "a__bias"), zeros));
        CHECK(samba_write(samba_tensor_by_name(s, "b__bias"), zeros));
        CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_run(s, 0)
              && samba_copy_out(y, want, sizeof want));
        p.quantize = SAMBA_INT8;
        CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_run(s, 0));
        CHECK_CLOSE(samba_read(y), want, 8, 0, 0.05 * (double)sizes[i] + 1e-29);
        for (int k = 0; k < 8; k++)
            x[k] = k % 2 ? -INFINITY : INFINITY;
        CHECK(samba_write(in, x) && samba_run(s, 0));
        for (int k = 0; k < 8; k++)
            CHECK(isfinite(samba_read(y)[k]));
        x[6] = NAN;
        CHECK(samba_write(in, x) && !samba_run(s, 0) && samba_error_code(s) == SAMBA_ERANGE);
        CHECK(strstr(samba_error(s), "x holds NaN at [0,6], which no integer stands for"));
        samba_clear_error(s);
        x[6] = 1;
        CHECK(samba_write(in, x) && samba_run(s, 0));
        CHECK(samba_close(s) == 0);
    }
}

// One product in int8 after two batches that span all of x, (2, inputs): y (2, outputs) as it gives
// them.
static void as_int8(const float *x, const float *w, const float *b, int inputs, int outputs,
                    float *y)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, inputs));
    samba_tensor *weight = samba_param(s, "w", SAMBA_SHAPE(outputs, inputs), (samba_init){ 0 });
    samba_tensor *bias = samba_param(s, "b", SAMBA_SHAPE(outputs), (samba_init){ 0 });
    samba_tensor *out = samba_affine(in, weight, bias);
    CHECK(samba_write(weight, w) && samba_write(bias, b));
    for (int how = SAMBA_CALIBRATE; how <= SAMBA_INT8; how++) {
        samba_program p
            = { .inference = true, .outputs = { out }, .quantize = (samba_quantize)how };
        CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_run(s, SAMBA_FWD));
    }
    CHECK(samba_copy_out(out, y, sizeof *y * 2 * (size_t)outputs) && samba_close(s) == 0);
}

// A channel keeps its bias, whatever its weights are: none (pruned, or a batch norm whose gamma is
// 0), tiny or large ones, and whatever x is: y is within a step of its own grid, and one of the
// weights'.
static void test_biases(void)
{
    static const float weights[] = { 0, 1e-40f, 1e-33f, 1e-12f, 1e-3f, 1, 1e6f };
    static const float biases[] = { 0, 1e-6f, -0.5f, 3, -1e9f },
                       sizes[] = { 1e-6f, 1, 1e3f, 1e12f };
    for (int c = 0; c < 7 * 5 * 4; c++) {
        float size = sizes[c / 35], m = weights[c % 7], x[4] = { size, -size, -size, size };
        float w[4] = { m, 0, 0, -0.3f * m },
              b[2] = { biases[c / 7 % 5], 0.25f * biases[c / 7 % 5] }, y[4];
        double least = 0, most = 0, want[4];
        for (int i = 0; i < 4; i++) {
            want[i] = (double)b[i % 2];
            for (int k = 0; k < 2; k++)
                want[i] += (double)x[i / 2 * 2 + k] * (double)w[i % 2 * 2 + k];
            least = fmin(least, want[i]);
            most = fmax(most, want[i]);
        }
        as_int8(x, w, b, 2, 2, y);
        for (int i = 0; i < 4; i++) {
            double step = (most - least) / 255, error = fabs((double)y[i] - want[i]);
            double coarse = fabs((double)b[i % 2]) / 536870912
                * 128; // steps of weights that a bias made coarser
            if (error <= 1.02 * step + 0.02 * size * m + coarse + 1e-28) continue;
            printf("    weights %g, bias %g, x %g: y[%d] is %g, not %g\n", (double)m,
                   (double)b[i % 2], (double)size, i, (double)y[i], want[i]);
            test_bad++;
        }
    }
}

// A fake_quantize that was not trained, anywhere around a product: calibration gives what it lacks.
static void test_untrained(void)
{
    for (int k = 0; k < 4; k++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(2, 6)), *h = samba_fake_quantize(x, "f");
        if (k == 1) h = samba_fake_quantize(h, "again");
        if (k == 2) h = samba_relu(h);
        samba_tensor *y = samba_linear(h, "l", 3);
        if (k == 3) y = samba_fake_quantize(y, "behind");
        samba_program p = { .outputs = { y }, .inference = true, .quantize = SAMBA_CALIBRATE };
        float want[6];
        p.quantize = SAMBA_NO_QUANTIZE;
        samba_tensor *plain = samba_linear(k == 2 ? samba_relu(x) : x, "l", 3);
        p.outputs[0] = plain;
        CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_copy_out(plain, want, sizeof want));
        p.outputs[0] = y;
        p.quantize = SAMBA_CALIBRATE;
        CHECK(samba_compile(s, &p) && samba_run(s, 0));
        p.quantize = SAMBA_INT8;
        CHECK(samba_compile(s, &p) && samba_run(s, 0));
        CHECK_CLOSE(samba_read(y), want, 6, 0.03, 0.05);
        CHECK(samba_close(s) == 0);
    }
}

int main(void)
{
    RUN(test_training);
    RUN(test_straight_through);
    RUN(test_refusals);
    RUN(test_compiled);
    RUN(test_layer_left_out);
    RUN(test_writes_are_refused);
    RUN(test_ranges);
    RUN(test_ranges_behind_an_update);
    RUN(test_ranges_by_other_names);
    RUN(test_trained_compiles);
    RUN(test_random);
    RUN(test_longest_sum);
    RUN(test_bf16_stays);
    RUN(test_sums_that_cancel);
    RUN(test_tied_weights);
    RUN(test_odd_programs);
    RUN(test_extreme_ranges);
    RUN(test_biases);
    RUN(test_untrained);
    return test_summary();
}
