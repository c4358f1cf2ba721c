// Hint 1: Two passes over all tensors: one for the sum of squares, one that multiplies.
// Hint 2: The square of 1e30 is more than a float holds. What does a double hold?
// Hint 3: double sum = 0; add (double)g * g for each number of each tensor; norm = sqrt(sum); if
//   (norm > limit) multiply each by (float)(limit / norm).
// Why: The gradient says in which direction the loss falls, as a vector of all weights. One factor
//   for all of it keeps the direction; only the step becomes shorter. And small gradients, the
//   normal case, stay as they are to the bit.
// Another way: Divide all numbers by the largest first, sum up in float, and multiply the root by
//   the largest again. It needs no double, and one pass more.
// A tempting wrong way: To clip each tensor, or each number, for itself. The loss is tamed as well,
//   but the direction turns: layers with large gradients lose, the others do not.
#include <math.h>

float clip(float **gradients, const int *sizes, int tensors, float limit)
{
    double sum = 0.0;
    for (int t = 0; t < tensors; t++)
        for (int i = 0; i < sizes[t]; i++) sum += (double)gradients[t][i] * (double)gradients[t][i];
    double norm = sqrt(sum);
    if (norm > (double)limit) {
        float scale = (float)((double)limit / norm);
        for (int t = 0; t < tensors; t++)
            for (int i = 0; i < sizes[t]; i++) gradients[t][i] *= scale;
    }
    return (float)norm;
}
