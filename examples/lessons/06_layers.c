// Lesson 6: layers, and with which weights they begin.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/06_layers.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 06.svg draws. New: layer, hidden.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

enum { WIDTH = 64, DEPTH = 8 };
static const float cases[8] = { 0, 0, 0, 1, 1, 0, 1, 1 }, xor_target[4] = { 0, 1, 1, 0 };

// How large numbers typically are, without their signs: the root of the mean of their squares.
static float size_of(samba_tensor *x)
{
    return samba_read(samba_sqrt(samba_mean(samba_mul(x, x), SAMBA_ALL_AXES, false)))[0];
}

// A batch of 64 goes through DEPTH layers. The weights are normal random numbers of size d, their
// standard deviation: most are nearer to 0 than d, few beyond 2 d. Then the gradient of the sum of
// h dy goes back to the inputs: for h, the last layer, it is dy, random numbers of size 1.
static void deep(const char *name, bool relu, float d, float sizes[DEPTH + 1])
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(64, WIDTH)), *h = x;
    for (int i = 0; i < DEPTH; i++) {
        sizes[i] = size_of(h);
        samba_tensor *w = samba_param(s, (char[]){ 'w', (char)('0' + i), 0 },
            SAMBA_SHAPE(WIDTH, WIDTH), (samba_init){ SAMBA_INIT_NORMAL, .scale = d });
        h = relu ? samba_relu(samba_affine(h, w, NULL)) : samba_tanh(samba_affine(h, w, NULL));
    }
    sizes[DEPTH] = size_of(h);
    samba_tensor *dx = samba_grad(samba_mul(h, samba_randn(s, "dy", h->shape)), x);
    printf("%s: layer 4 %.4f, layer 8 %.4f, gradient %.4f\n", name, (double)sizes[4],
           (double)sizes[DEPTH], (double)size_of(dx));
    samba_close(s);
}

// XOR with a hidden layer of 4 neurons. All weights begin as init says, the biases at 0.
static void learn_xor(const char *name, samba_init init)
{
    samba_session *s = samba_open(NULL);    // &(samba_desc){ .seed = 7 }: other weights, equal loss
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2), cases);
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(4, 1), xor_target);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(4, 2), init);
    samba_tensor *b = samba_param(s, "b", SAMBA_SHAPE(4), (samba_init){ .value = 0 });
    samba_tensor *v = samba_param(s, "v", SAMBA_SHAPE(1, 4), init);
    samba_tensor *y = samba_affine(samba_tanh(samba_affine(x, w, b)), v, NULL);
    samba_tensor *loss = samba_mse(y, t, SAMBA_REDUCE_MEAN);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_SGD, .lr = 0.1f } });
    for (int i = 0; i < 2000; i++) samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    printf("begun %s: loss %.4f, w of x[0]", name, (double)samba_read(loss)[0]);
    for (int i = 0; i < 4; i++) printf(" %.2f%s", (double)samba_read(w)[2 * i], i < 3 ? "" : "\n");
    samba_close(s);
}

