// Hint 1: Six loops: over o, i, j for what is computed, over c, u, v for the sum.
// Hint 2: The place in the image is row = i + u - pad, column = j + v - pad; skip what is outside.
// Hint 3: x lies at (c h + row) w + column, k at ((o C + c) s + u) s + v, y at (o H + i) W + j.
// Why: One small kernel is used everywhere: 9 weights find an edge wherever it is. That is what
//   makes convolutions so much smaller than layers that connect everything.
// Another way: Copy what lies under the kernel at each place to a row of a matrix ("im2col");
//   then the whole convolution is one product of matrices, which libraries are fast at.
// A tempting wrong way: k[o][c][s - 1 - u][s - 1 - v], the convolution of mathematics. Nets use
//   what is called correlation there; both learn, but weights from elsewhere give nonsense.
typedef struct sizes {
    int c, h, w;
    int o, s, pad;
} sizes;

void convolution(const float *x, const float *k, const float *bias, float *y, sizes n)
{
    int rows = n.h + 2 * n.pad - n.s + 1, columns = n.w + 2 * n.pad - n.s + 1;
    for (int o = 0; o < n.o; o++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++) {
                float sum = bias[o];
                for (int c = 0; c < n.c; c++)
                    for (int u = 0; u < n.s; u++)
                        for (int v = 0; v < n.s; v++) {
                            int row = i + u - n.pad, column = j + v - n.pad;
                            if (row < 0 || row >= n.h || column < 0 || column >= n.w) continue;
                            sum += x[(c * n.h + row) * n.w + column]
                                * k[((o * n.c + c) * n.s + u) * n.s + v];
                        }
                y[(o * rows + i) * columns + j] = sum;
            }
}
