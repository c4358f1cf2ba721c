// llama.h: logits, trainings, texts and adapters against transformers and PEFT in double
// (tests/golden/make_llama.py); every wrong configuration and file.
//     cc -O2 -I. tests/tools/llama.c -lcjson -lm -pthread -o llama && ./llama
// run: -lcjson needs:cjson/cJSON.h
#include "tests/lib/counting.h"
#define SAMBA_MODEL_MALLOC counting_malloc
#define SAMBA_MODEL_FREE counting_free
#define SAMBA_SAFETENSORS_MALLOC counting_malloc
#define SAMBA_SAFETENSORS_FREE counting_free
#define SAMBA_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_LLAMA_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/llama.h"
#include "tests/lib/test.h"
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

enum { MOST_IDS = 1000, LENGTH = 64, NEW = 40 };

static char folder[128], path[256], why[600];

static const char *const models[] = { "llama_mha",   "llama_gqa",   "llama_shards", "llama_mistral",
                                      "llama_qwen2", "llama_qwen3", "llama_smollm" };

enum { N_MODELS = sizeof models / sizeof *models };

static const char *in_folder(const char *dir, const char *name)
{
    static char text[4][300];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(text[turn], sizeof text[turn], "%s/%s", dir, name);
    return text[turn];
}

static void close_clean(samba_session *s)
{
    if (!samba_ok(s)) printf("%s\n", samba_error(s));
    CHECK(samba_close(s) == 0);
}

static bool is_fine(bool fine)
{
    if (!fine) printf("%s\n", why);
    return fine;
}

// ---- Goldens ------------------------------------------------------------------------------------

typedef struct golden {
    char dir[200];
    llama_config c;
    samba_safetensors *values;
} golden;

static bool open_golden(golden *g, const char *name)
{
    memset(g, 0, sizeof *g);
    snprintf(g->dir, sizeof g->dir, "%s/%s", GOLDEN_DIR, name);
    const char *values = in_folder(g->dir, "golden.safetensors");
    bool fine = llama_config_read(in_folder(g->dir, "config.json"), &g->c, why, sizeof why);
    if (fine) g->values = samba_safetensors_open(&values, 1, why, sizeof why);
    CHECK(is_fine(g->values != NULL));
    return g->values != NULL;
}

// The values of a tensor, to be freed.
static float *take(const golden *g, const char *name, const samba_safetensors_tensor **t)
{
    *t = samba_safetensors_find(g->values, name);
    float *x = *t ? (float *)malloc((size_t)(*t)->count * sizeof *x + 1) : NULL;
    CHECK(x && samba_safetensors_read_f32(g->values, *t, 0, (*t)->count, x, why, sizeof why));
    return x;
}

// Whole numbers, which a golden holds as f32. Returns how many.
static int32_t take_ids(const golden *g, const char *name, int32_t *ids)
{
    const samba_safetensors_tensor *t;
    float *x = take(g, name, &t);
    int32_t n = t && t->count <= MOST_IDS ? (int32_t)t->count : 0;
    for (int32_t i = 0; i < n; i++)
        ids[i] = (int32_t)x[i];
    CHECK(n > 0);
    free(x);
    return n;
}

// The largest deviation; any NaN is infinitely far.
static double distance(const float *a, const float *b, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= most)) most = d == d ? d : INFINITY;
    }
    return most;
}

typedef struct model {
    samba_session *s;
    samba_tensor *ids, *target, *logits, *loss;
} model;

static model trace(const llama_config *c, int32_t batch, int32_t length)
{
    model m;
    memset(&m, 0, sizeof m);
    m.s = samba_open(NULL);
    m.ids = samba_input(m.s, "ids", SAMBA_I32, SAMBA_SHAPE(batch, length));
    m.logits = llama_logits(c, m.ids, NULL);
    return m;
}

static bool compile_inference(const model *m)
{
    samba_program p = { .outputs = { m->logits }, .inference = true };
    return samba_compile(m->s, &p);
}

// How far the logits of a compiled model are from those of a golden.
static double distance_to(const golden *g, const model *m, const char *want)
{
    int32_t ids[MOST_IDS];
    const samba_safetensors_tensor *t;
    float *logits = take(g, want, &t);
    take_ids(g, "ids", ids);
    samba_write(m->ids, ids);
    samba_run(m->s, SAMBA_FWD);
    double far = INFINITY;
    if (logits && samba_ok(m->s) && samba_count(&m->logits->shape) == (int64_t)t->count)
        far = distance(samba_read(m->logits), logits, (int64_t)t->count);
    free(logits);
    return far;
}

