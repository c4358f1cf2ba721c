// A batch that runs in parts gives what the same rows give at once: losses, outputs, gradients and
// parameters, for a table of losses, labels and optimizers; and what cannot is said or refused.
//     cc -O2 -I. tests/core/microbatches.c -lm -pthread -o microbatches && ./microbatches
#define SAMBA_IMPLEMENTATION
#define SAMBA_LOSS_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/sambaflow.h"
#include "tools/include/samba/loss.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, LENGTH = 3, WIDTH = 5, CLASSES = 6, MAX_VALUES = 4096 };

static const char *const path = "build/test_microbatches.pef";

// ---- The table ----------------------------------------------------------------------------------

// What a case traces, for so many rows.
typedef struct model {
    samba_session *s;
    int32_t rows;
    samba_tensor *x, *y, *label, *mask, *loss, *out[4];
    samba_tensor *logits; // (rows * LENGTH, CLASSES)
} model;

typedef void (*loss_fn)(model *m);

static samba_tensor *flat_labels(model *m)
{
    return samba_reshape(m->label, SAMBA_SHAPE(m->rows * LENGTH));
}

static samba_tensor *all_of(samba_tensor *t, bool mean)
{
    return mean ? samba_mean(t, SAMBA_ALL_AXES, false) : samba_sum(t, SAMBA_ALL_AXES, false);
}

static samba_tensor *squares(samba_tensor *t)
{
    return samba_mul(t, t);
}

static void ce_mean(model *m)
{
    m->loss = samba_cross_entropy(m->logits, flat_labels(m));
}

static void ce_sum(model *m)
{
    const samba_loss_opts sum = { .reduction = SAMBA_REDUCE_SUM, .label_smoothing = 0.1f };
    m->loss = samba_cross_entropy_with(m->logits, flat_labels(m), &sum);
}

static void ce_none(model *m)
{
    const samba_loss_opts none = { .reduction = SAMBA_REDUCE_NONE };
    m->loss = samba_reshape(samba_cross_entropy_with(m->logits, flat_labels(m), &none),
                            SAMBA_SHAPE(m->rows, LENGTH));
}

static void ce_ignores_3(model *m)
{
    const samba_loss_opts opts
        = { .use_ignore_index = true, .ignore_index = 3, .label_smoothing = 0.2f };
    samba_tensor *shown
        = samba_where(samba_lt(flat_labels(m), samba_number(m->s, 0.0f)), samba_number(m->s, 3.0f),
                      samba_cast(flat_labels(m), SAMBA_F32));
    m->loss = samba_cross_entropy_with(m->logits, samba_cast(shown, SAMBA_I32), &opts);
}

static void nll_mean(model *m)
{
    m->loss = samba_nll(samba_log_softmax(m->logits, 1), flat_labels(m), NULL);
}

static void in_pieces(model *m)
{
    samba_tensor *w = samba_param(m->s, "head", SAMBA_SHAPE(CLASSES, CLASSES),
                                  (samba_init){ .kind = SAMBA_INIT_NORMAL, .scale = 0.5f });
    m->loss = samba_linear_cross_entropy(m->logits, w, flat_labels(m), 2, NULL);
}

static void shifted_labels(model *m) // next-token labels are made of the input
{
    samba_tensor *now = samba_slice(samba_reshape(m->logits, SAMBA_SHAPE(m->rows, LENGTH, CLASSES)),
                                    1, 0, LENGTH - 1, 1);
    m->loss = samba_cross_entropy(now, samba_slice(m->label, 1, 1, LENGTH, 1));
}

static void masked_mean(model *m)
{
    samba_tensor *each = samba_mean(squares(samba_sub(m->out[0], m->y)), SAMBA_AXES(1), false);
    m->loss = samba_div(all_of(samba_mul(each, m->mask), false), all_of(m->mask, false));
}

static void guarded_mean(model *m)
{
    samba_tensor *each = samba_mean(squares(samba_sub(m->out[0], m->y)), SAMBA_AXES(1), false);
    m->loss = samba_div(all_of(samba_mul(each, m->mask), false),
                        samba_maximum(all_of(m->mask, false), samba_number(m->s, 1.0f)));
}

static void decayed(model *m) // a mean and what no row changes
{
    samba_tensor *w = samba_tensor_by_name(m->s, "b__weight");
    m->loss = samba_add(samba_cross_entropy(m->logits, flat_labels(m)),
                        samba_scale(all_of(squares(w), false), 0.01f));
}

static void mse_mean(model *m)
{
    m->loss = samba_mse(m->out[0], m->y, SAMBA_REDUCE_MEAN);
}

static void mse_sum(model *m)
{
    m->loss = samba_mse(m->out[0], m->y, SAMBA_REDUCE_SUM);
}

static void scaled_sums(model *m)
{
    samba_tensor *a = all_of(samba_tanh(m->out[0]), false), *b = all_of(squares(m->out[0]), false);
    m->loss = samba_sub(samba_scale(b, 0.1f), samba_div(a, samba_number(m->s, 7.0f)));
}

static void weighted(model *m) // a parameter times a mean, plus a number
{
    samba_tensor *w = samba_param(m->s, "gain", SAMBA_SCALAR, (samba_init){ .value = 0.7f });
    m->loss = samba_shift(samba_mul(w, all_of(squares(m->out[0]), true)), 2.0f);
}

static void products(model *m) // over rows, (WIDTH,rows) (rows,WIDTH)
{
    m->loss = all_of(samba_mul(samba_matmul(samba_transpose(m->out[0], 0, 1), m->y),
                               samba_full(m->s, SAMBA_SHAPE(WIDTH, WIDTH), 0.25f)),
                     false);
}

static void over_rows(model *m) // losses and outputs without a dimension of rows
{
    m->loss = samba_mean(squares(samba_sub(m->out[0], m->y)), SAMBA_AXES(0), false);
    m->out[1] = samba_sum(m->out[0], SAMBA_AXES(0), true);
    m->out[2] = samba_mean(samba_tanh(m->out[0]), SAMBA_ALL_AXES, false);
}

typedef struct test_case {
    const char *name;
    loss_fn loss;
    int hidden; // labels -100: 0 none, 1 some, 2 all of some parts, 3 all
    bool dropout, attention;
    samba_optim_kind kind;
    float clip;
    samba_opt_level level;
    samba_mapping mapping;
    samba_graphamp amp;
} test_case;

static const test_case cases[] = {
    { "cross_entropy", .loss = ce_mean },
    { "cross_entropy, some targets", .loss = ce_mean, .hidden = 1, .level = SAMBA_O0 },
    { "cross_entropy, parts without targets", .loss = ce_mean, .hidden = 2, .kind = SAMBA_ADAMW },
    { "cross_entropy, no target", .loss = ce_mean, .hidden = 3 },
    { "cross_entropy, sum", .loss = ce_sum, .hidden = 1 },
    { "cross_entropy, rows", .loss = ce_none, .hidden = 2 },
    { "cross_entropy, clipped", .loss = ce_mean, .hidden = 2, .clip = 0.05f },
    { "cross_entropy, spatial", .loss = ce_mean, .hidden = 2, .mapping = SAMBA_MAPPING_SPATIAL },
    { "cross_entropy, GraphAMP", .loss = ce_mean, .hidden = 2, .amp = SAMBA_MP4 },
    { "another id ignored, labels computed", .loss = ce_ignores_3, .hidden = 2 },
    { "nll", .loss = nll_mean, .hidden = 2 },
    { "linear_cross_entropy", .loss = in_pieces, .hidden = 2 },
    { "labels of the next token", .loss = shifted_labels, .hidden = 2 },
    { "masked mean", .loss = masked_mean },
    { "masked mean, guarded", .loss = guarded_mean, .kind = SAMBA_ADAM, .clip = 0.01f },
    { "weight decay in the loss", .loss = decayed, .hidden = 2 },
    { "mse, mean", .loss = mse_mean, .clip = 0.1f },
    { "mse, sum", .loss = mse_sum },
    { "mse, sum, spatial", .loss = mse_sum, .mapping = SAMBA_MAPPING_SPATIAL, .clip = 3 },
    { "sums", .loss = scaled_sums },
    { "a parameter times a mean", .loss = weighted },
    { "products over rows", .loss = products },
    { "vectors over rows", .loss = over_rows, .level = SAMBA_O0 },
    { "dropout", .loss = mse_mean, .dropout = true },
    { "dropout in attention", .loss = ce_mean, .hidden = 1, .dropout = true, .attention = true },
};

