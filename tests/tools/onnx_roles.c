// What the initializers of an ONNX model become: a parameter, a buffer, a constant. It follows from
// the inputs of ops that they reach, not from their size: models made here, byte by byte.
// run: needs:onnx/onnx.proto needs:protobuf-c/protobuf-c.h onnx -lprotobuf-c
#define _GNU_SOURCE
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_ONNX_IMPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_import.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include "tests/tools/onnx/wire.h"

typedef struct net {
    samba_session *s;
    onnx_graph g;
    bool fine;
} net;

// y of x, both of these dimensions: a graph without nodes.
static wire begin(const char *dims)
{
    wire g = { 0 };
    put_text(&g, 2, "g");
    put_message(&g, 11, value_info("x", OX_FLOAT, dims));
    put_message(&g, 12, value_info("y", OX_FLOAT, NULL));
    return g;
}

// An initializer 0.5, 0.75 ... or, if each is given, of this value: dims are "2 3", "" a scalar.
static void init(wire *g, const char *name, const char *dims, const float *each)
{
    float values[256];
    size_t n = elements_of(dims);
    for (size_t i = 0; i < n; i++)
        values[i] = each ? *each : 0.5f + 0.25f * (float)i;
    put_message(g, 5, shaped_tensor(name, OX_FLOAT, dims, values, n * sizeof *values));
}

static void numbers(wire *g, const char *name, int64_t n, const int64_t *values)
{
    put_message(g, 5, tensor_of(name, OX_INT64, 1, n, values, (size_t)n * 8));
}

static void add(wire *g, const char *op, const char *inputs, const char *outputs)
{
    put_message(g, 1, node(op, inputs, outputs));
}

static net open_model(wire model, const onnx_options *options)
{
    net n = { .s = samba_open(&(samba_desc){ .threads = 1, .quiet = true }) };
    n.fine = onnx_register_ops(n.s) && onnx_trace_bytes(n.s, model.at, model.n, options, &n.g);
    if (!n.fine) printf("%s\n", samba_error(n.s));
    CHECK(n.fine);
    free(model.at);
    return n;
}

static void end(net *n)
{
    onnx_release(&n->g);
    samba_clear_error(n->s);
    samba_close(n->s);
}

// The names of all parameters, or of all buffers: "a b ".
static const char *names(const net *n, int role)
{
    static char text[2][400];
    char *to = text[role == SAMBA__STATE];
    *to = 0;
    for (int32_t i = 0; i < samba__n_tensors(n->s); i++) {
        const samba_tensor *t = n->s->trace.tensors[i];
        if (t->role == role) snprintf(to + strlen(to), 400 - strlen(to), "%s ", t->name);
    }
    return to;
}

static void check_names(const net *n, const char *parameters, const char *buffers)
{
    const char *p = names(n, SAMBA__WEIGHT), *b = names(n, SAMBA__STATE);
    if (strcmp(p, parameters)) printf("parameters %s, not %s\n", p, parameters);
    if (strcmp(b, buffers)) printf("buffers %s, not %s\n", b, buffers);
    CHECK(!strcmp(p, parameters) && !strcmp(b, buffers));
}

// The same of a graph, which is freed.
static void check_graph(wire graph, const char *parameters, const char *buffers)
{
    net n = open_model(model_of(graph, 17), NULL);
    check_names(&n, parameters, buffers);
    end(&n);
}

// Compiles with the sum of y y as the loss, and takes one step of SGD with weight decay.
static void train(net *n)
{
    float x[64];
    samba_tensor *y = n->fine ? n->g.out[0].tensor : NULL;
    samba_tensor *loss = samba_sum(samba_mul(y, y), SAMBA_ALL_AXES, false);
    samba_program p = { .loss = loss,
                        .outputs = { y },
                        .optim = { .kind = SAMBA_SGD, .lr = 0.125f, .weight_decay = 0.5f } };
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i % 3) - 0.5f;
    bool fine = samba_compile(n->s, &p) && samba_write(n->g.in[0].tensor, x)
        && samba_run(n->s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    if (!fine) printf("%s\n", samba_error(n->s));
    CHECK(fine);
}

