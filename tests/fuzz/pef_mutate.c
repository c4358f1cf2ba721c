#include "pef_mutate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A PEF taken apart.
typedef struct pef_parts {
    uint8_t header[256];
    fuzz_bytes table[FUZZ_N_RECORDS]; // of symbols, nodes, sections, words
    fuzz_bytes strings, trace, data;
} pef_parts;

// ---- Fields -------------------------------------------------------------------------------------

static const fuzz_field *field_of(int record, const char *name)
{
    for (int i = 0; i < fuzz_n_fields; i++) {
        const fuzz_field *f = &fuzz_fields[i];
        if (f->record == record && strcmp(f->name, name) == 0) return f;
    }
    fuzz_fail("a PEF has no field %s", name);
    return NULL;
}

static uint64_t get_field(const uint8_t *record, int kind, const char *name)
{
    const fuzz_field *f = field_of(kind, name);
    return fuzz_get(record + f->at, f->bytes);
}

static void set_field(uint8_t *record, int kind, const char *name, uint64_t value)
{
    const fuzz_field *f = field_of(kind, name);
    fuzz_set(record + f->at, value, f->bytes);
}

static const char *const counts[FUZZ_N_RECORDS]
    = { NULL, "n_symbols", "n_nodes", "n_sections", "n_words" };

static uint32_t n_records(const pef_parts *p, int kind)
{
    return (uint32_t)(p->table[kind].size / fuzz_record_size[kind]);
}

static uint8_t *record_at(pef_parts *p, int kind, uint32_t i)
{
    return p->table[kind].at + i * fuzz_record_size[kind];
}

static uint8_t *word_at(pef_parts *p, uint32_t i)
{
    return record_at(p, FUZZ_WORDS, i);
}

// ---- Apart, and together again ------------------------------------------------------------------

static void free_parts(pef_parts *p)
{
    for (int kind = 0; kind < FUZZ_N_RECORDS; kind++)
        fuzz_free(&p->table[kind]);
    fuzz_free(&p->strings);
    fuzz_free(&p->trace);
    fuzz_free(&p->data);
}

// The next n bytes of a file; false: it does not have them.
static bool take(fuzz_bytes *to, const uint8_t *data, size_t size, size_t *at, uint64_t n)
{
    if (n > size - *at) return false;
    fuzz_put(to, data + *at, (size_t)n);
    *at += (size_t)n;
    return true;
}

// False: the tables do not fit into the file.
static bool take_apart(pef_parts *p, const uint8_t *data, size_t size)
{
    size_t at = fuzz_record_size[FUZZ_HEADER];
    memset(p, 0, sizeof *p);
    if (size < at || at > sizeof p->header) return false;
    memcpy(p->header, data, at);

    bool fine = true;
    for (int kind = FUZZ_SYMBOLS; fine && kind < FUZZ_N_RECORDS; kind++) {
        uint64_t n = get_field(p->header, FUZZ_HEADER, counts[kind]);
        fine = take(&p->table[kind], data, size, &at, n * fuzz_record_size[kind]);
    }
    uint64_t n_strings = get_field(p->header, FUZZ_HEADER, "strings_size");
    uint64_t n_trace = get_field(p->header, FUZZ_HEADER, "trace_size");
    fine = fine && take(&p->strings, data, size, &at, n_strings)
        && take(&p->trace, data, size, &at, n_trace);
    at = fuzz_align(at);
    return fine && at <= size && take(&p->data, data, size, &at, size - at);
}

void pef_seal(uint8_t *data, size_t size)
{
    const fuzz_field *hash = field_of(FUZZ_HEADER, "tables_hash");
    size_t begin = hash->at + 8;
    if (size < fuzz_record_size[FUZZ_HEADER]) return;
    set_field(data, FUZZ_HEADER, "file_size", size);

    uint64_t n_data = get_field(data, FUZZ_HEADER, "data_size");
    if (n_data > size - fuzz_record_size[FUZZ_HEADER]) n_data = 0; // a lie of another kind
    size_t tables = size - (size_t)n_data;
    set_field(data, FUZZ_HEADER, "data_hash", fuzz_hash(data + tables, (size_t)n_data));
    set_field(data, FUZZ_HEADER, "tables_hash", fuzz_hash(data + begin, tables - begin));
}

