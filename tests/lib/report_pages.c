// Reports with all that a report may have, for tests/tools/pages.sh: report_pages FOLDER makes
// FOLDER/full, a long training with classes of long names, and FOLDER/ended, which an error ends.
#define SAMBA_REPORT_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/report.h"
#include <stdio.h>

enum { BATCH = 4, FEATURES = 6, CLASSES = 10, STEPS = 600 };

static const char *const names[CLASSES]
    = { "T-shirt", "Trousers", "Pullover", "Dress",  "Coat",
        "Sandal",  "Shirt",    "Sneaker",  "Bag, a", "Ankle boot" };

static samba_tensor *compile(samba_session *s)
{
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(BATCH, FEATURES));
    samba_tensor *label = samba_randint(s, "label", CLASSES, SAMBA_SHAPE(BATCH));
    samba_tensor *h = samba_tanh(samba_linear(x, "a_layer_with_a_long_name", 5));
    samba_program p = { .loss = samba_cross_entropy(samba_linear(h, "last", CLASSES), label) };
    p.optim.kind = SAMBA_SGD;
    p.optim.lr = 0.05f;
    samba_compile(s, &p);
    return p.loss;
}

static void put_samples(samba_report *r)
{
    float pixels[8 * 8];
    for (int i = 0; i < 8 * 8; i++)
        pixels[i] = (float)i / 64;

    samba_report_image image = { pixels, 1, 8, 8, 0, 1 };
    for (int i = 0; i < 12; i++)
        samba_report_sample(r, &image, i % CLASSES, i % 3 ? i % CLASSES : 9, 0.5f);
}

static void put_predictions(samba_report *r)
{
    for (int label = 0; label < CLASSES; label++) {
        for (int i = 0; i < 1000; i++)
            samba_report_prediction(r, label, i % 25 ? label : i % CLASSES);
    }
}

static bool report(const char *folder, const char *name, int steps, bool ends)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    samba_session *s = samba_open(NULL);
    samba_tensor *loss = compile(s);
    char *arguments[] = { "train", "--a-flag-with-a-long-name", "/a/folder/of/many/parts/data" };
    samba_report_opts opts = { .title = "A net with a title of some length", .folder = path };
    opts.steps = steps;
    opts.gradients = 10;
    opts.n_classes = CLASSES;
    opts.classes = names;
    opts.argc = 3;
    opts.argv = arguments;
    samba_report *r = samba_report_open(s, &opts);
    if (!r) fprintf(stderr, "%s\n", samba_error(s));
    if (!r) return false;

    for (int i = 1; i <= steps; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        samba_report_step(r, i, i == 77 ? NAN : (double)samba_read(loss)[0]);
        if (i % 60 == 0) samba_report_value(r, "accuracy on the tests", i / 700.0);
    }
    put_predictions(r);
    put_samples(r);
    if (ends) samba_reshape(loss, SAMBA_SHAPE(7, 7)); // an error, which the page tells
    bool fine = samba_report_close(r);
    samba_close(s);
    return fine || ends;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    return !report(argv[1], "full", STEPS, false) || !report(argv[1], "ended", 3, true);
}
