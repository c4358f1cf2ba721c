/* ==== [functions] ============================================================================= */
/* What is made of ops: no kernels, no gradients, no wire numbers of its own. Of two arguments that
   call ops the first one is made first, in a statement of its own, as C gives them no order. */
/* ---- Functions of elements ---- */
SAMBA__FN samba_tensor *samba__number_for(samba_tensor *x, float value)
{
    return x ? samba_number(x->session, value) : NULL;
}

SAMBA_API samba_tensor *samba_clamp(samba_tensor *x, float least, float most)
{
    samba_tensor *above = samba_maximum(x, samba__number_for(x, least));
    return samba_minimum(above, samba__number_for(x, most));
}

SAMBA_API samba_tensor *samba_reciprocal(samba_tensor *x)
{
    return samba_div(samba__number_for(x, 1.0f), x);
}

SAMBA_API samba_tensor *samba_logical_not(samba_tensor *x)
{
    return samba_eq(x, samba__number_for(x, 0.0f));
}

/* Truths are 0 or 1: their product and their maximum are, too. */
SAMBA_API samba_tensor *samba_logical_and(samba_tensor *a, samba_tensor *b)
{
    samba_tensor *first = samba_cast(a, SAMBA_BOOL), *second = samba_cast(b, SAMBA_BOOL);
    return samba_cast(samba_mul(first, second), SAMBA_BOOL);
}

SAMBA_API samba_tensor *samba_logical_or(samba_tensor *a, samba_tensor *b)
{
    samba_tensor *first = samba_cast(a, SAMBA_BOOL), *second = samba_cast(b, SAMBA_BOOL);
    return samba_cast(samba_maximum(first, second), SAMBA_BOOL);
}

SAMBA_API samba_tensor *samba_isnan(samba_tensor *x)
{
    return samba_ne(x, x);
}

SAMBA_API samba_tensor *samba_isinf(samba_tensor *x)
{
    samba_tensor *size = samba_abs(x);
    return samba_eq(size, samba__number_for(x, SAMBA__INF));
}

SAMBA_API samba_tensor *samba_isfinite(samba_tensor *x)
{
    samba_tensor *size = samba_abs(x);
    return samba_lt(size, samba__number_for(x, SAMBA__INF));
}

SAMBA_API samba_tensor *samba_masked_fill(samba_tensor *x, samba_tensor *mask, float value)
{
    return samba_where(mask, samba__number_for(x, value), x);
}

/* ---- Reductions ---- */
SAMBA_API samba_tensor *samba_min(samba_tensor *x, samba_shape axes, bool keepdim)
{
    return samba_neg(samba_max(samba_neg(x), axes, keepdim));
}

SAMBA_API samba_tensor *samba_argmin(samba_tensor *x, int32_t axis, bool keepdim)
{
    return samba_argmax(samba_neg(x), axis, keepdim);
}

/* The upper half is multiplied by the lower one, until one factor is left. */
SAMBA_API samba_tensor *samba_prod(samba_tensor *x, int32_t axis, bool keepdim)
{
    if (!samba__find_axis(x, "prod", &axis, 0)) return NULL;
    while (x && x->shape.dim[axis] > 1) {
        int32_t n = x->shape.dim[axis], half = n / 2;
        samba_tensor *lower = samba_slice(x, axis, 0, half, 1);
        samba_tensor *upper = samba_slice(x, axis, half, 2 * half, 1);
        samba_tensor *part[2] = { samba_mul(lower, upper), NULL };
        if (n % 2) part[1] = samba_slice(x, axis, n - 1, n, 1);
        x = n % 2 ? samba_cat(part, 2, axis) : part[0];
    }
    return keepdim ? x : samba_squeeze(x, axis);
}

SAMBA_API samba_tensor *samba_var(samba_tensor *x, samba_shape axes, int32_t correction,
                                  bool keepdim)
{
    samba_tensor *mean = samba_mean(x, axes, true), *off = samba_sub(x, mean);
    samba_tensor *sum = samba_sum(samba_mul(off, off), axes, keepdim);
    if (!sum) return NULL;
    int64_t left = samba_count(&x->shape) / samba_count(&sum->shape) - correction;
    volatile float count = left > 0 ? (float)left : 0.0f; /* see samba__attention_scale */
    return samba_div(sum, samba__number_for(x, count));
}

