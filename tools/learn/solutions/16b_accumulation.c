// Hint 1: A mean over 5 rows, of which 4 are in one part and 1 in another: how much does each part
//   count?
// Hint 2: A part of m rows has a mean over m. Times m it is a sum, and the sum over all, divided by
//   rows, is what is wanted: the part counts m / rows.
// Hint 3: Set g to zero. For first = 0, most, 2 most, ...: m is the smaller of most and
//   rows - first; call gradient with x + first n and t + first, and add m / rows times the result.
// Why: The gradient of a sum is the sum of gradients, so nothing is lost by cutting a batch. But a
//   mean of means is a mean only if all parts are equally large.
// Another way: Scale the loss of each part before its backward pass, by m / rows, and let the
//   backward pass add to g itself. It needs no second array; most trainers do it so.
// A tempting wrong way: The mean of the parts' gradients. It is right for 512 rows in parts of 64,
//   and the last batch of every epoch, with its odd number of rows, counts its few rows too much.
void gradient(const float *x, const float *t, int rows, const float *w, int n, float *g);

void batch_gradient(const float *x, const float *t, int rows, int most, const float *w, int n,
                    float *g)
{
    float part[16];
    for (int i = 0; i < n; i++) g[i] = 0.0f;
    for (int first = 0; first < rows; first += most) {
        int m = rows - first < most ? rows - first : most;
        gradient(x + first * n, t + first, m, w, n, part);
        for (int i = 0; i < n; i++) g[i] += part[i] * (float)m / (float)rows;
    }
}
