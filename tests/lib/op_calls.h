// How a case of a golden file becomes a call: elementwise ops are rows of reference.h, each other
// op is a function call_NAME and its name in OP_CALLS. Runs cases eagerly and as programs. Include
// after samba.h.
#ifndef OP_CALLS_H
#define OP_CALLS_H

#include "golden.h"
#include "reference.h"

// Exactly one of the four: f(x), f(x, y), f(everything), f(everything) with several outputs.
typedef struct op_call {
    const char *name;
    samba_tensor *(*one)(samba_tensor *x);
    samba_tensor *(*two)(samba_tensor *a, samba_tensor *b);
    samba_tensor *(*any)(const golden_case *c, samba_tensor **in);
    int32_t (*many)(const golden_case *c, samba_tensor **in, samba_tensor **out);
} op_call;

static inline int32_t call_int(const golden_case *c, int32_t i)
{
    return (int32_t)c->attr[i];
}

static inline float call_float(const golden_case *c, int32_t i)
{
    return (float)c->attr[i];
}

static inline bool call_bool(const golden_case *c, int32_t i)
{
    return c->attr[i] > 0;
}

// Attributes from ... to - 1 as a shape or a list of axes.
static inline samba_shape call_shape(const golden_case *c, int32_t from, int32_t to)
{
    samba_shape shape = samba_scalar_shape();
    for (int32_t i = from; i < to; i++)
        shape.dim[shape.ndim++] = call_int(c, i);
    return shape;
}

static samba_tensor *call_where(const golden_case *c, samba_tensor **in)
{
    (void)c;
    return samba_where(in[0], in[1], in[2]);
}

static samba_tensor *call_leaky_relu(const golden_case *c, samba_tensor **in)
{
    return samba_leaky_relu(in[0], call_float(c, 0));
}

static samba_tensor *call_scale(const golden_case *c, samba_tensor **in)
{
    return samba_scale(in[0], call_float(c, 0));
}

static samba_tensor *call_shift(const golden_case *c, samba_tensor **in)
{
    return samba_shift(in[0], call_float(c, 0));
}

static samba_tensor *call_cast(const golden_case *c, samba_tensor **in)
{
    samba_tensor *x = in[0];
    for (int32_t i = 0; i < c->n_attr; i++)
        x = samba_cast(x, (samba_dtype)call_int(c, i));
    return x;
}

static samba_tensor *call_sum(const golden_case *c, samba_tensor **in)
{
    return samba_sum(in[0], call_shape(c, 1, c->n_attr), call_bool(c, 0));
}

static samba_tensor *call_mean(const golden_case *c, samba_tensor **in)
{
    return samba_mean(in[0], call_shape(c, 1, c->n_attr), call_bool(c, 0));
}

static samba_tensor *call_max(const golden_case *c, samba_tensor **in)
{
    return samba_max(in[0], call_shape(c, 1, c->n_attr), call_bool(c, 0));
}

static samba_tensor *call_argmax(const golden_case *c, samba_tensor **in)
{
    return samba_argmax(in[0], call_int(c, 0), call_bool(c, 1));
}

static samba_tensor *call_matmul(const golden_case *c, samba_tensor **in)
{
    (void)c;
    return samba_matmul(in[0], in[1]);
}

static samba_tensor *call_lookup(const golden_case *c, samba_tensor **in)
{
    (void)c;
    return samba_lookup(in[0], in[1]);
}

static samba_tensor *call_affine(const golden_case *c, samba_tensor **in)
{
    (void)c;
    return samba_affine(in[0], in[1], in[2]);
}

static samba_tensor *call_reshape(const golden_case *c, samba_tensor **in)
{
    return samba_reshape(in[0], call_shape(c, 0, c->n_attr));
}

static samba_tensor *call_flatten(const golden_case *c, samba_tensor **in)
{
    return samba_flatten(in[0], call_int(c, 0));
}

static samba_tensor *call_transpose(const golden_case *c, samba_tensor **in)
{
    return samba_transpose(in[0], call_int(c, 0), call_int(c, 1));
}

