/* ==== [eager] ================================================================================= */
/* Ops that are computed at once, and the scopes that free what they made. */
SAMBA__FN bool samba__eager_pointers(samba__node *n, samba_args *a)
{
    samba_session *s = n->out[0]->session;
    for (int32_t i = 0; i < n->n_in; i++) {
        samba_tensor *x = n->in[i];
        if (x && samba__holds_parts(x))
            return samba_fail(
                s, SAMBA_ESTATE,
                "in %s: %s %S holds the rows of all microbatches; to compute with them, copy them to a tensor of as many rows: samba_copy_out, samba_from_data",
                n->op->name, x->name, &x->shape);

        if (x && !samba__in_reach(x)) return false;
        a->in[i] = x ? (const float *)samba__value_of(x) : NULL;
        if (!x || a->in[i]) continue;
        return samba_fail(
            s, SAMBA_ESTATE,
            "in %s: %s has no value to compute with; give it one with samba_write, or record the op with samba_set_tracing(s, true)",
            n->op->name, x->name);
    }

    for (int32_t o = 0; o < n->n_out; o++) {
        int32_t updated = samba__updated_input(n->op, o);
        if (updated < 0 && !samba__own_data(n->out[o])) return false;
        a->out[o] = (float *)samba__value_of(updated < 0 ? n->out[o] : n->in[updated]);
        n->out[o]->role = SAMBA__CONSTANT;
        samba_tensor *state = updated < 0 ? NULL : n->in[updated];
        n->out[o]->writes.holder = state && state->writes.holder ? state->writes.holder : state;
    }

    return true;
}

/* State of the loaded program that output o of n, which is computed at once, overwrites; NULL. */
SAMBA__FN samba_tensor *samba__state_over(const samba__node *n, int32_t o)
{
    int32_t updated = samba__updated_input(n->op, o);
    samba_tensor *t = updated < 0 ? NULL : n->in[updated];
    if (t && t->writes.holder) t = t->writes.holder;
    return t && t->session->program.rt && t->symbol >= 0 ? t : NULL;
}

/* The bytes of program state that n overwrites, as one number: another one tells that a backward
   pass would no longer find what its forward pass has read. */
SAMBA__FN uint64_t samba__hash_of_state(const samba__node *n)
{
    uint64_t hash = 0;
    for (int32_t o = 0; o < n->n_out; o++) {
        samba_tensor *t = samba__state_over(n, o);
        if (t) hash = samba__hash(samba__value_of(t), samba__host_bytes(t), hash);
    }
    return hash;
}

SAMBA__FN void samba__note_eager_state(const samba__node *n)
{
    for (int32_t o = 0; o < n->n_out; o++) {
        const samba_tensor *t = samba__state_over(n, o);
        if (!t) continue;
        samba__note_edit(t);
        if (t->role == SAMBA__GRADIENT) samba__note_gradient(t->session->program.rt);
    }
}

/* Computes a recorded node at once, through the same kernels as a compiled program. */
SAMBA__FN bool samba__run_eager(samba_session *s, samba__node *n, samba_call *c)
{
    int32_t fault[SAMBA__FAULT_WORDS] = { 0 };
    samba_work w;
    samba_args a = SAMBA__ZEROED;

    n->eager = true;
    if (!samba__eager_pointers(n, &a)) return false;
    samba__measure(n->op, c, &w);

    a.in_spec = c->in;
    a.out_spec = c->out;
    a.n_in = n->n_in;
    a.n_out = n->n_out;
    a.attr = n->attr;
    a.n_attr = n->n_attr;
    a.isa = s->desc.portable ? SAMBA__ISA_PORTABLE : samba__best_isa(false);
    a.train = s->modes.train;
    a.running_stats = s->modes.running_stats;
    a.fault = fault;

    void *scratch = w.scratch ? samba__alloc(s, (size_t)w.scratch + SAMBA__ALIGN) : NULL;
    if (w.scratch && !scratch) return false;
    a.scratch
        = scratch ? (uint8_t *)scratch + (SAMBA__ALIGN - (uintptr_t)scratch % SAMBA__ALIGN) : NULL;
    SAMBA_ASSERT((uintptr_t)a.scratch % SAMBA__ALIGN == 0);

    bool trains = s->program.rt && (s->program.rt->types & SAMBA_BCKWD);
    uint64_t before = trains ? samba__hash_of_state(n) : 0;
    bool fine = samba__run_op(n->op, &a, &w, &s->program.pool, s->program.local);
    samba__free(s, scratch, (size_t)w.scratch + SAMBA__ALIGN);
    if (trains && samba__hash_of_state(n) != before) samba__note_eager_state(n);
    if (fine) return true;

    int32_t which = fault[SAMBA__FAULT_INPUT];
    const samba_tensor *x = which >= 0 && which < n->n_in ? n->in[which] : NULL;
    char what[200];
    samba__print_fault(what, sizeof what, fault, x ? x->name : NULL, x ? &x->shape : NULL);
    return samba_fail(s, SAMBA_ERANGE, "in %s: %s", n->op->name, what);
}

