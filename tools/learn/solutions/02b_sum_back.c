// Hint 1: Go through all elements of dy. Each belongs to one element of dx: to which, if dy's is
//   (i0, i1, i2)?
// Hint 2: To the one with the same index, but 0 in each dimension in which small has size 1.
// Hint 3: For number k of dy, from the last dimension to the first: i = k % big[d], k /= big[d]; if
//   small[d] > 1, add i * step; step *= small[d]. Then dx[at] += dy.
// Why: A copy that is read changes the loss by its own dy. The element is all of its copies at
//   once, so its derivative is their sum. This one function is the backward pass of broadcasting in
//   every op: a bias, a mean per channel, a scalar.
// Another way: Strides. Give dx the stride 0 in each dimension of size 1; then a plain loop over
//   big finds the place as the sum of index times stride. This is how libraries broadcast forward,
//   too: the repeated dimension has stride 0.
// A tempting wrong way: dx[k % count] += dy[k]. It is right for a row that is added to all rows,
//   the commonest case, and mixes up columns.
void sum_back(const float *dy, const int *big, float *dx, const int *small, int n)
{
    int elements = 1, count = 1;
    for (int d = 0; d < n; d++) {
        elements *= big[d];
        count *= small[d];
    }
    for (int i = 0; i < count; i++) dx[i] = 0.0f;
    for (int number = 0; number < elements; number++) {
        int k = number, at = 0, step = 1;
        for (int d = n - 1; d >= 0; d--) {
            int i = k % big[d];
            k /= big[d];
            if (small[d] > 1) at += i * step;
            step *= small[d];
        }
        dx[at] += dy[number];
    }
}
