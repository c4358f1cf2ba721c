#include "../judge.h"

enum { B = 5, N = 3 };

static const float x[B * N]
    = { 0.5f, -1, 2, 1.5f, 0.25f, -0.75f, 3, 1, -2, 0.125f, 2, 1, -1, -2, 0.5f };
static const float target[B] = { 1, -2, 0.5f, 3, -1 };
static const float w[N] = { 0.3f, -0.7f, 1.1f };

static void judge_cases(void)
{
    float *dw = judge_room(N, 50), *dbias = judge_room(1, 50);
    float *own_x = judge_copy(x, sizeof x), *own_w = judge_copy(w, sizeof w);
    float *own_target = judge_copy(target, sizeof target);
    judge_case("dw and dbias for 5 rows of 3");
    gradient(own_x, own_target, own_w, 0.2f, B, N, dw, dbias);
    judge_got_array("dw", dw, 1, N);
    judge_compare(1e-5);
    judge_got_array("dbias", dbias, 1, 1);
    judge_compare(1e-5);
}
