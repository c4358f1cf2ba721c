// The yardstick for a GPT that classifies texts: logistic regression on bags of words, trained on
// the files that examples/06_gpt2_train.c is trained on. Of a prompt it sees which tokens occur in
// it; it tells apart two completions by their first tokens.
//     cc -O2 -I. -o bag_of_words tests/sambaflow/movie/bag_of_words.c -lhdf5_serial -lm -pthread
//     ./bag_of_words DATA VOCAB_SIZE [L2 [EPOCHS [THREADS]]]
// DATA is a folder of train*.hdf5 and dev*.hdf5. With a large vocabulary most tokens are words.
#define SAMBA_IMPLEMENTATION
#define SAMBA_HDF5_ROWS_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/hdf5_rows.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, PROMPT = 0, COMPLETION = 1, MAX_ROWS = 1000000, MAX_VOCAB = 1000000 };

static char why[500]; // the reason, when a file cannot be used

typedef struct options {
    const char *folder;
    int vocab, epochs, threads;
    double l2;
} options;

// ---- The model: z = w x + b; the loss is -log sigmoid(z) or -log sigmoid(-z) --------------------

typedef struct model {
    samba_tensor *bag, *label, *z, *loss;
} model;

static samba_program trace(samba_session *s, const options *o, model *m)
{
    samba_init zero = { SAMBA_INIT_CONSTANT, 0, 0 };
    m->bag = samba_input(s, "bag", SAMBA_F32, SAMBA_SHAPE(BATCH, o->vocab));
    m->label = samba_input(s, "label", SAMBA_F32, SAMBA_SHAPE(BATCH, 1));
    samba_tensor *w = samba_param(s, "weight", SAMBA_SHAPE(1, o->vocab), zero);
    samba_tensor *b = samba_param(s, "bias", SAMBA_SHAPE(1), zero);
    m->z = samba_affine(m->bag, w, b);
    samba_tensor *right = samba_mul(m->label, m->z);
    m->loss = samba_mean(samba_sub(samba_softplus(m->z), right), SAMBA_ALL_AXES, false);
    samba_program p = { .name = "bag_of_words", .loss = m->loss, .outputs = { m->z } };
    p.optim = (samba_optim){ .kind = SAMBA_ADAM, .lr = 0.01f, .weight_decay = (float)o->l2 };
    return p;
}

// ---- The data -----------------------------------------------------------------------------------

typedef struct dataset {
    int64_t n;
    int32_t length;       // tokens of a row
    int32_t *ids, *types; // (n,length)
} dataset;

static bool append_rows(samba_session *s, dataset *d, const char *path)
{
    samba_rows *r = samba_rows_open(path, SAMBA_ROWS_READ, d->length, false, why, sizeof why);
    if (!r) return samba_fail(s, SAMBA_EIO, "%s", why);
    int64_t more = samba_rows_count(r);
    if (more > 0) d->length = samba_rows_length(r);
    size_t row = (size_t)d->length, bytes = (size_t)(d->n + more) * row * sizeof *d->ids;
    bool fine = more == 0 || (more <= MAX_ROWS - d->n && row <= SIZE_MAX / 4 / MAX_ROWS);
    if (!fine) samba_fail(s, SAMBA_ERANGE, "%s: these are more than %d rows", path, MAX_ROWS);
    for (int i = 0; fine && more > 0 && i < 2; i++) {
        int32_t **p = i ? &d->types : &d->ids, *grown = (int32_t *)realloc(*p, bytes);
        fine = grown || samba_fail(s, SAMBA_ENOMEM, "no memory for %s", path);
        if (grown) *p = grown;
    }
    if (fine && more > 0
        && !samba_rows_read(r, 0, more, d->ids + (size_t)d->n * row, d->types + (size_t)d->n * row,
                            NULL, why, sizeof why))
        fine = samba_fail(s, SAMBA_EIO, "%s", why);
    samba_rows_abandon(r);
    d->n += fine ? more : 0;
    return fine;
}

// All files of the folder whose names contain the word and end in .hdf5. Tokens are checked here.
static bool read_dataset(samba_session *s, const options *o, const char *word, dataset *d)
{
    struct dirent **entry = NULL;
    int n = scandir(o->folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name, *end = strstr(name, ".hdf5");
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", o->folder, name);
        if (samba_ok(s) && strstr(name, word) && end && !end[5]) append_rows(s, d, path);
        free(entry[i]);
    }
    free(entry);
    if (samba_ok(s) && d->n < BATCH)
        return samba_fail(s, SAMBA_EIO, "%s: the files *%s*.hdf5 have %d rows; it takes %d",
                          o->folder, word, (int)d->n, BATCH);
    for (int64_t i = 0; samba_ok(s) && i < d->n * d->length; i++)
        if (d->ids[i] < 0 || d->ids[i] >= o->vocab)
            samba_fail(s, SAMBA_ERANGE, "%s: there is a token %d; VOCAB_SIZE is %d", o->folder,
                       d->ids[i], o->vocab);
    return samba_ok(s);
}

// The first token of the completion; -1 if there is none.
static int32_t completion(const dataset *d, int64_t row)
{
    for (int64_t i = row * d->length; i < (row + 1) * d->length; i++)
        if (d->types[i] == COMPLETION) return d->ids[i];
    return -1;
}

