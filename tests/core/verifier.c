// The verifier of PEF files against a model of it. Each theorem that a reader proves ([manual],
// "What a reader proves before first use") is broken alone, and refused with its own sentence. Then
// programs are mutated, with order, regions and checksums made right again, and [pef-verify] and
// tests/lib/pef_checker.h, which proves the same by another algorithm, must agree on every mutant.
//     cc -O2 -I. tests/core/verifier.c -lm -pthread -o verifier && ./verifier [mutants [seed]]
#define SAMBA_SMALL
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/lib/pef_bytes.h"
#include "tests/lib/pef_checker.h"
#include "tests/lib/device_nets.h"
#include <time.h>

enum { WHY = 400, NETS = DEVICE_NETS - 1, PROGRAMS = NETS + 6, MUTANTS = 20000 };

static char path[600], log_path[610], map_path[610];
static bytes programs[PROGRAMS]; // nets, then the small ones
static long n_mutants = MUTANTS, n_accepted, n_disagreed, n_broken[PEF_N_THEOREMS];
static uint64_t random_state = 1;

static uint32_t below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return n ? (uint32_t)(random_state >> 20) % n : 0;
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

// ---- Programs to begin with ----

static bytes compiled_net(int net)
{
    samba_desc d = { 0 };
    samba_program p = { 0 };
    bytes b = { NULL, 0 };
    d.threads = 1;
    d.quiet = true;
    samba_session *s = samba_open(&d);
    p.pef = path;
    CHECK(device_net_compile(s, net, &p));
    samba_close(s);
    b.at = (uint8_t *)read_whole(path, &b.size);
    CHECK(b.size > HEADER && b.size < 1 << 20);
    remove(path);
    remove(log_path);
    remove(map_path);
    return b;
}

// u takes over from t, in place.
static bytes small_in_place(void)
{
    bytes b = honest();
    put32(&b, symbol_at(0) + 60, 1);
    put64(&b, symbol_at(1) + 40, 0);
    put64(&b, 64 + 8, 64);
    set_words(&b, 4, 1, 2, 0, 0);
    set_words(&b, 8, 3, 4, 0, 0);
    set_words(&b, 12, 2, 3, 5, 0);
    return b;
}

// u = t + t, over t.
static bytes small_in_place_twice(void)
{
    bytes b = small_in_place();
    set_node(&b, 1, ADD, 2, 1, 0, 4);
    set_words(&b, 4, 1, 1, 2, 0);
    return b;
}

// u is a view of t.
static bytes small_view(void)
{
    bytes b = honest();
    put64(&b, symbol_at(1) + 40, 0);
    put32(&b, symbol_at(1) + 64, 1);
    put64(&b, 64 + 8, 64);
    set_node(&b, 1, RESHAPE, 1, 1, 1, 4);
    set_words(&b, 4, 1, 2, N, 0);
    return b;
}

// t += u
static bytes small_update(void)
{
    bytes b = honest();
    set_node(&b, 3, ACCUMULATE, 2, 1, 1, 12);
    set_words(&b, 12, 1, 2, 1, 0);
    return b;
}

// Two graphs of two nodes each.
static bytes small_graphs(void)
{
    bytes b = draft(5, 4, 2, 16, 4), one = honest();
    memcpy(b.at + 64, one.at + 64, 32);
    memcpy(b.at + symbol_at(0), one.at + symbol_at(0), 5 * SYMBOL);
    memcpy(b.at + node_at(&b, 0), one.at + node_at(&one, 0), 4 * NODE);
    free(one.at);
    put32(&b, symbol_at(0) + 60, 1);
    put32(&b, symbol_at(1) + 56, 2);
    set_words(&b, 0, 3, 1, 0, 0);
    set_words(&b, 4, 1, 4, 0, 0);
    set_words(&b, 8, 3, 2, 0, 0);
    set_words(&b, 12, 2, 3, 5, 0);
    set_section(&b, 0, 0, 2, 1);
    set_section(&b, 1, 2, 2, 3);
    return b;
}

static const char *refusal(const bytes *b, char why[WHY])
{
    samba__pef pef = SAMBA__ZEROED;
    memset(why, 0, WHY);
    samba__text text = samba__text_in(why, WHY);
    bool accepted = samba__open_pef(&pef, b->at, b->size, &text)
        && samba__verify_pef(&pef, true, NULL, 0, &text);
    CHECK(accepted == !why[0]);
    return accepted ? NULL : why;
}

static void test_programs(void)
{
    for (int i = 0; i < NETS; i++)
        programs[i] = compiled_net(i);
    programs[NETS] = honest();
    programs[NETS + 1] = small_in_place();
    programs[NETS + 2] = small_in_place_twice();
    programs[NETS + 3] = small_view();
    programs[NETS + 4] = small_update();
    programs[NETS + 5] = small_graphs();
    for (int i = 0; i < PROGRAMS; i++) {
        char why[WHY];
        if (i >= NETS) seal(&programs[i]);
        int broken = pef_broken_theorem(&programs[i], 0);
        CHECK(refusal(&programs[i], why) == NULL && broken == PEF_HOLDS);
        if (test_bad) printf("    program %d: %s, \"%s\"\n", i, pef_theorems[broken].name, why);
    }
}

// ---- What a change leaves wrong that it is not about ----

