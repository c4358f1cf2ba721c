#include "../judge.h"

static void layer(const char *what, int B, int n, int m)
{
    float *x = judge_room(B * n, 0), *W = judge_room(m * n, 0), *bias = judge_room(m, 0);
    float *y = judge_room(B * m, 1000);
    for (int k = 0; k < B * n; k++) x[k] = (float)((k * 29 + 3) % 17) / 4 - 2;
    for (int k = 0; k < m * n; k++) W[k] = (float)((k * 23 + 5) % 19) / 8 - 1;
    for (int k = 0; k < m; k++) bias[k] = (float)((k * 7 + 3) % 5) - 1.5f;
    judge_case(what);
    linear(x, W, bias, y, B, n, m);
    judge_got_array("y", y, B, m);
    judge_compare(1e-5);
}

static void judge_cases(void)
{
    layer("2 rows of 3 inputs, 4 outputs", 2, 3, 4);
    layer("3 rows of 2 inputs, 2 outputs", 3, 2, 2);
    layer("one row of 5 inputs, one output", 1, 5, 1);
    layer("4 rows of 1 input, 3 outputs", 4, 1, 3);
}
