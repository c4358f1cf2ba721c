#include "../judge.h"
#include EXERCISE

enum { N = 4, STEPS = 4, ALL = 3 * N };

// The last weight has no gradient, and the first moments are those of a training that goes on.
static const float gradients[STEPS][N]
    = { { 1, -0.002f, 5, 0 }, { 0.5f, 0.001f, -1, 0 }, { -1, 0.25f, 2, 0 }, { 0.1f, -3, 0.5f, 0 } };
static const float weights[N] = { 1, 2, -3, 4 };
static const float begun[2 * N] = { 0.5f, 0.01f, -2, 0, 1, 0.0001f, 9, 0 };
static const float zeros[2 * N] = { 0 };

enum { RIGHT, BETAS_SWAPPED, SHARES_SWAPPED, M_WHOLE, V_WHOLE, M_FORGETS, NO_SQUARE, SQUARE_OF_M,
       SHARE_SQUARED, NEVER_FORGETS, L2, NO_CORRECTION, ONLY_M, ONLY_V, KEPT_CORRECTED, ONE_BETA,
       TIMES_T, NEXT_T, LAST_T, NO_POWER, CORRECTION_MULTIPLIED, CORRECTION_SWAPPED, OLD_MOMENTS,
       GRADIENT, NO_DIVISION, MULTIPLIED, NO_ROOT, ROOT_TOO_EARLY, EPS_INSIDE, NO_EPS,
       EPS_UNCORRECTED, NO_DECAY, DECAY_NO_LR, DECAY_NO_W, DECAY_DIVIDED, DECAY_AFTER, DECAY_UP,
       UPHILL, NO_LR, ASSIGNED, M_NOT_KEPT, V_NOT_KEPT, NO_MOVE };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { BETAS_SWAPPED, "betas_swapped", "beta1 and beta2 are exchanged: m has beta1, v has beta2." },
    { SHARES_SWAPPED, "shares_swapped",
      "beta and 1 - beta are exchanged: the old mean keeps the share beta, the new gradient gets "
      "1 - beta." },
    { M_WHOLE, "g_whole", "g is added to m whole. In a mean it has the share 1 - beta1." },
    { V_WHOLE, "square_whole", "g g is added to v whole. In a mean it has the share 1 - beta2." },
    { M_FORGETS, "m_is_g", "m is g alone: the mean of recent gradients needs the old m, too." },
    { NO_SQUARE, "no_square", "v gets g and not its square: it is the mean of g g." },
    { SQUARE_OF_M, "square_of_mean", "v gets the square of m. It is that of the gradient, g g." },
    { SHARE_SQUARED, "share_squared", "1 - beta2 is squared with g: only g is." },
    { NEVER_FORGETS, "never_forgets",
      "v only grows, as in Adagrad. A mean forgets: beta2 v + (1 - beta2) g g." },
    { L2, "l2",
      "decay w went into the gradient, and so into m and v. In AdamW it is apart: "
      "lr decay w is subtracted from the weight." },
    { NO_CORRECTION, "no_correction",
      "m and v are used as they are. They begin at 0, so the first means are too small: divide by "
      "1 - beta^t." },
    { ONLY_M, "v_uncorrected", "v is used without its correction: divide it by 1 - beta2^t." },
    { ONLY_V, "m_uncorrected", "m is used without its correction: divide it by 1 - beta1^t." },
    { KEPT_CORRECTED, "kept_corrected",
      "m^ and v^ are kept in m and v. They are for this step alone; what goes on is without the "
      "correction." },
    { ONE_BETA, "one_beta", "both corrections use beta1; that of v uses beta2." },
    { CORRECTION_SWAPPED, "corrections_swapped",
      "the corrections are exchanged: m is divided by 1 - beta1^t, v by 1 - beta2^t." },
    { TIMES_T, "times_t", "beta t is a product; beta^t is a power: powf(beta, t)." },
    { NEXT_T, "step_from_two",
      "the correction is that of the next step: t counts from 1 and is given as it is needed." },
    { LAST_T, "step_from_zero",
      "the correction is that of the step before: t counts from 1 already. With t - 1, the first "
      "step would divide by 0." },
    { NO_POWER, "no_power", "the correction is 1 - beta in each step; it is 1 - beta^t." },
    { CORRECTION_MULTIPLIED, "correction_multiplied",
      "m and v are multiplied by 1 - beta^t, and so get still smaller: divide." },
    { OLD_MOMENTS, "old_moments",
      "the step uses m and v of the step before: change them first, then the weight." },
    { GRADIENT, "gradient_for_mean",
      "g is divided by the root, and m^ not used: this is RMSprop. Adam moves by the mean." },
    { NO_DIVISION, "no_division", "m^ is not divided by its size, sqrt(v^) + eps." },
    { MULTIPLIED, "multiplied", "m^ is multiplied by sqrt(v^) + eps: divide." },
    { NO_ROOT, "no_root", "the mean is divided by the mean of squares; it is the root of it." },
    { ROOT_TOO_EARLY, "root_too_early",
      "the root of v is corrected. First v is divided by 1 - beta2^t, then comes the root." },
    { EPS_INSIDE, "eps_inside",
      "eps stands under the root. It is added to the root, which matters where gradients are "
      "tiny." },
    { NO_EPS, "no_eps",
      "eps is not added: a weight that never had a gradient has 0 / 0, which is no number." },
    { EPS_UNCORRECTED, "eps_uncorrected",
      "eps is added to the root of v, before the correction: it should be added to that of v^." },
    { NO_DECAY, "no_decay", "this is Adam: the weight decay is missing." },
    { DECAY_NO_LR, "decay_without_lr", "the decay is not multiplied by lr." },
    { DECAY_NO_W, "decay_without_w", "every weight loses lr decay; it is lr decay w." },
    { DECAY_DIVIDED, "decay_divided",
      "decay w is divided by sqrt(v^) + eps as well. It stands apart, behind the quotient." },
    { DECAY_AFTER, "decay_after",
      "the decay is that of the weight behind the step. It is that of the weight before." },
    { DECAY_UP, "decay_up", "the decay pushes weights away from 0: it is subtracted, too." },
    { UPHILL, "uphill", "the weights go along the gradient; subtract the step." },
    { NO_LR, "no_lr", "the step is not multiplied by lr." },
    { ASSIGNED, "weight_replaced", "the weight became its step: subtract that from the weight." },
    { M_NOT_KEPT, "m_not_kept", "the new m is not written to the array: the next step needs it." },
    { V_NOT_KEPT, "v_not_kept", "the new v is not written to the array: the next step needs it." },
    { NO_MOVE, "no_move", "m and v are right, and no weight has moved." },
};

