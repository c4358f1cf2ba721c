// Values at the edges of the ONNX importer's ops: infinities, NaN, negative paddings. The expected
// ones are NumPy's and onnxruntime's 1.23; where these two differ, NumPy's, which keeps a NaN.
// run: needs:onnx/onnx.proto needs:protobuf-c/protobuf-c.h onnx -lprotobuf-c
#define _GNU_SOURCE
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/tools/onnx/counted_import.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include "tests/tools/onnx/wire.h"

enum { MOST = 32 };

static const float nan_ = NAN, inf = INFINITY;

// A model of one node: x is its input 0, constants are added before it is run.
typedef struct model {
    wire graph, node;
    samba_session *s;
    onnx_graph g;
    int opset;
    const char *domain; // of the node; NULL: that of all others
    int version;        // of that domain; 0: 1
} model;

// dims: of x, as "2 3". inputs and outputs are the node's.
static model begin(const char *op, const char *dims, const char *inputs, const char *outputs)
{
    model m = { .opset = 18 };
    put_text(&m.graph, 2, "g");
    put_message(&m.graph, 11, value_info("x", OX_FLOAT, dims));
    for (const char *out = outputs; *out; out += strcspn(out, " "), out += *out == ' ') {
        char name[20];
        if (*out == ' ') continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(out, " "), out);
        put_message(&m.graph, 12, value_info(name, OX_FLOAT, NULL));
    }
    m.node = node(op, inputs, outputs);
    return m;
}

static void add_floats(model *m, const char *name, int64_t n, const float *values)
{
    put_message(&m->graph, 5, tensor_of(name, OX_FLOAT, 1, n, values, (size_t)n * 4));
}

static void add_numbers(model *m, const char *name, int64_t n, const int64_t *values)
{
    put_message(&m->graph, 5, tensor_of(name, OX_INT64, 1, n, values, (size_t)n * 8));
}

// dims: as of begin; one of them may be 0.
static void add_tensor(model *m, const char *name, const char *dims, const float *values)
{
    size_t size = elements_of(dims) * sizeof *values;
    put_message(&m->graph, 5, shaped_tensor(name, OX_FLOAT, dims, values, size));
}

static void add_scalar(model *m, const char *name, float value)
{
    put_message(&m->graph, 5, tensor_of(name, OX_FLOAT, 0, 0, &value, sizeof value));
}

static void add_number(model *m, const char *name, int64_t value)
{
    put_message(&m->graph, 5, tensor_of(name, OX_INT64, 0, 0, &value, sizeof value));
}

static bool import(model *m)
{
    if (m->domain) put_text(&m->node, 7, m->domain);
    put_message(&m->graph, 1, m->node);
    wire bytes = model_of(m->graph, m->opset);
    if (m->domain) put_op_set(&bytes, m->domain, m->version ? m->version : 1);
    m->s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    bool fine = onnx_register_ops(m->s) && onnx_trace_bytes(m->s, bytes.at, bytes.n, NULL, &m->g);
    free(bytes.at);
    return fine;
}

static void end(model *m)
{
    onnx_release(&m->g);
    samba_clear_error(m->s);
    samba_close(m->s);
}

// The model is not imported, for this reason. Frees it.
static void refuse(model *m, const char *why)
{
    CHECK(!import(m) && says(m->s, why));
    end(m);
}

// Runs it on x; y[o] gets output o, integers as floats. False: it was refused, or the run ended.
static bool run(model *m, const float *x, float y[2][MOST])
{
    samba_program p = { .inference = true };
    if (!import(m) || !onnx_set_outputs(&m->g, &p) || !samba_compile(m->s, &p)) return false;
    if (!samba_write(m->g.in[0].tensor, x) || !samba_run(m->s, SAMBA_FWD)) return false;
    for (int32_t o = 0; o < m->g.n_out && o < 2; o++) {
        onnx_array *a = onnx_fetch(&m->g.out[o]);
        for (int64_t i = 0; a && i < a->count && i < MOST; i++)
            y[o][i] = (float)ox_number(a, i);
        onnx_array_free(a);
    }
    return true;
}

// The outputs of a model for x; want1 may be NULL. Frees the model.
static void check(model *m, const float *x, const float *want0, const float *want1, size_t n)
{
    float y[2][MOST] = { { 0 } };
    bool fine = run(m, x, y);
    if (!fine) printf("%s\n", samba_error(m->s));
    CHECK(fine);
    CHECK_CLOSE(y[0], want0, n, 1e-6, 0);
    if (want1) CHECK_CLOSE(y[1], want1, n, 0, 0);
    end(m);
}

// The output is known while tracing, and has these values. Frees the model.
static void check_known(model *m, int64_t n, const float *want)
{
    float got[MOST] = { 0 };
    const onnx_array *y = import(m) ? m->g.out[0].constant : NULL;
    if (!y) printf("%s\n", samba_error(m->s));
    CHECK(y && y->count == n && n <= MOST);
    for (int64_t i = 0; y && i < n && i < y->count; i++)
        got[i] = (float)ox_number(y, i);
    CHECK_CLOSE(got, want, (size_t)n, 1e-6, 1e-7);
    end(m);
}

// ---- Selections ---------------------------------------------------------------------------------

static void check_top(const float *x, const char *dims, int64_t k, bool largest,
                      const float *values, const float *places)
{
    model m = begin("TopK", dims, "x k", "v i");
    add_numbers(&m, "k", 1, &k);
    put_int_attribute(&m.node, "largest", largest);
    check(&m, x, values, places, (size_t)k);
}

// A NaN is larger than every number; none is lost, none comes twice.
static void test_top_k(void)
{
    const float x[6] = { 1, 2, -3, 4, nan_, inf }, few[5] = { 1, nan_, 3, nan_, -inf };
    check_top(x, "6", 6, true, (float[]){ nan_, inf, 4, 2, 1, -3 }, (float[]){ 4, 5, 3, 1, 0, 2 });
    check_top(x, "6", 6, false, (float[]){ -3, 1, 2, 4, inf, nan_ }, (float[]){ 2, 0, 1, 3, 5, 4 });
    check_top(few, "5", 3, true, (float[]){ nan_, nan_, 3 }, (float[]){ 1, 3, 2 });
    check_top(few, "5", 3, false, (float[]){ -inf, 1, 3 }, (float[]){ 4, 0, 2 });
    const float same[7] = { 2, 1, 2, 0, -0.0f, 2, 1 };
    check_top(same, "7", 7, true, (float[]){ 2, 2, 2, 1, 1, 0, 0 },
              (float[]){ 0, 2, 5, 1, 6, 3, 4 });
    check_top(same, "7", 4, false, (float[]){ 0, 0, 1, 1 }, (float[]){ 3, 4, 1, 6 });
}

static void check_arg(const char *op, int last, const float *x, float want)
{
    model m = begin(op, "5", "x", "y");
    put_int_attribute(&m.node, "axis", 0);
    put_int_attribute(&m.node, "select_last_index", last);
    check(&m, x, &want, NULL, 1);
}

static void test_arg(void)
{
    const float x[5] = { 1, nan_, 3, nan_, -inf }, first[5] = { nan_, 2, 9, inf, 1 };
    const float numbers[5] = { 3, -inf, inf, -inf, inf };
    check_arg("ArgMin", 0, x, 1);
    check_arg("ArgMin", 1, x, 3);
    check_arg("ArgMax", 1, x, 3);
    check_arg("ArgMin", 0, first, 0);
    check_arg("ArgMin", 0, numbers, 1);
    check_arg("ArgMin", 1, numbers, 3);
    check_arg("ArgMax", 0, numbers, 2);
    check_arg("ArgMax", 1, numbers, 4);
}

// ScatterElements with min and max: a NaN on either side stays.
static void test_scatter(void)
{
    static const char *const kind[2] = { "max", "min" };
    const float x[4] = { 1, nan_, 3, 4 }, more[4] = { nan_, 5, inf, -inf };
    const float want[2][4] = { { nan_, nan_, inf, 4 }, { nan_, nan_, 3, -inf } };
    for (int i = 0; i < 2; i++) {
        model m = begin("ScatterElements", "4", "x at more", "y");
        add_numbers(&m, "at", 4, (int64_t[]){ 0, 1, 2, 3 });
        add_floats(&m, "more", 4, more);
        put_text_attribute(&m.node, "reduction", kind[i]);
        put_int_attribute(&m.node, "axis", 0);
        check(&m, x, want[i], NULL, 4);
    }
}

