#include "../judge.h"
#include EXERCISE

enum { B = 4, N = 3 };

static const float x[B * N] = { 1, -0.5f, 2, 0.25f, 1.5f, -1, -2, 1, 0.5f, 0.75f, -1, 1 };
static const float target[B] = { 1, 0, 0, 1 };
static const float first[N + 1] = { 0.4f, -0.3f, 0.8f, 0.2f }; // the weights, then the bias

static double output(const double *p, int b)
{
    double z = p[N];
    for (int i = 0; i < N; i++)
        z += (double)x[b * N + i] * p[i];
    return 1 / (1 + exp(-z));
}

static double loss(const double *p)
{
    double sum = 0;
    for (int b = 0; b < B; b++) {
        double error = output(p, b) - (double)target[b];
        sum += error * error / B;
    }
    return sum;
}

// A right step, by central differences of the loss: no formula of a derivative is in it.
static void step(const double *p, double lr, double *after)
{
    const double h = 1e-5;
    for (int k = 0; k <= N; k++) {
        double high[N + 1], low[N + 1];
        memcpy(high, p, sizeof high);
        memcpy(low, p, sizeof low);
        high[k] += h;
        low[k] -= h;
        after[k] = p[k] - lr * (loss(high) - loss(low)) / (2 * h);
    }
}

enum { NO_SLOPE, SLOPE_OF_Z, NO_MEAN, NO_TWO, UPHILL, IN_THE_LOOP, NO_BIAS, LAST_ROW };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_SLOPE, "no_slope",
      "y (1 - y), the slope of the sigmoid, is missing: w changes z, and z changes y." },
    { SLOPE_OF_Z, "slope_of_z",
      "the slope is computed as z (1 - z). It is y (1 - y), with y behind the sigmoid." },
    { NO_MEAN, "no_mean",
      "the step is B times too long: the loss is a mean, each row counts 1/B." },
    { NO_TWO, "no_two", "the step is half as long: the derivative of e^2 is 2 e." },
    { UPHILL, "uphill", "the weights go up the hill: a step is -lr times the derivative." },
    { IN_THE_LOOP, "in_the_loop",
      "the weights move after each row, and later rows see others than earlier ones. Add up the "
      "derivatives of the batch, then move once." },
    { NO_BIAS, "bias_stays", "the weights are right; the bias has not moved." },
    { LAST_ROW, "assigned", "only the last row counts: = overwrites what the others brought." },
};

static void with_error(int e, double lr, double *p)
{
    double d[N + 1] = { 0 };
    for (int b = 0; b < B; b++) {
        double y = output(p, b), z = log(y / (1 - y));
        double slope = e == SLOPE_OF_Z ? z * (1 - z) : y * (1 - y);
        double dz = (e == NO_TWO ? 1 : 2) * (y - (double)target[b]) * (e == NO_SLOPE ? 1 : slope);
        if (e != NO_MEAN) dz /= B;
        for (int k = 0; k <= N; k++) {
            double part = dz * (k < N ? (double)x[b * N + k] : 1);
            d[k] = (e == LAST_ROW || e == IN_THE_LOOP ? 0 : d[k]) + part;
            if (e == IN_THE_LOOP) p[k] -= lr * part;
        }
    }
    for (int k = 0; k <= N && e != IN_THE_LOOP; k++)
        if (k < N || e != NO_BIAS) p[k] -= (e == UPHILL ? -1 : 1) * lr * d[k];
}

static void one_step(const char *what, float lr)
{
    float got[N + 1], out[N + 1];
    double start[N + 1], p[N + 1];
    for (int k = 0; k <= N; k++)
        start[k] = (double)first[k];
    judge_case(what);
    float *w = judge_copy(first, N * sizeof *w), *bias = judge_copy(first + N, sizeof *bias);
    float before = learn(x, target, w, bias, B, N, lr);
    memcpy(got, w, N * sizeof *w);
    got[N] = *bias;
    free(w);
    free(bias);
    judge_got(got, N + 1);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        memcpy(p, start, sizeof p);
        with_error(mistakes[i].e, (double)lr, p);
        for (int k = 0; k <= N; k++)
            out[k] = (float)p[k];
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, N + 1);
    }
    step(start, (double)lr, p);
    for (int k = 0; k <= N; k++)
        out[k] = (float)p[k];
    judge_want(out, N + 1, 1e-6);
    judge_got_number((double)before);
    judge_mistake_number("loss_after", "this is the loss after the step; return that before it.",
                         loss(p));
    judge_mistake_number("sum_of_losses", "this is the sum over the batch; the loss is the mean.",
                         loss(start) * B);
    judge_want_number(loss(start), 1e-6);
}

static void many_steps(void)
{
    float w[2] = { 0, 0 }, bias = 0;
    const float points[8] = { 0, 0, 0, 1, 1, 0, 1, 1 }, or_of_both[4] = { 0, 1, 1, 1 };
    judge_case("500 steps with lr 5: the neuron learns x0 or x1");
    float last = 1;
    for (int s = 0; s < 500; s++)
        last = learn(points, or_of_both, w, &bias, 4, 2, 5);
    judge_holds(last < 0.01f, NULL, "the loss is still above 0.01.");
}

int main(void)
{
    judge_begin();
    one_step("a step with lr 1: the weights, then the bias", 1);
    one_step("a step with lr 4: the weights, then the bias", 4);
    many_steps();
    return judge_end();
}
