// Gradients that add up over runs (samba_program.accumulate): several batches, one step. The step
// is that of all batches at once; it begins at zero after OPT, ZEROGRAD, a restore and a failed
// run.
//     cc -O2 -I. tests/core/accumulate.c -lm -pthread -o accumulate && ./accumulate
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 5, HIDDEN = 4, CLASSES = 3, ROWS = 4, PARTS = 3, ALL = ROWS * PARTS };

typedef struct net {
    samba_session *s;
    samba_tensor *x, *label, *loss;
} net;

typedef struct settings {
    int32_t rows, microbatches;
    bool accumulate, sums;
    float max_grad_norm;
    samba_opt_level level;
    const char *pef;
} settings;

static const unsigned both = SAMBA_FWD | SAMBA_BCKWD;
static char last_warning[800];

static void keep_warning(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level == SAMBA_LOG_WARNING) snprintf(last_warning, sizeof last_warning, "%s", text);
}

static net open_net(const settings *c)
{
    net n = { .s = samba_open(&(samba_desc){ .threads = 1, .log = keep_warning }) };
    n.x = samba_input(n.s, "x", SAMBA_F32, SAMBA_SHAPE(c->rows, FEATURES));
    n.label = samba_input(n.s, "label", SAMBA_I32, SAMBA_SHAPE(c->rows));
    samba_tensor *h = samba_tanh(samba_linear(n.x, "one", HIDDEN));
    const samba_loss_opts opts = { .reduction = c->sums ? SAMBA_REDUCE_SUM : SAMBA_REDUCE_MEAN };
    n.loss = samba_name(samba_cross_entropy_with(samba_linear(h, "two", CLASSES), n.label, &opts),
                        "loss");
    samba_program p = { .loss = n.loss,
                        .microbatches = c->microbatches,
                        .accumulate = c->accumulate,
                        .max_grad_norm = c->max_grad_norm,
                        .level = c->level,
                        .pef = c->pef,
                        .optim = { .kind = SAMBA_SGD, .lr = 0.5f, .momentum = 0.9f } };
    CHECK(samba_compile(n.s, &p));
    return n;
}

// Rows from `first` on of the batches of a step.
static void feed(const net *n, int step, int32_t first, int32_t rows, bool holes)
{
    float x[ALL * FEATURES];
    int32_t label[ALL];
    for (int32_t i = 0; i < rows * FEATURES; i++)
        x[i] = (float)(((first * FEATURES + i) * 7 + step * 3) % 11) / 5 - 1;
    for (int32_t i = 0; i < rows; i++)
        label[i] = holes && (first + i) % 5 < 2 ? -100 : (first + i + step) % CLASSES;
    CHECK(samba_write(n->x, x) && samba_write(n->label, label));
}

static void weights_of(const net *n, float w[HIDDEN * FEATURES])
{
    CHECK(samba_copy_out(samba_tensor_by_name(n->s, "one__weight"), w,
                         HIDDEN * FEATURES * sizeof *w));
}

static bool refuses(samba_session *s, bool ran, const char *why)
{
    bool fine = !ran && samba_error_code(s) == SAMBA_ESTATE && strstr(samba_error(s), why)
        && strstr(samba_error(s), "nothing was run");
    if (!fine) printf("    %s\n", samba_error(s));
    samba_clear_error(s);
    return fine;
}

static bool warned(const char *text)
{
    bool fine = strstr(last_warning, text) != NULL;
    if (!fine) printf("    the warning is: %s\n", last_warning);
    last_warning[0] = 0;
    return fine;
}

static unsigned step_types(const settings *c)
{
    return c->max_grad_norm > 0 ? SAMBA_GRADNORM | SAMBA_OPT : SAMBA_OPT;
}

static void run_whole(const settings *c, int steps, bool holes, float *w)
{
    settings whole = *c;
    whole.rows = ALL;
    whole.accumulate = false;
    whole.microbatches = 0;
    net n = open_net(&whole);
    if (c->sums) CHECK(samba_set(n.s, "loss__grad", 1.0 / ALL));
    for (int step = 0; step < steps; step++) {
        feed(&n, step, 0, ALL, holes);
        CHECK(samba_run(n.s, 0));
    }
    weights_of(&n, w);
    CHECK(samba_close(n.s) == 0);
}

