// A thread may round in another direction, flush subnormals or trap. No bit of samba.h may depend
// on that, and the thread gets its mode and its exception flags back from each call.
//     cc -O2 -I. tests/core/float_mode.c -lm -pthread -o float_mode && ./float_mode
// run: threads
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2_MATH__) || defined(__x86_64__)
enum { NEAREST = 0x1f80, UPWARD = 0x5f80, DOWNWARD = 0x3f80, TO_ZERO = 0x7f80, FLUSH = 0x9fc0 };

enum { TRAPS = 0x0000 };

static const struct {
    const char *name;
    unsigned mode;
} modes[] = {
    { "the default", NEAREST }, { "upward", UPWARD },       { "downward", DOWNWARD },
    { "to zero", TO_ZERO },     { "flush to zero", FLUSH }, { "traps", TRAPS },
};

static void set_mode(unsigned mode)
{
    __asm__ volatile("ldmxcsr %0" : : "m"(mode) : "memory");
}

static unsigned get_mode(void)
{
    unsigned mode;
    __asm__ volatile("stmxcsr %0" : "=m"(mode) : : "memory");
    return mode;
}
#else
enum { NEAREST = FE_TONEAREST, UPWARD = FE_UPWARD };

static const struct {
    const char *name;
    unsigned mode;
} modes[] = {
    { "the default", FE_TONEAREST },
    { "upward", FE_UPWARD },
    { "downward", FE_DOWNWARD },
    { "to zero", FE_TOWARDZERO },
};

static void set_mode(unsigned mode)
{
    feclearexcept(FE_ALL_EXCEPT);
    fesetround((int)mode);
}

static unsigned get_mode(void)
{
    return (unsigned)fegetround() | (fetestexcept(FE_ALL_EXCEPT) ? 1u << 31 : 0u);
}
#endif
enum { N_MODES = sizeof modes / sizeof *modes };

static unsigned callers = NEAREST; // the mode in which samba.h is called
static uint64_t sum;               // of all that came out of a story

// Runs a statement in the caller's mode, which it must leave as it is, flags and all.
#define IN_MODE(statement) \
    do { \
        set_mode(callers); \
        statement; \
        unsigned after = get_mode(); \
        set_mode(NEAREST); \
        if (after != callers) printf("the mode is %x after line %d\n", after, __LINE__); \
        CHECK(after == callers); \
    } while (0)

static void take(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
}

static void take_tensor(samba_tensor *t)
{
    size_t size = samba_bytes(t);
    uint8_t *copy = (uint8_t *)calloc(size + 1, 1);
    IN_MODE(CHECK(samba_copy_out(t, copy, size)));
    take(copy, size);
    free(copy);
}

static void take_file(const char *path)
{
    size_t size;
    void *bytes = read_whole(path, &size);
    CHECK(bytes != NULL);
    if (bytes) take(bytes, size);
    free(bytes);
}

// An op that leaves another mode behind, in whatever thread it runs.
static void rude_kernel(const samba_args *a)
{
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = a->in[0][i] * 1.1f;
    set_mode(UPWARD);
}

static void rude_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba_count(&c->in[0].shape);
    w->flops = 64 * w->units[0];
}

static const samba_op rude = {
    .name = "rude", .wire = 0x9001, .signature = "*->*", .work = rude_work, .kernel = rude_kernel
};

static void rude_event(const char *name, int32_t id, bool begins, void *user)
{
    (void)name;
    (void)begins;
    (void)user;
    if (id >= 0) set_mode(UPWARD); // within a run
}

static void rude_node(int32_t node, const char *name, const samba_op *op, const samba_args *args,
                      bool begins, void *user)
{
    (void)node;
    (void)name;
    (void)op;
    (void)args;
    (void)begins;
    (void)user;
    set_mode(UPWARD);
}

enum { N = 40000, ROWS = 8, IN = 24, OUT = 5 };

static float wide[N], image[ROWS * IN];
static int32_t label[ROWS];
static char pef[300], checkpoint[300]; // named after the program

static void fill_data(void)
{
    for (int i = 0; i < N; i++)
        wide[i] = i % 3 ? (float)i * 1e-42f : (float)i * 0.37f;
    for (int i = 0; i < ROWS * IN; i++)
        image[i] = (float)(i * 37 % 101) * 0.013f - 0.6f;
    for (int i = 0; i < ROWS; i++)
        label[i] = i % OUT;
}

// ---- What is computed at once -------------------------------------------------------------------

