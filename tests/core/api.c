// The session, feature by feature: running, hyperparameters, values, files, eager ops, threads,
// own ops, command line.
//     cc -O2 -I. tests/core/api.c -lm -pthread -o api && ./api
// run: threads
#define _POSIX_C_SOURCE 200809L
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_DOT_GRAPH_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/sambaflow.h"
#include "tools/include/samba/driver.h"
#include "tools/include/samba/dot_graph.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include <pthread.h>

enum { B = 8, F = 5, H = 6, C = 3, PATH = 600 };

enum { WIDE_B = 96, WIDE_H = 300 }; // enough work for several threads

static char pef_path[PATH], checkpoint_path[PATH], folder[PATH];

// ---- A model with all that a session has to keep: weights, statistics, dropout, counters ----

typedef struct model {
    samba_session *s;
    samba_tensor *x, *label, *hidden, *logits, *loss;
} model;

static void silence(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

static samba_session *quiet(uint64_t seed, int32_t threads)
{
    samba_desc d = { 0 };
    d.seed = seed;
    d.threads = threads;
    d.log = silence;
    return samba_open(&d);
}

static void trace_sized(model *m, samba_session *s, int32_t batch, int32_t hidden, float rate)
{
    m->s = s;
    m->x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(batch, F));
    m->label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(batch));
    m->hidden = samba_tanh(samba_batchnorm(samba_linear(m->x, "one", hidden), "norm"));
    m->hidden = samba_dropout(m->hidden, "drop", rate);
    m->logits = samba_linear(m->hidden, "two", C);
    m->loss = samba_cross_entropy(m->logits, m->label);
}

static void trace(model *m, samba_session *s)
{
    trace_sized(m, s, B, H, 0.5f);
}

static samba_program training(const model *m)
{
    samba_program p = { 0 };
    p.loss = m->loss;
    p.outputs[0] = m->logits;
    p.outputs[1] = m->hidden;
    p.optim.kind = SAMBA_ADAMW;
    p.optim.lr = 0.01f;
    p.optim.weight_decay = 0.1f;
    return p;
}

static void batch_of(float *x, int32_t *label, int n, int step)
{
    for (int i = 0; i < n * F; i++) { // two statements: nothing may be contracted
        x[i] = (float)((i * 7 + step * 3) % 11) * 0.2f;
        x[i] -= 1.0f;
    }
    for (int i = 0; i < n; i++)
        label[i] = (i + step) % C;
}

static void write_batch(const model *m, int step)
{
    float x[B * F];
    int32_t label[B];
    batch_of(x, label, B, step);
    CHECK(samba_write(m->x, x) && samba_write(m->label, label));
}

static void open_trained(model *m, int32_t threads)
{
    trace(m, quiet(7, threads));
    samba_program p = training(m);
    CHECK(samba_compile(m->s, &p));
    write_batch(m, 0);
}

static uint64_t hash_of(const model *m)
{
    CHECK(samba_weight_names(m->s, NULL, 0) == 6);
    return hash_weights(m->s, 0);
}

// Closes, and tells what went wrong if anything did.
static void end(samba_session *s)
{
    CHECK(samba_ok(s));
    if (!samba_ok(s)) printf("    %s\n", samba_error(s));
    samba_close(s);
}

// ---- Running ----

static void run_by_words(model *m)
{
    static const char *const words[3] = { "Fwd", "BCKWD", "opt" };
    samba_session_run_desc d = { 0 };
    d.section_types = words;
    d.n_section_types = 3;
    CHECK(samba_session_run(m->s, &d));
}

static void run_by_ids(model *m)
{
    samba_run_desc d = { 0 };
    int32_t ids[16], n = (int32_t)m->s->program.rt->pef.n_sections;
    for (int32_t i = 0; i < n && i < 16; i++)
        ids[i] = i;
    d.section_ids = ids;
    d.n_section_ids = n;
    CHECK(n <= 16 && samba_run_with(m->s, &d));
}

