#include "../judge.h"
#include EXERCISE

enum { MOST = 64 };

enum {
    RIGHT, NOT_ITSELF, NOT_COUNTED, ITSELF_ALONE, FIRST_PLACE, TOO_FAR, ONE_BEHIND, WHOLE_ROOM,
    FIRST_LEFT_OUT, WITHOUT_D, NO_SCALE, BY_D, BY_LENGTH, MULTIPLIED, SCALED_LATE, LAST_PRODUCT,
    DOT_GOES_ON, OWN_KEY, NO_SOFTMAX, NO_EXP, UNNORMALIZED, HARDMAX, SWAPPED, KEYS_AS_VALUES,
    LAST_VALUE
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NOT_ITSELF, "not_itself",
      "the new token does not see itself: append and count it before the scores are computed." },
    { NOT_COUNTED, "not_counted",
      "each token sees its own value alone: length does not grow, so that what was kept is "
      "overwritten; or the new v is used for all tokens." },
    { FIRST_PLACE, "first_place",
      "every token is written to place 0; the new one belongs behind those that are kept." },
    { TOO_FAR, "one_place_too_far",
      "each token is written one place too far, so that garbage takes part: it belongs to place "
      "length, as length was before the token is counted." },
    { ONE_BEHIND, "one_behind",
      "garbage from behind the last token takes part: s runs to length - 1, the token that was "
      "just counted." },
    { WHOLE_ROOM, "whole_room",
      "the softmax runs over the whole cache. Behind length there is garbage, or zeros, which "
      "would take their share, too." },
    { FIRST_LEFT_OUT, "first_left_out",
      "the first token of the cache is left out: s begins at 0." },
    { WITHOUT_D, "without_D",
      "a new token is written one float behind the last one: token s begins at s D." },
    { NO_SCALE, "no_scale", "the scores are not divided by sqrt(D)." },
    { BY_D, "divided_by_D", "the scores are divided by D; it is sqrt(D)." },
    { BY_LENGTH, "divided_by_length",
      "the scores are divided by sqrt(length). They are sums of D products: sqrt(D)." },
    { MULTIPLIED, "multiplied", "the scores are multiplied by sqrt(D); divide by it." },
    { SCALED_LATE, "scaled_after_softmax",
      "the weights are divided by sqrt(D), behind the softmax: they no longer sum to 1. The scores "
      "are divided, before it." },
    { LAST_PRODUCT, "last_product",
      "a score is the last product alone: = overwrites, += adds up over d." },
    { DOT_GOES_ON, "dot_goes_on",
      "the dot product goes on from one s to the next. It begins at 0 for each." },
    { OWN_KEY, "plain_mean",
      "this is the plain mean of the values that are kept, as if all scores were equal. That of s "
      "is q . c->k[s], and not q . k of the new token." },
    { NO_SOFTMAX, "no_softmax", "the scores are used as weights; their softmax is wanted." },
    { NO_EXP, "no_exp",
      "the scores are divided by their sum. A softmax takes exp of each first: weights have to be "
      "positive." },
    { UNNORMALIZED, "not_normalized",
      "the exponentials are not divided by their sum, so the weights do not sum to 1." },
    { HARDMAX, "hardmax",
      "the value of the largest score alone is taken. Attention takes a mean of all, with the "
      "softmax as weights." },
    { SWAPPED, "swapped", "keys and values have changed places." },
    { KEYS_AS_VALUES, "keys_as_values",
      "this is a mean of keys. Keys say who is listened to, values what is heard." },
    { LAST_VALUE, "last_value",
      "y holds the share of the last token alone: = overwrites what the others brought." },
};

// What lies behind the tokens; in values always 2.
static float garbage(int i, float size) { return size * (float)(1 + i % 3); }

typedef struct input {
    float q[MOST], k[MOST], v[MOST];
    int T, most, D;
    float size;                   // of garbage
} input;

// ---- What is right, and what is not ----
static int place_of(int t, int D, int e)
{
    if (e == FIRST_PLACE || e == NOT_COUNTED) return 0;
    if (e == TOO_FAR) return (t + 1) * D;
    return e == WITHOUT_D ? t : t * D;
}