static uint64_t bytes_of(const bytes *b, uint32_t i)
{
    const uint8_t *p = b->at + symbol_at(i);
    uint64_t n = p[5] <= 10 ? pef_type_bytes[p[5]] : 4;
    for (size_t d = 0; d < p[6] && d < 8; d++) {
        n *= get32(b, symbol_at(i) + 8 + 4 * d);
        if (n >> 44) return n;
    }
    return p[73] == 1 ? n * get32(b, 56) : n;
}

static void mend_regions(bytes *b)
{
    uint64_t end[4] = { 0, 0, 0, 0 };
    for (uint32_t i = 0; i < n_symbols(b); i++) {
        uint8_t region = b->at[symbol_at(i) + 7];
        uint64_t last = get64(b, symbol_at(i) + 40) + bytes_of(b, i);
        if (region <= 3 && last > end[region]) end[region] = last;
    }
    for (size_t r = 0; r < 4; r++)
        put64(b, 64 + 8 * r, (end[r] + 63) / 64 * 64);
}

static bool comes_before(const bytes *b, uint32_t i, uint32_t k)
{
    size_t p = symbol_at(i), q = symbol_at(k);
    if (b->at[p + 7] != b->at[q + 7]) return b->at[p + 7] < b->at[q + 7];
    if (get64(b, p + 40) != get64(b, q + 40)) return get64(b, p + 40) < get64(b, q + 40);
    return get32(b, p + 56) < get32(b, q + 56);
}

static void renumber(bytes *b, size_t at, const uint32_t *to)
{
    uint32_t word = get32(b, at);
    if (word >= 1 && word <= n_symbols(b)) put32(b, at, to[word - 1] + 1);
}

