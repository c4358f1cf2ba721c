// A run is accepted only if what its sections read is there, and is what FWD has made of the values
// that are there now: random runs by types and ids, between random changes of inputs and
// parameters. What is accepted must give the gradients that a session of its own computes of the
// same values.
//     cc -O2 -I. tests/core/ready.c -lm -pthread -o ready && ./ready
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include <string.h>

enum { ROWS = 3, WIDTH = 4, LAYERS = 4, TENSORS = LAYERS + 1, SIZE = WIDTH * WIDTH };

enum { X = LAYERS }; // the tensors: the weights of the layers, and x

typedef struct net {
    samba_session *s;
    samba_tensor *at[TENSORS], *hidden, *loss;
} net;

typedef struct values {
    float at[TENSORS][SIZE]; // x has ROWS * WIDTH of them
} values;

static uint32_t dice;

static int random_below(int n)
{
    uint32_t bits[4];
    samba_random(5, "ready", dice++, bits);
    return (int)(bits[0] % (uint32_t)n);
}

static int size_of(int tensor)
{
    return tensor == X
    ? ROWS *WIDTH : SIZE;
}

static net open_net(samba_opt_level level, bool keeps_hidden)
{
    static const char *const names[LAYERS] = { "w0", "w1", "w2", "w3" };
    net n = { .s = samba_open(&(samba_desc){ .threads = 1, .quiet = true }) };
    n.at[X] = samba_input(n.s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS, WIDTH));
    samba_tensor *h = n.at[X];
    for (int i = 0; i < LAYERS; i++) {
        n.at[i] = samba_param(n.s, names[i], SAMBA_SHAPE(WIDTH, WIDTH),
                              (samba_init){ .kind = SAMBA_INIT_NORMAL, .scale = 0.5f });
        h = samba_tanh(samba_matmul(h, n.at[i]));
        if (i == 1) n.hidden = h;
    }
    n.loss = samba_name(samba_mean(samba_mul(h, h), SAMBA_ALL_AXES, false), "loss");
    samba_program p = { .loss = n.loss,
                        .level = level,
                        .optim = { .kind = SAMBA_SGD, .lr = 0.5f, .momentum = 0.9f } };
    if (keeps_hidden) p.outputs[0] = n.hidden;
    CHECK(samba_compile(n.s, &p));
    return n;
}

static void read_values(const net *n, values *v)
{
    memset(v, 0, sizeof *v);
    for (int i = 0; i < TENSORS; i++)
        CHECK(samba_copy_out(n->at[i], v->at[i], (size_t)size_of(i) * sizeof(float)));
}

// ---- What is true: the gradients of these values, computed by a session of its own ----
static void gradients_of(const net *judge, const values *v, float grad[LAYERS][SIZE])
{
    for (int i = 0; i < TENSORS; i++)
        CHECK(samba_write(judge->at[i], v->at[i]));
    CHECK(samba_run(judge->s, SAMBA_FWD | SAMBA_BCKWD));
    for (int i = 0; i < LAYERS; i++)
        CHECK(samba_copy_out(samba_sn_grad(judge->at[i]), grad[i], sizeof grad[i]));
}

// ---- One session that is run at random, and what is known of it ----
enum { MOST_IDS = 128 };

typedef struct trial {
    net net;
    unsigned type[MOST_IDS]; // of each section
    int32_t n;
    values read; // by all of FWD, when it ran last
    bool known;  // and no section of it has read others since
} trial;

static int accepted, refused, compared;

static void begin(trial *t, samba_opt_level level, bool keeps_hidden)
{
    memset(t, 0, sizeof *t);
    t->net = open_net(level, keeps_hidden);
    samba_section q;
    while (t->n < MOST_IDS && samba_describe_section(t->net.s, t->n, &q))
        t->type[t->n++] = q.types;
    samba_clear_error(t->net.s);
}

// Which sections of FWD has this list: none, all in order before any other, or something else?
enum { NONE, SOME, ALL };

static int forward_in(const trial *t, const int32_t *ids, int32_t n)
{
    int32_t all = 0, some = 0;
    bool in_order = true;
    for (int32_t i = 0; i < t->n; i++)
        all += t->type[i] == SAMBA_FWD;
    for (int32_t i = 0; i < n; i++) {
        if (t->type[ids[i]] != SAMBA_FWD) continue;
        in_order = in_order && ids[i] == some && i == some; // a program begins with FWD
        some++;
    }
    if (!some) return NONE;
    return in_order && some == all ? ALL : SOME;
}

