#include "../judge.h"
#include EXERCISE

enum { MOST = 32 };

enum { RIGHT, ONE_SCALE, NO_ABS, TRUNCATED, HALVES_UP, BY_128, MULTIPLIED, INVERSE };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { ONE_SCALE, "one_scale",
      "all rows have the scale of the largest weight of the matrix. Each row has its own." },
    { NO_ABS, "no_abs",
      "the largest weight is looked for, not the largest |weight|: a large negative one does not "
      "fit into the byte." },
    { TRUNCATED, "truncated",
      "what is behind the point is cut off. 2.9 is 3: round to the nearest." },
    { HALVES_UP, "halves_up",
      "halves of negative numbers go up: -2.5 became -2, and should be -3, away from 0." },
    { BY_128, "divided_by_128",
      "the largest |w| is divided by 128, and the byte of the largest weight overflows to -128." },
    { MULTIPLIED, "multiplied", "w is multiplied by the scale: q is w / scale." },
    { INVERSE, "inverse_scale",
      "the scale is upside down: w is nearly scale * q, so it is the largest |w| / 127." },
};

// What a row of n weights becomes: its scale, then its numbers.
static void row(const float *w, int n, float largest, int e, float *out)
{
    float scale = largest > 0 ? largest / (e == BY_128 ? 128.0f : 127.0f) : 1;
    out[0] = e == INVERSE && largest > 0 ? 1 / scale : scale;
    for (int i = 0; i < n; i++) {
        double x = (double)(w[i] / scale), down = floor(x + 0.5);
        if (e == MULTIPLIED) x = (double)(w[i] * scale);
        if (e == MULTIPLIED) down = floor(x + 0.5);
        double q = x < 0 ? -floor(0.5 - x) : down;
        if (e == TRUNCATED) q = x < 0 ? -floor(-x) : floor(x);
        if (e == HALVES_UP) q = down;
        out[1 + i] = (float)(signed char)(int)q;
    }
}

static void compute(const float *w, int rows, int n, int e, float *out)
{
    float most = 0;
    for (int i = 0; i < rows * n; i++)
        if (fabsf(w[i]) > most) most = fabsf(w[i]);
    for (int r = 0; r < rows; r++) {
        float largest = 0;
        for (int i = r * n; i < (r + 1) * n; i++) {
            float size = e == NO_ABS ? w[i] : fabsf(w[i]);
            if (size > largest) largest = size;
        }
        row(w + r * n, n, e == ONE_SCALE ? most : largest, e, out + r * (n + 1));
    }
}

static void matrix(const char *what, const float *w, int rows, int n)
{
    float *scale = judge_room(rows, 9), got[MOST], want[MOST], wrong[MOST];
    signed char *q = (signed char *)malloc((size_t)(rows * n));
    if (!q) abort();
    memset(q, 99, (size_t)(rows * n));
    judge_case(what);
    float *own = judge_copy(w, sizeof(float) * (size_t)(rows * n));
    quantize(own, rows, n, scale, q);
    free(own);
    for (int r = 0; r < rows; r++) {
        got[r * (n + 1)] = scale[r];
        for (int i = 0; i < n; i++)
            got[r * (n + 1) + 1 + i] = q[r * n + i];
    }
    judge_got(got, rows * (n + 1));
    compute(w, rows, n, RIGHT, want);
    for (int r = 0; r < rows; r++)
        judge_holds(want[r * (n + 1)] != 1 || got[r * (n + 1)] == got[r * (n + 1)], "zero_row",
                    "the scale is no number.");
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(w, rows, n, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, rows * (n + 1));
    }
    for (int r = 0; r < rows; r++)
        judge_holds(want[r * (n + 1)] != 1 || got[r * (n + 1)] != 0, "zero_row",
                    "a row of zeros has the scale 0, and 0 / 0 is no number: its scale is 1.");
    judge_want(want, rows * (n + 1), 1e-6);
    free(scale);
    free(q);
}

int main(void)
{
    judge_begin();
    matrix("a row: its scale, then its numbers", (const float[]){ 127, 2.5f, -2.5f, 2.9f, -64 }, 1,
           5);
    matrix("a row whose largest is negative", (const float[]){ -254, 5, 100 }, 1, 3);
    matrix("two rows: scale and numbers of each",
           (const float[]){ 0.25f, -0.125f, 0.0625f, 100, -20, 3 }, 2, 3);
    matrix("a row of zeros, and another one", (const float[]){ 0, 0, 12.7f, -0.1f }, 2, 2);
    return judge_end();
}
