float random_unit(void);
#include "../judge.h"

enum { N = 12 };

static unsigned state;
static int asked;

float random_unit(void)
{
    asked++;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 16777216.0f;
}

static void compare(const char *name, const float *got)
{
    judge_got_array(name, got, 1, N);
    judge_compare(1e-6);
}

static void judge_forward(const float *y, const float *mask, int times)
{
    float all[N + 1] = { (float)times };
    memcpy(all + 1, y, N * sizeof *y);
    judge_got(all, N + 1);
    judge_compare_later(1e-6);
    judge_got_array("y", y, 1, N);
    judge_compare_few(1e-6);
    judge_holds(times != 2 * N, "drawn_twice");
    judge_holds(times == N, "numbers_drawn");
    judge_case("mask, where y is right");
    compare("mask", mask);
}

static void judge_backward(const float *mask)
{
    float *dy = judge_room(N, 0), *dx = judge_room(N, 99);
    float *own = judge_copy(mask, N * sizeof *mask);
    for (int i = 0; i < N; i++) dy[i] = (float)(2 * i - 5);
    asked = 0;
    judge_case("the gradient");
    dropout_backward(dy, own, dx, N);
    judge_holds(asked == 0, "drawn_again");
    compare("dx", dx);
}

static void values(const char *what, float p)
{
    static const float x[N] = { 1, -2, 3, 4, -5, 0, 7, 8, -9, 10, 11, 12 };
    float *mask = judge_room(N, 99), *y = judge_room(N, 99);
    judge_case(what);
    state = 7;
    asked = 0;
    dropout(x, y, mask, N, p);
    judge_forward(y, mask, asked);
    judge_backward(mask);
}

static void judge_cases(void)
{
    values("12 values, p = 0.3", 0.3f);
    values("12 values, p = 0.6", 0.6f);
    values("12 values, p = 0", 0);
}
