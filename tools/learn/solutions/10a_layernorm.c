// Hint 1: Three loops over a row: one for the mean, one for the variance, one for the result.
// Hint 2: The variance needs the mean: sum (x[i] - mean)^2, divided by n.
// Hint 3: scale = 1 / sqrtf(variance + 1e-5f); y = (x - mean) * scale * gamma + beta.
// Why: The distances from the mean are small numbers, so their squares lose nothing. The 1e-5
//   keeps a row of equal numbers, with variance 0, from a division by 0.
// Another way: One pass that corrects mean and sum of squares with every element (Welford, 1962).
//   It is as exact, and reads x once.
// A tempting wrong way: variance = mean of x^2 - mean^2. For 10000, 10001, 10002 it is the
//   difference of two numbers near 100,020,000, of which a float has the first seven digits: what
//   is left is noise, and may be negative.
#include <math.h>

void layernorm(const float *x, const float *gamma, const float *beta, float *y, int m, int n)
{
    for (int r = 0; r < m; r++) {
        const float *in = x + r * n;
        float mean = 0.0f, variance = 0.0f;
        for (int i = 0; i < n; i++) mean += in[i];
        mean /= (float)n;
        for (int i = 0; i < n; i++) variance += (in[i] - mean) * (in[i] - mean);
        variance /= (float)n;
        float scale = 1.0f / sqrtf(variance + 1e-5f);
        for (int i = 0; i < n; i++) y[r * n + i] = (in[i] - mean) * scale * gamma[i] + beta[i];
    }
}
