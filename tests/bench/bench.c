// Speed of samba.h beside its peers, interleaved in one run, medians; the machine's own ceilings first.
//     cc -O2 -o bench tests/bench/bench.c -lm -pthread -ldl && ./bench [small] [threads N] [json FILE]
// Peers are found at run time and skipped by name when absent: OpenBLAS (libopenblas.so.0), PyTorch (python3).
#define _POSIX_C_SOURCE 200809L
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ROUNDS = 21 };
static int rounds = 11, threads = 2;
static FILE *json;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

// One line of the table, and of the JSON file: seconds of samba and of a peer (0: absent).
static void report(const char *what, const char *peer, double work, const char *unit, double mine, double theirs)
{
    printf("%-28s %9.1f %-10s", what, work / mine, unit);
    if (theirs > 0) printf(" %9.1f %-10s %-9s ratio %.2f", work / theirs, unit, peer, theirs / mine);
    else printf(" %s: not here", peer);
    printf("\n");
    fflush(stdout);
    if (json) fprintf(json, "{\"what\": \"%s\", \"unit\": \"%s\", \"samba\": %.6g, \"peer\": \"%s\", \"theirs\": %.6g, \"threads\": %d}\n",
                      what, unit, work / mine, peer, theirs > 0 ? work / theirs : 0.0, threads);
}

// ---- Ceilings ------------------------------------------------------------------------------------

#if SAMBA__X86
// 12 independent chains of 8-wide fma, n times: as fast as the unit goes.
SAMBA__AVX2 static float fma_chains(int64_t n, float start)
{
    __m256 acc[12], one = _mm256_set1_ps(0.999f);
    for (int i = 0; i < 12; i++) acc[i] = _mm256_set1_ps(start + (float)i);
    for (int64_t k = 0; k < n; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) acc[i] = _mm256_fmadd_ps(acc[i], one, one);
    }
    for (int i = 1; i < 12; i++) acc[0] = _mm256_add_ps(acc[0], acc[i]);
    return _mm256_cvtss_f32(acc[0]);
}

static void fma_job(void *context, int64_t begin, int64_t end, int32_t thread)
{
    (void)thread;
    for (int64_t i = begin; i < end; i++) ((float *)context)[i] = fma_chains(200000, (float)i);
}

static void ceilings(samba__pool *pool)
{
    double time[MOST_ROUNDS];
    float sink[64];
    int64_t pieces = 8 * threads;
    for (int r = 0; r < rounds; r++) {
        double start = samba_seconds();
        samba__pool_run(pool, fma_job, sink, pieces, 1);
        time[r] = samba_seconds() - start;
    }
    double flops = (double)pieces * 200000 * 12 * 16;
    printf("ceiling: fma (AVX2) %.1f GFLOP/s with %d threads\n", flops / median(time, rounds) * 1e-9, threads);
}
#else
static void ceilings(samba__pool *pool) { (void)pool; }
#endif

// ---- SGEMM ---------------------------------------------------------------------------------------