static samba_tensor *call_permute(const golden_case *c, samba_tensor **in)
{
    return samba_permute(in[0], call_shape(c, 0, c->n_attr));
}

static samba_tensor *call_slice(const golden_case *c, samba_tensor **in)
{
    return samba_slice(in[0], call_int(c, 0), call_int(c, 1), call_int(c, 2), call_int(c, 3));
}

static int32_t call_split(const golden_case *c, samba_tensor **in, samba_tensor **out)
{
    return samba_split(in[0], call_int(c, 0), call_int(c, 1), out, GOLDEN_MAX_OUT);
}

static samba_tensor *call_cat(const golden_case *c, samba_tensor **in)
{
    return samba_cat(in, c->n_in, call_int(c, 0));
}

static samba_tensor *call_stack(const golden_case *c, samba_tensor **in)
{
    return samba_stack(in, c->n_in, call_int(c, 0));
}

static samba_tensor *call_expand(const golden_case *c, samba_tensor **in)
{
    return samba_expand(in[0], call_shape(c, 0, c->n_attr));
}

static samba_tensor *call_squeeze(const golden_case *c, samba_tensor **in)
{
    return samba_squeeze(in[0], call_int(c, 0));
}

static samba_tensor *call_unsqueeze(const golden_case *c, samba_tensor **in)
{
    return samba_unsqueeze(in[0], call_int(c, 0));
}

static samba_tensor *call_gather(const golden_case *c, samba_tensor **in)
{
    return samba_gather(in[0], call_int(c, 0), in[1]);
}

static samba_tensor *call_pad(const golden_case *c, samba_tensor **in)
{
    int32_t n = c->n_attr / 2;
    return samba_pad(in[0], call_shape(c, 0, n), call_shape(c, n, 2 * n), call_float(c, 2 * n));
}

static samba_tensor *call_softmax(const golden_case *c, samba_tensor **in)
{
    return samba_softmax(in[0], call_int(c, 0));
}

static samba_tensor *call_log_softmax(const golden_case *c, samba_tensor **in)
{
    return samba_log_softmax(in[0], call_int(c, 0));
}

static samba_tensor *call_layer_norm(const golden_case *c, samba_tensor **in)
{
    return samba_layer_normalize(in[0], in[1], in[2], call_float(c, 0));
}

static samba_tensor *call_rms_norm(const golden_case *c, samba_tensor **in)
{
    return samba_rms_normalize(in[0], in[1], call_float(c, 0));
}

// Outputs 1 and 2 are the running values: the inputs themselves, overwritten.
static int32_t call_batch_norm(const golden_case *c, samba_tensor **in, samba_tensor **out)
{
    float momentum = call_float(c, 0), eps = call_float(c, 1);
    out[0] = samba_batch_normalize(in[0], in[1], in[2], in[3], in[4], momentum, eps);
    out[1] = in[3];
    out[2] = in[4];
    return out[0] ? 3 : 0;
}

static inline samba_loss_opts call_loss_opts(const golden_case *c)
{
    samba_loss_opts opts;
    memset(&opts, 0, sizeof opts);
    opts.reduction = (samba_reduction)call_int(c, 0);
    opts.use_ignore_index = call_bool(c, 1);
    opts.ignore_index = call_int(c, 2);
    opts.label_smoothing = call_float(c, 3);
    return opts;
}

// All defaults go through the short form.
static samba_tensor *call_cross_entropy(const golden_case *c, samba_tensor **in)
{
    samba_loss_opts opts = call_loss_opts(c);
    bool plain = opts.reduction == SAMBA_REDUCE_MEAN && !call_bool(c, 1) && !call_bool(c, 3);
    return plain ? samba_cross_entropy(in[0], in[1])
                 : samba_cross_entropy_with(in[0], in[1], &opts);
}

static samba_tensor *call_nll(const golden_case *c, samba_tensor **in)
{
    samba_loss_opts opts = call_loss_opts(c);
    return samba_nll(in[0], in[1], &opts);
}