static void put_together(pef_parts *p, fuzz_bytes *to)
{
    static const uint8_t zeros[64];
    for (int kind = FUZZ_SYMBOLS; kind < FUZZ_N_RECORDS; kind++)
        set_field(p->header, FUZZ_HEADER, counts[kind], n_records(p, kind));
    set_field(p->header, FUZZ_HEADER, "strings_size", p->strings.size);
    set_field(p->header, FUZZ_HEADER, "trace_size", p->trace.size);
    set_field(p->header, FUZZ_HEADER, "data_size", p->data.size);

    fuzz_put(to, p->header, fuzz_record_size[FUZZ_HEADER]);
    for (int kind = FUZZ_SYMBOLS; kind < FUZZ_N_RECORDS; kind++)
        fuzz_put(to, p->table[kind].at, p->table[kind].size);
    fuzz_put(to, p->strings.at, p->strings.size);
    fuzz_put(to, p->trace.at, p->trace.size);
    fuzz_put(to, zeros, fuzz_align(to->size) - to->size);
    fuzz_put(to, p->data.at, p->data.size);
    pef_seal(to->at, to->size);
}

// ---- Order of symbols ---------------------------------------------------------------------------

static pef_parts *sorted; // what the comparison looks at

static int by_place(const void *a, const void *b)
{
    static const char *const keys[3] = { "region", "offset", "first" };
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const uint8_t *x = record_at(sorted, FUZZ_SYMBOLS, i), *y = record_at(sorted, FUZZ_SYMBOLS, j);
    for (int k = 0; k < 3; k++) {
        uint64_t m = get_field(x, FUZZ_SYMBOLS, keys[k]), n = get_field(y, FUZZ_SYMBOLS, keys[k]);
        if (m != n) return m < n ? -1 : 1;
    }
    return i < j ? -1 : 1;
}

// 1 + a symbol in the old order, in the new one.
static uint64_t moved(const uint32_t *to, uint32_t n, uint64_t word)
{
    return word >= 1 && word <= n ? (uint64_t)to[word - 1] + 1 : word;
}

static void move_field(uint8_t *record, int kind, const char *name, const uint32_t *to, uint32_t n)
{
    set_field(record, kind, name, moved(to, n, get_field(record, kind, name)));
}

// What nodes name by the number of a symbol gets the new number.
static void renumber_nodes(pef_parts *p, const uint32_t *to, uint32_t n)
{
    uint32_t n_words = n_records(p, FUZZ_WORDS);
    uint8_t *done = calloc(n_words + 1, 1);
    for (uint32_t i = 0; done && i < n_records(p, FUZZ_NODES); i++) {
        uint8_t *node = record_at(p, FUZZ_NODES, i);
        uint64_t first = get_field(node, FUZZ_NODES, "first_word");
        uint64_t end
            = first + get_field(node, FUZZ_NODES, "n_in") + get_field(node, FUZZ_NODES, "n_out");
        move_field(node, FUZZ_NODES, "scratch", to, n);
        for (uint64_t w = first; w < end && w < n_words; w++) {
            uint8_t *word = word_at(p, (uint32_t)w);
            if (!done[w]) fuzz_set(word, moved(to, n, fuzz_get(word, 4)), 4);
            done[w] = 1;
        }
    }
    free(done);
}

static void sort_symbols(pef_parts *p)
{
    uint32_t n = n_records(p, FUZZ_SYMBOLS);
    uint32_t *order = malloc((n + 1) * sizeof *order), *to = malloc((n + 1) * sizeof *to);
    fuzz_bytes table = { NULL, 0, 0 };
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sorted = p;
    qsort(order, n, sizeof *order, by_place);

    for (uint32_t i = 0; i < n; i++) {
        to[order[i]] = i;
        fuzz_put(&table, record_at(p, FUZZ_SYMBOLS, order[i]), fuzz_record_size[FUZZ_SYMBOLS]);
    }
    fuzz_free(&p->table[FUZZ_SYMBOLS]);
    p->table[FUZZ_SYMBOLS] = table;
    for (uint32_t i = 0; i < n; i++) {
        move_field(record_at(p, FUZZ_SYMBOLS, i), FUZZ_SYMBOLS, "alias", to, n);
        move_field(record_at(p, FUZZ_SYMBOLS, i), FUZZ_SYMBOLS, "grad", to, n);
    }
    renumber_nodes(p, to, n);
    free(order);
    free(to);
}

// ---- Places -------------------------------------------------------------------------------------

