// Hint 1: 08a for each tensor, and one term more for some of them.
// Hint 2: float pull = p[t].dims >= 2 ? decay : 0.0f; then both formulas as they stand.
// Hint 3: v[i] = momentum * v[i] + g[i]; w[i] -= lr * (v[i] + pull * w[i]). The w inside is still
//   the old one.
// Why: A weight with gradient 0 shrinks by the factor (1 - lr decay) each step, whatever the
//   optimizer keeps in its memory: that is what the number `decay` means. A bias only shifts; a
//   large one does no harm, and pulling it to 0 makes the layer miss its target. The scale of
//   LayerNorm belongs at 1, not at 0.
// Another way: w *= 1 - lr decay first, then the step of 08a. It is the same up to rounding, and
//   how PyTorch writes it.
// A tempting wrong way: g + decay w into the velocity, "L2 regularization". Without momentum it is
//   the same, which is why the two were mixed up for years; with it, the decay is dragged along and
//   grows to 1 / (1 - momentum) times its size.
typedef struct param {
    float *w, *v;
    const float *g;
    int size, dims;
} param;

void step(param *p, int count, float lr, float momentum, float decay)
{
    for (int t = 0; t < count; t++) {
        float pull = p[t].dims >= 2 ? decay : 0.0f;
        for (int i = 0; i < p[t].size; i++) {
            p[t].v[i] = momentum * p[t].v[i] + p[t].g[i];
            p[t].w[i] -= lr * (p[t].v[i] + pull * p[t].w[i]);
        }
    }
}
