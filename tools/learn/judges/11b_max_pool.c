#include "../judge.h"
#include EXERCISE

enum { MOST = 256, HELD = 1000 };

// Errors of places, of what is taken from a window, of sizes; then of the way back alone.
enum { RIGHT, NO_STEP, STEP_ROWS, BY_S, SHORT, STEP_FOR_S, ROW_ONLY, COLUMN_ONLY, EXCHANGED, X_ROWS,
       X_PLANE, FIRST_CHANNEL, FROM_ZERO, GOES_ON, MEAN, SUM, SMALLEST, LARGEST_SIZE, CORNER, INDEX,
       NO_ONE, SIZE_NO_STEP, SIZE_UP, SIZE_BY_STEP, Y_ROWS, Y_TRANSPOSED, LAST, ALL, SHARED, EVENLY,
       ASSIGNED, NOT_ZEROED, ONES, TIMES_X, DY_AT_PLACE };

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

static const mistake forward_mistakes[] = {
    { FROM_ZERO, "from_zero",
      "windows of negative values give 0: the search begins with 0. Begin with the window's first "
      "value." },
    { GOES_ON, "search_goes_on",
      "the largest value so far is kept from window to window: begin anew with each window." },
    { MEAN, "mean", "this is the mean of each window; the largest value is wanted." },
    { SUM, "sum", "this is the sum of each window; the largest value is wanted." },
    { SMALLEST, "smallest", "this is the smallest value of each window." },
    { LARGEST_SIZE, "without_sign",
      "the value farthest from 0 is taken. The largest is meant with its sign: -1 is larger than "
      "-5." },
    { CORNER, "first_value", "this is the first value of each window; the largest is wanted." },
    { INDEX, "index", "y holds the places of the largest values, and should hold the values." },
    { NO_STEP, "no_step", "the windows are one apart; window (i,j) begins at i step, j step." },
    { STEP_ROWS, "step_of_rows", "the step is used for rows alone; columns move by it, too." },
    { BY_S, "step_is_s", "the windows are s apart; they are step apart, and so may overlap." },
    { STEP_FOR_S, "window_of_step", "a window has s x s values; here it is step x step." },
    { SHORT, "window_too_small",
      "the last row and column of each window are left out: u and v run from 0 to s - 1." },
    { ROW_ONLY, "one_row", "only the first row of each window is searched; it has s rows." },
    { COLUMN_ONLY, "one_column", "only the first column of each window is searched; it has s." },
    { EXCHANGED, "exchanged", "window (i,j) was taken at row j and column i: i counts rows." },
    { X_ROWS, "rows_of_h", "a row of x was taken to have h numbers; it has w." },
    { X_PLANE, "planes_of_w", "a channel of x was taken to have w rows; it has h." },
    { FIRST_CHANNEL, "first_channel", "all channels of y come from channel 0 of x." },
    { NO_ONE, "size_without_one",
      "H and W are one too small: a window stands at the beginning before it moves, so + 1." },
    { SIZE_NO_STEP, "size_without_step",
      "H and W are those of windows one apart: divide by step, then add 1." },
    { SIZE_UP, "size_rounded_up",
      "H and W are rounded up: a window that does not fit is none." },
    { SIZE_BY_STEP, "size_by_step",
      "H and W are h / step and w / step: take s off first, then + 1." },
    { Y_ROWS, "y_rows", "a row of y was taken to have H numbers; it has W." },
    { Y_TRANSPOSED, "y_transposed", "rows and columns of y have changed places." },
};

