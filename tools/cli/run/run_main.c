// tools/samba run: a model, what it is fed, what it gives.
#include "batches.h"
#include "benchmark.h"
#include "commands.h"
#include "text_input.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 64, DEFAULT_RUNS = 50 };

typedef struct options {
    const char *model, *weights, *tokenizer, *graph;
    const char *inputs[MOST_FILES], *outputs[MOST_FILES];
    int n_inputs, n_outputs;
    int64_t threads, runs; // runs: of a benchmark; 0: none
    int64_t pad;           // of texts; -1: none
    bool json;
} options;

text_reader read_text_input;

static int usage(FILE *to)
{
    fprintf(
        to,
        "usage: tools/samba run MODEL.pef|MODEL.ckpt                 lists inputs and outputs\n"
        "       tools/samba run MODEL --input X=X.npy ... [--output Y=Y.npy ...] [--json]\n"
        "       tools/samba run MODEL --benchmark [N] [--input X=X.npy ...] [--json]\n"
        "  runs a forward pass. A training is run as a test: nothing is learned or dropped out\n"
        "  --input   NAME=FILE, or FILE if there is one input or the file has names\n"
        "              .npy, .npz   arrays of NumPy\n"
        "              .json        lists of lists of numbers, or an object of them by name\n"
        "              .raw, .bin   numbers of the input's type, little-endian\n"
        "            NAME=text:TEXT is the tokens of a text, NAME=text:@FILE a row for each line\n"
        "            Shapes have to fit, but for the rows, dimension 0 of a batched input: any\n"
        "            number of them is run batch by batch, the last batch filled, and cut off.\n"
        "            That is refused if a row depends on others. An array that lacks dimension 0\n"
        "            is one row. Fractions are rounded to the type of the input; to integers only\n"
        "            whole numbers in their range are converted\n"
        "  --tokenizer FOLDER   of texts, as Hugging Face has it; --pad ID fills short rows up\n"
        "  --output  NAME=FILE, or FILE for all outputs; a NAME alone is printed. Without it all\n"
        "            are. .npy, .raw and .bin have one output, .npz and .json several. bf16 and\n"
        "            f16 are written as f32\n"
        "  --graph NAME  of several, as import-onnx makes for several --shape; else the one\n"
        "            whose inputs, NAME@GRAPH, are given\n"
        "  --json    prints JSON\n"
        "  --weights FILE.ckpt  the parameters of a PEF that was compiled and not saved\n"
        "  --benchmark [N]  the times of N runs (%d); inputs that are not given are zero\n"
        "  --threads N  (all)\n",
        (int)DEFAULT_RUNS);
    return to == stdout ? 0 : 2;
}

// ---- Words --------------------------------------------------------------------------------------

static bool read_count(int64_t *n, const char *flag, const char *text, int64_t most, fault *why)
{
    char *end;
    long long value = text ? strtoll(text, &end, 10) : 0;
    if (!text || *text < '0' || *text > '9' || *end || value < 1 || value > most)
        return fail(why, "%s: give a number from 1 to %lld", flag, (long long)most);
    *n = value;
    return true;
}

static bool add_word(const char **list, int *n, const char *flag, const char *value, fault *why)
{
    if (!value || !*value) return fail(why, "%s: which file?", flag);
    if (*n == MOST_FILES) return fail(why, "%s: more than %d files", flag, (int)MOST_FILES);
    list[(*n)++] = value;
    return true;
}

static bool read_flag(options *o, const char *flag, const char *value, fault *why)
{
    if (strcmp(flag, "--input") == 0 || strcmp(flag, "-i") == 0)
        return add_word(o->inputs, &o->n_inputs, flag, value, why);
    if (strcmp(flag, "--output") == 0 || strcmp(flag, "-o") == 0)
        return add_word(o->outputs, &o->n_outputs, flag, value, why);
    if (strcmp(flag, "--tokenizer") == 0) {
        o->tokenizer = value;
        return value || fail(why, "--tokenizer: which folder?");
    }
    if (strcmp(flag, "--pad") == 0) {
        o->pad = 0;
        return (value && strcmp(value, "0") == 0)
            || read_count(&o->pad, flag, value, INT32_MAX, why);
    }
    if (strcmp(flag, "--graph") == 0) {
        o->graph = value;
        return value || fail(why, "--graph: which one?");
    }
    if (strcmp(flag, "--threads") == 0) return read_count(&o->threads, flag, value, 64, why);
    if (strcmp(flag, "--weights") != 0) {
        const char *advice = strchr(flag, '=') ? " (NAME=FILE stands behind it, as a word)" : "";
        return fail(why, "there is no flag %s%s; --help lists those there are", flag, advice);
    }
    o->weights = value;
    return value || fail(why, "--weights: which file?");
}