static float first_of(const net *n, const char *name)
{
    const float *p = samba_read(samba_tensor_by_name(n->s, name));
    return p ? *p : NAN;
}

// ---- By use, not by size ------------------------------------------------------------------------

static void test_small_and_large(void)
{
    wire g = begin("2 4"), gemm = node("Gemm", "x w b", "h");
    put_int_attribute(&gemm, "transB", 1);
    init(&g, "w", "3 4", NULL);
    init(&g, "b", "3", NULL);
    init(&g, "slope", "1", NULL);
    init(&g, "scale", "", NULL);
    init(&g, "wide", "64 3", NULL);
    put_message(&g, 1, gemm);
    add(&g, "PRelu", "h slope", "r");
    add(&g, "Mul", "r scale", "m");
    add(&g, "Transpose", "wide", "t");
    add(&g, "MatMul", "m t", "y");
    check_graph(g, "w b slope scale wide ", "");
}

static wire batch_norm(wire *g, const char *mean, const char *var)
{
    char in[100];
    init(g, "scale", "2", NULL);
    init(g, "bias", "2", NULL);
    snprintf(in, sizeof in, "x scale bias %s %s", mean, var);
    return node("BatchNormalization", in, "y");
}

static void test_statistics(void)
{
    wire g = begin("2 2 3");
    init(&g, "mean", "2", NULL);
    init(&g, "var", "2", NULL);
    put_message(&g, 1, batch_norm(&g, "mean", "var"));
    net n = open_model(model_of(g, 17), NULL);
    check_names(&n, "scale bias ", "mean var ");
    train(&n);
    CHECK(first_of(&n, "mean") == 0.5f && first_of(&n, "var") == 0.5f);
    CHECK(first_of(&n, "scale") != 0.5f && first_of(&n, "bias") != 0.5f);
    end(&n);
}

// The same through ops that only carry a value on.
static void test_through_other_ops(void)
{
    wire g = begin("2 2 3"), cast = node("Cast", "mean", "m1"),
         turn = node("Transpose", "m2", "m3");
    put_int_attribute(&cast, "to", OX_FLOAT);
    init(&g, "mean", "1 2", NULL);
    init(&g, "var", "2", NULL);
    init(&g, "w", "3", NULL);
    numbers(&g, "two", 1, &(int64_t){ 2 });
    numbers(&g, "zero", 1, &(int64_t){ 0 });
    put_message(&g, 1, cast);
    add(&g, "Identity", "m1", "m2");
    put_message(&g, 1, turn);
    add(&g, "Reshape", "m3 two", "m4");
    add(&g, "Unsqueeze", "var zero", "v1");
    add(&g, "Squeeze", "v1 zero", "v2");
    add(&g, "Add", "v2 v2", "v3");
    put_message(&g, 1, batch_norm(&g, "m4", "v3"));
    add(&g, "Unsqueeze", "w zero", "w1");
    add(&g, "Identity", "w1", "w2");
    add(&g, "Mul", "x w2", "unread");
    check_graph(g, "scale bias ", "mean var ");
    g = begin("2 3");
    init(&g, "w", "3", NULL);
    numbers(&g, "zero", 1, &(int64_t){ 0 });
    add(&g, "Unsqueeze", "w zero", "w1");
    add(&g, "Identity", "w1", "w2");
    add(&g, "Mul", "x w2", "y");
    check_graph(g, "w ", "");
}

// A threshold is read, and never trained; what is compared is, by its other use.
static void test_thresholds(void)
{
    wire g = begin("2 3");
    init(&g, "limit", "3", NULL);
    init(&g, "low", "3", NULL);
    init(&g, "w", "3", NULL);
    add(&g, "Mul", "x w", "h");
    add(&g, "Greater", "h limit", "above");
    add(&g, "Where", "above h low", "y");
    check_graph(g, "low w ", "limit ");
    g = begin("2 3");
    init(&g, "limit", "3", NULL);
    add(&g, "Greater", "x limit", "y");
    check_graph(g, "", "limit ");
}

