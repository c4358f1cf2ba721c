// Hint 1: How often does each row count in the mean over all rows? And in the mean of the means?
// Hint 2: A mean times its number of rows is a sum again. Add the sums, divide by all rows.
// Hint 3: mean[i] += g[r][i] * rows[r] / total, for the replicas that have rows; zero mean before.
// Why: With equal parts the mean of the means is right, and nobody notices anything; the last batch
//   of an epoch, or a loss that counts only some of its targets, makes the parts unequal.
// Another way: Each replica sends the sum of its rows, and their number as one more element; after
//   adding up, divide. No weights are needed, and a replica without rows sends zeros.
// A tempting wrong way: To multiply by rows[r], also if that is 0. 0 times what is no number is no
//   number, and so the whole gradient becomes.
void average(const float *const *g, const int *rows, int replicas, int n, float *mean)
{
    int total = 0;
    for (int r = 0; r < replicas; r++) total += rows[r];
    for (int i = 0; i < n; i++) {
        mean[i] = 0.0f;
        for (int r = 0; r < replicas; r++)
            if (rows[r] > 0) mean[i] += g[r][i] * (float)rows[r] / (float)total;
    }
}
