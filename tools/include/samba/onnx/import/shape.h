/* shape.h - of onnx_import.h: shapes, parts, and constants made of shapes. */

/* Has it no elements? Then it is known, and only its shape says something. */
static bool ox_is_empty(const ox_value *v)
{
    return v && !v->t && v->host && v->host->count == 0;
}

/* Is x better moved as bytes: has it none but them, or codes with one scale? */
static bool ox_moves_codes(const ox_value *x)
{
    bool one = x->codes && ox_size(x->scale) == 1 && !x->known;
    return !x->t && !x->host && !x->known && (x->codes ? one : x->bytes != NULL);
}

/* Gives what became of the bytes of x. */
static bool ox_give_moved(ox_node *k, const ox_value *x, samba_tensor *bytes)
{
    if (!x->codes) return ox_give_bytes(k, 0, x->type, bytes);
    ox_value *codes = bytes ? ox_new_value(k->c, x->codes->type) : NULL;
    ox_value *v = codes ? ox_new_value(k->c, x->type) : NULL;
    if (!v) return false;
    codes->bytes = bytes;
    v->codes = codes;
    v->scale = x->scale;
    v->zero = x->zero;
    return ox_give_value(k, 0, v);
}

/* The same elements in another shape. */
static bool ox_give_reshaped(ox_node *k, ox_value *x, int32_t ndim, const int64_t *dim)
{
    if (ndim > SAMBA_MAX_DIMS)
        return ox_refuse(k, "the result has %d dimensions; %d are the most", ndim, SAMBA_MAX_DIMS);
    if (x->host && !x->t && x->known && !x->leaf) {
        if (ox_count(ndim, dim) != x->host->count)
            return ox_refuse(k, "the elements do not fill the new shape");
        onnx_array *a = ox_host_array(k->c, x->type, ndim, dim);
        if (a && a->f) memcpy(a->f, x->host->f, (size_t)a->count * sizeof *a->f);
        if (a && a->i) memcpy(a->i, x->host->i, (size_t)a->count * sizeof *a->i);
        return ox_give_host(k, 0, a);
    }
    if (ox_moves_codes(x)) {
        samba_tensor *bytes = ox_bytes(k->c, x->codes ? x->codes : x);
        return ox_give_moved(k, x, samba_reshape(bytes, ox_shape(ndim, dim)));
    }
    samba_tensor *t = ox_tensor(k->c, x);
    return ox_give(k, 0, x->type, samba_reshape(t, ox_shape(ndim, dim)));
}

/* Numbers that are an attribute in old versions, an input in new ones. NULL, n 0: absent. A
   refusal sets *fine to false. */
static const int64_t *ox_list(ox_node *k, const char *name, int32_t input, int64_t since,
                              int32_t *n, bool *fine)
{
    if (k->version < since) return ox_ints(k, name, n);
    *n = 0;
    if (!ox_has(k, input)) return NULL;
    const onnx_array *a = ox_need(k, input, name);
    bool integers = a && a->i && a->count <= 1 << 20;
    if (a && !integers) ox_refuse(k, "its %s are no integers", name);
    if (!integers) *fine = false;
    if (integers) *n = (int32_t)a->count;
    return integers ? a->i : NULL;
}

static bool ox_op_reshape(ox_node *k)
{
    int32_t n = 0;
    bool fine = true;
    int64_t dim[SAMBA_MAX_DIMS] = { 0 }, rest = 1, unknown = -1;
    const int64_t *to = ox_list(k, "shape", 1, 5, &n, &fine);
    if (!fine || !ox_has(k, 0)) return fine && ox_refuse(k, "its input is missing");
    if (n > SAMBA_MAX_DIMS) return ox_refuse(k, "to %d dimensions; 8 are the most", n);
    bool zeros = ox_int(k, "allowzero", 0) != 0;
    for (int32_t d = 0; d < n; d++) {
        dim[d] = to[d];
        if (dim[d] == 0 && !zeros && d < ox_ndim(k->in[0])) dim[d] = ox_dim(k->in[0], d);
        if (dim[d] == -1)
            unknown = d;
        else if (dim[d] < 0 || dim[d] > OX_MAX_COUNT)
            return ox_refuse(k, "a dimension is wrong");
        else
            rest *= dim[d] < OX_MAX_COUNT ? dim[d] : 1;
        if (rest > OX_MAX_COUNT) return ox_refuse(k, "to more elements than a tensor has");
    }
    if (unknown >= 0 && rest > 0) dim[unknown] = ox_size(k->in[0]) / rest;
    if (unknown >= 0 && rest == 0) return ox_refuse(k, "its -1 cannot be inferred");
    return ox_give_reshaped(k, k->in[0], n, dim);
}

