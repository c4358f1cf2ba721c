// Hyperparameters and other options: how 0 is said, what is refused whichever way it comes, and the
// dropout rates of a program that infers.
//     cc -O2 -I. tests/core/hyperparams.c -lm -pthread -o hyperparams && ./hyperparams
#define SAMBA_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#define SAMBA_SCHEDULE_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_LORA_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/sambaflow.h"
#include "tools/include/samba/schedule.h"
#include "tools/include/samba/driver.h"
#include "tools/include/samba/lora.h"
#include "tests/lib/optimizers.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include <math.h>

enum { B = 4, F = 5, H = 6 };

typedef struct net {
    samba_session *s;
    samba_tensor *x, *y, *loss;
} net;

static net traced(void)
{
    net n;
    n.s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
    n.x = samba_randn(n.s, "x", SAMBA_SHAPE(B, F));
    samba_tensor *h = samba_dropout(samba_tanh(samba_linear(n.x, "one", H)), "drop", 0.5f);
    n.y = samba_linear(h, "two", 2);
    n.loss = samba_name(samba_mean(n.y, SAMBA_ALL_AXES, false), "loss");
    return n;
}

static net compiled(bool inference)
{
    net n = traced();
    samba_program p = { .loss = inference ? NULL : n.loss, .outputs = { n.y } };
    p.inference = inference;
    p.optim = (samba_optim){ .kind = SAMBA_ADAMW, .lr = 0.25f };
    CHECK(samba_compile(n.s, &p));
    return n;
}

// ---- p, of a program that infers ----------------------------------------------------------------

// The tutorial gives {'p': 0.0} to each run of its inference program, which has no dropout any
// more.
static void test_rate_of_inference(void)
{
    float want[B * 2];
    for (int way = 0; way < 4;
         way++) { // compiled, loaded with a graph, loaded without, several names
        net n = compiled(true);
        if (way == 1 || way == 2) {
            CHECK(samba_save(n.s, "build/hyperparams.ckpt") && samba_close(n.s) == 0);
            n = traced();
            if (way == 2) {
                CHECK(samba_close(n.s) == 0);
                n.s = samba_open(&(samba_desc){ .quiet = true });
            }
            CHECK(samba_load(n.s, "build/hyperparams.ckpt", NULL));
            if (way == 2) samba_set_tracing(n.s, false);
            n.x = samba_randn(n.s, "x", SAMBA_SHAPE(B, F));
            n.y = samba_tensor_by_name(n.s, "two");
        }
        samba_value p = { "p", 0.0 };
        const char *fwd = "fwd";
        samba_session_run_desc d = { .inputs = &n.x,
                                     .n_inputs = 1,
                                     .hyperparams = &p,
                                     .n_hyperparams = 1,
                                     .outputs = &n.y,
                                     .n_outputs = 1,
                                     .section_types = &fwd,
                                     .n_section_types = 1 };
        CHECK(samba_session_run(n.s, &d) && samba_get(n.s, "p") == 0.0);
        CHECK(samba_copy_out(n.y, want, sizeof want));
        p.value = 0.25;
        CHECK(samba_session_run(n.s, &d) && samba_get(n.s, "p") == 0.25);
        CHECK(memcmp(samba_read(n.y), want, sizeof want) == 0); // nothing is dropped
        for (int i = 0; i < 3; i++) {
            p.value = i == 0 ? -0.5 : i == 1 ? 1.5 : (double)NAN;
            CHECK(!samba_session_run(n.s, &d) && said(n.s, "p is"));
        }
        if (way != 2) CHECK(samba_set(n.s, "drop__p", 0.5) && samba_set(n.s, "drop__seed", 3));
        if (way == 2) CHECK(!samba_set(n.s, "drop__p", 0.5) && said(n.s, "drop__p is unknown"));
        CHECK(!samba_set(n.s, "other__p", 0.5) && said(n.s, "other__p is unknown"));
        CHECK(!samba_set(n.s, "lr", 0.5)
              && said(n.s, "the program has no optimizer, for it infers"));
        samba_get(n.s, "lr");
        CHECK(said(n.s, "no optimizer") && samba_close(n.s) == 0);
    }
    remove("build/hyperparams.ckpt");
    net n = compiled(false); // it is the rate again where there is dropout
    CHECK(samba_set(n.s, "p", 0.75) && samba_get(n.s, "drop__p") == 0.75 && samba_close(n.s) == 0);
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ 0 });
    samba_program p
        = { .loss = samba_sum(w, SAMBA_ALL_AXES, false), .optim = { .kind = SAMBA_SGD } };
    CHECK(samba_compile(s, &p) && !samba_set(s, "p", 0.0) && said(s, "the program has no dropout"));
    CHECK(samba_close(s) == 0);
}

// ---- What is out of range, whichever way it comes -----------------------------------------------