// Bytes of a symbol; no more than a MB counts.
static size_t symbol_bytes(const pef_parts *p, const uint8_t *symbol)
{
    const fuzz_field *dim = field_of(FUZZ_SYMBOLS, "dim");
    uint64_t dtype = get_field(symbol, FUZZ_SYMBOLS, "dtype");
    uint64_t bytes = dtype < SAMBA_N_DTYPES ? samba_dtype_size((samba_dtype)dtype) : 4;
    uint64_t ndim = get_field(symbol, FUZZ_SYMBOLS, "ndim");
    for (uint64_t d = 0; d < ndim && d < 8; d++) {
        bytes *= fuzz_get(symbol + dim->at + 4 * d, 4);
        if (bytes > 1 << 20) return 1 << 20;
    }
    if (get_field(symbol, FUZZ_SYMBOLS, "per_microbatch"))
        bytes *= get_field(p->header, FUZZ_HEADER, "microbatches");
    return bytes > 1 << 20 ? 1 << 20 : (size_t)bytes;
}

// Gives each symbol that is no view a place of its own, and data that is long enough, if it has
// any.
static void lay_out(pef_parts *p)
{
    const fuzz_field *region = field_of(FUZZ_HEADER, "region");
    size_t end[4] = { 0, 0, 0, 0 }, data = 0;
    for (uint32_t i = 0; i < n_records(p, FUZZ_SYMBOLS); i++) {
        uint8_t *symbol = record_at(p, FUZZ_SYMBOLS, i);
        uint64_t r = get_field(symbol, FUZZ_SYMBOLS, "region");
        if (r > 3 || get_field(symbol, FUZZ_SYMBOLS, "alias")) continue;
        size_t bytes = fuzz_align(symbol_bytes(p, symbol));
        set_field(symbol, FUZZ_SYMBOLS, "offset", end[r]);
        end[r] += bytes;
        if (!get_field(symbol, FUZZ_SYMBOLS, "data")) continue;
        set_field(symbol, FUZZ_SYMBOLS, "data", data + 1);
        data += bytes;
    }
    for (uint32_t i = 0; i < n_records(p, FUZZ_SYMBOLS); i++) {
        uint8_t *symbol = record_at(p, FUZZ_SYMBOLS, i);
        uint64_t of = get_field(symbol, FUZZ_SYMBOLS, "alias");
        if (of < 1 || of > n_records(p, FUZZ_SYMBOLS)) continue;
        const uint8_t *home = record_at(p, FUZZ_SYMBOLS, (uint32_t)of - 1);
        set_field(symbol, FUZZ_SYMBOLS, "offset", get_field(home, FUZZ_SYMBOLS, "offset"));
    }
    for (size_t r = 0; r < 4; r++)
        fuzz_set(p->header + region->at + 8 * r, end[r], 8);

    static const uint8_t zeros[64];
    while (p->data.size < data && p->data.size < 1 << 20)
        fuzz_put(&p->data, zeros, sizeof zeros);
    if (p->data.size > data) p->data.size = data;
}

// ---- Mutations ----------------------------------------------------------------------------------

static void change_field(pef_parts *p, fuzz_random *r)
{
    const fuzz_field *f = &fuzz_fields[fuzz_below(r, (uint32_t)fuzz_n_fields)];
    uint32_t n = f->record == FUZZ_HEADER ? 1 : n_records(p, f->record);
    if (n == 0) return;
    uint8_t *record
        = f->record == FUZZ_HEADER ? p->header : record_at(p, f->record, fuzz_below(r, n));
    uint8_t *at = record + f->at + fuzz_below(r, (uint32_t)f->n) * (uint32_t)f->bytes;
    uint64_t was = fuzz_get(at, f->bytes);

    if (f->record != FUZZ_HEADER && fuzz_chance(r, 2)) { // what another record has there
        const uint8_t *other = record_at(p, f->record, fuzz_below(r, n));
        fuzz_set(at, fuzz_get(other + (at - record), f->bytes), f->bytes);
    } else {
        fuzz_set(at, fuzz_number(r, was, 8 * f->bytes), f->bytes);
    }
}

static void change_records(pef_parts *p, fuzz_random *r)
{
    int kind = FUZZ_SYMBOLS + (int)fuzz_below(r, FUZZ_N_RECORDS - 1);
    size_t size = fuzz_record_size[kind];
    uint32_t n = n_records(p, kind);
    uint8_t record[256];
    if (n == 0 || size > sizeof record) return;
    size_t from = fuzz_below(r, n) * size, to = fuzz_below(r, n) * size;
    memcpy(record, p->table[kind].at + from, size);

    switch (fuzz_below(r, 3)) {
    case 0:
        fuzz_replace(&p->table[kind], from, size, "", 0);
        break;
    case 1:
        fuzz_replace(&p->table[kind], to, 0, record, size);
        break;
    default:
        memcpy(p->table[kind].at + from, p->table[kind].at + to, size);
        memcpy(p->table[kind].at + to, record, size);
    }
}

