// GPT-2 with a cache against GPT-2 without; folders and shards of weights; adapters in files.
// run: -lcjson needs:cjson/cJSON.h
#define SAMBA_IMPLEMENTATION
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#define SAMBA_LORA_IMPLEMENTATION
#include "samba.h"
#include "tools/include/samba/gpt2.h"
#include "tools/include/samba/lora.h"
#include "tests/lib/test.h"
#include <errno.h>
#include <sys/stat.h>

enum { B = 3, LENGTH = 40, VOCAB = 61 };

static char why[500];

static gpt2_config small(void)
{
    gpt2_config c = gpt2_config_default();
    c.n_layer = 3;
    c.n_head = 4;
    c.n_embd = 32;
    c.n_positions = LENGTH;
    c.vocab_size = VOCAB;
    c.attn_pdrop = c.embd_pdrop = c.resid_pdrop = 0;
    c.initializer_range = 0.3; // large enough for texts that are not all one token
    c.bos_token_id = c.eos_token_id = -1;
    return c;
}

static samba_session *open_whole(const gpt2_config *c, samba_tensor **ids, samba_tensor **logits)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 2 });
    *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(1, LENGTH));
    *logits = gpt2_logits(c, *ids, NULL);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { *logits }, .inference = true }));
    return s;
}

static samba_session *open_generator(const gpt2_config *c, int chunk, samba_generator *g)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = 2 });
    CHECK(samba_generator_trace(g, s, B, chunk, LENGTH, gpt2_trace_step, c));
    samba_program p = { .outputs = { g->prefill.logits, g->decode.logits }, .inference = true };
    CHECK(samba_compile(s, &p));
    return s;
}

typedef struct texts {
    int32_t prompt[B][LENGTH], text[B][LENGTH], *to[B], prompt_size[B], size[B];
    const int32_t *from[B];
} texts;

static void generate(samba_generator *g, texts *t)
{
    memset(t, 0, sizeof *t);
    for (int b = 0; b < B; b++) {
        t->prompt_size[b] = 1 + 11 * b;
        t->from[b] = t->prompt[b];
        t->to[b] = t->text[b];
        for (int i = 0; i < t->prompt_size[b]; i++)
            t->prompt[b][i] = (17 * b + 5 * i * i) % VOCAB;
    }
    samba_generate_desc d = { .prompt = t->from,
                              .prompt_size = t->prompt_size,
                              .n_prompts = B,
                              .max_new_tokens = 30,
                              .text = t->to,
                              .text_size = t->size };
    CHECK(samba_generate(g, &d));
}

static int32_t likeliest(samba_session *s, samba_tensor *ids, samba_tensor *logits,
                         const int32_t *text, int n)
{
    int32_t padded[LENGTH] = { 0 }, best = 0;
    memcpy(padded, text, (size_t)n * sizeof *padded);
    samba_write(ids, padded);
    CHECK(samba_run(s, SAMBA_FWD));
    const float *last = samba_read(logits) + (n - 1) * VOCAB;
    for (int i = 1; i < VOCAB; i++)
        if (last[i] > last[best]) best = i;
    return best;
}

// Both sessions draw the same weights, because these depend on seed and name only.
static void test_cache(void)
{
    gpt2_config c = small();
    samba_tensor *ids, *logits;
    samba_session *whole = open_whole(&c, &ids, &logits);
    static const int chunks[] = { 1, 5, 16, 64 };
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        samba_generator g;
        texts t;
        samba_session *s = open_generator(&c, chunks[i], &g);
        generate(&g, &t);
        int different = 0;
        for (int b = 0; b < B; b++) {
            CHECK(t.size[b] == (t.prompt_size[b] + 30 < LENGTH ? t.prompt_size[b] + 30 : LENGTH));
            for (int n = t.prompt_size[b]; n < t.size[b]; n++) {
                CHECK(t.text[b][n] == likeliest(whole, ids, logits, t.text[b], n));
                different += t.text[b][n] != t.text[b][n - 1];
            }
        }
        CHECK(different > 10);
        CHECK(samba_close(s) == 0);
    }
    CHECK(samba_close(whole) == 0);
}

