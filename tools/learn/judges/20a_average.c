#include "../judge.h"

enum { MOST = 8 };

typedef struct batch {
    const float *g[5];
    int rows[5], replicas, n;
} batch;

static void call(const batch *b, float *y)
{
    float *own[5], *room = judge_room(b->n, 5);
    for (int r = 0; r < b->replicas; r++)
        own[r] = judge_copy(b->g[r], sizeof(float) * (size_t)b->n);
    int *rows = judge_copy(b->rows, sizeof(int) * (size_t)b->replicas);
    const float **g = judge_copy(own, sizeof *own * (size_t)b->replicas);
    average(g, rows, b->replicas, b->n, room);
    memcpy(y, room, sizeof(float) * (size_t)b->n);
}

// How much each replica counts: the result, if its gradient is 1 and all others are 0.
static void clues(const batch *b)
{
    static char sentence[200];
    static const float ones[MOST] = { 1, 1, 1, 1, 1, 1, 1, 1 }, zeros[MOST] = { 0 };
    float y[MOST];
    double total = 0;
    if (!judge_is_wrong(1e-5)) return;
    for (int r = 0; r < b->replicas; r++) total += b->rows[r];
    for (int r = 0; r < b->replicas && !judge.clue; r++) {
        batch probe = *b;
        for (int k = 0; k < b->replicas; k++) probe.g[k] = k == r ? ones : zeros;
        call(&probe, y);
        snprintf(sentence, sizeof sentence,
                 "replica %d has %d of %g rows, and counts %.4g times in mean[0]; it should count "
                 "%.4g times.", r, b->rows[r], total, (double)y[0], b->rows[r] / total);
        judge_clue_saying(!judge_close((double)y[0], b->rows[r] / total, 1e-5), "other_weight",
                          sentence);
    }
    judge_clue(1, "other_numbers");
}

static void judged(const char *what, batch b)
{
    float got[MOST];
    judge_case(what);
    call(&b, got);
    judge_got(got, b.n);
    judge_part("mean", 1, b.n);
    for (int i = 0; i < b.n; i++)
        judge_holds(got[i] == got[i], "empty_counts");
    clues(&b);
    judge_compare(1e-5);
}

static void judge_cases(void)
{
    static const float a[] = { 1, -2, 0.5f }, b[] = { 4, 0.25f, 3 }, c[] = { -8, 6, 1 };
    static const float d[] = { 2, 5, -7 }, none[] = { NAN, NAN, NAN };
    judged("three replicas with 2, 5 and 4 rows", (batch){ { a, b, c }, { 2, 5, 4 }, 3, 3 });
    judged("two replicas with 2 and 6 rows", (batch){ { a, b }, { 2, 6 }, 2, 3 });
    judged("three replicas with 4, 4 and 1 rows", (batch){ { a, b, c }, { 4, 4, 1 }, 3, 3 });
    judged("three replicas, of which one has no rows",
           (batch){ { a, none, c }, { 3, 0, 1 }, 3, 3 });
    judged("five replicas, of which the last two have no rows, 2 numbers",
           (batch){ { c, d, b, none, none }, { 4, 4, 2, 0, 0 }, 5, 2 });
    judged("one replica", (batch){ { a }, { 5 }, 1, 3 });
}