static void eager(const samba_desc *desc)
{
    samba_session *s = NULL;
    samba_tensor *x = NULL, *y = NULL, *half = NULL;
    IN_MODE(s = samba_open(desc));
    samba_set_tracing(s, false);
    IN_MODE(x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(N), wide));
    IN_MODE(y = samba_scale(x, 0.3f));
    take_tensor(y);
    IN_MODE(CHECK(samba_register_op(s, &rude)));
    IN_MODE(y = samba_apply(s, "rude", &x, 1, NULL, 0));
    IN_MODE(y = samba_tanh(samba_scale(y, 0.7f)));
    take_tensor(y);
    IN_MODE(
        y = samba_sum(samba_softmax(samba_reshape(x, SAMBA_SHAPE(200, 200)), 1), SAMBA_AXES(0), 0));
    take_tensor(y);
    IN_MODE(y = samba_randn(s, "noise", SAMBA_SHAPE(999)));
    take_tensor(y);
    IN_MODE(y = samba_linear(samba_reshape(x, SAMBA_SHAPE(1000, 40)), "eager", 7));
    take_tensor(y);
    IN_MODE(half = samba_zeros(s, "half", SAMBA_F16, SAMBA_SHAPE(N)));
    IN_MODE(CHECK(samba_write_f32(half, wide, N)));
    take_tensor(half);
    IN_MODE(CHECK(samba_copy_out_f32(half, wide, N)));
    take(wide, sizeof wide);
    fill_data();
    IN_MODE(samba_fail(s, SAMBA_ERANGE, "a number: %g, %g", 0.1, 1e-40));
    take(samba_error(s), strlen(samba_error(s)));
    IN_MODE(CHECK(samba_close(s) == 1));
}

// ---- A training, its files, and the device half -------------------------------------------------

typedef struct net {
    samba_session *s;
    samba_tensor *x, *labels, *y, *loss;
} net;

static net trace(const samba_desc *desc)
{
    net n = { NULL, NULL, NULL, NULL, NULL };
    IN_MODE(n.s = samba_open(desc));
    IN_MODE(n.x = samba_input(n.s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS, IN)));
    IN_MODE(n.labels = samba_input(n.s, "label", SAMBA_I32, SAMBA_SHAPE(ROWS)));
    samba_tensor *h = NULL;
    IN_MODE(h = samba_gelu(samba_linear(n.x, "first", 33)));
    IN_MODE(h = samba_dropout(samba_layernorm(h, "norm"), "drop", 0.1f));
    IN_MODE(h = samba_reshape(h, SAMBA_SHAPE(ROWS, 3, 11)));
    IN_MODE(h = samba_relu(samba_batchnorm(samba_conv1d(h, "conv", 4, 3, NULL), "batch")));
    IN_MODE(h = samba_scale(samba_scale(samba_reshape(h, SAMBA_SHAPE(ROWS, 36)), 0.3f), 0.7f));
    IN_MODE(n.y = samba_linear(h, "last", OUT));
    IN_MODE(n.loss = samba_mean(samba_cross_entropy(n.y, n.labels), SAMBA_ALL_AXES, false));
    return n;
}

static void train(const samba_desc *desc)
{
    net n = trace(desc);
    IN_MODE(samba_on_event(n.s, rude_event, NULL));
    samba_program program = { .pef = pef, .loss = n.loss, .outputs = { n.y } };
    program.optim.kind = SAMBA_ADAMW;
    program.optim.lr = 0.1f;
    program.optim.max_grad_norm = 0.7f;
    IN_MODE(CHECK(samba_compile(n.s, &program)));
    take_file(pef);
    IN_MODE(samba_write(n.x, image));
    IN_MODE(samba_write(n.labels, label));
    for (int step = 0; step < 3; step++) {
        double lr = 0.1 / (step + 1);
        IN_MODE(CHECK(samba_set(n.s, "lr", lr)));
        if (step == 2) IN_MODE(samba_on_node(n.s, rude_node, NULL));
        IN_MODE(CHECK(samba_run(n.s, 0)));
        IN_MODE(lr = samba_get(n.s, "lr"));
        take(&lr, sizeof lr);
        take_tensor(n.loss);
    }
    IN_MODE(CHECK(samba_save(n.s, checkpoint)));
    take_file(checkpoint);
    IN_MODE(CHECK(samba_restore(n.s, checkpoint)));
    samba_tensor *const outputs[] = { n.y };
    samba_run_desc eval = { .types = { SAMBA_FWD },
                            .outputs = outputs,
                            .n_outputs = 1,
                            .eval = true,
                            .running_stats = true };
    IN_MODE(CHECK(samba_run_with(n.s, &eval)));
    take_tensor(n.y);
    IN_MODE(CHECK(samba_load(n.s, checkpoint, NULL)));
    IN_MODE(CHECK(samba_close(n.s) == 0));
}

