// Lesson 6: layers, and with which weights they begin.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/06_layers.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 06.svg draws. New: layer, hidden, relu.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

enum { WIDTH = 64, DEPTH = 8 };

static samba_tensor *tensor(samba_session *s, const char *name, int m, int n, const float *data)
{
    return samba_from_data_copy(s, name, SAMBA_F32, SAMBA_SHAPE(m, n), data);
}

static void print(const char *name, samba_tensor *t)
{
    printf("%s (%d,%d):", name, (int)t->shape.dim[0], (int)t->shape.dim[1]);
    for (int i = 0; i < samba_count(&t->shape); i++) printf(" %g", (double)samba_read(t)[i]);
    printf("\n");
}

// The root of the mean of the squares of x.
static float size_of(samba_tensor *x)
{
    return samba_read(samba_sqrt(samba_mean(samba_mul(x, x), SAMBA_ALL_AXES, false)))[0];
}

// DEPTH layers of tanh, whose weights are normal random numbers of this standard deviation.
static void deep(const char *name, float deviation, float sizes[DEPTH + 1])
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *h = samba_randn(s, "x", SAMBA_SHAPE(64, WIDTH));      // a batch of 64
    printf("%s:", name);
    for (int i = 0; i <= DEPTH; i++) {
        char layer[16];
        snprintf(layer, sizeof layer, "w%d", i);
        sizes[i] = size_of(h);
        if (i % 4 == 0) printf("  layer %d %.4f", i, (double)sizes[i]);
        samba_tensor *w = samba_param(s, layer, SAMBA_SHAPE(WIDTH, WIDTH),
                                      (samba_init){ SAMBA_INIT_NORMAL, .scale = deviation });
        h = samba_tanh(samba_affine(h, w, NULL));
    }
    printf("  mean slope %.2f\n", (double)(1 - sizes[DEPTH] * sizes[DEPTH]));
    samba_close(s);
}

// XOR with a hidden layer of 4 neurons. Equal: all weights begin at 0.5, else they are random.
static void learn_xor(const char *name, bool equal)
{
    static const float cases[8] = { 0, 0, 0, 1, 1, 0, 1, 1 }, wanted[4] = { 0, 1, 1, 0 };
    samba_session *s = samba_open(NULL);
    samba_init init = { SAMBA_INIT_NORMAL, .scale = 1 };
    if (equal) init = (samba_init){ .value = 0.5f };
    samba_tensor *x = tensor(s, "x", 4, 2, cases), *t = tensor(s, "t", 4, 1, wanted);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(4, 2), init);
    samba_tensor *b = samba_param(s, "b", SAMBA_SHAPE(4), (samba_init){ .value = 0 });
    samba_tensor *v = samba_param(s, "v", SAMBA_SHAPE(1, 4), init);
    samba_tensor *y = samba_affine(samba_tanh(samba_affine(x, w, b)), v, NULL);
    samba_tensor *loss = samba_mse(y, t, SAMBA_REDUCE_MEAN);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_SGD, .lr = 0.1f } });
    for (int i = 0; i < 2000; i++) samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    printf("%s: loss %.4f, first weights of the neurons", name, (double)samba_read(loss)[0]);
    for (int i = 0; i < 4; i++) printf(" %.2f%s", (double)samba_read(w)[2 * i], i < 3 ? "" : "\n");
    samba_close(s);
}

int main(int argc, char **argv)
{
    // 1. A layer is a row of n neurons with the same k inputs. Its weights are a matrix W (n,k), a
    //    row for each neuron. For a batch of B inputs, the rows of x, all sums are one product:
    //    y = x W^T + b, from (B,k) to (B,n); b (n) is broadcast over the batch (lesson 2). The
    //    activation is relu, max(sum, 0). Two hidden neurons (only a next layer sees them) help a
    //    third to XOR: one counts the switches that are on, one fires if both are, and counts -2.
    // > hidden (4,2): 0 0 1 0 1 0 2 1
    // > XOR (4,1): 0 1 1 0
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *x = tensor(s, "x", 4, 2, (float[]){ 0, 0, 0, 1, 1, 0, 1, 1 });
    samba_tensor *w = tensor(s, "w", 2, 2, (float[]){ 1, 1, 1, 1 });
    samba_tensor *b = samba_reshape(tensor(s, "b", 1, 2, (float[]){ 0, -1 }), SAMBA_SHAPE(2));
    samba_tensor *hidden = samba_relu(samba_affine(x, w, b));
    print("hidden", hidden);
    print("XOR", samba_affine(hidden, tensor(s, "v", 1, 2, (float[]){ 1, -2 }), NULL));
    samba_close(s);

    // 2. Without the bend, two layers were one: (x W^T) V^T = x (V W)^T.
    //    Going backward, dy (B,n) is the gradient of y. Then dx = dy W, dW = dy^T x, and db is dy
    //    summed over the batch: in each, the shapes leave no other choice.
    // 3. Neurons that begin equal get equal gradients and stay equal: a layer of copies of one
    //    neuron, which is no XOR. Random weights break this symmetry; a seed makes them repeatable.
    // > begun equal: loss 0.1822, first weights of the neurons 1.60 1.60 1.60 1.60
    // > begun random: loss 0.0000, first weights of the neurons 0.62 1.33 -1.66 0.74
    learn_xor("begun equal", true);
    learn_xor("begun random", false);

    // 4. How large should they be? A sum of k products with weights of standard deviation d, their
    //    typical size, is sqrt(k) d times as large as the inputs. Below 1, values shrink with each
    //    layer; far above, tanh saturates: it is near 1 or -1, where its slope, 1 - tanh^2, is near
    //    0. About 1 / sqrt(k) is right; relu, which drops half, wants sqrt(2 / k).
    float sizes[3][DEPTH + 1], at[DEPTH + 1];
    // > d 1/16:  layer 0 0.9965  layer 4 0.0499  layer 8 0.0032  mean slope 1.00
    // > d 1/8:  layer 0 0.9965  layer 4 0.3630  layer 8 0.2546  mean slope 0.94
    // > d 1/2:  layer 0 0.9965  layer 4 0.8916  layer 8 0.8885  mean slope 0.21
    static const char *const names[] = { "d 1/16", "d 1/8", "d 1/2" };
    deep(names[0], 1.0f / 16, sizes[0]);
    deep(names[1], 1.0f / 8, sizes[1]);                     // k is 64: 1 / sqrt(k)
    deep(names[2], 1.0f / 2, sizes[2]);
    for (int i = 0; i <= DEPTH; i++) at[i] = (float)i;
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "What is left after each layer",
        "Size of values in 8 layers: weights that are small make it 0, large ones keep it near 1.");
    picture_axes(&p, 0, DEPTH, 0, 1, "layer", "size");
    for (int i = 0; i < 3; i++) picture_line(&p, at, sizes[i], DEPTH + 1, names[i]);
    picture_close(&p);

    // Exercises 06a, 06b and 06c (make learn) are a layer, its first weights, its way back. Then:
    //   Which shapes have W, b and y of a layer from 784 to 10, for a batch of 32?
    //   Why may biases begin at 0, all of them, and weights not?
    return 0;
}
