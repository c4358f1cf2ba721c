// What the compiler promises whatever a program names as outputs: each of them has its value, and
// neither the level, nor the mapping, nor what else is an output changes a bit.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"

enum { MOST_OUT = 16, MOST_BYTES = 4096 };

static void hear_nothing(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

// ---- Outputs that are equal, named twice, leaves, or views of each other ----

typedef struct net {
    samba_session *s;
    samba_tensor *out[MOST_OUT], *loss;
    int n_out;
} net;

static void name_output(net *n, samba_tensor *t)
{
    n->out[n->n_out++] = t;
}

// Equal expressions, leaves, constants, views: anything that may share a value with another output.
static net traced(bool eager)
{
    net n = { .n_out = 0 };
    n.s = samba_open(&(samba_desc){ .threads = 1 });
    if (eager) samba_set_tracing(n.s, false);
    samba_init normal = { .kind = SAMBA_INIT_NORMAL, .scale = 1 };
    samba_tensor *x = samba_randn(n.s, "x", SAMBA_SHAPE(4, 6));
    samba_tensor *w = samba_param(n.s, "w", SAMBA_SHAPE(4, 6), normal);
    samba_tensor *idle = samba_param(n.s, "idle", SAMBA_SHAPE(3), normal);
    samba_tensor *buffer = samba_buffer(n.s, "buffer", SAMBA_SHAPE(2), 5);
    samba_tensor *h = samba_add(x, w), *a = samba_tanh(h), *b = samba_tanh(h);
    samba_tensor *flat = samba_reshape(a, SAMBA_SHAPE(24));
    name_output(&n, b);
    name_output(&n, a);
    name_output(&n, samba_tanh(h));
    name_output(&n, samba_scale(b, 1));
    name_output(&n, samba_reshape(flat, SAMBA_SHAPE(4, 6)));
    name_output(&n, flat);
    name_output(&n, samba_neg(samba_neg(flat)));
    name_output(&n, x);
    name_output(&n, samba_scale(x, 1));
    name_output(&n, w);
    name_output(&n, samba_scale(w, 1));
    name_output(&n, samba_full(n.s, SAMBA_SHAPE(2, 3), 7));
    name_output(&n, samba_full(n.s, SAMBA_SHAPE(2, 3), 7));
    name_output(&n, idle);
    name_output(&n, buffer);
    n.loss = samba_mean(samba_mul(a, b), SAMBA_ALL_AXES, false);
    name_output(&n, samba_mean(samba_mul(b, a), SAMBA_ALL_AXES, false));
    return n;
}

static bool has_value_of(samba_tensor *got, samba_tensor *want)
{
    uint8_t a[MOST_BYTES], b[MOST_BYTES];
    size_t size = samba_bytes(want);
    return size <= MOST_BYTES && samba_bytes(got) == size && samba_copy_out(got, a, size)
        && samba_copy_out(want, b, size) && !memcmp(a, b, size);
}

// Outputs `first`, `first` + stride ... of the net, in that order, have the values of eager ops.
static void outputs_have_values(const samba_program *form, int first, int stride)
{
    net want = traced(true), got = traced(false);
    samba_program p = *form;
    for (int i = 0; i < MOST_OUT; i++)
        p.outputs[i] = got.out[(first + i * stride) % MOST_OUT];
    if (!p.inference) {
        p.loss = got.loss;
        p.optim.kind = SAMBA_SGD;
    }
    CHECK(samba_compile(got.s, &p) && samba_run(got.s, SAMBA_FWD));
    for (int i = 0; i < MOST_OUT && !test_bad; i++)
        CHECK(has_value_of(got.out[i], want.out[i]));
    if (!p.inference) CHECK(has_value_of(got.loss, want.loss));
    if (!samba_ok(got.s)) printf("%s\n", samba_error(got.s));
    if (test_bad) printf("level %d, from output %d by %d\n", (int)p.level, first, stride);
    CHECK(samba_close(got.s) == 0 && samba_close(want.s) == 0);
}

static void test_outputs_have_values(void)
{
    static const int strides[4] = { 1, 3, 5, 15 }; // 15: from the last to the first
    for (int level = SAMBA_O_DEFAULT; level <= SAMBA_O3; level++) {
        for (int infers = 0; infers < 2; infers++) {
            samba_program p = { .level = (samba_opt_level)level, .inference = infers == 1 };
            p.mapping = level == SAMBA_O1 ? SAMBA_MAPPING_SPATIAL : SAMBA_MAPPING_SECTION;
            for (int i = 0; i < 4; i++)
                outputs_have_values(&p, 5 * i, strides[i]);
        }
    }
}

// Two graphs of one program compute the same of the same input: both outputs have it.
static void test_equal_in_two_graphs(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(5)), *y[4];
    for (int i = 0; i < 4; i++) {
        samba_begin_graph(s, i % 2 ? "second" : "first");
        y[i] = samba_tanh(x);
    }
    samba_program p = { .inference = true, .outputs = { y[3], y[0], y[1], y[2] } };
    CHECK(samba_compile(s, &p) && samba_run_graph(s, "first", 0)
          && samba_run_graph(s, "second", 0));
    for (int i = 1; i < 4; i++)
        CHECK(has_value_of(y[i], y[0]) && samba_read(y[0])[0] != 0);
    CHECK(samba_close(s) == 0);
}

