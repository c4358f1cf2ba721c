// Images and labels in IDX files, plain or gzipped: parts images and labels, or images.gz ...
#include "samba.h"
#define SAMBA_IDX_IMPLEMENTATION
#include "tools/include/samba/idx.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4, CLASSES = 10 };

static samba_session *session; // keeps the errors

static const char *file_of(const char *part)
{
    static const char *const names[][2] = { { "images", "train-images-idx3-ubyte" },
                                            { "images.gz", "train-images-idx3-ubyte.gz" },
                                            { "labels", "train-labels-idx1-ubyte" },
                                            { "labels.gz", "train-labels-idx1-ubyte.gz" } };
    for (int i = 0; i < 4; i++)
        if (strcmp(part, names[i][0]) == 0) return names[i][1];
    return NULL;
}

static void one(const uint8_t *data, size_t size)
{
    fuzz_part part[4];
    samba_idx idx;
    if (!session) session = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    memset(&idx, 0, sizeof idx);

    int n = fuzz_parts(data, size, part, 4);
    for (int i = 0; i < n; i++) {
        const char *name = file_of(part[i].name);
        if (name) fuzz_write(name, part[i].at, part[i].size);
    }
    char folder[300];
    strcpy(folder, fuzz_path(""));
    if (samba_idx_open(session, &idx, folder, "train", SIDE, CLASSES)) {
        float image[SIDE * SIDE];
        int32_t label;
        void *row[2] = { image, &label };
        for (int32_t i = 0; i < idx.n; i++) {
            samba_idx_fill(&idx, i, row);
            if (label < 0 || label >= CLASSES) fuzz_fail("label %d", (int)label);
        }
        samba_idx_close(&idx);
    } else {
        fuzz_check_text(samba_error(session), 2000, "samba_idx_open");
        if (idx.image || idx.label) fuzz_fail("refused, with something to close");
        samba_clear_error(session);
    }
}

// The count of a file often fits the bytes behind it; sometimes it is gzipped, or no longer.
static size_t mutate_file(const char *name, uint8_t *data, size_t size, size_t most, unsigned seed)
{
    fuzz_random r = fuzz_random_from(seed);
    size_t head = strcmp(name, "images") == 0 ? 16 : 8, item = head == 16 ? SIDE * SIDE : 1;
    size = LLVMFuzzerMutate(data, size, most);
    if (strchr(name, '.') || size < head || fuzz_chance(&r, 3)) return size;
    size_t n = (size - head) / item;
    data[4] = data[5] = 0;
    data[6] = (uint8_t)(n >> 8);
    data[7] = (uint8_t)n;
    return head + n * item;
}

static size_t mutate(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate_parts(data, size, most, seed, mutate_file);
}

// ---- Seeds, large inputs ------------------------------------------------------------------------

static void put_number(fuzz_bytes *b, size_t n)
{
    uint8_t bytes[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };
    fuzz_put(b, bytes, 4);
}

static void put_images(fuzz_bytes *b, size_t n)
{
    put_number(b, 0x803);
    put_number(b, n);
    put_number(b, SIDE);
    put_number(b, SIDE);
    for (size_t i = 0; i < n; i++)
        fuzz_put(b, "abcdefghijklmnop", SIDE * SIDE);
}

static void put_labels(fuzz_bytes *b, size_t n)
{
    put_number(b, 0x801);
    put_number(b, n);
    for (size_t i = 0; i < n; i++)
        fuzz_put(b, "\x07", 1);
}

static void gzip(fuzz_bytes *b)
{
    size_t size;
    const char *path = fuzz_path("seed.gz");
    fuzz_allow("seed.gz");
    gzFile f = gzopen(path, "wb");
    if (!f) fuzz_fail("%s cannot be written", path);
    gzwrite(f, b->at, (unsigned)b->size);
    gzclose(f);
    uint8_t *bytes = fuzz_file(path, &size);
    b->size = 0;
    fuzz_put(b, bytes, size);
    free(bytes);
}

static void put_data(fuzz_bytes *to, size_t n, bool zipped)
{
    fuzz_bytes images = { NULL, 0, 0 }, labels = { NULL, 0, 0 };
    put_images(&images, n);
    put_labels(&labels, n);
    if (zipped) {
        gzip(&images);
        gzip(&labels);
    }
    fuzz_put_part(to, zipped ? "images.gz" : "images", images.at, images.size);
    fuzz_put_part(to, zipped ? "labels.gz" : "labels", labels.at, labels.size);
    fuzz_free(&images);
    fuzz_free(&labels);
}

static void seeds(void)
{
    for (int zipped = 0; zipped < 2; zipped++) {
        fuzz_bytes b = { NULL, 0, 0 };
        put_data(&b, 3, zipped);
        fuzz_seed(zipped ? "zipped" : "plain", b.at, b.size);
        fuzz_free(&b);
    }
}

static bool large(size_t size, int kind)
{
    fuzz_bytes b = { NULL, 0, 0 };
    if (kind >= 2) return false;
    put_data(&b, size / (SIDE * SIDE + 1), kind == 1);
    fuzz_large(kind == 0 ? "images" : "gzipped images", b.at, b.size);
    fuzz_free(&b);
    return true;
}

const fuzz_target fuzz_target_here = {
    .name = "idx",
    // A byte of gzip stands for a thousand at most; zlib has buffers of its own.
    .limits = { .seconds = 0.2, .seconds_per_mb = 5, .heap = 1 << 18, .heap_per_byte = 3100 },
    .one = one,
    .mutate = mutate,
    .seeds = seeds,
    .large = large,
    .most = 2048,
};
