// Hint 1: You need two arrays of 64 floats: for what norm writes, and for what a branch writes.
// Hint 2: The branch reads what norm wrote, and its result is added to x itself, which stayed as
//   it was.
// Hint 3: norm(0, x, normed, n); attention(normed, branch, n); x[i] += branch[i]; then the same
//   three with norm 1 and net.
// Why: From the first block to the last there is a way on which only additions happen. Backward,
//   the gradient takes that way unchanged, however many blocks there are: that is why 100 blocks
//   can be trained.
// Another way: Post-norm, x = norm(x + attention(x)), as in the first paper (Vaswani et al., 2017).
//   It is a net, too, but its gradient passes every norm, and deep ones need a careful warmup.
// A tempting wrong way: To normalize x in place and add the branch to that. The tests of shapes
//   pass, and the way of the additions leads through all norms.
void norm(int number, const float *x, float *y, int n);
void attention(const float *x, float *y, int n);
void net(const float *x, float *y, int n);

void block(float *x, int n)
{
    float normed[64], branch[64];
    norm(0, x, normed, n);
    attention(normed, branch, n);
    for (int i = 0; i < n; i++) x[i] += branch[i];
    norm(1, x, normed, n);
    net(normed, branch, n);
    for (int i = 0; i < n; i++) x[i] += branch[i];
}