static bool ox_op_flatten(ox_node *k)
{
    int64_t dim[2] = { 1, 1 }, axis = ox_int(k, "axis", 1);
    if (!ox_has(k, 0)) return ox_refuse(k, "its input is missing");
    int32_t ndim = ox_ndim(k->in[0]);
    if (axis < 0) axis += ndim;
    if (axis < 0 || axis > ndim) return ox_refuse(k, "its axis is out of range");
    for (int32_t d = 0; d < ndim; d++)
        dim[d >= axis] *= ox_dim(k->in[0], d);
    return ox_give_reshaped(k, k->in[0], 2, dim);
}

static bool ox_op_squeeze(ox_node *k)
{
    int32_t n = 0, ndim = 0;
    bool fine = true, gone[SAMBA_MAX_DIMS] = { false };
    int64_t dim[SAMBA_MAX_DIMS];
    const int64_t *axes = ox_list(k, "axes", 1, 13, &n, &fine);
    if (!fine || !ox_has(k, 0)) return fine && ox_refuse(k, "its input is missing");
    for (int32_t i = 0; i < n; i++) {
        int32_t axis = ox_axis(k, axes[i], ox_ndim(k->in[0]));
        if (axis < 0) return false;
        if (ox_dim(k->in[0], axis) != 1) return ox_refuse(k, "dimension %d is not 1", axis);
        gone[axis] = true;
    }
    for (int32_t d = 0; d < ox_ndim(k->in[0]); d++) {
        int64_t size = ox_dim(k->in[0], d);
        if (!(axes ? gone[d] : size == 1)) dim[ndim++] = size;
    }
    return ox_give_reshaped(k, k->in[0], ndim, dim);
}

static bool ox_op_unsqueeze(ox_node *k)
{
    int32_t n = 0;
    bool fine = true, made[SAMBA_MAX_DIMS] = { false };
    int64_t dim[SAMBA_MAX_DIMS];
    const int64_t *axes = ox_list(k, "axes", 1, 13, &n, &fine);
    if (!fine || !ox_has(k, 0)) return fine && ox_refuse(k, "its input is missing");
    int32_t ndim = ox_ndim(k->in[0]) + n, next = 0;
    if (ndim > SAMBA_MAX_DIMS) return ox_refuse(k, "the result has more than 8 dimensions");
    for (int32_t i = 0; i < n; i++) {
        int32_t axis = ox_axis(k, axes[i], ndim);
        if (axis < 0) return false;
        if (made[axis]) return ox_refuse(k, "an axis is given twice");
        made[axis] = true;
    }
    for (int32_t d = 0; d < ndim; d++)
        dim[d] = made[d] ? 1 : ox_dim(k->in[0], next++);
    return ox_give_reshaped(k, k->in[0], ndim, dim);
}

static bool ox_op_transpose(ox_node *k)
{
    int32_t n = 0;
    bool bytes = ox_has(k, 0) && ox_moves_codes(k->in[0]);
    ox_value *codes = bytes && k->in[0]->codes ? k->in[0]->codes : NULL;
    samba_tensor *x = bytes ? ox_bytes(k->c, codes ? codes : k->in[0]) : ox_in(k, 0);
    const int64_t *perm = ox_ints(k, "perm", &n);
    samba_shape axes = samba_scalar_shape();
    if (!x) return false;
    axes.ndim = x->shape.ndim;
    if (perm && n != axes.ndim) return ox_refuse(k, "perm must have one entry for each dimension");
    for (int32_t d = 0; d < axes.ndim; d++) {
        axes.dim[d] = perm ? ox_axis(k, perm[d], axes.ndim) : axes.ndim - 1 - d;
        if (axes.dim[d] < 0) return false;
    }
    x = axes.ndim ? samba_permute(x, axes) : x;
    return bytes ? ox_give_moved(k, k->in[0], x) : ox_give(k, 0, ox_type(k, 0), x);
}

/* ---- Joining and cutting ---- */

