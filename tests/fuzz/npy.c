// Arrays of NumPy as the glass box reads them.
#include "fuzz.h"
#include "tools/cli/util/npy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = { "'descr'",
                                     "'fortran_order'",
                                     "'shape'",
                                     "'<f4'",
                                     "'<f8'",
                                     "'|u1'",
                                     "'|b1'",
                                     "'<i8'",
                                     "'>f4'",
                                     "False",
                                     "True",
                                     "(2,)",
                                     "()",
                                     "(2, 3)",
                                     "{'descr': '<f4', 'fortran_order': False, 'shape': (",
                                     NULL };

static void one(const uint8_t *data, size_t size)
{
    npy a;
    fault why = { "" };
    const char *path = fuzz_write("a.npy", data, size);
    if (!read_npy(&a, path, &why)) {
        fuzz_check_text(why.text, sizeof why.text, "read_npy");
        if (a.values) fuzz_fail("refused, with values");
        return;
    }
    int64_t n = 1;
    double sum = 0;
    for (int32_t d = 0; d < a.shape.ndim; d++)
        n *= a.shape.dim[d];
    if (n != a.n || a.shape.ndim > SAMBA_MAX_DIMS) fuzz_fail("%lld numbers", (long long)a.n);
    for (int64_t i = 0; i < a.n; i++)
        sum += a.values[i];
    (void)sum;
    free_npy(&a);
}

// Behind a mutation the length of the header is often right, and the data as long as it says.
static size_t mutate(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    fuzz_random r = fuzz_random_from(seed);
    if (size < 12 || fuzz_chance(&r, 6)) return LLVMFuzzerMutate(data, size, most);

    size_t wide = data[6] >= 2 ? 4 : 2, begin = 8 + wide;
    uint64_t length = fuzz_get(data + 8, (int)wide);
    if (length > size - begin) length = size - begin;
    fuzz_bytes b = { NULL, 0, 0 };
    uint8_t *room = malloc(most);
    if (!room) return size;
    memcpy(room, data + begin, (size_t)length);
    size_t n = fuzz_mutate_text(room, (size_t)length, most / 2, fuzz_below(&r, ~0u));
    fuzz_put(&b, data, size);
    fuzz_replace(&b, begin, (size_t)length, room, n);
    free(room);
    fuzz_set(b.at + 8, fuzz_chance(&r, 16) ? fuzz_number(&r, n, 8 * (int)wide) : n, (int)wide);
    if (fuzz_chance(&r, 3)) {
        static const uint8_t zeros[64];
        size_t more = fuzz_below(&r, 25);
        if (fuzz_chance(&r, 2))
            fuzz_put(&b, zeros, more);
        else if (b.size > begin + n + more)
            b.size -= more;
    }
    if (b.size > most) b.size = most;
    memcpy(data, b.at, b.size);
    size = b.size;
    fuzz_free(&b);
    return size;
}

static void put_array(fuzz_bytes *b, int version, const char *header, size_t n_data)
{
    size_t wide = version >= 2 ? 4 : 2;
    uint8_t head[12] = { 0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)version, 0 };
    fuzz_set(head + 8, strlen(header), (int)wide);
    fuzz_put(b, head, 8 + wide);
    fuzz_put_text(b, header);
    for (size_t i = 0; i < n_data; i++)
        fuzz_put(b, "\x01", 1);
}

static void seeds(void)
{
    static const struct {
        const char *type, *shape;
        int version;
        size_t n;
    } list[] = { { "<f4", "(2, 3)", 1, 24 },
                 { "<f8", "()", 1, 8 },
                 { "<i8", "(2,)", 2, 16 },
                 { "|b1", "(1, 5)", 3, 5 },
                 { "<u2", "(3,)", 1, 6 } };

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char header[200], name[20];
        fuzz_bytes b = { NULL, 0, 0 };
        snprintf(header, sizeof header,
                 "{'descr': '%s', 'fortran_order': False, 'shape': %s, }   \n", list[i].type,
                 list[i].shape);
        put_array(&b, list[i].version, header, list[i].n);
        snprintf(name, sizeof name, "array%d", (int)i);
        fuzz_seed(name, b.at, b.size);
        fuzz_free(&b);
    }
}

static bool large(size_t size, int kind)
{
    static const char *const titles[] = { "much data", "a long header", "a long shape" };
    fuzz_bytes b = { NULL, 0, 0 }, header = { NULL, 0, 0 };
    if (kind >= 3) return false;
    fuzz_put_text(&header, "{'descr': '|u1', 'fortran_order': False, 'shape': (");
    if (kind == 0) fuzz_print(&header, "%zu,)}\n", size);
    while (kind > 0 && header.size < size)
        fuzz_put_text(&header, kind == 1 ? "        " : "1, 1, 1,");
    fuzz_put(&header, "", 1);
    put_array(&b, kind == 0 ? 1 : 2, (const char *)header.at, kind == 0 ? size : 1);
    fuzz_large(titles[kind], b.at, b.size);
    fuzz_free(&b);
    fuzz_free(&header);
    return true;
}

const fuzz_target fuzz_target_here = {
    .name = "npy",
    .limits = { .seconds = 0.1, .seconds_per_mb = 3, .heap = 65536, .heap_per_byte = 10 },
    .words = words,
    .one = one,
    .mutate = mutate,
    .seeds = seeds,
    .large = large,
    .most = 2048,
};
