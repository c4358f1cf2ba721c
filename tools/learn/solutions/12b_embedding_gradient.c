// Hint 1: If "the" stands in a text twice and its row changes a little, how many rows of y change?
// Hint 2: Two, and what they do to the loss adds up. A row that was not copied changes nothing.
// Hint 3: Set all V D numbers to zero; then for each i and d, dtable[id[i] D + d] += dy[i D + d].
// Why: Forward gathers rows, backward scatters what comes back and adds. It is the rule of exercise
//   02b again: a number that was used m times gets the sum of m gradients.
// Another way: For each token v of the vocabulary, add up the dy of all places i with id[i] = v. It
//   takes V n comparisons and no two places write the same row, so threads can share the work
//   without waiting for each other.
// A tempting wrong way: dtable[id[i]] = dy[i]. Only the last "the" of the text teaches anything;
//   the loss still falls, so one does not notice.
void embed_backward(const float *dy, const int *id, float *dtable, int n, int V, int D)
{
    for (int k = 0; k < V * D; k++) dtable[k] = 0.0f;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < D; d++) dtable[id[i] * D + d] += dy[i * D + d];
}
