/* ==== [base] ================================================================================== */
#include <math.h>
#include <stdarg.h>
#include <string.h>
/* Static, without a warning if unused. Not "inline", which would raise the inliner's limits. */
#if defined(__GNUC__)
#define SAMBA__FN static __attribute__((unused))
#define SAMBA__RESTRICT __restrict__
#define SAMBA__PREFETCH(x) __builtin_prefetch(x, 0, 2) /* to be read soon */
#define SAMBA__PREFETCH_NEAR(x) __builtin_prefetch(x)  /* at once: into the first-level cache */
#define SAMBA__NOINLINE static __attribute__((noinline, unused))
#if defined(__clang__)
#define SAMBA__INLINE static inline __attribute__((always_inline, unused))
#else /* gcc does not vectorize what might trap */
#define SAMBA__INLINE \
    static inline __attribute__((always_inline, unused, optimize("no-trapping-math")))
#endif
#else
#define SAMBA__FN static inline
#define SAMBA__INLINE static inline
#define SAMBA__NOINLINE static inline
#define SAMBA__RESTRICT
#define SAMBA__PREFETCH(x) ((void)0)
#define SAMBA__PREFETCH_NEAR(x) ((void)0)
#endif
#if defined(__cplusplus)
#define SAMBA__ZEROED \
    { \
    } /* what a struct begins as */
#else
#define SAMBA__ZEROED \
    { \
        0 \
    }
#endif
#define SAMBA__KERNEL SAMBA__INLINE /* a body that is instantiated once per instruction set */
/* Without optimization kernels of vectors would take long to compile and be slow: then only the
   portable ones are there, unless SAMBA_SIMD is defined. */
#if defined(__GNUC__) && !defined(SAMBA_NO_SIMD) && (defined(__OPTIMIZE__) || defined(SAMBA_SIMD))
#define SAMBA__VECTORS_WANTED 1
#else
#define SAMBA__VECTORS_WANTED 0
#endif
/* Instruction sets are chosen at run time: a kernel is compiled again under this attribute. */
#if defined(__x86_64__) && SAMBA__VECTORS_WANTED
#include <immintrin.h>
#define SAMBA__X86 1
#define SAMBA__NEON 0
#define SAMBA__AVX2 __attribute__((target("avx2,fma")))
#else
#define SAMBA__X86 0
#define SAMBA__AVX2
/* Every AArch64 has NEON with fma: what is chosen there is whether kernels are made of vectors. */
#if defined(__aarch64__) && defined(__ARM_NEON) && SAMBA__VECTORS_WANTED
#include <arm_neon.h>
#define SAMBA__NEON 1
#else
#define SAMBA__NEON 0
#endif
#endif
/* WebAssembly's, where the compiler may use them (-msimd128). */
#if defined(__wasm_simd128__) && SAMBA__VECTORS_WANTED
#include <wasm_simd128.h>
#define SAMBA__WASM 1
#else
#define SAMBA__WASM 0
#endif
#define SAMBA__SIMD (SAMBA__X86 || SAMBA__NEON || SAMBA__WASM)
#if SAMBA__SIMD && !defined(__clang__)
/* The rest of -O3 takes long and makes layer norm half as fast. */
#define SAMBA__VECTORS \
    "O2", "tree-vectorize", "vect-cost-model=dynamic", "peel-loops", "no-trapping-math", \
        "no-tree-loop-distribute-patterns"
#define SAMBA__VECTORIZED __attribute__((optimize(SAMBA__VECTORS)))
#else
#define SAMBA__VECTORIZED
#endif
#define SAMBA__AVX2_FN SAMBA__AVX2 SAMBA__VECTORIZED

/* How samba__fma, a b + c rounded once, is made. Where the compiler has an instruction for it, that
   is the whole story. Elsewhere it would call the C library, and libraries round twice (newlib), or
   add to a rounded product (picolibc), or err otherwise (mingw-w64). So there samba.h has its own:
   in double where the processor has that, else in integers. Inline, the first is also faster than a
   call of glibc's, which is exact. */
