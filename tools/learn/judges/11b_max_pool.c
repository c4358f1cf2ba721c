#include "../judge.h"
#include EXERCISE

enum { MOST = 128 };

enum {
    RIGHT,
    FROM_ZERO,
    MEAN,
    SMALLEST,
    NO_STEP,
    FIRST_CHANNEL,
    LAST,
    ALL,
    EVENLY,
    CORNER,
    ASSIGNED,
    NOT_ZEROED
};

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

static const mistake forward_mistakes[] = {
    { FROM_ZERO, "from_zero",
      "windows of negative values give 0: the search begins with 0. Begin with the window's first "
      "value." },
    { MEAN, "mean", "this is the mean of each window; the largest value is wanted." },
    { SMALLEST, "smallest", "this is the smallest value of each window." },
    { NO_STEP, "no_step", "the windows are one apart; window (i,j) begins at i step, j step." },
    { FIRST_CHANNEL, "first_channel", "all channels of y come from channel 0 of x." },
};

static const mistake backward_mistakes[] = {
    { LAST, "last_of_equals",
      "of equal values, the last one gets the gradient: >= takes later ones. Use >." },
    { ALL, "all_equals",
      "each of several equal values gets the whole gradient. Only one of them was chosen: the "
      "first." },
    { EVENLY, "evenly",
      "the gradient is spread over the window, as it would be of a mean. Values that were not "
      "chosen had no part in y." },
    { CORNER, "corner",
      "the gradient goes to the first place of each window, whatever lies there. It belongs to the "
      "largest value." },
    { ASSIGNED, "assigned",
      "where windows overlap, a place that was chosen twice has kept one gradient: = overwrites, "
      "+= adds." },
    { NOT_ZEROED, "not_zeroed",
      "what dx held before is still in it. Set all of it to zero first." },
};

static float random_value(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 24) - 160; // most of them negative
}

static int at(sizes n, int c, int i, int j, int place)
{
    return (c * n.h + i * n.step + place / n.s) * n.w + j * n.step + place % n.s;
}

// The place in x of what window (i,j) of channel c takes.
static int taken(const double *x, sizes n, int c, int i, int j, int e)
{
    int best = at(n, c, i, j, 0);
    for (int k = 1; k < n.s * n.s; k++) {
        int place = at(n, c, i, j, k);
        double more = (e == SMALLEST ? -1 : 1) * (x[place] - x[best]);
        if (more > 0 || (e == LAST && more >= 0)) best = place;
    }
    return best;
}

static int compute(const double *x, sizes n, int e, double *y)
{
    int rows = (n.h - n.s) / n.step + 1, columns = (n.w - n.s) / n.step + 1;
    if (e == NO_STEP) n.step = 1;
    for (int k = 0; k < n.c * rows * columns; k++) {
        int c = e == FIRST_CHANNEL ? 0 : k / columns / rows, i = k / columns % rows,
            j = k % columns;
        y[k] = x[taken(x, n, c, i, j, e)];
        if (e == FROM_ZERO) y[k] = fmax(y[k], 0);
        if (e != MEAN) continue;
        y[k] = 0;
        for (int p = 0; p < n.s * n.s; p++)
            y[k] += x[at(n, c, i, j, p)] / (n.s * n.s);
    }
    return n.c * rows * columns;
}

static void compute_backward(const double *x, const float *dy, sizes n, int e, float *dx)
{
    int rows = (n.h - n.s) / n.step + 1, columns = (n.w - n.s) / n.step + 1;
    for (int k = 0; k < n.c * n.h * n.w; k++)
        dx[k] = e == NOT_ZEROED ? 1000 : 0;
    for (int k = 0; k < n.c * rows * columns; k++) {
        int c = k / columns / rows, i = k / columns % rows, j = k % columns;
        int best = taken(x, n, c, i, j, e);
        for (int p = 0; p < n.s * n.s; p++) {
            int place = at(n, c, i, j, p), gets = place == best;
            if (e == ALL) gets = x[place] == x[best];
            if (e == CORNER) gets = p == 0;
            if (e == EVENLY) gets = 1;
            if (!gets) continue;
            float share = e == EVENLY ? dy[k] / (float)(n.s * n.s) : dy[k];
            dx[place] = e == ASSIGNED ? share : dx[place] + share;
        }
    }
}