static double score(const input *in, int t, const float *keys, int s, int e)
{
    double dot = 0, root = sqrt((double)in->D);
    for (int i = e == DOT_GOES_ON ? 0 : s * in->D; i < (s + 1) * in->D; i++) {
        if (e == LAST_PRODUCT) dot = 0;
        dot += (double)in->q[t * in->D + i % in->D] * (double)keys[i];
    }
    if (e == OWN_KEY) return 0;
    if (e == NO_SCALE || e == SCALED_LATE) return dot;
    if (e == BY_D) return dot / in->D;
    if (e == BY_LENGTH) return dot / sqrt(t + 1.0);
    return e == MULTIPLIED ? dot * root : dot / root;
}

// y of token t, from what is kept.
static void look(const input *in, int t, const float *keys, const float *values, int e, float *y)
{
    double p[MOST + 1] = { 0 }, sum = 0, largest = -INFINITY;
    int begin = e == FIRST_LEFT_OUT && t > 0, end = t + 1, D = in->D;
    if (e == NOT_ITSELF) end = t;
    if (e == NOT_COUNTED) end = 1;
    if (e == ONE_BEHIND) end = t + 2;
    if (e == WHOLE_ROOM) end = in->most;
    for (int s = begin; s < end; s++)
        largest = fmax(largest, p[s] = score(in, t, keys, s, e));
    if (e == UNNORMALIZED) largest = 0;
    for (int s = begin; s < end; s++) {
        if (e == HARDMAX) p[s] = p[s] == largest;
        else if (e != NO_SOFTMAX && e != NO_EXP) p[s] = exp(p[s] - largest);
        sum += p[s];
    }
    if (e == SCALED_LATE) sum *= sqrt((double)D);
    if (e == UNNORMALIZED || e == NO_SOFTMAX) sum = 1;
    for (int d = 0; d < D; d++) {
        double x = 0;
        for (int s = begin; s < end; s++)
            x = (e == LAST_VALUE ? 0 : x)
                + p[s] / sum * (double)(e == KEYS_AS_VALUES ? keys : values)[s * D + d];
        y[d] = (float)x;
    }
}

// y (T,D): token after token, with a cache of its own.
static void compute(const input *in, int e, float *y)
{
    float keys[2 * MOST], values[2 * MOST];
    for (int i = 0; i < 2 * MOST; i++) {
        keys[i] = garbage(i, in->size);
        values[i] = 2;
    }
    for (int t = 0; t < in->T; t++) {
        int to = place_of(t, in->D, e);
        for (int d = 0; d < in->D; d++) {
            keys[to + d] = (e == SWAPPED ? in->v : in->k)[t * in->D + d];
            values[to + d] = (e == SWAPPED ? in->k : in->v)[t * in->D + d];
        }
        look(in, t, keys, values, e, y + t * in->D);
    }
}

