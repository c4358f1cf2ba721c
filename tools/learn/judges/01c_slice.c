#include "../judge.h"
#include EXERCISE

// The three things that a slice changes are judged one after the other.
typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

enum { RIGHT, KEPT, IN_INDICES, REPLACED, NEW_STRIDE, BY_SIZE, MINUS, STOP, STEP, ADDED, TIMES,
       BY_LAST, ONE_BEFORE };

static const mistake of_offset[] = {
    { KEPT, "offset_kept", "the offset is as it was: the slice begins at index start." },
    { IN_INDICES, "offset_in_indices",
      "the offset grew by start floats. One index is stride[d] floats, so start of them are start "
      "stride[d]." },
    { REPLACED, "offset_replaced",
      "the offset that v had is lost: v may be a slice itself. Add to it." },
    { NEW_STRIDE, "stride_first",
      "the offset was computed with the new stride: start counts indices of v, so take the stride "
      "that v had." },
    { BY_SIZE, "offset_by_size",
      "the offset grew by start times the size of the dimension; it is start times its stride." },
    { MINUS, "offset_minus", "the offset became smaller; start * stride[d] is added to it." },
    { STOP, "offset_by_stop", "the slice begins at stop; it begins at start." },
    { STEP, "offset_by_step", "the offset grew by step indices; it begins at index start." },
    { ADDED, "offset_added", "start and stride are added; the offset grows by their product." },
    { TIMES, "offset_multiplied",
      "the old offset is multiplied by the stride, too: it is counted in floats already." },
    { BY_LAST, "offset_row_major",
      "the offset is computed from the sizes behind d, as if v were row-major. A view has strides "
      "of its own." },
    { ONE_BEFORE, "offset_one_less", "it begins one index too early: indices count from 0." },
};

static double offset_with(view v, int d, const int *range, int e)
{
    double start = range[0], step = v.stride[d], behind = 1;
    for (int k = d + 1; k < v.n; k++)
        behind *= v.shape[k];
    if (e == KEPT) return v.offset;
    if (e == REPLACED) return start * step;
    if (e == TIMES) return (v.offset + start) * step;
    if (e == ADDED) return v.offset + start + step;
    if (e == STOP) start = range[1];
    if (e == STEP) start = range[2];
    if (e == MINUS) start = -start;
    if (e == ONE_BEFORE) start -= 1;
    if (e == IN_INDICES) step = 1;
    if (e == BY_SIZE) step = v.shape[d];
    if (e == BY_LAST) step = behind;
    if (e == NEW_STRIDE) step *= range[2];
    return v.offset + start * step;
}

enum { SHAPE_KEPT = 1, ROUNDED_DOWN, STOP_INCLUDED, NOT_DIVIDED, EMPTY_HAS_ONE, FROM_0, IS_STOP,
       TO_THE_END, PRECEDENCE, OLD_BY_STEP, MULTIPLIED, START_ADDED, NEAREST };

static const mistake of_size[] = {
    { SHAPE_KEPT, "shape_kept",
      "the size of the dimension is as it was; only the indices of start:stop:step are left." },
    { ROUNDED_DOWN, "rounded_down",
      "one index is missing: the first one always stays, so (stop - start) / step is rounded up." },
    { STOP_INCLUDED, "stop_included",
      "there is one index too many where nothing is left over: (stop - start) / step + 1 counts "
      "stop, which is not part of it. Round up instead." },
    { NOT_DIVIDED, "not_divided",
      "the size is that of start:stop without a step; only each step-th index stays." },
    { EMPTY_HAS_ONE, "empty_has_one",
      "nothing lies between start and stop, so no index stays: (stop - start - 1) / step is 0 in C "
      "for -1 / 2, which is rounded toward 0." },
    { FROM_0, "size_from_0",
      "the size is counted from 0 to stop; the slice begins at start." },
    { IS_STOP, "size_is_stop", "the size is stop; stop is where the slice ends." },
    { TO_THE_END, "to_the_end",
      "the size is counted up to the end of the dimension; the slice ends at stop." },
    { PRECEDENCE, "precedence",
      "only start is divided by step: / binds more tightly than -. Put the difference in ( )." },
    { OLD_BY_STEP, "old_size_divided",
      "the old size is divided by step, without start and stop." },
    { MULTIPLIED, "size_times_step",
      "the size is multiplied by step: with a larger step fewer indices stay." },
    { START_ADDED, "start_added", "start is added to stop; their difference is the length." },
    { NEAREST, "rounded_to_nearest",
      "(stop - start) / step is rounded to the nearest number; it is rounded up." },
};

static double size_with(view v, int d, const int *range, int e)
{
    int start = range[0], stop = range[1], step = range[2], count = 0, size = v.shape[d];
    switch (e) {
    case SHAPE_KEPT: return size;
    case ROUNDED_DOWN: return (stop - start) / step;
    case STOP_INCLUDED: return (stop - start) / step + 1;
    case NOT_DIVIDED: return stop - start;
    case EMPTY_HAS_ONE: return (stop - start - 1) / step + 1;
    case FROM_0: return (stop + step - 1) / step;
    case IS_STOP: return stop;
    case TO_THE_END: return (size - start + step - 1) / step;
    case PRECEDENCE: return stop - start / step;
    case OLD_BY_STEP: return size / step;
    case MULTIPLIED: return (stop - start) * step;
    case START_ADDED: return (stop + start + step - 1) / step;
    case NEAREST: return floor((stop - start) / (double)step + 0.5);
    default: break;
    }
    for (int i = start; i < stop; i += step) // one by one: a formula may be wrong
        count++;
    return count;
}

