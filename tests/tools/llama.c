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

// Texts of different lengths that are written at once are those that are written one by one.
static void check_batch(const golden *g)
{
    enum { ROWS = 4 };

    static const int32_t begins[ROWS] = { 0, 8, 2, 5 }, sizes[ROWS] = { 9, 1, 4, 3 };
    int32_t prompt[MOST_IDS], text[ROWS][LENGTH], size[ROWS], *to[ROWS], same = 0;
    const int32_t *from[ROWS];
    CHECK(take_ids(g, "prompt", prompt) == 9);
    for (int i = 0; i < ROWS; i++) {
        from[i] = prompt + begins[i];
        to[i] = text[i];
    }
    samba_generate_desc d = { .prompt = from,
                              .prompt_size = sizes,
                              .n_prompts = ROWS,
                              .max_new_tokens = NEW,
                              .stop = g->c.eos_token_id, // rows end at different times
                              .n_stop = g->c.n_eos,
                              .text = to,
                              .text_size = size };
    samba_generator all, one;
    samba_session *s = open_generator(g, ROWS, 4, &all), *single = open_generator(g, 1, 4, &one);
    CHECK(samba_generate(&all, &d));
    for (int i = 0; i < ROWS; i++) {
        int32_t alone[LENGTH], alone_size, *alone_to = alone;
        samba_generate_desc row = d;
        row.prompt = &from[i];
        row.prompt_size = &sizes[i];
        row.n_prompts = 1;
        row.text = &alone_to;
        row.text_size = &alone_size;
        CHECK(samba_generate(&one, &row));
        CHECK(alone_size == size[i] && !memcmp(alone, text[i], sizeof *alone * (size_t)size[i]));
        same += i > 0 && size[i] == size[0] && !memcmp(text[i], text[0], sizeof text[0]);
    }
    CHECK(same == 0);
    close_clean(s);
    close_clean(single);
}

static void test_batches(void)
{
    for (int i = 0; i < N_MODELS; i++) {
        golden g;
        if (!open_golden(&g, models[i])) continue;
        check_batch(&g);
        samba_safetensors_close(g.values);
    }
}

// ---- Caches of fewer bits -----------------------------------------------------------------------

static samba_session *open_cached(const golden *g, samba_generator_cache cache, samba_generator *to)
{
    llama_config c = g->c;
    c.initializer_range = 0;
    samba_session *s = samba_open(NULL);
    CHECK(samba_generator_trace_cache(to, s, 1, 8, LENGTH, cache, llama_trace_step, &c));
    samba_program p = { .outputs = { to->prefill.logits, to->decode.logits }, .inference = true };
    CHECK(samba_compile(s, &p));
    CHECK(is_fine(llama_load_folder(s, &c, g->dir, why, sizeof why)));
    return s;
}

// The logits after 40 given tokens.
static void logits_with_cache(const golden *g, samba_generator_cache cache, float *logits,
                              size_t *bytes)
{
    int32_t prompt[MOST_IDS], text[LENGTH], size, *to = text;
    int32_t n = take_ids(g, "prompt", prompt);
    n += take_ids(g, "greedy", prompt + n);
    const int32_t *from = prompt;
    samba_generator generator;
    samba_session *s = open_cached(g, cache, &generator);
    samba_generate_desc d = { .prompt = &from,
                              .prompt_size = &n,
                              .n_prompts = 1,
                              .max_new_tokens = 1,
                              .text = &to,
                              .text_size = &size };
    CHECK(samba_generate(&generator, &d));
    memcpy(logits, samba_read(generator.prefill.logits), (size_t)g->c.vocab_size * sizeof *logits);
    *bytes = 0;
    for (int32_t layer = 0; layer < g->c.num_hidden_layers; layer++) {
        static const char *const parts[] = { "k", "v", "k__scale", "v__scale" };
        for (int i = 0; i < (cache == SAMBA_CACHE_INT8 ? 4 : 2); i++) {
            char name[LLAMA_MAX_NAME + 20];
            samba_llama__layer_name(name, layer, parts[i]);
            *bytes += samba_bytes(samba_tensor_by_name(s, name));
        }
    }
    close_clean(s);
}

