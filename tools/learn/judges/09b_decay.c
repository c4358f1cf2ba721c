#include "../judge.h"
#include EXERCISE

enum { TENSORS = 4, MOST = 11, STEPS = 3 };

static const int sizes[TENSORS] = { 4, 1, 2, 4 }, dims[TENSORS] = { 2, 1, 1, 4 };
static const char *const parts[2 * TENSORS]
    = { "p[0].v", "p[1].v", "p[2].v", "p[3].v",
        "p[0].w", "p[1].w", "p[2].w", "p[3].w" };
static const float first[MOST] = { 1, -2, 3, 0.5f, 4, -1, 1, 2, -0.5f, 1, -3 };
static const float begun[MOST] = { 2, 1, 0.5f, -1, 1, 0.5f, -2, 1, 3, 0, -1 };
static const float zeros[MOST] = { 0 };
static const float g[STEPS][MOST] = {
    { 0.5f, 1, -1, 0, 2, 0.25f, -1, 0, 1, -2, 0.5f },
    { -1, 0.5f, 0, 0, 1, -0.5f, 0, 2, 0, 1, -1 },
    { 0.25f, -1, 2, 0, -1, 1, 1, -1, 0.5f, 0, 2 },
};

enum { RIGHT, NO_DECAY, IN_VELOCITY, IN_VELOCITY_OF_ALL, ON_BOTH, ON_ALL, ON_BIASES, BY_SIZE,
       MATRICES_ONLY, KERNELS_ONLY, NO_LR, LR_TWICE, NO_W, SQUARE, SIGN, AFTER, AWAY, REPLACED,
       TIMES_MOMENTUM, ONLY_DECAY, UPHILL, NO_MOMENTUM, NO_MEMORY, AVERAGED, LR_IN_V, STEP_NO_LR,
       OLD_VELOCITY, FORGOTTEN, NOT_WRITTEN, GRADIENT_MOVES, FIRST_ONLY, NO_LAST, FIRST_AGAIN };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_DECAY, "no_decay", "no weight decays: lr decay w is missing." },
    { IN_VELOCITY, "in_velocity",
      "decay w went into the velocity, which drags it along from step to step. Decoupled means: "
      "apart, on the weight itself." },
    { IN_VELOCITY_OF_ALL, "in_all_velocities",
      "decay w went into the velocity, and of biases, too. It acts on the weight itself, apart, "
      "and only on tensors of two dimensions or more." },
    { ON_BOTH, "in_both", "decay w is in the velocity and subtracted from the weight: once is "
      "right, from the weight." },
    { ON_ALL, "on_biases",
      "biases and scales, the tensors of one dimension, decay as well. They must not." },
    { ON_BIASES, "only_biases",
      "the tensors of one dimension decay and the others do not: it is the other way round." },
    { BY_SIZE, "by_size",
      "a bias of two numbers decays: it was asked how many numbers a tensor has. Ask for dims." },
    { MATRICES_ONLY, "matrices_only",
      "only tensors of two dimensions decay; kernels of convolutions have four: dims >= 2." },
    { KERNELS_ONLY, "kernels_only",
      "tensors of more than two dimensions decay, and matrices, of two, do not: dims >= 2." },
    { NO_LR, "no_lr", "the decay is not multiplied by lr." },
    { LR_TWICE, "lr_twice", "the decay is multiplied by lr twice: lr decay w." },
    { NO_W, "no_w", "every weight loses lr decay, whatever it is; it loses its share: "
      "lr decay w." },
    { SQUARE, "square", "the decay takes w squared. A share of w is lr decay w." },
    { SIGN, "sign", "only the sign of w is taken, as in L1 regularization: lr decay w." },
    { AFTER, "after_the_step",
      "the decay is taken of the weight behind the step. It is that of the weight before." },
    { AWAY, "away_from_zero", "the weights are pushed away from 0: the decay is subtracted." },
    { REPLACED, "weight_replaced", "the weight became its step: subtract that from the weight." },
    { TIMES_MOMENTUM, "times_momentum", "the decay is multiplied by momentum; only v is." },
    { ONLY_DECAY, "only_decay",
      "weights that decay do nothing else: they also move by lr v, as all others." },
    { UPHILL, "uphill", "the weights go along the gradient: subtract lr v." },
    { NO_MOMENTUM, "no_momentum",
      "the old v is kept whole, so no step is ever forgotten: multiply it by momentum." },
    { NO_MEMORY, "no_memory", "v is g alone: momentum times the old v is missing." },
    { AVERAGED, "averaged", "this averages gradients, (1 - momentum) g: g is added whole." },
    { LR_IN_V, "lr_in_velocity", "lr went into the velocity; it belongs to the step alone." },
    { STEP_NO_LR, "step_without_lr", "the weight moves by v, and should by lr v." },
    { OLD_VELOCITY, "old_velocity",
      "the weight is moved by the velocity of the step before: change v first." },
    { FORGOTTEN, "forgotten", "v is set to 0 behind the step: the next one begins without it." },
    { NOT_WRITTEN, "not_written",
      "the weights are right, but the new velocity was not written to v: the next step needs it." },
    { GRADIENT_MOVES, "gradient_moves", "the weight moves by lr g; the velocity moves it, lr v." },
    { FIRST_ONLY, "first_tensor", "only tensor 0 has a step: there are count of them." },
    { NO_LAST, "last_tensor", "the last tensor is left as it was: t runs from 0 to count - 1." },
    { FIRST_AGAIN, "first_again",
      "tensor 0 has a step for each tensor, and the others have none: p[t], not p[0] or *p." },
};

