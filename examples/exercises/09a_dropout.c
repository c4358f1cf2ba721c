// Exercise 09a: dropout.
//
// While a net trains, dropout sets each value to 0 with probability p, so that no neuron can rely
// on a single other one. The values that stay are multiplied by 1 / (1 - p): then the expected
// sum of a layer is what it is without dropout, and nothing needs to change when the net is used.
//
// Fill in dropout for n values. random_unit() gives the next random number, from 0 up to but not
// 1; ask it once for each value, in order, and drop the value if the number is below p. Keep in
// mask[i] what value i was multiplied by: the backward pass needs it. Then fill in
// dropout_backward.
float random_unit(void);

void dropout(const float *x, float *y, float *mask, int n, float p)
{
    (void)x;
    (void)mask;
    (void)n;
    (void)p;
    y[0] = 0.0f;                                            // your code
}

void dropout_backward(const float *dy, const float *mask, float *dx, int n)
{
    (void)dy;
    (void)mask;
    (void)n;
    dx[0] = 0.0f;                                           // your code
}
