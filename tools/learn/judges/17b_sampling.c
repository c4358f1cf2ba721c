#include "../judge.h"
#include EXERCISE

enum { MOST = 64, DRAWS = 41 };

enum {
    RIGHT, GREEDY, MULTIPLIED, NO_TEMPERATURE, NO_TOP_K, ONE_MORE, ONE_FEWER, SMALLEST, FIRST_K,
    LAST_GO_FIRST, EQUALS_KEPT, EQUALS_LOST, NOT_AGAIN, NOT_DIVIDED, NO_EXP, UNIFORM, SQUARED,
    FROM_THE_BEST, FROM_THE_LAST, RANK, AMONG_KEPT, NOTHING_ADDED, ONE_EARLY, LAST_OF_ALL,
    ZERO_LAST, ZERO_FIRST, SMALLEST_AT_0
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
    { ONE_FEWER, "one_too_few", "k - 1 tokens remain: off by one." },
    { SMALLEST, "smallest_kept", "the k smallest scores remain; the largest do." },
    { FIRST_K, "first_k", "the first k tokens remain, whatever their scores are." },
    { LAST_GO_FIRST, "last_equals_first",
      "of equal scores, those with the larger number remain; those with the smaller go first." },
    { EQUALS_LOST, "equals_lost",
      "where scores are equal to the one at the limit, fewer than k tokens remain; of equal "
      "scores, those with the smaller number go first, and there are k." },
    { EQUALS_KEPT, "equals_kept",
      "more than k tokens remain where scores are equal; those with the smaller number go first." },
    { NOT_AGAIN, "not_normalized_again",
      "the probabilities of those that remain are shares of all tokens, and sum to less than 1. "
      "Divide by the sum over those that remain." },
    { NOT_DIVIDED, "not_divided",
      "u is compared with sums of exponentials that are not divided by their sum: they do not end "
      "at 1." },
    { NO_EXP, "no_exp", "the probabilities are shares of the scores; their softmax is wanted." },
    { UNIFORM, "all_alike",
      "all tokens that remain are drawn equally often: their scores have no effect." },
    { SQUARED, "divided_twice", "the temperature is divided by twice." },
    { FROM_THE_LAST, "from_the_last",
      "the probabilities are added up from the largest number down; begin at the smallest." },
    { RANK, "rank",
      "what is returned is the place in the order of scores, not the number of the token." },
    { AMONG_KEPT, "number_among_kept",
      "what is returned is the place among those that remain, not the number of the token." },
    { ONE_EARLY, "one_late",
      "u is compared before the token's own probability is added, so that the next one is drawn." },
    { LAST_OF_ALL, "no_draw", "the last token that remains is returned, whatever u is." },
    { ZERO_LAST, "last_of_equals",
      "with temperature 0 it returns the last of several largest scores; it is the first." },
    { ZERO_FIRST, "token_0", "with temperature 0 it returns token 0; it is the largest score." },
    { SMALLEST_AT_0, "smallest_at_0",
      "with temperature 0 it returns the smallest score; it is the largest." },
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
    int before = rank(score, n, i), equal_before = 0, equal = 0;
    for (int j = 0; j < n; j++) {
        equal += score[j] == score[i];
        equal_before += j < i && score[j] == score[i];
    }
    if (e == NO_TOP_K) return 1;
    if (e == FIRST_K) return i < k;
    if (e == SMALLEST) return n - 1 - before < k;
    if (e == EQUALS_KEPT) before -= equal_before;
    if (e == EQUALS_LOST) before += equal - 1 - equal_before;
    if (e == LAST_GO_FIRST) before += equal - 1 - 2 * equal_before;
    if (e == ONE_FEWER) before++;
    return before < (e == ONE_MORE ? k + 1 : k);
}

