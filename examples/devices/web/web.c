// web.c: the net of examples/02_res_ffn.c in a web page. `make web` builds it with clang for
// WebAssembly; worker.js calls what is exported here. The same images in the same order give the
// same checkpoint as 02_res_ffn on the host, byte for byte.
#define SAMBA_IMPLEMENTATION
#include "../../../samba.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 28 * 28, HIDDEN = 512, CLASSES = 10, BATCH = 64 };

enum { TRAIN, TEST, PAD, SETS }; // PAD: what is drawn, and test images that are shown

#define EXPORT(name) __attribute__((export_name(#name)))

typedef struct images {
    unsigned char *pixel, *label; // n images of PIXELS, and their classes
    int32_t n;
} images;

static samba_session *session;
static samba_tensor *image, *label, *logits, *loss;
static images sets[SETS];
static int32_t *order, pass_of_order; // of the training images in this pass; -1: none yet
static float batch[BATCH * PIXELS];
static int32_t classes[BATCH];

// ---- The model, as in 02_res_ffn.c --------------------------------------------------------------

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

// Begins anew, with the weights that a training begins with. The images stay.
EXPORT(web_open) bool web_open(void)
{
    samba_close(session);
    session = samba_open(NULL);
    pass_of_order = -1;
    image = samba_input(session, "image", SAMBA_F32, SAMBA_SHAPE(BATCH, PIXELS));
    label = samba_input(session, "label", SAMBA_I32, SAMBA_SHAPE(BATCH));
    logits = res_ffn(image);
    loss = samba_cross_entropy(logits, label);
    samba_program p = { .name = "res_ffn", .outputs = { logits }, .loss = loss };
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.05f, .momentum = 0.9f };
    return samba_compile(session, &p);
}

// What went wrong since the last call; NULL: nothing. The session can go on.
EXPORT(web_error) const char *web_error(void)
{
    static char text[1024];
    if (session && samba_ok(session)) return NULL;
    const char *why = session ? samba_error(session) : "no memory for a session";
    size_t n = strlen(why) < sizeof text - 1 ? strlen(why) : sizeof text - 1;
    memcpy(text, why, n);
    text[n] = 0;
    if (session) samba_clear_error(session);
    return text;
}

// ---- Images -------------------------------------------------------------------------------------

// Makes room for n images in a set, in place of those that were there. The page writes the pixels;
// their classes stand behind them.
EXPORT(web_room) unsigned char *web_room(int32_t set, int32_t n)
{
    images *s = &sets[set];
    free(s->pixel);
    s->n = 0;
    s->pixel = malloc((size_t)n * (PIXELS + 1));
    s->label = s->pixel ? s->pixel + (size_t)n * PIXELS : NULL;
    return s->pixel;
}

// The first n images of the set count from here on.
EXPORT(web_use) void web_use(int32_t set, int32_t n)
{
    sets[set].n = n;
    if (set == TRAIN) pass_of_order = -1;
}

// Row r of the batch, normalized as samba_idx_fill does it for 02_res_ffn.c.
static void fill_row(int32_t r, const images *s, int32_t i)
{
    const unsigned char *pixel = s->pixel + (size_t)i * PIXELS;
    float *x = batch + (size_t)r * PIXELS;
    for (int32_t k = 0; k < PIXELS; k++)
        x[k] = ((float)pixel[k] / 255.0f - 0.2860f) / 0.3530f;
    classes[r] = s->label[i];
}