static void sort_symbols(bytes *b)
{
    uint32_t n = n_symbols(b);
    uint32_t *order = (uint32_t *)calloc(2 * (size_t)n + 1, sizeof *order), *to = order + n;
    bytes old = copy_of(b);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;
        for (; k > 0 && comes_before(b, i, order[k - 1]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        to[order[i]] = i;
        memcpy(b->at + symbol_at(i), old.at + symbol_at(order[i]), SYMBOL);
    }
    for (uint32_t i = 0; i < n; i++) {
        renumber(b, symbol_at(i) + 64, to);
        renumber(b, symbol_at(i) + 68, to);
    }
    for (uint32_t i = 0; i < n_nodes(b); i++) {
        size_t at = node_at(b, i);
        uint64_t word = get32(b, at + 12), end = word + b->at[at + 4] + b->at[at + 5];
        renumber(b, at + 16, to);
        for (; word < end && end <= n_words(b); word++)
            renumber(b, word_at(b, (uint32_t)word), to);
    }
    free(order);
    free(old.at);
}

// ---- Each theorem, broken alone ----

// Symbols of the small program that most breaks begin with.
enum { TEMP_T, TEMP_U, IN_X, OUT_Y, OUT_Z };

static void break_header(bytes *b)
{
    b->size = 100;
}

static void break_magic(bytes *b)
{
    b->at[0] = 's';
}

static void break_version(bytes *b)
{
    put32(b, 8, 3);
}

static void break_flags(bytes *b)
{
    put32(b, 60, 2);
}

static void break_zero_flags(bytes *b)
{
    put32(b, 12, 1);
}

static void break_file_size(bytes *b)
{
    put64(b, 16, b->size + 1);
}

static void break_data_size(bytes *b)
{
    put64(b, 96, 0xFFFFFFFFFFFFFFFFu);
}

static void break_tables(bytes *b)
{
    put32(b, 44, n_words(b) + 16);
}

static void break_tables_sum(bytes *b)
{
    b->at[24] ^= 1;
}

static void break_strings(bytes *b)
{
    b->at[word_at(b, n_words(b)) + get32(b, 48) - 1] = 'x';
}

static void break_no_microbatch(bytes *b)
{
    put32(b, 56, 0);
}

static void break_microbatches(bytes *b)
{
    put32(b, 56, 65537);
}

static void break_regions(bytes *b)
{
    put64(b, symbol_at(OUT_Z) + 40, (uint64_t)1 << 46);
}

static void break_data_sum(bytes *b)
{
    b->at[104] ^= 1;
    put64(b, 24, xxh64(b->at + 32, b->size - 32 - (size_t)get64(b, 96), 0));
}

static void break_named(bytes *b)
{
    put32(b, symbol_at(0), get32(b, 48));
}

static void break_known(bytes *b)
{
    b->at[symbol_at(OUT_Y) + 4] = 10;
}

static void break_generated(bytes *b)
{
    b->at[symbol_at(OUT_Y) + 75] = 1;
}

static void break_shape(bytes *b)
{
    put32(b, symbol_at(OUT_Y) + 8, 0);
}

static void break_place(bytes *b)
{
    b->at[symbol_at(IN_X) + 7] = 3;
}

static void break_windows(bytes *b)
{
    b->at[symbol_at(OUT_Y) + 73] = 1;
}

static void break_aligned(bytes *b)
{
    put64(b, symbol_at(OUT_Z) + 40, 132);
}

static void break_inside(bytes *b)
{
    put64(b, 64 + 16, 64 + 64);
}

static void break_data_inside(bytes *b)
{
    put64(b, symbol_at(IN_X) + 48, 1);
}

static void break_lifetime(bytes *b)
{
    put32(b, symbol_at(OUT_Y) + 60, 3);
}

static void break_life(bytes *b)
{
    put32(b, symbol_at(TEMP_U) + 60, 4);
}

static void break_refers(bytes *b)
{
    put32(b, symbol_at(OUT_Y) + 68, n_symbols(b) + 1);
}

static void break_view(bytes *b) // which lies elsewhere
{
    put32(b, symbol_at(TEMP_U) + 64, 1);
    set_node(b, 1, RESHAPE, 1, 1, 1, 4);
    set_words(b, 4, 1, 2, N, 0);
}

static void break_gradient(bytes *b)
{
    put32(b, symbol_at(OUT_Z) + 68, TEMP_T + 1);
}

static void break_hyperparameter(bytes *b)
{
    b->at[symbol_at(IN_X) + 4] = 5;
}

static void break_data_apart(bytes *b) // of the first two values that are as long
{
    for (uint32_t i = 0; i + 1 < n_symbols(b); i++) {
        size_t p = symbol_at(i), q = symbol_at(i + 1);
        if (!get64(b, p + 48) || !get64(b, q + 48) || bytes_of(b, i) < bytes_of(b, i + 1)) continue;
        put64(b, q + 48, get64(b, p + 48));
        return;
    }
    CHECK(!"two symbols have values");
}

static void break_sorted(bytes *b)
{
    put64(b, symbol_at(OUT_Y) + 40, 128);
    put64(b, symbol_at(OUT_Z) + 40, 64);
}

static void break_apart(bytes *b)
{
    put64(b, symbol_at(OUT_Z) + 40, 64);
}

static void break_region_ends(bytes *b)
{
    put64(b, 64 + 16, 256);
}

static void break_sections(bytes *b)
{
    put32(b, section_at(b, 0), 3);
}

static void break_cover(bytes *b)
{
    put32(b, section_at(b, 0) + 8, 3);
}

static void break_words(bytes *b)
{
    put32(b, node_at(b, 0) + 12, n_words(b));
}

static void break_node_named(bytes *b)
{
    put32(b, node_at(b, 0) + 8, 1);
}

static void break_few(bytes *b)
{
    b->at[node_at(b, 0) + 5] = 5;
}

static void break_makes(bytes *b)
{
    b->at[node_at(b, 0) + 5] = 0;
}

static void break_arguments(bytes *b)
{
    put32(b, word_at(b, 0), n_symbols(b) + 1);
}

static void break_no_output(bytes *b)
{
    put32(b, word_at(b, 1), 0);
}

static void break_op(bytes *b)
{
    put32(b, node_at(b, 0), 0x7777);
}

static void break_rule(bytes *b)
{
    b->at[node_at(b, 0) + 6] = 1;
}

static void break_declares(bytes *b)
{
    size_t at = symbol_at(OUT_Z);
    b->at[at + 6] = 2;
    put32(b, at + 8, 4);
    put32(b, at + 12, 4);
}

static void break_reads(bytes *b)
{
    put32(b, symbol_at(TEMP_T) + 60, 2);
}

static void break_reads_early(bytes *b) // what a later node makes
{
    put32(b, word_at(b, 0), TEMP_U + 1);
}

static void break_reads_graph(bytes *b) // what another graph made
{
    put32(b, symbol_at(TEMP_T) + 60, 3);
    put64(b, symbol_at(TEMP_U) + 40, 64);
    put32(b, word_at(b, 12), TEMP_T + 1);
}

static void break_writes(bytes *b)
{
    put32(b, word_at(b, 9), IN_X + 1);
}

static void break_writes_twice(bytes *b)
{
    put32(b, word_at(b, 9), TEMP_U + 1);
}

static void break_writes_view(bytes *b) // of t, made from x
{
    put32(b, word_at(b, 4), IN_X + 1);
}

static void break_writes_readonly(bytes *b) // a state there += u
{
    b->at[symbol_at(OUT_Z) + 4] = KEPT;
    b->at[symbol_at(OUT_Z) + 7] = 3;
    put64(b, symbol_at(OUT_Z) + 40, 0);
    set_words(b, 12, OUT_Z + 1, TEMP_U + 1, OUT_Z + 1, 0);
}

static void break_writes_input(bytes *b) // x += u
{
    set_words(b, 12, IN_X + 1, TEMP_U + 1, IN_X + 1, 0);
}

static void break_alone(bytes *b) // t += t
{
    set_words(b, 12, 1, 1, 1, 0);
}

static void break_alone_view(bytes *b) // t += its view
{
    set_node(b, 3, ACCUMULATE, 2, 1, 1, 12);
    set_words(b, 12, 1, 2, 1, 0);
}

static void break_scratch(bytes *b)
{
    put32(b, node_at(b, 0) + 16, OUT_Y + 1);
}

static void break_scratch_size(bytes *b)
{
    size_t at = symbol_at(symbol_of_role(b, SCRATCH));
    b->at[at + 6] = 1;
    put32(b, at + 8, 1);
}

static void break_names(bytes *b)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < n_symbols(b); i++)
        if (strlen(symbol_name(b, i)) > strlen(symbol_name(b, longest))) longest = i;
    for (uint32_t i = 0; i < n_symbols(b); i++)
        put32(b, symbol_at(i), get32(b, symbol_at(longest)));
}

static void break_made(bytes *b)
{
    put32(b, word_at(b, 5), OUT_Y + 1);
}

static void break_memory(bytes *b)
{
    put64(b, symbol_at(TEMP_U) + 40, 0);
}

static void break_memory_late(bytes *b) // in place over t, which is read once more
{
    put32(b, symbol_at(TEMP_T) + 60, 2);
    put32(b, word_at(b, 8), TEMP_T + 1);
}

