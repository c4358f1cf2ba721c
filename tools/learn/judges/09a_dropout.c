#include "../judge.h"

static unsigned state;
static int asked;
float random_unit(void);

float random_unit(void)
{
    asked++;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 16777216.0f;
}

#include EXERCISE

enum { N = 12 };

enum { RIGHT, NO_SCALE, KEEPS_DROPPED, SCALE_BY_P, SCALE_DOWN };

static void compute(const float *x, float p, int e, float *y)
{
    state = 7;
    for (int i = 0; i < N; i++) {
        int drop = random_unit() < p;
        if (e == KEEPS_DROPPED) drop = !drop;
        float scale = 1 / (1 - p);
        if (e == NO_SCALE) scale = 1;
        if (e == SCALE_BY_P) scale = 1 / p;
        if (e == SCALE_DOWN) scale = 1 - p;
        y[i] = drop ? 0 : x[i] * scale;
    }
}

static void values(const char *what, float p)
{
    static const float x[N] = { 1, -2, 3, 4, -5, 6, 7, 8, -9, 10, 11, 12 };

    static const struct {
        int e;
        const char *name, *sentence;
    } mistakes[] = {
        { NO_SCALE, "no_scale",
          "what stays is not multiplied by 1 / (1 - p): the sums of the layer "
          "become smaller by as much as is dropped." },
        { KEEPS_DROPPED, "kept_and_dropped",
          "what should stay is dropped, and the other way round: "
          "drop where the number is below p." },
        { SCALE_BY_P, "one_over_p", "what stays is multiplied by 1 / p. A share of 1 - p stays." },
        { SCALE_DOWN, "scaled_down",
          "what stays is made smaller; it has to make up for what is gone." },
    };

    float y[N], mask[N], want[N], wrong[N], dx[N];
    for (int i = 0; i < N; i++)
        y[i] = mask[i] = 99;
    judge_case(what);
    state = 7;
    asked = 0;
    dropout(x, y, mask, N, p);
    int times = asked;
    judge_got(y, N);
    compute(x, p, RIGHT, want);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes && p > 0; k++) {
        compute(x, p, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, N);
    }
    judge_want(want, N, 1e-6);
    judge_holds(times == N, "numbers_drawn",
                "ask random_unit once for each value, also for those that "
                "stay.");
    for (int i = 0; i < N; i++) {
        judge_holds(judge_close((double)(x[i] * mask[i]), (double)want[i], 1e-6), "mask",
                    "y is right, and mask does not hold what the values were multiplied by.");
        wrong[i] = mask[i] > 0 ? 2 * x[i] : 0;
    }
    asked = 0;
    float dy[N];
    for (int i = 0; i < N; i++) {
        dy[i] = 2 * x[i];
        dx[i] = 99;
        want[i] = dy[i] * mask[i];
    }
    dropout_backward(dy, mask, dx, N);
    judge_case("the gradient");
    judge_got(dx, N);
    judge_holds(asked == 0, "drawn_again",
                "the backward pass draws new random numbers. It must use the "
                "mask: the loss came from that one.");
    judge_mistake("unscaled_gradient",
                  "the gradient of what stayed is passed on without the factor "
                  "1 / (1 - p).",
                  wrong, N);
    judge_mistake("whole_gradient",
                  "dropped values get a gradient, too. They had no part in the loss.", dy, N);
    judge_want(want, N, 1e-6);
}

int main(void)
{
    judge_begin();
    values("12 values, p = 0.25", 0.25f);
    values("12 values, p = 0.6", 0.6f);
    values("12 values, p = 0", 0);
    return judge_end();
}
