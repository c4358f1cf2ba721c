// What the ONNX importer says and refuses: models made here, byte by byte.
// run: needs:onnx/onnx.proto needs:protobuf-c/protobuf-c.h onnx -lprotobuf-c
#define _GNU_SOURCE
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/tools/onnx/counted_import.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include "tests/tools/onnx/wire.h"
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A session in which a model was traced, or refused.
typedef struct traced {
    samba_session *s;
    onnx_graph g;
    bool fine;
} traced;

static char said_on_log[1200];
static int n_on_log;

static void keep_log(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)user;
    snprintf(said_on_log, sizeof said_on_log, "%s", text);
    n_on_log++;
}

static traced *trace_with(wire model, const onnx_options *options)
{
    traced *t = calloc(1, sizeof *t);
    t->s = samba_open(&(samba_desc){ .threads = 1, .log = keep_log });
    n_on_log = 0;
    t->fine = onnx_register_ops(t->s) && onnx_trace_bytes(t->s, model.at, model.n, options, &t->g);
    free(model.at);
    return t;
}

static void done(traced *t)
{
    onnx_release(&t->g);
    samba_clear_error(t->s);
    samba_close(t->s);
    free(t);
}

// y = f(x) of two floats each: a graph without nodes.
static wire begin_graph(const char *x, const char *y)
{
    wire g = { 0 };
    put_text(&g, 2, "g");
    put_message(&g, 11, value_info(x, OX_FLOAT, "2"));
    put_message(&g, 12, value_info(y, OX_FLOAT, NULL));
    return g;
}

// Compiles, sends x to the only input, and reads the n values of the first output.
static bool run_model(traced *t, const float *x, float *y, size_t n)
{
    samba_program p = { .inference = true };
    return t->fine && onnx_set_outputs(&t->g, &p) && samba_compile(t->s, &p)
        && samba_write(t->g.in[0].tensor, x) && samba_run(t->s, SAMBA_FWD)
        && samba_copy_out(t->g.out[0].tensor, y, n * sizeof *y);
}

// ---- Refusals inside of bodies ------------------------------------------------------------------

static wire body_with(const char *op, const char *output)
{
    wire g = { 0 };
    put_text(&g, 2, "body");
    put_message(&g, 1, node(op, "x", output));
    put_message(&g, 12, value_info(output, OX_FLOAT, "2"));
    return g;
}

// sr == 16000 ? THEN(x) : ELSE(x)
static wire model_with_if(const char *then_op, const char *else_op)
{
    const int64_t rate = 16000;
    wire g = begin_graph("x", "y"), choice = node("If", "cond", "y");
    put_graph_attribute(&choice, "then_branch", body_with(then_op, "a"));
    put_graph_attribute(&choice, "else_branch", body_with(else_op, "b"));
    put_message(&g, 11, value_info("sr", OX_INT64, ""));
    put_message(&g, 5, tensor_of("rate", OX_INT64, 0, 0, &rate, sizeof rate));
    put_message(&g, 1, node("Equal", "sr rate", "cond"));
    put_message(&g, 1, choice);
    return model_of(g, 17);
}

// The op is named, where it stands, too, once; and what value of which input would avoid it.
static void test_refusal_inside_if(void)
{
    traced *t = trace_with(model_with_if("Relu", "FooBar"), NULL);
    CHECK(!t->fine && says(t->s, "ONNX FooBar (b), inside If (y): this op is not offered"));
    CHECK(n_on_log == 1 && !strcmp(said_on_log, samba_error(t->s)));
    CHECK(!strcmp(t->g.wants, "sr") && !strcmp(t->g.wants_value, "16000"));
    done(t);
    t = trace_with(model_with_if("FooBar", "Relu"), NULL);
    CHECK(!t->fine && !strcmp(t->g.wants, "sr") && !*t->g.wants_value);
    done(t);
    onnx_array *sr = ox_new_array(OX_INT64, 1, (int64_t[]){ 1 });
    sr->i[0] = 16000;
    onnx_known known = { .name = "sr", .array = sr, .fixed = true };
    float x[2] = { -1, 2 }, y[2] = { 9, 9 };
    t = trace_with(model_with_if("Relu", "FooBar"), &(onnx_options){ &known, 1, 0 });
    CHECK(run_model(t, x, y, 2) && y[0] == 0 && y[1] == 2);
    done(t);
    onnx_array_free(sr);
}

