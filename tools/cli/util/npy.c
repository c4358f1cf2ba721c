// Arrays of NumPy. The format: https://numpy.org/neps/nep-0001-npy-format.html
#include "npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name; // in the header, little-endian
    size_t size;
} types[] = { { "<f4", 4 }, { "<f8", 8 }, { "<i4", 4 }, { "<i8", 8 }, { "|u1", 1 },
              { "|b1", 1 }, { "<i2", 2 }, { "|i1", 1 }, { "<u2", 2 }, { "<u4", 4 } };

enum { F32, F64, I32, I64, U8, BOOL, I16, I8, U16, U32, N_TYPES };

// The bytes of a number in the file, whatever the order of this machine's.
static uint64_t little(const unsigned char *at, size_t size)
{
    uint64_t bits = 0;
    for (size_t i = size; i-- > 0;)
        bits = bits << 8 | at[i];
    return bits;
}

static double number_at(const unsigned char *at, int type)
{
    uint64_t bits = little(at, types[type].size);
    uint32_t low = (uint32_t)bits;
    float single;
    double number;
    switch (type) {
    case F32:
        memcpy(&single, &low, sizeof single);
        return single;
    case F64:
        memcpy(&number, &bits, sizeof number);
        return number;
    case I32:
        return (int32_t)low;
    case I64:
        return (double)(int64_t)bits;
    case I16:
        return (int16_t)low;
    case I8:
        return (int8_t)low;
    default:
        return (double)bits;
    }
}

// What stands behind 'key': in the dictionary of the header; NULL: nothing does.
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at = strchr(at + strlen(key), ':');
    if (!at) return NULL;
    at++;
    while (*at == ' ')
        at++;
    return at;
}

// "(2, 3)", "(5,)" or "()".
static bool read_shape(npy *a, const char *text)
{
    a->shape.ndim = 0;
    a->n = 1;
    if (!text || *text++ != '(') return false;
    while (*text != ')') {
        char *end;
        if (*text < '0' || *text > '9' || a->shape.ndim == SAMBA_MAX_DIMS) return false;
        long long dim = strtoll(text, &end, 10);
        if (dim < 1 || dim > INT32_MAX || a->n > (1LL << 40) / dim) return false;
        a->shape.dim[a->shape.ndim++] = (int32_t)dim;
        a->n *= dim;
        text = end + strspn(end, ", ");
    }
    return true;
}

static bool read_header(npy *a, const char *header, int *type, fault *why)
{
    const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
    char shown[64] = "missing"; // what it says, in letters that a terminal may have
    if (descr) snprintf(shown, sizeof shown, "%.*s", (int)strcspn(descr, ",}"), descr);
    for (char *c = shown; *c; c++)
        if (*c < 32 || *c > 126) *c = '?';
    bool quoted = descr && (*descr == '\'' || *descr == '"'); // or it may be the header's end
    for (*type = 0; quoted && *type < N_TYPES; ++*type)
        if (strncmp(descr + 1, types[*type].name, 3) == 0) break;
    if (!quoted || *type == N_TYPES)
        return fail(why,
                    "its type is %s; read are f4, f8, i1, i2, i4, i8, u1, u2, u4 and b1, "
                    "little-endian: convert it with a.astype('<f4')",
                    shown);
    if (!order || strncmp(order, "False", 5) != 0)
        return fail(why, "it is in Fortran order; write it with numpy.ascontiguousarray(a)");
    if (!read_shape(a, value_of(header, "'shape'")))
        return fail(why, "its shape cannot be read: up to %d dimensions of 1 and more are",
                    SAMBA_MAX_DIMS);
    return true;
}

// The header is a text of its own, so that it ends with zero.
bool parse_npy(npy *a, const unsigned char *bytes, size_t size, fault *why)
{
    int type;
    if (size < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return fail(why, "it is no .npy file: it does not begin with \\x93NUMPY");
    size_t wide = bytes[6] >= 2 ? 4 : 2, begin = 8 + wide;
    uint64_t length = little(bytes + 8, wide);
    if (bytes[6] < 1 || bytes[6] > 3 || length > size - begin)
        return fail(why, "its header is damaged: version %d, %llu bytes of header in a file of %zu",
                    bytes[6], (unsigned long long)length, size);
    char *header = calloc((size_t)length + 1, 1);
    if (!header) return fail(why, "no memory for its header");
    memcpy(header, bytes + begin, (size_t)length);
    bool fine = read_header(a, header, &type, why);
    free(header);
    if (!fine) return false;
    size_t left = size - begin - (size_t)length, each = types[type].size;
    if ((uint64_t)a->n != left / each || left % each)
        return fail(why, "its shape says %lld numbers of %zu bytes, but %zu bytes follow",
                    (long long)a->n, each, left);
    a->values = malloc((size_t)a->n * sizeof *a->values);
    if (!a->values) return fail(why, "no memory for its %lld numbers", (long long)a->n);
    const unsigned char *data = bytes + begin + length;
    for (int64_t i = 0; i < a->n; i++) {
        a->values[i] = number_at(data + (size_t)i * each, type);
        if (type == I64 && fabs(a->values[i]) > 0x1p53)
            return fail(why, "number %lld is about %.17g: integers are read up to 2^53",
                        (long long)i, a->values[i]);
    }
    return true;
}

void free_npy(npy *a)
{
    free(a->values);
    a->values = NULL;
}

bool read_npy(npy *a, const char *path, fault *why)
{
    fault reason = { "" };
    size_t size;
    memset(a, 0, sizeof *a);
    char *bytes = read_file(path, &size, why);
    if (!bytes) return false;
    bool fine = parse_npy(a, (const unsigned char *)bytes, size, &reason);
    free(bytes);
    if (!fine) free_npy(a);
    return fine || fail(why, "%s: %s", path, reason.text);
}
