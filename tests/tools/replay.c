/* replay.h: 50 values that are not finite, put into a training at 50 places: each run names the op
   that made it, as the arithmetic says, and its file repeats it in a new session, bit for bit. */
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_REPLAY_IMPLEMENTATION
#include "tools/include/samba/replay.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { B = 4, F = 6, N = B * F, STAGES = 10, STEPS = 3 };
#define PATH "build/replay_test.replay"
#define CHECKPOINT "build/replay_test.ckpt"

/* A stage adds f(t) of an input t of its own, which is 1 unless a value is put there. What f makes
   of it then: */
static const struct {
    const char *op;
    float bad, made;
    bool passes;            // f hands on what it is given: the input itself is at fault
} stages[STAGES] = {
    { "log", -1.0f, NAN, false }, { "sqrt", -4.0f, NAN, false }, { "exp", 1000.0f, INFINITY, false },
    { "div", 0.0f, INFINITY, false }, { "rsqrt", 0.0f, INFINITY, false },
    { "scale", 3e38f, INFINITY, false }, { "log", 0.0f, -INFINITY, false },
    { "mul", 1e30f, INFINITY, false }, { "relu", NAN, NAN, true }, { "sub", NAN, NAN, true },
};

static samba_tensor *apply(samba_tensor *t, samba_tensor *one, int32_t i)
{
    switch (i) {
    case 0: return samba_log(t);
    case 1: return samba_sqrt(t);
    case 2: return samba_exp(t);
    case 3: return samba_div(one, t);
    case 4: return samba_rsqrt(t);
    case 5: return samba_scale(t, 10.0f);
    case 6: return samba_log(t);
    case 7: return samba_mul(t, t);
    case 8: return samba_relu(t);
    default: return samba_sub(t, one);
    }
}

typedef struct net {
    samba_session *s;
    samba_tensor *t[STAGES];
    samba_replay *replay;
} net;

// Stages between layers, with dropout, momentum and statistics, so that what was before a run matters.
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
    samba_program p = { .loss = samba_name(samba_mean(samba_mul(h, h), SAMBA_ALL_AXES, false), "loss"),
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
    for (int32_t i = 0; i < STAGES; i++) CHECK(samba_write(n->t[i], ones));
}

static bool same_value(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

// The hash of all that a session holds of its state, by the names of its weights.
static uint64_t state_of(samba_session *s)
{
    return hash_weights(s, 0);
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
        for (int32_t k = 0; k < N; k++) t[k] = k == element ? stages[stage].bad : 1.0f;
        CHECK(samba_write(n.t[stage], t));
        uint64_t before = state_of(n.s);
        n_bad += samba_replay_run(n.replay, 0);
        culprits += right_culprit(&n, stage, element);
        n_bad += !says(n.s, "tools/samba replay " PATH);
        char *message = samba_replay__joined(samba_error(n.s), "");
        samba_clear_error(n.s);
        n_bad += state_of(n.s) != before;
        repeated += replays(before, message);
        free(message);
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
    free(message);
    close_net(&n);
}

// Steps of two runs, each a part of the types, and parts of the batch.
static void test_description(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_tensor *h = samba_log(samba_linear(x, "fc", F));
    samba_program p = { .loss = samba_name(samba_mean(h, SAMBA_ALL_AXES, false), "loss"),
                        .optim = { .kind = SAMBA_SGD, .lr = 0.01f }, .microbatches = 3 };
    CHECK(samba_compile(s, &p));
    float w[F * F], x3[3 * N], zero[F] = { 0 };
    for (int32_t i = 0; i < F * F; i++) w[i] = 1.0f;
    for (int32_t i = 0; i < 3 * N; i++) x3[i] = i / N == 2 ? -1.0f : 1.0f;
    CHECK(samba_write(samba_tensor_by_name(s, "fc__weight"), w));
    CHECK(samba_write(samba_tensor_by_name(s, "fc__bias"), zero));
    samba_replay *r = samba_replay_open(s, PATH);
    samba_feed feed = { .name = "x", .data = x3, .bytes = sizeof x3 };
    samba_run_desc d = { .types = { SAMBA_FWD | SAMBA_BCKWD, SAMBA_OPT }, .feeds = &feed, .n_feeds = 1 };
    CHECK(!samba_replay_run_with(r, &d));
    samba_culprit q;
    CHECK(samba_nonfinite(s, &q) && strcmp(q.op, "log") == 0 && q.microbatch == 2 && q.element == 0);
    char *message = samba_replay__joined(samba_error(s), "");
    samba_clear_error(s);
    CHECK(replays(state_of(s), message));
    free(message);
    samba_replay_close(r);
    samba_close(s);
}

// Every byte of the file counts.
static void test_damaged(void)
{
    samba_replay__bytes b;
    samba_replay_found found;
    char why[512];
    CHECK(samba_replay__read_file(&b, PATH) && b.size > 100);
    for (size_t i = 0; i < b.size; i += 1 + b.size / 97) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
        b.at[i] ^= 0x20;
        CHECK(samba_replay__write_file(PATH, b.at, b.size));
        CHECK(!samba_replay_load(s, PATH, CHECKPOINT, &found, why, sizeof why));
        CHECK(strstr(why, "damaged"));
        b.at[i] ^= 0x20;
        samba_replay_free(&found);
        samba_close(s);
    }
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    CHECK(samba_replay__write_file(PATH, b.at, b.size / 2));
    CHECK(!samba_replay_load(s, PATH, CHECKPOINT, &found, why, sizeof why));
    samba_replay_free(&found);
    CHECK(!samba_replay_load(s, "build/no/such/file", CHECKPOINT, &found, why, sizeof why));
    samba_replay_free(&found);
    samba_close(s);
    free(b.at);
    CHECK(!samba_replay_open(NULL, PATH) && !samba_replay_run(NULL, 0));
    samba_replay_close(NULL);
}

int main(void)
{
    RUN(test_fifty);
    RUN(test_step);
    RUN(test_description);
    RUN(test_damaged);
    remove(PATH);
    return test_summary();
}
