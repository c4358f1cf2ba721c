// Exercise 10a: LayerNorm.
//
// A deep net multiplies many matrices, and what comes out may be huge or tiny. LayerNorm gives
// every row mean 0 and variance 1 again, then lets the net choose another scale and shift:
//
//     y[i]  =  (x[i] - mean) / sqrt(variance + 1e-5)  gamma[i]  +  beta[i]
//
// The variance is the mean of the squared distances from the mean (divided by n, not n - 1).
// Fill in layernorm for the m rows of x (m,n). Rows such as 10000, 10001, 10002 must work, too.
#include <math.h>

void layernorm(const float *x, const float *gamma, const float *beta, float *y, int m, int n)
{
    (void)x;
    (void)gamma;
    (void)beta;
    (void)m;
    (void)n;
    y[0] = 0.0f;                                            // your code
}
