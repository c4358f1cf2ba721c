// Trainings of 200 steps: the loss of every step against PyTorch, tests/golden/train_*.bin.
//     cc -O2 -I. tests/train.c -lm -pthread -o train && ./train [GOLDEN_DIR [case]]
#define SAMBA_IMPLEMENTATION
#define SAMBA_LOSS_IMPLEMENTATION
#include "samba.h"
#include "tools/loss.h"
#include "golden.h"
#include "recipe.h"
#include "test.h"

enum { MAX_STEPS = 1000, EARLY = 5 };
static const double rtol = 1e-5;            // of every loss, against float64 and float32

typedef struct losses {
    uint32_t n_steps;                       // then two more, in evaluation mode
    uint64_t weights, batch;                // hashes of what training starts with
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
    l->weights = head[1], l->batch = head[2];
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
    return d - d == 0 ? d : 1e300;          // NaN and infinity are as far away as can be
}

// The worst relative deviations of a run, and where they are.
typedef struct worst { double f64, f32, torch; uint32_t step, n_bad; } worst;

static void compare(worst *w, const losses *l, uint32_t step, double loss)
{
    double d64 = deviation(loss, l->f64[step]), d32 = deviation(loss, (double)l->f32[step]);
    double torch = deviation((double)l->f32[step], l->f64[step]);
    if (torch > w->torch) w->torch = torch;
    if (d32 > w->f32) w->f32 = d32;
    if (d64 > w->f64) w->f64 = d64, w->step = step;
    if (d64 <= rtol && d32 <= rtol) return;
    if (w->n_bad++ == 0)
        printf("step %u: loss %.9g; PyTorch has %.9g in float64, %.9g in float32\n",
               (unsigned)step, loss, l->f64[step], (double)l->f32[step]);
}

typedef struct training {
    const char *name, *golden;              // golden: the case it must equal
    recipe_model model;
    samba_optim optim;
    int32_t microbatches;                   // 0: one, the whole batch
} training;

// The loss of a batch that training never sees; compared with loss number i.
static void evaluate(const training *t, const recipe_net *net, const losses *l, uint32_t i,
                     worst *w)
{
    const char *const fwd = "fwd";
    const samba_run_desc eval = { .section_types = &fwd, .n_section_types = 1, .eval = true };
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
    samba_compile(s, &(samba_program){ .loss = net.loss, .optim = t->optim,
                                       .microbatches = t->microbatches });
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
    CHECK(samba_compile(s, &(samba_program){ .loss = loss, .level = level, .optim.kind = SAMBA_SGD,
                                             .microbatches = microbatches }));
    for (int32_t i = 0; i < B * T; i++) tokens[i] = i * i % V, next[i] = (3 * i + 1) % V;
    samba_write(ids, tokens), samba_write(target, next);
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
    for (int i = 0; i < 2; i++) free(plain[i]), free(fused[i]), free(parts[i]);
}