static bool only_forward(const trial *t, const int32_t *ids, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (t->type[ids[i]] != SAMBA_FWD) return false;
    return true;
}

static bool same_values(const values *a, const values *b)
{
    return !memcmp(a, b, sizeof *a);
}

static bool makes_gradient(const trial *t, const int32_t *ids, int32_t n, samba_tensor *grad)
{
    for (int32_t i = 0; i < n; i++) {
        bool backward = (t->type[ids[i]] & SAMBA_BCKWD) != 0;
        if (backward && (samba_section_uses(t->net.s, ids[i], grad) & SAMBA_WRITES)) return true;
    }
    return false;
}

// These sections have run on these values. Gradients that they made must be those of the values
// that FWD has read.
static void judge_run(trial *t, const net *judge, const int32_t *ids, int32_t n, const values *now)
{
    float want[LAYERS][SIZE], got[SIZE];
    int forward = forward_in(t, ids, n);
    if (forward == ALL) {
        t->read = *now;
        t->known = true;
    } else if (forward == SOME && !(only_forward(t, ids, n) && same_values(&t->read, now))) {
        t->known = false;
    }
    if (!t->known) return;
    gradients_of(judge, &t->read, want);
    for (int k = 0; k < LAYERS; k++) {
        samba_tensor *grad = samba_sn_grad(t->net.at[k]);
        if (!makes_gradient(t, ids, n, grad)) continue;
        CHECK(samba_copy_out(grad, got, sizeof got));
        CHECK(!memcmp(got, want[k], sizeof got));
        compared++;
    }
}

// ---- What is done at random ----
static void change_a_value(trial *t)
{
    int which = random_below(TENSORS);
    float v[SIZE];
    CHECK(samba_copy_out(t->net.at[which], v, (size_t)size_of(which) * sizeof *v));
    if (random_below(3)) v[random_below(size_of(which))] += 0.25f; // or the same again
    CHECK(samba_write(t->net.at[which], v));
}

static int32_t ids_of_types(const trial *t, unsigned types, int32_t *ids)
{
    int32_t n = 0;
    for (int32_t i = 0; i < t->n; i++)
        if (t->type[i] & types) ids[n++] = i;
    return n;
}

static int32_t random_ids(const trial *t, int32_t *ids)
{
    int32_t n = 1 + random_below(t->n), first = random_below(t->n);
    bool in_order = random_below(4) > 0;
    if (in_order && first + n > t->n) n = t->n - first;
    for (int32_t i = 0; i < n; i++)
        ids[i] = in_order ? first + i : random_below(t->n);
    return n;
}

static void run_at_random(trial *t, const net *judge)
{
    static const unsigned types[] = { SAMBA_FWD,
                                      SAMBA_BCKWD,
                                      SAMBA_FWD | SAMBA_BCKWD,
                                      SAMBA_OPT,
                                      SAMBA_BCKWD | SAMBA_OPT,
                                      SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT };
    int32_t ids[MOST_IDS], n;
    bool by_ids = random_below(2), ran;
    values now, later;
    read_values(&t->net, &now);
    if (by_ids) {
        n = random_ids(t, ids);
        ran = samba_run_with(t->net.s, &(samba_run_desc){ .section_ids = ids, .n_section_ids = n });
    } else {
        unsigned which = types[random_below(sizeof types / sizeof *types)];
        n = ids_of_types(t, which, ids);
        ran = samba_run(t->net.s, which);
        CHECK(ran || !(which & SAMBA_FWD)); // all of it begins anew
    }
    if (ran) {
        accepted++;
        judge_run(t, judge, ids, n, &now);
        return;
    }
    refused++;
    CHECK(samba_error_code(t->net.s) == SAMBA_ESTATE);
    CHECK(strstr(samba_error(t->net.s), "nothing was run") != NULL);
    samba_clear_error(t->net.s);
    read_values(&t->net, &later);
    CHECK(!memcmp(&now, &later, sizeof now));
}

