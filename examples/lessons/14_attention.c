// Lesson 14: attention, by hand and then as one op.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/14_attention.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson maps.svg draws. New: query, key, value.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
enum { T = 5, D = 16 };                 // tokens, and numbers of each query, key and value
static void print_row(const char *name, const float *x, int n)
{
    printf("%s:", name);
    for (int i = 0; i < n; i++) printf(" %.2f", (double)x[i]);
    printf("\n");
}
static double change(samba_tensor *a, samba_tensor *b, int first_row, int end_row)
{
    float most = 0;
    for (int i = first_row * D; i < end_row * D; i++)
        most = fmaxf(most, fabsf(samba_read(a)[i] - samba_read(b)[i]));
    return (double)most;
}
static samba_tensor *attend(samba_tensor *const qkv[3], const char *name, const int32_t order[T],
                            bool causal)
{
    samba_attention_opts opts = { .causal = causal };                   // scale: 1 / sqrt(D)
    samba_tensor *i = samba_from_data_copy(qkv[0]->session, name, SAMBA_I32, SAMBA_SHAPE(T), order);
    samba_tensor *k = samba_lookup(i, qkv[1]), *v = samba_lookup(i, qkv[2]);
    return samba_scaled_dot_product_attention(qkv[0], k, v, NULL, &opts);
}
static double largest(samba_tensor *score)              // weight of a row, mean of all rows
{
    samba_tensor *most = samba_max(samba_softmax(score, 1), SAMBA_AXES(1), false);
    return (double)samba_read(samba_mean(most, SAMBA_AXES(0), false))[0];
}
static void random_scores(samba_session *s, int d, const char *name_q, const char *name_k)
{
    samba_tensor *q = samba_randn(s, name_q, SAMBA_SHAPE(64, d));
    samba_tensor *score = samba_matmul(q, samba_randn(s, name_k, SAMBA_SHAPE(d, 16)));  // 16 keys
    samba_tensor *variance = samba_mean(samba_mul(score, score), SAMBA_ALL_AXES, false);
    printf("D %d: variance %.0f, largest weights %.2f, divided %.2f\n", d,
           (double)samba_read(variance)[0], largest(score),
           largest(samba_scale(score, 1 / sqrtf((float)d))));
}
int main(int argc, char **argv)
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);        // ops compute at once
    // 1. An embedding (lesson 12) is asked by number, and answers with one row. Attention is asked
    //    with a vector, the query: each row has a key, as long; their dot product, number times
    //    number added up, is the score, large if they point the same way. Softmax (lesson 7) makes
    //    weights of scores, and the answer is the mean of the values, so weighted. How many legs
    //    has a thing like a cat? Keys and values (legs) of cat, dog, hen; the first score is
    //    0.5 x 2 + 0.25 x 1. Then a query 16 times as long, which nearly picks one.
    // > scores: 1.25 1.00 -0.75
    // > weights: 0.52 0.41 0.07
    // > 16 times as long: 0.98 0.02 0.00
    // > legs: 3.86 4.00
    float key[] = { 2, 1, 1, 2, -2, 1 }, leg[] = { 4, 4, 2 }, like_cat[] = { 0.5f, 0.25f, 8, 4 };
    samba_tensor *keys = samba_from_data(s, "key", SAMBA_F32, SAMBA_SHAPE(3, 2), key);
    samba_tensor *legs = samba_from_data(s, "leg", SAMBA_F32, SAMBA_SHAPE(3, 1), leg);
    samba_tensor *ask = samba_from_data(s, "ask", SAMBA_F32, SAMBA_SHAPE(2, 2), like_cat);
    samba_tensor *score = samba_matmul(ask, samba_transpose(keys, 0, 1));
    samba_tensor *weight = samba_softmax(score, 1);
    print_row("scores", samba_read(score), 3);
    print_row("weights", samba_read(weight), 3);
    print_row("16 times as long", samba_read(weight) + 3, 3);
    print_row("legs", samba_read(samba_matmul(weight, legs)), 2);
    // 2. A score is a sum of D products, and of random queries and keys its variance is about D.
    //    Large scores make softmax pick one value, here of 16: its weight w nears 1, its slope
    //    w (1 - w), like a sigmoid's, 0. From now on divide by sqrt(D): variance about 1 for any D.
    // > D 4: variance 4, largest weights 0.45, divided 0.25
    // > D 256: variance 242, largest weights 0.91, divided 0.24
    random_scores(s, 4, "q4", "k4");
    random_scores(s, 256, "q256", "k256");
    // 3. In self-attention each of T tokens makes query, key and value of its D numbers by linear
    //    layers, which learn (here q, k and v are random), and asks all tokens. So it finds what it
    //    needs at any place; a kernel (lesson 11) sees neighbours alone, and weighs them alike in
    //    each text. Any text takes 3 D^2 weights; but T^2 scores: twice as long, 4 times as many.
    // 4. A language model guesses token t + 1 from those up to t; it must not see it. The causal
    //    mask adds -1e9 to the scores of later tokens, before softmax: they weigh 0, and the rest
    //    of a row sums to 1. In the map of weights, a row is who looks, a column at whom.
    // >   @@
    // >   ::##
    // >   ++::..
    // >   ..::::::
    // >   ........==
    // > by hand and by the op: 0.0000 apart
    static const int32_t as_is[T] = { 0, 1, 2, 3, 4 }, other_last[T] = { 0, 1, 2, 3, 0 };
    static const int32_t swapped[T] = { 1, 0, 2, 3, 4 };
    static const char *const name[3] = { "q", "k", "v" };
    samba_tensor *qkv[3];
    float hide[T * T];
    for (int i = 0; i < 3; i++) qkv[i] = samba_randn(s, name[i], SAMBA_SHAPE(T, D));
    for (int i = 0; i < T * T; i++) hide[i] = i % T > i / T ? -1e9f : 0;
    samba_tensor *mask = samba_from_data(s, "hide", SAMBA_F32, SAMBA_SHAPE(T, T), hide);
    score = samba_scale(samba_matmul(qkv[0], samba_transpose(qkv[1], 0, 1)), 0.25f);    // sqrt(16)
    samba_tensor *causal = samba_softmax(samba_add(score, mask), 1);    // -1e9 becomes weight 0
    samba_tensor *op = attend(qkv, "as_is", as_is, true);
    text_cells(samba_read(causal), T, T, 0, 1);
    printf("by hand and by the op: %.4f apart\n", change(samba_matmul(causal, qkv[2]), op, 0, T));
    // 5. Proof of a mask: another last token changes no earlier answer. And if the first two swap
    //    places, the last answer stays: sums have no order. So each place adds a vector of its own.
    // > another last token: answers before it change by 0.61 without the mask, 0.00 with it
    // > the first two swapped: the last answer changes by 0.00
    samba_tensor *free = attend(qkv, "free", as_is, false);
    samba_tensor *leak = attend(qkv, "leak", other_last, false);
    samba_tensor *kept = attend(qkv, "kept", other_last, true);
    samba_tensor *swap = attend(qkv, "swap", swapped, true);
    printf("another last token: answers before it change by %.2f without the mask, %.2f with it\n",
           change(free, leak, 0, T - 1), change(op, kept, 0, T - 1));
    printf("the first two swapped: the last answer changes by %.2f\n", change(op, swap, T - 1, T));
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "Who looks at whom",
                             "With the mask, the weights of each row end at the token itself.");
    picture_axes(&p, 0, T, T, 0, "looked at", "who looks");
    picture_cells(&p, samba_read(causal), T, T, 1);
    picture_close(&p);
    // Exercises 14a, 14b: the causal mask, attention. Then answer:
    //   What is wrong with a mask that zeroes weights after softmax?
    //   Why is the first weight of the first row 1, whatever q and k are?
    return samba_close(s);
}