#define SAMBA__FMA_INTEGER 0
#define SAMBA__FMA_DOUBLE 1
#define SAMBA__FMA_INSTRUCTION 2
#define SAMBA__FMA_ASSEMBLER 3 /* an instruction that the compiler has to be told of */
#define SAMBA__FMA_CALL 4      /* an instruction in kernels for AVX2, else a call */
#if defined(__clang__) && !defined(__gnu_linux__) && !defined(__APPLE__) && !defined(_WIN32) \
    && (defined(__ARM_FEATURE_FMA) || defined(__riscv_flen))
/* Here clang thinks that fmaf may set errno, and calls it. */
#define SAMBA__FMA SAMBA__FMA_ASSEMBLER
#elif defined(__FP_FAST_FMAF) \
    || (defined(__GNUC__) \
        && (defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen) \
            || defined(__s390x__) || defined(__powerpc64__)))
#define SAMBA__FMA SAMBA__FMA_INSTRUCTION
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(SAMBA_NO_SIMD)
#define SAMBA__FMA SAMBA__FMA_CALL
#elif defined(__x86_64__) || defined(_M_X64) || defined(__SSE2_MATH__) || defined(__wasm__)
#define SAMBA__FMA SAMBA__FMA_DOUBLE
#else
#define SAMBA__FMA SAMBA__FMA_INTEGER
#endif
/* Before a loop that may work in place: no iteration reads what another writes. clang warns where
   it then makes no vectors: at -Os, and where it has no instruction for samba__fma. */
#if defined(__clang__) && __STDC_HOSTED__ && !defined(__OPTIMIZE_SIZE__) \
    && (SAMBA__FMA == SAMBA__FMA_INSTRUCTION || SAMBA__FMA == SAMBA__FMA_CALL)
#define SAMBA__IN_PLACE _Pragma("clang loop vectorize(assume_safety)")
#define SAMBA__FOUR_IN_PLACE _Pragma("clang loop vectorize(assume_safety) interleave_count(4)")
#define SAMBA__FOUR _Pragma("clang loop unroll_count(4)") /* turns in one */
#elif defined(__GNUC__) && !defined(__clang__)
#define SAMBA__IN_PLACE _Pragma("GCC ivdep")
#define SAMBA__FOUR_IN_PLACE SAMBA__IN_PLACE _Pragma("GCC unroll 8")
#define SAMBA__FOUR _Pragma("GCC unroll 4")
#else
#define SAMBA__IN_PLACE
#define SAMBA__FOUR_IN_PLACE
#define SAMBA__FOUR
#endif
/* Before a loop of constant length, whose turns become straight code, so that an array that it
   indexes can stay in registers. */
#if defined(__GNUC__)
#define SAMBA__UNROLLED _Pragma("GCC unroll 16")
#else
#define SAMBA__UNROLLED
#endif
#if defined(SAMBA_RUNTIME_ONLY) && !defined(SAMBA_SMALL)
#define SAMBA_SMALL /* block sizes for a few KiB of fast memory */
#endif
#if defined(SAMBA_SMALL)
#define SAMBA__IS_SMALL 1
#else
#define SAMBA__IS_SMALL 0
#endif
#define SAMBA__SMALL_LOCAL (16 * 1024) /* with SAMBA_SMALL */
/* Small, and no kernels of vectors: products read their operands where they lie. See [direct]. */
#define SAMBA__DIRECT (SAMBA__IS_SMALL && !SAMBA__SIMD)
#if defined(SAMBA_RUNTIME_ONLY)
#define SAMBA__DEVICE_HALF 1
#else
#define SAMBA__DEVICE_HALF 0
#endif
/* Bytes of scratch that each thread owns: the packing buffers of GEMM fit in. */
#if !defined(SAMBA_LOCAL_BYTES)
#define SAMBA_LOCAL_BYTES \
    (SAMBA__DIRECT ? SAMBA__SMALL_LOCAL : SAMBA__IS_SMALL ? SAMBA__SMALL_LOCAL + 4096 : 1536 * 1024)
#endif
#define SAMBA__ALIGN 64 /* of every symbol: a cache line, and any vector */
#define SAMBA__NO_SIZE ((size_t)-1)

