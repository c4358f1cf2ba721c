/* ==== [record] ================================================================================ */
/* Where every op arrives: it is recorded as a node, and computed at once unless the session
   traces. */
/* Do the results of op become bf16? Sums and losses do not. */
SAMBA__FN bool samba__is_rounded(const samba_op *op, const samba_tensor *y)
{
    samba__class is = samba__class_of(op);
    bool kept = is == SAMBA__IS_MOVES || is == SAMBA__IS_REDUCTION || is == SAMBA__IS_LOSS
        || samba__updates(op);
    return !kept && y->dtype == SAMBA_F32 && y->shape.ndim > 0;
}

static samba_tensor *samba__rounded(samba_tensor *x)
{
    const int32_t half = SAMBA_BF16, full = SAMBA_F32;
    if (!x || x->dtype != SAMBA_F32 || x->role == SAMBA__WEIGHT) return x;
    const samba__node *n = x->node;
    if (n && samba__is(n->op, SAMBA__OP_cast) && n->in[0]->dtype == SAMBA_BF16) return x;
    samba_tensor *y
        = samba__emit1(SAMBA__OP_cast, samba__emit1(SAMBA__OP_cast, x, &half, 1), &full, 1);
    if (y) y->rounded = true;
    return y;
}

/* x in bf16: where GraphAMP has made x of one, that. A cast of the user's stays one, through which
   gradients flow as they were asked for. */
static samba_tensor *samba__in_bf16(samba_tensor *x)
{
    if (!x || x->dtype != SAMBA_F32) return x;
    return x->rounded ? x->node->in[0] : samba_cast(x, SAMBA_BF16);
}

/* What product op reads as input k: its first operand in bf16 makes it a product in bf16, which
   rounds weights itself. Attention has products of q, k and v; its mask is added, and what else it
   reads is about dropout. */
SAMBA__FN samba_tensor *samba__factor_of(const samba_op *op, int32_t k, samba_tensor *x)
{
    if (samba__is(op, SAMBA__OP_scaled_dot_product_attention))
        return k < SAMBA__ATTENTION_MASK ? samba__in_bf16(x) : x;
    if (k > 1) return samba__rounded(x);
    return k == 1 && x && x->role == SAMBA__WEIGHT ? x : samba__in_bf16(x);
}

/* Does op overwrite, through another input, the state in whose memory input k lies? */
SAMBA__FN bool samba__overwrites_input(const samba_op *op, samba_tensor *const *in, int32_t n_in,
                                       int32_t k)
{
    bool other = false;
    if (!in[k]) return false;
    for (int32_t o = 0; o < SAMBA_MAX_OUT; o++) {
        int32_t u = samba__updated_input(op, o);
        if (u == k) return false;
        if (u < 0 || u >= n_in || !in[u]) continue;
        other = other || samba__memory_of_state(in[u]) == samba__memory_of_state(in[k]);
    }
    return other;
}

/* Losses of classes take logits, or their logarithms: a softmax before them is a mistake that
   trains, but badly. */
SAMBA__FN void samba__warn_of_softmax(samba_session *s, const samba_op *op, samba_tensor *const *in,
                                      int32_t n_in)
{
    bool entropy = samba__is(op, SAMBA__OP_cross_entropy), nll = samba__is(op, SAMBA__OP_nll);
    const samba_tensor *x = n_in > 0 && (entropy || nll) ? in[0] : NULL;
    while (x && x->node && samba__is(x->node->op, SAMBA__OP_reshape))
        x = x->node->in[0];
    if (!x || !x->node || !samba__is(x->node->op, SAMBA__OP_softmax)) return;

    /* Without the name of the tensor: in a loop of eager ops it would be another text each time. */
    samba__warn(s, "in samba_%s: its input %S is a softmax, of which %s; give it %s", op->name,
                &x->shape,
                entropy ? "the loss would take the softmax again" : "the loss needs the logarithm",
                entropy ? "what the softmax reads" : "samba_log_softmax");
}

/* What a product reads under graphamp: its inputs, rounded. Stores them in `read`, or returns in.
 */
SAMBA__FN samba_tensor *const *samba__round_inputs(const samba_session *s, const samba_op *op,
                                                   samba_tensor *const *in, int32_t n_in,
                                                   samba_tensor **read)
{
    bool user = s->modes.tracing && !s->trace.generating;
    bool product = samba__class_of(op) == SAMBA__IS_PRODUCT;
    if (!user || !s->modes.graphamp || !product) return in;

    for (int32_t i = 0; i < n_in; i++)
        read[i] = samba__factor_of(op, i, in[i]);
    return read;
}

/* An input that the op would overwrite, and that is read elsewhere as it was: a copy. Stores the
   inputs in `read`, or returns in, if there is none. */
SAMBA__FN samba_tensor *const *samba__copy_overwritten(const samba_op *op, samba_tensor *const *in,
                                                       int32_t n_in, samba_tensor **read)
{
    for (int32_t i = 0; i < n_in; i++) {
        if (!samba__overwrites_input(op, in, n_in, i)) continue;
        if (in != read) memcpy(read, in, (size_t)n_in * sizeof *read);
        in = read;
        read[i] = samba__emit1(SAMBA__OP_reshape, in[i], in[i]->shape.dim, in[i]->shape.ndim);
    }
    return in;
}

