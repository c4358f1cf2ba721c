// A small GPT that learns to write from a text: any UTF-8 file. `make gpt` gives it the Bible.
//     cc -O2 -o gpt_text examples/05_gpt_text.c -lcjson -lutf8proc -lm -pthread
//     ./gpt_text compile                              trace three graphs: train, prefill, decode
//     ./gpt_text run -p out/gpt_text/gpt_text.pef --text FILE          train, write as it learns
//     ./gpt_text test -p out/gpt_text/gpt_text.pef --prompt 'In the'   write with what it learned
// --graphamp-preset mp1, given to each of them, computes products in bf16; mp4 keeps all in it.
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_TOKENIZER_IMPLEMENTATION
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#define SAMBA_REPLAY_IMPLEMENTATION
#include "../samba.h"
#include "../tools/include/samba/driver.h"
#include "../tools/include/samba/tokenizer.h"
#include "../tools/include/samba/generate.h"
#include "../tools/include/samba/gpt2.h"
#include "../tools/include/samba/replay.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct options {
    samba_app_args app;
    const char *text, *folder, *prompt, *replay;
    int32_t length, layers, heads, width, vocab_size; // of the model
    int32_t steps, sample_every, tokens, top_k;
    float lr, temperature;
    int32_t seed;
    bool resume;
} options;

static char why[400]; // the reason, when a file cannot be used

// ---- The model: a training graph and two that write, all with the same weights -----------------

typedef struct model {
    gpt2_config config;
    samba_tensor *ids, *labels, *loss; // (B,T) (B,T) ()
    samba_generator writer;
    samba_tensor **params;
    samba_optim optims[3]; // embeddings, other matrices, biases and norms
} model;

static gpt2_config small_gpt(const options *o)
{
    gpt2_config c = gpt2_config_default();
    c.n_layer = o->layers;
    c.n_head = o->heads;
    c.n_embd = o->width;
    c.n_positions = o->length;
    c.vocab_size = o->vocab_size;
    c.attn_pdrop = c.embd_pdrop = c.resid_pdrop = 0; // it sees most of the text only once
    c.bos_token_id = c.eos_token_id = o->vocab_size - 1;
    return c;
}

static bool trace_training(samba_session *s, const options *o, model *m, samba_program *p)
{
    samba_optim adamw = { .kind = SAMBA_ADAMW, .lr = o->lr, .beta2 = 0.99f, .weight_decay = 0.1f };
    samba_begin_graph(s, "train");
    m->ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(o->app.batch_size, o->length));
    m->labels = samba_input(s, "labels", SAMBA_I32, SAMBA_SHAPE(o->app.batch_size, o->length));
    m->loss = samba_cross_entropy(gpt2_logits(&m->config, m->ids, NULL), m->labels);
    m->params = (samba_tensor **)malloc((size_t)gpt2_n_params(&m->config) * sizeof *m->params);
    if (!m->params) return samba_fail(s, SAMBA_ENOMEM, "no memory for a list of parameters");
    if (!gpt2_optims(s, &m->config, &adamw, m->params, m->optims, why, sizeof why))
        return samba_fail(s, SAMBA_EARG, "%s", why);
    p->loss = m->loss;
    p->optims = m->optims;
    p->n_optims = 3;
    p->max_grad_norm = 1;
    return true;
}

static samba_program trace(samba_session *s, const options *o, model *m)
{
    samba_program p = { .name = "gpt_text", .inference = o->app.inference };
    m->config = small_gpt(o);
    if (!gpt2_config_check(&m->config, why, sizeof why)) samba_fail(s, SAMBA_EARG, "%s", why);
    if (samba_ok(s) && !o->app.inference) trace_training(s, o, m, &p);
    samba_generator_trace(&m->writer, s, 1, 16, o->length, gpt2_trace_step, &m->config);
    p.outputs[0] = m->writer.prefill.logits;
    p.outputs[1] = m->writer.decode.logits;
    return p;
}

// ---- The text ----------------------------------------------------------------------------------

typedef struct corpus {
    samba_tokenizer *tokenizer;
    int32_t *id;    // the whole text as tokens
    int n, n_train; // the last tenth is held out
} corpus;

static char *read_text(samba_session *s, const char *path, size_t *size)
{
    FILE *f = path ? fopen(path, "rb") : NULL;
    long n = -1;
    char *text = NULL;
    if (f && !fseek(f, 0, SEEK_END)) n = ftell(f);
    if (n > 0 && n < 1L << 30 && !fseek(f, 0, SEEK_SET)) text = (char *)malloc((size_t)n);
    if (!path)
        samba_fail(s, SAMBA_EARG, "say --text FILE; `make gpt` takes the Bible");
    else if (!f || n < 0)
        samba_fail(s, SAMBA_EIO, "cannot read %s: %s", path, strerror(errno));
    else if (!text)
        samba_fail(s, SAMBA_EIO, "%s is empty or too large for memory", path);
    else if (fread(text, 1, (size_t)n, f) == (size_t)n)
        *size = (size_t)n;
    else
        samba_fail(s, SAMBA_EIO, "cannot read %s", path);
    if (f) fclose(f);
    if (samba_ok(s)) return text;
    free(text);
    return NULL;
}

