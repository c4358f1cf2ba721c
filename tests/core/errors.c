// What a session does beside returning an error: what can be read after one, and what every public
// function does with NULL.
#define SAMBA_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#define SAMBA_TORCH_NAMES_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/sambaflow.h"
#include "tools/include/samba/torch_names.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/lib/hook.h"
#include "tests/lib/session.h"
#include <math.h>
#include <stddef.h>
#include <time.h>

enum { B = 64, F = 4, C = 300, MANY = 2 };

typedef struct model {
    samba_session *s;
    samba_tensor *x, *y, *logits, *loss;
} model;

static samba_desc quiet_desc(hook *h)
{
    samba_desc d = { 0 };
    if (h) d = hook_desc(h);
    d.quiet = true;
    d.threads = 1;
    return d;
}

static model trained(hook *h, int32_t microbatches)
{
    samba_desc d = quiet_desc(h);
    model m = { .s = samba_open(&d) };
    int32_t rows = B;
    m.x = samba_input(m.s, "x", SAMBA_F32, SAMBA_SHAPE(rows, F));
    m.y = samba_input(m.s, "y", SAMBA_I32, SAMBA_SHAPE(rows));
    m.logits = samba_linear(m.x, "fc", C);
    m.loss = samba_cross_entropy(m.logits, m.y);
    samba_program p = { .loss = m.loss, .outputs = { m.logits }, .optim = { .kind = SAMBA_SGD } };
    p.microbatches = microbatches;
    CHECK(samba_compile(m.s, &p));
    return m;
}

static void run_once(model *m, int32_t label)
{
    static float x[MANY * B * F];
    static int32_t y[MANY * B];
    for (int i = 0; i < MANY * B * F; i++)
        x[i] = 0.25f * (float)(i % 9);
    for (int i = 0; i < MANY * B; i++)
        y[i] = i % C;
    y[5] = label;
    samba_write(m->x, x);
    samba_write(m->y, y);
    samba_run(m->s, 0);
}

static bool all_zero(const void *p, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)p;
    for (size_t i = 0; i < bytes; i++) {
        if (at[i]) return false;
    }
    return true;
}

// A loop over the values of a tensor reads zeros after an error, of each microbatch, too; what was
// got first can be read when a larger tensor has been asked for, and until the session is closed.
static void test_zeros_after_error(void)
{
    for (int32_t microbatches = 1; microbatches <= MANY; microbatches++) {
        hook h;
        model m = trained(&h, microbatches);
        run_once(&m, 1);
        CHECK(samba_ok(m.s) && samba_read(m.loss)[0] > 0.0f);
        CHECK(!all_zero(samba_read(m.logits), samba_bytes(m.logits)));
        run_once(&m, C + 7);
        CHECK(samba_error_code(m.s) == SAMBA_ERANGE);
        const float *loss = samba_read(m.loss), *x = samba_read(m.x);
        const float *logits = samba_read(m.logits);
        CHECK(all_zero(logits, samba_bytes(m.logits)));
        CHECK(all_zero(x, samba_bytes(m.x)));
        CHECK(loss[0] == 0.0f && all_zero(samba_read_i32(m.y), samba_bytes(m.y)));
        size_t held = samba_held_bytes(m.s);
        for (int i = 0; i < 100; i++)
            CHECK(samba_read(m.logits) == logits);
        CHECK(samba_held_bytes(m.s) == held);
        samba_clear_error(m.s); // and then it goes on
        run_once(&m, 1);
        CHECK(samba_read(m.loss)[0] > 0.0f && all_zero(logits, samba_bytes(m.logits)));
        samba_close(m.s);
        CHECK(h.live == 0 && h.n_wrong == 0);
    }
}

// A read that is itself the error: as many zeros as elements, of 4 bytes, whatever the type is.
static void test_zeros_of_wrong_type(void)
{
    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_tensor *bytes = samba_ones(s, "bytes", SAMBA_U8, SAMBA_SHAPE(9, 1111));
    samba_tensor *traced = samba_tanh(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(70, 70)));
    CHECK(all_zero(samba_read(bytes), 4 * 9999) && samba_error_code(s) == SAMBA_EDTYPE);
    samba_clear_error(s);
    CHECK(all_zero(samba_read(traced), 4 * 4900) && samba_error_code(s) == SAMBA_ESTATE);
    samba_clear_error(s);
    CHECK(all_zero(samba_read_i32(bytes), 4 * 9999));
    samba_close(s);
    CHECK(all_zero(samba_read(NULL), 4 * 4096) && all_zero(samba_read_i32(NULL), 4 * 4096));
}

// Without memory for zeros the tensor's own memory is read, as large as it is; without any, NULL.
static void test_zeros_without_memory(void)
{
    hook h;
    model m = trained(&h, 1);
    run_once(&m, 1);
    run_once(&m, -3);
    h.fail_at = h.n_calls;
    h.forever = true;
    CHECK(samba_read(m.loss)[0] == 0.0f && all_zero(samba_read(m.x), samba_bytes(m.x)));
    const float *logits = samba_read(m.logits);
    double sum = 0;
    for (int i = 0; logits && i < B * C; i++)
        sum += (double)logits[i] * 0.0;
    CHECK(logits != NULL && sum == 0.0);
    samba_close(m.s);
    samba_desc d = quiet_desc(&h);
    samba_session *s = samba_open(&d);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(200, 200));
    samba_fail(s, SAMBA_EIO, "any");
    h.fail_at = h.n_calls;
    h.forever = true;
    CHECK(samba_read(x) == NULL);
    samba_close(s);
    CHECK(h.live == 0 && h.n_wrong == 0);
}

// ---- Ranges: an option out of its range is an error that names it, its value and the range ----

typedef enum kind { KIND_FLOAT, KIND_I32, KIND_I64 } kind;

typedef struct option {
    const char *name;
    size_t at;
    kind kind;
    double bad[4], good[2]; // 0 ends the list of bad ones
} option;

#define OPTION(type, field, kind, ...) \
    { \
#field, offsetof(type, field), kind, __VA_ARGS__ \
    }