// Losses that compute the same are two losses: the gradient is that of their sum.
static void test_equal_losses(void)
{
    float grad[2][3];
    for (int twice = 0; twice < 2; twice++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 2 });
        samba_tensor *a = samba_sum(samba_mul(w, w), SAMBA_ALL_AXES, false);
        samba_tensor *b = samba_sum(samba_mul(w, w), SAMBA_ALL_AXES, false);
        samba_program p
            = { .outputs = { b, a }, .loss_indices = { 1, 0 }, .n_loss_indices = 1 + twice };
        p.optim.kind = SAMBA_SGD;
        CHECK(samba_compile(s, &p) && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
        CHECK(samba_read(a)[0] == 12 && samba_read(b)[0] == 12);
        CHECK(samba_copy_out(samba_sn_grad(w), grad[twice], sizeof grad[twice]));
        CHECK(samba_close(s) == 0);
    }
    for (int i = 0; i < 3; i++)
        CHECK(grad[0][i] == 4 && grad[1][i] == 8);
}

// A gradient that was traced equals part of the compiler's own: both have it, in any order.
static void test_traced_gradient(void)
{
    float bits[2][64];
    for (int also = 0; also < 2; also++) { // is the traced gradient an output?
        samba_session *s = samba_open(NULL);
        samba_init normal = { .kind = SAMBA_INIT_NORMAL, .scale = 1 };
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3, 5), normal);
        samba_tensor *u = samba_param(s, "u", SAMBA_SHAPE(5, 7), normal);
        samba_tensor *v = samba_param(s, "v", SAMBA_SHAPE(5, 6), normal);
        samba_tensor *a = samba_sum(samba_tanh(samba_matmul(w, v)), SAMBA_ALL_AXES, false);
        samba_tensor *b = samba_sum(samba_tanh(samba_matmul(w, u)), SAMBA_ALL_AXES, false);
        samba_program p
            = { .loss = samba_add(a, b), .outputs = { samba_grad(a, w), samba_grad(p.loss, v) } };
        if (!also) p.outputs[0] = NULL;
        p.optim.kind = SAMBA_SGD;
        CHECK(samba_compile(s, &p) && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
        CHECK(samba_copy_out(samba_sn_grad(w), bits[also], 60));
        if (also) CHECK(has_value_of(samba_sn_grad(v), p.outputs[1]));
        CHECK(samba_close(s) == 0);
    }
    CHECK(!memcmp(bits[0], bits[1], 60));
}

// With microbatches the share of a scalar output may equal part of the backward pass.
static void test_scalar_of_a_loss(void)
{
    for (int level = SAMBA_O0; level <= SAMBA_O3; level++) {
        samba_session *s = samba_open(NULL);
        float batch[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 1));
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(1, 1), (samba_init){ .value = 2 });
        samba_tensor *t = samba_mean(samba_matmul(x, w), SAMBA_ALL_AXES, false);
        samba_program p = { .loss = samba_mul(t, t), .outputs = { t }, .microbatches = 2 };
        p.optim.kind = SAMBA_SGD;
        p.level = (samba_opt_level)level;
        CHECK(samba_compile(s, &p) && samba_write(x, batch) && samba_run(s, 0));
        CHECK(samba_read(t)[0] == 9 && samba_read(p.loss)[0] == (25 + 169) / 2.0f);
        CHECK(samba_read(samba_sn_grad(w))[0] == (5 * 2.5f + 13 * 6.5f));
        if (!samba_ok(s)) printf("%s\n", samba_error(s));
        CHECK(samba_close(s) == 0);
    }
}

