// Hint 1: Two things in their order: the gradient of the whole batch, then its norm. When is the
//   norm known?
// Hint 2: A part counts rows[p] / all rows (exercise 16b). If the norm is above limit, one factor
//   for all numbers, limit / norm, keeps the direction (exercise 08c).
// Hint 3: step[i] is the sum of g[p][i] * rows[p] / total; norm is the root of the sum of
//   step[i] * step[i]; if (norm > limit) multiply each step[i] by limit / norm; return norm.
// Why: A limit is one for the step, and the step follows the gradient of the batch. What a part
//   does is an accident of how the batch was cut: the result must not depend on it.
// Another way: Keep the sum of rows * gradient, and its norm; divide the norm by all rows, and
//   multiply once, by min(1, limit / norm) / all rows. It saves a pass.
// A tempting wrong way: To clip each part as soon as it is there. Parts err more than the batch, so
//   they are clipped more often, and a long one counts less than its rows.
#include <math.h>

float clip_parts(const float *const *g, const int *rows, int parts, int n, float limit, float *step)
{
    int total = 0;
    double squares = 0.0;
    for (int p = 0; p < parts; p++) total += rows[p];
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int p = 0; p < parts; p++) sum += (double)g[p][i] * rows[p] / total;
        squares += sum * sum;
        step[i] = (float)sum;
    }
    double norm = sqrt(squares);
    if (norm > (double)limit)
        for (int i = 0; i < n; i++) step[i] *= (float)((double)limit / norm);
    return (float)norm;
}
