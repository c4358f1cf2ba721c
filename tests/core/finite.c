// samba_desc.check_finite: the op that made the first NaN or infinity is named, whatever fuses it,
// and infinities that are meant pass. Each case with 1, 2 and 3 threads: the same culprit.
// run: threads
// session.h hashes weights with samba__hash, so samba.h is compiled here.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300, COLS = 200, BAD = 41 * COLS + 7 };

static samba_session *opened(int threads)
{
    return samba_open(&(samba_desc){ .threads = threads, .quiet = true, .check_finite = true });
}

static samba_tensor *input(samba_session *s, const char *name)
{
    return samba_input(s, name, SAMBA_F32, SAMBA_SHAPE(ROWS, COLS));
}

// Values from -1 to 1; element BAD, and a later one, are `odd`.
static void feed(samba_tensor *x, float odd)
{
    if (!x) return;
    int64_t n = (int64_t)(samba_bytes(x) / sizeof(float));
    float *values = (float *)malloc((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)(i * 7919 % 2001) / 1000.0f - 1.0f;
    values[BAD % n] = values[n - 1] = odd;
    samba_write(x, values);
    free(values);
}

// ---- What is expected of a run that must end ----------------------------------------------------

typedef struct expected {
    const char *op, *tensor, *section; // tensor NULL: not compared
    int64_t element;                   // -1: not compared
    float value;
    bool leaf;
} expected;

// The errors with one thread, in the order of the cases: with more threads they are the same.
enum { MOST_CASES = 64 };

static char errors[MOST_CASES][1024];
static int n_errors;

static void same_error(samba_session *s, int threads)
{
    if (n_errors == MOST_CASES) return;
    char *first = errors[n_errors++];
    if (threads == 1) snprintf(first, sizeof errors[0], "%s", samba_error(s));
    if (!strcmp(first, samba_error(s))) return;
    printf("with 1 thread: %s\nwith %d: %s\n", first, threads, samba_error(s));
    test_bad++;
}

static void expect(samba_session *s, int threads, bool ran, expected e)
{
    samba_culprit q;
    CHECK(!ran);
    CHECK(samba_error_code(s) == SAMBA_ERANGE);
    if (!samba_nonfinite(s, &q)) {
        printf("no culprit: %s\n", samba_error(s));
        test_bad++;
        return;
    }
    bool fine = !strcmp(q.op, e.op) && (!e.tensor || !strcmp(q.tensor, e.tensor))
        && !strcmp(q.section_type, e.section) && (e.element < 0 || q.element == e.element)
        && (q.value == e.value || (q.value != q.value && e.value != e.value)) && q.leaf == e.leaf;
    if (!fine) {
        printf("expected %s of %s in %s: %s\n", e.op, e.tensor, e.section, samba_error(s));
        test_bad++;
    }
    CHECK(says(s, q.tensor) && says(s, q.section_type));
    same_error(s, threads);
}

// ---- Places where it can begin ------------------------------------------------------------------

// y = f(x): an op alone, and in the middle of a fused chain, in place.
typedef samba_tensor *(*unary)(samba_tensor *x);

static samba_tensor *reciprocal(samba_tensor *x)
{
    return x ? samba_div(samba_number(x->session, 1.0f), x) : NULL;
}

static samba_tensor *half_minus_half(samba_tensor *x)
{
    return x ? samba_sub(x, samba_neg(x)) : NULL;
}

static void op_alone(int threads, unary f, expected e, float odd, bool fused)
{
    samba_session *s = opened(threads);
    samba_tensor *x = input(s, "x"), *h = x;
    if (fused) h = samba_shift(samba_scale(x, 2.0f), 0.0f);
    samba_tensor *y = f(h);
    if (fused) y = samba_shift(samba_scale(samba_relu(y), 0.5f), 1.0f);
    samba_program p = { .outputs = { y }, .inference = true };
    CHECK(samba_compile(s, &p));
    feed(x, 0.5f);
    if (f == samba_log || f == samba_sqrt) {
        float *values = (float *)malloc(samba_bytes(x));
        for (int i = 0; i < ROWS * COLS; i++)
            values[i] = 0.1f + (float)(i % 97);
        values[BAD] = odd;
        samba_write(x, values);
        free(values);
    } else if (f == samba_exp || f == half_minus_half)
        feed(x, odd);
    else {
        float *values = (float *)malloc(samba_bytes(x));
        for (int i = 0; i < ROWS * COLS; i++)
            values[i] = 3.0f;
        values[BAD] = odd;
        samba_write(x, values);
        free(values);
    }
    expect(s, threads, samba_run(s, 0), e);
    samba_culprit q;
    if (samba_nonfinite(s, &q) && !fused) { // the input lies where it was
        int last = q.n_in - 1;
        CHECK(q.in[last].known && !strcmp(q.in[last].name, "x"));
        CHECK(q.in[last].min == odd || q.in[last].max == odd);
    }
    if (samba_nonfinite(s, &q) && fused) {
        bool known = true;
        for (int i = 0; i < q.n_in; i++)
            known = known && q.in[i].known;
        CHECK(known); // although it was overwritten
    }
    CHECK(q.run == 1 && q.microbatch == 0);
    samba_close(s);
}

static void ops(int threads)
{
    for (int fused = 0; fused < 2; fused++) {
        float big = fused ? 200.0f : 400.0f;
        op_alone(threads, samba_exp, (expected){ "exp", NULL, "FWD", BAD, INFINITY, false }, big,
                 fused);
        op_alone(threads, samba_log, (expected){ "log", NULL, "FWD", BAD, NAN, false }, -2.0f,
                 fused);
        op_alone(threads, reciprocal,
                 (expected){ "div", NULL, "FWD", BAD, fused ? INFINITY : -INFINITY, false }, -0.0f,
                 fused);
        op_alone(threads, samba_sqrt, (expected){ "sqrt", NULL, "FWD", BAD, NAN, false }, -1.0f,
                 fused);
    }
}

// A NaN in the data, through an elementwise op, a product, a sum.
static void data(int threads)
{
    for (int k = 0; k < 3; k++) {
        samba_session *s = opened(threads);
        samba_tensor *x = input(s, "x"), *y = NULL;
        const char *op = k == 0 ? "tanh" : k == 1 ? "affine" : "mean";
        if (k == 0) y = samba_tanh(x);
        if (k == 1) y = samba_linear(x, "fc", 8);
        if (k == 2) y = samba_mean(x, SAMBA_ALL_AXES, false);
        samba_program p = { .outputs = { y }, .inference = true };
        CHECK(samba_compile(s, &p));
        feed(x, NAN);
        expect(s, threads, samba_run(s, 0), (expected){ op, "x", "FWD", BAD, NAN, true });
        CHECK(says(s, "x holds NaN at element"));
        samba_clear_error(s);
        feed(x, 0.25f);
        CHECK(samba_run(s, 0));
        samba_culprit q;
        CHECK(!samba_nonfinite(s, &q));
        samba_close(s);
    }
}

// Products overflow: with and without what is fused behind them, and in a batch.
static void products(int threads)
{
    for (int k = 0; k < 3; k++) {
        samba_session *s = opened(threads);
        samba_tensor *x = input(s, "x"), *y = samba_linear(x, "fc", 48);
        if (k == 1) y = samba_relu(samba_scale(y, 0.0f));
        if (k == 2)
            y = samba_matmul(samba_reshape(x, SAMBA_SHAPE(3, 100, COLS)),
                             samba_transpose(samba_reshape(x, SAMBA_SHAPE(3, 100, COLS)), 1, 2));
        samba_program p = { .outputs = { y }, .inference = true };
        CHECK(samba_compile(s, &p));
        feed(x, 3e38f);
        if (k < 2) {
            float *w = (float *)malloc(48 * COLS * sizeof(float));
            for (int i = 0; i < 48 * COLS; i++)
                w[i] = 2.0f;
            samba_write(samba_tensor_by_name(s, "fc__weight"), w);
            free(w);
        }
        expect(s, threads, samba_run(s, 0),
               (expected){ k == 2 ? "matmul" : "affine", NULL, "FWD", k == 2 ? -1 : 41 * 48,
                           INFINITY, false });
        samba_close(s);
    }
}

// Masks of -inf, as a constant, as an input, and a row of nothing but them.
static void masks(int threads)
{
    for (int k = 0; k < 3; k++) {
        samba_session *s = opened(threads);
        samba_tensor *x = input(s, "x"), *mask = input(s, "mask");
        if (k == 1)
            mask = samba_where(samba_gt(mask, samba_number(s, 0.0f)), samba_number(s, -INFINITY),
                               samba_number(s, 0.0f));
        samba_tensor *y = samba_softmax(samba_shift(samba_add(x, mask), 1.0f), 1);
        samba_program p = { .outputs = { y }, .inference = true };
        CHECK(samba_compile(s, &p));
        feed(x, 0.5f);
        feed(samba_tensor_by_name(s, "mask"), k == 1 ? 1.0f : -INFINITY);
        if (k == 2) {
            float *values = (float *)calloc(ROWS * COLS, sizeof(float));
            for (int i = 0; i < COLS; i++)
                values[5 * COLS + i] = -INFINITY;
            samba_write(mask, values);
            free(values);
            samba_run(s, 0);
            const float *row = samba_ok(s) ? samba_read(y) + 5 * COLS : NULL;
            CHECK(!row || !isnan(row[0])); // no softmax of ours makes a NaN of it, or it is named
            if (!row) CHECK(says(s, "softmax"));
        } else if (!samba_run(s, 0)) {
            printf("%s\n", samba_error(s));
            test_bad++;
        }
        samba_close(s);
    }
    // inf - inf
    samba_session *s = opened(threads);
    samba_tensor *x = input(s, "x");
    samba_program p = { .outputs = { half_minus_half(samba_shift(x, 0.0f)), samba_sub(x, x) },
                        .inference = true };
    CHECK(samba_compile(s, &p));
    feed(x, INFINITY);
    expect(s, threads, samba_run(s, 0), (expected){ "sub", NULL, "FWD", BAD, NAN, false });
    samba_close(s);
}

// Infinities in attributes are meant, and so is what attention notes of rows that see nothing.
static void meant(int threads)
{
    samba_session *s = opened(threads);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 70, 32));
    samba_tensor *mask = samba_zeros(s, "mask", SAMBA_BOOL, SAMBA_SHAPE(70, 70));
    samba_tensor *q = samba_linear(x, "q", 32), *k = samba_linear(x, "k", 32),
                 *v = samba_linear(x, "v", 32);
    samba_tensor *y = samba_scaled_dot_product_attention(q, k, v, mask, NULL);
    samba_tensor *padded = samba_pad(y, SAMBA_SHAPE(0, 1, 0), SAMBA_SHAPE(0, 0, 2), -INFINITY);
    padded = samba_max(samba_shift(padded, 1.0f), SAMBA_AXES(2), false);
    samba_program p
        = { .loss = samba_mean(samba_mul(y, y), SAMBA_ALL_AXES, false), .outputs = { padded } };
    p.optim.kind = SAMBA_SGD;
    CHECK(samba_compile(s, &p));
    if (!samba_run(s, 0) || !samba_run(s, 0)) {
        printf("%s\n", samba_error(s));
        test_bad++;
    }
    samba_close(s);
}