static void test_random_runs(void)
{
    for (int k = 0; k < 400; k++) {
        trial t;
        begin(&t, k % 2 ? SAMBA_O0 : SAMBA_O_DEFAULT, k % 4 < 2);
        net judge = open_net(SAMBA_O_DEFAULT, false);
        static const float zeros[ROWS * WIDTH];
        CHECK(samba_write(t.net.at[X], zeros));
        for (int i = 0; i < 40; i++) {
            if (random_below(3) == 0) change_a_value(&t);
            run_at_random(&t, &judge);
        }
        CHECK(samba_ok(t.net.s) && samba_ok(judge.s));
        samba_close(t.net.s);
        samba_close(judge.s);
    }
    printf("%d runs accepted, %d refused, %d gradients compared\n", accepted, refused, compared);
    CHECK(accepted > 4000 && refused > 4000 && compared > 4000);
}

// ---- One at a time ----
static bool refuses(samba_session *s, bool ran, const char *why)
{
    bool fine = !ran && samba_error_code(s) == SAMBA_ESTATE && strstr(samba_error(s), why);
    if (!fine) printf("    %s\n", samba_error(s));
    samba_clear_error(s);
    return fine;
}

static net open_ready(samba_opt_level level)
{
    static const float x[ROWS * WIDTH] = { 1, 0.5f, -1, 0.25f, 2, 1 };
    net n = open_net(level, false);
    CHECK(samba_write(n.at[X], x) && samba_run(n.s, 0));
    return n;
}

// One section after another, each in a run of its own, is as good as all at once.
static void test_single_sections(void)
{
    net one = open_ready(SAMBA_O0), all = open_ready(SAMBA_O0);
    samba_section q;
    for (int32_t i = 0; samba_describe_section(one.s, i, &q); i++)
        CHECK(samba_run_with(one.s, &(samba_run_desc){ .section_ids = &i, .n_section_ids = 1 }));
    samba_clear_error(one.s);
    CHECK(samba_run(all.s, 0));
    values a, b;
    read_values(&one, &a);
    read_values(&all, &b);
    CHECK(same_values(&a, &b));
    CHECK(samba_close(one.s) == 0 && samba_close(all.s) == 0);
}

// What a run of BCKWD sends must be what FWD has read: it may be sent again.
static void test_feeds_of_backward(void)
{
    net n = open_ready(SAMBA_O_DEFAULT);
    float x[ROWS * WIDTH] = { 3, 2, 1 };
    samba_feed feed = { .name = "x", .data = x, .bytes = sizeof x };
    samba_run_desc forward = { .types = { SAMBA_FWD }, .feeds = &feed, .n_feeds = 1 };
    samba_run_desc backward = forward;
    backward.types[0] = SAMBA_BCKWD;
    CHECK(samba_run_with(n.s, &forward) && samba_run_with(n.s, &backward));
    CHECK(samba_run_with(n.s, &forward));
    x[0] = 4;
    CHECK(refuses(n.s, samba_run_with(n.s, &backward), "reads x, which has another value"));
    CHECK(samba_run(n.s, SAMBA_BCKWD)); // nothing was sent
    CHECK(samba_close(n.s) == 0);
}

// A restored checkpoint and a run that failed leave nothing for a backward pass.
static void test_restore_and_failure(void)
{
    net n = open_ready(SAMBA_O_DEFAULT);
    const float bad[ROWS * WIDTH] = { 1e30f, -1e30f, 1e30f, 1e30f };
    const char *path = "ready_test.ckpt";
    CHECK(samba_save(n.s, path) && samba_run(n.s, SAMBA_FWD) && samba_restore(n.s, path));
    remove(path);
    CHECK(refuses(n.s, samba_run(n.s, SAMBA_BCKWD), "has not run"));
    CHECK(samba_run(n.s, SAMBA_FWD) && samba_run(n.s, SAMBA_BCKWD));
    float w[SIZE];
    CHECK(samba_copy_out(n.at[0], w, sizeof w));
    for (int i = 0; i < SIZE; i++)
        w[i] = 1e30f;
    CHECK(samba_write(n.at[0], w) && samba_write(n.at[X], bad));
    samba_set_check_finite(n.s, true);
    CHECK(!samba_run(n.s, SAMBA_FWD) && samba_error_code(n.s) == SAMBA_ERANGE);
    samba_clear_error(n.s);
    CHECK(refuses(n.s, samba_run(n.s, SAMBA_BCKWD), "has not run"));
    samba_close(n.s);
}

