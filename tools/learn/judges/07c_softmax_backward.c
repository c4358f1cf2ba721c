#include "../judge.h"
#include EXERCISE

enum { B = 3, N = 4 };

static const float scores[B * N] = { 1, 2, 0.5f, -1, 0, 0, 3, 1, -2, 0.25f, 1, 1.5f };
static const int label[B] = { 1, 0, 3 };

static void softmax(const double *x, double *y)
{
    for (int b = 0; b < B; b++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += exp(x[b * N + i]);
        for (int i = 0; i < N; i++)
            y[b * N + i] = exp(x[b * N + i]) / sum;
    }
}

static double cross_entropy(const double *y)
{
    double sum = 0;
    for (int b = 0; b < B; b++)
        sum -= log(y[b * N + label[b]]);
    return sum / B;
}

// What a derivative is taken of: the loss for y, or for x the sum of weight y.
static const float *weight;

static double weighted(const double *x)
{
    double y[B * N], sum = 0;
    softmax(x, y);
    for (int k = 0; k < B * N; k++)
        sum += (double)weight[k] * y[k];
    return sum;
}

static double loss_of_scores(const double *x)
{
    double y[B * N];
    softmax(x, y);
    return cross_entropy(y);
}

static void differences(double (*f)(const double *), const double *at, float *out)
{
    double x[B * N];
    memcpy(x, at, sizeof x);
    for (int k = 0; k < B * N; k++) {
        const double h = 1e-5 * fmax(0.01, fabs(at[k]));
        x[k] = at[k] + h;
        double high = f(x);
        x[k] = at[k] - h;
        out[k] = (float)((high - f(x)) / (2 * h));
        x[k] = at[k];
    }
}

static double x0[B * N], y0[B * N];
static float y1[B * N];

static void loss_backward(void)
{
    float *dy = judge_room(B * N, 1000), want[B * N], out[B * N];
    judge_case("cross_entropy_backward of 3 rows of 4");
    cross_entropy_backward(y1, label, dy, B, N);
    judge_got(dy, B * N);
    differences(cross_entropy, y0, want);
    for (int k = 0; k < B * N; k++)
        out[k] = -want[k];
    judge_mistake("sign", "the sign is turned: the loss falls when the right probability grows.",
                  out, B * N);
    for (int k = 0; k < B * N; k++)
        out[k] = want[k] * B;
    judge_mistake("no_mean", "it is B times too large: the loss is a mean, so each row counts 1/B.",
                  out, B * N);
    for (int k = 0; k < B * N; k++)
        out[k] = -1 / y1[k] / B;
    judge_mistake("every_class",
                  "each class has a derivative; only the probability of the right one is in the "
                  "loss.",
                  out, B * N);
    for (int k = 0; k < B * N; k++)
        out[k] = (y1[k] - (label[k / N] == k % N ? 1.0f : 0.0f)) / B;
    judge_mistake("already_combined",
                  "this is (y - 1) / B, the gradient for the scores. Here it is that for the "
                  "probabilities; the softmax comes in the other function, and would count twice.",
                  out, B * N);
    for (int k = 0; k < B * N; k++)
        out[k] = want[k] != 0 ? want[k] : 1000;
    judge_mistake("not_zeroed",
                  "the derivatives of the other classes are not set: they are 0, and dy holds what "
                  "was there before.",
                  out, B * N);
    for (int k = 0; k < B * N; k++)
        out[k] = label[k / N] == k % N ? -(float)log(y0[k]) / B : 0.0f;
    judge_mistake("not_derived", "this is -log(y), and not its derivative, -1/y.", out, B * N);
    judge_want(want, B * N, 1e-5);
    free(dy);
}

static void through(const char *what, const float *dy)
{
    float *dx = judge_room(B * N, 1000), want[B * N], out[B * N];
    double all = 0;
    judge_case(what);
    softmax_backward(y1, dy, dx, B, N);
    judge_got(dx, B * N);
    for (int k = 0; k < B * N; k++)
        all += (double)(dy[k] * y1[k]);
    for (int k = 0; k < B * N; k++)
        out[k] = dy[k] * y1[k] * (1 - y1[k]);
    judge_mistake("diagonal",
                  "each score changes only its own probability here, as with a sigmoid. It takes "
                  "from the others of its row, too: by -y[i] y[j].",
                  out, B * N);
    for (int k = 0; k < B * N; k++)
        out[k] = dy[k] * y1[k];
    judge_mistake("no_sum", "the sum over the row, of dy[j] y[j], is not subtracted.", out, B * N);
    for (int k = 0; k < B * N; k++)
        out[k] = y1[k] * (dy[k] - (float)all);
    judge_mistake("sum_of_all", "the sum is that of all rows. It must begin anew for each row.",
                  out, B * N);
    for (int k = 0; k < B * N; k++) {
        double sum = 0, unweighted = 0;
        for (int j = 0; j < N; j++) {
            sum += (double)(dy[k / N * N + j] * y1[k / N * N + j]);
            unweighted += (double)dy[k / N * N + j];
        }
        want[k] = (float)((double)y1[k] * ((double)dy[k] - unweighted));
        out[k] = (float)((double)dy[k] - sum);
    }
    judge_mistake("unweighted", "the sum is that of dy[j]; it is that of dy[j] y[j].", want, B * N);
    judge_mistake("no_y", "y[i] is missing in front: a class that is improbable moves little.", out,
                  B * N);
    weight = dy;
    differences(weighted, x0, want);
    judge_want(want, B * N, 1e-5);
    free(dx);
}

static void both(void)
{
    float dy[B * N], dx[B * N], want[B * N];
    judge_case("one behind the other: the gradient of 07b");
    cross_entropy_backward(y1, label, dy, B, N);
    softmax_backward(y1, dy, dx, B, N);
    judge_got(dx, B * N);
    differences(loss_of_scores, x0, want);
    judge_want(want, B * N, 1e-5);
}

int main(void)
{
    static const float dy[B * N] = { 1, -2, 0.5f, 3, 0, 0, 1, 0, -1, 2, 4, -3 };
    static const float equal[B * N] = { 2, 2, 2, 2, -1, -1, -1, -1, 0, 0, 0, 0 };
    judge_begin();
    for (int k = 0; k < B * N; k++)
        x0[k] = (double)scores[k];
    softmax(x0, y0);
    for (int k = 0; k < B * N; k++)
        y1[k] = (float)y0[k];
    loss_backward();
    through("softmax_backward of 3 rows of 4", dy);
    through("softmax_backward of equal dy", equal);
    both();
    return judge_end();
}
