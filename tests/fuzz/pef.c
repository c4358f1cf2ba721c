// A PEF in memory: whatever its bytes are, it is refused with a reason, or runs within the memory
// that it said it needs. While a node runs, all of the arena, of the state and of the values in the
// file is poisoned but what that node names. Run once more, with ops fused and in memory that held
// other bytes, the same values must come.
//
// Without AddressSanitizer nothing is poisoned; the values are compared all the same.
#include "pef_mutate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONS 1
#endif
#endif
#if defined(POISONS)
void __asan_poison_memory_region(void const volatile *at, size_t size);
void __asan_unpoison_memory_region(void const volatile *at, size_t size);
#else
#define __asan_poison_memory_region(at, size) ((void)(at), (void)(size))
#define __asan_unpoison_memory_region(at, size) ((void)(at), (void)(size))
#endif

enum { MOST_MEMORY = 16 << 20 }; // a program that wants more is not run

enum { MOST_GRAPHS = 4 }; // that run by themselves

static const double most_flops = 1e6, flops_a_second = 2e7;
static long n_accepted;

// The memory of a runtime, as the poisoner sees it.
typedef struct arena {
    samba_runtime *rt;
    fuzz_memory where;
    const uint8_t *end;
} arena;

static void poison_all(const arena *a)
{
    __asan_poison_memory_region(a->where.regions, (size_t)(a->end - a->where.regions));
    __asan_poison_memory_region(a->where.data, a->where.data_size);
}

static void unpoison_all(const arena *a)
{
    __asan_unpoison_memory_region(a->where.regions, (size_t)(a->end - a->where.regions));
    __asan_unpoison_memory_region(a->where.data, a->where.data_size);
}

static void open_operand(const void *at, const samba_spec *spec)
{
    if (!at) return;
    size_t bytes = (size_t)samba_count(&spec->shape) * samba_dtype_size(spec->dtype);
    __asan_unpoison_memory_region(at, bytes);
}

static void around_node(int32_t node, const char *name, const samba_op *op, const samba_args *args,
                        bool begins, void *user)
{
    const arena *a = user;
    (void)name;
    (void)op;
    if (!begins) {
        unpoison_all(a);
        return;
    }
    poison_all(a);
    for (int32_t i = 0; i < args->n_in; i++)
        open_operand(args->in[i], &args->in_spec[i]);
    for (int32_t i = 0; i < args->n_out; i++)
        open_operand(args->out[i], &args->out_spec[i]);
    if (args->scratch) __asan_unpoison_memory_region(args->scratch, fuzz_scratch(a->rt, node));
}

// ---- Running ------------------------------------------------------------------------------------

// Values of inputs: small numbers, which most ops take.
static void fill_inputs(samba_runtime *rt)
{
    for (int32_t i = 0; i < samba_runtime_n_symbols(rt); i++) {
        samba_runtime_symbol q;
        if (!samba_runtime_symbol_at(rt, i, &q) || q.role != SAMBA_ROLE_INPUT || !q.data) continue;
        for (size_t k = 0; k + 4 <= q.bytes && samba_dtype_size(q.spec.dtype) == 4; k += 4) {
            int32_t whole = (int32_t)(k / 4 % 3);
            float number = (float)(k / 4 % 7) * 0.5f - 1.0f;
            memcpy((uint8_t *)q.data + k,
                   q.spec.dtype == SAMBA_F32 ? (void *)&number : (void *)&whole, 4);
        }
    }
}

// Too early, all, each graph alone, as a test: what for, and when, does not matter.
static uint64_t run_schedule(samba_runtime *rt, const samba_pef *pef)
{
    static const unsigned types[3] = { SAMBA_BCKWD | SAMBA_OPT, SAMBA_FWD, 0 };
    char text[300];
    uint64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        if (!samba_runtime_run(rt, types[i])) {
            if (samba_runtime_error(rt, text, sizeof text) == SAMBA_OK)
                fuzz_fail("a run fails without an error");
            fuzz_check_text(text, sizeof text, "samba_runtime_run");
        }
        sum = sum * 3 + fuzz_values(rt);
    }
    for (int32_t i = 0; i < pef->n_sections && i < MOST_GRAPHS; i++) {
        const char *graph = samba_pef_section_at(pef, i).graph;
        if (graph) samba_runtime_run_graph(rt, graph, 0);
    }
    samba_runtime_set_train(rt, false);
    samba_runtime_run(rt, SAMBA_FWD);
    return sum * 3 + fuzz_values(rt);
}

// Runs the program in memory of exactly the size that it said it needs.
static uint64_t run_painted(const uint8_t *data, size_t size, size_t needed, int paint,
                            bool watched)
{
    char why[400];
    samba_pef pef;
    uint64_t sum = 0;
    uint8_t *memory = malloc(needed);
    if (!memory) return 0;
    memset(memory, paint, needed);

    samba_runtime *rt = samba_runtime_open(data, size, memory, needed, why, sizeof why);
    if (rt && samba_pef_open(&pef, data, size, why, sizeof why)) {
        arena a = { rt, fuzz_memory_of(rt), memory + needed };
        fill_inputs(rt);
        if (watched) fuzz_watch(rt, around_node, &a);
        sum = run_schedule(rt, &pef);
        fuzz_watch(rt, NULL, NULL);
    } else if (!rt) {
        fuzz_check_text(why, sizeof why, "samba_runtime_open");
    }
    free(memory);
    return sum;
}

