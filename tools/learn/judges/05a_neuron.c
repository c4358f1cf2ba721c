#include "../judge.h"

static void rows(const char *what, const float *x, const float *w, float bias, int B, int n)
{
    float *y = judge_room(B, 1000);
    float *own_x = judge_copy(x, sizeof *x * (size_t)(B * n));
    float *own_w = judge_copy(w, sizeof *w * (size_t)n);
    judge_case(what);
    neuron(own_x, own_w, bias, y, B, n);
    judge_got(y, B);
    judge_part("y", 1, B);
    for (int b = 0; b < B; b++)
        judge_clue(y[b] != y[b], "overflow");
    judge_compare(1e-6);
}

static void judge_cases(void)
{
    rows("4 rows of 3 inputs",
         (const float[]){ 1, 2, 0.5f, -1, 0.5f, 2, 0.25f, -2, 1, 0.5f, 0.75f, -0.5f },
         (const float[]){ 0.5f, -1, 0.75f }, 0.25f, 4, 3);
    rows("3 rows of 2 inputs", (const float[]){ 1, 2, -1, 0.5f, 0, -2 },
         (const float[]){ 0.5f, -1 }, 0.25f, 3, 2);
    rows("one row of 4", (const float[]){ 1, -1, 2, 0.5f }, (const float[]){ 0.3f, 0.1f, -0.2f, 1 },
         -1, 1, 4);
    rows("sums of 1000 and -1000", (const float[]){ 1000, -1000 }, (const float[]){ 1 }, 0.5f, 2,
         1);
    rows("inputs of 0", (const float[]){ 0, 0, 0 }, (const float[]){ 5, 6, 7 }, 2, 1, 3);
}
