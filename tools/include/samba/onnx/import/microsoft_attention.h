/* microsoft_attention.h - of onnx_import.h: attention as com.microsoft has it, of BERT (Attention,
   MultiHeadAttention) and of Llama (GroupQueryAttention, RotaryEmbedding). */

/* What one attention is of: heads (B,H,S,D), (B,h,T,D), (B,h,T,E), and what changes the scores. */
typedef struct ox_attend {
    samba_tensor *q, *k, *v;
    samba_tensor *added[2]; /* to the scores; NULL: nothing */
    samba_tensor *visible;  /* i32, 1 where a query sees a key; NULL: everywhere */
    samba_tensor *sink;     /* (1,H,1,1): a score more, whose value is 0; NULL: none */
    float scale, cap;       /* 0: 1 / sqrt(D); no limit */
} ox_attend;

/* (B,S,H E). */
static samba_tensor *ox_attended(ox_node *k, const ox_attend *a)
{
    if (!a->q || !a->k || !a->v) return NULL;
    int32_t heads = a->q->shape.dim[1], keys = a->k->shape.dim[2];
    samba_tensor *key = ox_for_heads(k, a->k, heads), *value = ox_for_heads(k, a->v, heads);
    float scale = a->scale != 0.0f ? a->scale : 1.0f / sqrtf((float)a->q->shape.dim[3]);
    samba_tensor *turned = key ? samba_permute(key, SAMBA_AXES(0, 1, 3, 2)) : NULL;
    samba_tensor *scores = samba_scale(samba_matmul(a->q, turned), scale);
    if (a->cap != 0.0f)
        scores = samba_scale(samba_tanh(samba_scale(scores, 1.0f / a->cap)), a->cap);
    for (int i = 0; i < 2; i++)
        if (a->added[i]) scores = samba_add(scores, a->added[i]);
    samba_tensor *hidden = samba_number(k->c->s, -INFINITY);
    if (a->visible) scores = ox_select(samba_cast(a->visible, SAMBA_BOOL), scores, hidden);
    if (!scores || !value) return NULL;

    samba_tensor *weights;
    if (a->sink) {
        samba_shape column = scores->shape;
        column.dim[3] = 1;
        samba_tensor *both[2] = { scores, samba_expand(a->sink, column) };
        weights = both[1] ? samba_softmax(samba_cat(both, 2, 3), 3) : NULL;
        weights = weights ? samba_slice(weights, 3, 0, keys, 1) : NULL;
    } else {
        weights = ox_attention_weights(scores, a->visible);
    }
    samba_tensor *y = samba_matmul(weights, value);
    if (!y) return NULL;
    samba_shape s = y->shape;
    y = samba_permute(y, SAMBA_AXES(0, 2, 1, 3));
    return y ? samba_reshape(y, SAMBA_SHAPE(s.dim[0], s.dim[2], s.dim[1] * s.dim[3])) : NULL;
}

/* x (B,S,H D) as (B,H,S,D); NULL after a refusal. */
static samba_tensor *ox_split_heads(ox_node *k, samba_tensor *x, int64_t heads)
{
    if (!x) return NULL;
    if (x->shape.ndim != 3 || heads < 1 || x->shape.dim[2] % heads) {
        ox_refuse(k, "needs (B,S,H D) and num_heads that fit");
        return NULL;
    }
    int32_t h = (int32_t)heads;
    samba_shape s = SAMBA_SHAPE(x->shape.dim[0], x->shape.dim[1], h, x->shape.dim[2] / h);
    return samba_permute(samba_reshape(x, s), SAMBA_AXES(0, 2, 1, 3));
}

/* 1 where query i, which is at i + past, sees key j: none behind it. */
static samba_tensor *ox_causal(ox_import *c, int32_t queries, int32_t keys, int32_t past)
{
    samba_tensor *i = ox_steps(c, 2, 0, queries, 1), *j = ox_steps(c, 2, 1, keys, 1);
    samba_tensor *at = ox_plus(i, ox_i32_scalar(c, past));
    return ox_integers(j, at, OX_LE, OX_INT32);
}

