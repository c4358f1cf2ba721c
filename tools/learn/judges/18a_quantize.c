#include "../judge.h"
#include EXERCISE

enum { MOST = 32 };

enum {
    RIGHT, ONE_SCALE, GOES_ON, FIRST_OF_ROW, LAST_OF_ROW, SUM, MEAN, SMALLEST, NO_ABS, OF_COLUMNS,
    BY_128, BY_255, BY_256, NOT_BY_127, RANGE, INVERSE, MULTIPLIED, SCALE_OF_0, WEIGHTS_OF_0,
    BY_SIZE, TRUNCATED, DOWN, UP, HALVES_UP, HALVES_EVEN, HALF_ADDED, UNSIGNED, NEGATED
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { ONE_SCALE, "one_scale",
      "all rows have the scale of the largest weight of the matrix. Each row has its own." },
    { GOES_ON, "largest_goes_on",
      "the largest |w| goes on from row to row: it has to begin at 0 in each." },
    { FIRST_OF_ROW, "first_of_row",
      "the scale comes from the first weight of the row; it is the largest |w| that is divided." },
    { LAST_OF_ROW, "last_of_row",
      "the scale comes from the last weight of the row; it is the largest |w| that is divided." },
    { SUM, "sum", "the scale comes from the sum of all |w|; it is the largest that is divided." },
    { MEAN, "mean",
      "the scale comes from the mean of all |w|; it is the largest that is divided." },
    { SMALLEST, "smallest",
      "the scale comes from the smallest |w|; it is the largest that is divided." },
    { NO_ABS, "no_abs",
      "the largest weight is looked for, not the largest |weight|: a large negative one does not "
      "fit into the byte." },
    { OF_COLUMNS, "columns",
      "the scale of row r is looked for in column r. A row has n weights side by side, from r n "
      "on." },
    { BY_128, "divided_by_128",
      "the largest |w| is divided by 128, and the byte of the largest weight overflows to -128." },
    { BY_255, "divided_by_255",
      "the largest |w| is divided by 255: a byte with a sign goes to 127." },
    { BY_256, "divided_by_256",
      "the largest |w| is divided by 256: a byte with a sign goes to 127." },
    { NOT_BY_127, "not_by_127",
      "the scale is the largest |w| itself, and all of q is -1, 0 or 1. Divide it by 127." },
    { RANGE, "range",
      "the scale is (largest - smallest) / 255. That goes with a zero point; here it is the "
      "largest |w| / 127." },
    { INVERSE, "inverse_scale",
      "the scale is upside down: w is nearly scale * q, so it is the largest |w| / 127." },
    { MULTIPLIED, "multiplied", "w is multiplied by the scale: q is w / scale." },
    { SCALE_OF_0, "scale_of_row_0",
      "the scales are right, and all weights are divided by that of row 0: scale[r]." },
    { WEIGHTS_OF_0, "weights_of_row_0",
      "each row of q comes from row 0 of w: row r begins at r n." },
    { BY_SIZE, "divided_by_largest",
      "w is divided by the largest |w|, and all of q is -1, 0 or 1: divide by the scale." },
    { TRUNCATED, "truncated",
      "what is behind the point is cut off. 2.9 is 3: round to the nearest." },
    { DOWN, "rounded_down", "it is rounded down. 2.9 is 3: round to the nearest." },
    { UP, "rounded_up", "it is rounded up. 2.1 is 2: round to the nearest." },
    { HALVES_UP, "halves_up",
      "halves of negative numbers go up: -2.5 became -2, and should be -3, away from 0." },
    { HALVES_EVEN, "halves_even",
      "halves go to the even number, as rintf and lrintf do: 2.5 became 2. They go away from 0." },
    { HALF_ADDED, "half_added_to_all",
      "0.5 is added to negative numbers, too, before the rest is cut off: subtract it there." },
    { UNSIGNED, "sign_lost", "the signs are lost: q is -127 ... 127, as w is." },
    { NEGATED, "opposite_sign", "q has the opposite sign of w." },
};

static double rounded(double x, int e)
{
    if (e == TRUNCATED || e == HALF_ADDED) return trunc(e == HALF_ADDED ? x + 0.5 : x);
    if (e == DOWN) return floor(x);
    if (e == UP) return ceil(x);
    if (e == HALVES_UP) return floor(x + 0.5);
    if (e == HALVES_EVEN) return rint(x);
    double nearest = x < 0 ? -floor(0.5 - x) : floor(x + 0.5);
    if (e == NEGATED) return -nearest;
    return e == UNSIGNED ? fabs(nearest) : nearest;
}

