/* gpt2.h - GPT-2 on samba.h: configuration, model, Hugging Face weights in and out, optimizers.

   Do this:
       #define SAMBA_IMPLEMENTATION, SAMBA_SAFETENSORS_IMPLEMENTATION,
               SAMBA_GENERATE_IMPLEMENTATION, SAMBA_GPT2_IMPLEMENTATION
       in exactly ONE file, before
       #include <samba.h>
       #include <samba/gpt2.h>         (it includes safetensors.h and generate.h beside it)
       cc -O2 program.c -lcjson -lm -pthread         (Debian: libcjson-dev)

       gpt2_config c;
       const char *file = "gpt2/model.safetensors";
       char why[400];
       samba_session *s = samba_open(NULL);
       samba_safetensors *f = samba_safetensors_open(&file, 1, why, sizeof why);
       if (!gpt2_config_read("gpt2/config.json", &c, why, sizeof why)) ...
       samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(1, 64));
       samba_tensor *logits = gpt2_logits(&c, ids, NULL);
       if (!gpt2_load(s, &c, f, why, sizeof why)) ...

   The model is GPT2LMHeadModel of transformers: Radford et al., "Language Models are Unsupervised
   Multitask Learners", 2019. A parameter has its Hugging Face name with "__" for ".":
   transformer.h.0.attn.c_attn.weight is transformer__h__0__attn__c_attn__weight. The files hold
   the matrices of a block as (in, out), samba_affine wants (out, in): load and save transpose.

   SAMBA_GPT2_STATIC makes all functions private to the file. Define both SAMBA_GPT2_MALLOC(size)
   and SAMBA_GPT2_FREE(p) to allocate elsewhere.

   Letters: B batch, T time, C n_embd, H n_head, D = C / H. */
#ifndef SAMBA_GPT2_H
#define SAMBA_GPT2_H

#ifndef SAMBA_H
#error "gpt2.h: include samba.h before"
#endif
#if defined(SAMBA_GPT2_IMPLEMENTATION) && !defined(SAMBA_GENERATE_IMPLEMENTATION)
#define SAMBA_GENERATE_IMPLEMENTATION /* is part of it */
#endif
#if defined(SAMBA_GPT2_IMPLEMENTATION) && !defined(SAMBA_LOSS_IMPLEMENTATION)
#define SAMBA_LOSS_IMPLEMENTATION /* is part of it */
#endif
#include "generate.h"
#include "loss.h"
#include "safetensors.h"

#ifndef SAMBA_GPT2_API
#if defined(SAMBA_GPT2_STATIC)
#define SAMBA_GPT2_API static inline
#elif defined(__cplusplus)
#define SAMBA_GPT2_API extern "C"
#else
#define SAMBA_GPT2_API extern
#endif
#endif

/* ---- Configuration --------------------------------------------------------------------------- */

/* Name in config.json, what it is here. */
#define SAMBA_GPT2__ACTIVATIONS(X) \
    X("gelu_new", GELU_TANH) \
    X("gelu_pytorch_tanh", GELU_TANH) \
    X("gelu_fast", GELU_TANH) \
    X("gelu", GELU) \
    X("relu", RELU) \
    X("silu", SILU) \
    X("swish", SILU) \
    X("tanh", TANH)

typedef enum gpt2_activation {
    GPT2_GELU_TANH = 0,
    GPT2_GELU,
    GPT2_RELU,
    GPT2_SILU,
    GPT2_TANH
} gpt2_activation;

/* The names are those of config.json. */
typedef struct gpt2_config {
    int32_t n_layer, n_head, n_embd, n_positions, vocab_size;
    int32_t n_inner; /* 0: 4 n_embd */
    gpt2_activation activation_function;
    double layer_norm_epsilon;
    double initializer_range; /* 0: zeros; quicker, if weights are loaded anyway */
    /* not Hugging Face's: those of the embeddings; -1: initializer_range. With little text, tokens
       that are rare should not begin with much to say: a small one for wte. */
    double wte_initializer_range, wpe_initializer_range;
    double attn_pdrop, embd_pdrop, resid_pdrop; /* dropout; 0: no such layers are traced */
    bool scale_attn_weights;                    /* by 1/sqrt(D) */
    bool scale_attn_by_inverse_layer_idx;       /* and by 1/(layer+1) */
    bool tie_word_embeddings;                   /* the last matrix is wte */
    int32_t bos_token_id, eos_token_id;         /* -1: none */
} gpt2_config;

/* The smallest GPT-2, 124,439,808 parameters. */
SAMBA_GPT2_API gpt2_config gpt2_config_default(void);
/* False with a reason, if a value is absurd or the sizes would overflow. */
SAMBA_GPT2_API bool gpt2_config_check(const gpt2_config *c, char *why, size_t why_size);
/* Reads config.json. n_layer, n_head, n_embd, vocab_size and n_positions (or n_ctx) must be there;
   the others default to transformers' values; unknown keys are ignored. */
SAMBA_GPT2_API bool gpt2_config_read(const char *path, gpt2_config *c, char *why, size_t why_size);
SAMBA_GPT2_API bool gpt2_config_parse(const char *text, size_t size, gpt2_config *c, char *why,
                                      size_t why_size);
SAMBA_GPT2_API bool gpt2_config_write(const char *path, const gpt2_config *c, char *why,
                                      size_t why_size);

/* ---- Parameters ------------------------------------------------------------------------------ */

typedef enum gpt2_group { GPT2_EMBEDDING = 0, GPT2_OTHER, GPT2_NO_DECAY } gpt2_group;

#define GPT2_MAX_NAME 96

typedef struct gpt2_param {
    char name[GPT2_MAX_NAME];       /* transformer.h.0.ln_1.weight */
    char samba_name[GPT2_MAX_NAME]; /* transformer__h__0__ln_1__weight */
    int32_t ndim;
    int32_t dim[2];  /* in the file */
    bool transposed; /* in samba it is (dim[1], dim[0]) */
    gpt2_group group;
    samba_init init;
} gpt2_param;

SAMBA_GPT2_API int32_t gpt2_n_params(const gpt2_config *c);
/* Number i, in the order of transformers' state_dict. False if there is none. */
SAMBA_GPT2_API bool gpt2_param_at(const gpt2_config *c, int32_t i, gpt2_param *p);
/* The number of a name in a file, with or without "transformer."; -1 if it is no parameter. */
SAMBA_GPT2_API int32_t gpt2_param_find(const gpt2_config *c, const char *name);
/* Translates a name, "." to "__" and back. False if out is too small. */
SAMBA_GPT2_API bool gpt2_samba_name(const char *name, char *out, size_t out_size);
SAMBA_GPT2_API bool gpt2_file_name(const char *samba_name, char *out, size_t out_size);

/* ---- The model, for tracing. Errors stay in the session, as those of every op. --------------- */

/* SambaFlow's gpt2_patch_helper, as far as it changes results: the tanh approximation of GELU
   becomes the exact one. Call it before tracing, for training and inference alike. What else the
   helper does there (transposed weights, fused blocks) the compiler does here; saved weights keep
   Hugging Face's shapes. */
SAMBA_GPT2_API void gpt2_patch(gpt2_config *c);

/* ids (B,T) i32 -> logits (B,T,vocab_size). positions (T) or (B,T), i32 or i16; NULL: 0 ... T-1.
   There is no mask: attention is causal, so what pads a row on the right changes no logit before
   it, whatever its ids are. Padding on the left is for samba_generate (generate.h).
   Parameters are made at the first use, with transformers' initial distributions. */
SAMBA_GPT2_API samba_tensor *gpt2_logits(const gpt2_config *c, samba_tensor *ids,
                                         samba_tensor *positions);
/* Its parts: ids -> x (B,T,C); blocks x -> x; x -> logits. */
SAMBA_GPT2_API samba_tensor *gpt2_embed(const gpt2_config *c, samba_tensor *ids,
                                        samba_tensor *positions);
