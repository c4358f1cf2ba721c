#include "../judge.h"
#include EXERCISE

enum { MOST = 16, HELD = 9 };           // HELD: what dx holds before

enum { RIGHT, CONSTANTS, NO_MEAN, NO_STRETCH, SUMS, SUM_OF_DY, SUM_OF_DOT, BY_M, X_FOR_XHAT,
       X_IN_ONE, RAW_X, NO_CENTER, NO_XHAT, NO_XHAT_IN_DOT, DY_FOR_XHAT, MEAN_OF_X, SQUARED_DY,
       NOT_DIVIDED, DIVIDED_TWICE, MULTIPLIED, LAST_DIVIDED, DY_DIVIDED, ADDED, MEAN_ADDED,
       STRETCH_ADDED, SAMPLE, UNDIVIDED, NO_ROOT, NO_EPS, EPS_OUTSIDE, FORWARD, ALL_ROWS, CARRIED,
       CARRIED_DY, ROW_0_OF_X, ROW_0_OF_DY, ADDED_TO_OLD };

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
    { SUM_OF_DY, "sum_of_dy", "the sum of dy stands where its mean should: divide it by n." },
    { SUM_OF_DOT, "sum_of_dot", "the sum of dy xhat stands where its mean should: divide by n." },
    { BY_M, "divided_by_m",
      "the means of dy and of dy xhat are divided by m, the number of rows: a row has n numbers." },
    { X_FOR_XHAT, "x_for_xhat", "x - mean stands where xhat should: divide it by s." },
    { X_IN_ONE, "distance_once",
      "one of the two xhat is x - mean. Both are divided by s: that in the mean of dy xhat, and "
      "that which the mean is multiplied by." },
    { RAW_X, "raw_x", "x itself stands where xhat should: (x - mean) / s." },
    { NO_CENTER, "not_centered", "xhat is x / s here: take the mean of x off first." },
    { NO_XHAT, "no_xhat", "the mean of dy xhat is taken off as it is: multiply it by xhat[i]." },
    { NO_XHAT_IN_DOT, "mean_of_dy_twice",
      "xhat is multiplied by the mean of dy. It is the mean of the products dy xhat." },
    { DY_FOR_XHAT, "dy_for_xhat", "the mean of dy xhat is multiplied by dy[i]. It is xhat[i]." },
    { MEAN_OF_X, "mean_of_x", "the mean of x is taken off; it is the mean of dy." },
    { SQUARED_DY, "squared_dy", "dy dy was averaged; it is dy xhat." },
    { NOT_DIVIDED, "not_divided", "the whole is not divided by s." },
    { DIVIDED_TWICE, "divided_by_variance", "the whole is divided by s twice: once." },
    { MULTIPLIED, "multiplied", "the whole is multiplied by s: divide." },
    { LAST_DIVIDED, "last_term_divided",
      "only the last term is divided by s: set the whole in parentheses." },
    { DY_DIVIDED, "first_term_divided",
      "only dy is divided by s: set the whole in parentheses." },
    { ADDED, "added", "the two terms are added; they are taken off." },
    { MEAN_ADDED, "mean_added", "the mean of dy is added; it is taken off." },
    { STRETCH_ADDED, "stretch_added", "xhat times the mean of dy xhat is added; it is taken off." },
    { SAMPLE, "sample_variance",
      "the variance is divided by n - 1. Here it is the mean of n squares." },
    { UNDIVIDED, "variance_not_divided", "the sum of squared distances is not divided by n." },
    { NO_ROOT, "no_root", "s is the variance; it is the root of it." },
    { NO_EPS, "no_eps",
      "1e-5 is missing under the root: where distances are small it counts, and a row of equal "
      "numbers would divide by 0." },
    { EPS_OUTSIDE, "eps_outside", "1e-5 is added to the root; it stands under it." },
    { FORWARD, "forward", "this is xhat, the result of the way forward; its gradient is wanted." },
    { ALL_ROWS, "all_rows",
      "mean, s and the means of dy are those of all rows together. Each row has its own." },
    { CARRIED, "carried", "sums go on from row 0 to row 1: begin each at 0 for each row." },
    { CARRIED_DY, "gradient_carried",
      "the sums of dy and dy xhat go on from row 0 to row 1: begin them at 0 for each row." },
    { ROW_0_OF_X, "row_0_of_x", "each row uses row 0 of x: row r begins at x + r n." },
    { ROW_0_OF_DY, "row_0_of_dy", "each row uses row 0 of dy: row r begins at dy + r n." },
    { ADDED_TO_OLD, "added_to_old", "the gradient is added to what dx held before: =, not +=." },
};

