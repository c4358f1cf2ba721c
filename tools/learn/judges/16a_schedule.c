#include "../judge.h"
#include EXERCISE

enum { MOST = 64 };

enum {
    RIGHT, STARTS_AT_ZERO, NO_WARMUP, WARMUP_INTEGERS, WARMUP_OF_TOTAL, WARMUP_FROM_LEAST,
    WARMUP_AND_ONE, WARMUP_INCLUDED, NO_PEAK, WARMUP_LEAST, OF_TOTAL, BY_TOTAL, ONE_FEWER, ONE_MORE,
    INTEGERS, NO_HALF, HALF_OF_COSINE, NO_ONE, TO_ZERO, CUT_OFF, NOT_ADDED, NOT_LESS, SUM_OF_BOTH,
    PEAK_ADDED, PERIOD, QUARTER, NO_PI, PI_ROUNDED, DEGREES, SINE, RISES, LINEAR, SQUARED,
    EXPONENTIAL, GOES_ON, END_ZERO, END_PEAK
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
    { WARMUP_OF_TOTAL, "warmup_of_total",
      "the warmup is divided by total. It should reach peak in its own last step: / warmup." },
    { WARMUP_FROM_LEAST, "warmup_from_least",
      "the warmup goes from least to peak. It goes from 0 to peak: peak (step + 1) / warmup." },
    { WARMUP_AND_ONE, "divided_by_warmup_plus_1",
      "the warmup is divided by warmup + 1. Steps count from 0, so that step + 1 is warmup in its "
      "last step: / warmup." },
    { WARMUP_INCLUDED, "warmup_too_long",
      "step warmup still belongs to the warmup, and its rate is above peak: the warmup is step < "
      "warmup, not <=." },
    { NO_PEAK, "warmup_without_peak", "the warmup goes to 1. It is a share of peak: times peak." },
    { WARMUP_LEAST, "warmup_at_least", "during the warmup the rate is least; it grows to peak." },
    { OF_TOTAL, "progress_from_zero",
      "progress is step / total. It begins where the warmup ends: (step - warmup) / (total - "
      "warmup)." },
    { BY_TOTAL, "divided_by_total",
      "progress is divided by total, and does not come to 1. It has total - warmup steps." },
    { ONE_FEWER, "one_step_fewer",
      "progress is divided by total - warmup - 1, and comes to 1 one step too early: it is 1 in "
      "step total, not in the last one before." },
    { ONE_MORE, "one_step_ahead",
      "progress is one step ahead: in step warmup it should be 0, so that the rate is peak." },
    { INTEGERS, "integer_division",
      "after the warmup the rate stays at peak: the quotient of two ints is an int, 0. Make floats "
      "of them first." },
    { NO_HALF, "no_half",
      "1 + cos goes from 2 to 0. Without a division by 2, the rate jumps up when the warmup "
      "ends." },
    { HALF_OF_COSINE, "half_of_cosine",
      "only the cosine is halved: 1 + cos / 2. It is (1 + cos) / 2, from 1 to 0." },
    { NO_ONE, "no_one",
      "the cosine goes from 1 to -1, and the rate below least: (1 + cos) / 2 goes from 1 to 0." },
    { TO_ZERO, "falls_to_zero",
      "the rate falls to 0; the cosine should span what lies between peak and least, and least is "
      "added." },
    { CUT_OFF, "cut_off",
      "the rate falls towards 0 and is cut off at least. It should come to least just in step "
      "total: least + (peak - least) ..." },
    { NOT_ADDED, "least_not_added",
      "least is subtracted from peak and not added again: least + (peak - least) ..." },
    { NOT_LESS, "least_added_twice",
      "least is added to a cosine of the whole peak. The cosine spans peak - least." },
    { SUM_OF_BOTH, "sum_of_both", "the cosine spans peak + least; it is peak - least." },
    { PEAK_ADDED, "peak_added",
      "the cosine begins at peak and adds to it. What is added to it is least: it falls from peak "
      "to least." },
    { PERIOD, "whole_period",
      "the rate falls and rises again: cos(2 pi progress) is a whole period, half of one is "
      "wanted." },
    { QUARTER, "quarter_period",
      "this is a quarter of a period, steep at its end: cos(pi / 2 progress). Half a period, (1 + "
      "cos(pi progress)) / 2, is level at both ends." },
    { NO_PI, "no_pi", "the cosine is that of progress; it is cos(pi progress)." },
    { PI_ROUNDED, "pi_rounded", "pi is rounded to 3.14. It is acosf(-1.0f)." },
    { DEGREES, "degrees", "cosf wants radians: pi for half a period, not 180." },
    { SINE, "sine", "this is a sine: at progress 0 it is not at its top. Take the cosine." },
    { RISES, "rises",
      "the rate begins at least and rises. It is 1 + cos, of a progress from 0 to 1." },
    { LINEAR, "linear", "the rate falls along a line; a cosine is wanted." },
    { SQUARED, "squared", "the share (1 + cos) / 2 is squared; it is taken as it is." },
    { EXPONENTIAL, "exponential",
      "the rate falls by the same factor in each step; a cosine is wanted." },
    { GOES_ON, "no_end", "after step total the cosine goes on, and the rate rises. It is least." },
    { END_ZERO, "zero_at_the_end", "from step total on the rate is 0. It is least." },
    { END_PEAK, "peak_at_the_end", "from step total on the rate is peak. It is least." },
};