/* The mask of input i as what is added to scores: 0 or mask_filter_value. It is (B,T), (B,S,T),
   (B,1,M,M), or says where keys end, (B), and begin, (2 B). NULL in *added: there is none. */
static bool ox_filter_mask(ox_node *k, int32_t i, const samba_shape *scores, samba_tensor **added)
{
    ox_import *c = k->c;
    *added = NULL;
    if (!ox_has(k, i)) return true;
    samba_tensor *mask = ox_to_i32(ox_in(k, i)), *keep = NULL;
    int32_t b = scores->dim[0], s = scores->dim[2], t = scores->dim[3];
    if (!mask) return false;
    const samba_shape *m = &mask->shape;
    if (m->ndim == 1 && (m->dim[0] == b || m->dim[0] == 2 * b)) {
        samba_tensor *j = ox_steps(c, 4, 3, t, 1);
        samba_tensor *end = samba_slice(mask, 0, 0, b, 1);
        keep = ox_integers(j, samba_reshape(end, SAMBA_SHAPE(b, 1, 1, 1)), OX_LT, OX_INT32);
        samba_tensor *first = m->dim[0] == b ? NULL : samba_slice(mask, 0, b, 2 * b, 1);
        if (first) first = samba_reshape(first, SAMBA_SHAPE(b, 1, 1, 1));
        if (first) keep = ox_both(keep, ox_integers(j, first, OX_GE, OX_INT32));
    } else if (m->ndim == 2 && m->dim[0] == b && m->dim[1] == t) {
        keep = samba_reshape(mask, SAMBA_SHAPE(b, 1, 1, t));
    } else if (m->ndim == 3 && m->dim[0] == b && m->dim[1] == s && m->dim[2] == t) {
        keep = samba_reshape(mask, SAMBA_SHAPE(b, 1, s, t));
    } else if (m->ndim == 4 && m->dim[0] == b && m->dim[1] == 1 && m->dim[2] >= t
               && m->dim[3] >= t) {
        keep = samba_slice(samba_slice(mask, 2, t - s, t, 1), 3, 0, t, 1);
    } else {
        return ox_refuse(k, "its mask has a shape that is not offered");
    }
    samba_tensor *zero = samba_number(c->s, 0.0f);
    samba_tensor *filter = samba_number(c->s, ox_float(k, "mask_filter_value", -10000.0f));
    keep = keep ? samba_cast(keep, SAMBA_BOOL) : NULL;
    *added = ox_select(keep, zero, filter);
    return *added != NULL;
}

static samba_shape ox_scores_of(const ox_attend *a)
{
    return SAMBA_SHAPE(a->q->shape.dim[0], a->q->shape.dim[1], a->q->shape.dim[2],
                       a->k->shape.dim[2]);
}

/* The attention of q, k, v, with a mask and what else is added to the scores. */
static bool ox_give_attention(ox_node *k, ox_attend *a, int32_t mask, int32_t added)
{
    if (!a->q || !a->k || !a->v) return false;
    samba_shape scores = ox_scores_of(a);
    if (ox_int(k, "unidirectional", 0))
        a->visible = ox_causal(k->c, scores.dim[2], scores.dim[3], scores.dim[3] - scores.dim[2]);
    a->scale = ox_float(k, "scale", 0.0f);
    if (!ox_filter_mask(k, mask, &scores, &a->added[0])) return false;
    if (ox_has(k, added)) a->added[1] = ox_in(k, added);
    if (!samba_ok(k->c->s)) return false;
    return ox_give(k, 0, ox_type(k, 0), ox_attended(k, a));
}

/* Puts earlier keys and values, entries 0 and 1 of input past, in front; gives output 1 all. */
static bool ox_extend_pair(ox_node *k, ox_attend *a, int32_t past)
{
    if (!a->k || !a->v) return false;
    if (ox_has(k, past)) {
        samba_tensor *old = ox_in(k, past);
        if (!old) return false;
        if (old->shape.ndim != 5 || old->shape.dim[0] != 2)
            return ox_refuse(k, "its past must be (2,B,H,P,D)");
        samba_tensor *keys[2] = { ox_entry(old, 0), a->k };
        samba_tensor *values[2] = { ox_entry(old, 1), a->v };
        if (!keys[0] || !values[0]) return false;
        a->k = samba_cat(keys, 2, 2);
        a->v = samba_cat(values, 2, 2);
    }
    samba_tensor *both[2] = { a->k, a->v };
    if (!a->k || !a->v) return false;
    return !ox_asks(k, 1) || ox_give(k, 1, ox_type(k, 0), samba_stack(both, 2, 0));
}

