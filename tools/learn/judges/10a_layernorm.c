#include "../judge.h"

enum { MOST = 16 };

// n of them are meant; the others may be read by mistake, which is then recognized.
static const float gamma_of[MOST] = { 2, 0.5f, -1, 3, 4, 5, 6, 7, 8, 9 };
static const float beta_of[MOST] = { 1, -2, 0.25f, 4, 9, 8, 7, 6, 5, 3 };

// From y, what was made of x before gamma and beta? It should have mean 0 and the mean square 1
// (nearly, for the 1e-5).
static void clues(int m, int n)
{
    const double *want = judge_wanted();
    int centered = 1, scaled = 1;
    for (int r = 0; r < m; r++) {
        double mean = 0, square = 0, own = 0;
        for (int i = r * n; i < (r + 1) * n; i++) {
            double beta = (double)beta_of[i % n], gamma = (double)gamma_of[i % n];
            double got = (judge.got[i] - beta) / gamma, xhat = (want[i] - beta) / gamma;
            mean += got / n;
            square += got * got / n;
            own += xhat * xhat / n;
        }
        centered &= judge_close(mean, 0, 1e-4);
        scaled &= judge_close(square - mean * mean, own, 1e-4);
    }
    judge_clue(centered && !scaled, "only_scale_wrong");
    judge_clue(scaled && !centered, "only_mean_wrong");
}

static void rows(const char *what, const float *x, int m, int n, double tolerance)
{
    float *got = judge_room(m * n, 1000), *own = judge_copy(x, (size_t)(m * n) * sizeof *x);
    int equal = 1;
    for (int k = 0; k < m * n; k++) equal &= x[k] == x[0];
    judge_case(what);
    layernorm(own, gamma_of, beta_of, got, m, n);
    judge_got_array("y", got, m, n);
    clues(m, n);
    judge_holds(!equal || got[0] - got[0] == 0.0f, "not_a_number");
    judge_holds(x[0] < 1000 || judge_right_in(0, m * n, tolerance), "squares_minus_square");
    judge_compare(tolerance);
}

static void judge_cases(void)
{
    rows("two rows of four", (const float[]){ 1, 2, 3, 6, -10, 0, 4, 5 }, 2, 4, 1e-5);
    rows("four rows of three", (const float[]){ 1, 4, 3, 2, -6, 1, 7, 0, 0, -1, -2, -7 }, 4, 3,
         1e-5);
    rows("a row of equal numbers", (const float[]){ 3, 3, 3, 3 }, 1, 4, 1e-5);
    rows("a row of small distances", (const float[]){ 0.001f, 0.002f, 0.003f, 0.004f }, 1, 4, 1e-4);
    rows("10000, 10001, 10002", (const float[]){ 10000, 10001, 10002 }, 1, 3, 1e-3);
}