static void test_caches_of_fewer_bits(void)
{
    for (int i = 0; i < N_MODELS; i++) {
        golden g;
        if (!open_golden(&g, models[i])) continue;
        float logits[3][200];
        size_t bytes[3];
        double largest = 0;
        for (int cache = SAMBA_CACHE_F32; cache <= SAMBA_CACHE_INT8; cache++)
            logits_with_cache(&g, (samba_generator_cache)cache, logits[cache], &bytes[cache]);
        for (int32_t k = 0; k < g.c.vocab_size; k++)
            largest = fmax(largest, fabs((double)logits[0][k]));
        double bf16 = distance(logits[1], logits[0], g.c.vocab_size) / largest;
        double int8 = distance(logits[2], logits[0], g.c.vocab_size) / largest;
        printf("%s: logits with a cache in bf16 %.1e, in int8 %.1e from those in f32; %d, %d, %d "
               "bytes\n",
               models[i], bf16, int8, (int)bytes[0], (int)bytes[1], (int)bytes[2]);
        CHECK(bf16 > 0 && bf16 < 0.01 && int8 > 0 && int8 < 0.02);
        const size_t D = (size_t)g.c.head_dim;
        CHECK(bytes[1] == bytes[0] / 2 && bytes[2] == bytes[0] / (4 * D) * (D + 4));
        samba_safetensors_close(g.values);
    }
}

// Writes two rows of 4 numbers into a cache of int8 of 3 rows, which y gets.
static void keep_in_int8(const float x[8], const int32_t rows[2], float y[12])
{
    samba_session *s = samba_open(NULL);
    samba_generator_graph graph;
    memset(&graph, 0, sizeof graph);
    graph.cache = SAMBA_CACHE_INT8;
    graph.row = samba_input(s, "row", SAMBA_I32, SAMBA_SHAPE(1, 2));
    graph.key = samba_input(s, "key", SAMBA_I32, SAMBA_SHAPE(3));
    samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 1, 2, 4));
    samba_tensor *out = samba_generator_keep(&graph, "cache", in);
    samba_program p = { .outputs = { out }, .inference = true };
    CHECK(samba_compile(s, &p) && samba_write(in, x) && samba_write(graph.row, rows));
    CHECK(samba_run(s, 0) && samba_copy_out(out, y, 12 * sizeof *y));
    close_clean(s);
}

// Rows as the comment of samba_generator_cache says, at places that are written twice.
static void test_a_cache_of_int8(void)
{
    static const float x[8] = { 1, -2, 0.3f, 4, -0.07f, 0.01f, 0.02f, -0.03f };
    static const int32_t rows[2] = { 2, 0 };
    float y[12] = { 0 };
    keep_in_int8(x, rows, y);
    for (int t = 0; t < 2; t++) {
        const float scale = (t ? 0.07f : 4.0f) * (1.0f / 127.0f);
        for (int d = 0; d < 4; d++)
            CHECK(y[4 * rows[t] + d] == nearbyintf(x[4 * t + d] / scale) * scale);
    }
    CHECK(y[4] == 0 && y[7] == 0);
}

// A key that is not finite stays so: no integer hides it.
static void test_a_cache_of_nan(void)
{
    static const int32_t rows[2] = { 0, 2 };
    for (int bad = 0; bad < 2; bad++) {
        const float x[8] = { 1, -2, bad ? INFINITY : NAN, 4, 0, 0, 0, 0 };
        float y[12] = { 0 };
        keep_in_int8(x, rows, y);
        CHECK(!isfinite(y[2]) && !isfinite(y[0]) && y[8] == 0 && y[11] == 0 && y[4] == 0);
    }
}