// What is taken for the largest |w| of a row.
static float size_of(const float *w, int r, const int *shape, int e)
{
    int rows = shape[0], n = shape[1], begin = r * n, end = (r + 1) * n;
    float largest = 0, sum = 0, smallest = fabsf(w[begin]);
    if (e == FIRST_OF_ROW) return fabsf(w[begin]);
    if (e == LAST_OF_ROW) return fabsf(w[end - 1]);
    if (e == ONE_SCALE || e == GOES_ON) begin = 0;
    if (e == ONE_SCALE) end = rows * n;
    for (int i = begin; i < end; i++) {
        float x = e == NO_ABS ? w[i] : fabsf(w[i]);
        if (e == OF_COLUMNS) x = fabsf(w[(i - begin) % rows * n + r % n]);
        if (x > largest) largest = x;
        if (x < smallest) smallest = x;
        sum += x;
    }
    if (e == SUM || e == MEAN) return e == SUM ? sum : sum / (float)n;
    return e == SMALLEST ? smallest : largest;
}

static float scale_of(const float *w, int r, const int *shape, int e)
{
    const float *row = w + r * shape[1];
    float size = size_of(w, r, shape, e), least = row[0], most = row[0];
    for (int i = 0; i < shape[1]; i++) {
        if (row[i] < least) least = row[i];
        if (row[i] > most) most = row[i];
    }
    if (size <= 0) return 1;
    if (e == RANGE) return (most - least) / 255;
    if (e == BY_128) return size / 128;
    if (e == BY_255) return size / 255;
    if (e == BY_256) return size / 256;
    return e == NOT_BY_127 ? size : size / 127;
}

// Scales, then q; what does not fit into a byte, goes round.
static void compute(const float *w, const int *shape, int e, float *out)
{
    int rows = shape[0], n = shape[1];
    for (int i = 0; i < rows * n; i++) {
        int r = i / n;
        float scale = scale_of(w, e == SCALE_OF_0 ? 0 : r, shape, e);
        double x = (double)(w[e == WEIGHTS_OF_0 ? i % n : i] / scale);
        if (e == MULTIPLIED) x = (double)(w[i] * scale);
        if (e == BY_SIZE) x = (double)w[i] / (double)size_of(w, r, shape, e);
        out[rows + i] = (float)(signed char)(int)rounded(x, e);
        out[r] = scale_of(w, r, shape, e);
        if (e == INVERSE) out[r] = 1 / out[r];
    }
}

// Is the scale wrong, or what was made with it?
static void clues(const float *w, const int *shape, const float *got, const float *want)
{
    static char sentence[300];
    int rows = shape[0], n = shape[1];
    for (int r = 0; r < rows; r++) {
        if (judge_close((double)got[r], (double)want[r], 1e-6)) continue;
        snprintf(sentence, sizeof sentence,
                 "the scale of row %d is %.6g. The largest |w| of this row is %.6g, and %.6g / 127 "
                 "is %.6g.", r, (double)got[r], (double)size_of(w, r, shape, RIGHT),
                 (double)size_of(w, r, shape, RIGHT), (double)want[r]);
        judge_clue(1, "wrong_scale", sentence);
        return;
    }
    for (int i = 0; i < rows * n; i++) {
        if (got[rows + i] == want[rows + i]) continue;
        snprintf(sentence, sizeof sentence,
                 "the scales are right, and q is not: row %d, column %d of w is %.6g, and divided "
                 "by its scale %.6g. The nearest whole number is %g, and q is %g.", i / n, i % n,
                 (double)w[i], (double)(w[i] / want[i / n]), (double)want[rows + i],
                 (double)got[rows + i]);
        judge_clue(1, "wrong_q", sentence);
        return;
    }
}

static void matrix(const char *what, const float *w, int rows, int n)
{
    const int shape[2] = { rows, n };
    int count = rows + rows * n, wrong_zero = 0;
    float *scale = judge_room(rows, 9), got[MOST], want[MOST], wrong[MOST];
    signed char *q = judge_copy(w, (size_t)(rows * n)); // of another type, to be overwritten
    memset(q, 99, (size_t)(rows * n));
    judge_case(what);
    float *own = judge_copy(w, sizeof(float) * (size_t)(rows * n));
    quantize(own, rows, n, scale, q);
    free(own);
    for (int i = 0; i < count; i++)
        got[i] = i < rows ? scale[i] : q[i - rows];
    judge_got(got, count);
    judge_part("scale", 1, rows);
    judge_part("q", rows, n);
    compute(w, shape, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(w, shape, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, count);
    }
    for (int r = 0; r < rows; r++)
        wrong_zero |= size_of(w, r, shape, RIGHT) == 0 && !(got[r] > 0);
    judge_holds(!wrong_zero, "zero_row",
                "a row of zeros has the scale 0, and 0 / 0 is no number: its scale is 1.");
    clues(w, shape, got, want);
    judge_want(want, count, 1e-6);
    free(scale);
    free(q);
}

int main(void)
{
    judge_begin();
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
    return judge_end();
}
