// LeNet on Fashion-MNIST: two convolutions, two poolings, three linear layers; above 90.5 %.
//     cc -O2 -o lenet examples/03_lenet.c -lm -pthread -lz && ./lenet
// ./lenet [--epochs N] [--data FOLDER] [--report FOLDER] [--graphamp-preset mp0 | mp1 | mp4]
// mp1 computes products in bf16, those of convolutions and of linear layers; mp4 keeps all in bf16.
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_LOADER_IMPLEMENTATION
#define SAMBA_IDX_IMPLEMENTATION
#define SAMBA_REPORT_IMPLEMENTATION
#define SAMBA_REPLAY_IMPLEMENTATION
#include "../samba.h"
#include "../tools/include/samba/driver.h"
#include "../tools/include/samba/loader.h"
#include "../tools/include/samba/idx.h"
#include "../tools/include/samba/report.h"
#include "../tools/include/samba/replay.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 28, CLASSES = 10, BATCH = 64 };

static const double LR = 0.003; // learning rate of the first step

typedef struct model {
    samba_tensor *image, *label, *logits, *loss;
    samba_report_opts report; // its folder is NULL: none is wanted
    samba_replay *replay;     // runs each step, and keeps the one that makes a NaN
} model;

// ---- The model ----------------------------------------------------------------------------------

// LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document recognition", 1998;
// with ReLU and max pooling in place of tanh and averaging.
// x (B,1,28,28) -> logits (B,10)
static samba_tensor *lenet(samba_tensor *x)
{
    const samba_pool_opts by_2 = { .kernel = { 2, 2 } };
    samba_tensor *h = samba_conv2d(x, "conv1", 6, 5, &(samba_conv_opts){ .padding = { 2, 2 } });
    h = samba_max_pool2d(samba_relu(h), &by_2); // (B,6,14,14)
    h = samba_conv2d(h, "conv2", 16, 5, NULL);  // (B,16,10,10)
    h = samba_max_pool2d(samba_relu(h), &by_2); // (B,16,5,5)
    h = samba_flatten(h, 1);                    // (B,400)
    h = samba_relu(samba_linear(h, "fc1", 120));
    h = samba_relu(samba_linear(h, "fc2", 84));
    return samba_linear(h, "fc3", CLASSES);
}

// ---- Training and testing -----------------------------------------------------------------------

// The mean and deviation of Fashion-MNIST's training images, which the loader takes out.
static const samba_idx fashion = { .mean = 0.2860f, .deviation = 0.3530f };

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

// How far an epoch is: on a terminal in one line, elsewhere a line for each quarter.
static void show_progress(int done, int n, double loss)
{
    if (isatty(1))
        printf("\rbatch %d/%d  loss %.4f ", done, n, loss);
    else if (done % (n / 4 + 1) == 0)
        printf("batch %d/%d  loss %.4f\n", done, n, loss);
    if (isatty(1) && done == n) printf("\r%40s\r", "");
    fflush(stdout);
}