/* Attention of one layer: q (B,H,T,D), k and v (B,H,S,D) -> (B,H,T,D). */
typedef samba_tensor *(*gpt2_attention)(const gpt2_config *c, int32_t layer, samba_tensor *q,
                                        samba_tensor *k, samba_tensor *v, void *user);
/* attend NULL: gpt2_attend_causal. */
SAMBA_GPT2_API samba_tensor *gpt2_block(const gpt2_config *c, int32_t layer, samba_tensor *x,
                                        gpt2_attention attend, void *user);
SAMBA_GPT2_API samba_tensor *gpt2_head(const gpt2_config *c, samba_tensor *x);
/* The cross-entropy of gpt2_logits and labels i32 (B,T), mean or sum, by
   samba_linear_cross_entropy: no tensor (B,T,vocab_size), if samba_program.memory asks for that. */
SAMBA_GPT2_API samba_tensor *gpt2_loss(const gpt2_config *c, samba_tensor *ids,
                                       samba_tensor *positions, samba_tensor *labels,
                                       const samba_loss_opts *opts);
/* Each position attends to itself and the past. One fused op, with attn_pdrop too. user is not
   used. */
SAMBA_GPT2_API samba_tensor *gpt2_attend_causal(const gpt2_config *c, int32_t layer,
                                                samba_tensor *q, samba_tensor *k, samba_tensor *v,
                                                void *user);

/* Records one graph of a generator, for samba_generator_trace: B rows of T tokens that attend to
   what the caches transformer__h__<layer>__attn__k and v (B,H,length,D) hold. */
SAMBA_GPT2_API bool gpt2_trace_step(const void *config, samba_generator_graph *graph);

/* ---- Weights and training -------------------------------------------------------------------- */

/* Fills all parameters of the session; before compiling, after compiling, or after loading a PEF.
   Everything is checked before the first parameter is changed; buffers (attn.bias) are ignored. A
   last matrix that should be tied must be absent, or equal to wte. Values that are NaN or infinite
   are taken, and told through the log. */
SAMBA_GPT2_API bool gpt2_load(samba_session *s, const gpt2_config *c, const samba_safetensors *f,
                              char *why, size_t why_size);
/* The same from folder/model.safetensors, or from all of folder/model-*.safetensors. */
SAMBA_GPT2_API bool gpt2_load_folder(samba_session *s, const gpt2_config *c, const char *folder,
                                     char *why, size_t why_size);
/* samba_compile of a program that infers, with the weights of the folder. Those that
   program->weights packs (bf16, int8, int4) are packed while they are read, some rows at a time,
   and have no copy in f32. */
SAMBA_GPT2_API bool gpt2_compile_folder(samba_session *s, const gpt2_config *c, const char *folder,
                                        const samba_program *program, char *why, size_t why_size);
/* The adapters that samba_add_lora made, of a program that is loaded, in one file with PEFT's
   names: base_model.model.transformer.h.0.attn.c_attn.lora_A.weight (rank,in) and lora_B
   (out,rank). load wants exactly those of the program. */
SAMBA_GPT2_API bool gpt2_save_lora(samba_session *s, const char *path,
                                   samba_safetensors_dtype dtype, char *why, size_t why_size);
SAMBA_GPT2_API bool gpt2_load_lora(samba_session *s, const char *path, char *why, size_t why_size);
/* Writes folder/config.json and folder/model.safetensors for transformers' from_pretrained, each
   replaced only when it is complete. dtype: SAMBA_SAFETENSORS_F32 (which is 0), BF16 or F16. */
SAMBA_GPT2_API bool gpt2_save(samba_session *s, const gpt2_config *c, const char *folder,
                              samba_safetensors_dtype dtype, char *why, size_t why_size);
/* SambaFlow's three optimizers: embeddings; other matrices; biases and norms, without decay. base
   says the rest. params has room for gpt2_n_params(c) and must live until compile and load. */
SAMBA_GPT2_API bool gpt2_optims(samba_session *s, const gpt2_config *c, const samba_optim *base,
                                samba_tensor **params, samba_optim optims[3], char *why,
                                size_t why_size);
#endif /* SAMBA_GPT2_H */

/* ============================================================================================== */
#if defined(SAMBA_GPT2_IMPLEMENTATION) && !defined(SAMBA_GPT2__IMPLEMENTED)
#define SAMBA_GPT2__IMPLEMENTED

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(SAMBA_GPT2_MALLOC)
#define SAMBA_GPT2_MALLOC(size) malloc(size)
#define SAMBA_GPT2_FREE(p) free(p)
#endif
#if !defined(SAMBA_MODEL_MALLOC)
#define SAMBA_MODEL_MALLOC(size) SAMBA_GPT2_MALLOC(size)
#define SAMBA_MODEL_FREE(p) SAMBA_GPT2_FREE(p)
#endif
#include "model.h"

enum { SAMBA_GPT2__ROWS = 16 }; /* 16 floats: a cache line at a time */

/* ---- Configuration ---- */

SAMBA_GPT2_API void gpt2_patch(gpt2_config *c)
{
    if (c && c->activation_function == GPT2_GELU_TANH) c->activation_function = GPT2_GELU;
}

SAMBA_GPT2_API gpt2_config gpt2_config_default(void)
{
    gpt2_config c;
    memset(&c, 0, sizeof c);
    c.n_layer = c.n_head = 12;
    c.n_embd = 768;
    c.n_positions = 1024;
    c.vocab_size = 50257;
    c.activation_function = GPT2_GELU_TANH;
    c.layer_norm_epsilon = 1e-5;
    c.initializer_range = 0.02;
    c.wte_initializer_range = c.wpe_initializer_range = -1;
    c.attn_pdrop = c.embd_pdrop = c.resid_pdrop = 0.1;
    c.scale_attn_weights = c.tie_word_embeddings = true;
    c.bos_token_id = c.eos_token_id = 50256;
    return c;
}

static inline int32_t samba_gpt2__inner(const gpt2_config *c)
{
    return c->n_inner ? c->n_inner : 4 * c->n_embd;
}

/* No matrix has more elements than an int32_t counts: all sizes below are far from overflow. */
static inline bool samba_gpt2__sizes(const gpt2_config *c, const samba_model__why *why)
{
    int64_t embd = c->n_embd, rows = c->vocab_size;
    if (c->n_positions > rows) rows = c->n_positions;
    if (3 * embd > rows) rows = 3 * embd;
    if (samba_gpt2__inner(c) > rows) rows = samba_gpt2__inner(c);
    return rows * embd <= INT32_MAX
        ? true
        : samba_model__fail(
            why, "a matrix would have %lld x %lld elements; at most 2^31 - 1 are possible",
            (long long)rows, (long long)embd);
}

SAMBA_GPT2_API bool gpt2_config_check(const gpt2_config *c, char *why, size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    if (!c) return samba_model__fail(&w, "the configuration is NULL");
    if (!samba_model__in("n_layer", c->n_layer, 1, 4096, &w)
        || !samba_model__in("n_embd", c->n_embd, 1, 1 << 16, &w)
        || !samba_model__in("n_head", c->n_head, 1, c->n_embd, &w)
        || !samba_model__in("n_positions", c->n_positions, 1, 1 << 20, &w)
        || !samba_model__in("vocab_size", c->vocab_size, 1, 1 << 24, &w)
        || !samba_model__in("n_inner", c->n_inner, 0, 1 << 20, &w)
        || !samba_model__in("activation_function", (int64_t)c->activation_function, 0, GPT2_TANH,
                            &w)
        || !samba_model__in("bos_token_id", c->bos_token_id, -1, INT32_MAX, &w)
        || !samba_model__in("eos_token_id", c->eos_token_id, -1, INT32_MAX, &w)
        || !samba_model__real_in("layer_norm_epsilon", c->layer_norm_epsilon, 1e-30, 1, &w)
        || !samba_model__real_in("initializer_range", c->initializer_range, 0, 1, &w)
        || !samba_model__real_in("wte_initializer_range", c->wte_initializer_range, -1, 1, &w)
        || !samba_model__real_in("wpe_initializer_range", c->wpe_initializer_range, -1, 1, &w)
        || !samba_model__real_in("attn_pdrop", c->attn_pdrop, 0, 0.999, &w)
        || !samba_model__real_in("embd_pdrop", c->embd_pdrop, 0, 0.999, &w)
        || !samba_model__real_in("resid_pdrop", c->resid_pdrop, 0, 0.999, &w))
        return false;
    if (c->n_embd % c->n_head) {
        return samba_model__fail(&w, "n_embd is %d, which %d heads (n_head) cannot share equally",
                                 (int)c->n_embd, (int)c->n_head);
    }
    return samba_gpt2__sizes(c, &w);
}