/* Lists of numbers that are known, such as the parts of a shape. */
static bool ox_join_lists(ox_node *k)
{
    int64_t total = 0, at = 0;
    const onnx_array *a = NULL;
    for (int32_t i = 0; i < k->n_in; i++) {
        a = ox_has(k, i) ? ox_known_array(k->c, k->in[i]) : NULL;
        if (!a) return ox_refuse(k, "an input is missing");
        total += a->count;
    }
    onnx_array *y = a ? ox_host_array(k->c, a->type, 1, &total) : NULL;
    for (int32_t i = 0; i < k->n_in && y; i++) {
        a = k->in[i]->host;
        for (int64_t n = 0; n < a->count && at < total; n++, at++) {
            if (y->f && a->f) y->f[at] = a->f[n];
            if (y->i && a->i) y->i[at] = a->i[n];
        }
    }
    return ox_give_host(k, 0, y);
}

static bool ox_is_list(const ox_value *v)
{
    return v && v->known && !v->leaf && !v->sequence && ox_ndim(v) == 1;
}

/* Tensors along an axis; samba_cat chains where there are many. */
static samba_tensor *ox_cat(ox_node *k, samba_tensor **in, int32_t n, int64_t axis, bool stacks)
{
    if (n < 1) ox_refuse(k, "of nothing but tensors without elements is not offered");
    if (n < 1 || !in[0]) return NULL;
    int32_t at = ox_axis(k, axis, in[0]->shape.ndim + stacks);
    if (at < 0) return NULL;
    return stacks ? samba_stack(in, n, at) : n == 1 ? in[0] : samba_cat(in, n, at);
}

static bool ox_op_concat(ox_node *k)
{
    bool lists = k->n_in > 0;
    samba_tensor **in = (samba_tensor **)ox_new(k->c, k->n_in, sizeof *in);
    int32_t n = 0;
    for (int32_t i = 0; i < k->n_in; i++)
        lists = lists && ox_is_list(k->in[i]);
    if (lists) return ox_join_lists(k);
    for (int32_t i = 0; in && i < k->n_in; i++) {
        if (ox_has(k, i) && !k->in[i]->t && k->in[i]->host && k->in[i]->host->count == 0) continue;
        in[n] = ox_in(k, i);
        if (!in[n++]) return false;
    }
    return in && ox_give(k, 0, ox_type(k, 0), ox_cat(k, in, n, ox_int(k, "axis", 1), false));
}

/* An axis of no elements: each part has none. */
static bool ox_split_nothing(ox_node *k)
{
    int32_t axis = ox_axis(k, ox_int(k, "axis", 0), ox_ndim(k->in[0]));
    if (axis < 0) return false;
    if (ox_dim(k->in[0], axis)) return ox_refuse(k, "of a tensor without elements is not offered");
    for (int32_t o = 0; o < k->n_out; o++)
        if (!ox_give_value(k, o, k->in[0])) return false;
    return true;
}

static bool ox_op_split(ox_node *k)
{
    int32_t n = 0, begin = 0;
    bool fine = true;
    if (ox_has(k, 0) && ox_is_empty(k->in[0])) return ox_split_nothing(k);
    samba_tensor *x = ox_in(k, 0);
    const int64_t *sizes = ox_list(k, "split", 1, 13, &n, &fine);
    int32_t axis = x && fine ? ox_axis(k, ox_int(k, "axis", 0), x->shape.ndim) : -1;
    if (axis < 0) return false;
    int32_t whole = x->shape.dim[axis], parts = k->n_out > 0 ? k->n_out : 1;
    if (sizes && n != k->n_out) return ox_refuse(k, "it has %d sizes, but %d outputs", n, k->n_out);
    for (int32_t o = 0; o < k->n_out; o++) {
        int64_t size = sizes ? sizes[o] : (whole + parts - 1) / parts;
        if (!sizes && size > whole - begin) size = whole - begin;
        if (size < 1) return ox_refuse(k, "a part has no elements");
        if (size > whole - begin) return ox_refuse(k, "the parts are larger than the whole");
        samba_tensor *part = samba_slice(x, axis, begin, begin + (int32_t)size, 1);
        if (!ox_give(k, o, ox_type(k, 0), part)) return false;
        begin += (int32_t)size;
    }
    return true;
}

/* begin, begin + step ... of n elements: count of them, by the rules of Slice. */
typedef struct ox_cut {
    int64_t begin, count, step;
} ox_cut;

