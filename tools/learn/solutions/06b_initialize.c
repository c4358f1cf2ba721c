// Hint 1: Which variance must a weight have, so that n times it is 1? And if a number of variance 1
//   is multiplied by s, what is its variance?
// Hint 2: 1 / n, and s^2: so s is the square root of 1 / n. Behind a ReLU it is that of 2 / n.
// Hint 3: float scale = sqrtf((behind_relu ? 2.0f : 1.0f) / (float)n); W[k] = scale *
//   random_normal() for all m n weights; bias[o] = 0.
// Why: The variance of a sum of independent numbers is the sum of their variances, and a factor s
//   counts s^2. Only n matters, the number of inputs ("fan in"): each output sums up n products,
//   however many outputs there are. With 2 / n it is named after He (2015), with 1 / n after LeCun
//   (1998).
// Another way: Uniform numbers between -a and a, which have the variance a^2 / 3: then a =
//   sqrt(3 / n). Glorot takes 2 / (n + m), a compromise between the forward pass, which wants
//   1 / n, and the backward pass, which sums over the m outputs and wants 1 / m.
// A tempting wrong way: All weights 0. Then all neurons of a layer compute the same and get the
//   same gradient, so they stay the same for ever. Randomness is what makes them different.
#include <math.h>

float random_normal(void);

void initialize(float *W, float *bias, int m, int n, int behind_relu)
{
    float scale = sqrtf((behind_relu ? 2.0f : 1.0f) / (float)n);
    for (int k = 0; k < m * n; k++) W[k] = scale * random_normal();
    for (int o = 0; o < m; o++) bias[o] = 0.0f;
}