static void test_suppression(void)
{
    const float boxes[12] = { 0, 0, 1, 1, 0, 0, 1, 1, 3, 3, 4, 4 }, least = -inf;
    const int64_t three = 3;
    for (int limited = 0; limited < 2; limited++) {
        model m
            = begin("NonMaxSuppression", "1 1 3",
                    limited ? "boxes scores most overlap least" : "boxes scores most overlap", "y");
        const float scores[3] = { nan_, -inf, 0.5f };
        add_tensor(&m, "boxes", "1 3 4", boxes);
        add_tensor(&m, "scores", "1 1 3", scores);
        add_numbers(&m, "most", 1, &three);
        add_floats(&m, "overlap", 1, &(float){ 0.5f });
        if (limited) add_floats(&m, "least", 1, &least);
        CHECK(import(&m) && m.g.out[0].constant);
        const onnx_array *y = m.g.out[0].constant;
        CHECK(y && y->count == (limited ? 3 : 6) && y->i[2] == 2);
        CHECK(y && (limited || y->i[5] == 1));
        end(&m);
    }
}

// Of two boxes that share a third the worse one goes if less is allowed.
static void test_boxes_that_overlap(void)
{
    for (int strict = 0; strict < 2; strict++) {
        model m = begin("NonMaxSuppression", "1", "boxes scores most overlap", "y");
        add_tensor(&m, "boxes", "1 3 4", (float[]){ 0, 0, 2, 2, 0, 1, 2, 3, 2, 0, 4, 2 });
        add_tensor(&m, "scores", "1 1 3", (float[]){ 1, 3, 2 });
        add_numbers(&m, "most", 1, &(int64_t){ 3 });
        add_floats(&m, "overlap", 1, &(float){ strict ? 0.25f : 0.5f });
        CHECK(import(&m) && m.g.out[0].constant);
        const onnx_array *y = m.g.out[0].constant;
        CHECK(y && y->count == (strict ? 6 : 9) && y->i[2] == 1 && y->i[5] == 2);
        CHECK(y && (strict || y->i[8] == 0));
        end(&m);
    }
}

// ---- Sums, thresholds, casts --------------------------------------------------------------------

static void test_log_sum_exp(void)
{
    const float x[12] = { -inf, -inf, -inf, 1, inf, 2, nan_, 1, 2, 0, 0, -inf };
    const float want[4] = { -inf, inf, nan_, 0.69314718f };
    model m = begin("ReduceLogSumExp", "4 3", "x axes", "y");
    add_numbers(&m, "axes", 1, &(int64_t){ 1 });
    check(&m, x, want, NULL, 4);
}

static void test_activations(void)
{
    const float x[5] = { 1, nan_, 100, inf, -inf };
    model m = begin("Elu", "5", "x", "y");
    check(&m, x, (float[]){ 1, nan_, 100, inf, -1 }, NULL, 5);
    m = begin("Clip", "5", "x least most", "y");
    add_floats(&m, "least", 1, &(float){ 0 });
    add_floats(&m, "most", 1, &(float){ 2 });
    check(&m, x, (float[]){ 1, nan_, 2, 2, 0 }, NULL, 5);
    m = begin("HardSigmoid", "5", "x", "y");
    check(&m, x, (float[]){ 0.7f, nan_, 1, 1, 0 }, NULL, 5);
    m = begin("PRelu", "5", "x slope", "y");
    add_floats(&m, "slope", 1, &(float){ 0.5f });
    check(&m, x, (float[]){ 1, nan_, 100, inf, -inf }, NULL, 5);
    m = begin("Sign", "5", "x", "y");
    check(&m, x, (float[]){ 1, nan_, 1, 1, -1 }, NULL, 5);
}

// The gradient of the sum of the output in x is `want`, n values.
static void gradient_is(model *m, const float *x, const float *want, size_t n)
{
    float got[MOST] = { 0 };
    CHECK(import(m));
    samba_tensor *sum = samba_sum(m->g.out[0].tensor, SAMBA_ALL_AXES, false);
    samba_tensor *dx = samba_grad(sum, m->g.in[0].tensor);
    CHECK(samba_compile(m->s, &(samba_program){ .outputs = { dx }, .inference = true }));
    CHECK(samba_write(m->g.in[0].tensor, x) && samba_run(m->s, SAMBA_FWD));
    CHECK(samba_copy_out(dx, got, n * sizeof *got));
    CHECK_CLOSE(got, want, n, 1e-6, 0);
    end(m);
}

// The gradient of Elu does not pass through the branch that is not taken, which overflows.
static void test_gradient_of_elu(void)
{
    const float x[4] = { 100, 0, -1, 2 }, want[4] = { 1, 1, 0.36787944f, 1 };
    model m = begin("Elu", "4", "x", "y");
    gradient_is(&m, x, want, 4);
}

// An infinity and a NaN spread to their neighbours alone.
static void test_neighbours(void)
{
    const float x[8] = { 1, inf, 2, 3, nan_, 4, 5, 6 };
    const float twice[16] = { 1,    inf,  inf,  inf,   inf,   2.25f, 2.75f, nan_,
                              nan_, nan_, nan_, 4.25f, 4.75f, 5.25f, 5.75f, 6 };
    const float normal[7] = { 0, nan_, 0, nan_, nan_, nan_, 4.9948826f };
    model m = begin("Resize", "1 1 1 8", "x  scales", "y");
    add_floats(&m, "scales", 4, (float[]){ 1, 1, 1, 2 });
    put_text_attribute(&m.node, "mode", "linear");
    check(&m, x, twice, NULL, 16);
    m = begin("Resize", "1 1 1 8", "x  scales", "y");
    add_floats(&m, "scales", 4, (float[]){ 1, 1, 1, 2 });
    put_text_attribute(&m.node, "mode", "cubic");
    float y[2][MOST] = { { 0 } };
    CHECK(run(&m, x, y) && isnan(y[0][12]));
    CHECK_CLOSE(y[0] + 13, ((float[]){ 5.3320312f, 5.8085938f, 6.1054688f }), 3, 1e-6, 0);
    end(&m);
    m = begin("LRN", "1 7 1 1", "x", "y");
    put_int_attribute(&m.node, "size", 3);
    check(&m, x, normal, NULL, 7);
}

// ---- Gradients ----------------------------------------------------------------------------------

// The gradient of the sum of y^2 in x against central differences of it. Frees the model.
static void check_gradient(model *m, const float *x, size_t n)
{
    float got[MOST] = { 0 }, want[MOST] = { 0 }, moved[MOST], sum[2];
    const float step = 1.0f / 512;
    samba_tensor *y = import(m) ? m->g.out[0].tensor : NULL;
    samba_tensor *loss = samba_sum(samba_mul(y, y), SAMBA_ALL_AXES, false);
    samba_tensor *dx = loss ? samba_grad(loss, m->g.in[0].tensor) : NULL;
    samba_program p = { .outputs = { dx, loss }, .inference = true };
    bool fine = dx && samba_compile(m->s, &p);
    for (size_t i = 0; fine && i < n; i++) {
        for (int side = 0; side < 2; side++) {
            memcpy(moved, x, n * sizeof *x);
            moved[i] += side ? step : -step;
            fine = fine && samba_write(m->g.in[0].tensor, moved) && samba_run(m->s, SAMBA_FWD);
            sum[side] = fine ? *samba_read(loss) : 0;
        }
        want[i] = (sum[1] - sum[0]) / (2 * step);
        if (fine) CHECK(isfinite(want[i])); // a NaN would be close to a NaN
    }
    fine = fine && samba_write(m->g.in[0].tensor, x) && samba_run(m->s, SAMBA_FWD)
        && samba_copy_out(dx, got, n * sizeof *got);
    if (!fine) printf("%s\n", samba_error(m->s));
    CHECK(fine);
    CHECK_CLOSE(got, want, n, 4e-3, 4e-3);
    end(m);
}

static void test_gradients_of_functions(void)
{
    static const char *const op[] = { "Sin",  "Cos",   "Tan",   "Asin", "Acos",  "Atan", "Sinh",
                                      "Cosh", "Asinh", "Atanh", "Erf",  "Floor", "Sign" };
    const float x[4] = { -0.7f, -0.2f, 0.3f, 0.8f }, large[4] = { 1.2f, 1.5f, 2, 3 };
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
        model m = begin(op[i], "4", "x", "y");
        check_gradient(&m, x, 4);
    }
    model m = begin("Acosh", "4", "x", "y");
    check_gradient(&m, large, 4);
}

