// ResFFNLogReg on Fashion-MNIST: logistic regression on top of a residual feed-forward net.
//     cc -O2 -o res_ffn examples/02_res_ffn.c -lm -pthread -lz
//     ./res_ffn compile                          trace the model, write out/res_ffn/res_ffn.pef
//     ./res_ffn run -p out/res_ffn/res_ffn.pef   train on 60,000 images, save, test on 10,000
//     ./res_ffn compile --inference --pef-name infer                the same model, forward only
//     ./res_ffn test --inference -p out/infer/infer.pef             test what run has saved
// --graphamp-preset mp1, given to each of them, computes products in bf16; mp4 keeps all in it.
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
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, HIDDEN = 512, CLASSES = 10 };

typedef struct options {
    samba_app_args app; // SambaFlow's: command, batch_size, pef, inference ...
    const char *data, *checkpoint;
    int32_t epochs;
    float lr; // of the first step
    bool resume;
    const char *report; // folder of curves and of report.html
    const char *replay; // file for the run of the first NaN or infinity
    int argc;
    char **argv;
} options;

// ---- The model ----------------------------------------------------------------------------------

typedef struct model {
    samba_tensor *image, *label, *logits, *loss;
    samba_report *report; // NULL: none is wanted
} model;

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
    int32_t rows = samba_app_rows(&o->app); // of a batch, or of a part of it: -mb
    m->image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(rows, PIXELS));
    m->label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(rows));
    m->logits = res_ffn(m->image);
    m->loss = samba_cross_entropy(m->logits, m->label);
    samba_program p = { .name = "res_ffn", .outputs = { m->logits } };
    p.inference = o->app.inference;
    p.microbatches = samba_app_parts(&o->app);
    if (!p.inference) {
        p.loss = m->loss;
        p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = o->lr, .momentum = 0.9f };
    }
    return p;
}

// ---- The data -----------------------------------------------------------------------------------

// The mean and deviation of Fashion-MNIST's training images, which the loader takes out.
static const samba_idx fashion = { .mean = 0.2860f, .deviation = 0.3530f };

// Batches from here on; those of a training are shuffled, and begin after `steps` of them.
static samba_loader *load(samba_session *s, const options *o, samba_idx *idx, bool training,
                          int steps)
{
    static const char *const names[] = { "image", "label" };
    int batch = o->app.batch_size, per_epoch = idx->n / batch;
    samba_dataset d = { .n = idx->n,
                        .batch = batch,
                        .fill = samba_idx_fill,
                        .user = idx,
                        .writes = idx->row,
                        .shuffle = training,
                        .drop_last = training };
    samba_loader_opts opts = { 0 };
    if (training) {
        opts.pass = steps / per_epoch;
        opts.batch = steps % per_epoch;
    }
    return samba_loader_open_dataset(s, &d, names, 2, &opts);
}

// ---- The report ---------------------------------------------------------------------------------

static samba_report *open_report(samba_session *s, const options *o, int per_epoch, int step)
{
    static const char *const classes[CLASSES]
        = { "T-shirt", "Trousers", "Pullover", "Dress", "Coat",
            "Sandal",  "Shirt",    "Sneaker",  "Bag",   "Boot" };
    samba_report_opts opts = { .title = "ResFFN on Fashion-MNIST",
                               .folder = o->report,
                               .steps = per_epoch * o->epochs,
                               .first = step,
                               .batch = o->app.batch_size,
                               .gradients = 10,
                               .n_classes = CLASSES,
                               .classes = classes,
                               .argc = o->argc,
                               .argv = o->argv };
    return samba_report_open(s, &opts);
}