// Dropout in the backward pass must be that of the forward pass.
static void test_modes_and_rates(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 4));
    samba_tensor *h = samba_batchnorm(samba_dropout(samba_linear(x, "one", 4), "drop", 0.5f), "n");
    CHECK(samba_compile(s,
                        &(samba_program){ .loss = samba_mean(h, SAMBA_ALL_AXES, false),
                                          .optim = { .kind = SAMBA_SGD, .lr = 0.1f } }));
    const float ones[16] = { 1, 2, 3, 4, 5 };
    samba_run_desc eval = { .types = { SAMBA_FWD }, .eval = true };
    samba_value rate = { "p", 0.25 };
    samba_run_desc other = { .types = { SAMBA_BCKWD }, .hyperparams = &rate, .n_hyperparams = 1 };
    CHECK(samba_write(x, ones) && samba_run_with(s, &eval));
    CHECK(refuses(s, samba_run(s, SAMBA_BCKWD), "another mode"));
    CHECK(samba_run(s, SAMBA_FWD) && samba_run(s, SAMBA_BCKWD) && samba_run(s, SAMBA_FWD));
    CHECK(refuses(s, samba_run_with(s, &other), "drop__p, which has another value"));
    CHECK(samba_get(s, "p") == 0.5);
    CHECK(samba_set(s, "p", 0.5) && samba_run(s, SAMBA_BCKWD) && samba_run(s, SAMBA_FWD));
    CHECK(samba_set(s, "p", 0.25));
    CHECK(refuses(s, samba_run(s, SAMBA_BCKWD), "drop__p, which has another value"));
    CHECK(samba_run(s, SAMBA_FWD));
    samba_use_running_stats(s, true);
    CHECK(refuses(s, samba_run(s, SAMBA_BCKWD), "another mode"));
    CHECK(samba_run(s, SAMBA_FWD) && samba_run(s, SAMBA_BCKWD) && samba_close(s) == 0);
}

// A result may be given instead of computed: then the sections that make it need not run.
static void test_given_result(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2));
    samba_tensor *h = samba_name(samba_mul(x, x), "h"), *y = samba_tanh(h);
    CHECK(samba_compile(
        s, &(samba_program){ .outputs = { h, y }, .level = SAMBA_O0, .inference = true }));
    int32_t second = 1;
    samba_run_desc rest = { .section_ids = &second, .n_section_ids = 1 };
    CHECK(refuses(s, samba_run_with(s, &rest), "reads h, which FWD (section 0) makes"));
    const float zero[2] = { 0, 0 };
    CHECK(samba_write(h, zero) && samba_run_with(s, &rest) && samba_read(y)[0] == 0);
    rest.own_order = true;
    CHECK(samba_run_with(s, &rest) && samba_close(s) == 0);
}

// A net of one weight with dropout: what is drawn in FWD must be drawn again in BCKWD.
static samba_session *open_dropping(samba_tensor **w, samba_opt_level level)
{
    static const float ones[32] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(32));
    *w = samba_param(s, "w", SAMBA_SCALAR, (samba_init){ .value = 1 });
    samba_tensor *y = samba_dropout(samba_mul(x, *w), "drop", 0.5f);
    CHECK(samba_compile(
        s,
        &(samba_program){ .loss = samba_name(samba_sum(y, SAMBA_ALL_AXES, false), "loss"),
                          .level = level,
                          .optim = { .kind = SAMBA_SGD } }));
    CHECK(samba_write(x, ones) && samba_run(s, 0) && samba_set(s, "lr", 0));
    return s;
}