/* clang-format off */
/* SAMBA__HAS(op) is 1 if the op is compiled, else 0: with SAMBA_SELECT_OPS only those are whose
   macro SAMBA_USE_<op> is 1 or nothing. Then SAMBA__USED_<value> is a comma, behind which the 1 is
   the second argument; of any other value it is a word without meaning, and the second is 0. */
#if defined(SAMBA_SELECT_OPS) || defined(SAMBA_SELECT_TYPES)
#define SAMBA__USED_ 0,
#define SAMBA__USED_1 0,
#define SAMBA__SECOND_ARGUMENT(first, second, ...) second
#define SAMBA__ARGUMENT_OF(comma_or_word) SAMBA__SECOND_ARGUMENT(comma_or_word 1, 0, 0)
#define SAMBA__USED_BY(value) SAMBA__ARGUMENT_OF(SAMBA__USED_##value)
#define SAMBA__VALUE_USED(value) SAMBA__USED_BY(value)
#endif
#if defined(SAMBA_SELECT_OPS)
#define SAMBA__HAS(op) SAMBA__VALUE_USED(SAMBA_USE_##op)
#else
#define SAMBA__HAS(op) 1
#endif
/* The same of what SAMBA_<type> is stored as, with SAMBA_SELECT_TYPES. */
#if defined(SAMBA_SELECT_TYPES)
#define SAMBA__HAS_TYPE(type) SAMBA__VALUE_USED(SAMBA_USE_##type)
#else
#define SAMBA__HAS_TYPE(type) 1
#endif
enum { SAMBA__OWN_OPS = SAMBA__HAS(own_ops) }; /* may the program have some? */

/* IF(has, x) is x if has is 1, else nothing; IF_NOT is the reverse. */
#define SAMBA__IF(has, ...) SAMBA__IF_VALUE(has, __VA_ARGS__)
#define SAMBA__IF_NOT(has, ...) SAMBA__IF_NOT_VALUE(has, __VA_ARGS__)
#define SAMBA__IF_VALUE(has, ...) SAMBA__IF_##has(__VA_ARGS__)
#define SAMBA__IF_NOT_VALUE(has, ...) SAMBA__IF_NOT_##has(__VA_ARGS__)
#define SAMBA__IF_1(...) __VA_ARGS__
#define SAMBA__IF_0(...)
#define SAMBA__IF_NOT_1(...)
#define SAMBA__IF_NOT_0(...) __VA_ARGS__

/* clang-format on */

/* a + b and a * b in size_t; SAMBA__NO_SIZE, which nothing can allocate, if they do not fit. */
SAMBA__FN size_t samba__add_size(size_t a, size_t b)
{
    return a > SAMBA__NO_SIZE - b ? SAMBA__NO_SIZE : a + b;
}

SAMBA__FN size_t samba__mul_size(size_t a, size_t b)
{
    return b && a > SAMBA__NO_SIZE / b ? SAMBA__NO_SIZE : a * b;
}

/* A size of a file in size_t: SAMBA__NO_SIZE if it does not fit. */
SAMBA__FN size_t samba__fit_size(uint64_t a)
{
    return a > SAMBA__NO_SIZE ? SAMBA__NO_SIZE : (size_t)a;
}

SAMBA__FN size_t samba__align_size(size_t a)
{
    size_t up = samba__add_size(a, SAMBA__ALIGN - 1);
    return up == SAMBA__NO_SIZE ? up : up & ~(size_t)(SAMBA__ALIGN - 1);
}

SAMBA__FN uint64_t samba__align_bytes(uint64_t a)
{
    return (a + SAMBA__ALIGN - 1) / SAMBA__ALIGN * SAMBA__ALIGN;
}

SAMBA__FN int64_t samba__min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

SAMBA__FN int64_t samba__max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

SAMBA__FN int64_t samba__ceil_div(int64_t a, int64_t b)
{
    SAMBA_ASSERT(b > 0);
    return (a + b - 1) / b;
}

/* The same of places and counts of elements that are in memory: kernels have these in ptrdiff_t, as
   64-bit arithmetic takes a small device two to three times the code. What a file claims, and
   nobody has proved, is counted in int64_t. */
