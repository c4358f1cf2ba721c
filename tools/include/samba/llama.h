/* llama.h - Llama 2 and 3, Mistral, Qwen 2 and 3, SmolLM on samba.h, from and to folders of Hugging
   Face.

   Do this:
       #define SAMBA_IMPLEMENTATION, SAMBA_SAFETENSORS_IMPLEMENTATION,
               SAMBA_GENERATE_IMPLEMENTATION, SAMBA_LLAMA_IMPLEMENTATION
       in exactly ONE file, before
       #include <samba.h>
       #include <samba/llama.h>        (it includes safetensors.h and generate.h beside it)
       cc -O2 program.c -lcjson -lm -pthread         (Debian: libcjson-dev)

       llama_config c;
       char why[400];
       samba_session *s = samba_open(NULL);
       if (!llama_config_read("SmolLM/config.json", &c, why, sizeof why)) ...
       samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(1, 64));
       samba_tensor *logits = llama_logits(&c, ids, NULL);
       if (!llama_load_folder(s, &c, "SmolLM", why, sizeof why)) ...

   The models are LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM and Qwen3ForCausalLM of
   transformers: RMSNorm before attention and before a gated net, rotary positions, several heads
   of queries for one of keys and values. Qwen 2 has biases of q, k, v; Qwen 3 norms of q and k;
   Mistral, and some layers of Qwen, look back over a window only. SmolLM is a Llama.

   A parameter has its Hugging Face name with "__" for ".": model.layers.0.self_attn.q_proj.weight
   is model__layers__0__self_attn__q_proj__weight. Matrices are (out,in) in files and here.

   SAMBA_LLAMA_STATIC makes all functions private to the file. Define both SAMBA_MODEL_MALLOC(size)
   and SAMBA_MODEL_FREE(p) to allocate elsewhere.

   Letters: B batch, T time, C hidden_size, H heads of queries, K heads of keys and values, D
   head_dim, L length of the cache. */
#ifndef SAMBA_LLAMA_H
#define SAMBA_LLAMA_H

#ifndef SAMBA_H
#error "llama.h: include samba.h before"
#endif
#if defined(SAMBA_LLAMA_IMPLEMENTATION) && !defined(SAMBA_GENERATE_IMPLEMENTATION)
#define SAMBA_GENERATE_IMPLEMENTATION /* is part of it */
#endif
#if defined(SAMBA_LLAMA_IMPLEMENTATION) && !defined(SAMBA_LOSS_IMPLEMENTATION)
#define SAMBA_LOSS_IMPLEMENTATION /* is part of it */
#endif
#if defined(SAMBA_LLAMA_IMPLEMENTATION) && !defined(SAMBA_LORA_IMPLEMENTATION)
#define SAMBA_LORA_IMPLEMENTATION /* is part of it */
#endif
#include "generate.h"
#include "lora.h"
#include "loss.h"
#include "safetensors.h"

#ifndef SAMBA_LLAMA_API
#if defined(SAMBA_LLAMA_STATIC)
#define SAMBA_LLAMA_API static inline
#elif defined(__cplusplus)
#define SAMBA_LLAMA_API extern "C"
#else
#define SAMBA_LLAMA_API extern
#endif
#endif

/* ---- Configuration --------------------------------------------------------------------------- */

/* Values of model_type. */
#define SAMBA_LLAMA__FAMILIES(X) \
    X("llama", LLAMA, "LlamaForCausalLM") \
    X("mistral", MISTRAL, "MistralForCausalLM") \
    X("qwen2", QWEN2, "Qwen2ForCausalLM") \
    X("qwen3", QWEN3, "Qwen3ForCausalLM")

typedef enum llama_family { LLAMA_LLAMA = 0, LLAMA_MISTRAL, LLAMA_QWEN2, LLAMA_QWEN3 } llama_family;

/* Values of hidden_act, what each is here. */
#define SAMBA_LLAMA__ACTIVATIONS(X) \
    X("silu", SILU) \
    X("swish", SILU) \
    X("gelu", GELU) \
    X("gelu_new", GELU_TANH) \
    X("gelu_pytorch_tanh", GELU_TANH) \
    X("relu", RELU)

typedef enum llama_activation {
    LLAMA_SILU = 0,
    LLAMA_GELU,
    LLAMA_GELU_TANH,
    LLAMA_RELU
} llama_activation;

/* How the frequencies of positions are scaled: values of rope_type. */
#define SAMBA_LLAMA__ROPES(X) \
    X("default", DEFAULT) \
    X("linear", LINEAR) \
    X("llama3", LLAMA3) \
    X("yarn", YARN)

typedef enum llama_rope_type {
    LLAMA_ROPE_DEFAULT = 0,
    LLAMA_ROPE_LINEAR,
    LLAMA_ROPE_LLAMA3,
    LLAMA_ROPE_YARN
} llama_rope_type;

/* The names are those of config.json. */
typedef struct llama_rope {
    llama_rope_type rope_type;
    double rope_theta;
    double factor;                            /* but of DEFAULT */
    double low_freq_factor, high_freq_factor; /* of LLAMA3 */
    double beta_fast, beta_slow;              /* of YARN */
    double attention_factor;                  /* of YARN; 0: as its paper says */
    bool truncate;                            /* of YARN */
    int32_t original_max_position_embeddings; /* of LLAMA3 and YARN; 0: the model's */
} llama_rope;

#define LLAMA_MAX_LAYERS 256
#define LLAMA_MAX_EOS 8

typedef struct llama_config {
    llama_family family; /* model_type */
    int32_t hidden_size, intermediate_size, num_hidden_layers;
    int32_t num_attention_heads, num_key_value_heads, head_dim;
    int32_t vocab_size, max_position_embeddings;
    llama_activation hidden_act;
    llama_rope rope;
    double rms_norm_eps;
    double initializer_range; /* 0: zeros; quicker, if weights are loaded anyway */
    double attention_dropout; /* 0: no such layers are traced */
    bool attention_bias;      /* of Llama: q, k, v, o; of Qwen 3, too. Qwen 2 has q, k, v always */
    bool mlp_bias;            /* of Llama */
    bool tie_word_embeddings; /* the last matrix is that of the tokens */
    int32_t sliding_window;   /* tokens that one sees, with itself; 0: all before it */
    bool slides[LLAMA_MAX_LAYERS]; /* layers that have the window */
    int32_t bos_token_id;          /* -1: none */
    int32_t eos_token_id[LLAMA_MAX_EOS], n_eos;
} llama_config;

/* SmolLM-135M: 134,515,008 parameters. */
SAMBA_LLAMA_API llama_config llama_config_default(void);
/* False with a reason, if a value is absurd or the sizes would overflow. */
SAMBA_LLAMA_API bool llama_config_check(const llama_config *c, char *why, size_t why_size);
/* Reads config.json as transformers 4 and 5 write it. Sizes must be there, other keys default to
   transformers' values. A key that is not known, or that asks for what is not here, is refused by
   its name. pad_token_id is not read: transformers gives that token's embedding no gradient; here
   it is trained as all others are, where it stands in a text and counts. */
SAMBA_LLAMA_API bool llama_config_read(const char *path, llama_config *c, char *why,
                                       size_t why_size);
SAMBA_LLAMA_API bool llama_config_parse(const char *text, size_t size, llama_config *c, char *why,
                                        size_t why_size);
/* As transformers 4 writes it, which 5 reads, too. */
SAMBA_LLAMA_API bool llama_config_write(const char *path, const llama_config *c, char *why,
                                        size_t why_size);
/* What the positions 0 ... rows-1 rotate by: rows of D/2 cosines, then D/2 sines. */
SAMBA_LLAMA_API void llama_rotations(const llama_config *c, int32_t rows, float *table);

/* ---- Parameters ------------------------------------------------------------------------------ */

#define LLAMA_MAX_NAME 96

typedef struct llama_param {
    char name[LLAMA_MAX_NAME];       /* model.layers.0.mlp.up_proj.weight */
    char samba_name[LLAMA_MAX_NAME]; /* model__layers__0__mlp__up_proj__weight */
    int32_t ndim, dim[2];
    samba_init init;
} llama_param;

SAMBA_LLAMA_API int32_t llama_n_params(const llama_config *c);
/* Number i, in the order of transformers' state_dict. False if there is none. */
SAMBA_LLAMA_API bool llama_param_at(const llama_config *c, int32_t i, llama_param *p);
/* The number of a name in a file; -1 if it is no parameter. */
SAMBA_LLAMA_API int32_t llama_param_find(const llama_config *c, const char *name);

/* ---- The model, for tracing. Errors stay in the session, as those of every op. --------------- */

/* ids (B,T) i32 -> logits (B,T,vocab_size). positions (T) or (B,T), i32; NULL: 0 ... T-1. There is
   no mask: attention is causal, so what pads a row on the right changes no logit before it.
   Parameters are made at the first use, with transformers' initial distributions. */
SAMBA_LLAMA_API samba_tensor *llama_logits(const llama_config *c, samba_tensor *ids,
                                           samba_tensor *positions);
/* The cross-entropy of llama_logits and labels i32 (B,T), mean or sum, by
   samba_linear_cross_entropy: no tensor (B,T,vocab_size), if samba_program.memory asks for that. */
SAMBA_LLAMA_API samba_tensor *llama_loss(const llama_config *c, samba_tensor *ids,
                                         samba_tensor *positions, samba_tensor *labels,
                                         const samba_loss_opts *opts);
/* Records one graph of a generator, for samba_generator_trace: B rows of T tokens that attend to
   what the caches model__layers__<layer>__self_attn__k and v (B,K,L,D) hold. */
SAMBA_LLAMA_API bool llama_trace_step(const void *config, samba_generator_graph *graph);

/* Gives a PEF of a generator, loaded without tracing, the rotations of its positions. Refuses one
   whose positions rotate otherwise. */
SAMBA_LLAMA_API bool llama_find_rotations(const llama_config *c, samba_generator *g);

/* ---- Weights and training -------------------------------------------------------------------- */

/* Fills all parameters of the session; before compiling, after compiling, or after loading a PEF.
   Everything is checked before the first parameter is changed. A last matrix that should be tied
   must be absent, or equal to that of the tokens. Values that are NaN or infinite are taken, and
   told through the log. */
SAMBA_LLAMA_API bool llama_load(samba_session *s, const llama_config *c, const samba_safetensors *f,
                                char *why, size_t why_size);
/* The same from folder/model.safetensors, or from all of folder/model-*.safetensors. */
SAMBA_LLAMA_API bool llama_load_folder(samba_session *s, const llama_config *c, const char *folder,
                                       char *why, size_t why_size);
/* samba_compile of a program that infers, with the weights of the folder. Those that
   program->weights packs (bf16, int8, int4) are packed while they are read, some rows at a time,
   and have no copy in f32; adapters are not packed, and filled by llama_load_adapter as ever. What
   samba_save writes then holds them packed, and samba_load of another
   session maps it: nothing is read or packed again. */
SAMBA_LLAMA_API bool llama_compile_folder(samba_session *s, const llama_config *c,
                                          const char *folder, const samba_program *program,
                                          char *why, size_t why_size);
/* Writes folder/config.json and folder/model.safetensors for transformers' from_pretrained, each
   replaced only when it is complete. dtype: SAMBA_SAFETENSORS_F32 (which is 0), BF16 or F16. */
SAMBA_LLAMA_API bool llama_save(samba_session *s, const llama_config *c, const char *folder,
                                samba_safetensors_dtype dtype, char *why, size_t why_size);
/* Two optimizers: matrices; biases and norms, without decay. base says the rest. params has room
   for llama_n_params(c) and must live until compile and load. */
SAMBA_LLAMA_API bool llama_optims(samba_session *s, const llama_config *c, const samba_optim *base,
                                  samba_tensor **params, samba_optim optims[2], char *why,
                                  size_t why_size);

/* ---- Adapters, in folders of PEFT ------------------------------------------------------------ */

/* What samba_add_lora takes, and room for the names that it points to. */
typedef struct llama_lora {
    samba_lora lora;
    char names[SAMBA_MAX_LORA_TARGETS][64];
} llama_lora;

/* Reads folder/adapter_config.json: rank, alpha, target_modules. What is not plain LoRA (DoRA,
   biases, ranks by pattern, saved modules ...) is refused by its key; lora_dropout, which changes
   training alone, is not done. Keep *lora while the session
   traces: samba_add_lora(s, &lora.lora). */
SAMBA_LLAMA_API bool llama_read_adapter(const char *folder, llama_lora *lora, char *why,
                                        size_t why_size);