// The first state of a recurrent layer is zeros in most models, which nobody trains.
static void test_first_state(void)
{
    wire g = begin("2 1 3"), lstm = node("LSTM", "x w r b", "y");
    put_bytes(&lstm, 1, "", 0);
    put_words(&lstm, 1, "h c p");
    put_int_attribute(&lstm, "hidden_size", 2);
    init(&g, "w", "1 8 3", NULL);
    init(&g, "r", "1 8 2", NULL);
    init(&g, "b", "1 16", NULL);
    init(&g, "h", "1 1 2", NULL);
    init(&g, "c", "1 1 2", NULL);
    init(&g, "p", "1 6", NULL);
    put_message(&g, 1, lstm);
    check_graph(g, "w r b p ", "h c ");
}

// Nothing infinite is trained: a mask is a buffer, which a checkpoint holds.
static void test_mask(void)
{
    wire g = begin("4 4");
    float infinite = -INFINITY;
    init(&g, "mask", "4 4", &infinite);
    add(&g, "Add", "x mask", "s");
    add(&g, "Softmax", "s", "y");
    net n = open_model(model_of(g, 17), NULL);
    check_names(&n, "", "mask ");
    samba_program p = { .inference = true, .pef = "build/onnx_roles.pef" };
    CHECK(onnx_set_outputs(&n.g, &p) && samba_compile(n.s, &p));
    CHECK(samba_save(n.s, "build/onnx_roles.ckpt"));
    end(&n);
}

// ---- Constants ----------------------------------------------------------------------------------

// Scales that are computed of initializers decide a shape, and one of these is trained besides.
static void test_known_while_tracing(void)
{
    wire g = begin("1 1 2 2"), resize = node("Resize", "h  scales", "y");
    const float one = 1, two = 2;
    wire join = node("Concat", "ones big", "scales");
    put_int_attribute(&join, "axis", 0);
    init(&g, "two", "1", &two);
    init(&g, "one", "3", &one);
    add(&g, "Mul", "one two", "twos");
    add(&g, "Div", "twos two", "ones");
    add(&g, "Add", "two two", "big");
    put_message(&g, 1, join);
    add(&g, "Mul", "x two", "h");
    put_message(&g, 1, resize);
    net n = open_model(model_of(g, 17), NULL);
    check_names(&n, "two ", "");
    CHECK(n.fine && n.g.out[0].tensor->shape.dim[3] == 8 && n.g.out[0].tensor->shape.dim[2] == 2);
    end(&n);
}

// Limits and exponents are numbers of the op.
static void test_numbers_of_ops(void)
{
    wire g = begin("2 3");
    const float two = 2;
    init(&g, "low", "", NULL);
    init(&g, "two", "", &two);
    init(&g, "powers", "3", &two);
    add(&g, "Clip", "x low", "c");
    add(&g, "Pow", "c two", "p");
    add(&g, "Pow", "p powers", "y");
    check_graph(g, "powers ", "");
}

// ---- Shared -------------------------------------------------------------------------------------

// One initializer in two nodes is one parameter: its gradient is that of both.
static void test_shared(void)
{
    wire g = begin("2 3");
    init(&g, "w", "3", NULL);
    add(&g, "Mul", "x w", "a");
    add(&g, "Add", "a w", "y");
    net n = open_model(model_of(g, 17), NULL);
    check_names(&n, "w ", "");
    train(&n); // x -0.5 and -0.5: y 0.25 twice, dw = 2 (2 y (x + 1)) + 0.25
    CHECK(first_of(&n, "w") == 0.5f - 0.125f * (2 * 2 * 0.25f * 0.5f + 0.25f));
    end(&n);
}

