// What the programs of tests/bench share: options, rounds, ceilings, peers, the report.
//
// Every row is a race: in each round all contenders run one after the other, and so does a short
// measurement of the ceiling, so that a machine that is shared or throttled treats all alike.
// A contender's time is the median over the rounds; round 0 warms up and does not count.
// Nothing is asserted about time. What is timed is also compared: agree() counts differences.
#ifndef BENCH_H
#define BENCH_H
#define _GNU_SOURCE // clock, glob, madvise, vfork
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <dlfcn.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ROUNDS = 21, MOST_PEERS = 6 };

static struct {
    bool small;
    int rounds, threads;
    int done; // rounds of the last race: small ones stop early
    const char *area, *only;
    FILE *json;
    char **argv;
    int disagreements;
} bench = { .rounds = 7, .area = "bench" };

// With the option cpu: processor time of this process, for a machine that is busy with other
// things. Peers have processes of their own, and look at the same word.
static const char cpu_word[] = "SAMBA_BENCH_CPU";

static double bench_seconds(void)
{
    static int cpu = -1;
    struct timespec now;
    if (cpu < 0) cpu = getenv(cpu_word) != NULL;
    if (!cpu) return samba_seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(const double *x, int n)
{
    double sorted[MOST_ROUNDS];
    memcpy(sorted, x, (size_t)n * sizeof *x);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static void *must(void *p)
{
    if (p) return p;
    fprintf(stderr, "no memory\n");
    exit(1);
}

// The most memory this process has had, in MiB. getrusage would count the parent's before exec.
static inline double peak_memory(void)
{
    char line[128];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lf", &kib) == 1) break;
    if (f) fclose(f);
    return kib / 1024;
}

// ---- Data: the same numbers here and in torch_peer.py -------------------------------------------

static uint32_t number(uint32_t i, uint32_t seed)
{
    uint32_t x = (i + seed * 7919u) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return x;
}

// n numbers in [-scale,scale).
static void fill(float *x, size_t n, uint32_t seed, double scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((number((uint32_t)i, seed) / 2147483648.0 - 1) * scale);
}

static inline float *numbers(size_t n, uint32_t seed, double scale)
{
    float *x = (float *)must(aligned_alloc(64, (4 * n + 63) / 64 * 64));
    fill(x, n, seed, scale);
    return x;
}

static inline int32_t *choices(size_t n, uint32_t seed, uint32_t most)
{
    int32_t *x = (int32_t *)must(malloc(4 * n));
    for (size_t i = 0; i < n; i++)
        x[i] = (int32_t)(number((uint32_t)i, seed) % most);
    return x;
}

// Two results of the same computation; says so if they differ by more than tolerance.
static inline void agree(const char *what, const char *peer, double mine, double theirs,
                         double tolerance)
{
    double size = fmax(fabs(mine), fabs(theirs));
    if (fabs(mine - theirs) <= tolerance * size) return; // false for NaN, too
    printf("DIFFERS: %s: samba %.9g, %s %.9g\n", what, mine, peer, theirs);
    bench.disagreements++;
}

// ---- Ceilings -----------------------------------------------------------------------------------

// The kernels once per set of vectors, V floats wide: chains of fma; reading along several streams
// with or without prefetch; x = a x + b in place; y = x; and the traffic of AdamW, 4 in and 3 out.
#define KERNELS(SUFFIX, ATTRIBUTE, V) \
    typedef float v##SUFFIX __attribute__((vector_size(4 * V), aligned(4 * V))); \
    ATTRIBUTE static float fma_##SUFFIX(int64_t n, float start) \
    { \
        enum { CHAINS = V == 16 ? 16 : 12 }; \
        v##SUFFIX acc[CHAINS], one = (v##SUFFIX){ 0 } + 0.999f; \
        float sum = 0; \
        for (int i = 0; i < CHAINS; i++) \
            acc[i] = (v##SUFFIX){ 0 } + (start + (float)i); \
        for (int64_t k = 0; k < n; k++) { \
            _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) acc[i] = acc[i] * one + one; \
        } \
        for (int i = 0; i < CHAINS; i++) \
            sum += acc[i][0]; \
        return sum; \
    } \
    ATTRIBUTE static float read_##SUFFIX(const float *x, size_t bytes, int streams, int ahead) \
    { \
        v##SUFFIX acc[4] = { { 0 } }; \
        const size_t part = bytes / (size_t)streams, step = 16 * V; \
        for (size_t i = 0; i + step <= part; i += step) { \
            for (int s = 0; s < streams; s++) { \
                const v##SUFFIX *p = (const v##SUFFIX *)((const char *)x + (size_t)s * part + i); \
                if (ahead) __builtin_prefetch((const char *)p + ahead); \
                if (ahead && V == 16) __builtin_prefetch((const char *)p + ahead + 64); \
                if (ahead && V == 16) __builtin_prefetch((const char *)p + ahead + 128); \
                if (ahead && V >= 8) __builtin_prefetch((const char *)p + ahead + step - 64); \
                acc[0] += p[0], acc[1] += p[1], acc[2] += p[2], acc[3] += p[3]; \
            } \
        } \
        acc[0] += acc[1] + acc[2] + acc[3]; \
        return acc[0][0]; \
    } \
    ATTRIBUTE static void modify_##SUFFIX(float *x, size_t bytes) \
    { \
        v##SUFFIX *p = (v##SUFFIX *)x; \
        for (size_t i = 0; i < bytes / sizeof *p; i++) \
            p[i] = p[i] * 0.999f + 0.001f; \
    } \
    ATTRIBUTE static void copy_##SUFFIX(float *y, const float *x, size_t bytes) \
    { \
        v##SUFFIX *to = (v##SUFFIX *)y; \
        const v##SUFFIX *from = (const v##SUFFIX *)x; \
        for (size_t i = 0; i < bytes / sizeof *to; i++) \
            to[i] = from[i]; \
    } \
    ATTRIBUTE static void adam_##SUFFIX(float *x, size_t bytes) \
    { \
        size_t n = bytes / 4 / sizeof(v##SUFFIX); \
        v##SUFFIX *w = (v##SUFFIX *)x, *m = w + n, *v = m + n, *g = v + n; \
        for (size_t i = 0; i < n; i++) { \
            m[i] = m[i] * 0.9f + g[i] * 0.1f; \
            v[i] = v[i] * 0.99f + g[i] * g[i] * 0.01f; \
            w[i] = w[i] * 0.999f - m[i] * 0.01f; \
        } \
    }

KERNELS(plain, , 4)
#if SAMBA__X86
KERNELS(avx2, __attribute__((target("avx2,fma"))), 8)
KERNELS(avx512, __attribute__((target("avx512f"))), 16)

__attribute__((target("avx"))) static void stream(float *y, const float *x, size_t bytes)
{
    for (size_t i = 0; i < bytes / 4; i += 8)
        _mm256_stream_ps(y + i, _mm256_load_ps(x + i));
}
#else
static void stream(float *y, const float *x, size_t bytes)
{
    memcpy(y, x, bytes);
}
#endif

static struct {
    int isa; // 0 plain, 1 AVX2, 2 AVX-512
    const char *name;
    float *pool;         // POOL bytes, in huge pages if there are some
    samba__pool threads; // bench.threads of them

    struct {
        double fma, read, copy, modify, adam;
    } best[2]; // 1 thread; all
} machine;

enum { FMA_ROUNDS = 60000 };

#define POOL ((size_t)512 << 20)
#define PIECE ((size_t)4 << 20)

typedef struct traffic {
    int kind, streams, ahead;
} traffic;

enum { READ, COPY, COPY_STREAM, COPY_LIBC, MODIFY, ADAM };

static void fma_job(void *context, int64_t begin, int64_t end, int32_t thread)
{
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        float *out = (float *)context + 16 * i, start = (float)i;
#if SAMBA__X86
        if (machine.isa == 2) {
            *out = fma_avx512(FMA_ROUNDS, start);
            continue;
        }
        if (machine.isa == 1) {
            *out = fma_avx2(FMA_ROUNDS, start);
            continue;
        }
#endif
        *out = fma_plain(FMA_ROUNDS, start);
    }
}

static volatile float sink;
#if SAMBA__X86
#define KERNEL(name, ...) \
    (machine.isa == 2       ? name##_avx512(__VA_ARGS__) \
         : machine.isa == 1 ? name##_avx2(__VA_ARGS__) \
                            : name##_plain(__VA_ARGS__))
#else
#define KERNEL(name, ...) name##_plain(__VA_ARGS__)
#endif

static void traffic_job(void *context, int64_t begin, int64_t end, int32_t thread)
{
    const traffic *t = (const traffic *)context;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        float *x = machine.pool + (size_t)i * (PIECE / 4), *y = x + PIECE / 8;
        switch (t->kind) {
        case READ:
            sink = KERNEL(read, x, PIECE, t->streams, t->ahead);
            break;
        case COPY:
            KERNEL(copy, y, x, PIECE / 2);
            break;
        case COPY_STREAM:
            stream(y, x, PIECE / 2);
            break;
        case COPY_LIBC:
            memcpy(y, x, PIECE / 2);
            break;
        case MODIFY:
            KERNEL(modify, x, PIECE);
            break;
        case ADAM:
            KERNEL(adam, x, PIECE);
            break;
        }
    }
}

// FLOP/s of a burst of some milliseconds.
static double measure_fma(samba__pool *threads)
{
    static float out[16 * 64 * 2];
    int64_t pieces = 2 * (threads ? threads->n_threads : 1);
    double width = machine.isa == 2 ? 16 * 16 : machine.isa == 1 ? 12 * 8 : 12 * 4;
    double start = bench_seconds();
    samba__pool_run(threads, fma_job, out, pieces, 1);
    return (double)pieces * FMA_ROUNDS * width * 2 / (bench_seconds() - start);
}

// Threads of other libraries spin after their work, 20 ms where a pause is long: they fall asleep
// here. Processors that rest meanwhile would start the next measurement at half their speed.
static void settle(samba__pool *threads)
{
    double start = bench_seconds();
    while (bench_seconds() - start < 0.03)
        measure_fma(threads);
}

// Bytes/s; what is read and written counts twice, what is fetched because it is written does not.
static double measure_traffic(samba__pool *threads, traffic t, size_t bytes)
{
    double start = bench_seconds(),
           times = t.kind == READ || t.kind == COPY || t.kind == COPY_STREAM || t.kind == COPY_LIBC
        ? 1
        : t.kind == MODIFY ? 2
                           : 7.0 / 4;
    samba__pool_run(threads, traffic_job, &t, (int64_t)(bytes / PIECE), 1);
    return (double)bytes * times / (bench_seconds() - start);
}

static traffic best_read = { READ, 1, 0 };

// A ceiling as of now: fma in FLOP/s, or the best bytes/s that was ever seen in this process.
typedef enum ceiling_kind {
    NO_CEILING,
    CEILING_FMA,
    CEILING_READ,
    CEILING_MODIFY,
    CEILING_ADAM
} ceiling_kind;

static double ceiling_now(ceiling_kind kind, bool all)
{
    samba__pool *threads = all ? &machine.threads : NULL;
    double *best = kind == CEILING_READ ? &machine.best[all].read
        : kind == CEILING_MODIFY        ? &machine.best[all].modify
                                        : &machine.best[all].adam;
    traffic t = best_read;
    if (kind == NO_CEILING) return 0;
    if (kind == CEILING_FMA) return measure_fma(threads);
    if (kind == CEILING_MODIFY) t = (traffic){ MODIFY, 1, 0 };
    if (kind == CEILING_ADAM) t = (traffic){ ADAM, 1, 0 };
    double now = measure_traffic(threads, t, POOL / 4);
    return *best = fmax(*best, now);
}

static double best_traffic(samba__pool *threads, traffic t)
{
    double best = 0;
    for (int i = 0; i < (bench.small ? 2 : 5); i++)
        best = fmax(best, measure_traffic(threads, t, POOL / 2));
    return best;
}

static void json_ceiling(const char *what, const char *unit, int threads, double value)
{
    if (bench.json)
        fprintf(bench.json,
                "{\"area\": \"%s\", \"what\": \"ceiling %s\", \"unit\": \"%s\", "
                "\"threads\": %d, \"samba\": 0, \"ceiling\": %.6g}\n",
                bench.area, what, unit, threads, value);
}

// A peer, or what samba runs on, with its version: for the head of the tables.
static void say_version(const char *what, const char *text, bool there)
{
    printf("%s: %s\n", what, text);
    if (!bench.json || !there) return;
    fprintf(bench.json, "{\"area\": \"%s\", \"what\": \"version of %s\", \"text\": \"%s\"}\n",
            bench.area, what, text);
}

// The processor as it names itself, and its family and model: on a virtual machine the name alone
// may say little.
static void say_machine(void)
{
    char line[256], name[128] = "?", text[256];
    int family = 0, model = 0;
    FILE *f = fopen("/proc/cpuinfo", "r");

    while (f && fgets(line, sizeof line, f)) {
        sscanf(line, "model name : %127[^\n\"\\]", name);
        sscanf(line, "cpu family : %d", &family);
        if (sscanf(line, "model : %d", &model) == 1) continue;
        if (*line == '\n') break; // the others are like the first
    }
    if (f) fclose(f);
    snprintf(text, sizeof text, "%s, family %d, model %d, %d threads, %s", name, family, model,
             bench.threads, machine.name);
    say_version("processor", text, true);
    if (getenv(cpu_word)) say_version("clock", "processor time, as the machine was busy", true);
#ifdef __clang__
    say_version("compiler", __VERSION__, true);
#else
    say_version("compiler", "gcc " __VERSION__, true);
#endif
}

static void measure_ceilings(void)
{
    static const char *const names[] = { "portable", "AVX2", "AVX-512" };
#if SAMBA__X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) machine.isa = 1;
    if (machine.isa && __builtin_cpu_supports("avx512f")) machine.isa = 2;
#endif
    machine.name = names[machine.isa];
    say_machine();
    machine.pool = (float *)must(aligned_alloc(2 << 20, POOL));
    madvise(machine.pool, POOL, MADV_HUGEPAGE);
    fill(machine.pool, PIECE / 4, 1, 1);
    for (size_t at = PIECE; at < POOL; at += PIECE)
        memcpy((char *)machine.pool + at, machine.pool, PIECE);
    for (int all = 0; all < (bench.threads > 1 ? 2 : 1); all++) {
        samba__pool *threads = all ? &machine.threads : NULL;
        double fma[MOST_ROUNDS], most = 0;
        traffic best = best_read;
        for (int i = 0; i < MOST_ROUNDS; i++)
            fma[i] = measure_fma(threads);
        machine.best[all].fma = median(fma, MOST_ROUNDS);
        for (int streams = 1; streams <= (bench.small ? 2 : 8); streams *= 2) {
            for (int ahead = 0; ahead <= 2048; ahead += bench.small ? 2048 : 1024) {
                traffic t = { READ, streams, ahead };
                double now = best_traffic(threads, t);
                if (now > most) {
                    most = now;
                    best = t;
                }
            }
        }
        best_read = best;
        machine.best[all].read = most;
        for (int kind = COPY; kind <= COPY_LIBC; kind++)
            machine.best[all].copy
                = fmax(machine.best[all].copy, best_traffic(threads, (traffic){ kind, 1, 0 }));
        machine.best[all].modify = best_traffic(threads, (traffic){ MODIFY, 1, 0 });
        machine.best[all].adam = best_traffic(threads, (traffic){ ADAM, 1, 0 });
        int n = all ? bench.threads : 1;
        printf(
            "ceilings, %d thread%s: fma (%s) %.1f GFLOP/s, read %.1f GB/s (%d streams, prefetch %d), copy %.1f, "
            "in place %.1f, 4 in 3 out %.1f\n",
            n, n > 1 ? "s" : "", machine.name, machine.best[all].fma * 1e-9, most * 1e-9,
            best.streams, best.ahead, machine.best[all].copy * 1e-9,
            machine.best[all].modify * 1e-9, machine.best[all].adam * 1e-9);
        json_ceiling("fma", "GFLOP/s", n, machine.best[all].fma * 1e-9);
        json_ceiling("read", "GB/s", n, most * 1e-9);
        json_ceiling("copy", "GB/s", n, machine.best[all].copy * 1e-9);
        json_ceiling("in place", "GB/s", n, machine.best[all].modify * 1e-9);
    }
    if (bench.threads == 1) machine.best[1] = machine.best[0];
    double share = machine.best[1].fma / machine.best[0].fma / bench.threads;
    if (share < 0.8) {
        printf(
            "BUSY: %d threads together reach %.0f %% of their peak. Other programs, or one core, run here; what\n"
            "      waits for all threads, as OpenMP does, suffers most. Compare with \"threads 1\".\n",
            bench.threads, 100 * share);
    }
}

// ---- Races and the report -----------------------------------------------------------------------

// The first contender is samba. run answers seconds for one piece of the work; <= 0: absent.
typedef struct contender {
    const char *name;
    double (*run)(void *context);
    void *context;
    double round[MOST_ROUNDS];
    double value; // seconds; a caller may put another quantity here
} contender;

static const double small_seconds = 0.5; // of a race in a small run, unless 2 rounds take longer

// Returns the ceiling of these rounds.
static double race(contender *c, int n, ceiling_kind kind, bool all)
{
    double limit[MOST_ROUNDS] = { 0 }, start = bench_seconds();
    bench.done = 0;
    for (int r = -1; r < bench.rounds; r++) {
        double spent = bench_seconds() - start;
        if (bench.small && r >= 1 && spent + spent / (r + 1) > small_seconds) break;
        for (int i = 0; i < n; i++) {
            if (!c[i].run) continue;
            settle(all ? &machine.threads : NULL);
            double t = c[i].run(c[i].context);
            if (r >= 0) c[i].round[r] = t;
        }
        settle(all ? &machine.threads : NULL);
        if (r >= 0) {
            limit[r] = ceiling_now(kind, all);
            bench.done = r + 1;
        }
    }
    for (int i = 0; i < n; i++)
        c[i].value = c[i].run ? median(c[i].round, bench.done) : 0;
    return kind == CEILING_FMA || kind == NO_CEILING ? median(limit, bench.done)
                                                     : limit[bench.done - 1];
}

static bool less_is_better(const char *unit)
{
    return !strcmp(unit, "ms") || !strcmp(unit, "s") || !strcmp(unit, "MiB")
        || !strcmp(unit, "KiB");
}

static inline bool wanted(const char *what)
{
    return !bench.only || strstr(what, bench.only);
}

// The best of the peers' values; NULL if none is there.
static const contender *best_peer(const contender *c, int n, bool less)
{
    const contender *best = NULL;
    for (int i = 1; i < n; i++)
        if (c[i].value > 0
            && (!best || (less ? c[i].value < best->value : c[i].value > best->value)))
            best = &c[i];
    return best;
}

// One line of the table, and of the JSON file. Values are in the unit, the ceiling too (0: none).
// ratio > 1: samba is ahead of the best peer. share: of the ceiling that samba reaches.
static double report(const char *what, const char *unit, const contender *c, int n, double ceiling,
                     int threads)
{
    static char header[256];
    char names[256] = "";
    bool less = less_is_better(unit);
    const contender *best = best_peer(c, n, less);
    double mine = c[0].value, ratio = best ? (less ? best->value / mine : mine / best->value) : 0;
    double share = ceiling > 0 ? (less ? ceiling / mine : mine / ceiling) : 0;
    for (int i = 1; i < n; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), " %12s", c[i].name);
    if (n > 1 && strcmp(names, header)) {
        printf("\n%-34s %2s %-9s %9s %8s %6s%s\n", "", "th", "unit", "samba", "ceiling", "ratio",
               names);
        memcpy(header, names, sizeof names);
    }
    printf("%-34s %2d %-9s %9.*f ", what, threads, unit,
           mine < 100        ? 2
               : mine < 1000 ? 1
                             : 0,
           mine);
    if (share > 0)
        printf("%6.0f %% ", 100 * share);
    else
        printf("%8s ", "-");
    if (best)
        printf("%6.2f", ratio);
    else
        printf("%6s", "-");
    for (int i = 1; i < n; i++) {
        double x = c[i].value;
        if (x > 0)
            printf(" %12.*f", x < 100 ? 2 : x < 1000 ? 1 : 0, x);
        else
            printf(" %12s", "-");
    }
    printf("\n");
    fflush(stdout);
    if (!bench.json) return ratio;
    fprintf(
        bench.json,
        "{\"area\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\", \"threads\": %d, \"samba\": %.6g, \"ceiling\": %.6g, "
        "\"share\": %.4f, \"peer\": \"%s\", \"best\": %.6g, \"ratio\": %.4f",
        bench.area, what, unit, threads, mine, ceiling, share, best ? best->name : "",
        best ? best->value : 0.0, ratio);
    for (int i = 1; i < n; i++)
        if (c[i].value > 0) fprintf(bench.json, ", \"%s\": %.6g", c[i].name, c[i].value);
    fprintf(bench.json, "}\n");
    fflush(bench.json);
    return ratio;
}

// The same for work / seconds, in 1e9 per second; or for seconds, as ms.
static inline double report_rate(const char *what, const char *unit, contender *c, int n,
                                 double work, double ceiling, int threads)
{
    for (int i = 0; i < n; i++)
        c[i].value = c[i].value > 0 ? work / c[i].value : 0;
    return report(what, unit, c, n, ceiling, threads);
}

static inline double report_ms(const char *what, contender *c, int n, double ceiling_seconds,
                               int threads)
{
    for (int i = 0; i < n; i++)
        c[i].value *= 1e3;
    return report(what, "ms", c, n, ceiling_seconds * 1e3, threads);
}

// One value without peers.
static inline void report_one(const char *what, const char *unit, double value, double ceiling,
                              int threads)
{
    contender c = { .name = "samba", .value = value };
    report(what, unit, &c, 1, ceiling, threads);
}

// ---- Peers: programs that answer one line per line ----------------------------------------------

typedef struct peer {
    FILE *to, *from;
    pid_t pid;
} peer;

static bool peer_start(peer *p, char *const *argv, char *hello, int size)
{
    int in[2], out[2];
    *p = (peer){ 0 };
    if (pipe(in)) return false;
    if (pipe(out)) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    p->to = fdopen(in[1], "w");
    p->from = fdopen(out[0], "r");
    if (p->pid > 0 && p->to && p->from && fgets(hello, size, p->from)) {
        hello[strcspn(hello, "\n")] = 0;
        return true;
    }
    return false;
}

// Sends a line; fills up to n numbers of the answer, returns how many there are. -1: it is gone.
static int peer_ask(peer *p, double *answer, int n, const char *request)
{
    char line[512], *at = line;
    int got = 0;
    if (!p->to) return -1;
    fprintf(p->to, "%s\n", request);
    fflush(p->to);
    if (!fgets(line, sizeof line, p->from)) return -1;
    while (got < n) {
        char *end;
        double x = strtod(at, &end);
        if (end == at) break;
        answer[got++] = x;
        at = end;
    }
    return got;
}

static inline double peer_number(peer *p, const char *request)
{
    double x = 0;
    return peer_ask(p, &x, 1, request) == 1 ? x : 0;
}

static void peer_stop(peer *p)
{
    if (p->to) fclose(p->to);
    if (p->from) fclose(p->from);
    if (p->pid > 0) waitpid(p->pid, NULL, 0);
    *p = (peer){ 0 };
}

// ---- The peers that may be installed ------------------------------------------------------------

// Debian's OpenBLAS 0.3.21 and BLIS 0.9.0 do not know processors that are younger than they are.
static const char *openblas_core(void)
{
    return machine.isa == 2 ? "SkylakeX" : machine.isa == 1 ? "Haswell" : NULL;
}

static const char *find_file(const char *pattern, char *path, size_t size)
{
    glob_t found;
    bool there = !glob(pattern, 0, NULL, &found) && found.gl_pathc > 0;
    if (there) snprintf(path, size, "%s", found.gl_pathv[0]);
    globfree(&found);
    return there ? path : NULL;
}

// What a tuned PyTorch gets: huge pages, and a malloc that keeps its memory; Debian's also OpenBLAS
// with OpenMP.
static void tune_environment(bool tuned, int threads)
{
    char n[16], path[256];
    snprintf(n, sizeof n, "%d", threads);
    setenv("OMP_NUM_THREADS", n, 1);
    unsetenv("OPENBLAS_L2_SIZE");
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("GLIBC_TUNABLES");
    unsetenv("MALLOC_MMAP_THRESHOLD_");
    unsetenv("MALLOC_TRIM_THRESHOLD_");
    if (!tuned) return;
    if (openblas_core()) setenv("OPENBLAS_CORETYPE", openblas_core(), 1);
    setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 1);
    setenv("MALLOC_MMAP_THRESHOLD_", "8589934592", 1);
    setenv("MALLOC_TRIM_THRESHOLD_", "8589934592", 1);
    if (find_file("/usr/lib/*/openblas-openmp", path, sizeof path))
        setenv("LD_LIBRARY_PATH", path, 1);
}