static void change_word(pef_parts *p, fuzz_random *r)
{
    uint32_t n = n_records(p, FUZZ_WORDS);
    if (n == 0) return;
    uint8_t *word = word_at(p, fuzz_below(r, n)), *other = word_at(p, fuzz_below(r, n));
    static const uint32_t floats[] = { 0x7FC00000, 0x7F800000, 0xFF800000, 0x80000000,
                                       0x3F800000, 0x00000001, 0x7F7FFFFF, 0x40000000 };
    switch (fuzz_below(r, 4)) {
    case 0:
        fuzz_set(word, 1 + fuzz_below(r, n_records(p, FUZZ_SYMBOLS)), 4);
        break;
    case 1:
        fuzz_set(word, fuzz_get(other, 4), 4);
        break;
    case 2:
        fuzz_set(word, floats[fuzz_below(r, 8)], 4);
        break;
    default:
        fuzz_set(word, fuzz_number(r, fuzz_get(word, 4), 32), 4);
    }
}

// All dimensions of one length get another: what follows from shapes then still agrees.
static void change_dimension(pef_parts *p, fuzz_random *r)
{
    const fuzz_field *dim = field_of(FUZZ_SYMBOLS, "dim");
    uint32_t n = n_records(p, FUZZ_SYMBOLS);
    if (n == 0) return;
    uint8_t *at = record_at(p, FUZZ_SYMBOLS, fuzz_below(r, n)) + dim->at + 4 * fuzz_below(r, 4);
    uint64_t was = fuzz_get(at, 4),
             now = fuzz_chance(r, 4) ? fuzz_number(r, was, 16) : 1 + fuzz_below(r, 9);
    for (uint32_t i = 0; was && i < n; i++) {
        for (uint32_t d = 0; d < 8; d++) {
            at = record_at(p, FUZZ_SYMBOLS, i) + dim->at + 4 * d;
            if (fuzz_get(at, 4) == was && !fuzz_chance(r, 20)) fuzz_set(at, now, 4);
        }
    }
}

static void change_op(pef_parts *p, fuzz_random *r)
{
    uint32_t n = n_records(p, FUZZ_NODES);
    if (n == 0) return;
    uint8_t *node = record_at(p, FUZZ_NODES, fuzz_below(r, n));
    set_field(node, FUZZ_NODES, "wire", fuzz_wire(fuzz_below(r, 1 << 16)));
}

static void change_bytes(fuzz_bytes *b, fuzz_random *r)
{
    if (b->size == 0) return;
    size_t at = fuzz_below(r, (uint32_t)b->size);
    uint8_t value = (uint8_t)fuzz_number(r, b->at[at], 8);
    switch (fuzz_below(r, 3)) {
    case 0:
        b->at[at] = value;
        break;
    case 1:
        fuzz_replace(b, at, 1 + fuzz_below(r, 8) % (b->size - at), "", 0);
        break;
    default:
        fuzz_replace(b, at, 0, &value, 1);
    }
}

static void mutate_parts(pef_parts *p, fuzz_random *r)
{
    switch (fuzz_below(r, 10)) {
    case 0:
    case 1:
    case 2:
        change_field(p, r);
        break;
    case 3:
        change_records(p, r);
        break;
    case 4:
    case 5:
        change_word(p, r);
        break;
    case 6:
        change_dimension(p, r);
        break;
    case 7:
        change_op(p, r);
        break;
    case 8:
        change_bytes(fuzz_chance(r, 2) ? &p->strings : &p->trace, r);
        break;
    default:
        change_bytes(&p->data, r);
    }
}

