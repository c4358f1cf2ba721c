#include "../judge.h"
#include EXERCISE

enum { MOST = 64, ROOM = 4 * MOST, BEHIND = 1000 };     // BEHIND: what lies behind count

// Errors of what is counted, and of the pair that is returned.
enum { RIGHT, APART, IN_TWOS, UNORDERED, BOTH_WAYS, SMALLER_FIRST, SWAPPED, SINGLES, ROW_ONLY,
       ADDED, ROWS_OF_N, TWO_APART, ANYWHERE, EQUAL_ONLY, UNEQUAL_ONLY, RUNS, TO_THE_END, RING,
       NO_LAST, NO_FIRST, NOT_ZEROED, ZEROED_V, ONCE, LAST_OF_EQUALS, RAREST, NO_PAIR_0,
       TWICE_AT_LEAST, FIRST_ROW, RETURNS };

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

static const mistake mistakes[] = {
    { APART, "no_overlap",
      "in a run of equal tokens, pairs are counted side by side. They overlap: 7 7 7 has the pair "
      "(7,7) twice." },
    { RUNS, "runs", "a run of equal tokens counts as one pair: 7 7 7 has the pair (7,7) twice." },
    { IN_TWOS, "in_twos",
      "only every second pair is counted: tokens 0 1, 2 3, ... Token 1 forms a pair with token 2, "
      "too." },
    { UNORDERED, "unordered", "(a,b) and (b,a) are counted together; \"on\" is not \"no\"." },
    { BOTH_WAYS, "both_ways",
      "each pair is counted as (a,b) and as (b,a), one of equal tokens twice: b stands behind a." },
    { SMALLER_FIRST, "sorted",
      "the smaller token of a pair was put first. The order is that of the text." },
    { SWAPPED, "swapped", "count[b V + a] was counted; b is the token behind a, and the column." },
    { SINGLES, "single_tokens", "this counts tokens; pairs of neighbors are wanted: a V + b." },
    { ROW_ONLY, "only_a", "only the first token chooses the place in count; it is a V + b." },
    { ADDED, "tokens_added", "the place in count is a + b, which many pairs share: a V + b." },
    { ROWS_OF_N, "rows_of_n", "a row of count was taken to have n numbers; it has V." },
    { TWO_APART, "two_apart", "token i was paired with token i + 2; its neighbor is i + 1." },
    { ANYWHERE, "anywhere",
      "each token was paired with all that come behind it; only with the one directly behind." },
    { EQUAL_ONLY, "equal_only", "only pairs of equal tokens are counted; all pairs are." },
    { UNEQUAL_ONLY, "unequal_only", "pairs of equal tokens are not counted; they are pairs, too." },
    { TO_THE_END, "past_the_end",
      "the last token was paired with what lies behind the text: off by one. n tokens have n - 1 "
      "pairs." },
    { RING, "ring", "the last token is paired with the first one. A text is no ring." },
    { NO_LAST, "last_pair", "the last pair, of tokens n - 2 and n - 1, is not counted." },
    { NO_FIRST, "first_pair", "the first pair, of tokens 0 and 1, is not counted." },
    { NOT_ZEROED, "not_zeroed",
      "what count held before is still in it. Set all V V numbers to zero first." },
    { ZEROED_V, "only_v_zeroed", "V numbers of count were set to zero first; it has V V." },
    { ONCE, "once", "each pair that occurs has the count 1: add 1 with each time it occurs." },
};

static const mistake of_return[] = {
    { LAST_OF_EQUALS, "last_of_equals",
      "of several pairs that occur equally often, it is the last one: >= takes later ones. Use "
      ">." },
    { NO_PAIR_0, "pair_0", "pair (0,0) was not looked at: k runs from 0." },
    { RAREST, "rarest", "this is the rarest of the pairs; the most frequent is wanted." },
    { TWICE_AT_LEAST, "twice_at_least",
      "a pair that occurs once is one, too: only if there is none, it is -1." },
    { FIRST_ROW, "first_row", "only the first V numbers of count were searched; it has V V." },
};

