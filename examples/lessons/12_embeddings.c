// Lesson 12: an embedding gives each word a place; words used alike may come together.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/12_embeddings.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson words.svg draws. New: lookup, embedding.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

enum { WORDS = 10, C = 2, PAIRS = 17, WIDEST = 16, ROWS = 7, COLUMNS = 60 };
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
    //    is the same without a multiplication: lookup. An id that has no row is refused. The
    //    matrix, here (10,2), for (words, numbers for each), is the embedding, a parameter as any
    //    other; a row is the vector of its word.
    // > one-hot hen times the table: 5 6
    // > looked up, hen cat hen: 5 6 1 2 5 6
    print_row("one-hot hen times the table", samba_read(product), C);
    print_row("looked up, hen cat hen", samba_read(y), 3 * C);
    // 2. Backward, lookup is scatter-add: the gradient of each row it gave is added to that row of
    //    the table. hen was used twice, so it gets both; dog was not, and gets 0: a word that
    //    is in few batches learns seldom. The sum has the gradient 1 in all that it adds:
    // > gradient, in cat dog hen eats: 1 1 0 0 2 2 0 0
    print_row("gradient, in cat dog hen eats", samba_read(gradient), 4 * C);
    samba_close(s);
}
// The words learn, in 100 steps. Returns the loss then, and where they are: place (WORDS,width).
static double learn(int width, float *place)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *id = samba_from_data_copy(s, "id", SAMBA_I32, SAMBA_SHAPE(PAIRS), now);
    samba_tensor *label = samba_from_data_copy(s, "label", SAMBA_I32, SAMBA_SHAPE(PAIRS), next);
    samba_tensor *vector = samba_embedding(id, "words", WORDS, width);  // makes the table, looks up
    samba_tensor *loss = samba_cross_entropy(samba_linear(vector, "guess", WORDS), label);
    samba_optim adamw = { .kind = SAMBA_ADAMW, .lr = 0.05f };
    samba_compile(s, &(samba_program){ .loss = loss, .optim = adamw });
    for (int step = 0; step < 100; step++) samba_run(s, 0);             // forward, backward, AdamW
    samba_run(s, SAMBA_FWD);
    size_t bytes = (size_t)(WORDS * width) * sizeof *place;
    samba_copy_out(samba_tensor_by_name(s, "words__weight"), place, bytes);
    double end = (double)samba_read(loss)[0];
    samba_close(s);
    return end;
}
int main(int argc, char **argv)
{
    look_up();
    // 3. Each word gets two numbers, to be drawn, random at first, and a linear layer guesses the
    //    next word. The loss is cross-entropy (lesson 7). It cannot fall to 0: after cat stands
    //    eats or sips, half each, and the best guess, one half, costs log 2; after a full stop it
    //    costs log 3. The mean over all pairs is the entropy: how uncertain the next word is to who
    //    knows the language. What is above it is the net's ignorance, and only that can go.
    // > loss after 100 steps 0.617; log 2 in 10 and log 3 in 3 of 17 pairs: 0.602
    float place[WORDS * WIDEST], x[WORDS], y[WORDS];
    printf("loss after 100 steps %.3f; log 2 in 10 and log 3 in 3 of %d pairs: %.3f\n",
           learn(C, place), PAIRS, (10 * log(2) + 3 * log(3)) / PAIRS);
    // 4. Where the words are now, by their initials; some hide behind others. Nobody said what an
    //    animal is: cat, dog and hen came together since the same words follow them. Food and drink
    //    did, too: the full stop follows all of them. A word comes to stand near those used like
    //    it, not near those that follow it. (Near mostly means: at a small angle, seen from 0.)
    // > |                                    .                       |
    // > |              e                                             |
    // > |                                                            |
    // > |                                           c                |
    // > |                                            h               |
    // > |                           m               d                |
    // > |     s                                                      |
    char map[ROWS][COLUMNS + 1];
    for (int r = 0; r < ROWS; r++) snprintf(map[r], sizeof map[r], "%*s", COLUMNS, "");
    for (int i = 0; i < WORDS; i++) {
        x[i] = place[C * i];
        y[i] = place[C * i + 1];
        map[(int)(ROWS / 2.0f - y[i])][(int)((x[i] + 6) * 5)] = word[i][0];
    }
    for (int r = 0; r < ROWS; r++) printf("|%s|\n", map[r]);
    // 5. How wide? With 1 number, words on a line must pass through each other: they learn slowly.
    //    Above 4 nothing is gained here. If wide, a word finds a good place near where it began,
    //    and those used alike may stay apart. Real words differ in more ways: the table of GPT-2, a
    //    language model of 2019, is (50257,768). It serves twice: in the last layer, too, a word's
    //    score is the sum of what came out before, weighted by the word's row.
    // > width and loss: 1 0.923, 2 0.617, 4 0.602, 8 0.602, 16 0.602
    printf("width and loss:");
    for (int width = 1; width <= WIDEST; width *= 2)
        printf(" %d %.3f%s", width, learn(width, place), width < WIDEST ? "," : "\n");
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "Where the words are",
                             "Cat, dog and hen stand together; so do the things eaten and sipped.");
    picture_axes(&p, -6, 6, -6, 6, "first number", "second number");
    picture_dots(&p, x, y, WORDS, NULL);
    for (int i = 0; i < WORDS; i++)       // names beside it, at four heights
        picture_label(&p, x[i] + 0.8, y[i] + 0.7 * (i % 4 - 1.5), word[i]);
    picture_close(&p);
    // Exercises 12a, 12b (make learn): lookup, and its gradient. Then answer:
    //   Two words have the same followers, but one is in few batches. Where will its row be?
    //   Let hen be followed by eats alone. Where will it stand, and what is the entropy then?
    return 0;
}
