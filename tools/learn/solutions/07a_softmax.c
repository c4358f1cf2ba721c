// Hint 1: Which x makes exp(x) too large, and is there one that makes it dangerous on the other
//   side?
// Hint 2: exp of anything below 0 is at most 1. Which number must be subtracted so that all are
//   <= 0?
// Hint 3: For each row: its largest element, then the sum of exp(x - largest), then the
//   quotients.
// Why: exp(x - c) / sum exp(x - c) has exp(-c) in numerator and denominator, so it cancels. With
//   c the largest score, one of the terms is exp(0) = 1, so the sum is never 0 and never
//   infinite.
// Another way: One pass that keeps the largest so far and the sum, and scales the sum down when a
//   larger score comes. It is the "online softmax" that makes fast attention possible.
// A tempting wrong way: The largest of all rows. It works until one row is 100 below another: all
//   its exps are 0, and 0 / 0 is not a number.
#include <math.h>

void softmax(const float *x, float *y, int m, int n)
{
    for (int r = 0; r < m; r++) {
        const float *in = x + r * n;
        float *out = y + r * n;
        float largest = in[0];
        for (int i = 1; i < n; i++)
            if (in[i] > largest) largest = in[i];
        float sum = 0.0f;
        for (int i = 0; i < n; i++) {
            out[i] = expf(in[i] - largest);
            sum += out[i];
        }
        for (int i = 0; i < n; i++) out[i] /= sum;
    }
}