// One that is no f32 has no mean: an error says what to do.
static void test_scalar_of_another_type(void)
{
    samba_session *s = samba_open(&(samba_desc){ .log = hear_nothing });
    samba_tensor *w = samba_param(s, "w", SAMBA_SCALAR, (samba_init){ .value = 2 });
    samba_tensor *is_small = samba_lt(w, samba_number(s, 3));
    samba_program p = { .loss = samba_mul(w, w), .outputs = { is_small }, .microbatches = 2 };
    CHECK(!samba_compile(s, &p) && said(s, "use samba_cast"));
    p.outputs[0] = samba_cast(is_small, SAMBA_F32);
    CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_read(p.outputs[0])[0] == 1);
    CHECK(samba_close(s) == 0);
}

// ---- Levels ----

// Gradients are sums of several products, which the compiler adds up in place: at every level.
static void gradient_of_level(int form, samba_opt_level level, float *grad)
{
    samba_session *s = samba_open(NULL);
    samba_init normal = { .kind = SAMBA_INIT_NORMAL, .scale = 1 };
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3, 5), normal);
    samba_tensor *u = samba_param(s, "u", SAMBA_SHAPE(5, 7), normal);
    samba_tensor *v = samba_param(s, "v", SAMBA_SHAPE(5, 6), normal), *y = NULL;
    if (form == 0) y = samba_tanh(samba_matmul(w, u));
    if (form == 1) y = samba_exp(w);
    if (form == 2) y = samba_sigmoid(samba_linear(w, "l", 4));
    if (form == 3) y = samba_softmax(samba_mul(w, w), 1);
    samba_tensor *a = samba_sum(samba_tanh(samba_matmul(w, v)), SAMBA_ALL_AXES, false);
    samba_tensor *b = samba_sum(y, SAMBA_ALL_AXES, false);
    samba_program p = { .loss = samba_add(a, b), .optim.kind = SAMBA_SGD, .level = level };
    CHECK(samba_compile(s, &p) && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(samba_copy_out(samba_sn_grad(w), grad, 60));
    CHECK(samba_close(s) == 0);
}

static void test_levels_sum_alike(void)
{
    float grad[3][15];
    for (int form = 0; form < 4; form++) {
        for (int i = 0; i < 3; i++)
            gradient_of_level(form, (samba_opt_level)(SAMBA_O0 + i), grad[i]);
        CHECK(!memcmp(grad[0], grad[1], 60) && !memcmp(grad[0], grad[2], 60));
    }
}

// Packed weights are read at every level.
static void test_levels_read_packed(void)
{
    float y[3][8 * 5];
    for (int i = 0; i < 3; i++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *out = samba_linear(samba_randn(s, "x", SAMBA_SHAPE(8, 32)), "l", 5);
        samba_program p = { .outputs = { out }, .inference = true, .weights = SAMBA_WEIGHTS_INT8 };
        p.level = (samba_opt_level)(SAMBA_O0 + i);
        CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_copy_out(out, y[i], sizeof y[i]));
        CHECK(samba_close(s) == 0);
    }
    CHECK(!memcmp(y[0], y[1], sizeof y[0]) && !memcmp(y[0], y[2], sizeof y[0]));
}

// ---- State that a program overwrites ----

// y = a before, c = a after the rows of a buffer were written; nothing reads the result of writing.
typedef struct written {
    samba_session *s;
    samba_tensor *before, *after, *twice;
} written;

