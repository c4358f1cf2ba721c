// Hint 1: y[b][o] is a sum of x[b][i] W[o][i]. By how much does it change with W[o][i], and with
//   x[b][i]?
// Hint 2: By x[b][i] and by W[o][i]. x[b][i] is used by all outputs o, W[o][i] by all rows b, and
//   bias[o] by all rows b: those are the sums.
// Hint 3: Zero all three. For each b and o: dbias[o] += dy[b][o], and for each i: dx[b][i] +=
//   dy[b][o] W[o][i]; dW[o][i] += dy[b][o] x[b][i].
// Why: As products of matrices, dx = dy W and dW = dy^T x. The forward pass had W transposed, so
//   the way back has it as it is. No other product of these matrices has the right shape, which is
//   how one remembers them.
// Another way: Three loops of their own, each with the sum innermost. It writes each result once;
//   libraries do it so, as two products of matrices.
// A tempting wrong way: Division by B. The mean over the batch belongs to the loss, and its 1/B is
//   in dy already.
void linear_backward(const float *x, const float *W, const float *dy, float *dx, float *dW,
                     float *dbias, int B, int n, int m)
{
    for (int k = 0; k < B * n; k++) dx[k] = 0.0f;
    for (int k = 0; k < m * n; k++) dW[k] = 0.0f;
    for (int o = 0; o < m; o++) dbias[o] = 0.0f;
    for (int b = 0; b < B; b++)
        for (int o = 0; o < m; o++) {
            float d = dy[b * m + o];
            for (int i = 0; i < n; i++) {
                dx[b * n + i] += d * W[o * n + i];
                dW[o * n + i] += d * x[b * n + i];
            }
            dbias[o] += d;
        }
}