// All ops that are not offered are named at once, each once, those in bodies and functions, too.
static void test_all_unknown_ops(void)
{
    wire inside = { 0 }, graph = begin_graph("x", "y"), choice = node("If", "cond", "c");
    wire foreign = node("Strange", "a", "b");
    put_text(&foreign, 7, "org.example");
    put_message(&inside, 1, node("Hidden", "x", "h"));
    put_message(&inside, 12, value_info("h", OX_FLOAT, "2"));
    put_graph_attribute(&choice, "then_branch", inside);
    put_message(&graph, 1, node("Relu", "x", "r"));
    put_message(&graph, 1, node("FooBar", "r", "a"));
    put_message(&graph, 1, foreign);
    put_message(&graph, 1, node("FooBar", "b", "d"));
    put_message(&graph, 1, choice);
    put_message(&graph, 1, node("Baz", "d", "y"));
    traced *t = trace_with(model_of(graph, 17), NULL);
    CHECK(!t->fine
          && says(t->s,
                  "ONNX FooBar (a): this op is not offered, nor are Strange of "
                  "domain org.example, Hidden, Baz: tools/samba onnx-ops"));
    done(t);
}

// An error that nobody reads is printed once: also one from the middle of a model.
static void test_refusal_is_printed(void)
{
    int ends[2];
    char text[2000] = "";
    CHECK(!pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        wire m = model_with_if("Relu", "FooBar");
        onnx_graph g;
        dup2(ends[1], 2);
        close(ends[0]);
        samba_session *s = samba_open(NULL);
        bool fine = onnx_register_ops(s) && onnx_trace_bytes(s, m.at, m.n, NULL, &g);
        _exit(samba_close(s) + (fine ? 10 : 0));
    }
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    int status = 0;
    waitpid(child, &status, 0);
    fclose(f);
    text[n] = 0;
    const char *first = strstr(text, "ONNX FooBar (b)");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    CHECK(first && !strstr(first + 1, "ONNX FooBar (b)"));
}

// The same in a Loop in a Loop: the body that is nearest is named.
static void test_refusal_inside_loops(void)
{
    const int64_t turns = 3;
    wire inner = node("Loop", "n  x", "b"), outer = node("Loop", "n  x", "y"), g[2] = { { 0 } };
    for (int i = 0; i < 2; i++) {
        put_message(&g[i], 11, value_info(i ? "i1" : "i0", OX_INT64, ""));
        put_message(&g[i], 11, value_info(i ? "c1" : "c0", OX_BOOL, ""));
        put_message(&g[i], 11, value_info(i ? "v1" : "v0", OX_FLOAT, "2"));
        put_message(&g[i], 12, value_info(i ? "c1" : "c0", OX_BOOL, ""));
        put_message(&g[i], 12, value_info(i ? "b" : "a", OX_FLOAT, "2"));
    }
    put_message(&g[0], 1, node("FooBar", "v0", "a"));
    put_graph_attribute(&inner, "body", g[0]);
    put_message(&g[1], 1, inner);
    put_graph_attribute(&outer, "body", g[1]);
    wire graph = begin_graph("x", "y");
    put_message(&graph, 5, tensor_of("n", OX_INT64, 0, 0, &turns, sizeof turns));
    put_message(&graph, 1, outer);
    traced *t = trace_with(model_of(graph, 17), NULL);
    CHECK(!t->fine && says(t->s, "ONNX FooBar (a), inside Loop (b): this op"));
    CHECK(n_on_log == 1);
    done(t);
}

// After a refusal in the middle of constants the session records again.
static void test_session_after_refusal(void)
{
    const int64_t n = 2;
    wire g = begin_graph("x", "y");
    put_message(&g, 5, tensor_of("n", OX_INT64, 0, 0, &n, sizeof n));
    put_message(&g, 1, node("Neg", "n n", "a"));
    put_message(&g, 1, node("TopK", "a", "b"));
    put_message(&g, 1, node("Add", "x b", "y"));
    traced *t = trace_with(model_of(g, 17), NULL);
    CHECK(!t->fine && said(t->s, "ONNX TopK (b): ") && samba_tracing(t->s));
    samba_tensor *x = samba_input(t->s, "z", SAMBA_F32, SAMBA_SHAPE(-1));
    CHECK(!x && !strstr(samba_error(t->s), "ONNX"));
    done(t);
}

