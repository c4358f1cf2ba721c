#include "../judge.h"
#include EXERCISE

enum { B = 4, N = 3 };

static const float x[B * N] = { 1, -0.5f, 2, 0.25f, 1.5f, -1, -2, 1, 0.5f, 0.75f, -1, 1 };
static const float target[B] = { 1, 0, 0, 1 };
static const float first[N + 1] = { 0.4f, -0.3f, 0.8f, 0.2f }; // the weights, then the bias

static double output(const double *p, int b)
{
    double z = p[N];
    for (int i = 0; i < N; i++)
        z += (double)x[b * N + i] * p[i];
    return 1 / (1 + exp(-z));
}

static double loss(const double *p)
{
    double sum = 0;
    for (int b = 0; b < B; b++) {
        double error = output(p, b) - (double)target[b];
        sum += error * error / B;
    }
    return sum;
}

// A right step, by central differences of the loss: no formula of a derivative is in it.
static void step(const double *p, double lr, double *after)
{
    const double h = 1e-5;
    for (int k = 0; k <= N; k++) {
        double high[N + 1], low[N + 1];
        memcpy(high, p, sizeof high);
        memcpy(low, p, sizeof low);
        high[k] += h;
        low[k] -= h;
        after[k] = p[k] - lr * (loss(high) - loss(low)) / (2 * h);
    }
}

enum {
    RIGHT,
    NO_SLOPE,
    SLOPE_OF_Z,
    NO_MEAN,
    NO_TWO,
    NEITHER,
    UPHILL,
    IN_THE_LOOP,
    LAST_ROW,
    BY_N,
    BY_BOTH,
    TWICE_MEAN,
    NO_LR,
    NO_X,
    W_FOR_X,
    ROW_0,
    COLUMNS,
    NO_TARGET,
    TARGET_0,
    SQUARED,
    NO_BIAS,
    NO_SIGMOID,
    ONLY_Y,
    ONLY_ONE_MINUS,
    ONE_PLUS,
    TANH,
    SIGN_ONLY,
    GRADIENT,
    NOT_RESET,
    REPLACED,
    NO_LAST,
    NO_FIRST,
    SUMS_GO_ON,
    LR_BY_B,
    ABSOLUTE,
    NOTHING,
    ENTROPY_SUM,
    BIAS_STAYS,
    BIAS_UPHILL,
    BIAS_NO_LR,
    BIAS_LAST,
    BIAS_NO_MEAN,
    BIAS_N_TIMES,
    BIAS_X
};

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

static const mistake of_w[] = {
    { NOTHING, "nothing_moved", "the weights have not moved." },
    { NO_SLOPE, "no_slope",
      "y (1 - y), the slope of the sigmoid, is missing: w changes z, and z changes y." },
    { SLOPE_OF_Z, "slope_of_z",
      "the slope is computed as z (1 - z). It is y (1 - y), with y behind the sigmoid." },
    { ONLY_Y, "slope_y", "the slope of the sigmoid is y (1 - y); here it is y alone." },
    { ONLY_ONE_MINUS, "slope_one_minus_y",
      "the slope of the sigmoid is y (1 - y); here it is 1 - y alone." },
    { ONE_PLUS, "slope_one_plus", "the slope is computed as y (1 + y); it is y (1 - y)." },
    { TANH, "slope_of_tanh", "1 - y^2 is the slope of tanh. That of the sigmoid is y (1 - y)." },
    { NO_MEAN, "no_mean",
      "the step is B times too long: the loss is a mean, each row counts 1/B." },
    { NO_TWO, "no_two", "the step is half as long: the derivative of e^2 is 2 e." },
    { NEITHER, "no_two_no_mean",
      "the 2 of the derivative of e^2 and the 1/B of the mean are both missing." },
    { ENTROPY_SUM, "cross_entropy",
      "this is (y - target) / B times x: without the 2 and the slope, as for a cross-entropy. The "
      "loss here is the squared error." },
    { BY_N, "by_n",
      "it is divided by n, the number of weights. The mean is over the B rows of the batch." },
    { BY_BOTH, "by_n_and_B", "the step is divided by B n; the mean is over the B rows." },
    { TWICE_MEAN, "mean_twice", "the step is divided by B twice; the mean divides once." },
    { NO_LR, "no_lr", "lr is not in the step: the weights move by -lr times the derivative." },
    { UPHILL, "uphill", "the weights go up the hill: a step is -lr times the derivative." },
    { GRADIENT, "only_gradient", "w is now its derivative; it moves by -lr times that." },
    { REPLACED, "replaced", "w is now the step itself; the step is added to what w was." },
    { IN_THE_LOOP, "in_the_loop",
      "the weights move after each row, and later rows see others than earlier ones. Add up the "
      "derivatives of the batch, then move once." },
    { SUMS_GO_ON, "moved_each_row",
      "the weights move after each row by all that was added up so far, so row 0 counts B times. "
      "Move once, behind the loop." },
    { LAST_ROW, "assigned", "only the last row counts: = overwrites what the others brought." },
    { NO_LAST, "without_last_row", "the last row is missing: does a loop end one too early?" },
    { NO_FIRST, "without_row_0", "row 0 is missing: does a loop begin one too late?" },
    { NO_X, "no_x", "x is missing: when w[i] changes, z changes by x[b][i], so that is a factor." },
    { W_FOR_X, "w_for_x",
      "w[i] stands in the place of x[b][i]. When w[i] changes, z changes by x[b][i]." },
    { ROW_0, "x_row_0", "all rows use row 0 of x in the derivative: row b begins at x[b * n]." },
    { COLUMNS, "by_columns", "the derivative takes x by columns. Row b begins at x[b * n]." },
    { NO_TARGET, "no_target", "the target is missing: the error is y[b] - target[b]." },
    { TARGET_0, "target_0", "all rows have target[0]; row b has target[b]." },
    { SQUARED, "squared_error",
      "the squared error is multiplied in; its derivative is 2 e, without the square." },
    { SIGN_ONLY, "sign_of_error",
      "only the sign of the error counts; the derivative of e^2 is 2 e." },
    { ABSOLUTE, "absolute_error", "the size of the error counts, and its sign does not." },
    { NO_BIAS, "no_bias_forward", "y was computed without the bias." },
    { NO_SIGMOID, "no_sigmoid", "y is the sum z; it is the sigmoid of it." },
    { NOT_RESET, "not_reset", "z goes on from row to row. It must begin anew for each row." },
};

