// Stop, save, and go on in a new session: the end must be the same, bit for bit.
//     cc -O2 -I. tests/core/resume.c -lm -pthread -o resume && ./resume
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/recipe.h"
#include "tests/lib/files.h"
#include "tests/lib/test.h"
#include <stdlib.h>

enum { STEPS = 20, PATH = 300 };

// ---- Files, named after the program -------------------------------------------------------------

static char start_pef[PATH], other_pef[PATH], stopped[PATH], finished[PATH], resumed[PATH];

static void name_files(const char *program)
{
    const struct {
        char *path;
        const char *end;
    } files[] = {
        { start_pef, "pef" },          { other_pef, "other.pef" },  { stopped, "stopped.ckpt" },
        { finished, "finished.ckpt" }, { resumed, "resumed.ckpt" },
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        snprintf(files[i].path, PATH, "%.200s.%s", program, files[i].end);
}

static void remove_files(void)
{
    const char *const paths[] = { start_pef, other_pef, stopped, finished, resumed };
    char beside[PATH + 8];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        remove(paths[i]);
        snprintf(beside, sizeof beside, "%s.log", paths[i]);
        remove(beside);
        snprintf(beside, sizeof beside, "%s.map", paths[i]);
        remove(beside);
    }
}

// The hash of a file; 0 if it cannot be read.
static uint64_t hash_file(const char *path)
{
    size_t size;
    void *bytes = read_whole(path, &size);
    uint64_t hash = size ? recipe_hash(recipe_hash_start, bytes, size) : 0;
    free(bytes);
    return hash;
}

// ---- The nets -----------------------------------------------------------------------------------

typedef struct net_case {
    const char *name;
    recipe_model model;
    samba_optim optim;
    bool dropout; // after the ResFFN's first layer
    int32_t microbatches;
} net_case;

typedef struct net {
    samba_session *s;
    recipe_net net;
    samba_program program;
} net;

// x (B,F) -> (B,10), dropping out twice
static samba_tensor *trace_dropout(samba_tensor *x, int32_t hidden)
{
    samba_tensor *h = samba_dropout(samba_gelu(samba_linear(x, "fc1", hidden)), "drop1", 0.3f);
    h = samba_dropout(samba_tanh(samba_linear(h, "fc2", hidden)), "drop2", 0.1f);
    return samba_linear(h, "fc3", RECIPE_CLASSES);
}

static net trace(const net_case *c, int32_t threads, bool inference)
{
    net n;
    const recipe_model *m = &c->model;
    int32_t batch = m->batch / (c->microbatches && !inference ? c->microbatches : 1);
    memset(&n, 0, sizeof n);
    n.s = samba_open(&(samba_desc){ .threads = threads });
    if (c->dropout) {
        n.net.x = samba_input(n.s, "image", SAMBA_F32, SAMBA_SHAPE(batch, m->pixels));
        n.net.target = samba_input(n.s, "label", SAMBA_I32, SAMBA_SHAPE(batch));
        n.net.logits = trace_dropout(n.net.x, m->hidden);
        n.net.loss = samba_cross_entropy(n.net.logits, n.net.target);
    } else {
        n.net = recipe_trace(n.s, m, batch);
    }
    n.program.outputs[0] = n.net.logits;
    n.program.inference = inference;
    if (inference) return n;
    n.program.loss = n.net.loss;
    n.program.optim = c->optim;
    n.program.microbatches = c->microbatches;
    return n;
}

// Steps from ... to - 1. The learning rate is set once, at step 5, and must persist.
static void run_steps(const net_case *c, net *n, uint32_t from, uint32_t to)
{
    for (uint32_t step = from; step < to && samba_ok(n->s); step++) {
        recipe_feed(&n->net, &c->model, step);
        if (step == 5) samba_set(n->s, "lr", 0.5 * (double)c->optim.lr);
        samba_run(n->s, 0);
    }
}

// Overwrites every weight, so that nothing is right unless it was restored.
static void spoil_weights(samba_session *s)
{
    const char *names[64];
    int32_t n = samba_weight_names(s, names, 64);
    for (int32_t i = 0; i < n && i < 64; i++) {
        samba_tensor *t = samba_tensor_by_name(s, names[i]);
        float *junk = (float *)malloc(samba_bytes(t));
        CHECK(junk != NULL);
        for (size_t k = 0; junk && k < samba_bytes(t) / 4; k++)
            junk[k] = 123.0f;
        if (junk) samba_write(t, junk);
        free(junk);
    }
}

