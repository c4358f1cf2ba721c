/* ==== [functions-api] ========================================================================= */
/* Functions and layers that are made of ops: gradients, and what they take on a device, are those
   of the ops. Names and meanings are PyTorch's. NULL in, NULL out. */
/* ---- Functions of elements ------------------------------------------------------------------- */
/* x within least ... most. The gradient is 0 beyond, and shared at a limit itself. */
SAMBA_API samba_tensor *samba_clamp(samba_tensor *x, float least, float most);
SAMBA_API samba_tensor *samba_reciprocal(samba_tensor *x); /* 1 / x */
/* Truths, bool: of a number, whether it is not 0; a NaN is true. */
SAMBA_API samba_tensor *samba_logical_and(samba_tensor *a, samba_tensor *b);
SAMBA_API samba_tensor *samba_logical_or(samba_tensor *a, samba_tensor *b);
SAMBA_API samba_tensor *samba_logical_not(samba_tensor *x);
SAMBA_API samba_tensor *samba_isnan(samba_tensor *x);
SAMBA_API samba_tensor *samba_isinf(samba_tensor *x);
SAMBA_API samba_tensor *samba_isfinite(samba_tensor *x);
/* value where mask (bool) is true, else x. */
SAMBA_API samba_tensor *samba_masked_fill(samba_tensor *x, samba_tensor *mask, float value);

/* ---- Reductions, sums along an axis, sorting ------------------------------------------------- */
/* As samba_max, samba_argmax. */
SAMBA_API samba_tensor *samba_min(samba_tensor *x, samba_shape axes, bool keepdim);
SAMBA_API samba_tensor *samba_argmin(samba_tensor *x, int32_t axis, bool keepdim);
/* The product along one axis, by pairs: the gradient is right where factors are 0. */
SAMBA_API samba_tensor *samba_prod(samba_tensor *x, int32_t axis, bool keepdim);
/* sum of (x - mean)^2 / (n - correction), and its root. torch's default correction is 1. */
SAMBA_API samba_tensor *samba_var(samba_tensor *x, samba_shape axes, int32_t correction,
                                  bool keepdim);
SAMBA_API samba_tensor *samba_std(samba_tensor *x, samba_shape axes, int32_t correction,
                                  bool keepdim);
/* log of the sum of e^x, without overflow. */
SAMBA_API samba_tensor *samba_logsumexp(samba_tensor *x, samba_shape axes, bool keepdim);
/* y[i] = x[0] + ... + x[i] along axis, in log2(n) passes. */
SAMBA_API samba_tensor *samba_cumsum(samba_tensor *x, int32_t axis);
/* Sorted values along axis; *index, unless NULL, gets where they were, i32. topk: the first k of
   them. Equal ones keep their order; NaN is the largest. */
SAMBA_API samba_tensor *samba_sort(samba_tensor *x, int32_t axis, bool descending,
                                   samba_tensor **index);
SAMBA_API samba_tensor *samba_topk(samba_tensor *x, int32_t k, int32_t axis, bool largest,
                                   samba_tensor **index);

/* ---- Selections, constants, noise ------------------------------------------------------------ */
/* Parts of x along axis, by a list of numbers. */
SAMBA_API samba_tensor *samba_index_select(samba_tensor *x, int32_t axis, samba_tensor *index);
/* y = x; y[index[i][j]][j] += source[i][j] for axis 0, in order. index and source are of one shape,
   which only along axis may be larger than that of x. */
SAMBA_API samba_tensor *samba_scatter_add(samba_tensor *x, int32_t axis, samba_tensor *index,
                                          samba_tensor *source);
/* samba_lookup in which row `padding` of w gets no gradient; a negative one counts from the end. As
   torch's F.embedding with padding_idx: what stands in that row is read as it is. */
SAMBA_API samba_tensor *samba_lookup_padded(samba_tensor *ids, samba_tensor *w, int32_t padding);
/* ids (*) -> f32 (*,classes): 1 at the id, else 0. Of an id outside, all are 0. */
SAMBA_API samba_tensor *samba_one_hot(samba_tensor *ids, int32_t classes);
SAMBA_API samba_tensor *samba_eye(samba_session *s, int32_t n); /* (n,n): 1 on the diagonal */
/* Random numbers of the shape of x, N(0,1) or U[0,1): others at each run that trains, by the argin
   name__seed, as samba_dropout draws its mask. The same name draws the same ones. A run that does
   not train draws what the last one that did has drawn. */
