// tools/samba device-config: which parts of samba.h a microcontroller needs for its programs.
#include "commands.h"
#include "export.h"
#include "tools/cli/util/text.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_PROGRAMS = 16 };

typedef struct options {
    const char *from[MOST_PROGRAMS], *to; // to: NULL, the standard output
    int n;
    bool trust, no_texts;
} options;

// What the programs need, each once.
typedef struct config {
    const char **ops; // names of samba.h
    int n_ops;
    bool own_ops, types[SAMBA_N_DTYPES];
    uint64_t fingerprint[MOST_PROGRAMS];
} config;

static int usage(FILE *to)
{
    fprintf(
        to,
        "usage: tools/samba device-config MODEL ... [-o FILE] [--trust] [--no-texts]\n"
        "  MODEL: a checkpoint, or a PEF; several for a firmware that runs several\n"
        "  writes a header to include before samba.h, which then compiles the ops and types of\n"
        "  these programs alone\n"
        "  --trust     the device runs these very files, which it compares by fingerprint; they\n"
        "              are proved here instead of there\n"
        "  --no-texts  a refusal is a line of samba.h instead of a sentence\n");
    return to == stdout ? 0 : 2;
}

static bool read_words(options *o, int argc, char **argv, fault *why)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0) {
            if (++i == argc) return fail(why, "-o: give the path of the header");
            o->to = argv[i];
        } else if (strcmp(argv[i], "--trust") == 0)
            o->trust = true;
        else if (strcmp(argv[i], "--no-texts") == 0)
            o->no_texts = true;
        else if (*argv[i] == '-')
            return fail(why, "there is no flag %s; --help lists those there are", argv[i]);
        else if (o->n == MOST_PROGRAMS)
            return fail(why, "%s: at most %d programs", argv[i], MOST_PROGRAMS);
        else
            o->from[o->n++] = argv[i];
    }
    return o->n > 0 || fail(why, "which program? device-config MODEL.ckpt");
}

static bool add_op(config *c, const char *op, fault *why)
{
    c->own_ops = c->own_ops || !op;
    if (!op) return true;
    for (int i = 0; i < c->n_ops; i++)
        if (strcmp(c->ops[i], op) == 0) return true;
    const char **more = realloc(c->ops, (size_t)(c->n_ops + 1) * sizeof *more);
    if (!more) return fail(why, "no memory");
    c->ops = more;
    c->ops[c->n_ops++] = op; // in samba.h: it outlives the program
    return true;
}

static bool add_program(config *c, const options *o, int i, fault *why)
{
    program p = { 0 };
    bool fine = open_program(&p, o->from[i], why) && (!o->trust || has_values(&p, why));
    for (int32_t k = 0; fine && k < p.pef.n_nodes; k++)
        fine = add_op(c, p.nodes[k].op, why);
    for (int32_t k = 0; fine && k < p.pef.n_symbols; k++)
        if (p.symbols[k].role != SAMBA_ROLE_SCRATCH) c->types[p.symbols[k].spec.dtype] = true;
    if (fine) c->fingerprint[i] = samba_pef_fingerprint(p.bytes, p.size);
    if (fine && o->trust && !c->fingerprint[i])
        fine = fail(why,
                    "%s is of an older version, which has no fingerprint: load it and save it "
                    "again",
                    o->from[i]);
    close_program(&p);
    return fine;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// BF16 of SAMBA_BF16.
static void write_type(FILE *to, samba_dtype type)
{
    fprintf(to, "#define SAMBA_USE_");
    write_upper(to, samba_dtype_name(type));
    fputc('\n', to);
}

static void write_config(FILE *to, const config *c, const options *o)
{
    fprintf(to,
            "// What samba.h has to compile for the programs below: include it before samba.h."
            "\n// tools/samba device-config has written it; do so again when one of them changes."
            "\n#ifndef SAMBA_DEVICE_CONFIG_H\n#define SAMBA_DEVICE_CONFIG_H\n\n"
            "#define SAMBA_RUNTIME_ONLY\n\n#define SAMBA_SELECT_OPS\n");
    for (int i = 0; i < c->n_ops; i++)
        fprintf(to, "#define SAMBA_USE_%s\n", c->ops[i]);
    if (c->own_ops) fprintf(to, "#define SAMBA_USE_own_ops\n");
    fprintf(to, "\n#define SAMBA_SELECT_TYPES\n");
    for (int i = SAMBA_F32 + 1; i < SAMBA_N_DTYPES; i++)
        if (c->types[i]) write_type(to, (samba_dtype)i);
    if (o->no_texts) fprintf(to, "\n#define SAMBA_NO_TEXTS\n");
    if (o->trust) fprintf(to, "\n#define SAMBA_TRUSTED_PEF");
    for (int i = 0; i < o->n && o->trust; i++)
        fprintf(to, " \\\n    0x%016llxu%s", (unsigned long long)c->fingerprint[i],
                i + 1 < o->n ? "," : "\n");
    fprintf(to, "\n// The programs, in the order of their fingerprints:\n");
    for (int i = 0; i < o->n; i++) {
        const char *slash = strrchr(o->from[i], '/');
        fprintf(to, "//     %s\n", in_c_comment(slash ? slash + 1 : o->from[i]));
    }
    fprintf(to, "\n#endif\n");
}

static bool write_to(const config *c, const options *o, fault *why)
{
    if (!o->to) {
        write_config(stdout, c, o);
        return !ferror(stdout) || fail(why, "the standard output cannot be written");
    }
    samba_base_output out;
    if (!samba_base_begin(&out, o->to, "tools/samba device-config", why->text, sizeof why->text))
        return false;
    write_config(out.file, c, o);
    return samba_base_end(&out, true, why->text, sizeof why->text);
}

int device_config_main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return usage(stdout);
    options o = { 0 };
    config c = { 0 };
    fault why = { "" };
    if (!read_words(&o, argc, argv, &why)) return report_fault("device-config", &why, 2);
    bool fine = true;
    for (int i = 0; fine && i < o.n; i++)
        fine = add_program(&c, &o, i, &why);
    if (fine && c.n_ops > 0) qsort(c.ops, (size_t)c.n_ops, sizeof *c.ops, by_name);
    fine = fine && write_to(&c, &o, &why);
    free(c.ops);
    return fine ? 0 : report_fault("device-config", &why, 1);
}
