#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

enum {
    RIGHT,
    NO_FIRST,
    ONE_SIDE,
    NO_DILATION,
    TOO_FAR,
    UP,
    NEGATIVE,
    NO_STRIDE,
    BEFORE
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_FIRST, "no_place_at_the_beginning",
      "one is missing: the window stands at the beginning before it moves." },
    { ONE_SIDE, "one_side", "the zeros are counted on one side; they are on both." },
    { NO_DILATION, "no_dilation",
      "the window covers more than kernel places where its numbers are apart." },
    { TOO_FAR, "dilated_too_far",
      "there are kernel - 1 gaps between kernel numbers: behind the last one there is none." },
    { UP, "rounded_up", "it is rounded up: a last step that is too short is not made." },
    { NEGATIVE, "negative_room",
      "the window is larger than the row, and still it has a place: -1 / 2 is 0 in C." },
    { NO_STRIDE, "no_stride", "the window moves by 1, not by stride." },
    { BEFORE, "divided_before",
      "the place at the beginning is divided by stride, too: divide first, then add 1." },
};

typedef struct window {
    int in, kernel, stride, padding, dilation;
} window;

// Counted, not computed, where that can be done.
static int counted(window w)
{
    int places = 0, covered = w.dilation * (w.kernel - 1) + 1;
    for (int at = 0; at + covered <= w.in + 2 * w.padding; at += w.stride)
        places++;
    return places;
}

static int compute(window w, int e)
{
    int covered = w.dilation * (w.kernel - 1) + 1;
    if (e == NO_DILATION) covered = w.kernel;
    if (e == TOO_FAR) covered = w.dilation * w.kernel;
    int room = w.in + (e == ONE_SIDE ? 1 : 2) * w.padding - covered;
    if (room < 0 && e != NEGATIVE) return 0;
    if (e == NO_FIRST) return room / w.stride;
    if (e == UP) return (room + w.stride - 1) / w.stride + 1;
    if (e == NO_STRIDE) return room + 1;
    if (e == BEFORE) return (room + 1) / w.stride;
    return room / w.stride + 1;
}

static void windows(const char *what, const window *w, int n)
{
    float got[MOST], want[MOST], wrong[MOST];
    judge_case(what);
    for (int i = 0; i < n; i++) {
        got[i] = (float)output_size(w[i].in, w[i].kernel, w[i].stride, w[i].padding,
                                    w[i].dilation);
        want[i] = (float)counted(w[i]);
    }
    judge_got(got, n);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        for (int i = 0; i < n; i++)
            wrong[i] = (float)compute(w[i], mistakes[k].e);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, n);
    }
    judge_want(want, n, 0);
}

int main(void)
{
    static const window plain[] = { { 5, 3, 1, 0, 1 }, { 28, 5, 1, 0, 1 }, { 3, 3, 1, 0, 1 } };
    static const window padded[] = { { 28, 3, 1, 1, 1 }, { 5, 5, 1, 2, 1 } };
    static const window strided[] = { { 7, 3, 2, 0, 1 }, { 8, 3, 2, 0, 1 }, { 32, 3, 2, 1, 1 },
                                      { 224, 7, 2, 3, 1 } };
    static const window dilated[] = { { 9, 3, 1, 0, 3 }, { 16, 3, 2, 2, 3 } };
    static const window large[] = { { 2, 3, 2, 0, 1 }, { 4, 3, 3, 0, 2 }, { 1, 9, 4, 3, 1 },
                                    { 1, 3, 1, 1, 1 } };
    judge_begin();
    windows("a window alone: 3 on 5, 5 on 28, 3 on 3", plain, 3);
    windows("with padding: 3 on 28 with 1, 5 on 5 with 2", padded, 2);
    windows("with stride 2: 3 on 7, 3 on 8, 3 on 32 with padding 1, 7 on 224 with 3", strided, 4);
    windows("with dilation: 3 on 9 and on 16, 3 apart, then with stride 2, padding 2", dilated, 2);
    windows("windows that are too large, and one that just fits", large, 4);
    return judge_end();
}