// The loss and the gradients of x and w: whole (rows -1), or in pieces of so many rows.
static size_t device;               // bytes of the last program
static float loss_in_pieces(int32_t rows, samba_reduction reduction, int64_t memory, float *grads)
{
    enum { N = 30, V = 70, C = 12 };
    int32_t classes[N];
    const samba_loss_opts opts = { .reduction = reduction, .use_ignore_index = true,
                                   .ignore_index = 3, .label_smoothing = 0.1f };
    samba_session *s = samba_open(NULL);
    samba_init normal = { .kind = SAMBA_INIT_NORMAL, .scale = 1 };
    samba_tensor *x = samba_param(s, "x", SAMBA_SHAPE(2, N / 2, C), normal);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(V, C), normal);
    samba_tensor *target = samba_input(s, "target", SAMBA_I32, SAMBA_SHAPE(2, N / 2));
    samba_tensor *loss = rows < 0 ? samba_cross_entropy_with(samba_affine(x, w, NULL), target, &opts)
        : samba_linear_cross_entropy(x, w, target, rows, &opts);
    CHECK(samba_compile(s, &(samba_program){ .loss = loss, .optim.kind = SAMBA_SGD,
                                             .memory = memory }));
    for (int32_t i = 0; i < N; i++) classes[i] = i % 7 == 2 ? 3 : i * i % V;
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
            CHECK_CLOSE(&(float){ loss_in_pieces(rows, (samba_reduction)r, 0, pieces) }, &want, 1, 1e-6, 0);
            CHECK_CLOSE(pieces, whole, GRADS, 1e-5, 1e-6);
        }
        // With a limit each piece is computed again, which takes less memory and changes no bit.
        float again = loss_in_pieces(7, (samba_reduction)r, 18000, limited);
        size_t within = device;
        CHECK(again == loss_in_pieces(7, (samba_reduction)r, 0, pieces));
        CHECK(!memcmp(limited, pieces, sizeof limited) && within < device);
    }
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 8)), *ids = samba_randint(s, "ids", 5, SAMBA_SHAPE(4));
    samba_tensor *w = samba_randn(s, "w", SAMBA_SHAPE(5, 8));
    CHECK(!samba_linear_cross_entropy(x, w, ids, 0, &(samba_loss_opts){ .reduction = SAMBA_REDUCE_NONE }));
    CHECK(samba_error_code(s) == SAMBA_EARG);
    samba_clear_error(s);
    CHECK(samba_close(s) == 0);
}

int main(int argc, char **argv)
{
    const recipe_model large = recipe_res_ffn(64, 784, 512), small = recipe_res_ffn(64, 196, 128);
    const recipe_model conv = recipe_conv_net(32, 16, 8);
    const recipe_model transformer = recipe_transformer(8, 16, 32, 32);
    const samba_optim momentum = { .kind = SAMBA_SGD, .lr = 0.05f, .momentum = 0.9f,
                                   .weight_decay = 1e-4f };
    samba_optim nesterov = momentum, dampening = momentum, slow = momentum;
    nesterov.nesterov = true;
    dampening.lr = 0.1f, dampening.dampening = 0.5f;
    slow.lr = 0.002f;
    const samba_optim plain = { .kind = SAMBA_SGD, .lr = 0.1f };
    const samba_optim sgd_clip = { .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f,
                                   .max_grad_norm = 0.25f };
    const samba_optim adamw = { .kind = SAMBA_ADAMW, .lr = 0.001f, .weight_decay = 0.05f,
                                .beta1 = 0.9f, .beta2 = 0.999f };
    const samba_optim adam = { .kind = SAMBA_ADAM, .lr = 0.001f, .weight_decay = 0.01f,
                               .beta1 = 0.9f, .beta2 = 0.999f };
    samba_optim adamw_clip = adamw, adamw_fast = adamw;
    adamw_clip.max_grad_norm = 0.25f;
    adamw_fast.lr = 0.003f, adamw_fast.weight_decay = 0.1f;
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
        { "conv", "conv", conv, slow, 0 },
        { "transformer", "transformer", transformer, adamw_fast, 0 },
        { "transformer, 4 microbatches", "transformer", transformer, adamw_fast, 4 },
    };
    printf("%-28s %5s %9s %5s %9s %9s   worst relative deviations of a loss from PyTorch\n"
           "%-28s %5s %9s %5s %9s %9s\n", "", "", "from", "", "from", "its own",
           "training", "steps", "float64", "step", "float32", "float32");
    for (size_t i = 0; i < sizeof trainings / sizeof *trainings; i++) {
        if (argc < 3 || !strcmp(argv[2], trainings[i].name))
            test_training(&trainings[i], argc > 1 ? argv[1] : GOLDEN_DIR);
    }
    RUN(test_summed_in_place);
    RUN(test_loss_in_pieces);
    return test_summary();
}
