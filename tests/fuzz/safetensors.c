// .safetensors files: shards a and b, and an index. What is accepted has tensors that lie within
// the file and do not overlap; every one can be asked for.
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#include "tools/include/samba/safetensors.h"
#include "fuzz.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[]
    = { "\"dtype\"",
        "\"shape\"",
        "\"data_offsets\"",
        "\"__metadata__\"",
        "\"F32\"",
        "\"F16\"",
        "\"BF16\"",
        "\"F64\"",
        "\"I64\"",
        "\"U8\"",
        "\"BOOL\"",
        "\"F4\"",
        "\"F6_E2M3\"",
        "\"C64\"",
        "\"format\":\"pt\"",
        "\"weight_map\"",
        "\"a.safetensors\"",
        "\"metadata\"",
        "\"total_size\"",
        "\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}",
        "[0,0]",
        "[1,1,1,1,1,1,1,1,1]",
        NULL };

// ---- Reading ------------------------------------------------------------------------------------

static void read_tensor(const samba_safetensors *f, const samba_safetensors_tensor *t)
{
    char why[400] = "", text[200];
    float out[64];
    uint64_t n = t->count < 64 ? t->count : 64, last = t->count - n;
    samba_safetensors_dtype_name(t->dtype);
    samba_safetensors_shape_text(t->ndim, t->dim, text, sizeof text);

    if (!samba_safetensors_read_f32(f, t, 0, n, out, why, sizeof why)
        || !samba_safetensors_read_f32(f, t, last, n, out, why, sizeof why))
        fuzz_check_text(why, sizeof why, "samba_safetensors_read_f32");
    if (samba_safetensors_read_f32(f, t, last, n + 1, out, why, sizeof why))
        fuzz_fail("more elements are read than there are");
}

static void read_all(const samba_safetensors *f)
{
    const char *key, *value;
    size_t sum = 0;
    for (size_t i = 0; i < samba_safetensors_count(f); i++) {
        const samba_safetensors_tensor *t = samba_safetensors_at(f, i);
        if (!t || samba_safetensors_find(f, t->name) != t)
            fuzz_fail("tensor %zu is not found by its name", i);
        if (i < 64) read_tensor(f, t);
    }
    if (samba_safetensors_at(f, samba_safetensors_count(f))) fuzz_fail("there is one tensor more");
    for (size_t i = 0; samba_safetensors_metadata(f, i, &key, &value); i++)
        sum += strlen(key) + strlen(value);
    (void)sum;
}

static void one(const uint8_t *data, size_t size)
{
    enum { MOST = 4 };

    fuzz_part part[MOST];
    const char *paths[MOST], *index = NULL;
    char path[MOST][300], why[400] = "";
    size_t n_paths = 0;
    int n = fuzz_parts(data, size, part, MOST);

    for (int i = 0; i < n; i++) {
        bool is_index = strcmp(part[i].name, "index") == 0;
        char name[40];
        snprintf(name, sizeof name, is_index ? "index%d.json" : "%c.safetensors", 'a' + i);
        if (is_index) snprintf(name, sizeof name, "index%d.json", i);
        snprintf(path[i], sizeof path[i], "%s", fuzz_write(name, part[i].at, part[i].size));
        if (is_index)
            index = path[i];
        else
            paths[n_paths++] = path[i];
    }
    samba_safetensors *f = n_paths ? samba_safetensors_open(paths, n_paths, why, sizeof why) : NULL;
    if (f) {
        read_all(f);
        if (index && !samba_safetensors_check_index(f, index, why, sizeof why))
            fuzz_check_text(why, sizeof why, "samba_safetensors_check_index");
    } else if (n_paths) {
        fuzz_check_text(why, sizeof why, "samba_safetensors_open");
    }
    samba_safetensors_close(f);
}

// ---- Mutating -----------------------------------------------------------------------------------

