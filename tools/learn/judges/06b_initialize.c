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

enum { RIGHT, NOT_SCALED, ALL_ZERO, NO_ROOT, FAN_OUT, ALL_WEIGHTS, BY_HALF, NO_TWO, ALWAYS_TWO,
       TWO_OUTSIDE, TURNED, ROOT_N, BOTH_FANS, DIVIDED, ONE_ROOT, PLUS_ONE, GAIN_TURNED, CONSTANT,
       SQUARED, SMALL };

// What the numbers of variance 1 are multiplied by, for m outputs and n inputs.
static double scale_with(double m, double n, double gain, int e)
{
    switch (e) {
    case NOT_SCALED: return 1;
    case ALL_ZERO: return 0;
    case NO_ROOT: return gain / n;
    case FAN_OUT: return sqrt(gain / m);
    case ALL_WEIGHTS: return sqrt(gain / (m * n));
    case BY_HALF: return sqrt(1 / gain / n);
    case NO_TWO: return sqrt(1 / n);
    case ALWAYS_TWO: return sqrt(2 / n);
    case TWO_OUTSIDE: return gain * sqrt(1 / n);
    case TURNED: return sqrt(n / gain);
    case ROOT_N: return sqrt(gain * n);
    case BOTH_FANS: return sqrt(2 / (m + n));
    case DIVIDED: return 1 / n;
    case ONE_ROOT: return sqrt(gain) / n;
    case PLUS_ONE: return sqrt(gain / (n + 1));
    case GAIN_TURNED: return sqrt((gain == 1 ? 2 : 1) / n);
    case CONSTANT: return sqrt(gain);
    case SQUARED: return gain * gain / (n * n);
    case SMALL: return 0.01;
    default: return sqrt(gain / n);
    }
}

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NOT_SCALED, "not_scaled",
      "the weights have variance 1: n of them make sums of variance n." },
    { ALL_ZERO, "all_zero",
      "all weights are 0: then all neurons compute the same and learn the same, for ever." },
    { NO_ROOT, "no_root",
      "the variance is right as a factor, and a factor counts squared: take the root." },
    { FAN_OUT, "fan_out",
      "m, the number of outputs, is used. Each output sums up n products, one for each input." },
    { ALL_WEIGHTS, "all_weights", "the number of weights is used; an output sums up n of them." },
    { BOTH_FANS, "both_fans",
      "inputs and outputs are both in it, as in Glorot's rule, 2 / (n + m). Here the outputs shall "
      "have the variance of the inputs: 1 / n, behind a ReLU 2 / n." },
    { BY_HALF, "divided_by_half",
      "behind a ReLU the weights became smaller. Half of their inputs are 0, so they must be "
      "larger: 2 / n." },
    { GAIN_TURNED, "relu_turned_round",
      "the 2 is there without a ReLU, and missing behind one. It makes up for inputs that are 0: "
      "those behind a ReLU." },
    { NO_TWO, "no_two", "behind a ReLU half of the inputs are 0: the variance is 2 / n." },
    { ALWAYS_TWO, "always_two", "without a ReLU in front the variance is 1 / n." },
    { TWO_OUTSIDE, "two_outside", "the 2 stands outside of the root, and counts as 4." },
    { TURNED, "divided_by_scale",
      "the numbers are divided by the root of 1 / n: they become larger with n. They must become "
      "smaller." },
    { ROOT_N, "times_root_n",
      "the numbers are multiplied by the root of n. The more inputs, the smaller each weight." },
    { DIVIDED, "divided_by_n",
      "the numbers are divided by n. Their variance falls with the square of that: take the root "
      "of n." },
    { ONE_ROOT, "root_of_two_only", "the root is that of 2 alone; n belongs under it, too." },
    { PLUS_ONE, "n_plus_1", "there is n + 1 in it. An output sums up n products; the bias is 0." },
    { CONSTANT, "without_n", "the number of inputs is not in it." },
    { SQUARED, "squared", "the variance is squared where its root should be taken." },
    { SMALL, "fixed_scale",
      "all weights are multiplied by 0.01, however many inputs there are: the variance of the "
      "outputs depends on n then." },
};

