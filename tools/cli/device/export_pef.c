// The header that holds a checkpoint as bytes, for samba_runtime_open.
#include "export.h"
#include "tools/cli/util/text.h"
#include <string.h>

static void write_bytes(FILE *to, const unsigned char *at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        fprintf(to, "%u%s", at[i], (i + 1) % 20 && i + 1 < size ? "," : ",\n");
}

// Each op once: SAMBA_OP(affine) ...
static void write_ops(FILE *to, const program *p, const char *name)
{
    fprintf(to, "\n// The ops of the program; define SAMBA_OP before use.\n#define ");
    write_upper(to, name);
    fprintf(to, "_OPS");

    enum { MOST = 1024 }; // samba.h has less

    const char *seen[MOST];
    int n = 0;
    for (int32_t i = 0; i < p->pef.n_nodes; i++) {
        const char *op = p->nodes[i].op;
        bool new_one = op != NULL && n < MOST;
        for (int k = 0; new_one && k < n; k++)
            new_one = strcmp(seen[k], op) != 0;
        if (!new_one) continue;
        seen[n++] = op;
        fprintf(to, " \\\n    SAMBA_OP(%s)", op);
    }
    fputc('\n', to);
}

// name_pef_TENSOR(rt), where it lies in a runtime.
static void write_symbols(FILE *to, const program *p, const char *name)
{
    fprintf(to, "\n// Tensors of a runtime: pointers, NULL before samba_runtime_open.\n");
    for (int32_t i = 0; i < p->pef.n_symbols; i++) {
        const symbol *s = &p->symbols[i];
        const char *type = c_type_of(s);
        bool inner = s->role == SAMBA_ROLE_TEMPORARY || s->role == SAMBA_ROLE_SCRATCH;
        if (inner || !type) continue;
        fprintf(to, "#define %s_pef_%s(rt) ((%s *)samba_runtime_data(rt, \"%s\")) // %s, ", name,
                p->ident[i], type, in_c_string(s->name), role_word(s->role));
        print_shape(to, &s->spec.shape);
        fputc('\n', to);
    }
}

const char pef_header_mark[] = "as a PEF in a constant array, for samba_runtime_open.";

void write_pef_header(FILE *to, const program *p, const char *name)
{
    fprintf(to,
            "// %s %s Include it in one C file;"
            "\n// it is meant for flash, from which read-only parameters are used as they lie."
            "\n#ifndef ",
            name, pef_header_mark);
    write_upper(to, name);
    fprintf(to, "_PEF_H\n#define ");
    write_upper(to, name);
    fprintf(to, "_PEF_H\n\n");
    write_ops(to, p, name);
    write_symbols(to, p, name);
    fprintf(to,
            "\nenum { %s_pef_size = %zu };\n\n#if defined(__GNUC__)\n"
            "__attribute__((aligned(64)))\n#endif\nstatic const unsigned char %s_pef[%zu] = {\n",
            name, p->size, name, p->size);
    write_bytes(to, (const unsigned char *)p->bytes, p->size);
    fprintf(to, "};\n\n#endif\n");
}
