#include "../judge.h"

enum { N = 3, STEPS = 3 };

static const float gradients[STEPS][N] = { { 1, -2, 0.5f }, { 0.5f, 1, -1 }, { -1, 0.25f, 2 } };
static const float weights[N] = { 1, 2, 3 };

// Which of the two formulas is wrong?
static void clues(int steps, double lr)
{
    int follows = steps == 1;
    for (int i = 0; i < N; i++)
        follows &= judge_close(judge.got[N + i], (double)weights[i] - lr * judge.got[i], 1e-5);
    judge_clue(judge_right_in(0, N, 1e-5), "only_weights_wrong");
    judge_clue(follows, "only_velocity_wrong");
}

// The learning rate grows: lr, 2 lr, 3 lr.
static void train(const char *what, const float *start, int steps, float lr, float momentum)
{
    float got[2 * N];
    float *v = judge_copy(start, N * sizeof *v), *w = judge_copy(weights, N * sizeof *w);
    judge_case(what);
    for (int s = 0; s < steps; s++) step(w, gradients[s], v, N, lr * (float)(s + 1), momentum);
    memcpy(got, v, N * sizeof *v);
    memcpy(got + N, w, N * sizeof *w);
    judge_got(got, 2 * N);
    judge_part("v", 1, N);
    judge_part("w", 1, N);
    clues(steps, (double)lr);
    judge_compare(1e-5);
}

static void judge_cases(void)
{
    static const float begun[N] = { 0.5f, -1, 2 }, zero[N] = { 0, 0, 0 };
    train("a step with momentum 0.9 from the velocities 0.5, -1, 2", begun, 1, 0.2f, 0.9f);
    train("a step without momentum", zero, 1, 0.1f, 0);
    train("three steps with momentum 0.9", zero, 3, 0.1f, 0.9f);
    train("three steps with momentum 0.5", zero, 3, 0.01f, 0.5f);
}
