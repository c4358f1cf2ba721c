/* export_ops.h - of onnx_export.h: one row for each op of samba.h that a forward pass has. */

typedef struct ex_row {
    const char *op;
    bool (*write)(ex_export *e, const ex_call *c, const char *word);
    const char *word; /* the op of ONNX, where the function needs it */
} ex_row;

/* Inputs of the ops that have more than two, as samba.h lists their arguments. */
enum { EX_X, EX_WEIGHT, EX_BIAS, EX_MEAN, EX_VARIANCE }; /* affine, convolution, norms */

enum { EX_QUERY, EX_KEY, EX_VALUE, EX_MASK };

enum { EX_CACHE, EX_ROWS, EX_ROW }; /* write_rows */

/* ---- Elementwise ---- */

static bool ex_map1(ex_export *e, const ex_call *c, const char *word)
{
    const char *x = ex_in_f32(e, c, 0);
    return *ex_node(e, word, ex_out(e, c, 0), x, NULL) != 0;
}

static bool ex_map2(ex_export *e, const ex_call *c, const char *word)
{
    const char *a = ex_in_f32(e, c, 0), *b = ex_in_f32(e, c, 1);
    return *ex_node(e, word, ex_out(e, c, 0), a, b, NULL) != 0;
}

static bool ex_not_equal(ex_export *e, const ex_call *c, const char *word)
{
    const char *a = ex_in_f32(e, c, 0), *b = ex_in_f32(e, c, 1);
    const char *same = ex_node(e, "Equal", NULL, a, b, NULL);
    return *ex_node(e, word, ex_out(e, c, 0), same, NULL) != 0;
}

static bool ex_where(ex_export *e, const ex_call *c, const char *word)
{
    const char *cond = ex_in(e, c, 0), *a = ex_in_f32(e, c, 1), *b = ex_in_f32(e, c, 2);
    if (ex_in_symbol(e, c, 0)->spec.dtype != SAMBA_BOOL) {
        cond = ex_node(e, "Cast", NULL, cond, NULL);
        ex_int(e, "to", EX_BOOL);
    }
    return *ex_node(e, word, ex_out(e, c, 0), cond, a, b, NULL) != 0;
}

static bool ex_rsqrt(ex_export *e, const ex_call *c, const char *word)
{
    const char *root = ex_node(e, "Sqrt", NULL, ex_in_f32(e, c, 0), NULL);
    return *ex_node(e, word, ex_out(e, c, 0), root, NULL) != 0;
}

static bool ex_leaky_relu(ex_export *e, const ex_call *c, const char *word)
{
    bool fine = ex_map1(e, c, word);
    ex_float(e, "alpha", ex_float_attr(c, "slope"));
    return fine;
}

/* x (word) attribute */
static bool ex_with_number(ex_export *e, const ex_call *c, const char *word)
{
    bool scales = !strcmp(c->op, "scale");
    const char *x = ex_in_f32(e, c, 0);
    const char *b = ex_number(e, ex_float_attr(c, scales ? "factor" : "term"));
    return *ex_node(e, word, ex_out(e, c, 0), x, b, NULL) != 0;
}

/* x/2 (1 + erf(x / sqrt 2)) */
static bool ex_gelu(ex_export *e, const ex_call *c, const char *word)
{
    const char *x = ex_in_f32(e, c, 0);
    const char *t = ex_node(e, "Mul", NULL, x, ex_number(e, 0.70710678f), NULL);
    t = ex_node(e, "Add", NULL, ex_node(e, word, NULL, t, NULL), ex_number(e, 1.0f), NULL);
    t = ex_node(e, "Mul", NULL, x, t, NULL);
    return *ex_node(e, "Mul", ex_out(e, c, 0), t, ex_number(e, 0.5f), NULL) != 0;
}

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
static bool ex_gelu_tanh(ex_export *e, const ex_call *c, const char *word)
{
    const char *x = ex_in_f32(e, c, 0), *t = ex_node(e, "Mul", NULL, x, x, NULL);
    t = ex_node(e, "Mul", NULL, t, ex_number(e, 0.044715f), NULL);
    t = ex_node(e, "Add", NULL, t, ex_number(e, 1.0f), NULL);
    t = ex_node(e, "Mul", NULL, ex_node(e, "Mul", NULL, t, x, NULL), ex_number(e, 0.79788456f),
                NULL);
    t = ex_node(e, "Add", NULL, ex_node(e, word, NULL, t, NULL), ex_number(e, 1.0f), NULL);
    t = ex_node(e, "Mul", NULL, x, t, NULL);
    return *ex_node(e, "Mul", ex_out(e, c, 0), t, ex_number(e, 0.5f), NULL) != 0;
}

