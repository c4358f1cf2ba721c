// Hint 1: The loss depends on one probability of each row only. The derivative of -log(y) is -1/y.
// Hint 2: For the softmax, write dx[i] as the sum over j of dy[j] times the change of y[j], and
//   take y[i] out of the sum.
// Hint 3: dx[i] = y[i] (dy[i] - sum over j of dy[j] y[j]). The sum is the same for the whole row.
// Why: Probabilities add up to 1, so if all dy of a row are equal, nothing can be gained: dy minus
//   its mean, weighted by y, is what is left. Put one into the other, and -1/y cancels the y: dx is
//   (y - 1 for the right class) / B, the formula of 07b.
// Another way: The whole matrix of derivatives, n x n numbers for each row, and a product with it.
//   It is the same, and takes n times as long.
// A tempting wrong way: dx[i] = dy[i] y[i] (1 - y[i]), as for a sigmoid. It forgets that a score
//   which grows takes from the others. For two classes it even has the right sign.
void cross_entropy_backward(const float *y, const int *label, float *dy, int B, int n)
{
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < n; i++) dy[b * n + i] = 0.0f;
        dy[b * n + label[b]] = -1.0f / y[b * n + label[b]] / (float)B;
    }
}

void softmax_backward(const float *y, const float *dy, float *dx, int B, int n)
{
    for (int b = 0; b < B; b++) {
        float dot = 0.0f;
        for (int i = 0; i < n; i++) dot += dy[b * n + i] * y[b * n + i];
        for (int i = 0; i < n; i++) dx[b * n + i] = y[b * n + i] * (dy[b * n + i] - dot);
    }
}