// An element that is taken twice has the gradient of both places.
static void test_gradients_of_selections(void)
{
    const float x[6] = { 0.5f, -1, 2, 0.25f, 3, -2 };
    model m = begin("Gather", "2 3", "x at", "y");
    add_numbers(&m, "at", 4, (int64_t[]){ 1, -1, 1, 0 });
    put_int_attribute(&m.node, "axis", 1);
    check_gradient(&m, x, 6);
    m = begin("GatherElements", "6", "x at", "y");
    add_numbers(&m, "at", 4, (int64_t[]){ 5, 0, 5, 5 });
    check_gradient(&m, x, 6);
    m = begin("Pad", "1 6", "x pads", "y");
    add_numbers(&m, "pads", 4, (int64_t[]){ 0, 2, 0, 3 });
    put_text_attribute(&m.node, "mode", "reflect");
    check_gradient(&m, x, 6);
    m = begin("TopK", "6", "x k", "y i");
    add_numbers(&m, "k", 1, (int64_t[]){ 3 });
    check_gradient(&m, x, 6);
}

// Of ScatterElements in what is overwritten, and in what overwrites it.
static void test_gradients_of_scattering(void)
{
    const float x[4] = { 0.5f, -1, 2, 0.25f };
    for (int i = 0; i < 4; i++) {
        model m = begin("ScatterElements", "4", i & 1 ? "other at x" : "x at other", "y");
        add_floats(&m, "other", 4, (float[]){ 3, -2, 1, 0.75f });
        add_numbers(&m, "at", 4, (int64_t[]){ 3, 0, 1, 2 });
        if (i & 2) put_text_attribute(&m.node, "reduction", "add");
        check_gradient(&m, x, 4);
    }
    model m = begin("ScatterElements", "4", "x at x", "y");
    add_numbers(&m, "at", 4, (int64_t[]){ 3, 0, 1, 2 });
    put_text_attribute(&m.node, "reduction", "max");
    CHECK(import(&m));
    samba_tensor *y = samba_sum(m.g.out[0].tensor, SAMBA_ALL_AXES, false);
    CHECK(!samba_grad(y, m.g.in[0].tensor) && says(m.s, "only none and add do"));
    end(&m);
}

static void test_gradients_of_sums(void)
{
    const float x[6] = { 0.5f, -1, 2, 0.25f, 3, -2 };
    for (int i = 0; i < 4; i++) {
        model m = begin("CumSum", "2 3", "x axis", "y");
        put_message(&m.graph, 5, tensor_of("axis", OX_INT64, 0, 0, &(int64_t){ 1 }, 8));
        put_int_attribute(&m.node, "exclusive", i & 1);
        put_int_attribute(&m.node, "reverse", i >> 1);
        check_gradient(&m, x, 6);
    }
    model m = begin("LRN", "1 6 1 1", "x", "y");
    put_int_attribute(&m.node, "size", 3);
    check_gradient(&m, x, 6);
    m = begin("Resize", "1 1 2 3", "x  scales", "y");
    add_floats(&m, "scales", 4, (float[]){ 1, 1, 1.5f, 2 });
    put_text_attribute(&m.node, "mode", "cubic");
    check_gradient(&m, x, 6);
    m = begin("Attention", "1 1 2 3", "x x x mask", "y");
    m.opset = 23;
    const float mask[4] = { 0, -inf, 0, 0.5f };
    add_tensor(&m, "mask", "2 2", mask);
    check_gradient(&m, x, 6);
}

// The gradient of Resize goes back through the same weights.
static void test_gradient_of_resize(void)
{
    const float x[3] = { 1, 2, 3 }, want[3] = { 2, 2, 2 };
    model m = begin("Resize", "1 1 1 3", "x  scales", "y");
    add_floats(&m, "scales", 4, (float[]){ 1, 1, 1, 2 });
    put_text_attribute(&m.node, "mode", "linear");
    gradient_is(&m, x, want, 3);
}

// A row of attention is empty by its mask, not by its scores: those that overflow give NaN, as
// softmax does, and what is masked gives 0.
static void test_attention(void)
{
    float y[2][MOST] = { { 0 } };
    for (int masked = 0; masked < 2; masked++) {
        model m = begin("Attention", "1 1 2 1", masked ? "x k v mask" : "x k v", "y");
        m.opset = 23;
        add_tensor(&m, "k", "1 1 2 1", (float[]){ 3e30f, 3e30f });
        add_tensor(&m, "v", "1 1 2 1", (float[]){ 5, 7 });
        const float mask[4] = { -inf, -inf, 0, -inf };
        add_tensor(&m, "mask", "2 2", mask);
        CHECK(run(&m, masked ? (float[]){ 1, 1 } : (float[]){ -3e30f, 0 }, y));
        if (masked)
            CHECK(y[0][0] == 0 && y[0][1] == 5);
        else
            CHECK(isnan(y[0][0]) && y[0][1] == 6);
        end(&m);
    }
}

// Output 3 of Attention: products, with softcap, with the mask, after softmax, as is chosen.
static void test_stages_of_attention(void)
{
    const float x[2] = { 1, 2 }, a = 2 * tanhf(0.5f), b = 2 * tanhf(1), c = 2 * tanhf(1.5f);
    const float d = 2 * tanhf(3), p = 1 / (1 + expf(d - b));
    const float stage[4][4]
        = { { 1, 3, 2, 6 }, { a, c, b, d }, { a, -inf, b, d }, { 1, 0, p, 1 - p } };
    for (int mode = -1; mode < 5; mode++) {
        float y[2][MOST] = { { 0 } };
        model m = begin("Attention", "1 1 2 1", "x k v", "y   stage");
        m.opset = 23;
        add_tensor(&m, "k", "1 1 2 1", (float[]){ 1, 3 });
        add_tensor(&m, "v", "1 1 2 1", (float[]){ 5, 7 });
        put_float_attribute(&m.node, "softcap", 2);
        put_int_attribute(&m.node, "is_causal", 1);
        put_int_attribute(&m.node, "qk_matmul_output_mode", mode);
        if (mode < 0 || mode > 3) {
            refuse(&m, "its qk_matmul_output_mode is out of range");
            continue;
        }
        CHECK(run(&m, x, y));
        CHECK_CLOSE(y[0], ((float[]){ 5, 5 * p + 7 * (1 - p) }), 2, 1e-6, 0);
        CHECK_CLOSE(y[1], stage[mode], 4, 1e-6, 0);
        end(&m);
    }
}

// A mask of one number moves all scores by it, and no weight.
static void test_attention_with_one_number(void)
{
    const float x[2] = { 1, 2 };
    float want[2];
    for (int i = 0; i < 2; i++) {
        float a = expf(x[i]), b = expf(2 * x[i]), c = expf(3 * x[i]);
        want[i] = (4 * a + 5 * b + 9 * c) / (a + b + c);
    }
    model m = begin("Attention", "1 1 2 1", "x k v mask", "y");
    m.opset = 23;
    add_tensor(&m, "k", "1 1 3 1", (float[]){ 1, 2, 3 });
    add_tensor(&m, "v", "1 1 3 1", (float[]){ 4, 5, 9 });
    add_scalar(&m, "mask", 0.5f);
    check(&m, x, want, NULL, 2);
}

// Infinity as an integer is the nearest one, as models cast log(0) and choose another value later;
// NaN is no integer, and ends the run.
static void test_casts(void)
{
    float y[2][MOST] = { { 0 } };
    const float x[3] = { -inf, 7.9f, inf }, bad[3] = { 1, nan_, 2 };
    const float want[3] = { (float)INT32_MIN, 7, (float)INT32_MAX };
    model m = begin("Cast", "3", "x", "y");
    put_int_attribute(&m.node, "to", OX_INT64);
    check(&m, x, want, NULL, 3);
    m = begin("Cast", "3", "x", "y");
    put_int_attribute(&m.node, "to", OX_INT64);
    CHECK(!run(&m, bad, y) && samba_error_code(m.s) == SAMBA_ERANGE);
    end(&m);
}

// The range is -0.5 ... 4.6, so that a step is 0.02, and the zero point 25.
static void test_dynamic_products(void)
{
    const float x[6] = { 0, 1, 2, -0.5f, 4.6f, 3 }, want[4] = { -350, 800, -85, 1870 };
    const int8_t w[6] = { 1, -2, 3, 4, -5, 6 };
    model m = begin("MatMulInteger", "2 3", "q w zero", "y");
    put_message(&m.graph, 1, node("DynamicQuantizeLinear", "x", "q scale zero"));
    put_message(&m.graph, 5, shaped_tensor("w", OX_INT8, "3 2", w, sizeof w));
    check(&m, x, want, NULL, 4);
}

// Zeros alone have a scale; a range that is not finite has none, and ends the run.
static void test_dynamic_ranges(void)
{
    const float zeros[3] = { 0, 0, 0 }, odd[3] = { NAN, INFINITY, -INFINITY };
    model m = begin("DynamicQuantizeLinear", "3", "x", "y scale zero");
    check(&m, zeros, zeros, NULL, 3);
    for (int i = 0; i < 3; i++) {
        const float x[3] = { 1, odd[i], 2 };
        float y[2][MOST];
        m = begin("DynamicQuantizeLinear", "3", "x", "y scale zero");
        CHECK(!run(&m, x, y));
        end(&m);
    }
}