static bool ex_silu(ex_export *e, const ex_call *c, const char *word)
{
    const char *x = ex_in_f32(e, c, 0), *s = ex_node(e, word, NULL, x, NULL);
    return *ex_node(e, "Mul", ex_out(e, c, 0), x, s, NULL) != 0;
}

/* Gradients that are simple: a times the slope at b. For tanh and sigmoid, b is their result. */
static bool ex_slope(ex_export *e, const ex_call *c, const char *word)
{
    const char *a = ex_in(e, c, 0), *b = ex_in(e, c, 1), *one = ex_number(e, 1.0f), *slope;
    if (!strcmp(word, "Relu")) {
        slope = ex_node(e, "Greater", NULL, b, ex_number(e, 0.0f), NULL);
        return *ex_node(e, "Where", ex_out(e, c, 0), slope, a, ex_number(e, 0.0f), NULL) != 0;
    }
    if (!strcmp(word, "Abs"))
        slope = ex_node(e, "Sign", NULL, b, NULL);
    else if (!strcmp(word, "Tanh"))
        slope = ex_node(e, "Sub", NULL, one, ex_node(e, "Mul", NULL, b, b, NULL), NULL);
    else
        slope = ex_node(e, "Mul", NULL, b, ex_node(e, "Sub", NULL, one, b, NULL), NULL);
    return *ex_node(e, "Mul", ex_out(e, c, 0), a, slope, NULL) != 0;
}

static bool ex_cast(ex_export *e, const ex_call *c, const char *word)
{
    bool fine = *ex_node(e, word, ex_out(e, c, 0), ex_in(e, c, 0), NULL) != 0;
    ex_int(e, "to", ex_type((samba_dtype)ex_attr(c, "type")));
    return fine;
}

/* The same values: dropout where nobody trains, and copies. */
static bool ex_same(ex_export *e, const ex_call *c, const char *word)
{
    return *ex_node(e, word, ex_out(e, c, 0), ex_in(e, c, 0), NULL) != 0;
}

static bool ex_full(ex_export *e, const ex_call *c, const char *word)
{
    const char *x = ex_number(e, ex_float_attr(c, "value"));
    const char *shape = ex_shape(e, &ex_out_spec(e, c)->shape);
    return *ex_node(e, word, ex_out(e, c, 0), x, shape, NULL) != 0;
}

/* ---- Reductions ---- */

static bool ex_fold(ex_export *e, const ex_call *c, const char *word)
{
    int32_t axes[SAMBA_MAX_DIMS], n = 0;
    int64_t list[SAMBA_MAX_DIMS];
    bool sum = !strcmp(word, "ReduceSum"); /* its axes are an input since version 13 */
    int32_t mask = ex_attr(c, "axes");
    for (int32_t d = 0; d < SAMBA_MAX_DIMS; d++) {
        if (!(mask >> d & 1)) continue;
        list[n] = d;
        axes[n] = d;
        n++;
    }
    if (n == 0) return ex_same(e, c, "Identity");
    const char *x = ex_in(e, c, 0), *by = sum ? ex_list(e, n, list) : NULL;
    bool fine = *ex_node(e, word, ex_out(e, c, 0), x, by, NULL) != 0;
    if (!sum) ex_ints(e, "axes", n, axes);
    ex_int(e, "keepdims", ex_attr(c, "keepdim"));
    return fine;
}

static bool ex_argmax(ex_export *e, const ex_call *c, const char *word)
{
    const char *index = ex_node(e, word, NULL, ex_in(e, c, 0), NULL);
    ex_int(e, "axis", ex_attr(c, "axis"));
    ex_int(e, "keepdims", ex_attr(c, "keepdim"));
    bool fine = *ex_node(e, "Cast", ex_out(e, c, 0), index, NULL) != 0;
    ex_int(e, "to", EX_INT32);
    return fine;
}

/* ---- Products ---- */

