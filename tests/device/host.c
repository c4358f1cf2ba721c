// The host's half of `make device`: makes the nets, writes their checkpoints and C headers, runs
// them in a session, and prints what each device must print:
//     NAME outputs=SHA-256 weights=SHA-256 promised=BYTES
// Linked with tools/cli/device.c, which has samba.h; with device-config as its first word it is
// that command of tools/samba.
#include "samba.h"
#include "data.h"
#include "sha256.h"
#include "tests/lib/files.h"
#include "tools/cli/device/commands.h"
#include <stdio.h>
#include <stdlib.h>

// ---- The nets -----------------------------------------------------------------------------------

typedef struct net {
    const char *name;
    samba_tensor *(*trace)(samba_tensor *x);
    samba_shape x;  // rows first
    int32_t trains; // samba_optim_kind, or 0: infers
    float lr, momentum;
    bool int8, spatial;
    samba_graphamp preset;
} net;

static samba_tensor *dense(samba_tensor *x, int32_t width, int32_t classes)
{
    x = samba_relu(samba_linear(x, "fc1", width));
    x = samba_relu(samba_linear(x, "fc2", width));
    return samba_linear(x, "fc3", classes);
}

static samba_tensor *tiny(samba_tensor *x)
{
    return dense(x, 8, 3);
}

static samba_tensor *mlp(samba_tensor *x)
{
    return dense(x, 32, 10);
}

static samba_tensor *mlp4(samba_tensor *x)
{
    return dense(x, 32, 4);
}

static samba_tensor *wide(samba_tensor *x)
{
    return samba_linear(samba_relu(samba_linear(x, "fc1", 32)), "fc2", 10);
}

static samba_tensor *lenet(samba_tensor *x)
{
    const samba_pool_opts by_2 = { .kernel = { 2, 2 } };
    samba_tensor *h = samba_conv2d(x, "conv1", 6, 5, &(samba_conv_opts){ .padding = { 2, 2 } });
    h = samba_max_pool2d(samba_relu(h), &by_2);
    h = samba_max_pool2d(samba_relu(samba_conv2d(h, "conv2", 16, 5, NULL)), &by_2);
    h = samba_relu(samba_linear(samba_flatten(h, 1), "fc1", 120));
    h = samba_relu(samba_linear(h, "fc2", 84));
    return samba_linear(h, "fc3", 10);
}

static samba_tensor *conv(samba_tensor *x)
{
    const samba_pool_opts by_2 = { .kernel = { 2, 2 } };
    samba_tensor *h = samba_conv2d(x, "conv1", 4, 3, &(samba_conv_opts){ .padding = { 1, 1 } });
    h = samba_max_pool2d(samba_relu(h), &by_2);
    h = samba_relu(samba_conv2d(h, "conv2", 6, 3, NULL));
    return samba_linear(samba_flatten(h, 1), "fc", 4);
}

static const net nets[] = {
    { "tiny_sgd", tiny, { 2, { 4, 4 } }, SAMBA_SGD, 0.05f, 0, false, false, SAMBA_MP0 },
    { "mlp", mlp, { 2, { 1, 64 } }, 0, 0, 0, false, false, SAMBA_MP0 },
    { "mlp_int8", mlp, { 2, { 1, 64 } }, 0, 0, 0, true, false, SAMBA_MP0 },
    { "mlp_sgd", mlp4, { 2, { 16, 16 } }, SAMBA_SGD, 0.05f, 0.9f, false, false, SAMBA_MP0 },
    { "mlp_adamw", mlp4, { 2, { 16, 16 } }, SAMBA_ADAMW, 0.01f, 0, false, false, SAMBA_MP0 },
    { "mlp_spatial", mlp4, { 2, { 3, 20 } }, SAMBA_SGD, 0.05f, 0, false, true, SAMBA_MP0 },
    { "conv_int8", conv, { 4, { 1, 1, 8, 8 } }, 0, 0, 0, true, false, SAMBA_MP0 },
    { "conv_sgd", conv, { 4, { 2, 1, 8, 8 } }, SAMBA_SGD, 0.05f, 0.9f, false, false, SAMBA_MP0 },
    { "lenet", lenet, { 4, { 1, 1, 28, 28 } }, 0, 0, 0, false, false, SAMBA_MP0 },
    { "wide_spatial", wide, { 2, { 1, 784 } }, SAMBA_SGD, 0.005f, 0, false, true, SAMBA_MP0 },
    { "mlp_mp1", mlp4, { 2, { 16, 16 } }, SAMBA_SGD, 0.05f, 0.9f, false, false, SAMBA_MP1 },
    { "mlp_mp4", mlp4, { 2, { 16, 16 } }, SAMBA_ADAMW, 0.01f, 0, false, false, SAMBA_MP4 },
    { "conv_mp1", conv, { 4, { 2, 1, 8, 8 } }, SAMBA_SGD, 0.05f, 0.9f, false, false, SAMBA_MP1 },
    { "conv_mp4", conv, { 4, { 2, 1, 8, 8 } }, SAMBA_SGD, 0.05f, 0.9f, false, true, SAMBA_MP4 },
};

