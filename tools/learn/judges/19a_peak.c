#include "../judge.h"

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
static void clues(const program *p, const double *got)
{
    static char sentence[400];
    const double *want = judge_wanted();
    char list[200] = "";
    if (!judge_is_wrong(0)) return;
    for (int node = 0; node < p->nodes; node++) {
        long sum = 0;
        for (int i = 0; i < p->n; i++)
            if (p->t[i].first <= node && node <= p->t[i].last) sum += p->t[i].bytes;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%ld", node ? ", " : "", sum);
    }
    if (got[0] == want[0])
        snprintf(sentence, sizeof sentence,
                 "the bytes are right, and *at is %g. At the nodes 0, 1, ... there are %s bytes "
                 "alive: the most, first at node %g.", got[1], list, want[1]);
    else
        snprintf(sentence, sizeof sentence,
                 "at the nodes 0, 1, ... there are %s bytes alive, and the most of them is %g. It "
                 "returns %g.", list, want[0], got[0]);
    judge_clue_saying(got[0] == want[0], "other_node", sentence);
    judge_clue_saying(1, "other_bytes", sentence);
}

// A mistake is recognized by what it makes of all programs: two numbers fit too much.
static void judge_cases(void)
{
    float got[2 * PROGRAMS];
    judge_case("all programs");
    for (int i = 0; i < PROGRAMS; i++) {
        const program *p = &programs[i];
        int at = -1;
        tensor *own = judge_copy(p->t, sizeof *own * (size_t)p->n);
        judge.what = p->what;
        got[2 * i] = (float)peak(own, p->n, p->nodes, &at);
        got[2 * i + 1] = (float)at;
    }
    judge_got(got, 2 * PROGRAMS);
    judge_compare_later(0);
    for (int i = 0; i < PROGRAMS; i++) {
        judge.what = programs[i].what;
        judge_got(got + 2 * i, 2);
        judge_part("the peak", 1, 1);
        judge_part("*at", 1, 1);
        clues(&programs[i], judge.got);
        judge_compare_few(0);
    }
}
