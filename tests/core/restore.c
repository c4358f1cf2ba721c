// What a restore takes of a checkpoint, what it says of the rest, and with what hyperparameters a
// program begins.
//     cc -O2 -I. tests/core/restore.c -lm -pthread -o restore && ./restore
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include <math.h>

enum { B = 8, F = 5, H = 6, PATH = 300 };

static char stopped[PATH];
static char warned[4000];

static void keep_warnings(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level != SAMBA_LOG_WARNING) return;
    strncat(warned, text, sizeof warned - strlen(warned) - 2);
    strcat(warned, "\n");
}

// A body with all that is kept: parameters, running statistics, dropout; and a head of its own.
typedef struct net {
    samba_session *s;
    samba_tensor *x, *label, *logits, *loss;
} net;

static net traced(const char *head, int32_t classes, float p)
{
    net n;
    warned[0] = 0;
    n.s = samba_open(&(samba_desc){ .log = keep_warnings, .threads = 1 });
    n.x = samba_randn(n.s, "x", SAMBA_SHAPE(B, F));
    n.label = samba_randint(n.s, "label", classes, SAMBA_SHAPE(B));
    samba_tensor *h = samba_tanh(samba_batchnorm(samba_linear(n.x, "body", H), "norm"));
    n.logits = samba_linear(samba_dropout(h, "drop", p), head, classes);
    n.loss = samba_name(samba_cross_entropy(n.logits, n.label), "loss");
    return n;
}

static samba_program program_of(const net *n, samba_optim_kind kind, float lr)
{
    samba_program p = { .loss = n->loss, .outputs = { n->logits } };
    p.optim = (samba_optim){ .kind = kind, .lr = lr };
    return p;
}

static net compiled(const char *head, int32_t classes, float p, samba_optim_kind kind, float lr)
{
    net n = traced(head, classes, p);
    samba_program program = program_of(&n, kind, lr);
    CHECK(samba_compile(n.s, &program));
    return n;
}

// Writes the checkpoint: AdamW, lr 0.01, p 0.1, seed 7, three steps.
static void write_checkpoint(void)
{
    net n = compiled("head", 3, 0.1f, SAMBA_ADAMW, 0.01f);
    CHECK(samba_set(n.s, "drop__seed", 7));
    for (int i = 0; i < 3; i++)
        CHECK(samba_run(n.s, 0));
    CHECK(samba_save(n.s, stopped) && samba_close(n.s) == 0);
}

static float first_of(samba_session *s, const char *name)
{
    return samba_read(samba_tensor_by_name(s, name))[0];
}

static int32_t count_of(samba_session *s, const char *name)
{
    return samba_read_i32(samba_tensor_by_name(s, name))[0];
}

// ---- What is taken ------------------------------------------------------------------------------

// Each kind by itself, and all sums of them: what was asked for is the file's, the rest the
// program's.
static void test_kinds(void)
{
    net file = compiled("head", 3, 0.1f, SAMBA_ADAMW, 0.01f);
    CHECK(samba_restore_with(file.s, stopped, &(samba_restore_opts){ .kinds = SAMBA_KEPT_ALL },
                             NULL));
    for (unsigned kinds = 1; kinds <= SAMBA_KEPT_ALL; kinds++) {
        net n = compiled("head", 3, 0.3f, SAMBA_ADAMW, 0.5f);
        float weight = first_of(n.s, "body__weight");
        CHECK(samba_restore_with(n.s, stopped, &(samba_restore_opts){ .kinds = kinds }, NULL));
        bool parameters = kinds & SAMBA_KEPT_PARAMETERS, buffers = kinds & SAMBA_KEPT_BUFFERS;
        bool optim = kinds & SAMBA_KEPT_BY_OPTIM, hyper = kinds & SAMBA_KEPT_HYPERPARAMS;
        CHECK((first_of(n.s, "body__weight") == weight) == !parameters);
        CHECK(!parameters || first_of(n.s, "body__weight") == first_of(file.s, "body__weight"));
        CHECK((first_of(n.s, "norm__running_mean") == 0.0f) == !buffers);
        CHECK((first_of(n.s, "head__bias__exp_avg_sq") == 0.0f) == !optim);
        CHECK(count_of(n.s, "step") == (optim ? 3 : 0));
        CHECK(count_of(n.s, "forward_runs") == (optim ? 3 : 0));
        CHECK(samba_get(n.s, "lr") == (double)(hyper ? 0.01f : 0.5f));
        CHECK(samba_get(n.s, "p") == (double)(hyper ? 0.1f : 0.3f));
        CHECK(samba_get(n.s, "drop__seed") == (hyper ? 7 : 0));
        CHECK(!warned[0]); // it was said
        CHECK(samba_run(n.s, 0) && samba_close(n.s) == 0);
    }
    net n = compiled("head", 3, 0.1f, SAMBA_ADAMW, 0.01f);
    CHECK(!samba_restore_with(n.s, stopped, &(samba_restore_opts){ .kinds = 16 }, NULL));
    CHECK(said(n.s, "kinds is 16") && samba_close(n.s) == 0 && samba_close(file.s) == 0);
}

