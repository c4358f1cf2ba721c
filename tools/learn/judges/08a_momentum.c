#include "../judge.h"
#include EXERCISE

enum { N = 3, STEPS = 3 };

static const float gradients[STEPS][N] = { { 1, -2, 0.5f }, { 0.5f, 1, -1 }, { -1, 0.25f, 2 } };

// v = momentum v + scale g; w -= lr v, with the velocity of before if late; then v is forgotten.
typedef struct wrong {
    double scale, sign, lr_in_v;
    int late, forgets;
} wrong;

static void compute(int steps, double lr, double momentum, wrong e, float *out)
{
    double w[N] = { 1, 2, 3 }, v[N] = { 0, 0, 0 };
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < N; i++) {
            double before = v[i];
            v[i] = momentum * v[i]
                + e.scale * (e.lr_in_v > 0 ? lr * (s + 1) : 1) * (double)gradients[s][i];
            w[i] -= e.sign * (e.lr_in_v > 0 ? 1 : lr * (s + 1)) * (e.late ? before : v[i]);
            if (e.forgets) v[i] = 0;
        }
    for (int i = 0; i < N; i++) {
        out[i] = (float)w[i];
        out[N + i] = (float)v[i];
    }
}

static float lr0, momentum0;
static int steps0;

static void mistake(const char *name, const char *sentence, wrong e)
{
    float out[2 * N];
    compute(steps0, (double)lr0, (double)momentum0, e, out);
    judge_mistake(name, sentence, out, 2 * N);
}

// The learning rate grows: lr, 2 lr, 3 lr.
static void train(const char *what, int steps, float lr, float momentum)
{
    float got[2 * N], want[2 * N], *v = judge_room(N, 0);
    float *w = judge_copy((const float[]){ 1, 2, 3 }, N * sizeof *w);
    steps0 = steps;
    lr0 = lr;
    momentum0 = momentum;
    judge_case(what);
    for (int s = 0; s < steps; s++)
        step(w, gradients[s], v, N, lr * (float)(s + 1), momentum);
    memcpy(got, w, N * sizeof *w);
    memcpy(got + N, v, N * sizeof *v);
    free(w);
    free(v);
    judge_got(got, 2 * N);
    compute(steps, (double)lr, (double)momentum, (wrong){ 1, 1, 0, 0, 0 }, want);
    mistake("uphill", "the weights go along the gradient, and so the loss grows: subtract lr v.",
            (wrong){ 1, -1, 0, 0, 0 });
    mistake("averaged",
            "this averages gradients, (1 - momentum) g. That is Adam's way; here g is "
            "added whole.",
            (wrong){ 1 - (double)momentum, 1, 0, 0, 0 });
    mistake("old_velocity",
            "the weight is moved by the velocity of the step before: change v first.",
            (wrong){ 1, 1, 0, 1, 0 });
    mistake("lr_in_velocity",
            "lr went into the velocity. When lr changes between steps, as here, the "
            "old steps keep the old lr; it belongs to the step alone.",
            (wrong){ 1, 1, 1, 0, 0 });
    mistake("forgotten", "v is not kept: the next step begins without velocity.",
            (wrong){ 1, 1, 0, 0, 1 });
    judge_want(want, 2 * N, 1e-5);
}

int main(void)
{
    judge_begin();
    train("a step without momentum", 1, 0.1f, 0);
    train("three steps with momentum 0.9", 3, 0.1f, 0.9f);
    train("three steps with momentum 0.5", 3, 0.01f, 0.5f);
    return judge_end();
}
