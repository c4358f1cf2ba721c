#include "../judge.h"
#include EXERCISE

enum { MOST = 16 };

enum {
    RIGHT,
    NO_MAXIMUM,
    MAXIMUM_OF_ALL,
    SUM_OF_ALL,
    NOT_DIVIDED,
    FIRST,
    LAST,
    MINIMUM,
    MEAN_SHIFT,
    ROW_0_MAXIMUM,
    LOG,
    NO_EXP,
    MINUS,
    BASE_2,
    SIGMOID,
    DIVIDED_BY_N,
    MEAN_OF_EXPS,
    ROW_0,
    COLUMNS,
    GOES_ON,
    SHIFT_ONLY,
    BY_LARGEST,
    ADDED_SHIFT,
    ONE_BELOW,
    SQUARES,
    SUM_OF_SCORES,
    NO_LAST,
    NO_FIRST,
    HARD,
    RUNNING,
    SUM_WITHOUT_SHIFT,
    ONES_SHIFT,
    ABSOLUTE
};

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

static const mistake of_rows[] = {
    { NOT_DIVIDED, "not_divided",
      "these are the exps: they still have to be divided by their sum." },
    { SUM_OF_ALL, "sum_of_all",
      "the probabilities of all rows together are 1. Each row is for itself: its sum begins at "
      "0." },
    { GOES_ON, "sum_not_reset",
      "the sum of a row has those of the rows before in it. It must begin at 0 for each row." },
    { COLUMNS, "by_columns",
      "the probabilities of each column add up to 1. Those of a row must: x[r n + i] is number i "
      "of "
      "row r." },
    { ROW_0, "first_row", "all rows give the answer of row 0: row r begins at x[r * n]." },
    { RUNNING, "divided_too_early",
      "each exp is divided by the sum up to there. Add up all of the row, then divide." },
    { NO_LAST, "sum_without_last",
      "the last exp is missing in the sum: does a loop end too early?" },
    { NO_FIRST, "sum_without_first",
      "the first exp is missing in the sum: does a loop begin at 1?" },
    { ONE_BELOW, "sum_from_1", "the sum has 1 in it before any exp is added; it begins at 0." },
    { SUM_OF_SCORES, "sum_of_scores",
      "the exps are divided by the sum of the scores; it is the sum of the exps." },
    { NO_EXP, "no_exp",
      "the scores are divided by their sum, without exp. Negative scores make that no "
      "probability." },
    { SQUARES, "by_length",
      "the exps are divided by the root of the sum of their squares. Divide by their sum." },
    { DIVIDED_BY_N, "divided_by_n", "the exps are divided by n; divide by their sum." },
    { MEAN_OF_EXPS, "divided_by_mean",
      "the exps are divided by their mean, so a row adds up to n. Divide by their sum." },
    { BY_LARGEST, "divided_by_largest",
      "the largest is 1: each exp is divided by the largest of them. Divide by their sum." },
    { MINUS, "minus",
      "exp has the opposite sign in it: the largest score must have the largest probability." },
    { BASE_2, "base_2", "these are powers of 2. exp is a power of e: expf, and not exp2f." },
    { SIGMOID, "sigmoid",
      "this is the sigmoid of each score, which knows nothing of the others. A softmax divides by "
      "the sum over the row." },
    { LOG, "log", "this is the logarithm of the softmax; the probabilities are asked for." },
    { HARD, "only_the_largest",
      "the largest score gets 1 and the others 0. Softmax gives the others their part, too." },
    { SHIFT_ONLY, "only_shifted",
      "this is x minus the largest: exp and the division are missing." },
    { ABSOLUTE, "absolute", "the sign of a score does not count in it; it must." },
    { SUM_WITHOUT_SHIFT, "sum_not_shifted",
      "the largest is subtracted above, and not in the sum below. It must be the same in both." },
    { ONES_SHIFT, "shift_in_sum_only",
      "the largest is subtracted in the sum below, and not above. It must be the same in both." },
};

