// samba/text_model.h and samba/token_stream.h: the texts of transformers (the goldens of
// golden/make_llama.py), chats that reuse the cache beside fresh ones, programs that are saved, and
// what is refused.
// run: -lcjson -lutf8proc needs:cjson/cJSON.h needs:utf8proc.h
#define SAMBA_IMPLEMENTATION
#define SAMBA_TEXT_MODEL_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/text_model.h"
#include "tests/lib/test.h"
#include "tests/lib/text_folder.h"

enum { MOST = 64, NEW = 40 };

static const char *const models[] = { "llama_mha",   "llama_gqa",   "llama_shards", "llama_mistral",
                                      "llama_qwen2", "llama_qwen3", "llama_smollm" };

enum { N_MODELS = sizeof models / sizeof *models };

static char root[200];

// The golden as a folder with a tokenizer, until the next call but three.
static const char *folder_of(const char *golden)
{
    static char path[4][300];
    static int turn;
    char from[300];
    turn = (turn + 1) % 4;
    snprintf(from, sizeof from, "tests/golden/%s", golden);
    snprintf(path[turn], sizeof path[turn], "%s/%s", root, golden);
    CHECK(make_text_folder(from, path[turn]));
    return path[turn];
}

// What is written, as it comes.
typedef struct sink {
    char text[4000];
    size_t size, pieces, most; // most: pieces to take
} sink;

static bool put(void *user, const char *text, size_t size)
{
    sink *to = (sink *)user;
    CHECK(to->size + size < sizeof to->text);
    if (to->size + size >= sizeof to->text) return false;
    memcpy(to->text + to->size, text, size);
    to->size += size;
    to->text[to->size] = 0;
    to->pieces++;
    return !to->most || to->pieces < to->most;
}

static bool is_fine(const samba_text_model *m, bool fine)
{
    if (!fine) printf("%s\n", m->why);
    return fine;
}

static bool open_model(samba_text_model *m, const samba_text_opts *opts)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    return samba_text_open(m, s, opts);
}

static bool begin(samba_text_model *m, const char *folder, int32_t length)
{
    samba_text_opts opts = { .folder = folder, .chunk = 5 };
    bool fine = open_model(m, &opts) && samba_text_begin(m, length);
    CHECK(is_fine(m, fine));
    return fine;
}

static void end(samba_text_model *m)
{
    samba_session *s = m->session;
    samba_text_close(m);
    samba_close(s);
}

// Whole numbers of a golden, which are in f32 there.
static int32_t take_ids(const char *golden, const char *name, int32_t *ids)
{
    char path[300], why[300];
    float values[MOST];
    const char *file = path;
    snprintf(path, sizeof path, "tests/golden/%s/golden.safetensors", golden);
    samba_safetensors *f = samba_safetensors_open(&file, 1, why, sizeof why);
    const samba_safetensors_tensor *t = f ? samba_safetensors_find(f, name) : NULL;
    int32_t n = t && t->count <= MOST ? (int32_t)t->count : 0;
    CHECK(n > 0 && samba_safetensors_read_f32(f, t, 0, t->count, values, why, sizeof why));
    for (int32_t i = 0; i < n; i++)
        ids[i] = (int32_t)values[i];
    samba_safetensors_close(f);
    return n;
}

static void text_of(const int32_t *ids, int32_t n, char *text)
{
    *text = 0;
    for (int32_t i = 0; i < n; i++)
        strcat(text, text_of_id(ids[i]));
}

// ---- Texts --------------------------------------------------------------------------------------

static void test_texts_like_transformers(void)
{
    for (int i = 0; i < N_MODELS; i++) {
        int32_t prompt[MOST], greedy[MOST], ids[MOST];
        char text[1000], want[1000];
        sink out = { .size = 0 };
        samba_text_how how = { .max_new_tokens = NEW, .put = put, .user = &out };
        samba_text_model m;
        const int32_t n = take_ids(models[i], "prompt", prompt);
        CHECK(take_ids(models[i], "greedy", greedy) == NEW);
        text_of(prompt, n, text);
        text_of(greedy, NEW, want);
        if (!begin(&m, folder_of(models[i]), MOST)) continue;
        CHECK(m.n_stop == 1 && m.stop[0] == 2);
        m.n_stop = 0; // as the golden was made
        CHECK(samba_text_encode(&m, text, strlen(text), ids, MOST) == n);
        CHECK(memcmp(ids, prompt, sizeof *ids * (size_t)n) == 0);
        CHECK(is_fine(&m, samba_text_write(&m, ids, n, &how)));
        CHECK(m.n_ids == n + NEW && !memcmp(m.ids + n, greedy, sizeof *greedy * NEW));
        CHECK(strcmp(out.text, want) == 0 && out.pieces == NEW);
        end(&m);
    }
}

