// Lazy parameters: drawn when they are needed, the same whoever draws; GPT-2 XL compiles in a few
// megabytes, and the driver says what its run would take.
//     cc -O2 -I. tests/core/lazy.c -lcjson -lm -pthread -o lazy && ./lazy
// run: -lcjson needs:cjson/cJSON.h threads
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/driver.h"
#include "tools/include/samba/gpt2.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 1 << 18 };

static const samba_init normal = { SAMBA_INIT_NORMAL, 0, 1 };
static char out_folder[300]; // named after the program

// ---- How values are drawn ----

// MANY values of the parameter w; noise: other random numbers are drawn before.
static float *draw(uint64_t session_seed, int32_t threads, const samba_lazy_opts *opts, bool noise,
                   samba_init init)
{
    float *values = (float *)malloc(MANY * sizeof *values);
    samba_session *s = samba_open(&(samba_desc){ .seed = session_seed, .threads = threads });
    if (opts) CHECK(samba_enable_lazy_param(s, opts));
    if (noise) samba_randn(s, "noise", SAMBA_SHAPE(1000));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(MANY), init);
    if (noise) samba_read(samba_param(s, "v", SAMBA_SHAPE(77), init));
    CHECK(samba_copy_out(w, values, MANY * sizeof *values));
    CHECK(samba_close(s) == 0);
    return values;
}

static bool same(float *a, float *b) // and frees both
{
    bool equal = memcmp(a, b, MANY * sizeof *a) == 0;
    free(a);
    free(b);
    return equal;
}

static void test_threads(void)
{
    static const int32_t threads[] = { 1, 3, 8 };
    static const samba_init inits[]
        = { { SAMBA_INIT_NORMAL, 0.5f, 0.02f }, { SAMBA_INIT_UNIFORM, 0, 3 } };
    for (int i = 0; i < 2; i++) {
        for (int inverse = 0; inverse < 2; inverse++) {
            samba_lazy_opts opts
                = { .seed = 9, .init_threads = 1, .inverse_transform_sampling = inverse };
            for (int k = 0; k < 3; k++) {
                samba_lazy_opts other = opts;
                other.init_threads = threads[k];
                CHECK(same(draw(5, 1, &opts, false, inits[i]),
                           draw((uint64_t)k, 4, &other, true, inits[i])));
            }
        }
    }
}

static void test_seed(void)
{
    const samba_lazy_opts seven = { .seed = 7 }, none = { 0 };
    CHECK(same(draw(7, 2, NULL, false, normal), draw(1, 2, &seven, false, normal)));
    CHECK(same(draw(7, 2, &none, false, normal), draw(7, 2, NULL, true, normal)));
    CHECK(!same(draw(1, 2, NULL, false, normal), draw(1, 2, &seven, false, normal)));
}

// The largest distance between the distribution of x (n, sorted) and the normal one.
static double kolmogorov(const float *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        double p = 0.5 * erfc(-(double)x[i] / sqrt(2.0)), low = p - (double)i / n;
        double high = (i + 1.0) / n - p;
        most = fmax(most, fmax(low, high));
    }
    return most;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void test_normal(void)
{
    for (int inverse = 0; inverse < 2; inverse++) {
        samba_lazy_opts opts = { .inverse_transform_sampling = inverse };
        float *x = draw(11, 2, &opts, false, normal);
        qsort(x, MANY, sizeof *x, by_value);
        double d = kolmogorov(x, MANY) * sqrt((double)MANY);
        CHECK(d < 1.95); // one sample in a thousand is farther off
        CHECK(x[0] < -3.9f && x[MANY - 1] > 3.9f);
        free(x);
    }
}

// x with P(normal > x) = p, p <= 1/2: Newton's steps from the side where they do not overshoot.
static double upper_quantile(double p)
{
    double x = 0;
    for (int i = 0; i < 200; i++) {
        double d = (0.5 * erfc(x / sqrt(2.0)) - p) * sqrt(2 * 3.14159265358979324) * exp(x * x / 2);
        x += d;
        if (fabs(d) < 1e-14) break;
    }
    return x;
}

typedef struct pair {
    uint32_t word;
    float x;
} pair;

static int by_word(const void *a, const void *b)
{
    uint32_t x = ((const pair *)a)->word, y = ((const pair *)b)->word;
    return (x > y) - (x < y);
}

