// Exercise 05a: one neuron.
//
// A neuron weighs its n inputs, adds them up, and bends the sum to a number between 0 and 1:
//
//     z  =  x[0] w[0]  +  x[1] w[1]  +  ...  +  bias
//     y  =  1 / (1 + exp(-z))                               the sigmoid
//
// With y it answers a question of yes or no; w and bias say which.
//
// Fill in neuron: y[b] for each of the B rows of x (B,n). Sums of 1000 and -1000 must work, too.
#include <math.h>

void neuron(const float *x, const float *w, float bias, float *y, int B, int n)
{
    (void)x;
    (void)w;
    (void)bias;
    (void)B;
    (void)n;
    y[0] = 0.0f;                                            // your code: expf is exp for floats
}
