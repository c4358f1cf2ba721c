// tools/samba device-report: what a PEF takes on a 32-bit device, before there is one.
#include "commands.h"
#include "program.h"
#include "tools/cli/util/text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *from;
    uint64_t memory; // --memory; 0: no limit
} options;

static int usage(FILE *to)
{
    fprintf(
        to,
        "usage: tools/samba device-report MODEL.ckpt|MODEL.pef [--memory BYTES]\n"
        "  prints RAM, flash, stack and multiply-adds on a 32-bit device, and which tensors\n"
        "  are alive where most memory is taken; exits with 1 if RAM is above BYTES (64k, 1M)\n");
    return to == stdout ? 0 : 2;
}

static void print_bytes(uint64_t bytes, const char *what)
{
    printf("  %12" PRIu64 "  %s\n", bytes, what);
}

// ---- The arena ----------------------------------------------------------------------------------

// From which node on each temporary is counted, and how many bytes all have at each node.
typedef struct arena {
    int32_t *from;
    uint64_t *bytes;
} arena;

static bool is_temporary(const symbol *s)
{
    return s->region == REGION_ARENA && s->view_of < 0;
}

static const program *placed; // of the symbols that qsort and bsearch compare

// By place, then by the node that reads them last.
static int by_place(const void *a, const void *b)
{
    const symbol *x = &placed->symbols[*(const int32_t *)a],
                 *y = &placed->symbols[*(const int32_t *)b];
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->last > y->last) - (x->last < y->last);
}

// Is there one in `list`, sorted by place, whose last reader makes s in its memory?
static bool takes_over(const program *p, const symbol *s, const int32_t *list, int32_t n)
{
    int32_t low = 0, high = n;
    while (low < high) { // the first that does not come before
        int32_t middle = low + (high - low) / 2;
        const symbol *x = &p->symbols[list[middle]];
        bool before = x->offset < s->offset || (x->offset == s->offset && x->last < s->first);
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < n; low++) {
        const symbol *x = &p->symbols[list[low]];
        if (x->offset != s->offset || x->last != s->first) return false;
        if (x->first < s->first) return true;
    }
    return false;
}

// A result that takes over the memory of what its node reads last is counted from the node after.
static void count_from(arena *a, const program *p, int32_t *list)
{
    int32_t n = 0;
    for (int32_t i = 0; i < p->pef.n_symbols; i++)
        if (is_temporary(&p->symbols[i])) list[n++] = i;
    placed = p;
    qsort(list, (size_t)n, sizeof *list, by_place);
    for (int32_t i = 0; i < p->pef.n_symbols; i++) {
        const symbol *s = &p->symbols[i];
        if (!is_temporary(s)) continue;
        a->from[i] = s->first + takes_over(p, s, list, n);
        if (a->from[i] > s->last) continue;
        a->bytes[a->from[i]] += s->size;
        a->bytes[s->last + 1] -= s->size; // modulo 2^64: sums are right
    }
    for (int32_t at = 1; at <= p->pef.n_nodes; at++)
        a->bytes[at] += a->bytes[at - 1];
}

static bool map_arena(arena *a, const program *p)
{
    size_t n = (size_t)p->pef.n_symbols + 1;
    int32_t *list = malloc(n * sizeof *list);
    a->from = calloc(n, sizeof *a->from);
    a->bytes = calloc((size_t)p->pef.n_nodes + 2, sizeof *a->bytes);
    bool fine = list && a->from && a->bytes;
    if (fine) count_from(a, p, list);
    free(list);
    return fine;
}

static void free_arena(arena *a)
{
    free(a->from);
    free(a->bytes);
}

static bool counts_at(const arena *a, const program *p, int32_t i, int32_t at)
{
    return is_temporary(&p->symbols[i]) && a->from[i] <= at && at <= p->symbols[i].last;
}

// Where most is alive, of n nodes from `first` on.
static int32_t peak_of(const arena *a, int32_t first, int32_t n)
{
    int32_t peak = first;
    uint64_t most = 0;
    for (int32_t i = first; i < first + n; i++) {
        if (a->bytes[i] <= most) continue;
        most = a->bytes[i];
        peak = i;
    }
    return peak;
}

static const program *sorted; // of the symbols that qsort compares

