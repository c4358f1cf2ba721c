// The ledger of int8: its worst layer is the worst by ablation, and its bound holds.
#define SAMBA_IMPLEMENTATION
#define SAMBA_LEDGER_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/ledger.h"
#include "tests/lib/session.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { B = 8, F = 16, LAYERS = 3 };
static const char *const layers[LAYERS] = { "first", "second", "third" };

typedef struct net {
    samba_session *s;
    samba_tensor *x, *y;
    float want[B * F];      // of f32
    const char *only;       // the layer that is int8
} net;

static void give_data(net *m)
{
    float x[B * F];
    for (int i = 0; i < B * F; i++) x[i] = (float)(i * 29 % 61) / 30 - 1;
    CHECK(samba_write(m->x, x));
}

// The second layer has a channel a hundred times as large as others, which spoils the grid of all.
static void trace(net *m)
{
    float w[F * F];
    memset(m, 0, sizeof *m);
    m->s = samba_open(NULL);
    m->x = samba_input(m->s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    m->y = m->x;
    for (int i = 0; i < LAYERS; i++) m->y = samba_linear(samba_tanh(m->y), layers[i], F);
    samba_tensor *second = samba_tensor_by_name(m->s, "second__weight");
    CHECK(samba_copy_out(second, w, sizeof w));
    for (int i = 0; i < F; i++) w[i] *= 100;
    CHECK(samba_write(second, w));
    samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { m->y } };
    CHECK(samba_compile(m->s, &p));
    give_data(m);
    CHECK(samba_run(m->s, 0) && samba_copy_out(m->y, m->want, sizeof m->want));
}

// Minus the largest error.
static double score(samba_session *s, void *user)
{
    net *m = (net *)user;
    double worst = 0;
    give_data(m);
    CHECK(samba_run(s, 0));
    const float *y = samba_read(m->y);
    for (int i = 0; i < B * F; i++) worst = fmax(worst, (double)fabsf(y[i] - m->want[i]));
    return -worst;
}

static bool is_only(const samba_tensor *y, void *user)
{
    return !strcmp(y->name, ((net *)user)->only);
}

static void test_worst_by_ablation(void)
{
    static net m;
    static samba_ledger ledger;
    trace(&m);
    ledger = (samba_ledger){ .program = { .outputs = { m.y } }, .score = score, .user = &m };
    CHECK(samba_ledger_run(m.s, &ledger) && ledger.n_rows == LAYERS && ledger.f32_score == 0);
    double most = -1;
    const char *worst = "";
    for (int i = 0; i < LAYERS; i++) {
        m.only = layers[i];
        samba_program p = { .inference = true, .quantize = SAMBA_INT8, .outputs = { m.y },
                            .quantizes = is_only, .quantizes_user = &m };
        CHECK(samba_compile(m.s, &p));
        double loss = -score(m.s, &m);
        if (loss > most) worst = layers[i];
        if (loss > most) most = loss;
        for (int k = 0; k < LAYERS; k++)
            if (!strcmp(ledger.rows[k].layer, layers[i])) CHECK(ledger.rows[k].loss == loss);
    }
    CHECK(!strcmp(ledger.rows[0].layer, worst) && !strcmp(worst, "second"));
    for (int k = 0; k < LAYERS; k++) CHECK(ledger.rows[k].int8 && ledger.rows[k].bytes_saved == 3 * F * F);
    CHECK(ledger.score_kept < 0);
    samba_ledger_print(&ledger, stdout);
    CHECK(samba_close(m.s) == 0);
}

static void test_bound(void)
{
    static net m;
    static samba_ledger ledger;
    trace(&m);
    ledger = (samba_ledger){ .program = { .outputs = { m.y } }, .score = score, .user = &m };
    CHECK(samba_ledger_run(m.s, &ledger));
    double all = -ledger.score_kept, loose = all * 2, tight = all / 2;
    ledger.max_loss = loose;
    CHECK(samba_ledger_run(m.s, &ledger) && ledger.rows[0].int8 && -ledger.score_kept == all);
    ledger.max_loss = tight;
    CHECK(samba_ledger_run(m.s, &ledger) && !ledger.rows[0].int8);
    CHECK(-ledger.score_kept <= tight && -score(m.s, &m) == -ledger.score_kept);
    ledger.max_loss = 1e-30;                    // no int8 layer keeps this
    CHECK(samba_ledger_run(m.s, &ledger) && !ledger.rows[LAYERS - 1].int8 && ledger.score_kept == 0);
    CHECK(samba_close(m.s) == 0);
}

static double no_number(samba_session *s, void *user)
{
    (void)s, (void)user;
    return NAN;
}

static void test_refusals(void)
{
    static net m;
    static samba_ledger ledger;
    trace(&m);
    samba_set_quiet(m.s, true);
    CHECK(!samba_ledger_run(NULL, NULL) && !samba_ledger_run(m.s, NULL) && said(m.s, "a score is needed"));
    ledger = (samba_ledger){ .program = { .outputs = { m.y } }, .score = no_number };
    CHECK(!samba_ledger_run(m.s, &ledger) && said(m.s, "the score is NaN"));
    samba_ledger_print(NULL, stdout);
    CHECK(samba_close(m.s) == 0);
}

int main(void)
{
    RUN(test_worst_by_ablation);
    RUN(test_bound);
    RUN(test_refusals);
    return test_summary();
}
