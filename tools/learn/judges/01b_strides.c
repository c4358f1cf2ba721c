#include "../judge.h"
#include EXERCISE

// ---- row_major ----
enum { RIGHT, COLUMN_MAJOR, OWN_SIZE, NEXT_SIZE, ALL_ONE, SHAPE, TURNED, SKIPS_ONE, SUMS, LAST_ZERO,
       BYTES, NOT_SET };

static const struct {
    int e;
    const char *name, *sentence;
} of_strides[] = {
    { COLUMN_MAJOR, "column_major",
      "the first index runs fastest in it; in row-major order the last one does." },
    { TURNED, "strides_reversed",
      "the strides are right, and stand in reverse order: the last dimension has stride 1." },
    { OWN_SIZE, "own_size",
      "each stride has the size of its own dimension in it: a step of index[d] passes the "
      "dimensions behind d, and not d itself. The last stride is 1." },
    { SHAPE, "stride_is_size",
      "each stride is the size of its own dimension. A step of index[d] passes as many floats as "
      "the dimensions behind d have together." },
    { NEXT_SIZE, "next_size",
      "each stride is the size of one dimension, the next. It is the product of all sizes behind "
      "d." },
    { ALL_ONE, "all_one", "all strides are 1; only that of the last dimension is." },
    { SKIPS_ONE, "skips_one",
      "each stride is the product of the sizes from d + 2 on: the size next to d is missing." },
    { SUMS, "sizes_added",
      "the sizes behind d are added. A step passes their product: rows times columns." },
    { LAST_ZERO, "last_not_set",
      "the last stride is 0. From one element of a row to the next it is 1." },
    { BYTES, "bytes", "the strides are counted in bytes; here they are counted in floats." },
    { NOT_SET, "no_strides", "the strides are all 0: are they set, and does the product begin with 1?" },
};

static void strides(const int *shape, int n, int e, float *out)
{
    for (int i = 0; i < n; i++) {
        int d = e == TURNED ? n - 1 - i : i, step = 1;
        for (int k = 0; k < n; k++) {
            if (e == COLUMN_MAJOR ? k < d : k > d + (e == SKIPS_ONE))
                step = e == SUMS ? step + shape[k] : step * shape[k];
            if (e == OWN_SIZE && k == d) step *= shape[k];
        }
        if (e == SHAPE) step = shape[d];
        if (e == NEXT_SIZE) step = d + 1 < n ? shape[d + 1] : 1;
        if ((e == LAST_ZERO && d == n - 1) || e == NOT_SET) step = 0;
        out[i] = (float)(e == ALL_ONE ? 1 : step * (e == BYTES ? 4 : 1));
    }
}

static void row(const char *what, const int *shape, int n)
{
    float got[4], out[4];
    view v = row_major(shape, n);
    judge_case(what);
    judge_holds(v.n == n, "no_n", "n of the view is not the number of dimensions: set it, too.");
    judge_holds(memcmp(v.shape, shape, (size_t)n * sizeof *shape) == 0, "no_shape",
                "the view has not the sizes of the shape: copy them, too.");
    for (int d = 0; d < n; d++)
        got[d] = (float)v.stride[d];
    judge_got(got, n);
    judge_part("stride", 1, n);
    for (unsigned i = 0; i < sizeof of_strides / sizeof *of_strides; i++) {
        strides(shape, n, of_strides[i].e, out);
        judge_mistake(of_strides[i].name, of_strides[i].sentence, out, n);
    }
    strides(shape, n, RIGHT, out);
    judge_want(out, n, 0);
}

// ---- transpose, of views that the learner's row_major has no part in ----
enum { NOTHING = 1, SIZES_ONLY, STRIDES_ONLY, MADE_ANEW, FIRST_TWO, LAST_TWO, ALL_TURNED, LOST_A,
       LOST_B, NEIGHBOUR };