/* Fills the adapters of a program that is loaded from folder/adapter_model.safetensors, which must
   have exactly those. */
SAMBA_LLAMA_API bool llama_load_adapter(samba_session *s, const char *folder, char *why,
                                        size_t why_size);
/* Writes both files into a folder that exists, for PEFT's from_pretrained. */
SAMBA_LLAMA_API bool llama_save_adapter(samba_session *s, const samba_lora *lora,
                                        const char *folder, samba_safetensors_dtype dtype,
                                        char *why, size_t why_size);
#endif /* SAMBA_LLAMA_H */

/* ============================================================================================== */
#if defined(SAMBA_LLAMA_IMPLEMENTATION) && !defined(SAMBA_LLAMA__IMPLEMENTED)
#define SAMBA_LLAMA__IMPLEMENTED

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "model.h"

/* ---- Configuration ---- */

SAMBA_LLAMA_API llama_config llama_config_default(void)
{
    llama_config c;
    memset(&c, 0, sizeof c);
    c.hidden_size = 576;
    c.intermediate_size = 1536;
    c.num_hidden_layers = 30;
    c.num_attention_heads = 9;
    c.num_key_value_heads = 3;
    c.head_dim = 64;
    c.vocab_size = 49152;
    c.max_position_embeddings = 2048;
    c.rope.rope_theta = 10000;
    c.rope.factor = 1;
    c.rope.beta_fast = 32;
    c.rope.beta_slow = 1;
    c.rope.truncate = true;
    c.rms_norm_eps = 1e-5;
    c.initializer_range = 0.02;
    c.tie_word_embeddings = true;
    c.bos_token_id = 0;
    c.n_eos = 1;
    return c;
}

/* No matrix has more elements than an int32_t counts: all sizes below are far from overflow. */
static inline bool samba_llama__sizes(const llama_config *c, const samba_model__why *why)
{
    int64_t columns = c->hidden_size, rows = c->vocab_size;
    int64_t heads = (int64_t)c->num_attention_heads * c->head_dim;
    if (c->intermediate_size > rows) rows = c->intermediate_size;
    if (heads > rows) rows = heads;
    if (rows * columns <= INT32_MAX
        && (int64_t)c->max_position_embeddings * c->head_dim <= INT32_MAX)
        return true;
    return samba_model__fail(
        why, "a matrix would have %lld x %lld elements; at most 2^31 - 1 are possible",
        (long long)rows, (long long)columns);
}

static inline bool samba_llama__check_rope(const llama_config *c, const samba_model__why *w)
{
    const llama_rope *r = &c->rope;
    if (!samba_model__in("rope_type", (int64_t)r->rope_type, 0, LLAMA_ROPE_YARN, w)) return false;
    if (!samba_model__real_in("rope_theta", r->rope_theta, 1, 1e12, w)) return false;
    if (!samba_model__in("original_max_position_embeddings", r->original_max_position_embeddings, 0,
                         1 << 24, w))
        return false;
    if (r->rope_type == LLAMA_ROPE_DEFAULT) return true;

    if (!samba_model__real_in("factor", r->factor, 1e-3, 1e6, w)) return false;
    if (r->rope_type == LLAMA_ROPE_LLAMA3) {
        return samba_model__real_in("low_freq_factor", r->low_freq_factor, 1e-3, 1e6, w)
            && samba_model__real_in("high_freq_factor", r->high_freq_factor, r->low_freq_factor,
                                    1e6, w)
            && (r->high_freq_factor > r->low_freq_factor
                || samba_model__fail(w, "high_freq_factor must be above low_freq_factor"));
    }
    if (r->rope_type != LLAMA_ROPE_YARN) return true;
    return samba_model__real_in("beta_fast", r->beta_fast, 1e-3, 1e6, w)
        && samba_model__real_in("beta_slow", r->beta_slow, 1e-3, 1e6, w)
        && samba_model__real_in("attention_factor", r->attention_factor, 0, 1e3, w)
        && samba_model__real_in("rope_theta", r->rope_theta, 1.001, 1e12, w);
}

static inline bool samba_llama__check_sizes(const llama_config *c, const samba_model__why *w)
{
    return samba_model__in("hidden_size", c->hidden_size, 1, 1 << 16, w)
        && samba_model__in("intermediate_size", c->intermediate_size, 1, 1 << 20, w)
        && samba_model__in("num_hidden_layers", c->num_hidden_layers, 1, LLAMA_MAX_LAYERS, w)
        && samba_model__in("num_attention_heads", c->num_attention_heads, 1, 1 << 12, w)
        && samba_model__in("num_key_value_heads", c->num_key_value_heads, 1, c->num_attention_heads,
                           w)
        && samba_model__in("head_dim", c->head_dim, 2, 1 << 12, w)
        && samba_model__in("vocab_size", c->vocab_size, 1, 1 << 24, w)
        && samba_model__in("max_position_embeddings", c->max_position_embeddings, 1, 1 << 24, w);
}

SAMBA_LLAMA_API bool llama_config_check(const llama_config *c, char *why, size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    if (!c) return samba_model__fail(&w, "the configuration is NULL");
    if (!samba_model__in("model_type", (int64_t)c->family, 0, LLAMA_QWEN3, &w)
        || !samba_llama__check_sizes(c, &w)
        || !samba_model__in("hidden_act", (int64_t)c->hidden_act, 0, LLAMA_RELU, &w)
        || !samba_model__in("sliding_window", c->sliding_window, 0, 1 << 22, &w)
        || !samba_model__in("bos_token_id", c->bos_token_id, -1, INT32_MAX, &w)
        || !samba_model__in("the number of eos_token_id", c->n_eos, 0, LLAMA_MAX_EOS, &w)
        || !samba_model__real_in("rms_norm_eps", c->rms_norm_eps, 1e-30, 1, &w)
        || !samba_model__real_in("initializer_range", c->initializer_range, 0, 1, &w)
        || !samba_model__real_in("attention_dropout", c->attention_dropout, 0, 0.999, &w)
        || !samba_llama__check_rope(c, &w))
        return false;
    if (c->num_attention_heads % c->num_key_value_heads) {
        return samba_model__fail(
            &w, "num_attention_heads is %d, which num_key_value_heads %d does not divide",
            (int)c->num_attention_heads, (int)c->num_key_value_heads);
    }
    if (c->head_dim % 2)
        return samba_model__fail(&w, "head_dim is %d; rotary positions need an even one",
                                 (int)c->head_dim);
    return samba_llama__sizes(c, &w);
}

/* ---- config.json: which keys are known ---- */

/* What a key is in each family: used; or only its neutral value may stand there, because
   transformers does not read it in that family, or asks for what is not here. */
typedef enum samba_llama__honour {
    SAMBA_LLAMA__READ,    /* is read below */
    SAMBA_LLAMA__IGNORED, /* changes no number */
    SAMBA_LLAMA__FALSE,   /* must be false, null or 0 */
    SAMBA_LLAMA__ONE      /* must be 1 or null */
} samba_llama__honour;

typedef struct samba_llama__known {
    const char *key;
    samba_llama__honour use[LLAMA_QWEN3 + 1];
} samba_llama__known;

/* clang-format off */
#define SAMBA_LLAMA__ALL(use) { SAMBA_LLAMA__##use, SAMBA_LLAMA__##use, SAMBA_LLAMA__##use, \
                                SAMBA_LLAMA__##use }
#define SAMBA_LLAMA__EACH(llama, mistral, qwen2, qwen3) \
    { SAMBA_LLAMA__##llama, SAMBA_LLAMA__##mistral, SAMBA_LLAMA__##qwen2, SAMBA_LLAMA__##qwen3 }

static const samba_llama__known samba_llama__keys[] = {
    { "model_type",              SAMBA_LLAMA__ALL(READ) },
    { "hidden_size",             SAMBA_LLAMA__ALL(READ) },
    { "intermediate_size",       SAMBA_LLAMA__ALL(READ) },
    { "num_hidden_layers",       SAMBA_LLAMA__ALL(READ) },
    { "num_attention_heads",     SAMBA_LLAMA__ALL(READ) },
    { "num_key_value_heads",     SAMBA_LLAMA__ALL(READ) },
    { "head_dim",                SAMBA_LLAMA__ALL(READ) },
    { "vocab_size",              SAMBA_LLAMA__ALL(READ) },
    { "max_position_embeddings", SAMBA_LLAMA__ALL(READ) },
    { "hidden_act",              SAMBA_LLAMA__ALL(READ) },
    { "rope_theta",              SAMBA_LLAMA__ALL(READ) },
    { "rope_scaling",            SAMBA_LLAMA__ALL(READ) },
    { "rope_parameters",         SAMBA_LLAMA__ALL(READ) },
    { "rms_norm_eps",            SAMBA_LLAMA__ALL(READ) },
    { "initializer_range",       SAMBA_LLAMA__ALL(READ) },
    { "attention_dropout",       SAMBA_LLAMA__ALL(READ) },
    { "tie_word_embeddings",     SAMBA_LLAMA__ALL(READ) },
    { "bos_token_id",            SAMBA_LLAMA__ALL(READ) },
    { "eos_token_id",            SAMBA_LLAMA__ALL(READ) },
    { "attention_bias",          SAMBA_LLAMA__EACH(READ, FALSE, FALSE, READ) },
    { "mlp_bias",                SAMBA_LLAMA__EACH(READ, FALSE, FALSE, FALSE) },
    { "sliding_window",          SAMBA_LLAMA__EACH(FALSE, READ, READ, READ) },
    { "use_sliding_window",      SAMBA_LLAMA__EACH(FALSE, FALSE, READ, READ) },
    { "max_window_layers",       SAMBA_LLAMA__EACH(FALSE, FALSE, READ, READ) },
    { "layer_types",             SAMBA_LLAMA__EACH(READ, FALSE, READ, READ) },
    /* What would change numbers. */
    { "quantization_config",     SAMBA_LLAMA__ALL(FALSE) },
    { "rope_interleaved",        SAMBA_LLAMA__ALL(FALSE) },
    { "is_encoder_decoder",      SAMBA_LLAMA__ALL(FALSE) },
    { "add_cross_attention",     SAMBA_LLAMA__ALL(FALSE) },
    { "is_decoder",              SAMBA_LLAMA__ALL(IGNORED) },
    { "partial_rotary_factor",   SAMBA_LLAMA__ALL(ONE) },
    { "pretraining_tp",          SAMBA_LLAMA__ALL(IGNORED) }, /* sums in another order, no more */
    /* What does not. */
    { "architectures",           SAMBA_LLAMA__ALL(IGNORED) },
    { "dtype",                   SAMBA_LLAMA__ALL(IGNORED) },
    { "torch_dtype",             SAMBA_LLAMA__ALL(IGNORED) },
    { "transformers_version",    SAMBA_LLAMA__ALL(IGNORED) },
    { "transformers.js_config",  SAMBA_LLAMA__ALL(IGNORED) },
    { "use_cache",               SAMBA_LLAMA__ALL(IGNORED) },
    { "pad_token_id",            SAMBA_LLAMA__ALL(IGNORED) },
    { "unk_token_id",            SAMBA_LLAMA__ALL(IGNORED) },
    { "sep_token_id",            SAMBA_LLAMA__ALL(IGNORED) },
    { "cls_token_id",            SAMBA_LLAMA__ALL(IGNORED) },
    { "mask_token_id",           SAMBA_LLAMA__ALL(IGNORED) },
    { "tokenizer_class",         SAMBA_LLAMA__ALL(IGNORED) },
    { "is_llama_config",         SAMBA_LLAMA__ALL(IGNORED) },
    { "id2label",                SAMBA_LLAMA__ALL(IGNORED) },
    { "label2id",                SAMBA_LLAMA__ALL(IGNORED) },
    { "problem_type",            SAMBA_LLAMA__ALL(IGNORED) },
    { "return_dict",             SAMBA_LLAMA__ALL(IGNORED) },
    { "output_attentions",       SAMBA_LLAMA__ALL(IGNORED) },
    { "output_hidden_states",    SAMBA_LLAMA__ALL(IGNORED) },
    { "chunk_size_feed_forward", SAMBA_LLAMA__ALL(IGNORED) },
    { "unsloth_fixed",           SAMBA_LLAMA__ALL(IGNORED) },
    { "unsloth_version",         SAMBA_LLAMA__ALL(IGNORED) },
};

/* clang-format on */

static inline const samba_llama__known *samba_llama__known_key(const char *key)
{
    for (size_t i = 0; i < sizeof samba_llama__keys / sizeof *samba_llama__keys; i++)
        if (!strcmp(samba_llama__keys[i].key, key)) return &samba_llama__keys[i];
    return NULL;
}

/* Does a value ask for nothing? */
static inline bool samba_llama__neutral(const cJSON *item, samba_llama__honour use)
{
    if (cJSON_IsNull(item) || use <= SAMBA_LLAMA__IGNORED) return true;
    if (use == SAMBA_LLAMA__ONE) return cJSON_IsNumber(item) && item->valuedouble == 1;
    return cJSON_IsFalse(item) || (cJSON_IsNumber(item) && item->valuedouble == 0);
}

static inline const char *samba_llama__family_name(llama_family family)
{
#define X(name, value, architecture) \
    if (family == LLAMA_##value) return name;
    SAMBA_LLAMA__FAMILIES(X)
#undef X
    return "none";
}

/* Refuses the first key that nobody here would honour. */
static inline void samba_llama__check_keys(samba_model__reader *r, llama_family family)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, r->json)
    {
        const samba_llama__known *known = samba_llama__known_key(item->string);
        if (r->failed) return;
        if (item->string[0] == '_') continue; /* transformers' own notes, such as _name_or_path */
        if (!known) {
            r->failed = !samba_model__fail(
                r->why, "the key \"%.60s\" is not known: what it asks for would not be done",
                item->string);
        } else if (!samba_llama__neutral(item, known->use[family])) {
            r->failed = !samba_model__fail(
                r->why, "%s asks for what %s does not have here; it must be %s", item->string,
                samba_llama__family_name(family),
                known->use[family] == SAMBA_LLAMA__ONE ? "1, or absent" : "false, null or absent");
        }
    }
}