// Learns the tokens from the training text, or reads back what an earlier run has learned.
static bool open_tokenizer(samba_session *s, const options *o, const char *text, size_t size,
                           samba_tokenizer **t)
{
    *t = text && !o->resume ? samba_tokenizer_train(text, size, o->vocab_size, why, sizeof why)
                            : samba_tokenizer_open(o->folder, why, sizeof why);
    if (*t && samba_tokenizer_size(*t) != o->vocab_size)
        return samba_fail(s, SAMBA_EARG,
                          "the tokenizer has %d tokens, the model %d: say "
                          "--vocab-size %d to compile and run, or take a longer text",
                          samba_tokenizer_size(*t), o->vocab_size, samba_tokenizer_size(*t));
    bool kept = *t && (!text || o->resume || samba_tokenizer_save(*t, o->folder, why, sizeof why));
    return kept ? true : samba_fail(s, SAMBA_EIO, "%s", why);
}

static bool read_corpus(samba_session *s, const options *o, corpus *c)
{
    size_t size = 0;
    char *text = read_text(s, o->text, &size);
    size_t trained = size - size / 10;
    if (text && open_tokenizer(s, o, text, trained, &c->tokenizer)) {
        int64_t n = samba_tokenizer_encode(c->tokenizer, text, size, NULL, 0);
        c->id = n > 0 ? (int32_t *)malloc((size_t)n * sizeof *c->id) : NULL;
        if (c->id) c->n = (int)samba_tokenizer_encode(c->tokenizer, text, size, c->id, n);
        c->n_train = c->n - c->n / 10;
        if (c->n / 10 <= o->length)
            samba_fail(s, SAMBA_EARG, "%s has %d tokens; a tenth of it must be more than %d",
                       o->text, c->n, o->length);
        else
            printf("%s: %zu bytes, %d tokens, %d of them held out\n", o->text, size, c->n,
                   c->n - c->n_train);
    }
    free(text);
    return samba_ok(s);
}

// Row b of the batch of this step: a window of the text, and the same one token later. It depends
// on the step alone, so a resumed run sees what an uninterrupted one would have seen.
static void set_batch(const options *o, const corpus *c, int first, int n, uint64_t step,
                      int32_t *ids, int32_t *labels)
{
    for (int b = 0; b < o->app.batch_size; b++) {
        double u = samba_sampling_number((uint64_t)o->seed, (uint64_t)b, step);
        const int32_t *at = c->id + first + (int)(u * (n - o->length));
        memcpy(ids + b * o->length, at, (size_t)o->length * sizeof *ids);
        memcpy(labels + b * o->length, at + 1, (size_t)o->length * sizeof *labels);
    }
}

// ---- Writing -----------------------------------------------------------------------------------

typedef struct pen {
    const samba_tokenizer *tokenizer;
    int column;
} pen;

// Prints a token as it comes, with line breaks between words.
static bool print_token(void *user, int32_t row, int32_t token)
{
    pen *p = (pen *)user;
    char text[256];
    int64_t n = samba_tokenizer_decode(p->tokenizer, &token, 1, text, sizeof text);
    (void)row;
    for (int64_t i = 0; i < n && i < (int64_t)sizeof text; i++) {
        bool wrap = text[i] == ' ' && p->column > 90;
        putchar(wrap ? '\n' : text[i]);
        p->column = wrap || text[i] == '\n' ? 0 : p->column + 1;
    }
    fflush(stdout);
    return true;
}

static bool prompt_fits(samba_session *s, const options *o, samba_tokenizer *t)
{
    int64_t n = samba_tokenizer_encode(t, o->prompt, strlen(o->prompt), NULL, 0);
    return n > 0 && n < o->length
        ? true
        : samba_fail(s, SAMBA_EARG, "the prompt has %d tokens; it may have 1 ... %d", (int)n,
                     o->length - 1);
}

