/* nothing.h - of onnx_import.h: ops on tensors without elements, which exist while tracing only:
   what such an op gives is known from shapes alone. Ops that look at more than shapes have code of
   their own for it (Concat, Split, Reshape ...), or refuse. */

typedef struct ox_extent {
    int32_t ndim;
    int64_t dim[SAMBA_MAX_DIMS];
} ox_extent;

static ox_extent ox_extent_of(const ox_value *v)
{
    ox_extent e;
    memset(&e, 0, sizeof e);
    e.ndim = ox_ndim(v);
    ox_dims(v, e.dim);
    return e;
}

static bool ox_give_filled(ox_node *k, int32_t type, const ox_extent *e, float value)
{
    onnx_array *a = ox_host_array(k->c, type, e->ndim, e->dim);
    for (int64_t n = 0; a && n < a->count; n++) {
        if (a->f)
            a->f[n] = value;
        else
            a->i[n] = (int64_t)value;
    }
    return ox_give_host(k, 0, a);
}

/* The shape to which y and x broadcast. */
static bool ox_widen(ox_node *k, ox_extent *y, const ox_extent *x)
{
    ox_extent r = y->ndim >= x->ndim ? *y : *x;
    for (int32_t d = 0; d < r.ndim; d++) {
        int32_t iy = d - (r.ndim - y->ndim), ix = d - (r.ndim - x->ndim);
        int64_t a = iy < 0 ? 1 : y->dim[iy], b = ix < 0 ? 1 : x->dim[ix];
        if (a != b && a != 1 && b != 1) return ox_refuse(k, "its inputs do not broadcast");
        r.dim[d] = a == 1 ? b : a;
    }
    *y = r;
    return true;
}

/* Element by element: the type is that of the first input, or what the op says. */
static bool ox_map_nothing(ox_node *k)
{
    static const char *const to_bool[]
        = { "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not",
            "And",   "Or",   "Xor",         "IsNaN",   "IsInf" };
    const char *op = k->p->op_type;
    bool chooses = !strcmp(op, "Where"), alone = !strcmp(op, "Clip") || !strcmp(op, "CastLike");
    int32_t type = ox_type(k, chooses ? 1 : 0), n = alone ? 1 : k->n_in;
    ox_extent y = ox_extent_of(k->in[0]);
    for (int32_t i = 1; i < n; i++) {
        if (!ox_has(k, i)) return ox_refuse(k, "input %d is missing", i);
        ox_extent x = ox_extent_of(k->in[i]);
        if (!ox_widen(k, &y, &x)) return false;
    }
    for (size_t i = 0; i < sizeof to_bool / sizeof *to_bool; i++)
        if (!strcmp(op, to_bool[i])) type = OX_BOOL;
    if (!strcmp(op, "CastLike")) type = ox_type(k, 1);
    if (!strcmp(op, "Cast")) type = (int32_t)ox_int(k, "to", 0);
    return ox_give_filled(k, type, &y, 0);
}

static bool ox_turn_nothing(ox_node *k)
{
    int32_t n = 0;
    const int64_t *perm = ox_ints(k, "perm", &n);
    ox_extent x = ox_extent_of(k->in[0]), y = x;
    if (perm && n != x.ndim) return ox_refuse(k, "perm must have one entry for each dimension");
    for (int32_t d = 0; d < x.ndim; d++) {
        int32_t from = perm ? ox_axis(k, perm[d], x.ndim) : x.ndim - 1 - d;
        if (from < 0) return false;
        y.dim[d] = x.dim[from];
    }
    return ox_give_filled(k, ox_type(k, 0), &y, 0);
}

static bool ox_expand_nothing(ox_node *k)
{
    const onnx_array *shape = ox_need(k, 1, "shape");
    ox_extent y = ox_extent_of(k->in[0]), to;
    memset(&to, 0, sizeof to);
    if (!shape) return false;
    if (!shape->i || shape->count > SAMBA_MAX_DIMS) return ox_refuse(k, "to a wrong shape");
    to.ndim = (int32_t)shape->count;
    for (int32_t d = 0; d < to.ndim; d++)
        to.dim[d] = shape->i[d];
    return ox_widen(k, &y, &to) && ox_give_filled(k, ox_type(k, 0), &y, 0);
}

/* Gather with no index, or of no elements, of which no index is in range. */
static bool ox_gather_nothing(ox_node *k)
{
    ox_extent x = ox_extent_of(k->in[0]), at = ox_extent_of(k->in[1]), y;
    int32_t axis = ox_axis(k, ox_int(k, "axis", 0), x.ndim);
    memset(&y, 0, sizeof y);
    if (axis < 0) return false;
    if (x.dim[axis] == 0 && ox_size(k->in[1]) > 0) return ox_refuse(k, "an index is out of range");
    if (x.ndim - 1 + at.ndim > SAMBA_MAX_DIMS)
        return ox_refuse(k, "the result has too many dimensions");
    for (int32_t d = 0; d < axis; d++)
        y.dim[y.ndim++] = x.dim[d];
    for (int32_t d = 0; d < at.ndim; d++)
        y.dim[y.ndim++] = at.dim[d];
    for (int32_t d = axis + 1; d < x.ndim; d++)
        y.dim[y.ndim++] = x.dim[d];
    return ox_give_filled(k, ox_type(k, 0), &y, 0);
}