// Batch after batch, or microbatches of each: the step of all rows, also with clipping.
static void test_batches_make_the_whole(void)
{
    static const samba_opt_level levels[] = { SAMBA_O3, SAMBA_O0 };
    for (int k = 0; k < 16; k++) {
        settings c = { .rows = ROWS,
                       .accumulate = true,
                       .sums = k & 1,
                       .max_grad_norm = k & 2 ? 0.2f : 0,
                       .level = levels[k / 4 % 2] };
        bool in_parts = k & 8;
        float want[HIDDEN * FEATURES], got[HIDDEN * FEATURES];
        run_whole(&c, 3, c.sums, want);
        if (in_parts) {
            c.rows = ROWS / 2;
            c.microbatches = 2;
        }
        net n = open_net(&c);
        CHECK(samba_set(n.s, "loss__grad", c.sums ? 1.0 / ALL : 1.0 / PARTS));
        for (int step = 0; step < 3; step++) {
            for (int32_t part = 0; part < PARTS; part++) {
                feed(&n, step, part * ROWS, ROWS, c.sums);
                bool apart = !in_parts && part == 1;
                CHECK(apart ? samba_run(n.s, SAMBA_FWD) && samba_run(n.s, SAMBA_BCKWD)
                            : samba_run(n.s, both));
            }
            CHECK(samba_run(n.s, step_types(&c)));
        }
        weights_of(&n, got);
        CHECK_CLOSE(got, want, HIDDEN * FEATURES, 1e-5, 1e-6);
        CHECK(!last_warning[0] && samba_close(n.s) == 0);
    }
}

static void gradient_of(const net *n, float g[HIDDEN * FEATURES])
{
    CHECK(samba_copy_out(samba_sn_grad(samba_tensor_by_name(n->s, "one__weight")), g,
                         HIDDEN * FEATURES * sizeof *g));
}

static bool same(const float *a, const float *b)
{
    return !memcmp(a, b, HIDDEN * FEATURES * sizeof *a);
}

// After what comes next, a backward pass gives its own gradient alone.
static void test_begins_at_zero(void)
{
    settings c = { .rows = ROWS, .accumulate = true };
    const char *path = "accumulate_test.ckpt";
    for (int way = 0; way < 6; way++) {
        net n = open_net(&c);
        float once[HIDDEN * FEATURES], twice[HIDDEN * FEATURES], got[HIDDEN * FEATURES];
        feed(&n, 0, 0, ROWS, false);
        CHECK(samba_set(n.s, "lr", 0) && samba_run(n.s, both));
        gradient_of(&n, once);
        CHECK(samba_run(n.s, both));
        gradient_of(&n, twice);
        for (int i = 0; i < HIDDEN * FEATURES; i++)
            twice[i] /= 2;
        CHECK_CLOSE(twice, once, HIDDEN * FEATURES, 1e-5, 1e-7);
        if (way == 0) CHECK(samba_run(n.s, SAMBA_OPT));
        if (way == 1) CHECK(samba_run(n.s, SAMBA_ZEROGRAD));
        if (way == 2)
            CHECK(samba_save(n.s, path) && samba_restore(n.s, path) && samba_set(n.s, "lr", 0));
        if (way == 3)
            CHECK(samba_run_with(n.s, &(samba_run_desc){ .types = { both, both, SAMBA_OPT } }));
        if (way == 4) {
            CHECK(samba_write(n.label, (int32_t[ROWS]){ 99 }) && !samba_run(n.s, both));
            samba_clear_error(n.s);
            CHECK(refuses(n.s, samba_run(n.s, SAMBA_OPT), "has not run"));
            feed(&n, 0, 0, ROWS, false);
        }
        CHECK(samba_run(n.s, way == 5 ? both | SAMBA_OPT : both));
        gradient_of(&n, got);
        CHECK(same(got, once));
        CHECK(samba_close(n.s) == 0);
    }
    remove(path);
}

// A gradient that the caller gives is what the next backward passes add to.
static void test_given_gradient(void)
{
    settings c = { .rows = ROWS, .accumulate = true };
    net n = open_net(&c);
    float once[HIDDEN * FEATURES], got[HIDDEN * FEATURES];
    feed(&n, 0, 0, ROWS, false);
    CHECK(samba_run(n.s, both));
    gradient_of(&n, once);
    CHECK(samba_run(n.s, SAMBA_OPT) && samba_run(n.s, SAMBA_FWD));
    CHECK(samba_write(samba_sn_grad(samba_tensor_by_name(n.s, "one__weight")), once)
          && samba_run(n.s, both));
    gradient_of(&n, got);
    CHECK(!same(got, once));
    CHECK(samba_close(n.s) == 0);
}

