/* replay.h: 50 values that are not finite, put into a training at 50 places: each run names the op
   that made it, as the arithmetic says, and its file repeats it in a new session, bit for bit. So
   it is with runs of other kinds, and where it cannot be, a sentence says so. */
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/counting.h"
#define malloc(size) counting_malloc(size)
#define calloc(n, size) counting_calloc(n, size)
#define realloc(p, size) counting_realloc(p, size)
#define free(p) counting_free(p)
#define SAMBA_REPLAY_IMPLEMENTATION
#include "tools/include/samba/replay.h"
#undef malloc
#undef calloc
#undef realloc
#undef free
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { B = 4, F = 6, N = B * F, STAGES = 10, STEPS = 3 };

#define FOLDER "build/replay_test"
#define PATH FOLDER "/a.replay"
#define CHECKPOINT FOLDER "/a.ckpt"

/* A stage adds f(t) of an input t of its own, which is 1 unless a value is put there. What f makes
   of it then: */
static const struct {
    const char *op;
    float bad, made;
    bool passes; // f hands on what it is given: the input itself is at fault
} stages[STAGES] = {
    { "log", -1.0f, NAN, false },        { "sqrt", -4.0f, NAN, false },
    { "exp", 1000.0f, INFINITY, false }, { "div", 0.0f, INFINITY, false },
    { "rsqrt", 0.0f, INFINITY, false },  { "scale", 3e38f, INFINITY, false },
    { "log", 0.0f, -INFINITY, false },   { "mul", 1e30f, INFINITY, false },
    { "relu", NAN, NAN, true },          { "sub", NAN, NAN, true },
};

static samba_tensor *apply(samba_tensor *t, samba_tensor *one, int32_t i)
{
    switch (i) {
    case 0:
        return samba_log(t);
    case 1:
        return samba_sqrt(t);
    case 2:
        return samba_exp(t);
    case 3:
        return samba_div(one, t);
    case 4:
        return samba_rsqrt(t);
    case 5:
        return samba_scale(t, 10.0f);
    case 6:
        return samba_log(t);
    case 7:
        return samba_mul(t, t);
    case 8:
        return samba_relu(t);
    default:
        return samba_sub(t, one);
    }
}

typedef struct net {
    samba_session *s;
    samba_tensor *t[STAGES];
    samba_replay *replay;
} net;

// Stages between layers, with dropout, momentum and statistics, so that what was before a run
// matters.
static net open_net(void)
{
    net n;
    char name[32];
    memset(&n, 0, sizeof n);
    n.s = samba_open(&(samba_desc){ .quiet = true, .threads = 2 });
    samba_tensor *h = samba_input(n.s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_tensor *one = samba_full(n.s, SAMBA_SHAPE(B, F), 1.0f);
    for (int32_t i = 0; i < STAGES; i++) {
        snprintf(name, sizeof name, "t%d", i);
        n.t[i] = samba_input(n.s, name, SAMBA_F32, SAMBA_SHAPE(B, F));
        snprintf(name, sizeof name, "layer%d", i);
        h = samba_add(samba_tanh(samba_linear(h, name, F)), apply(n.t[i], one, i));
        snprintf(name, sizeof name, "drop%d", i);
        if (i % 3 == 0) h = samba_dropout(h, name, 0.25f);
    }
    h = samba_batchnorm(h, "norm");
    samba_program p
        = { .loss = samba_name(samba_mean(samba_mul(h, h), SAMBA_ALL_AXES, false), "loss"),
            .optim = { .kind = SAMBA_ADAMW, .lr = 0.01f } };
    CHECK(samba_compile(n.s, &p));
    n.replay = samba_replay_open(n.s, PATH);
    CHECK(n.replay != NULL);
    return n;
}

static void close_net(net *n)
{
    samba_replay_close(n->replay);
    samba_clear_error(n->s);
    samba_close(n->s);
}

// Values of a step; all stages get ones.
static void feed(net *n, int32_t step)
{
    float x[N], ones[N];
    for (int32_t i = 0; i < N; i++) {
        x[i] = (float)((i * 7 + step * 5) % 23) / 16 - 0.6f;
        ones[i] = 1.0f;
    }
    CHECK(samba_write(samba_tensor_by_name(n->s, "x"), x));
    for (int32_t i = 0; i < STAGES; i++)
        CHECK(samba_write(n->t[i], ones));
}

static bool same_value(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

// The hash of all parameters, by their names.
static uint64_t state_of(samba_session *s)
{
    static uint8_t bytes[1 << 12];
    const char *names[64];
    uint64_t hash = 0;
    int32_t n = samba_weight_names(s, names, 64);
    for (int32_t i = 0; i < n; i++) {
        samba_tensor *w = samba_tensor_by_name(s, names[i]);
        CHECK(samba_bytes(w) <= sizeof bytes && samba_copy_out(w, bytes, samba_bytes(w)));
        for (size_t k = 0; k < samba_bytes(w); k++)
            hash = (hash ^ bytes[k]) * 1099511628211u;
    }
    return hash;
}

// The run fails with the op, element and value that the arithmetic says.
static bool right_culprit(net *n, int32_t stage, int32_t element)
{
    samba_culprit q;
    char name[32];
    snprintf(name, sizeof name, "t%d", stage);
    if (!samba_nonfinite(n->s, &q)) return false;
    if (stages[stage].passes) {
        bool is = q.leaf && strcmp(q.tensor, name) == 0 && q.element == element && isnan(q.value);
        return is && strcmp(q.op, stages[stage].op) == 0;
    }
    return !q.leaf && strcmp(q.op, stages[stage].op) == 0 && q.element == element
        && same_value(q.value, stages[stage].made) && strcmp(q.in[stage == 3].name, name) == 0;
}

// In a new session the file repeats the run.
static bool replays(uint64_t state, const char *message)
{
    samba_replay_found found;
    char why[512] = "";
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1, .portable = true });
    bool fine = samba_replay_load(s, PATH, CHECKPOINT, &found, why, sizeof why);
    if (!fine) printf("%s\n", why);
    fine = fine && state_of(s) == state && samba_replay_again(s, &found);
    fine = fine && strstr(message, found.message);
    samba_replay_free(&found);
    samba_clear_error(s);
    samba_close(s);
    remove(CHECKPOINT);
    return fine;
}

