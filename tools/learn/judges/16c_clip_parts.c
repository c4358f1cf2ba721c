#include "../judge.h"

enum { PARTS = 3, MOST = 4 };

static const float gradients[PARTS][MOST] = { { 3, -4, 1, 2 }, { -6, 2, 5, 1 }, { 1, 8, -2, 4 } };

static void batch(const char *what, const int *rows, int parts, int n, float limit)
{
    float got[MOST + 1], *own[PARTS], *step = judge_room(n, 1000);
    for (int p = 0; p < parts; p++) own[p] = judge_copy(gradients[p], sizeof(float) * (size_t)n);
    const float **g = judge_copy(own, sizeof *own * (size_t)parts);
    judge_case(what);
    got[n] = clip_parts(g, judge_copy(rows, sizeof *rows * (size_t)parts), parts, n, limit, step);
    memcpy(got, step, sizeof *step * (size_t)n);
    judge_got(got, n + 1);
    judge_compare_later(1e-5);
    judge_got_array("step", got, 1, n);
    judge_compare(1e-5);
    judge.what = "the norm that is returned";
    judge_got(got + n, 1);
    judge_compare(1e-5);
}

static void judge_cases(void)
{
    batch("parts of 4 and 2 rows, limit 1", (const int[]){ 4, 2 }, 2, 4, 1);
    batch("parts of 4 and 2 rows, limit 4", (const int[]){ 4, 2 }, 2, 4, 4);
    batch("parts of 8, 8 and 3 rows, limit 2", (const int[]){ 8, 8, 3 }, 3, 4, 2);
    batch("parts of 8, 8 and 3 rows, limit 50", (const int[]){ 8, 8, 3 }, 3, 4, 50);
    batch("one part, limit 3, 2 numbers", (const int[]){ 5 }, 1, 2, 3);
}
