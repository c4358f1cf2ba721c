// The commands import-onnx and export-onnx, in this process: what they say, how long they take, and
// that names, which are any bytes, stay text.
// run: needs:onnx/onnx.proto needs:protobuf-c/protobuf-c.h onnx -lprotobuf-c
#define _GNU_SOURCE
#define main run_command
#include "tools/cli/onnx.c"
#undef main
#include "tools/cli/util/text.c"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include "tests/tools/onnx/wire.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char said[20000]; // what the last command printed, to both streams

// Runs a command in a process of its own; returns its status, or -1.
static int command(const char *a, const char *b, const char *c, const char *d, const char *e)
{
    const char *words[7] = { "samba", a, b, c, d, e, NULL };
    int ends[2], n = 1, status = -1;
    size_t used = 0;
    ssize_t more;
    while (words[n])
        n++;
    fflush(NULL);
    CHECK(!pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        int code = run_command(n, (char **)(uintptr_t)words);
        fflush(NULL);
        _exit(code);
    }
    close(ends[1]);
    while ((more = read(ends[0], said + used, sizeof said - 1 - used)) > 0)
        used += (size_t)more;
    close(ends[0]);
    said[used] = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool says(const char *part)
{
    bool found = strstr(said, part) != NULL;
    if (!found) printf("\"%s\" is not in: %s\n", part, said);
    return found;
}

static const char *const model = "build/onnx_cli.onnx", *const pef = "build/onnx_cli.pef";

static void write_graph(wire graph)
{
    wire m = model_of(graph, 17);
    CHECK(write_whole(model, m.at, m.n));
    free(m.at);
}

// ---- What import-onnx says ----------------------------------------------------------------------

static void test_unread_input(void)
{
    wire g = { 0 };
    put_message(&g, 11, value_info("x", OX_FLOAT, "2"));
    put_message(&g, 11, value_info("length", OX_INT64, "1"));
    put_message(&g, 12, value_info("y", OX_FLOAT, NULL));
    put_message(&g, 1, node("Relu", "x", "y"));
    write_graph(g);
    CHECK(command("import-onnx", model, pef, NULL, NULL) == 0);
    CHECK(says("input x: float (2), x in the PEF\n"));
    CHECK(says("input length: int64 (1), not in the PEF: nothing reads it\n"));
}

// A mask of -infinity, and a weight that is NaN, are saved as the model has them.
static void test_not_finite(void)
{
    const float mask[12] = { 0, -INFINITY }, lost[12] = { 1, NAN };
    wire g = { 0 };
    put_message(&g, 11, value_info("x", OX_FLOAT, "12"));
    put_message(&g, 12, value_info("y", OX_FLOAT, NULL));
    put_message(&g, 5, tensor_of("mask", OX_FLOAT, 1, 12, mask, sizeof mask));
    put_message(&g, 5, tensor_of("lost", OX_FLOAT, 1, 12, lost, sizeof lost));
    put_message(&g, 1, node("Add", "x mask", "h"));
    put_message(&g, 1, node("Mul", "h lost", "y"));
    write_graph(g);
    CHECK(command("import-onnx", model, pef, NULL, NULL) == 0);
    CHECK(says("onnx_cli.pef.ckpt: the same with the weights"));
    CHECK(command("export-onnx", "build/onnx_cli.pef.ckpt", "build/onnx_cli_2.onnx", NULL, NULL)
          == 0);
    CHECK(command("import-onnx", "build/onnx_cli_2.onnx", pef, NULL, NULL) == 0);
}

// ---- Tensors without elements -------------------------------------------------------------------

static void test_no_elements(void)
{
    const int64_t shape[3] = { 1, 0, 1 }, three = 3, nine = 9;
    const float two = 2;
    wire g = { 0 }, join = node("Concat", "x e3", "y");
    put_message(&g, 11, value_info("x", OX_FLOAT, "3 2"));
    for (const char *out = "yesp"; *out; out++)
        put_message(&g, 12, value_info((char[]){ *out, 0 }, OX_FLOAT, NULL));
    put_message(&g, 5, tensor_of("s0", OX_INT64, 1, 3, shape, sizeof shape));
    put_message(&g, 5, tensor_of("three", OX_INT64, 1, 1, &three, sizeof three));
    put_message(&g, 5, tensor_of("nine", OX_INT64, 1, 1, &nine, sizeof nine));
    put_message(&g, 5, tensor_of("two", OX_FLOAT, 0, 0, &two, sizeof two));
    put_int_attribute(&join, "axis", 0);
    put_message(&g, 1, node("ConstantOfShape", "s0", "z"));
    put_message(&g, 1, node("Mul", "z two", "z2"));
    put_message(&g, 1, node("Exp", "z2", "e"));
    put_message(&g, 1, node("Slice", "x three nine", "e1"));
    put_message(&g, 1, node("Mul", "e1 two", "e2"));
    put_message(&g, 1, node("Where", "b e2 e2", "e3"));
    put_message(&g, 1, node("Greater", "e2 two", "b"));
    put_message(&g, 1, join);
    put_message(&g, 1, node("Transpose", "e2", "t"));
    put_message(&g, 1, node("MatMul", "t e2", "p"));
    put_message(&g, 1, node("ReduceSum", "e2", "s"));
    write_graph(g);
    CHECK(command("import-onnx", model, pef, NULL, NULL) == 0);
    CHECK(says("output y: float (3,2), ") && says("output e: float, constant"));
    CHECK(says("output s: float, constant") && says("output p: float, constant"));
}

// ---- Names --------------------------------------------------------------------------------------

// Is there a byte that a terminal could take for more than text?
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && *text != '\n') || (unsigned char)*text >= 127)
            return false;
    return true;
}