void pef_mutate_header(uint8_t *data, size_t size, fuzz_random *r)
{
    for (uint32_t n = 1 + fuzz_below(r, 3); n > 0; n--) {
        const fuzz_field *f;
        do
            f = &fuzz_fields[fuzz_below(r, (uint32_t)fuzz_n_fields)];
        while (f->record != FUZZ_HEADER);
        uint8_t *at = data + f->at + fuzz_below(r, (uint32_t)f->n) * (uint32_t)f->bytes;
        fuzz_set(at, fuzz_number(r, fuzz_get(at, f->bytes), 8 * f->bytes), f->bytes);
    }
    if (!fuzz_chance(r, 4)) {
        uint64_t file_size = get_field(data, FUZZ_HEADER, "file_size");
        pef_seal(data, size);
        if (fuzz_chance(r, 8)) set_field(data, FUZZ_HEADER, "file_size", file_size);
    }
}

size_t pef_mutate(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    fuzz_random r = fuzz_random_from(seed);
    pef_parts p;
    fuzz_bytes b = { NULL, 0, 0 };

    if (!take_apart(&p, data, size) || fuzz_chance(&r, 16)) {
        free_parts(&p);
        size = LLVMFuzzerMutate(data, size, most);
        if (!fuzz_chance(&r, 4)) pef_seal(data, size);
        return size;
    }
    for (uint32_t n = 1 + fuzz_below(&r, 4); n > 0; n--)
        mutate_parts(&p, &r);
    if (fuzz_chance(&r, 2)) lay_out(&p);
    if (!fuzz_chance(&r, 8)) sort_symbols(&p);
    put_together(&p, &b);
    free_parts(&p);

    if (fuzz_chance(&r, 50)) pef_mutate_header(b.at, b.size, &r);
    if (b.size > most) b.size = most;
    memcpy(data, b.at, b.size);
    size = b.size;
    fuzz_free(&b);
    return size;
}

// ---- Large programs -----------------------------------------------------------------------------

static uint32_t add_name(pef_parts *p, const char *name)
{
    uint32_t at = (uint32_t)p->strings.size;
    fuzz_put(&p->strings, name, strlen(name) + 1);
    return at;
}

static uint8_t *add_record(pef_parts *p, int kind)
{
    static const uint8_t zeros[256];
    fuzz_put(&p->table[kind], zeros, fuzz_record_size[kind]);
    return record_at(p, kind, n_records(p, kind) - 1);
}

// Four floats at 64 * place in a region; alive from node first to node last.
static void add_symbol(pef_parts *p, const char *name, int role, int region, uint32_t place,
                       uint32_t first, uint32_t last)
{
    uint32_t at = add_name(p, name);
    uint8_t *symbol = add_record(p, FUZZ_SYMBOLS);
    set_field(symbol, FUZZ_SYMBOLS, "name", at);
    set_field(symbol, FUZZ_SYMBOLS, "role", (uint64_t)role);
    set_field(symbol, FUZZ_SYMBOLS, "ndim", 1);
    set_field(symbol, FUZZ_SYMBOLS, "dim", 4);
    set_field(symbol, FUZZ_SYMBOLS, "region", (uint64_t)region);
    set_field(symbol, FUZZ_SYMBOLS, "offset", 64 * (uint64_t)place);
    set_field(symbol, FUZZ_SYMBOLS, "first", first);
    set_field(symbol, FUZZ_SYMBOLS, "last", last);
}

// An op with one input and one output: symbols, counted from 0.
static void add_node(pef_parts *p, const char *name, uint32_t wire, uint32_t in, uint32_t out)
{
    uint32_t at = add_name(p, name), word = n_records(p, FUZZ_WORDS);
    uint8_t *node = add_record(p, FUZZ_NODES);
    set_field(node, FUZZ_NODES, "wire", wire);
    set_field(node, FUZZ_NODES, "n_in", 1);
    set_field(node, FUZZ_NODES, "n_out", 1);
    set_field(node, FUZZ_NODES, "name", at);
    set_field(node, FUZZ_NODES, "first_word", word);
    fuzz_set(add_record(p, FUZZ_WORDS), in + 1, 4);
    fuzz_set(add_record(p, FUZZ_WORDS), out + 1, 4);
}

static void add_section(pef_parts *p, uint32_t first, uint32_t n, const char *graph)
{
    uint32_t at = graph ? add_name(p, graph) + 1 : 0;
    uint8_t *section = add_record(p, FUZZ_SECTIONS);
    set_field(section, FUZZ_SECTIONS, "type", SAMBA_FWD);
    set_field(section, FUZZ_SECTIONS, "first", first);
    set_field(section, FUZZ_SECTIONS, "n", n);
    set_field(section, FUZZ_SECTIONS, "graph", at);
}

