// tools/samba view: a model as one HTML page that shows what happens in it.
#include "commands.h"
#include "inputs.h"
#include "map.h"
#include "page.h"
#include "show.h"
#include "samba/replay.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 64 };

typedef struct options {
    const char *from, *other, *to; // other: what from is compared with
    const char *tokens, *map;
    const char *inputs[MOST_INPUTS];
    int n_inputs;
    int64_t steps, megabytes, runs, threads, seed;
    double tolerance;
    bool diff;
} options;

static int usage(FILE *to)
{
    fprintf(
        to,
        "usage: tools/samba view MODEL.pef|MODEL.ckpt [--input NAME=X.npy ...] [-o PAGE.html]\n"
        "       tools/samba view --diff A B [--input NAME=X.npy ...] [-o PAGE.html]\n"
        "       tools/samba view NAN.replay [-o PAGE.html]       the run that samba/replay.h wrote\n"
        "  writes one HTML file, which needs nothing else, of the model: its graph, the values and\n"
        "  gradients of each step, memory, time. Without -o it is MODEL.html. A program with ops\n"
        "  of its own, which are not here, is shown without values and times\n"
        "  --input   an array of NumPy for an input; X.npy alone if there is one input. Inputs that\n"
        "            are not given are random, in the range that the ops allow\n"
        "  --steps N    runs of the whole schedule that are kept (1)\n"
        "  --values MB  room for values in the page (8): small tensors first, then the first\n"
        "               elements of large ones\n"
        "  --runs N     runs that are timed (5; 0: none, and the machine is not measured)\n"
        "  --tokens FILE  a label for each place of a sequence, one a line\n"
        "  --map FILE  what the compiler told of it, if MODEL.pef.map is not beside the file\n"
        "  --threads N  (all)    --seed N  of what the model draws\n"
        "  --diff    compares two files: their graphs, and what they make of the same inputs.\n"
        "            Exits with 0 if they are equal, 1 if they differ, 2 after an error\n"
        "  --tolerance X  elements differ by more than X max(1, |a|, |b|) (0)\n");
    return to == stdout ? 0 : 2;
}

// ---- Words --------------------------------------------------------------------------------------

static bool read_number(int64_t *n, const char *flag, const char *text, int64_t least, fault *why)
{
    char *end;
    long long value = text ? strtoll(text, &end, 10) : 0;
    if (!text || !*text || *end || value < least || value > 1000000000)
        return fail(why, "%s: give a number from %lld on", flag, (long long)least);
    *n = value;
    return true;
}

static bool read_flag(options *o, const char *flag, const char *value, fault *why)
{
    if (strcmp(flag, "--steps") == 0) return read_number(&o->steps, flag, value, 1, why);
    if (strcmp(flag, "--values") == 0) return read_number(&o->megabytes, flag, value, 0, why);
    if (strcmp(flag, "--runs") == 0) return read_number(&o->runs, flag, value, 0, why);
    if (strcmp(flag, "--threads") == 0) return read_number(&o->threads, flag, value, 0, why);
    if (strcmp(flag, "--seed") == 0) return read_number(&o->seed, flag, value, 1, why);
    if (!value) return fail(why, "%s: what?", flag);
    if (strcmp(flag, "--tolerance") == 0) {
        char *end;
        o->tolerance = strtod(value, &end);
        bool fine = *value && !*end && o->tolerance >= 0.0 && o->tolerance < 1.0;
        return fine || fail(why, "--tolerance %s: give a number from 0 to 1", value);
    }
    if (strcmp(flag, "--tokens") == 0)
        o->tokens = value;
    else if (strcmp(flag, "--map") == 0)
        o->map = value;
    else if (strcmp(flag, "-o") == 0)
        o->to = value;
    else if (strcmp(flag, "--input") != 0)
        return fail(why, "there is no flag %s; --help lists those there are", flag);
    else if (o->n_inputs == MOST_INPUTS)
        return fail(why, "more than %d inputs", MOST_INPUTS);
    else
        o->inputs[o->n_inputs++] = value;
    return true;
}

static bool read_words(options *o, int argc, char **argv, fault *why)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--diff") == 0)
            o->diff = true;
        else if (*argv[i] == '-') {
            const char *value = i + 1 < argc ? argv[i + 1] : NULL;
            if (!read_flag(o, argv[i], value, why)) return false;
            i++;
        } else if (!o->from)
            o->from = argv[i];
        else if (!o->other && o->diff)
            o->other = argv[i];
        else
            return fail(why, "%s: one file at a time, or two behind --diff", argv[i]);
    }
    if (o->diff && !o->other) return fail(why, "--diff: which two files?");
    return o->from || fail(why, "which file? view MODEL.pef or MODEL.ckpt");
}

