#include "../judge.h"
#include EXERCISE

enum { MOST = 64, HELD = 1000 };

enum { RIGHT, ASSIGNED, FIRST_ONLY, NOT_ZEROED, ZEROED_ROWS, ZEROED_NUMBERS, ZEROED_TOKENS,
       ZEROED_AGAIN, BY_PLACE, PLACES_OF_IDS, MEAN, BY_N, BY_V, SQUARED, TRANSPOSED, ROWS_OF_V,
       NO_ROWS, DY_TRANSPOSED, DY_NO_ROWS, DY_FIRST_ROW, DY_ROWS_OF_V, DY_BY_ID, SUMMED, COUNTS,
       SUBTRACTED, NO_LAST, NO_LAST_TOKEN, NO_FIRST_TOKEN, ALL_ROWS, ONE_BEHIND, ONE_BEFORE };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { ASSIGNED, "assigned",
      "of a token that occurs more than once, only the last place counts: = overwrites what the "
      "places before brought, += adds to it." },
    { FIRST_ONLY, "first_only",
      "of a token that occurs more than once, only the first place counts. All of them used its "
      "row, so all of them add to it." },
    { NOT_ZEROED, "not_zeroed",
      "what dtable held before is still in it. Set all V rows to zero first: tokens that do not "
      "occur have the gradient 0." },
    { ZEROED_ROWS, "only_n_rows_zeroed",
      "n rows of dtable were set to zero; it has V. n is how many tokens there are." },
    { ZEROED_NUMBERS, "only_v_numbers_zeroed",
      "V numbers of dtable were set to zero; it has V D." },
    { ZEROED_TOKENS, "only_tokens_zeroed",
      "only rows of tokens that occur were set to zero. The others have the gradient 0, too." },
    { ZEROED_AGAIN, "zeroed_again",
      "dtable was set to zero anew for each token, so that only the last token is left: once, "
      "before the loop." },
    { BY_PLACE, "row_of_place",
      "dy[i] goes to row i. The row that was copied is id[i]: there it belongs." },
    { PLACES_OF_IDS, "gathered",
      "row i of dtable is dy[id[i]]: this gathers, as forward. Backward, dy[i] goes to row "
      "id[i]." },
    { DY_BY_ID, "dy_of_id",
      "row id[i] gets row id[i] of dy. It is the place i that has a row in dy." },
    { MEAN, "mean",
      "repeated tokens get the mean of their gradients. Nothing was divided forward, so nothing is "
      "divided backward: it is the sum." },
    { BY_N, "divided_by_n",
      "the gradient is divided by the number of tokens. If the loss is a mean, dy has that "
      "already." },
    { BY_V, "divided_by_v", "the gradient is divided by V: nothing was divided forward." },
    { SQUARED, "squared", "dy is multiplied by itself; it is added as it is." },
    { TRANSPOSED, "transposed", "dtable is written by columns, as (D,V); it is (V,D)." },
    { ROWS_OF_V, "rows_of_v", "a row of dtable was taken to have V numbers; it has D." },
    { NO_ROWS, "no_rows", "row i of dtable begins at i D, not at i: each token has D numbers." },
    { DY_TRANSPOSED, "dy_transposed", "dy is read by columns, as (D,n); it is (n,D)." },
    { DY_NO_ROWS, "dy_no_rows", "row i of dy begins at i D, not at i: each token has D numbers." },
    { DY_ROWS_OF_V, "dy_rows_of_v", "a row of dy was taken to have V numbers; it has D." },
    { DY_FIRST_ROW, "dy_row_0", "each token gets row 0 of dy; token i has row i." },
    { SUMMED, "summed",
      "all D numbers of a row are the same sum: number d of dy goes to number d." },
    { COUNTS, "counts", "this is how often each token occurs; its dy is to be added, not 1." },
    { SUBTRACTED, "subtracted",
      "dy is subtracted. This is the gradient, not a step against it: add." },
    { NO_LAST, "last_number", "the last number of each row is left out: d runs from 0 to D - 1." },
    { NO_LAST_TOKEN, "last_token", "the last token is left out: i runs from 0 to n - 1." },
    { NO_FIRST_TOKEN, "first_token", "token 0 is left out: arrays of C begin at 0." },
    { ALL_ROWS, "every_row",
      "every row of dtable gets the dy of all tokens; only row id[i] does." },
    { ONE_BEHIND, "one_behind", "dy goes to row id + 1: ids count from 0." },
    { ONE_BEFORE, "one_before", "dy goes to row id - 1: ids count from 0." },
};

static double loss(const double *table, const float *dy, const int *id, int n, int D)
{
    double sum = 0;
    for (int k = 0; k < n * D; k++)
        sum += table[id[k / D] * D + k % D] * (double)dy[k];
    return sum;
}

static void differences(const float *dy, const int *id, int n, int V, int D, float *dtable)
{
    double table[MOST];
    for (int k = 0; k < V * D; k++)
        table[k] = k % 5;
    for (int k = 0; k < V * D; k++) {
        double kept = table[k];
        table[k] = kept + 1e-3;
        double up = loss(table, dy, id, n, D);
        table[k] = kept - 1e-3;
        double down = loss(table, dy, id, n, D);
        table[k] = kept;
        dtable[k] = (float)((up - down) / 2e-3);
    }
}

