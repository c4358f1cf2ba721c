// Programs that tests/faults/faults.py disturbs: each plays one use of samba.h or a companion, in
// the current folder. `scenarios NAME prepare` makes the folder as it is before, `scenarios NAME`
// prints "ok" and a hash of what was computed; or it exits with 1, and stderr has the reason.
#define _GNU_SOURCE
#define SAMBA_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_REPORT_IMPLEMENTATION
#define SAMBA_REPLAY_IMPLEMENTATION
#define SAMBA_IDX_IMPLEMENTATION
#define SAMBA_LOADER_IMPLEMENTATION
#define SAMBA_PROFILER_IMPLEMENTATION
#define SAMBA_PARALLEL_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/idx.h"
#include "tools/include/samba/loader.h"
#include "tools/include/samba/parallel.h"
#include "tools/include/samba/profiler.h"
#include "tools/include/samba/replay.h"
#include "tools/include/samba/report.h"
#include "tools/include/samba/safetensors.h"
#include <dirent.h>

enum { BATCH = 8, PIXELS = 16, CLASSES = 4, WIDE = 560, SAMPLES = 3 * BATCH, PASSES = 2 };

// ---- What a scenario tells: a hash, or that it failed -------------------------------------------

static uint64_t result = 14695981039346656037u;
static char why[512];

static void add(const void *data, size_t size)
{
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < size; i++)
        result = (result ^ p[i]) * 1099511628211u;
}

static bool add_tensor(samba_tensor *t)
{
    const float *values = t ? samba_read(t) : NULL;
    if (values) add(values, samba_bytes(t));
    return values != NULL;
}

static bool add_weights(samba_session *s)
{
    const char *names[64];
    int32_t n = samba_weight_names(s, names, 64);
    bool fine = n > 0;
    for (int32_t i = 0; i < n && fine; i++)
        fine = add_tensor(samba_tensor_by_name(s, names[i]));
    return fine;
}

// What a companion says in `why`.
static bool told(bool fine)
{
    if (!fine) fprintf(stderr, "%s\n", why);
    return fine;
}

static samba_session *open_session(int32_t threads)
{
    samba_desc d = { .threads = threads };
    samba_session *s = samba_open(&d);
    if (!s) fprintf(stderr, "samba_open: no memory for a session\n");
    return s;
}

// A session that failed has printed its reason.
static bool close_session(samba_session *s, bool fine)
{
    bool good = s && samba_ok(s);
    if (good && !fine) fprintf(stderr, "scenarios: false without an error\n");
    if (good && !fine) abort();
    if (s) samba_close(s);
    return good && fine;
}

// ---- A small net, and its data ------------------------------------------------------------------

typedef struct net {
    samba_session *s;
    samba_tensor *x, *label, *logits, *loss;
    samba_program program;
} net;

static net trace_in(samba_session *s, int32_t batch, int32_t hidden)
{
    net n = { .s = s };
    n.x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(batch, PIXELS));
    n.label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(batch));
    n.logits = samba_linear(samba_relu(samba_linear(n.x, "one", hidden)), "two", CLASSES);
    n.loss = samba_cross_entropy(n.logits, n.label);
    n.program.outputs[0] = n.logits;
    n.program.loss = n.loss;
    n.program.optim.kind = SAMBA_ADAMW;
    n.program.optim.lr = 0.01f;
    return n;
}

static net trace(int32_t threads, int32_t hidden)
{
    samba_session *s = open_session(threads);
    net none = { 0 };
    return s ? trace_in(s, BATCH, hidden) : none;
}

static float sample_x[SAMPLES * PIXELS];
static int32_t sample_label[SAMPLES];

static void make_samples(void)
{
    for (int i = 0; i < SAMPLES; i++)
        sample_label[i] = i % CLASSES;
    for (int i = 0; i < SAMPLES * PIXELS; i++) {
        bool bright = i % PIXELS % CLASSES == sample_label[i / PIXELS];
        sample_x[i] = (bright ? 1.0f : 0.0f) + 0.01f * (float)(i * 37 % 41);
    }
}

