// Hint 1: Token 0 sees only itself. What is its softmax, and so its y?
// Hint 2: The loop over s ends at t, for the scores, the softmax and the sum alike.
// Hint 3: For each t: scores p[0 ... t], subtract their largest, exp, divide by the sum; then for
//   each d the sum of p[s] v[s][d].
// Why: If t saw t + 1, the training would be too easy: the answer is among the inputs, the loss
//   falls to nothing, and the model cannot write, because when it writes the future is not there
//   yet.
// Another way: All T x T scores, with -infinity where s > t, then an ordinary softmax: exp makes
//   0 of them. It computes twice as much, and is one product of matrices.
// A tempting wrong way: Masked scores set to 0 before the softmax. exp(0) is 1, so the future
//   keeps its share. Nor should weights be set to 0 after the softmax: the rest does not sum to 1.
#include <math.h>

void attention(const float *q, const float *k, const float *v, float *y, int T, int D)
{
    for (int t = 0; t < T; t++) {
        float p[64], largest = -INFINITY, sum = 0.0f;
        for (int s = 0; s <= t; s++) {
            float dot = 0.0f;
            for (int d = 0; d < D; d++) dot += q[t * D + d] * k[s * D + d];
            p[s] = dot / sqrtf((float)D);
            if (p[s] > largest) largest = p[s];
        }
        for (int s = 0; s <= t; s++) {
            p[s] = expf(p[s] - largest);
            sum += p[s];
        }
        for (int d = 0; d < D; d++) {
            y[t * D + d] = 0.0f;
            for (int s = 0; s <= t; s++) y[t * D + d] += p[s] / sum * v[s * D + d];
        }
    }
}
