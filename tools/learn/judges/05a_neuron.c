#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

enum { RIGHT, NO_BIAS, BIAS_EACH, NO_SIGMOID, SIGMOID_EACH, SIGN, NOT_RESET, FIRST_ROW, TANH, RELU,
       MINUS, BEHIND, COLUMNS };

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
    { MINUS, "minus_bias", "the bias is subtracted; it is added." },
    { BEHIND, "bias_behind",
      "the bias is added behind the sigmoid. It is part of the sum that is bent." },
    { COLUMNS, "by_columns", "x is read by columns. Row b begins at x[b * n]." },
};

static double bend(double z, int e)
{
    if (e == NO_SIGMOID) return z;
    if (e == TANH) return tanh(z);
    if (e == RELU) return fmax(z, 0);
    return 1 / (1 + exp(e == SIGN ? z : -z));
}

static void compute(const float *x, const float *w, float bias, int B, int n, int e, float *y)
{
    double z = 0;
    for (int b = 0; b < B; b++) {
        if (e != NOT_RESET || b == 0) z = e == NO_BIAS || e == BIAS_EACH ? 0 : (double)bias;
        if (e == MINUS || e == BEHIND) z = e == MINUS ? -(double)bias : 0;
        double bent = 0;
        for (int i = 0; i < n; i++) {
            int at = e == COLUMNS ? i * B + b : (e == FIRST_ROW ? 0 : b) * n + i;
            double product = (double)x[at] * (double)w[i];
            z += product + (e == BIAS_EACH ? (double)bias : 0);
            bent += bend(product, RIGHT);
        }
        y[b] = (float)(e == SIGMOID_EACH ? bent + (double)bias : bend(z, e));
        if (e == BEHIND) y[b] += bias;
    }
}

static void rows(const char *what, const float *x, const float *w, float bias, int B, int n)
{
    float out[MOST], *y = judge_room(B, 1000);
    judge_case(what);
    neuron(x, w, bias, y, B, n);
    judge_got(y, B);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(x, w, bias, B, n, mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, B);
    }
    for (int b = 0; b < B; b++)
        judge_holds(y[b] == y[b], "overflow",
                    "y is not a number: exp(z) / (1 + exp(z)) is infinity / infinity at large z. "
                    "1 / (1 + exp(-z)) is safe.");
    compute(x, w, bias, B, n, RIGHT, out);
    judge_want(out, B, 1e-6);
    free(y);
}

int main(void)
{
    judge_begin();
    rows("3 rows of 2 inputs", (const float[]){ 1, 2, -1, 0.5f, 0, -2 },
         (const float[]){ 0.5f, -1 }, 0.25f, 3, 2);
    rows("one row of 4", (const float[]){ 1, -1, 2, 0.5f }, (const float[]){ 0.3f, 0.1f, -0.2f, 1 },
         -1, 1, 4);
    rows("sums of 1000 and -1000", (const float[]){ 1000, -1000 }, (const float[]){ 1 }, 0.5f, 2,
         1);
    rows("inputs of 0", (const float[]){ 0, 0, 0 }, (const float[]){ 5, 6, 7 }, 2, 1, 3);
    return judge_end();
}