static void quantize(const samba_desc *desc)
{
    net n = trace(desc);
    samba_program program = { .inference = true, .outputs = { n.y }, .quantize = SAMBA_CALIBRATE };
    IN_MODE(CHECK(samba_compile(n.s, &program)));
    IN_MODE(samba_write(n.x, image));
    IN_MODE(CHECK(samba_run(n.s, 0)));
    program.quantize = SAMBA_INT8;
    IN_MODE(CHECK(samba_compile(n.s, &program)));
    IN_MODE(samba_write(n.x, image));
    IN_MODE(CHECK(samba_run(n.s, 0)));
    take_tensor(n.y);
    IN_MODE(CHECK(samba_save(n.s, checkpoint)));
    take_file(checkpoint);
    IN_MODE(CHECK(samba_close(n.s) == 0));
}

static void run_runtime(void)
{
    static uint64_t file[1 << 15], memory[1 << 19];
    char why[300] = "";
    size_t size = read_into(checkpoint, file, sizeof file), need = 0;
    IN_MODE(need = samba_runtime_bytes(file, size, why, sizeof why));
    CHECK(need > 0 && need <= sizeof memory);
    samba_runtime *rt = NULL;
    IN_MODE(rt = samba_runtime_open(file, size, memory, sizeof memory, why, sizeof why));
    if (!rt) printf("%s\n", why);
    CHECK(rt != NULL);
    void *y = NULL, *x = samba_runtime_data(rt, "x");
    if (x) memcpy(x, image, sizeof image);
    IN_MODE(CHECK(samba_runtime_run(rt, SAMBA_FWD)));
    y = samba_runtime_data(rt, "last");
    CHECK(y != NULL);
    if (y) take(y, ROWS * OUT * sizeof(float));
}

static uint64_t story(int32_t threads, bool portable)
{
    const samba_desc desc = { .threads = threads, .portable = portable, .quiet = true };
    sum = 0xcbf29ce484222325u;
    eager(&desc);
    train(&desc);
    run_runtime();
    quantize(&desc);
    run_runtime();
    return sum;
}

static void test_modes(void)
{
    uint64_t usual = story(1, false);
    for (int k = 0; k < N_MODES; k++) {
        for (int32_t threads = 1; threads <= 4; threads++) {
            callers = modes[k].mode;
            uint64_t here = story(threads, threads == 3);
            callers = NEAREST;
            if (here != usual) printf("%s, %d threads: other bits\n", modes[k].name, (int)threads);
            CHECK(here == usual);
        }
    }
}

// Flags that the caller has set stay set.
static void test_flags(void)
{
    samba_session *s = samba_open(NULL);
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_DIVBYZERO);
    samba_set_tracing(s, false);
    samba_tensor *y = samba_tanh(samba_randn(s, "x", SAMBA_SHAPE(100)));
    CHECK(y != NULL && fetestexcept(FE_ALL_EXCEPT) == FE_DIVBYZERO);
    feclearexcept(FE_ALL_EXCEPT);
    CHECK(samba_close(s) == 0);
}

// A loss that is not finite is looked at, and told of, in every mode: with traps nothing is raised.
static void test_infinite_loss(void)
{
    for (int k = 0; k < N_MODES; k++) {
        for (int nan = 0; nan < 2; nan++) {
            samba_session *s = samba_open(&(samba_desc){ .quiet = true });
            samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1));
            samba_tensor *w
                = samba_param(s, "w", SAMBA_SHAPE(1), (samba_init){ SAMBA_INIT_CONSTANT, 1, 0 });
            samba_tensor *loss = samba_sum(samba_mul(x, w), SAMBA_ALL_AXES, false);
            samba_program p = { .loss = loss, .optim = { .kind = SAMBA_SGD } };
            CHECK(samba_compile(s, &p));
            const uint32_t bits = nan ? 0x7f800001u : 0x7f800000u; // a signaling NaN, too
            float value[1];
            CHECK(samba_write(x, &bits));
            callers = modes[k].mode;
            IN_MODE(CHECK(samba_run(s, SAMBA_FWD)));
            IN_MODE(CHECK(samba_copy_out(loss, value, sizeof value)));
            IN_MODE(CHECK(samba_read(loss) != NULL));
            callers = NEAREST;
            CHECK(samba_close(s) == 0);
        }
    }
}

// The same mode for arithmetic of one's own.
static void test_own_arithmetic(void)
{
    volatile float one = 1.0f, third = 3.0f;
    float usual = one / third;
    set_mode(UPWARD);
    uint64_t mode = samba_enter_float_mode();
    float here = one / third;
    samba_leave_float_mode(mode);
    CHECK(get_mode() == UPWARD);
    set_mode(NEAREST);
    CHECK(here == usual);
}

int main(int argc, char **argv)
{
    (void)argc;
    snprintf(pef, sizeof pef, "%.200s.pef", argv[0]);
    snprintf(checkpoint, sizeof checkpoint, "%.200s.ckpt", argv[0]);
    fill_data();
    RUN(test_modes);
    RUN(test_flags);
    RUN(test_infinite_loss);
    RUN(test_own_arithmetic);
    remove(pef);
    remove(checkpoint);
    return test_summary();
}
