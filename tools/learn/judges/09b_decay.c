#include "../judge.h"
#include EXERCISE

enum { TENSORS = 4, MOST = 12, STEPS = 3 };

static const int sizes[TENSORS] = { 4, 2, 2, 4 }, dims[TENSORS] = { 2, 1, 1, 4 };
static const float first[MOST] = { 1, -2, 3, 0.5f, 4, -1, 1, 1, 2, -0.5f, 1, -3 };
static const float g[STEPS][MOST] = {
    { 0.5f, 1, -1, 0, 2, 0, 0.25f, -1, 0, 1, -2, 0.5f },
    { -1, 0.5f, 0, 0, 1, 1, -0.5f, 0, 2, 0, 1, -1 },
    { 0.25f, -1, 2, 0, -1, 0.5f, 1, 1, -1, 0.5f, 0, 2 },
};

enum {
    RIGHT,
    IN_VELOCITY,
    ON_ALL,
    ON_BIASES,
    NO_LR,
    AFTER,
    NO_DECAY,
    AWAY,
    MATRICES_ONLY,
    LR_IN_VELOCITY
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_DECAY, "no_decay", "no weight decays: lr decay w is missing." },
    { IN_VELOCITY, "in_velocity",
      "decay w went into the velocity, which drags it along from step to step. Decoupled means: "
      "apart, on the weight itself." },
    { ON_ALL, "on_biases",
      "biases and scales, the tensors of one dimension, decay as well. They must not." },
    { ON_BIASES, "only_biases",
      "the tensors of one dimension decay and the others do not: it is the other way round." },
    { MATRICES_ONLY, "matrices_only",
      "only tensors of two dimensions decay; kernels of convolutions have four: dims >= 2." },
    { NO_LR, "no_lr", "the decay is not multiplied by lr." },
    { AFTER, "after_the_step",
      "the decay is taken of the weight behind the step. It is that of the weight before." },
    { AWAY, "away_from_zero", "the weights are pushed away from 0: the decay is subtracted." },
};

static int decays(int t, int e)
{
    if (e == ON_ALL) return 1;
    if (e == ON_BIASES) return dims[t] < 2;
    if (e == MATRICES_ONLY) return dims[t] == 2;
    return dims[t] >= 2 && e != NO_DECAY;
}

static void compute(int steps, const double *o, int e, float *out)
{
    int at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        for (int i = at; i < at + sizes[t]; i++) {
            double w = (double)first[i], v = 0;
            for (int s = 0; s < steps; s++) {
                double pull = decays(t, e) ? o[2] * w : 0;
                v = o[1] * v + (double)g[s][i] + (e == IN_VELOCITY ? pull : 0);
                double next = w - o[0] * v;
                if (e == AFTER) pull = decays(t, e) ? o[2] * next : 0;
                if (e == IN_VELOCITY) pull = 0;
                if (e == AWAY) pull = -pull;
                w = next - (e == NO_LR ? 1 : o[0]) * pull;
            }
            out[i] = (float)w;
            out[MOST + i] = (float)v;
        }
}

static void train(const char *what, int steps, float lr, float momentum, float decay)
{
    const double o[] = { (double)lr, (double)momentum, (double)decay };
    float got[2 * MOST], out[2 * MOST], *own[2 * TENSORS];
    int at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++]) {
        own[2 * t] = judge_copy(first + at, sizeof(float) * (size_t)sizes[t]);
        own[2 * t + 1] = judge_room(sizes[t], 0);
    }
    judge_case(what);
    for (int s = 0; s < steps; s++) {
        param p[TENSORS];
        at = 0;
        for (int t = 0; t < TENSORS; at += sizes[t++])
            p[t] = (param){ own[2 * t], own[2 * t + 1], g[s] + at, sizes[t], dims[t] };
        step(p, TENSORS, lr, momentum, decay);
    }
    at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        for (int k = 0; k < 2; k++) {
            memcpy(got + at + k * MOST, own[2 * t + k], sizeof(float) * (size_t)sizes[t]);
            free(own[2 * t + k]);
        }
    judge_got(got, 2 * MOST);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(steps, o, mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, 2 * MOST);
    }
    compute(steps, o, RIGHT, out);
    judge_want(out, 2 * MOST, 1e-5);
}

int main(void)
{
    judge_begin();
    train("a step: all weights, then all velocities", 1, 0.5f, 0.9f, 0.1f);
    train("three steps: all weights, then all velocities", 3, 0.1f, 0.9f, 0.5f);
    train("three steps without decay", 3, 0.1f, 0.5f, 0);
    return judge_end();
}