static model trace(samba_session *s, const test_case *c, int32_t rows)
{
    model m;
    memset(&m, 0, sizeof m);
    m.s = s;
    m.rows = rows;
    m.x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(rows, LENGTH, WIDTH));
    m.y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(rows, WIDTH));
    m.label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(rows, LENGTH));
    m.mask = samba_input(s, "mask", SAMBA_F32, SAMBA_SHAPE(rows));
    samba_tensor *h = samba_tanh(samba_linear(m.x, "a", WIDTH));
    if (c->attention) {
        samba_tensor *qkv[3] = { h, h, h };
        h = samba_attention_dropout(qkv, NULL, NULL, "drop_a", 0.4f);
    }
    if (c->dropout) h = samba_dropout(h, "drop", 0.3f);
    m.logits = samba_reshape(samba_linear(h, "b", CLASSES), SAMBA_SHAPE(-1, CLASSES));
    m.out[0] = samba_layernorm(samba_sum(h, SAMBA_AXES(1), false), "norm");
    c->loss(&m);
    m.out[3] = all_of(samba_tanh(m.logits), true);
    return m;
}

// ---- Running ------------------------------------------------------------------------------------

typedef enum way { BY_TYPES, WHOLE, BY_IDS, BY_CALLS, LOADED, N_WAYS } way;

static char warned[1024];

static void on_log(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level == SAMBA_LOG_WARNING) snprintf(warned, sizeof warned, "%s", text);
}

static void feed(const model *m, const test_case *c, int step)
{
    static float x[ROWS * LENGTH * WIDTH], y[ROWS * WIDTH], mask[ROWS];
    static int32_t label[ROWS * LENGTH];
    for (int i = 0; i < ROWS * LENGTH * WIDTH; i++)
        x[i] = (float)((i * 37 + step * 11) % 23) / 9 - 1.2f;
    for (int i = 0; i < ROWS * WIDTH; i++)
        y[i] = (float)((i * 29 + step * 5) % 17) / 8 - 1;
    for (int i = 0; i < ROWS; i++)
        mask[i] = (float)((i + step) % 3 != 1);
    for (int i = 0; i < ROWS * LENGTH; i++) {
        int row = i / LENGTH;
        bool hides = c->hidden == 1 ? i % 5 == 2
            : c->hidden == 2        ? row < 4 || row == 6
                                    : c->hidden == 3;
        label[i] = hides ? -100 : (i * 5 + step) % CLASSES;
    }
    CHECK(samba_write(m->x, x) && samba_write(m->y, y));
    CHECK(samba_write(m->label, label) && samba_write(m->mask, mask));
}

static samba_program program_of(const test_case *c, const model *m, int32_t parts)
{
    samba_program p;
    memset(&p, 0, sizeof p);
    p.loss = m->loss;
    for (int i = 0, n = 0; i < 4; i++)
        if (m->out[i]) p.outputs[n++] = m->out[i];
    p.optim.kind = c->kind ? c->kind : SAMBA_SGD;
    p.optim.lr = c->kind ? 0.01f : 0.1f;
    p.optim.momentum = c->kind ? 0 : 0.9f;
    p.optim.weight_decay = 0.01f;
    p.max_grad_norm = c->clip;
    p.level = c->level;
    p.mapping = c->mapping;
    p.microbatches = parts;
    return p;
}

static bool run(samba_session *s, way how)
{
    samba_session_run_desc d;
    int32_t ids[1024], n = 0;
    samba_section q;
    memset(&d, 0, sizeof d);
    while (samba_describe_section(s, n, &q)) {
        ids[n] = n;
        n++;
    }
    if (how == BY_TYPES || how == LOADED) return samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    if (how == BY_IDS) {
        d.section_ids = ids;
        d.n_section_ids = n;
    }
    if (how == BY_CALLS) d.until_call_id = n;
    return how == WHOLE ? samba_run(s, 0) : samba_session_run(s, &d);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Trains three steps; everything that can be seen afterwards is appended to `values`.
static int train(const test_case *c, int32_t parts, way how, float *values)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .graphamp = c->amp, .log = on_log });
    model m = trace(s, c, ROWS / parts);
    samba_program p = program_of(c, &m, parts);
    int n = 0;
    p.pef = how == LOADED ? path : NULL;
    CHECK(samba_compile(s, &p));
    if (how == LOADED) {
        CHECK(samba_save(s, path) && samba_close(s) == 0);
        s = samba_open(&(samba_desc){ .threads = 1, .graphamp = c->amp, .log = on_log });
        m = trace(s, c, ROWS / parts);
        p = program_of(c, &m, parts);
        CHECK(samba_load(s, path, &p));
        remove(path);
    }
    for (int step = 0; step < 3; step++) {
        feed(&m, c, step);
        CHECK(run(s, how));
        for (int i = -1; i < 4; i++) {
            samba_tensor *t = i < 0 ? m.loss : m.out[i];
            if (!t) continue;
            CHECK(samba_copy_out(t, values + n, samba_bytes(t)));
            n += (int)(samba_bytes(t) / 4);
        }
    }
    const char *names[32];
    int32_t count = samba_weight_names(s, names, 16);
    if (c->mapping != SAMBA_MAPPING_SPATIAL) count += samba_grad_names(s, names + count, 16);
    qsort(names, (size_t)count, sizeof *names, by_name); // a PEF's order is its own
    for (int32_t i = 0; i < count; i++) {
        samba_tensor *t = samba_tensor_by_name(s, names[i]);
        CHECK(samba_copy_out(t, values + n, samba_bytes(t)));
        n += (int)(samba_bytes(t) / 4);
    }
    // A forward pass alone, without dropout.
    const char *const fwd = "fwd";
    feed(&m, c, 9);
    CHECK(samba_session_run(
        s, &(samba_session_run_desc){ .section_types = &fwd, .n_section_types = 1, .eval = true }));
    CHECK(samba_copy_out(m.loss, values + n, samba_bytes(m.loss)));
    n += (int)(samba_bytes(m.loss) / 4);
    if (!samba_ok(s)) printf("    %s\n", samba_error(s));
    CHECK(samba_close(s) == 0 && n < MAX_VALUES);
    return n;
}

static void test_parts_make_the_batch(void)
{
    static float want[MAX_VALUES], got[MAX_VALUES];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const test_case *c = &cases[k];
        int before = test_bad, n = train(c, 1, WHOLE, want);
        for (int32_t parts = 2; parts <= 4; parts *= 2) {
            for (int how = 0; how < N_WAYS; how++) {
                warned[0] = 0;
                CHECK(train(c, parts, (way)how, got) == n);
                CHECK_CLOSE(got, want, (size_t)n, c->amp ? 2e-2 : 3e-5, c->amp ? 1e-3 : 2e-6);
                CHECK(!warned[0]
                      || (want[0] != want[0] && strstr(warned, "is NaN"))); // a mean of no targets
                if (test_bad > before)
                    printf("    %s, %d parts, way %d %s\n", c->name, (int)parts, how, warned);
                if (test_bad > before) break;
            }
        }
    }
}

// ---- Single facts -------------------------------------------------------------------------------