static void test_refused_however_it_comes(void)
{
    static const struct {
        const char *name;
        float bad[3];
    } cases[] = { { "lr", { -1.0f, NAN, INFINITY } },
                  { "beta1", { 1.0f, -0.5f, NAN } },
                  { "drop__p", { 1.5f, -0.5f, NAN } },
                  { "weight_decay", { -1.0f, NAN, INFINITY } },
                  { "eps", { -1e-8f, NAN, INFINITY } } };

    net n = compiled(false);
    samba_session *s = n.s;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = cases[i].name;
        samba_tensor *t = samba_tensor_by_name(s, name);
        double before = samba_get(s, name);
        for (int k = 0; k < 3; k++) {
            float bad = cases[i].bad[k];
            samba_feed feed = { .tensor = t, .data = &bad, .bytes = 4 };
            samba_value value = { name, (double)bad };
            CHECK(!samba_set(s, name, (double)bad) && said(s, name));
            CHECK(!samba_write(t, &bad) && said(s, name));
            CHECK(!samba_write_f32(t, &bad, 1) && said(s, name));
            CHECK(!samba_write_bytes(t, &bad, 4) && said(s, name));
            CHECK(!samba_run_with(s, &(samba_run_desc){ .feeds = &feed, .n_feeds = 1 })
                  && said(s, name));
            feed.tensor = NULL;
            feed.name = name;
            CHECK(!samba_run_with(s, &(samba_run_desc){ .feeds = &feed, .n_feeds = 1 })
                  && said(s, name));
            CHECK(
                !samba_run_with(s, &(samba_run_desc){ .hyperparams = &value, .n_hyperparams = 1 }));
            CHECK(said(s, name) && !samba_update_tensor(s, name, &bad) && said(s, name));
            *(float *)samba_cpu(t) = bad; // an edit of the host copy, sent by a call and by a list
            CHECK(!samba_rdu(t) && said(s, name));
            CHECK(!samba_session_run(s, &(samba_session_run_desc){ .inputs = &t, .n_inputs = 1 }));
            CHECK(said(s, name) && samba_get(s, name) == before);
        }
        const float zero = 0.0f;
        CHECK(samba_write(t, &zero) && samba_get(s, name) == 0.0 && samba_set(s, name, before));
    }
    const float grad = INFINITY; // the gradient of a loss is no hyperparameter
    CHECK(samba_write(samba_sn_grad(n.loss), &grad) && samba_close(s) == 0);
}

// ---- 0 as an option -----------------------------------------------------------------------------

// Of each optimizer, the defaults of its lr, beta1, beta2, eps, alpha; -1: it has none of these.
static const struct {
    samba_optim_kind kind;
    float by_default[5];
} optimizers[] = { { SAMBA_SGD, { 1e-3f, -1, -1, -1, -1 } },
                   { SAMBA_ADAMW, { 1e-3f, 0.9f, 0.997f, 1e-8f, -1 } },
                   { SAMBA_ADAM, { 1e-3f, 0.9f, 0.997f, 1e-8f, -1 } },
                   { SAMBA_ADAMW, { 1e-3f, 0.9f, 0.997f, 1e-8f, -1 } }, // with amsgrad
                   { SAMBA_ADAM, { 1e-3f, 0.9f, 0.997f, 1e-8f, -1 } },
                   { SAMBA_RMSPROP, { 1e-2f, -1, -1, 1e-8f, 0.99f } },
                   { SAMBA_RMSPROP, { 1e-2f, -1, -1, 1e-8f, 0.99f } }, // centered
                   { SAMBA_ADAGRAD, { 1e-2f, -1, -1, 1e-10f, -1 } },
                   { SAMBA_LION, { 1e-4f, 0.9f, 0.99f, -1, -1 } } };

enum { N_LISTED = sizeof optimizers / sizeof *optimizers };

