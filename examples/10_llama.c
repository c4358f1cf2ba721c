// A Llama, Mistral, Qwen or SmolLM in a folder of Hugging Face: goes on with a text, or learns one.
//     cc -O2 -o llama examples/10_llama.c -lcjson -lutf8proc -lm -pthread
//     ./llama run --model SmolLM --prompt 'Once upon a time' --weights int8
//     ./llama run --model SmolLM --text FILE --lora_rank 8 --save ADAPTER       fine-tunes
//     ./llama run --model SmolLM --adapter ADAPTER --prompt 'Once upon a time'
//     ./llama run --model SmolLM --adapter ADAPTER --save MERGED                for transformers
#define SAMBA_IMPLEMENTATION
#define SAMBA_TEXT_MODEL_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#include "../samba.h"
#include "../tools/include/samba/driver.h"
#include "../tools/include/samba/text_model.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    samba_app_args app;
    const char *model, *prompt, *text, *adapter, *save, *weights;
    int32_t length, chunk, tokens, steps, lora_rank, top_k;
    float temperature, top_p, min_p, repetition_penalty, learning_rate;
} options;

static char why[600]; // the reason, when a file cannot be used

static bool fail_why(samba_session *s)
{
    return samba_ok(s) ? samba_fail(s, SAMBA_EIO, "%s", why) : false;
}

static bool read_config(samba_session *s, const options *o, llama_config *c)
{
    char path[1024];
    if (!o->model) return samba_fail(s, SAMBA_EARG, "say --model FOLDER");
    snprintf(path, sizeof path, "%s/config.json", o->model);
    if (!llama_config_read(path, c, why, sizeof why)) return fail_why(s);
    if (o->length > c->max_position_embeddings || o->length < 2)
        return samba_fail(s, SAMBA_ERANGE, "--length is %d; the model has %d positions", o->length,
                          c->max_position_embeddings);
    return true;
}

// ---- Tokens ------------------------------------------------------------------------------------

static samba_tokenizer *open_tokenizer(samba_session *s, const options *o, const llama_config *c)
{
    samba_tokenizer *t = samba_tokenizer_open(o->model, why, sizeof why);
    if (!t)
        fail_why(s);
    else if (samba_tokenizer_size(t) > c->vocab_size)
        samba_fail(s, SAMBA_EARG, "the tokenizer in %s has %d tokens, the model only %d", o->model,
                   samba_tokenizer_size(t), c->vocab_size);
    return t;
}

// All of a file in memory, to be freed.
static char *read_file(samba_session *s, const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long n = -1;
    if (f && !fseek(f, 0, SEEK_END)) n = ftell(f);
    if (n >= 0 && !fseek(f, 0, SEEK_SET)) text = (char *)malloc((size_t)n + 1);
    *size = text ? fread(text, 1, (size_t)n, f) : 0;
    if (!text) samba_fail(s, SAMBA_EIO, "cannot read %s: %s", path, strerror(errno));
    if (f) fclose(f);
    return text;
}

// ---- Going on with a prompt --------------------------------------------------------------------

// The text goes where it is shown as it comes; false would end it.
static bool show(void *user, const char *text, size_t size)
{
    return fwrite(text, 1, size, (FILE *)user) == size && fflush((FILE *)user) == 0;
}

static bool open_text(samba_session *s, const options *o, samba_text_model *m)
{
    samba_text_opts opts = { .folder = o->model, .adapter = o->adapter, .chunk = o->chunk };
    if (!samba_weights_called(o->weights, &opts.weights))
        return samba_fail(s, SAMBA_EARG, "--weights is plain, f32, bf16, int8 or int4, not %s",
                          o->weights);
    return samba_text_open(m, s, &opts) && samba_text_begin(m, o->length);
}

static bool generate(const options *o, samba_text_model *m)
{
    const samba_sampling sampling = { .temperature = o->temperature,
                                      .top_k = o->top_k,
                                      .top_p = o->top_p,
                                      .min_p = o->min_p,
                                      .repetition_penalty = o->repetition_penalty,
                                      .seed = (uint64_t)(uint32_t)o->app.seed };
    const samba_text_how how
        = { .sampling = sampling, .max_new_tokens = o->tokens, .put = show, .user = stdout };
    int32_t *ids = (int32_t *)malloc((size_t)o->length * sizeof *ids);
    int64_t n = ids ? samba_text_encode(m, o->prompt, strlen(o->prompt), ids, o->length) : 0;
    printf("%s", o->prompt);
    double start = samba_seconds();
    bool fine = samba_text_write(m, ids, (int32_t)n, &how);
    printf("\n");
    if (fine)
        fprintf(stderr, "%d new tokens, %.1f tokens/s\n", m->n_ids - m->n_prompt,
                (double)(m->n_ids - m->n_prompt) / (samba_seconds() - start));
    free(ids);
    return fine;
}