// A stop token ends a text, and is not written.
static void test_stops(void)
{
    int32_t prompt[MOST], greedy[MOST];
    samba_text_model m;
    const int32_t n = take_ids("llama_mha", "prompt", prompt);
    take_ids("llama_mha", "greedy", greedy);
    if (!begin(&m, folder_of("llama_mha"), MOST)) return;
    int32_t at = 5;
    m.n_stop = 1;
    m.stop[0] = greedy[at];
    while (at > 0 && greedy[at - 1] == greedy[at])
        at--;
    for (int32_t k = 0; k < at; k++)
        if (greedy[k] == greedy[at]) at = k;
    sink out = { .size = 0 }, few = { .most = 2 };
    samba_text_how how = { .max_new_tokens = NEW, .put = put, .user = &out };
    CHECK(samba_text_write(&m, prompt, n, &how));
    CHECK(m.n_ids == n + at + 1 && out.pieces == (size_t)at);
    how.user = &few; // who is written to has had enough
    m.n_stop = 0;
    CHECK(samba_text_write(&m, prompt, n, &how) && m.n_ids == n + 2);
    end(&m);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(write_whole(path, text, strlen(text)));
}

static void remove_file(const char *folder, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    remove(path);
}

// generation_config.json goes before config.json.
static void test_stops_of_generation_config(void)
{
    static const char *const configs[] = { "{\"eos_token_id\": 7}", "{\"eos_token_id\": [7, 9, 7]}",
                                           "{\"eos_token_id\": null}", "{}" };
    static const int32_t n_stop[] = { 1, 2, 1, 1 }, first[] = { 7, 7, 2, 2 };
    const char *folder = folder_of("llama_mha");
    samba_text_opts opts = { .folder = folder };
    for (int i = 0; i < 4; i++) {
        samba_text_model m;
        write_file(folder, "generation_config.json", configs[i]);
        CHECK(is_fine(&m, open_model(&m, &opts)));
        CHECK(m.n_stop == n_stop[i] && m.stop[0] == first[i]);
        end(&m);
    }
    samba_text_model m;
    write_file(folder, "generation_config.json", "{");
    CHECK(!open_model(&m, &opts) && strstr(m.why, "generation_config.json"));
    end(&m);
    remove_file(folder, "generation_config.json");
}

// ---- Chats --------------------------------------------------------------------------------------

static const char *const said[] = { "abc", "Hello", "xyz", "P" };

enum { TURNS = 4, ANSWER = 6 };

static bool open_chat(samba_text_model *m, const char *folder)
{
    if (!begin(m, folder, MOST)) return false;
    CHECK(is_fine(m, samba_text_open_chat(m)));
    m->n_stop = 1; // other goldens end soon: an answer is long
    m->stop[0] = 2;
    return samba_text_add_message(m, "system", "be");
}

// The messages of another chat but the last, and its answer, which is to be given anew.
static void retell(samba_text_model *to, const samba_text_model *from, int32_t messages)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(from->variables, "messages");
    for (int32_t i = 1; i < messages; i++) {
        const cJSON *message = cJSON_GetArrayItem(list, i);
        const char *role = cJSON_GetObjectItem(message, "role")->valuestring;
        CHECK(
            samba_text_add_message(to, role, cJSON_GetObjectItem(message, "content")->valuestring));
    }
}

