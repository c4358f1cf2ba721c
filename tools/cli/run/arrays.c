// Arrays in files: which kind a file is, lists of arrays, and raw numbers.
#include "arrays.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

file_kind kind_of_file(const char *path)
{
    static const struct {
        const char *end;
        file_kind kind;
    } kinds[] = { { ".npy", FILE_NPY },
                  { ".npz", FILE_NPZ },
                  { ".json", FILE_JSON },
                  { ".raw", FILE_RAW },
                  { ".bin", FILE_RAW } };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ends_with(path, kinds[i].end)) return kinds[i].kind;
    return FILE_UNKNOWN;
}

// ---- Lists --------------------------------------------------------------------------------------

bool add_array(arrays *list, const char *name, size_t length, npy *array, fault *why)
{
    bool fine = length < ARRAY_NAME
        || fail(why, "a name in it has %zu bytes; %d are read", length, ARRAY_NAME - 1);
    named_array *more = NULL;
    if (fine) more = realloc(list->at, ((size_t)list->n + 1) * sizeof *more);
    if (fine && !more) fail(why, "no memory for its arrays");
    if (more) list->at = more;

    if (!more) {
        free_npy(array);
        return false;
    }
    named_array *last = &list->at[list->n++];
    memcpy(last->name, name, length);
    last->name[length] = 0;
    last->array = *array;
    return true;
}

void free_arrays(arrays *list)
{
    for (int i = 0; i < list->n; i++)
        free_npy(&list->at[i].array);
    free(list->at);
    memset(list, 0, sizeof *list);
}

bool read_arrays(arrays *list, const char *path, fault *why)
{
    fault reason = { "" };
    size_t size;
    npy one;
    memset(list, 0, sizeof *list);
    memset(&one, 0, sizeof one);
    char *bytes = read_file(path, &size, why);
    if (!bytes) return false;

    bool fine = false;
    file_kind kind = kind_of_file(path);
    if (kind == FILE_NPZ)
        fine = parse_npz(list, (const unsigned char *)bytes, size, &reason);
    else if (kind == FILE_JSON)
        fine = parse_json(list, bytes, size, &reason);
    else if (parse_npy(&one, (const unsigned char *)bytes, size, &reason))
        fine = add_array(list, "", 0, &one, &reason);
    else
        free_npy(&one);
    free(bytes);

    if (!fine) free_arrays(list);
    return fine || fail(why, "%s: %s", path, reason.text);
}

// ---- Raw numbers --------------------------------------------------------------------------------

// IEEE 754's binary16: 5 bits of exponent, 10 of the fraction.
static double number_of_half(uint32_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double fraction = bits & 1023, value;
    if (exponent == 31)
        value = fraction > 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static double number_of_single(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double number_of_bits(uint64_t bits, samba_dtype type)
{
    uint32_t low = (uint32_t)bits;
    switch (type) {
    case SAMBA_F32:
        return number_of_single(low);
    case SAMBA_BF16:
        return number_of_single(low << 16);
    case SAMBA_F16:
        return number_of_half(low);
    case SAMBA_I32:
        return (int32_t)low;
    case SAMBA_I16:
        return (int16_t)low;
    case SAMBA_I8:
        return (int8_t)low;
    case SAMBA_I64:
        return (double)(int64_t)bits;
    default:
        return (double)bits;
    }
}

static bool decode_raw(npy *array, const char *bytes, samba_dtype type, fault *why)
{
    size_t each = samba_dtype_size(type);
    array->values = malloc((size_t)array->n * sizeof *array->values);
    if (!array->values) return fail(why, "no memory for its %lld numbers", (long long)array->n);

    for (int64_t i = 0; i < array->n; i++) {
        uint64_t bits = 0;
        for (size_t k = each; k-- > 0;)
            bits = bits << 8 | (unsigned char)bytes[(size_t)i * each + k];
        array->values[i] = number_of_bits(bits, type);
        if (type == SAMBA_I64 && fabs(array->values[i]) > 0x1p53)
            return fail(why, "number %lld is about %.17g: integers are read up to 2^53",
                        (long long)i, array->values[i]);
    }
    return true;
}

bool read_raw(npy *array, const char *path, samba_dtype type, const samba_shape *shape, fault *why)
{
    fault reason = { "" };
    size_t size;
    memset(array, 0, sizeof *array);
    char *bytes = read_file(path, &size, why);
    if (!bytes) return false;

    array->shape = *shape;
    int64_t n = samba_count(shape), rows = shape->ndim ? shape->dim[0] : 1;
    size_t row = (size_t)(n / rows) * samba_dtype_size(type);
    bool fine = size > 0 && size % row == 0 && size / row <= INT32_MAX
        && (shape->ndim > 0 || size == row);
    if (!fine)
        fail(&reason, "it has %zu bytes; a row of the input takes %zu, all of it %zu", size, row,
             row * (size_t)rows);
    if (fine && shape->ndim) array->shape.dim[0] = (int32_t)(size / row);
    array->n = samba_count(&array->shape);
    fine = fine && decode_raw(array, bytes, type, &reason);
    free(bytes);
    if (!fine) free_npy(array);
    return fine || fail(why, "%s: %s", path, reason.text);
}