SAMBA_API samba_tensor *samba_randn_like(samba_tensor *x, const char *name);
SAMBA_API samba_tensor *samba_rand_like(samba_tensor *x, const char *name);

/* ---- Recurrent layers ------------------------------------------------------------------------ */
/* States of all layers and directions, (layers * directions, N, hidden), as torch orders them. */
typedef struct samba_recurrent_state {
    samba_tensor *h, *c; /* c: of an LSTM */
} samba_recurrent_state;

/* All zero is one layer, forward. */
typedef struct samba_recurrent_opts {
    int32_t layers; /* default 1 */
    bool bidirectional, no_bias;
    bool relu;                   /* of samba_rnn: instead of tanh */
    float dropout;               /* between layers; their names are name__dropout_l0 ... */
    samba_tensor *lengths;       /* (N) i32: steps that count; later outputs are 0, states stay */
    samba_recurrent_state first; /* NULL: zeros */
} samba_recurrent_opts;

/* x (N,T,k) -> (N,T,hidden), or 2 hidden if bidirectional: torch.nn.LSTM, GRU and RNN with
   batch_first. Parameters are named as there, name__weight_ih_l0, name__weight_hh_l0,
   name__bias_ih_l0, name__bias_hh_l0, name__weight_ih_l0_reverse ..., U(+-1/sqrt(hidden)). Steps
   are unrolled: one product for the inputs of all, one for each step. last, unless NULL, gets the
   last states; it may be the `first` of the next call. */
SAMBA_API samba_tensor *samba_lstm(samba_tensor *x, const char *name, int32_t hidden,
                                   const samba_recurrent_opts *opts, samba_recurrent_state *last);
SAMBA_API samba_tensor *samba_gru(samba_tensor *x, const char *name, int32_t hidden,
                                  const samba_recurrent_opts *opts, samba_recurrent_state *last);
SAMBA_API samba_tensor *samba_rnn(samba_tensor *x, const char *name, int32_t hidden,
                                  const samba_recurrent_opts *opts, samba_recurrent_state *last);

/* ---- Normalization by groups; images --------------------------------------------------------- */
/* x (N,C,*), each image by itself: C channels in so many groups, or each channel alone. w, b (C) or
   NULL. */
SAMBA_API samba_tensor *samba_group_normalize(samba_tensor *x, int32_t groups, samba_tensor *w,
                                              samba_tensor *b, float eps);
SAMBA_API samba_tensor *samba_instance_normalize(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                                 float eps);
/* The layer: name__weight (C) ones, name__bias (C) zeros, eps 1e-5. */
SAMBA_API samba_tensor *samba_groupnorm(samba_tensor *x, const char *name, int32_t groups);

/* As samba_conv_opts; output_padding: rows and columns more. */
typedef struct samba_conv_transpose_opts {
    int32_t stride[2], padding[2], output_padding[2], dilation[2], groups;
} samba_conv_transpose_opts;

/* Transposed convolution: x (N,C,H,W), w (C,O/groups,KH,KW), b (O) or NULL; or x (N,C,L),
   w (C,O/groups,K). Layers: name__weight, name__bias, U(+-1/sqrt(O/groups k k)) as torch. */
SAMBA_API samba_tensor *samba_conv_transpose(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                             const samba_conv_transpose_opts *opts);
SAMBA_API samba_tensor *samba_conv_transpose2d(samba_tensor *x, const char *name, int32_t o,
                                               int32_t kernel,
                                               const samba_conv_transpose_opts *opts);
SAMBA_API samba_tensor *samba_conv_transpose1d(samba_tensor *x, const char *name, int32_t o,
                                               int32_t kernel,
                                               const samba_conv_transpose_opts *opts);

typedef enum samba_interpolation { SAMBA_NEAREST = 0, SAMBA_BILINEAR } samba_interpolation;

/* x (N,C,H,W) -> (N,C,out_h,out_w), or x (N,C,L) -> (N,C,out_h), where bilinear is torch's linear.
   align_corners: of bilinear. */