// y = f(x), f a function of the model itself that does nothing but call itself.
static wire model_that_calls_itself(bool inside_of_if)
{
    const uint8_t yes = 1;
    wire g = begin_graph("x", "y"), f = { 0 }, call[3], model;
    for (int i = 0; i < 3; i++) {
        call[i] = node("Again", i ? "a" : "x", i ? "b" : "y");
        put_text(&call[i], 7, "own");
    }
    put_message(&g, 1, call[0]);
    model = model_of(g, 17);
    put_text(&f, 1, "Again");
    put_text(&f, 4, "a");
    put_text(&f, 5, inside_of_if ? "c" : "b");
    if (inside_of_if) {
        wire choice = node("If", "yes", "c"), fill = node("Constant", "", "yes");
        put_tensor_attribute(&fill, "value", tensor_of("", OX_BOOL, 0, 0, &yes, 1));
        put_message(&f, 7, fill);
        for (int i = 0; i < 2; i++) {
            wire branch = { 0 };
            put_message(&branch, 1, call[1 + i]);
            put_message(&branch, 12, value_info("b", OX_FLOAT, NULL));
            put_graph_attribute(&choice, i ? "else_branch" : "then_branch", branch);
        }
        put_message(&f, 7, choice);
    } else {
        put_message(&f, 7, call[1]);
        free(call[2].at);
    }
    put_text(&f, 10, "own");
    put_message(&model, 25, f);
    put_op_set(&model, "own", 1);
    return model;
}

static void test_functions_without_an_end(void)
{
    for (int inside_of_if = 0; inside_of_if < 2; inside_of_if++) {
        traced *t = trace_with(model_that_calls_itself(inside_of_if), NULL);
        CHECK(!t->fine && says(t->s, "ONNX Again (b), inside "));
        CHECK(says(t->s, "is nested too deep"));
        done(t);
    }
}

// ---- What is said of inputs ---------------------------------------------------------------------

static wire model_of_images(void)
{
    wire g = { 0 };
    put_message(&g, 11, value_info("image", OX_FLOAT, "batch 3 height ?"));
    put_message(&g, 11, value_info("mask", OX_FLOAT, "batch 1 height ?"));
    put_message(&g, 11, value_info("bias", OX_FLOAT, "3 1 1"));
    put_message(&g, 12, value_info("y", OX_FLOAT, NULL));
    put_message(&g, 1, node("Mul", "image mask", "a"));
    put_message(&g, 1, node("Add", "a bias", "y"));
    return model_of(g, 17);
}

static void test_missing_shapes(void)
{
    traced *t = trace_with(model_of_images(), NULL);
    CHECK(!t->fine && says(t->s, "--shape image=batch,3,height,? --shape mask=batch,1,height,?"));
    CHECK(!strstr(samba_error(t->s), "bias"));
    done(t);
}

static void test_shapes_are_checked(void)
{
    onnx_array *a = ox_new_array(OX_FLOAT, 4, (int64_t[]){ 2, 3, 4, 5 });
    onnx_array *b = ox_new_array(OX_FLOAT, 4, (int64_t[]){ 2, 1, 4, 5 });
    onnx_array *c = ox_new_array(OX_FLOAT, 3, (int64_t[]){ 2, 3, 4 });
    onnx_known known[3] = { { .name = "image", .array = a },
                            { .name = "mask", .array = b },
                            { .name = "msak", .array = b } };
    traced *t = trace_with(model_of_images(), &(onnx_options){ known, 2, 0 });
    CHECK(t->fine && t->g.in[0].tensor->shape.dim[3] == 5);
    done(t);
    t = trace_with(model_of_images(), &(onnx_options){ known, 3, 0 });
    CHECK(!t->fine && says(t->s, "has no input msak; it has image, mask, bias"));
    done(t);
    known[0].array = b;
    t = trace_with(model_of_images(), &(onnx_options){ known, 2, 0 });
    CHECK(!t->fine
          && says(t->s, "image is (batch,3,height,?) in the model, and cannot be (2,1,4,5)"));
    done(t);
    known[0].array = c;
    t = trace_with(model_of_images(), &(onnx_options){ known, 2, 0 });
    CHECK(!t->fine && says(t->s, "cannot be (2,3,4)"));
    done(t);
    known[0].array = a;
    known[2] = (onnx_known){ .name = "bias", .array = c };
    t = trace_with(model_of_images(), &(onnx_options){ known, 3, 0 });
    CHECK(!t->fine && says(t->s, "bias is (3,1,1) in the model"));
    done(t);
    onnx_array_free(a);
    onnx_array_free(b);
    onnx_array_free(c);
}

