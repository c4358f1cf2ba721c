// The loader: every batch once, in order, whoever is slow; errors, timeouts, early ends; shuffling
// that is the same everywhere; a training that is resumed inside a pass.
//     cc -O2 -I. tests/tools/loader.c -lm -pthread -o loader && ./loader
// run: threads needs:zlib.h -lz
#define SAMBA_IMPLEMENTATION
#define SAMBA_LOADER_IMPLEMENTATION
#define SAMBA_PROFILER_IMPLEMENTATION
#define SAMBA_IDX_IMPLEMENTATION
#define SAMBA_SAMBAFLOW_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/sambaflow.h"
#include "tools/include/samba/idx.h"
#include "tools/include/samba/loader.h"
#include "tools/include/samba/profiler.h"
#include "tests/lib/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { B = 4, C = 3, MANY = 25 };

static const char *const names[] = { "x", "label" };
static char checkpoint[300]; // named after the program

// ---- A source that counts: x of batch k is all k, and so is label -------------------------------

typedef struct counter {
    int32_t n, at, pass;
    int32_t fails_at, n_tensors; // which batch fails; how many tensors it says it gives
    int32_t n_rewinds;
    int32_t sleep_us;
    pthread_mutex_t mutex; // for the rest: next waits for cancel
    pthread_cond_t changed;
    int32_t waits_at;
    bool cancelled;
    int32_t n_closed;
} counter;

static void counter_open(counter *c, int32_t n)
{
    memset(c, 0, sizeof *c);
    c->n = n;
    c->fails_at = c->waits_at = -1;
    c->n_tensors = 2;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->changed, NULL);
}

static int32_t counter_next(void *user, samba_batch *b)
{
    counter *c = (counter *)user;
    if (c->sleep_us) usleep((useconds_t)(c->at * 7919 % c->sleep_us));
    pthread_mutex_lock(&c->mutex);
    while (c->at == c->waits_at && !c->cancelled)
        pthread_cond_wait(&c->changed, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
    if (c->at == c->n) return 0;
    int32_t k = c->at++;
    if (k == c->fails_at) {
        snprintf(b->why, sizeof b->why, "no disk for %d", k);
        return -1;
    }
    for (int i = 0; i < B * C; i++)
        ((float *)b->data[0])[i] = (float)k;
    for (int i = 0; i < B; i++)
        ((int32_t *)b->data[1])[i] = k;
    return c->n_tensors;
}

static bool counter_rewind(void *user, int32_t pass, int32_t batch)
{
    counter *c = (counter *)user;
    c->pass = pass;
    c->at = batch;
    c->n_rewinds++;
    return pass < 100;
}

static void counter_cancel(void *user)
{
    counter *c = (counter *)user;
    pthread_mutex_lock(&c->mutex);
    c->cancelled = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->mutex);
}

static void counter_close(void *user)
{
    counter *c = (counter *)user;
    pthread_mutex_lock(&c->mutex);
    c->n_closed++;
    pthread_mutex_unlock(&c->mutex);
}

static samba_source source_of(counter *c)
{
    return (samba_source){ counter_next, counter_rewind, counter_cancel, counter_close, c };
}

static samba_session *open_session(void)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1 });
    samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(B, C));
    samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    return s;
}

static samba_loader *open_loader(samba_session *s, counter *c, const samba_loader_opts *opts)
{
    samba_source source = source_of(c);
    return samba_loader_open(s, &source, names, 2, opts);
}

// The next batch, -1 at the end of a pass, -2 after an error; -3: it is not what it should be.
static int take(samba_loader *l)
{
    samba_tensor *t[2] = { NULL, NULL };
    int32_t got = samba_loader_next(l, t);
    if (got != 1) return got == 0 ? -1 : -2;
    const samba_batch *b = samba_loader_batch(l);
    int k = samba_read_i32(t[1])[0];
    for (int i = 0; i < B * C; i++)
        if (samba_read(t[0])[i] != (float)k || samba_read_i32(t[1])[i % B] != k) return -3;
    return b->number == k && b->n == 2 && !strcmp(t[0]->name, "x") ? k : -3;
}

static bool takes_pass(samba_loader *l, int n)
{
    for (int k = 0; k < n; k++)
        if (take(l) != k) return false;
    return take(l) == -1;
}

static bool says(samba_session *s, const char *part)
{
    bool found = strstr(samba_error(s), part) != NULL;
    if (!found) printf("the error is: %s\n", samba_error(s));
    return found;
}

// ---- Order --------------------------------------------------------------------------------------