// State that anything but FWD has written since: ops that are computed at once, the generator put
// back, FWD in part. What leaves the state as it was is no reason to refuse.
static void test_state_that_moves(void)
{
    for (int way = 0; way < 7; way++) {
        samba_tensor *w;
        samba_session *s = open_dropping(&w, way < 5 ? SAMBA_O_DEFAULT : SAMBA_O0);
        const float one = 1;
        CHECK(samba_run(s, SAMBA_FWD));
        float want = samba_read(samba_tensor_by_name(s, "loss"))[0] / samba_read(w)[0];
        samba_tensor *host = samba_from_data_copy(s, "host", SAMBA_F32, SAMBA_SHAPE(1), &one);
        if (way == 0) samba_dropout(host, "at_once", 0.5f);
        if (way == 1) samba_reset_random_generator(s);
        if (way == 2) {
            samba_set_train(s, false);
            samba_dropout(host, "at_once", 0.5f);
            samba_set_train(s, true);
        }
        if (way == 3) samba_tanh(host);
        if (way == 4) samba_write(samba_tensor_by_name(s, "forward_runs"), &(int32_t){ 7 });
        int32_t count = 0;
        samba_section q;
        while (samba_describe_section(s, count, &q) && !(q.op && !strcmp(q.op, "count")))
            count++;
        if (way == 5)
            CHECK(
                samba_run_with(s, &(samba_run_desc){ .section_ids = &count, .n_section_ids = 1 }));
        if (way < 2 || way == 4)
            CHECK(refuses(s, samba_run(s, SAMBA_BCKWD),
                          "reads forward_runs, which has another value"));
        if (way == 5) CHECK(refuses(s, samba_run(s, SAMBA_BCKWD), "forward_runs"));
        CHECK(samba_ok(s));
        if (way < 2 || way == 4 || way == 5) CHECK(samba_run(s, SAMBA_FWD));
        if (way < 2 || way == 4 || way == 5)
            want = samba_read(samba_tensor_by_name(s, "loss"))[0] / samba_read(w)[0];
        CHECK(samba_run(s, SAMBA_BCKWD) && samba_read(samba_sn_grad(w))[0] == want);
        CHECK(samba_close(s) == 0);
    }
}

// A graph beside the one that trains counts its runs, too, and moves running statistics.
static void test_other_graph_moves_state(void)
{
    for (int level = 0; level < 2; level++) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true });
        samba_begin_graph(s, "ask");
        samba_tensor *u = samba_input(s, "u", SAMBA_F32, SAMBA_SHAPE(1));
        samba_tensor *asked = samba_name(samba_dropout(u, "drop", 0.5f), "asked");
        samba_begin_graph(s, "learn");
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(32)),
                     *w = samba_param(s, "w", SAMBA_SHAPE(1), (samba_init){ .value = 1 });
        samba_tensor *y = samba_dropout(samba_mul(x, w), "drop", 0.5f);
        CHECK(samba_compile(s,
                            &(samba_program){ .loss = samba_sum(y, SAMBA_ALL_AXES, false),
                                              .outputs = { asked },
                                              .optim = { .kind = SAMBA_SGD },
                                              .level = level ? SAMBA_O0 : SAMBA_O_DEFAULT }));
        const float ones[32] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        CHECK(samba_write(x, ones) && samba_write(u, ones)
              && samba_run_graph(s, "learn", SAMBA_FWD));
        CHECK(samba_run_graph(s, "ask", SAMBA_FWD));
        CHECK(refuses(s, samba_run_graph(s, "learn", SAMBA_BCKWD), "nothing was run"));
        CHECK(samba_run_graph(s, "learn", SAMBA_FWD) && samba_run_graph(s, "learn", SAMBA_BCKWD)
              && samba_close(s) == 0);
    }
}

// FWD of which one part has run with dropout and one without is no forward pass.
static void test_mixed_modes(void)
{
    samba_tensor *w;
    samba_session *s = open_dropping(&w, SAMBA_O0);
    samba_section q;
    int32_t ids[16], n = 0;
    for (int32_t i = 0; samba_describe_section(s, i, &q); i++)
        if (q.types == SAMBA_FWD) ids[n++] = i;
    samba_run_desc late = { .section_ids = ids + n - 1, .n_section_ids = 1, .eval = true };
    CHECK(samba_run(s, SAMBA_FWD) && samba_run_with(s, &late));
    samba_set_train(s, false);
    CHECK(refuses(s, samba_run(s, SAMBA_BCKWD), "in another mode"));
    samba_set_train(s, true);
    CHECK(refuses(s, samba_run(s, SAMBA_BCKWD), "nothing was run"));
    CHECK(samba_run(s, SAMBA_FWD) && samba_run(s, SAMBA_BCKWD) && samba_close(s) == 0);
}

static char last_warning[600];

static void keep_warning(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level == SAMBA_LOG_WARNING) snprintf(last_warning, sizeof last_warning, "%s", text);
}

static bool warned(const char *text)
{
    bool fine = text ? strstr(last_warning, text) != NULL : !last_warning[0];
    if (!fine) printf("    the warning is: %s\n", last_warning);
    last_warning[0] = 0;
    return fine;
}

