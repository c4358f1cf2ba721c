#include "../judge.h"
#include EXERCISE

enum { MOST = 256 };

enum { RIGHT, ASSIGNED, MEAN, MODULO, BLOCKS, BIG_STRIDES, FIRST, REVERSED };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { ASSIGNED, "assigned",
      "only the last copy is left: = overwrites what the others brought, += adds to it." },
    { MEAN, "mean",
      "this is the mean over the copies. Nothing was divided forward: it is the sum." },
    { FIRST, "first_copy", "only the first copy counts; the others were read, too." },
    { MODULO, "as_a_row",
      "each block of dy is added as if the first dimensions were those of size 1. Look at each "
      "dimension: an index counts if small has that dimension, and not if it is 1 there." },
    { BLOCKS, "as_a_column",
      "each run of dy goes to one element, as if the last dimensions were those of size 1. Look at "
      "each dimension for itself." },
    { BIG_STRIDES, "big_strides",
      "the place in dx is computed with the sizes of big. dx has the sizes of small, so its steps "
      "are products of those." },
    { REVERSED, "first_index_fastest",
      "number k of dy is taken apart from the first dimension on; in row-major order the last "
      "index runs fastest." },
};

static int product(const int *shape, int n)
{
    int p = 1;
    for (int d = 0; d < n; d++)
        p *= shape[d];
    return p;
}

// The place in dx that number k of dy belongs to; -1: outside of dx.
static int place(int k, const int *big, const int *small, int n, int e)
{
    int total = product(big, n), count = product(small, n), index[4], at = 0, step = 1;
    if (e == MODULO) return k % count;
    if (e == BLOCKS) return k / (total / count);
    for (int i = 0; i < n; i++) {
        int d = e == REVERSED ? i : n - 1 - i;
        index[d] = k % big[d];
        k /= big[d];
    }
    for (int d = n - 1; d >= 0; d--) {
        if (small[d] > 1) at += index[d] * step;
        step *= e == BIG_STRIDES ? big[d] : small[d];
    }
    return at < count ? at : -1;
}

static void compute(const float *dy, const int *big, const int *small, int n, int e, float *dx)
{
    double sum[MOST] = { 0 };
    int total = product(big, n), count = product(small, n), seen[MOST] = { 0 };
    for (int k = 0; k < total; k++) {
        int at = place(k, big, small, n, e);
        if (at < 0) continue;
        if (e == ASSIGNED) sum[at] = 0;
        if (e != FIRST || !seen[at]) sum[at] += (double)dy[k];
        seen[at] = 1;
    }
    for (int i = 0; i < count; i++)
        dx[i] = (float)(e == MEAN ? sum[i] * count / total : sum[i]);
}

static void back(const char *what, const int *big, const int *small, int n)
{
    int total = product(big, n), count = product(small, n);
    float out[MOST], *dy = judge_room(total, 0), *dx = judge_room(count, 1000);
    for (int k = 0; k < total; k++)
        dy[k] = (float)((k * 37 + 11) % 101) / 4 - 12.125f;
    judge_case(what);
    sum_back(dy, big, dx, small, n);
    judge_got(dx, count);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(dy, big, small, n, mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, count);
    }
    compute(dy, big, small, n, RIGHT, out);
    for (int i = 0; i < count; i++)
        out[i] += 1000;
    judge_mistake("not_zeroed",
                  "the sums are right, but they were added to what dx held before. Set it to zero "
                  "first.",
                  out, count);
    for (int i = 0; i < count; i++)
        out[i] -= 1000;
    judge_want(out, count, 1e-5);
    free(dy);
    free(dx);
}

int main(void)
{
    judge_begin();
    const int matrix[] = { 3, 4 }, images[] = { 4, 3, 5 }, batch[] = { 2, 3, 4, 5 };
    back("(4,1,5) from (4,3,5)", images, (const int[]){ 4, 1, 5 }, 3);
    back("(1,4) from (3,4)", matrix, (const int[]){ 1, 4 }, 2);
    back("(3,1) from (3,4)", matrix, (const int[]){ 3, 1 }, 2);
    back("(1,3,1) from (4,3,5)", images, (const int[]){ 1, 3, 1 }, 3);
    back("(1,1,1) from (4,3,5)", images, (const int[]){ 1, 1, 1 }, 3);
    back("(4,3,5) from (4,3,5)", images, (const int[]){ 4, 3, 5 }, 3);
    back("(2,1,4,1) from (2,3,4,5)", batch, (const int[]){ 2, 1, 4, 1 }, 4);
    return judge_end();
}
