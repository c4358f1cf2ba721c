// Hint 1: The chain rule: how the loss changes with y[b], times how y[b] changes with w[i].
// Hint 2: The first is 2 (y[b] - target[b]) / B, the second x[b][i]; and for the bias it is 1.
// Hint 3: Zero dw and dbias. For each b compute y[b], then dy, then add dy x[b][i] to each dw[i].
// Why: The loss depends on w[i] by all rows of the batch, so their contributions add up; the 2
//   comes from the square and 1/B from the mean.
// Another way: One loop computes all dy (B), a second is the product of x transposed (n,B) and
//   dy. This is how libraries do it, because a product of matrices is what they are fast at.
// A tempting wrong way: Without 1/B. Training works, with a learning rate that is B times as
//   large, and breaks when the batch becomes larger.
void gradient(const float *x, const float *target, const float *w, float bias, int B, int n,
              float *dw, float *dbias)
{
    for (int i = 0; i < n; i++) dw[i] = 0.0f;
    *dbias = 0.0f;
    for (int b = 0; b < B; b++) {
        float y = bias;
        for (int i = 0; i < n; i++) y += x[b * n + i] * w[i];
        float dy = 2.0f * (y - target[b]) / (float)B;
        for (int i = 0; i < n; i++) dw[i] += dy * x[b * n + i];
        *dbias += dy;
    }
}