/* ---- config.json: values ---- */

static inline const char *samba_llama__text(samba_model__reader *r, const char *key, bool required)
{
    const cJSON *item = samba_model__key(r, key, required);
    if (!item) return NULL;
    if (cJSON_IsString(item)) return item->valuestring;
    samba_model__wrong_type(r, key, "a string");
    return NULL;
}

static inline void samba_llama__read_family(samba_model__reader *r, llama_family *out)
{
    const char *text = samba_llama__text(r, "model_type", true);
    if (!text) return;
#define X(name, value, architecture) \
    if (!strcmp(text, name)) { \
        *out = LLAMA_##value; \
        return; \
    }
    SAMBA_LLAMA__FAMILIES(X)
#undef X
#define X(name, value, architecture) " " name
    r->failed = !samba_model__fail(
        r->why, "model_type is \"%.40s\"; known are" SAMBA_LLAMA__FAMILIES(X), text);
#undef X
}

static inline void samba_llama__read_activation(samba_model__reader *r, llama_activation *out)
{
    const char *text = samba_llama__text(r, "hidden_act", false);
    if (!text) return;
#define X(name, value) \
    if (!strcmp(text, name)) { \
        *out = LLAMA_##value; \
        return; \
    }
    SAMBA_LLAMA__ACTIVATIONS(X)
#undef X
#define X(name, value) " " name
    r->failed = !samba_model__fail(
        r->why, "hidden_act \"%.40s\" is unknown; known are" SAMBA_LLAMA__ACTIVATIONS(X), text);
#undef X
}

static inline void samba_llama__read_rope_type(samba_model__reader *r, llama_rope_type *out)
{
    const char *text = samba_llama__text(r, "rope_type", false);
    if (!text) text = samba_llama__text(r, "type", false); /* its name in older files */
    if (!text) return;
#define X(name, value) \
    if (!strcmp(text, name)) { \
        *out = LLAMA_ROPE_##value; \
        return; \
    }
    SAMBA_LLAMA__ROPES(X)
#undef X
#define X(name, value) " " name
    r->failed = !samba_model__fail(
        r->why, "rope_type \"%.40s\" is not here; known are" SAMBA_LLAMA__ROPES(X), text);
#undef X
}

/* Keys of rope_scaling and rope_parameters. */
static inline void samba_llama__check_rope_keys(samba_model__reader *r)
{
    static const char *const known[] = { "rope_type",
                                         "type",
                                         "rope_theta",
                                         "factor",
                                         "low_freq_factor",
                                         "high_freq_factor",
                                         "beta_fast",
                                         "beta_slow",
                                         "attention_factor",
                                         "truncate",
                                         "original_max_position_embeddings",
                                         "partial_rotary_factor" };
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, r->json)
    {
        bool hit = cJSON_IsNull(item);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            hit = hit || !strcmp(item->string, known[i]);
        if (r->failed || hit) continue;
        r->failed = !samba_model__fail(r->why, "the key \"%.60s\" of the rope scaling is not known",
                                       item->string);
    }
    item = samba_model__key(r, "partial_rotary_factor", false);
    if (item && !samba_llama__neutral(item, SAMBA_LLAMA__ONE))
        r->failed = !samba_model__fail(r->why, "partial_rotary_factor must be 1, or absent");
}

/* An object of the configuration: rope_scaling, or rope_parameters. */
static inline void samba_llama__read_rope(samba_model__reader *outer, const char *key,
                                          llama_rope *rope)
{
    const cJSON *item = samba_model__key(outer, key, false);
    if (!item) return;
    if (!cJSON_IsObject(item)) {
        samba_model__wrong_type(outer, key, "an object");
        return;
    }
    samba_model__reader r = *outer;
    r.json = item;
    samba_llama__check_rope_keys(&r);
    samba_llama__read_rope_type(&r, &rope->rope_type);
    samba_model__read_real(&r, "rope_theta", &rope->rope_theta);
    samba_model__read_real(&r, "factor", &rope->factor);
    samba_model__read_real(&r, "low_freq_factor", &rope->low_freq_factor);
    samba_model__read_real(&r, "high_freq_factor", &rope->high_freq_factor);
    samba_model__read_real(&r, "beta_fast", &rope->beta_fast);
    samba_model__read_real(&r, "beta_slow", &rope->beta_slow);
    samba_model__read_real(&r, "attention_factor", &rope->attention_factor);
    samba_model__read_bool(&r, "truncate", &rope->truncate);
    samba_model__read_int(&r, "original_max_position_embeddings", false,
                          &rope->original_max_position_embeddings);
    if (!r.failed && rope->rope_type != LLAMA_ROPE_DEFAULT) samba_model__key(&r, "factor", true);
    outer->failed = r.failed;
}

/* Llama 3 has several tokens that end a text. */
static inline void samba_llama__read_ends(samba_model__reader *r, llama_config *c)
{
    const cJSON *list = samba_model__key(r, "eos_token_id", false), *item = NULL;
    c->n_eos = 0;
    if (!list) return;
    const int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 1;
    if (n > LLAMA_MAX_EOS) {
        r->failed = !samba_model__fail(r->why, "eos_token_id has %d ids; at most %d are possible",
                                       n, LLAMA_MAX_EOS);
        return;
    }
    for (int i = 0; i < n && !r->failed; i++) {
        item = cJSON_IsArray(list) ? cJSON_GetArrayItem(list, i) : list;
        double x = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (x >= 0 && x <= INT32_MAX && x == floor(x))
            c->eos_token_id[c->n_eos++] = (int32_t)x;
        else
            samba_model__wrong_type(r, "eos_token_id", "an id, or a list of ids");
    }
}

/* Which layers have the window. Qwen says it by use_sliding_window and max_window_layers, or by a
   list of layer_types; all of Mistral's have it. */
static inline void samba_llama__read_windows(samba_model__reader *r, llama_config *c)
{
    const bool qwen = c->family == LLAMA_QWEN2 || c->family == LLAMA_QWEN3;
    bool slides = c->family == LLAMA_MISTRAL;
    int32_t first = qwen ? 28 : 0; /* transformers' default */
    c->sliding_window = c->family == LLAMA_LLAMA ? 0 : 4096;
    if (cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(r->json, "sliding_window")))
        c->sliding_window = 0;
    samba_model__read_int(r, "sliding_window", false, &c->sliding_window);
    samba_model__read_bool(r, "use_sliding_window", &slides);
    samba_model__read_int(r, "max_window_layers", false, &first);
    if (!slides) c->sliding_window = 0;
    if (c->sliding_window < 0)
        samba_model__wrong_type(r, "sliding_window", "null, or a number of tokens");
    for (int32_t i = 0; i < LLAMA_MAX_LAYERS; i++)
        c->slides[i] = c->sliding_window > 0 && i >= first;
}

static inline void samba_llama__read_layer_types(samba_model__reader *r, llama_config *c)
{
    const cJSON *list = samba_model__key(r, "layer_types", false), *item = NULL;
    int32_t n = 0;
    if (!list) return;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != c->num_hidden_layers) {
        samba_model__wrong_type(r, "layer_types", "a list with one name for each layer");
        return;
    }
    cJSON_ArrayForEach(item, list)
    {
        const char *type = cJSON_IsString(item) ? item->valuestring : "";
        bool slides = !strcmp(type, "sliding_attention");
        if (!slides && strcmp(type, "full_attention")) {
            r->failed = !samba_model__fail(
                r->why,
                "layer_types: \"%.40s\" is not known; full_attention and sliding_attention are",
                type);
            return;
        }
        if (slides && !c->sliding_window) {
            r->failed = !samba_model__fail(
                r->why, "layer_types has sliding_attention, but there is no sliding_window");
            return;
        }
        c->slides[n++] = slides;
    }
}

static inline void samba_llama__read_sizes(samba_model__reader *r, llama_config *c)
{
    const bool heads_alike = c->family == LLAMA_LLAMA;
    samba_model__read_int(r, "hidden_size", true, &c->hidden_size);
    samba_model__read_int(r, "intermediate_size", true, &c->intermediate_size);
    samba_model__read_int(r, "num_hidden_layers", true, &c->num_hidden_layers);
    samba_model__read_int(r, "num_attention_heads", true, &c->num_attention_heads);
    samba_model__read_int(r, "vocab_size", true, &c->vocab_size);
    samba_model__read_int(r, "max_position_embeddings", true, &c->max_position_embeddings);
    c->num_key_value_heads = c->num_attention_heads;
    samba_model__read_int(r, "num_key_value_heads", !heads_alike, &c->num_key_value_heads);
    c->head_dim = 0;
    samba_model__read_int(r, "head_dim", c->family == LLAMA_QWEN3, &c->head_dim);
    if (r->failed || samba_model__key(r, "head_dim", false)) return;
    if (c->num_attention_heads < 1 || c->hidden_size % c->num_attention_heads) {
        r->failed = !samba_model__fail(
            r->why,
            "hidden_size is %d, which %d heads (num_attention_heads) cannot share equally, and "
            "there is no head_dim",
            (int)c->hidden_size, (int)c->num_attention_heads);
        return;
    }
    c->head_dim = c->hidden_size / c->num_attention_heads;
}

static inline bool samba_llama__config_from(const cJSON *json, llama_config *out, char *text,
                                            size_t text_size)
{
    samba_model__why why = samba_model__why_of(text, text_size);
    samba_model__reader r;
    llama_config c = llama_config_default();
    r.json = json;
    r.why = &why;
    r.failed = false;
    c.rms_norm_eps = 1e-6;
    c.tie_word_embeddings = false;
    c.bos_token_id = -1;
    samba_llama__read_family(&r, &c.family);
    if (!r.failed) samba_llama__check_keys(&r, c.family);
    samba_llama__read_sizes(&r, &c);
    if (r.failed || !llama_config_check(&c, text, text_size)) return false; /* sizes of lists */

    samba_llama__read_activation(&r, &c.hidden_act);
    samba_model__read_real(&r, "rope_theta", &c.rope.rope_theta);
    samba_llama__read_rope(&r, "rope_scaling", &c.rope);
    samba_llama__read_rope(&r, "rope_parameters", &c.rope);
    samba_model__read_real(&r, "rms_norm_eps", &c.rms_norm_eps);
    samba_model__read_real(&r, "initializer_range", &c.initializer_range);
    samba_model__read_real(&r, "attention_dropout", &c.attention_dropout);
    samba_model__read_bool(&r, "attention_bias", &c.attention_bias);
    samba_model__read_bool(&r, "mlp_bias", &c.mlp_bias);
    samba_model__read_bool(&r, "tie_word_embeddings", &c.tie_word_embeddings);
    samba_model__read_int(&r, "bos_token_id", false, &c.bos_token_id);
    samba_llama__read_ends(&r, &c);
    samba_llama__read_windows(&r, &c);
    samba_llama__read_layer_types(&r, &c);
    if (r.failed || !llama_config_check(&c, text, text_size)) return false;
    *out = c;
    return true;
}

