// Data parallel training: the same bits for every mode and place of the reduction, and what fails.
//     cc -O2 -I. tests/tools/parallel.c -lm -pthread -o parallel && ./parallel
//     ./parallel train ...        one training, for tests/tools/parallel.sh; also with mpicc -DSAMBA_MPI
// run: threads
#define SAMBA_IMPLEMENTATION
#define SAMBA_PARALLEL_IMPLEMENTATION
#define SAMBA_PROFILER_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/parallel.h"
#include "tools/include/samba/profiler.h"
#include "tests/lib/recipe.h"
#include "tests/lib/test.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 16, STEPS = 50 };

static char loss_name[64];                                         // of the model traced last
static char checkpoint[300], pef[300], pef_log[300], pef_map[300]; // files, named after the program

// ---- Models -------------------------------------------------------------------------------------

typedef struct setup {
    recipe_model model;
    samba_optim optim;
    samba_opt_level level;
    samba_mapping mapping;
    int64_t sram;
    int32_t microbatches;
    bool dropout, watch, late;
} setup;

static bool watch_register(samba_session *s);

// x (B,F) -> (B,10), with dropout, or with ops that look what happens beside the backward pass
static samba_tensor *trace_layers(const setup *c, samba_tensor *x)
{
    char name[] = "fc0";
    if (c->watch && !watch_register(x->session)) return NULL;
    for (int32_t i = 0; i < 3; i++) {
        name[2] = (char)('1' + i);
        x = samba_tanh(samba_linear(x, name, c->model.hidden));
        if (c->watch) x = samba_apply(x->session, "watch", &x, 1, &i, 1);
        if (c->dropout && i == 0) x = samba_dropout(x, "drop1", 0.25f);
    }
    x = samba_linear(x, "fc4", RECIPE_CLASSES);
    if (!c->late || !x) return x;
    const samba_init start = { SAMBA_INIT_NORMAL, 1.0f, 0.5f };
    samba_tensor *in[2] = { samba_param(x->session, "late", x->shape, start), x };
    return samba_apply(x->session, "late", in, 2, NULL, 0);
}

static bool trace(samba_session *s, int32_t batch, samba_program *p, void *user)
{
    const setup *c = (const setup *)user;
    recipe_net n;
    if (c->microbatches) batch /= c->microbatches;
    if (c->dropout || c->watch) {
        n.x = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(batch, c->model.pixels));
        n.target = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(batch));
        n.logits = trace_layers(c, n.x);
        n.loss = samba_cross_entropy(n.logits, n.target);
    } else {
        n = recipe_trace(s, &c->model, batch);
        if (!recipe_set_weights(s, &c->model)) return false;
    }
    if (n.loss) snprintf(loss_name, sizeof loss_name, "%s", n.loss->name);
    p->loss = n.loss;
    p->outputs[0] = n.logits;
    p->optim = c->optim;
    p->level = c->level;
    p->mapping = c->mapping;
    p->sram_bytes = c->sram;
    p->microbatches = c->microbatches;
    return samba_ok(s);
}

static setup make_setup(samba_optim_kind kind, samba_opt_level level)
{
    setup c;
    memset(&c, 0, sizeof c);
    c.model = recipe_res_ffn(BATCH, 48, 24);
    c.optim.kind = kind;
    c.optim.lr = kind == SAMBA_SGD ? 0.1f : 0.01f;
    if (kind == SAMBA_SGD) c.optim.momentum = 0.9f;
    c.level = level;
    c.sram = 8192;
    return c;
}

// ---- Running ------------------------------------------------------------------------------------

static void silence(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

static samba_parallel *open_with(setup *c, int32_t replicas, const char *mode, bool on_rdu)
{
    samba_parallel_desc d;
    memset(&d, 0, sizeof d);
    d.replicas = replicas;
    d.batch = c->model.batch;
    d.mode = mode;
    d.reduce_on_rdu = on_rdu;
    d.trace = trace;
    d.user = c;
    d.session.threads = 1;
    d.session.log = silence;
    return samba_parallel_open(&d);
}

// Batch number step; label `spoiled` of it becomes one that does not exist, unless it is negative.
static bool run_step(samba_parallel *p, const setup *c, uint32_t step, int32_t spoiled)
{
    static float x[BATCH * 128];
    static int32_t ids[BATCH * 128], target[BATCH * 128];
    const recipe_model *m = &c->model;
    samba_parallel_batch in[2] = { { "image", x, m->batch }, { "label", target, m->batch } };
    samba_parallel_run_desc d;
    memset(&d, 0, sizeof d);
    d.inputs = in;
    d.n_inputs = 2;
    if (m->vocabulary) {
        recipe_tokens(step, (uint32_t)m->batch, (uint32_t)m->length, (uint32_t)m->vocabulary, ids,
                      target);
        in[0].name = "ids";
        in[0].data = ids;
        in[1].name = "target";
    } else {
        recipe_images(step, (uint32_t)m->batch, (uint32_t)m->pixels, x, target);
    }
    if (spoiled >= 0) target[spoiled] = 1000;
    return samba_parallel_run(p, &d);
}

static bool run_steps(samba_parallel *p, const setup *c, uint32_t from, uint32_t to)
{
    bool fine = true;
    for (uint32_t step = from; fine && step < to; step++)
        fine = run_step(p, c, step, -1);
    return fine;
}

// The hash of a session's parameters and gradients.
static uint64_t hash_of(samba_session *s)
{
    const char *names[64];
    uint64_t hash = recipe_hash_start;
    int32_t n = samba_weight_names(s, names, 32);
    n += samba_grad_names(s, names + n, 32);
    for (int32_t i = 0; i < n; i++) {
        samba_tensor *t = samba_tensor_by_name(s, names[i]);
        hash = recipe_hash(hash, samba_read(t), samba_bytes(t));
    }
    return n > 4 && samba_ok(s) ? hash : 0;
}

// Trains; returns the hash after STEPS steps, or 0 after a failure or if the replicas differ.
static uint64_t train(setup *c, int32_t replicas, const char *mode, bool on_rdu)
{
    samba_parallel *p = open_with(c, replicas, mode, on_rdu);
    run_steps(p, c, 0, STEPS);
    uint64_t hash = hash_of(samba_parallel_session(p, 0));
    for (int32_t i = 1; i < replicas; i++)
        if (hash_of(samba_parallel_session(p, i)) != hash) hash = 0;
    if (!samba_parallel_ok(p)) printf("    %s\n", samba_parallel_error(p));
    return samba_parallel_close(p) ? 0 : hash;
}

static const char *const modes[] = { "normal", "inorder", "optimal" };

static void check_all_modes(setup *c)
{
    for (int32_t n = 1; n <= 4; n *= 2) {
        uint64_t first = train(c, n, NULL, false);
        CHECK(first != 0);
        for (int k = 1; k < 6; k++) {
            bool same = train(c, n, modes[k / 2], k % 2) == first;
            CHECK(same);
            if (!same)
                printf("    %d replicas, %s, %s\n", (int)n, modes[k / 2], k % 2 ? "rdu" : "host");
        }
    }
}

// ---- Same bits ----------------------------------------------------------------------------------

static void test_modes_one_op_a_section(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    check_all_modes(&c);
}

static void test_modes_sections_by_size(void)
{
    setup c = make_setup(SAMBA_ADAMW, SAMBA_O1);
    c.optim.max_grad_norm = 0.5f;
    check_all_modes(&c);
}

static void test_modes_one_section(void)
{
    setup c = make_setup(SAMBA_ADAMW, SAMBA_O3);
    check_all_modes(&c);
}

static void test_modes_shared_weight(void)
{
    setup c = make_setup(SAMBA_ADAMW, SAMBA_O0);
    c.model = recipe_transformer(4, 8, 16, 32);
    check_all_modes(&c);
}

static void test_modes_microbatches(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O1);
    c.microbatches = 2;
    check_all_modes(&c);
}

