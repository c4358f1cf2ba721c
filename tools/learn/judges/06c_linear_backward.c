#include "../judge.h"
#include EXERCISE

enum { MOST = 32 };

// A layer in double: x, W and bias in one row of numbers, so that differences reach all of them.
static int B, n, m;
static float dy[MOST];

static double loss(const double *p)
{
    const double *x = p, *W = p + B * n, *bias = W + m * n;
    double sum = 0;
    for (int b = 0; b < B; b++)
        for (int o = 0; o < m; o++) {
            double y = bias[o];
            for (int i = 0; i < n; i++)
                y += x[b * n + i] * W[o * n + i];
            sum += (double)dy[b * m + o] * y;
        }
    return sum;
}

static void differences(double *p, float *out)
{
    int count = B * n + m * n + m;
    for (int k = 0; k < count; k++) {
        const double kept = p[k], h = 1e-3;
        p[k] = kept + h;
        double high = loss(p);
        p[k] = kept - h;
        out[k] = (float)((high - loss(p)) / (2 * h));
        p[k] = kept;
    }
}

enum {
    ASSIGNED,
    W_TRANSPOSED,
    DX_COLUMNS,
    X_FOR_W,
    W_ALONE,
    NO_LAST,
    NO_FIRST,
    MEAN,
    MEAN_N,
    MEAN_M,
    NEGATIVE,
    DIRTY,
    LEFT,
    ROW_0,
    DY_COLUMNS,
    FIRST_OUTPUT,
    DW_TRANSPOSED,
    W_FOR_X,
    X_ALONE,
    X_ROW_0,
    X_COLUMNS,
    EACH_INPUT,
    TIMES_BIAS,
    ZERO,
    STEPPED,
    FIRST_ROW
};

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

static const mistake of_dx[] = {
    { ASSIGNED, "dx_assigned",
      "dx has the last output alone: x[b][i] was used by all outputs, and each adds its part." },
    { NO_LAST, "dx_without_last", "the last output is missing in dx: does a loop end too early?" },
    { NO_FIRST, "dx_without_first", "output 0 is missing in dx: does a loop begin at 1?" },
    { FIRST_OUTPUT, "dx_of_output_0", "dx has output 0 alone; each output adds its part." },
    { W_TRANSPOSED, "W_transposed",
      "dx is computed with W as if it were (n,m). W[o][i] lies at o n + i, forward and backward." },
    { X_FOR_W, "x_for_W",
      "dx is made of dy and x. When x[b][i] changes, y[b][o] changes by W[o][i]: that is the "
      "factor." },
    { W_ALONE, "dx_without_dy",
      "dx is made of W alone. It is dy W: what comes back counts with the weight that it came "
      "through." },
    { ZERO, "dx_zero", "dx is 0: the layer before learns from it." },
    { DX_COLUMNS, "dx_by_columns",
      "dx has the right numbers in the order (n,B). It has the shape of x: dx[b][i] lies at b n + "
      "i." },
    { ROW_0, "dy_row_0", "all rows use row 0 of dy: dy[b][o] lies at b m + o." },
    { DY_COLUMNS, "dy_by_columns",
      "dy is read as if it were (m,B). It is (B,m): dy[b][o] lies at b m + o." },
    { MEAN, "dx_divided_by_B",
      "dx is divided by B. The 1/B of the mean is in dy already, from the loss." },
    { MEAN_N, "dx_divided_by_n", "dx is divided by n; what comes back is added up, not averaged." },
    { MEAN_M, "dx_divided_by_m", "dx is divided by m; what comes back is added up, not averaged." },
    { NEGATIVE, "dx_sign", "dx has the opposite sign." },
    { DIRTY, "not_zeroed",
      "the sums are right, but they were added to what was there before. Set all three to zero "
      "first." },
    { LEFT, "dx_not_set", "dx is not written; the layer owes three answers." },
};

