/* sequence.h - of onnx_import.h: sequences and optionals, which exist while tracing only. */

enum { OX_MAX_TURNS = 4096 }; /* of a loop, parts of a sequence */

static ox_value *ox_new_sequence(ox_import *c, int32_t type, int32_t n)
{
    ox_value *v = ox_new_value(c, type);
    if (!v) return NULL;
    v->sequence = true;
    v->n = n;
    v->item = (ox_value **)ox_new(c, n, sizeof *v->item);
    return v->item ? v : NULL;
}

static ox_value *ox_sequence(ox_node *k, int32_t i)
{
    if (ox_has(k, i) && k->in[i]->sequence) return k->in[i];
    ox_refuse(k, "input %d must be a sequence", i);
    return NULL;
}

/* What may be an element: a tensor. */
static ox_value *ox_element(ox_node *k, int32_t i)
{
    if (ox_has(k, i) && !k->in[i]->sequence && !k->in[i]->none) return k->in[i];
    ox_refuse(k, "input %d must be a tensor", i);
    return NULL;
}

static bool ox_op_sequence_empty(ox_node *k)
{
    return ox_give_value(k, 0, ox_new_sequence(k->c, (int32_t)ox_int(k, "dtype", OX_FLOAT), 0));
}

static bool ox_op_sequence_construct(ox_node *k)
{
    ox_value *v = ox_new_sequence(k->c, ox_type(k, 0), k->n_in);
    for (int32_t i = 0; v && i < k->n_in; i++)
        if (!(v->item[i] = ox_element(k, i))) return false;
    return ox_give_value(k, 0, v);
}

/* A place in a sequence of n (negative: from the end), or `otherwise`; -1 after a refusal. */
static int32_t ox_position(ox_node *k, int32_t input, int32_t n, int32_t otherwise)
{
    if (!ox_has(k, input)) return otherwise;
    const onnx_array *a = ox_need(k, input, "position");
    if (!a) return -1;
    int64_t at = a->i && a->count ? a->i[0] : INT64_MIN;
    if (at < 0 && at >= -n) at += n;
    if (at >= 0 && at < n) return (int32_t)at;
    ox_refuse(k, "its position is out of range");
    return -1;
}

static bool ox_op_sequence_insert(ox_node *k)
{
    ox_value *s = ox_sequence(k, 0), *x = s ? ox_element(k, 1) : NULL, *y;
    if (!x) return false;
    int32_t at = ox_position(k, 2, s->n + 1, s->n);
    if (at >= 0 && ox_has(k, 2) && k->in[2]->host && k->in[2]->host->i[0] < 0) at--;
    if (at < 0 || !(y = ox_new_sequence(k->c, s->type, s->n + 1))) return false;
    for (int32_t i = 0; i < y->n; i++)
        y->item[i] = i == at ? x : s->item[i - (i > at)];
    return ox_give_value(k, 0, y);
}

static bool ox_op_sequence_erase(ox_node *k)
{
    ox_value *s = ox_sequence(k, 0), *y;
    int32_t at = s ? ox_position(k, 1, s->n, s->n - 1) : -1;
    if (at < 0 || !(y = ox_new_sequence(k->c, s->type, s->n - 1))) return false;
    for (int32_t i = 0; i < y->n; i++)
        y->item[i] = s->item[i + (i >= at)];
    return ox_give_value(k, 0, y);
}

static bool ox_op_sequence_at(ox_node *k)
{
    ox_value *s = ox_sequence(k, 0);
    int32_t at = s ? ox_position(k, 1, s->n, -1) : -1;
    return at >= 0 && ox_give_value(k, 0, s->item[at]);
}

static bool ox_op_sequence_length(ox_node *k)
{
    ox_value *s = ox_sequence(k, 0);
    onnx_array *y = s ? ox_host_array(k->c, OX_INT64, 0, NULL) : NULL;
    if (y) y->i[0] = s->n;
    return ox_give_host(k, 0, y);
}

