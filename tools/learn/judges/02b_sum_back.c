#include "../judge.h"
#include EXERCISE

enum { MOST = 256 };

enum { RIGHT, ASSIGNED, MEAN, MODULO, BLOCKS, BIG_STRIDES, FIRST, REVERSED, LEFT, UNCHECKED,
       TURNED_CHECK, OWN_STEP, COLUMNS, ALL, NEGATIVE, TIMES, PER_NUMBER, LAST_ONLY, PREFIX,
       NO_LAST,
       NO_FIRST, LARGEST };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { ASSIGNED, "assigned",
      "only the last copy is left: = overwrites what the others brought, += adds to it." },
    { MEAN, "mean",
      "this is the mean over the copies. Nothing was divided forward: it is the sum." },
    { PER_NUMBER, "divided_by_all",
      "the sums are divided by the number of elements of dy. Nothing was divided forward." },
    { FIRST, "first_copy", "only the first copy counts; the others were read, too." },
    { PREFIX, "not_summed", "these are the first numbers of dy, and not sums of several." },
    { LARGEST, "largest", "this is the largest of what flows back; it is the sum." },
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
    { COLUMNS, "dx_column_major",
      "the place in dx is computed with the first index fastest; in row-major order the last one "
      "is." },
    { UNCHECKED, "repeated_index_counts",
      "an index counts in dimensions where small is 1, too. All copies along it belong to the same "
      "element: there it adds nothing to the place." },
    { TURNED_CHECK, "wrong_dimensions",
      "the sums run over the dimensions that small has; they run over those in which it is 1." },
    { OWN_STEP, "own_size",
      "the step of a dimension has its own size in it. A step passes the dimensions behind it." },
    { LAST_ONLY, "last_dimension_only",
      "the sum runs over one dimension, the last in which small is 1; there may be more." },
    { NO_LAST, "no_last_index",
      "the last index does not count for the place in dx: where does the loop begin?" },
    { NO_FIRST, "no_first_index",
      "the first index does not count for the place in dx: where does the loop end?" },
    { ALL, "sum_of_all", "each is the sum of all of dy; it is that of its own copies." },
    { NEGATIVE, "sign", "the sign is turned: what flows back is added." },
    { TIMES, "times_copies",
      "the sums are multiplied by the number of copies: each copy is in the sum already." },
    { LEFT, "not_zeroed",
      "the sums are right, but they were added to what dx held before. Set it to zero first." },
};

static int product(const int *shape, int n)
{
    int p = 1;
    for (int d = 0; d < n; d++)
        p *= shape[d];
    return p;
}

// Whether index d of a number of dy counts for its place in dx.
static int counts(const int *small, int n, int d, int e)
{
    if (e == UNCHECKED) return 1;
    if (e == TURNED_CHECK) return small[d] == 1;
    if ((e == NO_LAST && d == n - 1) || (e == NO_FIRST && d == 0)) return 0;
    return small[d] > 1;
}

// The place in dx that number k of dy belongs to; -1: none.
static int place(int k, const int *big, const int *small, int n, int e)
{
    int total = product(big, n), count = product(small, n), index[4], at = 0, step = 1,
    last = n - 1;
    if (e == PREFIX) return k < count ? k : -1;
    if (e == MODULO) return k % count;
    if (e == BLOCKS) return k / (total / count);
    for (int i = 0; i < n; i++) {
        int d = e == REVERSED ? i : n - 1 - i;
        index[d] = k % big[d];
        k /= big[d];
    }
    while (last > 0 && small[last] > 1)
        last--;
    for (int d = 0; d < n && e == LAST_ONLY; d++)
        if (d != last && small[d] == 1 && index[d] > 0) return -1;
    for (int i = n - 1; i >= 0; i--) {
        int d = e == COLUMNS ? n - 1 - i : i;
        if (e == OWN_STEP) step *= small[d];
        if (counts(small, n, d, e)) at += index[d] * step;
        if (e != OWN_STEP) step *= e == BIG_STRIDES ? big[d] : small[d];
    }
    return at < count ? at : -1;
}

static void compute(const float *dy, const int *big, const int *small, int n, int e, float *dx)
{
    double sum[MOST] = { 0 }, all = 0;
    int total = product(big, n), count = product(small, n), seen[MOST] = { 0 };
    for (int k = 0; k < total; k++) {
        int at = place(k, big, small, n, e);
        all += (double)dy[k];
        if (at < 0) continue;
        if (e == ASSIGNED) sum[at] = 0;
        if (e == LARGEST) sum[at] = seen[at] ? fmax(sum[at], (double)dy[k]) : (double)dy[k];
        else if (e != FIRST || !seen[at]) sum[at] += (double)dy[k];
        seen[at] = 1;
    }
    for (int i = 0; i < count; i++) {
        if (e == MEAN || e == PER_NUMBER) sum[i] /= (double)total / (e == MEAN ? count : 1);
        if (e == TIMES) sum[i] *= total / count;
        dx[i] = (float)(e == NEGATIVE ? -sum[i] : sum[i] + (e == LEFT ? 1000 : 0));
        if (e == ALL) dx[i] = (float)all;
    }
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
    judge_part("dx", 1, count);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(dy, big, small, n, mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, count);
    }
    compute(dy, big, small, n, RIGHT, out);
    judge_want(out, count, 1e-5);
    free(dy);
    free(dx);
}

int main(void)
{
    judge_begin();
    const int matrix[] = { 3, 4 }, images[] = { 4, 3, 5 }, batch[] = { 2, 3, 4, 5 };
    back("(2,1,4,1) from (2,3,4,5)", batch, (const int[]){ 2, 1, 4, 1 }, 4);
    back("(4,1,5) from (4,3,5)", images, (const int[]){ 4, 1, 5 }, 3);
    back("(1,4) from (3,4)", matrix, (const int[]){ 1, 4 }, 2);
    back("(3,1) from (3,4)", matrix, (const int[]){ 3, 1 }, 2);
    back("(1,3,1) from (4,3,5)", images, (const int[]){ 1, 3, 1 }, 3);
    back("(1,1,1) from (4,3,5)", images, (const int[]){ 1, 1, 1 }, 3);
    back("(4,3,5) from (4,3,5)", images, (const int[]){ 4, 3, 5 }, 3);
    back("(1,3,4,1) from (2,3,4,5)", batch, (const int[]){ 1, 3, 4, 1 }, 4);
    return judge_end();
}