static void test_order(void)
{
    static const int sizes[] = { 0, 1, 2, 10, 100 };
    for (int i = 0; i < 5; i++) {
        for (int slow = 0; slow < 3; slow++) { // nobody, the source, the program
            counter c;
            counter_open(&c, MANY);
            c.sleep_us = slow == 1 ? 2000 : 0;
            samba_session *s = open_session();
            samba_loader *l = open_loader(s, &c, &(samba_loader_opts){ .maxsize = sizes[i] });
            for (int pass = 0; pass < 3; pass++) {
                for (int k = 0; k < MANY; k++) {
                    if (slow == 2) usleep((useconds_t)(k * 7919 % 2000));
                    CHECK(take(l) == k && samba_loader_batch(l)->pass == pass);
                }
                CHECK(take(l) == -1);
            }
            CHECK(samba_loader_statistics(l).batches == 3 * MANY);
            CHECK(slow != 1 || samba_loader_statistics(l).waits > 0);
            CHECK(samba_loader_close(l) && c.n_closed == 1 && c.n_rewinds == 3);
            CHECK(samba_close(s) == 0);
        }
    }
}

static void test_arguments(void)
{
    static const char *const unknown[] = { "x", "lable" };
    counter c;
    counter_open(&c, 5);
    samba_source source = source_of(&c), empty = { 0 };
    samba_session *s = open_session();
    CHECK(!samba_loader_open(s, &source, unknown, 2, NULL) && says(s, "label"));
    CHECK(c.n_closed == 1);
    samba_clear_error(s);
    CHECK(!samba_loader_open(s, &empty, names, 2, NULL) && says(s, "next"));
    samba_clear_error(s);
    CHECK(!samba_loader_open(s, &source, names, 0, NULL) && c.n_closed == 2);
    CHECK(!samba_loader_open(s, &source, names, 2, NULL) && c.n_closed == 3); // an error stands
    samba_clear_error(s);
    const samba_loader_opts bad[5] = { { .pass = -1 },
                                       { .batch = -7 },
                                       { .timeout = -0.5 },
                                       { .maxsize = -2 },
                                       { .timeout = (double)NAN } };
    static const char *const why[5]
        = { "pass is -1", "batch is -7", "timeout is -0.5; it must be",
            "maxsize is -2; it must be 0 ... 1048576", "timeout is NaN" };
    for (int i = 0; i < 5; i++) {
        samba_clear_error(s);
        CHECK(!samba_loader_open(s, &source, names, 2, &bad[i]) && says(s, why[i]));
        CHECK(samba_error_code(s) == SAMBA_ERANGE);
    }
    CHECK(c.n_closed == 8);
    samba_clear_error(s);
    c.n_tensors = 3;
    samba_loader *l = samba_loader_open(s, &source, names, 2, NULL);
    CHECK(take(l) == -2 && says(s, "3 tensors for 2 names"));
    samba_loader_close(l);
    CHECK(samba_loader_next(NULL, NULL) == -1 && !samba_loader_rewind(NULL));
    CHECK(!samba_loader_close(NULL));
    samba_close(s);
}

// ---- Errors, waiting, ending --------------------------------------------------------------------

static void test_errors(void)
{
    static const int32_t fails[] = { 0, 3, MANY - 1 };
    for (int i = 0; i < 3; i++) {
        counter c;
        char text[40];
        snprintf(text, sizeof text, "batch %d of pass 0: no disk for %d", fails[i], fails[i]);
        counter_open(&c, MANY);
        c.fails_at = fails[i];
        samba_session *s = open_session();
        samba_loader *l = open_loader(s, &c, NULL);
        for (int k = 0; k < fails[i]; k++)
            CHECK(take(l) == k);
        CHECK(take(l) == -2 && samba_error_code(s) == SAMBA_EIO && says(s, text));
        CHECK(take(l) == -2 && !samba_loader_rewind(l));
        samba_clear_error(s);
        CHECK(take(l) == -2 && says(s, text)); // until it is rewound
        samba_clear_error(s);
        CHECK(samba_loader_rewind(l));
        for (int k = 0; k < fails[i]; k++)
            CHECK(take(l) == k);
        CHECK(take(l) == -2 && says(s, "no disk"));
        CHECK(samba_loader_close(l));
        samba_close(s);

        s = open_session();
        l = open_loader(s, &c, &(samba_loader_opts){ .ignore_dataloader_exception = true });
        for (int pass = 1; pass < 3; pass++) {
            for (int k = 0; k < MANY; k++)
                if (k != fails[i]) CHECK(take(l) == k);
            CHECK(take(l) == -1 && samba_loader_statistics(l).skipped == pass);
        }
        CHECK(samba_loader_close(l));
        CHECK(samba_close(s) == 0);
    }
}

