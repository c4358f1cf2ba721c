// matmul_integer against its definition: every instruction set of this processor, all types of x
// and w, zeros of each kind, and sizes that fill no panel.
//     cc -O2 -I. tests/core/matmul_integer.c -lm -pthread -o matmul_integer && ./matmul_integer
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#define DRAW_KEY 2027
#include "tests/lib/draw.h"
#include <stdlib.h>

// How many zeros an operand has.
enum zeros { NO_ZERO, ONE_ZERO, ZERO_OF_EACH, N_ZEROS };

// Bytes of a type: x (rows,k) with zeros of rows, or w (k,columns) with zeros of columns.
typedef struct operand {
    samba_dtype type;
    enum zeros zeros;
    int n;
    uint8_t *bytes, *zero;
} operand;

static operand drawn_operand(int n, int n_zeros)
{
    operand o = { draw(2) ? SAMBA_I8 : SAMBA_U8, (enum zeros)draw(N_ZEROS), n, NULL, NULL };
    o.bytes = (uint8_t *)malloc((size_t)n);
    o.zero = (uint8_t *)malloc((size_t)n_zeros);
    CHECK(o.bytes && o.zero);

    bool extreme = draw(4) == 0; // 0 and 255, or -128 and 127 of either sign
    for (int i = 0; o.bytes && i < n; i++)
        o.bytes[i] = (uint8_t)(extreme ? (draw(2) ? 0x80 : 0x7f) : draw(256));
    for (int i = 0; o.zero && i < n_zeros; i++)
        o.zero[i] = (uint8_t)draw(256);
    return o;
}

static int32_t number(const operand *o, const uint8_t *byte)
{
    return o->type == SAMBA_I8 ? (int32_t)(int8_t)*byte : (int32_t)*byte;
}

// Element i less its zero, which is that of row or column `of`.
static int32_t centered(const operand *o, int i, int of)
{
    int32_t x = number(o, &o->bytes[i]);
    if (o->zeros == NO_ZERO) return x;
    return x - number(o, &o->zero[o->zeros == ONE_ZERO ? 0 : of]);
}

static int wrong_sums(const operand *x, const operand *w, const int32_t *y, int rows, int k,
                      int columns)
{
    int wrong = 0;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            int32_t sum = 0;
            for (int p = 0; p < k; p++)
                sum += centered(x, i * k + p, i) * centered(w, p * columns + j, j);
            wrong += sum != y[i * columns + j];
        }
    }
    return wrong;
}

// The specs and pointers of operand o, as inputs `at` and `at` + 2.
static void set_input(samba_spec *in, samba_args *a, int at, const operand *o, samba_shape shape,
                      int n_zeros)
{
    in[at].dtype = in[at + 2].dtype = o->type;
    in[at].shape = shape;
    in[at + 2].shape = SAMBA_SHAPE(o->zeros == ZERO_OF_EACH ? n_zeros : 1);
    a->in[at] = (const float *)(const void *)o->bytes;
    a->in[at + 2] = o->zeros == NO_ZERO ? NULL : (const float *)(const void *)o->zero;
}

static void check_product(int rows, int k, int columns, float *local)
{
    operand x = drawn_operand(rows * k, rows), w = drawn_operand(k * columns, columns);
    int32_t *y = (int32_t *)malloc((size_t)(rows * columns) * sizeof *y);
    samba_spec in[4], out[1];
    samba_args a;
    samba_call c;
    samba_work work;

    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    memset(&a, 0, sizeof a);
    memset(&c, 0, sizeof c);
    memset(&work, 0, sizeof work);

    set_input(in, &a, 0, &x, SAMBA_SHAPE(rows, k), rows);
    set_input(in, &a, 1, &w, SAMBA_SHAPE(k, columns), columns);
    out[0].dtype = SAMBA_I32;
    out[0].shape = SAMBA_SHAPE(rows, columns);
    c.in = in;
    c.n_in = 4;
    c.out[0] = out[0];
    samba__matmul_integer_work(&work, &c);

    a.in_spec = in;
    a.out_spec = out;
    a.n_in = 4;
    a.n_out = 1;
    a.out[0] = (float *)(void *)y;
    a.local = local;
    CHECK(x.bytes && x.zero && w.bytes && w.zero && y);

    for (a.isa = 0; y && x.bytes && w.bytes && a.isa <= samba__best_isa(true); a.isa++) {
        memset(y, 1, (size_t)(rows * columns) * sizeof *y);
        for (a.begin = 0; a.begin < work.units[0]; a.begin = a.end) { // a few units at a time
            a.end = samba__min64(a.begin + 1 + draw(3), work.units[0]);
            samba__matmul_integer_kernel(&a);
        }

        int wrong = wrong_sums(&x, &w, y, rows, k, columns);
        if (wrong)
            printf("isa %d, (%d,%d) times (%d,%d), %s and %s: %d sums are wrong\n", (int)a.isa,
                   rows, k, k, columns, samba_dtype_name(x.type), samba_dtype_name(w.type), wrong);
        CHECK(wrong == 0);
    }

    free(x.bytes);
    free(x.zero);
    free(w.bytes);
    free(w.zero);
    free(y);
}