// ---- What is shown ------------------------------------------------------------------------------

static bool read_tokens(view *v, const char *path, fault *why)
{
    size_t size;
    char *text = read_file(path, &size, why);
    if (!text) return false;
    for (char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        char *next = line + n + (line[n] == '\n');
        char **more = realloc(v->tokens, ((size_t)v->n_tokens + 1) * sizeof *more);
        line[n] = 0;
        if (more) v->tokens = more;
        char *copy = more ? malloc(n + 1) : NULL;
        if (!copy) break;
        memcpy(copy, line, n + 1);
        v->tokens[v->n_tokens++] = copy;
        line = next;
    }
    free(text);
    return true;
}

// What training makes small: the sum of all losses, and of all their elements; NAN: it is not
// known.
static double loss_of(model *m)
{
    samba_tensor *losses[SAMBA_MAX_OUTPUTS];
    int32_t n = samba_losses(m->session, losses, SAMBA_MAX_OUTPUTS);
    double sum = 0.0;
    for (int32_t i = 0; i < n && i < SAMBA_MAX_OUTPUTS; i++) {
        int64_t all = (int64_t)(samba_bytes(losses[i]) / samba_dtype_size(losses[i]->dtype));
        float *value = malloc((size_t)all * sizeof *value + 1);
        bool fine = value && samba_copy_out_f32(losses[i], value, all);
        for (int64_t k = 0; fine && k < all; k++)
            sum += value[k];
        free(value);
        if (!fine) return NAN;
    }
    return sum;
}

static void note_losses(model *m)
{
    samba_tensor *losses[SAMBA_MAX_OUTPUTS];
    int32_t n = samba_losses(m->session, losses, SAMBA_MAX_OUTPUTS);
    if (n > 1) add_note(m, "The loss is the sum of %d: each of them is an output of its own.", n);
    for (int32_t i = 0; i < n && i < SAMBA_MAX_OUTPUTS; i++)
        if (losses[i]->shape.ndim > 0)
            add_note(m, "The loss %s has several elements: their sum is shown.", losses[i]->name);
}

static bool run_steps(view *v, const options *o, fault *why)
{
    bool fine = begin_capture(&v->capture, &v->model, (int32_t)o->steps, o->megabytes << 20, why);
    bool trains = samba_losses(v->model.session, NULL, 0) > 0;
    if (fine && trains) v->losses = calloc((size_t)o->steps, sizeof *v->losses);
    if (fine && trains && !v->losses) fine = fail(why, "no memory for the losses");
    for (int64_t i = 0; fine && i < o->steps; i++) {
        fine = capture_step(&v->capture, why);
        if (fine && v->losses) v->losses[i] = loss_of(&v->model);
        v->n_steps = (int32_t)i + 1;
    }
    return fine;
}

static void note_kept(view *v, const options *o)
{
    const capture *c = &v->capture;
    int32_t cut = 0;
    for (int32_t i = 0; i < c->n_snapshots; i++)
        cut += c->snapshots[i].n > c->most;
    if (cut)
        add_note(&v->model,
                 "%d of %d values are kept whole, of the others the first %lld elements: "
                 "--values %lld has no room for more.",
                 c->n_snapshots - cut, c->n_snapshots, (long long)c->most, (long long)o->megabytes);
    if (c->wide >= 0)
        add_note(&v->model,
                 "%s has integers of over 32 bits: their statistics are shown, and no values.",
                 v->model.symbols[c->wide].name);
    note_losses(&v->model);
    bool drops = false;
    for (int32_t i = 0; i < c->n_attentions; i++)
        drops = drops || v->model.nodes[c->attentions[i].node].n_in > 4;
    if (drops)
        add_note(&v->model, "Weights of attention are shown before dropout zeroes some of them.");
    if (c->n_attentions > 0 && v->model.pef.microbatches > 1)
        add_note(&v->model, "Weights of attention are those of the first microbatch.");
    if (v->model.pef.microbatches > 1)
        add_note(&v->model, "Times, FLOPs and bytes are those of one of %d microbatches.",
                 v->model.pef.microbatches);
    if (v->model.pef.microbatches > 2)
        add_note(&v->model, "Of %d microbatches the values of the first and the last are shown.",
                 v->model.pef.microbatches);
}

