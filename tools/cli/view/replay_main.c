// tools/samba replay: the run again in which a value that is not finite arose.
#include "commands.h"
#include "page.h"
#include "show.h"
#include "samba/replay.h"
#include "tools/cli/util/text.h"
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *from, *page; // page: NULL, none is written
    const char *checkpoint;  // of --keep: stays
} options;

static int usage(FILE *to)
{
    fprintf(
        to,
        "usage: tools/samba replay FILE [--view PAGE.html] [--keep MODEL.ckpt]\n"
        "  runs again what samba/replay.h wrote when a value was not finite, and says whether the\n"
        "  same op made the same value: then it exits with 0, else with 1; with 2 after an error\n"
        "  --view  writes a page that shows the run, and opens at that op\n"
        "  --keep  writes the program with the values from before the run\n");
    return to == stdout ? 0 : 2;
}

static bool read_words(options *o, int argc, char **argv, fault *why)
{
    for (int i = 0; i < argc; i++) {
        bool view = strcmp(argv[i], "--view") == 0, keep = strcmp(argv[i], "--keep") == 0;
        if ((view || keep) && i + 1 == argc) return fail(why, "%s: which file?", argv[i]);
        if (view)
            o->page = argv[++i];
        else if (keep)
            o->checkpoint = argv[++i];
        else if (*argv[i] == '-')
            return fail(why, "there is no flag %s; --help lists those there are", argv[i]);
        else if (o->from)
            return fail(why, "%s: one file at a time", argv[i]);
        else
            o->from = argv[i];
    }
    return o->from || fail(why, "which file? replay FILE");
}

static int32_t node_of(const model *m, const char *name)
{
    for (int32_t i = 0; i < m->pef.n_nodes; i++)
        if (strcmp(m->nodes[i].name, name) == 0) return i;
    return -1;
}

// The tensor of this name that the node makes or reads; -1: none.
static int32_t tensor_of(const model *m, int32_t i, const char *name)
{
    const node *n = i < 0 ? NULL : &m->nodes[i];
    for (int32_t k = 0; n && k < n->n_in + n->n_out; k++) {
        int32_t at = k < n->n_out ? n->out[k] : n->in[k - n->n_out];
        if (at >= 0 && strcmp(m->symbols[at].name, name) == 0) return at;
    }
    return -1;
}

static void print_found(const samba_replay_found *f, bool again)
{
    print_safely(stdout, f->message);
    printf("\n%s\n",
           again ? "repeated: the same op made the same value"
                 : "not repeated: this run does not end as that one did");
}

// The run, watched: what it made until it ended stays in v.
static bool repeat(view *v, const samba_replay_found *f, bool *again, fault *why)
{
    if (!begin_capture(&v->capture, &v->model, 1, 8 << 20, why)) return false;
    begin_watch(&v->capture);
    *again = samba_replay_again(v->model.session, f);
    end_watch(&v->capture);
    v->n_steps = 1;
    return !v->capture.failed || fail(why, "no memory for what the nodes make");
}

static bool write_found(view *v, const options *o, const char *command, const samba_replay_found *f,
                        fault *why)
{
    page_data d;
    describe_view(&d, v, o->from, command);
    d.open_node = node_of(&v->model, f->node);
    d.open_tensor = tensor_of(&v->model, d.open_node, f->tensor);
    d.open_message = f->message;
    return write_view(o->page, &d, why);
}

static bool replay(const options *o, const char *command, bool *again, fault *why)
{
    view v;
    samba_replay_found found;
    const model_options how = { 0, 0, o->from, &found, false };
    memset(&v, 0, sizeof v);
    memset(&found, 0, sizeof found);
    bool fine = !o->page || may_write_page(o->page, why);
    fine = fine && open_model(&v.model, o->checkpoint, &how, why)
        && map_memory(&v.memory, &v.model, why);
    if (fine && o->checkpoint) printf("%s: the values from before the run\n", shown(o->checkpoint));
    fine = fine && repeat(&v, &found, again, why);
    if (fine) print_found(&found, *again);
    if (fine && o->page) fine = write_found(&v, o, command, &found, why);
    close_view(&v);
    samba_replay_free(&found);
    return fine;
}

int replay_main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return usage(stdout);
    options o = { NULL, NULL, NULL };
    fault why = { "" };
    bool again = false;
    if (!read_words(&o, argc, argv, &why)) return report_fault("replay", &why, 2);
    char *command = join_words("replay", argc, argv);
    bool fine = command || fail(&why, "no memory for the command line");
    fine = fine && replay(&o, command, &again, &why);
    free(command);
    if (!fine) return report_fault("replay", &why, 2);
    return again ? 0 : 1;
}