// The python of the virtual environment that tests/bench/peers.sh makes, if the module is there;
// else Debian's. path has room for PATH_ROOM characters.
enum { PATH_ROOM = 512 };

static bool todays_python(const char *module, char *path)
{
    const char *peers = getenv("PEERS");
    char pattern[PATH_ROOM], found[PATH_ROOM];
    snprintf(path, PATH_ROOM, "/usr/bin/python3");
    if (!peers || !*peers) return false;
    snprintf(pattern, sizeof pattern, "%.*s/lib/python3*/site-packages/%s", PATH_ROOM / 2, peers,
             module);
    if (!find_file(pattern, found, sizeof found)) return false;
    snprintf(path, PATH_ROOM, "%.*s/bin/python", PATH_ROOM / 2, peers);
    return true;
}

// How PyTorch runs: tests/bench/torch_peer.py says what is in a mode. DEBIAN is the PyTorch of
// /usr/bin/python3 as it comes, beside one from PyPI; without that, EAGER is Debian's, tuned.
typedef enum torch_mode {
    TORCH_EAGER,
    TORCH_COMPILE,
    TORCH_BF16,
    TORCH_BF16_COMPILE,
    TORCH_DEBIAN,
    TORCH_MODES
} torch_mode;

static const char *const torch_names[TORCH_MODES]
    = { "torch", "compile", "autocast", "a. compile", "Debian's" };

