#include "../judge.h"
#include EXERCISE

enum { N = 3, STEPS = 3 };

static const float gradients[STEPS][N] = { { 1, -2, 0.5f }, { 0.5f, 1, -1 }, { -1, 0.25f, 2 } };
static const float weights[N] = { 1, 2, 3 };

enum { RIGHT, UPHILL, AVERAGED, SWAPPED, ON_GRADIENT, ON_BOTH, NO_MOMENTUM, NO_MEMORY, NO_GRADIENT,
       ADDED_TO_OLD, SUBTRACTED, NEGATIVE, LR_IN_V, LR_IN_MINUS_V, LR_TWICE, WEIGHT, SQUARES,
       OLD_VELOCITY, GRADIENT_MOVES, NO_VELOCITY, NO_LR, NESTEROV, GRADIENT_TWICE, MOMENTUM_TWICE,
       ASSIGNED, SHRINKS, NO_MOVE, FORGOTTEN, NOT_WRITTEN, ONE_VELOCITY, NO_LAST, NO_FIRST };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { UPHILL, "uphill",
      "the weights go along the gradient, and so the loss grows: subtract lr v." },
    { AVERAGED, "averaged",
      "this averages gradients, (1 - momentum) g. That is Adam's way; here g is added whole." },
    { SWAPPED, "swapped",
      "momentum and 1 - momentum stand where an average has them, and in exchanged places. Here "
      "momentum stands before the old v, and g is added whole." },
    { ON_GRADIENT, "momentum_on_gradient",
      "momentum stands before g. It belongs to the old v, of which it keeps a share; g is whole." },
    { ON_BOTH, "momentum_on_both",
      "momentum stands before g, too, as in momentum (v + g). The new gradient is added whole." },
    { NO_MOMENTUM, "no_momentum",
      "the old v is kept whole, so no step is ever forgotten: multiply it by momentum." },
    { NO_MEMORY, "no_memory",
      "v is g alone, and what it was before is lost: momentum times the old v is missing." },
    { NO_GRADIENT, "no_gradient", "g is not in v: nothing can make the velocity grow." },
    { ADDED_TO_OLD, "added_to_old",
      "+= keeps the whole old v, and adds a share of it once more: v = momentum v + g." },
    { SUBTRACTED, "subtracted",
      "g is subtracted from v, and then v from w: two minus signs, and the weight goes uphill." },
    { NEGATIVE, "negative_velocity",
      "w is right, but v has the other sign, as if w += lr v. What is kept here points along the "
      "gradient: v = momentum v + g, and w -= lr v." },
    { LR_IN_V, "lr_in_velocity",
      "lr went into the velocity. When lr changes between steps, the old steps keep the old lr; "
      "it belongs to the step alone." },
    { LR_IN_MINUS_V, "lr_in_minus_velocity",
      "v = momentum v - lr g and w += v is another way to write it, with lr in the velocity. When "
      "lr changes, old steps keep the old lr. Here lr belongs to the step alone: w -= lr v." },
    { LR_TWICE, "lr_twice", "lr is there twice, in v and in the step. It belongs to the step." },
    { WEIGHT, "weight_in_velocity", "w was added to v, where the gradient g should be." },
    { SQUARES, "squares", "v gets g squared, as that of Adam does. Here it gets g itself." },
    { OLD_VELOCITY, "old_velocity",
      "the weight is moved by the velocity of the step before: change v first." },
    { GRADIENT_MOVES, "gradient_moves",
      "v is right, but the weight is moved by the gradient alone: the step is lr v, not lr g." },
    { NO_VELOCITY, "plain_descent",
      "v is as it was, and w moves by lr g: this is plain gradient descent, without momentum." },
    { NO_LR, "no_lr", "the step is v, and should be lr v." },
    { NESTEROV, "nesterov",
      "the step is lr (g + momentum v): Nesterov's momentum, which looks ahead. Here it is lr v." },
    { GRADIENT_TWICE, "gradient_twice", "g moves the weight once more: it is in v already." },
    { MOMENTUM_TWICE, "momentum_twice", "the step is multiplied by momentum, too: it is lr v." },
    { ASSIGNED, "weight_replaced", "the weight became its step: w -= lr v, not w = -lr v." },
    { SHRINKS, "weight_shrinks", "the weight is multiplied by momentum; only v is." },
    { NO_MOVE, "no_move", "v is right, and no weight has moved: w -= lr v is missing." },
    { FORGOTTEN, "forgotten", "v is set to 0 behind the step: the next one begins without it." },
    { NOT_WRITTEN, "not_written",
      "the weights are right, but the new velocity was not written to v: the next step needs it." },
    { ONE_VELOCITY, "one_velocity",
      "all weights use the velocity of weight 0. Each has one of its own, v[i]." },
    { NO_LAST, "no_last", "the last weight is left as it was: i runs from 0 to n - 1." },
    { NO_FIRST, "no_first", "weight 0 is left as it was: arrays of C begin at 0." },
};

