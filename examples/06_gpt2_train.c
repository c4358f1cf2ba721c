// Fine-tunes GPT-2 on prompts and completions: SambaFlow's tutorial_train.py.
//     cc -O2 -o gpt2_train examples/06_gpt2_train.c -lhdf5_serial -lcjson -lm -pthread
//     ./gpt2_train compile --config_name config.json --max_seq_length 128 -b 16 --pef-name train
//     ./gpt2_train run -p out/train/train.pef --config_name config.json --max_seq_length 128 -b 16
//         --data_dir DATA --steps 800 --checkpoint_name gpt2.ckpt
// DATA is a folder that `tools/samba prepare-data --pipeline` made. --model_name_or_path FOLDER,
// with config.json and safetensors of Hugging Face, begins with weights instead of random numbers.
// --graphamp-preset mp1, given to both, computes products in bf16; mp4 keeps all in it.
#define SAMBA_IMPLEMENTATION
#define SAMBA_DRIVER_IMPLEMENTATION
#define SAMBA_GENERATE_IMPLEMENTATION
#define SAMBA_SAFETENSORS_IMPLEMENTATION
#define SAMBA_HDF5_ROWS_IMPLEMENTATION
#define SAMBA_GPT2_IMPLEMENTATION
#define SAMBA_LORA_IMPLEMENTATION
#define SAMBA_REPLAY_IMPLEMENTATION
#include "../samba.h"
#include "../tools/include/samba/driver.h"
#include "../tools/include/samba/gpt2.h"
#include "../tools/include/samba/lora.h"
#include "../tools/include/samba/replay.h"
#include "../tools/include/samba/hdf5_rows.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    samba_app_args app;
    const char *model_name_or_path, *config_name, *cache_dir, *data_dir, *checkpoint_name;
    const char *lora_name, *save_model, *replay;
    samba_lora lora;
    int32_t max_seq_length, completion_length, steps, save_every, seed;
    int32_t average_from, join_prompts;
    float weight_decay, max_grad_norm_clip, learning_rate, warmup, dropout, prompt_loss_weight;
    float end_loss_weight, min_eval_acc, subsample_eval, adam_epsilon, prompt_dropout;
    bool resume, linear_decay, bf16, patch;
} options;

static char why[500]; // the reason, when a file cannot be used

enum { PROMPT = 0, COMPLETION = 1, PADDING = 2, END = 3, IGNORE = -100 }; // types; no label

enum { MAX_TRIES = 1000 }; // to find a row with the same completion

// ---- The model ---------------------------------------------------------------------------------

typedef struct model {
    gpt2_config config;
    samba_tensor *ids;               // (B,T)
    samba_tensor *places;            // (B,K): where in (B*T) it predicts; NULL: K is T
    samba_tensor *labels, *scale;    // (B,K); scale f32: the weight of each prediction
    samba_tensor *loss, *prediction; // (), and (B,K) i32: the likeliest next token
    samba_tensor **params;           // group by group
    samba_tensor **averages;         // of params; NULL: none are kept
    samba_optim optims[3];
} model;

// --model_name_or_path comes first, as in the tutorial; then the rates of its config are kept.
static bool read_config(samba_session *s, const options *o, gpt2_config *c)
{
    char path[1024];
    const char *from = o->model_name_or_path ? o->model_name_or_path : o->config_name;
    if (!from)
        return samba_fail(s, SAMBA_EARG, "Must provide --model_name_or_path or --config_name");
    bool folder = o->model_name_or_path != NULL;
    snprintf(path, sizeof path, folder ? "%s/config.json" : "%s", from);
    if (!gpt2_config_read(path, c, why, sizeof why)) return samba_fail(s, SAMBA_EIO, "%s", why);
    if (o->patch) gpt2_patch(c);
    if (!folder || o->dropout >= 0) {
        double p = o->dropout >= 0 ? (double)o->dropout : 0.1;
        c->attn_pdrop = c->embd_pdrop = c->resid_pdrop = p;
    }
    return true;
}

// Averages are state of the program: they are in each checkpoint. A program has the state it uses,
// so an output uses one number of each.
static bool keep_averages(samba_session *s, model *m, samba_program *p)
{
    samba_tensor *sum = NULL;
    int32_t n = gpt2_n_params(&m->config);
    m->averages = (samba_tensor **)malloc((size_t)n * sizeof *m->averages);
    if (!m->averages) return samba_fail(s, SAMBA_ENOMEM, "no memory for a list of averages");
    for (int32_t i = 0; i < n && samba_ok(s); i++) {
        char name[GPT2_MAX_NAME + 16];
        snprintf(name, sizeof name, "average__%s", m->params[i]->name);
        samba_tensor *t = m->averages[i] = samba_buffer(s, name, m->params[i]->shape, 0);
        for (int32_t axis = 0; t && axis < m->params[i]->shape.ndim; axis++)
            t = samba_slice(t, axis, 0, 1, 1);
        t = samba_reshape(t, SAMBA_SHAPE(1));
        sum = sum ? samba_add(sum, t) : t;
    }
    p->outputs[1] = sum;
    return samba_ok(s);
}

