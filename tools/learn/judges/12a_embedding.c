#include "../judge.h"

enum { MOST = 128, HELD = 9999 };

typedef struct shape {
    int B, T, V, D;
} shape;

static int right_with(int probe, const float *table, const float *position, const int *id, shape s)
{
    float *y = judge_room(MOST, HELD);
    embed(table, position, id, y, s.B, s.T, s.D);
    int right = judge_probe(probe, y, s.B * s.T * s.D, 1e-6);
    return right;
}

// With zeros in one of the tables, is what comes of the other right?
static void clues(const float *table, const float *position, const int *id, shape s)
{
    static const float zeros[MOST];
    if (!judge_is_wrong(1e-6)) return;
    int of_table = right_with(1, table, zeros, id, s);
    int of_position = right_with(2, zeros, position, id, s);
    judge_clue(of_table && !of_position, "only_position_wrong");
    judge_clue(of_position && !of_table, "only_table_wrong");
}

// Behind id lie known numbers: what is read there is recognized.
static void sequences(const char *what, const int *id, shape s)
{
    float *table = judge_room(s.V * s.D, 0), *position = judge_room(s.T * s.D, 0);
    float *y = judge_room(MOST, HELD);
    int known[MOST] = { 0 }, n = s.B * s.T * s.D;
    memcpy(known, id, sizeof *id * (size_t)(s.B * s.T));
    for (int k = 0; k < s.V * s.D; k++) table[k] = (float)(100 * (k / s.D) + k % s.D + k % 7);
    for (int k = 0; k < s.T * s.D; k++) position[k] = (float)(1 + k * k % 101) / 8;
    judge_case(what);
    embed(table, position, known, y, s.B, s.T, s.D);
    judge_got_array("y", y, s.B * s.T, s.D);
    clues(table, position, known, s);
    judge_compare(1e-6);
    judge_holds(judge_untouched(y + n, MOST - n), "past_the_end");
}

static void judge_cases(void)
{
    sequences("two sequences of 3 tokens, 4 numbers each", (const int[]){ 1, 6, 1, 3, 0, 6 },
              (shape){ 2, 3, 7, 4 });
    sequences("one sequence of 4 tokens, 3 numbers each", (const int[]){ 5, 0, 2, 5 },
              (shape){ 1, 4, 6, 3 });
    sequences("three sequences of one token, one number each", (const int[]){ 4, 4, 1 },
              (shape){ 3, 1, 5, 1 });
}