// Tiles, panels and blocks that are full, or lack one, or have one more.
static void test_sizes(void)
{
    static const int rows[] = { 1, 2, 3, 5, 6, 7, 13, 64, 191, 192, 193 };
    static const int steps[] = { 1, 3, 4, 5, 31, 32, 33, 64, 383, 384, 385, 387 };
    static const int columns[] = { 1, 15, 16, 17, 63, 64, 65, 130 };
    float *local = (float *)malloc(SAMBA_LOCAL_BYTES);
    CHECK(local);

    for (int i = 0; local && i < TEST_TIMES(300); i++) {
        int m = rows[draw((int)(sizeof rows / sizeof *rows))];
        int k = steps[draw((int)(sizeof steps / sizeof *steps))];
        int n = columns[draw((int)(sizeof columns / sizeof *columns))];
        check_product(m, k, n, local);
    }
    free(local);
}

// Of the largest products 33,000 always fit, and more than 256 are no matter.
static void test_long_sums(void)
{
    float *local = (float *)malloc(SAMBA_LOCAL_BYTES);
    CHECK(local);
    for (int i = 0; local && i < 4; i++)
        check_product(2, 33000, 17, local);
    free(local);
}

// ---- Products that end as floats or bytes: all sets have the bits of the portable one, which
// reference.c holds against the definition ----

enum { MOST_Y = 1 << 16 };

typedef struct byte_call {
    samba_spec in[7], out[1];
    samba_args args;
    uint8_t bytes[2][MOST_Y]; // x and w
    float scale[MOST_Y], offset[MOST_Y];
    uint8_t zero[3];
    int32_t attr[SAMBA__CONV_WORDS];
} byte_call;

static void set_bytes(byte_call *b, int i, samba_dtype type, samba_shape shape, const void *data)
{
    b->in[i].dtype = type;
    b->in[i].shape = shape;
    b->args.in[i] = (const float *)data;
}

// x of this shape and w, with zeros, scales and offsets of each channel; y is i32, f32, i8 or u8.
static void draw_byte_call(byte_call *b, samba_shape x, samba_shape w, samba_dtype w_type,
                           int channels, samba_dtype y_type)
{
    samba_dtype x_type = draw(2) ? SAMBA_I8 : SAMBA_U8;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < MOST_Y; i++)
            b->bytes[k][i] = (uint8_t)draw(256);
    for (int i = 0; i < channels; i++) {
        b->scale[i] = (float)(1 + draw(100)) * 1e-5f;
        b->offset[i] = (float)draw(200) - 100.5f;
    }
    for (int i = 0; i < 3; i++)
        b->zero[i] = (uint8_t)draw(256);

    set_bytes(b, 0, x_type, x, b->bytes[0]);
    set_bytes(b, 1, w_type, w, b->bytes[1]);
    set_bytes(b, 2, x_type, SAMBA_SHAPE(1), &b->zero[0]);
    set_bytes(b, 3, w_type, SAMBA_SHAPE(1), draw(2) ? &b->zero[1] : NULL);
    set_bytes(b, 4, SAMBA_F32, SAMBA_SHAPE(channels), y_type == SAMBA_I32 ? NULL : b->scale);
    set_bytes(b, 5, SAMBA_F32, SAMBA_SHAPE(channels), y_type == SAMBA_I32 ? NULL : b->offset);
    set_bytes(b, 6, y_type, SAMBA_SHAPE(1), samba__is_byte(y_type) ? &b->zero[2] : NULL);
    for (int i = 0; i < 7; i++)
        if (!b->args.in[i]) b->in[i].shape.ndim = -1;
}