// u = (k + 1/2) / 2^32, and x is where the normal distribution reaches u.
static void test_inverse(void)
{
    samba_lazy_opts opts = { .inverse_transform_sampling = true };
    float *x = draw(12, 2, &opts, false, normal);
    pair *pairs = (pair *)malloc(MANY * sizeof *pairs);
    double worst = 0;
    int n_down = 0;
    for (int i = 0; i < MANY; i += 4) {
        uint32_t words[4];
        samba_random(12, "w", (uint64_t)i / 4, words);
        for (int k = 0; k < 4; k++) {
            uint32_t upper = words[k] >> 31, m = upper ? ~words[k] : words[k];
            double want = upper_quantile((m + 0.5) / 4294967296.0);
            pairs[i + k] = (pair){ words[k], x[i + k] };
            worst = fmax(worst, fabs((upper ? want : -want) - (double)x[i + k]));
        }
    }
    CHECK(worst < 3e-7);
    qsort(pairs, MANY, sizeof *pairs, by_word);
    for (int i = 1; i < MANY; i++) { // monotone in u; neighbours share their last bits
        bool apart = pairs[i].word - pairs[i - 1].word > 1000;
        n_down += apart ? pairs[i].x <= pairs[i - 1].x : pairs[i].x < pairs[i - 1].x - 1.2e-7f;
    }
    CHECK(n_down == 0);
    free(pairs);
    free(x);
}

// ---- Rounding ----

static uint16_t as_bf16(float f, bool cut)
{
    uint32_t u, low;
    memcpy(&u, &f, 4);
    low = u & 0xFFFF;
    u >>= 16;
    if (f != f) return (uint16_t)(u | 0x40);
    return (uint16_t)(u + (!cut && (low > 0x8000 || (low == 0x8000 && (u & 1)))));
}

// A parameter (N,K) with a NaN whose bits are all low ones, packed as bf16: panels of K rows.
static int n_rounded_otherwise;

static void check_rounding(const char *rounding, bool cut)
{
    enum { N = 32, K = 48 };

    const uint32_t low_nan = 0x7F800001u;
    static float w[N][K];
    uint16_t packed[K][N];
    int n_wrong = 0;
    samba_session *s = samba_open(NULL);
    CHECK(samba_enable_lazy_param(s, &(samba_lazy_opts){ .rounding = rounding }));
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, K));
    samba_tensor *y = samba_linear_no_bias(x, "fc", N);
    samba_tensor *weight = samba_tensor_by_name(s, "fc__weight");
    CHECK(samba_copy_out(weight, w, sizeof w));
    memcpy(&w[3][5], &low_nan, 4);
    CHECK(samba_write(weight, w));
    CHECK(samba_compile(
        s, &(samba_program){ .outputs = { y }, .inference = true, .weights = SAMBA_WEIGHTS_BF16 }));
    CHECK(samba_copy_out(samba_tensor_by_name(s, "fc__weight__bf16"), packed, sizeof packed));
    for (int j = 0; j < N; j++) {
        for (int k = 0; k < K; k++) {
            n_wrong += packed[k][j] != as_bf16(w[j][k], cut);
            n_rounded_otherwise += packed[k][j] != as_bf16(w[j][k], !cut);
        }
    }
    CHECK(n_wrong == 0);
    CHECK((packed[5][3] & 0x7F) != 0); // still a NaN
    CHECK(samba_close(s) == 0);
}

static void test_rounding(void)
{
    check_rounding(NULL, false);
    check_rounding("nearest_even", false);
    check_rounding("truncation", true);
    CHECK(n_rounded_otherwise > 3 * 600); // about half of them
    samba_session *s = samba_open(NULL);
    CHECK(!samba_enable_lazy_param(s, &(samba_lazy_opts){ .rounding = "up" }));
    CHECK(says(s, "nearest_even") && says(s, "truncation") && says(s, "up"));
    samba_close(s);
}

// ---- When values are drawn ----

