/* model.h - of onnx_import.h: what a ModelProto says, read with suspicion. */

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TensorProto.DataType */
enum {
    OX_FLOAT = 1,
    OX_UINT8,
    OX_INT8,
    OX_UINT16,
    OX_INT16,
    OX_INT32,
    OX_INT64,
    OX_STRING,
    OX_BOOL,
    OX_FLOAT16,
    OX_DOUBLE,
    OX_UINT32,
    OX_UINT64,
    OX_COMPLEX64,
    OX_COMPLEX128,
    OX_BFLOAT16,
    OX_FLOAT8E4M3FN,
    OX_FLOAT8E4M3FNUZ,
    OX_FLOAT8E5M2,
    OX_FLOAT8E5M2FNUZ,
    OX_UINT4,
    OX_INT4,
    OX_FLOAT4E2M1,
    OX_FLOAT8E8M0,
    OX_UINT2,
    OX_INT2,
    OX_N_TYPES
};

static const char *ox_type_name(int32_t type)
{
    static const char *const name[OX_N_TYPES]
        = { "undefined",      "float",    "uint8",        "int8",           "uint16",
            "int16",          "int32",    "int64",        "string",         "bool",
            "float16",        "double",   "uint32",       "uint64",         "complex64",
            "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
            "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
            "uint2",          "int2" };
    return type >= 0 && type < OX_N_TYPES ? name[type] : "unknown";
}

/* Floats of 8 bits or 4. */
static bool ox_is_tiny(int32_t type)
{
    return (type >= OX_FLOAT8E4M3FN && type <= OX_FLOAT8E5M2FNUZ) || type == OX_FLOAT4E2M1
        || type == OX_FLOAT8E8M0;
}

static bool ox_is_float(int32_t type)
{
    return type == OX_FLOAT || type == OX_DOUBLE || type == OX_FLOAT16 || type == OX_BFLOAT16
        || ox_is_tiny(type);
}

/* Integers of 4 bits or 2. */
static bool ox_is_few_bits(int32_t type)
{
    return type == OX_UINT4 || type == OX_INT4 || type == OX_UINT2 || type == OX_INT2;
}

static bool ox_is_integer(int32_t type)
{
    return (type >= OX_UINT8 && type <= OX_INT64) || type == OX_UINT32 || type == OX_UINT64
        || ox_is_few_bits(type);
}

/* How many elements share a byte. */
static int32_t ox_per_byte(int32_t type)
{
    bool four = type == OX_UINT4 || type == OX_INT4 || type == OX_FLOAT4E2M1;
    return four ? 2 : type == OX_UINT2 || type == OX_INT2 ? 4 : 1;
}