static const mistake of_dW[] = {
    { ASSIGNED, "dW_assigned",
      "dW has the last row of the batch alone: each row used the same weights, and each adds its "
      "part." },
    { NO_LAST, "dW_without_last", "the last row is missing in dW: does a loop end too early?" },
    { NO_FIRST, "dW_without_first", "row 0 is missing in dW: does a loop begin at 1?" },
    { FIRST_ROW, "dW_of_row_0", "dW has row 0 of the batch alone; each row adds its part." },
    { MEAN, "divided_by_B",
      "dW is divided by B. The 1/B of the mean is in dy already, from the loss." },
    { MEAN_N, "dW_divided_by_n", "dW is divided by n; the rows of the batch are added up." },
    { MEAN_M, "dW_divided_by_m", "dW is divided by m; the rows of the batch are added up." },
    { DW_TRANSPOSED, "dW_transposed",
      "dW has the right numbers in the order (n,m). It has the shape of W: dW[o][i] lies at o n + "
      "i." },
    { W_FOR_X, "W_for_x",
      "dW is made of dy and W. When W[o][i] changes, y[b][o] changes by x[b][i]: that is the "
      "factor." },
    { X_ALONE, "dW_without_dy", "dW is the sum of x alone; dy[b][o] is its factor." },
    { ZERO, "dW_zero", "dW is 0: the weights would learn nothing." },
    { X_ROW_0, "dW_x_row_0", "dW takes row 0 of x for all rows: row b begins at x[b * n]." },
    { X_COLUMNS, "dW_x_by_columns",
      "dW reads x as if it were (n,B). It is (B,n): x[b][i] lies at b n + i." },
    { ROW_0, "dW_dy_row_0", "dW takes row 0 of dy for all rows: dy[b][o] lies at b m + o." },
    { DY_COLUMNS, "dW_dy_by_columns",
      "dW reads dy as if it were (m,B). It is (B,m): dy[b][o] lies at b m + o." },
    { NEGATIVE, "dW_sign", "dW has the opposite sign." },
    { STEPPED, "stepped", "this is W - dW, weights after a step. dW alone is asked for." },
    { DIRTY, "not_zeroed",
      "the sums are right, but they were added to what was there before. Set all three to zero "
      "first." },
    { LEFT, "dW_not_set", "dW is not written; the layer owes three answers." },
};

static const mistake of_bias[] = {
    { ASSIGNED, "dbias_assigned",
      "dbias has the last row of the batch alone: the bias was added to each row." },
    { NO_LAST, "dbias_without_last",
      "the last row is missing in dbias: does a loop end too early?" },
    { NO_FIRST, "dbias_without_first", "row 0 is missing in dbias: does a loop begin at 1?" },
    { FIRST_ROW, "dbias_of_row_0", "dbias has row 0 of the batch alone; each row adds its part." },
    { MEAN, "divided_by_B", "dbias is divided by B. The 1/B of the mean is in dy already." },
    { EACH_INPUT, "dbias_n_times",
      "dbias is n times too large: it is added in the loop over the inputs. It is in y once." },
    { TIMES_BIAS, "dbias_times_x",
      "dbias has x in it. When bias[o] changes, y[b][o] changes by just as much: the factor is "
      "1." },
    { DY_COLUMNS, "dbias_by_columns",
      "dbias reads dy as if it were (m,B). It is (B,m): dy[b][o] lies at b m + o." },
    { NEGATIVE, "dbias_sign", "dbias has the opposite sign." },
    { ZERO, "dbias_zero", "dbias is 0: the bias would learn nothing." },
    { DIRTY, "not_zeroed",
      "the sums are right, but they were added to what was there before. Set all three to zero "
      "first." },
    { LEFT, "dbias_not_set", "dbias is not written; the layer owes three answers." },
};

// What row b and output o pass on with one error; x, W from p, results behind each other in out.
static void pass_on(const double *p, int b, int o, int e, double *out)
{
    const double *x = p, *W = p + B * n;
    double *dx = out, *dW = out + B * n, *db = dW + m * n;
    int from = e == DY_COLUMNS ? o * B + b : b * m + o;
    double d = (double)dy[e == ROW_0 ? o : from];
    for (int i = 0; i < n; i++) {
        int w = e == W_TRANSPOSED ? i * m + o : o * n + i, in = b * n + i, at = o * n + i;
        if (e == X_ROW_0 || e == X_COLUMNS) in = e == X_ROW_0 ? i : i * B + b;
        double part = e == W_ALONE ? W[w] : d * W[w], weight = d * x[in];
        if (e == X_FOR_W) part = d * x[in];
        if (e == W_FOR_X || e == X_ALONE) weight = e == X_ALONE ? x[in] : d * W[w];
        if (e == ASSIGNED) dx[b * n + i] = dW[at] = 0;
        if ((e != NO_LAST || o < m - 1) && (e != NO_FIRST || o > 0)
            && (e != FIRST_OUTPUT || o == 0))
            dx[e == DX_COLUMNS ? i * B + b : b * n + i] += part;
        if ((e != NO_LAST || b < B - 1) && (e != NO_FIRST || b > 0) && (e != FIRST_ROW || b == 0))
            dW[e == DW_TRANSPOSED ? i * m + o : at] += weight;
        if (e == TIMES_BIAS) db[o] += weight;
    }
    if (e == TIMES_BIAS) return;
    if (e == ASSIGNED) db[o] = 0;
    if ((e != NO_LAST || b < B - 1) && (e != NO_FIRST || b > 0) && (e != FIRST_ROW || b == 0))
        db[o] += d * (e == EACH_INPUT ? n : 1);
}

