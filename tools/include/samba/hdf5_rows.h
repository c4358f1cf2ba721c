/* hdf5_rows.h: rows of tokens in an HDF5 file, as SambaNova's generative_data_prep writes them:
 * datasets input_ids and token_type_ids, and category_ids if there are categories, each int32
 * (rows, length), growing in rows, in gzipped chunks of the shape that h5py would choose. A file
 * without rows has no datasets. Needs libhdf5.
 *
 *     #define SAMBA_HDF5_ROWS_IMPLEMENTATION    in one file
 *     #include <samba/hdf5_rows.h>
 *
 *     samba_rows *r = samba_rows_open("train.hdf5", SAMBA_ROWS_READ, 0, false, why, sizeof why);
 *     samba_rows_read(r, 0, n, ids, types, NULL, why, sizeof why);
 *     samba_rows_close(r, why, sizeof why);
 *
 * Functions that say false or NULL put a sentence into why. Not for two threads at once: libhdf5
 * is not. The first samba_rows_open turns off what libhdf5 does at exit (H5dont_atexit): what a
 * program opens with libhdf5 itself it has to close. */
#ifndef SAMBA_HDF5_ROWS_H
#define SAMBA_HDF5_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SAMBA_HDF5_ROWS_API
#if defined(SAMBA_HDF5_ROWS_STATIC)
#define SAMBA_HDF5_ROWS_API static inline
#elif defined(__cplusplus)
#define SAMBA_HDF5_ROWS_API extern "C"
#else
#define SAMBA_HDF5_ROWS_API extern
#endif
#endif

typedef struct samba_rows samba_rows;

typedef enum samba_rows_mode {
    SAMBA_ROWS_READ,
    SAMBA_ROWS_CHANGE,
    SAMBA_ROWS_CREATE /* replaces the file when it is closed; until then it is in a folder beside */
} samba_rows_mode;

/* length: tokens of a row; 0 accepts what the file has. categories: for a file without rows. */
SAMBA_HDF5_ROWS_API samba_rows *samba_rows_open(const char *path, samba_rows_mode mode,
                                                int32_t length, bool categories, char *why,
                                                size_t why_size);
SAMBA_HDF5_ROWS_API int64_t samba_rows_count(const samba_rows *r);
/* Tokens of a row; 0: there are no rows. */
SAMBA_HDF5_ROWS_API int32_t samba_rows_length(const samba_rows *r);
SAMBA_HDF5_ROWS_API bool samba_rows_has_categories(const samba_rows *r);
/* Each of ids, types, categories (n,length) may be NULL. */
SAMBA_HDF5_ROWS_API bool samba_rows_read(samba_rows *r, int64_t first, int64_t n, int32_t *ids,
                                         int32_t *types, int32_t *categories, char *why,
                                         size_t why_size);
/* categories may be NULL: -1 each. Rows are written a MiB at a time, the last ones by close. */
SAMBA_HDF5_ROWS_API bool samba_rows_append(samba_rows *r, int64_t n, const int32_t *ids,
                                           const int32_t *types, const int32_t *categories,
                                           char *why, size_t why_size);
/* Keeps the first n. */
SAMBA_HDF5_ROWS_API bool samba_rows_cut(samba_rows *r, int64_t n, char *why, size_t why_size);
SAMBA_HDF5_ROWS_API bool samba_rows_close(samba_rows *r, char *why, size_t why_size);
/* Closes without the last rows; what CREATE began is gone. */
SAMBA_HDF5_ROWS_API void samba_rows_abandon(samba_rows *r);

/* The chunk shape that h5py guesses for int32 (rows,length). */
SAMBA_HDF5_ROWS_API void samba_rows_chunk(int64_t rows, int32_t length, int64_t chunk[2]);
/* How many rows are written at a time. */
SAMBA_HDF5_ROWS_API int64_t samba_rows_block(int32_t length);

#endif /* SAMBA_HDF5_ROWS_H */

