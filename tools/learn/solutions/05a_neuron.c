// Hint 1: Two loops: one over the rows, in it one over the inputs. What must begin anew for each
//   row?
// Hint 2: The sum. It may begin with bias instead of 0; then nothing is added later.
// Hint 3: float z = bias; for each i: z += x[b * n + i] * w[i]; then y[b] = 1.0f / (1.0f +
//   expf(-z)).
// Why: w says how much each input speaks for "yes", bias how willing the neuron is without any.
//   z = 0 is the boundary, a straight line in the space of inputs, and y = 1/2 there. expf(1000) is
//   infinite, and 1 / (1 + infinity) is 0, which is right: this form is safe on both sides.
// Another way: 0.5f + 0.5f * tanhf(0.5f * z) is the same function, and it never overflows either.
// A tempting wrong way: expf(z) / (1.0f + expf(z)). It is the same on paper; at z = 100 it is
//   infinity / infinity, which is not a number.
#include <math.h>

void neuron(const float *x, const float *w, float bias, float *y, int B, int n)
{
    for (int b = 0; b < B; b++) {
        float z = bias;
        for (int i = 0; i < n; i++) z += x[b * n + i] * w[i];
        y[b] = 1.0f / (1.0f + expf(-z));
    }
}