SAMBA_LLAMA_API bool llama_config_parse(const char *text, size_t size, llama_config *c, char *why,
                                        size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    if (!text || !c) return samba_model__fail(&w, "the text or the configuration is NULL");
    cJSON *json = samba_safetensors_json(text, size, SAMBA_MODEL__CONFIG_DEPTH, false,
                                         "configuration", why, why_size);
    bool fine = json && samba_llama__config_from(json, c, why, why_size);
    cJSON_Delete(json);
    return fine;
}

SAMBA_LLAMA_API bool llama_config_read(const char *path, llama_config *c, char *why,
                                       size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    char reason[300];
    if (!path || !c) return samba_model__fail(&w, "the path or the configuration is NULL");
    cJSON *json = samba_safetensors_json_file(path, SAMBA_MODEL__CONFIG_DEPTH, why, why_size);
    if (!json) return false;
    bool fine = samba_llama__config_from(json, c, reason, sizeof reason);
    cJSON_Delete(json);
    return fine ? true : samba_model__fail(&w, "%s: %s", path, reason);
}

/* ---- config.json, written ---- */

/* An object that is being made; fine: there was memory for all of it. */
typedef struct samba_llama__writer {
    cJSON *json;
    bool fine;
} samba_llama__writer;

static inline void samba_llama__put_number(samba_llama__writer *w, const char *key, double value)
{
    w->fine = w->fine && cJSON_AddNumberToObject(w->json, key, value);
}

/* A number that transformers 5 wants to be no integer: with a point, or an exponent. */
static inline void samba_llama__put_real(samba_llama__writer *w, const char *key, double value)
{
    char text[40];
    samba_base_format(text, sizeof text, "%.17g", value);
    if (!strpbrk(text, ".e")) samba_base_format(text, sizeof text, "%.17g.0", value);
    w->fine = w->fine && cJSON_AddRawToObject(w->json, key, text);
}

static inline void samba_llama__put_bool(samba_llama__writer *w, const char *key, bool value)
{
    w->fine = w->fine && cJSON_AddBoolToObject(w->json, key, value);
}

static inline void samba_llama__put_text(samba_llama__writer *w, const char *key, const char *value)
{
    w->fine = w->fine && cJSON_AddStringToObject(w->json, key, value);
}

static inline void samba_llama__put_null(samba_llama__writer *w, const char *key)
{
    w->fine = w->fine && cJSON_AddNullToObject(w->json, key);
}

/* Takes the item over. */
static inline void samba_llama__put_item(samba_llama__writer *w, const char *key, cJSON *item)
{
    w->fine = w->fine && item && cJSON_AddItemToObject(w->json, key, item);
    if (!w->fine) cJSON_Delete(item);
}

