// Hint 1: n tokens have n - 1 pairs. For which i is token[i + 1] a token of the text?
// Hint 2: Set count to zero, count while i + 1 < n, then look for the largest count from the first
//   to the last.
// Hint 3: Begin with best = 0 and change it when count[k] > count[best]: an equal count does not
//   replace it, so the first one wins. With n < 2 return -1.
// Why: The order of ties is part of the format. Two programs that choose differently build other
//   vocabularies from the same text, and a model cannot read the tokens of the other.
// Another way: A hash table from pair to count. V V integers are 10 GB for 50,000 tokens, and most
//   of them are 0; the pairs that occur are no more than n.
// A tempting wrong way: To skip a token when a pair was counted, so that 7 7 7 counts once. It is
//   how many pairs a merge can replace, but the counts of all common programs overlap.
int most_frequent_pair(const int *token, int n, int V, int *count)
{
    int best = 0;
    for (int k = 0; k < V * V; k++) count[k] = 0;
    for (int i = 0; i + 1 < n; i++) count[token[i] * V + token[i + 1]]++;
    for (int k = 0; k < V * V; k++)
        if (count[k] > count[best]) best = k;
    return n < 2 ? -1 : best;
}
