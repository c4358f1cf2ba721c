/* ==== [graph] ================================================================================= */
/* The graph: tensors, and the nodes that made them. */
SAMBA__FN samba_tensor *samba__new_tensor(samba_session *s, const char *name,
                                          const samba_spec *spec, int32_t role)
{
    SAMBA_ASSERT(samba__sound_shape(&spec->shape));
    samba_tensor *t = (samba_tensor *)samba__arena_alloc(s, sizeof *t);
    if (!t) return NULL;

    t->session = s;
    t->name = name;
    t->role = role;
    t->dtype = spec->dtype;
    t->shape = spec->shape;
    t->batch_dim = t->symbol = -1;
    t->argin = SAMBA__NO_ARGIN;
    t->id = samba__n_tensors(s);
    t->transient = s->arenas.transient;

    return samba__guarded(s, samba__put_tensor_body, t) ? t : NULL;
}

SAMBA__FN samba_spec samba__spec_of(const samba_tensor *t)
{
    samba_spec spec = samba__absent();
    if (t) {
        spec.dtype = t->dtype;
        spec.shape = t->shape;
    }
    return spec;
}

SAMBA__FN size_t samba__host_bytes(const samba_tensor *t)
{
    samba_spec spec = samba__spec_of(t);
    return samba__spec_bytes(&spec);
}

/* Bytes of its host copy, t->data: of one value, or of the microbatches that it holds. */
SAMBA__FN size_t samba__copy_bytes(const samba_tensor *t)
{
    return samba__host_bytes(t) * (t->value.parts > 1 ? (size_t)t->value.parts : 1);
}

/* base, or base_2, base_3 ... if it is taken. */
SAMBA__FN const char *samba__free_name(samba_session *s, const char *base)
{
    char buffer[160];
    samba_tensor *first = samba__named(s, base);
    if (!first) return samba__arena_text(s, base);

    for (int32_t n = first->n_same + 2; n < INT32_MAX; n++) { /* where the last search ended */
        const char *name = samba__print_name(s, buffer, sizeof buffer, "%s_%d", base, n);
        if (!name) return NULL;
        if (samba__named(s, name)) continue;
        first->n_same = n - 1;
        return samba__arena_text(s, name);
    }

    samba_fail(s, SAMBA_ENAME, "no free name is left for %s", base);
    return NULL;
}

/* "x f32 (2,3), y f32 (3)": the inputs of a failed call. */
SAMBA__FN void samba__put_inputs(samba__text *t, samba_tensor *const *in, int32_t n_in)
{
    for (int32_t i = 0; i < n_in; i++) {
        if (i) samba__put_text(t, ", ");
        if (in[i])
            samba__format(t, "%s %T %S", in[i]->name, (int)in[i]->dtype, &in[i]->shape);
        else
            samba__put_text(t, "none");
    }
}

SAMBA__FN bool samba__fail_call(samba_session *s, const samba_op *op, samba_tensor *const *in,
                                samba_call *c)
{
    char inputs[512], why[320];
    samba__text t = samba__text_in(why, sizeof why);
    samba__put_refusal(&t, op, c);

    t = samba__text_in(inputs, sizeof inputs);
    samba__put_inputs(&t, in, c->n_in);
    if (t.len >= t.cap) {
        t = samba__text_in(inputs, sizeof inputs);
        t.most = 80;
        samba__put_inputs(&t, in, c->n_in);
    }

    return samba_fail(s, c->code, "in %s%s%s(%s): %s", s->trace.next_name ? s->trace.next_name : "",
                      s->trace.next_name ? ": " : "", op->name, inputs, why);
}

SAMBA__FN bool samba__check_inputs(samba_session *s, const samba_op *op, samba_tensor *const *in,
                                   int32_t n_in)
{
    for (int32_t i = 0; i < n_in; i++) {
        const samba__node *n = in[i] && in[i]->session == s ? in[i]->node : NULL;
        if (n && s->modes.tracing && !n->eager && n->graph != s->modes.graph)
            return samba_fail(
                s, SAMBA_EARG,
                "in %s: input %d, %s, is computed in graph %s, but this is graph %s; graphs share parameters, buffers and inputs only",
                op->name, i, in[i]->name, n->graph ? n->graph : "(none)",
                s->modes.graph ? s->modes.graph : "(none)");

        if (!in[i] || in[i]->session == s) continue;
        return samba_fail(
            s, SAMBA_EARG,
            "in %s: input %d, %s, belongs to another session; copy its values with samba_copy_out and samba_from_data_copy",
            op->name, i, in[i]->name);
    }
    return true;
}

