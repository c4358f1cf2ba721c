// Exercise 08a: a step of SGD with momentum.
//
// Plain gradient descent moves a weight against its gradient. Momentum keeps a velocity, so that
// steps in the same direction add up and steps that swing to and fro cancel:
//
//     v  =  momentum v + g
//     w  =  w - lr v
//
// Fill in step for n weights. v is kept between the steps and is 0 before the first.
void step(float *w, const float *g, float *v, int n, float lr, float momentum)
{
    (void)w;
    (void)g;
    (void)v;
    (void)n;
    (void)lr;
    (void)momentum;                                         // your code
}
