#include "../judge.h"

static void batch(const char *what, const float *x, const int *label, int B, int n)
{
    float *dx = judge_room(B * n, 1000);
    float *own_x = judge_copy(x, sizeof *x * (size_t)(B * n)), both[17];
    int *own_label = judge_copy(label, sizeof *label * (size_t)B);
    judge_case(what);
    float y = both[0] = cross_entropy(own_x, own_label, B, n, dx);
    memcpy(both + 1, dx, sizeof *dx * (size_t)(B * n));
    for (int k = 0; k <= B * n; k++)
        judge_holds(both[k] - both[k] == 0, "overflow");
    judge_got(both, 1 + B * n);
    judge_compare_later(1e-4);
    judge_got_number((double)y);
    judge_part("the loss", 1, 1);
    judge_compare(1e-5);
    judge_got_array("dx", dx, B, n);
    judge_compare(1e-4); // large scores leave a float few digits
}

static void judge_cases(void)
{
    batch("3 rows of 4 scores", (const float[]){ 1, 2, 0.5f, -1, 0, 0, 3, 1, -2, 0.25f, 1, 1.5f },
          (const int[]){ 1, 2, 0 }, 3, 4);
    batch("large scores", (const float[]){ 1000, 1002, 999, 1001 }, (const int[]){ 1, 0 }, 2, 2);
    batch("large scores at the end and at the beginning",
          (const float[]){ 0, 5, 1000, 1000, 3, 2 }, (const int[]){ 2, 1 }, 2, 3);
    batch("a net that is sure and wrong", (const float[]){ 0, 200, 0, 150 }, (const int[]){ 0, 0 },
          2, 2);
    batch("one row", (const float[]){ 0.5f, -0.5f, 2 }, (const int[]){ 2 }, 1, 3);
}