static const option optim_options[]
    = { OPTION(samba_optim, kind, KIND_I32, { -1, 99 }, { 1, 3 }),
        OPTION(samba_optim, lr, KIND_FLOAT, { NAN, -1e-3, INFINITY }, { 1e-9, 100 }),
        OPTION(samba_optim, momentum, KIND_FLOAT, { NAN, -0.5, -INFINITY }, { 0.5, 1 }),
        OPTION(samba_optim, dampening, KIND_FLOAT, { NAN, -0.5, 1.5 }, { 0.5, 1 }),
        OPTION(samba_optim, weight_decay, KIND_FLOAT, { NAN, -0.1, INFINITY }, { 0.1, 2 }),
        OPTION(samba_optim, beta1, KIND_FLOAT, { NAN, -0.1, 1, 2 }, { 0.99999, 1e-3 }),
        OPTION(samba_optim, beta2, KIND_FLOAT, { NAN, -0.1, 1, 2 }, { 0.99999, 1e-3 }),
        OPTION(samba_optim, eps, KIND_FLOAT, { NAN, -5, INFINITY }, { 1e-12, 1 }),
        OPTION(samba_optim, max_grad_norm, KIND_FLOAT, { NAN, -1, -INFINITY }, { 0.1, INFINITY }),
        OPTION(samba_optim, n_params, KIND_I32, { -1 }, { 0, 0 }) };
static const option program_options[]
    = { OPTION(samba_program, microbatches, KIND_I32, { -1, 65537 }, { 1, 2 }),
        OPTION(samba_program, n_loss_indices, KIND_I32, { -1, 65 }, { 0, 0 }),
        OPTION(samba_program, n_optims, KIND_I32, { -2 }, { 0, 0 }),
        OPTION(samba_program, weights, KIND_I32, { -1, 5 }, { 0, 0 }),
        OPTION(samba_program, level, KIND_I32, { -1, 4, 9 }, { 1, 3 }),
        OPTION(samba_program, mapping, KIND_I32, { -1, 2, 7 }, { 0, 1 }),
        OPTION(samba_program, sram_bytes, KIND_I64, { -5 }, { 1, 1 << 20 }),
        OPTION(samba_program, max_grad_norm, KIND_FLOAT, { NAN, -1, -INFINITY }, { 0.1, 0 }),
        OPTION(samba_program, memory, KIND_I64, { -5 }, { 1 << 30, 0 }),
        OPTION(samba_program, mem_limit[0], KIND_I64, { -1 }, { 0, 1 << 30 }),
        OPTION(samba_program, mem_limit[1], KIND_I64, { -1 }, { 0, 1 << 30 }),
        OPTION(samba_program, mem_limit[2], KIND_I64, { -1 }, { 0, 1 << 30 }),
        OPTION(samba_program, mem_limit[3], KIND_I64, { -1 }, { 0, 1 << 30 }) };
static const option init_options[]
    = { OPTION(samba_init, kind, KIND_I32, { -1, 3 }, { 1, 2 }),
        OPTION(samba_init, value, KIND_FLOAT, { NAN, INFINITY, -INFINITY }, { -3, 3 }),
        OPTION(samba_init, scale, KIND_FLOAT, { NAN, -1, INFINITY }, { 0, 3 }) };
static const option loss_options[]
    = { OPTION(samba_loss_opts, reduction, KIND_I32, { -1, 3 }, { 1, 2 }),
        OPTION(samba_loss_opts, label_smoothing, KIND_FLOAT, { NAN, -0.1, 1.1 }, { 0.1, 1 }) };
static const option attention_options[]
    = { OPTION(samba_attention_opts, scale, KIND_FLOAT, { NAN, INFINITY }, { 0.5, -1 }) };
static const option lazy_options[]
    = { OPTION(samba_lazy_opts, init_threads, KIND_I32, { -1 }, { 1, 3 }) };
static const option desc_options[]
    = { OPTION(samba_desc, threads, KIND_I32, { -1, -64 }, { 1, 3 }) };

static void set_option(void *options, const option *o, double value)
{
    char *to = (char *)options + o->at;
    float f = (float)value;
    int32_t i = o->kind == KIND_I32 ? (int32_t)value : 0;
    int64_t l = o->kind == KIND_I64 ? (int64_t)value : 0;
    if (o->kind == KIND_FLOAT) memcpy(to, &f, sizeof f);
    if (o->kind == KIND_I32) memcpy(to, &i, sizeof i);
    if (o->kind == KIND_I64) memcpy(to, &l, sizeof l);
}

// Uses these options in a session of its own. What the call returned, whatever the session says.
static bool use_optim(samba_session *s, const void *options)
{
    samba_program p = { .optim = *(const samba_optim *)options };
    p.loss = samba_mse(samba_linear(samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 4)), "fc", 4),
                       samba_ones(s, "y", SAMBA_F32, SAMBA_SHAPE(4, 4)), SAMBA_REDUCE_MEAN);
    return samba_compile(s, &p);
}

static bool use_program(samba_session *s, const void *options)
{
    samba_program p = *(const samba_program *)options;
    p.loss = samba_mse(samba_linear(samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 4)), "fc", 4),
                       samba_ones(s, "y", SAMBA_F32, SAMBA_SHAPE(4, 4)), SAMBA_REDUCE_MEAN);
    return samba_compile(s, &p);
}

static bool use_init(samba_session *s, const void *options)
{
    return samba_param(s, "w", SAMBA_SHAPE(3), *(const samba_init *)options) != NULL;
}

static bool use_loss(samba_session *s, const void *options)
{
    return samba_cross_entropy_with(samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 4)),
                                    samba_input(s, "y", SAMBA_I32, SAMBA_SHAPE(4)),
                                    (const samba_loss_opts *)options)
        != NULL;
}

static bool use_attention(samba_session *s, const void *options)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 4, 4));
    return samba_scaled_dot_product_attention(x, x, x, NULL, (const samba_attention_opts *)options);
}

static bool use_lazy(samba_session *s, const void *options)
{
    return samba_enable_lazy_param(s, (const samba_lazy_opts *)options);
}

typedef bool (*use_fn)(samba_session *s, const void *options);

static void try_options(const option *list, size_t n, const void *from, size_t size, use_fn use)
{
    char options[sizeof(samba_program)], value[40];
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 6; k++) {
            bool bad = k < 4;
            double x = bad ? list[i].bad[k] : list[i].good[k - 4];
            if (bad && x == 0.0) continue;
            memcpy(options, from, size);
            set_option(options, &list[i], x);
            samba_desc d = quiet_desc(NULL);
            samba_session *s = samba_open(use ? &d : (const samba_desc *)(const void *)options);
            bool fine = use ? use(s, options) : samba_ok(s);
            snprintf(value, sizeof value, "%g", x);
            if (x != x) snprintf(value, sizeof value, "NaN");
            CHECK(fine != bad && samba_ok(s) == fine);
            if (fine == bad) printf("    %s = %s: %s\n", list[i].name, value, samba_error(s));
            if (bad) CHECK(samba_error_code(s) == SAMBA_ERANGE);
            if (bad) CHECK(says(s, list[i].name) && says(s, value));
            samba_close(s);
        }
    }
}