static samba_tensor *call_mse(const golden_case *c, samba_tensor **in)
{
    return samba_mse(in[0], in[1], (samba_reduction)call_int(c, 0));
}

static samba_tensor *call_convolution(const golden_case *c, samba_tensor **in)
{
    samba_conv_opts opts;
    memset(&opts, 0, sizeof opts);
    for (int32_t i = 0; i < 2; i++) {
        opts.stride[i] = call_int(c, i);
        opts.padding[i] = call_int(c, 2 + i);
        opts.dilation[i] = call_int(c, 4 + i);
    }
    opts.groups = call_int(c, 6);
    return samba_convolution(in[0], in[1], in[2], &opts);
}

static inline samba_pool_opts call_pool_opts(const golden_case *c)
{
    samba_pool_opts opts;
    memset(&opts, 0, sizeof opts);
    for (int32_t i = 0; i < 2; i++) {
        opts.kernel[i] = call_int(c, i);
        opts.stride[i] = call_int(c, 2 + i);
        opts.padding[i] = call_int(c, 4 + i);
    }
    opts.ceil_mode = call_bool(c, 6);
    opts.exclude_padding = call_bool(c, 7);
    return opts;
}

static samba_tensor *call_max_pool2d(const golden_case *c, samba_tensor **in)
{
    samba_pool_opts opts = call_pool_opts(c);
    return samba_max_pool2d(in[0], &opts);
}

static samba_tensor *call_avg_pool2d(const golden_case *c, samba_tensor **in)
{
    samba_pool_opts opts = call_pool_opts(c);
    return samba_avg_pool2d(in[0], &opts);
}

static samba_tensor *call_adaptive_avg_pool2d(const golden_case *c, samba_tensor **in)
{
    return samba_adaptive_avg_pool2d(in[0], call_int(c, 0), call_int(c, 1));
}

static samba_tensor *call_scaled_dot_product_attention(const golden_case *c, samba_tensor **in)
{
    samba_attention_opts opts;
    memset(&opts, 0, sizeof opts);
    opts.causal = call_bool(c, 0);
    opts.scale = call_float(c, 1);
    return samba_scaled_dot_product_attention(in[0], in[1], in[2], in[3], &opts);
}

// Functions made of ops.

static samba_tensor *call_clamp(const golden_case *c, samba_tensor **in)
{
    return samba_clamp(in[0], call_float(c, 0), call_float(c, 1));
}

static samba_tensor *call_masked_fill(const golden_case *c, samba_tensor **in)
{
    return samba_masked_fill(in[0], in[1], call_float(c, 0));
}

static samba_tensor *call_min(const golden_case *c, samba_tensor **in)
{
    return samba_min(in[0], call_shape(c, 1, c->n_attr), call_bool(c, 0));
}

static samba_tensor *call_logsumexp(const golden_case *c, samba_tensor **in)
{
    return samba_logsumexp(in[0], call_shape(c, 1, c->n_attr), call_bool(c, 0));
}

static samba_tensor *call_var(const golden_case *c, samba_tensor **in)
{
    return samba_var(in[0], call_shape(c, 2, c->n_attr), call_int(c, 0), call_bool(c, 1));
}

static samba_tensor *call_std(const golden_case *c, samba_tensor **in)
{
    return samba_std(in[0], call_shape(c, 2, c->n_attr), call_int(c, 0), call_bool(c, 1));
}

static samba_tensor *call_argmin(const golden_case *c, samba_tensor **in)
{
    return samba_argmin(in[0], call_int(c, 0), call_bool(c, 1));
}

static samba_tensor *call_prod(const golden_case *c, samba_tensor **in)
{
    return samba_prod(in[0], call_int(c, 0), call_bool(c, 1));
}

static samba_tensor *call_cumsum(const golden_case *c, samba_tensor **in)
{
    return samba_cumsum(in[0], call_int(c, 0));
}