/* x W + b, cut into queries, keys and values. */
static bool ox_cut_projection(ox_node *k, samba_tensor *all, ox_attend *a)
{
    int32_t n = 0;
    const int64_t *sizes = ox_ints(k, "qkv_hidden_sizes", &n);
    int64_t heads = ox_int(k, "num_heads", 0), wide[3];
    if (!all) return false;
    if (all->shape.ndim != 3) return ox_refuse(k, "needs x (B,S,I)");
    int32_t width = all->shape.dim[2];
    for (int i = 0; i < 3; i++)
        wide[i] = n == 3 ? sizes[i] : width / 3;
    bool fits = wide[0] > 0 && wide[1] == wide[0] && wide[2] > 0 && wide[0] <= width
        && wide[2] <= width && wide[0] + wide[1] + wide[2] == width;
    if (!fits) return ox_refuse(k, "its weights do not fit qkv_hidden_sizes");
    int32_t q = (int32_t)wide[0];
    a->q = ox_split_heads(k, samba_slice(all, 2, 0, q, 1), heads);
    a->k = ox_split_heads(k, samba_slice(all, 2, q, 2 * q, 1), heads);
    a->v = ox_split_heads(k, samba_slice(all, 2, 2 * q, width, 1), heads);
    return a->q && a->k && a->v;
}

static bool ox_refuse_unusual_attention(ox_node *k)
{
    if (ox_int(k, "do_rotary", 0) || ox_int(k, "past_present_share_buffer", 0))
        return ox_refuse(k, "with do_rotary or past_present_share_buffer is not offered");
    return true;
}

static bool ox_op_bert_attention(ox_node *k)
{
    ox_attend a;
    memset(&a, 0, sizeof a);
    samba_tensor *x = ox_in(k, 0), *w = ox_in(k, 1);
    if (!x || !w || !ox_floats_only(k, 3) || !ox_refuse_unusual_attention(k)) return false;
    samba_tensor *all = samba_matmul(x, w);
    if (all && ox_has(k, 2)) all = samba_add(all, ox_in(k, 2));
    return ox_cut_projection(k, all, &a) && ox_extend_pair(k, &a, 4)
        && ox_give_attention(k, &a, 3, 5);
}

/* The same of codes, whose product is made of integers. */
static bool ox_op_q_attention(ox_node *k)
{
    ox_attend a;
    memset(&a, 0, sizeof a);
    if (!ox_has(k, 0) || !ox_has(k, 1) || !ox_has(k, 3) || !ox_has(k, 4))
        return ox_refuse(k, "an input is missing");
    if (!ox_refuse_unusual_attention(k)) return false;
    ox_factors f = ox_factors_of(k, 0, 1, 6);
    ox_value *bias = ox_has(k, 2) ? k->in[2] : NULL;
    if (!ox_give_float_product(k, &f, k->in[3], k->in[4], bias)) return false;
    samba_tensor *all = ox_tensor(k->c, k->out[0]);
    k->out[0] = NULL;
    if (!ox_cut_projection(k, all, &a) || !ox_extend_pair(k, &a, 8)) return false;
    if (!ox_give_attention(k, &a, 5, INT32_MAX)) return false;
    k->out[0]->type = OX_FLOAT;
    return true;
}

/* Entry i of the n that dimension 3 of x (B,S,H,n,D) packs, as (B,H,S,D). */
static samba_tensor *ox_unpacked_heads(samba_tensor *x, int32_t i)
{
    samba_tensor *part = samba_slice(x, 3, i, i + 1, 1);
    part = part ? samba_squeeze(part, 3) : NULL;
    return part ? samba_permute(part, SAMBA_AXES(0, 2, 1, 3)) : NULL;
}

