#include "../judge.h"
#include EXERCISE

enum {
    RIGHT, ALL, FREED, LATE, BOTH_ENDS, MADE_HERE, READ_HERE, AT_ENDS, LARGEST, COUNT, NEVER,
    GOES_ON, LAST, LEFT_OUT, FIRST_LEFT_OUT, TENSORS, FROM_1, LEAST, AVERAGE, TENSOR, NO_NODE, LIFE,
    LAST_SUM, NODE_0
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { ALL, "sum_of_all",
      "these are the bytes of all tensors. At a node only those are alive that are made already, "
      "first <= node, and still read, node <= last." },
    { FREED, "freed_too_early",
      "a tensor is gone at the node that reads it last: but it is being read there." },
    { LATE, "made_too_late",
      "a tensor is not counted at the node that makes it: but it is being written there." },
    { BOTH_ENDS, "both_ends_left_out",
      "a tensor is counted only between first and last. At these two it is alive, too." },
    { MADE_HERE, "made_here",
      "only what a node makes is counted. Tensors that were made before and are read later are "
      "alive, too." },
    { READ_HERE, "read_here",
      "only what is read for the last time at a node is counted; tensors are alive from first to "
      "last." },
    { AT_ENDS, "ends_alone",
      "a tensor is counted at first and at last alone. It needs memory between them, too." },
    { LARGEST, "largest_tensor",
      "this is the largest tensor. Several are alive at the same time: add them up." },
    { COUNT, "count", "tensors are counted; add up their bytes." },
    { NEVER, "never_freed", "tensors that nobody reads any more are still counted." },
    { GOES_ON, "sum_goes_on", "the sum goes on from node to node. It begins at 0 at each." },
    { LAST, "last_peak", "*at is the last node with so many bytes, and should be the first." },
    { LEFT_OUT, "last_node_left_out", "the last node is not looked at." },
    { FIRST_LEFT_OUT, "first_node_left_out", "node 0 is not looked at." },
    { TENSORS, "n_for_nodes",
      "the loop over the nodes ends at n, the number of tensors: there are `nodes` of them." },
    { FROM_1, "nodes_from_1", "*at counts nodes from 1; they are 0 ... nodes - 1." },
    { LEAST, "least", "this is the node with the fewest bytes; the most are wanted." },
    { AVERAGE, "mean", "this is the mean over the nodes; a device must have room for the most." },
    { TENSOR, "tensor_for_node",
      "*at is the number of a tensor. It is the node at which so many bytes are alive." },
    { NO_NODE, "at_not_written", "the bytes are right, and *at was not written." },
    { NODE_0, "at_stays_0", "the bytes are right, and *at stays 0: set it where the most grows." },
    { LIFE, "bytes_times_nodes",
      "a tensor counts its bytes once for each node of its life. At a node it counts them once." },
    { LAST_SUM, "last_sum", "this is the sum at the last node; the largest of all is wanted." },
};

static long alive(const tensor *t, int n, int node, int e)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        int begun = e == LATE || e == BOTH_ENDS ? t[i].first < node : t[i].first <= node;
        int read = e == FREED || e == BOTH_ENDS ? node < t[i].last : node <= t[i].last;
        if (e == NEVER) read = 1;
        if (e == MADE_HERE || e == AT_ENDS) begun = t[i].first == node;
        if (e == MADE_HERE) read = 1;
        if (e == AT_ENDS) begun |= t[i].last == node;
        if (e == READ_HERE) read = t[i].last == node;
        if (e != ALL && !(begun && read)) continue;
        long bytes = e == COUNT ? 1 : t[i].bytes;
        if (e == LIFE) bytes *= t[i].last - t[i].first + 1;
        if (e != LARGEST)
            sum += bytes;
        else if (t[i].bytes > sum)
            sum = t[i].bytes;
    }
    return sum;
}

static int largest_tensor(const tensor *t, int n)
{
    int largest = 0;
    for (int i = 1; i < n; i++)
        if (t[i].bytes > t[largest].bytes) largest = i;
    return largest;
}

static void compute(const tensor *t, int n, int nodes, int e, float *out)
{
    float sum = 0, all = 0;
    int end = e == TENSORS ? n : nodes - (e == LEFT_OUT);
    out[0] = out[1] = 0;
    for (int node = e == FIRST_LEFT_OUT; node < end; node++) {
        sum = (float)alive(t, n, node, e);
        all += sum;
        if (e == GOES_ON) sum = all;
        int more = e == LAST ? sum >= out[0] : sum > out[0];
        if (e == LEAST) more = node == 0 || sum < out[0];
        if (!more) continue;
        out[0] = sum;
        out[1] = (float)node;
    }
    if (e == LAST_SUM) out[0] = sum;
    if (e == LAST_SUM) out[1] = (float)(nodes - 1);
    if (e == AVERAGE) out[0] = floorf(all / (float)nodes);
    if (e == FROM_1 && out[0] > 0) out[1]++;
    if (e == TENSOR) out[1] = (float)largest_tensor(t, n);
    if (e == NO_NODE) out[1] = -1;
    if (e == NODE_0) out[1] = 0;
}

