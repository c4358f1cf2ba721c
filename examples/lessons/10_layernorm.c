// Lesson 10: when depth fails, and what LayerNorm does about it.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/10_layernorm.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 10.svg draws.
// New: LayerNorm, variance. Next: 11_convolution.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

enum { BATCH = 16, WIDTH = 16, DEPTH = 12, STEPS = 401 };

// LayerNorm, without the weights it has of its own, as ops one by one. Each row gets mean 0: the
// mean is subtracted (along axis -1, which is the last one). And it gets variance 1: the variance
// is the mean of the squared distances from the mean, and the row is divided by its root. 1e-5 is
// for rows whose numbers are nearly the same.
static samba_tensor *normalize(samba_tensor *x)
{
    samba_tensor *mean = samba_mean(x, SAMBA_AXES(-1), true);
    samba_tensor *distance = samba_sub(x, mean);
    samba_tensor *square = samba_mul(distance, distance);
    samba_tensor *variance = samba_mean(square, SAMBA_AXES(-1), true);
    return samba_mul(distance, samba_rsqrt(samba_shift(variance, 1e-5f))); // rsqrt: 1 / root
}

// DEPTH layers without biases. Their weights begin `times` as large as lesson 6 wants them for
// relu, sqrt(2 / k), where k is the number of inputs.
static samba_tensor *deep_net(samba_tensor *x, float times, bool norm)
{
    samba_tensor *h = x;
    for (int i = 0; i < DEPTH; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer%d", i);
        int k = i ? WIDTH : 2;
        samba_init init = { SAMBA_INIT_NORMAL, .scale = times * sqrtf(2.0f / (float)k) };
        samba_tensor *w = samba_param(x->session, name, SAMBA_SHAPE(WIDTH, k), init);
        h = samba_affine(h, w, NULL);
        if (norm) h = samba_layernorm(h, name);
        h = samba_relu(h);
    }
    return samba_sigmoid(samba_linear(h, "out", 1));
}

// The largest number of the gradient of the first layer.
static float first_gradient(samba_session *s)
{
    float most = 0;
    const float *g = samba_read(samba_sn_grad(samba_tensor_by_name(s, "layer0")));
    for (int i = 0; i < WIDTH * 2; i++) {
        most = fmaxf(most, fabsf(g[i]));
    }
    return most;
}

