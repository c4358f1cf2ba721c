#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

enum { RIGHT, SAMPLE, NO_ROOT, NO_EPS, NO_MEAN, NO_GAMMA, NO_BETA, ALL_ROWS, BY_COLUMN,
       EPS_OUTSIDE, UNDIVIDED, BY_ROW, DISTANCES };

static double sum(const float *x, int from, int step, int n, double minus, int square)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double d = (double)x[from + i * step] - minus;
        s += square ? d * d : d;
    }
    return s;
}

static double distance(const float *x, int from, int n, double mean)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += fabs((double)x[from + i] - mean) / n;
    return s;
}

static void compute(const float *x, const float *gamma, const float *beta, int m, int n, int e,
                    float *y)
{
    for (int k = 0; k < m * n; k++) {
        int r = k / n, i = k % n, from = r * n, step = 1, count = n;
        if (e == ALL_ROWS) {
            from = 0;
            count = m * n;
        }
        if (e == BY_COLUMN) {
            from = i;
            step = n;
            count = m;
        }
        double mean = sum(x, from, step, count, 0, 0) / count;
        double variance = sum(x, from, step, count, mean, 1) / (e == SAMPLE ? count - 1 : count);
        double under = variance + (e == NO_EPS ? 0 : 1e-5);
        if (e == UNDIVIDED) under = variance * count + 1e-5;
        double size = e == NO_ROOT ? under : sqrt(under);
        if (e == EPS_OUTSIDE) size = sqrt(variance) + 1e-5;
        if (e == DISTANCES) size = sqrt(distance(x, from, n, mean) + 1e-5);
        if (e == BY_ROW) i = r;
        y[k] = (float)(((double)x[k] - (e == NO_MEAN ? 0 : mean)) / size
                           * (e == NO_GAMMA ? 1 : (double)gamma[i])
                       + (e == NO_BETA ? 0 : (double)beta[i]));
    }
}

static const float *X
, *G, *B;
static int M, N;

static void mistake(const char *name, int e, const char *sentence)
{
    float y[MOST];
    compute(X, G, B, M, N, e, y);
    judge_mistake(name, sentence, y, M * N);
}

static void rows(const char *what, const float *x, const float *gamma, const float *beta, int m,
                 int n, double tolerance)
{
    float want[MOST], *got = judge_room(m * n, 1000);
    X
    = x;
    G = gamma;
    B = beta;
    M = m;
    N = n;
    judge_case(what);
    layernorm(x, gamma, beta, got, m, n);
    judge_got(got, m * n);
    compute(x, gamma, beta, m, n, RIGHT, want);
    if (n > 1)
        mistake("sample_variance", SAMPLE,
                "the variance is divided by n - 1. LayerNorm divides by n.");
    mistake("eps_outside", EPS_OUTSIDE, "1e-5 is added to the root; it stands under it.");
    mistake("not_divided", UNDIVIDED, "the sum of the squared distances is not divided by n.");
    mistake("by_row", BY_ROW,
            "gamma and beta are those of the row. Each column has its own: gamma[i], beta[i].");
    mistake("distances", DISTANCES,
            "the distances are added as they are; the variance is the mean of their squares.");
    mistake("no_root", NO_ROOT, "it is divided by the variance; it is the root of it.");
    mistake("no_mean", NO_MEAN, "the mean is not subtracted.");
    mistake("no_gamma", NO_GAMMA, "gamma is not used.");
    mistake("no_beta", NO_BETA, "beta is not used.");
    mistake("all_rows", ALL_ROWS,
            "mean and variance are those of all rows together. Each row has its "
            "own: begin their sums at 0 for each.");
    mistake("by_column", BY_COLUMN,
            "mean and variance are those of columns: this is batch "
            "normalization. LayerNorm takes those of a row.");
    for (int k = 0; k < m * n; k++)
        if (!(got[k] - got[k] == 0.0f))
            judge_refuse("not_a_number",
                         "there is an infinity or what is not a number: a row of equal "
                         "numbers has variance 0 (add 1e-5 under the root), or the variance came "
                         "out negative.");
    for (int k = 0; k < m * n; k++)
        if (tolerance > 1e-4 && !judge_close((double)got[k], (double)want[k], tolerance))
            judge_refuse("squares_minus_square",
                         "the variance has lost its digits: mean of x^2 minus "
                         "mean^2 is a difference of two large numbers. Sum (x - mean)^2 instead.");
    judge_want(want, m * n, tolerance);
    free(got);
}

int main(void)
{
    static const float gamma[4] = { 2, 0.5f, -1, 3 }, beta[4] = { 1, -2, 0.25f, 4 };
    judge_begin();
    rows("two rows of four", (const float[]){ 1, 2, 3, 6, -10, 0, 4, 5 }, gamma, beta, 2, 4, 1e-5);
    rows("a row of equal numbers", (const float[]){ 3, 3, 3, 3 }, gamma, beta, 1, 4, 1e-5);
    rows("a row of small distances", (const float[]){ 0.001f, 0.002f, 0.003f, 0.004f }, gamma, beta,
         1, 4, 1e-4);
    rows("10000, 10001, 10002", (const float[]){ 10000, 10001, 10002 }, gamma, beta, 1, 3, 1e-3);
    return judge_end();
}
