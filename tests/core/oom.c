// Memory that runs out. Each scenario is repeated with allocation number n = 0, 1, 2 ... failing,
// once or from then on, until it succeeds. Each time: a clean SAMBA_ENOMEM, no crash, nothing left.
//     cc -O2 -I. tests/core/oom.c -lm -pthread -o oom && ./oom
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include "tests/lib/hook.h"

enum { N = 2, CHANNELS = 4, SIDE = 6, CLASSES = 3, PATH = 600 };

typedef void (*scenario)(samba_session *s);

static char checkpoint[PATH], program_file[PATH];

static void write_ones(samba_tensor *t)
{
    static float ones[4 * N * SIDE * SIDE];
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        ones[i] = 1.0f;
    if (t && samba_bytes(t) <= sizeof ones) samba_write(t, ones);
}

static void write_labels(samba_tensor *t)
{
    static const int32_t labels[4 * N] = { 0, 1, 2, 0, 1, 2, 0, 1 };
    if (t && samba_bytes(t) <= sizeof labels) samba_write(t, labels);
}

// Convolution, batch norm, dropout, attention over the pixels, and a linear layer.
static samba_tensor *net(samba_tensor *image)
{
    samba_conv_opts same = { { 0, 0 }, { 1, 1 }, { 0, 0 }, 0 };
    samba_tensor *h = samba_conv2d(image, "conv", CHANNELS, 3, &same);
    h = samba_relu(samba_batchnorm(h, "norm"));
    h = samba_dropout(h, "drop", 0.25f);
    h = samba_reshape(h, SAMBA_SHAPE(N, CHANNELS, SIDE * SIDE));
    h = samba_transpose(h, 1, 2);
    h = samba_scaled_dot_product_attention(h, h, h, NULL, NULL);
    return samba_linear(samba_flatten(h, 1), "head", CLASSES);
}

typedef struct model {
    samba_tensor *image, *label, *logits, *loss;
} model;

static model trace(samba_session *s)
{
    model m;
    m.image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(N, 1, SIDE, SIDE));
    m.label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(N));
    m.logits = net(m.image);
    m.loss = samba_cross_entropy(m.logits, m.label);
    return m;
}

static samba_program training(const model *m)
{
    samba_program p = { 0 };
    p.loss = m->loss;
    p.outputs[0] = m->logits;
    p.optim.kind = SAMBA_ADAMW;
    p.optim.weight_decay = 0.01f;
    p.optim.max_grad_norm = 1.0f;
    return p;
}

static void good_loss(const model *m)
{
    if (!m->loss || !samba_ok(m->loss->session)) return;
    float loss = samba_read(m->loss)[0];
    CHECK(loss > 0.0f && loss < 100.0f);
}

// ---- Scenarios: ordinary programs that look at no return value ----

static void train_and_load(samba_session *s)
{
    model m = trace(s);
    samba_program p = training(&m);
    p.pef = program_file;
    samba_compile(s, &p);
    samba_load(s, program_file, &p);
    write_ones(m.image);
    write_labels(m.label);
    samba_run(s, 0);
    good_loss(&m);
}

static void load_by_names(samba_session *s)
{
    samba_load(s, checkpoint, NULL);
    write_ones(samba_tensor_by_name(s, "image"));
    write_labels(samba_tensor_by_name(s, "label"));
    samba_run(s, SAMBA_FWD);
    samba_read(samba_tensor_by_name(s, "head"));
}

static void microbatches(samba_session *s)
{
    model m = trace(s);
    samba_program p = training(&m);
    p.microbatches = 2;
    p.level = SAMBA_O1;
    samba_compile(s, &p);
    write_ones(m.image);
    write_labels(m.label);
    samba_run(s, 0);
    good_loss(&m);
}

static void two_optimizers(samba_session *s)
{
    model m = trace(s);
    samba_program p = training(&m);
    samba_optim optims[2];
    samba_tensor *head = samba_tensor_by_name(s, "head__weight");
    memset(optims, 0, sizeof optims);
    optims[0].kind = SAMBA_SGD;
    optims[0].momentum = 0.9f;
    optims[0].params = &head;
    optims[0].n_params = 1;
    optims[1] = p.optim;
    memset(&p.optim, 0, sizeof p.optim);
    p.optims = optims;
    p.n_optims = 2;
    p.level = SAMBA_O0;
    if (head) samba_compile(s, &p);
    write_ones(m.image);
    write_labels(m.label);
    samba_run(s, 0);
    good_loss(&m);
}