static int32_t call_sort(const golden_case *c, samba_tensor **in, samba_tensor **out)
{
    out[0] = samba_sort(in[0], call_int(c, 0), call_bool(c, 1), &out[1]);
    return out[0] ? 2 : 0;
}

static int32_t call_topk(const golden_case *c, samba_tensor **in, samba_tensor **out)
{
    out[0] = samba_topk(in[0], call_int(c, 0), call_int(c, 1), call_bool(c, 2), &out[1]);
    return out[0] ? 2 : 0;
}

static samba_tensor *call_index_select(const golden_case *c, samba_tensor **in)
{
    return samba_index_select(in[0], call_int(c, 0), in[1]);
}

static samba_tensor *call_scatter_add(const golden_case *c, samba_tensor **in)
{
    return samba_scatter_add(in[0], call_int(c, 0), in[1], in[2]);
}

static samba_tensor *call_lookup_padded(const golden_case *c, samba_tensor **in)
{
    return samba_lookup_padded(in[0], in[1], call_int(c, 0));
}

static samba_tensor *call_one_hot(const golden_case *c, samba_tensor **in)
{
    return samba_one_hot(in[0], call_int(c, 0));
}

static samba_tensor *call_group_norm(const golden_case *c, samba_tensor **in)
{
    return samba_group_normalize(in[0], call_int(c, 0), in[1], in[2], call_float(c, 1));
}

static samba_tensor *call_instance_norm(const golden_case *c, samba_tensor **in)
{
    return samba_instance_normalize(in[0], in[1], in[2], call_float(c, 0));
}

static samba_tensor *call_conv_transpose(const golden_case *c, samba_tensor **in)
{
    samba_conv_transpose_opts opts;
    for (int32_t i = 0; i < 2; i++) {
        opts.stride[i] = call_int(c, i);
        opts.padding[i] = call_int(c, 2 + i);
        opts.output_padding[i] = call_int(c, 4 + i);
        opts.dilation[i] = call_int(c, 6 + i);
    }
    opts.groups = call_int(c, 8);
    return samba_conv_transpose(in[0], in[1], in[2], &opts);
}

static samba_tensor *call_interpolate(const golden_case *c, samba_tensor **in)
{
    samba_interpolation mode = (samba_interpolation)call_int(c, 2);
    return samba_interpolate(in[0], call_int(c, 0), call_int(c, 1), mode, call_bool(c, 3));
}

static samba_tensor *call_attention_heads(const golden_case *c, samba_tensor **in)
{
    samba_heads_opts opts;
    opts.causal = call_bool(c, 0);
    opts.window = call_int(c, 1);
    opts.lengths = in[3];
    opts.scale = call_float(c, 2);
    return samba_attention_heads(in[0], in[1], in[2], &opts);
}

static inline samba_reduction call_reduction(const golden_case *c, int32_t i)
{
    return (samba_reduction)call_int(c, i);
}

static samba_tensor *call_cross_entropy_weighted(const golden_case *c, samba_tensor **in)
{
    samba_loss_opts opts = call_loss_opts(c);
    return samba_cross_entropy_weighted(in[0], in[1], in[2], &opts, call_bool(c, 4));
}

static samba_tensor *call_rotary(const golden_case *c, samba_tensor **in)
{
    return samba_rotary(in[0], in[1], call_float(c, 0), call_bool(c, 1));
}

static samba_tensor *call_bce_with_logits(const golden_case *c, samba_tensor **in)
{
    return samba_bce_with_logits(in[0], in[1], in[2], call_reduction(c, 0));
}

static samba_tensor *call_l1(const golden_case *c, samba_tensor **in)
{
    return samba_l1(in[0], in[1], call_reduction(c, 0));
}

static samba_tensor *call_smooth_l1(const golden_case *c, samba_tensor **in)
{
    return samba_smooth_l1(in[0], in[1], call_float(c, 0), call_reduction(c, 1));
}

static samba_tensor *call_huber(const golden_case *c, samba_tensor **in)
{
    return samba_huber(in[0], in[1], call_float(c, 0), call_reduction(c, 1));
}