static void test_timeout(void)
{
    counter c;
    counter_open(&c, 10);
    c.waits_at = 2;
    samba_session *s = open_session();
    samba_loader *l = open_loader(s, &c, &(samba_loader_opts){ .timeout = 0.05 });
    CHECK(take(l) == 0 && take(l) == 1);
    double start = samba_seconds();
    CHECK(take(l) == -2 && says(s, "50 ms") && says(s, "batch 2 of pass 0"));
    CHECK(samba_seconds() - start >= 0.049 && samba_seconds() - start < 10);
    samba_clear_error(s);
    counter_cancel(&c); // the source gets on
    while (samba_loader_next(l, NULL) == -1)
        samba_clear_error(s);
    CHECK(samba_loader_batch(l)->number == 2 && take(l) == 3);
    CHECK(samba_loader_close(l) && c.n_closed == 1);
    c.cancelled = false;
    l = open_loader(s, &c, NULL);
    CHECK(take(l) == 0);
    CHECK(samba_loader_close(l) && c.n_closed == 2); // cancel wakes next
    // A source that cannot be woken is left behind, and closed when it comes back.
    c.cancelled = false;
    samba_source source = source_of(&c);
    source.cancel = NULL;
    l = samba_loader_open(s, &source, names, 2, &(samba_loader_opts){ .timeout = 0.05 });
    CHECK(take(l) == 0 && take(l) == 1);
    CHECK(!samba_loader_close(l));
    CHECK(samba_close(s) == 0);
    counter_cancel(&c);
    bool closed = false;
    for (int i = 0; i < 2000 && !closed; i++) {
        usleep(5000);
        pthread_mutex_lock(&c.mutex);
        closed = c.n_closed == 3;
        pthread_mutex_unlock(&c.mutex);
    }
    CHECK(closed);
    usleep(20000); // and the rest is freed
}

static void test_early_close(void)
{
    samba_session *s = open_session();
    counter c;
    counter_open(&c, MANY);
    for (int i = 0; i < 1000; i++) {
        c.at = 0;
        samba_loader *l = open_loader(s, &c, &(samba_loader_opts){ .maxsize = 1 + i % 5 });
        for (int k = 0; k < i % 7; k++)
            CHECK(take(l) == k);
        if (i % 3 == 0) CHECK(samba_loader_rewind(l));
        CHECK(samba_loader_close(l) && c.n_closed == i + 1);
    }
    CHECK(samba_close(s) == 0);
}

static void test_rewind(void)
{
    counter c;
    counter_open(&c, MANY);
    samba_session *s = open_session();
    samba_loader *l = open_loader(s, &c, &(samba_loader_opts){ .maxsize = 3 });
    CHECK(samba_loader_rewind(l)); // it has only begun
    CHECK(takes_pass(l, MANY));
    CHECK(samba_loader_rewind(l) && take(l) == 0 && samba_loader_batch(l)->pass == 1);
    for (int i = 2; i < 50; i++) {
        for (int k = 1; k < i % 9; k++)
            take(l);
        CHECK(samba_loader_rewind(l) && take(l) == 0 && samba_loader_batch(l)->pass == i);
    }
    samba_loader_close(l);
    l = open_loader(s, &c, &(samba_loader_opts){ .pass = 7, .batch = 5 });
    CHECK(take(l) == 5 && samba_loader_batch(l)->pass == 7);
    samba_loader_close(l);
    l = open_loader(s, &c, &(samba_loader_opts){ .pass = 100 });
    CHECK(take(l) == -2 && says(s, "batch 0 of pass 100")); // as counter_rewind says
    samba_clear_error(s);
    samba_loader_close(l);
    samba_source source = source_of(&c);
    source.rewind = NULL;
    c.at = 0;
    l = samba_loader_open(s, &source, names, 2, NULL);
    CHECK(takes_pass(l, MANY) && take(l) == -2 && says(s, "one pass"));
    samba_clear_error(s);
    CHECK(!samba_loader_rewind(l) && says(s, "one pass"));
    samba_clear_error(s);
    samba_loader_close(l);
    CHECK(!samba_loader_open(s, &source, names, 2, &(samba_loader_opts){ .batch = 1 }));
    CHECK(says(s, "one pass"));
    samba_close(s);
}

// ---- What is done to batches --------------------------------------------------------------------

static bool add_half(void *user, samba_batch *b)
{
    int32_t *n = (int32_t *)user;
    for (int i = 0; i < B * C; i++)
        ((float *)b->data[0])[i] += 0.5f;
    return ++*n != 5;
}

static void test_hook(void)
{
    for (int hook = 0; hook < 2; hook++) {
        for (int original = 0; original < 2; original++) {
            counter c;
            int32_t n = 0;
            counter_open(&c, MANY);
            samba_session *s = open_session();
            samba_loader_opts opts = { .maxsize = 2,
                                       .return_original_batch = original,
                                       .function_hook = hook ? add_half : NULL,
                                       .hook_user = &n };
            samba_loader *l = open_loader(s, &c, &opts);
            for (int k = 0; k < 4; k++) {
                samba_tensor *t[2];
                CHECK(samba_loader_next(l, t) == 1);
                CHECK(samba_read(t[0])[B * C - 1] == (float)k + 0.5f * (float)hook);
                CHECK(samba_read_i32(t[1])[0] == k);
                const samba_batch *b = samba_loader_batch(l);
                CHECK((b->data != NULL) == original && b->size[0] == 4 * B * C);
                if (original) CHECK(((const float *)b->data[0])[B * C - 1] == (float)k);
                if (original) CHECK(((const int32_t *)b->data[1])[0] == k);
            }
            CHECK(samba_loader_next(l, NULL) == (hook ? -1 : 1));
            CHECK(!hook || says(s, "batch 4 of pass 0"));
            samba_loader_close(l);
            samba_close(s);
        }
    }
}

