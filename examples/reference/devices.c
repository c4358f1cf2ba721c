// Reading a PEF, and running one from a block of memory, as a microcontroller does.
//     cc -O1 -o devices examples/reference/devices.c -lm -pthread && ./devices
// The functions of a runtime are in the device half of samba.h: no malloc, no files.
#include "reference.h"

// A checkpoint in memory, which a firmware would have in its flash.
typedef struct file {
    void *bytes;
    size_t size;
} file;

static file read_file(const char *path)
{
    file f = { NULL, 0 };
    FILE *in = fopen(path, "rb");
    if (in && fseek(in, 0, SEEK_END) == 0) {
        f.size = (size_t)ftell(in);
        f.bytes = malloc(f.size); // aligned, as a PEF must be
        rewind(in);
        if (!f.bytes || fread(f.bytes, 1, f.size, in) != f.size) f.size = 0;
    }
    if (in) fclose(in);
    return f;
}

// A net that learns, with two graphs or one: y = x W^T, with the mean of squares as loss.
static file make_pef(bool graphs)
{
    samba_session *s = samba_open(NULL);
    if (graphs) samba_begin_graph(s, "train");
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 2));
    samba_tensor *y = samba_linear_no_bias(x, "layer", 1);
    samba_tensor *loss = samba_mean(samba_mul(y, y), SAMBA_ALL_AXES, false);
    samba_tensor *ask = NULL;
    if (graphs) samba_begin_graph(s, "ask");
    if (graphs) ask = samba_name(samba_neg(samba_linear_no_bias(x, "layer", 1)), "answer");
    samba_compile(s,
                  &(samba_program){ .loss = samba_name(loss, "loss"),
                                    .outputs = { ask },
                                    .optim = { .kind = SAMBA_SGD, .lr = 0.1f } });
    samba_write(samba_tensor_by_name(s, "layer__weight"), (float[]){ 1, 2 });
    samba_save(s, "device.ckpt");
    samba_close(s);
    file f = read_file("device.ckpt");
    remove("device.ckpt");
    return f;
}

// ---- Reading a PEF ------------------------------------------------------------------------------

// samba_pef_open, samba_pef_symbol_at, samba_pef_node_at, samba_pef_section_at, samba_pef_attr:
// what a tool sees in a file.
static void read_records(samba_session *unused)
{
    (void)unused;
    char why[200] = "";
    file f = make_pef(false);
    samba_pef pef;
    holds(samba_pef_open(&pef, f.bytes, f.size, why, sizeof why));
    int weights = 0, forward = 0, keepdim = -1;
    for (int i = 0; i < pef.n_symbols; i++)
        if (samba_pef_symbol_at(&pef, i).role == SAMBA_ROLE_WEIGHT) weights++;
    for (int i = 0; i < pef.n_sections; i++)
        if (samba_pef_section_at(&pef, i).type == SAMBA_FWD) forward++;
    for (int i = 0; i < pef.n_nodes; i++) {
        samba_pef_node node = samba_pef_node_at(&pef, i);
        if (node.op && strcmp(node.op, "mean") == 0) samba_pef_attr(&node, "keepdim", &keepdim, 1);
    }
    holds(weights == 1 && forward == 1 && keepdim == 0);
    free(f.bytes);
}

// samba_pef_tables_size, samba_pef_fingerprint: how much to read of a large file; what stands for a
// file that was proved.
static void read_less(samba_session *unused)
{
    (void)unused;
    file f = make_pef(false);
    size_t size = samba_pef_tables_size(f.bytes, f.size); // from its first 128 bytes
    holds(size > 128 && size < f.size);                   // the rest are values
    holds(samba_pef_fingerprint(f.bytes, f.size) != 0);   // for SAMBA_TRUSTED_PEF
    free(f.bytes);
}

// samba_measure_device: what a 32-bit device needs, before there is one.
static void measure(samba_session *unused)
{
    (void)unused;
    file f = make_pef(false);
    samba_device_memory m;
    holds(samba_measure_device(f.bytes, f.size, NULL, &m, NULL, 0));
    holds(m.bytes == m.tables + m.scratch + m.state + m.arena + m.io);
    free(f.bytes);
}

// ---- Running it ---------------------------------------------------------------------------------

// samba_runtime_bytes, samba_runtime_open, samba_runtime_run, samba_runtime_data: one block of
// memory, and what lies in it.
static void run(samba_session *unused)
{
    (void)unused;
    char why[200] = "";
    file f = make_pef(false);
    size_t size = samba_runtime_bytes(f.bytes, f.size, why, sizeof why);
    void *memory = malloc(size); // a static array, in a firmware
    samba_runtime *rt = samba_runtime_open(f.bytes, f.size, memory, size, why, sizeof why);
    float *x = (float *)samba_runtime_data(rt, "x");
    const float *loss = (const float *)samba_runtime_data(rt, "loss");
    x[0] = 1;
    x[1] = 1;
    holds(samba_runtime_run(rt, SAMBA_FWD) && loss[0] == 9);    // (1 + 2)^2
    samba_runtime_run(rt, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT); // and it learns
    samba_runtime_run(rt, SAMBA_FWD);
    holds(loss[0] < 9);
    free(memory);
    free(f.bytes);
}

