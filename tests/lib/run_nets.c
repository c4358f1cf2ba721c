// run_nets FOLDER: nets that tests/tools/run_cli.sh runs by tools/samba run. Their parameters have
// values that its judge in Python makes once more.
#include "samba.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, WIDE = 3, HIDDEN = 5, CLASSES = 2, ROWS = 7 };

// Sixteenths, which every type holds: element i of each parameter is (7 i + 3) mod 11 - 5 of them.
static bool fill_parameters(samba_session *s)
{
    samba_tensor *list[16];
    int32_t n = samba_parameters(s, list, 16);
    for (int32_t k = 0; k < n; k++) {
        float values[256];
        int64_t count = samba_count(&list[k]->shape);
        for (int64_t i = 0; i < count; i++)
            values[i] = (float)((7 * i + 3) % 11 - 5) / 16.0f;
        if (!samba_write_f32(list[k], values, count)) return false;
    }
    return n <= 16;
}

static samba_tensor *mlp(samba_session *s)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(BATCH, WIDE));
    return samba_linear(samba_relu(samba_linear(x, "fc1", HIDDEN)), "fc2", CLASSES);
}

static void infers(samba_program *p, samba_tensor *y)
{
    p->inference = true;
    p->outputs[0] = samba_name(y, "y");
}

static void trace_mlp(samba_session *s, samba_program *p)
{
    infers(p, mlp(s));
}

// Two inputs of two types, two outputs of two types, and one of the whole batch.
static void trace_several(samba_session *s, samba_program *p)
{
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(BATCH));
    samba_tensor *y = samba_add(mlp(s), samba_embedding(ids, "words", ROWS, CLASSES));
    samba_tensor *class_of = samba_argmax(y, 1, false);
    infers(p, y);
    p->outputs[1] = samba_name(class_of, "class");
    p->outputs[2] = samba_name(samba_mean(y, SAMBA_ALL_AXES, false), "mean");
}

// Rows that look at each other.
static void trace_mixed(samba_session *s, samba_program *p)
{
    infers(p, samba_softmax(mlp(s), 0));
}

// A state that goes on from run to run.
static void trace_state(samba_session *s, samba_program *p)
{
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(1, 1, 1, WIDE), 0.0f);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, WIDE));
    samba_tensor *at = samba_zeros(s, "at", SAMBA_I32, SAMBA_SHAPE(1));
    samba_set_batch_dim(at, -1);
    samba_tensor *sum = samba_add(cache, samba_reshape(x, SAMBA_SHAPE(1, 1, 1, WIDE)));
    infers(p, samba_reshape(samba_write_rows(cache, sum, at), SAMBA_SHAPE(1, WIDE)));
}

// A training, with dropout, which a test leaves out, and a loss for each row.
static void trace_training(samba_session *s, samba_program *p)
{
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(BATCH));
    samba_tensor *logits = samba_dropout(mlp(s), "drop", 0.5f);
    p->outputs[0] = samba_name(logits, "y");
    p->loss = samba_name(samba_cross_entropy(logits, label), "loss");
    p->optim.kind = SAMBA_SGD;
}

static void trace_microbatches(samba_session *s, samba_program *p)
{
    trace_training(s, p);
    p->microbatches = 2;
}

static void trace_halves(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_BF16, SAMBA_SHAPE(BATCH, WIDE));
    infers(p, samba_scale(x, 2.0f));
}

// Of f16 there are inputs and casts.
static void trace_f16(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F16, SAMBA_SHAPE(BATCH, WIDE));
    infers(p, samba_cast(x, SAMBA_F32));
}

// Outputs of these types; integers go by i32.
static void add_types(samba_program *p, samba_tensor *x, const samba_dtype *types, int n)
{
    samba_tensor *whole = samba_cast(x, SAMBA_I32);
    for (int i = 0; i < n; i++) {
        bool is_fraction = types[i] == SAMBA_F32 || types[i] == SAMBA_F16 || types[i] == SAMBA_BF16;
        samba_tensor *y = samba_cast(is_fraction ? x : whole, types[i]);
        p->outputs[i] = samba_name(y, samba_dtype_name(types[i]));
    }
    p->inference = true;
}

static void trace_types(samba_session *s, samba_program *p)
{
    static const samba_dtype types[]
        = { SAMBA_BOOL, SAMBA_F16, SAMBA_BF16, SAMBA_I16, SAMBA_I8, SAMBA_U8 };
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(BATCH, WIDE));
    add_types(p, samba_scale(x, 2.0f), types, 6);
}

static void trace_wide_types(samba_session *s, samba_program *p)
{
    static const samba_dtype types[] = { SAMBA_I64, SAMBA_U16, SAMBA_U32 };
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(BATCH, WIDE));
    add_types(p, samba_scale(x, 2.0f), types, 3);
}

// Ids, as they are.
static void trace_tokens(samba_session *s, samba_program *p)
{
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(2, 5));
    infers(p, samba_scale(samba_cast(ids, SAMBA_F32), 1.0f));
}

static const struct {
    const char *name;
    void (*trace)(samba_session *s, samba_program *p);
} nets[] = { { "mlp", trace_mlp },
             { "several", trace_several },
             { "mixed", trace_mixed },
             { "state", trace_state },
             { "tokens", trace_tokens },
             { "training", trace_training },
             { "microbatches", trace_microbatches },
             { "halves", trace_halves },
             { "f16", trace_f16 },
             { "types", trace_types },
             { "wide_types", trace_wide_types } };

// FOLDER/NAME.pef has no values, FOLDER/NAME.ckpt has them.
static bool write_net(const char *folder, int which)
{
    char pef[512], checkpoint[512];
    samba_program p;
    memset(&p, 0, sizeof p);
    snprintf(pef, sizeof pef, "%s/%s.pef", folder, nets[which].name);
    snprintf(checkpoint, sizeof checkpoint, "%s/%s.ckpt", folder, nets[which].name);
    p.pef = pef;
    samba_session *s = samba_open(NULL);
    if (!s) return false;

    nets[which].trace(s, &p);
    bool fine
        = samba_ok(s) && fill_parameters(s) && samba_compile(s, &p) && samba_save(s, checkpoint);
    return samba_close(s) == 0 && fine;
}

int main(int argc, char **argv)
{
    bool fine = argc == 2;
    for (size_t i = 0; fine && i < sizeof nets / sizeof *nets; i++)
        fine = write_net(argv[1], (int)i);
    return fine ? 0 : 1;
}
