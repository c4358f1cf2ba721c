/* idx.h - images and their labels in IDX files, the format of MNIST, plain or gzipped.

   Needs samba.h before it, and zlib. `#define SAMBA_IDX_IMPLEMENTATION` in one file enables the
   code; SAMBA_IDX_STATIC makes all functions private to the file. C99 or C++11. */
#ifndef SAMBA_IDX_H
#define SAMBA_IDX_H

#ifndef SAMBA_H
#error "idx.h: include samba.h before"
#endif

#ifndef SAMBA_IDX_API
#if defined(SAMBA_IDX_STATIC)
#define SAMBA_IDX_API static inline
#elif defined(__cplusplus)
#define SAMBA_IDX_API extern "C"
#else
#define SAMBA_IDX_API extern
#endif
#endif

typedef struct samba_idx {
    float mean, deviation; /* of the pixels in 0 ... 1; deviation 0 is 1 */
    int32_t n;
    int32_t pixels;       /* of an image: side * side */
    unsigned char *image; /* (n, side, side) */
    unsigned char *label; /* (n), each below classes */
    samba_spec row[2];    /* what samba_idx_fill writes: samba_dataset.writes */
} samba_idx;

/* Reads FOLDER/WHICH-images-idx3-ubyte and FOLDER/WHICH-labels-idx1-ubyte, or these names with .gz;
   which is "train" or "t10k". False with an error in s, and nothing to close. Mean and deviation
   are the caller's and stay: samba_idx images = { .mean = 0.2860f, .deviation = 0.3530f }. */
SAMBA_IDX_API bool samba_idx_open(samba_session *s, samba_idx *idx, const char *folder,
                                  const char *which, int32_t side, int32_t classes);
/* A sample as samba_dataset.fill of loader.h wants it, with the samba_idx as its user: the image as
   (pixel / 255 - mean) / deviation in row[0], f32, the label in row[1], i32. With
   samba_dataset.writes = idx->row tensors of other types and sizes are refused. */
SAMBA_IDX_API void samba_idx_fill(void *idx, int32_t sample, void *const *row);
SAMBA_IDX_API void samba_idx_close(samba_idx *idx);

#endif /* SAMBA_IDX_H */

#if defined(SAMBA_IDX_IMPLEMENTATION) && !defined(SAMBA_IDX__IMPLEMENTED)
#define SAMBA_IDX__IMPLEMENTED

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static inline uint32_t samba_idx__number(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The next n bytes, and nothing behind them; NULL: the file has fewer, or more, or there is no
   memory. Memory grows with what is really there: a count in a damaged header asks for 2 GB. */
static inline unsigned char *samba_idx__bytes(gzFile f, size_t n)
{
    unsigned char *data = NULL, more;
    size_t size = 0, room = 0;

    while (size < n) {
        room = room ? 2 * room : 1 << 16;
        if (room > n) room = n;
        unsigned char *larger = (unsigned char *)realloc(data, room);
        if (!larger) break;
        data = larger;
        int got = gzread(f, data + size, (unsigned)(room - size));
        if (got != (int)(room - size)) break;
        size = room;
    }

    if (size == n && gzread(f, &more, 1) == 0) return data;
    free(data);
    return NULL;
}

/* One file: bytes 0 0 8 ndim, then ndim sizes, then the data. side 0: labels. */
static inline unsigned char *samba_idx__read(samba_session *s, const char *folder, const char *name,
                                             int32_t side, int32_t *n)
{
    char path[1024];
    unsigned char head[16] = { 0 }, *data = NULL;
    uint32_t ndim = side ? 3 : 1, head_size = 4 + 4 * ndim;
    uint32_t length = (uint32_t)side, item = side ? length * length : 1;
    snprintf(path, sizeof path, "%s/%s.gz", folder, name);
    gzFile f = gzopen(path, "rb");
    if (!f) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        f = gzopen(path, "rb");
    }
    if (!f) {
        samba_fail(s, SAMBA_EIO,
                   "there is no %s.gz in %s. Debian has the data: apt-get install "
                   "dataset-fashion-mnist. Elsewhere, put the four files of github.com/"
                   "zalandoresearch/fashion-mnist into a folder and say --data FOLDER",
                   name, folder);
        return NULL;
    }
    bool ok
        = gzread(f, head, head_size) == (int)head_size && samba_idx__number(head) == 0x800 + ndim;
    if (side)
        ok = ok && samba_idx__number(head + 8) == length && samba_idx__number(head + 12) == length;
    uint32_t count = samba_idx__number(head + 4);
    ok = ok && count >= 1 && count <= 1000000 && (uint64_t)count * item < 0x7FFFFFFF;
    if (ok) data = samba_idx__bytes(f, (size_t)count * item);
    ok = gzclose(f) == Z_OK && data;
    if (ok) {
        *n = (int32_t)count;
        return data;
    }
    free(data);
    samba_fail(s, SAMBA_EIO,
               side ? "%s is damaged, or not an IDX file of %d x %d images"
                    : "%s is damaged, or not an IDX file of labels",
               path, side, side);
    return NULL;
}

SAMBA_IDX_API bool samba_idx_open(samba_session *s, samba_idx *idx, const char *folder,
                                  const char *which, int32_t side, int32_t classes)
{
    char name[64];
    int32_t n_labels = 0;
    idx->n = 0;
    idx->pixels = (int32_t)((uint32_t)side * (uint32_t)side);
    idx->image = idx->label = NULL;
    memset(idx->row, 0, sizeof idx->row);
    idx->row[0].dtype = SAMBA_F32;
    idx->row[0].shape = SAMBA_SHAPE(side, side);
    idx->row[1].dtype = SAMBA_I32;
    if (!samba_ok(s)) return false;
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", which);
    idx->image = samba_idx__read(s, folder, name, side, &idx->n);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", which);
    if (idx->image) idx->label = samba_idx__read(s, folder, name, 0, &n_labels);
    if (idx->label && n_labels != idx->n)
        samba_fail(s, SAMBA_EIO, "%s: %d images, %d labels", which, idx->n, n_labels);
    for (int32_t i = 0; samba_ok(s) && i < idx->n; i++)
        if (idx->label[i] >= classes)
            samba_fail(s, SAMBA_EIO, "%s: label %d is not 0 ... %d", which, i, classes - 1);
    if (samba_ok(s)) return true;
    samba_idx_close(idx);
    return false;
}

SAMBA_IDX_API void samba_idx_fill(void *idx, int32_t sample, void *const *row)
{
    const samba_idx *from = (const samba_idx *)idx;
    const unsigned char *pixel = from->image + (size_t)sample * (size_t)from->pixels;
    float deviation = from->deviation > 0.0f ? from->deviation : 1.0f, *x = (float *)row[0];
    for (int32_t k = 0; k < from->pixels; k++)
        x[k] = ((float)pixel[k] / 255.0f - from->mean) / deviation;
    if (row[1]) *(int32_t *)row[1] = from->label[sample]; /* NULL: images alone are wanted */
}

SAMBA_IDX_API void samba_idx_close(samba_idx *idx)
{
    free(idx->image);
    free(idx->label);
    memset(idx, 0, sizeof *idx);
}
#endif /* SAMBA_IDX_IMPLEMENTATION */
/* MIT license, as samba.h. */
