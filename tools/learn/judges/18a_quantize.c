#include "../judge.h"

enum { MOST = 32 };

static double largest_of(const float *row, int n)
{
    double largest = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs((double)row[i]));
    return largest;
}

// Is the scale wrong, or what was made with it?
static void clues(const float *w, int rows, int n, const double *got)
{
    static char sentence[300];
    const double *want = judge_wanted();
    int first = 0, count = rows + rows * n;
    while (first < count && judge_close(got[first], want[first], 1e-6)) first++;
    int i = first - rows;
    if (first < rows)
        snprintf(sentence, sizeof sentence,
                 "the scale of row %d is %.6g. The largest |w| of this row is %.6g, and %.6g / 127 "
                 "is %.6g.", first, got[first], largest_of(w + first * n, n),
                 largest_of(w + first * n, n), want[first]);
    else if (first < count)
        snprintf(sentence, sizeof sentence,
                 "the scales are right, and q is not: row %d, column %d of w is %.6g, and divided "
                 "by its scale %.6g. The nearest whole number is %g, and q is %g.", i / n, i % n,
                 (double)w[i], (double)w[i] / want[i / n], want[first], got[first]);
    judge_clue_saying(first < rows, "wrong_scale", sentence);
    judge_clue_saying(first < count, "wrong_q", sentence);
}

static void matrix(const char *what, const float *w, int rows, int n)
{
    int count = rows + rows * n;
    float *scale = judge_room(rows, 9), got[MOST];
    float *own = judge_copy(w, sizeof(float) * (size_t)(rows * n));
    signed char *q = judge_copy(w, (size_t)(rows * n)); // of another type, to be overwritten
    memset(q, 99, (size_t)(rows * n));
    judge_case(what);
    quantize(own, rows, n, scale, q);
    for (int i = 0; i < count; i++) got[i] = i < rows ? scale[i] : q[i - rows];
    judge_got(got, count);
    judge_part("scale", 1, rows);
    judge_part("q", rows, n);
    for (int r = 0; r < rows; r++)
        judge_holds(largest_of(w + r * n, n) != 0 || got[r] > 0, "zero_row");
    clues(w, rows, n, judge.got);
    judge_compare(1e-6);
}

static void judge_cases(void)
{
    matrix("three rows of 2: all scales, then all numbers",
           (const float[]){ -20, 50, 0.25f, 100, 3, 2.5f }, 3, 2);
    matrix("a row: its scale, then its numbers",
           (const float[]){ 2.9f, 127, -2.5f, 2.5f, -64.4f, 3.25f }, 1, 6);
    matrix("a row whose largest is negative", (const float[]){ 5, 100, -254, 20 }, 1, 4);
    matrix("a row of ever larger ones", (const float[]){ 10, -20, 30, -508 }, 1, 4);
    matrix("two rows of 4, large ones first",
           (const float[]){ 90, -100, 70, 80, 1, -3, 2, 0.5f }, 2, 4);
    matrix("two rows of 3", (const float[]){ 0.25f, -0.125f, 0.0625f, 100, -20, 3 }, 2, 3);
    matrix("a row of zeros, and another one", (const float[]){ 0, 0, 12.7f, -0.1f }, 2, 2);
}