/* Bytes of one element in raw_data, or of those that share one; 0: a type that is not carried. */
static size_t ox_type_size(int32_t type)
{
    static const uint8_t size[OX_N_TYPES]
        = { 0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 0, 0, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    return type >= 0 && type < OX_N_TYPES ? size[type] : 0;
}

/* ---- Host arrays: one block each ---- */

enum { OX_MAX_COUNT = 1 << 28 };

/* The number of elements; -1 if the shape cannot be held. */
static int64_t ox_count(int32_t ndim, const int64_t *dim)
{
    int64_t n = 1;
    if (ndim < 0 || ndim > SAMBA_MAX_DIMS) return -1;
    for (int32_t d = 0; d < ndim; d++) {
        if (dim[d] < 0 || dim[d] > OX_MAX_COUNT) return -1;
        n *= dim[d];
        if (n > OX_MAX_COUNT) return -1;
    }
    return n;
}

/* An array of zeros. */
static onnx_array *ox_new_array(int32_t type, int32_t ndim, const int64_t *dim)
{
    int64_t count = ox_count(ndim, dim);
    if (count < 0 || !ox_type_size(type)) return NULL;
    size_t each = ox_is_float(type) ? sizeof(float) : sizeof(int64_t);
    onnx_array *a = (onnx_array *)calloc(1, sizeof *a + (size_t)count * each);
    if (!a) return NULL;
    a->type = type;
    a->ndim = ndim;
    a->count = count;
    if (ndim) memcpy(a->dim, dim, (size_t)ndim * sizeof *dim);
    if (ox_is_float(type))
        a->f = (float *)(void *)(a + 1);
    else
        a->i = (int64_t *)(void *)(a + 1);
    return a;
}

SAMBA_ONNX_API void onnx_array_free(onnx_array *a)
{
    free(a);
}

/* Element n as a number, whatever the type. */
static double ox_number(const onnx_array *a, int64_t n)
{
    return a->f ? (double)a->f[n] : (double)a->i[n];
}

static uint64_t ox_little(const uint8_t *p, size_t size)
{
    uint64_t v = 0;
    for (size_t i = size; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static float ox_bits_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float ox_half(uint32_t h)
{
    uint32_t sign = (h & 0x8000u) << 16, rest = (h & 0x7FFFu) << 13;
    uint32_t special = rest >= 0x0F800000u ? rest | 0x7F800000u : 0;
    float scaled = ox_bits_float(rest) * 5.192296858534828e33f;
    memcpy(&rest, &scaled, sizeof rest);
    return ox_bits_float((special ? special : rest) | sign);
}

/* What a float of 8 bits or 4 is made of. */
typedef struct ox_tiny {
    int32_t mantissa, bias, most; /* bits; of the exponent; code of the largest number */
    bool unsigned_zero;           /* no negative zero: its code is the NaN */
    bool infinities, nan;
} ox_tiny;

static ox_tiny ox_tiny_of(int32_t type)
{
    static const ox_tiny kinds[] = {
        { 3, 7, 0x7E, false, false, true },  /* FLOAT8E4M3FN */
        { 3, 8, 0x7F, true, false, true },   /* FLOAT8E4M3FNUZ */
        { 2, 15, 0x7B, false, true, true },  /* FLOAT8E5M2 */
        { 2, 16, 0x7F, true, false, true },  /* FLOAT8E5M2FNUZ */
        { 1, 1, 0x07, false, false, false }, /* FLOAT4E2M1 */
    };
    return kinds[type == OX_FLOAT4E2M1 ? 4 : type - OX_FLOAT8E4M3FN];
}

/* The number of a code without its sign. */
static float ox_tiny_size(const ox_tiny *t, int32_t code)
{
    int32_t exponent = code >> t->mantissa, rest = code & ((1 << t->mantissa) - 1);
    int32_t least = 1 - t->bias - t->mantissa; /* the exponent of the smallest number */
    if (exponent == 0) return ldexpf((float)rest, least);
    return ldexpf((float)(rest | 1 << t->mantissa), exponent - 1 + least);
}

/* A float of 8 bits or 4, from its code. */
static float ox_tiny_float(int32_t type, uint32_t code)
{
    if (type == OX_FLOAT8E8M0) return code == 0xFF ? NAN : ldexpf(1.0f, (int)(code & 0xFF) - 127);
    ox_tiny t = ox_tiny_of(type);
    uint32_t sign = type == OX_FLOAT4E2M1 ? 8 : 0x80;
    int32_t size = (int32_t)(code & (sign - 1));
    if (t.unsigned_zero && (code & 0xFF) == sign) return NAN;
    if (size > t.most && !(t.infinities && size == t.most + 1)) return NAN;
    float y = size > t.most ? HUGE_VALF : ox_tiny_size(&t, size);
    return code & sign ? -y : y;
}

/* An element from its bits. False: an unsigned number that int64 cannot hold. */
static bool ox_set_bits(onnx_array *a, int64_t n, uint64_t bits)
{
    double d;
    switch (a->type) {
    case OX_FLOAT:
        a->f[n] = ox_bits_float((uint32_t)bits);
        break;
    case OX_FLOAT16:
        a->f[n] = ox_half((uint32_t)bits);
        break;
    case OX_BFLOAT16:
        a->f[n] = ox_bits_float((uint32_t)bits << 16);
        break;
    case OX_DOUBLE:
        memcpy(&d, &bits, sizeof d);
        a->f[n] = (float)d;
        break;
    case OX_UINT8:
        a->i[n] = (uint8_t)bits;
        break;
    case OX_INT8:
        a->i[n] = (int8_t)bits;
        break;
    case OX_UINT16:
        a->i[n] = (uint16_t)bits;
        break;
    case OX_INT16:
        a->i[n] = (int16_t)bits;
        break;
    case OX_INT32:
        a->i[n] = (int32_t)bits;
        break;
    case OX_UINT32:
        a->i[n] = (uint32_t)bits;
        break;
    case OX_BOOL:
        a->i[n] = bits != 0;
        break;
    case OX_UINT4:
    case OX_UINT2:
        a->i[n] = (int64_t)(bits & (a->type == OX_UINT4 ? 15 : 3));
        break;
    case OX_INT4:
        a->i[n] = (int64_t)((bits & 15) ^ 8) - 8;
        break;
    case OX_INT2:
        a->i[n] = (int64_t)((bits & 3) ^ 2) - 2;
        break;
    case OX_FLOAT8E4M3FN:
    case OX_FLOAT8E4M3FNUZ:
    case OX_FLOAT8E5M2:
    case OX_FLOAT8E5M2FNUZ:
    case OX_FLOAT4E2M1:
    case OX_FLOAT8E8M0:
        a->f[n] = ox_tiny_float(a->type, (uint32_t)bits);
        break;
    case OX_UINT64:
        a->i[n] = (int64_t)bits;
        return bits <= INT64_MAX;
    default:
        a->i[n] = (int64_t)bits;
        break;
    }
    return true;
}

static size_t ox_typed_elements(const Onnx__TensorProto *t)
{
    switch (t->data_type) {
    case OX_FLOAT:
        return t->n_float_data;
    case OX_DOUBLE:
        return t->n_double_data;
    case OX_INT64:
        return t->n_int64_data;
    case OX_UINT32:
    case OX_UINT64:
        return t->n_uint64_data;
    default:
        return t->n_int32_data;
    }
}

static uint64_t ox_typed_bits(const Onnx__TensorProto *t, int64_t n)
{
    uint64_t bits = 0;
    uint32_t word = 0;
    switch (t->data_type) {
    case OX_FLOAT:
        memcpy(&word, t->float_data + n, sizeof word);
        return word;
    case OX_DOUBLE:
        memcpy(&bits, t->double_data + n, sizeof bits);
        return bits;
    case OX_INT64:
        return (uint64_t)t->int64_data[n];
    case OX_UINT32:
    case OX_UINT64:
        return t->uint64_data[n];
    default:
        return (uint64_t)(int64_t)t->int32_data[n];
    }
}

/* ---- Bytes ---- */

/* A varint; NULL at the end of the bytes. */
static const uint8_t *ox_varint(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; p < end && shift < 64; shift += 7) {
        *v |= (uint64_t)(*p & 0x7F) << shift;
        if (!(*p++ & 0x80)) return p;
    }
    return NULL;
}

#include "source.h"

/* ---- Values in other files, beside the model: external_data ---- */

static const char *ox_external(const Onnx__TensorProto *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++) {
        const Onnx__StringStringEntryProto *e = t->external_data[i];
        if (e->key && e->value && !strcmp(e->key, key)) return e->value;
    }
    return NULL;
}

/* A model may name files in its folder and below, not any other: nothing absolute, no "..". */
static bool ox_is_below(const char *path)
{
    if (!*path || *path == '/' || strpbrk(path, "\\:")) return false;
    for (const char *part = path; part; part = strchr(part, '/')) {
        if (*part == '/') part++;
        if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2])) return false;
    }
    return true;
}