// The number of bits of the type whose name is at text.
static uint64_t bits_of(const char *text)
{
#define X(name, bits) \
    if (strncmp(text, #name "\"", sizeof #name) == 0) return bits;
    SAMBA_SAFETENSORS__DTYPES(X)
#undef X
    return 8;
}

// The places of tensors follow each other, as their types and shapes say. Returns bytes of all.
static uint64_t lay_out(fuzz_bytes *header)
{
    static const char dtype[] = "\"dtype\":\"", shape[] = "\"shape\":[",
                      places[] = "\"data_offsets\":[";
    uint64_t end = 0, bits = 32;
    for (size_t at = 0; at + sizeof places < header->size; at++) {
        const char *text = (const char *)header->at + at;
        size_t left = header->size - at;
        if (memcmp(text, dtype, sizeof dtype - 1) == 0 && left > sizeof dtype + 16)
            bits = bits_of(text + sizeof dtype - 1);
        if (memcmp(text, shape, sizeof shape - 1) == 0) {
            for (size_t k = sizeof shape - 1; k < left && isdigit((unsigned char)text[k]); k++) {
                uint64_t dim = strtoull(text + k, NULL, 10);
                bits *= dim;
                while (k < left && isdigit((unsigned char)text[k]))
                    k++;
                if (k < left && text[k] != ',') break;
            }
        }
        if (memcmp(text, places, sizeof places - 1) != 0) continue;
        char range[60];
        size_t length = sizeof places - 1;
        while (length < left && text[length] != ']')
            length++;
        snprintf(range, sizeof range, "\"data_offsets\":[%llu,%llu", (unsigned long long)end,
                 (unsigned long long)(end + bits / 8));
        end += bits / 8;
        bits = 32;
        fuzz_replace(header, at, length, range, strlen(range));
    }
    return end;
}

// The header is mutated as text; then its length, and often its places and the data, fit again.
static size_t mutate_file(const char *name, uint8_t *data, size_t size, size_t most, unsigned seed)
{
    fuzz_random r = fuzz_random_from(seed);
    uint64_t length = size >= 8 ? fuzz_get(data, 8) : 0;
    if (strcmp(name, "index") == 0) return fuzz_mutate_text(data, size, most, seed);
    if (size < 8 || length > size - 8 || fuzz_chance(&r, 12))
        return LLVMFuzzerMutate(data, size, most);

    fuzz_bytes header = { NULL, 0, 0 }, rest = { NULL, 0, 0 };
    uint8_t *room = malloc(most + 8);
    if (!room) return size;
    memcpy(room, data + 8, (size_t)length);
    fuzz_put(&rest, data + 8 + length, size - 8 - (size_t)length);
    size_t n = fuzz_mutate_text(room, (size_t)length, most / 2, fuzz_below(&r, ~0u));
    fuzz_put(&header, room, n);
    fuzz_put(&header, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16); // strtoull may look ahead
    header.size -= 16;
    free(room);

    uint64_t end = fuzz_chance(&r, 3) ? rest.size : lay_out(&header);
    while (rest.size < end && rest.size < most / 2)
        fuzz_put(&rest, "\0\0\x80\x3F\xFF\x7F\x01\x80", 8);
    if (end < rest.size) rest.size = (size_t)end;

    uint8_t prefix[8];
    fuzz_set(prefix, fuzz_chance(&r, 20) ? fuzz_number(&r, header.size, 64) : header.size, 8);
    fuzz_replace(&header, 0, 0, prefix, 8);
    fuzz_put(&header, rest.at, rest.size);
    if (header.size > most) header.size = most;
    memcpy(data, header.at, header.size);
    n = header.size;
    fuzz_free(&header);
    fuzz_free(&rest);
    return n;
}

static size_t mutate(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate_parts(data, size, most, seed, mutate_file);
}

// ---- Seeds, large inputs ------------------------------------------------------------------------

static void put_file(fuzz_bytes *b, const char *name, const char *header, size_t n_data)
{
    fuzz_bytes file = { NULL, 0, 0 };
    uint8_t length[8];
    fuzz_set(length, strlen(header), 8);
    fuzz_put(&file, length, 8);
    fuzz_put_text(&file, header);
    while (n_data-- > 0)
        fuzz_put(&file, "\x01", 1);
    fuzz_put_part(b, name, file.at, file.size);
    fuzz_free(&file);
}

static void seeds(void)
{
    static const char *const index
        = "{\"metadata\":{\"total_size\":36},\"weight_map\":{\"w\":\"a.safetensors\","
          "\"b\":\"a.safetensors\",\"h\":\"b.safetensors\",\"s\":\"b.safetensors\"}}";
    fuzz_bytes b = { NULL, 0, 0 };
    put_file(&b, "a",
             "{\"__metadata__\":{\"format\":\"pt\"},"
             "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
             "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]}}  ",
             32);
    fuzz_seed("one", b.at, b.size);
    put_file(&b, "b",
             "{\"h\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[0,2]},"
             "\"s\":{\"dtype\":\"I64\",\"shape\":[0,5],\"data_offsets\":[2,2]}}",
             2);
    fuzz_put_part(&b, "index", index, strlen(index));
    fuzz_seed("shards", b.at, b.size);
    fuzz_free(&b);
}

// Headers with many small things in them.
static bool large(size_t size, int kind)
{
    static const char *const titles[] = { "many tensors", "much metadata", "a long name",
                                          "equal names",  "much data",     "open brackets" };
    fuzz_bytes header = { NULL, 0, 0 }, file = { NULL, 0, 0 };
    if (kind >= (int)(sizeof titles / sizeof *titles)) return false;
    fuzz_put_text(&header, kind == 1 ? "{\"__metadata__\":{\"format\":\"pt\"" : "{\"n\":");
    if (kind != 1)
        fuzz_put_text(&header, "{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}");
    if (kind == 2) fuzz_put_text(&header, ",\"");
    for (unsigned i = 0; kind != 4 && header.size < size; i++) {
        if (kind == 1) fuzz_print(&header, ",\"key%u\":\"value\"", i);
        if (kind == 2) fuzz_put_text(&header, "nnnnnnnnnnnnnnnn");
        if (kind == 5) fuzz_put_text(&header, i ? "[" : ",\"x\":");
        if (kind == 0 || kind == 3)
            fuzz_print(&header,
                       ",\"name%u\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                       kind == 0 ? i * 2654435761u : 7);
    }
    if (kind == 2)
        fuzz_put_text(&header, "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}");
    if (kind == 4)
        fuzz_print(&header,
                   ",\"d\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":"
                   "[0,%zu]}",
                   size, size);
    fuzz_put(&header, kind == 1 ? "}}" : "}", kind == 1 ? 3 : 2);
    put_file(&file, "a", (const char *)header.at, kind == 4 ? size : 0);
    fuzz_large(titles[kind], file.at, file.size);
    fuzz_free(&header);
    fuzz_free(&file);
    return true;
}

const fuzz_target fuzz_target_here = {
    .name = "safetensors",
    .limits = { .seconds = 0.2, .seconds_per_mb = 10, .heap = 65536 + 8192, .heap_per_byte = 40 },
    .words = words,
    .one = one,
    .mutate = mutate,
    .seeds = seeds,
    .large = large,
    .most = 8192,
};
