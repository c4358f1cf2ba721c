#include "../judge.h"
#include EXERCISE

enum { MOST = 128 };

enum { RIGHT, NO_POSITION, RUNNING, BY_TOKEN, BY_PLACE, TRANSPOSED, NO_ROWS, FIRST_SEQUENCE };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_POSITION, "no_position", "the positions are not added." },
    { RUNNING, "running_position",
      "sequence 1 goes on counting where sequence 0 ended. Each sequence has its places 0 ... T-1: "
      "position[t], whatever b is." },
    { BY_TOKEN, "position_of_token",
      "the row of position is that of the token; it is that of the place t." },
    { BY_PLACE, "row_of_place",
      "the rows of table come one after another, as if the tokens were 0, 1, 2 ... The row is "
      "id[b][t], not the place." },
    { TRANSPOSED, "transposed",
      "table is read by columns, as (D,V). The D numbers of a token lie side by side: "
      "table[id D + d]." },
    { NO_ROWS, "no_rows", "the row of token i begins at i D, not at i: each token has D numbers." },
    { FIRST_SEQUENCE, "first_sequence", "all sequences have the tokens of sequence 0." },
};

static int compute(const float *table, const float *position, const int *id, int B, int T, int V,
                   int D, int e, float *y)
{
    for (int k = 0; k < B * T * D; k++) {
        int place = k / D, t = place % T, d = k % D;
        int token = id[e == FIRST_SEQUENCE ? t : place];
        int row = e == BY_PLACE ? place : token;
        int at = row * D + d;
        if (e == TRANSPOSED) at = d * V + token;
        if (e == NO_ROWS) at = token + d;
        int where = t;
        if (e == RUNNING) where = place;
        if (e == BY_TOKEN) where = token;
        y[k] = table[at] + (e == NO_POSITION ? 0 : position[where * D + d]);
    }
    return B * T * D;
}

static void sequences(const char *what, const int *id, int B, int T, int V, int D)
{
    float table[MOST], position[MOST], want[MOST], wrong[MOST];
    for (int k = 0; k < MOST; k++) {
        table[k] = (float)(100 * (k / D) + k % D);
        position[k] = (float)(1 + k * k % 101) / 8;
    }
    judge_case(what);
    const size_t row = sizeof(float) * (size_t)D;
    float *own_table = judge_copy(table, row * (size_t)V), *y = judge_room(B * T * D + 1, 9999);
    embed(own_table, position, id, y, B, T, D);     // a wrong row of position is recognized
    free(own_table);
    int n = compute(table, position, id, B, T, V, D, RIGHT, want);
    judge_got(y, n);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(table, position, id, B, T, V, D, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, n);
    }
    judge_want(want, n, 1e-6);
    judge_holds(y[n] == 9999, "past_the_end", "it writes behind the end of y, which is (B,T,D).");
    free(y);
}

int main(void)
{
    judge_begin();
    sequences("one sequence of 4 tokens, 3 numbers each", (const int[]){ 5, 0, 2, 5 }, 1, 4, 6, 3);
    sequences("two sequences of 3 tokens, 4 numbers each", (const int[]){ 1, 6, 1, 3, 0, 6 }, 2, 3,
              7, 4);
    sequences("three sequences of one token, one number each", (const int[]){ 4, 4, 1 }, 3, 1, 5,
              1);
    return judge_end();
}