static bool go_on(samba_session *s, const options *o)
{
    samba_text_model m = { .n_ids = 0 };
    bool fine = open_text(s, o, &m) && generate(o, &m);
    if (!fine && samba_ok(s)) samba_fail(s, SAMBA_EIO, "%s", m.why);
    samba_text_close(&m);
    return fine;
}

// ---- Learning a text ---------------------------------------------------------------------------

typedef struct lesson {
    samba_tensor *ids, *labels, *loss; // (B,T) (B,T) ()
    samba_tensor **params;
    samba_optim optims[2];
    int32_t *tokens; // of the text
    int64_t n_tokens;
} lesson;

static bool open_lesson(samba_session *s, const options *o, const llama_config *c, bool adapts,
                        lesson *l)
{
    const int32_t B = o->app.batch_size, T = o->length;
    llama_config traced = *c;
    traced.initializer_range = 0; // the folder has the values
    samba_optim adamw = { .kind = SAMBA_ADAMW, .lr = o->learning_rate, .beta2 = 0.999f };
    l->ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(B, T));
    l->labels = samba_input(s, "labels", SAMBA_I32, SAMBA_SHAPE(B, T));
    l->loss = llama_loss(&traced, l->ids, NULL, l->labels, NULL);
    samba_program p = { .loss = l->loss, .optim = adamw, .max_grad_norm = 1 };
    l->params = (samba_tensor **)malloc((size_t)llama_n_params(c) * sizeof *l->params);
    if (!l->params) return samba_fail(s, SAMBA_ENOMEM, "no memory for a list of parameters");
    if (!adapts) { // all weights are trained: those of norms do not decay
        adamw.weight_decay = 0.1f;
        if (!llama_optims(s, c, &adamw, l->params, l->optims, why, sizeof why)) return fail_why(s);
        p.optim = (samba_optim){ .kind = SAMBA_NO_OPTIM };
        p.optims = l->optims;
        p.n_optims = 2;
    }
    if (!samba_compile(s, &p)) return false;
    return llama_load_folder(s, c, o->model, why, sizeof why) ? true : fail_why(s);
}

static bool read_tokens(samba_session *s, const options *o, const llama_config *c, lesson *l)
{
    size_t size = 0;
    char *text = read_file(s, o->text, &size);
    samba_tokenizer *t = text ? open_tokenizer(s, o, c) : NULL;
    if (samba_ok(s)) l->tokens = (int32_t *)malloc((size + 1) * sizeof *l->tokens);
    if (l->tokens) l->n_tokens = samba_tokenizer_encode(t, text, size, l->tokens, (int64_t)size);
    if (samba_ok(s) && l->n_tokens <= o->length)
        samba_fail(s, SAMBA_EARG, "%s has %l tokens; a row of a batch takes %d (--length) and one",
                   o->text, l->n_tokens, o->length);
    samba_tokenizer_close(t);
    free(text);
    return samba_ok(s);
}

// Rows begin anywhere in the text.
static bool write_batch(samba_session *s, const options *o, const lesson *l, int32_t step)
{
    const int32_t B = o->app.batch_size, T = o->length;
    int32_t *ids = (int32_t *)malloc(2 * (size_t)B * (size_t)T * sizeof *ids);
    if (!ids) return samba_fail(s, SAMBA_ENOMEM, "no memory for a batch");
    int32_t *labels = ids + B * T;
    for (int32_t b = 0; b < B; b++) {
        double u
            = samba_sampling_number((uint64_t)(uint32_t)o->app.seed, (uint64_t)step, (uint64_t)b);
        int64_t at = (int64_t)(u * (double)(l->n_tokens - T));
        memcpy(ids + b * T, l->tokens + at, (size_t)T * sizeof *ids);
        memcpy(labels + b * T, l->tokens + at + 1, (size_t)T * sizeof *ids);
    }
    samba_write(l->ids, ids);
    samba_write(l->labels, labels);
    free(ids);
    return samba_ok(s);
}

static bool learn(samba_session *s, const options *o, const llama_config *c, const samba_lora *lora)
{
    lesson l = { 0 };
    bool adapts = o->lora_rank > 0 || o->adapter;
    bool fine = read_tokens(s, o, c, &l) && open_lesson(s, o, c, adapts, &l);
    if (fine && o->adapter && !llama_load_adapter(s, o->adapter, why, sizeof why))
        fine = fail_why(s);
    for (int32_t step = 1; fine && step <= o->steps; step++) {
        fine = write_batch(s, o, &l, step) && samba_run(s, 0);
        if (fine && (step % 10 == 0 || step == 1 || step == o->steps))
            printf("step %d  loss %.4f\n", step, (double)samba_read(l.loss)[0]);
        fflush(stdout);
    }
    if (fine && o->save) {
        bool saved = adapts
            ? llama_save_adapter(s, lora, o->save, SAMBA_SAFETENSORS_F32, why, sizeof why)
            : llama_save(s, c, o->save, SAMBA_SAFETENSORS_F32, why, sizeof why);
        if (!saved) fine = fail_why(s);
    }
    free(l.tokens);
    free(l.params);
    return fine;
}

