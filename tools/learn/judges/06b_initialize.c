#include "../judge.h"

// Numbers that look random, the same in each run; what matters is which are asked for, and when.
static int asked;

static float normal_number(int k)
{
    unsigned state = (unsigned)(k + 1) * 2654435761u;
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        state = state * 1664525u + 1013904223u;
        sum += (double)(state >> 8) / 16777216.0;
    }
    return (float)sum;
}

static float next_number(void)
{
    return normal_number(asked++);
}

#define random_normal judge_random_normal
float judge_random_normal(void);

float judge_random_normal(void)
{
    return next_number();
}

#include EXERCISE

static const char no_root[]
    = "the variance is right as a factor, and a factor counts squared: take "
      "the root.";

static void mistake(const char *name, const char *sentence, double scale, int count)
{
    float *out = judge_room(count, 0);
    for (int k = 0; k < count; k++)
        out[k] = (float)(scale * (double)normal_number(k));
    judge_mistake(name, sentence, out, count);
    free(out);
}

static void mistakes(int m, int n, double gain, int count)
{
    mistake("not_scaled", "the weights have variance 1: n of them make sums of variance n.", 1,
            count);
    mistake("all_zero",
            "all weights are 0: then all neurons compute the same and learn the same, for ever.", 0,
            count);
    mistake("no_root", no_root, gain / n, count);
    mistake(
        "fan_out",
        "m, the number of outputs, is used. Each output sums up n products, one for each input.",
        sqrt(gain / m), count);
    mistake("all_weights", "the number of weights is used; an output sums up n of them.",
            sqrt(gain / ((double)m * n)), count);
    if (gain > 1) {
        mistake(
            "divided_by_half",
            "behind a ReLU the weights became smaller. Half of their inputs are 0, so they must be "
            "larger: 2 / n.",
            sqrt(1 / gain / n), count);
        mistake("no_two", "behind a ReLU half of the inputs are 0: the variance is 2 / n.",
                sqrt(1.0 / n), count);
    } else
        mistake("always_two", "without a ReLU in front the variance is 1 / n.", sqrt(2.0 / n),
                count);
    mistake("two_outside", "the 2 stands outside of the root, and counts as 4.",
            gain * sqrt(1.0 / n), count);
}

static void layer(const char *what, int m, int n, int behind_relu)
{
    int count = m * n, same = 1;
    double gain = behind_relu ? 2 : 1;
    float *W = judge_room(count, 1000), *bias = judge_room(m, 1000), *want = judge_room(count, 0);
    judge_case(what);
    asked = 0;
    initialize(W, bias, m, n, behind_relu);
    for (int k = 1; k < count; k++)
        if (W[k] != W[0]) same = 0;
    judge_holds(!same || W[0] == 0 || count == 1, "one_number",
                "all weights are one random number: ask for a new one for each.");
    judge_got(W, count);
    mistakes(m, n, gain, count);
    for (int k = 0; k < count; k++)
        want[k] = (float)(sqrt(gain / n) * (double)normal_number(k));
    judge_want(want, count, 1e-5);
    int random_bias = 0;
    for (int o = 0; o < m; o++)
        if (bias[o] != 0 && asked > count) random_bias = 1;
    judge_holds(
        !random_bias, "random_bias",
        "the bias is random, too. It begins at 0: the weights alone make neurons different.");
    judge_got(bias, m);
    for (int o = 0; o < m; o++)
        want[o] = 1000;
    judge_mistake("no_bias", "the bias is not set: it still holds what was there before.", want, m);
    for (int o = 0; o < m; o++)
        want[o] = 0;
    judge_want(want, m, 0);
    free(W);
    free(bias);
    free(want);
}

int main(void)
{
    judge_begin();
    layer("W (3,50)", 3, 50, 0);
    layer("W (3,50) behind a ReLU", 3, 50, 1);
    layer("W (20,4)", 20, 4, 0);
    layer("W (20,4) behind a ReLU", 20, 4, 1);
    return judge_end();
}
