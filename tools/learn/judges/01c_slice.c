#include "../judge.h"
#include EXERCISE

enum {
    RIGHT,
    ROUNDED_DOWN,
    STOP_INCLUDED,
    NOT_DIVIDED,
    OFFSET_IN_INDICES,
    OFFSET_REPLACED,
    OFFSET_KEPT,
    STRIDE_REPLACED,
    STRIDE_KEPT,
    STRIDE_FIRST,
    BY_SIZE,
    DIMENSION_0
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { ROUNDED_DOWN, "rounded_down",
      "one index is missing: the first one always stays, so (stop - start) / step is rounded up." },
    { STOP_INCLUDED, "stop_included",
      "there is one index too many: stop itself is not part of it." },
    { NOT_DIVIDED, "not_divided",
      "the size is that of start:stop without a step; only each step-th index stays." },
    { OFFSET_IN_INDICES, "offset_in_indices",
      "the offset grew by start floats. One index is stride[d] floats, so start of them are start "
      "stride[d]." },
    { OFFSET_REPLACED, "offset_replaced",
      "the offset that v had is lost: v may be a slice itself. Add to it." },
    { OFFSET_KEPT, "offset_kept", "the offset is as it was: the slice begins at index start." },
    { STRIDE_REPLACED, "stride_replaced",
      "the stride is step floats. It is step times the old stride: from row to row it is far." },
    { STRIDE_KEPT, "stride_kept",
      "the stride is as it was: from one index that stays to the next it is step times as far." },
    { STRIDE_FIRST, "stride_first",
      "the offset was computed with the new stride: start counts indices of v, so take the stride "
      "that v had." },
    { BY_SIZE, "offset_by_size",
      "the offset grew by start times the size of the dimension; it is start times its stride." },
    { DIMENSION_0, "dimension_0", "dimension 0 was sliced, and not dimension d." },
};

// Indices are counted one by one; a formula may be wrong.
static void compute(view v, int d, const int *range, int e, float *out)
{
    if (e == DIMENSION_0) d = 0;
    int start = range[0], stop = range[1], step = range[2], count = 0;
    for (int i = start; i < stop; i += step)
        count++;
    if (e == ROUNDED_DOWN) count = (stop - start) / step;
    if (e == STOP_INCLUDED) count = (stop - start) / step + 1;
    if (e == NOT_DIVIDED) count = stop - start;
    int begin = e == OFFSET_IN_INDICES ? start : start * v.stride[d];
    if (e == STRIDE_FIRST) begin *= step;
    if (e == BY_SIZE) begin = start * v.shape[d];
    if (e == OFFSET_KEPT) begin = 0;
    out[0] = (float)((e == OFFSET_REPLACED ? 0 : v.offset) + begin);
    for (int k = 0; k < v.n; k++) {
        out[1 + k] = (float)(k == d ? count : v.shape[k]);
        out[1 + v.n + k] = (float)v.stride[k];
    }
    if (e == STRIDE_REPLACED)
        out[1 + v.n + d] = (float)step;
    else if (e != STRIDE_KEPT)
        out[1 + v.n + d] = (float)(v.stride[d] * step);
}

static void cut(const char *what, view v, int d, const int *range)
{
    float got[9], out[9];
    view s = slice(v, d, range[0], range[1], range[2]);
    judge_case(what);
    s.n = v.n;
    got[0] = (float)s.offset;
    for (int k = 0; k < v.n; k++) {
        got[1 + k] = (float)s.shape[k];
        got[1 + v.n + k] = (float)s.stride[k];
    }
    judge_got(got, 1 + 2 * v.n);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(v, d, range, mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, 1 + 2 * v.n);
    }
    compute(v, d, range, RIGHT, out);
    judge_want(out, 1 + 2 * v.n, 0);
}

int main(void)
{
    judge_begin();
    const view matrix = { 0, 2, { 8, 3 }, { 3, 1 } };
    const view images = { 0, 3, { 4, 6, 7 }, { 42, 7, 1 } };
    const view part = { 50, 3, { 2, 5, 6 }, { 84, 7, 1 } };
    cut("rows 1:6:2 of (8,3), as offset, sizes, strides", matrix, 0, (const int[]){ 1, 6, 2 });
    cut("rows 2:8:3 of (8,3), as offset, sizes, strides", matrix, 0, (const int[]){ 2, 8, 3 });
    cut("rows 0:8:1 of (8,3): all of them", matrix, 0, (const int[]){ 0, 8, 1 });
    cut("rows 4:4:1 of (8,3): none", matrix, 0, (const int[]){ 4, 4, 1 });
    cut("1:6:2 of dimension 1 of (4,6,7)", images, 1, (const int[]){ 1, 6, 2 });
    cut("1:5:2 of dimension 1 of a slice at 50", part, 1, (const int[]){ 1, 5, 2 });
    cut("0:6:4 of dimension 2 of a slice at 50", part, 2, (const int[]){ 0, 6, 4 });
    return judge_end();
}