// ESC, a new line, bytes that are no UTF-8: in every name, and in what is refused.
static void test_any_bytes(void)
{
    static const char *const bad = "a\x1b[2J\nb\xE0";
    const float w[2] = { 3, 4 };
    char in[80];
    for (int refused = 0; refused < 2; refused++) {
        wire g = { 0 }, p = { 0 };
        put_message(&g, 11, value_info(bad, OX_FLOAT, "2"));
        put_message(&g, 12, value_info("\x1b]0;y\x07", OX_FLOAT, NULL));
        put_message(&g, 5, tensor_of("w\xFF\n", OX_FLOAT, 1, 2, w, sizeof w));
        snprintf(in, sizeof in, "%s", bad);
        put_text(&p, 1, in);
        put_text(&p, 1, "w\xFF\n");
        put_text(&p, 2, "\x1b]0;y\x07");
        put_text(&p, 4, refused ? "No\x1bpe" : "Mul");
        put_message(&g, 1, p);
        write_graph(g);
        CHECK(command("import-onnx", model, pef, NULL, NULL) == refused);
        CHECK(is_plain(said));
        if (!refused) CHECK(says("input a\\x1B[2J\\x0Ab\\xE0: float (2), "));
    }
    char shape[] = "\x1b=x"; // the command cuts it at the =
    CHECK(command("import-onnx", model, "--shape", shape, NULL) == 2 && is_plain(said));
    CHECK(command("import-onnx", "--", "-\x1bx.onnx", pef, NULL) == 1 && is_plain(said));
    CHECK(command("export-onnx", "nowhere\x1b.ckpt", "build/x.onnx", NULL, NULL) == 1);
    CHECK(is_plain(said));
}

// An old file stays if a new one cannot be written, and a folder is none.
static void test_export_to_what_is_there(void)
{
    CHECK(write_whole("build/onnx_cli_old.onnx", "old", 3));
    CHECK(command("export-onnx", model, "build/onnx_cli_old.onnx", NULL, NULL) == 1);
    char text[8] = "";
    CHECK(read_into("build/onnx_cli_old.onnx", text, 7) == 3 && !strcmp(text, "old"));
    CHECK(command("export-onnx", "build/onnx_cli.pef.ckpt", "build", NULL, NULL) == 1);
    CHECK(says("this is a folder"));
}

// ---- Several shapes: several graphs ------------------------------------------------------------

