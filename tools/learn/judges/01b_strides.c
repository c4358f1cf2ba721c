#include "../judge.h"
#include EXERCISE

enum { RIGHT, COLUMN_MAJOR, OWN_SIZE, NEXT_SIZE, ALL_ONE };

static void strides(const int *shape, int n, int e, float *out)
{
    for (int d = 0; d < n; d++) {
        int step = 1;
        for (int k = 0; k < n; k++) {
            if (e == COLUMN_MAJOR ? k < d : k > d) step *= shape[k];
            if (e == OWN_SIZE && k == d) step *= shape[k];
        }
        if (e == NEXT_SIZE) step = d + 1 < n ? shape[d + 1] : 1;
        out[d] = (float)(e == ALL_ONE ? 1 : step);
    }
}

static void row(const char *what, const int *shape, int n)
{
    float got[4], out[4];
    view v = row_major(shape, n);
    judge_case(what);
    judge_holds(v.n == n && memcmp(v.shape, shape, (size_t)n * sizeof *shape) == 0, "no_shape",
                "the view has not the sizes of the shape: copy them, too.");
    for (int d = 0; d < n; d++)
        got[d] = (float)v.stride[d];
    judge_got(got, n);
    strides(shape, n, COLUMN_MAJOR, out);
    judge_mistake("column_major",
                  "the first index runs fastest in it; in row-major order the last one does.", out,
                  n);
    strides(shape, n, OWN_SIZE, out);
    judge_mistake("own_size",
                  "each stride has the size of its own dimension in it: a step of index[d] passes "
                  "the dimensions behind d, and not d itself. The last stride is 1.",
                  out, n);
    strides(shape, n, NEXT_SIZE, out);
    judge_mistake("next_size",
                  "each stride is the size of one dimension, the next. It is the product of all "
                  "sizes behind d.",
                  out, n);
    strides(shape, n, ALL_ONE, out);
    judge_mistake("all_one", "all strides are 1; only that of the last dimension is.", out, n);
    strides(shape, n, RIGHT, out);
    judge_want(out, n, 0);
}

// Views that the learner's row_major has no part in.
static view made(const int *shape, int n)
{
    float out[4];
    view v = { n, { 0 }, { 0 } };
    strides(shape, n, RIGHT, out);
    for (int d = 0; d < n; d++) {
        v.shape[d] = shape[d];
        v.stride[d] = (int)out[d];
    }
    return v;
}

// Sizes and strides, one behind the other, with those of dimensions a and b exchanged.
static void exchanged(view v, int sizes, int steps, int a, int b, float *out)
{
    for (int d = 0; d < v.n; d++) {
        int other = d == a ? b : d;
        if (d == b) other = a;
        out[d] = (float)v.shape[sizes ? other : d];
        out[v.n + d] = (float)v.stride[steps ? other : d];
    }
}

static void turn(const char *what, view v, int a, int b)
{
    float got[8], out[8];
    int shape[4];
    view t = transpose(v, a, b);
    judge_case(what);
    exchanged(t, 0, 0, 0, 0, got);
    judge_got(got, 2 * v.n);
    exchanged(v, 1, 0, a, b, out);
    judge_mistake("sizes_only",
                  "the sizes are exchanged, the strides are not: each dimension takes its stride "
                  "along.",
                  out, 2 * v.n);
    exchanged(v, 0, 1, a, b, out);
    judge_mistake("strides_only", "the strides are exchanged, the sizes are not.", out, 2 * v.n);
    exchanged(v, 1, 1, a, b, out);
    for (int d = 0; d < v.n; d++)
        shape[d] = (int)out[d];
    strides(shape, v.n, RIGHT, out + v.n);
    judge_mistake("made_anew",
                  "the strides are those of a row-major tensor of the new shape: this reads the "
                  "floats in the old order, as after a reshape. Exchange the strides.",
                  out, 2 * v.n);
    exchanged(v, 1, 1, 0, 1, out);
    judge_mistake("first_two", "dimensions 0 and 1 are exchanged, and not a and b.", out, 2 * v.n);
    exchanged(v, 1, 1, a, b, out);
    judge_want(out, 2 * v.n, 0);
}

static void lie(const char *what, view v, const int *index)
{
    double at = 0, sum = 0, horner = 0;
    for (int d = 0; d < v.n; d++) {
        at += (double)index[d] * v.stride[d];
        sum += index[d];
        horner = horner * v.shape[d] + index[d];
    }
    judge_case(what);
    judge_got_number((double)place(&v, index));
    judge_mistake_number("by_shape",
                         "this is the place in a row-major tensor. A view says with its strides "
                         "where its elements lie.",
                         horner);
    judge_mistake_number("sum_of_indices", "the indices are added without their strides.", sum);
    judge_want_number(at, 0);
}

int main(void)
{
    judge_begin();
    const int matrix[] = { 2, 3 }, images[] = { 4, 3, 5, 7 }, line[] = { 6 };
    row("row_major of (2,3)", matrix, 2);
    row("row_major of (4,3,5,7)", images, 4);
    row("row_major of (6)", line, 1);
    turn("transpose of (2,3)", made(matrix, 2), 0, 1);
    turn("dimensions 1 and 3 of (4,3,5,7) exchanged", made(images, 4), 1, 3);
    turn("dimension 2 of (4,3,5,7) with itself", made(images, 4), 2, 2);
    view turned = { 2, { 3, 2 }, { 1, 3 } }, inner = { 3, { 7, 5, 3 }, { 1, 7, 35 } };
    lie("place of (1,2) in (2,3)", made(matrix, 2), (const int[]){ 1, 2 });
    lie("place of (1,1) in a view with strides (1,3)", turned, (const int[]){ 1, 1 });
    lie("place of (3,4,2) in a view with strides (1,7,35)", inner, (const int[]){ 3, 4, 2 });
    return judge_end();
}
