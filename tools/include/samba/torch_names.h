/* torch_names.h - ops called by the names of torch and NumPy, such as "torch.bmm" or "np.multiply".

   Needs samba.h before it. `#define SAMBA_TORCH_NAMES_IMPLEMENTATION` in one file enables the code;
   SAMBA_TORCH_NAMES_STATIC makes all functions private to the file. C99 or C++11.

       samba_tensor *in[2] = { a, b };
       samba_tensor *y = samba_call_function(s, "torch.bmm", in, 2, NULL, 0);

   What stands before the last dot says nothing. A function has its plain arguments there:
   "F.softmax" an axis, "Tensor.view" a shape, floats as samba_float_attr. Those with the same
   default in torch and NumPy may be left out: all axes for "sum", 0 for "cat". A name without a
   dot, and one that is no function here, is an op's, with all of the op's own attributes: see
   samba_apply. "F.conv2d" has stride, padding, dilation and groups, "F.conv_transpose2d" stride,
   padding, output_padding, groups and dilation, as torch orders them, one number for both sides.
   "torch.var" and "std" have the correction, which torch and NumPy do not agree on, then axes;
   "F.interpolate" height, width, 1 for bilinear, 1 for align_corners; "F.embedding" its
   padding_idx. Losses are means. "torch.sort" and "torch.topk" give values and, by
   samba_call_function_all, their places.

   Not here, and calling it says so:
     scatter         samba_scatter_add adds, and samba_write_rows overwrites whole rows
     fft             numbers here are real; a matmul with sines and cosines, for small ones
     einsum          samba_permute, samba_reshape and samba_matmul say it
     dropout         has a name, by which its rate is set: samba_dropout
     batch_norm      has statistics, which are buffers: samba_batchnorm, samba_batch_normalize
     LSTM, GRU, RNN  have weights, and so a name: samba_lstm, samba_gru, samba_rnn
     apply_rotary_pos_emb    has cosines and sines; samba_rotary makes them of positions
     multinomial     a run draws dropout and noise alone: samba_sample (samba/generate.h) */
#ifndef SAMBA_TORCH_NAMES_H
#define SAMBA_TORCH_NAMES_H

#ifndef SAMBA_H
#error "torch_names.h: include samba.h before"
#endif

#ifndef SAMBA_TORCH_NAMES_API
#if defined(SAMBA_TORCH_NAMES_STATIC)
#define SAMBA_TORCH_NAMES_API static inline
#elif defined(__cplusplus)
#define SAMBA_TORCH_NAMES_API extern "C"
#else
#define SAMBA_TORCH_NAMES_API extern
#endif
#endif

/* Calls the function called name and returns its first output; NULL with an error in s. */
SAMBA_TORCH_NAMES_API samba_tensor *samba_call_function(samba_session *s, const char *name,
                                                        samba_tensor *const *in, int32_t n_in,
                                                        const int32_t *attr, int32_t n_attr);
/* The same for all outputs, such as the parts of "torch.split": up to cap; returns how many. */
SAMBA_TORCH_NAMES_API int32_t samba_call_function_all(samba_session *s, const char *name,
                                                      samba_tensor *const *in, int32_t n_in,
                                                      const int32_t *attr, int32_t n_attr,
                                                      samba_tensor **out, int32_t cap);

#endif /* SAMBA_TORCH_NAMES_H */

#if defined(SAMBA_TORCH_NAMES_IMPLEMENTATION) && !defined(SAMBA_TORCH_NAMES__IMPLEMENTED)
#define SAMBA_TORCH_NAMES__IMPLEMENTED

#include <string.h>

/* After an error: no tensor. */
static inline samba_tensor *samba_torch_names__refused(bool failed)
{
    (void)failed;
    return NULL;
}

typedef struct samba_torch_names__call {
    samba_session *session;
    samba_tensor *const *in;
    int32_t n_in;
    const int32_t *attr;
    int32_t n_attr;
    samba_tensor **out; /* of all outputs, if there are several */
    int32_t cap, n_out;
} samba_torch_names__call;

/* Input i of a call; NULL if it is not given. */
static inline samba_tensor *samba_torch_names__input(const samba_torch_names__call *c, int32_t i)
{
    return i < c->n_in ? c->in[i] : NULL;
}

/* Argument i of a call; otherwise, if there is none. */
static inline int32_t samba_torch_names__attr(const samba_torch_names__call *c, int32_t i,
                                              int32_t otherwise)
{
    return i < c->n_attr ? c->attr[i] : otherwise;
}

static inline samba_shape samba_torch_names__shape(const samba_torch_names__call *c)
{
    samba_shape shape = samba_scalar_shape();
    while (shape.ndim < c->n_attr && shape.ndim < SAMBA_MAX_DIMS) {
        shape.dim[shape.ndim] = c->attr[shape.ndim];
        shape.ndim++;
    }
    return shape;
}

