#include "../judge.h"

enum { T = 4, D = 3, N = T * D };

// The learner's function, with arrays that end where they end.
static void call(const float *q, const float *k, const float *v, float *y)
{
    float *own_q = judge_copy(q, sizeof(float) * N), *own_k = judge_copy(k, sizeof(float) * N);
    float *own_v = judge_copy(v, sizeof(float) * N), *room = judge_room(N, 9);
    attention(own_q, own_k, own_v, room, T, D);
    memcpy(y, room, sizeof(float) * N);
}

static int right_with(int probe, const float *q, const float *k, const float *v)
{
    float y[N];
    call(q, k, v, y);
    return judge_probe(probe, y, N, 1e-5);
}

// What can be seen with inputs for which parts of the task make no difference.
static void clues(const float *y, const float *q, const float *k, const float *v)
{
    float later[N], ones[N], zeros[N] = { 0 }, other[N];
    if (!judge_is_wrong(1e-5)) return;
    for (int i = 0; i < N; i++) {
        ones[i] = 1;
        other[i] = i < N - D ? v[i] : 50;
    }
    call(q, k, other, later);
    judge_clue(memcmp(y, later, sizeof(float) * (N - D)) != 0, "sees_the_future");
    judge_clue(!right_with(1, q, k, ones), "weights_do_not_sum_to_1");
    judge_clue(!right_with(2, zeros, k, v), "wrong_with_equal_scores");
    judge_clue(1, "wrong_scores");
}

// far: the scores are so far from 0 that exp of them overflows, or all are 0.
static void sequence(const char *what, const float *q, const float *k, const float *v, int far)
{
    float y[N];
    judge_case(what);
    call(q, k, v, y);
    judge_got_array("y", y, T, D);
    int first = !(y[0] - y[0] == 0), others = 0;
    for (int i = D; i < N; i++) others += !(y[i] - y[i] == 0);
    judge_holds(far || !first || others, "sees_nothing");
    judge_holds(!far || (!first && !others), "overflow");
    if (!first && !others) clues(y, q, k, v);
    judge_compare(1e-5);
}

// As many as there may be: the mean of equal values is that value.
static void most_tokens(void)
{
    enum { MOST = 64 };
    float *x = judge_room(MOST, 0.5f), *y = judge_room(MOST, 9);
    judge_case("64 tokens of one number, all alike");
    attention(x, x, x, y, MOST, 1);
    judge_got(y, MOST);
    judge_compare(1e-5);
}

static void judge_cases(void)
{
    static const float q[N] = { 1, 0.5f, -0.5f, 0.25f, 2, 1, -1, 1, 0.5f, 2, -0.5f, 1 };
    static const float k[N] = { 0.5f, 1, 1, -1, 0.5f, 2, 1, -2, 0.5f, 1.5f, 1, -1 };
    static const float v[N] = { 1, 2, 3, -4, 5, -6, 7, -8, 9, 10, 11, -12 };
    float large[N], low[N], all[N];
    for (int i = 0; i < N; i++) {
        large[i] = 60 * q[i];
        low[i] = -20;
        all[i] = 10 + k[i];
    }
    sequence("4 tokens of 3 numbers", q, k, v, 0);
    sequence("queries 60 times as large", large, k, v, 1);
    sequence("scores far below 0", low, all, v, 1);
    most_tokens();
}
