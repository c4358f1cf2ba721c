// Trainings of 200 steps: the loss of every step against PyTorch, tests/golden/train_*.bin.
//     cc -O2 -I. tests/core/train.c -lm -pthread -o train && ./train [GOLDEN_DIR [case]]
#define SAMBA_IMPLEMENTATION
#define SAMBA_LOSS_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/sambaflow.h"
#include "tools/include/samba/loss.h"
#include "tests/lib/golden.h"
#include "tests/lib/recipe.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"

enum { MAX_STEPS = 1000, EARLY = 5 };

static const double rtol = 1e-5; // of every loss, against float64 and float32

typedef struct losses {
    uint32_t n_steps;        // then two more, in evaluation mode
    uint64_t weights, batch; // hashes of what training starts with
    double f64[MAX_STEPS + 2];
    float f32[MAX_STEPS + 2];
} losses;

// make_train.py says what is in the file. Returns what is wrong with it, or NULL.
static const char *read_losses(losses *l, const char *dir, const char *name)
{
    char path[512];
    const char *why;
    golden_file f;
    memset(&f, 0, sizeof f);
    memset(l, 0, sizeof *l);
    snprintf(path, sizeof path, "%s/train_%s.bin", dir, name);
    golden_load(&f, path);
    const uint8_t *p = golden_take(&f, 8);
    if (p && memcmp(p, "SAMBATRN", 8)) f.why = "not a file of losses";
    if (golden_word(&f, 1, "unknown version") != 1 && !f.why) f.why = "unknown version";
    l->n_steps = golden_word(&f, MAX_STEPS, "too many steps");
    uint64_t head[3] = { 0, 0, 0 };
    p = golden_take(&f, sizeof head);
    if (p) memcpy(head, p, sizeof head);
    size_t n = l->n_steps + 2, after = f.at - 2 * sizeof *head;
    if (!f.why && golden_hash(f.bytes + after, f.size - after) != head[0])
        f.why = "the checksum is wrong";
    l->weights = head[1];
    l->batch = head[2];
    p = golden_take(&f, n * sizeof *l->f64);
    if (p) memcpy(l->f64, p, n * sizeof *l->f64);
    p = golden_take(&f, n * sizeof *l->f32);
    if (p) memcpy(l->f32, p, n * sizeof *l->f32);
    if (!f.why && f.at != f.size) f.why = "bytes after the last loss";
    if (!f.why && !l->n_steps) f.why = "no steps";
    why = f.why;
    golden_free(&f);
    return why;
}

static double deviation(double got, double want)
{
    double d = got > want ? got - want : want - got;
    d /= want < 0 ? -want : want;
    return d - d == 0 ? d : 1e300; // NaN and infinity are as far away as can be
}

// The worst relative deviations of a run, and where they are.
typedef struct worst {
    double f64, f32, torch;
    uint32_t step, n_bad;
} worst;

static void compare(worst *w, const losses *l, uint32_t step, double loss)
{
    double d64 = deviation(loss, l->f64[step]), d32 = deviation(loss, (double)l->f32[step]);
    double torch = deviation((double)l->f32[step], l->f64[step]);
    if (torch > w->torch) w->torch = torch;
    if (d32 > w->f32) w->f32 = d32;
    if (d64 > w->f64) {
        w->f64 = d64;
        w->step = step;
    }
    if (d64 <= rtol && d32 <= rtol) return;
    if (w->n_bad++ == 0)
        printf("step %u: loss %.9g; PyTorch has %.9g in float64, %.9g in float32\n", (unsigned)step,
               loss, l->f64[step], (double)l->f32[step]);
}

typedef struct training {
    const char *name, *golden; // golden: the case it must equal
    recipe_model model;
    samba_optim optim;
    int32_t microbatches; // 0: one, the whole batch
} training;

// The loss of a batch that training never sees; compared with loss number i.
static void evaluate(const training *t, const recipe_net *net, const losses *l, uint32_t i,
                     worst *w)
{
    const samba_run_desc eval = { .types = { SAMBA_FWD }, .eval = true, .running_stats = true };
    recipe_feed(net, &t->model, l->n_steps);
    samba_run_with(net->loss->session, &eval);
    compare(w, l, i, (double)samba_read(net->loss)[0]);
}

