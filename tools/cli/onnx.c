// The ONNX commands of tools/samba, a program of their own: they need samba.h and protobuf-c.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_ONNX_IMPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_import.h"
#define SAMBA_ONNX_EXPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_export.h"
#include "tools/cli/util/text.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KNOWN = ONNX_MAX_PORTS };

// What the flags say. --shape and --value give an input NAME=...
typedef struct request {
    const char *from, *to, *graph;
    const char *name[MAX_KNOWN];
    onnx_array *array[MAX_KNOWN];
    bool fixed[MAX_KNOWN];
    int n;
    uint64_t constant_mib;
} request;

static int usage(FILE *to)
{
    fprintf(
        to,
        "usage: tools/samba import-onnx MODEL.onnx PROGRAM.pef [flags]\n"
        "         compiles a model for inference; prints its inputs and outputs\n"
        "  --shape NAME=4,3,224,224   of an input whose dimensions the model leaves open; given\n"
        "                             several times: a graph for each, which share the weights\n"
        "  --value NAME=2,3           of an input that decides shapes: it becomes a constant\n"
        "  --constants MIB            memory for what the model computes of constants alone, if\n"
        "                             256 and 16 times its own size are too little\n"
        "       tools/samba export-onnx MODEL.ckpt MODEL.onnx [--graph NAME]\n"
        "         writes the forward pass of a checkpoint (or of a PEF with values)\n"
        "       tools/samba onnx-ops\n"
        "         lists the ops that can be imported, with the first op set of each; those of\n"
        "         other domains than ai.onnx as com.microsoft.QGemm, ai.onnx.ml.Scaler\n");
    return to == stdout ? 0 : 2;
}

static void print_text(const char *text, void *user)
{
    (void)user;
    fputs(text, stdout);
}

// How many shapes or values a name has so far; *fixed: one of them is a value.
static int times_given(const request *r, const char *name, bool *fixed)
{
    int n = 0;
    *fixed = false;
    for (int i = 0; i < r->n; i++) {
        if (strcmp(r->name[i], name)) continue;
        *fixed = *fixed || r->fixed[i];
        n++;
    }
    return n;
}

// A name may have several shapes, one for each graph; a value is for all.
static bool is_twice(const request *r, const char *name, bool value)
{
    bool fixed;
    int n = times_given(r, name, &fixed);
    return n > 0 && (value || fixed);
}

// "1,2,3" as an array of int64, or of float if one of them is no integer. NULL: no list of numbers.
static onnx_array *read_numbers(const char *text, bool floats)
{
    int64_t n = 1;
    for (const char *p = text; *p; p++)
        n += *p == ',';
    onnx_array *a = ox_new_array(floats ? OX_FLOAT : OX_INT64, 1, &n);
    const char *at = text;
    for (int64_t i = 0; a && i < n; i++) {
        char *end;
        errno = 0;
        if (floats)
            a->f[i] = strtof(at, &end);
        else
            a->i[i] = strtoll(at, &end, 10);
        bool fine = end != at && (!*end || *end == ',') && !errno;
        if (!fine) {
            onnx_array_free(a);
            return floats ? NULL : read_numbers(text, true);
        }
        at = end + (*end == ',');
    }
    return a;
}

// NAME=NUMBERS of --shape or --value.
static bool read_pair(request *r, char *text, bool value)
{
    char *equals = strrchr(text, '=');
    const char *flag = value ? "--value" : "--shape";
    if (!equals || equals == text) {
        fprintf(stderr, "%s %s: write it as NAME=NUMBERS\n", flag, shown(text));
        return false;
    }
    *equals = 0;
    onnx_array *a = read_numbers(equals + 1, false);
    bool fine = a && (value || (a->i && a->count <= SAMBA_MAX_DIMS));
    for (int64_t i = 0; fine && !value && i < a->count; i++)
        fine = a->i[i] >= 0;
    if (!fine)
        fprintf(stderr,
                value ? "--value %s=%s: give numbers with commas between them\n"
                      : "--shape %s=%s: give up to 8 whole numbers with commas between them\n",
                shown(text), shown(equals + 1));
    else if (is_twice(r, text, value)) {
        fprintf(stderr, "%s %s is given twice\n", flag, shown(text));
        fine = false;
    } else if (r->n == MAX_KNOWN) {
        fprintf(stderr, "more than %d inputs\n", MAX_KNOWN);
        fine = false;
    }
    if (fine && !value) {
        onnx_array *shape = ox_new_array(OX_FLOAT, (int32_t)a->count, a->i);
        fine = shape || fprintf(stderr, "--shape %s: too large\n", shown(text)) < 0;
        onnx_array_free(a);
        a = shape;
    }
    if (!fine) {
        onnx_array_free(a);
        return false;
    }
    r->name[r->n] = text;
    r->array[r->n] = a;
    r->fixed[r->n++] = value;
    return true;
}