static double loss(const double *x, const float *dy, sizes n)
{
    double y[MOST], sum = 0;
    int count = compute(x, n, RIGHT, y);
    for (int k = 0; k < count; k++)
        sum += y[k] * (double)dy[k];
    return sum;
}

// The gradient, if no two values of x are equal: central differences.
static void differences(double *x, const float *dy, sizes n, float *dx)
{
    for (int k = 0; k < n.c * n.h * n.w; k++) {
        double kept = x[k];
        x[k] = kept + 1e-3;
        double up = loss(x, dy, n);
        x[k] = kept - 1e-3;
        double down = loss(x, dy, n);
        x[k] = kept;
        dx[k] = (float)((up - down) / 2e-3);
    }
}

static void floats(const double *from, float *to, int n)
{
    for (int k = 0; k < n; k++)
        to[k] = (float)from[k];
}

static void image(const char *what, sizes n, int equal)
{
    const int size = n.c * n.h * n.w;
    float want[MOST], wrong[MOST], *x = judge_room(size, 0), *dx = judge_room(size, 1000);
    double exact[MOST], values[MOST];
    unsigned state = 5;
    for (int k = 0; k < size; k++) {
        x[k] = equal ? (float)(k / 3 % 2) : random_value(&state) + (float)k / 256;
        exact[k] = (double)x[k];
    }
    int count = compute(exact, n, RIGHT, values);
    float *y = judge_room(count + 1, 1000), *dy = judge_room(count, 0);
    for (int k = 0; k < count; k++)
        dy[k] = (float)(k + 1);
    judge_case(what);
    max_pool(x, y, n);
    floats(values, want, count);
    judge_got(y, count);
    for (unsigned k = 0; k < sizeof forward_mistakes / sizeof(mistake); k++) {
        const mistake *m = &forward_mistakes[k];
        floats(values, wrong, compute(exact, n, m->e, values));
        judge_mistake(m->name, m->sentence, wrong, count);
    }
    judge_want(want, count, 1e-6);
    judge_holds(y[count] == 1000, "past_the_end",
                "it writes behind the end of y: H and W are rounded down, and a window that does "
                "not fit is none.");

    judge_case("the gradient of the same");
    max_pool_backward(x, dy, dx, n);
    judge_got(dx, size);
    compute_backward(exact, dy, n, RIGHT, want);
    if (!equal) differences(exact, dy, n, want);
    for (unsigned k = 0; k < sizeof backward_mistakes / sizeof(mistake); k++) {
        const mistake *m = &backward_mistakes[k];
        compute_backward(exact, dy, n, m->e, wrong);
        judge_mistake(m->name, m->sentence, wrong, size);
    }
    judge_want(want, size, 1e-4);
    float *all[] = { x, y, dx, dy };
    for (int k = 0; k < 4; k++)
        free(all[k]);
}

int main(void)
{
    judge_begin();
    image("one channel 4 x 4, windows 2 x 2, step 2", (sizes){ 1, 4, 4, 2, 2 }, 0);
    image("one channel 5 x 4, windows 2 x 2, step 2", (sizes){ 1, 5, 4, 2, 2 }, 0);
    image("two channels 5 x 7, windows 2 x 2, step 2", (sizes){ 2, 5, 7, 2, 2 }, 0);
    image("two channels 5 x 4, windows 3 x 3, step 1", (sizes){ 2, 5, 4, 3, 1 }, 0);
    image("an image of zeros and ones", (sizes){ 1, 4, 6, 2, 2 }, 1);
    return judge_end();
}