// A conversation that reuses its cache, and at each turn a fresh model that reads all of it: the
// same tokens, and the same bits of the last logits.
static void check_chat(const char *golden)
{
    const char *folder = folder_of(golden);
    samba_text_model m;
    samba_text_how how = { .max_new_tokens = ANSWER };
    int32_t reused = 0;
    if (!open_chat(&m, folder)) return;
    for (int turn = 0; turn < TURNS; turn++) {
        samba_text_model fresh;
        const int32_t before = m.n_cached;
        if (m.n_ids + (int32_t)strlen(said[turn]) + 4 + ANSWER > MOST) break;
        CHECK(samba_text_add_message(&m, "user", said[turn]) && samba_text_reply(&m, &how));
        if (!open_chat(&fresh, folder)) break;
        retell(&fresh, &m, 2 + 2 * turn);
        CHECK(is_fine(&fresh, samba_text_reply(&fresh, &how)));
        CHECK(fresh.n_ids == m.n_ids && !memcmp(fresh.ids, m.ids, sizeof *m.ids * (size_t)m.n_ids));
        const float *a = samba_read(m.generator.decode.logits);
        const float *b = samba_read(fresh.generator.decode.logits);
        if (m.n_ids - m.n_prompt > 1) CHECK(!memcmp(a, b, sizeof *a * (size_t)m.generator.V));
        reused += before;
        end(&fresh);
    }
    CHECK(reused > 0);
    end(&m);
}

static void test_chats_reuse_the_cache(void)
{
    for (int i = 0; i < N_MODELS; i++)
        check_chat(models[i]);
}

static void count_runs(const char *name, int32_t section, bool begins, void *user)
{
    (void)section;
    if (begins && strncmp(name, "SAMBA_SESSION_RUN", 17) == 0) ++*(int *)user;
}

