#include "../judge.h"
#include EXERCISE

enum { MOST = 32, NEW = 99, GONE = -1 };

enum { RIGHT, FROM_THE_RIGHT, FIRST_ONLY, LAST_ONLY, OLD_LENGTH, MERGES_RETURNED, ONE_LESS,
       ONE_MORE, ZERO, GAP, OVERLAP, TWICE_NEW, KEEPS_A, KEEPS_B, REMOVED, HOLES, BOTH_ORDERS,
       SWAPPED, PAST_THE_END, IN_TWOS, TOO_FAR, ONLY_A, ONLY_B, EACH_OF_BOTH, LAST_LOST, NOTHING,
       NOT_FIRST };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { FROM_THE_RIGHT, "from_the_right",
      "the text was merged from right to left: 7 7 7 became 7 9. Read it from the left: 9 7." },
    { FIRST_ONLY, "first_only", "only the first pair was merged; all of them are." },
    { LAST_ONLY, "last_only", "only the last pair was merged; all of them are." },
    { NOTHING, "nothing_merged", "no pair was merged: the text is as it was." },
    { OLD_LENGTH, "old_length",
      "the tokens are right, but it returns the old length; each merge makes the text one "
      "shorter." },
    { MERGES_RETURNED, "merges_returned",
      "the tokens are right, but it returns how many pairs were merged; how many tokens are "
      "left?" },
    { ONE_LESS, "one_less", "the tokens are right, but it returns one less than there are." },
    { ONE_MORE, "one_more", "the tokens are right, but it returns one more than there are." },
    { ZERO, "zero_returned", "the tokens are right, but it returns 0: return how many there are." },
    { GAP, "second_stays",
      "the second token of a pair is still there: after a merge, go on by two." },
    { OVERLAP, "used_again",
      "a token was merged twice, with that before and with that behind. What has been merged is "
      "not "
      "used again: 7 7 7 becomes 9 7." },
    { TWICE_NEW, "new_twice", "both tokens of a pair became the new one; it is one for both." },
    { KEEPS_A, "keeps_a", "a stands where the new token should: b is gone, but nothing is new." },
    { KEEPS_B, "keeps_b", "b stands where the new token should: a is gone, but nothing is new." },
    { REMOVED, "removed", "the pairs are gone, and no new token stands in their place." },
    { HOLES, "holes",
      "the new tokens stand where the pairs were, and what is behind has not moved up: the text "
      "has gaps. Write with an index of its own." },
    { BOTH_ORDERS, "both_orders", "b a was merged, too. Only b directly behind a is the pair." },
    { SWAPPED, "swapped", "b a was merged, and a b was not: a comes first." },
    { PAST_THE_END, "past_the_end",
      "the last token was merged with what lies behind the text: test that there is a token at "
      "i + 1." },
    { IN_TWOS, "in_twos",
      "it goes on by two even if nothing was merged, and so misses pairs that begin at odd "
      "places." },
    { TOO_FAR, "goes_on_by_three", "the token behind each merged pair is lost: go on by two." },
    { ONLY_A, "only_a", "every a was replaced; it takes a b behind it." },
    { ONLY_B, "only_b", "every b was replaced; it takes an a before it." },
    { EACH_OF_BOTH, "a_or_b", "every a and every b was replaced; only a b behind an a is a pair." },
    { LAST_LOST, "last_lost",
      "the last token is lost if it is in no pair: where there is no token behind, copy it." },
    { NOT_FIRST, "first_not_looked_at", "a pair at the beginning was not merged: i begins at 0." },
};

static int is_pair(const int *token, int n, int i, int a, int b, int e)
{
    int end = e == PAST_THE_END ? n : n - 1;
    if (e == ONLY_A) return token[i] == a;
    if (e == ONLY_B) return token[i] == b;
    if (e == EACH_OF_BOTH) return token[i] == a || token[i] == b;
    if (i >= end || e == NOTHING || (e == NOT_FIRST && i == 0)) return 0;
    if (e == SWAPPED) return token[i] == b && token[i + 1] == a;
    if (token[i] == a && token[i + 1] == b) return 1;
    return e == BOTH_ORDERS && token[i] == b && token[i + 1] == a;
}

static int last_pair(const int *token, int n, int a, int b)
{
    int last = -1;
    for (int i = 0; i + 1 < n; i++)
        if (token[i] == a && token[i + 1] == b) last = i;
    return last;
}