// ---- Samples in memory --------------------------------------------------------------------------

static void test_shuffle(void)
{
    // As another implementation of XXH64 and Philox has them.
    static const int32_t golden[2][10]
        = { { 5, 3, 2, 9, 6, 0, 1, 8, 4, 7 }, { 5, 6, 7, 3, 2, 1, 0, 4, 9, 8 } };
    int32_t order[1000], seen[1000] = { 0 };
    samba_dataset d = { .n = 10, .batch = 1, .shuffle = true, .seed = 1 };
    for (int pass = 0; pass < 2; pass++) {
        samba_dataset_order(&d, pass, order);
        CHECK(memcmp(order, golden[pass], sizeof golden[pass]) == 0);
    }
    d.n = 1000;
    samba_dataset_order(&d, 3, order);
    uint64_t hash = 0;
    for (int i = 0; i < 1000; i++) {
        seen[order[i]]++;
        hash = hash * 6364136223846793005u + (uint64_t)order[i];
    }
    for (int i = 0; i < 1000; i++)
        CHECK(seen[i] == 1);
    CHECK(hash == 0x775119176ec1ef70u);
    d.shuffle = false;
    samba_dataset_order(&d, 3, order);
    for (int i = 0; i < 1000; i++)
        CHECK(order[i] == i);
    // Each sample is about as often at each place.
    int32_t times[5][5] = { { 0 } };
    d = (samba_dataset){ .n = 5, .batch = 1, .shuffle = true, .seed = 3 };
    for (int pass = 0; pass < 5000; pass++) {
        samba_dataset_order(&d, pass, order);
        for (int i = 0; i < 5; i++)
            times[i][order[i]]++;
    }
    for (int i = 0; i < 25; i++)
        CHECK(times[i / 5][i % 5] > 860 && times[i / 5][i % 5] < 1140);
}

enum { SAMPLES = 30 }; // 7 batches of 4, and 2

static float samples[SAMPLES][C];
static int32_t labels[SAMPLES];

static void make_samples(void)
{
    for (int i = 0; i < SAMPLES; i++) {
        labels[i] = i % C;
        for (int k = 0; k < C; k++)
            samples[i][k] = (float)((i * 7 + k * 3) % 11) * 0.25f;
    }
}

static void fill_sample(void *user, int32_t sample, void *const *row)
{
    (void)user;
    memcpy(row[0], samples[sample], sizeof samples[sample]);
    memcpy(row[1], &labels[sample], 4);
}

// Of rows beyond the names there is no memory.
static void fill_first(void *user, int32_t sample, void *const *row)
{
    (void)user;
    for (int i = 0; i < C; i++)
        ((float *)row[0])[i] = (float)sample;
    for (int i = 1; i < SAMBA_MAX_ARRAYS; i++)
        CHECK(!row[i]);
}

static void test_dataset(void)
{
    make_samples();
    for (int drop = 0; drop < 2; drop++) {
        for (int filled = 0; filled < 2; filled++) {
            samba_dataset d
                = { .n = SAMPLES, .batch = B, .shuffle = true, .seed = 5, .drop_last = drop };
            if (filled)
                d.fill = fill_sample;
            else {
                d.arrays[0] = samples;
                d.arrays[1] = labels;
            }
            samba_session *s = open_session();
            samba_loader *l = samba_loader_open_dataset(s, &d, names, 2, NULL);
            for (int pass = 0; pass < 3; pass++) {
                int32_t order[SAMPLES];
                samba_dataset_order(&d, pass, order);
                for (int k = 0; k < (drop ? 7 : 8); k++) {
                    samba_tensor *t[2];
                    CHECK(samba_loader_next(l, t) == 1);
                    CHECK(samba_loader_batch(l)->rows == (k == 7 ? 2 : B));
                    for (int b = 0; b < B; b++) {
                        int i = order[(k * B + b) % SAMPLES];
                        CHECK(samba_read_i32(t[1])[b] == labels[i]);
                        CHECK(!memcmp(samba_read(t[0]) + b * C, samples[i], sizeof samples[i]));
                    }
                }
                CHECK(samba_loader_next(l, NULL) == 0);
            }
            CHECK(samba_loader_close(l));
            CHECK(samba_close(s) == 0);
        }
    }
    samba_session *s = open_session();
    samba_dataset d = { .n = SAMPLES, .batch = 3, .arrays = { samples, labels } };
    CHECK(!samba_loader_open_dataset(s, &d, names, 2, NULL) && says(s, "label (4)"));
    samba_clear_error(s);
    d.batch = B;
    d.arrays[1] = NULL;
    CHECK(!samba_loader_open_dataset(s, &d, names, 2, NULL) && says(s, "no array for label"));
    samba_clear_error(s);
    CHECK(!samba_loader_open_dataset(s, &(samba_dataset){ .n = 0, .batch = 1 }, names, 2, NULL));
    CHECK(samba_error_code(s) == SAMBA_EARG);
    samba_clear_error(s);
    d = (samba_dataset){ .n = B - 1, .batch = B, .arrays = { samples, labels }, .drop_last = true };
    CHECK(!samba_loader_open_dataset(s, &d, names, 2, NULL)
          && says(s, "drop_last leaves no batch"));
    samba_clear_error(s);
    d.n = B; // one batch is enough
    samba_loader *l = samba_loader_open_dataset(s, &d, names, 2, NULL);
    CHECK(samba_loader_next(l, NULL) == 1 && samba_loader_next(l, NULL) == 0
          && samba_loader_close(l));
    d = (samba_dataset){ .n = B, .batch = B, .fill = fill_first };
    l = samba_loader_open_dataset(s, &d, names, 1, NULL);
    CHECK(samba_loader_next(l, NULL) == 1 && samba_loader_close(l));
    CHECK(samba_read(samba_tensor_by_name(s, "x"))[C] == 1 && samba_close(s) == 0);
}