static int by_size(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, k = *(const int32_t *)b;
    uint64_t x = sorted->symbols[i].size, y = sorted->symbols[k].size;
    if (x != y) return x > y ? -1 : 1;
    return i < k ? -1 : 1;
}

static void print_tensor(const program *p, const symbol *s)
{
    printf("  %12" PRIu64 "  %s", s->size, shown(s->name));
    if (s->role == SAMBA_ROLE_SCRATCH)
        printf(" of %s", shown(p->nodes[s->first].name));
    else
        printf("  %s ", c_type_of(s) ? c_type_of(s) : "bytes");
    if (s->role != SAMBA_ROLE_SCRATCH) print_shape(stdout, &s->spec.shape);
    putchar('\n');
}

// The tensors at the peak, largest first, and what the arena has besides: together all of it.
static bool print_peak(const arena *a, const program *p, fault *why)
{
    if (!p->pef.arena_bytes) return true;
    int32_t peak = peak_of(a, 0, p->pef.n_nodes), n = 0;
    int32_t *alive = calloc((size_t)p->pef.n_symbols, sizeof *alive);
    if (!alive) return fail(why, "no memory for %d tensors", p->pef.n_symbols);
    for (int32_t i = 0; i < p->pef.n_symbols; i++)
        if (counts_at(a, p, i, peak)) alive[n++] = i;
    sorted = p;
    qsort(alive, (size_t)n, sizeof *alive, by_size);
    uint64_t rest = p->pef.arena_bytes - a->bytes[peak];
    printf("peak of the arena: node %d, %s (%s)\n", peak, shown(p->nodes[peak].name),
           p->nodes[peak].op ? p->nodes[peak].op : "an op of your own");
    for (int32_t i = 0; i < n; i++)
        print_tensor(p, &p->symbols[alive[i]]);
    if (rest) print_bytes(rest, "between them: gaps, and multiples of 64");
    print_bytes(p->pef.arena_bytes, "the arena");
    free(alive);
    return true;
}

// ---- Work ---------------------------------------------------------------------------------------

// Multiply-adds of products: matmul, affine, convolution, attention, their gradients and int8.
// That of a product and a step of SGD has 6 operations for each weight besides.
static int64_t macs_of(const program *p, const node *n)
{
    static const char *const products[]
        = { "matmul", "affine", "convolution", "scaled_dot_product" };
    if (n->op && strcmp(n->op, "matmul_sgd") == 0) {
        samba_pef_symbol w = samba_pef_symbol_at(&p->pef, n->out[0]);
        return n->flops / 2 - 3 * samba_count(&w.spec.shape);
    }
    for (size_t i = 0; n->op && i < sizeof products / sizeof *products; i++)
        if (strncmp(n->op, products[i], strlen(products[i])) == 0) return n->flops / 2;
    return 0;
}

// Those of a section in a run, which repeats some for each part of the batch.
static int64_t section_macs(const program *p, const section *q)
{
    bool repeated = (q->type & (SAMBA_FWD | SAMBA_BCKWD)) != 0;
    int64_t macs = 0;
    for (int32_t i = q->first; i < q->first + q->n; i++)
        macs += macs_of(p, &p->nodes[i]);
    return repeated ? macs * p->pef.microbatches : macs;
}

static void print_types(unsigned types)
{
    static const struct {
        unsigned type;
        const char *name;
    } all[] = {
        { SAMBA_ZEROGRAD, "ZEROGRAD" }, { SAMBA_COUNT, "COUNT" },   { SAMBA_FWD, "FWD" },
        { SAMBA_BCKWD, "BCKWD" },       { SAMBA_REDUCE, "REDUCE" }, { SAMBA_GRADNORM, "GRADNORM" },
        { SAMBA_OPT, "OPT" },
    };

    const char *between = "";
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!(types & all[i].type)) continue;
        printf("%s%s", between, all[i].name);
        between = "+";
    }
}

static void print_sections(const arena *a, const program *p)
{
    printf("sections:   arena at most   multiply-adds\n");
    for (int32_t i = 0; i < p->pef.n_sections; i++) {
        const section *q = &p->sections[i];
        int32_t peak = peak_of(a, q->first, q->n);
        printf("  %3d %16" PRIu64 " %15" PRId64 "   ", i, a->bytes[peak], section_macs(p, q));
        print_types(q->type);
        if (q->graph) printf(" of %s", shown(q->graph));
        printf(", most at %s\n", shown(p->nodes[peak].name));
    }
}