static void begin_program(pef_parts *p)
{
    const fuzz_field *magic = field_of(FUZZ_HEADER, "magic");
    memset(p, 0, sizeof *p);
    memcpy(p->header + magic->at, "SAMBAPEF", 8);
    set_field(p->header, FUZZ_HEADER, "version", 2);
    set_field(p->header, FUZZ_HEADER, "microbatches", 1);
    set_field(p->header, FUZZ_HEADER, "flags", 1); // it infers
    fuzz_put(&p->trace, "", 1);
}

enum { IN_ARENA = 1, IN_OUT = 2, LARGE_NAME = 40 };

static const uint32_t forever = 0xFFFFFFFF;

// x, n ops that take turns with two places, y. Their names differ at their ends alone.
static void add_chain(pef_parts *p, uint32_t n, const char *begin, uint32_t relu)
{
    fuzz_bytes name = { NULL, 0, 0 };
    add_symbol(p, "x", SAMBA_ROLE_INPUT, IN_OUT, 0, 0, forever);
    for (uint32_t i = 0; i < n; i++) {
        bool last = i == n - 1;
        name.size = 0;
        fuzz_put_text(&name, begin);
        fuzz_print(&name, "%u", i);
        fuzz_put(&name, "", 1);
        add_node(p, (const char *)name.at, relu, i, i + 1);
        if (last)
            add_symbol(p, "y", SAMBA_ROLE_OUTPUT, IN_OUT, 1, 0, forever);
        else
            add_symbol(p, (const char *)name.at, SAMBA_ROLE_TEMPORARY, IN_ARENA, i % 2, i, i + 1);
    }
    fuzz_free(&name);
    add_section(p, 0, n, NULL);
}

// n graphs of one op each, all of which read x.
static void add_graphs(pef_parts *p, uint32_t n, uint32_t relu)
{
    char name[LARGE_NAME], graph[LARGE_NAME];
    add_symbol(p, "x", SAMBA_ROLE_INPUT, IN_OUT, 0, 0, forever);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "y%u", i);
        snprintf(graph, sizeof graph, "graph%u", i);
        add_node(p, name, relu, 0, i + 1);
        add_symbol(p, name, SAMBA_ROLE_OUTPUT, IN_OUT, i + 1, 0, forever);
        add_section(p, i, 1, graph);
    }
}

const char *pef_large(size_t size, int kind, fuzz_bytes *to)
{
    static const char *const titles[] = { "many nodes", "long names", "many graphs", "much data" };
    const fuzz_field *region = field_of(FUZZ_HEADER, "region");

    enum { LONG = 1000, NODE = 150, GRAPH = 170 }; // bytes of the file for each

    char begin[LONG + 1];
    pef_parts p;
    memset(begin, 'a', LONG);
    begin[kind == 1 ? LONG : 1] = 0;
    begin_program(&p);

    uint32_t relu = fuzz_wire_of("relu");
    uint32_t n = (uint32_t)(size / (kind == 1 ? 2 * LONG + NODE : kind == 2 ? GRAPH : NODE));
    if (kind == 2)
        add_graphs(&p, n, relu);
    else
        add_chain(&p, kind == 3 ? 4 : n, begin, relu);
    fuzz_set(p.header + region->at + 8, kind == 2 ? 0 : 128, 8); // two places in the arena
    fuzz_set(p.header + region->at + 16, 64 * (uint64_t)(kind == 2 ? n + 1 : 2), 8);

    static const uint8_t zeros[4096];
    while (kind == 3 && p.data.size < size) // that nothing reads
        fuzz_put(&p.data, zeros, sizeof zeros);
    sort_symbols(&p);
    to->size = 0;
    put_together(&p, to);
    free_parts(&p);
    return titles[kind];
}

// ---- Size of a program --------------------------------------------------------------------------

// The flops of a run of all nodes: false if there are too many, or what is no PEF.
bool pef_is_small(const uint8_t *data, size_t size, double most_flops, double *flops)
{
    samba_pef pef;
    char why[200];
    *flops = 0;
    if (!samba_pef_open(&pef, data, size, why, sizeof why)) return true;
    for (int32_t i = 0; i < pef.n_nodes; i++) {
        samba_pef_node node = samba_pef_node_at(&pef, i);
        *flops += (double)node.flops;
        for (int32_t k = 0; k < node.n_out; k++)
            if (node.out[k] >= 0) *flops += (double)samba_pef_symbol_at(&pef, node.out[k]).size;
    }
    *flops *= pef.microbatches;
    return *flops <= most_flops;
}