#define TRY(list, from, use) \
    try_options(list, sizeof list / sizeof *list, from, sizeof *(from), use)

static void test_ranges(void)
{
    samba_optim sgd = { .kind = SAMBA_SGD };
    samba_program program = { .pef = NULL };
    samba_init init = { SAMBA_INIT_NORMAL, 0.0f, 1.0f };
    samba_loss_opts loss = { .reduction = SAMBA_REDUCE_SUM };
    samba_attention_opts attention = { .causal = true };
    samba_lazy_opts lazy = { .seed = 1 };
    samba_desc desc = { .quiet = true };
    TRY(optim_options, &sgd, use_optim);
    TRY(program_options, &program, use_program);
    TRY(init_options, &init, use_init);
    TRY(loss_options, &loss, use_loss);
    TRY(attention_options, &attention, use_attention);
    TRY(lazy_options, &lazy, use_lazy);
    TRY(desc_options, &desc, NULL);
    samba_session *s = samba_open(&desc);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4));
    CHECK(!samba_mse(x, x, (samba_reduction)7) && said(s, "reduction 7"));
    CHECK(!samba_dropout(x, "drop", NAN) && said(s, "p is NaN; it must be 0 ... 1"));
    CHECK(!samba_dropout(x, "drop", -0.5f) && said(s, "p is -0.5"));
    CHECK(!samba_cast(x, (samba_dtype)SAMBA_N_DTYPES) && said(s, "no type has number 11"));
    samba_tensor *image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(1, 1, 4, 4)), *four[4];
    samba_pool_opts half = { .kernel = { 3, 3 }, .padding = { 1, 1 } },
                    more = { { 3, 3 }, { 1, 1 }, { 2, 1 } };
    CHECK(samba_max_pool2d(image, &half) && !samba_max_pool2d(image, &more));
    CHECK(said(s, "kernel 3, stride 1, padding 2 do not fit 4 elements"));
    const int32_t conv[7] = { 1, 1, 0, 0, 1, 1, 1 };
    for (int i = 0; i < 4; i++)
        four[i] = image;
    CHECK(!samba_apply(s, "convolution", four, 4, conv, 7) && said(s, "4 inputs given"));
    CHECK(!samba_pad(x, SAMBA_SHAPE(1), samba_scalar_shape(), 0) && said(s, "pad"));
    CHECK(!samba_pad(x, samba_scalar_shape(), SAMBA_SHAPE(1), 0) && said(s, "pad"));
    CHECK(!samba_input(s, "z", (samba_dtype)-1, SAMBA_SHAPE(2)) && said(s, "number -1"));
    samba_close(s);
}

// The first of several schedules is looked at before anything runs, as the others are.
static void test_first_schedule(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    samba_tensor *loss = samba_sum(samba_linear(x, "fc", 2), SAMBA_ALL_AXES, false);
    CHECK(samba_compile(s, &(samba_program){ .loss = loss, .optim = { .kind = SAMBA_SGD } }));
    samba_run_desc both = { .types = { SAMBA_FWD | SAMBA_BCKWD, SAMBA_OPT } };
    CHECK(!samba_run_with(s, &both) && said(s, "x f32 (2,3) was never given a value"));
    samba_close(s);
}

// samba_set and a run's hyperparameters have the same ranges, and change nothing when they refuse.
static void test_ranges_of_set(void)
{
    static const struct {
        const char *name;
        double bad[4], good;
    } list[] = { { "lr", { NAN, -1, 1e300, -INFINITY }, 0 },
                 { "weight_decay", { NAN, -0.1, INFINITY }, 0 },
                 { "beta1", { NAN, -0.1, 1, 0.99999999999 }, 0.5 },
                 { "beta2", { NAN, -0.1, 1, 7 }, 0 },
                 { "eps", { NAN, -1, INFINITY }, 0 },
                 { "my_max_grad_norm", { NAN, -1 }, INFINITY },
                 { "p", { NAN, -1, 1.5 }, 1 },
                 { "drop__p", { NAN, -1, 1.5 }, 0 },
                 { "drop__seed", { NAN, -1, 0.5, 4294967296.0 }, 4294967295.0 } };

    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 4));
    samba_program p = { .loss = samba_linear(samba_dropout(x, "drop", 0.5f), "fc", 1) };
    p.optim.kind = SAMBA_ADAMW;
    p.optim.max_grad_norm = 1.0f;
    p.optim.argin_region_name = "my_";
    CHECK(samba_compile(s, &p));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        double before = samba_get(s, list[i].name);
        for (int k = 0; k < 4; k++) {
            samba_value value = { list[i].name, list[i].bad[k] };
            if (value.value == 0.0) continue;
            CHECK(!samba_set(s, value.name, value.value) && samba_error_code(s) == SAMBA_ERANGE);
            CHECK(said(s, list[i].name) && samba_get(s, list[i].name) == before);
            samba_run_desc run = { .hyperparams = &value, .n_hyperparams = 1 };
            CHECK(!samba_run_with(s, &run));
            CHECK(said(s, "it must be") && samba_get(s, list[i].name) == before);
        }
        CHECK(samba_set(s, list[i].name, list[i].good));
        CHECK(samba_get(s, list[i].name) == list[i].good);
    }
    samba_close(s);
}

// Options that contradict each other, or that would be ignored.
static void test_options_together(void)
{
    static const samba_optim list[1] = { { .kind = SAMBA_SGD } };
    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 4));
    samba_program p = { .loss = samba_linear(x, "fc", 1), .optim = { .lr = 0.1f } };
    CHECK(!samba_compile(s, &p) && said(s, "optim has fields, but no kind"));
    p.optim.kind = SAMBA_SGD;
    p.optims = list;
    p.n_optims = 1;
    CHECK(!samba_compile(s, &p) && said(s, "optim and optims are both given"));
    p.optims = NULL;
    CHECK(!samba_compile(s, &p) && said(s, "n_optims is 1, but optims is NULL"));
    p.n_optims = 0;
    p.optim.nesterov = true;
    CHECK(!samba_compile(s, &p) && said(s, "nesterov needs a momentum"));
    p.optim.momentum = 0.9f;
    p.optim.dampening = 0.1f;
    CHECK(!samba_compile(s, &p) && said(s, "nesterov needs a momentum and no dampening"));
    p.optim.dampening = 0.0f;
    CHECK(samba_compile(s, &p) && samba_run(s, 0));
    samba_close(s);
    d.alloc = samba__default_alloc;
    s = samba_open(&d);
    CHECK(said(s, "alloc and release come together"));
    samba_close(s);
}

// ---- Warnings ----

static char warned[4000];