static inline samba_tensor *samba_torch_names__matmul(samba_torch_names__call *c)
{
    return samba_matmul(c->in[0], c->in[1]);
}

static inline samba_tensor *samba_torch_names__softmax(samba_torch_names__call *c)
{
    return samba_softmax(c->in[0], samba_torch_names__attr(c, 0, -1));
}

static inline samba_tensor *samba_torch_names__log_softmax(samba_torch_names__call *c)
{
    return samba_log_softmax(c->in[0], samba_torch_names__attr(c, 0, -1));
}

static inline samba_tensor *samba_torch_names__sum(samba_torch_names__call *c)
{
    return samba_sum(c->in[0], samba_torch_names__shape(c), false);
}

static inline samba_tensor *samba_torch_names__mean(samba_torch_names__call *c)
{
    return samba_mean(c->in[0], samba_torch_names__shape(c), false);
}

static inline samba_tensor *samba_torch_names__amax(samba_torch_names__call *c)
{
    return samba_max(c->in[0], samba_torch_names__shape(c), false);
}

static inline samba_tensor *samba_torch_names__argmax(samba_torch_names__call *c)
{
    return samba_argmax(c->in[0], samba_torch_names__attr(c, 0, -1), false);
}

static inline samba_tensor *samba_torch_names__reshape(samba_torch_names__call *c)
{
    return samba_reshape(c->in[0], samba_torch_names__shape(c));
}

static inline samba_tensor *samba_torch_names__expand(samba_torch_names__call *c)
{
    return samba_expand(c->in[0], samba_torch_names__shape(c));
}

static inline samba_tensor *samba_torch_names__permute(samba_torch_names__call *c)
{
    return samba_permute(c->in[0], samba_torch_names__shape(c));
}

static inline samba_tensor *samba_torch_names__transpose(samba_torch_names__call *c)
{
    return samba_transpose(c->in[0], samba_torch_names__attr(c, 0, 0),
                           samba_torch_names__attr(c, 1, 1));
}

static inline samba_tensor *samba_torch_names__squeeze(samba_torch_names__call *c)
{
    return samba_squeeze(c->in[0], samba_torch_names__attr(c, 0, -1));
}

static inline samba_tensor *samba_torch_names__unsqueeze(samba_torch_names__call *c)
{
    return samba_unsqueeze(c->in[0], samba_torch_names__attr(c, 0, 0));
}

static inline samba_tensor *samba_torch_names__flatten(samba_torch_names__call *c)
{
    return samba_flatten(c->in[0], samba_torch_names__attr(c, 0, 0));
}

static inline samba_tensor *samba_torch_names__cat(samba_torch_names__call *c)
{
    return samba_cat(c->in, c->n_in, samba_torch_names__attr(c, 0, 0));
}

static inline samba_tensor *samba_torch_names__stack(samba_torch_names__call *c)
{
    return samba_stack(c->in, c->n_in, samba_torch_names__attr(c, 0, 0));
}

static inline samba_tensor *samba_torch_names__gather(samba_torch_names__call *c)
{
    return samba_gather(c->in[0], samba_torch_names__attr(c, 0, 0), c->in[1]);
}

static inline samba_tensor *samba_torch_names__cross_entropy(samba_torch_names__call *c)
{
    return samba_cross_entropy(c->in[0], c->in[1]);
}

static inline samba_tensor *samba_torch_names__nll(samba_torch_names__call *c)
{
    return samba_nll(c->in[0], c->in[1], NULL);
}

static inline samba_tensor *samba_torch_names__mse(samba_torch_names__call *c)
{
    return samba_mse(c->in[0], c->in[1], SAMBA_REDUCE_MEAN);
}

static inline samba_tensor *samba_torch_names__linear(samba_torch_names__call *c)
{
    return samba_affine(c->in[0], c->in[1], samba_torch_names__input(c, 2));
}

static inline samba_tensor *samba_torch_names__addmm(
    samba_torch_names__call *c) /* addmm(sum, a, b) */
{
    samba_tensor *sum = c->in[0], *a = c->in[1], *b = samba_torch_names__input(c, 2);
    return samba_add(samba_matmul(a, b), sum);
}

static inline samba_tensor *samba_torch_names__rsub(samba_torch_names__call *c)
{
    return samba_sub(c->in[1], c->in[0]);
}

static inline samba_tensor *samba_torch_names__square(samba_torch_names__call *c)
{
    return samba_mul(c->in[0], c->in[0]);
}

static inline samba_tensor *samba_torch_names__layer_norm(samba_torch_names__call *c)
{
    samba_tensor *w = samba_torch_names__input(c, 1), *b = samba_torch_names__input(c, 2);
    return samba_layer_normalize(c->in[0], w, b, 1e-5f);
}

