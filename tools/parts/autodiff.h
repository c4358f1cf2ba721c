/* ==== [autodiff] ============================================================================== */
/* Reverse mode over the recorded graph; every gradient is made of ops, recorded like any other. It
   visits only what the losses depend on: a session that computes at once has recorded far more. */
typedef struct samba__tape {
    samba_session *session;
    uint32_t mark; /* of the nodes and tensors below */
    int32_t n_nodes, n_tensors;
    int32_t n_before;          /* tensors of the session: what comes later is gradient */
    samba__node **nodes;       /* in trace order, which is topological order */
    samba_tensor **grad;       /* by the place of a tensor */
    bool *needed;              /* depends on something whose gradient is asked for */
    const samba__node *end[2]; /* NULL, or nodes through which no gradient is passed on */
    size_t nodes_size, size;   /* bytes of the list of nodes, of the two others */
    int32_t room;              /* nodes that fit into their list */
} samba__tape;

SAMBA__FN void samba__tape_close(samba__tape *t)
{
    samba__free(t->session, t->nodes, t->nodes_size);
    samba__free(t->session, t->grad, t->size);
}

SAMBA__FN bool samba__tape_has(const samba__tape *t, const samba_tensor *x)
{
    return x && x->walk.mark == t->mark;
}

SAMBA__FN bool samba__tape_needs(const samba__tape *t, const samba_tensor *x)
{
    return samba__tape_has(t, x) && t->needed[x->walk.place];
}

/* The gradient that x has so far; NULL: none. */
SAMBA__FN samba_tensor *samba__tape_grad(const samba__tape *t, const samba_tensor *x)
{
    return samba__tape_has(t, x) ? t->grad[x->walk.place] : NULL;
}

SAMBA__FN void samba__tape_see_tensor(samba__tape *t, samba_tensor *x)
{
    if (!x || x->walk.mark == t->mark) return;
    x->walk.mark = t->mark;
    x->walk.place = t->n_tensors++;
}

/* Gives x a place in the lists, and appends the node that makes it. */
SAMBA__FN bool samba__tape_see(samba__tape *t, samba_tensor *x)
{
    samba__node *n = x ? x->node : NULL;
    samba__tape_see_tensor(t, x);
    if (!n || n->mark == t->mark) return true;

    if (t->n_nodes == t->room) {
        int32_t room = t->room ? 2 * t->room : 64;
        size_t size = samba__mul_size((size_t)room, sizeof *t->nodes);
        samba__node **more = (samba__node **)samba__alloc(t->session, size);
        if (!more) return false;
        if (t->n_nodes) memcpy(more, t->nodes, (size_t)t->n_nodes * sizeof *more);
        samba__free(t->session, t->nodes, t->nodes_size);
        t->nodes = more;
        t->nodes_size = size;
        t->room = room;
    }

    n->mark = t->mark;
    t->nodes[t->n_nodes++] = n;
    for (int32_t o = 0; o < n->n_out; o++)
        samba__tape_see_tensor(t, n->out[o]);
    return true;
}

