// Reads tests/golden/ops_*.bin; make_ops.py says what is in them. Trusts nothing in the file.
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

enum {
    GOLDEN_ABSENT = 255, // dtype of an optional input that is not there
    GOLDEN_TIE = 1,      // flag: a tie or a kink, no place for difference quotients
    GOLDEN_MAX_IN = 24,
    GOLDEN_MAX_OUT = 8,
    GOLDEN_MAX_ATTR = 24,
    GOLDEN_MAX_DIMS = 8,
    GOLDEN_MAX_COUNT = 1 << 16 // elements of a tensor
};

typedef struct golden_tensor {
    int32_t dtype; // a samba_dtype, or GOLDEN_ABSENT
    int32_t ndim, dim[GOLDEN_MAX_DIMS];
    size_t count, size; // elements, bytes
    const void *data;
    bool marked;       // input: needs a gradient; output: has a cotangent
    const float *mate; // that gradient or cotangent, else NULL
} golden_tensor;

typedef struct golden_case {
    char op[32];
    uint32_t flags;
    int32_t n_attr, n_in, n_out;
    double attr[GOLDEN_MAX_ATTR];
    golden_tensor in[GOLDEN_MAX_IN], out[GOLDEN_MAX_OUT];
} golden_case;

typedef struct golden_file {
    uint8_t *bytes; // the tensors point into it
    size_t size, at;
    golden_case *cases;
    uint32_t n_cases;
    const char *why; // what is wrong with the file; NULL: nothing
} golden_file;

// The next n bytes; NULL, with a reason, if the file ends before.
static inline const uint8_t *golden_take(golden_file *f, size_t n)
{
    if (f->why) return NULL;
    if (n > f->size - f->at) {
        f->why = "the file is too short";
        return NULL;
    }
    f->at += n;
    return f->bytes + (f->at - n);
}

// The next word, which must not exceed max; 0 if it does.
static inline uint32_t golden_word(golden_file *f, uint32_t max, const char *why)
{
    uint32_t v;
    const uint8_t *p = golden_take(f, 4);
    if (!p) return 0;
    memcpy(&v, p, 4);
    if (v <= max) return v;
    f->why = why;
    return 0;
}

static inline bool golden_all_bools(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] > 1) return false;
    }
    return true;
}

static inline void golden_tensor_read(golden_file *f, golden_tensor *t, bool may_be_absent)
{
    static const uint8_t size_of[8] = { 4, 2, 2, 4, 2, 1, 1, 1 }; // by samba_dtype
    memset(t, 0, sizeof *t);
    t->dtype = (int32_t)golden_word(f, GOLDEN_ABSENT, "unknown dtype");
    if (t->dtype == GOLDEN_ABSENT && may_be_absent) return;
    if (t->dtype > 7) f->why = "unknown dtype";
    t->marked = golden_word(f, 1, "a flag is neither 0 nor 1") != 0;
    if (t->marked && t->dtype != 0) f->why = "a gradient of something that is not f32";
    t->ndim = (int32_t)golden_word(f, GOLDEN_MAX_DIMS, "too many dimensions");
    t->count = 1;
    for (int32_t i = 0; i < t->ndim; i++) {
        t->dim[i] = (int32_t)golden_word(f, GOLDEN_MAX_COUNT, "dimension out of range");
        t->count *= (size_t)t->dim[i];
        if (!f->why && (t->count < 1 || t->count > GOLDEN_MAX_COUNT)) f->why = "shape out of range";
        if (f->why) return;
    }
    if (f->why) return;
    t->size = t->count * size_of[t->dtype];
    t->data = golden_take(f, (t->size + 3) & ~(size_t)3);
    if (!t->data) return;
    if (t->dtype == 7 && !golden_all_bools((const uint8_t *)t->data, t->size))
        f->why = "a bool is neither 0 nor 1";
    for (size_t i = t->size; i % 4; i++) {
        if (((const uint8_t *)t->data)[i]) f->why = "padding is not zero";
    }
}

static inline void golden_mates_read(golden_file *f, golden_tensor *t, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (t[i].marked) t[i].mate = (const float *)(const void *)golden_take(f, t[i].count * 4);
    }
}