/* The value must be one of the names of the table. */
static inline void samba_gpt2__read_activation(samba_model__reader *r, gpt2_activation *out)
{
    const char *const key = "activation_function";
    const cJSON *item = samba_model__key(r, key, false);
    if (!item) return;
    if (!cJSON_IsString(item)) {
        samba_model__wrong_type(r, key, "a string");
        return;
    }
#define X(name, value) \
    if (!strcmp(item->valuestring, name)) { \
        *out = GPT2_##value; \
        return; \
    }
    SAMBA_GPT2__ACTIVATIONS(X)
#undef X
#define X(name, value) " " name
    r->failed = !samba_model__fail(
        r->why, "activation_function \"%.40s\" is unknown; known are" SAMBA_GPT2__ACTIVATIONS(X),
        item->valuestring);
#undef X
}

static inline void samba_gpt2__read_model_type(samba_model__reader *r)
{
    const cJSON *item = samba_model__key(r, "model_type", false);
    if (!item) return;
    if (!cJSON_IsString(item))
        samba_model__wrong_type(r, "model_type", "a string");
    else if (strcmp(item->valuestring, "gpt2")) {
        r->failed = !samba_model__fail(r->why, "model_type is \"%.40s\", not \"gpt2\"",
                                       item->valuestring);
    }
}

static inline bool samba_gpt2__config_from(const cJSON *json, gpt2_config *out, char *text,
                                           size_t text_size)
{
    samba_model__why why = samba_model__why_of(text, text_size);
    samba_model__reader r;
    gpt2_config c = gpt2_config_default();
    bool cross = false, has_ctx = cJSON_GetObjectItemCaseSensitive(json, "n_ctx") != NULL;
    int32_t n_ctx = -1;
    r.json = json;
    r.why = &why;
    r.failed = false;
    c.n_positions = -1;
    samba_gpt2__read_model_type(&r);
    samba_model__read_int(&r, "n_layer", true, &c.n_layer);
    samba_model__read_int(&r, "n_head", true, &c.n_head);
    samba_model__read_int(&r, "n_embd", true, &c.n_embd);
    samba_model__read_int(&r, "vocab_size", true, &c.vocab_size);
    samba_model__read_int(&r, "n_positions", !has_ctx, &c.n_positions);
    samba_model__read_int(&r, "n_ctx", false, &n_ctx);
    if (c.n_positions < 0) c.n_positions = n_ctx; /* the name it had before */
    samba_model__read_int(&r, "n_inner", false, &c.n_inner);
    if (samba_model__key(&r, "n_inner", false) && c.n_inner < 1)
        samba_model__wrong_type(&r, "n_inner",
                                "null, "
                                "or at least 1");
    samba_gpt2__read_activation(&r, &c.activation_function);
    samba_model__read_real(&r, "layer_norm_epsilon", &c.layer_norm_epsilon);
    samba_model__read_real(&r, "initializer_range", &c.initializer_range);
    samba_model__read_real(&r, "wte_initializer_range", &c.wte_initializer_range);
    samba_model__read_real(&r, "wpe_initializer_range", &c.wpe_initializer_range);
    samba_model__read_real(&r, "attn_pdrop", &c.attn_pdrop);
    samba_model__read_real(&r, "embd_pdrop", &c.embd_pdrop);
    samba_model__read_real(&r, "resid_pdrop", &c.resid_pdrop);
    samba_model__read_bool(&r, "scale_attn_weights", &c.scale_attn_weights);
    samba_model__read_bool(&r, "scale_attn_by_inverse_layer_idx",
                           &c.scale_attn_by_inverse_layer_idx);
    samba_model__read_bool(&r, "tie_word_embeddings", &c.tie_word_embeddings);
    samba_model__read_bool(&r, "add_cross_attention", &cross);
    samba_model__read_int(&r, "bos_token_id", false, &c.bos_token_id);
    samba_model__read_int(&r, "eos_token_id", false, &c.eos_token_id);
    if (!r.failed && cross)
        r.failed = !samba_model__fail(&why,
                                      "add_cross_attention is true: there is "
                                      "no encoder to attend to");
    if (r.failed || !gpt2_config_check(&c, text, text_size)) return false;
    *out = c;
    return true;
}

SAMBA_GPT2_API bool gpt2_config_parse(const char *text, size_t size, gpt2_config *c, char *why,
                                      size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    if (!text || !c) return samba_model__fail(&w, "the text or the configuration is NULL");
    cJSON *json = samba_safetensors_json(text, size, SAMBA_MODEL__CONFIG_DEPTH, false,
                                         "configuration", why, why_size);
    bool fine = json && samba_gpt2__config_from(json, c, why, why_size);
    cJSON_Delete(json);
    return fine;
}

SAMBA_GPT2_API bool gpt2_config_read(const char *path, gpt2_config *c, char *why, size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    char reason[300];
    if (!path || !c) return samba_model__fail(&w, "the path or the configuration is NULL");
    cJSON *json = samba_safetensors_json_file(path, SAMBA_MODEL__CONFIG_DEPTH, why, why_size);
    if (!json) return false;
    bool fine = samba_gpt2__config_from(json, c, reason, sizeof reason);
    cJSON_Delete(json);
    return fine ? true : samba_model__fail(&w, "%s: %s", path, reason);
}