static const struct {
    int e;
    const char *name, *sentence;
} of_transpose[] = {
    { NOTHING, "unchanged",
      "the view is as it was. If a function of yours swaps numbers, does it get their addresses? "
      "In "
      "C an argument is a copy." },
    { SIZES_ONLY, "sizes_only",
      "the sizes are exchanged, the strides are not: each dimension takes its stride along." },
    { STRIDES_ONLY, "strides_only", "the strides are exchanged, the sizes are not." },
    { MADE_ANEW, "made_anew",
      "the strides are those of a row-major tensor of the new shape: this reads the floats in the "
      "old order, as after a reshape. Exchange the strides." },
    { FIRST_TWO, "first_two", "dimensions 0 and 1 are exchanged, and not a and b." },
    { LAST_TWO, "last_two", "the last two dimensions are exchanged, and not a and b." },
    { ALL_TURNED, "all_reversed",
      "all dimensions stand in reverse order; only a and b change places." },
    { LOST_A, "first_lost",
      "both dimensions are now the old b: a was overwritten before it was kept." },
    { LOST_B, "second_lost",
      "both dimensions are now the old a: b was overwritten before it was kept." },
    { NEIGHBOUR, "moved",
      "dimension a was moved to place b and those between moved up; a and b should change "
      "places." },
};

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

// The old dimension that stands at d.
static int source(int n, int d, int a, int b, int e)
{
    if (e == FIRST_TWO) return source(n, d, 0, n > 1, RIGHT);
    if (e == LAST_TWO && n > 1) return source(n, d, n - 2, n - 1, RIGHT);
    if (e == ALL_TURNED) return n - 1 - d;
    if (e == NEIGHBOUR && d >= a && d < b) return d + 1;
    if (d == a && e != LOST_B && e != NOTHING) return b;
    return d == b && e != LOST_A && e != NOTHING ? a : d;
}

static void transposed(view v, int a, int b, int e, float *out)
{
    int shape[4];
    for (int d = 0; d < v.n; d++) {
        int from = source(v.n, d, a, b, e);
        shape[d] = v.shape[e == STRIDES_ONLY ? d : from];
        out[d] = (float)shape[d];
        out[v.n + d] = (float)v.stride[e == SIZES_ONLY ? d : from];
    }
    if (e == MADE_ANEW) strides(shape, v.n, RIGHT, out + v.n);
}

static void turn(const char *what, view v, int a, int b)
{
    float got[8], out[8];
    view t = transpose(v, a, b);
    judge_case(what);
    judge_holds(t.n == v.n, "no_n", "n of the view is another than it was.");
    transposed(t, 0, 0, NOTHING, got);
    judge_got(got, 2 * v.n);
    judge_part("shape", 1, v.n);
    judge_part("stride", 1, v.n);
    for (unsigned i = 0; i < sizeof of_transpose / sizeof *of_transpose; i++) {
        transposed(v, a, b, of_transpose[i].e, out);
        judge_mistake(of_transpose[i].name, of_transpose[i].sentence, out, 2 * v.n);
    }
    transposed(v, a, b, RIGHT, out);
    judge_want(out, 2 * v.n, 0);
}

// ---- place ----
enum { BY_SHAPE = 1, SUM_OF_INDICES, BY_COLUMNS, TIMES_SIZE, NO_FIRST, NO_LAST, INDEX_TURNED, TWO,
       ADDED, FROM_ONE, PLACES };

static const struct {
    int e;
    const char *name, *sentence;
} of_place[] = {
    { BY_SHAPE, "by_shape",
      "this is the place in a row-major tensor. A view says with its strides where its elements "
      "lie." },
    { SUM_OF_INDICES, "sum_of_indices", "the indices are added without their strides." },
    { BY_COLUMNS, "place_column_major",
      "this is the place in a column-major tensor. A view says with its strides where its elements "
      "lie." },
    { TIMES_SIZE, "times_its_size",
      "each index is multiplied by the size of its dimension; it is multiplied by its stride." },
    { NO_FIRST, "no_first_index", "the first index does not count: does the loop begin at 1?" },
    { NO_LAST, "no_last_index", "the last index does not count: does the loop end one too early?" },
    { INDEX_TURNED, "indices_turned",
      "the indices are taken from the last to the first: index[d] belongs to stride[d]." },
    { TWO, "two_only", "only the first two indices count; a view has n." },
    { ADDED, "stride_added",
      "indices and strides are added; each index is multiplied by its own." },
    { FROM_ONE, "from_one", "it is one too many: element (0,0,...) lies at 0." },
};