static void test_fifty(void)
{
    int32_t culprits = 0, repeated = 0, n_bad = 0;
    for (int32_t i = 0; i < 50; i++) {
        int32_t stage = i % STAGES, element = (i * 11 + 3) % N;
        float t[N];
        net n = open_net();
        for (int32_t step = 0; step < STEPS; step++) {
            feed(&n, step);
            if (!samba_replay_run(n.replay, 0)) n_bad++;
        }
        for (int32_t k = 0; k < N; k++)
            t[k] = k == element ? stages[stage].bad : 1.0f;
        CHECK(samba_write(n.t[stage], t));
        uint64_t before = state_of(n.s);
        n_bad += samba_replay_run(n.replay, 0);
        culprits += right_culprit(&n, stage, element);
        n_bad += !says(n.s, "tools/samba replay " PATH);
        char *message = samba_replay__joined(samba_error(n.s), "");
        samba_clear_error(n.s);
        n_bad += state_of(n.s) != before;
        repeated += replays(before, message);
        counting_free(message);
        close_net(&n);
        if (i < 49) remove(PATH);
    }
    printf("    %d of 50 culprits right, %d of 50 runs repeated\n", culprits, repeated);
    CHECK(culprits == 50 && repeated == 50 && n_bad == 0);
}

// An overflow in the step itself, which has then written: what was before is put back.
static void test_step(void)
{
    net n = open_net();
    feed(&n, 0);
    CHECK(samba_replay_run(n.replay, 0));
    uint64_t before = state_of(n.s);
    CHECK(samba_set(n.s, "lr", 3e38));
    CHECK(!samba_replay_run(n.replay, 0));
    samba_culprit q;
    CHECK(samba_nonfinite(n.s, &q) && strcmp(q.op, "adamw") == 0);
    char *message = samba_replay__joined(samba_error(n.s), "");
    samba_clear_error(n.s);
    CHECK(state_of(n.s) == before);
    CHECK(replays(before, message));
    counting_free(message);
    close_net(&n);
}

