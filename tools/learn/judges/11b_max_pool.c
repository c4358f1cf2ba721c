#include "../judge.h"

enum { MOST = 256, HELD = 1000 };

static int along(int whole, sizes n)
{
    return (whole - n.s) / n.step + 1;
}

// An image of equal values tells whether y is written where it should be, and not behind its end.
static void clues(sizes n)
{
    float sevens[MOST], *y = judge_room(MOST, HELD);
    if (judge_is_wrong(1e-6)) {
        for (int k = 0; k < MOST; k++) sevens[k] = 7;
        max_pool(sevens, y, n);
        int right = judge_probe(1, y, MOST, 0);
        judge_clue(right, "windows_wrong");
        judge_clue(!right, "places_in_y_wrong");
    }
}

static void forward(const float *x, sizes n, int count)
{
    float *y = judge_room(MOST, HELD);
    max_pool(x, y, n);
    judge_got_array("y", y, n.c * along(n.h, n), along(n.w, n));
    clues(n);
    judge_compare(1e-6);
    judge_holds(judge_untouched(y + count, MOST - count), "past_the_end");
}

// Values from lowest on; with 0, zeros and ones, where many are equal.
static void image(const char *what, sizes n, int lowest)
{
    int size = n.c * n.h * n.w, count = n.c * along(n.h, n) * along(n.w, n);
    float *x = judge_room(size, 0), *dy = judge_room(count, 0);
    unsigned state = 111;    // with it, no two mistakes give the same in the first case
    for (int k = 0; k < size; k++) {
        state = state * 1664525u + 1013904223u;
        x[k] = lowest ? (float)(state >> 24) + (float)(lowest + k / 256.0) : (float)(k / 3 % 2);
    }
    for (int k = 0; k < count; k++) dy[k] = (float)(k + 1);
    judge_case(what);
    forward(x, n, count);
    judge_case("the gradient of the same");
    float *dx = judge_room(size, HELD);
    max_pool_backward(x, dy, dx, n);
    judge_got_array("dx", dx, n.c * n.h, n.w);
    judge_compare(1e-4);
}

static void judge_cases(void)
{
    image("one channel 8 x 10, windows 5 x 5, step 2", (sizes){ 1, 8, 10, 5, 2 }, -128);
    image("one channel 4 x 4, windows 2 x 2, step 2", (sizes){ 1, 4, 4, 2, 2 }, -250);
    image("one channel 5 x 4, windows 2 x 2, step 2", (sizes){ 1, 5, 4, 2, 2 }, -160);
    image("two channels 5 x 7, windows 2 x 2, step 2", (sizes){ 2, 5, 7, 2, 2 }, -160);
    image("two channels 5 x 4, windows 3 x 3, step 1", (sizes){ 2, 5, 4, 3, 1 }, -160);
    image("one channel 11 x 8, windows 2 x 2, step 3", (sizes){ 1, 11, 8, 2, 3 }, -160);
    image("an image of zeros and ones", (sizes){ 1, 4, 6, 2, 2 }, 0);
}
