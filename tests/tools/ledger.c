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
    float want[B * F]; // of f32
    const char *only;  // the layer that is int8
} net;

static void give_data(net *m)
{
    float x[B * F];
    for (int i = 0; i < B * F; i++)
        x[i] = (float)(i * 29 % 61) / 30 - 1;
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
    for (int i = 0; i < LAYERS; i++)
        m->y = samba_linear(samba_tanh(m->y), layers[i], F);
    samba_tensor *second = samba_tensor_by_name(m->s, "second__weight");
    CHECK(samba_copy_out(second, w, sizeof w));
    for (int i = 0; i < F; i++)
        w[i] *= 100;
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
    for (int i = 0; i < B * F; i++)
        worst = fmax(worst, (double)fabsf(y[i] - m->want[i]));
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
        samba_program p = { .inference = true,
                            .quantize = SAMBA_INT8,
                            .outputs = { m.y },
                            .quantizes = is_only,
                            .quantizes_user = &m };
        CHECK(samba_compile(m.s, &p));
        double loss = -score(m.s, &m);
        if (loss > most) worst = layers[i];
        if (loss > most) most = loss;
        for (int k = 0; k < LAYERS; k++)
            if (!strcmp(ledger.rows[k].layer, layers[i])) CHECK(ledger.rows[k].int8.loss == loss);
    }
    CHECK(!strcmp(ledger.rows[0].layer, worst) && !strcmp(worst, "second"));
    for (int k = 0; k < LAYERS; k++) { // a byte for four, and a table (F,3) for the bias
        CHECK(ledger.rows[k].kept && ledger.rows[k].int8.bytes_saved == 3 * F * F - 8 * F);
        CHECK(ledger.rows[k].int8.possible && ledger.rows[k].int4.possible == (F % 32 == 0));
    }
    CHECK(ledger.f32_bytes == LAYERS * 4 * (F * F + F));
    CHECK(ledger.bytes_kept == ledger.f32_bytes - LAYERS * (3 * F * F - 8 * F));
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
    CHECK(samba_ledger_run(m.s, &ledger) && ledger.rows[0].kept && -ledger.score_kept == all);
    ledger.max_loss = tight;
    CHECK(samba_ledger_run(m.s, &ledger) && !ledger.rows[0].kept);
    CHECK(-ledger.score_kept <= tight && -score(m.s, &m) == -ledger.score_kept);
    ledger.max_loss = 1e-30; // no int8 layer keeps this
    CHECK(samba_ledger_run(m.s, &ledger) && !ledger.rows[LAYERS - 1].kept
          && ledger.score_kept == 0);
    CHECK(samba_close(m.s) == 0);
}

// What GraphAMP computes in bf16 is said so, and is not taken for f32: int8 does not read it.
static void test_products_in_bf16(void)
{
    static net m;
    static samba_ledger ledger;
    static char printed[4096];
    memset(&m, 0, sizeof m);
    m.s = samba_open(NULL);
    m.x = samba_input(m.s, "x", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_tensor *h = samba_tanh(samba_linear(m.x, "whole", F));
    samba_set_graphamp(m.s, SAMBA_MP1);
    m.y = samba_linear(h, "half", F);
    samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { m.y } };
    CHECK(samba_compile(m.s, &p));
    give_data(&m);
    CHECK(samba_run(m.s, 0) && samba_copy_out(m.y, m.want, sizeof m.want));

    ledger = (samba_ledger){ .program = { .outputs = { m.y } }, .score = score, .user = &m };
    CHECK(samba_ledger_run(m.s, &ledger) && ledger.n_rows == 2 && ledger.f32_score == 0);
    for (int i = 0; i < ledger.n_rows; i++) {
        const samba_ledger_row *row = &ledger.rows[i];
        bool half = !strcmp(row->layer, "half");
        CHECK(half || !strcmp(row->layer, "whole"));
        CHECK(row->computes == (half ? SAMBA_BF16 : SAMBA_F32));
        CHECK(row->int8.possible == !half && row->kept == !half);
    }

    FILE *f = tmpfile();
    CHECK(f);
    if (f) {
        samba_ledger_print(&ledger, f);
        rewind(f);
        printed[fread(printed, 1, sizeof printed - 1, f)] = 0;
        fclose(f);
    }
    CHECK(strstr(printed, "  bf16\n") && strstr(printed, "  int8\n")
          && !strstr(printed, "  f32\n"));
    CHECK(strstr(printed, "as traced: ") && !strstr(printed, "all in f32"));
    CHECK(samba_close(m.s) == 0);
}

