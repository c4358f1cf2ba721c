// Hint 1: For a row: mean and s as in 10a, then two means of the gradient, then the formula.
// Hint 2: xhat is not given: it is (x[i] - mean) / s, twice: in the mean of dy xhat, and in the
//   formula.
// Hint 3: Three loops over a row: mean; variance; mean of dy and of dy xhat. A fourth one writes dx.
// Why: What is taken off is just what the normalization would undo: the part of dy that shifts the
//   whole row, and the part that stretches it. So dx has mean 0, and dx . xhat is 0 (nearly, for the
//   1e-5): adding a constant to a row, or scaling it, does not change the loss.
// Another way: The chain rule step by step, with gradients of s and of mean as variables of their
//   own. It is longer, and gives the same.
// A tempting wrong way: dx = dy / s, as if mean and s were constants. Training even works with it,
//   only worse: the steps push where the norm takes everything back.
#include <math.h>

void layernorm_backward(const float *x, const float *dy, float *dx, int m, int n)
{
    for (int r = 0; r < m; r++, x += n, dy += n, dx += n) {
        float mean = 0.0f, variance = 0.0f, mean_dy = 0.0f, mean_dot = 0.0f;
        for (int i = 0; i < n; i++) mean += x[i] / (float)n;
        for (int i = 0; i < n; i++) variance += (x[i] - mean) * (x[i] - mean) / (float)n;
        float s = sqrtf(variance + 1e-5f);
        for (int i = 0; i < n; i++) {
            mean_dy += dy[i] / (float)n;
            mean_dot += dy[i] * (x[i] - mean) / s / (float)n;
        }
        for (int i = 0; i < n; i++)
            dx[i] = (dy[i] - mean_dy - (x[i] - mean) / s * mean_dot) / s;
    }
}