int main(int argc, char **argv)
{
    // 1. A layer is n neurons with the same k inputs: n k weights, n biases. The weights are a
    //    matrix W (n,k), a row for each neuron; the inputs are a batch x (B,k). For example i, the
    //    sum of neuron j is x[i][0] W[j][0] + ... + x[i][k-1] W[j][k-1] + b[j]. In short, y (B,n)
    //    is x W^T + b (T: transposed), a product of matrices and a broadcast: samba_affine(x, W, b)
    // 2. An XOR by hand. Of two neurons with relu (lesson 5), one counts the switches that are on,
    //    the other fires if both are. They are hidden: only the next layer sees them. Its neuron
    //    adds 1 times the one and -2 times the other. Without relu, two layers, of weights W and V,
    //    are no more than one, of weights V W: (x W^T) V^T = x (V W)^T. Here: 2 - x[0] - x[1].
    // > 0 on: hidden 0 0, XOR 0, without relu 2
    // > 1 on: hidden 1 0, XOR 1, without relu 1
    // > 2 on: hidden 2 1, XOR 0, without relu 0
    for (int on = 0; on <= 2; on++) {
        int count = on, both = on - 1 > 0 ? on - 1 : 0;     // relu of on, and of on - 1
        printf("%d on: hidden %d %d, XOR %d, without relu %d\n", on, count, both,
               count - 2 * both, on - 2 * (on - 1));
    }

    // 3. Backward, dy (B,n) is the gradient of y. x[i][c] went into each neuron j, times W[j][c];
    //    so its gradient is the sum over j of dy[i][j] W[j][c]. That is dx = dy W. By the same way
    //    of thinking dW = dy^T x, and db is dy summed over the batch (lesson 2).
    // 4. XOR again, now learned, with another bend: tanh, a sigmoid from -1 to 1, which is 0 at 0.
    //    If all weights begin at 0, the hidden outputs are 0, so v gets no gradient; and w gets
    //    none, since it would come through v. If they begin equal, the neurons get equal gradients
    //    and stay equal: copies of one, which is no XOR (v makes it 0, 2/3, 2/3, 2/3 at best).
    //    Random weights break this symmetry. Biases may begin at 0: as v differs, so will they. The
    //    output has no bias: begun at 0, it stays 0.
    // > begun at 0: loss 0.5000, w of x[0] 0.00 0.00 0.00 0.00
    // > begun equal: loss 0.1822, w of x[0] 1.60 1.60 1.60 1.60
    // > begun random: loss 0.0000, w of x[0] 0.62 1.33 -1.66 0.74
    learn_xor("at 0", (samba_init){ .value = 0 });
    learn_xor("equal", (samba_init){ .value = 0.5f });
    learn_xor("random", (samba_init){ SAMBA_INIT_NORMAL, .scale = 1 });

    // 5. How large should they be? (p + q)^2 is p^2 + q^2 + 2 p q. If signs are random, 2 p q is as
    //    often below 0 as above. So a sum of k products has, on average, k times the square of one
    //    product, and sqrt(k), not k, times its size. Weights of size d make values sqrt(k) d times
    //    as large, and the gradient, as dx = dy W sums n products, sqrt(n) d times. (It is printed
    //    for layer 0; k and n are 64.) If d is 1/16, each layer about halves both. If d is 1/2,
    //    sums are 4 times the inputs. tanh saturates: near 1 or -1, its slope, 1 - tanh^2, is near
    //    0. Values stay below 1, but what is not saturated passes 4 times the gradient, and it
    //    explodes. About d = 1 / sqrt(k) is right, here 1/8. Values still shrink, slowly, as tanh
    //    is nearer to 0 than its input. relu drops half of the squares, and so wants sqrt(2 / k).
    // > d 1/16: layer 4 0.0499, layer 8 0.0032, gradient 0.0031
    // > d 1/8: layer 4 0.3630, layer 8 0.2546, gradient 0.2870
    // > d 1/2: layer 4 0.8916, layer 8 0.8885, gradient 31.8249
    // > relu, d sqrt(2/64): layer 4 1.0189, layer 8 1.0533, gradient 0.9770
    float sizes[4][DEPTH + 1], at[DEPTH + 1] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    static const char *const names[] = { "d 1/16", "d 1/8", "d 1/2" };
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "What is left after each layer of tanh",
        "Size of values in 8 layers: weights that are small make it 0, large ones keep it near 1.");
    picture_axes(&p, 0, DEPTH, 0, 1, "layer", "size");
    for (int i = 0; i < 3; i++) {
        deep(names[i], false, (float[]){ 1, 2, 8 }[i] / 16, sizes[i]);
        picture_line(&p, at, sizes[i], DEPTH + 1, names[i]);
    }
    picture_close(&p);
    deep("relu, d sqrt(2/64)", true, sqrtf(2.0f / WIDTH), sizes[3]);

    // Exercises 06a, 06b and 06c (make learn) are a layer, its first weights, its way back. Then:
    //   Which shapes have W, b and y of a layer from 784 to 10, for a batch of 32?
    //   If only v began random, and all of w at 0.5, would the neurons stay equal? (Try it.)
    return 0;
}
