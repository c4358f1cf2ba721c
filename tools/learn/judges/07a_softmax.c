#include "../judge.h"
#include EXERCISE

static void right(const float *x, float *y, int m, int n)
{
    for (int r = 0; r < m; r++) {
        double largest = (double)x[r * n], sum = 0;
        for (int i = 1; i < n; i++)
            largest = fmax(largest, (double)x[r * n + i]);
        for (int i = 0; i < n; i++)
            sum += exp((double)x[r * n + i] - largest);
        for (int i = 0; i < n; i++)
            y[r * n + i] = (float)(exp((double)x[r * n + i] - largest) / sum);
    }
}

// y = exp(x - shift) / sum, the sum over one row or, all != 0, over all of them.
static void shifted(const float *x, float *y, int m, int n, float shift, int all)
{
    float total = 0;
    for (int r = 0; r < m; r++) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += y[r * n + i] = expf(x[r * n + i] - shift);
        total += sum;
        for (int i = 0; i < n && !all; i++)
            y[r * n + i] /= sum;
    }
    for (int k = 0; k < m * n && all; k++)
        y[k] /= total;
}

static void rows(const char *what, const float *x, int m, int n)
{
    float want[16], wrong[16], largest = x[0], *y = judge_room(m * n, 1000);
    for (int k = 1; k < m * n; k++)
        largest = fmaxf(largest, x[k]);
    judge_case(what);
    softmax(x, y, m, n);
    judge_got(y, m * n);
    right(x, want, m, n);
    shifted(x, wrong, m, n, largest, 0);
    judge_mistake("maximum_of_all",
                  "the largest of all rows was subtracted: a row far below it has "
                  "only zeros then. Each row has its own.",
                  wrong, m * n);
    shifted(x, wrong, m, n, largest, 1);
    judge_mistake("sum_of_all",
                  "the probabilities of all rows together are 1. Each row is for itself: "
                  "its sum begins at 0.",
                  wrong, m * n);
    float first[16], unscaled[16], minimum[16];
    for (int r = 0; r < m; r++) {
        float most = x[r * n], least = x[r * n];
        for (int i = 1; i < n; i++) {
            most = fmaxf(most, x[r * n + i]);
            least = fminf(least, x[r * n + i]);
        }
        shifted(x + r * n, first + r * n, 1, n, x[r * n], 0);
        shifted(x + r * n, minimum + r * n, 1, n, least, 0);
        for (int i = 0; i < n; i++)
            unscaled[r * n + i] = expf(x[r * n + i] - most);
    }
    judge_mistake("not_divided", "these are the exps: they still have to be divided by their sum.",
                  unscaled, m * n);
    judge_mistake("first_element",
                  "the first score of a row was subtracted; exp overflows if another "
                  "one is much larger. Subtract the largest.",
                  first, m * n);
    judge_mistake("minimum",
                  "the smallest score was subtracted, so what is left may be large. Subtract "
                  "the largest.",
                  minimum, m * n);
    shifted(x, wrong, m, n, 0, 0);
    judge_mistake(
        "no_maximum",
        "exp of a large score is infinite, of a very negative one 0, and the "
        "quotient is not a number. Subtract the largest score of the row first: the result is the "
        "same, and all exps are at most 1.",
        wrong, m * n);
    judge_want(want, m * n, 1e-6);
    free(y);
}

int main(void)
{
    judge_begin();
    rows("softmax of (1, 2, 3)", (const float[]){ 1, 2, 3 }, 1, 3);
    rows("softmax of two rows", (const float[]){ 1, 2, 3, 0, 0, 5 }, 2, 3);
    rows("softmax of (1000, 1001, 999)", (const float[]){ 1000, 1001, 999 }, 1, 3);
    rows("softmax of (-1000, -1001, -999)", (const float[]){ -1000, -1001, -999 }, 1, 3);
    rows("softmax of (200, 5, 100)", (const float[]){ 200, 5, 100 }, 1, 3);
    rows("softmax of (5, 200, 100)", (const float[]){ 5, 200, 100 }, 1, 3);
    rows("softmax of rows that lie far apart", (const float[]){ 500, 501, -500, -501 }, 2, 2);
    rows("softmax of one score", (const float[]){ 7 }, 1, 1);
    return judge_end();
}