static model open_model(const golden *g, bool load_first)
{
    const samba_safetensors_tensor *t = samba_safetensors_find(g->values, "ids");
    llama_config c = g->c;
    c.initializer_range = 0; // the values are overwritten
    model m = trace(&c, (int32_t)t->dim[0], (int32_t)t->dim[1]);
    if (load_first) CHECK(is_fine(llama_load_folder(m.s, &c, g->dir, why, sizeof why)));
    compile_inference(&m);
    if (!load_first) CHECK(is_fine(llama_load_folder(m.s, &c, g->dir, why, sizeof why)));
    return m;
}

static void test_logits_like_pytorch(void)
{
    for (int i = 0; i < N_MODELS; i++) {
        golden g;
        if (!open_golden(&g, models[i])) continue;
        model m = open_model(&g, i % 2 == 0);
        double far = distance_to(&g, &m, "logits");
        printf("%s: logits %.1e from transformers in double\n", models[i], far);
        CHECK(far <= 1e-5);
        close_clean(m.s);
        samba_safetensors_close(g.values);
    }
}

// ---- Training -----------------------------------------------------------------------------------

static samba_optim adamw(void)
{
    samba_optim o = { .kind = SAMBA_ADAMW,
                      .lr = 1e-3f,
                      .beta1 = 0.9f,
                      .beta2 = 0.997f,
                      .eps = 1e-8f,
                      .weight_decay = 0.1f };
    return o;
}

// The batch of a step of tokens (steps,B,T+1).
static void write_batch(const model *m, const int32_t *tokens, int32_t step)
{
    int32_t ids[MOST_IDS], target[MOST_IDS];
    const int32_t b = m->ids->shape.dim[0], t = m->ids->shape.dim[1];
    tokens += step * b * (t + 1);
    for (int32_t i = 0; i < b * t; i++) {
        ids[i] = tokens[i / t * (t + 1) + i % t];
        target[i] = tokens[i / t * (t + 1) + i % t + 1];
    }
    samba_write(m->ids, ids);
    samba_write(m->target, target);
}

static double train(const golden *g)
{
    const samba_safetensors_tensor *t = samba_safetensors_find(g->values, "tokens"), *t_losses;
    const int32_t steps = (int32_t)t->dim[0], b = (int32_t)t->dim[1], n = (int32_t)t->dim[2];
    int32_t tokens[MOST_IDS];
    samba_tensor *params[100];
    samba_optim base = adamw(), optims[2];
    float *losses = take(g, "losses", &t_losses);
    take_ids(g, "tokens", tokens);
    model m = trace(&g->c, b, n - 1);
    m.target = samba_input(m.s, "target", SAMBA_I32, SAMBA_SHAPE(b, n - 1));
    m.loss = samba_cross_entropy(m.logits, m.target);
    CHECK(is_fine(llama_load_folder(m.s, &g->c, g->dir, why, sizeof why)));
    CHECK(is_fine(llama_optims(m.s, &g->c, &base, params, optims, why, sizeof why)));
    samba_program p = { .loss = m.loss, .optims = optims, .n_optims = 2, .max_grad_norm = 1.0f };
    samba_compile(m.s, &p);
    double worst = samba_ok(m.s) ? 0 : INFINITY;
    for (int32_t i = 0; i < steps && samba_ok(m.s); i++) {
        write_batch(&m, tokens, i);
        samba_run(m.s, 0);
        double far = fabs((double)samba_read(m.loss)[0] - (double)losses[i]);
        if (!(far <= worst)) worst = far;
    }
    close_clean(m.s);
    free(losses);
    return worst;
}

static void test_losses_like_pytorch(void)
{
    for (int i = 0; i < N_MODELS; i++) {
        golden g;
        if (!open_golden(&g, models[i])) continue;
        double far = train(&g);
        printf("%s: 20 losses %.1e from transformers in double\n", models[i], far);
        CHECK(far <= 1e-4);
        samba_safetensors_close(g.values);
    }
}

// ---- Generating ---------------------------------------------------------------------------------

static samba_session *open_generator(const golden *g, int32_t B, int32_t chunk, samba_generator *to)
{
    llama_config c = g->c;
    c.initializer_range = 0;
    samba_session *s = samba_open(NULL);
    CHECK(samba_generator_trace(to, s, B, chunk, LENGTH, llama_trace_step, &c));
    samba_program p = { .outputs = { to->prefill.logits, to->decode.logits }, .inference = true };
    CHECK(samba_compile(s, &p));
    CHECK(is_fine(llama_load_folder(s, &c, g->dir, why, sizeof why)));
    return s;
}

