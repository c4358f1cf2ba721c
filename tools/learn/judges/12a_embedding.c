#include "../judge.h"
#include EXERCISE

enum { MOST = 128, AROUND = 32, HELD = 9999 };

// Errors of the position, of the token, of table, of y, and of the sum.
enum { RIGHT, NO_POSITION, RUNNING, BY_TOKEN, OF_SEQUENCE, ROW_0, FROM_ONE, POSITION_TRANSPOSED,
       POSITION_NO_ROWS, POSITION_BY_T, POSITION_NUMBER, BY_PLACE, BY_T, FIRST_SEQUENCE, ID_TB,
       ID_BB, ID_BD, TRANSPOSED, NO_ROWS, ROWS_OF_T, ONE_BEFORE, ONE_BEHIND, SHARED, NO_TABLE,
       PRODUCT, DIFFERENCE, AVERAGE, SCALED, ADDED_TO_OLD, IDS, Y_TBD, Y_BDT, Y_NO_D, Y_NO_T,
       NO_LAST, NO_LAST_TOKEN };

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
    { OF_SEQUENCE, "position_of_sequence",
      "the row of position is b, the number of the sequence; it is t, the place in it." },
    { ROW_0, "position_0", "all places get row 0 of position: row t begins at t D." },
    { FROM_ONE, "position_from_one", "place t gets row t + 1 of position: places count from 0." },
    { POSITION_TRANSPOSED, "position_transposed",
      "position is read by columns, as (D,T); it is (T,D): position[t D + d]." },
    { POSITION_NO_ROWS, "position_no_rows",
      "row t of position begins at t D, not at t: each place has D numbers." },
    { POSITION_BY_T, "position_rows_of_t", "a row of position has D numbers, not T." },
    { POSITION_NUMBER, "place_number",
      "the number t itself is added. The second table has D numbers for each place: position[t]." },
    { BY_PLACE, "row_of_place",
      "the rows of table come one after another, as if the tokens were 0, 1, 2 ... The row is "
      "id[b][t], not the place." },
    { BY_T, "row_of_t",
      "place t gets row t of table. The row is id[b][t], the token that stands there." },
    { FIRST_SEQUENCE, "first_sequence", "all sequences have the tokens of sequence 0." },
    { ID_TB, "ids_transposed", "id is read as (T,B); it is (B,T): id[b T + t]." },
    { ID_BB, "id_rows_of_b", "a row of id was taken to have B tokens; a sequence has T." },
    { ID_BD, "id_rows_of_d", "a row of id was taken to have D tokens; a sequence has T." },
    { TRANSPOSED, "transposed",
      "table is read by columns, as (D,V). The D numbers of a token lie side by side: "
      "table[id D + d]." },
    { NO_ROWS, "no_rows", "the row of token i begins at i D, not at i: each token has D numbers." },
    { ROWS_OF_T, "rows_of_t", "a row of table was taken to have T numbers; it has D." },
    { ONE_BEFORE, "one_before", "token i gets row i - 1 of table: ids count from 0." },
    { ONE_BEHIND, "one_behind", "token i gets row i + 1 of table: ids count from 0." },
    { SHARED, "first_number_only",
      "all D numbers of a token are the first of its row: table[id D + d], with d." },
    { NO_TABLE, "no_table",
      "y is the position alone: the row of table is missing, or overwritten." },
    { PRODUCT, "product", "row and position are multiplied; they are added." },
    { DIFFERENCE, "difference", "the position is subtracted; it is added." },
    { AVERAGE, "average", "row and position are averaged; they are added." },
    { SCALED, "scaled",
      "the row of table is multiplied by the root of D. Some models do; here it is added as it "
      "is." },
    { ADDED_TO_OLD, "added_to_old",
      "row and position are added to what y held before: =, not +=." },
    { IDS, "ids", "the id itself is in the sum, and not its row of table." },
    { Y_TBD, "y_places_first", "y was written as (T,B,D); it is (B,T,D): (b T + t) D + d." },
    { Y_BDT, "y_numbers_first", "y was written as (B,D,T); it is (B,T,D): (b T + t) D + d." },
    { Y_NO_D, "y_overlaps",
      "in y, tokens begin one number apart, and overwrite each other: each has D numbers." },
    { Y_NO_T, "y_sequences_overlap",
      "all sequences were written to the beginning of y: sequence b begins at b T D." },
    { NO_LAST, "last_number", "the last number of each token was not written: d runs to D - 1." },
    { NO_LAST_TOKEN, "last_token",
      "the last token of each sequence was not written: t runs from 0 to T - 1." },
};

typedef struct shape {
    int B, T, V, D;
} shape;

static float from_table(const float *table, const int *id, shape s, int b, int t, int d, int e)
{
    int at = b * s.T + t;
    if (e == FIRST_SEQUENCE) at = t;
    if (e == ID_TB) at = t * s.B + b;
    if (e == ID_BB) at = b * s.B + t;
    if (e == ID_BD) at = b * s.D + t;
    int row = at < s.B * s.T ? id[at] : 0;
    if (e == BY_PLACE) row = b * s.T + t;
    if (e == BY_T) row = t;
    if (e == ONE_BEFORE) row--;
    if (e == ONE_BEHIND) row++;
    if (e == NO_TABLE) return 0;
    if (e == IDS) return (float)row;
    if (e == TRANSPOSED) return table[d * s.V + row];
    if (e == NO_ROWS) return table[row + d];
    if (e == ROWS_OF_T) return table[row * s.T + d];
    if (e == SHARED) return table[row * s.D];
    return table[row * s.D + d] * (e == SCALED ? sqrtf((float)s.D) : 1);
}

