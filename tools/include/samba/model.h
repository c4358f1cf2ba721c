/* model.h - what gpt2.h and llama.h share: config.json by key, names, adapters in files.

   Part of the headers that include it: all functions are private to the file, and nothing is to be
   enabled. Needs samba.h, safetensors.h, cJSON; C99 or C++11. SAMBA_MODEL_MALLOC(size) and
   SAMBA_MODEL_FREE(p), both, allocate elsewhere.

   A folder of a model is what transformers' save_pretrained writes: config.json, and the weights in
   model.safetensors or in shards, which samba_safetensors_open_folder finds. */
#ifndef SAMBA_MODEL_H
#define SAMBA_MODEL_H

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(SAMBA_MODEL_MALLOC)
#define SAMBA_MODEL_MALLOC(size) malloc(size)
#define SAMBA_MODEL_FREE(p) free(p)
#endif

enum {
    SAMBA_MODEL__CONFIG_DEPTH = 16,
    SAMBA_MODEL__MAX_NAME = 96 /* of a parameter, with its 0 */
};

/* ---- Reasons ---- */

/* Where a reason goes. */
typedef struct samba_model__why {
    char *text;
    size_t size;
} samba_model__why;

static inline samba_model__why samba_model__why_of(char *text, size_t size)
{
    samba_model__why why;
    why.text = text;
    why.size = text ? size : 0;
    if (why.size) text[0] = 0;
    return why;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline bool
samba_model__fail(const samba_model__why *why, const char *fmt, ...)
{
    va_list args;
    if (!why->size) return false;
    va_start(args, fmt);
    vsnprintf(why->text, why->size, fmt, args);
    va_end(args);
    for (char *p = why->text; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 127) *p = '?'; /* names in files are hostile */
    }
    return false;
}

/* ---- config.json ---- */

static inline bool samba_model__in(const char *key, int64_t value, int64_t least, int64_t most,
                                   const samba_model__why *why)
{
    if (value >= least && value <= most) return true;
    return samba_model__fail(why, "%s is %lld; it must be %lld ... %lld", key, (long long)value,
                             (long long)least, (long long)most);
}

static inline bool samba_model__real_in(const char *key, double value, double least, double most,
                                        const samba_model__why *why)
{
    if (value >= least && value <= most) return true; /* NaN is not */
    return samba_model__fail(why, "%s is %g; it must be %g ... %g", key, value, least, most);
}

typedef struct samba_model__reader {
    const cJSON *json;
    const samba_model__why *why;
    bool failed; /* the first reason stands */
} samba_model__reader;

/* The value of a key; NULL if it is missing or null, which is an error if it is required. */
static inline const cJSON *samba_model__key(samba_model__reader *r, const char *key, bool required)
{
    const cJSON *item = r->failed ? NULL : cJSON_GetObjectItemCaseSensitive(r->json, key);
    if (item && !cJSON_IsNull(item)) return item;
    if (required && !r->failed) r->failed = !samba_model__fail(r->why, "%s is missing", key);
    return NULL;
}

static inline void samba_model__wrong_type(samba_model__reader *r, const char *key,
                                           const char *want)
{
    r->failed = !samba_model__fail(r->why, "%s must be %s", key, want);
}

static inline void samba_model__read_int(samba_model__reader *r, const char *key, bool required,
                                         int32_t *out)
{
    const cJSON *item = samba_model__key(r, key, required);
    if (!item) return;
    double x = cJSON_IsNumber(item) ? item->valuedouble : 0.5;
    if (x != floor(x)) {
        samba_model__wrong_type(r, key, "a whole number");
    } else if (!(x >= -1 && x <= INT32_MAX)) {
        r->failed = !samba_model__fail(r->why, "%s is %g, out of all range", key, x);
    } else {
        *out = (int32_t)x;
    }
}

static inline void samba_model__read_real(samba_model__reader *r, const char *key, double *out)
{
    const cJSON *item = samba_model__key(r, key, false);
    if (!item) return;
    if (cJSON_IsNumber(item))
        *out = item->valuedouble;
    else
        samba_model__wrong_type(r, key, "a number");
}

