// Lesson 11: convolution: one small kernel looks everywhere.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/11_convolution.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 11.svg draws.
// New: kernel, feature map, pooling. Next: 12_embeddings.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

// An image of 8 x 8 pixels, 1 is bright; and a kernel of 3 x 3 weights.
enum { N = 8, K = 3, OUT = N - K + 1 };

static const float edge[K * K] = {
    -1, 0, 1,
    -1, 0, 1,
    -1, 0, 1,
};

// At each place the kernel is laid on the image. Each of the 9 pixels below it is multiplied by the
// weight above it, and all are added up. It is the same neuron (lesson 5) everywhere.
static void convolve(const float *image, const float *kernel, float *map)
{
    for (int row = 0; row < OUT; row++) {
        for (int column = 0; column < OUT; column++) {
            float sum = 0;
            for (int i = 0; i < K; i++) {
                for (int k = 0; k < K; k++) {
                    float pixel = image[(row + i) * N + column + k];
                    sum += pixel * kernel[i * K + k];
                }
            }
            map[row * OUT + column] = sum;
        }
    }
}

// Bars at 6 places, lying, or upright if b is odd; for step 6. A net sees the first SEEN of them.
enum { BARS = 12, SEEN = 8 };

static void draw_bars(float bars[BARS][N][N])
{
    for (int b = 0; b < BARS; b++) {
        int place = 1 + b / 2;
        for (int i = 1; i < 7; i++) {
            if (b % 2) bars[b][i][place] = 1;
            else bars[b][place][i] = 1;
        }
    }
}

// A net with one kernel, which tells the kind of a bar from the largest number of its map alone.
// Without a kernel, a linear layer of all pixels tells.
static samba_tensor *net(samba_tensor *x, bool has_kernel)
{
    const samba_conv_opts pad = { .padding = { 1, 1 } };
    samba_tensor *in = has_kernel ? samba_conv2d(x, "conv", 1, K, &pad) : x;
    in = samba_flatten(in, 1);
    if (has_kernel) in = samba_max(in, SAMBA_AXES(1), true);
    return samba_sigmoid(samba_linear(in, "out", 1));
}