static samba_session *session(void)
{
    warned[0] = 0;
    return samba_open(&(samba_desc){ .threads = 1, .log = on_log });
}

static bool said(samba_session *s, samba_code code, const char *word)
{
    bool fine = samba_error_code(s) == code && strstr(samba_error(s), word);
    if (!fine) printf("    \"%s\"\n", samba_error(s));
    samba_clear_error(s);
    return fine;
}

static void close_clean(samba_session *s)
{
    CHECK(samba_close(s) == 0);
}

// Masks go on from part to part: the bits of one batch, also where a part ends within four.
static void test_masks(void)
{
    enum { N = 12, W = 3 };

    float want[N * W], got[N * W], x[N * W];
    for (int i = 0; i < N * W; i++)
        x[i] = 1.0f + (float)i;
    for (int32_t parts = 1; parts <= N; parts++) {
        if (N % parts) continue;
        samba_session *s = session();
        samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(N / parts, W));
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(W), (samba_init){ .value = 1 });
        samba_tensor *y = samba_dropout(samba_mul(in, w), "drop", 0.4f);
        samba_tensor *loss = samba_sum(y, SAMBA_ALL_AXES, false);
        CHECK(samba_compile(
            s,
            &(samba_program){
                .loss = loss, .outputs = { y }, .microbatches = parts, .optim.kind = SAMBA_SGD }));
        samba_write(in, x);
        for (int run = 0; run < 3; run++) {
            CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD) && samba_copy_out(y, got, sizeof got));
            if (parts == 1 && run == 2) memcpy(want, got, sizeof got);
        }
        CHECK(!memcmp(want, got, sizeof got) && !warned[0]);
        float sum[W] = { 0, 0, 0 };
        for (int i = 0; i < N * W; i++)
            sum[i % W] += got[i];
        if (parts > 1) CHECK(samba_run(s, SAMBA_ZEROGRAD) && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
        close_clean(s);
    }
}

// What parts cannot make is told, or refused by name.
// What inputs and outputs take for all parts counts for a limit of memory.
static void test_memory_limit(void)
{
    for (int parts = 1; parts <= 4; parts += 3) {
        samba_session *s = session();
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(32, 16));
        samba_tensor *y = samba_linear(x, "fc", 16);
        samba_program p = { .loss = samba_mean(y, SAMBA_ALL_AXES, false),
                            .outputs = { y },
                            .microbatches = parts,
                            .optim.kind = SAMBA_SGD };
        const int64_t both = 2 * parts * 32 * 16 * 4; // x and y
        p.mem_limit[SAMBA_MEM_HOST] = both - 1;
        CHECK(!samba_compile(s, &p) && strstr(samba_error(s), "mem_limit of HOST"));
        samba_clear_error(s);
        p.mem_limit[SAMBA_MEM_HOST] = both + 64 * parts; // and the loss
        CHECK(samba_compile(s, &p));
        CHECK(samba_close(s) == 0);
    }
}

// Sums over the rows of *x, (4,3) in each part, times a parameter of ones.
static samba_tensor *sums_of_rows(samba_session *s, samba_tensor **x)
{
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 1 });
    *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3));
    return samba_sum(samba_mul(*x, w), SAMBA_AXES(0), false);
}

// Sums over rows add up over the parts, also between zeros; what else stands beside them does not.
static void test_padded_sums(void)
{
    for (int k = 0; k < 2; k++) {
        samba_session *s = session();
        samba_tensor *x, *sums = sums_of_rows(s, &x);
        samba_tensor *wide = samba_pad(sums, SAMBA_SHAPE(0), SAMBA_SHAPE(2), k ? 5 : 0);
        samba_tensor *loss = samba_sum(wide, SAMBA_ALL_AXES, false);
        samba_program p = { .loss = loss, .microbatches = 2, .optim.kind = SAMBA_SGD };
        CHECK(samba_compile(s, &p));
        CHECK(k ? strstr(warned, loss->name) != NULL : !warned[0]);

        float data[2 * 4 * 3];
        for (int i = 0; i < 24; i++)
            data[i] = (float)i;
        CHECK(samba_bytes(x) == sizeof data && samba_write(x, data));
        CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
        if (k == 0) CHECK(samba_read(loss)[0] == 276);
        CHECK(samba_close(s) == 0);
    }
}

// What works within rows, such as softmax, does not add up when it is given a sum over all of them.
static void test_softmax_of_sums(void)
{
    samba_session *s = session();
    samba_tensor *x, *shares = samba_softmax(sums_of_rows(s, &x), 0);
    samba_tensor *loss = samba_sum(squares(shares), SAMBA_ALL_AXES, false);
    samba_program p = { .loss = loss, .microbatches = 2, .optim.kind = SAMBA_SGD };
    CHECK(samba_compile(s, &p) && strstr(warned, loss->name));
    CHECK(samba_close(s) == 0);
}

static void test_told(void)
{
    for (int k = 0; k < 9; k++) {
        samba_session *s = session();
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3));
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 1 });
        samba_tensor *y = samba_mul(x, w), *mean = samba_mean(y, SAMBA_ALL_AXES, false);
        samba_tensor *loss = mean, *out = NULL;
        const char *told = "", *refused = "";
        if (k == 0) {
            loss = samba_mul(mean, mean);
            out = mean;
            told = loss->name;
        }
        if (k == 1) {
            loss = samba_sum(samba_max(y, SAMBA_AXES(0), false), SAMBA_ALL_AXES, false);
            told = loss->name;
        }
        if (k == 2) {
            loss = samba_add(samba_sum(y, SAMBA_ALL_AXES, false),
                             samba_sum(w, SAMBA_ALL_AXES, false));
            told = loss->name;
        }
        if (k == 3) {
            out = samba_sub(y, samba_mean(y, SAMBA_AXES(0), true));
            told = out->name;
        }
        if (k == 4) {
            out = samba_max(y, SAMBA_AXES(0), false);
            told = refused = out->name;
        }
        if (k == 5) {
            out = samba_transpose(y, 0, 1);
            refused = out->name;
        }
        if (k == 6) {
            out = samba_cast(samba_sum(y, SAMBA_AXES(0), false), SAMBA_BF16);
            refused = out->name;
        }
        if (k == 7) out = samba_scale(w, 3); // the same for all parts
        if (k == 8) {
            samba_tensor *ids = samba_argmax(y, 1, false);
            loss = samba_cross_entropy(y, ids);
            refused = ids->name;
        }
        samba_program p
            = { .loss = loss, .outputs = { out }, .microbatches = 2, .optim.kind = SAMBA_SGD };
        bool fine = samba_compile(s, &p);
        CHECK(fine == !*refused);
        if (*refused)
            CHECK(strstr(samba_error(s), refused) && (said(s, SAMBA_EARG, refused) || k == 6));
        CHECK(*told ? strstr(warned, told) != NULL : !warned[0]);
        samba_clear_error(s);
        if (k == 7) {
            const float in[24] = { 1 }, three[3] = { 3, 3, 3 };
            CHECK(samba_write(x, in) && samba_run(s, SAMBA_FWD)
                  && samba_bytes(out) == sizeof three);
            CHECK(!memcmp(samba_read(out), three, sizeof three));
        }
        close_clean(s);
    }
    samba_session *s = session();
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3));
    x->batch_dim = 1;
    CHECK(!samba_compile(
        s, &(samba_program){ .outputs = { samba_tanh(x) }, .inference = true, .microbatches = 3 }));
    CHECK(said(s, SAMBA_EARG, "input x"));
    close_clean(s);
}