// An input of strings, which nothing reads, is there, and is sent nothing.
static void test_unread_strings(void)
{
    enum { STRINGS = 8 };

    const float x[2] = { 1, -2 };
    float y[2] = { 0 };
    wire g = begin_graph("x", "y");
    put_message(&g, 11, value_info("words", STRINGS, "2"));
    put_message(&g, 1, node("Neg", "x", "y"));
    traced *t = trace_with(model_of(g, 17), NULL);
    CHECK(t->fine && t->g.n_in == 2 && !t->g.in[1].tensor && !strcmp(t->g.in[1].name, "words"));
    CHECK(run_model(t, x, y, 2) && y[0] == -1 && y[1] == 2);
    done(t);
}

// x + k of a type, k as a constant that is given.
static traced *trace_fixed(int type, const char *dims, onnx_array *k)
{
    wire g = { 0 };
    put_message(&g, 11, value_info("x", type, "2"));
    put_message(&g, 11, value_info("k", type, dims));
    put_message(&g, 12, value_info("y", type, NULL));
    put_message(&g, 1, node("Add", "x k", "y"));
    onnx_known known = { .name = "k", .array = k, .fixed = true };
    return trace_with(model_of(g, 17), &(onnx_options){ &known, 1, 0 });
}

// A value gets the type and the shape of the model, or is refused.
static void test_values_get_the_models_type(void)
{
    float x[2] = { 1, 2 }, y[2] = { 0 };
    onnx_array *whole = ox_new_array(OX_INT64, 1, (int64_t[]){ 1 });
    onnx_array *half = ox_new_array(OX_FLOAT, 1, (int64_t[]){ 1 });
    onnx_array *two = ox_new_array(OX_INT64, 1, (int64_t[]){ 2 });
    whole->i[0] = 300;
    half->f[0] = 0.5f;
    traced *t = trace_fixed(OX_FLOAT, "", whole);
    CHECK(run_model(t, x, y, 2) && y[0] == 301 && y[1] == 302);
    CHECK(t->fine && t->g.out[0].type == OX_FLOAT);
    done(t);
    t = trace_fixed(OX_INT32, "", half);
    CHECK(!t->fine && says(t->s, "given for input k is no int32"));
    done(t);
    t = trace_fixed(OX_UINT8, "", whole);
    CHECK(!t->fine && says(t->s, "given for input k is no uint8"));
    done(t);
    t = trace_fixed(OX_FLOAT, "", two);
    CHECK(!t->fine && says(t->s, "k is () in the model, and cannot be (2)"));
    done(t);
    whole->i[0] = 16777217;
    t = trace_fixed(OX_FLOAT, "", whole);
    CHECK(!t->fine && says(t->s, "given for input k is no float"));
    done(t);
    onnx_array_free(whole);
    onnx_array_free(half);
    onnx_array_free(two);
}

// ---- Limits -------------------------------------------------------------------------------------

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// n nodes, each of which reads the last one and an initializer of its own.
static wire long_model(int n)
{
    wire g = begin_graph("x", "y");
    float value = 1.0f;
    char in[80] = "x", out[40], constant[40];
    for (int i = 0; i < n; i++) {
        snprintf(constant, sizeof constant, "c%d", i);
        put_message(&g, 5, tensor_of(constant, OX_FLOAT, 0, 0, &value, sizeof value));
        snprintf(in + strlen(in), sizeof in - strlen(in), " %s", constant);
        snprintf(out, sizeof out, i == n - 1 ? "y" : "t%d", i);
        put_message(&g, 1, node("Add", in, out));
        snprintf(in, sizeof in, "%s", out);
    }
    return model_of(g, 17);
}

static double time_of(int n)
{
    double begin = seconds();
    traced *t = trace_with(long_model(n), NULL);
    CHECK(t->fine);
    done(t);
    return seconds() - begin;
}

// Four times the nodes take about four times as long, not sixteen times.
static void test_long_models(void)
{
    double few = time_of(10000), many = time_of(40000);
    if (many > 10 * few) printf("10,000 nodes %.2f s, 40,000 nodes %.2f s\n", few, many);
    CHECK(many <= 10 * few);
}

