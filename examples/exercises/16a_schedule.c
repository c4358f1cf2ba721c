// Exercise 16a: a learning rate that rises, then falls.
//
// At the beginning a net is all noise, and long steps may break it: so the rate grows first
// (warmup). At the end short steps settle it: after that, the rate falls along half a period of a
// cosine. Steps count from 0:
//
//     step < warmup             peak (step + 1) / warmup
//     warmup <= step < total    least + (peak - least) (1 + cos(pi progress)) / 2,  where progress
//                               goes from 0 in step warmup to 1 in step total
//     step >= total             least
//
// Fill in learning_rate. warmup may be 0. pi is acosf(-1.0f).
#include <math.h>

typedef struct schedule {
    float peak, least;
    int warmup, total;
} schedule;

float learning_rate(int step, schedule s)
{
    (void)step;
    (void)s;
    return 0.0f;                                            // your code
}