static inline void samba_llama__put_rope(samba_llama__writer *w, const llama_config *c)
{
    const llama_rope *r = &c->rope;
    samba_llama__put_real(w, "rope_theta", r->rope_theta);
    if (r->rope_type == LLAMA_ROPE_DEFAULT) {
        samba_llama__put_null(w, "rope_scaling");
        return;
    }
    samba_llama__writer inner = { cJSON_CreateObject(), w->fine };
    inner.fine = inner.fine && inner.json;
#define X(name, value) \
    if (r->rope_type == LLAMA_ROPE_##value) samba_llama__put_text(&inner, "rope_type", name);
    SAMBA_LLAMA__ROPES(X)
#undef X
    samba_llama__put_real(&inner, "factor", r->factor);
    if (r->original_max_position_embeddings)
        samba_llama__put_number(&inner, "original_max_position_embeddings",
                                r->original_max_position_embeddings);
    if (r->rope_type == LLAMA_ROPE_LLAMA3) {
        samba_llama__put_real(&inner, "low_freq_factor", r->low_freq_factor);
        samba_llama__put_real(&inner, "high_freq_factor", r->high_freq_factor);
    }
    if (r->rope_type == LLAMA_ROPE_YARN) {
        samba_llama__put_real(&inner, "beta_fast", r->beta_fast);
        samba_llama__put_real(&inner, "beta_slow", r->beta_slow);
        samba_llama__put_bool(&inner, "truncate", r->truncate);
        if (r->attention_factor > 0)
            samba_llama__put_real(&inner, "attention_factor", r->attention_factor);
    }
    w->fine = inner.fine;
    if (inner.fine)
        samba_llama__put_item(w, "rope_scaling", inner.json);
    else
        cJSON_Delete(inner.json);
}

static inline void samba_llama__put_windows(samba_llama__writer *w, const llama_config *c)
{
    const char *types[LLAMA_MAX_LAYERS];
    if (c->family == LLAMA_LLAMA) return;
    if (c->sliding_window)
        samba_llama__put_number(w, "sliding_window", c->sliding_window);
    else
        samba_llama__put_null(w, "sliding_window");
    if (c->family == LLAMA_MISTRAL) return;
    for (int32_t i = 0; i < c->num_hidden_layers; i++)
        types[i] = c->slides[i] && c->sliding_window ? "sliding_attention" : "full_attention";
    samba_llama__put_bool(w, "use_sliding_window", c->sliding_window > 0);
    samba_llama__put_item(w, "layer_types", cJSON_CreateStringArray(types, c->num_hidden_layers));
}

static inline void samba_llama__put_names(samba_llama__writer *w, const llama_config *c)
{
    const char *architecture = "none", *act = "none";
#define X(name, value, class_name) \
    if (c->family == LLAMA_##value) architecture = class_name;
    SAMBA_LLAMA__FAMILIES(X)
#undef X
#define X(name, value) \
    if (c->hidden_act == LLAMA_##value && !strcmp(act, "none")) act = name;
    SAMBA_LLAMA__ACTIVATIONS(X)
#undef X
    samba_llama__put_text(w, "model_type", samba_llama__family_name(c->family));
    samba_llama__put_item(w, "architectures", cJSON_CreateStringArray(&architecture, 1));
    samba_llama__put_text(w, "hidden_act", act);
}

static inline cJSON *samba_llama__config_json(const llama_config *c)
{
    samba_llama__writer w = { cJSON_CreateObject(), true };
    w.fine = w.json != NULL;
    samba_llama__put_names(&w, c);
    samba_llama__put_number(&w, "hidden_size", c->hidden_size);
    samba_llama__put_number(&w, "intermediate_size", c->intermediate_size);
    samba_llama__put_number(&w, "num_hidden_layers", c->num_hidden_layers);
    samba_llama__put_number(&w, "num_attention_heads", c->num_attention_heads);
    samba_llama__put_number(&w, "num_key_value_heads", c->num_key_value_heads);
    samba_llama__put_number(&w, "head_dim", c->head_dim);
    samba_llama__put_number(&w, "vocab_size", c->vocab_size);
    samba_llama__put_number(&w, "max_position_embeddings", c->max_position_embeddings);
    samba_llama__put_rope(&w, c);
    samba_llama__put_real(&w, "rms_norm_eps", c->rms_norm_eps);
    samba_llama__put_real(&w, "initializer_range", c->initializer_range);
    samba_llama__put_real(&w, "attention_dropout", c->attention_dropout);
    if (c->family == LLAMA_LLAMA || c->family == LLAMA_QWEN3)
        samba_llama__put_bool(&w, "attention_bias", c->attention_bias);
    if (c->family == LLAMA_LLAMA) samba_llama__put_bool(&w, "mlp_bias", c->mlp_bias);
    samba_llama__put_windows(&w, c);
    samba_llama__put_bool(&w, "tie_word_embeddings", c->tie_word_embeddings);
    if (c->bos_token_id >= 0) samba_llama__put_number(&w, "bos_token_id", c->bos_token_id);
    if (c->n_eos == 1) samba_llama__put_number(&w, "eos_token_id", c->eos_token_id[0]);
    if (c->n_eos > 1)
        samba_llama__put_item(&w, "eos_token_id", cJSON_CreateIntArray(c->eos_token_id, c->n_eos));
    if (w.fine) return w.json;
    cJSON_Delete(w.json);
    return NULL;
}

/* Prints and deletes what may be NULL for lack of memory. */
static inline bool samba_llama__write_json(const char *path, cJSON *json,
                                           const samba_model__why *why)
{
    char *text = json ? cJSON_Print(json) : NULL;
    bool fine = text != NULL;
    if (fine)
        fine = samba_safetensors_replace(path, text, strlen(text), why->text, why->size);
    else
        samba_model__fail(why, "there is no memory for a configuration");
    cJSON_free(text);
    cJSON_Delete(json);
    return fine;
}

SAMBA_LLAMA_API bool llama_config_write(const char *path, const llama_config *c, char *why,
                                        size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    if (!path) return samba_model__fail(&w, "the path is NULL");
    if (!llama_config_check(c, why, why_size)) return false;
    return samba_llama__write_json(path, samba_llama__config_json(c), &w);
}

/* ---- Rotary positions ---- */

/* Frequencies are what transformers computes in f32, step by step, because models were trained so:
   at position 100,000 an angle in f32 is off by some 0.004. */

/* theta^(2i/D). */
static inline float samba_llama__period(const llama_config *c, int32_t i)
{
    float exponent = (float)(2 * i) / (float)c->head_dim;
    return (float)pow(c->rope.rope_theta, (double)exponent);
}

static inline int32_t samba_llama__trained_length(const llama_config *c)
{
    int32_t original = c->rope.original_max_position_embeddings;
    return original ? original : c->max_position_embeddings;
}

/* Long waves are stretched by the factor, short ones stay, those between are in between. */
static inline float samba_llama__llama3(const llama_config *c, float frequency)
{
    const llama_rope *r = &c->rope;
    const double length = samba_llama__trained_length(c);
    const float wave = (float)(2 * 3.14159265358979323846) / frequency;
    if ((double)wave > length / r->low_freq_factor) return frequency / (float)r->factor;
    if ((double)wave < length / r->high_freq_factor) return frequency;
    float smooth = ((float)length / wave - (float)r->low_freq_factor)
        / (float)(r->high_freq_factor - r->low_freq_factor);
    return (1.0f - smooth) * frequency / (float)r->factor + smooth * frequency;
}

/* The dimension whose wave fits so many times into the trained length; Peng et al., "YaRN:
   Efficient Context Window Extension of Large Language Models", 2023. */
static inline double samba_llama__yarn_dim(const llama_config *c, double times)
{
    const double length = samba_llama__trained_length(c), pi = 3.14159265358979323846;
    return c->head_dim * log(length / (times * 2 * pi)) / (2 * log(c->rope.rope_theta));
}

static inline float samba_llama__yarn(const llama_config *c, int32_t i)
{
    const llama_rope *r = &c->rope;
    const float period = samba_llama__period(c, i);
    double low = samba_llama__yarn_dim(c, r->beta_fast);
    double high = samba_llama__yarn_dim(c, r->beta_slow);
    if (r->truncate) {
        low = floor(low);
        high = ceil(high);
    }
    if (low < 0) low = 0;
    if (high > c->head_dim - 1) high = c->head_dim - 1;
    if (low == high) high += 0.001;

    float ramp = ((float)i - (float)low) / (float)(high - low);
    if (ramp < 0.0f) ramp = 0.0f;
    if (ramp > 1.0f) ramp = 1.0f;
    float kept = 1.0f - ramp;
    return 1.0f / ((float)r->factor * period) * (1.0f - kept) + 1.0f / period * kept;
}

static inline float samba_llama__frequency(const llama_config *c, int32_t i)
{
    const float frequency = 1.0f / samba_llama__period(c, i);
    switch (c->rope.rope_type) {
    case LLAMA_ROPE_DEFAULT:
        return frequency;
    case LLAMA_ROPE_LINEAR:
        return frequency / (float)c->rope.factor;
    case LLAMA_ROPE_LLAMA3:
        return samba_llama__llama3(c, frequency);
    case LLAMA_ROPE_YARN:
        return samba_llama__yarn(c, i);
    }
    return frequency;
}

/* What cosines and sines are multiplied by. */
static inline double samba_llama__rope_scale(const llama_config *c)
{
    const llama_rope *r = &c->rope;
    if (r->rope_type != LLAMA_ROPE_YARN) return 1;
    if (r->attention_factor > 0) return r->attention_factor;
    return r->factor <= 1 ? 1 : 0.1 * log(r->factor) + 1;
}

SAMBA_LLAMA_API void llama_rotations(const llama_config *c, int32_t rows, float *table)
{
    const int32_t half = c->head_dim / 2;
    const double scale = samba_llama__rope_scale(c);
    for (int32_t i = 0; i < half; i++) {
        const float frequency = samba_llama__frequency(c, i);
        for (int32_t row = 0; row < rows; row++) {
            float angle = (float)row * frequency;
            float *to = table + (size_t)row * (size_t)c->head_dim;
            to[i] = (float)(cos((double)angle) * scale);
            to[half + i] = (float)(sin((double)angle) * scale);
        }
    }
}

/* ---- Parameters ---- */

/* A layer's parts, each with a weight and perhaps a bias, in the order of transformers. */
enum {
    SAMBA_LLAMA__Q,
    SAMBA_LLAMA__K,
    SAMBA_LLAMA__V,
    SAMBA_LLAMA__O,
    SAMBA_LLAMA__Q_NORM,
    SAMBA_LLAMA__K_NORM,
    SAMBA_LLAMA__GATE,
    SAMBA_LLAMA__UP,
    SAMBA_LLAMA__DOWN,
    SAMBA_LLAMA__INPUT_NORM,
    SAMBA_LLAMA__POST_NORM,
    SAMBA_LLAMA__N_PARTS
};

static inline const char *samba_llama__part_name(int32_t part)
{
    static const char *const names[SAMBA_LLAMA__N_PARTS]
        = { "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",        "self_attn.o_proj",
            "self_attn.q_norm", "self_attn.k_norm", "mlp.gate_proj",           "mlp.up_proj",
            "mlp.down_proj",    "input_layernorm",  "post_attention_layernorm" };
    return names[part];
}

static inline bool samba_llama__is_norm(int32_t part)
{
    return part == SAMBA_LLAMA__Q_NORM || part == SAMBA_LLAMA__K_NORM
        || part >= SAMBA_LLAMA__INPUT_NORM;
}

/* Has this configuration that part, or its bias? */
static inline bool samba_llama__has(const llama_config *c, int32_t part, bool bias)
{
    if (part == SAMBA_LLAMA__Q_NORM || part == SAMBA_LLAMA__K_NORM)
        return c->family == LLAMA_QWEN3 && !bias;
    if (!bias) return true;
    if (samba_llama__is_norm(part)) return false;
    if (part >= SAMBA_LLAMA__GATE) return c->family == LLAMA_LLAMA && c->mlp_bias;
    if (c->family == LLAMA_QWEN2) return part != SAMBA_LLAMA__O;
    return c->family != LLAMA_MISTRAL && c->attention_bias;
}

/* Parameters of a layer before its part, or of all of it. */
static inline int32_t samba_llama__before(const llama_config *c, int32_t part)
{
    int32_t n = 0;
    for (int32_t i = 0; i < part; i++)
        n += samba_llama__has(c, i, false) + samba_llama__has(c, i, true);
    return n;
}

static inline int32_t samba_llama__layer_param(const llama_config *c, int32_t layer, int32_t part)
{
    return 1 + layer * samba_llama__before(c, SAMBA_LLAMA__N_PARTS) + samba_llama__before(c, part);
}

/* The norm before the head, behind the last layer. */
static inline int32_t samba_llama__last_norm(const llama_config *c)
{
    return samba_llama__layer_param(c, c->num_hidden_layers, 0);
}

SAMBA_LLAMA_API int32_t llama_n_params(const llama_config *c)
{
    return c ? samba_llama__last_norm(c) + 1 + !c->tie_word_embeddings : 0;
}

static inline void samba_llama__matrix(const llama_config *c, llama_param *p, int32_t out,
                                       int32_t in)
{
    p->ndim = 2;
    p->dim[0] = out;
    p->dim[1] = in;
    if (c->initializer_range <= 0) return; /* zeros: nothing to draw */
    p->init.kind = SAMBA_INIT_NORMAL;
    p->init.scale = (float)c->initializer_range;
}

static inline void samba_llama__vector(llama_param *p, int32_t n, float value)
{
    p->ndim = 1;
    p->dim[0] = n;
    p->init.value = value;
}

/* The weight or bias of a part of a layer. */
static inline void samba_llama__part(const llama_config *c, int32_t part, bool bias, llama_param *p)
{
    const int32_t heads = c->num_attention_heads * c->head_dim;
    const int32_t kv_heads = c->num_key_value_heads * c->head_dim;
    const int32_t inner = c->intermediate_size, hidden = c->hidden_size;
    const int32_t out[SAMBA_LLAMA__N_PARTS]
        = { heads, kv_heads, kv_heads, hidden, c->head_dim, c->head_dim,
            inner, inner,    hidden,   hidden, hidden };
    const int32_t in[SAMBA_LLAMA__N_PARTS]
        = { hidden, hidden, hidden, heads, 0, 0, hidden, hidden, inner, 0, 0 };
    if (samba_llama__is_norm(part))
        samba_llama__vector(p, out[part], 1.0f);
    else if (bias)
        samba_llama__vector(p, out[part], 0.0f);
    else
        samba_llama__matrix(c, p, out[part], in[part]);
}

/* Parameter number k of a layer. */
static inline void samba_llama__in_layer(const llama_config *c, int32_t layer, int32_t k,
                                         llama_param *p)
{
    int32_t part = 0;
    while (samba_llama__before(c, part + 1) <= k)
        part++;
    bool bias = k > samba_llama__before(c, part);
    samba_llama__part(c, part, bias, p);
    snprintf(p->name, sizeof p->name, "model.layers.%d.%s.%s", (int)layer,
             samba_llama__part_name(part), bias ? "bias" : "weight");
}

SAMBA_LLAMA_API bool llama_param_at(const llama_config *c, int32_t i, llama_param *p)
{
    if (!c || !p || i < 0 || i >= llama_n_params(c)) return false;
    memset(p, 0, sizeof *p);
    const int32_t per_layer = samba_llama__before(c, SAMBA_LLAMA__N_PARTS);
    const int32_t norm = samba_llama__last_norm(c);
    if (i == 0) {
        samba_llama__matrix(c, p, c->vocab_size, c->hidden_size);
        snprintf(p->name, sizeof p->name, "model.embed_tokens.weight");
    } else if (i < norm) {
        samba_llama__in_layer(c, (i - 1) / per_layer, (i - 1) % per_layer, p);
    } else if (i == norm) {
        samba_llama__vector(p, c->hidden_size, 1.0f);
        snprintf(p->name, sizeof p->name, "model.norm.weight");
    } else {
        samba_llama__matrix(c, p, c->vocab_size, c->hidden_size);
        snprintf(p->name, sizeof p->name, "lm_head.weight");
    }
    return samba_model__translate(p->name, ".", "__", p->samba_name, sizeof p->samba_name);
}

/* The layer of "model.layers.12.rest"; -1 if the name is no such. */
static inline int32_t samba_llama__layer_of(const llama_config *c, const char *name)
{
    const char *digits = samba_model__after(name, "model.layers."), *p = digits;
    int32_t value = 0;
    if (!p || *p < '0' || *p > '9') return -1;
    for (; *p >= '0' && *p <= '9'; p++) {
        value = 10 * value + (*p - '0');
        if (value >= c->num_hidden_layers || (p > digits && *digits == '0')) return -1;
    }
    return *p == '.' ? value : -1;
}

SAMBA_LLAMA_API int32_t llama_param_find(const llama_config *c, const char *name)
{
    llama_param p;
    if (!c || !name) return -1;
    const int32_t layer = samba_llama__layer_of(c, name), norm = samba_llama__last_norm(c);
    const int32_t per_layer = samba_llama__before(c, SAMBA_LLAMA__N_PARTS);
    const int32_t outside[3] = { 0, norm, norm + 1 };
    for (int32_t k = 0; k < (layer < 0 ? 3 : per_layer); k++) {
        int32_t i = layer < 0 ? outside[k] : 1 + layer * per_layer + k;
        if (llama_param_at(c, i, &p) && !strcmp(name, p.name)) return i;
    }
    return -1;
}

/* ---- The model ---- */

/* What all layers of one graph share. */
typedef struct samba_llama__pass {
    const llama_config *c;
    const samba_generator_graph *graph; /* NULL: without caches */
    samba_tensor *cosine, *sine;        /* (T,D/2), or (B,1,T,D/2) */
    samba_tensor *mask, *window_mask;   /* of layers without and with a window; NULL: causal */
} samba_llama__pass;

static inline samba_shape samba_llama__shape(const llama_param *p)
{
    samba_shape shape = samba_scalar_shape();
    shape.ndim = p->ndim;
    for (int32_t i = 0; i < p->ndim; i++)
        shape.dim[i] = p->dim[i];
    return shape;
}

static inline samba_shape samba_llama__dims(int32_t n, int32_t a, int32_t b, int32_t c, int32_t d,
                                            int32_t e)
{
    const int32_t dim[5] = { a, b, c, d, e };
    samba_shape shape = samba_scalar_shape();
    shape.ndim = n;
    for (int32_t i = 0; i < n; i++)
        shape.dim[i] = dim[i];
    return shape;
}

/* Parameter number i of the session, made if it is new. */
static inline samba_tensor *samba_llama__use(const llama_config *c, samba_session *s, int32_t i)
{
    llama_param p;
    if (!llama_param_at(c, i, &p)) return NULL;
    return samba_param(s, p.samba_name, samba_llama__shape(&p), p.init);
}

/* A part of a layer that is a matrix, with its bias if it has one. */
static inline samba_tensor *samba_llama__affine(const llama_config *c, samba_tensor *x,
                                                int32_t layer, int32_t part)
{
    if (!x) return NULL;
    const int32_t i = samba_llama__layer_param(c, layer, part);
    samba_tensor *w = samba_llama__use(c, x->session, i), *bias = NULL;
    if (samba_llama__has(c, part, true)) bias = samba_llama__use(c, x->session, i + 1);
    return samba_affine(x, w, bias);
}

static inline samba_tensor *samba_llama__norm(const llama_config *c, samba_tensor *x, int32_t i)
{
    if (!x) return NULL;
    return samba_rms_normalize(x, samba_llama__use(c, x->session, i), (float)c->rms_norm_eps);
}

static inline samba_tensor *samba_llama__layer_norm(const llama_config *c, samba_tensor *x,
                                                    int32_t layer, int32_t part)
{
    return samba_llama__norm(c, x, samba_llama__layer_param(c, layer, part));
}

static inline samba_tensor *samba_llama__activate(const llama_config *c, samba_tensor *x)
{
    switch (c->hidden_act) {
    case LLAMA_SILU:
        return samba_silu(x);
    case LLAMA_GELU:
        return samba_gelu(x);
    case LLAMA_GELU_TANH:
        return samba_gelu_tanh(x);
    case LLAMA_RELU:
        return samba_relu(x);
    }
    return NULL;
}

static inline void samba_llama__layer_name(char name[LLAMA_MAX_NAME], int32_t layer,
                                           const char *part)
{
    snprintf(name, LLAMA_MAX_NAME, "model__layers__%d__self_attn__%s", (int)layer, part);
}

/* (B,T,n D) -> (B,n,T,D); queries and keys of Qwen 3 are normalized on the way. */
static inline samba_tensor *samba_llama__heads(const llama_config *c, samba_tensor *x, int32_t n,
                                               int32_t layer, int32_t norm)
{
    if (!x) return NULL;
    const int32_t *d = x->shape.dim;
    x = samba_reshape(x, samba_llama__dims(4, d[0], d[1], n, c->head_dim, 0));
    if (norm >= 0 && samba_llama__has(c, norm, false))
        x = samba_llama__layer_norm(c, x, layer, norm);
    return samba_transpose(x, 1, 2);
}

/* Turns x (B,n,T,D) by its positions: pairs are elements i and i + D/2. */
static inline samba_tensor *samba_llama__rotate(const samba_llama__pass *p, samba_tensor *x)
{
    const int32_t half = p->c->head_dim / 2;
    samba_tensor *a = samba_slice(x, -1, 0, half, 1);
    samba_tensor *b = samba_slice(x, -1, half, 2 * half, 1);
    samba_tensor *a_cosine = samba_mul(a, p->cosine), *b_sine = samba_mul(b, p->sine);
    samba_tensor *b_cosine = samba_mul(b, p->cosine), *a_sine = samba_mul(a, p->sine);
    samba_tensor *parts[2] = { NULL, NULL };
    parts[0] = samba_sub(a_cosine, b_sine);
    parts[1] = samba_add(b_cosine, a_sine);
    return samba_cat(parts, 2, -1);
}

/* (B,K,T,D) -> (B,H,T,D): each head of keys or values as often as queries share it. */
static inline samba_tensor *samba_llama__repeat(const llama_config *c, samba_tensor *x)
{
    const int32_t shared = c->num_attention_heads / c->num_key_value_heads;
    if (!x || shared == 1) return x;
    const int32_t *d = x->shape.dim;
    samba_shape each = samba_llama__dims(5, d[0], d[1], shared, d[2], d[3]);
    samba_shape all = samba_llama__dims(4, d[0], d[1] * shared, d[2], d[3], 0);
    return samba_reshape(samba_expand(samba_unsqueeze(x, 2), each), all);
}

static inline bool samba_llama__slides(const llama_config *c, int32_t layer)
{
    return c->sliding_window > 0 && c->slides[layer];
}

/* Attention within a text: each token to itself and the past. q (B,H,T,D), k and v (B,K,T,D). */
static inline samba_tensor *samba_llama__attend(const samba_llama__pass *p, int32_t layer,
                                                samba_tensor *q, samba_tensor *k, samba_tensor *v)
{
    const llama_config *c = p->c;
    samba_tensor *mask = samba_llama__slides(c, layer) ? p->window_mask : p->mask;
    samba_attention_opts opts;
    opts.causal = true;
    opts.scale = (float)(1 / sqrt((double)c->head_dim));
    k = samba_llama__repeat(c, k);
    v = samba_llama__repeat(c, v);
    if (c->attention_dropout <= 0) return samba_scaled_dot_product_attention(q, k, v, mask, &opts);

    char name[LLAMA_MAX_NAME];
    samba_tensor *qkv[3] = { NULL, NULL, NULL };
    qkv[0] = q;
    qkv[1] = k;
    qkv[2] = v;
    samba_llama__layer_name(name, layer, "dropout");
    return samba_attention_dropout(qkv, mask, &opts, name, (float)c->attention_dropout);
}

/* One of the two caches of a layer, with the new rows x (B,K,T,D). */
static inline samba_tensor *samba_llama__cached(const samba_generator_graph *graph, int32_t layer,
                                                const char *what, samba_tensor *x)
{
    char name[LLAMA_MAX_NAME];
    samba_llama__layer_name(name, layer, what);
    return samba_generator_keep(graph, name, x);
}

/* Attention to what the caches hold. Queries that share keys become rows of one head, (B,K,H/K
   T,D), so that each key is read once, and none is copied. */
static inline samba_tensor *samba_llama__attend_cached(const samba_llama__pass *p, int32_t layer,
                                                       samba_tensor *q, samba_tensor *k,
                                                       samba_tensor *v)
{
    const llama_config *c = p->c;
    samba_attention_opts opts;
    if (!q) return NULL;
    const samba_shape all = q->shape;
    const int32_t rows = c->num_attention_heads / c->num_key_value_heads * all.dim[2];
    opts.causal = false;
    opts.scale = (float)(1 / sqrt((double)c->head_dim));
    k = samba_llama__cached(p->graph, layer, "k", k);
    v = samba_llama__cached(p->graph, layer, "v", v);
    q = samba_reshape(
        q, samba_llama__dims(4, all.dim[0], c->num_key_value_heads, rows, all.dim[3], 0));
    samba_tensor *mask = samba_llama__slides(c, layer) ? p->window_mask : p->mask;
    return samba_reshape(samba_scaled_dot_product_attention(q, k, v, mask, &opts), all);
}

/* x += attention(norm(x)); x += down(act(gate(norm(x))) up(norm(x))) */
static inline samba_tensor *samba_llama__layer(const samba_llama__pass *p, int32_t layer,
                                               samba_tensor *x)
{
    const llama_config *c = p->c;
    samba_tensor *h = samba_llama__layer_norm(c, x, layer, SAMBA_LLAMA__INPUT_NORM);
    samba_tensor *q = samba_llama__affine(c, h, layer, SAMBA_LLAMA__Q);
    samba_tensor *k = samba_llama__affine(c, h, layer, SAMBA_LLAMA__K);
    samba_tensor *v = samba_llama__affine(c, h, layer, SAMBA_LLAMA__V);
    q = samba_llama__heads(c, q, c->num_attention_heads, layer, SAMBA_LLAMA__Q_NORM);
    k = samba_llama__heads(c, k, c->num_key_value_heads, layer, SAMBA_LLAMA__K_NORM);
    v = samba_llama__heads(c, v, c->num_key_value_heads, layer, -1);
    q = samba_llama__rotate(p, q);
    k = samba_llama__rotate(p, k);
    h = p->graph ? samba_llama__attend_cached(p, layer, q, k, v)
                 : samba_llama__attend(p, layer, q, k, v);
    if (!h) return NULL;

    const int32_t *d = h->shape.dim;
    samba_shape joined = samba_llama__dims(3, d[0], d[2], d[1] * d[3], 0, 0);
    h = samba_reshape(samba_transpose(h, 1, 2), joined);
    x = samba_add(x, samba_llama__affine(c, h, layer, SAMBA_LLAMA__O));

    h = samba_llama__layer_norm(c, x, layer, SAMBA_LLAMA__POST_NORM);
    samba_tensor *gate = samba_llama__affine(c, h, layer, SAMBA_LLAMA__GATE);
    samba_tensor *up = samba_llama__affine(c, h, layer, SAMBA_LLAMA__UP);
    h = samba_mul(samba_llama__activate(c, gate), up);
    return samba_add(x, samba_llama__affine(c, h, layer, SAMBA_LLAMA__DOWN));
}

static inline samba_tensor *samba_llama__head_weight(const llama_config *c, samba_session *s)
{
    return samba_llama__use(c, s, c->tie_word_embeddings ? 0 : llama_n_params(c) - 1);
}

/* ---- The model: what layers share ---- */

/* A tensor of the session by its name; NULL if it is new. */
static inline samba_tensor *samba_llama__known_tensor(samba_session *s, const char *name)
{
    if (!samba_ok(s)) return NULL;
    bool quiet = samba_set_quiet(s, true);
    samba_tensor *t = samba_tensor_by_name(s, name);
    if (!t) samba_clear_error(s);
    samba_set_quiet(s, quiet);
    return t;
}

/* Models that rotate in another way have other names for it: FNV-1a of all that it depends on. */
static inline void samba_llama__rotations_name(const llama_config *c, int32_t rows, char *name,
                                               size_t size)
{
    const llama_rope *r = &c->rope;
    char text[400];
    uint32_t hash = 2166136261u;
    snprintf(text, sizeof text, "%d %d %d %.17g %.17g %.17g %.17g %.17g %.17g %.17g %d",
             (int)c->head_dim, (int)r->rope_type, (int)samba_llama__trained_length(c),
             r->rope_theta, r->factor, r->low_freq_factor, r->high_freq_factor, r->beta_fast,
             r->beta_slow, r->attention_factor, (int)r->truncate);
    for (const char *p = text; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    snprintf(name, size, "llama__rotations_%d_%08x", (int)rows, (unsigned)hash);
}

/* What llama_rotations makes, to be freed. */
static inline float *samba_llama__rotation_table(const llama_config *c, samba_session *s,
                                                 int32_t rows)
{
    float *table = (float *)SAMBA_MODEL_MALLOC((size_t)rows * (size_t)c->head_dim * sizeof *table);
    if (table)
        llama_rotations(c, rows, table);
    else
        samba_fail(s, SAMBA_ENOMEM, "no memory for the rotations of %d positions", rows);
    return table;
}

/* The table of rotations, (rows,D), a constant of the session. */
static inline samba_tensor *samba_llama__rotations(const llama_config *c, samba_session *s,
                                                   int32_t rows)
{
    char name[64];
    samba_llama__rotations_name(c, rows, name, sizeof name);
    samba_tensor *t = samba_llama__known_tensor(s, name);
    if (t && samba_tracing(s)) return t; /* of another graph */

    float *table = samba_llama__rotation_table(c, s, rows);
    if (!table) return NULL;
    t = samba_from_data_copy(s, name, SAMBA_F32, samba_llama__dims(2, rows, c->head_dim, 0, 0, 0),
                             table);
    SAMBA_MODEL_FREE(table);
    return samba_set_batch_dim(t, -1);
}

SAMBA_LLAMA_API bool llama_find_rotations(const llama_config *c, samba_generator *g)
{
    char name[64];
    samba_session *s = g->session;
    samba_llama__rotations_name(c, g->length, name, sizeof name);
    samba_tensor *t = samba_llama__known_tensor(s, name);
    if (!t || samba_count(&t->shape) != (int64_t)g->length * c->head_dim) {
        return samba_fail(s, SAMBA_EARG,
                          "in llama_find_rotations: the program was made of another configuration: "
                          "it has no %s",
                          name);
    }
    float *table = samba_llama__rotation_table(c, s, g->length);
    bool fine = table && samba_write(t, table);
    SAMBA_MODEL_FREE(table);
    return fine;
}

/* Splits rotations, of which the last axis is D, in cosines and sines. */
static inline bool samba_llama__share_rotations(samba_llama__pass *p, samba_tensor *rotations)
{
    const int32_t half = p->c->head_dim / 2;
    p->cosine = samba_slice(rotations, -1, 0, half, 1);
    p->sine = samba_slice(rotations, -1, half, 2 * half, 1);
    return p->cosine && p->sine;
}

/* Of given positions (T) or (B,T), of all of the model's. */
static inline samba_tensor *samba_llama__rotations_at(const llama_config *c, samba_tensor *table,
                                                      samba_tensor *positions)
{
    samba_tensor *t = samba_lookup(positions, table);
    if (!t || t->shape.ndim == 2) return t;
    const int32_t *d = t->shape.dim;
    return samba_reshape(t, samba_llama__dims(4, d[0], 1, d[1], c->head_dim, 0));
}

/* Which keys within the window each query sees, (T,T), a constant of the session. */
static inline samba_tensor *samba_llama__window_mask(const llama_config *c, samba_session *s,
                                                     int32_t t)
{
    char name[64];
    snprintf(name, sizeof name, "llama__window_%d_of_%d", (int)c->sliding_window, (int)t);
    samba_tensor *w = samba_llama__known_tensor(s, name);
    if (w && samba_tracing(s)) return w; /* of another graph */
    uint8_t *mask = (uint8_t *)SAMBA_MODEL_MALLOC((size_t)t * (size_t)t);
    if (!mask) {
        samba_fail(s, SAMBA_ENOMEM, "no memory for a window over %d tokens", t);
        return NULL;
    }
    for (int32_t query = 0; query < t; query++) {
        for (int32_t key = 0; key < t; key++)
            mask[(size_t)query * (size_t)t + (size_t)key]
                = key <= query && key > query - c->sliding_window;
    }
    w = samba_from_data_copy(s, name, SAMBA_BOOL, samba_llama__dims(2, t, t, 0, 0, 0), mask);
    SAMBA_MODEL_FREE(mask);
    return samba_set_batch_dim(w, -1);
}

static inline bool samba_llama__any_slides(const llama_config *c)
{
    for (int32_t i = 0; i < c->num_hidden_layers; i++)
        if (samba_llama__slides(c, i)) return true;
    return false;
}

/* The two masks of a step: (B,1,H/K T,L), rows as samba_llama__attend_cached has them. A key is
   seen if it is not after the token, and in a window if 0 <= distance <= window - 1. */
static inline bool samba_llama__share_masks(samba_llama__pass *p)
{
    const llama_config *c = p->c;
    const samba_generator_graph *graph = p->graph;
    const int32_t B = graph->position->shape.dim[0], T = graph->T;
    const int32_t shared = c->num_attention_heads / c->num_key_value_heads;
    samba_tensor *at = samba_reshape(graph->position, samba_llama__dims(4, B, 1, 1, T, 0));
    at = samba_expand(at, samba_llama__dims(4, B, 1, shared, T, 0));
    at = samba_reshape(at, samba_llama__dims(4, B, 1, shared * T, 1, 0));
    p->mask = samba_le(graph->key, at);
    if (!p->mask || !samba_llama__any_slides(c)) return p->mask != NULL;

    /* Twice the distance from the middle of the window: whole numbers, exact in f32. */
    const float most = (float)(c->sliding_window - 1);
    samba_tensor *query = samba_cast(at, SAMBA_F32), *key = samba_cast(graph->key, SAMBA_F32);
    samba_tensor *distance = samba_sub(query, key);
    samba_tensor *off = samba_abs(samba_shift(samba_scale(distance, 2.0f), -most));
    p->window_mask = samba_le(off, samba_number(graph->ids->session, most));
    return p->window_mask != NULL;
}

static inline bool samba_llama__traceable(const llama_config *c, samba_tensor *ids,
                                          const char *what)
{
    char why[300];
    if (!ids || !samba_ok(ids->session)) return false;
    if (!llama_config_check(c, why, sizeof why))
        return samba_fail(ids->session, SAMBA_EARG, "in %s: %s", what, why);
    if (ids->shape.ndim == 2) return true;
    return samba_fail(ids->session, SAMBA_ESHAPE, "in %s: %s %S must have 2 dimensions", what,
                      ids->name, &ids->shape);
}

/* ids -> x (B,T,C) behind the last layer. */
static inline samba_tensor *samba_llama__hidden(samba_llama__pass *p, samba_tensor *ids)
{
    const llama_config *c = p->c;
    samba_tensor *x = samba_lookup(ids, samba_llama__use(c, ids->session, 0));
    for (int32_t layer = 0; x && layer < c->num_hidden_layers; layer++)
        x = samba_llama__layer(p, layer, x);
    return x;
}

/* x behind the last norm, of whole texts. */
static inline samba_tensor *samba_llama__whole(const llama_config *c, samba_tensor *ids,
                                               samba_tensor *positions, const char *what)
{
    samba_llama__pass p;
    memset(&p, 0, sizeof p);
    p.c = c;
    if (!samba_llama__traceable(c, ids, what)) return NULL;
    samba_session *s = ids->session;
    const int32_t t = ids->shape.dim[1];
    if (!positions && t > c->max_position_embeddings) {
        samba_fail(s, SAMBA_ESHAPE,
                   "in %s: %s %S is longer than the %d positions of the model "
                   "(max_position_embeddings)",
                   what, ids->name, &ids->shape, c->max_position_embeddings);
        return NULL;
    }
    samba_tensor *table = samba_llama__rotations(c, s, positions ? c->max_position_embeddings : t);
    if (positions) table = samba_llama__rotations_at(c, table, positions);
    if (!samba_llama__share_rotations(&p, table)) return NULL;
    if (samba_llama__any_slides(c) && c->sliding_window < t) {
        p.window_mask = samba_llama__window_mask(c, s, t);
        if (!p.window_mask) return NULL;
    }
    return samba_llama__norm(c, samba_llama__hidden(&p, ids), samba_llama__last_norm(c));
}

SAMBA_LLAMA_API samba_tensor *llama_logits(const llama_config *c, samba_tensor *ids,
                                           samba_tensor *positions)
{
    samba_tensor *x = samba_llama__whole(c, ids, positions, "llama_logits");
    return x ? samba_affine(x, samba_llama__head_weight(c, x->session), NULL) : NULL;
}

SAMBA_LLAMA_API samba_tensor *llama_loss(const llama_config *c, samba_tensor *ids,
                                         samba_tensor *positions, samba_tensor *labels,
                                         const samba_loss_opts *opts)
{
    samba_tensor *x = samba_llama__whole(c, ids, positions, "llama_loss");
    if (!x) return NULL;
    return samba_linear_cross_entropy(x, samba_llama__head_weight(c, x->session), labels, 0, opts);
}

SAMBA_LLAMA_API bool llama_trace_step(const void *config, samba_generator_graph *graph)
{
    samba_llama__pass p;
    memset(&p, 0, sizeof p);
    p.c = (const llama_config *)config;
    p.graph = graph;
    if (!samba_llama__traceable(p.c, graph->ids, "llama_trace_step")) return false;
    samba_session *s = graph->ids->session;
    const int32_t length = graph->key->shape.dim[0];
    if (length > p.c->max_position_embeddings) {
        return samba_fail(s, SAMBA_ERANGE,
                          "in llama_trace_step: a length of %d is more than the %d positions of "
                          "the model (max_position_embeddings)",
                          length, p.c->max_position_embeddings);
    }
    samba_tensor *table = samba_llama__rotations(p.c, s, length);
    table = samba_llama__rotations_at(p.c, table, graph->position);
    if (!samba_llama__share_rotations(&p, table) || !samba_llama__share_masks(&p)) return false;

    samba_tensor *x = samba_llama__hidden(&p, graph->ids);
    if (!x) return false;
    x = samba_reshape(x, samba_llama__dims(2, -1, p.c->hidden_size, 0, 0, 0));
    x = samba_llama__norm(p.c, samba_lookup(graph->last, x), samba_llama__last_norm(p.c));
    graph->logits = samba_affine(x, samba_llama__head_weight(p.c, s), NULL);
    return graph->logits != NULL;
}

/* ---- Weights ---- */

/* Parameter number i in the session; NULL with a reason if it is not there, or not as it should
   be. */
static inline samba_tensor *samba_llama__tensor(samba_session *s, const llama_config *c, int32_t i,
                                                const samba_model__why *why)
{
    llama_param p;
    llama_param_at(c, i, &p);
    const samba_shape shape = samba_llama__shape(&p);
    return samba_model__tensor(s, p.samba_name, &shape, "llama_logits", why);
}

/* A session with an error standing does nothing: its error is the reason. */
static inline bool samba_llama__ready(samba_session *s, const llama_config *c,
                                      const samba_model__why *why)
{
    if (!llama_config_check(c, why->text, why->size)) return false;
    if (!s) return samba_model__fail(why, "the session is NULL");
    if (!samba_ok(s)) return samba_model__fail(why, "%s", samba_error(s));
    for (int32_t i = 0; i < llama_n_params(c); i++) {
        if (!samba_llama__tensor(s, c, i, why)) return false;
    }
    return true;
}

static inline bool samba_llama__fits(const llama_param *p, const samba_safetensors_tensor *t,
                                     const samba_model__why *why)
{
    char got[200], want[64];
    const int64_t dim[2] = { p->dim[0], p->dim[1] };
    bool same = t->ndim == p->ndim;
    for (int32_t d = 0; same && d < p->ndim; d++)
        same = t->dim[d] == dim[d];
    if (same) return samba_model__is_float(t, why);
    return samba_model__fail(why, "tensor \"%s\" is %s, but this configuration wants %s", t->name,
                             samba_safetensors_shape_text(t->ndim, t->dim, got, sizeof got),
                             samba_safetensors_shape_text(p->ndim, dim, want, sizeof want));
}

/* What files of older releases carry, and each configuration says. */
static inline bool samba_llama__is_buffer(const llama_config *c, const char *name)
{
    static const char end[] = ".self_attn.rotary_emb.inv_freq";
    const size_t n = strlen(name), m = sizeof end - 1;
    return samba_llama__layer_of(c, name) >= 0 && n > m && !strcmp(name + n - m, end);
}

/* Finds the tensor of every parameter. of has room for all of them. */
static inline bool samba_llama__match(const llama_config *c, const samba_safetensors *f,
                                      const samba_safetensors_tensor **of,
                                      const samba_model__why *why)
{
    const int32_t n = llama_n_params(c);
    llama_param p;
    for (int32_t i = 0; i < n; i++) {
        llama_param_at(c, i, &p);
        of[i] = samba_safetensors_find(f, p.name);
        if (!of[i]) return samba_model__fail(why, "tensor \"%s\" is missing", p.name);
        if (!samba_llama__fits(&p, of[i], why)) return false;
    }
    for (size_t k = 0; k < samba_safetensors_count(f); k++) {
        const samba_safetensors_tensor *t = samba_safetensors_at(f, k);
        bool tied = c->tie_word_embeddings && !strcmp(t->name, "lm_head.weight");
        if (tied || samba_llama__is_buffer(c, t->name)) continue;
        if (llama_param_find(c, t->name) >= 0) continue;
        return samba_model__fail(why,
                                 "tensor \"%.100s\" is not in this configuration "
                                 "(num_hidden_layers %d, %s)",
                                 t->name, (int)c->num_hidden_layers,
                                 c->tie_word_embeddings ? "tied" : "not tied");
    }
    return true;
}

/* A file of a tied model may repeat the first matrix as lm_head; it must then be the same. buffer
   has room for two rows. */
static inline bool samba_llama__check_head(const llama_config *c, const samba_safetensors *f,
                                           const samba_safetensors_tensor *tokens, float *buffer,
                                           const samba_model__why *why)
{
    const samba_safetensors_tensor *t = samba_safetensors_find(f, "lm_head.weight");
    const uint64_t columns = (uint64_t)c->hidden_size;
    llama_param p;
    if (!t || !c->tie_word_embeddings) return true;
    llama_param_at(c, 0, &p);
    if (!samba_llama__fits(&p, t, why)) return false;
    for (uint64_t row = 0; row < (uint64_t)c->vocab_size; row++) {
        if (!samba_safetensors_read_f32(f, tokens, row * columns, columns, buffer, why->text,
                                        why->size)
            || !samba_safetensors_read_f32(f, t, row * columns, columns, buffer + columns,
                                           why->text, why->size))
            return false;
        if (!memcmp(buffer, buffer + columns, columns * sizeof *buffer)) continue;
        return samba_model__fail(why,
                                 "lm_head.weight differs from embed_tokens in row %llu: this model "
                                 "is not tied. Set tie_word_embeddings to false in its "
                                 "configuration",
                                 (unsigned long long)row);
    }
    return true;
}

/* Elements of the largest parameter, and room for two rows of the first matrix. */
static inline size_t samba_llama__largest(const llama_config *c)
{
    size_t most = 2 * (size_t)c->hidden_size;
    llama_param p;
    for (int32_t i = 0; llama_param_at(c, i, &p); i++) {
        size_t n = (size_t)p.dim[0] * (size_t)(p.ndim == 2 ? p.dim[1] : 1);
        if (n > most) most = n;
    }
    return most;
}

static inline bool samba_llama__read_param(const samba_model__source *from, int32_t i,
                                           float *values)
{
    return samba_safetensors_read_f32(from->f, from->of[i], 0, from->of[i]->count, values,
                                      from->why->text, from->why->size);
}

/* A file has the rows of a matrix as samba has them. */
static inline bool samba_llama__read_rows(const samba_model__source *from, int32_t i, int32_t first,
                                          int32_t n, float *rows)
{
    llama_param p;
    llama_param_at((const llama_config *)from->config, i, &p);
    const uint64_t columns = (uint64_t)p.dim[1];
    return samba_safetensors_read_f32(from->f, from->of[i], (uint64_t)first * columns,
                                      (uint64_t)n * columns, rows, from->why->text,
                                      from->why->size);
}

static inline int32_t samba_llama__find(const void *config, const char *tensor_name)
{
    char name[LLAMA_MAX_NAME];
    if (!samba_model__translate(tensor_name, "__", ".", name, sizeof name)) return -1;
    return llama_param_find((const llama_config *)config, name);
}

static inline samba_tensor *samba_llama__tensor_of(samba_session *s, const void *config, int32_t i,
                                                   const samba_model__why *why)
{
    return samba_llama__tensor(s, (const llama_config *)config, i, why);
}

static const samba_model__family samba_llama__family
    = { samba_llama__tensor_of, samba_llama__find, samba_llama__read_param,
        samba_llama__read_rows };

/* Proves all of the file before anything of the session changes. To be closed either way. */
static inline bool samba_llama__open_source(samba_model__source *from, samba_session *s,
                                            const llama_config *c, const samba_safetensors *f,
                                            const samba_model__why *why)
{
    memset(from, 0, sizeof *from);
    if (!f) return samba_model__fail(why, "the safetensors are NULL");
    if (!samba_llama__ready(s, c, why)) return false;
    if (!samba_model__open_source(from, &samba_llama__family, c, llama_n_params(c), f, why)
        || !samba_llama__match(c, f, from->of, why))
        return false;

    float *rows = (float *)SAMBA_MODEL_MALLOC(2 * (size_t)c->hidden_size * sizeof *rows);
    if (!rows) return samba_model__fail(why, "there is no memory for two rows of a matrix");
    bool fine = samba_llama__check_head(c, f, from->of[0], rows, why);
    SAMBA_MODEL_FREE(rows);
    return fine;
}

SAMBA_LLAMA_API bool llama_load(samba_session *s, const llama_config *c, const samba_safetensors *f,
                                char *why, size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    samba_model__source from;
    bool fine = samba_llama__open_source(&from, s, c, f, &w) && samba_model__fill(&from, s);
    samba_model__close_source(&from);
    return fine;
}

SAMBA_LLAMA_API bool llama_load_folder(samba_session *s, const llama_config *c, const char *folder,
                                       char *why, size_t why_size)
{
    samba_safetensors *f = samba_safetensors_open_folder(folder, why, why_size);
    bool fine = f && llama_load(s, c, f, why, why_size);
    samba_safetensors_close(f);
    return fine;
}

/* Adapters are not packed: they come from a file of their own, when the program is compiled. y is
   what an op makes; lora.h names that of adapters. */
static inline bool samba_llama__is_packed(const samba_tensor *y, void *user)
{
    const samba_program *program = (const samba_program *)user;
    if (strstr(y->name, "__lora_")) return false;
    return !program->quantizes || program->quantizes(y, program->quantizes_user);
}

SAMBA_LLAMA_API bool llama_compile_folder(samba_session *s, const llama_config *c,
                                          const char *folder, const samba_program *program,
                                          char *why, size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    samba_model__source from;
    if (!program) return samba_model__fail(&w, "the program is NULL");
    samba_safetensors *f = samba_safetensors_open_folder(folder, why, why_size);
    if (!f) return false;
    samba_program p = *program;
    p.quantizes = samba_llama__is_packed;
    p.quantizes_user = (void *)(uintptr_t)program;
    bool fine = samba_llama__open_source(&from, s, c, f, &w) && samba_model__compile(&from, s, p);
    samba_model__close_source(&from);
    samba_safetensors_close(f);
    return fine;
}

static inline bool samba_llama__save_weights(samba_session *s, const llama_config *c,
                                             const char *path, samba_safetensors_dtype dtype,
                                             const samba_model__why *why)
{
    const char *const metadata[2] = { "format", "pt" }; /* transformers asks for it */
    const int32_t n = llama_n_params(c);
    samba_safetensors_writer *w = NULL;
    llama_param *params = (llama_param *)SAMBA_MODEL_MALLOC((size_t)n * sizeof *params);
    samba_safetensors_entry *entries
        = (samba_safetensors_entry *)SAMBA_MODEL_MALLOC((size_t)n * sizeof *entries);
    float *values = (float *)SAMBA_MODEL_MALLOC(samba_llama__largest(c) * sizeof *values);
    bool fine = params && entries && values;
    if (!fine) samba_model__fail(why, "there is no memory for a list of %d parameters", (int)n);
    if (fine) memset(entries, 0, (size_t)n * sizeof *entries);
    for (int32_t i = 0; fine && i < n; i++) {
        llama_param_at(c, i, &params[i]);
        entries[i].name = params[i].name;
        entries[i].dtype = dtype;
        entries[i].ndim = params[i].ndim;
        entries[i].dim[0] = params[i].dim[0];
        entries[i].dim[1] = params[i].dim[1];
    }
    if (fine)
        w = samba_safetensors_create(path, entries, (size_t)n, metadata, 1, why->text, why->size);
    for (int32_t i = 0; w && i < n; i++) {
        samba_tensor *t = samba_llama__tensor(s, c, i, why);
        int64_t count = samba_count(&t->shape);
        fine = samba_copy_out_f32(t, values, count);
        if (!fine) break;
        samba_safetensors_put(w, values, (uint64_t)count);
    }
    if (w && fine)
        fine = samba_safetensors_finish(w, why->text, why->size);
    else if (w) {
        samba_safetensors_abandon(w);
        samba_model__fail(why, "%s", samba_error(s));
    }
    SAMBA_MODEL_FREE(params);
    SAMBA_MODEL_FREE(entries);
    SAMBA_MODEL_FREE(values);
    return fine && w;
}

/* folder/name, to be freed; NULL with a reason. */
static inline char *samba_llama__path(const char *folder, const char *name,
                                      const samba_model__why *why)
{
    if (!folder) {
        samba_model__fail(why, "the folder is NULL");
        return NULL;
    }
    const size_t n = strlen(folder), m = strlen(name) + 1;
    char *path = (char *)SAMBA_MODEL_MALLOC(n + 1 + m);
    if (path) {
        memcpy(path, folder, n);
        path[n] = '/';
        memcpy(path + n + 1, name, m);
    } else {
        samba_model__fail(why, "there is no memory for a path");
    }
    return path;
}

SAMBA_LLAMA_API bool llama_save(samba_session *s, const llama_config *c, const char *folder,
                                samba_safetensors_dtype dtype, char *why, size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    if (!samba_llama__ready(s, c, &w)) return false;
    char *config = samba_llama__path(folder, "config.json", &w);
    char *weights = config ? samba_llama__path(folder, "model.safetensors", &w) : NULL;
    bool fine = weights && llama_config_write(config, c, why, why_size)
        && samba_llama__save_weights(s, c, weights, dtype, &w);
    SAMBA_MODEL_FREE(config);
    SAMBA_MODEL_FREE(weights);
    return fine;
}

SAMBA_LLAMA_API bool llama_optims(samba_session *s, const llama_config *c, const samba_optim *base,
                                  samba_tensor **params, samba_optim optims[2], char *why,
                                  size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    llama_param p;
    int32_t used = 0;
    if (!base || !params || !optims) return samba_model__fail(&w, "an argument is NULL");
    if (!samba_llama__ready(s, c, &w)) return false;
    for (int32_t group = 0; group < 2; group++) {
        samba_optim *o = &optims[group];
        *o = *base;
        if (group == 1) o->weight_decay = 0.0f;
        o->params = params + used;
        o->n_params = 0;
        for (int32_t i = 0; llama_param_at(c, i, &p); i++) {
            if (p.ndim != 2 - group) continue;
            params[used++] = samba_llama__tensor(s, c, i, &w);
            o->n_params++;
        }
    }
    return true;
}

/* ---- Adapters ---- */

/* Keys of adapter_config.json that change no number of plain LoRA in inference or training here. */
static inline bool samba_llama__adapter_key_is_ignored(const char *key)
{
    static const char *const ignored[] = { "auto_mapping",   "base_model_name_or_path",
                                           "inference_mode", "qalora_group_size",
                                           "lora_dropout",   "megatron_config",
                                           "megatron_core",  "peft_version",
                                           "revision",       "runtime_config",
                                           "loftq_config",   "eva_config",
                                           "corda_config",   "task_type" };
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (!strcmp(key, ignored[i])) return true;
    return false;
}

/* Does a value ask for nothing: false, null, 0, "none", an empty list or object? */
static inline bool samba_llama__is_off(const cJSON *item)
{
    if (cJSON_IsNull(item) || cJSON_IsFalse(item)) return true;
    if (cJSON_IsNumber(item)) return item->valuedouble == 0;
    if (cJSON_IsString(item)) return !strcmp(item->valuestring, "none");
    return (cJSON_IsArray(item) || cJSON_IsObject(item)) && !item->child;
}

static inline void samba_llama__check_adapter_keys(samba_model__reader *r)
{
    static const char *const read[]
        = { "peft_type", "r", "lora_alpha", "target_modules", "init_lora_weights" };
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, r->json)
    {
        bool known = samba_llama__adapter_key_is_ignored(item->string);
        for (size_t i = 0; i < sizeof read / sizeof *read; i++)
            known = known || !strcmp(item->string, read[i]);
        if (known || r->failed || samba_llama__is_off(item)) continue;
        r->failed = !samba_model__fail(
            r->why,
            "%.60s asks for what plain LoRA does not have; it must be false, null or absent",
            item->string);
    }
}

/* Ways to begin that also change the weights of the model, such as PiSSA's, are not plain LoRA. */
static inline void samba_llama__check_adapter_init(samba_model__reader *r)
{
    const cJSON *item = samba_model__key(r, "init_lora_weights", false);
    if (!item || cJSON_IsBool(item)) return;
    if (cJSON_IsString(item) && !strcmp(item->valuestring, "gaussian")) return;
    samba_model__wrong_type(r, "init_lora_weights", "true, false or \"gaussian\"");
}

static inline void samba_llama__read_targets(samba_model__reader *r, llama_lora *out)
{
    const cJSON *list = samba_model__key(r, "target_modules", true), *item = NULL;
    int32_t n = 0;
    if (!list) return;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > SAMBA_MAX_LORA_TARGETS || !list->child) {
        samba_model__wrong_type(r, "target_modules", "a list of 1 ... 8 names of layers");
        return;
    }
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item)
            || !samba_model__translate(item->valuestring, ".", "__", out->names[n],
                                       sizeof out->names[n])) {
            samba_model__wrong_type(r, "target_modules", "names of at most 60 letters");
            return;
        }
        out->lora.targets[n] = out->names[n];
        n++;
    }
}