// ---- All of it ----------------------------------------------------------------------------------

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

// Of the file as samba_save writes it: values of a PEF that has none yet are counted, too.
static void print_flash(const program *p)
{
    uint64_t values = 0, trace = strlen(p->pef.trace) + 1;
    for (int32_t i = 0; i < p->pef.n_symbols; i++) {
        const symbol *s = &p->symbols[i];
        bool saved = s->role == SAMBA_ROLE_WEIGHT || s->role == SAMBA_ROLE_STATE
            || s->role == SAMBA_ROLE_ARGIN || s->role == SAMBA_ROLE_CONSTANT;
        if (saved && s->view_of < 0) values += rounded(s->size);
    }
    print_bytes(p->pef.tables_size + values, "flash, besides the code of samba.h:");
    print_bytes(values, "  values");
    print_bytes(p->pef.tables_size - trace, "  records and names");
    print_bytes(trace, "  trace: the graph as text");
}

static void print_ram(const samba_device_memory *m)
{
    print_bytes(m->bytes, "RAM: what samba_runtime_bytes says there:");
    print_bytes(m->state, "  state: what trains, gradients, optimizers, argins");
    print_bytes(m->arena, "  arena: what passes between ops");
    print_bytes(m->io, "  inputs and outputs");
    print_bytes(m->scratch, "  scratch of kernels");
    print_bytes(m->tables, "  tables of the runtime");
}

static bool report(const options *o, const program *p, fault *why)
{
    samba_device_memory m;
    char reason[1024];
    if (!samba_measure_device(p->bytes, p->size, NULL, &m, reason, sizeof reason))
        return fail(why, "%s: %s", o->from, reason);
    int64_t macs = 0;
    for (int32_t i = 0; i < p->pef.n_sections; i++)
        macs += section_macs(p, &p->sections[i]);
    printf("%s on a 32-bit device\n", shown(o->from));
    print_ram(&m);
    print_flash(p);
    print_bytes(SAMBA_DEVICE_STACK, "stack at most, besides your own");
    print_bytes((uint64_t)macs, "multiply-adds in a run of the whole schedule");
    arena a;
    bool fine = map_arena(&a, p) || fail(why, "no memory for a map of the arena");
    fine = fine && print_peak(&a, p, why);
    if (fine) print_sections(&a, p);
    free_arena(&a);
    if (!fine) return false;
    fflush(stdout);
    if (!o->memory || m.bytes <= o->memory) return true;
    return fail(why, "%s takes %zu bytes of RAM, %" PRIu64 " more than --memory %" PRIu64, o->from,
                m.bytes, m.bytes - o->memory, o->memory);
}

// 65536, 64k or 1M.
static bool read_size(uint64_t *size, const char *text, fault *why)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    uint64_t unit = *end == 'k' || *end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1;
    bool digits = *text >= '0' && *text <= '9' && n > 0 && n < (1ull << 40);
    if (unit > 1) end++;
    if (!digits || *end)
        return fail(why, "--memory %s: give a number of bytes, such as 65536 or 64k", text);
    *size = n * unit;
    return true;
}

static bool read_words(options *o, int argc, char **argv, fault *why)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--memory") == 0) {
            if (++i == argc) return fail(why, "--memory: give a number of bytes, such as 64k");
            if (!read_size(&o->memory, argv[i], why)) return false;
        } else if (*argv[i] == '-')
            return fail(why, "there is no flag %s; --help lists those there are", argv[i]);
        else if (o->from)
            return fail(why, "%s: one file at a time", argv[i]);
        else
            o->from = argv[i];
    }
    return o->from || fail(why, "which file? device-report MODEL.ckpt or MODEL.pef");
}

int device_report_main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return usage(stdout);
    options o = { 0 };
    program p = { 0 };
    fault why = { "" };
    if (!read_words(&o, argc, argv, &why)) return report_fault("device-report", &why, 2);
    bool fine = open_program(&p, o.from, &why) && report(&o, &p, &why);
    close_program(&p);
    return fine ? 0 : report_fault("device-report", &why, 1);
}
