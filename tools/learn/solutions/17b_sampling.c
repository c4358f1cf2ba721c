// Hint 1: Does token i remain? Count the tokens that go before it: those with a larger score, and
//   those with an equal one and a smaller number.
// Hint 2: Softmax: subtract the largest score, divide by the temperature, take exp, divide by the
//   sum, where the sum is that of the remaining tokens only.
// Hint 3: p[i] is 0 for tokens that do not remain. Then go through all i, skip those with p[i] of
//   0, remember i as the last one, add p[i] / sum, and return at the first sum > u.
// Why: A low temperature makes large differences of scores larger: near 0 the best token has all,
//   at 1 the model's own probabilities stand, above 1 they become alike. top-k cuts off the many
//   tokens that are each unlikely, and together are not.
// Another way: Add -log(-log(uniform)) to each score and take the largest ("Gumbel"): the same
//   distribution without a softmax, but with n random numbers.
// A tempting wrong way: To cut off after the softmax, and not to divide again. The probabilities
//   sum to less than 1, and what is missing falls to the last token.
#include <math.h>

int draw(const float *score, int n, float temperature, int k, float u)
{
    float p[64], sum = 0.0f, below = 0.0f;
    int best = 0, last = 0;
    for (int i = 1; i < n; i++)
        if (score[i] > score[best]) best = i;
    if (temperature == 0.0f) return best;
    for (int i = 0; i < n; i++) {
        int before = 0;
        for (int j = 0; j < n; j++)
            before += score[j] > score[i] || (score[j] == score[i] && j < i);
        p[i] = before < k ? expf((score[i] - score[best]) / temperature) : 0.0f;
        sum += p[i];
    }
    for (int i = 0; i < n; i++) {
        if (p[i] == 0.0f) continue;
        last = i;
        below += p[i] / sum;
        if (below > u) return i;
    }
    return last;
}