static void test_modes_dropout(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    c.dropout = true;
    check_all_modes(&c);
}

// (1 + e) + (e + e), not ((1 + e) + e) + e, which is 1; and a fifth number comes last.
static void test_tree(void)
{
    const float e = 1.0f / (1 << 24), one = 1.0f, far[2] = { 7.0f, e };
    const float *in[5] = { &one, &e, &e, &e, &one };
    float sum = 0.0f;
    samba_parallel__tree(in, 4, 0, 1, &sum);
    CHECK(sum == 1.0f + 2.0f * e);
    samba_parallel__tree(in, 5, 0, 1, &sum);
    CHECK(sum == (1.0f + 2.0f * e) + 1.0f);
    in[0] = far;
    samba_parallel__tree(in, 1, 1, 1, &sum);
    CHECK(sum == e);
}

// Three and five replicas: the tree has branches of unequal length.
static void test_odd_numbers(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    c.model.batch = 15;
    for (int32_t n = 3; n <= 5; n += 2) {
        uint64_t first = train(&c, n, "normal", false);
        CHECK(first != 0 && train(&c, n, "optimal", true) == first);
    }
}

// One replica is the plain session.
static void test_one_is_plain(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O1);
    samba_program program;
    memset(&program, 0, sizeof program);
    samba_session *s = samba_open(NULL);
    CHECK(trace(s, BATCH, &program, &c) && samba_compile(s, &program));
    recipe_net net
        = { samba_tensor_by_name(s, "image"), samba_tensor_by_name(s, "label"), NULL, NULL };
    for (uint32_t step = 0; step < STEPS; step++) {
        recipe_feed(&net, &c.model, step);
        CHECK(samba_run(s, 0));
    }
    CHECK(train(&c, 1, "optimal", true) == hash_of(s));
    CHECK(samba_close(s) == 0);
}

// The largest difference of parameters between n replicas and one, after the same batches.
static double difference(setup *c, int32_t n)
{
    double worst = 0.0;
    samba_parallel *one = open_with(c, 1, "normal", false), *p = open_with(c, n, "optimal", true);
    CHECK(run_steps(one, c, 0, STEPS) && run_steps(p, c, 0, STEPS));
    samba_session *a = samba_parallel_session(one, 0), *b = samba_parallel_session(p, n - 1);
    const char *names[32];
    int32_t n_names = samba_weight_names(a, names, 32);
    for (int32_t i = 0; i < n_names; i++) {
        samba_tensor *t = samba_tensor_by_name(a, names[i]);
        const float *x = samba_read(t), *y = samba_read(samba_tensor_by_name(b, names[i]));
        for (size_t k = 0; k < samba_bytes(t) / 4; k++)
            worst = fmax(worst, fabs((double)x[k] - (double)y[k]));
    }
    double loss = (double)samba_parallel_mean(one, loss_name);
    CHECK(fabs((double)samba_parallel_mean(p, loss_name) - loss) < 1e-6);
    CHECK(samba_parallel_close(one) == 0 && samba_parallel_close(p) == 0);
    return worst;
}

static void test_parts_make_the_whole(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    for (int32_t n = 2; n <= 4; n *= 2) {
        double worst = difference(&c, n);
        CHECK(worst > 0.0 && worst < 1e-6);
        if (worst >= 1e-6) printf("    %d replicas differ by %g\n", (int)n, worst);
    }
    c.microbatches = 2;
    CHECK(difference(&c, 2) < 1e-6);
}

// ---- Losses that are no means over equal parts: the step of the whole batch all the same --------

enum { PART_ROWS = 16, PART_IN = 6, PART_OUT = 5 };

typedef struct parts {
    int32_t batch, microbatches, loss;
} parts;

static int32_t part_label[PART_ROWS];
static float part_x[PART_ROWS * PART_IN], part_mask[PART_ROWS];

static bool trace_parts(samba_session *s, int32_t batch, samba_program *p, void *user)
{
    const parts *c = (const parts *)user;
    int32_t rows = batch / c->microbatches;
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(rows, PART_IN));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(rows));
    samba_tensor *mask = samba_input(s, "mask", SAMBA_F32, SAMBA_SHAPE(rows));
    samba_tensor *y = samba_linear(samba_tanh(samba_linear(x, "a", 8)), "b", PART_OUT);
    samba_tensor *each = samba_sum(samba_mul(y, y), SAMBA_AXES(1), false), *count;
    p->optim.kind = SAMBA_SGD;
    p->optim.lr = 0.1f;
    p->optim.momentum = 0.9f;
    p->max_grad_norm = 0.5f;
    p->microbatches = c->microbatches;
    p->level = SAMBA_O0;
    if (c->loss == 0) p->loss = samba_cross_entropy(y, label);
    if (c->loss == 1) p->loss = samba_scale(samba_sum(each, SAMBA_ALL_AXES, false), 0.05f);
    if (c->loss == 2) p->loss = samba_scale(each, 0.05f);
    if (c->loss >= 3) {
        each = samba_sum(samba_mul(each, mask), SAMBA_ALL_AXES, false);
        count = samba_sum(mask, SAMBA_ALL_AXES, false);
        if (c->loss == 4) count = samba_shift(count, 0.5f);
        p->loss = samba_div(each, count);
    }
    return samba_ok(s);
}

