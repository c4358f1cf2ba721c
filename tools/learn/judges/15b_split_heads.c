#include "../judge.h"
#include EXERCISE

enum { MOST = 128 };

enum {
    RIGHT, COPIED, INTERLEAVED, HEADS_FIRST, ROWS_OF_D, TOKENS_FIRST, FIRST_SEQUENCE, FIRST_TOKEN,
    FIRST_HEAD, FIRST_NUMBER, HEADS_BACK, TOKENS_BACK, BY_T, ONE_APART, BACK
};

typedef struct mistake {
    int e;
    const char *name, *sentence;
} mistake;

static const mistake splitting[] = {
    { COPIED, "copied",
      "the numbers lie as before, seen as another shape. T and H have to change places: all tokens "
      "of head 0 come first." },
    { INTERLEAVED, "interleaved",
      "head h takes every H-th number of a token. Its D numbers lie side by side, from h D on." },
    { HEADS_FIRST, "heads_before_sequences",
      "y is (H,B,T,D): the heads stand before the sequences. It is (B,H,T,D)." },
    { ROWS_OF_D, "transposed",
      "y is (B,H,D,T): within a head, the D numbers of a token should lie side by side." },
    { TOKENS_FIRST, "tokens_before_sequences",
      "y is (T,B,H,D): the tokens stand before the sequences. It is (B,H,T,D)." },
    { FIRST_SEQUENCE, "first_sequence",
      "all sequences have the numbers of sequence 0; sequence b begins at b T H D." },
    { FIRST_TOKEN, "first_token",
      "all tokens have the numbers of token 0; token t begins t H D behind the first." },
    { FIRST_HEAD, "first_head", "all heads have the numbers of head 0; head h begins at h D." },
    { FIRST_NUMBER, "first_number", "all D numbers of a head are its first: d is missing." },
    { HEADS_BACK, "heads_in_reverse", "the heads stand in reverse order." },
    { TOKENS_BACK, "tokens_in_reverse", "the tokens stand in reverse order." },
    { BY_T, "head_by_T",
      "head h is looked for at h T; it begins at h D, for a head has D numbers." },
    { ONE_APART, "heads_one_apart",
      "head h is looked for at h, one number behind the last one. It begins at h D." },
    { BACK, "joined", "split_heads goes the way back: it reads (B,H,T,D) and writes (B,T,H*D)." },
};

static const mistake joining[] = {
    { BACK, "split_again",
      "join_heads does what split_heads does, once more. The way back reads (B,H,T,D) and writes "
      "(B,T,H*D)." },
    { COPIED, "joined_by_copy", "the numbers lie as before; T and H have to change places again." },
    { INTERLEAVED, "joined_interleaved",
      "the numbers of the heads alternate; the D of head h lie side by side, from h D on." },
    { ROWS_OF_D, "joined_transposed",
      "y is read as (B,H,D,T): within a head, the D numbers of a token lie side by side." },
    { HEADS_FIRST, "joined_heads_before_sequences",
      "y is read as (H,B,T,D): the heads before the sequences. It is (B,H,T,D)." },
    { TOKENS_FIRST, "joined_tokens_before_sequences",
      "y is read as (T,B,H,D): the tokens before the sequences. It is (B,H,T,D)." },
    { FIRST_SEQUENCE, "joined_first_sequence", "all sequences were taken from sequence 0." },
    { FIRST_TOKEN, "joined_first_token", "all tokens were taken from token 0." },
    { FIRST_HEAD, "joined_first_head", "all heads were taken from head 0." },
    { FIRST_NUMBER, "joined_first_number",
      "all D numbers of a head were taken from its first: d is missing." },
};

typedef struct place {
    int b, t, h, d;
} place;

// Of element k of y (B,H,T,D), or of what is mistaken for it.
static place in_y(sizes n, int k, int e)
{
    place at = { k / n.D / n.T / n.H, k / n.D % n.T, k / n.D / n.T % n.H, k % n.D };
    if (e == HEADS_FIRST) {
        at.b = k / n.D / n.T % n.B;
        at.h = k / n.D / n.T / n.B;
    }
    if (e == TOKENS_FIRST) {
        at.h = k / n.D % n.H;
        at.b = k / n.D / n.H % n.B;
        at.t = k / n.D / n.H / n.B;
    }
    if (e == ROWS_OF_D) {
        at.t = k % n.T;
        at.d = k / n.T % n.D;
    }
    return at;
}

static int in_x(sizes n, place at) { return ((at.b * n.T + at.t) * n.H + at.h) * n.D + at.d; }