static void keep_warnings(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level == SAMBA_LOG_WARNING) strncat(warned, text, sizeof warned - strlen(warned) - 1);
}

static samba_session *open_listener(void)
{
    samba_desc d = { .log = keep_warnings, .threads = 1 };
    warned[0] = 0;
    return samba_open(&d);
}

// Targets of another shape than the predictions, as torch warns.
static void test_broadcast_warning(void)
{
    samba_session *s = open_listener();
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(5, 1));
    samba_tensor *y = samba_randn(s, "y", SAMBA_SHAPE(5)),
                 *z = samba_randn(s, "z", SAMBA_SHAPE(5, 1));
    samba_mse(x, z, SAMBA_REDUCE_MEAN);
    CHECK(!warned[0] && samba_ok(s));
    CHECK(samba_mse(x, y, SAMBA_REDUCE_MEAN) && samba_ok(s));
    CHECK(strstr(warned, "x (5,1), y (5)") && strstr(warned, "broadcast to (5,5)"));
    warned[0] = 0;
    CHECK(samba_mse(x, y, SAMBA_REDUCE_NONE)->shape.ndim == 2 && !warned[0]); // once
    CHECK(!samba_mse(x, samba_randn(s, "odd", SAMBA_SHAPE(3, 3)), SAMBA_REDUCE_SUM) && !warned[0]);
    CHECK(!samba_mse(NULL, y, SAMBA_REDUCE_MEAN) && !samba_mse(x, NULL, SAMBA_REDUCE_MEAN));
    samba_close(s);
}

// Outputs that become losses only because no loss is named.
static void test_losses_warning(void)
{
    for (int i = 0; i < 7; i++) {
        samba_session *s = open_listener();
        samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 3));
        samba_tensor *out = samba_linear(x, "fc", 3),
                     *loss = samba_mean(out, SAMBA_ALL_AXES, false);
        samba_program p = { .optim = { .kind = SAMBA_SGD }, .outputs = { i == 1 ? loss : out } };
        bool warns = i == 0 || i == 2;
        if (i == 2) p.outputs[1] = loss;
        if (i == 3) p.loss = loss;
        if (i == 4) p.n_loss_indices = 1; // index 0: the logits, and meant
        if (i == 5) p.optim.kind = SAMBA_NO_OPTIM;
        if (i == 6) p.inference = true;
        CHECK(samba_compile(s, &p));
        CHECK(warns == (strstr(warned, "fc f32 (4,3)") != NULL) && warns == (warned[0] != 0));
        if (i == 2) CHECK(strstr(warned, loss->name));
        samba_close(s);
    }
    samba_session *s = open_listener(); // integers are an error still
    samba_tensor *out = samba_linear(samba_randn(s, "x", SAMBA_SHAPE(4, 3)), "fc", 3);
    samba_program p
        = { .optim = { .kind = SAMBA_SGD }, .outputs = { out, samba_argmax(out, 1, false) } };
    CHECK(!samba_compile(s, &p) && says(s, "cannot be a loss") && !warned[0]);
    samba_close(s);
}

// ---- What messages say of bad values and names ----

// The first bad one of several, whichever thread meets one first, and where it is.
static void test_bad_values_are_placed(void)
{
    for (int threads = 1; threads <= 4; threads += 3) {
        samba_desc d = { .threads = threads, .quiet = true };
        samba_session *s = samba_open(&d);
        samba_tensor *ids = samba_zeros(s, "ids", SAMBA_I32, SAMBA_SHAPE(4096, 3));
        samba_tensor *y = samba_embedding(ids, "table", 11, 32);
        samba_program p = { .inference = true, .outputs = { y } };
        CHECK(samba_compile(s, &p));
        static int32_t id[4096 * 3];
        for (int i = 0; i < 3; i++) {
            id[4000 + 3 * i] = 11;
            id[3100 + 3 * i] = -2;
            id[2000 + i] = 12;
        }
        for (int i = 0; i < 20; i++) {
            CHECK(samba_write(ids, id) && !samba_run(s, 0));
            CHECK(said(s, "ids holds 12 at [666,2], which is out of range 0 ... 10"));
        }
        memset(id, 0, sizeof id);
        CHECK(samba_write(ids, id) && samba_run(s, 0));
        CHECK(samba_close(s) == 0);
    }
}

// The error says which part of the batch it was; the next run begins with the first one.
static void test_bad_microbatch(void)
{
    const samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(4));
    samba_tensor *y = samba_embedding(ids, "table", 11, 3);
    samba_program p = { .loss = samba_mean(y, SAMBA_ALL_AXES, false),
                        .optim = { .kind = SAMBA_SGD },
                        .microbatches = 4 };
    CHECK(samba_compile(s, &p));
    for (int i = 0; i < 2; i++) {
        int32_t id[16] = { 0 };
        const samba_run_desc forward = { .types = { SAMBA_FWD } };
        id[9] = 99;
        CHECK(samba_write(ids, id) && !(i ? samba_run_with(s, &forward) : samba_run(s, 0)));
        CHECK(said(s, "ids holds 99 at [1], which is out of range 0 ... 10 (microbatch 2 of 4)"));
        id[9] = 5;
        CHECK(samba_write(ids, id) && (i ? samba_run_with(s, &forward) : samba_run(s, 0)));
        samba_tensor *table = samba_tensor_by_name(s, "table__weight");
        if (!i)
            CHECK(fabsf(samba_read(samba_sn_grad(table))[0] * 16 * 3 - 15) < 1e-4f
                  && fabsf(samba_read(samba_sn_grad(table))[15] * 16 * 3 - 1) < 1e-4f);
    }
    CHECK(samba_close(s) == 0);
}

static void test_bad_labels(void)
{
    for (int32_t microbatches = 1; microbatches <= MANY; microbatches++) {
        model m = trained(NULL, microbatches);
        run_once(&m, 300);
        CHECK(says(m.s, "y holds 300 at [5], which is out of range 0 ... 299"));
        CHECK(strstr(samba_error(m.s), "(microbatch 0 of 2)") != NULL == (microbatches == 2));
        samba_clear_error(m.s);
        run_once(&m, -100); // is ignored
        CHECK(samba_ok(m.s));
        samba_close(m.s);
    }
    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_set_tracing(s, false);
    int32_t at[4] = { 0, 1, 2, 1 }, rows[2] = { 1, 4 };
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 2));
    samba_tensor *i = samba_from_data(s, "i", SAMBA_I32, SAMBA_SHAPE(2, 2), at);
    samba_tensor *r = samba_from_data(s, "r", SAMBA_I32, SAMBA_SHAPE(2), rows);
    CHECK(!samba_gather(x, 0, i)
          && said(s, "in gather: i holds 2 at [1,0], which is out of range 0 ... 1"));
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(4, 2), 0.0f);
    CHECK(!samba_write_rows(cache, x, r)
          && said(s, "r holds 4 at [1], which is out of range -1 ... 3"));
    samba_close(s);
}

