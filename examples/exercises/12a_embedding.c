// Exercise 12a: an embedding, or how a token becomes numbers.
//
// An id is a number such as 17: the name of a word, or of a piece of one, with which one cannot
// compute. (Such a piece is called a token, see lesson 13.) A table has a row of D floats for each
// of the V ids there are, its embedding: table (V,D). The order counts, too: a second table has D
// floats for each place in a text: position (T,D). For B texts of T tokens each, id (B,T), a
// language model begins with
//
//     y[b][t]  =  table[id[b][t]]  +  position[t]           D numbers each, so y is (B,T,D)
//
// Fill in embed.
void embed(const float *table, const float *position, const int *id, float *y, int B, int T, int D)
{
    (void)table;
    (void)position;
    (void)id;
    (void)B;
    (void)T;
    (void)D;
    y[0] = 0.0f;                                            // your code
}
