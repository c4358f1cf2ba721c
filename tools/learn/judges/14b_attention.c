#include "../judge.h"
#include EXERCISE

enum { MOST = 64 };

enum {
    RIGHT, NO_SCALE, BY_D, BY_VALUES, BY_S, BY_T, MULTIPLIED, SCALED_LATE, LAST_PRODUCT,
    DOT_GOES_ON, KEY_COLUMNS, COLUMNS, NO_SOFTMAX, NO_EXP, NOT_NORMALIZED, SUM_GOES_ON, UNIFORM,
    FIRST_WEIGHTS, MASKED, OWN_VALUE, LARGEST_ONLY, KEYS_AS_VALUES, LAST_VALUE, VALUE_ROWS_OF_D,
    VALUE_COLUMNS, SWAPPED
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_SCALE, "no_scale", "the scores are not divided by sqrt(D)." },
    { BY_D, "divided_by_D", "the scores are divided by D; it is sqrt(D)." },
    { BY_VALUES, "divided_by_E",
      "the scores are divided by sqrt(E). They are sums of D products: E belongs to the values." },
    { BY_S, "divided_by_S",
      "the scores are divided by sqrt(S). They are sums of D products; how many answer does not "
      "matter to them." },
    { BY_T, "divided_by_T",
      "the scores are divided by sqrt(T). They are sums of D products; how many ask does not "
      "matter to them." },
    { MULTIPLIED, "multiplied", "the scores are multiplied by sqrt(D); divide by it." },
    { SCALED_LATE, "scaled_after_softmax",
      "the weights are divided by sqrt(D), behind the softmax: they no longer sum to 1. The scores "
      "are divided, before it." },
    { LAST_PRODUCT, "last_product",
      "a score is the last product alone: = overwrites, += adds up over d." },
    { DOT_GOES_ON, "dot_goes_on",
      "the dot product goes on from one s to the next. It begins at 0 for each." },
    { KEY_COLUMNS, "columns_of_k",
      "k is read as if it were (D,S): number d of token s is k[s D + d]." },
    { COLUMNS, "softmax_over_queries",
      "the softmax runs over the tokens that ask. For each of them, it runs over the S that "
      "answer: the row of t sums to 1." },
    { NO_SOFTMAX, "no_softmax", "the scores are used as weights; their softmax is wanted." },
    { NO_EXP, "no_exp",
      "the scores are divided by their sum. A softmax takes exp of each first: weights have to be "
      "positive." },
    { NOT_NORMALIZED, "not_normalized",
      "the exponentials are not divided by their sum, so the weights do not sum to 1." },
    { SUM_GOES_ON, "sum_goes_on",
      "the sum of the exponentials goes on from one t to the next. It begins at 0 for each." },
    { UNIFORM, "plain_mean", "this is the plain mean of the values: the scores have no effect." },
    { FIRST_WEIGHTS, "first_weights",
      "all tokens have the weights of token 0: each has a query of its own, q[t]." },
    { MASKED, "masked",
      "tokens see only what stands before them. That is exercise 14a; here all T see all S." },
    { OWN_VALUE, "own_value",
      "the values are those of t, who asks; take v[s] of those who answer." },
    { LARGEST_ONLY, "hardmax",
      "the value of the largest score alone is taken. Attention takes a mean of all, with the "
      "softmax as weights." },
    { KEYS_AS_VALUES, "keys_as_values",
      "it is the mean of the keys; keys say who is listened to, values what is heard." },
    { LAST_VALUE, "last_value",
      "y holds the share of the last s alone: = overwrites what the others brought." },
    { VALUE_ROWS_OF_D, "rows_of_D",
      "v is read as if its rows had D numbers; they have E: v[s E + e]." },
    { VALUE_COLUMNS, "columns_of_v",
      "v is read as if it were (E,S): number e of token s is v[s E + e]." },
    { SWAPPED, "swapped",
      "queries and keys have changed places: the score of t for s is q[t] . k[s]." },
};