// A scale that is the variance, too: one is trained, the other stays.
static void test_trained_and_statistics(void)
{
    wire g = begin("2 2 3");
    init(&g, "ones", "2", &(float){ 1 });
    init(&g, "zeros", "2", &(float){ 0 });
    add(&g, "BatchNormalization", "x ones zeros zeros ones", "y");
    net n = open_model(model_of(g, 17), NULL);
    check_names(&n, "ones zeros ", "ones__state zeros__state ");
    train(&n);
    float one = first_of(&n, "ones"), zero = first_of(&n, "zeros");
    CHECK(first_of(&n, "ones__state") == 1 && one != 1);
    CHECK(samba_run(n.s, SAMBA_FWD));
    float y = *samba_read(n.g.out[0].tensor); // x is -0.5, mean and variance still 0 and 1
    CHECK(fabsf(y - (-0.5f / sqrtf(1 + 1e-5f) * one + zero)) < 1e-6f);
    end(&n);
}

// PyTorch's exporter joins equal initializers by Identity: those all of one value were not tied.
static void test_identities(void)
{
    wire g = begin("2 3");
    init(&g, "a.bias", "3", &(float){ 0 });
    init(&g, "table", "3", NULL);
    add(&g, "Identity", "a.bias", "b.bias");
    add(&g, "Identity", "b.bias", "c.bias");
    add(&g, "Identity", "table", "last");
    add(&g, "Add", "x a.bias", "h1");
    add(&g, "Add", "h1 b.bias", "h2");
    add(&g, "Mul", "h2 table", "h3");
    add(&g, "Mul", "h3 last", "h4");
    add(&g, "Add", "h4 c.bias", "y");
    check_graph(g, "a.bias table b.bias c.bias ", "");
    g = begin("2 2 3");
    init(&g, "n.weight", "2", &(float){ 1 });
    init(&g, "n.bias", "2", &(float){ 0 });
    add(&g, "Identity", "n.weight", "n.var");
    add(&g, "Identity", "n.bias", "n.mean");
    add(&g, "BatchNormalization", "x n.weight n.bias n.mean n.var", "y");
    check_graph(g, "n.weight n.bias ", "n.var n.mean ");
}

// ---- Bodies and functions -----------------------------------------------------------------------

// y = h (op) w, w an initializer of the body.
static wire body(const char *op, const char *h, float value)
{
    wire g = { 0 };
    char in[40];
    put_text(&g, 2, "body");
    init(&g, "w", "3", &value);
    snprintf(in, sizeof in, "%s w", h);
    add(&g, op, in, op);
    put_message(&g, 12, value_info(op, OX_FLOAT, NULL));
    return g;
}

// Two branches have a w each, and read a parameter from outside.
static void test_branches(void)
{
    wire g = begin("2 3"), choice = node("If", "cond", "y");
    init(&g, "v", "3", NULL);
    numbers(&g, "all", 2, (int64_t[]){ 0, 1 });
    add(&g, "Mul", "x v", "h");
    add(&g, "ReduceMax", "h", "most");
    wire flat = node("Reshape", "most empty", "scalar");
    numbers(&g, "empty", 0, NULL);
    put_message(&g, 1, flat);
    wire cast = node("Cast", "scalar", "cond");
    put_int_attribute(&cast, "to", OX_BOOL);
    put_message(&g, 1, cast);
    put_graph_attribute(&choice, "then_branch", body("Mul", "h", 2));
    put_graph_attribute(&choice, "else_branch", body("Add", "h", 9));
    put_message(&g, 1, choice);
    net n = open_model(model_of(g, 17), NULL);
    CHECK(!strcmp(names(&n, SAMBA__WEIGHT), "v w w__2 "));
    train(&n);
    CHECK(first_of(&n, "w") != 2 && first_of(&n, "w__2") != 2 && first_of(&n, "v") != 0.5f);
    end(&n);
}