static samba_tensor *call_kl_div(const golden_case *c, samba_tensor **in)
{
    return samba_kl_div(in[0], in[1], call_bool(c, 0), call_reduction(c, 1));
}

static samba_tensor *call_cosine_embedding(const golden_case *c, samba_tensor **in)
{
    return samba_cosine_embedding(in[0], in[1], in[2], call_float(c, 0), call_reduction(c, 1));
}

static samba_tensor *call_triplet_margin(const golden_case *c, samba_tensor **in)
{
    return samba_triplet_margin(in[0], in[1], in[2], call_float(c, 0), call_reduction(c, 1));
}

// Logits, of which PyTorch's log_softmax is part of the case.
static samba_tensor *call_ctc(const golden_case *c, samba_tensor **in)
{
    samba_tensor *logp = samba_log_softmax(in[0], -1);
    return samba_ctc(logp, in[1], in[2], in[3], call_int(c, 0), call_bool(c, 1));
}

// Recurrent layers: inputs x, lengths, h and c of the first state, then the parameters.
enum { CALL_LENGTHS = 1, CALL_FIRST_H, CALL_FIRST_C, CALL_PARAMETERS };

static inline bool op_is_recurrent(const golden_case *c)
{
    return !strcmp(c->op, "lstm") || !strcmp(c->op, "gru") || !strcmp(c->op, "rnn");
}

static int32_t call_recurrent(const golden_case *c, samba_tensor **in, samba_tensor **out)
{
    samba_recurrent_state last;
    samba_recurrent_opts opts;
    memset(&opts, 0, sizeof opts);
    opts.layers = call_int(c, 0);
    opts.bidirectional = call_bool(c, 1);
    opts.no_bias = call_bool(c, 2);
    opts.relu = call_bool(c, 3);
    opts.lengths = in[CALL_LENGTHS];
    opts.first.h = in[CALL_FIRST_H];
    opts.first.c = in[CALL_FIRST_C];
    int32_t hidden = c->in[CALL_PARAMETERS + 1].dim[1];
    if (!strcmp(c->op, "lstm")) out[0] = samba_lstm(in[0], "r", hidden, &opts, &last);
    if (!strcmp(c->op, "gru")) out[0] = samba_gru(in[0], "r", hidden, &opts, &last);
    if (!strcmp(c->op, "rnn")) out[0] = samba_rnn(in[0], "r", hidden, &opts, &last);
    out[1] = last.h;
    out[2] = last.c;
    return !out[0] ? 0 : last.c ? 3 : 2;
}

#define OP_CALLS(X) \
    X(where) \
    X(leaky_relu) \
    X(scale) \
    X(shift) \
    X(cast) \
    X(sum) \
    X(mean) \
    X(max) \
    X(argmax) \
    X(matmul) \
    X(affine) \
    X(reshape) \
    X(flatten) \
    X(transpose) \
    X(permute) \
    X(slice) \
    X(cat) \
    X(stack) \
    X(expand) \
    X(squeeze) \
    X(unsqueeze) \
    X(gather) \
    X(pad) \
    X(softmax) \
    X(log_softmax) \
    X(layer_norm) \
    X(rms_norm) \
    X(cross_entropy) \
    X(nll) \
    X(mse) \
    X(convolution) \
    X(max_pool2d) \
    X(avg_pool2d) \
    X(adaptive_avg_pool2d) \
    X(lookup) \
    X(scaled_dot_product_attention) \
    X(clamp) \
    X(masked_fill) \
    X(min) \
    X(logsumexp) \
    X(var) \
    X(std) \
    X(argmin) \
    X(prod) \
    X(cumsum) \
    X(index_select) \
    X(scatter_add) \
    X(lookup_padded) \
    X(one_hot) \
    X(group_norm) \
    X(instance_norm) \
    X(conv_transpose) \
    X(interpolate) \
    X(attention_heads) \
    X(cross_entropy_weighted) \
    X(rotary) \
    X(bce_with_logits) \
    X(l1) \
    X(smooth_l1) \
    X(huber) \
    X(kl_div) \
    X(cosine_embedding) \
    X(triplet_margin) \
    X(ctc)