// An IDX file of bytes, which zlib reads as it is.
static void write_idx(const char *path, int32_t side, int32_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    if (!f) return;
    const unsigned char head[16] = { 0, 0, 8, side ? 3 : 1,        0, 0, 0, (unsigned char)n,
                                     0, 0, 0, (unsigned char)side, 0, 0, 0, (unsigned char)side };
    fwrite(head, 1, side ? 16 : 8, f);
    for (int32_t i = 0; i < n * (side ? side * side : 1); i++)
        fputc(side ? i * 7 % 256 : i % 10, f);
    CHECK(fclose(f) == 0);
}

// Labels are i32, whatever the tensor is: other tensors are refused by name, and a function that
// does not say what it writes is stopped when it writes behind its row.
static void test_rows_that_fill_does_not_write(void)
{
    enum { N = 6, SIDE = 4 };

    static const struct {
        samba_dtype dtype;
        int32_t side;
        bool fits, behind;
    } tries[] = { { SAMBA_I32, SIDE, true, false },     { SAMBA_I16, SIDE, false, true },
                  { SAMBA_U16, SIDE, false, true },     { SAMBA_U8, SIDE, false, true },
                  { SAMBA_I64, SIDE, false, false },    { SAMBA_F32, SIDE, false, false },
                  { SAMBA_I32, SIDE - 1, false, true }, { SAMBA_I32, SIDE + 1, false, false } };

    static const char *const both[] = { "image", "kind" };
    char folder[320], images[400], kinds[400];
    snprintf(folder, sizeof folder, "%s-idx", checkpoint);
    snprintf(images, sizeof images, "%s/train-images-idx3-ubyte", folder);
    snprintf(kinds, sizeof kinds, "%s/train-labels-idx1-ubyte", folder);
    mkdir(folder, 0777);
    write_idx(images, SIDE, N);
    write_idx(kinds, 0, N);
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        for (int said = 0; said < 2; said++) {
            samba_session *s = samba_open(&(samba_desc){ .quiet = true });
            samba_idx idx = { .mean = 0.5f };
            CHECK(samba_idx_open(s, &idx, folder, "train", SIDE, 10));
            int32_t side = tries[i].side;
            samba_tensor *image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(3, side * side));
            samba_tensor *kind = samba_input(s, "kind", tries[i].dtype, SAMBA_SHAPE(3));
            samba_tensor *a = samba_relu(image), *b = samba_cast(kind, SAMBA_F32);
            CHECK(samba_compile(s, &(samba_program){ .outputs = { a, b }, .inference = true }));
            samba_dataset d = { .n = N, .batch = 3, .fill = samba_idx_fill, .user = &idx };
            if (said) d.writes = idx.row;
            samba_loader *l = samba_loader_open_dataset(s, &d, both, 2, NULL);
            bool refused = said && !tries[i].fits;
            CHECK(refused == !l);
            if (refused)
                CHECK(says(s, side == SIDE ? "fill writes i32 for kind" : "fill writes (4,4)"));
            if (l) CHECK((samba_loader_next(l, NULL) == 1) == !tries[i].behind);
            if (l && tries[i].behind) CHECK(says(s, "fill wrote more than the"));
            if (tries[i].fits) CHECK(samba_read_i32(kind)[2] == 2);
            samba_loader_close(l);
            samba_idx_close(&idx);
            CHECK(samba_close(s) == (tries[i].fits || !(refused || tries[i].behind) ? 0 : 1));
        }
    }
    remove(images);
    remove(kinds);
    rmdir(folder);
}

