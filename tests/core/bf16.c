// Products in bf16 against their definition, in [micro-kernel]: every instruction set of this
// processor, and the kernel of small devices, must give the bits of what is computed below, in
// double and with a rounding of its own.
//     cc -O2 -I. tests/core/bf16.c -lm -pthread -o bf16 && ./bf16
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#define DRAW_KEY 2026
#include "tests/lib/draw.h"
#include <math.h>
#include <stdlib.h>

#if defined(SAMBA_TILE_TWIN) // the twin of a matrix unit is slow: tests/core/tiles.sh
enum { FEW = 40, SMALL = 150, LARGE = 3 };
#else
enum { FEW = 40, SMALL = 1000, LARGE = 20 };
#endif

static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

// ---- The definition, in double ----

// x, rounded to 24 bits with any exponent, and then to zero if it is below the least normal number.
static float rounded(double x)
{
    int exponent;
    if (x == 0 || isnan(x) || isinf(x)) return (float)x;
    double fraction = frexp(x, &exponent);
    double near = ldexp(rint(ldexp(fraction, 24)), exponent - 24);
    if (fabs(near) < 0x1p-126) return (float)copysign(0, x);
    return (float)near; // infinite, if it is too large
}

// x + y, to 53 bits, the last of which is set if others were lost: rounding it again is exact.
static double sum_to_odd(double x, double y)
{
    double sum = x + y;
    if (isinf(sum) || isnan(sum)) return sum;
    double from_y = sum - x;
    double lost = (x - (sum - from_y)) + (y - from_y);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (lost == 0 || bits & 1) return sum;

    bool grows = (lost > 0) == (sum > 0);
    bits += grows ? 1 : (uint64_t)-1;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

// The product of two numbers of bf16 is exact in double.
static float multiply_add(float a, float b, float c)
{
    return rounded(sum_to_odd((double)a * (double)b, (double)c));
}

static float add(float a, float b)
{
    return rounded(sum_to_odd((double)a, (double)b));
}

static float flushed(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

// To bf16: subnormals to zero, others to nearest even.
static float operand_of(float x)
{
    x = flushed(x);
    if (isnan(x) || isinf(x)) return x;
    int exponent;
    float fraction = frexpf(x, &exponent);
    double near = ldexp(rint(ldexp((double)fraction, 8)), exponent - 8);
    return (float)near;
}

TEST_UNCHECKED static void define(const samba__gemm *g, const float *a, const float *b)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            float *c = g->c + i * g->c_row + j;
            float sum = g->accumulate ? flushed(*c) : 0;

            for (int64_t p = 0; p < g->k; p += 32) {
                float chain[2] = { 0, 0 };
                for (int64_t q = p; q < g->k && q < p + 32; q++) {
                    float x = operand_of(a[i * g->a_row + q * g->a_col]);
                    float y = operand_of(b[q * g->b_row + j * g->b_col]);
                    chain[q % 2] = multiply_add(x, y, chain[q % 2]);
                }
                sum = add(sum, add(chain[0], chain[1]));
            }

            if (g->bias) sum += g->bias[j];
            if (g->row_bias) sum += g->row_bias[i];
            *c = sum;
        }
    }
}

// ---- Numbers of several kinds ----
enum values { USUAL, TINY, ANY_BITS, ANY_FINITE, LEAST, N_VALUES };

static float number(enum values kind)
{
    float unit = (float)(draw(2000001) - 1000000) * 1e-6f;
    switch (kind) {
    case TINY: // products underflow
        return ldexpf(unit, -63 + draw(9) - 4);
    case ANY_BITS:
        return of_bits(draw_bits());
    case ANY_FINITE: {
        float x = of_bits(draw_bits());
        return isfinite(x) ? x : 0;
    }
    case LEAST: // sums near the least normal number, some a hair below it
        return draw(2) ? ldexpf(1 + (float)draw(256) / 256, -63) : ldexpf(unit, -90 + draw(60));
    default:
        return draw(20) ? unit : draw(2) ? -0.0f : ldexpf(unit, draw(41) - 20);
    }
}