static void train_then_infer(samba_session *s)
{
    model m = trace(s);
    samba_program p = training(&m), q = { 0 };
    samba_compile(s, &p);
    q.inference = true;
    q.outputs[0] = m.logits;
    samba_compile(s, &q);
    write_ones(m.image);
    samba_run(s, 0);
    samba_read(m.logits);
    samba_fetch_state(s, SAMBA_KEPT);
    samba_cpu(m.logits);
    samba_send_state(s, SAMBA_KEPT);
}

static void eager(samba_session *s)
{
    samba_set_tracing(s, false);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(8, 16));
    samba_tensor *ids = samba_randint(s, "ids", 8, SAMBA_SHAPE(5));
    samba_tensor *y = samba_softmax(samba_linear(x, "fc", 32), 1);
    samba_tensor *parts[4];
    samba_split(y, 8, 1, parts, 4);
    y = samba_cat(parts, 4, 0);
    y = samba_add(y, samba_mean(y, SAMBA_AXES(0), true));
    y = samba_sum(samba_lookup(ids, y), SAMBA_ALL_AXES, false);
    samba_tensor *image = samba_ones(s, "image", SAMBA_F32, SAMBA_SHAPE(N, 1, SIDE, SIDE));
    samba_tensor *logits = net(image);
    if (samba_ok(s)) CHECK(samba_read(y)[0] > 0.0f && samba_read(logits)[0] < 100.0f);
}

static void gradients(samba_session *s)
{
    samba_set_tracing(s, false);
    samba_tensor *x = samba_rand(s, "x", SAMBA_SHAPE(4, 3));
    samba_tensor *y = samba_sum(samba_mul(samba_tanh(x), x), SAMBA_ALL_AXES, false);
    samba_tensor *dx = samba_grad(y, x);
    samba_tensor *ddx = samba_grad(dx, x);
    if (samba_ok(s)) CHECK(samba_read(dx)[0] > 0.0f && samba_read(ddx)[0] > -10.0f);
}

static void save_and_restore(samba_session *s)
{
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    samba_program p = { 0 };
    p.loss = samba_sum(samba_linear(x, "fc", 2), SAMBA_ALL_AXES, false);
    p.optim.kind = SAMBA_ADAM;
    samba_compile(s, &p);
    samba_run(s, 0);
    samba_save(s, checkpoint);
    samba_restore(s, checkpoint);
}

static void twice_kernel(const samba_args *a)
{
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = 2.0f * a->in[0][i];
}

static void twice_gradient(samba_vjp *g)
{
    g->din[0] = samba_scale(g->dout[0], 2.0f);
}

static void own_ops(samba_session *s)
{
    static const char *const names[20] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                           "k", "l", "m", "n", "o", "p", "q", "r", "s", "t" };
    samba_op op = { 0 };
    samba_program p = { 0 };
    op.signature = "*->*";
    op.kernel = twice_kernel;
    op.vjp = twice_gradient;
    for (uint32_t i = 0; i < 20; i++) {
        op.name = names[i];
        op.wire = 0x8000 + i;
        samba_register_op(s, &op);
    }
    samba_tensor *h = samba_linear(samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(3)), "fc", 3);
    h = samba_apply(s, "t", &h, 1, NULL, 0);
    p.loss = samba_sum(h, SAMBA_ALL_AXES, false);
    p.optim.kind = SAMBA_SGD;
    p.pef = program_file;
    samba_compile(s, &p);
    samba_load(s, program_file, &p);
    samba_run(s, 0);
}

// More names than any first table of a container holds.
static void many_tensors(samba_session *s)
{
    samba_tensor *h = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(4));
    samba_program p = { 0 };
    for (int i = 0; i < 700; i++)
        h = samba_shift(samba_tanh(h), 0.5f);
    p.inference = true;
    p.outputs[0] = h;
    samba_compile(s, &p);
    samba_run(s, 0);
    samba_read(h);
}

