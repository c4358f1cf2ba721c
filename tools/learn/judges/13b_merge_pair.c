#include "../judge.h"
#include EXERCISE

enum { MOST = 32, NEW = 99 };

enum {
    RIGHT,
    FROM_THE_RIGHT,
    FIRST_ONLY,
    OLD_LENGTH,
    GAP,
    BOTH_ORDERS,
    PAST_THE_END,
    IN_TWOS,
    ONLY_A
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { FROM_THE_RIGHT, "from_the_right",
      "the text was merged from right to left: 7 7 7 became 7 9. Read it from the left: 9 7." },
    { FIRST_ONLY, "first_only", "only the first pair was merged; all of them are." },
    { OLD_LENGTH, "old_length",
      "the tokens are right, but it returns the old length; each merge makes the text one "
      "shorter." },
    { GAP, "second_stays",
      "the second token of a pair is still there: after a merge, go on by two." },
    { BOTH_ORDERS, "both_orders", "b a was merged, too. Only b directly behind a is the pair." },
    { PAST_THE_END, "past_the_end",
      "the last token was merged with what lies behind the text: test that there is a token at "
      "i + 1." },
    { IN_TWOS, "in_twos",
      "it goes on by two even if nothing was merged, and so misses pairs that begin at odd "
      "places." },
    { ONLY_A, "only_a", "every a was replaced; it takes a b behind it." },
};

static int is_pair(const int *token, int n, int i, int a, int b, int e)
{
    int end = e == PAST_THE_END ? n : n - 1;
    if (i >= end) return 0;
    if (token[i] == a && (token[i + 1] == b || e == ONLY_A)) return 1;
    return e == BOTH_ORDERS && token[i] == b && token[i + 1] == a;
}

// Reads from the left, into out; returns how many.
static int from_left(const int *token, int n, int a, int b, int e, int *out)
{
    int m = 0, merges = 0;
    for (int i = 0; i < n; i++) {
        int pair = is_pair(token, n, i, a, b, e) && !(e == FIRST_ONLY && merges);
        out[m++] = pair ? NEW : token[i];
        merges += pair;
        if (pair && e != GAP && e != ONLY_A) i++;
        if (!pair && e == IN_TWOS && i + 1 < n) out[m++] = token[++i];
    }
    return e == OLD_LENGTH ? n : m;
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

// The length in [0], then the first n tokens, with -1 behind the text.
static void written(const int *token, int length, int n, float *out)
{
    out[0] = (float)length;
    for (int i = 0; i < n; i++)
        out[1 + i] = i < length ? (float)token[i] : -1;
}

// text[n] may be read by mistake, and is there for that.
static void text(const char *what, const int *text, int n, int a, int b)
{
    int out[MOST], *token = judge_copy(text, sizeof(int) * (size_t)(n + 1));
    float got[MOST], want[MOST], wrong[MOST];
    judge_case(what);
    int length = merge(token, n, a, b, NEW);
    int shorter = from_left(text, n, a, b, RIGHT, out);
    written(out, shorter, shorter, want);
    written(token, length, shorter, got);
    judge_got(got, 1 + shorter);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        int e = mistakes[k].e;
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
}

int main(void)
{
    judge_begin();
    text("1 2 in 1 1 2 3 1 2", (const int[]){ 1, 1, 2, 3, 1, 2, 4 }, 6, 1, 2);
    text("1 2 in 3 1 2 2 1 1", (const int[]){ 3, 1, 2, 2, 1, 1, 2 }, 6, 1, 2);
    text("7 7 in 7 7 7 2 7 7", (const int[]){ 7, 7, 7, 2, 7, 7, 7 }, 6, 7, 7);
    text("7 7 in 7 7 7 7 7", (const int[]){ 7, 7, 7, 7, 7, 7 }, 5, 7, 7);
    text("5 6 in a text without it", (const int[]){ 6, 5, 5, 1, 6 }, 4, 5, 6);
    text("1 2 in a single 1", (const int[]){ 1, 2 }, 1, 1, 2);
    text("1 2 in no token", (const int[]){ 1 }, 0, 1, 2);
    return judge_end();
}