// Which number makes exp safe: all of these are right as long as scores are small.
static const mistake of_shift[] = {
    { MAXIMUM_OF_ALL, "maximum_of_all",
      "the largest of all rows was subtracted: a row far below it has only zeros then. Each row "
      "has "
      "its own." },
    { ROW_0_MAXIMUM, "maximum_of_row_0",
      "the largest of row 0 was subtracted in every row. Each row has its own." },
    { FIRST, "first_element",
      "the first score of a row was subtracted; exp overflows if another one is much larger. "
      "Subtract the largest." },
    { LAST, "last_element",
      "the last score of a row was subtracted; exp overflows if another one is much larger. "
      "Subtract the largest." },
    { MINIMUM, "minimum",
      "the smallest score was subtracted, so what is left may be large. Subtract the largest." },
    { MEAN_SHIFT, "mean_subtracted",
      "the mean of the scores was subtracted, so the largest may still overflow. Subtract the "
      "largest." },
    { ADDED_SHIFT, "maximum_added", "the largest score is added in exp; it is subtracted." },
    { NO_MAXIMUM, "no_maximum",
      "exp of a large score is infinite, of a very negative one 0, and the quotient is not a "
      "number. Subtract the largest score of the row first: the result is the same, and all exps "
      "are at most 1." },
};

// What is subtracted of the scores of row r before exp.
static float shift_of(const float *x, int r, int m, int n, int e)
{
    const float *in = x + (e == ROW_0_MAXIMUM ? 0 : r * n);
    float largest = in[0], least = in[0], all = x[0], sum = 0;
    for (int i = 0; i < n; i++) {
        largest = fmaxf(largest, in[i]);
        least = fminf(least, in[i]);
        sum += in[i];
    }
    for (int k = 0; k < m * n; k++)
        all = fmaxf(all, x[k]);
    switch (e) {
    case NO_MAXIMUM: return 0;
    case MAXIMUM_OF_ALL: return all;
    case FIRST: return in[0];
    case LAST: return in[n - 1];
    case MINIMUM: return least;
    case MEAN_SHIFT: return sum / (float)n;
    case ADDED_SHIFT: return -largest;
    default: return largest;
    }
}

static float power(float x, float shift, int e)
{
    float z = x - shift;
    if (e == MINUS) z = -z;
    if (e == ABSOLUTE) z = fabsf(x) - shift;
    if (e == BASE_2) return exp2f(z);
    return e == NO_EXP ? x : expf(z);
}

static float last_step(float y, float sum, float x, float shift, int n, int e)
{
    switch (e) {
    case NOT_DIVIDED: return y;
    case BY_LARGEST: return y;
    case DIVIDED_BY_N: return y / (float)n;
    case MEAN_OF_EXPS: return y / sum * (float)n;
    case LOG: return logf(y / sum);
    case SIGMOID: return 1 / (1 + expf(-x));
    case SHIFT_ONLY: return x - shift;
    case HARD: return x == shift;
    case ONES_SHIFT: return expf(x) / sum;
    default: return y / sum;
    }
}

// In float, as a learner's code: it overflows where that does.
static void compute(const float *x, float *y, int m, int n, int e)
{
    float all = 0, sum = 0;
    for (int r = 0; r < m; r++) {
        const float *in = x + (e == ROW_0 ? 0 : r * n);
        float shift = shift_of(x, r, m, n, e);
        if (e != GOES_ON) sum = (float)(e == ONE_BELOW);
        for (int i = 0; i < n; i++) {
            float part = y[r * n + i] = power(in[i], shift, e);
            all += part;
            if (e == SQUARES) part *= part;
            if (e == SUM_OF_SCORES) part = in[i];
            if (e == SUM_WITHOUT_SHIFT) part = expf(in[i]);
            if ((e != NO_LAST || i < n - 1) && (e != NO_FIRST || i > 0)) sum += part;
            if (e == RUNNING) y[r * n + i] /= sum;
        }
        if (e == SQUARES) sum = sqrtf(sum);
        for (int i = 0; i < n && e != SUM_OF_ALL && e != COLUMNS && e != RUNNING; i++)
            y[r * n + i] = last_step(y[r * n + i], sum, in[i], shift, n, e);
    }
    for (int k = 0; k < m * n && e == SUM_OF_ALL; k++)
        y[k] = expf(x[k] - shift_of(x, 0, m, n, MAXIMUM_OF_ALL));
    all = 0;
    for (int k = 0; k < m * n; k++)
        all += y[k];
    for (int k = 0; k < m * n && e == SUM_OF_ALL; k++)
        y[k] /= all;
    for (int i = 0; i < n && e == COLUMNS; i++) {
        sum = 0;
        for (int r = 0; r < m; r++)
            sum += expf(x[r * n + i]);
        for (int r = 0; r < m; r++)
            y[r * n + i] = expf(x[r * n + i]) / sum;
    }
}

