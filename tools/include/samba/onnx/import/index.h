/* index.h - of onnx_import.h: elements chosen by indices that are computed. */

/* 0, step, 2 step ... along one dimension of `ndim`: to be added to an index by broadcasting. */
static samba_tensor *ox_steps(ox_import *c, int32_t ndim, int32_t d, int32_t n, int64_t step)
{
    int32_t *values = (int32_t *)ox_new(c, n, sizeof *values);
    samba_shape s = samba_scalar_shape();
    s.ndim = ndim;
    for (int32_t i = 0; i < ndim; i++)
        s.dim[i] = i == d ? n : 1;
    for (int32_t i = 0; values && i < n; i++)
        values[i] = (int32_t)(i * step);
    return values ? ox_constant(c, SAMBA_I32, s, values) : NULL;
}

/* Negative indices count from the end: i < 0 ? i + n : i. */
static samba_tensor *ox_wrap_index(ox_import *c, samba_tensor *index, int32_t n)
{
    samba_tensor *negative = ox_integers(index, ox_i32_scalar(c, 0), OX_LT, OX_INT32);
    samba_tensor *more = ox_integers(negative, ox_i32_scalar(c, n), OX_MUL, OX_INT32);
    return ox_integers(index, more, OX_ADD, OX_INT32);
}

static samba_tensor *ox_plus(samba_tensor *a, samba_tensor *b)
{
    return ox_integers(a, b, OX_ADD, OX_INT32);
}

static samba_tensor *ox_times(ox_import *c, samba_tensor *a, int64_t factor)
{
    return factor == 1 ? a : ox_integers(a, ox_i32_scalar(c, (int32_t)factor), OX_MUL, OX_INT32);
}

/* All of x as one row. */
static samba_tensor *ox_flat(samba_tensor *x)
{
    return x ? samba_reshape(x, SAMBA_SHAPE((int32_t)samba_count(&x->shape))) : NULL;
}

static int64_t ox_after(const samba_shape *s, int32_t axis)
{
    int64_t n = 1;
    for (int32_t d = axis + 1; d < s->ndim; d++)
        n *= s->dim[d];
    return n;
}

static bool ox_gather_list(ox_node *k)
{
    const onnx_array *x = ox_known_array(k->c, k->in[0]), *at = ox_known_array(k->c, k->in[1]);
    onnx_array *y = x && at ? ox_host_array(k->c, x->type, at->ndim, at->dim) : NULL;
    for (int64_t n = 0; y && n < y->count; n++) {
        int64_t i = at->i[n] < 0 ? at->i[n] + x->count : at->i[n];
        if (i < 0 || i >= x->count) return ox_refuse(k, "an index is out of range");
        if (y->f)
            y->f[n] = x->f[i];
        else
            y->i[n] = x->i[i];
    }
    return ox_give_host(k, 0, y);
}

/* x (before, n, after) at an index of any shape: (before, index, after). */
static samba_tensor *ox_gather_axis(samba_tensor *x, samba_tensor *index, int32_t axis)
{
    samba_tensor *y = ox_take(ox_to_last(x, axis), index, 0.0f); /* (before, after, index) */
    samba_shape order = samba_scalar_shape();
    if (!y) return NULL;
    int32_t after = x->shape.ndim - 1;
    for (int32_t d = 0; d < axis; d++)
        order.dim[order.ndim++] = d;
    for (int32_t d = after; d < y->shape.ndim; d++)
        order.dim[order.ndim++] = d;
    for (int32_t d = axis; d < after; d++)
        order.dim[order.ndim++] = d;
    return order.ndim ? samba_permute(y, order) : y;
}