static void break_memory_brief(bytes *b) // the same, but u ends when it is made
{
    break_memory_late(b);
    put32(b, symbol_at(TEMP_U) + 60, 1);
    set_words(b, 12, IN_X + 1, IN_X + 1, OUT_Z + 1, 0);
}

static void break_memory_scratch(bytes *b) // scratch lies over t, which its node reads last
{
    b->at[symbol_at(TEMP_U) + 4] = SCRATCH;
    put32(b, symbol_at(TEMP_U) + 60, 1);
    put32(b, node_at(b, 1) + 16, TEMP_U + 1);
    put32(b, word_at(b, 5), OUT_Y + 1);
    set_words(b, 12, IN_X + 1, IN_X + 1, OUT_Z + 1, 0);
}

// u = t > y, where t (N) becomes (4, N): as many bytes, but fewer for an element of u than of t.
static void break_memory_narrow(bytes *b)
{
    static const uint32_t wide[2] = { TEMP_U, OUT_Y };
    for (int i = 0; i < 2; i++) {
        size_t at = symbol_at(wide[i]);
        b->at[at + 6] = 2;
        put32(b, at + 8, 4);
        put32(b, at + 12, N);
    }
    b->at[symbol_at(TEMP_U) + 5] = SAMBA_BOOL;
    b->at[symbol_at(OUT_Y) + 4] = INPUT;
    put64(b, symbol_at(OUT_Z) + 40, 64 + 4 * 4 * N);
    set_node(b, 1, samba__find_op(0, "gt", NULL, 0)->wire, 2, 1, 0, 4);
    set_words(b, 4, TEMP_T + 1, OUT_Y + 1, TEMP_U + 1, 0);
    set_words(b, 8, 3, OUT_Z + 1, 0, 0);
    set_words(b, 12, IN_X + 1, IN_X + 1, OUT_Z + 1, 0);
}

static void break_memory_other(bytes *b) // over t, but made from x
{
    put32(b, word_at(b, 4), IN_X + 1);
}

static void break_memory_norm(bytes *b) // of t over t, whose weight and bias are t
{
    set_node(b, 1, LAYER_NORM, 3, 1, 1, 3);
    put32(b, word_at(b, 3), 1);
    set_words(b, 4, 1, 1, 2, 0x3727C5AC);
    set_words(b, 8, 3, 4, 0, 0);
}

// What to begin with, and what is not made right after the break. WITH_ANOTHER: another theorem
// does not hold then, either.
enum { SMALL = NETS, IN_PLACE, TWICE, VIEWED, UPDATE, GRAPHS, TRAINING = 1, WITH_SCRATCH = -1 };

enum {
    NO_SORT = 1,
    NO_ENDS = 2,
    NO_SEAL = 4,
    WITH_ANOTHER = 8,
    NOTHING = NO_SORT | NO_ENDS | NO_SEAL
};

typedef struct counterexample {
    int theorem;
    void (*tell)(bytes *b);
    int program, not_mended;
} counterexample;

static const counterexample counterexamples[] = {
    { PEF_HEADER, break_header, SMALL, NOTHING },
    { PEF_MAGIC, break_magic, SMALL, 0 },
    { PEF_VERSION, break_version, SMALL, 0 },
    { PEF_FLAGS, break_flags, SMALL, 0 },
    { PEF_FLAGS, break_zero_flags, SMALL, 0 },
    { PEF_FILE_SIZE, break_file_size, SMALL, 0 },
    { PEF_DATA_SIZE, break_data_size, SMALL, 0 },
    { PEF_TABLES, break_tables, SMALL, NO_SORT },
    { PEF_TABLES_SUM, break_tables_sum, TRAINING, NOTHING },
    { PEF_STRINGS, break_strings, SMALL, 0 },
    { PEF_MICROBATCHES, break_no_microbatch, SMALL, 0 },
    { PEF_MICROBATCHES, break_microbatches, SMALL, 0 },
    { PEF_REGIONS, break_regions, SMALL, 0 },
    { PEF_DATA_SUM, break_data_sum, TRAINING, NOTHING },
    { PEF_NAMED, break_named, SMALL, 0 },
    { PEF_KNOWN, break_known, SMALL, 0 },
    { PEF_KNOWN, break_generated, SMALL, 0 },
    { PEF_SHAPE, break_shape, SMALL, 0 },
    { PEF_PLACE, break_place, SMALL, 0 },
    { PEF_WINDOWS, break_windows, SMALL, 0 },
    { PEF_INSIDE, break_aligned, SMALL, 0 },
    { PEF_INSIDE, break_inside, SMALL, NO_ENDS | WITH_ANOTHER },
    { PEF_DATA_INSIDE, break_data_inside, SMALL, 0 },
    { PEF_LIFETIME, break_lifetime, SMALL, 0 },
    { PEF_LIFETIME, break_life, SMALL, 0 },
    { PEF_REFERS, break_refers, SMALL, 0 },
    { PEF_VIEW, break_view, SMALL, 0 },
    { PEF_GRADIENT, break_gradient, SMALL, 0 },
    { PEF_HYPERPARAMETER, break_hyperparameter, SMALL, 0 },
    { PEF_DATA_APART, break_data_apart, TRAINING, 0 },
    { PEF_SORTED, break_sorted, SMALL, NO_SORT },
    { PEF_APART, break_apart, SMALL, 0 },
    { PEF_REGION_ENDS, break_region_ends, SMALL, NO_ENDS },
    { PEF_SECTIONS, break_sections, SMALL, 0 },
    { PEF_COVER, break_cover, SMALL, 0 },
    { PEF_WORDS, break_words, SMALL, 0 },
    { PEF_NODE_NAMED, break_node_named, SMALL, 0 },
    { PEF_FEW, break_few, SMALL, 0 },
    { PEF_MAKES, break_makes, SMALL, 0 },
    { PEF_ARGUMENTS, break_arguments, SMALL, 0 },
    { PEF_ARGUMENTS, break_no_output, SMALL, 0 },
    { PEF_OP, break_op, SMALL, 0 },
    { PEF_RULE, break_rule, SMALL, 0 },
    { PEF_DECLARES, break_declares, SMALL, 0 },
    { PEF_READS, break_reads, SMALL, 0 },
    { PEF_READS, break_reads_early, SMALL, 0 },
    { PEF_READS, break_reads_graph, GRAPHS, 0 },
    { PEF_WRITES, break_writes, SMALL, 0 },
    { PEF_WRITES, break_writes_twice, SMALL, 0 },
    { PEF_WRITES, break_writes_view, VIEWED, 0 },
    { PEF_WRITES, break_writes_readonly, UPDATE, 0 },
    { PEF_WRITES, break_writes_input, UPDATE, 0 },
    { PEF_ALONE, break_alone, UPDATE, 0 },
    { PEF_ALONE, break_alone_view, VIEWED, 0 },
    { PEF_SCRATCH, break_scratch, SMALL, 0 },
    { PEF_SCRATCH, break_scratch_size, WITH_SCRATCH, 0 },
    { PEF_NAMES, break_names, TRAINING, 0 },
    { PEF_MADE, break_made, SMALL, 0 },
    { PEF_MEMORY, break_memory, SMALL, 0 },
    { PEF_MEMORY, break_memory_late, IN_PLACE, 0 },
    { PEF_MEMORY, break_memory_brief, IN_PLACE, 0 },
    { PEF_MEMORY, break_memory_scratch, IN_PLACE, 0 },
    { PEF_MEMORY, break_memory_narrow, IN_PLACE, 0 },
    { PEF_MEMORY, break_memory_other, IN_PLACE, 0 },
    { PEF_MEMORY, break_memory_norm, IN_PLACE, 0 },
};