// Five steps, run in one of six ways, end in the same weights.
static void test_ways_to_run(void)
{
    uint64_t want = 0;
    for (int way = 0; way < 6; way++) {
        model m;
        samba_run_desc all = { 0 };
        open_trained(&m, 1);
        CHECK(samba_section_types(m.s) == (SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
        for (int step = 0; step < 5; step++) {
            write_batch(&m, step);
            if (way == 0) CHECK(samba_run(m.s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
            if (way == 1) CHECK(samba_run(m.s, 0));
            if (way == 2)
                CHECK(samba_run(m.s, SAMBA_FWD) && samba_run(m.s, SAMBA_BCKWD)
                      && samba_run(m.s, SAMBA_OPT));
            if (way == 3) run_by_words(&m);
            if (way == 4) run_by_ids(&m);
            if (way == 5) CHECK(step % 2 ? samba_run_with(m.s, &all) : samba_run_with(m.s, NULL));
        }
        if (way == 0) want = hash_of(&m);
        CHECK(hash_of(&m) == want);
        CHECK(!samba_tracing(m.s));
        end(m.s);
    }
}

// Backward alone uses the activations of the last forward; without OPT nothing is learnt.
static void test_parts_of_a_step(void)
{
    model m;
    open_trained(&m, 1);
    uint64_t before = hash_of(&m);
    CHECK(samba_run(m.s, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(hash_of(&m) == before);
    float loss = samba_read(m.loss)[0];
    samba_tensor *dw = samba_sn_grad(samba_tensor_by_name(m.s, "two__weight"));
    float slope = samba_read(dw)[0];
    CHECK(loss > 0.1f && slope != 0.0f);
    CHECK(samba_run(m.s, SAMBA_BCKWD) && samba_read(dw)[0] == slope);
    CHECK(samba_read(m.loss)[0] == loss);
    CHECK(samba_run(m.s, SAMBA_OPT) && hash_of(&m) != before);
    end(m.s);
}

static bool refused(samba_session *s, bool ran, const char *text)
{
    bool fine = !ran && samba_error_code(s) == SAMBA_ESTATE && strstr(samba_error(s), text);
    samba_clear_error(s);
    return fine;
}

// Where the backward pass takes the memory of activations, it runs once after each forward pass.
static void test_backward_needs_forward(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 4)), *h = x;
    samba_set_sharing(s, true);
    for (int i = 0; i < 4; i++)
        h = samba_tanh(samba_linear(h, i % 2 ? "odd" : "even", 4));
    samba_compile(s,
                  &(samba_program){ .loss = samba_mean(h, SAMBA_ALL_AXES, false),
                                    .optim = { .kind = SAMBA_SGD, .lr = 0.1f } });
    samba_write(x, (float[]){ 1, 2, 3, 4, 5, 6, 7, 8 });
    samba_tensor *dw = samba_sn_grad(samba_tensor_by_name(s, "odd__weight"));
    CHECK(refused(s, samba_run(s, SAMBA_BCKWD), "has not run"));
    CHECK(samba_run(s, SAMBA_FWD) && samba_run(s, SAMBA_BCKWD));
    float slope = samba_read(dw)[0];
    CHECK(slope != 0);
    CHECK(refused(s, samba_run(s, SAMBA_BCKWD), "taken its memory"));
    CHECK(refused(s, samba_run(s, SAMBA_BCKWD | SAMBA_OPT), "taken its memory"));
    samba_run_desc twice = { .types = { SAMBA_FWD | SAMBA_BCKWD, SAMBA_BCKWD } };
    CHECK(refused(s, samba_run_with(s, &twice), "taken its memory"));
    CHECK(samba_read(dw)[0] == slope);
    CHECK(samba_run(s, SAMBA_FWD) && samba_run(s, SAMBA_FWD) && samba_run(s, SAMBA_BCKWD));
    CHECK(samba_read(dw)[0] == slope);
    end(s);
}

// Losses fall, whatever the number of threads, to the same bits; SIMD or not.
static void test_threads_agree(void)
{
    static float x[WIDE_B * F];
    static int32_t label[WIDE_B];
    uint64_t want = 0;
    float first = 0.0f;
    for (int32_t n = 1; n <= 5; n++) {
        model m;
        samba_desc d = { 0 };
        d.threads = n;
        d.portable = n == 4;
        d.seed = 7;
        trace_sized(&m, samba_open(&d), WIDE_B, WIDE_H, 0.5f);
        samba_program p = training(&m);
        CHECK(samba_compile(m.s, &p));
        batch_of(x, label, WIDE_B, 0);
        CHECK(samba_write(m.x, x) && samba_write(m.label, label));
        for (int step = 0; step < 40; step++) {
            CHECK(samba_run(m.s, 0));
            if (step == 0) first = samba_read(m.loss)[0];
        }
        CHECK(samba_read(m.loss)[0] < first);
        if (n == 1) want = hash_of(&m);
        CHECK(hash_of(&m) == want);
        end(m.s);
    }
}

// ---- Hyperparameters ----

// Compiling again keeps what inputs were given last, or asks for it.
static void test_inputs_of_the_next_program(void)
{
    float mine[2] = { 1, 2 };
    const float newer[2] = { 5, 6 };
    samba_session *s = quiet(1, 1);
    samba_tensor *drawn = samba_randn(s, "drawn", SAMBA_SHAPE(2));
    samba_tensor *copied = samba_from_data_copy(s, "copied", SAMBA_F32, SAMBA_SHAPE(2), mine);
    samba_tensor *borrowed = samba_from_data(s, "borrowed", SAMBA_F32, SAMBA_SHAPE(2), mine);
    samba_tensor *y = samba_add(samba_add(drawn, copied), borrowed);
    samba_program p = { .outputs = { y }, .inference = true };
    CHECK(samba_compile(s, &p));
    CHECK(samba_write(drawn, newer) && samba_write(copied, newer));
    CHECK(samba_run(s, 0) && samba_read(y)[0] == 11 && samba_read(y)[1] == 14);
    CHECK(samba_compile(s, &p) && samba_run(s, 0));
    CHECK(samba_read(y)[0] == 11 && samba_read(y)[1] == 14);
    CHECK(samba_write(borrowed, newer) && samba_compile(s, &p));
    CHECK(!samba_run(s, 0) && strstr(samba_error(s), "borrowed"));
    samba_clear_error(s);
    CHECK(samba_write(borrowed, newer) && samba_run(s, 0) && samba_read(y)[0] == 15);
    mine[0] = 7; // an edit is newer than a write
    CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_read(y)[0] == 17);
    end(s);
}

static void test_hyperparameters(void)
{
    model m;
    const char *names[20];
    open_trained(&m, 1);
    int32_t n = samba_argin_names(m.s, names, 20), found = 0;
    for (int32_t i = 0; i < n && i < 20; i++) {
        found += !strcmp(names[i], "lr") || !strcmp(names[i], "drop__p")
            || !strcmp(names[i], "beta2");
    }
    CHECK(n >= 6 && found == 3 && samba_argin_names(m.s, NULL, 0) == n);
    CHECK(samba_get(m.s, "lr") == (double)0.01f && samba_get(m.s, "weight_decay") == (double)0.1f);
    CHECK(samba_get(m.s, "beta1") == (double)0.9f && samba_get(m.s, "beta2") == (double)0.997f);
    CHECK(samba_get(m.s, "eps") == (double)1e-8f);
    CHECK(samba_get(m.s, "p") == 0.5 && samba_get(m.s, "drop__p") == 0.5);
    CHECK(samba_set(m.s, "p", 0.25) && samba_get(m.s, "drop__p") == 0.25);
    CHECK(samba_set(m.s, "drop__seed", 4000000000.0));
    CHECK(samba_get(m.s, "drop__seed") == 4000000000.0);
    CHECK(samba_set(m.s, "lr", 0.0) && samba_set(m.s, "weight_decay", 0.0));
    uint64_t before = hash_of(&m);
    for (int i = 0; i < 3; i++)
        CHECK(samba_run(m.s, 0));
    CHECK(hash_of(&m) == before && samba_get(m.s, "lr") == 0.0); // it lasts
    samba_value values[2] = { { "lr", 0.5 }, { "weight_decay", 0.125 } };
    samba_run_desc d = { 0 };
    d.hyperparams = values;
    d.n_hyperparams = 2;
    CHECK(samba_run_with(m.s, &d) && hash_of(&m) != before);
    CHECK(samba_get(m.s, "lr") == 0.5 && samba_get(m.s, "weight_decay") == 0.125);
    end(m.s);
}

static samba_optim optim_of(samba_optim_kind kind, samba_tensor *const *params, int32_t n,
                            const char *region)
{
    samba_optim o = { 0 };
    o.kind = kind;
    o.lr = 0.1f;
    o.params = params;
    o.n_params = n;
    o.argin_region_name = region;
    return o;
}

static bool moves(samba_session *s, const char *name)
{
    samba_tensor *w = samba_tensor_by_name(s, name);
    float before = samba_read(w)[0];
    CHECK(samba_run(s, 0));
    return samba_read(w)[0] != before;
}

// Two optimizers, each with its region: "lr" means both, "head_lr" one. A third parameter has none.
static void test_regions(void)
{
    samba_session *s = quiet(1, 1);
    samba_tensor *x = samba_rand(s, "x", SAMBA_SHAPE(4, 3));
    samba_tensor *h = samba_tanh(samba_linear(x, "body", 3));
    h = samba_sigmoid(samba_linear_no_bias(h, "free", 3));
    samba_program p = { 0 };
    p.loss = samba_sum(samba_linear(h, "head", 1), SAMBA_ALL_AXES, false);
    samba_tensor *body[2], *head[2];
    body[0] = samba_tensor_by_name(s, "body__weight");
    body[1] = samba_tensor_by_name(s, "body__bias");
    head[0] = samba_tensor_by_name(s, "head__weight");
    head[1] = samba_tensor_by_name(s, "head__bias");
    samba_optim optims[2];
    optims[0] = optim_of(SAMBA_SGD, body, 2, "body_");
    optims[1] = optim_of(SAMBA_ADAM, head, 2, "head_");
    p.optims = optims;
    p.n_optims = 2;
    CHECK(samba_compile(s, &p));
    CHECK(moves(s, "body__weight") && moves(s, "head__weight") && !moves(s, "free__weight"));
    CHECK(samba_set(s, "head_lr", 0.0) && samba_get(s, "head_lr") == 0.0);
    CHECK(samba_get(s, "body_lr") == (double)0.1f);
    CHECK(moves(s, "body__weight") && !moves(s, "head__weight"));
    CHECK(samba_set(s, "lr", 0.25) && samba_get(s, "head_lr") == 0.25);
    CHECK(samba_get(s, "body_lr") == 0.25);
    CHECK(samba_set(s, "body_lr", 0.0) && !moves(s, "body__weight") && moves(s, "head__weight"));
    CHECK(samba_read(samba_sn_grad(samba_tensor_by_name(s, "free__weight"))) != NULL);
    end(s);
}

// ---- Training and not: dropout and batch norm ----

static bool drops(const model *m)
{
    const float *h = samba_read(m->hidden);
    int zeros = 0;
    for (int i = 0; i < B * H; i++)
        zeros += h[i] == 0.0f;
    return zeros > 5;
}

static bool in_modes(const samba_session *s, bool train, bool running_stats)
{
    bool trains = !train, uses = !running_stats;
    samba_modes(s, &trains, &uses);
    return trains == train && uses == running_stats;
}

static void test_eval(void)
{
    model m;
    samba_run_desc eval = { 0 };
    float a[B * H], b[B * H];
    open_trained(&m, 1);
    CHECK(samba_run(m.s, SAMBA_FWD) && drops(&m) && samba_copy_out(m.hidden, a, sizeof a));
    CHECK(samba_run(m.s, SAMBA_FWD) && drops(&m) && samba_copy_out(m.hidden, b, sizeof b));
    CHECK(memcmp(a, b, sizeof a) != 0); // each run draws anew
    eval.eval = true;
    eval.types[0] = SAMBA_FWD;
    float mean = samba_read(samba_tensor_by_name(m.s, "norm__running_mean"))[0];
    CHECK(in_modes(m.s, true, false));
    CHECK(samba_use_running_stats(m.s, true) && in_modes(m.s, true, true));
    CHECK(samba_run_with(m.s, &eval) && !drops(&m) && samba_copy_out(m.hidden, a, sizeof a));
    CHECK(samba_run_with(m.s, &eval) && !drops(&m) && samba_copy_out(m.hidden, b, sizeof b));
    CHECK(memcmp(a, b, sizeof a) == 0);
    CHECK(samba_read(samba_tensor_by_name(m.s, "norm__running_mean"))[0] == mean);
    CHECK(samba_use_running_stats(m.s, false));
    CHECK(samba_run(m.s, SAMBA_FWD) && drops(&m)); // as before
    CHECK(samba_read(samba_tensor_by_name(m.s, "norm__running_mean"))[0] != mean);
    CHECK(samba_run_with(m.s, &eval) && samba_copy_out(m.hidden, a, sizeof a));
    CHECK(samba_set_train(m.s, false) && in_modes(m.s, false, false) && samba_run(m.s, SAMBA_FWD));
    CHECK(samba_copy_out(m.hidden, b, sizeof b));
    CHECK(memcmp(a, b, sizeof a) == 0); // two words for one thing
    CHECK(samba_set_train(m.s, true) && samba_run(m.s, SAMBA_FWD) && drops(&m));
    CHECK(samba_set(m.s, "p", 0.0) && samba_run(m.s, SAMBA_FWD) && !drops(&m));
    end(m.s);
}

// The same seed, and the same seed of the layer, draw the same; others draw others.
static void test_dropout_seeds(void)
{
    float values[4][B * H];
    for (int i = 0; i < 4; i++) {
        model m;
        trace(&m, quiet(i == 2 ? 8 : 7, 1));
        samba_program p = training(&m);
        CHECK(samba_compile(m.s, &p));
        write_batch(&m, 0);
        if (i == 3) CHECK(samba_set(m.s, "drop__seed", 1.0));
        CHECK(samba_run(m.s, 0) && samba_copy_out(m.hidden, values[i], sizeof values[i]));
        end(m.s);
    }
    CHECK(memcmp(values[0], values[1], sizeof values[0]) == 0);
    CHECK(memcmp(values[0], values[2], sizeof values[0]) != 0);
    CHECK(memcmp(values[0], values[3], sizeof values[0]) != 0);
}

// An inference program of the session: the weights learnt so far, running statistics, no dropout.
static void test_recompile_for_inference(void)
{
    model m;
    float want[B * C], x[B * F];
    int32_t label[B];
    samba_run_desc eval = { 0 };
    open_trained(&m, 1);
    for (int i = 0; i < 10; i++)
        CHECK(samba_run(m.s, 0));
    uint64_t weights = hash_of(&m);
    eval.eval = true;
    CHECK(samba_set(m.s, "lr", 0.0));
    eval.running_stats = true;
    eval.types[0] = SAMBA_FWD;
    CHECK(samba_run_with(m.s, &eval) && samba_copy_out(m.logits, want, sizeof want));
    samba_program infer = { 0 }, train = training(&m);
    infer.inference = true;
    infer.outputs[0] = m.logits;
    CHECK(samba_compile(m.s, &infer) && samba_section_types(m.s) == SAMBA_FWD);
    CHECK(hash_of(&m) == weights);
    batch_of(x, label, B, 0);
    CHECK(samba_write(m.x, x) && samba_run(m.s, 0));
    CHECK_CLOSE(samba_read(m.logits), want, B * C, 1e-5, 1e-6);
    CHECK(samba_compile(m.s, &train) && hash_of(&m) == weights); // and back to training
    CHECK(samba_get(m.s, "lr") == (double)0.01f);
    write_batch(&m, 0);
    CHECK(samba_run(m.s, 0) && hash_of(&m) != weights);
    end(m.s);
}

// One session trains two losses by turns; a weight may be out of the first and back in the third.
static void test_losses_by_turns(void)
{
    samba_session *s = quiet(3, 1);
    samba_tensor *x = samba_rand(s, "x", SAMBA_SHAPE(4, 3));
    samba_program p = { 0 }, q = { 0 };
    p.loss = samba_sum(samba_linear(x, "a", 2), SAMBA_ALL_AXES, false);
    q.loss = samba_sum(samba_linear(x, "b", 2), SAMBA_ALL_AXES, false);
    p.optim.kind = q.optim.kind = SAMBA_SGD;
    for (int i = 0; i < 3; i++) {
        CHECK(samba_compile(s, &p) && moves(s, "a__weight"));
        CHECK(samba_compile(s, &q) && moves(s, "b__weight"));
    }
    end(s);
}

// ---- Values ----

static void test_values_by_name(void)
{
    model m;
    float w[H * F], back[H * F];
    int32_t labels[B];
    open_trained(&m, 1);
    for (int i = 0; i < H * F; i++)
        w[i] = (float)i;
    samba_tensor *t = samba_tensor_by_name(m.s, "one__weight");
    CHECK(t && t->shape.ndim == 2 && t->shape.dim[0] == H && t->shape.dim[1] == F);
    CHECK(samba_bytes(t) == sizeof w);
    CHECK(samba_write(t, w) && samba_copy_out(t, back, sizeof back));
    CHECK(memcmp(w, back, sizeof w) == 0);
    CHECK(samba_copy_out(m.label, labels, sizeof labels) && labels[4] == 1);
    CHECK(samba_read_i32(m.label)[4] == 1);
    CHECK(samba_run(m.s, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(samba_tensor_by_name(m.s, "one__weight__grad") == samba_sn_grad(t));
    CHECK(samba_tensor_by_name(m.s, "two") == m.logits && samba_tensor_by_name(m.s, "x") == m.x);
    CHECK(samba_read(samba_tensor_by_name(m.s, "forward_runs__nobody"))[0] == 0.0f);
    CHECK(samba_error_code(m.s) == SAMBA_ENAME);
    samba_clear_error(m.s);
    // The gradient of the last bias is the mean of softmax minus one-hot.
    const float *logits = samba_read(m.logits);
    float want[C] = { 0 };
    for (int b = 0; b < B; b++) {
        float sum = 0.0f;
        for (int c = 0; c < C; c++)
            sum += expf(logits[b * C + c]);
        for (int c = 0; c < C; c++) {
            want[c] += (expf(logits[b * C + c]) / sum - (b % C == c ? 1.0f : 0.0f)) / B;
        }
    }
    CHECK_CLOSE(samba_read(samba_tensor_by_name(m.s, "two__bias__grad")), want, C, 1e-4, 1e-6);
    end(m.s);
}

static void test_host_copies(void)
{
    model m;
    open_trained(&m, 1);
    samba_tensor *b = samba_tensor_by_name(m.s, "two__bias");
    float *host = (float *)samba_cpu(b);
    CHECK(host && host[0] == samba_read(b)[0]);
    if (host) host[0] = 42.0f;
    CHECK(samba_read(b)[0] != 42.0f);
    CHECK(samba_rdu(b) && samba_read(b)[0] == 42.0f);
    CHECK(samba_fetch_state(m.s, SAMBA_KEPT));
    uint64_t before = hash_of(&m), after;
    CHECK(samba_run(m.s, 0) && (after = hash_of(&m)) != before);
    CHECK(!samba_fetch_state(m.s, SAMBA_KEPT_ALL) && samba_error_code(m.s) == SAMBA_EARG);
    samba_clear_error(m.s);
    CHECK(!samba_send_state(m.s, 16) && samba_error_code(m.s) == SAMBA_EARG);
    samba_clear_error(m.s);
    CHECK(samba_send_state(m.s, SAMBA_KEPT)
          && hash_of(&m) == after); // nothing was edited: the device is newer
    const char *names[32];
    for (int i = 0, n = samba_weight_names(m.s, names, 32); i < n; i++)
        CHECK(samba_rdu(samba_tensor_by_name(m.s, names[i])));
    CHECK(hash_of(&m) == before); // asked for
    end(m.s);
}

// from_data borrows: the program reads it at compile, and again when it is sent. The copy is a
// copy.
static void test_borrowed_data(void)
{
    float data[4] = { 1, 2, 3, 4 };
    samba_session *s = quiet(1, 1);
    samba_tensor *a = samba_from_data(s, "a", SAMBA_F32, SAMBA_SHAPE(4), data);
    samba_tensor *b = samba_from_data_copy(s, "b", SAMBA_F32, SAMBA_SHAPE(4), data);
    samba_program p = { 0 };
    p.inference = true;
    p.outputs[0] = samba_scale(a, 2.0f);
    p.outputs[1] = samba_scale(b, 2.0f);
    data[0] = 10.0f;
    CHECK(samba_compile(s, &p) && samba_run(s, 0));
    CHECK(samba_read(p.outputs[0])[0] == 20.0f && samba_read(p.outputs[1])[0] == 2.0f);
    data[0] = 100.0f;
    CHECK(samba_run(s, 0) && samba_read(p.outputs[0])[0] == 20.0f);
    samba_session_run_desc d = { 0 };
    d.inputs = &a;
    d.n_inputs = 1;
    CHECK(samba_session_run(s, &d) && samba_read(p.outputs[0])[0] == 200.0f);
    CHECK(samba_read(p.outputs[1])[0] == 2.0f);
    end(s);
    CHECK(data[0] == 100.0f && data[3] == 4.0f);
}

static double moment(const float *x, int n, int power)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += power == 1 ? (double)x[i] : (double)x[i] * (double)x[i];
    return sum / n;
}

static void test_random_values(void)
{
    enum { N = 10000 };

    samba_session *s = quiet(5, 1), *t = quiet(5, 1), *u = quiet(6, 1);
    samba_tensor *a = samba_randn(s, "a", SAMBA_SHAPE(N)), *b = samba_rand(s, "b", SAMBA_SHAPE(N));
    samba_tensor *c = samba_randint(s, "c", 10, SAMBA_SHAPE(N));
    samba_tensor *c2 = samba_randint(t, "c", 10, SAMBA_SHAPE(N));
    samba_tensor *w2 = samba_linear(samba_rand(t, "b", SAMBA_SHAPE(N)), "fc", 2);
    samba_tensor *a2 = samba_randn(t, "a", SAMBA_SHAPE(N));
    samba_tensor *other = samba_randn(t, "other", SAMBA_SHAPE(N));
    samba_tensor *w = samba_linear(b, "fc", 2);
    // whatever the order
    CHECK(w && w2 && memcmp(samba_read(a), samba_read(a2), N * 4) == 0);
    CHECK(memcmp(samba_read_i32(c), samba_read_i32(c2), N * 4) == 0);
    CHECK(memcmp(samba_read(samba_tensor_by_name(s, "fc__weight")),
                 samba_read(samba_tensor_by_name(t, "fc__weight")), 8 * N)
          == 0);
    CHECK(memcmp(samba_read(a), samba_read(other), N * 4) != 0);
    CHECK(memcmp(samba_read(a), samba_read(samba_randn(u, "a", SAMBA_SHAPE(N))), N * 4) != 0);
    CHECK(fabs(moment(samba_read(a), N, 1)) < 0.04);
    CHECK(fabs(moment(samba_read(a), N, 2) - 1.0) < 0.06);
    CHECK(fabs(moment(samba_read(b), N, 1) - 0.5) < 0.02);
    CHECK(fabs(moment(samba_read(b), N, 2) - 1.0 / 3.0) < 0.02);
    int count[10] = { 0 };
    for (int i = 0; i < N; i++) {
        int32_t k = samba_read_i32(c)[i];
        float v = samba_read(b)[i];
        CHECK((k >= 0 && k < 10 && v >= 0.0f && v < 1.0f) || test_bad);
        if (k >= 0 && k < 10) count[k]++;
    }
    for (int k = 0; k < 10; k++)
        CHECK(count[k] > 850 && count[k] < 1150);
    CHECK(samba_read(samba_zeros(s, "z", SAMBA_F32, SAMBA_SHAPE(3)))[2] == 0.0f);
    CHECK(samba_read_i32(samba_ones(s, "o", SAMBA_I32, SAMBA_SHAPE(3)))[2] == 1);
    end(s);
    end(t);
    end(u);
}

// The same name shares: two uses add up in one gradient.
static void test_weight_sharing(void)
{
    samba_session *s = quiet(1, 1);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    samba_program p = { 0 };
    samba_set_sharing(s, true);
    p.loss
        = samba_add(samba_sum(samba_linear(x, "fc", 3), SAMBA_ALL_AXES, false),
                    samba_sum(samba_linear(samba_scale(x, 2.0f), "fc", 3), SAMBA_ALL_AXES, false));
    p.optim.kind = SAMBA_SGD;
    CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_weight_names(s, NULL, 0) == 2);
    CHECK(samba_read(samba_sn_grad(samba_tensor_by_name(s, "fc__weight")))[0] == 6.0f);
    CHECK(samba_read(samba_sn_grad(samba_tensor_by_name(s, "fc__bias")))[0] == 4.0f);
    end(s);
}

// Without loss every float output is one; loss_indices choose; the others do not pull.
static void test_loss_indices(void)
{
    for (int way = 0; way < 3; way++) {
        samba_session *s = quiet(1, 1);
        samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
        samba_program p = { 0 };
        samba_set_sharing(s, true);
        p.outputs[0] = samba_sum(samba_linear_no_bias(x, "a", 1), SAMBA_ALL_AXES, false);
        samba_tensor *again = samba_linear_no_bias(x, "a", 1);
        p.outputs[1] = samba_scale(samba_sum(again, SAMBA_ALL_AXES, false), 10.0f);
        if (way == 1) {
            p.n_loss_indices = 1;
            p.loss_indices[0] = 1;
        }
        if (way == 2) p.loss = p.outputs[0];
        p.optim.kind = SAMBA_SGD;
        CHECK(samba_compile(s, &p) && samba_run(s, 0));
        float slope = samba_read(samba_sn_grad(samba_tensor_by_name(s, "a__weight")))[0];
        CHECK(slope == (way == 0 ? 22.0f : way == 1 ? 20.0f : 2.0f));
        CHECK(samba_read(p.outputs[1])[0] == 10.0f * samba_read(p.outputs[0])[0]);
        end(s);
    }
}

// Four microbatches of two samples learn what one batch of eight learns.
static void test_microbatches(void)
{
    float weights[2][H * F], losses[2][4], x[B * F];
    int32_t label[B];
    for (int way = 0; way < 2; way++) {
        samba_session *s = quiet(4, 1);
        int32_t n = way ? 2 : B;
        samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(n, F));
        samba_tensor *target = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(n));
        samba_program p = { 0 };
        p.outputs[0] = samba_linear(samba_tanh(samba_linear(in, "one", H)), "two", C);
        p.loss = samba_cross_entropy(p.outputs[0], target);
        p.optim.kind = SAMBA_SGD;
        p.optim.momentum = 0.9f;
        p.optim.lr = 0.5f;
        p.microbatches = way ? 4 : 1;
        CHECK(samba_compile(s, &p));
        CHECK(samba_bytes(in) == sizeof x && samba_bytes(p.outputs[0]) == B * C * 4);
        CHECK(samba_bytes(p.loss) == 4);
        CHECK(!way == !(samba_section_types(s) & SAMBA_ZEROGRAD));
        for (int step = 0; step < 4; step++) {
            samba_run_desc d = { 0 };
            batch_of(x, label, B, step);
            d.types[0] = SAMBA_ZEROGRAD | SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT;
            CHECK(samba_write(in, x) && samba_write(target, label));
            CHECK(way && step % 2 ? samba_run_with(s, &d) : samba_run(s, 0));
            losses[way][step] = samba_read(p.loss)[0];
        }
        CHECK(samba_copy_out(samba_tensor_by_name(s, "one__weight"), weights[way],
                             sizeof weights[way]));
        CHECK(samba_read(p.outputs[0])[B * C - 1] != 0.0f); // of the last sample
        end(s);
    }
    CHECK_CLOSE(losses[1], losses[0], 4, 1e-5, 1e-6);
    CHECK_CLOSE(weights[1], weights[0], H * F, 1e-4, 1e-6);
}

// ---- Files ----

static uint64_t steps(const model *m, int from, int to)
{
    for (int step = from; step < to; step++) {
        write_batch(m, step);
        CHECK(samba_run(m->s, 0));
    }
    return hash_of(m);
}

// Compiled here, loaded there: with the graph and its program, with the graph, and by names alone.
static void test_load(void)
{
    uint64_t want = 0;
    for (int way = 0; way < 4; way++) {
        model m;
        trace(&m, quiet(7, 1));
        samba_program p = training(&m);
        p.pef = pef_path;
        p.compile_only = way == 0;
        if (way == 0) {
            CHECK(samba_compile(m.s, &p) && samba_tracing(m.s) && samba_section_types(m.s) == 0);
            p.compile_only = false;
            p.pef = NULL;
            CHECK(samba_compile(m.s, &p));
            want = steps(&m, 0, 3);
        } else if (way < 3) {
            CHECK(samba_load(m.s, pef_path, way == 1 ? &p : NULL) && !samba_tracing(m.s));
            CHECK(steps(&m, 0, 3) == want);
        } else {
            char loss_name[64];
            snprintf(loss_name, sizeof loss_name, "%s", m.loss->name);
            samba_close(m.s);
            m.s = quiet(99, 1);
            CHECK(samba_load(m.s, pef_path, NULL) && samba_restore(m.s, checkpoint_path));
            m.x = samba_tensor_by_name(m.s, "x");
            m.label = samba_tensor_by_name(m.s, "label");
            m.logits = samba_tensor_by_name(m.s, "two");
            m.loss = samba_tensor_by_name(m.s, loss_name);
            CHECK(hash_of(&m) == want && samba_get(m.s, "lr") == (double)0.01f);
            write_batch(&m, 0);
            CHECK(samba_run(m.s, 0) && samba_bytes(m.logits) == B * C * 4 && hash_of(&m) != want);
        }
        if (way == 0) CHECK(samba_save(m.s, checkpoint_path));
        end(m.s);
    }
}

// Stopped at any step and resumed, in the same process or another session: the same bits.
static void test_resume(void)
{
    model m;
    open_trained(&m, 1);
    uint64_t want = steps(&m, 0, 6);
    end(m.s);
    for (int stop = 0; stop < 6; stop++) {
        open_trained(&m, 1);
        CHECK(samba_set(m.s, "lr", 0.01));
        steps(&m, 0, stop);
        CHECK(samba_save(m.s, checkpoint_path));
        end(m.s);
        open_trained(&m, 2);
        CHECK(samba_set(m.s, "lr", 0.9));
        if (stop % 2) steps(&m, 0, 2); // every value comes from the file
        CHECK(samba_restore(m.s, checkpoint_path) && samba_get(m.s, "lr") == (double)0.01f);
        CHECK(steps(&m, stop, 6) == want);
        end(m.s);
        m.s = quiet(1, 1); // a checkpoint is a PEF: it can be run as it is
        CHECK(samba_load(m.s, checkpoint_path, NULL));
        m.x = samba_tensor_by_name(m.s, "x");
        m.label = samba_tensor_by_name(m.s, "label");
        CHECK(steps(&m, stop, 6) == want);
        end(m.s);
    }
}

// Weights of training are the weights of an inference program, by name.
static void test_restore_for_inference(void)
{
    model m;
    float x[B * F], want[B * C];
    int32_t label[B];
    samba_run_desc eval = { 0 };
    open_trained(&m, 1);
    steps(&m, 0, 5);
    CHECK(samba_save(m.s, checkpoint_path));
    eval.eval = eval.running_stats = true;
    eval.types[0] = SAMBA_FWD;
    CHECK(samba_run_with(m.s, &eval) && samba_copy_out(m.logits, want, sizeof want));
    end(m.s);
    trace_sized(&m, quiet(50, 1), 1, H, 0.5f); // one sample at a time
    samba_program p = { 0 };
    p.inference = true;
    p.outputs[0] = m.logits;
    CHECK(samba_compile(m.s, &p) && samba_restore(m.s, checkpoint_path));
    batch_of(x, label, B, 4);
    for (int b = 0; b < B; b++) {
        CHECK(samba_write(m.x, x + b * F) && samba_run(m.s, 0));
        CHECK_CLOSE(samba_read(m.logits), want + b * C, C, 1e-5, 1e-6);
    }
    end(m.s);
}

// ---- Eager ops ----

static void test_eager(void)
{
    float data[6] = { 1, 2, 3, 4, 5, 6 };
    samba_session *s = quiet(1, 2);
    CHECK(samba_tracing(s) && samba_set_tracing(s, false) && !samba_tracing(s));
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3), data);
    samba_tensor *y = samba_matmul(x, samba_transpose(x, 0, 1));
    const float want[4] = { 14, 32, 32, 77 };
    CHECK_CLOSE(samba_read(y), want, 4, 0.0, 0.0);
    data[0] = 10.0f;
    CHECK(samba_write(x, data) && samba_read(x)[0] == 10.0f && samba_read(y)[0] == 14.0f);
    CHECK(samba_read_i32(samba_argmax(x, 1, false))[0] == 0);
    // x^3: the slope is 3 x^2, its slope 6 x, and so on.
    samba_tensor *cube = samba_mul(samba_mul(x, x), x);
    samba_tensor *d1 = samba_grad(cube, x), *d2 = samba_grad(d1, x), *d3 = samba_grad(d2, x);
    CHECK(samba_read(d1)[1] == 12.0f && samba_read(d2)[1] == 12.0f && samba_read(d3)[1] == 6.0f);
    CHECK(samba_read(d1)[0] == 300.0f);
    // A tensor computed at once is a constant of what is traced later.
    CHECK(samba_set_tracing(s, true));
    samba_program p = { 0 };
    p.inference = true;
    p.outputs[0] = samba_add(d1, x);
    CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_read(p.outputs[0])[1] == 14.0f);
    // After a compilation ops compute at once, on what the program left.
    samba_tensor *sum = samba_sum(p.outputs[0], SAMBA_ALL_AXES, false);
    CHECK(samba_read(sum)[0] == 300.0f + 12 + 27 + 48 + 75 + 108 + 10 + 2 + 3 + 4 + 5 + 6);
    end(s);
}

