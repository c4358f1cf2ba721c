/* text_model.h - a model in a folder of Hugging Face that goes on with texts, or answers in a chat.

   Needs samba.h before it. `#define SAMBA_TEXT_MODEL_IMPLEMENTATION` in one file enables the code,
   and that of tokenizer.h, token_stream.h, chat_template.h, gpt2.h and llama.h, which it includes,
   with what these include. SAMBA_TEXT_MODEL_STATIC makes its functions private to the file. C99 or
   C++11; -lcjson -lutf8proc -lm -pthread.

       samba_text_model m;
       samba_text_opts opts = { .folder = "SmolLM", .weights = SAMBA_WEIGHTS_INT8 };
       if (!samba_text_open(&m, session, &opts)) puts(m.why);
       n = samba_text_encode(&m, "Once upon", 9, ids, 256);
       samba_text_begin(&m, 256);                       compiles for texts of so many tokens
       samba_text_write(&m, ids, n, &how);              how.put gets the text as it comes
       samba_text_close(&m);

   A folder has config.json (Llama, Mistral, Qwen 2 and 3, GPT-2), the files of a tokenizer, and
   model.safetensors or its shards. Texts end at the tokens that eos_token_id of
   generation_config.json names, or of config.json. */
#ifndef SAMBA_TEXT_MODEL_H
#define SAMBA_TEXT_MODEL_H

#ifndef SAMBA_H
#error "text_model.h: include samba.h before"
#endif
#if defined(SAMBA_TEXT_MODEL_IMPLEMENTATION)
#if !defined(SAMBA_SAFETENSORS_IMPLEMENTATION)
#define SAMBA_SAFETENSORS_IMPLEMENTATION /* is part of it */
#endif
#if !defined(SAMBA_TOKENIZER_IMPLEMENTATION)
#define SAMBA_TOKENIZER_IMPLEMENTATION /* is part of it */
#endif
#if !defined(SAMBA_TOKEN_STREAM_IMPLEMENTATION)
#define SAMBA_TOKEN_STREAM_IMPLEMENTATION /* is part of it */
#endif
#if !defined(SAMBA_CHAT_TEMPLATE_IMPLEMENTATION)
#define SAMBA_CHAT_TEMPLATE_IMPLEMENTATION /* is part of it */
#endif
#if !defined(SAMBA_GENERATE_IMPLEMENTATION)
#define SAMBA_GENERATE_IMPLEMENTATION /* is part of it */
#endif
#if !defined(SAMBA_PROMPT_CACHE_IMPLEMENTATION)
#define SAMBA_PROMPT_CACHE_IMPLEMENTATION /* is part of it */
#endif
#if !defined(SAMBA_GPT2_IMPLEMENTATION)
#define SAMBA_GPT2_IMPLEMENTATION /* is part of it */
#endif
#if !defined(SAMBA_LLAMA_IMPLEMENTATION)
#define SAMBA_LLAMA_IMPLEMENTATION /* is part of it */
#endif
#endif
#include "tokenizer.h"
#include "token_stream.h"
#include "chat_template.h"
#include "gpt2.h"
#include "llama.h"
#include "prompt_cache.h"

#ifndef SAMBA_TEXT_MODEL_API
#if defined(SAMBA_TEXT_MODEL_STATIC)
#define SAMBA_TEXT_MODEL_API static inline
#elif defined(__cplusplus)
#define SAMBA_TEXT_MODEL_API extern "C"
#else
#define SAMBA_TEXT_MODEL_API extern
#endif
#endif

enum { SAMBA_TEXT_MODEL__MAX_STOPS = 16, SAMBA_TEXT_MODEL__CHUNK = 64 };

typedef struct samba_text_opts {
    const char *folder;  /* config.json, tokenizer, weights */
    const char *program; /* a file that samba_text_save has written of that folder: its weights,
                            cache, chunk and length are those that are taken; NULL: none */
    const char *adapter; /* a folder of PEFT, for Llama and its kin; NULL: none */
    samba_weights weights;
    samba_generator_cache cache;
    int32_t chunk; /* tokens of a prompt that are read at once; default 64 */
} samba_text_opts;