// ---- The learner's function ----
static cache made(int length, int most, int D, float size)
{
    cache c = { judge_room(most * D, 2), judge_room(most * D, 2), length, most };
    for (int i = 0; i < most * D; i++)
        c.k[i] = garbage(i, size);
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

// Is y right for other queries or values?
static int right(input other)
{
    float y[MOST], want[MOST];
    cache c = made(0, other.most, other.D, other.size);
    attend_all(&other, &c, y);
    compute(&other, RIGHT, want);
    free(c.k);
    free(c.v);
    for (int i = 0; i < other.T * other.D; i++)
        if (!judge_close((double)y[i], (double)want[i], 1e-5)) return 0;
    return 1;
}

static void clues(const input *in, const cache *c)
{
    size_t bytes = sizeof(float) * (size_t)(in->T * in->D);
    input zeros = *in, ones = *in;
    for (int i = 0; i < MOST; i++) {
        zeros.q[i] = 0;
        ones.v[i] = 1;
    }
    judge_clue(c->length != in->T, "length", "length is not the number of tokens that were given.");
    judge_clue(memcmp(c->k, in->k, bytes) != 0, "kept_keys",
               "c->k does not hold the keys of all tokens, one behind the other: that of token s "
               "lies at s D.");
    judge_clue(memcmp(c->v, in->v, bytes) != 0, "kept_values",
               "c->v does not hold the values of all tokens, one behind the other: that of token s "
               "lies at s D.");
    judge_clue(!right(ones) && right(zeros), "weights_do_not_sum_to_1",
               "keys and values are kept as they should. But if all values are 1, y is not 1: the "
               "weights p do not sum to 1.");
    judge_clue(!right(zeros), "wrong_with_equal_scores",
               "keys and values are kept as they should. But if q is 0, all scores are equal, and "
               "y has to be the mean of the values of all tokens so far, which it is not: look at "
               "the sum over s, and whether the scores come from q.");
    judge_clue(1, "wrong_scores",
               "keys and values are kept as they should, and if q is 0, so that all scores are "
               "equal, y is right: look at the scores. That of s is the sum over d of q[d] c->k[s "
               "D + d], / sqrt(D).");
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
    judge_holds(!memcmp(c.k, old.k, bytes) && !memcmp(c.v, old.v, bytes), "past_the_end",
                "it writes behind the end of the cache, or over what is kept. Test first whether "
                "length is most.");
    judge_holds(c.length == in->most, "full_counted",
                "the cache is full, and length has changed. Nothing changes: return 0 before.");
    for (int d = 0; d < in->D; d++)
        judge_holds(y[d] == 9.0f, "full_answers",
                    "the cache is full, and y has changed: it answers without the new token. Return "
                    "0 before.");
    judge_holds(taken == 0, "says_nothing", "the cache is full, and attend does not return 0.");
    free(c.k);
    free(c.v);
    free(old.k);
    free(old.v);
    free(y);
}

static void tokens(const char *what, input in)
{
    float y[MOST], want[MOST], wrong[MOST];
    unsigned state = 23;
    int n = in.T * in.D;
    for (int i = 0; i < MOST; i++) {
        float *to[3] = { in.q, in.k, in.v };
        for (int j = 0; j < 3; j++) {
            state = state * 1664525u + 1013904223u;
            to[j][i] = (float)(state >> 24) / 64 - 2;
        }
    }
    cache c = made(0, in.most, in.D, in.size);
    judge_case(what);
    int taken = attend_all(&in, &c, y);
    judge_got(y, n);
    judge_part("y", in.T, in.D);
    compute(&in, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(&in, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, n);
    }
    judge_holds(y[0] - y[0] == 0.0f || c.k[0] != in.k[0], "not_itself",
                "y of token 0 is not a number: it sees nothing, if it is not counted before the "
                "scores are computed.");
    judge_holds(taken == in.T, "full_too_early",
                "a token was refused, or attend did not return 1: there is room for most tokens.");
    int numbers = 1;
    for (int i = 0; i < n; i++)
        numbers &= y[i] - y[i] == 0.0f;
    if (numbers) clues(&in, &c);
    judge_want(want, n, 1e-5);
    judge_holds(c.length == in.T, "length", "y is right, and length is not the number of tokens.");
    for (int i = n; i < in.most * in.D; i++)
        judge_holds(c.k[i] == garbage(i, in.size) && c.v[i] == 2, "writes_behind",
                    "y is right, but more than D numbers are appended: what lies behind the new "
                    "token was written, too.");
    one_too_many(&in);
    free(c.k);
    free(c.v);
}

int main(void)
{
    judge_begin();
    tokens("4 tokens of 3 numbers, room for 6", (input){ .T = 4, .most = 6, .D = 3, .size = 2 });
    tokens("5 tokens of 4 numbers, room for 5", (input){ .T = 5, .most = 5, .D = 4, .size = 2 });
    tokens("4 tokens, room for 8, and large garbage behind them",
           (input){ .T = 4, .most = 8, .D = 3, .size = 2e4f });
    tokens("one token, room for one", (input){ .T = 1, .most = 1, .D = 2, .size = 2 });
    tokens("64 tokens of one number", (input){ .T = MOST, .most = MOST, .D = 1, .size = 2 });
    return judge_end();
}