// y = x w + b for any number of rows.
static void write_layer(void)
{
    float w[12];
    const float b[3] = { 1, 2, 3 };
    wire g = { 0 };
    for (int i = 0; i < 12; i++)
        w[i] = (float)i;
    put_message(&g, 11, value_info("x", OX_FLOAT, "rows 4"));
    put_message(&g, 12, value_info("y", OX_FLOAT, NULL));
    put_message(&g, 5, shaped_tensor("w", OX_FLOAT, "4 3", w, sizeof w));
    put_message(&g, 5, tensor_of("b", OX_FLOAT, 1, 3, b, sizeof b));
    put_message(&g, 1, node("MatMul", "x w", "m"));
    put_message(&g, 1, node("Add", "m b", "y"));
    write_graph(g);
}

// Each graph computes with the weights that all share; sums of rows of ones are known.
static void test_several_shapes(void)
{
    char *words[] = { "samba",
                      "import-onnx",
                      (char *)(uintptr_t)model,
                      (char *)(uintptr_t)pef,
                      "--shape",
                      (char[]){ "x=2,4" },
                      "--shape",
                      (char[]){ "x=5,4" },
                      NULL };
    write_layer();
    CHECK(run_command(8, words) == 0);

    samba_session *s = samba_open(&(samba_desc){ .threads = 1, .quiet = true });
    CHECK(onnx_register_ops(s) && samba_load(s, "build/onnx_cli.pef.ckpt", NULL));
    for (int i = 0; i < 2; i++) {
        const char *graph = i ? "5x4" : "2x4";
        float x[20], y[15], want[15];
        int rows = i ? 5 : 2;
        for (int k = 0; k < 20; k++)
            x[k] = 1;
        for (int k = 0; k < 15; k++)
            want[k] = (float)(18 + 4 * (k % 3) + 1 + k % 3);
        samba_tensor *in = samba_tensor_by_name(s, i ? "x@5x4" : "x@2x4");
        CHECK(in && samba_write(in, x) && samba_run_graph(s, graph, SAMBA_FWD));
        samba_tensor *out = samba_tensor_by_name(s, i ? "y@5x4" : "y@2x4");
        CHECK(out && samba_count(&out->shape) == 3 * rows);
        CHECK(samba_copy_out(out, y, (size_t)rows * 3 * sizeof *y));
        CHECK_CLOSE(y, want, (size_t)rows * 3, 0, 0);
    }
    samba_close(s);
}

// Inputs with shapes in other numbers than others are refused; so is a
// value that is given twice.
static void test_shapes_that_do_not_fit(void)
{
    char *words[] = { "samba",
                      "import-onnx",
                      (char *)(uintptr_t)model,
                      (char *)(uintptr_t)pef,
                      "--shape",
                      (char[]){ "x=2,4" },
                      "--shape",
                      (char[]){ "x=2,4" },
                      "--shape",
                      (char[]){ "z=1" },
                      "--shape",
                      (char[]){ "z=1" },
                      "--shape",
                      (char[]){ "z=2" },
                      NULL };
    write_layer();
    CHECK(run_command(14, words) == 2);

    char *values[] = { "samba",   "import-onnx",     "--value", (char[]){ "x=1" },
                       "--value", (char[]){ "x=2" }, NULL };
    CHECK(run_command(6, values) == 2);
}

// ---- Time and memory ----------------------------------------------------------------------------

static double seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec;
}

// n nodes that all have one name, or n initializers of branches, each called w; behind each other,
// or the last one first.
static void write_chain(int n, bool backward)
{
    wire g = { 0 }, *nodes = calloc((size_t)n, sizeof *nodes);
    char in[40], out[40];
    put_message(&g, 11, value_info("x", OX_FLOAT, "2"));
    for (int i = 0; i < n; i++) {
        snprintf(in, sizeof in, i ? "t%d" : "x", i - 1);
        snprintf(out, sizeof out, "t%d", i);
        nodes[i] = node("Neg", in, out);
        put_text(&nodes[i], 3, "the same name");
    }
    for (int i = 0; i < n; i++)
        put_message(&g, 1, nodes[backward ? n - 1 - i : i]);
    put_message(&g, 12, value_info(out, OX_FLOAT, NULL));
    free(nodes);
    write_graph(g);
}