static inline void samba_model__read_bool(samba_model__reader *r, const char *key, bool *out)
{
    const cJSON *item = samba_model__key(r, key, false);
    if (!item) return;
    if (cJSON_IsBool(item))
        *out = cJSON_IsTrue(item) != 0;
    else
        samba_model__wrong_type(r, key, "true or false");
}

/* ---- Names and values ---- */

/* Copies a name; every from becomes to. */
static inline bool samba_model__translate(const char *name, const char *from, const char *to,
                                          char *out, size_t out_size)
{
    size_t n = 0, from_n = strlen(from), to_n = strlen(to);
    if (!name || !out || !out_size) return false;
    while (*name) {
        bool hit = !strncmp(name, from, from_n);
        size_t add = hit ? to_n : 1;
        if (add >= out_size - n) return false;
        memcpy(out + n, hit ? to : name, add);
        n += add;
        name += hit ? from_n : 1;
    }
    out[n] = 0;
    return true;
}

static inline const char *samba_model__after(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) ? NULL : name + n;
}

static inline bool samba_model__is_float(const samba_safetensors_tensor *t,
                                         const samba_model__why *why)
{
    if (t->dtype == SAMBA_SAFETENSORS_F32 || t->dtype == SAMBA_SAFETENSORS_F16
        || t->dtype == SAMBA_SAFETENSORS_BF16)
        return true;
    return samba_model__fail(why, "tensor \"%s\" is %s; weights must be F32, F16 or BF16", t->name,
                             samba_safetensors_dtype_name(t->dtype));
}

/* The session's tensor of this name and shape; NULL with the reason. traces: what makes it. */
static inline samba_tensor *samba_model__tensor(samba_session *s, const char *name,
                                                const samba_shape *shape, const char *traces,
                                                const samba_model__why *why)
{
    bool quiet = samba_set_quiet(s, true); /* the caller gets the reason by why */
    samba_tensor *t = samba_tensor_by_name(s, name);
    if (!t) {
        samba_model__fail(why, "%s. Trace %s, or load its PEF, before", samba_error(s), traces);
        samba_clear_error(s); /* the session is as good as before */
    }
    samba_set_quiet(s, quiet);
    if (!t) return NULL;

    bool real = t->dtype == SAMBA_F32 || t->dtype == SAMBA_BF16 || t->dtype == SAMBA_F16;
    bool same = real && t->shape.ndim == shape->ndim;
    for (int32_t d = 0; same && d < shape->ndim; d++)
        same = t->shape.dim[d] == shape->dim[d];
    if (same) return t;

    samba_model__fail(why,
                      "the session's %s is not the one of this configuration: its first dimension "
                      "is %d of %d, not %d of %d",
                      name, t->shape.ndim ? (int)t->shape.dim[0] : 0, (int)t->shape.ndim,
                      (int)shape->dim[0], (int)shape->ndim);
    return NULL;
}

/* What was read of files that hold NaN or infinities: which tensor first, and in how many more. */
typedef struct samba_model__nonfinite {
    char name[SAMBA_MODEL__MAX_NAME + 32];
    int64_t values;
    int32_t others;
} samba_model__nonfinite;

static inline void samba_model__count_nonfinite(samba_model__nonfinite *bad, const char *name,
                                                const float *x, int64_t n)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        found += (bits & 0x7F800000u) == 0x7F800000u;
    }
    if (!found) return;
    if (bad->values) {
        bad->others++;
        return;
    }
    snprintf(bad->name, sizeof bad->name, "%s", name);
    bad->values = found;
}

/* Such weights are loaded, and told: a run that uses them makes nothing but NaN. */
static inline void samba_model__tell_nonfinite(samba_session *s, const samba_model__nonfinite *bad)
{
    if (!bad->values) return;
    samba_warn(s,
               "the file's tensor %s holds NaN or infinities in %l of its values; so do %d other "
               "tensors. Did the training that saved them diverge?",
               bad->name, bad->values, bad->others);
}

