// The two small tutorials of SambaFlow: logistic regression (logreg.py) and LeNet (lenet.py).
//     cc -O2 -o tutorials examples/09_tutorials.c -lm -pthread -lz
//     ./tutorials compile --model logreg --pef-name logreg
//     ./tutorials run --model logreg -p out/logreg/logreg.pef
//     ./tutorials run --model lenet -p out/lenet/lenet.pef --num-epochs 2 --predictions FILE
// Defaults are the tutorials': logreg one image at a time, lr 0.0015; LeNet 32, lr 0.1.
// --data takes MNIST's or Fashion-MNIST's folder.
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_LOADER_IMPLEMENTATION
#define SAMBA_IDX_IMPLEMENTATION
#include "../samba.h"
#include "../tools/include/samba/driver.h"
#include "../tools/include/samba/loader.h"
#include "../tools/include/samba/idx.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10 };

typedef struct options {
    samba_app_args app;
    const char *model, *data, *predictions, *checkpoint;
    int32_t epochs, report; // report: steps between two lines
    float lr, momentum, decay;
    bool lenet, bias;
} options;

typedef struct model {
    samba_tensor *image, *label, *logits, *loss;
} model;

// ---- The models ---------------------------------------------------------------------------------

// x (B,784) -> (B,10)
static samba_tensor *logreg(samba_tensor *x, bool bias)
{
    return bias ? samba_linear(x, "lin_layer", CLASSES)
                : samba_linear_no_bias(x, "lin_layer", CLASSES);
}

// 3 x 3, one pixel of padding, no bias; then the largest of 2 x 2.
static samba_tensor *stage(samba_tensor *x, const char *weight, int32_t channels)
{
    const samba_conv_opts same_size = { .padding = { 1, 1 } };
    const samba_pool_opts by_2 = { .kernel = { 2, 2 } };
    int32_t in = x ? x->shape.dim[1] : 1;
    samba_init init = { .kind = SAMBA_INIT_UNIFORM, .scale = 1 / sqrtf((float)(9 * in)) };
    samba_tensor *w
        = x ? samba_param(x->session, weight, SAMBA_SHAPE(channels, in, 3, 3), init) : NULL;
    return samba_max_pool2d(samba_relu(samba_convolution(x, w, NULL, &same_size)), &by_2);
}

// x (B,784) -> (B,10)
static samba_tensor *lenet(samba_tensor *x)
{
    samba_tensor *h = samba_reshape(x, SAMBA_SHAPE(-1, 1, SIDE, SIDE));
    h = stage(h, "conv1__weight", 6);  // (B,6,14,14)
    h = stage(h, "conv2__weight", 16); // (B,16,7,7)
    h = samba_relu(samba_linear(samba_flatten(h, 1), "fc1", 120));
    h = samba_relu(samba_linear(h, "fc2", 84));
    return samba_linear(h, "fc3", CLASSES);
}

static samba_program trace(samba_session *s, const options *o, model *m)
{
    int32_t rows = samba_app_rows(&o->app); // of a batch, or of a part of it: -mb
    m->image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(rows, PIXELS));
    m->label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(rows));
    m->logits = o->lenet ? lenet(m->image) : logreg(m->image, o->bias);
    m->loss = samba_cross_entropy(m->logits, m->label);
    samba_program p = { .name = o->model, .loss = m->loss, .outputs = { m->logits } };
    p.inference = o->app.inference;
    p.microbatches = samba_app_parts(&o->app);
    p.optim = (samba_optim){
        .kind = SAMBA_SGD, .lr = o->lr, .momentum = o->momentum, .weight_decay = o->decay
    };
    return p;
}

// ---- The data: normalized with MNIST's mean and deviation, as both tutorials do -----------------

static const samba_idx mnist = { .mean = 0.1307f, .deviation = 0.3081f };

static samba_loader *load(samba_session *s, const options *o, samba_idx *idx, bool training)
{
    static const char *const names[] = { "image", "label" };
    samba_dataset d = { .n = idx->n,
                        .batch = o->app.batch_size,
                        .fill = samba_idx_fill,
                        .user = idx,
                        .writes = idx->row,
                        .shuffle = training,
                        .drop_last = training };
    return samba_loader_open_dataset(s, &d, names, 2, NULL);
}

// ---- Training and testing -----------------------------------------------------------------------

static void train(samba_session *s, const options *o, const model *m, samba_idx *images)
{
    int steps = images->n / o->app.batch_size;
    samba_loader *loader = load(s, o, images, true);
    for (int epoch = 0; epoch < o->epochs && samba_ok(s); epoch++) {
        double loss = 0; // mean of this epoch so far
        for (int step = 1; samba_loader_next(loader, NULL) == 1; step++) {
            samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
            loss += ((double)samba_read(m->loss)[0] - loss) / step;
            if (step % o->report == 0)
                printf("Epoch [%d/%d], Step [%d/%d], Loss: %.4f\n", epoch + 1, o->epochs, step,
                       steps, loss);
        }
    }
    samba_loader_close(loader);
}