static ox_cut ox_cut_of(int64_t begin, int64_t end, int64_t step, int64_t n)
{
    ox_cut c = { begin, 0, step };
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    if (begin < 0) begin = begin < -n ? low : begin + n;
    if (end < 0) end = end < -n ? (step > 0 ? 0 : -1) : end + n;
    c.begin = begin < low ? low : begin > high ? high : begin;
    if (step < 0 && c.begin < 0) {
        c.begin = 0;
        end = 0;
    }
    end = end < low ? low : end > high + (step < 0) ? high + (step < 0) : end;
    if (step > 0 && end > c.begin) c.count = (end - c.begin - 1) / step + 1;
    if (step < 0 && end < c.begin) c.count = (c.begin - end - 1) / -step + 1;
    return c;
}

static samba_tensor *ox_cut_axis(ox_import *c, samba_tensor *x, int32_t axis, ox_cut cut)
{
    if (!x) return NULL;
    if (cut.step > 0 && cut.step <= INT32_MAX) {
        int64_t end = cut.begin + (cut.count - 1) * cut.step + 1;
        return samba_slice(x, axis, (int32_t)cut.begin, (int32_t)end, (int32_t)cut.step);
    }
    int32_t *index = (int32_t *)ox_new(c, cut.count, sizeof *index);
    for (int64_t i = 0; index && i < cut.count; i++)
        index[i] = (int32_t)(cut.begin + i * cut.step);
    x = index ? ox_take_known(c, ox_to_last(x, axis), index, SAMBA_SHAPE((int32_t)cut.count), 0)
              : NULL;
    return ox_from_last(x, axis);
}

static bool ox_slice_list(ox_node *k, const onnx_array *a, ox_cut cut)
{
    onnx_array *y = ox_host_array(k->c, a->type, 1, &cut.count);
    for (int64_t n = 0; y && n < cut.count; n++) {
        if (y->f)
            y->f[n] = a->f[cut.begin + n * cut.step];
        else
            y->i[n] = a->i[cut.begin + n * cut.step];
    }
    return ox_give_host(k, 0, y);
}

static bool ox_op_slice(ox_node *k)
{
    int32_t n = 0, n_ends = 0, n_axes = 0, n_steps = 0;
    int64_t dim[SAMBA_MAX_DIMS];
    bool fine = true, nothing = false;
    const int64_t *starts = ox_list(k, "starts", 1, 10, &n, &fine);
    const int64_t *ends = fine ? ox_list(k, "ends", 2, 10, &n_ends, &fine) : NULL;
    const int64_t *axes = fine ? ox_list(k, "axes", 3, 10, &n_axes, &fine) : NULL;
    const int64_t *steps
        = fine && k->version >= 10 ? ox_list(k, "steps", 4, 10, &n_steps, &fine) : NULL;
    if (!fine || !ox_has(k, 0)) return fine && ox_refuse(k, "its input is missing");
    if (n_ends != n || (axes && n_axes != n) || (steps && n_steps != n))
        return ox_refuse(k, "starts, ends, axes and steps must be equally many");
    samba_tensor *x = ox_is_list(k->in[0]) ? NULL : ox_in(k, 0);
    const onnx_array *list = x ? NULL : ox_known_array(k->c, k->in[0]);
    if (!x && !list) return false;
    ox_dims(k->in[0], dim);
    for (int32_t i = 0; i < n; i++) {
        int32_t axis = ox_axis(k, axes ? axes[i] : i, ox_ndim(k->in[0]));
        int64_t step = steps ? steps[i] : 1;
        if (axis < 0) return false;
        if (step == 0 || step == INT64_MIN) return ox_refuse(k, "a step cannot be 0");
        ox_cut cut = ox_cut_of(starts[i], ends[i], step, dim[axis]);
        if (list) return n == 1 ? ox_slice_list(k, list, cut) : ox_refuse(k, "two cuts of an axis");
        dim[axis] = cut.count;
        nothing = nothing || cut.count == 0;
        if (!nothing) x = ox_cut_axis(k->c, x, axis, cut);
        if (!x) return false;
    }
    if (nothing) return ox_give_host(k, 0, ox_host_array(k->c, ox_type(k, 0), x->shape.ndim, dim));
    return list ? ox_give_value(k, 0, k->in[0]) : ox_give(k, 0, ox_type(k, 0), x);
}