// Four steps; n: replicas, 0: a session with the whole batch.
static void train_parts(parts *c, int32_t n, const char *mode, float *w, float *loss)
{
    samba_parallel_desc d
        = { .replicas = n, .batch = PART_ROWS, .mode = mode, .trace = trace_parts, .user = c };
    samba_parallel_batch in[3]
        = { { "x", part_x, 0 }, { "label", part_label, 0 }, { "mask", part_mask, 0 } };
    samba_parallel *p = samba_parallel_open(&d);
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < PART_ROWS; i++) {
            part_label[i] = i < 5 || i % 4 == 3 ? -100 : (i + step) % PART_OUT;
            part_mask[i] = (float)(i % 5 < 3 && i > 3);
        }
        for (int i = 0; i < PART_ROWS * PART_IN; i++)
            part_x[i] = (float)((i * 31 + step * 7) % 29) / 14 - 1;
        CHECK(samba_parallel_run(p, &(samba_parallel_run_desc){ .inputs = in, .n_inputs = 3 }));
    }
    samba_session *s = samba_parallel_session(p, n - 1);
    samba_copy_out(samba_tensor_by_name(s, "a__weight"), w, 8 * PART_IN * 4);
    const char *const names[5] = { "cross_entropy_4", NULL, NULL, NULL, NULL };
    *loss = names[c->loss] ? samba_parallel_mean(p, names[c->loss]) : 0;
    if (!samba_parallel_ok(p)) printf("    %s\n", samba_parallel_error(p));
    CHECK(samba_parallel_close(p) == 0);
}

static void test_unequal_parts(void)
{
    float want[8 * PART_IN], got[8 * PART_IN], loss[2];
    for (int32_t kind = 0; kind < 5; kind++) {
        parts whole = { PART_ROWS, 1, kind };
        train_parts(&whole, 1, NULL, want, &loss[0]);
        for (int32_t n = 1; n <= 4; n *= 2) {
            for (int32_t m = 1; m <= 2; m++) {
                parts c = { PART_ROWS, m, kind };
                int before = test_bad;
                train_parts(&c, n, modes[(n + m) % 3], got, &loss[1]);
                CHECK_CLOSE(got, want, 8 * PART_IN, 0, 1e-6);
                CHECK_CLOSE(&loss[1], &loss[0], 1, 1e-6, 0);
                if (test_bad > before)
                    printf("    loss %d, %d replicas, %d parts\n", (int)kind, (int)n, (int)m);
            }
        }
    }
}

// ---- Overlap: ops that look, during the backward pass, at what happened beside it ---------------

static samba_parallel *watched;          // NULL: nobody looks
static int n_early_means, n_early_steps; // atomic: how often something was seen

// Waits until it holds that count says, read under the lock; false after 20 seconds.
static bool wait_until(int32_t (*count)(const samba_parallel *p))
{
    double end = samba_seconds() + 20.0;
    bool seen = false;
    while (!seen && samba_seconds() < end) {
        pthread_mutex_lock(&watched->mutex);
        seen = count(watched) > 0;
        pthread_mutex_unlock(&watched->mutex);
        sched_yield();
    }
    return seen;
}

static int32_t first_is_there(const samba_parallel *p) // in all replicas
{
    bool there = true;
    for (int32_t i = 0; i < p->n_replicas; i++)
        there = there && p->replicas[i].done > 0;
    return there;
}

static int32_t n_means(const samba_parallel *p)
{
    return p->n_ready;
}

static int32_t n_steps_here(const samba_parallel *p) // of the replica that runs this op
{
    int32_t n = 0;
    for (int32_t i = 0; i < p->n_replicas; i++)
        for (int32_t k = 0; pthread_equal(p->replicas[i].thread, pthread_self()) && k < p->n_tails;
             k++)
            n += p->replicas[i].ran[k];
    return n;
}

// The backward pass meets layers 2, 1, 0. After 2 all have the gradients of the layer above; after
// 1 their means are there, if the mode says so; after 0 so is an optimizer step.
static void look_back(const samba_args *a)
{
    memcpy(a->out[0] + a->begin, a->in[0] + a->begin, (size_t)(a->end - a->begin) * 4);
    if (!watched) return;
    bool overlaps = watched->mode != SAMBA_PARALLEL__NORMAL;
    if (a->attr[0] == 2) CHECK(wait_until(first_is_there));
    if (a->attr[0] == 1 && (overlaps ? wait_until(n_means) : n_means(watched) > 0))
        __atomic_add_fetch(&n_early_means, 1, __ATOMIC_SEQ_CST);
    if (a->attr[0] == 0 && n_steps_here(watched) > 0)
        __atomic_add_fetch(&n_early_steps, 1, __ATOMIC_SEQ_CST);
}

static void pass_on(const samba_args *a)
{
    memcpy(a->out[0] + a->begin, a->in[0] + a->begin, (size_t)(a->end - a->begin) * 4);
}

static void watch_vjp(samba_vjp *g)
{
    samba_tensor *dy = g->dout[0];
    g->din[0] = samba_apply(g->session, "watch_back", &dy, 1, g->attr, g->n_attr);
}

// y = w x. Its gradient reads w after that of w is complete, and has been reduced.
static void late_kernel(const samba_args *a)
{
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = a->in[0][i] * a->in[1][i];
}

static void late_vjp(samba_vjp *g)
{
    const int32_t done = 2, reduced = 1;
    g->din[0] = samba_mul(g->dout[0], g->in[1]);
    samba_tensor *dy = samba_apply(g->session, "watch_back", &g->dout[0], 1, &done, 1);
    dy = samba_apply(g->session, "watch_back", &dy, 1, &reduced, 1);
    g->din[1] = samba_mul(dy, g->in[0]);
}

static bool one_attribute(samba_call *c)
{
    c->out[0] = c->in[0];
    c->n_out = 1;
    if (c->n_attr != 1) return samba_refuse(c, SAMBA_EARG, "one attribute");
    return true;
}

static void whole(samba_work *w, const samba_call *c)
{
    w->units[0] = samba_count(&c->in[0].shape);
    w->flops = 1;
}

static bool watch_register(samba_session *s)
{
    samba_op op;
    memset(&op, 0, sizeof op);
    op.name = "watch";
    op.wire = 0x8001;
    op.shape = one_attribute;
    op.work = whole;
    op.kernel = pass_on;
    op.vjp = watch_vjp;
    if (!samba_register_op(s, &op)) return false;
    op.name = "watch_back";
    op.wire = 0x8002;
    op.kernel = look_back;
    op.vjp = NULL;
    if (!samba_register_op(s, &op)) return false;
    memset(&op, 0, sizeof op);
    op.name = "late";
    op.wire = 0x8004;
    op.signature = "*,*->*";
    op.kernel = late_kernel;
    op.vjp = late_vjp;
    return samba_register_op(s, &op);
}