/* Where a model is. Links are followed, as downloads are often kept so: to places below the folder
   that the model was opened in, or below that in which its own file really is. */
typedef struct ox_place {
    char *folder;                /* as it was given; NULL: the model is not a file */
    char *root[2];               /* resolved, each without links */
    ox_source *model;            /* the model itself */
    const ox_left_out *left_out; /* what was not unpacked of it */
    int32_t n_left_out;
} ox_place;

static void ox_leave_place(ox_place *p)
{
    free(p->folder);
    free(p->root[0]);
    free(p->root[1]);
}

/* False: no memory. */
static bool ox_find_place(ox_place *p, const char *model)
{
    if (!model) return true;
    char *real = onnx__resolve(model), *real_folder = real ? onnx__folder_of(real) : NULL;
    p->folder = onnx__folder_of(model);
    p->root[0] = p->folder ? onnx__resolve(p->folder) : NULL;
    p->root[1] = real_folder ? onnx__resolve(real_folder) : NULL;
    bool fine = p->folder && (real_folder || !real);
    free(real_folder);
    free(real);
    return fine;
}

/* Is a path, all links followed, below one of the roots? */
static bool ox_stays_there(const ox_place *p, const char *path)
{
    char *real = onnx__resolve(path);
    bool stays = false;
    for (int i = 0; real && i < 2; i++) {
        size_t n = p->root[i] ? strlen(p->root[i]) : 0;
        if (n == 1) n = 0; /* "/" */
        stays = stays || (p->root[i] && !strncmp(real, p->root[i], n) && real[n] == '/');
    }
    free(real);
    return stays;
}

