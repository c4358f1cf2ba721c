// Lesson 14, first half: attention: a table that is asked by likeness.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/14_attention.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints.
// New: query, key and value; attention; scaling. Next: 14_mask.c, the second half
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "show.h"
#include <math.h>

// Of each row of scores the largest weight that softmax makes; the mean of all rows.
static double largest_weight(samba_tensor *score)
{
    samba_tensor *most = samba_max(samba_softmax(score, 1), SAMBA_AXES(1), false);
    return number_at(samba_mean(most, SAMBA_AXES(0), false), 0);
}

// Scores of 64 random queries and 16 random keys, of d numbers each.
static void random_scores(samba_session *s, int d, const char *name_q, const char *name_k)
{
    samba_tensor *q = samba_randn(s, name_q, SAMBA_SHAPE(64, d));
    samba_tensor *k = samba_randn(s, name_k, SAMBA_SHAPE(d, 16));
    samba_tensor *score = samba_matmul(q, k);
    samba_tensor *variance = samba_mean(samba_mul(score, score), SAMBA_ALL_AXES, false);
    samba_tensor *divided = samba_scale(score, 1 / sqrtf((float)d));
    printf("D %d: variance %.0f, ", d, number_at(variance, 0));
    printf("largest weights %.2f, ", largest_weight(score));
    printf("divided %.2f\n", largest_weight(divided));
}

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false); // ops compute at once

    // 1. A word means different things beside different words, so a net must let words look at each
    //    other. An embedding (lesson 12) is asked by number, and answers with one row.
    //
    //    Attention is asked with a vector, the query. Each row of its table has a key, a vector as
    //    long as the query, and a value, the answer. They are separate, because a row is found by
    //    its key, not by its value: the keys of cat and dog differ, their values (4 legs) do not.
    //
    //    How much does a key fit? Multiply query and key number by number, and add up: this dot
    //    product is the score, large if both point the same way.
    //
    //    Let us ask: how many legs has a thing like a cat? The table has cat, dog and hen. The
    //    query, (0.5, 0.25), points as the cat's key (2, 1) does, and is a quarter as long. The
    //    first score is 0.5 x 2 + 0.25 x 1.
    // > scores: 1.25 1.00 -0.75
    const float key[3][2] = { { 2, 1 }, { 1, 2 }, { -2, 1 } };
    const float leg[3] = { 4, 4, 2 };
    const float like_cat[2][2] = { { 0.5f, 0.25f }, { 8, 4 } }; // the second one is for step 3
    samba_tensor *keys = samba_from_data_copy(s, "key", SAMBA_F32, SAMBA_SHAPE(3, 2), key);
    samba_tensor *legs = samba_from_data_copy(s, "leg", SAMBA_F32, SAMBA_SHAPE(3, 1), leg);
    samba_tensor *ask = samba_from_data_copy(s, "ask", SAMBA_F32, SAMBA_SHAPE(2, 2), like_cat);
    samba_tensor *score = samba_matmul(ask, samba_transpose(keys, 0, 1));
    printf("scores:");
    for (int i = 0; i < 3; i++) {
        printf(" %.2f", number_at(score, i));
    }
    printf("\n");

    // 2. A table answers with one row. But such a choice has no gradient: change the query a
    //    little, and it is still the same row. So take a little of every row. Softmax (lesson 7)
    //    makes weights of the scores, positive and of sum 1.
    // > weights: 0.52 0.41 0.07
    samba_tensor *weight = samba_softmax(score, 1);
    printf("weights:");
    for (int i = 0; i < 3; i++) {
        printf(" %.2f", number_at(weight, i));
    }
    printf("\n");

    // 3. And the answer is the mean of the values, so weighted: 0.52 x 4 + 0.41 x 4 + 0.07 x 2. If
    //    the query is 16 times as long, so are the scores, and it nearly picks one row. All of this
    //    has a gradient, so queries, keys and values can be learned. (Linear layers make them, says
    //    the second half.)
    // > 16 times as long: 0.98 0.02 0.00
    // > legs: 3.86 4.00
    printf("16 times as long:");
    for (int i = 3; i < 6; i++) {
        printf(" %.2f", number_at(weight, i));
    }
    printf("\n");
    print_tensor("legs", samba_matmul(weight, legs), 2);

    // 4. To pick only one is dangerous at the beginning, when scores mean nothing yet. A score is a
    //    sum of D products, if a key has D numbers, and of random queries and keys its variance is
    //    about D (lesson 6: squares add up).
    //
    //    Large scores make softmax pick one value, here of 16: its weight w nears 1, and its slope
    //    w (1 - w), like a sigmoid's, nears 0. Nothing is learned.
    //
    //    So divide all scores by sqrt(D). Then their variance is about 1 for any D. This is scaled
    //    dot-product attention. (If all 16 weights were equal, each would be 0.06.)
    // > D 4: variance 4, largest weights 0.45, divided 0.25
    // > D 256: variance 242, largest weights 0.91, divided 0.24
    random_scores(s, 4, "q4", "k4");
    random_scores(s, 256, "q256", "k256");

    // To think about:
    //   Which query finds hens? What does a query of zeros answer?
    //   Two rows have the same key. How does the answer share between their values?
    //
    // Now you: the exercises, 14a and 14b, are those of the second half, 14_mask.c. `make learn`
    // begins with the first that is open.
    return samba_close(s);
}
