#include "../judge.h"

enum { MOST = 64, ROOM = 4 * MOST, BEHIND = 1000 };     // BEHIND: what lies behind count

// token[n] and what is behind it may be read by mistake, and is there for that.
static void text(const char *what, const int *text, int n, int V)
{
    float got[MOST];
    int token[MOST] = { 0 }, count[ROOM], behind = 0;
    memcpy(token, text, sizeof *text * (size_t)(n + 1));
    for (int k = 0; k < ROOM; k++) count[k] = k < V * V ? V * V - k : BEHIND;
    judge_case(what);
    int best = most_frequent_pair(token, n, V, count);
    for (int k = 0; k < V * V; k++) got[k] = (float)count[k];
    judge_got_array("count", got, V, V);
    judge_compare(0);
    for (int k = V * V; k < ROOM; k++) behind |= count[k] != BEHIND;
    judge_holds(!behind, "past_the_end");
    judge_case("the pair that is returned for the same");
    judge_holds(n > 1 || best == -1, "no_pair");
    judge_got_number(best);
    judge_compare(0);
    int *own = judge_copy(text, sizeof *text * (size_t)n);
    int *own_count = judge_copy(count, sizeof *count * (size_t)(V * V));
    most_frequent_pair(own, n, V, own_count);           // for the sanitizer: arrays of their sizes
}

static void judge_cases(void)
{
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
}