static bool ox_op_gather(ox_node *k)
{
    bool known = ox_has(k, 0) && ox_has(k, 1) && ox_is_list(k->in[0]) && k->in[1]->known
        && ox_is_integer(ox_type(k, 1));
    if (known) return ox_gather_list(k);
    bool bytes = ox_is_byte(ox_type(k, 0));
    samba_tensor *x = bytes ? ox_in_bytes(k, 0) : ox_in(k, 0), *index = ox_in(k, 1);
    int32_t axis = x && index ? ox_axis(k, ox_int(k, "axis", 0), x->shape.ndim) : -1;
    if (axis < 0) return false;
    if (index->dtype != SAMBA_I32) return ox_refuse(k, "its indices are no integers");
    index = ox_wrap_index(k->c, index, x->shape.dim[axis]);
    if (bytes && axis > 0) x = ox_in(k, 0);
    if (axis == 0 && x && x->dtype != SAMBA_F32) {
        samba_tensor *in[2] = { x, index };
        x = samba_ok(k->c->s) ? samba_apply(k->c->s, "onnx_rows", in, 2, NULL, 0) : NULL;
        return bytes ? ox_give_bytes(k, 0, ox_type(k, 0), x) : ox_give(k, 0, ox_type(k, 0), x);
    }
    bool rows = axis == 0 && x->shape.ndim == 2 && x->dtype == SAMBA_F32;
    return ox_give(k, 0, ox_type(k, 0),
                   rows ? samba_lookup(index, x) : ox_gather_axis(x, index, axis));
}

/* The flat place in x of index[i0,i1...], which replaces the coordinate of one axis. */
static samba_tensor *ox_element_places(ox_node *k, samba_tensor *index, const samba_shape *x,
                                       int32_t axis)
{
    samba_tensor *at = ox_times(k->c, ox_wrap_index(k->c, index, x->dim[axis]), ox_after(x, axis));
    for (int32_t d = 0; d < x->ndim && at; d++)
        if (d != axis && index->shape.dim[d] > 1)
            at = ox_plus(at, ox_steps(k->c, x->ndim, d, index->shape.dim[d], ox_after(x, d)));
    return at;
}

static bool ox_op_gather_elements(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *index = ox_in(k, 1);
    int32_t axis = x && index ? ox_axis(k, ox_int(k, "axis", 0), x->shape.ndim) : -1;
    if (axis < 0) return false;
    if (index->shape.ndim != x->shape.ndim) return ox_refuse(k, "its inputs differ in rank");
    samba_tensor *at = ox_element_places(k, index, &x->shape, axis);
    return ox_give(k, 0, ox_type(k, 0), ox_take(ox_flat(x), at, 0.0f));
}

/* The flat places of the parts that index (*, depth) names behind `batch` common dimensions: shape
   (*, size of a part). */
static samba_tensor *ox_part_places(ox_node *k, samba_tensor *index, const samba_shape *x,
                                    int32_t batch)
{
    int32_t rank = index->shape.ndim, depth = rank ? index->shape.dim[rank - 1] : 0;
    if (depth < 1 || batch < 0 || batch >= rank || batch + depth > x->ndim || rank >= 8) {
        ox_refuse(k, "its indices do not fit the data");
        return NULL;
    }
    int64_t part = ox_after(x, batch + depth - 1);
    samba_tensor *at = NULL;
    for (int32_t j = 0; j < depth; j++) {
        samba_tensor *one
            = ox_wrap_index(k->c, samba_slice(index, rank - 1, j, j + 1, 1), x->dim[batch + j]);
        one = ox_times(k->c, one, ox_after(x, batch + j));
        at = at ? ox_plus(at, one) : one;
    }
    for (int32_t d = 0; d < batch && at; d++)
        at = ox_plus(at, ox_steps(k->c, rank, d, x->dim[d], ox_after(x, d)));
    return at ? ox_plus(at, ox_steps(k->c, rank, rank - 1, (int32_t)part, 1)) : NULL;
}