/* How to go on. put gets the text as it comes; false ends it. */
typedef struct samba_text_how {
    samba_sampling sampling;
    int32_t max_new_tokens;
    bool (*put)(void *user, const char *text, size_t size);
    void *user;
} samba_text_how;

typedef struct samba_text_model {
    char why[900]; /* the reason of what failed last */
    samba_session *session;
    samba_text_opts opts;
    bool is_gpt2;
    gpt2_config gpt2;
    llama_config llama;
    llama_lora lora;
    int32_t positions, vocab_size; /* of the configuration */
    samba_tokenizer *tokenizer;
    int32_t stop[SAMBA_TEXT_MODEL__MAX_STOPS], n_stop;
    samba_generator generator;
    int32_t *ids; /* (length) the text: the prompt, and what came after it */
    int32_t n_ids, n_prompt;
    int32_t n_cached; /* so many of ids are in the generator's cache */
    samba_chat_template *chat;
    cJSON *variables; /* of the chat template; messages among them */
} samba_text_model;

/* Reads all of the folder but the weights. To be closed either way; the session stays the caller's,
   and must be new. */
SAMBA_TEXT_MODEL_API bool samba_text_open(samba_text_model *m, samba_session *s,
                                          const samba_text_opts *opts);

SAMBA_TEXT_MODEL_API void samba_text_close(samba_text_model *m);

/* Compiles for texts of up to length tokens, or loads opts.program, whose length counts. */
SAMBA_TEXT_MODEL_API bool samba_text_begin(samba_text_model *m, int32_t length);

/* The compiled program with its weights, for opts.program. */
SAMBA_TEXT_MODEL_API bool samba_text_save(samba_text_model *m, const char *path);

/* Text to tokens, behind the one that a text begins with, if the tokenizer's files name one.
   Returns how many there are, of which at most `room` are written; -1 without memory. */
SAMBA_TEXT_MODEL_API int64_t samba_text_encode(samba_text_model *m, const char *text, size_t size,
                                               int32_t *ids, int64_t room);

/* Goes on with n tokens; m->ids then has them, and what came after. What the cache has of them is
   not computed again. */
SAMBA_TEXT_MODEL_API bool samba_text_write(samba_text_model *m, const int32_t *ids, int32_t n,
                                           const samba_text_how *how);

/* The prompt of the last text in a file, and back, in another process, too: what a later text
   begins with as the prompt did is not computed again. See prompt_cache.h. */
SAMBA_TEXT_MODEL_API bool samba_text_save_prompt(samba_text_model *m, const char *path);
SAMBA_TEXT_MODEL_API bool samba_text_load_prompt(samba_text_model *m, const char *path);

/* Reads the chat template of the folder. In a chat, the tokenizer's eos_token ends an answer, too.
 */
SAMBA_TEXT_MODEL_API bool samba_text_open_chat(samba_text_model *m);

/* Adds a message to the chat: role is "system", "user" or "assistant". */
SAMBA_TEXT_MODEL_API bool samba_text_add_message(samba_text_model *m, const char *role,
                                                 const char *content);

SAMBA_TEXT_MODEL_API void samba_text_drop_message(samba_text_model *m);

/* Answers the messages, and adds the answer to them. Only what the cache does not have of the chat
   is computed: the last message, as a rule. */
SAMBA_TEXT_MODEL_API bool samba_text_reply(samba_text_model *m, const samba_text_how *how);

#endif /* SAMBA_TEXT_MODEL_H */

#if defined(SAMBA_TEXT_MODEL_IMPLEMENTATION) && !defined(SAMBA_TEXT_MODEL__IMPLEMENTED)
#define SAMBA_TEXT_MODEL__IMPLEMENTED

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline bool
samba_text_model__fail(samba_text_model *m, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(m->why, sizeof m->why, fmt, args);
    va_end(args);
    return false;
}

/* The session's error is the reason. */
static inline bool samba_text_model__fail_session(samba_text_model *m)
{
    return samba_text_model__fail(m, "%s", samba_error(m->session));
}