static double time_of_chain(int n, bool backward)
{
    write_chain(n, backward);
    double begin = seconds();
    CHECK(command("import-onnx", model, pef, NULL, NULL) == 0);
    CHECK(command("export-onnx", "build/onnx_cli.pef.ckpt", "build/onnx_cli_2.onnx", NULL, NULL)
          == 0);
    return seconds() - begin;
}

// Four times the nodes take about four times as long, not sixteen times.
static void test_time(void)
{
    for (int backward = 0; backward < 2; backward++) {
        double few = time_of_chain(5000, backward), many = time_of_chain(20000, backward);
        if (many > 9 * few + 0.05) printf("5,000 nodes %.2f s, 20,000 nodes %.2f s\n", few, many);
        CHECK(many <= 9 * few + 0.05);
    }
}

// 8 matrices of 8 MiB, in raw_data or in float_data, and perhaps an op that is not offered.
enum { SIDE = 1448, N_LARGE = 8 };

static void write_large(bool raw, bool offered)
{
    static float w[SIDE * SIDE];
    wire g = { 0 };
    char in[40] = "x", out[40] = "";
    for (int i = 0; i < SIDE * SIDE; i++)
        w[i] = (float)(i % 1000) / 1000.0f;
    put_message(&g, 11, value_info("x", OX_FLOAT, "1 1448"));
    for (int i = 0; i < N_LARGE; i++) {
        wire t = { 0 };
        char name[20];
        snprintf(name, sizeof name, "w%d", i);
        put_int(&t, 1, SIDE);
        put_int(&t, 1, SIDE);
        put_int(&t, 2, OX_FLOAT);
        put_text(&t, 8, name);
        put_bytes(&t, raw ? 9 : 4, w, sizeof w);
        put_message(&g, 5, t);
        snprintf(out, sizeof out, "h%d", i);
        snprintf(in + strlen(in), sizeof in - strlen(in), " w%d", i);
        put_message(&g, 1, node("MatMul", in, out));
        snprintf(in, sizeof in, "%s", out);
    }
    put_message(&g, 1, node(offered ? "Relu" : "FooBar", in, "y"));
    put_message(&g, 12, value_info("y", OX_FLOAT, NULL));
    write_graph(g);
}

// The most memory that importing the model takes, as a share of what its weights take.
static double share_of_import(int expected)
{
    struct rusage u;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        pid_t inner = fork(); // whose peak alone is counted
        if (inner == 0) {
            freopen("/dev/null", "w", stdout);
            freopen("/dev/null", "w", stderr);
            char *words[] = { "samba", "import-onnx", (char *)(uintptr_t)model,
                              (char *)(uintptr_t)pef, NULL };
            _exit(run_command(4, words));
        }
        int status = 0;
        waitpid(inner, &status, 0);
        getrusage(RUSAGE_CHILDREN, &u);
        bool fine = WIFEXITED(status) && WEXITSTATUS(status) == expected;
        double share = (double)u.ru_maxrss * 1024 / (4.0 * SIDE * SIDE * N_LARGE);
        _exit(fine && share < 25 ? (int)(share * 10) : 255);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) / 10.0 : 99;
}

// Weights are in memory once, while they are read, and while the program gets them; what is refused
// for an op is refused before any is read.
static void test_memory(void)
{
    if (TEST_SANITIZED) {
        printf("skipped: the memory of an import; it takes a build without sanitizers\n");
        return;
    }
    for (int raw = 0; raw < 2; raw++) {
        write_large(raw, true);
        double share = share_of_import(0);
        if (share > 1.3) printf("import takes %.1f times the weights\n", share);
        CHECK(share <= 1.3);
    }
    write_large(true, false);
    double share = share_of_import(1);
    if (share > 0.7) printf("a refusal takes %.1f times the weights\n", share);
    CHECK(share <= 0.7);
    remove(model);
}

int main(void)
{
    RUN(test_unread_input);
    RUN(test_not_finite);
    RUN(test_no_elements);
    RUN(test_any_bytes);
    RUN(test_export_to_what_is_there);
    RUN(test_several_shapes);
    RUN(test_shapes_that_do_not_fit);
    RUN(test_time);
    RUN(test_memory);
    return test_summary();
}
