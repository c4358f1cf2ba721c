#include "../judge.h"

enum { MOST = 128, AXES = 4 };

// The numbers are 1, 2, 3, ...: each says where it comes from. Which of b, t, h, d is wrong there?
// x (B,T,H,D) is read by split_heads, and y (B,H,T,D) by join_heads.
static void clue(const double *got, sizes n, int joins)
{
    static char sentence[400];
    const double *want = judge_wanted();
    const int at[AXES] = { 0, joins ? 2 : 1, joins ? 1 : 2, 3 };
    const int shape[AXES] = { n.B, joins ? n.H : n.T, joins ? n.T : n.H, n.D };
    int count = n.B * n.T * n.H * n.D, first = -1, wrong[AXES] = { 0 };
    for (int k = 0; k < count; k++) {
        int is = (int)got[k] - 1, should = (int)want[k] - 1;
        if (is == should) continue;
        if (first < 0) first = k;
        judge_clue(is < 0 || is >= count, joins ? "join_of_nothing" : "split_of_nothing");
        for (int axis = AXES - 1; axis >= 0; axis--) {
            wrong[at[axis]] |= is % shape[axis] != should % shape[axis];
            is /= shape[axis];
            should /= shape[axis];
        }
    }
    if (first < 0) return;
    snprintf(sentence, sizeof sentence,
             "the numbers are taken from wrong places. Element %d of %d is number %d of the array "
             "that is read, and should be its number %d. Over all elements,%s%s%s%s wrong; what is "
             "not listed is right.", first, count, (int)got[first] - 1, (int)want[first] - 1,
             wrong[0] ? " b is" : "", wrong[1] ? " t is" : "", wrong[2] ? " h is" : "",
             wrong[3] ? " d is" : "");
    judge_clue_saying(1, joins ? "joined_from_elsewhere" : "split_from_elsewhere", sentence);
}

static void moved(const char *what, sizes n, int joins)
{
    int count = n.B * n.T * n.H * n.D;
    float *from = judge_room(count, 0), *to = judge_room(count, -9);
    for (int k = 0; k < count; k++) from[k] = (float)(k + 1);
    judge_case(what);
    if (joins) join_heads(from, to, n);
    else split_heads(from, to, n);
    judge_got(to, count);
    clue(judge.got, n, joins);
    judge_compare(0);
}

static void heads(const char *what, const char *back, sizes n)
{
    moved(what, n, 0);
    moved(back, n, 1);
}

static void judge_cases(void)
{
    heads("two sequences of 3 tokens, 2 heads of 4", "and back", (sizes){ 2, 3, 2, 4 });
    heads("two sequences of 5 tokens, 3 heads of 2", "5 tokens, and back", (sizes){ 2, 5, 3, 2 });
    heads("three sequences of 2 tokens, 4 heads of 1", "three sequences, and back",
          (sizes){ 3, 2, 4, 1 });
    heads("one head", "one head, and back", (sizes){ 2, 3, 1, 4 });
}