// Trains; false, with the reason printed, if that is impossible.
static bool train(const training *t, const losses *l, worst *w)
{
    samba_session *s = samba_open(NULL);
    int32_t n = t->microbatches ? t->microbatches : 1;
    recipe_net net = recipe_trace(s, &t->model, t->model.batch / n);
    uint64_t weights = recipe_set_weights(s, &t->model), batch = 0;
    samba_compile(
        s,
        &(samba_program){ .loss = net.loss, .optim = t->optim, .microbatches = t->microbatches });
    for (uint32_t step = 0; step < l->n_steps && samba_ok(s); step++) {
        uint64_t hash = recipe_feed(&net, &t->model, step);
        if (step == 0) batch = hash;
        samba_run(s, 0);
        compare(w, l, step, (double)samba_read(net.loss)[0]);
        if (step + 1 == EARLY) evaluate(t, &net, l, l->n_steps, w);
    }
    if (samba_ok(s)) evaluate(t, &net, l, l->n_steps + 1, w);
    bool same = weights == l->weights && batch == l->batch;
    if (samba_ok(s) && !same) printf("the recipe differs from that of make_train.py\n");
    return samba_close(s) == 0 && same;
}

static void test_training(const training *t, const char *dir)
{
    losses l;
    worst w = { 0, 0, 0, 0, 0 };
    double start = samba_seconds();
    const char *why = read_losses(&l, dir, t->golden);
    test_bad = 0;
    if (why) printf("%s/train_%s.bin: %s\n", dir, t->golden, why);
    CHECK(why == NULL);
    if (!why) {
        CHECK(train(t, &l, &w));
        CHECK(w.n_bad == 0);
        printf("%-28s %5u %9.1e %5u %9.1e %9.1e %6.1f s\n", t->name, (unsigned)l.n_steps, w.f64,
               (unsigned)w.step, w.f32, w.torch, samba_seconds() - start);
    }
    test_end(t->name);
}

// The gradients of a tied embedding (0) and of the layer above it (1) in one run.
static void tied_gradients(samba_opt_level level, int32_t microbatches, float *grad[2])
{
    enum { B = 8, T = 5, V = 33, C = 12 };

    int32_t n = B / microbatches, tokens[B * T], next[B * T];
    samba_session *s = samba_open(NULL);
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(n, T));
    samba_tensor *target = samba_input(s, "target", SAMBA_I32, SAMBA_SHAPE(n, T));
    samba_tensor *h = samba_linear(samba_embedding(ids, "wte", V, C), "up", C);
    samba_tensor *wte = samba_tensor_by_name(s, "wte__weight");
    samba_tensor *loss = samba_cross_entropy(samba_affine(samba_tanh(h), wte, NULL), target);
    CHECK(samba_compile(
        s,
        &(samba_program){
            .loss = loss, .level = level, .optim.kind = SAMBA_SGD, .microbatches = microbatches }));
    for (int32_t i = 0; i < B * T; i++) {
        tokens[i] = i * i % V;
        next[i] = (3 * i + 1) % V;
    }
    samba_write(ids, tokens);
    samba_write(target, next);
    CHECK(samba_run(s, 0));
    const char *const names[2] = { "wte__weight", "up__weight" };
    for (int i = 0; i < 2; i++) {
        samba_tensor *g = samba_sn_grad(samba_tensor_by_name(s, names[i]));
        grad[i] = (float *)calloc(1, samba_bytes(g));
        CHECK(samba_copy_out(g, grad[i], samba_bytes(g)));
    }
    CHECK(samba_close(s) == 0);
}

// Sums in place are the sums of the plain program, to the bit; and a product that goes on through
// microbatches is the product of the whole batch.
static void test_summed_in_place(void)
{
    enum { EMBEDDING = 33 * 12 * 4, LAYER = 12 * 12 * 4 };

    float *plain[2], *fused[2], *parts[2];
    tied_gradients(SAMBA_O0, 1, plain);
    tied_gradients(SAMBA_O3, 1, fused);
    tied_gradients(SAMBA_O3, 4, parts);
    CHECK(!memcmp(plain[0], fused[0], EMBEDDING) && !memcmp(plain[1], fused[1], LAYER));
    CHECK(!memcmp(plain[1], parts[1], LAYER));
    for (int i = 0; i < 2; i++) {
        free(plain[i]);
        free(fused[i]);
        free(parts[i]);
    }
}

// The loss and the gradients of x and w: whole (rows -1), or in pieces of so many rows.
static size_t device; // bytes of the last program

