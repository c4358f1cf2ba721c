// The fingerprint of trusted PEFs and the checksum of PEFs notice what memory and wires do to a
// file: pairs of bits that flip, lines that are stuck, words and blocks that change places, cut
// ends.
//     cc -O2 -I. tests/core/fingerprint.c -lm -pthread -o fingerprint && ./fingerprint
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"

enum { MOST = 4096, FILES = 60 };

static uint8_t file[MOST], changed[MOST];
static uint64_t state = 0x9e3779b97f4a7c15u;

static uint32_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

typedef uint64_t (*sum_fn)(const void *bytes, size_t size);

static uint64_t checksum(const void *bytes, size_t size)
{
    return samba__hash(bytes, size, 0);
}

static sum_fn sum;
static uint64_t right; // of the file
static long unseen, tried;

// What a file may hold: noise, floats around one, mostly zeros, the same word again and again.
static void fill(size_t size, int kind)
{
    uint32_t same = draw();
    for (size_t i = 0; i < size; i += 4) {
        uint32_t word = draw();
        if (kind == 1) word = 0x3f000000u | (word & 0x80ffffffu);
        if (kind == 2) word = word % 9 ? 0 : word & 0xffu;
        if (kind == 3) word = same;
        for (size_t k = 0; k < 4 && i + k < size; k++)
            file[i + k] = (uint8_t)(word >> 8 * k);
    }
    right = sum(file, size);
    memcpy(changed, file, size);
}

// Counts a change that is one, and takes it back.
static void look(size_t size)
{
    if (memcmp(file, changed, size) == 0) return;
    tried++;
    if (sum(changed, size) == right) unseen++;
    memcpy(changed, file, size);
}

static void flip(size_t word, int bit)
{
    changed[4 * word + (size_t)bit / 8] ^= (uint8_t)(1 << bit % 8);
}

// Two bits, of any two places, in words that are near each other or far apart.
static void two_flips(size_t size)
{
    size_t words = size / 4;
    for (int one = 0; one < 32; one++) {
        for (int other = 0; other < 32; other++) {
            size_t i = draw() % words, j = (i + 1 + draw() % 5) % words;
            flip(i, one);
            flip(j, other);
            look(size);
            flip(draw() % words, one);
            flip(draw() % words, other);
            look(size);
        }
    }
    for (size_t i = 0; i < words; i++) { // signs
        flip(i, 31);
        flip((i + 2) % words, 31);
        look(size);
    }
}

// A line of a bus of 8, 16 or 32 that always reads 0, or 1, from some place on.
static void stuck_lines(size_t size)
{
    for (size_t bus = 1; bus <= 4; bus *= 2) {
        for (size_t line = 0; line < 8 * bus; line++) {
            for (int from = 0; from < 4; from++) {
                uint8_t mask = (uint8_t)(1 << line % 8);
                for (size_t i = line / 8 + (size_t)from / 2 * size / 2 / 8 * 8; i < size; i += bus)
                    changed[i] = from % 2 ? changed[i] | mask : changed[i] & (uint8_t)~mask;
                look(size);
            }
        }
    }
}

static void swap(size_t a, size_t b, size_t size)
{
    for (size_t k = 0; k < size; k++) {
        uint8_t kept = changed[a + k];
        changed[a + k] = changed[b + k];
        changed[b + k] = kept;
    }
}

// Words, and blocks of a power of two, change places: wrong addresses.
static void swaps(size_t size)
{
    for (size_t block = 1; 2 * block <= size; block *= 2) {
        for (int k = 0; k < 40; k++) {
            size_t n = size / block, a = draw() % n, b = draw() % n;
            swap(a * block, b * block, a == b ? 0 : block);
            look(size);
        }
    }
    for (size_t i = 0; i + 8 <= size; i += 8)
        swap(i, i + 4, 4);
    look(size);
}

static void bursts(size_t size)
{
    for (size_t at = 0; at + 16 <= size; at += 4) {
        memset(changed + at, at % 8 ? 0 : 0xff, 16);
        look(size);
        for (int k = 0; k < 5; k++)
            changed[draw() % size] = (uint8_t)draw();
        look(size);
    }
}

// Zeros at the end that come or go.
static void cut_ends(size_t size)
{
    memset(file + size / 2, 0, size - size / 2);
    right = sum(file, size);
    for (size_t n = size / 2; n < size; n++) {
        tried++;
        if (sum(file, n) == right) unseen++;
    }
}

static void see_all(sum_fn which)
{
    unseen = tried = 0;
    sum = which;
    for (int k = 0; k < FILES; k++) {
        size_t size = k == 0 ? MOST : 64 + draw() % 700;
        fill(size, k % 4);
        two_flips(size);
        stuck_lines(size);
        swaps(size);
        bursts(size);
        cut_ends(size);
    }
    if (unseen) printf("%ld of %ld changes are not seen\n", unseen, tried);
    CHECK(unseen == 0 && tried > 100000);
}

static void test_fingerprint(void)
{
    see_all(samba__fingerprint);
}

static void test_checksum(void)
{
    see_all(checksum);
}

// The same on every machine: numbers of a firmware stay right.
static void test_known(void)
{
    static const uint8_t bytes[] = "samba.h: trusted";
    CHECK(samba__fingerprint(bytes, 0) == 0);
    CHECK(samba__fingerprint(bytes, 16) == 0xeacac9d57ab0bc30u);
    CHECK(samba__fingerprint(bytes, 13) == 0xc3d82b7952eb8e3du);
}

int main(void)
{
    RUN(test_fingerprint);
    RUN(test_checksum);
    RUN(test_known);
    return test_summary();
}
