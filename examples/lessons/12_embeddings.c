// Lesson 12: an embedding gives each word a place; words used alike may come together.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/12_embeddings.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson words.svg draws. New: lookup, embedding.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

enum { WORDS = 10, C = 2, PAIRS = 17, ROWS = 7, COLUMNS = 60 };
// The whole language: an animal, what it does, with what, a full stop, and the next animal. Its
// words in the order of their numbers, the ids; and each pair of words that may follow each other.
static const char *const word[WORDS] = { "cat", "dog", "hen", "eats", "sips", "fish", "bread",
                                         "water", "milk", "." };
static const int32_t now[PAIRS]  = { 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 9, 9 };
static const int32_t next[PAIRS] = { 3, 4, 3, 4, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 0, 1, 2 };
static void print_row(const char *name, const float *x, int n)
{
    printf("%s:", name);
    for (int i = 0; i < n; i++) printf(" %g", (double)x[i]);
    printf("\n");
}
static void look_up(void)
{
    static const float rows[WORDS * C] = { 1, 2, 3, 4, 5, 6, 7, 8 }, hen[WORDS] = { 0, 0, 1 };
    static const int32_t ids[3] = { 2, 0, 2 };                          // hen cat hen
    samba_session *s = samba_open(NULL);
    samba_tensor *table = samba_param(s, "table", SAMBA_SHAPE(WORDS, C), (samba_init){ 0 });
    samba_tensor *one_hot = samba_from_data_copy(s, "hen", SAMBA_F32, SAMBA_SHAPE(1, WORDS), hen);
    samba_tensor *id = samba_from_data_copy(s, "ids", SAMBA_I32, SAMBA_SHAPE(3), ids);
    samba_tensor *product = samba_matmul(one_hot, table), *y = samba_lookup(id, table);
    samba_tensor *gradient = samba_grad(samba_sum(y, SAMBA_ALL_AXES, false), table);
    samba_compile(s, &(samba_program){ .outputs = { product, y, gradient }, .inference = true });
    samba_write(table, rows);
    samba_run(s, SAMBA_FWD);
    // 1. A net computes with numbers, but ids are only names: hen, 2, is not twice dog, 1. What has
    //    no order is written one-hot: a number for each word, 1 at the word's own, 0 elsewhere.
    //    Times a matrix of weights, hen's gives row 2: the other rows meet zeros. To fetch that row
    //    is the same without a multiplication: lookup. The matrix, here (10,2), for (words, numbers
    //    for each), is the embedding, a parameter as any other; a row is the vector of its word.
    //    GPT-2, a language model of 2019, has a larger one:
    // > one-hot hen times the table: 5 6
    // > looked up, hen cat hen: 5 6 1 2 5 6
    // > GPT-2: 50257 words, 768 numbers each: 38597376 multiplications for a word, or none
    print_row("one-hot hen times the table", samba_read(product), C);
    print_row("looked up, hen cat hen", samba_read(y), 3 * C);
    printf("GPT-2: %d words, %d numbers each: %d multiplications for a word, or none\n", 50257, 768,
           50257 * 768);
    // 2. Backward, lookup is scatter-add: the gradient of each row it gave is added to that row of
    //    the table. hen was used twice, so it gets both; dog was not, and gets 0: a word that
    //    is in few batches learns seldom. (In the others Adam still moves its row, as m remembers,
    //    and decay shrinks it.) The sum has the gradient 1 in all that it adds:
    // > gradient, in cat dog hen eats: 1 1 0 0 2 2 0 0
    print_row("gradient, in cat dog hen eats", samba_read(gradient), 4 * C);
    samba_close(s);
}
int main(int argc, char **argv)
{
    look_up();
    // 3. Each word gets two numbers, to be drawn (real nets have hundreds: words differ in many
    //    ways), random at first, and a linear layer guesses the next word. The loss is
    //    cross-entropy (lesson 7). It cannot fall to 0: after cat stands eats or sips, half each,
    //    and the best guess, one half, costs log 2; after a full stop it costs log 3. The mean of
    //    these over all pairs is the entropy: how uncertain the next word is to who knows the
    //    language. What is above it is the net's ignorance, and only that can go. To know nothing
    //    costs log 10; random weights cost more: they expect some words, mostly wrong.
    // > loss 2.84 (log 10: 2.30)
    // > after 100 steps 0.617; log 2 in 10 and log 3 in 3 of 17 pairs: 0.602
    samba_session *s = samba_open(NULL);
    samba_tensor *id = samba_from_data_copy(s, "id", SAMBA_I32, SAMBA_SHAPE(PAIRS), now);
    samba_tensor *label = samba_from_data_copy(s, "label", SAMBA_I32, SAMBA_SHAPE(PAIRS), next);
    samba_tensor *vector = samba_embedding(id, "words", WORDS, C);      // makes the table, looks up
    samba_tensor *loss = samba_cross_entropy(samba_linear(vector, "guess", WORDS), label);
    samba_tensor *log2 = samba_log(samba_number(s, 2)), *log3 = samba_log(samba_number(s, 3));
    samba_optim adamw = { .kind = SAMBA_ADAMW, .lr = 0.05f };
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { log2, log3 }, .optim = adamw });
    samba_run(s, SAMBA_FWD);
    float before = samba_read(loss)[0];
    for (int step = 0; step < 100; step++) samba_run(s, 0);             // forward, backward, AdamW
    samba_run(s, SAMBA_FWD);
    float entropy = (10 * samba_read(log2)[0] + 3 * samba_read(log3)[0]) / PAIRS;
    printf("loss %.2f (log 10: %.2f)\n", (double)before, log(10));
    printf("after 100 steps %.3f; log 2 in 10 and log 3 in 3 of %d pairs: %.3f\n",
           (double)samba_read(loss)[0], PAIRS, (double)entropy);
    // 4. Where the words are now, by their initials; some hide behind others. Nobody said what an
    //    animal is: cat, dog and hen came together since the same words follow them, and two
    //    numbers leave hardly another way. Food and drink did, too: the full stop follows all of
    //    them. With 16 numbers, each word has a good place near where it began, and they stay
    //    apart; weight decay (lesson 8) then slowly draws those used alike together. A word
    //    comes to stand near those used like it, not near those that follow it.
    // > |                                    .                       |
    // > |              e                                             |
    // > |                                                            |
    // > |                                           c                |
    // > |                                            h               |
    // > |                           m               d                |
    // > |     s                                                      |
    const float *place = samba_read(samba_tensor_by_name(s, "words__weight"));
    char map[ROWS][COLUMNS + 1];
    float x[WORDS], y[WORDS];
    for (int r = 0; r < ROWS; r++) snprintf(map[r], sizeof map[r], "%*s", COLUMNS, "");
    for (int i = 0; i < WORDS; i++) {
        x[i] = place[C * i];
        y[i] = place[C * i + 1];
        map[(int)(ROWS / 2.0f - y[i])][(int)((x[i] + 6) * 5)] = word[i][0];
    }
    for (int r = 0; r < ROWS; r++) printf("|%s|\n", map[r]);
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "Where the words are",
                             "Cat, dog and hen stand together; so do the things eaten and sipped.");
    picture_axes(&p, -6, 6, -6, 6, "first number", "second number");
    picture_dots(&p, x, y, WORDS, NULL);
    for (int i = 0; i < WORDS; i++)       // names beside it, at four heights
        picture_label(&p, x[i] + 0.8, y[i] + 0.7 * (i % 4 - 1.5), word[i]);
    picture_close(&p);

    // Exercises 12a, 12b (make learn): lookup, and its gradient. Then answer:
    //   Two words have the same followers, but one is in few batches. Where will its row be?
    //   What would a net claim about words that got their ids as numbers, without an embedding?
    //   Let hen be followed by eats alone. Where will it stand, and what is the entropy then?
    return samba_close(s);
}