static written trace_written(bool eager)
{
    written w = { .s = samba_open(NULL) };
    if (eager) samba_set_tracing(w.s, false);
    samba_tensor *cache = samba_buffer(w.s, "cache", SAMBA_SHAPE(4, 3), 1);
    samba_tensor *x = samba_randn(w.s, "x", SAMBA_SHAPE(1, 3));
    samba_tensor *row = samba_randint(w.s, "row", 4, SAMBA_SHAPE(1));
    samba_tensor *sum = samba_expand(samba_sum(cache, SAMBA_AXES(0), true), SAMBA_SHAPE(2, 3));
    w.before = samba_add(samba_tanh(cache), samba_slice(sum, 0, 0, 1, 1));
    samba_write_rows(samba_write_rows(cache, x, row), samba_neg(x), row);
    w.after = samba_add(samba_tanh(cache), samba_slice(sum, 0, 0, 1, 1));
    w.twice = samba_reshape(samba_reshape(cache, SAMBA_SHAPE(12)), SAMBA_SHAPE(4, 3));
    return w;
}

static void test_state_in_order(void)
{
    for (int level = SAMBA_O0; level <= SAMBA_O3; level++) {
        written want = trace_written(true), got = trace_written(false);
        samba_program p = { .outputs = { got.after, got.before, got.twice }, .inference = true };
        p.level = (samba_opt_level)level;
        CHECK(samba_compile(got.s, &p) && samba_run(got.s, 0));
        CHECK(has_value_of(got.before, want.before) && has_value_of(got.after, want.after));
        CHECK(has_value_of(got.twice, want.twice) && !has_value_of(got.before, got.after));
        CHECK(samba_close(got.s) == 0 && samba_close(want.s) == 0);
    }
}

// A buffer is written with rows of its own: those that it had before.
static void test_state_written_with_itself(void)
{
    int32_t rows[3] = { 2, 0, 1 };
    samba_tensor *y[2];
    samba_session *s[2];
    for (int eager = 0; eager < 2; eager++) {
        s[eager] = samba_open(NULL);
        if (eager) samba_set_tracing(s[eager], false);
        samba_tensor *cache = samba_buffer(s[eager], "cache", SAMBA_SHAPE(3, 2), 0);
        samba_tensor *at = samba_from_data_copy(s[eager], "at", SAMBA_I32, SAMBA_SHAPE(3), rows);
        samba_tensor *x = samba_randn(s[eager], "x", SAMBA_SHAPE(3, 2));
        y[eager] = samba_write_rows(samba_write_rows(cache, x, at), cache, at);
    }
    samba_program p = { .outputs = { y[0] }, .inference = true };
    CHECK(samba_compile(s[0], &p) && samba_run(s[0], 0) && has_value_of(y[0], y[1]));
    const float *got = samba_read(y[0]), *x = samba_read(samba_tensor_by_name(s[0], "x"));
    CHECK(got[0] == x[4] && got[2] == x[0] && got[4] == x[2]); // turned twice
    CHECK(samba_close(s[0]) == 0 && samba_close(s[1]) == 0);
}

// What an update makes may be an output, and a loss, which a program without the graph has, too.
static void test_update_as_output(void)
{
    samba_session *s = samba_open(NULL);
    float row[3] = { 5, 6, 7 };
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(2, 3), 1);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 3));
    samba_tensor *at = samba_zeros(s, "at", SAMBA_I32, SAMBA_SHAPE(1));
    samba_tensor *y = samba_write_rows(cache, x, at);
    samba_program p = { .loss = y, .outputs = { cache } };
    for (int infers = 0; infers < 2; infers++) {
        p.inference = infers == 1;
        CHECK(samba_compile(s, &p) && samba_write(x, row) && samba_run(s, 0));
        CHECK(has_value_of(y, cache) && samba_read(y)[2] == 7 && samba_read(y)[3] == 1);
    }
    CHECK(samba_close(s) == 0);
}