enum { COUNTEREXAMPLES = sizeof counterexamples / sizeof *counterexamples };

static const bytes *program_of(const counterexample *e)
{
    if (e->program != WITH_SCRATCH) return &programs[e->program];
    for (int i = 0; i < NETS; i++)
        for (uint32_t k = 0; k < n_symbols(&programs[i]); k++)
            if (programs[i].at[symbol_at(k) + 4] == SCRATCH) return &programs[i];
    CHECK(!"a net has scratch");
    return &programs[0];
}

// samba_pef_open proves that records can be read: the frame, symbols, and words of nodes.
static bool is_of_records(int theorem)
{
    static const int proved[] = { PEF_HEADER, PEF_MAGIC,   PEF_VERSION,   PEF_FLAGS, PEF_FILE_SIZE,
                                  PEF_TABLES, PEF_STRINGS, PEF_NAMED,     PEF_KNOWN, PEF_SHAPE,
                                  PEF_REFERS, PEF_WORDS,   PEF_NODE_NAMED };
    for (size_t i = 0; i < sizeof proved / sizeof *proved; i++)
        if (proved[i] == theorem) return true;
    return false;
}

// Both refuse it for this theorem: samba.h with its sentence; and but for it the file is sound.
static void check_counterexample(const counterexample *e)
{
    const pef_theorem *theorem = &pef_theorems[e->theorem];
    char why[WHY];
    bytes b = copy_of(program_of(e));
    size_t size = b.size;
    if (!b.at) return;
    e->tell(&b);
    if (!(e->not_mended & NO_SORT)) sort_symbols(&b);
    if (!(e->not_mended & NO_ENDS)) mend_regions(&b);
    if (!(e->not_mended & NO_SEAL)) seal(&b);

    const char *said = refusal(&b, why);
    int broken = pef_broken_theorem(&b, 0), others = pef_broken_theorem(&b, e->theorem);
    CHECK(said && strstr(said, theorem->refusal));
    CHECK(broken == e->theorem);
    if (theorem->frame)
        CHECK(others == broken);
    else
        CHECK((others != PEF_HOLDS) == ((e->not_mended & WITH_ANOTHER) != 0));
    CHECK(samba_runtime_bytes(b.at, b.size, why, sizeof why) == 0 && strstr(why, theorem->refusal));
    samba_pef file;
    bool opens = samba_pef_open(&file, b.at, b.size, why, sizeof why);
    if (is_of_records(e->theorem)) CHECK(!opens && strstr(why, theorem->refusal));
    if (e->theorem == PEF_MEMORY) CHECK(opens);
    if (test_bad)
        printf("    not so (%s): %s; the model: %s, and %s; \"%s\"\n", theorem->name,
               theorem->holds, pef_theorems[broken].name, pef_theorems[others].name, why);
    b.size = size;
    free(b.at);
}