// Parameters exist once the model is traced; adapters train alone.
static bool choose_optimizers(samba_session *s, const options *o, model *m, samba_program *p)
{
    samba_optim adamw = { .kind = SAMBA_ADAMW,
                          .lr = o->learning_rate,
                          .beta2 = 0.997f,
                          .eps = o->adam_epsilon > 0 ? o->adam_epsilon : SAMBA_ZERO,
                          .weight_decay = o->weight_decay };
    p->max_grad_norm = o->max_grad_norm_clip;
    if (o->lora.rank) {
        p->optim = adamw;
        return samba_ok(s);
    }
    m->params = (samba_tensor **)malloc((size_t)gpt2_n_params(&m->config) * sizeof *m->params);
    if (!m->params) return samba_fail(s, SAMBA_ENOMEM, "no memory for a list of parameters");
    if (!gpt2_optims(s, &m->config, &adamw, m->params, m->optims, why, sizeof why))
        return samba_fail(s, SAMBA_EARG, "%s", why);
    p->optims = m->optims;
    p->n_optims = 3;
    return o->average_from < 0 || keep_averages(s, m, p);
}

// Logits (B,K,vocab_size). The last matrix is the largest: K places instead of T save most of it.
static samba_tensor *predict(samba_session *s, const options *o, model *m, int32_t K)
{
    const gpt2_config *c = &m->config;
    int32_t B = m->ids->shape.dim[0], T = m->ids->shape.dim[1];
    if (!o->completion_length) return gpt2_logits(c, m->ids, NULL);
    m->places = samba_input(s, "places", SAMBA_I32, SAMBA_SHAPE(B, K));
    samba_tensor *x = gpt2_embed(c, m->ids, NULL);
    for (int32_t i = 0; i < c->n_layer; i++)
        x = gpt2_block(c, i, x, NULL, NULL);
    x = samba_reshape(x, SAMBA_SHAPE(B * T, c->n_embd));
    return gpt2_head(c, samba_lookup(m->places, x));
}

static samba_program trace(samba_session *s, const options *o, model *m)
{
    samba_program p = { .name = "hf_transformer", .inference = o->app.inference };
    int32_t B = samba_app_rows(&o->app), T = o->max_seq_length; // of a batch, or a part: -mb
    p.microbatches = samba_app_parts(&o->app);
    if (!read_config(s, o, &m->config)) return p;
    if (T < 0) T = m->config.n_positions;
    if (T < 2 || T > m->config.n_positions)
        samba_fail(s, SAMBA_ERANGE, "--max_seq_length is %d; the model has %d positions", T,
                   m->config.n_positions);
    int32_t K = o->completion_length ? o->completion_length : T;
    if (K < 1 || K > T)
        samba_fail(s, SAMBA_ERANGE, "--completion_length is %d; a row has %d tokens", K, T);
    if (o->lora.rank) samba_add_lora(s, &o->lora);
    m->ids = samba_input(s, "input_ids", SAMBA_I32, SAMBA_SHAPE(B, T));
    m->labels = samba_input(s, "labels", SAMBA_I32, SAMBA_SHAPE(B, K));
    m->scale = samba_input(s, "loss_scale", SAMBA_F32, SAMBA_SHAPE(B, K));
    if (!samba_ok(s)) return p;
    samba_tensor *logits = predict(s, o, m, K);
    samba_tensor *losses = samba_cross_entropy_with(
        logits, m->labels, &(samba_loss_opts){ .reduction = SAMBA_REDUCE_NONE });
    m->loss = samba_sum(samba_mul(losses, m->scale), SAMBA_ALL_AXES, false);
    m->prediction = samba_argmax(logits, -1, false);
    p.loss = m->loss;
    p.outputs[0] = m->prediction;
    if (samba_ok(s) && !o->app.inference) choose_optimizers(s, o, m, &p);
    return p;
}

// ---- The data: HDF5 files of rows of tokens ----------------------------------------------------

typedef struct shard {
    char path[1024];
    int64_t rows;
} shard;

typedef struct shards {
    shard *at;
    int n;
    int64_t batches;
} shards; // batches: whole ones

// One batch, as the model takes it.
typedef struct batch {
    int32_t *ids, *types;                    // (B,T)
    int32_t *labels, *target_types, *places; // (B,K)
    int32_t *other;                          // (2,T): ids and types of a row to be joined
    float *scale;
    int64_t *order; // of the rows of the shard that is open
    samba_rows *open;
    int shard;     // its number; -1: none is open
    int64_t epoch; // for which order was drawn
} batch;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const shard *)a)->path, ((const shard *)b)->path);
}