// Each option of which 0 is a default that is another number: SAMBA_ZERO says 0.
static void test_zero_can_be_said(void)
{
    static const char *const names[] = { "lr", "beta1", "beta2", "eps", "alpha" };
    CHECK((int)N_LISTED == (int)SAMBA__N_OPTIMIZERS); // or the list above lacks one
    for (int k = 0; k < N_LISTED; k++) {
        for (int zero = 0; zero < 2; zero++) {
            net n = traced();
            float say = zero ? SAMBA_ZERO : 0.0f;
            samba_program p = { .loss = n.loss };
            p.optim = optimizer_of_row(k);
            p.optim.lr = p.optim.beta1 = p.optim.beta2 = p.optim.eps = p.optim.alpha = say;
            CHECK(p.optim.kind == optimizers[k].kind && samba_compile(n.s, &p));
            for (int i = 0; i < 5; i++) {
                if (optimizers[k].by_default[i] < 0) continue;
                double got = samba_get(n.s, names[i]);
                CHECK(got == (zero ? 0.0 : (double)optimizers[k].by_default[i]) && !signbit(got));
            }
            CHECK(samba_close(n.s) == 0);
        }
    }
    samba_session *s = samba_open(NULL); // attention: all keys weigh the same
    samba_set_tracing(s, false);
    samba_tensor *q = samba_randn(s, "q", SAMBA_SHAPE(1, 3, 4)),
                 *v = samba_randn(s, "v", SAMBA_SHAPE(1, 3, 4));
    const samba_attention_opts flat = { .scale = SAMBA_ZERO }, given = { .scale = 0.5f },
                               usual = { 0 };
    samba_tensor *y = samba_scaled_dot_product_attention(q, q, v, NULL, &flat);
    samba_tensor *mean = samba_mean(v, SAMBA_AXES(1), false);
    CHECK_CLOSE(samba_read(y) + 4, samba_read(mean), 4, 1e-5, 1e-6);
    y = samba_scaled_dot_product_attention(q, q, v, NULL, &usual);
    samba_tensor *same = samba_scaled_dot_product_attention(q, q, v, NULL, &given);
    CHECK(memcmp(samba_read(y), samba_read(same), 48) == 0 && samba_close(s) == 0);

    samba_schedule r
        = { .name = "polynomial_decay_schedule_with_warmup", .learning_rate = 1, .max_steps = 4 };
    CHECK(samba_schedule_at(&r, 2) == 0.5);
    r.power = SAMBA_ZERO;
    CHECK(samba_schedule_at(&r, 2) == 1 && samba_schedule_at(&r, 3) == 1);
    r.power = -1;
    CHECK(isnan(samba_schedule_at(&r, 2)));
    const samba_lora lora = { .rank = 4, .alpha = SAMBA_ZERO }, usual_lora = { .rank = 4 };
    CHECK(samba_lora__scale(&lora) == 0.0f && samba_lora__scale(&usual_lora) == 1.0f);
}

// ---- Values of flags ----------------------------------------------------------------------------

static bool parses(samba_flag_kind kind, const char *text)
{
    static union {
        int32_t i;
        float f;
    } value;

    char *argv[] = { (char *)"program", (char *)"run", (char *)"--flag", (char *)(size_t)text };
    samba_flag flag = { "flag", kind, &value, "" };
    samba_app_args args = { 0 };
    return samba_parse_app_args(4, argv, &args, &flag, 1);
}

// Each kind of flag takes its range, ends included where they belong to it, and nothing else.
static void test_kinds_of_flags(void)
{
    static const struct {
        samba_flag_kind kind;
        const char *good[4], *bad[6];
    } kinds[] = {
        { SAMBA_FLAG_INT, { "-3", "0", "7" }, { "0.5", "x", "", "3000000000", "nan" } },
        { SAMBA_FLAG_FLOAT, { "-3", "0.5", "1e30" }, { "x", "", "nan", "1,5" } },
        { SAMBA_FLAG_COUNT, { "1", "2147483647" }, { "0", "-1", "0.5", "1.5", "nan" } },
        { SAMBA_FLAG_NUMBER, { "0", "1" }, { "-1", "0.5", "nan", "inf" } },
        { SAMBA_FLAG_POSITIVE, { "1e-8", "3e38" }, { "0", "-1", "nan", "inf", "1e-60", "4e38" } },
        { SAMBA_FLAG_AMOUNT, { "0", "1e-8", "3e38" }, { "-1e-8", "nan", "inf" } },
        { SAMBA_FLAG_SHARE, { "0", "1", "0.5" }, { "-0.1", "1.5", "nan", "inf" } },
        { SAMBA_FLAG_PART, { "1", "0.5" }, { "0", "-0.1", "1.5", "nan" } }
    };

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int i = 0; i < 4 && kinds[k].good[i]; i++)
            CHECK(parses(kinds[k].kind, kinds[k].good[i]));
        for (int i = 0; i < 6 && kinds[k].bad[i]; i++)
            CHECK(!parses(kinds[k].kind, kinds[k].bad[i]));
    }
    static const char *const counts[] = { "-b",
                                          "-mb",
                                          "--memory",
                                          "-n",
                                          "--num-sections",
                                          "--threads",
                                          "--grad-accumulation-steps",
                                          "-ws",
                                          "--seed" };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char *argv[] = { (char *)"program", (char *)"measure-sections", (char *)(size_t)counts[i],
                         (char *)"0" };
        samba_app_args args = { .batch_size = 1 };
        CHECK(!samba_parse_app_args(4, argv, &args, NULL, 0));
        argv[3] = (char *)"1";
        CHECK(samba_parse_app_args(4, argv, &args, NULL, 0));
    }
}

