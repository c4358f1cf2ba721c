#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

enum { RIGHT, SAMPLE, EPS_OUTSIDE, NO_EPS, UNDIVIDED, MEAN_UNDIVIDED, BY_M, MEAN_BY_M,
       VARIANCE_BY_M, BY_ROW, RUNNING_GAMMA, DISTANCES, MEAN_DISTANCE, NO_ROOT, ROOT_OF_SUM,
       MULTIPLIED, RMS, SQUARES_OF_X, NO_MEAN, MEAN_ADDED, NO_DIVISION, NO_GAMMA, NO_BETA,
       BETA_TOO_EARLY, GAMMA_FOR_BETA, BETA_SUBTRACTED, GAMMA_DIVIDES, ALL_ROWS, BY_COLUMN,
       CARRIED_MEAN, CARRIED_VARIANCE, CARRIED, ROW_0_READ, NO_LAST, INT_DIVISION };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { SAMPLE, "sample_variance", "the variance is divided by n - 1. LayerNorm divides by n." },
    { EPS_OUTSIDE, "eps_outside", "1e-5 is added to the root; it stands under it." },
    { NO_EPS, "no_eps", "1e-5 is missing under the root: it counts where distances are small." },
    { UNDIVIDED, "not_divided", "the sum of the squared distances is not divided by n." },
    { MEAN_UNDIVIDED, "mean_not_divided", "the mean is the sum of the row: divide it by n." },
    { BY_M, "divided_by_m",
      "mean and variance are divided by m, the number of rows: a row has n." },
    { MEAN_BY_M, "mean_by_m",
      "the mean is divided by m, the number of rows: a row has n numbers." },
    { VARIANCE_BY_M, "variance_by_m",
      "the variance is divided by m, the number of rows: a row has n numbers." },
    { BY_ROW, "by_row",
      "gamma and beta are those of the row. Each column has its own: gamma[i], beta[i]." },
    { RUNNING_GAMMA, "running_gamma",
      "row 1 goes on in gamma and beta where row 0 ended: they have n numbers, for all rows." },
    { DISTANCES, "distances",
      "the distances are added as they are; the variance is the mean of their squares." },
    { MEAN_DISTANCE, "mean_distance",
      "it is divided by the mean distance; it is the root of the mean of squared distances." },
    { NO_ROOT, "no_root", "it is divided by the variance; it is the root of it." },
    { ROOT_OF_SUM, "variance_of_sum",
      "the variance came out 0. Are the distances added first and squared then? Their sum is "
      "always 0: square each one, then add." },
    { MULTIPLIED, "multiplied", "it is multiplied by the root of the variance: divide." },
    { RMS, "rms",
      "the mean is missing, or always 0, also in the variance: this is RMSNorm, x by the root of "
      "the mean of x^2. LayerNorm takes the mean off first." },
    { SQUARES_OF_X, "squares_of_x",
      "the mean of x^2 stands where the variance should: take the mean off before you square." },
    { NO_MEAN, "no_mean", "the mean is not subtracted." },
    { MEAN_ADDED, "mean_added", "the mean is added; subtract it." },
    { NO_DIVISION, "no_division", "x - mean is not divided by the root of the variance." },
    { NO_GAMMA, "no_gamma", "gamma is not used." },
    { NO_BETA, "no_beta", "beta is not used." },
    { BETA_TOO_EARLY, "beta_scaled",
      "beta is multiplied by gamma, too: multiply first, then add." },
    { GAMMA_FOR_BETA, "gamma_for_beta", "gamma and beta are exchanged: gamma is the factor." },
    { BETA_SUBTRACTED, "beta_subtracted", "beta is subtracted; add it." },
    { GAMMA_DIVIDES, "gamma_divides", "it is divided by gamma: multiply." },
    { ALL_ROWS, "all_rows",
      "mean and variance are those of all rows together. Each row has its own." },
    { BY_COLUMN, "by_column",
      "mean and variance are those of columns: this is batch normalization. LayerNorm takes those "
      "of a row." },
    { CARRIED_MEAN, "mean_carried", "the sum for the mean goes on from row 0: 0 for each row." },
    { CARRIED_VARIANCE, "variance_carried",
      "the sum for the variance goes on from row 0: begin it at 0 for each row." },
    { CARRIED, "carried",
      "both sums go on from row 0 to row 1: begin them at 0 for each row." },
    { ROW_0_READ, "row_0_again", "each row of y is made of row 0 of x: row r begins at x + r n." },
    { NO_LAST, "last_left_out",
      "the last number of the row is not in the sums: i runs from 0 to n - 1." },
    { INT_DIVISION, "int_division",
      "mean and variance are 0: are the sums not added up, or is 1 / n divided as ints? That is 0; "
      "write (float)n." },
};