static inline void golden_case_read(golden_file *f, golden_case *c)
{
    const uint8_t *name = golden_take(f, sizeof c->op), *attr;
    bool ended = false;
    memset(c, 0, sizeof *c);
    if (!name) return;
    memcpy(c->op, name, sizeof c->op);
    for (size_t i = 0; i < sizeof c->op; i++) {
        bool letter = (c->op[i] >= 'a' && c->op[i] <= 'z') || (c->op[i] >= '0' && c->op[i] <= '9')
            || c->op[i] == '_';
        if (c->op[i] ? ended || !letter : i == 0) f->why = "the op's name is not a name";
        if (!c->op[i]) ended = true;
    }
    if (!ended) f->why = "the op's name does not end";
    c->flags = golden_word(f, GOLDEN_TIE, "unknown flag");
    c->n_attr = (int32_t)golden_word(f, GOLDEN_MAX_ATTR, "too many attributes");
    attr = golden_take(f, (size_t)c->n_attr * 8);
    if (attr) memcpy(c->attr, attr, (size_t)c->n_attr * 8);
    c->n_in = (int32_t)golden_word(f, GOLDEN_MAX_IN, "too many inputs");
    for (int32_t i = 0; i < c->n_in && !f->why; i++)
        golden_tensor_read(f, &c->in[i], true);
    c->n_out = (int32_t)golden_word(f, GOLDEN_MAX_OUT, "too many outputs");
    for (int32_t i = 0; i < c->n_out && !f->why; i++)
        golden_tensor_read(f, &c->out[i], false);
    if (!f->why && (c->n_in < 1 || c->n_out < 1)) f->why = "a case without input or output";
    if (f->why) return;
    golden_mates_read(f, c->out, c->n_out);
    golden_mates_read(f, c->in, c->n_in);
}

// FNV-1a, Fowler, Noll and Vo 1991.
static inline uint64_t golden_hash(const uint8_t *p, size_t n)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001B3u;
    return h;
}

// Every byte of the file into memory.
static inline void golden_load(golden_file *f, const char *path)
{
    long size = -1;
    FILE *file = fopen(path, "rb");
    f->why = "the file cannot be read";
    if (!file) return;
    if (!fseek(file, 0, SEEK_END)) size = ftell(file);
    if (size > 0 && size < 1 << 20 && !fseek(file, 0, SEEK_SET))
        f->bytes = (uint8_t *)malloc((size_t)size);
    if (f->bytes) {
        f->size = fread(f->bytes, 1, (size_t)size, file);
        if (f->size == (size_t)size) f->why = NULL;
    }
    fclose(file);
}

static inline void golden_check_header(golden_file *f)
{
    static const uint8_t one[4] = { 1, 0, 0, 0 };
    uint32_t native = 1;
    uint64_t hash = 0;
    const uint8_t *magic = golden_take(f, 8), *p;
    if (magic && memcmp(magic, "SAMBAGLD", 8)) f->why = "not a golden file";
    if (memcmp(one, &native, 4))
        f->why = "goldens are read in place, which needs a little-endian machine";
    if (golden_word(f, 1, "unknown version") != 1 && !f->why) f->why = "unknown version";
    f->n_cases = golden_word(f, 1000, "too many cases");
    p = golden_take(f, 8);
    if (p) memcpy(&hash, p, 8);
    if (!f->why && golden_hash(f->bytes + f->at, f->size - f->at) != hash)
        f->why = "the checksum is wrong";
    if (!f->why && f->n_cases < 1) f->why = "no cases";
}

// Reads <dir>/ops_<op>.bin. On failure f->why has the reason. Call golden_free either way.
static inline bool golden_read(golden_file *f, const char *dir, const char *op)
{
    char path[512];
    memset(f, 0, sizeof *f);
    int n = snprintf(path, sizeof path, "%s/ops_%s.bin", dir, op);
    if (n < 0 || n >= (int)sizeof path) {
        f->why = "the path is too long";
        return false;
    }
    golden_load(f, path);
    golden_check_header(f);
    if (f->why) return false;
    f->cases = (golden_case *)calloc(f->n_cases, sizeof *f->cases);
    if (!f->cases) f->why = "out of memory";
    for (uint32_t i = 0; i < f->n_cases && !f->why; i++) {
        golden_case_read(f, &f->cases[i]);
        if (!f->why && strcmp(f->cases[i].op, op)) f->why = "a case of another op";
    }
    if (!f->why && f->at != f->size) f->why = "bytes after the last case";
    return !f->why;
}