static inline bool torch_start(peer *p, torch_mode mode, int threads)
{
    static const char *const words[TORCH_MODES]
        = { "eager", "compile", "bf16", "bf16-compile", "eager" };
    static bool told[TORCH_MODES];
    char n[16], hello[160] = "", word[16], python[PATH_ROOM],
                script[] = "tests/bench/torch_peer.py";
    char *argv[] = { python, script, n, word, NULL };
    bool today = todays_python("torch", python);

    *p = (peer){ 0 };
    if (mode == TORCH_DEBIAN) snprintf(python, sizeof python, "/usr/bin/python3");
    if (!today && mode != TORCH_EAGER && mode != TORCH_DEBIAN) return false;
    snprintf(n, sizeof n, "%d", threads);
    snprintf(word, sizeof word, "%s", words[mode]);
    tune_environment(mode != TORCH_DEBIAN, threads);
    bool fine = peer_start(p, argv, hello, sizeof hello);
    tune_environment(true, bench.threads); // for libraries that are loaded here
    if (!fine) peer_stop(p);

    if (!told[mode]) {
        const char *lacking = mode == TORCH_DEBIAN ? "not here (Debian: python3-torch)"
                                                   : "not here (make peers gets it from PyPI)";
        say_version(torch_names[mode], fine ? hello : lacking, fine);
    }
    told[mode] = true;
    return fine;
}