// How many nodes of the compiled program are this op.
static int ops_of(const model *m, const char *op)
{
    const samba__pef *pef = &m->s->program.rt->pef;
    int n = 0;
    for (uint32_t i = 0; i < pef->n_nodes; i++) {
        const samba_op *node = samba__node_at(pef, i).op;
        n += node && !strcmp(node->name, op);
    }
    return n;
}

// The scale and offset of a product are computed along with it, and it has more than 256 terms:
// sums of 300 times 255 (127 - zero) are exact.
static void test_long_convolution(void)
{
    float x[300], y[2][MOST];
    int8_t w[2 * 300];
    for (int i = 0; i < 300; i++) {
        x[i] = (float)(i % 256);
        w[i] = (int8_t)(i % 2 ? 127 : -128);
        w[300 + i] = (int8_t)(i % 7);
    }

    int64_t sum[2] = { 0, 0 };
    for (int i = 0; i < 600; i++)
        sum[i / 300] += (int64_t)x[i % 300] * (w[i] - 3);

    model m = begin("Add", "1 300 1", "s b", "y");
    put_message(&m.graph, 1, node("DynamicQuantizeLinear", "x", "q scale zero"));
    put_message(&m.graph, 1, node("ConvInteger", "q w zero zero_w", "i"));
    wire cast = node("Cast", "i", "f");
    put_int_attribute(&cast, "to", OX_FLOAT);
    put_message(&m.graph, 1, cast);
    put_message(&m.graph, 1, node("Mul", "scale f", "s"));
    put_message(&m.graph, 5, shaped_tensor("w", OX_INT8, "2 300 1", w, sizeof w));
    put_message(&m.graph, 5, shaped_tensor("zero_w", OX_INT8, "", &(int8_t){ 3 }, 1));
    put_message(&m.graph, 5, shaped_tensor("b", OX_FLOAT, "1 2 1", (float[]){ 0.5f, -9 }, 8));
    CHECK(run(&m, x, y));
    CHECK(y[0][0] == (float)sum[0] + 0.5f && y[0][1] == (float)sum[1] - 9);
    CHECK(ops_of(&m, "convolution_integer") == 1 && ops_of(&m, "add") + ops_of(&m, "cast") == 0);
    end(&m);
}

// Codes of x by steps of 0.5 from -100 on, and weights by steps of 2 and 4; y by steps of 8 from
// 100 on. x, w and y as floats are not in the program.
static void test_quantized_convolution(void)
{
    const int8_t w[4] = { 1, 2, -3, 4 };
    const float scales[2] = { 2, 4 }, bias[2] = { 16, -8 };
    const float x[8] = { 1, 2, 3, 4, -5, 0.3f, 50, 100 };
    float want[8];
    for (int i = 0; i < 8; i++) {
        float a = rintf(x[i % 4] / 0.5f) * 0.5f, b = rintf(x[4 + i % 4] / 0.5f) * 0.5f;
        float sum = scales[i / 4] * ((float)w[i / 4 * 2] * a + (float)w[i / 4 * 2 + 1] * b);
        float code = 100 + rintf((sum + bias[i / 4]) / 8);
        want[i] = (fminf(fmaxf(code, 0), 255) - 100) * 8;
    }

    model m = begin("DequantizeLinear", "1 2 4", "q sy zy", "y");
    put_message(&m.graph, 1, node("QuantizeLinear", "x sx zx", "c"));
    put_message(&m.graph, 1, node("DequantizeLinear", "c sx zx", "d"));
    wire weights = node("DequantizeLinear", "w sw", "v");
    put_int_attribute(&weights, "axis", 0);
    put_message(&m.graph, 1, weights);
    put_message(&m.graph, 1, node("Conv", "d v b", "f"));
    put_message(&m.graph, 1, node("QuantizeLinear", "f sy zy", "q"));
    put_message(&m.graph, 5, shaped_tensor("w", OX_INT8, "2 2 1", w, sizeof w));
    add_floats(&m, "sw", 2, scales);
    add_floats(&m, "b", 2, bias);
    add_scalar(&m, "sx", 0.5f);
    add_scalar(&m, "sy", 8);
    put_message(&m.graph, 5, shaped_tensor("zx", OX_INT8, "", &(int8_t){ -100 }, 1));
    put_message(&m.graph, 5, shaped_tensor("zy", OX_UINT8, "", &(uint8_t){ 100 }, 1));
    float y[2][MOST];
    CHECK(run(&m, x, y));
    CHECK_CLOSE(y[0], want, 8, 0, 0);
    CHECK(ops_of(&m, "convolution_integer") == 1 && ops_of(&m, "convolution") == 0);
    CHECK(ops_of(&m, "quantize_bytes") == 1 && ops_of(&m, "dequantize_bytes") == 1);
    end(&m);
}

// Paddings of 0 and 1 with a stride of 2 grow to 2 on both sides.
static void test_uneven_padding_of_codes(void)
{
    const float x[5] = { 1, 2, 3, 4, 5 }, want[2] = { 6, 12 };
    model m = begin("Mul", "1 1 5", "f scale", "y");
    wire conv = node("ConvInteger", "q w zero", "i"), cast = node("Cast", "i", "f");
    put_int_attribute(&cast, "to", OX_FLOAT);
    put_ints_attribute(&conv, "strides", 1, (int64_t[]){ 2 });
    put_ints_attribute(&conv, "pads", 2, (int64_t[]){ 0, 1 });
    put_message(&m.graph, 1, node("DynamicQuantizeLinear", "x", "q scale zero"));
    put_message(&m.graph, 1, conv);
    put_message(&m.graph, 1, cast);
    put_message(&m.graph, 5, shaped_tensor("w", OX_INT8, "1 1 4", (int8_t[]){ 1, 1, 1, 0 }, 4));
    check(&m, x, want, NULL, 2);
}

// A number as exporters write it; an initializer could be trained.
static void put_constant(model *m, const char *name, float value)
{
    wire constant = node("Constant", "", name);
    put_tensor_attribute(&constant, "value",
                         tensor_of("value", OX_FLOAT, 0, 0, &value, sizeof value));
    put_message(&m->graph, 1, constant);
}

// GELU in parts, in two orders, is one op; with another constant it is not.
static void test_gelu_in_parts(void)
{
    const float x[4] = { -2, 0, 0.5f, 3 };
    for (int i = 0; i < 3; i++) {
        float want[4], y[2][MOST], one = i == 2 ? 1.25f : 1;
        for (int j = 0; j < 4; j++)
            want[j] = 0.5f * x[j] * (one + erff(x[j] * 0.70710678f));
        model m = begin("Mul", "4", i == 1 ? "h p" : "t half", "y");
        put_message(&m.graph, 1, node("Div", "x root", "d"));
        put_message(&m.graph, 1, node("Erf", "d", "e"));
        put_message(&m.graph, 1, node("Add", "e one", "p"));
        put_message(&m.graph, 1, i == 1 ? node("Mul", "x half", "h") : node("Mul", "x p", "t"));
        put_constant(&m, "root", 1.41421356f);
        put_constant(&m, "one", one);
        put_constant(&m, "half", 0.5f);
        CHECK(run(&m, x, y));
        CHECK_CLOSE(y[0], want, 4, 1e-6, 1e-7);
        CHECK(ops_of(&m, "gelu") == (i < 2) && ops_of(&m, "onnx_unary") == (i == 2));
        end(&m);
    }
}

static void test_quantized_nan(void)
{
    float y[2][MOST] = { { 0 } };
    const float x[3] = { -inf, 7, inf }, bad[3] = { 1, nan_, 2 };
    for (int i = 0; i < 2; i++) {
        model m = begin("QuantizeLinear", "3", "x scale", "y");
        put_message(&m.graph, 5, tensor_of("scale", OX_FLOAT, 0, 0, &(float){ 2 }, 4));
        if (i == 0)
            check(&m, x, (float[]){ 0, 4, 255 }, NULL, 3);
        else
            CHECK(!run(&m, bad, y) && samba_error_code(m.s) == SAMBA_ERANGE);
        if (i == 1) end(&m);
    }
}