// Rows of a buffer in a type of fewer bits, at once: what does not go there is refused.
static void test_buffers_of_other_types(void)
{
    static const samba_dtype types[] = { SAMBA_F32, SAMBA_BF16, SAMBA_F16, SAMBA_I8 };
    float numbers[6] = { 1, -2, 3, 4, -5, 6 }, got[8];
    const float want[8] = { 4, -5, 6, 0, 0, 0, 0, 0 };
    int32_t rows[2] = { -1, 0 };
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_set_tracing(s, false);
    samba_tensor *x = samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3), numbers);
    samba_tensor *row = samba_from_data(s, "row", SAMBA_I32, SAMBA_SHAPE(2), rows);
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "cache_%d", i);
        samba_tensor *cache = samba_buffer_of(s, name, types[i], SAMBA_SHAPE(2, 3), 0.0f);
        samba_tensor *y = samba_write_rows(cache, samba_cast(x, types[i]), row);
        CHECK(y && y->dtype == types[i] && samba_copy_out_f32(y, got, 6));
        CHECK(!memcmp(got, want, 6 * sizeof *got));
        if (i == 0) continue;
        CHECK(!samba_write_rows(cache, x, row)
              && said(s, "rows of f32 do not go into a buffer of"));
    }
    CHECK(!samba_buffer_of(s, "ids", SAMBA_I32, SAMBA_SHAPE(2), 0.0f)
          && said(s, "in samba_buffer_of(ids): buffers are f32, bf16, f16 or i8"));
    samba_close(s);
}

static void test_near_names(void)
{
    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_tensor *x = samba_input(s, "weights", SAMBA_F32, SAMBA_SHAPE(2));
    samba_input(s, "labels", SAMBA_F32, SAMBA_SHAPE(2));
    CHECK(!samba_call_function(s, "torch.nn.functional.relo", &x, 1, NULL, 0)
          && said(s, "nearest name is relu"));
    CHECK(!samba_apply(s, "softmaks", &x, 1, NULL, 0) && said(s, "nearest name is softmax"));
    CHECK(samba_update_tensor(s, "weights", NULL));
    CHECK(!samba_tensor_by_name(s, "weights") && said(s, "was taken out of the session"));
    CHECK(!samba_tensor_by_name(s, "weight") && said(s, "nearest name is labels"));
    samba_close(s);
}

// ---- Computing at once: scopes, and what it costs without ----

// A training step on the host: a loss, its gradient, a step written back.
static double eager_step(samba_session *s, samba_tensor *w, int i)
{
    float x[32], g[12], v[12];
    int32_t y[8];
    for (int k = 0; k < 32; k++)
        x[k] = (float)((k * 7 + i) % 11) * 0.1f;
    for (int k = 0; k < 8; k++)
        y[k] = x[4 * k] > 0.5f ? 1 : 2;
    samba_tensor *in = samba_from_data_copy(s, "batch", SAMBA_F32, SAMBA_SHAPE(8, 4), x);
    samba_tensor *label = samba_from_data_copy(s, "label", SAMBA_I32, SAMBA_SHAPE(8), y);
    samba_tensor *loss = samba_cross_entropy(samba_affine(in, w, NULL), label);
    CHECK(samba_copy_out_f32(samba_grad(loss, w), g, 12) && samba_copy_out_f32(w, v, 12));
    for (int k = 0; k < 12; k++)
        v[k] -= 0.5f * g[k];
    CHECK(samba_write_f32(w, v, 12));
    return (double)samba_read(loss)[0];
}

// A thousand scopes hold what ten do; parameters, and what was there before, stay and go on.
static void test_scopes(void)
{
    hook h;
    samba_desc d = quiet_desc(&h);
    samba_session *s = samba_open(&d);
    CHECK(!samba_scope_end(s) && said(s, "no scope has begun"));
    CHECK(!samba_scope_begin(NULL) && !samba_scope_end(NULL));
    samba_set_tracing(s, false);
    samba_tensor *w
        = samba_param(s, "w", SAMBA_SHAPE(3, 4), (samba_init){ SAMBA_INIT_NORMAL, 0, 1 });
    samba_tensor *early = samba_tanh(w);
    char name[80];
    snprintf(name, sizeof name, "%s", early->name);
    float before[12];
    memcpy(before, samba_read(early), sizeof before);
    size_t held = 0;
    double first = 0, last = 0;
    for (int i = 0; i < 1000; i++) {
        CHECK(samba_scope_begin(s));
        last = eager_step(s, w, i);
        samba_dropout(samba_buffer(s, "running", SAMBA_SHAPE(40, 500), 1.0f), "drop", 0.5f);
        CHECK(samba_scope_begin(s)); // in the other
        samba_tensor *big = samba_full(s, SAMBA_SHAPE(300, 300), 2.0f);
        CHECK(big && samba_scope_end(s) && samba_tanh(w)); // the outer one goes on
        CHECK(samba_scope_end(s));
        if (i == 0) first = last;
        if (i == 10) held = samba_held_bytes(s);
    }
    CHECK(samba_held_bytes(s) == held && h.live == held && last < 0.5 * first);
    CHECK(samba_tensor_by_name(s, name) == early
          && !memcmp(samba_read(early), before, sizeof before));
    CHECK(samba_tensor_by_name(s, "running") && samba_tensor_by_name(s, "drop__p") && samba_ok(s));
    CHECK(!samba_tensor_by_name(s, "batch") && said(s, "unknown"));
    samba_set_tracing(s, true); // the session is as good as before
    samba_tensor *x = samba_input(s, "batch", SAMBA_F32, SAMBA_SHAPE(8, 4));
    samba_tensor *loss = samba_mean(samba_affine(x, w, NULL), SAMBA_ALL_AXES, false);
    samba_program p = { .loss = loss, .optim = { .kind = SAMBA_SGD } };
    CHECK(samba_compile(s, &p) && samba_zero_inputs(s) && samba_run(s, 0));
    held = 0;
    for (int i = 0; i < 200; i++) { // a loss on the host in each turn
        CHECK(samba_scope_begin(s) && samba_run(s, 0));
        CHECK(samba_read(samba_exp(loss))[0] >= 0.0f && samba_scope_end(s));
        if (i == 10) held = samba_held_bytes(s);
    }
    CHECK(samba_held_bytes(s) == held && samba_ok(s));
    CHECK(samba_scope_begin(s) && samba_tanh(w) && samba_scope_begin(s) && samba_tanh(w));
    samba_close(s); // scopes that did not end
    CHECK(h.live == 0 && h.n_wrong == 0);
}

