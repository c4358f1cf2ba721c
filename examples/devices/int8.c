// int8 on Fashion-MNIST: what it costs and saves in each layer of LeNet or ResNet8.
//     cc -O2 -o int8 examples/devices/int8.c -lm -pthread -lz && ./int8 resnet8
// ./int8 [lenet | resnet8] [epochs] [folder of the data] [points that may be lost, 0.5]
// Trains in f32, calibrates, and prints for each layer what int8 loses and saves, and what weights
// stored as int4 would. The checkpoint int8.ckpt, which it leaves, has int8 weights, for devices.
#define SAMBA_IMPLEMENTATION
#define SAMBA_LOADER_IMPLEMENTATION
#define SAMBA_IDX_IMPLEMENTATION
#define SAMBA_LEDGER_IMPLEMENTATION
#include "../../samba.h"
#include "../../tools/include/samba/loader.h"
#include "../../tools/include/samba/idx.h"
#include "../../tools/include/samba/ledger.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 28, CLASSES = 10, BATCH = 50, CALIBRATION = 20 };

static const float LR = 0.003f;

typedef struct model {
    samba_tensor *image, *label, *logits, *loss;
    samba_loader *tests;
} model;

// ---- The models ---------------------------------------------------------------------------------

// x (B,1,28,28) -> logits (B,10), as in 03_lenet.c
static samba_tensor *lenet(samba_tensor *x)
{
    const samba_pool_opts by_2 = { .kernel = { 2, 2 } };
    samba_tensor *h = samba_conv2d(x, "conv1", 6, 5, &(samba_conv_opts){ .padding = { 2, 2 } });
    h = samba_conv2d(samba_max_pool2d(samba_relu(h), &by_2), "conv2", 16, 5, NULL);
    h = samba_flatten(samba_max_pool2d(samba_relu(h), &by_2), 1);
    h = samba_relu(samba_linear(h, "fc1", 120));
    h = samba_relu(samba_linear(h, "fc2", 84));
    return samba_linear(h, "fc3", CLASSES);
}

static samba_tensor *conv_norm(samba_tensor *x, const char *name, int32_t channels, int32_t kernel,
                               int32_t stride)
{
    char norm[32];
    int32_t padding = kernel / 2;
    samba_conv_opts opts = { .stride = { stride, stride }, .padding = { padding, padding } };
    snprintf(norm, sizeof norm, "%s_norm", name);
    return samba_batchnorm(samba_conv2d(x, name, channels, kernel, &opts), norm);
}

// Two convolutions, and x added to them: through a convolution of 1 x 1 where sizes change.
static samba_tensor *block(samba_tensor *x, const char *name, int32_t channels, int32_t stride)
{
    char part[3][16];
    for (int i = 0; i < 3; i++)
        snprintf(part[i], sizeof part[i], "%s%c", name, "abs"[i]);
    samba_tensor *h = samba_relu(conv_norm(x, part[0], channels, 3, stride));
    h = conv_norm(h, part[1], channels, 3, 1);
    if (stride > 1) x = conv_norm(x, part[2], channels, 1, stride);
    return samba_relu(samba_add(h, x));
}

// The image classifier of MLPerf Tiny, with one channel of input: Banbury and others, 2021.
static samba_tensor *resnet8(samba_tensor *x)
{
    samba_tensor *h = samba_relu(conv_norm(x, "stem", 16, 3, 1));
    h = block(h, "block1", 16, 1);
    h = block(h, "block2", 32, 2);
    h = block(h, "block3", 64, 2);
    h = samba_flatten(samba_adaptive_avg_pool2d(h, 1, 1), 1);
    return samba_linear(h, "fc", CLASSES);
}

// ---- Training and testing -----------------------------------------------------------------------

static samba_loader *load(samba_session *s, samba_idx *idx, bool training)
{
    static const char *const names[] = { "image", "label" };
    samba_dataset d = { .n = idx->n,
                        .batch = BATCH,
                        .fill = samba_idx_fill,
                        .user = idx,
                        .writes = idx->row,
                        .shuffle = training,
                        .drop_last = training };
    return samba_loader_open_dataset(s, &d, names, 2, NULL);
}

