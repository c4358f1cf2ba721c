#include "../judge.h"
#include EXERCISE

enum { MOST = 32 };

enum { RIGHT, NO_FIRST, TWO_TOO_MANY, ONE_SIDE, NO_PADDING, PAD_SUBTRACTED, PAD_BEHIND, NO_DILATION,
       TOO_FAR, NO_LAST, DILATION_ONCE, KERNEL_WHOLE, UP, NEAREST, NEGATIVE, BELOW, JUST_FITS,
       PAD_FORGOTTEN_IN_TEST, DILATION_FORGOTTEN_IN_TEST, ONE_IF_NONE, NO_STRIDE, TIMES_STRIDE,
       BEFORE, KERNEL_BEHIND, NO_KERNEL, SAME, STRIDE_FOR_KERNEL, TRANSPOSED };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_FIRST, "no_place_at_the_beginning",
      "one is missing: the window stands at the beginning before it moves." },
    { TWO_TOO_MANY, "one_too_many",
      "one is too many: of a row of 5, a window of 3 leaves 2, and so has 3 places." },
    { ONE_SIDE, "one_side", "the zeros are counted on one side; they are on both." },
    { NO_PADDING, "no_padding", "the zeros are not counted: they make the row 2 padding longer." },
    { PAD_SUBTRACTED, "padding_subtracted", "the zeros make the row longer: add 2 padding." },
    { PAD_BEHIND, "padding_behind",
      "padding is added behind the division. It makes the row longer: add it before." },
    { NO_DILATION, "no_dilation",
      "the window covers more than kernel places where its numbers are apart." },
    { TOO_FAR, "dilated_too_far",
      "there are kernel - 1 gaps between kernel numbers: behind the last one there is none." },
    { NO_LAST, "last_place_uncovered",
      "the window covers one place more than dilation (kernel - 1): the last number has one, "
      "too." },
    { DILATION_ONCE, "dilation_once",
      "dilation is added once. It is the distance of each number from the next: "
      "dilation (kernel - 1) + 1." },
    { KERNEL_WHOLE, "gaps_too_wide",
      "from one number to the next it is dilation places, not dilation + 1: with 1 they are side "
      "by "
      "side." },
    { UP, "rounded_up", "it is rounded up: a last step that is too short is not made." },
    { NEAREST, "rounded_to_nearest",
      "it is rounded to the nearest: a last step that is too short is not made. Round down." },
    { NEGATIVE, "negative_room",
      "the window is larger than the row, and still it has a place: -1 / 2 is 0 in C." },
    { BELOW, "below_zero", "the window is larger than the row, and it has less than 0 places." },
    { JUST_FITS, "just_fits",
      "a window as large as the row has one place: only if it is larger, 0 is right." },
    { PAD_FORGOTTEN_IN_TEST, "test_without_padding",
      "whether the window fits was asked without the zeros: they are part of the row." },
    { DILATION_FORGOTTEN_IN_TEST, "test_without_dilation",
      "whether the window fits was asked of kernel; ask it of what it covers with its gaps." },
    { ONE_IF_NONE, "one_if_none", "a window that fits nowhere has 0 places, not 1." },
    { NO_STRIDE, "no_stride", "the window moves by 1, not by stride." },
    { TIMES_STRIDE, "times_stride", "it is multiplied by stride: larger steps mean fewer places." },
    { BEFORE, "divided_before",
      "the place at the beginning is divided by stride, too: divide first, then add 1." },
    { KERNEL_BEHIND, "kernel_behind",
      "the row is divided by stride, and then the window taken off: take it off first." },
    { NO_KERNEL, "no_kernel",
      "the window does not count: it must lie within the row as a whole, with its last number." },
    { SAME, "as_if_padded",
      "this is in / stride, rounded up: that holds only with zeros of (kernel - 1) / 2 on each "
      "side. Here padding says how many there are." },
    { STRIDE_FOR_KERNEL, "pieces",
      "the row is cut into pieces of the window's size. It moves by stride, and so may overlap." },
    { TRANSPOSED, "transposed",
      "this is the size of a transposed convolution, which makes rows longer: the way back." },
};

typedef struct window {
    int in, kernel, stride, padding, dilation;
} window;

typedef struct group {
    const char *what;
    int count;
} group;