/* ---- Padding, repeating, stretching ---- */

/* Which of n elements stands at a place before, among or behind them; -1: none. */
enum { OX_PAD_CONSTANT, OX_PAD_EDGE, OX_PAD_REFLECT, OX_PAD_WRAP };

static int32_t ox_padded(int64_t at, int64_t n, int mode)
{
    if (at >= 0 && at < n) return (int32_t)at;
    if (mode == OX_PAD_CONSTANT) return -1;
    if (mode == OX_PAD_EDGE || n == 1) return at < 0 ? 0 : (int32_t)(n - 1);
    if (mode == OX_PAD_WRAP) return (int32_t)((at % n + n) % n);
    int64_t period = 2 * (n - 1);
    at = (at % period + period) % period;
    return (int32_t)(at < n ? at : period - at);
}

/* A negative padding cuts. What is left is what the other side repeats or mirrors. */
static samba_tensor *ox_pad_axis(ox_node *k, samba_tensor *x, int32_t axis, int64_t before,
                                 int64_t after, int mode, int32_t word)
{
    if (!x || (!before && !after)) return x;
    int64_t n = x->shape.dim[axis], m = n + before + after;
    int64_t first = before < 0 ? -before : 0, left = n - first + (after < 0 ? after : 0);
    bool made_of_nothing = left <= 0 && mode != OX_PAD_CONSTANT;
    if (m <= 0 || made_of_nothing) {
        ox_refuse(k,
                  m <= 0 ? "the result has no elements"
                         : "its negative paddings leave no elements to repeat");
        return NULL;
    }
    int32_t *index = (int32_t *)ox_new(k->c, m, sizeof *index);
    if (!index) return NULL;

    for (int64_t i = 0; i < m; i++) {
        int32_t at = ox_padded(i - before - first, left, mode);
        index[i] = at < 0 ? -1 : at + (int32_t)first;
    }
    samba_tensor *in[2];
    in[0] = ox_to_last(x, axis);
    in[1] = ox_constant(k->c, SAMBA_I32, SAMBA_SHAPE((int32_t)m), index);
    samba_tensor *y = in[0] && in[1] ? samba_apply(k->c->s, "onnx_take", in, 2, &word, 1) : NULL;
    return ox_from_last(y, axis);
}

/* The value that a constant padding has, as the bits of an element. */
static bool ox_pad_word(ox_node *k, samba_dtype carrier, int32_t *word)
{
    if (k->version >= 11 && ox_has(k, 2) && !k->in[2]->known) {
        *word = 0;
        return true;
    }
    double value = 0;
    if (k->version < 11) {
        value = (double)ox_float(k, "value", 0.0f);
    } else if (ox_has(k, 2)) {
        const onnx_array *a = ox_need(k, 2, "padding value");
        if (!a) return false;
        if (a->count > 0) value = ox_number(a, 0);
    }
    *word = carrier == SAMBA_F32 ? samba_float_attr((float)value) : (int32_t)value;
    return true;
}

static bool ox_op_pad(ox_node *k)
{
    int32_t n = 0, n_axes = 0, word = 0;
    bool fine = true;
    samba_tensor *x = ox_in(k, 0);
    const int64_t *pads
        = k->version == 1 ? ox_ints(k, "paddings", &n) : ox_list(k, "pads", 1, 11, &n, &fine);
    const int64_t *axes
        = fine && k->version >= 18 ? ox_list(k, "axes", 3, 18, &n_axes, &fine) : NULL;
    if (!x || !fine || !ox_pad_word(k, x->dtype, &word)) return false;
    bool computed = k->version >= 11 && ox_has(k, 2) && !k->in[2]->known;
    samba_tensor *inside = computed ? ox_full(k->c, x->shape, 1.0f) : NULL; /* padded: false */
    if (inside) inside = samba_cast(inside, SAMBA_BOOL);
    int32_t each = n / 2;
    int mode = ox_text_is(k, "mode", "constant", "constant") ? OX_PAD_CONSTANT
        : ox_text_is(k, "mode", "constant", "edge")          ? OX_PAD_EDGE
        : ox_text_is(k, "mode", "constant", "wrap")          ? OX_PAD_WRAP
                                                             : OX_PAD_REFLECT;
    if (each != (axes ? n_axes : x->shape.ndim) || n % 2)
        return ox_refuse(k, "needs two paddings for each axis");
    for (int32_t i = 0; i < each; i++) {
        int32_t axis = ox_axis(k, axes ? axes[i] : i, x->shape.ndim);
        int64_t before = pads[i], after = pads[i + each], limit = 1 << 20;
        if (axis < 0) return false;
        if (before > limit || after > limit || before < -limit || after < -limit)
            return ox_refuse(k, "a padding is too large");
        x = ox_pad_axis(k, x, axis, before, after, mode, word);
        if (computed) inside = ox_pad_axis(k, inside, axis, before, after, mode, 0);
        if (!x || (computed && !inside)) return false;
    }
    if (computed) x = ox_select(inside, x, samba_reshape(ox_in(k, 2), SAMBA_SCALAR));
    return ox_give(k, 0, ox_type(k, 0), x);
}

