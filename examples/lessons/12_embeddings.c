// Lesson 12: an embedding gives each word a place; words used alike may come together.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/12_embeddings.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson words.svg draws.
// New: one-hot, embedding, entropy. Next: 13_tokens.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

enum { WORDS = 10, C = 2, PAIRS = 17, WIDEST = 16, ROWS = 7, COLUMNS = 60 };

// The whole language: an animal, what it does, with what, a full stop, and the next animal. These
// are its words, in the order of their numbers, the ids.
static const char *const word[WORDS] = { "cat", "dog", "hen", "eats", "sips", "fish", "bread",
                                         "water", "milk", "." };

// Each pair of words that may follow each other.
static const int32_t now[PAIRS] = { 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 9, 9 };
static const int32_t next[PAIRS] = { 3, 4, 3, 4, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 0, 1, 2 };

// Steps 1 to 3, which need a session of their own.
static void look_up(void)
{
    static const float rows[WORDS * C] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const float hen[WORDS] = { 0, 0, 1 };
    static const int32_t hen_cat_hen[3] = { 2, 0, 2 };
    samba_session *s = samba_open(NULL);
    samba_tensor *table = samba_param(s, "table", SAMBA_SHAPE(WORDS, C), (samba_init){ 0 });
    samba_tensor *one_hot = samba_from_data_copy(s, "hen", SAMBA_F32, SAMBA_SHAPE(1, WORDS), hen);
    samba_tensor *ids = samba_from_data_copy(s, "ids", SAMBA_I32, SAMBA_SHAPE(3), hen_cat_hen);

    samba_tensor *product = samba_matmul(one_hot, table);
    samba_tensor *y = samba_lookup(ids, table);
    samba_tensor *gradient = samba_grad(samba_sum(y, SAMBA_ALL_AXES, false), table);
    samba_compile(s, &(samba_program){ .outputs = { product, y, gradient }, .inference = true });
    samba_write(table, rows);
    samba_run(s, SAMBA_FWD);

    // 1. A net computes with numbers, but ids are only names: hen, 2, is not twice dog, 1. What has
    //    no order is written one-hot: a number for each word, 1 at the word's own, 0 elsewhere.
    //    Times a matrix of weights, the one-hot hen gives row 2, as the other rows meet zeros.
    // > one-hot hen times the table: 5 6
    print_numbers("one-hot hen times the table", samba_read(product), C, 6);

    // 2. All those zeros are wasted work. To fetch the row is the same without a multiplication:
    //    lookup. The matrix, (words, numbers for each), here (10,2), is the embedding, a parameter
    //    like any other; a row is the vector of its word. An id that has no row is refused.
    // > looked up, hen cat hen: 5 6 1 2 5 6
    print_numbers("looked up, hen cat hen", samba_read(y), 3 * C, 6);

    // 3. To learn, a gradient must find its row. Backward, lookup is scatter-add: the gradient of
    //    each row it gave is added to that row of the table. hen was used twice, so it gets both.
    //    dog was not, and gets 0: a word that is in few batches learns seldom.
    //
    //    (Here we sum all numbers, so each has the gradient 1.)
    // > gradient, in cat dog hen eats: 1 1 0 0 2 2 0 0
    print_numbers("gradient, in cat dog hen eats", samba_read(gradient), 4 * C, 6);
    samba_close(s);
}

// The words learn, in 100 steps. Returns the loss then, and where they are: place (WORDS,width).
static double learn(int width, float *place)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *id = samba_from_data_copy(s, "id", SAMBA_I32, SAMBA_SHAPE(PAIRS), now);
    samba_tensor *label = samba_from_data_copy(s, "label", SAMBA_I32, SAMBA_SHAPE(PAIRS), next);
    samba_tensor *vector = samba_embedding(id, "words", WORDS, width); // makes the table, looks up
    samba_tensor *score = samba_linear(vector, "guess", WORDS);
    samba_tensor *loss = samba_cross_entropy(score, label);
    samba_optim adamw = { .kind = SAMBA_ADAMW, .lr = 0.05f };
    samba_compile(s, &(samba_program){ .loss = loss, .optim = adamw });

    for (int step = 0; step < 100; step++) {
        samba_run(s, 0); // 0: forward, backward and AdamW
    }
    samba_run(s, SAMBA_FWD);

    size_t bytes = (size_t)(WORDS * width) * sizeof *place;
    samba_copy_out(samba_tensor_by_name(s, "words__weight"), place, bytes);
    double end = number_at(loss, 0);
    samba_close(s);
    return end;
}

