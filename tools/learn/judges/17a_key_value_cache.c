#include "../judge.h"

enum { MOST = 64 };

// What lies behind the tokens; in values always 2.
static float garbage(int i, float size)
{
    return size * (float)(1 + i % 3);
}

typedef struct input {
    float q[MOST], k[MOST], v[MOST];
    int T, most, D;
    float size;                   // of garbage
} input;

static cache made(int length, int most, int D, float size)
{
    cache c = { judge_room(most * D, 2), judge_room(most * D, 2), length, most };
    for (int i = 0; i < most * D; i++) c.k[i] = garbage(i, size);
    return c;
}

// All tokens of an input; returns for how many attend returned 1.
static int attend_all(const input *in, cache *c, float *y)
{
    int taken = 0;
    for (int t = 0; t < in->T; t++) {
        size_t bytes = sizeof(float) * (size_t)in->D;
        float *q = judge_copy(in->q + t * in->D, bytes), *k = judge_copy(in->k + t * in->D, bytes);
        float *v = judge_copy(in->v + t * in->D, bytes), *room = judge_room(in->D, 9);
        taken += attend(c, q, k, v, room, in->D);
        memcpy(y + t * in->D, room, bytes);
        free(q);
        free(k);
        free(v);
        free(room);
    }
    return taken;
}

static int right_with(int probe, const input *other)
{
    float y[MOST];
    cache c = made(0, other->most, other->D, other->size);
    attend_all(other, &c, y);
    return judge_probe(probe, y, other->T * other->D, 1e-5);
}

static void clues(const input *in, const cache *c)
{
    size_t bytes = sizeof(float) * (size_t)(in->T * in->D);
    input zeros = *in, ones = *in;
    if (!judge_is_wrong(1e-5)) return;
    for (int i = 0; i < MOST; i++) {
        zeros.q[i] = 0;
        ones.v[i] = 1;
    }
    int right_ones = right_with(1, &ones), right_zeros = right_with(2, &zeros);
    judge_clue(c->length != in->T, "length");
    judge_clue(memcmp(c->k, in->k, bytes) != 0, "kept_keys");
    judge_clue(memcmp(c->v, in->v, bytes) != 0, "kept_values");
    judge_clue(!right_ones && right_zeros, "weights_do_not_sum_to_1");
    judge_clue(!right_zeros, "wrong_with_equal_scores");
    judge_clue(1, "wrong_scores");
}

// A cache that is full: nothing of it may change. It has room for a token behind its end, to see
// what is written there.
static void one_too_many(const input *in)
{
    size_t bytes = sizeof(float) * (size_t)((in->most + 1) * in->D);
    cache c = made(in->most, in->most + 1, in->D, 2), old = made(in->most, in->most + 1, in->D, 2);
    float *y = judge_room(in->D, 9);
    judge_case("one token more than there is room for");
    c.most = in->most;
    int taken = attend(&c, in->q, in->k, in->v, y, in->D);
    judge_holds(!memcmp(c.k, old.k, bytes) && !memcmp(c.v, old.v, bytes), "past_the_end");
    judge_holds(c.length == in->most, "full_counted");
    for (int d = 0; d < in->D; d++)
        judge_holds(y[d] == 9.0f, "full_answers");
    judge_holds(taken == 0, "says_nothing");
}

static void tokens(const char *what, input in)
{
    float y[MOST], *to[3] = { in.q, in.k, in.v };
    unsigned state = 23;
    int n = in.T * in.D, numbers = 1;
    for (int i = 0; i < 3 * MOST; i++) {
        state = state * 1664525u + 1013904223u;
        to[i % 3][i / 3] = (float)(state >> 24) / 64 - 2;
    }
    cache c = made(0, in.most, in.D, in.size);
    judge_case(what);
    int taken = attend_all(&in, &c, y);
    judge_got_array("y", y, in.T, in.D);
    judge_holds(y[0] - y[0] == 0.0f || c.k[0] != in.k[0], "not_itself");
    judge_holds(taken == in.T, "full_too_early");
    for (int i = 0; i < n; i++) numbers &= y[i] - y[i] == 0.0f;
    if (numbers) clues(&in, &c);
    judge_compare(1e-5);
    judge_holds(c.length == in.T, "length");
    for (int i = n; i < in.most * in.D; i++)
        judge_holds(c.k[i] == garbage(i, in.size) && c.v[i] == 2, "writes_behind");
    one_too_many(&in);
}

static void judge_cases(void)
{
    tokens("4 tokens of 3 numbers, room for 6", (input){ .T = 4, .most = 6, .D = 3, .size = 2 });
    tokens("5 tokens of 4 numbers, room for 5", (input){ .T = 5, .most = 5, .D = 4, .size = 2 });
    tokens("4 tokens, room for 8, and large garbage behind them",
           (input){ .T = 4, .most = 8, .D = 3, .size = 2e4f });
    tokens("one token, room for one", (input){ .T = 1, .most = 1, .D = 2, .size = 2 });
    tokens("64 tokens of one number", (input){ .T = MOST, .most = MOST, .D = 1, .size = 2 });
}