// Loops of `turns` turns, one in the other.
static wire nested_loops(int depth)
{
    const int64_t turns = 4000;
    wire inner = node("Identity", "x", "b0");
    for (int d = 1; d <= depth; d++) {
        wire body = { 0 }, loop;
        char index[20], cond[20], in[20], out[20];
        snprintf(index, sizeof index, "i%d", d);
        snprintf(cond, sizeof cond, "c%d", d);
        snprintf(in, sizeof in, "b%d", d - 1);
        snprintf(out, sizeof out, "b%d", d);
        put_message(&body, 11, value_info(index, OX_INT64, ""));
        put_message(&body, 11, value_info(cond, OX_BOOL, ""));
        put_message(&body, 1, inner);
        put_message(&body, 12, value_info(cond, OX_BOOL, ""));
        put_message(&body, 12, value_info(in, OX_FLOAT, NULL));
        loop = node("Loop", "n ", out);
        put_bytes(&loop, 1, "", 0);
        put_graph_attribute(&loop, "body", body);
        inner = loop;
    }
    wire g = begin_graph("x", "y");
    char last[20];
    snprintf(last, sizeof last, "b%d", depth);
    put_message(&g, 5, tensor_of("n", OX_INT64, 0, 0, &turns, sizeof turns));
    put_message(&g, 1, inner);
    put_message(&g, 1, node("ReduceSum", last, "y"));
    return model_of(g, 17);
}

static long peak_kib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

// In a process of its own, as only the peak of a whole process can be measured.
static void check_bounded(wire model, const char *why, long most_kib)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        long before = peak_kib();
        traced *t = trace_with(model, NULL);
        bool fine = !t->fine && says(t->s, why);
        if (peak_kib() - before > most_kib)
            printf("%s: took %ld KiB, not at most %ld\n", why, peak_kib() - before, most_kib);
        fflush(stdout);
        _exit(fine && peak_kib() - before <= most_kib ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    free(model.at);
}

static void test_small_models_stay_small(void)
{
    const int64_t n = 1 << 27, seven = 7;
    check_bounded(nested_loops(2), "unroll to more than", 160 << 10);
    check_bounded(nested_loops(4), "unroll to more than", 160 << 10);
    wire g = begin_graph("x", "y"), fill = node("ConstantOfShape", "n", "a");
    put_tensor_attribute(&fill, "value", tensor_of("", OX_INT64, 1, 1, &seven, sizeof seven));
    put_message(&g, 5, tensor_of("n", OX_INT64, 1, 1, &n, sizeof n));
    put_message(&g, 1, fill);
    put_message(&g, 1, node("Neg", "a", "y"));
    check_bounded(model_of(g, 17), "--constants MIB", 300 << 10);
}

// Windows of as many places as there may be meet the next limit, one more is refused as such.
static void test_windows_that_are_too_many(void)
{
    static const char *const why[2]
        = { "constants take more than 1 MiB", "windows of this size are too many" };
    for (int more = 0; more < 2; more++) {
        wire g = { 0 }, pool = node("LpPool", "x", "y");
        put_text(&g, 2, "g");
        put_message(&g, 11, value_info("x", OX_FLOAT, more ? "1 1 65537" : "1 1 65536"));
        put_message(&g, 12, value_info("y", OX_FLOAT, NULL));
        put_ints_attribute(&pool, "kernel_shape", 1, (int64_t[]){ 1024 });
        put_ints_attribute(&pool, "pads", 2, (int64_t[]){ 511, 512 });
        put_message(&g, 1, pool);
        traced *t = trace_with(model_of(g, 17), &(onnx_options){ .max_constant_bytes = 1 << 20 });
        CHECK(!t->fine && says(t->s, why[more]));
        done(t);
    }
}

// ---- Numbers that do not fit --------------------------------------------------------------------

// x (2 floats) cast to a type.
static traced *trace_cast(int type)
{
    wire g = begin_graph("x", "y"), cast = node("Cast", "x", "y");
    put_int_attribute(&cast, "to", type);
    put_message(&g, 1, cast);
    return trace_with(model_of(g, 17), NULL);
}

// A float that an integer of 32 bits cannot hold ends the run, where the model means 64 bits.
static void test_large_floats_as_integers(void)
{
    float fine[2] = { -5.7f, 2147483520.0f }, large[2] = { 1, 1e12f }, y[2];
    int32_t to[2] = { 0 };
    traced *t = trace_cast(OX_INT64);
    CHECK(run_model(t, fine, y, 2));
    memcpy(to, y, sizeof to);
    CHECK(to[0] == -5 && to[1] == 2147483520);
    CHECK(samba_write(t->g.in[0].tensor, large) && !samba_run(t->s, SAMBA_FWD));
    CHECK(samba_error_code(t->s) == SAMBA_ERANGE);
    done(t);
    t = trace_cast(OX_UINT32);
    CHECK(!run_model(t, large, y, 2) && samba_error_code(t->s) == SAMBA_ERANGE);
    done(t);
}