// Rows in another order than the batch's, and some rows of each part.
static void test_order_of_rows(void)
{
    for (int k = 0; k < 20; k++) {
        samba_session *s = session();
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3));
        samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(4, 1));
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(4, 3), (samba_init){ .value = 1 });
        samba_tensor *y = samba_linear(x, "fc", 3), *two[2] = { x, y },
                     *both = samba_cat(two, 2, 0);
        samba_tensor *z = samba_linear(both, "fc2", 3), *loss = NULL, *out = NULL;
        const char *told = "", *refused = "";
        two[0] = y;
        two[1] = x;
        if (k == 0) {
            loss = all_of(squares(z), true);
            out = samba_slice(z, 0, 4, 8, 1);
        }
        if (k == 1)
            loss = all_of(samba_sub(samba_slice(z, 0, 0, 4, 1), samba_slice(both, 0, 4, 8, 1)),
                          true);
        if (k == 2) {
            loss = all_of(samba_mul(z, both), true);
            out = samba_slice(y, 0, 1, 4, 2);
        }
        if (k == 3) loss = all_of(samba_mul(z, samba_cat(two, 2, 0)), true);
        if (k == 4) {
            loss = all_of(y, true);
            out = z;
            refused = z->name;
        }
        if (k == 5) {
            loss = all_of(samba_slice(y, 0, 0, 3, 1), true);
            told = loss->name;
        }
        if (k == 6) {
            loss = all_of(samba_slice(z, 0, 2, 6, 1), true);
            told = loss->name;
        }
        if (k == 7) {
            loss = all_of(samba_pad(y, SAMBA_SHAPE(1, 0), SAMBA_SHAPE(0, 0), 1), true);
            told = loss->name;
        }
        if (k == 8) {
            loss = all_of(samba_sub(z, samba_reshape(samba_cat(two, 2, 1), SAMBA_SHAPE(8, 3))),
                          true);
            told = loss->name;
        }
        if (k == 9) {
            loss = all_of(out = samba_gather(y, 0, ids), true);
            told = out->name;
        }
        if (k == 10) {
            loss = all_of(samba_lookup(ids, y), true);
            told = "lookup";
        }
        samba_tensor *turned = samba_reshape(samba_transpose(y, 0, 1), SAMBA_SHAPE(4, 3));
        if (k == 15) {
            loss = all_of(samba_mul(turned, y), true);
            told = loss->name;
        }
        if (k == 16) loss = all_of(samba_mul(turned, turned), true);
        if (k == 17) {
            loss = all_of(y, false);
            out = samba_cast(loss, SAMBA_I32);
            told = refused = out->name;
        }
        if (k >= 12 && k < 15) { // in pieces
            two[0] = samba_scale(samba_slice(y, 0, 0, 1, 1), 2);
            two[1] = samba_scale(samba_slice(y, 0, 1, 4, 1), 2);
            loss = samba_add(all_of(two[0], false), all_of(two[1], false));
        }
        if (k == 12) out = samba_cat(two, 2, 0);
        if (k == 13) {
            loss = all_of(samba_add(two[0], two[1]), true);
            told = loss->name;
        }
        if (k == 14) {
            out = two[0];
            told = out->name;
        }
        if (k == 11) {
            loss = all_of(samba_add(y, samba_dropout(w, "drop", 0.5f)), true);
            told = "dropout of w";
        }
        if (k == 18) { // a piece beside other rows
            samba_tensor *other = samba_slice(y, 0, 2, 4, 1);
            two[0] = samba_slice(y, 0, 0, 2, 1);
            two[1] = x;
            out = samba_cat(two, 2, 0);
            loss = all_of(other, true);
            refused = out->name;
        }
        if (k == 19) { // both pieces
            two[0] = samba_slice(y, 0, 0, 2, 1);
            two[1] = samba_slice(y, 0, 2, 4, 1);
            out = samba_cat(two, 2, 0);
            loss = all_of(out, true);
        }
        samba_program p
            = { .loss = loss, .outputs = { out }, .microbatches = 2, .optim.kind = SAMBA_SGD };
        CHECK(samba_compile(s, &p) == !*refused);
        bool joins = k == 4 || k == 18;
        if (*refused)
            CHECK(said(s, joins ? SAMBA_EARG : SAMBA_EDTYPE, joins ? "joins rows" : out->name));
        CHECK(*told ? strstr(warned, told) != NULL : !warned[0]);
        samba_clear_error(s);
        close_clean(s);
    }
}

// Slices that take the rows apart: the same with each piece gives what the batch gives; if they are
// treated differently, parts give something else, and it is said.
enum { PIECE_CASES = 19, FIRST_TOLD = 9 };

static samba_tensor *pieces_loss(samba_session *s, int k, int32_t rows, samba_tensor **out)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(rows, 3));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(rows, 3));
    samba_tensor *v = samba_param(s, "v", SAMBA_SHAPE(3), (samba_init){ .value = 0.5f });
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 2 });
    int32_t cut = k == 2 || k == 14 ? rows / 4 : rows / 2;
    samba_tensor *a = samba_slice(x, 0, 0, cut, 1), *b = samba_slice(x, 0, cut, rows, 1);
    samba_tensor *c = samba_slice(y, 0, 0, cut, 1), *d = samba_slice(y, 0, cut, rows, 1);
    samba_tensor *av = samba_mul(a, v), *bv = samba_mul(b, v), *two[4] = { NULL };
    switch (k) {
    case 0:
        return samba_add(all_of(samba_tanh(av), false), all_of(samba_tanh(bv), false));
    case 1: // stacked, and their mean
        samba_split(squares(samba_mul(x, v)), rows / 4, 0, two, 4);
        for (int i = 0; i < 4; i++)
            two[i] = all_of(two[i], true);
        return all_of(samba_stack(two, 4, 0), true);
    case 2: // pieces of different sizes
        a = samba_reshape(av, SAMBA_SHAPE(-1));
        b = samba_reshape(bv, SAMBA_SHAPE(-1));
        return samba_add(all_of(squares(b), false), all_of(squares(a), false));
    case 3: // both are done with both
        c = samba_mul(samba_slice(x, 0, 0, cut, 1), w);
        d = samba_mul(samba_slice(x, 0, cut, rows, 1), w);
        a = samba_add(all_of(samba_tanh(av), false), all_of(squares(c), false));
        return samba_add(samba_add(a, all_of(squares(d), false)), all_of(samba_tanh(bv), false));
    case 4: // put together again
        two[0] = samba_tanh(av);
        two[1] = samba_tanh(bv);
        *out = samba_cat(two, 2, 0);
        return all_of(*out, false);
    case 5:
        return samba_add(samba_mse(av, c, SAMBA_REDUCE_MEAN), samba_mse(bv, d, SAMBA_REDUCE_MEAN));
    case 6: // pieces of pieces
        two[0] = samba_slice(av, 0, 0, cut / 2, 1);
        two[1] = samba_slice(av, 0, cut / 2, cut, 1);
        two[2] = samba_slice(bv, 0, 0, cut / 2, 1);
        two[3] = samba_slice(bv, 0, cut / 2, cut, 1);
        a = samba_add(all_of(squares(two[0]), false), all_of(squares(two[1]), false));
        return samba_add(samba_add(a, all_of(squares(two[2]), false)),
                         all_of(squares(two[3]), false));
    case 7:
        return samba_neg(samba_scale(samba_add(all_of(bv, false), all_of(av, false)), 3));
    case 8: // layers that share their parameters
        samba_set_sharing(a->session, true);
        a = samba_layernorm(samba_linear(a, "fc", 3), "norm");
        b = samba_layernorm(samba_linear(b, "fc", 3), "norm");
        return samba_add(all_of(samba_mul(a, c), true), all_of(samba_mul(b, d), true));
    case 9:
        return samba_add(all_of(samba_tanh(av), false), all_of(squares(bv), false));
    case 10:
        return samba_sub(all_of(av, false), all_of(bv, false));
    case 11:
        two[0] = samba_tanh(av);
        two[1] = squares(bv);
        return all_of(samba_cat(two, 2, 0), false);
    case 12:
        return samba_add(samba_scale(all_of(av, false), 3), all_of(bv, false));
    case 13:
        *out = all_of(samba_tanh(av), false);
        return all_of(samba_tanh(bv), false);
    case 14:
        return samba_add(all_of(av, true), all_of(bv, true)); // fewer rows weigh more
    case 15:
        return samba_add(all_of(av, false), all_of(samba_mul(b, w), false));
    case 16:
        return samba_add(all_of(samba_mul(av, c), false),
                         all_of(samba_mul(d, samba_tanh(bv)), false));
    case 17: // their mean has no order, but the output has
        two[0] = all_of(av, true);
        two[1] = all_of(bv, true);
        *out = samba_stack(two, 2, 0);
        return all_of(*out, true);
    default: // one of them, once more
        a = samba_add(all_of(av, false), all_of(bv, false));
        return samba_add(a, all_of(squares(samba_slice(x, 0, cut, rows, 1)), false));
    }
}

