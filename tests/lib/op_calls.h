// One row per op: how a case of a golden file becomes a call. Runs cases eagerly and as programs.
// Include after samba.h.
#ifndef OP_CALLS_H
#define OP_CALLS_H

#include "golden.h"

// Exactly one of the four: f(x), f(x, y), f(everything), f(everything) with several outputs.
typedef struct op_call {
    const char *name;
    samba_tensor *(*one)(samba_tensor *x);
    samba_tensor *(*two)(samba_tensor *a, samba_tensor *b);
    samba_tensor *(*any)(const golden_case *c, samba_tensor **in);
    int32_t (*many)(const golden_case *c, samba_tensor **in, samba_tensor **out);
} op_call;

static inline int32_t call_int(const golden_case *c, int32_t i) { return (int32_t)c->attr[i]; }
static inline float call_float(const golden_case *c, int32_t i) { return (float)c->attr[i]; }
static inline bool call_bool(const golden_case *c, int32_t i) { return c->attr[i] > 0; }

// Attributes from ... to - 1 as a shape or a list of axes.
static inline samba_shape call_shape(const golden_case *c, int32_t from, int32_t to)
{
    samba_shape shape = samba_scalar_shape();
    for (int32_t i = from; i < to; i++) shape.dim[shape.ndim++] = call_int(c, i);
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
    for (int32_t i = 0; i < c->n_attr; i++) x = samba_cast(x, (samba_dtype)call_int(c, i));
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

static samba_tensor *call_attention(const golden_case *c, samba_tensor **in)
{
    samba_attention_opts opts;
    memset(&opts, 0, sizeof opts);
    opts.causal = call_bool(c, 0);
    opts.scale = call_float(c, 1);
    return samba_scaled_dot_product_attention(in[0], in[1], in[2], in[3], &opts);
}

static const op_call op_calls[] = {
    { "add",         NULL, samba_add, NULL, NULL },
    { "sub",         NULL, samba_sub, NULL, NULL },
    { "mul",         NULL, samba_mul, NULL, NULL },
    { "div",         NULL, samba_div, NULL, NULL },
    { "pow",         NULL, samba_pow, NULL, NULL },
    { "minimum",     NULL, samba_minimum, NULL, NULL },
    { "maximum",     NULL, samba_maximum, NULL, NULL },
    { "eq",          NULL, samba_eq, NULL, NULL },
    { "ne",          NULL, samba_ne, NULL, NULL },
    { "lt",          NULL, samba_lt, NULL, NULL },
    { "le",          NULL, samba_le, NULL, NULL },
    { "gt",          NULL, samba_gt, NULL, NULL },
    { "ge",          NULL, samba_ge, NULL, NULL },
    { "where",       NULL, NULL, call_where, NULL },
    { "neg",         samba_neg, NULL, NULL, NULL },
    { "exp",         samba_exp, NULL, NULL, NULL },
    { "log",         samba_log, NULL, NULL, NULL },
    { "sqrt",        samba_sqrt, NULL, NULL, NULL },
    { "rsqrt",       samba_rsqrt, NULL, NULL, NULL },
    { "abs",         samba_abs, NULL, NULL, NULL },
    { "relu",        samba_relu, NULL, NULL, NULL },
    { "leaky_relu",  NULL, NULL, call_leaky_relu, NULL },
    { "sigmoid",     samba_sigmoid, NULL, NULL, NULL },
    { "tanh",        samba_tanh, NULL, NULL, NULL },
    { "gelu",        samba_gelu, NULL, NULL, NULL },
    { "gelu_tanh",   samba_gelu_tanh, NULL, NULL, NULL },
    { "silu",        samba_silu, NULL, NULL, NULL },
    { "softplus",    samba_softplus, NULL, NULL, NULL },
    { "scale",       NULL, NULL, call_scale, NULL },
    { "shift",       NULL, NULL, call_shift, NULL },
    { "cast",        NULL, NULL, call_cast, NULL },
    { "sum",         NULL, NULL, call_sum, NULL },
    { "mean",        NULL, NULL, call_mean, NULL },
    { "max",         NULL, NULL, call_max, NULL },
    { "argmax",      NULL, NULL, call_argmax, NULL },
    { "matmul",      NULL, samba_matmul, NULL, NULL },
    { "affine",      NULL, NULL, call_affine, NULL },
    { "reshape",     NULL, NULL, call_reshape, NULL },
    { "flatten",     NULL, NULL, call_flatten, NULL },
    { "transpose",   NULL, NULL, call_transpose, NULL },
    { "permute",     NULL, NULL, call_permute, NULL },
    { "slice",       NULL, NULL, call_slice, NULL },
    { "split",       NULL, NULL, NULL, call_split },
    { "cat",         NULL, NULL, call_cat, NULL },
    { "stack",       NULL, NULL, call_stack, NULL },
    { "expand",      NULL, NULL, call_expand, NULL },
    { "squeeze",     NULL, NULL, call_squeeze, NULL },
    { "unsqueeze",   NULL, NULL, call_unsqueeze, NULL },
    { "gather",      NULL, NULL, call_gather, NULL },
    { "pad",         NULL, NULL, call_pad, NULL },
    { "softmax",     NULL, NULL, call_softmax, NULL },
    { "log_softmax", NULL, NULL, call_log_softmax, NULL },
    { "layer_norm",  NULL, NULL, call_layer_norm, NULL },
    { "rms_norm",    NULL, NULL, call_rms_norm, NULL },
    { "batch_norm",  NULL, NULL, NULL, call_batch_norm },
    { "cross_entropy", NULL, NULL, call_cross_entropy, NULL },
    { "nll",         NULL, NULL, call_nll, NULL },
    { "mse",         NULL, NULL, call_mse, NULL },
    { "convolution", NULL, NULL, call_convolution, NULL },
    { "max_pool2d",  NULL, NULL, call_max_pool2d, NULL },
    { "avg_pool2d",  NULL, NULL, call_avg_pool2d, NULL },
    { "adaptive_avg_pool2d", NULL, NULL, call_adaptive_avg_pool2d, NULL },
    { "lookup",      NULL, samba_lookup, NULL, NULL },
    { "scaled_dot_product_attention", NULL, NULL, call_attention, NULL },
};
enum { N_OP_CALLS = sizeof op_calls / sizeof op_calls[0] };

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
    for (int32_t i = 0; i < t->ndim; i++) shape.dim[i] = t->dim[i];
    return shape;
}

enum { LEAF_NAME = 16 };
static inline void op_leaf_name(char *name, char letter, int32_t i)
{
    snprintf(name, LEAF_NAME, "%c%d", letter, (int)i);
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
        op_leaf_name(name, 'x', i);
        run->in[i] = samba_from_data_copy(run->s, name, (samba_dtype)t->dtype, op_shape(t),
                                          t->data);
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
        op_leaf_name(name, 'x', i);
        if (t->dtype == GOLDEN_ABSENT) continue;
        if (op_is_state(c, i)) run->in[i] = samba_buffer(run->s, name, shape, 0.0f);
        else if (t->marked) run->in[i] = samba_param(run->s, name, shape, zero);
        else run->in[i] = samba_input(run->s, name, (samba_dtype)t->dtype, shape);
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
    if (!run->s) printf("    no session\n");
    else if (!samba_ok(run->s)) printf("    %s\n", samba_error(run->s));
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