// The missing samples of the last batch are labels that a loss ignores: it is the loss of the
// others.
static void test_missing_labels(void)
{
    make_samples();
    samba_dataset d
        = { .n = SAMPLES, .batch = B, .arrays = { samples, labels }, .shuffle = true, .seed = 5 };
    d.is_label[1] = true;
    for (int rows = 2; rows <= B; rows += 2) { // with the last one and with a whole one
        samba_session *s = samba_open(NULL), *alone = samba_open(NULL);
        samba_tensor *loss[2], *x, *label, *t[2];
        for (int i = 0; i < 2; i++) {
            x = samba_input(i ? alone : s, "x", SAMBA_F32, SAMBA_SHAPE(i ? rows : B, C));
            label = samba_input(i ? alone : s, "label", SAMBA_I32, SAMBA_SHAPE(i ? rows : B));
            loss[i] = samba_cross_entropy(samba_linear(x, "fc", C), label);
            CHECK(
                samba_compile(i ? alone : s,
                              &(samba_program){ .loss = loss[i], .optim = { .kind = SAMBA_SGD } }));
        }
        samba_loader *l = samba_loader_open_dataset(s, &d, names, 2, NULL);
        for (int k = 0; k < (rows == B ? 7 : 8); k++)
            CHECK(samba_loader_next(l, t) == 1);
        CHECK(samba_loader_batch(l)->rows == rows);
        for (int b = 0; b < B; b++)
            CHECK((samba_read_i32(t[1])[b] == -100) == (b >= rows));
        CHECK(samba_write(x, samba_read(t[0])) && samba_write(label, samba_read_i32(t[1])));
        CHECK(samba_run(s, 0) && samba_run(alone, 0));
        CHECK_CLOSE(samba_read(loss[0]), samba_read(loss[1]), 1, 1e-6, 0);
        samba_tensor *w[2]
            = { samba_tensor_by_name(s, "fc__weight"), samba_tensor_by_name(alone, "fc__weight") };
        CHECK_CLOSE(samba_read(w[0]), samba_read(w[1]), C * C, 1e-6, 1e-8);
        CHECK(samba_loader_close(l) && samba_close(s) == 0 && samba_close(alone) == 0);
    }
    samba_session *s = open_session();
    d.is_label[0] = true;
    CHECK(!samba_loader_open_dataset(s, &d, names, 2, NULL)
          && says(s, "x is f32 and cannot have labels"));
    samba_close(s);
    s = samba_open(NULL); // as int64, PyTorch's type of labels
    const int64_t wide[3] = { 2, 1, (int64_t)1 << 40 };
    samba_input(s, "label", SAMBA_I64, SAMBA_SHAPE(2));
    samba_input(s, "token", SAMBA_U16, SAMBA_SHAPE(2));
    samba_dataset q = { .n = 3, .batch = 2, .arrays = { wide }, .is_label = { true } };
    const char *const wide_names[2] = { "label", "token" };
    samba_loader *l = samba_loader_open_dataset(s, &q, wide_names, 1, NULL);
    samba_tensor *t = NULL;
    int64_t got[2];
    CHECK(samba_loader_next(l, &t) == 1 && samba_copy_out(t, got, 16) && got[0] == 2
          && got[1] == 1);
    CHECK(samba_loader_next(l, &t) == 1 && samba_copy_out(t, got, 16) && got[0] == wide[2]
          && got[1] == -100);
    CHECK(samba_loader_close(l));
    CHECK(!samba_loader_open_dataset(s, &q, wide_names + 1, 1, NULL)
          && says(s, "token is u16 and cannot have labels of -100"));
    samba_close(s);
}

// ---- A training that is stopped inside a pass, saved, and resumed -------------------------------

typedef struct training {
    samba_session *s;
    samba_tensor *position;
    samba_loader *loader;
    samba_dataset data;
} training;

