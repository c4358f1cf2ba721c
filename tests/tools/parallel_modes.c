// Random programs of replicas: every mode, place of the reduction and level gives the same bits,
// for 1 ... 4 replicas and 1 ... 3 microbatches, with clipping and without.
//     parallel_modes [N [FIRST]]      N random programs (60) from seed FIRST (0)
// run: threads
#define SAMBA_IMPLEMENTATION
#define SAMBA_PARALLEL_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/parallel.h"
#include "tests/lib/test.h"
#include <stdlib.h>

enum { BATCH = 72, FEATURES = 5, CLASSES = 4, STEPS = 3, MOST_WEIGHTS = 400 };

// ---- A program, and a way to run it -------------------------------------------------------------

typedef struct program {
    uint32_t seed;
    bool clips_all, clips_each; // samba_program.max_grad_norm; that of each optimizer
    bool mixes;                 // batchnorm and dropout, of which each part has its own
    samba_optim_kind kind;
    int32_t loss;
} program;

typedef struct way {
    int32_t mode, replicas, microbatches;
    int32_t runs; // of BCKWD in a step, whose gradients add up; 0: the step is one run
    bool on_rdu;
    samba_opt_level level;
} way;

typedef struct setup {
    program p;
    way w;
} setup;

static const char *const modes[] = { "normal", "inorder", "optimal" };
static const samba_opt_level levels[] = { SAMBA_O3, SAMBA_O1, SAMBA_O0 };

static uint32_t draw(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % n;
}

// One more layer, or a second use of one that is there.
static samba_tensor *trace_layer(const program *p, samba_tensor *x, int32_t i, uint32_t *state)
{
    static const char *const shared[] = { "s0", "s1" };
    char name[16];
    snprintf(name, sizeof name, "l%d", (int)i);
    switch (draw(state, p->mixes ? 7 : 5)) {
    case 0:
        return samba_tanh(samba_linear(x, name, 6));
    case 1:
        return samba_relu(samba_linear(x, shared[draw(state, 2)], 6));
    case 2:
        return samba_layernorm(x, name);
    case 3:
        return samba_add(x, samba_linear_no_bias(samba_sigmoid(x), name, 6));
    case 4:
        return samba_mul(x, samba_linear(x, name, 6));
    case 5:
        return samba_batchnorm(x, name);
    default:
        return samba_dropout(x, name, 0.25f);
    }
}

static samba_tensor *trace_loss(const program *p, samba_tensor *y, samba_tensor *label)
{
    samba_tensor *each = samba_sum(samba_mul(y, y), SAMBA_AXES(1), false);
    if (p->loss == 0) return samba_cross_entropy(y, label);
    if (p->loss == 1) return samba_mean(each, SAMBA_ALL_AXES, false);
    return samba_scale(each, 0.1f);
}

static bool is_bias(const samba_tensor *w, void *user)
{
    (void)user;
    return strstr(w->name, "bias") != NULL;
}

static bool trace(samba_session *s, int32_t batch, samba_program *into, void *user)
{
    static samba_optim optims[2]; // written alike by all replicas, which are opened in turn
    const setup *c = (const setup *)user;
    const program *p = &c->p;
    uint32_t state = p->seed;
    int32_t rows = batch / c->w.microbatches, n = 1 + (int32_t)draw(&state, 4);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(rows, FEATURES));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(rows));
    samba_tensor *y = samba_linear(x, "first", 6);
    for (int32_t i = 0; i < n; i++)
        y = trace_layer(p, y, i, &state);
    into->loss = trace_loss(p, samba_linear(y, "last", CLASSES), label);

    memset(optims, 0, sizeof optims);
    for (int i = 0; i < 2; i++) {
        optims[i].kind = p->kind;
        optims[i].lr = p->kind == SAMBA_SGD ? 0.1f : 0.01f;
        if (p->kind == SAMBA_SGD) optims[i].momentum = 0.9f;
        optims[i].max_grad_norm = p->clips_each ? 0.05f : 0;
    }
    optims[1].argin_region_name = "bias_";
    optims[1].select = is_bias;
    into->optims = optims;
    into->n_optims = 2;
    into->max_grad_norm = p->clips_all ? 0.05f : 0;
    into->microbatches = c->w.microbatches;
    into->accumulate = c->w.runs > 0;
    into->level = c->w.level;
    into->sram_bytes = 2048;
    return samba_ok(s);
}