static int occurs_before(const int *token, int i)
{
    for (int j = 0; j < i; j++)
        if (token[j] == token[i] && token[j + 1] == token[i + 1]) return 1;
    return 0;
}

static int place(int a, int b, int n, int V, int e)
{
    if (e == SWAPPED || (e == SMALLER_FIRST && b < a)) return b * V + a;
    if (e == SINGLES) return a;
    if (e == ROW_ONLY) return a * V;
    if (e == ADDED) return a + b;
    return a * (e == ROWS_OF_N ? n : V) + b;
}

static int skipped(const int *token, int i, int e)
{
    int equal = token[i] == token[i + 1];
    if ((e == EQUAL_ONLY && !equal) || (e == UNEQUAL_ONLY && equal)) return 1;
    if (e == RUNS) return equal && i > 0 && token[i - 1] == token[i];
    return (e == NO_FIRST && i == 0) || (e == ONCE && occurs_before(token, i));
}

static int best_pair(const float *count, int n, int V, int e)
{
    int best = e == NO_PAIR_0, size = e == FIRST_ROW ? V : V * V;
    for (int k = best; k < size; k++) {
        int better = count[k] > count[best] || (e == LAST_OF_EQUALS && count[k] >= count[best]);
        if (e == RAREST) better = count[k] > 0 && (count[best] == 0 || count[k] < count[best]);
        if (better) best = k;
    }
    return n < 2 || (e == TWICE_AT_LEAST && count[best] < 2) ? -1 : best;
}

// The result of the call in [0], the counts behind it.
static void compute(const int *token, int n, int V, int e, float *out)
{
    float *count = out + 1;
    int end = e == TO_THE_END || e == RING || e == SINGLES ? n : n - 1;
    if (e == NO_LAST || e == TWO_APART) end = n - 2;
    for (int k = 0; k < ROOM; k++)
        count[k] = e == NOT_ZEROED || (e == ZEROED_V && k >= V) ? (float)(V * V - k) : 0;
    for (int i = 0; i < end; i++) {
        int a = token[i], b = token[e == RING ? (i + 1) % n : i + 1 + (e == TWO_APART)];
        for (int j = i + 2; j < n && e == ANYWHERE; j++)
            count[a * V + token[j]]++;
        if (skipped(token, i, e)) continue;
        count[place(a, b, n, V, e)]++;
        if (e == BOTH_WAYS || (e == UNORDERED && a != b)) count[b * V + a]++;
        if (e == IN_TWOS) i++;
        if (e == APART && a == b && i + 2 < n && token[i + 2] == b) i++;
    }
    out[0] = (float)best_pair(count, n, V, e);
}

// As in lesson 13: of pairs that occur equally often, the first in the text; or the last there.
static int in_text(const int *token, int n, int V, const float *count, int last)
{
    int best = -1;
    for (int i = 0; i + 1 < n; i++) {
        int pair = token[i] * V + token[i + 1];
        if (best < 0 || count[pair] > count[best] || (last && count[pair] >= count[best]))
            best = pair;
    }
    return best;
}