static inline const char *samba_gpt2__activation_name(gpt2_activation a)
{
#define X(name, value) \
    if (a == GPT2_##value) return name;
    SAMBA_GPT2__ACTIVATIONS(X)
#undef X
    return "none";
}

static inline cJSON *samba_gpt2__config_json(const gpt2_config *c)
{
    cJSON *json = cJSON_CreateObject();
    const char *const architecture = "GPT2LMHeadModel";
    bool fine = json != NULL;
    fine = fine && cJSON_AddStringToObject(json, "model_type", "gpt2");
    cJSON *list = fine ? cJSON_CreateStringArray(&architecture, 1) : NULL;
    fine = list && cJSON_AddItemToObject(json, "architectures", list);
    if (!fine) cJSON_Delete(list);
#define INT(key, value) fine = fine && cJSON_AddNumberToObject(json, key, (double)(value))
#define BOOL(key) fine = fine && cJSON_AddBoolToObject(json, #key, c->key)
    INT("n_layer", c->n_layer);
    INT("n_head", c->n_head);
    INT("n_embd", c->n_embd);
    INT("n_positions", c->n_positions);
    INT("n_ctx", c->n_positions);
    INT("vocab_size", c->vocab_size);
    if (c->n_inner)
        INT("n_inner", c->n_inner);
    else
        fine = fine && cJSON_AddNullToObject(json, "n_inner");
    fine = fine
        && cJSON_AddStringToObject(json, "activation_function",
                                   samba_gpt2__activation_name(c->activation_function));
    INT("layer_norm_epsilon", c->layer_norm_epsilon);
    INT("initializer_range", c->initializer_range);
    INT("attn_pdrop", c->attn_pdrop);
    INT("embd_pdrop", c->embd_pdrop);
    INT("resid_pdrop", c->resid_pdrop);
    BOOL(scale_attn_weights);
    BOOL(scale_attn_by_inverse_layer_idx);
    BOOL(tie_word_embeddings);
    if (c->bos_token_id >= 0)
        INT("bos_token_id", c->bos_token_id);
    else
        fine = fine && cJSON_AddNullToObject(json, "bos_token_id");
    if (c->eos_token_id >= 0)
        INT("eos_token_id", c->eos_token_id);
    else
        fine = fine && cJSON_AddNullToObject(json, "eos_token_id");
#undef INT
#undef BOOL
    if (fine) return json;
    cJSON_Delete(json);
    return NULL;
}

SAMBA_GPT2_API bool gpt2_config_write(const char *path, const gpt2_config *c, char *why,
                                      size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    if (!gpt2_config_check(c, why, why_size)) return false;
    cJSON *json = samba_gpt2__config_json(c);
    char *text = json ? cJSON_Print(json) : NULL;
    bool fine = text != NULL;
    if (fine)
        fine = samba_safetensors_replace(path, text, strlen(text), why, why_size);
    else
        samba_model__fail(&w, "there is no memory for a configuration");
    cJSON_free(text);
    cJSON_Delete(json);
    return fine;
}

/* ---- Parameters ---- */

/* A block's parts, each with a weight and a bias, in the order of transformers. */
enum {
    SAMBA_GPT2__LN_1,
    SAMBA_GPT2__C_ATTN,
    SAMBA_GPT2__ATTN_C_PROJ,
    SAMBA_GPT2__LN_2,
    SAMBA_GPT2__C_FC,
    SAMBA_GPT2__MLP_C_PROJ,
    SAMBA_GPT2__N_PARTS,
    SAMBA_GPT2__WTE = 0,
    SAMBA_GPT2__WPE,
    SAMBA_GPT2__BLOCKS, /* numbers of parameters */
    SAMBA_GPT2__PER_BLOCK = 2 * SAMBA_GPT2__N_PARTS
};

static inline const char *samba_gpt2__part_name(int32_t part)
{
    static const char *const names[SAMBA_GPT2__N_PARTS]
        = { "ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj" };
    return names[part];
}

static inline int32_t samba_gpt2__block_param(int32_t layer, int32_t part)
{
    return SAMBA_GPT2__BLOCKS + SAMBA_GPT2__PER_BLOCK * layer + 2 * part;
}

static inline int32_t samba_gpt2__ln_f(const gpt2_config *c)
{
    return samba_gpt2__block_param(c->n_layer, 0);
}

SAMBA_GPT2_API int32_t gpt2_n_params(const gpt2_config *c)
{
    return c ? samba_gpt2__ln_f(c) + 2 + !c->tie_word_embeddings : 0;
}

SAMBA_GPT2_API bool gpt2_samba_name(const char *name, char *out, size_t out_size)
{
    return samba_model__translate(name, ".", "__", out, out_size);
}

SAMBA_GPT2_API bool gpt2_file_name(const char *samba_name, char *out, size_t out_size)
{
    return samba_model__translate(samba_name, "__", ".", out, out_size);
}

static inline void samba_gpt2__matrix(gpt2_param *p, int32_t rows, int32_t columns,
                                      gpt2_group group, double deviation)
{
    p->ndim = 2;
    p->dim[0] = rows;
    p->dim[1] = columns;
    p->group = group;
    if (deviation <= 0) return; /* zeros: nothing to draw */
    p->init.kind = SAMBA_INIT_NORMAL;
    p->init.scale = (float)deviation;
}

static inline double samba_gpt2__range(const gpt2_config *c, double own)
{
    return own < 0 ? c->initializer_range : own;
}

/* Parameters that are the layer's norm, weight first. */
static inline void samba_gpt2__norm(gpt2_param *p, int32_t n, bool bias)
{
    p->ndim = 1;
    p->dim[0] = n;
    p->group = GPT2_NO_DECAY;
    p->init.value = bias ? 0.0f : 1.0f;
}

/* The weight or bias of a part of a block. Matrices that end a residual branch start smaller by
   sqrt(2 n_layer), as there are so many of them. */
static inline void samba_gpt2__part(const gpt2_config *c, int32_t part, bool bias, gpt2_param *p)
{
    const int32_t n = c->n_embd;
    const int32_t in = part == SAMBA_GPT2__MLP_C_PROJ ? samba_gpt2__inner(c) : n;
    const int32_t out = part == SAMBA_GPT2__C_ATTN ? 3 * n
        : part == SAMBA_GPT2__C_FC                 ? samba_gpt2__inner(c)
                                                   : n;
    bool residual = part == SAMBA_GPT2__ATTN_C_PROJ || part == SAMBA_GPT2__MLP_C_PROJ;
    if (part == SAMBA_GPT2__LN_1 || part == SAMBA_GPT2__LN_2) {
        samba_gpt2__norm(p, n, bias);
    } else if (bias) {
        samba_gpt2__norm(p, out, true);
    } else {
        samba_gpt2__matrix(p, in, out, GPT2_OTHER,
                           c->initializer_range / (residual ? sqrt(2.0 * c->n_layer) : 1.0));
        p->transposed = true;
    }
}

SAMBA_GPT2_API bool gpt2_param_at(const gpt2_config *c, int32_t i, gpt2_param *p)
{
    if (!c || !p || i < 0 || i >= gpt2_n_params(c)) return false;
    memset(p, 0, sizeof *p);
    const int32_t in_block = i - SAMBA_GPT2__BLOCKS, end = samba_gpt2__ln_f(c);
    if (i == SAMBA_GPT2__WTE) {
        samba_gpt2__matrix(p, c->vocab_size, c->n_embd, GPT2_EMBEDDING,
                           samba_gpt2__range(c, c->wte_initializer_range));
        snprintf(p->name, sizeof p->name, "transformer.wte.weight");
    } else if (i == SAMBA_GPT2__WPE) {
        samba_gpt2__matrix(p, c->n_positions, c->n_embd, GPT2_EMBEDDING,
                           samba_gpt2__range(c, c->wpe_initializer_range));
        snprintf(p->name, sizeof p->name, "transformer.wpe.weight");
    } else if (i < end) {
        int32_t part = in_block % SAMBA_GPT2__PER_BLOCK / 2;
        samba_gpt2__part(c, part, in_block % 2 == 1, p);
        snprintf(p->name, sizeof p->name, "transformer.h.%d.%s.%s",
                 (int)(in_block / SAMBA_GPT2__PER_BLOCK), samba_gpt2__part_name(part),
                 in_block % 2 ? "bias" : "weight");
    } else if (i < end + 2) {
        samba_gpt2__norm(p, c->n_embd, i > end);
        snprintf(p->name, sizeof p->name, "transformer.ln_f.%s", i > end ? "bias" : "weight");
    } else {
        samba_gpt2__matrix(p, c->vocab_size, c->n_embd, GPT2_OTHER, c->initializer_range);
        snprintf(p->name, sizeof p->name, "lm_head.weight");
    }
    return gpt2_samba_name(p->name, p->samba_name, sizeof p->samba_name);
}

/* "h.12.rest" -> 12 and rest; NULL if the name is no such, or there is no such layer. */
static inline const char *samba_gpt2__in_block(const gpt2_config *c, const char *name,
                                               int32_t *layer)
{
    const char *digits = samba_model__after(name, "h."), *p = digits;
    int32_t value = 0;
    if (!p || *p < '0' || *p > '9') return NULL;
    for (; *p >= '0' && *p <= '9'; p++) {
        value = 10 * value + (*p - '0');
        if (value >= c->n_layer || (p > digits && *digits == '0')) return NULL;
    }
    *layer = value;
    return *p == '.' ? p + 1 : NULL;
}

SAMBA_GPT2_API int32_t gpt2_param_find(const gpt2_config *c, const char *name)
{
    gpt2_param p;
    int32_t layer = 0;
    if (!c || !name) return -1;
    if (!strcmp(name, "lm_head.weight")) return c->tie_word_embeddings ? -1 : gpt2_n_params(c) - 1;
    const char *rest = samba_model__after(name, "transformer.");
    if (!rest) rest = name;
    const char *in_block = samba_gpt2__in_block(c, rest, &layer);
    const int32_t outside[4]
        = { SAMBA_GPT2__WTE, SAMBA_GPT2__WPE, samba_gpt2__ln_f(c), samba_gpt2__ln_f(c) + 1 };
    for (int32_t k = 0; k < (in_block ? (int32_t)SAMBA_GPT2__PER_BLOCK : 4); k++) {
        int32_t i = in_block ? samba_gpt2__block_param(layer, 0) + k : outside[k];
        gpt2_param_at(c, i, &p);
        if (!strcmp(rest, p.name + strlen("transformer."))) return i;
    }
    return -1;
}

/* ---- The model ---- */

static inline samba_shape samba_gpt2__shape(const gpt2_param *p)
{
    samba_shape shape = samba_scalar_shape();
    shape.ndim = p->ndim;
    shape.dim[0] = p->dim[p->transposed ? 1 : 0];
    if (p->ndim == 2) shape.dim[1] = p->dim[p->transposed ? 0 : 1];
    return shape;
}

/* Parameter number i of the session, made if it is new. */
static inline samba_tensor *samba_gpt2__use(const gpt2_config *c, samba_session *s, int32_t i)
{
    gpt2_param p;
    if (!gpt2_param_at(c, i, &p)) return NULL;
    return samba_param(s, p.samba_name, samba_gpt2__shape(&p), p.init);
}

static inline samba_tensor *samba_gpt2__affine(const gpt2_config *c, samba_tensor *x, int32_t i)
{
    if (!x) return NULL;
    samba_tensor *w = samba_gpt2__use(c, x->session, i);
    samba_tensor *b = samba_gpt2__use(c, x->session, i + 1);
    return samba_affine(x, w, b);
}

static inline samba_tensor *samba_gpt2__layer_norm(const gpt2_config *c, samba_tensor *x, int32_t i)
{
    if (!x) return NULL;
    samba_tensor *w = samba_gpt2__use(c, x->session, i);
    samba_tensor *b = samba_gpt2__use(c, x->session, i + 1);
    return samba_layer_normalize(x, w, b, (float)c->layer_norm_epsilon);
}

/* transformer__h__<layer>__<part>; without a layer, transformer__<part>. */
static inline void samba_gpt2__layer_name(char name[GPT2_MAX_NAME], int32_t layer, const char *part)
{
    if (layer < 0)
        snprintf(name, GPT2_MAX_NAME, "transformer__%s", part);
    else
        snprintf(name, GPT2_MAX_NAME, "transformer__h__%d__%s", (int)layer, part);
}

/* The dropout called transformer__h__<layer>__<part>; with rate 0 there is none. */
static inline samba_tensor *samba_gpt2__dropout(samba_tensor *x, double rate, int32_t layer,
                                                const char *part)
{
    char name[GPT2_MAX_NAME];
    if (rate <= 0) return x;
    samba_gpt2__layer_name(name, layer, part);
    return samba_dropout(x, name, (float)rate);
}

static inline samba_tensor *samba_gpt2__activate(const gpt2_config *c, samba_tensor *x)
{
    switch (c->activation_function) {
    case GPT2_GELU_TANH:
        return samba_gelu_tanh(x);
    case GPT2_GELU:
        return samba_gelu(x);
    case GPT2_RELU:
        return samba_relu(x);
    case GPT2_SILU:
        return samba_silu(x);
    case GPT2_TANH:
        return samba_tanh(x);
    }
    return NULL;
}

static inline samba_shape samba_gpt2__dims(int32_t n, int32_t a, int32_t b, int32_t c, int32_t d)
{
    samba_shape shape = samba_scalar_shape();
    shape.ndim = n;
    shape.dim[0] = a;
    shape.dim[1] = b;
    shape.dim[2] = c;
    shape.dim[3] = d;
    return shape;
}

/* What scores are multiplied by. */
static inline float samba_gpt2__scale(const gpt2_config *c, int32_t layer)
{
    double scale = c->scale_attn_weights ? sqrt((double)c->n_head / (double)c->n_embd) : 1.0;
    return (float)(c->scale_attn_by_inverse_layer_idx ? scale / (layer + 1) : scale);
}

SAMBA_GPT2_API samba_tensor *gpt2_attend_causal(const gpt2_config *c, int32_t layer,
                                                samba_tensor *q, samba_tensor *k, samba_tensor *v,
                                                void *user)
{
    samba_attention_opts opts;
    (void)user;
    if (!c || !q || !k || !v) return NULL;
    opts.causal = true;
    opts.scale = samba_gpt2__scale(c, layer);
    if (c->attn_pdrop <= 0) return samba_scaled_dot_product_attention(q, k, v, NULL, &opts);
    char name[GPT2_MAX_NAME];
    samba_tensor *qkv[3] = { NULL, NULL, NULL };
    qkv[0] = q;
    qkv[1] = k;
    qkv[2] = v;
    samba_gpt2__layer_name(name, layer, "attn__attn_dropout");
    return samba_attention_dropout(qkv, NULL, &opts, name, (float)c->attn_pdrop);
}

/* (B,T,C) -> (B,H,T,D) */
static inline samba_tensor *samba_gpt2__split_heads(const gpt2_config *c, samba_tensor *x)
{
    if (!x) return NULL;
    const int32_t *d = x->shape.dim;
    samba_shape shape = samba_gpt2__dims(4, d[0], d[1], c->n_head, c->n_embd / c->n_head);
    return samba_transpose(samba_reshape(x, shape), 1, 2);
}

/* (B,H,T,D) -> (B,T,C) */
static inline samba_tensor *samba_gpt2__join_heads(const gpt2_config *c, samba_tensor *x)
{
    if (!x) return NULL;
    samba_shape shape = samba_gpt2__dims(3, x->shape.dim[0], x->shape.dim[2], c->n_embd, 0);
    return samba_reshape(samba_transpose(x, 1, 2), shape);
}

static inline bool samba_gpt2__traceable(const gpt2_config *c, samba_tensor *x, const char *what,
                                         int32_t ndim)
{
    char why[300];
    if (!x || !samba_ok(x->session)) return false;
    if (!gpt2_config_check(c, why, sizeof why)) {
        return samba_fail(x->session, SAMBA_EARG, "in %s: %s", what, why);
    }
    if (x->shape.ndim == ndim) return true;
    return samba_fail(x->session, SAMBA_ESHAPE, "in %s: %s %S must have %d dimensions", what,
                      x->name, &x->shape, ndim);
}

/* x += attention(norm(x)); x += mlp(norm(x)) */
SAMBA_GPT2_API samba_tensor *gpt2_block(const gpt2_config *c, int32_t layer, samba_tensor *x,
                                        gpt2_attention attend, void *user)
{
    samba_tensor *qkv[3] = { NULL, NULL, NULL };
    if (!samba_gpt2__traceable(c, x, "gpt2_block", 3)) return NULL;
    if (layer < 0 || layer >= c->n_layer || x->shape.dim[2] != c->n_embd) {
        samba_fail(x->session, SAMBA_EARG, "in gpt2_block: layer %d of %d, %s %S; n_embd is %d",
                   layer, c->n_layer, x->name, &x->shape, c->n_embd);
        return NULL;
    }
    samba_tensor *h
        = samba_gpt2__layer_norm(c, x, samba_gpt2__block_param(layer, SAMBA_GPT2__LN_1));
    h = samba_gpt2__affine(c, h, samba_gpt2__block_param(layer, SAMBA_GPT2__C_ATTN));
    samba_split(h, c->n_embd, -1, qkv, 3);
    for (int i = 0; i < 3; i++)
        qkv[i] = samba_gpt2__split_heads(c, qkv[i]);
    h = (attend ? attend : gpt2_attend_causal)(c, layer, qkv[0], qkv[1], qkv[2], user);
    h = samba_gpt2__affine(c, samba_gpt2__join_heads(c, h),
                           samba_gpt2__block_param(layer, SAMBA_GPT2__ATTN_C_PROJ));
    x = samba_add(x, samba_gpt2__dropout(h, c->resid_pdrop, layer, "attn__resid_dropout"));

    h = samba_gpt2__layer_norm(c, x, samba_gpt2__block_param(layer, SAMBA_GPT2__LN_2));
    h = samba_gpt2__activate(
        c, samba_gpt2__affine(c, h, samba_gpt2__block_param(layer, SAMBA_GPT2__C_FC)));
    h = samba_gpt2__affine(c, h, samba_gpt2__block_param(layer, SAMBA_GPT2__MLP_C_PROJ));
    return samba_add(x, samba_gpt2__dropout(h, c->resid_pdrop, layer, "mlp__dropout"));
}

SAMBA_GPT2_API samba_tensor *gpt2_embed(const gpt2_config *c, samba_tensor *ids,
                                        samba_tensor *positions)
{
    if (!samba_gpt2__traceable(c, ids, "gpt2_embed", 2)) return NULL;
    samba_session *s = ids->session;
    const int32_t t = ids->shape.dim[1];
    if (!positions && t > c->n_positions) {
        samba_fail(s, SAMBA_ESHAPE,
                   "in gpt2_embed: %s %S is longer than the %d positions of the "
                   "model (n_positions)",
                   ids->name, &ids->shape, c->n_positions);
        return NULL;
    }
    samba_tensor *wte = samba_gpt2__use(c, s, SAMBA_GPT2__WTE),
                 *wpe = samba_gpt2__use(c, s, SAMBA_GPT2__WPE);
    samba_tensor *x = samba_lookup(ids, wte);
    samba_tensor *at = positions ? samba_lookup(positions, wpe) : samba_slice(wpe, 0, 0, t, 1);
    return samba_gpt2__dropout(samba_add(x, at), c->embd_pdrop, -1, "drop");
}

static inline samba_tensor *samba_gpt2__head_weight(const gpt2_config *c, samba_session *s)
{
    return samba_gpt2__use(
        c, s, c->tie_word_embeddings ? (int32_t)SAMBA_GPT2__WTE : gpt2_n_params(c) - 1);
}

SAMBA_GPT2_API samba_tensor *gpt2_head(const gpt2_config *c, samba_tensor *x)
{
    if (!samba_gpt2__traceable(c, x, "gpt2_head", 3)) return NULL;
    samba_tensor *h = samba_gpt2__layer_norm(c, x, samba_gpt2__ln_f(c));
    return samba_affine(h, samba_gpt2__head_weight(c, x->session), NULL);
}

/* One of the two caches of a layer, with the new rows x (B,H,T,D). */
static inline samba_tensor *samba_gpt2__cached(int32_t layer, const char *what, samba_tensor *x,
                                               const samba_generator_graph *graph)
{
    char name[GPT2_MAX_NAME];
    snprintf(name, sizeof name, "transformer__h__%d__attn__%s", (int)layer, what);
    return samba_generator_keep(graph, name, x);
}

/* A token attends to the rows of the cache that are not after it. */
static inline samba_tensor *samba_gpt2__attend_cached(const gpt2_config *c, int32_t layer,
                                                      samba_tensor *q, samba_tensor *k,
                                                      samba_tensor *v, void *user)
{
    const samba_generator_graph *graph = (const samba_generator_graph *)user;
    const int32_t *d = graph->position->shape.dim;
    samba_attention_opts opts;
    opts.causal = false;
    opts.scale = samba_gpt2__scale(c, layer);
    k = samba_gpt2__cached(layer, "k", k, graph);
    v = samba_gpt2__cached(layer, "v", v, graph);
    samba_tensor *position = samba_reshape(graph->position, samba_gpt2__dims(4, d[0], 1, d[1], 1));
    return samba_scaled_dot_product_attention(q, k, v, samba_le(graph->key, position), &opts);
}

SAMBA_GPT2_API bool gpt2_trace_step(const void *config, samba_generator_graph *graph)
{
    const gpt2_config *c = (const gpt2_config *)config;
    samba_tensor *x = gpt2_embed(c, graph->ids, graph->position);
    if (!x) return false;
    for (int32_t i = 0; i < c->n_layer; i++)
        x = gpt2_block(c, i, x, samba_gpt2__attend_cached, graph);
    x = samba_lookup(graph->last, samba_reshape(x, samba_gpt2__dims(2, -1, c->n_embd, 0, 0)));
    graph->logits = samba_squeeze(gpt2_head(c, samba_unsqueeze(x, 1)), 1);
    return graph->logits != NULL;
}

static inline samba_tensor *samba_gpt2__hidden(const gpt2_config *c, samba_tensor *ids,
                                               samba_tensor *positions)
{
    samba_tensor *x = gpt2_embed(c, ids, positions);
    for (int32_t layer = 0; x && layer < c->n_layer; layer++) {
        x = gpt2_block(c, layer, x, gpt2_attend_causal, NULL);
    }
    return x;
}

SAMBA_GPT2_API samba_tensor *gpt2_logits(const gpt2_config *c, samba_tensor *ids,
                                         samba_tensor *positions)
{
    return gpt2_head(c, samba_gpt2__hidden(c, ids, positions));
}

SAMBA_GPT2_API samba_tensor *gpt2_loss(const gpt2_config *c, samba_tensor *ids,
                                       samba_tensor *positions, samba_tensor *labels,
                                       const samba_loss_opts *opts)
{
    samba_tensor *x = samba_gpt2__hidden(c, ids, positions);
    if (!samba_gpt2__traceable(c, x, "gpt2_loss", 3)) return NULL;
    x = samba_gpt2__layer_norm(c, x, samba_gpt2__ln_f(c));
    return samba_linear_cross_entropy(x, samba_gpt2__head_weight(c, ids->session), labels, 0, opts);
}

/* ---- Weights ---- */

/* Parameter number i in the session; NULL with a reason if it is not there, or not as it should
   be. */
static inline samba_tensor *samba_gpt2__tensor(samba_session *s, const gpt2_config *c, int32_t i,
                                               const samba_model__why *why)
{
    gpt2_param p;
    gpt2_param_at(c, i, &p);
    samba_shape shape = samba_gpt2__shape(&p);
    return samba_model__tensor(s, p.samba_name, &shape, "gpt2_logits", why);
}

/* A session with an error standing does nothing: its error is the reason. */
static inline bool samba_gpt2__ready(samba_session *s, const gpt2_config *c,
                                     const samba_model__why *why)
{
    if (!gpt2_config_check(c, why->text, why->size)) return false;
    if (!s) return samba_model__fail(why, "the session is NULL");
    if (!samba_ok(s)) return samba_model__fail(why, "%s", samba_error(s));
    for (int32_t i = 0; i < gpt2_n_params(c); i++) {
        if (!samba_gpt2__tensor(s, c, i, why)) return false;
    }
    return true;
}

static inline bool samba_gpt2__fits(const gpt2_param *p, const samba_safetensors_tensor *t,
                                    const samba_model__why *why)
{
    char got[200], want[64];
    const int64_t dim[2] = { p->dim[0], p->dim[1] };
    bool same = t->ndim == p->ndim;
    for (int32_t d = 0; same && d < p->ndim; d++)
        same = t->dim[d] == dim[d];
    if (!same) {
        bool turned = p->transposed && t->ndim == 2 && t->dim[0] == dim[1] && t->dim[1] == dim[0];
        return samba_model__fail(why, "tensor \"%s\" is %s, but this configuration wants %s%s",
                                 t->name,
                                 samba_safetensors_shape_text(t->ndim, t->dim, got, sizeof got),
                                 samba_safetensors_shape_text(p->ndim, dim, want, sizeof want),
                                 turned ? ". Is it a checkpoint whose matrices are (out, in)? "
                                          "Transpose them"
                                        : "");
    }
    return samba_model__is_float(t, why);
}

/* The causal masks that old checkpoints carry. */
static inline bool samba_gpt2__is_buffer(const gpt2_config *c, const char *name)
{
    int32_t layer;
    const char *rest = samba_model__after(name, "transformer.");
    rest = samba_gpt2__in_block(c, rest ? rest : name, &layer);
    return rest && (!strcmp(rest, "attn.bias") || !strcmp(rest, "attn.masked_bias"));
}

/* Finds the tensor of every parameter. of has room for all of them. */
static inline bool samba_gpt2__match(const gpt2_config *c, const samba_safetensors *f,
                                     const samba_safetensors_tensor **of,
                                     const samba_model__why *why)
{
    const int32_t n = gpt2_n_params(c);
    gpt2_param p;
    for (int32_t i = 0; i < n; i++)
        of[i] = NULL;
    for (size_t k = 0; k < samba_safetensors_count(f); k++) {
        const samba_safetensors_tensor *t = samba_safetensors_at(f, k);
        int32_t i = gpt2_param_find(c, t->name);
        bool tied = c->tie_word_embeddings && !strcmp(t->name, "lm_head.weight");
        if (i < 0 && (tied || samba_gpt2__is_buffer(c, t->name))) continue;
        if (i < 0)
            return samba_model__fail(why,
                                     "tensor \"%.100s\" is not in this configuration (n_layer "
                                     "%d, %s)",
                                     t->name, (int)c->n_layer,
                                     c->tie_word_embeddings ? "tied" : "not tied");
        if (of[i])
            return samba_model__fail(why, "tensors \"%s\" and \"%s\" are the same parameter",
                                     of[i]->name, t->name);
        of[i] = t;
    }
    for (int32_t i = 0; i < n; i++) {
        gpt2_param_at(c, i, &p);
        if (!of[i]) return samba_model__fail(why, "tensor \"%s\" is missing", p.name);
        if (!samba_gpt2__fits(&p, of[i], why)) return false;
    }
    return true;
}

/* A file of a tied model may repeat wte as lm_head; it must then be the same. */
static inline bool samba_gpt2__check_head(const gpt2_config *c, const samba_safetensors *f,
                                          const samba_safetensors_tensor *wte, float *buffer,
                                          const samba_model__why *why)
{
    const samba_safetensors_tensor *t = samba_safetensors_find(f, "lm_head.weight");
    const uint64_t columns = (uint64_t)c->n_embd;
    gpt2_param p;
    if (!t || !c->tie_word_embeddings) return true;
    gpt2_param_at(c, SAMBA_GPT2__WTE, &p);
    if (!samba_gpt2__fits(&p, t, why)) return false;
    for (uint64_t row = 0; row < (uint64_t)c->vocab_size; row++) {
        if (!samba_safetensors_read_f32(f, wte, row * columns, columns, buffer, why->text,
                                        why->size)
            || !samba_safetensors_read_f32(f, t, row * columns, columns, buffer + columns,
                                           why->text, why->size))
            return false;
        if (!memcmp(buffer, buffer + columns, columns * sizeof *buffer)) continue;
        return samba_model__fail(why,
                                 "lm_head.weight differs from wte in row %llu: this model is not "
                                 "tied. Set tie_word_embeddings to false in its configuration",
                                 (unsigned long long)row);
    }
    return true;
}

/* Reads t into w as samba has it; rows has room for SAMBA_GPT2__ROWS rows of a matrix. */
static inline bool samba_gpt2__read(const samba_safetensors *f, const samba_safetensors_tensor *t,
                                    const gpt2_param *p, float *w, float *rows,
                                    const samba_model__why *why)
{
    if (!p->transposed)
        return samba_safetensors_read_f32(f, t, 0, t->count, w, why->text, why->size);
    const size_t n_in = (size_t)p->dim[0], n_out = (size_t)p->dim[1];
    for (size_t at = 0; at < n_in; at += SAMBA_GPT2__ROWS) {
        size_t n = n_in - at < SAMBA_GPT2__ROWS ? n_in - at : (size_t)SAMBA_GPT2__ROWS;
        if (!samba_safetensors_read_f32(f, t, at * n_out, n * n_out, rows, why->text, why->size)) {
            return false;
        }
        for (size_t o = 0; o < n_out; o++) {
            for (size_t i = 0; i < n; i++)
                w[o * n_in + at + i] = rows[i * n_out + o];
        }
    }
    return true;
}

static inline size_t samba_gpt2__largest(const gpt2_config *c)
{
    size_t most = 0;
    gpt2_param p;
    for (int32_t i = 0; gpt2_param_at(c, i, &p); i++) {
        size_t n = (size_t)p.dim[0] * (size_t)(p.ndim == 2 ? p.dim[1] : 1);
        if (n > most) most = n;
    }
    return most;
}

/* Room for SAMBA_GPT2__ROWS rows of the widest matrix of a block. */
static inline float *samba_gpt2__rows(const gpt2_config *c)
{
    size_t widest = 3 * (size_t)c->n_embd, inner = (size_t)samba_gpt2__inner(c);
    return (float *)SAMBA_GPT2_MALLOC(SAMBA_GPT2__ROWS * (inner > widest ? inner : widest)
                                      * sizeof(float));
}

/* All of parameter i as samba has it. */
static inline bool samba_gpt2__read_param(const samba_model__source *from, int32_t i, float *values)
{
    gpt2_param p;
    gpt2_param_at((const gpt2_config *)from->config, i, &p);
    return samba_gpt2__read(from->f, from->of[i], &p, values, from->rows, from->why);
}

/* Rows first ... first+n-1 of parameter i as samba has it. A matrix of a block lies (in,out) in
   its file: each of its rows has n of the numbers. */
static inline bool samba_gpt2__read_rows(const samba_model__source *from, int32_t i, int32_t first,
                                         int32_t n, float *rows)
{
    const samba_model__why *why = from->why;
    gpt2_param p;
    gpt2_param_at((const gpt2_config *)from->config, i, &p);
    const uint64_t n_in = (uint64_t)p.dim[0], n_out = (uint64_t)p.dim[1], count = (uint64_t)n;
    if (!p.transposed) {
        return samba_safetensors_read_f32(from->f, from->of[i], (uint64_t)first * n_out,
                                          count * n_out, rows, why->text, why->size);
    }
    float *part = from->rows; /* has room for the widest row of a file */
    for (uint64_t k = 0; k < n_in; k++) {
        if (!samba_safetensors_read_f32(from->f, from->of[i], k * n_out + (uint64_t)first, count,
                                        part, why->text, why->size))
            return false;
        for (uint64_t row = 0; row < count; row++)
            rows[row * n_in + k] = part[row];
    }
    return true;
}

static inline int32_t samba_gpt2__find(const void *config, const char *tensor_name)
{
    char name[GPT2_MAX_NAME];
    if (!gpt2_file_name(tensor_name, name, sizeof name)) return -1;
    return gpt2_param_find((const gpt2_config *)config, name);
}

static inline samba_tensor *samba_gpt2__tensor_of(samba_session *s, const void *config, int32_t i,
                                                  const samba_model__why *why)
{
    return samba_gpt2__tensor(s, (const gpt2_config *)config, i, why);
}

static const samba_model__family samba_gpt2__family
    = { samba_gpt2__tensor_of, samba_gpt2__find, samba_gpt2__read_param, samba_gpt2__read_rows };

static inline void samba_gpt2__close_source(samba_model__source *from)
{
    SAMBA_GPT2_FREE(from->rows);
    samba_model__close_source(from);
}

/* Proves all of the file before anything of the session changes. To be closed either way. */
static inline bool samba_gpt2__open_source(samba_model__source *from, samba_session *s,
                                           const gpt2_config *c, const samba_safetensors *f,
                                           const samba_model__why *why)
{
    memset(from, 0, sizeof *from);
    if (!f) return samba_model__fail(why, "the safetensors are NULL");
    if (!samba_gpt2__ready(s, c, why)) return false;
    if (!samba_model__open_source(from, &samba_gpt2__family, c, gpt2_n_params(c), f, why))
        return false;
    from->rows = samba_gpt2__rows(c);
    if (!from->rows) return samba_model__fail(why, "there is no memory for rows of a matrix");
    return samba_gpt2__match(c, f, from->of, why)
        && samba_gpt2__check_head(c, f, from->of[SAMBA_GPT2__WTE], from->rows, why);
}

SAMBA_GPT2_API bool gpt2_load(samba_session *s, const gpt2_config *c, const samba_safetensors *f,
                              char *why, size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    samba_model__source from;
    bool fine = samba_gpt2__open_source(&from, s, c, f, &w) && samba_model__fill(&from, s);
    samba_gpt2__close_source(&from);
    return fine;
}

SAMBA_GPT2_API bool gpt2_compile_folder(samba_session *s, const gpt2_config *c, const char *folder,
                                        const samba_program *program, char *why, size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    samba_model__source from;
    if (!program) return samba_model__fail(&w, "the program is NULL");
    samba_safetensors *f = samba_safetensors_open_folder(folder, why, why_size);
    if (!f) return false;
    bool fine
        = samba_gpt2__open_source(&from, s, c, f, &w) && samba_model__compile(&from, s, *program);
    samba_gpt2__close_source(&from);
    samba_safetensors_close(f);
    return fine;
}

/* Writes parameter p, whose values samba has in w. */
static inline bool samba_gpt2__put(samba_safetensors_writer *writer, const gpt2_param *p,
                                   const float *w, float *rows)
{
    const size_t n_in = (size_t)p->dim[0], n_out = p->ndim == 2 ? (size_t)p->dim[1] : 1;
    if (!p->transposed) return samba_safetensors_put(writer, w, n_in * n_out);
    for (size_t at = 0; at < n_in; at += SAMBA_GPT2__ROWS) {
        size_t n = n_in - at < SAMBA_GPT2__ROWS ? n_in - at : (size_t)SAMBA_GPT2__ROWS;
        for (size_t o = 0; o < n_out; o++) {
            for (size_t i = 0; i < n; i++)
                rows[i * n_out + o] = w[o * n_in + at + i];
        }
        if (!samba_safetensors_put(writer, rows, n * n_out)) return false;
    }
    return true;
}

static inline bool samba_gpt2__save_weights(samba_session *s, const gpt2_config *c,
                                            const char *path, samba_safetensors_dtype dtype,
                                            const samba_model__why *why)
{
    const char *const metadata[2] = { "format", "pt" }; /* transformers asks for it */
    const int32_t n = gpt2_n_params(c);
    samba_safetensors_writer *w = NULL;
    gpt2_param *params = (gpt2_param *)SAMBA_GPT2_MALLOC((size_t)n * sizeof *params);
    samba_safetensors_entry *entries
        = (samba_safetensors_entry *)SAMBA_GPT2_MALLOC((size_t)n * sizeof *entries);
    float *rows = samba_gpt2__rows(c),
          *values = (float *)SAMBA_GPT2_MALLOC(samba_gpt2__largest(c) * sizeof *values);
    bool fine = params && entries && rows && values;
    if (!fine) samba_model__fail(why, "there is no memory for a list of %d parameters", (int)n);
    if (fine) memset(entries, 0, (size_t)n * sizeof *entries);
    for (int32_t i = 0; fine && i < n; i++) {
        gpt2_param_at(c, i, &params[i]);
        entries[i].name = params[i].name;
        entries[i].dtype = dtype;
        entries[i].ndim = params[i].ndim;
        entries[i].dim[0] = params[i].dim[0];
        entries[i].dim[1] = params[i].dim[1];
    }
    if (fine)
        w = samba_safetensors_create(path, entries, (size_t)n, metadata, 1, why->text, why->size);
    for (int32_t i = 0; w && i < n; i++) {
        samba_tensor *t = samba_gpt2__tensor(s, c, i, why);
        fine = samba_copy_out_f32(t, values, samba_count(&t->shape));
        if (!fine) break;
        samba_gpt2__put(w, &params[i], values, rows);
    }
    if (w && fine)
        fine = samba_safetensors_finish(w, why->text, why->size);
    else if (w) {
        samba_safetensors_abandon(w);
        samba_model__fail(why, "%s", samba_error(s));
    }
    SAMBA_GPT2_FREE(params);
    SAMBA_GPT2_FREE(entries);
    SAMBA_GPT2_FREE(rows);
    SAMBA_GPT2_FREE(values);
    return fine && w;
}

SAMBA_GPT2_API bool gpt2_save(samba_session *s, const gpt2_config *c, const char *folder,
                              samba_safetensors_dtype dtype, char *why, size_t why_size)
{
    static const char config[] = "/config.json", weights[] = "/model.safetensors";
    samba_model__why w = samba_model__why_of(why, why_size);
    if (!folder) return samba_model__fail(&w, "the folder is NULL");
    if (!samba_gpt2__ready(s, c, &w)) return false;
    size_t n = strlen(folder);
    char *path = (char *)SAMBA_GPT2_MALLOC(n + sizeof weights);
    if (!path) return samba_model__fail(&w, "there is no memory for a path");
    memcpy(path, folder, n);
    memcpy(path + n, config, sizeof config);
    bool fine = gpt2_config_write(path, c, why, why_size);
    memcpy(path + n, weights, sizeof weights);
    fine = fine && samba_gpt2__save_weights(s, c, path, dtype, &w);
    SAMBA_GPT2_FREE(path);
    return fine;
}

SAMBA_GPT2_API bool gpt2_optims(samba_session *s, const gpt2_config *c, const samba_optim *base,
                                samba_tensor **params, samba_optim optims[3], char *why,
                                size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    gpt2_param p;
    int32_t used = 0;
    if (!base || !params || !optims) return samba_model__fail(&w, "an argument is NULL");
    if (!samba_gpt2__ready(s, c, &w)) return false;
    for (int group = GPT2_EMBEDDING; group <= GPT2_NO_DECAY; group++) {
        samba_optim *o = &optims[group];
        *o = *base;
        if (group == GPT2_NO_DECAY) o->weight_decay = 0.0f;
        o->params = params + used;
        o->n_params = 0;
        for (int32_t i = 0; gpt2_param_at(c, i, &p); i++) {
            if ((int)p.group != group) continue;
            params[used++] = samba_gpt2__tensor(s, c, i, &w);
            o->n_params++;
        }
    }
    return true;
}

/* ---- Folders and adapters ---- */

SAMBA_GPT2_API bool gpt2_load_folder(samba_session *s, const gpt2_config *c, const char *folder,
                                     char *why, size_t why_size)
{
    samba_safetensors *f = samba_safetensors_open_folder(folder, why, why_size);
    bool fine = f && gpt2_load(s, c, f, why, why_size);
    samba_safetensors_close(f);
    return fine;
}

SAMBA_GPT2_API bool gpt2_save_lora(samba_session *s, const char *path,
                                   samba_safetensors_dtype dtype, char *why, size_t why_size)
{
    return samba_model__save_lora(s, path, dtype, why, why_size);
}

SAMBA_GPT2_API bool gpt2_load_lora(samba_session *s, const char *path, char *why, size_t why_size)
{
    return samba_model__load_lora(s, path, why, why_size);
}
#endif /* SAMBA_GPT2_IMPLEMENTATION */
/* MIT license, as samba.h. */
