// What the compiler says of a 32-bit device: budgets that are kept or refused, the peak that
// refusals name, against the PEF's own records. tests/device/memory.sh has the device's word for
// the sizes.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/device_nets.h"
#include "tests/lib/session.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <stdlib.h>

enum { BUDGETS = 40, MOST = 1 << 20 };

static const char *const path = "build/device_memory_test.pef";

static union {
    uint64_t align;
    uint8_t bytes[MOST];
} file;

static size_t read_pef(void)
{
    return read_into(path, file.bytes, sizeof file.bytes);
}

static samba_device_memory measured(void)
{
    samba_device_memory m;
    char why[400] = "";
    size_t size = read_pef();
    CHECK(samba_measure_device(file.bytes, size, &device_own, &m, why, sizeof why));
    if (why[0]) printf("  %s\n", why);
    CHECK(m.bytes == m.tables + m.scratch + m.state + m.arena + m.io);
    return m;
}

// Compiles net i within `memory` bytes of a device; false: it was refused, and why is the reason.
static bool compile_within(int i, int64_t memory, char *why, size_t size)
{
    samba_program p = { .pef = path, .target = SAMBA_DEVICE32, .memory = memory };
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    remove(path);
    bool fine = device_net_compile(s, i, &p);
    snprintf(why, size, "%s", samba_error(s));
    samba_close(s);
    return fine;
}

// ---- The peak of a PEF, from its records --------------------------------------------------------

static bool is_alive(const samba_pef_symbol *s, int32_t node)
{
    return s->region == 1 && s->view_of < 0 && s->first <= node && node <= s->last;
}

// Bytes of the arena that are taken at a node, counted one by one.
static uint64_t taken_at(const samba_pef *pef, int32_t node, uint8_t *taken)
{
    uint64_t n = 0;
    memset(taken, 0, pef->arena_bytes);
    for (int32_t i = 0; i < pef->n_symbols; i++) {
        samba_pef_symbol s = samba_pef_symbol_at(pef, i);
        if (is_alive(&s, node)) memset(taken + s.offset, 1, s.size);
    }
    for (uint64_t i = 0; i < pef->arena_bytes; i++)
        n += taken[i];
    return n;
}

static int32_t peak_of(const samba_pef *pef, uint64_t *most)
{
    uint8_t *taken = (uint8_t *)malloc(pef->arena_bytes + 1);
    int32_t peak = 0;
    *most = 0;
    for (int32_t i = 0; taken && i < pef->n_nodes; i++) {
        uint64_t bytes = taken_at(pef, i, taken);
        if (bytes > *most) peak = i;
        if (bytes > *most) *most = bytes;
    }
    free(taken);
    return peak;
}

// ---- What a refusal says ------------------------------------------------------------------------

static int64_t number_behind(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    return at ? strtoll(at + strlen(words), NULL, 10) : -1;
}

// The numbers of "Most is alive at NODE: a 100, b 50 and 3 more with 12 bytes, 4 between them" that
// belong to tensors; *between is the last one. Each tensor is one of the PEF, of this size, alive
// at the PEF's peak.
static uint64_t listed_bytes(const samba_pef *pef, int32_t peak, const char *why, uint64_t *between)
{
    char list[800], *save = list, *at;
    const char *begin = strstr(why, "Most is alive at ");
    uint64_t sum = 0;
    *between = 0;
    begin = begin ? strstr(begin, ": ") : NULL;
    if (!begin) return 0;
    snprintf(list, sizeof list, "%.*s", (int)strcspn(begin + 2, "."), begin + 2);
    if ((at = strstr(list, " bytes, ")) != NULL) *between = strtoull(at + 8, NULL, 10);
    if ((at = strstr(list, " bytes")) != NULL) *at = 0;
    if ((at = strstr(list, " more with ")) != NULL) sum += strtoull(at + 11, NULL, 10);
    if ((at = strstr(list, " and ")) != NULL) *at = 0;
    for (char *word = save; word; word = save) {
        char name[100];
        unsigned long long size = 0;
        bool found = false;
        save = strstr(word, ", ");
        if (save) *save = 0;
        if (save) save += 2;
        CHECK(sscanf(word, "%99s %llu", name, &size) == 2);
        for (int32_t i = 0; i < pef->n_symbols; i++) {
            samba_pef_symbol s = samba_pef_symbol_at(pef, i);
            found = found || (is_alive(&s, peak) && !strcmp(s.name, name) && s.size == size);
        }
        if (!found) printf("  %s %llu is not alive at the peak\n", name, size);
        CHECK(found);
        sum += size;
    }
    return sum;
}

