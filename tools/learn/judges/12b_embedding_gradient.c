#include "../judge.h"
#include EXERCISE

enum { MOST = 64 };

enum { RIGHT, ASSIGNED, NOT_ZEROED, BY_PLACE, MEAN, FIRST_ONLY, BY_N, TRANSPOSED };

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
    { BY_PLACE, "row_of_place",
      "dy[i] goes to row i. The row that was copied is id[i]: there it belongs." },
    { MEAN, "mean",
      "repeated tokens get the mean of their gradients. Nothing was divided forward, so nothing is "
      "divided backward: it is the sum." },
    { BY_N, "divided_by_n",
      "the gradient is divided by the number of tokens. If the loss is a mean, dy has that "
      "already." },
    { TRANSPOSED, "transposed", "dtable is written by columns, as (D,V); it is (V,D)." },
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

static int seen_before(const int *id, int i)
{
    for (int j = 0; j < i; j++)
        if (id[j] == id[i]) return 1;
    return 0;
}

static void compute(const float *dy, const int *id, int n, int V, int D, int e, float *dtable)
{
    for (int k = 0; k < V * D; k++)
        dtable[k] = e == NOT_ZEROED ? 1000 : 0;
    for (int k = 0; k < n * D; k++) {
        int i = k / D, d = k % D, times = 0;
        int to = (e == BY_PLACE ? i : id[i]) * D + d;
        if (e == TRANSPOSED) to = d * V + id[i];
        for (int j = 0; j < n; j++)
            times += id[j] == id[i];
        float share = dy[k];
        if (e == MEAN) share /= (float)times;
        if (e == BY_N) share /= (float)n;
        if (to >= V * D || (e == FIRST_ONLY && seen_before(id, i))) continue;
        dtable[to] = e == ASSIGNED ? share : dtable[to] + share;
    }
}

static void tokens(const char *what, const int *id, int n, int V, int D)
{
    float want[MOST], wrong[MOST], *dy = judge_room(n * D, 0);
    float *dtable = judge_room(V * D + 1, 1000);
    for (int k = 0; k < n * D; k++)
        dy[k] = (float)(k * k % 37) / 4 - 3;
    judge_case(what);
    embed_backward(dy, id, dtable, n, V, D);
    judge_got(dtable, V * D);
    differences(dy, id, n, V, D, want);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(dy, id, n, V, D, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, V * D);
    }
    judge_want(want, V * D, 1e-5);
    judge_holds(dtable[V * D] == 1000, "past_the_end",
                "it writes behind the end of dtable, which is (V,D).");
    free(dy);
    free(dtable);
}

int main(void)
{
    judge_begin();
    tokens("4 different tokens of 6, 3 numbers each", (const int[]){ 5, 0, 2, 4 }, 4, 6, 3);
    tokens("7 tokens of 5, some of them repeated", (const int[]){ 1, 3, 1, 1, 0, 3, 2 }, 7, 5, 2);
    tokens("one token 4 times", (const int[]){ 2, 2, 2, 2 }, 4, 4, 1);
    return judge_end();
}
