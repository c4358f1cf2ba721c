// Exercise 17b: choosing the next token.
//
// A language model gives a score to each of n tokens. To take the largest each time often makes a
// dull text that repeats itself, so one of the tokens is drawn, in three steps:
//
//     1. Only the k tokens with the largest scores remain ("top-k"); of equal scores, those with
//        the smaller number go first.
//     2. The probabilities of those that remain are the softmax of score / temperature.
//     3. Go through them from the smallest number on and add up their probabilities: the token at
//        which the sum first exceeds u is drawn, where 0 <= u < 1 is a random number that is given.
//        If rounding leaves the sum below u to the end, it is the last that remains.
//
// Fill in draw, which returns the token. With temperature 0 it returns the token with the largest
// score, the first of several, whatever u is. Large scores, such as 1000, must work. n is at most
// 64, k from 1 to n.
#include <math.h>

int draw(const float *score, int n, float temperature, int k, float u)
{
    (void)score;
    (void)n;
    (void)temperature;
    (void)k;
    (void)u;
    return -1;                                              // your code
}