static int zeros_of(samba_tensor *t)
{
    int n = 0;
    for (int64_t i = 0; i < samba_count(&t->shape); i++)
        n += samba_read(t)[i] == 0.0f;
    return n;
}

// Layers that keep state work eagerly, too: dropout draws anew each time, batch norm keeps its
// mean; a program that is traced afterwards goes on with both.
static void test_eager_state(void)
{
    samba_session *s = quiet(1, 1);
    CHECK(samba_set_tracing(s, false));
    samba_tensor *x = samba_rand(s, "x", SAMBA_SHAPE(8, 16));
    samba_tensor *a = samba_dropout(x, "drop", 0.5f), *b = samba_dropout(x, "drop", 0.5f);
    CHECK(a && b && zeros_of(a) > 30 && zeros_of(a) < 98);
    CHECK(a && b && memcmp(samba_read(a), samba_read(b), 8 * 16 * 4) != 0);
    CHECK(samba_set_train(s, false) && zeros_of(samba_dropout(x, "drop", 0.5f)) == 0);
    CHECK(samba_set_train(s, true));
    samba_tensor *y = samba_batchnorm(x, "norm");
    float mean = samba_read(samba_tensor_by_name(s, "norm__running_mean"))[0];
    CHECK(y && fabsf(samba_read(y)[0]) < 5.0f && mean > 0.01f && mean < 0.1f);
    CHECK(samba_set_tracing(s, true));
    samba_program p = { 0 };
    samba_tensor *h = samba_dropout(samba_batchnorm(x, "norm"), "drop2", 0.5f);
    p.loss = samba_sum(samba_linear(h, "fc", 2), SAMBA_ALL_AXES, false);
    p.outputs[0] = h;
    p.optim.kind = SAMBA_SGD;
    CHECK(samba_compile(s, &p));
    CHECK(samba_read(samba_tensor_by_name(s, "norm__running_mean"))[0] == mean);
    float masks[2][8 * 16];
    for (int i = 0; i < 2; i++) {
        CHECK(samba_run(s, 0) && samba_copy_out(h, masks[i], sizeof masks[i]));
    }
    int differ = 0;
    for (int i = 0; i < 8 * 16; i++)
        differ += (masks[0][i] == 0.0f) != (masks[1][i] == 0.0f);
    CHECK(differ > 20); // the program draws anew, too
    CHECK(samba_read(samba_tensor_by_name(s, "norm__running_mean"))[0] > mean);
    CHECK(zeros_of(samba_dropout(x, "drop", 0.5f)) > 30); // and eagerly after that
    // the state itself, under another name
    samba_read(samba_tensor_by_name(s, "norm__outputs__1"));
    end(s);
}

