/* ==== [simd] ================================================================================== */
/* Kernels are plain C, compiled once for each instruction set. How that works:

   A set is a block of small functions over one vector, samba__vec: load, store, fma and so on. A
   template is a stretch of this file that is compiled for every set. What must control registers,
   matrix products above all, computes by the functions of the set; loops that the compiler
   vectorizes well are written as loops. Both are ordinary C, which a debugger steps through. To
   compile it for all sets, this file includes
   itself. Where a template stands, SAMBA__TEMPLATE is set to its number, and #include SAMBA_SELF
   reads the file again from the top; this time all but the blocks of the sets is skipped. Each
   block allows the compiler the instructions of its set (#pragma GCC target), says how long its
   vectors are, and includes the file once more; now all but the template is skipped. As C has no
   overloading, the functions of a template are named after the set: macros (SAMBA__OF_SET) make
   samba__micro_kernel into samba__micro_kernel_avx2 and so on, which is what debuggers show. All
   sets that the compiler knows are in the program, and samba__best_isa asks the processor which of
   them it has. All give the same bits: lanes are different elements of a result, never parts of
   one sum, and vec_fma rounds once in each of them.

   A new template: its number above [base], SAMBA__OF_SET for its names, its text between
   "#if SAMBA__TEMPLATE == number && defined(SAMBA__SUFFIX)" and "#endif", outside of every other
   #if, and after it the include.

   A new set: its row in SAMBA__EACH_SET, and a block, unless it has the vectors of another set.
   What sets do in different ways is a member of samba__set, and a line of SAMBA__SET_ROW in
   [op-rows]. */
/* The name that the file is included by; in quotes, it is looked for beside itself. */
#ifndef SAMBA_SELF
#define SAMBA_SELF "samba.h"
#endif

/* Dot products of bytes came later than AVX-512 and NEON, and are no part of them: sets with them
   are rows of their own. Not in the device half, which asks nothing of the C library. */
#if SAMBA__X86 && !SAMBA__IS_SMALL \
    && ((defined(__clang__) && __clang_major__ >= 7) || (!defined(__clang__) && __GNUC__ >= 9))
#define SAMBA__VNNI 1
#define SAMBA__VNNI_FN __attribute__((target("avx512f,avx512bw,avx512vnni,avx2,fma")))
#else
#define SAMBA__VNNI 0
#endif

/* Matrix units, in [tiles]; or, for tests, their twin. */
#if SAMBA__VNNI && defined(__x86_64__) && defined(__linux__) && !SAMBA__DEVICE_HALF \
    && ((defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && __GNUC__ >= 11))
#define SAMBA__PACKS_TILES 1
#else
#define SAMBA__PACKS_TILES 0
#endif
#if defined(SAMBA_TILE_TWIN) && !SAMBA__IS_SMALL
#define SAMBA__TILES 1
#define SAMBA__AMX 0
#else
#define SAMBA__TILES SAMBA__PACKS_TILES
#define SAMBA__AMX SAMBA__PACKS_TILES
#endif

#if SAMBA__NEON && defined(__ARM_FEATURE_DOTPROD)
#define SAMBA__SDOT 1
#define SAMBA__SDOT_FN
#define SAMBA__HAS_SDOT true
#elif SAMBA__NEON && !defined(__clang__) && __GNUC__ >= 8 && defined(__linux__) \
    && !SAMBA__DEVICE_HALF
#include <sys/auxv.h>
#define SAMBA__SDOT 1
#define SAMBA__SDOT_FN __attribute__((target("arch=armv8.2-a+dotprod")))
#define SAMBA__HAS_SDOT (((getauxval(AT_HWCAP) >> 20) & 1) != 0) /* HWCAP_ASIMDDP */
#else
#define SAMBA__SDOT 0
#endif