static void test_pieces(void)
{
    float x[8 * 3], y[8 * 3], got[2], piece[2];
    for (int i = 0; i < 24; i++) {
        x[i] = (float)(i * 7 % 11) / 5 - 1;
        y[i] = (float)(i * 5 % 13) / 6 - 1;
    }
    for (int k = 0; k < PIECE_CASES; k++) {
        int before = test_bad;
        for (int32_t parts = 1; parts <= 2; parts++) {
            samba_session *s = session();
            samba_tensor *out = NULL, *loss = pieces_loss(s, k, 8 / parts, &out);
            samba_program p = {
                .loss = loss, .outputs = { out }, .microbatches = parts, .optim.kind = SAMBA_SGD
            };
            CHECK(samba_compile(s, &p));
            CHECK(samba_write(samba_tensor_by_name(s, "x"), x));
            if (samba_tensor_by_name(s, "y")->symbol >= 0)
                CHECK(samba_write(samba_tensor_by_name(s, "y"), y));
            CHECK(samba_run(s, SAMBA_FWD));
            got[parts - 1] = samba_read(loss)[0];
            piece[parts - 1] = k == 13 || k == 17 ? samba_read(out)[0] : 0;
            bool told = strstr(warned, "not treated alike") != NULL;
            CHECK(told == (parts == 2 && k >= FIRST_TOLD) && (told || !warned[0]));
            if (parts == 2)
                CHECK((fabsf(got[0] - got[1]) < 1e-4f && fabsf(piece[0] - piece[1]) < 1e-4f)
                      == (k < FIRST_TOLD));
            close_clean(s);
        }
        if (test_bad > before)
            printf("    case %d: %g %g %s\n", k, (double)got[0], (double)got[1], warned);
    }
}

// Rows that no op reads are not taken, whatever slices were traced: what reads the others is told.
static void test_unused_piece(void)
{
    for (int used = 0; used < 4; used++) {
        samba_session *s = session();
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3)), *half[2];
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 1 });
        CHECK(samba_split(x, 2, 0, half, 2) == 2);
        samba_tensor *loss = all_of(samba_mul(half[used % 2], w), true);
        if (used == 2) loss = samba_add(loss, all_of(samba_mul(half[1], w), true));
        if (used == 3) { // nor does it matter what else reads them, to no output
            for (int i = 0; i < 2; i++)
                half[i] = all_of(samba_mul(half[i], w), true);
            samba_tensor *both = samba_stack(half, 2, 0);
            loss = all_of(both, true);
            CHECK(samba_tanh(both) != NULL);
        }
        CHECK(samba_compile(
            s, &(samba_program){ .loss = loss, .microbatches = 2, .optim.kind = SAMBA_SGD }));
        CHECK(used >= 2 ? !warned[0] : strstr(warned, "neither of rows nor a sum") != NULL);
        close_clean(s);
    }
}

// Two cats of as many rows have one order only if what they join has.
static void test_order_within_cats(void)
{
    for (int same = 0; same < 2; same++) {
        samba_session *s = session();
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3)),
                     *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(4, 3));
        samba_tensor *a = samba_input(s, "a", SAMBA_F32, SAMBA_SHAPE(2, 3)),
                     *b = samba_input(s, "b", SAMBA_F32, SAMBA_SHAPE(2, 3));
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(3), (samba_init){ .value = 1 });
        samba_tensor *ab = samba_cat((samba_tensor *[2]){ a, b }, 2, 0);
        samba_tensor *one = samba_cat((samba_tensor *[2]){ same ? y : ab, y }, 2, 0);
        samba_tensor *loss = all_of(
            samba_mul(samba_mul(samba_cat((samba_tensor *[2]){ x, y }, 2, 0), one), w), true);
        CHECK(samba_compile(
            s, &(samba_program){ .loss = loss, .microbatches = 2, .optim.kind = SAMBA_SGD }));
        CHECK(same ? !warned[0] : strstr(warned, "neither of rows nor a sum") != NULL);
        close_clean(s);
    }
}

// `compile -b=64 -mb=4 --inference`: outputs hold all rows.
static void test_inference(void)
{
    float x[8 * 3], want[8 * 2], got[8 * 2], mean[2];
    for (int i = 0; i < 24; i++)
        x[i] = (float)(i * 7 % 11) / 5 - 1;
    for (int32_t parts = 1; parts <= 4; parts *= 4) {
        samba_session *s = session();
        samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(8 / parts, 3));
        samba_tensor *y = samba_softmax(samba_linear(samba_dropout(in, "d", 0.5f), "fc", 2), 1);
        samba_tensor *m = samba_mean(samba_log(y), SAMBA_ALL_AXES, false);
        CHECK(samba_compile(
            s, &(samba_program){ .outputs = { y, m }, .inference = true, .microbatches = parts }));
        CHECK(samba_write(in, x) && samba_run(s, 0));
        CHECK(samba_copy_out(y, parts == 1 ? want : got, sizeof want));
        mean[parts > 1] = samba_read(m)[0];
        close_clean(s);
    }
    CHECK(!memcmp(want, got, sizeof want));
    CHECK_CLOSE(mean, mean + 1, 1, 1e-6, 0);
}

// With microbatches ids and calls do what the schedule does, or are refused.
static void test_ids(void)
{
    test_case c = cases[2];
    c.level = SAMBA_O0;
    samba_session *s = session();
    model m = trace(s, &c, 4);
    samba_program p = program_of(&c, &m, 2);
    CHECK(samba_compile(s, &p));
    feed(&m, &c, 0);
    int32_t ids[1024], n = 0, first[8] = { 0 }, end[8] = { 0 };
    const char *const types[4] = { "ZEROGRAD", "COUNT", "FWD", "BCKWD" };
    samba_section q;
    for (; samba_describe_section(s, n, &q); n++) {
        ids[n] = n;
        for (int k = 0; k < 4; k++)
            if (!strcmp(q.type, types[k])) {
                end[k] = n + 1;
                first[k] = first[k] ? first[k] : n;
            }
    }
    CHECK(first[1] > 0 && end[1] == first[2] && end[2] == first[3]);
    for (int k = 0; k < 7; k++) {
        samba_session_run_desc d = { .section_ids = ids, .n_section_ids = n };
        if (k == 0) {
            d.section_ids = ids + first[2];
            d.n_section_ids = end[3] - first[2];
        } // no counts
        if (k == 1) {
            d.section_ids = ids + first[1];
            d.n_section_ids = end[3] - first[1] - 1;
        } // not all of BCKWD
        if (k == 2) {
            d.section_ids = ids + first[3];
            d.n_section_ids = end[3] - first[3];
        } // BCKWD alone
        if (k == 3) {
            d.section_ids = ids + first[1] + 1;
            d.n_section_ids = end[3] - first[1] - 1;
        }
        if (k == 4) d = (samba_session_run_desc){ .from_call_id = first[2] };
        if (k == 5) d = (samba_session_run_desc){ .until_call_id = end[2] - 1 };
        if (k == 6) d = (samba_session_run_desc){ .from_call_id = end[3] - 1 };
        float before = samba_read(samba_tensor_by_name(s, "a__weight"))[0];
        CHECK(!samba_session_run(s, &d) && said(s, SAMBA_EARG, "nothing was run"));
        CHECK(samba_read(samba_tensor_by_name(s, "a__weight"))[0] == before);
    }
    CHECK(samba_session_run(s,
                            &(samba_session_run_desc){ .section_ids = ids + first[1],
                                                       .n_section_ids = end[2] - first[1] }));
    float loss = samba_read(m.loss)[0];
    CHECK(samba_run(s, SAMBA_FWD) && samba_read(m.loss)[0] == loss);
    close_clean(s);
}