/* ---- The folder ---- */

static inline bool samba_text_model__path(samba_text_model *m, const char *name, char *path,
                                          size_t size)
{
    const int n = snprintf(path, size, "%s/%s", m->opts.folder, name);
    return n > 0 && (size_t)n < size
        ? true
        : samba_text_model__fail(m, "the path of the folder has more than %d bytes", (int)size);
}

/* An object in a file of the folder; NULL if there is no such file, which is no failure, or if it
   cannot be read, which *fine tells. To be deleted. */
static inline cJSON *samba_text_model__json(samba_text_model *m, const char *name, bool *fine)
{
    char path[4096];
    *fine = samba_text_model__path(m, name, path, sizeof path);
    if (!*fine) return NULL;
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fclose(f);
    cJSON *json
        = samba_safetensors_json_file(path, SAMBA_MODEL__CONFIG_DEPTH, m->why, sizeof m->why);
    *fine = json != NULL;
    return json;
}

static inline void samba_text_model__add_stop(samba_text_model *m, int32_t id)
{
    for (int32_t i = 0; i < m->n_stop; i++)
        if (m->stop[i] == id) return;
    if (id >= 0 && m->n_stop < SAMBA_TEXT_MODEL__MAX_STOPS) m->stop[m->n_stop++] = id;
}

/* Does model_type say GPT-2? */
static inline bool samba_text_model__read_family(samba_text_model *m)
{
    bool fine;
    cJSON *json = samba_text_model__json(m, "config.json", &fine);
    if (!fine) return false;
    if (!json)
        return samba_text_model__fail(m, "%s/config.json: there is no such file", m->opts.folder);
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(json, "model_type");
    m->is_gpt2 = cJSON_IsString(type) && !strcmp(type->valuestring, "gpt2");
    cJSON_Delete(json);
    return true;
}

static inline bool samba_text_model__read_config(samba_text_model *m)
{
    char path[4096];
    if (!samba_text_model__read_family(m)
        || !samba_text_model__path(m, "config.json", path, sizeof path))
        return false;
    if (m->is_gpt2) {
        gpt2_config *c = &m->gpt2;
        if (!gpt2_config_read(path, c, m->why, sizeof m->why)) return false;
        c->attn_pdrop = c->embd_pdrop = c->resid_pdrop = 0;
        c->initializer_range = 0; /* the folder has the values */
        c->wte_initializer_range = c->wpe_initializer_range = 0;
        m->positions = c->n_positions;
        m->vocab_size = c->vocab_size;
        samba_text_model__add_stop(m, c->eos_token_id);
        return true;
    }
    if (!llama_config_read(path, &m->llama, m->why, sizeof m->why)) return false;
    m->llama.initializer_range = 0;
    m->llama.attention_dropout = 0;
    m->positions = m->llama.max_position_embeddings;
    m->vocab_size = m->llama.vocab_size;
    for (int32_t i = 0; i < m->llama.n_eos; i++)
        samba_text_model__add_stop(m, m->llama.eos_token_id[i]);
    return true;
}

/* generation_config.json goes before config.json, as in transformers. */
static inline bool samba_text_model__read_stops(samba_text_model *m)
{
    bool fine;
    cJSON *json = samba_text_model__json(m, "generation_config.json", &fine);
    const cJSON *ends = cJSON_GetObjectItemCaseSensitive(json, "eos_token_id"), *item = NULL;
    const bool one = cJSON_IsNumber(ends), several = cJSON_IsArray(ends);
    if (one || several) m->n_stop = 0;
    if (one) samba_text_model__add_stop(m, ends->valueint);
    if (several) item = ends->child;
    for (; item; item = item->next)
        if (cJSON_IsNumber(item)) samba_text_model__add_stop(m, item->valueint);
    cJSON_Delete(json);
    return fine;
}

static inline bool samba_text_model__open_tokenizer(samba_text_model *m)
{
    m->tokenizer = samba_tokenizer_open(m->opts.folder, m->why, sizeof m->why);
    if (!m->tokenizer) return false;
    if (samba_tokenizer_size(m->tokenizer) <= m->vocab_size) return true;
    return samba_text_model__fail(
        m, "the tokenizer in %s has %d tokens, the model only %d (vocab_size)", m->opts.folder,
        (int)samba_tokenizer_size(m->tokenizer), (int)m->vocab_size);
}

