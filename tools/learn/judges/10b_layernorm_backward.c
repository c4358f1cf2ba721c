#include "../judge.h"

// dx should have mean 0, and no part along xhat; where it has, one of the two terms that are taken
// off is wrong.
static void clues(const float *x, int m, int n)
{
    const double *want = judge_wanted();
    int shifted = 0, stretched = 0;
    for (int r = 0; r < m; r++) {
        double mean = 0, mean_dx = 0, along = 0, along_right = 0;
        for (int i = r * n; i < (r + 1) * n; i++) {
            mean += (double)x[i] / n;
            mean_dx += judge.got[i] / n;
        }
        for (int i = r * n; i < (r + 1) * n; i++) {
            along += (judge.got[i] - mean_dx) * ((double)x[i] - mean);
            along_right += want[i] * ((double)x[i] - mean);
        }
        shifted |= !judge_close(mean_dx, 0, 1e-4);
        stretched |= !judge_close(along, along_right, 1e-3);
    }
    judge_clue(shifted && !stretched, "only_mean_of_dy_wrong");
    judge_clue(stretched && !shifted, "only_stretch_wrong");
}

static void rows(const char *what, const float *x, const float *dy, int m, int n)
{
    size_t bytes = sizeof(float) * (size_t)(m * n);
    float *own_x = judge_copy(x, bytes), *own_dy = judge_copy(dy, bytes);
    float *got = judge_room(m * n, 9);
    judge_case(what);
    layernorm_backward(own_x, own_dy, got, m, n);
    judge_got_array("dx", got, m, n);
    clues(x, m, n);
    judge_compare(1e-4);
}

static void judge_cases(void)
{
    static const float x[] = { 1, 3, -2, 6, 0.5f, 8, 2, 2.5f, -1, 4, 10, -3 };
    static const float dy[] = { 2, -1, 0.5f, 1, 3, 1, -2, 0.25f, 1, -1, 2, 4 };
    static const float small[] = { 0.01f, 0.004f, -0.001f, 0.003f };
    static const float equal[] = { 2, 2, 2, 2 };
    rows("2 rows of 4", x, dy, 2, 4);
    rows("a row of 6", x, dy, 1, 6);
    rows("3 rows of 4", x, dy, 3, 4);
    rows("2 rows of 5", x, dy, 2, 5);
    rows("a row of small distances", small, dy, 1, 4);
    rows("a row of equal numbers", equal, dy, 1, 4);
}
