// HDF5 files with rows of tokens. libhdf5 reads them, and a file with damaged bytes makes some of
// its versions crash (tests/TRUST.md says so): so no bytes are mutated here. An input describes a
// file that libhdf5 writes: datasets, groups and links of right and wrong names, of any type, shape
// and layout. The rows that it says there are must be readable, or refused.
#define SAMBA_HDF5_ROWS_IMPLEMENTATION
#include "tools/include/samba/hdf5_rows.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 1 << 16, MOST_ITEMS = 6, ITEM = 12, MOST_RANK = 4 };

// ---- Writing what an input describes ------------------------------------------------------------

// One thing in the file: 12 bytes of the input.
typedef struct item {
    uint8_t name, kind, type, layout, rank, filters;
    uint8_t dim[MOST_RANK], value, grows;
} item;

static const char *const names[]
    = { "input_ids",      "token_type_ids", "category_ids", "input_ids",
        "token_type_ids", "attention_mask", "labels",       "a/b" };
// Sizes of dimensions. The large ones are of files in which no chunk was written.
static const hsize_t sizes[] = {
    0, 1, 2, 3, 4, 5, 64, 1000, 65537, (hsize_t)1 << 31, ((hsize_t)1 << 32) + 4, (hsize_t)1 << 61
};

static hid_t type_of(uint8_t which)
{
    switch (which % 13) {
    case 0:
        return H5Tcopy(H5T_STD_I32BE);
    case 1:
        return H5Tcopy(H5T_STD_I16LE);
    case 2:
        return H5Tcopy(H5T_STD_U8LE);
    case 3:
        return H5Tcopy(H5T_STD_U32LE);
    case 4:
        return H5Tcopy(H5T_STD_I64LE);
    case 5:
        return H5Tcopy(H5T_IEEE_F32LE);
    case 6:
        return H5Tcopy(H5T_C_S1);
    case 7: {
        hid_t text = H5Tcopy(H5T_C_S1);
        H5Tset_size(text, H5T_VARIABLE);
        return text;
    }
    case 8: {
        hid_t pair = H5Tcreate(H5T_COMPOUND, 4);
        H5Tinsert(pair, "x", 0, H5T_STD_I32LE);
        return pair;
    }
    case 9:
        return H5Tenum_create(H5T_STD_I32LE);
    case 10:
        return H5Tvlen_create(H5T_STD_I32LE);
    default:
        return H5Tcopy(H5T_STD_I32LE);
    }
}

static void set_layout(hid_t how, const item *it, int rank, const hsize_t *shape)
{
    hsize_t chunk[MOST_RANK];
    if (it->layout % 3 == 0 || rank == 0) return;
    for (int i = 0; i < rank; i++) {
        hsize_t most = shape[i] < 64 ? shape[i] + 1 : 64;
        chunk[i] = it->layout % 3 == 1 ? most : 1 + it->layout / 3 % 4;
    }
    H5Pset_chunk(how, rank, chunk);
    if (it->filters & 1) H5Pset_deflate(how, it->filters % 10);
    if (it->filters & 2) H5Pset_shuffle(how);
    if (it->filters & 4) H5Pset_fletcher32(how);
}