// ---- One scenario with one failing allocation ----

// Whatever comes after a failure may fail again, with any error, but not crash.
static void go_on(samba_session *s, scenario run)
{
    samba_clear_error(s);
    run(s);
    samba_clear_error(s);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_ones(s, "after", SAMBA_F32, SAMBA_SHAPE(5, 40));
    samba_tensor *y = samba_matmul(x, samba_transpose(x, 0, 1));
    if (samba_ok(s)) CHECK(y && samba_read(y)[0] == 40.0f);
    samba_clear_error(s);
    samba_run(s, 0);
}

// True while the scenario still fails.
static bool fails_at(scenario run, long n, bool forever, bool then_go_on)
{
    hook h;
    samba_desc d = hook_desc(&h);
    h.fail_at = n;
    h.forever = forever;
    samba_session *s = samba_open(&d);
    if (s) run(s);
    bool failed = h.n_failed > 0;
    if (!s) {
        CHECK(n == 0 && failed);
    } else {
        CHECK(samba_ok(s) == !failed);
        if (failed) CHECK(samba_error_code(s) == SAMBA_ENOMEM);
        if (failed)
            CHECK(strstr(samba_error(s), "bytes") != NULL);
        else if (!samba_ok(s))
            printf("    %s\n", samba_error(s));
        CHECK(samba_held_bytes(s) == h.live);
        if (failed && then_go_on) go_on(s, run);
        CHECK(samba_held_bytes(s) == h.live);
        samba_close(s);
    }
    CHECK(h.live == 0 && h.n_live == 0 && h.n_wrong == 0);
    const char *how = forever ? "and all later ones" : "once";
    if (test_bad) printf("    with allocation %ld failing %s\n", n, how);
    return failed;
}

static void every_allocation(scenario run)
{
    for (int mode = 0; mode < 3; mode++) {
        long n = 0;
        while (!test_bad && n < 10000 && fails_at(run, n, mode == 1, mode == 2))
            n++;
        CHECK(n >= 8 && n < 10000); // a scenario that allocates nothing tests nothing
    }
}

static void test_training(void)
{
    every_allocation(train_and_load);
}

static void test_load_by_names(void)
{
    samba_session *s = samba_open(NULL);
    model m = trace(s);
    samba_program p = training(&m);
    CHECK(samba_compile(s, &p) && samba_save(s, checkpoint));
    CHECK(samba_close(s) == 0);
    every_allocation(load_by_names);
}

static void test_microbatches(void)
{
    every_allocation(microbatches);
}

static void test_two_optimizers(void)
{
    every_allocation(two_optimizers);
}

static void test_inference(void)
{
    every_allocation(train_then_infer);
}

static void test_eager(void)
{
    every_allocation(eager);
}

static void test_gradients(void)
{
    every_allocation(gradients);
}

static void test_own_ops(void)
{
    every_allocation(own_ops);
}

static void test_many_tensors(void)
{
    every_allocation(many_tensors);
}

// The checkpoint that was there survives every save that fails.
static void test_checkpoint(void)
{
    hook h;
    samba_desc d = hook_desc(&h);
    samba_session *s = samba_open(&d);
    save_and_restore(s);
    CHECK(samba_ok(s));
    for (long n = 0; n < 3; n++) {
        h.fail_at = h.n_calls + n;
        bool saved = samba_save(s, checkpoint);
        CHECK(saved == (h.n_calls <= h.fail_at));
        if (saved) break;
        CHECK(n < 2 && samba_error_code(s) == SAMBA_ENOMEM);
        samba_clear_error(s);
        h.fail_at = -1;
        CHECK(samba_restore(s, checkpoint));
    }
    CHECK(samba_close(s) == 0);
    every_allocation(save_and_restore);
}

// A log may use samba.h, whatever ran out: here it makes a tensor in a session of its own.
static samba_session *of_the_log;

static void log_with_tensors(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)user;
    CHECK(strstr(text, "SAMBA_ENOMEM"));
    CHECK(samba_ones(of_the_log, "note", SAMBA_F32, SAMBA_SHAPE(2)));
}