#define SAMBA__CPU_HAS(feature) (__builtin_cpu_supports(feature) != 0)
#define SAMBA__HAS_AVX2 (SAMBA__CPU_HAS("avx2") && SAMBA__CPU_HAS("fma"))
#define SAMBA__HAS_AVX512 (SAMBA__HAS_AVX2 && SAMBA__CPU_HAS("avx512f"))
#define SAMBA__HAS_VNNI \
    (SAMBA__HAS_AVX512 && SAMBA__CPU_HAS("avx512bw") && SAMBA__CPU_HAS("avx512vnni"))

/* All sets of this processor, the plainest first; each can do what those before it can. Their
   number is samba_args.isa. A row has the name of the set, and whose functions it runs:

       vectors   those that use vectors of any length
       eights    those to which vectors of more than 8 floats would be of no use
       loops     loops that the compiler vectorizes, outside of templates
       dot4      products of bytes, in [int-ops] and [int-matmul]
       tiles     its matrix unit, in [tiles]
       works     does this processor have the set? Every AArch64 has NEON with fma

   With buffers for small memory there is no room for the tiles of AVX-512. */
/* clang-format off */
#if SAMBA__X86
#define SAMBA__PLAIN_SETS(DO, x) \
    /*    set          vectors   eights    loops     dot4      tiles works */ \
    DO(x, portable,    portable, portable, portable, portable, none, true) \
    DO(x, avx2,        avx2,     avx2,     avx2,     avx2,     none, SAMBA__HAS_AVX2) \
    SAMBA__IF_NOT(SAMBA__IS_SMALL, \
    DO(x, avx512,      avx512,   avx2,     avx2,     avx2,     none, SAMBA__HAS_AVX512)) \
    SAMBA__IF(SAMBA__VNNI, \
    DO(x, avx512_vnni, avx512,   avx2,     avx2,     vnni,     none, SAMBA__HAS_VNNI)) \
    SAMBA__IF(SAMBA__AMX, \
    DO(x, avx512_amx,  avx512,   avx2,     avx2,     amx,      amx,  samba__tiles_permitted()))
#elif SAMBA__NEON
#define SAMBA__PLAIN_SETS(DO, x) \
    DO(x, portable,    portable, portable, portable, portable, none, true) \
    DO(x, neon,        neon,     neon,     portable, portable, none, true) \
    SAMBA__IF(SAMBA__SDOT, \
    DO(x, neon_sdot,   neon,     neon,     portable, sdot,     none, SAMBA__HAS_SDOT))
#elif SAMBA__WASM
#define SAMBA__PLAIN_SETS(DO, x) \
    DO(x, portable,    portable, portable, portable, portable, none, true) \
    DO(x, wasm,        wasm,     wasm,     portable, portable, none, true)
#else
#define SAMBA__PLAIN_SETS(DO, x) \
    DO(x, portable,    portable, portable, portable, portable, none, true)
#endif

#if defined(SAMBA_TILE_TWIN) && SAMBA__TILES
#define SAMBA__EACH_SET(DO, x) \
    SAMBA__PLAIN_SETS(DO, x) \
    DO(x, twin,        portable, portable, portable, portable, twin, true) \
    SAMBA__IF(SAMBA__PACKS_TILES, \
    DO(x, twin_avx512, avx512,   avx2,     avx2,     vnni, twin_avx512, samba__packs_tiles()))
#else
#define SAMBA__EACH_SET(DO, x) SAMBA__PLAIN_SETS(DO, x)
#endif
#define SAMBA__ONE_MORE(x, ...) + x
enum { SAMBA__ISA_PORTABLE = 0, SAMBA__N_SETS = SAMBA__EACH_SET(SAMBA__ONE_MORE, 1) };
/* clang-format on */

struct samba__filling;
struct samba__integer_panel;
typedef void (*samba__dot4_fn)(const int8_t *x, const int8_t *w, ptrdiff_t w_row, ptrdiff_t k,
                               int32_t *sum);

/* Products of packed bytes, in [int-matmul]: sum += x w of so many rows, and so many times four
   steps. */
typedef void (*samba__integer_fn)(const struct samba__integer_panel *p);

