// Lesson 6: layers, and with which weights they begin.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/06_layers.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 06.svg draws. New: layer, hidden.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

enum { WIDTH = 64, DEPTH = 8 };
static const float cases[8] = { 0, 0, 0, 1, 1, 0, 1, 1 }, xor_target[4] = { 0, 1, 1, 0 };
static int relu(int sum) { return sum > 0 ? sum : 0; }

// How large numbers typically are, without their signs: the root of the mean of their squares.
static float size_of(samba_tensor *x)
{
    return samba_read(samba_sqrt(samba_mean(samba_mul(x, x), SAMBA_ALL_AXES, false)))[0];
}

// A batch of 64 goes through DEPTH layers. The weights are normal random numbers of size d, their
// standard deviation: most are nearer to 0 than d, few beyond 2 d. Then the gradient of the sum of
// h dy goes back to the inputs: for h, the last layer, it is dy, random numbers of size 1.
static void deep(const char *name, bool is_relu, float d, float sizes[DEPTH + 1])
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(64, WIDTH)), *h = x;
    for (int i = 0; i < DEPTH; i++) {
        sizes[i] = size_of(h);
        samba_tensor *w = samba_param(s, (char[]){ 'w', (char)('0' + i), 0 },
            SAMBA_SHAPE(WIDTH, WIDTH), (samba_init){ SAMBA_INIT_NORMAL, .scale = d });
        h = is_relu ? samba_relu(samba_affine(h, w, NULL)) : samba_tanh(samba_affine(h, w, NULL));
    }
    sizes[DEPTH] = size_of(h);
    samba_tensor *dx = samba_grad(samba_mul(h, samba_randn(s, "dy", h->shape)), x);
    printf("%s: layer 4 %.4f, layer 8 %.4f, gradient %.4f\n", name, (double)sizes[4],
           (double)sizes[DEPTH], (double)size_of(dx));
    samba_close(s);
}

// XOR with a hidden layer of n neurons. Random weights depend on the seed; biases begin at 0.
static void learn_xor(const char *name, samba_init init, int n, uint64_t seed)
{
    samba_session *s = samba_open(&(samba_desc){ .seed = seed });
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2), cases);
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(4, 1), xor_target);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(n, 2), init);
    samba_tensor *b = samba_param(s, "b", SAMBA_SHAPE(n), (samba_init){ .value = 0 });
    samba_tensor *v = samba_param(s, "v", SAMBA_SHAPE(1, n), init);
    samba_tensor *y = samba_affine(samba_tanh(samba_affine(x, w, b)), v, NULL);
    samba_tensor *loss = samba_mse(y, t, SAMBA_REDUCE_MEAN);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_SGD, .lr = 0.1f } });
    for (int i = 0; i < 2000; i++) samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    printf("%s: loss %.4f, w of x[0] %.2f %.2f\n", name, (double)samba_read(loss)[0],
           (double)samba_read(w)[0], (double)samba_read(w)[2]);
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
    // > by hand, with 0, 1 and 2 on: 0 1 0
    printf("by hand, with 0, 1 and 2 on: %d %d %d\n", relu(0) - 2 * relu(0 - 1),
           relu(1) - 2 * relu(1 - 1), relu(2) - 2 * relu(2 - 1));

    // 3. Backward, dy (B,n) is the gradient of y. x[i][c] went into each neuron j, times W[j][c];
    //    so its gradient is the sum over j of dy[i][j] W[j][c]. That is dx = dy W. By the same way
    //    of thinking dW = dy^T x, and db is dy summed over the batch (lesson 2).
    // 4. XOR again, now learned, with another bend: tanh, a sigmoid from -1 to 1, which is 0 at 0.
    //    If weights begin at 0, the hidden outputs are 0, and v gets no gradient; nor does w, which
    //    gets its own through v. If they begin equal, the neurons get equal gradients, and stay
    //    copies of one: no XOR (0, 2/3, 2/3, 2/3 at best). Random weights break this symmetry.
    // > begun at 0: loss 0.5000, w of x[0] 0.00 0.00
    // > begun equal: loss 0.1822, w of x[0] 1.60 1.60
    // > begun random: loss 0.0000, w of x[0] 0.62 1.33
    const samba_init random = { SAMBA_INIT_NORMAL, .scale = 1 };
    learn_xor("begun at 0", (samba_init){ .value = 0 }, 4, 0);
    learn_xor("begun equal", (samba_init){ .value = 0.5f }, 4, 0);
    learn_xor("begun random", random, 4, 0);

    // 5. How many neurons? Two are enough (step 2), but not from every start: seed 3 is stuck where
    //    it is no XOR (many low points: lesson 3). Of seeds 0 to 19, 14 succeed; with 4, all.
    // > 2 neurons, seed 1: loss 0.0000, w of x[0] 0.85 -2.23
    // > 2 neurons, seed 3: loss 0.1276, w of x[0] 0.80 -0.81
    learn_xor("2 neurons, seed 1", random, 2, 1);
    learn_xor("2 neurons, seed 3", random, 2, 3);

    // 6. How large should they begin? (p + q)^2 is p^2 + q^2 + 2 p q. If signs are random, 2 p q is
    //    as often below 0 as above. So a sum of k products has, on average, k times the square of
    //    one, and sqrt(k), not k, times its size. Weights of size d make values sqrt(k) d times as
    //    large, and the gradient, as dx = dy W sums n products, sqrt(n) d times. So d = 1 / sqrt(k)
    //    is about right, here 1/8. (tanh, nearer to 0 than its input, shrinks values slowly.)
    // > d 1/8: layer 4 0.3630, layer 8 0.2546, gradient 0.2870
    // 7. With half of that, each layer about halves both: the gradient vanishes.
    // > d 1/16: layer 4 0.0499, layer 8 0.0032, gradient 0.0031
    // 8. With 1/2, sums are 4 times the inputs. tanh saturates: its slope, 1 - tanh^2, is near 0 at
    //    1 and -1. But where it is not, 4 times the gradient passes, and it explodes.
    // > d 1/2: layer 4 0.8916, layer 8 0.8885, gradient 31.8249
    // 9. relu drops half of the squares, and so wants d = sqrt(2 / k).
    // > relu, d sqrt(2/64): layer 4 1.0189, layer 8 1.0533, gradient 0.9770
    float sizes[DEPTH + 1], at[DEPTH + 1] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    static const char *const names[] = { "d 1/8", "d 1/16", "d 1/2", "relu, d sqrt(2/64)" };
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "What is left after each layer",
        "Size of values in 8 layers: by tanh 0 if weights are small, by relu it stays near 1.");
    for (int i = 0; i < 4; i++) {
        if (i % 3 == 0) picture_axes(&p, 0, DEPTH, 0, 1.2, i ? "layer, relu" : "layer", "size");
        deep(names[i], i == 3, (float[]){ 1, 0.5f, 4, sqrtf(2) }[i] / 8, sizes);
        picture_line(&p, at, sizes, DEPTH + 1, names[i]);
    }
    picture_close(&p);

    // Exercises 06a, 06b and 06c (make learn) are a layer, its first weights, its way back. Then:
    //   Which shapes have W, b and y of a layer from 784 to 10, for a batch of 32?
    return 0;
}