/* Records the call, and computes it unless the session traces. */
SAMBA__FN samba_tensor *samba__record_call(samba_session *s, const samba_op *op,
                                           samba_tensor *const *in, int32_t n_in,
                                           const int32_t *attr, int32_t n_attr, samba_tensor **outs)
{
    samba_spec spec[SAMBA_MAX_IN];
    samba_call c = SAMBA__ZEROED;
    if (!samba_ok(s)) return NULL;

    c.in = spec;
    c.attr = attr;
    c.n_in = n_in;
    c.n_attr = n_attr;
    if (n_in > SAMBA_MAX_IN || n_attr > SAMBA_MAX_ATTR) {
        samba_fail(s, SAMBA_EARG, "in %s: %d inputs and %d attributes are too many", op->name, n_in,
                   n_attr);
        return NULL;
    }

    if (!samba__check_inputs(s, op, in, n_in)) return NULL;
    samba_tensor *read[SAMBA_MAX_IN];
    const char *name = s->trace.next_name; /* of this op, not of a cast or a copy before it */
    s->trace.next_name = NULL;
    in = samba__round_inputs(s, op, in, n_in, read);
    if (!s->trace.generating) {
        samba__warn_of_softmax(s, op, in, n_in);
        in = samba__copy_overwritten(op, in, n_in, read);
    }
    if (!samba_ok(s)) return NULL;
    s->trace.next_name = name;

    for (int32_t i = 0; i < n_in; i++)
        spec[i] = samba__spec_of(in[i]);
    if (s->modes.legacy_names && samba__is(op, SAMBA__OP_batch_norm)) {
        samba_fail(s, SAMBA_ESTATE,
                   "in samba_batch_normalize: legacy names must be off for models with batchnorm");
        return NULL;
    }
    if (!samba__infer(op, &c)) {
        samba__fail_call(s, op, in, &c);
        return NULL;
    }

    s->arenas.transient = s->arenas.scope && (s->trace.generating || !s->modes.tracing);
    samba__node *n = samba__new_node(s, op, in, &c);
    s->arenas.transient = false;
    if (!n || (!s->modes.tracing && !samba__run_eager(s, n, &c))) return NULL;

    if (outs) {
        for (int32_t o = 0; o < n->n_out; o++)
            outs[o] = n->out[o];
    }

    samba_tensor *y = n->out[0];
    bool user = s->modes.tracing && !s->trace.generating;
    if (user && s->modes.graphamp == SAMBA_MP4 && samba__is_rounded(op, y)) y = samba__rounded(y);
    return user && s->hooks.on_trace ? s->hooks.on_trace(op, n->in, n_in, y, s->hooks.on_trace_user)
                                     : y;
}

SAMBA__FN samba_tensor *samba__emit_op(samba_session *s, const samba_op *op,
                                       samba_tensor *const *in, int32_t n_in, const int32_t *attr,
                                       int32_t n_attr, samba_tensor **outs)
{
    samba__float_mode callers = samba__enter_float_mode();
    samba_tensor *y = samba__record_call(s, op, in, n_in, attr, n_attr, outs);
    samba__leave_float_mode(callers);
    return y;
}

static samba_tensor *samba__emit(samba_session *s, int32_t op, samba_tensor *const *in,
                                 int32_t n_in, const int32_t *attr, int32_t n_attr,
                                 samba_tensor **outs)
{
    return samba__emit_op(s, &samba__op_table[op], in, n_in, attr, n_attr, outs);
}

SAMBA_API bool samba_on_trace(samba_session *s, samba_trace_fn fn, void *user)
{
    if (!samba_ok(s)) return false;
    s->hooks.on_trace = fn;
    s->hooks.on_trace_user = user;
    return true;
}

SAMBA__FN void samba__choose_graphamp(samba_session *s, const char *what, samba_graphamp preset)
{
    if (!samba_ok(s)) return;
    if (preset == SAMBA_MP0 || preset == SAMBA_MP1 || preset == SAMBA_MP4)
        s->modes.graphamp = preset;
    else
        samba_fail(s, SAMBA_EARG, "in %s: there is no preset mp%d; there are mp0, mp1 and mp4",
                   what, (int32_t)preset);
}

SAMBA_API samba_graphamp samba_set_graphamp(samba_session *s, samba_graphamp preset)
{
    samba_graphamp former = s ? s->modes.graphamp : SAMBA_MP0;
    samba__choose_graphamp(s, "samba_set_graphamp", preset);
    return former;
}

SAMBA_API bool samba_use_legacy_names(samba_session *s, bool use)
{
    if (!samba_ok(s)) return false;
    if (use) {
        for (int32_t i = 0; i < samba__n_nodes(s); i++)
            if (samba__is(s->trace.nodes[i]->op, SAMBA__OP_batch_norm))
                return samba_fail(
                    s, SAMBA_ESTATE,
                    "in samba_use_legacy_names: legacy names must be off for models with batchnorm, and there is %s",
                    s->trace.nodes[i]->name);
    }
    s->modes.legacy_names = use;
    return true;
}

SAMBA_API bool samba_set_op_prefix(samba_session *s, const char *prefix)
{
    if (!samba_ok(s)) return false;
    if (s->arenas.scope) /* whose memory the copy would be in */
        return samba_fail(s, SAMBA_ESTATE, "in samba_set_op_prefix: call it outside of scopes");
    s->trace.op_prefix = prefix ? samba__arena_text(s, prefix) : NULL;
    return !prefix || s->trace.op_prefix;
}

SAMBA_API bool samba_begin_graph(samba_session *s, const char *name)
{
    if (!samba_ok(s)) return false;
    if (!name || !*name) return samba_fail(s, SAMBA_EARG, "in samba_begin_graph: a name is needed");
    s->trace.counter = NULL; /* each graph counts its own runs */
    for (int32_t i = 0; i < samba__n_nodes(s); i++) {
        s->modes.graph = s->trace.nodes[i]->graph;
        if (s->modes.graph && samba__same_text(s->modes.graph, name)) return true;
    }
    s->modes.graph = samba__arena_text(s, name);
    return s->modes.graph != NULL;
}