// samba_runtime_open_with, samba_runtime_bytes_with: for a PEF with ops of your own.
static void own_ops(samba_session *unused)
{
    (void)unused;
    file f = make_pef(false);
    samba_runtime_desc desc = { .ops = NULL, .n_ops = 0 }; // as samba_register_op takes them
    size_t size = samba_runtime_bytes_with(f.bytes, f.size, &desc, NULL, 0);
    void *memory = malloc(size);
    holds(samba_runtime_open_with(f.bytes, f.size, memory, size, &desc, NULL, 0) != NULL);
    free(memory);
    free(f.bytes);
}

// The runtime of a file, for the examples below.
static samba_runtime *open_runtime(file f, void **memory)
{
    size_t size = samba_runtime_bytes(f.bytes, f.size, NULL, 0);
    *memory = malloc(size);
    return samba_runtime_open(f.bytes, f.size, *memory, size, NULL, 0);
}

// samba_runtime_run_graph: one of several graphs.
static void run_graph(samba_session *unused)
{
    (void)unused;
    void *memory;
    file f = make_pef(true);
    samba_runtime *rt = open_runtime(f, &memory);
    float *x = (float *)samba_runtime_data(rt, "x");
    x[0] = x[1] = 1;
    holds(samba_runtime_run_graph(rt, "ask", SAMBA_FWD));
    holds(*(const float *)samba_runtime_data(rt, "answer") == -3);
    free(memory);
    free(f.bytes);
}

// samba_runtime_error: why a run was refused, in a code and a sentence.
static void reasons(samba_session *unused)
{
    (void)unused;
    void *memory;
    char text[200] = "";
    file f = make_pef(false);
    samba_runtime *rt = open_runtime(f, &memory);
    holds(!samba_runtime_run_graph(rt, "nobody", SAMBA_FWD));
    holds(samba_runtime_error(rt, text, sizeof text) != SAMBA_OK && text[0] != 0);
    free(memory);
    free(f.bytes);
}

// samba_runtime_n_symbols, samba_runtime_symbol_at, samba_runtime_find: all tensors, or one by its
// name.
static void symbols(samba_session *unused)
{
    (void)unused;
    void *memory;
    file f = make_pef(false);
    samba_runtime *rt = open_runtime(f, &memory);
    samba_runtime_symbol symbol;
    size_t weights = 0;
    for (int i = 0; i < samba_runtime_n_symbols(rt); i++)
        if (samba_runtime_symbol_at(rt, i, &symbol) && symbol.role == SAMBA_ROLE_WEIGHT)
            weights += symbol.bytes;
    holds(weights == 2 * sizeof(float));
    holds(samba_runtime_find(rt, "x", &symbol) && symbol.spec.shape.dim[1] == 2);
    free(memory);
    free(f.bytes);
}

// samba_runtime_set, samba_runtime_get, samba_runtime_set_train: learning rate, and testing a
// program that was compiled for training.
static void settings(samba_session *unused)
{
    (void)unused;
    void *memory;
    file f = make_pef(false);
    samba_runtime *rt = open_runtime(f, &memory);
    holds(samba_runtime_set(rt, "lr", 0.5f) && samba_runtime_get(rt, "lr") == 0.5f);
    holds(samba_runtime_set_train(rt, false)); // no dropout, running statistics
    free(memory);
    free(f.bytes);
}

// Two slots of flash: erasing sets all bits, and writing clears some.
static uint8_t flash[2][4096];

static bool flash_erase(size_t offset, size_t n, void *user)
{
    (void)user;
    memset(flash[0] + offset, 0xff, n);
    return true;
}

static bool flash_write(size_t offset, const void *bytes, size_t n, void *user)
{
    (void)user;
    memcpy(flash[0] + offset, bytes, n);
    return true;
}

// samba_runtime_save, samba_runtime_restore, samba_runtime_state_bytes: what was learned survives
// without power, also if that fails while it is saved.
static void keep(samba_session *unused)
{
    (void)unused;
    void *memory;
    file f = make_pef(false);
    samba_runtime *rt = open_runtime(f, &memory);
    samba_storage storage = {
        .slot_size = sizeof flash[0], .memory = flash, .erase = flash_erase, .write = flash_write
    };
    float *w = (float *)samba_runtime_data(rt, "layer__weight");
    holds(samba_runtime_state_bytes(rt) <= sizeof flash[0]);
    w[0] = 42; // something was learned
    holds(samba_runtime_save(rt, &storage));
    w[0] = 0; // the power fails
    holds(samba_runtime_restore(rt, &storage) && w[0] == 42);
    free(memory);
    free(f.bytes);
}

int main(void)
{
    RUN(read_records);
    RUN(read_less);
    RUN(measure);
    RUN(run);
    RUN(own_ops);
    RUN(run_graph);
    RUN(reasons);
    RUN(symbols);
    RUN(settings);
    RUN(keep);
    return finish_examples();
}