static int at_0(const float *score, int n, int e)
{
    int best = 0;
    if (e == ZERO_FIRST) return 0;
    for (int i = 1; i < n; i++)
        if (e == SMALLEST_AT_0   ? score[i] < score[best]
            : e == ZERO_LAST ? score[i] >= score[best]
                             : score[i] > score[best])
            best = i;
    return best;
}

// What the temperature makes of a score, and exp of that; largest: the largest score.
static double share(double score, double largest, double temperature, int e)
{
    double x = e == NOT_DIVIDED ? score : score - largest;
    if (e == UNIFORM) return 1;
    if (e == MULTIPLIED) return exp(x * temperature);
    if (e == NO_TEMPERATURE) return exp(x);
    if (e == SQUARED) return exp(x / temperature / temperature);
    return e == NO_EXP ? score / temperature : exp(x / temperature);
}

static int drawn(const float *score, int n, double temperature, int k, double u, int e)
{
    double p[MOST], sum = 0, below = 0;
    int best = at_0(score, n, RIGHT), order[MOST], last = 0, kept = 0;
    if (temperature == 0) return at_0(score, n, e);
    if (e == GREEDY) return best;
    for (int i = 0; i < n; i++) {
        double x = share((double)score[i], (double)score[best], temperature, e);
        int stays = remains(score, n, k, i, e);
        p[i] = stays ? x : 0;
        sum += e == NOT_AGAIN ? x : p[i];
        order[e == FROM_THE_BEST || e == RANK ? rank(score, n, i) : i] = i;
        if (stays) last = i;
    }
    if (e == NOT_DIVIDED) sum = 1;
    if (e == LAST_OF_ALL) return last;
    for (int j = 0; j < n; j++) {
        int i = order[e == FROM_THE_LAST ? n - 1 - j : j];
        if (p[i] == 0) continue;
        last = e == RANK ? j : i;
        if (e == AMONG_KEPT) last = kept++;
        if (e == ONE_EARLY && below > u) return last;
        below = (e == NOTHING_ADDED ? 0 : below) + p[i] / sum;
        if (e != ONE_EARLY && below > u) return last;
    }
    return last;
}

// Steps of u that no sum of these scores comes near, and both ends.
static float number(int i)
{
    if (i == 0) return 0;
    return i == DRAWS - 1 ? 0.99999994f : ((float)i - 0.47f) / (DRAWS - 1);
}

// What is seen of the tokens that were drawn, as u goes from 0 to 1.
static void clues(const float *got, const float *want, const int *stays, int n)
{
    static char sentence[300];
    int drawn_n[MOST] = { 0 }, wanted[MOST] = { 0 }, falls = 0;
    for (int i = 0; i < DRAWS; i++) {
        judge_clue(got[i] < 0 || got[i] >= (float)n, "no_token",
                   "what is returned is not the number of a token, from 0 to n - 1.");
        if (got[i] < 0 || got[i] >= (float)n) return;
        drawn_n[(int)got[i]]++;
        wanted[(int)want[i]]++;
        falls |= i > 0 && got[i] < got[i - 1];
    }
    for (int i = 0; i < n && !judge.clue; i++) {
        snprintf(sentence, sizeof sentence,
                 drawn_n[i] ? "token %d is drawn, and should not be: it does not remain."
                            : "token %d remains, and no u between 0 and 1 draws it.", i);
        judge_clue(drawn_n[i] && !stays[i], "drawn_too_much", sentence);
        judge_clue(!drawn_n[i] && wanted[i] > 1, "never_drawn", sentence);
    }
    judge_clue(falls, "not_in_order",
               "the right tokens are drawn, but not in order: as u grows from 0 to 1, the number "
               "of the token must not fall.");
    for (int i = 0; i < n && !judge.clue; i++) {
        snprintf(sentence, sizeof sentence,
                 "the right tokens are drawn in the right order, but with other probabilities: of "
                 "%d u between 0 and 1, %d draw token %d, and %d should. Look at the softmax of "
                 "score / temperature.", DRAWS, drawn_n[i], i, wanted[i]);
        judge_clue(drawn_n[i] != wanted[i], "other_probabilities", sentence);
    }
}