static void with_error(const double *p, int e, float *out)
{
    double sum[3 * MOST] = { 0 };
    int count = B * n + m * n + m;
    for (int b = 0; b < B; b++)
        for (int o = 0; o < m; o++)
            pass_on(p, b, o, e, sum);
    for (int k = 0; k < count; k++) {
        if (e == MEAN) sum[k] /= B;
        if (e == MEAN_N || e == MEAN_M) sum[k] /= e == MEAN_N ? n : m;
        if (e == NEGATIVE) sum[k] = -sum[k];
        if (e == ZERO || e == LEFT) sum[k] = e == ZERO ? 0 : 1000;
        if (e == DIRTY) sum[k] += 1000;
        if (e == STEPPED) sum[k] = p[k] - sum[k];
        out[k] = (float)sum[k];
    }
}

// ---- One of the three, which begins at number `from` of all derivatives ----
typedef struct answer {
    const char *name;
    const float *got;
    int from, rows, columns, mistakes;
    const mistake *list;
} answer;

static void judge_answer(const answer *a, const double *p, const float *want)
{
    static char what[60];
    float wrong[3 * MOST];
    int count = a->rows * a->columns;
    snprintf(what, sizeof what, "%s for B %d, n %d, m %d", a->name, B, n, m);
    judge_case(what);
    judge_got(a->got, count);
    judge_part(a->name, a->rows, a->columns);
    for (int i = 0; i < a->mistakes; i++) {
        with_error(p, a->list[i].e, wrong);
        judge_mistake(a->list[i].name, a->list[i].sentence, wrong + a->from, count);
    }
    judge_want(want + a->from, count, 1e-5);
}

static void layer(const int *size)
{
    B = size[0];
    n = size[1];
    m = size[2];
    double p[3 * MOST];
    float want[3 * MOST];
    float *x = judge_room(B * n, 0), *W = judge_room(m * n, 0), *d = judge_room(B * m, 0);
    float *dx = judge_room(B * n, 1000), *dW = judge_room(m * n, 1000), *db = judge_room(m, 1000);
    for (int k = 0; k < B * n; k++)
        p[k] = (double)(x[k] = (float)((k * 29 + 3) % 17) / 4 - 2);
    for (int k = 0; k < m * n; k++)
        p[B * n + k] = (double)(W[k] = (float)((k * 23 + 5) % 19) / 8 - 1);
    for (int k = 0; k < m; k++)
        p[B * n + m * n + k] = k;
    for (int k = 0; k < B * m; k++)
        dy[k] = d[k] = (float)((k * 31 + 9) % 13) / 4 - 1.125f;
    differences(p, want);
    linear_backward(x, W, d, dx, dW, db, B, n, m);
    const answer answers[] = {
        { "dx", dx, 0, B, n, sizeof of_dx / sizeof *of_dx, of_dx },
        { "dW", dW, B * n, m, n, sizeof of_dW / sizeof *of_dW, of_dW },
        { "dbias", db, B * n + m * n, 1, m, sizeof of_bias / sizeof *of_bias, of_bias },
    };
    for (int i = 0; i < 3; i++)
        judge_answer(&answers[i], p, want);
    float *all[] = { x, W, d, dx, dW, db };
    for (int i = 0; i < 6; i++)
        free(all[i]);
}

int main(void)
{
    judge_begin();
    layer((const int[]){ 3, 2, 4 });
    layer((const int[]){ 2, 5, 3 });
    layer((const int[]){ 4, 3, 3 });
    layer((const int[]){ 1, 1, 1 });
    return judge_end();
}