static float loss_in_pieces(int32_t rows, samba_reduction reduction, int64_t memory, float *grads)
{
    enum { N = 30, V = 70, C = 12 };

    int32_t classes[N];
    const samba_loss_opts opts = {
        .reduction = reduction, .use_ignore_index = true, .ignore_index = 3, .label_smoothing = 0.1f
    };
    samba_session *s = samba_open(NULL);
    samba_init normal = { .kind = SAMBA_INIT_NORMAL, .scale = 1 };
    samba_tensor *x = samba_param(s, "x", SAMBA_SHAPE(2, N / 2, C), normal);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(V, C), normal);
    samba_tensor *target = samba_input(s, "target", SAMBA_I32, SAMBA_SHAPE(2, N / 2));
    samba_tensor *loss = rows < 0
        ? samba_cross_entropy_with(samba_affine(x, w, NULL), target, &opts)
        : samba_linear_cross_entropy(x, w, target, rows, &opts);
    CHECK(samba_compile(
        s, &(samba_program){ .loss = loss, .optim.kind = SAMBA_SGD, .memory = memory }));
    for (int32_t i = 0; i < N; i++)
        classes[i] = i % 7 == 2 ? 3 : i * i % V;
    CHECK(samba_write(target, classes) && samba_run(s, 0));
    CHECK(samba_copy_out(samba_sn_grad(x), grads, 4 * N * C));
    CHECK(samba_copy_out(samba_sn_grad(w), grads + N * C, 4 * V * C));
    float value = samba_read(loss)[0];
    device = samba_device_bytes(s);
    CHECK(samba_close(s) == 0);
    return value;
}

static void test_loss_in_pieces(void)
{
    enum { GRADS = (30 + 70) * 12 };

    static float whole[GRADS], pieces[GRADS], limited[GRADS];
    for (int r = SAMBA_REDUCE_MEAN; r <= SAMBA_REDUCE_SUM; r++) {
        float want = loss_in_pieces(-1, (samba_reduction)r, 0, whole);
        for (int32_t rows = 0; rows <= 31; rows += 7) {
            CHECK_CLOSE(&(float){ loss_in_pieces(rows, (samba_reduction)r, 0, pieces) }, &want, 1,
                        1e-6, 0);
            CHECK_CLOSE(pieces, whole, GRADS, 1e-5, 1e-6);
        }
        // With a limit each piece is computed again, which takes less memory and changes no bit.
        float again = loss_in_pieces(7, (samba_reduction)r, 18000, limited);
        size_t within = device;
        CHECK(again == loss_in_pieces(7, (samba_reduction)r, 0, pieces));
        CHECK(!memcmp(limited, pieces, sizeof limited) && within < device);
    }
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 8)),
                 *ids = samba_randint(s, "ids", 5, SAMBA_SHAPE(4));
    samba_tensor *w = samba_randn(s, "w", SAMBA_SHAPE(5, 8));
    CHECK(!samba_linear_cross_entropy(x, w, ids, 0,
                                      &(samba_loss_opts){ .reduction = SAMBA_REDUCE_NONE }));
    CHECK(samba_error_code(s) == SAMBA_EARG);
    samba_clear_error(s);
    CHECK(samba_close(s) == 0);
}

// ---- Clipping -----------------------------------------------------------------------------------

// A net of two layers: b has its optimizer, the other parameters theirs, or all have one.
enum { CLIP_B = 6, CLIP_K = 5, CLIP_N = 4 };

typedef struct clip_net {
    samba_session *s;
    samba_tensor *param[4]; // a__weight, a__bias, b__weight, b__bias
} clip_net;

