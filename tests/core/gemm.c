// [gemm] against its specification: every instruction set of this processor must give the bits of
// gemm_naive below, whatever the size, the strides and the order in which tiles are computed.
//     cc -O2 -I. tests/core/gemm.c -lm -pthread -o gemm && ./gemm
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#define DRAW_KEY 2024
#include "tests/lib/draw.h"
#include <stdlib.h>

enum { KC = SAMBA_GEMM_KC, MC = SAMBA_GEMM_MC, NC = SAMBA_GEMM_NC, FEW = 40 };

static const float untouched = 12345.0f; // between the rows of C

// Of any size, so that the order of additions shows; also zeros of both signs and subnormals.
static float *numbers(int64_t n)
{
    float *x = (float *)malloc((size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; x && i < n; i++) {
        float value = (float)(draw(2000001) - 1000000) * 1e-6f;
        x[i] = draw(50) ? ldexpf(value, draw(41) - 20) : draw(2) ? -0.0f : value * 1e-39f;
    }
    CHECK(x);
    return x;
}

// An operand of rows x cols numbers: row by row (way 0, 1), column by column (2, 3), or with gaps
// both ways.
static float *operand(int64_t rows, int64_t cols, int way, int64_t *row, int64_t *col)
{
    int gap = draw(2) * draw(9);
    *row = way < 2 ? cols + gap : way < 4 ? 1 : 2 * cols + gap;
    *col = way < 2 ? 1 : way < 4 ? rows + gap : 2;
    return numbers(rows * *row + cols * *col);
}

// B as bf16 or f16, and in b what these hold: products with it have the bits of products with b.
static uint16_t *halves(float *b, int64_t n, samba_dtype type)
{
    uint16_t *half = (uint16_t *)malloc((size_t)n * sizeof *half);
    CHECK(half);
    for (int64_t i = 0; half && i < n; i++) {
        float value = type == SAMBA_F16 ? ldexpf(b[i], -8) : b[i]; // below its largest number
        samba__store(&half[i], &value, type, 1);
        samba__load(&b[i], &half[i], type, 1);
    }
    return half;
}

// The specification: samba__gemm_run computes these very bits, only sooner.
TEST_UNCHECKED static void gemm_naive(const samba__gemm *g)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            float *c = g->c + i * g->c_row + j;
            float acc = g->accumulate ? *c : 0.0f;
            for (int64_t p = 0; p < g->k; p++)
                acc = samba__fma(g->a[i * g->a_row + p * g->a_col],
                                 g->b[p * g->b_row + j * g->b_col], acc);
            if (g->bias) acc += g->bias[j];
            if (g->row_bias) acc += g->row_bias[i];
            *c = acc;
        }
    }
}

static bool same_bits(const float *got, const float *want, const samba__gemm *g, int isa)
{
    for (int64_t i = 0; i < g->m * g->c_row; i++) {
        if (!memcmp(got + i, want + i, sizeof *got)) continue;
        printf("isa %d, (%d,%d) times (%d,%d): row %d, column %d is %.9g, not %.9g\n", isa,
               (int)g->m, (int)g->k, (int)g->k, (int)g->n, (int)(i / g->c_row), (int)(i % g->c_row),
               (double)got[i], (double)want[i]);
        return false;
    }
    return true;
}

// X_WT: A row by row, B column by column, as a linear layer has them; DY_TX: A column by column, as
// the gradient of its weights has it.
enum kind { ANY, X_WT, DY_TX };

static void check_kind(int64_t m, int64_t n, int64_t k, enum kind kind)
{
    bool x_wT = kind == X_WT;
    samba__gemm g;
    memset(&g, 0, sizeof g);
    g.m = m;
    g.n = n;
    g.k = k;
    g.c_row = n + draw(2) * draw(20);
    g.accumulate = !x_wT && draw(2) == 1;
    size_t size = (size_t)(m * g.c_row) * sizeof(float);
    float *a = operand(m, k, x_wT ? 0 : kind == DY_TX ? 2 : draw(5), &g.a_row, &g.a_col);
    float *b = operand(k, n, x_wT ? 2 : draw(5), &g.b_row, &g.b_col);
    float *bias = numbers(n), *row_bias = numbers(m), *start = numbers(m * g.c_row);
    float *want = (float *)malloc(size), *got = (float *)malloc(size);
    float *local = (float *)malloc(SAMBA__GEMM_LOCAL);
    static const samba_dtype types[] = { SAMBA_F32, SAMBA_BF16, SAMBA_F16 };
    samba_dtype type = types[!x_wT && (g.b_row == 1 || g.b_col == 1) ? draw(3) : 0];
    uint16_t *half = type && b ? halves(b, k * g.b_row + n * g.b_col, type) : NULL;
    g.a = a;
    g.bias = draw(2) ? bias : NULL;
    g.row_bias = draw(2) && !(x_wT && g.bias) ? row_bias : NULL;
    bool ready = a && b && bias && row_bias && start && want && got && local;
    CHECK(ready);
    for (int64_t i = 0; ready && i < m * g.c_row; i++)
        if (i % g.c_row >= n) start[i] = untouched;
    for (int isa = -1; ready && isa <= samba__best_isa(false); isa++) {
        // A set that has the products of the one before would repeat them.
        if (isa > 0 && samba__set_of(isa)->gemm == samba__set_of(isa - 1)->gemm) continue;
        g.c = isa < 0 ? want : got;
        g.b = isa < 0 || !half ? b : (const float *)(const void *)half;
        g.b_type = isa < 0 ? SAMBA_F32 : type;
        memcpy(g.c, start, size);
        if (isa < 0)
            gemm_naive(&g);
        else
            run_backwards(&g, local, isa);
        if (x_wT && isa >= 0) { // 14 to 16 rows fill a panel of 16 columns
            const samba__gemm_set *set = samba__set_of(isa)->gemm;
            bool filled = m >= 28 || (set->nr == 16 && m >= 14 && m <= 16);
            CHECK(samba__better_transposed(set, &g, m, n) == filled);
        }
        if (isa >= 0) CHECK(same_bits(got, want, &g, isa));
    }
    free(a);
    free(b);
    free(bias);
    free(row_bias);
    free(start);
    free(want);
    free(got);
    free(local);
    free(half);
}

