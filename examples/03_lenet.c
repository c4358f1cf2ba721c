// LeNet on Fashion-MNIST: two convolutions, two poolings, three linear layers; above 90.5 %.
//     cc -O2 -o lenet examples/03_lenet.c -lm -pthread -lz && ./lenet
// ./lenet [--epochs N] [--data FOLDER]
#define SAMBA_IMPLEMENTATION
#include "../samba.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10, BATCH = 64 };
static const double LR = 0.003;             // learning rate of the first step

typedef struct model { samba_tensor *image, *label, *logits, *loss; } model;

// ---- The model ----------------------------------------------------------------------------------

// LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document recognition", 1998;
// with ReLU and max pooling in place of tanh and averaging.
// x (B,1,28,28) -> logits (B,10)
static samba_tensor *lenet(samba_tensor *x)
{
    const samba_pool_opts by_2 = { .kernel = { 2, 2 } };
    samba_tensor *h = samba_conv2d(x, "conv1", 6, 5, &(samba_conv_opts){ .padding = { 2, 2 } });
    h = samba_max_pool2d(samba_relu(h), &by_2);                 // (B,6,14,14)
    h = samba_conv2d(h, "conv2", 16, 5, NULL);                  // (B,16,10,10)
    h = samba_max_pool2d(samba_relu(h), &by_2);                 // (B,16,5,5)
    h = samba_flatten(h, 1);                                    // (B,400)
    h = samba_relu(samba_linear(h, "fc1", 120));
    h = samba_relu(samba_linear(h, "fc2", 84));
    return samba_linear(h, "fc3", CLASSES);
}

// ---- The data: IDX files, the format of MNIST ---------------------------------------------------

typedef struct dataset {
    int n;
    unsigned char *image, *label;           // (n,28,28) and (n)
} dataset;

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// Reads DIR/NAME.gz or DIR/NAME: bytes 0 0 8 ndim, then ndim sizes, then the data.
static unsigned char *read_idx(samba_session *s, const char *dir, const char *name,
                               unsigned ndim, int *n)
{
    char path[1024];
    unsigned char head[16] = { 0 }, *data = NULL;
    unsigned head_size = 4 + 4 * ndim, item = ndim == 1 ? 1 : PIXELS;
    snprintf(path, sizeof path, "%s/%s.gz", dir, name);
    gzFile f = gzopen(path, "rb");
    if (!f) {
        snprintf(path, sizeof path, "%s/%s", dir, name);
        f = gzopen(path, "rb");
    }
    if (!f) {
        samba_fail(s, SAMBA_EIO, "there is no %s.gz in %s. Debian has the data: apt-get install "
                   "dataset-fashion-mnist. Elsewhere, put the four files of github.com/"
                   "zalandoresearch/fashion-mnist into a folder and say --data FOLDER", name, dir);
        return NULL;
    }
    bool ok = gzread(f, head, head_size) == (int)head_size && big_endian(head) == 0x800 + ndim;
    if (ndim == 3) ok = ok && big_endian(head + 8) == SIDE && big_endian(head + 12) == SIDE;
    uint32_t count = big_endian(head + 4), size = count * item;
    ok = ok && count >= 1 && count <= 1000000;
    if (ok) data = (unsigned char *)malloc(size);
    ok = data && gzread(f, data, size) == (int)size && gzread(f, head, 1) == 0;  // nothing more
    ok = gzclose(f) == Z_OK && ok;
    if (!ok) {
        samba_fail(s, SAMBA_EIO, "%s is damaged, or not an IDX file of %s", path,
                   ndim == 1 ? "labels" : "28 x 28 images");
        free(data);
        return NULL;
    }
    *n = (int)count;
    return data;
}

static bool read_dataset(samba_session *s, const char *dir, const char *which, dataset *d)
{
    char images[64], labels[64];
    int n_labels = 0;
    snprintf(images, sizeof images, "%s-images-idx3-ubyte", which);
    snprintf(labels, sizeof labels, "%s-labels-idx1-ubyte", which);
    d->image = read_idx(s, dir, images, 3, &d->n);
    d->label = d->image ? read_idx(s, dir, labels, 1, &n_labels) : NULL;
    if (!d->label) return false;
    if (n_labels != d->n)
        return samba_fail(s, SAMBA_EIO, "%s: %d images, %d labels", which, d->n, n_labels);
    for (int i = 0; i < d->n; i++)
        if (d->label[i] >= CLASSES)
            return samba_fail(s, SAMBA_EIO, "%s: label %d is not 0 ... 9", labels, i);
    return true;
}

// ---- Training and testing -----------------------------------------------------------------------

