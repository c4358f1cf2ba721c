#include "../judge.h"
#include EXERCISE

enum { MOST = 64, DRAWS = 41 };

enum {
    RIGHT,
    MULTIPLIED,
    NO_TEMPERATURE,
    NO_TOP_K,
    ONE_MORE,
    EQUALS_KEPT,
    NOT_AGAIN,
    GREEDY,
    FROM_THE_BEST,
    NOTHING_ADDED
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { GREEDY, "greedy", "the largest score is taken, whatever u is." },
    { MULTIPLIED, "multiplied",
      "the scores are multiplied by the temperature. A high temperature makes them alike: "
      "divide." },
    { NO_TEMPERATURE, "no_temperature", "the temperature has no effect." },
    { NO_TOP_K, "no_top_k", "tokens are drawn that are not among the k largest scores." },
    { ONE_MORE, "one_too_many", "k + 1 tokens remain: off by one." },
    { EQUALS_KEPT, "equals_kept",
      "more than k tokens remain where scores are equal; those with the smaller number go first." },
    { NOT_AGAIN, "not_normalized_again",
      "the probabilities of those that remain are shares of all tokens, and sum to less than 1. "
      "Divide by the sum over those that remain." },
    { FROM_THE_BEST, "from_the_best",
      "the probabilities are added up from the best token on; begin at the smallest number." },
    { NOTHING_ADDED, "not_added_up",
      "each probability is compared with u by itself; it is their sum so far that is compared." },
};

static int goes_before(const float *score, int j, int i)
{
    return score[j] > score[i] || (score[j] == score[i] && j < i);
}

// How many go before token i.
static int rank(const float *score, int n, int i)
{
    int before = 0;
    for (int j = 0; j < n; j++)
        before += goes_before(score, j, i);
    return before;
}

static int remains(const float *score, int n, int k, int i, int e)
{
    if (e == NO_TOP_K) return 1;
    int before = rank(score, n, i);
    if (e == EQUALS_KEPT)
        for (int j = 0; j < i; j++)
            before -= score[j] == score[i];
    return before < (e == ONE_MORE ? k + 1 : k);
}

static int drawn(const float *score, int n, double temperature, int k, double u, int e)
{
    double p[MOST], sum = 0, below = 0;
    int best = 0, order[MOST], last = 0;
    while (rank(score, n, best) > 0)
        best++;
    if (temperature == 0 || e == GREEDY) return best;
    for (int i = 0; i < n; i++) {
        double x = (double)score[i] - (double)score[best];
        if (e == MULTIPLIED)
            x *= temperature;
        else if (e != NO_TEMPERATURE)
            x /= temperature;
        int stays = remains(score, n, k, i, e);
        p[i] = stays ? exp(x) : 0;
        sum += e == NOT_AGAIN ? exp(x) : p[i];
        order[e == FROM_THE_BEST ? rank(score, n, i) : i] = i;
    }
    for (int j = 0; j < n; j++) {
        int i = order[j];
        if (p[i] == 0) continue;
        last = i;
        below = (e == NOTHING_ADDED ? 0 : below) + p[i] / sum;
        if (below > u) return i;
    }
    return last;
}

// Steps of u that no sum of these scores comes near, and both ends.
static float number(int i)
{
    if (i == 0) return 0;
    return i == DRAWS - 1 ? 0.99999994f : ((float)i - 0.47f) / (DRAWS - 1);
}

static void scores(const char *what, const float *score, int n, float temperature, int k)
{
    float got[DRAWS], want[DRAWS], wrong[DRAWS];
    int last = 0;
    judge_case(what);
    for (int i = 0; i < n; i++)
        if (temperature == 0 ? score[i] >= score[last] : remains(score, n, k, i, RIGHT)) last = i;
    for (int i = 0; i < DRAWS; i++) {
        int token = draw(score, n, temperature, k, number(i));
        got[i] = (float)token;
        want[i] = (float)drawn(score, n, (double)temperature, k, (double)number(i), RIGHT);
        wrong[i] = (float)last;
    }
    judge_got(got, DRAWS);
    if (temperature == 0)
        judge_mistake("divided_by_zero",
                      "the temperature is 0, and the scores were divided by it: return the largest "
                      "score before.",
                      wrong, DRAWS);
    else
        judge_mistake("overflow",
                      "exp of a large score overflows, and infinity by infinity is no number. "
                      "Subtract the largest score first.",
                      wrong, DRAWS);
    for (unsigned m = 0; m < sizeof mistakes / sizeof *mistakes; m++) {
        for (int i = 0; i < DRAWS; i++)
            wrong[i]
                = (float)drawn(score, n, (double)temperature, k, (double)number(i), mistakes[m].e);
        judge_mistake(mistakes[m].name, mistakes[m].sentence, wrong, DRAWS);
    }
    judge_holds(got[0] == want[0] || remains(score, n, k, (int)got[0], RIGHT) || judge.mistake,
                "at_least",
                "for u = 0 a token was drawn whose probability is 0: the sum has to exceed u, and "
                "not only to reach it.");
    judge_holds(got[DRAWS - 1] == want[DRAWS - 1] || judge.mistake, "rounding",
                "for a u just below 1 it returns none of the tokens that remain: the sum of "
                "rounded numbers may end below u. Return the last one that remains.");
    judge_want(want, DRAWS, 0);
}

int main(void)
{
    static float many[50], others[61];
    judge_begin();
    scores("4 scores, temperature 1", (const float[]){ 1, 3, 2, 0 }, 4, 1, 4);
    scores("5 scores, temperature 0.5, k = 3", (const float[]){ 0, 1.5f, 1, 2, 0.5f }, 5, 0.5f, 3);
    scores("4 scores, temperature 3, k = 2", (const float[]){ 1, 2, 4, 3 }, 4, 3, 2);
    scores("equal scores, k = 2", (const float[]){ 0, 1, 1, 1, 1 }, 5, 1, 2);
    scores("temperature 0", (const float[]){ 1, 5, 5, 2 }, 4, 0, 4);
    scores("scores of 1000", (const float[]){ 1000, 1001, 999.5f, 10 }, 4, 1, 3);
    for (int i = 0; i < 61; i++) {
        if (i < 50) many[i] = (float)(i * i % 17) / 8;
        others[i] = (float)(i * 7 % 23) / 16;
    }
    scores("50 scores", many, 50, 1.5f, 40);
    scores("61 scores", others, 61, 0.75f, 60);
    return judge_end();
}
