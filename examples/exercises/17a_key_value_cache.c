// Exercise 17a: a cache of keys and values.
//
// A language model writes one token after another, and each one looks at all before it. Their keys
// and values never change, so they are kept: a step computes q, k and v (D numbers each) of the
// new token alone, puts k and v behind those that are kept, and then attends to all that are there,
// the new token among them:
//
//     y  =  sum over s of  p[s] v[s],    p  =  softmax over s of  q . k[s] / sqrt(D)
//
// The cache has room for most tokens, in k (most,D) and v (most,D); length says how many there are.
// What lies behind them is garbage. Fill in attend: it appends, computes y (D), and returns 1. If
// the cache is full, it changes nothing, not even y, and returns 0. most is at most 64.
#include <math.h>

typedef struct cache {
    float *k, *v;
    int length, most;
} cache;

int attend(cache *c, const float *q, const float *k, const float *v, float *y, int D)
{
    (void)c;
    (void)q;
    (void)k;
    (void)v;
    (void)D;
    y[0] = 0.0f;                                            // your code
    return 1;
}