// ---- Running ------------------------------------------------------------------------------------

static void silence(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

static void fill_batch(int step, float *x, int32_t *label)
{
    for (int i = 0; i < BATCH * FEATURES; i++)
        x[i] = (float)((i * 31 + step * 7) % 29) / 7 - 2;
    for (int i = 0; i < BATCH; i++)
        label[i] = i % 5 == 3 || i < 4 ? -100 : (i + step) % CLASSES;
}

static uint64_t hash_of(samba_session *s)
{
    const char *names[96];
    uint64_t hash = 1469598103934665603u;
    int32_t n = samba_weight_names(s, names, 48);
    n += samba_grad_names(s, names + n, 48);
    for (int32_t i = 0; i < n; i++) {
        samba_tensor *t = samba_tensor_by_name(s, names[i]);
        hash = samba__hash(samba_read(t), samba_bytes(t), hash);
    }
    return n > 4 && samba_ok(s) ? hash : 0;
}

// Parameters and gradients after STEPS steps; 0 after a failure, or if the replicas parted. w gets
// the first parameters.
static uint64_t train(setup *c, float *w)
{
    static float x[BATCH * FEATURES];
    static int32_t label[BATCH];
    samba_parallel_batch in[2] = { { "x", x, 0 }, { "label", label, 0 } };
    int32_t rows = c->w.runs ? BATCH / c->w.runs : BATCH;
    samba_parallel_run_desc step = { .inputs = in, .n_inputs = c->p.loss == 0 ? 2 : 1 };
    samba_parallel_desc d = { .replicas = c->w.replicas,
                              .batch = rows,
                              .mode = modes[c->w.mode],
                              .reduce_on_rdu = c->w.on_rdu,
                              .trace = trace,
                              .user = c };
    d.session.threads = 1;
    d.session.log = silence;
    samba_parallel *p = samba_parallel_open(&d);
    for (int i = 0; i < STEPS; i++) {
        fill_batch(i, x, label);
        for (int32_t k = 0; k < c->w.runs; k++) {
            in[0].data = x + k * rows * FEATURES;
            in[1].data = label + k * rows;
            step.types = SAMBA_FWD | SAMBA_BCKWD;
            samba_parallel_run(p, &step);
        }
        samba_parallel_run_desc rest = { .types = SAMBA_REDUCE | SAMBA_OPT };
        if (c->p.clips_all) rest.types |= SAMBA_GRADNORM;
        samba_parallel_run(p, c->w.runs ? &rest : &step);
    }
    uint64_t hash = hash_of(samba_parallel_session(p, 0));
    for (int32_t i = 1; i < c->w.replicas; i++)
        if (hash_of(samba_parallel_session(p, i)) != hash) hash = 0;
    samba_copy_out(samba_tensor_by_name(samba_parallel_session(p, 0), "first__weight"), w,
                   6 * FEATURES * sizeof *w);
    if (!samba_parallel_ok(p)) printf("    %s\n", samba_parallel_error(p));
    return samba_parallel_close(p) ? 0 : hash;
}

static void print_setup(const setup *c)
{
    printf("    seed %u, clips %d %d, optimizer %d, loss %d: %s, %d replicas, %d microbatches, %s, "
           "level %d\n",
           (unsigned)c->p.seed, c->p.clips_all, c->p.clips_each, (int)c->p.kind, (int)c->p.loss,
           modes[c->w.mode], (int)c->w.replicas, (int)c->w.microbatches,
           c->w.on_rdu ? "rdu" : "host", (int)c->w.level);
}

// ---- Tests --------------------------------------------------------------------------------------

static void check_same(setup *c, uint64_t want)
{
    float w[MOST_WEIGHTS];
    bool same = train(c, w) == want && want;
    CHECK(same);
    if (!same) print_setup(c);
}

// Each mode with each place, level, number of replicas and of microbatches, and clipping.
static void test_all_pairs(void)
{
    for (int k = 0; k < 4 * 3 * 2; k++) {
        setup c = { .p = { .seed = 1, .clips_all = k & 1, .kind = SAMBA_SGD, .loss = 1 } };
        float w[MOST_WEIGHTS];
        c.w.replicas = 1 + k / 2 % 4;
        c.w.microbatches = 1 + k / 8;
        uint64_t want = train(&c, w);
        for (int i = 1; i < 3 * 3; i++) {
            c.w.mode = i % 3;
            c.w.level = levels[i / 3];
            c.w.on_rdu = (i + k) % 2;
            check_same(&c, want);
        }
    }
}

// Gradients that add up over two runs of BCKWD before they are reduced: in each mode the step of
// all rows, of which the loss is a sum.
static void test_accumulated(void)
{
    for (int k = 0; k < 4 * 2 * 2; k++) {
        setup c = { .p = { .seed = 1, .clips_all = k & 1, .kind = SAMBA_SGD, .loss = 2 } };
        float w[MOST_WEIGHTS], whole[MOST_WEIGHTS];
        c.w.replicas = 1 + k / 2 % 4;
        c.w.microbatches = 1 + k / 8;
        train(&c, whole);
        c.w.runs = 2;
        if (BATCH % (c.w.runs * c.w.replicas * c.w.microbatches)) continue;
        uint64_t want = train(&c, w);
        CHECK_CLOSE(w, whole, 6 * FEATURES, 1e-4, 1e-5);
        for (int i = 1; i < 3 * 3; i++) {
            c.w.mode = i % 3;
            c.w.level = levels[i / 3];
            check_same(&c, want);
        }
    }
}

static uint32_t n_programs = 60, first_program;

// Whatever divides a batch, the step is that of the batch as a whole, but for rounding.
static void check_whole(setup *c, const float *w)
{
    float whole[MOST_WEIGHTS];
    int before = test_bad;
    c->w.replicas = c->w.microbatches = 1;
    train(c, whole);
    CHECK_CLOSE(w, whole, 6 * FEATURES, 1e-4, 2e-5);
    if (test_bad > before) print_setup(c);
}

static void test_random_programs(void)
{
    static const samba_optim_kind kinds[]
        = { SAMBA_SGD, SAMBA_SGD, SAMBA_ADAMW, SAMBA_RMSPROP, SAMBA_ADAGRAD, SAMBA_LION };
    for (uint32_t seed = first_program; seed < first_program + n_programs; seed++) {
        uint32_t state = seed * 2654435761u + 1;
        setup c = { .p = { .seed = seed } };
        float w[MOST_WEIGHTS];
        c.p.clips_all = draw(&state, 2);
        c.p.clips_each = draw(&state, 3) == 0 && !c.p.clips_all;
        c.p.mixes = draw(&state, 2);
        c.p.kind = kinds[draw(&state, sizeof kinds / sizeof *kinds)];
        c.p.loss = (int32_t)draw(&state, 3);
        c.w.replicas = 1 + (int32_t)draw(&state, 4);
        c.w.microbatches = 1 + (int32_t)draw(&state, 3);
        setup base = c;
        uint64_t want = train(&c, w);
        for (int i = 0; i < 5; i++) {
            c.w.mode = 1 + i % 2;
            c.w.level = levels[i % 3];
            c.w.on_rdu = draw(&state, 2);
            check_same(&c, want);
        }
        if (!c.p.mixes && c.p.kind == SAMBA_SGD) check_whole(&base, w);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) n_programs = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2) first_program = (uint32_t)strtoul(argv[2], NULL, 10);
    RUN(test_all_pairs);
    RUN(test_accumulated);
    RUN(test_random_programs);
    return test_summary();
}
