/* ==== [config] ================================================================================ */
#ifndef SAMBA_H
#define SAMBA_H

#define SAMBA_VERSION_MAJOR 0
#define SAMBA_VERSION_MINOR 1
#define SAMBA_VERSION "0.1.0"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if (defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) \
     || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)) \
    && !defined(SAMBA_ALLOW_FAST_MATH)
#error "samba.h: -ffast-math (or -Ofast, or a part of it) changes results and breaks NaN checks. \
Compile without it."
#endif
/* 16 means that _Float16, which is not used here, has a precision of its own. */
#if defined(__FLT_EVAL_METHOD__) && !defined(SAMBA_ALLOW_EXCESS_PRECISION)
#if __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "samba.h: this compiler computes float with excess precision (FLT_EVAL_METHOD is not 0), \
which changes results. On 32-bit x86, compile with -msse2 -mfpmath=sse."
#endif
#endif

/* linkage of the public functions; set it to a dllexport if you like */
#ifndef SAMBA_API
#if defined(SAMBA_STATIC)
#define SAMBA_API static inline
#elif defined(__cplusplus)
#define SAMBA_API extern "C"
#else
#define SAMBA_API extern
#endif
#endif

#if defined(SAMBA_SELECT_OPS) && !defined(SAMBA_RUNTIME_ONLY)
#error "samba.h: SAMBA_SELECT_OPS leaves ops out, but the host half needs them all. \
Define SAMBA_RUNTIME_ONLY, too."
#endif

#if defined(SAMBA_SELECT_TYPES) && !defined(SAMBA_RUNTIME_ONLY)
#error "samba.h: SAMBA_SELECT_TYPES leaves types out, but the host half needs them all. \
Define SAMBA_RUNTIME_ONLY, too."
#endif

#if defined(SAMBA_TRUSTED_PEF) && !defined(SAMBA_RUNTIME_ONLY)
#error "samba.h: SAMBA_TRUSTED_PEF leaves out the proof of a PEF, which the host half needs. \
Define SAMBA_RUNTIME_ONLY, too."
#endif

#if defined(SAMBA_NO_TEXTS) && !defined(SAMBA_RUNTIME_ONLY)
#error "samba.h: SAMBA_NO_TEXTS leaves out sentences that the host half writes. \
Define SAMBA_RUNTIME_ONLY, too."
#endif

/* 0 as an option, where 0 in its place means a default that is another number: of samba_optim, and
   of the options of companions that say so. It is the zero below zero, which equals 0. */
#define SAMBA_ZERO (-0.0f)

#define SAMBA_MAX_DIMS 8     /* dimensions of a tensor */
#define SAMBA_MAX_IN 16      /* inputs of one op; cat and stack chain for more */
#define SAMBA_MAX_OUT 4      /* outputs of one op */
#define SAMBA_MAX_ATTR 32    /* integer or float attributes of one op */
#define SAMBA_MAX_OUTPUTS 64 /* outputs and losses of a program */
#define SAMBA_MAX_RUNS 32    /* schedules that one samba_run_desc runs */

/* SAMBA_ASSERT(what holds here whenever samba.h is right): for the reader, and, with SAMBA_ASSERTS
   alone, for the machine. It is no error: what a caller, a file or a user's op can get wrong is
   refused by samba_fail, samba_refuse or the verifier. Without effects; off, it costs nothing. */
#if defined(SAMBA_ASSERTS)
#include <stdio.h>
#define SAMBA_ASSERT(holds) \
    ((holds) ? (void)0 \
             : (fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds), \
                __builtin_trap()))
#else
#define SAMBA_ASSERT(holds) ((void)0)
#endif

