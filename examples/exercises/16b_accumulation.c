// Exercise 16b: a large batch in small parts.
//
// A step may want the gradient of 512 rows where memory has room for 64. So the batch is cut into
// parts, one after another, and their gradients are put together before the weights are changed.
// This function is given:
//
//     gradient(x, t, rows, w, n, g)      writes to g (n) the gradient, for the weights w (n), of
//                                        the mean loss over some rows of x (rows,n) with the
//                                        targets t (rows)
//
// Fill in batch_gradient: it writes the gradient of the mean loss over all rows. It calls gradient
// with most rows at a time, in order; the last part has what is left, which may be fewer. n is at
// most 16.
void gradient(const float *x, const float *t, int rows, const float *w, int n, float *g);

void batch_gradient(const float *x, const float *t, int rows, int most, const float *w, int n,
                    float *g)
{
    (void)x;
    (void)t;
    (void)rows;
    (void)most;
    (void)w;
    (void)n;
    g[0] = 0.0f;                                            // your code
}