// ---- Two sessions in two threads ----

typedef struct worker {
    int step_count;
    uint64_t seed, hash;
    int bad;
} worker;

static void *work(void *argument)
{
    worker *w = (worker *)argument;
    model m;
    trace_sized(&m, quiet(w->seed, 2), WIDE_B, WIDE_H, 0.5f);
    samba_program p = training(&m);
    float x[WIDE_B * F];
    int32_t label[WIDE_B];
    w->bad += !samba_compile(m.s, &p);
    for (int step = 0; step < w->step_count; step++) {
        batch_of(x, label, WIDE_B, step);
        w->bad += !samba_write(m.x, x) || !samba_write(m.label, label) || !samba_run(m.s, 0);
    }
    w->bad += samba_tanh(m.x) == NULL; // an eager op, on the way
    w->hash = hash_weights(m.s, 0);
    w->bad += samba_close(m.s);
    return NULL;
}

static void test_two_threads(void)
{
    worker alone[2] = { { 30, 11, 0, 0 }, { 30, 12, 0, 0 } };
    worker together[2] = { { 30, 11, 0, 0 }, { 30, 12, 0, 0 } };
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        work(&alone[i]);
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&thread[i], NULL, work, &together[i]));
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_join(thread[i], NULL));
    for (int i = 0; i < 2; i++) {
        CHECK(alone[i].hash == together[i].hash && !alone[i].bad && !together[i].bad);
    }
    CHECK(alone[0].hash != alone[1].hash);
}

