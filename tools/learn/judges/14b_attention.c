#include "../judge.h"

enum { MOST = 64 };

// The learner's function, with arrays that end where they end.
static void call(const float *q, const float *k, const float *v, sizes n, float *y)
{
    float *own_q = judge_copy(q, sizeof(float) * (size_t)(n.T * n.D));
    float *own_k = judge_copy(k, sizeof(float) * (size_t)(n.S * n.D));
    float *own_v = judge_copy(v, sizeof(float) * (size_t)(n.S * n.E));
    float *room = judge_room(n.T * n.E, 9);
    attention(own_q, own_k, own_v, room, n);
    memcpy(y, room, sizeof(float) * (size_t)(n.T * n.E));
}

static int right_with(int probe, const float *q, const float *k, const float *v, sizes n)
{
    float y[MOST];
    call(q, k, v, n, y);
    return judge_probe(probe, y, n.T * n.E, 1e-4);
}

// What can be seen with inputs for which parts of the task make no difference.
static void clues(const float *y, const float *q, const float *k, const float *v, sizes n)
{
    float ones[MOST], zeros[MOST] = { 0 }, other[MOST], after[MOST];
    if (!judge_is_wrong(1e-4)) return;
    for (int i = 0; i < MOST; i++) {
        ones[i] = 1;
        other[i] = i < n.D ? 3 - q[i] : q[i];
    }
    call(other, k, v, n, after);
    for (int i = n.E; i < n.T * n.E; i++)
        judge_clue(y[i] != after[i], "depends_on_other_queries");
    judge_clue(!right_with(1, q, k, ones, n), "weights_do_not_sum_to_1");
    judge_clue(!right_with(2, zeros, k, v, n), "wrong_with_equal_scores");
    judge_clue(1, "wrong_scores");
}

// Queries of a size; or, with an offset of the keys, all of them equal.
static void tokens(const char *what, sizes n, float size, float offset)
{
    float q[MOST], k[MOST], v[MOST], y[MOST], *to[3] = { q, k, v };
    unsigned state = 11;
    int numbers = 1;
    for (int i = 0; i < 3 * MOST; i++) {
        state = state * 1664525u + 1013904223u;
        to[i % 3][i / 3] = ((float)(state >> 24) / 64 - 2) * (i % 3 == 0 ? size : 1);
    }
    for (int i = 0; i < MOST; i++) {
        if (offset != 0) q[i] = -size;
        k[i] += offset;
    }
    judge_case(what);
    call(q, k, v, n, y);
    judge_got(y, n.T * n.E);
    judge_part("y", n.T, n.E);
    for (int i = 0; i < n.T * n.E; i++) numbers &= y[i] - y[i] == 0.0f;
    judge_holds(numbers || size == 1, "overflow");
    if (numbers) clues(y, q, k, v, n);
    judge_compare(1e-4);
}

static void judge_cases(void)
{
    tokens("3 tokens ask 4, keys and values of 3 numbers", (sizes){ 3, 4, 3, 3 }, 1, 0);
    tokens("3 tokens ask 4, keys of 2 numbers, values of 5", (sizes){ 3, 4, 2, 5 }, 1, 0);
    tokens("3 tokens ask 4, keys of 5 numbers, values of 2", (sizes){ 3, 4, 5, 2 }, 1, 0);
    tokens("4 tokens ask 4, keys and values of 3 numbers", (sizes){ 4, 4, 3, 3 }, 1, 0);
    tokens("5 tokens ask 2, keys of 2 numbers, values of 6", (sizes){ 5, 2, 2, 6 }, 1, 0);
    tokens("one token asks one", (sizes){ 1, 1, 3, 2 }, 1, 0);
    tokens("one token asks 64, keys and values of one number", (sizes){ 1, MOST, 1, 1 }, 1, 0);
    tokens("queries 200 times as large", (sizes){ 2, 4, 4, 3 }, 200, 0);
    tokens("scores far below 0", (sizes){ 2, 4, 4, 3 }, 20, 10);
}