/* The leaf in whose memory t lies: that which the updates that led to t overwrote; or t. */
SAMBA__FN const samba_tensor *samba__memory_of_state(const samba_tensor *t)
{
    return t->writes.leaf ? t->writes.leaf : t;
}

/* Notes which leaves a new node overwrites. */
SAMBA__FN void samba__note_updates(samba__node *n)
{
    for (int32_t o = 0; o < n->n_out; o++) {
        int32_t i = samba__updated_input(n->op, o);
        samba_tensor *y = n->out[o], *state = i < 0 ? NULL : n->in[i];
        if (!state) continue;
        y->writes.leaf = state->writes.leaf ? state->writes.leaf : state;
        SAMBA_ASSERT(!y->writes.leaf->writes.leaf); /* a leaf has the memory */
        if (n->generated) continue;
        y->writes.before = y->writes.leaf->writes.last;
        y->writes.leaf->writes.last = y;
    }
}

/* The last node of the current graph that overwrites x; NULL: none. */
SAMBA__FN const samba__node *samba__last_writer(const samba_session *s, const samba_tensor *x)
{
    const samba_tensor *y = samba__memory_of_state(x)->writes.last;
    while (y && y->node->graph != s->modes.graph)
        y = y->writes.before;
    return y ? y->node : NULL;
}

SAMBA__FN samba__node *samba__new_node(samba_session *s, const samba_op *op,
                                       samba_tensor *const *in, const samba_call *c)
{
    char buffer[160], prefixed[160];
    samba__node *n = (samba__node *)samba__arena_alloc(s, sizeof *n);
    if (!n) return NULL;
    SAMBA_ASSERT(c->n_in <= SAMBA_MAX_IN && c->n_out >= 1 && c->n_out <= SAMBA_MAX_OUT);

    n->op = op;
    n->n_in = c->n_in;
    n->n_out = c->n_out;
    n->n_attr = c->n_attr;
    n->in = (samba_tensor **)samba__arena_alloc(s, sizeof *n->in * (size_t)(c->n_in + 1));
    n->attr = (int32_t *)samba__arena_alloc(s, sizeof *n->attr * (size_t)(c->n_attr + 1));

    const char *base = s->trace.next_name;
    if (!base || s->modes.legacy_names)
        base = samba__print_name(s, buffer, sizeof buffer, "%s_%d", op->name, ++s->trace.n_named);
    s->trace.next_name = NULL;
    if (base && s->trace.op_prefix && !s->trace.generating)
        base = samba__print_name(s, prefixed, sizeof prefixed, "%s%s", s->trace.op_prefix, base);
    n->name = base ? samba__free_name(s, base) : NULL;
    if (!n->in || !n->attr || !n->name) return NULL;

    for (int32_t i = 0; i < c->n_in; i++)
        n->in[i] = in[i];
    for (int32_t i = 0; i < c->n_attr; i++)
        n->attr[i] = c->attr[i];

    n->section = s->modes.section;
    n->graph = s->modes.graph;
    n->generated = s->trace.generating;
    n->gradient = s->trace.differentiating;
    n->id = samba__n_nodes(s);
    n->transient = s->arenas.transient;

    for (int32_t o = 0; o < n->n_out; o++) {
        const char *name = o
            ? samba__print_name(s, buffer, sizeof buffer, "%s__outputs__%d", n->name, o)
            : n->name;
        if (o && name) name = samba__free_name(s, name);
        n->out[o] = name ? samba__new_tensor(s, name, &c->out[o], SAMBA__TEMP) : NULL;
        if (!n->out[o]) return NULL;
        n->out[o]->node = n;
        n->out[o]->out_index = o;
    }

    samba__note_updates(n);
    return samba__guarded(s, samba__push_node_body, n) ? n : NULL;
}

