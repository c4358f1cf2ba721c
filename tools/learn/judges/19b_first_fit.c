#include "../judge.h"
#include EXERCISE

enum { MOST = 8 };

enum { RIGHT, NOTHING_SHARED, ENDS, ONE_PASS, BEHIND_ALL, BEGINS, TOTAL, AT_0 };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { AT_0, "everything_at_0", "tensors that are alive together lie at the same place." },
    { NOTHING_SHARED, "nothing_shared",
      "each tensor has bytes of its own. Those that are never alive at the same node may share." },
    { ENDS, "ends_do_not_count",
      "a tensor that ends where another begins shares its bytes: but at that node both are alive." },
    { ONE_PASS, "one_pass",
      "a tensor was moved behind one that it collided with, and collides with an earlier one there. "
      "Look at all of them again." },
    { BEHIND_ALL, "behind_all",
      "a tensor lies behind all that are alive, though there is a gap below that it fits into." },
    { BEGINS, "begins_alone",
      "only the first byte was looked at: a tensor begins in a gap that is too small for it." },
    { TOTAL, "wrong_total",
      "the places are right. The total is the highest end of all, not that of the last one." },
};

static int together(const tensor *a, const tensor *b, int e)
{
    if (e == NOTHING_SHARED) return 1;
    if (e == AT_0) return 0;
    if (e == ENDS) return a->first < b->last && b->first < a->last;
    return a->first <= b->last && b->first <= a->last;
}

// Does t[i], at this offset, touch t[k]?
static int touches(const tensor *t, int i, double at, int k, const float *offset, int e)
{
    double other = (double)offset[k], end = other + (double)t[k].bytes;
    if (!together(&t[i], &t[k], e)) return 0;
    if (e == BEHIND_ALL) return end > at;
    if (e == BEGINS) return at >= other && at < end;
    return at < end && other < at + (double)t[i].bytes;
}

static void compute(const tensor *t, int n, int e, float *out)
{
    float most = 0;
    for (int i = 0; i < n; i++) {
        double at = 0;
        for (int k = 0; k < i; k++)
            if (touches(t, i, at, k, out, e)) {
                at = (double)out[k] + (double)t[k].bytes;
                if (e != ONE_PASS) k = -1;
            }
        out[i] = (float)at;
        float end = (float)(at + (double)t[i].bytes);
        if (end > most || e == TOTAL) most = end;
    }
    out[n] = most;
}

static void plan(const char *what, const tensor *t, int n)
{
    long *offset = judge_copy((const long[MOST]){ 0 }, sizeof(long) * (size_t)n);
    tensor *own = judge_copy(t, sizeof *t * (size_t)n);
    float got[MOST], want[MOST], wrong[MOST];
    for (int i = 0; i < n; i++)
        offset[i] = -9;
    judge_case(what);
    long total = place(own, n, offset);
    for (int i = 0; i < n; i++)
        got[i] = (float)offset[i];
    got[n] = (float)total;
    free(own);
    free(offset);
    judge_got(got, n + 1);
    compute(t, n, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(t, n, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, n + 1);
    }
    judge_want(want, n + 1, 0);
}

int main(void)
{
    static const tensor chain[] = { { 0, 2, 40 }, { 1, 3, 40 }, { 3, 4, 30 }, { 5, 6, 90 } };
    static const tensor together3[] = { { 0, 2, 10 }, { 0, 1, 20 }, { 1, 2, 5 } };
    static const tensor gap[] = { { 0, 1, 50 }, { 2, 4, 20 }, { 0, 4, 10 }, { 3, 4, 40 },
                                  { 4, 4, 30 } };
    static const tensor low[] = { { 0, 3, 10 }, { 0, 0, 10 }, { 0, 3, 10 }, { 1, 3, 15 } };
    static const tensor again[] = { { 0, 0, 20 }, { 0, 3, 10 }, { 1, 3, 5 }, { 2, 3, 17 } };
    judge_begin();
    plan("4 tensors in a chain: their offsets, then the total", chain, 4);
    plan("3 tensors: their offsets, then the total", together3, 3);
    plan("a gap that is too small for one: 5 offsets, then the total", gap, 5);
    plan("a gap between two that stay: 4 offsets, then the total", low, 4);
    plan("4 tensors in another order: offsets, then the total", again, 4);
    plan("one tensor: its offset, then the total", chain, 1);
    return judge_end();
}