// The .hdf5 files of the folder whose names contain one of two words, sorted; counts whole batches.
static bool find_shards(samba_session *s, const options *o, const char *word, const char *or_word,
                        int32_t T, shards *found)
{
    DIR *d = opendir(o->data_dir);
    memset(found, 0, sizeof *found);
    if (!d) return samba_fail(s, SAMBA_EIO, "cannot read the folder --data_dir %s", o->data_dir);
    for (struct dirent *e; (e = readdir(d)) && samba_ok(s);) {
        size_t n = strlen(e->d_name);
        bool wanted = strstr(e->d_name, word) || (or_word && strstr(e->d_name, or_word));
        if (!wanted || n < 6 || strcmp(e->d_name + n - 5, ".hdf5") != 0) continue;
        shard *more = (shard *)realloc(found->at, (size_t)(found->n + 1) * sizeof *more);
        if (!more) samba_fail(s, SAMBA_ENOMEM, "no memory for a list of files");
        if (!more) break;
        found->at = more;
        snprintf(more[found->n++].path, sizeof more->path, "%s/%s", o->data_dir, e->d_name);
    }
    closedir(d);
    if (found->n) qsort(found->at, (size_t)found->n, sizeof *found->at, by_name);
    for (int i = 0; i < found->n && samba_ok(s); i++) {
        samba_rows *r
            = samba_rows_open(found->at[i].path, SAMBA_ROWS_READ, T, false, why, sizeof why);
        if (!r) return samba_fail(s, SAMBA_EIO, "%s", why);
        found->at[i].rows = samba_rows_count(r);
        found->batches += found->at[i].rows / o->app.batch_size;
        samba_rows_abandon(r);
    }
    return samba_ok(s);
}

// A permutation of the rows that depends on seed, epoch and shard: a resumed run sees the same.
static void shuffle(int64_t *order, int64_t n, uint64_t seed, int64_t epoch, int number)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t stream = (uint64_t)epoch << 20 | (uint64_t)number;
        int64_t j = (int64_t)(samba_sampling_number(seed + stream, (uint64_t)i, stream)
                              * (double)(i + 1)),
                t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

static bool open_shard(samba_session *s, batch *b, const shards *from, int i, int64_t epoch,
                       const options *o, bool shuffled)
{
    if (b->shard == i && b->epoch == epoch) return true;
    if (b->open) samba_rows_abandon(b->open);
    int64_t n = from->at[i].rows;
    b->open = samba_rows_open(from->at[i].path, SAMBA_ROWS_READ, 0, false, why, sizeof why);
    if (!b->open) return samba_fail(s, SAMBA_EIO, "%s", why);
    int64_t *order = (int64_t *)realloc(b->order, (size_t)(n > 0 ? n : 1) * sizeof *order);
    if (!order) return samba_fail(s, SAMBA_ENOMEM, "no memory for the order of rows");
    b->order = order;
    b->shard = i;
    b->epoch = epoch;
    if (shuffled)
        shuffle(order, n, (uint64_t)o->seed, epoch, i);
    else
        for (int64_t k = 0; k < n; k++)
            order[k] = k;
    return true;
}

// Labels are the ids one place later. The weights of a batch add up to 1: completions count fully,
// prompts by --prompt_loss_weight, the end of a text by --end_loss_weight, padding not at all.
static bool set_targets(samba_session *s, const options *o, batch *b, int32_t T)
{
    size_t n = (size_t)o->app.batch_size * (size_t)T;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        bool last = (int32_t)(i % (size_t)T) == T - 1;
        b->labels[i] = last ? IGNORE : b->ids[i + 1];
        b->target_types[i] = last ? PADDING : b->types[i + 1];
        b->scale[i] = b->target_types[i] == PADDING ? 0.0f
            : b->target_types[i] == PROMPT          ? o->prompt_loss_weight
            : b->target_types[i] == END             ? o->end_loss_weight
                                                    : 1.0f;
        sum += (double)b->scale[i];
    }
    if (sum <= 0)
        return samba_fail(s, SAMBA_ERANGE,
                          "a batch of %s has no token that counts: no completion, "
                          "and --prompt_loss_weight is 0",
                          o->data_dir);
    for (size_t i = 0; i < n; i++)
        b->scale[i] /= (float)sum;
    return true;
}

