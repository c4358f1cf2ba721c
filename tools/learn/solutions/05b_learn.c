// Hint 1: 03a again, with one link more in the chain: loss -> y -> z -> w[i].
// Hint 2: dz = 2 (y - target) / B  times  y (1 - y); then dw[i] is the sum of dz x[b][i], and dbias
//   the sum of dz.
// Hint 3: float dw[16] = {0}, dbias = 0; one loop over the rows adds to them and to the loss.
//   Behind it: w[i] -= lr * dw[i]; *bias -= lr * dbias.
// Why: Derivatives say what happens near the weights at which they were taken. So all of them are
//   collected first, and then all weights move at once. y (1 - y) is largest, 1/4, where the neuron
//   is undecided, and nearly 0 where it is sure; a neuron that is sure and wrong learns slowly.
//   This is why chapter 7 has another loss.
// Another way: A step after each row, "stochastic" gradient descent with batches of 1. It is right
//   too, moves faster at first, and trembles at the end. But it is another algorithm.
// A tempting wrong way: z (1 - z). The rule is written with y because it is shortest so; at z = 3
//   it gives -6 instead of 0.045.
#include <math.h>

float learn(const float *x, const float *target, float *w, float *bias, int B, int n, float lr)
{
    float dw[16] = { 0 }, dbias = 0.0f, loss = 0.0f;
    for (int b = 0; b < B; b++) {
        float z = *bias;
        for (int i = 0; i < n; i++) z += x[b * n + i] * w[i];
        float y = 1.0f / (1.0f + expf(-z));
        float error = y - target[b];
        float dz = 2.0f * error / (float)B * y * (1.0f - y);
        for (int i = 0; i < n; i++) dw[i] += dz * x[b * n + i];
        dbias += dz;
        loss += error * error / (float)B;
    }
    for (int i = 0; i < n; i++) w[i] -= lr * dw[i];
    *bias -= lr * dbias;
    return loss;
}