static double warming(int step, schedule s, int e)
{
    double peak = (double)s.peak, least = (double)s.least;
    if (e == WARMUP_INTEGERS) return peak * ((step + 1) / s.warmup);
    if (e == NO_WARMUP) return peak;
    if (e == WARMUP_LEAST) return least;
    if (e == NO_PEAK) peak = 1;
    if (e == STARTS_AT_ZERO) return peak * step / s.warmup;
    if (e == WARMUP_OF_TOTAL) return peak * (step + 1) / s.total;
    if (e == WARMUP_AND_ONE) return peak * (step + 1) / (s.warmup + 1);
    if (e == WARMUP_FROM_LEAST) return least + (peak - least) * (step + 1) / s.warmup;
    return peak * (step + 1) / s.warmup;
}

static double progress_of(int step, schedule s, int e)
{
    double progress = (double)(step - s.warmup) / (s.total - s.warmup);
    if (e == OF_TOTAL) return (double)step / s.total;
    if (e == BY_TOTAL) return (double)(step - s.warmup) / s.total;
    if (e == ONE_FEWER) return (double)(step - s.warmup) / (s.total - s.warmup - 1);
    if (e == ONE_MORE) return (double)(step + 1 - s.warmup) / (s.total - s.warmup);
    return e == INTEGERS ? floor(progress) : progress;
}

// What is left of the way from peak to least: from 1 to 0.
static double share_of(double progress, int e)
{
    const double pi = 3.14159265358979323846;
    double x = cos(pi * progress);
    if (e == PERIOD) x = cos(2 * pi * progress);
    if (e == NO_PI) x = cos(progress);
    if (e == PI_ROUNDED) x = cos(3.14 * progress);
    if (e == DEGREES) x = cos(180 * progress);
    if (e == SINE) x = sin(pi * progress);
    if (e == RISES) x = -x;
    if (e == QUARTER) return cos(pi / 2 * progress);
    if (e == NO_HALF) return 1 + x;
    if (e == HALF_OF_COSINE) return 1 + x / 2;
    if (e == NO_ONE) return x;
    if (e == LINEAR) return 1 - progress;
    return e == SQUARED ? (1 + x) * (1 + x) / 4 : (1 + x) / 2;
}

static double rate(int step, schedule s, int e)
{
    double peak = (double)s.peak, least = (double)s.least;
    if (step < s.warmup + (e == WARMUP_INCLUDED && s.warmup)) return warming(step, s, e);
    if (step >= s.total && e == END_PEAK) return peak;
    if (step >= s.total && e != GOES_ON) return e == END_ZERO ? 0 : least;
    double progress = progress_of(step, s, e), share = share_of(progress, e);
    if (e == NOT_LESS) return least + peak * share;
    if (e == TO_ZERO) return peak * share;
    if (e == CUT_OFF) return fmax(least, peak * share);
    if (e == NOT_ADDED) return (peak - least) * share;
    if (e == SUM_OF_BOTH) return least + (peak + least) * share;
    if (e == PEAK_ADDED) return peak + (peak - least) * share;
    if (e == EXPONENTIAL && least > 0) return peak * pow(least / peak, progress);
    return least + (peak - least) * share;
}

// Which of the three cases is wrong, if the others are right.
static void clues(const float *got, const float *want, schedule s)
{
    static char sentence[300];
    int wrong[3] = { 0 }, first = -1;
    for (int step = 0; step < s.total + 6; step++) {
        if (judge_close((double)got[step], (double)want[step], 1e-5)) continue;
        if (first < 0) first = step;
        wrong[step < s.warmup ? 0 : step < s.total ? 1 : 2] = 1;
    }
    if (first < 0 || wrong[0] + wrong[1] + wrong[2] > 1) return;
    snprintf(sentence, sizeof sentence, "only %s is wrong, and first in step %d: the rate is %.6g, "
             "and should be %.6g. %s",
             wrong[0] ? "the warmup" : wrong[1] ? "the way from peak to least" : "the end", first,
             (double)got[first], (double)want[first],
             wrong[0] ? "It is peak (step + 1) / warmup."
             : wrong[1] ? "progress is 0 in step warmup, where the rate is peak, and 1 in step "
                          "total; halfway the rate is (peak + least) / 2."
                        : "From step total on the rate is least.");
    judge_clue(wrong[0], "wrong_warmup", sentence);
    judge_clue(wrong[1], "wrong_cosine", sentence);
    judge_clue(wrong[2], "wrong_end", sentence);
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
    judge_part("rate", 1, steps);
    compute(s, RIGHT, steps, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(s, mistakes[i].e, steps, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, steps);
    }
    clues(got, want, s);
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