static const mistake of_bias[] = {
    { BIAS_STAYS, "bias_stays", "the weights are right; the bias has not moved." },
    { BIAS_UPHILL, "bias_uphill", "the bias goes up the hill: -lr times its derivative." },
    { BIAS_NO_LR, "bias_no_lr", "lr is not in the step of the bias." },
    { BIAS_LAST, "bias_assigned",
      "only the last row counts for the bias: = overwrites what the others brought." },
    { BIAS_NO_MEAN, "bias_no_mean",
      "the step of the bias is B times too long: each row counts 1/B." },
    { BIAS_N_TIMES, "bias_n_times",
      "the step of the bias is n times too long: is it added in the loop over the inputs?" },
    { BIAS_X, "bias_times_x", "the derivative for the bias has x in it; its factor is 1." },
};

static double slope_of(double y, double z, int e)
{
    switch (e) {
    case ENTROPY_SUM:
    case NO_SLOPE: return 1;
    case SLOPE_OF_Z: return z * (1 - z);
    case ONLY_Y: return y;
    case ONLY_ONE_MINUS: return 1 - y;
    case ONE_PLUS: return y * (1 + y);
    case TANH: return 1 - y * y;
    default: return y * (1 - y);
    }
}

static double error_of(double y, int b, int e)
{
    double error = y - (double)target[e == TARGET_0 ? 0 : b];
    if (e == NO_TARGET) return y;
    if (e == SQUARED) return error * error;
    if (e == ABSOLUTE) return fabs(error);
    return e == SIGN_ONLY ? (error > 0) - 0.5 : error;
}

static double factor_of(int e)
{
    double factor = e == NO_TWO || e == NEITHER || e == ENTROPY_SUM ? 1 : 2;
    if (e == NO_MEAN || e == NEITHER) return factor;
    if (e == BY_N) return factor / N;
    if (e == BY_BOTH || e == TWICE_MEAN) return factor / B / (e == BY_BOTH ? N : B);
    return factor / B;
}

static double sum_of(const double *p, int b, double before, int e)
{
    double z = e == NO_BIAS ? 0 : p[N];
    if (e == NOT_RESET && b > 0) z = before;
    for (int i = 0; i < N; i++)
        z += (double)x[b * N + i] * p[i];
    return z;
}

static double input_of(const double *p, int b, int k, int e)
{
    if (k == N) return e == BIAS_X ? (double)(x[b * N] + x[b * N + 1] + x[b * N + 2]) : 1;
    if (e == NO_X || e == W_FOR_X) return e == NO_X ? 1 : p[k];
    if (e == ROW_0) return (double)x[k];
    return (double)x[e == COLUMNS ? k * B + b : b * N + k];
}

static void move(double *p, const double *d, double lr, int e)
{
    for (int k = 0; k <= N; k++) {
        double step = -lr * d[k];
        if (e == NO_LR || (e == BIAS_NO_LR && k == N)) step = -d[k];
        if (e == UPHILL || (e == BIAS_UPHILL && k == N)) step = -step;
        if (e == NOTHING || (e == BIAS_STAYS && k == N)) step = 0;
        if (e == GRADIENT || e == REPLACED) p[k] = 0;
        p[k] += e == GRADIENT ? d[k] : step;
    }
}