static bool step(const net *n, int i)
{
    int first = i * BATCH % SAMPLES;
    return samba_write(n->x, sample_x + first * PIXELS)
        && samba_write(n->label, sample_label + first) && samba_run(n->s, 0);
}

static bool steps(const net *n, int from, int to)
{
    bool fine = true;
    for (int i = from; i < to && fine; i++)
        fine = step(n, i);
    return fine;
}

// ---- samba.h's own files ------------------------------------------------------------------------

static bool compile_to(const char *path, int32_t hidden)
{
    net n = trace(1, hidden);
    n.program.pef = path;
    return close_session(n.s, n.s && samba_compile(n.s, &n.program));
}

static bool before_compile(void)
{
    return compile_to("net.pef", 5);
}

static bool run_compile(void)
{
    return compile_to("net.pef", 9);
}

static bool run_load(void)
{
    net n = trace(1, 5);
    bool fine = n.s && samba_load(n.s, "net.pef", &n.program) && steps(&n, 0, 2);
    return close_session(n.s, fine && add_weights(n.s));
}

static bool save_after(int n_steps)
{
    net n = trace(1, 9);
    bool fine = n.s && samba_compile(n.s, &n.program) && steps(&n, 0, n_steps);
    return close_session(n.s, fine && samba_save(n.s, "net.ckpt"));
}

static bool before_save(void)
{
    return save_after(1);
}

static bool run_save(void)
{
    return save_after(3);
}

static bool run_restore(void)
{
    net n = trace(1, 9);
    bool fine = n.s && samba_compile(n.s, &n.program) && samba_restore(n.s, "net.ckpt");
    return close_session(n.s, fine && steps(&n, 1, 3) && add_weights(n.s));
}

// More than 1 MiB of parameters that nothing writes: these stay in the mapped file.
static net trace_wide(void)
{
    samba_session *s = open_session(1);
    net n = { .s = s };
    if (!s) return n;
    n.x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, WIDE));
    n.logits = samba_linear(n.x, "wide", WIDE);
    n.program.outputs[0] = n.logits;
    n.program.inference = true;
    return n;
}

static bool before_map(void)
{
    net n = trace_wide();
    bool fine = n.s && samba_compile(n.s, &n.program) && samba_save(n.s, "wide.ckpt");
    return close_session(n.s, fine);
}

static bool run_map(void)
{
    static float x[2 * WIDE];
    net n = trace_wide();
    for (int i = 0; i < 2 * WIDE; i++)
        x[i] = 0.01f * (float)(i % 29);
    bool fine = n.s && samba_load(n.s, "wide.ckpt", &n.program) && samba_write(n.x, x);
    for (int i = 0; i < 2 && fine; i++)
        fine = samba_run(n.s, 0) && add_tensor(n.logits);
    return close_session(n.s, fine);
}

static bool run_threads(void)
{
    net n = trace(3, 33);
    bool fine = n.s && samba_compile(n.s, &n.program) && steps(&n, 0, 3);
    return close_session(n.s, fine && add_weights(n.s));
}

// ---- A training that saves itself, and goes on where the file says ------------------------------

typedef struct training {
    net net;
    samba_tensor *position;
    samba_loader *loader;
} training;

static bool open_training(training *t)
{
    static const char *const names[] = { "x", "label" };
    static samba_dataset data = { .n = SAMPLES, .batch = BATCH, .shuffle = true, .seed = 5 };
    data.arrays[0] = sample_x;
    data.arrays[1] = sample_label;
    memset(t, 0, sizeof *t);
    t->net = trace(1, 9);
    samba_session *s = t->net.s;
    if (!s) return false;
    t->position = samba_loader_position(s, "position");
    t->net.program.outputs[1] = t->position;
    bool fine = samba_compile(s, &t->net.program);
    if (fine && access("train.ckpt", F_OK) == 0) fine = samba_restore(s, "train.ckpt");
    samba_loader_opts opts = { .position = t->position };
    t->loader = fine ? samba_loader_open_dataset(s, &data, names, 2, &opts) : NULL;
    return t->loader != NULL;
}