static void scores(const char *what, const float *score, int n, float temperature, int k)
{
    float got[DRAWS], want[DRAWS], wrong[DRAWS];
    int last = 0, stays[MOST];
    judge_case(what);
    for (int i = 0; i < n; i++)
        if (remains(score, n, k, i, RIGHT) && (temperature != 0 || score[i] >= score[last]))
            last = i;
    for (int i = 0; i < DRAWS; i++) {
        int token = draw(score, n, temperature, k, number(i));
        got[i] = (float)token;
        want[i] = (float)drawn(score, n, (double)temperature, k, (double)number(i), RIGHT);
        wrong[i] = (float)last;
    }
    for (int i = 0; i < n; i++)
        stays[i] = temperature == 0 ? i == (int)want[0] : remains(score, n, k, i, RIGHT);
    judge_got(got, DRAWS);
    if (temperature == 0)
        judge_mistake("divided_by_zero",
                      "the temperature is 0, and the scores were divided by it: return the largest "
                      "score before.",
                      wrong, DRAWS);
    else if (score[at_0(score, n, RIGHT)] > 80)
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
    int at_first = got[0] != want[0], at_last = got[DRAWS - 1] != want[DRAWS - 1], others = 0;
    for (int i = 1; i < DRAWS - 1; i++)
        others += got[i] != want[i];
    judge_clue(at_first && !at_last && !others, "at_least",
               "all is right but for u = 0, where a token was drawn whose probability is 0: the "
               "sum has to exceed u, and not only to reach it.");
    judge_clue(at_last && !at_first && !others, "rounding",
               "for a u just below 1 it returns none of the tokens that remain: the sum of rounded "
               "numbers may end below u. Return the last one that remains.");
    clues(got, want, stays, n);
    judge_want(want, DRAWS, 0);
}

// Two equal scores: the sums are 0.5 and 1, without any rounding.
static void just_half(void)
{
    float two[2] = { 3, 3 };
    judge_case("two equal scores, u just 0.5");
    judge_holds(draw(two, 2, 1, 2, 0.5f) == 1, "reached_not_exceeded",
                "u is 0.5, and so is the sum at token 0: it reaches u and does not exceed it. "
                "Token 1 is drawn.");
}

int main(void)
{
    static float many[50], others[61];
    judge_begin();
    scores("4 scores, temperature 1", (const float[]){ 1, 3, 2, 0 }, 4, 1, 4);
    scores("5 scores, temperature 0.5, k = 3", (const float[]){ 0, 1.5f, 1, 2, 0.5f }, 5, 0.5f, 3);
    scores("4 scores, temperature 3, k = 2", (const float[]){ 1, 2, 4, 3 }, 4, 3, 2);
    scores("equal scores, k = 2", (const float[]){ 0, 1, 1, 1, 1 }, 5, 1, 2);
    just_half();
    scores("temperature 0, k = 1", (const float[]){ 3, 5, 5, 2 }, 4, 0, 1);
    scores("temperature 0", (const float[]){ 3, 5, 5, 2 }, 4, 0, 4);
    scores("temperature 0, k = 1, the largest score last", (const float[]){ 1, 3, 2, 6 }, 4, 0, 1);
    scores("temperature 0, the first two equal", (const float[]){ 5, 5, -1 }, 3, 0, 2);
    scores("one score", (const float[]){ -3 }, 1, 1, 1);
    scores("scores of 1000", (const float[]){ 1000, 1001, 999.5f, 10 }, 4, 1, 3);
    for (int i = 0; i < 61; i++) {
        if (i < 50) many[i] = (float)(i * i % 17) / 8;
        others[i] = (float)(i * 7 % 23) / 16;
    }
    scores("50 scores", many, 50, 1.5f, 40);
    scores("61 scores", others, 61, 0.75f, 60);
    return judge_end();
}
