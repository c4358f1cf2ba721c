#include "../judge.h"

enum { M = 3, N = 4 };

static const float x[M * N] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
static const float b[N] = { 100, 250, 300, 470 };
static const float dy[M * N] = { 1, 2, 4, 8, 16, 32, 64, 128, 0.5f, 0.25f, 0.125f, 3 };

static void forward(void)
{
    float *own_x = judge_copy(x, sizeof x), *own_b = judge_copy(b, sizeof b);
    float *y = judge_room(M * N, 1000);
    judge_case("add_row of x (3,4) and b (4)");
    add_row(own_x, own_b, y, M, N);
    judge_got_array("y", y, M, N);
    judge_compare(0);
}

static void backward(void)
{
    float *own_dy = judge_copy(dy, sizeof dy), *db = judge_room(N, 1000);
    judge_case("add_row_gradient of dy (3,4)");
    add_row_gradient(own_dy, db, M, N);
    judge_got_array("db", db, 1, N);
    judge_compare(1e-6);
}

static void judge_cases(void)
{
    forward();
    backward();
}