static bool make_folder(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

// Splits a file of weights in two, as large models are stored.
static void write_shards(const char *from, const char *first, const char *second)
{
    samba_safetensors *f = samba_safetensors_open(&from, 1, why, sizeof why);
    size_t n = f ? samba_safetensors_count(f) : 0;
    samba_safetensors_entry entry[64];
    float *data[64] = { NULL };
    CHECK(n > 2 && n <= 64);
    for (size_t i = 0; i < n && n <= 64; i++) {
        const samba_safetensors_tensor *t = samba_safetensors_at(f, i);
        memset(&entry[i], 0, sizeof entry[i]);
        entry[i].name = t->name;
        entry[i].ndim = t->ndim;
        for (int d = 0; d < t->ndim; d++)
            entry[i].dim[d] = t->dim[d];
        data[i] = (float *)malloc(t->count * sizeof *data[i]);
        CHECK(data[i] && samba_safetensors_read_f32(f, t, 0, t->count, data[i], why, sizeof why));
    }
    const float *const *values = (const float *const *)data;
    CHECK(samba_safetensors_save(first, entry, values, n / 3, why, sizeof why));
    CHECK(
        samba_safetensors_save(second, entry + n / 3, values + n / 3, n - n / 3, why, sizeof why));
    for (size_t i = 0; i < 64; i++)
        free(data[i]);
    samba_safetensors_close(f);
}

static void test_folders(void)
{
    gpt2_config c = small(), again;
    samba_tensor *ids, *logits;
    int32_t text[LENGTH] = { 3, 1, 4, 1, 5, 9 };
    CHECK(make_folder("build/gpt2_folder") && make_folder("build/gpt2_shards"));
    samba_session *s = open_whole(&c, &ids, &logits);
    float *w = (float *)malloc(samba_bytes(samba_tensor_by_name(s, "transformer__wte__weight")));
    CHECK(w != NULL);
    for (int i = 0; w && i < VOCAB * 32; i++)
        w[i] = (float)((i * 29) % 101 - 50) / 100;
    samba_write(samba_tensor_by_name(s, "transformer__wte__weight"), w);
    int32_t want = likeliest(s, ids, logits, text, 6);
    CHECK(gpt2_save(s, &c, "build/gpt2_folder", SAMBA_SAFETENSORS_F32, why, sizeof why));
    CHECK(samba_close(s) == 0);
    free(w);
    remove("build/gpt2_shards/model.safetensors");
    write_shards("build/gpt2_folder/model.safetensors",
                 "build/gpt2_shards/model-00001-of-00002.safetensors",
                 "build/gpt2_shards/model-00002-of-00002.safetensors");
    static const char *const folders[] = { "build/gpt2_folder", "build/gpt2_shards" };
    for (int i = 0; i < 2; i++) {
        CHECK(gpt2_config_read("build/gpt2_folder/config.json", &again, why, sizeof why));
        s = open_whole(&again, &ids, &logits);
        CHECK(gpt2_load_folder(s, &again, folders[i], why, sizeof why));
        CHECK(likeliest(s, ids, logits, text, 6) == want);
        CHECK(samba_close(s) == 0);
    }
    s = open_whole(&again, &ids, &logits);
    CHECK(!gpt2_load_folder(s, &again, "build/nowhere", why, sizeof why));
    CHECK(strstr(why, "build/nowhere: cannot be read"));
    CHECK(make_folder("build/gpt2_empty"));
    CHECK(!gpt2_load_folder(s, &again, "build/gpt2_empty", why, sizeof why));
    CHECK(strstr(why, "nor model-*.safetensors"));
    remove("build/gpt2_shards/model-00001-of-00002.safetensors");
    CHECK(!gpt2_load_folder(s, &again, "build/gpt2_shards", why, sizeof why));
    CHECK(strstr(why, "is missing"));
    samba_close(s);
}

static samba_lora lora = { .targets = { "c_attn", "c_fc" } };

static samba_session *open_adapters(int rank, samba_tensor **ids, samba_tensor **logits)
{
    gpt2_config c = small();
    samba_session *s = samba_open(NULL);
    lora.rank = rank;
    CHECK(samba_add_lora(s, &lora));
    *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(1, LENGTH));
    *logits = gpt2_logits(&c, *ids, NULL);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { *logits }, .inference = true }));
    return s;
}