// ---- The tests ----------------------------------------------------------------------------------

// How a new session gets the program and its state.
typedef enum how { COMPILE_RESTORE, LOAD_RESTORE, LOAD_CHECKPOINT, LOAD_UNTRACED, N_HOWS } how;

static const char *const how_names[N_HOWS]
    = { "compile, restore", "load, restore", "load the checkpoint", "restore without tracing" };

static net reopen(const net_case *c, how way, int32_t threads)
{
    net n;
    if (way == LOAD_UNTRACED) { // tensors are found by name
        memset(&n, 0, sizeof n);
        n.s = samba_open(&(samba_desc){ .threads = threads });
        samba_load(n.s, start_pef, NULL);
        n.net.x = samba_tensor_by_name(n.s, "image");
        n.net.target = samba_tensor_by_name(n.s, "label");
    } else {
        n = trace(c, threads, false);
    }
    if (way == COMPILE_RESTORE) {
        n.program.pef = other_pef;
        samba_compile(n.s, &n.program);
    }
    if (way == LOAD_RESTORE) samba_load(n.s, start_pef, &n.program);
    if (way == LOAD_CHECKPOINT) {
        samba_load(n.s, stopped, &n.program);
        return n;
    }
    spoil_weights(n.s);
    samba_restore(n.s, stopped);
    return n;
}

// What a restored session saves at once is the checkpoint again, byte for byte.
static void test_resume(const net_case *c, uint32_t k, how way)
{
    net n = trace(c, 2, false);
    n.program.pef = start_pef;
    samba_compile(n.s, &n.program);
    run_steps(c, &n, 0, k);
    CHECK(samba_save(n.s, stopped));
    CHECK(samba_close(n.s) == 0);

    n = reopen(c, way, 1 + (int32_t)k % 3);
    CHECK(samba_save(n.s, resumed));
    CHECK(hash_file(resumed) == hash_file(stopped));
    run_steps(c, &n, k, STEPS);
    CHECK(samba_save(n.s, resumed));
    CHECK(hash_file(resumed) != 0);
    CHECK(hash_file(resumed) == hash_file(finished));
    CHECK(samba_close(n.s) == 0);
}

// The uninterrupted run, to its checkpoint; stopping must leave a trace of the step it was made at.
static void run_to_the_end(const net_case *c)
{
    net n = trace(c, 2, false);
    samba_compile(n.s, &n.program);
    run_steps(c, &n, 0, STEPS - 1);
    CHECK(samba_save(n.s, stopped));
    run_steps(c, &n, STEPS - 1, STEPS);
    CHECK(samba_save(n.s, finished));
    CHECK(hash_file(finished) != hash_file(stopped));
    CHECK(samba_close(n.s) == 0);
}

// Logits of an inference program with the checkpoint, against the training program in evaluation.
static void test_inference(const net_case *c)
{
    static float expected[64 * 1024];
    const uint32_t batch = STEPS + 3;
    net n = trace(c, 2, false), i = trace(c, 1, true);
    size_t size = 4 * (size_t)samba_count(&i.net.logits->shape);
    samba_compile(n.s, &n.program);
    samba_restore(n.s, finished);
    recipe_feed(&n.net, &c->model, batch);
    samba_run(n.s, SAMBA_FWD); // with dropout and the statistics of the batch
    CHECK(samba_bytes(n.net.logits) == size && size <= sizeof expected);
    samba_copy_out(n.net.logits, expected, samba_bytes(n.net.logits));
    samba_restore(n.s, finished);
    samba_compile(i.s, &i.program);
    samba_restore(i.s, finished);
    recipe_feed(&i.net, &c->model, batch);
    CHECK(samba_run(i.s, SAMBA_FWD));
    bool same = memcmp(expected, samba_read(i.net.logits), size) == 0;
    CHECK(same == !(c->dropout || c->model.channels));
    samba_run_with(
        n.s, &(samba_run_desc){ .types = { SAMBA_FWD }, .eval = true, .running_stats = true });
    samba_copy_out(n.net.logits, expected, samba_bytes(n.net.logits));
    CHECK(memcmp(expected, samba_read(i.net.logits), size) == 0);
    samba_set_train(n.s, false); // the other way to say both
    samba_use_running_stats(n.s, true);
    samba_run(n.s, SAMBA_FWD);
    CHECK(memcmp(samba_read(n.net.logits), samba_read(i.net.logits), size) == 0);
    CHECK(samba_close(n.s) == 0);
    CHECK(samba_close(i.s) == 0);
}