SAMBA__FN ptrdiff_t samba__min_index(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

SAMBA__FN ptrdiff_t samba__max_index(ptrdiff_t a, ptrdiff_t b)
{
    return a > b ? a : b;
}

SAMBA__FN ptrdiff_t samba__ceil_index(ptrdiff_t a, ptrdiff_t b)
{
    SAMBA_ASSERT(b > 0);
    return (a + b - 1) / b;
}

/* Every product that feeds a sum goes through samba__fma below, so that no compiler contracts on
   its own. First our own ones.

   The nearest double of a sum, rounded to odd instead: where the sum is not exact, the neighbour
   of the two that has an odd last bit. Rounding that to a float is as if the exact sum had been
   rounded, as the last bit says "and a bit more" (Boldo and Melquiond 2008). The error of the sum
   is exact (Knuth's TwoSum). Infinite sums have the error NaN and stay. */
SAMBA__NOINLINE double samba__sum_to_odd(double a, double b, double sum)
{
    double part = sum - a;
    double error = (a - (sum - part)) + (b - part);

    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if ((bits & 1u) == 0 && (error < 0 || error > 0)) {
        if ((error > 0) == (sum > 0))
            bits++;
        else
            bits--;
    }
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

/* The product is exact in double. Its sum with c is rounded to a double and again to a float, which
   errs only where the first rounding ended in the middle between two floats: then the low 29 bits
   are 1000...; or where the float is subnormal, so that the middle lies elsewhere. */
SAMBA__INLINE float samba__fma_double(float a, float b, float c)
{
    const uint64_t least_normal = (uint64_t)(1023 - 126) << 53; /* 2^-126, without a sign */
    double product = (double)a * (double)b;
    double sum = product + (double)c;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bool middle = (bits & 0x1fffffffu) == 0x10000000u;
    bool subnormal = (bits << 1) - 1u < least_normal - 1u; /* zero is exact: not meant */
    if (middle | subnormal) sum = samba__sum_to_odd(product, (double)c, sum);
    return (float)sum;
}

/* Leading zeros of x, which is not zero. */
SAMBA__FN int samba__leading_zeros(uint32_t x)
{
#if defined(__GNUC__) && __SIZEOF_INT__ == 4
    return __builtin_clz(x);
#else
    int n = 0;
    for (; x < 0x80000000u; x <<= 1)
        n++;
    return n;
#endif
}

SAMBA__FN int samba__leading_zeros64(uint64_t x)
{
    uint32_t high = (uint32_t)(x >> 32);
    return high ? samba__leading_zeros(high) : 32 + samba__leading_zeros((uint32_t)x);
}

/* x >> n, with a last bit that says whether anything was lost. */
SAMBA__FN uint64_t samba__shift_sticky(uint64_t x, int n)
{
    if (n > 63) return x != 0;
    return x >> n | ((x & (((uint64_t)1 << n) - 1u)) != 0);
}

/* A finite number is m 2^e. Splits the bits of one, without its sign. */
SAMBA__FN uint32_t samba__split_float(uint32_t magnitude, int *e)
{
    int exponent = (int)(magnitude >> 23);
    uint32_t m = magnitude & 0x7fffffu;
    *e = (exponent ? exponent : 1) - 150;
    return exponent ? m | 0x800000u : m;
}

/* The bits of m 2^e, 2^62 <= m < 2^63, rounded to the nearest float, ties to even. */
SAMBA__FN uint32_t samba__join_float(uint64_t m, int e)
{
    int exponent = e + 62 + 127, shift = 39;
    if (exponent < 1) { /* subnormal: fewer bits stay */
        shift += 1 - exponent;
        exponent = 1;
        if (shift > 63) return 0; /* below half of the smallest */
    }

    uint64_t half = (uint64_t)1 << (shift - 1);
    uint64_t lost = m & (2u * half - 1u);
    uint32_t bits = (uint32_t)(m >> shift);
    if (lost > half || (lost == half && (bits & 1u))) bits++;

    /* The leading one of a normal number adds 1 to its exponent, as a carry out of it does. */
    bits += (uint32_t)(exponent - 1) << 23;
    return bits < 0x7f800000u ? bits : 0x7f800000u;
}

/* In integers: both terms get 62 bits, so that the sum has room for its carry, and what the smaller
   one loses on the way to the exponent of the other leaves a last bit that is set. */
SAMBA__NOINLINE float samba__fma_integer(float a, float b, float c)
{
    uint32_t x, y, z;
    int ex, ey, ez;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    memcpy(&z, &c, sizeof z);

    uint32_t sign = (x ^ y) & 0x80000000u, sign_z = z & 0x80000000u;
    x &= 0x7fffffffu;
    y &= 0x7fffffffu;
    z &= 0x7fffffffu;

    if (x >= 0x7f800000u || y >= 0x7f800000u || x == 0 || y == 0) return a * b + c;
    if (z >= 0x7f800000u) return c + c;

    uint64_t product = (uint64_t)samba__split_float(x, &ex) * samba__split_float(y, &ey);
    int shift = samba__leading_zeros64(product) - 2, e = ex + ey - shift;
    product <<= shift;

    if (z) {
        uint64_t addend = samba__split_float(z, &ez);
        shift = samba__leading_zeros64(addend) - 2;
        ez -= shift;
        addend <<= shift;

        if (e < ez) {
            product = samba__shift_sticky(product, ez - e);
            e = ez;
        } else
            addend = samba__shift_sticky(addend, e - ez);

        if (sign == sign_z)
            product += addend;
        else if (product >= addend)
            product -= addend;
        else {
            product = addend - product;
            sign = sign_z;
        }
        if (!product) return 0.0f;
    }

    shift = samba__leading_zeros64(product) - 1;
    x = sign | samba__join_float(product << shift, e - shift);
    memcpy(&c, &x, sizeof c);
    return c;
}

#if SAMBA__FMA == SAMBA__FMA_CALL && !defined(__GLIBC__) && !defined(__APPLE__)
/* Portable kernels share their text with those for AVX2, so that they, too, ask for fmaf. In this
   object file that is the one above, whatever the C library has. */
static float samba__fmaf(float a, float b, float c) __asm__("samba__fmaf")
    __attribute__((used, noinline));

static float samba__fmaf(float a, float b, float c)
{
    return samba__fma_double(a, b, c);
}

__asm__(".set fmaf, samba__fmaf");
#endif
SAMBA__INLINE float samba__fma(float a, float b, float c)
{
#if SAMBA__FMA == SAMBA__FMA_ASSEMBLER && defined(__aarch64__)
    __asm__("fmadd %s0, %s1, %s2, %s0" : "+w"(c) : "w"(a), "w"(b));
    return c;
#elif SAMBA__FMA == SAMBA__FMA_ASSEMBLER && defined(__riscv_flen)
    __asm__("fmadd.s %0, %1, %2, %0" : "+f"(c) : "f"(a), "f"(b));
    return c;
#elif SAMBA__FMA == SAMBA__FMA_ASSEMBLER
    __asm__("vfma.f32 %0, %1, %2" : "+t"(c) : "t"(a), "t"(b));
    return c;

#elif SAMBA__FMA == SAMBA__FMA_INSTRUCTION && !defined(__GNUC__)
    return fmaf(a, b, c);
#elif SAMBA__FMA == SAMBA__FMA_INSTRUCTION || SAMBA__FMA == SAMBA__FMA_CALL
    return __builtin_fmaf(a, b, c);

#elif SAMBA__FMA == SAMBA__FMA_DOUBLE
    return samba__fma_double(a, b, c);
#else
    return samba__fma_integer(a, b, c);
#endif
}

SAMBA__INLINE float samba__bits_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

SAMBA__INLINE uint32_t samba__float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* What an option says: SAMBA_ZERO is 0, and 0, which stands there if nobody wrote anything, the
   default. */
SAMBA__FN float samba__or(float value, float otherwise)
{
    if (samba__float_bits(value) == 0) return otherwise;
    return value == 0.0f ? 0.0f : value;
}

SAMBA_API float samba_attr_float(int32_t word)
{
    return samba__bits_float((uint32_t)word);
}

SAMBA_API int32_t samba_float_attr(float value)
{
    return (int32_t)samba__float_bits(value);
}

/* ---- How the processor rounds ----

   A thread has its own direction of rounding, flushing of subnormals, and traps, which a library,
   an audio host or a debugger may have set. So what computes begins with samba__enter_float_mode,
   which sets the mode that all bits of samba.h are defined in, IEEE 754's default, and ends with
   samba__leave_float_mode, which gives the caller its mode back, and its exception flags. Both cost
   a few cycles as long as the modes are the same. WebAssembly and arithmetic in software have one
   mode. Where this file does not know the register (MIPS, POWER ...), samba_open alone looks, at
   what the mode does: see samba__wrong_arithmetic. */
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__SSE2_MATH__))
#define SAMBA__MODE_BITS 0xffc0u    /* of MXCSR all but the flags: */
#define SAMBA__MODE_DEFAULT 0x1f80u /* nothing traps, to nearest, subnormals stay */
typedef uint32_t samba__float_mode;