typedef struct sums {
    double mean, variance;
} sums;

// n numbers of x, which are step apart; m: how many rows; before: what row 0 left in the sums.
static sums measure(const float *x, int step, int n, int m, sums before, int e)
{
    double mean = before.mean, variance = before.variance, distances = 0;
    int last = e == NO_LAST ? n - 1 : n;
    for (int i = 0; i < last; i++)
        mean += (double)x[i * step];
    if (e != MEAN_UNDIVIDED) mean /= e == BY_M || e == MEAN_BY_M ? m : n;
    for (int i = 0; i < last; i++) {
        double d = (double)x[i * step] - (e == RMS || e == SQUARES_OF_X ? 0 : mean);
        variance += d * d;
        distances += fabs(d);
    }
    double count = n;
    if (e == SAMPLE) count = n - 1;
    if (e == BY_M || e == VARIANCE_BY_M) count = m;
    if (e == UNDIVIDED) count = 1;
    variance /= count;
    if (e == DISTANCES) variance = distances / n;
    if (e == MEAN_DISTANCE) variance = distances * distances / n / n - 1e-5;
    if (e == ROOT_OF_SUM) variance = 0;
    return e == INT_DIVISION ? (sums){ 0, 0 } : (sums){ mean, variance };
}

static double scaled(double x, sums s, int e)
{
    double size = sqrt(s.variance + (e == NO_EPS ? 0 : 1e-5));
    if (e == NO_ROOT) size *= size;
    if (e == EPS_OUTSIDE) size = sqrt(s.variance) + 1e-5;
    if (e == MULTIPLIED) size = 1 / size;
    if (e == NO_DIVISION) size = 1;
    if (e == NO_MEAN || e == RMS) s.mean = 0;
    if (e == MEAN_ADDED) s.mean = -s.mean;
    return (x - s.mean) / size;
}

static double moved(double xhat, double gamma, double beta, int e)
{
    if (e == NO_GAMMA) gamma = 1;
    if (e == NO_BETA) beta = 0;
    if (e == BETA_SUBTRACTED) beta = -beta;
    if (e == BETA_TOO_EARLY) return (xhat + beta) * gamma;
    if (e == GAMMA_FOR_BETA) return xhat * beta + gamma;
    if (e == GAMMA_DIVIDES) return xhat / gamma + beta;
    return xhat * gamma + beta;
}

static void compute(const float *x, const float *gamma, const float *beta, int m, int n, int e,
                    float *y)
{
    sums s = { 0, 0 };
    for (int r = 0; r < m; r++) {
        const float *in = x + (e == ROW_0_READ ? 0 : r * n);
        sums before = { 0, 0 };
        if (e == CARRIED || e == CARRIED_MEAN) before.mean = s.mean;
        if (e == CARRIED || e == CARRIED_VARIANCE) before.variance = s.variance;
        s = measure(in, 1, n, m, before, e);
        if (e == ALL_ROWS) s = measure(x, 1, m * n, m, before, e);
        for (int i = 0; i < n; i++) {
            int at = i;
            if (e == BY_ROW) at = r;
            if (e == RUNNING_GAMMA) at = r * n + i;
            if (e == BY_COLUMN) s = measure(x + i, n, m, m, before, e);
            double xhat = scaled((double)in[i], s, e);
            y[r * n + i] = (float)moved(xhat, (double)gamma[at], (double)beta[at], e);
        }
    }
}