static void returned(const int *token, int n, int V, int best)
{
    float right[ROOM + 1];
    compute(token, n, V, RIGHT, right);
    const float *count = right + 1;
    int pair = (int)right[0];
    judge_case("the pair that is returned for the same");
    judge_got_number(best);
    judge_holds(n > 1 || best == -1, "no_pair",
                "one token, or none, has no pair: it should return -1.");
    for (unsigned k = 0; k < sizeof of_return / sizeof(mistake); k++)
        judge_mistake_number(of_return[k].name, of_return[k].sentence,
                             best_pair(count, n, V, of_return[k].e));
    judge_mistake_number("first_in_text",
                         "of several pairs that occur equally often, it is the first in the text, "
                         "as in lesson 13. Here it is that with the smallest a, then b.",
                         in_text(token, n, V, count, 0));
    judge_mistake_number("last_in_text",
                         "of several pairs that occur equally often, it is the last in the text. "
                         "Here it is that with the smallest a, then b.",
                         in_text(token, n, V, count, 1));
    judge_mistake_number("search_past_the_end",
                         "this is behind the end of count: its V V numbers are 0 ... V V - 1.",
                         V * V);
    judge_mistake_number("count_returned", "it is the count of the pair; a V + b is wanted.",
                         (double)count[n < 2 ? 0 : pair]);
    judge_mistake_number("swapped_return", "this is b V + a of the pair; a V + b is wanted.",
                         pair % V * V + pair / V);
    judge_mistake_number("first_token", "this is a of the pair; a V + b is wanted.", pair / V);
    judge_mistake_number("second_token", "this is b of the pair; a V + b is wanted.", pair % V);
    judge_mistake_number("never_found", "it returns -1, and there is a pair.", -1);
    judge_mistake_number("not_searched",
                         "it returns 0, which is the pair (0,0): is anything looked for in count?",
                         0);
    judge_want_number((double)right[0], 0);
}

// token[n] and what is behind it may be read by mistake, and is there for that.
static void text(const char *what, const int *text, int n, int V)
{
    float got[MOST], want[ROOM + 1], wrong[ROOM + 1];
    int token[MOST] = { 0 }, count[ROOM], behind = 0;
    memcpy(token, text, sizeof *text * (size_t)(n + 1));
    for (int k = 0; k < ROOM; k++)
        count[k] = k < V * V ? V * V - k : BEHIND;
    judge_case(what);
    int best = most_frequent_pair(token, n, V, count);
    for (int k = 0; k < V * V; k++)
        got[k] = (float)count[k];
    judge_got(got, V * V);
    judge_part("count", V, V);
    for (unsigned k = 0; k < sizeof mistakes / sizeof(mistake); k++) {
        compute(token, n, V, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong + 1, V * V);
    }
    compute(token, n, V, RIGHT, want);
    judge_want(want + 1, V * V, 0);
    for (int k = V * V; k < ROOM; k++)
        behind |= count[k] != BEHIND;
    judge_holds(!behind, "past_the_end", "it writes behind the end of count.");
    returned(token, n, V, best);
    int *own = judge_copy(text, sizeof *text * (size_t)n);
    int *own_count = judge_copy(count, sizeof *count * (size_t)(V * V));
    most_frequent_pair(own, n, V, own_count);           // for the sanitizer: arrays of their sizes
    free(own);
    free(own_count);
}

int main(void)
{
    judge_begin();
    text("the tokens 0 3 3 3 3 2 1 2 1 2 1 2 1 0 3 2",
         (const int[]){ 0, 3, 3, 3, 3, 2, 1, 2, 1, 2, 1, 2, 1, 0, 3, 2, 4 }, 16, 5);
    text("the tokens 0 1 2 0 1", (const int[]){ 0, 1, 2, 0, 1, 2 }, 5, 3);
    text("the tokens 2 2 2", (const int[]){ 2, 2, 2, 1 }, 3, 3);
    text("the tokens 2 3 2 3 4 1 4 1 0 3 0 3 1 2 1 2",
         (const int[]){ 2, 3, 2, 3, 4, 1, 4, 1, 0, 3, 0, 3, 1, 2, 1, 2, 0 }, 16, 5);
    text("the tokens 0 0 0 1", (const int[]){ 0, 0, 0, 1, 1 }, 4, 2);
    text("the tokens 2 0 1", (const int[]){ 2, 0, 1, 0 }, 3, 3);
    text("the tokens 1 0", (const int[]){ 1, 0, 1 }, 2, 2);
    text("a single token", (const int[]){ 1, 1 }, 1, 2);
    text("no token", (const int[]){ 1 }, 0, 2);
    return judge_end();
}