SAMBA__INLINE samba__float_mode samba__read_float_mode(void)
{
    samba__float_mode mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr) : : "memory");
    return mxcsr;
}

SAMBA__INLINE void samba__write_float_mode(samba__float_mode mode)
{
    __asm__ volatile("ldmxcsr %0" : : "m"(mode) : "memory");
}
#elif defined(__GNUC__) && defined(__aarch64__)
#define SAMBA__MODE_BITS 0xffffffffu /* FPCR; above it the flags, FPSR */
#define SAMBA__MODE_DEFAULT 0u
typedef uint64_t samba__float_mode;

SAMBA__INLINE samba__float_mode samba__read_float_mode(void)
{
    uint64_t control, flags;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(flags) : : "memory");
    return flags << 32 | (control & SAMBA__MODE_BITS);
}

SAMBA__INLINE void samba__write_float_mode(samba__float_mode mode)
{
    uint64_t control = mode & SAMBA__MODE_BITS, flags = mode >> 32;
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(control), "r"(flags) : "memory");
}
#elif defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP) \
    && (!defined(__thumb__) || defined(__thumb2__))
#define SAMBA__MODE_BITS 0x07c89f00u /* of FPSCR: AHP, DN, FZ, rounding, FZ16, traps */
#define SAMBA__MODE_DEFAULT 0u
typedef uint32_t samba__float_mode;