// No known mistake: from y, what was made of x before gamma and beta? It should have mean 0 and the
// mean square 1 (nearly, for the 1e-5).
static void narrow(const float *want, const float *gamma, const float *beta, int m, int n)
{
    int centered = 1, scaled = 1, right = 1;
    for (int r = 0; r < m; r++) {
        double mean = 0, square = 0, own = 0;
        for (int i = r * n; i < (r + 1) * n; i++) {
            double got = (judge.got[i] - (double)beta[i % n]) / (double)gamma[i % n];
            double xhat = (double)(want[i] - beta[i % n]) / (double)gamma[i % n];
            mean += got / n;
            square += got * got / n;
            own += xhat * xhat / n;
            right &= judge_close(judge.got[i], (double)want[i], 1e-5);
        }
        centered &= judge_close(mean, 0, 1e-4);
        scaled &= judge_close(square - mean * mean, own, 1e-4);
    }
    if (judge.mistake || right || centered == scaled) return;
    judge.mistake = centered ? "only_scale_wrong" : "only_mean_wrong";
    judge.sentence = centered
        ? "without gamma and beta, the rows of y have mean 0, as they should, but not variance 1: "
          "the mean is right; look at the variance, its root, and what is divided by it."
        : "without gamma and beta, the rows of y have variance 1, as they should, but not mean 0: "
          "the scale is right; look at the mean that is taken off.";
}

static void rows(const char *what, const float *x, int m, int n, double tolerance)
{
    // n of them are meant; the others may be read by mistake, which is then recognized.
    static const float gamma[MOST] = { 2, 0.5f, -1, 3, 4, 5, 6, 7, 8, 9 };
    static const float beta[MOST] = { 1, -2, 0.25f, 4, 9, 8, 7, 6, 5, 3 };
    float want[MOST], wrong[MOST], *got = judge_room(m * n, 1000);
    float *own = judge_copy(x, (size_t)(m * n) * sizeof *x);
    int equal = 1, lost = 0;
    judge_case(what);
    layernorm(own, gamma, beta, got, m, n);
    judge_got(got, m * n);
    judge_part("y", m, n);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(x, gamma, beta, m, n, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, m * n);
    }
    compute(x, gamma, beta, m, n, RIGHT, want);
    for (int k = 0; k < m * n; k++) {
        equal &= x[k] == x[0];
        lost |= x[0] > 1000 && !judge_close((double)got[k], (double)want[k], tolerance);
    }
    narrow(want, gamma, beta, m, n);
    judge_holds(!equal || got[0] - got[0] == 0.0f, "not_a_number",
                "there is an infinity or what is not a number: a row of equal numbers has variance "
                "0. Add 1e-5 under the root, before you divide.");
    judge_holds(!lost, "squares_minus_square",
                "the variance has lost its digits: mean of x^2 minus mean^2 is a difference of two "
                "large numbers. Sum (x - mean)^2 instead.");
    judge_want(want, m * n, tolerance);
    free(own);
    free(got);
}

int main(void)
{
    judge_begin();
    rows("two rows of four", (const float[]){ 1, 2, 3, 6, -10, 0, 4, 5 }, 2, 4, 1e-5);
    rows("four rows of three", (const float[]){ 1, 4, 3, 2, -6, 1, 7, 0, 0, -1, -2, -7 }, 4, 3,
         1e-5);
    rows("a row of equal numbers", (const float[]){ 3, 3, 3, 3 }, 1, 4, 1e-5);
    rows("a row of small distances", (const float[]){ 0.001f, 0.002f, 0.003f, 0.004f }, 1, 4, 1e-4);
    rows("10000, 10001, 10002", (const float[]){ 10000, 10001, 10002 }, 1, 3, 1e-3);
    return judge_end();
}
