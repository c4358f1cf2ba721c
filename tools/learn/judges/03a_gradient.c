#include "../judge.h"
#include EXERCISE

enum { B = 5, N = 3 };

static const float x[B * N]
    = { 0.5f, -1, 2, 1.5f, 0.25f, -0.75f, 3, 1, -2, 0.125f, 2, 1, -1, -2, 0.5f };
static const float target[B] = { 1, -2, 0.5f, 3, -1 };
static const float w[N] = { 0.3f, -0.7f, 1.1f };
static const float bias = 0.2f;

// The loss in double, from which central differences take derivatives without a formula.
static double loss(const double *weights, double b0)
{
    double sum = 0;
    for (int b = 0; b < B; b++) {
        double y = b0;
        for (int i = 0; i < N; i++)
            y += (double)x[b * N + i] * weights[i];
        sum += (y - (double)target[b]) * (y - (double)target[b]);
    }
    return sum / B;
}

static void differences(float *want)
{
    const double h = 1e-4;
    for (int k = 0; k <= N; k++) {
        double high[N], low[N], b_high = (double)bias, b_low = (double)bias;
        for (int i = 0; i < N; i++)
            high[i] = low[i] = (double)w[i];
        if (k < N) {
            high[k] += h;
            low[k] -= h;
        } else {
            b_high += h;
            b_low -= h;
        }
        want[k] = (float)((loss(high, b_high) - loss(low, b_low)) / (2 * h));
    }
}

enum { NO_MEAN = 1, NO_TWO, NEITHER, SIGN, ASSIGNED, NO_BIAS, DIRTY, BY_N, BY_BOTH, TWICE_MEAN,
       FOUR, W_FOR_X, BY_COLUMNS, ROW_0, ROW_0_FORWARD, X_0, NO_ERROR, SQUARED, NO_TARGET, NO_Y,
       TARGET_0,
       TARGET_TIMES, ONLY_SIGN, Y_GOES_ON, NO_LAST, NO_FIRST, Y_FOR_X, X_TIMES_W, STEPPED, MEANS,
       BIAS_EACH, SIGMOID, ABS, DB_ZERO, DB_SUM_X, DB_BIAS, DB_OLD, DB_LAST };

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

