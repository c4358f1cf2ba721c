// What the judges of exercises share. A judge is a program that includes the learner's file (EXERCISE
// names it) and calls the learner's functions:
//     JUDGE_BEGIN();                                  once, in main
//     judge_case("mean of 1, 2, 6");
//     judge_got(&y, 1);                               what the learner's function gave
//     judge_mistake("no_division", "...", &sum, 1);   what it gives if one thinks wrongly, and why
//     judge_want(&mean, 1, 1e-6);                     what is right
//     return judge_end();
// The first case that fails ends the judging: with the sentence of the mistake that was recognized,
// or with the first number that differs. The verdict goes to stderr, so that what the learner's code
// prints is apart from it. Needs libc and libm only.
#ifndef JUDGE_H
#define JUDGE_H

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JUDGE_MOST = 4096 };

static struct {
    const char *what;             // the case
    double got[JUDGE_MOST];
    int n;
    const char *mistake;          // the first that gives what the learner got; NULL: none
    const char *sentence;
    int cases;
} judge;

// ---- The end of a judging ----

// The line "mistake: NAME" is for tests; tools/learn/learn.sh does not show it.
static inline void judge_refuse(const char *mistake, const char *sentence)
{
    fprintf(stderr, "Not yet. %s:\n  %s\n", judge.what, sentence);
    if (mistake) fprintf(stderr, "mistake: %s\n", mistake);
    fflush(stdout);
    _Exit(1);
}

static inline int judge_end(void)
{
    fprintf(stderr, "Right: %d cases.\n", judge.cases);
    return 0;
}

static void judge_crashed(int number)
{
    (void)number;
    judge_refuse("crash", "your code read or wrote memory that is not its own, or divided by 0.");
}

// A learner's error must end in a sentence, not in "Segmentation fault". When a sanitizer looks on,
// the signals are its own.
#ifdef JUDGE_LEAVES_SIGNALS
#define JUDGE_BEGIN() (judge.what = "At the beginning", (void)judge_crashed)
#else
#define JUDGE_BEGIN() \
    (judge.what = "At the beginning", signal(SIGSEGV, judge_crashed), \
     signal(SIGFPE, judge_crashed), signal(SIGABRT, judge_crashed))
#endif

// ---- A case ----

static inline void judge_case(const char *what)
{
    judge.what = what;
    judge.n = 0;
    judge.mistake = NULL;
    judge.sentence = NULL;
    judge.cases++;
}

// Exactly n floats of a value: what a learner's function fills. make learn judges with a sanitizer,
// too, which sees a step beyond them.
static inline float *judge_room(int n, float value)
{
    float *y = (float *)malloc((size_t)n * sizeof *y);
    if (!y) abort();
    for (int i = 0; i < n; i++) y[i] = value;
    return y;
}

static inline void judge_got(const float *y, int n)
{
    judge.mistake = NULL;
    judge.n = n < JUDGE_MOST ? n : JUDGE_MOST;
    for (int i = 0; i < judge.n; i++) judge.got[i] = (double)y[i];
}

static inline void judge_got_number(double y)
{
    judge.mistake = NULL;
    judge.n = 1;
    judge.got[0] = y;
}

// Floats of a few operations differ by their order: equal up to tolerance, relative above 1.
static inline int judge_close(double got, double want, double tolerance)
{
    if (got == want || (got != got && want != want)) return 1;
    double size = fabs(want) > 1.0 ? fabs(want) : 1.0;
    return fabs(got - want) <= tolerance * size;
}

// wrong: what a known misconception gives here. If that is right, too, in this case, it says nothing.
static inline void judge_mistake(const char *name, const char *sentence, const float *wrong, int n)
{
    if (judge.mistake || n != judge.n) return;
    for (int i = 0; i < n; i++)
        if (!judge_close(judge.got[i], (double)wrong[i], 1e-5)) return;
    judge.mistake = name;
    judge.sentence = sentence;
}

static inline void judge_mistake_number(const char *name, const char *sentence, double wrong)
{
    float x = (float)wrong;
    judge_mistake(name, sentence, &x, 1);
}

static inline void judge_want(const float *want, int n, double tolerance)
{
    for (int i = 0; i < n; i++) {
        if (i < judge.n && judge_close(judge.got[i], (double)want[i], tolerance)) continue;
        if (judge.mistake) judge_refuse(judge.mistake, judge.sentence);
        char line[200];
        if (n == 1)
            snprintf(line, sizeof line, "it is %.6g, and should be %.6g.", judge.got[0],
                     (double)want[0]);
        else
            snprintf(line, sizeof line, "element %d of %d is %.6g, and should be %.6g.", i, n,
                     judge.got[i], (double)want[i]);
        judge_refuse(NULL, line);
    }
}

static inline void judge_want_number(double want, double tolerance)
{
    float x = (float)want;
    judge_want(&x, 1, tolerance);
}

// Something that must hold, with the mistake that is made if it does not.
static inline void judge_holds(int holds, const char *mistake, const char *sentence)
{
    if (!holds) judge_refuse(mistake, sentence);
}

#endif
