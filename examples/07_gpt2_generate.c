// GPT-2 completes prompts: SambaFlow's tutorial_generative_inference.py, with a key-value cache.
//     cc -O2 -o gpt2_generate examples/07_gpt2_generate.c -lcjson -lutf8proc -lm -pthread
//     ./gpt2_generate compile --inference --config_name config.json --pef-name infer
//     ./gpt2_generate run --inference -p out/infer/infer.pef --config_name config.json
//         --tokenizer_name FOLDER --checkpoint_name gpt2.ckpt --data_dir prompts.jsonl
// --model_name_or_path FOLDER brings config.json, tokenizer and weights of Hugging Face at once.
// --graphamp-preset mp1, given to both, computes products in bf16; mp4 keeps all in it.
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_TOKENIZER_IMPLEMENTATION
#define SAMBA_TOKEN_STREAM_IMPLEMENTATION
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#define SAMBA_LORA_IMPLEMENTATION
#include "../samba.h"
#include "../tools/include/samba/driver.h"
#include "../tools/include/samba/tokenizer.h"
#include "../tools/include/samba/token_stream.h"
#include "../tools/include/samba/gpt2.h"
#include "../tools/include/samba/lora.h"
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct options {
    samba_app_args app;
    const char *model_name_or_path, *config_name, *tokenizer_name, *cache_dir, *data_dir;
    const char *checkpoint_name, *lora_name, *weights;
    int32_t max_seq_length, examples_to_generate, max_tokens_to_generate, chunk;
    int32_t top_k, seed;
    float temperature, top_p;
    samba_lora lora;
    bool stream, patch;
} options;

static char why[500]; // the reason, when a file cannot be used

// ---- The model ---------------------------------------------------------------------------------

// Weights of Hugging Face come first, but with --config_name, which asks for a model of its own.
static bool has_folder(const options *o)
{
    return o->model_name_or_path && !o->config_name && !*o->checkpoint_name;
}

// Packed while they are read, they are never there in f32: then what the PEF has is not loaded.
static bool packs_folder(const options *o)
{
    return has_folder(o) && !o->lora_name && strcmp(o->weights, "plain") != 0;
}

static samba_program trace(samba_session *s, const options *o, gpt2_config *c, samba_generator *g)
{
    char path[1024];
    samba_program p = { .name = "hf_transformer", .inference = true };
    const char *from = o->config_name ? o->config_name : o->model_name_or_path;
    if (!from) {
        samba_fail(s, SAMBA_EARG, "Must provide --model_name_or_path or --config_name");
        return p;
    }
    snprintf(path, sizeof path, o->config_name ? "%s" : "%s/config.json", from);
    if (!gpt2_config_read(path, c, why, sizeof why)) samba_fail(s, SAMBA_EIO, "%s", why);
    c->attn_pdrop = c->embd_pdrop = c->resid_pdrop = 0;
    if (has_folder(o)) c->initializer_range = 0; // it has the values: nothing is drawn
    if (o->patch) gpt2_patch(c);
    if (o->lora_name) samba_add_lora(s, &o->lora);
    int32_t length = o->max_seq_length < 0 ? c->n_positions : o->max_seq_length;
    if (samba_ok(s) && (length < 2 || length > c->n_positions))
        samba_fail(s, SAMBA_ERANGE, "--max_seq_length is %d; the model has %d positions", length,
                   c->n_positions);
    if (samba_ok(s))
        samba_generator_trace(g, s, o->app.batch_size, o->chunk, length, gpt2_trace_step, c);
    p.outputs[0] = g->prefill.logits;
    p.outputs[1] = g->decode.logits;
    return p;
}