// What was said is not said again, if that costs enough: all of a text are different tokens.
static void test_repetition_penalty(void)
{
    golden g;
    if (!open_golden(&g, "llama_qwen2")) return;
    for (int penalized = 0; penalized < 2; penalized++) {
        int32_t prompt[MOST_IDS], text[LENGTH], size, *to = text, different = 0;
        bool seen[48] = { false };
        const int32_t n = take_ids(&g, "prompt", prompt), *from = prompt;
        samba_generator generator;
        samba_session *s = open_generator(&g, 1, 8, &generator);
        samba_generate_desc d = { .prompt = &from,
                                  .prompt_size = &n,
                                  .n_prompts = 1,
                                  .max_new_tokens = 20,
                                  .text = &to,
                                  .text_size = &size };
        d.sampling.repetition_penalty = penalized ? 1e6f : 0;
        CHECK(samba_generate(&generator, &d) && size == n + 20);
        for (int32_t i = n; i < size; i++) {
            different += !seen[text[i]];
            seen[text[i]] = true;
        }
        CHECK(penalized ? different >= 19 : different < 19);
        d.sampling.repetition_penalty = -1;
        samba_set_quiet(s, true);
        CHECK(!samba_generate(&generator, &d) && strstr(samba_error(s), "repetition_penalty -1"));
        samba_clear_error(s);
        d.sampling = (samba_sampling){ .temperature = 1, .min_p = 2 };
        CHECK(!samba_generate(&generator, &d) && strstr(samba_error(s), "min_p 2 is 0 ... 1"));
        samba_clear_error(s);
        close_clean(s);
    }
    samba_safetensors_close(g.values);
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

// Weights packed while they are read are those packed from parameters: the same bits of logits. The
// saved program has them packed, and needs no folder.
static void test_weights_packed_from_a_folder(void)
{
    golden g;
    if (!open_golden(&g, "llama_shards")) return;
    const samba_safetensors_tensor *t = samba_safetensors_find(g.values, "ids");
    const int32_t n = (int32_t)t->count;
    for (int as = SAMBA_WEIGHTS_F32; as <= SAMBA_WEIGHTS_INT4; as++) {
        int32_t ids[MOST_IDS];
        float logits[3][2000];
        take_ids(&g, "ids", ids);
        for (int way = 0; way < 3; way++) {
            model m = trace(&g.c, 1, n);
            samba_program p
                = { .outputs = { m.logits }, .inference = true, .weights = (samba_weights)as };
            if (way == 0) {
                CHECK(is_fine(llama_load_folder(m.s, &g.c, g.dir, why, sizeof why)));
                samba_compile(m.s, &p);
            } else if (way == 1) {
                CHECK(is_fine(llama_compile_folder(m.s, &g.c, g.dir, &p, why, sizeof why)));
                CHECK(samba_save(m.s, path));
            } else {
                samba_load(m.s, path, &p);
            }
            samba_write(m.ids, ids);
            samba_run(m.s, SAMBA_FWD);
            CHECK(samba_bytes(m.logits) <= sizeof logits[way]);
            samba_copy_out(m.logits, logits[way], samba_bytes(m.logits));
            if (way) CHECK(!memcmp(logits[way], logits[0], samba_bytes(m.logits)));
            close_clean(m.s);
        }
    }
    remove(path);
    samba_safetensors_close(g.values);
}

// An error of weight_rows ends the compilation, and is told.
static bool no_rows(const samba_tensor *w, int32_t first, int32_t n, float *rows, void *user)
{
    (void)first;
    (void)n;
    (void)rows;
    return *(const bool *)user ? samba_fail(w->session, SAMBA_EIO, "the disk is gone") : false;
}

static void test_errors_of_packing(void)
{
    golden g;
    if (!open_golden(&g, "llama_shards")) return;
    for (int k = 0; k < 2; k++) {
        bool tells = k == 1;
        model m = trace(&g.c, 1, 4);
        samba_set_quiet(m.s, true);
        samba_program p = { .outputs = { m.logits },
                            .inference = true,
                            .weights = SAMBA_WEIGHTS_INT8,
                            .weight_rows = no_rows,
                            .weight_rows_user = &tells };
        CHECK(!samba_compile(m.s, &p));
        CHECK(strstr(samba_error(m.s), tells ? "the disk is gone" : "gave no rows 0 ... 47 of"));
        samba_clear_error(m.s);
        CHECK(!llama_compile_folder(m.s, &g.c, "build/nowhere", &p, why, sizeof why));
        CHECK(strstr(why, "build/nowhere: cannot be read"));
        samba_close(m.s);
    }
    samba_safetensors_close(g.values);
}

static void remove_saved(void)
{
    static const char *const files[] = { "config.json", "model.safetensors", "adapter_config.json",
                                         "adapter_model.safetensors" };
    for (int i = 0; i < 4; i++)
        remove(in_folder(folder, files[i]));
}

// transformers 5 refuses a config.json in which 10000.0 is 10000.
static void check_reals(const char *file)
{
    static const char *const keys[] = { "rope_theta", "rms_norm_eps", "attention_dropout" };
    char text[4000] = "";
    FILE *f = fopen(file, "r");
    CHECK(f && fread(text, 1, sizeof text - 1, f) > 100);
    if (f) fclose(f);
    for (int i = 0; i < 3; i++) {
        const char *at = strstr(text, keys[i]);
        at = at ? strchr(at, ':') : NULL;
        CHECK(at && strcspn(at, ".") < strcspn(at, ",\n"));
    }
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
        check_reals(in_folder(folder, "config.json"));
        m = open_model(&again, false);
        CHECK(distance_to(&g, &m, "logits") <= 1e-5);
        close_clean(m.s);
        samba_safetensors_close(g.values);
        remove_saved();
    }
}