SAMBA_API samba_tensor *samba_interpolate(samba_tensor *x, int32_t out_h, int32_t out_w,
                                          samba_interpolation mode, bool align_corners);

/* ---- Attention ------------------------------------------------------------------------------- */
/* Rotary embedding of x (*,T,D), D even: pairs of numbers turn by position base^(-2i/D). The pairs
   are the halves of a row (GPT-NeoX, LLaMA of Hugging Face), or neighbors if interleaved (GPT-J).
   positions: numbers (T), or NULL: 0, 1, 2 ... */
SAMBA_API samba_tensor *samba_rotary(samba_tensor *x, samba_tensor *positions, float base,
                                     bool interleaved);

typedef struct samba_heads_opts {
    bool causal;           /* a query attends to keys up to its own place, and the last of T
                              queries is at the place of the last of S keys */
    int32_t window;        /* > 0: only to so many keys, itself the last; needs causal */
    samba_tensor *lengths; /* (N) i32: keys that count */
    float scale;           /* as in samba_attention_opts */
} samba_heads_opts;

/* Attention of q (N,H,T,D) to k (N,G,S,D), v (N,G,S,E) -> (N,H,T,E), H a multiple of G: H/G
   neighboring heads share a head of keys (grouped-query attention). */
SAMBA_API samba_tensor *samba_attention_heads(samba_tensor *q, samba_tensor *k, samba_tensor *v,
                                              const samba_heads_opts *opts);

/* ---- Losses ---------------------------------------------------------------------------------- */
/* Element by element, then mean, sum or none. bce: x are logits, y 0 ... 1; weight, unless NULL, is
   broadcast and multiplies what y = 1 adds (torch's pos_weight). huber is smooth_l1 times delta.
   kl_div: y (log(y) - x), x log-probabilities; log_y: y are logs, too. torch's batchmean is the
   sum, scaled by 1 / N. */
SAMBA_API samba_tensor *samba_bce_with_logits(samba_tensor *x, samba_tensor *y,
                                              samba_tensor *weight, samba_reduction reduction);
SAMBA_API samba_tensor *samba_l1(samba_tensor *x, samba_tensor *y, samba_reduction reduction);
SAMBA_API samba_tensor *samba_smooth_l1(samba_tensor *x, samba_tensor *y, float beta,
                                        samba_reduction reduction);
SAMBA_API samba_tensor *samba_huber(samba_tensor *x, samba_tensor *y, float delta,
                                    samba_reduction reduction);
SAMBA_API samba_tensor *samba_kl_div(samba_tensor *x, samba_tensor *y, bool log_y,
                                     samba_reduction reduction);
/* Of rows (N,D). cosine: y (N), 1: 1 - cos, -1: max(0, cos - margin). triplet: max(0, margin +
   |a - p| - |a - n|), where 1e-6 is added to each difference as torch does. */
SAMBA_API samba_tensor *samba_cosine_embedding(samba_tensor *a, samba_tensor *b, samba_tensor *y,
                                               float margin, samba_reduction reduction);
SAMBA_API samba_tensor *samba_triplet_margin(samba_tensor *anchor, samba_tensor *positive,
                                             samba_tensor *negative, float margin,
                                             samba_reduction reduction);
/* cross_entropy with a weight (C) for each class: the mean divides by the weights of the targets.
   Without targets that count torch's mean is NaN; zero_if_none makes it 0. */
SAMBA_API samba_tensor *samba_cross_entropy_weighted(samba_tensor *logits, samba_tensor *target,
                                                     samba_tensor *class_weights,
                                                     const samba_loss_opts *opts,
                                                     bool zero_if_none);
/* Connectionist temporal classification: logp (T,N,C) log-probabilities, target (N,S) classes
   without the blank, input_lengths and target_lengths (N), i32 -> (N), each the negative logarithm
   of all ways to write its target. What cannot be written is infinite, or 0 with zero_infinity.
   torch's mean divides each by its target's length, and then takes the mean. */
SAMBA_API samba_tensor *samba_ctc(samba_tensor *logp, samba_tensor *target,
                                  samba_tensor *input_lengths, samba_tensor *target_lengths,
                                  int32_t blank, bool zero_infinity);