static bool ox_op_tile(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    const onnx_array *repeats = x ? ox_need(k, 1, "repeats") : NULL;
    if (!repeats) return false;
    if (!repeats->i || repeats->count != x->shape.ndim)
        return ox_refuse(k, "needs one count for each axis");
    for (int32_t d = 0; x && d < repeats->count; d++) {
        int64_t n = x->shape.dim[d], times = repeats->i[d];
        if (times == 1) continue;
        if (times < 1 || times > OX_MAX_COUNT / n)
            return ox_refuse(k, "a count is wrong, or the result has no elements");
        x = ox_pad_axis(k, x, d, 0, (times - 1) * n, OX_PAD_WRAP, 0);
    }
    return ox_give(k, 0, ox_type(k, 0), x);
}

static bool ox_op_expand(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    const onnx_array *shape = x ? ox_need(k, 1, "shape") : NULL;
    samba_shape y;
    if (!shape) return false;
    if (!shape->i || shape->count > SAMBA_MAX_DIMS) return ox_refuse(k, "to a wrong shape");
    samba_shape to = ox_shape((int32_t)shape->count, shape->i);
    if (!ox_common(&x->shape, &to, &y)) return ox_refuse(k, "the shapes do not broadcast");
    return ox_give(k, 0, ox_type(k, 0), ox_stretch(x, &y));
}

/* ---- What is known of shapes ---- */

static bool ox_op_shape(ox_node *k)
{
    if (!ox_has(k, 0) || k->in[0]->sequence) return ox_refuse(k, "needs a tensor");
    int64_t n = ox_ndim(k->in[0]), begin = ox_int(k, "start", 0), end = ox_int(k, "end", n);
    begin = begin < -n ? 0 : begin < 0 ? begin + n : begin > n ? n : begin;
    end = end < -n ? 0 : end < 0 ? end + n : end > n ? n : end;
    int64_t count = end > begin ? end - begin : 0;
    onnx_array *y = ox_host_array(k->c, OX_INT64, 1, &count);
    for (int64_t d = 0; y && d < count; d++)
        y->i[d] = ox_dim(k->in[0], (int32_t)(begin + d));
    return ox_give_host(k, 0, y);
}

static bool ox_op_size(ox_node *k)
{
    if (!ox_has(k, 0) || k->in[0]->sequence) return ox_refuse(k, "needs a tensor");
    onnx_array *y = ox_host_array(k->c, OX_INT64, 0, NULL);
    if (y) y->i[0] = ox_size(k->in[0]);
    return ox_give_host(k, 0, y);
}

static onnx_array *ox_attribute_tensor(ox_node *k, const Onnx__TensorProto *t)
{
    ox_value *v = ox_attribute_value(k->c, t);
    return v ? v->host : NULL;
}

static bool ox_op_constant(ox_node *k)
{
    const Onnx__AttributeProto *a;
    onnx_array *y = NULL;
    if ((a = ox_attribute(k, "value")) && a->t)
        return ox_give_host(k, 0, ox_attribute_tensor(k, a->t));
    if ((a = ox_attribute(k, "value_float"))) {
        y = ox_host_array(k->c, OX_FLOAT, 0, NULL);
        if (y) y->f[0] = a->f;
    } else if ((a = ox_attribute(k, "value_int"))) {
        y = ox_host_array(k->c, OX_INT64, 0, NULL);
        if (y) y->i[0] = a->i;
    } else if ((a = ox_attribute(k, "value_floats"))) {
        int64_t n = (int64_t)a->n_floats;
        y = ox_host_array(k->c, OX_FLOAT, 1, &n);
        if (y && n) memcpy(y->f, a->floats, (size_t)n * sizeof *y->f);
    } else if ((a = ox_attribute(k, "value_ints"))) {
        int64_t n = (int64_t)a->n_ints;
        y = ox_host_array(k->c, OX_INT64, 1, &n);
        if (y && n) memcpy(y->i, a->ints, (size_t)n * sizeof *y->i);
    } else
        return ox_refuse(k, "is of strings or sparse");
    return ox_give_host(k, 0, y);
}