/* x with its last two dimensions exchanged. */
static const char *ex_turned(ex_export *e, const char *x, int32_t ndim)
{
    int32_t perm[SAMBA_MAX_DIMS];
    for (int32_t d = 0; d < ndim; d++)
        perm[d] = d < ndim - 2 ? d : 2 * ndim - 3 - d;
    x = ex_node(e, "Transpose", NULL, x, NULL);
    ex_ints(e, "perm", ndim, perm);
    return x;
}

static bool ex_matmul(ex_export *e, const ex_call *c, const char *word)
{
    const char *a = ex_in_f32(e, c, 0), *b = ex_in_f32(e, c, 1);
    if (ex_attr(c, "transpose_a")) a = ex_turned(e, a, ex_in_shape(e, c, 0)->ndim);
    if (ex_attr(c, "transpose_b")) b = ex_turned(e, b, ex_in_shape(e, c, 1)->ndim);
    return *ex_node(e, word, ex_out(e, c, 0), a, b, NULL) != 0;
}

/* x w^T + b */
static bool ex_affine(ex_export *e, const ex_call *c, const char *word)
{
    const char *x = ex_in(e, c, EX_X), *w = ex_in_f32(e, c, EX_WEIGHT);
    const char *b = ex_has(c, EX_BIAS) ? ex_in(e, c, EX_BIAS) : NULL;
    if (ex_in_shape(e, c, EX_X)->ndim == 2) {
        bool fine = *ex_node(e, word, ex_out(e, c, 0), x, w, b, NULL) != 0;
        ex_int(e, "transB", 1);
        return fine;
    }
    w = ex_turned(e, w, 2);
    x = ex_node(e, "MatMul", b ? NULL : ex_out(e, c, 0), x, w, NULL);
    return *(b ? ex_node(e, "Add", ex_out(e, c, 0), x, b, NULL) : x) != 0;
}

/* ---- Shapes and parts ---- */

static bool ex_reshape(ex_export *e, const ex_call *c, const char *word)
{
    const char *shape = ex_shape(e, &ex_out_spec(e, c)->shape);
    return *ex_node(e, word, ex_out(e, c, 0), ex_in(e, c, 0), shape, NULL) != 0;
}

static bool ex_permute(ex_export *e, const ex_call *c, const char *word)
{
    bool fine = *ex_node(e, word, ex_out(e, c, 0), ex_in(e, c, 0), NULL) != 0;
    int32_t axes[SAMBA_MAX_DIMS];
    ex_ints(e, "perm", ex_list_attr(c, "axes", axes, SAMBA_MAX_DIMS), axes);
    return fine;
}

/* A list of an attribute that has a word for each axis; n gets how many. */
static const char *ex_axes_attr(ex_export *e, const ex_call *c, const char *name, int32_t *n)
{
    int32_t words[SAMBA_MAX_DIMS];
    int64_t list[SAMBA_MAX_DIMS];
    *n = ex_list_attr(c, name, words, SAMBA_MAX_DIMS);
    for (int32_t d = 0; d < *n; d++)
        list[d] = words[d];
    return ex_list(e, *n, list);
}

static bool ex_slice(ex_export *e, const ex_call *c, const char *word)
{
    int64_t every[SAMBA_MAX_DIMS];
    int32_t n;
    const char *begin = ex_axes_attr(e, c, "begin", &n), *end = ex_axes_attr(e, c, "end", &n);
    for (int32_t d = 0; d < n; d++)
        every[d] = d;
    const char *axes = ex_list(e, n, every), *step = ex_axes_attr(e, c, "step", &n);
    return *ex_node(e, word, ex_out(e, c, 0), ex_in(e, c, 0), begin, end, axes, step, NULL) != 0;
}

static bool ex_pad(ex_export *e, const ex_call *c, const char *word)
{
    int32_t before[SAMBA_MAX_DIMS], after[SAMBA_MAX_DIMS], between[SAMBA_MAX_DIMS];
    int64_t pads[2 * SAMBA_MAX_DIMS];
    int32_t n = ex_list_attr(c, "before", before, SAMBA_MAX_DIMS);
    ex_list_attr(c, "after", after, SAMBA_MAX_DIMS);
    ex_list_attr(c, "between", between, SAMBA_MAX_DIMS);
    for (int32_t d = 0; d < n; d++) {
        pads[d] = before[d];
        pads[n + d] = after[d];
        if (between[d]) return ex_fail(e, "pad between elements is not offered");
    }
    const char *list = ex_list(e, 2 * n, pads);
    const char *value = ex_number(e, ex_float_attr(c, "value"));
    if (ex_out_spec(e, c)->dtype != SAMBA_F32)
        return ex_fail(e, "pad of another type than f32 is not offered");
    return *ex_node(e, word, ex_out(e, c, 0), ex_in(e, c, 0), list, value, NULL) != 0;
}

