#include "../judge.h"
#include EXERCISE

enum { T = 4, D = 3, N = T * D };

enum {
    RIGHT, NO_MASK, ONE_TOO_FAR, NOT_ITSELF, ZEROED, CUT_AFTER, LATER_ONES, NOT_FIRST, NO_SCALE,
    BY_D, BY_T, MULTIPLIED, SCALED_LATE, SWAPPED, QUERIES_ALONE, KEYS_ALONE, LAST_PRODUCT,
    DOT_GOES_ON, KEY_COLUMNS, NO_SOFTMAX, NO_EXP, NOT_NORMALIZED, SUM_GOES_ON, OVER_QUERIES,
    UNIFORM, HARDMAX, KEYS_AS_VALUES, QUERIES_AS_VALUES, OWN_VALUE, LAST_VALUE, VALUE_COLUMNS
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_MASK, "no_mask",
      "every token sees all others, the future too. The loop over s ends at t." },
    { ONE_TOO_FAR, "one_too_far",
      "each token sees the next one, which it shall predict: off by one. The last s is t." },
    { NOT_ITSELF, "not_itself", "tokens do not see themselves: the last s is t, not t - 1." },
    { ZEROED, "zero_before_softmax",
      "masked scores are 0 (or as small as FLT_MIN), and exp(0) is 1, so the future keeps a share. "
      "They must be -infinity, or be left out." },
    { CUT_AFTER, "cut_after_softmax",
      "the softmax runs over all tokens, and the weights of the future are dropped behind it: the "
      "rest does not sum to 1. Leave them out before the softmax." },
    { LATER_ONES, "later_ones",
      "token t sees itself and what comes after it. It is the other way round: s = 0 ... t." },
    { NOT_FIRST, "first_left_out", "token 0 is seen by none but itself: s begins at 0." },
    { NO_SCALE, "no_scale", "the scores are not divided by sqrt(D)." },
    { BY_D, "divided_by_D", "the scores are divided by D; it is sqrt(D)." },
    { BY_T, "by_T", "the scores are divided by sqrt(T); it is sqrt(D), the numbers of a key." },
    { MULTIPLIED, "multiplied", "the scores are multiplied by sqrt(D); divide by it." },
    { SCALED_LATE, "scaled_after_softmax",
      "the weights are divided by sqrt(D), behind the softmax: they no longer sum to 1. The scores "
      "are divided, before it." },
    { SWAPPED, "swapped",
      "queries and keys have changed places: the score of t for s is q[t] . k[s]." },
    { QUERIES_ALONE, "queries_alone",
      "the score is q[t] . q[s]; what is asked of token s is its key: q[t] . k[s]." },
    { KEYS_ALONE, "keys_alone",
      "the score is k[t] . k[s]; what token t asks with is its query: q[t] . k[s]." },
    { LAST_PRODUCT, "last_product",
      "a score is the last product alone: = overwrites, += adds up over d." },
    { DOT_GOES_ON, "dot_goes_on",
      "the dot product goes on from one s to the next. It begins at 0 for each." },
    { KEY_COLUMNS, "columns_of_k",
      "k is read as if it were (D,T): number d of token s is k[s * D + d]." },
    { NO_SOFTMAX, "no_softmax", "the scores are used as weights; their softmax is wanted." },
    { NO_EXP, "no_exp",
      "the scores are divided by their sum. A softmax takes exp of each first: weights have to be "
      "positive." },
    { NOT_NORMALIZED, "not_normalized",
      "the exponentials are not divided by their sum, so the weights do not sum to 1." },
    { SUM_GOES_ON, "sum_goes_on",
      "the sum of the exponentials goes on from one t to the next. It begins at 0 for each." },
    { OVER_QUERIES, "softmax_over_queries",
      "the weights of a token s sum to 1 over those who see it. It is for each t that they do, "
      "over s = 0 ... t." },
    { UNIFORM, "plain_mean",
      "this is the plain mean of the values that are seen: the scores have no effect." },
    { HARDMAX, "hardmax",
      "the value of the largest score alone is taken. Attention takes a mean of all, with the "
      "softmax as weights." },
    { KEYS_AS_VALUES, "keys_as_values",
      "this is a mean of keys. Keys say who is listened to, values what is heard." },
    { QUERIES_AS_VALUES, "queries_as_values", "this is a mean of queries; the values are wanted." },
    { OWN_VALUE, "own_value",
      "each token gets its own value alone: it sees all of s = 0 ... t, and the weight p[t][s] "
      "belongs to the value of s." },
    { LAST_VALUE, "last_value",
      "y holds the share of the last s alone: = overwrites what the others brought." },
    { VALUE_COLUMNS, "columns_of_v",
      "v is read as if it were (D,T): number d of token s is v[s * D + d]." },
};

