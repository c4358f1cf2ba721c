// A loaded model, and what it is fed and gives.
#include "program.h"
#include "tools/cli/util/numbers.h"
#include "tools/cli/util/text.h"

static void note_warning(samba_log_level level, const char *text, void *user)
{
    (void)user;
    if (level != SAMBA_LOG_WARNING) return; // errors are reported by who asked
    fputs("samba run: ", stderr);
    print_safely(stderr, text);
    fputc('\n', stderr);
}

// ---- Names --------------------------------------------------------------------------------------

// The longer of two names without what they begin and end with in common.
static size_t distance(const char *a, const char *b, size_t n_b)
{
    size_t n_a = strlen(a), front = 0, back = 0, least = n_a < n_b ? n_a : n_b;
    while (front < least && a[front] == b[front])
        front++;
    while (back < least - front && a[n_a - 1 - back] == b[n_b - 1 - back])
        back++;
    return (n_a > n_b ? n_a : n_b) - front - back;
}

const port *find_port(const port *list, int n, const char *what, const char *name, size_t length,
                      const char *path, fault *why)
{
    char names[1024] = "";
    const port *near = NULL;
    size_t least = length / 2 + 1;
    for (int i = 0; i < n; i++) {
        size_t away = distance(list[i].name, name, length);
        if (away == 0) return &list[i];
        if (away < least) near = &list[i];
        if (away < least) least = away;
        size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s %s", i ? "," : "", list[i].name);
    }
    if (near)
        fail(why, "%s has no %s %.*s; did you mean %s? It has%s", path, what, (int)length, name,
             near->name, names);
    else
        fail(why, "%s has no %s %.*s; it has%s", path, what, (int)length, name,
             n ? names : " none");
    return NULL;
}

static bool find_shape(port *p, fault *why)
{
    p->shape = p->tensor->shape;
    int64_t n = samba_count(&p->shape);
    int64_t all = (int64_t)(samba_bytes(p->tensor) / samba_dtype_size(p->tensor->dtype));
    int32_t dim = p->tensor->batch_dim;
    if (all > n && dim >= 0) p->shape.dim[dim] = (int32_t)(p->shape.dim[dim] * (all / n));
    return samba_count(&p->shape) == all
        || fail(why, "%s has %lld elements, which is no number of batches", p->name,
                (long long)all);
}

typedef int32_t (*name_fn)(samba_session *s, const char **names, int32_t cap);

static bool read_ports(program *p, port **list, int *n, name_fn names_of, fault *why)
{
    int32_t count = names_of(p->session, NULL, 0);
    const char **names = calloc((size_t)count + 1, sizeof *names);
    *list = calloc((size_t)count + 1, sizeof **list);
    bool fine = names && *list;
    if (!fine) fail(why, "no memory for the names of %s", p->path);
    if (fine) names_of(p->session, names, count);
    if (fine && !samba_ok(p->session)) fine = fail(why, "%s", samba_error(p->session));

    for (int32_t i = 0; fine && i < count; i++) {
        port *to = &(*list)[i];
        to->tensor = samba_tensor_by_name(p->session, names[i]);
        if (!to->tensor) fine = fail(why, "%s", samba_error(p->session));
        if (!fine) break;
        to->name = to->tensor->name;
        to->has_rows = to->tensor->batch_dim == 0 && to->tensor->shape.ndim > 0;
        fine = find_shape(to, why);
        *n = i + 1;
    }
    free(names);
    return fine;
}

// ---- The program --------------------------------------------------------------------------------

static void count_flops(program *p)
{
    samba_section section;
    for (int32_t i = 0; samba_describe_section(p->session, i, &section); i++)
        if (section.types & SAMBA_FWD) p->flops += section.flops;
    int64_t rows = p->n_in ? p->in[0].shape.dim[0] : 1;
    int64_t part = p->n_in ? p->in[0].tensor->shape.dim[0] : 1;
    if (p->n_in && p->in[0].has_rows) p->flops *= rows / part; // of one microbatch
}