#define OP_MAP_OF_ONE(name, ...) { #name, samba_##name, NULL, NULL, NULL },
#define OP_MAP_OF_TWO(name, ...) { #name, NULL, samba_##name, NULL, NULL },
#define OP_CALL(name) { #name, NULL, NULL, call_##name, NULL },
static const op_call op_calls[] = {
    REF_MAPS_OF_ONE(OP_MAP_OF_ONE) REF_MAPS_OF_TWO(OP_MAP_OF_TWO)
        OP_CALLS(OP_CALL){ "split", NULL, NULL, NULL, call_split },
    { "batch_norm", NULL, NULL, NULL, call_batch_norm },
    { "reciprocal", samba_reciprocal, NULL, NULL, NULL },
    { "logical_not", samba_logical_not, NULL, NULL, NULL },
    { "isnan", samba_isnan, NULL, NULL, NULL },
    { "isinf", samba_isinf, NULL, NULL, NULL },
    { "isfinite", samba_isfinite, NULL, NULL, NULL },
    { "logical_and", NULL, samba_logical_and, NULL, NULL },
    { "logical_or", NULL, samba_logical_or, NULL, NULL },
    { "sort", NULL, NULL, NULL, call_sort },
    { "topk", NULL, NULL, NULL, call_topk },
    { "lstm", NULL, NULL, NULL, call_recurrent },
    { "gru", NULL, NULL, NULL, call_recurrent },
    { "rnn", NULL, NULL, NULL, call_recurrent },
};

enum { N_OP_CALLS = sizeof op_calls / sizeof op_calls[0] };

// ---- Cases ----

enum { MADE_ROWS = 5, MADE_COLUMNS = 33, MADE = MADE_ROWS * MADE_COLUMNS };

static inline void op_made_tensor(golden_tensor *t, float *data, float *mate)
{
    t->dtype = SAMBA_F32;
    t->ndim = 2;
    t->dim[0] = MADE_ROWS;
    t->dim[1] = MADE_COLUMNS;
    t->count = MADE;
    t->size = MADE * sizeof *data;
    t->data = data;
    t->marked = true;
    t->mate = mate;
}

// Uniform in low ... high: the constants are Knuth's for a linear congruential generator.
static inline float op_made_number(uint64_t *state, double low, double high)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(low + (high - low) * (double)(*state >> 11) / 9007199254740992.0);
}

// One case of an elementwise op out of its row in reference.h; gradients are difference quotients.
static inline bool op_make_case(golden_file *file, const ref_map *map)
{
    uint64_t state = 1;
    size_t n = (size_t)(2 * map->inputs + 2) * MADE;
    float *block = (float *)calloc(n, sizeof *block), *x[3], *dx[3];
    memset(file, 0, sizeof *file);
    file->bytes = (uint8_t *)block;
    file->cases = (golden_case *)calloc(1, sizeof *file->cases);
    if (!block || !file->cases) return false;
    golden_case *c = file->cases;
    file->n_cases = 1;
    snprintf(c->op, sizeof c->op, "%s", map->name);
    c->n_in = map->inputs;
    c->n_out = 1;
    float *y = block, *r = y + MADE;
    op_made_tensor(&c->out[0], y, r);
    for (int i = 0; i < map->inputs; i++) {
        x[i] = r + (2 * i + 1) * MADE;
        dx[i] = x[i] + MADE;
        op_made_tensor(&c->in[i], x[i], dx[i]);
    }
    for (int e = 0; e < MADE; e++) {
        double v[3] = { 0, 0, 0 };
        r[e] = op_made_number(&state, -1, 1);
        for (int i = 0; i < map->inputs; i++) {
            x[i][e] = op_made_number(&state, map->kind == REF_POSITIVE ? 0.1 : -4, 4);
            v[i] = (double)x[i][e];
        }
        y[e] = (float)map->f(v[0], v[1], v[2], 0);
        for (int i = 0; i < map->inputs; i++) {
            const double step = 1e-5;
            v[i] = (double)x[i][e] + step;
            double above = map->f(v[0], v[1], v[2], 0);
            v[i] = (double)x[i][e] - step;
            double below = map->f(v[0], v[1], v[2], 0);
            v[i] = (double)x[i][e];
            dx[i][e] = (float)((double)r[e] * (above - below) / (2 * step));
        }
    }
    return true;
}