// Where what belongs to element k of y is looked for in x.
static int looked_for(sizes n, int k, int e)
{
    place at = in_y(n, k, e);
    if (e == FIRST_SEQUENCE) at.b = 0;
    if (e == FIRST_TOKEN) at.t = 0;
    if (e == FIRST_HEAD) at.h = 0;
    if (e == FIRST_NUMBER) at.d = 0;
    if (e == HEADS_BACK) at.h = n.H - 1 - at.h;
    if (e == TOKENS_BACK) at.t = n.T - 1 - at.t;
    int head = in_x(n, (place){ at.b, at.t, 0, 0 });
    if (e == COPIED) return k;
    if (e == INTERLEAVED) return head + at.d * n.H + at.h;
    if (e == BY_T) return head + at.h * n.T + at.d;
    if (e == ONE_APART) return head + at.h + at.d;
    return in_x(n, at);
}

// y from x, or x from y. What a wrong way does not find, stays -9.
static void compute(const float *from, sizes n, int e, int joins, float *to)
{
    int count = n.B * n.T * n.H * n.D, into[MOST], of[MOST];
    for (int k = 0; k < count; k++) {
        of[k] = looked_for(n, k, e == BACK ? RIGHT : e);
        into[k] = k;
        if (joins && (e == FIRST_SEQUENCE || e == FIRST_TOKEN || e == FIRST_HEAD
                      || e == FIRST_NUMBER)) {
            into[k] = looked_for(n, k, RIGHT);
            for (of[k] = 0; looked_for(n, of[k], RIGHT) != looked_for(n, k, e);)
                of[k]++;
        } else if (joins != (e == BACK)) {
            into[k] = of[k];
            of[k] = k;
        }
        to[k] = -9;
    }
    for (int k = 0; k < count; k++)
        if (into[k] < count && of[k] < count) to[into[k]] = from[of[k]];
}

// The numbers are 1, 2, 3, ...: each says where it comes from.
static void clue(const float *got, sizes n, const float *want, int joins)
{
    static char sentence[400];
    int count = n.B * n.T * n.H * n.D, first = 0, wrong[4] = { 0 };
    for (int k = count - 1; k >= 0; k--) {
        int from = (int)got[k] - 1;
        if (got[k] == want[k]) continue;
        first = k;
        judge_clue(from < 0 || from >= count, joins ? "join_of_nothing" : "split_of_nothing",
                   "there is a number that was not written, or does not come from the array that "
                   "is read: do the loops run over all of B, T, H and D, and no further?");
        place is = joins ? in_y(n, from, RIGHT) : in_y(n, 0, RIGHT), should = is;
        for (int i = 0; i < count; i++) {
            if (!joins && looked_for(n, i, RIGHT) == from) is = in_y(n, i, RIGHT);
            if (joins ? looked_for(n, i, RIGHT) == k : i == k) should = in_y(n, i, RIGHT);
        }
        wrong[0] |= is.b != should.b;
        wrong[1] |= is.t != should.t;
        wrong[2] |= is.h != should.h;
        wrong[3] |= is.d != should.d;
    }
    snprintf(sentence, sizeof sentence,
             "the numbers are taken from wrong places. Element %d of %d is number %d of the array "
             "that is read, and should be its number %d. Over all elements,%s%s%s%s wrong; what is "
             "not listed is right.", first, count, (int)got[first] - 1, (int)want[first] - 1,
             wrong[0] ? " b is" : "", wrong[1] ? " t is" : "", wrong[2] ? " h is" : "",
             wrong[3] ? " d is" : "");
    judge_clue(1, joins ? "joined_from_elsewhere" : "split_from_elsewhere", sentence);
}

static void moved(sizes n, int joins)
{
    int count = n.B * n.T * n.H * n.D;
    float from[MOST], want[MOST], wrong[MOST], *to = judge_room(count, -9);
    for (int k = 0; k < count; k++)
        from[k] = (float)(k + 1);
    float *own = judge_copy(from, sizeof(float) * (size_t)count);
    (joins ? join_heads : split_heads)(own, to, n);
    free(own);
    judge_got(to, count);
    compute(from, n, RIGHT, joins, want);
    const mistake *known = joins ? joining : splitting;
    unsigned most = joins ? sizeof joining / sizeof(mistake) : sizeof splitting / sizeof(mistake);
    for (unsigned i = 0; i < most; i++) {
        compute(from, n, known[i].e, joins, wrong);
        judge_mistake(known[i].name, known[i].sentence, wrong, count);
    }
    if (memcmp(to, want, sizeof(float) * (size_t)count)) clue(to, n, want, joins);
    judge_want(want, count, 0);
    free(to);
}

static void heads(const char *what, const char *back, sizes n)
{
    judge_case(what);
    moved(n, 0);
    judge_case(back);
    moved(n, 1);
}

int main(void)
{
    judge_begin();
    heads("two sequences of 3 tokens, 2 heads of 4", "and back", (sizes){ 2, 3, 2, 4 });
    heads("two sequences of 5 tokens, 3 heads of 2", "5 tokens, and back", (sizes){ 2, 5, 3, 2 });
    heads("three sequences of 2 tokens, 4 heads of 1", "three sequences, and back",
          (sizes){ 3, 2, 4, 1 });
    heads("one head", "one head, and back", (sizes){ 2, 3, 1, 4 });
    return judge_end();
}
