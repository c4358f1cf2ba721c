// Lesson 15: a transformer learns to sort.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/15_sorting.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson heads.svg draws.
// New: head, residual, transformer. Next: 16_training_loop.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"
#include <string.h>

// Steps 1 to 5 stand above their functions, the others in main.
//
// A sequence has N digits of V kinds, and behind them the same N, sorted: T tokens. Of the tests,
// there are 256.
enum { N = 4, V = 6, T = 2 * N, TESTS = 256 };

// B sequences at a time; each token is C numbers, in H heads of D.
enum { B = 16, C = 16, H = 2, D = C / H };

static samba_tensor *map; // (B,H,T,T): who looks at whom

// The digits of a number, base 6, and behind them the same, sorted. In the test alone the number is
// divisible by 5, and so is the sum of its digits, as 6, 36 and 216 leave 1 when they are divided
// by 5. In another order the sum is the same: so no answer of the test was seen before.
static void write_sequence(int number, int32_t token[T])
{
    for (int i = 0; i < N; i++) {
        token[i] = number % V;
        number /= V;
    }
    int at = N;
    for (int digit = 0; digit < V; digit++) {
        for (int i = 0; i < N; i++) {
            if (token[i] == digit) token[at++] = digit;
        }
    }
}

// 1. One softmax gives one mean of all that a token looks at. To look at several things and keep
//    the answers apart, take several heads: each has queries, keys and values of its own, of D
//    numbers (lesson 14). The shape (B,T,C) becomes (B,H,T,D).
//
//    More heads need no more weights, as H D stays C; but each is narrower. Here 1, 2 or 4 do about
//    equally well; GPT-2 has 12 of 64.
static samba_tensor *heads(samba_tensor *h, const char *name)
{
    samba_tensor *all = samba_linear(h, name, C);
    samba_tensor *split = samba_reshape(all, SAMBA_SHAPE(B, T, H, D));
    return samba_transpose(split, 1, 2);
}

// Scaled scores, mask, softmax, mean of the values, as in lesson 14. At the end the answers of all
// heads stand side by side again, and a linear layer joins them.
static samba_tensor *attention(samba_tensor *h, samba_tensor *mask)
{
    samba_tensor *q = heads(h, "query");
    samba_tensor *k = heads(h, "key");
    samba_tensor *v = heads(h, "value");
    samba_tensor *score = samba_matmul(q, samba_transpose(k, 2, 3));
    samba_tensor *scaled = samba_scale(score, 1 / sqrtf(D));
    map = samba_softmax(samba_add(scaled, mask), 3);

    samba_tensor *answer = samba_transpose(samba_matmul(map, v), 1, 2);
    return samba_linear(samba_reshape(answer, SAMBA_SHAPE(B, T, C)), "join", C);
}

// 2. Attention only takes means of what is there; something must compute with them. So a
//    transformer is made of blocks (GPT-2 has 12) of two branches: attention, which brings a token
//    the means of others, and a net of two layers, for each token alone. That one is often 4 C
//    wide; then it has 8 C^2 weights, and attention 4 C^2.
static samba_tensor *two_layers(samba_tensor *h)
{
    samba_tensor *wide = samba_gelu(samba_linear(h, "wide", 2 * C)); // gelu: a rounded relu
    return samba_linear(wide, "narrow", C);
}

// 3. A token should not forget itself among means. So each branch adds its answer to h: what goes
//    past it is called a residual. It also gives gradients a way past all branches, so that deep
//    nets learn. And each branch reads h through a LayerNorm (lesson 10). That stands inside of the
//    branch, so that nothing happens to h on its way through all blocks but what branches add.
static samba_tensor *block(samba_tensor *h, samba_tensor *mask, bool residual)
{
    samba_tensor *more = attention(samba_layernorm(h, "norm1"), mask);
    h = residual ? samba_add(h, more) : more;

    more = two_layers(samba_layernorm(h, "norm2"));
    return residual ? samba_add(h, more) : more;
}

// 4. Now the whole of it. Ids become vectors (lesson 12), and each place adds its own: attention
//    does not know where tokens stand, so a sorted digit would look like any other. Then come the
//    blocks. (Unlike GPT-2's, they share their weights.) A linear layer gives a score for each
//    digit.
static samba_tensor *transformer(samba_tensor *id, samba_tensor *mask, int blocks, bool residual)
{
    samba_session *s = id->session;
    samba_tensor *place = samba_param(s, "place", SAMBA_SHAPE(T, C), (samba_init){ 0 });
    samba_tensor *h = samba_add(samba_embedding(id, "digits", V, C), place);
    samba_set_sharing(s, true);
    for (int i = 0; i < blocks; i++) {
        h = block(h, mask, residual);
    }
    return samba_linear(samba_layernorm(h, "norm3"), "guess", V);
}