static void test_overlap(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    c.watch = true;
    for (int k = 0; k < 6; k++) {
        samba_parallel *p = open_with(&c, 2, modes[k / 2], k % 2);
        n_early_means = n_early_steps = 0;
        watched = p;
        CHECK(run_steps(p, &c, 0, 5));
        watched = NULL;
        CHECK(n_early_means == (k / 2 ? 10 : 0)); // two replicas, five steps
        CHECK(n_early_steps == (k / 2 == 2 ? 10 : 0));
        CHECK(samba_parallel_close(p) == 0);
    }
}

// SambaFlow's events of several replicas: what the calling thread gathers, what goes to all.
static void test_events(void)
{
    for (int on_rdu = 0; on_rdu < 2; on_rdu++) {
        setup c = make_setup(SAMBA_SGD, SAMBA_O0);
        samba_session *s = samba_open(NULL); // only to have a profiler
        samba_profiler *q = samba_profiler_open(s, 0);
        samba_parallel_desc d = { .replicas = 2,
                                  .batch = BATCH,
                                  .reduce_on_rdu = on_rdu,
                                  .trace = trace,
                                  .user = &c,
                                  .on_event = samba_add_event,
                                  .event_user = q };
        samba_parallel *p = samba_parallel_open(&d);
        samba_start_profile(q);
        CHECK(run_steps(p, &c, 0, 3));
        int32_t n = samba_grad_names(samba_parallel_session(p, 0), NULL, 0);
        CHECK(samba_profile_stats(q, "PyRT_GET_TENSORS_GATHER").count == (on_rdu ? 0 : 3 * n));
        CHECK(samba_profile_stats(q, "PyRT_SET_TENSORS_BROADCAST").count == 3);
        CHECK(samba_profile_stats(q, "PyRT_SET_TENSORS_BROADCAST").min > 0);
        samba_parallel_mean(p, loss_name);
        CHECK(samba_profile_stats(q, "PyRT_GET_TENSORS_GATHER").count == (on_rdu ? 1 : 3 * n + 1));
        CHECK(samba_parallel_save(p, checkpoint) && samba_parallel_restore(p, checkpoint));
        CHECK(samba_profile_stats(q, "PyRT_SET_TENSORS_BROADCAST").count == 4);
        const samba_parallel_run_desc forward = { .types = SAMBA_FWD };
        CHECK(samba_parallel_run(p, &forward)); // nothing is reduced
        CHECK(samba_profile_stats(q, "PyRT_SET_TENSORS_BROADCAST").count == 4);
        remove(checkpoint);
        samba_profiler_close(q);
        CHECK(samba_parallel_close(p) == 0 && samba_close(s) == 0);
    }
}

// A parameter that the backward pass still reads is not stepped early.
static void test_late_reader(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    uint64_t hash[3];
    c.watch = c.late = true;
    for (int k = 0; k < 3; k++) {
        samba_parallel *p = open_with(&c, 2, modes[k], false);
        watched = p;
        CHECK(run_steps(p, &c, 0, 5));
        watched = NULL;
        hash[k] = hash_of(samba_parallel_session(p, 0));
        CHECK(samba_parallel_close(p) == 0);
    }
    CHECK(hash[0] && hash[0] == hash[1] && hash[0] == hash[2]);
}

// ---- Sections -----------------------------------------------------------------------------------

static void test_sections_say_what_they_use(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    samba_program program;
    samba_section q;
    memset(&program, 0, sizeof program);
    samba_session *s = samba_open(NULL);
    CHECK(samba_section_uses(s, 0, NULL) == 0 && !samba_sections_commute(s, 0, 0));
    CHECK(trace(s, BATCH, &program, &c) && samba_compile(s, &program));
    samba_tensor *w = samba_tensor_by_name(s, "gemm3__weight"), *g = samba_sn_grad(w);
    int32_t n = 0, writer = -1, reader = -1, steps = 0;
    for (; samba_describe_section(s, n, &q); n++) {
        if (samba_section_uses(s, n, g) & SAMBA_WRITES) writer = n;
        if (samba_section_uses(s, n, g) & SAMBA_READS) reader = n;
        unsigned use = samba_section_uses(s, n, w);
        CHECK(!(use & SAMBA_WRITES) || strcmp(q.type, "OPT") == 0);
        steps += (use & SAMBA_WRITES) != 0;
    }
    CHECK(steps == 1 && writer > 0 && reader == n - 2); // its bias comes after it
    CHECK(samba_describe_section(s, writer, &q) && strcmp(q.type, "BCKWD") == 0);
    CHECK(!samba_sections_commute(s, writer, reader) && !samba_sections_commute(s, reader, writer));
    CHECK(samba_sections_commute(s, reader, n - 1) && !samba_sections_commute(s, reader, reader));
    CHECK(!samba_sections_commute(s, -1, 0) && !samba_sections_commute(s, 0, n));
    CHECK(samba_section_uses(s, n, g) == 0 && samba_section_uses(s, -1, g) == 0);
    const char *names[10];
    CHECK(samba_grad_names(s, names, 10) == 10 && samba_weight_names(s, NULL, 0) == 10);
    CHECK(strstr(names[0], "__grad") != NULL);
    CHECK(samba_close(s) == 0);
}

// ---- Inputs and hyperparameters -----------------------------------------------------------------

// x (3,B) is split by its second dimension, bias (3) goes to all.
static bool trace_columns(samba_session *s, int32_t batch, samba_program *p, void *user)
{
    (void)user;
    samba_tensor *x = samba_set_batch_dim(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(3, batch)), 1);
    samba_tensor *b = samba_set_batch_dim(samba_input(s, "b", SAMBA_F32, SAMBA_SHAPE(3, 1)), -1);
    p->outputs[0] = samba_add(x, b);
    p->inference = true;
    return true;
}

static void test_split_by_batch_dim(void)
{
    float x[24], b[3] = { 100, 200, 300 };
    samba_parallel_batch in[2] = { { "x", x, 8 }, { "b", b, 0 } };
    samba_parallel_desc d;
    samba_parallel_run_desc run;
    memset(&d, 0, sizeof d);
    memset(&run, 0, sizeof run);
    for (int i = 0; i < 24; i++)
        x[i] = (float)i;
    d.replicas = 4;
    d.batch = 8;
    d.trace = trace_columns;
    run.inputs = in;
    run.n_inputs = 2;
    samba_parallel *p = samba_parallel_open(&d);
    CHECK(samba_parallel_run(p, &run) && samba_parallel_run(p, &run));
    CHECK(samba_parallel_replicas(p) == 4 && samba_parallel_first(p) == 0);
    for (int32_t r = 0; r < 4; r++) {
        const float *y = samba_read(samba_tensor_by_name(samba_parallel_session(p, r), "add_1"));
        for (int i = 0; i < 6; i++)
            CHECK(y[i] == (float)(i / 2 * 8 + r * 2 + i % 2 + 100 * (i / 2 + 1)));
    }
    CHECK(!samba_parallel_session(p, 4) && !samba_parallel_session(p, -1));
    CHECK(samba_parallel_close(p) == 0);
}

