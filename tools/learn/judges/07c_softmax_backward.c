#include "../judge.h"
#include EXERCISE

enum { B = 3, N = 4 };

static const float scores[B * N] = { 1, 2, 0.5f, -1, 0, 0, 3, 1, -2, 0.25f, 1, 1.5f };
static const int label[B] = { 1, 0, 3 };

static void softmax(const double *x, double *y)
{
    for (int b = 0; b < B; b++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += exp(x[b * N + i]);
        for (int i = 0; i < N; i++)
            y[b * N + i] = exp(x[b * N + i]) / sum;
    }
}

static double cross_entropy(const double *y)
{
    double sum = 0;
    for (int b = 0; b < B; b++)
        sum -= log(y[b * N + label[b]]);
    return sum / B;
}

// What a derivative is taken of: the loss for y, or for x the sum of weight y.
static const float *weight;

static double weighted(const double *x)
{
    double y[B * N], sum = 0;
    softmax(x, y);
    for (int k = 0; k < B * N; k++)
        sum += (double)weight[k] * y[k];
    return sum;
}

static double loss_of_scores(const double *x)
{
    double y[B * N];
    softmax(x, y);
    return cross_entropy(y);
}

static void differences(double (*f)(const double *), const double *at, float *out)
{
    double x[B * N];
    memcpy(x, at, sizeof x);
    for (int k = 0; k < B * N; k++) {
        const double h = 1e-5 * fmax(0.01, fabs(at[k]));
        x[k] = at[k] + h;
        double high = f(x);
        x[k] = at[k] - h;
        out[k] = (float)((high - f(x)) / (2 * h));
        x[k] = at[k];
    }
}

static double s0[B * N], p0[B * N];
static float p1[B * N];

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

enum {
    RIGHT,
    NEGATIVE,
    NO_MEAN,
    BY_N,
    BY_BOTH,
    EVERY_CLASS,
    COMBINED,
    LEFT,
    NOT_DERIVED,
    LABEL_0,
    NO_QUOTIENT,
    TIMES_Y,
    BINARY,
    SQUARED,
    LAST_ROW,
    ROW_0,
    ZERO,
    ADDED,
    TWICE,
    OTHERS,
    ONE_MINUS
};

static const mistake of_dy[] = {
    { NEGATIVE, "sign", "the sign is turned: the loss falls when the right probability grows." },
    { NO_MEAN, "no_mean",
      "it is B times too large: the loss is a mean, so each row counts 1/B." },
    { BY_N, "by_n", "it is divided by n, the number of classes. The mean is over the B rows." },
    { BY_BOTH, "by_n_and_B", "it is divided by B n. The loss is the mean over the B rows." },
    { EVERY_CLASS, "every_class",
      "each class has a derivative; only the probability of the right one is in the loss." },
    { OTHERS, "other_classes",
      "the wrong classes have a derivative, and the right one has none. Only the probability of "
      "the right one is in the loss." },
    { COMBINED, "already_combined",
      "this is (y - 1) / B, the gradient for the scores. Here it is that for the probabilities; "
      "the softmax comes in the other function, and would count twice." },
    { LEFT, "not_zeroed",
      "the derivatives of the other classes are not set: they are 0, and dy holds what was there "
      "before." },
    { ADDED, "added_to_dy", "dy is added to what it held before: = here, not +=." },
    { NOT_DERIVED, "not_derived", "this is -log(y), and not its derivative, -1/y." },
    { NO_QUOTIENT, "no_quotient",
      "1/y is missing: the derivative of -log(y) is -1/y, large where the probability is small." },
    { TIMES_Y, "times_y", "this is -y. The derivative of -log(y) is -1/y." },
    { TWICE, "squared_quotient", "this is -1/y^2. The derivative of -log(y) is -1/y." },
    { ONE_MINUS, "one_minus_y", "this is -1/(1 - y). The derivative of -log(y) is -1/y." },
    { BINARY, "binary",
      "this is the derivative for n questions of yes or no, with log(1 - y) for the wrong classes. "
      "Here the loss has the right class only." },
    { SQUARED, "squared_error",
      "this is the derivative of a squared error, 2 (y - 1). The loss is -log(y)." },
    { LABEL_0, "label_0", "all rows use label[0]; row b has label[b]." },
    { LAST_ROW, "last_row_only", "only the last row has a derivative." },
    { ROW_0, "row_0_only", "only row 0 has a derivative." },
    { ZERO, "all_zero", "every derivative is 0: nothing would be learned." },
};

