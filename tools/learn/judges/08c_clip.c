#include "../judge.h"

enum { TENSORS = 3, MOST = 8 };

static const int sizes[TENSORS] = { 4, 1, 3 };
static const char *const tensor_names[] = { "gradients[0]", "gradients[1]", "gradients[2]" };

// A mistake is known best by the norm and the gradients; or else by the gradients, or the norm.
static void compare(const float *got)
{
    judge_got(got, MOST + 1);
    judge_compare_later(1e-6);
    judge_got(got, MOST);
    for (int t = 0; t < TENSORS; t++) judge_part(tensor_names[t], 1, sizes[t]);
    judge_compare(1e-6);
    judge.what = "the norm that is returned";
    judge_got(got + MOST, 1);
    judge_compare(1e-6);
}

static void gradient(const char *what, const float *g, float limit)
{
    float got[MOST + 1], *tensors[TENSORS];
    int at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        tensors[t] = judge_copy(g + at, (size_t)sizes[t] * sizeof *g);
    judge_case(what);
    got[MOST] = clip(tensors, sizes, TENSORS, limit);
    at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        memcpy(got + at, tensors[t], (size_t)sizes[t] * sizeof *g);
    judge_holds(g[0] < 1e20f || (got[MOST] < 1e37f && got[0] != 0), "overflow");
    judge_holds(g[0] != 0 || (got[0] == 0 && got[1] == 0), "zero_by_zero");
    compare(got);
}

static void judge_cases(void)
{
    static const float ten[MOST] = { 3, -4, -1, 1, 8, -2, 2, -1 }, zeros[MOST] = { 0 };
    gradient("numbers of norm 10, limit 2", ten, 2);
    gradient("numbers of norm 10, limit 200", ten, 200);
    gradient("numbers of norm 10, limit 20", ten, 20);
    gradient("numbers of norm 10, limit 6", ten, 6);
    gradient("zeros, limit 1", zeros, 1);
    gradient("numbers like 1e25, limit 1",
             (const float[]){ 1e25f, 0, 3e25f, 1, 2, -1e25f, 5e24f, 0 }, 1);
}
