// Exercise 07b: cross-entropy, and its surprisingly simple gradient.
//
// The loss of a classifier is the mean over the batch of -log(probability of the right class).
// From scores x (B,n), and the number of the right class of each row, label[b] in 0 ... n-1:
//
//     loss  =  1/B  sum over b of ( log(sum over j of exp(x[b][j]))  -  x[b][label[b]] )
//
// Fill in cross_entropy: it returns the loss and writes its gradient for the scores, dx (B,n). If
// you differentiate by hand, most of it cancels. Large scores, such as 1000, must work (exercise
// 07a).
#include <math.h>

float cross_entropy(const float *x, const int *label, int B, int n, float *dx)
{
    (void)x;
    (void)label;
    (void)B;
    (void)n;
    dx[0] = 0.0f;                                           // your code
    return 0.0f;
}