// In a sequence of types gradients add up between two steps, and begin at zero after each.
static void test_sequences(void)
{
    const char *const sequence[4][6] = { { "zerograd", "fwd", "bckwd", "fwd", "bckwd", "opt" },
                                         { "fwd", "bckwd", "fwd", "bckwd", "opt" },
                                         { "opt", "fwd", "bckwd" },
                                         { "fwd", "bckwd", "opt", "fwd", "bckwd", "opt" } };
    const int n[4] = { 6, 5, 3, 6 };
    const float w_after[4] = { 1 - 8, 1 - 8, 1 - 4, 1 - 8 }, grad_after[4] = { 8, 8, 4, 4 };
    for (int k = 0; k < 4; k++) {
        samba_session *s = session();
        const float ones[4] = { 1, 1, 1, 1 };
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2));
        samba_tensor *w = samba_param(s, "w", SAMBA_SCALAR, (samba_init){ .value = 1 });
        samba_program p = { .loss = all_of(samba_mul(x, w), false), .microbatches = 2 };
        p.optim.kind = SAMBA_SGD;
        p.optim.lr = 1;
        CHECK(samba_compile(s, &p) && samba_write(x, ones)
              && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
        CHECK(samba_session_run(
            s, &(samba_session_run_desc){ .section_types = sequence[k], .n_section_types = n[k] }));
        CHECK(samba_read(w)[0] == w_after[k] && samba_read(samba_sn_grad(w))[0] == grad_after[k]);
        close_clean(s);
    }
}

// The gradient of a loss can be read and given, of a scalar and of rows; rows count in the batch.
static void test_output_grads(void)
{
    for (int32_t parts = 1; parts <= 2; parts++) {
        samba_session *s = session();
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(6 / parts, 2));
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
        samba_tensor *each = samba_sum(samba_mul(x, w), SAMBA_AXES(1), false);
        samba_tensor *mean = samba_mean(squares(samba_mul(x, w)), SAMBA_ALL_AXES, false);
        samba_program p
            = { .outputs = { each, mean }, .optim = { .kind = SAMBA_SGD }, .microbatches = parts };
        float in[12], ones[12], half = 0.5f, none = 0, custom[6] = { 1, 2, 3, 4, 5, 6 }, want[2];
        for (int i = 0; i < 12; i++) {
            in[i] = (float)i - 3;
            ones[i] = 1;
        }
        CHECK(samba_compile(s, &p) && samba_write(x, in));
        samba_tensor *dw = samba_sn_grad(w);
        CHECK(samba_read(samba_sn_grad(mean))[0] == 1.0f
              && !memcmp(samba_read(samba_sn_grad(each)), ones, 24));
        CHECK(samba_argin_names(s, NULL, 0) == 3); // lr, weight_decay, momentum
        for (int k = 0; k < 5; k++) {
            double scale = 1, sum[2] = { 0, 0 };
            samba_output_grad g[2] = { { mean, &half, 4 }, { each, custom, 24 } };
            samba_session_run_desc d = { 0 };
            if (k == 1) {
                d.grad_of_outputs = g;
                d.n_grad_of_outputs = 1;
            }
            if (k == 2) CHECK(samba_init_output_grads(s, g + 1, 1, 5)); // mean keeps its half
            if (k == 3)
                CHECK(!samba_init_output_grads(s, NULL, 0, 4)
                      && said(s, SAMBA_EARG, "has no dimension that counts the rows"));
            if (k == 3)
                CHECK(samba_init_output_grads(s, NULL, 0, 6)
                      && samba_init_output_grads(s, &(samba_output_grad){ each, ones, 24 }, 1, 4));
            if (k == 4) CHECK(samba_write(samba_sn_grad(mean), &none));
            CHECK(samba_session_run(s, &d));
            if (k == 1 || k == 2) scale = 0.5;
            if (k == 4) scale = 0;
            samba_write(w, ones);
            for (int i = 0; i < 12; i++) {
                double row = k < 2 ? 1
                    : k == 2       ? (i / 2 < 5 ? (double)custom[i / 2] : 0)
                                   : i / 2 < 4;
                sum[i % 2] += row * (double)in[i] + scale * 2 * (double)in[i] * (double)in[i] / 12;
            }
            want[0] = (float)sum[0];
            want[1] = (float)sum[1];
            CHECK_CLOSE(samba_read(dw), want, 2, 1e-6, 1e-6);
        }
        samba_output_grad bad[2] = { { mean, &half, 4 }, { each, custom, 12 } };
        samba_session_run_desc d = { .grad_of_outputs = bad, .n_grad_of_outputs = 2 };
        CHECK(samba_init_output_grads(s, NULL, 0, 0));
        CHECK(!samba_session_run(s, &d) && said(s, SAMBA_EARG, "12 bytes; 24 are needed"));
        CHECK(samba_read(samba_sn_grad(mean))[0] == 1.0f); // nothing of the list was sent
        CHECK(!samba_init_output_grads(s, NULL, 0, -4) && said(s, SAMBA_ERANGE, "rows is -4"));
        CHECK(!samba_init_output_grads(s, NULL, 0, 7) && said(s, SAMBA_ERANGE, "has 6"));
        bad[1].output = w;
        bad[1].bytes = 0;
        CHECK(!samba_init_output_grads(s, bad, 2, 0) && said(s, SAMBA_EARG, "w is no loss"));
        close_clean(s);
    }
}

// rows cuts the dimension that has the rows of the batch, whatever the loss does with them.
static void test_cut_output_grads(void)
{
    enum { B = 4, T = 3 };

    for (int k = 0; k < 12; k++) {
        int way = k / 2, parts = 1 + k % 2;
        samba_session *s = session();
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(B / parts, T)), *y, *loss;
        samba_tensor *w = samba_param(s, "w", SAMBA_SCALAR, (samba_init){ .value = 1 });
        float in[B * T], want = 0;
        y = loss = samba_mul(x, w);
        if (way == 1) loss = samba_reshape(y, SAMBA_SHAPE(-1));  // (B*T)
        if (way == 2) loss = samba_transpose(y, 0, 1);           // (T,B)
        if (way == 3) loss = samba_sum(y, SAMBA_AXES(0), false); // over the batch
        if (way == 4) loss = samba_mean(y, SAMBA_ALL_AXES, false);
        if (way == 5) loss = samba_reshape(y, SAMBA_SHAPE(B / parts, 1, T));
        bool cuts = way != 3 && way != 4;
        if (way == 2 && parts == 2) {
            samba_close(s);
            continue;
        } // is refused when compiling
        CHECK(samba_compile(s,
                            &(samba_program){ .loss = loss,
                                              .microbatches = parts,
                                              .optim = { .kind = SAMBA_SGD } }));
        for (int i = 0; i < B * T; i++) {
            in[i] = (float)(i + 1);
            want += i / T < 2 ? in[i] : 0;
        }
        CHECK(samba_write(x, in) && samba_init_output_grads(s, NULL, 0, 2) == cuts);
        if (!cuts) CHECK(said(s, SAMBA_EARG, "has no dimension that counts the rows of the batch"));
        if (cuts)
            CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD) && samba_read(samba_sn_grad(w))[0] == want);
        CHECK(samba_init_output_grads(s, NULL, 0, B) && !samba_init_output_grads(s, NULL, 0, 1000)
              && said(s, SAMBA_ERANGE, "has 4"));
        close_clean(s);
    }
}

