#include "../judge.h"

static const struct {
    int in, kernel, stride, padding, dilation;
} windows[] = {
    { 5, 3, 1, 0, 1 }, { 28, 5, 1, 0, 1 }, { 3, 3, 1, 0, 1 },
    { 28, 3, 1, 1, 1 }, { 5, 5, 1, 2, 1 }, { 6, 3, 1, 3, 1 },
    { 7, 3, 2, 0, 1 }, { 8, 3, 2, 0, 1 }, { 32, 3, 2, 1, 1 }, { 224, 7, 2, 3, 1 },
    { 15, 4, 4, 0, 1 },
    { 9, 3, 1, 0, 3 }, { 16, 3, 2, 2, 3 }, { 20, 4, 3, 0, 2 },
    { 2, 3, 2, 0, 1 }, { 4, 3, 3, 0, 2 }, { 1, 9, 4, 3, 1 }, { 1, 3, 1, 1, 1 }, { 1, 4, 1, 0, 1 },
};
static const struct {
    const char *what;
    int count;
} groups[] = {
    { "a window alone: 3 on 5, 5 on 28, 3 on 3", 3 },
    { "with padding: 3 on 28 with 1, 5 on 5 with 2, 3 on 6 with 3", 3 },
    { "with stride 2: 3 on 7, 3 on 8, 3 on 32 with padding 1, 7 on 224 with 3; with 4: 4 on 15",
      5 },
    { "with dilation: 3 on 9 and on 16, 3 apart, then with stride 2, padding 2; and 4 on 20", 3 },
    { "windows that are too large, and one that just fits", 5 },
};

enum { WINDOWS = sizeof windows / sizeof *windows, GROUPS = sizeof groups / sizeof *groups };

// A mistake is named if it gives the learner's numbers of all windows, in whatever group they first
// differ from the right ones; or, if none does, those of that group.
static void judge_cases(void)
{
    float got[WINDOWS];
    judge_case("all windows");
    for (int i = 0; i < WINDOWS; i++)
        got[i] = (float)output_size(windows[i].in, windows[i].kernel, windows[i].stride,
                                    windows[i].padding, windows[i].dilation);
    judge_got(got, WINDOWS);
    judge_compare_later(0);
    for (int k = 0, from = 0; k < GROUPS; from += groups[k++].count) {
        judge.what = groups[k].what;
        judge_got(got + from, groups[k].count);
        judge_compare(0);
    }
}