static const mistake backward_mistakes[] = {
    { LAST, "last_of_equals",
      "of equal values, the last one gets the gradient: >= takes later ones. Use >." },
    { ALL, "all_equals",
      "each of several equal values gets the whole gradient. Only one of them was chosen: the "
      "first." },
    { SHARED, "shared_by_equals",
      "equal values share the gradient. Only one of them was chosen, the first; it gets all." },
    { EVENLY, "evenly",
      "the gradient is spread over the window, as it would be of a mean. Values that were not "
      "chosen had no part in y." },
    { SUM, "to_all", "every value of the window gets the whole gradient. Only one was chosen." },
    { CORNER, "corner",
      "the gradient goes to the first place of each window, whatever lies there. It belongs to the "
      "largest value." },
    { SMALLEST, "to_smallest", "the gradient goes to the smallest value; the largest was chosen." },
    { FROM_ZERO, "none_of_negative",
      "windows of negative values get no gradient: the search begins with 0. Begin with the "
      "window's first value." },
    { ASSIGNED, "assigned",
      "where windows overlap, a place that was chosen twice has kept one gradient: = overwrites, "
      "+= adds." },
    { NOT_ZEROED, "not_zeroed",
      "what dx held before is still in it. Set all of it to zero first." },
    { ONES, "ones", "each chosen place has got 1; by the chain rule it gets dy of its window." },
    { TIMES_X, "times_x", "dy is multiplied by x. A copied value passes dy on as it is." },
    { DY_AT_PLACE, "dy_at_place",
      "dy was read at the place of x that was chosen. It has a number for each window: (c,i,j)." },
    { NO_STEP, "no_step", "the windows are one apart; window (i,j) begins at i step, j step." },
    { STEP_ROWS, "step_of_rows", "the step is used for rows alone; columns move by it, too." },
    { BY_S, "step_is_s", "the windows are s apart; they are step apart, and so may overlap." },
    { SHORT, "window_too_small", "the last row and column of each window are left out." },
    { EXCHANGED, "exchanged", "window (i,j) was taken at row j and column i: i counts rows." },
    { FIRST_CHANNEL, "first_channel", "the gradients of all channels go to channel 0." },
    { Y_ROWS, "dy_rows", "a row of dy was taken to have H numbers; it has W." },
    { Y_TRANSPOSED, "dy_transposed", "rows and columns of dy have changed places." },
};

static float random_value(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 24);
}

static int place(sizes n, int c, int i, int j, int u, int v, int e)
{
    int row = i * n.step + u, column = j * n.step + v, width = n.w, height = n.h;
    if (e == NO_STEP) row = i + u;
    if (e == NO_STEP || e == STEP_ROWS) column = j + v;
    if (e == BY_S) {
        row = i * n.s + u;
        column = j * n.s + v;
    }
    if (e == EXCHANGED) {
        row = j * n.step + u;
        column = i * n.step + v;
    }
    if (e == X_ROWS) width = n.h;
    if (e == X_PLANE) height = n.w;
    if (e == FIRST_CHANNEL) c = 0;
    return (c * height + row) * width + column;
}

typedef struct window {
    int best, first, equals, rows, columns;     // places in x; how many are as large as the best
    double sum, largest_size;
} window;

static window look(const double *x, sizes n, int c, int i, int j, int e)
{
    int side = n.s - (e == SHORT);
    if (e == STEP_FOR_S) side = n.step;
    window t = { 0, place(n, c, i, j, 0, 0, e), 0, e == ROW_ONLY ? 1 : side,
                 e == COLUMN_ONLY ? 1 : side, 0, 0 };
    t.best = t.first;
    for (int u = 0; u < t.rows; u++)
        for (int v = 0; v < t.columns; v++) {
            int at = place(n, c, i, j, u, v, e);
            double more = (e == SMALLEST ? -1 : 1) * (x[at] - x[t.best]);
            if (more == 0) t.equals++;
            if (more > 0) t.equals = 1;
            if (more > 0 || (e == LAST && more >= 0)) t.best = at;
            if (fabs(x[at]) > fabs(t.largest_size)) t.largest_size = x[at];
            t.sum += x[at];
        }
    return t;
}

static int along(int whole, sizes n, int e)
{
    if (e == NO_ONE) return (whole - n.s) / n.step;
    if (e == SIZE_NO_STEP) return whole - n.s + 1;
    if (e == SIZE_UP) return (whole - n.s + n.step - 1) / n.step + 1;
    if (e == SIZE_BY_STEP) return whole / n.step;
    return (whole - n.s) / n.step + 1;
}

