// Exercise 13a: which pair of tokens is the most frequent?
//
// Byte pair encoding builds a vocabulary from a text: it begins with single bytes as tokens, finds
// the pair of neighbors that occurs most often, makes it a new token, and begins again. Here is
// the first half of a step. Each token except the last one forms a pair with the token behind it,
// so pairs overlap: in 7 7 7 the pair (7,7) occurs twice.
//
// Fill in most_frequent_pair. Of n tokens from 0 ... V-1, it writes count (V,V), whatever that
// held before: how often b stands directly behind a is count[a V + b]. It returns a V + b of the
// pair with the largest count; of several, that with the smallest a, and then the smallest b. (In
// lesson 13 it is the first in the text. Either will do, if it stays the same.) If there is no
// pair, it returns -1.
int most_frequent_pair(const int *token, int n, int V, int *count)
{
    (void)token;
    (void)n;
    (void)V;
    count[0] = 0;                                           // your code
    return 0;
}