// x + c, c a double.
static traced *trace_double(double c)
{
    wire g = begin_graph("x", "y"), cast = node("Cast", "c", "d");
    put_int_attribute(&cast, "to", OX_FLOAT);
    put_message(&g, 5, tensor_of("c", OX_DOUBLE, 0, 0, &c, sizeof c));
    put_message(&g, 1, cast);
    put_message(&g, 1, node("Add", "x d", "y"));
    return trace_with(model_of(g, 17), NULL);
}

static void test_large_doubles(void)
{
    float x[2] = { 0, 0 }, y[2];
    traced *t = trace_double(1e300);
    CHECK(!t->fine && says(t->s, "c has a double beyond the range of float"));
    done(t);
    t = trace_double(-1.7976931348623157e308); // the lowest double, as of a mask
    CHECK(run_model(t, x, y, 2) && y[0] == -3.402823466e38f);
    done(t);
    t = trace_double((double)INFINITY);
    CHECK(run_model(t, x, y, 2) && isinf(y[0]));
    done(t);
}

// An int64 that is known stays exact as long as it can; where it cannot, that is said.
static void test_exact_constants(void)
{
    const int64_t odd = 16777217;
    wire g = begin_graph("x", "y"), cast = node("Cast", "c", "d"), back = node("Cast", "d", "e");
    put_int_attribute(&cast, "to", OX_DOUBLE);
    put_int_attribute(&back, "to", OX_INT64);
    put_message(&g, 5, tensor_of("c", OX_INT64, 0, 0, &odd, sizeof odd));
    put_message(&g, 1, cast);
    put_message(&g, 1, back);
    put_message(&g, 1, node("Mul", "x e", "y"));
    traced *t = trace_with(model_of(g, 17), NULL);
    CHECK(!t->fine && says(t->s, "ONNX Cast (d): 16777217 is no float"));
    done(t);
}

// ---- NaN ----------------------------------------------------------------------------------------

// What NumPy, PyTorch and onnxruntime make of a NaN: it is the largest for top, and found by argmin
// and argmax, by min and max, also where a scatter adds it.
static void test_nan_is_kept(void)
{
    static const int32_t largest[5] = { 1, 4, 2, 3, 0 }, smallest[5] = { 0, 3, 2, 4, 1 };
    for (int at = 0; at < 5; at++) {
        samba_session *s = samba_open(&(samba_desc){ .threads = 1 });
        samba_set_tracing(s, false);
        CHECK(onnx_register_ops(s));
        float row[5] = { -INFINITY, NAN, 2, 1, INFINITY }, x[5], y[1] = { 0 };
        for (int i = 0; i < 5; i++)
            x[(i + at) % 5] = row[i];
        int32_t index[1] = { 0 }, zero[1] = { 0 };
        samba_tensor *t = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(5), x);
        for (int order = 0; order < 2; order++) {
            int32_t attr[OX_TOP_ATTRS] = { 5, order };
            const int32_t *top
                = samba_read_i32(samba_apply(s, "onnx_top", &t, 1, attr, OX_TOP_ATTRS));
            const int32_t *want = order ? largest : smallest;
            for (int i = 0; i < 5; i++)
                CHECK(top[i] == (want[i] + at) % 5);
        }
        for (int32_t kind = OX_FOLD_MIN; kind <= OX_FOLD_ARGMAX; kind++) {
            samba_tensor *fold = samba_apply(s, "onnx_fold", &t, 1, &kind, 1);
            if (kind <= OX_FOLD_MAX)
                CHECK(samba_copy_out(fold, y, sizeof y) && isnan(y[0]));
            else
                CHECK(samba_copy_out(fold, index, sizeof index) && index[0] == (1 + at) % 5);
        }
        for (int turn = 0; turn < 4; turn++) { // NaN into 1, and 1 into NaN
            float a = turn % 2 ? NAN : 1, b = turn % 2 ? 1 : NAN;
            int32_t kind = turn / 2 ? OX_MIN : OX_MAX;
            char name[3][8];
            for (int i = 0; i < 3; i++)
                snprintf(name[i], sizeof name[i], "in%d_%d", i, turn);
            samba_tensor *in[3]
                = { samba_from_data_copy(s, name[0], SAMBA_F32, SAMBA_SHAPE(1), &a),
                    samba_from_data_copy(s, name[1], SAMBA_I32, SAMBA_SHAPE(1), zero),
                    samba_from_data_copy(s, name[2], SAMBA_F32, SAMBA_SHAPE(1), &b) };
            CHECK(isnan(samba_read(samba_apply(s, "onnx_scatter", in, 3, &kind, 1))[0]));
        }
        CHECK(samba_close(s) == 0);
    }
}

// ---- Names --------------------------------------------------------------------------------------