#if defined(SAMBA_HDF5_ROWS_IMPLEMENTATION) && !defined(SAMBA_HDF5_ROWS__IMPLEMENTED)
#define SAMBA_HDF5_ROWS__IMPLEMENTED

#include "base.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __has_include
#if __has_include(<hdf5/serial/hdf5.h>) /* Debian keeps one for each MPI, and this */
#include <hdf5/serial/hdf5.h>
#else
#include <hdf5.h>
#endif
#else
#include <hdf5.h>
#endif

enum {
    SAMBA_HDF5_ROWS__IDS,
    SAMBA_HDF5_ROWS__TYPES,
    SAMBA_HDF5_ROWS__CATEGORIES,
    SAMBA_HDF5_ROWS__N_DATA
};

static const char *const samba_hdf5_rows__names[]
    = { "input_ids", "token_type_ids", "category_ids" };

struct samba_rows {
    hid_t file, data[SAMBA_HDF5_ROWS__N_DATA]; /* -1: there is none */
    int64_t n, n_block, block_rows;            /* rows in the file, and waiting in block */
    int32_t *block[SAMBA_HDF5_ROWS__N_DATA];   /* (block_rows,length), made by the first append */
    int32_t length;
    bool categories;
    char *path;
    samba_base_scratch scratch; /* CREATE: where the file is until it is closed */
};

/* ---- Errors ---- */

/* For failures of libhdf5; errno was 0 before the call. */
static bool samba_hdf5_rows__fail(const samba_rows *r, char *why, size_t why_size, const char *what)
{
    snprintf(why, why_size, "%s: %s%s%s", r->path, what, errno ? ": " : "",
             errno ? strerror(errno) : "");
    return false;
}

static bool samba_hdf5_rows__refuse(const samba_rows *r, char *why, size_t why_size,
                                    const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(why, why_size, "%s: %s", r->path, what);
    return false;
}

/* ---- Opening ---- */

void samba_rows_chunk(int64_t rows, int32_t length, int64_t chunk[2])
{
    const double base = 16384, least = 8192, most = 1048576; /* h5py/_hl/filters.py */
    double size[2], target;
    int axis = 0;
    size[0] = (double)rows;
    size[1] = length;
    target = base * pow(2, log10(size[0] * size[1] * 4 / most));
    target = target > most ? most : target < least ? least : target;
    for (;; axis = !axis) {
        double bytes = size[0] * size[1] * 4;
        if ((bytes < target || fabs(bytes - target) / target < 0.5) && bytes < most) break;
        if (bytes <= 4) break;
        size[axis] = ceil(size[axis] / 2);
    }
    chunk[0] = (int64_t)size[0];
    chunk[1] = (int64_t)size[1];
}

int64_t samba_rows_block(int32_t length)
{
    int64_t rows = 1048576 / (4 * (int64_t)length);
    return rows ? rows : 1;
}

/* Is each filter there that the dataset was written with? h5py's lzf, for one, is its own. */
static bool samba_hdf5_rows__can_unpack(const samba_rows *r, hid_t data, char *why, size_t why_size)
{
    hid_t how = H5Dget_create_plist(data);
    int n = how < 0 ? 0 : H5Pget_nfilters(how);
    char name[64] = "";
    bool fine = true;
    for (int i = 0; i < n && fine; i++) {
        unsigned flags, config;
        size_t n_values = 0;
        H5Z_filter_t filter
            = H5Pget_filter2(how, (unsigned)i, &flags, &n_values, NULL, sizeof name, name, &config);
        fine = filter < 0 || H5Zfilter_avail(filter) > 0;
    }
    if (how >= 0) H5Pclose(how);
    if (fine) return true;
    return samba_hdf5_rows__refuse(
        r, why, why_size,
        "its rows are packed by the filter %.60s, which "
        "libhdf5 does not have here; pack them again with gzip: h5repack "
        "-f GZIP=1 OLD NEW, or compression=\"gzip\" in h5py",
        *name ? name : "of another program");
}