// A gradient that would read state as it was is refused, and a copy of it is the way out.
static void test_gradient_of_former_state(void)
{
    for (int copies = 0; copies < 2; copies++) {
        samba_session *s = samba_open(&(samba_desc){ .log = hear_nothing });
        samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(2, 3), 2);
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2, 3), (samba_init){ .value = 3 });
        samba_tensor *at = samba_zeros(s, "at", SAMBA_I32, SAMBA_SHAPE(1));
        samba_tensor *x = samba_full(s, SAMBA_SHAPE(1, 3), 9);
        samba_tensor *y = samba_mul(copies ? samba_scale(cache, 1) : cache, w);
        samba_program p = { .loss = samba_sum(y, SAMBA_ALL_AXES, false), .optim.kind = SAMBA_SGD };
        p.outputs[0] = samba_write_rows(cache, x, at);
        CHECK(samba_compile(s, &p) == (copies == 1));
        if (!copies) CHECK(said(s, "samba_scale(cache, 1)"));
        if (copies) CHECK(samba_run(s, 0) && samba_read(samba_sn_grad(w))[0] == 2);
        CHECK(samba_close(s) == 0);
    }
}

// ---- Memory ----

// A norm in place of x must not overwrite its weight, if that is x, too; nor softmax's gradient.
static void test_in_place_of_two(void)
{
    samba_tensor *y[2][4];
    samba_session *s[2];
    for (int eager = 0; eager < 2; eager++) {
        s[eager] = samba_open(NULL);
        if (eager) samba_set_tracing(s[eager], false);
        samba_tensor *x = samba_randn(s[eager], "x", SAMBA_SHAPE(300)), *t[4];
        for (int i = 0; i < 4; i++)
            t[i] = samba_shift(samba_tanh(x), 1.5f + (float)i);
        y[eager][0] = samba_rms_normalize(t[0], t[0], 1e-5f);
        y[eager][1] = samba_layer_normalize(t[1], t[1], t[1], 1e-5f);
        y[eager][2] = samba_layer_normalize(t[2], NULL, t[2], 1e-5f);
        y[eager][3] = samba_mul(t[3], t[3]);
    }
    samba_program p = { .outputs = { y[0][0], y[0][1], y[0][2], y[0][3] }, .inference = true };
    for (int i = 0; i < 4; i++)
        p.outputs[i] = samba_shift(y[0][i], 0); // t dies in the norm
    CHECK(samba_compile(s[0], &p) && samba_run(s[0], 0));
    for (int i = 0; i < 4; i++) {
        samba_tensor *want = samba_shift(y[1][i], 0);
        CHECK(has_value_of(p.outputs[i], want));
    }
    CHECK(samba_close(s[0]) == 0 && samba_close(s[1]) == 0);
}

// ---- Gradients ----

// d ab / da = b, and the other way round: a step of one must not be part of that of the other.
static void test_gradient_is_a_parameter(void)
{
    float steps[2][2];
    for (int mapping = 0; mapping < 2; mapping++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *a = samba_param(s, "a", SAMBA_SCALAR, (samba_init){ .value = 2 });
        samba_tensor *b = samba_param(s, "b", SAMBA_SCALAR, (samba_init){ .value = 3 });
        samba_program p = { .loss = samba_mul(a, b), .optim = { .kind = SAMBA_SGD, .lr = 1 } };
        p.mapping = (samba_mapping)mapping;
        p.optim.max_grad_norm = 100;
        CHECK(samba_compile(s, &p) && samba_run(s, 0));
        samba_copy_out(a, &steps[mapping][0], 4);
        samba_copy_out(b, &steps[mapping][1], 4);
        CHECK(samba_close(s) == 0);
    }
    for (int i = 0; i < 2; i++)
        CHECK(steps[i][0] == -1 && steps[i][1] == 1);
}