static double of_probability(int b, int i, int e)
{
    int right = i == label[e == LABEL_0 ? 0 : b];
    double p = (double)p1[b * N + i], d = right ? -1 / p / B : 0;
    if ((e == LAST_ROW && b < B - 1) || (e == ROW_0 && b > 0)) return 0;
    switch (e) {
    case NEGATIVE: return -d;
    case NO_MEAN: return d * B;
    case BY_N: return d * B / N;
    case BY_BOTH: return d / N;
    case EVERY_CLASS: return -1 / p / B;
    case OTHERS: return right ? 0 : -1 / p / B;
    case COMBINED: return (p - right) / B;
    case LEFT: return right ? d : 1000;
    case ADDED: return d + 1000;
    case NOT_DERIVED: return right ? -log(p) / B : 0;
    case NO_QUOTIENT: return -right / (double)B;
    case TIMES_Y: return -right * p / B;
    case TWICE: return d / p;
    case ONE_MINUS: return right ? -1 / (1 - p) / B : 0;
    case BINARY: return right ? d : 1 / (1 - p) / B;
    case SQUARED: return 2 * (p - right) / B;
    case ZERO: return 0;
    default: return d;
    }
}

static void loss_backward(void)
{
    float *dy = judge_room(B * N, 1000), *y = judge_copy(p1, sizeof p1), want[B * N], out[B * N];
    int *labels = judge_copy(label, sizeof label);
    judge_case("cross_entropy_backward of 3 rows of 4");
    cross_entropy_backward(y, labels, dy, B, N);
    judge_got(dy, B * N);
    judge_part("dy", B, N);
    for (unsigned i = 0; i < sizeof of_dy / sizeof *of_dy; i++) {
        for (int k = 0; k < B * N; k++)
            out[k] = (float)of_probability(k / N, k % N, of_dy[i].e);
        judge_mistake(of_dy[i].name, of_dy[i].sentence, out, B * N);
    }
    differences(cross_entropy, p0, want);
    judge_want(want, B * N, 1e-5);
    free(dy);
    free(y);
    free(labels);
}

enum { DIAGONAL = 1, NO_SUM, SUM_OF_ALL, UNWEIGHTED, NO_Y, DX_ADDED, PLUS_SUM, MEAN_SUM, GOES_ON,
       PASSED, SUM_OUTSIDE, SUM_OF_Y, NO_OWN, DX_NEGATIVE, DX_BY_B, ROW_0_SUM, COLUMN_SUM, ONLY_SUM,
       NO_LAST, NO_FIRST, Y_SQUARED, LAST_PRODUCT, SLOPE_TOO, NO_DY };

static const mistake of_dx[] = {
    { DIAGONAL, "diagonal",
      "each score changes only its own probability here, as with a sigmoid. It takes from the "
      "others of its row, too: by -y[i] y[j]." },
    { NO_SUM, "no_sum", "the sum over the row, of dy[j] y[j], is not subtracted." },
    { NO_OWN, "sum_of_others",
      "only what a score takes from the others is there: its own probability grows by y[i] (1 - "
      "y[i])." },
    { SUM_OF_ALL, "sum_of_all",
      "the sum is that of all rows. It must begin anew for each row." },
    { GOES_ON, "sum_not_reset",
      "the sum has those of the rows before in it. It must begin anew for each row." },
    { ROW_0_SUM, "sum_of_row_0", "all rows use the sum of row 0. Each row has its own." },
    { COLUMN_SUM, "sum_of_column",
      "the sum is that of a column; scores share probabilities with those of their row." },
    { UNWEIGHTED, "unweighted", "the sum is that of dy[j]; it is that of dy[j] y[j]." },
    { SUM_OF_Y, "sum_of_y",
      "the sum is that of y[j], which is 1 for each row; it is that of dy[j] y[j]." },
    { MEAN_SUM, "mean",
      "the sum is divided by n; y[j] are weights already, and add up to 1." },
    { NO_LAST, "sum_without_last", "the last class is missing in the sum: does a loop end too "
                                   "early?" },
    { NO_FIRST, "sum_without_first", "class 0 is missing in the sum: does a loop begin at 1?" },
    { LAST_PRODUCT, "sum_assigned",
      "the sum is the last product alone: = overwrites what the others brought." },
    { PLUS_SUM, "sum_added", "the sum is added; what a score gains it takes from the others: -." },
    { SUM_OUTSIDE, "sum_not_weighted",
      "the sum is subtracted from y[i] dy[i]. It is in the ( ), and y[i] multiplies it, too." },
    { ONLY_SUM, "only_sum", "dy[i] is missing: dx[i] = y[i] (dy[i] - sum)." },
    { NO_Y, "no_y", "y[i] is missing in front: a class that is improbable moves little." },
    { Y_SQUARED, "y_twice", "y[i] is in front twice; once is enough." },
    { SLOPE_TOO, "slope_too",
      "y (1 - y) stands in front, the slope of a sigmoid. With the sum, y alone is in front." },
    { PASSED, "passed_on", "dy is passed on as it is; the softmax changes it." },
    { NO_DY, "no_dy", "dy is not in it: this is y (1 - y), which multiplies what comes back." },
    { DX_NEGATIVE, "dx_sign", "dx has the opposite sign: dy[i] minus the sum." },
    { DX_BY_B, "divided_by_B",
      "dx is divided by B. The 1/B of the mean is in dy already, from the loss." },
    { DX_ADDED, "added_to_dx", "dx is added to what it held before: = here, not +=." },
};

