// ResFFNLogReg on Fashion-MNIST: logistic regression on top of a residual feed-forward net.
//     cc -O2 -o res_ffn examples/02_res_ffn.c -lm -pthread -lz
//     ./res_ffn compile                          trace the model, write out/res_ffn/res_ffn.pef
//     ./res_ffn run -p out/res_ffn/res_ffn.pef   train on 60,000 images, save, test on 10,000
//     ./res_ffn compile --inference --pef-name infer                the same model, forward only
//     ./res_ffn test --inference -p out/infer/infer.pef             test what run has saved
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#include "../samba.h"
#include "../tools/driver.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, HIDDEN = 512, CLASSES = 10 };

typedef struct options {
    samba_app_args app;                     // SambaFlow's: command, batch_size, pef, inference ...
    const char *data, *checkpoint;
    int32_t epochs;
    float lr;                               // of the first step
    bool resume;
} options;

// ---- The model ----------------------------------------------------------------------------------

typedef struct model { samba_tensor *image, *label, *logits, *loss; } model;

// x (B,784) -> logits (B,10). Calling an op records it; nothing is computed here.
static samba_tensor *res_ffn(samba_tensor *x)
{
    samba_tensor *h = samba_linear(x, "gemm1", HIDDEN);
    h = samba_layernorm(h, "norm1");
    h = samba_tanh(h);
    samba_tensor *residual = h;
    h = samba_linear(h, "gemm2", HIDDEN);
    h = samba_layernorm(h, "norm2");
    h = samba_sigmoid(samba_add(h, residual));
    return samba_linear(h, "gemm3", CLASSES);
}

// Compiling and loading both begin here: a PEF is loaded only for the graph it was compiled from.
static samba_program trace(samba_session *s, const options *o, model *m)
{
    m->image  = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(o->app.batch_size, PIXELS));
    m->label  = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(o->app.batch_size));
    m->logits = res_ffn(m->image);
    m->loss   = samba_cross_entropy(m->logits, m->label);
    samba_program p = { .name = "res_ffn", .outputs = { m->logits } };
    p.inference = o->app.inference;
    if (!p.inference) {
        p.loss  = m->loss;
        p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = o->lr, .momentum = 0.9f };
    }
    return p;
}

// ---- The data: IDX files, the format of MNIST ---------------------------------------------------