static bool read_words(options *o, int argc, char **argv, fault *why)
{
    for (int i = 0; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--json") == 0)
            o->json = true;
        else if (strcmp(argv[i], "--benchmark") == 0) {
            bool counted = next && *next >= '0' && *next <= '9' && !is_file(next);
            o->runs = DEFAULT_RUNS;
            if (counted && !read_count(&o->runs, argv[i], next, 1000000, why)) return false;
            i += counted;
        } else if (*argv[i] == '-') {
            if (!read_flag(o, argv[i], next, why)) return false;
            i++;
        } else if (!o->model)
            o->model = argv[i];
        else
            return fail(why, "%s: one model at a time; inputs are given by --input NAME=FILE",
                        argv[i]);
    }
    if (o->runs && o->n_outputs) return fail(why, "--benchmark writes no --output: leave one out");
    return o->model || fail(why, "which model? run MODEL.pef or MODEL.ckpt");
}

// ---- Inputs -------------------------------------------------------------------------------------

// NAME=FILE: where FILE begins; the word itself: there is no name.
static const char *file_of(const char *word)
{
    const char *equals = strchr(word, '=');
    if (strncmp(word, "text:", strlen("text:")) == 0) return word;
    return equals && !is_file(word) ? equals + 1 : word;
}

// Says so if a f64 file has numbers that f32 has not. JSON has decimal fractions, of which nobody
// expects that.
static void note_rounding(const feed *f)
{
    int64_t rounded = 0;
    if (f->to->tensor->dtype != SAMBA_F32 || kind_of_file(f->from) == FILE_JSON) return;
    for (int64_t i = 0; i < f->array.n; i++) {
        double x = f->array.values[i];
        rounded += isfinite(x) && fabs(x) < 3e38 && (double)(float)x != x;
    }
    if (!rounded) return;
    fault text;
    fail(&text, "%s, for input %s: %lld of %lld numbers are rounded to f32", f->from, f->to->name,
         (long long)rounded, (long long)f->array.n);
    report_fault("run", &text, 0);
}

// The array is the feed's from then on, and freed with it.
static bool feed_array(program *p, feed *feeds, const port *to, npy *array, const char *path,
                       fault *why)
{
    feed *f = &feeds[to - p->in];
    bool fine = !f->given || fail(why, "%s: input %s is given twice", path, to->name);
    if (!fine) return false;
    f->to = to;
    f->given = true;
    f->array = *array;
    memset(array, 0, sizeof *array);
    return make_path(f->from, why, "%s", path) && fit_feed(f, why);
}

// Which input an array of a file without a name on the command line is for.
static const port *find_input(const program *p, const char *name, const char *path, fault *why)
{
    fault reason = { "" };
    if (*name) {
        const port *to = find_port(p->in, p->n_in, "input", name, strlen(name), p->path, &reason);
        if (!to) fail(why, "%s: %s", path, reason.text);
        return to;
    }
    if (p->n_in == 1) return &p->in[0];
    fail(why,
         "%s: for which of the %d inputs? Write --input NAME=%s; without --input they are listed",
         path, p->n_in, path);
    return NULL;
}

// The array of a file that is meant by NAME=FILE: the one of that name, or the only one.
static named_array *choose_array(const arrays *list, const char *name, const char *path, fault *why)
{
    for (int i = 0; i < list->n; i++)
        if (strcmp(list->at[i].name, name) == 0) return &list->at[i];
    if (list->n == 1) return &list->at[0];
    fail(why, "%s: it has %d arrays, and none is called %s", path, list->n, name);
    return NULL;
}

static bool feed_file(program *p, feed *feeds, const port *to, const char *path, fault *why)
{
    arrays list;
    if (!read_arrays(&list, path, why)) return false;
    bool fine = true;
    if (to) {
        named_array *a = choose_array(&list, to->name, path, why);
        fine = a && feed_array(p, feeds, to, &a->array, path, why);
    }
    for (int i = 0; !to && fine && i < list.n; i++) {
        const port *named = find_input(p, list.at[i].name, path, why);
        fine = named && feed_array(p, feeds, named, &list.at[i].array, path, why);
    }
    free_arrays(&list);
    return fine;
}

