// Hint 1: Three cases, each with its own return.
// Hint 2: progress is how far step is on the way from warmup to total, a fraction from 0 to 1. What
//   does C make of the quotient of two ints?
// Hint 3: (float)(step - s.warmup) / (float)(s.total - s.warmup). At 0 the cosine is 1 and the rate
//   is peak; at 1 it is -1 and the rate is least.
// Why: Adam's first steps have the full length whatever the gradient is (exercise 08b), and the
//   first gradients point nowhere useful. The cosine is level at both ends, so the rate spends long
//   near peak, where it gets on, and long near least, where it settles.
// Another way: A straight line down to least, or constant and a short fall at the end. All three
//   train about equally well; what hurts is no warmup, or a rate that never falls.
// A tempting wrong way: peak step / warmup. Step 0 then has the rate 0: the whole first batch is
//   computed and nothing is learned from it.
#include <math.h>

typedef struct schedule {
    float peak, least;
    int warmup, total;
} schedule;

float learning_rate(int step, schedule s)
{
    if (step < s.warmup) return s.peak * (float)(step + 1) / (float)s.warmup;
    if (step >= s.total) return s.least;
    float progress = (float)(step - s.warmup) / (float)(s.total - s.warmup);
    return s.least + (s.peak - s.least) * 0.5f * (1.0f + cosf(acosf(-1.0f) * progress));
}