// ---- Nets as in examples/devices/int8.c, but small ----

enum { PICTURES = 4, SIDE = 12, CLASSES = 5, MOST_ROWS = 16 };

static samba_tensor *lenet(samba_tensor *x)
{
    const samba_pool_opts by_2 = { .kernel = { 2, 2 } };
    samba_tensor *h = samba_conv2d(x, "conv1", 4, 5, &(samba_conv_opts){ .padding = { 2, 2 } });
    h = samba_conv2d(samba_max_pool2d(samba_relu(h), &by_2), "conv2", 8, 3, NULL);
    h = samba_flatten(samba_max_pool2d(samba_relu(h), &by_2), 1);
    h = samba_relu(samba_linear(h, "fc1", 32));
    h = samba_relu(samba_linear(h, "fc2", 21));
    return samba_linear(h, "fc3", CLASSES);
}

static samba_tensor *conv_norm(samba_tensor *x, const char *name, int32_t channels, int32_t kernel,
                               int32_t stride)
{
    char norm[32];
    samba_conv_opts opts = { .stride = { stride, stride }, .padding = { kernel / 2, kernel / 2 } };
    snprintf(norm, sizeof norm, "%s_norm", name);
    return samba_batchnorm(samba_conv2d(x, name, channels, kernel, &opts), norm);
}

static samba_tensor *resnet(samba_tensor *x)
{
    samba_tensor *h = samba_relu(conv_norm(x, "stem", 4, 3, 1));
    samba_tensor *g = conv_norm(samba_relu(conv_norm(h, "a", 4, 3, 1)), "b", 4, 3, 1);
    h = samba_relu(samba_add(g, h));
    g = conv_norm(samba_relu(conv_norm(h, "c", 8, 3, 2)), "d", 8, 3, 1);
    h = samba_relu(samba_add(g, conv_norm(h, "s", 8, 1, 2)));
    return samba_linear(samba_flatten(samba_adaptive_avg_pool2d(h, 1, 1), 1), "fc", CLASSES);
}

typedef struct image_net {
    samba_session *s;
    samba_tensor *x, *y;
    float want[PICTURES * CLASSES];
    const char *only;
} image_net;

static double image_score(samba_session *s, void *user)
{
    image_net *m = (image_net *)user;
    double worst = 0;
    float x[PICTURES * SIDE * SIDE];
    uint32_t word[4];
    for (int i = 0; i < PICTURES * SIDE * SIDE; i++) {
        samba_random(3, "pictures", (uint64_t)i, word);
        x[i] = (float)(word[0] >> 8) / (1 << 23) - 1;
    }
    CHECK(samba_write(m->x, x) && samba_run(s, 0));
    const float *y = samba_read(m->y);
    for (int i = 0; i < PICTURES * CLASSES; i++)
        worst = fmax(worst, (double)fabsf(y[i] - m->want[i]));
    return -worst;
}

static bool is_only_image(const samba_tensor *y, void *user)
{
    return !strcmp(y->name, ((image_net *)user)->only);
}

static double loss_alone(image_net *m, const char *layer, bool int4)
{
    m->only = layer;
    samba_program p = { .inference = true,
                        .quantize = int4 ? SAMBA_NO_QUANTIZE : SAMBA_INT8,
                        .weights = int4 ? SAMBA_WEIGHTS_INT4 : SAMBA_WEIGHTS_PLAIN,
                        .outputs = { m->y },
                        .quantizes = is_only_image,
                        .quantizes_user = m };
    CHECK(samba_compile(m->s, &p));
    return -image_score(m->s, m);
}

