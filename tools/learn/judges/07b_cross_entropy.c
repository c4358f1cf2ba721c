#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

enum {
    RIGHT,
    SUM,
    NEGATIVE,
    BY_N,
    BY_BOTH,
    NO_SCORE,
    NO_LOG,
    ONLY_SCORE,
    LABEL_0,
    LAST_ROW,
    NO_LAST,
    NO_FIRST,
    BASE_2,
    PROBABILITY,
    ONE_MINUS,
    SQUARE,
    ALL_CLASSES,
    ROW_0,
    NO_LARGEST,
    LOG_OF_MEAN,
    SUM_GOES_ON,
    LARGEST_TWICE,
    BOTH_SIDES
};

static const mistake of_loss[] = {
    { SUM, "no_mean_forward", "the loss is a sum over the batch; it should be the mean." },
    { NEGATIVE, "loss_sign",
      "the loss is negative: it is minus the logarithm of a probability." },
    { BY_N, "loss_by_n",
      "the loss is divided by n, the number of classes. It is the mean over the B rows." },
    { BY_BOTH, "loss_by_n_and_B",
      "the loss is divided by B n. Each row has one loss: divide by B alone." },
    { NO_SCORE, "no_score",
      "the score of the right class is not subtracted: the loss is log(sum) - x[b][label[b]]." },
    { ONLY_SCORE, "only_score",
      "the loss is made of the scores of the right classes alone; log(sum of exps) is missing." },
    { NO_LOG, "no_log", "the logarithm of the sum is missing." },
    { PROBABILITY, "probability",
      "this is the mean of the probabilities of the right classes; the loss is the mean of minus "
      "their logarithms." },
    { ONE_MINUS, "one_minus_probability",
      "this is the mean of 1 - probability. The loss is that of -log(probability)." },
    { SQUARE, "squared_error",
      "this is a mean of squared errors. Cross-entropy is -log(probability of the right class)." },
    { ALL_CLASSES, "all_classes",
      "the loss has -log(probability) of all classes. Only the right one of each row counts." },
    { BOTH_SIDES, "other_classes",
      "the loss has -log(1 - probability) of the wrong classes, too. That is the loss of n "
      "questions of yes or no; here the softmax makes one question of them." },
    { LABEL_0, "label_0", "all rows use label[0]; row b has label[b]." },
    { ROW_0, "loss_row_0", "all rows use row 0 of x: row b begins at x[b * n]." },
    { LAST_ROW, "loss_assigned",
      "only the last row is in the loss: = overwrites what the others brought, += adds to it." },
    { NO_LAST, "loss_without_last", "the last row is missing in the loss: does a loop end too "
                                    "early?" },
    { NO_FIRST, "loss_without_first", "row 0 is missing in the loss: does a loop begin at 1?" },
    { BASE_2, "base_2", "the loss is in bits, with a logarithm of base 2. Here it is logf." },
    { NO_LARGEST, "largest_not_added",
      "the largest score was subtracted in exp, and not added again to log(sum)." },
    { LARGEST_TWICE, "largest_twice",
      "the largest score is in the loss once too often: log(sum) + largest - score." },
    { LOG_OF_MEAN, "log_of_mean",
      "this is the logarithm of the mean probability. It is the mean of the logarithms." },
    { SUM_GOES_ON, "sum_not_reset",
      "the sum of exps goes on from row to row. It must begin anew for each row." },
};

static double largest_of(const float *in, int n)
{
    double largest = (double)in[0];
    for (int i = 1; i < n; i++)
        largest = fmax(largest, (double)in[i]);
    return largest;
}

// The probability of class i of row b; with SUM_GOES_ON by the exps of all rows up to there.
static double chance(const float *x, int b, int i, int n, int e)
{
    double sum = 0;
    for (int row = e == SUM_GOES_ON ? 0 : b; row <= b; row++)
        for (int k = 0; k < n; k++)
            sum += exp((double)x[row * n + k] - largest_of(x + row * n, n));
    return exp((double)x[b * n + i] - largest_of(x + b * n, n)) / sum;
}