typedef struct sums {
    double mean, variance, mean_dy, mean_dot;
} sums;

static double root_of(double variance, int e)
{
    if (e == NO_ROOT) return variance + 1e-5;
    if (e == NO_EPS) return sqrt(variance);
    return e == EPS_OUTSIDE ? sqrt(variance) + 1e-5 : sqrt(variance + 1e-5);
}

// before: what the row before left in the sums; m: how many rows there are.
static sums measure(const float *x, const float *dy, int n, int m, sums before, int e)
{
    sums t = before;
    double count = n, by_dy = n, by_dot = n;
    if (e == SAMPLE) count = n - 1;
    if (e == UNDIVIDED) count = 1;
    if (e == SUMS || e == SUM_OF_DY) by_dy = 1;
    if (e == SUMS || e == SUM_OF_DOT) by_dot = 1;
    if (e == BY_M) by_dy = by_dot = m;
    for (int i = 0; i < n; i++)
        t.mean += (double)x[i] / n;
    for (int i = 0; i < n; i++)
        t.variance += ((double)x[i] - t.mean) * ((double)x[i] - t.mean) / count;
    double s = root_of(t.variance, e);
    for (int i = 0; i < n; i++) {
        double factor = ((double)x[i] - (e == NO_CENTER ? 0 : t.mean)) / s;
        if (e == X_FOR_XHAT || e == X_IN_ONE) factor = (double)x[i] - t.mean;
        if (e == RAW_X) factor = (double)x[i];
        if (e == SQUARED_DY) factor = (double)dy[i];
        if (e == NO_XHAT_IN_DOT) factor = 1;
        t.mean_dy += (double)dy[i] / by_dy;
        t.mean_dot += (double)dy[i] * factor / by_dot;
    }
    return t;
}

static double one(double x, double dy, sums t, int e)
{
    double s = root_of(t.variance, e), xhat = (x - (e == NO_CENTER ? 0 : t.mean)) / s;
    double factor = xhat, mean_dy = e == MEAN_OF_X ? t.mean : t.mean_dy;
    if (e == X_FOR_XHAT) factor = x - t.mean;
    if (e == RAW_X) factor = x;
    if (e == NO_XHAT) factor = 1;
    if (e == DY_FOR_XHAT) factor = dy;
    double stretch = factor * t.mean_dot;
    if (e == CONSTANTS || e == NO_MEAN) mean_dy = 0;
    if (e == CONSTANTS || e == NO_STRETCH) stretch = 0;
    if (e == ADDED || e == MEAN_ADDED) mean_dy = -mean_dy;
    if (e == ADDED || e == STRETCH_ADDED) stretch = -stretch;
    double inside = dy - mean_dy - stretch;
    switch (e) {
    case FORWARD: return xhat;
    case NOT_DIVIDED: return inside;
    case DIVIDED_TWICE: return inside / s / s;
    case MULTIPLIED: return inside * s;
    case LAST_DIVIDED: return dy - mean_dy - stretch / s;
    case DY_DIVIDED: return dy / s - mean_dy - stretch;
    case ADDED_TO_OLD: return HELD + inside / s;
    default: return inside / s;
    }
}

