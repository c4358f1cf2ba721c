// The fused multiply-adds of samba.h against the processor's.
//     cc -O2 -I. tests/core/fma.c -lm -pthread -o fma && ./fma [MILLIONS]
// Both of its own ones, in double and in integers, and what samba__fma is here, on cases that are
// hard: random bits, sums in the middle between two floats and just beside it, subnormals,
// cancellation. Without an instruction to compare with, those two are compared with each other.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include <fenv.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void) // xorshift64, Marsaglia 2003
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// A float with this exponent field, from random bits.
static float with_exponent(uint32_t bits, int exponent)
{
    if (exponent < 0) exponent = 0;
    if (exponent > 255) exponent = 255;
    return samba__bits_float((bits & 0x807fffffu) | (uint32_t)exponent << 23);
}

// ---- Cases: one of nine kinds -------------------------------------------------------------------

static void make_case(float x[3])
{
    uint64_t u = random_bits(), v = random_bits();
    uint32_t a = (uint32_t)u, b = (uint32_t)(u >> 32), c = (uint32_t)v, more = (uint32_t)(v >> 32);
    int ea = (int)(a >> 23 & 255), eb = (int)(b >> 23 & 255), spread = (int)(more >> 3 & 63) - 32;
    x[0] = samba__bits_float(a);
    x[1] = samba__bits_float(b);
    x[2] = samba__bits_float(c);
    switch (random_bits() % 9) {
    case 0:
        break; // any bits
    case 1:    // terms that overlap
        x[2] = with_exponent(c, ea + eb - 127 + spread);
        break;
    case 2: // what a rounded product loses
        x[2] = -(x[0] * x[1]);
        break;
    case 3: // the product is subnormal
        x[0] = with_exponent(a, ea % 127);
        x[1] = with_exponent(b, 100 - ea % 127 + spread);
        x[2] = with_exponent(c, (int)(more >> 9 & 3) * 8);
        break;
    case 4: // few bits: middles are met
        x[0] = samba__bits_float(a & 0xfffff000u);
        x[1] = samba__bits_float(b & 0xfffff000u);
        x[2] = with_exponent(c & 0xff800001u, ea + eb - 127 - (int)(more >> 9 & 63));
        break;
    case 5: // the same near 1
        x[0] = with_exponent(a & 0xfffff000u, 127);
        x[1] = with_exponent(b & 0xfffff000u, 127);
        x[2] = with_exponent(c & 0x80000001u, (int)(more >> 9 & 127));
        break;
    case 6:                                                  // a middle between subnormals
        a = (a & 0x80000000u) | (b & (more & 1 ? 1023 : 7)); // (1 - k) (1 + k): just below 1
        x[0] = with_exponent((a & 0x80000000u) | (0x800000u - (a & 1023) * 2), 51);
        x[1] = with_exponent((b & 0x80000000u) | (a & 1023), 53 - (int)(more >> 9 & 3));
        x[2] = with_exponent(c, (int)(more >> 12 & 1));
        break;
    case 7: // a middle, nearly
        x[1] = with_exponent(b, 127);
        x[0] = 2.0f / x[1];
        x[2] = with_exponent(c, 128 + 24);
        break;
    default: // ends of the scale
        x[more >> 3 & 1] = with_exponent(a, more >> 9 & 1 ? 254 : 255);
        if (more >> 10 & 1) x[2] = with_exponent(c & 0x80000000u, more >> 11 & 1 ? 255 : 0);
        if (more >> 12 & 1) x[0] = with_exponent(a & 0x80000000u, 0);
    }
}

static bool same(float x, float y)
{
    return samba__float_bits(x) == samba__float_bits(y) || (x != x && y != y);
}

static void report(const char *which, const float x[3], float got, float expected)
{
    if (test_bad++ < 5)
        printf("%s(%08x, %08x, %08x) = %08x, not %08x\n", which, (unsigned)samba__float_bits(x[0]),
               (unsigned)samba__float_bits(x[1]), (unsigned)samba__float_bits(x[2]),
               (unsigned)samba__float_bits(got), (unsigned)samba__float_bits(expected));
}

