// Lesson 17: a net that writes keeps its keys and values: the cache.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/17_cache.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson cache.svg draws.
// New: cache, sampling, temperature. Next: 18_quantization.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

// Steps 1 and 2 stand above their functions, the others in main.
enum { T = 38, V = 27, C = 16 }; // tokens; letters and a space; numbers of each token

static const char text[T + 1] = "she sells sea shells by the sea shore ";

static int32_t id_of(char letter)
{
    return letter == ' ' ? 26 : letter - 'a';
}

static char letter_of(int32_t id)
{
    return id == 26 ? ' ' : (char)('a' + id);
}

// 1. A net that writes reads its own text again for each new letter, and most of that work is the
//    same as before. A token's key and value depend on the token and its place, in later blocks
//    also on what stands before it, but never on what comes later: the mask sees to that (lesson
//    14). So they are computed once and kept: the cache.
//
//    Queries are not kept, as each is asked only once, when its token comes.
//
//    The cache is two buffers, tensors that last from run to run, but that no optimizer changes.
//    They have a row for each of T places. write_rows puts key and value of the new token into the
//    row of its place, and the mask hides the rows behind it.

// 2. The net is that of lesson 15, with one head and one block. Without row_numbers it has the
//    whole text at once; with them, one token and the cache. Its query asks all rows up to its
//    place, so a new text may begin at place 0 over an old one.
//
//    The usual mistakes: a place that is not counted up; a mask that shows a row too many. When all
//    rows are full, a program stops, or drops the oldest; but then all others change their places.
static samba_tensor *net(samba_tensor *ids, samba_tensor *places, samba_tensor *row_numbers)
{
    samba_session *s = ids->session;
    samba_tensor *mask = NULL;
    samba_tensor *place = samba_embedding(places, "place", T, C);
    samba_tensor *x = samba_add(samba_embedding(ids, "letter", V, C), place);

    samba_tensor *h = samba_layernorm(x, "norm1");
    samba_tensor *q = samba_linear(h, "query", C);
    samba_tensor *k = samba_linear(h, "key", C);
    samba_tensor *v = samba_linear(h, "value", C);
    if (row_numbers) {
        k = samba_write_rows(samba_buffer(s, "keys", SAMBA_SHAPE(T, C), 0), k, places);
        v = samba_write_rows(samba_buffer(s, "values", SAMBA_SHAPE(T, C), 0), v, places);
        mask = samba_le(row_numbers, places);
    }
    samba_attention_opts opts = { .causal = !row_numbers };
    h = samba_scaled_dot_product_attention(q, k, v, mask, &opts);
    x = samba_add(x, samba_linear(h, "join", C));

    h = samba_gelu(samba_linear(samba_layernorm(x, "norm2"), "wide", 2 * C));
    x = samba_add(x, samba_linear(h, "narrow", C));
    return samba_linear(samba_layernorm(x, "norm3"), "guess", V);
}