SAMBA__INLINE samba__float_mode samba__read_float_mode(void)
{
    samba__float_mode fpscr;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(fpscr) : : "memory");
    return fpscr;
}

SAMBA__INLINE void samba__write_float_mode(samba__float_mode mode)
{
    __asm__ volatile("vmsr fpscr, %0" : : "r"(mode) : "memory");
}
#elif defined(__GNUC__) && (defined(__riscv_flen) || defined(__riscv_zfinx))
#define SAMBA__MODE_BITS 0xe0u /* of fcsr: rounding */
#define SAMBA__MODE_DEFAULT 0u
typedef unsigned long samba__float_mode;

SAMBA__INLINE samba__float_mode samba__read_float_mode(void)
{
    samba__float_mode fcsr;
    __asm__ volatile("frcsr %0" : "=r"(fcsr) : : "memory");
    return fcsr;
}

SAMBA__INLINE void samba__write_float_mode(samba__float_mode mode)
{
    __asm__ volatile("fscsr %0" : : "r"(mode) : "memory");
}
#elif defined(__GNUC__) && defined(__s390x__)
#define SAMBA__MODE_BITS 0xfc000007u /* of the FPC: traps, binary rounding */
#define SAMBA__MODE_DEFAULT 0u
typedef uint32_t samba__float_mode;

SAMBA__INLINE samba__float_mode samba__read_float_mode(void)
{
    samba__float_mode fpc;
    __asm__ volatile("efpc %0" : "=d"(fpc) : : "memory");
    return fpc;
}

SAMBA__INLINE void samba__write_float_mode(samba__float_mode mode)
{
    __asm__ volatile("sfpc %0" : : "d"(mode) : "memory");
}
#else
typedef int samba__float_mode;
#endif

