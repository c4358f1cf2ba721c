// Data parallel training on Fashion-MNIST: replicas in threads, or over machines with MPI.
//     cc -O2 -o data_parallel examples/08_data_parallel.c -lm -pthread -lz
//     ./data_parallel --replicas 2 --mode inorder      normal, inorder, optimal: the same bits
//     mpicc -O2 -DSAMBA_MPI -o data_parallel_mpi examples/08_data_parallel.c -lm -pthread -lz
//     mpirun -np 2 ./data_parallel_mpi                 and so do two ranks with a replica each
// [--replicas N] [--mode M] [--reduce-on-rdu] [--epochs N] [--batch-size N] [--checkpoint FILE]
// [--data FOLDER] [--graphamp-preset mp0 | mp1 | mp4]
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_PARALLEL_IMPLEMENTATION
#include "../samba.h"
#include "../tools/include/samba/driver.h"
#include "../tools/include/samba/parallel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIXELS = 28 * 28, HIDDEN = 256, CLASSES = 10 };

enum { TRAIN = 60000, TEST = 10000 }; // images

static const double LR = 0.05; // learning rate of the first step

typedef struct options {
    samba_parallel_desc parallel;
    const char *data, *checkpoint;
    int epochs;
    const char *loss, *right; // names of outputs
} options;

// ---- The model: traced once for each replica, for its part of the batch -------------------------

static bool trace(samba_session *s, int32_t batch, samba_program *program, void *user)
{
    options *o = (options *)user;
    samba_tensor *image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(batch, PIXELS));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(batch));
    samba_tensor *h = samba_relu(samba_linear(image, "fc1", HIDDEN));
    h = samba_relu(samba_linear(h, "fc2", HIDDEN));
    samba_tensor *logits = samba_linear(h, "fc3", CLASSES);
    samba_tensor *hit = samba_eq(samba_argmax(logits, 1, false), label);
    samba_tensor *right = samba_mean(samba_cast(hit, SAMBA_F32), SAMBA_ALL_AXES, false);
    samba_tensor *loss = samba_cross_entropy(logits, label);
    if (!samba_ok(s)) return false;
    o->loss = loss->name;
    o->right = right->name;
    program->loss = loss;
    program->outputs[0] = right;
    program->level = SAMBA_O1; // many sections: gradients are reduced between them
    program->optim = (samba_optim){ .kind = SAMBA_SGD, .lr = (float)LR, .momentum = 0.9f };
    return true;
}

// ---- The data: IDX files, the format of MNIST ---------------------------------------------------

typedef struct dataset {
    unsigned char *image, *label; // (n,28,28) and (n)
    float *x;                     // a batch, (B,784)
    int32_t *y;                   // and (B)
} dataset;

// The content of DIR/NAME.gz after a head of bytes that is not looked at; NULL if it is too short.
static unsigned char *read_idx(const char *dir, const char *name, unsigned head, unsigned size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.gz", dir, name);
    unsigned char *data = (unsigned char *)malloc(size);
    gzFile f = gzopen(path, "rb");
    bool ok = f && data && gzread(f, data, head) == (int)head && gzread(f, data, size) == (int)size;
    if (f) gzclose(f);
    if (ok) return data;
    fprintf(stderr,
            "%s is missing or damaged. Debian has it: apt-get install "
            "dataset-fashion-mnist\n",
            path);
    free(data);
    return NULL;
}

static bool read_dataset(const options *o, bool train, dataset *d)
{
    unsigned n = train ? TRAIN : TEST, batch = (unsigned)o->parallel.batch;
    d->image = read_idx(o->data, train ? "train-images-idx3-ubyte" : "t10k-images-idx3-ubyte", 16,
                        n * PIXELS);
    d->label
        = read_idx(o->data, train ? "train-labels-idx1-ubyte" : "t10k-labels-idx1-ubyte", 8, n);
    d->x = (float *)malloc(sizeof *d->x * batch * PIXELS);
    d->y = (int32_t *)malloc(sizeof *d->y * batch);
    return d->image && d->label && d->x && d->y;
}