static clip_net clip_open(int32_t n_optims, float program, float group, samba_opt_level level,
                          samba_mapping mapping, int32_t microbatches)
{
    clip_net n;
    int32_t rows = CLIP_B / microbatches;
    float in[CLIP_B * CLIP_K], want[CLIP_B * CLIP_N];
    n.s = samba_open(NULL);
    samba_tensor *x = samba_input(n.s, "x", SAMBA_F32, SAMBA_SHAPE(rows, CLIP_K));
    samba_tensor *y = samba_input(n.s, "y", SAMBA_F32, SAMBA_SHAPE(rows, CLIP_N));
    samba_tensor *out = samba_linear(samba_tanh(samba_linear(x, "a", 7)), "b", CLIP_N);
    samba_tensor *loss = samba_mse(out, y, SAMBA_REDUCE_MEAN);
    const char *const names[4] = { "a__weight", "a__bias", "b__weight", "b__bias" };
    for (int i = 0; i < 4; i++)
        n.param[i] = samba_tensor_by_name(n.s, names[i]);
    samba_optim two[2] = { { .kind = SAMBA_SGD,
                             .lr = 0.5f,
                             .max_grad_norm = group,
                             .params = n.param + 2,
                             .n_params = 2 },
                           { .kind = SAMBA_SGD, .lr = 0.25f, .max_grad_norm = group } };
    samba_program p = { .loss = loss,
                        .max_grad_norm = program,
                        .level = level,
                        .mapping = mapping,
                        .microbatches = microbatches,
                        .sram_bytes = level == SAMBA_O1 ? 64 : 0 };
    if (n_optims == 1)
        p.optim = two[1];
    else {
        p.optims = two;
        p.n_optims = 2;
    }
    CHECK(samba_compile(n.s, &p));
    for (int i = 0; i < CLIP_B * CLIP_K; i++)
        in[i] = (float)(i * 7 % 11) - 5;
    for (int i = 0; i < CLIP_B * CLIP_N; i++)
        want[i] = (float)(i * 5 % 13) - 6;
    CHECK(samba_write(x, in) && samba_write(y, want));
    return n;
}

// Writes the gradients, or the values, of the parameters one after another; returns how many.
static int clip_values(const clip_net *n, bool grads, float *to)
{
    int count = 0;
    for (int i = 0; i < 4; i++) {
        samba_tensor *t = grads ? samba_sn_grad(n->param[i]) : n->param[i];
        CHECK(samba_copy_out(t, to + count, samba_bytes(t)));
        count += (int)samba_count(&t->shape);
    }
    return count;
}

enum { CLIP_VALUES = 7 * CLIP_K + 7 + CLIP_N * 7 + CLIP_N, CLIP_A = 7 * CLIP_K + 7 };

// What a step makes of the parameters, in double: torch.nn.utils.clip_grad_norm_, then SGD.
static void clip_reference(int32_t n_optims, bool one_norm, float limit, float *want)
{
    float grad[CLIP_VALUES];
    double sum[2] = { 0, 0 };
    clip_net n = clip_open(n_optims, 0, 0, SAMBA_O3, SAMBA_MAPPING_SECTION, 1);
    CHECK(clip_values(&n, false, want) == CLIP_VALUES && samba_run(n.s, 0));
    clip_values(&n, true, grad);
    for (int i = 0; i < CLIP_VALUES; i++)
        sum[i >= CLIP_A] += (double)grad[i] * (double)grad[i];
    for (int i = 0; i < CLIP_VALUES; i++) {
        int group = i >= CLIP_A;
        double norm = sqrt(one_norm || n_optims == 1 ? sum[0] + sum[1] : sum[group]);
        double clip = (double)limit / (norm + 1e-6), lr = group && n_optims == 2 ? 0.5 : 0.25;
        if (clip > 1) clip = 1;
        want[i] = (float)((double)want[i] - lr * clip * (double)grad[i]);
    }
    CHECK(samba_close(n.s) == 0);
}

