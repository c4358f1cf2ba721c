// Hint 1: Five formulas, five statements. powf(o->beta1, (float)t) is beta1^t.
// Hint 2: m^ and v^ are used in this step alone; what is kept in m and v is without the correction.
// Hint 3: float mean = m[i] / (1 - powf(o->beta1, t)), size = sqrtf(v[i] / (1 - powf(o->beta2,
//   t))); then one statement for w[i].
// Why: In step 1, m^ = g and v^ = g g, so every weight moves by lr, however small its gradient
//   is: one reason why lr is often small at first (lesson 16). Without the correction, with 0.9 and
//   0.999, the first step would be 0.1 g / (0.032 |g|) = 3.2 lr, three times too long.
// Another way: Correct lr instead: lr sqrt(1 - beta2^t) / (1 - beta1^t), as the paper proposes for
//   speed. eps then means something a little different, and the bits differ.
// A tempting wrong way: g += decay * w at the beginning, as with SGD. Then the decay is divided by
//   sqrt(v), too, and weights with large gradients are hardly decayed: this is Adam with L2, not
//   AdamW (Loshchilov and Hutter, 2017).
#include <math.h>

typedef struct adamw {
    float lr, beta1, beta2, eps, decay;
} adamw;

void step(float *w, const float *g, float *m, float *v, int n, int t, const adamw *o)
{
    float scale_m = 1.0f / (1.0f - powf(o->beta1, (float)t));
    float scale_v = 1.0f / (1.0f - powf(o->beta2, (float)t));
    for (int i = 0; i < n; i++) {
        m[i] = o->beta1 * m[i] + (1.0f - o->beta1) * g[i];
        v[i] = o->beta2 * v[i] + (1.0f - o->beta2) * g[i] * g[i];
        float mean = m[i] * scale_m, size = sqrtf(v[i] * scale_v);
        w[i] -= o->lr * (mean / (size + o->eps) + o->decay * w[i]);
    }
}
