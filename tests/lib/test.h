// The test harness. A test is a function without arguments that uses CHECK. Needs only printf.
//     RUN(test_a); RUN(test_b); return test_summary();
#ifndef TEST_H
#define TEST_H

#include <stddef.h>
#include <stdio.h>

// Under a sanitizer, time and memory are not those of users.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

// How often to draw cases of one kind: under a sanitizer a fourth, as all of them run the same
// code, and make test has all.
#define TEST_TIMES(n) (TEST_SANITIZED ? ((n) + 3) / 4 : (n))

// A definition as plain loops, which computes what is wanted: it is not what sanitizers look at.
#if defined(__clang__)
#define TEST_UNCHECKED __attribute__((no_sanitize("address", "undefined")))
#elif defined(__GNUC__)
#define TEST_UNCHECKED __attribute__((no_sanitize_address, no_sanitize_undefined))
#else
#define TEST_UNCHECKED
#endif

static int test_passed, test_failed, test_bad; // test_bad: failed checks of the running test

#define CHECK(cond) ((cond) ? (void)0 : test_fail(#cond, __FILE__, __LINE__))
#define CHECK_CLOSE(got, want, n, rtol, atol) \
    test_close(got, want, n, rtol, atol, __FILE__, __LINE__)
#define RUN(test) (test_bad = 0, test(), test_end(#test))

static inline void test_fail(const char *what, const char *file, int line)
{
    printf("%s:%d: %s\n", file, line, what);
    test_bad++;
}

// |got - want| <= atol + rtol |want| for all n; only a NaN is close to a NaN. Names the first bad.
static inline void test_close(const float *got, const float *want, size_t n, double rtol,
                              double atol, const char *file, int line)
{
    for (size_t i = 0; i < n; i++) {
        double g = (double)got[i], w = (double)want[i], error = g > w ? g - w : w - g;
        double limit = atol + rtol * (w < 0 ? -w : w);
        if (g == w || (g != g && w != w)) continue;
        if (error <= limit && limit - limit == 0) continue; // not so if one is infinite
        printf("%s:%d: element %lu of %lu is %.9g, not %.9g\n", file, line, (unsigned long)i,
               (unsigned long)n, g, w);
        test_bad++;
        return;
    }
}

static inline void test_end(const char *name)
{
    if (!test_bad) test_passed++;
    if (test_bad) {
        test_failed++;
        (void)printf("FAILED %s\n", name);
    }
    test_bad = 0; // the next one begins without
}

// Prints the last line of a test program; returns its exit code. No test at all is a failure, too.
static inline int test_summary(void)
{
    printf("%d passed, %d failed\n", test_passed, test_failed);
    return test_failed > 0 || test_passed == 0;
}

#endif
