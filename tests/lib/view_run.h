// What a page of tools/samba view must show: a run of a checkpoint whose inputs are written down as
// .npy, with the flags that give them to the tool, and what comes of it as text. Include after
// samba.h.
#ifndef VIEW_RUN_H
#define VIEW_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder; // where all of these files are

static const char *in_folder(const char *name, const char *end)
{
    static char path[2][512];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s%s", folder, name, end);
    return path[turn];
}

// The data of a tensor, as NumPy writes it.
static void write_npy(const char *path, const char *type, const samba_shape *shape,
                      const void *data, size_t size)
{
    char header[128], dims[64] = "";
    for (int32_t d = 0; d < shape->ndim; d++)
        snprintf(dims + strlen(dims), sizeof dims - strlen(dims), "%d,", shape->dim[d]);
    int n = snprintf(header, sizeof header,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, dims);
    FILE *f = fopen(path, "wb");
    if (!f) return;
    while ((n + 11) % 64)
        header[n++] = ' ';
    header[n++] = '\n';
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fputc(n & 255, f);
    fputc(n >> 8, f);
    fwrite(header, 1, (size_t)n, f);
    fwrite(data, 1, size, f);
    fclose(f);
}

// Fills an input that has n elements; number: which input of its net it is.
typedef void view_fill(const samba_tensor *t, int32_t number, int64_t n, void *data);

// Small numbers of both signs, classes, or flags.
static void fill_pattern(const samba_tensor *t, int32_t number, int64_t n, void *data)
{
    for (int64_t k = 0; k < n; k++) {
        if (t->dtype == SAMBA_F32)
            ((float *)data)[k] = (float)((k + number) * 7 % 23) / 16 - 0.6f;
        else if (t->dtype == SAMBA_BOOL)
            ((unsigned char *)data)[k] = k % 4 != 1;
        else
            ((int32_t *)data)[k] = (int32_t)(k % 3);
    }
}

// To the session, and as a file, whose flag is added to NAME.inputs.
static void give_input(samba_session *s, const char *net, const char *input, int32_t number,
                       int32_t parts, view_fill *fill, FILE *flags)
{
    char name[64];
    samba_tensor *t = samba_tensor_by_name(s, input);
    int64_t n = samba_count(&t->shape) * parts;
    size_t size = (size_t)n * samba_dtype_size(t->dtype);
    samba_shape shape = t->shape;
    void *data = malloc(size);
    if (parts > 1 && t->batch_dim >= 0) shape.dim[t->batch_dim] *= parts;
    fill(t, number, n, data);
    snprintf(name, sizeof name, "%s_%d.npy", net, number);
    const char *type = t->dtype == SAMBA_F32 ? "<f4" : "<i4";
    if (t->dtype == SAMBA_BOOL) type = "|b1";
    samba_write_bytes(t, data, size);
    write_npy(in_folder(name, ""), type, &shape, data, size);
    fprintf(flags, "--input\n%s=%s\n", input, in_folder(name, ""));
    free(data);
}

// "NAME VALUE ..." for each of the tensors, their first values.
static void write_values(FILE *to, samba_session *s, const char *const *names, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        samba_tensor *t = samba_tensor_by_name(s, names[i]);
        int64_t count = t ? (int64_t)(samba_bytes(t) / samba_dtype_size(t->dtype)) : 0;
        float *value = malloc((size_t)count * sizeof *value + 1);
        if (!t || !samba_copy_out_f32(t, value, count)) puts(samba_error(s));
        int64_t all = samba_count(&t->shape); // a batched output: the first microbatch
        fprintf(to, "%s\n", names[i]);
        for (int64_t k = 0; k < all && k < 200; k++)
            fprintf(to, "%.9g ", value[k]);
        fprintf(to, "\n");
        free(value);
    }
}

enum { MOST_NAMES = 4096 };

// Runs some steps with inputs that are written down, and what comes of the last.
static bool write_run(const char *name, int32_t parts, int steps, view_fill *fill)
{
    static const char *names[MOST_NAMES];
    samba_session *s = samba_open(NULL);
    FILE *flags = fopen(in_folder(name, ".inputs"), "w");
    FILE *to = fopen(in_folder(name, ".expected"), "w");
    bool fine = flags && to && samba_load(s, in_folder(name, ".ckpt"), NULL);
    int32_t n = fine ? samba_input_names(s, names, MOST_NAMES) : 0;
    for (int32_t i = 0; i < n; i++)
        give_input(s, name, names[i], i, parts, fill, flags);
    for (int i = 0; fine && i < steps; i++)
        fine = samba_run(s, 0);
    n = samba_output_names(s, names, MOST_NAMES);
    n += samba_weight_names(s, names + n, MOST_NAMES - n);
    n += samba_grad_names(s, names + n, MOST_NAMES - n);
    if (fine) write_values(to, s, names, n);
    if (flags) fclose(flags);
    if (to) fclose(to);
    if (!samba_ok(s)) puts(samba_error(s));
    samba_close(s);
    return fine;
}

#endif