// Of two graphs the one that trains runs; the other one when it is named.
static bool trace_graphs(samba_session *s, int32_t batch, samba_program *p, void *user)
{
    (void)user;
    samba_begin_graph(s, "ask");
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(batch, 4));
    p->outputs[0] = samba_linear(x, "fc", 1);
    samba_begin_graph(s, "learn");
    samba_tensor *u = samba_input(s, "u", SAMBA_F32, SAMBA_SHAPE(batch, 4));
    p->loss = samba_mean(samba_linear(u, "fc", 1), SAMBA_ALL_AXES, false);
    p->optim.kind = SAMBA_SGD;
    p->optim.lr = 1.0f;
    return samba_ok(s);
}

static void test_graphs(void)
{
    const float x[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    samba_parallel_batch in = { "u", x, 2 };
    samba_parallel_desc d;
    samba_parallel_run_desc run;
    float before[2], after;
    memset(&d, 0, sizeof d);
    memset(&run, 0, sizeof run);
    d.replicas = 2;
    d.batch = 2;
    d.mode = "optimal";
    d.trace = trace_graphs;
    run.inputs = &in;
    run.n_inputs = 1;
    samba_parallel *p = samba_parallel_open(&d);
    samba_session *s = samba_parallel_session(p, 1);
    samba_copy_out(samba_tensor_by_name(s, "fc__bias"), before, 4);
    CHECK(samba_parallel_run(p, &run));
    samba_copy_out(samba_tensor_by_name(s, "fc__bias"), &after, 4);
    CHECK(after == before[0] - 1.0f); // d loss / d bias is 1
    in.name = "x";
    run.graph = "ask";
    run.types = SAMBA_FWD;
    CHECK(samba_parallel_run(p, &run));
    CHECK(samba_read(samba_tensor_by_name(s, "fc__bias"))[0] == after);
    CHECK(samba_parallel_close(p) == 0);
}

static void test_seeds_differ(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O3);
    c.dropout = true;
    samba_parallel *p = open_with(&c, 2, "normal", false);
    samba_session *a = samba_parallel_session(p, 0), *b = samba_parallel_session(p, 1);
    CHECK(samba_get(a, "drop1__seed") == 0 && samba_get(b, "drop1__seed") == 1);
    CHECK(samba_parallel_set(p, "drop1__seed", 4294967295.0) && samba_parallel_set(p, "lr", 0.5));
    CHECK(samba_get(a, "drop1__seed") == 4294967295.0 && samba_get(b, "drop1__seed") == 0);
    CHECK(samba_get(a, "lr") == 0.5 && samba_get(b, "lr") == 0.5);
    samba_value seed = { "drop1__seed", 7 };
    samba_parallel_run_desc d;
    memset(&d, 0, sizeof d);
    d.hyperparams = &seed;
    d.n_hyperparams = 1;
    CHECK(run_step(p, &c, 0, -1) && samba_parallel_run(p, &d));
    CHECK(samba_get(a, "drop1__seed") == 7 && samba_get(b, "drop1__seed") == 8);
    CHECK(samba_parallel_close(p) == 0);
}

// Both halves of the batch are the same: without dropout so are the losses, with it they are not.
static void test_masks_differ(void)
{
    static float x[BATCH * 48];
    static int32_t label[BATCH];
    samba_parallel_batch in[2] = { { "image", x, BATCH }, { "label", label, 0 } };
    samba_parallel_run_desc d;
    setup c = make_setup(SAMBA_SGD, SAMBA_O3);
    c.dropout = true;
    memset(&d, 0, sizeof d);
    d.inputs = in;
    d.n_inputs = 2;
    d.types = SAMBA_FWD;
    recipe_images(0, BATCH / 2, 48, x, label);
    memcpy(x + BATCH / 2 * 48, x, sizeof x / 2);
    memcpy(label + BATCH / 2, label, sizeof label / 2);
    samba_parallel *p = open_with(&c, 2, "inorder", true);
    for (int eval = 0; eval < 2; eval++) {
        float loss[2];
        d.eval = eval;
        CHECK(samba_parallel_run(p, &d));
        for (int32_t r = 0; r < 2; r++)
            loss[r] = samba_read(samba_tensor_by_name(samba_parallel_session(p, r), loss_name))[0];
        CHECK(eval ? loss[0] == loss[1] : loss[0] != loss[1]);
        CHECK(samba_parallel_mean(p, loss_name) == (loss[0] + loss[1]) / 2);
    }
    CHECK(samba_parallel_close(p) == 0);
}

static void test_resume(void)
{
    setup c = make_setup(SAMBA_ADAMW, SAMBA_O0);
    c.dropout = true;
    samba_parallel *p = open_with(&c, 4, "inorder", false);
    CHECK(run_steps(p, &c, 0, 5) && samba_parallel_save(p, checkpoint));
    CHECK(run_steps(p, &c, 5, 10));
    uint64_t hash = hash_of(samba_parallel_session(p, 0));
    CHECK(samba_parallel_close(p) == 0);
    p = open_with(&c, 4, "optimal", true);
    CHECK(samba_parallel_restore(p, checkpoint) && run_steps(p, &c, 5, 10));
    CHECK(hash_of(samba_parallel_session(p, 3)) == hash);
    CHECK(!samba_parallel_restore(p, "no/such/file") && !samba_parallel_save(p, checkpoint));
    CHECK(strstr(samba_parallel_error(p), "no/such/file") != NULL);
    CHECK(samba_parallel_close(p) == 1);
    remove(checkpoint);
}

// A PEF on disk, written by the first replica alone, runs with and without the graph.
static bool trace_to_file(samba_session *s, int32_t batch, samba_program *p, void *user)
{
    p->pef = pef;
    return trace(s, batch, p, user);
}

static void test_pef(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    samba_parallel_desc d;
    memset(&d, 0, sizeof d);
    d.replicas = 2;
    d.batch = BATCH;
    d.trace = trace_to_file;
    d.user = &c;
    samba_parallel *p = samba_parallel_open(&d);
    CHECK(run_steps(p, &c, 0, 3) && samba_parallel_save(p, checkpoint));
    CHECK(samba_parallel_close(p) == 0);
    d.pef = pef;
    uint64_t hash[2];
    for (int k = 0; k < 2; k++) {
        d.trace = k ? NULL : trace;
        p = samba_parallel_open(&d);
        CHECK(samba_parallel_restore(p, checkpoint) && run_steps(p, &c, 3, 6));
        hash[k] = hash_of(samba_parallel_session(p, 1));
        CHECK(samba_parallel_close(p) == 0);
    }
    CHECK(hash[0] == hash[1] && hash[0] != 0);
    remove(pef);
    remove(pef_log);
    remove(pef_map);
    remove(checkpoint);
}

