#include "../judge.h"

enum { N = 4, STEPS = 4, ALL = 3 * N };

// The last weight has no gradient, and the first moments are those of a training that goes on.
static const float gradients[STEPS][N]
    = { { 1, -0.002f, 5, 0 }, { 0.5f, 0.001f, -1, 0 }, { -1, 0.25f, 2, 0 }, { 0.1f, -3, 0.5f, 0 } };
static const float weights[N] = { 1, 2, -3, 4 };
static const float begun[2 * N] = { 0.5f, 0.01f, -2, 0, 1, 0.0001f, 9, 0 };
static const float zeros[2 * N] = { 0 };

// Which of the formulas is wrong? The last weight has no gradient, and so only decays.
static void clues(void)
{
    int m = judge_right_in(0, N, 1e-5), v = judge_right_in(N, N, 1e-5);
    int last = judge_right_in(ALL - 1, 1, 1e-5);
    judge_clue(!m && v, "only_m_wrong");
    judge_clue(m && !v, "only_v_wrong");
    judge_clue(m && v && last, "only_quotient_wrong");
    judge_clue(m && v, "decay_wrong");
    judge_clue(1, "both_means_wrong");
}

static void train(const char *what, const float *start, int first, int steps, adamw o)
{
    float got[ALL], *w = judge_copy(weights, sizeof weights);
    float *m = judge_copy(start, N * sizeof *m), *v = judge_copy(start + N, N * sizeof *v);
    const float *kept[] = { m, v, w };
    judge_case(what);
    for (int s = 0; s < steps; s++) step(w, gradients[s], m, v, N, first + s, &o);
    for (int i = 0; i < 3; i++) memcpy(got + i * N, kept[i], N * sizeof *w);
    judge_got(got, ALL);
    judge_part("m", 1, N);
    judge_part("v", 1, N);
    judge_part("w", 1, N);
    clues();
    judge_compare(1e-5);
}

static void judge_cases(void)
{
    train("step 3 of a training, with a large eps", begun, 3, 1,
          (adamw){ 0.2f, 0.3f, 0.25f, 0.02f, 0.1f });
    train("a first step", zeros, 1, 1, (adamw){ 0.1f, 0.9f, 0.999f, 1e-8f, 0.1f });
    train("four steps", zeros, 1, 4, (adamw){ 0.1f, 0.9f, 0.95f, 1e-8f, 0.1f });
    train("four steps with a large eps", zeros, 1, 4, (adamw){ 0.1f, 0.8f, 0.9f, 0.01f, 0.5f });
}
