#include "../judge.h"

enum { MOST = 64, WIDTH = 16 };

static float X[MOST], T[MOST], W[WIDTH];
static int all_rows, most_rows, calls;
static int taken[MOST]; // how often each row was

void gradient(const float *x, const float *t, int rows, const float *w, int n, float *g);

// ---- A linear neuron with a squared error: its loss, and its gradient in closed form ----

static double neuron(const float *x, const double *w, int n)
{
    double y = 0;
    for (int i = 0; i < n; i++)
        y += (double)x[i] * w[i];
    return y;
}

static void means(const float *x, const float *t, int rows, int n, double *g)
{
    double w[WIDTH];
    for (int i = 0; i < n; i++) {
        w[i] = (double)W[i];
        g[i] = 0;
    }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++)
            g[i] += 2 * (neuron(x + r * n, w, n) - (double)t[r]) * (double)x[r * n + i] / rows;
}

// What the learner calls; it looks at how it is called.
void gradient(const float *x, const float *t, int rows, const float *w, int n, float *g)
{
    double exact[WIDTH];
    calls++;
    judge_holds(rows <= most_rows, "too_large",
                "gradient is called with more rows than there is room for.");
    judge_holds(rows > 0, "no_rows", "gradient is called with no rows at all.");
    judge_holds(x >= X && x + rows * n <= X + all_rows * n && t >= T && t + rows <= T + all_rows,
                "past_the_end",
                "gradient is called with rows behind the end of the batch: the last part may be "
                "smaller than the others.");
    judge_holds(x - X != t - T || x == X || n == 1, "rows_of_one",
                "x advances by one number for each row, as t does. A row of x has n numbers: "
                "x + first n.");
    judge_holds(x - X == (t - T) * n, "other_targets",
                "gradient is called with rows of x and the targets of other rows: advance both, x "
                "by n for each row, t by 1.");
    judge_holds(w == W, "other_weights", "gradient is called with other weights than w.");
    for (int r = 0; r < rows; r++)
        taken[t - T + r]++;
    means(x, t, rows, n, exact);
    for (int i = 0; i < n; i++)
        g[i] = (float)exact[i];
}

#include EXERCISE

enum {
    RIGHT, SUMMED, MEAN_OF_MEANS, WHOLE_PARTS, LAST, NOT_ZEROED, DROPPED, ALL_AS_FULL, SAME_ROWS,
    FIRST_ALONE, NO_MEAN, BY_ROWS, BY_MOST, OF_MOST, INVERSE, TWICE, RUNNING, GOES_ON, BY_N,
    SUBTRACTED
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { SUMMED, "summed",
      "the gradients of the parts are added as they are, and each is one of a mean: a part of m "
      "rows counts m / rows." },
    { MEAN_OF_MEANS, "mean_of_means",
      "each part counts equally. A smaller one counts less: a part of m rows counts m / rows." },
    { LAST, "assigned",
      "only the last part is left: = overwrites what the others brought, and so does gradient if "
      "it is given g itself." },
    { NOT_ZEROED, "not_zeroed", "what g held before is still in it. Set it to zero first." },
    { DROPPED, "last_part_missing",
      "the rows that are left over after the last whole part are not used." },
    { ALL_AS_FULL, "last_part_as_full",
      "the last part counts most / rows, as if it were a whole one; it counts as many rows as it "
      "has." },
    { SAME_ROWS, "same_rows", "every part is computed of the first rows: advance x and t." },
    { FIRST_ALONE, "first_part_alone", "this is the gradient of the first part alone." },
    { NO_MEAN, "sum_over_rows",
      "this is the gradient of the sum over the rows; it should be that of the mean." },
    { WHOLE_PARTS, "whole_parts",
      "the sum of the parts' means is divided by rows / most, rounded down. A part of m rows "
      "counts m / rows." },
    { BY_ROWS, "means_by_rows",
      "the means of the parts are added and divided by rows. A mean over m rows is divided by m "
      "already: times m / rows." },
    { BY_MOST, "means_by_most",
      "the means of the parts are added and divided by most. A part of m rows counts m / rows." },
    { OF_MOST, "share_of_most",
      "a part counts m / most; most is the size of a part. Of the batch it is m / rows." },
    { INVERSE, "upside_down", "the weights are upside down: a part of m rows counts m / rows." },
    { TWICE, "share_squared",
      "a part counts m / rows squared: one of them is multiplied or divided twice." },
    { RUNNING, "running_mean",
      "each part is averaged with all before it, half and half: the first ones fade away. Add the "
      "parts up, each times m / rows." },
    { GOES_ON, "divided_in_loop",
      "what was added up so far is divided again with each part. Divide each part alone, or the "
      "sum behind the loop." },
    { BY_N, "by_n",
      "it is divided by n, the number of weights; the mean is one over rows." },
    { SUBTRACTED, "subtracted",
      "the parts are subtracted from g. They are added: the step against the gradient comes "
      "later." },
};

