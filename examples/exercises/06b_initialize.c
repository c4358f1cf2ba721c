// Exercise 06b: how large the first weights are.
//
// The variance of numbers with mean 0 is the mean of their squares: the square of their size d in
// lesson 6. A sum of n products of inputs and weights, random and independent (none says anything
// about another), has n times the variance of one product. With weights of variance 1, a layer of
// 100 inputs makes its numbers ten times as large, and ten such layers 10^10 times. So weights
// begin smaller, by just as much as makes the variance of the outputs that of the inputs. If the
// layer comes behind a ReLU, half of its inputs are 0, and their mean square is half of what it
// was: then the weights' variance is twice as large.
//
// Fill in initialize for W (m,n), m outputs and n inputs, and bias (m). Weights are random:
// random_normal() gives the next random number, with mean 0 and variance 1; ask it once for each
// weight, in order. A bias begins at 0.
#include <math.h>

float random_normal(void);

void initialize(float *W, float *bias, int m, int n, int behind_relu)
{
    (void)m;
    (void)n;
    (void)behind_relu;
    W[0] = 0.0f;                                            // your code
    bias[0] = -1.0f;
}