/* Opens one dataset and checks that its shape is (rows,length), the same for all. */
static bool samba_hdf5_rows__open_data(samba_rows *r, int which, char *why, size_t why_size)
{
    const char *name = samba_hdf5_rows__names[which];
    hsize_t shape[2] = { 0, 0 };
    hid_t data = H5Dopen2(r->file, name, H5P_DEFAULT), space, type;
    bool good;
    r->data[which] = data;
    if (data < 0)
        return samba_hdf5_rows__refuse(r, why, why_size,
                                       "the dataset %s cannot be opened; it is "
                                       "damaged, or written for a newer libhdf5 than the one here: "
                                       "write it without libver=\"latest\"",
                                       name);
    if (!samba_hdf5_rows__can_unpack(r, data, why, why_size)) return false;
    type = H5Dget_type(data);
    space = H5Dget_space(data);
    good = H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) <= 4
        && H5Sget_simple_extent_ndims(space) == 2
        && H5Sget_simple_extent_dims(space, shape, NULL) == 2;
    H5Sclose(space);
    H5Tclose(type);
    if (!good || shape[1] < 1 || shape[1] > INT32_MAX || shape[0] > INT64_MAX / 4 / shape[1])
        return samba_hdf5_rows__refuse(r, why, why_size,
                                       "%s is no table of 32-bit integers, (rows, "
                                       "tokens of a row)",
                                       name);
    if (which != SAMBA_HDF5_ROWS__IDS
        && ((int64_t)shape[0] != r->n || (int32_t)shape[1] != r->length))
        return samba_hdf5_rows__refuse(r, why, why_size,
                                       "%s has shape (%lld,%lld), input_ids has "
                                       "(%lld,%d)",
                                       name, (long long)shape[0], (long long)shape[1],
                                       (long long)r->n, (int)r->length);
    r->n = (int64_t)shape[0];
    r->length = (int32_t)shape[1];
    return true;
}

static bool samba_hdf5_rows__open_all(samba_rows *r, int32_t length, bool categories, char *why,
                                      size_t why_size)
{
    htri_t has[SAMBA_HDF5_ROWS__N_DATA];
    errno = 0;
    for (int i = 0; i < SAMBA_HDF5_ROWS__N_DATA; i++) {
        has[i] = H5Lexists(r->file, samba_hdf5_rows__names[i], H5P_DEFAULT);
        if (has[i] < 0) /* not: there are none */
            return samba_hdf5_rows__fail(r, why, why_size, "its list of datasets cannot be read");
    }
    r->length = length;
    r->categories = categories;
    if (has[SAMBA_HDF5_ROWS__IDS] <= 0 && has[SAMBA_HDF5_ROWS__TYPES] <= 0) return true;
    r->categories = has[SAMBA_HDF5_ROWS__CATEGORIES] > 0;
    for (int i = 0; i < SAMBA_HDF5_ROWS__N_DATA; i++) {
        if (i == SAMBA_HDF5_ROWS__CATEGORIES && !r->categories) break;
        if (has[i] <= 0)
            return samba_hdf5_rows__refuse(r, why, why_size, "there is no dataset %s",
                                           samba_hdf5_rows__names[i]);
        if (!samba_hdf5_rows__open_data(r, i, why, why_size)) return false;
    }
    if (length && length != r->length)
        return samba_hdf5_rows__refuse(r, why, why_size, "its rows have %d tokens, not %d",
                                       (int)r->length, (int)length);
    return true;
}