// ---- Adapters -----------------------------------------------------------------------------------

static model open_adapted(const golden *g, const samba_lora *lora)
{
    const samba_safetensors_tensor *t = samba_safetensors_find(g->values, "ids");
    model m;
    memset(&m, 0, sizeof m);
    m.s = samba_open(NULL);
    CHECK(samba_add_lora(m.s, lora));
    m.ids = samba_input(m.s, "ids", SAMBA_I32, SAMBA_SHAPE((int32_t)t->dim[0], (int32_t)t->dim[1]));
    m.logits = llama_logits(&g->c, m.ids, NULL);
    compile_inference(&m);
    CHECK(is_fine(llama_load_folder(m.s, &g->c, g->dir, why, sizeof why)));
    return m;
}

// PEFT's adapter beside the model, merged, and saved and read again.
static void test_an_adapter_like_peft(void)
{
    golden g;
    llama_lora lora, again;
    if (!open_golden(&g, "llama_gqa")) return;
    char adapter[300];
    snprintf(adapter, sizeof adapter, "%s/adapter", g.dir);
    CHECK(is_fine(llama_read_adapter(adapter, &lora, why, sizeof why)));
    CHECK(lora.lora.rank == 3 && fabs((double)lora.lora.alpha - 5) <= 0);
    model m = open_adapted(&g, &lora.lora);
    CHECK(distance_to(&g, &m, "adapted") > 0.1);
    CHECK(is_fine(llama_load_adapter(m.s, adapter, why, sizeof why)));
    double far = distance_to(&g, &m, "adapted");
    CHECK(far <= 1e-5);
    CHECK(is_fine(
        llama_save_adapter(m.s, &lora.lora, folder, SAMBA_SAFETENSORS_F32, why, sizeof why)));
    CHECK(samba_merge_lora(m.s, &lora.lora));
    double merged = distance_to(&g, &m, "adapted");
    printf("llama_gqa: with its adapter %.1e, merged %.1e from PEFT in double\n", far, merged);
    CHECK(merged <= 1e-5);
    CHECK(is_fine(llama_save(m.s, &g.c, folder, SAMBA_SAFETENSORS_F32, why, sizeof why)));
    close_clean(m.s);

    CHECK(is_fine(llama_read_adapter(folder, &again, why, sizeof why)));
    CHECK(again.lora.rank == 3 && fabs((double)again.lora.alpha - 5) < 1e-6);
    for (int i = 0; i < SAMBA_MAX_LORA_TARGETS; i++)
        CHECK(!strcmp(again.names[i], lora.names[i]));
    m = open_adapted(&g, &again.lora);
    CHECK(is_fine(llama_load_adapter(m.s, folder, why, sizeof why)));
    CHECK(distance_to(&g, &m, "adapted") <= 1e-5);
    close_clean(m.s);

    golden whole = g; // the merged model stands alone
    snprintf(whole.dir, sizeof whole.dir, "%s", folder);
    m = open_model(&whole, true);
    CHECK(distance_to(&g, &m, "adapted") <= 1e-5);
    close_clean(m.s);
    samba_safetensors_close(g.values);
    remove_saved();
}