static void test_theorems(void)
{
    bool seen[PEF_N_THEOREMS] = { true };
    for (int i = 0; i < COUNTEREXAMPLES; i++) {
        int before = test_bad;
        test_bad = 0;
        check_counterexample(&counterexamples[i]);
        test_bad += before;
        seen[counterexamples[i].theorem] = true;
    }
    for (int i = 0; i < PEF_N_THEOREMS; i++) {
        CHECK(seen[i]);
        if (!seen[i]) printf("    %s is never broken\n", pef_theorems[i].name);
    }
}

// ---- The skyline of the arena, against a list of heights ----

static void test_skyline(void)
{
    enum { MOST = 70, ROUNDS = 300 };

    uint64_t room[4 * MOST], height[MOST];
    for (int round = 0; round < ROUNDS; round++) {
        samba__skyline k = { room, NULL, below(3), 1 + below(MOST) };
        k.all = room + 2 * (size_t)k.n;
        memset(room, 0, sizeof room);
        memset(height, 0, sizeof height);
        for (int i = 0; i < 60; i++) {
            uint32_t first = below(k.n), last = first + below(k.n - first);
            uint64_t top = 0;
            for (uint32_t n = first; n <= last; n++)
                top = height[n] > top ? height[n] : top;
            CHECK(samba__skyline_top(&k, k.start + first, k.start + last) == top);
            if (one_in(3)) continue;
            top += 1 + below(3);
            samba__skyline_raise(&k, k.start + first, k.start + last, top);
            for (uint32_t n = first; n <= last; n++)
                height[n] = top;
        }
    }
}

// ---- Mutants ----

static uint32_t any_symbol(const bytes *b)
{
    return below(n_symbols(b));
}

// One of role 8 or 9; any, if the program has none.
static uint32_t any_temporary(const bytes *b)
{
    uint32_t start = any_symbol(b);
    for (uint32_t k = 0; k < n_symbols(b); k++) {
        uint32_t i = (start + k) % n_symbols(b);
        if (b->at[symbol_at(i) + 7] == ARENA) return i;
    }
    return start;
}

// The place of argument k of a node; a word of the table at any rate.
static size_t argument_at(const bytes *b, uint32_t node, uint32_t k)
{
    uint64_t word = (uint64_t)get32(b, node_at(b, node) + 12) + k;
    return word_at(b, (uint32_t)(word < n_words(b) ? word : 0));
}

static size_t any_argument(const bytes *b)
{
    uint32_t node = below(n_nodes(b)), n = b->at[node_at(b, node) + 4];
    return argument_at(b, node, below(n + b->at[node_at(b, node) + 5]));
}

static uint32_t near_to(uint32_t v)
{
    return v + below(5) - 2;
}

static void mutate_offset(bytes *b)
{
    uint32_t i = one_in(3) ? any_symbol(b) : any_temporary(b);
    uint32_t k = one_in(3) ? any_symbol(b) : any_temporary(b);
    uint64_t end = get64(b, symbol_at(k) + 40) + (bytes_of(b, k) + 63) / 64 * 64;
    uint64_t offset = get64(b, symbol_at(i) + 40);
    switch (below(5)) {
    case 0:
        offset = get64(b, symbol_at(k) + 40);
        break;
    case 1:
        offset = end;
        break;
    case 2:
        offset += 64 * (uint64_t)(1 + below(3));
        break;
    case 3:
        offset -= 64;
        break;
    default:
        offset += below(2) ? 4 : 4096;
    }
    put64(b, symbol_at(i) + 40, offset);
}

static void mutate_life(bytes *b)
{
    size_t at = symbol_at(one_in(20) ? any_symbol(b) : any_temporary(b));
    size_t field = at + 56 + 4 * (size_t)below(2);
    uint32_t node = one_in(2) ? below(n_nodes(b)) : near_to(get32(b, field));
    put32(b, field, node);
}

// A view of something else, or none; perhaps where its base lies.
static void mutate_view(bytes *b)
{
    size_t at = symbol_at(any_temporary(b));
    uint32_t base = any_temporary(b);
    bool none = one_in(3);
    put32(b, at + 64, none ? 0 : base + 1);
    if (none || one_in(3)) return;
    put64(b, at + 40, get64(b, symbol_at(base) + 40));
    if (one_in(2)) put32(b, symbol_at(base) + 60, get32(b, at + 60));
}

static void mutate_argument(bytes *b)
{
    size_t at = any_argument(b), other = any_argument(b);
    uint32_t was = get32(b, at);
    switch (below(4)) {
    case 0:
        put32(b, at, get32(b, other));
        break;
    case 1:
        put32(b, at, get32(b, other));
        put32(b, other, was);
        break;
    case 2:
        put32(b, at, one_in(4) ? 0 : any_symbol(b) + 1);
        break;
    default:
        put32(b, at, one_in(8) ? n_symbols(b) + 1 : any_temporary(b) + 1);
    }
}

static void mutate_nodes(bytes *b)
{
    uint32_t i = below(n_nodes(b)), k = one_in(2) ? below(n_nodes(b)) : i ? i - 1 : 0;
    uint8_t node[NODE];
    memcpy(node, b->at + node_at(b, i), NODE);
    memcpy(b->at + node_at(b, i), b->at + node_at(b, k), NODE);
    if (!one_in(4)) memcpy(b->at + node_at(b, k), node, NODE);
}

