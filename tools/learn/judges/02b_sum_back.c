#include "../judge.h"

static int product(const int *shape, int n)
{
    int p = 1;
    for (int d = 0; d < n; d++) p *= shape[d];
    return p;
}

static void back(const char *what, const int *big, const int *small, int n)
{
    int total = product(big, n), count = product(small, n);
    float *dy = judge_room(total, 0), *dx = judge_room(count, 1000);
    for (int k = 0; k < total; k++) dy[k] = (float)((k * 37 + 11) % 101) / 4 - 12.125f;
    judge_case(what);
    sum_back(dy, big, dx, small, n);
    judge_got_array("dx", dx, 1, count);
    judge_compare(1e-5);
}

static void judge_cases(void)
{
    const int matrix[] = { 3, 4 }, images[] = { 4, 3, 5 }, batch[] = { 2, 3, 4, 5 };
    back("(2,1,4,1) from (2,3,4,5)", batch, (const int[]){ 2, 1, 4, 1 }, 4);
    back("(4,1,5) from (4,3,5)", images, (const int[]){ 4, 1, 5 }, 3);
    back("(1,4) from (3,4)", matrix, (const int[]){ 1, 4 }, 2);
    back("(3,1) from (3,4)", matrix, (const int[]){ 3, 1 }, 2);
    back("(1,3,1) from (4,3,5)", images, (const int[]){ 1, 3, 1 }, 3);
    back("(1,1,1) from (4,3,5)", images, (const int[]){ 1, 1, 1 }, 3);
    back("(4,3,5) from (4,3,5)", images, (const int[]){ 4, 3, 5 }, 3);
    back("(1,3,4,1) from (2,3,4,5)", batch, (const int[]){ 1, 3, 4, 1 }, 4);
}