static void training_open(training *t, bool resumes, int32_t maxsize)
{
    make_samples();
    t->s = samba_open(&(samba_desc){ .threads = 1 });
    samba_tensor *x = samba_input(t->s, "x", SAMBA_F32, SAMBA_SHAPE(B, C));
    samba_tensor *label = samba_input(t->s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    samba_tensor *y = samba_linear(samba_tanh(samba_linear(x, "fc1", 8)), "fc2", C);
    t->position = samba_loader_position(t->s, "place");
    CHECK(samba_compile(
        t->s,
        &(samba_program){ .loss = samba_cross_entropy(y, label),
                          .outputs = { y, t->position },
                          .optim = { .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f } }));
    if (resumes) CHECK(samba_restore(t->s, checkpoint));
    t->data = (samba_dataset){ .n = SAMPLES,
                               .batch = B,
                               .arrays = { samples, labels },
                               .shuffle = true,
                               .seed = 17,
                               .drop_last = true };
    t->loader = samba_loader_open_dataset(
        t->s, &t->data, names, 2,
        &(samba_loader_opts){ .maxsize = maxsize, .position = t->position });
}

// n steps, ends of passes not counted; seen gets the samples of each batch.
static void training_run(training *t, int n, float seen[][B * C])
{
    for (int i = 0; i < n; i++) {
        samba_tensor *tensors[2] = { NULL, NULL };
        int32_t got = samba_loader_next(t->loader, tensors);
        if (got == 0) got = samba_loader_next(t->loader, tensors);
        CHECK(got == 1);
        if (got != 1) return;
        memcpy(seen[i], samba_read(tensors[0]), sizeof seen[i]);
        CHECK(samba_run(t->s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
    }
}

static void training_close(training *t, float *weights)
{
    if (weights) CHECK(samba_copy_out(samba_tensor_by_name(t->s, "fc1__weight"), weights, 32 * C));
    CHECK(samba_loader_close(t->loader));
    CHECK(samba_close(t->s) == 0);
}

static void test_resume(void)
{
    enum { STEPS = 40 }; // 5 passes of 7 batches, and 5

    static const int stops[] = { 1, 7, 10, 14, 39 };
    static float whole[STEPS][B * C], parts[STEPS][B * C];
    float want[8 * C], got[8 * C];
    training t;
    training_open(&t, false, 10);
    training_run(&t, STEPS, whole);
    training_close(&t, want);
    for (int i = 0; i < 5; i++) {
        memset(parts, 0, sizeof parts);
        training_open(&t, false, 10);
        training_run(&t, stops[i], parts);
        CHECK(samba_save(t.s, checkpoint));
        training_close(&t, NULL);
        training_open(&t, true, 1);
        training_run(&t, STEPS - stops[i], parts + stops[i]);
        training_close(&t, got);
        CHECK(memcmp(whole, parts, sizeof whole) == 0);
        CHECK(memcmp(want, got, sizeof want) == 0);
    }
    remove(checkpoint);
    samba_session *s = open_session(); // a position that no program has would be lost
    samba_loader_opts opts = { .position = samba_loader_position(s, "place") };
    CHECK(!samba_loader_open_dataset(s, &t.data, names, 2, &opts) && says(s, "program.outputs"));
    samba_close(s);
}

// ---- Pinned memory ------------------------------------------------------------------------------

static int n_remarks;

static void on_remark(const char *text, void *user)
{
    (void)user;
    n_remarks += strstr(text, "pin") != NULL;
}

// A pass over the counter with or without pinned memory; the sum of all that was sent.
static double pinned_pass(bool on, samba_loader_stats *stats)
{
    counter c;
    double sum = 0;
    counter_open(&c, MANY);
    samba_session *s = open_session();
    if (on) samba_enable_pinned_memory();
    CHECK(samba_use_pinned_memory() == on);
    samba_profiler *p = samba_profiler_open(s, 0);
    samba_start_profile(p);
    samba_loader *l = open_loader(
        s, &c,
        &(samba_loader_opts){
            .log = on_remark, .maxsize = 2, .on_event = samba_add_event, .event_user = p });
    samba_disable_pinned_memory();
    CHECK(!samba_use_pinned_memory());
    samba_tensor *t[2];
    while (samba_loader_next(l, t) == 1)
        sum = sum * 1.5 + (double)samba_read(t[0])[5] + samba_read_i32(t[1])[3];
    *stats = samba_loader_statistics(l);
    samba_event_stats told = samba_profile_stats(p, "PyRT_SET_PINNED_INPUT_TENSORS");
    CHECK(told.count == (on ? MANY : 0) && (told.total > 0) == on);
    CHECK(!on || fabs(told.total - stats->pinned_seconds) < 1e-6);
    samba_profiler_close(p);
    CHECK(samba_loader_close(l));
    CHECK(samba_close(s) == 0);
    return sum;
}

// The loader, then the word, then the loop: pinned from the next batch on, with a remark at most
// once.
static void test_pinned_late(void)
{
    counter c;
    counter_open(&c, MANY);
    n_remarks = 0;
    samba_session *s = open_session();
    samba_loader *l = open_loader(s, &c, &(samba_loader_opts){ .log = on_remark });
    for (int k = 0; k < 5; k++)
        CHECK(take(l) == k);
    CHECK(samba_loader_statistics(l).pinned_batches == 0 && !samba_loader_statistics(l).locked);
    samba_enable_pinned_memory();
    for (int k = 5; k < MANY; k++)
        CHECK(take(l) == k);
    samba_disable_pinned_memory(); // what has been pinned stays so
    CHECK(take(l) == -1 && take(l) == 0);
    samba_loader_stats stats = samba_loader_statistics(l);
    CHECK(stats.pinned_batches == MANY - 5 + 1 && stats.locked == (n_remarks == 0)
          && n_remarks <= 1);
    CHECK(stats.pinned_seconds > 0 && samba_loader_close(l) && samba_close(s) == 0);
}

// SambaFlow's loop over a loader: what was traced with is not sent over the batch.
static void test_run_inputs(void)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 1 });
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(B, C)), *y = samba_scale(x, 2), *t[2];
    samba_tensor *label = samba_randint(s, "label", 3, SAMBA_SHAPE(B)),
                 *z = samba_cast(label, SAMBA_F32);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y, z }, .inference = true }));
    counter c;
    counter_open(&c, MANY);
    samba_loader *l = open_loader(s, &c, NULL);
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; samba_loader_next(l, t) == 1; k++) {
            CHECK(
                samba_session_run(s,
                                  &(samba_session_run_desc){
                                      .inputs = t, .n_inputs = 2, .outputs = &y, .n_outputs = 1 }));
            CHECK(((float *)y->data)[B * C - 1] == 2 * (float)k && samba_read(z)[0] == (float)k);
            if (k % 2) ((float *)x->data)[0] = (float)-k; // an edit that the next batch makes old
        }
    }
    CHECK(samba_loader_close(l) && samba_close(s) == 0);
}

