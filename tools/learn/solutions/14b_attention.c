// Hint 1: Do one t at a time: its S scores, their softmax, then a mean of the S values with these
//   weights.
// Hint 2: The softmax of a row: subtract the largest score, take exp, divide by the sum.
// Hint 3: y[t E + e] is the sum over s of p[s] v[s E + e]. Queries and keys have rows of D numbers,
//   v and y of E.
// Why: A dictionary finds the one key that equals the query. Attention finds all that are similar,
//   and gives a mean of their values: that can be differentiated. If q and k have numbers of size
//   1, their product has the size sqrt(D); without the division a softmax would choose one token
//   from the first step on, and pass hardly a gradient to others.
// Another way: Three whole steps: a product q k^T of matrices, a softmax of its rows, a product
//   with v. It is what libraries call, and it needs memory for T S numbers; a loop over t needs S.
// A tempting wrong way: The softmax over t, down the columns. For T = S it has the right shape, and
//   every row of y is then a sum of values whose weights do not sum to 1.
#include <math.h>

typedef struct sizes {
    int T, S;
    int D, E;
} sizes;

void attention(const float *q, const float *k, const float *v, float *y, sizes n)
{
    for (int t = 0; t < n.T; t++) {
        float p[64], largest = -INFINITY, sum = 0.0f;
        for (int s = 0; s < n.S; s++) {
            float dot = 0.0f;
            for (int d = 0; d < n.D; d++) dot += q[t * n.D + d] * k[s * n.D + d];
            p[s] = dot / sqrtf((float)n.D);
            if (p[s] > largest) largest = p[s];
        }
        for (int s = 0; s < n.S; s++) {
            p[s] = expf(p[s] - largest);
            sum += p[s];
        }
        for (int e = 0; e < n.E; e++) {
            y[t * n.E + e] = 0.0f;
            for (int s = 0; s < n.S; s++) y[t * n.E + e] += p[s] / sum * v[s * n.E + e];
        }
    }
}