// Reads from the left, into out; returns what the call returns.
static int from_left(const int *token, int n, int a, int b, int e, int *out)
{
    int m = 0, merges = 0;
    for (int i = 0; i < n; i++) {
        int pair = is_pair(token, n, i, a, b, e);
        if (e == FIRST_ONLY && merges) pair = 0;
        if (e == LAST_ONLY && i != last_pair(token, n, a, b)) pair = 0;
        if (!pair && e == LAST_LOST && i == n - 1) break;
        out[m++] = pair ? NEW : token[i];
        merges += pair;
        if (pair && e == KEEPS_A) out[m - 1] = a;
        if (pair && e == KEEPS_B) out[m - 1] = b;
        if (pair && e == REMOVED) m--;
        if (pair && e == TWICE_NEW) out[m++] = NEW;
        if (pair && e == HOLES) out[m++] = b;
        if (pair && e == OVERLAP && is_pair(token, n, i + 1, a, b, e)) continue;
        if (pair && e != GAP && e != ONLY_A && e != ONLY_B && e != EACH_OF_BOTH) i++;
        if (pair && e == TOO_FAR) i++;
        if (!pair && e == IN_TWOS && i + 1 < n) out[m++] = token[++i];
    }
    switch (e) {
    case OLD_LENGTH: return n;
    case HOLES: return n - merges;
    case MERGES_RETURNED: return merges;
    case ONE_LESS: return m - 1;
    case ONE_MORE: return m + 1;
    case ZERO: return 0;
    default: return m;
    }
}

static int from_right(const int *token, int n, int a, int b, int *out)
{
    int back[MOST], m = 0;
    for (int i = n - 1; i >= 0; i--) {
        int pair = i > 0 && token[i - 1] == a && token[i] == b;
        back[m++] = pair ? NEW : token[i];
        i -= pair;
    }
    for (int i = 0; i < m; i++)
        out[i] = back[m - 1 - i];
    return m;
}

// The length in [0], then n tokens.
static void written(const int *token, int length, int n, float *out)
{
    out[0] = (float)length;
    for (int i = 0; i < n; i++)
        out[1 + i] = (float)token[i];
}

// text[n] may be read by mistake, and is there for that.
static void text(const char *what, const int *text, int n, int a, int b)
{
    int out[2 * MOST], *token = judge_copy(text, sizeof(int) * (size_t)(n + 1));
    float got[MOST], want[MOST], wrong[MOST];
    judge_case(what);
    int length = merge(token, n, a, b, NEW);
    int shorter = from_left(text, n, a, b, RIGHT, out);
    written(out, shorter, shorter, want);
    written(token, length, shorter, got);
    judge_got(got, 1 + shorter);
    judge_part("the length", 1, 1);
    judge_part("token", 1, shorter);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        int e = mistakes[k].e;
        for (int i = 0; i < 2 * MOST; i++)
            out[i] = i < n ? text[i] : GONE;    // in place: what is not written stays
        int m = e == FROM_THE_RIGHT ? from_right(text, n, a, b, out)
                                    : from_left(text, n, a, b, e, out);
        written(out, m, shorter, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, 1 + shorter);
    }
    judge_holds(got[0] == want[0] || judge.mistake, "length",
                "it does not return how many tokens there are after the merges.");
    judge_want(want, 1 + shorter, 0);
    judge_holds(token[n] == text[n], "past_the_end", "it writes behind the n tokens.");
    free(token);
    int *own = judge_copy(text, sizeof(int) * (size_t)n);
    merge(own, n, a, b, NEW);           // for the sanitizer: an array of its size
    free(own);
}

int main(void)
{
    judge_begin();
    text("1 2 in 1 2 3 1 2 2 1 4 1 2 1", (const int[]){ 1, 2, 3, 1, 2, 2, 1, 4, 1, 2, 1, 2 }, 11, 1,
         2);
    text("1 2 in 1 1 2 3 1 2", (const int[]){ 1, 1, 2, 3, 1, 2, 4 }, 6, 1, 2);
    text("1 2 in 3 1 2 2 1 1", (const int[]){ 3, 1, 2, 2, 1, 1, 2 }, 6, 1, 2);
    text("7 7 in 7 7 7 2 7 7", (const int[]){ 7, 7, 7, 2, 7, 7, 7 }, 6, 7, 7);
    text("7 7 in 7 7 7 7 7", (const int[]){ 7, 7, 7, 7, 7, 7 }, 5, 7, 7);
    text("5 6 in a text without it", (const int[]){ 6, 5, 5, 1, 6 }, 4, 5, 6);
    text("1 2 in a single 1", (const int[]){ 1, 2 }, 1, 1, 2);
    text("1 2 in no token", (const int[]){ 1 }, 0, 1, 2);
    return judge_end();
}
