// Lesson 11: convolution: one small kernel looks everywhere.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/11_convolution.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 11.svg draws. New: kernel, pooling.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
// An image of 8 x 8 pixels, 1 is bright; and a kernel of 3 x 3 weights.
enum { N = 8, K = 3, OUT = N - K + 1 };
static const samba_conv_opts pad = { .padding = { 1, 1 } };
static const float edge[K * K] = { -1, 0, 1, -1, 0, 1, -1, 0, 1 };      // three equal rows
// At each place the kernel is laid on the image, and the sum of products is taken: the same neuron
// (lesson 5) everywhere, whose inputs are the 9 pixels below it. / and % give row and column.
static void convolve(const float *x, const float *kernel, float *y)
{
    for (int at = 0; at < OUT * OUT; at++) {
        const float *corner = x + at / OUT * N + at % OUT;
        y[at] = 0;
        for (int i = 0; i < K * K; i++) y[at] += corner[i / K * N + i % K] * kernel[i];
    }
}
static void print_row(const char *name, const float *x, int n)
{
    printf("%s:", name);
    for (int i = 0; i < n; i++) printf(i < n - 1 ? " %.2g" : " %.2g\n", (double)x[i]);
}
// Bars at 6 places, lying, or upright if b is odd. A net with one kernel tells which, from the
// largest number of its map alone. The loss is of the first SEEN bars only; the others, at places
// where the net has seen none, are the test. Returns how many of these are right, and the kernel;
// for NULL, a linear layer of all pixels tells, in place of a kernel.
static int learn(float *kernel)
{
    enum { B = 12, SEEN = 8 };
    static float bars[B][N][N], upright[SEEN] = { 0, 1, 0, 1, 0, 1, 0, 1 };
    for (int b = 0; b < B; b++)
        for (int i = 1, place = 1 + b / 2; i < 7; i++)
            bars[b][b % 2 ? i : place][b % 2 ? place : i] = 1;
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(B, 1, N, N), bars);
    samba_tensor *t = samba_from_data(s, "t", SAMBA_F32, SAMBA_SHAPE(SEEN, 1), upright);
    samba_tensor *in = samba_flatten(kernel ? samba_conv2d(x, "conv", 1, K, &pad) : x, 1);
    if (kernel) in = samba_max(in, SAMBA_AXES(1), true);
    samba_tensor *y = samba_sigmoid(samba_linear(in, "out", 1));
    samba_tensor *loss = samba_mse(samba_slice(y, 0, 0, SEEN, 1), t, SAMBA_REDUCE_MEAN);
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { y },
                                       .optim = { SAMBA_ADAMW, .lr = 0.05f } });
    for (int i = 0; i < 300; i++) samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    int right = 0;
    for (int b = SEEN; b < B; b++) right += (samba_read(y)[b] > 0.5f) == (b % 2);
    if (kernel) samba_copy_out(samba_tensor_by_name(s, "conv__weight"), kernel, sizeof edge);
    samba_close(s);
    return right;
}
int main(int argc, char **argv)
{
    float image[N * N] = { 0 }, y[OUT * OUT], kernel[K * K];
    for (int i = 0; i < 16; i++) image[(2 + i / 4) * N + 2 + i % 4] = 1;   // a square of 4 x 4
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 1, N, N), image);
    samba_tensor *w = samba_from_data_copy(s, "w", SAMBA_F32, SAMBA_SHAPE(1, 1, K, K), edge);
    // 1. This kernel is right minus left: 0 where both sides are the same, positive where it gets
    //    brighter to the right, else negative. It finds edges, and the result is a feature map:
    //    its row 0 sees one row of the square, row 1 two, row 2 three. (Mathematics turns a kernel
    //    by 180 degrees first.) Images are (batch, channels, h, w); a channel is a colour, or a map
    //    of the layer before. Kernels are (maps, channels, k, k): each makes a map of all channels.
    // > by hand: 1 1 0 0 -1 -1 2 2 0 0 -2 -2 3 3 0 0 -3 -3
    // > by samba.h: 1 1 0 0 -1 -1 2 2 0 0 -2 -2 3 3 0 0 -3 -3
    convolve(image, edge, y);
    print_row("by hand", y, 3 * OUT);
    samba_tensor *map = samba_convolution(x, w, NULL, NULL);
    print_row("by samba.h", samba_read(map), 3 * OUT);
    // 2. The output is smaller: a kernel of side k has n - k + 1 places. With padding p, zeros all
    //    around, the side is n + 2 p - k + 1; p = 1 keeps it for k = 3, but a bright border looks
    //    like an edge. With stride s, in pixels here, it is (n + 2 p - k) / s + 1, rounded down.
    // > side 6; padding 1: 8; and stride 2: 4
    samba_conv_opts stride = { .stride = { 2, 2 }, .padding = { 1, 1 } };
    samba_tensor *same = samba_convolution(x, w, NULL, &pad);
    samba_tensor *half = samba_convolution(x, w, NULL, &stride);
    printf("side %d; padding 1: %d; and stride 2: %d\n", (int)map->shape.dim[2],
           (int)same->shape.dim[2], (int)half->shape.dim[2]);
    // 3. A layer of lesson 6 has a weight for each pair of pixel and output, and learns at each
    //    place what an edge is. A convolution shares weights: a shifted image has a shifted map. It
    //    does harm where the place itself matters, or where neighbours have nothing in common.
    // > weights: linear 2304, convolution 9 (324 products); from 3 channels to 8 maps 216
    printf("weights: linear %d, convolution %d (%d products); from 3 channels to 8 maps %d\n",
           N * N * OUT * OUT, K * K, OUT * OUT * K * K, 8 * 3 * K * K);
    // 4. Max pooling keeps the largest of each 2 x 2, of -1 and -2 it keeps -1. It halves the side,
    //    has no weights, and what moves within a 2 x 2 changes nothing. The next kernel sees more:
    //    a second 3 x 3 sees 5 x 5 pixels of the image, with pooling between 8 x 8. Backward,
    //    the largest (the first of equals) gets the gradient, the others 0: they changed nothing.
    // > pooled, rows of 3: 2 0 -1 3 0 -3 2 0 -1
    // > its gradient in the map, rows 0 and 1: 0 0 1 0 1 0 1 0 0 0 0 0
    samba_tensor *pooled = samba_max_pool2d(map, &(samba_pool_opts){ .kernel = { 2, 2 } });
    print_row("pooled, rows of 3", samba_read(pooled), 9);
    samba_tensor *gradient = samba_grad(samba_sum(pooled, SAMBA_ALL_AXES, false), map);
    print_row("its gradient in the map, rows 0 and 1", samba_read(gradient), 2 * OUT);
    // 5. Nobody needs to design kernels: they are weights, and learn. The gradient of a shared
    //    weight is the sum over all its places; that of a pixel, over all outputs that saw it (+=
    //    again). This kernel tells upright bars from lying ones, at new places, too: an upright bar
    //    fills its right column, a lying one a third. (11 of 12 other random beginnings find one.)
    //    A linear layer gets all new bars wrong: it knows their pixels from the other kind alone.
    // > kernel: -0.15 -0.12 1.6 0.028 -0.043 1.6 -0.12 -0.24 1.6
    // > bars at new places: 4 of 4 are right, by the linear layer 0
    int right = learn(kernel);
    print_row("kernel", kernel, K * K);
    printf("bars at new places: %d of 4 are right, by the linear layer %d\n", right, learn(NULL));
    // 6. How large? Mostly 3 x 3: two of them see as much as one of 5 x 5, with 18 weights, not 25.
    //    Where pooling halves the side, maps are often doubled; how many to begin with, try.
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "A kernel, and what it sees",
        "Left edges of a square are positive, right ones negative; the kernel that was learned.");
    picture_axes(&p, 0, OUT, OUT, 0, "edges of a square", "");
    picture_cells(&p, samba_read(map), OUT, OUT, 3);
    picture_axes(&p, 0, K, K, 0, "learned kernel", "");
    picture_cells(&p, kernel, K, K, 1.5f);
    picture_close(&p);
    // Exercises 11a, 11b and 11c (make learn) are convolution, max pooling, the size. Then answer:
    //   What does the kernel of step 1 answer to a horizontal edge? Turn it to find one.
    //   Which side has 28 x 28 after k = 5, then pooling by 2, then k = 5, then pooling by 2?
    return samba_close(s);
}