static bool ex_cat(ex_export *e, const ex_call *c, const char *word)
{
    const char *y = ex_in(e, c, 0);
    for (int32_t i = 1; i < c->node.n_in; i++) {
        bool last = i == c->node.n_in - 1;
        y = ex_node(e, word, last ? ex_out(e, c, 0) : NULL, y, ex_in(e, c, i), NULL);
        ex_int(e, "axis", ex_attr(c, "axis"));
    }
    return c->node.n_in > 1 ? *y != 0 : ex_same(e, c, "Identity");
}

static bool ex_gather(ex_export *e, const ex_call *c, const char *word)
{
    const char *x = ex_in(e, c, 0), *index = ex_in(e, c, 1);
    bool fine = *ex_node(e, word, ex_out(e, c, 0), x, index, NULL) != 0;
    ex_int(e, "axis", ex_attr(c, "axis"));
    return fine;
}

/* Rows of w by ids: Gather(w, ids). */
static bool ex_lookup(ex_export *e, const ex_call *c, const char *word)
{
    const char *ids = ex_in(e, c, 0), *w = ex_in_f32(e, c, 1);
    bool fine = *ex_node(e, word, ex_out(e, c, 0), w, ids, NULL) != 0;
    ex_int(e, "axis", 0);
    return fine;
}

/* cache (*,S,D) with rows of x (*,T,D): those that a row index names, by a product with a matrix of
   zeros and ones (S,T), which copies values exactly; the others stay. */
static bool ex_write_rows(ex_export *e, const ex_call *c, const char *word)
{
    const samba_shape *cache = ex_in_shape(e, c, EX_CACHE), *row = ex_in_shape(e, c, EX_ROW);
    int32_t S = cache->dim[cache->ndim - 2], T = row->dim[row->ndim - 1];
    int64_t shape[SAMBA_MAX_DIMS], column[2] = { S, 1 }, last = -1;
    int32_t *places = (int32_t *)ex_new(e, (size_t)S, sizeof *places);
    for (int32_t i = 0; places && i < S; i++)
        places[i] = i;
    for (int32_t d = 0; d < cache->ndim; d++)
        shape[d] = 1;
    if (row->ndim == 2) shape[0] = row->dim[0];
    shape[cache->ndim - 1] = T;
    const char *at = ex_tensor(e, NULL, EX_INT32, 2, column, places, (size_t)S * sizeof *places);
    const char *flat = ex_list(e, cache->ndim, shape);
    const char *to = ex_node(e, "Reshape", NULL, ex_in(e, c, EX_ROW), flat, NULL);
    const char *hit = ex_node(e, "Cast", NULL, ex_node(e, word, NULL, to, at, NULL), NULL);
    ex_int(e, "to", EX_FLOAT);
    const char *rows = ex_node(e, "MatMul", NULL, hit, ex_in(e, c, EX_ROWS), NULL);
    const char *any = ex_node(e, "ReduceSum", NULL, hit, ex_list(e, 1, &last), NULL);
    any = ex_node(e, "Cast", NULL, any, NULL);
    ex_int(e, "to", EX_BOOL);
    const char *old = ex_in(e, c, EX_CACHE);
    return *ex_node(e, "Where", ex_out(e, c, 0), any, rows, old, NULL) != 0;
}

/* ---- Windows ---- */

/* Stride, padding and dilation have a word for rows and one for columns; of a convolution in one
   dimension, which is a row, the second ones alone mean something. */