static double product(const float *q, const float *k, sizes n, const int *at, int e)
{
    int t = e == SWAPPED ? at[1] : at[0], s = e == SWAPPED ? at[0] : at[1];
    double dot = 0;
    for (int d = 0; d < n.D; d++)
        dot = (e == LAST_PRODUCT ? 0 : dot)
            + (double)q[t * n.D + d] * (double)k[e == KEY_COLUMNS ? d * n.S + s : s * n.D + d];
    return dot;
}

static void scores(const float *q, const float *k, sizes n, int e, double *p)
{
    double scale = 1 / sqrt((double)n.D);
    if (e == NO_SCALE || e == SCALED_LATE) scale = 1;
    if (e == BY_D) scale = 1.0 / n.D;
    if (e == BY_VALUES) scale = 1 / sqrt((double)n.E);
    if (e == BY_S) scale = 1 / sqrt((double)n.S);
    if (e == BY_T) scale = 1 / sqrt((double)n.T);
    if (e == MULTIPLIED) scale = sqrt((double)n.D);
    if (e == UNIFORM) scale = 0;
    for (int t = 0; t < n.T; t++) {
        double dot = 0;
        for (int s = 0; s < n.S; s++) {
            const int at[2] = { e == FIRST_WEIGHTS ? 0 : t, s };
            dot = (e == DOT_GOES_ON ? dot : 0) + product(q, k, n, at, e);
            p[t * n.S + s] = e == MASKED && s > t ? -1e300 : dot * scale;
        }
    }
}

// The softmax of n numbers that are step apart; before: what the sum begins with.
static double softmax(double *p, int n, int step, double before, int e)
{
    double largest = -INFINITY, sum = before;
    for (int i = 0; i < n; i++)
        largest = fmax(largest, p[i * step]);
    if (e == NOT_NORMALIZED || e == SUM_GOES_ON) largest = 0;
    for (int i = 0; i < n; i++) {
        double x = p[i * step];
        if (e != NO_EXP) p[i * step] = e == LARGEST_ONLY ? x == largest : exp(x - largest);
        sum += p[i * step];
    }
    for (int i = 0; i < n && e != NOT_NORMALIZED; i++)
        p[i * step] /= sum;
    return e == SUM_GOES_ON ? sum : 0;
}

static void compute(const float *q, const float *k, const float *v, sizes n, int e, float *y)
{
    double p[MOST], sum = 0;
    int columns = e == COLUMNS;
    scores(q, k, n, e, p);
    for (int i = 0; i < (columns ? n.S : n.T) && e != NO_SOFTMAX; i++)
        sum = softmax(columns ? p + i : p + i * n.S, columns ? n.T : n.S, columns ? n.S : 1, sum,
                      e);
    for (int i = 0; i < n.T * n.E; i++) {
        int t = i / n.E, j = i % n.E;
        double x = 0;
        for (int s = 0; s < n.S; s++) {
            int at = (e == OWN_VALUE ? t : s) * (e == VALUE_ROWS_OF_D ? n.D : n.E) + j;
            if (e == VALUE_COLUMNS) at = j * n.S + s;
            double value = (double)(e == KEYS_AS_VALUES ? k[s * n.D + j] : v[at]);
            x = (e == LAST_VALUE ? 0 : x) + p[t * n.S + s] * value;
        }
        y[i] = (float)(e == SCALED_LATE ? x / sqrt((double)n.D) : x);
    }
}

// The learner's function, with arrays that end where they end.
static void call(const float *q, const float *k, const float *v, sizes n, float *y)
{
    float *own_q = judge_copy(q, sizeof(float) * (size_t)(n.T * n.D));
    float *own_k = judge_copy(k, sizeof(float) * (size_t)(n.S * n.D));
    float *own_v = judge_copy(v, sizeof(float) * (size_t)(n.S * n.E));
    float *room = judge_room(n.T * n.E, 9);
    attention(own_q, own_k, own_v, room, n);
    memcpy(y, room, sizeof(float) * (size_t)(n.T * n.E));
    free(own_q);
    free(own_k);
    free(own_v);
    free(room);
}

static int right(const float *q, const float *k, const float *v, sizes n)
{
    float y[MOST], want[MOST];
    call(q, k, v, n, y);
    compute(q, k, v, n, RIGHT, want);
    for (int i = 0; i < n.T * n.E; i++)
        if (!judge_close((double)y[i], (double)want[i], 1e-4)) return 0;
    return 1;
}