// Loss and accuracy; the predictions as an IDX file of labels, if one is asked for.
static void test(samba_session *s, const options *o, const model *m, samba_idx *images)
{
    double loss = 0;
    int right = 0, n = 0, batches = 0;
    unsigned char head[8]
        = { 0, 0, 8, 1, 0, 0, (unsigned char)(images->n >> 8), (unsigned char)images->n };
    FILE *out = o->predictions ? fopen(o->predictions, "wb") : NULL;
    if (o->predictions && !out) samba_fail(s, SAMBA_EIO, "%s cannot be written", o->predictions);
    if (out) fwrite(head, 1, sizeof head, out);
    samba_loader *loader = load(s, o, images, false);
    samba_set_train(s, false);
    while (samba_loader_next(loader, NULL) == 1 && samba_run(s, SAMBA_FWD)) {
        int rows = samba_loader_batch(loader)->rows;
        if (rows == o->app.batch_size) // what fills up the last batch is not counted
            loss += ((double)samba_read(m->loss)[0] - loss) / ++batches;
        for (int b = 0; b < rows; b++, n++) {
            const float *logits = samba_read(m->logits) + b * CLASSES;
            int best = 0;
            for (int c = 1; c < CLASSES; c++)
                if (logits[c] > logits[best]) best = c;
            right += best == images->label[n];
            if (out) fputc(best, out);
        }
    }
    samba_loader_close(loader);
    if (out && fclose(out) != 0) samba_fail(s, SAMBA_EIO, "%s is not whole", o->predictions);
    if (samba_ok(s)) printf("Test Accuracy: %.2f Loss: %.4f\n", 100.0 * right / n, loss);
}

// run trains, saves and tests; test, and run --inference, restore and test.
static void run_or_test(samba_session *s, const options *o, const model *m)
{
    samba_idx images = mnist, tests = mnist;
    bool training = !o->app.inference && strcmp(o->app.command, "run") == 0;
    if (training ? samba_idx_open(s, &images, o->data, "train", SIDE, CLASSES)
                 : samba_restore(s, o->checkpoint)) {
        if (training) train(s, o, m, &images);
        if (training) samba_save(s, o->checkpoint);
        if (samba_idx_open(s, &tests, o->data, "t10k", SIDE, CLASSES)) test(s, o, m, &tests);
    }
    samba_idx_close(&images);
    samba_idx_close(&tests);
}

int main(int argc, char **argv)
{
    options o = { .model = "logreg",
                  .data = "/usr/share/datasets/fashion-mnist",
                  .epochs = 1,
                  .checkpoint = "tutorial.ckpt",
                  .lr = -1,
                  .decay = -1 };
    const samba_flag flags[] = {
        { "model", SAMBA_FLAG_TEXT, &o.model, "logreg (the default) or lenet" },
        { "lr", SAMBA_FLAG_POSITIVE, &o.lr, "learning rate, default 0.0015; lenet 0.1" },
        { "momentum", SAMBA_FLAG_AMOUNT, &o.momentum, "default 0" },
        { "weight-decay", SAMBA_FLAG_AMOUNT, &o.decay, "default 3e-4; lenet 0.01" },
        { "bias", SAMBA_FLAG_BOOL, &o.bias, "logreg: with a bias" },
    };
    const samba_flag run_flags[] = {
        { "data", SAMBA_FLAG_TEXT, &o.data, "folder of the IDX files" },
        { "checkpoint", SAMBA_FLAG_TEXT, &o.checkpoint, "run writes it, test reads it" },
        { "predictions", SAMBA_FLAG_TEXT, &o.predictions, "the test's labels, as an IDX file" },
        { "num-epochs", SAMBA_FLAG_COUNT, &o.epochs, "passes over the training images, default 1" },
    };
    o.app.run_flags = run_flags;
    o.app.n_run_flags = sizeof run_flags / sizeof *run_flags;
    if (!samba_parse_app_args(argc, argv, &o.app, flags, sizeof flags / sizeof *flags))
        return o.app.exit_code;
    o.lenet = strcmp(o.model, "lenet") == 0;
    o.report = o.lenet ? 100 : 10000;
    if (o.lr < 0) o.lr = o.lenet ? 0.1f : 0.0015f;
    if (o.decay < 0) o.decay = o.lenet ? 0.01f : 3e-4f;
    if (!o.app.batch_size) o.app.batch_size = o.lenet ? 32 : 1;

    model m;
    samba_desc desc = samba_app_desc(&o.app);
    desc.seed = o.lenet ? 42 : 256;
    samba_session *s = samba_open(&desc);
    samba_program program = trace(s, &o, &m);
    if (!o.lenet && strcmp(o.model, "logreg") != 0)
        samba_fail(s, SAMBA_EARG, "there is no model %s; there are logreg and lenet", o.model);
    else if (strcmp(o.app.command, "run") != 0 && strcmp(o.app.command, "test") != 0)
        samba_app_driver(s, &o.app, &program);
    else if (!o.app.pef || o.epochs < 1)
        samba_fail(s, SAMBA_EARG, "%s needs --pef FILE and at least one epoch", o.app.command);
    else if (samba_app_load(s, &o.app, &program))
        run_or_test(s, &o, &m);
    return samba_close(s);
}