static inline samba_tensor *samba_torch_names__sdpa(samba_torch_names__call *c)
{
    samba_tensor *q = c->in[0], *k = c->in[1], *v = samba_torch_names__input(c, 2);
    samba_tensor *mask = samba_torch_names__input(c, 3);
    return samba_scaled_dot_product_attention(q, k, v, mask, NULL);
}

static inline samba_conv_opts samba_torch_names__conv_opts(int32_t stride, int32_t padding,
                                                           int32_t dilation, int32_t groups)
{
    samba_conv_opts o;
    for (int i = 0; i < 2; i++) {
        o.stride[i] = stride;
        o.padding[i] = padding;
        o.dilation[i] = dilation;
    }
    o.groups = groups;
    return o;
}

/* conv2d(x, w, b; stride, padding, dilation, groups), and conv1d */
static inline samba_tensor *samba_torch_names__conv(samba_torch_names__call *c)
{
    const samba_conv_opts o = samba_torch_names__conv_opts(
        samba_torch_names__attr(c, 0, 1), samba_torch_names__attr(c, 1, 0),
        samba_torch_names__attr(c, 2, 1), samba_torch_names__attr(c, 3, 1));
    return samba_convolution(c->in[0], c->in[1], samba_torch_names__input(c, 2), &o);
}

static inline samba_tensor *samba_torch_names__one(const samba_torch_names__call *c,
                                                   samba_tensor *(*f)(samba_tensor *))
{
    return f(c->in[0]);
}