static bool ox_op_gather_nd(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *index = ox_in(k, 1);
    int32_t batch = (int32_t)ox_int(k, "batch_dims", 0);
    if (!x || !index) return false;
    samba_tensor *at = ox_part_places(k, index, &x->shape, batch);
    if (!at) return false;
    samba_shape y = index->shape;
    int32_t depth = y.dim[--y.ndim];
    for (int32_t d = batch + depth; d < x->shape.ndim && y.ndim < SAMBA_MAX_DIMS; d++)
        y.dim[y.ndim++] = x->shape.dim[d];
    return ox_give(k, 0, ox_type(k, 0), samba_reshape(ox_take(ox_flat(x), at, 0.0f), y));
}

/* ---- Scattering ---- */

static int32_t ox_scatter_kind(ox_node *k)
{
    static const struct {
        const char *name;
        int32_t kind;
    } row[] = { { "none", OX_SET },
                { "add", OX_ADD },
                { "mul", OX_MUL },
                { "min", OX_MIN },
                { "max", OX_MAX } };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (ox_text_is(k, "reduction", "none", row[i].name)) return row[i].kind;
    return OX_SET;
}

static samba_tensor *ox_scatter(samba_tensor *x, samba_tensor *at, samba_tensor *updates,
                                int32_t kind)
{
    if (!x || !at || !updates) return NULL;
    samba_tensor *in[3];
    in[0] = ox_flat(x);
    in[1] = ox_flat(at);
    in[2] = ox_flat(updates);
    samba_tensor *y = samba_apply(x->session, "onnx_scatter", in, 3, &kind, 1);
    return y ? samba_reshape(y, x->shape) : NULL;
}

static bool ox_op_scatter_elements(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *index = ox_in(k, 1), *updates = ox_in(k, 2);
    int32_t axis = x && index && updates ? ox_axis(k, ox_int(k, "axis", 0), x->shape.ndim) : -1;
    if (axis < 0) return false;
    if (index->shape.ndim != x->shape.ndim) return ox_refuse(k, "its inputs differ in rank");
    samba_tensor *at = ox_element_places(k, index, &x->shape, axis);
    return ox_give(k, 0, ox_type(k, 0), ox_scatter(x, at, updates, ox_scatter_kind(k)));
}

static bool ox_op_scatter_nd(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *index = ox_in(k, 1), *updates = ox_in(k, 2);
    samba_tensor *at = x && index && updates ? ox_part_places(k, index, &x->shape, 0) : NULL;
    return at && ox_give(k, 0, ox_type(k, 0), ox_scatter(x, at, updates, ox_scatter_kind(k)));
}

/* ---- Others ---- */

static bool ox_op_one_hot(ox_node *k)
{
    samba_tensor *index = ox_in(k, 0), *values = ox_in(k, 2);
    const onnx_array *depth = index && values ? ox_need(k, 1, "depth") : NULL;
    if (!depth) return false;
    double size = depth->count ? ox_number(depth, 0) : 0;
    if (!(size >= 1 && size < OX_MAX_COUNT)) return ox_refuse(k, "its depth is wrong");
    int32_t n = (int32_t)size, rank = index->shape.ndim;
    if (rank == SAMBA_MAX_DIMS) return ox_refuse(k, "the result has too many dimensions");
    int32_t axis = ox_axis(k, ox_int(k, "axis", -1), rank + 1);
    if (axis < 0) return false;
    index = ox_wrap_index(k->c, ox_to_i32(index), n);
    index = index ? samba_unsqueeze(index, axis) : NULL;
    samba_tensor *hot = ox_integers(index, ox_steps(k->c, rank + 1, axis, n, 1), OX_EQ, OX_INT32);
    return ox_give(k, 0, ox_type(k, 2), ox_take(values, hot, 0.0f)); /* values is (off, on) */
}