// ---- Training -----------------------------------------------------------------------------------

typedef struct net {
    samba_session *s;
    samba_tensor *x, *loss;
} net;

static net training(int threads, samba_graphamp preset, samba_optim optim, int microbatches,
                    samba_mapping mapping)
{
    net n = { opened(threads), NULL, NULL };
    samba_set_graphamp(n.s, preset);
    n.x = input(n.s, "x");
    samba_tensor *h = samba_gelu(samba_linear(samba_layernorm(n.x, "ln"), "fc1", 96));
    h = samba_linear(h, "fc2", 16);
    n.loss = samba_mean(samba_mul(h, h), SAMBA_ALL_AXES, false);
    samba_program p
        = { .loss = n.loss, .optim = optim, .microbatches = microbatches, .mapping = mapping };
    CHECK(samba_compile(n.s, &p));
    feed(n.x, 0.5f);
    return n;
}

static void spoil(samba_session *s, const char *name, int64_t element, float value)
{
    samba_tensor *t = samba_tensor_by_name(s, name);
    float *w = (float *)malloc(samba_bytes(t));
    samba_copy_out(t, w, samba_bytes(t));
    w[element] = value;
    samba_write(t, w);
    free(w);
}

// A NaN that the program kept before the run is no doing of the op that overwrites what keeps it.
static void kept(int threads)
{
    samba_session *s = opened(threads);
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(8, 5), 0.5f);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 5));
    samba_tensor *row = samba_input(s, "row", SAMBA_I32, SAMBA_SHAPE(1));
    samba_program p = { .outputs = { samba_write_rows(cache, x, row) }, .inference = true };
    CHECK(samba_compile(s, &p));
    CHECK(samba_write(x, (float[5]){ 1 }) && samba_write(row, (int32_t[1]){ 2 })
          && samba_run(s, 0));
    spoil(s, "cache", 31, NAN);
    expect(s, threads, samba_run(s, 0), (expected){ "write_rows", "cache", "FWD", 31, NAN, true });
    samba_close(s);

    static const struct {
        samba_optim optim;
        const char *op, *state;
    } steps[] = {
        { { .kind = SAMBA_ADAMW, .lr = 1e-3f }, "adamw", "fc1__weight__exp_avg" },
        { { .kind = SAMBA_ADAMW, .lr = 1e-3f }, "adamw", "fc1__weight__exp_avg_sq" },
        { { .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f }, "sgd", "fc1__weight__momentum" },
    };

    for (int i = 0; i < 3; i++) {
        net n = training(threads, SAMBA_MP0, steps[i].optim, 1, SAMBA_MAPPING_SECTION);
        CHECK(samba_run(n.s, 0));
        spoil(n.s, steps[i].state, 78, NAN);
        expect(n.s, threads, samba_run(n.s, 0),
               (expected){ steps[i].op, steps[i].state, "OPT", 78, NAN, true });
        samba_close(n.s);
    }
}