// Steps of two runs, each a part of the types, and parts of the batch.
static void test_description(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_tensor *h = samba_log(samba_linear(x, "fc", F));
    samba_program p = { .loss = samba_name(samba_mean(h, SAMBA_ALL_AXES, false), "loss"),
                        .optim = { .kind = SAMBA_SGD, .lr = 0.01f },
                        .microbatches = 3 };
    CHECK(samba_compile(s, &p));
    float w[F * F], x3[3 * N], zero[F] = { 0 };
    for (int32_t i = 0; i < F * F; i++)
        w[i] = 1.0f;
    for (int32_t i = 0; i < 3 * N; i++)
        x3[i] = i / N == 2 ? -1.0f : 1.0f;
    CHECK(samba_write(samba_tensor_by_name(s, "fc__weight"), w));
    CHECK(samba_write(samba_tensor_by_name(s, "fc__bias"), zero));
    samba_replay *r = samba_replay_open(s, PATH);
    samba_feed feed = { .name = "x", .data = x3, .bytes = sizeof x3 };
    samba_run_desc d
        = { .types = { SAMBA_FWD | SAMBA_BCKWD, SAMBA_OPT }, .feeds = &feed, .n_feeds = 1 };
    CHECK(!samba_replay_run_with(r, &d));
    samba_culprit q;
    CHECK(samba_nonfinite(s, &q) && strcmp(q.op, "log") == 0 && q.microbatch == 2
          && q.element == 0);
    char *message = samba_replay__joined(samba_error(s), "");
    samba_clear_error(s);
    CHECK(replays(state_of(s), message));
    counting_free(message);
    samba_replay_close(r);
    samba_close(s);
}

// ---- Runs of other kinds ------------------------------------------------------------------------

// A net that reads x and bad: h = tanh(dropout(fc(x))), log of bad + h, so that which element is
// the first NaN depends on the mask; then batchnorm.
typedef struct masked {
    samba_session *s;
    samba_tensor *x, *bad;
    samba_replay *replay;
} masked;