static void mutate_node(bytes *b)
{
    size_t at = node_at(b, below(n_nodes(b)));
    switch (below(6)) {
    case 0:
        put32(b, at, samba__op_table[below(SAMBA__N_OPS)].wire);
        break;
    case 1:
        put32(b, at, one_in(8) ? 1 + below(0x1000) : get32(b, node_at(b, below(n_nodes(b)))));
        break;
    case 2:
        put32(b, at + 12, near_to(get32(b, at + 12)));
        break;
    case 3:
        put32(b, at + 16, one_in(2) ? 0 : any_temporary(b) + 1);
        break;
    case 4:
        b->at[at + 4 + below(3)] = (uint8_t)below(one_in(4) ? 40 : 5);
        break;
    default:
        put32(b, at + 8, below(get32(b, 48) + 2));
    }
}

static void mutate_attribute(bytes *b)
{
    static const uint32_t odd[] = { 0, 1, 2, 3, 4, 16, 0xFFFFFFFF, 0x3F800000, 0x80000000 };
    uint32_t node = below(n_nodes(b));
    const uint8_t *p = b->at + node_at(b, node);
    if (!p[6]) return;
    size_t at = argument_at(b, node, (uint32_t)p[4] + p[5] + below(p[6]));
    put32(b, at, one_in(2) ? near_to(get32(b, at)) : odd[below(9)]);
}

static void mutate_shape(bytes *b)
{
    size_t at = symbol_at(any_symbol(b)) + 8 + 4 * (size_t)below(4);
    uint32_t was = get32(b, at), now = one_in(3) ? near_to(was) : 1 + below(9);
    bool all = one_in(2) && was;
    if (one_in(12)) now = below(2) ? 0x7FFFFFFF : 1 << 20;
    put32(b, at, now);
    for (uint32_t i = 0; all && i < n_symbols(b); i++)
        for (size_t d = symbol_at(i) + 8; d < symbol_at(i) + 40; d += 4)
            if (get32(b, d) == was) put32(b, d, now);
}

static void mutate_kind(bytes *b)
{
    static const struct {
        size_t at;
        uint32_t n;
    } fields[] = { { 4, 11 }, { 4, 10 }, { 5, 12 }, { 6, 10 }, { 7, 5 },
                   { 72, 3 }, { 73, 3 }, { 74, 5 }, { 75, 2 }, { 76, 9 } };

    size_t at = symbol_at(any_symbol(b));
    uint32_t i = below(10);
    b->at[at + fields[i].at] = (uint8_t)below(fields[i].n);
    if (one_in(2)) { // as what holds microbatches
        uint8_t whole[2] = { (uint8_t)(1 + below(2)), 1 };
        memcpy(b->at + at + 72, whole, 2);
    }
}

static void mutate_value(bytes *b)
{
    size_t p = symbol_at(any_symbol(b)) + 48, q = symbol_at(any_symbol(b)) + 48;
    uint64_t was = get64(b, p);
    switch (below(4)) {
    case 0:
        put64(b, p, 0);
        break;
    case 1:
        put64(b, p, get64(b, q));
        break;
    case 2:
        put64(b, p, get64(b, q));
        put64(b, q, was);
        break;
    default:
        put64(b, p, was + 64 * (uint64_t)below(4) - 64);
    }
}

static void mutate_gradient(bytes *b)
{
    uint32_t gradient = one_in(3) ? 0 : any_symbol(b) + 1;
    if (one_in(16)) gradient = n_symbols(b) + 1;
    put32(b, symbol_at(any_symbol(b)) + 68, gradient);
}

// A border between sections moves, or a section gets another type or graph.
static void mutate_section(bytes *b)
{
    static const uint32_t types[] = { 1, 2, 4, 8, 16, 32, 64, 36, 52, 3, 0, 20, 128 };
    uint32_t i = below(n_sections(b));
    size_t at = section_at(b, i), next = at + SECTION;
    if (one_in(4))
        put32(b, at, types[below(13)]);
    else if (one_in(3))
        put32(b, at + 12, one_in(2) ? 0 : below(get32(b, 48) + 3));
    else if (one_in(6))
        put32(b, at + 8, near_to(get32(b, at + 8)));
    else if (i + 1 < n_sections(b)) {
        uint32_t by = below(3) - 1;
        put32(b, at + 8, get32(b, at + 8) + by);
        put32(b, next + 4, get32(b, next + 4) + by);
        put32(b, next + 8, get32(b, next + 8) - by);
    }
}

static void mutate_name(bytes *b)
{
    uint32_t at = below(get32(b, 48) + (one_in(8) ? 2 : 0));
    put32(b, symbol_at(any_symbol(b)), at);
    if (one_in(8)) b->at[word_at(b, n_words(b)) + at] = (uint8_t)below(3) * 'a';
}

static void mutate_header(bytes *b)
{
    static const uint8_t fields[] = { 8, 12, 32, 36, 40, 44, 48, 52, 56, 56, 60, 64, 72, 80, 88 };
    size_t at = fields[below(15)];
    uint32_t was = get32(b, at);
    put32(b, at, one_in(2) ? near_to(was) : at >= 64 ? was + 64 : 1 + below(4));
}

// The output of a node moves to where an input lies, whose life ends there: right if the op allows
// it, and nobody else needs the input.
static void mutate_in_place(bytes *b)
{
    uint32_t node = below(n_nodes(b)), n_in = b->at[node_at(b, node) + 4];
    uint32_t in = get32(b, argument_at(b, node, below(n_in))), out;
    out = get32(b, argument_at(b, node, n_in));
    if (in < 1 || out < 1 || in > n_symbols(b) || out > n_symbols(b)) return;
    put64(b, symbol_at(out - 1) + 40, get64(b, symbol_at(in - 1) + 40));
    if (b->at[symbol_at(in - 1) + 7] == ARENA && one_in(2)) put32(b, symbol_at(in - 1) + 60, node);
}