// ---- Mistakes -----------------------------------------------------------------------------------

// Closes p, whose error must contain all these texts.
static void check_error(samba_parallel *p, const char *a, const char *b, const char *c)
{
    const char *error = samba_parallel_error(p);
    CHECK(!samba_parallel_ok(p));
    bool right = strstr(error, a) && strstr(error, b) && strstr(error, c);
    CHECK(right);
    if (!right) printf("    the error is: %s\n", error);
    CHECK(!samba_parallel_run(p, NULL) && samba_parallel_mean(p, loss_name) == 0.0f);
    CHECK(samba_parallel_close(p) == 1);
}

static bool trace_nothing(samba_session *s, int32_t batch, samba_program *p, void *user)
{
    (void)s;
    (void)batch;
    (void)p;
    (void)user;
    return false;
}

static void test_bad_options(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O3);
    samba_parallel_desc d;
    memset(&d, 0, sizeof d);
    check_error(open_with(&c, 2, "fast", false), "normal", "inorder", "optimal");
    check_error(open_with(&c, 3, NULL, false), "16", "split evenly", "3 replicas");
    check_error(open_with(&c, 65, NULL, false), "65", "1 ... 64", "");
    check_error(open_with(&c, -1, NULL, false), "-1", "1 ... 64", "");
    check_error(samba_parallel_open(NULL), "pef", "", "");
    c.mapping = SAMBA_MAPPING_SPATIAL;
    c.sram = 0;
    check_error(open_with(&c, 2, NULL, false), "mapping spatial", "mapping section", "");
    c.mapping = SAMBA_MAPPING_SECTION;
    d.trace = trace_nothing;
    check_error(samba_parallel_open(&d), "replica 0", "", "");
    d.trace = NULL;
    d.pef = "no/such.pef";
    d.replicas = 2;
    d.session.log = silence;
    check_error(samba_parallel_open(&d), "replica 0", "no/such.pef", "");
    c.optim.kind = (samba_optim_kind)77;
    check_error(open_with(&c, 2, NULL, false), "replica 0", "optimizer", "");
    CHECK(samba_parallel_close(NULL) == 1 && !samba_parallel_ok(NULL));
    CHECK(!samba_parallel_session(NULL, 0) && samba_parallel_replicas(NULL) == 0);
}

static samba_parallel *after_run(setup *c, const samba_parallel_batch *in, unsigned types,
                                 const char *graph)
{
    samba_parallel_run_desc d;
    memset(&d, 0, sizeof d);
    d.inputs = in;
    d.n_inputs = in ? 1 : 0;
    d.types = types;
    d.graph = graph;
    samba_parallel *p = open_with(c, 4, NULL, false);
    CHECK(!samba_parallel_run(p, &d));
    return p;
}

static void test_bad_runs(void)
{
    static const float x[30 * 48];
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    samba_parallel_batch uneven = { "image", x, 30 }, small = { "image", x, 8 },
                         other = { "picture", x, 0 };
    samba_parallel_batch none = { "image", NULL, 0 };
    check_error(after_run(&c, &uneven, 0, NULL), "30 rows", "split evenly", "4 replicas");
    check_error(after_run(&c, &small, 0, NULL), "8 rows", "4 replicas", "takes 4");
    check_error(after_run(&c, &other, 0, NULL), "picture", "unknown", "");
    check_error(after_run(&c, &none, 0, NULL), "no data", "", "");
    check_error(after_run(&c, NULL, SAMBA_GRADNORM, NULL), "types of sections", "", "");
    check_error(after_run(&c, NULL, 0, "train"), "graph train", "", "");
    check_error(after_run(&c, NULL, 0, NULL), "never given a value", "replica", "");
}

// A step in pieces, with REDUCE where it is asked for, is the whole step; what would let replicas
// part, or clip by an old norm, is refused.
static void test_reduce_when_asked(void)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    const unsigned passes = SAMBA_FWD | SAMBA_BCKWD;
    uint64_t want = 0;
    c.optim.max_grad_norm = 0.05f;
    for (int way = 0; way < 4; way++) {
        samba_parallel *p = open_with(&c, 4, modes[way % 3], way % 2);
        samba_parallel_run_desc d = { .types = SAMBA_FWD };
        CHECK(run_step(p, &c, 0, -1)); // inputs, and a first step
        unsigned pieces[4] = { passes | SAMBA_OPT, 0, 0, 0 };
        if (way == 1) pieces[0] = passes | SAMBA_REDUCE | SAMBA_OPT;
        if (way == 2) {
            pieces[0] = passes;
            pieces[1] = SAMBA_REDUCE;
            pieces[2] = SAMBA_GRADNORM;
            pieces[3] = SAMBA_OPT;
        }
        if (way == 3) {
            pieces[0] = passes | SAMBA_REDUCE;
            pieces[1] = SAMBA_GRADNORM | SAMBA_OPT;
        }
        for (int i = 0; i < 4 && pieces[i]; i++) {
            d.types = pieces[i];
            CHECK(samba_parallel_run(p, &d));
        }
        uint64_t hash = hash_of(samba_parallel_session(p, 0));
        if (way == 0) want = hash;
        CHECK(hash && hash == want && hash_of(samba_parallel_session(p, 3)) == want);
        CHECK(samba_parallel_close(p) == 0);
    }
    const unsigned refused[3][2] = { { passes, SAMBA_GRADNORM | SAMBA_OPT },
                                     { passes, SAMBA_OPT },
                                     { passes | SAMBA_REDUCE, SAMBA_OPT } };
    for (int i = 0; i < 3; i++) {
        samba_parallel *p = open_with(&c, 2, NULL, false);
        samba_parallel_run_desc d = { .types = refused[i][0] };
        CHECK(run_step(p, &c, 0, -1) && samba_parallel_run(p, &d));
        d.types = refused[i][1];
        CHECK(!samba_parallel_run(p, &d));
        check_error(p, i < 2 ? "have not been reduced" : "GRADNORM has not computed",
                    "nothing was run", "");
    }
}

// x (B,2) times w, with dropout: the gradient of w tells which x and which mask it is of.
static bool trace_dropping(samba_session *s, int32_t batch, samba_program *p, void *user)
{
    (void)user;
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(batch, 2));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
    p->outputs[0] = samba_name(samba_dropout(samba_mul(x, w), "drop", 0.5f), "y");
    p->loss = samba_mean(p->outputs[0], SAMBA_ALL_AXES, false);
    p->optim.kind = SAMBA_SGD;
    p->optim.lr = 1;
    p->level = SAMBA_O0;
    return samba_ok(s);
}

