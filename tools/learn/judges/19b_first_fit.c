#include "../judge.h"
#include EXERCISE

enum { MOST = 6 }; // tensors

enum {
    RIGHT, NOTHING_SHARED, ENDS, ONE_PASS, BEHIND_ALL, BEGINS, LAST_ALONE, SAME_FIRST, WITHIN,
    FREED, MADE, A_GAP, ADDED_UP, OWN_BYTES, AT_0, TOTAL, SUM, LARGEST, HIGHEST, ONE_LESS, ONE_MORE
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { AT_0, "everything_at_0", "tensors that are alive together lie at the same place." },
    { NOTHING_SHARED, "nothing_shared",
      "each tensor has bytes of its own. Those that are never alive at the same node may share." },
    { ENDS, "ends_do_not_count",
      "a tensor that ends where another begins shares its bytes: but at that node both are "
      "alive." },
    { ONE_PASS, "one_pass",
      "a tensor was moved behind one that it collided with, and collides with an earlier one "
      "there. Look at all of them again." },
    { BEHIND_ALL, "behind_all",
      "a tensor lies behind all that are alive, though there is a gap below that it fits into." },
    { BEGINS, "begins_alone",
      "only the first byte was looked at: a tensor begins in a gap that is too small for it." },
    { LAST_ALONE, "last_one_alone",
      "each tensor was compared with the one before it alone. Look at all that have a place." },
    { SAME_FIRST, "same_first",
      "only tensors that begin at the same node are kept apart. Lives overlap if each begins "
      "before the other ends." },
    { WITHIN, "begins_within",
      "lives were taken to overlap only if this tensor begins while the other lives. The list is "
      "in any order: the other may begin while this one lives." },
    { FREED, "freed_only",
      "it was looked whether the other has ended when this one begins. The other may also begin "
      "after this one has ended." },
    { MADE, "made_later",
      "it was looked whether the other begins after this one has ended. It may also have ended "
      "before this one begins." },
    { A_GAP, "a_gap",
      "tensors that touch are taken for a collision: the first byte behind a tensor is free." },
    { ADDED_UP, "sizes_added",
      "the bytes of those that collide are added up. The next offset is directly behind the other: "
      "its offset + its bytes." },
    { OWN_BYTES, "own_bytes",
      "a tensor is moved by its own bytes. The next offset that may do is the other's end." },
    { SUM, "sum_of_all", "the places are right. The total is the highest end, not the sum." },
    { LARGEST, "largest_tensor",
      "the places are right. The total is the highest end: offset + bytes, not the most bytes." },
    { HIGHEST, "highest_offset",
      "the places are right. The total is the highest end; the bytes of the tensor belong to it." },
    { ONE_LESS, "last_byte",
      "the places are right. The total is one more than the number of the highest byte." },
    { ONE_MORE, "one_byte_more",
      "the places are right, and the total is one too large: offset + bytes is one behind the last "
      "byte already." },
    { TOTAL, "wrong_total",
      "the places are right. The total is the highest end of all, not that of the last one." },
};

static int together(const tensor *a, const tensor *b, int e)
{
    if (e == NOTHING_SHARED) return 1;
    if (e == AT_0) return 0;
    if (e == SAME_FIRST) return a->first == b->first;
    if (e == WITHIN) return b->first <= a->first && a->first <= b->last;
    if (e == FREED) return a->first <= b->last;
    if (e == MADE) return b->first <= a->last;
    if (e == ENDS) return a->first < b->last && b->first < a->last;
    return a->first <= b->last && b->first <= a->last;
}

// Does t[i], at this offset, touch t[k]?
static int touches(const tensor *t, int i, double at, int k, const float *offset, int e)
{
    double other = (double)offset[k], end = other + (double)t[k].bytes;
    if (!together(&t[i], &t[k], e) || (e == LAST_ALONE && k < i - 1)) return 0;
    if (e == A_GAP) return at <= end && other <= at + (double)t[i].bytes;
    if (e == BEHIND_ALL) return end > at;
    if (e == BEGINS) return at >= other && at < end;
    return at < end && other < at + (double)t[i].bytes;
}