// A mistake is one that explains all layers: with and without a ReLU, wide and narrow.
static const struct {
    const char *name;
    int m, n, behind_relu;
} layers[] = {
    { "W (2,5)", 2, 5, 0 },
    { "W (2,5) behind a ReLU", 2, 5, 1 },
    { "W (7,3)", 7, 3, 0 },
    { "W (7,3) behind a ReLU", 7, 3, 1 },
};

enum { LAYERS = sizeof layers / sizeof *layers, MOST = 2 * (2 * 5 + 7 * 3) };

static void weights(int e, float *out)
{
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < layers[i].m * layers[i].n; k++) {
            double gain = layers[i].behind_relu ? 2 : 1;
            double scale = scale_with(layers[i].m, layers[i].n, gain, e);
            *out++ = (float)(scale * (double)normal_number(k));
        }
}

// How the random numbers were asked for, and what the bias holds.
static void judge_calls(const float *W, const float *bias, int m, int n)
{
    int count = m * n, same = 1, zero = 1, rows_same = m > 1, left = 1, random = 0;
    for (int k = 0; k < count; k++) {
        same &= W[k] == W[0];
        zero &= W[k] == 0;
        rows_same &= W[k] == W[k % n];
    }
    judge_holds(asked > 0 || zero, "not_random",
                "random_normal was not called: equal weights make all neurons learn the same.");
    judge_holds(!same || zero, "one_number",
                "all weights are one random number: ask for a new one for each.");
    judge_holds(!rows_same || zero, "equal_rows",
                "all neurons have the same weights, and would learn the same: ask for a new number "
                "for each weight.");
    for (int o = 0; o < m; o++) {
        left &= bias[o] == 1000;
        random += bias[o] != 0 && asked > count;
    }
    judge_holds(!left, "no_bias", "the bias is not set: it still holds what was there before.");
    judge_holds(
        !random, "random_bias",
        "the bias is random, too. It begins at 0: the weights alone make neurons different.");
    judge_holds(asked <= count, "asked_too_often",
                "random_normal was called more often than there are weights: once for each.");
    for (int o = 0; o < m; o++)
        judge_holds(bias[o] != 1, "bias_of_1", "the bias is 1; it begins at 0.");
    judge_got(bias, m);
    judge_part("bias", 1, m);
    float zeros[MOST] = { 0 };
    judge_want(zeros, m, 0);
}

static void judge_weights(const float *got)
{
    float out[MOST], by_columns[MOST];
    int count = 0;
    judge.what = "The weights";
    judge_got(got, MOST);
    for (int i = 0; i < LAYERS; i++)
        judge_part(layers[i].name, layers[i].m, layers[i].n);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        weights(mistakes[k].e, out);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, out, MOST);
    }
    weights(RIGHT, out);
    for (int i = 0; i < LAYERS; i++) {
        int m = layers[i].m, n = layers[i].n;
        for (int k = 0; k < m * n; k++)
            by_columns[count + k] = out[count + k % n * m + k / n];
        count += m * n;
    }
    judge_mistake("by_columns",
                  "the numbers are right, and were asked for column by column: ask for those of a "
                  "row one after the other.",
                  by_columns, MOST);
    judge_want(out, MOST, 1e-5);
}

int main(void)
{
    float got[MOST];
    int at = 0;
    judge_begin();
    for (int i = 0; i < LAYERS; i++) {
        int m = layers[i].m, n = layers[i].n;
        float *W = judge_room(m * n, 1000), *bias = judge_room(m, 1000);
        judge_case(layers[i].name);
        asked = 0;
        initialize(W, bias, m, n, layers[i].behind_relu);
        memcpy(got + at, W, sizeof *W * (size_t)(m * n));
        at += m * n;
        judge_look_at_guards();
        judge_calls(W, bias, m, n);
        free(W);
        free(bias);
    }
    judge_weights(got);
    return judge_end();
}