// ---- Options ------------------------------------------------------------------------------------

static void bench_begin(int argc, char **argv, const char *area)
{
    bench.area = area;
    bench.argv = argv;
    bench.threads = samba__processors();
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "small"))
            bench.small = true;
        else if (!strcmp(argv[i], "cpu")) {
            setenv(cpu_word, "1", 1); // of several threads it would be the sum
            bench.threads = 1;
        } else if (!strcmp(argv[i], "threads") && more)
            bench.threads = atoi(argv[++i]);
        else if (!strcmp(argv[i], "rounds") && more)
            bench.rounds = atoi(argv[++i]);
        else if (!strcmp(argv[i], "only") && more)
            bench.only = argv[++i];
        else if (!strcmp(argv[i], "json") && more) {
            bench.json = fopen(argv[++i], "w");
            if (!bench.json) {
                perror(argv[i]);
                exit(2);
            }
        } else {
            fprintf(stderr,
                    "usage: %s [small] [cpu] [threads N] [rounds N] [only TEXT] [json FILE]\n",
                    argv[0]);
            exit(2);
        }
    }
    if (bench.threads < 1 || bench.threads > SAMBA__MAX_THREADS || bench.rounds < 1
        || bench.rounds > MOST_ROUNDS) {
        fprintf(stderr, "threads: 1 to %d, rounds: 1 to %d\n", SAMBA__MAX_THREADS, MOST_ROUNDS);
        exit(2);
    }
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("---- %s, %d threads, medians of %s%d rounds ----\n", area, bench.threads,
           bench.small ? "up to " : "", bench.rounds);
    if (!samba__pool_open(&machine.threads, bench.threads)) exit(1);
    measure_ceilings();
    tune_environment(true, bench.threads);
}

// 0, also when something is slow; 1 if a result differs from a peer's.
static int bench_end(void)
{
    samba__pool_close(&machine.threads);
    if (bench.json) fclose(bench.json);
    if (bench.disagreements) printf("%d results differ from a peer's\n", bench.disagreements);
    return bench.disagreements ? 1 : 0;
}
#endif
