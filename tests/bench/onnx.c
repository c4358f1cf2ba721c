// Models of ONNX, as tools/samba import-onnx compiles them, beside onnxruntime: 1 thread, and all.
//     make build/bench_onnx && build/bench_onnx [small]
// onnx_models.py takes the models from wheels of PyPI. Each contender has a process of its own.
#define SAMBA_ONNX_IMPORT_IMPLEMENTATION
#include "bench.h"
#include "../../tools/include/samba/onnx_import.h"
#include <sys/stat.h>

static const char folder[] = "build/bench_onnx_models";

enum { WORD = 128, PATH = 256 };

// ---- Importing: in a process of its own, as tools/samba does ------------------------------------

// Writes STEM.ckpt, and STEM.ports: "in" or "out", type, name in the program, name in the model.
static bool write_ports(FILE *f, const char *kind, const onnx_port *port, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const samba_tensor *t = port[i].tensor;
        if (t && t->symbol >= 0)
            fprintf(f, "%s\t%d\t%s\t%s\n", kind, (int)port[i].type, t->name, port[i].name);
    }
    return !ferror(f);
}

static int import(const char *stem)
{
    static onnx_graph g;
    char path[PATH + WORD];
    onnx_options options = { .inference = true };
    samba_program p = { .inference = true };
    samba_session *s = samba_open(NULL);
    snprintf(path, sizeof path, "%s.onnx", stem);
    bool fine = onnx_register_ops(s) && onnx_trace(s, path, &options, &g)
        && onnx_set_outputs(&g, &p) && samba_compile(s, &p);
    snprintf(path, sizeof path, "%s.ckpt", stem);
    fine = fine && samba_save_with(s, path, &(samba_save_opts){ .allow_nonfinite = true });

    snprintf(path, sizeof path, "%s.ports", stem);
    FILE *f = fine ? fopen(path, "w") : NULL;
    fine = f && write_ports(f, "in", g.in, g.n_in) && write_ports(f, "out", g.out, g.n_out);
    if (f) fclose(f);
    onnx_release(&g);
    return samba_close(s) || !fine;
}

// ---- samba's process: speaks as onnx_peer.py does -----------------------------------------------

enum { MOST_PORTS = 64 };

typedef struct model {
    samba_session *s;
    onnx_port in[MOST_PORTS], out[MOST_PORTS];
    char names[MOST_PORTS][WORD]; // of inputs, in the model
    int n_in, n_out;
    bool there;
} model;

// Finds what STEM.ports names in the program that was loaded.
static bool read_ports(model *m, const char *stem)
{
    char path[PATH + WORD], kind[8], in_program[WORD], name[WORD];
    int type;
    snprintf(path, sizeof path, "%s.ports", stem);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    while (fscanf(f, "%7[^\t]\t%d\t%127[^\t]\t%127[^\n]\n", kind, &type, in_program, name) == 4) {
        bool input = !strcmp(kind, "in");
        onnx_port port = { .type = type, .item = -1 };
        port.tensor = samba_tensor_by_name(m->s, in_program);
        if (!port.tensor || m->n_in == MOST_PORTS || m->n_out == MOST_PORTS) break;
        if (!input) {
            m->out[m->n_out++] = port;
            continue;
        }
        snprintf(m->names[m->n_in], WORD, "%s", name);
        port.name = m->names[m->n_in];
        m->in[m->n_in++] = port;
    }
    bool all = feof(f);
    fclose(f);
    return all && m->n_out > 0;
}

// A line of NAME.inputs: name, type, shape, least and most value. The name may have blanks.
static bool read_input(char *line, char *name, char *shape, double *least, double *most)
{
    char *word[5];
    for (int i = 4; i > 0; i--) {
        char *blank = strrchr(line, ' ');
        if (!blank) return false;
        *blank = 0;
        word[i] = blank + 1;
    }
    snprintf(name, WORD, "%s", line);
    snprintf(shape, WORD, "%s", word[2]);
    *least = atof(word[3]);
    *most = atof(word[4]);
    return true;
}

static const onnx_port *find_port(const model *m, const char *name)
{
    for (int i = 0; i < m->n_in; i++)
        if (!strcmp(m->in[i].name, name)) return &m->in[i];
    return NULL;
}

