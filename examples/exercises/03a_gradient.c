// Exercise 03a: a gradient by hand.
//
// The line of lesson 3 has one x and one w. Here are n of each, and the loss is the mean of the
// squared errors over B examples, the rows of x (B,n):
//
//     y[b]  =  sum over i of x[b][i] w[i]  +  bias
//     loss  =  1/B  sum over b of (y[b] - target[b])^2
//
// Fill in gradient: the derivatives of the loss for each w[i], and for bias. Write it down on
// paper first: d loss / d y[b], and then what y[b] changes by when w[i] does. What dw and dbias
// held before does not matter.
void gradient(const float *x, const float *target, const float *w, float bias, int B, int n,
              float *dw, float *dbias)
{
    (void)x;
    (void)target;
    (void)w;
    (void)bias;
    (void)B;
    (void)n;
    dw[0] = 0.0f;                                           // your code
    *dbias = 0.0f;
}