static masked open_masked(samba_desc *desc, samba_program *p)
{
    masked m;
    memset(&m, 0, sizeof m);
    desc->quiet = true;
    m.s = samba_open(desc);
    m.x = samba_input(m.s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    m.bad = samba_input(m.s, "bad", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_tensor *h = samba_dropout(samba_linear(m.x, "fc", F), "drop", 0.5f);
    h = samba_log(samba_add(m.bad, h));
    h = samba_linear(samba_batchnorm(h, "norm"), "out", 3);
    samba_tensor *loss = samba_name(samba_mean(samba_mul(h, h), SAMBA_ALL_AXES, false), "loss");
    if (p->inference)
        p->outputs[0] = h;
    else
        p->loss = loss;
    CHECK(samba_compile(m.s, p));
    m.replay = samba_replay_open(m.s, PATH);
    CHECK(m.replay != NULL);
    return m;
}

// All of bad is `usual`, but element 20. Is that less than what the mask takes from x, the mask
// says which NaN is the first.
static void feed_masked(masked *m, float usual, float at_20)
{
    enum { ALL = 3 * N };

    float x[ALL], bad[ALL];
    for (int32_t i = 0; i < ALL; i++) {
        x[i] = (float)((i * 7) % 23) / 16 - 0.6f;
        bad[i] = i % N == 20 ? at_20 : usual;
    }
    CHECK(samba_write(m->x, x) && samba_write(m->bad, bad));
}

// The failed run names this op, a file is there, and repeats it. Closes m.
static bool ends_in(masked *m, const char *op)
{
    samba_culprit q;
    bool fine = samba_nonfinite(m->s, &q) && strcmp(q.op, op) == 0;
    char *message = samba_replay__joined(samba_error(m->s), "");
    fine = fine && strstr(message, "tools/samba view " PATH);
    samba_clear_error(m->s);
    fine = fine && replays(state_of(m->s), message);
    if (!fine) printf("%s\n", message);
    counting_free(message);
    samba_replay_close(m->replay);
    samba_close(m->s);
    remove(PATH);
    return fine;
}

static samba_program adamw(void)
{
    samba_program p;
    memset(&p, 0, sizeof p);
    p.optim.kind = SAMBA_ADAMW;
    p.optim.lr = 0.01f;
    return p;
}

// What the session was told stands in the file, too.
static void test_modes(void)
{
    for (int mode = 0; mode < 8; mode++) {
        samba_desc desc = { .threads = 2, .seed = 7 };
        samba_program p = adamw();
        masked m = open_masked(&desc, &p);
        samba_run_desc d = { .types = { SAMBA_FWD }, .eval = (mode & 1) != 0 };
        feed_masked(&m, 9, 9);
        CHECK(samba_replay_run(m.replay, 0));
        feed_masked(&m, 0.3f, -100);
        CHECK(samba_set_train(m.s, !(mode & 2)) && samba_use_running_stats(m.s, (mode & 4) != 0));
        CHECK(!samba_replay_run_with(m.replay, &d));
        CHECK(ends_in(&m, "log"));
    }
}

// A whole step, as parts that are run one by one. In the last the rate is too much for a float.
static bool step_in_parts(masked *m, const samba_run_desc *parts, int n)
{
    feed_masked(m, 9, 9);
    for (int i = 0; i < 3 * n; i++)
        CHECK(samba_replay_run_with(m->replay, &parts[i % n]));
    for (int i = 0; i + 1 < n; i++)
        CHECK(samba_replay_run_with(m->replay, &parts[i]));
    CHECK(samba_set(m->s, "lr", 3e38));
    CHECK(!samba_replay_run_with(m->replay, &parts[n - 1]));
    return ends_in(m, "adamw");
}

static void test_parts(void)
{
    const samba_run_desc two[2]
        = { { .types = { SAMBA_FWD | SAMBA_BCKWD } }, { .types = { SAMBA_OPT } } };
    const samba_run_desc sum[3] = { { .types = { SAMBA_ZEROGRAD | SAMBA_FWD | SAMBA_BCKWD } },
                                    { .types = { SAMBA_FWD | SAMBA_BCKWD } },
                                    { .types = { SAMBA_OPT } } };
    const samba_run_desc alone[3]
        = { { .types = { SAMBA_FWD } }, { .types = { SAMBA_BCKWD } }, { .types = { SAMBA_OPT } } };
    const samba_run_desc clipped[3] = { { .types = { SAMBA_FWD | SAMBA_BCKWD } },
                                        { .types = { SAMBA_GRADNORM } },
                                        { .types = { SAMBA_OPT } } };

    const struct {
        const samba_run_desc *parts;
        int n, microbatches;
        float clip;
    } cases[] = {
        { two, 2, 1, 0 },
        { sum, 3, 3, 0 },
        { alone, 3, 1, 0 },
        { clipped, 3, 1, 0.5f },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        samba_desc desc = { .threads = 1 };
        samba_program p = adamw();
        p.max_grad_norm = cases[i].clip;
        p.microbatches = cases[i].microbatches;
        masked m = open_masked(&desc, &p);
        CHECK(step_in_parts(&m, cases[i].parts, cases[i].n));
    }
}

// A backward pass by itself: of the root of 0 the slope is infinite.
static void test_backward(void)
{
    masked m;
    memset(&m, 0, sizeof m);
    m.s = samba_open(&(samba_desc){ .quiet = true, .threads = 2 });
    m.x = samba_zeros(m.s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_tensor *h = samba_sqrt(samba_linear_no_bias(m.x, "fc", F));
    samba_program p = adamw();
    p.loss = samba_name(samba_mean(h, SAMBA_ALL_AXES, false), "loss");
    CHECK(samba_compile(m.s, &p));
    m.replay = samba_replay_open(m.s, PATH);
    samba_culprit q;
    CHECK(samba_replay_run(m.replay, SAMBA_FWD) && !samba_replay_run(m.replay, SAMBA_BCKWD));
    CHECK(samba_nonfinite(m.s, &q) && strcmp(q.section_type, "BCKWD") == 0);
    CHECK(says(m.s, " makes inf at element 0 of ") && ends_in(&m, q.op));
}

// With running statistics only element 20 is below 0, with those of the batch others are before it.
static void test_running_stats(void)
{
    masked m;
    memset(&m, 0, sizeof m);
    m.s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
    m.x = samba_input(m.s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_program p = adamw();
    p.loss = samba_name(samba_mean(samba_log(samba_batchnorm(m.x, "norm")), SAMBA_ALL_AXES, false),
                        "loss");
    CHECK(samba_compile(m.s, &p));
    m.replay = samba_replay_open(m.s, PATH);
    float x[N];
    samba_culprit q;
    for (int i = 0; i < N; i++)
        x[i] = i == 20 ? -1.0f : 1.0f + (float)i;
    CHECK(samba_write(m.x, x) && samba_use_running_stats(m.s, true));
    CHECK(!samba_replay_run(m.replay, SAMBA_FWD) && samba_nonfinite(m.s, &q) && q.element == 20);
    CHECK(ends_in(&m, "log"));
}

// Each section by itself, in one session and with the memory of another.
static void test_sections(void)
{
    for (int mapping = 0; mapping < 2; mapping++) {
        samba_desc desc = { .threads = 1 };
        samba_program p = adamw();
        p.level = SAMBA_O0;
        p.mapping = mapping ? SAMBA_MAPPING_SPATIAL : SAMBA_MAPPING_SECTION;
        masked m = open_masked(&desc, &p);
        samba_section section;
        bool fine = true, fails = false;
        for (int step = 0; step < 3 && fine; step++) {
            feed_masked(&m, 9, step == 2 ? -9 : 9);
            for (int32_t id = 0; fine && samba_describe_section(m.s, id, &section); id++) {
                samba_run_desc d = { .section_ids = &id, .n_section_ids = 1 };
                fine = samba_replay_run_with(m.replay, &d);
                fails = !fine && step == 2;
            }
        }
        CHECK(fails && ends_in(&m, "log"));
    }
}

// The section of the optimizer alone goes on from no run: it may be run for ever.
static void test_many_steps_of_the_optimizer(void)
{
    samba_desc desc = { .threads = 1 };
    samba_program p = adamw();
    p.level = SAMBA_O0;
    masked m = open_masked(&desc, &p);
    samba_section section;
    int32_t last = -1;
    feed_masked(&m, 9, 9);
    CHECK(samba_replay_run(m.replay, 0));
    for (int32_t id = 0; samba_describe_section(m.s, id, &section); id++)
        if (section.types & SAMBA_OPT) last = id;
    samba_run_desc d = { .section_ids = &last, .n_section_ids = 1 };
    bool fine = last >= 0;
    for (int i = 0; fine && i <= SAMBA_REPLAY__MOST_RUNS; i++)
        fine = samba_replay_run_with(m.replay, &d);
    if (!fine) printf("%s\n", samba_error(m.s));
    CHECK(fine);
    samba_replay_close(m.replay);
    samba_clear_error(m.s);
    samba_close(m.s);
}

// A weight that is fed is put back as it was fed; its neighbours, which are as large, as they were.
static void test_what_a_feed_leaves_alone(void)
{
    enum { MOST = 1 << 10 };

    static const char *const around[] = { "fc__weight__exp_avg", "fc__weight__exp_avg_sq" };
    float before[2][MOST], after[MOST], weight[MOST];
    samba_desc desc = { .threads = 1 };
    samba_program p = adamw();
    masked m = open_masked(&desc, &p);
    feed_masked(&m, 9, 9);
    CHECK(samba_replay_run(m.replay, 0) && samba_replay_run(m.replay, 0));
    samba_tensor *t = samba_tensor_by_name(m.s, "fc__weight");
    size_t size = samba_bytes(t);
    CHECK(size <= sizeof weight && samba_copy_out(t, weight, size));
    for (int i = 0; i < 2; i++)
        CHECK(samba_copy_out(samba_tensor_by_name(m.s, around[i]), before[i], size));
    for (size_t i = 0; i < size / sizeof *weight; i++)
        weight[i] += 0.125f;
    samba_feed feed = { .tensor = t, .data = weight, .bytes = size };
    samba_run_desc d = { .feeds = &feed, .n_feeds = 1 };
    feed_masked(&m, 9, -9);
    CHECK(!samba_replay_run_with(m.replay, &d));
    samba_clear_error(m.s);
    CHECK(samba_copy_out(t, after, size) && !memcmp(after, weight, size));
    for (int i = 0; i < 2; i++) {
        CHECK(samba_copy_out(samba_tensor_by_name(m.s, around[i]), after, size));
        CHECK(!memcmp(after, before[i], size));
    }
    samba_replay_close(m.replay);
    samba_close(m.s);
    remove(PATH);
}

// ---- Where the value comes from -----------------------------------------------------------------

static const samba_run_desc whole = { .types = { 0 } };

// A NaN that a weight, a feed of a weight, an input, or a state holds.
static void test_leaves(void)
{
    static const struct {
        const char *tensor;
        bool fed;
    } cases[] = {
        { "fc__weight", false },
        { "fc__weight", true },
        { "x", false },
        { "norm__running_mean", false },
        { "norm__weight__exp_avg", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        samba_desc desc = { .threads = 1 };
        samba_program p = adamw();
        masked m = open_masked(&desc, &p);
        samba_run_desc d = whole;
        samba_culprit q;
        float value[3 * N] = { 0 };
        feed_masked(&m, 9, 9);
        CHECK(samba_replay_run(m.replay, 0));
        samba_tensor *t = samba_tensor_by_name(m.s, cases[i].tensor);
        samba_feed feed = { .tensor = t, .data = value, .bytes = samba_bytes(t) };
        CHECK(samba_copy_out(t, value, samba_bytes(t)));
        value[samba_count(&t->shape) - 1] = NAN;
        d.feeds = &feed;
        d.n_feeds = cases[i].fed;
        if (!cases[i].fed) CHECK(samba_write(t, value));
        CHECK(!samba_replay_run_with(m.replay, &d));
        CHECK(says(m.s, "at step 2, ") && says(m.s, cases[i].tensor) && samba_nonfinite(m.s, &q));
        CHECK(says(m.s, "holds NaN at element"));
        CHECK(q.leaf && strcmp(q.tensor, cases[i].tensor) == 0);
        CHECK(ends_in(&m, q.op));
    }
}

// Forward only; and one of several graphs, which has parameters in bf16.
static void test_programs(void)
{
    samba_desc desc = { .threads = 2 };
    samba_program p = { .inference = true };
    masked m = open_masked(&desc, &p);
    feed_masked(&m, 9, 9);
    CHECK(samba_replay_run(m.replay, SAMBA_FWD));
    feed_masked(&m, 9, -9);
    CHECK(!samba_replay_run(m.replay, SAMBA_FWD) && !strstr(samba_error(m.s), "at step")
          && ends_in(&m, "log"));

    memset(&m, 0, sizeof m);
    m.s = samba_open(&(samba_desc){ .quiet = true, .graphamp = SAMBA_MP1 });
    samba_set_param_dtype(m.s, SAMBA_BF16);
    for (int i = 0; i < 2; i++) {
        CHECK(samba_begin_graph(m.s, i ? "learns" : "looks"));
        m.x = samba_input(m.s, i ? "x1" : "x0", SAMBA_F32, SAMBA_SHAPE(B, F));
        m.bad = samba_log(samba_linear(m.x, "fc", F));
        m.bad = samba_name(samba_mean(m.bad, SAMBA_ALL_AXES, false), i ? "loss" : "mean");
        if (!i) p.outputs[0] = m.bad;
    }
    p.inference = false;
    p.loss = m.bad;
    p.optim.kind = SAMBA_ADAMW;
    CHECK(samba_compile(m.s, &p));
    m.replay = samba_replay_open(m.s, PATH);
    samba_tensor *x0 = samba_tensor_by_name(m.s, "x0");
    float ones[F * F], x[N];
    for (int i = 0; i < F * F; i++)
        ones[i] = 1.0f;
    for (int i = 0; i < N; i++)
        x[i] = 1.0f;
    CHECK(samba_write_f32(samba_tensor_by_name(m.s, "fc__weight"), ones, F * F));
    CHECK(samba_write(x0, x) && samba_write(m.x, x));
    samba_run_desc d = { .graph = "learns" };
    CHECK(samba_replay_run_with(m.replay, &d));
    d.graph = "looks";
    CHECK(samba_replay_run_with(m.replay, &d));
    x[N - 1] = -1e3f;
    CHECK(samba_write(x0, x) && !samba_replay_run_with(m.replay, &d) && ends_in(&m, "log"));
}

// A training that goes on from a checkpoint counts its steps on, and restores what the checkpoint
// had.
static void test_restored(void)
{
    const char *path = FOLDER "/a.saved";
    samba_desc desc = { .threads = 1 };
    samba_program p = adamw();
    masked m = open_masked(&desc, &p);
    feed_masked(&m, 9, 9);
    for (int i = 0; i < 5; i++)
        CHECK(samba_replay_run(m.replay, 0));
    CHECK(samba_save(m.s, path));
    samba_replay_close(m.replay);
    samba_close(m.s);
    m = open_masked(&desc, &p);
    CHECK(samba_restore(m.s, path));
    feed_masked(&m, 9, 9);
    CHECK(samba_replay_run(m.replay, 0));
    feed_masked(&m, 9, -9);
    CHECK(!samba_replay_run(m.replay, 0) && says(m.s, "at step 7, ") && ends_in(&m, "log"));
    remove(path);
}

// ---- What cannot be repeated, or written --------------------------------------------------------

// Closes m, whose error has these words, and of which no file is there.
static bool ends_without(masked *m, const char *words)
{
    bool fine = !file_exists(PATH) && says(m->s, "There is no replay file: ") && says(m->s, words);
    if (!fine) printf("%s\n", samba_error(m->s));
    samba_replay_close(m->replay);
    samba_clear_error(m->s);
    samba_close(m->s);
    return fine && count_temporaries(FOLDER) == 0;
}

// An op of the program's own that is no function of its inputs: each fifth call makes a NaN.
static void moody_kernel(const samba_args *a)
{
    static int calls;
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = a->in[0][i];
    if (++calls % 5 == 0) a->out[0][a->begin] = NAN;
}

// One that fails in each call, each time in another element.
static void restless_kernel(const samba_args *a)
{
    static int calls;
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = a->in[0][i];
    a->out[0][a->begin + calls++ % N] = NAN;
}

static void own_log_kernel(const samba_args *a)
{
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = logf(a->in[0][i]);
}

static void test_not_repeated(void)
{
    static const samba_op ops[2] = {
        { .name = "moody", .wire = 0x8000, .signature = "*->*", .cost = 1, .kernel = moody_kernel },
        { .name = "restless",
          .wire = 0x8002,
          .signature = "*->*",
          .cost = 1,
          .kernel = restless_kernel },
    };
    for (int i = 0; i < 2; i++) {
        masked m;
        memset(&m, 0, sizeof m);
        m.s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
        CHECK(samba_register_op(m.s, &ops[i]));
        m.x = samba_randn(m.s, "x", SAMBA_SHAPE(B, F));
        samba_program p = { .inference = true };
        p.outputs[0] = samba_apply(m.s, ops[i].name, &m.x, 1, NULL, 0);
        CHECK(samba_compile(m.s, &p));
        m.replay = samba_replay_open(m.s, PATH);
        int runs = 0;
        while (runs < 9 && samba_replay_run(m.replay, 0))
            runs++;
        CHECK(runs < 9 && ends_without(&m, "something was changed"));
    }
}

// A run with an op of the program's own is repeated where the op is registered.
static void test_own_op(void)
{
    static const samba_op op = {
        .name = "own_log", .wire = 0x8001, .signature = "*->*", .cost = 9, .kernel = own_log_kernel
    };
    samba_replay_found found;
    char why[512] = "";
    masked m;
    memset(&m, 0, sizeof m);
    m.s = samba_open(&(samba_desc){ .quiet = true, .threads = 2 });
    CHECK(samba_register_op(m.s, &op));
    m.x = samba_zeros(m.s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_program p = { .inference = true };
    p.outputs[0] = samba_apply(m.s, "own_log", &m.x, 1, NULL, 0);
    CHECK(samba_compile(m.s, &p));
    m.replay = samba_replay_open(m.s, PATH);
    CHECK(!samba_replay_run(m.replay, 0)
          && says(m.s, "own_log_1 (own_log) makes -inf at element 0"));
    samba_replay_close(m.replay);
    samba_close(m.s);
    for (int i = 0; i < 2; i++) {
        m.s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
        if (i) CHECK(samba_register_op(m.s, &op));
        CHECK(samba_replay_load(m.s, PATH, CHECKPOINT, &found, why, sizeof why) == (i == 1));
        if (i)
            CHECK(samba_replay_again(m.s, &found));
        else
            CHECK(strstr(why, "own_log_1 uses op number 32769") && strstr(why, "register it"));
        samba_replay_free(&found);
        samba_clear_error(m.s);
        samba_close(m.s);
        remove(CHECKPOINT);
    }
    remove(PATH);
}

static void test_no_file(void)
{
    samba_desc desc = { .threads = 1 };
    samba_program p = adamw();
    masked m = open_masked(&desc, &p);
    feed_masked(&m, 9, -9);
    struct rlimit all, small;
    CHECK(getrlimit(RLIMIT_FSIZE, &all) == 0);
    small = all;
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t size = 256; size < 1 << 13; size *= 2) {
        small.rlim_cur = size;
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0 && !samba_replay_run(m.replay, 0));
        CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);
        CHECK(says(m.s, "There is no replay file: ") && says(m.s, "File too large"));
        samba_clear_error(m.s);
    }
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0 && !samba_replay_run(m.replay, 0));
    CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0 && ends_without(&m, "File too large"));

    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *y = samba_randn(s, "y", SAMBA_SHAPE(B, F));
    p.loss = samba_mean(samba_linear(y, "fc", F), SAMBA_ALL_AXES, false);
    CHECK(samba_compile(s, &p) && !samba_replay_open(s, "build/no/such/file"));
    CHECK(says(s, "build/no/such/file"));
    samba_clear_error(s);
    samba_close(s);
}

// An error of another kind is that error, said once; a session can go on after a file was written.
static void test_other_errors(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(B, F));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    samba_program p = adamw();
    p.loss = samba_cross_entropy(samba_linear(x, "fc", F), label);
    CHECK(samba_compile(s, &p));
    samba_replay *r = samba_replay_open(s, PATH);
    CHECK(samba_write(label, (int32_t[B]){ 0, 1, F, 2 }) && !samba_replay_run(r, 0));
    CHECK(says(s, "cross_entropy") && !strstr(samba_error(s), "replay") && !file_exists(PATH));
    samba_clear_error(s);
    CHECK(samba_write(label, (int32_t[B]){ 0, 1, 2, 3 }) && samba_replay_run(r, 0));
    CHECK(samba_set(s, "lr", 3e38) && !samba_replay_run(r, 0) && says(s, "tools/samba view"));
    samba_clear_error(s);
    CHECK(samba_set(s, "lr", 0.01) && samba_replay_run(r, 0));
    samba_replay_close(r);
    samba_close(s);
    remove(PATH);
}