// What the cache has is not read again.
static void test_what_is_reused(void)
{
    samba_text_model m;
    samba_text_how how = { .max_new_tokens = ANSWER };
    if (!begin(&m, folder_of("llama_mha"), MOST)) return;
    int runs = 0;
    const int32_t ids[9] = { 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    m.n_stop = 0;
    CHECK(samba_text_write(&m, ids, 6, &how) && m.n_cached == 6 + ANSWER - 1);
    CHECK(samba_text_model__cached(&m, ids, 9) == 6);
    CHECK(samba_text_model__cached(&m, ids, 6) == 5); // the last one has to be read
    CHECK(samba_text_model__cached(&m, ids + 1, 6) == 0);
    CHECK(samba_text_model__cached(&m, m.ids, m.n_ids) == m.n_cached);

    samba_on_event(m.session, count_runs, &runs);
    int32_t longer[MOST];
    const int32_t n = m.n_ids + 2; // of which 3 are new to the cache: one chunk of 5
    memcpy(longer, m.ids, sizeof *longer * (size_t)m.n_ids);
    longer[n - 2] = 20;
    longer[n - 1] = 21;
    how.max_new_tokens = 1;
    CHECK(samba_text_write(&m, longer, n, &how) && runs == 1);
    longer[0]++; // another text: all of it is read
    runs = 0;
    CHECK(samba_text_write(&m, longer, n, &how) && runs == (n + 4) / 5);
    end(&m);
}

static void test_templates(void)
{
    const char *folder = folder_of("llama_mha");
    samba_text_opts opts = { .folder = folder };
    samba_text_model m;
    CHECK(open_model(&m, &opts) && samba_text_open_chat(&m));
    CHECK(strcmp(cJSON_GetObjectItem(m.variables, "bos_token")->valuestring, "<s>") == 0);
    end(&m);

    write_file(folder, "chat_template.jinja", "{{ messages[0].content }}!");
    CHECK(open_model(&m, &opts) && samba_text_open_chat(&m));
    CHECK(samba_text_add_message(&m, "user", "ab"));
    int32_t n = 0, *ids = samba_text_model__chat_ids(&m, &n); // the file goes before the key
    CHECK(ids && n == 3 && ids[0] == N_TEXT_SPECIALS && ids[1] == N_TEXT_SPECIALS + 1);
    free(ids);
    end(&m);

    write_file(folder, "chat_template.jinja", "{{ oh");
    CHECK(open_model(&m, &opts) && !samba_text_open_chat(&m) && strstr(m.why, "line 1"));
    end(&m);
    remove_file(folder, "chat_template.jinja");
    write_file(folder, "tokenizer_config.json", "{}");
    CHECK(open_model(&m, &opts) && !samba_text_open_chat(&m));
    CHECK(strstr(m.why, "has no chat template: neither chat_template.jinja nor the key"));
    CHECK(!samba_text_reply(&m, &(samba_text_how){ .max_new_tokens = 1 }));
    end(&m);
    write_file(folder, "tokenizer_config.json",
               "{\"eos_token\": {\"content\": \"c\"}, \"chat_template\": [{\"name\": \"tool\", "
               "\"template\": \"x\"}, {\"name\": \"default\", \"template\": \"{{eos_token}}\"}]}");
    CHECK(open_model(&m, &opts) && is_fine(&m, samba_text_open_chat(&m)));
    ids = samba_text_model__chat_ids(&m, &n);
    CHECK(ids && n == 1 && ids[0] == N_TEXT_SPECIALS + 2);
    CHECK(m.n_stop == 2 && m.stop[1] == ids[0]);
    free(ids);
    end(&m);
}

// ---- Weights and programs -----------------------------------------------------------------------

// The logits of a text's end, of weights packed from a folder.
static void logits_of(const samba_text_opts *opts, float *logits, int32_t *n_logits)
{
    const int32_t ids[5] = { 7, 8, 9, 10, 11 };
    samba_text_model m;
    CHECK(is_fine(&m,
                  open_model(&m, opts) && samba_text_begin(&m, 16)
                      && samba_text_write(&m, ids, 5, &(samba_text_how){ .max_new_tokens = 4 })));
    *n_logits = m.generator.V;
    if (m.ids)
        memcpy(logits, samba_read(m.generator.decode.logits), sizeof *logits * (size_t)*n_logits);
    end(&m);
}

// A program that was saved gives the same bits, whatever the weights and the cache are kept as.
static void check_saved(const char *golden, samba_weights weights, samba_generator_cache cache)
{
    char saved[300];
    float before[200], after[200];
    int32_t n = 0, n_after = 0;
    samba_text_model m;
    samba_text_opts opts = { .folder = folder_of(golden), .weights = weights, .cache = cache };
    snprintf(saved, sizeof saved, "%s/saved.pef", root);
    logits_of(&opts, before, &n);
    CHECK(open_model(&m, &opts) && samba_text_begin(&m, 16) && samba_text_save(&m, saved));
    end(&m);
    opts = (samba_text_opts){ .folder = opts.folder, .program = saved };
    logits_of(&opts, after, &n_after);
    CHECK(n > 0 && n == n_after && !memcmp(before, after, sizeof *before * (size_t)n));
}

static void test_saved_programs(void)
{
    for (int w = SAMBA_WEIGHTS_PLAIN; w <= SAMBA_WEIGHTS_INT4; w++) {
        check_saved("gpt2_tiny", (samba_weights)w, (samba_generator_cache)(w % 3));
        check_saved("llama_shards", (samba_weights)w, (samba_generator_cache)(w % 3));
    }
    samba_text_model m;
    char saved[300];
    snprintf(saved, sizeof saved, "%s/saved.pef", root);
    samba_text_opts opts = { .folder = folder_of("gpt2_tiny"), .program = saved };
    CHECK(open_model(&m, &opts) && !samba_text_begin(&m, 16) && strstr(m.why, "was not made of"));
    end(&m);
    CHECK(write_whole(saved, "no PEF", 6));
    CHECK(open_model(&m, &opts) && !samba_text_begin(&m, 16) && strstr(m.why, "PEF"));
    end(&m);
}

// Weights of GPT-2 packed while they are read are those packed from parameters.
static void test_gpt2_packed_from_a_folder(void)
{
    char why[500];
    gpt2_config c;
    const char *folder = folder_of("gpt2_tiny");
    for (int w = SAMBA_WEIGHTS_F32; w <= SAMBA_WEIGHTS_INT4; w++) {
        float logits[2][200];
        for (int from_folder = 0; from_folder < 2; from_folder++) {
            samba_generator g;
            samba_session *s = samba_open(NULL);
            CHECK(gpt2_config_read("tests/golden/gpt2_tiny/config.json", &c, why, sizeof why));
            CHECK(samba_generator_trace(&g, s, 1, 4, 16, gpt2_trace_step, &c));
            samba_program p = { .outputs = { g.prefill.logits, g.decode.logits },
                                .inference = true,
                                .weights = (samba_weights)w };
            bool fine = from_folder
                ? gpt2_compile_folder(s, &c, folder, &p, why, sizeof why)
                : gpt2_load_folder(s, &c, folder, why, sizeof why) && samba_compile(s, &p);
            if (!fine) printf("%s\n", why);
            CHECK(fine);
            const int32_t ids[3] = { 5, 6, 7 }, n = 3, *from = ids;
            int32_t text[16], *to = text, size;
            samba_generate_desc d = { .prompt = &from,
                                      .prompt_size = &n,
                                      .n_prompts = 1,
                                      .max_new_tokens = 3,
                                      .text = &to,
                                      .text_size = &size };
            CHECK(samba_generate(&g, &d));
            memcpy(logits[from_folder], samba_read(g.decode.logits), sizeof(float) * (size_t)g.V);
            CHECK(samba_close(s) == 0);
        }
        CHECK(!memcmp(logits[0], logits[1], sizeof(float) * (size_t)c.vocab_size));
    }
}

// ---- Prompts in files ---------------------------------------------------------------------------

static const int32_t long_prompt[12] = { 7, 8, 9, 10, 11, 12, 13, 7, 15, 8, 8, 20 };

static bool load_prompt(samba_text_model *m, const samba_text_opts *opts, int32_t length,
                        const char *path)
{
    CHECK(is_fine(m, open_model(m, opts) && samba_text_begin(m, length)));
    return m->ids && samba_text_load_prompt(m, path);
}

// A prompt that is read from a file, and a fresh run: the same tokens and the same bits, whatever
// the cache is kept as, in a session of another length, of a prompt that goes on or ends sooner.
static void check_prompt_file(const char *golden, samba_weights weights,
                              samba_generator_cache cache)
{
    char path[300];
    samba_text_how how = { .max_new_tokens = 6 };
    samba_text_model m, fresh;
    samba_text_opts opts
        = { .folder = folder_of(golden), .weights = weights, .cache = cache, .chunk = 4 };
    snprintf(path, sizeof path, "%s/prompt.cache", root);
    CHECK(open_model(&m, &opts) && samba_text_begin(&m, 20));
    CHECK(samba_text_write(&m, long_prompt, 10, &how)
          && is_fine(&m, samba_text_save_prompt(&m, path)));
    end(&m);
    for (int32_t n = 9; n <= 12; n++) {
        int runs = 0;
        CHECK(is_fine(&m, load_prompt(&m, &opts, 24, path)));
        CHECK(m.n_ids == 10 && m.n_cached == 10 && !memcmp(m.ids, long_prompt, 40));
        samba_on_event(m.session, count_runs, &runs);
        CHECK(samba_text_write(&m, long_prompt, n, &how));
        CHECK(runs == 1 + m.n_ids - n - 1);
        CHECK(open_model(&fresh, &opts) && samba_text_begin(&fresh, 24));
        CHECK(samba_text_write(&fresh, long_prompt, n, &how));
        CHECK(m.n_ids == fresh.n_ids && !memcmp(m.ids, fresh.ids, 4 * (size_t)m.n_ids));
        const float *a = samba_read(m.generator.prefill.logits),
                    *b = samba_read(fresh.generator.prefill.logits);
        CHECK(!memcmp(a, b, sizeof *a * (size_t)m.generator.V));
        a = samba_read(m.generator.decode.logits);
        b = samba_read(fresh.generator.decode.logits);
        CHECK(m.n_ids - n < 2 || !memcmp(a, b, sizeof *a * (size_t)m.generator.V));
        end(&fresh);
        end(&m);
    }
}

static void test_prompts_in_files(void)
{
    check_prompt_file("llama_gqa", SAMBA_WEIGHTS_PLAIN, SAMBA_CACHE_F32);
    check_prompt_file("llama_qwen3", SAMBA_WEIGHTS_PLAIN, SAMBA_CACHE_BF16);
    check_prompt_file("llama_shards", SAMBA_WEIGHTS_INT4, SAMBA_CACHE_INT8);
    check_prompt_file("gpt2_tiny", SAMBA_WEIGHTS_INT8, SAMBA_CACHE_F32);
}

static void refuses_prompt(const samba_text_opts *opts, int32_t length, const char *path,
                           const char *reason)
{
    samba_text_model m;
    bool right = !load_prompt(&m, opts, length, path) && strstr(m.why, reason) && !m.n_cached;
    if (!right) printf("%s\n", m.why);
    CHECK(right);
    // the model still writes
    CHECK(samba_text_write(&m, long_prompt, 2, &(samba_text_how){ .max_new_tokens = 1 }));
    end(&m);
}

static void change_weight(const char *folder)
{
    char path[400];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    char *bytes = (char *)read_whole(path, &size);
    CHECK(bytes && size > 100);
    bytes[size - 3] ^= 1; // of some weight, a little
    CHECK(write_whole(path, bytes, size));
    free(bytes);
}

// Files of another model, of other weights, of another way to keep them, and damaged ones.
static void test_prompts_that_are_refused(void)
{
    char path[300];
    samba_text_model m;
    samba_text_opts opts = { .folder = folder_of("llama_mha"), .chunk = 4 }, other = opts;
    snprintf(path, sizeof path, "%s/prompt.cache", root);
    CHECK(open_model(&m, &opts) && samba_text_begin(&m, 20));
    CHECK(!samba_text_save_prompt(&m, path) && strstr(m.why, "no text"));
    CHECK(samba_text_write(&m, long_prompt, 10, &(samba_text_how){ .max_new_tokens = 2 }));
    CHECK(samba_text_save_prompt(&m, path));
    CHECK(!samba_text_save_prompt(&m, "none/file"));
    end(&m);

    refuses_prompt(&opts, 9, path, "it has 10 tokens; there is room for 9");
    other.cache = SAMBA_CACHE_BF16;
    refuses_prompt(&other, 20, path, "another type of cache");
    other = opts;
    other.weights = SAMBA_WEIGHTS_BF16;
    refuses_prompt(&other, 20, path, "other weights");
    other = (samba_text_opts){ .folder = folder_of("llama_qwen2"), .chunk = 4 };
    refuses_prompt(&other, 20, path, "another model");
    refuses_prompt(&opts, 20, "none.cache", "none.cache: it cannot be read");
    change_weight(opts.folder);
    refuses_prompt(&opts, 20, path, "other weights");

    // The same weights, in which positions rotate otherwise: the logits say so.
    const char *folder = folder_of("llama_mha");
    size_t size = 0;
    char config[400];
    snprintf(config, sizeof config, "%s/config.json", folder);
    char *text = (char *)read_whole(config, &size), *eps = strstr(text, "1e-06");
    CHECK(eps != NULL);
    if (eps) memcpy(eps, "1e-02", 5);
    CHECK(write_whole(config, text, size));
    free(text);
    refuses_prompt(&opts, 20, path, "its logits are others");

    folder_of("llama_mha");
    CHECK(open_model(&m, &opts) && samba_text_begin(&m, 20));
    unsigned char *bytes = (unsigned char *)read_whole(path, &size);
    for (size_t at = 0; at < size; at += at < 100 ? 1 : 37) {
        bytes[at] ^= 0x40;
        CHECK(write_whole(path, bytes, size) || test_bad);
        bytes[at] ^= 0x40;
        CHECK(!samba_text_load_prompt(&m, path) || test_bad);
    }
    for (size_t n = 0; n < size; n += 61) {
        CHECK(write_whole(path, bytes, n) || test_bad);
        CHECK(!samba_text_load_prompt(&m, path) || test_bad);
    }
    CHECK(write_whole(path, bytes, size) && is_fine(&m, samba_text_load_prompt(&m, path)));
    end(&m);
    free(bytes);
}

// ---- What is refused ----------------------------------------------------------------------------

static bool refuses(const samba_text_opts *opts, const char *reason)
{
    samba_text_model m;
    bool right = !open_model(&m, opts) && strstr(m.why, reason);
    if (!right) printf("%s\n", m.why);
    end(&m);
    return right;
}

static void test_refused(void)
{
    const char *folder = folder_of("llama_mha");
    samba_text_opts opts = { .folder = folder };
    samba_text_model m;
    CHECK(refuses(&(samba_text_opts){ .folder = NULL }, "is NULL"));
    CHECK(
        refuses(&(samba_text_opts){ .folder = "none" }, "none/config.json: there is no such file"));
    CHECK(refuses(&(samba_text_opts){ .folder = "tests/golden/llama_mha" }, "tokenizer.json"));
    CHECK(
        refuses(&(samba_text_opts){ .folder = folder, .adapter = "none" }, "adapter_config.json"));
    CHECK(refuses(&(samba_text_opts){ .folder = folder_of("gpt2_tiny"), .adapter = "x" }, "GPT-2"));
    write_file(folder, "config.json", "{\"model_type\": \"mamba\"}");
    CHECK(refuses(&opts, "model_type is \"mamba\"; known are"));
    write_file(folder, "config.json", "{\"model_type\": \"llama\"}");
    CHECK(refuses(&opts, "hidden_size is missing"));

    folder = folder_of("llama_mha");
    CHECK(open_model(&m, &opts));
    const int32_t ids[2] = { 7, 8 };
    samba_text_how how = { .max_new_tokens = 1 };
    CHECK(!samba_text_write(&m, ids, 2, &how) && strstr(m.why, "samba_text_begin"));
    CHECK(!samba_text_begin(&m, 1) && strstr(m.why, "this model takes 2 ... 64"));
    CHECK(!samba_text_begin(&m, 65) && strstr(m.why, "a text of 65 tokens"));
    CHECK(samba_text_begin(&m, 2) && !samba_text_begin(&m, 2) && strstr(m.why, "begun already"));
    CHECK(!samba_text_write(&m, ids, 2, &how) && strstr(m.why, "may have 1 ... 1"));
    CHECK(!samba_text_write(&m, ids, 0, &how));
    CHECK(samba_text_write(&m, ids, 1, &how) && m.n_ids == 2);
    end(&m);
    remove_file(folder, "model.safetensors");
    CHECK(open_model(&m, &opts) && !samba_text_begin(&m, 8) && strstr(m.why, "model.safetensors"));
    end(&m);
}

// ---- Streams of tokens --------------------------------------------------------------------------

static bool is_whole_utf8(const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        uint32_t code;
        size_t n = samba_base_character(text + i, size - i, &code);
        if (!n) return false;
        i += n;
    }
    return true;
}