static int y_at(int c, int i, int j, int rows, int columns, int e)
{
    if (e == Y_ROWS) return (c * rows + i) * rows + j;
    if (e == Y_TRANSPOSED) return (c * columns + j) * rows + i;
    return (c * rows + i) * columns + j;
}

static void compute(const double *x, sizes n, int e, double *y)
{
    int rows = along(n.h, n, e), columns = along(n.w, n, e);
    double largest = 0;
    for (int k = 0; k < MOST; k++)
        y[k] = HELD;
    for (int k = 0; k < n.c * rows * columns; k++) {
        int c = k / columns / rows, i = k / columns % rows, j = k % columns;
        window t = look(x, n, c, i, j, e);
        double value = x[t.best];
        largest = k ? fmax(largest, value) : value;
        if (e == FROM_ZERO) value = fmax(value, 0);
        if (e == GOES_ON) value = largest;
        if (e == MEAN) value = t.sum / (n.s * n.s);
        if (e == SUM) value = t.sum;
        if (e == LARGEST_SIZE) value = t.largest_size;
        if (e == CORNER) value = x[t.first];
        if (e == INDEX) value = t.best;
        y[y_at(c, i, j, rows, columns, e)] = value;
    }
}

static int gets_gradient(const double *x, const window *t, int at, int e)
{
    if (e == ALL || e == SHARED) return x[at] == x[t->best];
    if (e == CORNER) return at == t->first;
    if (e == EVENLY || e == SUM) return 1;
    return at == t->best && !(e == FROM_ZERO && x[at] <= 0);
}

static void compute_backward(const double *x, const float *dy, sizes n, int e, float *dx)
{
    int rows = along(n.h, n, RIGHT), columns = along(n.w, n, RIGHT);
    for (int k = 0; k < MOST; k++)
        dx[k] = e == NOT_ZEROED ? HELD : 0;
    for (int k = 0; k < n.c * rows * columns; k++) {
        int c = k / columns / rows, i = k / columns % rows, j = k % columns;
        window t = look(x, n, c, i, j, e);
        float share = dy[y_at(c, i, j, rows, columns, e)];
        if (e == DY_AT_PLACE) share = dy[t.best];
        if (e == EVENLY) share /= (float)(n.s * n.s);
        if (e == SHARED) share /= (float)t.equals;
        if (e == ONES) share = 1;
        if (e == TIMES_X) share *= (float)x[t.best];
        for (int p = 0; p < t.rows * t.columns; p++) {
            int at = place(n, c, i, j, p / t.columns, p % t.columns, e);
            if (!gets_gradient(x, &t, at, e)) continue;
            dx[at] = e == ASSIGNED ? share : dx[at] + share;
        }
    }
}