#define SAMBA_TORCH_NAMES__ONE(name) \
    static inline samba_tensor *samba_torch_names__##name(samba_torch_names__call *c) \
    { \
        return samba_torch_names__one(c, samba_##name); \
    }
SAMBA_TORCH_NAMES__ONE(reciprocal)
SAMBA_TORCH_NAMES__ONE(logical_not)
SAMBA_TORCH_NAMES__ONE(isnan)
SAMBA_TORCH_NAMES__ONE(isinf)
SAMBA_TORCH_NAMES__ONE(isfinite)

static inline samba_tensor *samba_torch_names__logical_or(samba_torch_names__call *c)
{
    return samba_logical_or(c->in[0], c->in[1]);
}

static inline samba_tensor *samba_torch_names__logical_and(samba_torch_names__call *c)
{
    return samba_logical_and(c->in[0], c->in[1]);
}

static inline samba_tensor *samba_torch_names__masked_fill(samba_torch_names__call *c)
{
    return samba_masked_fill(c->in[0], c->in[1], samba_attr_float(c->attr[0]));
}

static inline samba_tensor *samba_torch_names__clamp(samba_torch_names__call *c)
{
    return samba_clamp(c->in[0], samba_attr_float(c->attr[0]), samba_attr_float(c->attr[1]));
}

static inline samba_tensor *samba_torch_names__amin(samba_torch_names__call *c)
{
    return samba_min(c->in[0], samba_torch_names__shape(c), false);
}

static inline samba_tensor *samba_torch_names__argmin(samba_torch_names__call *c)
{
    return samba_argmin(c->in[0], c->attr[0], false);
}

static inline samba_tensor *samba_torch_names__prod(samba_torch_names__call *c)
{
    return samba_prod(c->in[0], c->attr[0], false);
}

static inline samba_tensor *samba_torch_names__logsumexp(samba_torch_names__call *c)
{
    return samba_logsumexp(c->in[0], samba_torch_names__shape(c), false);
}

static inline samba_tensor *samba_torch_names__cumsum(samba_torch_names__call *c)
{
    return samba_cumsum(c->in[0], c->attr[0]);
}

/* Values, and where they were as a second output. */
static inline samba_tensor *samba_torch_names__with_index(samba_torch_names__call *c,
                                                          samba_tensor *y, samba_tensor *index)
{
    if (!y || c->cap < 1) return y;
    c->out[c->n_out++] = y;
    if (c->cap > 1) c->out[c->n_out++] = index;
    return y;
}

static inline samba_tensor *samba_torch_names__sort(samba_torch_names__call *c)
{
    samba_tensor *index = NULL;
    bool descending = samba_torch_names__attr(c, 1, 0) != 0;
    samba_tensor *y = samba_sort(c->in[0], samba_torch_names__attr(c, 0, -1), descending, &index);
    return samba_torch_names__with_index(c, y, index);
}

static inline samba_tensor *samba_torch_names__argsort(samba_torch_names__call *c)
{
    return samba_argsort(c->in[0], samba_torch_names__attr(c, 0, -1), 0,
                         samba_torch_names__attr(c, 1, 0) != 0);
}

static inline samba_tensor *samba_torch_names__topk(samba_torch_names__call *c)
{
    samba_tensor *index = NULL;
    bool largest = samba_torch_names__attr(c, 2, 1) != 0;
    samba_tensor *y
        = samba_topk(c->in[0], c->attr[0], samba_torch_names__attr(c, 1, -1), largest, &index);
    return samba_torch_names__with_index(c, y, index);
}

static inline samba_tensor *samba_torch_names__index_select(samba_torch_names__call *c)
{
    return samba_index_select(c->in[0], c->attr[0], c->in[1]);
}

static inline samba_tensor *samba_torch_names__scatter_add(samba_torch_names__call *c)
{
    return samba_scatter_add(c->in[0], c->attr[0], c->in[1], c->in[2]);
}

static inline samba_tensor *samba_torch_names__one_hot(samba_torch_names__call *c)
{
    return samba_one_hot(c->in[0], c->attr[0]);
}

static inline samba_tensor *samba_torch_names__group_norm(samba_torch_names__call *c)
{
    samba_tensor *w = samba_torch_names__input(c, 1), *b = samba_torch_names__input(c, 2);
    return samba_group_normalize(c->in[0], c->attr[0], w, b, 1e-5f);
}

static inline samba_tensor *samba_torch_names__instance_norm(samba_torch_names__call *c)
{
    samba_tensor *w = samba_torch_names__input(c, 1), *b = samba_torch_names__input(c, 2);
    return samba_instance_normalize(c->in[0], w, b, 1e-5f);
}

static inline samba_tensor *samba_torch_names__bce(samba_torch_names__call *c)
{
    return samba_bce_with_logits(c->in[0], c->in[1], NULL, SAMBA_REDUCE_MEAN);
}

static inline samba_tensor *samba_torch_names__l1(samba_torch_names__call *c)
{
    return samba_l1(c->in[0], c->in[1], SAMBA_REDUCE_MEAN);
}

static inline samba_tensor *samba_torch_names__smooth_l1(samba_torch_names__call *c)
{
    return samba_smooth_l1(c->in[0], c->in[1], 1.0f, SAMBA_REDUCE_MEAN);
}

static inline samba_tensor *samba_torch_names__huber(samba_torch_names__call *c)
{
    return samba_huber(c->in[0], c->in[1], 1.0f, SAMBA_REDUCE_MEAN);
}

static inline samba_tensor *samba_torch_names__kl_div(samba_torch_names__call *c)
{
    return samba_kl_div(c->in[0], c->in[1], false, SAMBA_REDUCE_MEAN);
}

static inline samba_tensor *samba_torch_names__embedding(samba_torch_names__call *c)
{
    if (c->n_attr == 0) return samba_lookup(c->in[0], c->in[1]);
    return samba_lookup_padded(c->in[0], c->in[1], c->attr[0]);
}

/* var(x; correction, axes ...): torch's default is 1, NumPy's is 0. */
static inline samba_shape samba_torch_names__axes_behind(const samba_torch_names__call *c)
{
    samba_torch_names__call rest = *c;
    rest.attr++;
    rest.n_attr--;
    return samba_torch_names__shape(&rest);
}

static inline samba_tensor *samba_torch_names__var(samba_torch_names__call *c)
{
    return samba_var(c->in[0], samba_torch_names__axes_behind(c), c->attr[0], false);
}

static inline samba_tensor *samba_torch_names__std(samba_torch_names__call *c)
{
    return samba_std(c->in[0], samba_torch_names__axes_behind(c), c->attr[0], false);
}

/* interpolate(x; height, width, bilinear, align_corners), or (x; length, 1, ...) of (N,C,L) */
static inline samba_tensor *samba_torch_names__interpolate(samba_torch_names__call *c)
{
    bool bilinear = samba_torch_names__attr(c, 2, 0) != 0;
    return samba_interpolate(c->in[0], c->attr[0], samba_torch_names__attr(c, 1, 1),
                             bilinear ? SAMBA_BILINEAR : SAMBA_NEAREST,
                             samba_torch_names__attr(c, 3, 0) != 0);
}

/* ctc_loss(logp, target, input_lengths, target_lengths; blank, zero_infinity). torch's mean is that
   of losses divided by the lengths of their targets, or by 1. */
static inline samba_tensor *samba_torch_names__ctc(samba_torch_names__call *c)
{
    samba_tensor *each
        = samba_ctc(c->in[0], c->in[1], c->in[2], c->in[3], samba_torch_names__attr(c, 0, 0),
                    samba_torch_names__attr(c, 1, 0) != 0);
    samba_tensor *length = samba_cast(c->in[3], SAMBA_F32);
    samba_tensor *one = samba_number(c->session, 1.0f);
    length = samba_maximum(length, one);
    return samba_mean(samba_div(each, length), samba_scalar_shape(), false);
}

/* Number i of a call; otherwise, if there is none. */
static inline float samba_torch_names__float(const samba_torch_names__call *c, int32_t i,
                                             float otherwise)
{
    return i < c->n_attr ? samba_attr_float(c->attr[i]) : otherwise;
}

static inline samba_tensor *samba_torch_names__cosine_embedding(samba_torch_names__call *c)
{
    return samba_cosine_embedding(c->in[0], c->in[1], c->in[2],
                                  samba_torch_names__float(c, 0, 0.0f), SAMBA_REDUCE_MEAN);
}

static inline samba_tensor *samba_torch_names__triplet_margin(samba_torch_names__call *c)
{
    return samba_triplet_margin(c->in[0], c->in[1], c->in[2], samba_torch_names__float(c, 0, 1.0f),
                                SAMBA_REDUCE_MEAN);
}

/* conv_transpose2d(x, w, b; stride, padding, output_padding, groups, dilation) */
static inline samba_tensor *samba_torch_names__conv_transpose(samba_torch_names__call *c)
{
    samba_conv_transpose_opts o;
    for (int i = 0; i < 2; i++) {
        o.stride[i] = samba_torch_names__attr(c, 0, 1);
        o.padding[i] = samba_torch_names__attr(c, 1, 0);
        o.output_padding[i] = samba_torch_names__attr(c, 2, 0);
        o.dilation[i] = samba_torch_names__attr(c, 4, 1);
    }
    o.groups = samba_torch_names__attr(c, 3, 1);
    return samba_conv_transpose(c->in[0], c->in[1], samba_torch_names__input(c, 2), &o);
}

static inline samba_tensor *samba_torch_names__split(samba_torch_names__call *c)
{
    samba_tensor *first = NULL;
    int32_t size = samba_torch_names__attr(c, 0, 0), axis = samba_torch_names__attr(c, 1, 0);
    if (c->cap > 0)
        c->n_out = samba_split(c->in[0], size, axis, c->out, c->cap);
    else if (axis < -c->in[0]->shape.ndim || axis >= c->in[0]->shape.ndim)
        samba_split(c->in[0], size, axis, &first, 1); /* reports what is wrong */
    else {
        int32_t at = axis < 0 ? axis + c->in[0]->shape.ndim : axis, n = c->in[0]->shape.dim[at];
        first = samba_slice(c->in[0], axis, 0, size < n ? size : n, 1);
    }
    return c->n_out ? c->out[0] : first;
}

/* A name, and the op that is called like that here; or the call that takes its plain arguments, and
   how many inputs and arguments it takes. An argument may be left out if its default is the one of
   torch and of NumPy: softmax without an axis, argmax or squeeze mean something else there. */
typedef struct samba_torch_names__row {
    const char *name, *op;
    samba_tensor *(*call)(samba_torch_names__call *c);
    int32_t least, most, least_attr, most_attr;
} samba_torch_names__row;

static const samba_torch_names__row samba_torch_names__list[] = {
    { "multiply", "mul", NULL, 0, 0, 0, 0 },
    { "subtract", "sub", NULL, 0, 0, 0, 0 },
    { "divide", "div", NULL, 0, 0, 0, 0 },
    { "true_divide", "div", NULL, 0, 0, 0, 0 },
    { "negative", "neg", NULL, 0, 0, 0, 0 },
    { "absolute", "abs", NULL, 0, 0, 0, 0 },
    { "power", "pow", NULL, 0, 0, 0, 0 },
    { "equal", "eq", NULL, 0, 0, 0, 0 },
    { "not_equal", "ne", NULL, 0, 0, 0, 0 },
    { "less", "lt", NULL, 0, 0, 0, 0 },
    { "less_equal", "le", NULL, 0, 0, 0, 0 },
    { "greater", "gt", NULL, 0, 0, 0, 0 },
    { "greater_equal", "ge", NULL, 0, 0, 0, 0 },
    { "embedding", NULL, samba_torch_names__embedding, 2, 2, 0, 1 },
    { "bmm", NULL, samba_torch_names__matmul, 2, 2, 0, 0 },
    { "mm", NULL, samba_torch_names__matmul, 2, 2, 0, 0 },
    { "matmul", NULL, samba_torch_names__matmul, 2, 2, 0, 0 },
    { "dot", NULL, samba_torch_names__matmul, 2, 2, 0, 0 },
    { "softmax", NULL, samba_torch_names__softmax, 1, 1, 1, 1 },
    { "log_softmax", NULL, samba_torch_names__log_softmax, 1, 1, 1, 1 },
    { "sum", NULL, samba_torch_names__sum, 1, 1, 0, SAMBA_MAX_DIMS },
    { "mean", NULL, samba_torch_names__mean, 1, 1, 0, SAMBA_MAX_DIMS },
    { "amax", NULL, samba_torch_names__amax, 1, 1, 0, SAMBA_MAX_DIMS },
    { "argmax", NULL, samba_torch_names__argmax, 1, 1, 1, 1 },
    { "reshape", NULL, samba_torch_names__reshape, 1, 1, 0, SAMBA_MAX_DIMS },
    { "view", NULL, samba_torch_names__reshape, 1, 1, 0, SAMBA_MAX_DIMS },
    { "expand", NULL, samba_torch_names__expand, 1, 1, 0, SAMBA_MAX_DIMS },
    { "broadcast_to", NULL, samba_torch_names__expand, 1, 1, 0, SAMBA_MAX_DIMS },
    { "permute", NULL, samba_torch_names__permute, 1, 1, 0, SAMBA_MAX_DIMS },
    { "transpose", NULL, samba_torch_names__transpose, 1, 1, 2, 2 },
    { "squeeze", NULL, samba_torch_names__squeeze, 1, 1, 1, 1 },
    { "unsqueeze", NULL, samba_torch_names__unsqueeze, 1, 1, 1, 1 },
    { "flatten", NULL, samba_torch_names__flatten, 1, 1, 0, 1 },
    { "cat", NULL, samba_torch_names__cat, 1, INT32_MAX, 0, 1 },
    { "concat", NULL, samba_torch_names__cat, 1, INT32_MAX, 0, 1 },
    { "concatenate", NULL, samba_torch_names__cat, 1, INT32_MAX, 0, 1 },
    { "stack", NULL, samba_torch_names__stack, 1, INT32_MAX, 0, 1 },
    { "split", NULL, samba_torch_names__split, 1, 1, 1, 2 },
    { "gather", NULL, samba_torch_names__gather, 2, 2, 1, 1 },
    { "index_select", NULL, samba_torch_names__index_select, 2, 2, 1, 1 },
    { "cross_entropy", NULL, samba_torch_names__cross_entropy, 2, 2, 0, 0 },
    { "nll_loss", NULL, samba_torch_names__nll, 2, 2, 0, 0 },
    { "mse_loss", NULL, samba_torch_names__mse, 2, 2, 0, 0 },
    { "linear", NULL, samba_torch_names__linear, 2, 3, 0, 0 },
    { "addmm", NULL, samba_torch_names__addmm, 3, 3, 0, 0 },
    { "rsub", NULL, samba_torch_names__rsub, 2, 2, 0, 0 },
    { "square", NULL, samba_torch_names__square, 1, 1, 0, 0 },
    { "layer_norm", NULL, samba_torch_names__layer_norm, 1, 3, 0, 0 },
    { "masked_fill", NULL, samba_torch_names__masked_fill, 2, 2, 1, 1 },
    { "logical_or", NULL, samba_torch_names__logical_or, 2, 2, 0, 0 },
    { "logical_and", NULL, samba_torch_names__logical_and, 2, 2, 0, 0 },
    { "logical_not", NULL, samba_torch_names__logical_not, 1, 1, 0, 0 },
    { "bitwise_not", NULL, samba_torch_names__logical_not, 1, 1, 0, 0 },
    { "clamp", NULL, samba_torch_names__clamp, 1, 1, 2, 2 },
    { "clip", NULL, samba_torch_names__clamp, 1, 1, 2, 2 },
    { "conv1d", NULL, samba_torch_names__conv, 2, 3, 0, 4 },
    { "conv2d", NULL, samba_torch_names__conv, 2, 3, 0, 4 },
    { "reciprocal", NULL, samba_torch_names__reciprocal, 1, 1, 0, 0 },
    { "isnan", NULL, samba_torch_names__isnan, 1, 1, 0, 0 },
    { "isinf", NULL, samba_torch_names__isinf, 1, 1, 0, 0 },
    { "isfinite", NULL, samba_torch_names__isfinite, 1, 1, 0, 0 },
    { "amin", NULL, samba_torch_names__amin, 1, 1, 0, SAMBA_MAX_DIMS },
    { "argmin", NULL, samba_torch_names__argmin, 1, 1, 1, 1 },
    { "prod", NULL, samba_torch_names__prod, 1, 1, 1, 1 },
    { "logsumexp", NULL, samba_torch_names__logsumexp, 1, 1, 1, SAMBA_MAX_DIMS },
    { "cumsum", NULL, samba_torch_names__cumsum, 1, 1, 1, 1 },
    { "var", NULL, samba_torch_names__var, 1, 1, 1, 1 + SAMBA_MAX_DIMS },
    { "std", NULL, samba_torch_names__std, 1, 1, 1, 1 + SAMBA_MAX_DIMS },
    { "interpolate", NULL, samba_torch_names__interpolate, 1, 1, 1, 4 },
    { "upsample", NULL, samba_torch_names__interpolate, 1, 1, 1, 4 },
    { "ctc_loss", NULL, samba_torch_names__ctc, 4, 4, 0, 2 },
    { "cosine_embedding_loss", NULL, samba_torch_names__cosine_embedding, 3, 3, 0, 1 },
    { "triplet_margin_loss", NULL, samba_torch_names__triplet_margin, 3, 3, 0, 1 },
    { "sort", NULL, samba_torch_names__sort, 1, 1, 0, 2 },
    { "argsort", NULL, samba_torch_names__argsort, 1, 1, 0, 2 },
    { "topk", NULL, samba_torch_names__topk, 1, 1, 1, 3 },
    { "scatter_add", NULL, samba_torch_names__scatter_add, 3, 3, 1, 1 },
    { "one_hot", NULL, samba_torch_names__one_hot, 1, 1, 1, 1 },
    { "group_norm", NULL, samba_torch_names__group_norm, 1, 3, 1, 1 },
    { "instance_norm", NULL, samba_torch_names__instance_norm, 1, 3, 0, 0 },
    { "binary_cross_entropy_with_logits", NULL, samba_torch_names__bce, 2, 2, 0, 0 },
    { "l1_loss", NULL, samba_torch_names__l1, 2, 2, 0, 0 },
    { "smooth_l1_loss", NULL, samba_torch_names__smooth_l1, 2, 2, 0, 0 },
    { "huber_loss", NULL, samba_torch_names__huber, 2, 2, 0, 0 },
    { "kl_div", NULL, samba_torch_names__kl_div, 2, 2, 0, 0 },
    { "conv_transpose1d", NULL, samba_torch_names__conv_transpose, 2, 3, 0, 5 },
    { "conv_transpose2d", NULL, samba_torch_names__conv_transpose, 2, 3, 0, 5 },
    { "scaled_dot_product_attention", NULL, samba_torch_names__sdpa, 3, 4, 0, 0 },
};

static inline const samba_torch_names__row *samba_torch_names__find(const char *name)
{
    for (size_t i = 0; i < sizeof samba_torch_names__list / sizeof *samba_torch_names__list; i++)
        if (!strcmp(samba_torch_names__list[i].name, name)) return &samba_torch_names__list[i];
    return NULL;
}

static inline samba_tensor *samba_torch_names__call_plain(samba_torch_names__call *c,
                                                          const samba_torch_names__row *f)
{
    samba_session *s = c->session;
    if (c->n_in < 0 || (c->n_in && !c->in) || c->n_attr < 0 || (c->n_attr && !c->attr))
        return samba_torch_names__refused(samba_fail(
            s, SAMBA_EARG,
            "in samba_call_function(%s): %d inputs and %d attributes are announced but not given",
            f->name, c->n_in, c->n_attr));
    bool fits = c->n_in >= f->least && c->n_in <= f->most && c->n_attr >= f->least_attr
        && c->n_attr <= f->most_attr;
    if (!fits)
        return samba_torch_names__refused(samba_fail(
            s, SAMBA_EARG,
            "in samba_call_function(%s): %d inputs and %d arguments are given; it takes %d inputs "
            "or more, and %d up to %d arguments",
            f->name, c->n_in, c->n_attr, f->least, f->least_attr, f->most_attr));
    for (int32_t i = 0; i < c->n_in; i++)
        if (!c->in[i] && i < f->least)
            return samba_torch_names__refused(samba_fail(
                s, SAMBA_EARG, "in samba_call_function(%s): input %d is NULL", f->name, i));
    return f->call(c);
}

static inline bool samba_torch_names__is_op(samba_session *s, const char *name)
{
    for (int32_t i = 0; samba_op_at(s, i); i++)
        if (!strcmp(samba_op_at(s, i)->name, name)) return true;
    return false;
}

/* How far two names are from each other: letters between what they begin and end with alike. */
static inline size_t samba_torch_names__distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), begin = 0, end = 0;
    while (a[begin] && a[begin] == b[begin])
        begin++;
    while (begin + end < n && begin + end < m && a[n - 1 - end] == b[m - 1 - end])
        end++;
    return (n > m ? n : m) - begin - end;
}

