#include "../judge.h"
#include EXERCISE

enum { MOST = 64 };

enum { RIGHT, NOT_TRANSPOSED, NO_BIAS, BIAS_BY_ROW, BIAS_EACH, ASSIGNED, NOT_RESET, BY_COLUMNS,
       FIRST_ROW, BIAS_0, MINUS, BIAS_I, NO_LAST, NO_FIRST, X_COLUMNS, X_BY_M, W_BY_M, W_ROW_0,
       W_FIRST, W_ALONE, X_ALONE, PLUS, MEAN, SIGMOID, RELU, TIMES_BIAS, DIRTY, BIAS_ALONE,
       ELEMENTS, MEAN_ROOT, LAST_BIAS, RESET_BY_ROW };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NOT_TRANSPOSED, "not_transposed",
      "W is read as if it were (n,m). It is (m,n): one row for each output, so W[o][i] lies at o n "
      "+ i." },
    { W_BY_M, "rows_of_m",
      "a row of W is taken as m floats long. It has n, one for each input: W[o][i] lies at o n + "
      "i." },
    { W_ROW_0, "weights_of_output_0",
      "all outputs use the weights of output 0: W[o][i] lies at o n + i." },
    { W_FIRST, "first_weight", "each output uses one weight for all inputs: W[o][i] has an i." },
    { ELEMENTS, "no_row_of_W",
      "all inputs but input o are left out: each output sees all inputs." },
    { NO_BIAS, "no_bias", "the bias is missing." },
    { BIAS_BY_ROW, "bias_by_row",
      "each row of the batch gets a number of bias. It belongs to the outputs: bias[o]." },
    { BIAS_EACH, "bias_each", "the bias is added once for each input; it belongs to the sum." },
    { BIAS_I, "bias_by_input",
      "the numbers of bias are added in the loop over the inputs. Output o has one, bias[o]." },
    { BIAS_0, "bias_of_output_0", "all outputs have bias[0]; each has its own, bias[o]." },
    { LAST_BIAS, "last_bias", "all outputs have the last bias; each has its own, bias[o]." },
    { MINUS, "minus_bias", "the bias is subtracted; it is added." },
    { TIMES_BIAS, "times_bias", "the sum is multiplied by the bias; the bias is added to it." },
    { BIAS_ALONE, "only_bias", "each row is the bias: x and W are not in it." },
    { ASSIGNED, "assigned",
      "only the last input counts: = overwrites what the others brought, += adds to it." },
    { NO_LAST, "without_last_input", "the last input is missing: does a loop end one too early?" },
    { NO_FIRST, "without_first_input",
      "the first input is missing: does a loop begin one too late?" },
    { NOT_RESET, "not_reset",
      "the sum goes on from output to output. It must begin anew for each." },
    { RESET_BY_ROW, "reset_by_row",
      "the sum begins anew for each row, and goes on from output to output. It must begin anew for "
      "each output." },
    { BY_COLUMNS, "by_columns",
      "the results are right, and stand in the order (m,B). y is (B,m): y[b][o] lies at b m + o." },
    { FIRST_ROW, "first_row", "all rows give the result of row 0: row b begins at x[b * n]." },
    { X_COLUMNS, "x_by_columns",
      "x is read by columns, at i B + b. It is (B,n): x[b][i] lies at b n + i." },
    { X_BY_M, "x_rows_of_m",
      "a row of x is taken as m floats long. It has n inputs: x[b][i] lies at b n + i." },
    { W_ALONE, "without_x", "the weights are added up without the inputs." },
    { X_ALONE, "without_W", "the inputs are added up without their weights." },
    { PLUS, "x_plus_W", "inputs and weights are added; each input is multiplied by its weight." },
    { MEAN, "mean", "the sum is divided by n. A neuron adds its weighed inputs up." },
    { MEAN_ROOT, "by_root_of_n",
      "the sum is divided by the root of n, as the scores of attention are. Here nothing is." },
    { SIGMOID, "sigmoid", "there is a sigmoid at the end. This layer ends with the sum." },
    { RELU, "relu", "negative sums have become 0, as with a ReLU. This layer ends with the sum." },
    { DIRTY, "added_to_y", "the sum is added to what y held before: begin with bias[o] or 0." },
};

// Where a weight and an input are read; 0 where a learner's index would lie outside.
static int at_or_0(int at, int size)
{
    return at < size ? at : 0;
}

