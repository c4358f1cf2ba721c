// The ONNX commands of tools/samba, a program of their own: they need samba.h and protobuf-c.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#define SAMBA_ONNX_IMPLEMENTATION
#include "../onnx_import.h"
#define SAMBA_ONNX_EXPORT_IMPLEMENTATION
#include "../onnx_export.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KNOWN = 64 };

// What the flags say. --shape and --value give an input NAME=...
typedef struct request {
    const char *from, *to, *graph;
    const char *name[MAX_KNOWN];
    onnx_array *array[MAX_KNOWN];
    bool fixed[MAX_KNOWN];
    int n;
} request;

static int usage(FILE *to)
{
    fprintf(to,
            "usage: tools/samba import-onnx MODEL.onnx PROGRAM.pef [flags]\n"
            "         compiles a model for inference; prints its inputs and outputs\n"
            "  --shape NAME=4,3,224,224   of an input whose dimensions the model leaves open\n"
            "  --value NAME=2,3           of an input that decides shapes: it becomes a constant\n"
            "       tools/samba export-onnx MODEL.ckpt MODEL.onnx [--graph NAME]\n"
            "         writes the forward pass of a checkpoint (or of a PEF with values)\n"
            "       tools/samba onnx-ops\n"
            "         lists the ops that can be imported, with the first op set of each\n");
    return to == stdout ? 0 : 2;
}

static void print_text(const char *text, void *user)
{
    (void)user;
    fputs(text, stdout);
}

// "NAME=1,2,3" as an array of int64 (or float, if a point is in it), or as a shape.
static bool read_pair(request *r, char *text, bool value)
{
    char *equals = strchr(text, '=');
    int64_t dim[SAMBA_MAX_DIMS] = { 0 }, n = 1;
    if (!equals || r->n == MAX_KNOWN) return false;
    for (const char *p = equals + 1; *p; p++) n += *p == ',';
    if (!value && n > SAMBA_MAX_DIMS) return false;
    bool floats = value && strchr(equals, '.');
    onnx_array *a = value ? ox_new_array(floats ? OX_FLOAT : OX_INT64, 1, &n) : NULL;
    char *p = equals + 1;
    for (int64_t i = 0; i < n; i++) {
        char *end = p;
        double x = strtod(p, &end);
        if (end == p || (*end && *end != ',')) return onnx_array_free(a), false;
        if (!value) dim[i] = (int64_t)x;
        else if (floats) a->f[i] = (float)x;
        else a->i[i] = (int64_t)x;
        p = end + (*end == ',');
    }
    if (!value) a = ox_new_array(OX_FLOAT, (int32_t)n, dim);
    *equals = 0;
    r->name[r->n] = text, r->array[r->n] = a, r->fixed[r->n++] = value;
    return a != NULL;
}

static void print_ports(const char *title, const onnx_port *port, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        printf("%s %s", title, port[i].name);
        if (port[i].item >= 0) printf("[%d]", port[i].item);
        printf(": %s", ox_type_name(port[i].type));
        if (!port[i].tensor) printf(", %s", port[i].constant ? "constant" : "nothing");
        else printf(" (");
        for (int32_t d = 0; port[i].tensor && d < port[i].tensor->shape.ndim; d++)
            printf("%s%d", d ? "," : "", port[i].tensor->shape.dim[d]);
        if (port[i].tensor) printf("), %s in the PEF", port[i].tensor->name);
        putchar('\n');
    }
}

static int import_model(const request *r)
{
    onnx_known known[MAX_KNOWN];
    onnx_graph g = { .n_in = 0 };
    samba_session *s = samba_open(NULL);
    memset(known, 0, sizeof known);
    for (int i = 0; i < r->n; i++) {
        known[i].name = r->name[i];
        known[i].array = r->array[i];
        known[i].fixed = r->fixed[i];
    }
    onnx_options options = { known, r->n };
    samba_program p = { .pef = r->to, .inference = true };
    bool fine = onnx_register_ops(s) && onnx_trace(s, r->from, &options, &g);
    if (!fine && *g.wants) fprintf(stderr, "perhaps --value %s=... helps\n", g.wants);
    if (fine && onnx_set_outputs(&g, &p) && samba_compile(s, &p)) {
        char checkpoint[1000];
        snprintf(checkpoint, sizeof checkpoint, "%s.ckpt", r->to);
        print_ports("input", g.in, g.n_in);
        print_ports("output", g.out, g.n_out);
        if (samba_save(s, checkpoint))
            printf("%s: the program; %s: the same with the weights\n", r->to, checkpoint);
    }
    onnx_release(&g);
    return samba_close(s);
}

static int export_model(const request *r)
{
    char why[400] = "";
    if (onnx_export_file(r->from, r->to, r->graph, why, sizeof why)) {
        printf("%s: written\n", r->to);
        return 0;
    }
    fprintf(stderr, "samba: %s: %s\n", r->from, why);
    return 1;
}

int main(int argc, char **argv)
{
    request r;
    const char *command = argc > 1 ? argv[1] : "";
    memset(&r, 0, sizeof r);
    for (int i = 2; i < argc; i++) {
        bool shape = !strcmp(argv[i], "--shape"), value = !strcmp(argv[i], "--value");
        if (!strcmp(argv[i], "--help")) return usage(stdout);
        if ((shape || value) && i + 1 < argc) {
            if (!read_pair(&r, argv[++i], value)) return usage(stderr);
        } else if (!strcmp(argv[i], "--graph") && i + 1 < argc) {
            r.graph = argv[++i];
        } else if (argv[i][0] != '-' && !r.from) {
            r.from = argv[i];
        } else if (argv[i][0] != '-' && !r.to) {
            r.to = argv[i];
        } else return usage(stderr);
    }
    int code = 2;
    if (!strcmp(command, "onnx-ops")) onnx_print_ops(print_text, NULL), code = 0;
    else if (!r.from || !r.to) code = usage(stderr);
    else if (!strcmp(command, "import-onnx")) code = import_model(&r);
    else if (!strcmp(command, "export-onnx")) code = export_model(&r);
    else code = usage(stderr);
    for (int i = 0; i < r.n; i++) onnx_array_free(r.array[i]);
    return code;
}