static inline bool samba_llama__adapter_from(const cJSON *json, llama_lora *out,
                                             const samba_model__why *why)
{
    samba_model__reader r;
    double alpha = 8; /* PEFT's defaults */
    r.json = json;
    r.why = why;
    r.failed = false;
    memset(out, 0, sizeof *out);
    out->lora.rank = 8;
    const char *type = samba_llama__text(&r, "peft_type", true);
    if (type && strcmp(type, "LORA"))
        r.failed = !samba_model__fail(why, "peft_type is \"%.40s\", not \"LORA\"", type);
    samba_llama__check_adapter_keys(&r);
    samba_llama__check_adapter_init(&r);
    samba_model__read_int(&r, "r", false, &out->lora.rank);
    samba_model__read_real(&r, "lora_alpha", &alpha);
    samba_llama__read_targets(&r, out);
    if (r.failed || !samba_model__in("r", out->lora.rank, 1, 65536, why)
        || !samba_model__real_in("lora_alpha", alpha, 0, 1e6, why))
        return false;
    out->lora.alpha = alpha > 0 ? (float)alpha : SAMBA_ZERO;
    return true;
}

SAMBA_LLAMA_API bool llama_read_adapter(const char *folder, llama_lora *lora, char *why,
                                        size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    char reason[300];
    samba_model__why inner = samba_model__why_of(reason, sizeof reason);
    if (!lora) return samba_model__fail(&w, "the adapter is NULL");
    char *path = samba_llama__path(folder, "adapter_config.json", &w);
    if (!path) return false;
    cJSON *json = samba_safetensors_json_file(path, SAMBA_MODEL__CONFIG_DEPTH, why, why_size);
    bool fine = json != NULL;
    if (fine && !samba_llama__adapter_from(json, lora, &inner))
        fine = samba_model__fail(&w, "%s: %s", path, reason);
    cJSON_Delete(json);
    SAMBA_MODEL_FREE(path);
    return fine;
}

