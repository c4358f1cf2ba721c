#include "../judge.h"
#include EXERCISE

enum { MOST = 8, BEFORE = 5 }; // BEFORE: what mean holds before

enum { RIGHT, OF_MEANS, SUM, NOT_DIVIDED, BY_REPLICAS, WHOLE, NOT_ZEROED, UPSIDE_DOWN, LAST,
       FIRST, FIRST_ROWS };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { OF_MEANS, "mean_of_means",
      "this is the mean of the means: a row of a small part counts more than one of a large part. "
      "Weigh each mean by its rows." },
    { SUM, "sum_of_means", "the means are added up and not divided." },
    { NOT_DIVIDED, "not_divided",
      "this is the sum over all rows: divide by how many rows there are." },
    { BY_REPLICAS, "by_replicas",
      "the sum over all rows is divided by the number of replicas, not by that of rows." },
    { WHOLE, "whole_division",
      "rows[r] / total of two ints is a whole number, mostly 0. Make them float first." },
    { NOT_ZEROED, "not_zeroed", "what mean held before is added. Set it to 0 first." },
    { LAST, "assigned",
      "only the last replica is left: = overwrites what the others brought, += adds to it." },
    { FIRST, "first_replica", "all gradients are taken from replica 0: g[r][i]." },
    { FIRST_ROWS, "rows_of_first", "all replicas are weighed by the rows of replica 0: rows[r]." },
    { UPSIDE_DOWN, "upside_down", "the weights are upside down: rows[r] / total." },
};

static void compute(const float *const *g, const int *rows, int replicas, int n, int e, float *out)
{
    int total = 0;
    for (int r = 0; r < replicas; r++)
        total += rows[r];
    for (int i = 0; i < n; i++) {
        double sum = e == NOT_ZEROED ? BEFORE : 0;
        for (int r = 0; r < replicas; r++) {
            if (rows[r] == 0) continue;
            double weight = (double)rows[r] / total;
            if (e == OF_MEANS) weight = 1.0 / replicas;
            if (e == SUM) weight = 1;
            if (e == NOT_DIVIDED) weight = rows[r];
            if (e == BY_REPLICAS) weight = (double)rows[r] / replicas;
            if (e == WHOLE) weight = rows[r] / total;
            if (e == UPSIDE_DOWN) weight = (double)total / rows[r];
            if (e == FIRST_ROWS) weight = (double)rows[0] / total;
            if (e == LAST) sum = 0;
            sum += weight * (double)g[e == FIRST ? 0 : r][i];
        }
        out[i] = (float)sum;
    }
}

static void batch(const char *what, const float *const *g, const int *rows, int replicas, int n)
{
    float *got = judge_room(n, BEFORE), want[MOST], wrong[MOST];
    judge_case(what);
    average(g, rows, replicas, n, got);
    judge_got(got, n);
    for (int i = 0; i < n; i++)
        judge_holds(got[i] == got[i], "empty_counts",
                    "the gradient of a replica without rows is no number, and neither is what is "
                    "made of it, not even by 0 times. Leave it out.");
    compute(g, rows, replicas, n, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(g, rows, replicas, n, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, n);
    }
    judge_want(want, n, 1e-5);
    free(got);
}

int main(void)
{
    static const float a[] = { 1, -2, 0.5f }, b[] = { 4, 0, 3 }, c[] = { -8, 6, 1 };
    const float none[] = { NAN, NAN, NAN };
    const float *three[] = { a, b, c }, *with_none[] = { a, none, c };
    judge_begin();
    batch("two replicas with 2 and 6 rows", three, (const int[]){ 2, 6 }, 2, 3);
    batch("three replicas with 4, 4 and 1 rows", three, (const int[]){ 4, 4, 1 }, 3, 3);
    batch("three replicas, of which one has no rows", with_none, (const int[]){ 3, 0, 1 }, 3, 3);
    batch("one replica", three, (const int[]){ 5 }, 1, 3);
    return judge_end();
}
