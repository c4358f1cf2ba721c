// Exercise 13b: a pair of tokens becomes one.
//
// The second half of a step of byte pair encoding (exercise 13a): wherever token b stands directly
// behind token a, the two are replaced by one new token. The text is read from left to right, and
// what has been merged is not used again: with a = b = 7 and the new token 9,
//
//     7 7 7 2 7 7    becomes    9 7 2 9
//
// Fill in merge: it changes the n tokens in place, so that the shorter text has no gaps, and
// returns how many tokens there are now.
int merge(int *token, int n, int a, int b, int new_token)
{
    (void)token;
    (void)a;
    (void)b;
    (void)new_token;
    return n;                                               // your code
}