static void test_when(void)
{
    enum { BIG = 1 << 20 };

    samba_session *s = samba_open(NULL);
    CHECK(samba_use_lazy_param(s));
    CHECK(samba_disable_lazy_param(s) && !samba_use_lazy_param(s));
    CHECK(samba_enable_lazy_param(s, NULL) && samba_use_lazy_param(s));
    size_t before = samba_held_bytes(s);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(BIG), normal);
    CHECK(samba_held_bytes(s) - before < BIG);
    float first = samba_read(w)[0];
    CHECK(samba_held_bytes(s) - before > 4 * BIG);
    CHECK(!samba_disable_lazy_param(s) && samba_error_code(s) == SAMBA_ESTATE && says(s, "w"));
    samba_clear_error(s);
    CHECK(!samba_enable_lazy_param(s, NULL) && says(s, "before") && samba_use_lazy_param(s));
    samba_close(s);
    s = samba_open(NULL);
    CHECK(samba_disable_lazy_param(s));
    before = samba_held_bytes(s);
    w = samba_param(s, "w", SAMBA_SHAPE(BIG), normal);
    CHECK(samba_held_bytes(s) - before > 4 * BIG);
    CHECK(samba_read(w)[0] == first);
    CHECK(samba_close(s) == 0);
    CHECK(!samba_use_lazy_param(NULL) && !samba_enable_lazy_param(NULL, NULL));
}

// ---- Dropout begins anew ----

static void test_reset(void)
{
    float y[4][100];
    char path[320];
    snprintf(path, sizeof path, "%s.pef", out_folder);
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(100));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(100), normal);
    samba_tensor *out = samba_mul(samba_dropout(x, "drop", 0.5f), w);
    CHECK(samba_reset_random_generator(s)); // tracing, there is nothing yet
    CHECK(samba_compile(
        s, &(samba_program){ .pef = path, .outputs = { out }, .optim = { .kind = SAMBA_SGD } }));
    for (int loaded = 0; loaded < 2; loaded++) {
        for (int i = 0; i < 4; i++) {
            if (i % 2 == 0) CHECK(samba_reset_random_generator(s));
            CHECK(samba_run(s, SAMBA_FWD));
            out = samba_tensor_by_name(s, out->name);
            CHECK(samba_copy_out(out, y[i], sizeof y[i]));
        }
        CHECK(memcmp(y[0], y[1], sizeof y[0]) != 0);
        CHECK(memcmp(y[0], y[2], sizeof y[0]) == 0 && memcmp(y[1], y[3], sizeof y[0]) == 0);
        if (loaded) break;
        char name[100];
        snprintf(name, sizeof name, "%s", out->name);
        CHECK(samba_save(s, path) && samba_close(s) == 0); // the PEF, and now with w
        s = samba_open(NULL);                              // without a graph: all is found by name
        CHECK(samba_load(s, path, NULL) && samba_zero_inputs(s));
        out = samba_tensor_by_name(s, name);
        float ones[100];
        for (int i = 0; i < 100; i++)
            ones[i] = 1;
        CHECK(samba_write(samba_tensor_by_name(s, "x"), ones));
    }
    CHECK(samba_close(s) == 0);
    s = samba_open(NULL); // and at once
    samba_set_tracing(s, false);
    x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(100));
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0) CHECK(samba_reset_random_generator(s));
        CHECK(samba_copy_out(samba_dropout(x, "drop", 0.5f), y[i], sizeof y[i]));
    }
    CHECK(memcmp(y[0], y[1], sizeof y[0]) != 0);
    CHECK(memcmp(y[0], y[2], sizeof y[0]) == 0 && memcmp(y[1], y[3], sizeof y[0]) == 0);
    CHECK(samba_close(s) == 0);
    remove(path);
    snprintf(path, sizeof path, "%s.pef.log", out_folder);
    remove(path);
    snprintf(path, sizeof path, "%s.pef.map", out_folder);
    remove(path);
}

// ---- What the driver says of memory ----

typedef struct report {
    unsigned long long total, part[6];
} report;

// What "compile" prints of this program: the numbers of the line about a run.
static report compile_and_read(samba_session *s, const samba_program *p)
{
    report r = { 0, { 0 } };
    char path[320], line[1000];
    snprintf(path, sizeof path, "%s.said", out_folder);
    fflush(stdout);
    int was = dup(STDOUT_FILENO);
    CHECK(freopen(path, "w", stdout) != NULL);
    samba_app_args args = { .command = "compile", .output_folder = out_folder, .pef_name = "net" };
    bool fine = samba_app_driver(s, &args, p);
    fflush(stdout);
    dup2(was, STDOUT_FILENO);
    close(was);
    CHECK(fine);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line,
               "a run needs %llu bytes (%*f MiB): parameters %llu, gradients %llu, state "
               "%llu, arena %llu, inputs and outputs %llu, tables, constants and scratch of a "
               "thread %llu",
               &r.total, &r.part[0], &r.part[1], &r.part[2], &r.part[3], &r.part[4], &r.part[5]);
    if (f) fclose(f);
    remove(path);
    return r;
}