static float *numbers(int64_t n, enum values kind)
{
    float *x = (float *)malloc((size_t)(n + 1) * sizeof *x);
    CHECK(x);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = number(kind);
    return x;
}

// x as bf16, and in x what that holds.
static uint16_t *halves(float *x, int64_t n)
{
    uint16_t *half = (uint16_t *)malloc((size_t)(n + 1) * sizeof *half);
    CHECK(half);
    for (int64_t i = 0; half && i < n; i++) {
        samba__store(&half[i], &x[i], SAMBA_BF16, 1);
        samba__load(&x[i], &half[i], SAMBA_BF16, 1);
    }
    return half;
}

// ---- One product on each instruction set ----
static bool same(const float *got, const float *want, const samba__gemm *g, int isa)
{
    for (int64_t i = 0; i < g->m * g->c_row; i++) {
        bool nan = isnan(got[i]) && isnan(want[i]);
        if (nan || bits_of(got[i]) == bits_of(want[i])) continue;
        printf("isa %d, (%d,%d) times (%d,%d): row %d, column %d is %a, not %a\n", isa, (int)g->m,
               (int)g->k, (int)g->k, (int)g->n, (int)(i / g->c_row), (int)(i % g->c_row),
               (double)got[i], (double)want[i]);
        return false;
    }
    return true;
}

// Every set makes of C, as it is at the start, what is wanted.
static void check_sets(samba__gemm *g, const float *start, const float *want)
{
    const size_t bytes = (size_t)(g->m * g->c_row) * sizeof *start;
    float *local = (float *)malloc(SAMBA__GEMM_LOCAL + 1);
    g->c = (float *)malloc(bytes + 1);
    CHECK(local && g->c);
    for (int isa = 0; local && g->c && isa <= samba__best_isa(true); isa++) {
        memcpy(g->c, start, bytes);
        run_backwards(g, local, isa);
        CHECK(same(g->c, want, g, isa));
    }
    free(g->c);
    free(local);
}

static void check_product(int64_t m, int64_t n, int64_t k, enum values kind)
{
    samba__gemm g;
    memset(&g, 0, sizeof g);
    g.m = m;
    g.n = n;
    g.k = k;
    g.in_bf16 = true;
    g.c_row = n + draw(2) * draw(20);
    g.accumulate = draw(2) == 1;

    bool a_by_rows = draw(2), b_by_rows = draw(2);
    g.a_row = a_by_rows ? k + draw(9) : 1;
    g.a_col = a_by_rows ? 1 : m + draw(9);
    g.b_row = b_by_rows ? n + draw(9) : 1;
    g.b_col = b_by_rows ? 1 : k + draw(9);

    int64_t n_a = m * g.a_row + k * g.a_col, n_b = k * g.b_row + n * g.b_col;
    int64_t n_c = m * g.c_row;
    float *a = numbers(n_a, kind), *b = numbers(n_b, kind), *start = numbers(n_c, kind);
    for (int64_t i = 0; kind == TINY && start && i < n_c; i++)
        start[i] = ldexpf(number(USUAL), -127); // many are subnormal, beside sums that are not
    float *bias = numbers(n, USUAL), *row_bias = numbers(m, USUAL);
    uint16_t *half_a = draw(2) ? halves(a, n_a) : NULL;
    uint16_t *half_b = draw(2) ? halves(b, n_b) : NULL;
    float *want = numbers(n_c, USUAL);

    if (a && b && start && bias && row_bias && want) {
        g.bias = draw(3) ? NULL : bias;
        g.row_bias = draw(3) ? NULL : row_bias;
        g.c = want;
        memcpy(want, start, (size_t)n_c * sizeof *want);
        define(&g, a, b);

        g.a = half_a ? (const float *)(const void *)half_a : a;
        g.a_type = half_a ? SAMBA_BF16 : SAMBA_F32;
        g.b = half_b ? (const float *)(const void *)half_b : b;
        g.b_type = half_b ? SAMBA_BF16 : SAMBA_F32;
        check_sets(&g, start, want);
    }

    free(a);
    free(b);
    free(start);
    free(bias);
    free(row_bias);
    free(half_a);
    free(half_b);
    free(want);
}

