// Hint 1: What is the derivative of log(sum of exp(x[j])) for one x[i]? You have met it in 07a.
// Hint 2: It is softmax(x)[i]. The second term, - x[label], takes 1 from the right class alone.
// Hint 3: dx[b][i] = (softmax(x[b])[i] - (i == label[b])) / B.
// Why: The gradient of a row is "what the net said" minus "what is right". It is small when the
//   net is sure and right, and it never vanishes when it is sure and wrong: that is why this loss
//   is used.
// Another way: log_softmax first, then the negative mean of the right entries. It is the same
//   bits of mathematics in two ops; one op reads the scores fewer times.
// A tempting wrong way: -logf(softmax[label]). When the right class has probability 1e-50, a
//   float says 0, and the loss is infinite. Subtract logarithms instead of taking one of a
//   quotient.
#include <math.h>

float cross_entropy(const float *x, const int *label, int B, int n, float *dx)
{
    float loss = 0.0f;
    for (int b = 0; b < B; b++) {
        const float *in = x + b * n;
        float largest = in[0], sum = 0.0f;
        for (int i = 1; i < n; i++)
            if (in[i] > largest) largest = in[i];
        for (int i = 0; i < n; i++) sum += expf(in[i] - largest);
        loss += logf(sum) + (largest - in[label[b]]);
        for (int i = 0; i < n; i++) {
            float right = i == label[b] ? 1.0f : 0.0f;
            dx[b * n + i] = (expf(in[i] - largest) / sum - right) / (float)B;
        }
    }
    return loss / (float)B;
}
