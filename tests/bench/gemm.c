// Matrix products in f32: squares, the 15 products of a GPT-2 124M layer and head, and few rows
// against weights that are not in any cache.
//     cc -O2 -o bench_gemm tests/bench/gemm.c -lm -pthread -ldl && ./bench_gemm [small]
#include "bench.h"

typedef void (*cblas_fn)(int, int, int, int, int, int, float, const float *, int, const float *,
                         int, float, float *, int);
typedef int (*dnnl_fn)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t,
                       const float *, int64_t, float, float *, int64_t);

// C (m,n) = op(A) op(B); how: "nn", "nt" (B stored (n,k)), "tn" (A stored (k,m)).
typedef struct product {
    const char *how;
    int m, n, k;
    float *a, *b, *c;
    size_t b_step, b_count; // a pool of B's to walk through: elements, how many
    int repeat;
} product;

static cblas_fn openblas, blis;
static dnnl_fn dnnl;
static peer torch;
static float *local;
static size_t next_b; // goes on through all contenders: no B is warm

static void *symbol(void *library, const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

static void open_libraries(void)
{
    char path[256], text[128];
    const int *(*dnnl_version)(void);
    char *(*config)(void);
    char *(*arch_name)(int);
    char *(*blis_version)(void);
    int (*arch)(void);
    void (*init)(void);
    void *lib = dlopen(find_file("/usr/lib/*/openblas-openmp/libopenblas.so.0", path, sizeof path)
                           ? path
                           : "libopenblas.so.0",
                       RTLD_NOW | RTLD_LOCAL);
    *(void **)&openblas = symbol(lib, "cblas_sgemm");
    *(void **)&config = symbol(lib, "openblas_get_config");
    say_version("OpenBLAS",
                !openblas    ? "not here (Debian: libopenblas0-openmp)"
                    : config ? config()
                             : "found",
                openblas);
    lib = dlopen("libblis.so.4", RTLD_NOW | RTLD_LOCAL);
    *(void **)&blis = symbol(lib, "cblas_sgemm");
    *(void **)&arch = symbol(lib, "bli_arch_query_id");
    *(void **)&arch_name = symbol(lib, "bli_arch_string");
    *(void **)&init = symbol(lib, "bli_init");
    for (int i = 0; arch_name && machine.isa && i < 16;
         i++) { // a younger processor would be "generic"
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        if (!strcmp(arch_name(i), machine.isa == 2 ? "skx" : "haswell"))
            setenv("BLIS_ARCH_TYPE", number, 1);
    }
    if (init) init();
    *(void **)&blis_version = symbol(lib, "bli_info_get_version_str");
    snprintf(text, sizeof text, "BLIS %s %s", blis_version ? blis_version() : "",
             arch && arch_name ? arch_name(arch()) : "");
    say_version("BLIS", blis ? text : "not here (Debian: libblis4-openmp)", blis);
    lib = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    *(void **)&dnnl = symbol(lib, "dnnl_sgemm");
    *(void **)&dnnl_version = symbol(lib, "dnnl_version");
    const int *version = dnnl_version ? dnnl_version() : NULL; // major, minor, patch
    if (version) snprintf(text, sizeof text, "oneDNN %d.%d.%d", version[0], version[1], version[2]);
    say_version("oneDNN", version ? text : "not here (Debian: libdnnl2)", version);
}

// ---- The contenders: each runs the product repeat times and answers the seconds of one ----------

static float *next_weights(const product *p)
{
    return p->b + (next_b++ % p->b_count) * p->b_step;
}

typedef struct samba_job {
    samba__gemm g;
    int isa;
} samba_job;

static void samba_tile(void *context, int64_t begin, int64_t end, int32_t thread)
{
    samba_job *j = (samba_job *)context;
    samba__gemm_run(&j->g, begin, end, local + (size_t)thread * (SAMBA_LOCAL_BYTES / 4), j->isa);
}

static double run_samba(void *context)
{
    const product *p = (const product *)context;
    bool ta = p->how[0] == 't', tb = p->how[1] == 't';
    samba_job j = { .isa = samba__best_isa(false) };
    j.g = (samba__gemm){ .m = p->m,
                         .n = p->n,
                         .k = p->k,
                         .a = p->a,
                         .a_row = ta ? 1 : p->k,
                         .a_col = ta ? p->m : 1,
                         .b_row = tb ? 1 : p->n,
                         .b_col = tb ? p->k : 1,
                         .c = p->c,
                         .c_row = p->n };
    double start = 0;
    for (int i = -1; i < p->repeat; i++) {
        if (i == 0) start = bench_seconds();
        j.g.b = next_weights(p);
        samba__pool *pool = bench.threads > 1 ? &machine.threads : NULL;
        int64_t tiles = samba__gemm_tiles(p->m, p->n, p->k);
        samba__pool_run(pool, samba_tile, &j, tiles, samba__tiles_at_once(tiles, pool));
    }
    return (bench_seconds() - start) / p->repeat;
}

static double run_cblas(const product *p, cblas_fn f)
{
    bool ta = p->how[0] == 't', tb = p->how[1] == 't';
    double start = 0;
    for (int i = -1; i < p->repeat; i++) {
        if (i == 0) start = bench_seconds();
        f(101, ta ? 112 : 111, tb ? 112 : 111, p->m, p->n, p->k, 1, p->a, ta ? p->m : p->k,
          next_weights(p), tb ? p->k : p->n, 0, p->c, p->n);
    }
    return (bench_seconds() - start) / p->repeat;
}

static double run_openblas(void *context)
{
    return run_cblas((const product *)context, openblas);
}

static double run_blis(void *context)
{
    return run_cblas((const product *)context, blis);
}

static double run_dnnl(void *context)
{
    const product *p = (const product *)context;
    bool ta = p->how[0] == 't', tb = p->how[1] == 't';
    double start = 0;
    for (int i = -1; i < p->repeat; i++) {
        if (i == 0) start = bench_seconds();
        dnnl(ta ? 'T' : 'N', tb ? 'T' : 'N', p->m, p->n, p->k, 1, p->a, ta ? p->m : p->k,
             next_weights(p), tb ? p->k : p->n, 0, p->c, p->n);
    }
    return (bench_seconds() - start) / p->repeat;
}

static double run_torch(void *context)
{
    char request[32];
    snprintf(request, sizeof request, "run %d", ((const product *)context)->repeat);
    return peer_number(&torch, request);
}

// ---- One row ------------------------------------------------------------------------------------

enum { CONTENDERS = 5 };

static void check(const product *p, const contender *c)
{
    char what[96];
    double mine = 0, theirs;
    size_t size = (size_t)p->m * (size_t)p->n;
    for (int i = 0; i < 4; i++) {
        if (!c[i].run) continue;
        next_b = 0;
        product once = *p;
        once.repeat = 1;
        once.b_count = 1;
        memset(p->c, 0, 4 * size);
        c[i].run(&once);
        theirs = 0;
        for (size_t k = 0; k < size; k++)
            theirs += fabs((double)p->c[k]);
        snprintf(what, sizeof what, "sum of |C|, %s %d,%d,%d", p->how, p->m, p->n, p->k);
        if (i == 0)
            mine = theirs;
        else
            agree(what, c[i].name, mine, theirs, 1e-5);
    }
}

// Seconds of all contenders; returns the ceiling.
static double compete(contender *c, const char *how, int m, int n, int k, bool cold)
{
    product p = { .how = how, .m = m, .n = n, .k = k, .b_count = 1 };
    size_t a = (size_t)m * (size_t)k, b = (size_t)n * (size_t)k, pool = (size_t)320 << 18;
    char request[96];
    p.b_step = b;
    if (cold) p.b_count = pool / b + 2;
    p.a = numbers(a, 1, 1);
    p.c = numbers((size_t)m * (size_t)n, 3, 1);
    p.b = numbers(cold ? b * p.b_count : b, 2, 1);
    p.repeat = (int)((bench.small ? 5e8 : 2e9) / (2.0 * m * n * k)) + 1;
    if (cold) p.repeat = (int)(3e8 / (4.0 * (double)b)) + 1;
    snprintf(request, sizeof request, "make gemm %s %d %d %d %d", how, m, n, k, (int)p.b_count);
    bool there = peer_ask(&torch, NULL, 0, request) >= 0;
    const contender all[CONTENDERS]
        = { { .name = "samba", .run = run_samba },
            { .name = "OpenBLAS", .run = openblas ? run_openblas : NULL },
            { .name = "BLIS", .run = blis ? run_blis : NULL },
            { .name = "oneDNN", .run = dnnl ? run_dnnl : NULL },
            { .name = "PyTorch", .run = there ? run_torch : NULL } };
    for (int i = 0; i < CONTENDERS; i++) {
        c[i] = all[i];
        c[i].context = &p;
    }
    check(&p, c);
    double limit = race(c, CONTENDERS, cold ? CEILING_READ : CEILING_FMA, bench.threads > 1);
    free(p.a);
    free(p.b);
    free(p.c);
    return limit;
}

// What a set of rows amounts to: total work and times, ratios to the best at each shape.
typedef struct summary {
    int n;
    double flops, ideal, seconds[CONTENDERS], log_ratio, worst;
    char at[64];
} summary;

static void row(summary *s, const char *how, int m, int n, int k)
{
    contender c[CONTENDERS];
    char what[64];
    snprintf(what, sizeof what, "sgemm %s %d,%d,%d", how, m, n, k);
    if (!wanted(what)) return;
    double limit = compete(c, how, m, n, k, false), flops = 2.0 * m * n * k;
    for (int i = 0; i < CONTENDERS; i++)
        s->seconds[i] += c[i].value;
    double ratio
        = report_rate(what, "GFLOP/s", c, CONTENDERS, flops * 1e-9, limit * 1e-9, bench.threads);
    s->flops += flops;
    s->ideal += flops / limit;
    s->n++;
    if (ratio <= 0) return;
    s->log_ratio += log(ratio);
    if (s->worst == 0 || ratio < s->worst) {
        s->worst = ratio;
        snprintf(s->at, sizeof s->at, "%s", what);
    }
}

static void total(const summary *s, const char *what)
{
    contender c[CONTENDERS] = { { .name = "samba" },
                                { .name = "OpenBLAS" },
                                { .name = "BLIS" },
                                { .name = "oneDNN" },
                                { .name = "PyTorch" } };
    char text[64];
    if (!s->n) return;
    for (int i = 0; i < CONTENDERS; i++)
        c[i].value = s->seconds[i];
    snprintf(text, sizeof text, "%s, by flops", what);
    report_rate(text, "GFLOP/s", c, CONTENDERS, s->flops * 1e-9, s->flops / s->ideal * 1e-9,
                bench.threads);
    if (s->worst <= 0) return;
    snprintf(text, sizeof text, "%s, mean ratio", what);
    report_one(text, "x best", exp(s->log_ratio / s->n), 0, bench.threads);
    snprintf(text, sizeof text, "%s, worst ratio", what);
    report_one(text, "x best", s->worst, 0, bench.threads);
    printf("    the worst is %s\n", s->at);
}

static const int layers[5][2]
    = { { 768, 768 }, { 2304, 768 }, { 3072, 768 }, { 768, 3072 }, { 50257, 768 } }; // out, in

int main(int argc, char **argv)
{
    bench_begin(argc, argv, "gemm");
    local = (float *)must(aligned_alloc(64, (size_t)bench.threads * SAMBA_LOCAL_BYTES));
    open_libraries();
    torch_start(&torch, TORCH_EAGER, bench.threads);
    summary squares = { 0 };
    for (int n = 64; n <= (bench.small ? 1024 : 2048); n *= bench.small ? 16 : 2)
        row(&squares, "nn", n, n, n);
    total(&squares, "squares");
    for (int rows = 256; rows <= (bench.small ? 256 : 1024); rows *= 4) {
        summary gpt2 = { 0 };
        char what[32];
        for (int i = bench.small ? 1 : 0; i < (bench.small ? 3 : 5); i++) {
            int n = layers[i][0], k = layers[i][1];
            row(&gpt2, "nt", rows, n, k); // Y = X W^T
            row(&gpt2, "nn", rows, k, n); // dX = dY W
            row(&gpt2, "tn", n, k, rows); // dW = dY^T X
        }
        snprintf(what, sizeof what, "GPT-2, %d rows", rows);
        total(&gpt2, what);
    }
    for (int m = 1; m <= 16; m *= 4) {
        for (int i = bench.small ? 2 : 0; i < (bench.small ? 3 : 5); i++) {
            contender c[CONTENDERS];
            char what[64];
            int n = layers[i][0], k = layers[i][1];
            snprintf(what, sizeof what, "skinny, cold %d,%d,%d", m, n, k);
            if (!wanted(what)) continue;
            double limit = compete(c, "nt", m, n, k, true);
            report_rate(what, "GB/s", c, CONTENDERS, 4e-9 * n * k, limit * 1e-9, bench.threads);
        }
    }
    peer_stop(&torch);
    return bench_end();
}
