// Lesson 10: why depth fails, and what LayerNorm does about it.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/10_layernorm.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 10.svg draws. New: LayerNorm, variance.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

enum { BATCH = 16, WIDTH = 16, DEPTH = 12, STEPS = 1001 };

static void print(const char *name, samba_tensor *t)
{
    printf("%s:", name);
    for (int i = 0; i < samba_count(&t->shape); i++) printf(" %.3f", (double)samba_read(t)[i]);
    printf("\n");
}

// LayerNorm without its weights, as ops one by one: each row gets mean 0 and variance 1, the mean
// of the squared distances from the mean. 1e-5 is for rows whose numbers are all the same.
static samba_tensor *normalize(samba_tensor *x)
{
    samba_tensor *away = samba_sub(x, samba_mean(x, SAMBA_AXES(-1), true));
    samba_tensor *variance = samba_mean(samba_mul(away, away), SAMBA_AXES(-1), true);
    return samba_mul(away, samba_rsqrt(samba_shift(variance, 1e-5f)));
}

// DEPTH layers learn the sign of a product: y is 1 if x[0] x[1] > 0, else 0. Fills in all losses,
// and the largest gradient of the weights of each layer in the first step.
static void learn(bool norm, float losses[STEPS], float sizes[DEPTH])
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(BATCH, 2));
    float wanted[BATCH];
    const float *in = samba_read(x);
    for (int b = 0; b < BATCH; b++) wanted[b] = in[2 * b] * in[2 * b + 1] > 0;
    samba_tensor *t = samba_from_data_copy(s, "t", SAMBA_F32, SAMBA_SHAPE(BATCH, 1), wanted);
    samba_tensor *h = x;
    char name[32];
    for (int i = 0; i < DEPTH; i++) {
        snprintf(name, sizeof name, "layer%d", i);
        h = samba_linear(h, name, WIDTH);
        snprintf(name, sizeof name, "norm%d", i);
        if (norm) h = samba_layernorm(h, name);
        h = samba_relu(h);
    }
    h = samba_sigmoid(samba_linear(h, "out", 1));
    samba_tensor *loss = samba_mse(h, t, SAMBA_REDUCE_MEAN);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_SGD, .lr = 0.1f } });
    for (int i = 0; i < STEPS; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        losses[i] = samba_read(loss)[0];
        for (int k = 0; k < DEPTH && i == 0; k++) {
            snprintf(name, sizeof name, "layer%d__weight", k);
            samba_tensor *g = samba_sn_grad(samba_tensor_by_name(s, name));
            for (int n = 0; n < samba_count(&g->shape); n++)
                sizes[k] = fmaxf(sizes[k], fabsf(samba_read(g)[n]));
        }
    }
    samba_close(s);
}

int main(int argc, char **argv)
{
    static float losses[2][STEPS], sizes[2][DEPTH], at[STEPS];
    static const char *const names[] = { "plain", "LayerNorm" };
    learn(false, losses[0], sizes[0]);
    learn(true, losses[1], sizes[1]);

    // 1. A net of 12 layers with relu. Backward, each layer multiplies the gradient by its weights
    //    (lesson 6). If each halves it, little arrives at the first layer: the gradient vanishes,
    //    and the layer does not learn. If each doubles it, it explodes. No first weights are right
    //    for long, since weights change. Largest gradients of layers 0, 4, 8, 11 below.
    // 2. LayerNorm, after each layer, gives each row mean 0 and variance 1. Now doubled weights and
    //    biases change nothing that comes out, and the gradients of all layers are of like size. So
    //    it learns. The plain net finds the mean of the targets, as the neuron did with XOR
    //    (lesson 5), and stays there. Losses, every 250 steps:
    // > plain: gradients 4e-06 3e-05 0.0005 0.004
    // >     losses 0.252 0.234 0.234 0.234 0.234
    // > LayerNorm: gradients 0.008 0.03 0.02 0.01
    // >     losses 0.242 0.235 0.165 0.002 0.001
    for (int m = 0; m < 2; m++) {
        printf("%s: gradients", names[m]);
        for (int k = 0; k < DEPTH; k += k < 8 ? 4 : 3) printf(" %.1g", (double)sizes[m][k]);
        printf("\n    losses");
        for (int i = 0; i < STEPS; i += 250) printf(" %.3f", (double)losses[m][i]);
        printf("\n");
    }

    // 3. By hand, for two rows, one 100 times the other: both become the same. Each row is for
    //    itself, in training and in use (BatchNorm takes means of columns, over the batch). After
    //    it, each column has a weight, first 1, and a bias, first 0: it may learn another scale.
    // > by hand: -0.926 -0.463 1.389 -0.926 -0.463 1.389
    // > samba: -0.926 -0.463 1.389 -0.926 -0.463 1.389
    const float rows[6] = { 1, 2, 6, 100, 200, 600 };
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3), rows);
    print("by hand", normalize(x));
    print("samba", samba_layer_normalize(x, NULL, NULL, 1e-5f));

    // 4. Backward: all of a row go into its mean and variance, so each dx depends on all dy of the
    //    row. To shift or stretch a row changes nothing, so this part is taken out of dy, and the
    //    rest is divided by the root of the variance: dx adds up to 0. For dy = 1, 0, 0:
    // > dx: 0.176 -0.220 0.044
    samba_tensor *first = samba_slice(samba_layer_normalize(x, NULL, NULL, 1e-5f), 1, 0, 1, 1);
    print("dx", samba_slice(samba_grad(first, x), 0, 0, 1, 1));

    for (int i = 0; i < STEPS; i++) at[i] = (float)i;
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "12 layers, without and with LayerNorm",
        "Without it, gradients vanish toward layer 0, and the loss stays. With it the net learns.");
    picture_axes(&p, 0, DEPTH, 0, 0.06, "layer", "gradient");
    for (int m = 0; m < 2; m++) picture_line(&p, at, sizes[m], DEPTH, names[m]);
    picture_axes(&p, 0, STEPS - 1, 0, 0.3, "step", "loss");
    for (int m = 0; m < 2; m++) picture_line(&p, at, losses[m], STEPS, names[m]);
    picture_close(&p);

    // Exercises 10a and 10b (make learn) are LayerNorm, and its way back. Then answer:
    //   All weights of a layer are doubled. What changes behind a LayerNorm? Why is that good?
    //   Why has LayerNorm a weight and a bias again, after it took scale and mean away?
    return samba_close(s);
}