/* A number of external_data: digits alone. */
static bool ox_read_digits(const char *text, int64_t otherwise, int64_t *n)
{
    *n = otherwise;
    if (!text) return true;
    *n = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (*n > (INT64_MAX - 9) / 10) return false;
        *n = *n * 10 + (*text - '0');
    }
    return !*text;
}

/* Where in an open file size bytes of a tensor are; -1: they are not there. */
static int64_t ox_find_range(const Onnx__TensorProto *t, const ox_source *file, size_t size,
                             const char **why)
{
    int64_t at, length;
    *why = "values in another file, at an offset or of a length that is no number";
    if (!ox_read_digits(ox_external(t, "offset"), 0, &at)
        || !ox_read_digits(ox_external(t, "length"), (int64_t)size, &length))
        return -1;
    *why = "values in another file, of which the named part does not fill the shape";
    if ((uint64_t)length != size) return -1;
    *why = "values in another file, which is too short";
    return file->size < at || (uint64_t)(file->size - at) < size ? -1 : at;
}

/* Opens the file of a tensor's values, to be closed. False, with the reason. */
static bool ox_open_external(const Onnx__TensorProto *t, const ox_place *place, ox_source *file,
                             const char **why)
{
    const char *location = ox_external(t, "location"), *reason = "";
    *why = "values in another file (external_data): the model itself must be a file, too";
    if (!place || !place->folder) return false;
    *why = "values in another file, which must be in the model's folder or below";
    if (!location || !ox_is_below(location)) return false;
    *why = ox_no_memory;
    char *path = (char *)malloc(strlen(place->folder) + strlen(location) + 2);
    if (!path) return false;
    sprintf(path, "%s/%s", place->folder, location);
    file->f = onnx__open(path, &reason);
    if (!file->f) {
        *why = strstr(reason, "pipe") || strstr(reason, "folder")
            ? "values in what is no regular file"
            : "values in another file, which cannot be read: put it beside the model";
    } else if (!ox_stays_there(place, path)) {
        *why = "values in another file, a link to a place outside of the model's folder";
        ox_close_source(file);
    }
    free(path);
    file->size = file->f ? onnx__file_size(file->f) : 0;
    return file->f != NULL;
}

/* A double of a model as a float; the largest of one is the largest of the other, as limits are
   written so. False: it is beyond the range. */
static bool ox_narrow_double(uint64_t bits, float *f)
{
    const double most = 1.7976931348623157e308, float_most = 3.4028234663852886e38;
    double d;
    memcpy(&d, &bits, sizeof d);
    bool limit = d == most || d == -most;
    if (limit) d = d > 0 ? float_most : -float_most;
    *f = (float)d;
    return limit || d != d || d - d != 0
        || (d < 3.4028235677973366e38 && d > -3.4028235677973366e38);
}

/* Element n of a from its bits; strict: no double becomes infinite. */
static bool ox_set_element(onnx_array *a, int64_t n, uint64_t bits, bool strict)
{
    if (!ox_set_bits(a, n, bits)) return false;
    return !strict || a->type != OX_DOUBLE || ox_narrow_double(bits, &a->f[n]);
}

static const char *ox_unfit(int32_t type)
{
    return type == OX_DOUBLE ? "a double beyond the range of float"
                             : "a uint64 above the range of int64";
}