static void trainings(int threads)
{
    const samba_optim sgd = { .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f };
    const samba_optim adamw = { .kind = SAMBA_ADAMW, .lr = 1e-3f };

    // What is right goes on, with the bits of a session that does not look.
    for (int k = 0; k < 4; k++) {
        net a = training(threads, k == 1 ? SAMBA_MP4 : SAMBA_MP0, k == 2 ? sgd : adamw,
                         k == 3 ? 2 : 1, SAMBA_MAPPING_SECTION);
        net b = training(1, k == 1 ? SAMBA_MP4 : SAMBA_MP0, k == 2 ? sgd : adamw, k == 3 ? 2 : 1,
                         SAMBA_MAPPING_SECTION);
        samba_set_check_finite(b.s, false);
        for (int i = 0; i < 3; i++)
            CHECK(samba_run(a.s, 0) && samba_run(b.s, 0));
        if (!samba_ok(a.s)) printf("%s\n", samba_error(a.s));
        CHECK(hash_weights(a.s, 0) == hash_weights(b.s, 0));
        samba_close(a.s);
        samba_close(b.s);
    }

    // A learning rate that is too high: the optimizer's step overflows itself.
    samba_optim wild = sgd;
    wild.lr = 3e38f;
    net n = training(threads, SAMBA_MP0, wild, 1, SAMBA_MAPPING_SECTION);
    feed(n.x, 0.5f);
    bool ran = true;
    for (int i = 0; i < 6 && ran; i++)
        ran = samba_run(n.s, 0);
    CHECK(!ran && says(n.s, "makes"));
    samba_close(n.s);

    // A gradient overflows; the parameters stay what they were.
    n = training(threads, SAMBA_MP0, sgd, 1, SAMBA_MAPPING_SECTION);
    spoil(n.s, "fc2__weight", 3, 3e19f);
    uint64_t before = hash_weights(n.s, 0);
    ran = samba_run(n.s, 0);
    expect(n.s, threads, ran, (expected){ "mul", NULL, "FWD", -1, INFINITY, false });
    samba_clear_error(n.s);
    CHECK(hash_weights(n.s, 0) == before);
    spoil(n.s, "fc2__weight", 3, 5e18f);
    before = hash_weights(n.s, 0);
    ran = samba_run(n.s, 0);
    samba_culprit q;
    CHECK(!ran && samba_nonfinite(n.s, &q) && q.run == 2);
    samba_clear_error(n.s);
    CHECK(hash_weights(n.s, 0) == before);
    samba_close(n.s);

    // A parameter that holds a NaN already is named, and so is a second microbatch.
    n = training(threads, SAMBA_MP0, adamw, 1, SAMBA_MAPPING_SECTION);
    spoil(n.s, "fc1__weight", 77, NAN);
    expect(n.s, threads, samba_run(n.s, 0),
           (expected){ "affine", "fc1__weight", "FWD", 77, NAN, true });
    samba_close(n.s);
    n = training(threads, SAMBA_MP0, adamw, 2, SAMBA_MAPPING_SECTION);
    float *x = (float *)calloc(1, samba_bytes(n.x));
    CHECK(samba_bytes(n.x) == sizeof(float) * ROWS * COLS * 2
          || samba_bytes(n.x) == sizeof(float) * ROWS * COLS);
    x[samba_bytes(n.x) / sizeof(float) - 1] = NAN;
    samba_write(n.x, x);
    free(x);
    ran = samba_run(n.s, 0);
    expect(n.s, threads, ran, (expected){ "layer_norm", "x", "FWD", -1, NAN, true });
    CHECK(samba_nonfinite(n.s, &q) && q.microbatch == 1 && says(n.s, "microbatch 1"));
    samba_close(n.s);

    // bf16: what is finite in f32 is rounded up to infinity.
    samba_session *s = opened(threads);
    samba_set_graphamp(s, SAMBA_MP4);
    samba_tensor *y = samba_scale(input(s, "x"), 1.0f);
    samba_program p = { .outputs = { samba_neg(y) }, .inference = true };
    CHECK(samba_compile(s, &p));
    feed(samba_tensor_by_name(s, "x"), 3.4e38f);
    ran = samba_run(s, 0);
    CHECK(!ran && samba_nonfinite(s, &q) && isinf(q.value) && q.element == BAD && !q.leaf);
    samba_close(s);

    // mapping spatial, and the optimizer's own division
    n = training(threads, SAMBA_MP0, wild, 1, SAMBA_MAPPING_SPATIAL);
    for (int i = 0, fine = 1; i < 6 && fine; i++)
        fine = samba_run(n.s, 0);
    CHECK(!samba_ok(n.s) && samba_nonfinite(n.s, &q));
    samba_close(n.s);
}

