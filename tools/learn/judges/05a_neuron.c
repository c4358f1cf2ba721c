#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

enum { RIGHT, NO_BIAS, BIAS_EACH, NO_SIGMOID, SIGMOID_EACH, SIGN, NOT_RESET, FIRST_ROW, TANH, RELU,
       MINUS, BEHIND, COLUMNS, NO_INPUT, ONE_WEIGHT, ASSIGNED, WITHOUT_LAST, WITHOUT_FIRST, ADDED,
       TIMES_BIAS, MEAN, BY_STEPS_OF_B, DENOMINATOR, NO_ONE, ONLY_EXP, BASE_2, SLOPE, STEP,
       WEIGHT_B,
       SOFTPLUS, TWICE, NO_WEIGHT, MINUS_ONE, ROUNDED, SQUASHED_BIAS };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_BIAS, "no_bias", "the bias is missing." },
    { BIAS_EACH, "bias_each",
      "the bias is added once for each input. It belongs to the sum: once for each row." },
    { NO_SIGMOID, "no_sigmoid", "this is z, the sum; it must still be bent by the sigmoid." },
    { SIGMOID_EACH, "sigmoid_of_each",
      "each product is bent and then added up. First the whole sum, then one sigmoid." },
    { SIGN, "sign", "this is 1 - y: the sigmoid has exp(-z), with a minus." },
    { NOT_RESET, "not_reset", "the sum goes on from row to row. It must begin anew for each row." },
    { FIRST_ROW, "first_row", "all rows give the answer of row 0: row b begins at x[b * n]." },
    { TANH, "tanh", "this is tanh, between -1 and 1. The sigmoid lies between 0 and 1." },
    { RELU, "relu", "this is a ReLU, the sum or 0. Here the sum is bent by the sigmoid." },
    { STEP, "step",
      "this is 1 or 0 by the sign of the sum. The sigmoid has all values between, and so a "
      "slope." },
    { SOFTPLUS, "softplus", "this is log(1 + exp(z)). The sigmoid is 1 / (1 + exp(-z))." },
    { SLOPE, "slope", "this is y (1 - y), the slope of the sigmoid; y itself is asked for." },
    { MINUS, "minus_bias", "the bias is subtracted; it is added." },
    { BEHIND, "bias_behind",
      "the bias is added behind the sigmoid. It is part of the sum that is bent." },
    { TIMES_BIAS, "times_bias", "the sum is multiplied by the bias; the bias is added to it." },
    { COLUMNS, "by_columns", "x is read by columns. Row b begins at x[b * n]." },
    { BY_STEPS_OF_B, "steps_of_B",
      "rows of x are taken as B floats long. A row has n inputs: row b begins at x[b * n]." },
    { NO_INPUT, "only_bias", "x and w are not in the sum: it is the bias alone." },
    { NO_WEIGHT, "no_weights", "the inputs are added without their weights." },
    { ONE_WEIGHT, "weight_0", "all inputs have weight w[0]; input i has w[i]." },
    { WEIGHT_B, "weight_of_row", "row b has one weight, w[b]; input i has w[i], in each row." },
    { ASSIGNED, "assigned",
      "only the last input counts: = overwrites what the others brought, += adds to it." },
    { WITHOUT_LAST, "without_last_input",
      "the last input does not count: does a loop end one too early?" },
    { WITHOUT_FIRST, "without_first_input",
      "the first input does not count: does a loop begin one too late?" },
    { ADDED, "x_plus_w", "inputs and weights are added; each input is multiplied by its weight." },
    { MEAN, "mean", "the sum is divided by n; a neuron adds its weighed inputs up." },
    { TWICE, "sigmoid_twice", "the sigmoid bends twice; once is enough." },
    { DENOMINATOR, "turned_round", "this is 1 + exp(-z); the sigmoid is 1 divided by it." },
    { NO_ONE, "no_one", "this is exp(z): in 1 / (1 + exp(-z)) the 1 below is missing." },
    { ONLY_EXP, "minus_in_front", "this is 1 / (1 - exp(-z)); it is 1 + exp(-z) below." },
    { BASE_2, "base_2", "this has powers of 2 in it. exp is a power of e: expf, and not exp2f." },
    { MINUS_ONE, "stretched",
      "this is 2 y - 1, between -1 and 1. The sigmoid lies between 0 and 1." },
    { ROUNDED, "rounded", "this is y rounded to 0 or 1: is a float kept in an int?" },
    { SQUASHED_BIAS, "bias_left_out_of_bend",
      "the bias is bent apart from the sum. It is added to the sum, and that is bent." },
};

