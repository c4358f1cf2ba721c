void gradient(const float *x, const float *t, int rows, const float *w, int n, float *g);
#include "../judge.h"

enum { MOST = 64, WIDTH = 16 };

static float X[MOST], T[MOST], W[WIDTH];
static int all_rows, most_rows, calls;
static int taken[MOST]; // how often each row was

// What the learner calls: a linear neuron with a squared error. It looks at how it is called.
void gradient(const float *x, const float *t, int rows, const float *w, int n, float *g)
{
    double sum[WIDTH] = { 0 };
    calls++;
    judge_holds(rows <= most_rows, "too_large");
    judge_holds(rows > 0, "no_rows");
    judge_holds(x >= X && x + rows * n <= X + all_rows * n && t >= T && t + rows <= T + all_rows,
                "past_the_end");
    judge_holds(x - X != t - T || x == X || n == 1, "rows_of_one");
    judge_holds(x - X == (t - T) * n, "other_targets");
    judge_holds(w == W, "other_weights");
    for (int r = 0; r < rows; r++) {
        double error = -(double)t[r];
        for (int i = 0; i < n; i++) error += (double)x[r * n + i] * (double)w[i];
        for (int i = 0; i < n; i++) sum[i] += 2 * error * (double)x[r * n + i] / rows;
        taken[t - T + r]++;
    }
    for (int i = 0; i < n; i++) g[i] = (float)sum[i];
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
    judge_clue(calls == 0, "no_calls");
    judge_clue_saying(missing >= 0, "row_missing", sentence);
    judge_clue_saying(again >= 0, "row_again", sentence);
    judge_clue(1, "put_together");
}

static void batch(const char *what, int rows, int most, int n)
{
    float *g = judge_room(n, 1000);
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
    judge_got_array("g", g, 1, n);
    clues(rows);
    judge_compare(1e-5);
    judge_holds(calls == (rows + most - 1) / most, "calls");
}

static void judge_cases(void)
{
    batch("11 rows in parts of 4", 11, 4, 3);
    batch("8 rows in parts of 4", 8, 4, 3);
    batch("3 rows, and room for 16", 3, 16, 2);
    batch("5 rows in parts of 1", 5, 1, 4);
    batch("4 rows in parts of 3, of 16 numbers", 4, 3, 16);
}