// ---- Own ops ----

// y = x^2 + c, c an attribute; a row is a unit.
static void square_kernel(const samba_args *a)
{
    int64_t n = a->in_spec[0].shape.dim[a->in_spec[0].shape.ndim - 1];
    float c = samba_attr_float(a->attr[0]);
    for (int64_t i = a->begin * n; i < a->end * n; i++) {
        a->out[0][i] = a->in[0][i] * a->in[0][i] + c;
    }
}

static void square_gradient(samba_vjp *g)
{
    g->din[0] = samba_mul(g->dout[0], samba_scale(g->in[0], 2.0f));
}

// The rows that are asked for, of any count: its own shape rule, and a value that may be refused.
static bool head_shape(samba_call *c)
{
    if (c->n_in != 1 || c->n_attr != 1 || c->in[0].shape.ndim < 1) {
        return samba_refuse(c, SAMBA_EARG, "one input and one attribute");
    }
    if (c->attr[0] < 1 || c->attr[0] > c->in[0].shape.dim[0]) {
        return samba_refuse(c, SAMBA_ERANGE, "%d rows of %S", c->attr[0], &c->in[0].shape);
    }
    c->out[0] = c->in[0];
    c->n_out = 1;
    c->out[0].shape.dim[0] = c->attr[0];
    return true;
}

static void head_work(samba_work *w, const samba_call *c)
{
    w->units[0] = c->attr[0];
}

static void head_kernel(const samba_args *a)
{
    int64_t n = samba_count(&a->out_spec[0].shape) / a->out_spec[0].shape.dim[0];
    for (int64_t u = a->begin; u < a->end; u++) {
        memcpy(a->out[0] + u * n, a->in[0] + u * n, (size_t)n * 4);
        if (a->in[0][u * n] > 1000.0f) samba_fault(a, 0, (int32_t)a->in[0][u * n]);
    }
}

static void register_ops(samba_session *s)
{
    samba_op square = { 0 }, head = { 0 };
    square.name = "square_plus";
    square.wire = 0x9001;
    square.signature = "*n->*n";
    square.cost = 2;
    square.kernel = square_kernel;
    square.vjp = square_gradient;
    head.name = "head";
    head.wire = 0x8000; // the first that is free
    head.shape = head_shape;
    head.work = head_work;
    head.kernel = head_kernel;
    CHECK(samba_register_op(s, &square) && samba_register_op(s, &head));
}

static samba_tensor *own_loss(samba_session *s, samba_tensor **rows)
{
    int32_t c = samba_float_attr(0.5f), two = 2;
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3));
    samba_tensor *h = samba_linear_no_bias(x, "fc", 2);
    *rows = samba_apply(s, "head", &h, 1, &two, 1);
    h = samba_apply(s, "square_plus", &h, 1, &c, 1);
    return samba_sum(h, SAMBA_ALL_AXES, false);
}