/* Where all are alike, the root of 0 has no slope: as in torch its gradient is 0 then, and so the
   root is not taken of 0 at all. */
SAMBA_API samba_tensor *samba_std(samba_tensor *x, samba_shape axes, int32_t correction,
                                  bool keepdim)
{
    samba_tensor *v = samba_var(x, axes, correction, keepdim);
    if (!v) return NULL;

    samba_tensor *zero = samba__number_for(v, 0.0f), *one = samba__number_for(v, 1.0f);
    samba_tensor *alike = samba_eq(v, zero);
    samba_tensor *root = samba_sqrt(samba_where(alike, one, v));
    return samba_where(alike, zero, root);
}

/* log sum e^(x - m) + m with the maximum m, through which no gradient flows: that of the sum is the
   whole one. An infinite m is no difference to take: 0 stands for it. */
SAMBA_API samba_tensor *samba_logsumexp(samba_tensor *x, samba_shape axes, bool keepdim)
{
    samba_tensor *top = samba_detach(samba_max(x, axes, true));
    samba_tensor *endless = samba_isinf(top);
    top = samba_masked_fill(top, endless, 0.0f);

    samba_tensor *sum = samba_sum(samba_exp(samba_sub(x, top)), axes, keepdim);
    samba_tensor *log = samba_log(sum);
    return log ? samba_add(log, samba_reshape(top, log->shape)) : NULL;
}

/* Hillis, Steele, "Data parallel algorithms", 1986: to each element the one `step` before is added,
   and steps double. */
SAMBA_API samba_tensor *samba_cumsum(samba_tensor *x, int32_t axis)
{
    if (!samba__find_axis(x, "cumsum", &axis, 0)) return NULL;
    int32_t n = x->shape.dim[axis];
    samba_shape before = x->shape, none;
    for (int32_t i = 0; i < before.ndim; i++)
        before.dim[i] = 0;
    none = before;

    for (int64_t step = 1; step < n; step *= 2) {
        before.dim[axis] = (int32_t)step;
        samba_tensor *shifted = samba_slice(x, axis, 0, n - (int32_t)step, 1);
        x = samba_add(x, samba_pad(shifted, before, none, 0.0f));
    }
    return x;
}

/* ---- Sorting ---- */
SAMBA__FN samba_tensor *samba__sorted(samba_tensor *x, int32_t axis, int32_t count, bool descending,
                                      samba_tensor **index)
{
    samba_tensor *where = samba_argsort(x, axis, count, descending);
    if (index) *index = where;
    return where ? samba_gather(x, axis, where) : NULL;
}

SAMBA_API samba_tensor *samba_sort(samba_tensor *x, int32_t axis, bool descending,
                                   samba_tensor **index)
{
    return samba__sorted(x, axis, 0, descending, index);
}

SAMBA_API samba_tensor *samba_topk(samba_tensor *x, int32_t k, int32_t axis, bool largest,
                                   samba_tensor **index)
{
    if (index) *index = NULL;
    if (x && k < 1) {
        samba_fail(x->session, SAMBA_ERANGE, "in samba_topk(%s %S): k is %d", x->name, &x->shape,
                   k);
        return NULL;
    }
    return samba__sorted(x, axis, k, largest, index);
}

/* ---- Selections and constants ---- */
/* The list is made as large as what it picks. */
SAMBA_API samba_tensor *samba_index_select(samba_tensor *x, int32_t axis, samba_tensor *index)
{
    if (!index || !samba__find_axis(x, "index_select", &axis, 0)) return NULL;
    if (index->shape.ndim != 1) {
        samba_fail(x->session, SAMBA_ESHAPE, "in samba_index_select(%s, %s %S): a list is needed",
                   x->name, index->name, &index->shape);
        return NULL;
    }

    samba_shape thin = x->shape, whole = x->shape;
    for (int32_t i = 0; i < thin.ndim; i++)
        thin.dim[i] = 1;
    thin.dim[axis] = whole.dim[axis] = index->shape.dim[0];
    index = samba_reshape(samba__ids_as_i32(index), thin);
    return samba_gather(x, axis, samba_expand(index, whole));
}

