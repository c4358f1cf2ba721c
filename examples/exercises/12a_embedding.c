// Exercise 12a: an embedding, or how a token becomes numbers.
//
// A token is a number such as 17: the name of a word or of a letter, with which one cannot
// compute. A table has D floats for each token of the vocabulary, its embedding: table (V,D). A
// second table has D floats for each place in a sequence: position (T,D). For B sequences of T
// tokens, id (B,T), a language model begins with
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