static double row_loss(const float *x, int label, int b, int n, int e)
{
    double largest = largest_of(x + b * n, n), score = (double)x[b * n + label], sum = 0, part = 0;
    for (int i = 0; i < n; i++) {
        double p = chance(x, b, i, n, e), off = p - (i == label);
        if (e == SQUARE) part += off * off;
        if (e == ALL_CLASSES) part -= log(p);
        if (e == BOTH_SIDES) part -= log(i == label ? p : 1 - p);
    }
    for (int i = 0; i < n; i++)
        sum += exp((double)x[b * n + i] - largest);
    double p = chance(x, b, label, n, e), all = log(sum) + largest;
    switch (e) {
    case NO_SCORE: return all;
    case ONLY_SCORE: return -score;
    case NO_LOG: return sum + largest - score;
    case PROBABILITY:
    case LOG_OF_MEAN: return p;
    case ONE_MINUS: return 1 - p;
    case SQUARE:
    case BOTH_SIDES:
    case ALL_CLASSES: return part;
    case BASE_2: return (all - score) / log(2);
    case NO_LARGEST: return all - largest - score;
    case LARGEST_TWICE: return all + largest - score;
    case SUM_GOES_ON: return -log(p);
    default: return all - score;
    }
}

static double loss(const float *x, const int *label, int B, int n, int e)
{
    double sum = 0;
    for (int b = 0; b < B; b++) {
        double part = row_loss(x, label[e == LABEL_0 ? 0 : b], e == ROW_0 ? 0 : b, n, e);
        if ((e == NO_LAST && b == B - 1) || (e == NO_FIRST && b == 0)) continue;
        sum = (e == LAST_ROW ? 0 : sum) + part;
    }
    if (e == LOG_OF_MEAN) return -log(sum / B);
    if (e == BY_N || e == BY_BOTH) return sum / n / (e == BY_BOTH ? B : 1);
    return (e == NEGATIVE ? -sum : sum) / (e == SUM ? 1 : B);
}

enum {
    DX_SUM = 100,
    DX_BY_N,
    DX_BY_BOTH,
    SOFTMAX,
    DX_NEGATIVE,
    ADDED,
    ONLY_RIGHT,
    NOT_RIGHT,
    DX_LABEL_0,
    DX_TIMES_SLOPE,
    NOT_NORMAL,
    ONE_HOT,
    NOT_WRITTEN,
    LOG_CHANCE,
    INVERSE,
    SCORES,
    DX_GOES_ON,
    PLUS_ONE,
    ONLY_ONE_BY_B,
    ZERO
};

static const mistake of_dx[] = {
    { DX_SUM, "no_mean_backward",
      "the gradient is B times too large: the loss is a mean, so each row counts 1/B." },
    { DX_BY_N, "dx_by_n",
      "the gradient is divided by n, the number of classes. The mean is over the B rows." },
    { DX_BY_BOTH, "dx_by_n_and_B", "the gradient is divided by B n; divide by B alone." },
    { SOFTMAX, "only_softmax", "dx is the softmax: the right class must have 1 less." },
    { DX_NEGATIVE, "sign",
      "dx has the wrong sign: softmax minus 1 for the right class, not the other way round." },
    { PLUS_ONE, "plus_one", "the right class has 1 more than its probability; it has 1 less." },
    { ADDED, "added_to_dx", "dx is added to what it held before: = here, not +=." },
    { ONLY_RIGHT, "only_right_class",
      "only the right class has a derivative. The scores of the others are in the sum of exps: "
      "they get their probability, by B." },
    { NOT_RIGHT, "not_for_right",
      "only the wrong classes have a derivative; the right one has its probability minus 1." },
    { NOT_WRITTEN, "others_not_written",
      "dx is written for the right class only; what the others hold is from before." },
    { DX_LABEL_0, "dx_label_0", "in dx all rows use label[0]; row b has label[b]." },
    { DX_TIMES_SLOPE, "times_slope",
      "dx is multiplied by p (1 - p), the slope of a sigmoid. From -log(softmax) it cancels: "
      "softmax minus 1 is all." },
    { NOT_NORMAL, "not_divided",
      "dx has exp in it without the division by the sum of the row." },
    { ONE_HOT, "one_hot", "the softmax is missing in dx: only the 1 of the right class is there." },
    { LOG_CHANCE, "log_in_dx", "dx has the logarithm of the softmax; it has the softmax itself." },
    { INVERSE, "for_the_probability",
      "this is -1/p, the derivative for the probability. dx is that for the scores." },
    { SCORES, "scores", "dx has the scores themselves in it; it has their softmax." },
    { DX_GOES_ON, "sum_not_reset",
      "the sum of exps goes on from row to row. It must begin anew for each row." },
    { ONLY_ONE_BY_B, "one_divided_alone",
      "only the 1 is divided by B: (softmax - 1) / B needs ( )." },
    { ZERO, "dx_zero", "dx is 0: nothing would be learned." },
};

