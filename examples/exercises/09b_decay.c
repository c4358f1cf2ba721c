// Exercise 09b: which weights decay, and how.
//
// Weight decay pulls the weights a little towards 0 at each step, so that a net does not come to
// rely on a few large ones. Two things about it are easy to get wrong. It is decoupled: it does not
// pass through the velocity (nor, in Adam, the division), but acts on the weight itself. And
// biases and the scales of LayerNorm are left alone here; those are the tensors of one dimension.
// (Lessons 8 and 9 let all tensors decay, as samba.h does; trainers of language models do this.)
//
//     v  =  momentum v + g
//     w  =  w - lr v - lr decay w                            w on the right: before the step;
//                                                            the last term only for dims >= 2
//
// Fill in step for all `count` tensors.
typedef struct param {
    float *w, *v;                                           // size numbers each
    const float *g;
    int size, dims;
} param;

void step(param *p, int count, float lr, float momentum, float decay)
{
    (void)p;
    (void)count;
    (void)lr;
    (void)momentum;
    (void)decay;                                            // your code
}