// Names are those of the model, and any bytes.
static void print_port(const char *title, const onnx_port *port, bool read)
{
    const samba_tensor *t = port->tensor;
    printf("%s %s", title, shown(port->name));
    if (port->item >= 0) printf("[%d]", port->item);
    printf(": %s", ox_type_name(port->type));
    if (!t) {
        printf(", %s\n", port->constant ? "constant" : "nothing");
        return;
    }
    printf(" (");
    for (int32_t d = 0; d < t->shape.ndim; d++)
        printf("%s%d", d ? "," : "", t->shape.dim[d]);
    if (read)
        printf("), %s in the PEF\n", shown(t->name));
    else
        printf("), not in the PEF: nothing reads it\n");
}

// Inputs that no output depends on are not in the program.
static void print_ports(const onnx_graph *g)
{
    for (int32_t i = 0; i < g->n_in; i++) {
        const samba_tensor *t = g->in[i].tensor;
        print_port("input", &g->in[i], t && t->symbol >= 0);
    }
    for (int32_t i = 0; i < g->n_out; i++)
        print_port("output", &g->out[i], true);
}

// ---- Graphs: one for each shape of an input that has several ------------------------------------

// How many graphs there are to be; 0, with a reason, if inputs have several shapes, but not as
// many.
static int count_graphs(const request *r)
{
    int n = 1;
    bool fixed;
    for (int i = 0; i < r->n; i++) {
        int times = times_given(r, r->name[i], &fixed);
        if (times > 1 && n > 1 && times != n) {
            fprintf(stderr,
                    "--shape %s: is given %d times, another input %d times; give each once, "
                    "or once for each graph\n",
                    shown(r->name[i]), times, n);
            return 0;
        }
        if (times > n) n = times;
    }
    return n;
}

// What is known of the inputs of graph k: of a name that comes several times, the k-th. Its name is
// the shape of the first such input, "1x16".
static int known_of_graph(const request *r, int k, onnx_known *known, char *name, size_t size)
{
    int n = 0;
    bool fixed;
    *name = 0;
    for (int i = 0; i < r->n; i++) {
        int before = 0, times = times_given(r, r->name[i], &fixed);
        for (int j = 0; j < i; j++)
            before += !strcmp(r->name[j], r->name[i]);
        if (times > 1 && before != k) continue;
        known[n].name = r->name[i];
        known[n].array = r->array[i];
        known[n++].fixed = r->fixed[i];
        if (times == 1 || *name) continue;
        for (int32_t d = 0; d < r->array[i]->ndim; d++) {
            size_t used = strlen(name);
            snprintf(name + used, size - used, "%s%lld", d ? "x" : "",
                     (long long)r->array[i]->dim[d]);
        }
    }
    return n;
}

// Says what was imported, and writes the checkpoint. What the model has that is not finite stays
// so.
static bool save_model(samba_session *s, const request *r, const onnx_graph *g, int n)
{
    size_t size = strlen(r->to) + sizeof ".ckpt";
    char *checkpoint = malloc(size);
    if (!checkpoint) fprintf(stderr, "samba: no memory for the name of the checkpoint\n");
    if (!checkpoint) return false;
    snprintf(checkpoint, size, "%s.ckpt", r->to);
    for (int i = 0; i < n; i++) {
        onnx_known known[MAX_KNOWN];
        char name[120];
        known_of_graph(r, i, known, name, sizeof name);
        if (n > 1) printf("graph %s:\n", name);
        print_ports(&g[i]);
    }
    if (*g->note) printf("note: %s\n", shown(g->note));
    bool saved = samba_save_with(s, checkpoint, &(samba_save_opts){ .allow_nonfinite = true });
    if (saved)
        printf("%s: the program; %s: the same with the weights\n", shown(r->to), shown(checkpoint));
    free(checkpoint);
    return saved;
}