static double slope(const float *x, const int *label, int b, int i, const int *size, int e)
{
    int B = size[0], n = size[1], right = i == label[e == DX_LABEL_0 ? 0 : b];
    double p = chance(x, b, i, n, e == DX_GOES_ON ? SUM_GOES_ON : RIGHT), g = p - right;
    switch (e) {
    case DX_SUM: return g;
    case DX_BY_N: return g / n;
    case DX_BY_BOTH: return g / n / B;
    case SOFTMAX: return p / B;
    case DX_NEGATIVE: return -g / B;
    case PLUS_ONE: return (p + right) / B;
    case ADDED: return g / B + 1000;
    case ONLY_RIGHT: return right * g / B;
    case NOT_RIGHT: return right ? 0 : g / B;
    case NOT_WRITTEN: return right ? g / B : 1000;
    case DX_TIMES_SLOPE: return g * p * (1 - p) / B;
    case NOT_NORMAL: return (exp((double)x[b * n + i] - largest_of(x + b * n, n)) - right) / B;
    case ONE_HOT: return -right / (double)B;
    case LOG_CHANCE: return (log(p) - right) / B;
    case INVERSE: return right ? -1 / p / B : 0;
    case SCORES: return ((double)x[b * n + i] - right) / B;
    case ONLY_ONE_BY_B: return p - right / (double)B;
    case ZERO: return 0;
    default: return g / B;
    }
}

static void compute_dx(const float *x, const int *label, int B, int n, int e, float *dx)
{
    for (int k = 0; k < B * n; k++)
        dx[k] = (float)slope(x, label, k / n, k % n, (const int[]){ B, n }, e);
}

static void batch(const char *what, const float *x, const int *label, int B, int n)
{
    float out[MOST], *dx = judge_room(B * n, 1000);
    float *own_x = judge_copy(x, sizeof *x * (size_t)(B * n));
    int *own_label = judge_copy(label, sizeof *label * (size_t)B);
    judge_case(what);
    float y = cross_entropy(own_x, own_label, B, n, dx);
    for (int k = 0; k < B * n; k++)
        if (!(y - y == 0) || !(dx[k] - dx[k] == 0))
            judge_refuse("overflow",
                         "there is an infinity, or what is not a number. exp of a large score "
                         "overflows, and log of a probability that has become 0 does: subtract the "
                         "largest score, and write the loss as log(sum) + largest - score.");
    judge_got_number((double)y);
    judge_part("the loss", 1, 1);
    for (unsigned k = 0; k < sizeof of_loss / sizeof *of_loss; k++)
        judge_mistake_number(of_loss[k].name, of_loss[k].sentence,
                             loss(x, label, B, n, of_loss[k].e));
    float scaled[MOST];
    compute_dx(x, label, B, n, DX_SUM, scaled);
    int both = B > 1 && judge_close((double)y, loss(x, label, B, n, SUM), 1e-5);
    for (int k = 0; k < B * n; k++)
        both = both && judge_close((double)dx[k], (double)scaled[k], 1e-5);
    judge_holds(!both, "no_mean",
                "loss and gradient are B times too large: they are those of a sum, not of the mean "
                "over the batch.");
    judge_want_number(loss(x, label, B, n, RIGHT), 1e-5);
    judge_got(dx, B * n);
    judge_part("dx", B, n);
    for (unsigned k = 0; k < sizeof of_dx / sizeof *of_dx; k++) {
        compute_dx(x, label, B, n, of_dx[k].e, out);
        judge_mistake(of_dx[k].name, of_dx[k].sentence, out, B * n);
    }
    compute_dx(x, label, B, n, RIGHT, out);
    judge_want(out, B * n, 1e-4); // large scores leave a float few digits
    free(own_x);
    free(own_label);
    free(dx);
}

int main(void)
{
    judge_begin();
    batch("3 rows of 4 scores", (const float[]){ 1, 2, 0.5f, -1, 0, 0, 3, 1, -2, 0.25f, 1, 1.5f },
          (const int[]){ 1, 2, 0 }, 3, 4);
    batch("large scores", (const float[]){ 1000, 1002, 999, 1001 }, (const int[]){ 1, 0 }, 2, 2);
    batch("large scores at the end and at the beginning",
          (const float[]){ 0, 5, 1000, 1000, 3, 2 }, (const int[]){ 2, 1 }, 2, 3);
    batch("a net that is sure and wrong", (const float[]){ 0, 200, 0, 150 }, (const int[]){ 0, 0 },
          2, 2);
    batch("one row", (const float[]){ 0.5f, -0.5f, 2 }, (const int[]){ 2 }, 1, 3);
    return judge_end();
}