static double product(const float *x, const float *W, const int *size, int b, int o, int i, int e)
{
    const int B = size[0], n = size[1], m = size[2];
    int at = o * n + i, from = b * n + i;
    if (e == NOT_TRANSPOSED) at = i * m + o;
    if (e == W_BY_M) at = at_or_0(o * m + i, m * n);
    if (e == W_ROW_0 || e == W_FIRST) at = e == W_FIRST ? o * n : i;
    if (e == FIRST_ROW || e == X_COLUMNS) from = e == FIRST_ROW ? i : i * B + b;
    if (e == X_BY_M) from = at_or_0(b * m + i, B * n);
    if ((e == NO_LAST && i == n - 1) || (e == NO_FIRST && i == 0)) return 0;
    if (e == BIAS_ALONE || (e == ELEMENTS && i != o)) return 0;
    double in = (double)x[from], weight = (double)W[at];
    if (e == W_ALONE || e == X_ALONE) return e == W_ALONE ? weight : in;
    return e == PLUS ? in + weight : in * weight;
}

static double bias_of(const float *bias, const int *size, int b, int o, int e)
{
    const int n = size[1], m = size[2];
    if (e == NO_BIAS || e == TIMES_BIAS) return 0;
    if (e == BIAS_0 || e == LAST_BIAS) return (double)bias[e == BIAS_0 ? 0 : m - 1];
    if (e == BIAS_BY_ROW) return (double)bias[b % m];
    if (e == BIAS_EACH) return (double)bias[o] * n;
    double add = 0;
    for (int i = 0; i < n && e == BIAS_I; i++)
        add += (double)bias[at_or_0(i, m)];
    if (e == BIAS_I) return add;
    return e == MINUS ? -(double)bias[o] : (double)bias[o];
}

static void compute(const float *x, const float *W, const float *bias, const int *size, int e,
                    float *y)
{
    const int B = size[0], n = size[1], m = size[2];
    double sum = 0;
    for (int b = 0; b < B; b++)
        for (int o = 0; o < m; o++) {
            if ((e != NOT_RESET && e != RESET_BY_ROW) || (e == RESET_BY_ROW && o == 0)) sum = 0;
            sum += bias_of(bias, size, b, o, e);
            for (int i = 0; i < n; i++) {
                double part = product(x, W, size, b, o, i, e);
                sum = (e == ASSIGNED ? bias_of(bias, size, b, o, e) : sum) + part;
            }
            double out = sum;
            if (e == MEAN || e == MEAN_ROOT)
                out = (sum - (double)bias[o]) / (e == MEAN ? n : sqrt(n)) + (double)bias[o];
            if (e == TIMES_BIAS) out = sum * (double)bias[o];
            if (e == SIGMOID) out = 1 / (1 + exp(-sum));
            if (e == RELU) out = fmax(sum, 0);
            if (e == DIRTY) out = sum + 1000;
            y[e == BY_COLUMNS ? o * B + b : b * m + o] = (float)out;
        }
}

static void layer(const char *what, int B, int n, int m)
{
    const int size[] = { B, n, m };
    float *x = judge_room(B * n, 0), *W = judge_room(m * n, 0), *bias = judge_room(m, 0);
    float out[MOST], *y = judge_room(B * m, 1000);
    for (int k = 0; k < B * n; k++)
        x[k] = (float)((k * 29 + 3) % 17) / 4 - 2;
    for (int k = 0; k < m * n; k++)
        W[k] = (float)((k * 23 + 5) % 19) / 8 - 1;
    for (int k = 0; k < m; k++)
        bias[k] = (float)((k * 7 + 3) % 5) - 1.5f;
    judge_case(what);
    linear(x, W, bias, y, B, n, m);
    judge_got(y, B * m);
    judge_part("y", B, m);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(x, W, bias, size, mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, B * m);
    }
    compute(x, W, bias, size, RIGHT, out);
    judge_want(out, B * m, 1e-5);
    free(x);
    free(W);
    free(bias);
    free(y);
}

int main(void)
{
    judge_begin();
    layer("2 rows of 3 inputs, 4 outputs", 2, 3, 4);
    layer("3 rows of 2 inputs, 2 outputs", 3, 2, 2);
    layer("one row of 5 inputs, one output", 1, 5, 1);
    layer("4 rows of 1 input, 3 outputs", 4, 1, 3);
    return judge_end();
}