// d e^w / dw = e^w: there is nothing to compute in BCKWD, and the norm is all that OPT joins.
static void test_gradient_without_ops(void)
{
    float step[2];
    for (int mapping = 0; mapping < 2; mapping++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *w = samba_param(s, "w", SAMBA_SCALAR, (samba_init){ .value = 1 });
        samba_program p = { .loss = samba_exp(w), .optim = { .kind = SAMBA_SGD, .lr = 1 } };
        p.mapping = (samba_mapping)mapping;
        p.optim.max_grad_norm = 0.5f;
        CHECK(samba_compile(s, &p) && samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
        CHECK(samba_copy_out(w, &step[mapping], 4));
        CHECK(samba_close(s) == 0);
    }
    CHECK(step[0] == step[1] && step[0] > 0.4999f && step[0] < 0.5001f);
}

// With GraphAMP a gradient passes through bf16; it has the type of what it is the gradient of.
static void test_type_of_gradients(void)
{
    samba_session *s = samba_open(&(samba_desc){ .graphamp = SAMBA_MP4 });
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(2, 3));
    samba_tensor *y = samba_matmul(x, samba_randn(s, "w", SAMBA_SHAPE(3, 4)));
    samba_tensor *dx = samba_grad(samba_sum(y, SAMBA_ALL_AXES, false), x);
    CHECK(dx && dx->dtype == SAMBA_F32);
    samba_set_param_dtype(s, SAMBA_BF16);
    samba_tensor *w = samba_param(s, "half", SAMBA_SHAPE(2, 4), (samba_init){ .value = 1 });
    y = samba_matmul_transposed(x, true, w, false);
    dx = samba_grad(samba_sum(y, SAMBA_ALL_AXES, false), x);
    CHECK(dx && dx->dtype == SAMBA_F32);
    samba_tensor *half = samba_cast(samba_randn(s, "halves", SAMBA_SHAPE(1, 3)), SAMBA_BF16);
    y = samba_mul(half, samba_cast(x, SAMBA_BF16)); // stretched: its gradient is a sum
    y = samba_sum(samba_cast(y, SAMBA_F32), SAMBA_ALL_AXES, false);
    dx = samba_grad(y, half);
    CHECK(dx && dx->dtype == SAMBA_BF16);
    y = samba_gather(half, 1, samba_randint(s, "at", 3, SAMBA_SHAPE(1, 4)));
    dx = samba_grad(samba_sum(samba_cast(y, SAMBA_F32), SAMBA_ALL_AXES, false), half);
    CHECK(dx && dx->dtype == SAMBA_BF16);
    CHECK(samba_close(s) == 0);
}

// A program of leaves alone has nothing that a limit of memory could compute again.
static void test_limit_without_ops(void)
{
    samba_session *s = samba_open(&(samba_desc){ .log = hear_nothing });
    samba_program p = { .outputs = { samba_randn(s, "x", SAMBA_SHAPE(99)) }, .inference = true };
    p.memory = 64;
    CHECK(!samba_compile(s, &p) && said(s, "program.memory"));
    CHECK(samba_close(s) == 0);
}

// What the compiler makes has the name of its tensor and an ending. A tensor of the user's that is
// called so is never taken for it: compiling is refused, and goes on when it has another name.
static void test_names_of_the_compiler(void)
{
    enum { N = 6 };

    static const char *const names[N] = { "w__grad",     "w__momentum",    "total__grad",
                                          "total__mean", "total__targets", "each__grad" };
    static const float values[24];
    static const int32_t labels[8];
    const samba_shape shape = SAMBA_SHAPE(4, 3);
    for (int k = 0; k < N; k++) {
        samba_session *s = samba_open(&(samba_desc){ .log = hear_nothing });
        samba_tensor *x = samba_randn(s, "x", shape),
                     *label = samba_randint(s, "label", 3, SAMBA_SHAPE(4));
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 1 }),
                     *mine = NULL;
        samba_tensor *y = samba_mul(x, w),
                     *loss = samba_name(samba_cross_entropy(y, label), "total");
        samba_tensor *each = samba_name(samba_sum(y, SAMBA_AXES(1), false), "each");
        samba_program p = { .loss = k == 5 ? each : loss, .microbatches = k < 5 ? 2 : 1 };
        p.optim.kind = SAMBA_SGD;
        p.optim.momentum = 0.5f;
        if (k == 0 || k == 2) {
            mine = samba_name(samba_tanh(w), names[k]);
            p.outputs[0] = mine;
        } else if (k == 5)
            mine = samba_ones(s, names[k], SAMBA_F32,
                              SAMBA_SHAPE(4)); // as the compiler would make it
        else
            mine = samba_buffer(s, names[k], k == 1 ? SAMBA_SHAPE(3) : SAMBA_SCALAR, 7);
        CHECK(mine && !samba_compile(s, &p) && samba_error_code(s) == SAMBA_ENAME);
        CHECK(said(s, names[k]));
        CHECK(samba_name(mine, "mine") && samba_compile(s, &p));
        CHECK(samba_write(x, values) && (k == 5 || samba_write(label, labels)) && samba_run(s, 0));
        CHECK(samba_tensor_by_name(s, names[k]) != mine);
        CHECK(!samba_buffer(s, "w__momentum", SAMBA_SHAPE(3), 0)
              && said(s, "used twice")); // nor the other way round
        CHECK(samba_compile(s, &p) && samba_close(s) == 0);
    }
}