/* Functions of torch that are not here, and what to do instead. */
static const struct {
    const char *name, *why;
} samba_torch_names__missing[]
    = { { "scatter", "samba_scatter_add adds, and samba_write_rows overwrites whole rows" },
        { "fft", "numbers here are real; for small ones a matmul with sines and cosines does it" },
        { "rfft", "numbers here are real; for small ones a matmul with sines and cosines does it" },
        { "einsum", "samba_permute, samba_reshape and samba_matmul say it" },
        { "dropout", "it has a name here, by which its rate is set: samba_dropout" },
        { "LSTM", "its weights have a name here: samba_lstm" },
        { "lstm", "its weights have a name here: samba_lstm" },
        { "LSTMCell", "samba_lstm of one step, with samba_recurrent_opts.first, is one" },
        { "GRU", "its weights have a name here: samba_gru" },
        { "gru", "its weights have a name here: samba_gru" },
        { "GRUCell", "samba_gru of one step, with samba_recurrent_opts.first, is one" },
        { "RNN", "its weights have a name here: samba_rnn" },
        { "rnn_tanh", "its weights have a name here: samba_rnn" },
        { "rnn_relu", "its weights have a name here: samba_rnn with samba_recurrent_opts.relu" },
        { "RNNCell", "samba_rnn of one step, with samba_recurrent_opts.first, is one" },
        { "apply_rotary_pos_emb", "samba_rotary makes cosines and sines of positions itself" },
        { "batch_norm", "its statistics are buffers: samba_batchnorm or samba_batch_normalize" },
        { "multinomial",
          "a run draws dropout and noise alone; on the host samba_sample does it" } };