// The last tensor of the header becomes one of integers.
static void damage(const char *file)
{
    static char bytes[1 << 16];
    size_t n = 0, at = 0;
    FILE *f = fopen(file, "r+b");
    if (f) n = fread(bytes, 1, sizeof bytes, f);
    for (size_t i = 0; i + 5 <= n; i++)
        if (!memcmp(bytes + i, "\"F32\"", 5)) at = i;
    CHECK(at && !fseek(f, (long)at, SEEK_SET) && fputs("\"I32\"", f) >= 0);
    if (f) fclose(f);
}

static void test_adapters(void)
{
    const char *file = "build/gpt2_lora.safetensors";
    int32_t text[LENGTH] = { 2, 7, 1, 8, 2, 8 };
    samba_tensor *ids, *logits;
    samba_session *s = open_adapters(4, &ids, &logits);
    samba_tensor *b = samba_tensor_by_name(s, "transformer__h__1__attn__c_attn__lora_B__weight");
    float up[96 * 4], before[VOCAB], after[VOCAB];
    for (int i = 0; i < 96 * 4; i++)
        up[i] = (float)(i % 13 - 6) / 10;
    likeliest(s, ids, logits, text, 6);
    memcpy(before, samba_read(logits), sizeof before);
    CHECK(b && samba_write(b, up));
    likeliest(s, ids, logits, text, 6);
    memcpy(after, samba_read(logits), sizeof after);
    CHECK(memcmp(before, after, sizeof before) != 0);
    CHECK(gpt2_save_lora(s, file, SAMBA_SAFETENSORS_F32, why, sizeof why));
    samba_safetensors *f = samba_safetensors_open(&file, 1, why, sizeof why);
    CHECK(f && samba_safetensors_count(f) == 3 * 2 * 2);
    const samba_safetensors_tensor *t = f
        ? samba_safetensors_find(f, "base_model.model.transformer.h.1.attn.c_attn.lora_B.weight")
        : NULL;
    CHECK(t && t->dim[0] == 96 && t->dim[1] == 4);
    samba_safetensors_close(f);
    CHECK(samba_close(s) == 0);

    s = open_adapters(4, &ids, &logits);
    CHECK(gpt2_load_lora(s, file, why, sizeof why));
    likeliest(s, ids, logits, text, 6);
    CHECK_CLOSE(samba_read(logits), after, VOCAB, 0, 0);
    CHECK(samba_merge_lora(s, &lora));
    likeliest(s, ids, logits, text, 6);
    CHECK_CLOSE(samba_read(logits), after, VOCAB, 1e-4, 1e-4);
    CHECK(samba_close(s) == 0);

    damage(file);
    s = open_adapters(4, &ids, &logits);
    CHECK(!gpt2_load_lora(s, file, why, sizeof why) && strstr(why, "is I32; weights must be F32"));
    likeliest(s, ids, logits, text, 6); // none of the others was loaded
    CHECK_CLOSE(samba_read(logits), before, VOCAB, 0, 0);
    CHECK(samba_close(s) == 0);

    s = open_adapters(2, &ids, &logits);
    CHECK(!gpt2_load_lora(s, file, why, sizeof why) && strstr(why, "another rank"));
    CHECK(!gpt2_load_lora(s, "build/nowhere.safetensors", why, sizeof why) && why[0]);
    samba_close(s);
    gpt2_config c = small();
    s = open_whole(&c, &ids, &logits);
    CHECK(!gpt2_load_lora(s, file, why, sizeof why) && strstr(why, "no adapters"));
    samba_close(s);
}

int main(void)
{
    RUN(test_cache);
    RUN(test_folders);
    RUN(test_adapters);
    return test_summary();
}
