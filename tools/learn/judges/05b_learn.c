#include "../judge.h"

enum { B = 4, N = 3 };

static const float x[B * N] = { 1, -0.5f, 2, 0.25f, 1.5f, -1, -2, 1, 0.5f, 0.75f, -1, 1 };
static const float target[B] = { 1, 0, 0, 1 };
static const float first[N + 1] = { 0.4f, -0.3f, 0.8f, 0.2f }; // the weights, then the bias

static void compare(const char *part, const float *got, int n)
{
    judge_got_array(part, got, 1, n);
    judge_compare(1e-6);
}

static void one_step(const char *what, float lr)
{
    judge_case(what);
    float *w = judge_copy(first, N * sizeof *w), *bias = judge_copy(first + N, sizeof *bias);
    float *own_x = judge_copy(x, sizeof x), *own_target = judge_copy(target, sizeof target);
    float before = learn(own_x, own_target, w, bias, B, N, lr);
    compare("w", w, N);
    compare("bias", bias, 1);
    compare("the loss", &before, 1);
}

static void many_steps(void)
{
    float w[2] = { 0, 0 }, bias = 0, last = 1;
    const float points[8] = { 0, 0, 0, 1, 1, 0, 1, 1 }, or_of_both[4] = { 0, 1, 1, 1 };
    judge_case("500 steps with lr 5: the neuron learns x0 or x1");
    for (int s = 0; s < 500; s++) last = learn(points, or_of_both, w, &bias, 4, 2, 5);
    judge_holds(last < 0.01f, "not_learned");
}

static void judge_cases(void)
{
    one_step("a step with lr 1.5", 1.5f);
    one_step("a step with lr 4", 4);
    many_steps();
}
