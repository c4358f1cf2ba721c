// How long nodes and sections take, and what this machine can do at most.
#include "measure.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RUNS = 63 };

// ---- Nodes and sections -------------------------------------------------------------------------

// Seconds of one run: of its nodes, in which case none are fused, or of its sections.
typedef struct clocks {
    double *seconds, began;
} clocks;

static void time_node(int32_t i, const char *name, const samba_op *op, const samba_args *args,
                      bool begins, void *user)
{
    clocks *c = user;
    (void)name;
    (void)op;
    (void)args;
    if (begins)
        c->began = samba_seconds();
    else
        c->seconds[i] += samba_seconds() - c->began;
}

static void time_section(const char *name, int32_t section, bool begins, void *user)
{
    clocks *c = user;
    (void)name;
    if (section < 0) return;
    if (begins)
        c->began = samba_seconds();
    else
        c->seconds[section] += samba_seconds() - c->began;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// How often a section runs in a run of the whole schedule.
static int32_t repeats(const model *m, int32_t section_number)
{
    unsigned types = m->sections[section_number].type;
    bool repeated = (types & (SAMBA_FWD | SAMBA_BCKWD | SAMBA_COUNT)) != 0;
    return repeated && m->pef.microbatches > 1 ? m->pef.microbatches : 1;
}

// Medians of n columns over the rows of a table.
static void medians(double *to, const double *table, int32_t n, int32_t rows)
{
    double column[MOST_RUNS];
    for (int32_t i = 0; i < n; i++) {
        for (int32_t r = 0; r < rows; r++)
            column[r] = table[(size_t)r * (size_t)n + (size_t)i];
        qsort(column, (size_t)rows, sizeof *column, by_value);
        to[i] = column[rows / 2];
    }
}

// Runs the model several times, watching nodes, or else sections.
static double *run_watched(model *m, int32_t n, int32_t runs, bool nodes, fault *why)
{
    double *table = calloc((size_t)n * (size_t)runs + 1, sizeof *table);
    double *result = calloc((size_t)n + 1, sizeof *result);
    bool fine = (table && result) || fail(why, "no memory for the times of %d runs", runs);
    for (int32_t r = 0; fine && r < runs; r++) {
        clocks c = { table + (size_t)r * (size_t)n, 0.0 };
        if (nodes)
            samba_on_node(m->session, time_node, &c);
        else
            samba_on_event(m->session, time_section, &c);
        fine = run_model(m, why);
        samba_on_node(m->session, NULL, NULL);
        samba_on_event(m->session, NULL, NULL);
    }
    if (fine) medians(result, table, n, runs);
    for (int32_t i = 0; fine && i < n; i++)
        result[i] /= repeats(m, nodes ? m->section_of[i] : i);
    free(table);
    if (fine) return result;
    free(result);
    return NULL;
}

// Long runs are measured less often: about two seconds for all of them, or one run of each kind.
bool measure_times(times *t, model *m, int32_t runs, fault *why)
{
    memset(t, 0, sizeof *t);
    double began = samba_seconds();
    t->section = run_watched(m, m->pef.n_sections, 1, false, why);
    double took = samba_seconds() - began;
    t->runs = runs < MOST_RUNS ? runs : MOST_RUNS;
    while (t->runs > 1 && took * 2.0 * t->runs > 2.0)
        t->runs--;
    if (t->section && t->runs > 1) {
        free(t->section);
        t->section = run_watched(m, m->pef.n_sections, t->runs, false, why);
    }
    if (t->section) t->node = run_watched(m, m->pef.n_nodes, t->runs, true, why);
    return t->node != NULL;
}

void free_times(times *t)
{
    free(t->node);
    free(t->section);
    memset(t, 0, sizeof *t);
}

// ---- The machine --------------------------------------------------------------------------------

static void name_machine(char *name, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    snprintf(name, size, "this machine");
    while (f && fgets(line, sizeof line, f)) {
        char *at = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!at) continue;
        at[strcspn(at, "\n")] = 0;
        snprintf(name, size, "%s", at + 1 + strspn(at + 1, " "));
        break;
    }
    if (f) fclose(f);
}

// The sides of the matrices whose product tells how fast the machine is. Fuzzers, which measure it
// for each input, in code without SIMD under sanitizers, have smaller ones.
#ifndef VIEW_PRODUCT_SIDE
#define VIEW_PRODUCT_SIDE 512
#endif

// The best of several products of two matrices, of samba's own.
static bool measure_product(double *gflops, int32_t threads, fault *why)
{
    enum { N = VIEW_PRODUCT_SIDE };

    samba_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.threads = threads;
    desc.quiet = true;
    samba_session *s = samba_open(&desc);
    samba_tensor *a = samba_rand(s, "a", SAMBA_SHAPE(N, N)),
                 *b = samba_rand(s, "b", SAMBA_SHAPE(N, N));
    samba_set_tracing(s, false);
    double best = 1e9, end = samba_seconds() + 0.3;
    for (int32_t i = 0; i < 2 || (i < 20 && samba_seconds() < end); i++) {
        samba_scope_begin(s);
        double began = samba_seconds();
        samba_matmul(a, b);
        double took = samba_seconds() - began;
        samba_scope_end(s);
        if (took < best) best = took;
    }
    bool fine = samba_ok(s) || fail(why, "%s", s ? samba_error(s) : "no memory for a session");
    *gflops = 2.0 * N * N * N / best / 1e9;
    samba_close(s);
    return fine;
}

// The best of several copies, larger than caches are.
static bool measure_copy(double *gbytes, fault *why)
{
    const size_t size = (size_t)64 << 20;
    char *from = malloc(size), *to = malloc(size);
    double best = 1e9;
    if (from && to) {
        memset(from, 1, size);
        memset(to, 2, size);
        for (int i = 0; i < 5; i++) {
            double began = samba_seconds();
            memcpy(to, from, size);
            double took = samba_seconds() - began;
            if (took < best) best = took;
            from[i] = to[size - 1 - (size_t)i]; // so that no copy is left out
        }
    }
    bool fine = (from && to) || fail(why, "no memory for a copy of 64 MiB");
    free(from);
    free(to);
    *gbytes = 2.0 * (double)size / best / 1e9;
    return fine;
}

bool measure_machine(machine *m, int32_t threads, fault *why)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    memset(m, 0, sizeof *m);
    name_machine(m->name, sizeof m->name);
    m->threads = threads;
    if (threads == 0) m->threads = processors > 64 ? 64 : (int32_t)processors;
    return measure_product(&m->gflops, threads, why) && measure_copy(&m->gbytes, why);
}