// The numbers of values() in onnx_peer.py.
static bool send_numbers(const onnx_port *port, uint32_t seed, double least, double most)
{
    int64_t dim[SAMBA_MAX_DIMS];
    const samba_shape *shape = &port->tensor->shape;
    for (int32_t d = 0; d < shape->ndim; d++)
        dim[d] = shape->dim[d];
    onnx_array *a = ox_new_array(port->type, shape->ndim, dim);
    for (int64_t i = 0; a && i < a->count; i++) {
        uint32_t bits = number((uint32_t)i, seed);
        if (a->f)
            a->f[i] = (float)(least + (most - least) * (bits / 4294967296.0));
        else
            a->i[i] = (int64_t)least + bits % (uint32_t)(most - least + 1);
    }
    bool sent = a && onnx_send(port, a);
    onnx_array_free(a);
    return sent;
}

static bool send_inputs(const model *m, const char *stem)
{
    char line[PATH + WORD], name[WORD], shape[WORD];
    double least, most;
    snprintf(line, sizeof line, "%s.inputs", stem);
    FILE *f = fopen(line, "r");
    bool fine = f != NULL;
    for (uint32_t seed = 1; fine && fgets(line, sizeof line, f); seed++) {
        line[strcspn(line, "\n")] = 0;
        fine = read_input(line, name, shape, &least, &most);
        const onnx_port *port = fine ? find_port(m, name) : NULL;
        if (port) fine = send_numbers(port, seed, least, most);
    }
    if (f) fclose(f);
    return fine;
}

static bool make(model *m, const char *stem, int threads)
{
    char path[PATH + WORD];
    if (m->s) samba_close(m->s);
    *m = (model){ .s = samba_open(&(samba_desc){ .threads = threads }) };
    snprintf(path, sizeof path, "%s.ckpt", stem);
    return m->there = onnx_register_ops(m->s) && samba_load(m->s, path, NULL) && read_ports(m, stem)
        && send_inputs(m, stem);
}

// The sum of |y| of all outputs.
static double value(model *m)
{
    double sum = 0;
    samba_run(m->s, 0);
    for (int32_t i = 0; i < m->n_out; i++) {
        onnx_array *a = onnx_fetch(&m->out[i]);
        for (int64_t k = 0; a && k < a->count; k++)
            sum += a->f ? fabs((double)a->f[k]) : fabs((double)a->i[k]);
        onnx_array_free(a);
    }
    return sum;
}

static double time_runs(model *m, int n)
{
    samba_run(m->s, 0);
    double start = bench_seconds();
    for (int i = 0; i < n; i++)
        samba_run(m->s, 0);
    return (bench_seconds() - start) / n;
}

static int worker(int threads)
{
    static model m;
    char line[512], stem[PATH];
    int n;
    printf("samba.h " SAMBA_VERSION "\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "make %255s", stem) == 1)
            printf("%d\n", make(&m, stem, threads));
        else if (sscanf(line, "run %d", &n) == 1)
            printf("%.9g\n", m.there ? time_runs(&m, n) : -1);
        else if (!strncmp(line, "value", 5))
            printf("%.9g\n", m.there ? value(&m) : 0);
        else
            printf("%.6g\n", peak_memory());
        fflush(stdout);
    }
    return 0;
}

// ---- The races ----------------------------------------------------------------------------------

typedef struct runner {
    peer process;
    int repeat;
} runner;

static double run(void *context)
{
    runner *r = (runner *)context;
    char request[32];
    snprintf(request, sizeof request, "run %d", r->repeat);
    return peer_number(&r->process, request);
}

// The program and its weights, unless they are there.
static bool imported(const char *stem)
{
    char command[3 * PATH], path[PATH + WORD];
    snprintf(path, sizeof path, "%s.ports", stem);
    snprintf(command, sizeof command, "'%s' import '%s'", bench.argv[0], stem);
    if (access(path, R_OK) == 0) return true;
    fflush(NULL);
    return system(command) == 0;
}

static bool start_samba(peer *p, int threads, char *why, int size)
{
    char n[16], word[] = "worker";
    char *argv[] = { bench.argv[0], word, n, NULL };
    snprintf(n, sizeof n, "%d", threads);
    return peer_start(p, argv, why, size);
}

static bool start_onnxruntime(peer *p, int threads, const char *stem)
{
    static bool told;
    char n[16], hello[WORD] = "", request[PATH + WORD], python[PATH_ROOM],
                script[] = "tests/bench/onnx_peer.py";
    char *argv[] = { python, script, n, NULL };
    snprintf(n, sizeof n, "%d", threads);
    snprintf(request, sizeof request, "make %s", stem);
    bool there = todays_python("onnxruntime", python) && peer_start(p, argv, hello, sizeof hello);
    if (!told) say_version("onnxruntime", there ? hello : "not here (make peers)", there);
    told = true;
    return there && peer_ask(p, NULL, 0, request) >= 0;
}

