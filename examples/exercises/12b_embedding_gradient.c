// Exercise 12b: the gradient of an embedding.
//
// The forward pass of exercise 12a copies rows of a table (V,D): y[i] = table[id[i]], for n tokens.
// Backward, dy (n,D) says how the loss changes with each copy. The gradient dtable (V,D) says how
// it changes with each row of the table. A row may have been copied once, twice or often; most
// rows of a large vocabulary were not copied at all.
//
// Fill in embed_backward: it writes all of dtable, whatever that held before.
void embed_backward(const float *dy, const int *id, float *dtable, int n, int V, int D)
{
    (void)dy;
    (void)id;
    (void)n;
    (void)V;
    (void)D;
    dtable[0] = 0.0f;                                       // your code
}