static bool ox_op_constant_of_shape(ox_node *k)
{
    const onnx_array *shape = ox_need(k, 0, "shape");
    const Onnx__AttributeProto *a = ox_attribute(k, "value");
    onnx_array *value = NULL;
    if (!shape) return false;
    if (a && a->t && !(value = ox_attribute_tensor(k, a->t))) return false;
    if (!shape->i || shape->count > SAMBA_MAX_DIMS) return ox_refuse(k, "of a wrong shape");
    onnx_array *y
        = ox_host_array(k->c, value ? value->type : OX_FLOAT, (int32_t)shape->count, shape->i);
    for (int64_t n = 0; y && value && value->count && n < y->count; n++) {
        if (y->f)
            y->f[n] = value->f[0];
        else
            y->i[n] = value->i[0];
    }
    return ox_give_host(k, 0, y);
}

static bool ox_op_range(ox_node *k)
{
    const onnx_array *in[3];
    static const char *const what[3] = { "start", "limit", "delta" };
    for (int i = 0; i < 3; i++) {
        in[i] = ox_need(k, i, what[i]);
        if (!in[i]) return false;
        if (in[i]->count < 1) return ox_refuse(k, "its %s has no value", what[i]);
        if (in[i]->type != in[0]->type) return ox_refuse(k, "its inputs differ in type");
    }
    double first = ox_number(in[0], 0), step = ox_number(in[2], 0);
    double span = step != 0 ? ceil((ox_number(in[1], 0) - first) / step) : -1;
    if (!(span >= 0 && span <= OX_MAX_COUNT)) span = span < 0 && step != 0 ? 0 : -1;
    if (span < 0) return ox_refuse(k, "never ends, or is too long");
    int64_t n = (int64_t)span;
    onnx_array *y = ox_host_array(k->c, in[0]->type, 1, &n);
    for (int64_t j = 0; y && j < n; j++) {
        if (y->f)
            y->f[j] = (float)(first + (double)j * step);
        else
            y->i[j] = (int64_t)((uint64_t)in[0]->i[0] + (uint64_t)j * (uint64_t)in[2]->i[0]);
    }
    return ox_give_host(k, 0, y);
}

static bool ox_op_eye_like(ox_node *k)
{
    if (!ox_has(k, 0) || ox_ndim(k->in[0]) != 2) return ox_refuse(k, "needs a matrix");
    int64_t dim[2] = { ox_dim(k->in[0], 0), ox_dim(k->in[0], 1) }, shift = ox_int(k, "k", 0);
    onnx_array *y = ox_host_array(k->c, (int32_t)ox_int(k, "dtype", ox_type(k, 0)), 2, dim);
    for (int64_t r = 0; y && r < dim[0]; r++) {
        if (shift < -r || shift >= dim[1] - r) continue;
        if (y->f)
            y->f[r * dim[1] + r + shift] = 1.0f;
        else
            y->i[r * dim[1] + r + shift] = 1;
    }
    return ox_give_host(k, 0, y);
}

/* A zero of the type that carries x. */
static samba_tensor *ox_zero_like(ox_import *c, const samba_tensor *x)
{
    int32_t zero = 0;
    return x ? ox_constant(c, x->dtype, SAMBA_SCALAR, &zero) : NULL;
}