// log(d) of constants, 0 among them, as an integer that nobody chooses: as T5 makes its buckets.
static void test_constant_log_of_zero(void)
{
    const float d[3] = { 0, 1, 20 }, x[3] = { 0.5f, 0.5f, 0.5f };
    const uint8_t small[3] = { 1, 1, 0 };
    model m = begin("Add", "3", "x f", "y");
    wire cast = node("Cast", "l", "c"), back = node("Cast", "w", "f");
    put_int_attribute(&cast, "to", OX_INT64);
    put_int_attribute(&back, "to", OX_FLOAT);
    add_floats(&m, "d", 3, d);
    add_numbers(&m, "k", 3, (int64_t[]){ 0, 1, 2 });
    put_message(&m.graph, 5, tensor_of("small", OX_BOOL, 1, 3, small, sizeof small));
    put_message(&m.graph, 1, node("Log", "d", "l"));
    put_message(&m.graph, 1, cast);
    put_message(&m.graph, 1, node("Where", "small k c", "w"));
    put_message(&m.graph, 1, back);
    check(&m, x, (float[]){ 0.5f, 1.5f, 2.5f }, NULL, 3);
}

// ---- More images than channels ------------------------------------------------------------------

static void test_transposed_convolutions_of_a_batch(void)
{
    static const char *const dims[3][2]
        = { { "2 1 3", "1 1 2" }, { "2 1 1 3", "1 1 1 2" }, { "2 1 1 1 3", "1 1 1 1 2" } };
    const float x[6] = { 1, 2, 3, 4, 5, 6 }, w[2] = { 1, 10 };
    for (int d = 0; d < 3; d++) {
        model m = begin("ConvTranspose", dims[d][0], "x w", "y");
        add_tensor(&m, "w", dims[d][1], w);
        check(&m, x, (float[]){ 1, 12, 23, 30, 4, 45, 56, 60 }, NULL, 8);
        m = begin("ConvTranspose", dims[d][0], "x w", "y");
        add_tensor(&m, "w", dims[d][1], w);
        put_int_attribute(&m.node, "group", 0);
        refuse(&m, "ONNX ConvTranspose (y): needs 1 to 3 spatial dimensions");
    }
}

// Each region is of the image that its number says, and each channel of its own.
static void test_regions_of_images(void)
{
    float x[2 * 2 * 4];
    for (int i = 0; i < 16; i++)
        x[i] = (float)(i / 4);
    model m = begin("RoiAlign", "2 2 2 2", "x regions image", "y");
    add_tensor(&m, "regions", "3 4", (float[]){ 0, 0, 1, 1, 0, 0, 2, 2, 1, 1, 2, 2 });
    add_numbers(&m, "image", 3, (int64_t[]){ 1, 0, 1 });
    check(&m, x, (float[]){ 2, 3, 0, 1, 2, 3 }, NULL, 6);
}

// A norm for each channel of an image (1,2,1,3). Signs do not count, not with an odd p either.
static void test_norm_of_images(void)
{
    const float x[6] = { 3, 0, -4, -1, -2, 0 };
    const float norm[3][2] = { { 7, 3 }, { 5, sqrtf(5) }, { cbrtf(91), cbrtf(9) } };
    for (int p = 1; p <= 3; p++) {
        model m = begin("GlobalLpPool", "1 2 1 3", "x", "y");
        if (p != 2) put_int_attribute(&m.node, "p", p); // 2 is the default
        check(&m, x, norm[p - 1], NULL, 2);
    }

    model flat = begin("GlobalLpPool", "2 3", "x", "y");
    refuse(&flat, "needs at least 3 dimensions");

    model old = begin("GlobalLpPool", "1 2 1 3", "x", "y");
    old.opset = 1; // in which p is a float
    refuse(&old, "GlobalLpPool");

    model p0 = begin("GlobalLpPool", "1 2 1 3", "x", "y");
    put_int_attribute(&p0.node, "p", 0);
    refuse(&p0, "p is less than 1");
}

// The same norm of windows, here of two numbers side by side.
static void test_norm_of_windows(void)
{
    const float x[3] = { 3, -4, 0 };
    const float norm[3][2] = { { 7, 4 }, { 5, 4 }, { cbrtf(91), 4 } };
    for (int p = 0; p <= 3; p++) {
        model m = begin("LpPool", "1 1 1 3", "x", "y");
        put_ints_attribute(&m.node, "kernel_shape", 2, (int64_t[]){ 1, 2 });
        put_int_attribute(&m.node, "p", p);
        if (p == 0)
            refuse(&m, "p is less than 1");
        else
            check(&m, x, norm[p - 1], NULL, 2);
    }
}

// MaxUnpool fills up to the shape that is asked for.
static void test_unpooling_to_a_shape(void)
{
    for (int64_t wide = 3; wide < 6; wide++) {
        model m = begin("MaxUnpool", "1 1 1 2", "x at shape", "y");
        const int64_t at[2] = { 1, 2 };
        put_message(&m.graph, 5, shaped_tensor("at", OX_INT64, "1 1 1 2", at, sizeof at));
        add_numbers(&m, "shape", 4, (int64_t[]){ 1, 1, 1, wide });
        put_ints_attribute(&m.node, "kernel_shape", 2, (int64_t[]){ 1, 2 });
        put_ints_attribute(&m.node, "strides", 2, (int64_t[]){ 1, 2 });
        if (wide == 3)
            refuse(&m, "its output_shape is too small");
        else
            check(&m, (float[]){ 7, 8 }, (float[]){ 0, 7, 8, 0, 0 }, NULL, (size_t)wide);
    }
}

// ---- Integers -----------------------------------------------------------------------------------

// Of negative powers nothing whole is left but of 1 and -1.
static void test_powers_of_integers(void)
{
    model m = begin("Pow", "1", "base exponent", "y");
    add_numbers(&m, "base", 9, (int64_t[]){ 1, -1, -1, 2, -2, 2, -2, 0, 7 });
    add_numbers(&m, "exponent", 9, (int64_t[]){ -2, -2, -3, -1, -2, 5, 3, 3, 0 });
    check_known(&m, 9, (float[]){ 1, 1, -1, 0, 0, 32, -8, 0, 1 });
}

// An axis that the data does not have is named.
static void test_axes_that_are_not_there(void)
{
    static const char *const op[] = { "GatherElements", "Gather", "ScatterElements" };
    for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
        for (int axis = -2; axis < 2; axis += 3) {
            model m = begin(op[i], "3", i == 2 ? "x at x" : "x at", "y");
            add_numbers(&m, "at", 3, (int64_t[]){ 2, 1, 0 });
            put_int_attribute(&m.node, "axis", axis);
            refuse(&m, axis < 0 ? "axis -2" : "axis 1");
        }
    }
}

// ---- Statistics of one value --------------------------------------------------------------------

// Of an x with these dimensions, which has two channels; in training, the batch gives the
// statistics.
static model batch_norm(const char *dims)
{
    model m = begin("BatchNormalization", dims, "x scale bias mean var", "y");
    static const char *const name[4] = { "scale", "bias", "mean", "var" };
    for (int i = 0; i < 4; i++)
        add_floats(&m, name[i], 2, (float[]){ 1, 1 });
    put_int_attribute(&m.node, "training_mode", 1);
    return m;
}

// The variance of one value is 0: nothing would be learned, and no loss would say so.
static void test_batch_norm_of_one_value(void)
{
    model m = batch_norm("1 2 1 1");
    CHECK(!import(&m) && says(m.s, "more than one value for each channel"));
    end(&m);
    m = batch_norm("1 2");
    CHECK(!import(&m) && says(m.s, "give a larger batch"));
    end(&m);
    m = batch_norm("2 2");
    float y[2][MOST] = { { 0 } };
    CHECK(run(&m, (float[]){ 1, 2, 3, 6 }, y));
    CHECK_CLOSE(y[0], ((float[]){ 0, 0, 2, 2 }), 4, 0, 1e-5);
    end(&m);
}

// ---- Windows and n-grams ------------------------------------------------------------------------

static model window(const char *op, int64_t size, bool periodic)
{
    model m = begin(op, "1", "size", "y");
    add_number(&m, "size", size);
    if (!periodic) put_int_attribute(&m.node, "periodic", 0);
    return m;
}

static void test_windows(void)
{
    const float hann[4] = { 0, 0.5f, 1, 0.5f }, black[4] = { 0, 0.34f, 1, 0.34f };
    const float hamming[4] = { 4 / 46.0f, 25 / 46.0f, 1, 25 / 46.0f };
    model m = window("HannWindow", 4, true);
    check_known(&m, 4, hann);
    m = window("HannWindow", 3, false);
    check_known(&m, 3, (float[]){ 0, 1, 0 });
    m = window("HannWindow", 1, false);
    check_known(&m, 1, hann);
    m = window("HammingWindow", 4, true);
    check_known(&m, 4, hamming);
    m = window("BlackmanWindow", 4, true);
    check_known(&m, 4, black);
    m = window("HannWindow", 0, true);
    refuse(&m, "of a wrong size");
    m = window("HannWindow", -1, true);
    refuse(&m, "of a wrong size");
    m = window("HannWindow", (int64_t)1 << 40, true);
    refuse(&m, "of a wrong size");
    m = window("HannWindow", 4, true);
    put_int_attribute(&m.node, "output_datatype", OX_INT32);
    refuse(&m, "of a wrong size");
}