/* What sets do in different ways: the columns of a table in [op-rows], where all of it is known. */
typedef struct samba__set {
    const char *name;
    bool (*works)(void);
    const struct samba__gemm_set *gemm;
    const struct samba__pool_set *pool;
    const struct samba__attention_set *attention;
    const struct samba__tile_set *tiles; /* NULL: it has no matrix unit */
    samba__dot4_fn dot4;
    samba__integer_fn multiply_integers; /* NULL: the plain way */
    bool (*has_nonfinite)(const void *x, int64_t n, samba_dtype type);
    void (*extremes)(const uint32_t *x, int64_t n, int32_t span[2]);
    void (*fill)(const struct samba__filling *f, int64_t begin, int64_t end);
} samba__set;

SAMBA__FN const samba__set *samba__set_of(int32_t isa);

#define SAMBA__JOIN_(a, b) a##b
#define SAMBA__JOIN(a, b) SAMBA__JOIN_(a, b)
#define SAMBA__OF_SET(name) SAMBA__JOIN(name, SAMBA__SUFFIX)
/* A function of the column "eights". */
#define SAMBA__OF_NARROW(name) SAMBA__JOIN(name, SAMBA__NARROW_SUFFIX)

/* What a set consists of; and, for products, SAMBA__MR x SAMBA__NR, its micro-tile, and the largest
   block of A, SAMBA__MC x SAMBA__KC. */
#define samba__vec SAMBA__OF_SET(samba__vec)           /* SAMBA__VEC_LANES floats */
#define samba__vec_set SAMBA__OF_SET(samba__vec_set)   /* x in all lanes */
#define samba__vec_load SAMBA__OF_SET(samba__vec_load) /* from any address */
#define samba__vec_store SAMBA__OF_SET(samba__vec_store)
#define samba__vec_add SAMBA__OF_SET(samba__vec_add)
#define samba__vec_mul SAMBA__OF_SET(samba__vec_mul)
#define samba__vec_fma SAMBA__OF_SET(samba__vec_fma)         /* a b + c, rounded once */
#define samba__vec_sum SAMBA__OF_SET(samba__vec_sum)         /* of all lanes, in pairs: [reduce] */
#define samba__mask SAMBA__OF_SET(samba__mask)               /* switches lanes on or off */
#define samba__mask_first SAMBA__OF_SET(samba__mask_first)   /* the first n lanes */
#define samba__vec_larger SAMBA__OF_SET(samba__vec_larger)   /* samba__larger of each lane */
#define samba__vec_largest SAMBA__OF_SET(samba__vec_largest) /* samba__larger of all lanes */
#define samba__vec_only SAMBA__OF_SET(samba__vec_only)       /* zero in lanes that are off */
/* Lanes that are off are zero, neither read nor written. `whole` says that all lanes are on: some
   sets have a faster way then. */
#define samba__vec_load_some SAMBA__OF_SET(samba__vec_load_some)
#define samba__vec_store_some SAMBA__OF_SET(samba__vec_store_some)
/* Sets with more than one lane also have the following. The first three give values of packed
   weights, without rounding: those of bf16; of int8, times d; of int4, the low or the high halves
   of bytes, less 8, times d. vec_transpose: lane j of v[q] is x[j * row + q], q < 4.
   square_transpose, where there are 16 lanes: y[q * y_row + j] = x[j * x_row + q], q < 16. */
#define samba__vec_of_bf16 SAMBA__OF_SET(samba__vec_of_bf16)
#define samba__vec_of_int8 SAMBA__OF_SET(samba__vec_of_int8)
#define samba__vec_of_int4 SAMBA__OF_SET(samba__vec_of_int4)
#define samba__vec_transpose SAMBA__OF_SET(samba__vec_transpose)
#define samba__square_transpose SAMBA__OF_SET(samba__square_transpose)
#endif /* SAMBA__TEMPLATE == 0, since [base]; the sets below are read for templates, too */