static bool samba_hdf5_rows__open_file(samba_rows *r, samba_rows_mode mode, char *why,
                                       size_t why_size)
{
    FILE *f = mode == SAMBA_ROWS_CREATE ? NULL : fopen(r->path, "rb");
    hid_t access;
    bool place = mode != SAMBA_ROWS_CREATE
        || (samba_base_may_replace(r->path, NULL, why, why_size)
            && samba_base_open_scratch(&r->scratch, r->path, false, why, why_size));
    if (!place) return false;
    if (mode != SAMBA_ROWS_CREATE) {
        if (!f) return samba_hdf5_rows__fail(r, why, why_size, "cannot be opened");
        fclose(f);
        errno = 0;
        htri_t is_one = H5Fis_hdf5(r->path);
        if (is_one < 0 && errno) return samba_hdf5_rows__fail(r, why, why_size, "cannot be read");
        if (is_one <= 0) return samba_hdf5_rows__refuse(r, why, why_size, "this is no HDF5 file");
    }
    errno = 0;
    access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    if (mode == SAMBA_ROWS_CREATE)
        r->file = H5Fcreate(r->scratch.file, H5F_ACC_EXCL, H5P_DEFAULT, access);
    else
        r->file = H5Fopen(r->path, mode == SAMBA_ROWS_READ ? H5F_ACC_RDONLY : H5F_ACC_RDWR, access);
    H5Pclose(access);
    if (r->file >= 0) return true;
    if (mode == SAMBA_ROWS_CREATE)
        return samba_hdf5_rows__fail(r, why, why_size, "cannot be written");
    return samba_hdf5_rows__refuse(r, why, why_size,
                                   "cannot be opened; it is damaged, open "
                                   "elsewhere, or written for a newer libhdf5 than the one here: "
                                   "write it without libver=\"latest\"");
}

samba_rows *samba_rows_open(const char *path, samba_rows_mode mode, int32_t length, bool categories,
                            char *why, size_t why_size)
{
    samba_rows *r = (samba_rows *)calloc(1, sizeof *r);
    size_t size = strlen(path) + 1;
    if (r) r->path = (char *)malloc(size);
    if (!r || !r->path) {
        free(r);
        snprintf(why, why_size, "%s: no memory", path);
        return NULL;
    }
    memcpy(r->path, path, size);
    H5dont_atexit(); /* at exit it would write to a file that could not be closed */
    H5open();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* errors are told here, in words */
    for (int i = 0; i < SAMBA_HDF5_ROWS__N_DATA; i++)
        r->data[i] = -1;
    r->file = -1;
    if (samba_hdf5_rows__open_file(r, mode, why, why_size)
        && samba_hdf5_rows__open_all(r, length, categories, why, why_size))
        return r;
    samba_rows_abandon(r);
    return NULL;
}

int64_t samba_rows_count(const samba_rows *r)
{
    return r->n + r->n_block;
}

int32_t samba_rows_length(const samba_rows *r)
{
    return r->length;
}

bool samba_rows_has_categories(const samba_rows *r)
{
    return r->categories;
}

/* ---- Reading and writing ---- */

/* Rows first ... first+n-1 of one dataset; to is read into, from is written. */
static bool samba_hdf5_rows__move(samba_rows *r, int which, int64_t first, int64_t n, int32_t *to,
                                  const int32_t *from)
{
    hsize_t start[2] = { (hsize_t)first, 0 }, count[2] = { (hsize_t)n, (hsize_t)r->length };
    hid_t space = H5Dget_space(r->data[which]), memory = H5Screate_simple(2, count, NULL);
    herr_t done = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    if (done >= 0 && to)
        done = H5Dread(r->data[which], H5T_NATIVE_INT32, memory, space, H5P_DEFAULT, to);
    if (done >= 0 && from)
        done = H5Dwrite(r->data[which], H5T_NATIVE_INT32, memory, space, H5P_DEFAULT, from);
    H5Sclose(memory);
    H5Sclose(space);
    return done >= 0;
}