static bool ex_conv(ex_export *e, const ex_call *c, const char *word)
{
    int32_t sides = ex_in_shape(e, c, EX_X)->ndim - 2, first = 2 - sides;
    int32_t stride[2], padding[2], dilation[2], pads[4];
    ex_list_attr(c, "stride", stride, 2);
    ex_list_attr(c, "padding", padding, 2);
    ex_list_attr(c, "dilation", dilation, 2);
    for (int32_t d = 0; d < sides; d++)
        pads[d] = pads[sides + d] = padding[first + d];
    const char *x = ex_in(e, c, EX_X), *w = ex_in(e, c, EX_WEIGHT);
    const char *b = ex_has(c, EX_BIAS) ? ex_in(e, c, EX_BIAS) : NULL;
    bool fine = *ex_node(e, word, ex_out(e, c, 0), x, w, b, NULL) != 0;
    ex_ints(e, "strides", sides, stride + first);
    ex_ints(e, "pads", 2 * sides, pads);
    ex_ints(e, "dilations", sides, dilation + first);
    ex_int(e, "group", ex_attr(c, "groups"));
    return fine;
}

/* The kernel of a pooling, and its stride, which equals it if only the size of the result is given:
   then every window must have the same size. */
static bool ex_window(ex_export *e, const ex_call *c, int32_t kernel[2], int32_t stride[2])
{
    const samba_shape *x = ex_in_shape(e, c, EX_X);
    int32_t to[2];
    ex_list_attr(c, "kernel", kernel, 2);
    ex_list_attr(c, "stride", stride, 2);
    if (!ex_list_attr(c, "to", to, 2)) return true;
    for (int32_t i = 0; i < 2; i++) {
        int32_t size = x->dim[2 + i];
        if (size % to[i])
            return ex_fail(e, "adaptive_avg_pool2d of %d to %d has windows of different sizes",
                           size, to[i]);
        kernel[i] = stride[i] = size / to[i];
    }
    return true;
}

static bool ex_pool(ex_export *e, const ex_call *c, const char *word)
{
    int32_t kernel[2], stride[2], padding[2] = { 0, 0 };
    if (ex_in_shape(e, c, EX_X)->ndim != 4)
        return ex_fail(e, "pooling of other than 4 dimensions is not offered");
    if (!ex_window(e, c, kernel, stride)) return false;
    ex_list_attr(c, "padding", padding, 2);
    const int32_t pads[4] = { padding[0], padding[1], padding[0], padding[1] };
    bool average = !strcmp(word, "AveragePool"), adaptive = ex_list_attr(c, "to", NULL, 0) != 0;
    bool counts = !adaptive && !ex_attr(c, "exclude_padding");
    bool fine = *ex_node(e, word, ex_out(e, c, 0), ex_in(e, c, EX_X), NULL) != 0;
    ex_ints(e, "kernel_shape", 2, kernel);
    ex_ints(e, "strides", 2, stride);
    ex_ints(e, "pads", 4, pads);
    ex_int(e, "ceil_mode", ex_attr(c, "ceil_mode"));
    if (average) ex_int(e, "count_include_pad", counts);
    return fine;
}

/* ---- Normalization ---- */

static bool ex_batch_norm(ex_export *e, const ex_call *c, const char *word)
{
    int64_t n = ex_in_shape(e, c, 0)->dim[1];
    const char *w = ex_has(c, EX_WEIGHT) ? ex_in(e, c, EX_WEIGHT) : ex_uniform(e, n, 1.0f);
    const char *b = ex_has(c, EX_BIAS) ? ex_in(e, c, EX_BIAS) : ex_uniform(e, n, 0.0f);
    bool fine = *ex_node(e, word, ex_out(e, c, 0), ex_in(e, c, EX_X), w, b, ex_in(e, c, EX_MEAN),
                         ex_in(e, c, EX_VARIANCE), NULL)
        != 0;
    ex_float(e, "epsilon", ex_float_attr(c, "eps"));
    return fine;
}

static bool ex_softmax(ex_export *e, const ex_call *c, const char *word)
{
    bool fine = *ex_node(e, word, ex_out(e, c, 0), ex_in(e, c, 0), NULL) != 0;
    ex_int(e, "axis", ex_attr(c, "axis"));
    return fine;
}

static bool ex_layer_norm(ex_export *e, const ex_call *c, const char *word)
{
    const samba_shape *x = ex_in_shape(e, c, EX_X);
    const char *w
        = ex_has(c, EX_WEIGHT) ? ex_in(e, c, EX_WEIGHT) : ex_uniform(e, x->dim[x->ndim - 1], 1.0f);
    const char *b = ex_has(c, EX_BIAS) ? ex_in(e, c, EX_BIAS) : NULL;
    bool fine = *ex_node(e, word, ex_out(e, c, 0), ex_in(e, c, EX_X), w, b, NULL) != 0;
    ex_int(e, "axis", -1);
    ex_float(e, "epsilon", ex_float_attr(c, "eps"));
    return fine;
}