// A loop of three turns: its w is one parameter, what is carried another, a limit stays a constant.
static void test_loop(void)
{
    wire g = begin("2 3"), loop = node("Loop", "turns  ", "y"), b = { 0 };
    const int64_t three = 3;
    put_bytes(&loop, 1, "start", 5);
    put_text(&b, 2, "body");
    put_message(&b, 11, value_info("i", OX_INT64, ""));
    put_message(&b, 11, value_info("going", OX_BOOL, ""));
    put_message(&b, 11, value_info("h", OX_FLOAT, NULL));
    init(&b, "w", "3", NULL);
    init(&b, "low", "", &(float){ -9 });
    add(&b, "Mul", "h w", "m");
    add(&b, "Clip", "m low", "c");
    add(&b, "Add", "c x", "next");
    add(&b, "Identity", "going", "still");
    put_message(&b, 12, value_info("still", OX_BOOL, NULL));
    put_message(&b, 12, value_info("next", OX_FLOAT, NULL));
    put_graph_attribute(&loop, "body", b);
    put_message(&g, 5, tensor_of("turns", OX_INT64, 0, 0, &three, sizeof three));
    init(&g, "start", "2 3", NULL);
    put_message(&g, 1, loop);
    net n = open_model(model_of(g, 17), NULL);
    check_names(&n, "start w ", "");
    train(&n);
    CHECK(first_of(&n, "w") != 0.5f && first_of(&n, "start") != 0.5f);
    end(&n);
}

// What reaches the output a turn later: a' = a w, b' = a, and only b is read.
static void test_loop_carries_on(void)
{
    wire g = begin("2 3"), loop = node("Loop", "turns", ""), b = { 0 };
    const int64_t two = 2;
    put_bytes(&loop, 1, "", 0);
    put_words(&loop, 1, "first second");
    put_bytes(&loop, 2, "", 0);
    put_text(&loop, 2, "last");
    put_message(&b, 11, value_info("i", OX_INT64, ""));
    put_message(&b, 11, value_info("going", OX_BOOL, ""));
    put_message(&b, 11, value_info("a", OX_FLOAT, NULL));
    put_message(&b, 11, value_info("b", OX_FLOAT, NULL));
    init(&b, "w", "3", NULL);
    add(&b, "Mul", "a w", "a2");
    add(&b, "Identity", "a", "b2");
    add(&b, "Identity", "going", "still");
    put_message(&b, 12, value_info("still", OX_BOOL, NULL));
    put_message(&b, 12, value_info("a2", OX_FLOAT, NULL));
    put_message(&b, 12, value_info("b2", OX_FLOAT, NULL));
    put_graph_attribute(&loop, "body", b);
    put_message(&g, 5, tensor_of("turns", OX_INT64, 0, 0, &two, sizeof two));
    init(&g, "first", "2 3", NULL);
    init(&g, "second", "2 3", NULL);
    put_message(&g, 1, loop);
    add(&g, "Mul", "x last", "y");
    net n = open_model(model_of(g, 17), NULL);
    check_names(&n, "first second w ", "");
    train(&n);
    CHECK(first_of(&n, "w") != 0.5f && first_of(&n, "first") != 0.5f);
    end(&n);
}

// A function of the model: what its inputs are for is found in it.
static void test_function(void)
{
    wire g = begin("2 2 3"), f = { 0 }, model, set = { 0 }, call = node("Norm", "x m v w", "y");
    put_text(&call, 7, "own");
    init(&g, "m", "2", NULL);
    init(&g, "v", "2", NULL);
    init(&g, "w", "2", NULL);
    put_message(&g, 1, call);
    model = model_of(g, 17);
    put_text(&set, 1, "own");
    put_int(&set, 2, 1);
    put_message(&model, 8, set);
    put_text(&f, 1, "Norm");
    put_words(&f, 4, "a mean var scale");
    put_words(&f, 5, "b");
    put_message(&f, 7, node("Identity", "mean", "mean2"));
    put_message(&f, 7, node("BatchNormalization", "a scale scale mean2 var", "b"));
    put_text(&f, 10, "own");
    put_message(&model, 25, f);
    net n = open_model(model, NULL);
    check_names(&n, "w ", "m v ");
    end(&n);
}

// ---- The caller knows better --------------------------------------------------------------------

static char asked[100];

static onnx_role choose(const char *name, onnx_role by_use, void *user)
{
    snprintf(asked + strlen(asked), sizeof asked - strlen(asked), "%s %d ", name, (int)by_use);
    CHECK(user == asked);
    return !strcmp(name, "positions") ? ONNX_BUFFER
        : !strcmp(name, "half")       ? ONNX_CONSTANT
                                      : by_use;
}

