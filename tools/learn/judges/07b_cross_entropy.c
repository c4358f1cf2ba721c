#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

// What is computed from scores: loss in [0], gradient behind it, in double.
typedef struct wrong {
    double loss_by, gradient_by, right, loss_sign;
} wrong;

static void compute(const float *x, const int *label, int B, int n, wrong e, float *out)
{
    double loss = 0;
    for (int b = 0; b < B; b++) {
        const float *in = x + b * n;
        double largest = (double)in[0], sum = 0;
        for (int i = 1; i < n; i++)
            largest = fmax(largest, (double)in[i]);
        for (int i = 0; i < n; i++)
            sum += exp((double)in[i] - largest);
        loss += log(sum) + largest - (double)in[label[b]];
        for (int i = 0; i < n; i++)
            out[1 + b * n + i]
                = (float)((exp((double)in[i] - largest) / sum - (i == label[b] ? e.right : 0))
                          / e.gradient_by);
    }
    out[0] = (float)(e.loss_sign * loss / e.loss_by);
}

static void mistake(const char *name, const char *sentence, const float *x, const int *label, int B,
                    int n, wrong e)
{
    float out[MOST + 1];
    compute(x, label, B, n, e, out);
    judge_mistake(name, sentence, out, 1 + B * n);
}

static void batch(const char *what, const float *x, const int *label, int B, int n)
{
    float got[MOST + 1], want[MOST + 1];
    float *dx = judge_room(B * n, 1000);
    judge_case(what);
    got[0] = cross_entropy(x, label, B, n, dx);
    memcpy(got + 1, dx, sizeof(float) * (size_t)(B * n));
    free(dx);
    judge_got(got, 1 + B * n);
    compute(x, label, B, n, (wrong){ B, B, 1, 1 }, want);
    mistake("no_mean_backward",
            "the gradient is B times too large: the loss is a mean, so each row "
            "counts 1/B.",
            x, label, B, n, (wrong){ B, 1, 1, 1 });
    mistake("no_mean_forward", "the loss is a sum over the batch; it should be the mean.", x, label,
            B, n, (wrong){ 1, B, 1, 1 });
    mistake("no_mean",
            "loss and gradient are B times too large: they are those of a sum, not of the "
            "mean over the batch.",
            x, label, B, n, (wrong){ 1, 1, 1, 1 });
    mistake("only_softmax", "dx is the softmax: the right class must have 1 less.", x, label, B, n,
            (wrong){ B, B, 0, 1 });
    mistake("sign",
            "dx has the wrong sign: softmax minus 1 for the right class, not the other way "
            "round.",
            x, label, B, n, (wrong){ B, -(double)B, 1, 1 });
    float added[MOST + 1];
    for (int k = 0; k <= B * n; k++)
        added[k] = want[k] + (k ? 1000 : 0);
    judge_mistake("added_to_dx", "dx is added to what it held before: = here, not +=.", added,
                  1 + B * n);
    mistake("loss_sign", "the loss is negative: it is minus the logarithm of a probability.", x,
            label, B, n, (wrong){ B, B, 1, -1 });
    for (int k = 0; k <= B * n; k++)
        if (!(got[k] - got[k] == 0.0f))
            judge_refuse(
                "overflow",
                "there is an infinity, or what is not a number. exp of a large "
                "score overflows, and log of a probability that has become 0 does: subtract the "
                "largest score, and write the loss as log(sum) + largest - score.");
    judge_want(want, 1 + B * n, 1e-4); // large scores leave a float few digits
}

int main(void)
{
    judge_begin();
    batch("3 rows of 4 scores", (const float[]){ 1, 2, 0.5f, -1, 0, 0, 3, 1, -2, 0.25f, 1, 1.5f },
          (const int[]){ 1, 2, 0 }, 3, 4);
    batch("large scores", (const float[]){ 1000, 1002, 999, 1001 }, (const int[]){ 1, 0 }, 2, 2);
    batch("a net that is sure and wrong", (const float[]){ 0, 200, 0, 150 }, (const int[]){ 0, 0 },
          2, 2);
    batch("one row", (const float[]){ 0.5f, -0.5f, 2 }, (const int[]){ 2 }, 1, 3);
    return judge_end();
}