// In a list of schedules gradients add up between two OPTs, from zero; by ids as the caller says.
static void test_lists(void)
{
    for (int32_t parts = 0; parts <= 2; parts += 2) {
        settings c = { .rows = parts ? ROWS / parts : ROWS,
                       .microbatches = parts,
                       .accumulate = parts == 0 };
        net a = open_net(&c), b = open_net(&c);
        float x[HIDDEN * FEATURES], y[HIDDEN * FEATURES];
        feed(&a, 0, 0, ROWS, false);
        feed(&b, 0, 0, ROWS, false);
        CHECK(samba_run(a.s, both)); // is dropped: the list is whole steps
        CHECK(samba_run_with(
            a.s, &(samba_run_desc){ .types = { both, both, SAMBA_OPT, both, SAMBA_OPT } }));
        CHECK(samba_run(b.s, both) && samba_run(b.s, both) && samba_run(b.s, SAMBA_OPT)
              && samba_run(b.s, both) && samba_run(b.s, SAMBA_OPT));
        weights_of(&a, x);
        weights_of(&b, y);
        CHECK(same(x, y));
        CHECK(samba_close(a.s) == 0 && samba_close(b.s) == 0);
    }
}

// Without accumulate: a list is refused, two runs are told of, and the text says what to do.
static void test_without(void)
{
    settings c = { .rows = ROWS };
    net n = open_net(&c);
    float before[HIDDEN * FEATURES], after[HIDDEN * FEATURES];
    feed(&n, 0, 0, ROWS, false);
    weights_of(&n, before);
    samba_run_desc list = { .types = { both, both, SAMBA_OPT } };
    CHECK(refuses(n.s, samba_run_with(n.s, &list), "samba_program.accumulate"));
    CHECK(refuses(n.s, samba_run_with(n.s, &list), "samba_program.microbatches"));
    list.types[1] |= SAMBA_OPT;
    list.types[2] = 0;
    CHECK(refuses(n.s, samba_run_with(n.s, &list), "more than once before OPT"));
    weights_of(&n, after);
    CHECK(same(before, after) && !last_warning[0]);
    CHECK(samba_run_with(n.s, &(samba_run_desc){ .types = { both, SAMBA_OPT, both, SAMBA_OPT } })
          && !last_warning[0]);
    CHECK(samba_run(n.s, both) && samba_run(n.s, both | SAMBA_OPT) && !last_warning[0]);
    CHECK(samba_run(n.s, both) && samba_run(n.s, both) && samba_run(n.s, SAMBA_OPT)
          && warned("samba_program.accumulate"));
    CHECK(samba_run(n.s, both) && samba_run(n.s, SAMBA_OPT) && !last_warning[0]);
    CHECK(samba_close(n.s) == 0);
}

// By section ids nothing is cleared but by the sections of ZEROGRAD that are listed.
static void test_ids(void)
{
    settings c = { .rows = ROWS, .accumulate = true };
    net n = open_net(&c), other = open_net(&c);
    int32_t ids[64], n_ids = 0, n_zero = 0;
    float x[HIDDEN * FEATURES], y[HIDDEN * FEATURES];
    samba_section q;
    for (int32_t i = 0; samba_describe_section(n.s, i, &q); i++) {
        bool zero = !strcmp(q.type, "ZEROGRAD");
        n_zero += zero;
        if (zero || !strcmp(q.type, "FWD") || !strcmp(q.type, "BCKWD")) ids[n_ids++] = i;
    }
    CHECK(n_zero > 0 && n_ids > n_zero);
    for (int step = 0; step < 3; step++) {
        feed(&n, step, 0, ROWS, false);
        feed(&other, step, 0, ROWS, false);
        CHECK(samba_run_with(n.s, &(samba_run_desc){ .section_ids = ids, .n_section_ids = n_ids }));
        CHECK(samba_run(n.s, SAMBA_OPT) && samba_run(other.s, both)
              && samba_run(other.s, SAMBA_OPT));
    }
    weights_of(&n, x);
    weights_of(&other, y);
    CHECK(same(x, y) && !last_warning[0]);
    CHECK(samba_run_with(
        n.s, &(samba_run_desc){ .section_ids = ids + n_zero, .n_section_ids = n_ids - n_zero }));
    CHECK(warned("List the sections of ZEROGRAD"));
    CHECK(samba_close(n.s) == 0 && samba_close(other.s) == 0);
}

// Adds the ids of the sections of one type to a list of n.
static int32_t append_sections(samba_session *s, const char *type, int32_t *ids, int32_t n)
{
    samba_section q;
    for (int32_t i = 0; samba_describe_section(s, i, &q); i++)
        if (!strcmp(q.type, type)) ids[n++] = i;
    return n;
}

