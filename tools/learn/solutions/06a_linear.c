// Hint 1: Three loops: over the rows of the batch, over the outputs, and over the inputs of the
//   sum.
// Hint 2: x is (B,n), W is (m,n), y is (B,m). Which index is followed by how many others in each?
// Hint 3: x[b * n + i], W[o * n + i], y[b * m + o]; the sum begins with bias[o].
// Why: Row o of W and row b of x are read from left to right, both as they lie in memory. That is
//   the reason for storing W with one row for each output.
// Another way: Loops in the order b, i, o, with y[b][o] += x[b][i] W[o][i]: the sums grow side by
//   side. It is what a processor with wide registers prefers, for W stored the other way round.
// A tempting wrong way: W[i * m + o], which is x W for a W of shape (n,m). With n = m it runs, and
//   each neuron has the weights of others; training even makes up for it, until weights are loaded
//   that were trained elsewhere.
void linear(const float *x, const float *W, const float *bias, float *y, int B, int n, int m)
{
    for (int b = 0; b < B; b++)
        for (int o = 0; o < m; o++) {
            float sum = bias[o];
            for (int i = 0; i < n; i++) sum += x[b * n + i] * W[o * n + i];
            y[b * m + o] = sum;
        }
}
