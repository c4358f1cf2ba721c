#include "../judge.h"

enum { MOST = 32, NEW = 99, GONE = -1 };

// text[n] may be read by mistake, and is there for that. What stands behind the length that is
// returned is free, and only tells mistakes apart.
static void text(const char *what, const int *text, int n, int a, int b)
{
    int *token = judge_copy(text, sizeof(int) * (size_t)(n + 1));
    float got[MOST];
    judge_case(what);
    int length = merge(token, n, a, b, NEW);
    got[0] = (float)length;
    for (int i = 0; i < n; i++) got[1 + i] = (float)token[i];
    judge_got(got, 1 + n);
    judge_compare_later(0);
    for (int i = length; i >= 0 && i < n; i++) got[1 + i] = GONE;
    judge_got(got, 1 + n);
    judge_part("the length", 1, 1);
    judge_part("token", 1, n);
    judge_clue(!judge_right_in(0, 1, 0), "length");
    judge_compare(0);
    judge_holds(token[n] == text[n], "past_the_end");
    int *own = judge_copy(text, sizeof(int) * (size_t)n);
    merge(own, n, a, b, NEW);           // for the sanitizer: an array of its size
}

static void judge_cases(void)
{
    text("1 2 in 1 2 3 1 2 2 1 4 1 2 1", (const int[]){ 1, 2, 3, 1, 2, 2, 1, 4, 1, 2, 1, 2 }, 11, 1,
         2);
    text("1 2 in 1 1 2 3 1 2", (const int[]){ 1, 1, 2, 3, 1, 2, 4 }, 6, 1, 2);
    text("1 2 in 3 1 2 2 1 1", (const int[]){ 3, 1, 2, 2, 1, 1, 2 }, 6, 1, 2);
    text("7 7 in 7 7 7 2 7 7", (const int[]){ 7, 7, 7, 2, 7, 7, 7 }, 6, 7, 7);
    text("7 7 in 7 7 7 7 7", (const int[]){ 7, 7, 7, 7, 7, 7 }, 5, 7, 7);
    text("5 6 in a text without it", (const int[]){ 6, 5, 5, 1, 6 }, 4, 5, 6);
    text("1 2 in a single 1", (const int[]){ 1, 2 }, 1, 1, 2);
    text("1 2 in no token", (const int[]){ 1 }, 0, 1, 2);
}