// Random ones, until a checkpoint fills it; a checkpoint replaces them; adapters come last.
static bool load_weights(samba_session *s, const options *o, const gpt2_config *c)
{
    if (o->config_name && !*o->checkpoint_name)
        fprintf(stderr, "Random weights: --config_name is given, and no --checkpoint_name\n");
    if (has_folder(o) && !gpt2_load_folder(s, c, o->model_name_or_path, why, sizeof why))
        return samba_fail(s, SAMBA_EIO, "%s", why);
    if (*o->checkpoint_name) {
        printf("Loading Checkpoint from disk at %s\n", o->checkpoint_name);
        samba_restore(s, o->checkpoint_name);
    }
    if (o->lora_name && !gpt2_load_lora(s, o->lora_name, why, sizeof why))
        return samba_fail(s, SAMBA_EIO, "%s", why);
    return samba_ok(s);
}

// With weights packed the program is compiled anew: fewer bytes for each token, or the same ones
// sooner.
static bool bring_weights(samba_session *s, const options *o, const gpt2_config *c, samba_program p)
{
    if (!samba_weights_called(o->weights, &p.weights))
        return samba_fail(s, SAMBA_EARG, "--weights is plain, f32, bf16, int8 or int4, not %s",
                          o->weights);
    if (!packs_folder(o)) return load_weights(s, o, c) && (!p.weights || samba_compile(s, &p));
    if (gpt2_compile_folder(s, c, o->model_name_or_path, &p, why, sizeof why)) return true;
    return samba_fail(s, SAMBA_EIO, "%s", why);
}

// ---- Prompts: objects with a key "prompt", in a .json or .jsonl file, or a folder of .jsonl ----

typedef struct prompts {
    char **at;
    int n, most;
} prompts;

static bool add_prompt(samba_session *s, prompts *all, const cJSON *item, const char *path,
                       int line)
{
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(item, "prompt");
    if (!cJSON_IsString(text))
        return samba_fail(s, SAMBA_EIO, "%s:%d: the example has no text under the key prompt", path,
                          line);
    char **more = (char **)realloc(all->at, (size_t)(all->n + 1) * sizeof *more);
    char *copy = more ? strdup(text->valuestring) : NULL;
    if (more) all->at = more;
    if (!copy) return samba_fail(s, SAMBA_ENOMEM, "no memory for the prompts");
    all->at[all->n++] = copy;
    return true;
}

static bool add_json(samba_session *s, prompts *all, const char *text, const char *path, int line)
{
    cJSON *root = cJSON_Parse(text);
    const cJSON *item = cJSON_IsArray(root) ? root->child : root;
    bool fine = root != NULL;
    if (!fine) samba_fail(s, SAMBA_EIO, "%s:%d: this is not JSON", path, line);
    for (; fine && item && all->n < all->most; item = item == root ? NULL : item->next)
        fine = add_prompt(s, all, item, path, line);
    cJSON_Delete(root);
    return fine;
}

static bool add_lines(samba_session *s, prompts *all, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = fopen(path, "r");
    if (!f) return samba_fail(s, SAMBA_EIO, "cannot read %s: %s", path, strerror(errno));
    for (int line = 1; samba_ok(s) && all->n < all->most && getline(&text, &size, f) >= 0; line++)
        if (text[strspn(text, " \t\r\n")]) add_json(s, all, text, path, line);
    free(text);
    fclose(f);
    return samba_ok(s);
}

static bool add_file(samba_session *s, prompts *all, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = fopen(path, "r");
    if (!f) return samba_fail(s, SAMBA_EIO, "cannot read %s: %s", path, strerror(errno));
    if (getdelim(&text, &size, 0, f) >= 0)
        add_json(s, all, text, path, 1);
    else
        samba_fail(s, SAMBA_EIO, "%s is empty", path);
    free(text);
    fclose(f);
    return samba_ok(s);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

// A folder is searched with the folders in it, in the order of names.
static bool add_path(samba_session *s, prompts *all, const char *path, bool named)
{
    struct stat info;
    struct dirent **entry = NULL;
    if (stat(path, &info))
        return samba_fail(s, SAMBA_EIO, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode)) {
        if (ends_with(path, ".jsonl")) return add_lines(s, all, path);
        if (!named) return true;
        if (ends_with(path, ".json")) return add_file(s, all, path);
        return samba_fail(s, SAMBA_EARG, "%s: prompts come from .json, .jsonl or a folder", path);
    }
    int n = scandir(path, &entry, NULL, alphasort);
    if (n < 0) samba_fail(s, SAMBA_EIO, "cannot read %s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        char inner[1024];
        snprintf(inner, sizeof inner, "%s/%s", path, entry[i]->d_name);
        if (entry[i]->d_name[0] != '.' && samba_ok(s)) add_path(s, all, inner, false);
        free(entry[i]);
    }
    free(entry);
    return samba_ok(s);
}

