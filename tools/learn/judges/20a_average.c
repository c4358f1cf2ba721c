#include "../judge.h"
#include EXERCISE

enum { MOST = 8, BEFORE = 5 }; // BEFORE: what mean holds before

enum {
    RIGHT, OF_MEANS, OF_NONEMPTY, SUM, NOT_DIVIDED, BY_REPLICAS, MEANS_BY_TOTAL, BY_FIRST, AS_FIRST,
    TWICE, WHOLE, UPSIDE_DOWN, SO_FAR, RUNNING, GOES_ON, IN_LOOP, NOT_ZEROED, LAST, FIRST,
    FIRST_ROWS, FIRST_NUMBER, DIAGONAL, ROWS_OF_NUMBER, NOT_THE_FIRST, NOT_THE_LAST, MOST_ROWS,
    SUBTRACTED
};

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
      "the sum over all rows is divided by the number of replicas, or by n; divide it by how "
      "many rows there are." },
    { WHOLE, "whole_division",
      "rows[r] / total of two ints is a whole number, mostly 0. Make them float first." },
    { NOT_ZEROED, "not_zeroed", "what mean held before is added. Set it to 0 first." },
    { LAST, "assigned",
      "only the last replica is left: = overwrites what the others brought, += adds to it." },
    { FIRST, "first_replica", "all gradients are taken from replica 0: g[r][i]." },
    { FIRST_ROWS, "rows_of_first", "all replicas are weighed by the rows of replica 0: rows[r]." },
    { UPSIDE_DOWN, "upside_down", "the weights are upside down: rows[r] / total." },
    { OF_NONEMPTY, "mean_of_means_with_rows",
      "this is the mean of the means of those that have rows. Weigh each by its rows." },
    { MEANS_BY_TOTAL, "means_by_total",
      "the means are added and divided by all rows. Each is a mean already: times rows[r] first." },
    { BY_FIRST, "by_rows_of_first",
      "it is divided by the rows of replica 0 alone; divide by those of all." },
    { AS_FIRST, "rows_as_first",
      "it is divided by replicas times rows[0], as if all had as many: add the rows up." },
    { TWICE, "divided_twice", "it is divided by the number of rows twice." },
    { SO_FAR, "rows_so_far",
      "each mean is divided by the rows so far, not by all: add up all rows in a loop before." },
    { RUNNING, "running_mean",
      "each gradient is averaged with all before it, half and half: the first ones fade away." },
    { GOES_ON, "sum_goes_on",
      "the sum goes on from one number to the next: begin at 0 for each i." },
    { IN_LOOP, "divided_in_loop",
      "what was added up so far is divided again with each replica. Divide once." },
    { FIRST_NUMBER, "first_number", "all are made of number 0 of each gradient: g[r][i]." },
    { DIAGONAL, "g_r_r", "of replica r, number r is taken for all: g[r][i]." },
    { ROWS_OF_NUMBER, "rows_of_number",
      "number i is weighed by rows[i]: rows belong to replicas, rows[r]." },
    { NOT_THE_FIRST, "first_left_out", "replica 0 is left out: r begins at 0." },
    { NOT_THE_LAST, "last_left_out", "the last replica is left out: r < replicas." },
    { MOST_ROWS, "most_rows", "only the replica with the most rows is taken." },
    { SUBTRACTED, "subtracted", "the gradients are subtracted; add them." },
};

typedef struct batch {
    const float *g[5];
    int rows[5], replicas, n;
} batch;

static double weight_of(const batch *b, int r, int i, int e)
{
    int total = 0, nonempty = 0, so_far = 0, most = 0;
    for (int k = 0; k < b->replicas; k++) {
        total += b->rows[k];
        nonempty += b->rows[k] > 0;
        if (k <= r) so_far += b->rows[k];
        if (b->rows[k] > b->rows[most]) most = k;
    }
    double rows = b->rows[r];
    switch (e) {
    case OF_MEANS: return 1.0 / b->replicas;
    case OF_NONEMPTY: return 1.0 / nonempty;
    case SUM: return 1;
    case NOT_DIVIDED: return rows;
    case BY_REPLICAS: return rows / b->replicas;
    case MEANS_BY_TOTAL: return 1.0 / total;
    case BY_FIRST: return rows / b->rows[0];
    case AS_FIRST: return rows / (b->rows[0] * b->replicas);
    case TWICE: return rows / total / total;
    case WHOLE: return b->rows[r] / total;
    case UPSIDE_DOWN: return total / rows;
    case SO_FAR: return rows / so_far;
    case FIRST_ROWS: return (double)b->rows[0] / total;
    case ROWS_OF_NUMBER: return (double)b->rows[i] / total;
    case NOT_THE_FIRST: return r > 0 ? rows / total : 0;
    case NOT_THE_LAST: return r < b->replicas - 1 ? rows / total : 0;
    case MOST_ROWS: return r == most;
    case SUBTRACTED: return -rows / total;
    default: return rows / total;
    }
}