/* x (B,H,S,D) plus its part of the bias, of which n come before. */
static samba_tensor *ox_add_head_bias(samba_tensor *x, samba_tensor *bias, int32_t *n)
{
    if (!x || !bias) return x;
    int32_t h = x->shape.dim[1], d = x->shape.dim[3];
    samba_tensor *part = samba_slice(bias, 0, *n, *n + h * d, 1);
    *n += h * d;
    return part ? samba_add(x, samba_reshape(part, SAMBA_SHAPE(h, 1, d))) : NULL;
}

/* Queries, keys and values of MultiHeadAttention, in all its layouts. */
static bool ox_read_heads(ox_node *k, ox_attend *a)
{
    int64_t heads = ox_int(k, "num_heads", 0);
    samba_tensor *q = ox_in(k, 0), *key = ox_has(k, 1) ? ox_in(k, 1) : NULL;
    samba_tensor *value = ox_has(k, 2) ? ox_in(k, 2) : NULL;
    if (!q || !samba_ok(k->c->s)) return false;
    if (q->shape.ndim == 5 && q->shape.dim[3] == 3 && !key) {
        a->q = ox_unpacked_heads(q, 0);
        a->k = ox_unpacked_heads(q, 1);
        a->v = ox_unpacked_heads(q, 2);
    } else if (key) {
        a->q = ox_split_heads(k, q, heads);
        bool packed = key->shape.ndim == 5 && key->shape.dim[3] == 2;
        if (!packed && !value) return ox_refuse(k, "has no values");
        if (packed)
            a->k = ox_unpacked_heads(key, 0);
        else
            a->k = key->shape.ndim == 4 ? key : ox_split_heads(k, key, heads);
        if (packed)
            a->v = ox_unpacked_heads(key, 1);
        else
            a->v = value->shape.ndim == 4 ? value : ox_split_heads(k, value, heads);
    } else {
        return ox_refuse(k, "has no keys");
    }
    if (!a->q || !a->k || !a->v) return false;
    samba_tensor *bias = ox_has(k, 3) ? ox_in(k, 3) : NULL;
    int32_t n = 0;
    a->q = ox_add_head_bias(a->q, bias, &n);
    a->k = ox_add_head_bias(a->k, bias, &n);
    a->v = ox_add_head_bias(a->v, bias, &n);
    return a->q && a->k && a->v;
}

static bool ox_op_multi_head(ox_node *k)
{
    ox_attend a;
    memset(&a, 0, sizeof a);
    if (!ox_floats_only(k, 4) || !ox_read_heads(k, &a)) return false;
    if (ox_has(k, 8) || ox_has(k, 9) || ox_asks(k, 3))
        return ox_refuse(k, "with a shared buffer, beams or output_qk is not offered");
    a.k = ox_present(k, a.k, 6, 1);
    a.v = ox_present(k, a.v, 7, 2);
    return ox_give_attention(k, &a, 4, 5);
}

/* ---- Rotary positions ---- */

/* x (B,S,H,D), of which the first entries are turned by the rows of the caches, inputs cos and
   cos + 1, that `at` (B,S) chooses. */
static samba_tensor *ox_turn_heads(ox_node *k, samba_tensor *x, int32_t cos, samba_tensor *at,
                                   bool interleaved)
{
    samba_tensor *angle[2];
    if (!x || !at) return NULL;
    int32_t d = x->shape.dim[3], half = 0;
    for (int i = 0; i < 2; i++) {
        samba_tensor *cache = ox_in(k, cos + i);
        if (!cache) return NULL;
        bool fits = cache->shape.ndim == 2 && 2 * (int64_t)cache->shape.dim[1] <= d;
        if (!fits) {
            ox_refuse(k, "its caches must be (positions, at most half of the head's size)");
            return NULL;
        }
        half = cache->shape.dim[1];
        angle[i] = ox_gather_axis(cache, at, 0);
        angle[i] = angle[i] ? samba_unsqueeze(angle[i], 2) : NULL;
    }
    samba_tensor *head = 2 * half < d ? samba_slice(x, 3, 0, 2 * half, 1) : x;
    samba_tensor *y = ox_rotated(head, angle[0], angle[1], interleaved);
    if (!y || 2 * half == d) return y;
    samba_tensor *both[2] = { y, samba_slice(x, 3, 2 * half, d, 1) };
    return both[1] ? samba_cat(both, 2, 3) : NULL;
}