static const mistake of_dw[] = {
    { NO_MEAN, "no_mean",
      "it is B times too large: the loss is a mean over the batch, so each row counts 1/B." },
    { NO_TWO, "no_two", "it is half of what it should be: the derivative of e^2 is 2 e." },
    { NEITHER, "no_two_no_mean",
      "the 2 of the derivative of e^2 and the 1/B of the mean are both missing." },
    { FOUR, "two_twice", "it is twice as large: the 2 of the derivative of e^2 counts once." },
    { SIGN, "sign",
      "all signs are turned. The error is y - target, not target - y: the gradient says where the "
      "loss grows." },
    { ASSIGNED, "assigned",
      "only the last row of the batch is left: = overwrites what the rows before brought, += adds "
      "to it." },
    { NO_LAST, "without_last_row",
      "the last row of the batch is missing: does a loop end one too early?" },
    { NO_FIRST, "without_row_0",
      "row 0 of the batch is missing: does a loop begin one too late?" },
    { NO_BIAS, "no_bias_forward", "y was computed without the bias." },
    { BIAS_EACH, "bias_each",
      "in y the bias is added once for each input. It belongs to the sum: once for each row." },
    { BY_N, "by_n",
      "it is divided by n, the number of weights. The mean is over the B rows of the batch." },
    { BY_BOTH, "by_n_and_B",
      "it is divided by B n. The loss is the mean over the B rows: divide by B alone." },
    { TWICE_MEAN, "mean_twice", "it is divided by B twice; the mean divides once." },
    { W_FOR_X, "w_for_x",
      "dy is multiplied by w[i]. When w[i] changes, y[b] changes by x[b][i]: that is the factor." },
    { X_TIMES_W, "x_times_w",
      "dy is multiplied by x[b][i] w[i]. When w[i] changes, y[b] changes by x[b][i] alone." },
    { Y_FOR_X, "y_for_x",
      "dy is multiplied by y[b]. When w[i] changes, y[b] changes by x[b][i]: that is the factor." },
    { X_0, "x_0", "all weights get x[b][0]; dw[i] has x[b][i]." },
    { BY_COLUMNS, "by_columns", "dw takes x by columns. Row b begins at x[b * n]." },
    { ROW_0, "x_row_0", "dw takes row 0 of x for every row. Row b begins at x[b * n]." },
    { ROW_0_FORWARD, "forward_row_0",
      "y is computed from row 0 of x for every row. Row b begins at x[b * n]." },
    { NO_ERROR, "no_error",
      "the error is missing: the derivative of e^2 is 2 e, with e = y[b] - target[b]." },
    { SQUARED, "squared_error",
      "the square of the error is multiplied by x. Its derivative is 2 e, without the square." },
    { NO_TARGET, "no_target", "the target is missing: the error is y[b] - target[b]." },
    { NO_Y, "no_y", "the error has no y in it: it is y[b] - target[b]." },
    { TARGET_0, "target_0", "all rows have target[0]; row b has target[b]." },
    { TARGET_TIMES, "target_as_factor", "y is multiplied by the target; the error is y - target." },
    { ONLY_SIGN, "sign_of_error",
      "only the sign of the error counts: that is the derivative of |e|. For e^2 it is 2 e." },
    { ABS, "absolute_error",
      "the size of the error counts and its sign does not: the derivative of e^2 is 2 e." },
    { SIGMOID, "sigmoid_slope",
      "y (1 - y) is in it, the slope of a sigmoid. This y is the sum itself: its slope is 1." },
    { Y_GOES_ON, "not_reset",
      "y goes on from row to row. It must begin anew, with the bias, for each row." },
    { MEANS, "product_of_means",
      "the mean of the errors is multiplied by the mean of x. Multiply in each row, then add." },
    { STEPPED, "stepped",
      "these are weights after a step, w - dw. The gradient alone is asked for." },
    { DIRTY, "not_zeroed",
      "the sums are right, but they were added to what dw and dbias held before. Set them to zero "
      "first." },
};

static const mistake of_dbias[] = {
    { DB_ZERO, "no_dbias", "dbias is 0: y changes with bias, by as much as bias does." },
    { DB_OLD, "dbias_not_set", "dbias is not written." },
    { DIRTY, "not_zeroed",
      "the sum is right, but it was added to what dbias held before. Set it to zero first." },
    { DB_LAST, "dbias_assigned",
      "dbias has the last row of the batch alone: the bias was added to each row." },
    { NO_MEAN, "dbias_no_mean", "dbias is B times too large: each row counts 1/B here, too." },
    { BY_BOTH, "dbias_each", "dbias is divided by n, too; it is one number for all B rows." },
    { NO_TWO, "dbias_no_two", "dbias is half of what it should be: it has the same 2 e." },
    { NEITHER, "dbias_no_two_no_mean", "dbias has neither the 2 nor the 1/B that dw has." },
    { SIGN, "dbias_sign", "dbias has the wrong sign." },
    { DB_SUM_X, "dbias_times_x",
      "dbias has x in it. When bias changes, y changes by just as much: the factor is 1." },
    { DB_BIAS, "dbias_times_bias",
      "dbias is multiplied by bias. When bias changes, y changes by just as much: the factor is "
      "1." },
    { BIAS_EACH, "dbias_n_times",
      "dbias is n times too large: it is added in the loop over the inputs. The bias is in y "
      "once." },
};

static double error_of(int b, double y, int e)
{
    double error = y - (double)target[e == TARGET_0 ? 0 : b];
    switch (e) {
    case SIGN: return -error;
    case NO_ERROR: return 1;
    case SQUARED: return error * error;
    case NO_TARGET: return y;
    case NO_Y: return -(double)target[b];
    case TARGET_TIMES: return y * (double)target[b];
    case ONLY_SIGN: return error > 0 ? 0.5 : -0.5;
    case ABS: return fabs(error);
    case SIGMOID: return error * y * (1 - y);
    default: return error;
    }
}