// Keeps of each row the K predictions that count, side by side, and notes their places, which count
// from the first row of their part of the batch.
static bool choose_places(samba_session *s, const options *o, batch *b, int32_t T)
{
    int32_t B = o->app.batch_size, K = o->completion_length;
    for (int32_t row = 0; row < B; row++) {
        int32_t to = row * K, end = to + K, first = row - row % samba_app_rows(&o->app);
        for (int32_t from = row * T; from < (row + 1) * T; from++) {
            if (b->scale[from] <= 0) continue;
            if (to == end)
                return samba_fail(s, SAMBA_ERANGE,
                                  "a row of %s has more than %d tokens that "
                                  "count; say a larger --completion_length",
                                  o->data_dir, K);
            b->labels[to] = b->labels[from];
            b->target_types[to] = b->target_types[from];
            b->scale[to] = b->scale[from];
            b->places[to++] = from - first * T;
        }
        for (; to < end; to++) {
            b->labels[to] = IGNORE;
            b->target_types[to] = PADDING;
            b->scale[to] = 0;
            b->places[to] = (row - first) * T;
        }
    }
    return true;
}

// Leaves out tokens of a prompt at random, others in each epoch. Its last one always stays: it may
// be what separates it from the completion.
static void thin_prompt(const options *o, int64_t epoch, int64_t row, int32_t *ids, int32_t *types,
                        int32_t T)
{
    int32_t kept = 0, filler = ids[T - 1];
    uint64_t seed = (uint64_t)o->seed + (uint64_t)epoch;
    for (int32_t t = 0; t < T; t++) {
        bool stays = types[t] != PROMPT || t + 1 == T || types[t + 1] != PROMPT;
        if (!stays
            && samba_sampling_number(seed, (uint64_t)t, (uint64_t)row) < (double)o->prompt_dropout)
            continue;
        ids[kept] = ids[t];
        types[kept++] = types[t];
    }
    for (; kept < T; kept++) {
        ids[kept] = filler;
        types[kept] = PADDING;
    }
}

static bool same_completion(const int32_t *ids, const int32_t *types, const int32_t *other_ids,
                            const int32_t *other_types, int32_t T)
{
    for (int32_t i = 0, j = 0;; i++, j++) {
        while (i < T && types[i] != COMPLETION)
            i++;
        while (j < T && other_types[j] != COMPLETION)
            j++;
        if (i == T || j == T) return i == j;
        if (ids[i] != other_ids[j]) return false;
    }
}

// Puts the other row's prompt before the row; of its prompt the end, if there is no room for all.
static void join_prompt(int32_t *ids, int32_t *types, const int32_t *other_ids,
                        const int32_t *other_types, int32_t T)
{
    int32_t used = T, prompt = 0;
    while (used > 0 && types[used - 1] == PADDING)
        used--;
    while (prompt < T && other_types[prompt] == PROMPT)
        prompt++;
    prompt -= prompt > 0; // without its last token, the separator
    int32_t n = prompt < T - used ? prompt : T - used;
    memmove(ids + n, ids, (size_t)(T - n) * sizeof *ids);
    memmove(types + n, types, (size_t)(T - n) * sizeof *types);
    for (int32_t t = 0; t < n; t++) {
        ids[t] = other_ids[prompt - n + t];
        types[t] = PROMPT;
    }
}

// What makes many rows of a few: a row loses tokens, and is joined with others of its completion.
static bool vary_row(samba_session *s, const options *o, batch *b, int64_t rows, int64_t number,
                     int32_t *ids, int32_t *types, int32_t T)
{
    int32_t *other = b->other, *other_types = b->other + T;
    int64_t stream = number << 20 | b->shard;
    uint64_t seed = (uint64_t)o->seed + (uint64_t)b->epoch;
    if (o->prompt_dropout > 0) thin_prompt(o, b->epoch, stream, ids, types, T);
    for (int32_t joined = 1, tries = 0; joined < o->join_prompts && tries < MAX_TRIES; tries++) {
        double draw = samba_sampling_number(seed, (uint64_t)(T + tries), (uint64_t)stream);
        int64_t at = (int64_t)(draw * (double)rows);
        if (!samba_rows_read(b->open, at, 1, other, other_types, NULL, why, sizeof why))
            return samba_fail(s, SAMBA_EIO, "%s", why);
        if (!same_completion(ids, types, other, other_types, T)) continue;
        stream ^= (int64_t)(tries + 1) << 50; // the same row, joined again, loses other tokens
        if (o->prompt_dropout > 0) thin_prompt(o, b->epoch, stream, other, other_types, T);
        join_prompt(ids, types, other, other_types, T);
        joined++;
    }
    return true;
}

