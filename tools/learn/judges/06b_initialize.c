float random_normal(void);
#include "../judge.h"

// Numbers that look random, the same in each run; what matters is which are asked for, and when.
static int asked;

float random_normal(void)
{
    unsigned state = (unsigned)++asked * 2654435761u;
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        state = state * 1664525u + 1013904223u;
        sum += (double)(state >> 8) / 16777216.0;
    }
    return (float)sum;
}

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

// How the random numbers were asked for, and what the bias holds.
static void judge_calls(const float *W, const float *bias, int m, int n)
{
    int count = m * n, same = 1, zero = 1, rows_same = m > 1, random = 0;
    for (int k = 0; k < count; k++) {
        same &= W[k] == W[0];
        zero &= W[k] == 0;
        rows_same &= W[k] == W[k % n];
    }
    for (int o = 0; o < m; o++) random += bias[o] != 0 && bias[o] != 1000 && asked > count;
    judge_holds(asked > 0 || zero, "not_random");
    judge_holds(!same || zero, "one_number");
    judge_holds(!rows_same || zero, "equal_rows");
    judge_holds(!random, "random_bias");
    judge_holds(asked <= count, "asked_too_often");
    judge_got_array("bias", bias, 1, m);
    judge_compare(0);
}

// A mistake is one that explains all layers: with and without a ReLU, wide and narrow.
static void judge_cases(void)
{
    float got[MOST];
    int at = 0;
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
    }
    judge.what = "The weights";
    judge_got(got, MOST);
    for (int i = 0; i < LAYERS; i++) judge_part(layers[i].name, layers[i].m, layers[i].n);
    judge_compare(1e-5);
}
