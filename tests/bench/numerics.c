// How well nets learn under each preset of GraphAMP: losses, and what is right in the end.
//     cc -O2 -o numerics tests/bench/numerics.c -lcjson -lutf8proc -lm -pthread -lz
//     ./numerics lenet | resnet8 | gpt2    mp0 | mp1 | mp4    SEED    DATA
// DATA is Fashion-MNIST's folder, for gpt2 a text. Prints "MODEL PRESET SEED STEP LOSS" as it
// trains, and at the end "MODEL PRESET SEED final RESULT": percent of the test images that are
// recognized, or the loss of text that was held out. numerics.py does the same in PyTorch, and
// numerics.sh runs both. A seed draws the weights, and the order of the data: the presets have both
// in common.
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_LOADER_IMPLEMENTATION
#define SAMBA_IDX_IMPLEMENTATION
#define SAMBA_TOKENIZER_IMPLEMENTATION
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#include "../../samba.h"
#include "../../tools/include/samba/driver.h"
#include "../../tools/include/samba/gpt2.h"
#include "../../tools/include/samba/idx.h"
#include "../../tools/include/samba/loader.h"
#include "../../tools/include/samba/tokenizer.h"
#include "nets.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 28, CLASSES = 10, BATCH = 64, POINTS = 8 }; // points of a curve

typedef struct run {
    samba_session *s;
    const char *model, *preset, *data;
    int seed;
} run;

static void print_point(const run *r, int step, double loss)
{
    printf("%s %s %d %d %.4f\n", r->model, r->preset, r->seed, step, loss);
    fflush(stdout);
}

// The mean loss since the last point, at each POINTS-th part of the steps.
static void follow(const run *r, int step, int steps, double loss)
{
    static double sum;
    static int n;
    sum += loss;
    n++;
    if (step * POINTS / steps == (step - 1) * POINTS / steps) return;
    print_point(r, step, sum / n);
    sum = 0;
    n = 0;
}

// ---- Images -------------------------------------------------------------------------------------

// images: of the training set, the first ones; numerics.py has the same numbers.
typedef struct image_net {
    const char *name;
    samba_tensor *(*trace)(samba_tensor *x);
    int images, epochs;
    samba_optim optim;
} image_net;

static const image_net image_nets[] = {
    { "lenet",
      lenet,
      60000,
      5,
      { .kind = SAMBA_ADAMW, .lr = 3e-3f, .beta2 = 0.999f, .weight_decay = 0.01f } },
    { "resnet8", resnet8, 20000, 3, { .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f } },
};

static samba_loader *load(samba_session *s, samba_idx *idx, int n, bool training, int seed)
{
    static const char *const names[] = { "image", "label" };
    samba_dataset d = { .n = n,
                        .batch = BATCH,
                        .fill = samba_idx_fill,
                        .user = idx,
                        .writes = idx->row,
                        .shuffle = training,
                        .seed = (uint64_t)seed,
                        .drop_last = training };
    return samba_loader_open_dataset(s, &d, names, 2, NULL);
}

// With a learning rate that falls in a line to 0.
static void train(const run *r, const image_net *net, samba_loader *images, samba_tensor *loss)
{
    int per_epoch = net->images / BATCH, steps = per_epoch * net->epochs, step = 0;
    for (int e = 0; e < net->epochs; e++) {
        while (samba_ok(r->s) && samba_loader_next(images, NULL) == 1) {
            samba_set(r->s, "lr", (double)net->optim.lr * (steps - step) / steps);
            samba_run(r->s, 0);
            follow(r, ++step, steps, (double)samba_read(loss)[0]);
        }
    }
}

static double percent_right(samba_session *s, samba_loader *tests, int n, samba_tensor *hits)
{
    const samba_run_desc forward = { .types = { SAMBA_FWD }, .eval = true, .running_stats = true };
    int right = 0;
    while (samba_loader_next(tests, NULL) == 1) {
        samba_run_with(s, &forward);
        const float *hit = samba_read(hits);
        for (int b = 0; samba_ok(s) && b < samba_loader_batch(tests)->rows; b++)
            right += hit[b] > 0;
    }
    return 100.0 * right / n;
}

static void learn_images(const run *r, const image_net *net)
{
    samba_session *s = r->s;
    samba_tensor *image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(BATCH, 1, SIDE, SIDE));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(BATCH));
    samba_tensor *logits = net->trace(image);
    samba_tensor *loss = samba_cross_entropy(logits, label);
    samba_tensor *guess = samba_argmax(logits, 1, false);
    samba_tensor *hits = samba_cast(samba_eq(guess, label), SAMBA_F32);
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { hits }, .optim = net->optim });

    samba_idx images = { .mean = 0.2860f, .deviation = 0.3530f }, tests = images;
    if (samba_idx_open(s, &images, r->data, "train", SIDE, CLASSES)) {
        samba_loader *loader = load(s, &images, net->images, true, r->seed);
        train(r, net, loader, loss);
        samba_loader_close(loader);
    }
    if (samba_idx_open(s, &tests, r->data, "t10k", SIDE, CLASSES)) {
        samba_loader *loader = load(s, &tests, tests.n, false, 0);
        double right = percent_right(s, loader, tests.n, hits);
        if (samba_ok(s)) printf("%s %s %d final %.2f\n", r->model, r->preset, r->seed, right);
        samba_loader_close(loader);
    }
    samba_idx_close(&images);
    samba_idx_close(&tests);
}