// ---- Generating: a batch of prompts at a time --------------------------------------------------

typedef struct texts { // (batch) each
    int32_t **prompt, *prompt_size, **text, *text_size;
} texts;

static void close_texts(texts *t, int n)
{
    for (int i = 0; i < n; i++) {
        if (t->prompt) free(t->prompt[i]);
        if (t->text) free(t->text[i]);
    }
    free(t->prompt);
    free(t->text);
    free(t->prompt_size);
}

static bool open_texts(samba_session *s, texts *t, int n, int length)
{
    t->prompt = (int32_t **)calloc((size_t)n, sizeof *t->prompt);
    t->text = (int32_t **)calloc((size_t)n, sizeof *t->text);
    t->prompt_size = (int32_t *)calloc(2 * (size_t)n, sizeof *t->prompt_size);
    t->text_size = t->prompt_size ? t->prompt_size + n : NULL;
    bool fine = t->prompt && t->text && t->prompt_size;
    for (int i = 0; fine && i < n; i++) {
        t->prompt[i] = (int32_t *)malloc((size_t)length * sizeof **t->prompt);
        t->text[i] = (int32_t *)malloc((size_t)length * sizeof **t->text);
        fine = t->prompt[i] && t->text[i];
    }
    return fine ? true : samba_fail(s, SAMBA_ENOMEM, "no memory for %d texts", n);
}

// The tokens are those of Hugging Face's tokenizer; texts that are too long are refused.
static bool encode(samba_session *s, samba_tokenizer *t, const char *text, int32_t *ids,
                   int32_t *size, int length)
{
    int64_t n = samba_tokenizer_encode(t, text, strlen(text), ids, length);
    if (n < 1 || n >= length)
        return samba_fail(s, SAMBA_ERANGE,
                          "a prompt has %d tokens; it may have 1 ... %d "
                          "(--max_seq_length - 1): \"%s\"",
                          (int)n, length - 1, text);
    *size = (int32_t)n;
    return true;
}

static void print_text(const samba_tokenizer *t, const int32_t *ids, int32_t n)
{
    int64_t size = samba_tokenizer_decode(t, ids, n, NULL, 0);
    char *text = size > 0 ? (char *)malloc((size_t)size) : NULL;
    if (!text) return;
    samba_tokenizer_decode(t, ids, n, text, size);
    fwrite(text, 1, (size_t)size, stdout);
    free(text);
}

// Prints what the tokens of the first row of a batch complete, as they come.
static bool print_token(void *user, int32_t row, int32_t token)
{
    size_t size;
    if (row != 0) return true;
    const char *text = samba_token_stream_add((samba_token_stream *)user, token, &size);
    fwrite(text, 1, size, stdout);
    fflush(stdout);
    return true;
}

static void print_separator(void)
{
    printf("\n--------------------\n");
}

