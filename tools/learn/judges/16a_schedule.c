#include "../judge.h"
#include EXERCISE

enum { MOST = 64 };

enum {
    RIGHT,
    STARTS_AT_ZERO,
    NO_WARMUP,
    OF_TOTAL,
    NO_HALF,
    TO_ZERO,
    CUT_OFF,
    PERIOD,
    GOES_ON,
    INTEGERS,
    LINEAR,
    WARMUP_INTEGERS,
    BY_TOTAL,
    END_ZERO,
    NOT_LESS,
    SINE,
    RISES
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { STARTS_AT_ZERO, "starts_at_zero",
      "the warmup is step / warmup, so that step 0 has the rate 0 and learns nothing: it is "
      "step + 1." },
    { NO_WARMUP, "no_warmup", "the first steps have the full rate; it should grow first." },
    { WARMUP_INTEGERS, "warmup_of_integers",
      "the warmup is 0 until its end: (step + 1) / warmup of two ints is an int. Make floats of "
      "them first." },
    { OF_TOTAL, "progress_from_zero",
      "progress is step / total. It begins where the warmup ends: (step - warmup) / (total - "
      "warmup)." },
    { NO_HALF, "no_half",
      "1 + cos goes from 2 to 0. Without a division by 2, the rate jumps up when the warmup "
      "ends." },
    { TO_ZERO, "falls_to_zero",
      "the rate falls to 0; the cosine should span what lies between peak and least, and least is "
      "added." },
    { CUT_OFF, "cut_off",
      "the rate falls towards 0 and is cut off at least. It should come to least just in step "
      "total: least + (peak - least) ..." },
    { PERIOD, "whole_period",
      "the rate falls and rises again: cos(2 pi progress) is a whole period, half of one is "
      "wanted." },
    { GOES_ON, "no_end", "after step total the cosine goes on, and the rate rises. It is least." },
    { INTEGERS, "integer_division",
      "after the warmup the rate stays at peak: the quotient of two ints is an int, 0. Make floats "
      "of them first." },
    { BY_TOTAL, "divided_by_total",
      "progress is divided by total, and does not come to 1. It has total - warmup steps." },
    { END_ZERO, "zero_at_the_end", "from step total on the rate is 0. It is least." },
    { NOT_LESS, "least_added_twice",
      "least is added to a cosine of the whole peak. The cosine spans peak - least." },
    { SINE, "sine", "this is a sine: at progress 0 it is not at its top. Take the cosine." },
    { RISES, "rises", "the rate begins at least and rises: 1 - cos. It is 1 + cos." },
    { LINEAR, "linear", "the rate falls along a line; a cosine is wanted." },
};

static double rate(int step, schedule s, int e)
{
    const double pi = 3.14159265358979323846;
    double peak = (double)s.peak, least = (double)s.least;
    if (step < s.warmup && e == WARMUP_INTEGERS) return peak * ((step + 1) / s.warmup);
    if (step < s.warmup && e != NO_WARMUP) return peak * (step + (e != STARTS_AT_ZERO)) / s.warmup;
    if (step < s.warmup) return peak;
    if (step >= s.total && e != GOES_ON) return e == END_ZERO ? 0 : least;
    double progress = (double)(step - s.warmup) / (s.total - s.warmup);
    if (e == OF_TOTAL) progress = (double)step / s.total;
    if (e == BY_TOTAL) progress = (double)(step - s.warmup) / s.total;
    if (e == INTEGERS) progress = floor(progress);
    double share = (1 + cos((e == PERIOD ? 2 : 1) * pi * progress)) / 2;
    if (e == NO_HALF) share *= 2;
    if (e == SINE) share = (1 + sin(pi * progress)) / 2;
    if (e == RISES) share = 1 - share;
    if (e == NOT_LESS) return least + peak * share;
    if (e == LINEAR) share = 1 - progress;
    if (e == TO_ZERO) return peak * share;
    if (e == CUT_OFF) return fmax(least, peak * share);
    return least + (peak - least) * share;
}

static void compute(schedule s, int e, int steps, float *y)
{
    for (int step = 0; step < steps; step++)
        y[step] = (float)rate(step, s, e);
}

static void training(const char *what, schedule s)
{
    float got[MOST], want[MOST], wrong[MOST];
    int steps = s.total + 6;
    judge_case(what);
    for (int step = 0; step < steps; step++)
        got[step] = learning_rate(step, s);
    judge_got(got, steps);
    compute(s, RIGHT, steps, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(s, mistakes[i].e, steps, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, steps);
    }
    judge_want(want, steps, 1e-5);
}

int main(void)
{
    judge_begin();
    training("5 steps of warmup of 25, from 3 to 0.5", (schedule){ 3, 0.5f, 5, 25 });
    training("10 steps of warmup of 50, from 1 to 0.1", (schedule){ 1, 0.1f, 10, 50 });
    training("12 steps without a warmup", (schedule){ 2, 0, 0, 12 });
    training("one step of warmup", (schedule){ 1, 0.25f, 1, 9 });
    return judge_end();
}
