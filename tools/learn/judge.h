// What the judges of exercises share. A judge is a program that includes this file, which includes
// the learner's (EXERCISE names it), and calls the learner's functions, in a function of this name:
//     static void judge_cases(void)
//     {
//         judge_case("mean of 1, 2, 6");
//         judge_got_array("y", y, 2, 3);              what the learner's function gave: 2 rows of 3
//         judge_compare(1e-6);                        with what the solution gives
//     }
// A judge knows no formula. The same cases run once with the solution, and once with each mistake
// that tools/learn/mistakes lists as a change of the solution (known.awk, known.h): their numbers
// are kept in a file (JUDGE_KNOWN names it). A learner whose numbers are those of a mistake gets the
// sentence of that mistake.
// The first case that fails ends the judging: with that sentence, or with the first number that
// differs and what can be said of the numbers in general. The verdict goes to stderr, behind a line
// with a number that only the judge knows (JUDGE_TOKEN of the environment): so what the learner's
// code prints is never taken for it. Needs libc and libm only. judge.c has all that is said here.
#ifndef JUDGE_H
#define JUDGE_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JUDGE_MOST = 4096, JUDGE_PARTS = 32, JUDGE_LISTED = 200, JUDGE_PROBES = 16 };

// What a function fills is often several arrays: each is a part of what is compared.
typedef struct judge_shape {
    const char *name;
    int rows, columns;            // a vector has one row
} judge_shape;

extern struct judge {
    const char *what;             // the case
    double got[JUDGE_MOST], before[JUDGE_MOST];       // before: what the last call gave
    int n, n_before;
    judge_shape parts[JUDGE_PARTS];
    int n_parts;
    float held;                   // what was in the array that a learner's function fills
    const char *mistake;          // the first that gives what the learner got; NULL: none
    const char *sentence;
    const char *clue, *clue_sentence;                 // what else was seen; NULL: nothing
    int cases;
    char token[32];               // "": no one asked for it
} judge;

// What the solution and each mistake give. A program of its own records it: see known.h.
extern struct judge_known {
    FILE *file;                   // what is recorded goes there; NULL: someone is judged
    const char *expected;         // for tests: the name that this mistake should get
    int leaves_signals;           // to a sanitizer, which needs no guards of arrays, either
    int variant;                  // whose functions are called: 0 the solution, 1 the first mistake
    int checks;                   // how many comparisons there were
    char *text;                   // the file: names and sentences, and from `records` on numbers
    size_t bytes, records;
    const char *names[JUDGE_LISTED][2];
    char excluded[JUDGE_LISTED];  // mistakes that would have shown in an earlier comparison
    int count;
} judge_known;

// ---- A case ----
void judge_case(const char *what);                                 // begins
void judge_got(const float *y, int n);                             // what the learner's code gave
void judge_got_number(double y);
// The parts of what was got, in their order. Then a number is named "row 1, column 2 of dx", and
// what is said of rows and columns is true. Without parts, all is one vector.
void judge_part(const char *name, int rows, int columns);
void judge_got_array(const char *name, const float *y, int rows, int columns);      // of one part

// What was got with what the solution gives: relative above 1, for floats of a few operations
// differ by their order. Refuses at the first number that is wrong.
void judge_compare(double tolerance);
// All numbers of several cases, to know the mistake; then each case, which is too few for it.
void judge_compare_later(double tolerance);
void judge_compare_few(double tolerance);

// Something that must hold; or that should and does not, which is said besides the numbers if no
// mistake is known that gives them: the first such clue counts. The sentence is that of the list of
// mistakes, or one that was made of numbers (saying).
void judge_holds(int holds, const char *name);
void judge_holds_saying(int holds, const char *name, const char *sentence);
void judge_clue(int lacking, const char *name);
void judge_clue_saying(int lacking, const char *name, const char *sentence);
void judge_refuse(const char *name, const char *sentence);

// ---- Arrays ----
// An array lies between two guards, so that a loop which goes too far is noticed. No judge needs to
// free one. free is a macro from here on: a learner may free what is the judge's.
float *judge_room(int n, float value);                             // what a learner's function fills
void *judge_copy(const void *from, size_t bytes);                  // what it reads
void judge_free(void *y);
#define free(y) judge_free(y)
void judge_look_at_guards(void);
int judge_untouched(const float *y, int n);     // whether it still holds what judge_room put there

// ---- For clues ----
int judge_close(double got, double want, double tolerance);
const double *judge_wanted(void);               // what the solution gives for what was got last
int judge_right_in(int from, int n, double tolerance);              // n of the numbers that were got
// Whether it is worth while to call the learner's function with other inputs; and whether y is what
// the solution gives for them. probe: 1, 2, 3 ... within a case.
int judge_is_wrong(double tolerance);
int judge_probe(int probe, const float *y, int n, double tolerance);

// ---- The program ----
void judge_begin(int seconds);                  // of the clock
void judge_load(const char *path);
int judge_end(void);

#ifndef JUDGE_DECLARES
static void judge_cases(void);                  // of each exercise
#endif

#if !defined JUDGE_KNOWS && !defined JUDGE_DECLARES      // known.h has another main
int main(void)
{
#ifdef JUDGE_LEAVES_SIGNALS
    judge_known.leaves_signals = 1;
#endif
    judge_begin(JUDGE_SECONDS);
    judge_load(JUDGE_KNOWN);
    judge_cases();
    return judge_end();
}
#endif

// What the learner's file may call, and may not declare, stands in front of this file.
#ifndef JUDGE_DECLARES
#include EXERCISE
#endif

#endif
