#include "../judge.h"
#include EXERCISE

enum { MOST = 64 };

enum {
    RIGHT,
    NOT_TRANSPOSED,
    NO_BIAS,
    BIAS_BY_ROW,
    BIAS_EACH,
    ASSIGNED,
    NOT_RESET,
    BY_COLUMNS,
    FIRST_ROW,
    BIAS_0,
    MINUS
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NOT_TRANSPOSED, "not_transposed",
      "W is read as if it were (n,m). It is (m,n): one row for each output, so W[o][i] lies at o n "
      "+ i." },
    { NO_BIAS, "no_bias", "the bias is missing." },
    { BIAS_BY_ROW, "bias_by_row",
      "each row of the batch gets a number of bias. It belongs to the outputs: bias[o]." },
    { BIAS_EACH, "bias_each", "the bias is added once for each input; it belongs to the sum." },
    { ASSIGNED, "assigned",
      "only the last input counts: = overwrites what the others brought, += adds to it." },
    { NOT_RESET, "not_reset",
      "the sum goes on from output to output. It must begin anew for each." },
    { BIAS_0, "bias_of_output_0", "all outputs have bias[0]; each has its own, bias[o]." },
    { MINUS, "minus_bias", "the bias is subtracted; it is added." },
    { BY_COLUMNS, "by_columns",
      "the results are right, and stand in the order (m,B). y is (B,m): y[b][o] lies at b m + o." },
    { FIRST_ROW, "first_row", "all rows give the result of row 0: row b begins at x[b * n]." },
};

static void compute(const float *x, const float *W, const float *bias, const int *size, int e,
                    float *y)
{
    int B = size[0], n = size[1], m = size[2];
    double sum = 0;
    for (int b = 0; b < B; b++)
        for (int o = 0; o < m; o++) {
            if (e != NOT_RESET) sum = 0;
            for (int i = 0; i < n; i++) {
                float weight = W[e == NOT_TRANSPOSED ? i * m + o : o * n + i];
                double product = (double)x[(e == FIRST_ROW ? 0 : b) * n + i] * (double)weight;
                sum = (e == ASSIGNED ? 0 : sum) + product;
                if (e == BIAS_EACH) sum += (double)bias[o];
            }
            double add = e == BIAS_EACH || e == NO_BIAS ? 0 : (double)bias[o];
            if (e == BIAS_0) add = (double)bias[0];
            if (e == MINUS) add = -add;
            if (e == BIAS_BY_ROW) add = (double)bias[b % m];
            if (e == NOT_RESET) sum += add;
            y[e == BY_COLUMNS ? o * B + b : b * m + o] = (float)(sum + (e == NOT_RESET ? 0 : add));
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
        bias[k] = (float)(10 * k + 10);
    judge_case(what);
    linear(x, W, bias, y, B, n, m);
    judge_got(y, B * m);
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