// What is still read by a traced op, or is of the program, is not freed; an error standing frees.
static void test_scopes_refuse(void)
{
    hook h;
    samba_desc d = quiet_desc(&h);
    samba_session *s = samba_open(&d);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(3));
    CHECK(samba_scope_begin(s) && samba_set_tracing(s, false));
    samba_tensor *c = samba_scale(x, 3.0f);
    samba_set_tracing(s, true);
    samba_tensor *y = samba_mul(x, c);
    CHECK(!samba_scope_end(s) && said(s, "was made in the scope, is read by"));
    samba_program p = { .inference = true, .outputs = { y } };
    CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_read(y)[0] == 3.0f);
    CHECK(samba_scope_begin(s));
    CHECK(!samba_add(x, samba_ones(s, "odd", SAMBA_F32, SAMBA_SHAPE(7))) && !samba_ok(s));
    CHECK(!samba_scope_end(s)); // false for the error, but it has ended
    samba_clear_error(s);
    CHECK(!samba_scope_end(s) && said(s, "no scope has begun"));
    CHECK(samba_ones(s, "odd", SAMBA_F32, SAMBA_SHAPE(7)) && samba_ok(s));
    CHECK(samba_close(s) == 0 && h.live == 0 && h.n_wrong == 0);
    for (long fail = 0; fail < 60; fail++) { // no memory, at whatever call
        d = quiet_desc(&h);
        s = samba_open(&d);
        samba_tensor *w
            = samba_param(s, "w", SAMBA_SHAPE(3, 4), (samba_init){ SAMBA_INIT_NORMAL, 0, 1 });
        samba_set_tracing(s, false);
        h.fail_at = h.n_calls + fail;
        for (int i = 0; i < 2; i++) {
            samba_scope_begin(s);
            samba_tensor *z = samba_full(s, SAMBA_SHAPE(100, 100), 1.0f);
            samba_grad(
                samba_sum(samba_affine(samba_slice(z, 1, 0, 4, 1), w, NULL), SAMBA_ALL_AXES, false),
                w);
            samba_scope_end(s);
        }
        CHECK(samba_ok(s) == (h.n_failed == 0));
        samba_close(s);
        CHECK(h.live == 0 && h.n_wrong == 0);
    }
}

// How long 100 turns take in a session without scopes: the quickest of 10 in the beginning, and of
// 10 after 5,000 turns. A turn is a layer, a gradient and a write into a cache.
static void time_turns(double quickest[2])
{
    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 4));
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(9, 4), 0);
    samba_tensor *row = samba_zeros(s, "row", SAMBA_I32, SAMBA_SHAPE(1));
    samba_tensor *one = samba_slice(x, 0, 0, 1, 1);

    quickest[0] = quickest[1] = 1e9;
    for (int part = 0; part < 60 && samba_ok(s); part++) {
        double begin = samba_seconds();
        for (int i = 0; i < 100; i++) {
            samba_tensor *y = samba_linear(x, "fc", 4);
            samba_grad(samba_mse(y, x, SAMBA_REDUCE_MEAN), x);
            cache = samba_write_rows(cache, one, row);
        }
        double took = samba_seconds() - begin;
        int when = part >= 50;
        if ((when || (part >= 10 && part < 20)) && took < quickest[when]) quickest[when] = took;
    }

    CHECK(samba_ok(s));
    CHECK(samba_read(cache)[0] == samba_read(x)[0]);
    samba_close(s);
}

// Without a scope nothing is freed, but an op, a layer or a gradient takes as long as before. A
// cache that is written row by row, too. A busy machine may slow one attempt, not all of them.
static void test_time_without_scopes(void)
{
    double quickest[2] = { 0, 1 };
    for (int attempt = 0; attempt < 4 && quickest[1] > 1.5 * quickest[0]; attempt++)
        time_turns(quickest);

    CHECK(quickest[1] <= 1.5 * quickest[0]);
    if (quickest[1] > 1.5 * quickest[0])
        printf("    %.4f s, later %.4f s\n", quickest[0], quickest[1]);
}

// ---- Names, lists, choices ----

static bool has_name(const char *const *names, int32_t n, const char *name)
{
    for (int32_t i = 0; i < n; i++) {
        if (!strcmp(names[i], name)) return true;
    }
    return false;
}

// An output that is equal to another, or fused, has the name it was given, in the PEF, too.
static void test_names(void)
{
    for (int32_t microbatches = 1; microbatches <= 2; microbatches++) {
        samba_desc d = quiet_desc(NULL);
        samba_session *s = samba_open(&d);
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3));
        samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(4, 1));
        samba_set_sharing(s, true);
        samba_tensor *h = samba_relu(samba_linear(x, "fc", 5));
        samba_tensor *out = samba_linear(h, "head", 1), *twin = samba_linear(h, "head", 1);
        samba_tensor *loss = samba_mse(out, y, SAMBA_REDUCE_MEAN);
        char old[80];
        snprintf(old, sizeof old, "%s", out->name);
        CHECK(samba_name(out, "prediction") == out && !strcmp(out->name, "prediction"));
        CHECK(samba_name(out, "prediction") == out); // the same again
        CHECK(samba_name(twin, "twin") && samba_name(loss, "my loss") && samba_name(h, old));
        CHECK(!samba_name(h, "prediction") && said(s, "prediction is used twice"));
        CHECK(!samba_name(h, "") && said(s, "needs a name"));
        CHECK(!samba_name(h, NULL) && said(s, "needs a name") && !samba_name(NULL, "a"));
        CHECK(!samba_name(h, "a\nb") && said(s, "control characters"));
        CHECK(samba_tensor_by_name(s, "prediction") == out && samba_tensor_by_name(s, old) == h);
        samba_program p = { .loss = loss, .outputs = { out, twin }, .pef = "build/errors.pef" };
        p.optim.kind = SAMBA_SGD;
        p.microbatches = microbatches;
        CHECK(samba_compile(s, &p));
        CHECK(!samba_name(out, "late") && said(s, "before compiling"));
        for (int loaded = 0; loaded < 2; loaded++) {
            const char *names[8];
            CHECK(samba_output_names(s, names, 8) == 3 && has_name(names, 3, "prediction"));
            CHECK(has_name(names, 3, "twin") && (loaded || has_name(names, 3, "my loss")));
            CHECK(samba_input_names(s, names, 8) == 2 && has_name(names, 2, "x"));
            CHECK(samba_input_names(s, NULL, 8) == 2 && samba_input_names(s, names, 0) == 2);
            samba_tensor *list[8];
            CHECK(samba_parameters(s, list, 8) == 4 && samba_parameters(s, NULL, 0) == 4);
            for (int i = 0; i < 4; i++)
                CHECK(strstr(list[i]->name, "__"));
            CHECK(samba_zero_inputs(s) && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
            samba_tensor *a = samba_tensor_by_name(s, "prediction"),
                         *b = samba_tensor_by_name(s, "twin");
            CHECK(a && b && !memcmp(samba_read(a), samba_read(b), samba_bytes(a)) && samba_ok(s));
            CHECK(samba_tensor_by_name(s, "prediction__outputs__0") == a);
            CHECK(!samba_tensor_by_name(s, "x__outputs__0") && said(s, "unknown"));
            CHECK(!samba_tensor_by_name(s, "fc__weight__outputs__0") && said(s, "unknown"));
            samba_close(s);
            if (loaded) break;
            s = samba_open(&d); // in a process that has no graph
            CHECK(samba_load(s, "build/errors.pef", NULL));
            const samba_tensor *w = samba_tensor_by_name(s, "fc__weight");
            CHECK(w && w->shape.dim[0] == 5);
        }
    }
    CHECK(samba_input_names(NULL, NULL, 0) == 0 && samba_output_names(NULL, NULL, 0) == 0);
    CHECK(samba_parameters(NULL, NULL, 0) == 0);
}