static void compute(const tensor *t, int n, int e, float *out)
{
    float most = 0, sum = 0, highest = 0, largest = 0;
    for (int i = 0; i < n; i++) {
        double at = 0;
        for (int k = 0; k < i; k++)
            if (touches(t, i, at, k, out, e)) {
                double end = (double)out[k] + (double)t[k].bytes;
                if (e == A_GAP) end++;
                if (e == ADDED_UP) end = at + (double)t[k].bytes;
                if (e == OWN_BYTES) end = at + (double)t[i].bytes;
                at = end;
                if (e != ONE_PASS) k = -1;
            }
        out[i] = (float)at;
        float end = (float)(at + (double)t[i].bytes);
        if (end > most || e == TOTAL) most = end;
        sum += (float)t[i].bytes;
        highest = fmaxf(highest, out[i]);
        largest = fmaxf(largest, (float)t[i].bytes);
    }
    out[n] = most;
    if (e == SUM) out[n] = sum;
    if (e == LARGEST) out[n] = largest;
    if (e == HIGHEST) out[n] = highest;
    if (e == ONE_LESS) out[n] = most - 1;
    if (e == ONE_MORE) out[n] = most + 1;
}

// What is wrong with a plan: two that collide, one that could lie lower, or the total.
static void clues(const tensor *t, int n, const float *got, const float *want)
{
    static char sentence[300];
    for (int i = 0; i < n && !judge.clue; i++) {
        judge_clue(got[i] < 0, "no_place", "there is an offset that was not written, or below 0.");
        for (int k = 0; k < i; k++) {
            if (!touches(t, i, (double)got[i], k, got, RIGHT)) continue;
            int node = t[i].first > t[k].first ? t[i].first : t[k].first;
            snprintf(sentence, sizeof sentence,
                     "tensors %d and %d are both alive at node %d, and share bytes: %d lies at %g "
                     "and has %ld, %d lies at %g and has %ld.", k, i, node, k, (double)got[k],
                     t[k].bytes, i, (double)got[i], t[i].bytes);
            judge_clue(1, "collision", sentence);
            return;
        }
        if (got[i] == want[i]) continue;
        snprintf(sentence, sizeof sentence,
                 "tensor %d could lie lower: it was put at %g, and at %g it touches no tensor that "
                 "is alive with it.", i, (double)got[i], (double)want[i]);
        judge_clue(got[i] > want[i], "not_lowest", sentence);
    }
    snprintf(sentence, sizeof sentence,
             "the places are right. The highest byte that is used, plus one, is %g, and the total "
             "is %g.", (double)want[n], (double)got[n]);
    judge_clue(1, "other_total", sentence);
}

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

static void learners(const plan *p, float *got)
{
    long *offset = judge_copy((const long[MOST]){ 0 }, sizeof(long) * (size_t)p->n);
    tensor *own = judge_copy(p->t, sizeof *own * (size_t)p->n);
    for (int i = 0; i < p->n; i++)
        offset[i] = -9;
    judge_case(p->what);
    got[p->n] = (float)place(own, p->n, offset);
    for (int i = 0; i < p->n; i++)
        got[i] = (float)offset[i];
    free(own);
    free(offset);
}

// A mistake is recognized by what it makes of all plans: the few numbers of one fit too much.
int main(void)
{
    static float got[PLACES], want[PLACES], wrong[PLACES];
    judge_begin();
    for (int i = 0; i < PLANS; i++) {
        learners(&plans[i], got + i * (MOST + 1));
        compute(plans[i].t, plans[i].n, RIGHT, want + i * (MOST + 1));
    }
    judge_got(got, PLACES);
    for (unsigned m = 0; m < sizeof mistakes / sizeof *mistakes; m++) {
        for (int i = 0; i < PLANS; i++)
            compute(plans[i].t, plans[i].n, mistakes[m].e, wrong + i * (MOST + 1));
        judge_mistake(mistakes[m].name, mistakes[m].sentence, wrong, PLACES);
    }
    for (int i = 0; i < PLANS; i++) {
        const float *y = got + i * (MOST + 1), *right = want + i * (MOST + 1);
        if (!memcmp(y, right, sizeof(float) * (MOST + 1))) continue;
        judge.what = plans[i].what;
        if (judge.mistake) break;
        judge_got(y, plans[i].n + 1);
        judge_part("offset", 1, plans[i].n);
        judge_part("the total", 1, 1);
        clues(plans[i].t, plans[i].n, y, right);
        judge_want(right, plans[i].n + 1, 0);
    }
    judge_want(want, PLACES, 0);
    return judge_end();
}