static void train(samba_session *s, const model *m, samba_loader *images, int n, int epochs)
{
    for (int step = 0; step < n * epochs && samba_ok(s); step++) {
        if (samba_loader_next(images, NULL) != 1) {
            step--;
            continue;
        }
        samba_set(s, "lr", (double)LR * (n * epochs - step) / (n * epochs));
        samba_run(s, 0);
        double loss = (double)samba_read(m->loss)[0];
        if (step % 200 == 0) printf("step %d of %d  loss %.4f\n", step, n * epochs, loss);
        fflush(stdout);
    }
}

// Percent of the test images whose largest logit is at their label: the score of the ledger.
static double accuracy(samba_session *s, void *user)
{
    const model *m = (const model *)user;
    int right = 0, n = 0;
    while (samba_loader_next(m->tests, NULL) == 1) {
        samba_run(s, SAMBA_FWD);
        const float *logits = samba_read(m->logits);
        const int32_t *label = samba_read_i32(m->label);
        if (!samba_ok(s)) return 0;
        for (int b = 0; b < samba_loader_batch(m->tests)->rows; b++, logits += CLASSES, n++) {
            int best = 0;
            for (int c = 1; c < CLASSES; c++)
                if (logits[c] > logits[best]) best = c;
            right += best == label[b];
        }
    }
    return n ? 100.0 * right / n : 0;
}

int main(int argc, char **argv)
{
    const char *net = argc > 1 ? argv[1] : "lenet";
    const char *data = argc > 3 ? argv[3] : "/usr/share/datasets/fashion-mnist";
    int epochs = argc > 2 ? atoi(argv[2]) : 3;
    if ((strcmp(net, "lenet") && strcmp(net, "resnet8")) || epochs < 1) {
        fprintf(stderr, "usage: int8 [lenet | resnet8] [epochs] [folder of the data] [max loss]\n");
        return 2;
    }
    samba_session *s = samba_open(NULL);
    model m;
    m.image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(BATCH, 1, SIDE, SIDE));
    m.label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(BATCH));
    m.logits = !strcmp(net, "lenet") ? lenet(m.image) : resnet8(m.image);
    m.loss = samba_cross_entropy(m.logits, m.label);
    samba_idx images = { .mean = 0.2860f, .deviation = 0.3530f }, tests = images;
    samba_compile(s,
                  &(samba_program){ .loss = m.loss,
                                    .outputs = { m.logits },
                                    .optim = { .kind = SAMBA_ADAMW, .lr = LR } });
    samba_idx_open(s, &images, data, "train", SIDE, CLASSES);
    samba_idx_open(s, &tests, data, "t10k", SIDE, CLASSES);
    samba_loader *batches = samba_ok(s) ? load(s, &images, true) : NULL;
    m.tests = samba_ok(s) ? load(s, &tests, false) : NULL;
    if (samba_ok(s)) train(s, &m, batches, images.n / BATCH, epochs);

    // Calibrate on images it was trained on, then compile int8.
    samba_compile(s,
                  &(samba_program){
                      .inference = true, .quantize = SAMBA_CALIBRATE, .outputs = { m.logits } });
    for (int i = 0; i < CALIBRATION && samba_ok(s); i += samba_run(s, 0))
        while (samba_loader_next(batches, NULL) != 1 && samba_ok(s)) {
        } // once, when an epoch ends
    static samba_ledger ledger;
    ledger = (samba_ledger){ .program = { .outputs = { m.logits } },
                             .score = accuracy,
                             .user = &m,
                             .max_loss = argc > 4 ? atof(argv[4]) : 0.5 };
    if (samba_ledger_run(s, &ledger)) samba_ledger_print(&ledger, stdout);
    samba_save(s, "int8.ckpt");
    samba_loader_close(batches);
    samba_loader_close(m.tests);
    samba_idx_close(&images);
    samba_idx_close(&tests);
    return samba_close(s);
}