typedef struct program {
    const char *what;
    tensor t[6];
    int n, nodes;
} program;

static const program programs[] = {
    { "5 tensors and 7 nodes", { { 0, 3, 100 }, { 1, 4, 320 }, { 3, 6, 210 }, { 4, 5, 50 },
                                 { 5, 6, 75 } }, 5, 7 },
    { "6 tensors, of which the first is kept to the end",
      { { 0, 5, 64 }, { 1, 2, 32 }, { 2, 3, 128 }, { 3, 3, 100 }, { 4, 5, 16 }, { 5, 5, 212 } }, 6,
      6 },
    { "the same peak twice", { { 0, 0, 70 }, { 1, 1, 30 }, { 2, 3, 40 }, { 3, 3, 30 } }, 4, 4 },
    { "the most at the end", { { 0, 3, 10 }, { 1, 1, 20 }, { 3, 3, 90 } }, 3, 4 },
    { "the most at the beginning", { { 0, 0, 500 }, { 0, 1, 40 }, { 1, 2, 30 } }, 3, 3 },
    { "more tensors than nodes", { { 0, 0, 500 }, { 0, 1, 40 }, { 1, 1, 530 } }, 3, 2 },
    { "one tensor", { { 1, 4, 320 } }, 1, 5 },
    { "no tensor", { { 0, 0, 0 } }, 0, 2 },
};

enum { PROGRAMS = sizeof programs / sizeof *programs };

// The bytes at all nodes, beside what the learner found.
static void clues(const program *p, const float *got, const float *want)
{
    static char sentence[400];
    char list[200] = "";
    for (int node = 0; node < p->nodes; node++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%ld", node ? ", " : "",
                 alive(p->t, p->n, node, RIGHT));
    if (got[0] == want[0])
        snprintf(sentence, sizeof sentence,
                 "the bytes are right, and *at is %g. At the nodes 0, 1, ... there are %s bytes "
                 "alive: the most, first at node %g.", (double)got[1], list, (double)want[1]);
    else
        snprintf(sentence, sizeof sentence,
                 "at the nodes 0, 1, ... there are %s bytes alive, and the most of them is %g. It "
                 "returns %g.", list, (double)want[0], (double)got[0]);
    judge_clue(got[0] == want[0], "other_node", sentence);
    judge_clue(1, "other_bytes", sentence);
}

// A mistake is recognized by what it makes of all programs: two numbers fit too much.
int main(void)
{
    float got[2 * PROGRAMS], want[2 * PROGRAMS], wrong[2 * PROGRAMS];
    judge_begin();
    for (int i = 0; i < PROGRAMS; i++) {
        const program *p = &programs[i];
        int at = -1;
        tensor *own = judge_copy(p->t, sizeof *own * (size_t)p->n);
        judge_case(p->what);
        got[2 * i] = (float)peak(own, p->n, p->nodes, &at);
        got[2 * i + 1] = (float)at;
        compute(p->t, p->n, p->nodes, RIGHT, want + 2 * i);
        free(own);
    }
    judge_got(got, 2 * PROGRAMS);
    for (unsigned m = 0; m < sizeof mistakes / sizeof *mistakes; m++) {
        for (int i = 0; i < PROGRAMS; i++)
            compute(programs[i].t, programs[i].n, programs[i].nodes, mistakes[m].e, wrong + 2 * i);
        judge_mistake(mistakes[m].name, mistakes[m].sentence, wrong, 2 * PROGRAMS);
    }
    for (int i = 0; i < PROGRAMS; i++) {
        if (got[2 * i] == want[2 * i] && got[2 * i + 1] == want[2 * i + 1]) continue;
        judge.what = programs[i].what;
        if (judge.mistake) break;
        judge_got(got + 2 * i, 2);
        judge_part("the peak", 1, 1);
        judge_part("*at", 1, 1);
        clues(&programs[i], got + 2 * i, want + 2 * i);
        judge_want(want + 2 * i, 2, 0);
    }
    judge_want(want, 2 * PROGRAMS, 0);
    return judge_end();
}