SAMBA__FN int samba__by_trace(const void *a, const void *b)
{
    const samba__node *x = *(samba__node *const *)a, *y = *(samba__node *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Takes the losses and all that they depend on. */
SAMBA__FN bool samba__tape_walk(samba__tape *t, samba_tensor *const *losses, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (!samba__tape_see(t, losses[i])) return false;
    for (int32_t i = 0; i < t->n_nodes; i++) {
        const samba__node *node = t->nodes[i];
        for (int32_t k = 0; k < node->n_in; k++)
            if (!samba__tape_see(t, node->in[k])) return false;
    }
    return true;
}

/* Finds what the losses depend on. */
SAMBA__FN bool samba__tape_open(samba__tape *t, samba_session *s, samba_tensor *const *losses,
                                int32_t n)
{
    memset(t, 0, sizeof *t);
    t->session = s;
    t->mark = ++s->trace.marks;
    t->n_before = samba__n_tensors(s);

    bool fine = samba__tape_walk(t, losses, n);
    t->size = (size_t)t->n_tensors * (sizeof *t->grad + sizeof *t->needed);
    if (fine) t->grad = (samba_tensor **)samba__alloc(s, t->size);
    if (!t->grad) {
        t->size = 0;
        samba__tape_close(t);
        return false;
    }

    memset(t->grad, 0, t->size);
    t->needed = (bool *)(t->grad + t->n_tensors);
    if (t->n_nodes) qsort(t->nodes, (size_t)t->n_nodes, sizeof *t->nodes, samba__by_trace);
    return true;
}

SAMBA__FN void samba__tape_want(samba__tape *t, const samba_tensor *x)
{
    if (samba__tape_has(t, x)) t->needed[x->walk.place] = true;
}

/* Marks what depends on the tensors that are wanted. */
SAMBA__FN void samba__tape_spread(samba__tape *t)
{
    for (int32_t i = 0; i < t->n_nodes; i++) {
        const samba__node *n = t->nodes[i];
        bool needed = false;
        for (int32_t k = 0; k < n->n_in; k++)
            needed = needed || samba__tape_needs(t, n->in[k]);
        if (!needed) continue;

        for (int32_t o = 0; o < n->n_out; o++)
            if (samba__is_float(n->out[o]->dtype)) samba__tape_want(t, n->out[o]);
    }
}

/* The axis along which two paddings lie side by side, a before b, and agree otherwise; -1: they do
   not. Both sources are surrounded by zeros. */
SAMBA__FN int32_t samba__side_by_side(const samba__node *a, const samba__node *b)
{
    const samba_shape *x = &a->in[0]->shape, *y = &b->in[0]->shape;
    int32_t axis = -1;
    for (int32_t i = 0; i < x->ndim; i++) {
        const int32_t *p = a->attr + SAMBA__PAD_WORDS * i, *q = b->attr + SAMBA__PAD_WORDS * i;
        if (x->dim[i] == y->dim[i] && !memcmp(p, q, SAMBA__PAD_WORDS * sizeof *p)) continue;
        bool stretched = p[SAMBA__PAD_BETWEEN] || q[SAMBA__PAD_BETWEEN];
        bool follows = p[SAMBA__PAD_BEFORE] + x->dim[i] == q[SAMBA__PAD_BEFORE];
        if (axis >= 0 || stretched || !follows) return -1;
        axis = i;
    }

    int32_t value = SAMBA__PAD_WORDS * x->ndim; /* behind the words of all dimensions */
    return a->attr[value] == 0 && b->attr[value] == 0 ? axis : -1;
}

/* The gradients of slices are padded with zeros: a + b where b continues a is a and b in one piece,
   in which nothing is added. NULL if this is no such sum, or an error. */
SAMBA__FN samba_tensor *samba__join_slices(samba_tensor *a, samba_tensor *b)
{
    const samba_op *pad = &samba__op_table[SAMBA__OP_pad], *cat = &samba__op_table[SAMBA__OP_cat];
    const samba__node *m = a->node, *n = b->node;
    samba_tensor *part[SAMBA_MAX_IN];
    int32_t attr[SAMBA__PAD_WORDS * SAMBA_MAX_DIMS + 1], count = 0, n_attr = m ? m->n_attr : 0;
    if (!m || !n || m->op != pad || n->op != pad) return NULL;

    int32_t axis = samba__side_by_side(m, n);
    const samba__node *rest = n->in[0]->node; /* b may have been joined before */
    bool more = rest && rest->op == cat && rest->attr[SAMBA__AXIS_NUMBER] == axis
        && rest->n_in < SAMBA_MAX_IN;
    if (axis < 0) return NULL;

    part[count++] = m->in[0];
    if (more) {
        for (int32_t i = 0; i < rest->n_in; i++)
            part[count++] = rest->in[i];
    } else {
        part[count++] = n->in[0];
    }
    samba_tensor *joined = samba_cat(part, count, axis);

    memcpy(attr, m->attr, (size_t)n_attr * sizeof *attr);
    int32_t after = SAMBA__PAD_WORDS * axis + SAMBA__PAD_AFTER;
    attr[after] = n->attr[after];
    for (int32_t i = 0; i < n_attr; i++)
        if (attr[i]) return samba__emit1(SAMBA__OP_pad, joined, attr, n_attr);
    return joined;
}

SAMBA__FN bool samba__tape_add(samba__tape *t, const samba__node *n, int32_t i, samba_tensor *din)
{
    samba_tensor *x = n->in[i];
    SAMBA_ASSERT(x->walk.mark == t->mark && x->walk.place < t->n_tensors);
    if (!samba__same_shape(&din->shape, &x->shape))
        return samba_fail(
            t->session, SAMBA_ESHAPE,
            "the gradient rule of %s gives %S for input %d, %s %S; it must have the input's shape",
            n->op->name, &din->shape, i, x->name, &x->shape);

    samba_tensor **sum = &t->grad[x->walk.place];
    if (!*sum) {
        *sum = din;
        return true;
    }

    samba_tensor *joined = samba__join_slices(din, *sum);
    if (!joined && samba_ok(t->session)) joined = samba__join_slices(*sum, din);
    *sum = joined ? joined : samba_add(*sum, din);
    return *sum != NULL;
}

/* The gradient of n, nodes from `first` on, comes after the whole forward pass: it cannot read
   state of which n read a former value. batch_norm reads statistics only where none are updated. */
SAMBA__FN bool samba__tape_reads_current(const samba__tape *t, const samba__node *n, int32_t first)
{
    for (int32_t i = first; i < samba__n_nodes(t->session); i++) {
        const samba__node *g = t->session->trace.nodes[i];
        if (samba__is(g->op, SAMBA__OP_batch_norm_backward)) continue;

        for (int32_t k = 0; k < g->n_in; k++) {
            const samba_tensor *x = g->in[k];
            if (!x || x->id >= t->n_before) continue;
            const samba__node *writer = samba__last_writer(t->session, x);
            if (!writer || writer->id <= n->id) continue;
            return samba_fail(
                t->session, SAMBA_ESTATE,
                "the gradient of %s reads %s, which %s overwrites before; let %s read a copy of it, samba_scale(%s, 1)",
                n->name, x->name, writer->name, n->name, x->name);
        }
    }

    return true;
}

SAMBA__FN bool samba__tape_node(samba__tape *t, const samba__node *n)
{
    samba_tensor *dout[SAMBA_MAX_OUT] = { NULL, NULL, NULL, NULL };
    SAMBA_ASSERT(n->mark == t->mark);
    bool flows = false, needed = false;
    samba_vjp g = SAMBA__ZEROED;

    for (int32_t o = 0; o < n->n_out; o++) {
        dout[o] = samba__tape_grad(t, n->out[o]);
        flows = flows || dout[o];
    }
    for (int32_t i = 0; i < n->n_in; i++)
        needed = needed || samba__tape_needs(t, n->in[i]);
    if (!flows || !needed || n == t->end[0] || n == t->end[1]) return true;

    if (!n->op->vjp && !samba__is_builtin(n->op))
        return samba_fail(
            t->session, SAMBA_EOP,
            "%s has no gradient rule; give its samba_op a vjp, or keep it out of what leads from a parameter to the loss",
            n->op->name);
    /* A rule of samba's own begins with output 0; the others are side outputs. One of the user's is
       told by NULLs what flows. */
    if (!dout[0] && samba__is_builtin(n->op)) return true;
    if (!n->op->vjp)
        return samba_fail(
            t->session, SAMBA_EOP,
            "%s has no gradient: a second derivative through this op is not offered; build the expression from elementwise ops, matmul and sums instead",
            n->op->name);

    g.session = t->session;
    g.in = n->in;
    g.n_in = n->n_in;
    g.out = n->out;
    g.n_out = n->n_out;
    g.dout = dout;
    g.attr = n->attr;
    g.n_attr = n->n_attr;

    int32_t first = samba__n_nodes(t->session);
    n->op->vjp(&g);
    if (!samba__tape_reads_current(t, n, first)) return false;

    for (int32_t i = 0; i < n->n_in && samba_ok(t->session); i++) {
        bool wanted = g.din[i] && samba__tape_needs(t, n->in[i]);
        if (wanted && !samba__tape_add(t, n, i, g.din[i])) return false;
    }
    return samba_ok(t->session);
}

SAMBA__FN bool samba__tape_run(samba__tape *t)
{
    for (int32_t i = t->n_nodes - 1; i >= 0 && samba_ok(t->session); i--)
        if (!samba__tape_node(t, t->nodes[i])) break;
    return samba_ok(t->session);
}

/* Where the backward pass begins: dloss = value. */
SAMBA__FN bool samba__tape_seed(samba__tape *t, samba_tensor *loss, samba_tensor *grad)
{
    SAMBA_ASSERT(loss->walk.mark == t->mark && loss->walk.place < t->n_tensors);
    samba_tensor **sum = &t->grad[loss->walk.place];
    *sum = *sum ? samba_add(*sum, grad) : grad;
    return *sum != NULL;
}

/* Can there be a gradient of this loss with respect to x? */
SAMBA__FN bool samba__check_grad(const samba_tensor *loss, const samba_tensor *x)
{
    samba_session *s = loss->session;
    if (x->session != s)
        return samba_fail(s, SAMBA_EARG, "in samba_grad: %s and %s belong to different sessions",
                          loss->name, x->name);
    if (!samba__is_float(loss->dtype) || !samba__is_float(x->dtype))
        return samba_fail(s, SAMBA_EDTYPE,
                          "in samba_grad: %s is %T and %s is %T; both must be floats", loss->name,
                          (int)loss->dtype, x->name, (int)x->dtype);
    return true;
}

/* What GraphAMP makes of a value x that is rounded: x is cast from a bf16, and that from what the
   op computed. Products read the bf16, rules of gradients may read what was computed, all others
   read x. Whoever asks for the gradient of x means all three, and no casts between them. */
SAMBA__FN samba_tensor *samba__half_of(const samba_tensor *x)
{
    return x->rounded ? x->node->in[0] : NULL;
}

SAMBA__FN samba_tensor *samba__computed_of(const samba_tensor *x)
{
    const samba_tensor *half = samba__half_of(x);
    return half && half->node ? half->node->in[0] : NULL;
}

SAMBA__FN void samba__tape_want_rounded(samba__tape *t, const samba_tensor *x)
{
    const samba_tensor *half = samba__half_of(x);
    samba__tape_want(t, half);
    samba__tape_want(t, samba__computed_of(x));
    t->end[0] = x->node;
    t->end[1] = half->node;
}

/* What the tape has found of x. */
SAMBA__FN samba_tensor *samba__tape_total(const samba__tape *t, const samba_tensor *x)
{
    samba_tensor *dx = samba__tape_grad(t, x);
    samba_tensor *more[2]
        = { samba__tape_grad(t, samba__half_of(x)), samba__tape_grad(t, samba__computed_of(x)) };

    for (int i = 0; i < 2; i++) {
        samba_tensor *part = more[i] ? samba_cast(more[i], SAMBA_F32) : NULL;
        if (part) dx = dx ? samba_add(part, dx) : part;
    }
    return dx;
}

SAMBA__FN samba_tensor *samba__gradient_of(samba_tensor *loss, samba_tensor *x)
{
    samba__tape t;
    if (!loss || !x || !samba_ok(loss->session)) return NULL;
    samba_session *s = loss->session;
    if (!samba__check_grad(loss, x) || !samba__tape_open(&t, s, &loss, 1)) return NULL;

    s->trace.differentiating = true;
    samba__tape_want(&t, x);
    if (x->rounded) samba__tape_want_rounded(&t, x);
    samba__tape_spread(&t);
    bool fine = samba__tape_needs(&t, loss);
    if (!fine)
        samba_fail(s, SAMBA_EARG, "in samba_grad: %s does not depend on %s", loss->name, x->name);
    fine = fine && samba__tape_seed(&t, loss, samba_full(s, loss->shape, 1.0f))
        && samba__tape_run(&t);

    samba_dtype dtype = x->role == SAMBA__WEIGHT ? SAMBA_F32 : x->dtype; /* as optimizers read */
    samba_tensor *dx = fine ? samba_cast(samba__tape_total(&t, x), dtype) : NULL;
    s->trace.differentiating = false;
    if (!dx) { /* the first error stays */
        samba_fail(s, SAMBA_EOP, "in samba_grad: no gradient from %s to %s", loss->name, x->name);
    }
    samba__tape_close(&t);
    return dx;
}

SAMBA_API samba_tensor *samba_grad(samba_tensor *loss, samba_tensor *x)
{
    samba__float_mode callers = samba__enter_float_mode();
    samba_tensor *result = samba__gradient_of(loss, x);
    samba__leave_float_mode(callers);
    return result;
}

