#include "../judge.h"
#include EXERCISE

enum { N = 3, STEPS = 4 };

static const float gradients[STEPS][N]
    = { { 1, -0.002f, 5 }, { 0.5f, 0.001f, -1 }, { -1, 0.25f, 2 }, { 0.1f, -3, 0.5f } };

enum {
    RIGHT,
    NO_CORRECTION,
    L2,
    NO_DECAY,
    DECAY_WITHOUT_LR,
    NO_ROOT,
    EPS_INSIDE,
    UPHILL,
    STEP_ZERO
};

static void compute(int steps, adamw o, int e, float *out)
{
    double w[N] = { 1, 2, -3 }, m[N] = { 0 }, v[N] = { 0 };
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < N; i++) {
            double b1 = (double)o.beta1, b2 = (double)o.beta2, lr = (double)o.lr;
            double eps = (double)o.eps, g = (double)gradients[s][i],
                   t = s + (e == STEP_ZERO ? 2 : 1);
            double decay = e == NO_DECAY ? 0 : (double)o.decay;
            if (e == L2) g += decay * w[i];
            m[i] = b1 * m[i] + (1 - b1) * g;
            v[i] = b2 * v[i] + (1 - b2) * g * g;
            double mean = e == NO_CORRECTION ? m[i] : m[i] / (1 - pow(b1, t));
            double square = e == NO_CORRECTION ? v[i] : v[i] / (1 - pow(b2, t));
            double size = e == NO_ROOT ? square + eps : sqrt(square) + eps;
            if (e == EPS_INSIDE) size = sqrt(square + eps);
            double pull = e == L2 ? 0 : decay * w[i];
            w[i] -= (e == UPHILL ? -1 : 1) * lr * (mean / size)
                + (e == DECAY_WITHOUT_LR ? 1 : lr) * pull;
        }
    for (int i = 0; i < N; i++) {
        out[i] = (float)w[i];
        out[N + i] = (float)m[i];
        out[2 * N + i] = (float)v[i];
    }
}

static adamw options;
static int steps0;

static void mistake(const char *name, int e, const char *sentence)
{
    float out[3 * N];
    compute(steps0, options, e, out);
    judge_mistake(name, sentence, out, 3 * N);
}

static void train(const char *what, int steps, adamw o)
{
    float got[3 * N], want[3 * N], *m = judge_room(N, 0), *v = judge_room(N, 0);
    float *w = judge_copy((const float[]){ 1, 2, -3 }, N * sizeof *w);
    options = o;
    steps0 = steps;
    judge_case(what);
    for (int s = 0; s < steps; s++)
        step(w, gradients[s], m, v, N, s + 1, &o);
    const float *kept[] = { w, m, v };
    for (int i = 0; i < 3; i++)
        memcpy(got + i * N, kept[i], N * sizeof *w);
    free(w);
    free(m);
    free(v);
    judge_got(got, 3 * N);
    compute(steps, o, RIGHT, want);
    mistake("no_correction", NO_CORRECTION,
            "m and v are used as they are. They begin at 0, so the "
            "first means are too small: divide by 1 - beta^t.");
    mistake("l2", L2,
            "decay w went into the gradient, and so into m and v. In AdamW it is apart: "
            "lr decay w is subtracted from the weight.");
    mistake("no_decay", NO_DECAY, "this is Adam: the weight decay is missing.");
    mistake("decay_without_lr", DECAY_WITHOUT_LR, "the decay is not multiplied by lr.");
    mistake("no_root", NO_ROOT,
            "the mean is divided by the mean of squares; it is the root of it.");
    mistake("eps_inside", EPS_INSIDE,
            "eps stands under the root. It is added to the root, which "
            "matters where gradients are tiny.");
    mistake("uphill", UPHILL, "the weights go along the gradient; subtract the step.");
    mistake("step_from_two", STEP_ZERO,
            "the correction is that of the next step: t counts from 1 "
            "and is given as it is needed.");
    judge_want(want, 3 * N, 1e-5);
}

int main(void)
{
    judge_begin();
    train("a first step", 1, (adamw){ 0.1f, 0.9f, 0.999f, 1e-8f, 0.1f });
    train("four steps", 4, (adamw){ 0.1f, 0.9f, 0.95f, 1e-8f, 0.1f });
    train("four steps with a large eps", 4, (adamw){ 0.1f, 0.8f, 0.9f, 0.01f, 0.5f });
    return judge_end();
}