static bool feed_text(program *p, feed *feeds, const port *to, const char *text, const options *o,
                      fault *why)
{
    fault reason = { "" };
    npy array;
    if (!to) to = find_input(p, "", text, why);
    if (!to) return false;
    if (!o->tokenizer) return fail(why, "--input %s: say --tokenizer FOLDER", text);
    if (!read_text_input)
        return fail(why, "--input %s: this program was built without tokenizers", text);
    const text_input in = { text + strlen("text:"), o->tokenizer, o->pad, &to->shape };
    if (!read_text_input(&array, &in, &reason)) return fail(why, "%s: %s", text, reason.text);
    bool fine = feed_array(p, feeds, to, &array, text, why);
    free_npy(&array);
    return fine;
}

static bool feed_word(program *p, feed *feeds, const char *word, const options *o, fault *why)
{
    const char *path = file_of(word);
    const port *to = NULL;
    file_kind kind = kind_of_file(path);
    const bool is_text = strncmp(path, "text:", strlen("text:")) == 0;
    if (is_text) kind = FILE_RAW; // of which the input says the shape
    if (kind == FILE_UNKNOWN)
        return fail(why,
                    "--input %s: write NAME=FILE, a file that ends with .npy, .npz, .json, "
                    ".raw or .bin",
                    word);
    if (path != word) {
        size_t length = (size_t)(path - 1 - word);
        to = find_port(p->in, p->n_in, "input", word, length, p->path, why);
        if (!to) return false;
    }

    if (is_text) return feed_text(p, feeds, to, path, o, why);
    if (kind != FILE_RAW) return feed_file(p, feeds, to, path, why);
    npy array;
    if (!to) to = find_input(p, "", path, why);
    if (!to) return false;
    if (!read_raw(&array, path, to->tensor->dtype, &to->shape, why)) return false;
    bool fine = feed_array(p, feeds, to, &array, path, why);
    free_npy(&array);
    return fine;
}

// The gradient of a loss is an input, too, which has a value: ones.
static bool has_value(const port *in)
{
    return ends_with(in->name, "__grad");
}

static const char whole_training[]
    = ". The program is a training, and all of it runs, the loss as well; one that is compiled "
      "with .inference and the outputs alone takes no labels";

static bool feed_all(program *p, feed *feeds, const options *o, fault *why)
{
    for (int i = 0; i < o->n_inputs; i++)
        if (!feed_word(p, feeds, o->inputs[i], o, why)) return false;
    for (int i = 0; i < p->n_in; i++) {
        if (feeds[i].given) note_rounding(&feeds[i]);
        bool lacks = !feeds[i].given && !has_value(&p->in[i]);
        if (lacks && !o->runs)
            return fail(why, "input %s is not given: --input %s=FILE.npy%s", p->in[i].name,
                        p->in[i].name, p->trains ? whole_training : "");
    }
    return true;
}

// ---- Outputs ------------------------------------------------------------------------------------

// What a word of --output means: which output (NULL: all), and where to (NULL: it is printed).
typedef struct target {
    const port *of;
    const char *path;
} target;

static bool read_target(target *t, const program *p, const char *word, fault *why)
{
    const char *path = strchr(word, '=') ? strchr(word, '=') + 1 : word;
    size_t length = path == word ? strlen(word) : (size_t)(path - 1 - word);
    file_kind kind = kind_of_file(path);
    memset(t, 0, sizeof *t);
    if (path != word || kind == FILE_UNKNOWN) {
        t->of = find_port(p->out, p->n_out, "output", word, length, p->path, why);
        if (!t->of) return false;
    }
    if (path == word && kind == FILE_UNKNOWN) return true;
    if (kind == FILE_UNKNOWN)
        return fail(why, "--output %s: the file has to end with .npy, .npz, .json, .raw or .bin",
                    word);

    t->path = path;
    bool one = kind == FILE_NPY || kind == FILE_RAW;
    return t->of || !one || p->n_out == 1
        || fail(why,
                "--output %s: %s has %d outputs and this file takes one: write NAME=%s, or a .npz "
                "file",
                word, p->path, p->n_out, path);
}

static bool write_target(const target *t, const program *p, const result *results, fault *why)
{
    const result *from = t->of ? &results[t->of - p->out] : results;
    int n = t->of ? 1 : p->n_out;
    file_kind kind = kind_of_file(t->path);
    if (kind == FILE_NPZ) return write_npz(t->path, from, n, why);
    if (kind == FILE_JSON) return write_json(t->path, from, n, why);
    return write_result(t->path, from, why);
}

static void print_results(const result *list, int n, bool json)
{
    if (json) print_json(stdout, list, n);
    for (int i = 0; !json && i < n; i++)
        print_result(stdout, &list[i]);
}

