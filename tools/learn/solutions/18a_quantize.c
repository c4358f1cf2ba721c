// Hint 1: For each row two passes: the first finds the largest |w|, the second divides and rounds.
// Hint 2: fabsf(w) for the size. (int)x cuts off what is behind the point, so add 0.5 before, or
//   subtract it where x is negative; roundf does just that.
// Hint 3: scale[r] = largest > 0 ? largest / 127 : 1; q[i] = (signed char)roundf(w[i] / scale[r]).
// Why: A byte instead of four: a quarter of the memory, and of the time where memory is what
//   limits. The error of a weight is half a scale at most, so one large weight makes its whole row
//   coarse; with a scale for each row, not the whole matrix.
// Another way: Also a zero point, q = w / scale + zero, for values that lie on one side of 0, such
//   as those behind relu: all 256 numbers are used then.
// A tempting wrong way: To divide by 128, for a byte holds -128 ... 127. The largest weight becomes
//   128, which is -128 in a byte: the largest weight changes its sign.
#include <math.h>

void quantize(const float *w, int rows, int n, float *scale, signed char *q)
{
    for (int r = 0; r < rows; r++) {
        float largest = 0.0f;
        for (int i = r * n; i < (r + 1) * n; i++)
            if (fabsf(w[i]) > largest) largest = fabsf(w[i]);
        scale[r] = largest > 0.0f ? largest / 127.0f : 1.0f;
        for (int i = r * n; i < (r + 1) * n; i++) q[i] = (signed char)roundf(w[i] / scale[r]);
    }
}
