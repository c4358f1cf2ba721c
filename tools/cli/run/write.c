// What a run has made: as files of NumPy, JSON or the numbers alone, and printed.
#include "arrays.h"
#include "tools/cli/util/numbers.h"
#include "tools/cli/util/text.h"

typedef struct buffer {
    unsigned char *at;
    size_t size, room;
    bool lacks; // there was no memory
} buffer;

static void put(buffer *b, const void *bytes, size_t n)
{
    if (b->room - b->size < n) {
        size_t room = 2 * b->room + n;
        unsigned char *more = realloc(b->at, room);
        b->lacks = b->lacks || !more;
        if (!more) return;
        b->at = more;
        b->room = room;
    }
    memcpy(b->at + b->size, bytes, n);
    b->size += n;
}

static void put_little(buffer *b, uint64_t value, size_t size)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put(b, bytes, size);
}

// The bits of number i, whatever the order of this machine's bytes.
static uint64_t bits_at(const result *r, int64_t i)
{
    size_t size = samba_dtype_size(r->type);
    const unsigned char *at = r->data + (size_t)i * size;
    uint64_t wide;
    uint32_t word;
    uint16_t half;
    memcpy(&wide, at, size == sizeof wide ? size : 0);
    memcpy(&word, at, size == sizeof word ? size : 0);
    memcpy(&half, at, size == sizeof half ? size : 0);
    if (size == sizeof wide) return wide;
    if (size == sizeof word) return word;
    return size == sizeof half ? half : *at;
}

static void put_numbers(buffer *b, const result *r)
{
    for (int64_t i = 0; i < r->n; i++)
        put_little(b, bits_at(r, i), samba_dtype_size(r->type));
}

// ---- NumPy --------------------------------------------------------------------------------------

// Version 1.0, whose header ends at a multiple of 64 bytes.
static void put_npy(buffer *b, const result *r)
{
    static const char *const types[SAMBA_N_DTYPES]
        = { "<f4", "<f4", "<f4", "<i4", "<i2", "|i1", "|u1", "|b1", "<i8", "<u2", "<u4" };

    enum { FRONT = 10, HEADER = 256 };

    char header[HEADER], shape[128];
    print_shape(shape, sizeof shape, &r->shape);
    if (r->shape.ndim == 1) snprintf(shape, sizeof shape, "(%d,)", r->shape.dim[0]);
    int n
        = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                   types[r->type], shape);
    while ((FRONT + n + 1) % 64 != 0)
        header[n++] = ' ';
    header[n++] = '\n';
    put(b, "\x93NUMPY\x01\x00", 8);
    put_little(b, (uint64_t)n, 2);
    put(b, header, (size_t)n);
    put_numbers(b, r);
}

// What a ZIP archive says of an entry in front of it, and once more in the directory.
static void put_facts(buffer *b, const result *r, const buffer *file)
{
    enum { NO_FLAGS = 0, STORED = 0, NO_TIME = 0, FIRST_DAY = 0x21 };

    put_little(b, NO_FLAGS, 2);
    put_little(b, STORED, 2);
    put_little(b, NO_TIME, 2);
    put_little(b, FIRST_DAY, 2); // 1 January 1980, so that equal results are equal files
    put_little(b, crc32_of(file->at, file->size), 4);
    put_little(b, file->size, 4);
    put_little(b, file->size, 4);
    put_little(b, strlen(r->name) + 4, 2);
    put_little(b, 0, 2); // no extra fields
}

static void put_entry(buffer *b, buffer *directory, const result *r)
{
    enum { VERSION = 20 };

    buffer file = { NULL, 0, 0, false };
    uint64_t offset = b->size;
    put_npy(&file, r);
    put_little(b, 0x04034b50u, 4);
    put_little(b, VERSION, 2);
    put_facts(b, r, &file);
    put(b, r->name, strlen(r->name));
    put(b, ".npy", 4);
    put(b, file.at, file.size);

    put_little(directory, 0x02014b50u, 4);
    put_little(directory, VERSION, 2);
    put_little(directory, VERSION, 2);
    put_facts(directory, r, &file);
    put_little(directory, 0, 2 + 2 + 2); // no comment, disk 0, no facts about the file
    put_little(directory, 0, 4);         // nor about whom it belongs to
    put_little(directory, offset, 4);
    put(directory, r->name, strlen(r->name));
    put(directory, ".npy", 4);
    b->lacks = b->lacks || file.lacks;
    free(file.at);
}