static void remove_program(void)
{
    static const char *const files[]
        = { "net/net.pef", "net/net.pef.log", "net/net.pef.map", "net", "" };
    char path[320];
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%s", out_folder, files[i]);
        remove(path);
    }
}

static void test_memory_of_a_run(void)
{
    char path[320];
    snprintf(path, sizeof path, "%s/net/net.pef", out_folder);
    for (int inference = 0; inference < 2; inference++) {
        samba_session *s = samba_open(&(samba_desc){ .threads = 1 });
        samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(64, 100));
        samba_tensor *t = samba_input(s, "t", SAMBA_I32, SAMBA_SHAPE(64));
        samba_tensor *y = samba_linear(samba_tanh(samba_linear(x, "fc1", 300)), "fc2", 10);
        samba_program p = { .outputs = { y }, .inference = inference };
        if (inference)
            p.weights = SAMBA_WEIGHTS_BF16;
        else {
            p.loss = samba_cross_entropy(y, t);
            p.optim.kind = SAMBA_ADAMW;
        }
        report r = compile_and_read(s, &p);
        CHECK(samba_load(s, path, &p));
        CHECK(r.total == samba_device_bytes(s) + SAMBA_LOCAL_BYTES);
        unsigned long long sum = 0, w = 300 * 100 + 300 + 10 * 300 + 10;
        for (int i = 0; i < 6; i++)
            sum += r.part[i];
        CHECK(sum == r.total);
        CHECK(inference || (r.part[0] == 4 * w && r.part[1] == 4 * w && r.part[2] >= 8 * w));
        CHECK(!inference || (r.part[0] < 3 * w && r.part[1] == 0));
        CHECK(samba_close(s) == 0);
        remove_program();
    }
}

// ---- GPT-2 XL ----

// Seconds of the processor that compiling may take.
enum { MOST_SECONDS = TEST_SANITIZED ? 60 : 5 };

// In a process of its own, whose memory is measured: 1.5 billion parameters, to train with AdamW.
static int compile_xl(void)
{
    gpt2_config c = gpt2_config_default();
    c.n_layer = 48;
    c.n_head = 25;
    c.n_embd = 1600;
    unsigned long long n_numbers = 0;
    for (int32_t i = 0; i < gpt2_n_params(&c); i++) {
        gpt2_param p;
        CHECK(gpt2_param_at(&c, i, &p));
        n_numbers += (unsigned long long)p.dim[0] * (unsigned)(p.ndim > 1 ? p.dim[1] : 1);
    }
    CHECK(n_numbers > 1500000000);
    clock_t start = clock();
    samba_session *s = samba_open(&(samba_desc){ .threads = 1 });
    CHECK(samba_enable_lazy_param(s, NULL));
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(1, 1024));
    samba_tensor *labels = samba_input(s, "labels", SAMBA_I32, SAMBA_SHAPE(1, 1024));
    samba_program p = { .optim = { .kind = SAMBA_ADAMW } };
    p.loss = gpt2_loss(&c, ids, NULL, labels, NULL);
    report r = compile_and_read(s, &p);
    CHECK(r.part[0] == 4 * n_numbers && r.part[1] == 4 * n_numbers);
    CHECK(r.part[2] >= 8 * n_numbers && r.total > 16 * n_numbers);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    CHECK(seconds < MOST_SECONDS);
    CHECK(samba_close(s) == 0);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("GPT-2 XL compiled in %.2f s and %ld MiB; a run needs %.1f GiB\n", seconds,
           usage.ru_maxrss / 1024, (double)r.total / (1 << 30));
    CHECK(usage.ru_maxrss < 200 * 1024);
    return test_bad;
}

static void test_xl(void)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int bad = compile_xl();
        fflush(stdout);
        _exit(bad != 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    remove_program();
}

