// Batch normalizations behind convolutions: an import for inference folds them into the weights,
// with the same results; one that is to train does not, nor where somebody else reads what would
// change.
// run: needs:onnx/onnx.proto needs:protobuf-c/protobuf-c.h onnx -lprotobuf-c
#define _GNU_SOURCE
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/tools/onnx/counted_import.h"
#include "tests/lib/test.h"
#include "tests/tools/onnx/wire.h"

enum { CHANNELS = 6, SIDE = 5, MOST = CHANNELS * SIDE * SIDE };

// What a model has, beside a convolution and a norm.
enum {
    CONV_BIAS = 1,
    CONSTANTS = 2,    // weights are Constant nodes, those of the norm behind the convolution
    GROUPS = 4,       // three
    Y_TWICE = 8,      // the convolution is an output, too
    W_TWICE = 16,     // another convolution has the same weights
    SHIFT_TWICE = 32, // the shift is added once more
    TRAINS = 64,      // training_mode = 1
    NO_ROOT = 128,    // a variance is negative: NaN
    EPSILON = 256,    // is not the usual one
    SHIFT_IS_INPUT = 512
};

static float drawn(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

// A tensor of drawn numbers, as an initializer or a node.
static void add(wire *graph, const char *name, const char *dims, int kind, float least)
{
    float x[CHANNELS * CHANNELS * 9];
    uint32_t state = (uint32_t)strlen(name) * 77u + (uint32_t)name[0];
    size_t n = elements_of(dims);
    for (size_t i = 0; i < n; i++)
        x[i] = least + drawn(&state);
    if ((kind & NO_ROOT) && !strcmp(name, "var")) x[2] = -3.0f;
    wire tensor = shaped_tensor(name, OX_FLOAT, dims, x, n * sizeof *x);
    if (!(kind & CONSTANTS)) {
        put_message(graph, 5, tensor);
        return;
    }
    wire made = node("Constant", "", name);
    put_tensor_attribute(&made, "value", tensor);
    put_message(graph, 1, made);
}

static void add_norm(wire *graph, int kind)
{
    add(graph, "scale", "6", kind, 0.2f);
    if (kind & SHIFT_IS_INPUT)
        put_message(graph, 11, value_info("shift", OX_FLOAT, "6"));
    else
        add(graph, "shift", "6", kind, 0);
    add(graph, "mean", "6", kind, 0);
    add(graph, "var", "6", kind, 1.5f);
    wire norm = node("BatchNormalization", "y scale shift mean var", "z");
    if (kind & EPSILON) put_float_attribute(&norm, "epsilon", 0.25f);
    if (kind & TRAINS) put_int_attribute(&norm, "training_mode", 1);
    put_message(graph, 1, norm);
}

static wire model(int kind)
{
    const int64_t pads[4] = { 1, 1, 1, 1 };
    wire graph = { 0 };
    put_text(&graph, 2, "g");
    put_message(&graph, 11, value_info("x", OX_FLOAT, "1 6 5 5"));
    put_message(&graph, 12, value_info("z", OX_FLOAT, NULL));
    add(&graph, "w", kind & GROUPS ? "6 2 3 3" : "6 6 3 3", kind, 0);
    if (kind & CONV_BIAS) add(&graph, "bias", "6", kind, 0);
    wire conv = node("Conv", kind & CONV_BIAS ? "x w bias" : "x w", "y");
    put_ints_attribute(&conv, "pads", 4, pads);
    if (kind & GROUPS) put_int_attribute(&conv, "group", 3);
    put_message(&graph, 1, conv);
    add_norm(&graph, kind);

    if (kind & Y_TWICE) put_message(&graph, 12, value_info("y", OX_FLOAT, NULL));
    if (kind & W_TWICE) {
        wire other = node("Conv", "z w", "other");
        put_ints_attribute(&other, "pads", 4, pads);
        if (kind & GROUPS) put_int_attribute(&other, "group", 3);
        put_message(&graph, 1, other);
        put_message(&graph, 12, value_info("other", OX_FLOAT, NULL));
    }
    if (kind & SHIFT_TWICE) {
        const float zero = 0;
        put_message(&graph, 5, tensor_of("zero", OX_FLOAT, 0, 0, &zero, sizeof zero));
        put_message(&graph, 1, node("Add", "shift zero", "more"));
        put_message(&graph, 12, value_info("more", OX_FLOAT, NULL));
    }
    return model_of(graph, 15);
}

static void look_for_root(const char *text, void *user)
{
    if (strstr(text, "rsqrt")) *(bool *)user = true;
}

// Runs a model on drawn numbers; y gets all outputs, one after another. Is a norm in its graph?
static bool run(int kind, bool inference, float *y, int64_t *n)
{
    uint32_t state = 5;
    bool norm = false;
    onnx_graph g;
    onnx_options options = { .inference = inference };
    samba_program p = { .inference = true };
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    wire bytes = model(kind);
    *n = 0;
    CHECK(onnx_register_ops(s) && onnx_trace_bytes(s, bytes.at, bytes.n, &options, &g));
    CHECK(onnx_set_outputs(&g, &p) && samba_compile(s, &p));
    if (!samba_ok(s)) printf("%s\n", samba_error(s));

    for (int32_t i = 0; i < g.n_in; i++) {
        float x[MOST];
        for (int k = 0; k < MOST; k++)
            x[k] = drawn(&state);
        CHECK(samba_write(g.in[i].tensor, x));
    }
    CHECK(samba_run(s, SAMBA_FWD));
    for (int32_t o = 0; o < g.n_out; o++) {
        onnx_array *a = onnx_fetch(&g.out[o]);
        for (int64_t i = 0; a && i < a->count; i++)
            y[(*n)++] = a->f[i];
        onnx_array_free(a);
    }
    samba_print_graph(s, look_for_root, &norm);
    onnx_release(&g);
    free(bytes.at);
    CHECK(samba_close(s) == 0);
    return norm;
}

static void compare(int kind, bool folds)
{
    static float got[3 * MOST], want[3 * MOST];
    int64_t n = 0, m = 0;
    CHECK(run(kind, false, want, &n));
    bool norm = run(kind, true, got, &m);
    if (norm == folds) printf("kind %d: the norm is%s in the graph\n", kind, norm ? "" : " not");
    CHECK(norm == !folds && n == m && n >= MOST);
    if (folds)
        CHECK_CLOSE(got, want, (size_t)n, 1e-5, 1e-6);
    else
        CHECK(!memcmp(got, want, (size_t)n * sizeof *got));
}

static void test_what_is_folded(void)
{
    static const int kinds[] = { 0, CONV_BIAS, CONSTANTS, GROUPS, EPSILON };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        compare(kinds[i], true);
    compare(CONV_BIAS | CONSTANTS | GROUPS | EPSILON, true);
}

static void test_what_is_not(void)
{
    static const int kinds[] = { Y_TWICE, W_TWICE, SHIFT_TWICE, TRAINS, NO_ROOT, SHIFT_IS_INPUT };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        compare(kinds[i], false);
        compare(kinds[i] | CONV_BIAS | GROUPS, false);
    }
    compare(CONSTANTS | W_TWICE, false);
    compare(CONSTANTS | SHIFT_TWICE, false);
}

int main(void)
{
    RUN(test_what_is_folded);
    RUN(test_what_is_not);
    return test_summary();
}