// An adapter beside packed weights: what it adds is that of PEFT, up to what packing makes of all.
static void test_an_adapter_on_packed_weights(void)
{
    static const double most[] = { 1e-5, 1e-5, 0.02, 0.03, 0.3 };
    golden g;
    llama_lora adapter;
    if (!open_golden(&g, "llama_gqa")) return;
    const char *from = in_folder(g.dir, "adapter");
    const samba_safetensors_tensor *t;
    float *adapted = take(&g, "adapted", &t), *plain = take(&g, "logits", &t);
    const double moved = distance(adapted, plain, (int64_t)t->count);
    CHECK(is_fine(llama_read_adapter(from, &adapter, why, sizeof why)));
    for (int as = SAMBA_WEIGHTS_PLAIN; as <= SAMBA_WEIGHTS_INT4; as++) {
        int32_t ids[MOST_IDS];
        llama_config c = g.c;
        c.initializer_range = 0;
        samba_session *s = samba_open(NULL);
        CHECK(samba_add_lora(s, &adapter.lora));
        const samba_safetensors_tensor *shape = samba_safetensors_find(g.values, "ids");
        samba_tensor *in = samba_input(s, "ids", SAMBA_I32,
                                       SAMBA_SHAPE((int32_t)shape->dim[0], (int32_t)shape->dim[1]));
        samba_tensor *logits = llama_logits(&c, in, NULL);
        samba_program p
            = { .outputs = { logits }, .inference = true, .weights = (samba_weights)as };
        CHECK(is_fine(llama_compile_folder(s, &c, g.dir, &p, why, sizeof why)));
        CHECK(is_fine(llama_load_adapter(s, from, why, sizeof why)));
        take_ids(&g, "ids", ids);
        CHECK(samba_write(in, ids) && samba_run(s, 0));
        double far = distance(samba_read(logits), adapted, (int64_t)t->count);
        printf("an adapter on weights of kind %d: %.1e from PEFT; it moves logits by %.1e\n", as,
               far, moved);
        CHECK(far < most[as] && far < moved / 2);
        close_clean(s);
    }
    free(adapted);
    free(plain);
    samba_safetensors_close(g.values);
}

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(folder, name), "w");
    CHECK(f != NULL);
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

