#include "../judge.h"

enum { B = 3, N = 4 };

static const float scores[B * N] = { 1, 2, 0.5f, -1, 0, 0, 3, 1, -2, 0.25f, 1, 1.5f };
static const int label[B] = { 1, 0, 3 };
static float p[B * N];                  // the probabilities

static void find_probabilities(void)
{
    for (int k = 0; k < B * N; k++) {
        double sum = 0;
        for (int i = 0; i < N; i++) sum += exp((double)scores[k / N * N + i]);
        p[k] = (float)(exp((double)scores[k]) / sum);
    }
}

static void compare(const char *name, float *got)
{
    judge_got_array(name, got, B, N);
    judge_compare(1e-5);
}

static void loss_backward(void)
{
    float *dy = judge_room(B * N, 1000), *y = judge_copy(p, sizeof p);
    int *labels = judge_copy(label, sizeof label);
    judge_case("cross_entropy_backward of 3 rows of 4");
    cross_entropy_backward(y, labels, dy, B, N);
    compare("dy", dy);
}

static void through(const char *what, const float *dy)
{
    float *dx = judge_room(B * N, 1000), *y = judge_copy(p, sizeof p);
    float *own_dy = judge_copy(dy, sizeof p);
    judge_case(what);
    softmax_backward(y, own_dy, dx, B, N);
    compare("dx", dx);
}

static void judge_cases(void)
{
    static const float dy[B * N] = { 1, -2, 0.5f, 3, 0, 0, 1, 0, -1, 2, 4, -3 };
    static const float equal[B * N] = { 2, 2, 2, 2, -1, -1, -1, -1, 0, 0, 0, 0 };
    float between[B * N], dx[B * N];
    find_probabilities();
    loss_backward();
    through("softmax_backward of 3 rows of 4", dy);
    through("softmax_backward of equal dy", equal);
    judge_case("one behind the other: the gradient of 07b");
    cross_entropy_backward(p, label, between, B, N);
    softmax_backward(p, between, dx, B, N);
    compare("dx", dx);
}