static bool run_train(void)
{
    training t;
    const float *at = NULL;
    bool fine = open_training(&t);
    samba_session *s = t.net.s;
    while (fine && (at = samba_read(t.position)) != NULL && at[0] < PASSES) {
        int32_t got = samba_loader_next(t.loader, NULL);
        fine = got >= 0;
        if (got == 1) fine = samba_run(s, 0) && samba_save(s, "train.ckpt");
    }
    fine = fine && at && add_weights(s);
    if (t.loader) samba_loader_close(t.loader);
    return close_session(s, fine);
}

// ---- Replicas -----------------------------------------------------------------------------------

static bool trace_replica(samba_session *s, int32_t batch, samba_program *program, void *user)
{
    (void)user;
    net n = trace_in(s, batch, 9);
    *program = n.program;
    return samba_ok(s);
}

static bool run_replicas(void)
{
    samba_parallel_desc d = { .replicas = 2, .batch = BATCH, .trace = trace_replica };
    samba_parallel_batch in[2] = { { "x", sample_x, 0 }, { "label", sample_label, 0 } };
    samba_parallel_run_desc run = { .inputs = in, .n_inputs = 2 };
    d.session.threads = 1;
    samba_parallel *p = samba_parallel_open(&d);
    if (!p) fprintf(stderr, "samba_parallel_open: no memory for replicas\n");
    if (!p) return false;
    bool fine = samba_parallel_ok(p);
    for (int i = 0; i < 2 && fine; i++)
        fine = samba_parallel_run(p, &run);
    fine = fine && samba_parallel_save(p, "net.ckpt") && add_weights(samba_parallel_session(p, 1));
    return samba_parallel_close(p) == 0 && fine;
}

// ---- Companions that write files ----------------------------------------------------------------

static bool save_tensors(const char *path, int first)
{
    samba_safetensors_entry entry = { "x", SAMBA_SAFETENSORS_F32, 1, { 64 } };
    samba_safetensors_entry entries[2] = { entry, entry };
    const float *data[2] = { sample_x + first, sample_x + first + 64 };
    entries[1].name = "y";
    entries[1].dtype = SAMBA_SAFETENSORS_BF16;
    return told(samba_safetensors_save(path, entries, data, 2, why, sizeof why));
}

static bool before_safetensors(void)
{
    return save_tensors("in.safetensors", 0) && save_tensors("out.safetensors", 0);
}

static bool run_safetensors(void)
{
    const char *path = "in.safetensors";
    float values[64];
    samba_safetensors *f = samba_safetensors_open(&path, 1, why, sizeof why);
    const samba_safetensors_tensor *t = f ? samba_safetensors_find(f, "y") : NULL;
    bool fine = t && samba_safetensors_read_f32(f, t, 0, 64, values, why, sizeof why);
    if (f) samba_safetensors_close(f);
    if (fine) add(values, sizeof values);
    return told(fine) && save_tensors("out.safetensors", 64);
}

static bool before_replace(void)
{
    return told(samba_base_replace("text", "the old words\n", 14, why, sizeof why));
}

// base.h's writer, in pieces that do not end where blocks of a disk end.
static bool run_replace(void)
{
    samba_base_output o;
    if (!told(samba_base_begin(&o, "text", NULL, why, sizeof why))) return false;
    for (int i = 0; i < 1500; i++)
        fprintf(o.file, "line %d of the new words\n", i);
    return told(samba_base_end(&o, true, why, sizeof why));
}

static bool run_report(void)
{
    net n = trace(1, 9);
    bool fine = n.s && samba_compile(n.s, &n.program);
    samba_report_opts opts = { .title = "faults", .folder = "report", .steps = 4, .gradients = 2 };
    opts.batch = BATCH;
    opts.n_classes = CLASSES;
    samba_report *r = fine ? samba_report_open(n.s, &opts) : NULL;
    fine = r != NULL;
    for (int i = 0; i < 4 && fine; i++) {
        fine = step(&n, i);
        if (fine) samba_report_step(r, i + 1, (double)samba_read(n.loss)[0]);
    }
    samba_report_prediction(r, 1, 2);
    if (r) fine = samba_report_close(r) && fine;
    return close_session(n.s, fine);
}