typedef void (*cblas_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
static cblas_fn cblas_sgemm;

static void open_blas(void)
{
    void *lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    void *f = lib ? dlsym(lib, "cblas_sgemm") : NULL, *set = lib ? dlsym(lib, "openblas_set_num_threads") : NULL;
    void *core = lib ? dlsym(lib, "openblas_get_corename") : NULL;
    void (*set_threads)(int);
    char *(*core_name)(void);
    memcpy(&cblas_sgemm, &f, sizeof f);
    memcpy(&set_threads, &set, sizeof set);
    memcpy(&core_name, &core, sizeof core);
    if (set) set_threads(threads);
    printf("OpenBLAS: %s\n", !f ? "not here (Debian: libopenblas0-openmp)" : core ? core_name() : "found");
}

typedef struct gemm_context { samba__gemm g; float *local; int isa; } gemm_context;

static void gemm_job(void *context, int64_t begin, int64_t end, int32_t thread)
{
    gemm_context *c = (gemm_context *)context;
    samba__gemm_run(&c->g, begin, end, c->local + (size_t)thread * (SAMBA_LOCAL_BYTES / 4), c->isa);
}

// how: "nn", "nt" (B stored (n,k)), "tn" (A stored (k,m)).
static void bench_gemm(samba__pool *pool, int m, int n, int k, const char *how)
{
    size_t a_size = (size_t)m * (size_t)k, b_size = (size_t)n * (size_t)k, c_size = (size_t)m * (size_t)n;
    float *a = (float *)malloc(4 * a_size), *b = (float *)malloc(4 * b_size), *c = (float *)malloc(4 * c_size);
    float *local = (float *)aligned_alloc(64, (size_t)threads * SAMBA_LOCAL_BYTES);
    double mine[MOST_ROUNDS], theirs[MOST_ROUNDS];
    bool ta = how[0] == 't', tb = how[1] == 't';
    gemm_context x = { .local = local, .isa = samba__best_isa() };
    char what[64];
    if (!a || !b || !c || !local) { printf("no memory\n"); return; }
    samba__fill(a, (int64_t)a_size, samba__init_of(SAMBA_INIT_UNIFORM, 0, 1), 1);
    samba__fill(b, (int64_t)b_size, samba__init_of(SAMBA_INIT_UNIFORM, 0, 1), 2);
    x.g = (samba__gemm){ .m = m, .n = n, .k = k, .a = a, .a_row = ta ? 1 : k, .a_col = ta ? m : 1,
                         .b = b, .b_row = tb ? 1 : n, .b_col = tb ? k : 1, .c = c, .c_row = n };
    int repeat = (int)(2e8 / (2.0 * m * n * k)) + 1;
    for (int r = -1; r < rounds; r++) {
        double start = samba_seconds();
        for (int i = 0; i < repeat; i++) samba__pool_run(pool, gemm_job, &x, samba__gemm_tiles(m, n, k), 1);
        double middle = samba_seconds();
        for (int i = 0; cblas_sgemm && i < repeat; i++)
            cblas_sgemm(101, ta ? 112 : 111, tb ? 112 : 111, m, n, k, 1, a, ta ? m : k, b, tb ? k : n, 0, c, n);
        if (r >= 0) mine[r] = (middle - start) / repeat, theirs[r] = (samba_seconds() - middle) / repeat;
    }
    snprintf(what, sizeof what, "sgemm %s %d,%d,%d", how, m, n, k);
    report(what, "OpenBLAS", 2e-9 * m * n * k, "GFLOP/s", median(mine, rounds), cblas_sgemm ? median(theirs, rounds) : 0);
    free(a), free(b), free(c), free(local);
}

// ---- A training step of ResFFNLogReg ----------------------------------------------------------------

typedef struct peer { FILE *to, *from; pid_t pid; } peer;

// Starts python3 on a script that answers one line per line; false if it does not say hello.
static bool start_peer(peer *p, char *const *argv, char *hello, int size)
{
    int in[2], out[2];
    if (pipe(in) || pipe(out)) return false;
    p->pid = fork();
    if (p->pid == 0) {
        dup2(in[0], 0), dup2(out[1], 1);
        close(in[1]), close(out[0]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(in[0]), close(out[1]);
    p->to = fdopen(in[1], "w"), p->from = fdopen(out[0], "r");
    return p->pid > 0 && p->to && p->from && fgets(hello, size, p->from);
}

static double ask_peer(peer *p, int steps)
{
    char line[64];
    fprintf(p->to, "%d\n", steps);
    fflush(p->to);
    return fgets(line, sizeof line, p->from) ? strtod(line, NULL) : 0;
}

static void stop_peer(peer *p)
{
    if (p->to) fclose(p->to);
    if (p->from) fclose(p->from);
    waitpid(p->pid, NULL, 0);
}

static void bench_resffn(int batch, int hidden)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = threads });
    samba_tensor *image = samba_rand(s, "image", SAMBA_SHAPE(batch, 784)), *label = samba_randint(s, "label", 10, SAMBA_SHAPE(batch));
    samba_tensor *h = samba_tanh(samba_layernorm(samba_linear(image, "gemm1", hidden), "norm1"));
    h = samba_sigmoid(samba_add(samba_layernorm(samba_linear(h, "gemm2", hidden), "norm2"), h));
    samba_tensor *loss = samba_cross_entropy(samba_linear(h, "gemm3", 10), label);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { .kind = SAMBA_SGD, .lr = 0.05f, .momentum = 0.9f } });
    char t[16], b[16], w[16], hello[64] = "", what[64], python[] = "/usr/bin/python3", script[] = "tests/bench/torch_step.py";
    snprintf(t, sizeof t, "%d", threads), snprintf(b, sizeof b, "%d", batch), snprintf(w, sizeof w, "%d", hidden);
    char *argv[] = { python, script, t, b, w, NULL };
    peer p = { 0 };
    bool there = start_peer(&p, argv, hello, sizeof hello);
    double mine[MOST_ROUNDS], theirs[MOST_ROUNDS];
    for (int r = -1; r < rounds; r++) {
        double start = samba_seconds();
        for (int i = 0; i < 40; i++) samba_run(s, 0);
        double time = (samba_seconds() - start) / 40, other = there ? ask_peer(&p, 40) : 0;
        if (r >= 0) mine[r] = time, theirs[r] = other;
    }
    stop_peer(&p);
    hello[strcspn(hello, "\n")] = 0;
    if (there) printf("PyTorch %s, eager\n", hello);
    snprintf(what, sizeof what, "ResFFN %d, batch %d, train", hidden, batch);
    report(what, "PyTorch", batch, "samples/s", median(mine, rounds), there ? median(theirs, rounds) : 0);
    samba_close(s);
}

int main(int argc, char **argv)
{
    samba__pool pool;
    bool small = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "small")) small = true;
        else if (!strcmp(argv[i], "threads") && i + 1 < argc) threads = atoi(argv[++i]);
        else if (!strcmp(argv[i], "json") && i + 1 < argc) json = fopen(argv[++i], "w");
        else { fprintf(stderr, "usage: bench [small] [threads N] [json FILE]\n"); return 2; }
    }
    if (threads < 1 || threads > SAMBA__MAX_THREADS) { fprintf(stderr, "threads: 1 to %d\n", SAMBA__MAX_THREADS); return 2; }
    if (small) rounds = 7;
    signal(SIGPIPE, SIG_IGN);
    if (!samba__pool_open(&pool, threads)) return 1;
    ceilings(&pool);
    open_blas();
    bench_gemm(&pool, 512, 512, 512, "nn");
    bench_gemm(&pool, 1024, 1024, 1024, "nn");
    bench_gemm(&pool, 1024, 1024, 1024, "nt");
    bench_gemm(&pool, 1024, 1024, 1024, "tn");
    bench_gemm(&pool, 64, 512, 784, "nt");
    bench_gemm(&pool, 512, 784, 64, "tn");
    if (!small) {
        bench_gemm(&pool, 2048, 2048, 2048, "nn");
        bench_gemm(&pool, 256, 768, 768, "nt");
        bench_gemm(&pool, 1024, 3072, 768, "nt");
    }
    samba__pool_close(&pool);
    bench_resffn(64, 512);
    if (json) fclose(json);
    return 0;
}