/* Values of which several share a byte, the first in its lowest bits. */
static bool ox_read_packed(onnx_array *a, ox_source *from, int64_t at)
{
    int32_t each = ox_per_byte(a->type), bits = 8 / each;
    for (int64_t n = 0; n < a->count; n++) {
        const uint8_t *byte = ox_look(from, at + n / each, 1);
        if (!byte) return false;
        ox_set_bits(a, n, (uint64_t)(*byte >> (n % each * bits)));
    }
    return true;
}

/* Values as they lie in memory, little-endian, block after block. */
static bool ox_read_blocks(onnx_array *a, ox_source *from, int64_t at, bool strict,
                           const char **why)
{
    const int64_t one = 1;
    int64_t size = (int64_t)ox_type_size(a->type), each = OX_BLOCK / 8;
    if (ox_per_byte(a->type) > 1) return ox_read_packed(a, from, at);
    if (a->type == OX_FLOAT && *(const uint8_t *)&one)
        return ox_copy_bytes(from, at, a->count * size, a->f);
    for (int64_t n = 0; n < a->count; n += each) {
        int64_t some = a->count - n < each ? a->count - n : each;
        const uint8_t *p = ox_look(from, at + n * size, some * size);
        if (!p) return false;
        for (int64_t i = 0; i < some; i++) {
            uint64_t bits = ox_little(p + i * size, (size_t)size);
            if (!ox_set_element(a, n + i, bits, strict)) *why = ox_unfit(a->type);
            if (*why == ox_unfit(a->type)) return false;
        }
    }
    return true;
}

static bool ox_read_values(onnx_array *a, ox_source *from, int64_t at, bool strict,
                           const char **why)
{
    *why = "values that cannot be read";
    bool fine = ox_read_blocks(a, from, at, strict, why);
    if (from->error == ENOMEM) *why = ox_no_memory;
    return fine;
}

/* The same in fields of their type. */
static bool ox_read_typed(onnx_array *a, const Onnx__TensorProto *t, bool strict, const char **why)
{
    int32_t each = ox_per_byte(a->type);
    *why = ox_unfit(a->type);
    for (int64_t n = 0; n < a->count; n++) {
        uint64_t bits = ox_typed_bits(t, n / each) >> (n % each * (8 / each));
        if (!ox_set_element(a, n, bits, strict)) return false;
    }
    return true;
}

/* The entry of values that were not unpacked; NULL: they were, or there are none. */
static const ox_left_out *ox_find_left_out(const Onnx__TensorProto *t, const ox_place *place)
{
    bool number = place && place->n_left_out && t->doc_string && *t->doc_string;
    long i = number ? strtol(t->doc_string, NULL, 10) : -1;
    return i >= 0 && i < place->n_left_out ? &place->left_out[i] : NULL;
}