static int decays(int t, int e)
{
    if (e == ON_ALL || e == IN_VELOCITY_OF_ALL) return 1;
    if (e == ON_BIASES) return dims[t] < 2;
    if (e == BY_SIZE) return sizes[t] >= 2;
    if (e == MATRICES_ONLY) return dims[t] == 2;
    if (e == KERNELS_ONLY) return dims[t] > 2;
    return dims[t] >= 2 && e != NO_DECAY;
}

static double share(double w, int e)
{
    if (e == NO_W) return 1;
    if (e == SQUARE) return w * w;
    if (e == SIGN) return (w > 0) - (w < 0);
    return w;
}

typedef struct options {
    double lr, momentum, decay;
} options;

static double velocity(double v, double grad, options o, int e)
{
    if (e == NO_MOMENTUM) return v + grad;
    if (e == NO_MEMORY) return grad;
    if (e == AVERAGED) return o.momentum * v + (1 - o.momentum) * grad;
    if (e == LR_IN_V) return o.momentum * v + o.lr * grad;
    return o.momentum * v + grad;
}

static void one_step(double *w, double *v, double grad, int t, options o, int e)
{
    double old = *v, pull = decays(t, e) ? o.decay * share(*w, e) : 0, by = o.lr;
    int inside = e == IN_VELOCITY || e == IN_VELOCITY_OF_ALL;
    *v = velocity(old, grad + (inside || e == ON_BOTH ? pull : 0), o, e);
    double move = (e == LR_IN_V || e == STEP_NO_LR ? 1 : o.lr) * (e == OLD_VELOCITY ? old : *v);
    if (e == GRADIENT_MOVES) move = o.lr * grad;
    if (e == UPHILL) move = -move;
    if (e == ONLY_DECAY && pull != 0) move = 0;
    if (e == AFTER) pull = decays(t, e) ? o.decay * (*w - move) : 0;
    if (inside) pull = 0;
    if (e == NO_LR) by = 1;
    if (e == LR_TWICE) by = o.lr * o.lr;
    if (e == AWAY) by = -o.lr;
    if (e == TIMES_MOMENTUM) by = o.lr * o.momentum;
    *w = (e == REPLACED ? 0 : *w) - move - by * pull;
    if (e == FORGOTTEN) *v = 0;
    if (e == NOT_WRITTEN) *v = old;
}