// The net learns the sign of a product: 1 is wanted if x[0] x[1] > 0, else 0.
static void learn(float times, bool norm, float losses[STEPS])
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(BATCH, 2));
    const float *pair = samba_read(x);
    float wanted[BATCH];
    for (int b = 0; b < BATCH; b++) {
        wanted[b] = pair[2 * b] * pair[2 * b + 1] > 0;
    }
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(BATCH, 1), wanted);
    samba_tensor *loss = samba_mse(deep_net(x, times, norm), t, SAMBA_REDUCE_MEAN);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_SGD, .lr = 0.1f } });

    samba_run(s, SAMBA_FWD | SAMBA_BCKWD);
    printf("%s, weights x %g: ", norm ? "LayerNorm" : "plain", (double)times);
    printf("gradient %.1g, losses", (double)first_gradient(s));
    for (int i = 0; i < STEPS; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        losses[i] = samba_read(loss)[0];
        if (i % 200 == 0) printf(" %.3f", (double)losses[i]);
    }
    printf("\n");
    samba_close(s);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    static float plain[3][STEPS], normed[3][STEPS], steps[STEPS];
    static const float times[3] = { 0.5f, 1, 2 };

    // 1. Deep nets can do more: each layer bends what is bent already, so bends multiply, where a
    //    wider layer only adds some. But first they must learn at all. Take 12 layers with relu. If
    //    all weights are half as large as is right, each layer halves what goes forward, and also
    //    the gradient that comes back (dx = dy W, lesson 6).
    //
    //    The gradient of a weight is dy^T x: the layers before have halved x, those behind have
    //    halved dy. Together, that is 11 times.
    //
    //    2^-11 is about 1/2000. The gradient vanishes, and all the net learns is the mean of the
    //    targets, as the neuron did with XOR (lesson 5).

    // 2. If weights are twice too large, values explode. The sigmoid saturates: it is sure of each
    //    answer, wrong in 6 of 16 (loss 0.375), and its slope is 0. The deeper, the worse.
    //
    //    Printed are the largest first gradient in layer 0, and the losses of steps 0, 200 and 400:
    // > plain, weights x 0.5: gradient 1e-05, losses 0.263 0.235 0.234
    // > plain, weights x 1: gradient 0.02, losses 0.224 0.003 0.000
    // > plain, weights x 2: gradient 0, losses 0.375 0.375 0.375
    for (int i = 0; i < 3; i++) {
        learn(times[i], false, plain[i]);
    }

    // 3. So let each layer repair the size itself: LayerNorm, before each relu, gives each row mean
    //    0 and variance 1. Now doubled weights change nothing that comes out. All three begin with
    //    the same loss, and all three learn. The gradient is mended, too: backward, LayerNorm
    //    divides by the same root, so what was made too small comes back larger.
    //
    //    But doubled weights get half the gradient: if twice the weights give the same, it takes
    //    twice the change to give another. Half the step, beside twice the weight, is a quarter. So
    //    x 2 is slow here (other beginnings differ), and for small ones, x 0.1, steps are too
    //    large.
    // > LayerNorm, weights x 0.5: gradient 0.004, losses 0.244 0.002 0.001
    // > LayerNorm, weights x 1: gradient 0.002, losses 0.244 0.005 0.001
    // > LayerNorm, weights x 2: gradient 0.0009, losses 0.244 0.106 0.003
    for (int i = 0; i < 3; i++) {
        learn(times[i], true, normed[i]);
    }

    // 4. To see what it does, take two rows, one 100 times the other: both become the same. Each
    //    row is for itself, in training and in use. After it, each column has a weight, first 1,
    //    and a bias, first 0, so it may learn another scale. Without them each relu would see about
    //    half of its inputs below 0.
    //
    //    (Relatives: BatchNorm takes means of columns, so an answer depends on the others in its
    //    batch, and means must be stored for use. RMSNorm subtracts no mean.)
    // > by hand: -0.926 -0.463 1.389 -0.926 -0.463 1.389
    // > samba: -0.926 -0.463 1.389 -0.926 -0.463 1.389
    const float rows[6] = { 1, 2, 6, 100, 200, 600 };
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3), rows);
    samba_tensor *y = samba_layer_normalize(x, NULL, NULL, 1e-5f);
    print_tensor("by hand", normalize(x), 3);
    print_tensor("samba", y, 3);

    // 5. Backward, a row belongs together: all its numbers go into its mean and variance, so each
    //    dx depends on all dy of the row. Two facts help to check it. Add the same d to all x of
    //    the row, and nothing changes that comes out: so dx adds up to 0. Double all x: nothing
    //    changes, either. So dx times x adds up to 0, too.
    //
    //    Here for x = 1, 2, 6 and dy = 1, 0, 0: 1 * 0.176 - 2 * 0.220 + 6 * 0.044 = 0.
    // > dx: 0.176 -0.220 0.044
    samba_tensor *again = samba_layer_normalize(x, NULL, NULL, 1e-5f);
    samba_tensor *first_column = samba_slice(again, 1, 0, 1, 1);
    samba_tensor *dx = samba_grad(first_column, x);
    print_tensor("dx", samba_slice(dx, 0, 0, 1, 1), 3);

    for (int i = 0; i < STEPS; i++) {
        steps[i] = (float)i;
    }
    static const char *const names[] = { "x 0.5", "x 1", "x 2" };
    picture p = picture_open(path, 2, "12 layers, without and with LayerNorm",
        "Plain, only weights of the right size let the loss fall. With LayerNorm, all three do.");
    picture_axes(&p, 0, STEPS - 1, 0, 0.4, "step, plain", "loss");
    for (int i = 0; i < 3; i++) {
        picture_line(&p, steps, plain[i], STEPS, names[i]);
    }
    picture_axes(&p, 0, STEPS - 1, 0, 0.4, "step, with LayerNorm", "loss");
    for (int i = 0; i < 3; i++) {
        picture_line(&p, steps, normed[i], STEPS, names[i]);
    }
    picture_close(&p);

    // To think about:
    //   All weights of a layer are doubled. What changes behind a LayerNorm? Why is that good?
    //   Which two rows can come out of it if a row has only 2 numbers? And if it has only 1?
    //
    // Now you: exercise 10a is LayerNorm, 10b its way back. `make learn` begins with the first that
    // is open, `tools/learn/learn.sh watch 10a` with 10a.
    return samba_close(s);
}