// A temporary lives longer, at the end of the arena: right.
static void mutate_to_end(bytes *b)
{
    size_t at = symbol_at(any_temporary(b));
    if (b->at[at + 7] != ARENA) return;
    put64(b, at + 40, get64(b, 64 + 8));
    if (one_in(2)) put32(b, at + 60, near_to(n_nodes(b) - 1));
}

static void mutate_once(bytes *b)
{
    static void (*const mutations[])(bytes *)
        = { mutate_offset,   mutate_offset, mutate_offset, mutate_life,     mutate_life,
            mutate_life,     mutate_view,   mutate_view,   mutate_argument, mutate_argument,
            mutate_argument, mutate_nodes,  mutate_node,   mutate_node,     mutate_attribute,
            mutate_shape,    mutate_kind,   mutate_kind,   mutate_value,    mutate_gradient,
            mutate_section,  mutate_name,   mutate_header, mutate_in_place, mutate_in_place,
            mutate_to_end,   mutate_to_end };
    mutations[below(sizeof mutations / sizeof *mutations)](b);
}

// The counts still fit into the file, so that records may be read.
static bool is_readable(const bytes *b)
{
    uint64_t end = HEADER + (uint64_t)n_symbols(b) * SYMBOL + (uint64_t)n_nodes(b) * NODE
        + (uint64_t)n_sections(b) * SECTION + (uint64_t)n_words(b) * 4 + get32(b, 48);
    return end + get32(b, 52) <= b->size && n_symbols(b) && n_nodes(b) && n_sections(b)
        && n_words(b) && get32(b, 48);
}

static void mutate(bytes *b)
{
    for (uint32_t n = 1 + below(4); n > 0 && is_readable(b); n--)
        mutate_once(b);
    if (!is_readable(b)) {
        seal(b);
        return;
    }
    if (!one_in(16)) sort_symbols(b);
    if (!one_in(16)) mend_regions(b);
    if (get32(b, 8) == 1) { // one checksum for all
        put64(b, 24, xxh64(b->at + 32, b->size - 32, 0));
        return;
    }
    seal(b);
    if (one_in(100)) b->at[below((uint32_t)b->size)] ^= 1;
}

// The arena is proved for some nodes at a time: for how many must not matter.
static void check_ranges(const bytes *b)
{
    enum { MOST = 64 };

    uint64_t room[4 * MOST];
    samba__pef pef = SAMBA__ZEROED;
    samba__text nobody = samba__text_in(NULL, 0);
    bool sound = samba__open_pef(&pef, b->at, b->size, &nobody)
        && samba__check_symbols(&pef, &nobody) && samba__check_order(&pef, &nobody)
        && samba__check_sections(&pef, &nobody) && samba__check_names(&pef, &nobody)
        && samba__check_made(&pef, &nobody);
    if (!sound) return;
    bool whole = samba__check_arena_here(&pef, &nobody);
    CHECK(samba__check_arena(&pef, room, 4 * (1 + below(MOST)), &nobody) == whole);
    CHECK(samba__check_arena(&pef, room, 4, &nobody) == whole);
}

static void check_mutant(const bytes *b, long n, int program)
{
    char why[WHY];
    const char *said = refusal(b, why);
    int broken = pef_broken_theorem(b, 0);
    bool agree = (said == NULL) == (broken == PEF_HOLDS);
    n_broken[broken]++;
    n_accepted += !said;
    if (n % 4 == 0) check_ranges(b);
    if (agree) return;
    n_disagreed++;
    CHECK(agree);
    if (n_disagreed > 20) return;
    printf("    mutant %ld of program %d: the model: %s (%s); samba.h: %s\n", n, program,
           pef_theorems[broken].name, pef_theorems[broken].holds, said ? said : "accepts");
}

static void test_mutants(void)
{
    clock_t start = clock();
    for (long n = 0; n < n_mutants; n++) {
        int program = (int)below(PROGRAMS + 12); // the small ones come more often
        if (program >= PROGRAMS) program = NETS + (program - PROGRAMS) % 6;
        bytes b = copy_of(&programs[program]);
        mutate(&b);
        check_mutant(&b, n, program);
        free(b.at);
    }
    printf("%ld mutants, %ld accepted, %ld disagreements, %.1f s\n", n_mutants, n_accepted,
           n_disagreed, (double)(clock() - start) / CLOCKS_PER_SEC);
    CHECK(n_accepted * 10 > n_mutants); // else they are too wild to say much
    for (int i = 0; i < PEF_N_THEOREMS && n_mutants != MUTANTS; i++)
        printf("    %-16s %ld\n", pef_theorems[i].name, n_broken[i]);
}

int main(int argc, char **argv)
{
    snprintf(path, sizeof path, "%.500s.pef", argc > 0 ? argv[0] : "verifier");
    snprintf(log_path, sizeof log_path, "%s.log", path);
    snprintf(map_path, sizeof map_path, "%s.map", path);
    if (argc > 1) n_mutants = atol(argv[1]);
    if (argc > 2) random_state = (uint64_t)atol(argv[2]) * 2 + 1;
    RUN(test_programs);
    RUN(test_theorems);
    RUN(test_skyline);
    RUN(test_mutants);
    for (int i = 0; i < PROGRAMS; i++)
        free(programs[i].at);
    return test_summary();
}