/* ---- The parameters of a model, from a file ---- */

typedef struct samba_model__source samba_model__source;

/* What a family of models says of its parameters, which have numbers. */
typedef struct samba_model__family {
    /* The tensor of parameter i in the session; NULL, with the reason in why. */
    samba_tensor *(*tensor)(samba_session *s, const void *config, int32_t i,
                            const samba_model__why *why);
    /* The number of the parameter that a tensor is; -1: none. */
    int32_t (*find)(const void *config, const char *tensor_name);
    /* All of parameter i as samba has it, or the rows first ... first+n-1 of a matrix. */
    bool (*read)(const samba_model__source *from, int32_t i, float *values);
    bool (*read_rows)(const samba_model__source *from, int32_t i, int32_t first, int32_t n,
                      float *rows);
} samba_model__family;

/* A file whose tensors are those of a configuration. */
struct samba_model__source {
    const samba_model__family *family;
    const void *config;
    const samba_safetensors *f;
    int32_t n;                           /* parameters */
    const samba_safetensors_tensor **of; /* of each parameter */
    bool *packed;                        /* the program has packed it: it was read */
    float *rows;                         /* the family's own, for read and read_rows; may be NULL */
    const samba_model__why *why;
};

static inline void samba_model__close_source(samba_model__source *from)
{
    SAMBA_MODEL_FREE(from->of);
    SAMBA_MODEL_FREE(from->packed);
}

/* Room for what is known of n parameters. To be closed either way. */
static inline bool samba_model__open_source(samba_model__source *from,
                                            const samba_model__family *family, const void *config,
                                            int32_t n, const samba_safetensors *f,
                                            const samba_model__why *why)
{
    memset(from, 0, sizeof *from);
    from->family = family;
    from->config = config;
    from->f = f;
    from->n = n;
    from->why = why;
    from->of = (const samba_safetensors_tensor **)SAMBA_MODEL_MALLOC((size_t)n * sizeof *from->of);
    from->packed = (bool *)SAMBA_MODEL_MALLOC((size_t)n * sizeof *from->packed);
    if (!from->of || !from->packed)
        return samba_model__fail(why, "there is no memory for a list of %d parameters", (int)n);
    memset(from->packed, 0, (size_t)n * sizeof *from->packed);
    return true;
}

/* Room for the largest parameter that is not packed. */
static inline float *samba_model__buffer(const samba_model__source *from)
{
    uint64_t most = 1;
    for (int32_t i = 0; i < from->n; i++)
        if (!from->packed[i] && from->of[i]->count > most) most = from->of[i]->count;
    float *buffer = (float *)SAMBA_MODEL_MALLOC((size_t)most * sizeof *buffer);
    if (!buffer) {
        samba_model__fail(from->why, "there is no memory for %llu elements",
                          (unsigned long long)most);
    }
    return buffer;
}

/* Writes all parameters to the session, but those that are packed. */
static inline bool samba_model__fill(const samba_model__source *from, samba_session *s)
{
    samba_model__nonfinite bad;
    memset(&bad, 0, sizeof bad);
    float *buffer = samba_model__buffer(from);
    bool fine = buffer != NULL;
    for (int32_t i = 0; fine && i < from->n; i++) {
        if (from->packed[i]) continue;
        samba_tensor *t = from->family->tensor(s, from->config, i, from->why);
        fine = t && from->family->read(from, i, buffer);
        if (!fine) break;
        samba_model__count_nonfinite(&bad, from->of[i]->name, buffer, samba_count(&t->shape));
        if (!samba_write_f32(t, buffer, samba_count(&t->shape)))
            fine = samba_model__fail(from->why, "%s", samba_error(s));
    }
    if (fine) samba_model__tell_nonfinite(s, &bad);
    SAMBA_MODEL_FREE(buffer);
    return fine;
}