// Batch number k of the epoch: whole batches of shard 0, then of shard 1 ...
static bool read_batch(samba_session *s, const options *o, const model *m, const shards *from,
                       int64_t epoch, int64_t k, bool shuffled, batch *b)
{
    int32_t B = o->app.batch_size, T = m->ids->shape.dim[1];
    int i = 0;
    for (; k >= from->at[i].rows / B; i++)
        k -= from->at[i].rows / B;
    if (!open_shard(s, b, from, i, epoch, o, shuffled)) return false;
    for (int32_t row = 0; row < B; row++) {
        int32_t *ids = b->ids + row * T, *types = b->types + row * T;
        int64_t number = b->order[k * B + row];
        if (!samba_rows_read(b->open, number, 1, ids, types, NULL, why, sizeof why))
            return samba_fail(s, SAMBA_EIO, "%s", why);
        if (shuffled && !vary_row(s, o, b, from->at[i].rows, number, ids, types, T)) return false;
    }
    if (!set_targets(s, o, b, T) || (m->places && !choose_places(s, o, b, T))) return false;
    size_t ids = (size_t)B * (size_t)T * sizeof *b->ids;
    size_t few = m->places ? (size_t)B * (size_t)o->completion_length * sizeof *b->ids : ids;
    return samba_write_bytes(m->ids, b->ids, ids)
        && (!m->places || samba_write_bytes(m->places, b->places, few))
        && samba_write_bytes(m->labels, b->labels, few)
        && samba_write_bytes(m->scale, b->scale, few);
}

static bool open_batch(samba_session *s, const options *o, const model *m, batch *b)
{
    size_t n = (size_t)o->app.batch_size * (size_t)m->ids->shape.dim[1];
    memset(b, 0, sizeof *b);
    b->shard = -1;
    b->ids = (int32_t *)malloc((5 * n + 2 * (size_t)m->ids->shape.dim[1]) * sizeof *b->ids);
    b->scale = (float *)malloc(n * sizeof *b->scale);
    if (!b->ids || !b->scale) return samba_fail(s, SAMBA_ENOMEM, "no memory for a batch");
    b->types = b->ids + n;
    b->labels = b->types + n;
    b->target_types = b->labels + n;
    b->places = b->target_types + n;
    b->other = b->places + n;
    return true;
}

static void close_batch(batch *b)
{
    if (b->open) samba_rows_abandon(b->open);
    free(b->ids);
    free(b->scale);
    free(b->order);
}

// ---- Evaluation --------------------------------------------------------------------------------

typedef struct score {
    double loss;
    int64_t right, counted, batches;
} score;

// A sequence is right if every completion token is predicted; those without any do not count.
static void count_right(const options *o, const model *m, const batch *b, score *sum)
{
    int32_t B = o->app.batch_size, K = m->labels->shape.dim[1];
    const int32_t *said = samba_read_i32(m->prediction);
    for (int32_t row = 0; row < B; row++) {
        int targets = 0, hits = 0;
        for (int32_t t = row * K; t < (row + 1) * K; t++) {
            if (b->target_types[t] != COMPLETION) continue;
            targets++;
            hits += said[t] == b->labels[t];
        }
        sum->counted += targets > 0;
        sum->right += targets > 0 && hits == targets;
    }
}

// Over a random sample of the dev and test files. Prints what the tutorial prints.
static double evaluate(samba_session *s, const options *o, const model *m, const shards *all,
                       int step, score *sum)
{
    const samba_run_desc d = { .types = { SAMBA_FWD }, .eval = true };
    int64_t order[1024], n = all->n < 1024 ? all->n : 1024;
    int files = (int)((double)o->subsample_eval * (double)n + 0.999999);
    shards some = { (shard *)malloc((size_t)(n + 1) * sizeof *some.at), files, 0 };
    batch b;
    memset(sum, 0, sizeof *sum);
    shuffle(order, n, (uint64_t)o->seed, step, 0);
    int64_t samples = 0;
    for (int i = 0; some.at && i < files; i++) {
        some.at[i] = all->at[order[i]];
        some.batches += some.at[i].rows / o->app.batch_size;
        samples += some.at[i].rows;
    }
    printf("Evaluating on %d files out of %d with %lld total samples in the evaluation dataset\n",
           files, all->n, (long long)samples);
    bool fine = some.at && open_batch(s, o, m, &b);
    for (int64_t k = 0; fine && k < some.batches; k++) {
        fine = read_batch(s, o, m, &some, 0, k, false, &b) && samba_run_with(s, &d);
        if (fine) count_right(o, m, &b, sum);
        sum->loss += fine ? (double)samba_read(m->loss)[0] : 0;
        sum->batches += fine;
    }
    if (some.at) close_batch(&b);
    free(some.at);
    sum->loss /= sum->batches ? (double)sum->batches : 1;
    double accuracy = sum->counted ? (double)sum->right / (double)sum->counted : 0;
    printf("Evaluation Results At Step %d : Total Loss: %.4f, Eval acc: %.4f\n", step, sum->loss,
           accuracy);
    fflush(stdout);
    return accuracy;
}