// Names of any length: of inputs, initializers, nodes and outputs, through a PEF and back.
static void test_long_names(void)
{
    enum { LONG = 5000 };

    static char x[LONG + 8], w[LONG + 8], y[LONG + 8], in[2 * LONG + 32];
    float weights[12], to[24] = { 0 }, from[24];
    for (int i = 0; i < 12; i++)
        weights[i] = (float)i;
    for (int i = 0; i < 24; i++)
        from[i] = (float)(i % 5);
    memset(x, 'x', LONG);
    memset(w, 'w', LONG);
    memset(y, 'y', LONG);
    snprintf(in, sizeof in, "%s %s", x, w);
    wire g = { 0 };
    put_message(&g, 11, value_info(x, OX_FLOAT, "2 12"));
    put_message(&g, 12, value_info(y, OX_FLOAT, NULL));
    put_message(&g, 5, tensor_of(w, OX_FLOAT, 1, 12, weights, sizeof weights));
    put_message(&g, 1, node("Mul", in, y));
    traced *m = trace_with(model_of(g, 17), NULL);
    samba_program p = { .inference = true, .pef = "build/onnx_long.pef" };
    CHECK(m->fine && onnx_set_outputs(&m->g, &p) && samba_compile(m->s, &p));
    CHECK(samba_save(m->s, "build/onnx_long.ckpt"));
    if (!samba_ok(m->s)) printf("%s\n", samba_error(m->s));
    done(m);
    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    CHECK(onnx_register_ops(s) && samba_load(s, "build/onnx_long.ckpt", NULL));
    samba_tensor *input = samba_tensor_by_name(s, x), *weight = samba_tensor_by_name(s, w);
    CHECK(input && weight && samba_write(input, from) && samba_run(s, SAMBA_FWD));
    samba_tensor *output = samba_tensor_by_name(s, y);
    CHECK(output && samba_copy_out(output, to, sizeof to));
    for (int i = 0; i < 24; i++)
        CHECK(to[i] == from[i] * weights[i % 12]);
    samba_close(s);
}

// ---- Weights in other files ---------------------------------------------------------------------

static const char *const folder = "build/onnx_import.d";

// x + w, w in a file.
static void write_model(const char *path, const char *location)
{
    wire g = begin_graph("x", "y");
    put_message(&g, 5, tensor_in_file("w", location));
    put_message(&g, 1, node("Add", "x w", "y"));
    wire m = model_of(g, 17);
    CHECK(write_whole(path, m.at, m.n));
    free(m.at);
}

static void write_floats(const char *path)
{
    const float w[2] = { 3, 4 };
    CHECK(write_whole(path, w, sizeof w));
}

static traced *trace_file(const char *path)
{
    traced *t = calloc(1, sizeof *t);
    t->s = samba_open(&(samba_desc){ .threads = 1, .log = keep_log });
    t->fine = onnx_register_ops(t->s) && onnx_trace(t->s, path, NULL, &t->g);
    return t;
}

static void check_refused(const char *path, const char *why)
{
    alarm(60); // a pipe would wait for ever
    traced *t = trace_file(path);
    CHECK(!t->fine && says(t->s, why));
    done(t);
    alarm(0);
}

static void check_read(const char *path)
{
    float x[2] = { 1, 2 }, y[2] = { 0 };
    traced *t = trace_file(path);
    if (!t->fine) printf("%s\n", samba_error(t->s));
    CHECK(run_model(t, x, y, 2) && y[0] == 4 && y[1] == 6);
    done(t);
}