SAMBA_TEXT_MODEL_API bool samba_text_open(samba_text_model *m, samba_session *s,
                                          const samba_text_opts *opts)
{
    memset(m, 0, sizeof *m);
    m->session = s;
    m->opts = *opts;
    if (!m->opts.chunk) m->opts.chunk = SAMBA_TEXT_MODEL__CHUNK;
    if (!s || !opts->folder) return samba_text_model__fail(m, "the session or the folder is NULL");
    if (!samba_text_model__read_config(m) || !samba_text_model__open_tokenizer(m)
        || !samba_text_model__read_stops(m))
        return false;
    if (!opts->adapter) return true;
    if (m->is_gpt2)
        return samba_text_model__fail(m, "adapters are for Llama and its kin; this model is GPT-2");
    return llama_read_adapter(opts->adapter, &m->lora, m->why, sizeof m->why);
}

SAMBA_TEXT_MODEL_API void samba_text_close(samba_text_model *m)
{
    samba_tokenizer_close(m->tokenizer);
    samba_chat_close(m->chat);
    cJSON_Delete(m->variables);
    free(m->ids);
    memset(m, 0, sizeof *m);
}

/* ---- The generator ---- */

static inline bool samba_text_model__compile(samba_text_model *m, int32_t length)
{
    samba_session *s = m->session;
    samba_generator *g = &m->generator;
    const samba_text_opts *o = &m->opts;
    const void *config = m->is_gpt2 ? (const void *)&m->gpt2 : (const void *)&m->llama;
    samba_program p;
    memset(&p, 0, sizeof p);
    p.inference = true;
    p.weights = o->weights;
    if (o->adapter && !samba_add_lora(s, &m->lora.lora)) return samba_text_model__fail_session(m);
    if (!samba_generator_trace_cache(g, s, 1, o->chunk, length, o->cache,
                                     m->is_gpt2 ? gpt2_trace_step : llama_trace_step, config))
        return samba_text_model__fail_session(m);
    p.outputs[0] = g->prefill.logits;
    p.outputs[1] = g->decode.logits;
    bool fine = m->is_gpt2
        ? gpt2_compile_folder(s, &m->gpt2, o->folder, &p, m->why, sizeof m->why)
        : llama_compile_folder(s, &m->llama, o->folder, &p, m->why, sizeof m->why);
    if (!fine || !o->adapter) return fine;
    return llama_load_adapter(s, o->adapter, m->why, sizeof m->why);
}

static inline bool samba_text_model__load(samba_text_model *m)
{
    if (!samba_load(m->session, m->opts.program, NULL)
        || !samba_generator_find(&m->generator, m->session))
        return samba_text_model__fail_session(m);
    const samba_generator *g = &m->generator;
    if (g->B != 1 || g->V != m->vocab_size || g->length > m->positions) {
        return samba_text_model__fail(
            m, "%s was not made of %s: it writes %d texts at once, of %d tokens", m->opts.program,
            m->opts.folder, (int)g->B, (int)g->V);
    }
    if (m->is_gpt2 || llama_find_rotations(&m->llama, &m->generator)) return true;
    return samba_text_model__fail(m, "%s was not made of %s: %s", m->opts.program, m->opts.folder,
                                  samba_error(m->session));
}

SAMBA_TEXT_MODEL_API bool samba_text_begin(samba_text_model *m, int32_t length)
{
    if (m->ids) return samba_text_model__fail(m, "the model has begun already");
    if (!m->opts.program && (length < 2 || length > m->positions)) {
        return samba_text_model__fail(m, "a text of %d tokens; this model takes 2 ... %d",
                                      (int)length, (int)m->positions);
    }
    if (!(m->opts.program ? samba_text_model__load(m) : samba_text_model__compile(m, length)))
        return false;
    m->ids = (int32_t *)malloc((size_t)m->generator.length * sizeof *m->ids);
    return m->ids ? true : samba_text_model__fail(m, "there is no memory for a text");
}