// Host copies hold the rows of all microbatches: what a run lists as inputs and outputs, as in the
// deck's run(input_tensors, output_tensors), and data of the whole batch.
static void test_host_copies(void)
{
    enum { ROWS = 6, WIDTH = 2, PARTS = 3 };

    samba_session *s = session();
    float traced[ROWS / PARTS * WIDTH] = { 0 }, all[ROWS * WIDTH], more[ROWS * WIDTH];
    samba_tensor *x = samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS / PARTS, WIDTH), traced),
                 *in = x;
    samba_tensor *y = samba_tanh(samba_scale(x, 0.5f));
    samba_program p = { .outputs = { y }, .inference = true, .microbatches = PARTS };
    for (int i = 0; i < ROWS * WIDTH; i++) {
        all[i] = (float)i / 7;
        more[i] = -all[i];
    }
    CHECK(samba_compile(s, &p));
    samba_session_run_desc run = { .inputs = &in, .n_inputs = 1, .outputs = &y, .n_outputs = 1 };
    CHECK(!samba_session_run(s, &run)
          && said(s, SAMBA_ESTATE, "all microbatches")); // a dummy of one part
    CHECK(samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS, WIDTH), all) == x
          && samba_session_run(s, &run));
    for (int i = 0; i < ROWS * WIDTH; i++)
        CHECK(fabsf(((float *)samba_cpu(y))[i] - tanhf(all[i] / 2)) < 1e-6f);
    CHECK(!samba_is_stale(y) && traced[0] == 0);

    all[ROWS * WIDTH - 1] = 2; // an edit in the last part is noticed
    CHECK(samba_session_run(s, &run)
          && fabsf(((float *)samba_cpu(y))[ROWS * WIDTH - 1] - tanhf(1)) < 1e-6f);
    CHECK(samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS, WIDTH), more) == x
          && samba_session_run(s, &run));
    CHECK(fabsf(((float *)samba_cpu(y))[3] + tanhf(all[3] / 2)) < 1e-6f);
    float *host = (float *)samba_cpu(x);
    host[2] = 3;
    CHECK(samba_rdu(x) && samba_run(s, 0)
          && fabsf(((float *)samba_cpu(y))[2] - tanhf(1.5f)) < 1e-6f);

    CHECK(!samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS + 2, WIDTH), all)
          && said(s, SAMBA_ESHAPE, "compiled for"));
    CHECK(!samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS / PARTS, ROWS), all)
          && said(s, SAMBA_ESHAPE, "compiled for"));
    CHECK(!samba_zeros(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS, WIDTH))
          && said(s, SAMBA_ESHAPE, "compiled for"));
    host = (float *)samba_cpu(x); // the memory that goes is read before
    CHECK(!samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS / PARTS, WIDTH), host)
          && said(s, SAMBA_EARG, "host copy"));
    CHECK(samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS / PARTS, WIDTH), host) == x
          && ((float *)x->data)[2] == 3);
    CHECK(samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS / PARTS, WIDTH), more)
          && !samba_rdu(x) && said(s, SAMBA_ESTATE, "all microbatches"));
    CHECK(samba_cpu(x) && ((float *)samba_cpu(x))[2] == 3);

    p.microbatches = 1; // the copies are those of the program before
    CHECK(samba_set_tracing(s, true) && samba_compile(s, &p));
    CHECK(!samba_run(s, 0) && said(s, SAMBA_ESTATE, "never given a value"));
    CHECK(samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS / PARTS, WIDTH), all)
          && samba_session_run(s, &run));
    CHECK(((float *)samba_cpu(y))[3] == samba_read(y)[3] && samba_bytes(y) == sizeof traced);
    close_clean(s);
}

// A loss that is named twice is one loss.
static void test_named_twice(void)
{
    float grad[2];
    for (int k = 0; k < 2; k++) {
        samba_session *s = session();
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 3 });
        samba_tensor *loss = samba_sum(squares(w), SAMBA_ALL_AXES, false);
        samba_program p = { .loss = loss, .outputs = { loss, w }, .optim.kind = SAMBA_SGD };
        if (k) {
            p.loss_indices[0] = p.loss_indices[1] = 0;
            p.n_loss_indices = 2;
        }
        CHECK(samba_compile(s, &p) && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
        grad[k] = samba_read(samba_sn_grad(w))[0];
        close_clean(s);
    }
    CHECK(grad[0] == 6.0f && grad[1] == 6.0f);
}

// Momentum that begins at 0, and a run that is refused changes no hyperparameter.
static void test_hyperparameters(void)
{
    for (int kept = 0; kept < 2; kept++) {
        samba_session *s = session();
        samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
        samba_program p = { .loss = samba_sum(w, SAMBA_ALL_AXES, false) };
        p.optim.kind = SAMBA_SGD;
        p.optim.lr = 1;
        p.optim.momentum_state = kept;
        const samba_value seed[3] = { { "lr", 0.5 }, { "momentum", 0.9 }, { "weight_decay", 0 } };
        const samba_value bad[2] = { { "lr", 0.25 }, { "moment", 1 } };
        samba_session_run_desc d = { .hyperparams = seed, .n_hyperparams = 3 };
        CHECK(samba_compile(s, &p) && samba_set(s, "momentum", 0));
        CHECK(samba_session_run(s, &d) == kept);
        if (!kept)
            CHECK(said(s, SAMBA_ESTATE, "momentum_state") && samba_get(s, "lr") == 1
                  && samba_get(s, "momentum") == 0);
        if (kept) CHECK(samba_session_run(s, &d) && samba_read(w)[0] == 1 - 0.5f - 0.5f * 1.9f);
        double lr = samba_get(s, "lr");
        CHECK(!samba_session_run(
            s, &(samba_session_run_desc){ .hyperparams = bad, .n_hyperparams = 2 }));
        CHECK(said(s, SAMBA_ENAME, "moment") && samba_get(s, "lr") == lr);
        close_clean(s);
    }
}

// The device does what the session does.
static void test_device(void)
{
    test_case c = cases[2];
    samba_session *s = session();
    model m = trace(s, &c, 2);
    samba_program p = program_of(&c, &m, 4);
    CHECK(samba_compile(s, &p) && samba_save(s, path));
    feed(&m, &c, 1);

    static union {
        uint64_t align;
        unsigned char bytes[1 << 17];
    } pef;

    size_t size = read_into(path, pef.bytes, sizeof pef.bytes);
    size_t need = samba_runtime_bytes(pef.bytes, size, NULL, 0);
    remove(path);
    void *memory = malloc(need + 1);
    samba_runtime *rt = samba_runtime_open(pef.bytes, size, memory, need, NULL, 0);
    CHECK(rt != NULL);
    samba_tensor *const in[4] = { m.x, m.y, m.label, m.mask };
    for (int i = 0; rt && i < 4; i++) {
        void *to = samba_runtime_data(rt, in[i]->name);
        if (to) CHECK(samba_copy_out(in[i], to, samba_bytes(in[i])));
    }
    for (int step = 0; rt && step < 3; step++) {
        CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
        CHECK(samba_runtime_run(rt, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
        const samba_tensor *w = samba_tensor_by_name(s, "a__weight");
        CHECK(!memcmp(samba_runtime_data(rt, "a__weight"),
                      samba_read(samba_tensor_by_name(s, "a__weight")), samba_bytes(w)));
    }
    free(memory);
    close_clean(s);
}

// What is computed at once would see the first part alone of what holds all of them.
static void test_computed_at_once(void)
{
    for (int32_t parts = 1; parts <= 2; parts++) {
        samba_session *s = session();
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4 / parts));
        samba_tensor *w = samba_param(s, "w", SAMBA_SCALAR, (samba_init){ .value = 1 });
        samba_tensor *y = samba_mul(x, w), *loss = all_of(y, false);
        const float in[4] = { 1, 2, 3, 4 };
        samba_program p
            = { .loss = loss, .outputs = { y }, .microbatches = parts, .optim.kind = SAMBA_SGD };
        CHECK(samba_compile(s, &p) && samba_write(x, in) && samba_run(s, SAMBA_FWD));
        CHECK(samba_read(samba_scale(loss, 2))[0] == 20.0f);
        samba_tensor *sum = all_of(y, false);
        CHECK(parts == 1 ? samba_read(sum)[0] == 10.0f : said(s, SAMBA_ESTATE, "all microbatches"));
        sum = all_of(x, true);
        CHECK(parts == 1 ? sum != NULL : said(s, SAMBA_ESTATE, "all microbatches"));
        close_clean(s);
    }
}