static void test_external_files(void)
{
    char path[200];
    CHECK(!system("rm -rf build/onnx_import.d && mkdir -p build/onnx_import.d/models/sub "
                  "build/onnx_import.d/blobs build/onnx_import.d/models_too"));
    snprintf(path, sizeof path, "%s/models/m.onnx", folder);
    write_model(path, "w.data");
    write_floats("build/onnx_import.d/models/w.data");
    check_read(path);
    CHECK(!chdir(folder) && !chdir("models"));
    check_read("m.onnx");
    CHECK(!system("mv w.data sub && ln -s sub/w.data w.data"));
    check_read("m.onnx"); // a link to below
    CHECK(!system("mv sub/w.data .. && ln -sf ../w.data w.data"));
    check_refused("m.onnx", "a link to a place outside of the model's folder: w.data");
    CHECK(!system("mv ../w.data ../models_too && ln -sf ../models_too/w.data w.data"));
    check_refused("m.onnx", "a link to a place outside");
    CHECK(!system("mv ../models_too/w.data ../blobs/1 && mv m.onnx ../blobs/2 && "
                  "ln -sf ../blobs/1 w.data && ln -s ../blobs/2 m.onnx"));
    check_read("m.onnx"); // as Hugging Face's cache keeps them
    CHECK(!system("rm w.data && mkfifo w.data"));
    check_refused("m.onnx", "no regular file: w.data");
    CHECK(!system("rm w.data && mkdir w.data"));
    check_refused("m.onnx", "no regular file: w.data");
    CHECK(!system("rmdir w.data && ln -s /dev/zero w.data"));
    check_refused("m.onnx", "no regular file: w.data");
    CHECK(!system("rm w.data m.onnx && mkfifo m.onnx"));
    check_refused("m.onnx", "m.onnx is a pipe or a device, not a file");
    check_refused("/dev/zero", "/dev/zero is a pipe or a device, not a file");
    check_refused("sub", "sub is a folder, not a file");
    check_refused("nowhere.onnx", "nowhere.onnx does not exist");
    CHECK(!system(": >empty.onnx"));
    check_refused("empty.onnx", "empty.onnx is empty");
    CHECK(!chdir("../../.."));
}

// ---- Memory that runs out -----------------------------------------------------------------------

// y = f(x) + w + the sum of constants, f a function of the model, one of many, and w in a file.
static wire model_of_everything(void)
{
    enum { FUNCTIONS = 400 };

    wire g = begin_graph("x", "y"), call = node("F7", "x", "a");
    static const float many[600] = { 0 };
    put_message(&g, 5, tensor_in_file("w", "w.data"));
    put_message(&g, 5, tensor_of("many", OX_FLOAT, 1, 600, many, sizeof many));
    put_message(&g, 1, node("Relu", "many", "positive"));
    put_message(&g, 1, node("ReduceSum", "positive", "sum"));
    put_text(&call, 7, "own");
    put_message(&g, 1, call);
    put_message(&g, 1, node("Add", "a w", "b"));
    put_message(&g, 1, node("Add", "b sum", "y"));
    wire m = model_of(g, 17);
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[20];
        wire f = { 0 };
        snprintf(name, sizeof name, "F%d", i);
        put_text(&f, 1, name);
        put_text(&f, 4, "a");
        put_text(&f, 5, "b");
        put_message(&f, 7, node("Neg", "a", "b"));
        put_text(&f, 10, "own");
        put_message(&m, 25, f);
    }
    put_op_set(&m, "own", 1);
    return m;
}

// Whichever block is missing, the model is refused for want of memory, and nothing is left.
static void test_memory_runs_out(void)
{
    const char *path = "build/onnx_import.d/models/all.onnx";
    const float x[2] = { 1, -2 };
    float y[2] = { 0 };
    CHECK(!system("rm -rf build/onnx_import.d && mkdir -p build/onnx_import.d/models"));
    write_floats("build/onnx_import.d/models/w.data");
    wire m = model_of_everything();
    CHECK(write_whole(path, m.at, m.n));
    free(m.at);
    bool fine = false;
    for (long n = 0; n < 1000 && !fine; n++) {
        long before = n_live;
        n_calls = 0;
        fail_at = n;
        traced *t = trace_file(path);
        bool failed = n_calls > n;
        fine = !failed;
        fail_at = -1;
        CHECK(t->fine == fine);
        CHECK(fine || (says(t->s, "memory") && samba_error_code(t->s) == SAMBA_ENOMEM));
        CHECK(fine || n_live == before);
        if (fine) CHECK(run_model(t, x, y, 2) && y[0] == 2 && y[1] == 6 && n > 20);
        done(t);
        CHECK(n_live == before);
    }
    CHECK(fine);
}

int main(void)
{
    RUN(test_refusal_inside_if);
    RUN(test_all_unknown_ops);
    RUN(test_refusal_is_printed);
    RUN(test_refusal_inside_loops);
    RUN(test_session_after_refusal);
    RUN(test_functions_without_an_end);
    RUN(test_missing_shapes);
    RUN(test_shapes_are_checked);
    RUN(test_unread_strings);
    RUN(test_values_get_the_models_type);
    RUN(test_long_models);
    RUN(test_small_models_stay_small);
    RUN(test_windows_that_are_too_many);
    RUN(test_large_floats_as_integers);
    RUN(test_large_doubles);
    RUN(test_exact_constants);
    RUN(test_nan_is_kept);
    RUN(test_long_names);
    RUN(test_external_files);
    RUN(test_memory_runs_out);
    return test_summary();
}