// 5. It learns at all places at once: token t guesses token t + 1 from the right ones up to t. This
//    is called teacher forcing; the mask hides the rest. Without the mask the net copies what it
//    should guess: the loss is soon near 0, and the test fails.
//
//    What a place should guess is its label. Labels of -100 do not count: nobody can know an
//    unsorted digit.
static void random_batch(uint32_t *dice, int32_t x[B][T], int32_t label[B][T])
{
    for (int b = 0; b < B; b++) {
        *dice = *dice * 1664525u + 1013904223u;
        int fives = (int)(*dice >> 16) % TESTS;
        int rest = 1 + (int)(*dice >> 8) % 4; // never 0, as in the test
        write_sequence(5 * fives + rest, x[b]);
        for (int t = 0; t < T; t++) {
            bool counts = t >= N - 1 && t < T - 1;
            label[b][t] = counts ? x[b][t + 1] : -100;
        }
    }
}

// A net that has learned, and what it reads and writes.
typedef struct sorter {
    samba_session *s;
    samba_tensor *id, *label, *best, *loss;
} sorter;

static sorter open_sorter(int blocks, bool residual)
{
    float hide[T * T];
    for (int i = 0; i < T * T; i++) {
        hide[i] = i % T > i / T ? -1e9f : 0;
    }
    samba_session *s = samba_open(NULL);
    samba_tensor *id = samba_input(s, "id", SAMBA_I32, SAMBA_SHAPE(B, T));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(B, T));
    samba_tensor *mask = samba_from_data_copy(s, "mask", SAMBA_F32, SAMBA_SHAPE(T, T), hide);
    samba_tensor *guess = transformer(id, mask, blocks, residual);
    samba_tensor *best = samba_argmax(guess, 2, false);
    samba_tensor *loss = samba_cross_entropy(guess, label);

    samba_optim adamw = { SAMBA_ADAMW, .lr = 0.015f }; // 0.15 fails
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { best, map }, .optim = adamw });
    sorter made = { s, id, label, best, loss };
    return made;
}

// The test: it gets the unsorted digits, writes its best guess for the next one, and reads that. To
// take the best each time is called greedy. Returns how many sequences are right.
static int count_right(sorter net)
{
    int right = 0;
    for (int first = 0; first < TESTS; first += B) {
        int32_t wanted[B][T], x[B][T] = { { 0 } };
        for (int b = 0; b < B; b++) {
            write_sequence(5 * (first + b), wanted[b]);
            memcpy(x[b], wanted[b], N * sizeof x[b][0]);
        }

        for (int t = N - 1; t < T - 1; t++) {
            samba_write(net.id, x);
            samba_run(net.s, SAMBA_FWD);
            for (int b = 0; b < B; b++) {
                x[b][t + 1] = samba_read_i32(net.best)[b * T + t];
            }
        }

        for (int b = 0; b < B; b++) {
            right += memcmp(x[b], wanted[b], sizeof x[b]) == 0;
        }
    }
    return right;
}

static sorter learn(const char *name, int blocks, bool residual, int steps)
{
    sorter net = open_sorter(blocks, residual);
    uint32_t dice = 1;
    for (int step = 0; step <= steps; step++) {
        int32_t x[B][T], label[B][T];
        random_batch(&dice, x, label);
        samba_write(net.id, x);
        samba_write(net.label, label);
        samba_run(net.s, 0);
    }
    printf("%s, %d steps: loss %.3f, ", name, steps, number_at(net.loss, 0));
    printf("%d of %d right\n", count_right(net), TESTS);
    return net;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted

    // 6. Does it sort? First, what residuals are worth: three blocks without them stay above log 6,
    //    the loss of who knows nothing (lesson 7). With them, they learn.
    // > 3 blocks, no residuals, 30 steps: loss 1.831, 0 of 256 right
    // > 3 blocks, 30 steps: loss 0.635, 44 of 256 right
    samba_close(learn("3 blocks, no residuals", 3, false, 30).s);
    samba_close(learn("3 blocks", 3, true, 30).s);

    // 7. One block and 300 steps are enough to sort nearly all sequences, none of which it has
    //    seen. (From ten beginnings, 195 to 255 were right.) It cannot sort longer ones: no ninth
    //    place has a vector.
    // > 1 block, 300 steps: loss 0.012, 242 of 256 right
    sorter net = learn("1 block", 1, true, 300);

    // 8. The picture shows how: what the first head looks at in one sequence, 4 2 4 5. A column is
    //    a token, a row a place that guesses. To write 2 it looks at the 2, to write 5 at the 5.
    //
    //    How does it know at which? Its query is made of its token and its place: of the digit it
    //    has just read, and of how many are written. So it can ask for one as large or a bit
    //    larger.
    const float *of_sequence_8 = samba_read(map) + 8 * H * T * T;
    picture p = picture_open(path, 1, "What a head looks at",
                             "Of 4 2 4 5 it looks at the 2 to write 2, and at the 5 to write 5.");
    picture_axes(&p, 0, T, T - 1, N - 1, "looks at", "place");
    picture_cells(&p, of_sequence_8 + (N - 1) * T, N, T, 1);
    picture_close(&p);

    // To think about:
    //   In training it is given all right digits at once. Why is that no cheating?
    //   If each of 4 digits is right in 99 of 100 cases, how many sequences are?
    //
    // Now you: exercise 15a is the order in a block, 15b heads. `make learn` begins with the first
    // that is open, `tools/learn/learn.sh watch 15a` with 15a.
    return samba_close(net.s);
}