/* Sets the default mode, and returns the caller's. */
SAMBA__INLINE samba__float_mode samba__enter_float_mode(void)
{
#if defined(SAMBA__MODE_BITS)
    samba__float_mode callers = samba__read_float_mode();
    if ((callers & SAMBA__MODE_BITS) != SAMBA__MODE_DEFAULT)
        samba__write_float_mode((callers & ~(samba__float_mode)SAMBA__MODE_BITS)
                                | SAMBA__MODE_DEFAULT);
    return callers;
#else
    return 0;
#endif
}

/* Sets the mode in which results below the least normal number are zero, and so are operands; false
   if the processor has none that detects them after rounding, as AMX does (NEON does before). */
SAMBA__INLINE bool samba__enter_flush_mode(void)
{
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__SSE2_MATH__))
    samba__write_float_mode(SAMBA__MODE_DEFAULT | 0x8040u); /* FTZ and DAZ */
    return true;
#else
    return false;
#endif
}

/* Puts the caller's mode and flags back. */
SAMBA__INLINE void samba__leave_float_mode(samba__float_mode callers)
{
#if defined(SAMBA__MODE_BITS)
    if (samba__read_float_mode() != callers) samba__write_float_mode(callers);
#else
    (void)callers;
#endif
}

/* PEF files are little-endian whatever the machine is. */
SAMBA__FN uint8_t samba__get8(const uint8_t *p)
{
    return *p;
}

/* Inline, for loops over many words: compilers make one load of it where that is allowed. */
SAMBA__INLINE uint32_t samba__load32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

SAMBA__FN uint32_t samba__get32(const uint8_t *p)
{
    return samba__load32(p);
}

SAMBA__FN uint64_t samba__get64(const uint8_t *p)
{
    return (uint64_t)samba__get32(p) | (uint64_t)samba__get32(p + 4) << 32;
}

SAMBA__FN void samba__put8(uint8_t *p, uint8_t v)
{
    *p = v;
}

SAMBA__FN void samba__put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

SAMBA__FN void samba__put64(uint8_t *p, uint64_t v)
{
    samba__put32(p, (uint32_t)v);
    samba__put32(p + 4, (uint32_t)(v >> 32));
}