// Row b of a test batch: for the confusion matrix, and with its picture among the samples.
static void report_row(const model *m, int b, const float *logits, int label, int guess)
{
    if (!m->report) return;
    float low = (0 - fashion.mean) / fashion.deviation;
    float high = (1 - fashion.mean) / fashion.deviation;
    samba_report_image image = { samba_read(m->image) + b * PIXELS, 1, SIDE, SIDE, low, high };
    double sum = 0;
    for (int c = 0; c < CLASSES; c++)
        sum += exp((double)logits[c] - (double)logits[guess]);
    samba_report_prediction(m->report, label, guess);
    samba_report_sample(m->report, &image, label, guess, 1 / sum);
}

// ---- Progress and Ctrl-C ------------------------------------------------------------------------

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    interrupted = 1;
    signal(signal_number, SIG_DFL); // a second Ctrl-C ends the program at once
}

typedef struct progress {
    double epoch_start, loss; // loss: mean of this epoch
    double shown;             // when the bar was drawn last
    int steps;                // of this epoch, in this process
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
    printf("epoch %d/%d  loss %.4f  %.0f samples/s  %.1f s\n", epoch + 1, o->epochs, p->loss,
           p->steps * o->app.batch_size / time, time);
    fflush(stdout);
}

// ---- Training and testing -----------------------------------------------------------------------

// Trains from where the optimizer is. False if it was interrupted or failed.
static bool train(samba_session *s, const options *o, const model *m, samba_idx *images)
{
    int per_epoch = images->n / o->app.batch_size, steps = per_epoch * o->epochs;
    int step = samba_read_i32(samba_tensor_by_name(s, "step"))[0]; // it travels in the checkpoint
    samba_loader *loader = load(s, o, images, true, step);
    samba_replay *replay = samba_replay_open(s, o->replay);
    samba_set_train(s, true);
    for (int epoch = step / per_epoch; step < steps && samba_ok(s) && !interrupted; epoch++) {
        progress p = { .epoch_start = samba_seconds() };
        while (!interrupted && samba_loader_next(loader, NULL) == 1) {
            samba_set(s, "lr", (double)o->lr * (1 - (double)step / steps)); // falls to 0
            if (!samba_replay_run(replay, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT)) break;
            step++;
            p.steps++;
            p.loss += ((double)samba_read(m->loss)[0] - p.loss) / p.steps;
            samba_report_step(m->report, step, (double)samba_read(m->loss)[0]);
            if (!m->report)
                show_bar(&p, o, epoch, 1 - (epoch + 1) + (double)step / per_epoch, steps - step);
        }
        if (step == (epoch + 1) * per_epoch && samba_ok(s)) show_epoch(&p, o, epoch);
    }
    samba_replay_close(replay);
    samba_loader_close(loader);
    return step == steps && samba_ok(s);
}

// Prints the share of the test images that get their own class the largest logit.
static void test(samba_session *s, const options *o, const model *m, samba_idx *images)
{
    int right = 0;
    samba_loader *loader = load(s, o, images, false, 0);
    samba_set_train(s, false);
    while (samba_loader_next(loader, NULL) == 1) {
        samba_run(s, SAMBA_FWD);
        const float *logits = samba_read(m->logits);
        const int32_t *label = samba_read_i32(m->label);
        if (!samba_ok(s)) break;
        for (int b = 0; b < samba_loader_batch(loader)->rows; b++, logits += CLASSES) {
            int best = 0;
            for (int c = 1; c < CLASSES; c++)
                if (logits[c] > logits[best]) best = c;
            right += best == label[b];
            report_row(m, b, logits, label[b], best);
        }
    }
    samba_loader_close(loader);
    samba_report_value(m->report, "test accuracy", (double)right / images->n);
    if (samba_ok(s))
        printf("test accuracy %.2f %% (%d of %d)\n", 100.0 * right / images->n, right, images->n);
}

// ---- Commands -----------------------------------------------------------------------------------