// A run that must end by a NaN, which its file repeats.
static bool run_replay(void)
{
    net n = trace(1, 9);
    bool fine = n.s && samba_compile(n.s, &n.program);
    samba_replay *r = fine ? samba_replay_open(n.s, "nan.replay") : NULL;
    fine = r && samba_write(n.x, sample_x) && samba_write(n.label, sample_label);
    fine = fine && samba_set(n.s, "lr", 1e30) && samba_replay_run(r, 0);
    while (fine)
        fine = samba_replay_run(r, 0);
    samba_culprit culprit;
    bool found = r && samba_nonfinite(n.s, &culprit);
    if (found) add(culprit.op, strlen(culprit.op));
    bool written = found && strstr(samba_error(n.s), "nan.replay");
    written = written && access("nan.replay", F_OK) == 0;
    if (n.s && samba_ok(n.s)) abort();
    if (r) samba_replay_close(r);
    if (n.s) samba_close(n.s);
    return written;
}

static bool run_replay_read(void)
{
    samba_replay_found found = { 0 };
    samba_desc quiet = { .threads = 1, .quiet = true };
    samba_session *s = samba_open(&quiet);
    if (!s) fprintf(stderr, "samba_open: no memory for a session\n");
    if (!s) return false;
    bool loaded = told(samba_replay_load(s, "nan.replay", NULL, &found, why, sizeof why));
    bool fine = loaded && samba_replay_again(s, &found);
    if (loaded && !fine) fprintf(stderr, "replay: %s\n", samba_error(s));
    if (fine) add(found.message, strlen(found.message));
    samba_close(s);
    samba_replay_free(&found);
    return fine;
}

static bool run_profile(void)
{
    net n = trace(1, 9);
    samba_profiler *p = n.s ? samba_profiler_open(n.s, 64) : NULL;
    bool fine = p != NULL;
    if (fine) samba_start_profile(p);
    fine = fine && samba_compile(n.s, &n.program) && steps(&n, 0, 2);
    fine = fine && samba_end_profile(p, "profile.txt") && samba_profile_trace(p, "trace.json");
    if (p) samba_profiler_close(p);
    return close_session(n.s, fine);
}

// ---- Data ---------------------------------------------------------------------------------------

static bool write_plain(const char *path, const void *data, size_t size)
{
    return told(samba_base_replace(path, data, size, why, sizeof why));
}

static bool before_idx(void)
{
    static unsigned char images[16 + 600 * 16]
        = { 0, 0, 8, 3, 0, 0, 2, 88, 0, 0, 0, 4, 0, 0, 0, 4 };
    static unsigned char labels[8 + 600] = { 0, 0, 8, 1, 0, 0, 2, 88 };
    for (int i = 0; i < 600; i++)
        labels[8 + i] = (unsigned char)(i % CLASSES);
    for (int i = 0; i < 600 * 16; i++)
        images[16 + i] = (unsigned char)(i * 7);
    return write_plain("train-images-idx3-ubyte", images, sizeof images)
        && write_plain("train-labels-idx1-ubyte", labels, sizeof labels);
}

static bool run_idx(void)
{
    static const char *const names[] = { "x", "label" };
    net n = trace(1, 9);
    samba_idx idx = { .mean = 0.5f, .deviation = 0.25f };
    bool opened = n.s && samba_compile(n.s, &n.program)
        && samba_idx_open(n.s, &idx, ".", "train", 4, CLASSES);
    samba_dataset data = { .n = idx.n, .batch = BATCH, .fill = samba_idx_fill, .user = &idx };
    samba_loader *l = opened ? samba_loader_open_dataset(n.s, &data, names, 2, NULL) : NULL;
    bool fine = l != NULL;
    for (int i = 0; i < 5 && fine; i++)
        fine = samba_loader_next(l, NULL) == 1 && samba_run(n.s, 0);
    fine = fine && add_weights(n.s);
    if (l) samba_loader_close(l);
    if (opened) samba_idx_close(&idx);
    return close_session(n.s, fine);
}

// ---- Two who save, one who loads ----------------------------------------------------------------