static void compare(long cases, float (*expected)(float, float, float))
{
    for (long i = 0; i < cases; i++) {
        float x[3];
        make_case(x);
        float y = expected(x[0], x[1], x[2]);
        float in_double = samba__fma_double(x[0], x[1], x[2]);
        float in_integers = samba__fma_integer(x[0], x[1], x[2]);
        float used = samba__fma(x[0], x[1], x[2]);
        if (!same(in_double, y)) report("samba__fma_double", x, in_double, y);
        if (!same(in_integers, y)) report("samba__fma_integer", x, in_integers, y);
        if (!same(used, y)) report("samba__fma", x, used, y);
    }
}

// ---- What is compared with ----------------------------------------------------------------------

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("fma"), noinline)) static float instruction(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

static bool has_instruction(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("fma") != 0;
}
#else
static float instruction(float a, float b, float c)
{
    return samba__fma(a, b, c);
}

static bool has_instruction(void)
{
    return SAMBA__FMA == SAMBA__FMA_INSTRUCTION;
}
#endif

// ---- The self-test ------------------------------------------------------------------------------

// The rows tell apart what is wrong elsewhere: rounding twice, and a rounded product.
static void rows_tell_apart(void)
{
    int twice = 0, rounded = 0;
    for (int i = 0; i < 6; i++) {
        const uint32_t *row = samba__fma_cases[i];
        volatile float a = samba__bits_float(row[0]), b = samba__bits_float(row[1]);
        volatile float c = samba__bits_float(row[2]), product = a * b;
        volatile double sum = (double)a * (double)b + (double)c;
        CHECK(same(samba__fma_integer(a, b, c), samba__bits_float(row[3])));
        twice += !same((float)sum, samba__bits_float(row[3]));
        rounded += !same(product + c, samba__bits_float(row[3]));
    }
    CHECK(twice >= 3);
    CHECK(rounded >= 3);
    test_end("the self-test's rows");
}

// The self-test tells another direction of rounding, and subnormals that are flushed. A session
// opens all the same, for it sets its own mode: tests/core/float_mode.c. Where samba.h does not
// know the register of the mode, it refuses.
static void expect_notice(const char *word)
{
    const char *wrong = samba__find_wrong_arithmetic();
    CHECK(wrong && strstr(wrong, word) != NULL);
    samba_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.threads = 1;
#if defined(SAMBA__MODE_BITS)
    CHECK(samba_close(samba_open(&desc)) == 0);
#else
    CHECK(samba_close(samba_open(&desc)) == 1);
#endif
    CHECK(samba__find_wrong_arithmetic() == wrong);
}

static void other_modes(void)
{
    CHECK(samba__find_wrong_arithmetic() == NULL);
#if defined(FE_UPWARD) && defined(FE_TOWARDZERO) && defined(FE_DOWNWARD)
    const int modes[3] = { FE_UPWARD, FE_TOWARDZERO, FE_DOWNWARD };
    for (int i = 0; i < 3; i++) {
        if (fesetround(modes[i])) continue;
        expect_notice("fesetround");
        fesetround(FE_TONEAREST);
    }
#endif
#if SAMBA__X86
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8000u); // FTZ
    expect_notice("subnormal");
    _mm_setcsr(mode | 0x0040u); // DAZ
    expect_notice("subnormal");
    _mm_setcsr(mode);
#endif
    CHECK(samba__find_wrong_arithmetic() == NULL);
    test_end("other modes of the processor are noticed");
}

int main(int argc, char **argv)
{
    long millions = argc > 1 ? atol(argv[1]) : 4;
    rows_tell_apart();
    other_modes();
    if (has_instruction()) {
        compare(millions * 1000000, instruction);
        test_end("as the processor's instruction");
    } else {
        printf("skipped: fma in integers beside the instruction; it takes a processor with fma\n");
        compare(millions * 1000000, samba__fma_integer);
        test_end("double and integers agree");
    }
    return test_summary();
}