/* For samba_program.weight_rows. */
static inline bool samba_model__give_rows(const samba_tensor *w, int32_t first, int32_t n,
                                          float *rows, void *user)
{
    samba_model__source *from = (samba_model__source *)user;
    int32_t i = from->family->find(from->config, w->name);
    if (i < 0) {
        return samba_fail(w->session, SAMBA_ENAME,
                          "%s is no parameter of the model: it cannot be packed from its folder",
                          w->name);
    }
    from->packed[i] = true;
    if (from->family->read_rows(from, i, first, n, rows)) return true;
    return samba_fail(w->session, SAMBA_EIO, "%s",
                      from->why->size ? from->why->text : "a file is damaged");
}

/* Compiles a program whose weights are packed while they are read; the others are written then. */
static inline bool samba_model__compile(samba_model__source *from, samba_session *s,
                                        samba_program program)
{
    program.weight_rows = samba_model__give_rows;
    program.weight_rows_user = from;
    if (!samba_compile(s, &program)) return samba_model__fail(from->why, "%s", samba_error(s));
    return samba_model__fill(from, s);
}

/* ---- Adapters ---- */

static const char samba_model__peft[] = "base_model.model.";

/* The adapter tensors of the loaded program, with their names in a file. */
typedef struct samba_model__adapter {
    samba_tensor *tensor;
    char name[sizeof samba_model__peft + SAMBA_MODEL__MAX_NAME];
} samba_model__adapter;

/* Their number; *list is to be freed. -1: no memory, or there are none. */
static inline int32_t samba_model__adapters(samba_session *s, samba_model__adapter **list,
                                            const samba_model__why *why)
{
    int32_t all = samba_weight_names(s, NULL, 0), n = 0;
    const char **names = (const char **)SAMBA_MODEL_MALLOC((size_t)(all + 1) * sizeof *names);
    *list = (samba_model__adapter *)SAMBA_MODEL_MALLOC((size_t)(all + 1) * sizeof **list);
    if (names && *list) samba_weight_names(s, names, all);
    for (int32_t i = 0; names && *list && i < all; i++) {
        samba_model__adapter *a = &(*list)[n];
        if (!strstr(names[i], "__lora_")) continue;
        memcpy(a->name, samba_model__peft, sizeof samba_model__peft);
        if (!samba_model__translate(names[i], "__", ".", a->name + sizeof samba_model__peft - 1,
                                    SAMBA_MODEL__MAX_NAME))
            continue;
        a->tensor = samba_tensor_by_name(s, names[i]);
        n += a->tensor != NULL;
    }
    if (!names || !*list)
        samba_model__fail(why, "there is no memory for a list of adapters");
    else if (!n)
        samba_model__fail(why,
                          "the program has no adapters: call samba_add_lora before tracing, "
                          "and compile or load");
    SAMBA_MODEL_FREE(names);
    if (n) return n;
    SAMBA_MODEL_FREE(*list);
    *list = NULL;
    return -1;
}

/* In one file, with the names of PEFT. */
static inline bool samba_model__save_lora(samba_session *s, const char *path,
                                          samba_safetensors_dtype dtype, char *why, size_t why_size)
{
    const char *const metadata[2] = { "format", "pt" };
    samba_model__why w = samba_model__why_of(why, why_size);
    samba_model__adapter *list;
    int32_t n = samba_model__adapters(s, &list, &w);
    if (n < 0) return false;
    samba_safetensors_entry *entries
        = (samba_safetensors_entry *)SAMBA_MODEL_MALLOC((size_t)n * sizeof *entries);
    samba_safetensors_writer *writer = NULL;
    int64_t most = 0;
    for (int32_t i = 0; i < n; i++)
        if (samba_count(&list[i].tensor->shape) > most) most = samba_count(&list[i].tensor->shape);
    float *values = (float *)SAMBA_MODEL_MALLOC((size_t)(most + 1) * sizeof *values);
    if (entries) memset(entries, 0, (size_t)n * sizeof *entries);
    for (int32_t i = 0; entries && i < n; i++) {
        entries[i].name = list[i].name;
        entries[i].dtype = dtype;
        entries[i].ndim = 2;
        for (int d = 0; d < 2; d++)
            entries[i].dim[d] = list[i].tensor->shape.dim[d];
    }
    if (!entries || !values)
        samba_model__fail(&w, "there is no memory for a list of %d adapters", (int)n);
    else
        writer = samba_safetensors_create(path, entries, (size_t)n, metadata, 1, why, why_size);
    bool fine = writer != NULL;
    for (int32_t i = 0; fine && i < n; i++) {
        int64_t count = samba_count(&list[i].tensor->shape);
        fine = samba_copy_out_f32(list[i].tensor, values, count);
        if (fine)
            samba_safetensors_put(writer, values, (uint64_t)count);
        else
            samba_model__fail(&w, "%s", samba_error(s));
    }
    if (fine)
        fine = samba_safetensors_finish(writer, why, why_size);
    else if (writer)
        samba_safetensors_abandon(writer);
    SAMBA_MODEL_FREE(entries);
    SAMBA_MODEL_FREE(values);
    SAMBA_MODEL_FREE(list);
    return fine;
}