static bool generate_batch(samba_session *s, const options *o, samba_generator *g,
                           samba_tokenizer *tokenizer, char *const *prompt, int n, int32_t eos,
                           bool last, texts *t)
{
    const int32_t stop[2] = { eos, samba_tokenizer_id(tokenizer, "<|endoftext|>") };
    for (int i = 0; i < n; i++)
        if (!encode(s, tokenizer, prompt[i], t->prompt[i], &t->prompt_size[i], g->length))
            return false;
    samba_generate_desc d = { .prompt = (const int32_t *const *)t->prompt,
                              .prompt_size = t->prompt_size,
                              .n_prompts = n,
                              .max_new_tokens = o->max_tokens_to_generate,
                              .stop = stop,
                              .n_stop = 2,
                              .text = t->text,
                              .text_size = t->text_size };
    d.sampling = (samba_sampling){ .temperature = o->temperature,
                                   .top_k = o->top_k,
                                   .top_p = o->top_p,
                                   .seed = (uint64_t)(uint32_t)o->seed };
    samba_token_stream stream = { .n = 0 };
    if (o->stream) {
        samba_token_stream_open(&stream, tokenizer, t->prompt[0], t->prompt_size[0]);
        d.on_token = print_token;
        d.user = &stream;
        printf("%s", prompt[0]);
    }
    bool fine = samba_generate(g, &d);
    size_t rest_size = 0;
    const char *rest = samba_token_stream_end(&stream, &rest_size);
    fwrite(rest, 1, rest_size, stdout);
    samba_token_stream_close(&stream);
    if (!fine) return false;
    for (int i = 0; i < n; i++) {
        if (i > 0 || !o->stream) print_text(tokenizer, t->text[i], t->text_size[i]);
        if (last && i == n - 1)
            printf("\n");
        else
            print_separator(); // between two predictions
    }
    return true;
}

static bool generate(samba_session *s, const options *o, const gpt2_config *c, samba_generator *g,
                     samba_program program)
{
    const char *from = o->tokenizer_name ? o->tokenizer_name : o->model_name_or_path;
    prompts all = { NULL, 0, o->examples_to_generate };
    texts t = { 0 };
    int B = o->app.batch_size;
    int64_t made = 0;
    if (!from) return samba_fail(s, SAMBA_EARG, "say --tokenizer_name FOLDER");
    samba_tokenizer *tokenizer = samba_tokenizer_open(from, why, sizeof why);
    if (!tokenizer) return samba_fail(s, SAMBA_EIO, "%s", why);
    if (samba_tokenizer_size(tokenizer) > c->vocab_size)
        samba_fail(s, SAMBA_EARG, "the tokenizer in %s has %d tokens, the model only %d", from,
                   samba_tokenizer_size(tokenizer), c->vocab_size);
    bool fine = samba_ok(s) && bring_weights(s, o, c, program)
        && add_path(s, &all, o->data_dir, true) && open_texts(s, &t, B, g->length);
    if (fine && !all.n)
        fine = samba_fail(s, SAMBA_EARG, "there is no prompt in %s: a folder holds .jsonl files",
                          o->data_dir);
    double start = samba_seconds();
    for (int at = 0; fine && at < all.n; at += B) {
        int n = all.n - at < B ? all.n - at : B;
        fine = generate_batch(s, o, g, tokenizer, all.at + at, n, c->eos_token_id, at + n == all.n,
                              &t);
        for (int i = 0; fine && i < n; i++)
            made += t.text_size[i] - t.prompt_size[i];
    }
    if (fine)
        fprintf(stderr, "%d prompts, %lld new tokens, %.1f tokens/s\n", all.n, (long long)made,
                (double)made / (samba_seconds() - start));
    for (int i = 0; i < all.n; i++)
        free(all.at[i]);
    free(all.at);
    close_texts(&t, B);
    samba_tokenizer_close(tokenizer);
    return fine;
}

