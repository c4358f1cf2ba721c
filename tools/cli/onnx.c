// The ONNX commands of tools/samba, a program of their own: they need samba.h and protobuf-c.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_ONNX_IMPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_import.h"
#define SAMBA_ONNX_EXPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_export.h"
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
    fprintf(to,
            "usage: tools/samba import-onnx MODEL.onnx PROGRAM.pef [flags]\n"
            "         compiles a model for inference; prints its inputs and outputs\n"
            "  --shape NAME=4,3,224,224   of an input whose dimensions the model leaves open\n"
            "  --value NAME=2,3           of an input that decides shapes: it becomes a constant\n"
            "  --constants MIB            memory for what the model computes of constants alone, if\n"
            "                             256 and 16 times its own size are too little\n"
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

// Is NAME=... of this name there already?
static bool is_given(const request *r, const char *name)
{
    for (int i = 0; i < r->n; i++)
        if (!strcmp(r->name[i], name)) return true;
    return false;
}

// "1,2,3" as an array of int64, or of float if one of them is no integer. NULL: no list of numbers.
static onnx_array *read_numbers(const char *text, bool floats)
{
    int64_t n = 1;
    for (const char *p = text; *p; p++) n += *p == ',';
    onnx_array *a = ox_new_array(floats ? OX_FLOAT : OX_INT64, 1, &n);
    const char *at = text;
    for (int64_t i = 0; a && i < n; i++) {
        char *end;
        errno = 0;
        if (floats) a->f[i] = strtof(at, &end);
        else a->i[i] = strtoll(at, &end, 10);
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
    if (!equals || equals == text)
        return fprintf(stderr, "%s %s: write it as NAME=NUMBERS\n", flag, text), false;
    *equals = 0;
    onnx_array *a = read_numbers(equals + 1, false);
    bool fine = a && (value || (a->i && a->count <= SAMBA_MAX_DIMS));
    for (int64_t i = 0; fine && !value && i < a->count; i++) fine = a->i[i] >= 0;
    if (!fine)
        fprintf(stderr, value ? "--value %s=%s: give numbers with commas between them\n"
                : "--shape %s=%s: give up to 8 whole numbers with commas between them\n", text,
                equals + 1);
    else if (is_given(r, text)) fprintf(stderr, "%s %s is given twice\n", flag, text), fine = false;
    else if (r->n == MAX_KNOWN) fprintf(stderr, "more than %d inputs\n", MAX_KNOWN), fine = false;
    if (fine && !value) {
        onnx_array *shape = ox_new_array(OX_FLOAT, (int32_t)a->count, a->i);
        fine = shape || fprintf(stderr, "--shape %s: too large\n", text) < 0;
        onnx_array_free(a);
        a = shape;
    }
    if (!fine) return onnx_array_free(a), false;
    r->name[r->n] = text;
    r->array[r->n] = a;
    r->fixed[r->n++] = value;
    return true;
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
    onnx_options options = { known, r->n, r->constant_mib << 20 };
    samba_program p = { .pef = r->to, .inference = true };
    bool fine = onnx_register_ops(s) && onnx_trace(s, r->from, &options, &g);
    if (!fine && *g.wants)
        fprintf(stderr, "perhaps --value %s=%s helps\n", g.wants,
                *g.wants_value ? g.wants_value : "...");
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
            if (!read_pair(&r, argv[++i], value)) return 2;
        } else if (!strcmp(argv[i], "--constants") && i + 1 < argc) {
            char *end = NULL;
            r.constant_mib = strtoull(argv[++i], &end, 10);
            if (*end || !r.constant_mib || r.constant_mib > 1 << 24) return usage(stderr);
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
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "samba: not all of the output could be written\n");
        if (code == 0) code = 1;
    }
    return code;
}