static bool write_text(const options *o, model *m, samba_tokenizer *t, uint64_t seed)
{
    samba_session *s = m->writer.session;
    if (!prompt_fits(s, o, t)) return false;
    int32_t *text = (int32_t *)malloc(2 * (size_t)o->length * sizeof *text), size = 0;
    if (!text) return samba_fail(s, SAMBA_ENOMEM, "no memory for %d tokens", o->length);
    int32_t *prompt = text + o->length;
    size_t bytes = strlen(o->prompt);
    int64_t n = samba_tokenizer_encode(t, o->prompt, bytes, prompt, o->length);
    pen p = { t, (int)bytes };
    const int32_t *const prompts[1] = { prompt };
    const int32_t sizes[1] = { (int32_t)n }, end = m->config.eos_token_id;
    samba_generate_desc d = { .prompt = prompts,
                              .prompt_size = sizes,
                              .n_prompts = 1,
                              .max_new_tokens = o->tokens,
                              .stop = &end,
                              .n_stop = 1,
                              .on_token = print_token,
                              .user = &p,
                              .text = &text,
                              .text_size = &size };
    d.sampling = (samba_sampling){ .temperature = o->temperature, .top_k = o->top_k, .seed = seed };
    printf("%s", o->prompt);
    samba_generate(&m->writer, &d);
    putchar('\n');
    free(text);
    return samba_ok(s);
}

// ---- Training ----------------------------------------------------------------------------------

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    interrupted = 1;
    signal(signal_number, SIG_DFL); // a second Ctrl-C ends the program at once
}

// Rises for 50 steps, then falls along a cosine to a tenth.
static double rate_at(const options *o, int step)
{
    double lr = (double)o->lr, angle = 3.141592653589793 * step / o->steps;
    return step < 50 ? lr * (step + 1) / 50 : lr * (0.1 + 0.45 * (1 + cos(angle)));
}

// The mean loss of a few batches of the held out text.
static double held_out_loss(samba_session *s, const options *o, model *m, const corpus *c,
                            int32_t *ids, int32_t *labels)
{
    const samba_run_desc d = { .graph = "train", .types = { SAMBA_FWD }, .eval = true };
    const size_t bytes = (size_t)o->app.batch_size * (size_t)o->length * sizeof *ids;
    double sum = 0;

    enum { BATCHES = 8 };

    for (uint64_t i = 0; i < BATCHES && samba_ok(s); i++) {
        set_batch(o, c, c->n_train, c->n - c->n_train, i, ids, labels);
        samba_write_bytes(m->ids, ids, bytes);
        samba_write_bytes(m->labels, labels, bytes);
        samba_run_with(s, &d);
        sum += (double)samba_read(m->loss)[0] / BATCHES;
    }
    return sum;
}

static void show_step(const options *o, int step, double loss, double rate)
{
    int eta = (int)((o->steps - step) * o->app.batch_size * o->length / rate + 0.5);
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\rstep %d/%d  loss %.3f  %.0f tokens/s  ETA %d:%02d ", step, o->steps, loss,
            rate, eta / 60, eta % 60);
}

static bool train(samba_session *s, const options *o, model *m, const corpus *c)
{
    size_t n = (size_t)o->app.batch_size * (size_t)o->length;
    int32_t *ids = (int32_t *)malloc(2 * n * sizeof *ids), *labels = ids + n;
    size_t bytes = n * sizeof *ids;
    int step = samba_read_i32(samba_tensor_by_name(s, "optim0__step"))[0]; // of the checkpoint
    double loss = 0, start = samba_seconds(), spent = 0;
    if (!ids) return samba_fail(s, SAMBA_ENOMEM, "no memory for a batch");
    const samba_run_desc d = { .graph = "train", .types = { SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT } };
    samba_replay *replay = samba_replay_open(s, o->replay);
    for (int first = step; step < o->steps && samba_ok(s) && !interrupted;) {
        set_batch(o, c, 0, c->n_train, (uint64_t)step, ids, labels);
        samba_write_bytes(m->ids, ids, bytes);
        samba_write_bytes(m->labels, labels, bytes);
        samba_set(s, "lr", rate_at(o, step));
        if (!samba_replay_run_with(replay, &d)) break;
        double now = (double)samba_read(m->loss)[0];
        loss = step == first ? now : 0.95 * loss + 0.05 * now;
        step++;
        double rate = (step - first) * (double)n / (samba_seconds() - start - spent);
        show_step(o, step, loss, rate);
        if (step % o->sample_every && step != o->steps) continue;
        double pause = samba_seconds(), held_out = held_out_loss(s, o, m, c, ids, labels);
        if (isatty(STDERR_FILENO)) fprintf(stderr, "\r%70s\r", "");
        printf("\nstep %d/%d  loss %.3f  held out %.3f  %.0f tokens/s  %.0f s\n", step, o->steps,
               loss, held_out, rate, pause - start);
        write_text(o, m, c->tokenizer, (uint64_t)step);
        spent += samba_seconds() - pause;
    }
    samba_replay_close(replay);
    free(ids);
    return step >= o->steps && samba_ok(s);
}

// ---- Commands ----------------------------------------------------------------------------------