// Writes the initial of each word where the word is.
static void print_map(const float *x, const float *y)
{
    char map[ROWS][COLUMNS + 1];
    for (int row = 0; row < ROWS; row++) {
        snprintf(map[row], sizeof map[row], "%*s", COLUMNS, "");
    }
    for (int i = 0; i < WORDS; i++) {
        int row = (int)(ROWS / 2.0f - y[i]);
        int column = (int)((x[i] + 6) * 5);
        map[row][column] = word[i][0];
    }
    for (int row = 0; row < ROWS; row++) {
        printf("|%s|\n", map[row]);
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    look_up();

    // 4. Where do good vectors come from? From a task. Each word gets two numbers, so that we can
    //    draw it, random at first, and a linear layer guesses the next word. The loss is
    //    cross-entropy (lesson 7). It cannot fall to 0: after cat stands eats or sips, half each,
    //    and the best guess, one half, costs log 2. After a full stop it costs log 3.
    //
    //    The mean over all pairs is the entropy: how uncertain the next word is to who knows the
    //    language. What is above it is the net's ignorance, and only that can go.
    // > loss after 100 steps 0.617; log 2 in 10 and log 3 in 3 of 17 pairs: 0.602
    float place[WORDS * WIDEST];
    double loss = learn(C, place);
    double entropy = (10 * log(2) + 3 * log(3)) / PAIRS;
    printf("loss after 100 steps %.3f; ", loss);
    printf("log 2 in 10 and log 3 in 3 of %d pairs: %.3f\n", PAIRS, entropy);

    // 5. Now look where the words are, by their initials; some hide behind others. Nobody said what
    //    an animal is: cat, dog and hen came together since the same words follow them. Food and
    //    drink did, too: the full stop follows all of them.
    //
    //    Why? Cat and dog want the same scores, and the linear layer gives like scores to vectors
    //    that are alike; so the gradient pulls both to the same place. A word comes to stand near
    //    those used like it, not near those that follow it.
    //
    //    (Near mostly means: at a small angle, seen from 0. A score is a sum of products, which
    //    grows with the length of a vector; what words have in common is the direction.)
    // > |                                    .                       |
    // > |              e                                             |
    // > |                                                            |
    // > |                                           c                |
    // > |                                            h               |
    // > |                           m               d                |
    // > |     s                                                      |
    float x[WORDS], y[WORDS];
    for (int i = 0; i < WORDS; i++) {
        x[i] = place[C * i];
        y[i] = place[C * i + 1];
    }
    print_map(x, y);

    // 6. How wide should a vector be? With 1 number, words on a line must pass through each other,
    //    and learn slowly. Above 4 nothing is gained here. If there is much room, a word finds a
    //    good place near where it began, and those used alike may stay apart.
    //
    //    Real words differ in more ways: the table of GPT-2, a language model of 2019, is
    //    (50257,768). (A language model is a net that guesses the next word of a text.) It serves
    //    twice: in the last layer, too, a word's score is the sum of what came out before, weighted
    //    by the word's row.
    // > width and loss: 1 0.923, 2 0.617, 4 0.602, 8 0.602, 16 0.602
    printf("width and loss:");
    for (int width = 1; width <= WIDEST; width *= 2) {
        printf(" %d %.3f%s", width, learn(width, place), width < WIDEST ? "," : "\n");
    }

    picture p = picture_open(path, 1, "Where the words are",
                             "Cat, dog and hen stand together; so do the things eaten and sipped.");
    picture_axes(&p, -6, 6, -6, 6, "first number", "second number");
    picture_dots(&p, x, y, WORDS, NULL);
    for (int i = 0; i < WORDS; i++) {
        double height = 0.7 * (i % 4 - 1.5); // names stand at four heights
        picture_label(&p, x[i] + 0.8, y[i] + height, word[i]);
    }
    picture_close(&p);

    // To think about:
    //   Two words have the same followers, but one is in few batches. Where will its row be?
    //   Let hen be followed by eats alone. Where will it stand, and what is the entropy then?
    //
    // Now you: exercise 12a is lookup, 12b its gradient. `make learn` begins with the first that is
    // open, `tools/learn/learn.sh watch 12a` with 12a.
    return 0;
}
