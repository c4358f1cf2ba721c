// Hint 1: In a tensor (2,3,5), how many floats lie between (0,0,0) and (0,0,1), (0,1,0), (1,0,0)?
// Hint 2: 1, 5 and 15: the stride of a dimension is the product of the sizes behind it.
// Hint 3: From the last dimension to the first: stride[d] = step, then step *= shape[d], with step
//   = 1 at first. transpose swaps the two sizes and the two strides.
// Why: The transposed (j,i) is the old (i,j). If sizes and strides change places together, then
//   j stride[1] + i stride[0] names the same float as before. Nothing is copied, however large the
//   matrix is.
// Another way: place by Horner's rule, as in 01a, when the view is known to be row-major. A library
//   asks first: such tensors can be read in one go.
// A tempting wrong way: Strides made anew from the exchanged sizes. That is a row-major tensor of
//   the new shape, so it reads the same floats in the same order: a reshape, not a transpose.
typedef struct view {
    int n;
    int shape[4], stride[4];
} view;

view row_major(const int *shape, int n)
{
    view v = { n, { 0 }, { 0 } };
    int step = 1;
    for (int d = n - 1; d >= 0; d--) {
        v.shape[d] = shape[d];
        v.stride[d] = step;
        step *= shape[d];
    }
    return v;
}

static void swap(int *a, int *b)
{
    int old = *a;
    *a = *b;
    *b = old;
}

view transpose(view v, int a, int b)
{
    swap(&v.shape[a], &v.shape[b]);
    swap(&v.stride[a], &v.stride[b]);
    return v;
}

int place(const view *v, const int *index)
{
    int at = 0;
    for (int d = 0; d < v->n; d++) at += index[d] * v->stride[d];
    return at;
}