enum { STRIDE_KEPT = 1, STRIDE_REPLACED, STRIDE_ADDED, STRIDE_DIVIDED, BY_START, STRIDE_IS_SIZE };

static const mistake of_stride[] = {
    { STRIDE_KEPT, "stride_kept",
      "the stride is as it was: from one index that stays to the next it is step times as far." },
    { STRIDE_REPLACED, "stride_replaced",
      "the stride is step floats. It is step times the old stride: from row to row it is far." },
    { STRIDE_ADDED, "stride_added",
      "step is added to the stride; the stride is multiplied by it." },
    { STRIDE_DIVIDED, "stride_divided",
      "the stride is divided by step; from one index that stays to the next it is step times as "
      "far." },
    { BY_START, "stride_by_start", "the stride is multiplied by start; it is multiplied by step." },
    { STRIDE_IS_SIZE, "stride_by_size",
      "the stride is made of the new size; it is step times the old stride." },
};

static double stride_with(view v, int d, const int *range, int e)
{
    int stride = v.stride[d];
    if (e == STRIDE_KEPT) return stride;
    if (e == STRIDE_REPLACED) return range[2];
    if (e == STRIDE_ADDED) return stride + range[2];
    if (e == STRIDE_DIVIDED) return stride / range[2];
    if (e == BY_START) return (double)stride * range[0];
    if (e == STRIDE_IS_SIZE) return size_with(v, d, range, RIGHT) * range[2];
    return (double)stride * range[2];
}

// ---- Slices ----
static const struct {
    const char *name;
    view v;
    int d, range[3];
} slices[] = {
    { "rows 1:6:2 of (8,3)", { 0, 2, { 8, 3 }, { 3, 1 } }, 0, { 1, 6, 2 } },
    { "rows 2:8:3 of (8,3)", { 0, 2, { 8, 3 }, { 3, 1 } }, 0, { 2, 8, 3 } },
    { "rows 0:8:1 of (8,3)", { 0, 2, { 8, 3 }, { 3, 1 } }, 0, { 0, 8, 1 } },
    { "rows 4:4:1 of (8,3)", { 0, 2, { 8, 3 }, { 3, 1 } }, 0, { 4, 4, 1 } },
    { "rows 4:4:2 of (8,3)", { 0, 2, { 8, 3 }, { 3, 1 } }, 0, { 4, 4, 2 } },
    { "1:6:2 of dimension 1 of (4,6,7)", { 0, 3, { 4, 6, 7 }, { 42, 7, 1 } }, 1, { 1, 6, 2 } },
    { "2:6:3 of dimension 1 of a slice", { 50, 3, { 2, 6, 5 }, { 84, 14, 2 } }, 1, { 2, 6, 3 } },
    { "0:6:4 of dimension 2 of a slice", { 50, 3, { 2, 5, 6 }, { 84, 7, 1 } }, 2, { 0, 6, 4 } },
    { "1:2:5 of dimension 0 of a slice", { 9, 1, { 3 }, { 4 } }, 0, { 1, 2, 5 } },
};

enum { SLICES = sizeof slices / sizeof *slices };

typedef double (*rule)(view, int, const int *, int);

static void judge_field(const char *what, const float *got, rule compute, const mistake *list,
                        int n)
{
    float out[SLICES];
    judge.what = what;
    judge_got(got, SLICES);
    for (int i = 0; i < SLICES; i++)
        judge_part(slices[i].name, 1, 1);
    for (int e = 0; e < n; e++) {
        for (int i = 0; i < SLICES; i++)
            out[i] = (float)compute(slices[i].v, slices[i].d, slices[i].range, list[e].e);
        judge_mistake(list[e].name, list[e].sentence, out, SLICES);
    }
    for (int i = 0; i < SLICES; i++)
        out[i] = (float)compute(slices[i].v, slices[i].d, slices[i].range, RIGHT);
    judge_want(out, SLICES, 0);
}

int main(void)
{
    float offset[SLICES], size[SLICES], stride[SLICES];
    int others = 1, only_0 = 1, only_last = 1, same_n = 1;
    judge_begin();
    for (int i = 0; i < SLICES; i++) {
        view v = slices[i].v;
        int d = slices[i].d;
        judge_case(slices[i].name);
        view s = slice(v, d, slices[i].range[0], slices[i].range[1], slices[i].range[2]);
        offset[i] = (float)s.offset;
        size[i] = (float)s.shape[d];
        stride[i] = (float)s.stride[d];
        same_n &= s.n == v.n;
        for (int k = 0; k < v.n; k++) {
            if (k == d || (s.shape[k] == v.shape[k] && s.stride[k] == v.stride[k])) continue;
            others = 0;
            only_0 &= k == 0;
            only_last &= k == v.n - 1;
        }
    }
    judge.what = "the other dimensions";
    judge_holds(same_n, "no_n", "n is another than it was: a slice has the dimensions of v.");
    judge_holds(others || !only_0, "dimension_0", "dimension 0 was sliced, and not dimension d.");
    judge_holds(others || !only_last, "last_dimension",
                "the last dimension was sliced, and not dimension d.");
    judge_holds(others, "other_dimensions",
                "dimensions other than d have changed: their sizes and strides stay as they are.");
    judge_field("the size of the dimension", size, size_with, of_size,
                sizeof of_size / sizeof *of_size);
    judge_field("the stride of the dimension", stride, stride_with, of_stride,
                sizeof of_stride / sizeof *of_stride);
    judge_field("the offset", offset, offset_with, of_offset, sizeof of_offset / sizeof *of_offset);
    return judge_end();
}