// All rows have one of two completions: class[0], the first row's, or class[1], -1 until then.
static bool check_classes(samba_session *s, const dataset *d, int32_t class[2])
{
    for (int64_t i = 0; i < d->n && samba_ok(s); i++) {
        int32_t is = completion(d, i);
        if (class[0] < 0) class[0] = is;
        if (is != class[0] && class[1] < 0) class[1] = is;
        if (is < 0 || (is != class[0] && is != class[1]))
            samba_fail(s, SAMBA_ERANGE, "row %d has a third completion, or none", (int)i);
    }
    return samba_ok(s);
}

// ---- Training and testing -----------------------------------------------------------------------

typedef struct batch {
    float *bag, label[BATCH];
} batch; // bag (BATCH,vocab)

static void set_row(const options *o, const dataset *d, int64_t row, int32_t yes, int at, batch *b)
{
    float *bag = b->bag + (size_t)at * (size_t)o->vocab;
    memset(bag, 0, (size_t)o->vocab * sizeof *bag);
    for (int64_t i = row * d->length; i < (row + 1) * d->length; i++)
        if (d->types[i] == PROMPT) bag[d->ids[i]] = 1;
    b->label[at] = completion(d, row) == yes ? 1.0f : 0.0f;
}

static bool write_batch(const model *m, const batch *b)
{
    return samba_write(m->bag, b->bag) && samba_write(m->label, b->label);
}

static void shuffle(int64_t *order, int64_t n, uint64_t *state)
{
    for (int64_t i = n - 1; i > 0; i--) {
        *state = *state * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX generator
        int64_t j = (int64_t)((*state >> 33) % ((uint64_t)i + 1)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

static void train(samba_session *s, const options *o, const model *m, const dataset *d, int32_t yes,
                  batch *b)
{
    int64_t *order = (int64_t *)malloc((size_t)d->n * sizeof *order), steps = d->n / BATCH;
    uint64_t state = 256;
    if (!order) samba_fail(s, SAMBA_ENOMEM, "no memory for the order of %d rows", (int)d->n);
    for (int64_t i = 0; order && i < d->n; i++)
        order[i] = i;
    for (int epoch = 0; epoch < o->epochs && samba_ok(s); epoch++) {
        double loss = 0;
        shuffle(order, d->n, &state);
        for (int64_t k = 0; k < steps && samba_ok(s); k++) {
            for (int i = 0; i < BATCH; i++)
                set_row(o, d, order[k * BATCH + i], yes, i, b);
            double done = ((double)epoch + (double)k / (double)steps) / o->epochs;
            samba_set(s, "lr", 0.01 * (1 - done)); // falls to 0
            write_batch(m, b);
            samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
            loss += (double)samba_read(m->loss)[0] / (double)steps;
        }
        printf("epoch %d/%d  loss %.4f\n", epoch + 1, o->epochs, loss);
    }
    free(order);
}

static double accuracy(samba_session *s, const options *o, const model *m, const dataset *d,
                       int32_t yes, batch *b)
{
    int64_t right = 0;
    for (int64_t at = 0; at < d->n && samba_ok(s); at += BATCH) {
        int n = d->n - at < BATCH ? (int)(d->n - at) : BATCH;
        for (int i = 0; i < n; i++)
            set_row(o, d, at + i, yes, i, b); // others keep old rows
        write_batch(m, b);
        samba_run(s, SAMBA_FWD);
        const float *z = samba_read(m->z);
        for (int i = 0; i < n && samba_ok(s); i++)
            right += (z[i] > 0) == (b->label[i] > 0);
    }
    return (double)right / (double)d->n;
}

int main(int argc, char **argv)
{
    options o = { .folder = argc > 1 ? argv[1] : "",
                  .vocab = argc > 2 ? atoi(argv[2]) : 0,
                  .l2 = argc > 3 ? atof(argv[3]) : 2e-4,
                  .epochs = argc > 4 ? atoi(argv[4]) : 12,
                  .threads = argc > 5 ? atoi(argv[5]) : 0 };
    if (o.vocab < 1 || o.vocab > MAX_VOCAB || o.epochs < 1 || o.threads < 0 || !(o.l2 >= 0)) {
        fprintf(stderr, "usage: %s DATA VOCAB_SIZE [L2 [EPOCHS [THREADS]]]\n", argv[0]);
        return 2;
    }
    model m;
    int32_t class[2] = { -1, -1 };
    dataset rows = { 0 }, tests = { 0 };
    batch b = { (float *)malloc((size_t)BATCH * (size_t)o.vocab * sizeof(float)), { 0 } };
    samba_session *s = samba_open(&(samba_desc){ .threads = o.threads });
    samba_program program = trace(s, &o, &m);
    if (!b.bag) samba_fail(s, SAMBA_ENOMEM, "no memory for a batch");
    if (samba_ok(s) && read_dataset(s, &o, "train", &rows) && read_dataset(s, &o, "dev", &tests)
        && check_classes(s, &rows, class) && check_classes(s, &tests, class)
        && samba_compile(s, &program)) {
        train(s, &o, &m, &rows, class[0], &b);
        double right = accuracy(s, &o, &m, &tests, class[0], &b);
        if (samba_ok(s)) printf("Final eval accuracy: %.4f\n", right);
    }
    free(rows.ids);
    free(rows.types);
    free(tests.ids);
    free(tests.types);
    free(b.bag);
    return samba_close(s);
}