SAMBA__FN bool samba__same_text(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* 64-bit hash of bytes. XXH64, Collet 2012 (public specification), used as the PEF's checksum. */
SAMBA__FN uint64_t samba__rotl64(uint64_t x, int r)
{
    return x << r | x >> (64 - r);
}

#define SAMBA__P1 0x9E3779B185EBCA87u
#define SAMBA__P2 0xC2B2AE3D27D4EB4Fu
#define SAMBA__P3 0x165667B19E3779F9u
#define SAMBA__P4 0x85EBCA77C2B2AE63u
#define SAMBA__P5 0x27D4EB2F165667C5u

SAMBA__FN uint64_t samba__hash_round(uint64_t acc, uint64_t input)
{
    return samba__rotl64(acc + input * SAMBA__P2, 31) * SAMBA__P1;
}

SAMBA__FN uint64_t samba__hash_finish(uint64_t h, const uint8_t *p, size_t n)
{
    for (; n >= 8; p += 8, n -= 8)
        h = samba__rotl64(h ^ samba__hash_round(0, samba__get64(p)), 27) * SAMBA__P1 + SAMBA__P4;
    if (n >= 4) {
        h = samba__rotl64(h ^ samba__get32(p) * SAMBA__P1, 23) * SAMBA__P2 + SAMBA__P3;
        p += 4;
        n -= 4;
    }
    for (; n > 0; p++, n--)
        h = samba__rotl64(h ^ *p * SAMBA__P5, 11) * SAMBA__P1;

    h = (h ^ h >> 33) * SAMBA__P2;
    h = (h ^ h >> 29) * SAMBA__P3;
    return h ^ h >> 32;
}

SAMBA__FN uint32_t samba__rotl32(uint32_t x, int r)
{
    return x << r | x >> (32 - r);
}

/* MurmurHash3 (Appleby 2011, public domain), two lanes of 32 bits that feed each other: little code
   without 64-bit products, where a file has been trusted before. Each step can be undone, so a file
   in which one word is another always has another fingerprint. Words are scrambled before they
   meet the lanes, and rotated, so that changes of several bits cancel by chance alone: products by
   themselves only carry upwards, and two flipped top bits would be none. */
SAMBA__FN uint32_t samba__scramble(uint32_t word)
{
    return samba__rotl32(word * 0xcc9e2d51u, 15) * 0x1b873593u;
}

SAMBA__FN void samba__stir(uint32_t lane[2], const uint8_t *p)
{
    uint32_t a = samba__rotl32(lane[0] ^ samba__scramble(samba__load32(p)), 19) + lane[1];
    lane[0] = a * 5u + 0x561ccd1bu;
    uint32_t b = samba__rotl32(lane[1] ^ samba__scramble(samba__load32(p + 4)), 17) + lane[0];
    lane[1] = b * 5u + 0x0bcaa747u;
}

SAMBA__FN uint32_t samba__avalanche(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

SAMBA__FN uint64_t samba__fingerprint(const void *bytes, size_t size)
{
    const uint8_t *p = (const uint8_t *)bytes;
    uint32_t lane[2] = { (uint32_t)size, 0 };
    uint8_t rest[8] = { 0 }; /* zeros behind the last bytes: the size tells them from others */

    for (; size >= 8; p += 8, size -= 8)
        samba__stir(lane, p);
    if (size > 0) {
        memcpy(rest, p, size);
        samba__stir(lane, rest);
    }

    lane[0] = samba__avalanche(lane[0]);
    lane[1] = samba__avalanche(lane[1] + lane[0]);
    return (uint64_t)lane[1] << 32 | lane[0];
}

SAMBA__FN void samba__hash_begin(uint64_t v[4], uint64_t seed)
{
    v[0] = seed + SAMBA__P1 + SAMBA__P2;
    v[1] = seed + SAMBA__P2;
    v[2] = seed;
    v[3] = seed - SAMBA__P1;
}

/* Whole blocks of 32 bytes, of a hash that samba__hash_begin began. */
SAMBA__FN void samba__hash_blocks(uint64_t v[4], const uint8_t *p, size_t n)
{
    for (; n >= 32; n -= 32)
        for (int i = 0; i < 4; i++, p += 8)
            v[i] = samba__hash_round(v[i], samba__load32(p) | (uint64_t)samba__load32(p + 4) << 32);
}

SAMBA__FN uint64_t samba__hash_join(const uint64_t v[4])
{
    uint64_t h = samba__rotl64(v[0], 1) + samba__rotl64(v[1], 7) + samba__rotl64(v[2], 12)
        + samba__rotl64(v[3], 18);
    for (int i = 0; i < 4; i++)
        h = (h ^ samba__hash_round(0, v[i])) * SAMBA__P1 + SAMBA__P4;
    return h;
}

SAMBA__FN uint64_t samba__hash(const void *data, size_t size, uint64_t seed)
{
    const uint8_t *p = (const uint8_t *)data;
    size_t tail = size % 32;
    uint64_t h = seed + SAMBA__P5, v[4];
    if (size >= 32) {
        samba__hash_begin(v, seed);
        samba__hash_blocks(v, p, size);
        h = samba__hash_join(v);
        p += size - tail; /* data may be NULL if it is empty */
    }
    return samba__hash_finish(h + (uint64_t)size, p, tail);
}

/* The hash of n bytes that came as whole blocks to samba__hash_blocks. That of no bytes does not
   have the four sums of the blocks. */
SAMBA__FN uint64_t samba__hash_end(const uint64_t v[4], uint64_t n)
{
    if (n == 0) return samba__hash(NULL, 0, 0);
    return samba__hash_finish(samba__hash_join(v) + n, NULL, 0);
}

/* The same of two pieces, one behind the other. n is a multiple of 32, and not 0. */
SAMBA__FN uint64_t samba__hash_two(const uint8_t *p, size_t n, const uint8_t *q, size_t m)
{
    size_t tail = m % 32;
    uint64_t v[4];
    samba__hash_begin(v, 0);
    samba__hash_blocks(v, p, n);
    samba__hash_blocks(v, q, m);
    return samba__hash_finish(samba__hash_join(v) + n + m, m ? q + (m - tail) : q, tail);
}