static void test_small(void)
{
    for (int i = 0; i < TEST_TIMES(SMALL); i++)
        check_product(1 + draw(FEW), 1 + draw(FEW), 1 + draw(3 * FEW), (enum values)(i % N_VALUES));
}

// A dimension of one or two blocks, a little less or more.
static int about(int block)
{
    return (1 + draw(2)) * block - 9 + draw(19);
}

static void test_blocks(void)
{
    for (int i = 0; i < TEST_TIMES(LARGE); i++) {
        enum values kind = (enum values)(i % N_VALUES);
        check_product(1 + draw(9), 1 + draw(FEW), about(SAMBA_GEMM_KC), kind);
        check_product(about(96), 1 + draw(FEW), 1 + draw(FEW), kind);
        check_product(1 + draw(9), about(SAMBA_GEMM_NC), 1 + draw(FEW), kind);
    }
    check_product(about(96), about(64), about(SAMBA_GEMM_KC), USUAL);
}

// Weights that were packed for inference: w(j,p), of n rows, is element [j / 32][p][j % 32].
static void check_packed(int64_t m, int64_t n, int64_t k, samba_dtype type, enum values kind)
{
    samba__gemm g;
    memset(&g, 0, sizeof g);
    g.m = m;
    g.n = g.c_row = n;
    g.k = g.a_row = g.b_col = k;
    g.a_col = g.b_row = 1;
    g.in_bf16 = true;

    float *a = numbers(m * k, kind), *w = numbers(n * k, kind), *panels = numbers(n * k, USUAL);
    float *want = numbers(m * n, USUAL), *start = numbers(m * n, USUAL);
    uint16_t *half = w && type == SAMBA_BF16 ? halves(w, n * k) : NULL;

    if (a && w && panels && want && start) {
        uint16_t *halves_to = (uint16_t *)(void *)panels;
        for (int64_t j = 0; j < n; j++)
            for (int64_t p = 0; p < k; p++) {
                int64_t to = (j / 32 * k + p) * 32 + j % 32;
                if (half)
                    halves_to[to] = half[j * k + p];
                else
                    panels[to] = w[j * k + p];
            }

        g.c = want;
        define(&g, a, w);
        g.a = a;
        g.packed = panels;
        g.b_type = type;
        check_sets(&g, start, want);
    }

    free(a);
    free(w);
    free(panels);
    free(half);
    free(want);
    free(start);
}

static void test_packed(void)
{
    for (int i = 0; i < TEST_TIMES(SMALL / 10); i++) {
        enum values kind = (enum values)(i % N_VALUES);
        samba_dtype type = draw(2) ? SAMBA_BF16 : SAMBA_F32;
        check_packed(1 + draw(FEW), 32 * (1 + draw(4)), 1 + draw(3 * FEW), type, kind);
    }
    check_packed(about(32), 64, about(384), SAMBA_BF16, USUAL);
    check_packed(about(32), 64, about(384), SAMBA_F32, USUAL);
}

// 2^-126 - 2^-150 underflows, though with the bits of a subnormal it would become 2^-126.
static void test_tiny_after_rounding(void)
{
    const float up[2] = { 0x1p-63f, 0x1p-75f }, down[2] = { 0x1p-63f, -0x1p-75f };
    float a[4] = { up[0], 0, up[1], 0 }, b[4] = { down[0], 0, down[1], 0 };
    for (int isa = 0; isa <= samba__best_isa(true); isa++) {
        float c = 1;
        samba__gemm g;
        memset(&g, 0, sizeof g);
        g.m = g.n = g.c_row = 1;
        g.k = g.a_row = g.b_col = 4;
        g.a_col = g.b_row = 1;
        g.in_bf16 = true;
        g.a = a;
        g.b = b;
        g.c = &c;
        float *local = (float *)malloc(SAMBA__GEMM_LOCAL + 1);
        CHECK(local);
        if (local) samba__gemm_run(&g, 0, 1, local, isa);
        CHECK(c == 0);
        free(local);
    }
}

int main(void)
{
    RUN(test_tiny_after_rounding);
    RUN(test_small);
    RUN(test_blocks);
    RUN(test_packed);
    return test_summary();
}
