// Hint 1: Nothing is computed, all is moved. Where in x do the D numbers of (b,t,h) begin?
// Hint 2: In x at ((b T + t) H + h) D, and in y at ((b H + h) T + t) D.
// Hint 3: Four loops, over b, t, h and d; join_heads has the same two places, and copies from y to
//   x.
// Why: (B,T,H*D) and (B,T,H,D) are the same bytes: to see a dimension as two costs nothing. Only
//   the exchange of T and H moves anything, and it moves D numbers at a time.
// Another way: Move nothing: let attention read head h of a token at x + t H D + h D, with rows that
//   are H D apart. Fast libraries do it so; the bytes are read in another order.
// A tempting wrong way: To see the same bytes as (B,H,T,D). The shape is right, nothing complains,
//   and head 0 gets all the numbers of the first tokens.
typedef struct sizes {
    int B, T, H, D;
} sizes;

static int joined(sizes n, int b, int t, int h)
{
    return ((b * n.T + t) * n.H + h) * n.D;
}

static int split(sizes n, int b, int t, int h)
{
    return ((b * n.H + h) * n.T + t) * n.D;
}

void split_heads(const float *x, float *y, sizes n)
{
    for (int b = 0; b < n.B; b++)
        for (int t = 0; t < n.T; t++)
            for (int h = 0; h < n.H; h++)
                for (int d = 0; d < n.D; d++)
                    y[split(n, b, t, h) + d] = x[joined(n, b, t, h) + d];
}

void join_heads(const float *y, float *x, sizes n)
{
    for (int b = 0; b < n.B; b++)
        for (int t = 0; t < n.T; t++)
            for (int h = 0; h < n.H; h++)
                for (int d = 0; d < n.D; d++)
                    x[joined(n, b, t, h) + d] = y[split(n, b, t, h) + d];
}
