#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

enum { RIGHT, CONSTANTS, NO_MEAN, NO_STRETCH, SUMS, X_FOR_XHAT, NOT_DIVIDED, ADDED, SAMPLE };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { CONSTANTS, "constants",
      "this is dy / s, as if mean and s did not depend on x. They do, by all numbers of the row." },
    { NO_MEAN, "mean_missing", "the mean of dy is not taken off: x acts through the mean, too." },
    { NO_STRETCH, "stretch_missing",
      "xhat times the mean of dy xhat is not taken off: x acts through s, too." },
    { SUMS, "sums", "sums stand where means should: divide them by n." },
    { X_FOR_XHAT, "x_for_xhat", "x - mean stands where xhat should: divide it by s." },
    { NOT_DIVIDED, "not_divided", "the whole is not divided by s." },
    { ADDED, "added", "the two terms are added; they are taken off." },
    { SAMPLE, "sample_variance",
      "the variance is divided by n - 1. Here it is the mean of n squares." },
};

static void row(const float *x, const float *dy, int n, int e, float *dx)
{
    double mean = 0, variance = 0, mean_dy = 0, mean_dot = 0;
    for (int i = 0; i < n; i++)
        mean += (double)x[i] / n;
    for (int i = 0; i < n; i++) {
        double distance = (double)x[i] - mean;
        variance += distance * distance / (e == SAMPLE ? n - 1 : n);
    }
    double s = sqrt(variance + 1e-5);
    for (int i = 0; i < n; i++) {
        double xhat = ((double)x[i] - mean) / (e == X_FOR_XHAT ? 1 : s);
        mean_dy += (double)dy[i] / (e == SUMS ? 1 : n);
        mean_dot += (double)dy[i] * xhat / (e == SUMS ? 1 : n);
    }
    if (e == CONSTANTS || e == NO_MEAN) mean_dy = 0;
    if (e == CONSTANTS || e == NO_STRETCH) mean_dot = 0;
    for (int i = 0; i < n; i++) {
        double xhat = ((double)x[i] - mean) / (e == X_FOR_XHAT ? 1 : s);
        double off = mean_dy + xhat * mean_dot;
        double inside = (double)dy[i] + (e == ADDED ? off : -off);
        dx[i] = (float)(e == NOT_DIVIDED ? inside : inside / s);
    }
}

// The judge's own formula, against differences: y . dy with one x a little larger and smaller.
static double loss(const double *x, const float *dy, int n)
{
    double mean = 0, variance = 0, sum = 0;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        sum += (x[i] - mean) / sqrt(variance + 1e-5) * (double)dy[i];
    return sum;
}

static void check_formula(const float *x, const float *dy, int n, const float *want)
{
    double near[MOST];
    for (int k = 0; k < n; k++) {
        double side[2];
        for (int j = 0; j < 2; j++) {
            for (int i = 0; i < n; i++)
                near[i] = (double)x[i] + (i == k ? (j ? 1e-5 : -1e-5) : 0);
            side[j] = loss(near, dy, n);
        }
        judge_holds(judge_close((side[1] - side[0]) / 2e-5, (double)want[k], 1e-5), NULL,
                    "the judge is wrong here. Please tell its authors.");
    }
}

static void rows(const char *what, const float *x, const float *dy, int m, int n)
{
    float *got = judge_room(m * n, 9), want[MOST], wrong[MOST];
    judge_case(what);
    size_t bytes = sizeof(float) * (size_t)(m * n);
    float *own_x = judge_copy(x, bytes), *own_dy = judge_copy(dy, bytes);
    layernorm_backward(own_x, own_dy, got, m, n);
    free(own_x);
    free(own_dy);
    judge_got(got, m * n);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        for (int r = 0; r < m; r++)
            row(x + r * n, dy + r * n, n, mistakes[k].e, wrong + r * n);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, m * n);
    }
    for (int r = 0; r < m; r++) {
        row(x + r * n, dy + r * n, n, RIGHT, want + r * n);
        check_formula(x + r * n, dy + r * n, n, want + r * n);
    }
    judge_want(want, m * n, 1e-4);
    free(got);
}

int main(void)
{
    static const float x[] = { 1, 3, -2, 6, 0.5f, 8, 2, 2.5f, -1, 4, 10, -3 };
    static const float dy[] = { 2, -1, 0.5f, 1, 3, 1, -2, 0.25f, 1, -1, 2, 4 };
    judge_begin();
    rows("a row of 4", x, dy, 1, 4);
    rows("3 rows of 4", x, dy, 3, 4);
    rows("2 rows of 5", x, dy, 2, 5);
    return judge_end();
}
