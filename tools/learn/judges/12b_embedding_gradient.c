#include "../judge.h"

enum { MOST = 64, HELD = 1000 };

// There is room around dtable: what is written there is noticed.
static void tokens(const char *what, const int *id, int n, int V, int D)
{
    float *dy = judge_room(n * D, 0), *room = judge_room(3 * MOST, HELD), *dtable = room + MOST;
    int *own_id = judge_copy(id, sizeof *id * (size_t)n), outside = 0;
    for (int k = 0; k < n * D; k++) dy[k] = (float)(k * k % 37) / 4 - 3;
    judge_case(what);
    embed_backward(dy, own_id, dtable, n, V, D);
    judge_got_array("dtable", dtable, V, D);
    judge_compare(1e-5);
    for (int k = 0; k < 3 * MOST; k++)
        outside |= room[k] != HELD && (k < MOST || k >= MOST + V * D);
    judge_holds(!outside, "past_the_end");
}

static void judge_cases(void)
{
    tokens("7 tokens of 6, some of them repeated, 3 numbers each",
           (const int[]){ 1, 3, 1, 1, 0, 3, 2 }, 7, 6, 3);
    tokens("4 different tokens of 6, 3 numbers each", (const int[]){ 5, 0, 2, 4 }, 4, 6, 3);
    tokens("3 tokens of 8, 2 numbers each", (const int[]){ 6, 0, 6 }, 3, 8, 2);
    tokens("one token 4 times", (const int[]){ 2, 2, 2, 2 }, 4, 4, 1);
}
