#include "../judge.h"

enum { MOST = 256, HELD = 1000 };

static int along(int whole, sizes n)
{
    return whole + 2 * n.pad - n.s + 1;
}

static int right_with(int probe, const float *x, const float *k, const float *bias, sizes n)
{
    float *y = judge_room(MOST, HELD);
    convolution(x, k, bias, y, n);
    int right = judge_probe(probe, y, n.o * along(n.h, n) * along(n.w, n), 1e-4);
    return right;
}

// Simpler inputs tell whether it is y and bias, the index of k or that of x.
static void clues(const float *x, const float *k, const float *bias, sizes n)
{
    float zeros[MOST] = { 0 }, ones[MOST];
    if (!judge_is_wrong(1e-4)) return;
    for (int i = 0; i < MOST; i++) ones[i] = 1;
    int without_kernel = right_with(1, x, zeros, bias, n);
    int without_image = right_with(2, x, ones, bias, n);
    int without_places = right_with(3, ones, k, bias, n);
    judge_clue(!without_kernel, "without_products");
    judge_clue(without_image, "only_kernel_wrong");
    judge_clue(without_places, "only_image_wrong");
    judge_clue(1, "sum_wrong");
}

static float *numbers(int count, unsigned state, int divisor, float shift)
{
    float *y = judge_room(count, 0);
    for (int i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        y[i] = (float)(state >> 24) / (float)divisor - shift;
    }
    return y;
}

static void image(const char *what, sizes n)
{
    float *x = numbers(n.c * n.h * n.w, 3, 16, 8), *k = numbers(n.o * n.c * n.s * n.s, 5, 64, 2);
    float *bias = judge_room(n.o, 0), *y = judge_room(MOST, HELD);
    int count = n.o * along(n.h, n) * along(n.w, n);
    for (int o = 0; o < n.o; o++) bias[o] = (float)(o + 1);
    judge_case(what);
    convolution(x, k, bias, y, n);
    judge_got_array("y", y, n.o * along(n.h, n), along(n.w, n));
    clues(x, k, bias, n);
    judge_compare(1e-4);
    judge_holds(judge_untouched(y + count, MOST - count), "past_the_end");
}

static void judge_cases(void)
{
    image("one channel 5 x 6, one kernel 3 x 3", (sizes){ 1, 5, 6, 1, 3, 0 });
    image("two outputs (with one, y is right)", (sizes){ 1, 5, 6, 2, 3, 0 });
    image("three channels 4 x 5, two outputs (with one channel, y is right)",
          (sizes){ 3, 4, 5, 2, 3, 0 });
    image("three channels 4 x 5, two outputs, padding 1 (without padding, y is right)",
          (sizes){ 3, 4, 5, 2, 3, 1 });
    image("two channels 6 x 3, two kernels 2 x 2", (sizes){ 2, 6, 3, 2, 2, 0 });
    image("kernels 1 x 1", (sizes){ 3, 2, 2, 4, 1, 0 });
    image("one channel 3 x 2, one kernel 2 x 2, padding 2", (sizes){ 1, 3, 2, 1, 2, 2 });
}
