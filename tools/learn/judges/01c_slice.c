#include "../judge.h"

static const struct {
    const char *name;
    view v;
    int d, range[3];
} slices[] = {
    { "rows 1:6:2 of (8,3)", { 0, 2, { 8, 3 }, { 3, 1 } }, 0, { 1, 6, 2 } },
    { "rows 2:8:3 of (8,3)", { 0, 2, { 8, 3 }, { 3, 1 } }, 0, { 2, 8, 3 } },
    { "rows 0:8:1 of (8,3)", { 0, 2, { 8, 3 }, { 3, 1 } }, 0, { 0, 8, 1 } },
    { "rows 4:4:1 of (8,3)", { 0, 2, { 8, 3 }, { 3, 1 } }, 0, { 4, 4, 1 } },
    { "rows 4:4:2 of (8,3)", { 0, 2, { 8, 3 }, { 3, 1 } }, 0, { 4, 4, 2 } },
    { "1:6:2 of dimension 1 of (4,6,7)", { 0, 3, { 4, 6, 7 }, { 42, 7, 1 } }, 1, { 1, 6, 2 } },
    { "2:6:3 of dimension 1 of a slice", { 50, 3, { 2, 6, 5 }, { 84, 14, 2 } }, 1, { 2, 6, 3 } },
    { "0:6:4 of dimension 2 of a slice", { 50, 3, { 2, 5, 6 }, { 84, 7, 1 } }, 2, { 0, 6, 4 } },
    { "1:2:5 of dimension 0 of a slice", { 9, 1, { 3 }, { 4 } }, 0, { 1, 2, 5 } },
};

enum { SLICES = sizeof slices / sizeof *slices };

static void compare(const char *what, const float *got)
{
    judge_case(what);
    judge_got(got, SLICES);
    for (int i = 0; i < SLICES; i++) judge_part(slices[i].name, 1, 1);
    judge_compare(0);
}

// The three things that a slice changes are judged one after the other.
static void judge_cases(void)
{
    float begins[SLICES], size[SLICES], stride[SLICES];
    int others = 1, only_0 = 1, only_last = 1, same_n = 1;
    judge_case("the other dimensions");
    for (int i = 0; i < SLICES; i++) {
        view v = slices[i].v;
        int d = slices[i].d;
        view s = slice(v, d, slices[i].range[0], slices[i].range[1], slices[i].range[2]);
        begins[i] = (float)s.offset;
        size[i] = (float)s.shape[d];
        stride[i] = (float)s.stride[d];
        same_n &= s.n == v.n;
        for (int k = 0; k < v.n; k++) {
            if (k == d || (s.shape[k] == v.shape[k] && s.stride[k] == v.stride[k])) continue;
            others = 0;
            only_0 &= k == 0;
            only_last &= k == v.n - 1;
        }
    }
    judge_holds(same_n, "no_n");
    judge_holds(others || !only_0, "dimension_0");
    judge_holds(others || !only_last, "last_dimension");
    judge_holds(others, "other_dimensions");
    compare("the size of the dimension", size);
    compare("the stride of the dimension", stride);
    compare("the offset", begins);
}