// ---- Weights that the host has written ----

enum { WRITTEN = 5 };

static int64_t written_count(int i)
{
    return 4000000 * (int64_t)i + 123457 * (i + 1); // of no whole number of pages; 30 MB on average
}

static int64_t peak_bytes(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss * (int64_t)1024;
}

// Compiles a program for weights that have values, and looks at these. The bytes that the weights
// have, and the most that lay in memory beyond what was there before.
static bool compile_written(int64_t *weights, int64_t *peak)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1 });
    samba_program p = { .inference = true };
    samba_tensor *w[WRITTEN], *sum = samba_number(s, 0);
    int64_t before = peak_bytes();
    for (int i = 0; i < WRITTEN; i++) {
        char name[8];
        snprintf(name, sizeof name, "w%d", i);
        int32_t n = (int32_t)written_count(i);
        w[i] = samba_param(s, name, SAMBA_SHAPE(n), (samba_init){ 0 });
        float *value = samba_cpu(w[i]);
        for (int32_t k = 0; value && k < n; k++)
            value[k] = (float)(k % 1000003 + i);
        *weights += (int64_t)sizeof(float) * n;
        sum = samba_add(sum, samba_slice(w[i], 0, n - 1, n, 1));
    }
    p.outputs[0] = sum;
    bool fine = samba_compile(s, &p);
    *peak = peak_bytes() - before;
    for (int i = 0; fine && i < WRITTEN; i++) {
        const float *value = samba_read(w[i]);
        for (int64_t k = 0; k < written_count(i); k++)
            fine = fine && value[k] == (float)(k % 1000003 + i);
    }
    return samba_close(s) == 0 && fine;
}

// A program that infers is compiled anew with its weights packed as int4, and once more with them
// plain: the first and the last compute the same.
static bool compile_packed(int64_t *weights, int64_t *peak)
{
    enum { N = 1504, LAYERS = 12 };

    samba_session *s = samba_open(&(samba_desc){ .threads = 1 });
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(1, N));
    int64_t before = peak_bytes();
    for (int i = 0; i < LAYERS; i++) {
        char name[8];
        snprintf(name, sizeof name, "w%d", i);
        x = samba_linear_no_bias(x, name, N);
        *weights += (int64_t)sizeof(float) * N * N;
    }
    samba_program p = { .inference = true, .outputs = { x } };
    float y[3] = { 0, 0, 0 };
    bool fine = true;
    for (int turn = 0; fine && turn < 3; turn++) {
        p.weights = turn == 1 ? SAMBA_WEIGHTS_INT4 : SAMBA_WEIGHTS_PLAIN;
        fine = samba_compile(s, &p) && samba_run(s, SAMBA_FWD);
        if (fine) y[turn] = samba_read(x)[0];
        if (turn == 1) *peak = peak_bytes() - before;
    }
    fine = fine && y[0] == y[2] && y[0] != y[1];
    return samba_close(s) == 0 && fine;
}

// Runs one of these in a process of its own. Its peak is at most this share of its weights.
static void check_peak(bool (*compile)(int64_t *weights, int64_t *peak), double most)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int64_t weights = 0, peak = 0;
        bool fine = compile(&weights, &peak);
        double share = (double)peak / (double)weights;
        bool fits = share < most || TEST_SANITIZED;
        if (!fits) printf("compiling takes %.2f times the weights\n", share);
        fflush(stdout);
        _exit(!fine || !fits);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Compiling moves weights to where the program has them, and never holds them twice. Those that are
// packed stay on the host, so that they can be packed otherwise.
static void test_weights_lie_in_memory_once(void)
{
    check_peak(compile_written, 1.2);
    check_peak(compile_packed, 1.5);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (TEST_SANITIZED)
        printf("skipped: the memory of weights; it takes a build without sanitizers\n");
    snprintf(out_folder, sizeof out_folder, "%s.out", argv[0]);
    RUN(test_xl); // first: the child inherits the memory of its parent
    RUN(test_weights_lie_in_memory_once);
    RUN(test_threads);
    RUN(test_seed);
    RUN(test_normal);
    RUN(test_inverse);
    RUN(test_rounding);
    RUN(test_when);
    RUN(test_reset);
    RUN(test_memory_of_a_run);
    return test_summary();
}
