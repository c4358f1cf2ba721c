#include "../judge.h"
#include EXERCISE

enum { MOST = 64, BEHIND = 1000 }; // BEHIND: what lies behind count

enum { RIGHT, APART, IN_TWOS, UNORDERED, TO_THE_END, RING, NOT_ZEROED, LAST_OF_EQUALS, SWAPPED };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { APART, "no_overlap",
      "in a run of equal tokens, pairs are counted side by side. They overlap: 7 7 7 has the pair "
      "(7,7) twice." },
    { IN_TWOS, "in_twos",
      "only every second pair is counted: tokens 0 1, 2 3, ... Token 1 forms a pair with token 2, "
      "too." },
    { UNORDERED, "unordered", "(a,b) and (b,a) are counted together; \"on\" is not \"no\"." },
    { SWAPPED, "swapped", "count[b V + a] was counted; b is the token behind a, and the column." },
    { TO_THE_END, "past_the_end",
      "the last token was paired with what lies behind the text: off by one. n tokens have n - 1 "
      "pairs." },
    { RING, "ring", "the last token is paired with the first one. A text is no ring." },
    { NOT_ZEROED, "not_zeroed",
      "what count held before is still in it. Set all V V numbers to zero first." },
};

// The result of the call in [0], the counts behind it.
static void compute(const int *token, int n, int V, int e, float *out)
{
    float *count = out + 1;
    int best = 0, end = e == TO_THE_END || e == RING ? n : n - 1;
    for (int k = 0; k < V * V; k++)
        count[k] = e == NOT_ZEROED ? (float)(V * V - k) : 0;
    for (int i = 0; i < end; i++) {
        int a = token[i], b = token[e == RING ? (i + 1) % n : i + 1];
        count[e == SWAPPED ? b * V + a : a * V + b]++;
        if (e == UNORDERED && a != b) count[b * V + a]++;
        if (e == IN_TWOS) i++;
        if (e == APART && a == b && i + 2 < n && token[i + 2] == b) i++;
    }
    for (int k = 0; k < V * V; k++)
        if (count[k] > count[best] || (e == LAST_OF_EQUALS && count[k] >= count[best])) best = k;
    out[0] = (float)(n < 2 ? -1 : best);
}

// As in lesson 13: of pairs that occur equally often, the first in the text.
static int first_in_text(const int *token, int n, int V, const float *count)
{
    int best = -1;
    for (int i = 0; i + 1 < n; i++) {
        int pair = token[i] * V + token[i + 1];
        if (best < 0 || count[pair] > count[best]) best = pair;
    }
    return best;
}

// token[n] may be read by mistake, and is there for that.
static void text(const char *what, const int *token, int n, int V)
{
    int *count = judge_copy((const int[MOST]){ 0 }, sizeof(int) * (size_t)(V * V + 1));
    float got[MOST], want[MOST + 1], wrong[MOST + 1];
    for (int k = 0; k <= V * V; k++)
        count[k] = k < V * V ? V * V - k : BEHIND;
    int best = most_frequent_pair(token, n, V, count);
    for (int k = 0; k < V * V; k++)
        got[k] = (float)count[k];
    compute(token, n, V, RIGHT, want);
    judge_case(what);
    judge_got(got, V * V);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(token, n, V, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong + 1, V * V);
    }
    judge_want(want + 1, V * V, 0);
    judge_holds(count[V * V] == BEHIND, "past_the_end", "it writes behind the end of count.");
    free(count);

    judge_case("the pair that is returned for the same");
    judge_got_number(best);
    compute(token, n, V, LAST_OF_EQUALS, wrong);
    judge_holds(n > 1 || best == -1, "no_pair",
                "one token, or none, has no pair: it should return -1.");
    judge_mistake_number("last_of_equals",
                         "of several pairs that occur equally often, it is the last one: >= takes "
                         "later ones. Use >.",
                         (double)wrong[0]);
    judge_mistake_number("first_in_text",
                         "of several pairs that occur equally often, it is the first in the text, "
                         "as in lesson 13. Here it is that with the smallest a, then b.",
                         (double)first_in_text(token, n, V, want + 1));
    judge_mistake_number("search_past_the_end",
                         "this is behind the end of count: its V V numbers are 0 ... V V - 1.",
                         (double)V * V);
    judge_mistake_number("count_returned", "it is the count of the pair; a V + b is wanted.",
                         (double)want[1 + (n < 2 ? 0 : (int)want[0])]);
    judge_want_number((double)want[0], 0);
}

int main(void)
{
    judge_begin();
    text("the tokens 0 1 2 0 1", (const int[]){ 0, 1, 2, 0, 1, 2 }, 5, 3);
    text("the tokens 2 2 2", (const int[]){ 2, 2, 2, 1 }, 3, 3);
    text("the tokens 3 3 3 3 1 0 1 0", (const int[]){ 3, 3, 3, 3, 1, 0, 1, 0, 0 }, 8, 4);
    text("the tokens 1 0 3 1 0 3 1", (const int[]){ 1, 0, 3, 1, 0, 3, 1, 2 }, 7, 4);
    text("the tokens 4 1 4 1 0 3 0 3 2", (const int[]){ 4, 1, 4, 1, 0, 3, 0, 3, 2, 4 }, 9, 5);
    text("a single token", (const int[]){ 1, 1 }, 1, 2);
    text("no token", (const int[]){ 1 }, 0, 2);
    return judge_end();
}