// Without microbatches nothing is made of an output that could be called like another one.
static void test_output_called_mean(void)
{
    static const char *const path = "build/test_called_mean.pef";
    const float in[3] = { 1, 2, 6 };
    for (int loaded = 0; loaded < 2; loaded++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(3), in);
        samba_tensor *sum = samba_name(samba_sum(x, SAMBA_ALL_AXES, false), "y");
        samba_tensor *mean = samba_name(samba_mean(x, SAMBA_ALL_AXES, false), "y__mean");
        samba_program p = { .outputs = { sum, mean }, .inference = true };
        CHECK(loaded ? samba_load(s, path, &p) : samba_compile(s, &p) && samba_save(s, path));
        CHECK(samba_write(x, in) && samba_run(s, 0));
        CHECK(samba_read(sum)[0] == 9.0f && samba_read(mean)[0] == 3.0f);
        CHECK(samba_close(s) == 0);
    }
    remove(path);
}

// Two losses whose names differ behind their 300th letter have two gradients.
static void test_gradients_of_long_names(void)
{
    char name[2][330];
    samba_session *s = samba_open(NULL);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 1 }), *loss[2];
    for (int i = 0; i < 2; i++) {
        memset(name[i], 'a', sizeof name[i] - 1);
        name[i][sizeof name[i] - 2] = (char)('b' + i);
        name[i][sizeof name[i] - 1] = 0;
        loss[i] = samba_name(samba_sum(i ? w : samba_mul(w, w), SAMBA_ALL_AXES, false), name[i]);
    }
    samba_program p = { .outputs = { loss[0], loss[1] },
                        .n_loss_indices = 2,
                        .loss_indices = { 0, 1 },
                        .optim.kind = SAMBA_SGD };
    const float none = 0;
    CHECK(samba_compile(s, &p) && samba_sn_grad(loss[0]) != samba_sn_grad(loss[1]));
    CHECK(samba_write(samba_sn_grad(loss[0]), &none) && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(samba_read(samba_sn_grad(w))[0] == 1.0f);
    CHECK(samba_close(s) == 0);
}

// ---- What the compiler records goes when it has compiled ----

static void keep_graph(const char *text, void *user)
{
    char *graph = (char *)user;
    strncat(graph, text, MOST_BYTES - strlen(graph) - 1);
}

static uint64_t hash_of_file(const char *path)
{
    uint64_t hash = 14695981039346656037u;
    size_t size;
    uint8_t *bytes = (uint8_t *)read_whole(path, &size);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    free(bytes);
    return size ? hash : 0;
}

static bool no_parameter(const samba_tensor *w, void *user)
{
    (void)w;
    (void)user;
    return false;
}

enum { TRAINS, IN_PARTS, SPATIAL, ADDS_UP, HALF, OBSERVED, AS_INT8, TRACED_KINDS };

static samba_program traced_program(samba_session *s, int kind)
{
    if (kind == HALF) samba_set_graphamp(s, SAMBA_MP4);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 6));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(4));
    samba_tensor *h = samba_dropout(samba_relu(samba_linear(x, "a", 8)), "drop", 0.5f);
    samba_tensor *y = samba_linear(h, "b", 3), *loss = samba_cross_entropy(y, label);

    samba_program p = { .pef = "build/test_compiles.pef", .outputs = { y } };
    p.inference = kind == OBSERVED || kind == AS_INT8;
    if (p.inference) p.quantize = SAMBA_CALIBRATE;
    if (p.inference) return p;

    p.loss = loss;
    p.optim = (samba_optim){ .kind = SAMBA_ADAMW, .lr = 0.1f };
    p.max_grad_norm = kind == TRAINS ? 1.0f : 0.0f;
    p.microbatches = kind == IN_PARTS ? 2 : 1;
    p.accumulate = kind == ADDS_UP;
    p.mapping = kind == SPATIAL ? SAMBA_MAPPING_SPATIAL : SAMBA_MAPPING_SECTION;
    return p;
}