// The cases of an op: PyTorch's, from its file. An elementwise op that has no file has a case made
// of its row: a new op needs no file to be tested.
static inline bool op_cases(golden_file *file, const char *dir, const op_call *op)
{
    const ref_map *map = ref_map_of(op->name);
    bool missing = !golden_read(file, dir, op->name) && !file->bytes;
    if (!missing || !map) return !file->why;
    golden_free(file);
    return op_make_case(file, map);
}

// A case that has run: read its outputs, then op_close.
typedef struct op_run {
    samba_session *s;
    samba_tensor *in[GOLDEN_MAX_IN], *out[GOLDEN_MAX_OUT], *r[GOLDEN_MAX_OUT];
    int32_t n_out;
    bool has_gradients;
} op_run;

static inline samba_shape op_shape(const golden_tensor *t)
{
    samba_shape shape = samba_scalar_shape();
    shape.ndim = t->ndim;
    for (int32_t i = 0; i < t->ndim; i++)
        shape.dim[i] = t->dim[i];
    return shape;
}

enum { LEAF_NAME = 32 };

static inline void op_leaf_name(char *name, char letter, int32_t i)
{
    snprintf(name, LEAF_NAME, "%c%d", letter, (int)i);
}

// A parameter of a recurrent layer called r: its layer makes it, and finds it by its name.
static inline bool op_is_layers(const golden_case *c, int32_t i)
{
    return op_is_recurrent(c) && i >= CALL_PARAMETERS;
}

static inline void op_input_name(char *name, const golden_case *c, int32_t i)
{
    static const char *const parts[4] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
    op_leaf_name(name, 'x', i);
    if (!op_is_layers(c, i)) return;
    int each = call_bool(c, 2) ? 2 : 4, at = i - CALL_PARAMETERS, pass = at / each;
    int layer = call_bool(c, 1) ? pass / 2 : pass;
    bool backward = call_bool(c, 1) && pass % 2;
    snprintf(name, LEAF_NAME, "r__%s_l%d%s", parts[at % each], layer, backward ? "_reverse" : "");
}

static inline bool op_is_eval(const golden_case *c)
{
    return !strcmp(c->op, "batch_norm") && !call_bool(c, 2);
}

// Inputs 3 and 4 of batch_norm are state, which the op overwrites: they are outputs 1 and 2, too.
static inline bool op_is_state(const golden_case *c, int32_t i)
{
    return !strcmp(c->op, "batch_norm") && i >= 3;
}

static inline bool op_record(const op_call *op, const golden_case *c, op_run *run)
{
    if (op->one) run->out[0] = op->one(run->in[0]);
    if (op->two) run->out[0] = op->two(run->in[0], run->in[1]);
    if (op->any) run->out[0] = op->any(c, run->in);
    run->n_out = op->many ? op->many(c, run->in, run->out) : run->out[0] ? 1 : 0;
    return samba_ok(run->s) && run->n_out == c->n_out;
}