SAMBA_API samba_tensor *samba_scatter_add(samba_tensor *x, int32_t axis, samba_tensor *index,
                                          samba_tensor *source)
{
    int32_t attr[1 + SAMBA_MAX_DIMS];
    if (!index || !source || !samba__find_axis(x, "scatter_add", &axis, 0)) return NULL;
    attr[SAMBA__GATHER_AXIS] = axis;
    for (int32_t i = 0; i < x->shape.ndim; i++)
        attr[SAMBA__GATHER_SHAPE + i] = x->shape.dim[i];

    index = samba__ids_as_i32(index);
    samba_tensor *sum
        = samba__emit2(SAMBA__OP_gather_backward, source, index, attr, 1 + x->shape.ndim);
    return samba_add(x, sum);
}

SAMBA_API samba_tensor *samba_lookup_padded(samba_tensor *ids, samba_tensor *w, int32_t padding)
{
    ids = samba__ids_as_i32(ids);
    samba_tensor *y = samba_lookup(ids, w);
    if (!y) return NULL;

    int32_t rows = w->shape.dim[0], row = padding < 0 ? padding + rows : padding;
    if (row < 0 || row >= rows) {
        samba_fail(y->session, SAMBA_ERANGE,
                   "in samba_lookup_padded(%s %S): row %d of padding is not one of %d", w->name,
                   &w->shape, padding, rows);
        return NULL;
    }

    samba_tensor *number = samba_unsqueeze(ids, -1);
    samba_tensor *is_padding = samba_eq(number, samba__number_for(y, (float)row));
    samba_tensor *fixed = samba_detach(y);
    return samba_where(is_padding, fixed, y);
}

SAMBA_API samba_tensor *samba_one_hot(samba_tensor *ids, int32_t classes)
{
    ids = samba_unsqueeze(samba__ids_as_i32(ids), -1);
    if (!ids) return NULL;
    samba_tensor *number = samba_arange(ids->session, classes, 0.0f, 1.0f);
    return samba_cast(samba_eq(ids, number), SAMBA_F32);
}

SAMBA_API samba_tensor *samba_eye(samba_session *s, int32_t n)
{
    samba_tensor *column = samba_arange(s, n, 0.0f, 1.0f), *row = samba_unsqueeze(column, 1);
    return samba_cast(samba_eq(row, column), SAMBA_F32);
}

/* ---- Noise ---- */
SAMBA__FN samba_tensor *samba__noise_layer(samba_tensor *x, const char *what, const char *name,
                                           bool normal)
{
    char full[256];
    int32_t attr[SAMBA__NOISE_END];
    if (!x || !samba_ok(x->session)) return NULL;
    samba_session *s = x->session;
    if (!name || !*name) {
        samba_fail(s, SAMBA_EARG, "in %s of %s: the noise needs a name", what, x->name);
        return NULL;
    }

    const char *part = samba__print_name(s, full, sizeof full, "%s__seed", name);
    samba_tensor *seed = part ? samba__argin(s, part, SAMBA__ARGIN_SEED, 0.0f) : NULL;
    samba_tensor *in[SAMBA__NOISE_INPUTS] = { x, seed, samba__forward_counter(s) };
    if (!in[1] || !in[2]) return NULL;

    samba__put_key(attr + SAMBA__NOISE_KEY, samba__stream_key(s->seed, name));
    attr[SAMBA__NOISE_NORMAL] = normal;
    s->trace.next_name = name;
    samba_tensor *y
        = samba__emit(s, SAMBA__OP_noise, in, SAMBA__NOISE_INPUTS, attr, SAMBA__NOISE_END, NULL);
    return samba__layer_called(y, name, SAMBA__OP_noise, seed);
}

SAMBA_API samba_tensor *samba_randn_like(samba_tensor *x, const char *name)
{
    return samba__noise_layer(x, "samba_randn_like", name, true);
}

SAMBA_API samba_tensor *samba_rand_like(samba_tensor *x, const char *name)
{
    return samba__noise_layer(x, "samba_rand_like", name, false);
}