// BCKWD in a run of its own gives the gradient of what FWD has read, in each replica, or is
// refused.
static void test_backward_alone(void)
{
    static const char *const why[] = { NULL,
                                       NULL,
                                       "reads x, which has another value",
                                       "another mode",
                                       "drop__p, which has another value",
                                       "drop__p, which has another value",
                                       "reads x, which has another value",
                                       "has not",
                                       "forward_runs",
                                       "drop__seed" };
    const char *path = checkpoint;
    for (int way = 0; way < 10; way++) {
        float x[16], y[4];
        samba_parallel_desc d = { .replicas = 2,
                                  .batch = 4,
                                  .mode = modes[way % 3],
                                  .trace = trace_dropping,
                                  .session = { .threads = 1, .quiet = true } };
        samba_parallel *p = samba_parallel_open(&d);
        samba_session *last = samba_parallel_session(p, 1);
        for (int i = 0; i < 8; i++)
            x[i] = (float)(i + 1);
        samba_parallel_batch in = { "x", x, 4 };
        samba_value rate = { "p", 0.25 };
        samba_parallel_run_desc run
            = { .inputs = &in, .n_inputs = 1, .types = SAMBA_FWD, .eval = way == 3 };
        if (way == 7) CHECK(samba_parallel_save(p, path));
        CHECK(samba_parallel_run(p, &run));
        CHECK(samba_copy_out(samba_tensor_by_name(last, "y"), y, sizeof y));
        run.types = SAMBA_BCKWD;
        run.eval = false;
        if (way != 1) run.n_inputs = 0; // 1: the same batch again
        if (way == 2) {
            x[7] = 100;
            run.n_inputs = 1;
        } // in the part of the last replica
        if (way == 4) CHECK(samba_parallel_set(p, "p", 0.25));
        if (way == 5) {
            run.hyperparams = &rate;
            run.n_hyperparams = 1;
        }
        if (way == 6) CHECK(samba_write(samba_tensor_by_name(last, "x"), y));
        if (way == 7) CHECK(samba_parallel_restore(p, path));
        if (way == 8) CHECK(samba_reset_random_generator(last));
        if (way == 9) CHECK(samba_parallel_set(p, "drop__seed", 5));
        bool ran = samba_parallel_run(p, &run);
        CHECK(ran == (why[way] == NULL));
        if (ran)
            CHECK(fabsf(samba_read(samba_tensor_by_name(last, "w__grad"))[0] - (y[0] + y[2]) / 4)
                  < 1e-6f);
        if (!ran)
            CHECK(strstr(samba_parallel_error(p), why[way])
                  && strstr(samba_parallel_error(p), "nothing was run"));
        if (!ran && !strstr(samba_parallel_error(p), why[way]))
            printf("    way %d: %s\n", way, samba_parallel_error(p));
        CHECK(samba_parallel_close(p) == !ran);
    }
    remove(checkpoint);
}

// OPT needs gradients that BCKWD made of the last forward pass.
static void test_step_alone(void)
{
    static const unsigned both = SAMBA_FWD | SAMBA_BCKWD | SAMBA_REDUCE;

    static const struct {
        unsigned first, then;
        const char *why;
    } tries[] = {
        { SAMBA_FWD, SAMBA_OPT, "BCKWD has not run" },
        { SAMBA_FWD, SAMBA_FWD | SAMBA_OPT, "BCKWD has not run" },
        { both, SAMBA_FWD | SAMBA_OPT, "earlier forward pass" },
        { both, SAMBA_OPT, NULL },
    };

    for (int i = 0; i < 4; i++) {
        setup c = make_setup(SAMBA_SGD, SAMBA_O0);
        samba_parallel *p = open_with(&c, 2, modes[i % 3], false);
        samba_parallel_run_desc d = { .types = tries[i].first };
        if (tries[i].first == both) CHECK(run_step(p, &c, 0, -1));
        if (tries[i].first == SAMBA_FWD) {
            static float x[BATCH * 48];
            static int32_t label[BATCH];
            samba_parallel_batch in[2] = { { "image", x, 0 }, { "label", label, 0 } };
            d.inputs = in;
            d.n_inputs = 2;
            CHECK(samba_parallel_run(p, &d));
        } else {
            CHECK(samba_parallel_run(p, &d));
        }
        d = (samba_parallel_run_desc){ .types = tries[i].then };
        CHECK(samba_parallel_run(p, &d) == !tries[i].why);
        if (tries[i].why)
            check_error(p, tries[i].why, "nothing was run", "");
        else
            CHECK(samba_parallel_close(p) == 0);
    }
}

// A label that does not exist, in the part of replica 2: the others do not wait for it forever.
static void test_failing_replica(void)
{
    for (int k = 0; k < 6; k++) {
        setup c = make_setup(SAMBA_SGD, k < 3 ? SAMBA_O0 : SAMBA_O3);
        samba_parallel *p = open_with(&c, 4, modes[k % 3], k % 2);
        CHECK(run_steps(p, &c, 0, 3) && !run_step(p, &c, 3, 9));
        check_error(p, "replica 2", "label", "1000");
    }
}

// ---- The end of the process, in children --------------------------------------------------------

// Runs fn in a child; returns its exit code, or -1; text gets what it said on stderr.
static int in_child(void (*fn)(void), char *text, size_t size, double *seconds)
{
    int ends[2], status = -1;
    size_t n = 0;
    ssize_t got;
    double begin = samba_seconds();
    fflush(NULL);
    if (pipe(ends)) return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        alarm(60);
        fn();
        exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = 0;
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    *seconds = samba_seconds() - begin;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void say(void *word)
{
    fprintf(stderr, "%s.", (const char *)word);
}

static void say_c(void)
{
    fputs("of C.", stderr);
}

static void register_handlers(void)
{
    static char first[] = "first", second[] = "second";
    atexit(say_c);
    samba_atexit_register(say, first);
    samba_atexit_register(say, second);
}

static void end_plainly(void)
{
    register_handlers();
}

static int return_3(void *user)
{
    (void)user;
    register_handlers();
    return 3;
}

static void end_with_3(void)
{
    samba_use_abexit(return_3, NULL);
}

static int fail_in_a_replica(void *user)
{
    setup c = make_setup(SAMBA_SGD, SAMBA_O0);
    (void)user;
    register_handlers();
    samba_parallel *p = open_with(&c, 4, "inorder", true);
    run_steps(p, &c, 0, 3);
    run_step(p, &c, 3, 5);
    fputs("went on.", stderr);
    return 0;
}

static void end_by_a_replica(void)
{
    samba_use_abexit(fail_in_a_replica, NULL);
}

// Replica 0 hangs in an op, replica 1 fails.
static void hang(const samba_args *a)
{
    pass_on(a);
    if (a->in[0][0] == 0.0f) sleep(50);
}

static bool trace_hanging(samba_session *s, int32_t batch, samba_program *p, void *user)
{
    samba_op op;
    (void)user;
    memset(&op, 0, sizeof op);
    op.name = "hang";
    op.wire = 0x8003;
    op.signature = "*->*";
    op.kernel = hang;
    samba_register_op(s, &op);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(batch));
    samba_tensor *id = samba_input(s, "id", SAMBA_I32, SAMBA_SHAPE(batch));
    p->outputs[0] = samba_add(samba_apply(s, "hang", &x, 1, NULL, 0),
                              samba_squeeze(samba_embedding(id, "table", 4, 1), 1));
    p->inference = true;
    p->level = SAMBA_O0;
    return samba_ok(s);
}