// Computes at once, on inputs with values. portable: without SIMD kernels.
static inline bool op_run_eager(op_run *run, const op_call *op, const golden_case *c, bool portable)
{
    char name[LEAF_NAME];
    samba_desc desc;
    memset(run, 0, sizeof *run);
    memset(&desc, 0, sizeof desc);
    desc.portable = portable;
    run->s = samba_open(&desc);
    if (!run->s) return false;
    samba_set_tracing(run->s, false);
    if (op_is_eval(c)) samba_use_running_stats(run->s, true);
    for (int32_t i = 0; i < c->n_in; i++) {
        const golden_tensor *t = &c->in[i];
        if (t->dtype == GOLDEN_ABSENT) continue;
        op_input_name(name, c, i);
        if (op_is_layers(c, i)) {
            samba_init zero;
            memset(&zero, 0, sizeof zero);
            run->in[i] = samba_param(run->s, name, op_shape(t), zero);
            samba_write(run->in[i], t->data);
            continue;
        }
        run->in[i]
            = samba_from_data_copy(run->s, name, (samba_dtype)t->dtype, op_shape(t), t->data);
    }
    return op_record(op, c, run);
}

static inline void op_trace_leaves(op_run *run, const golden_case *c)
{
    char name[LEAF_NAME];
    samba_init zero;
    memset(&zero, 0, sizeof zero);
    for (int32_t i = 0; i < c->n_in; i++) {
        const golden_tensor *t = &c->in[i];
        samba_shape shape = op_shape(t);
        op_input_name(name, c, i);
        if (t->dtype == GOLDEN_ABSENT) continue;
        if (op_is_state(c, i))
            run->in[i] = samba_buffer(run->s, name, shape, 0.0f);
        else if (t->marked)
            run->in[i] = samba_param(run->s, name, shape, zero);
        else
            run->in[i] = samba_input(run->s, name, (samba_dtype)t->dtype, shape);
        run->has_gradients |= t->marked;
    }
}

// loss = the sum of all out r; none without gradients.
static inline samba_tensor *op_trace_loss(op_run *run, const golden_case *c)
{
    char name[LEAF_NAME];
    samba_tensor *loss = NULL;
    for (int32_t i = 0; i < run->n_out && run->has_gradients; i++) {
        if (!c->out[i].marked) continue;
        op_leaf_name(name, 'r', i);
        run->r[i] = samba_input(run->s, name, SAMBA_F32, op_shape(&c->out[i]));
        samba_tensor *term = samba_sum(samba_mul(run->out[i], run->r[i]), SAMBA_ALL_AXES, false);
        loss = loss ? samba_add(loss, term) : term;
    }
    return loss;
}

// Traces the case with its gradients, compiles it, and runs the program forward and backward.
static inline bool op_run_traced(op_run *run, const op_call *op, const golden_case *c)
{
    samba_program program;
    memset(run, 0, sizeof *run);
    memset(&program, 0, sizeof program);
    run->s = samba_open(NULL);
    if (!run->s) return false;
    op_trace_leaves(run, c);
    if (!op_record(op, c, run)) return false;
    program.loss = op_trace_loss(run, c);
    program.inference = !run->has_gradients;
    for (int32_t i = 0; i < run->n_out; i++) {
        if (!op_is_state(c, i + 2)) program.outputs[i] = run->out[i];
    }
    if (!samba_compile(run->s, &program)) return false;
    if (op_is_eval(c)) samba_use_running_stats(run->s, true);
    for (int32_t i = 0; i < c->n_in; i++) {
        if (run->in[i]) samba_write(run->in[i], c->in[i].data);
    }
    for (int32_t i = 0; i < run->n_out; i++) {
        if (run->r[i]) samba_write(run->r[i], c->out[i].mate);
    }
    return samba_run(run->s, run->has_gradients ? SAMBA_FWD | SAMBA_BCKWD : SAMBA_FWD);
}

// Reports why a run failed, if it did.
static inline void op_complain(const op_run *run, const golden_case *c)
{
    if (!run->s)
        printf("    no session\n");
    else if (!samba_ok(run->s))
        printf("    %s\n", samba_error(run->s));
    else if (run->n_out != c->n_out)
        printf("    %d outputs instead of %d\n", (int)run->n_out, (int)c->n_out);
}

static inline void op_close(op_run *run)
{
    if (run->s) samba_clear_error(run->s);
    if (run->s) samba_close(run->s);
    memset(run, 0, sizeof *run);
}

#endif