// ---- Text ---------------------------------------------------------------------------------------

enum { ROWS = 4, LENGTH = 64, STEPS = 200, WARM_UP = 20, VOCABULARY = 4096, HELD_OUT = 32 };

typedef struct corpus {
    int32_t *id;
    int n, n_train; // the last tenth is held out
} corpus;

// The first 2 MB of a text; the tokenizer learns from the same bytes each time.
static bool read_corpus(samba_session *s, const char *path, corpus *c)
{
    enum { MOST = 2 << 20 };

    char *text = (char *)malloc(MOST), why[300] = "is missing or empty";
    FILE *f = fopen(path, "rb");
    size_t size = f && text ? fread(text, 1, MOST, f) : 0;
    samba_tokenizer *t
        = size ? samba_tokenizer_train(text, size, VOCABULARY, why, sizeof why) : NULL;
    int64_t n = t ? samba_tokenizer_encode(t, text, size, NULL, 0) : 0;
    c->id = n > 0 ? (int32_t *)malloc((size_t)n * sizeof *c->id) : NULL;
    if (c->id) c->n = (int)samba_tokenizer_encode(t, text, size, c->id, n);
    c->n_train = c->n - c->n / 10;
    if (f) fclose(f);
    free(text);
    samba_tokenizer_close(t);
    return c->n / 10 > ROWS * LENGTH ? true : samba_fail(s, SAMBA_EIO, "%s: %s", path, why);
}

// ROWS windows of the tokens first ... first + n - 1, and each one token later.
static void set_batch(const corpus *c, int first, int n, uint64_t seed, int step, samba_tensor *ids,
                      samba_tensor *labels)
{
    int32_t in[ROWS * LENGTH], next[ROWS * LENGTH];
    for (int b = 0; b < ROWS; b++) {
        double u = samba_sampling_number(seed, (uint64_t)b, (uint64_t)step);
        const int32_t *at = c->id + first + (int)(u * (n - LENGTH - 1));
        memcpy(in + b * LENGTH, at, LENGTH * sizeof *in);
        memcpy(next + b * LENGTH, at + 1, LENGTH * sizeof *next);
    }
    samba_write(ids, in);
    samba_write(labels, next);
}

static gpt2_config gpt2_small(void)
{
    gpt2_config c = gpt2_config_default();
    c.attn_pdrop = c.embd_pdrop = c.resid_pdrop = 0;
    c.n_layer = 4;
    c.vocab_size = VOCABULARY;
    return c;
}

static void learn_text(const run *r)
{
    samba_session *s = r->s;
    gpt2_config config = gpt2_small();
    corpus c = { 0 };
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(ROWS, LENGTH));
    samba_tensor *labels = samba_input(s, "labels", SAMBA_I32, SAMBA_SHAPE(ROWS, LENGTH));
    samba_tensor *loss = samba_cross_entropy(gpt2_logits(&config, ids, NULL), labels);
    samba_optim adamw = { .kind = SAMBA_ADAMW, .lr = 6e-4f, .beta2 = 0.95f, .weight_decay = 0.1f };
    adamw.max_grad_norm = 1;
    samba_compile(s, &(samba_program){ .loss = loss, .optim = adamw });
    if (!samba_ok(s) || !read_corpus(s, r->data, &c)) return;

    for (int step = 0; step < STEPS && samba_ok(s); step++) {
        double rate = step < WARM_UP ? (step + 1.0) / WARM_UP : 1;
        samba_set(s, "lr", (double)adamw.lr * rate);
        set_batch(&c, 0, c.n_train, (uint64_t)r->seed, step, ids, labels);
        samba_run(s, 0);
        follow(r, step + 1, STEPS, (double)samba_read(loss)[0]);
    }

    double sum = 0;
    for (int k = 0; k < HELD_OUT && samba_ok(s); k++) { // the same windows for all
        set_batch(&c, c.n_train, c.n - c.n_train, 1, k, ids, labels);
        samba_run(s, SAMBA_FWD);
        sum += (double)samba_read(loss)[0] / HELD_OUT;
    }
    if (samba_ok(s)) printf("%s %s %d final %.4f\n", r->model, r->preset, r->seed, sum);
    free(c.id);
}

int main(int argc, char **argv)
{
    samba_graphamp preset = SAMBA_MP0;
    const image_net *net = NULL;
    for (size_t i = 0; argc == 5 && i < sizeof image_nets / sizeof *image_nets; i++)
        if (!strcmp(argv[1], image_nets[i].name)) net = &image_nets[i];
    if (argc != 5 || (!net && strcmp(argv[1], "gpt2") != 0)
        || !samba_app_graphamp(argv[2], &preset)) {
        fprintf(stderr, "usage: numerics lenet | resnet8 | gpt2  mp0 | mp1 | mp4  SEED  DATA\n");
        return 2;
    }

    run r = { NULL, argv[1], argv[2], argv[4], atoi(argv[3]) };
    r.s = samba_open(&(samba_desc){ .graphamp = preset, .seed = (uint64_t)r.seed });
    if (net)
        learn_images(&r, net);
    else
        learn_text(&r);
    return samba_close(r.s);
}