static double row_sum(const float *dy, int b, int i, int e)
{
    double sum = 0;
    for (int k = 0; k < B * N; k++) {
        int row = k / N, j = k % N, of = e == ROW_0_SUM ? 0 : b;
        double d = (double)dy[k], part = d * (double)p1[k];
        if (e == UNWEIGHTED) part = d;
        if (e == SUM_OF_Y) part = (double)p1[k];
        if ((e == NO_OWN && j == i) || (e == NO_LAST && j == N - 1) || (e == NO_FIRST && j == 0))
            continue;
        int counts = row == of || e == SUM_OF_ALL || (e == GOES_ON && row < b);
        if (e == COLUMN_SUM) counts = j == i;
        if (counts) sum = (e == LAST_PRODUCT ? 0 : sum) + part;
    }
    return e == MEAN_SUM ? sum / N : sum;
}

static double of_score(const float *dy, int b, int i, int e)
{
    double p = (double)p1[b * N + i], d = (double)dy[b * N + i], sum = row_sum(dy, b, i, e);
    switch (e) {
    case DIAGONAL: return d * p * (1 - p);
    case NO_SUM: return d * p;
    case NO_OWN: return -p * sum;
    case PLUS_SUM: return p * (d + sum);
    case SUM_OUTSIDE: return p * d - sum;
    case ONLY_SUM: return -p * sum;
    case NO_Y: return d - sum;
    case Y_SQUARED: return p * p * (d - sum);
    case SLOPE_TOO: return p * (1 - p) * (d - sum);
    case PASSED: return d;
    case NO_DY: return p * (1 - p);
    case DX_NEGATIVE: return -p * (d - sum);
    case DX_BY_B: return p * (d - sum) / B;
    case DX_ADDED: return p * (d - sum) + 1000;
    default: return p * (d - sum);
    }
}

static void through(const char *what, const float *dy)
{
    float *dx = judge_room(B * N, 1000), *y = judge_copy(p1, sizeof p1), want[B * N], out[B * N];
    float *own_dy = judge_copy(dy, sizeof out);
    judge_case(what);
    softmax_backward(y, own_dy, dx, B, N);
    judge_got(dx, B * N);
    judge_part("dx", B, N);
    for (unsigned i = 0; i < sizeof of_dx / sizeof *of_dx; i++) {
        for (int k = 0; k < B * N; k++)
            out[k] = (float)of_score(dy, k / N, k % N, of_dx[i].e);
        judge_mistake(of_dx[i].name, of_dx[i].sentence, out, B * N);
    }
    weight = dy;
    differences(weighted, s0, want);
    judge_want(want, B * N, 1e-5);
    free(dx);
    free(y);
    free(own_dy);
}

static void both(void)
{
    float dy[B * N], dx[B * N], want[B * N];
    judge_case("one behind the other: the gradient of 07b");
    cross_entropy_backward(p1, label, dy, B, N);
    softmax_backward(p1, dy, dx, B, N);
    judge_got(dx, B * N);
    differences(loss_of_scores, s0, want);
    judge_want(want, B * N, 1e-5);
}

int main(void)
{
    static const float dy[B * N] = { 1, -2, 0.5f, 3, 0, 0, 1, 0, -1, 2, 4, -3 };
    static const float equal[B * N] = { 2, 2, 2, 2, -1, -1, -1, -1, 0, 0, 0, 0 };
    judge_begin();
    for (int k = 0; k < B * N; k++)
        s0[k] = (double)scores[k];
    softmax(s0, p0);
    for (int k = 0; k < B * N; k++)
        p1[k] = (float)p0[k];
    loss_backward();
    through("softmax_backward of 3 rows of 4", dy);
    through("softmax_backward of equal dy", equal);
    both();
    return judge_end();
}