// ---- A checkpoint of each -----------------------------------------------------------------------

static void calibrate(samba_session *s, samba_tensor *x, samba_program p)
{
    int32_t rows = x->shape.dim[0], width = (int32_t)(samba_count(&x->shape) / rows);
    float *value = calloc((size_t)rows * (size_t)width, sizeof *value);
    p.quantize = SAMBA_CALIBRATE;
    samba_compile(s, &p);
    for (int i = 0; value && i < BATCHES; i++) {
        fill_batch(i, value, NULL, rows, width);
        samba_write(x, value);
        samba_run(s, 0);
    }
    free(value);
}

static bool make_checkpoint(const net *n, const char *path)
{
    samba_session *s = samba_open(&(samba_desc){ .seed = 7, .graphamp = n->preset });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, n->x), *logits = n->trace(x);
    samba_program p = { .pef = path, .outputs = { logits } };
    p.mapping = n->spatial ? SAMBA_MAPPING_SPATIAL : SAMBA_MAPPING_SECTION;
    samba_name(logits, "logits");
    if (n->trains) {
        samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(n->x.dim[0]));
        p.loss = samba_cross_entropy(logits, label);
        p.optim.kind = (samba_optim_kind)n->trains;
        p.optim.lr = n->lr;
        p.optim.momentum = n->momentum;
        p.optim.weight_decay = 0.01f;
        samba_name(p.loss, "loss");
    } else {
        p.inference = true;
        if (!n->int8) p.outputs[0] = samba_softmax(logits, -1);
        if (n->int8) calibrate(s, x, p);
        p.quantize = n->int8 ? SAMBA_INT8 : 0;
    }
    samba_compile(s, &p);
    samba_save(s, path);
    return samba_close(s) == 0;
}

// ---- What it computes ---------------------------------------------------------------------------

// The symbols of a role, in the order of the PEF, as they are now in the session.
static void hash_symbols(sha256 *hash, samba_session *s, const samba_pef *pef, samba_role role)
{
    for (int32_t i = 0; i < pef->n_symbols; i++) {
        samba_pef_symbol symbol = samba_pef_symbol_at(pef, i);
        if (symbol.role != role) continue;
        samba_tensor *t = samba_tensor_by_name(s, symbol.name);
        void *value = malloc(samba_bytes(t));
        if (value && samba_copy_out(t, value, samba_bytes(t)))
            sha256_add(hash, value, samba_bytes(t));
        free(value);
    }
}

static bool print_hashes(const net *n, const char *path)
{
    samba_session *s = samba_open(&(samba_desc){ .seed = 8 });
    samba_pef pef;
    size_t size;
    void *bytes = read_whole(path, &size);
    sha256 outputs, weights;
    samba_device_memory memory;
    char of_outputs[65], of_weights[65];
    sha256_begin(&outputs);
    sha256_begin(&weights);
    samba_load(s, path, NULL);
    if (!samba_pef_open(&pef, bytes, size, NULL, 0)) return false;
    if (!samba_measure_device(bytes, size, NULL, &memory, NULL, 0)) return false;
    samba_tensor *x = samba_tensor_by_name(s, "x");
    int32_t rows = n->x.dim[0], width = (int32_t)(samba_count(&n->x) / rows), label[64];
    float *value = calloc((size_t)rows * (size_t)width, sizeof *value);
    for (int step = 0; samba_ok(s) && step < (n->trains ? TRAINING_STEPS : INFERENCES); step++) {
        fill_batch(step, value, label, rows, width);
        samba_write(x, value);
        if (n->trains) samba_write(samba_tensor_by_name(s, "label"), label);
        samba_run(s, 0);
        hash_symbols(&outputs, s, &pef, SAMBA_ROLE_OUTPUT);
    }
    hash_symbols(&weights, s, &pef, SAMBA_ROLE_WEIGHT);
    hash_symbols(&weights, s, &pef, SAMBA_ROLE_STATE);
    sha256_end(&outputs, of_outputs);
    sha256_end(&weights, of_weights);
    free(value);
    free(bytes);
    printf("%s outputs=%s weights=%s promised=%lu\n", n->name, of_outputs, of_weights,
           (unsigned long)memory.bytes);
    return samba_close(s) == 0;
}

int main(int argc, char **argv)
{
    char path[512];
    if (argc > 2 && !strcmp(argv[1], "device-config"))
        return device_config_main(argc - 2, argv + 2);
    if (argc != 2) return 2;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        snprintf(path, sizeof path, "%s/%s.ckpt", argv[1], nets[i].name);
        char *words[] = { path, "-o", argv[1] };
        if (!make_checkpoint(&nets[i], path) || export_c_main(3, words)) return 1;
        if (!print_hashes(&nets[i], path)) return 1;
    }
    return 0;
}