static double loss(const double *w, int rows, int n)
{
    double sum = 0;
    for (int r = 0; r < rows; r++) {
        double d = neuron(X + r * n, w, n) - (double)T[r];
        sum += d * d / rows;
    }
    return sum;
}

static void differences(int rows, int n, float *g)
{
    double w[WIDTH];
    for (int i = 0; i < n; i++)
        w[i] = (double)W[i];
    for (int i = 0; i < n; i++) {
        w[i] = (double)W[i] + 1e-3;
        double up = loss(w, rows, n);
        w[i] = (double)W[i] - 1e-3;
        double down = loss(w, rows, n);
        w[i] = (double)W[i];
        g[i] = (float)((up - down) / 2e-3);
    }
}

static void compute(int rows, int most, int n, int e, float *g)
{
    int parts = (rows + most - 1) / most;
    for (int i = 0; i < n; i++)
        g[i] = e == NOT_ZEROED ? 1000 : 0;
    for (int first = 0; first < rows; first += most) {
        double exact[WIDTH];
        int m = rows - first < most ? rows - first : most, from = e == SAME_ROWS ? 0 : first;
        double counts = (double)m / rows;
        if (e == DROPPED && m < most) break;
        if (e == SUMMED) counts = 1;
        if (e == NO_MEAN) counts = m;
        if (e == MEAN_OF_MEANS) counts = 1.0 / parts;
        if (e == ALL_AS_FULL) counts = (double)most / rows;
        if (e == WHOLE_PARTS) counts = 1.0 / (rows / most ? rows / most : 1);
        if (e == BY_ROWS) counts = 1.0 / rows;
        if (e == BY_MOST) counts = 1.0 / most;
        if (e == OF_MOST) counts = (double)m / most;
        if (e == INVERSE) counts = (double)rows / m;
        if (e == TWICE) counts *= counts;
        if (e == BY_N) counts = (double)m / n;
        if (e == SUBTRACTED) counts = -counts;
        if (e == RUNNING && first) counts = 0.5;
        if (e == LAST || (e == RUNNING && !first) || e == FIRST_ALONE) counts = 1;
        means(X + from * n, T + from, m, n, exact);
        for (int i = 0; i < n; i++) {
            if (e == LAST) g[i] = 0;
            if (e == RUNNING && first) g[i] /= 2;
            g[i] += (float)(exact[i] * (e == GOES_ON ? m : counts));
            if (e == GOES_ON) g[i] /= (float)rows;
        }
        if (e == FIRST_ALONE) break;
    }
}

// What is seen of the calls, if the numbers are wrong and nothing is known of them.
static void clues(int rows)
{
    static char sentence[300];
    int missing = -1, again = -1;
    for (int r = rows - 1; r >= 0; r--) {
        if (taken[r] == 0) missing = r;
        if (taken[r] > 1) again = r;
    }
    snprintf(sentence, sizeof sentence,
             missing >= 0 ? "row %d is in no part: gradient is never called with it."
                          : "row %d is in more than one part: the next one begins where the last "
                            "one ends.",
             missing >= 0 ? missing : again);
    judge_clue(calls == 0, "no_calls", "gradient is never called.");
    judge_clue(missing >= 0, "row_missing", sentence);
    judge_clue(again >= 0, "row_again", sentence);
    judge_clue(1, "put_together",
               "the parts are right, and each row is in just one of them. They are put together "
               "wrongly: g is the sum of the parts' gradients, each times m / rows, where m is how "
               "many rows that part has.");
}

static void batch(const char *what, int rows, int most, int n)
{
    float want[WIDTH], wrong[WIDTH], *g = judge_room(n, 1000);
    for (int k = 0; k < MOST; k++) {
        X[k] = (float)(k * k % 13) / 4 - 1;
        T[k] = (float)(k * 5 % 7);
        W[k % WIDTH] = (float)(k % WIDTH) / 2 - 1;
    }
    all_rows = rows;
    most_rows = most;
    calls = 0;
    memset(taken, 0, sizeof taken);
    judge_case(what);
    batch_gradient(X, T, rows, most, W, n, g);
    judge_got(g, n);
    judge_part("g", 1, n);
    differences(rows, n, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(rows, most, n, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, n);
    }
    clues(rows);
    judge_want(want, n, 1e-5);
    judge_holds(calls == (rows + most - 1) / most, "calls",
                "the gradient is right, but gradient is called more often than needed.");
    free(g);
}

int main(void)
{
    judge_begin();
    batch("11 rows in parts of 4", 11, 4, 3);
    batch("8 rows in parts of 4", 8, 4, 3);
    batch("3 rows, and room for 16", 3, 16, 2);
    batch("5 rows in parts of 1", 5, 1, 4);
    batch("4 rows in parts of 3, of 16 numbers", 4, 3, 16);
    return judge_end();
}