// Runs all units of all phases for each set, and compares.
static void compare_sets(byte_call *b, int op, float *local)
{
    static uint32_t y[2][MOST_Y];
    static uint8_t scratch[1 << 20];
    samba_call c;
    samba_work work;
    const samba_op *row = &samba__op_table[op];

    memset(&c, 0, sizeof c);
    memset(&work, 0, sizeof work);
    c.in = b->in;
    c.n_in = 7;
    c.attr = b->attr;
    c.n_attr = op == SAMBA__OP_affine_integer ? 1 : SAMBA__CONV_WORDS;
    work.n_phases = 1;
    CHECK(row->shape(&c));
    b->out[0] = c.out[0];
    row->work(&work, &c);
    CHECK(samba_count(&b->out[0].shape) <= MOST_Y && work.scratch <= (int64_t)sizeof scratch);

    samba_args *a = &b->args;
    a->in_spec = b->in;
    a->out_spec = b->out;
    a->n_in = 7;
    a->n_out = 1;
    a->attr = b->attr;
    a->n_attr = c.n_attr;
    a->local = local;
    a->scratch = scratch;
    for (a->isa = 0; a->isa <= samba__best_isa(true); a->isa++) {
        int which = a->isa > 0;
        memset(y[which], 7, sizeof *y);
        memset(scratch, 9, sizeof scratch);
        a->out[0] = (float *)(void *)y[which];
        for (a->phase = 0; a->phase < work.n_phases; a->phase++)
            for (a->begin = 0; a->begin < work.units[a->phase]; a->begin = a->end) {
                a->end = samba__min64(a->begin + 1 + draw(5), work.units[a->phase]);
                row->kernel(a);
            }
        if (which && memcmp(y[0], y[1], sizeof *y))
            printf("isa %d of op %s differs\n", (int)a->isa, row->name);
        CHECK(!which || !memcmp(y[0], y[1], sizeof *y));
    }
}

static void test_sets_agree(void)
{
    static byte_call b;
    static const samba_dtype types[] = { SAMBA_I32, SAMBA_F32, SAMBA_I8, SAMBA_U8 };
    float *local = (float *)malloc(SAMBA_LOCAL_BYTES);
    CHECK(local);
    for (int i = 0; local && i < TEST_TIMES(120); i++) {
        samba_dtype y = types[draw(4)];
        int rows = 1 + (int)draw(80), k = 1 + (int)draw(500), n = 1 + (int)draw(120);
        if (k * rows > MOST_Y) rows = 1 + MOST_Y / k / 2;
        memset(&b.args, 0, sizeof b.args);
        draw_byte_call(&b, SAMBA_SHAPE(rows, k), SAMBA_SHAPE((n + 63) / 64, (k + 3) / 4, 64, 4),
                       SAMBA_I8, n, y);
        b.attr[0] = n;
        compare_sets(&b, SAMBA__OP_affine_integer, local);

        int groups = draw(3) ? 1 : 1 + (int)draw(6), inner = draw(2) ? 1 : 1 + (int)draw(40);
        int outer = draw(2) ? 1 : 1 + (int)draw(9), kernel = 1 + (int)draw(3);
        int side = 3 + (int)draw(12), stride = 1 + (int)draw(2);
        draw_byte_call(&b, SAMBA_SHAPE(1, groups * inner, side, side),
                       SAMBA_SHAPE(groups * outer, inner, kernel, kernel),
                       draw(2) ? SAMBA_I8 : SAMBA_U8, groups * outer, y);
        int32_t attr[SAMBA__CONV_WORDS] = { stride, stride, 0, 1, 1, 1, groups };
        memcpy(b.attr, attr, sizeof attr);
        compare_sets(&b, SAMBA__OP_convolution_integer, local);
    }
    free(local);
}

int main(void)
{
    RUN(test_sizes);
    RUN(test_sets_agree);
    RUN(test_long_sums);
    return test_summary();
}
