// Hint 1: Each value is multiplied by one of two numbers. Which?
// Hint 2: By 0, or by 1 / (1 - p). That number is the mask.
// Hint 3: mask[i] = random_unit() < p ? 0.0f : 1.0f / (1.0f - p); y[i] = x[i] * mask[i]. Backward
//   is the same product.
// Why: y = mask x, so dy / dx = mask: a value that was dropped had no part in the loss, and one
//   that was kept counts 1 / (1 - p) times.
// Another way: Draw the same random numbers again in the backward pass, from the same seed: no mask
//   needs to be stored. samba.h does it so.
// A tempting wrong way: New random numbers in the backward pass. The gradient then belongs to
//   another net than the loss; it still trains, a little worse, and nobody notices.
float random_unit(void);

void dropout(const float *x, float *y, float *mask, int n, float p)
{
    for (int i = 0; i < n; i++) {
        mask[i] = random_unit() < p ? 0.0f : 1.0f / (1.0f - p);
        y[i] = x[i] * mask[i];
    }
}

void dropout_backward(const float *dy, const float *mask, float *dx, int n)
{
    for (int i = 0; i < n; i++) dx[i] = dy[i] * mask[i];
}