static int n_asked;

static bool is_matrix(const samba_tensor *w, void *user)
{
    (void)user;
    n_asked++;
    return w->shape.ndim == 2;
}

static bool is_vector(const samba_tensor *w, void *user)
{
    (void)user;
    return w->shape.ndim == 1;
}

static bool is_called(const samba_tensor *w, void *user)
{
    return strstr(w->name, (const char *)user);
}

// Parameters are chosen by a question: no decay for vectors, these alone; lists come first.
static void test_select(void)
{
    static char b_layer[] = "b__", a_layer[] = "a__";
    for (int way = 0; way < 8; way++) {
        samba_desc d = quiet_desc(NULL);
        samba_session *s = samba_open(&d);
        samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 3));
        samba_tensor *out = samba_linear(samba_linear(x, "a", 3), "b", 1);
        samba_tensor *bias = samba_tensor_by_name(s, "a__bias");
        samba_optim o[2]
            = { { .kind = SAMBA_SGD, .lr = 0.5f }, { .kind = SAMBA_SGD, .lr = 1e-9f } };
        samba_program p
            = { .loss = samba_sum(out, SAMBA_ALL_AXES, false), .optims = o, .n_optims = 2 };
        const char *moved = "a__weight b__weight", *wrong = NULL;
        o[0].select = is_matrix;
        if (way == 0) o[1].select = is_vector;
        if (way == 2) {
            o[1].params = &bias;
            o[1].n_params = 1;
            moved = "a__weight b__weight";
        }
        if (way == 3) { // the list has it, whatever select would say
            o[1].select = is_vector;
            o[0].select = NULL;
            o[0].params = &bias;
            o[0].n_params = 1;
            moved = "a__bias";
        }
        if (way == 4) {
            o[1].select = is_called;
            o[1].select_user = a_layer;
            wrong = "selected by optimizers 0 and 1";
        }
        if (way == 5) {
            o[0].params = &bias;
            o[0].n_params = 1;
            wrong = "params and select";
        }
        if (way == 6) {
            samba_set_requires_grad(samba_tensor_by_name(s, "b__weight"), false);
            moved = "a__weight";
        }
        if (way == 7) {
            p.n_optims = 1;
            o[0].select = is_called;
            o[0].select_user = b_layer;
            moved = "b__weight b__bias";
        }
        n_asked = 0;
        CHECK(samba_compile(s, &p) == (wrong == NULL));
        if (wrong) CHECK(says(s, wrong));
        if (way == 1) CHECK(n_asked == 4); // each once
        if (way == 6) CHECK(n_asked == 3); // frozen ones are not asked about
        samba_tensor *list[4];
        CHECK(samba_parameters(s, list, 4) == 4);
        for (int i = 0; i < 4 && !wrong; i++) {
            float before[9], after[9];
            int64_t n = samba_count(&list[i]->shape);
            CHECK(samba_copy_out_f32(list[i], before, n) && samba_run(s, 0));
            CHECK(samba_copy_out_f32(list[i], after, n));
            double by = fabs((double)before[0] - (double)after[0]);
            CHECK((strstr(moved, list[i]->name) != NULL) == (by > 1e-4));
        }
        samba_close(s);
    }
}

// Numbers in messages.
static void test_numbers(void)
{
    static const struct {
        double x;
        const char *text;
    } list[] = { { 0, "0" },
                 { 0.25, "0.25" },
                 { (double)0.1f, "0.1" },
                 { 1e-5, "1e-05" },
                 { -2, "-2" },
                 { 1234567, "1234567" },
                 { 12345678, "12345680" },
                 { 0.000123, "0.000123" },
                 { 1e10, "1e+10" },
                 { 9.9999999, "10" },
                 { 99.5, "99.5" },
                 { 1.5e300, "1.5e+300" },
                 { -INFINITY, "-inf" },
                 { (double)1e-5f, "1e-05" },
                 { 5e-324, "4.940656e-324" },
                 { 65536, "65536" },
                 { NAN, "NaN" },
                 { (double)3.4028234663852886e38f, "3.402823e+38" },
                 { 0.05, "0.05" },
                 { 100, "100" } };

    char text[80];
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        samba__print(text, sizeof text, "%g", list[i].x);
        CHECK(!strcmp(text, list[i].text));
        if (strcmp(text, list[i].text)) printf("    %s, not %s\n", text, list[i].text);
    }
}

// 20,000 layers of one name get names at once; and a program lists its inputs in one pass.
static void test_many_names(void)
{
    enum { N = 20000 };

    static const char *names[N + 1];
    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_tensor *sum = NULL;
    char name[32];
    clock_t begin = clock();
    samba_set_sharing(s, true);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "x%d", i);
        samba_tensor *y = samba_linear(samba_input(s, name, SAMBA_F32, SAMBA_SHAPE(1, 1)), "fc", 1);
        sum = i ? samba_add(sum, y) : y;
        snprintf(name, sizeof name, i ? "fc_%d" : "fc", i + 1);
        CHECK(y && !strcmp(y->name, name));
    }
    CHECK((double)(clock() - begin) / CLOCKS_PER_SEC < 2);
    samba_program p = { .outputs = { sum }, .inference = true, .level = SAMBA_O0 };
    CHECK(samba_compile(s, &p));
    begin = clock();
    CHECK(samba_input_names(s, names, N + 1) == N && samba_output_names(s, names + N, 1) == 1);
    double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
    CHECK(took < 0.5); // a pass for each input would take 10 s
    if (took >= 0.5) printf("    %.3f s\n", took);
    samba_close(s);
}