static bool trace_graph(samba_session *s, const request *r, int k, int n, onnx_graph *g,
                        samba_program *p)
{
    onnx_known known[MAX_KNOWN];
    char name[120];
    memset(known, 0, sizeof known);
    int n_known = known_of_graph(r, k, known, name, sizeof name);
    onnx_options options = { .known = known,
                             .n_known = n_known,
                             .max_constant_bytes = r->constant_mib << 20,
                             .inference = true };
    if (n > 1) options.graph = name;
    bool fine = onnx_trace(s, r->from, &options, g);
    if (!fine && *g->wants)
        fprintf(stderr, "perhaps --value %s=%s helps\n", shown(g->wants),
                *g->wants_value ? g->wants_value : "...");
    return fine && onnx_set_outputs(g, p);
}

static int import_model(const request *r)
{
    int n = count_graphs(r), traced = 0;
    if (!n) return 2;
    samba_session *s = samba_open(NULL);
    onnx_graph *g = calloc((size_t)n, sizeof *g);
    if (!s || !g) fprintf(stderr, "samba: no memory for a session\n");
    samba_program p = { .pef = r->to, .inference = true };
    bool fine = s && g && onnx_register_ops(s);
    while (fine && traced < n) {
        fine = trace_graph(s, r, traced, n, &g[traced], &p);
        traced++;
    }
    fine = fine && samba_compile(s, &p) && save_model(s, r, g, n);
    for (int i = 0; i < traced; i++)
        onnx_release(&g[i]);
    free(g);
    bool bad = s && samba_close(s);
    return bad || !fine;
}

static int export_model(const request *r)
{
    char why[800] = "";
    if (onnx_export_file(r->from, r->to, r->graph, why, sizeof why)) {
        printf("%s: written\n", shown(r->to));
        return 0;
    }
    fprintf(stderr, "samba: %s: ", shown(r->from));
    print_safely(stderr, why);
    fputc('\n', stderr);
    return 1;
}

// The words behind the command. An exit code, if there is nothing more to do; -1: go on.
static int read_words(request *r, int argc, char **argv)
{
    bool names = false; // behind --: whatever they begin with
    for (int i = 2; i < argc; i++) {
        bool shape = !strcmp(argv[i], "--shape"), value = !strcmp(argv[i], "--value");
        bool flag = argv[i][0] == '-' && !names;
        if (flag && !strcmp(argv[i], "--help")) return usage(stdout);
        if (flag && !strcmp(argv[i], "--")) {
            names = true;
        } else if (flag && (shape || value) && i + 1 < argc) {
            if (!read_pair(r, argv[++i], value)) return 2;
        } else if (flag && !strcmp(argv[i], "--constants") && i + 1 < argc) {
            char *end = NULL;
            r->constant_mib = strtoull(argv[++i], &end, 10);
            if (*end || !r->constant_mib || r->constant_mib > 1 << 24) return usage(stderr);
        } else if (flag && !strcmp(argv[i], "--graph") && i + 1 < argc) {
            r->graph = argv[++i];
        } else if (!flag && !r->from) {
            r->from = argv[i];
        } else if (!flag && !r->to) {
            r->to = argv[i];
        } else
            return usage(stderr);
    }
    return -1;
}

static int run_words(const char *command, const request *r)
{
    if (!strcmp(command, "onnx-ops")) {
        onnx_print_ops(print_text, NULL);
        return 0;
    }
    if (!r->from || !r->to) return usage(stderr);
    if (!strcmp(command, "import-onnx")) return import_model(r);
    if (!strcmp(command, "export-onnx")) return export_model(r);
    return usage(stderr);
}

int main(int argc, char **argv)
{
    request r;
    memset(&r, 0, sizeof r);

    int code = read_words(&r, argc, argv);
    if (code < 0) code = run_words(argc > 1 ? argv[1] : "", &r);
    for (int i = 0; i < r.n; i++)
        onnx_array_free(r.array[i]);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "samba: not all of the output could be written\n");
        if (code == 0) code = 1;
    }
    return code;
}