// Writes the same number everywhere, if the dataset is small.
static void fill(hid_t data, const hsize_t *shape, int rank, uint8_t value)
{
    hsize_t n = 1;
    for (int i = 0; i < rank; i++)
        n = shape[i] > MOST_TOKENS || n > MOST_TOKENS ? MOST_TOKENS + 1 : n * shape[i];
    int32_t *values = n <= MOST_TOKENS ? malloc((size_t)(n + 1) * sizeof *values) : NULL;
    for (hsize_t i = 0; values && i < n; i++)
        values[i] = value & 1 ? (int32_t)value - 128 : (int32_t)(i * 2654435761u);
    if (values) H5Dwrite(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    free(values);
}

static void write_data(hid_t file, const char *name, const item *it)
{
    hsize_t shape[MOST_RANK], most[MOST_RANK];
    int rank = it->rank % 8 < 5 ? 2 : it->rank % (MOST_RANK + 1);
    for (int i = 0; i < rank; i++) {
        shape[i] = sizes[it->dim[i] % (sizeof sizes / sizeof *sizes)];
        most[i] = it->grows >> i & 1 ? H5S_UNLIMITED : shape[i];
    }

    hid_t type = type_of(it->type), how = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = rank ? H5Screate_simple(rank, shape, most)
                       : H5Screate(it->dim[0] & 1 ? H5S_NULL : H5S_SCALAR);
    set_layout(how, it, rank, shape);
    H5Pset_alloc_time(how, H5D_ALLOC_TIME_INCR);
    hid_t data
        = space < 0 ? -1 : H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    if (data >= 0) fill(data, shape, rank, it->value);
    if (data >= 0) H5Dclose(data);
    if (space >= 0) H5Sclose(space);
    H5Pclose(how);
    if (type >= 0) H5Tclose(type);
}

static void write_item(hid_t file, const item *it)
{
    const char *name = names[it->name % (sizeof names / sizeof *names)];
    const char *other = names[it->value % (sizeof names / sizeof *names)];
    switch (it->kind % 16) {
    case 0: {
        hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        if (group >= 0) H5Gclose(group);
        break;
    }
    case 1:
        H5Lcreate_soft(other, file, name, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 2:
        H5Lcreate_external("nowhere.h5", other, file, name, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 3:
        H5Lcreate_hard(file, other, file, name, H5P_DEFAULT, H5P_DEFAULT);
        break;
    default:
        write_data(file, name, it);
    }
}

static bool write_file(const char *path, const uint8_t *data, size_t size)
{
    bool newer = size > 0 && data[size - 1] & 1;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, newer ? H5F_LIBVER_LATEST : H5F_LIBVER_EARLIEST,
                         H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    if (file < 0) return false;
    for (size_t i = 0; i < MOST_ITEMS && (i + 1) * ITEM <= size; i++) {
        item it;
        memcpy(&it, data + i * ITEM, sizeof it);
        write_item(file, &it);
    }
    return H5Fclose(file) >= 0;
}

// ---- Reading ------------------------------------------------------------------------------------

static void read_rows(samba_rows *r)
{
    char why[400] = "";
    int64_t n = samba_rows_count(r), length = samba_rows_length(r), most = 4;
    if (n < 0 || length < 0) fuzz_fail("%lld rows of %lld", (long long)n, (long long)length);
    if (length > MOST_TOKENS) return;
    int32_t *ids = malloc((size_t)(most * length + 1) * 2 * sizeof *ids);
    int32_t *types = ids + most * length;
    if (!ids) return;

    for (int64_t first = 0; first < n && first < 64; first += most) {
        int64_t rows = n - first < most ? n - first : most;
        if (samba_rows_read(r, first, rows, ids, types, NULL, why, sizeof why)) continue;
        fuzz_check_text(why, sizeof why, "samba_rows_read");
        break;
    }
    if (samba_rows_read(r, n, 1, ids, types, NULL, why, sizeof why))
        fuzz_fail("a row behind the last is read");
    free(ids);
}

static void read_file(const char *path)
{
    char why[400] = "";
    samba_rows *r = samba_rows_open(path, SAMBA_ROWS_READ, 0, false, why, sizeof why);
    if (!r) {
        fuzz_check_text(why, sizeof why, "samba_rows_open");
        return;
    }
    read_rows(r);
    if (!samba_rows_close(r, why, sizeof why)) fuzz_check_text(why, sizeof why, "samba_rows_close");
}

static bool is_file; // the input is the file itself, and a whole one: see large

static void one(const uint8_t *data, size_t size)
{
    char path[300];
    if (is_file) {
        read_file(fuzz_write("rows.hdf5", data, size));
        return;
    }
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    strcpy(path, fuzz_path("rows.hdf5"));
    fuzz_allow("rows.hdf5");
    if (!write_file(path, data, size)) return;
    read_file(path);
    remove(path);
    if (H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) != 0)
        fuzz_fail("something is still open");
}

// ---- Seeds --------------------------------------------------------------------------------------

static void seeds(void)
{
    const item plain[3] = {
        { .name = 0,
          .kind = 9,
          .type = 12,
          .layout = 1,
          .filters = 1,
          .dim = { 3, 4 },
          .grows = 1 },
        { .name = 1,
          .kind = 9,
          .type = 12,
          .layout = 1,
          .filters = 1,
          .dim = { 3, 4 },
          .grows = 1 },
        { .name = 2, .kind = 9, .type = 12, .layout = 1, .filters = 1, .dim = { 3, 4 }, .grows = 1 }
    };
    fuzz_seed("rows", plain, 2 * sizeof *plain);
    fuzz_seed("categories", plain, sizeof plain);
    fuzz_seed("none", plain, 0);
}

// Rows as samba_rows_append writes them.
static void make_rows(fuzz_bytes *to, int64_t rows, int32_t length)
{
    char why[400], path[300];
    size_t size;
    strcpy(path, fuzz_path("large.hdf5"));
    fuzz_allow("large.hdf5");
    samba_rows *r = samba_rows_open(path, SAMBA_ROWS_CREATE, length, false, why, sizeof why);
    int32_t *row = malloc((size_t)length * sizeof *row);
    for (int64_t i = 0; r && row && i < rows; i++) {
        uint32_t state = (uint32_t)i + 1; // gzip cannot make much of it
        for (int32_t k = 0; k < length; k++)
            row[k] = (int32_t)(state = state * 1664525u + 1013904223u);
        if (!samba_rows_append(r, 1, row, row, NULL, why, sizeof why))
            fuzz_fail("no file: %s", why);
    }
    free(row);
    if (!samba_rows_close(r, why, sizeof why)) fuzz_fail("no file: %s", why);
    uint8_t *bytes = fuzz_file(path, &size);
    to->size = 0;
    fuzz_put(to, bytes, size);
    free(bytes);
    remove(path);
}

static bool large(size_t size, int kind)
{
    fuzz_bytes b = { NULL, 0, 0 };
    if (kind >= 2) return false;
    int32_t length = kind == 0 ? 64 : 8192;
    is_file = true;
    make_rows(&b, (int64_t)(size / 8) / length, length);
    fuzz_large(kind == 0 ? "short rows" : "long rows", b.at, b.size);
    fuzz_free(&b);
    return true;
}

const fuzz_target fuzz_target_here = {
    .name = "hdf5",
    .limits = { .seconds = 3, .seconds_per_mb = 20 },
    .one = one,
    .seeds = seeds,
    .large = large,
    .most = MOST_ITEMS * ITEM + 1,
};