// Saves again and again a state in which every weight is `value`, until the file "stop" is there,
// or who started it is gone.
static bool keep_saving(float value)
{
    static float all[PIXELS * 64];
    const char *names[8];
    net n = trace(1, 64);
    bool fine = n.s && samba_compile(n.s, &n.program);
    for (int i = 0; i < PIXELS * 64; i++)
        all[i] = value;
    int32_t n_weights = fine ? samba_weight_names(n.s, names, 8) : 0;
    for (int32_t i = 0; i < n_weights; i++)
        samba_write(samba_tensor_by_name(n.s, names[i]), all);
    fine = fine && samba_ok(n.s);
    pid_t starter = getppid();
    while (fine && access("stop", F_OK) != 0 && getppid() == starter)
        fine = samba_save(n.s, "shared.ckpt");
    return close_session(n.s, fine);
}

static bool run_save_ones(void)
{
    return keep_saving(1.0f);
}

static bool run_save_twos(void)
{
    return keep_saving(2.0f);
}

// All weights are one value, 1 or 2; *value is it.
static bool one_value(samba_session *s, float *value)
{
    const char *names[8];
    int32_t n = samba_weight_names(s, names, 8);
    *value = 0.0f;
    for (int32_t i = 0; i < n; i++) {
        samba_tensor *t = samba_tensor_by_name(s, names[i]);
        const float *values = samba_read(t);
        size_t count = samba_bytes(t) / sizeof *values;
        if (!values) return false;
        if (i == 0) *value = values[0];
        for (size_t k = 0; k < count; k++)
            if (values[k] != *value) return false;
    }
    return *value == 1.0f || *value == 2.0f;
}

static bool run_load_shared(void)
{
    int seen[3] = { 0 };
    bool fine = true;
    net n = trace(1, 64);
    fine = n.s && samba_compile(n.s, &n.program);
    for (int i = 0; i < 2000 && fine; i++) {
        float value;
        fine = samba_restore_with(n.s, "shared.ckpt", &(samba_restore_opts){ .kinds = SAMBA_KEPT },
                                  NULL);
        if (fine && !one_value(n.s, &value)) abort();
        if (fine) seen[(int)value]++;
    }
    printf("%d loads of the one, %d of the other\n", seen[1], seen[2]);
    return close_session(n.s, fine);
}

// ---- Choosing -----------------------------------------------------------------------------------

typedef struct scenario {
    const char *name;
    bool (*before)(void), (*run)(void);
} scenario;

static const scenario scenarios[] = {
    { "compile", before_compile, run_compile },
    { "load", before_compile, run_load },
    { "save", before_save, run_save },
    { "restore", before_save, run_restore },
    { "map", before_map, run_map },
    { "threads", NULL, run_threads },
    { "train", NULL, run_train },
    { "replicas", NULL, run_replicas },
    { "safetensors", before_safetensors, run_safetensors },
    { "replace", before_replace, run_replace },
    { "report", NULL, run_report },
    { "replay", NULL, run_replay },
    { "replay-read", run_replay, run_replay_read },
    { "profile", NULL, run_profile },
    { "idx", before_idx, run_idx },
    { "save-ones", NULL, run_save_ones },
    { "save-twos", NULL, run_save_twos },
    { "load-shared", NULL, run_load_shared },
};

// Files that stay open after everything was closed are lost to a program that goes on.
static int open_files(void)
{
    int n = 0;
    DIR *list = opendir("/proc/self/fd");
    errno = 0;
    while (list && readdir(list))
        n++;
    bool whole = list && errno == 0;
    if (list) closedir(list);
    return whole ? n : -1;
}

int main(int argc, char **argv)
{
    bool before = argc == 3 && !strcmp(argv[2], "prepare");
    make_samples();
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; i++) {
        const scenario *s = &scenarios[i];
        if (strcmp(argv[1], s->name)) continue;
        if (before) return s->before && !s->before();
        int were_open = open_files();
        bool fine = s->run();
        int are_open = open_files();
        if (were_open >= 0 && are_open > were_open) fprintf(stderr, "defect: a file stays open\n");
        if (fine) printf("ok %016llx\n", (unsigned long long)result);
        if (fflush(stdout) == 0) return !fine;
        perror("the result cannot be printed");
        return 1;
    }
    fprintf(stderr, "usage: scenarios NAME [prepare]\n");
    return 2;
}
