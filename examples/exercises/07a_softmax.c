// Exercise 07a: softmax, also of large numbers.
//
// Softmax turns n scores into probabilities: y[i] = exp(x[i]) / sum over j of exp(x[j]). Written
// down as it stands, it fails: exp(89) is already more than a float holds, and infinity /
// infinity is not a number. Since softmax does not change when the same number is subtracted from
// all scores, there is a way out: find out which number makes every exp safe.
//
// Fill in softmax for the m rows of x (m,n). Each row is for itself.
#include <math.h>

void softmax(const float *x, float *y, int m, int n)
{
    (void)x;
    (void)m;
    (void)n;
    y[0] = 0.0f;                                            // your code: expf is exp for floats
}