static void test_own_ops(void)
{
    float trained = 0.0f;
    for (int way = 0; way < 3; way++) {
        samba_session *s = quiet(2, 2);
        samba_program p = { 0 };
        register_ops(s);
        if (way < 2) p.loss = own_loss(s, &p.outputs[0]);
        p.optim.kind = SAMBA_SGD;
        p.optim.lr = 0.01f;
        p.pef = pef_path;
        CHECK(way == 0 ? samba_compile(s, &p) : samba_load(s, pef_path, way == 1 ? &p : NULL));
        samba_tensor *w = samba_tensor_by_name(s, "fc__weight");
        if (way == 2) { // by names: values come from nowhere else
            float ones[12];
            for (int i = 0; i < 12; i++)
                ones[i] = 1.0f;
            CHECK(samba_write(samba_tensor_by_name(s, "x"), ones) && samba_write(w, ones));
        }
        float sum = samba_read(w)[0] + samba_read(w)[1] + samba_read(w)[2];
        CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
        float slope = samba_read(samba_sn_grad(w))[0];
        CHECK(fabsf(slope - 8.0f * sum) < 1e-4f && slope != 0.0f); // 4 rows, each 2 sum
        CHECK(samba_run(s, SAMBA_OPT));
        if (way == 0) trained = samba_read(w)[0];
        if (way == 1) CHECK(samba_read(w)[0] == trained);
        if (way < 2) {
            CHECK(p.outputs[0]->shape.dim[0] == 2);
            CHECK(fabsf(samba_read(p.outputs[0])[0] - sum) < 1e-6f);
            // the op itself refuses values
            float large[6] = { 2000, 2000, 2000, 2000, 2000, 2000 };
            CHECK(samba_write(w, large) && !samba_run(s, SAMBA_FWD));
            CHECK(samba_error_code(s) == SAMBA_ERANGE);
            CHECK(strstr(samba_error(s), "head") && strstr(samba_error(s), "6000"));
            samba_clear_error(s);
        }
        end(s);
    }
}

// A shape rule's own words reach the user, with the op and its inputs; eagerly the op computes at
// once.
static void test_own_op_refuses(void)
{
    samba_session *s = quiet(2, 1);
    int32_t seven = 7, one = 1;
    register_ops(s);
    CHECK(samba_set_tracing(s, false));
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3));
    CHECK(!samba_apply(s, "head", &x, 1, &seven, 1) && samba_error_code(s) == SAMBA_ERANGE);
    CHECK(strstr(samba_error(s), "head(x f32 (4,3)): 7 rows of (4,3)"));
    samba_clear_error(s);
    samba_tensor *y = samba_apply(s, "head", &x, 1, &one, 1);
    CHECK(y && y->shape.dim[0] == 1 && samba_read(y)[2] == 1.0f);
    CHECK(samba_read(samba_grad(samba_apply(s, "square_plus", &x, 1, &one, 1), x))[0] == 2.0f);
    end(s);
}

// ---- Looking inside ----

typedef struct collected {
    char text[20000];
    size_t n;
} collected;

static void collect(const char *text, void *user)
{
    collected *c = (collected *)user;
    size_t n = strlen(text);
    if (c->n + n >= sizeof c->text) return;
    memcpy(c->text + c->n, text, n + 1);
    c->n += n;
}

static void test_printing(void)
{
    static collected graph, dot, ops;
    model m;
    trace(&m, quiet(1, 1));
    samba_print_graph(m.s, collect, &graph);
    samba_dot_graph(m.s, collect, &dot);
    samba_print_ops(collect, &ops);
    CHECK(
        strstr(graph.text, "one = affine(x f32 (8,5), one__weight f32 (6,5), one__bias f32 (6))"));
    CHECK(strstr(graph.text, "-> f32 (8,6)"));
    CHECK(strncmp(dot.text, "digraph", 7) == 0 && strstr(dot.text, "\"x\" -> \"one\""));
    CHECK(strstr(dot.text, "\"one\" [label=\"one\\naffine (8,6)\"]"));
    CHECK(dot.text[dot.n - 2] == '}');
    CHECK(strstr(ops.text, "matmul\t769\n") && strstr(ops.text, "layer_norm\t"));
    CHECK(samba_held_bytes(m.s) > 1000 && samba_device_bytes(m.s) == 0);
    end(m.s);
}

// Of an op with several outputs all lines begin at the op, whatever number an output has.
static void test_outputs_in_a_drawing(void)
{
    static const struct {
        const char *name;
        size_t op;
    } cases[] = {
        { "a__outputs__1", 1 },
        { "a__outputs__9", 1 },
        { "a__outputs__10", 1 },
        { "a__outputs__909", 1 },
        { "layer9", 6 },
        { "a__outputs__", 12 },
        { "__outputs__9", 12 },
        { "99", 2 },
        { "", 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = samba_dot_graph__op_of(cases[i].name, strlen(cases[i].name));
        CHECK(n == cases[i].op);
    }
}

static int n_logged;

static void count_log(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level == SAMBA_LOG_ERROR && strstr(text, "SAMBA_E")) n_logged++;
}

static void test_log_hook(void)
{
    samba_desc d = { 0 };
    d.log = count_log;
    samba_session *s = samba_open(&d);
    samba_run(s, 0);
    samba_run(s, 0);
    CHECK(n_logged == 1); // the first error only
    CHECK(samba_close(s) == 1);
}

// ---- The command line ----

static bool parse(samba_app_args *args, const samba_flag *flags, int32_t n, const char *a,
                  const char *b, const char *c, const char *d)
{
    static char text[6][64];
    char *argv[7] = { text[0], text[1], text[2], text[3], text[4], text[5], NULL };
    const char *given[5];
    int argc = 1;
    given[0] = a;
    given[1] = b;
    given[2] = c;
    given[3] = d;
    given[4] = NULL;
    snprintf(text[0], sizeof text[0], "program");
    for (int i = 0; given[i]; i++)
        snprintf(text[argc++], sizeof text[0], "%s", given[i]);
    argv[argc] = NULL;
    return samba_parse_app_args(argc, argv, args, flags, n);
}

static void test_command_line(void)
{
    static const char *const forms[4][2] = {
        { "-b=64", NULL }, { "-b", "64" }, { "--batch-size", "64" }, { "--batch-size=64", NULL }
    };
    for (int i = 0; i < 4; i++) {
        samba_app_args a = { 0 };
        CHECK(parse(&a, NULL, 0, "compile", forms[i][0], forms[i][1], NULL) && a.batch_size == 64);
        CHECK(!strcmp(a.command, "compile"));
    }
    samba_app_args a = { 0 };
    a.batch_size = 32;
    CHECK(parse(&a, NULL, 0, "run", "-mb", "4", "--inference") && a.batch_size == 32);
    CHECK(a.microbatch_size == 4 && a.inference);
    CHECK(parse(&a, NULL, 0, "run", "-p=here.pef", "--o1", NULL) && !strcmp(a.pef, "here.pef"));
    CHECK(a.level == SAMBA_O1);
    CHECK(parse(&a, NULL, 0, "test", "--pef", "there.pef", "--o0") && !strcmp(a.pef, "there.pef"));
    CHECK(a.level == SAMBA_O0);
    CHECK(parse(&a, NULL, 0, "compile", "--pef-name=n", "--output-folder", "f"));
    CHECK(!strcmp(a.pef_name, "n") && !strcmp(a.output_folder, "f"));
    CHECK(parse(&a, NULL, 0, "compile", "--mapping", "spatial", "--o3"));
    CHECK(a.mapping == SAMBA_MAPPING_SPATIAL && a.level == SAMBA_O3);
    CHECK(parse(&a, NULL, 0, "measure-performance", "-n=7", "--run-graph-only", "--threads=2"));
    CHECK(a.num_iterations == 7 && a.run_graph_only && a.threads == 2);
    CHECK(parse(&a, NULL, 0, "measure-sections", NULL, NULL, NULL));
    CHECK(parse(&a, NULL, 0, "compile", "--graphamp-preset", "mp4", NULL)
          && a.graphamp == SAMBA_MP4);
    CHECK(!parse(&a, NULL, 0, "compile", "--graphamp-preset", "mp3", NULL));
}

// A net whose layers have names of 3000 letters that differ in the last one.
static samba_tensor *long_named_net(samba_session *s)
{
    static char a[3001], b[3001];
    memset(a, 'n', 3000);
    memset(b, 'n', 3000);
    a[2999] = 'a';
    b[2999] = 'b';
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 32));
    samba_tensor *h = samba_tanh(samba_dropout(samba_linear(x, a, 32), a, 0.25f));
    return samba_linear(samba_tanh(samba_dropout(h, b, 0.75f)), b, 32);
}