/* Finds and measures every adapter of the list before one is changed. */
static inline bool samba_model__read_adapters(const samba_model__adapter *list, int32_t n,
                                              const samba_safetensors *f, bool write, float *buffer,
                                              const samba_model__why *why)
{
    samba_model__nonfinite bad;
    memset(&bad, 0, sizeof bad);
    for (int32_t i = 0; i < n; i++) {
        const samba_safetensors_tensor *t = samba_safetensors_find(f, list[i].name);
        const int32_t *dim = list[i].tensor->shape.dim;
        if (!t) return samba_model__fail(why, "tensor \"%s\" is missing", list[i].name);
        if (t->ndim != 2 || t->dim[0] != dim[0] || t->dim[1] != dim[1]) {
            return samba_model__fail(why,
                                     "tensor \"%s\" must be (%d,%d): the program has adapters of "
                                     "another rank, or another model",
                                     list[i].name, dim[0], dim[1]);
        }
        if (!samba_model__is_float(t, why)) return false;
        if (!write) continue;
        if (!samba_safetensors_read_f32(f, t, 0, t->count, buffer, why->text, why->size)) {
            return false;
        }
        samba_model__count_nonfinite(&bad, list[i].name, buffer,
                                     samba_count(&list[i].tensor->shape));
        if (!samba_write_f32(list[i].tensor, buffer, samba_count(&list[i].tensor->shape))) {
            return samba_model__fail(why, "%s", samba_error(list[i].tensor->session));
        }
    }
    samba_model__tell_nonfinite(list[0].tensor->session, &bad);
    return true;
}

/* Wants exactly the adapters of the program. */
static inline bool samba_model__load_lora(samba_session *s, const char *path, char *why,
                                          size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    samba_model__adapter *list;
    int64_t most = 0;
    int32_t n = samba_model__adapters(s, &list, &w);
    if (n < 0) return false;
    for (int32_t i = 0; i < n; i++) {
        int64_t count = samba_count(&list[i].tensor->shape);
        if (count > most) most = count;
    }
    samba_safetensors *f = samba_safetensors_open(&path, 1, why, why_size);
    float *buffer = (float *)SAMBA_MODEL_MALLOC((size_t)most * sizeof *buffer);
    bool fine = f && (buffer || samba_model__fail(&w, "there is no memory for an adapter"));
    if (fine && samba_safetensors_count(f) != (size_t)n) {
        fine = samba_model__fail(&w, "%s has %d tensors, the program %d of adapters", path,
                                 (int)samba_safetensors_count(f), (int)n);
    }
    fine = fine && samba_model__read_adapters(list, n, f, false, buffer, &w)
        && samba_model__read_adapters(list, n, f, true, buffer, &w);
    samba_safetensors_close(f);
    SAMBA_MODEL_FREE(buffer);
    SAMBA_MODEL_FREE(list);
    return fine;
}

#endif /* SAMBA_MODEL_H */
/* MIT license, as samba.h. */