// The new m and v.
static void moments(double *m, double *v, double g, const adamw *o, int e)
{
    double b1 = (double)(e == BETAS_SWAPPED ? o->beta2 : o->beta1), old = *m;
    double b2 = (double)(e == BETAS_SWAPPED ? o->beta1 : o->beta2);
    double share1 = e == M_WHOLE ? 1 : 1 - b1, share2 = e == V_WHOLE ? 1 : 1 - b2, square = g * g;
    if (e == SHARES_SWAPPED) {
        b1 = 1 - b1;
        b2 = 1 - b2;
        share1 = 1 - b1;
        share2 = 1 - b2;
    }
    *m = e == M_FORGETS ? g : b1 * old + share1 * g;
    if (e == NO_SQUARE) square = g;
    if (e == SQUARE_OF_M) square = *m * *m;
    if (e == SHARE_SQUARED) square = share2 * g * g;
    *v = e == NEVER_FORGETS ? *v + square : b2 * *v + share2 * square;
}

static double correction(double beta, double t, int e)
{
    if (e == TIMES_T) return 1 - beta * t;
    if (e == NO_POWER) return 1 - beta;
    double c = 1 - pow(beta, t + (e == NEXT_T) - (e == LAST_T));
    return e == CORRECTION_MULTIPLIED ? 1 / c : c;
}

// m^ / (sqrt(v^) + eps); m and v become m^ and v^.
static double quotient(double *m, double *v, double g, int t, const adamw *o, int e)
{
    double c1 = correction((double)o->beta1, t, e), c2 = correction((double)o->beta2, t, e);
    double eps = e == NO_EPS ? 0 : (double)o->eps, other = c1;
    if (e == CORRECTION_SWAPPED) c1 = c2;
    if (e == CORRECTION_SWAPPED || e == ONE_BETA) c2 = other;
    if (e == NO_CORRECTION || e == ONLY_V) c1 = 1;
    if (e == NO_CORRECTION || e == ONLY_M) c2 = 1;
    *m /= c1;
    *v /= c2;
    double size = sqrt(*v) + eps;
    if (e == NO_ROOT) size = *v + eps;
    if (e == ROOT_TOO_EARLY) size = sqrt(*v * c2) / c2 + eps;
    if (e == EPS_INSIDE) size = sqrt(*v + eps);
    if (e == EPS_UNCORRECTED) size = (sqrt(*v * c2) + eps) / sqrt(c2);
    if (e == NO_DIVISION) size = 1;
    if (e == MULTIPLIED) size = 1 / size;
    return (e == GRADIENT ? g : *m) / size;
}

