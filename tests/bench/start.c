// What passes before the first result: process start to first step, tracing and compiling, loading,
// the compile time of samba.h itself.
//     cc -O2 -o bench_start tests/bench/start.c -lcjson -lm -pthread -ldl && ./bench_start [small]
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#include "bench.h"
#include "../../tools/include/samba/gpt2.h"
#include <sys/resource.h>
#include <sys/stat.h>

// ---- A process of its own, from start to first trained step -------------------------------------

// A net as in examples/02_res_ffn.c, with 128 hidden units: one step.
static int hero(void)
{
    enum { B = 64, F = 784, H = 128, C = 10 };

    static float x[B][F];
    static int32_t y[B];
    samba_session *s = samba_open(&(samba_desc){ .seed = 256 });
    samba_tensor *image = samba_input(s, "image", SAMBA_F32, SAMBA_SHAPE(B, F));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    samba_tensor *h = samba_tanh(samba_layernorm(samba_linear(image, "gemm1", H), "norm1"));
    h = samba_sigmoid(samba_add(samba_layernorm(samba_linear(h, "gemm2", H), "norm2"), h));
    samba_tensor *loss = samba_cross_entropy(samba_linear(h, "gemm3", C), label);
    samba_compile(s,
                  &(samba_program){ .loss = loss,
                                    .optim = { .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f } });
    fill(&x[0][0], B * F, 1, 1);
    for (int b = 0; b < B; b++)
        y[b] = b % C;
    samba_write(image, x);
    samba_write(label, y);
    samba_run(s, 0);
    printf("%.6f %.1f\n", (double)samba_read(loss)[0], peak_memory());
    return samba_close(s);
}

typedef struct program {
    char *argv[4];
    double mib;
} program;

// With the option cpu: what all processes that have ended took.
static double process_seconds(void)
{
    struct rusage used;
    if (!getenv(cpu_word)) return samba_seconds();
    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec)
        + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// Seconds from start to end; its last word is its peak memory. Less than 0: it failed.
static double run_program(void *context)
{
    program *p = (program *)context;
    int out[2], status = 1;
    char text[256];
    double start = process_seconds();
    if (pipe(out)) return -1;
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(out[1], 1);
        close(out[0]);
        close(out[1]);
        execvp(p->argv[0], p->argv);
        _exit(127);
    }
    close(out[1]);
    FILE *f = fdopen(out[0], "r");
    while (f && fgets(text, sizeof text, f))
        sscanf(text, "%*f %lf", &p->mib);
    if (f) fclose(f);
    return pid > 0 && waitpid(pid, &status, 0) == pid && !status ? process_seconds() - start : -1;
}

static void first_step(void)
{
    char python[PATH_ROOM], script[] = "tests/bench/torch_start.py", word[] = "hero";
    program mine = { .argv = { bench.argv[0], word, NULL } },
            theirs = { .argv = { python, script, NULL } };
    contender c[2] = { { .name = "samba", .run = run_program, .context = &mine },
                       { .name = "torch", .run = run_program, .context = &theirs } };
    todays_python("torch", python);
    if (!wanted("first step")) return;
    tune_environment(false, bench.threads);
    if (run_program(&theirs) < 0) {
        printf("PyTorch: not here (make peers gets it from PyPI)\n");
        c[1].run = NULL;
    }
    race(c, 2, NO_CEILING, false);
    report_ms("process to first step", c, 2, 0, bench.threads);
    c[0].value = mine.mib;
    c[1].value = c[1].run ? theirs.mib : 0;
    report("process to first step, memory", "MiB", c, 2, 0, bench.threads);
}

// ---- GPT-2 124M: tracing, compiling, loading ----------------------------------------------------

static const char file[] = "build/bench_start.ckpt";

static gpt2_config configuration(void)
{
    gpt2_config c = gpt2_config_default();
    c.attn_pdrop = c.embd_pdrop = c.resid_pdrop = 0;
    if (bench.small) c.n_layer = 2;
    return c;
}

static samba_tensor *trace(samba_session *s, const gpt2_config *c, int32_t B, int32_t T, bool loss)
{
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(B, T));
    samba_tensor *labels = loss ? samba_input(s, "labels", SAMBA_I32, SAMBA_SHAPE(B, T)) : NULL;
    samba_tensor *logits = gpt2_logits(c, ids, NULL);
    return loss ? samba_cross_entropy(logits, labels) : logits;
}

// Two times in one contender's context: the second is the value of the call.
typedef struct two {
    double first[MOST_ROUNDS + 1];
    int n;
} two;

static double compile_training(void *context)
{
    two *t = (two *)context;
    gpt2_config c = configuration();
    samba_session *s = samba_open(&(samba_desc){ .threads = bench.threads });
    double start = samba_seconds();
    samba_tensor *loss = trace(s, &c, 4, 256, true);
    double middle = samba_seconds();
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { .kind = SAMBA_ADAMW } });
    double end = samba_seconds();
    t->first[t->n++ % (MOST_ROUNDS + 1)] = middle - start;
    if (samba_close(s)) bench.disagreements++;
    return end - middle;
}

static double load(void *context)
{
    two *t = (two *)context;
    gpt2_config c = configuration();
    samba_session *s = samba_open(&(samba_desc){ .threads = bench.threads });
    samba_tensor *logits = trace(s, &c, 1, 64, false);
    double start = samba_seconds();
    samba_load(s, file, &(samba_program){ .outputs = { logits }, .inference = true });
    double end = samba_seconds();
    samba_restore(s, file);
    t->first[t->n++ % (MOST_ROUNDS + 1)] = samba_seconds() - end;
    if (samba_close(s)) bench.disagreements++;
    return end - start;
}