// Without a file the losses alone are looked at, and the sentence asks for one.
static void test_losses(void)
{
    samba_desc desc = { .threads = 1 };
    samba_program p = adamw();
    masked m = open_masked(&desc, &p);
    samba_replay_close(m.replay);
    samba_set_check_finite(m.s, false);
    m.replay = samba_replay_open(m.s, NULL);
    feed_masked(&m, 9, -9);
    CHECK(samba_replay_run(m.replay, SAMBA_FWD)); // it trains nothing
    CHECK(!samba_replay_run(m.replay, 0) && says(m.s, "the loss loss is NaN"));
    CHECK(!file_exists(PATH));
    samba_replay_close(m.replay);
    samba_clear_error(m.s);
    samba_close(m.s);
}

// ---- Memory that runs out -----------------------------------------------------------------------

// Whichever block is missing, the replay is not opened, for want of memory, and nothing is left; or
// it could do without, and its file repeats the run.
static void test_no_memory(void)
{
    bool failed = true;
    for (long n = 0; n < 1000 && failed; n++) {
        samba_desc desc = { .threads = 1 };
        samba_program p = adamw();
        masked m = open_masked(&desc, &p);
        samba_replay_close(m.replay);
        feed_masked(&m, 9, 9);
        CHECK(samba_run(m.s, 0) && samba_run(m.s, 0));
        long before = n_live;
        n_calls = 0;
        fail_at = n;
        m.replay = samba_replay_open(m.s, PATH);
        failed = n_calls > n;
        fail_at = -1;
        if (!m.replay) {
            CHECK(failed && n_live == before && says(m.s, "memory"));
            samba_clear_error(m.s);
            samba_close(m.s);
            continue;
        }
        feed_masked(&m, 9, -9);
        CHECK(!samba_replay_run(m.replay, 0));
        CHECK(ends_in(&m, "log"));
    }
    CHECK(!failed);
}