// OPT by itself: gradients must be there, and be those of the last forward pass.
static void test_steps(void)
{
    static const float x[ROWS * WIDTH] = { 1, 0.5f, -1, 0.25f, 2, 1 };
    static const samba_opt_level levels[] = { SAMBA_O_DEFAULT, SAMBA_O0 };
    for (int k = 0; k < 2; k++) {
        net n = open_net(levels[k], false);
        const unsigned both = SAMBA_FWD | SAMBA_BCKWD;
        float g[SIZE] = { 1 };
        n.s->desc.log = keep_warning;
        CHECK(samba_write(n.at[X], x));
        CHECK(refuses(n.s, samba_run(n.s, SAMBA_OPT), "w0__grad, which BCKWD"));
        CHECK(refuses(n.s, samba_run(n.s, SAMBA_FWD | SAMBA_OPT), "nothing was run"));
        CHECK(samba_run(n.s, both) && samba_run(n.s, SAMBA_OPT) && warned(NULL));
        CHECK(refuses(n.s, samba_run(n.s, SAMBA_FWD | SAMBA_OPT),
                      "which is the gradient of an earlier forward pass"));
        CHECK(refuses(n.s,
                      samba_run_with(n.s, &(samba_run_desc){ .types = { SAMBA_FWD, SAMBA_OPT } }),
                      "earlier forward pass"));
        CHECK(samba_run_with(n.s, &(samba_run_desc){ .types = { both, SAMBA_OPT, SAMBA_FWD } })
              && warned(NULL));
        CHECK(samba_run(n.s, both) && samba_run(n.s, SAMBA_FWD) && samba_run(n.s, SAMBA_OPT)
              && warned(NULL)); // a test in between
        CHECK(samba_run(n.s, SAMBA_OPT) && warned("stepped by these gradients before"));
        CHECK(samba_run(n.s, both) && samba_write(n.at[1], g) && samba_run(n.s, SAMBA_OPT)
              && warned("OPT steps w1"));
        CHECK(samba_run(n.s, both) && samba_run(n.s, SAMBA_OPT) && warned(NULL));
        for (int i = 0; i < LAYERS; i++)
            CHECK(samba_write(samba_sn_grad(n.at[i]), g));
        CHECK(samba_run(n.s, SAMBA_FWD | SAMBA_OPT) && warned(NULL)); // gradients of the caller's
        const char *path = "ready_test.ckpt";
        CHECK(samba_run(n.s, both) && samba_save(n.s, path) && samba_restore(n.s, path));
        remove(path);
        CHECK(refuses(n.s, samba_run(n.s, SAMBA_OPT), "loaded or restored"));
        CHECK(samba_run(n.s, 0) && samba_close(n.s) == 0);
    }
}

// check_only says what a run would say, and leaves everything as it is.
static void test_check_only(void)
{
    net n = open_ready(SAMBA_O_DEFAULT);
    float x[ROWS * WIDTH] = { 3, 2, 1 };
    samba_feed feed = { .name = "x", .data = x, .bytes = sizeof x };
    samba_value rate = { "lr", 7 };
    samba_run_desc d = {
        .feeds = &feed, .n_feeds = 1, .hyperparams = &rate, .n_hyperparams = 1, .check_only = true
    };
    values before, after;
    read_values(&n, &before);
    CHECK(samba_run_with(n.s, &d) && samba_get(n.s, "lr") == 0.5);
    CHECK(samba_run(n.s, SAMBA_FWD));
    d.types[0] = SAMBA_BCKWD;
    CHECK(refuses(n.s, samba_run_with(n.s, &d), "reads x, which has another value"));
    d.n_feeds = 0;
    CHECK(samba_run_with(n.s, &d));
    read_values(&n, &after);
    CHECK(same_values(&before, &after) && samba_run(n.s, SAMBA_BCKWD) && samba_close(n.s) == 0);
}