static void test_log_uses_samba(void)
{
    bool enough = false;
    for (long n = 0; n < 1000 && !enough; n++) {
        hook h;
        samba_desc d = hook_desc(&h);
        d.log = log_with_tensors;
        of_the_log = samba_open(NULL);
        h.fail_at = n;
        samba_session *s = samba_open(&d);
        if (s) many_tensors(s);
        enough = h.n_failed == 0;
        samba_close(s);
        CHECK(samba_close(of_the_log) == 0);
        CHECK(h.live == 0);
        CHECK(h.n_wrong == 0);
    }
    CHECK(enough);
}

// One step of the model, in a session of its own.
enum { WEIGHTS = CHANNELS * 3 * 3 };

static model one_step(samba_session *s)
{
    model m = trace(s);
    samba_program p = training(&m);
    CHECK(samba_compile(s, &p));
    write_ones(m.image);
    write_labels(m.label);
    CHECK(samba_run(s, 0));
    return m;
}

static void read_weights(samba_session *s, float *w)
{
    CHECK(samba_copy_out(samba_tensor_by_name(s, "conv__weight"), w, WEIGHTS * sizeof *w));
}

// A compilation that fails leaves what was trained before; above all, a place on the host that
// nothing was written to does not pass for a newer value, which would be sent to the device.
static void test_compiling_again(void)
{
    float want[WEIGHTS], got[WEIGHTS];
    samba_session *other = samba_open(NULL);
    one_step(other);
    read_weights(other, want);
    CHECK(samba_close(other) == 0);

    bool compiled = false;
    int compared = 0;
    for (long n = 0; n < 1000 && !compiled; n++) {
        hook h;
        samba_desc d = hook_desc(&h);
        samba_session *s = samba_open(&d);
        model m = one_step(s);
        samba_program q = { 0 };
        q.inference = true;
        q.outputs[0] = m.logits;
        h.fail_at = h.n_calls + n;
        compiled = samba_compile(s, &q);
        h.fail_at = -1;

        samba_clear_error(s);
        if (samba_ok(s)) { // else a container has lost its memory, and the error stays
            CHECK(samba_send_state(s, SAMBA_KEPT));
            read_weights(s, got);
            CHECK(memcmp(got, want, sizeof want) == 0);
            compared++;
        }
        samba_close(s);
        CHECK(h.live == 0 && h.n_wrong == 0);
    }
    CHECK(compiled && compared > 8);
}

// A size that no machine has is an error, too.
static void test_too_large(void)
{
    hook h;
    samba_desc d = hook_desc(&h);
    samba_session *s = samba_open(&d);
    CHECK(!samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(1 << 20, 1 << 20)));
    CHECK(samba_error_code(s) == SAMBA_ENOMEM);
    samba_clear_error(s);
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(1 << 20, 1 << 20));
    samba_program p = { 0 };
    p.inference = true;
    p.outputs[0] = samba_tanh(y);
    CHECK(!samba_compile(s, &p));
    CHECK(samba_error_code(s) == SAMBA_ENOMEM);
    samba_close(s);
    CHECK(h.live == 0 && h.n_wrong == 0);
}

int main(int argc, char **argv)
{
    const char *program = argc > 0 ? argv[0] : "oom";
    char log[PATH + 8], map[PATH + 8];
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    snprintf(checkpoint, sizeof checkpoint, "%.500s.ckpt", program);
    snprintf(program_file, sizeof program_file, "%.500s.pef", program);
    snprintf(log, sizeof log, "%s.log", program_file);
    snprintf(map, sizeof map, "%s.map", program_file);
    RUN(test_training);
    RUN(test_load_by_names);
    RUN(test_microbatches);
    RUN(test_two_optimizers);
    RUN(test_inference);
    RUN(test_eager);
    RUN(test_gradients);
    RUN(test_own_ops);
    RUN(test_log_uses_samba);
    RUN(test_many_tensors);
    RUN(test_checkpoint);
    RUN(test_compiling_again);
    RUN(test_too_large);
    remove(checkpoint);
    remove(program_file);
    remove(log);
    remove(map);
    return test_summary();
}