// One norm over all parameters, whoever steps them; and one for each optimizer.
static void test_norms(void)
{
    static const float limits[] = { 0.5f, 2.0f, 1e6f };
    float want[CLIP_VALUES], got[CLIP_VALUES];
    for (int k = 0; k < 36; k++) {
        int32_t n_optims = 1 + k % 2, parts = k / 2 % 3 + 1;
        bool one = k / 18;
        float limit = limits[k / 6 % 3];
        for (int way = 0; way < 3; way++) {
            clip_reference(n_optims, one, limit, want);
            clip_net n = clip_open(n_optims, one ? limit : 0, one ? 0 : limit,
                                   way == 1 ? SAMBA_O0 : SAMBA_O3,
                                   way == 2 ? SAMBA_MAPPING_SPATIAL : SAMBA_MAPPING_SECTION, parts);
            CHECK(samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
            clip_values(&n, false, got);
            CHECK_CLOSE(got, want, CLIP_VALUES, 2e-6, 1e-7);
            if (one) CHECK(fabs(samba_get(n.s, "max_grad_norm") - (double)limit) <= 0);
            CHECK(samba_close(n.s) == 0);
        }
    }
    samba_session *s = samba_open(NULL);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
    samba_program both = { .loss = samba_sum(w, SAMBA_ALL_AXES, false),
                           .max_grad_norm = 1,
                           .optim = { .kind = SAMBA_SGD, .max_grad_norm = 1 } };
    CHECK(!samba_compile(s, &both) && samba_error_code(s) == SAMBA_EARG);
    CHECK(strstr(samba_error(s), "set one of them"));
    samba_clear_error(s);
    CHECK(samba_close(s) == 0);
}

static bool refuses_stale(samba_session *s, bool ran)
{
    bool fine = !ran && samba_error_code(s) == SAMBA_ESTATE && strstr(samba_error(s), "GRADNORM");
    samba_clear_error(s);
    return fine;
}

// What a parameter is after a whole step, by ids, sequences, calls, piece by piece: the same.
static void test_whole_steps(void)
{
    const char *const all[] = { "FWD", "BCKWD", "OPT" },
                      *const two[] = { "FWD", "BCKWD", "GRADNORM", "FWD", "OPT" };
    const unsigned passes = SAMBA_FWD | SAMBA_BCKWD;
    float want[CLIP_VALUES], got[CLIP_VALUES];
    for (int k = 0; k < 12; k++) {
        samba_opt_level level = k % 2 ? SAMBA_O0 : SAMBA_O3;
        clip_net n
            = clip_open(2, k < 6 ? 0.5f : 0, k < 6 ? 0 : 0.5f, level, SAMBA_MAPPING_SECTION, 1);
        int32_t ids[512], n_ids = 0;
        samba_section q;
        while (samba_describe_section(n.s, n_ids, &q)) {
            ids[n_ids] = n_ids;
            n_ids++;
        }
        if (k == 0) CHECK(samba_run(n.s, 0) && clip_values(&n, false, want));
        if (k % 6 == 1) CHECK(samba_run(n.s, SAMBA_FWD) && samba_run(n.s, SAMBA_BCKWD | SAMBA_OPT));
        if (k % 6 == 2)
            CHECK(samba_session_run(
                n.s, &(samba_session_run_desc){ .section_types = all, .n_section_types = 3 }));
        if (k % 6 == 3)
            CHECK(samba_session_run(
                n.s, &(samba_session_run_desc){ .section_ids = ids, .n_section_ids = n_ids }));
        if (k % 6 == 4)
            CHECK(samba_session_run(
                n.s, &(samba_session_run_desc){ .section_types = two, .n_section_types = 5 }));
        if (k % 6 == 5)
            CHECK(samba_run(n.s, passes) && samba_run(n.s, SAMBA_GRADNORM)
                  && samba_run(n.s, SAMBA_OPT));
        if (k == 6)
            CHECK(samba_run(n.s,
                            passes | SAMBA_OPT | SAMBA_GRADNORM | SAMBA_REDUCE | SAMBA_ZEROGRAD));
        clip_values(&n, false, got);
        if (k < 6) CHECK(!memcmp(got, want, sizeof got));
        CHECK(samba_close(n.s) == 0);
    }
}

// OPT never clips by the norm of other gradients, nor by none.
static void test_norm_is_fresh(void)
{
    const char *const late[] = { "FWD", "BCKWD", "FWD", "OPT" };
    const unsigned passes = SAMBA_FWD | SAMBA_BCKWD;
    float before[CLIP_VALUES], after[CLIP_VALUES], grad[CLIP_VALUES];
    clip_net n = clip_open(2, 0.5f, 0, SAMBA_O0, SAMBA_MAPPING_SECTION, 1);
    int32_t ids[512], n_ids = 0, n_opt = 0, first_norm = -1, first_opt = -1;
    samba_section q;
    clip_values(&n, false, before);
    CHECK(!samba_run(n.s, SAMBA_OPT) && strstr(samba_error(n.s), "BCKWD before it"));
    samba_clear_error(n.s);
    CHECK(samba_run(n.s, passes));
    CHECK(refuses_stale(n.s, samba_run(n.s, SAMBA_OPT)));
    CHECK(refuses_stale(
        n.s,
        samba_session_run(
            n.s, &(samba_session_run_desc){ .section_types = late, .n_section_types = 4 })));
    for (int32_t i = 0; samba_describe_section(n.s, i, &q); i++) {
        bool norm = !strcmp(q.type, "GRADNORM"), opt = !strcmp(q.type, "OPT");
        if (norm && first_norm < 0) first_norm = i;
        if (opt && first_opt < 0) first_opt = i;
        if (!norm || i != first_norm) ids[n_ids++] = i;
        n_opt += opt;
    }
    CHECK(n_opt > 1 && first_norm > 0);
    CHECK(refuses_stale(
        n.s,
        samba_session_run(
            n.s, &(samba_session_run_desc){ .section_ids = ids, .n_section_ids = n_ids })));
    CHECK(refuses_stale(
        n.s, samba_session_run(n.s, &(samba_session_run_desc){ .from_call_id = first_norm + 1 })));
    CHECK(refuses_stale(
        n.s, samba_session_run(n.s, &(samba_session_run_desc){ .from_call_id = first_opt })));
    clip_values(&n, false, after);
    CHECK(!memcmp(before, after, sizeof after));
    // What makes it old again: a backward pass, a write to a gradient, another limit.
    CHECK(samba_run(n.s, SAMBA_GRADNORM) && samba_run(n.s, passes));
    CHECK(refuses_stale(n.s, samba_run(n.s, SAMBA_OPT)));
    CHECK(samba_run(n.s, SAMBA_GRADNORM));
    CHECK(samba_copy_out(samba_sn_grad(n.param[0]), grad, samba_bytes(n.param[0])));
    CHECK(samba_write(samba_sn_grad(n.param[0]), grad));
    CHECK(refuses_stale(n.s, samba_run(n.s, SAMBA_OPT)));
    CHECK(samba_run(n.s, SAMBA_GRADNORM) && samba_set(n.s, "max_grad_norm", 0.25));
    CHECK(refuses_stale(n.s, samba_run(n.s, SAMBA_OPT)));
    // And what does not: a forward pass, a step, a checkpoint that was refused.
    CHECK(samba_run(n.s, SAMBA_GRADNORM | SAMBA_OPT) && samba_run(n.s, SAMBA_FWD)
          && samba_run(n.s, SAMBA_OPT));
    CHECK(!samba_restore(n.s, "build/no_such_checkpoint"));
    samba_clear_error(n.s);
    CHECK(samba_run(n.s, SAMBA_OPT));
    CHECK(samba_close(n.s) == 0);
}

// The device: what the session does, and false where it refuses.
static void test_clip_on_device(void)
{
    const char *path = "build/test_clip.pef";
    float want[CLIP_VALUES];
    clip_net n = clip_open(2, 0.5f, 0, SAMBA_O3, SAMBA_MAPPING_SECTION, 2);
    samba_tensor *x = samba_tensor_by_name(n.s, "x"), *y = samba_tensor_by_name(n.s, "y");
    CHECK(samba_save(n.s, path));

    static union {
        uint64_t align;
        unsigned char bytes[1 << 16];
    } pef;

    size_t size = read_into(path, pef.bytes, sizeof pef.bytes);
    size_t need = samba_runtime_bytes(pef.bytes, size, NULL, 0);
    remove(path);
    void *memory = malloc(need);
    samba_runtime *rt = samba_runtime_open(pef.bytes, size, memory, need, NULL, 0);
    CHECK(rt != NULL);
    memcpy(samba_runtime_data(rt, "x"), samba_read(x), samba_bytes(x));
    memcpy(samba_runtime_data(rt, "y"), samba_read(y), samba_bytes(y));
    CHECK(!samba_runtime_run(rt, SAMBA_OPT));
    CHECK(samba_runtime_run(rt, SAMBA_FWD | SAMBA_BCKWD) && !samba_runtime_run(rt, SAMBA_OPT));
    CHECK(samba_runtime_run(rt, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
    CHECK(samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
    clip_values(&n, false, want);
    CHECK(!memcmp(samba_runtime_data(rt, "a__weight"), want, 4 * 7 * CLIP_K));
    CHECK(samba_runtime_run(rt, SAMBA_OPT));
    free(memory);
    CHECK(samba_close(n.s) == 0);
}

// Options that an optimizer does not read are told, those that were given alone; so are its kinds.
static char told[512];

static void keep_told(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)user;
    snprintf(told, sizeof told, "%s", text);
}

static void test_optimizer_options(void)
{
    static const struct {
        samba_optim optim;
        const char *said;
        bool fine;
    } cases[] = {
        { { .kind = SAMBA_SGD, .momentum = 0.5f, .dampening = 0.25f, .max_grad_norm = 1 },
          "",
          true },
        { { .kind = SAMBA_SGD, .beta2 = 0.5f, .eps = 1e-5f }, "SGD does not use beta2, eps", true },
        { { .kind = SAMBA_ADAM, .momentum = 0.5f }, "Adam does not use momentum", true },
        { { .kind = SAMBA_ADAMW, .beta1 = 0.5f, .dampening = 0.5f },
          "AdamW does not use dampening",
          true },
        { { .kind = SAMBA_ADAM, .amsgrad = true, .alpha = 0.5f },
          "Adam with amsgrad does not use alpha",
          true },
        { { .kind = SAMBA_RMSPROP, .alpha = 0.5f, .momentum = 0.5f, .eps = 1e-3f }, "", true },
        { { .kind = SAMBA_RMSPROP, .centered = true, .amsgrad = true },
          "centered RMSprop does not use amsgrad",
          true },
        { { .kind = SAMBA_RMSPROP, .nesterov = true, .momentum = 0.5f },
          "RMSprop does not use nesterov",
          true },
        { { .kind = SAMBA_RMSPROP, .alpha = 1 }, "alpha is 1; it must be", false },
        { { .kind = SAMBA_ADAGRAD, .lr_decay = 0.5f, .initial_accumulator = 1 }, "", true },
        { { .kind = SAMBA_ADAGRAD, .momentum_state = true, .centered = true },
          "Adagrad does not use centered",
          true },
        { { .kind = SAMBA_ADAGRAD, .initial_accumulator = -1 },
          "initial_accumulator is -1; it must be",
          false },
        { { .kind = SAMBA_LION, .eps = 1, .initial_accumulator = 1 },
          "Lion does not use eps, initial_accumulator",
          true },
        { { .kind = (samba_optim_kind)77 },
          "has no kind, but 77; use SAMBA_SGD, SAMBA_ADAMW, SAMBA_ADAM, SAMBA_RMSPROP, SAMBA_ADAGRAD or SAMBA_LION",
          false },
        { { .beta1 = 0.5f }, "no kind; use SAMBA_SGD, SAMBA_ADAMW, SAMBA_ADAM, SAMBA_RMS", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        samba_session *s = samba_open(&(samba_desc){ .log = keep_told });
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 1 });
        samba_program p = { .loss = samba_sum(w, SAMBA_ALL_AXES, false), .optim = cases[i].optim };
        told[0] = 0;
        CHECK(samba_compile(s, &p) == cases[i].fine);
        CHECK(*cases[i].said ? strstr(told, cases[i].said) != NULL : told[0] == 0);
        samba_close(s);
    }
}

int main(int argc, char **argv)
{
    const recipe_model large = recipe_res_ffn(64, 784, 512), small = recipe_res_ffn(64, 196, 128);
    const recipe_model conv = recipe_conv_net(32, 16, 8);
    const recipe_model transformer = recipe_transformer(8, 16, 32, 32);
    const samba_optim momentum
        = { .kind = SAMBA_SGD, .lr = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f };
    samba_optim nesterov = momentum, dampening = momentum, slow = momentum;
    nesterov.nesterov = true;
    dampening.lr = 0.1f;
    dampening.dampening = 0.5f;
    slow.lr = 0.002f;
    const samba_optim plain = { .kind = SAMBA_SGD, .lr = 0.1f };
    const samba_optim sgd_clip
        = { .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f, .max_grad_norm = 0.25f };
    const samba_optim adamw = {
        .kind = SAMBA_ADAMW, .lr = 0.001f, .weight_decay = 0.05f, .beta1 = 0.9f, .beta2 = 0.999f
    };
    const samba_optim adam = {
        .kind = SAMBA_ADAM, .lr = 0.001f, .weight_decay = 0.01f, .beta1 = 0.9f, .beta2 = 0.999f
    };
    samba_optim adamw_clip = adamw, adamw_fast = adamw;
    adamw_clip.max_grad_norm = 0.25f;
    adamw_fast.lr = 0.003f;
    adamw_fast.weight_decay = 0.1f;

    samba_optim amsgrad = adamw, adam_amsgrad = adam;
    amsgrad.amsgrad = adam_amsgrad.amsgrad = true;
    amsgrad.beta2 = adam_amsgrad.beta2 = 0.98f;
    adam_amsgrad.max_grad_norm = 0.25f;

    const samba_optim rmsprop = {
        .kind = SAMBA_RMSPROP, .lr = 0.0005f, .alpha = 0.9f, .eps = 1e-3f, .weight_decay = 0.01f
    };
    const samba_optim rmsprop_momentum = {
        .kind = SAMBA_RMSPROP, .lr = 0.0003f, .momentum = 0.8f, .eps = 1e-3f, .max_grad_norm = 0.25f
    };
    const samba_optim rmsprop_centered
        = { .kind = SAMBA_RMSPROP, .lr = 0.0005f, .eps = 1e-2f, .centered = true };
    samba_optim rmsprop_both = rmsprop;
    rmsprop_both.lr = 0.0003f;
    rmsprop_both.momentum = 0.5f;
    rmsprop_both.eps = 1e-2f;
    rmsprop_both.centered = true;
    rmsprop_both.max_grad_norm = 0.25f;

    const samba_optim adagrad_clip = {
        .kind = SAMBA_ADAGRAD, .lr = 0.01f, .initial_accumulator = 0.01f, .max_grad_norm = 0.25f
    };
    samba_optim adagrad = adagrad_clip;
    adagrad.lr_decay = 0.02f;
    adagrad.weight_decay = 0.01f;
    adagrad.max_grad_norm = 0;

    const samba_optim lion = { .kind = SAMBA_LION, .lr = 0.0001f, .weight_decay = 0.1f };
    const samba_optim lion_clip = {
        .kind = SAMBA_LION, .lr = 0.0001f, .beta1 = 0.8f, .beta2 = 0.95f, .max_grad_norm = 0.25f
    };
    const training trainings[] = {
        { "resffn", "resffn", large, momentum, 0 },
        { "resffn, 4 microbatches", "resffn", large, momentum, 4 },
        { "plain", "plain", small, plain, 0 },
        { "momentum", "momentum", small, momentum, 0 },
        { "nesterov", "nesterov", small, nesterov, 0 },
        { "dampening", "dampening", small, dampening, 0 },
        { "sgd_clip", "sgd_clip", small, sgd_clip, 0 },
        { "sgd_clip, 2 microbatches", "sgd_clip", small, sgd_clip, 2 },
        { "adamw", "adamw", small, adamw, 0 },
        { "adam", "adam", small, adam, 0 },
        { "adamw_clip", "adamw_clip", small, adamw_clip, 0 },
        { "adamw_clip, 4 microbatches", "adamw_clip", small, adamw_clip, 4 },
        { "amsgrad", "amsgrad", small, amsgrad, 0 },
        { "adam_amsgrad, 2 microbatches", "adam_amsgrad", small, adam_amsgrad, 2 },
        { "rmsprop", "rmsprop", small, rmsprop, 0 },
        { "rmsprop_momentum", "rmsprop_momentum", small, rmsprop_momentum, 0 },
        { "rmsprop_centered", "rmsprop_centered", small, rmsprop_centered, 0 },
        { "rmsprop_both, 4 microbatches", "rmsprop_both", small, rmsprop_both, 4 },
        { "adagrad", "adagrad", small, adagrad, 0 },
        { "adagrad_clip, 2 microbatches", "adagrad_clip", small, adagrad_clip, 2 },
        { "lion", "lion", small, lion, 0 },
        { "lion_clip, 4 microbatches", "lion_clip", small, lion_clip, 4 },
        { "conv", "conv", conv, slow, 0 },
        { "transformer", "transformer", transformer, adamw_fast, 0 },
        { "transformer, 4 microbatches", "transformer", transformer, adamw_fast, 4 },
    };
    printf("%-28s %5s %9s %5s %9s %9s   worst relative deviations of a loss from PyTorch\n"
           "%-28s %5s %9s %5s %9s %9s\n",
           "", "", "from", "", "from", "its own", "training", "steps", "float64", "step", "float32",
           "float32");
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
        if (argc < 3 || !strcmp(argv[2], trainings[i].name))
            test_training(&trainings[i], argc > 1 ? argv[1] : GOLDEN_DIR);
    }
    RUN(test_summed_in_place);
    RUN(test_loss_in_pieces);
    RUN(test_norms);
    RUN(test_whole_steps);
    RUN(test_norm_is_fresh);
    RUN(test_clip_on_device);
    RUN(test_optimizer_options);
    return test_summary();
}