static void with_error(int e, double lr, double *p)
{
    double d[N + 1] = { 0 }, z = 0;
    for (int b = 0; b < B; b++) {
        z = sum_of(p, b, z, e);
        double y = e == NO_SIGMOID ? z : 1 / (1 + exp(-z));
        double dz = factor_of(e) * error_of(y, b, e) * slope_of(y, z, e);
        if ((e == NO_LAST && b == B - 1) || (e == NO_FIRST && b == 0)) continue;
        for (int k = 0; k <= N; k++) {
            double part = dz * input_of(p, b, k, e);
            if (k == N && (e == BIAS_NO_MEAN || e == BIAS_N_TIMES))
                part *= e == BIAS_NO_MEAN ? B : N;
            int anew = e == LAST_ROW || e == IN_THE_LOOP || (e == BIAS_LAST && k == N);
            d[k] = (anew ? 0 : d[k]) + part;
        }
        if (e == IN_THE_LOOP || e == SUMS_GO_ON) move(p, d, lr, e);
    }
    if (e != IN_THE_LOOP && e != SUMS_GO_ON) move(p, d, lr, e);
}

static void judge_step(const double *start, double lr, const mistake *list, int count, int from,
                       int n)
{
    float out[N + 1];
    double p[N + 1];
    for (int i = 0; i < count; i++) {
        memcpy(p, start, sizeof p);
        with_error(list[i].e, lr, p);
        for (int k = 0; k <= N; k++)
            out[k] = (float)p[k];
        judge_mistake(list[i].name, list[i].sentence, out + from, n);
    }
    step(start, lr, p);
    for (int k = 0; k <= N; k++)
        out[k] = (float)p[k];
    judge_want(out + from, n, 1e-6);
}

static void judge_loss(const double *start, const double *after, double got)
{
    double root = 0, absolute = 0, last = output(start, B - 1) - (double)target[B - 1];
    for (int b = 0; b < B; b++) {
        double error = output(start, b) - (double)target[b];
        root += error / B;
        absolute += fabs(error) / B;
    }
    judge_got_number(got);
    judge_part("the loss", 1, 1);
    judge_mistake_number("loss_after", "this is the loss after the step; return that before it.",
                         loss(after));
    judge_mistake_number("sum_of_losses", "this is the sum over the batch; the loss is the mean.",
                         loss(start) * B);
    judge_mistake_number("loss_by_n", "the loss is divided by n; it is the mean over the B rows.",
                         loss(start) * B / N);
    judge_mistake_number("loss_halved", "the loss is halved; it is the mean of e^2.",
                         loss(start) / 2);
    judge_mistake_number("loss_root", "this is the root of the loss.", sqrt(loss(start)));
    judge_mistake_number("loss_not_squared", "the errors are not squared in the loss.", root);
    judge_mistake_number("loss_absolute", "the errors are |e| in the loss; they are e^2.",
                         absolute);
    judge_mistake_number("loss_of_last_row", "only the last row is in the loss.", last * last);
    judge_mistake_number("loss_of_last_row", "only the last row is in the loss.", last * last / B);
    judge_mistake_number("loss_zero", "the loss that is returned is 0.", 0);
    judge_want_number(loss(start), 1e-6);
}

static void one_step(const char *what, float lr)
{
    double start[N + 1], after[N + 1];
    for (int k = 0; k <= N; k++)
        start[k] = (double)first[k];
    judge_case(what);
    float *w = judge_copy(first, N * sizeof *w), *bias = judge_copy(first + N, sizeof *bias);
    float *own_x = judge_copy(x, sizeof x), *own_target = judge_copy(target, sizeof target);
    float before = learn(own_x, own_target, w, bias, B, N, lr);
    judge_got(w, N);
    judge_part("w", 1, N);
    judge_step(start, (double)lr, of_w, sizeof of_w / sizeof *of_w, 0, N);
    judge_got(bias, 1);
    judge_part("bias", 1, 1);
    judge_step(start, (double)lr, of_bias, sizeof of_bias / sizeof *of_bias, N, 1);
    step(start, (double)lr, after);
    judge_loss(start, after, (double)before);
    free(w);
    free(bias);
    free(own_x);
    free(own_target);
}

static void many_steps(void)
{
    float w[2] = { 0, 0 }, bias = 0;
    const float points[8] = { 0, 0, 0, 1, 1, 0, 1, 1 }, or_of_both[4] = { 0, 1, 1, 1 };
    judge_case("500 steps with lr 5: the neuron learns x0 or x1");
    float last = 1;
    for (int s = 0; s < 500; s++)
        last = learn(points, or_of_both, w, &bias, 4, 2, 5);
    judge_holds(
        last < 0.01f, "not_learned",
        "the loss is still above 0.01, though a step alone is right: what is kept from call "
        "to call?");
}

int main(void)
{
    judge_begin();
    one_step("a step with lr 1.5", 1.5f);
    one_step("a step with lr 4", 4);
    many_steps();
    return judge_end();
}