/* "did you mean": the nearest op or function to the last word of name, if it is near. */
static inline bool samba_torch_names__fail(samba_session *s, const char *name, const char *word)
{
    const char *nearest = "";
    for (size_t i = 0; i < sizeof samba_torch_names__missing / sizeof *samba_torch_names__missing;
         i++)
        if (!strcmp(samba_torch_names__missing[i].name, word))
            return samba_fail(s, SAMBA_EOP, "%s is not here: %s", name,
                              samba_torch_names__missing[i].why);
    size_t best = (size_t)-1;
    for (int32_t i = 0; samba_op_at(s, i); i++) {
        size_t d = samba_torch_names__distance(samba_op_at(s, i)->name, word);
        if (d >= best) continue;
        best = d;
        nearest = samba_op_at(s, i)->name;
    }
    for (size_t i = 0; i < sizeof samba_torch_names__list / sizeof *samba_torch_names__list; i++) {
        size_t d = samba_torch_names__distance(samba_torch_names__list[i].name, word);
        if (d >= best) continue;
        best = d;
        nearest = samba_torch_names__list[i].name;
    }
    size_t n = strlen(word), m = strlen(nearest);
    bool near = 2 * best < (n > m ? n : m); /* half of another name means nothing */
    return samba_fail(s, SAMBA_EOP,
                      "no op is called %s%s%s; register your own with "
                      "samba_register_op before its first use",
                      name, near ? "; the nearest name is " : "", near ? nearest : "");
}

