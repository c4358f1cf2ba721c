// Lesson 15: a transformer learns to sort.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/15_sorting.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson heads.svg draws. New: block, head, greedy.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include <string.h>
enum { N = 4, V = 6, T = 2 * N, TESTS = 256 };  // a sequence: N digits of V, and the same N sorted
enum { B = 16, C = 16, H = 2, D = C / H };      // sequences; numbers of a token; heads; D for each
static samba_tensor *map;                       // (B,H,T,T): who looks at whom
static int32_t x[B][T], y[B][T];                 // ids; what is wanted
// The digits of a number, base 6, and behind them the same, sorted. It, and so the
// sum of its digits, is divisible by 5 in the test alone: so no answer of the test was seen before.
static void write_sequence(int number, int32_t *token)
{
    for (int i = 0; i < N; number /= V) token[i++] = number % V;
    for (int at = N, digit = 0; digit < V; digit++)
        for (int i = 0; i < N; i++)
            if (token[i] == digit) token[at++] = digit;
}
// 1. Attention (lesson 14) in heads: each has queries, keys and values of its own, of D numbers.
//    One softmax gives one mean of all that a token looks at; H heads can look at H things and keep
//    the answers apart. More heads need no more weights: H D stays C; but each is narrower. Here 1,
//    2 or 4 do about equally well; GPT-2 has 12 of 64. The shape (B,T,C) becomes (B,H,T,D).
static samba_tensor *heads(samba_tensor *h, const char *name)
{
    return samba_transpose(samba_reshape(samba_linear(h, name, C), SAMBA_SHAPE(B, T, H, D)), 1, 2);
}
static samba_tensor *attention(samba_tensor *h, samba_tensor *mask)
{
    samba_tensor *q = heads(h, "query"), *k = heads(h, "key"), *v = heads(h, "value");
    samba_tensor *score = samba_matmul(q, samba_transpose(k, 2, 3));
    map = samba_softmax(samba_add(samba_scale(score, 1 / sqrtf(D)), mask), 3);
    samba_tensor *y = samba_transpose(samba_matmul(map, v), 1, 2);
    return samba_linear(samba_reshape(y, SAMBA_SHAPE(B, T, C)), "join", C);
}
// 2. A transformer: ids become vectors (lesson 12), and each place adds its own: attention does not
//    know where tokens stand (lesson 14), so a sorted digit would look like any other. Then blocks
//    (GPT-2 has 12) of two branches. Attention brings a token means of others; a net of two layers
//    computes with them, for each token alone. It is often 4 C wide: then it has 8 C^2 weights,
//    attention 4 C^2. Each branch reads h through a LayerNorm and adds its answer to h, a residual:
//    so a token does not forget itself among means, and gradients have a way past all branches.
static samba_tensor *transformer(samba_tensor *id, samba_tensor *mask, int blocks, bool residual)
{
    samba_tensor *place = samba_param(id->session, "place", SAMBA_SHAPE(T, C), (samba_init){ 0 });
    samba_tensor *h = samba_add(samba_embedding(id, "digits", V, C), place);
    samba_set_sharing(id->session, true);   // unlike GPT-2's, all blocks share weights
    for (int i = 0; i < blocks; i++) {
        samba_tensor *more = attention(samba_layernorm(h, "norm1"), mask);
        h = residual ? samba_add(h, more) : more;
        more = samba_gelu(samba_linear(samba_layernorm(h, "norm2"), "wide", 2 * C));
        more = samba_linear(more, "narrow", C);         // gelu: a rounded relu
        h = residual ? samba_add(h, more) : more;
    }
    return samba_linear(samba_layernorm(h, "norm3"), "guess", V);   // a score for each digit
}
// 3. It learns at all places at once: token t guesses token t + 1 from the right ones up to t
//    (teacher forcing); the mask hides the rest. Without it the net copies what it should guess:
//    the loss is soon near 0, and the test fails. Labels of -100 do not count: nobody can know an
//    unsorted digit. In the test it writes the best guess each time, and reads it: greedy.
static samba_session *learn(const char *name, int blocks, bool residual, int steps)
{
    uint32_t dice = 1;
    int right = 0;
    float hide[T * T];
    for (int i = 0; i < T * T; i++) hide[i] = i % T > i / T ? -1e9f : 0;
    samba_session *s = samba_open(NULL);
    samba_tensor *id = samba_input(s, "id", SAMBA_I32, SAMBA_SHAPE(B, T));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(B, T));
    samba_tensor *mask = samba_from_data(s, "mask", SAMBA_F32, SAMBA_SHAPE(T, T), hide);
    samba_tensor *guess = transformer(id, mask, blocks, residual);
    samba_tensor *best = samba_argmax(guess, 2, false), *loss = samba_cross_entropy(guess, label);
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { best, map },
                                       .optim = { SAMBA_ADAMW, .lr = 0.015f } });  // 0.15 fails
    for (int step = 0; step <= steps; step++) {
        for (int b = 0; b < B; b++) {
            dice = dice * 1664525u + 1013904223u;       // random
            write_sequence((int)(dice >> 16) % TESTS * 5 + 1 + (int)(dice >> 8) % 4, x[b]);
            for (int t = 0; t < T; t++) y[b][t] = t < N - 1 || t == T - 1 ? -100 : x[b][t + 1];
        }
        samba_write(id, x);
        samba_write(label, y);
        samba_run(s, 0);
    }
    printf("%s, %d steps: loss %.3f, ", name, steps, (double)samba_read(loss)[0]);
    for (int first = 0; first < TESTS; first += B) {
        for (int b = 0; b < B; b++) write_sequence(5 * (first + b), y[b]);
        for (int i = 0; i < B * T; i++) x[i / T][i % T] = i % T < N ? y[i / T][i % T] : 0;
        for (int t = N - 1; t < T - 1; t++) {
            samba_write(id, x);
            samba_run(s, SAMBA_FWD);
            for (int b = 0; b < B; b++) x[b][t + 1] = samba_read_i32(best)[b * T + t];
        }
        for (int b = 0; b < B; b++) right += !memcmp(x[b], y[b], sizeof y[b]);
    }
    printf("%d of %d right\n", right, TESTS);
    return s;
}
int main(int argc, char **argv)
{
    // 4. Three blocks without residuals stay above log 6, the loss of who knows nothing. One block,
    //    from ten beginnings, has 195 to 255 right. No ninth place has a vector: 8 digits at most.
    // > 3 blocks, no residuals, 30 steps: loss 1.831, 0 of 256 right
    // > 3 blocks, 30 steps: loss 0.635, 44 of 256 right
    // > 1 block, 300 steps: loss 0.012, 242 of 256 right
    samba_close(learn("3 blocks, no residuals", 3, false, 30));
    samba_close(learn("3 blocks", 3, true, 30));
    samba_session *s = learn("1 block", 1, true, 300);
    // 5. The picture: what the first head looks at in one sequence, 4 2 4 5. A column is a token, a
    //    row a place that guesses. To write 2 it looks at the 2, to write 5 at the 5.
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "What a head looks at",
                             "Of 4 2 4 5 it looks at the 2 to write 2, and at the 5 to write 5.");
    picture_axes(&p, 0, T, T - 1, N - 1, "looks at", "place");
    picture_cells(&p, samba_read(map) + (8 * H * T + N - 1) * T, N, T, 1);
    picture_close(&p);
    // Exercises 15a, 15b: the order in a block, heads. Then answer:
    //   In training it is given all right digits at once. Why is that no cheating?
    //   If each of 4 digits is right in 99 of 100 cases, how many sequences are?
    return samba_close(s);
}