// ---- The records as tools read them -------------------------------------------------------------

static size_t read_records(const samba_pef *pef)
{
    size_t sum = strlen(pef->trace);
    for (int32_t i = -1; i <= pef->n_symbols; i++) {
        samba_pef_symbol q = samba_pef_symbol_at(pef, i);
        const uint8_t *value = q.value;
        if (q.name) sum += strlen(q.name);
        if (value && q.size) sum += value[0] + value[q.size - 1];
    }
    for (int32_t i = -1; i <= pef->n_nodes; i++) {
        samba_pef_node q = samba_pef_node_at(pef, i);
        int32_t words[SAMBA_MAX_ATTR];
        if (q.name) sum += strlen(q.name) + (size_t)samba_pef_attr(&q, "axis", words, 8);
    }
    for (int32_t i = -1; i <= pef->n_sections; i++) {
        samba_pef_section q = samba_pef_section_at(pef, i);
        if (q.graph) sum += strlen(q.graph);
    }
    return sum;
}

// Bytes that a runtime needs, after all questions that may be asked of a file; 0: it is refused.
static size_t ask(const uint8_t *data, size_t size)
{
    char why[400] = "";
    samba_pef pef;
    samba_device_memory device;
    if (samba_pef_open(&pef, data, size, why, sizeof why))
        read_records(&pef);
    else
        fuzz_check_text(why, sizeof why, "samba_pef_open");
    if (!samba_measure_device(data, size, NULL, &device, why, sizeof why))
        fuzz_check_text(why, sizeof why, "samba_measure_device");

    size_t needed = samba_runtime_bytes(data, size, why, sizeof why);
    if (needed) {
        samba_pef_fingerprint(data, size);
        n_accepted++;
    } else {
        fuzz_check_text(why, sizeof why, "samba_runtime_bytes");
    }
    return needed;
}

// malloc's blocks begin at multiples of 16, as a PEF must at one of 8.
static void one(const uint8_t *data, size_t size)
{
    double flops;
    size_t needed = ask(data, size);
    if (!needed || needed >= MOST_MEMORY || !pef_is_small(data, size, most_flops, &flops)) return;

    fuzz_allow_seconds(flops / flops_a_second + (double)needed * 2e-7);
    uint64_t fused = run_painted(data, size, needed, 0xC5, false);
    if (fused != run_painted(data, size, needed, 0x3C, true))
        fuzz_fail("other values when ops run one by one in memory that held other bytes");
}

static bool large(size_t size, int kind)
{
    fuzz_bytes file = { NULL, 0, 0 };
    if (kind >= PEF_LARGE_KINDS) return false;
    char why[400];
    const char *title = pef_large(size, kind, &file);
    if (!samba_runtime_bytes(file.at, file.size, why, sizeof why)) fuzz_fail("%s: %s", title, why);
    fuzz_large(title, file.at, file.size);
    fuzz_free(&file);
    return true;
}

// ---- Headers, counted ---------------------------------------------------------------------------

static fuzz_bytes header_seed;

static void keep_seed(const char *name, const void *bytes, size_t size)
{
    if (strcmp(name, "training.ckpt") == 0) fuzz_put(&header_seed, bytes, size);
}

static void ask_only(const uint8_t *data, size_t size)
{
    (void)ask(data, size);
}

// n files whose headers are mutated: each is answered within 50 ms, with little memory.
static int count_headers(long n)
{
    double slowest = 0;
    pef_programs(keep_seed);
    size_t size = header_seed.size;
    const fuzz_limits limits = { .seconds = 0.05, .heap = 65536, .heap_per_byte = 1 };

    for (long i = 0; i < n; i++) {
        fuzz_random r = fuzz_random_from((unsigned)i);
        uint8_t *file = malloc(size);
        if (!file) return 1;
        memcpy(file, header_seed.at, size);
        pef_mutate_header(file, size, &r);
        double took = fuzz_run(ask_only, file, size, &limits);
        if (took > slowest) slowest = took;
        free(file);
    }
    printf("%ld headers: %ld accepted, %ld refused; the slowest took %.1f ms\n", n, n_accepted,
           n - n_accepted, 1e3 * slowest);
    fuzz_free(&header_seed);
    return 0;
}

static void seeds(void)
{
    pef_programs(fuzz_seed);
}

const fuzz_target fuzz_target_here = {
    .name = "pef",
    .limits = { .seconds = 0.3,
                .seconds_per_mb = 3,
                .heap = 2 * MOST_MEMORY + (1 << 20),
                .heap_per_byte = 2 },
    .one = one,
    .mutate = pef_mutate,
    .seeds = seeds,
    .large = large,
    .counted = count_headers,
    .most = 16384,
};
