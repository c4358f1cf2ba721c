// tools/samba export-c: a checkpoint as C, for a microcontroller.
#include "commands.h"
#include "emit.h"
#include "export.h"
#include "identifier.h"
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *from, *to; // to: NULL, a folder, or the path of the files without .c
    bool inexact, float16_weights;
} options;

static int usage(FILE *to)
{
    fprintf(
        to,
        "usage: tools/samba export-c MODEL.ckpt [-o FOLDER or FOLDER/NAME]\n"
        "                            [--inexact] [--float16-weights]\n"
        "  writes NAME.c and NAME.h: the program as C that needs nothing else, with the bits of\n"
        "  samba.h; and NAME_pef.h: the checkpoint as a constant array, for samba_runtime_open\n"
        "  --inexact: in NAME.c, products are rounded before they are added where the processor\n"
        "    has no instruction for multiply-adds: other bits, and faster there\n"
        "  --float16-weights: in NAME.c, weights take half the flash, rounded to 11 bits\n");
    return to == stdout ? 0 : 2;
}

// The folder of the files, and their name: that of the checkpoint, if -o has but a folder.
static bool choose_name(const options *o, char path[PATH_SIZE], char **name, fault *why)
{
    const char *from = o->to && !is_folder(o->to) ? o->to : o->from;
    const char *slash = strrchr(from, '/');
    const char *base = slash ? slash + 1 : from;
    char stem[256];
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(base, "."), base);
    identifiers none = { 0 };
    *name = new_identifier(&none, stem);
    free_identifiers(&none);
    if (!*name) return fail(why, "no memory");
    if (o->to && is_folder(o->to)) return make_path(path, why, "%s/%s", o->to, *name);
    if (!o->to) return make_path(path, why, "%s", *name);
    return make_path(path, why, "%.*s%s", (int)(base - from), from, *name);
}

static bool export_pef(const program *p, const char *path, const char *name, fault *why)
{
    char file[PATH_SIZE];
    if (!make_path(file, why, "%s_pef.h", path)) return false;
    samba_base_output out;
    if (!samba_base_begin(&out, file, pef_header_mark, why->text, sizeof why->text)) return false;
    write_pef_header(out.file, p, name);
    return samba_base_end(&out, true, why->text, sizeof why->text);
}

static bool read_words(options *o, int argc, char **argv, fault *why)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0) {
            if (++i == argc) return fail(why, "-o: give a folder, or a path without .c");
            o->to = argv[i];
        } else if (strcmp(argv[i], "--inexact") == 0)
            o->inexact = true;
        else if (strcmp(argv[i], "--float16-weights") == 0)
            o->float16_weights = true;
        else if (*argv[i] == '-')
            return fail(why, "there is no flag %s; --help lists those there are", argv[i]);
        else if (o->from)
            return fail(why, "%s: one checkpoint at a time", argv[i]);
        else
            o->from = argv[i];
    }
    return o->from || fail(why, "which checkpoint? export-c MODEL.ckpt");
}

int export_c_main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return usage(stdout);
    options o = { 0 };
    program p = { 0 };
    fault why = { "" };
    char path[PATH_SIZE], *name = NULL;
    bool written = true;
    if (!read_words(&o, argc, argv, &why)) return report_fault("export-c", &why, 2);
    export_options how = { o.from, o.inexact, o.float16_weights };
    bool fine = open_program(&p, o.from, &why) && has_values(&p, &why)
        && choose_name(&o, path, &name, &why) && export_pef(&p, path, name, &why)
        && write_source(&p, path, name, &how, &why, &written);
    if (fine && !written) report_fault("export-c", &why, 0);
    close_program(&p);
    free(name);
    return fine ? 0 : report_fault("export-c", &why, 1);
}