// Adapters that are not plain LoRA.
static void test_adapters_that_are_refused(void)
{
    static const char *const wrong[][2] = {
        { "", "target_modules is missing" },
        { "\"target_modules\": \"all-linear\"", "target_modules must be a list" },
        { "\"target_modules\": [\"q_proj\"], \"use_dora\": true", "use_dora asks" },
        { "\"target_modules\": [\"q_proj\"], \"use_rslora\": true", "use_rslora asks" },
        { "\"target_modules\": [\"q_proj\"], \"bias\": \"all\"", "bias asks" },
        { "\"target_modules\": [\"q_proj\"], \"rank_pattern\": {\"v_proj\": 2}", "rank_pattern" },
        { "\"target_modules\": [\"q_proj\"], \"modules_to_save\": [\"lm_head\"]",
          "modules_to_save" },
        { "\"target_modules\": [\"q_proj\"], \"init_lora_weights\": \"pissa\"",
          "init_lora_weights must be" },
        { "\"target_modules\": [\"q_proj\"], \"tomorrow\": 1", "tomorrow asks" },
        { "\"target_modules\": [\"q_proj\"], \"r\": 0", "r is 0" },
        { "\"target_modules\": [3]", "target_modules must be names" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[400];
        llama_lora lora;
        snprintf(text, sizeof text, "{\"peft_type\": \"LORA\"%s%s}", *wrong[i][0] ? ", " : "",
                 wrong[i][0]);
        write_text("adapter_config.json", text);
        CHECK(!llama_read_adapter(folder, &lora, why, sizeof why) && strstr(why, wrong[i][1]));
        if (!strstr(why, wrong[i][1])) printf("%s: %s\n", text, why);
    }
    llama_lora lora;
    write_text("adapter_config.json", "{\"peft_type\": \"IA3\", \"target_modules\": [\"q\"]}");
    CHECK(!llama_read_adapter(folder, &lora, why, sizeof why) && strstr(why, "IA3"));
    remove_saved();
}

// ---- Configurations -----------------------------------------------------------------------------

static const char sizes[]
    = "\"hidden_size\": 16, \"intermediate_size\": 24, \"num_hidden_layers\": 2,"
      "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"vocab_size\": 48,"
      "\"max_position_embeddings\": 64";

static bool parse(const char *type, const char *more, llama_config *c)
{
    char text[1200];
    snprintf(text, sizeof text, "{\"model_type\": \"%s\", %s%s%s}", type, sizes, *more ? ", " : "",
             more);
    return llama_config_parse(text, strlen(text), c, why, sizeof why);
}

static void test_configs_that_are_refused(void)
{
    static const char *const wrong[][3] = {
        { "gpt2", "", "model_type is \"gpt2\"; known are llama mistral qwen2 qwen3" },
        { "llama", "\"wings\": 2", "\"wings\" is not known" },
        { "llama", "\"sliding_window\": 4096", "sliding_window asks for what llama" },
        { "mistral", "\"attention_bias\": true", "attention_bias asks for what mistral" },
        { "qwen2", "\"mlp_bias\": true", "mlp_bias asks for what qwen2" },
        { "llama", "\"quantization_config\": {\"bits\": 4}", "quantization_config asks" },
        { "llama", "\"partial_rotary_factor\": 0.5", "it must be 1, or absent" },
        { "llama", "\"rope_interleaved\": true", "rope_interleaved asks" },
        { "llama", "\"hidden_act\": \"elu\"", "hidden_act \"elu\" is unknown" },
        { "llama", "\"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2}",
          "rope_type \"dynamic\" is not here" },
        { "llama", "\"rope_scaling\": {\"rope_type\": \"linear\"}", "factor is missing" },
        { "llama", "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8}",
          "low_freq_factor is 0" },
        { "llama", "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2, \"mscale\": 1}",
          "the key \"mscale\" of the rope scaling" },
        { "llama", "\"rope_scaling\": 8", "rope_scaling must be an object" },
        { "llama", "\"rope_parameters\": {\"rope_theta\": -1}", "rope_theta is -1" },
        { "llama", "\"rms_norm_eps\": \"small\"", "rms_norm_eps must be a number" },
        { "llama", "\"eos_token_id\": [1, \"x\"]", "eos_token_id must be an id" },
        { "llama", "\"eos_token_id\": [1, 2, 3, 4, 5, 6, 7, 8, 9]", "eos_token_id has 9 ids" },
        { "qwen2", "\"layer_types\": [\"full_attention\"]", "layer_types must be a list" },
        { "qwen2", "\"layer_types\": [\"full_attention\", \"chunked_attention\"]",
          "\"chunked_attention\" is not known" },
        { "qwen2", "\"layer_types\": [\"full_attention\", \"sliding_attention\"]",
          "there is no sliding_window" },
        { "qwen3", "", "head_dim is missing" },
        { "qwen3", "\"head_dim\": 5", "head_dim is 5; rotary positions need an even one" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        llama_config c;
        CHECK(!parse(wrong[i][0], wrong[i][1], &c) && strstr(why, wrong[i][2]));
        if (!strstr(why, wrong[i][2])) printf("%s %s: %s\n", wrong[i][0], wrong[i][1], why);
    }
    static const char *const required[]
        = { "hidden_size",         "intermediate_size", "num_hidden_layers",
            "num_attention_heads", "vocab_size",        "max_position_embeddings" };
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        llama_config c;
        char text[600], want[100];
        snprintf(text, sizeof text, "{\"model_type\": \"llama\", %s}", sizes);
        char *at = strstr(text, required[i]);
        CHECK(at != NULL);
        if (at) *at = '_'; // a key that is ignored
        snprintf(want, sizeof want, "%s is missing", required[i]);
        CHECK(!llama_config_parse(text, strlen(text), &c, why, sizeof why) && strstr(why, want));
    }
}

// What hubs really hold: keys of both releases of transformers, nulls, lists.
static void test_configs_that_are_taken(void)
{
    llama_config c;
    CHECK(is_fine(parse("llama",
                        "\"eos_token_id\": [128001, 128009], \"rope_theta\": 500000.0,"
                        "\"rope_scaling\": null, \"pretraining_tp\": 1, \"torch_dtype\": "
                        "\"bfloat16\", \"_name_or_path\": \"x\", \"transformers.js_config\": {},"
                        "\"quantization_config\": null, \"rope_interleaved\": false",
                        &c)));
    CHECK(c.n_eos == 2 && c.eos_token_id[1] == 128009 && c.rope.rope_theta > 499999);
    CHECK(c.head_dim == 4 && !c.sliding_window && c.rope.rope_type == LLAMA_ROPE_DEFAULT);
    CHECK(is_fine(parse("llama",
                        "\"unk_token_id\": 0, \"sep_token_id\": null, \"cls_token_id\": 1,"
                        "\"mask_token_id\": 4, \"tokenizer_class\": \"GPT2Tokenizer\"",
                        &c)));
    CHECK(is_fine(parse("mistral", "", &c)) && c.sliding_window == 4096 && c.slides[0]);
    CHECK(is_fine(parse("mistral", "\"sliding_window\": null", &c)) && !c.sliding_window);
    CHECK(is_fine(parse("qwen2", "\"sliding_window\": 7", &c)) && !c.sliding_window);
    CHECK(is_fine(parse(
        "qwen2", "\"sliding_window\": 7, \"use_sliding_window\": true, \"max_window_layers\": 1",
        &c)));
    CHECK(c.sliding_window == 7 && !c.slides[0] && c.slides[1]);
    CHECK(is_fine(parse("llama", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4.0}", &c)));
    CHECK(c.rope.rope_type == LLAMA_ROPE_LINEAR && c.rope.factor > 3.9);
}

static void test_names(void)
{
    for (int i = 0; i < N_MODELS; i++) {
        golden g;
        llama_param p;
        if (!open_golden(&g, models[i])) continue;
        const int32_t n = llama_n_params(&g.c);
        for (int32_t k = 0; k < n; k++)
            CHECK(llama_param_at(&g.c, k, &p) && llama_param_find(&g.c, p.name) == k);
        CHECK(!llama_param_at(&g.c, n, &p) && !llama_param_at(&g.c, -1, &p));
        CHECK(llama_param_find(&g.c, "model.layers.9.mlp.up_proj.weight") < 0);
        CHECK(llama_param_find(&g.c, "model.layers.01.mlp.up_proj.weight") < 0);
        CHECK(llama_param_find(&g.c, "model.layers.-1.mlp.up_proj.weight") < 0);
        samba_safetensors_close(g.values);
    }
}

// ---- Wrong files --------------------------------------------------------------------------------

// Loads a golden's weights into another configuration, which is traced.
static bool loads_into(const llama_config *c, const char *dir)
{
    model m = trace(c, 1, 4);
    bool fine = llama_load_folder(m.s, c, dir, why, sizeof why);
    samba_close(m.s);
    return fine;
}

static void test_wrong_weights(void)
{
    golden g;
    if (!open_golden(&g, "llama_mha")) return;
    llama_config c = g.c;
    c.tie_word_embeddings = true;
    CHECK(!loads_into(&c, g.dir) && strstr(why, "lm_head.weight differs from embed_tokens"));
    c = g.c;
    c.num_hidden_layers = 1;
    CHECK(!loads_into(&c, g.dir) && strstr(why, "is not in this configuration"));
    c.num_hidden_layers = 3;
    CHECK(!loads_into(&c, g.dir) && strstr(why, "\"model.layers.2.") && strstr(why, "missing"));
    c = g.c;
    c.num_key_value_heads = 2;
    CHECK(!loads_into(&c, g.dir) && strstr(why, "is (16,16), but this configuration wants (8,16)"));
    c = g.c;
    c.attention_bias = true;
    CHECK(!loads_into(&c, g.dir) && strstr(why, "q_proj.bias\" is missing"));
    CHECK(!loads_into(&g.c, "build/nowhere") && strstr(why, "cannot be read"));
    samba_session *s = samba_open(NULL);
    CHECK(!llama_load_folder(s, &g.c, g.dir, why, sizeof why) && strstr(why, "Trace llama_logits"));
    CHECK(samba_ok(s));
    samba_close(s);
    samba_safetensors_close(g.values);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[1 << 15];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    CHECK(in && out);
    size_t n = in ? fread(bytes, 1, sizeof bytes, in) : 0;
    CHECK(n > 0 && n < sizeof bytes && out && fwrite(bytes, 1, n, out) == n);
    if (in) fclose(in);
    if (out) fclose(out);
}

// Shards without one of them, and with an index that says something else.
static void test_wrong_shards(void)
{
    static const char *const files[]
        = { "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
            "model.safetensors.index.json" };
    golden g;
    if (!open_golden(&g, "llama_shards")) return;
    for (int i = 0; i < 3; i++)
        copy_file(in_folder(g.dir, files[i]), in_folder(folder, files[i]));
    CHECK(!loads_into(&g.c, folder) && strstr(why, "of file model-00003-of-00003"));
    remove(in_folder(folder, files[2]));
    CHECK(!loads_into(&g.c, folder) && strstr(why, "is missing")); // by the model itself
    for (int i = 0; i < 3; i++)
        remove(in_folder(folder, files[i]));
    samba_safetensors_close(g.values);
}

// ---- Errors of tracing --------------------------------------------------------------------------

static void test_errors_of_tracing(void)
{
    llama_config c = llama_config_default();
    CHECK(llama_config_check(&c, why, sizeof why));
    c.num_hidden_layers = 1;
    c.vocab_size = 10;
    c.initializer_range = 0;
    c.max_position_embeddings = 8;
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    CHECK(!llama_logits(&c, samba_input(s, "long", SAMBA_I32, SAMBA_SHAPE(1, 9)), NULL));
    CHECK(strstr(samba_error(s), "longer than the 8 positions"));
    samba_clear_error(s);
    CHECK(!llama_logits(&c, samba_input(s, "flat", SAMBA_I32, SAMBA_SHAPE(9)), NULL));
    CHECK(strstr(samba_error(s), "must have 2 dimensions"));
    samba_clear_error(s);
    samba_generator g;
    CHECK(!samba_generator_trace(&g, s, 1, 4, 9, llama_trace_step, &c));
    CHECK(strstr(samba_error(s), "a length of 9 is more than the 8 positions"));
    samba_clear_error(s);
    c.head_dim = 3;
    CHECK(!llama_logits(&c, samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(1, 8)), NULL));
    CHECK(strstr(samba_error(s), "head_dim is 3"));
    samba_clear_error(s);
    samba_close(s);
    CHECK(!llama_logits(NULL, NULL, NULL));
}

// Positions that are an input, and begin later: what is attended to is turned by as much, so the
// logits stay, up to rounding. Those of the first half twice are another text.
static void test_positions(void)
{
    golden g;
    int32_t ids[MOST_IDS], at[MOST_IDS];
    if (!open_golden(&g, "llama_qwen2")) return;
    const int32_t n = take_ids(&g, "ids", ids);
    const samba_safetensors_tensor *t;
    float *want = take(&g, "logits", &t);
    for (int rows = 1; rows <= 2; rows++) { // (T), then (B,T)
        model m;
        m.s = samba_open(NULL);
        m.ids = samba_input(m.s, "ids", SAMBA_I32, SAMBA_SHAPE(2, n / 2));
        samba_tensor *positions = samba_input(
            m.s, "positions", SAMBA_I32, rows == 1 ? SAMBA_SHAPE(n / 2) : SAMBA_SHAPE(2, n / 2));
        m.logits = llama_logits(&g.c, m.ids, positions);
        compile_inference(&m);
        CHECK(is_fine(llama_load_folder(m.s, &g.c, g.dir, why, sizeof why)));
        samba_write(m.ids, ids);
        for (int32_t shift = 0; shift < 3; shift++) {
            for (int32_t i = 0; i < n; i++)
                at[i] = shift < 2 ? i % (n / 2) + 17 * shift : i % (n / 2) / 2;
            samba_write(positions, at);
            samba_run(m.s, SAMBA_FWD);
            double far = distance(samba_read(m.logits), want, (int64_t)t->count);
            CHECK(shift < 2 ? far <= 1e-5 : far > 1e-3);
        }
        close_clean(m.s);
    }
    free(want);
    samba_safetensors_close(g.values);
}

static bool load_and_save(samba_session *s, const golden *g)
{
    llama_config c;
    return llama_load_folder(s, &g->c, g->dir, why, sizeof why)
        && llama_save(s, &g->c, folder, SAMBA_SAFETENSORS_BF16, why, sizeof why)
        && llama_config_read(in_folder(folder, "config.json"), &c, why, sizeof why);
}

static void test_every_failing_allocation(void)
{
    golden g;
    if (!open_golden(&g, "llama_shards")) return;
    model m = trace(&g.c, 1, 4);
    cJSON_Hooks hooks = { counting_malloc, counting_free };
    cJSON_InitHooks(&hooks);
    long before = n_live, n = 0;
    bool done = false;
    for (; n < 5000 && !done; n++) {
        n_calls = 0;
        fail_at = n;
        why[0] = 0;
        done = load_and_save(m.s, &g);
        fail_at = -1;
        CHECK(done || strstr(why, "no memory"));
        if (!done && !strstr(why, "no memory")) printf("%ld: %s\n", n, why);
        CHECK(n_live == before && samba_ok(m.s));
    }
    cJSON_InitHooks(NULL);
    CHECK(done && n > 100);
    close_clean(m.s);
    samba_safetensors_close(g.values);
    remove_saved();
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
    RUN(test_batches);
    RUN(test_caches_of_fewer_bits);
    RUN(test_a_cache_of_int8);
    RUN(test_a_cache_of_nan);
    RUN(test_repetition_penalty);
    RUN(test_weights_packed_from_a_folder);
    RUN(test_errors_of_packing);
    RUN(test_saving);
    RUN(test_an_adapter_like_peft);
    RUN(test_an_adapter_on_packed_weights);
    RUN(test_adapters_that_are_refused);
    RUN(test_configs_that_are_refused);
    RUN(test_configs_that_are_taken);
    RUN(test_names);
    RUN(test_wrong_weights);
    RUN(test_wrong_shards);
    RUN(test_errors_of_tracing);
    RUN(test_positions);
    RUN(test_every_failing_allocation);
    rmdir(folder);
    return test_summary();
}