/* ---- Printing ---- */
/* Bits in hexadecimal, without leading zeros. */
SAMBA__FN void samba__put_hex(samba__text *t, uint32_t word)
{
    bool begun = false;
    samba__put_text(t, "0x");
    for (int32_t shift = 28; shift >= 0; shift -= 4) {
        uint32_t digit = word >> shift & 15u;
        begun = begun || digit || shift == 0;
        if (begun) samba__put_char(t, (char)(digit < 10 ? '0' + digit : 'a' + digit - 10));
    }
}

SAMBA__FN void samba__put_mask(samba__text *t, uint32_t mask)
{
    const char *before = "(";
    for (int32_t i = 0; i < 32; i++) {
        if (!(mask >> i & 1)) continue;
        samba__format(t, "%s%d", before, i);
        before = ",";
    }
    samba__put_text(t, mask ? ")" : "()");
}

SAMBA__FN void samba__put_attribute(samba__text *t, char kind, int32_t word)
{
    if (kind == 'm')
        samba__put_mask(t, (uint32_t)word);
    else if (kind == 'f')
        samba__format(t, "%g", (double)samba_attr_float(word));
    else if (kind == 'x')
        samba__put_hex(t, (uint32_t)word);
    else if (kind == 't' && word >= 0 && word < SAMBA_N_DTYPES)
        samba__format(t, "%T", word);
    else if (kind == 'b' && (word == 0 || word == 1))
        samba__put_text(t, word ? "yes" : "no");
    else
        samba__format(t, "%d", word);
}

/* " [eps=1e-05 affine=yes]": attributes as what they are; those the list has not, as numbers. */
SAMBA__FN void samba__put_attributes(samba__text *t, const samba_op *op, const int32_t *attr,
                                     int32_t n_attr)
{
    samba__attribute a = samba__attributes_begin(samba__attributes_of(op, n_attr), n_attr);
    if (n_attr == 0) return;

    samba__put_text(t, " [");
    while (samba__next_attribute(&a)) {
        if (a.first && a.n > 0) samba__put_char(t, ' ');
        for (int32_t i = 0; a.n > 0 && i < a.length; i++)
            samba__put_char(t, a.names[i]);

        for (int32_t k = 0; k < a.n; k++) {
            if (k || a.length) samba__put_char(t, k ? ' ' : '=');
            samba__put_attribute(t, a.kind, attr[a.first + k]);
        }
    }
    samba__put_char(t, ']');
}

SAMBA__FN void samba__put_outputs(samba__text *t, const samba__node *n)
{
    samba__put_text(t, " ->");
    for (int32_t o = 0; o < n->n_out; o++)
        samba__format(t, " %T %S", (int)n->out[o]->dtype, &n->out[o]->shape);
}

/* A call for people. And one for comparing: its attributes are the words that they are. */
SAMBA__FN void samba__put_call(samba__text *t, const samba__node *n)
{
    samba__format(t, "%s = %s(", n->name, n->op->name);
    samba__put_inputs(t, n->in, n->n_in);
    samba__put_char(t, ')');
    samba__put_attributes(t, n->op, n->attr, n->n_attr);
    samba__put_outputs(t, n);
}

SAMBA__FN void samba__put_exact_call(samba__text *t, const samba__node *n)
{
    samba__format(t, "%s = %s(", n->name, n->op->name);
    samba__put_inputs(t, n->in, n->n_in);
    samba__put_char(t, ')');
    for (int32_t i = 0; i < n->n_attr; i++)
        samba__format(t, i ? " %d" : " [%d", n->attr[i]);
    if (n->n_attr) samba__put_char(t, ']');
    samba__put_outputs(t, n);
}

SAMBA_API void samba_print_graph(samba_session *s, samba_emit_fn emit, void *user)
{
    char line[2048];
    if (s && emit) {
        for (int32_t i = 0; i < samba__n_nodes(s); i++) {
            samba__text t = samba__text_in(line, sizeof line);
            samba__put_call(&t, s->trace.nodes[i]);
            samba__put_char(&t, '\n');
            if (t.len >= t.cap) memcpy(line + sizeof line - 5, "...\n", 5);
            emit(line, user);
        }
    }
}

SAMBA_API void samba_print_ops(samba_emit_fn emit, void *user)
{
    char line[256];
    if (emit) {
        for (int32_t i = 0; i < SAMBA__N_OPS; i++) {
            const samba_op *op = &samba__op_table[i];
            emit(samba__print(line, sizeof line, "%s\t%d\n", op->name, (int32_t)op->wire), user);
        }
    }
}