static void gpt2(void)
{
    two times = { .n = 0 };
    contender c = { .name = "samba", .run = compile_training, .context = &times };
    if (!wanted("GPT-2")) return;
    race(&c, 1, NO_CEILING, false);
    report_one("GPT-2 training, trace", "ms", 1e3 * median(times.first + 1, bench.done), 0,
               bench.threads);
    report_ms("GPT-2 training, compile", &c, 1, 0, bench.threads);
    gpt2_config config = configuration();
    samba_session *s = samba_open(NULL);
    samba_tensor *logits = trace(s, &config, 1, 64, false);
    samba_compile(s, &(samba_program){ .outputs = { logits }, .inference = true });
    samba_save(s, file);
    samba_close(s);
    struct stat about;
    if (stat(file, &about)) {
        perror(file);
        bench.disagreements++;
        return;
    }
    char what[64];
    double bytes = (double)about.st_size;
    times.n = 0;
    c = (contender){ .name = "samba", .run = load, .context = &times };
    race(&c, 1, NO_CEILING, false); // it is mapped: its parameters are not read
    snprintf(what, sizeof what, "load of a checkpoint of %.0f MB", bytes * 1e-6);
    report_ms(what, &c, 1, 0, bench.threads);
    report_one("  restore of the same", "ms", 1e3 * median(times.first + 1, bench.done),
               1e3 * bytes / machine.best[bench.threads > 1].read, bench.threads);
    remove(file);
}

// ---- The compiler: long graphs; and samba.h as a C program --------------------------------------

// n ops, half of them with two inputs, one of which is eight ops older.
typedef struct chain {
    int n;
    bool trains;
} chain;

static double compile_chain(void *context)
{
    int n = ((const chain *)context)->n;
    samba_session *s = samba_open(&(samba_desc){ .threads = bench.threads });
    samba_tensor *past[8], *x = samba_rand(s, "x", SAMBA_SHAPE(8, 8));
    double start = samba_seconds();
    for (int i = 0; i < 8; i++)
        past[i] = x;
    for (int i = 0; i < n; i++) {
        x = i % 2 ? samba_tanh(x) : samba_add(x, past[i % 8]);
        past[i % 8] = x;
    }
    samba_compile(s, &(samba_program){ .outputs = { x }, .inference = true });
    double seconds = samba_seconds() - start;
    if (samba_close(s)) bench.disagreements++;
    return seconds;
}

// A deep net of n ops, layers of two widths, with its gradients and AdamW: six times as many nodes.
static double compile_deep(void *context)
{
    int n = ((const chain *)context)->n;
    samba_session *s = samba_open(&(samba_desc){ .threads = bench.threads });
    samba_tensor *x = samba_rand(s, "x", SAMBA_SHAPE(8, 16));
    double start = samba_seconds();
    for (int i = 0; i < n / 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "fc%d", i);
        x = samba_tanh(samba_linear(x, name, i % 2 ? 16 : 32));
    }
    samba_tensor *loss = samba_sum(x, SAMBA_ALL_AXES, false);
    samba_compile(
        s, &(samba_program){ .loss = loss, .optim = { .kind = SAMBA_ADAMW, .max_grad_norm = 1 } });
    double seconds = samba_seconds() - start;
    if (samba_close(s)) bench.disagreements++;
    return seconds;
}

static void long_graphs(void)
{
    enum { SIZES = 3 };

    int part = bench.small ? 5 : 1;
    static chain chains[2][SIZES] = { { { 5000, false }, { 10000, false }, { 20000, false } },
                                      { { 5000, true }, { 10000, true }, { 20000, true } } };
    if (!wanted("graph")) return;
    for (int kind = 0; kind < 2; kind++) {
        contender c[SIZES];
        char what[64];
        for (int i = 0; i < SIZES; i++) {
            chain *chain = &chains[kind][i];
            chain->n /= part;
            c[i] = (contender){ .name = "samba",
                                .run = chain->trains ? compile_deep : compile_chain,
                                .context = chain };
            race(&c[i], 1, NO_CEILING, false);
            contender one = c[i];
            snprintf(what, sizeof what, "graph of %d ops%s", chain->n,
                     chain->trains ? " that trains" : "");
            report_ms(what, &one, 1, 0, bench.threads);
        }
        report_one("graph: linear / measured growth", "x", 4 * c[0].value / c[SIZES - 1].value, 1,
                   bench.threads);
    }
}

static double compile_header(void *context)
{
    double start = samba_seconds();
    return system((const char *)context) ? -1 : samba_seconds() - start;
}

static void header(void)
{
    const char *cc = getenv("CC");
    char command[512];
    int rounds = bench.rounds;
    snprintf(command, sizeof command, "%s -O2 -DSAMBA_IMPLEMENTATION -x c -c -o /dev/null samba.h",
             cc && *cc ? cc : "cc");
    contender c = { .name = "samba", .run = compile_header, .context = command };
    if (bench.small || !wanted("samba.h")) return;
    bench.rounds = 3;
    race(&c, 1, NO_CEILING, false);
    report_ms("samba.h at -O2", &c, 1, 0, 1);
    bench.rounds = rounds;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "hero")) return hero();
    bench_begin(argc, argv, "start");
    mkdir("build", 0777);
    first_step();
    gpt2();
    long_graphs();
    header();
    return bench_end();
}
