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

    for (a.isa = 0; y && x.bytes && w.bytes && a.isa <= samba__best_isa(false); a.isa++) {
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

int main(void)
{
    RUN(test_sizes);
    RUN(test_long_sums);
    return test_summary();
}
