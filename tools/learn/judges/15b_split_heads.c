#include "../judge.h"
#include EXERCISE

enum { MOST = 128 };

enum { RIGHT, COPIED, INTERLEAVED, HEADS_FIRST, ROWS_OF_D, FIRST_SEQUENCE, FIRST_HEAD, SPLIT };

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
    { FIRST_SEQUENCE, "first_sequence", "all sequences have the numbers of sequence 0." },
    { FIRST_HEAD, "first_head", "all heads have the numbers of head 0; head h begins at h D." },
};

static const mistake joining[] = {
    { SPLIT, "split_again",
      "join_heads does what split_heads does, once more. The way back reads (B,H,T,D) and writes "
      "(B,T,H*D)." },
    { COPIED, "joined_by_copy", "the numbers lie as before; T and H have to change places again." },
    { INTERLEAVED, "joined_interleaved",
      "the numbers of the heads alternate; the D of head h lie side by side, from h D on." },
    { FIRST_HEAD, "joined_first_head", "all heads were taken from head 0." },
};

// Where element k of (B,H,T,D) lies in (B,T,H*D).
static int place(sizes n, int k, int e)
{
    int d = k % n.D, t = k / n.D % n.T, h = k / n.D / n.T % n.H, b = k / n.D / n.T / n.H;
    if (e == HEADS_FIRST) {
        b = k / n.D / n.T % n.B;
        h = k / n.D / n.T / n.B;
    }
    if (e == ROWS_OF_D) {
        t = k % n.T;
        d = k / n.T % n.D;
    }
    if (e == FIRST_SEQUENCE) b = 0;
    if (e == FIRST_HEAD) h = 0;
    if (e == COPIED) return k;
    int within = e == INTERLEAVED ? d * n.H + h : h * n.D + d;
    return (b * n.T + t) * n.H * n.D + within;
}

static void judge_split(const float *x, sizes n, int count)
{
    float want[MOST], wrong[MOST], *y = judge_room(count, -9);
    float *own = judge_copy(x, sizeof(float) * (size_t)count);
    split_heads(own, y, n);
    free(own);
    judge_got(y, count);
    for (int k = 0; k < count; k++)
        want[k] = x[place(n, k, RIGHT)];
    for (unsigned i = 0; i < sizeof splitting / sizeof(mistake); i++) {
        for (int k = 0; k < count; k++)
            wrong[k] = x[place(n, k, splitting[i].e)];
        judge_mistake(splitting[i].name, splitting[i].sentence, wrong, count);
    }
    judge_want(want, count, 0);
    free(y);
}

static void judge_join(const float *y, sizes n, int count)
{
    float want[MOST], wrong[MOST], *x = judge_room(count, -9);
    float *own = judge_copy(y, sizeof(float) * (size_t)count);
    join_heads(own, x, n);
    free(own);
    judge_got(x, count);
    for (int k = 0; k < count; k++)
        want[place(n, k, RIGHT)] = y[k];
    for (unsigned i = 0; i < sizeof joining / sizeof(mistake); i++) {
        int e = joining[i].e;
        for (int k = 0; k < count; k++) {
            if (e == SPLIT)
                wrong[k] = y[place(n, k, RIGHT)];
            else if (e == FIRST_HEAD)
                wrong[place(n, k, RIGHT)] = y[k - k / n.D / n.T % n.H * n.D * n.T];
            else
                wrong[place(n, k, e)] = y[k];
        }
        judge_mistake(joining[i].name, joining[i].sentence, wrong, count);
    }
    judge_want(want, count, 0);
    free(x);
}

static void heads(const char *what, const char *back, sizes n)
{
    float x[MOST];
    for (int k = 0; k < MOST; k++)
        x[k] = (float)(k + 1);
    judge_case(what);
    judge_split(x, n, n.B * n.T * n.H * n.D);
    judge_case(back);
    judge_join(x, n, n.B * n.T * n.H * n.D);
}

int main(void)
{
    judge_begin();
    heads("one sequence of 3 tokens, 2 heads of 4", "and back", (sizes){ 1, 3, 2, 4 });
    heads("two sequences of 5 tokens, 3 heads of 2", "two sequences, and back",
          (sizes){ 2, 5, 3, 2 });
    heads("three sequences of 2 tokens, 4 heads of 1", "three sequences, and back",
          (sizes){ 3, 2, 4, 1 });
    heads("one head", "one head, and back", (sizes){ 2, 3, 1, 4 });
    return judge_end();
}
