// Hint 1: Both functions need the same thing of a window: where its first largest value lies. Write
//   that as a function of its own.
// Hint 2: Begin with the window's first place, at row i step and column j step, and take another
//   one only if its value is larger, not if it is equal.
// Hint 3: y = x[chosen]; backward, after all of dx is set to zero, dx[chosen] += dy.
// Why: y is one of the values of x, copied. A small change of that one changes y as much, and a
//   small change of the others does nothing, so the whole gradient goes one way.
// Another way: Keep, in the forward pass, an array of the chosen places. The backward pass is then
//   one short loop, for the price of an integer for each y.
// A tempting wrong way: Every value that equals y gets dy. Behind a relu whole windows are 0, and
//   then s s values get the gradient that belongs to one.
typedef struct sizes {
    int c, h, w;
    int s, step;
} sizes;

static int chosen(const float *x, sizes n, int c, int i, int j)
{
    int best = (c * n.h + i * n.step) * n.w + j * n.step;
    for (int u = 0; u < n.s; u++)
        for (int v = 0; v < n.s; v++) {
            int at = (c * n.h + i * n.step + u) * n.w + j * n.step + v;
            if (x[at] > x[best]) best = at;
        }
    return best;
}

void max_pool(const float *x, float *y, sizes n)
{
    int rows = (n.h - n.s) / n.step + 1, columns = (n.w - n.s) / n.step + 1;
    for (int c = 0; c < n.c; c++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                y[(c * rows + i) * columns + j] = x[chosen(x, n, c, i, j)];
}

void max_pool_backward(const float *x, const float *dy, float *dx, sizes n)
{
    int rows = (n.h - n.s) / n.step + 1, columns = (n.w - n.s) / n.step + 1;
    for (int k = 0; k < n.c * n.h * n.w; k++) dx[k] = 0.0f;
    for (int c = 0; c < n.c; c++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                dx[chosen(x, n, c, i, j)] += dy[(c * rows + i) * columns + j];
}