// ---- Merging -----------------------------------------------------------------------------------

static bool merge(samba_session *s, const options *o, const llama_config *c, const samba_lora *lora)
{
    llama_config traced = *c;
    traced.initializer_range = 0; // the folder has the values
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(1, 1));
    samba_program p = { .outputs = { llama_logits(&traced, ids, NULL) }, .inference = true };
    if (!samba_compile(s, &p)) return false;
    if (!llama_load_folder(s, c, o->model, why, sizeof why)
        || !llama_load_adapter(s, o->adapter, why, sizeof why))
        return fail_why(s);
    if (!samba_merge_lora(s, lora)) return false;
    return llama_save(s, c, o->save, SAMBA_SAFETENSORS_F32, why, sizeof why) ? true : fail_why(s);
}

static bool run(samba_session *s, const options *o)
{
    llama_config c;
    llama_lora adapter = { .lora = { .rank = o->lora_rank, .targets = { "q_proj", "v_proj" } } };
    if (!read_config(s, o, &c)) return false;
    if (!o->text && !o->save) {
        if (!o->prompt)
            return samba_fail(s, SAMBA_EARG, "say --prompt TEXT, or --text FILE to learn");
        return go_on(s, o);
    }
    if (o->adapter && !llama_read_adapter(o->adapter, &adapter, why, sizeof why))
        return fail_why(s);
    if ((o->adapter || o->lora_rank) && !samba_add_lora(s, &adapter.lora)) return false;
    if (o->text) return learn(s, o, &c, &adapter.lora);
    if (o->adapter) return merge(s, o, &c, &adapter.lora);
    return samba_fail(s, SAMBA_EARG, "--save needs --text FILE, or --adapter FOLDER to merge");
}

int main(int argc, char **argv)
{
    options o = { .app = { .batch_size = 1 },
                  .weights = "plain",
                  .length = 256,
                  .chunk = 64,
                  .tokens = 64,
                  .steps = 100,
                  .learning_rate = 1e-4f };
    const samba_flag flags[] = {
        { "model", SAMBA_FLAG_TEXT, &o.model, "folder with config.json, tokenizer, safetensors" },
        { "length", SAMBA_FLAG_COUNT, &o.length, "most tokens of a text, default 256" },
    };
    const samba_flag run_flags[] = {
        { "prompt", SAMBA_FLAG_TEXT, &o.prompt, "what the text begins with" },
        { "tokens", SAMBA_FLAG_COUNT, &o.tokens, "most that are new, default 64" },
        { "weights", SAMBA_FLAG_TEXT, &o.weights, "plain, f32, bf16, int8 or int4" },
        { "chunk", SAMBA_FLAG_COUNT, &o.chunk, "tokens of a prompt read at once, default 64" },
        { "temperature", SAMBA_FLAG_AMOUNT, &o.temperature, "default 0: the likeliest token" },
        { "top_k", SAMBA_FLAG_NUMBER, &o.top_k, "draw from the k likeliest only; default 0: all" },
        { "top_p", SAMBA_FLAG_PART, &o.top_p, "draw from the likeliest of this mass; default 1" },
        { "min_p", SAMBA_FLAG_PART, &o.min_p,
          "and from those at least so likely as this part of the likeliest" },
        { "repetition_penalty", SAMBA_FLAG_AMOUNT, &o.repetition_penalty,
          "above 1: say less twice" },
        { "text", SAMBA_FLAG_TEXT, &o.text, "file to learn, UTF-8" },
        { "steps", SAMBA_FLAG_COUNT, &o.steps, "default 100" },
        { "learning_rate", SAMBA_FLAG_AMOUNT, &o.learning_rate, "default 1e-4" },
        { "lora_rank", SAMBA_FLAG_COUNT, &o.lora_rank, "train adapters of this rank only" },
        { "adapter", SAMBA_FLAG_TEXT, &o.adapter, "folder of PEFT's adapter files" },
        { "save", SAMBA_FLAG_TEXT, &o.save, "existing folder for what was learned, or merged" },
    };
    o.app.run_flags = run_flags;
    o.app.n_run_flags = sizeof run_flags / sizeof *run_flags;
    if (!samba_parse_app_args(argc, argv, &o.app, flags, sizeof flags / sizeof *flags))
        return o.app.exit_code;

    samba_session *s = samba_open(&(samba_desc){ .threads = o.app.threads });
    if (strcmp(o.app.command, "run") != 0)
        samba_fail(s, SAMBA_EARG, "this program only runs: it compiles what it needs itself");
    else
        run(s, &o);
    return samba_close(s); // 1 if an error stands: it was printed
}
