// What the judges of exercises share. A judge is a program that includes the learner's file (EXERCISE
// names it) and calls the learner's functions:
//     judge_begin();                                  once, in main
//     judge_case("mean of 1, 2, 6");
//     judge_got(&y, 1);                               what the learner's function gave
//     judge_mistake("no_division", "...", &sum, 1);   what it gives if one thinks wrongly, and why
//     judge_want(&mean, 1, 1e-6);                     what is right
//     return judge_end();
// The first case that fails ends the judging: with the sentence of the mistake that was recognized,
// or with the first number that differs. The verdict goes to stderr, behind a line with a number that
// only the judge knows (JUDGE_TOKEN of the environment): so what the learner's code prints is never
// taken for it. Needs libc and libm only.
#ifndef JUDGE_H
#define JUDGE_H

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef JUDGE_SECONDS
#define JUDGE_SECONDS 10
#endif

enum { JUDGE_MOST = 4096 };

static struct {
    const char *what;             // the case
    double got[JUDGE_MOST];
    int n;
    const char *mistake;          // the first that gives what the learner got; NULL: none
    const char *sentence;
    int cases;
    char token[32];               // "": no one asked for it
} judge;

// ---- The end of a judging ----

static inline void judge_verdict(void)
{
    if (judge.token[0]) fprintf(stderr, "\n%s\n", judge.token);
}

// The line "mistake: NAME" is for tests; tools/learn/learn.sh does not show it.
static inline void judge_refuse(const char *mistake, const char *sentence)
{
    judge_verdict();
    fprintf(stderr, "Not yet. %s:\n  %s\n", judge.what, sentence);
    if (mistake) fprintf(stderr, "mistake: %s\n", mistake);
    fflush(stdout);
    _Exit(1);
}

static inline int judge_end(void)
{
    judge_verdict();
    fprintf(stderr, "Right: %d cases.\n", judge.cases);
    return 0;
}

// ---- The beginning ----

// A learner's error must end in a sentence, not in "Segmentation fault".
static void judge_crashed(int number)
{
    const char *sentence = "your code reads or writes memory that is not its own: an index outside "
                           "of its array, or a pointer that is NULL?";
    if (number == SIGFPE) sentence = "your code divides an int by 0.";
    if (number == SIGABRT)
        sentence = "your code called abort, or wrote outside of memory that malloc gave.";
    if (number == SIGILL)
        sentence = "your code does what C leaves undefined: is there a function without its return?";
    judge_refuse("crash", sentence);
}

#if defined(__unix__) || defined(__APPLE__)
unsigned alarm(unsigned seconds);       // by hand: unistd.h would take names such as read and link
#else
#define alarm(seconds) (void)(seconds)
#endif

// Seconds of the clock; those of the processor are limited by who starts the judge. When a
// sanitizer looks on (JUDGE_LEAVES_SIGNALS), the signals are its own.
static inline void judge_begin(void)
{
    char *token = getenv("JUDGE_TOKEN");
    judge.what = "At the beginning";
    if (token) {
        strncpy(judge.token, token, sizeof judge.token - 1);
        memset(token, 0, strlen(token));
    }
    alarm(JUDGE_SECONDS);
#ifdef JUDGE_LEAVES_SIGNALS
    (void)judge_crashed;
#else
    signal(SIGSEGV, judge_crashed);
    signal(SIGFPE, judge_crashed);
    signal(SIGILL, judge_crashed);
    signal(SIGABRT, judge_crashed);
#endif
}

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

// The same with the bytes of an array of any type: what a learner's function reads.
static inline void *judge_copy(const void *from, size_t bytes)
{
    void *y = malloc(bytes ? bytes : 1);
    if (!y) abort();
    memcpy(y, from, bytes);
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

// What can be said of numbers that no known misconception gives; NULL: nothing.
static inline const char *judge_general(const float *want, int n, double tolerance)
{
    double factor = 0, plus = judge.got[0] - (double)want[0];
    int by_factor = 1, by_plus = n > 2, same_numbers = n > 1, nonzero = 0;
    for (int i = 0; i < n; i++)
        if (!(judge.got[i] - judge.got[i] == 0))
            return "there is an infinity, or what is not a number, such as 0 / 0: print what you "
                   "divide by, and what exp, log and sqrt get.";
    for (int i = 0; i < n; i++) {
        if (fabs((double)want[i]) < 1e-3) continue;
        if (factor == 0) factor = judge.got[i] / (double)want[i];
        nonzero++;
    }
    for (int i = 0; i < n; i++) {
        int found = 0;
        for (int k = 0; k < n; k++)
            if (judge_close(judge.got[k], (double)want[i], tolerance)) found = 1;
        same_numbers &= found;
        by_factor &= judge_close(judge.got[i], factor * (double)want[i], 1e-5);
        by_plus &= judge_close(judge.got[i], plus + (double)want[i], 1e-5);
    }
    if (by_factor && nonzero > 1 && fabs(factor + 1) < 1e-5)
        return "every number has the opposite sign.";
    if (by_factor && nonzero > 1 && factor != 0)
        return "every number is wrong by the same factor: which multiplication or division is "
               "missing, or too much?";
    if (by_plus) return "every number is wrong by the same sum: what is added once too often?";
    if (same_numbers)
        return "the right numbers are there, in another order: which index counts rows, and which "
               "columns?";
    return NULL;
}

static inline void judge_want(const float *want, int n, double tolerance)
{
    for (int i = 0; i < n; i++) {
        if (i < judge.n && judge_close(judge.got[i], (double)want[i], tolerance)) continue;
        if (judge.mistake) judge_refuse(judge.mistake, judge.sentence);
        const char *more = n == judge.n ? judge_general(want, n, tolerance) : NULL;
        char line[400], where[60] = "it";
        if (n > 1) snprintf(where, sizeof where, "element %d of %d", i, n);
        snprintf(line, sizeof line, "%s is %.6g, and should be %.6g.%s%s", where, judge.got[i],
                 (double)want[i], more ? "\n  In short: " : "", more ? more : "");
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