static int fail_beside_a_hang(void *user)
{
    const float x[2] = { 0, 1 };
    const int32_t id[2] = { 0, 99 };
    const samba_parallel_batch in[2] = { { "x", x, 2 }, { "id", id, 2 } };
    samba_parallel_desc d;
    samba_parallel_run_desc run;
    (void)user;
    memset(&d, 0, sizeof d);
    memset(&run, 0, sizeof run);
    d.replicas = 2;
    d.batch = 2;
    d.trace = trace_hanging;
    d.session.log = silence;
    run.inputs = in;
    run.n_inputs = 2;
    samba_parallel_run(samba_parallel_open(&d), &run);
    return 0;
}

static void end_beside_a_hang(void)
{
    samba_use_abexit(fail_beside_a_hang, NULL);
}

static void test_ends(void)
{
    char text[2000];
    double seconds = 0.0;
    CHECK(in_child(end_plainly, text, sizeof text, &seconds) == 0);
    CHECK(strcmp(text, "second.first.of C.") == 0);
    CHECK(in_child(end_with_3, text, sizeof text, &seconds) == 3);
    CHECK(strcmp(text, "second.first.") == 0);
    CHECK(in_child(end_by_a_replica, text, sizeof text, &seconds) == 1);
    CHECK(strstr(text, "replica 1") && strstr(text, "1000") && strstr(text, "second.first."));
    CHECK(!strstr(text, "went on") && !strstr(text, "of C"));
    CHECK(in_child(end_beside_a_hang, text, sizeof text, &seconds) == 1);
    CHECK(strstr(text, "replica 1") && strstr(text, "99") && seconds < 10.0);
}

static void test_too_many_handlers(void)
{
    static char quiet[] = "";
    int n = 0;
    while (n < 100 && samba_atexit_register(say, quiet))
        n++;
    CHECK(n == 32 && !samba_atexit_register(NULL, NULL));
    samba_parallel__exits.n = 0;
}

// ---- One training, for tests/tools/parallel.sh --------------------------------------------------

// train REPLICAS MODE rdu|host STEPS FILE [WORD NUMBER STEP]: saves at half of the steps and at the
// end. resume: begins at STEP with FILE. At the beginning of STEP, NUMBER is: kill, the rank that
// is killed; spoil, the replica that gets a bad label; leave, the rank that goes with exit code 4.
// Makes FILE.when: its age is how long ago something happened.
static void mark_time(const char *path)
{
    char name[300];
    snprintf(name, sizeof name, "%s.when", path);
    FILE *f = fopen(name, "w");
    if (f) fclose(f);
}

typedef struct command {
    int argc;
    char **argv;
} command;

static int train_command(void *user)
{
    char **argv = ((command *)user)->argv;
    bool acts = ((command *)user)->argc > 9;
    const char *word = acts ? argv[7] : "", *path = argv[6];
    int32_t number = acts ? atoi(argv[8]) : 0, when = acts ? atoi(argv[9]) : -1;
    int32_t steps = atoi(argv[5]), step = 0;
    setup c = make_setup(SAMBA_ADAMW, SAMBA_O0);
    samba_parallel *p = open_with(&c, atoi(argv[2]), argv[3], !strcmp(argv[4], "rdu"));
    if (!strcmp(word, "resume") && samba_parallel_restore(p, path)) step = when;
    for (; step < steps && samba_parallel_ok(p); step++) {
        const char *now = step == when ? word : "";
        // Who goes says when: another rank may not be there yet.
        if (*now && (p->rank == number || !strcmp(now, "spoil"))) mark_time(path);
        if (!strcmp(now, "kill") && p->rank == number) raise(SIGKILL);
        if (!strcmp(now, "leave") && p->rank == number) return 4;
        bool spoiled = !strcmp(now, "spoil");
        run_step(p, &c, (uint32_t)step, spoiled ? number * BATCH / p->n_everywhere : -1);
        if (step + 1 == steps / 2 || step + 1 == steps) samba_parallel_save(p, path);
    }
    float loss = samba_parallel_mean(p, loss_name);
    if (samba_parallel_ok(p) && samba_parallel_first(p) == 0) printf("loss %.9g\n", (double)loss);
    return samba_parallel_close(p);
}

int main(int argc, char **argv)
{
    command c = { argc, argv };
    if (argc > 6 && !strcmp(argv[1], "train")) return samba_use_abexit(train_command, &c);
    snprintf(checkpoint, sizeof checkpoint, "%.200s.ckpt", argv[0]);
    snprintf(pef, sizeof pef, "%.200s.pef", argv[0]);
    snprintf(pef_log, sizeof pef_log, "%.200s.pef.log", argv[0]);
    snprintf(pef_map, sizeof pef_map, "%.200s.pef.map", argv[0]);
    RUN(test_ends);
    RUN(test_sections_say_what_they_use);
    RUN(test_modes_one_op_a_section);
    RUN(test_modes_sections_by_size);
    RUN(test_modes_one_section);
    RUN(test_modes_shared_weight);
    RUN(test_modes_microbatches);
    RUN(test_modes_dropout);
    RUN(test_tree);
    RUN(test_odd_numbers);
    RUN(test_one_is_plain);
    RUN(test_parts_make_the_whole);
    RUN(test_unequal_parts);
    RUN(test_overlap);
    RUN(test_events);
    RUN(test_late_reader);
    RUN(test_split_by_batch_dim);
    RUN(test_graphs);
    RUN(test_seeds_differ);
    RUN(test_masks_differ);
    RUN(test_resume);
    RUN(test_pef);
    RUN(test_bad_options);
    RUN(test_bad_runs);
    RUN(test_reduce_when_asked);
    RUN(test_backward_alone);
    RUN(test_step_alone);
    RUN(test_failing_replica);
    RUN(test_too_many_handlers);
    return test_summary();
}