static void check_product(int64_t m, int64_t n, int64_t k)
{
    check_kind(m, n, k, ANY);
}

// Strips and panels that are not full, sums of nothing.
static void test_small(void)
{
    for (int i = 0; i < TEST_TIMES(1500); i++)
        check_product(1 + draw(FEW), 1 + draw(FEW), draw(FEW));
}

// A dimension of one or two blocks, a little less or more.
static int about(int block)
{
    return (1 + draw(2)) * block - 9 + draw(19);
}

static void test_many_steps(void)
{
    for (int i = 0; i < TEST_TIMES(40); i++)
        check_product(1 + draw(FEW), 1 + draw(FEW), about(KC));
}

static void test_many_rows(void)
{
    for (int i = 0; i < TEST_TIMES(40); i++)
        check_product(about(MC), 1 + draw(FEW), 1 + draw(FEW));
}

static void test_many_columns(void)
{
    for (int i = 0; i < TEST_TIMES(40); i++)
        check_product(1 + draw(FEW), about(NC), 1 + draw(FEW));
}

static void test_large(void)
{
    check_product(about(MC), about(NC), FEW);
    check_product(FEW, about(NC), about(KC));
    check_product(about(MC), FEW, about(KC));
}

// Rows of A a multiple of 4 KiB apart, most of the time without a gap: many panels, several strips.
static void test_far_rows(void)
{
    for (int i = 0; i < TEST_TIMES(12); i++)
        check_product(9 + draw(FEW), NC - draw(FEW), 1024);
    for (int i = 0; i < TEST_TIMES(12); i++)
        check_product(97 + draw(60), NC - draw(FEW), 1024);
}

// With 32, 64, 96 or 128 rows of x, or a few less, the rows of w are those of the strips.
static void test_turned(void)
{
    for (int i = 0; i < TEST_TIMES(24); i++) {
        int64_t m = 32 * (1 + draw(4)) - draw(4);
        check_kind(m, 2 * m + draw(120), 1 + draw(i % 4 ? 60 : KC + 40), X_WT);
    }
    check_kind(32, MC + 40, 2 * KC + 3, X_WT);
    for (int m = 13; m <= 17; m++)
        check_kind(m, 40 + draw(90), KC + draw(2 * KC), X_WT);
}

// With few columns A is read where it lies, with many it is packed into strips; of all heights.
static void test_transposed(void)
{
    for (int i = 0; i < TEST_TIMES(12); i++) {
        check_kind(MC - draw(FEW), 1 + draw(FEW), 1 + draw(2 * KC), DY_TX);
        check_kind(MC - draw(FEW), NC - draw(FEW), 1 + draw(FEW), DY_TX);
    }
    check_kind(MC, NC / 2 + 1, about(KC), DY_TX);
}

// Several blocks of k and many rows: panels are kept, for all columns or for as many as fit.
static void test_kept(void)
{
    for (int i = 0; i < TEST_TIMES(8); i++)
        check_product(97 + draw(120), 1 + draw(90), about(2 * KC));
    check_product(100, NC + NC / 2, KC + KC / 2 + 9);
    for (int i = 0; i < TEST_TIMES(4); i++)
        check_product(97 + draw(60), 1 + draw(90), about(4 * KC)); // long ones
    check_product(100, NC, 2 * KC + 9);
    check_kind(1024, NC, 2 * KC + 9, DY_TX);
}

int main(void)
{
    RUN(test_turned);
    RUN(test_small);
    RUN(test_many_steps);
    RUN(test_many_rows);
    RUN(test_many_columns);
    RUN(test_far_rows);
    RUN(test_large);
    RUN(test_transposed);
    RUN(test_kept);
    return test_summary();
}