static double velocity(double v, double g, double w, double lr, double momentum, int e)
{
    switch (e) {
    case AVERAGED: return momentum * v + (1 - momentum) * g;
    case SWAPPED: return (1 - momentum) * v + momentum * g;
    case ON_GRADIENT: return v + momentum * g;
    case ON_BOTH: return momentum * (v + g);
    case NO_MOMENTUM: return v + g;
    case NO_MEMORY: return g;
    case NO_GRADIENT: return momentum * v;
    case ADDED_TO_OLD: return v + momentum * v + g;
    case SUBTRACTED:
    case NEGATIVE: return momentum * v - g;
    case LR_TWICE:
    case LR_IN_V: return momentum * v + lr * g;
    case LR_IN_MINUS_V: return momentum * v - lr * g;
    case WEIGHT: return momentum * v + w;
    case SQUARES: return momentum * v + g * g;
    default: return momentum * v + g;
    }
}

// What is subtracted from the weight; v is the new velocity.
static double move(double v, double old, double g, double lr, double momentum, int e)
{
    switch (e) {
    case UPHILL:
    case NEGATIVE: return -lr * v;
    case LR_IN_V:
    case NO_LR: return v;
    case LR_IN_MINUS_V: return -v;
    case OLD_VELOCITY: return lr * old;
    case NO_VELOCITY:
    case GRADIENT_MOVES: return lr * g;
    case NESTEROV: return lr * (g + momentum * v);
    case GRADIENT_TWICE: return lr * (v + g);
    case MOMENTUM_TWICE: return lr * momentum * v;
    case NO_MOVE: return 0;
    default: return lr * v;
    }
}

// All velocities, then all weights. The learning rate grows: lr, 2 lr, 3 lr.
static void compute(const float *start, int steps, double lr, double momentum, int e, float *out)
{
    double w[N], v[N];
    for (int i = 0; i < N; i++) {
        w[i] = (double)weights[i];
        v[i] = (double)start[i];
    }
    for (int s = 0; s < steps; s++)
        for (int i = e == NO_FIRST; i < N - (e == NO_LAST); i++) {
            double *own = &v[e == ONE_VELOCITY ? 0 : i], old = *own, g = (double)gradients[s][i];
            *own = velocity(old, g, w[i], lr * (s + 1), momentum, e);
            double by = move(*own, old, g, lr * (s + 1), momentum, e);
            if (e == ASSIGNED) w[i] = 0;
            if (e == SHRINKS) w[i] *= momentum;
            w[i] -= by;
            if (e == FORGOTTEN) *own = 0;
            if (e == NOT_WRITTEN || e == NO_VELOCITY) *own = old;
        }
    for (int i = 0; i < N; i++) {
        out[i] = (float)v[i];
        out[N + i] = (float)w[i];
    }
}

static int same(const float *want, int from, int n)
{
    for (int i = from; i < from + n; i++)
        if (!judge_close(judge.got[i], (double)want[i], 1e-5)) return 0;
    return 1;
}

// No known mistake: which of the two formulas is it?
static void narrow(const float *want, int steps, double lr)
{
    int follows = steps == 1;
    for (int i = 0; i < N; i++)
        follows &= judge_close(judge.got[N + i], (double)weights[i] - lr * judge.got[i], 1e-5);
    if (judge.mistake) return;
    if (same(want, 0, N)) {
        judge.mistake = "only_weights_wrong";
        judge.sentence = "v is right and w is not: look at w = w - lr v, with the new v.";
    } else if (follows) {
        judge.mistake = "only_velocity_wrong";
        judge.sentence = "w is moved by lr v, as it should be, but by a wrong v: look at "
                         "v = momentum v + g, with the v of before and the g of this weight.";
    }
}

static void train(const char *what, const float *start, int steps, float lr, float momentum)
{
    float got[2 * N], out[2 * N];
    float *v = judge_copy(start, N * sizeof *v), *w = judge_copy(weights, N * sizeof *w);
    judge_case(what);
    for (int s = 0; s < steps; s++)
        step(w, gradients[s], v, N, lr * (float)(s + 1), momentum);
    memcpy(got, v, N * sizeof *v);
    memcpy(got + N, w, N * sizeof *w);
    free(w);
    free(v);
    judge_got(got, 2 * N);
    judge_part("v", 1, N);
    judge_part("w", 1, N);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(start, steps, (double)lr, (double)momentum, mistakes[k].e, out);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, out, 2 * N);
    }
    compute(start, steps, (double)lr, (double)momentum, RIGHT, out);
    narrow(out, steps, (double)lr);
    judge_want(out, 2 * N, 1e-5);
}

int main(void)
{
    static const float begun[N] = { 0.5f, -1, 2 }, zero[N] = { 0, 0, 0 };
    judge_begin();
    train("a step with momentum 0.9 from the velocities 0.5, -1, 2", begun, 1, 0.2f, 0.9f);
    train("a step without momentum", zero, 1, 0.1f, 0);
    train("three steps with momentum 0.9", zero, 3, 0.1f, 0.9f);
    train("three steps with momentum 0.5", zero, 3, 0.01f, 0.5f);
    return judge_end();
}
