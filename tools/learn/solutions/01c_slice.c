// Hint 1: Three numbers of the view change. Which element becomes (0,0,...), how far is it to the
//   next one, and how many are there?
// Hint 2: The first is start steps of the old stride away; the next one is step old strides away;
//   and of (stop - start) indices each step-th stays, the first one included.
// Hint 3: offset += start * stride[d]; shape[d] = (stop - start + step - 1) / step; then stride[d]
//   *= step.
// Why: Index k of the slice is index start + k step of v, which lies at offset + (start + k step)
//   stride. Multiplied out, that is a new offset plus k times a new stride. The first index always
//   stays, so the count is rounded up: 0, 2, 4 of 0:5:2.
// Another way: A loop that counts: for (int i = start; i < stop; i += step) shape++. It needs no
//   formula, and is how the count is checked in a test.
// A tempting wrong way: stride[d] = step. It is right for the last dimension of a tensor that is
//   not a slice, where the stride was 1.
typedef struct view {
    int offset;
    int n;
    int shape[4], stride[4];
} view;

view slice(view v, int d, int start, int stop, int step)
{
    v.offset += start * v.stride[d];
    v.shape[d] = (stop - start + step - 1) / step;
    v.stride[d] *= step;
    return v;
}