static bool ox_op_rotary_of_ids(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *at = ox_to_i32(ox_in(k, 1)), *cache = ox_in(k, 2);
    int64_t heads = ox_int(k, "num_heads", 0);
    if (!x || !at || !cache || !ox_floats_only(k, 1)) return false;
    if (ox_float(k, "scale", 1.0f) != 1.0f || ox_int(k, "is_packed_batching", 0))
        return ox_refuse(k, "with a scale or packed batches is not offered");
    samba_shape shape = x->shape;
    if (shape.ndim == 3 && heads == 0 && cache->shape.ndim == 2)
        heads = shape.dim[2] / (2 * (int64_t)cache->shape.dim[1]);
    if (shape.ndim == 4)
        x = samba_permute(x, SAMBA_AXES(0, 2, 1, 3));
    else
        x = samba_permute(ox_split_heads(k, x, heads), SAMBA_AXES(0, 2, 1, 3));
    if (!x) return false;
    int32_t b = x->shape.dim[0], s = x->shape.dim[1];
    samba_tensor *places = ox_steps(k->c, 2, 1, s, 1);
    samba_shape all = SAMBA_SHAPE(b, s);
    if (samba_count(&at->shape) == 1) /* the first position */
        at = ox_plus(samba_reshape(at, samba_scalar_shape()), places);
    at = at ? ox_stretch(at, &all) : NULL;
    samba_tensor *y = ox_turn_heads(k, x, 2, at, ox_int(k, "interleaved", 0) != 0);
    if (y && shape.ndim == 4) y = samba_permute(y, SAMBA_AXES(0, 2, 1, 3));
    return ox_give(k, 0, ox_type(k, 0), y ? samba_reshape(y, shape) : NULL);
}

/* ---- GroupQueryAttention ---- */

/* Where things are: the new tokens, S of them, come behind `past` others (B,1), which are in a
   cache that had `room` places and has `keys` afterwards. */
typedef struct ox_group_query {
    samba_tensor *past;
    int32_t batch, length, room, keys;
    int64_t heads, kv_heads;
} ox_group_query;

/* A cache with zeros where what is in it has ended: begun (B,T). */
static samba_tensor *ox_kept_places(ox_import *c, samba_tensor *old, samba_tensor *begun)
{
    if (!old || !begun) return NULL;
    samba_shape each = SAMBA_SHAPE(begun->shape.dim[0], 1, begun->shape.dim[1], 1);
    samba_tensor *ended = samba_cast(samba_reshape(begun, each), SAMBA_BOOL);
    return ox_select(ended, samba_number(c->s, 0.0f), old);
}

/* Keys or values (B,S,h D) into the cache that input i is; output o gets all. (B,h,T,D). */
static samba_tensor *ox_fill_cache(ox_node *k, const ox_group_query *g, samba_tensor *x, int32_t i,
                                   int32_t o)
{
    ox_import *c = k->c;
    samba_tensor *fresh = ox_split_heads(k, x, g->kv_heads), *y = fresh;
    if (!fresh) return NULL;
    if (g->room > 0) {
        int32_t b = g->batch, h = (int32_t)g->kv_heads, s = g->length, d = fresh->shape.dim[3];
        samba_tensor *old = ox_in(k, i), *j = ox_steps(c, 2, 1, g->keys, 1);
        if (old && g->keys > g->room)
            old = ox_pad_axis(k, old, 2, 0, g->keys - g->room, OX_PAD_CONSTANT, 0);
        samba_tensor *at = ox_integers(j, g->past, OX_SUB, OX_INT32); /* (B,T) */
        samba_tensor *begun = ox_integers(at, ox_i32_scalar(c, 0), OX_GE, OX_INT32);
        samba_tensor *ends = ox_integers(at, ox_i32_scalar(c, s), OX_LT, OX_INT32);
        samba_tensor *is_new = ox_both(begun, ends);
        if (b > 1) old = ox_kept_places(c, old, begun); /* some may have more room than tokens */
        at = ox_integers(at, ox_i32_scalar(c, 0), OX_MAX, OX_INT32);
        at = ox_integers(at, ox_i32_scalar(c, s - 1), OX_MIN, OX_INT32);
        at = ox_plus(at, ox_steps(c, 2, 0, b, s));
        samba_tensor *rows = samba_reshape(x, SAMBA_SHAPE(b * s, h * d));
        samba_tensor *moved = ox_gather_axis(rows, at, 0);
        moved = moved ? samba_reshape(moved, SAMBA_SHAPE(b, g->keys, h, d)) : NULL;
        moved = moved ? samba_permute(moved, SAMBA_AXES(0, 2, 1, 3)) : NULL;
        is_new = is_new ? samba_reshape(is_new, SAMBA_SHAPE(b, 1, g->keys, 1)) : NULL;
        y = is_new ? ox_select(samba_cast(is_new, SAMBA_BOOL), moved, old) : NULL;
    }
    return y && (!ox_asks(k, o) || ox_give(k, o, ox_type(k, 0), y)) ? y : NULL;
}

