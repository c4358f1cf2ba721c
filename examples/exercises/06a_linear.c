// Exercise 06a: a linear layer.
//
// A layer is m neurons that see the same n inputs. The weights of one neuron are one row of W, so
// W is (m,n), one row for each output. So samba.h stores it, as do other libraries, such as
// PyTorch; and so the formula has W transposed in it:
//
//     y  =  x W^T + bias         y[b][o]  =  sum over i of  x[b][i] W[o][i]   +  bias[o]
//
// Fill in linear: y (B,m) of a batch x (B,n).
void linear(const float *x, const float *W, const float *bias, float *y, int B, int n, int m)
{
    (void)x;
    (void)W;
    (void)bias;
    (void)B;
    (void)n;
    (void)m;
    y[0] = 0.0f;                                            // your code
}