// run trains, saves and tests; test, and run --inference, restore and test. False if interrupted.
static bool run_or_test(samba_session *s, const options *o, model *m, const char *program)
{
    samba_idx images = fashion, tests = fashion;
    bool training = !o->app.inference && strcmp(o->app.command, "run") == 0, done = true;
    // All but the learning rate, which the steps and --lr say.
    const samba_restore_opts state = { .kinds = SAMBA_KEPT };
    if (!training || o->resume) samba_restore_with(s, o->checkpoint, &state, NULL);
    samba_idx_open(s, &tests, o->data, "t10k", SIDE, CLASSES);
    if (training && samba_idx_open(s, &images, o->data, "train", SIDE, CLASSES)
        && images.n < o->app.batch_size)
        samba_fail(s, SAMBA_EIO, "%d images are less than a batch", images.n);
    if (samba_ok(s) && training) {
        int step = samba_read_i32(samba_tensor_by_name(s, "step"))[0];
        if (o->report) m->report = open_report(s, o, images.n / o->app.batch_size, step);
        signal(SIGINT, on_interrupt);
        done = train(s, o, m, &images);
        if (samba_save(s, o->checkpoint) && !done)
            printf("\nstopped; the state is in %s. Go on with:\n"
                   "  %s run --resume -p %s --checkpoint %s -b %d --epochs %d --lr %g"
                   " --graphamp-preset mp%d%s%s\n",
                   o->checkpoint, program, o->app.pef, o->checkpoint, o->app.batch_size, o->epochs,
                   (double)o->lr, (int)o->app.graphamp, o->report ? " --report " : "",
                   o->report ? o->report : "");
    }
    if (samba_ok(s) && done) test(s, o, m, &tests);
    samba_report_close(m->report);
    samba_idx_close(&images);
    samba_idx_close(&tests);
    return done;
}

int main(int argc, char **argv)
{
    options o = { .app = { .batch_size = 64 },
                  .data = "/usr/share/datasets/fashion-mnist",
                  .checkpoint = "res_ffn.ckpt",
                  .epochs = 5,
                  .lr = 0.05f,
                  .argc = argc,
                  .argv = argv };
    const samba_flag flags[] = {
        { "lr", SAMBA_FLAG_POSITIVE, &o.lr, "learning rate of the first step, default 0.05" },
    };
    const samba_flag run_flags[] = {
        { "data", SAMBA_FLAG_TEXT, &o.data, "folder of the IDX files" },
        { "checkpoint", SAMBA_FLAG_TEXT, &o.checkpoint, "run writes it, test reads it" },
        { "resume", SAMBA_FLAG_BOOL, &o.resume, "go on from the checkpoint" },
        { "epochs", SAMBA_FLAG_COUNT, &o.epochs, "passes over the training images, default 5" },
        { "report", SAMBA_FLAG_TEXT, &o.report, "folder for curves and a page that shows them" },
        { "replay", SAMBA_FLAG_TEXT, &o.replay, "file that shows where the first NaN comes from" },
    };
    o.app.run_flags = run_flags;
    o.app.n_run_flags = sizeof run_flags / sizeof *run_flags;
    if (!samba_parse_app_args(argc, argv, &o.app, flags, sizeof flags / sizeof *flags))
        return o.app.exit_code;

    model m = { 0 };
    bool done = true;
    samba_desc desc = samba_app_desc(&o.app);
    samba_session *s = samba_open(&desc);
    samba_program program = trace(s, &o, &m);
    if (strcmp(o.app.command, "run") != 0 && strcmp(o.app.command, "test") != 0)
        samba_app_driver(s, &o.app, &program); // compile, measure-performance ...
    else if (!o.app.pef || o.epochs < 1)
        samba_fail(s, SAMBA_EARG, "%s needs --pef FILE and at least one epoch", o.app.command);
    else if (samba_app_load(s, &o.app, &program))
        done = run_or_test(s, &o, &m, argv[0]);
    int failed = samba_close(s); // 1 if an error stands: it was printed
    return failed ? failed : done ? 0 : 130;
}