// All velocities, then all weights.
static void compute(const float *start, int steps, options o, int e, float *out)
{
    int at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        for (int i = at; i < at + sizes[t]; i++) {
            double w = (double)first[i], v = (double)start[i];
            int times = e == FIRST_AGAIN ? TENSORS : 1;
            if ((t && (e == FIRST_ONLY || e == FIRST_AGAIN)) || (e == NO_LAST && t == TENSORS - 1))
                times = 0;
            for (int s = 0; s < steps; s++)
                for (int k = 0; k < times; k++)
                    one_step(&w, &v, (double)g[s][i], t, o, e);
            out[i] = (float)v;
            out[MOST + i] = (float)w;
        }
}

static int same(const float *want, int from, int n)
{
    for (int i = from; i < from + n; i++)
        if (!judge_close(judge.got[i], (double)want[i], 1e-5)) return 0;
    return 1;
}

// No known mistake: is it the velocity, the step or the decay? Tensors 1 and 2 do not decay.
static void narrow(const float *want)
{
    int v = same(want, 0, MOST), plain = same(want, MOST + sizes[0], sizes[1] + sizes[2]);
    int others = same(want, MOST, sizes[0]) && same(want, 2 * MOST - sizes[3], sizes[3]);
    if (judge.mistake || (v && plain && others)) return;
    judge.mistake = "velocity_wrong";
    judge.sentence = "v is wrong already, and w follows from it: look at v = momentum v + g, where "
                     "the decay has no part.";
    if (v && plain) {
        judge.mistake = "decay_wrong";
        judge.sentence = "v is right, and so are the tensors of one dimension: look at the decay of "
                         "the others, lr decay w, with the w before the step.";
    } else if (v && others) {
        judge.mistake = "one_dimension_wrong";
        judge.sentence = "v is right, and so are the tensors that decay. Those of one dimension are "
                         "not: w = w - lr v, and no more.";
    } else if (v) {
        judge.mistake = "step_wrong";
        judge.sentence = "v is right; weights that decay and weights that do not are wrong: look at "
                         "w = w - lr v, which both have.";
    }
}

static void train(const char *what, const float *start, int steps, float lr, float momentum,
                  float decay)
{
    const options o = { (double)lr, (double)momentum, (double)decay };
    float got[2 * MOST], out[2 * MOST], *own[2 * TENSORS];
    int at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++]) {
        own[2 * t] = judge_copy(start + at, sizeof(float) * (size_t)sizes[t]);
        own[2 * t + 1] = judge_copy(first + at, sizeof(float) * (size_t)sizes[t]);
    }
    judge_case(what);
    for (int s = 0; s < steps; s++) {
        param p[TENSORS];
        at = 0;
        for (int t = 0; t < TENSORS; at += sizes[t++])
            p[t] = (param){ own[2 * t + 1], own[2 * t], g[s] + at, sizes[t], dims[t] };
        step(p, TENSORS, lr, momentum, decay);
    }
    at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        for (int k = 0; k < 2; k++) {
            memcpy(got + at + k * MOST, own[2 * t + k], sizeof(float) * (size_t)sizes[t]);
            free(own[2 * t + k]);
        }
    judge_got(got, 2 * MOST);
    for (int k = 0; k < 2 * TENSORS; k++)
        judge_part(parts[k], 1, sizes[k % TENSORS]);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(start, steps, o, mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, 2 * MOST);
    }
    compute(start, steps, o, RIGHT, out);
    narrow(out);
    judge_want(out, 2 * MOST, 1e-5);
}

int main(void)
{
    judge_begin();
    train("a step that begins with a velocity", begun, 1, 0.5f,
          0.9f, 0.2f);
    train("a first step", zeros, 1, 0.5f, 0.9f, 0.1f);
    train("three steps", zeros, 3, 0.1f, 0.9f, 0.5f);
    train("three steps without decay", zeros, 3, 0.1f, 0.5f, 0);
    return judge_end();
}