// Evaluating now and then leaves training as it is: same dropout, same statistics, same end.
static void test_evaluation(const net_case *c)
{
    net n = trace(c, 2, false);
    samba_compile(n.s, &n.program);
    for (uint32_t step = 0; step < STEPS; step++) {
        run_steps(c, &n, step, step + 1);
        if (step % 4 != 0) continue;
        recipe_feed(&n.net, &c->model, STEPS + step);
        samba_run_with(
            n.s, &(samba_run_desc){ .types = { SAMBA_FWD }, .eval = true, .running_stats = true });
    }
    CHECK(samba_save(n.s, resumed));
    CHECK(hash_file(resumed) == hash_file(finished));
    CHECK(samba_close(n.s) == 0);
}

static void test_net(const net_case *c)
{
    static const uint32_t stops[] = { 0, 1, 5, 6, 13, STEPS };
    char name[100];
    test_bad = 0;
    run_to_the_end(c);
    snprintf(name, sizeof name, "%s: uninterrupted", c->name);
    test_end(name);
    for (int way = 0; way < N_HOWS; way++) {
        for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
            test_bad = 0;
            test_resume(c, stops[i], (how)way);
            snprintf(name, sizeof name, "%s: stop at step %u, %s", c->name, (unsigned)stops[i],
                     how_names[way]);
            test_end(name);
        }
    }
    test_bad = 0;
    test_inference(c);
    snprintf(name, sizeof name, "%s: inference", c->name);
    test_end(name);
    test_bad = 0;
    test_evaluation(c);
    snprintf(name, sizeof name, "%s: evaluation in between", c->name);
    test_end(name);
}

int main(int argc, char **argv)
{
    const samba_optim sgd = {
        .kind = SAMBA_SGD, .lr = 0.05f, .momentum = 0.9f, .dampening = 0.1f, .weight_decay = 1e-3f
    };
    const samba_optim adamw
        = { .kind = SAMBA_ADAMW, .lr = 0.002f, .weight_decay = 0.01f, .max_grad_norm = 1.0f };
    const samba_optim amsgrad
        = { .kind = SAMBA_ADAMW, .lr = 0.002f, .weight_decay = 0.01f, .amsgrad = true };
    const samba_optim rmsprop = { .kind = SAMBA_RMSPROP,
                                  .lr = 0.002f,
                                  .momentum = 0.5f,
                                  .eps = 1e-4f,
                                  .max_grad_norm = 1.0f,
                                  .centered = true };
    const samba_optim adagrad
        = { .kind = SAMBA_ADAGRAD, .lr = 0.02f, .lr_decay = 0.05f, .initial_accumulator = 0.1f };
    const samba_optim lion = { .kind = SAMBA_LION, .lr = 0.001f, .weight_decay = 0.1f };
    const net_case cases[] = {
        { "SGD with momentum", recipe_res_ffn(16, 64, 32), sgd, false, 0 },
        { "AdamW with dropout", recipe_res_ffn(16, 64, 32), adamw, true, 0 },
        { "dropout, microbatches", recipe_res_ffn(16, 64, 32), adamw, true, 4 },
        { "AMSGrad with dropout", recipe_res_ffn(16, 64, 32), amsgrad, true, 0 },
        { "RMSprop, microbatches", recipe_res_ffn(16, 64, 32), rmsprop, false, 2 },
        { "Adagrad", recipe_res_ffn(16, 64, 32), adagrad, false, 0 },
        { "Lion, microbatches", recipe_res_ffn(16, 64, 32), lion, false, 2 },
        { "batch norm", recipe_conv_net(8, 16, 4), sgd, false, 0 },
    };
    name_files(argc > 0 ? argv[0] : "resume");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        test_net(&cases[i]);
    remove_files();
    return test_summary();
}