typedef struct dataset {
    int n;
    unsigned char *image, *label;           // (n,28,28) and (n)
    float *x;                               // one batch, as the model takes it: (B,784)
    int32_t *y;                             // and (B)
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

// which: "train" or "t10k". The session keeps the first error, so failing is one line.
static bool read_dataset(samba_session *s, const options *o, const char *which, dataset *d)
{
    char images[64], labels[64];
    int n_labels = 0;
    snprintf(images, sizeof images, "%s-images-idx3-ubyte", which);
    snprintf(labels, sizeof labels, "%s-labels-idx1-ubyte", which);
    *d = (dataset){ 0 };
    d->image = read_idx(s, o->data, images, 3, &d->n);
    d->label = d->image ? read_idx(s, o->data, labels, 1, &n_labels) : NULL;
    if (!d->label) return false;
    if (n_labels != d->n)
        return samba_fail(s, SAMBA_EIO, "%s: %d images, %d labels", which, d->n, n_labels);
    for (int i = 0; i < d->n; i++)
        if (d->label[i] >= CLASSES)
            return samba_fail(s, SAMBA_EIO, "%s: label %d is not 0 ... 9", labels, i);
    if (d->n < o->app.batch_size)
        return samba_fail(s, SAMBA_EIO, "%s: %d images are less than a batch", which, d->n);
    d->x = (float *)malloc((size_t)o->app.batch_size * PIXELS * sizeof *d->x);
    d->y = (int32_t *)malloc((size_t)o->app.batch_size * sizeof *d->y);
    return d->x && d->y ? true : samba_fail(s, SAMBA_ENOMEM, "no memory for a batch");
}

static void free_dataset(dataset *d)
{
    free(d->image);
    free(d->label);
    free(d->x);
    free(d->y);
}

static void set_row(dataset *d, int row, int i)
{
    const unsigned char *pixel = d->image + (size_t)i * PIXELS;
    float *x = d->x + (size_t)row * PIXELS;
    for (int k = 0; k < PIXELS; k++)                            // mean 0, deviation 1
        x[k] = ((float)pixel[k] / 255.0f - 0.2860f) / 0.3530f;
    d->y[row] = d->label[i];
}

// A permutation of 0 ... n-1. It depends on the epoch alone: a resumed run sees the same batches.
static void shuffle(int *order, int n, int epoch)
{
    uint64_t state = 256 + (uint64_t)epoch;
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;    // Knuth's MMIX generator
        int j = (int)((state >> 33) % ((uint64_t)i + 1)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

// ---- Progress and Ctrl-C ------------------------------------------------------------------------

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    interrupted = 1;
    signal(signal_number, SIG_DFL);         // a second Ctrl-C ends the program at once
}

typedef struct progress {
    double epoch_start, loss;               // loss: mean of this epoch
    double shown;                           // when the bar was drawn last
    int steps;                              // of this epoch, in this process
} progress;

// Redraws the bar, if there is a terminal, ten times a second. steps_left: to the end of training.
static void show_bar(progress *p, const options *o, int epoch, double part, int steps_left)
{
    static const char full[] = "==============================";
    static const char empty[] = "                              ";
    double now = samba_seconds(), per_step = (now - p->epoch_start) / p->steps;
    int cells = (int)(30 * part), eta = (int)(per_step * steps_left + 0.5);
    if (!isatty(STDERR_FILENO) || now - p->shown < 0.1) return;
    p->shown = now;
    fprintf(stderr, "\repoch %d/%d [%.*s%.*s] %3.0f %%  loss %.4f  %.0f samples/s  ETA %d:%02d ",
            epoch + 1, o->epochs, cells, full, 30 - cells, empty, 100 * part, p->loss,
            o->app.batch_size / per_step, eta / 60, eta % 60);
}

static void show_epoch(const progress *p, const options *o, int epoch)
{
    double time = samba_seconds() - p->epoch_start;
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r%90s\r", "");
    printf("epoch %d/%d  loss %.4f  %.0f samples/s  %.1f s\n",
           epoch + 1, o->epochs, p->loss, p->steps * o->app.batch_size / time, time);
    fflush(stdout);
}

// ---- Training and testing -----------------------------------------------------------------------

// Trains from where the optimizer is. False if it was interrupted or failed.
static bool train(samba_session *s, const options *o, const model *m, dataset *d)
{
    int batch = o->app.batch_size, per_epoch = d->n / batch, steps = per_epoch * o->epochs;
    int step = samba_read_i32(samba_tensor_by_name(s, "step"))[0];  // it travels in the checkpoint
    int *order = (int *)malloc((size_t)d->n * sizeof *order);
    progress p = { 0 };
    if (!order) return samba_fail(s, SAMBA_ENOMEM, "no memory for the order of %d images", d->n);
    samba_set_train(s, true);
    for (; step < steps && samba_ok(s) && !interrupted; step++) {
        int epoch = step / per_epoch, at = step % per_epoch;
        if (at == 0 || p.steps == 0) {                          // p.steps is 0 after a resume, too
            shuffle(order, d->n, epoch);
            p = (progress){ .epoch_start = samba_seconds() };
        }
        for (int b = 0; b < batch; b++) set_row(d, b, order[at * batch + b]);
        samba_write(m->image, d->x);
        samba_write(m->label, d->y);
        samba_set(s, "lr", (double)o->lr * (1 - (double)step / steps));     // falls to 0
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        p.steps++;
        p.loss += ((double)samba_read(m->loss)[0] - p.loss) / p.steps;
        show_bar(&p, o, epoch, (at + 1.0) / per_epoch, steps - step - 1);
        if (at + 1 == per_epoch && samba_ok(s)) show_epoch(&p, o, epoch);
    }
    free(order);
    return step == steps && samba_ok(s);
}

// Prints the share of the test images that get their own class the largest logit.
static void test(samba_session *s, const options *o, const model *m, dataset *d)
{
    int right = 0;
    samba_set_train(s, false);
    for (int at = 0; at < d->n; at += o->app.batch_size) {
        int n = d->n - at < o->app.batch_size ? d->n - at : o->app.batch_size;
        for (int b = 0; b < n; b++) set_row(d, b, at + b);      // a short batch keeps old rows
        samba_write(m->image, d->x);
        samba_run(s, SAMBA_FWD);
        const float *logits = samba_read(m->logits);
        if (!samba_ok(s)) return;
        for (int b = 0; b < n; b++, logits += CLASSES) {
            int best = 0;
            for (int c = 1; c < CLASSES; c++)
                if (logits[c] > logits[best]) best = c;
            right += best == d->y[b];
        }
    }
    printf("test accuracy %.2f %% (%d of %d)\n", 100.0 * right / d->n, right, d->n);
}

// ---- Commands -----------------------------------------------------------------------------------

// run trains, saves and tests; test, and run --inference, restore and test. False if interrupted.
static bool run_or_test(samba_session *s, const options *o, const model *m, const char *program)
{
    dataset images = { 0 }, tests = { 0 };
    bool training = !o->app.inference && strcmp(o->app.command, "run") == 0, done = true;
    if (!training || o->resume) samba_restore(s, o->checkpoint);
    if (samba_ok(s)) read_dataset(s, o, "t10k", &tests);
    if (samba_ok(s) && training && read_dataset(s, o, "train", &images)) {
        signal(SIGINT, on_interrupt);
        done = train(s, o, m, &images);
        if (samba_save(s, o->checkpoint) && !done)
            printf("\nstopped; the state is in %s. Go on with:\n"
                   "  %s run --resume -p %s --checkpoint %s -b %d --epochs %d --lr %g\n",
                   o->checkpoint, program, o->app.pef, o->checkpoint, o->app.batch_size, o->epochs,
                   (double)o->lr);
    }
    if (samba_ok(s) && done) test(s, o, m, &tests);
    free_dataset(&images);
    free_dataset(&tests);
    return done;
}

int main(int argc, char **argv)
{
    options o = { .app = { .batch_size = 64 }, .data = "/usr/share/datasets/fashion-mnist",
                  .checkpoint = "res_ffn.ckpt", .epochs = 5, .lr = 0.05f };
    const samba_flag flags[] = {
        { "data", SAMBA_FLAG_TEXT, &o.data, "folder of the IDX files" },
        { "checkpoint", SAMBA_FLAG_TEXT, &o.checkpoint, "run writes it, test reads it" },
        { "resume", SAMBA_FLAG_BOOL, &o.resume, "run: go on from the checkpoint" },
        { "epochs", SAMBA_FLAG_INT, &o.epochs, "passes over the training images, default 5" },
        { "lr", SAMBA_FLAG_FLOAT, &o.lr, "learning rate of the first step, default 0.05" },
    };
    if (!samba_parse_app_args(argc, argv, &o.app, flags, sizeof flags / sizeof *flags)) return 2;

    model m;
    bool done = true;
    samba_session *s = samba_open(&(samba_desc){ .threads = o.app.threads });
    samba_program program = trace(s, &o, &m);
    if (strcmp(o.app.command, "run") != 0 && strcmp(o.app.command, "test") != 0)
        samba_app_driver(s, &o.app, &program);      // compile, measure-performance ...
    else if (!o.app.pef || o.epochs < 1)
        samba_fail(s, SAMBA_EARG, "%s needs --pef FILE and at least one epoch", o.app.command);
    else if (samba_load(s, o.app.pef, &program))
        done = run_or_test(s, &o, &m, argv[0]);
    int failed = samba_close(s);            // prints the first error, if there is one
    return failed ? failed : done ? 0 : 130;
}