static bool ox_op_concat_from_sequence(ox_node *k)
{
    ox_value *s = ox_sequence(k, 0);
    samba_tensor **in = s ? (samba_tensor **)ox_new(k->c, s->n, sizeof *in) : NULL;
    for (int32_t i = 0; in && i < s->n; i++)
        if (!(in[i] = ox_tensor(k->c, s->item[i]))) return false;
    bool stacks = ox_int(k, "new_axis", 0) != 0;
    return in && ox_give(k, 0, s->type, ox_cat(k, in, s->n, ox_int(k, "axis", 0), stacks));
}

/* Parts of a tensor without elements, along an axis of none: each is like the whole. */
static bool ox_split_empty(ox_node *k)
{
    const onnx_array *split = ox_need(k, 1, "split");
    int32_t axis = split ? ox_axis(k, ox_int(k, "axis", 0), ox_ndim(k->in[0])) : -1;
    if (axis < 0) return false;
    if (ox_dim(k->in[0], axis) || split->ndim != 1 || split->count > OX_MAX_TURNS)
        return ox_refuse(k, "of a tensor without elements is not offered");
    ox_value *y = ox_new_sequence(k->c, ox_type(k, 0), (int32_t)split->count);
    for (int32_t i = 0; y && i < y->n; i++) {
        if (!split->i || split->i[i]) return ox_refuse(k, "the parts do not fit the whole");
        y->item[i] = k->in[0];
    }
    return ox_give_value(k, 0, y);
}

static bool ox_op_split_to_sequence(ox_node *k)
{
    if (ox_has(k, 0) && ox_is_empty(k->in[0])) return ox_split_empty(k);
    samba_tensor *x = ox_in(k, 0);
    const onnx_array *split = x && ox_has(k, 1) ? ox_need(k, 1, "split") : NULL;
    int32_t axis = x && samba_ok(k->c->s) ? ox_axis(k, ox_int(k, "axis", 0), x->shape.ndim) : -1;
    if (axis < 0) return false;
    int32_t whole = x->shape.dim[axis], begin = 0;
    bool each = split && split->ndim == 0, keep = split || ox_int(k, "keepdims", 1) != 0;
    int64_t size = split && split->i && split->count ? split->i[0] : 1;
    if (size < 1 || (split && !split->i)) return ox_refuse(k, "a part has no elements");
    int64_t n = split && !each ? split->count : (whole - 1) / size + 1;
    ox_value *y = n <= whole ? ox_new_sequence(k->c, ox_type(k, 0), (int32_t)n) : NULL;
    for (int32_t i = 0; y && i < n; i++) {
        int64_t more = split && !each ? split->i[i] : size, rest = whole - begin;
        if (more > rest && (!split || each)) more = rest;
        if (more < 1 || more > rest) return ox_refuse(k, "the parts do not fit the whole");
        int64_t end = begin + more;
        samba_tensor *part = samba_slice(x, axis, begin, (int32_t)end, 1);
        ox_value *v = ox_new_value(k->c, ox_type(k, 0));
        if (!part || !v) return false;
        v->t = keep ? part : samba_squeeze(part, axis);
        v->known = k->in[0]->known;
        v->from = k->in[0]->from;
        y->item[i] = v;
        begin = (int32_t)end;
    }
    return y ? ox_give_value(k, 0, y) : ox_refuse(k, "into more parts than there are elements");
}

/* ---- Optionals: what is in them, or nothing ---- */

static bool ox_op_optional(ox_node *k)
{
    if (ox_has(k, 0)) return ox_give_value(k, 0, k->in[0]);
    ox_value *v = ox_new_value(k->c, OX_FLOAT);
    if (v) v->none = true;
    return ox_give_value(k, 0, v);
}

static bool ox_op_optional_has_element(ox_node *k)
{
    onnx_array *y = ox_host_array(k->c, OX_BOOL, 0, NULL);
    if (y) y->i[0] = ox_has(k, 0) && !k->in[0]->none;
    return ox_give_host(k, 0, y);
}

static bool ox_op_optional_get_element(ox_node *k)
{
    if (!ox_has(k, 0) || k->in[0]->none) return ox_refuse(k, "of an optional that is empty");
    return ox_give_value(k, 0, k->in[0]);
}
