#include "../judge.h"

static void call(const float *x, float *got, int m, int n)
{
    float *own = judge_copy(x, sizeof *x * (size_t)(m * n)), *y = judge_room(m * n, 1000);
    softmax(own, y, m, n);
    memcpy(got, y, sizeof *y * (size_t)(m * n));
}

static void small_scores(const char *what, const float *x, int m, int n)
{
    float got[16];
    judge_case(what);
    call(x, got, m, n);
    judge_got_array("y", got, m, n);
    judge_compare(1e-6);
}

// A mistake is one that explains all of them.
static void large_scores(void)
{
    static const struct {
        const char *name;
        int m, n;
        float x[6];
    } cases[] = {
        { "softmax of (1000, 1001, 999)", 1, 3, { 1000, 1001, 999 } },
        { "softmax of (-1000, -1001, -999)", 1, 3, { -1000, -1001, -999 } },
        { "softmax of (200, 5, 100)", 1, 3, { 200, 5, 100 } },
        { "softmax of (5, 200, 100)", 1, 3, { 5, 200, 100 } },
        { "softmax of (5, 100, 200)", 1, 3, { 5, 100, 200 } },
        { "softmax of (5, 100, 100)", 1, 3, { 5, 100, 100 } },
        { "softmax of (500, 501) and (-500, -501)", 2, 2, { 500, 501, -500, -501 } },
        { "softmax of (0, 1, 2) and (3, 1000, -300)", 2, 3, { 0, 1, 2, 3, 1000, -300 } },
        { "softmax of one score", 1, 1, { 7 } },
    };
    enum { CASES = sizeof cases / sizeof *cases };
    float got[6 * CASES];
    int count = 0;
    judge_case("Large scores");
    for (int i = 0; i < CASES; i++) {
        call(cases[i].x, got + count, cases[i].m, cases[i].n);
        count += cases[i].m * cases[i].n;
    }
    judge_got(got, count);
    for (int i = 0; i < CASES; i++) judge_part(cases[i].name, cases[i].m, cases[i].n);
    judge_compare(1e-6);
}

static void judge_cases(void)
{
    small_scores("softmax of two rows", (const float[]){ 1, 2.5f, 3, 0.5f, -1, 2 }, 2, 3);
    small_scores("softmax of three rows",
                 (const float[]){ 1, 0, 2, -1, 0.5f, 0.5f, 1, -2, 1.5f, 0, 3, 2 }, 3, 4);
    large_scores();
}