// A permutation of the training images; every rank makes the same one.
static void shuffle(int *order, uint64_t *state)
{
    for (int i = TRAIN - 1; i > 0; i--) {
        *state = *state * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX generator
        int j = (int)((*state >> 33) % ((uint64_t)i + 1)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

// ---- Training and testing -----------------------------------------------------------------------

// One step with the whole batch, images order[at] ... or at ...: parallel.h splits it.
static bool run_batch(samba_parallel *p, const options *o, dataset *d, const int *order, int at,
                      samba_parallel_run_desc run)
{
    int batch = o->parallel.batch;
    for (int b = 0; b < batch; b++) {
        int i = order ? order[at + b] : at + b;
        const unsigned char *pixel = d->image + (size_t)i * PIXELS;
        float *x = d->x + (size_t)b * PIXELS;
        for (int k = 0; k < PIXELS; k++) // mean 0, deviation 1
            x[k] = ((float)pixel[k] / 255.0f - 0.2860f) / 0.3530f;
        d->y[b] = d->label[i];
    }
    samba_parallel_batch in[] = { { "image", d->x, batch }, { "label", d->y, batch } };
    run.inputs = in;
    run.n_inputs = 2;
    return samba_parallel_run(p, &run);
}

static double train_epoch(samba_parallel *p, const options *o, dataset *d, const int *order, int e)
{
    int n = TRAIN / o->parallel.batch;
    double loss = 0;
    for (int i = 0; i < n && samba_parallel_ok(p); i++) {
        double left = 1 - (e + (double)i / n) / o->epochs; // the learning rate falls to 0
        samba_value lr = { "lr", LR * left };
        run_batch(p, o, d, order, i * o->parallel.batch,
                  (samba_parallel_run_desc){ .hyperparams = &lr, .n_hyperparams = 1 });
        loss += (double)samba_parallel_mean(p, o->loss) / n;
    }
    return loss;
}

// The share of test images that are recognized, over all replicas and ranks.
static double test(samba_parallel *p, const options *o, dataset *d)
{
    int n = TEST / o->parallel.batch;
    double right = 0;
    for (int i = 0; i < n && samba_parallel_ok(p); i++) {
        run_batch(p, o, d, NULL, i * o->parallel.batch,
                  (samba_parallel_run_desc){ .types = SAMBA_FWD, .eval = true });
        right += (double)samba_parallel_mean(p, o->right) / n;
    }
    return right;
}

// The program proper: samba_use_abexit ends all replicas and ranks if one fails.
static int data_parallel(void *user)
{
    static int order[TRAIN];
    options *o = (options *)user;
    dataset images = { 0 }, tests = { 0 };
    uint64_t state = 256;
    for (int i = 0; i < TRAIN; i++)
        order[i] = i;
    o->parallel.trace = trace;
    o->parallel.user = o;
    samba_parallel *p = samba_parallel_open(&o->parallel);
    if (!samba_parallel_ok(p)) return samba_parallel_close(p);
    if (!read_dataset(o, true, &images) || !read_dataset(o, false, &tests)) return 1;
    bool speaks = samba_parallel_first(p) == 0; // rank 0
    for (int e = 0; e < o->epochs && samba_parallel_ok(p); e++) {
        double start = samba_seconds();
        shuffle(order, &state);
        double loss = train_epoch(p, o, &images, order, e);
        if (o->checkpoint) samba_parallel_save(p, o->checkpoint);
        if (speaks)
            printf("epoch %d/%d  loss %.4f  %.0f samples/s\n", e + 1, o->epochs, loss,
                   TRAIN / (samba_seconds() - start));
    }
    double right = test(p, o, &tests);
    if (speaks)
        printf("%d replicas\ntest accuracy %.2f %%\n", samba_parallel_replicas(p), 100 * right);
    return samba_parallel_close(p);
}

int main(int argc, char **argv)
{
    options o = { .parallel = { .replicas = 1, .batch = 80 },
                  .epochs = 5,
                  .data = "/usr/share/datasets/fashion-mnist" };
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(flag, "--reduce-on-rdu")) {
            o.parallel.reduce_on_rdu = true;
            continue;
        }
        if (!strcmp(flag, "--graphamp-preset")
            && samba_app_graphamp(value, &o.parallel.session.graphamp)) {
            i++;
            continue;
        }
        if (!strcmp(flag, "--replicas") && atoi(value) > 0)
            o.parallel.replicas = atoi(value);
        else if (!strcmp(flag, "--mode"))
            o.parallel.mode = value;
        else if (!strcmp(flag, "--epochs") && atoi(value) > 0)
            o.epochs = atoi(value);
        else if (!strcmp(flag, "--batch-size") && atoi(value) > 0)
            o.parallel.batch = atoi(value);
        else if (!strcmp(flag, "--checkpoint"))
            o.checkpoint = value;
        else if (!strcmp(flag, "--data"))
            o.data = value;
        else {
            bool help = !strcmp(flag, "--help");
            fprintf(help ? stdout : stderr,
                    "usage: data_parallel [--replicas N] [--mode M] "
                    "[--graphamp-preset mp0 | mp1 | mp4] ...\n");
            return help ? 0 : 2;
        }
        i++;
    }
    return samba_use_abexit(data_parallel, &o);
}
