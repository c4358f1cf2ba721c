// Put before an example by -include: what it compiles is exported instead, with inputs and the
// outputs that samba.h computes, as a case of ONNX's test set: FOLDER/model.onnx and
// FOLDER/test_data_set_0. The environment says FOLDER (ONNX_CASE) and the graph (ONNX_GRAPH).
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_DRIVER_IMPLEMENTATION
#include "tools/include/samba/driver.h" // before its functions are replaced, at the end
#define SAMBA_ONNX_EXPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_export.h"
#include <errno.h>
#include <sys/stat.h>

static void example_path(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s", getenv("ONNX_CASE"), name);
}

// Values for an input: rows and positions count up, which is sound for all of them; so do labels,
// within ten classes.
static void example_fill(samba_tensor *t, void *data)
{
    uint32_t state = 12345;
    int32_t last = t->shape.ndim ? t->shape.dim[t->shape.ndim - 1] : 1;
    if (strstr(t->name, "label")) last = 10;
    for (int64_t i = 0; i < samba_count(&t->shape); i++) {
        state = state * 1664525u + 1013904223u;
        if (t->dtype == SAMBA_F32)
            ((float *)data)[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
        else if (t->dtype == SAMBA_I32)
            ((int32_t *)data)[i] = (int32_t)(i % last);
        else
            ((uint8_t *)data)[i] = 1;
    }
}

// A tensor's value as test_data_set_0/KIND_N.pb.
static bool example_write(samba_tensor *t, const char *kind, size_t n)
{
    char name[80], path[500];
    size_t size = (size_t)samba_count(&t->shape) * samba_dtype_size(t->dtype);
    int64_t dim[SAMBA_MAX_DIMS];
    void *data = malloc(size);
    Onnx__TensorProto p;
    onnx__tensor_proto__init(&p);
    for (int32_t d = 0; d < t->shape.ndim; d++)
        dim[d] = t->shape.dim[d];
    bool fine = data && samba_copy_out(t, data, size);
    p.has_data_type = p.has_raw_data = true;
    p.data_type = ex_type(t->dtype);
    p.n_dims = (size_t)t->shape.ndim;
    p.dims = dim;
    p.raw_data.len = size;
    p.raw_data.data = data;
    size_t packed = onnx__tensor_proto__get_packed_size(&p);
    uint8_t *bytes = malloc(packed);
    if (fine && bytes) onnx__tensor_proto__pack(&p, bytes);
    snprintf(name, sizeof name, "test_data_set_0/%s_%lu.pb", kind, (unsigned long)n);
    example_path(path, sizeof path, name);
    FILE *f = fopen(path, "wb");
    fine = fine && bytes && f && fwrite(bytes, 1, packed, f) == packed;
    if (f) fclose(f);
    free(bytes);
    free(data);
    return fine;
}

// The tensor an input or output of the model stands for: NAME__new is NAME after the run.
static samba_tensor *example_tensor(samba_session *s, const char *name)
{
    char text[300];
    snprintf(text, sizeof text, "%s", name);
    char *end = strstr(text, "__new");
    if (end) *end = 0;
    return samba_tensor_by_name(s, text);
}

// Inputs get values and are written; the graph runs; outputs are written.
static bool example_run(samba_session *s, const Onnx__GraphProto *g, const char *graph)
{
    for (size_t i = 0; i < g->n_input; i++) {
        samba_tensor *t = example_tensor(s, g->input[i]->name);
        void *data = t ? calloc(1, samba_bytes(t)) : NULL;
        if (data) example_fill(t, data);
        bool fine = data && samba_write(t, data) && example_write(t, "input", i);
        free(data);
        if (!fine) return false;
    }
    samba_set_train(s, false);
    if (!(graph ? samba_run_graph(s, graph, SAMBA_FWD) : samba_run(s, SAMBA_FWD))) return false;
    for (size_t o = 0; o < g->n_output; o++) {
        samba_tensor *t = example_tensor(s, g->output[o]->name);
        if (!t || !example_write(t, "output", o)) return false;
    }
    return true;
}

// Instead of samba_compile and the driver: exports the program and runs it once.
static bool example_export(samba_session *s, const samba_program *program)
{
    char path[500], model[500], why[400] = "";
    const char *graph = getenv("ONNX_GRAPH");
    samba_program p = *program;
    p.pef = NULL;
    p.compile_only = false;
    if (graph && !*graph) graph = NULL;
    example_path(path, sizeof path, "test_data_set_0");
    mkdir(getenv("ONNX_CASE"), 0777);
    mkdir(path, 0777);
    example_path(path, sizeof path, "program.ckpt");
    example_path(model, sizeof model, "model.onnx");
    if (!samba_compile(s, &p) || !samba_save(s, path)) return false;
    if (!onnx_export_file(path, model, graph, why, sizeof why))
        return samba_fail(s, SAMBA_EOP, "not exported: %s", why);
    FILE *f = fopen(model, "rb");
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    uint8_t *bytes = malloc(size);
    rewind(f);
    bool fine = bytes && fread(bytes, 1, size, f) == size;
    fclose(f);
    Onnx__ModelProto *m = fine ? onnx__model_proto__unpack(NULL, size, bytes) : NULL;
    fine = m && example_run(s, m->graph, graph);
    if (m) onnx__model_proto__free_unpacked(m, NULL);
    free(bytes);
    printf("%s: %lu bytes\n", fine ? "exported" : samba_error(s), (unsigned long)size);
    exit(fine ? 0 : 1);
}

#define samba_compile example_export
#define samba_app_driver(s, args, program) example_export(s, program)
