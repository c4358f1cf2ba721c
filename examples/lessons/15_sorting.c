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
// The digits of a number, base V, and behind them the same, sorted. A number and the sum of its
// digits leave the same remainder when divided by V - 1 = 5: in the test 0, in training never 0.
// So neither digits nor answers of the test are ever learned from: it knows none by heart.
static void write_sequence(int number, int32_t *token)
{
    for (int i = 0; i < N; i++) {
        int at = N + i;
        token[i] = number % V;
        for (number /= V; at > N && token[at - 1] > token[i]; at--) token[at] = token[at - 1];
        token[at] = token[i];
    }
}
// 1. Attention (lesson 14) in heads: each has queries, keys and values of its own, of D numbers.
//    One softmax gives one mean of all that a token looks at; with H heads it can look at H things
//    and keep the answers apart (here one head of 16 does nearly as well). (B,T,C) -> (B,H,T,D).
static samba_tensor *heads(samba_tensor *x, const char *name)
{
    return samba_transpose(samba_reshape(samba_linear(x, name, C), SAMBA_SHAPE(B, T, H, D)), 1, 2);
}
static samba_tensor *attention(samba_tensor *x, samba_tensor *mask)
{
    samba_tensor *q = heads(x, "query"), *k = heads(x, "key"), *v = heads(x, "value");
    samba_tensor *score = samba_matmul(q, samba_transpose(k, 2, 3));
    map = samba_softmax(samba_add(samba_scale(score, 1 / sqrtf(D)), mask), 3);
    samba_tensor *y = samba_transpose(samba_matmul(map, v), 1, 2);
    return samba_linear(samba_reshape(y, SAMBA_SHAPE(B, T, C)), "join", C);
}
// 2. A transformer: ids become vectors (lesson 12), and each place adds its own, as attention does
//    not know where tokens stand (lesson 14): without it, sorted digits look like the input, and 13
//    of 256 sequences are right. Then blocks, here one: attention, in which tokens learn of each
//    other, and a net of two layers for each token alone. Both read x through a LayerNorm, and
//    their answer is added to x (a residual): so gradients have a way past them. gelu is a rounded
//    relu. At the end a linear layer gives each digit its score.
static samba_tensor *transformer(samba_tensor *id, samba_tensor *mask)
{
    samba_tensor *place = samba_param(id->session, "place", SAMBA_SHAPE(T, C), (samba_init){ 0 });
    samba_tensor *x = samba_add(samba_embedding(id, "digits", V, C), place);
    x = samba_add(x, attention(samba_layernorm(x, "norm1"), mask));
    samba_tensor *h = samba_gelu(samba_linear(samba_layernorm(x, "norm2"), "wide", 2 * C));
    x = samba_add(x, samba_linear(h, "narrow", C));
    return samba_linear(samba_layernorm(x, "norm3"), "guess", V);
}
int main(int argc, char **argv)
{
    int32_t x[B][T], y[B][T], right = 0;
    float hide[T * T];
    for (int i = 0; i < T * T; i++) hide[i] = i % T > i / T ? -1e9f : 0;
    samba_session *s = samba_open(NULL);
    samba_tensor *id = samba_input(s, "id", SAMBA_I32, SAMBA_SHAPE(B, T));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(B, T));
    samba_tensor *mask = samba_from_data(s, "mask", SAMBA_F32, SAMBA_SHAPE(T, T), hide);
    samba_tensor *guess = transformer(id, mask), *best = samba_argmax(guess, 2, false);
    samba_tensor *loss = samba_cross_entropy(guess, label);
    samba_optim adamw = { .kind = SAMBA_ADAMW, .lr = 0.015f };
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { best, map }, .optim = adamw });
    // 3. It learns at all places at once: token t guesses token t + 1 from the right ones up to t
    //    (teacher forcing); the mask hides the rest. Without it the loss falls to 0.000, and 5 of
    //    256 are right: the net copies what it should guess. Labels of -100 do not count: nobody
    //    can know an unsorted digit from those before. A net that knows nothing: log 6.
    // > log 6: 1.792; loss 1.946, after 300 steps 0.012
    uint32_t dice = 1;
    for (int step = 0; step <= 300; step++) {
        for (int b = 0; b < B; b++) {
            dice = dice * 1664525u + 1013904223u;        // random
            write_sequence((int)(dice >> 16) % TESTS * 5 + 1 + (int)(dice >> 8) % 4, x[b]);
            for (int t = 0; t < T; t++) y[b][t] = t < N - 1 || t == T - 1 ? -100 : x[b][t + 1];
        }
        samba_write(id, x);
        samba_write(label, y);
        samba_run(s, 0);
        if (step == 0) printf("log %d: %.3f; loss %.3f, ", V, log(V), (double)samba_read(loss)[0]);
    }
    printf("after 300 steps %.3f\n", (double)samba_read(loss)[0]);
    // 4. In the test it writes digit by digit, the best guess each time, and reads it: greedy. A
    //    wrong digit is read, too, and such a beginning it has never seen.
    // > 242 of 256 sequences are right
    for (int first = 0; first < TESTS; first += B) {
        for (int b = 0; b < B; b++) {
            write_sequence(5 * (first + b), y[b]);
            for (int t = 0; t < T; t++) x[b][t] = t < N ? y[b][t] : 0;
        }
        for (int t = N - 1; t < T - 1; t++) {
            samba_write(id, x);
            samba_run(s, SAMBA_FWD);
            for (int b = 0; b < B; b++) x[b][t + 1] = samba_read_i32(best)[b * T + t];
        }
        for (int b = 0; b < B; b++) right += !memcmp(x[b], y[b], sizeof y[b]);
    }
    printf("%d of %d sequences are right\n", right, TESTS);
    // 5. What the first head looks at: a column for each token, a row for each place that guesses,
    //    3 to 6. To write 2 it looks at the 2; to write the first 4, at the 4s most; then at the 5.
    // >   4 2 4 5 2 4 4 5
    // >     ##..
    // >   --::--
    // >   ..  ..==  ..
    // >         %%
    const float *head = samba_read(map) + (8 * H * T + N - 1) * T;  // sequence 8
    for (int t = 0; t < T; t++) printf(t < T - 1 ? "%*d" : "%*d\n", t ? 2 : 3, (int)x[8][t]);
    text_cells(head, N, T, 0, 1);
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "What a head looks at",
                             "Of 4 2 4 5 it looks at the 2 to write 2, and at the 5 to write 5.");
    picture_axes(&p, 0, T, T - 1, N - 1, "looks at", "place");
    picture_cells(&p, head, N, T, 1);
    picture_close(&p);
    // Exercises 15a, 15b: the order in a block, heads. Then answer:
    //   In training it is given all right digits at once. Why is that no cheating?
    //   If each of 4 digits is right in 99 of 100 cases, how many sequences are?
    return samba_close(s);
}