/* What a sum, a product ... of nothing is: the value that changes no other one. */
static float ox_identity(int32_t kind)
{
    switch (kind) {
    case OX_R_MEAN:
        return NAN;
    case OX_R_MIN:
        return INFINITY;
    case OX_R_MAX:
    case OX_R_LOG_SUM:
    case OX_R_LOG_SUM_EXP:
        return -INFINITY;
    case OX_R_PROD:
        return 1;
    default:
        return 0;
    }
}

static bool ox_reduce_nothing(ox_node *k)
{
    ox_extent x = ox_extent_of(k->in[0]), y;
    ox_axes a;
    bool keep = ox_int(k, "keepdims", 1) != 0, gone[SAMBA_MAX_DIMS] = { false };
    memset(&y, 0, sizeof y);
    if (!ox_reduced_axes(k, x.ndim, k->arg == OX_R_SUM ? 13 : 18, &a)) return false;
    if (a.nothing) return ox_give_value(k, 0, k->in[0]);
    for (int32_t i = 0; i < a.list.ndim; i++)
        gone[a.list.dim[i]] = true;
    for (int32_t d = 0; d < x.ndim; d++) {
        bool reduced = gone[d] || a.all;
        if (!reduced || keep) y.dim[y.ndim++] = reduced ? 1 : x.dim[d];
    }
    float value = ox_identity(k->arg);
    bool number = ox_count(y.ndim, y.dim) == 0 || ox_is_float(ox_type(k, 0)) || value - value == 0;
    if (!number) return ox_refuse(k, "of integers without elements has no value");
    return ox_give_filled(k, ox_type(k, 0), &y, value);
}

/* Products over an inner dimension of 0 are zeros. */
static bool ox_multiply_nothing(ox_node *k)
{
    ox_extent a = ox_extent_of(k->in[0]), b = ox_extent_of(k->in[1]), y, outer;
    if (a.ndim < 2 || b.ndim < 2 || a.dim[a.ndim - 1] != b.dim[b.ndim - 2])
        return ox_refuse(k, "its inputs do not fit");
    y = a;
    outer = b;
    y.ndim -= 2;
    outer.ndim -= 2;
    if (!ox_widen(k, &y, &outer)) return false;
    y.dim[y.ndim++] = a.dim[a.ndim - 2];
    y.dim[y.ndim++] = b.dim[b.ndim - 1];
    return ox_give_filled(k, ox_type(k, 0), &y, 0);
}

/* Slice of a tensor without elements along any axes. */
static bool ox_slice_nothing(ox_node *k)
{
    int32_t n = 0, n_ends = 0, n_axes = 0, n_steps = 0;
    bool fine = true;
    ox_extent y = ox_extent_of(k->in[0]);
    const int64_t *starts = ox_list(k, "starts", 1, 10, &n, &fine);
    const int64_t *ends = fine ? ox_list(k, "ends", 2, 10, &n_ends, &fine) : NULL;
    const int64_t *axes = fine ? ox_list(k, "axes", 3, 10, &n_axes, &fine) : NULL;
    const int64_t *steps
        = fine && k->version >= 10 ? ox_list(k, "steps", 4, 10, &n_steps, &fine) : NULL;
    if (!fine) return false;
    if (n_ends != n || (axes && n_axes != n) || (steps && n_steps != n))
        return ox_refuse(k, "starts, ends, axes and steps must be equally many");
    for (int32_t i = 0; i < n; i++) {
        int32_t axis = ox_axis(k, axes ? axes[i] : i, y.ndim);
        int64_t step = steps ? steps[i] : 1;
        if (axis < 0) return false;
        if (step == 0 || step == INT64_MIN) return ox_refuse(k, "a step cannot be 0");
        if (y.dim[axis]) y.dim[axis] = ox_cut_of(starts[i], ends[i], step, y.dim[axis]).count;
    }
    return ox_give_filled(k, ox_type(k, 0), &y, 0);
}

/* Is an op one of the first rows, which compute each element on its own? */
static bool ox_is_elementwise(const ox_row *row)
{
    for (const ox_row *r = ox_rows; r->run != ox_op_identity; r++)
        if (r == row) return true;
    return false;
}

/* The function of a node that reads a tensor without elements as data; NULL: it does not, or there
   is none for its op. */
typedef bool (*ox_run_fn)(ox_node *k);

static ox_run_fn ox_on_nothing(const ox_node *k, const ox_row *row)
{
    static const struct {
        ox_run_fn run, instead;
        int32_t n_data;
    } rows[] = {
        { ox_op_clip, ox_map_nothing, 1 },       { ox_op_cast_of_any, ox_map_nothing, 1 },
        { ox_op_cast_like, ox_map_nothing, 1 },  { ox_op_softmax, ox_map_nothing, 1 },
        { ox_op_transpose, ox_turn_nothing, 1 }, { ox_op_expand, ox_expand_nothing, 1 },
        { ox_op_reduce, ox_reduce_nothing, 1 },  { ox_op_slice, ox_slice_nothing, 1 },
        { ox_op_gather, ox_gather_nothing, 2 },  { ox_op_mat_mul_of_any, ox_multiply_nothing, 2 },
    };

    ox_run_fn instead = ox_is_elementwise(row) ? ox_map_nothing : NULL;
    int32_t n_data = k->n_in;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].run != row->run) continue;
        instead = rows[i].instead;
        n_data = rows[i].n_data;
    }
    bool nothing = false, whole = ox_has(k, 0) && (n_data < 2 || ox_has(k, 1));
    for (int32_t i = 0; i < n_data && i < k->n_in; i++)
        nothing = nothing || (ox_has(k, i) && ox_is_empty(k->in[i]));
    return nothing && whole ? instead : NULL;
}