static bool ox_op_trilu(ox_node *k)
{
    if (ox_has(k, 0) && ox_is_empty(k->in[0])) return ox_give_value(k, 0, k->in[0]);
    samba_tensor *x = ox_in(k, 0), *shift = ox_has(k, 1) ? ox_in(k, 1) : ox_i32_scalar(k->c, 0);
    if (!x || !shift) return false;
    int32_t n = x->shape.ndim;
    if (n < 2) return ox_refuse(k, "needs a matrix");
    int32_t rows = x->shape.dim[n - 2], columns = x->shape.dim[n - 1];
    bool upper = ox_int(k, "upper", 1) != 0;
    int32_t *far = (int32_t *)ox_new(k->c, (int64_t)rows * columns, sizeof *far);
    for (int32_t r = 0; far && r < rows; r++)
        for (int32_t c = 0; c < columns; c++)
            far[(int64_t)r * columns + c] = c - r;
    samba_shape matrix = SAMBA_SHAPE(rows, columns);
    samba_tensor *above = far ? ox_constant(k->c, SAMBA_I32, matrix, far) : NULL;
    samba_tensor *keep
        = ox_integers(above, samba_reshape(shift, SAMBA_SCALAR), upper ? OX_GE : OX_LE, OX_INT32);
    keep = keep ? samba_cast(keep, SAMBA_BOOL) : NULL;
    return ox_give(k, 0, ox_type(k, 0), ox_select(keep, x, ox_zero_like(k->c, x)));
}

/* ---- Blocks of an image ---- */

static bool ox_op_depth_to_space(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    int32_t b = (int32_t)ox_int(k, "blocksize", 0);
    if (!x) return false;
    if (x->shape.ndim != 4 || b < 1 || b > 4096 || x->shape.dim[1] % (b * b))
        return ox_refuse(k, "needs (N,C,H,W) and a blocksize whose square divides C");
    int32_t n = x->shape.dim[0], c = x->shape.dim[1] / (b * b), h = x->shape.dim[2],
            w = x->shape.dim[3];
    bool dcr = ox_text_is(k, "mode", "DCR", "DCR");
    samba_tensor *y
        = samba_reshape(x, dcr ? SAMBA_SHAPE(n, b, b, c, h, w) : SAMBA_SHAPE(n, c, b, b, h, w));
    y = samba_permute(y, dcr ? SAMBA_AXES(0, 3, 4, 1, 5, 2) : SAMBA_AXES(0, 1, 4, 2, 5, 3));
    return ox_give(k, 0, ox_type(k, 0), samba_reshape(y, SAMBA_SHAPE(n, c, h * b, w * b)));
}

static bool ox_op_space_to_depth(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    int32_t b = (int32_t)ox_int(k, "blocksize", 0);
    if (!x) return false;
    if (x->shape.ndim != 4 || b < 1 || x->shape.dim[2] % b || x->shape.dim[3] % b)
        return ox_refuse(k, "needs (N,C,H,W) and a blocksize that divides H and W");
    int32_t n = x->shape.dim[0], c = x->shape.dim[1], h = x->shape.dim[2] / b,
            w = x->shape.dim[3] / b;
    samba_tensor *y = samba_reshape(x, SAMBA_SHAPE(n, c, h, b, w, b));
    bool crd = k->version >= 28 && ox_text_is(k, "mode", "DCR", "CRD");
    y = samba_permute(y, crd ? SAMBA_AXES(0, 1, 3, 5, 2, 4) : SAMBA_AXES(0, 3, 5, 1, 2, 4));
    return ox_give(k, 0, ox_type(k, 0), samba_reshape(y, SAMBA_SHAPE(n, c * b * b, h, w)));
}

/* Each axis is cut or filled up with zeros on both sides; of an odd difference the smaller half is
   in front. */
static bool ox_op_center_crop_pad(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    const onnx_array *sizes = x ? ox_need(k, 1, "shape") : NULL;
    int32_t n = 0;
    const int64_t *axes = ox_ints(k, "axes", &n);
    if (!sizes) return false;
    if (!sizes->i || sizes->count != (axes ? n : x->shape.ndim))
        return ox_refuse(k, "needs one size for each axis");
    for (int32_t i = 0; i < sizes->count; i++) {
        int32_t axis = ox_axis(k, axes ? axes[i] : i, x->shape.ndim);
        if (axis < 0) return false;
        if (sizes->i[i] < 1 || sizes->i[i] > 1 << 24) return ox_refuse(k, "a size is out of range");
        int64_t more = sizes->i[i] - x->shape.dim[axis], half = more / 2;
        x = ox_pad_axis(k, x, axis, half, more - half, OX_PAD_CONSTANT, 0);
        if (!x) return false;
    }
    return ox_give(k, 0, ox_type(k, 0), x);
}