/* x / sqrt(mean(x^2) + eps) w */
static bool ex_rms_norm(ex_export *e, const ex_call *c, const char *word)
{
    static const int32_t last = -1;
    const char *x = ex_in(e, c, 0), *t = ex_node(e, "Mul", NULL, x, x, NULL);
    t = ex_node(e, word, NULL, t, NULL);
    ex_ints(e, "axes", 1, &last);
    t = ex_node(e, "Add", NULL, t, ex_number(e, ex_float_attr(c, "eps")), NULL);
    t = ex_node(e, "Sqrt", NULL, t, NULL);
    t = ex_node(e, "Div", ex_has(c, EX_WEIGHT) ? NULL : ex_out(e, c, 0), x, t, NULL);
    if (!ex_has(c, EX_WEIGHT)) return *t != 0;
    return *ex_node(e, "Mul", ex_out(e, c, 0), t, ex_in(e, c, EX_WEIGHT), NULL) != 0;
}

/* ---- Losses ---- */

static bool ex_loss(ex_export *e, const ex_call *c, const char *word)
{
    static const char *const reductions[3] = { "mean", "sum", "none" };
    const samba_shape *x = ex_in_shape(e, c, 0);
    int64_t classes = x->dim[x->ndim - 1], rows[2] = { -1, classes }, flat = -1;
    int32_t reduction = ex_attr(c, "reduction");
    bool each = reduction == SAMBA_REDUCE_NONE;
    if (ex_float_attr(c, "label_smoothing") != 0.0f)
        return ex_fail(e, "cross_entropy with label_smoothing is not offered");
    const char *scores = ex_node(e, "Reshape", NULL, ex_in(e, c, 0), ex_list(e, 2, rows), NULL);
    const char *target = ex_node(e, "Reshape", NULL, ex_in(e, c, 1), ex_list(e, 1, &flat), NULL);
    const char *y = ex_node(e, word, each ? NULL : ex_out(e, c, 0), scores, target, NULL);
    ex_word(e, "reduction", reductions[reduction]);
    ex_int(e, "ignore_index", ex_attr(c, "ignore_index"));
    if (!each) return *y != 0;
    const char *shape = ex_shape(e, &ex_out_spec(e, c)->shape);
    return *ex_node(e, "Reshape", ex_out(e, c, 0), y, shape, NULL) != 0;
}

/* ---- Attention ---- */

/* Which keys a query may see, bool (T,S): none after its own place. */
static const char *ex_causal(ex_export *e, int64_t T, int64_t S)
{
    uint8_t *see = (uint8_t *)ex_new(e, (size_t)(T * S), 1);
    int64_t dim[2] = { T, S };
    for (int64_t i = 0; see && i < T * S; i++)
        see[i] = i % S <= i / S;
    return ex_tensor(e, NULL, EX_BOOL, 2, dim, see, (size_t)(T * S));
}

/* Scores where see, else so low that nothing is left of them, and zero weight in the end: a row
   that sees nothing is 0. */
static const char *ex_attend(ex_export *e, const char *scores, const char *see)
{
    const char *low = see ? ex_number(e, -3.0e38f) : NULL, *zero = see ? ex_number(e, 0.0f) : NULL;
    if (see) scores = ex_node(e, "Where", NULL, see, scores, low, NULL);
    const char *weights = ex_node(e, "Softmax", NULL, scores, NULL);
    ex_int(e, "axis", -1);
    return see ? ex_node(e, "Where", NULL, see, weights, zero, NULL) : weights;
}

static bool ex_attention(ex_export *e, const ex_call *c, const char *word)
{
    const samba_shape *q = ex_in_shape(e, c, EX_QUERY), *k = ex_in_shape(e, c, EX_KEY);
    int32_t n = q->ndim;
    const char *see = ex_attr(c, "causal") ? ex_causal(e, q->dim[n - 2], k->dim[n - 2]) : NULL;
    const char *scores
        = ex_node(e, word, NULL, ex_in(e, c, EX_QUERY), ex_turned(e, ex_in(e, c, EX_KEY), n), NULL);
    scores = ex_node(e, "Mul", NULL, scores, ex_number(e, ex_float_attr(c, "scale")), NULL);
    if (ex_has(c, EX_MASK)) {
        bool added = ex_in_symbol(e, c, EX_MASK)->spec.dtype == SAMBA_F32;
        const char *mask = ex_in(e, c, EX_MASK), *there = mask;
        if (added) {
            there = ex_node(e, "Greater", NULL, mask, ex_number(e, -3.0e38f), NULL);
            scores = ex_node(e, "Add", NULL, scores, mask, NULL);
        }
        see = see ? ex_node(e, "And", NULL, see, there, NULL) : there;
    }
    const char *weights = ex_attend(e, scores, see);
    return *ex_node(e, word, ex_out(e, c, 0), weights, ex_in(e, c, EX_VALUE), NULL) != 0;
}