/* 1 where a query sees a key: none behind it, and no more than the window before it. (B,1,S,T). */
static samba_tensor *ox_group_visible(ox_node *k, const ox_group_query *g)
{
    ox_import *c = k->c;
    int64_t window = ox_int(k, "local_window_size", -1);
    samba_tensor *i = ox_steps(c, 4, 2, g->length, 1), *j = ox_steps(c, 4, 3, g->keys, 1);
    samba_tensor *past = samba_reshape(g->past, SAMBA_SHAPE(g->batch, 1, 1, 1));
    samba_tensor *at = ox_plus(i, past);
    samba_tensor *visible = ox_integers(j, at, OX_LE, OX_INT32);
    if (window > 0 && window < g->keys) {
        samba_tensor *before = ox_plus(at, ox_i32_scalar(c, -(int32_t)window));
        visible = ox_both(visible, ox_integers(j, before, OX_GT, OX_INT32));
    }
    return visible;
}

/* Reads sizes and the place of the new tokens. */
static bool ox_read_group_query(ox_node *k, const samba_tensor *q, ox_group_query *g)
{
    const onnx_array *total = ox_need(k, 6, "total_sequence_length");
    samba_tensor *ends = ox_to_i32(ox_in(k, 5));
    if (!total || !ends) return false;
    if (total->count != 1 || !total->i || total->i[0] < 1 || total->i[0] > 1 << 24)
        return ox_refuse(k, "its total_sequence_length is out of range");
    g->batch = q->shape.dim[0];
    g->length = q->shape.dim[1];
    g->room = ox_has(k, 3) && ox_size(k->in[3]) > 0 ? (int32_t)ox_dim(k->in[3], 2) : 0;
    g->keys = total->i[0] > g->room ? (int32_t)total->i[0] : g->room;
    if (samba_count(&ends->shape) != g->batch) return ox_refuse(k, "its seqlens_k must be (B)");
    if (total->i[0] < g->length || (g->room == 0 && total->i[0] != g->length))
        return ox_refuse(k, "its total_sequence_length does not fit the past and the new tokens");
    ends = samba_reshape(ends, SAMBA_SHAPE(g->batch, 1));
    bool first = total->i[0] == g->length; /* nothing is in the cache, whatever room it has */
    samba_tensor *none = ox_integers(ends, ox_i32_scalar(k->c, 0), OX_MUL, OX_INT32);
    g->past = first ? none : ox_plus(ends, ox_i32_scalar(k->c, 1 - g->length));
    return g->past != NULL;
}

/* Queries, keys and values (B,S,heads D), which one input may pack. */
static bool ox_cut_group_query(ox_node *k, const ox_group_query *g, samba_tensor *part[3])
{
    part[0] = ox_in(k, 0);
    if (!part[0]) return false;
    if (ox_has(k, 1) && ox_has(k, 2)) {
        part[1] = ox_in(k, 1);
        part[2] = ox_in(k, 2);
        return part[1] && part[2];
    }
    int64_t all = g->heads + 2 * g->kv_heads;
    int32_t width = part[0]->shape.dim[2], d = (int32_t)(width / all);
    if (width % all) return ox_refuse(k, "its heads do not fit x");
    int32_t q = (int32_t)g->heads * d, kv = (int32_t)g->kv_heads * d;
    samba_tensor *packed = part[0];
    part[0] = samba_slice(packed, 2, 0, q, 1);
    part[1] = samba_slice(packed, 2, q, q + kv, 1);
    part[2] = samba_slice(packed, 2, q + kv, q + 2 * kv, 1);
    return part[2] != NULL;
}

