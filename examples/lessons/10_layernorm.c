// Lesson 10: when depth fails, and what LayerNorm does about it.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/10_layernorm.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 10.svg draws. New: LayerNorm, variance.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

enum { BATCH = 16, WIDTH = 16, DEPTH = 12, STEPS = 401 };

static void print(const char *name, samba_tensor *t)
{
    printf("%s:", name);
    for (int i = 0; i < samba_count(&t->shape); i++) printf(" %.3f", (double)samba_read(t)[i]);
    printf("\n");
}

// LayerNorm without its weights, as ops one by one: each row gets mean 0 and variance 1, the mean
// of the squared distances from the mean. 1e-5 is for rows whose numbers are nearly all the same.
static samba_tensor *normalize(samba_tensor *x)
{
    samba_tensor *away = samba_sub(x, samba_mean(x, SAMBA_AXES(-1), true));
    samba_tensor *variance = samba_mean(samba_mul(away, away), SAMBA_AXES(-1), true);
    return samba_mul(away, samba_rsqrt(samba_shift(variance, 1e-5f)));
}

// DEPTH layers, without biases, learn the sign of a product: y is 1 if x[0] x[1] > 0, else 0. Their
// weights begin `times` as large as lesson 6 wants them for relu, sqrt(2 / k).
static void learn(float times, bool norm, float losses[STEPS])
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(BATCH, 2)), *h = x;
    float wanted[BATCH];
    const float *in = samba_read(x);
    for (int b = 0; b < BATCH; b++) wanted[b] = in[2 * b] * in[2 * b + 1] > 0;
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(BATCH, 1), wanted);
    for (int i = 0; i < DEPTH; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer%d", i);
        int k = i ? WIDTH : 2;                              // inputs of the layer
        samba_init init = { SAMBA_INIT_NORMAL, .scale = times * sqrtf(2.0f / (float)k) };
        h = samba_affine(h, samba_param(s, name, SAMBA_SHAPE(WIDTH, k), init), NULL);
        if (norm) h = samba_layernorm(h, name);
        h = samba_relu(h);
    }
    h = samba_sigmoid(samba_linear(h, "out", 1));
    samba_tensor *loss = samba_mse(h, t, SAMBA_REDUCE_MEAN);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_SGD, .lr = 0.1f } });
    samba_run(s, SAMBA_FWD | SAMBA_BCKWD);
    const float *g = samba_read(samba_sn_grad(samba_tensor_by_name(s, "layer0")));
    float most = 0;
    for (int i = 0; i < WIDTH * 2; i++) most = fmaxf(most, fabsf(g[i]));
    for (int i = 0; i < STEPS; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        losses[i] = samba_read(loss)[0];
    }
    printf("%s, weights x %g: ", norm ? "LayerNorm" : "plain", (double)times);
    printf("gradient %.1g, losses", (double)most);
    for (int i = 0; i < STEPS; i += 200) printf(" %.3f", (double)losses[i]);
    printf("\n");
    samba_close(s);
}

int main(int argc, char **argv)
{
    static float losses[6][STEPS], at[STEPS];
    static const float times[3] = { 0.5f, 1, 2 };
    // 1. A net of 12 layers with relu. If all weights are half as large as is right, each layer
    //    halves what goes forward, and also the gradient that comes back (dx = dy W, lesson 6). The
    //    gradient of a weight is dy^T x: the layers before halved x, those behind halved dy, all 11
    //    but its own: 2^-11, about 1/2000. It vanishes, and the net learns the mean of the targets,
    //    here no more, as the neuron did with XOR (lesson 5).
    // 2. If weights are twice too large, values explode: the sigmoid saturates, sure of each
    //    answer, wrong in 6 of 16 (loss 0.375), and its slope is 0. The deeper, the worse. Printed
    //    are the largest first gradient in layer 0, and the losses of steps 0, 200 and 400:
    // > plain, weights x 0.5: gradient 1e-05, losses 0.263 0.235 0.234
    // > plain, weights x 1: gradient 0.02, losses 0.224 0.003 0.000
    // > plain, weights x 2: gradient 0, losses 0.375 0.375 0.375
    // 3. LayerNorm, before each relu, gives each row mean 0 and variance 1. Now doubled weights
    //    change nothing that comes out: all three begin with the same loss, and all three learn.
    //    But doubled weights get half the gradient: beside them, a step is a quarter. So x 2 is
    //    slow here (other beginnings differ), and for small ones, x 0.1, steps are too large.
    // > LayerNorm, weights x 0.5: gradient 0.004, losses 0.244 0.002 0.001
    // > LayerNorm, weights x 1: gradient 0.002, losses 0.244 0.005 0.001
    // > LayerNorm, weights x 2: gradient 0.0009, losses 0.244 0.106 0.003
    for (int i = 0; i < 6; i++) learn(times[i % 3], i >= 3, losses[i]);
    // 4. By hand, for two rows, one 100 times the other: both become the same. Each row is for
    //    itself, in training and in use. (BatchNorm takes means of columns: an answer depends on
    //    the others in its batch, and means must be stored for use. RMSNorm subtracts no mean.)
    //    After it, each column has a weight, first 1, and a bias, first 0: it may learn another
    //    scale. Without them each relu would see about half of its inputs below 0.
    // > by hand: -0.926 -0.463 1.389 -0.926 -0.463 1.389
    // > samba: -0.926 -0.463 1.389 -0.926 -0.463 1.389
    const float rows[6] = { 1, 2, 6, 100, 200, 600 };
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3), rows);
    print("by hand", normalize(x));
    print("samba", samba_layer_normalize(x, NULL, NULL, 1e-5f));
    // 5. Backward: all of a row go into its mean and variance, so each dx depends on all dy of the
    //    row. Add the same d to all x of the row, and nothing changes that comes out: so dx adds up
    //    to 0. Double all x of the row: nothing changes, either; so dx times x adds up to 0, too.
    //    Here for x = 1, 2, 6 and dy = 1, 0, 0: 1 * 0.176 - 2 * 0.220 + 6 * 0.044 = 0.
    // > dx: 0.176 -0.220 0.044
    samba_tensor *first = samba_slice(samba_layer_normalize(x, NULL, NULL, 1e-5f), 1, 0, 1, 1);
    print("dx", samba_slice(samba_grad(first, x), 0, 0, 1, 1));
    for (int i = 0; i < STEPS; i++) at[i] = (float)i;
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "12 layers, without and with LayerNorm",
        "Plain, only weights of the right size let the loss fall. With LayerNorm, all three do.");
    for (int i = 0; i < 6; i++) {
        const char *panel = i ? "step, with LayerNorm" : "step, plain";
        if (i % 3 == 0) picture_axes(&p, 0, STEPS - 1, 0, 0.4, panel, "loss");
        picture_line(&p, at, losses[i], STEPS, (const char *[]){ "x 0.5", "x 1", "x 2" }[i % 3]);
    }
    picture_close(&p);

    // Exercises 10a and 10b (make learn) are LayerNorm, and its way back. Then answer:
    //   All weights of a layer are doubled. What changes behind a LayerNorm? Why is that good?
    //   Which two rows can come out of it if a row has only 2 numbers? And if it has only 1?
    return samba_close(s);
}