static bool look(view *v, const options *o, fault *why)
{
    model_options how = { (int32_t)o->threads, (uint64_t)o->seed, NULL, NULL, !o->diff };
    if (!open_model(&v->model, o->from, &how, why)) return false;
    if (!v->model.session && o->n_inputs > 0)
        return fail(why, "%s has ops of its own, which tools/samba cannot run: leave --input out",
                    o->from);
    bool runs = v->model.session != NULL;
    if (runs && !give_values(&v->model, o->inputs, o->n_inputs, why)) return false;
    if (o->tokens && !read_tokens(v, o->tokens, why)) return false;
    if (!find_map(&v->model, o->map, why)) return false;
    if (!map_memory(&v->memory, &v->model, why)) return false;
    if (!runs) return begin_capture(&v->capture, &v->model, 1, 0, why);
    if (!run_steps(v, o, why)) return false;
    note_kept(v, o);
    if (o->runs == 0) return true;
    return measure_times(&v->times, &v->model, (int32_t)o->runs, why)
        && measure_machine(&v->machine, (int32_t)o->threads, why);
}

static bool page_path(char path[PATH_SIZE], const options *o, fault *why)
{
    return make_path(path, why, "%s%s", o->to ? o->to : o->from, o->to ? "" : ".html");
}

// Is there a place for the page that is asked for? That is said before the work, not behind it.
static bool has_place(const options *o, fault *why)
{
    char path[PATH_SIZE];
    if (o->diff && !o->to) return true;
    return page_path(path, o, why) && may_write_page(path, why);
}

static bool show(view *v, const options *o, const char *command, const comparison *c,
                 const capture *other, fault *why)
{
    char path[PATH_SIZE];
    page_data d;
    if (!page_path(path, o, why)) return false;
    describe_view(&d, v, o->from, command);
    d.comparison = c;
    d.other = other;
    return write_view(path, &d, why);
}

// What the second model makes of the same inputs, for the page of the first.
static bool look_at_other(view *v, const options *o, comparison *c, fault *why)
{
    model_options how = { (int32_t)o->threads, (uint64_t)o->seed, NULL, NULL, false };
    if (!open_model(&v->model, o->other, &how, why)) return false;
    if (!give_values(&v->model, o->inputs, o->n_inputs, why) || !run_steps(v, o, why)) return false;
    find_held(c, &v->capture);
    return true;
}

// Text, and the page of the first model with what differs, if one is asked for.
static int compare(view *v, const options *o, const char *command)
{
    fault why = { "" };
    comparison c;
    view other;
    memset(&other, 0, sizeof other);
    const compare_options how = { o->inputs,
                                  o->n_inputs,
                                  (int)o->steps,
                                  o->tolerance,
                                  { (int32_t)o->threads, (uint64_t)o->seed, NULL, NULL, false } };
    bool fine = compare_models(&c, o->from, o->other, &how, &why);
    bool equal = fine && are_equal(&c);
    if (fine) print_comparison(&c);
    if (fine && o->to)
        fine = look(v, o, &why) && look_at_other(&other, o, &c, &why)
            && show(v, o, command, &c, &other.capture, &why);
    close_view(&other);
    free_comparison(&c);
    if (!fine) return report_fault("view", &why, 2);
    return equal ? 0 : 1;
}

// Is it what samba/replay.h writes? Such a run has its own inputs.
static bool is_replay(const char *path)
{
    char begin[4];
    FILE *f = fopen(path, "rb");
    bool is = f && fread(begin, 1, sizeof begin, f) == sizeof begin && samba_replay_is(begin, 4);
    if (f) fclose(f);
    return is;
}

static int view_replay(const options *o, int argc)
{
    char path[PATH_SIZE], from[PATH_SIZE], flag[] = "--view";
    char *words[3] = { from, flag, path };
    fault why = { "" };
    bool fine = argc == (o->to ? 3 : 1)
        || fail(&why, "%s: of a replay file only -o PAGE.html can be said", o->from);
    fine = fine && make_path(from, &why, "%s", o->from);
    fine = fine && page_path(path, o, &why);
    return fine ? replay_main(3, words) : report_fault("view", &why, 2);
}

int view_main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return usage(stdout);
    options o = { .steps = 1, .megabytes = 8, .runs = 5, .seed = 256 };
    view v;
    fault why = { "" };
    memset(&v, 0, sizeof v);
    if (!read_words(&o, argc, argv, &why)) return report_fault("view", &why, 2);
    if (is_replay(o.from)) return view_replay(&o, argc);
    if (!has_place(&o, &why)) return report_fault("view", &why, 2);
    char *command = join_words("view", argc, argv);
    int code = 0;
    if (!command) fail(&why, "no memory for the command line");
    if (!command) return report_fault("view", &why, 2);
    if (o.diff)
        code = compare(&v, &o, command);
    else if (!look(&v, &o, &why) || !show(&v, &o, command, NULL, NULL, &why))
        code = report_fault("view", &why, 2);
    close_view(&v);
    free(command);
    return code;
}