// The prompt, whole and all but its first three tokens, in two rows.
static void check_generated(const golden *g, int32_t chunk)
{
    int32_t prompt[MOST_IDS], greedy[MOST_IDS], text[3][LENGTH], size[3];
    int32_t n = take_ids(g, "prompt", prompt);
    CHECK(take_ids(g, "greedy", greedy) == NEW);
    const int32_t *from[3] = { prompt, prompt + 3, prompt };
    int32_t from_size[3] = { n, n - 3, n }, *to[3] = { text[0], text[1], text[2] };
    samba_generator generator;
    samba_session *s = open_generator(g, 3, chunk, &generator);
    samba_generate_desc d = { .prompt = from,
                              .prompt_size = from_size,
                              .n_prompts = 3,
                              .max_new_tokens = NEW,
                              .text = to,
                              .text_size = size };
    CHECK(samba_generate(&generator, &d));
    CHECK(size[0] == n + NEW && !memcmp(text[0] + n, greedy, sizeof *greedy * NEW));
    CHECK(size[2] == n + NEW && !memcmp(text[2] + n, greedy, sizeof *greedy * NEW));
    CHECK(memcmp(text[1] + n - 3, greedy, sizeof *greedy * NEW) != 0);
    close_clean(s);
}

// Without a cache: the whole text again for each token.
static void check_without_cache(const golden *g)
{
    int32_t text[MOST_IDS] = { 0 }, greedy[MOST_IDS];
    int32_t n = take_ids(g, "prompt", text);
    take_ids(g, "greedy", greedy);
    llama_config c = g->c;
    c.initializer_range = 0;
    model m = trace(&c, 1, n + NEW);
    compile_inference(&m);
    CHECK(is_fine(llama_load_folder(m.s, &c, g->dir, why, sizeof why)));
    memset(text + n, 0, sizeof *text * NEW);
    for (int32_t i = n; i < n + NEW; i++) {
        int32_t best = 0;
        samba_write(m.ids, text);
        samba_run(m.s, SAMBA_FWD);
        const float *last = samba_read(m.logits) + (i - 1) * c.vocab_size;
        for (int32_t k = 1; k < c.vocab_size; k++)
            if (last[k] > last[best]) best = k;
        text[i] = best;
    }
    CHECK(!memcmp(text + n, greedy, sizeof *greedy * NEW));
    close_clean(m.s);
}

static void test_texts_like_pytorch(void)
{
    static const int32_t chunks[] = { 64, 1, 4 };
    for (int i = 0; i < N_MODELS; i++) {
        golden g;
        if (!open_golden(&g, models[i])) continue;
        for (int k = 0; k < 3; k++)
            check_generated(&g, chunks[k]);
        check_without_cache(&g);
        samba_safetensors_close(g.values);
    }
}

static void remove_saved(void)
{
    static const char *const files[] = { "config.json", "model.safetensors", "adapter_config.json",
                                         "adapter_model.safetensors" };
    for (int i = 0; i < 4; i++)
        remove(in_folder(folder, files[i]));
}

// What is saved is the same model: every parameter, and every word of the configuration.
static void test_saving(void)
{
    for (int i = 0; i < N_MODELS; i++) {
        golden g, again;
        if (!open_golden(&g, models[i])) continue;
        model m = open_model(&g, true);
        CHECK(is_fine(llama_save(m.s, &g.c, folder, SAMBA_SAFETENSORS_F32, why, sizeof why)));
        close_clean(m.s);
        again = g;
        snprintf(again.dir, sizeof again.dir, "%s", folder);
        CHECK(is_fine(
            llama_config_read(in_folder(folder, "config.json"), &again.c, why, sizeof why)));
        again.c.rope.original_max_position_embeddings
            = g.c.rope.original_max_position_embeddings; // the same, if it was implied
        for (int32_t k = g.c.num_hidden_layers; k < LLAMA_MAX_LAYERS; k++)
            again.c.slides[k] = g.c.slides[k]; // there are no such layers
        CHECK(!memcmp(&again.c, &g.c, sizeof g.c));
        m = open_model(&again, false);
        CHECK(distance_to(&g, &m, "logits") <= 1e-5);
        close_clean(m.s);
        samba_safetensors_close(g.values);
        remove_saved();
    }
}

int main(void)
{
    mkdir("build", 0777);
    snprintf(folder, sizeof folder, "build/llama.%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/file", folder);
    if (mkdir(folder, 0777)) {
        printf("no %s\n0 passed, 1 failed\n", folder);
        return 1;
    }
    RUN(test_logits_like_pytorch);
    RUN(test_losses_like_pytorch);
    RUN(test_texts_like_pytorch);
    RUN(test_saving);
    rmdir(folder);
    return test_summary();
}
