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

// The gradient with one error in it.
typedef struct wrong {
    float factor, sign, bias_part;
    int last_only, forget_bias, other; // other: 1, w for x; 2, x by columns
} wrong;

static void with_error(wrong e, float *out)
{
    for (int k = 0; k <= N; k++)
        out[k] = 0;
    for (int b = 0; b < B; b++) {
        float y = e.forget_bias ? 0 : bias;
        for (int i = 0; i < N; i++)
            y += x[b * N + i] * w[i];
        float dy = e.factor * e.sign * (y - target[b]);
        for (int i = 0; i < N; i++) {
            float with = e.other == 1 ? w[i] : x[e.other == 2 ? i * B + b : b * N + i];
            out[i] = (e.last_only ? 0 : out[i]) + dy * with;
        }
        out[N] = (e.last_only ? 0 : out[N]) + dy * e.bias_part;
    }
}

static void mistake(const char *name, const char *sentence, wrong e)
{
    float out[N + 1];
    with_error(e, out);
    judge_mistake(name, sentence, out, N + 1);
}

int main(void)
{
    float got[N + 1], want[N + 1], *dw = judge_room(N, 50), *dbias = judge_room(1, 50);
    judge_begin();
    judge_case("dw and dbias for 5 rows of 3");
    gradient(x, target, w, bias, B, N, dw, dbias);
    memcpy(got, dw, N * sizeof *dw);
    got[N] = *dbias;
    free(dw);
    free(dbias);
    judge_got(got, N + 1);
    mistake("no_mean",
            "it is B times too large: the loss is a mean over the batch, so each row counts "
            "1/B.",
            (wrong){ 2, 1, 1, 0, 0, 0 });
    mistake("no_two", "it is half of what it should be: the derivative of e^2 is 2 e.",
            (wrong){ 1.0f / B, 1, 1, 0, 0, 0 });
    mistake("sign",
            "all signs are turned. The error is y - target, not target - y: the gradient says "
            "where the loss grows.",
            (wrong){ 2.0f / B, -1, 1, 0, 0, 0 });
    mistake("assigned",
            "only the last row of the batch is left: = overwrites what the rows before "
            "brought, += adds to it.",
            (wrong){ 2.0f / B, 1, 1, 1, 0, 0 });
    mistake("no_bias_forward", "y was computed without the bias.",
            (wrong){ 2.0f / B, 1, 1, 0, 1, 0 });
    mistake("no_dbias",
            "dw is right; dbias is 0. The bias changes each y[b] by 1, so dbias is the sum "
            "of the dy.",
            (wrong){ 2.0f / B, 1, 0, 0, 0, 0 });
    mistake("by_n",
            "it is divided by n, the number of weights. The mean is that over the B rows.",
            (wrong){ 2.0f / N, 1, 1, 0, 0, 0 });
    mistake("w_for_x",
            "dy is multiplied by w[i]. When w[i] changes, y[b] changes by x[b][i]: that is the "
            "factor.",
            (wrong){ 2.0f / B, 1, 1, 0, 0, 1 });
    mistake("by_columns", "dw takes x by columns. Row b begins at x[b * n].",
            (wrong){ 2.0f / B, 1, 1, 0, 0, 2 });
    float dirty[N + 1];
    differences(want);
    for (int k = 0; k <= N; k++)
        dirty[k] = want[k] + 50.0f;
    judge_mistake("not_zeroed",
                  "the sums are right, but they were added to what dw and dbias held "
                  "before. Set them to zero first.",
                  dirty, N + 1);
    judge_want(want, N + 1, 1e-5);
    return judge_end();
}