static bool ox_is_external(const Onnx__TensorProto *t)
{
    return t->n_external_data || t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* Bytes of so many values as they lie in memory. */
static size_t ox_bytes_of_values(int32_t type, int64_t count)
{
    size_t each = (size_t)ox_per_byte(type);
    return ((size_t)count + each - 1) / each * ox_type_size(type);
}

/* Has the tensor as many values as its shape? Asked before room is made for them, or a file of a
   few bytes could ask for gigabytes. Those of another file are counted when it is open. */
static bool ox_fills_shape(const Onnx__TensorProto *t, const ox_place *place, int64_t count)
{
    size_t size = ox_bytes_of_values(t->data_type, count);
    const ox_left_out *out = ox_find_left_out(t, place);
    if (ox_is_external(t)) return true;
    if (out) {
        bool fits = (uint64_t)out->size == size && (out->raw || t->data_type == OX_FLOAT);
        return fits && !t->has_raw_data && !t->n_float_data;
    }
    size_t each = (size_t)ox_per_byte(t->data_type);
    return t->has_raw_data ? t->raw_data.len == size
                           : ox_typed_elements(t) == ((size_t)count + each - 1) / each;
}

/* Where the values of a tensor are that are not in fields of their type: a source and a place in
   it, to be left. False, with the reason, if they are not there. */
typedef struct ox_found {
    ox_source *source;
    int64_t at;
    ox_source other; /* another file, or bytes that were unpacked */
} ox_found;

static bool ox_find_values(ox_found *f, const Onnx__TensorProto *t, const ox_place *place,
                           size_t size, const char **why)
{
    const ox_left_out *out = ox_find_left_out(t, place);
    memset(f, 0, sizeof *f);
    f->source = &f->other;
    if (ox_is_external(t)) {
        if (!ox_open_external(t, place, &f->other, why)) return false;
        f->at = ox_find_range(t, &f->other, size, why);
        if (f->at < 0) ox_close_source(&f->other);
        return f->at >= 0;
    }
    if (out) {
        f->source = place->model;
        f->at = out->at;
        return true;
    }
    f->other.bytes = t->raw_data.data;
    f->other.size = t->has_raw_data ? (int64_t)t->raw_data.len : 0;
    return true;
}

/* Fills an array of the right shape with the values of a tensor. */
static bool ox_fill_array(onnx_array *a, const Onnx__TensorProto *t, const ox_place *place,
                          const char **why)
{
    size_t size = ox_bytes_of_values(t->data_type, a->count);
    bool typed = !ox_is_external(t) && !ox_find_left_out(t, place) && !t->has_raw_data;
    ox_found from;
    if (typed) return ox_read_typed(a, t, place != NULL, why);
    if (!ox_find_values(&from, t, place, size, why)) return false;
    bool fine = !size || ox_read_values(a, from.source, from.at, place != NULL, why);
    ox_close_source(&from.other);
    return fine;
}

/* How many elements a tensor has, all of which are there; -1, with a reason. */
static int64_t ox_check_tensor(const Onnx__TensorProto *t, const ox_place *place, const char **why)
{
    *why = "a tensor of strings, complex numbers or an unknown type";
    if (!ox_type_size(t->data_type)) return -1;
    *why = "a tensor with more than 8 dimensions, a negative one, or too many elements";
    int64_t count = t->n_dims > SAMBA_MAX_DIMS ? -1 : ox_count((int32_t)t->n_dims, t->dims);
    if (count < 0) return -1;
    *why = "a tensor whose data does not fill its shape";
    return ox_fills_shape(t, place, count) ? count : -1;
}

/* The values of a TensorProto. NULL with a reason in why. */
static onnx_array *ox_read_tensor(const Onnx__TensorProto *t, const ox_place *place,
                                  const char **why)
{
    if (ox_check_tensor(t, place, why) < 0) return NULL;
    onnx_array *a = ox_new_array(t->data_type, (int32_t)t->n_dims, t->dims);
    *why = ox_no_memory;
    if (a && ox_fill_array(a, t, place, why)) return a;
    free(a);
    return NULL;
}

/* The values of a tensor of 8 bits, a byte each, to be freed. NULL with a reason in why. */
static uint8_t *ox_read_bytes(const Onnx__TensorProto *t, const ox_place *place, const char **why)
{
    int64_t count = ox_check_tensor(t, place, why);
    ox_found from;
    if (count < 0 || !ox_find_values(&from, t, place, (size_t)count, why)) return NULL;
    uint8_t *bytes = (uint8_t *)malloc((size_t)count + 1);
    bool there = bytes && from.other.size >= 0;
    bool typed = from.source == &from.other && !from.other.f && !t->has_raw_data;
    *why = bytes ? "values that cannot be read" : ox_no_memory;
    for (int64_t n = 0; there && typed && n < count; n++)
        bytes[n] = (uint8_t)ox_typed_bits(t, n);
    there = there && (typed || ox_copy_bytes(from.source, from.at, count, bytes));
    ox_close_source(&from.other);
    if (there) return bytes;
    free(bytes);
    return NULL;
}

/* ---- Parsing: protobuf-c recurses without a limit, so nesting is measured first ---- */

enum { OX_MAX_NESTING = 40 };

/* Is a message sound, and nothing in it nested deeper than depth? */
static bool ox_nesting_fits(const ProtobufCMessageDescriptor *type, const uint8_t *p,
                            const uint8_t *end, int depth)
{
    uint64_t key, size;
    while (p && p < end) {
        p = ox_varint(p, end, &key);
        if (!p) break;
        switch (key & 7) {
        case 0:
            p = ox_varint(p, end, &size);
            continue;
        case 1:
            p = end - p >= 8 ? p + 8 : NULL;
            continue;
        case 5:
            p = end - p >= 4 ? p + 4 : NULL;
            continue;
        case 2:
            break;
        default:
            return false;
        }
        p = ox_varint(p, end, &size);
        if (!p || size > (uint64_t)(end - p)) return false;
        const ProtobufCFieldDescriptor *field = key >> 3 > 0xFFFFFFF
            ? NULL
            : protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3));
        if (field && field->type == PROTOBUF_C_TYPE_MESSAGE
            && (depth == 0
                || !ox_nesting_fits((const ProtobufCMessageDescriptor *)field->descriptor, p,
                                    p + size, depth - 1)))
            return false;
        p += size;
    }
    return p != NULL;
}