/* What name means: a function, or the op whose name is returned. NULL and no function: an error. */
static inline const char *samba_torch_names__or_op(samba_session *s, const char *name,
                                                   const samba_torch_names__row **f)
{
    const char *dot = !name || samba_torch_names__is_op(s, name) ? NULL : strrchr(name, '.');
    *f = dot ? samba_torch_names__find(dot + 1) : NULL;
    if (!dot) return name;
    if (*f && (*f)->call) return NULL;
    if (*f) {
        const char *op = (*f)->op;
        *f = NULL;
        return op;
    }
    bool takes_more = !strcmp(dot + 1, "dropout") || !strcmp(dot + 1, "batch_norm");
    if (!takes_more && samba_torch_names__is_op(s, dot + 1)) return dot + 1;
    samba_torch_names__fail(s, name, dot + 1);
    return NULL;
}

SAMBA_TORCH_NAMES_API samba_tensor *samba_call_function(samba_session *s, const char *name,
                                                        samba_tensor *const *in, int32_t n_in,
                                                        const int32_t *attr, int32_t n_attr)
{
    samba_torch_names__call c = { s, in, n_in, attr, n_attr, NULL, 0, 0 };
    const samba_torch_names__row *f;
    if (!samba_ok(s)) return NULL;
    const char *op = samba_torch_names__or_op(s, name, &f);
    if (f) return samba_torch_names__call_plain(&c, f);
    return samba_apply(s, op, in, n_in, attr, n_attr);
}

SAMBA_TORCH_NAMES_API int32_t samba_call_function_all(samba_session *s, const char *name,
                                                      samba_tensor *const *in, int32_t n_in,
                                                      const int32_t *attr, int32_t n_attr,
                                                      samba_tensor **out, int32_t cap)
{
    samba_torch_names__call c = { s, in, n_in, attr, n_attr, out, out ? cap : 0, 0 };
    const samba_torch_names__row *f;
    if (!samba_ok(s)) return 0;
    const char *op = samba_torch_names__or_op(s, name, &f);
    if (!f) return samba_apply_all(s, op, in, n_in, attr, n_attr, out, cap);
    samba_tensor *y = samba_torch_names__call_plain(&c, f);
    if (c.n_out || !y) return c.n_out;
    if (c.cap > 0) out[0] = y;
    return 1;
}
#endif /* SAMBA_TORCH_NAMES_IMPLEMENTATION */
/* MIT license, as samba.h. */