// in: bins, length of the transform, samples a second, lowest and highest frequency.
static model mel(const double *in)
{
    static const char *const name[5] = { "bins", "length", "rate", "low", "high" };
    model m = begin("MelWeightMatrix", "1", "bins length rate low high", "y");
    for (int i = 0; i < 3; i++)
        add_number(&m, name[i], (int64_t)in[i]);
    for (int i = 3; i < 5; i++)
        add_scalar(&m, name[i], (float)in[i]);
    return m;
}

static void test_frequencies_out_of_range(void)
{
    static const struct {
        int which;
        double value;
    } bad[] = {
        { 0, 0 }, { 0, 65536 }, { 1, 0 },    { 1, 65536 },
        { 2, 0 }, { 3, -1 },    { 3, 4096 }, { 4, 2e9 },
    };

    const double fine[5] = { 2, 16, 8192, 0, 4096 };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double in[5];
        memcpy(in, fine, sizeof in);
        in[bad[i].which] = bad[i].value;
        model m = mel(in);
        refuse(&m, "has values that are out of range");
    }
    model m = mel(fine);
    put_int_attribute(&m.node, "output_datatype", OX_INT64);
    refuse(&m, "of a type that is no float");
    m = mel(fine);
    check_known(&m, 18, (float[18]){ 1, 0, 0.5f, 0.5f, 0, 1, 0, 0.5f });
}

// Of the text 2 3 5 2 3 5: n_counts lengths of n-grams begin at counts in the pool.
static model grams(int n_pool, const int64_t *pool, int n_counts, const int64_t *counts,
                   int n_places, const int64_t *places)
{
    model m = begin("TfIdfVectorizer", "1", "ids", "y");
    add_numbers(&m, "ids", 6, (int64_t[]){ 2, 3, 5, 2, 3, 5 });
    put_text_attribute(&m.node, "mode", "TF");
    put_ints_attribute(&m.node, "pool_int64s", n_pool, pool);
    put_ints_attribute(&m.node, "ngram_counts", n_counts, counts);
    put_ints_attribute(&m.node, "ngram_indexes", n_places, places);
    return m;
}

// Also where the pool has one length alone, and where longer ones are asked for than it has.
static void test_grams(void)
{
    const int64_t pool[5] = { 2, 3, 5, 3, 5 }, none[3] = { 0, 0, 0 }, pairs[2] = { 0, 3 };
    const int64_t places[4] = { 3, 1, 0, 2 };
    model m = grams(3, pool, 3, none, 1, none);
    put_int_attribute(&m.node, "min_gram_length", 3);
    put_int_attribute(&m.node, "max_gram_length", 3);
    check_known(&m, 1, (float[]){ 2 });
    m = grams(5, pool, 2, pairs, 4, places);
    put_int_attribute(&m.node, "max_gram_length", 4);
    check_known(&m, 4, (float[]){ 2, 2, 2, 2 });
    m = grams(5, pool, 2, pairs, 4, places);
    check_known(&m, 4, (float[]){ 2, 2, 0, 2 });
    m = grams(5, (int64_t[]){ 9, 2, 5, 2, 2 }, 2, (int64_t[]){ 0, 1 }, 3, places);
    put_int_attribute(&m.node, "min_gram_length", 2);
    put_int_attribute(&m.node, "max_gram_length", 2);
    put_int_attribute(&m.node, "max_skip_count", 2);
    check_known(&m, 4, (float[]){ 1, 2, 0, 0 });
}

static void test_grams_that_are_not_sound(void)
{
    static const struct {
        int n_pool, n_counts;
        int64_t counts[3];
        int n_places;
        int64_t place;
    } bad[] = {
        { 5, 0, { 0 }, 0, 0 },                                 // no length at all
        { 5, 1, { 1 }, 4, 0 },                                 // what is in front of the first
        { 5, 3, { 0, 4, 2 }, 4, 0 },                           // back again
        { 5, 2, { 0, -1 }, 4, 0 },   { 5, 2, { 0, 6 }, 6, 0 }, // beyond the pool
        { 5, 2, { 0, 4 }, 4, 0 },                              // half a pair
        { 5, 1, { 0 }, 4, 0 },                                 // too few places
        { 5, 1, { 0 }, 5, -1 },      { 5, 1, { 0 }, 5, (1 << 20) + 1 },
    };

    const int64_t pool[5] = { 2, 3, 5, 3, 5 };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t places[6] = { 0, 1, 2, 3, 4, 5 };
        places[0] = bad[i].place;
        model m
            = grams(bad[i].n_pool, pool, bad[i].n_counts, bad[i].counts, bad[i].n_places, places);
        refuse(&m, "has n-grams that are not sound");
    }
    static const char *const name[3] = { "min_gram_length", "max_gram_length", "max_skip_count" };
    const int64_t lengths[3][3] = { { 0, 1, 0 }, { 1, 65, 0 }, { 1, 1, -1 } };
    for (int i = 0; i < 4; i++) {
        model m = grams(5, pool, 1, (int64_t[]){ 0 }, 5, (int64_t[]){ 0, 1, 2, 3, 4 });
        for (int k = 0; k < 3; k++)
            put_int_attribute(&m.node, name[k], i < 3 ? lengths[i][k] : k == 0 ? 2 : k == 1);
        refuse(&m, "has lengths that are out of range");
    }
}

// ---- Steps of optimizers ------------------------------------------------------------------------

// A step t of two weights, of which the second has no gradient.
static model optimizer(const char *op, int64_t t, const char *inputs, const char *outputs)
{
    model m = begin(op, "2", inputs, outputs);
    m.domain = "ai.onnx.preview.training";
    add_scalar(&m, "r", 0.5f);
    add_number(&m, "t", t);
    add_floats(&m, "g", 2, (float[]){ 2, 0 });
    add_floats(&m, "v", 2, (float[]){ 0, 0 });
    add_floats(&m, "h", 2, (float[]){ 0, 0 });
    return m;
}

// Without attributes: those of the standard hold, and no weight without a gradient is divided by 0.
static void test_optimizers_by_default(void)
{
    const float x[2] = { 1, 3 };
    model m = optimizer("Adam", 0, "r t x g v h", "y v2 h2");
    float v = (1 - 0.9f) * 2, h = (1 - 0.999f) * 4;
    check(&m, x, (float[]){ 1 - 0.5f * v / (sqrtf(h) + 1e-6f), 3 }, NULL, 2);
    m = optimizer("Adam", 2, "r t x g v h", "y v2 h2");
    float rate = 0.5f * sqrtf(1 - 0.999f * 0.999f) / (1 - 0.9f * 0.9f);
    check(&m, x, (float[]){ 1 - rate * v / (sqrtf(h) + 1e-6f), 3 }, NULL, 2);
    m = optimizer("Adagrad", 7, "r t x g h", "y h2");
    check(&m, x, (float[]){ 1 - 0.5f * 2 / (2 + 1e-6f), 3 }, (float[]){ 4, 0 }, 2);
    m = optimizer("Adam", 0, "r t x g v", "y v2");
    refuse(&m, "has a wrong number of inputs");
}

static void test_optimizers_with_attributes(void)
{
    const float x[2] = { 1, 4 }; // gradients with the norm: 2.5 and 2
    model m = optimizer("Adam", 0, "r t x g v h", "y v2 h2");
    put_float_attribute(&m.node, "alpha", 0.5f);
    put_float_attribute(&m.node, "beta", 0.75f);
    put_float_attribute(&m.node, "epsilon", 1);
    put_float_attribute(&m.node, "norm_coefficient", 0.5f);
    put_float_attribute(&m.node, "norm_coefficient_post", 0.25f);
    check(&m, x, (float[]){ 0.75f * (1 - 0.5f * 1.25f / 2.25f), 0.75f * (4 - 0.5f / 2) },
          (float[]){ 1.25f, 1 }, 2);
    m = optimizer("Adagrad", 2, "r t x g h", "y h2");
    put_float_attribute(&m.node, "decay_factor", 0.5f);
    put_float_attribute(&m.node, "epsilon", 1);
    put_float_attribute(&m.node, "norm_coefficient", 0.5f);
    check(&m, x, (float[]){ 1 - 0.25f * 2.5f / 3.5f, 4 - 0.25f * 2 / 3 }, (float[]){ 6.25f, 4 }, 2);
    for (int t = 0; t < 2; t++) { // beta counts from the second step on
        m = optimizer("Momentum", t, "r t x g g", "y v2");
        put_float_attribute(&m.node, "alpha", 0.5f);
        put_float_attribute(&m.node, "beta", 0.25f);
        put_float_attribute(&m.node, "norm_coefficient", 0.5f);
        put_text_attribute(&m.node, "mode", t ? "nesterov" : "standard");
        const float first[2] = { 3.5f, 2 }, second[2] = { 1.625f, 0.5f };
        const float standard[2] = { 1 - 0.5f * 3.5f, 4 - 0.5f * 2 };
        const float nesterov[2] = { 1 - 0.5f * (2.5f + 0.8125f), 4 - 0.5f * (2 + 0.25f) };
        check(&m, x, t ? nesterov : standard, t ? second : first, 2);
    }
}