// ---- Hyperparameters of a backward pass that runs alone -----------------------------------------

static bool backward_with(samba_session *s, const char *name, double value)
{
    samba_value h = { name, value };
    samba_run_desc d = { .types = SAMBA_BCKWD, .hyperparams = &h, .n_hyperparams = 1 };
    return samba_run_with(s, &d);
}

// BCKWD may be given what FWD had, and nothing else: numbers, and seeds, which are integers.
static void test_backward_alone(void)
{
    const double ones = 1065353216.0; // the bits of 1.0f
    net n = compiled(false);
    samba_session *s = n.s;

    CHECK(samba_set(s, "drop__seed", 5) && samba_run(s, SAMBA_FWD));
    CHECK(backward_with(s, "drop__seed", 5));
    CHECK(!backward_with(s, "drop__seed", 6) && said(s, "another value than when FWD read it"));

    samba_clear_error(s);
    CHECK(samba_set(s, "drop__seed", ones) && samba_run(s, SAMBA_FWD));
    CHECK(!backward_with(s, "drop__seed", 1) && said(s, "another value than when FWD read it"));

    samba_clear_error(s);
    CHECK(samba_set(s, "drop__p", 0.25) && samba_run(s, SAMBA_FWD));
    CHECK(backward_with(s, "drop__p", 0.25) && backward_with(s, "p", 0.25));
    CHECK(!backward_with(s, "p", 0.5) && said(s, "another value than when FWD read it"));

    // What no hyperparameter can be is refused before anything is compared with it.
    samba_clear_error(s);
    CHECK(!backward_with(s, NULL, 1) && said(s, "name"));
    CHECK(!backward_with(s, "drop__seed", -1) && said(s, "drop__seed"));
    CHECK(!backward_with(s, "drop__seed", (double)NAN) && said(s, "drop__seed"));
    CHECK(!backward_with(s, "drop__seed", 1e30) && said(s, "drop__seed"));
    CHECK(samba_close(s) == 0);
}

// The gradient of a loss may be given with the run: it counts as one that was set before it.
static void test_gradient_of_loss(void)
{
    float want[F * H], got[F * H];
    for (int way = 0; way < 2; way++) {
        net n = compiled(false);
        CHECK(samba_set(n.s, "drop__p", 0) && samba_run(n.s, SAMBA_FWD));
        if (way == 0) CHECK(samba_set(n.s, "loss__grad", 0.5) && samba_run(n.s, SAMBA_BCKWD));
        if (way == 1) CHECK(backward_with(n.s, "loss__grad", 0.5));
        samba_tensor *grad = samba_sn_grad(samba_tensor_by_name(n.s, "one__weight"));
        CHECK(samba_copy_out(grad, way == 0 ? want : got, sizeof want));
        CHECK(samba_close(n.s) == 0);
    }
    CHECK(memcmp(want, got, sizeof want) == 0);
}

// A file that is loaded without its graph: which hyperparameter is which, and what it may be, is
// known by what reads it, whatever the region calls it.
static void test_known_by_what_reads_it(void)
{
    static const char path[] = "build/hyperparams.ckpt";
    net n = traced();
    samba_optim sgd = { .kind = SAMBA_SGD,
                        .lr = 0.25f,
                        .momentum_state = true,
                        .max_grad_norm = 2.0f,
                        .argin_region_name = "p_seed_grad_" };
    CHECK(samba_compile(n.s, &(samba_program){ .loss = n.loss, .optim = sgd }));
    CHECK(samba_save(n.s, path) && samba_close(n.s) == 0);

    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    CHECK(samba_load(s, path, NULL));
    CHECK(samba_set(s, "lr", 0.5) && samba_get(s, "p_seed_grad_lr") == 0.5);
    CHECK(samba_set(s, "momentum", 0.9) && samba_set(s, "p", 0.75));
    CHECK(samba_get(s, "drop__p") == 0.75 && samba_get(s, "max_grad_norm") == 2.0);
    CHECK(!samba_set(s, "p_seed_grad_lr", -1.0) && said(s, "must be at least 0"));
    CHECK(!samba_set(s, "drop__p", 1.5) && said(s, "must be 0 ... 1"));
    CHECK(!samba_set(s, "drop__seed", 0.5) && said(s, "whole"));
    CHECK(samba_set(s, "loss__grad", -3.0) && samba_get(s, "loss__grad") == -3.0);
    CHECK(samba_close(s) == 0);
    remove(path);
}

int main(void)
{
    RUN(test_backward_alone);
    RUN(test_gradient_of_loss);
    RUN(test_rate_of_inference);
    RUN(test_refused_however_it_comes);
    RUN(test_zero_can_be_said);
    RUN(test_kinds_of_flags);
    RUN(test_known_by_what_reads_it);
    return test_summary();
}