bool load_program(program *p, const char *path, const char *weights, int32_t threads, fault *why)
{
    samba_desc desc;
    memset(p, 0, sizeof *p);
    memset(&desc, 0, sizeof desc);
    p->path = path;
    desc.threads = threads;
    desc.log = note_warning;
    if (is_folder(path))
        return fail(why, "%s: this is a folder; name a PEF or a checkpoint in it", path);
    if (!is_file(path)) return fail(why, "%s: there is no such file", path);

    if (ends_with(path, ".onnx"))
        return fail(why, "%s: import it first: tools/samba import-onnx %s MODEL.pef", path, path);

    p->session = samba_open(&desc);
    if (!p->session) return fail(why, "no memory for a session");
    bool fine = register_own_ops(p->session) && samba_load(p->session, path, NULL)
        && (!weights || samba_restore(p->session, weights));
    if (!fine) return fail_to_load(p->session, why);
    p->trains = (samba_section_types(p->session) & ~(unsigned)SAMBA_FWD) != 0;
    fine = read_ports(p, &p->in, &p->n_in, samba_input_names, why)
        && read_ports(p, &p->out, &p->n_out, samba_output_names, why);
    if (fine) count_flops(p);
    return fine;
}

const char *graph_in_name(const char *name)
{
    const char *at = strrchr(name, '@');
    return at && at[1] ? at + 1 : NULL;
}

static void keep_graph(const char *graph, port *list, int *n)
{
    int kept = 0;
    for (int i = 0; i < *n; i++) {
        const char *of = graph_in_name(list[i].name);
        if (!of || strcmp(of, graph) == 0) list[kept++] = list[i];
    }
    *n = kept;
}

void choose_graph(program *p, const char *graph)
{
    p->graph = graph;
    keep_graph(graph, p->in, &p->n_in);
    keep_graph(graph, p->out, &p->n_out);
}

void drop_program(program *p)
{
    if (p->session) samba_close(p->session);
    free(p->in);
    free(p->out);
}

bool forward(program *p, fault *why)
{
    bool fine;
    if (p->graph)
        fine = samba_run_graph(p->session, p->graph, SAMBA_FWD);
    else
        fine = p->trains ? samba_eval(p->session) : samba_run(p->session, SAMBA_FWD);
    if (fine) return true;

    const char *graphs = strstr(samba_error(p->session), "call samba_run_graph with one of:");
    if (graphs)
        return fail(why, "%s has several graphs: say which by --graph, one of%s", p->path,
                    strchr(graphs, ':') + 1);
    fail(why, "%s", samba_error(p->session));
    if (strstr(why->text, "call samba_restore"))
        fail(why,
             "%s has no values of its parameters, for it was compiled and not saved: give its "
             "checkpoint by --weights FILE.ckpt, or run the checkpoint itself",
             p->path);
    return false;
}

static void list_some(const char *title, const port *list, int n)
{
    char shape[128];
    printf("%s\n", title);
    for (int i = 0; i < n; i++) {
        print_shape(shape, sizeof shape, &list[i].shape);
        printf("  %-20s %-5s %s%s\n", shown(list[i].name), samba_dtype_name(list[i].tensor->dtype),
               shape, list[i].has_rows ? "  a row is one example" : "");
    }
    if (n == 0) printf("  none\n");
}

void list_ports(const program *p)
{
    printf("%s: %s\n", shown(p->path), p->trains ? "a training, run as a test" : "inference");
    list_some("inputs", p->in, p->n_in);
    list_some("outputs", p->out, p->n_out);
    printf("For example:\n  tools/samba run %s", shown(p->path));
    const char *graph = p->n_in ? graph_in_name(p->in[0].name) : NULL; // of several: the first one
    for (int i = 0; i < p->n_in; i++) {
        const char *own = graph_in_name(p->in[i].name);
        if (own && graph && strcmp(own, graph) != 0) continue;
        printf(" --input %s=%s.npy", shown(p->in[i].name), shown(p->in[i].name));
    }
    if (p->n_out == 1)
        printf(" --output %s.npy\n", shown(p->out[0].name));
    else
        printf(" --output out.npz\n");
}