static const window windows[] = {
    { 5, 3, 1, 0, 1 }, { 28, 5, 1, 0, 1 }, { 3, 3, 1, 0, 1 },
    { 28, 3, 1, 1, 1 }, { 5, 5, 1, 2, 1 }, { 6, 3, 1, 3, 1 },
    { 7, 3, 2, 0, 1 }, { 8, 3, 2, 0, 1 }, { 32, 3, 2, 1, 1 }, { 224, 7, 2, 3, 1 },
    { 15, 4, 4, 0, 1 },
    { 9, 3, 1, 0, 3 }, { 16, 3, 2, 2, 3 }, { 20, 4, 3, 0, 2 },
    { 2, 3, 2, 0, 1 }, { 4, 3, 3, 0, 2 }, { 1, 9, 4, 3, 1 }, { 1, 3, 1, 1, 1 }, { 1, 4, 1, 0, 1 },
};
static const group groups[] = {
    { "a window alone: 3 on 5, 5 on 28, 3 on 3", 3 },
    { "with padding: 3 on 28 with 1, 5 on 5 with 2, 3 on 6 with 3", 3 },
    { "with stride 2: 3 on 7, 3 on 8, 3 on 32 with padding 1, 7 on 224 with 3; with 4: 4 on 15",
      5 },
    { "with dilation: 3 on 9 and on 16, 3 apart, then with stride 2, padding 2; and 4 on 20", 3 },
    { "windows that are too large, and one that just fits", 5 },
};

enum { WINDOWS = sizeof windows / sizeof *windows, GROUPS = sizeof groups / sizeof *groups };

// Counted, not computed.
static int counted(window w)
{
    int places = 0, covered = w.dilation * (w.kernel - 1) + 1;
    for (int at = 0; at + covered <= w.in + 2 * w.padding; at += w.stride)
        places++;
    return places;
}

static int room_of(window w, int e)
{
    int covered = w.dilation * (w.kernel - 1) + 1, pad = 2 * w.padding;
    if (e == NO_DILATION || e == DILATION_FORGOTTEN_IN_TEST) covered = w.kernel;
    if (e == TOO_FAR) covered = w.dilation * w.kernel;
    if (e == NO_LAST) covered--;
    if (e == DILATION_ONCE) covered = w.kernel + w.dilation - 1;
    if (e == KERNEL_WHOLE) covered = w.kernel + (w.kernel - 1) * w.dilation;
    if (e == NO_KERNEL) covered = 1;
    if (e == ONE_SIDE) pad = w.padding;
    if (e == NO_PADDING || e == PAD_BEHIND || e == PAD_FORGOTTEN_IN_TEST) pad = 0;
    if (e == PAD_SUBTRACTED) pad = -pad;
    return w.in + pad - covered;
}

static int compute(window w, int e)
{
    int in_test = e == PAD_FORGOTTEN_IN_TEST || e == DILATION_FORGOTTEN_IN_TEST;
    int room = room_of(w, e), whole = w.in + 2 * w.padding;
    int unchecked = e == NEGATIVE || e == BELOW || e == SAME || e == TRANSPOSED;
    if (e == STRIDE_FOR_KERNEL) return whole / w.kernel;
    if (e == KERNEL_BEHIND) return (int)fmax(0, whole / w.stride - (whole - room) + 1);
    if ((room < 0 && !unchecked) || (room == 0 && e == JUST_FITS)) return e == ONE_IF_NONE;
    if (in_test) room = room_of(w, RIGHT);
    switch (e) {
    case NO_FIRST: return room / w.stride;
    case TWO_TOO_MANY: return room / w.stride + 2;
    case PAD_BEHIND: return room / w.stride + 1 + 2 * w.padding;
    case UP: return (room + w.stride - 1) / w.stride + 1;
    case NEAREST: return (int)rint((double)room / w.stride) + 1;
    case BELOW: return (int)floor((double)room / w.stride) + 1;
    case NO_STRIDE: return room + 1;
    case TIMES_STRIDE: return room * w.stride + 1;
    case BEFORE: return (room + 1) / w.stride;
    case SAME: return (w.in + w.stride - 1) / w.stride;
    case TRANSPOSED: return (w.in - 1) * w.stride - 2 * w.padding + whole - room;
    default: return room / w.stride + 1;
    }
}

// A mistake is named if it gives the learner's numbers of all windows, in whatever group they first
// differ from the right ones; or, if none does, those of that group.
static void judge_group(const group *g, int from, const float *got)
{
    float want[MOST], wrong[MOST];
    judge_case(g->what);
    for (int all = 1; all >= 0; all--)
        for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes && !judge.mistake; k++) {
            int first = all ? 0 : from, count = all ? WINDOWS : g->count;
            for (int i = 0; i < count; i++)
                wrong[i] = (float)compute(windows[first + i], mistakes[k].e);
            judge_got(got + first, count);
            judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, count);
        }
    const char *mistake = judge.mistake;
    judge_got(got + from, g->count);
    judge.mistake = mistake;
    for (int i = 0; i < g->count; i++)
        want[i] = (float)counted(windows[from + i]);
    judge_want(want, g->count, 0);
}

int main(void)
{
    float got[MOST];
    judge_begin();
    for (int i = 0; i < WINDOWS; i++) {
        const window *w = &windows[i];
        got[i] = (float)output_size(w->in, w->kernel, w->stride, w->padding, w->dilation);
    }
    for (int k = 0, from = 0; k < GROUPS; from += groups[k++].count)
        judge_group(&groups[k], from, got);
    return judge_end();
}