// ---- Training ----------------------------------------------------------------------------------

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    interrupted = 1;
    signal(signal_number, SIG_DFL); // a second Ctrl-C ends the program at once
}

static void show_step(const options *o, int step, double loss, double rate)
{
    int eta = (int)((o->steps - step) / rate + 0.5);
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\rstep %d/%d  Training loss: %.4f  %.2f steps/s  ETA %d:%02d ", step, o->steps,
            loss, rate, eta / 60, eta % 60);
}

static double rate_at(const options *o, int step)
{
    double lr = (double)o->learning_rate;
    if (step < (int)o->warmup) return lr * (step + 1) / (double)o->warmup;
    return o->linear_decay ? lr * (1 - (double)step / o->steps) : lr;
}

static bool train_step(samba_session *s, const options *o, samba_replay *replay, int step)
{
    samba_set(s, "lr", rate_at(o, step));
    return samba_replay_run(replay, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
}

// Each average is the mean of the weights after the steps from --average_from on: it moves towards
// the newest by its share.
static bool update_averages(samba_session *s, const options *o, const model *m, int step)
{
    int32_t n = step - o->average_from;
    for (int32_t i = 0; n > 0 && m->averages && i < gpt2_n_params(&m->config); i++) {
        const float *w = samba_read(m->params[i]);
        float *mean = (float *)samba_cpu(m->averages[i]);
        int64_t count = samba_count(&m->params[i]->shape);
        for (int64_t k = 0; mean && k < count; k++)
            mean[k] += (w[k] - mean[k]) / (float)n;
        if (!mean || !samba_rdu(m->averages[i])) return false;
    }
    return samba_ok(s);
}

// What is tested and saved at the end, if there are any.
static bool use_averages(samba_session *s, const options *o, const model *m, int step)
{
    if (!m->averages || step <= o->average_from) return true;
    for (int32_t i = 0; i < gpt2_n_params(&m->config) && samba_ok(s); i++)
        samba_write_bytes(m->params[i], samba_cpu(m->averages[i]), samba_bytes(m->averages[i]));
    return samba_ok(s);
}

// From the step of the checkpoint to the last. False if it was interrupted, or failed.
static bool train(samba_session *s, const options *o, const model *m, const shards *files,
                  const shards *dev, int *step, score *last)
{
    batch b;
    double start = samba_seconds();
    int first = *step;
    if (!open_batch(s, o, m, &b)) return false;
    samba_replay *replay = samba_replay_open(s, o->replay);
    while (*step < o->steps && samba_ok(s) && !interrupted) {
        int64_t epoch = *step / files->batches, k = *step % files->batches;
        if (k == 0 || *step == first) printf("Training Epoch %lld\n", (long long)epoch);
        if (!read_batch(s, o, m, files, epoch, k, true, &b) || !train_step(s, o, replay, *step))
            break;
        ++*step;
        if (!update_averages(s, o, m, *step)) break;
        show_step(o, *step, (double)samba_read(m->loss)[0],
                  (*step - first) / (samba_seconds() - start));
        if (o->save_every && *step % o->save_every == 0) samba_save(s, o->checkpoint_name);
        if (k + 1 == files->batches && *step < o->steps && dev->n)
            evaluate(s, o, m, dev, *step, last);
    }
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r%78s\r", "");
    samba_replay_close(replay);
    close_batch(&b);
    return samba_ok(s) && !interrupted;
}

// What is written at the end besides the checkpoint.
static bool save_more(samba_session *s, const options *o, const model *m)
{
    if (o->lora.rank && o->lora_name
        && !gpt2_save_lora(s, o->lora_name, SAMBA_SAFETENSORS_F32, why, sizeof why))
        return samba_fail(s, SAMBA_EIO, "%s", why);
    if (!o->save_model) return true;
    if (o->lora.rank && !samba_merge_lora(s, &o->lora)) return false;
    return gpt2_save(s, &m->config, o->save_model, SAMBA_SAFETENSORS_F32, why, sizeof why)
        ? true
        : samba_fail(s, SAMBA_EIO, "%s", why);
}

static bool finish(samba_session *s, const options *o, const model *m, const shards *dev, int step,
                   score *last)
{
    printf("Finished training at %d steps!\nFinished training\n", step);
    if (!use_averages(s, o, m, step)) return false;
    double accuracy = dev->n ? evaluate(s, o, m, dev, step, last) : 0;
    if (dev->n)
        printf("Final eval total loss: %.4f\nFinal eval accuracy: %.4f\n", last->loss, accuracy);
    printf("Saving Checkpoint to disk at %s\n", o->checkpoint_name);
    if (!samba_save(s, o->checkpoint_name) || !save_more(s, o, m)) return false;
    if (o->min_eval_acc <= 0 || accuracy >= (double)o->min_eval_acc) return true;
    snprintf(why, sizeof why, "Obtained accuracy %.4f is less than the expected accuracy %.4f",
             accuracy, (double)o->min_eval_acc);
    return samba_fail(s, SAMBA_ERANGE, "%s", why);
}

// False if interrupted.
static bool run(samba_session *s, const options *o, model *m, const char *program)
{
    shards files, dev = { 0 };
    score last;
    int32_t T = m->ids->shape.dim[1];
    const char *counter = o->lora.rank ? "step" : "optim0__step";
    if (o->model_name_or_path && !o->resume
        && !gpt2_load_folder(s, &m->config, o->model_name_or_path, why, sizeof why))
        samba_fail(s, SAMBA_EIO, "%s", why);
    // All but the learning rate and the like, which the steps and the flags say.
    const samba_restore_opts state = { .kinds = SAMBA_KEPT };
    if (o->resume && access(o->checkpoint_name, F_OK) == 0)
        samba_restore_with(s, o->checkpoint_name, &state, NULL);
    bool done = true;
    if (samba_ok(s) && find_shards(s, o, "train", NULL, T, &files)) {
        find_shards(s, o, "dev", "test", T, &dev);
        if (samba_ok(s) && files.batches == 0)
            samba_fail(s, SAMBA_EARG, "no file *train*.hdf5 in %s has a whole batch of %d rows",
                       o->data_dir, o->app.batch_size);
    }
    if (samba_ok(s)) {
        int step = samba_read_i32(samba_tensor_by_name(s, counter))[0];
        signal(SIGINT, on_interrupt);
        done = train(s, o, m, &files, &dev, &step, &last);
        if (done)
            finish(s, o, m, &dev, step, &last);
        else if (samba_ok(s) && samba_save(s, o->checkpoint_name))
            printf("stopped; go on with: %s run --resume and the same flags\n", program);
        free(files.at);
        free(dev.at);
    }
    return done || !interrupted;
}

int main(int argc, char **argv)
{
    options o = { .app = { .batch_size = 16 },
                  .checkpoint_name = "checkpoint.pt",
                  .lora.targets = { "c_attn" },
                  .max_seq_length = -1,
                  .steps = 800,
                  .seed = 256,
                  .weight_decay = 0.1f,
                  .max_grad_norm_clip = 1,
                  .learning_rate = 7.5e-6f,
                  .adam_epsilon = 1e-8f,
                  .dropout = -1,
                  .end_loss_weight = 1,
                  .subsample_eval = 0.1f,
                  .average_from = -1,
                  .join_prompts = 1 };
    const samba_flag flags[] = {
        { "model_name_or_path", SAMBA_FLAG_TEXT, &o.model_name_or_path,
          "folder with config.json "
          "and safetensors" },
        { "config_name", SAMBA_FLAG_TEXT, &o.config_name, "config.json: random weights" },
        { "patch", SAMBA_FLAG_BOOL, &o.patch, "exact GELU for gelu_new, as gpt2_patch_helper" },
        { "cache_dir", SAMBA_FLAG_TEXT, &o.cache_dir, "has no meaning: nothing is downloaded" },
        { "max_seq_length", SAMBA_FLAG_INT, &o.max_seq_length, "default -1: all positions" },
        { "weight_decay", SAMBA_FLAG_AMOUNT, &o.weight_decay, "not of biases, norms; default 0.1" },
        { "max_grad_norm_clip", SAMBA_FLAG_AMOUNT, &o.max_grad_norm_clip, "default 1; 0: none" },
        { "adam_epsilon", SAMBA_FLAG_AMOUNT, &o.adam_epsilon,
          "default 1e-8; larger ones keep rare "
          "tokens from moving far" },
        { "learning_rate", SAMBA_FLAG_AMOUNT, &o.learning_rate, "default 7.5e-6" },
        { "warmup_steps", SAMBA_FLAG_AMOUNT, &o.warmup, "the rate rises over so many, default 0" },
        { "linear_decay", SAMBA_FLAG_BOOL, &o.linear_decay, "then it falls to 0 at the last step" },
        { "dropout", SAMBA_FLAG_SHARE, &o.dropout, "default 0.1, or that of --model_name_or_path" },
        { "prompt_loss_weight", SAMBA_FLAG_AMOUNT, &o.prompt_loss_weight, "default 0" },
        { "end_loss_weight", SAMBA_FLAG_AMOUNT, &o.end_loss_weight,
          "of the token that ends a text, "
          "default 1; less leaves more for a short completion" },
        { "prompt_dropout", SAMBA_FLAG_SHARE, &o.prompt_dropout,
          "share of each prompt's "
          "tokens left out while training, default 0" },
        { "join_prompts", SAMBA_FLAG_COUNT, &o.join_prompts,
          "train on so many prompts with the "
          "same completion, drawn at random, as one; default 1" },
        { "average_from", SAMBA_FLAG_NUMBER, &o.average_from,
          "the weights at the end are the mean of "
          "those after each step from this one on; default -1: the last ones" },
        { "completion_length", SAMBA_FLAG_NUMBER, &o.completion_length,
          "predict no more tokens of a "
          "row than this, those that count: faster; default 0: all" },
        { "seed", SAMBA_FLAG_COUNT, &o.seed, "of weights, dropout and order; default 256" },
        { "bf16", SAMBA_FLAG_BOOL, &o.bf16, "matrices are stored in bf16, in half their memory" },
        { "lora_rank", SAMBA_FLAG_COUNT, &o.lora.rank, "train adapters of this rank only" },
        { "lora_alpha", SAMBA_FLAG_POSITIVE, &o.lora.alpha, "default: the rank" },
        { "lora_targets", SAMBA_FLAG_TEXT, &o.lora.targets[0], "which layers, default c_attn" },
    };
    const samba_flag run_flags[] = {
        { "data_dir", SAMBA_FLAG_TEXT, &o.data_dir, "folder of train*.hdf5 and dev*.hdf5" },
        { "steps", SAMBA_FLAG_COUNT, &o.steps, "default 800" },
        { "min_eval_acc", SAMBA_FLAG_SHARE, &o.min_eval_acc, "less is an error; 0: no check" },
        { "subsample_eval", SAMBA_FLAG_PART, &o.subsample_eval,
          "share of the evaluation "
          "files, default 0.1" },
        { "checkpoint_name", SAMBA_FLAG_TEXT, &o.checkpoint_name, "written at the end" },
        { "save_every", SAMBA_FLAG_COUNT, &o.save_every, "and each so many steps" },
        { "resume", SAMBA_FLAG_BOOL, &o.resume, "go on from the checkpoint, if there is one" },
        { "replay", SAMBA_FLAG_TEXT, &o.replay, "file that shows where the first NaN comes from" },
        { "save_model", SAMBA_FLAG_TEXT, &o.save_model,
          "existing folder for Hugging Face "
          "files" },
        { "lora_name", SAMBA_FLAG_TEXT, &o.lora_name, "the adapters' safetensors" },
    };
    o.app.run_flags = run_flags;
    o.app.n_run_flags = sizeof run_flags / sizeof *run_flags;
    if (!samba_parse_app_args(argc, argv, &o.app, flags, sizeof flags / sizeof *flags))
        return o.app.exit_code;
    if (o.app.seed) o.seed = o.app.seed; // of the environment: --seed is the one above

    model m = { 0 };
    bool done = true, runs = strcmp(o.app.command, "run") == 0;
    samba_session *s = samba_open(&(samba_desc){
        .threads = o.app.threads, .graphamp = o.app.graphamp, .seed = (uint64_t)(uint32_t)o.seed });
    if (o.bf16) samba_set_param_dtype(s, SAMBA_BF16);
    samba_program program = trace(s, &o, &m);
    if (o.cache_dir) printf("--cache_dir has no meaning here: nothing is downloaded\n");
    if (!(o.subsample_eval > 0 && o.subsample_eval <= 1) || !(o.dropout < 1)
        || !(o.prompt_loss_weight >= 0) || !(o.end_loss_weight >= 0) || !(o.adam_epsilon >= 0)
        || !(o.prompt_dropout >= 0 && o.prompt_dropout < 1) || o.join_prompts < 1)
        samba_fail(s, SAMBA_ERANGE,
                   "--subsample_eval, --dropout and --prompt_dropout are parts of "
                   "1, --prompt_loss_weight, --end_loss_weight and --adam_epsilon are not "
                   "negative, --join_prompts is at least 1");
    if (o.lora.rank && o.average_from >= 0)
        samba_fail(s, SAMBA_EARG, "--average_from is for all weights; adapters train alone");
    if (o.bf16 && o.average_from >= 0)
        samba_fail(s, SAMBA_EARG, "--average_from averages weights in f32; leave --bf16 out");
    if (!runs)
        samba_app_driver(s, &o.app, &program);
    else if (!o.app.pef || !o.data_dir || o.steps < 1 || o.app.inference)
        samba_fail(s, SAMBA_EARG, "run trains: it needs --pef FILE, --data_dir FOLDER and steps");
    else if (samba_app_load(s, &o.app, &program))
        done = run(s, &o, &m, argv[0]);
    free(m.params);
    free(m.averages);
    int failed = samba_close(s); // 1 if an error stands: it was printed
    return failed ? failed : done ? 0 : 130;
}