// Without a word of what is meant all is taken, and what that replaces is told, with both values.
static void test_what_is_replaced_is_told(void)
{
    net n = compiled("head", 3, 0.3f, SAMBA_ADAMW, 0.5f);
    CHECK(samba_restore(n.s, stopped));
    CHECK(strstr(warned, "lr 0.5 by 0.01") && strstr(warned, "drop__p 0.3 by 0.1"));
    CHECK(strstr(warned, "drop__seed 0 by 7") && !strstr(warned, "beta")
          && !strstr(warned, "loss"));
    CHECK(strstr(warned, "SAMBA_KEPT keeps the program's"));
    CHECK(samba_get(n.s, "lr") == (double)0.01f);
    warned[0] = 0;
    CHECK(samba_restore(n.s, stopped) && !warned[0]); // they are the same now
    CHECK(samba_close(n.s) == 0);
    n = compiled("head", 3, 0.1f, SAMBA_ADAMW, 0.01f);
    CHECK(samba_set(n.s, "drop__seed", 7) && samba_restore(n.s, stopped) && !warned[0]);
    CHECK(samba_close(n.s) == 0);
}

// A step count of one optimizer beside moments of another, which are zero, is told as well.
static void test_torn_state_is_told(void)
{
    const unsigned own = SAMBA_KEPT_PARAMETERS | SAMBA_KEPT_BUFFERS;
    net n = compiled("head", 3, 0.1f, SAMBA_SGD, 0.01f);
    CHECK(samba_run(n.s, 0) && samba_save(n.s, stopped) && samba_close(n.s) == 0);
    n = compiled("head", 3, 0.1f, SAMBA_ADAMW, 0.01f);
    CHECK(samba_restore(n.s, stopped)
          && strstr(warned, "step, but not what the optimizer keeps in"));
    CHECK(strstr(warned, "body__weight__exp_avg") && strstr(warned, "SAMBA_KEPT_BY_OPTIM"));
    CHECK(samba_close(n.s) == 0);
    n = compiled("head", 3, 0.1f, SAMBA_ADAMW, 0.01f);
    CHECK(samba_restore_with(n.s, stopped, &(samba_restore_opts){ .kinds = own }, NULL));
    CHECK(!warned[0] && count_of(n.s, "step") == 0 && samba_close(n.s) == 0);
    n = traced("head", 3, 0.1f); // a file that infers has nothing of an optimizer
    CHECK(samba_compile(n.s, &(samba_program){ .outputs = { n.logits }, .inference = true }));
    CHECK(samba_save(n.s, stopped) && samba_close(n.s) == 0);
    n = compiled("head", 3, 0.1f, SAMBA_ADAMW, 0.01f);
    CHECK(samba_restore(n.s, stopped) && !warned[0] && samba_close(n.s) == 0);
    write_checkpoint();
}

// Of a layer with another name both halves are told, also where it is refused; of another shape,
// too.
static void test_renamed_layer(void)
{
    samba_restored found;
    net n = compiled("tail", 3, 0.1f, SAMBA_ADAMW, 0.01f);
    CHECK(!samba_restore_with(n.s, stopped, NULL, &found));
    CHECK(found.n_missing == 2 && found.n_unexpected == 2);
    CHECK(says(n.s, "no value for the parameters tail__weight, tail__bias"));
    CHECK(said(n.s, "the program has not: head__weight, head__bias; nothing was changed"));
    const samba_restore_opts exact = { .partial = true, .exact = true };
    CHECK(!samba_restore_with(n.s, stopped, &exact, &found) && found.n_missing == 2);
    CHECK(said(n.s, "the program has not: head__weight, head__bias") && samba_close(n.s) == 0);

    n = compiled("head", 4, 0.1f, SAMBA_ADAMW, 0.01f);
    CHECK(!samba_restore_with(n.s, stopped, &(samba_restore_opts){ .partial = true }, NULL));
    CHECK(said(n.s, "f32 (3,6) for head__weight, which is f32 (4,6) here"));
    CHECK(samba_close(n.s) == 0);
    n = compiled("head", 4, 0.1f, SAMBA_ADAMW, 0.01f); // a kind that is not asked for may differ
    CHECK(samba_restore_with(n.s, stopped, &(samba_restore_opts){ .kinds = SAMBA_KEPT_BUFFERS },
                             NULL));
    CHECK(first_of(n.s, "norm__running_mean") != 0.0f && samba_close(n.s) == 0);
}