// ---- Tensors without elements -------------------------------------------------------------------

// The shape of the op of a and b, which are constants of these dimensions.
static model shape_of_pair(const char *op, const char *a, const char *b)
{
    static const float values[64] = { 0 };
    model m = begin("Shape", "1", "c", "y");
    add_tensor(&m, "a", a, values);
    add_tensor(&m, "b", b, values);
    put_message(&m.graph, 1, node(op, "a b", "c"));
    return m;
}

static void test_shapes_of_nothing(void)
{
    model m = shape_of_pair("Add", "1 0", "3 1");
    check_known(&m, 2, (float[]){ 3, 0 });
    m = shape_of_pair("Add", "0", "3 2 1");
    check_known(&m, 3, (float[]){ 3, 2, 0 });
    m = shape_of_pair("Add", "3 2 1", "0");
    check_known(&m, 3, (float[]){ 3, 2, 0 });
    m = shape_of_pair("Add", "2 0", "3 0");
    refuse(&m, "ONNX Add (c): its inputs do not broadcast");
    m = shape_of_pair("Add", "2 0", "2 3");
    refuse(&m, "its inputs do not broadcast");
    m = shape_of_pair("MatMul", "1 4 0 2", "3 1 2 5");
    check_known(&m, 4, (float[]){ 3, 4, 0, 5 });
    m = shape_of_pair("MatMul", "2 2 0", "3 0 3");
    refuse(&m, "ONNX MatMul (c): its inputs do not broadcast");
    m = shape_of_pair("MatMul", "2 0", "4 3");
    refuse(&m, "ONNX MatMul (c): its inputs do not fit");
    m = shape_of_pair("MatMul", "0", "0 3");
    refuse(&m, "ONNX MatMul (c): its inputs do not fit");
}

// A product over nothing is 0.
static void test_product_of_nothing(void)
{
    const float zeros[6] = { 0 };
    model m = begin("MatMul", "1", "a b", "y");
    add_tensor(&m, "a", "2 0", NULL);
    add_tensor(&m, "b", "0 3", NULL);
    check_known(&m, 6, zeros);
}

static model slice_of_nothing(const char *starts, const int64_t *axes, int64_t step)
{
    char inputs[60];
    model m = begin("Shape", "1", "c", "y");
    wire cast = node("Cast", "x", "unknown");
    snprintf(inputs, sizeof inputs, "a %s ends axes steps", starts);
    put_int_attribute(&cast, "to", OX_INT64);
    add_tensor(&m, "a", "0 6", NULL);
    add_numbers(&m, "one", 1, &(int64_t){ 1 });
    add_numbers(&m, "two", 2, (int64_t[]){ 0, 1 });
    add_numbers(&m, "ends", 2, (int64_t[]){ 9, 5 });
    add_numbers(&m, "axes", 2, axes);
    add_numbers(&m, "steps", 2, (int64_t[]){ 1, step });
    put_message(&m.graph, 1, cast);
    put_message(&m.graph, 1, node("Slice", inputs, "c"));
    return m;
}

static void test_slices_of_nothing(void)
{
    const int64_t both[2] = { 0, -1 }, beyond[2] = { 0, 2 };
    model m = slice_of_nothing("two", both, 2);
    check_known(&m, 2, (float[]){ 0, 2 });
    m = slice_of_nothing("two", both, 0);
    refuse(&m, "ONNX Slice (c): a step cannot be 0");
    m = slice_of_nothing("two", beyond, 1);
    refuse(&m, "ONNX Slice (c): axis 2 is out of range for 2 dimensions");
    m = slice_of_nothing("one", both, 1);
    refuse(&m, "starts, ends, axes and steps must be equally many");
    m = slice_of_nothing("unknown", both, 1);
    refuse(&m, "ONNX Slice (c): its starts must be known while tracing, but depends on input x");
}

// ---- Determinants -------------------------------------------------------------------------------

// Of its own matrix alone, whatever lies behind it.
static void test_determinant(void)
{
    double m[6] = { 1, 2, 3, 4, 100, 200 }, turned[6] = { 0, 2, 3, 4, -7, 8 };
    double flat[6] = { 1, 2, 2, 4, 5, 6 };
    CHECK(fabs(ox_det_of(m, 2) + 2) < 1e-12 && m[4] == 100 && m[5] == 200);
    CHECK(ox_det_of(turned, 2) == -6 && turned[4] == -7);
    CHECK(ox_det_of(flat, 2) == 0 && flat[4] == 5);
}

// ---- Padding ------------------------------------------------------------------------------------

static void check_pad(const char *mode, int64_t before, int64_t after, const float *want, size_t n)
{
    const float x[5] = { 1, 2, 3, 4, 5 };
    model m = begin("Pad", "1 5", "x pads", "y");
    m.opset = 19;
    add_numbers(&m, "pads", 4, (int64_t[]){ 0, before, 0, after });
    put_text_attribute(&m.node, "mode", mode);
    check(&m, x, want, NULL, n);
}

// Negative sides cut; what is left is what the other side repeats.
static void test_pad(void)
{
    check_pad("wrap", -1, 3, (float[]){ 2, 3, 4, 5, 2, 3, 4 }, 7);
    check_pad("wrap", 5, -1, (float[]){ 4, 1, 2, 3, 4, 1, 2, 3, 4 }, 9);
    check_pad("wrap", -1, -1, (float[]){ 2, 3, 4 }, 3);
    check_pad("reflect", -2, 2, (float[]){ 3, 4, 5, 4, 3 }, 5);
    check_pad("reflect", 2, -2, (float[]){ 3, 2, 1, 2, 3 }, 5);
    check_pad("edge", -2, 1, (float[]){ 3, 4, 5, 5 }, 4);
    check_pad("constant", -2, 1, (float[]){ 3, 4, 5, 0 }, 4);
    check_pad("constant", 6, -5, (float[]){ 0, 0, 0, 0, 0, 0 }, 6);
    model m = begin("Pad", "1 5", "x pads", "y");
    m.opset = 19;
    add_numbers(&m, "pads", 4, (int64_t[]){ 0, -5, 0, 6 });
    put_text_attribute(&m.node, "mode", "wrap");
    CHECK(!import(&m) && says(m.s, "leave no elements to repeat"));
    end(&m);
}

// ---- ai.onnx.ml ---------------------------------------------------------------------------------

static void put_texts_attribute(wire *node, const char *name, const char *words)
{
    wire a = { 0 };
    put_text(&a, 1, name);
    put_words(&a, 9, words);
    put_int(&a, 20, 8);
    put_message(node, 5, a);
}

static void put_floats_attribute(wire *node, const char *name, int n, const float *values)
{
    wire a = { 0 };
    put_text(&a, 1, name);
    for (int i = 0; i < n; i++)
        put_float(&a, 7, values[i]);
    put_int(&a, 20, 6);
    put_message(node, 5, a);
}

// A tree of three branches and four leaves, of which nodes lead to these: x0 <= 1, then x1 < 2, or
// x0 is a NaN or 5.
static model tree_of(const int64_t *yes, const int64_t *no, int64_t feature)
{
    const int64_t tree[7] = { 0 }, node[7] = { 9, 8, 7, 6, 5, 4, 3 };
    const int64_t features[7] = { 0, feature, 0, 0, 0, 0, 0 }, nan_holds[7] = { 0, 0, 1 };
    const int64_t leaf[5] = { 6, 5, 4, 3, 6 }, target[5] = { 0, 1, 0, 1, 1 };
    const float limit[7] = { 1, 2, 5 }, weight[5] = { 10, 20, 30, 40, 50 };
    model m = begin("TreeEnsembleRegressor", "4 2", "x", "y");
    m.domain = "ai.onnx.ml";
    put_ints_attribute(&m.node, "nodes_treeids", 7, tree);
    put_ints_attribute(&m.node, "nodes_nodeids", 7, node);
    put_ints_attribute(&m.node, "nodes_featureids", 7, features);
    put_ints_attribute(&m.node, "nodes_truenodeids", 7, yes);
    put_ints_attribute(&m.node, "nodes_falsenodeids", 7, no);
    put_ints_attribute(&m.node, "nodes_missing_value_tracks_true", 7, nan_holds);
    put_floats_attribute(&m.node, "nodes_values", 7, limit);
    put_texts_attribute(&m.node, "nodes_modes",
                        "BRANCH_LEQ BRANCH_LT BRANCH_EQ LEAF LEAF LEAF LEAF");
    put_ints_attribute(&m.node, "target_treeids", 5, tree);
    put_ints_attribute(&m.node, "target_nodeids", 5, leaf);
    put_ints_attribute(&m.node, "target_ids", 5, target);
    put_floats_attribute(&m.node, "target_weights", 5, weight);
    put_int_attribute(&m.node, "n_targets", 2);
    return m;
}