static inline void golden_free(golden_file *f)
{
    free(f->cases);
    free(f->bytes);
    memset(f, 0, sizeof *f);
}

// What the attributes of an op are called, in the order of make_ops.py; the last word holds for all
// that follow.
static inline const char *golden_words(const char *op)
{
    static const char *const words[][2] = {
        { "leaky_relu", "slope" },
        { "scale", "factor" },
        { "shift", "term" },
        { "cast", "type" },
        { "sum", "keepdim axis" },
        { "mean", "keepdim axis" },
        { "max", "keepdim axis" },
        { "argmax", "axis keepdim" },
        { "slice", "axis begin end step" },
        { "split", "size axis" },
        { "pad", "before,after,value" },
        { "layer_norm", "eps" },
        { "rms_norm", "eps" },
        { "batch_norm", "momentum eps training" },
        { "cross_entropy", "reduction ignores ignore_index label_smoothing" },
        { "nll", "reduction ignores ignore_index label_smoothing" },
        { "mse", "reduction" },
        { "convolution",
          "stride-down stride-across padding-down padding-across dilation-down "
          "dilation-across groups" },
        { "max_pool2d",
          "kernel-down kernel-across stride-down stride-across padding-down "
          "padding-across ceil_mode exclude_padding" },
        { "avg_pool2d",
          "kernel-down kernel-across stride-down stride-across padding-down "
          "padding-across ceil_mode exclude_padding" },
        { "adaptive_avg_pool2d", "rows columns" },
        { "scaled_dot_product_attention", "causal scale" },
        { "reshape", "dimension" },
        { "expand", "dimension" },
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i][0], op)) return words[i][1];
    return "axis";
}

// "f32(7,3)! i32()" and attributes: enough to find the case in make_ops.py. '!' marks a gradient.
static inline void golden_print(const golden_case *c)
{
    const char *word = golden_words(c->op);
    static const char *const names[SAMBA_N_DTYPES]
        = { "f32", "bf16", "f16", "i32", "i16", "i8", "u8", "bool", "i64", "u16", "u32" };
    for (int32_t i = 0; i < c->n_in; i++) {
        const golden_tensor *t = &c->in[i];
        if (t->dtype == GOLDEN_ABSENT) {
            printf(" absent");
            continue;
        }
        printf(" %s(", names[t->dtype]);
        for (int32_t k = 0; k < t->ndim; k++)
            printf(k ? ",%d" : "%d", (int)t->dim[k]);
        printf(t->marked ? ")!" : ")");
    }
    for (int32_t i = 0; i < c->n_attr; i++) {
        size_t n = strcspn(word, " ");
        printf("%s %.*s %g", i ? "," : ";", (int)n, word, c->attr[i]);
        if (word[n]) word += n + 1;
    }
    printf("\n");
}

// Largest finite |want|, at least 1e-3: what errors of small elements are measured against.
static inline double golden_scale(const float *want, size_t n)
{
    double scale = 1e-3;
    for (size_t i = 0; i < n; i++) {
        double w = want[i] < 0 ? -(double)want[i] : (double)want[i];
        if (w > scale && w - w == 0) scale = w;
    }
    return scale;
}

// Worst |got - want| / (|want| + scale/10); 1e300 if a NaN or an infinity is out of place.
static inline double golden_error(const float *got, const float *want, size_t n)
{
    double worst = 0, scale = golden_scale(want, n);
    for (size_t i = 0; i < n; i++) {
        double g = (double)got[i], w = (double)want[i];
        if (g == w || (g != g && w != w)) continue;
        double error = (g > w ? g - w : w - g) / ((w < 0 ? -w : w) + 0.1 * scale);
        if (!(error <= 1e300)) error = 1e300;
        if (error > worst) worst = error;
    }
    return worst;
}

#endif