// Sends images order[0] ... order[n - 1], or first ... first + n - 1 if order is NULL.
static void send_batch(const model *m, const dataset *d, const int *order, int first, int n)
{
    static float x[BATCH][PIXELS];          // a short batch keeps old rows at its end
    static int32_t y[BATCH];
    for (int b = 0; b < n; b++) {
        int i = order ? order[first + b] : first + b;
        const unsigned char *pixel = d->image + (size_t)i * PIXELS;
        for (int k = 0; k < PIXELS; k++)                        // mean 0, deviation 1
            x[b][k] = ((float)pixel[k] / 255.0f - 0.2860f) / 0.3530f;
        y[b] = d->label[i];
    }
    samba_write(m->image, x);
    samba_write(m->label, y);
}

static void shuffle(int *order, int n, uint64_t *state)
{
    for (int i = n - 1; i > 0; i--) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
        int j = (int)((*state >> 33) % ((uint64_t)i + 1)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

// One pass over the training images in the given order; returns the mean loss.
static double train_epoch(samba_session *s, const model *m, const dataset *d, const int *order,
                          double lr_first, double lr_last)
{
    int n = d->n / BATCH;
    double loss = 0;
    samba_set_train(s, true);
    for (int i = 0; i < n && samba_ok(s); i++) {
        samba_set(s, "lr", lr_first + (lr_last - lr_first) * i / n);
        send_batch(m, d, order, i * BATCH, BATCH);
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        loss += (double)samba_read(m->loss)[0] / n;
    }
    return loss;
}

// How many test images have their largest logit at their label.
static int count_right(samba_session *s, const model *m, const dataset *d)
{
    int right = 0;
    samba_set_train(s, false);
    for (int at = 0; at < d->n; at += BATCH) {
        int n = d->n - at < BATCH ? d->n - at : BATCH;
        send_batch(m, d, NULL, at, n);
        samba_run(s, SAMBA_FWD);
        const float *logits = samba_read(m->logits);
        if (!samba_ok(s)) return 0;
        for (int b = 0; b < n; b++, logits += CLASSES) {
            int best = 0;
            for (int c = 1; c < CLASSES; c++)
                if (logits[c] > logits[best]) best = c;
            right += best == d->label[at + b];
        }
    }
    return right;
}

// Trains with a learning rate that falls in a line to 0, and tests after each epoch.
static void train_and_test(samba_session *s, const model *m, const char *data, int epochs)
{
    dataset images = { 0 }, tests = { 0 };
    int *order = NULL, right = 0;
    uint64_t state = 256;
    if (read_dataset(s, data, "train", &images) && read_dataset(s, data, "t10k", &tests)) {
        order = (int *)malloc((size_t)images.n * sizeof *order);
        if (!order) samba_fail(s, SAMBA_ENOMEM, "no memory for the order of %d images", images.n);
    }
    for (int i = 0; order && i < images.n; i++) order[i] = i;
    for (int e = 0; e < epochs && samba_ok(s); e++) {
        double start = samba_seconds();
        shuffle(order, images.n, &state);
        double loss = train_epoch(s, m, &images, order, LR * (epochs - e) / epochs,
                                  LR * (epochs - e - 1) / epochs);
        right = count_right(s, m, &tests);
        printf("epoch %d/%d  loss %.4f  test %.2f %%  %.1f s\n", e + 1, epochs, loss,
               100.0 * right / tests.n, samba_seconds() - start);
        fflush(stdout);
    }
    if (samba_ok(s))
        printf("test accuracy %.2f %% (%d of %d)\n", 100.0 * right / tests.n, right, tests.n);
    free(order);
    free(images.image);
    free(images.label);
    free(tests.image);
    free(tests.label);
}

int main(int argc, char **argv)
{
    const char *data = "/usr/share/datasets/fashion-mnist";
    int epochs = 10;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--data")) data = value;
        else if (!strcmp(argv[i], "--epochs") && atoi(value) > 0) epochs = atoi(value);
        else return fprintf(stderr, "usage: lenet [--epochs N] [--data FOLDER]\n"), 2;
    }
    samba_session *s = samba_open(NULL);
    model m;
    m.image  = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(BATCH, 1, SIDE, SIDE));
    m.label  = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(BATCH));
    m.logits = lenet(m.image);
    m.loss   = samba_cross_entropy(m.logits, m.label);
    samba_compile(s, &(samba_program){
        .loss = m.loss, .outputs = { m.logits },
        .optim = { .kind = SAMBA_ADAMW, .lr = (float)LR } });
    if (samba_ok(s)) train_and_test(s, &m, data, epochs);
    return samba_close(s);
}
