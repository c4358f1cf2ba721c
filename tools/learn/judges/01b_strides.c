#include "../judge.h"

static void row(const char *what, const int *shape, int n)
{
    float got[4];
    view v = row_major(shape, n);
    judge_case(what);
    judge_holds(v.n == n, "no_n");
    judge_holds(memcmp(v.shape, shape, (size_t)n * sizeof *shape) == 0, "no_shape");
    for (int d = 0; d < n; d++) got[d] = (float)v.stride[d];
    judge_got_array("stride", got, 1, n);
    judge_compare(0);
}

static void turn(const char *what, view v, int a, int b)
{
    float got[8];
    view t = transpose(v, a, b);
    judge_case(what);
    judge_holds(t.n == v.n, "n_changed");
    for (int d = 0; d < v.n; d++) {
        got[d] = (float)t.shape[d];
        got[v.n + d] = (float)t.stride[d];
    }
    judge_got(got, 2 * v.n);
    judge_part("shape", 1, v.n);
    judge_part("stride", 1, v.n);
    judge_compare(0);
}

static void find_places(void)
{
    static const struct {
        const char *name;
        view v;
        int index[4];
    } at[] = {
        { "the place of (1,2) in (2,3)", { 2, { 2, 3 }, { 3, 1 } }, { 1, 2 } },
        { "the place of (1,1) with strides (1,3)", { 2, { 3, 2 }, { 1, 3 } }, { 1, 1 } },
        { "the place of (2,1) with strides (1,3)", { 2, { 3, 2 }, { 1, 3 } }, { 2, 1 } },
        { "the place of (3,4,2) with strides (1,7,35)",
          { 3, { 7, 5, 3 }, { 1, 7, 35 } }, { 3, 4, 2 } },
        { "the place of (2) with stride 5", { 1, { 4 }, { 5 } }, { 2 } },
        { "the place of (1,2,0,3) with strides (4,0,2,50)",
          { 4, { 2, 9, 2, 5 }, { 4, 0, 2, 50 } }, { 1, 2, 0, 3 } },
    };
    enum { COUNT = sizeof at / sizeof *at };
    float got[COUNT];
    judge_case("place");
    for (int i = 0; i < COUNT; i++) {
        int *index = judge_copy(at[i].index, sizeof(int) * (size_t)at[i].v.n);
        got[i] = (float)place(&at[i].v, index);
    }
    judge_got(got, COUNT);
    for (int i = 0; i < COUNT; i++) judge_part(at[i].name, 1, 1);
    judge_compare(0);
}

static void judge_cases(void)
{
    const view images = { 4, { 4, 3, 5, 7 }, { 105, 35, 7, 1 } };
    const view matrix = { 2, { 2, 3 }, { 3, 1 } };
    row("row_major of (4,3,5,7)", images.shape, 4);
    row("row_major of (2,3)", matrix.shape, 2);
    row("row_major of (6)", (const int[]){ 6 }, 1);
    turn("dimensions 0 and 2 of (4,3,5,7) exchanged", images, 0, 2);
    turn("dimensions 1 and 3 of (4,3,5,7) exchanged", images, 1, 3);
    turn("dimensions 3 and 0 of (4,3,5,7) exchanged", images, 3, 0);
    turn("transpose of (2,3)", matrix, 0, 1);
    turn("dimension 2 of (4,3,5,7) with itself", images, 2, 2);
    turn("a transposed (2,3), back", (view){ 2, { 3, 2 }, { 1, 3 } }, 0, 1);
    find_places();
}