// Each row is what the layer loses alone, in either form, and rows are in this order.
static void check_ablation(samba_tensor *(*trace)(samba_tensor *x), int n_layers, int n_int4)
{
    static image_net m;
    static samba_ledger ledger;
    memset(&m, 0, sizeof m);
    m.s = samba_open(NULL);
    m.x = samba_input(m.s, "x", SAMBA_F32, SAMBA_SHAPE(PICTURES, 1, SIDE, SIDE));
    m.y = trace(m.x);
    CHECK(samba_compile(
        m.s,
        &(samba_program){ .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { m.y } }));
    image_score(m.s, &m);
    CHECK(samba_copy_out(m.y, m.want, sizeof m.want));
    for (int int4 = 0; int4 < 2; int4++) {
        int possible = 0;
        ledger = (samba_ledger){
            .program = { .outputs = { m.y } }, .score = image_score, .user = &m, .keep_int4 = int4
        };
        CHECK(samba_ledger_run(m.s, &ledger) && ledger.n_rows >= n_int4);
        samba_ledger_print(&ledger, stdout);
        for (int i = 0; i < ledger.n_rows; i++) {
            const samba_ledger_row *row = &ledger.rows[i];
            const samba_ledger_cost *cost = int4 ? &row->int4 : &row->int8;
            if (!cost->possible) continue;
            possible++;
            CHECK(cost->loss == loss_alone(&m, row->layer, int4));
            CHECK(cost->loss > 0 && row->kept && cost->bytes_saved > 0);
            if (i > 0) CHECK(cost->loss <= (int4 ? row[-1].int4.loss : row[-1].int8.loss));
        }
        CHECK(possible == (int4 ? n_int4 : n_layers));
        double all = -ledger.score_kept;
        ledger.max_loss = all / 2;
        CHECK(samba_ledger_run(m.s, &ledger) && -ledger.score_kept <= all / 2
              && !ledger.rows[0].kept);
        CHECK(-image_score(m.s, &m) == -ledger.score_kept && ledger.bytes_kept <= ledger.f32_bytes);
    }
    CHECK(samba_close(m.s) == 0);
}

static void test_lenet(void)
{
    check_ablation(lenet, 5, 2);
}

static void test_resnet(void)
{
    check_ablation(resnet, 7, 0);
}

static double always_one(samba_session *s, void *user)
{
    (void)s;
    (void)user;
    return 1;
}

// A net of more layers than the ledger has rows: those that have none stay f32.
static void test_more_layers_than_rows(void)
{
    enum { MORE = SAMBA_LEDGER_LAYERS + 2, SMALL = 4 };

    static samba_ledger ledger;
    net m = { .s = samba_open(&(samba_desc){ .threads = 1 }) };
    m.x = samba_input(m.s, "x", SAMBA_F32, SAMBA_SHAPE(1, SMALL));
    m.y = m.x;
    for (int i = 0; i < MORE; i++) {
        char name[16];
        snprintf(name, sizeof name, "layer%d", i);
        m.y = samba_linear(m.y, name, SMALL);
    }
    samba_program p = { .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { m.y } };
    CHECK(samba_compile(m.s, &p) && samba_zero_inputs(m.s) && samba_run(m.s, 0));
    ledger = (samba_ledger){ .program = { .outputs = { m.y } }, .score = always_one };
    CHECK(samba_ledger_run(m.s, &ledger) && ledger.n_rows == SAMBA_LEDGER_LAYERS);
    int64_t saved = 0;
    for (int i = 0; i < ledger.n_rows; i++)
        saved += ledger.rows[i].int8.bytes_saved;
    CHECK(saved != 0 && ledger.bytes_kept == ledger.f32_bytes - saved);
    CHECK(samba_close(m.s) == 0);
}

static double no_number(samba_session *s, void *user)
{
    (void)s;
    (void)user;
    return NAN;
}

static void test_refusals(void)
{
    static net m;
    static samba_ledger ledger;
    trace(&m);
    samba_set_quiet(m.s, true);
    CHECK(!samba_ledger_run(NULL, NULL) && !samba_ledger_run(m.s, NULL)
          && said(m.s, "a score is needed"));
    ledger = (samba_ledger){ .program = { .outputs = { m.y } }, .score = no_number };
    CHECK(!samba_ledger_run(m.s, &ledger) && said(m.s, "the score is NaN"));
    samba_ledger_print(NULL, stdout);
    CHECK(samba_close(m.s) == 0);
}

int main(void)
{
    RUN(test_worst_by_ablation);
    RUN(test_bound);
    RUN(test_products_in_bf16);
    RUN(test_lenet);
    RUN(test_resnet);
    RUN(test_more_layers_than_rows);
    RUN(test_refusals);
    return test_summary();
}