SAMBA_TEXT_MODEL_API bool samba_text_save(samba_text_model *m, const char *path)
{
    return samba_save(m->session, path) ? true : samba_text_model__fail_session(m);
}

/* ---- Texts ---- */

SAMBA_TEXT_MODEL_API int64_t samba_text_encode(samba_text_model *m, const char *text, size_t size,
                                               int32_t *ids, int64_t room)
{
    const int32_t first = samba_tokenizer_first(m->tokenizer);
    const int64_t begun = first >= 0;
    if (begun && room > 0) ids[0] = first;
    int64_t n = samba_tokenizer_encode(m->tokenizer, text, size, room > begun ? ids + begun : NULL,
                                       room > begun ? room - begun : 0);
    return n < 0 ? n : n + begun;
}

typedef struct samba_text_model__writing {
    samba_text_model *m;
    const samba_text_how *how;
    samba_token_stream stream;
} samba_text_model__writing;

static inline bool samba_text_model__is_stop(const samba_text_model *m, int32_t token)
{
    for (int32_t i = 0; i < m->n_stop; i++)
        if (m->stop[i] == token) return true;
    return false;
}

static inline bool samba_text_model__show(void *user, int32_t row, int32_t token)
{
    samba_text_model__writing *w = (samba_text_model__writing *)user;
    size_t size;
    (void)row;
    if (samba_text_model__is_stop(w->m, token)) return true;
    const char *text = samba_token_stream_add(&w->stream, token, &size);
    return !size || !w->how->put || w->how->put(w->how->user, text, size);
}

/* How many tokens the cache has of a text; the last one is always read again. */
static inline int32_t samba_text_model__cached(const samba_text_model *m, const int32_t *ids,
                                               int32_t n)
{
    int32_t same = 0;
    while (same < m->n_cached && same < n - 1 && m->ids[same] == ids[same])
        same++;
    return same;
}

SAMBA_TEXT_MODEL_API bool samba_text_write(samba_text_model *m, const int32_t *ids, int32_t n,
                                           const samba_text_how *how)
{
    samba_text_model__writing w;
    samba_generate_desc d;
    if (!m->ids) return samba_text_model__fail(m, "the model has not begun: samba_text_begin");
    if (n < 1 || n >= m->generator.length) {
        return samba_text_model__fail(m,
                                      "the text has %d tokens; it may have 1 ... %d, one less than "
                                      "the model was compiled for: begin with a greater length",
                                      (int)n, (int)m->generator.length - 1);
    }
    w.m = m;
    w.how = how;
    if (!samba_token_stream_open(&w.stream, m->tokenizer, ids, n)) {
        samba_token_stream_close(&w.stream);
        return samba_text_model__fail(m, "there is no memory for a text");
    }
    memset(&d, 0, sizeof d);
    const int32_t cached = samba_text_model__cached(m, ids, n);
    d.prompt = &ids;
    d.prompt_size = &n;
    d.n_prompts = 1;
    d.n_cached = &cached;
    d.max_new_tokens = how->max_new_tokens;
    d.stop = m->stop;
    d.n_stop = m->n_stop;
    d.sampling = how->sampling;
    d.on_token = samba_text_model__show;
    d.user = &w;
    d.text = &m->ids;
    d.text_size = &m->n_ids;
    m->n_prompt = n;
    m->n_cached = 0;
    bool fine = samba_generate(&m->generator, &d) ? true : samba_text_model__fail_session(m);
    if (fine) m->n_cached = m->n_ids - 1; /* the last token was drawn, and not read */
    if (fine && how->put) {
        size_t size;
        const char *rest = samba_token_stream_end(&w.stream, &size);
        if (size) how->put(how->user, rest, size);
    }
    if (fine && !w.stream.fine) fine = samba_text_model__fail(m, "there is no memory for a text");
    samba_token_stream_close(&w.stream);
    return fine;
}

/* ---- Prompts in files ---- */