// The smallest plan that the refusal speaks of can be had; its peak is the one that was named.
static void check_refusal(int i, int64_t memory, const char *why)
{
    char again[1024], node[100];
    samba_pef pef;
    int64_t least = number_behind(why, "takes less than ");
    int64_t lasting = number_behind(why, "on a 32-bit device, ");
    CHECK(number_behind(why, "program.memory is ") == memory && least > memory);
    CHECK(compile_within(i, least, again, sizeof again));
    samba_device_memory m = measured();
    CHECK((int64_t)m.bytes == least && (int64_t)(m.bytes - m.arena) == lasting);
    if (!samba_pef_open(&pef, file.bytes, read_pef(), NULL, 0)) return;
    uint64_t most, between, peak = (uint64_t)peak_of(&pef, &most);
    uint64_t sum = listed_bytes(&pef, (int32_t)peak, why, &between);
    CHECK(sum == most && sum + between == m.arena && most > 0);
    snprintf(node, sizeof node,
             "Most is alive at %s: ", samba_pef_node_at(&pef, (int32_t)peak).name);
    CHECK(strstr(why, node) != NULL);
    if (test_bad) printf("  %s\n", why);
}

// ---- Budgets ------------------------------------------------------------------------------------

// From what a net can hardly do with to more than it takes without a limit.
static void try_budgets(int i)
{
    char why[1024];
    int kept = 0, refused = 0;
    size_t smallest = SIZE_MAX;
    CHECK(compile_within(i, 0, why, sizeof why));
    samba_device_memory all = measured();
    for (int k = 0; k < BUDGETS; k++) {
        int64_t fixed = (int64_t)(all.bytes - all.arena), arena = (int64_t)all.arena;
        int64_t memory = fixed * (k % 10 == 0 ? 90 : 100) / 100 + arena * (k * 10 / 3 + 3) / 100;
        if (compile_within(i, memory, why, sizeof why)) {
            samba_device_memory m = measured();
            CHECK((int64_t)m.bytes <= memory);
            if (m.bytes < smallest) smallest = m.bytes;
            kept++;
        } else {
            check_refusal(i, memory, why);
            refused++;
        }
    }
    printf("%-12s %7zu bytes, %7zu at least; %d kept, %d refused\n", device_nets[i].name, all.bytes,
           smallest, kept, refused);
    CHECK(kept > 0 && refused > 0 && kept + refused == BUDGETS && smallest <= all.bytes);
}

static void test_budgets(void)
{
    for (int i = 0; i < BUDGET_NETS; i++)
        try_budgets(i);
}

// What a layout could get wrong: the exact size is kept, a byte less is refused or found elsewhere.
static void test_others(void)
{
    char why[1024];
    for (int i = BUDGET_NETS; i < DEVICE_NETS; i++) {
        CHECK(compile_within(i, 0, why, sizeof why));
        int64_t all = (int64_t)measured().bytes;
        CHECK(compile_within(i, all, why, sizeof why) && (int64_t)measured().bytes == all);
        if (compile_within(i, all - 1, why, sizeof why))
            CHECK((int64_t)measured().bytes < all);
        else
            check_refusal(i, all - 1, why);
        CHECK(!compile_within(i, 1, why, sizeof why));
        check_refusal(i, 1, why);
    }
}

// A limit changes memory alone: the same bits after some steps.
static void test_bits(void)
{
    char why[1024];
    uint64_t hash[2];
    CHECK(compile_within(5, 0, why, sizeof why));
    int64_t all = (int64_t)measured().bytes;
    for (int k = 0; k < 2; k++) {
        samba_program p = { .target = SAMBA_DEVICE32, .memory = k ? all * 96 / 100 : 0 };
        samba_session *s = samba_open(&(samba_desc){ .seed = 3 });
        CHECK(device_net_compile(s, 5, &p));
        device_net_fill(s, &p);
        for (int step = 0; step < 5; step++)
            CHECK(samba_run(s, 0));
        hash[k] = hash_weights(s, 0);
        samba_close(s);
    }
    CHECK(hash[0] == hash[1]);
}

static void test_target(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_program p = { .target = (samba_target)2 };
    device_mlp_infer(s, &p);
    CHECK(!samba_compile(s, &p) && said(s, "target"));
    p.target = SAMBA_HOST;
    p.memory = 1;
    CHECK(!samba_compile(s, &p) && says(s, "takes less than") && !strstr(samba_error(s), "32-bit"));
    samba_close(s);
}

int main(void)
{
    RUN(test_budgets);
    RUN(test_others);
    RUN(test_bits);
    RUN(test_target);
    remove(path);
    remove("build/device_memory_test.pef.log");
    remove("build/device_memory_test.pef.map");
    return test_summary();
}