// ---- Off, on, checkpoints -----------------------------------------------------------------------

static void switched(void)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 2, .quiet = true });
    samba_tensor *x = input(s, "x"), *y = samba_linear(samba_log(x), "fc", 4);
    samba_program p = { .outputs = { y }, .inference = true };
    CHECK(samba_compile(s, &p));
    feed(x, -1.0f);
    CHECK(samba_run(s, 0));
    samba_culprit q;
    CHECK(!samba_nonfinite(s, &q));
    CHECK(samba_set_check_finite(s, true));
    CHECK(!samba_run(s, 0) && said(s, "(log) makes NaN"));
    CHECK(samba_set_check_finite(s, false));
    CHECK(samba_run(s, 0) && !samba_nonfinite(s, &q));
    samba_close(s);
    CHECK(!samba_nonfinite(NULL, &q) && !samba_set_check_finite(NULL, true));
}

static int warnings;

static void count(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level == SAMBA_LOG_WARNING && strstr(text, "element 5 of fc1__weight")) warnings++;
}

static void checkpoints(void)
{
    const char *good = "build/finite_good.ckpt", *bad = "build/finite_bad.ckpt";
    samba_save_opts allowed = { .allow_nonfinite = true };
    net n = training(1, SAMBA_MP0, (samba_optim){ .kind = SAMBA_ADAMW }, 1, SAMBA_MAPPING_SECTION);
    CHECK(samba_save(n.s, good));
    spoil(n.s, "fc1__weight", 5, NAN);
    CHECK(!samba_save(n.s, good) && said(n.s, "element 5 of fc1__weight is not finite"));
    CHECK(samba_save_with(n.s, bad, &allowed));
    CHECK(samba_restore(n.s, good) && samba_save_with(n.s, good, NULL));
    spoil(n.s, "fc1__weight", 5, -INFINITY);
    CHECK(!samba_save(n.s, good) && said(n.s, "element 5 of fc1__weight is not finite"));
    samba_close(n.s);
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .log = count });
    CHECK(samba_load(s, bad, NULL) && samba_restore(s, bad));
    CHECK(warnings == 1);
    samba_close(s);
    remove(good);
    remove(bad);
}

static void all_threads(const char *name, void (*test)(int threads))
{
    test_bad = 0;
    for (int threads = 1; threads <= 3; threads++) {
        n_errors = 0;
        test(threads);
    }
    test_end(name);
}

int main(void)
{
    all_threads("ops, alone and fused", ops);
    all_threads("data", data);
    all_threads("products", products);
    all_threads("masks", masks);
    all_threads("what is meant", meant);
    all_threads("kept", kept);
    all_threads("trainings", trainings);
    RUN(switched);
    RUN(checkpoints);
    return test_summary();
}