// Given token by token, a text has whole characters only, and is what decode makes of all.
static void check_stream(const samba_tokenizer *t, const int32_t *ids, int64_t n, int64_t before)
{
    static char got[5000], want[5000];
    samba_token_stream stream;
    size_t size = 0, more;
    CHECK(samba_token_stream_open(&stream, t, ids, before));
    const int64_t skipped = samba_tokenizer_decode(t, ids, before, NULL, 0);
    for (int64_t i = before; i < n; i++) {
        const char *text = samba_token_stream_add(&stream, ids[i], &more);
        CHECK(is_whole_utf8(text, more));
        memcpy(got + size, text, more);
        size += more;
    }
    const char *text = samba_token_stream_end(&stream, &more);
    memcpy(got + size, text, more);
    size += more;
    CHECK(samba_token_stream_end(&stream, &more) && more == 0);
    const int64_t all = samba_tokenizer_decode(t, ids, n, want, sizeof want);
    CHECK(all - skipped == (int64_t)size && !memcmp(got, want + skipped, size));
    samba_token_stream_close(&stream);
}

static void test_streams(void)
{
    static const char *const kinds[]
        = { "qwen2", "llama2", "llama3", "mistral", "gemma", "smollm", "deepseek3", "o200k" };
    static const char text[]
        = "Na\xc3\xafve \xe4\xb8\x96\xe7\x95\x8c \xf0\x9f\x98\x80\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd "
          "don't, \xe2\x82\xac 5!  \n\tende \xef\xbf\xbd\xef\xbf\xbd x \xcc\x81";
    int64_t held = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char path[200], why[300];
        int32_t ids[300];
        snprintf(path, sizeof path, "tests/golden/tokenizers/%s.json", kinds[i]);
        samba_tokenizer *t = samba_tokenizer_open(path, why, sizeof why);
        if (!t) printf("%s\n", why);
        CHECK(t != NULL);
        int64_t n = t ? samba_tokenizer_encode(t, text, sizeof text - 1, ids, 300) : 0;
        CHECK(n > 10 && n <= 300);
        check_stream(t, ids, n, 0);
        check_stream(t, ids, n, 1);
        check_stream(t, ids, n - 1, 0); // ends within a character, perhaps
        held += n;
        samba_tokenizer_close(t);
    }
    CHECK(held > 200);
}

int main(void)
{
    snprintf(root, sizeof root, "build/text_model.%d", (int)getpid());
    mkdir("build", 0777);
    if (mkdir(root, 0777)) perror(root);
    RUN(test_texts_like_transformers);
    RUN(test_stops);
    RUN(test_stops_of_generation_config);
    RUN(test_chats_reuse_the_cache);
    RUN(test_what_is_reused);
    RUN(test_templates);
    RUN(test_saved_programs);
    RUN(test_gpt2_packed_from_a_folder);
    RUN(test_prompts_in_files);
    RUN(test_prompts_that_are_refused);
    RUN(test_refused);
    RUN(test_streams);
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command)) perror(command);
    return test_summary();
}