bool samba_rows_read(samba_rows *r, int64_t first, int64_t n, int32_t *ids, int32_t *types,
                     int32_t *categories, char *why, size_t why_size)
{
    int32_t *to[SAMBA_HDF5_ROWS__N_DATA];
    to[SAMBA_HDF5_ROWS__IDS] = ids;
    to[SAMBA_HDF5_ROWS__TYPES] = types;
    to[SAMBA_HDF5_ROWS__CATEGORIES] = categories;
    if (first < 0 || n < 0 || first > r->n || n > r->n - first)
        return samba_hdf5_rows__refuse(r, why, why_size,
                                       "rows %lld ... %lld are asked for, there are "
                                       "%lld",
                                       (long long)first, (long long)(first + n - 1),
                                       (long long)r->n);
    errno = 0;
    if (n == 0) return true;
    if (categories && !r->categories)
        return samba_hdf5_rows__refuse(r, why, why_size, "there is no dataset category_ids");
    for (int i = 0; i < SAMBA_HDF5_ROWS__N_DATA; i++)
        if (to[i] && !samba_hdf5_rows__move(r, i, first, n, to[i], NULL))
            return samba_hdf5_rows__fail(r, why, why_size,
                                         "rows cannot be read; the file is damaged");
    return true;
}

/* The chunk shape is guessed from the rows that are there now. */
static hid_t samba_hdf5_rows__create_data(const samba_rows *r, int which)
{
    int64_t guess[2];
    hsize_t shape[2], most[2], chunk[2];
    hid_t space, how, data;
    samba_rows_chunk(r->n_block, r->length, guess);
    shape[0] = 0;
    most[0] = H5S_UNLIMITED;
    shape[1] = most[1] = (hsize_t)r->length;
    chunk[0] = (hsize_t)guess[0];
    chunk[1] = (hsize_t)guess[1];
    space = H5Screate_simple(2, shape, most);
    how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, 2, chunk);
    H5Pset_deflate(how, 4);
    H5Pset_obj_track_times(how, false); /* equal rows make equal bytes */
    data = H5Dcreate2(r->file, samba_hdf5_rows__names[which], H5T_STD_I32LE, space, H5P_DEFAULT,
                      how, H5P_DEFAULT);
    H5Pclose(how);
    H5Sclose(space);
    return data;
}

static bool samba_hdf5_rows__resize(samba_rows *r, int64_t n)
{
    hsize_t shape[2] = { (hsize_t)n, (hsize_t)r->length };
    for (int i = 0; i < SAMBA_HDF5_ROWS__N_DATA; i++)
        if (r->data[i] >= 0 && H5Dset_extent(r->data[i], shape) < 0) return false;
    return true;
}

static bool samba_hdf5_rows__flush(samba_rows *r, char *why, size_t why_size)
{
    int n_data = r->categories ? SAMBA_HDF5_ROWS__N_DATA : SAMBA_HDF5_ROWS__CATEGORIES;
    bool ok = true;
    if (!r->n_block) return true;
    errno = 0;
    for (int i = 0; i < n_data && ok; i++) {
        if (r->data[i] < 0) r->data[i] = samba_hdf5_rows__create_data(r, i);
        ok = r->data[i] >= 0;
    }
    ok = ok && samba_hdf5_rows__resize(r, r->n + r->n_block);
    for (int i = 0; i < n_data && ok; i++)
        ok = samba_hdf5_rows__move(r, i, r->n, r->n_block, NULL, r->block[i]);
    if (!ok)
        return samba_hdf5_rows__fail(r, why, why_size, "rows cannot be written; is the disk full?");
    r->n += r->n_block;
    r->n_block = 0;
    return true;
}

static bool samba_hdf5_rows__need_block(samba_rows *r, char *why, size_t why_size)
{
    if (r->block_rows) return true;
    if (r->length < 1)
        return samba_hdf5_rows__refuse(r, why, why_size, "the length of a row was not given");
    for (int i = 0; i < SAMBA_HDF5_ROWS__N_DATA; i++) {
        size_t size = (size_t)samba_rows_block(r->length) * (size_t)r->length * sizeof(int32_t);
        if (!r->block[i]) r->block[i] = (int32_t *)malloc(size);
        if (!r->block[i])
            return samba_hdf5_rows__refuse(r, why, why_size, "no memory to write rows");
    }
    r->block_rows = samba_rows_block(r->length);
    return true;
}