// The loss is of the first SEEN bars only. The others, at places where the net has seen none, are
// the test: returns how many of these 4 are right. kernel, if not NULL, gets what was learned.
static int learn(float *kernel)
{
    static float bars[BARS][N][N], upright[SEEN] = { 0, 1, 0, 1, 0, 1, 0, 1 };
    draw_bars(bars);
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_from_data(s, "x", SAMBA_F32, SAMBA_SHAPE(BARS, 1, N, N), bars);
    samba_tensor *t = samba_from_data(s, "t", SAMBA_F32, SAMBA_SHAPE(SEEN, 1), upright);
    samba_tensor *y = net(x, kernel != NULL);
    samba_tensor *seen = samba_slice(y, 0, 0, SEEN, 1);
    samba_tensor *loss = samba_mse(seen, t, SAMBA_REDUCE_MEAN);

    samba_optim adamw = { SAMBA_ADAMW, .lr = 0.05f };
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { y }, .optim = adamw });
    for (int i = 0; i < 300; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    }

    int right = 0;
    for (int b = SEEN; b < BARS; b++) {
        bool answer = samba_read(y)[b] > 0.5f;
        right += answer == (b % 2);
    }
    if (kernel) samba_copy_out(samba_tensor_by_name(s, "conv__weight"), kernel, sizeof edge);
    samba_close(s);
    return right;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted

    // The image: a bright square of 4 x 4.
    float image[N * N] = { 0 };
    for (int i = 0; i < 16; i++) {
        image[(2 + i / 4) * N + 2 + i % 4] = 1;
    }
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 1, N, N), image);
    samba_tensor *w = samba_from_data_copy(s, "w", SAMBA_F32, SAMBA_SHAPE(1, 1, K, K), edge);

    // 1. What matters in an image may be anywhere in it, so look everywhere with one small kernel.
    //    This one is right minus left: 0 where both sides are the same, positive where it gets
    //    brighter to the right, else negative. It finds edges.
    //
    //    The result is a feature map, a map of where a feature, here an edge, was found. Its row 0
    //    sees one row of the square, row 1 two, row 2 three.
    //
    //    (Mathematics turns a kernel by 180 degrees first; nets do not.)
    // > by hand: 1 1 0 0 -1 -1 2 2 0 0 -2 -2 3 3 0 0 -3 -3
    // > by samba.h: 1 1 0 0 -1 -1 2 2 0 0 -2 -2 3 3 0 0 -3 -3
    float by_hand[OUT * OUT];
    convolve(image, edge, by_hand);
    print_numbers("by hand", by_hand, 3 * OUT, 2);
    samba_tensor *map = samba_convolution(x, w, NULL, NULL);
    print_numbers("by samba.h", samba_read(map), 3 * OUT, 2);

    // 2. Real images have colours, and real nets many kernels. So images are (batch, channels, h,
    //    w): a channel is a colour, or a map of the layer before. Kernels are (maps, channels, k,
    //    k): each has k x k weights for each channel, and makes one map of all channels together.
    //
    //    Behind each convolution stands a bend, mostly relu, as between any two layers: without
    //    one, two convolutions are no more than one with a larger kernel (lesson 6). (The net of
    //    step 6 has only one, and takes the largest number behind it: that is a bend, too.)

    // 3. The map is smaller than the image: a kernel of side k has n - k + 1 places. With padding
    //    p, zeros all around, the side is n + 2 p - k + 1. So p = 1 keeps it for k = 3, but a
    //    bright border then looks like an edge.
    //
    //    With stride s, the kernel steps s pixels at a time, and the side is (n + 2 p - k) / s + 1,
    //    rounded down.
    // > side 6; padding 1: 8; and stride 2: 4
    const samba_conv_opts pad = { .padding = { 1, 1 } };
    const samba_conv_opts pad_and_stride = { .stride = { 2, 2 }, .padding = { 1, 1 } };
    samba_tensor *same = samba_convolution(x, w, NULL, &pad);
    samba_tensor *half = samba_convolution(x, w, NULL, &pad_and_stride);
    printf("side %d; ", (int)map->shape.dim[2]);
    printf("padding 1: %d; ", (int)same->shape.dim[2]);
    printf("and stride 2: %d\n", (int)half->shape.dim[2]);

    // 4. Why not a layer of lesson 6? It has a weight for each pair of pixel and output, and must
    //    learn at each place anew what an edge is. A convolution shares weights: a shifted image
    //    has a shifted map. It does harm where the place itself matters, or where neighbours have
    //    nothing in common.
    // > weights: linear 2304, convolution 9 (324 products); from 3 channels to 8 maps 216
    int linear = N * N * OUT * OUT;
    int products = OUT * OUT * K * K;
    int of_3_channels = 8 * 3 * K * K;
    printf("weights: linear %d, convolution %d (%d products); ", linear, K * K, products);
    printf("from 3 channels to 8 maps %d\n", of_3_channels);

    // 5. One kernel sees only 3 x 3 pixels. Max pooling widens the view: it keeps the largest of
    //    each 2 x 2, of -1 and -2 it keeps -1. It halves the side, has no weights, and what moves
    //    within a 2 x 2 changes nothing.
    //
    //    A second kernel sees 5 x 5 pixels of the image; with pooling between, 8 x 8, as its 3
    //    pooled numbers are 6 of the map, and those have seen 6 + 2 pixels.
    //
    //    Backward, the largest (the first of equals) gets the gradient, and the others get 0: they
    //    changed nothing.
    // > pooled, rows of 3: 2 0 -1 3 0 -3 2 0 -1
    // > its gradient in the map, rows 0 and 1: 0 0 1 0 1 0 1 0 0 0 0 0
    samba_tensor *pooled = samba_max_pool2d(map, &(samba_pool_opts){ .kernel = { 2, 2 } });
    samba_tensor *gradient = samba_grad(samba_sum(pooled, SAMBA_ALL_AXES, false), map);
    print_numbers("pooled, rows of 3", samba_read(pooled), 9, 2);
    print_numbers("its gradient in the map, rows 0 and 1", samba_read(gradient), 2 * OUT, 2);

    // 6. Nobody needs to design kernels: they are weights, and learn. The gradient of a shared
    //    weight is the sum over all its places; that of a pixel, over all outputs that saw it.
    //
    //    This kernel tells upright bars from lying ones, at new places, too: an upright bar fills
    //    its right column, a lying one only a third of it. (11 of 12 other random beginnings find
    //    one.) A linear layer gets all new bars wrong: it knows their pixels from the other kind
    //    alone.
    // > kernel: -0.15 -0.12 1.6 0.028 -0.043 1.6 -0.12 -0.24 1.6
    // > bars at new places: 4 of 4 are right, by the linear layer 0
    float kernel[K * K];
    int right = learn(kernel);
    int right_by_linear = learn(NULL);
    print_numbers("kernel", kernel, K * K, 2);
    printf("bars at new places: %d of 4 are right, ", right);
    printf("by the linear layer %d\n", right_by_linear);

    // 7. How large should kernels be? Mostly 3 x 3: two of them see as much as one of 5 x 5, with
    //    18 weights, not 25. Where pooling halves the side, the number of maps is often doubled: a
    //    quarter of the places is left, and there is more to tell of each. With how many to begin,
    //    try.
    picture p = picture_open(path, 2, "A kernel, and what it sees",
        "Left edges of a square are positive, right ones negative; the kernel that was learned.");
    picture_axes(&p, 0, OUT, OUT, 0, "edges of a square", "");
    picture_cells(&p, samba_read(map), OUT, OUT, 3);
    picture_axes(&p, 0, K, K, 0, "learned kernel", "");
    picture_cells(&p, kernel, K, K, 1.5f);
    picture_close(&p);

    // To think about:
    //   What does the kernel of step 1 answer to a horizontal edge? Turn it to find one.
    //   Which side has 28 x 28 after k = 5, then pooling by 2, then k = 5, then pooling by 2?
    //
    // Now you: exercise 11a is convolution, 11b max pooling, 11c the size. `make learn` begins with
    // the first that is open, `tools/learn/learn.sh watch 11a` with 11a.
    return samba_close(s);
}