/* ---- Scopes: what eager ops make goes at their end, and what the compiler records when it has
   compiled. ---- */
SAMBA__FN bool samba__open_scope(samba_session *s)
{
    samba__chunk *chunk = s->arenas.scope_chunks;
    size_t used = chunk ? chunk->used : 0;
    samba__scope *q = (samba__scope *)samba__arena_alloc_in(s, &s->arenas.scope_chunks, sizeof *q);
    if (!q) return false;

    q->outer = s->arenas.scope;
    q->chunk = chunk;
    q->used = used;
    q->n_tensors = samba__n_tensors(s);
    q->n_nodes = samba__n_nodes(s);
    q->n_named = s->trace.n_named;
    s->arenas.scope = q;
    return true;
}

SAMBA_API bool samba_scope_begin(samba_session *s)
{
    return samba_ok(s) && samba__open_scope(s);
}

/* A scope cannot end if the loaded program has one of its tensors, or a traced op reads one. */
SAMBA__FN bool samba__scope_can_end(samba_session *s, const samba__scope *q)
{
    for (int32_t i = q->n_tensors; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        if (t->transient && s->program.rt && t->symbol >= 0)
            return samba_fail(
                s, SAMBA_ESTATE,
                "in samba_scope_end: the loaded program has %s, which was made in the scope; nothing was freed",
                t->name);
    }

    for (int32_t i = q->n_nodes; i < samba__n_nodes(s); i++) {
        const samba__node *n = s->trace.nodes[i];
        if (!n->transient) {
            for (int32_t k = 0; k < n->n_in; k++)
                if (n->in[k] && n->in[k]->transient)
                    return samba_fail(
                        s, SAMBA_ESTATE,
                        "in samba_scope_end: %s, which was made in the scope, is read by %s, which was traced; nothing was freed",
                        n->in[k]->name, n->name);
        }
    }

    return true;
}

/* Frees the chunks behind the mark but for one, which the next scope takes: a loop over scopes then
   allocates nothing. */
SAMBA__FN void samba__scope_rewind(samba_session *s, const samba__scope *scope)
{
    samba__scope q = *scope; /* it lies in what goes */
    while (s->arenas.scope_chunks != q.chunk && (q.chunk || s->arenas.scope_chunks->next)) {
        SAMBA_ASSERT(s->arenas.scope_chunks); /* the mark is in the list */
        samba__chunk *c = s->arenas.scope_chunks;
        s->arenas.scope_chunks = c->next;
        samba__free(s, c, c->size);
    }

    samba__chunk *first = s->arenas.scope_chunks;
    first->used = q.chunk ? q.used : (sizeof *first + 15) & ~(size_t)15;
    s->arenas.scope = q.outer;
    s->trace.n_named = q.n_named;
    samba__arena_free(s, &s->arenas.temp_chunks); /* of long names */
}

/* Drops what was made in the innermost scope. Without memory it stays until an outer one ends, or
   the session: false. */
SAMBA__FN bool samba__close_scope(samba_session *s)
{
    samba__scope *q = s->arenas.scope;
    if (s->errors.poisoned) {
        s->arenas.scope = q->outer;
        return false;
    }

    for (int32_t i = samba__n_tensors(s) - 1; i >= q->n_tensors; i--) { /* the latest first */
        samba_tensor *t = s->trace.tensors[i];
        if (!t->transient) continue;
        if (t->writes.leaf && t->writes.leaf->writes.last == t)
            t->writes.leaf->writes.last = t->writes.before;
        if (t->value.borrowed) continue;
        samba__free(s, t->data, samba__copy_bytes(t));
        t->data = NULL;
    }

    if (!samba__guarded(s, samba__drop_scope_body, q)) {
        s->arenas.scope = q->outer;
        return false;
    }
    samba__scope_rewind(s, q);
    return true;
}

SAMBA_API bool samba_scope_end(samba_session *s)
{
    if (!s) return false;
    if (!s->arenas.scope)
        return samba_fail(s, SAMBA_ESTATE, "in samba_scope_end: no scope has begun");
    if (s->errors.poisoned || !samba__scope_can_end(s, s->arenas.scope)) {
        s->arenas.scope = s->arenas.scope->outer; /* see samba__close_scope */
        return false;
    }
    return samba__close_scope(s) && samba_ok(s);
}