static bool ox_op_reverse_sequence(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *length = ox_in(k, 1);
    if (!x || !length) return false;
    int32_t time = ox_axis(k, ox_int(k, "time_axis", 0), x->shape.ndim);
    int32_t batch = ox_axis(k, ox_int(k, "batch_axis", 1), x->shape.ndim), n = x->shape.ndim;
    if (time < 0 || batch < 0) return false;
    if (time + batch != 1) return ox_refuse(k, "needs time and batch as axes 0 and 1");
    samba_shape column = samba_scalar_shape();
    column.ndim = n;
    for (int32_t d = 0; d < n; d++)
        column.dim[d] = d == batch ? x->shape.dim[d] : 1;
    length = samba_reshape(ox_to_i32(length), column);
    samba_tensor *t = ox_steps(k->c, n, time, x->shape.dim[time], 1);
    samba_tensor *early = ox_integers(t, length, OX_LT, OX_INT32);
    samba_tensor *back = ox_integers(length, t, OX_SUB, OX_INT32);
    back = ox_plus(back, ox_i32_scalar(k->c, -1));
    samba_tensor *at = early ? ox_select(samba_cast(early, SAMBA_BOOL), back, t) : NULL;
    at = ox_times(k->c, at, ox_after(&x->shape, time));
    for (int32_t d = 0; d < n && at; d++)
        if (d != time)
            at = ox_plus(at, ox_steps(k->c, n, d, x->shape.dim[d], ox_after(&x->shape, d)));
    return ox_give(k, 0, ox_type(k, 0), ox_take(ox_flat(x), at, 0.0f));
}

static bool ox_op_top_k(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    int64_t count = ox_int(k, "k", 1);
    int32_t type = ox_type(k, 0);
    if (k->version >= 10) {
        const onnx_array *a = x ? ox_need(k, 1, "k") : NULL;
        if (!a) return false;
        count = a->count && a->i ? a->i[0] : 0;
    }
    int32_t axis = x ? ox_axis(k, ox_int(k, "axis", -1), x->shape.ndim) : -1;
    if (axis < 0) return false;
    if (count < 1 || count > x->shape.dim[axis]) return ox_refuse(k, "its k is out of range");
    int32_t attr[OX_TOP_ATTRS];
    attr[OX_TOP_COUNT] = (int32_t)count;
    attr[OX_TOP_LARGEST] = ox_int(k, "largest", 1) != 0;
    samba_tensor *row = ox_to_last(ox_is_float(type) ? x : ox_to_i32(x), axis);
    samba_tensor *index
        = row ? samba_apply(k->c->s, "onnx_top", &row, 1, attr, OX_TOP_ATTRS) : NULL;
    samba_tensor *at = NULL;
    if (index) at = ox_element_places(k, index, &row->shape, row->shape.ndim - 1);
    samba_tensor *values = ox_from_last(ox_take(ox_flat(row), at, 0.0f), axis);
    return ox_give(k, 0, type, values) && ox_give(k, 1, OX_INT64, ox_from_last(index, axis));
}

/* Which rows stay is decided by values: condition must be known. */
static bool ox_op_compress(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    const onnx_array *keep = x ? ox_need(k, 1, "condition") : NULL;
    int32_t axis = 0, n = 0;
    if (!keep) return false;
    if (!keep->i) return ox_refuse(k, "its condition is no bool");
    if (!ox_attribute(k, "axis"))
        x = ox_flat(x);
    else
        axis = ox_axis(k, ox_int(k, "axis", 0), x->shape.ndim);
    if (axis < 0 || !x) return false;
    int32_t *index = (int32_t *)ox_new(k->c, keep->count, sizeof *index);
    for (int32_t i = 0; index && i < keep->count && i < x->shape.dim[axis]; i++)
        if (keep->i[i]) index[n++] = i;
    if (!index || n == 0) return index && ox_refuse(k, "the result has no elements");
    samba_tensor *y = ox_take_known(k->c, ox_to_last(x, axis), index, SAMBA_SHAPE(n), 0.0f);
    return ox_give(k, 0, ox_type(k, 0), ox_from_last(y, axis));
}