static double factor_of(int e)
{
    if (e == NO_MEAN || e == NEITHER) return e == NO_MEAN ? 2 : 1;
    if (e == NO_TWO) return 1.0 / B;
    if (e == FOUR) return 4.0 / B;
    if (e == BY_N) return 2.0 / N;
    if (e == BY_BOTH) return 2.0 / (B * N);
    return e == TWICE_MEAN ? 2.0 / (B * B) : 2.0 / B;
}

// dw, then dbias, with one error in them.
static void compute(int e, float *out)
{
    double d[N + 1] = { 0 }, y = (double)bias, sum_x[N] = { 0 };
    for (int b = 0; b < B; b++) {
        if (e != Y_GOES_ON) y = e == NO_BIAS ? 0 : (double)bias;
        if (e == BIAS_EACH) y *= N;
        for (int i = 0; i < N; i++)
            y += (double)x[(e == ROW_0_FORWARD ? 0 : b * N) + i] * (double)w[i];
        if ((e == NO_LAST && b == B - 1) || (e == NO_FIRST && b == 0)) continue;
        double dy = factor_of(e) * error_of(b, y, e);
        for (int i = 0; i < N; i++) {
            double with = (double)x[e == BY_COLUMNS ? i * B + b : b * N + i];
            if (e == ROW_0 || e == X_0) with = (double)x[e == X_0 ? b * N : i];
            if (e == W_FOR_X) with = (double)w[i];
            if (e == X_TIMES_W) with *= (double)w[i];
            if (e == Y_FOR_X) with = y;
            sum_x[i] += with;
            d[i] = (e == ASSIGNED ? 0 : d[i]) + (e == MEANS ? dy : dy * with);
        }
        d[N] = (e == DB_LAST ? 0 : d[N]) + dy;
    }
    for (int i = 0; i < N; i++) {
        if (e == MEANS) d[i] *= sum_x[i] / B;
        if (e == STEPPED) d[i] = (double)w[i] - d[i];
    }
    for (int k = 0; k <= N; k++)
        out[k] = (float)(d[k] + (e == DIRTY ? 50 : 0));
}

static double wrong_dbias(int e)
{
    float out[N + 1], part[N + 1];
    compute(e, out);
    if (e == DB_ZERO || e == DB_OLD) return e == DB_OLD ? 50 : 0;
    if (e == DB_SUM_X) return (double)out[0] + (double)out[1] + (double)out[2];
    if (e == DB_BIAS) return (double)out[N] * (double)bias;
    compute(NO_TWO, part);
    return e == BIAS_EACH ? 2.0 * N * (double)part[N] : (double)out[N];
}

int main(void)
{
    float want[N + 1], out[N + 1], *dw = judge_room(N, 50), *dbias = judge_room(1, 50);
    float *own_x = judge_copy(x, sizeof x), *own_w = judge_copy(w, sizeof w);
    float *own_target = judge_copy(target, sizeof target);
    judge_begin();
    judge_case("dw and dbias for 5 rows of 3");
    gradient(own_x, own_target, own_w, bias, B, N, dw, dbias);
    differences(want);
    judge_got(dw, N);
    judge_part("dw", 1, N);
    for (unsigned k = 0; k < sizeof of_dw / sizeof *of_dw; k++) {
        compute(of_dw[k].e, out);
        judge_mistake(of_dw[k].name, of_dw[k].sentence, out, N);
    }
    judge_want(want, N, 1e-5);
    judge_got(dbias, 1);
    judge_part("dbias", 1, 1);
    for (unsigned k = 0; k < sizeof of_dbias / sizeof *of_dbias; k++)
        judge_mistake_number(of_dbias[k].name, of_dbias[k].sentence, wrong_dbias(of_dbias[k].e));
    judge_want(want + N, 1, 1e-5);
    return judge_end();
}
