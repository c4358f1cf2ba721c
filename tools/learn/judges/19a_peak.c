#include "../judge.h"
#include EXERCISE

enum { RIGHT, ALL, FREED, LATE, LARGEST, NEVER, LAST, LEFT_OUT };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { ALL, "sum_of_all",
      "these are the bytes of all tensors, as if each had a place of its own for ever." },
    { FREED, "freed_too_early",
      "a tensor is gone at the node that reads it last: but it is being read there." },
    { LATE, "made_too_late",
      "a tensor is not counted at the node that makes it: but it is being written there." },
    { LARGEST, "largest_tensor",
      "this is the largest tensor. Several are alive at the same time: add them up." },
    { NEVER, "never_freed", "tensors that nobody reads any more are still counted." },
    { LAST, "last_peak", "*at is the last node with so many bytes, and should be the first." },
    { LEFT_OUT, "last_node_left_out", "the last node is not looked at." },
};

static long alive(const tensor *t, int n, int node, int e)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        int begun = e == LATE ? t[i].first < node : t[i].first <= node;
        int read = e == FREED ? node < t[i].last : node <= t[i].last;
        if (e == NEVER) read = 1;
        if (e != ALL && !(begun && read)) continue;
        if (e != LARGEST)
            sum += t[i].bytes;
        else if (t[i].bytes > sum)
            sum = t[i].bytes;
    }
    return sum;
}

static void compute(const tensor *t, int n, int nodes, int e, float *out)
{
    out[0] = out[1] = 0;
    for (int node = 0; node < nodes - (e == LEFT_OUT); node++) {
        float sum = (float)alive(t, n, node, e);
        if (e == LAST ? sum < out[0] : sum <= out[0]) continue;
        out[0] = sum;
        out[1] = (float)node;
    }
}

static void program(const char *what, const tensor *t, int n, int nodes)
{
    float got[2], want[2], wrong[2];
    int at = -1;
    judge_case(what);
    tensor *own = judge_copy(t, sizeof *t * (size_t)n);
    got[0] = (float)peak(own, n, nodes, &at);
    free(own);
    got[1] = (float)at;
    judge_got(got, 2);
    compute(t, n, nodes, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(t, n, nodes, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, 2);
    }
    judge_want(want, 2, 0);
}

int main(void)
{
    static const tensor chain[] = { { 0, 2, 100 }, { 1, 2, 300 }, { 2, 3, 200 }, { 3, 4, 50 } };
    static const tensor kept[] = { { 0, 5, 64 },  { 1, 2, 32 }, { 2, 3, 128 },
                                   { 3, 3, 100 }, { 4, 5, 16 }, { 5, 5, 212 } };
    static const tensor twice[] = { { 0, 0, 70 }, { 1, 1, 30 }, { 2, 3, 40 }, { 3, 3, 30 } };
    static const tensor end[] = { { 0, 3, 10 }, { 1, 1, 20 }, { 3, 3, 90 } };
    judge_begin();
    program("4 tensors, the first read twice: bytes, and node", chain, 4, 5);
    program("6 tensors, of which the first is kept to the end: bytes, and node", kept, 6, 6);
    program("the same peak twice: bytes, and node", twice, 4, 4);
    program("the most at the end: bytes, and node", end, 3, 4);
    program("one tensor: bytes, and node", chain + 1, 1, 3);
    return judge_end();
}
