// Hint 1: Two lines for each weight, in the order of the two formulas.
// Hint 2: The velocity is changed first, and the new one moves the weight.
// Hint 3: v[i] = momentum * v[i] + g[i]; then w[i] -= lr * v[i].
// Why: With a constant gradient the velocity grows to g / (1 - momentum): with 0.9, steps become
//   ten times as long. Along a narrow valley this is what you want; across it the signs alternate
//   and the velocity stays small.
// Another way: v = momentum v - lr g and w += v. Equal while lr stays the same, and different when
//   a schedule changes it: the old velocity then still has the old lr in it. PyTorch and samba.h
//   keep lr out of v.
// A tempting wrong way: v = momentum v + (1 - momentum) g, an average of gradients. It is what Adam
//   does; here it makes the steps ten times shorter, which looks like a learning rate too small.
void step(float *w, const float *g, float *v, int n, float lr, float momentum)
{
    for (int i = 0; i < n; i++) {
        v[i] = momentum * v[i] + g[i];
        w[i] -= lr * v[i];
    }
}