SAMBA_TEXT_MODEL_API bool samba_text_save_prompt(samba_text_model *m, const char *path)
{
    if (!m->n_prompt) return samba_text_model__fail(m, "no text was written yet");
    return samba_prompt_cache_save(&m->generator, path, m->ids, m->n_prompt, m->why, sizeof m->why);
}

SAMBA_TEXT_MODEL_API bool samba_text_load_prompt(samba_text_model *m, const char *path)
{
    if (!m->ids) return samba_text_model__fail(m, "the model has not begun: samba_text_begin");
    m->n_ids = m->n_prompt = m->n_cached = 0;
    int32_t n = samba_prompt_cache_load(&m->generator, path, m->ids, m->generator.length, m->why,
                                        sizeof m->why);
    m->n_ids = m->n_prompt = m->n_cached = n;
    return n > 0;
}

/* ---- Chats ---- */

/* All of a file of the folder, to be freed; NULL if there is none. */
static inline char *samba_text_model__read_file(samba_text_model *m, const char *name, size_t *size)
{
    char path[4096];
    if (!samba_text_model__path(m, name, path, sizeof path)) return NULL;
    FILE *f = fopen(path, "rb");
    long n = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    char *text = n >= 0 ? (char *)malloc((size_t)n + 1) : NULL;
    bool fine = text && !fseek(f, 0, SEEK_SET) && fread(text, 1, (size_t)n, f) == (size_t)n;
    if (f) fclose(f);
    *size = fine ? (size_t)n : 0;
    if (fine) return text;
    free(text);
    return NULL;
}

/* The chat_template of tokenizer_config.json: a text, or a list of which one is "default". */
static inline const char *samba_text_model__configured_template(const cJSON *config)
{
    const cJSON *item = NULL, *list = cJSON_GetObjectItemCaseSensitive(config, "chat_template");
    if (cJSON_IsString(list)) return list->valuestring;
    if (!cJSON_IsArray(list)) return NULL;
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
        const cJSON *text = cJSON_GetObjectItemCaseSensitive(item, "template");
        if (cJSON_IsString(name) && cJSON_IsString(text) && !strcmp(name->valuestring, "default"))
            return text->valuestring;
    }
    return NULL;
}

/* bos_token and its like are variables of templates: a text, or an object with its content. */
static inline bool samba_text_model__copy_tokens(samba_text_model *m, const cJSON *config)
{
    static const char *const keys[] = { "bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, keys[i]);
        if (cJSON_IsObject(item)) item = cJSON_GetObjectItemCaseSensitive(item, "content");
        if (!cJSON_IsString(item) || cJSON_HasObjectItem(m->variables, keys[i])) continue;
        if (!cJSON_AddStringToObject(m->variables, keys[i], item->valuestring))
            return samba_text_model__fail(m, "there is no memory for a chat");
    }
    return true;
}

static inline bool samba_text_model__open_template(samba_text_model *m, const cJSON *config)
{
    size_t size = 0;
    char *file = samba_text_model__read_file(m, "chat_template.jinja", &size);
    const char *source = file;
    if (!file) source = samba_text_model__configured_template(config);
    if (source && !file) size = strlen(source);
    if (source)
        m->chat = samba_chat_open(source, size, m->why, sizeof m->why);
    else
        samba_text_model__fail(m,
                               "%s has no chat template: neither chat_template.jinja nor the key "
                               "chat_template in tokenizer_config.json",
                               m->opts.folder);
    free(file);
    return m->chat != NULL;
}

SAMBA_TEXT_MODEL_API bool samba_text_open_chat(samba_text_model *m)
{
    bool fine;
    cJSON *config = samba_text_model__json(m, "tokenizer_config.json", &fine), *map = NULL;
    if (fine) map = samba_text_model__json(m, "special_tokens_map.json", &fine);
    m->variables = cJSON_CreateObject();
    fine = fine && cJSON_AddArrayToObject(m->variables, "messages")
        && cJSON_AddTrueToObject(m->variables, "add_generation_prompt")
        && samba_text_model__copy_tokens(m, config) && samba_text_model__copy_tokens(m, map)
        && samba_text_model__open_template(m, config);
    if (!fine && !*m->why) samba_text_model__fail(m, "there is no memory for a chat");
    const cJSON *eos = cJSON_GetObjectItemCaseSensitive(m->variables, "eos_token");
    if (fine && cJSON_IsString(eos))
        samba_text_model__add_stop(m, samba_tokenizer_id(m->tokenizer, eos->valuestring));
    cJSON_Delete(config);
    cJSON_Delete(map);
    return fine;
}

