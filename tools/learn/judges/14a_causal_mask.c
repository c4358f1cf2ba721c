#include "../judge.h"
#include EXERCISE

enum { T = 4, D = 3 };

enum { ALL = 99, ZEROED = 98 };

// Attention in double; seen: how many tokens t sees from its own on: 0, 1 more, 1 less, ALL;
// ZEROED: all, with scores of 0 for later ones. scale multiplies the scores.
typedef struct wrong {
    int seen;
    double scale;
    int swapped;
} wrong;

static double score(const float *q, const float *k, int t, int s, wrong e)
{
    double dot = 0;
    for (int d = 0; d < D; d++)
        dot += (double)(e.swapped ? k : q)[t * D + d] * (double)(e.swapped ? q : k)[s * D + d];
    return e.seen == ZEROED && s > t ? 0 : dot * e.scale;
}

static void compute(const float *q, const float *k, const float *v, wrong e, float *y)
{
    for (int t = 0; t < T; t++) {
        int end = e.seen >= ZEROED || t + 1 + e.seen > T ? T : t + 1 + e.seen;
        double largest = -1e300, sum = 0, p[T];
        for (int s = 0; s < end; s++)
            largest = fmax(largest, p[s] = score(q, k, t, s, e));
        for (int s = 0; s < end; s++)
            sum += p[s] = exp(p[s] - largest);
        for (int d = 0; d < D; d++) {
            double x = 0;
            for (int s = 0; s < end; s++)
                x += p[s] / sum * (double)v[s * D + d];
            y[t * D + d] = (float)x;
        }
    }
}

static const float *Q, *K, *V;

static void mistake(const char *name, const char *sentence, wrong e)
{
    float y[T * D];
    compute(Q, K, V, e, y);
    judge_mistake(name, sentence, y, T * D);
}

static void sequence(const char *what, const float *q, const float *k, const float *v)
{
    const double right = 1 / sqrt((double)D);
    float y[T * D], want[T * D];
    Q = q, K = k, V = v;
    for (int i = 0; i < T * D; i++)
        y[i] = 9.0f;
    judge_case(what);
    attention(q, k, v, y, T, D);
    judge_got(y, T * D);
    compute(q, k, v, (wrong){ 0, right, 0 }, want);
    mistake("no_mask", "every token sees all others, the future too. The loop over s ends at t.",
            (wrong){ ALL, right, 0 });
    mistake("one_too_far",
            "each token sees the next one, which it shall predict: off by one. The last "
            "s is t.",
            (wrong){ 1, right, 0 });
    mistake("not_itself", "tokens do not see themselves: the last s is t, not t - 1.",
            (wrong){ -1, right, 0 });
    mistake("zero_before_softmax",
            "masked scores are 0, and exp(0) is 1, so the future keeps a share. "
            "They must be -infinity, or be left out.",
            (wrong){ ZEROED, right, 0 });
    mistake("no_scale", "the scores are not divided by sqrt(D).", (wrong){ 0, 1, 0 });
    mistake("divided_by_D", "the scores are divided by D; it is sqrt(D).",
            (wrong){ 0, 1.0 / D, 0 });
    mistake("by_T", "the scores are divided by sqrt(T); it is sqrt(D), the numbers of a key.",
            (wrong){ 0, 1 / sqrt((double)T), 0 });
    mistake("multiplied", "the scores are multiplied by sqrt(D); divide by it.",
            (wrong){ 0, sqrt((double)D), 0 });
    float keys[T * D];
    compute(q, k, k, (wrong){ 0, right, 0 }, keys);
    judge_mistake("keys_as_values",
                  "this is a mean of keys. Keys say who is listened to, values what is heard.",
                  keys, T * D);
    judge_mistake("own_value",
                  "each token gets its own value: the weights belong to the values of all s.",
                  v, T * D);
    mistake("swapped", "queries and keys have changed places: the score of t for s is q[t] . k[s].",
            (wrong){ 0, right, 1 });
    for (int i = 0; i < T * D; i++)
        if (!(y[i] - y[i] == 0.0f))
            judge_refuse(
                "not_itself",
                "there is what is not a number: token 0 sees nothing, if tokens "
                "do not see themselves, or an exp overflows without the largest score subtracted.");
    judge_want(want, T * D, 1e-5);
}

int main(void)
{
    static const float q[T * D] = { 1, 0.5f, -1, 0.25f, 2, 1, -1, 1, 0.5f, 2, -0.5f, 1 };
    static const float k[T * D] = { 0.5f, 1, 1, -1, 0.5f, 2, 1, -2, 0.5f, 1.5f, 1, -1 };
    static const float v[T * D] = { 1, 2, 3, -4, 5, -6, 7, -8, 9, 10, 11, -12 };
    static float large[T * D];
    judge_begin();
    sequence("4 tokens of 3 numbers", q, k, v);
    for (int i = 0; i < T * D; i++)
        large[i] = 60 * q[i];
    sequence("queries 60 times as large", large, k, v);
    return judge_end();
}