// ---- Damaged files ----------------------------------------------------------------------------

// Is the file refused, with a sentence that has this word?
static bool refuses(const char *path, const char *word)
{
    samba_replay_found found;
    char why[512] = "";
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
    bool fine
        = !samba_replay_load(s, path, CHECKPOINT, &found, why, sizeof why) && strstr(why, word);
    if (!fine) printf("%s: %s\n", path, why);
    samba_replay_free(&found);
    samba_close(s);
    return fine;
}

// Every byte of the file counts.
static void test_damaged(void)
{
    static unsigned char bytes[1 << 20];
    size_t n = read_into(PATH, bytes, sizeof bytes);
    CHECK(n > 100 && n < sizeof bytes);
    for (size_t i = 0; i < n; i += 1 + n / 97) {
        bytes[i] ^= 0x20;
        CHECK(write_whole(PATH, bytes, n)
              && refuses(PATH, i < 4 ? "is no replay file" : "damaged"));
        bytes[i] ^= 0x20;
    }
    const size_t cut[] = { 0, 3, 7, 8, 15, 16, 24, n / 2, n - 1 };
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        CHECK(write_whole(PATH, bytes, cut[i]) && refuses(PATH, cut[i] < 4 ? "is no" : "damaged"));
    CHECK(refuses("build/no/such/file", "No such file") && refuses("build", "cannot be read"));
    CHECK(!samba_replay_open(NULL, PATH) && !samba_replay_run(NULL, 0));
    samba_replay_close(NULL);
}

int main(void)
{
    mkdir(FOLDER, 0777);
    RUN(test_fifty);
    RUN(test_damaged);
    RUN(test_no_memory);
    RUN(test_step);
    RUN(test_description);
    RUN(test_modes);
    RUN(test_parts);
    RUN(test_backward);
    RUN(test_running_stats);
    RUN(test_sections);
    RUN(test_many_steps_of_the_optimizer);
    RUN(test_what_a_feed_leaves_alone);
    RUN(test_leaves);
    RUN(test_programs);
    RUN(test_restored);
    RUN(test_not_repeated);
    RUN(test_own_op);
    RUN(test_no_file);
    RUN(test_other_errors);
    RUN(test_losses);
    remove(PATH);
    return test_summary();
}