static double product(const float *q, const float *k, int t, int s, int e)
{
    double dot = 0;
    const float *a = e == SWAPPED || e == KEYS_ALONE ? k : q;
    const float *b = e == SWAPPED || e == QUERIES_ALONE ? q : k;
    for (int d = 0; d < D; d++)
        dot = (e == LAST_PRODUCT ? 0 : dot)
            + (double)a[t * D + d] * (double)b[e == KEY_COLUMNS ? d * T + s : s * D + d];
    return dot;
}

static double score(const float *q, const float *k, int t, int s, int e)
{
    double dot = product(q, k, t, s, e), root = sqrt((double)D);
    for (int before = 0; e == DOT_GOES_ON && before < s; before++)
        dot += product(q, k, t, before, e);
    if (e == ZEROED && s > t) return 0;
    if (e == UNIFORM) return 1;
    if (e == NO_SCALE || e == SCALED_LATE) return dot;
    if (e == BY_D) return dot / D;
    if (e == BY_T) return dot / sqrt((double)T);
    return e == MULTIPLIED ? dot * root : dot / root;
}

static int sees(int t, int s, int e)
{
    if (e == NO_MASK || e == ZEROED || e == CUT_AFTER) return 1;
    if (e == ONE_TOO_FAR) return s <= t + 1;
    if (e == NOT_ITSELF) return s < t;
    if (e == LATER_ONES) return s >= t;
    return s <= t && (e != NOT_FIRST || s > 0 || t == 0);
}

// The weights of token t, not yet divided; returns what they are divided by.
static double exponentials(const float *q, const float *k, int t, int e, double *p)
{
    double largest = -INFINITY, sum = 0;
    for (int s = 0; s < T; s++)
        if (sees(t, s, e)) largest = fmax(largest, score(q, k, t, s, e));
    if (e == NOT_NORMALIZED || e == SUM_GOES_ON || e == OVER_QUERIES) largest = 0;
    for (int s = 0; s < T; s++) {
        double x = score(q, k, t, s, e);
        p[s] = e == NO_SOFTMAX || e == NO_EXP ? x : exp(x - largest);
        if (e == HARDMAX) p[s] = x == largest;
        if (!sees(t, s, e)) p[s] = 0;
        sum += p[s];
        if (e == CUT_AFTER && s > t) p[s] = 0;
    }
    if (e == SCALED_LATE) sum *= sqrt((double)D);
    return e == NO_SOFTMAX || e == NOT_NORMALIZED ? 1 : sum;
}

static void compute(const float *q, const float *k, const float *v, int e, float *y)
{
    double p[T][T], sum[T], columns[T] = { 0 };
    const float *values = e == KEYS_AS_VALUES ? k : v;
    if (e == QUERIES_AS_VALUES) values = q;
    for (int t = 0; t < T; t++) {
        sum[t] = exponentials(q, k, t, e, p[t]);
        if (e == SUM_GOES_ON && t) sum[t] += sum[t - 1];
        for (int s = 0; s < T; s++)
            columns[s] += p[t][s];
    }
    for (int i = 0; i < N; i++) {
        int t = i / D, d = i % D;
        double x = 0;
        for (int s = 0; s < T; s++) {
            int at = e == OWN_VALUE ? i : s * D + d;
            if (e == VALUE_COLUMNS) at = d * T + s;
            if (p[t][s] == 0) continue;
            if (e == LAST_VALUE) x = 0;
            x += p[t][s] / (e == OVER_QUERIES ? columns[s] : sum[t]) * (double)values[at];
        }
        y[i] = (float)x;
    }
}

// The learner's function, with arrays that end where they end.
static void call(const float *q, const float *k, const float *v, float *y)
{
    float *own_q = judge_copy(q, sizeof(float) * N), *own_k = judge_copy(k, sizeof(float) * N);
    float *own_v = judge_copy(v, sizeof(float) * N), *room = judge_room(N, 9);
    attention(own_q, own_k, own_v, room, T, D);
    memcpy(y, room, sizeof(float) * N);
    free(own_q);
    free(own_k);
    free(own_v);
    free(room);
}

