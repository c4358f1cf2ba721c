// Hint 1: Element (i,j) of x lies at i n + j. Which element of b belongs to it?
// Hint 2: b[j], whatever i is. For the gradient: how often was b[j] read?
// Hint 3: Set all of db to zero, then add every dy (i,j) to db[j].
// Why: If a number is used in m places, a small change of it changes all m results, and the
//   changes of the loss add up. That is the rule behind every broadcast: what was repeated
//   forward is summed backward.
// Another way: For the gradient, the outer loop over j and one float as the sum. It reads dy
//   against its order, so the rows of a large dy come from memory n times.
// A tempting wrong way: db[j] = dy (i,j) in the loop. It compiles and trains, from the last row
//   alone.
void add_row(const float *x, const float *b, float *y, int m, int n)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) y[i * n + j] = x[i * n + j] + b[j];
}

void add_row_gradient(const float *dy, float *db, int m, int n)
{
    for (int j = 0; j < n; j++) db[j] = 0.0f;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) db[j] += dy[i * n + j];
}