static const ex_row ex_rows[] = {
    { "add", ex_map2, "Add" },
    { "sub", ex_map2, "Sub" },
    { "mul", ex_map2, "Mul" },
    { "div", ex_map2, "Div" },
    { "pow", ex_map2, "Pow" },
    { "minimum", ex_map2, "Min" },
    { "maximum", ex_map2, "Max" },
    { "eq", ex_map2, "Equal" },
    { "ne", ex_not_equal, "Not" },
    { "lt", ex_map2, "Less" },
    { "le", ex_map2, "LessOrEqual" },
    { "gt", ex_map2, "Greater" },
    { "ge", ex_map2, "GreaterOrEqual" },
    { "where", ex_where, "Where" },
    { "neg", ex_map1, "Neg" },
    { "exp", ex_map1, "Exp" },
    { "log", ex_map1, "Log" },
    { "sqrt", ex_map1, "Sqrt" },
    { "rsqrt", ex_rsqrt, "Reciprocal" },
    { "abs", ex_map1, "Abs" },
    { "relu", ex_map1, "Relu" },
    { "leaky_relu", ex_leaky_relu, "LeakyRelu" },
    { "sigmoid", ex_map1, "Sigmoid" },
    { "tanh", ex_map1, "Tanh" },
    { "gelu", ex_gelu, "Erf" },
    { "gelu_tanh", ex_gelu_tanh, "Tanh" },
    { "silu", ex_silu, "Sigmoid" },
    { "softplus", ex_map1, "Softplus" },
    { "scale", ex_with_number, "Mul" },
    { "shift", ex_with_number, "Add" },
    { "full", ex_full, "Expand" },
    { "cast", ex_cast, "Cast" },
    { "tanh_backward", ex_slope, "Tanh" },
    { "sigmoid_backward", ex_slope, "Sigmoid" },
    { "relu_backward", ex_slope, "Relu" },
    { "abs_backward", ex_slope, "Abs" },
    { "dropout", ex_same, "Identity" },
    { "sum", ex_fold, "ReduceSum" },
    { "mean", ex_fold, "ReduceMean" },
    { "max", ex_fold, "ReduceMax" },
    { "square_sum", ex_fold, "ReduceSumSquare" },
    { "argmax", ex_argmax, "ArgMax" },
    { "matmul", ex_matmul, "MatMul" },
    { "affine", ex_affine, "Gemm" },
    { "reshape", ex_reshape, "Reshape" },
    { "permute", ex_permute, "Transpose" },
    { "slice", ex_slice, "Slice" },
    { "pad", ex_pad, "Pad" },
    { "cat", ex_cat, "Concat" },
    { "expand", ex_reshape, "Expand" },
    { "gather", ex_gather, "GatherElements" },
    { "lookup", ex_lookup, "Gather" },
    { "write_rows", ex_write_rows, "Equal" },
    { "convolution", ex_conv, "Conv" },
    { "max_pool2d", ex_pool, "MaxPool" },
    { "avg_pool2d", ex_pool, "AveragePool" },
    { "batch_norm", ex_batch_norm, "BatchNormalization" },
    { "softmax", ex_softmax, "Softmax" },
    { "log_softmax", ex_softmax, "LogSoftmax" },
    { "layer_norm", ex_layer_norm, "LayerNormalization" },
    { "rms_norm", ex_rms_norm, "ReduceMean" },
    { "cross_entropy", ex_loss, "SoftmaxCrossEntropyLoss" },
    { "nll", ex_loss, "NegativeLogLikelihoodLoss" },
    { "scaled_dot_product_attention", ex_attention, "MatMul" },
};

enum { EX_N_ROWS = sizeof ex_rows / sizeof *ex_rows };