// 200 compilations: the session has what was traced, the file has the same bytes each time.
static void test_compiles_leave_no_trace(void)
{
    for (int kind = 0; kind < TRACED_KINDS; kind++) {
        static char before[MOST_BYTES], after[MOST_BYTES];
        static const float some[4 * 6] = { 1, -2, 3, 0.5f };
        samba_session *s = samba_open(&(samba_desc){ .log = hear_nothing });
        samba_program p = traced_program(s, kind);
        *before = *after = 0;
        samba_print_graph(s, keep_graph, before);
        CHECK(*before && samba_compile(s, &p));
        if (kind == AS_INT8) {
            CHECK(samba_write(samba_tensor_by_name(s, "x"), some) && samba_run(s, SAMBA_FWD));
            p.quantize = SAMBA_INT8;
            CHECK(samba_compile(s, &p));
        }
        size_t held = samba_held_bytes(s);
        uint64_t hash = hash_of_file(p.pef);

        bool compiled = true;
        int times = kind == TRAINS ? 199 : 5;
        for (int i = 0; i < times; i++)
            compiled = samba_compile(s, &p) && compiled;
        CHECK(compiled && samba_held_bytes(s) == held && hash_of_file(p.pef) == hash);

        samba_program refused = p; // after gradients were recorded
        refused.inference = false;
        refused.quantize = SAMBA_NO_QUANTIZE;
        refused.loss = p.outputs[0];
        refused.optims = (samba_optim[]){ { .kind = SAMBA_SGD },
                                          { .kind = SAMBA_SGD, .select = no_parameter } };
        refused.n_optims = 2;
        refused.optim = (samba_optim){ .kind = SAMBA_NO_OPTIM };
        CHECK(!samba_compile(s, &refused) && said(s, "has no parameter that influences a loss"));

        samba_print_graph(s, keep_graph, after);
        CHECK(strcmp(before, after) == 0);
        CHECK(samba_close(s) == 0);
    }
    remove("build/test_compiles.pef");
    remove("build/test_compiles.pef.log");
    remove("build/test_compiles.pef.map");
}

// A scope of the caller's, in which something is compiled, keeps what it has, and ends as ever.
static void test_compile_in_scope(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(2), (float[]){ 1, 2 });
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 3 });
    samba_tensor *loss = samba_sum(samba_mul(x, w), SAMBA_ALL_AXES, false);
    samba_program p = { .loss = loss, .optim = { .kind = SAMBA_SGD, .lr = 1 } };

    CHECK(samba_scope_begin(s));
    samba_set_tracing(s, false);
    samba_tensor *eager = samba_scale(x, 10);
    CHECK(samba_compile(s, &p) && !samba_tracing(s));
    CHECK(samba_read(eager)[1] == 20.0f);
    CHECK(samba_write(x, (float[]){ 1, 2 }) && samba_run(s, 0) && samba_read(w)[1] == 1.0f);
    samba_tensor *later = samba_scale(eager, 2);
    CHECK(samba_read(later)[1] == 40.0f && samba_scope_end(s));
    CHECK(samba_run(s, 0) && samba_read(w)[1] == -1.0f);
    CHECK(samba_close(s) == 0);
}

int main(void)
{
    RUN(test_state_in_order);
    RUN(test_state_written_with_itself);
    RUN(test_update_as_output);
    RUN(test_gradient_of_former_state);
    RUN(test_in_place_of_two);
    RUN(test_gradient_is_a_parameter);
    RUN(test_gradient_without_ops);
    RUN(test_type_of_gradients);
    RUN(test_limit_without_ops);
    RUN(test_outputs_have_values);
    RUN(test_compiles_leave_no_trace);
    RUN(test_compile_in_scope);
    RUN(test_equal_in_two_graphs);
    RUN(test_equal_losses);
    RUN(test_traced_gradient);
    RUN(test_scalar_of_a_loss);
    RUN(test_scalar_of_another_type);
    RUN(test_levels_sum_alike);
    RUN(test_levels_read_packed);
    RUN(test_names_of_the_compiler);
    RUN(test_output_called_mean);
    RUN(test_gradients_of_long_names);
    return test_summary();
}