static float from_position(const float *position, const int *id, shape s, int b, int t, int d,
                           int e)
{
    int row = t;
    if (e == NO_POSITION) return 0;
    if (e == POSITION_NUMBER) return (float)t;
    if (e == POSITION_TRANSPOSED) return position[d * s.T + t];
    if (e == POSITION_NO_ROWS) return position[t + d];
    if (e == POSITION_BY_T) return position[t * s.T + d];
    if (e == RUNNING) row = b * s.T + t;
    if (e == BY_TOKEN) row = id[b * s.T + t];
    if (e == OF_SEQUENCE) row = b;
    if (e == ROW_0) row = 0;
    if (e == FROM_ONE) row = t + 1;
    return position[row * s.D + d];
}

static int y_at(shape s, int b, int t, int d, int e)
{
    if (e == Y_TBD) return (t * s.B + b) * s.D + d;
    if (e == Y_BDT) return (b * s.D + d) * s.T + t;
    if (e == Y_NO_D) return b * s.T + t + d;
    if (e == Y_NO_T) return t * s.D + d;
    return (b * s.T + t) * s.D + d;
}

static int compute(const float *table, const float *position, const int *id, shape s, int e,
                   float *y)
{
    for (int k = 0; k < MOST; k++)
        y[k] = HELD;
    for (int k = 0; k < s.B * s.T * s.D; k++) {
        int b = k / s.D / s.T, t = k / s.D % s.T, d = k % s.D;
        float a = from_table(table, id, s, b, t, d, e);
        float p = from_position(position, id, s, b, t, d, e), sum = a + p;
        if ((e == NO_LAST && d == s.D - 1) || (e == NO_LAST_TOKEN && t == s.T - 1)) continue;
        if (e == PRODUCT) sum = a * p;
        if (e == DIFFERENCE) sum = a - p;
        if (e == AVERAGE) sum = (a + p) / 2;
        if (e == ADDED_TO_OLD) sum += HELD;
        y[y_at(s, b, t, d, e)] = sum;
    }
    return s.B * s.T * s.D;
}

static int right_with(const float *table, const float *position, const int *id, shape s)
{
    float want[MOST], *y = judge_room(MOST, HELD);
    int n = compute(table, position, id, s, RIGHT, want), right = 1;
    embed(table, position, id, y, s.B, s.T, s.D);
    for (int k = 0; k < n; k++)
        right &= judge_close((double)y[k], (double)want[k], 1e-6);
    free(y);
    return right;
}

// No known mistake: with zeros in one of the tables, is what comes of the other right?
static void narrow(const float *table, const float *position, const int *id, shape s)
{
    static const float zeros[MOST + 2 * AROUND];
    if (judge.mistake || right_with(table, position, id, s)) return;
    int of_table = right_with(table, zeros, id, s);
    int of_position = right_with(zeros + AROUND, position, id, s);
    if (of_table == of_position) return;
    judge.mistake = of_table ? "only_position_wrong" : "only_table_wrong";
    judge.sentence = of_table
        ? "with a position of zeros y is right, so the rows of table are: look at the index of "
          "position."
        : "with a table of zeros y is right, so the positions are: look at the index of table, and "
          "at that of id.";
}

// Around table, behind position and behind id lie known numbers: what is read there is recognized.
static void sequences(const char *what, const int *id, shape s)
{
    float around[MOST + 2 * AROUND], *table = around + AROUND, position[MOST];
    float want[MOST], wrong[MOST], *y = judge_room(MOST, HELD);
    int known[MOST] = { 0 };
    memcpy(known, id, sizeof *id * (size_t)(s.B * s.T));
    for (int k = 0; k < MOST + 2 * AROUND; k++)
        around[k] = (float)(100 * ((k - AROUND) / s.D) + k % s.D + k % 7);
    for (int k = 0; k < MOST; k++)
        position[k] = (float)(1 + k * k % 101) / 8;
    judge_case(what);
    embed(table, position, known, y, s.B, s.T, s.D);
    int n = compute(table, position, id, s, RIGHT, want), behind = 0;
    judge_got(y, n);
    judge_part("y", s.B * s.T, s.D);
    for (unsigned k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        compute(table, position, id, s, mistakes[k].e, wrong);
        judge_mistake(mistakes[k].name, mistakes[k].sentence, wrong, n);
    }
    narrow(table, position, known, s);
    judge_want(want, n, 1e-6);
    for (int k = n; k < MOST; k++)
        behind |= y[k] != HELD;
    judge_holds(!behind, "past_the_end", "it writes behind the end of y, which is (B,T,D).");
    free(y);
    const size_t row = sizeof(float) * (size_t)s.D;
    float *own[] = { judge_copy(table, row * (size_t)s.V), judge_copy(position, row * (size_t)s.T),
                     judge_room(n, HELD) };
    int *own_id = judge_copy(id, sizeof(int) * (size_t)(s.B * s.T));
    embed(own[0], own[1], own_id, own[2], s.B, s.T, s.D);      // for the sanitizer
    for (int k = 0; k < 3; k++)
        free(own[k]);
    free(own_id);
}

int main(void)
{
    judge_begin();
    sequences("two sequences of 3 tokens, 4 numbers each", (const int[]){ 1, 6, 1, 3, 0, 6 },
              (shape){ 2, 3, 7, 4 });
    sequences("one sequence of 4 tokens, 3 numbers each", (const int[]){ 5, 0, 2, 5 },
              (shape){ 1, 4, 6, 3 });
    sequences("three sequences of one token, one number each", (const int[]){ 4, 4, 1 },
              (shape){ 3, 1, 5, 1 });
    return judge_end();
}