static double bend(double z, int e)
{
    double y = 1 / (1 + exp(-z));
    switch (e) {
    case NO_SIGMOID: return z;
    case TANH: return tanh(z);
    case RELU: return fmax(z, 0);
    case SIGN: return 1 - y;
    case STEP: return z > 0;
    case SOFTPLUS: return log(1 + exp(z));
    case SLOPE: return y * (1 - y);
    case TWICE: return 1 / (1 + exp(-y));
    case DENOMINATOR: return 1 + exp(-z);
    case NO_ONE: return exp(z);
    case ONLY_EXP: return 1 / (1 - exp(-z));
    case BASE_2: return 1 / (1 + exp2(-z));
    case MINUS_ONE: return 2 * y - 1;
    case ROUNDED: return floor(y);
    default: return y;
    }
}

static int x_at(int b, int i, int B, int n, int e)
{
    if (e == COLUMNS) return i * B + b;
    if (e == BY_STEPS_OF_B) return b * B + i < B * n ? b * B + i : 0;
    return (e == FIRST_ROW ? 0 : b) * n + i;
}

static void compute(const float *x, const float *w, float bias, int B, int n, int e, float *y)
{
    double z = 0, add = (double)bias;
    for (int b = 0; b < B; b++) {
        double bent = 0;
        if (e != NOT_RESET || b == 0) z = 0;
        if (e == NOT_RESET && b == 0) z = add;
        for (int i = 0; i < n; i++) {
            double weight = (double)w[e == ONE_WEIGHT ? 0 : i], in = (double)x[x_at(b, i, B, n, e)];
            if ((e == WITHOUT_LAST && i == n - 1) || (e == WITHOUT_FIRST && i == 0)) continue;
            if (e == WEIGHT_B) weight = (double)w[b < n ? b : 0];
            if (e == NO_WEIGHT) weight = 1;
            double product = e == ADDED ? in + weight : in * weight;
            z = (e == ASSIGNED ? 0 : z) + product + (e == BIAS_EACH ? add : 0);
            bent += bend(product, RIGHT);
        }
        if (e == MEAN) z /= n;
        if (e == NO_INPUT) z = 0;
        if (e == TIMES_BIAS) z *= add;
        else if (e == MINUS) z -= add;
        else if (e != NO_BIAS && e != BIAS_EACH && e != BEHIND && e != NOT_RESET
                 && e != SQUASHED_BIAS)
            z += add;
        y[b] = (float)(e == SIGMOID_EACH ? bent + add : bend(z, e));
        if (e == BEHIND) y[b] += bias;
        if (e == SQUASHED_BIAS) y[b] += (float)bend(add, RIGHT);
    }
}

static void rows(const char *what, const float *x, const float *w, float bias, int B, int n)
{
    float out[MOST], *y = judge_room(B, 1000);
    float *own_x = judge_copy(x, sizeof *x * (size_t)(B * n));
    float *own_w = judge_copy(w, sizeof *w * (size_t)n);
    judge_case(what);
    neuron(own_x, own_w, bias, y, B, n);
    judge_got(y, B);
    judge_part("y", 1, B);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(x, w, bias, B, n, mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, B);
    }
    for (int b = 0; b < B; b++)
        judge_clue(y[b] != y[b], "overflow",
                   "y is not a number: exp(z) / (1 + exp(z)) is infinity / infinity at large z. "
                   "1 / (1 + exp(-z)) is safe.");
    compute(x, w, bias, B, n, RIGHT, out);
    judge_want(out, B, 1e-6);
    free(own_x);
    free(own_w);
    free(y);
}

int main(void)
{
    judge_begin();
    rows("4 rows of 3 inputs",
         (const float[]){ 1, 2, 0.5f, -1, 0.5f, 2, 0.25f, -2, 1, 0.5f, 0.75f, -0.5f },
         (const float[]){ 0.5f, -1, 0.75f }, 0.25f, 4, 3);
    rows("3 rows of 2 inputs", (const float[]){ 1, 2, -1, 0.5f, 0, -2 },
         (const float[]){ 0.5f, -1 }, 0.25f, 3, 2);
    rows("one row of 4", (const float[]){ 1, -1, 2, 0.5f }, (const float[]){ 0.3f, 0.1f, -0.2f, 1 },
         -1, 1, 4);
    rows("sums of 1000 and -1000", (const float[]){ 1000, -1000 }, (const float[]){ 1 }, 0.5f, 2,
         1);
    rows("inputs of 0", (const float[]){ 0, 0, 0 }, (const float[]){ 5, 6, 7 }, 2, 1, 3);
    return judge_end();
}
