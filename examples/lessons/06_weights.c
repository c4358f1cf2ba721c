// Lesson 6, second half: how large the first weights are, and why a deep net depends on it.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/06_weights.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 06.svg draws.
// New: initialization, vanishing gradient, exploding gradient. Next: 07_losses.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

enum { WIDTH = 64, DEPTH = 8 };

// How large numbers typically are, without their signs: the root of the mean of their squares.
static float size_of(samba_tensor *x)
{
    samba_tensor *mean_square = samba_mean(samba_mul(x, x), SAMBA_ALL_AXES, false);
    return samba_read(samba_sqrt(mean_square))[0];
}

// A batch of 64 goes through DEPTH layers, and sizes gets the size of the values behind each. The
// weights are normal random numbers of size d (their standard deviation).
//
// Then a gradient goes back to the inputs: dy, random numbers of size 1, is that of the last layer,
// h. (samba_grad sums its first argument. The gradient of the sum of h dy for h is dy: so dy goes
// back from h.)
static void deep(const char *name, bool is_relu, float d, float sizes[DEPTH + 1])
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(64, WIDTH));
    samba_tensor *h = x;
    const samba_init normal = { SAMBA_INIT_NORMAL, .scale = d };
    for (int i = 0; i < DEPTH; i++) {
        sizes[i] = size_of(h);
        char weights[] = "w0";
        weights[1] = (char)('0' + i);
        samba_tensor *w = samba_param(s, weights, SAMBA_SHAPE(WIDTH, WIDTH), normal);
        samba_tensor *sum = samba_affine(h, w, NULL);
        h = is_relu ? samba_relu(sum) : samba_tanh(sum);
    }
    sizes[DEPTH] = size_of(h);

    samba_tensor *dy = samba_randn(s, "dy", h->shape);
    samba_tensor *dx = samba_grad(samba_mul(h, dy), x);
    printf("%s: layer 4 %.4f, layer 8 %.4f, ", name, (double)sizes[4], (double)sizes[DEPTH]);
    printf("gradient %.4f\n", (double)size_of(dx));
    samba_close(s);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    float sizes[DEPTH + 1];
    static const float layers[DEPTH + 1] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };

    picture p = picture_open(path, 2, "What is left after each layer",
        "Size of values in 8 layers: by tanh 0 if weights are small, by relu it stays near 1.");
    picture_axes(&p, 0, DEPTH, 0, 1.2, "layer", "size");

    // 1. Weights begin random (first half). But how large? Each layer makes its values larger or
    //    smaller, and after many layers that adds up, or rather multiplies. So let us find out what
    //    one layer does.
    //
    //    A sum of two numbers has the square (p + q)^2 = p^2 + q^2 + 2 p q. With random signs,
    //    2 p q is as often below 0 as above. So the square of a sum of k products is, on average,
    //    k times the square of one. Its size is sqrt(k) times as large, not k times.

    // 2. That gives a rule. Weights of size d make values sqrt(k) d times as large, where k is the
    //    number of inputs. So d = 1 / sqrt(k) keeps them as they are; here that is 1/8.
    //
    //    The gradient, as dx = dy W sums over the layer's n neurons, changes by sqrt(n) d, which is
    //    the same here. (If k and n differ, no d suits both: one takes k, or the mean of k and n in
    //    its place.)
    //
    //    (That is what the weights do. But tanh x is nearer to 0 than x: so values still shrink,
    //    slowly. Unchanged would be 1, for the gradient, too.)
    // > d 1/8: layer 4 0.3630, layer 8 0.2546, gradient 0.2870
    deep("d 1/8", false, 1 / 8.0f, sizes);
    picture_line(&p, layers, sizes, DEPTH + 1, "d 1/8");

    // 3. With half of that, 1/16, each layer about halves values and gradient. After 8 layers
    //    nearly nothing comes back: the first layers cannot learn. The gradient vanishes.
    //
    //    A larger lr is no cure. It would have to be huge now, and be far too large as soon as
    //    weights have doubled: with 1/8 in place of 1/16, values in layer 8 are 80 times as large.
    // > d 1/16: layer 4 0.0499, layer 8 0.0032, gradient 0.0031
    deep("d 1/16", false, 1 / 16.0f, sizes);
    picture_line(&p, layers, sizes, DEPTH + 1, "d 1/16");

    // 4. Too large is no better. With 1/2, sums are 4 times the inputs, and tanh saturates: near 1
    //    or -1 its slope, 1 - tanh^2, is near 0. But where tanh is not near them, 4 times the
    //    gradient passes. All in all a layer makes it about 1.5 times as large, and 8 layers 32
    //    times: it explodes.
    // > d 1/2: layer 4 0.8916, layer 8 0.8885, gradient 31.8249
    deep("d 1/2", false, 1 / 2.0f, sizes);
    picture_line(&p, layers, sizes, DEPTH + 1, "d 1/2");

    // 5. Another bend wants another size. relu makes 0 of all that is below 0, and so drops half of
    //    the squares. To make up for it, the squares of the weights must be twice as large:
    //    d = sqrt(2 / k).
    // > relu, d sqrt(2/64): layer 4 1.0189, layer 8 1.0533, gradient 0.9770
    deep("relu, d sqrt(2/64)", true, sqrtf(2) / 8, sizes);
    picture_axes(&p, 0, DEPTH, 0, 1.2, "layer, relu", "size");
    picture_line(&p, layers, sizes, DEPTH + 1, "relu, d sqrt(2/64)");
    picture_close(&p);

    // 6. samba_linear is samba_affine with a W and b of its own. They begin as random numbers
    //    between -1 / sqrt(k) and 1 / sqrt(k). Spread evenly, these have the size 1 / sqrt(3 k),
    //    somewhat smaller than step 2 wants, which does no harm in nets of a few layers.
    //
    //    But when a deep net does not learn, print the sizes of its first gradients, layer by
    //    layer: after forward and backward, samba_sn_grad(w) is that of w (lesson 4). If the first
    //    layer's is a hundredth of the last layer's, or less, it vanishes.

    // To think about:
    //   A layer has 1024 inputs and relu. Of which size should its weights begin?
    //   With d = 1/16, how many layers does it take until the gradient is below a millionth?
    //
    // Now you: exercise 06b makes first weights. `make learn` begins with the first that is open,
    // `tools/learn/learn.sh watch 06b` with 06b.
    return 0;
}