static int times_until(const int *id, int i, int end)
{
    int times = 0;
    for (int j = 0; j < end; j++)
        times += id[j] == id[i];
    return times;
}

static float held(const int *id, int n, int V, int D, int k, int e)
{
    int occurs = 0;
    for (int i = 0; i < n; i++)
        occurs |= id[i] == k / D;
    if (e == NOT_ZEROED) return HELD;
    if (e == ZEROED_ROWS && k >= n * D) return HELD;
    if (e == ZEROED_NUMBERS && k >= V) return HELD;
    return e == ZEROED_TOKENS && !occurs ? HELD : 0;
}

static float from_dy(const float *dy, const int *id, int n, int V, int D, int i, int d, int e)
{
    float sum = 0;
    for (int k = 0; k < D; k++)
        sum += dy[i * D + k];
    switch (e) {
    case DY_TRANSPOSED: return dy[d * n + i];
    case DY_NO_ROWS: return dy[i + d];
    case DY_ROWS_OF_V: return dy[i * V + d];
    case DY_FIRST_ROW: return dy[d];
    case PLACES_OF_IDS:
    case DY_BY_ID: return dy[id[i] * D + d];
    case MEAN: return dy[i * D + d] / (float)times_until(id, i, n);
    case BY_N: return dy[i * D + d] / (float)n;
    case BY_V: return dy[i * D + d] / (float)V;
    case SQUARED: return dy[i * D + d] * dy[i * D + d];
    case SUMMED: return sum;
    case COUNTS: return 1;
    case SUBTRACTED: return -dy[i * D + d];
    default: return dy[i * D + d];
    }
}

static void compute(const float *dy, const int *id, int n, int V, int D, int e, float *dtable)
{
    for (int k = 0; k < V * D; k++)
        dtable[k] = held(id, n, V, D, k, e);
    for (int k = 0; k < n * D * (e == ALL_ROWS ? V : 1); k++) {
        int i = k / D % n, d = k % D, to = id[i] * D + d;
        if (e == ZEROED_AGAIN && i < n - 1) continue;
        if ((e == NO_LAST && d == D - 1) || (e == NO_LAST_TOKEN && i == n - 1)) continue;
        if ((e == NO_FIRST_TOKEN && !i) || (e == FIRST_ONLY && times_until(id, i, i))) continue;
        if (e == BY_PLACE || e == PLACES_OF_IDS) to = i * D + d;
        if (e == TRANSPOSED) to = d * V + id[i];
        if (e == ROWS_OF_V) to = id[i] * V + d;
        if (e == NO_ROWS) to = id[i] + d;
        if (e == ALL_ROWS) to = k / D / n * D + d;
        if (e == ONE_BEHIND) to += D;
        if (e == ONE_BEFORE) to -= D;
        if (to < 0 || to >= V * D) continue;
        float share = from_dy(dy, id, n, V, D, i, d, e);
        dtable[to] = e == ASSIGNED || e == PLACES_OF_IDS ? share : dtable[to] + share;
    }
}

// Behind dy lie known numbers, and there is room around dtable: errors there are recognized.
static void tokens(const char *what, const int *id, int n, int V, int D)
{
    float want[MOST], wrong[MOST], dy[MOST], *room = judge_room(3 * MOST, HELD);
    float *dtable = room + MOST;
    int outside = 0;
    for (int k = 0; k < MOST; k++)
        dy[k] = (float)(k * k % 37) / 4 - 3;
    judge_case(what);
    embed_backward(dy, id, dtable, n, V, D);
    judge_got(dtable, V * D);
    judge_part("dtable", V, D);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(dy, id, n, V, D, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, V * D);
    }
    differences(dy, id, n, V, D, want);
    judge_want(want, V * D, 1e-5);
    for (int k = 0; k < 3 * MOST; k++)
        outside |= room[k] != HELD && (k < MOST || k >= MOST + V * D);
    judge_holds(!outside, "past_the_end",
                "it writes behind the end of dtable, which is (V,D).");
    free(room);
    float *own[] = { judge_copy(dy, sizeof *dy * (size_t)(n * D)), judge_room(V * D, HELD) };
    int *own_id = judge_copy(id, sizeof *id * (size_t)n);
    embed_backward(own[0], own_id, own[1], n, V, D);   // for the sanitizer: arrays of their sizes
    free(own[0]);
    free(own[1]);
    free(own_id);
}

int main(void)
{
    judge_begin();
    tokens("7 tokens of 6, some of them repeated, 3 numbers each",
           (const int[]){ 1, 3, 1, 1, 0, 3, 2 }, 7, 6, 3);
    tokens("4 different tokens of 6, 3 numbers each", (const int[]){ 5, 0, 2, 4 }, 4, 6, 3);
    tokens("3 tokens of 8, 2 numbers each", (const int[]){ 6, 0, 6 }, 3, 8, 2);
    tokens("one token 4 times", (const int[]){ 2, 2, 2, 2 }, 4, 4, 1);
    return judge_end();
}