// What can be seen with inputs for which parts of the task make no difference.
static void clues(const float *q, const float *k, const float *v, sizes n)
{
    float y[MOST], ones[MOST], zeros[MOST] = { 0 }, other[MOST], after[MOST];
    for (int i = 0; i < MOST; i++) {
        ones[i] = 1;
        other[i] = i < n.D ? 3 - q[i] : q[i];
    }
    call(q, k, v, n, y);
    call(other, k, v, n, after);
    for (int i = n.E; i < n.T * n.E; i++)
        judge_clue(y[i] != after[i], "depends_on_other_queries",
                   "if the query of token 0 changes, so does y of other tokens: y[t] comes from "
                   "q[t] alone. What must begin anew for each t?");
    judge_clue(!right(q, k, ones, n), "weights_do_not_sum_to_1",
               "if all values are 1, y is not 1: the weights p[t] of a token do not sum to 1.");
    judge_clue(!right(zeros, k, v, n), "wrong_with_equal_scores",
               "if all queries are 0, all scores are equal, and each y[t] has to be the mean of "
               "all v[s]. It is not: look at what is read of v, at how many are summed, and "
               "whether the scores come from q.");
    judge_clue(1, "wrong_scores",
               "if all queries are 0, so that all scores are equal, y is right: look at the "
               "scores. That of t for s is the sum over d of q[t D + d] k[s D + d], / sqrt(D).");
}

static void tokens(const char *what, sizes n, const float *size)
{
    float q[MOST], k[MOST], v[MOST], y[MOST], wrong[MOST], want[MOST];
    unsigned state = 11;
    for (int i = 0; i < MOST; i++) {
        float *to[3] = { q, k, v };
        for (int j = 0; j < 3; j++) {
            state = state * 1664525u + 1013904223u;
            to[j][i] = ((float)(state >> 24) / 64 - 2) * (j == 0 ? size[0] : 1);
        }
        if (size[1] != 0) q[i] = -size[0];
        k[i] += size[1];
    }
    judge_case(what);
    call(q, k, v, n, y);
    judge_got(y, n.T * n.E);
    judge_part("y", n.T, n.E);
    compute(q, k, v, n, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(q, k, v, n, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, n.T * n.E);
    }
    for (int i = 0; i < n.T * n.E; i++)
        judge_holds(y[i] - y[i] == 0.0f || size[0] == 1, "overflow",
                    "there is what is not a number: exp of a large score overflows, or all of them "
                    "are 0 and so is their sum. Subtract the largest score of the row first, which "
                    "may be far below 0.");
    int numbers = 1;
    for (int i = 0; i < n.T * n.E; i++)
        numbers &= y[i] - y[i] == 0.0f;
    if (numbers) clues(q, k, v, n);
    judge_want(want, n.T * n.E, 1e-4);
}

int main(void)
{
    const float plain[2] = { 1, 0 }, large[2] = { 200, 0 }, low[2] = { 20, 10 };
    judge_begin();
    tokens("3 tokens ask 4, keys and values of 3 numbers", (sizes){ 3, 4, 3, 3 }, plain);
    tokens("3 tokens ask 4, keys of 2 numbers, values of 5", (sizes){ 3, 4, 2, 5 }, plain);
    tokens("3 tokens ask 4, keys of 5 numbers, values of 2", (sizes){ 3, 4, 5, 2 }, plain);
    tokens("4 tokens ask 4, keys and values of 3 numbers", (sizes){ 4, 4, 3, 3 }, plain);
    tokens("5 tokens ask 2, keys of 2 numbers, values of 6", (sizes){ 5, 2, 2, 6 }, plain);
    tokens("one token asks one", (sizes){ 1, 1, 3, 2 }, plain);
    tokens("one token asks 64, keys and values of one number", (sizes){ 1, MOST, 1, 1 }, plain);
    tokens("queries 200 times as large", (sizes){ 2, 4, 4, 3 }, large);
    tokens("scores far below 0", (sizes){ 2, 4, 4, 3 }, low);
    return judge_end();
}
