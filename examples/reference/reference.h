// What the files of this folder share. Each file has a short example of every function of a part of
// samba.h; `make docs` shows them in the reference, and a test runs them.
//     numbers(s, "x", SAMBA_SHAPE(3), 1, 2, 3)   a tensor of these numbers; integers: of i32
//     is(y, 1, 2, 3)                              y holds these numbers
//     holds(2 > 1)                                this is so
// Run without arguments, a program says how many of these are true, and which are not.
#ifndef SAMBA_ELSEWHERE // the test compiles samba.h once for most files
#define SAMBA_IMPLEMENTATION
#endif
#include "../../samba.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_right, n_wrong;

static inline void count_check(bool right, const char *what, const char *file, int line)
{
    if (right)
        n_right++;
    else
        n_wrong++;
    if (!right) printf("%s:%d: not so: %s\n", file, line, what);
}

// To five digits. The numbers of bool and integer tensors are compared as what they are.
static inline bool holds_numbers(samba_tensor *t, const double *want, int64_t n)
{
    if (!t || samba_count(&t->shape) != n) return false;
    float *got = (float *)malloc((size_t)n * sizeof *got);
    bool same = got && samba_copy_out_f32(t, got, n);
    for (int64_t i = 0; same && i < n; i++)
        same = fabs((double)got[i] - want[i]) <= 1e-5 * (1 + fabs(want[i]));
    free(got);
    return same;
}

#define numbers(s, name, shape, ...) \
    samba_from_data_copy(s, name, SAMBA_F32, shape, (const float[]){ __VA_ARGS__ })
#define integers(s, name, shape, ...) \
    samba_from_data_copy(s, name, SAMBA_I32, shape, (const int32_t[]){ __VA_ARGS__ })
#define holds(what) count_check(what, #what, __FILE__, __LINE__)
#define LENGTH(...) (int64_t)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))
#define is(t, ...) \
    count_check(holds_numbers(t, (const double[]){ __VA_ARGS__ }, LENGTH(__VA_ARGS__)), \
                #t " is " #__VA_ARGS__, __FILE__, __LINE__)

// A session that computes at once, for an example that needs no more; it must end without an error.
static inline void run_example(void (*example)(samba_session *s), const char *name)
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    example(s);
    bool fine = samba_ok(s);
    count_check(fine, name, samba_error(s), 0);
    samba_close(s);
}

#define RUN(example) run_example(example, #example " ends without an error")

static inline int finish_examples(void)
{
    printf("%d passed, %d failed\n", n_right, n_wrong);
    return n_wrong != 0;
}