static void test_caller_chooses(void)
{
    wire g = begin("2 3");
    init(&g, "positions", "2 3", NULL);
    init(&g, "half", "", NULL);
    init(&g, "w", "3", NULL);
    init(&g, "limit", "3", NULL);
    add(&g, "Add", "x positions", "a");
    add(&g, "Mul", "a half", "b");
    add(&g, "Greater", "b limit", "above");
    add(&g, "Where", "above b w", "y");
    *asked = 0;
    net n = open_model(model_of(g, 17), &(onnx_options){ .role = choose, .role_user = asked });
    check_names(&n, "w ", "positions limit ");
    CHECK(!strcmp(asked, "positions 2 half 2 w 2 limit 1 "));
    train(&n);
    CHECK(first_of(&n, "positions") == 0.5f);
    end(&n);
}

// ---- Nodes in any order -------------------------------------------------------------------------

static void test_unsorted(void)
{
    wire g = begin("2 2 3"), choice = node("If", "yes", "y");
    const uint8_t yes = 1;
    for (int i = 0; i < 2; i++) {
        wire b = { 0 };
        add(&b, i ? "Neg" : "Relu", "inner", "out");
        add(&b, "Mul", "late w", "inner"); // behind its reader, and reads from outside
        put_message(&b, 12, value_info("out", OX_FLOAT, NULL));
        put_graph_attribute(&choice, i ? "else_branch" : "then_branch", b);
    }
    put_message(&g, 5, tensor_of("yes", OX_BOOL, 0, 0, &yes, 1));
    init(&g, "w", "3", NULL);
    init(&g, "mean", "2", NULL);
    init(&g, "var", "2", NULL);
    put_message(&g, 1, choice);
    add(&g, "BatchNormalization", "x scale bias m2 var", "late");
    add(&g, "Identity", "m1", "m2");
    add(&g, "Identity", "mean", "m1");
    init(&g, "scale", "2", NULL);
    init(&g, "bias", "2", NULL);
    net n = open_model(model_of(g, 17), NULL);
    CHECK(!strcmp(names(&n, SAMBA__WEIGHT), "w scale bias "));
    CHECK(strstr(names(&n, SAMBA__STATE), "var ") != NULL);
    train(&n);
    end(&n);
}

static void refuse(wire graph, const char *why)
{
    wire model = model_of(graph, 17);
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    onnx_graph g;
    CHECK(onnx_register_ops(s) && !onnx_trace_bytes(s, model.at, model.n, NULL, &g));
    CHECK(said(s, why));
    free(model.at);
    samba_close(s);
}

static void test_circles(void)
{
    wire g = begin("2 3");
    add(&g, "Neg", "b", "y");
    add(&g, "Relu", "c", "b");
    add(&g, "Abs", "d", "c");
    add(&g, "Add", "x c", "d");
    refuse(g, "reads what is made of its own result: the graph has a circle");
    g = begin("2 3");
    add(&g, "Neg", "a", "y");
    add(&g, "Relu", "x", "a");
    add(&g, "Abs", "x", "a");
    refuse(g, "a name is made by two of them");
    g = begin("2 3");
    add(&g, "Add", "x nowhere", "y");
    refuse(g, "ONNX Add (y): its input nowhere is made by nobody");
}

int main(void)
{
    RUN(test_small_and_large);
    RUN(test_statistics);
    RUN(test_through_other_ops);
    RUN(test_thresholds);
    RUN(test_first_state);
    RUN(test_mask);
    RUN(test_known_while_tracing);
    RUN(test_numbers_of_ops);
    RUN(test_shared);
    RUN(test_trained_and_statistics);
    RUN(test_identities);
    RUN(test_branches);
    RUN(test_loop);
    RUN(test_loop_carries_on);
    RUN(test_function);
    RUN(test_caller_chooses);
    RUN(test_unsorted);
    RUN(test_circles);
    return test_summary();
}