static double loss(const double *x, const float *dy, sizes n)
{
    double y[MOST], sum = 0;
    compute(x, n, RIGHT, y);
    for (int k = 0; k < n.c * along(n.h, n, RIGHT) * along(n.w, n, RIGHT); k++)
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

static void floats(const double *from, float *to)
{
    for (int k = 0; k < MOST; k++)
        to[k] = (float)from[k];
}

// No known mistake: an image of equal values tells whether y is written where it should be.
static void narrow(const double *exact, sizes n, int count)
{
    double values[MOST];
    float sevens[MOST], *y = judge_room(MOST, HELD);
    int sizes_right = 1, right = 1;
    for (int k = 0; k < MOST; k++)
        sevens[k] = 7;
    max_pool(sevens, y, n);
    compute(exact, n, RIGHT, values);
    for (int k = 0; k < MOST; k++) {
        sizes_right &= y[k] == (float)(k < count ? 7 : HELD);
        if (k < count) right &= judge_close(judge.got[k], values[k], 1e-6);
    }
    free(y);
    if (judge.mistake || right) return;
    judge.mistake = sizes_right ? "windows_wrong" : "places_in_y_wrong";
    judge.sentence = sizes_right
        ? "of an image of equal values y is right, so its size and places are: look at where in x "
          "a window lies, and at how its largest value is found."
        : "an image of sevens should give H x W sevens for each channel, and no more; it does not. "
          "Look at H and W, and at the index of y.";
}

static void forward(const float *x, const double *exact, sizes n, int count)
{
    float want[MOST], wrong[MOST], *y = judge_room(MOST, HELD);
    double values[MOST];
    int behind = 0;
    max_pool(x, y, n);
    judge_got(y, count);
    judge_part("y", n.c * along(n.h, n, RIGHT), along(n.w, n, RIGHT));
    for (unsigned k = 0; k < sizeof forward_mistakes / sizeof(mistake); k++) {
        const mistake *m = &forward_mistakes[k];
        compute(exact, n, m->e, values);
        floats(values, wrong);
        judge_mistake(m->name, m->sentence, wrong, count);
    }
    compute(exact, n, RIGHT, values);
    floats(values, want);
    narrow(exact, n, count);
    judge_want(want, count, 1e-6);
    for (int k = count; k < MOST; k++)
        behind |= y[k] != HELD;
    judge_holds(!behind, "past_the_end",
                "it writes behind the end of y: H and W are rounded down, and a window that does "
                "not fit is none.");
    free(y);
}

static void backward(const float *x, double *exact, const float *dy, sizes n, int equal)
{
    float want[MOST], wrong[MOST], *dx = judge_room(MOST, HELD);
    const int size = n.c * n.h * n.w;
    max_pool_backward(x, dy, dx, n);
    judge_got(dx, size);
    judge_part("dx", n.c * n.h, n.w);
    compute_backward(exact, dy, n, RIGHT, want);
    if (!equal) differences(exact, dy, n, want);
    for (unsigned k = 0; k < sizeof backward_mistakes / sizeof(mistake); k++) {
        const mistake *m = &backward_mistakes[k];
        compute_backward(exact, dy, n, m->e, wrong);
        judge_mistake(m->name, m->sentence, wrong, size);
    }
    judge_want(want, size, 1e-4);
    free(dx);
}

// Values from lowest on; with 0, zeros and ones, where many are equal.
// x and dy go on with known numbers behind their ends: what is read there is recognized.
static void image(const char *what, sizes n, int lowest)
{
    float x[MOST], dy[MOST];
    double exact[MOST];
    unsigned state = 111;    // with it, no two mistakes give the same in the first case
    for (int k = 0; k < MOST; k++) {
        x[k] = lowest ? random_value(&state) + (float)(lowest + k / 256.0) : (float)(k / 3 % 2);
        exact[k] = (double)x[k];
        dy[k] = (float)(k + 1);
    }
    const size_t one = sizeof(float);
    int size = n.c * n.h * n.w, count = n.c * along(n.h, n, RIGHT) * along(n.w, n, RIGHT);
    judge_case(what);
    forward(x, exact, n, count);
    judge_case("the gradient of the same");
    backward(x, exact, dy, n, lowest == 0);
    float *own[] = { judge_copy(x, one * (size_t)size), judge_copy(dy, one * (size_t)count),
                     judge_room(count, HELD), judge_room(size, HELD) };
    max_pool(own[0], own[2], n);        // for the sanitizer: arrays of their sizes
    max_pool_backward(own[0], own[1], own[3], n);
    for (int k = 0; k < 4; k++)
        free(own[k]);
}

int main(void)
{
    judge_begin();
    image("one channel 8 x 10, windows 5 x 5, step 2", (sizes){ 1, 8, 10, 5, 2 }, -128);
    image("one channel 4 x 4, windows 2 x 2, step 2", (sizes){ 1, 4, 4, 2, 2 }, -250);
    image("one channel 5 x 4, windows 2 x 2, step 2", (sizes){ 1, 5, 4, 2, 2 }, -160);
    image("two channels 5 x 7, windows 2 x 2, step 2", (sizes){ 2, 5, 7, 2, 2 }, -160);
    image("two channels 5 x 4, windows 3 x 3, step 1", (sizes){ 2, 5, 4, 3, 1 }, -160);
    image("one channel 11 x 8, windows 2 x 2, step 3", (sizes){ 1, 11, 8, 2, 3 }, -160);
    image("an image of zeros and ones", (sizes){ 1, 4, 6, 2, 2 }, 0);
    return judge_end();
}