static ProtobufCMessage *ox_unpack(const ProtobufCMessageDescriptor *type, const void *bytes,
                                   size_t size)
{
    const uint8_t *p = (const uint8_t *)bytes;
    if (!size || !ox_nesting_fits(type, p, p + size, OX_MAX_NESTING)) return NULL;
    return protobuf_c_message_unpack(type, NULL, size, p);
}

/* The tensors of a SequenceProto (many) or an OptionalProto (one) are in field 3 of both. They are
   declared in onnx-data.proto, which Debian does not install; these few lines read them. */
static bool ox_read_items(const uint8_t *p, const uint8_t *end, onnx_array **to, int32_t max,
                          int32_t *n, const char **why)
{
    uint64_t key, size;
    *why = "not a sequence or optional of tensors";
    while (p < end) {
        p = ox_varint(p, end, &key);
        p = p ? ox_varint(p, end, &size) : NULL;
        if (!p) return false;
        if ((key & 7) == 0) continue;
        if ((key & 7) != 2 || size > (uint64_t)(end - p)) return false;
        if (key >> 3 == 3) {
            ProtobufCMessage *m = ox_unpack(&onnx__tensor_proto__descriptor, p, (size_t)size);
            Onnx__TensorProto *t = (Onnx__TensorProto *)(void *)m;
            onnx_array *a = t && *n < max ? ox_read_tensor(t, NULL, why) : NULL;
            if (m) protobuf_c_message_free_unpacked(m, NULL);
            if (!a) return false;
            to[(*n)++] = a;
        }
        p += size;
    }
    return true;
}

/* The bytes of the sequence inside an optional: its field 5. */
static const uint8_t *ox_inner_sequence(const uint8_t *p, const uint8_t **end)
{
    uint64_t key, size;
    while (p && p < *end) {
        p = ox_varint(p, *end, &key);
        p = p ? ox_varint(p, *end, &size) : NULL;
        if (!p || (key & 7) == 0) continue;
        if ((key & 7) != 2 || size > (uint64_t)(*end - p)) return NULL;
        if (key >> 3 == 5) {
            *end = p + size;
            return p;
        }
        p += size;
    }
    return NULL;
}

SAMBA_ONNX_API int32_t onnx_read_arrays(const void *bytes, size_t size, int32_t kind,
                                        onnx_array **to, int32_t max, char *why, size_t why_size)
{
    const uint8_t *p = (const uint8_t *)bytes, *end = p + size;
    const char *reason = "not a TensorProto";
    int32_t n = -1, got = 0;
    if (kind == ONNX_KIND_TENSOR) {
        ProtobufCMessage *m = ox_unpack(&onnx__tensor_proto__descriptor, bytes, size);
        const Onnx__TensorProto *t = (const Onnx__TensorProto *)(const void *)m;
        onnx_array *a = t && max > 0 ? ox_read_tensor(t, NULL, &reason) : NULL;
        if (m) protobuf_c_message_free_unpacked(m, NULL);
        if (a) {
            to[0] = a;
            n = 1;
        }
    } else {
        if (kind == ONNX_KIND_OPTIONAL_SEQUENCE) p = ox_inner_sequence(p, &end);
        n = !p ? 0 : ox_read_items(p, end, to, max, &got, &reason) ? got : -1;
    }
    if (n < 0 && why_size) snprintf(why, why_size, "%s", reason);
    for (int32_t i = 0; n < 0 && i < got; i++)
        onnx_array_free(to[i]);
    return n;
}
