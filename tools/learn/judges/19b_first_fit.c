#include "../judge.h"

enum { MOST = 6 }; // tensors

typedef struct plan {
    const char *what;
    tensor t[MOST];
    int n;
} plan;

static const plan plans[] = {
    { "4 tensors in a chain", { { 0, 2, 40 }, { 1, 3, 40 }, { 3, 4, 30 }, { 5, 6, 90 } }, 4 },
    { "3 tensors", { { 0, 2, 10 }, { 0, 1, 20 }, { 1, 2, 5 } }, 3 },
    { "a gap that is too small for one",
      { { 0, 1, 50 }, { 2, 4, 20 }, { 0, 4, 10 }, { 3, 4, 40 }, { 4, 4, 30 } }, 5 },
    { "a gap between two that stay",
      { { 0, 3, 10 }, { 0, 0, 10 }, { 0, 3, 10 }, { 1, 3, 15 } }, 4 },
    { "4 tensors in another order", { { 0, 0, 20 }, { 0, 3, 10 }, { 1, 3, 5 }, { 2, 3, 17 } }, 4 },
    { "6 tensors whose lives are in no order",
      { { 4, 6, 30 }, { 0, 2, 50 }, { 2, 5, 20 }, { 0, 6, 5 }, { 3, 3, 28 }, { 0, 1, 12 } }, 6 },
    { "4 tensors, two of them short", { { 0, 9, 8 }, { 0, 0, 8 }, { 0, 0, 4 }, { 0, 9, 6 } }, 4 },
    { "a gap that just fits", { { 0, 3, 40 }, { 1, 3, 10 }, { 0, 0, 20 }, { 0, 3, 20 } }, 4 },
    { "a tensor that collides with the first after it was moved",
      { { 0, 5, 30 }, { 4, 5, 10 }, { 0, 2, 20 }, { 4, 4, 25 }, { 2, 4, 15 } }, 5 },
    { "one tensor", { { 0, 2, 40 } }, 1 },
};

enum { PLANS = sizeof plans / sizeof *plans, PLACES = PLANS * (MOST + 1) };

static int touches(const tensor *a, double at_a, const tensor *b, double at_b)
{
    int together = a->first <= b->last && b->first <= a->last;
    return together && at_a < at_b + (double)b->bytes && at_b < at_a + (double)a->bytes;
}

// What is wrong with a plan: two that collide, one that could lie lower, or the total.
static void clues(const tensor *t, int n, const double *got)
{
    static char sentence[300];
    const double *want = judge_wanted();
    for (int i = 0; i < n && !judge.clue; i++) {
        judge_clue(got[i] < 0, "no_place");
        for (int k = 0; k < i; k++) {
            int node = t[i].first > t[k].first ? t[i].first : t[k].first;
            if (!touches(&t[i], got[i], &t[k], got[k])) continue;
            snprintf(sentence, sizeof sentence,
                     "tensors %d and %d are both alive at node %d, and share bytes: %d lies at %g "
                     "and has %ld, %d lies at %g and has %ld.", k, i, node, k, got[k], t[k].bytes,
                     i, got[i], t[i].bytes);
            judge_clue_saying(1, "collision", sentence);
            return;
        }
        if (got[i] == want[i]) continue;
        snprintf(sentence, sizeof sentence,
                 "tensor %d could lie lower: it was put at %g, and at %g it touches no tensor that "
                 "is alive with it.", i, got[i], want[i]);
        judge_clue_saying(got[i] > want[i], "not_lowest", sentence);
    }
    if (judge.clue || got[n] == want[n]) return;
    snprintf(sentence, sizeof sentence,
             "the places are right. The highest byte that is used, plus one, is %g, and the total "
             "is %g.", want[n], got[n]);
    judge_clue_saying(1, "other_total", sentence);
}

static void make_plan(const plan *p, float *got)
{
    long *offset = judge_copy((const long[MOST]){ 0 }, sizeof(long) * (size_t)p->n);
    tensor *own = judge_copy(p->t, sizeof *own * (size_t)p->n);
    for (int i = 0; i < p->n; i++) offset[i] = -9;
    judge.what = p->what;
    got[p->n] = (float)place(own, p->n, offset);
    for (int i = 0; i < p->n; i++) got[i] = (float)offset[i];
}

// A mistake is recognized by what it makes of all plans: the few numbers of one fit too much.
static void judge_cases(void)
{
    float got[PLACES] = { 0 };
    judge_case("all plans");
    for (int i = 0; i < PLANS; i++) make_plan(&plans[i], got + i * (MOST + 1));
    judge_got(got, PLACES);
    judge_compare_later(0);
    for (int i = 0; i < PLANS; i++) {
        judge.what = plans[i].what;
        judge_got(got + i * (MOST + 1), plans[i].n + 1);
        judge_part("offset", 1, plans[i].n);
        judge_part("the total", 1, 1);
        clues(plans[i].t, plans[i].n, judge.got);
        judge_compare_few(0);
    }
}