SAMBA_TEXT_MODEL_API bool samba_text_add_message(samba_text_model *m, const char *role,
                                                 const char *content)
{
    cJSON *messages = cJSON_GetObjectItemCaseSensitive(m->variables, "messages");
    cJSON *message = cJSON_CreateObject();
    bool fine = messages && message && cJSON_AddStringToObject(message, "role", role)
        && cJSON_AddStringToObject(message, "content", content)
        && cJSON_AddItemToArray(messages, message);
    if (fine) return true;
    cJSON_Delete(message);
    return samba_text_model__fail(m,
                                  m->variables ? "there is no memory for a message"
                                               : "there is no chat: samba_text_open_chat");
}

SAMBA_TEXT_MODEL_API void samba_text_drop_message(samba_text_model *m)
{
    cJSON *messages = cJSON_GetObjectItemCaseSensitive(m->variables, "messages");
    const int n = cJSON_GetArraySize(messages);
    if (n > 0) cJSON_DeleteItemFromArray(messages, n - 1);
}

/* The tokens of all messages, by the template, which writes the first token of a text itself; to be
   freed. NULL with the reason. */
static inline int32_t *samba_text_model__chat_ids(samba_text_model *m, int32_t *n)
{
    size_t size = 0;
    char *text = samba_chat_apply(m->chat, m->variables, &size, m->why, sizeof m->why);
    if (!text) return NULL;
    int64_t count = samba_tokenizer_encode(m->tokenizer, text, size, NULL, 0);
    int32_t *ids = NULL;
    if (count >= 0 && count < INT32_MAX) ids = (int32_t *)malloc(((size_t)count + 1) * sizeof *ids);
    if (ids) count = samba_tokenizer_encode(m->tokenizer, text, size, ids, count);
    if (!ids || count < 0) {
        free(ids);
        ids = NULL;
        samba_text_model__fail(m, "there is no memory for a chat");
    }
    free(text);
    *n = (int32_t)count;
    return ids;
}

/* The text behind the prompt, without the token that ended it; to be freed. */
static inline char *samba_text_model__answer(const samba_text_model *m)
{
    int32_t n = m->n_ids;
    if (n > m->n_prompt && samba_text_model__is_stop(m, m->ids[n - 1])) n--;
    int64_t before = samba_tokenizer_decode(m->tokenizer, m->ids, m->n_prompt, NULL, 0);
    int64_t size = samba_tokenizer_decode(m->tokenizer, m->ids, n, NULL, 0);
    char *text = size >= 0 ? (char *)malloc((size_t)size + 1) : NULL;
    if (!text) return NULL;
    samba_tokenizer_decode(m->tokenizer, m->ids, n, text, size);
    text[size] = 0;
    if (before > 0 && before <= size) memmove(text, text + before, (size_t)(size - before) + 1);
    return text;
}

SAMBA_TEXT_MODEL_API bool samba_text_reply(samba_text_model *m, const samba_text_how *how)
{
    int32_t n = 0;
    if (!m->chat) return samba_text_model__fail(m, "there is no chat: samba_text_open_chat");
    int32_t *ids = samba_text_model__chat_ids(m, &n);
    bool fine = ids && samba_text_write(m, ids, n, how);
    char *answer = fine ? samba_text_model__answer(m) : NULL;
    if (fine && !answer) fine = samba_text_model__fail(m, "there is no memory for an answer");
    fine = fine && samba_text_add_message(m, "assistant", answer);
    free(answer);
    free(ids);
    return fine;
}

#endif /* SAMBA_TEXT_MODEL_IMPLEMENTATION */
/* MIT license, as samba.h. */