SAMBA_LLAMA_API bool llama_load_adapter(samba_session *s, const char *folder, char *why,
                                        size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    char *path = samba_llama__path(folder, "adapter_model.safetensors", &w);
    bool fine = path && samba_model__load_lora(s, path, why, why_size);
    SAMBA_MODEL_FREE(path);
    return fine;
}

static inline cJSON *samba_llama__adapter_json(const samba_lora *lora)
{
    samba_llama__writer w = { cJSON_CreateObject(), true };
    const char *targets[SAMBA_MAX_LORA_TARGETS];
    int32_t n = 0;
    while (n < SAMBA_MAX_LORA_TARGETS && lora->targets[n]) {
        targets[n] = lora->targets[n];
        n++;
    }
    w.fine = w.json != NULL;
    samba_llama__put_text(&w, "peft_type", "LORA");
    samba_llama__put_text(&w, "task_type", "CAUSAL_LM");
    samba_llama__put_number(&w, "r", samba_lora__rank(lora));
    samba_llama__put_number(&w, "lora_alpha",
                            (double)samba_lora__scale(lora) * (double)samba_lora__rank(lora));
    samba_llama__put_text(&w, "bias", "none");
    samba_llama__put_bool(&w, "fan_in_fan_out", false);
    samba_llama__put_item(&w, "target_modules", cJSON_CreateStringArray(targets, n));
    if (w.fine) return w.json;
    cJSON_Delete(w.json);
    return NULL;
}

SAMBA_LLAMA_API bool llama_save_adapter(samba_session *s, const samba_lora *lora,
                                        const char *folder, samba_safetensors_dtype dtype,
                                        char *why, size_t why_size)
{
    samba_model__why w = samba_model__why_of(why, why_size);
    if (!s || !lora) return samba_model__fail(&w, "the session or the adapter is NULL");
    char *config = samba_llama__path(folder, "adapter_config.json", &w);
    char *weights = config ? samba_llama__path(folder, "adapter_model.safetensors", &w) : NULL;
    bool fine = weights && samba_llama__write_json(config, samba_llama__adapter_json(lora), &w)
        && samba_model__save_lora(s, weights, dtype, why, why_size);
    SAMBA_MODEL_FREE(config);
    SAMBA_MODEL_FREE(weights);
    return fine;
}
#endif /* SAMBA_LLAMA_IMPLEMENTATION */
/* MIT license, as samba.h. */
