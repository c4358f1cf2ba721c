#include "../judge.h"

enum { TENSORS = 4, MOST = 11, STEPS = 3 };

static const int sizes[TENSORS] = { 4, 1, 2, 4 }, dims[TENSORS] = { 2, 1, 1, 4 };
static const char *const parts[2 * TENSORS]
    = { "p[0].v", "p[1].v", "p[2].v", "p[3].v",
        "p[0].w", "p[1].w", "p[2].w", "p[3].w" };
static const float first[MOST] = { 1, -2, 3, 0.5f, 4, -1, 1, 2, -0.5f, 1, -3 };
static const float begun[MOST] = { 2, 1, 0.5f, -1, 1, 0.5f, -2, 1, 3, 0, -1 };
static const float zeros[MOST] = { 0 };
static const float g[STEPS][MOST] = {
    { 0.5f, 1, -1, 0, 2, 0.25f, -1, 0, 1, -2, 0.5f },
    { -1, 0.5f, 0, 0, 1, -0.5f, 0, 2, 0, 1, -1 },
    { 0.25f, -1, 2, 0, -1, 1, 1, -1, 0.5f, 0, 2 },
};

// Is it the velocity, the step or the decay that is wrong? Tensors 1 and 2 do not decay.
static void clues(void)
{
    int v = judge_right_in(0, MOST, 1e-5);
    int plain = judge_right_in(MOST + sizes[0], sizes[1] + sizes[2], 1e-5);
    int others = judge_right_in(MOST, sizes[0], 1e-5)
        && judge_right_in(2 * MOST - sizes[3], sizes[3], 1e-5);
    judge_clue(v && plain, "decay_wrong");
    judge_clue(v && others, "one_dimension_wrong");
    judge_clue(v, "step_wrong");
    judge_clue(1, "velocity_wrong");
}

static void train(const char *what, const float *start, int steps, float lr, float momentum,
                  float decay)
{
    float got[2 * MOST], *own[2 * TENSORS];
    int at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++]) {
        own[2 * t] = judge_copy(start + at, sizeof(float) * (size_t)sizes[t]);
        own[2 * t + 1] = judge_copy(first + at, sizeof(float) * (size_t)sizes[t]);
    }
    judge_case(what);
    for (int s = 0; s < steps; s++) {
        param p[TENSORS];
        at = 0;
        for (int t = 0; t < TENSORS; at += sizes[t++])
            p[t] = (param){ own[2 * t + 1], own[2 * t], g[s] + at, sizes[t], dims[t] };
        step(p, TENSORS, lr, momentum, decay);
    }
    at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        for (int k = 0; k < 2; k++)
            memcpy(got + at + k * MOST, own[2 * t + k], sizeof(float) * (size_t)sizes[t]);
    judge_got(got, 2 * MOST);
    for (int k = 0; k < 2 * TENSORS; k++) judge_part(parts[k], 1, sizes[k % TENSORS]);
    clues();
    judge_compare(1e-5);
}

static void judge_cases(void)
{
    train("a step that begins with a velocity", begun, 1, 0.5f, 0.9f, 0.2f);
    train("a first step", zeros, 1, 0.5f, 0.9f, 0.1f);
    train("three steps", zeros, 3, 0.1f, 0.9f, 0.5f);
    train("three steps without decay", zeros, 3, 0.1f, 0.5f, 0);
}