/* x (B,S,heads D) with its heads turned. */
static samba_tensor *ox_turn_group(ox_node *k, samba_tensor *x, int64_t heads, samba_tensor *at)
{
    if (!x) return NULL;
    samba_shape flat = x->shape;
    if (heads < 1 || flat.dim[2] % heads) {
        ox_refuse(k, "its heads do not fit x");
        return NULL;
    }
    int32_t h = (int32_t)heads;
    x = samba_reshape(x, SAMBA_SHAPE(flat.dim[0], flat.dim[1], h, flat.dim[2] / h));
    x = ox_turn_heads(k, x, 7, at, ox_int(k, "rotary_interleaved", 0) != 0);
    return x ? samba_reshape(x, flat) : NULL;
}

static bool ox_refuse_unusual_group(ox_node *k)
{
    for (int32_t i = 12; i < k->n_in; i++)
        if (ox_has(k, i)) return ox_refuse(k, "with input %d is not offered", i);
    if (!ox_int(k, "causal", 1) || ox_int(k, "sliding_window_cache", 0) || ox_asks(k, 3))
        return ox_refuse(k, "with causal = 0, sliding_window_cache or output_qk is not offered");
    return ox_floats_only(k, 5);
}

static bool ox_op_group_query(ox_node *k)
{
    ox_attend a;
    ox_group_query g;
    samba_tensor *part[3] = { NULL, NULL, NULL }, *q = ox_in(k, 0);
    memset(&a, 0, sizeof a);
    memset(&g, 0, sizeof g);
    if (!q || !ox_refuse_unusual_group(k)) return false;
    if (q->shape.ndim != 3) return ox_refuse(k, "needs queries (B,S,H D)");
    g.heads = ox_int(k, "num_heads", 0);
    g.kv_heads = ox_int(k, "kv_num_heads", 0);
    bool sound = g.heads >= 1 && g.kv_heads >= 1 && g.heads <= 1 << 20 && g.kv_heads <= 1 << 20;
    if (!sound) return ox_refuse(k, "its num_heads or kv_num_heads is out of range");
    if (!ox_read_group_query(k, q, &g) || !ox_cut_group_query(k, &g, part)) return false;

    if (ox_int(k, "do_rotary", 0)) {
        samba_shape all = SAMBA_SHAPE(g.batch, g.length);
        samba_tensor *at = ox_has(k, 9) ? ox_to_i32(ox_in(k, 9)) : NULL;
        if (!at) at = ox_plus(g.past, ox_steps(k->c, 2, 1, g.length, 1));
        at = at ? ox_stretch(at, &all) : NULL;
        part[0] = ox_turn_group(k, part[0], g.heads, at);
        part[1] = ox_turn_group(k, part[1], g.kv_heads, at);
    }
    a.q = ox_split_heads(k, part[0], g.heads);
    a.k = ox_fill_cache(k, &g, part[1], 3, 1);
    a.v = ox_fill_cache(k, &g, part[2], 4, 2);
    if (!a.q || !a.k || !a.v) return false;
    a.scale = ox_float(k, "scale", 0.0f);
    a.cap = ox_float(k, "softcap", 0.0f);
    a.visible = ox_group_visible(k, &g);
    if (ox_has(k, 10)) a.added[0] = ox_in(k, 10);
    if (ox_has(k, 11)) a.sink = samba_reshape(ox_in(k, 11), SAMBA_SHAPE(1, (int32_t)g.heads, 1, 1));
    if (ox_int(k, "smooth_softmax", 0) && !a.sink)
        a.sink = ox_full(k->c, SAMBA_SHAPE(1, (int32_t)g.heads, 1, 1), 0.0f);
    return samba_ok(k->c->s) && ox_give(k, 0, ox_type(k, 0), ox_attended(k, &a));
}