static void test_trees(void)
{
    const int64_t yes[7] = { 8, 6, 4 }, no[7] = { 7, 5, 3 };
    const float x[8] = { 1, 1, 1, 2, nan_, 0, 7, 0 };
    const float want[8] = { 10, 50, 0, 20, 30, 0, 0, 40 };
    model m = tree_of(yes, no, 1);
    check(&m, x, want, NULL, 8);

    m = tree_of(yes, no, 2);
    refuse(&m, "asks for feature 2 of x, which has 2");
    m = tree_of(yes, no, -1);
    refuse(&m, "node 1 leads to a node or a feature that does not exist");
    m = tree_of(yes, (const int64_t[7]){ 7, 2, 3 }, 1);
    refuse(&m, "node 1 leads to a node or a feature that does not exist");
    m = tree_of((const int64_t[7]){ 6, 6, 4 }, no, 1);
    refuse(&m, "tree 0 has 2 roots");
}

// One branch: what is at most 1 goes to it again, all else to a leaf of weight 7. A row in a circle
// ends the run.
static void test_trees_in_circles(void)
{
    for (int circle = 0; circle < 2; circle++) {
        const int64_t zero = 0, one = 1;
        const float seven = 7, x[2] = { 2, circle ? 1 : 3 }, want[2] = { 7, 7 };
        const uint8_t mode = 0;
        float y[2][MOST] = { { 0 } };
        model m = begin("TreeEnsemble", "2 1", "x", "y");
        m.domain = "ai.onnx.ml";
        m.version = 5;
        put_ints_attribute(&m.node, "tree_roots", 1, &zero);
        put_tensor_attribute(&m.node, "nodes_modes", tensor_of("m", OX_UINT8, 1, 1, &mode, 1));
        put_tensor_attribute(&m.node, "nodes_splits",
                             tensor_of("s", OX_FLOAT, 1, 1, &(float){ 1 }, sizeof(float)));
        put_tensor_attribute(&m.node, "leaf_weights",
                             tensor_of("w", OX_FLOAT, 1, 1, &seven, sizeof seven));
        put_ints_attribute(&m.node, "nodes_featureids", 1, &zero);
        put_ints_attribute(&m.node, "nodes_truenodeids", 1, &zero);
        put_ints_attribute(&m.node, "nodes_falsenodeids", 1, &zero);
        put_ints_attribute(&m.node, "nodes_trueleafs", 1, &zero);
        put_ints_attribute(&m.node, "nodes_falseleafs", 1, &one);
        put_ints_attribute(&m.node, "leaf_targetids", 1, &zero);
        put_int_attribute(&m.node, "n_targets", 1);
        if (circle) {
            bool fine = run(&m, x, y);
            CHECK(!fine && samba_error_code(m.s) == SAMBA_ERANGE);
            end(&m);
        } else {
            check(&m, x, want, NULL, 2);
        }
    }
}

// Zero points of another type than the codes are refused, not read as bytes.
static void test_zero_of_another_type(void)
{
    const uint8_t codes[2] = { 1, 2 };
    for (int wait = 0; wait < 2; wait++) {
        model m = begin(wait ? "DequantizeLinear" : "QLinearSigmoid", "1",
                        wait ? "c s z" : "c s z s z", "y");
        if (!wait) m.domain = "com.microsoft";
        put_message(&m.graph, 5, shaped_tensor("c", OX_UINT8, "2", codes, sizeof codes));
        add_scalar(&m, "s", 0.5f);
        add_scalar(&m, "z", 3);
        refuse(&m, wait ? "float is used where uint8 or int8 is needed" : "float");
    }
}

static void test_zip_map(void)
{
    model m = begin("ZipMap", "2 2", "x", "y");
    m.domain = "ai.onnx.ml";
    float y[2][MOST];
    const float x[4] = { 1, 2, 3, 4 };
    CHECK(run(&m, x, y));
    CHECK_CLOSE(y[0], x, 4, 0, 0);
    CHECK(strstr(m.g.note, "ZipMap is left out"));
    end(&m);
}

// ---- Large weights of 8 bits --------------------------------------------------------------------

// They are read when a node asks for them: by a product, and by a node that wants them as integers.
static void test_large_bytes(void)
{
    enum { SIDE = 512, ROW = 3 };

    static int8_t w[SIDE * SIDE];
    static float x[SIDE], y[2][MOST], want[2][MOST];
    const int64_t row = ROW;
    for (int i = 0; i < SIDE * SIDE; i++)
        w[i] = (int8_t)(i * 7 % 251 - 125);
    for (int i = 0; i < SIDE; i++) {
        x[i] = (float)(i % 256); // codes of scale 1
        for (int j = 0; j < MOST; j++)
            want[0][j] += x[i] * (float)w[i * SIDE + j];
    }
    for (int j = 0; j < MOST; j++)
        want[1][j] = w[ROW * SIDE + j];

    model m = begin("Cast", "1 512", "i", "y");
    wire picked = node("Cast", "some", "r");
    put_int_attribute(&m.node, "to", OX_FLOAT);
    put_int_attribute(&picked, "to", OX_FLOAT);
    put_message(&m.graph, 12, value_info("r", OX_FLOAT, NULL));
    put_message(&m.graph, 5, shaped_tensor("w", OX_INT8, "512 512", w, sizeof w));
    add_number(&m, "row", row);
    put_message(&m.graph, 1, node("DynamicQuantizeLinear", "x", "q s z"));
    put_message(&m.graph, 1, node("MatMulInteger", "q w z", "i"));
    put_message(&m.graph, 1, node("Gather", "w row", "some"));
    put_message(&m.graph, 1, picked);
    CHECK(run(&m, x, y));
    for (int o = 0; o < 2; o++)
        CHECK_CLOSE(y[o], want[o], MOST, 0, 0);
    end(&m);
}

int main(void)
{
    RUN(test_top_k);
    RUN(test_arg);
    RUN(test_scatter);
    RUN(test_suppression);
    RUN(test_boxes_that_overlap);
    RUN(test_log_sum_exp);
    RUN(test_activations);
    RUN(test_gradient_of_elu);
    RUN(test_neighbours);
    RUN(test_gradients_of_functions);
    RUN(test_gradients_of_selections);
    RUN(test_gradients_of_scattering);
    RUN(test_gradients_of_sums);
    RUN(test_gradient_of_resize);
    RUN(test_attention);
    RUN(test_stages_of_attention);
    RUN(test_attention_with_one_number);
    RUN(test_casts);
    RUN(test_dynamic_products);
    RUN(test_dynamic_ranges);
    RUN(test_long_convolution);
    RUN(test_quantized_convolution);
    RUN(test_uneven_padding_of_codes);
    RUN(test_gelu_in_parts);
    RUN(test_quantized_nan);
    RUN(test_constant_log_of_zero);
    RUN(test_batch_norm_of_one_value);
    RUN(test_transposed_convolutions_of_a_batch);
    RUN(test_regions_of_images);
    RUN(test_norm_of_images);
    RUN(test_norm_of_windows);
    RUN(test_unpooling_to_a_shape);
    RUN(test_powers_of_integers);
    RUN(test_axes_that_are_not_there);
    RUN(test_windows);
    RUN(test_frequencies_out_of_range);
    RUN(test_grams);
    RUN(test_grams_that_are_not_sound);
    RUN(test_optimizers_by_default);
    RUN(test_optimizers_with_attributes);
    RUN(test_shapes_of_nothing);
    RUN(test_product_of_nothing);
    RUN(test_slices_of_nothing);
    RUN(test_determinant);
    RUN(test_pad);
    RUN(test_trees);
    RUN(test_trees_in_circles);
    RUN(test_zero_of_another_type);
    RUN(test_zip_map);
    RUN(test_large_bytes);
    return test_summary();
}
