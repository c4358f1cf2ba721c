// The programs that targets begin with: they train, infer, keep a cache, count in int8, have parts
// of a batch, and most ops.
#include "pef_mutate.h"
#include "tests/lib/device_nets.h"
#include "tests/lib/pef_nets.h"
#include <stdio.h>

static samba_session *quiet_session(void)
{
    samba_desc d = { .threads = 1, .quiet = true };
    return samba_open(&d);
}

// Training: a layer, tanh, a layer, cross entropy; SGD with momentum, clipped.
static void trace_training(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(2, 3));
    samba_tensor *label = samba_randint(s, "label", 2, SAMBA_SHAPE(2));
    samba_tensor *h = samba_softmax(samba_tanh(samba_linear(x, "a", 2)), 1);
    h = samba_reshape(samba_scale(h, 0.5f), SAMBA_SHAPE(1, 2, 2));
    h = samba_linear(samba_reshape(h, SAMBA_SHAPE(2, 2)), "b", 2);
    p->loss = samba_cross_entropy(h, label);
    p->optim.kind = SAMBA_SGD;
    p->optim.momentum = 0.9f;
    p->optim.max_grad_norm = 1.0f;
}

// The same for a batch of two parts, forward and backward in one section.
static void trace_parts(samba_session *s, samba_program *p)
{
    trace_training(s, p);
    p->microbatches = 2;
    p->mapping = SAMBA_MAPPING_SPATIAL;
}

// Two graphs; the first keeps rows in a cache.
static void trace_inference(samba_session *s, samba_program *p)
{
    samba_tensor *ids = samba_randint(s, "ids", 3, SAMBA_SHAPE(4));
    samba_tensor *row = samba_zeros(s, "row", SAMBA_I32, SAMBA_SHAPE(4));
    samba_begin_graph(s, "rows");
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(3, 2), 0.0f);
    cache = samba_write_rows(cache, samba_embedding(ids, "table", 3, 2), row);
    p->outputs[1] = samba_tanh(samba_linear(cache, "a", 2));
    samba_begin_graph(s, "table");
    p->outputs[0] = samba_softmax(samba_linear(samba_embedding(ids, "table", 3, 2), "a", 2), 1);
    p->inference = true;
}

// Between ops in bf16, and ops that train in f16.
static void trace_narrow(samba_session *s, samba_program *p)
{
    samba_tensor *x = samba_input(s, "x", SAMBA_F16, SAMBA_SHAPE(3, 4));
    samba_tensor *h = samba_linear(samba_cast(x, SAMBA_F32), "a", 4);
    samba_tensor *part[2];
    h = samba_cast(samba_silu(samba_cast(h, SAMBA_BF16)), SAMBA_F32);
    part[0] = samba_slice(h, 1, 0, 2, 1);
    part[1] = samba_slice(h, 1, 2, 4, 1);
    h = samba_matmul(part[0], samba_transpose(part[1], 0, 1));
    samba_tensor *y = samba_minimum(h, samba_exp(samba_neg(h)));
    p->loss = samba_mse(y, samba_sqrt(samba_abs(h)), SAMBA_REDUCE_MEAN);
    p->optim.kind = SAMBA_ADAM;
}

static const struct {
    const char *name;
    void (*trace)(samba_session *s, samba_program *p);
} programs[] = { { "training", trace_training },
                 { "parts", trace_parts },
                 { "inference", trace_inference },
                 { "ops", trace_many_attributes },
                 { "narrow", trace_narrow } };

enum { MOST_BYTES = 1 << 15 }; // of a program to begin with

static void add_file(const char *path, const char *name, const char *ending,
                     void (*add)(const char *name, const void *bytes, size_t size))
{
    char title[100];
    size_t size;
    uint8_t *bytes = fuzz_file(path, &size);
    snprintf(title, sizeof title, "%s.%s", name, ending);
    if (bytes && size <= MOST_BYTES) add(title, bytes, size);
    free(bytes);
}

// Its PEF, and a checkpoint of it.
static void add_files(samba_session *s, const char *name, const char *path,
                      void (*add)(const char *name, const void *bytes, size_t size))
{
    const char *checkpoint = fuzz_path("seed.ckpt");
    fuzz_allow("seed.ckpt");
    fuzz_allow("seed.ckpt.log");
    fuzz_allow("seed.ckpt.map");
    add_file(path, name, "pef", add);
    samba_zero_inputs(s);
    samba_save_opts any = { .allow_nonfinite = true };
    if (!samba_save_with(s, checkpoint, &any)) return;
    add_file(checkpoint, name, "ckpt", add);
}

void pef_programs(void (*add)(const char *name, const void *bytes, size_t size))
{
    const char *path = fuzz_path("seed.pef");
    fuzz_allow("seed.pef");
    fuzz_allow("seed.pef.log");
    fuzz_allow("seed.pef.map");

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        samba_session *s = quiet_session();
        samba_program p = { .pef = path };
        programs[i].trace(s, &p);
        if (!samba_compile(s, &p)) fuzz_fail("%s: %s", programs[i].name, samba_error(s));
        add_files(s, programs[i].name, path, add);
        samba_close(s);
    }
    for (int i = 0; i < (int)(sizeof device_nets / sizeof *device_nets); i++) {
        samba_session *s = quiet_session();
        samba_program p = { .pef = path };
        if (!device_net_compile(s, i, &p)) fuzz_fail("%s: %s", device_nets[i].name, samba_error(s));
        add_files(s, device_nets[i].name, path, add);
        samba_close(s);
    }
}