// Files first; what is printed is one object of JSON, though several names were given.
static bool give_results(const program *p, const target *targets, int n, const result *results,
                         bool json, fault *why)
{
    result *printed = calloc((size_t)p->n_out + (size_t)n + 1, sizeof *printed);
    int n_printed = 0;
    if (!printed) return fail(why, "no memory for what is printed");
    bool fine = true;
    for (int i = 0; fine && i < n; i++) {
        if (targets[i].path)
            fine = write_target(&targets[i], p, results, why);
        else
            printed[n_printed++] = results[targets[i].of - p->out];
    }
    if (fine && n == 0) print_results(results, p->n_out, json);
    if (fine && n_printed) print_results(printed, n_printed, json);
    free(printed);
    return fine;
}

// ---- The command --------------------------------------------------------------------------------

static bool run_once(program *p, feed *feeds, const target *targets, int n, bool json, fault *why)
{
    result *results = calloc((size_t)p->n_out + 1, sizeof *results);
    bool *wanted = calloc((size_t)p->n_out + 1, sizeof *wanted);
    bool fine = results && wanted;
    if (!fine) fail(why, "no memory for the outputs");
    for (int i = 0; fine && i < p->n_out; i++) {
        wanted[i] = n == 0;
        for (int k = 0; k < n; k++)
            wanted[i] = wanted[i] || !targets[k].of || targets[k].of == &p->out[i];
    }

    fine = fine && run_feeds(p, feeds, results, wanted, why)
        && give_results(p, targets, n, results, json, why);
    for (int i = 0; results && i < p->n_out; i++)
        free(results[i].data);
    free(results);
    free(wanted);
    return fine;
}

// One batch as it was given; what is not given is zero.
static bool measure(program *p, feed *feeds, const options *o, fault *why)
{
    for (int i = 0; i < p->n_in; i++)
        if (feeds[i].given && feeds[i].array.shape.ndim > 0
            && feeds[i].array.shape.dim[0] != p->in[i].shape.dim[0])
            return fail(why, "%s: --benchmark takes one batch, of %d rows", feeds[i].from,
                        p->in[i].shape.dim[0]);
    if (!samba_zero_inputs(p->session)) return fail(why, "%s", samba_error(p->session));
    bool *none = calloc((size_t)p->n_out + 1, sizeof *none);
    bool fine
        = none ? run_feeds(p, feeds, NULL, none, why) : fail(why, "no memory for the outputs");
    free(none);
    return fine && run_benchmark(p, o->runs, o->json, why);
}

// The graph that is asked for, or that the first input with a name is of; NULL: none is named.
static const char *asked_graph(const program *p, const options *o)
{
    if (o->graph) return o->graph;
    for (int i = 0; i < o->n_inputs; i++) {
        size_t length = strcspn(o->inputs[i], "=");
        for (int k = 0; k < p->n_in && o->inputs[i][length]; k++) {
            const char *name = p->in[k].name;
            bool is = strlen(name) == length && strncmp(name, o->inputs[i], length) == 0;
            if (is && graph_in_name(name)) return graph_in_name(name);
        }
    }
    return NULL;
}

static bool run_model(program *p, const options *o, fault *why)
{
    target targets[MOST_FILES];
    if (!load_program(p, o->model, o->weights, (int32_t)o->threads, why)) return false;
    const char *graph = asked_graph(p, o);
    if (graph && p->trains)
        return fail(why, "--graph %s: of programs that train, only the whole is run", graph);
    if (graph) choose_graph(p, graph);
    if (!o->n_inputs && !o->n_outputs && !o->runs && p->n_in > 0) {
        list_ports(p);
        return true;
    }
    for (int i = 0; i < o->n_outputs; i++)
        if (!read_target(&targets[i], p, o->outputs[i], why)) return false;

    feed *feeds = calloc((size_t)p->n_in + 1, sizeof *feeds);
    if (!feeds) return fail(why, "no memory for the inputs");
    for (int i = 0; i < p->n_in; i++)
        feeds[i].to = &p->in[i];
    bool fine = feed_all(p, feeds, o, why);
    if (fine && o->runs)
        fine = measure(p, feeds, o, why);
    else if (fine)
        fine = run_once(p, feeds, targets, o->n_outputs, o->json, why);
    for (int i = 0; i < p->n_in; i++)
        free_npy(&feeds[i].array);
    free(feeds);
    return fine;
}

int run_main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return usage(stdout);
    if (argc == 0) return usage(stderr);
    options o;
    program p;
    fault why = { "" };
    memset(&o, 0, sizeof o);
    memset(&p, 0, sizeof p);
    o.pad = -1;
    watch_signals();
    bool fine = read_words(&o, argc, argv, &why) && run_model(&p, &o, &why);
    drop_program(&p);
    return fine ? 0 : report_fault("run", &why, 2);
}