// Weights, gradients, optimizer states, packed weights, rates of dropout: none of the names that
// are made of a long one is cut, so that none is that of another.
static void test_long_names(void)
{
    static const char *const path = "build/long_names.ckpt";
    char rate[3010];
    float x[128], y[2][128] = { { 0 } };
    for (int i = 0; i < 128; i++)
        x[i] = (float)(i % 7) / 7.0f;
    samba_session *s = samba_open(&(samba_desc){ .threads = 1 });
    samba_tensor *out = long_named_net(s);
    samba_tensor *loss = samba_mse(out, samba_full(s, SAMBA_SHAPE(4, 32), 1.0f), SAMBA_REDUCE_MEAN);
    CHECK(samba_compile(
        s, &(samba_program){ .loss = loss, .outputs = { out }, .optim = { .kind = SAMBA_ADAMW } }));
    samba_write(samba_tensor_by_name(s, "x"), x);
    CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT) && samba_save(s, path));
    memset(rate, 'n', 3000);
    strcpy(rate + 2999, "a__p");
    CHECK(samba_read(samba_tensor_by_name(s, rate))[0] == 0.25f);
    rate[2999] = 'b';
    CHECK(samba_read(samba_tensor_by_name(s, rate))[0] == 0.75f);
    samba_close(s);
    for (int packed = 0; packed < 2; packed++) {
        s = samba_open(&(samba_desc){ .threads = 1 });
        out = long_named_net(s);
        samba_program p = { .outputs = { out }, .inference = true };
        if (packed) p.weights = SAMBA_WEIGHTS_INT8;
        CHECK(samba_compile(s, &p));
        samba_write(samba_tensor_by_name(s, "x"), x);
        CHECK(samba_run(s, SAMBA_FWD) && samba_copy_out(out, y[packed], sizeof y[packed]));
        CHECK(packed || samba_restore(s, path));
        samba_close(s);
    }
    CHECK_CLOSE(y[1], y[0], 128, 0, 0.1);
    CHECK(memcmp(y[0], y[1], sizeof y[0]) != 0 && y[0][0] != 0);
}

// What only run takes is refused by compile, by name; help is no error.
static void test_flags_of_run(void)
{
    float lr = 0;
    int32_t steps = 0;
    const samba_flag common[] = { { "width", SAMBA_FLAG_INT, &steps, "" } };
    const samba_flag run[] = { { "lr", SAMBA_FLAG_FLOAT, &lr, "" } };
    samba_app_args a = { 0 };
    a.run_flags = run;
    a.n_run_flags = 1;
    CHECK(parse(&a, common, 1, "run", "--lr=0.5", "--width", "3") && lr > 0.4f && steps == 3);
    CHECK(parse(&a, common, 1, "measure-sections", "--lr=0.5", "--num-sections=2", NULL));
    CHECK(a.num_sections == 2);
    CHECK(parse(&a, common, 1, "compile", "--width=4", NULL, NULL) && steps == 4);
    CHECK(!parse(&a, common, 1, "compile", "--lr=0.25", NULL, NULL) && lr > 0.4f);
    CHECK(a.exit_code == 2);
    CHECK(!parse(&a, common, 1, "compile", "-n", "3", NULL));
    CHECK(!parse(&a, common, 1, "compile", "--trace=x", NULL, NULL));
    CHECK(parse(&a, common, 1, "compile", "-p", "app.pef", NULL)); // as the deck has it
    CHECK(!parse(&a, common, 1, "run", "--help", NULL, NULL) && a.exit_code == 0);
    CHECK(!parse(&a, common, 1, "--help", NULL, NULL, NULL) && a.exit_code == 0);
    CHECK(!parse(&a, common, 1, "nonsense", NULL, NULL, NULL) && a.exit_code == 2);
    CHECK(!parse(&a, common, 1, "run", "--nonsense", NULL, NULL) && a.exit_code == 2);
}

static void test_file_dir(void)
{
    char dir[8];
    CHECK(samba_file_dir("a/b.c", dir, 8) && !strcmp(dir, "a"));
    CHECK(samba_file_dir("b.c", dir, 8) && !strcmp(dir, "."));
    CHECK(samba_file_dir("/b.c", dir, 8) && !strcmp(dir, "/"));
    CHECK(!samba_file_dir("a/long/one/b.c", dir, 8));
}

// What means nothing here is accepted; the environment says what the flags do not.
static void test_foreign_settings(void)
{
    samba_app_args a = { 0 }, b = { 0 }, c = { 0 };
    CHECK(parse(&a, NULL, 0, "compile", "--arch", "sn40", "--debug")
          && parse(&a, NULL, 0, "compile", "--mac-v2", "-b=3", NULL));
    CHECK(a.batch_size == 3 && a.threads == 0 && a.seed == 0);
    CHECK(!setenv("OMP_NUM_THREADS", "5", 1) && !setenv("SAMBA_SEED", "17", 1));
    CHECK(parse(&b, NULL, 0, "compile", NULL, NULL, NULL) && b.threads == 5 && b.seed == 17);
    CHECK(!setenv("SN_NUM_THREADS", "3", 1) && !setenv("SAMBA_SEED", "many", 1));
    CHECK(parse(&b, NULL, 0, "compile", "--seed=4", NULL, NULL) && b.threads == 5 && b.seed == 4);
    CHECK(parse(&c, NULL, 0, "compile", NULL, NULL, NULL) && c.threads == 3 && c.seed == 0);
    CHECK(!unsetenv("OMP_NUM_THREADS") && !unsetenv("SN_NUM_THREADS") && !unsetenv("SAMBA_SEED"));
}

static void test_own_flags(void)
{
    bool fast = false;
    int32_t epochs = 3;
    float rate = 0.5f;
    const char *data = "none";
    const samba_flag flags[4] = { { "fast", SAMBA_FLAG_BOOL, &fast, "no waiting" },
                                  { "epochs", SAMBA_FLAG_INT, &epochs, "how many" },
                                  { "rate", SAMBA_FLAG_FLOAT, &rate, "how fast" },
                                  { "data", SAMBA_FLAG_TEXT, &data, "where from" } };
    samba_app_args a = { 0 };
    CHECK(parse(&a, flags, 4, "run", "--fast", "--epochs", "5") && fast && epochs == 5);
    CHECK(parse(&a, flags, 4, "run", "--rate=1e-3", "--data=x=y", NULL) && rate == 1e-3f);
    CHECK(!strcmp(data, "x=y"));
    CHECK(parse(&a, flags, 4, "run", "--epochs=-2", NULL, NULL) && epochs == -2);
    CHECK(!parse(&a, flags, 4, "run", "--epochs", "many", NULL));
    CHECK(!parse(&a, flags, 4, "run", "--epochs=2.5", NULL, NULL));
    CHECK(!parse(&a, flags, 4, "run", "--rate=", NULL, NULL));
    CHECK(!parse(&a, flags, 4, "run", "--rate", NULL, NULL));
    CHECK(!parse(&a, flags, 4, "run", "--rate=nan", NULL, NULL));
    CHECK(!parse(&a, flags, 4, "run", "--epoch", "5", NULL));
}

static void test_wrong_command_lines(void)
{
    samba_app_args a = { 0 };
    CHECK(!parse(&a, NULL, 0, NULL, NULL, NULL, NULL));
    CHECK(!parse(&a, NULL, 0, "compile", "--help", NULL, NULL));
    CHECK(!parse(&a, NULL, 0, "dance", NULL, NULL, NULL));
    CHECK(!parse(&a, NULL, 0, "compile", "--fast", NULL, NULL));
    CHECK(!parse(&a, NULL, 0, "compile", "-b", NULL, NULL));
    CHECK(!parse(&a, NULL, 0, "compile", "-b", "many", NULL));
    CHECK(!parse(&a, NULL, 0, "compile", "-b=64x", NULL, NULL));
    CHECK(!parse(&a, NULL, 0, "compile", "-b=99999999999", NULL, NULL));
    CHECK(!parse(&a, NULL, 0, "compile", "--inference=false", NULL, NULL) && !a.inference);
    CHECK(!parse(&a, NULL, 0, "compile", "--o0=1", NULL, NULL));
    CHECK(!parse(&a, NULL, 0, "compile", "-b=-4", NULL, NULL));
    a.batch_size = 0;
    CHECK(!parse(&a, NULL, 0, "compile", "--mapping=nowhere", NULL, NULL));
    CHECK(!parse(&a, NULL, 0, "compile", "stray", NULL, NULL));
    CHECK(!parse(&a, NULL, 0, "compile", "-b=10", "-mb=4", NULL)); // 4 does not divide 10
}

// Do the values of a parameter fill -most ... most?
static bool fills(samba_session *s, const char *name, double most)
{
    samba_tensor *w = samba_tensor_by_name(s, name);
    double largest = 0;
    for (size_t i = 0; w && i < samba_bytes(w) / 4; i++)
        largest = fmax(largest, fabs((double)samba_read(w)[i]));
    return largest <= most * 1.000001 && largest > 0.8 * most;
}

