#include "../judge.h"

enum { MOST = 64, DRAWS = 41 };

// Steps of u that no sum of these scores comes near, and both ends.
static float number(int i)
{
    if (i == 0) return 0;
    return i == DRAWS - 1 ? 0.99999994f : ((float)i - 0.47f) / (DRAWS - 1);
}

// The first u, or the last, alone is wrong.
static void judge_ends(const double *got, const double *want)
{
    int at_first = got[0] != want[0], at_last = got[DRAWS - 1] != want[DRAWS - 1];
    if (!judge_right_in(1, DRAWS - 2, 0)) return;
    judge_clue(at_first && !at_last, "at_least");
    judge_clue(at_last && !at_first, "rounding");
}

// What is seen of the tokens that were drawn, as u goes from 0 to 1.
static void clues(const double *got, const double *want, int n)
{
    static char sentence[300];
    int drawn[MOST] = { 0 }, wanted[MOST] = { 0 }, falls = 0;
    for (int i = 0; i < DRAWS; i++) {
        int outside = !(got[i] >= 0 && got[i] < n);
        judge_clue(outside, "no_token");
        if (outside) return;
        drawn[(int)got[i]]++;
        wanted[(int)want[i]]++;
        falls |= i > 0 && got[i] < got[i - 1];
    }
    for (int i = 0; i < n && !judge.clue; i++) {
        snprintf(sentence, sizeof sentence,
                 drawn[i] ? "token %d is drawn, and should not be: it does not remain."
                          : "token %d remains, and no u between 0 and 1 draws it.", i);
        judge_clue_saying(drawn[i] && !wanted[i], "drawn_too_much", sentence);
        judge_clue_saying(!drawn[i] && wanted[i] > 1, "never_drawn", sentence);
    }
    judge_clue(falls, "not_in_order");
    for (int i = 0; i < n && !judge.clue; i++) {
        snprintf(sentence, sizeof sentence,
                 "the right tokens are drawn in the right order, but with other probabilities: of "
                 "%d u between 0 and 1, %d draw token %d, and %d should. Look at the softmax of "
                 "score / temperature.", DRAWS, drawn[i], i, wanted[i]);
        judge_clue_saying(drawn[i] != wanted[i], "other_probabilities", sentence);
    }
}

static void scores(const char *what, const float *score, int n, float temperature, int k)
{
    float got[DRAWS];
    judge_case(what);
    for (int i = 0; i < DRAWS; i++) got[i] = (float)draw(score, n, temperature, k, number(i));
    judge_got(got, DRAWS);
    judge_ends(judge.got, judge_wanted());
    clues(judge.got, judge_wanted(), n);
    judge_compare(0);
}

// Two equal scores: the sums are 0.5 and 1, without any rounding.
static void just_half(void)
{
    float two[2] = { 3, 3 };
    judge_case("two equal scores, u just 0.5");
    judge_holds(draw(two, 2, 1, 2, 0.5f) == 1, "reached_not_exceeded");
}

static void judge_cases(void)
{
    static float many[50], others[61];
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
}
