// Hint 1: Where in table does the row of token 3 begin, if a row has D floats?
// Hint 2: At 3 D. The token of sequence b at place t is id[b T + t]; it chooses the row of table,
//   and t chooses the row of position.
// Hint 3: Three loops, over b, t and d: y[(b T + t) D + d] is the sum of
//   table[id[b T + t] D + d] and position[t D + d].
// Why: A table is a matrix, and to take row 17 of it is to multiply it by a vector that is 1 at 17
//   and 0 elsewhere. Reading the row costs D operations and not V D.
// Another way: memcpy of the row of table, then a second loop that adds position. The same numbers,
//   and each loop is one that compilers make vectors of.
// A tempting wrong way: position[b T + t]. With one sequence it is right, and so are all tests that
//   have one. Each sequence counts its places from 0.
void embed(const float *table, const float *position, const int *id, float *y, int B, int T, int D)
{
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++) {
            int token = id[b * T + t];
            for (int d = 0; d < D; d++)
                y[(b * T + t) * D + d] = table[token * D + d] + position[t * D + d];
        }
}