// Compiled again in other parts, and as one.
static void test_compiled_again(void)
{
    samba_session *s = session();
    test_case c = cases[2];
    model m = trace(s, &c, 2);
    float loss[4];
    for (int k = 0; k < 4; k++) {
        samba_program p = program_of(&c, &m, k % 2 ? 1 : 4);
        CHECK(samba_compile(s, &p));
        feed(&m, &c, 0);
        CHECK(samba_run(s, SAMBA_FWD) && samba_section_types(s) & SAMBA_FWD);
        CHECK(((samba_section_types(s) & SAMBA_COUNT) != 0) == !(k % 2));
        loss[k] = samba_read(m.loss)[0];
    }
    CHECK(loss[0] == loss[2] && memcmp(&loss[1], &loss[3], 4) == 0);
    close_clean(s);
}

// A value an input was traced with is one part's: which rows a run lacks is said, and what to do.
static void test_traced_value(void)
{
    float rows[6] = { 1, 2, 3, 4, 5, 6 };
    for (int how = 0; how < 4; how++) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true });
        samba_tensor *x = how == 1 ? samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3), rows)
            : how == 2             ? samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3))
                                   : samba_randn(s, "x", SAMBA_SHAPE(2, 3));
        if (how == 3) samba_set_batch_dim(x, -1);
        samba_tensor *loss = samba_mean(samba_linear(x, "fc", 2), SAMBA_ALL_AXES, false);
        CHECK(samba_compile(
            s,
            &(samba_program){ .loss = loss, .microbatches = 3, .optim = { .kind = SAMBA_SGD } }));
        CHECK(samba_run(s, 0) == (how == 3));
        const char *const said = how < 2 ? "given a value for one microbatch"
            : how == 2                   ? "never given a value"
                                         : "";
        CHECK(strstr(samba_error(s), said));
        if (how < 2)
            CHECK(strstr(samba_error(s), "all 3")
                  && strstr(samba_error(s), "samba_set_batch_dim(x, -1)"));
        samba_close(s);
    }
}

// What is made of a value of the whole batch is not known before the first part, although it comes
// from inputs alone: it is told, and is that of the parts.
static void test_made_of_a_whole(void)
{
    enum { N = 8, PARTS = 2, ROWS = N / PARTS };

    float x[N], mask[N];
    double want = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i * i % 7);
        mask[i] = (float)(1 + i % 3);
    }

    samba_session *s = session();
    samba_tensor *xs = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS));
    samba_tensor *masks = samba_input(s, "mask", SAMBA_F32, SAMBA_SHAPE(ROWS));
    samba_tensor *share = samba_div(masks, samba_mean(masks, SAMBA_ALL_AXES, false));
    samba_tensor *weighed = samba_sum(samba_mul(xs, share), SAMBA_ALL_AXES, false);
    samba_tensor *y = samba_div(weighed, samba_sum(share, SAMBA_ALL_AXES, false));
    CHECK(samba_compile(
        s, &(samba_program){ .inference = true, .outputs = { y }, .microbatches = PARTS }));
    CHECK(strstr(warned, "mean of the parts'"));
    CHECK(samba_write(xs, x) && samba_write(masks, mask) && samba_run(s, SAMBA_FWD));
    for (int part = 0; part < PARTS; part++) {
        double above = 0, below = 0;
        for (int i = part * ROWS; i < (part + 1) * ROWS; i++) {
            above += (double)(x[i] * mask[i]);
            below += (double)mask[i];
        }
        want += above / below / PARTS;
    }
    CHECK_CLOSE(samba_read(y), (float[]){ (float)want }, 1, 1e-6, 0);
    close_clean(s);
}

// The same of a loss that divides by the targets of the whole batch.
static void test_made_of_a_loss(void)
{
    const float x[8] = { -1, -2, -3, -4, -5, -6, -7, -8 };
    const int32_t label[4] = { 0, -100, 1, 1 };
    samba_session *s = session();
    samba_tensor *xs = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 2));
    samba_tensor *labels = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(2));
    samba_tensor *y = samba_exp(samba_scale(samba_nll(xs, labels, NULL), 0.125f));
    CHECK(samba_compile(
        s, &(samba_program){ .inference = true, .outputs = { y }, .microbatches = 2 }));
    CHECK(strstr(warned, "mean of the parts'"));
    CHECK(samba_write(xs, x) && samba_write(labels, label) && samba_run(s, SAMBA_FWD));
    double first = 1 / 1.5, second = (6 + 8) / 1.5; // 3 targets count: 1.5 of each part
    float want = (float)((exp(first / 8) + exp(second / 8)) / 2);
    CHECK_CLOSE(samba_read(y), &want, 1, 1e-6, 0);
    close_clean(s);
}

// What a file calls <loss>__mean is the loss, in a session that has traced it.
static void test_name_in_the_file(void)
{
    static const char path[] = "build/microbatches_mean.pef";
    for (int way = 0; way < 2; way++) { // compiled, loaded
        samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
        samba_tensor *x = samba_set_batch_dim(samba_randn(s, "x", SAMBA_SHAPE(2, 3)), 0);
        samba_tensor *y = samba_linear(x, "fc", 2);
        samba_tensor *loss = samba_name(samba_mean(y, SAMBA_ALL_AXES, false), "loss");
        samba_program p = { .pef = path, .loss = loss, .optim.kind = SAMBA_SGD, .microbatches = 2 };
        const char *name = "";
        CHECK(way == 0 ? samba_compile(s, &p) : samba_load(s, path, &p));
        CHECK(samba_tensor_by_name(s, "loss__mean") == loss);
        CHECK(samba_output_names(s, &name, 1) == 1 && !strcmp(name, "loss"));
        CHECK(samba_close(s) == 0);
    }
    remove(path);
    remove("build/microbatches_mean.pef.log");
    remove("build/microbatches_mean.pef.map");
}

int main(void)
{
    RUN(test_parts_make_the_batch);
    RUN(test_masks);
    RUN(test_told);
    RUN(test_padded_sums);
    RUN(test_softmax_of_sums);
    RUN(test_memory_limit);
    RUN(test_order_of_rows);
    RUN(test_pieces);
    RUN(test_unused_piece);
    RUN(test_order_within_cats);
    RUN(test_inference);
    RUN(test_ids);
    RUN(test_sequences);
    RUN(test_output_grads);
    RUN(test_cut_output_grads);
    RUN(test_host_copies);
    RUN(test_named_twice);
    RUN(test_hyperparameters);
    RUN(test_device);
    RUN(test_computed_at_once);
    RUN(test_compiled_again);
    RUN(test_traced_value);
    RUN(test_made_of_a_whole);
    RUN(test_made_of_a_loss);
    RUN(test_name_in_the_file);
    return test_summary();
}