// samba_eval leaves all that training goes on with: running statistics, the counter of dropout,
// gradients, modes. Its values are those of the program that infers.
static void test_eval(void)
{
    float x[ROWS * WIDTH], y_now[ROWS * WIDTH], var[2][WIDTH], slope[2][WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)(i * 5 % 7) / 3;
    for (int tests = 0; tests < 2; tests++) {
        samba_session *s = samba_open(&(samba_desc){ .threads = 1, .log = keep_warning });
        samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS, WIDTH));
        samba_tensor *h
            = samba_dropout(samba_batchnorm(samba_linear(in, "one", WIDTH), "norm"), "drop", 0.5f);
        samba_tensor *y = samba_name(samba_fake_quantize(samba_tanh(h), "fq"), "y");
        samba_program p = { .loss = samba_mean(samba_mul(y, y), SAMBA_ALL_AXES, false),
                            .outputs = { y },
                            .accumulate = true,
                            .optim = { .kind = SAMBA_SGD, .lr = 0.5f } };
        CHECK(samba_compile(s, &p) && samba_write(in, x));
        bool train, running;
        for (int step = 0; step < 3; step++) {
            CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
            if (tests) CHECK(samba_eval(s) && samba_copy_out(y, y_now, sizeof y_now));
            if (tests) CHECK(refuses(s, samba_run(s, SAMBA_BCKWD), "nothing was run"));
            CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD) && samba_run(s, SAMBA_OPT));
        }
        samba_modes(s, &train, &running);
        CHECK(train && !running && !last_warning[0]);
        CHECK(samba_copy_out(samba_tensor_by_name(s, "norm__running_var"), var[tests],
                             sizeof var[0]));
        const float *dw = samba_read(samba_sn_grad(samba_tensor_by_name(s, "one__weight")));
        memcpy(slope[tests], dw, sizeof slope[0]);
        CHECK(samba_eval(s) && samba_copy_out(y, y_now, sizeof y_now));
        p.accumulate = false;
        p.inference = true;
        p.loss = NULL;
        p.optim.kind = SAMBA_NO_OPTIM;
        p.optim.lr = 0;
        CHECK(samba_set_tracing(s, true) && samba_compile(s, &p) && samba_write(in, x)
              && samba_run(s, 0) && !memcmp(samba_read(y), y_now, sizeof y_now));
        if (!samba_ok(s)) printf("    %s\n", samba_error(s));
        CHECK(samba_close(s) == 0);
    }
    CHECK(!memcmp(var[0], var[1], sizeof var[0]) && !memcmp(slope[0], slope[1], sizeof slope[0]));
}

// What is allowed, but rarely meant: a test that moves running statistics, a result that no run has
// made, a value written where the next run writes.
static void test_rarely_meant(void)
{
    static const float x[4] = { 1, 2, 3, 4 };
    for (int norm = 0; norm < 2; norm++) {
        samba_session *s = samba_open(&(samba_desc){ .threads = 1, .log = keep_warning });
        samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 2)),
                     *y = samba_linear(in, "fc", 2);
        if (norm) y = samba_batchnorm(y, "norm");
        y = samba_name(samba_reshape(y, SAMBA_SHAPE(4)), "y");
        CHECK(samba_compile(s,
                            &(samba_program){ .loss = samba_mean(y, SAMBA_ALL_AXES, false),
                                              .outputs = { y },
                                              .optim = { .kind = SAMBA_SGD } }));
        CHECK(samba_write(in, x) && samba_read(y)[0] == 0
              && warned("samba_read(y): no run has computed it yet"));
        CHECK(samba_cpu(y) && warned("samba_cpu(y): no run has computed it yet"));
        samba_run_desc test = { .types = { SAMBA_FWD }, .eval = true };
        CHECK(samba_run_with(s, &test) && warned(norm ? "samba_eval" : NULL));
        CHECK(samba_read(y) && samba_cpu(y) && warned(NULL));
        CHECK(samba_run(s, SAMBA_FWD) && samba_run(s, SAMBA_BCKWD) && samba_run(s, SAMBA_OPT)
              && samba_eval(s) && warned(NULL));
        CHECK(samba_write(y, x) && warned("samba_write(y): the program computes it")
              && samba_close(s) == 0);
    }
}

int main(void)
{
    RUN(test_random_runs);
    RUN(test_single_sections);
    RUN(test_feeds_of_backward);
    RUN(test_restore_and_failure);
    RUN(test_modes_and_rates);
    RUN(test_given_result);
    RUN(test_state_that_moves);
    RUN(test_other_graph_moves_state);
    RUN(test_mixed_modes);
    RUN(test_steps);
    RUN(test_check_only);
    RUN(test_eval);
    RUN(test_rarely_meant);
    return test_summary();
}
