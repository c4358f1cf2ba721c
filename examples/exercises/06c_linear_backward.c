// Exercise 06c: a linear layer, backward.
//
// The layer of 06a computed y (B,m) = x (B,n) W^T + bias, with W (m,n). Now dy (B,m) comes back,
// the derivatives of the loss for y, and the layer owes three answers:
//
//     dx (B,n)      goes on to the layer before
//     dW (m,n)      what W learns from
//     dbias (m)     what bias learns from
//
// Fill in linear_backward. What dx, dW and dbias held before does not matter. Ask of each number:
// which outputs does it change, and by how much? And look at the shapes: they nearly say it all.
void linear_backward(const float *x, const float *W, const float *dy, float *dx, float *dW,
                     float *dbias, int B, int n, int m)
{
    (void)x;
    (void)W;
    (void)dy;
    (void)B;
    (void)n;
    (void)m;
    dx[0] = 0.0f;                                           // your code
    dW[0] = 0.0f;
    dbias[0] = 0.0f;
}
