#include "../judge.h"
#include EXERCISE

enum { MOST = 64, EMPTY = 2 }; // EMPTY: what lies behind the tokens

enum {
    RIGHT,
    NOT_ITSELF,
    NOT_COUNTED,
    FIRST_PLACE,
    WHOLE_ROOM,
    WITHOUT_D,
    NO_SCALE,
    SWAPPED,
    UNNORMALIZED
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
    { WHOLE_ROOM, "whole_room",
      "the softmax runs over the whole cache. Behind length there is garbage, or zeros, which "
      "would take their share, too." },
    { WITHOUT_D, "without_D",
      "a new token is written one float behind the last one: token s begins at s D." },
    { NO_SCALE, "no_scale", "the scores are not divided by sqrt(D)." },
    { SWAPPED, "swapped", "keys and values have changed places." },
    { UNNORMALIZED, "not_normalized",
      "the exponentials are not divided by their sum, so the weights do not sum to 1." },
};

// y (T,D): token after token, with a cache of its own.
static void compute(const float *q, const float *k, const float *v, int T, int most, int D, int e,
                    float *y)
{
    float keys[MOST], values[MOST];
    for (int i = 0; i < MOST; i++)
        keys[i] = values[i] = EMPTY;
    for (int t = 0; t < T; t++) {
        int place = e == FIRST_PLACE || e == NOT_COUNTED ? 0 : t * D, end = t + 1;
        if (e == WITHOUT_D) place = t;
        for (int d = 0; d < D; d++) {
            keys[place + d] = (e == SWAPPED ? v : k)[t * D + d];
            values[place + d] = (e == SWAPPED ? k : v)[t * D + d];
        }
        if (e == NOT_ITSELF) end = t;
        if (e == NOT_COUNTED) end = 1;
        if (e == WHOLE_ROOM) end = most;
        double p[MOST], sum = 0;
        for (int s = 0; s < end; s++) {
            double dot = 0;
            for (int d = 0; d < D; d++)
                dot += (double)q[t * D + d] * (double)keys[s * D + d];
            p[s] = exp(e == NO_SCALE ? dot : dot / sqrt((double)D));
            sum += p[s];
        }
        for (int d = 0; d < D; d++) {
            double x = 0;
            for (int s = 0; s < end; s++)
                x += p[s] / (e == UNNORMALIZED ? 1 : sum) * (double)values[s * D + d];
            y[t * D + d] = (float)x;
        }
    }
}

// A cache that is full: nothing of it may change. It has room for a token behind its end, to see
// what is written there.
static void one_too_many(const float *q, const float *k, const float *v, int most, int D)
{
    int n = most * D;
    float *old_k = judge_room(n + D, EMPTY), *old_v = judge_room(n + D, EMPTY);
    float *y = judge_room(D, 9);
    cache c = { judge_room(n + D, EMPTY), judge_room(n + D, EMPTY), most, most };
    judge_case("one token more than there is room for");
    int taken = attend(&c, q, k, v, y, D);
    size_t bytes = sizeof(float) * (size_t)(n + D);
    judge_holds(!memcmp(c.k, old_k, bytes) && !memcmp(c.v, old_v, bytes) && c.length == most,
                "past_the_end",
                "it writes behind the end of the cache, or over what is kept. Test first whether "
                "length is most.");
    judge_holds(taken == 0, "says_nothing", "the cache is full, and attend does not return 0.");
    free(c.k);
    free(c.v);
    free(old_k);
    free(old_v);
    free(y);
}

static void tokens(const char *what, int T, int most, int D)
{
    float q[MOST], k[MOST], v[MOST], want[MOST], wrong[MOST], *y = judge_room(T * D, 9);
    unsigned state = 23;
    for (int i = 0; i < MOST; i++) {
        float *to[3] = { q, k, v };
        for (int j = 0; j < 3; j++) {
            state = state * 1664525u + 1013904223u;
            to[j][i] = (float)(state >> 24) / 64 - 2;
        }
    }
    cache c = { judge_room(most * D, EMPTY), judge_room(most * D, EMPTY), 0, most };
    int taken = 0;
    judge_case(what);
    for (int t = 0; t < T; t++)
        taken += attend(&c, q + t * D, k + t * D, v + t * D, y + t * D, D);
    judge_got(y, T * D);
    compute(q, k, v, T, most, D, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(q, k, v, T, most, D, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, T * D);
    }
    for (int i = 0; i < T * D; i++)
        judge_holds(y[i] - y[i] == 0.0f, "not_itself",
                    "there is what is not a number: token 0 sees nothing, if it is not counted "
                    "before the scores are computed.");
    judge_holds(taken == T, "full_too_early",
                "a token was refused, or attend did not return 1: there is room for most tokens.");
    judge_want(want, T * D, 1e-5);
    judge_holds(c.length == T, "length", "y is right, and length is not the number of tokens.");
    one_too_many(q, k, v, most, D);
    free(c.k);
    free(c.v);
    free(y);
}

int main(void)
{
    judge_begin();
    tokens("4 tokens of 3 numbers, room for 6", 4, 6, 3);
    tokens("5 tokens of 4 numbers, room for 5", 5, 5, 4);
    tokens("one token, room for one", 1, 1, 2);
    return judge_end();
}
