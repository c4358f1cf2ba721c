// view_real FOLDER DATA: checkpoints of the nets whose pages tests/tools/view_real.sh tries, inputs
// for them, and what a run gives: LeNet of examples/03, trained for 100 batches; GPT-2 small with
// its 124,439,808 parameters, to be trained; a graph of 10,000 nodes. FOLDER has that of ResFFN.
#include <stdbool.h>
#include <string.h>
#define main lenet_main // not called: its net and its training are what is wanted
#include "examples/03_lenet.c"
#undef main
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#include "samba/safetensors.h"
#include "samba/gpt2.h"
#include "tests/lib/view_run.h"

// ---- Inputs -------------------------------------------------------------------------------------

static samba_idx tests = { .mean = 0.2860f, .deviation = 0.3530f };

// The first test images and their labels.
static void fill_images(const samba_tensor *t, int32_t number, int64_t n, void *data)
{
    bool label = t->dtype == SAMBA_I32;
    int32_t rows = t->shape.dim[0];
    float *image = malloc(SIDE * SIDE * sizeof *image);
    (void)number;
    for (int32_t i = 0; i < rows; i++) {
        int32_t one;
        void *row[2] = { image, &one };
        if (label)
            row[1] = (int32_t *)data + i;
        else
            row[0] = (float *)data + i * (n / rows);
        samba_idx_fill(&tests, i, row);
    }
    free(image);
}

// Tokens of all of the vocabulary; what comes next is the label of each.
static void fill_tokens(const samba_tensor *t, int32_t number, int64_t n, void *data)
{
    (void)t;
    for (int64_t k = 0; k < n; k++)
        ((int32_t *)data)[k] = (int32_t)((k + number) * 7919 % 50257);
}

// ---- Nets ---------------------------------------------------------------------------------------

static bool keep(samba_session *s, const char *name)
{
    bool fine = samba_save(s, in_folder(name, ".ckpt"));
    if (!fine) fprintf(stderr, "%s: %s\n", name, samba_error(s));
    samba_close(s);
    return fine;
}

static bool make_lenet(const char *data)
{
    samba_idx images = fashion;
    samba_session *s = samba_open(NULL);
    samba_loader *batches = NULL;
    samba_tensor *image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(BATCH, 1, SIDE, SIDE));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(BATCH));
    samba_tensor *logits = lenet(image);
    samba_compile(s,
                  &(samba_program){ .loss = samba_cross_entropy(logits, label),
                                    .outputs = { logits },
                                    .optim = { .kind = SAMBA_ADAMW, .lr = (float)LR },
                                    .pef = in_folder("LeNet", ".pef") });
    if (samba_idx_open(s, &images, data, "train", SIDE, CLASSES)) batches = load(s, &images, true);
    for (int i = 0; i < 100 && batches && samba_loader_next(batches, NULL) == 1; i++)
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    samba_loader_close(batches);
    samba_idx_close(&images);
    return keep(s, "LeNet");
}

static bool make_gpt2(void)
{
    gpt2_config c = gpt2_config_default();
    samba_session *s = samba_open(NULL);
    samba_tensor *ids = samba_input(s, "input_ids", SAMBA_I32, SAMBA_SHAPE(1, 64));
    samba_tensor *labels = samba_input(s, "labels", SAMBA_I32, SAMBA_SHAPE(1, 64));
    samba_compile(s,
                  &(samba_program){ .loss = gpt2_loss(&c, ids, NULL, labels, NULL),
                                    .optim = { .kind = SAMBA_ADAMW },
                                    .pef = in_folder("GPT-2-small", ".pef") });
    return keep(s, "GPT-2-small");
}

// Node i of layer i / 10 reads x; before: what the layer read.
static samba_tensor *next_node(samba_tensor *x, samba_tensor *before, int i)
{
    char name[64];
    snprintf(name, sizeof name, "block_%d__layer_%d__n%d", i / 500, i / 10 % 50, i % 10);
    if (i % 10 == 0) return samba_linear(x, name, 16);
    if (i % 10 == 9)
        x = samba_add(x, before);
    else if ((i + i / 10) % 3 == 0)
        x = samba_tanh(x);
    else if ((i * 7 + i / 10) % 5 == 1)
        x = samba_scale(x, 1.01f);
    else
        x = samba_sigmoid(x);
    return samba_name(x, name);
}

// 20 blocks of 50 layers of 10 nodes; the ops of a layer are not those of the next.
static bool make_graph(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 16)), *before = x;
    for (int i = 0; i < 10000; i++) {
        if (i % 10 == 0) before = x;
        x = next_node(x, before, i);
    }
    samba_compile(s,
                  &(samba_program){ .inference = true,
                                    .outputs = { x },
                                    .pef = in_folder("graph-of-10000", ".pef") });
    return keep(s, "graph-of-10000");
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    folder = argv[1];
    samba_session *s = samba_open(NULL);
    bool fine = samba_idx_open(s, &tests, argv[2], "t10k", SIDE, CLASSES);
    if (!fine) fprintf(stderr, "%s\n", samba_error(s));
    fine = fine && write_run("ResFFN", 1, 2, fill_images);
    fine = fine && make_lenet(argv[2]) && write_run("LeNet", 1, 2, fill_images);
    fine = fine && make_gpt2() && write_run("GPT-2-small", 1, 2, fill_tokens);
    fine = fine && make_graph() && write_run("graph-of-10000", 1, 2, fill_pattern);
    samba_idx_close(&tests);
    samba_close(s);
    return fine ? 0 : 1;
}
