/* reduce.h - of onnx_import.h: sums and the like over axes. */

enum {
    OX_R_SUM,
    OX_R_MEAN,
    OX_R_MAX,
    OX_R_MIN,
    OX_R_PROD,
    OX_R_L1,
    OX_R_L2,
    OX_R_LOG_SUM,
    OX_R_LOG_SUM_EXP,
    OX_R_SUM_SQUARE
};

/* Which axes a reduction is over. all: every one. False after a refusal. */
typedef struct ox_axes {
    samba_shape list;
    bool all, nothing;
} ox_axes;

static bool ox_reduced_axes(ox_node *k, int32_t ndim, int64_t since, ox_axes *a)
{
    int32_t n = 0;
    bool fine = true;
    const int64_t *axes = ox_list(k, "axes", 1, since, &n, &fine);
    memset(a, 0, sizeof *a);
    a->list = samba_scalar_shape();
    if (!fine) return false;
    if (n > ndim) return ox_refuse(k, "has more axes than dimensions");
    a->nothing = n == 0 && ox_int(k, "noop_with_empty_axes", 0);
    a->all = n == 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t axis = ox_axis(k, axes[i], ndim);
        if (axis < 0) return false;
        a->list.dim[a->list.ndim++] = axis;
    }
    return true;
}

/* x with the axes moved behind the others and joined; shape gets the result's. */
static samba_tensor *ox_axes_last(samba_tensor *x, const ox_axes *a, bool keep, samba_shape *shape)
{
    bool gone[SAMBA_MAX_DIMS] = { false };
    samba_shape order = samba_scalar_shape(), rows = samba_scalar_shape();
    int32_t last = 1;
    *shape = samba_scalar_shape();
    for (int32_t i = 0; i < a->list.ndim; i++)
        gone[a->list.dim[i]] = true;
    for (int32_t d = 0; d < x->shape.ndim; d++) {
        bool reduced = gone[d] || a->all;
        if (!reduced) {
            order.dim[order.ndim++] = d;
            rows.dim[rows.ndim++] = x->shape.dim[d];
        }
        if (!reduced || keep) shape->dim[shape->ndim++] = reduced ? 1 : x->shape.dim[d];
    }
    for (int32_t d = 0; d < x->shape.ndim; d++)
        if (gone[d] || a->all) {
            order.dim[order.ndim++] = d;
            last *= x->shape.dim[d];
        }
    samba_tensor *y = x->shape.ndim ? samba_permute(x, order) : x;
    rows.dim[rows.ndim++] = last;
    return samba_reshape(y, rows);
}

/* Exact, by the kernel of our own: i32, and products. */
static samba_tensor *ox_reduce_folded(samba_tensor *x, const ox_axes *a, bool keep, int32_t kind)
{
    samba_shape shape;
    if (!x) return NULL;
    samba_tensor *rows = ox_axes_last(x, a, keep, &shape);
    samba_tensor *y = ox_fold(rows, kind);
    return y ? samba_reshape(y, shape) : NULL;
}

static samba_tensor *ox_reduce_floats(samba_tensor *x, const ox_axes *a, bool keep, int32_t kind)
{
    samba_shape axes = a->list;
    samba_tensor *most;
    switch (kind) {
    case OX_R_SUM:
        return samba_sum(x, axes, keep);
    case OX_R_MEAN:
        return samba_mean(x, axes, keep);
    case OX_R_MAX:
        return samba_max(x, axes, keep);
    case OX_R_MIN:
        return samba_neg(samba_max(samba_neg(x), axes, keep));
    case OX_R_PROD:
        return ox_reduce_folded(x, a, keep, OX_FOLD_PROD);
    case OX_R_L1:
        return samba_sum(samba_abs(x), axes, keep);
    case OX_R_L2:
        return samba_sqrt(samba_sum(samba_mul(x, x), axes, keep));
    case OX_R_LOG_SUM:
        return samba_log(samba_sum(x, axes, keep));
    case OX_R_SUM_SQUARE:
        return samba_sum(samba_mul(x, x), axes, keep);
    default:
        most = ox_clamp(samba_max(x, axes, true), -FLT_MAX, FLT_MAX); /* inf - inf is NaN */
        x = samba_log(samba_sum(samba_exp(samba_sub(x, most)), axes, keep));
        return x ? samba_add(x, samba_reshape(most, x->shape)) : NULL;
    }
}

static bool ox_op_reduce(ox_node *k)
{
    static const int32_t folds[] = { OX_FOLD_SUM, -1, OX_FOLD_MAX, OX_FOLD_MIN, OX_FOLD_PROD };
    samba_tensor *x = ox_in(k, 0);
    bool keep = ox_int(k, "keepdims", 1) != 0;
    ox_axes a;
    if (!x || !ox_reduced_axes(k, x->shape.ndim, k->arg == OX_R_SUM ? 13 : 18, &a)) return false;
    if (a.nothing) return ox_give_value(k, 0, k->in[0]);
    if (ox_is_float(ox_type(k, 0)))
        return ox_give(k, 0, ox_type(k, 0), ox_reduce_floats(x, &a, keep, k->arg));
    if (k->arg > OX_R_PROD || folds[k->arg] < 0) return ox_refuse(k, "of integers is not offered");
    samba_tensor *y = ox_reduce_folded(ox_to_i32(x), &a, keep, folds[k->arg]);
    return ox_give(k, 0, ox_type(k, 0), ox_convert(k->c, y, OX_INT64, ox_type(k, 0)));
}

/* arg: the fold. */
static bool ox_op_arg(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    bool keep = ox_int(k, "keepdims", 1) != 0;
    int32_t kind = k->arg | (ox_int(k, "select_last_index", 0) ? OX_FOLD_LAST : 0);
    int32_t axis = x ? ox_axis(k, ox_int(k, "axis", 0), x->shape.ndim) : -1;
    if (axis < 0) return false;
    samba_tensor *y = kind == OX_FOLD_ARGMAX && x->dtype == SAMBA_F32
        ? samba_argmax(x, axis, false)
        : ox_fold(ox_to_last(x->dtype == SAMBA_BOOL ? ox_to_i32(x) : x, axis), kind);
    return ox_give(k, 0, OX_INT64, keep && y ? samba_unsqueeze(y, axis) : y);
}

/* arg 1: products. */
static bool ox_op_cum_sum(ox_node *k)
{
    const char *op = k->arg ? "onnx_multiply_up" : "onnx_cumulate";
    samba_tensor *x = ox_in(k, 0);
    const onnx_array *a = x ? ox_need(k, 1, "axis") : NULL;
    if (!a) return false;
    if (!a->i || a->count < 1) return ox_refuse(k, "its axis has no value");
    int32_t axis = ox_axis(k, a->i[0], x->shape.ndim);
    int32_t attr[OX_CUMULATE_ATTRS];
    attr[OX_CUMULATE_EXCLUSIVE] = ox_int(k, "exclusive", 0) != 0;
    attr[OX_CUMULATE_REVERSE] = ox_int(k, "reverse", 0) != 0;
    if (axis < 0) return false;
    x = ox_to_last(x, axis);
    samba_tensor *y = x ? samba_apply(k->c->s, op, &x, 1, attr, OX_CUMULATE_ATTRS) : NULL;
    return ox_give(k, 0, ox_type(k, 0), ox_from_last(y, axis));
}