static double moved(double w, double q, double g, double decay, double lr, int e)
{
    double pull = e == DECAY_NO_W ? decay : decay * w, step_lr = lr, sign = 1;
    if (e == NO_DECAY || e == L2 || e == NO_MOVE) pull = 0;
    if (e == DECAY_NO_LR) pull /= lr;
    if (e == DECAY_AFTER) pull = decay * (w - lr * q);
    if (e == DECAY_UP) pull = -pull;
    if (e == DECAY_DIVIDED) pull *= g;
    if (e == UPHILL) sign = -1;
    if (e == NO_LR) step_lr = 1;
    if (e == NO_MOVE) return w;
    return (e == ASSIGNED ? 0 : w) - step_lr * (sign * q + pull);
}

// All m, then all v, then all w.
static void compute(const float *start, int first, int steps, const adamw *o, int e, float *out)
{
    for (int i = 0; i < N; i++) {
        double w = (double)weights[i], m = (double)start[i], v = (double)start[N + i];
        for (int s = 0; s < steps; s++) {
            double g = (double)gradients[s][i], decay = (double)o->decay, old_m = m, old_v = v;
            if (e == L2) g += decay * w;
            moments(&m, &v, g, o, e);
            double m1 = e == OLD_MOMENTS ? old_m : m, v1 = e == OLD_MOMENTS ? old_v : v;
            double q = quotient(&m1, &v1, g, first + s, o, e);
            w = moved(w, q, 1 / (sqrt(v1) + (double)o->eps), decay, (double)o->lr, e);
            if (e == KEPT_CORRECTED) {
                m = m1;
                v = v1;
            }
            if (e == M_NOT_KEPT) m = old_m;
            if (e == V_NOT_KEPT) v = old_v;
        }
        out[i] = (float)m;
        out[N + i] = (float)v;
        out[2 * N + i] = (float)w;
    }
}

static int same(const float *want, int from, int n)
{
    for (int i = from; i < from + n; i++)
        if (!judge_close(judge.got[i], (double)want[i], 1e-5)) return 0;
    return 1;
}

// No known mistake: which of the formulas is it? The last weight has no gradient, and so only decays.
static void narrow(const float *want)
{
    int m = same(want, 0, N), v = same(want, N, N), last = same(want, 3 * N - 1, 1);
    if (judge.mistake || same(want, 0, ALL)) return;
    judge.mistake = "both_means_wrong";
    judge.sentence = "m and v are both wrong, so look at what they have in common: the index, the "
                     "gradient, and that only the means without correction are kept.";
    if (!m && v) {
        judge.mistake = "only_m_wrong";
        judge.sentence = "v is right and m is not: look at m = beta1 m + (1 - beta1) g.";
    } else if (m && !v) {
        judge.mistake = "only_v_wrong";
        judge.sentence = "m is right and v is not: look at v = beta2 v + (1 - beta2) g g.";
    } else if (m && v && last) {
        judge.mistake = "only_quotient_wrong";
        judge.sentence = "m, v and the decay are right (the last weight, without a gradient, shows "
                         "it): look at lr m^ / (sqrt(v^) + eps), and at the corrections in it.";
    } else if (m && v) {
        judge.mistake = "decay_wrong";
        judge.sentence = "m and v are right. The last weight has no gradient: it should only lose "
                         "lr decay w, and it does not.";
    }
}

static void train(const char *what, const float *start, int first, int steps, adamw o)
{
    float got[ALL], out[ALL], *w = judge_copy(weights, sizeof weights);
    float *m = judge_copy(start, N * sizeof *m), *v = judge_copy(start + N, N * sizeof *v);
    const float *kept[] = { m, v, w };
    judge_case(what);
    for (int s = 0; s < steps; s++)
        step(w, gradients[s], m, v, N, first + s, &o);
    for (int i = 0; i < 3; i++)
        memcpy(got + i * N, kept[i], N * sizeof *w);
    free(w);
    free(m);
    free(v);
    judge_got(got, ALL);
    judge_part("m", 1, N);
    judge_part("v", 1, N);
    judge_part("w", 1, N);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(start, first, steps, &o, mistakes[k].e, out);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, out, ALL);
    }
    compute(start, first, steps, &o, RIGHT, out);
    narrow(out);
    judge_want(out, ALL, 1e-5);
}

int main(void)
{
    judge_begin();
    train("step 3 of a training, with a large eps", begun, 3, 1,
          (adamw){ 0.2f, 0.3f, 0.25f, 0.02f, 0.1f });
    train("a first step", zeros, 1, 1, (adamw){ 0.1f, 0.9f, 0.999f, 1e-8f, 0.1f });
    train("four steps", zeros, 1, 4, (adamw){ 0.1f, 0.9f, 0.95f, 1e-8f, 0.1f });
    train("four steps with a large eps", zeros, 1, 4, (adamw){ 0.1f, 0.8f, 0.9f, 0.01f, 0.5f });
    return judge_end();
}