// The largest difference of the scores of token t in the whole text, and those of one token.
static float difference(samba_tensor *whole, int32_t t, samba_tensor *one)
{
    float most = 0;
    for (int i = 0; i < V; i++) {
        most = fmaxf(most, fabsf(samba_read(whole)[t * V + i] - samba_read(one)[i]));
    }
    return most;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    int32_t letter[T], next[T], row[T];
    for (int32_t t = 0; t < T; t++) {
        letter[t] = id_of(text[t]);
        next[t] = id_of(text[(t + 1) % T]);
        row[t] = t;
    }

    // 3. To learn, the whole text is best, as each step changes all keys; to write, one token. So
    //    the program has two graphs (lesson 4), each run by its name; they share parameters.
    samba_session *s = samba_open(NULL);
    samba_begin_graph(s, "whole text");
    samba_tensor *ids = samba_from_data_copy(s, "ids", SAMBA_I32, SAMBA_SHAPE(T), letter);
    samba_tensor *rows = samba_from_data_copy(s, "rows", SAMBA_I32, SAMBA_SHAPE(T), row);
    samba_tensor *label = samba_from_data_copy(s, "label", SAMBA_I32, SAMBA_SHAPE(T), next);
    samba_tensor *whole = net(ids, rows, NULL);
    samba_tensor *loss = samba_cross_entropy(whole, label);

    samba_begin_graph(s, "one token");
    samba_tensor *id = samba_input(s, "id", SAMBA_I32, SAMBA_SHAPE(1));
    samba_tensor *at = samba_input(s, "at", SAMBA_I32, SAMBA_SHAPE(1));
    samba_tensor *heat = samba_input(s, "temperature", SAMBA_F32, SAMBA_SHAPE(1));
    samba_tensor *one = net(id, at, rows);
    samba_tensor *best = samba_argmax(one, 1, false);
    samba_tensor *chance = samba_softmax(samba_div(one, heat), 1); // for step 7

    samba_program program = { .loss = loss, .outputs = { whole, one, best, chance } };
    program.optim = (samba_optim){ SAMBA_ADAMW, .lr = 0.01f };
    samba_compile(s, &program);

    // 4. How much is saved? Here are the operations, such as additions and products, for a new
    //    letter without and with the cache. Without it each letter costs as much as the text before
    //    it. So to write twice as much costs four times as much; with the cache, about twice.
    //
    //    (Why 31 times less, not 38? Mostly as one token asks all 38 rows, also hidden ones; the
    //    whole text leaves out the hidden half.)
    // > whole text: 323760 operations
    // > one token: 10321 operations
    samba_section part;
    for (int i = 0; samba_describe_section(s, i, &part); i++) {
        if (part.types == SAMBA_FWD) printf("%s: %d operations\n", part.graph, (int)part.flops);
    }

    // 5. Now it writes: it begins with s, and then reads what it wrote. (Most models have a token
    //    for the end. A longer beginning, a prompt, could be read in one run.) It writes, letter by
    //    letter, the text it has learned by heart. So both graphs get the same tokens, and add up
    //    the same numbers in the same order: their scores are equal to the bit, 0 apart.
    // > he sells sea shells by the sea shore s
    for (int step = 0; step < 50; step++) {
        samba_run_graph(s, "whole text", 0);
    }
    samba_run_graph(s, "whole text", SAMBA_FWD);

    samba_tensor *keys = samba_tensor_by_name(s, "keys");
    picture pic = picture_open(path, 2, "The cache of keys",
                               "Each token that is read fills one more row.");
    float apart = 0;
    float temperature = 1;
    samba_write(heat, &temperature);
    int32_t now = id_of('s');
    for (int32_t t = 0; t < T; t++) {
        samba_write(id, &now);
        samba_write(at, &t);
        samba_run_graph(s, "one token", SAMBA_FWD);
        apart = fmaxf(apart, difference(whole, t, one));
        now = samba_read_i32(best)[0];
        printf("%c", letter_of(now));

        if (t != 12 && t != T - 1) continue;
        picture_axes(&pic, 0, C, T, 0, t == 12 ? "after 13 tokens" : "at the end", "token");
        picture_cells(&pic, samba_read(keys), T, C, 3);
    }
    picture_close(&pic);

    // 6. The cache saves time and costs memory: in each block a key and a value of C floats for
    //    each token, here 2 x 38 x 16 x 4 bytes. For large models that is much.
    //
    //    To keep less, heads share: 4 of them ask the same keys and values, each with its own
    //    queries (grouped-query attention), and a quarter is kept. Numbers of 16 bits halve it. A
    //    window keeps the last tokens only; the net no longer sees the others.
    // > scores apart: 0, bytes of the cache: 4864
    // > of GPT-2's, 12 blocks of 768 numbers, 1024 tokens: 75497472
    int bytes = 2 * (int)samba_bytes(keys);
    int bytes_gpt2 = 2 * 12 * 1024 * 768 * 4;
    printf("\nscores apart: %g, bytes of the cache: %d\n", (double)apart, bytes);
    printf("of GPT-2's, 12 blocks of 768 numbers, 1024 tokens: %d\n", bytes_gpt2);

    // 7. It always took the best letter: good where one answer is right, dull in a story. There a
    //    letter is drawn by its probability (sampling), and texts differ. But unlikely letters are
    //    many, and together often drawn. So one draws of the k best (top-k), or of the fewest that
    //    have 0.9 together (top-p).
    //
    //    Before, scores are divided by a temperature: below 1 the best letter gains, above 1 the
    //    others do; 0.7 to 1 is usual. The probability of the last letter:
    // > temperature 0.5: 1.00, temperature 1: 0.99, temperature 2: 0.79
    for (temperature = 0.5f; temperature <= 2; temperature *= 2) {
        samba_write(heat, &temperature);
        samba_run_graph(s, "one token", SAMBA_FWD);
        printf("temperature %g: %.2f", (double)temperature, number_at(chance, now));
        printf(temperature < 2 ? ", " : "\n");
    }

    // To think about:
    //   A text has 2000 tokens instead of 1000. Which part of a new token's work doubles?
    //   In a net without a causal mask each token sees all. Why can it have no such cache?
    //
    // Now you: exercise 17a appends to a cache, 17b draws with temperature, of the k best. `make
    // learn` begins with the first that is open, `tools/learn/learn.sh watch 17a` with 17a.
    return samba_close(s);
}