// The order of a pass, that of samba_dataset_order in tools/include/samba/loader.h.
static bool shuffle(int32_t pass, int32_t n)
{
    uint32_t words[4] = { 0, 0, 0, 0 };
    int32_t *longer = realloc(order, (size_t)n * sizeof *order);
    if (!longer) return samba_fail(session, SAMBA_ENOMEM, "no memory for the order of %d", n);
    order = longer;
    pass_of_order = pass;
    for (int32_t i = 0; i < n; i++)
        order[i] = i;
    for (int32_t i = n - 1; i > 0; i--) {
        uint32_t k = (uint32_t)(n - 1 - i);
        if (k % 4 == 0) samba_random(0, "shuffle", (uint64_t)(uint32_t)pass << 32 | k / 4, words);
        int32_t j = (int32_t)((uint64_t)words[k % 4] * ((uint32_t)i + 1u) >> 32), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    return true;
}

// ---- Training -----------------------------------------------------------------------------------

// Steps of a pass. A few drawn images are shown again and again, so that a pass is worth its name.
EXPORT(web_steps_of_pass) int32_t web_steps_of_pass(void)
{
    int32_t n = sets[TRAIN].n / BATCH;
    return n < 20 ? 20 : n;
}

EXPORT(web_steps) int32_t web_steps(void)
{
    return samba_read_i32(samba_tensor_by_name(session, "step"))[0];
}

// How many of the first n rows have their own class as the largest logit.
static int32_t count_right(int32_t n)
{
    const float *y = samba_read(logits);
    int32_t right = 0;
    for (int32_t r = 0; r < n; r++, y += CLASSES) {
        int32_t best = 0;
        for (int32_t c = 1; c < CLASSES; c++)
            if (y[c] > y[best]) best = c;
        right += best == classes[r];
    }
    return right;
}

static bool run(unsigned types, bool train)
{
    samba_set_train(session, train);
    samba_write(image, batch);
    samba_write(label, classes);
    return samba_run(session, types);
}

// Takes a step; returns how many of its 64 images were right before it, or -1.
EXPORT(web_step) int32_t web_step(double rate)
{
    int32_t n = sets[TRAIN].n, step = web_steps(), per_pass = web_steps_of_pass();
    int32_t pass = step / per_pass, first = step % per_pass * BATCH;
    if (pass != pass_of_order && !shuffle(pass, n)) return -1;
    for (int32_t r = 0; r < BATCH; r++)
        fill_row(r, &sets[TRAIN], order[(first + r) % n]);
    samba_set(session, "lr", rate);
    return run(SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT, true) ? count_right(BATCH) : -1;
}

// Of the last step.
EXPORT(web_loss) double web_loss(void)
{
    return (double)samba_read(loss)[0];
}

EXPORT(web_momentum) bool web_momentum(double momentum)
{
    return samba_set(session, "momentum", momentum);
}

// Of the test images from first on, as many as a batch has: how many are right, or -1.
EXPORT(web_test) int32_t web_test(int32_t first)
{
    int32_t n = sets[TEST].n - first < BATCH ? sets[TEST].n - first : BATCH;
    for (int32_t r = 0; r < BATCH; r++)
        fill_row(r, &sets[TEST], first + (r < n ? r : 0));
    return run(SAMBA_FWD, false) ? count_right(n) : -1;
}

// Logits of the images in PAD, at most 64; NULL if that failed.
EXPORT(web_predict) const float *web_predict(void)
{
    int32_t n = sets[PAD].n;
    for (int32_t r = 0; r < BATCH; r++)
        fill_row(r, &sets[PAD], r < n ? r : 0);
    memset(classes, 0, sizeof classes);
    return run(SAMBA_FWD, false) ? samba_read(logits) : NULL;
}

// ---- Checkpoints: the files of 02_res_ffn.c -----------------------------------------------------

static size_t file_size;

EXPORT(web_save) void *web_save(void)
{
    return samba_save(session, "model.ckpt") ? file_bytes("model.ckpt", &file_size) : NULL;
}

EXPORT(web_size) size_t web_size(void)
{
    return file_size;
}

// Room for a checkpoint, which the page writes; then web_restore reads it.
EXPORT(web_file) void *web_file(size_t size)
{
    return file_make("model.ckpt", size);
}

EXPORT(web_restore) bool web_restore(void)
{
    return samba_restore(session, "model.ckpt");
}