// Is it told that a list of section ids adds to the gradients of the last step? It is asked of each
// place in the list: whether OPT has run is not what it was when the run began.
static void test_ids_after_a_step(void)
{
    static const struct {
        bool warns;
        const char *types[6];
    } lists[] = {
        { false, { "FWD", "BCKWD", "FWD", "BCKWD", "OPT" } },
        { true, { "OPT", "FWD", "BCKWD" } },
        { false, { "OPT", "ZEROGRAD", "FWD", "BCKWD" } },
        { true, { "FWD", "BCKWD", "OPT", "FWD", "BCKWD" } },
        { false, { "FWD", "BCKWD", "OPT", "ZEROGRAD", "FWD", "BCKWD" } },
    };

    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        settings c = { .rows = ROWS, .accumulate = true };
        net n = open_net(&c);
        feed(&n, 0, 0, ROWS, false);
        CHECK(samba_run(n.s, both));

        int32_t ids[256], n_ids = 0;
        for (int i = 0; i < 6 && lists[k].types[i]; i++)
            n_ids = append_sections(n.s, lists[k].types[i], ids, n_ids);
        samba_run_desc d = { .section_ids = ids, .n_section_ids = n_ids };
        CHECK(samba_run_with(n.s, &d));
        bool told = strstr(last_warning, "List the sections of ZEROGRAD") != NULL;
        if (told != lists[k].warns) printf("    list %d: %s\n", (int)k, last_warning);
        CHECK(told == lists[k].warns);
        last_warning[0] = 0;
        CHECK(samba_close(n.s) == 0);
    }
}

static void test_refused(void)
{
    for (int k = 0; k < 2; k++) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true });
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 2)),
                     *y = samba_linear(x, "fc", 1);
        samba_program p = { .loss = samba_mean(y, SAMBA_ALL_AXES, false),
                            .accumulate = true,
                            .optim = { .kind = SAMBA_SGD } };
        if (k == 0) p.mapping = SAMBA_MAPPING_SPATIAL;
        if (k == 1) {
            p.loss = NULL;
            p.outputs[0] = y;
            p.inference = true;
            p.optim.kind = SAMBA_NO_OPTIM;
        }
        CHECK(!samba_compile(s, &p) && strstr(samba_error(s), k ? "inference" : "mapping section"));
        samba_close(s);
    }
}

// A program with accumulate is another one than that without; on a device it works the same.
static void test_pef(void)
{
    const char *path = "accumulate_test.pef", *log = "accumulate_test.pef.log";
    settings c = { .rows = ROWS, .accumulate = true, .pef = path };
    net n = open_net(&c);
    float want[HIDDEN * FEATURES];
    static uint8_t file[1 << 16];
    samba_load(n.s, path, NULL);
    CHECK(samba_save(n.s, path));
    for (int step = 0; step < 2; step++) {
        for (int32_t part = 0; part < PARTS; part++) {
            feed(&n, step, part * ROWS, ROWS, false);
            CHECK(samba_run(n.s, both));
        }
        CHECK(samba_run(n.s, SAMBA_OPT));
    }
    weights_of(&n, want);
    size_t size = read_into(path, file, sizeof file);
    char why[300] = "";
    size_t bytes = samba_runtime_bytes(file, size, why, sizeof why);
    void *memory = malloc(bytes);
    samba_runtime *rt = samba_runtime_open(file, size, memory, bytes, why, sizeof why);
    CHECK(bytes && rt);
    for (int step = 0; rt && step < 2; step++) {
        for (int32_t part = 0; part < PARTS; part++) {
            feed(&n, step, part * ROWS, ROWS, false);
            memcpy(samba_runtime_data(rt, "x"), samba_read(n.x), ROWS * FEATURES * 4);
            memcpy(samba_runtime_data(rt, "label"), samba_read_i32(n.label), ROWS * 4);
            CHECK(samba_runtime_run(rt, both));
        }
        CHECK(samba_runtime_run(rt, SAMBA_OPT));
    }
    if (rt) CHECK(same((const float *)samba_runtime_data(rt, "one__weight"), want));
    free(memory);
    CHECK(samba_close(n.s) == 0);

    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    CHECK(samba_load(s, path, NULL) && (samba_section_types(s) & SAMBA_ZEROGRAD)
          && samba_close(s) == 0);
    c.accumulate = false;
    c.pef = NULL;
    n = open_net(&c); // traced the same, but for this
    CHECK(!samba_load(n.s, path, &(samba_program){ .loss = n.loss })
          && samba_error_code(n.s) == SAMBA_EGRAPH);
    samba_close(n.s);
    remove(path);
    remove(log);
    remove("accumulate_test.pef.map");
}

int main(void)
{
    RUN(test_batches_make_the_whole);
    RUN(test_begins_at_zero);
    RUN(test_given_gradient);
    RUN(test_lists);
    RUN(test_without);
    RUN(test_ids);
    RUN(test_ids_after_a_step);
    RUN(test_refused);
    RUN(test_pef);
    return test_summary();
}