// One pass over the training images; returns the mean loss.
static double train_epoch(samba_session *s, const model *m, samba_report *report,
                          samba_loader *images, int n, int epoch, int epochs)
{
    double loss = 0, lr_first = LR * (epochs - epoch) / epochs;
    double lr_last = LR * (epochs - epoch - 1) / epochs;
    samba_set_train(s, true);
    for (int i = 0; samba_ok(s) && samba_loader_next(images, NULL) == 1; i++) {
        samba_set(s, "lr", lr_first + (lr_last - lr_first) * i / n);
        samba_replay_run(m->replay, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        loss += (double)samba_read(m->loss)[0] / n;
        samba_report_step(report, epoch * n + i + 1, (double)samba_read(m->loss)[0]);
        if (!report) show_progress(i + 1, n, loss * n / (i + 1));
    }
    return loss;
}

// How many test images have their largest logit at their label.
static int count_right(samba_session *s, const model *m, samba_report *report, samba_loader *tests)
{
    int right = 0;
    samba_report_forget(report);
    samba_set_train(s, false);
    while (samba_loader_next(tests, NULL) == 1) {
        samba_run(s, SAMBA_FWD);
        const float *logits = samba_read(m->logits);
        const int32_t *label = samba_read_i32(m->label);
        if (!samba_ok(s)) return 0;
        for (int b = 0; b < samba_loader_batch(tests)->rows; b++, logits += CLASSES) {
            int best = 0;
            for (int c = 1; c < CLASSES; c++)
                if (logits[c] > logits[best]) best = c;
            right += best == label[b];
            samba_report_prediction(report, label[b], best);
        }
    }
    return right;
}

// Trains with a learning rate that falls in a line to 0, and tests after each epoch.
static void train_and_test(samba_session *s, const model *m, const char *data, int epochs)
{
    samba_idx images = fashion, tests = fashion;
    samba_loader *train = NULL, *test = NULL;
    samba_report *report = NULL;
    samba_report_opts opts = m->report;
    int right = 0;
    if (samba_idx_open(s, &images, data, "train", SIDE, CLASSES)) train = load(s, &images, true);
    if (samba_idx_open(s, &tests, data, "t10k", SIDE, CLASSES)) test = load(s, &tests, false);
    opts.steps = images.n / BATCH * epochs;
    if (opts.folder) report = samba_report_open(s, &opts);
    for (int e = 0; e < epochs && samba_ok(s); e++) {
        double start = samba_seconds();
        double loss = train_epoch(s, m, report, train, images.n / BATCH, e, epochs);
        if (!samba_ok(s)) break;
        right = count_right(s, m, report, test);
        samba_report_value(report, "test accuracy", (double)right / tests.n);
        printf("epoch %d/%d  loss %.4f  test %.2f %%  %.1f s\n", e + 1, epochs, loss,
               100.0 * right / tests.n, samba_seconds() - start);
        fflush(stdout);
    }
    if (samba_ok(s))
        printf("test accuracy %.2f %% (%d of %d)\n", 100.0 * right / tests.n, right, tests.n);
    samba_report_close(report);
    samba_loader_close(train);
    samba_loader_close(test);
    samba_idx_close(&images);
    samba_idx_close(&tests);
}

int main(int argc, char **argv)
{
    const char *data = "/usr/share/datasets/fashion-mnist", *folder = NULL;
    samba_graphamp preset = SAMBA_MP0;
    int epochs = 10;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--data"))
            data = value;
        else if (!strcmp(argv[i], "--report"))
            folder = value;
        else if (!strcmp(argv[i], "--epochs") && atoi(value) > 0)
            epochs = atoi(value);
        else if (!strcmp(argv[i], "--graphamp-preset") && samba_app_graphamp(value, &preset))
            continue;
        else {
            bool help = !strcmp(argv[i], "--help");
            fprintf(help ? stdout : stderr,
                    "usage: lenet [--epochs N] [--data FOLDER] [--report FOLDER] "
                    "[--graphamp-preset mp0 | mp1 | mp4]\n");
            return help ? 0 : 2;
        }
    }
    samba_session *s = samba_open(&(samba_desc){ .graphamp = preset });
    model m;
    m.image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(BATCH, 1, SIDE, SIDE));
    m.label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(BATCH));
    m.logits = lenet(m.image);
    m.loss = samba_cross_entropy(m.logits, m.label);
    m.report = (samba_report_opts){ .title = "LeNet on Fashion-MNIST",
                                    .folder = folder,
                                    .batch = BATCH,
                                    .gradients = 10,
                                    .n_classes = CLASSES,
                                    .argc = argc,
                                    .argv = argv };
    samba_compile(s,
                  &(samba_program){ .loss = m.loss,
                                    .outputs = { m.logits },
                                    .optim = { .kind = SAMBA_ADAMW, .lr = (float)LR } });
    m.replay = samba_replay_open(s, "lenet.replay");
    if (samba_ok(s)) train_and_test(s, &m, data, epochs);
    samba_replay_close(m.replay);
    return samba_close(s);
}