static void call(const float *x, float *got, int m, int n)
{
    float *own = judge_copy(x, sizeof *x * (size_t)(m * n)), *y = judge_room(m * n, 1000);
    softmax(own, y, m, n);
    memcpy(got, y, sizeof *y * (size_t)(m * n));
    free(own);
    free(y);
}

static void small_scores(const char *what, const float *x, int m, int n)
{
    float got[MOST], out[MOST];
    judge_case(what);
    call(x, got, m, n);
    judge_got(got, m * n);
    judge_part("y", m, n);
    for (unsigned k = 0; k < sizeof of_rows / sizeof *of_rows; k++) {
        compute(x, out, m, n, of_rows[k].e);
        judge_mistake(of_rows[k].name, of_rows[k].sentence, out, m * n);
    }
    compute(x, out, m, n, RIGHT);
    judge_want(out, m * n, 1e-6);
}

// A mistake is one that explains all of them.
static void large_scores(void)
{
    static const struct {
        const char *name;
        int m, n;
        float x[6];
    } cases[] = {
        { "softmax of (1000, 1001, 999)", 1, 3, { 1000, 1001, 999 } },
        { "softmax of (-1000, -1001, -999)", 1, 3, { -1000, -1001, -999 } },
        { "softmax of (200, 5, 100)", 1, 3, { 200, 5, 100 } },
        { "softmax of (5, 200, 100)", 1, 3, { 5, 200, 100 } },
        { "softmax of (5, 100, 200)", 1, 3, { 5, 100, 200 } },
        { "softmax of (5, 100, 100)", 1, 3, { 5, 100, 100 } },
        { "softmax of (500, 501) and (-500, -501)", 2, 2, { 500, 501, -500, -501 } },
        { "softmax of (0, 1, 2) and (3, 1000, -300)", 2, 3, { 0, 1, 2, 3, 1000, -300 } },
        { "softmax of one score", 1, 1, { 7 } },
    };
    enum { CASES = sizeof cases / sizeof *cases };
    float got[6 * CASES], out[6 * CASES];
    int count = 0;
    for (int i = 0; i < CASES; i++) {
        judge_case(cases[i].name);
        call(cases[i].x, got + count, cases[i].m, cases[i].n);
        count += cases[i].m * cases[i].n;
    }
    judge.what = "Large scores";
    judge_got(got, count);
    for (int i = 0; i < CASES; i++)
        judge_part(cases[i].name, cases[i].m, cases[i].n);
    for (unsigned k = 0; k <= sizeof of_shift / sizeof *of_shift; k++) {
        const mistake *e = k < sizeof of_shift / sizeof *of_shift ? &of_shift[k] : NULL;
        float *at = out;
        for (int i = 0; i < CASES; i++) {
            compute(cases[i].x, at, cases[i].m, cases[i].n, e ? e->e : RIGHT);
            at += cases[i].m * cases[i].n;
        }
        if (e) judge_mistake(e->name, e->sentence, out, count);
    }
    judge_want(out, count, 1e-6);
}

int main(void)
{
    judge_begin();
    small_scores("softmax of two rows", (const float[]){ 1, 2.5f, 3, 0.5f, -1, 2 }, 2, 3);
    small_scores("softmax of three rows",
                 (const float[]){ 1, 0, 2, -1, 0.5f, 0.5f, 1, -2, 1.5f, 0, 3, 2 }, 3, 4);
    large_scores();
    return judge_end();
}
