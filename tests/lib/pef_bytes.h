// A PEF as bytes: where its records have which number, its checksums, and small files that are made
// from nothing. The offsets are numbers here on purpose, so that tests do not read a file with the
// tables of samba.h that they test. Include after samba.h and tests/lib/test.h.
#ifndef PEF_BYTES_H
#define PEF_BYTES_H

#include <stdlib.h>
#include <string.h>

enum { HEADER = 128, SYMBOL = 80, NODE = 32, SECTION = 16 }; // bytes of a record

typedef struct bytes {
    uint8_t *at;
    size_t size;
} bytes;

// XXH64, from its specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md)

static inline uint32_t read32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t read64(const uint8_t *p)
{
    return read32(p) | (uint64_t)read32(p + 4) << 32;
}

static inline uint64_t rotate(uint64_t v, int n)
{
    return v << n | v >> (64 - n);
}

static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu, P3 = 0x165667B19E3779F9u,
                      P4 = 0x85EBCA77C2B2AE63u, P5 = 0x27D4EB2F165667C5u;

static inline uint64_t xxh_round(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * P2, 31) * P1;
}

static inline uint64_t xxh64(const uint8_t *p, size_t n, uint64_t seed)
{
    const uint8_t *end = p + n;
    uint64_t h = seed + P5;
    if (n >= 32) {
        uint64_t lane[4];
        lane[0] = seed + P1 + P2;
        lane[1] = seed + P2;
        lane[2] = seed;
        lane[3] = seed - P1;
        for (; end - p >= 32; p += 32) {
            for (int i = 0; i < 4; i++)
                lane[i] = xxh_round(lane[i], read64(p + 8 * i));
        }
        h = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
        for (int i = 0; i < 4; i++)
            h = (h ^ xxh_round(0, lane[i])) * P1 + P4;
    }
    h += n;
    for (; end - p >= 8; p += 8)
        h = rotate(h ^ xxh_round(0, read64(p)), 27) * P1 + P4;
    for (; end - p >= 4; p += 4)
        h = rotate(h ^ read32(p) * P1, 23) * P2 + P3;
    for (; end > p; p++)
        h = rotate(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}

// ---- Bytes of a PEF ----

static inline uint32_t get32(const bytes *b, size_t at)
{
    return read32(b->at + at);
}

static inline uint64_t get64(const bytes *b, size_t at)
{
    return read64(b->at + at);
}

static inline void put(bytes *b, size_t at, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        b->at[at + (size_t)i] = (uint8_t)(v >> (8 * i));
}

static inline void put32(bytes *b, size_t at, uint32_t v)
{
    put(b, at, v, 4);
}

static inline void put64(bytes *b, size_t at, uint64_t v)
{
    put(b, at, v, 8);
}

static inline void seal(bytes *b)
{
    uint64_t n_data = get64(b, 96);
    if (n_data > b->size - HEADER) n_data = 0; // a lie of another kind
    put64(b, 104, xxh64(b->at + b->size - n_data, (size_t)n_data, 0));
    put64(b, 24, xxh64(b->at + 32, b->size - 32 - (size_t)n_data, 0));
}

static inline uint32_t n_symbols(const bytes *b)
{
    return get32(b, 32);
}

static inline uint32_t n_nodes(const bytes *b)
{
    return get32(b, 36);
}

static inline uint32_t n_sections(const bytes *b)
{
    return get32(b, 40);
}

static inline uint32_t n_words(const bytes *b)
{
    return get32(b, 44);
}

static inline size_t symbol_at(uint32_t i)
{
    return HEADER + (size_t)i * SYMBOL;
}

static inline size_t node_at(const bytes *b, uint32_t i)
{
    return symbol_at(n_symbols(b)) + (size_t)i * NODE;
}

static inline size_t section_at(const bytes *b, uint32_t i)
{
    return node_at(b, n_nodes(b)) + (size_t)i * SECTION;
}

static inline size_t word_at(const bytes *b, uint32_t i)
{
    return section_at(b, n_sections(b)) + 4 * (size_t)i;
}

static inline const char *symbol_name(const bytes *b, uint32_t i)
{
    return (const char *)b->at + word_at(b, n_words(b)) + get32(b, symbol_at(i));
}

static inline size_t named_symbol(const bytes *b, const char *name)
{
    for (uint32_t i = 0; i < n_symbols(b); i++) {
        if (strcmp(symbol_name(b, i), name) == 0) return symbol_at(i);
    }
    CHECK(strcmp(name, "is a symbol") == 0);
    return HEADER;
}

// The first symbol with this role; 8: temporaries, 9: scratch.
static inline uint32_t symbol_of_role(const bytes *b, int role)
{
    for (uint32_t i = 0; i < n_symbols(b); i++) {
        if (b->at[symbol_at(i) + 4] == role) return i;
    }
    CHECK(role == 0);
    return 0;
}

static inline bytes copy_of(const bytes *b)
{
    bytes copy = { NULL, b->size };
    copy.at = (uint8_t *)malloc(b->size);
    CHECK(copy.at != NULL);
    if (copy.at) memcpy(copy.at, b->at, b->size);
    return copy;
}

// ---- Programs of few ops that no compiler would write ----

enum { STATE = 0, ARENA = 1, IO = 2 }; // regions

enum {
    NEG = 0x0120,
    ADD = 0x0101,
    ACCUMULATE = 0x0185,
    RESHAPE = 0x0601,
    CAT = 0x0605,
    GATHER = 0x0607,
    LAYER_NORM = 0x0510
}; // ops

enum { INPUT = 1, OUTPUT = 2, KEPT = 4, TEMPORARY = 8, SCRATCH = 9 }; // roles

#define FOREVER 0xFFFFFFFFu

// A PEF with so many records, all of them empty. Names are empty texts.
static inline bytes draft(uint32_t symbols, uint32_t nodes, uint32_t sections, uint32_t words,
                          uint32_t strings)
{
    size_t size = HEADER + (size_t)symbols * SYMBOL + (size_t)nodes * NODE;
    size += (size_t)sections * SECTION + 4 * (size_t)words + strings + 1;
    bytes b = { NULL, (size + 63) / 64 * 64 };
    b.at = (uint8_t *)calloc(1, b.size);
    CHECK(b.at != NULL);
    if (!b.at) return b;
    memcpy(b.at, "SAMBAPEF\2", 9);
    put64(&b, 16, b.size);
    put32(&b, 32, symbols);
    put32(&b, 36, nodes);
    put32(&b, 40, sections);
    put32(&b, 44, words);
    put32(&b, 48, strings);
    put32(&b, 52, (uint32_t)(b.size - size) + 1);
    put32(&b, 56, 1);
    return b;
}

// Symbol i: n numbers at this place, for this time; its region grows to hold it.
static inline void set_symbol(bytes *b, uint32_t i, int role, uint32_t n, uint64_t offset,
                              uint32_t first, uint32_t last)
{
    size_t at = symbol_at(i);
    int region = role >= TEMPORARY ? ARENA : role == KEPT ? STATE : IO;
    uint64_t end = (offset + 4 * (uint64_t)n + 63) / 64 * 64;
    b->at[at + 4] = (uint8_t)role;
    b->at[at + 6] = 1;
    b->at[at + 7] = (uint8_t)region;
    put32(b, at + 8, n);
    put64(b, at + 40, offset);
    put32(b, at + 56, first);
    put32(b, at + 60, last);
    if (end > get64(b, 64 + 8 * (size_t)region)) put64(b, 64 + 8 * (size_t)region, end);
}

static inline void set_lasting(bytes *b, uint32_t i, int role, uint32_t n, uint64_t offset)
{
    set_symbol(b, i, role, n, offset, 0, FOREVER);
}

static inline void set_node(bytes *b, uint32_t i, uint32_t op, int n_in, int n_out, int n_attr,
                            uint32_t first_word)
{
    size_t at = node_at(b, i);
    put32(b, at, op);
    put32(b, at + 12, first_word);
    b->at[at + 4] = (uint8_t)n_in;
    b->at[at + 5] = (uint8_t)n_out;
    b->at[at + 6] = (uint8_t)n_attr;
}

// Words from `first` on; the numbers of symbols are 1 more than their index.
static inline void set_words(bytes *b, uint32_t first, uint32_t x, uint32_t y, uint32_t z,
                             uint32_t attr)
{
    const uint32_t words[4] = { x, y, z, attr };
    for (uint32_t i = 0; i < 4 && first + i < n_words(b); i++)
        put32(b, word_at(b, first + i), words[i]);
}

static inline void set_section(bytes *b, uint32_t i, uint32_t first, uint32_t n, uint32_t graph)
{
    size_t at = section_at(b, i);
    put32(b, at, SAMBA_FWD);
    put32(b, at + 4, first);
    put32(b, at + 8, n);
    put32(b, at + 12, graph);
}

// y = -x and z = -t, where t = -x lies in the arena: what tests begin with. Symbols: t 1,
// u 2 behind it in the arena, x 3, y 4, z 5.
enum { N = 16 };

static inline bytes honest(void)
{
    bytes b = draft(5, 4, 1, 16, 1);
    if (!b.at) return b;
    set_symbol(&b, 0, TEMPORARY, N, 0, 0, 3);
    set_symbol(&b, 1, TEMPORARY, N, 64, 1, 3);
    set_lasting(&b, 2, INPUT, N, 0);
    set_lasting(&b, 3, OUTPUT, N, 64);
    set_lasting(&b, 4, OUTPUT, N, 128);
    set_node(&b, 0, NEG, 1, 1, 0, 0);
    set_words(&b, 0, 3, 1, 0, 0);
    set_node(&b, 1, NEG, 1, 1, 0, 4);
    set_words(&b, 4, 3, 2, 0, 0);
    set_node(&b, 2, NEG, 1, 1, 0, 8);
    set_words(&b, 8, 1, 4, 0, 0);
    set_node(&b, 3, ADD, 2, 1, 0, 12);
    set_words(&b, 12, 1, 2, 5, 0);
    set_section(&b, 0, 0, 4, 0);
    return b;
}

#endif