static double place_of(view v, const int *index, int e)
{
    double at = e == FROM_ONE;
    for (int k = 0; k < v.n; k++) {
        int d = e == BY_COLUMNS ? v.n - 1 - k : k, i = index[e == INDEX_TURNED ? v.n - 1 - d : d];
        if (e == BY_SHAPE || e == BY_COLUMNS) at = at * v.shape[d] + i;
        else if (e == TIMES_SIZE) at += (double)i * v.shape[d];
        else if (e == SUM_OF_INDICES || e == ADDED) at += i + (e == ADDED ? v.stride[d] : 0);
        else if ((e == NO_FIRST && d == 0) || (e == NO_LAST && d == v.n - 1)) continue;
        else if (e != TWO || d < 2) at += (double)i * v.stride[d];
    }
    return at;
}

// A mistake is one that explains all places.
static void lie(void)
{
    static const struct {
        const char *name;
        view v;
        int index[4];
    } at[] = {
        { "the place of (1,2) in (2,3)", { 2, { 2, 3 }, { 3, 1 } }, { 1, 2 } },
        { "the place of (1,1) with strides (1,3)", { 2, { 3, 2 }, { 1, 3 } }, { 1, 1 } },
        { "the place of (2,1) with strides (1,3)", { 2, { 3, 2 }, { 1, 3 } }, { 2, 1 } },
        { "the place of (3,4,2) with strides (1,7,35)", { 3, { 7, 5, 3 }, { 1, 7, 35 } },
          { 3, 4, 2 } },
        { "the place of (2) with stride 5", { 1, { 4 }, { 5 } }, { 2 } },
        { "the place of (1,2,0,3) with strides (4,0,2,50)",
          { 4, { 2, 9, 2, 5 }, { 4, 0, 2, 50 } }, { 1, 2, 0, 3 } },
    };
    enum { COUNT = sizeof at / sizeof *at };
    float got[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++) {
        int *index = judge_copy(at[i].index, sizeof(int) * (size_t)at[i].v.n);
        judge_case(at[i].name);
        got[i] = (float)place(&at[i].v, index);
        free(index);
    }
    judge.what = "place";
    judge_got(got, COUNT);
    for (int i = 0; i < COUNT; i++)
        judge_part(at[i].name, 1, 1);
    for (int e = 0; e < PLACES - 1; e++) {
        for (int i = 0; i < COUNT; i++)
            out[i] = (float)place_of(at[i].v, at[i].index, of_place[e].e);
        judge_mistake(of_place[e].name, of_place[e].sentence, out, COUNT);
    }
    for (int i = 0; i < COUNT; i++)
        out[i] = (float)place_of(at[i].v, at[i].index, RIGHT);
    judge_want(out, COUNT, 0);
}

int main(void)
{
    judge_begin();
    const int matrix[] = { 2, 3 }, images[] = { 4, 3, 5, 7 }, line[] = { 6 };
    row("row_major of (4,3,5,7)", images, 4);
    row("row_major of (2,3)", matrix, 2);
    row("row_major of (6)", line, 1);
    turn("dimensions 0 and 2 of (4,3,5,7) exchanged", made(images, 4), 0, 2);
    turn("dimensions 1 and 3 of (4,3,5,7) exchanged", made(images, 4), 1, 3);
    turn("dimensions 3 and 0 of (4,3,5,7) exchanged", made(images, 4), 3, 0);
    turn("transpose of (2,3)", made(matrix, 2), 0, 1);
    turn("dimension 2 of (4,3,5,7) with itself", made(images, 4), 2, 2);
    turn("a transposed (2,3), back", (view){ 2, { 3, 2 }, { 1, 3 } }, 0, 1);
    lie();
    return judge_end();
}