// What the rows of a number of threads amount to.
typedef struct summary {
    int n, refused;
    double log_ratio, worst;
    char at[WORD];
} summary;

static void row(summary *sum, const char *stem, const char *name, int threads)
{
    enum { SAMBA, ORT, ALL };

    static runner r[ALL];
    contender c[ALL] = { { .name = "samba", .run = run, .context = &r[SAMBA] },
                         { .name = "onnxruntime", .run = run, .context = &r[ORT] } };
    char what[WORD], hello[WORD], request[PATH + WORD];
    double there = 0;
    snprintf(what, sizeof what, "onnx %s", name);
    if (!wanted(what)) return;

    snprintf(request, sizeof request, "make %s", stem);
    if (imported(stem) && start_samba(&r[SAMBA].process, threads, hello, sizeof hello))
        there = peer_number(&r[SAMBA].process, request);
    if (there != 1) {
        printf("%s: samba refuses it\n", what);
        sum->refused++;
        peer_stop(&r[SAMBA].process);
        return;
    }
    if (!start_onnxruntime(&r[ORT].process, threads, stem)) c[ORT].run = NULL;

    r[SAMBA].repeat = r[ORT].repeat = 1;
    double once = run(&r[SAMBA]), least = bench.small ? 0.05 : 0.2;
    r[SAMBA].repeat = r[ORT].repeat = once < least ? (int)(least / once) + 1 : 1;
    if (c[ORT].run) // onnxruntime's own results of int8 differ as much with its optimizations off
        agree(what, "onnxruntime", peer_number(&r[SAMBA].process, "value"),
              peer_number(&r[ORT].process, "value"), strstr(name, "int8") ? 0.2 : 1e-3);
    race(c, ALL, NO_CEILING, threads > 1);
    double ratio = report_ms(what, c, ALL, 0, threads);
    if (threads == 1) {
        char memory[WORD + 16];
        for (int i = 0; i < ALL; i++)
            c[i].value = c[i].run ? peer_number(&r[i].process, "peak") : 0;
        snprintf(memory, sizeof memory, "%s, peak memory", what);
        report(memory, "MiB", c, ALL, 0, threads);
    }
    for (int i = 0; i < ALL; i++)
        peer_stop(&r[i].process);

    if (ratio <= 0) return;
    sum->n++;
    sum->log_ratio += log(ratio);
    if (sum->worst == 0 || ratio < sum->worst) {
        sum->worst = ratio;
        snprintf(sum->at, sizeof sum->at, "%s", name);
    }
}

// Programs of another samba.h are not what is measured.
static void forget_programs(void)
{
    char pattern[PATH];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.ports", folder);
    if (!glob(pattern, 0, NULL, &found)) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            remove(found.gl_pathv[i]);
    }
    globfree(&found);
}

static void total(const summary *sum, int threads)
{
    if (sum->refused) printf("%d models are refused\n", sum->refused);
    if (!sum->n) return;
    report_one("onnx, mean ratio", "x ort", exp(sum->log_ratio / sum->n), 0, threads);
    report_one("onnx, worst ratio", "x ort", sum->worst, 0, threads);
    printf("    the worst is %s\n", sum->at);
}

// Runs onnx_models.py. False: there is no onnx.
static bool make_models(void)
{
    char python[PATH_ROOM], command[PATH_ROOM + 128];
    if (!todays_python("onnx", python)) return false;
    snprintf(command, sizeof command, "'%s' -W ignore tests/bench/onnx_models.py %s", python,
             folder);
    fflush(NULL);
    return system(command) == 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "worker")) return worker(atoi(argv[2]));
    if (argc == 3 && !strcmp(argv[1], "import")) return import(argv[2]);
    bench_begin(argc, argv, "onnx");
    mkdir("build", 0777);
    char path[PATH], stem[PATH], name[WORD];
    if (!make_models()) {
        printf("onnx: not here (make peers gets it from PyPI), nor are models\n");
        return bench_end();
    }
    forget_programs();
    for (int all = 0; all < (bench.threads > 1 ? 2 : 1); all++) {
        summary sum = { 0 };
        int threads = all ? bench.threads : 1;
        snprintf(path, sizeof path, "%s/models.txt", folder);
        FILE *f = fopen(path, "r");
        while (f && fscanf(f, "%255[^\t]\t%127[^\n]\n", stem, name) == 2)
            if (!bench.small || !all) row(&sum, stem, name, threads);
        if (f) fclose(f);
        total(&sum, threads);
    }
    return bench_end();
}