bool samba_rows_append(samba_rows *r, int64_t n, const int32_t *ids, const int32_t *types,
                       const int32_t *categories, char *why, size_t why_size)
{
    const int32_t *from[SAMBA_HDF5_ROWS__N_DATA];
    from[SAMBA_HDF5_ROWS__IDS] = ids;
    from[SAMBA_HDF5_ROWS__TYPES] = types;
    from[SAMBA_HDF5_ROWS__CATEGORIES] = categories;
    if (!samba_hdf5_rows__need_block(r, why, why_size)) return false;
    for (int64_t row = 0; row < n; row++) {
        for (int i = 0; i < SAMBA_HDF5_ROWS__N_DATA; i++) {
            int32_t *to = r->block[i] + r->n_block * r->length;
            size_t size = (size_t)r->length * sizeof *to;
            if (from[i])
                memcpy(to, from[i] + row * r->length, size);
            else
                memset(to, 0xFF, size); /* -1 each */
        }
        if (++r->n_block == r->block_rows && !samba_hdf5_rows__flush(r, why, why_size))
            return false;
    }
    return true;
}

bool samba_rows_cut(samba_rows *r, int64_t n, char *why, size_t why_size)
{
    if (!samba_hdf5_rows__flush(r, why, why_size)) return false;
    if (n < 0 || n > r->n)
        return samba_hdf5_rows__refuse(r, why, why_size, "cannot keep %lld of %lld rows",
                                       (long long)n, (long long)r->n);
    if (!samba_hdf5_rows__resize(r, n))
        return samba_hdf5_rows__fail(r, why, why_size, "cannot be changed");
    r->n = n;
    return true;
}

/* ---- Closing ---- */

static void samba_hdf5_rows__free_blocks(samba_rows *r)
{
    for (int i = 0; i < SAMBA_HDF5_ROWS__N_DATA; i++) {
        free(r->block[i]);
        r->block[i] = NULL;
    }
}

/* A file that cannot be flushed (a full disk) stays open until the process ends: after an H5Fclose
   that fails, libhdf5 reaches into what it has freed, at the next file or at exit. */
static bool samba_hdf5_rows__end(samba_rows *r)
{
    bool ok = true;
    samba_hdf5_rows__free_blocks(r);
    errno = 0;
    if (r->file >= 0 && H5Fflush(r->file, H5F_SCOPE_LOCAL) < 0) return false;
    for (int i = 0; i < SAMBA_HDF5_ROWS__N_DATA; i++)
        if (r->data[i] >= 0) ok = H5Dclose(r->data[i]) >= 0 && ok;
    if (r->file >= 0) ok = H5Fclose(r->file) >= 0 && ok;
    return ok;
}

/* libhdf5 may keep the file open: the disk is to have its room at once. */
static void samba_hdf5_rows__drop_scratch(samba_rows *r)
{
    FILE *f = r->scratch.file ? fopen(r->scratch.file, "r+b") : NULL;
    if (f) {
        fclose(f);
        f = fopen(r->scratch.file, "wb");
    }
    if (f) fclose(f);
    samba_base_close_scratch(&r->scratch);
}

bool samba_rows_close(samba_rows *r, char *why, size_t why_size)
{
    bool ok;
    if (!r) return true;
    ok = samba_hdf5_rows__flush(r, why, why_size);
    if (!samba_hdf5_rows__end(r) && ok)
        ok = samba_hdf5_rows__fail(r, why, why_size,
                                   "the last rows cannot be written; is the disk "
                                   "full?");
    errno = 0;
    if (ok && r->scratch.file && !samba_base_rename(r->scratch.file, r->path))
        ok = samba_hdf5_rows__fail(r, why, why_size, "cannot be replaced");
    samba_hdf5_rows__drop_scratch(r);
    free(r->path);
    free(r);
    return ok;
}

void samba_rows_abandon(samba_rows *r)
{
    if (!r) return;
    samba_hdf5_rows__end(r);
    samba_hdf5_rows__drop_scratch(r);
    free(r->path);
    free(r);
}

#endif /* SAMBA_HDF5_ROWS_IMPLEMENTATION */
