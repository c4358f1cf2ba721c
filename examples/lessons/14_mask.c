// Lesson 14, second half: tokens ask each other, but none may look ahead.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/14_mask.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson maps.svg draws.
// New: self-attention, causal mask. Next: 15_sorting.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

enum { T = 5, D = 16 }; // tokens, and numbers of each query, key and value

// Queries, keys and values of T tokens, each (T,D). What makes them is left out: here they are
// random.
typedef struct tokens {
    samba_tensor *q, *k, *v;
} tokens;

// Attention by the library's op. order says which token's key and value stand at each place. The op
// divides scores by sqrt(D), as the first half wants it.
static samba_tensor *attend(tokens t, const char *name, const int32_t order[T], bool causal)
{
    samba_session *s = t.q->session;
    samba_tensor *places = samba_from_data_copy(s, name, SAMBA_I32, SAMBA_SHAPE(T), order);
    samba_tensor *k = samba_lookup(places, t.k);
    samba_tensor *v = samba_lookup(places, t.v);
    samba_attention_opts opts = { .causal = causal };
    return samba_scaled_dot_product_attention(t.q, k, v, NULL, &opts);
}

// The largest difference of two answers, in rows first to end - 1.
static double change(samba_tensor *a, samba_tensor *b, int first, int end)
{
    float most = 0;
    for (int i = first * D; i < end * D; i++) {
        most = fmaxf(most, fabsf(samba_read(a)[i] - samba_read(b)[i]));
    }
    return (double)most;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false); // ops compute at once

    // 1. Who asks whom? In self-attention each of T tokens makes a query, a key and a value of its
    //    D numbers, by three linear layers, which learn. (With one vector for all three, each token
    //    would mostly find itself, as nothing is more like it.)
    //
    //    Then it asks all tokens, near or far. A kernel (lesson 11) sees only neighbours, and its
    //    weights are the same for every text.
    //
    //    The three layers have 3 D^2 weights, however long the text is. But a text has T^2 scores:
    //    one that is twice as long has 4 times as many.
    tokens t;
    t.q = samba_randn(s, "q", SAMBA_SHAPE(T, D));
    t.k = samba_randn(s, "k", SAMBA_SHAPE(T, D));
    t.v = samba_randn(s, "v", SAMBA_SHAPE(T, D));

    // 2. A language model guesses token t + 1 from those up to t. In training the whole text is
    //    there, and all places guess at once; so the answer to each stands one place further. It
    //    must not be seen; else the net would copy it, and learn nothing.
    //
    //    So to the scores of later tokens the causal mask adds -1e9, before softmax: e^-1e9 is 0,
    //    so they weigh 0, and the rest of a row still sums to 1. A net that judges a whole text,
    //    not the next token, wants no mask.
    //
    //    (-infinity would do, too; but in a row that hides everything, softmax subtracts the
    //    largest score: -inf - -inf is NaN, see lesson 7.)
    //
    //    In the map of weights, a row is who looks, a column at whom. Darker is nearer to 1: blank
    //    is below 0.1, . from 0.1, : from 0.2, = from 0.4, + from 0.5, # from 0.7, and @ from 0.9.
    // >   @@
    // >   ::##
    // >   ++::..
    // >   ..::::::
    // >   ........==
    float hide[T * T];
    for (int i = 0; i < T * T; i++) {
        int who = i / T;
        int at_whom = i % T;
        hide[i] = at_whom > who ? -1e9f : 0;
    }
    samba_tensor *mask = samba_from_data(s, "hide", SAMBA_F32, SAMBA_SHAPE(T, T), hide);
    samba_tensor *product = samba_matmul(t.q, samba_transpose(t.k, 0, 1));
    samba_tensor *score = samba_scale(product, 1 / 4.0f); // 4 is sqrt(D)
    samba_tensor *weight = samba_softmax(samba_add(score, mask), 1);
    text_cells(samba_read(weight), T, T, 0, 1);

    // 3. Nets do this so often that all of it is also one op of the library. It answers the same.
    // > by hand and by the op: 0.0000 apart
    static const int32_t as_is[T] = { 0, 1, 2, 3, 4 };
    samba_tensor *by_hand = samba_matmul(weight, t.v);
    samba_tensor *by_op = attend(t, "as_is", as_is, true);
    printf("by hand and by the op: %.4f apart\n", change(by_hand, by_op, 0, T));

    // 4. A mask that leaks is a mistake no message reports: the loss is only too good. So test it:
    //    put another token in the last place; with the mask, no earlier answer may change. (For a
    //    proof, do so at every place.)
    // > another last token: answers before it change by 0.61 without the mask, 0.00 with it
    static const int32_t other_last[T] = { 0, 1, 2, 3, 0 };
    samba_tensor *free = attend(t, "free", as_is, false);
    samba_tensor *free_other = attend(t, "leak", other_last, false);
    samba_tensor *masked_other = attend(t, "kept", other_last, true);
    printf("another last token: answers before it change by ");
    printf("%.2f without the mask, ", change(free, free_other, 0, T - 1));
    printf("%.2f with it\n", change(by_op, masked_other, 0, T - 1));

    // 5. What attention does not know is the order. If the first two tokens swap places, the last
    //    answer stays: a sum is the same in any order. To it, "dog bites man" is "man bites dog".
    //    That is why each place adds a vector of its own to its token (lesson 15).
    // > the first two swapped: the last answer changes by 0.00
    static const int32_t swapped[T] = { 1, 0, 2, 3, 4 };
    samba_tensor *swap = attend(t, "swap", swapped, true);
    printf("the first two swapped: ");
    printf("the last answer changes by %.2f\n", change(by_op, swap, T - 1, T));

    picture p = picture_open(path, 1, "Who looks at whom",
                             "With the mask, the weights of each row end at the token itself.");
    picture_axes(&p, 0, T, T, 0, "looked at", "who looks");
    picture_cells(&p, samba_read(weight), T, T, 1);
    picture_close(&p);

    // To think about:
    //   What is wrong with a mask that zeroes weights after softmax?
    //   Why is the first weight of the first row 1, whatever q and k are?
    //
    // Now you: exercise 14a is the causal mask, 14b attention. `make learn` begins with the first
    // that is open, `tools/learn/learn.sh watch 14a` with 14a.
    return samba_close(s);
}
