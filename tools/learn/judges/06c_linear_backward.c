#include "../judge.h"

static void compare(const char *name, const float *got, int rows, int columns, const int *size)
{
    static char what[60];
    snprintf(what, sizeof what, "%s for B %d, n %d, m %d", name, size[0], size[1], size[2]);
    judge_case(what);
    judge_got_array(name, got, rows, columns);
    judge_compare(1e-5);
}

static void layer(const int *size)
{
    const int B = size[0], n = size[1], m = size[2];
    float *x = judge_room(B * n, 0), *W = judge_room(m * n, 0), *dy = judge_room(B * m, 0);
    float *dx = judge_room(B * n, 1000), *dW = judge_room(m * n, 1000), *db = judge_room(m, 1000);
    for (int k = 0; k < B * n; k++) x[k] = (float)((k * 29 + 3) % 17) / 4 - 2;
    for (int k = 0; k < m * n; k++) W[k] = (float)((k * 23 + 5) % 19) / 8 - 1;
    for (int k = 0; k < B * m; k++) dy[k] = (float)((k * 31 + 9) % 13) / 4 - 1.125f;
    linear_backward(x, W, dy, dx, dW, db, B, n, m);
    compare("dx", dx, B, n, size);
    compare("dW", dW, m, n, size);
    compare("dbias", db, 1, m, size);
    float *all[] = { x, W, dy, dx, dW, db };
}

static void judge_cases(void)
{
    layer((const int[]){ 3, 2, 4 });
    layer((const int[]){ 2, 5, 3 });
    layer((const int[]){ 4, 3, 3 });
    layer((const int[]){ 1, 1, 1 });
}