// The constants of layers: eps, momentum, and the bounds of the first weights, those of PyTorch.
static void test_layer_numbers(void)
{
    samba_session *s = quiet(1, 1);
    CHECK(samba_set_tracing(s, false));
    float column[4] = { 0, 5, 0.002f, 5 }, row[2] = { 0, 0.002f }, same[2] = { 0.001f, 0.001f };
    const float small = 0.001f / sqrtf(1e-6f + 1e-5f); // what eps leaves of a deviation of 0.001
    samba_tensor *x = samba_from_data(s, "column", SAMBA_F32, SAMBA_SHAPE(2, 2), column);
    samba_tensor *y = samba_batchnorm(x, "norm");
    CHECK_CLOSE(&samba_read(y)[2], &small, 1, 1e-4, 0);
    const float mean[2] = { 0.0001f, 0.5f }, var[2] = { 0.9f + 0.1f * 2e-6f, 0.9f };
    CHECK_CLOSE(samba_read(samba_tensor_by_name(s, "norm__running_mean")), mean, 2, 1e-5, 0);
    CHECK_CLOSE(samba_read(samba_tensor_by_name(s, "norm__running_var")), var, 2, 1e-7, 0);
    y = samba_layernorm(samba_from_data(s, "row", SAMBA_F32, SAMBA_SHAPE(1, 2), row), "layer");
    CHECK_CLOSE(&samba_read(y)[1], &small, 1, 1e-4, 0);
    y = samba_rmsnorm(samba_from_data(s, "same", SAMBA_F32, SAMBA_SHAPE(1, 2), same), "rms");
    CHECK_CLOSE(samba_read(y), &small, 1, 1e-4, 0);

    samba_conv_opts halves = { .groups = 2 };
    samba_tensor *image = samba_zeros(s, "image", SAMBA_F32, SAMBA_SHAPE(1, 4, 8, 8));
    samba_tensor *line = samba_zeros(s, "line", SAMBA_F32, SAMBA_SHAPE(1, 4, 8));
    samba_tensor *wide = samba_zeros(s, "wide", SAMBA_F32, SAMBA_SHAPE(1, 100));
    CHECK(samba_linear(wide, "fc", 20) != NULL);
    CHECK(samba_conv2d(image, "conv2", 32, 3, &halves) && samba_conv1d(line, "conv1", 32, 5, NULL));
    CHECK(fills(s, "fc__weight", 0.1) && fills(s, "fc__bias", 0.1));
    CHECK(fills(s, "conv2__weight", 1 / sqrt(2 * 9)) && fills(s, "conv2__bias", 1 / sqrt(2 * 9)));
    CHECK(fills(s, "conv1__weight", 1 / sqrt(4 * 5)));
    end(s);
}

static void test_sections(void)
{
    samba_session *s = quiet(1, 1);
    samba_section q;
    samba_tensor *a = samba_randn(s, "a", SAMBA_SHAPE(4, 5));
    samba_tensor *y = samba_matmul(a, samba_input(s, "b", SAMBA_F32, SAMBA_SHAPE(5, 3)));
    CHECK(!samba_describe_section(s, 0, &q)); // no program yet
    CHECK(!samba_zero_inputs(s));
    samba_clear_error(s);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    CHECK(samba_describe_section(s, 0, &q));
    CHECK(!strcmp(q.type, "FWD") && !q.graph && q.op && !strcmp(q.op, "matmul"));
    CHECK(q.flops == 2 * 4 * 5 * 3 && q.bytes == 4 * (4 * 5 + 5 * 3 + 4 * 3));
    CHECK(!samba_describe_section(s, 1, &q) && !samba_describe_section(s, -1, &q));
    CHECK(!samba_describe_section(s, 0, NULL) && !samba_describe_section(NULL, 0, &q));
    CHECK(!samba_run(s, 0)); // b has no value
    samba_clear_error(s);
    CHECK(samba_zero_inputs(s) && samba_run(s, 0) && samba_read(y)[11] == 0.0f);
    end(s);
}

static void test_driver(void)
{
    static const char *const commands[3] = { "compile", "measure-performance", "measure-sections" };
    char path[PATH + 64];
    snprintf(path, sizeof path, "%.500s/net/net.pef", folder);
    for (int i = 0; i < 3; i++) {
        model m;
        samba_app_args a = { 0 };
        trace_sized(&m, quiet(1, 1), 2, H, 0.0f);
        samba_program p = training(&m);
        a.command = commands[i];
        a.output_folder = folder;
        a.pef_name = "net";
        a.batch_size = 8;
        a.microbatch_size = 2;
        a.num_iterations = 3;
        a.pef = path;
        if (i) p.microbatches = 4;
        CHECK(samba_app_driver(m.s, &a, &p));
        if (i == 2) { // a run with another batch, or other parts, is told so
            a.microbatch_size = 4;
            CHECK(!samba_app_load(m.s, &a, &p)
                  && strstr(samba_error(m.s), "-b 8 -mb 2; the command line says -b 8 -mb 4"));
            samba_clear_error(m.s);
        }
        if (i) CHECK(samba_bytes(m.x) == 8 * F * 4);
        end(m.s);
    }
    remove(path);
    snprintf(path, sizeof path, "%.500s/net/net.pef.log", folder);
    CHECK(remove(path) == 0);
    snprintf(path, sizeof path, "%.500s/net/net.pef.map", folder);
    CHECK(remove(path) == 0);
    snprintf(path, sizeof path, "%.500s/net", folder);
    remove(path);
    remove(folder);
    CHECK(samba_seconds() > 0.0 && samba_seconds() <= samba_seconds());
}

// 256-bit code must clear the upper halves of its registers, or SSE code of the caller crawls.
#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

static bool upper_halves_in_use(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low >> 2 & 1;
}

static samba_tensor *x_96, *w_96, *ids_96;

static void run_entropy(void)
{
    samba_cross_entropy(x_96, ids_96);
}

static void run_product(void)
{
    samba_affine(x_96, w_96, NULL);
}

static void run_map(void)
{
    samba_softmax(samba_gelu(x_96), -1);
}

// Once clean is clean: an interrupt may leave them in use, code that forgets always does.
static bool leaves_them_clean(void (*run)(void))
{
    bool clean = false;
    for (int i = 0; i < 20 && !clean; i++) {
        __asm__ volatile("vzeroupper");
        run();
        clean = !upper_halves_in_use();
    }
    return clean;
}

static void test_clean_registers(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(13, 1, &a, &b, &c, &d) || !(a & 4)) {
        printf("skipped: the registers in use; it takes a processor that tells them\n");
        return;
    }
    samba_session *s = samba_open(&(samba_desc){ .threads = 1 });
    x_96 = samba_randn(s, "x", SAMBA_SHAPE(256, 96));
    w_96 = samba_randn(s, "w", SAMBA_SHAPE(96, 96));
    ids_96 = samba_randint(s, "ids", 96, SAMBA_SHAPE(256));
    samba_set_tracing(s, false);
    CHECK(leaves_them_clean(run_entropy));
    CHECK(leaves_them_clean(run_product));
    CHECK(leaves_them_clean(run_map));
    CHECK(samba_close(s) == 0);
}
#else
static void test_clean_registers(void)
{
    printf("skipped: the registers in use; it takes an x86 processor\n");
}
#endif

int main(int argc, char **argv)
{
    const char *program = argc > 0 ? argv[0] : "api";
    char log[PATH + 8], map[PATH + 8];
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    snprintf(pef_path, sizeof pef_path, "%.500s.pef", program);
    snprintf(checkpoint_path, sizeof checkpoint_path, "%.500s.ckpt", program);
    snprintf(folder, sizeof folder, "%.500s.out", program);
    snprintf(log, sizeof log, "%s.log", pef_path);
    snprintf(map, sizeof map, "%s.map", pef_path);
    RUN(test_ways_to_run);
    RUN(test_parts_of_a_step);
    RUN(test_backward_needs_forward);
    RUN(test_threads_agree);
    RUN(test_inputs_of_the_next_program);
    RUN(test_hyperparameters);
    RUN(test_regions);
    RUN(test_eval);
    RUN(test_dropout_seeds);
    RUN(test_recompile_for_inference);
    RUN(test_losses_by_turns);
    RUN(test_values_by_name);
    RUN(test_host_copies);
    RUN(test_borrowed_data);
    RUN(test_random_values);
    RUN(test_weight_sharing);
    RUN(test_loss_indices);
    RUN(test_microbatches);
    RUN(test_load);
    RUN(test_resume);
    RUN(test_restore_for_inference);
    RUN(test_eager);
    RUN(test_eager_state);
    RUN(test_two_threads);
    RUN(test_own_ops);
    RUN(test_own_op_refuses);
    RUN(test_printing);
    RUN(test_outputs_in_a_drawing);
    RUN(test_log_hook);
    RUN(test_command_line);
    RUN(test_foreign_settings);
    RUN(test_flags_of_run);
    RUN(test_file_dir);
    RUN(test_long_names);
    RUN(test_own_flags);
    RUN(test_wrong_command_lines);
    RUN(test_layer_numbers);
    RUN(test_sections);
    RUN(test_driver);
    remove(pef_path);
    remove(checkpoint_path);
    remove(log);
    remove(map);
    RUN(test_clean_registers);
    return test_summary();
}