int main(int argc, char **argv)
{
    options o = { .app = { .batch_size = 1 },
                  .checkpoint_name = "",
                  .max_seq_length = -1,
                  .examples_to_generate = 20,
                  .max_tokens_to_generate = 20,
                  .chunk = 64,
                  .lora.targets = { "c_attn" },
                  .seed = 256,
                  .weights = "plain" };
    const samba_flag flags[] = {
        { "model_name_or_path", SAMBA_FLAG_TEXT, &o.model_name_or_path,
          "folder with config.json, "
          "tokenizer and safetensors" },
        { "config_name", SAMBA_FLAG_TEXT, &o.config_name,
          "a config.json, which goes before: the "
          "weights are random then, or of --checkpoint_name" },
        { "patch", SAMBA_FLAG_BOOL, &o.patch, "exact GELU for gelu_new, as gpt2_patch_helper" },
        { "tokenizer_name", SAMBA_FLAG_TEXT, &o.tokenizer_name,
          "another folder of vocab.json and "
          "merges.txt, or tokenizer.json" },
        { "cache_dir", SAMBA_FLAG_TEXT, &o.cache_dir, "has no meaning: nothing is downloaded" },
        { "max_seq_length", SAMBA_FLAG_INT, &o.max_seq_length, "default -1: all positions" },
        { "examples_to_generate", SAMBA_FLAG_COUNT, &o.examples_to_generate,
          "at most, default 20" },
        { "seed", SAMBA_FLAG_COUNT, &o.seed, "of drawing, default 256" },
        { "chunk", SAMBA_FLAG_COUNT, &o.chunk, "tokens of a prompt read at once, default 64" },
        { "lora_name", SAMBA_FLAG_TEXT, &o.lora_name, "adapters that training has saved" },
        { "lora_rank", SAMBA_FLAG_COUNT, &o.lora.rank, "of these adapters" },
        { "lora_alpha", SAMBA_FLAG_POSITIVE, &o.lora.alpha, "default: the rank" },
        { "lora_targets", SAMBA_FLAG_TEXT, &o.lora.targets[0], "which layers, default c_attn" },
    };
    const samba_flag run_flags[] = {
        { "data_dir", SAMBA_FLAG_TEXT, &o.data_dir, ".json, .jsonl or a folder of .jsonl" },
        { "max_tokens_to_generate", SAMBA_FLAG_COUNT, &o.max_tokens_to_generate, "default 20" },
        { "checkpoint_name", SAMBA_FLAG_TEXT, &o.checkpoint_name, "what training has saved" },
        { "temperature", SAMBA_FLAG_AMOUNT, &o.temperature, "default 0: the likeliest token" },
        { "top_k", SAMBA_FLAG_NUMBER, &o.top_k, "draw from the k likeliest only; default 0: all" },
        { "top_p", SAMBA_FLAG_PART, &o.top_p, "draw from the likeliest of this mass; default 1" },
        { "weights", SAMBA_FLAG_TEXT, &o.weights,
          "how they are kept: plain, f32, bf16, int8 "
          "or int4" },
        { "stream", SAMBA_FLAG_BOOL, &o.stream, "print the first text of a batch as it grows" },
    };
    o.app.run_flags = run_flags;
    o.app.n_run_flags = sizeof run_flags / sizeof *run_flags;
    if (!samba_parse_app_args(argc, argv, &o.app, flags, sizeof flags / sizeof *flags))
        return o.app.exit_code;

    gpt2_config config;
    samba_generator generator = { 0 };
    samba_session *s
        = samba_open(&(samba_desc){ .threads = o.app.threads, .graphamp = o.app.graphamp });
    samba_program program = trace(s, &o, &config, &generator);
    if (o.cache_dir) printf("--cache_dir has no meaning here: nothing is downloaded\n");
    if (samba_app_parts(&o.app) > 1)
        samba_fail(s, SAMBA_EARG, "the texts of a batch are written together, without -mb");
    else if (strcmp(o.app.command, "run") != 0 && strcmp(o.app.command, "test") != 0)
        samba_app_driver(s, &o.app, &program);
    else if (!o.app.pef || !o.data_dir || o.examples_to_generate < 1)
        samba_fail(s, SAMBA_EARG, "run needs --pef FILE, --data_dir PROMPTS, 1 example or more");
    else if (packs_folder(&o) || samba_load(s, o.app.pef, &program))
        generate(s, &o, &config, &generator, program);
    return samba_close(s); // 1 if an error stands: it was printed
}