// The next name of a kind is that of the tensors which have the name now.
static void test_next_name(void)
{
    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(2, 3)), *y[3];
    samba_set_sharing(s, true);
    for (int i = 0; i < 3; i++)
        y[i] = samba_linear(x, "fc", 2);
    CHECK(!strcmp(y[2]->name, "fc_3") && samba_name(y[0], "head"));
    y[0] = samba_linear(x, "head", 2);
    y[1] = samba_linear(x, "fc", 2);
    CHECK(!strcmp(y[0]->name, "head_2") && !strcmp(y[1]->name, "fc"));
    CHECK(!strcmp(samba_linear(x, "fc", 2)->name, "fc_4"));
    samba_close(s);
}

// ---- Control characters in names ----

// Lines but no other control characters; those of the second set begin with C2.
static bool is_tame(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        bool second = p[0] == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0;
        if ((*p < 32 && *p != '\n') || *p == 127 || second) return false;
    }
    return true;
}

static void keep_text(const char *text, void *user)
{
    strcat((char *)user, text);
}

// The whole file, with a zero behind it.
static char *whole_file(const char *path, size_t *size)
{
    char *bytes = read_whole(path, size);
    CHECK(bytes != NULL);
    return bytes;
}

// Writes a PEF in which a name has other letters, as many, and its checksum is right.
static void forge(const char *path, const char *name, const char *other)
{
    size_t size;
    uint8_t *bytes = (uint8_t *)whole_file(path, &size);
    uint64_t data, hash;
    for (size_t i = 0; bytes && i + strlen(name) < size; i++)
        if (!memcmp(bytes + i, name, strlen(name))) memcpy(bytes + i, other, strlen(other));
    memcpy(&data, bytes + 96, 8);
    hash = samba__hash(bytes + 32, size - 32 - (size_t)data, 0);
    memcpy(bytes + 24, &hash, 8);
    CHECK(write_whole(path, bytes, size));
    free(bytes);
}

// What the program of a device is told of a file.
static void check_device(const char *path, const char *shown)
{
    char why[400] = "";
    size_t size;
    char *bytes = whole_file(path, &size);
    bytes[size / 2] ^= 1;
    CHECK(!samba_runtime_bytes(bytes, size, why, sizeof why) && is_tame(why));
    free(bytes);
    samba_session *s = samba_open(NULL);
    samba_set_quiet(s, true);
    CHECK(samba_load(s, path, NULL) && !samba_tensor_by_name(s, "fc-ab__weigh"));
    CHECK(is_tame(samba_error(s)) && strstr(samba_error(s), shown));
    samba_close(s);
}

// A name keeps its bytes, wherever it is used; where people read it, a terminal has nothing to
// obey. A text that does not fit, however names are shortened, is cut, and not lost.
static void test_long_texts(void)
{
    static char name[300], text[2000];
    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    memset(name, 'n', sizeof name - 1);
    memset(text, 't', sizeof text - 1);

    CHECK(!samba_fail(s, SAMBA_EARG, "%s %s %s %s %s %s", name, name, name, name, name, name));
    CHECK(strncmp(samba_error(s), "SAMBA_EARG nnn", 14) == 0 && strlen(samba_error(s)) > 900);

    samba_clear_error(s);
    const char *former = samba_error_context(s, text);
    CHECK(!samba_fail(s, SAMBA_EARG, "%d", 7));
    CHECK(strncmp(samba_error(s), "SAMBA_EARG ttt", 14) == 0 && strlen(samba_error(s)) > 190);
    samba_error_context(s, former);
    samba_close(s);
}

static void test_control_characters(void)
{
    static const char name[] = "fc\xc2\x9b!\x7f\xc3\xa9", shown[] = "fc\\xC2\\x9B!\\x7F\xc3\xa9";
    static const char path[] = "build/control.pef", wild[] = "build/\x1b[2J\a\n";
    static char text[65536];
    size_t size;
    samba_desc d = quiet_desc(NULL);
    samba_session *s = samba_open(&d);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    samba_tensor *y = samba_linear(samba_linear(x, name, 2), "fc-ab", 2);
    samba_program p = { .loss = samba_mean(y, SAMBA_ALL_AXES, false),
                        .pef = path,
                        .optim = { .kind = SAMBA_SGD } };
    samba_print_graph(s, keep_text, text);
    CHECK(is_tame(text) && strstr(text, shown) && strstr(text, "\n"));
    CHECK(samba_compile(s, &p));
    char *log = whole_file("build/control.pef.log", &size);
    CHECK(is_tame(log) && strstr(log, shown) && strstr(log, "gradient of fc\\xC2\\x9B"));
    free(log);
    char *map = whole_file("build/control.pef.map", &size);
    CHECK(map && strstr(map, "samba-map\t1\nnode\t") == map && strstr(map, shown));
    free(map);
    CHECK(samba_tensor_by_name(s, "fc\xc2\x9b!\x7f\xc3\xa9__weight"));
    CHECK(!samba_load(s, wild, NULL) && is_tame(samba_error(s)));
    CHECK(strstr(samba_error(s), "build/\\x1B[2J\\x07\\x0A"));
    samba_clear_error(s);
    const char *former = samba_error_context(s, wild);
    CHECK(!samba_fail(s, SAMBA_EARG, "%s", wild) && is_tame(samba_error(s)));
    samba_error_context(s, former);
    samba_close(s);
    forge(path, "fc-ab", "fc\x1b[m");
    check_device(path, "fc\\x1B[m__");
}

int main(void)
{
    RUN(test_control_characters);
    RUN(test_long_texts);
    RUN(test_zeros_after_error);
    RUN(test_zeros_of_wrong_type);
    RUN(test_zeros_without_memory);
    RUN(test_ranges);
    RUN(test_first_schedule);
    RUN(test_ranges_of_set);
    RUN(test_options_together);
    RUN(test_numbers);
    RUN(test_bad_values_are_placed);
    RUN(test_bad_microbatch);
    RUN(test_bad_labels);
    RUN(test_buffers_of_other_types);
    RUN(test_near_names);
    RUN(test_names);
    RUN(test_select);
    RUN(test_many_names);
    RUN(test_next_name);
    RUN(test_scopes);
    RUN(test_scopes_refuse);
    RUN(test_time_without_scopes);
    RUN(test_broadcast_warning);
    RUN(test_losses_warning);
    return test_summary();
}
