// Exercise 08b: a step of AdamW.
//
// Adam gives each weight a step of its own length: the mean of recent gradients divided by their
// recent size. AdamW also pulls each weight towards 0, apart from the gradient ("decoupled weight
// decay"). Step t, counted from 1:
//
//     m  =  beta1 m + (1 - beta1) g              the mean
//     v  =  beta2 v + (1 - beta2) g g            the mean of squares
//     m^ =  m / (1 - beta1^t)                    both begin at 0, so the first means are too
//     v^ =  v / (1 - beta2^t)                    small; this makes up for it
//     w  =  w - lr ( m^ / (sqrt(v^) + eps)  +  decay w )        w on the right: before the step
//
// Fill in step for n weights; t is given.
#include <math.h>

typedef struct adamw {
    float lr, beta1, beta2, eps, decay;
} adamw;

void step(float *w, const float *g, float *m, float *v, int n, int t, const adamw *o)
{
    (void)w;
    (void)g;
    (void)m;
    (void)v;
    (void)n;
    (void)t;
    (void)o;                                                // your code
}