// run trains, saves and writes; test writes with what was saved. False if interrupted.
static bool run_or_test(samba_session *s, const options *o, model *m, const char *program)
{
    char path[1024];
    corpus c = { 0 };
    bool training = strcmp(o->app.command, "run") == 0 && !o->app.inference, done = true;
    if (mkdir(o->folder, 0777) && errno != EEXIST)
        return samba_fail(s, SAMBA_EIO, "cannot make the folder %s: %s", o->folder,
                          strerror(errno));
    snprintf(path, sizeof path, "%s/gpt_text.ckpt", o->folder);
    // All but the learning rate, which the steps and --lr say.
    const samba_restore_opts state = { .kinds = SAMBA_KEPT };
    if (!training || o->resume) samba_restore_with(s, path, &state, NULL);
    if (samba_ok(s) && !training && open_tokenizer(s, o, NULL, 0, &c.tokenizer))
        write_text(o, m, c.tokenizer, (uint64_t)o->seed);
    if (samba_ok(s) && training && read_corpus(s, o, &c) && prompt_fits(s, o, c.tokenizer)) {
        signal(SIGINT, on_interrupt);
        done = train(s, o, m, &c);
        if (samba_ok(s) && samba_save(s, path)) {
            printf("\n%s; the state is in %s\n", done ? "finished" : "stopped", path);
            if (!done) printf("Go on with: %s run --resume and the same flags\n", program);
        }
    }
    free(c.id);
    samba_tokenizer_close(c.tokenizer);
    return done;
}

int main(int argc, char **argv)
{
    options o = { .app = { .batch_size = 16 },
                  .folder = "out/gpt_text",
                  .prompt = "And the",
                  .length = 128,
                  .layers = 4,
                  .heads = 6,
                  .width = 192,
                  .vocab_size = 1024,
                  .steps = 500,
                  .sample_every = 50,
                  .tokens = 60,
                  .top_k = 50,
                  .lr = 2e-3f,
                  .temperature = 0.8f,
                  .seed = 256 };
    const samba_flag flags[] = {
        { "length", SAMBA_FLAG_COUNT, &o.length, "tokens it sees at once, default 128" },
        { "layers", SAMBA_FLAG_COUNT, &o.layers, "default 4" },
        { "heads", SAMBA_FLAG_COUNT, &o.heads, "default 6" },
        { "width", SAMBA_FLAG_COUNT, &o.width, "default 192" },
        { "vocab-size", SAMBA_FLAG_COUNT, &o.vocab_size, "kinds of tokens, default 1024" },
        { "lr", SAMBA_FLAG_POSITIVE, &o.lr, "highest learning rate, default 0.002" },
        { "seed", SAMBA_FLAG_COUNT, &o.seed, "of weights, batches and texts" },
    };
    const samba_flag run_flags[] = {
        { "text", SAMBA_FLAG_TEXT, &o.text, "what it reads: a UTF-8 file" },
        { "folder", SAMBA_FLAG_TEXT, &o.folder,
          "of tokenizer and checkpoint, default "
          "out/gpt_text" },
        { "replay", SAMBA_FLAG_TEXT, &o.replay, "file that shows where the first NaN comes from" },
        { "prompt", SAMBA_FLAG_TEXT, &o.prompt, "what its own texts begin with" },
        { "steps", SAMBA_FLAG_COUNT, &o.steps, "of training, default 500" },
        { "sample-every", SAMBA_FLAG_COUNT, &o.sample_every, "steps, default 50" },
        { "tokens", SAMBA_FLAG_COUNT, &o.tokens, "length of its texts, default 60" },
        { "temperature", SAMBA_FLAG_AMOUNT, &o.temperature,
          "0: always the likeliest; default 0.8" },
        { "top-k", SAMBA_FLAG_NUMBER, &o.top_k, "draws from the k likeliest, default 50" },
        { "resume", SAMBA_FLAG_BOOL, &o.resume, "run: go on from the checkpoint" },
    };
    o.app.run_flags = run_flags;
    o.app.n_run_flags = sizeof run_flags / sizeof *run_flags;
    if (!samba_parse_app_args(argc, argv, &o.app, flags, sizeof flags / sizeof *flags))
        return o.app.exit_code;

    model m = { 0 };
    bool done = true;
    samba_session *s = samba_open(&(samba_desc){
        .threads = o.app.threads, .graphamp = o.app.graphamp, .seed = (uint64_t)(uint32_t)o.seed });
    samba_program program = trace(s, &o, &m);
    if (strcmp(o.app.command, "run") != 0 && strcmp(o.app.command, "test") != 0)
        samba_app_driver(s, &o.app, &program);
    else if (!o.app.pef)
        samba_fail(s, SAMBA_EARG, "%s needs --pef FILE", o.app.command);
    else if (samba_load(s, o.app.pef, &program))
        done = run_or_test(s, &o, &m, argv[0]);
    free(m.params);
    int failed = samba_close(s); // 1 if an error stands: it was printed
    return failed ? failed : done ? 0 : 130;
}