// Rates that no call would set are not taken from a file either.
static void test_bad_rates_of_a_file(void)
{
    static const struct {
        const char *name;
        float value;
        bool loads;
    } bad[] = { { "lr", -1.0f, false },   { "lr", NAN, false }, { "drop__p", 1.5f, false },
                { "beta1", 1.0f, false }, { "lr", 0.0f, true }, { "drop__p", 1.0f, true } };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        net n = compiled("head", 3, 0.1f, SAMBA_ADAMW, 0.01f);
        samba_tensor *t = samba_tensor_by_name(n.s, bad[i].name);
        memcpy(n.s->program.rt->data[t->symbol], &bad[i].value, 4);
        CHECK(samba_save(n.s, stopped) && samba_close(n.s) == 0);
        n = compiled("head", 3, 0.1f, SAMBA_ADAMW, 0.01f);
        CHECK(samba_restore(n.s, stopped) == bad[i].loads
              && (bad[i].loads || said(n.s, bad[i].name)));
        CHECK(bad[i].loads || samba_get(n.s, "lr") == (double)0.01f);
        const samba_restore_opts own = { .kinds = SAMBA_KEPT };
        CHECK(samba_restore_with(n.s, stopped, &own, NULL) && samba_close(n.s) == 0);
        n = traced("head", 3, 0.1f);
        CHECK(samba_load(n.s, stopped, NULL) == bad[i].loads
              && (bad[i].loads || said(n.s, bad[i].name)));
        CHECK(samba_close(n.s) == 0);
    }
    write_checkpoint();
}

// ---- With what a program begins -----------------------------------------------------------------

// Compiled again, all hyperparameters are those that were written down: lr, p and the seed alike.
// Parameters, statistics and the gradient that a loss was given are values, and stay.
static void test_compiled_again(void)
{
    net n = compiled("head", 3, 0.3f, SAMBA_ADAMW, 0.01f);
    samba_program p = program_of(&n, SAMBA_ADAMW, 0.01f);
    const char *const names[] = { "lr", "p", "drop__seed", "weight_decay", "beta1" };
    const double began[] = { (double)0.01f, (double)0.3f, 0, 0, (double)0.9f };
    for (int how = 0; how < 3; how++) { // set, restored, and for inference in between
        CHECK(samba_restore(n.s, stopped));
        for (int i = 0; how != 1 && i < 5; i++)
            CHECK(samba_set(n.s, names[i], 0.25 * (i != 2)));
        CHECK(samba_set(n.s, "loss__grad", 3));
        CHECK(samba_run(n.s, 0));
        float weight = first_of(n.s, "body__weight"), mean = first_of(n.s, "norm__running_mean");
        p.inference = true;
        if (how == 2) CHECK(samba_compile(n.s, &p));
        p.inference = false;
        CHECK(samba_compile(n.s, &p));
        for (int i = 0; i < 5; i++)
            CHECK(samba_get(n.s, names[i]) == began[i]);
        CHECK(first_of(n.s, "body__weight") == weight
              && first_of(n.s, "norm__running_mean") == mean);
        CHECK(samba_get(n.s, "loss__grad") == 3);
    }
    p.optim.lr = 0.5f;
    CHECK(samba_compile(n.s, &p) && samba_get(n.s, "lr") == 0.5 && samba_close(n.s) == 0);
}

// A compilation or a load that fails changes nothing: training goes on to the same bits, also when
// what the host has is sent to the device between its steps.
static void test_failed_compilation(void)
{
    float want[2], got[2];
    for (int way = 0; way < 4; way++) {
        net n = compiled("head", 3, 0.3f, SAMBA_ADAMW, 0.01f);
        for (int step = 0; step < 4; step++) {
            CHECK(samba_run(n.s, 0));
            if (way == 0 || step > 1) continue;
            samba_program p = program_of(&n, SAMBA_ADAMW, 0.01f);
            if (way == 1) p.pef = "/no/such/folder/restore.pef";
            if (way == 2) p.loss_indices[0] = 7; // there is one output
            if (way == 2) p.n_loss_indices = 1;
            CHECK(way == 3 ? !samba_load(n.s, "/no/such/file.pef", &p) : !samba_compile(n.s, &p));
            samba_clear_error(n.s);

            CHECK(samba_run(n.s, 0));
            CHECK(samba_send_state(n.s, SAMBA_KEPT) && samba_to_device(n.s));
        }
        for (int step = 0; way == 0 && step < 2; step++)
            CHECK(samba_run(n.s, 0)); // as many as with the others
        float *of = way == 0 ? want : got;
        of[0] = first_of(n.s, "body__weight");
        of[1] = first_of(n.s, "norm__running_mean");
        CHECK(way == 0 || !memcmp(want, got, sizeof want));
        CHECK(samba_close(n.s) == 0);
    }
}

int main(int argc, char **argv)
{
    snprintf(stopped, sizeof stopped, "%.200s.ckpt", argc > 0 ? argv[0] : "restore");
    write_checkpoint();
    RUN(test_kinds);
    RUN(test_what_is_replaced_is_told);
    RUN(test_torn_state_is_told);
    RUN(test_renamed_layer);
    RUN(test_bad_rates_of_a_file);
    RUN(test_compiled_again);
    RUN(test_failed_compilation);
    remove(stopped);
    return test_summary();
}