static void compute(const float *x, const float *dy, int m, int n, int e, float *dx)
{
    static const sums zero;
    sums t = zero, before = zero;
    for (int r = 0; r < m; r++) {
        const float *own_x = x + (e == ROW_0_OF_X ? 0 : r * n);
        const float *own_dy = dy + (e == ROW_0_OF_DY ? 0 : r * n);
        if (e == CARRIED) before = t;
        if (e == CARRIED_DY) before = (sums){ 0, 0, t.mean_dy, t.mean_dot };
        t = e == ALL_ROWS ? measure(x, dy, m * n, m, zero, e)
                          : measure(own_x, own_dy, n, m, before, e);
        for (int i = 0; i < n; i++)
            dx[r * n + i] = (float)one((double)own_x[i], (double)own_dy[i], t, e);
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

// No known mistake: dx should have mean 0, and no part along xhat; where it has, one of the two terms
// that are taken off is wrong.
static void narrow(const float *x, const float *want, int m, int n)
{
    int shifted = 0, stretched = 0, right = 1;
    for (int r = 0; r < m; r++) {
        double mean = 0, mean_dx = 0, along = 0, along_right = 0;
        for (int i = r * n; i < (r + 1) * n; i++) {
            mean += (double)x[i] / n;
            mean_dx += judge.got[i] / n;
            right &= judge_close(judge.got[i], (double)want[i], 1e-4);
        }
        for (int i = r * n; i < (r + 1) * n; i++) {
            along += (judge.got[i] - mean_dx) * ((double)x[i] - mean);
            along_right += (double)want[i] * ((double)x[i] - mean);
        }
        shifted |= !judge_close(mean_dx, 0, 1e-4);
        stretched |= !judge_close(along, along_right, 1e-3);
    }
    if (judge.mistake || right) return;
    if (shifted && !stretched) {
        judge.mistake = "only_mean_of_dy_wrong";
        judge.sentence = "the sum of each row of dx should be 0, and is not; all else is right. "
                         "Look at the mean of dy, which is taken off.";
    } else if (stretched && !shifted) {
        judge.mistake = "only_stretch_wrong";
        judge.sentence = "each row of dx has the sum 0, as it should, so the mean of dy is right. "
                         "But dx still stretches the row: look at xhat times the mean of dy xhat.";
    }
}

static void rows(const char *what, const float *x, const float *dy, int m, int n)
{
    float *got = judge_room(m * n, HELD), want[MOST], wrong[MOST];
    judge_case(what);
    size_t bytes = sizeof(float) * (size_t)(m * n);
    float *own_x = judge_copy(x, bytes), *own_dy = judge_copy(dy, bytes);
    layernorm_backward(own_x, own_dy, got, m, n);
    free(own_x);
    free(own_dy);
    judge_got(got, m * n);
    judge_part("dx", m, n);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(x, dy, m, n, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, m * n);
    }
    compute(x, dy, m, n, RIGHT, want);
    narrow(x, want, m, n);
    for (int r = 0; r < m; r++)
        check_formula(x + r * n, dy + r * n, n, want + r * n);
    judge_want(want, m * n, 1e-4);
    free(got);
}

int main(void)
{
    static const float x[] = { 1, 3, -2, 6, 0.5f, 8, 2, 2.5f, -1, 4, 10, -3 };
    static const float dy[] = { 2, -1, 0.5f, 1, 3, 1, -2, 0.25f, 1, -1, 2, 4 };
    static const float small[] = { 0.01f, 0.004f, -0.001f, 0.003f };
    static const float equal[] = { 2, 2, 2, 2 };
    judge_begin();
    rows("2 rows of 4", x, dy, 2, 4);
    rows("a row of 6", x, dy, 1, 6);
    rows("3 rows of 4", x, dy, 3, 4);
    rows("2 rows of 5", x, dy, 2, 5);
    rows("a row of small distances", small, dy, 1, 4);
    rows("a row of equal numbers", equal, dy, 1, 4);
    return judge_end();
}
