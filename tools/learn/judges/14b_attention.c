#include "../judge.h"
#include EXERCISE

enum { MOST = 64 };

enum {
    RIGHT,
    NO_SCALE,
    BY_D,
    BY_VALUES,
    MULTIPLIED,
    COLUMNS,
    NO_SOFTMAX,
    NOT_NORMALIZED,
    MASKED,
    OWN_VALUE,
    LARGEST_ONLY,
    KEYS_AS_VALUES
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_SCALE, "no_scale", "the scores are not divided by sqrt(D)." },
    { BY_D, "divided_by_D", "the scores are divided by D; it is sqrt(D)." },
    { BY_VALUES, "divided_by_E",
      "the scores are divided by sqrt(E). They are sums of D products: E belongs to the values." },
    { MULTIPLIED, "multiplied", "the scores are multiplied by sqrt(D); divide by it." },
    { COLUMNS, "softmax_over_queries",
      "the softmax runs over the tokens that ask. For each of them, it runs over the S that "
      "answer: the row of t sums to 1." },
    { NO_SOFTMAX, "no_softmax", "the scores are used as weights; their softmax is wanted." },
    { NOT_NORMALIZED, "not_normalized",
      "the exponentials are not divided by their sum, so the weights do not sum to 1." },
    { MASKED, "masked",
      "tokens see only what stands before them. That is exercise 14a; here all T see all S." },
    { OWN_VALUE, "own_value",
      "the values are those of t, who asks; take v[s] of those who answer." },
    { LARGEST_ONLY, "hardmax",
      "the value of the largest score alone is taken. Attention takes a mean of all, with the "
      "softmax as weights." },
    { KEYS_AS_VALUES, "keys_as_values",
      "it is the mean of the keys; keys say who is listened to, values what is heard." },
};

static void scores(const float *q, const float *k, sizes n, int e, double *p)
{
    double scale = 1 / sqrt((double)n.D);
    if (e == NO_SCALE) scale = 1;
    if (e == BY_D) scale = 1.0 / n.D;
    if (e == BY_VALUES) scale = 1 / sqrt((double)n.E);
    if (e == MULTIPLIED) scale = sqrt((double)n.D);
    for (int t = 0; t < n.T; t++)
        for (int s = 0; s < n.S; s++) {
            double dot = 0;
            for (int d = 0; d < n.D; d++)
                dot += (double)q[t * n.D + d] * (double)k[s * n.D + d];
            p[t * n.S + s] = e == MASKED && s > t ? -1e300 : dot * scale;
        }
}

// The softmax of n numbers that are step apart.
static void softmax(double *p, int n, int step, int e)
{
    double largest = -1e300, sum = 0;
    for (int i = 0; i < n; i++)
        largest = fmax(largest, p[i * step]);
    if (e == NOT_NORMALIZED) largest = 0;
    for (int i = 0; i < n; i++) {
        double x = p[i * step];
        p[i * step] = e == LARGEST_ONLY ? x == largest : exp(x - largest);
        sum += p[i * step];
    }
    for (int i = 0; i < n && e != NOT_NORMALIZED; i++)
        p[i * step] /= sum;
}

static void compute(const float *q, const float *k, const float *v, sizes n, int e, float *y)
{
    double p[MOST];
    scores(q, k, n, e, p);
    int columns = e == COLUMNS;
    for (int i = 0; i < (columns ? n.S : n.T) && e != NO_SOFTMAX; i++)
        softmax(columns ? p + i : p + i * n.S, columns ? n.T : n.S, columns ? n.S : 1, e);
    for (int t = 0; t < n.T; t++)
        for (int j = 0; j < n.E; j++) {
            double sum = 0;
            for (int s = 0; s < n.S; s++) {
                int of = e == OWN_VALUE ? t : s;
                float value = e == KEYS_AS_VALUES ? k[of * n.D + j] : v[of * n.E + j];
                sum += p[t * n.S + s] * (double)value;
            }
            y[t * n.E + j] = (float)sum;
        }
}

static void tokens(const char *what, sizes n, float size)
{
    float q[MOST], k[MOST], v[MOST], wrong[MOST], want[MOST];
    float *y = judge_room(n.T * n.E, 9);
    unsigned state = 11;
    for (int i = 0; i < MOST; i++) {
        float *to[3] = { q, k, v };
        for (int j = 0; j < 3; j++) {
            state = state * 1664525u + 1013904223u;
            to[j][i] = ((float)(state >> 24) / 64 - 2) * (j == 0 ? size : 1);
        }
    }
    judge_case(what);
    float *own_q = judge_copy(q, sizeof(float) * (size_t)(n.T * n.D));
    float *own_k = judge_copy(k, sizeof(float) * (size_t)(n.S * n.D));
    float *own_v = judge_copy(v, sizeof(float) * (size_t)(n.S * n.E));
    attention(own_q, own_k, own_v, y, n);
    free(own_q);
    free(own_k);
    free(own_v);
    judge_got(y, n.T * n.E);
    compute(q, k, v, n, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(q, k, v, n, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, n.T * n.E);
    }
    for (int i = 0; i < n.T * n.E; i++)
        judge_holds(y[i] - y[i] == 0.0f, "overflow",
                    "there is what is not a number: exp of a large score overflows. Subtract the "
                    "largest score of the row first.");
    judge_want(want, n.T * n.E, 1e-4);
    free(y);
}

int main(void)
{
    judge_begin();
    tokens("3 tokens ask 4, keys of 5 numbers, values of 2", (sizes){ 3, 4, 5, 2 }, 1);
    tokens("4 tokens ask 4, keys and values of 3 numbers", (sizes){ 4, 4, 3, 3 }, 1);
    tokens("5 tokens ask 2, keys of 2 numbers, values of 6", (sizes){ 5, 2, 2, 6 }, 1);
    tokens("one token asks one", (sizes){ 1, 1, 3, 2 }, 1);
    tokens("queries 200 times as large", (sizes){ 2, 4, 4, 3 }, 200);
    return judge_end();
}