static int right(const float *q, const float *k, const float *v)
{
    float y[N], want[N];
    call(q, k, v, y);
    compute(q, k, v, RIGHT, want);
    for (int i = 0; i < N; i++)
        if (!judge_close((double)y[i], (double)want[i], 1e-5)) return 0;
    return 1;
}

// What can be seen with inputs for which parts of the task make no difference.
static void clues(const float *q, const float *k, const float *v)
{
    float y[N], later[N], ones[N], zeros[N] = { 0 }, other[N];
    for (int i = 0; i < N; i++) {
        ones[i] = 1;
        other[i] = i < N - D ? v[i] : 50;
    }
    call(q, k, v, y);
    call(q, k, other, later);
    judge_clue(memcmp(y, later, sizeof(float) * (N - D)) != 0, "sees_the_future",
               "if the value of the last token changes, so does y of earlier tokens: they see the "
               "future. For token t, s goes from 0 to t.");
    judge_clue(!right(q, k, ones), "weights_do_not_sum_to_1",
               "if all values are 1, y is not 1: the weights p[t] of a token do not sum to 1.");
    judge_clue(!right(zeros, k, v), "wrong_with_equal_scores",
               "if all queries are 0, all scores are equal, and y[t] has to be the mean of v[0] "
               "... v[t]. It is not: look at which s are summed, at what is read of v, and whether "
               "the scores come from q.");
    judge_clue(1, "wrong_scores",
               "if all queries are 0, so that all scores are equal, y is right: look at the "
               "scores. That of t for s is the sum over d of q[t * D + d] k[s * D + d], / "
               "sqrt(D).");
}

// far: the scores are so far from 0 that exp of them overflows, or all are 0.
static void sequence(const char *what, const float *q, const float *k, const float *v, int far)
{
    float y[N], want[N], wrong[N];
    judge_case(what);
    call(q, k, v, y);
    judge_got(y, N);
    judge_part("y", T, D);
    compute(q, k, v, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(q, k, v, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, N);
    }
    int first = !(y[0] - y[0] == 0), others = 0;
    for (int i = D; i < N; i++)
        others += !(y[i] - y[i] == 0);
    judge_holds(far || !first || others, "not_itself",
                "y of token 0 is not a number: 0 / 0. It sees nothing, if tokens do not see "
                "themselves: the last s is t.");
    judge_holds(!far || (!first && !others), "overflow",
                "there is what is not a number: exp of a large score overflows, or all of them are "
                "0 and so is their sum. Subtract the largest of the scores that token t sees, "
                "which may be far below 0.");
    if (!first && !others) clues(q, k, v);
    judge_want(want, N, 1e-5);
}

// As many as there may be: the mean of equal values is that value.
static void most_tokens(void)
{
    enum { MOST = 64 };
    float *x = judge_room(MOST, 0.5f), *y = judge_room(MOST, 9), want[MOST];
    judge_case("64 tokens of one number, all alike");
    attention(x, x, x, y, MOST, 1);
    judge_got(y, MOST);
    for (int i = 0; i < MOST; i++)
        want[i] = 0.5f;
    judge_want(want, MOST, 1e-5);
    free(x);
    free(y);
}

int main(void)
{
    static const float q[N] = { 1, 0.5f, -0.5f, 0.25f, 2, 1, -1, 1, 0.5f, 2, -0.5f, 1 };
    static const float k[N] = { 0.5f, 1, 1, -1, 0.5f, 2, 1, -2, 0.5f, 1.5f, 1, -1 };
    static const float v[N] = { 1, 2, 3, -4, 5, -6, 7, -8, 9, 10, 11, -12 };
    static float large[N], low[N], all[N];
    judge_begin();
    sequence("4 tokens of 3 numbers", q, k, v, 0);
    for (int i = 0; i < N; i++) {
        large[i] = 60 * q[i];
        low[i] = -20;
        all[i] = 10 + k[i];
    }
    sequence("queries 60 times as large", large, k, v, 1);
    sequence("scores far below 0", low, all, v, 1);
    most_tokens();
    return judge_end();
}