static bool write_buffer(const char *path, buffer *b, fault *why)
{
    bool fine = !b->lacks || fail(why, "%s: no memory for what is written", path);
    fine = fine && samba_base_replace(path, b->at, b->size, why->text, sizeof why->text);
    free(b->at);
    return fine;
}

bool write_npz(const char *path, const result *list, int n, fault *why)
{
    buffer b = { NULL, 0, 0, false }, directory = { NULL, 0, 0, false };
    for (int i = 0; i < n; i++)
        put_entry(&b, &directory, &list[i]);
    uint64_t offset = b.size;
    put(&b, directory.at, directory.size);
    put_little(&b, 0x06054b50u, 4);
    put_little(&b, 0, 4); // disk 0 has all of it
    put_little(&b, (uint64_t)n, 2);
    put_little(&b, (uint64_t)n, 2);
    put_little(&b, directory.size, 4);
    put_little(&b, offset, 4);
    put_little(&b, 0, 2); // no comment

    b.lacks = b.lacks || directory.lacks;
    free(directory.at);
    if (b.size > 0xfffffffeu && !b.lacks) {
        free(b.at);
        return fail(why, "%s: it would have 4 GB or more: write each output as a .npy file", path);
    }
    return write_buffer(path, &b, why);
}

bool write_result(const char *path, const result *r, fault *why)
{
    buffer b = { NULL, 0, 0, false };
    if (kind_of_file(path) == FILE_NPY)
        put_npy(&b, r);
    else
        put_numbers(&b, r);
    return write_buffer(path, &b, why);
}

// ---- JSON and text ------------------------------------------------------------------------------

// As many digits as tell a f32 from all others; NaN and infinities as Python's json has them.
static void print_number(FILE *to, const result *r, int64_t i)
{
    uint64_t bits = bits_at(r, i);
    uint32_t word = (uint32_t)bits;
    float x;
    memcpy(&x, &word, sizeof x);
    if (r->type == SAMBA_BOOL)
        fputs(bits ? "true" : "false", to);
    else if (r->type == SAMBA_I64)
        fprintf(to, "%" PRId64, (int64_t)bits);
    else if (r->type == SAMBA_I32)
        fprintf(to, "%" PRId32, (int32_t)word);
    else if (r->type == SAMBA_I16)
        fprintf(to, "%d", (int16_t)word);
    else if (r->type == SAMBA_I8)
        fprintf(to, "%d", (int8_t)word);
    else if (is_integer(r->type))
        fprintf(to, "%" PRIu64, bits);
    else if (isnan(x))
        fputs("NaN", to);
    else if (isinf(x))
        fputs(x > 0 ? "Infinity" : "-Infinity", to);
    else
        samba_base_print(to, "%.9g", (double)x);
}

// Nested lists, of which each level has at most `most` elements; the rest is "...".
static void print_list(FILE *to, const result *r, int32_t level, int64_t first, int32_t most)
{
    if (level == r->shape.ndim) {
        print_number(to, r, first);
        return;
    }
    int64_t inner = 1;
    for (int32_t d = level + 1; d < r->shape.ndim; d++)
        inner *= r->shape.dim[d];

    fputc('[', to);
    for (int32_t i = 0; i < r->shape.dim[level]; i++) {
        if (i) fputs(", ", to);
        if (i == most) {
            fputs("...", to);
            break;
        }
        print_list(to, r, level + 1, first + i * inner, most);
    }
    fputc(']', to);
}

void print_json(FILE *to, const result *list, int n)
{
    fputc('{', to);
    for (int i = 0; i < n; i++) {
        if (i) fputs(",\n ", to);
        write_json_text(to, list[i].name);
        fputs(": ", to);
        print_list(to, &list[i], 0, 0, INT32_MAX);
    }
    fputs("}\n", to);
}

void print_result(FILE *to, const result *r)
{
    enum { FEW = 1000, SHOWN = 8 };

    char shape[128];
    print_shape(shape, sizeof shape, &r->shape);
    fprintf(to, "%s %s %s\n", shown(r->name), samba_dtype_name(r->type), shape);
    print_list(to, r, 0, 0, r->n > FEW ? SHOWN : INT32_MAX);
    fputc('\n', to);
}

bool write_json(const char *path, const result *list, int n, fault *why)
{
    samba_base_output out;
    if (!begin_output(&out, path, why)) return false;
    print_json(out.file, list, n);
    return end_output(&out, true, why);
}
