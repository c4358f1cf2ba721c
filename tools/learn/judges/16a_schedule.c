#include "../judge.h"

enum { MOST = 64 };

// Which of the three cases is wrong, if the others are right.
static void clues(const double *got, schedule s)
{
    static char sentence[300];
    const double *want = judge_wanted();
    int wrong[3] = { 0 }, first = -1;
    for (int step = 0; step < s.total + 6; step++) {
        if (judge_close(got[step], want[step], 1e-5)) continue;
        if (first < 0) first = step;
        wrong[step < s.warmup ? 0 : step < s.total ? 1 : 2] = 1;
    }
    if (first < 0 || wrong[0] + wrong[1] + wrong[2] > 1) return;
    snprintf(sentence, sizeof sentence, "only %s is wrong, and first in step %d: the rate is %.6g, "
             "and should be %.6g. %s",
             wrong[0] ? "the warmup" : wrong[1] ? "the way from peak to least" : "the end", first,
             got[first], want[first],
             wrong[0] ? "It is peak (step + 1) / warmup."
             : wrong[1] ? "progress is 0 in step warmup, where the rate is peak, and 1 in step "
                          "total; halfway the rate is (peak + least) / 2."
                        : "From step total on the rate is least.");
    judge_clue_saying(wrong[0], "wrong_warmup", sentence);
    judge_clue_saying(wrong[1], "wrong_cosine", sentence);
    judge_clue_saying(wrong[2], "wrong_end", sentence);
}

static void training(const char *what, schedule s)
{
    float got[MOST];
    int steps = s.total + 6;
    judge_case(what);
    for (int step = 0; step < steps; step++) got[step] = learning_rate(step, s);
    judge_got_array("rate", got, 1, steps);
    clues(judge.got, s);
    judge_compare(1e-5);
}

static void judge_cases(void)
{
    training("5 steps of warmup of 25, from 3 to 0.5", (schedule){ 3, 0.5f, 5, 25 });
    training("10 steps of warmup of 50, from 1 to 0.1", (schedule){ 1, 0.1f, 10, 50 });
    training("12 steps without a warmup", (schedule){ 2, 0, 0, 12 });
    training("one step of warmup", (schedule){ 1, 0.25f, 1, 9 });
}