// Bytes that the system keeps in memory for this process.
static long locked_kib(void)
{
    char line[200];
    long n = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmLck: %ld", &n);
    if (f) fclose(f);
    return n;
}

// A tensor that does not come from a loader: while pinned memory is on, and not before.
static void test_fast_access(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_zeros(s, "x", SAMBA_F32, SAMBA_SHAPE(4096)), *y = samba_scale(x, 2);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    float *host = (float *)samba_cpu(x);
    CHECK(!samba_set_fast_access(x, true) && !samba_set_fast_access(NULL, true));
    samba_enable_pinned_memory();
    long before = locked_kib();
    bool fast = samba_set_fast_access(x, true);
    samba_disable_pinned_memory();
    CHECK(!fast || before < 0 || locked_kib() >= before + 16
          || locked_kib() == 0); // 0: a sanitizer
    host[4095] = 3;
    CHECK(samba_session_run(s, &(samba_session_run_desc){ .inputs = &x, .n_inputs = 1 })
          && samba_read(y)[4095] == 6);
    CHECK(!fast || samba_set_fast_access(x, false));
    CHECK(before < 0 || locked_kib() <= before);
    CHECK(samba_close(s) == 0);
    s = samba_open(NULL); // gradients of outputs, too
    samba_tensor *loss
        = samba_mul(samba_param(s, "w", SAMBA_SHAPE(4096), (samba_init){ .value = 1 }),
                    samba_ones(s, "k", SAMBA_F32, SAMBA_SHAPE(4096)));
    CHECK(samba_compile(s, &(samba_program){ .loss = loss }));
    samba_tensor *g = samba_sn_grad(loss);
    samba_enable_pinned_memory();
    fast = samba_set_fast_access(g, true);
    samba_disable_pinned_memory();
    ((float *)samba_cpu(g))[0] = 3;
    CHECK(samba_session_run(s, &(samba_session_run_desc){ .inputs = &g, .n_inputs = 1 })
          && samba_read(samba_sn_grad(samba_tensor_by_name(s, "w")))[0] == 3);
    CHECK((!fast || samba_set_fast_access(g, false)) && samba_close(s) == 0);
}

static void test_pinned(void)
{
    samba_loader_stats off, on;
    double want = pinned_pass(false, &off);
    CHECK(n_remarks == 0 && !off.locked && off.pinned_batches == 0);
    CHECK(pinned_pass(true, &on) == want);
    CHECK(on.locked == (n_remarks == 0) && on.pinned_batches == MANY && on.pinned_seconds > 0);
    CHECK(on.pool_bytes % 4096 == 0 && on.pool_bytes >= 3 * 2 * 4096);
    fflush(stdout);
    int status = 1;
    pid_t child = fork(); // may lock nothing: one remark, and the same results
    if (child == 0) {
        const struct rlimit nothing = { 0, 0 };
        n_remarks = test_bad = 0;
        bool forbidden = setrlimit(RLIMIT_MEMLOCK, &nothing) == 0
            && (getuid() != 0 || setuid(65534) == 0)
            && mlock(&status, sizeof status) != 0; // sanitizers say yes, and lock nothing
        CHECK(pinned_pass(true, &on) == want && on.pinned_batches == MANY);
        CHECK(!forbidden || (!on.locked && n_remarks == 1));
        fflush(stdout);
        _exit(test_bad != 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
          && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    snprintf(checkpoint, sizeof checkpoint, "%s.checkpoint", argv[0]);
    RUN(test_pinned); // first: it forks, and no thread must be there
    RUN(test_pinned_late);
    RUN(test_run_inputs);
    RUN(test_fast_access);
    RUN(test_order);
    RUN(test_arguments);
    RUN(test_errors);
    RUN(test_timeout);
    RUN(test_early_close);
    RUN(test_rewind);
    RUN(test_hook);
    RUN(test_shuffle);
    RUN(test_dataset);
    RUN(test_rows_that_fill_does_not_write);
    RUN(test_missing_labels);
    RUN(test_resume);
    return test_summary();
}