static void compute(const batch *b, int e, float *out)
{
    double sum = 0, total = 0;
    for (int r = 0; r < b->replicas; r++)
        total += b->rows[r];
    for (int i = 0; i < b->n; i++) {
        int first = 1;
        if (e != GOES_ON) sum = e == NOT_ZEROED ? BEFORE : 0;
        for (int r = 0; r < b->replicas; r++) {
            if (b->rows[r] == 0) continue;
            int column = e == FIRST_NUMBER ? 0 : i;
            if (e == DIAGONAL) column = r % b->n;
            double x = (double)b->g[e == FIRST ? 0 : r][column];
            if (e == LAST) sum = 0;
            if (e == RUNNING)
                sum = first ? x : (sum + x) / 2;
            else if (e == IN_LOOP)
                sum = (sum + x * b->rows[r]) / total;
            else
                sum += weight_of(b, r, i, e) * x;
            first = 0;
        }
        out[i] = (float)sum;
    }
}

static void learners(const batch *b, float *y)
{
    float *own[5], *room = judge_room(b->n, BEFORE);
    for (int r = 0; r < b->replicas; r++)
        own[r] = judge_copy(b->g[r], sizeof(float) * (size_t)b->n);
    int *rows = judge_copy(b->rows, sizeof(int) * (size_t)b->replicas);
    const float **g = judge_copy(own, sizeof *own * (size_t)b->replicas);
    average(g, rows, b->replicas, b->n, room);
    memcpy(y, room, sizeof(float) * (size_t)b->n);
    for (int r = 0; r < b->replicas; r++)
        free(own[r]);
    free(rows);
    free(g);
    free(room);
}

// How much each replica counts: the result, if its gradient is 1 and all others are 0.
static void clues(const batch *b)
{
    static char sentence[200];
    static const float ones[MOST] = { 1, 1, 1, 1, 1, 1, 1, 1 }, zeros[MOST] = { 0 };
    float y[MOST];
    int total = 0;
    for (int r = 0; r < b->replicas; r++)
        total += b->rows[r];
    for (int r = 0; r < b->replicas && !judge.clue; r++) {
        batch probe = *b;
        for (int k = 0; k < b->replicas; k++)
            probe.g[k] = k == r ? ones : zeros;
        learners(&probe, y);
        snprintf(sentence, sizeof sentence,
                 "replica %d has %d of %d rows, and counts %.4g times in mean[0]; it should count "
                 "%.4g times.", r, b->rows[r], total, (double)y[0], (double)b->rows[r] / total);
        judge_clue(!judge_close((double)y[0], (double)b->rows[r] / total, 1e-5), "other_weight",
                   sentence);
    }
    judge_clue(1, "other_numbers",
               "each replica counts as it should in mean[0]: are all n numbers computed, each from "
               "its own g[r][i]?");
}

static void judged(const char *what, batch b)
{
    float got[MOST], want[MOST], wrong[MOST];
    judge_case(what);
    learners(&b, got);
    judge_got(got, b.n);
    judge_part("mean", 1, b.n);
    for (int i = 0; i < b.n; i++)
        judge_holds(got[i] == got[i], "empty_counts",
                    "the gradient of a replica without rows is no number, and neither is what is "
                    "made of it, not even by 0 times. Leave it out.");
    compute(&b, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(&b, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, b.n);
    }
    clues(&b);
    judge_want(want, b.n, 1e-5);
}

int main(void)
{
    static const float a[] = { 1, -2, 0.5f }, b[] = { 4, 0.25f, 3 }, c[] = { -8, 6, 1 };
    static const float d[] = { 2, 5, -7 }, none[] = { NAN, NAN, NAN };
    judge_begin();
    judged("three replicas with 2, 5 and 4 rows", (batch){ { a, b, c }, { 2, 5, 4 }, 3, 3 });
    judged("two replicas with 2 and 6 rows", (batch){ { a, b }, { 2, 6 }, 2, 3 });
    judged("three replicas with 4, 4 and 1 rows", (batch){ { a, b, c }, { 4, 4, 1 }, 3, 3 });
    judged("three replicas, of which one has no rows",
           (batch){ { a, none, c }, { 3, 0, 1 }, 3, 3 });
    judged("five replicas, of which the last two have no rows, 2 numbers",
           (batch){ { c, d, b, none, none }, { 4, 4, 2, 0, 0 }, 5, 2 });
    judged("one replica", (batch){ { a }, { 5 }, 1, 3 });
    return judge_end();
}
