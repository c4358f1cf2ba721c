/* ==== [passes] ================================================================================ */
/* From what was traced to the nodes that will run: copies of the nodes that outputs, losses and
   steps need, rewritten (common subexpressions once, dead code gone), in an order that is safe. */

/* An output or a gradient: the caller's handle, and the tensor of the graph whose value it gets. */
typedef struct samba__binding_pair {
    samba_tensor *named, *source;
} samba__binding_pair;

/* A rewrite that was made, for the log. */
typedef struct samba__rewritten {
    const char *why, *name, *op;   /* the node before */
    const char *new_name, *new_op; /* and what is in its place */
    struct samba__rewritten *next;
} samba__rewritten;

/* One compilation: the program, then copies of the nodes it needs, rewritten and scheduled. */
typedef struct samba__compilation {
    samba_session *session;
    const samba_program *program;
    samba_tensor *outputs[SAMBA_MAX_OUTPUTS + 1];
    samba_tensor *losses[SAMBA_MAX_OUTPUTS + 1];
    int32_t n_outputs, n_losses, microbatches, replicas;
    bool accumulates;               /* gradients: over microbatches, or over runs */
    const char *graph;              /* of the losses */
    samba_tensor **params, **grads; /* trainable, with their optimizer */
    int32_t *optim_of;              /* by tensor id: 1 + its optimizer; 0: none, -1: yet */
    int32_t n_params;
    samba__binding_pair *pairs; /* named tensors and the values they are to hold */
    samba__binding_pair *flows; /* values of the forward pass and their gradients, for the log */
    int32_t n_pairs, n_flows;
    samba_tensor **bound;            /* by tensor id: the named tensor this value is stored as */
    int32_t *uses;                   /* by tensor id: by nodes and names, before fusion */
    bool *overwritten;               /* by id of a leaf: is a state that traced nodes update */
    int32_t n_tensors;               /* ids; with room for stand-ins */
    int32_t n_stand_ins;             /* tensors of the compilation's own, after the session's */
    int32_t first_generated;         /* id of the first node of the compiler's own */
    samba__node **nodes, **producer; /* producer: by tensor id, among nodes */
    int32_t n_nodes;
    uint32_t joined;                       /* types of sections that are one; 0: each is its own */
    struct samba__parts *parts;            /* how parts make the batch; NULL: it is one part */
    struct samba__substitute *substitutes; /* inputs that nodes have for the time being */
    samba__rewritten *rewritten, *last_rewritten;
} samba__compilation;

SAMBA__FN const samba_optim *samba__optim_at(const samba_program *p, int32_t i)
{
    return p->optims ? &p->optims[i] : &p->optim;
}

SAMBA__FN int32_t samba__n_optims(const samba_program *p)
{
    if (p->optims) return p->n_optims;
    return p->optim.kind ? 1 : 0;
}

/* Does BCKWD also step the parameters? The gradients of microbatches must last, so it cannot. */
SAMBA__FN bool samba__is_spatial(const samba__compilation *c)
{
    return c->program->mapping == SAMBA_MAPPING_SPATIAL && c->microbatches == 1;
}

/* What rewrites put in the place of t, or t. */
SAMBA__FN samba_tensor *samba__final(samba_tensor *t)
{
    while (t && t->same_as) {
        SAMBA_ASSERT(t->same_as != t);
        t = t->same_as;
    }
    return t;
}

SAMBA__FN samba__node *samba__producer_of(const samba__compilation *c, const samba_tensor *t)
{
    return t && t->id < c->n_tensors ? c->producer[t->id] : NULL;
}

/* A node that only the compilation has, with n_in inputs. */
SAMBA__FN samba__node *samba__temp_node(samba_session *s, int32_t n_in)
{
    samba__node *n = (samba__node *)samba__temp(s, 1, sizeof *n);
    if (!n) return NULL;
    n->n_in = n_in;
    n->in = (samba_tensor **)samba__temp(s, n_in, sizeof *n->in);
    n->attr = (int32_t *)samba__temp(s, SAMBA_MAX_ATTR, sizeof *n->attr);
    return n->in && n->attr ? n : NULL;
}

SAMBA__FN samba__node *samba__own_copy(samba_session *s, const samba__node *n)
{
    samba__node *copy = samba__temp_node(s, n->n_in), own;
    if (!copy) return NULL;
    own = *copy;
    *copy = *n;
    copy->in = own.in;
    copy->attr = own.attr;
    memcpy(copy->in, n->in, (size_t)n->n_in * sizeof *copy->in);
    memcpy(copy->attr, n->attr, (size_t)n->n_attr * sizeof *copy->attr);
    return copy;
}

/* Is node needed? Somebody needs what it makes, or reads a state that it overwrites: who reads a
   state needs the nodes that overwrote it before, whether it reads their results or not. */
SAMBA__FN bool samba__is_needed(const samba__node *node, const bool *needed, const bool *read)
{
    for (int32_t o = 0; o < node->n_out; o++) {
        bool updates = !node->generated && samba__updated_input(node->op, o) >= 0;
        if (needed[node->out[o]->id]) return true;
        if (updates && read[samba__memory_of_state(node->out[o])->id]) return true;
    }
    return false;
}

/* needed: what is read, by tensor; read: memory, by the leaf that has it. */
SAMBA__FN void samba__need(const samba_tensor *t, bool *needed, bool *read)
{
    needed[t->id] = read[samba__memory_of_state(t)->id] = true;
}

SAMBA__FN void samba__need_inputs(const samba__node *node, bool *needed, bool *read)
{
    for (int32_t k = 0; k < node->n_in; k++)
        if (node->in[k]) samba__need(node->in[k], needed, read);
}

/* Marks as live the nodes that lead to an output, a gradient or an update by the compiler. */
SAMBA__FN bool samba__mark_live(samba__compilation *c, samba__node *const *nodes, int32_t n)
{
    bool *needed = (bool *)samba__temp(c->session, 2 * c->n_tensors, sizeof *needed);
    bool *read = needed ? needed + c->n_tensors : NULL;
    if (!needed) return false;

    for (int32_t i = 0; i < c->n_pairs; i++) {
        const samba_tensor *t = samba__final(c->pairs[i].source);
        SAMBA_ASSERT(t->id < c->n_tensors);
        samba__need(t, needed, read);
    }

    for (int32_t i = n - 1; i >= 0; i--) {
        samba__node *node = nodes[i];
        bool live = (node->id >= c->first_generated && samba__updates(node->op))
            || samba__is_needed(node, needed, read);
        for (int32_t o = 0; o < node->n_out; o++)
            needed[node->out[o]->id] = false; /* who wrote it before a copy did so in vain */
        node->live = live && !node->eager && !node->out[0]->same_as;
        if (node->live) samba__need_inputs(node, needed, read);
    }

    return true;
}

/* Does what the user traced overwrite the memory of t, at one time or another? */
SAMBA__FN bool samba__is_overwritten(const samba__compilation *c, const samba_tensor *t)
{
    return t && c->overwritten[samba__memory_of_state(t)->id];
}

SAMBA__FN bool samba__reads_overwritten(const samba__compilation *c, const samba__node *n)
{
    for (int32_t k = 0; k < n->n_in; k++)
        if (samba__is_overwritten(c, n->in[k])) return true;
    return false;
}

SAMBA__FN bool samba__collect_live(samba__compilation *c)
{
    samba_session *s = c->session;
    int32_t n = samba__n_nodes(s);

    c->nodes = (samba__node **)samba__temp(s, n + c->n_pairs + c->n_params, sizeof *c->nodes);
    c->producer = (samba__node **)samba__temp(s, c->n_tensors, sizeof *c->producer);
    c->overwritten = (bool *)samba__temp(s, c->n_tensors, sizeof *c->overwritten);
    for (int32_t i = 0; i < samba__n_tensors(s); i++)
        s->trace.tensors[i]->same_as = NULL;
    if (!c->nodes || !c->producer || !c->overwritten || !samba__mark_live(c, s->trace.nodes, n))
        return false;

    for (int32_t i = 0; i < n; i++) {
        const samba__node *node = s->trace.nodes[i];
        if (!node->live) continue;
        SAMBA_ASSERT(node->id == i); /* nodes stand in the order of tracing */
        samba__node *copy = samba__own_copy(s, node);
        if (!copy) return false;
        c->nodes[c->n_nodes++] = copy;

        for (int32_t o = 0; o < copy->n_out; o++) {
            samba_tensor *y = copy->out[o];
            bool updates = samba__updated_input(copy->op, o) >= 0;
            c->producer[y->id] = copy;
            if (updates && !copy->generated) c->overwritten[samba__memory_of_state(y)->id] = true;
        }
    }

    return true;
}

/* The node of this op that makes t, if what it reads may as well be read later; or NULL. */
SAMBA__FN samba__node *samba__made_by(const samba__compilation *c, const samba_tensor *t,
                                      int32_t op)
{
    samba__node *n = samba__producer_of(c, t);
    return n && samba__is(n->op, op) && !samba__reads_overwritten(c, n) ? n : NULL;
}

/* The only value of a constant scalar or tensor made by full. */
SAMBA__FN bool samba__is_full(const samba__compilation *c, const samba_tensor *t, float *value)
{
    const samba__node *n = samba__producer_of(c, t);
    while (n && (samba__is(n->op, SAMBA__OP_expand) || samba__is(n->op, SAMBA__OP_reshape)))
        n = samba__producer_of(c, n->in[0]);
    bool full = n && samba__is(n->op, SAMBA__OP_full);
    if (full) *value = samba_attr_float(n->attr[SAMBA__FULL_VALUE]);
    return full;
}

/* What a node reads and makes, by its op's own rules. */
SAMBA__FN bool samba__infer_node(const samba__node *n, samba__decoded *d)
{
    memset(&d->call, 0, sizeof d->call);
    for (int32_t i = 0; i < n->n_in; i++)
        d->in[i] = samba__spec_of(n->in[i]);
    d->call.in = d->in;
    d->call.n_in = n->n_in;
    d->call.attr = n->attr;
    d->call.n_attr = n->n_attr;
    return samba__infer(n->op, &d->call);
}

/* And what it costs. */
SAMBA__FN bool samba__cost_of(const samba__node *n, samba__decoded *d, samba_work *w)
{
    bool fine = samba__infer_node(n, d);
    if (fine) samba__measure(n->op, &d->call, w);
    return fine;
}

/* What a node reads and writes, in bytes. */
SAMBA__FN int64_t samba__bytes_moved(const samba__node *n)
{
    size_t bytes = 0;
    for (int32_t k = 0; k < n->n_in; k++)
        bytes += n->in[k] ? samba__host_bytes(n->in[k]) : 0;
    for (int32_t o = 0; o < n->n_out; o++)
        bytes += samba__host_bytes(n->out[o]);
    return (int64_t)bytes;
}

/* ---- Rewrites. A rule returns what replaces the node's output, the output itself if it changed
   the node in place, or NULL if it does not apply. ---- */
/* In a program that only infers, dropout does nothing. */
SAMBA__FN samba_tensor *samba__attend_without(samba__compilation *c, samba__node *n)
{
    if (!c->program->inference || n->n_in <= SAMBA__ATTENTION_RATE) return NULL;
    n->n_in = SAMBA__ATTENTION_RATE; /* the inputs before */
    return n->out[0];
}

SAMBA__FN samba_tensor *samba__drop_dropout(samba__compilation *c, samba__node *n)
{
    return c->program->inference ? n->in[0] : NULL;
}

/* A packed tensor of a parameter: name__int8 and the like, or its scales. NULL: not there yet. */
SAMBA__FN samba_tensor *samba__packed_of(const samba_tensor *w, const char *kind)
{
    char buffer[256];
    const char *name
        = samba__print_name(w->session, buffer, sizeof buffer, "%s__%s", w->name, kind);
    return name ? samba__named(w->session, name) : NULL;
}

/* The type that w (n,k) is packed as. */
SAMBA__FN samba_weights samba__packs_as(const samba_tensor *w, samba_weights weights)
{
    if (w->role != SAMBA__WEIGHT || w->shape.ndim != 2 || w->dtype != SAMBA_F32)
        return SAMBA_WEIGHTS_PLAIN;
    bool groups = w->shape.dim[1] % SAMBA__GROUP == 0;
    return weights >= SAMBA_WEIGHTS_INT8 && !groups ? SAMBA_WEIGHTS_BF16 : weights;
}

static const struct {
    const char *name, *scale;
    samba_dtype type;
} samba__packing[] = { { NULL, NULL, SAMBA_F32 },
                       { "f32", NULL, SAMBA_F32 },
                       { "bf16", NULL, SAMBA_BF16 },
                       { "int8", "int8_scale", SAMBA_I8 },
                       { "int4", "int4_scale", SAMBA_U8 } };

/* Does the program quantize what node n makes? */
SAMBA__FN bool samba__quantizes(const samba__compilation *c, const samba__node *n)
{
    const samba_program *p = c->program;
    return !p->quantizes || p->quantizes(n->out[0], p->quantizes_user);
}

/* Products and lookups read parameters that were packed: samba__pack_weights made them. The inputs
   up to the scale are the same in both ops. */
SAMBA__FN bool samba__read_packed(samba__compilation *c, samba__node *n, samba_tensor *w,
                                  int32_t n_in)
{
    samba_weights as = samba__packs_as(w, c->program->weights);
    if (as == SAMBA_WEIGHTS_PLAIN || !samba__quantizes(c, n)) return false;
    samba_tensor **in = (samba_tensor **)samba__temp(c->session, n_in, sizeof *in);
    if (!in) return false;

    const char *scale = samba__packing[as].scale;
    in[0] = n->in[0];
    in[SAMBA__AFFINE_PACKED_WEIGHT] = samba__packed_of(w, samba__packing[as].name);
    if (scale) in[SAMBA__AFFINE_PACKED_SCALE] = samba__packed_of(w, scale);

    n->in = in;
    n->n_in = n_in;
    n->attr[SAMBA__PACKED_ROWS] = w->shape.dim[0];
    return true;
}

SAMBA__FN samba_tensor *samba__affine_packed(samba__compilation *c, samba__node *n)
{
    samba_tensor *bias = n->n_in > SAMBA__AFFINE_BIAS ? n->in[SAMBA__AFFINE_BIAS] : NULL;
    samba_tensor *w = n->in[SAMBA__AFFINE_WEIGHT];
    if (!samba__read_packed(c, n, w, SAMBA__AFFINE_PACKED_INPUTS)) return NULL;
    n->op = &samba__op_table[SAMBA__OP_affine_packed];
    n->in[SAMBA__AFFINE_PACKED_BIAS] = bias;
    n->n_attr = 1; /* x has as many columns */
    return n->out[0];
}

SAMBA__FN samba_tensor *samba__lookup_packed(samba__compilation *c, samba__node *n)
{
    samba_tensor *w = n->in[SAMBA__LOOKUP_WEIGHT];
    if (!samba__read_packed(c, n, w, SAMBA__LOOKUP_PACKED_INPUTS)) return NULL;
    n->op = &samba__op_table[SAMBA__OP_lookup_packed];
    n->attr[SAMBA__PACKED_COLUMNS] = w->shape.dim[1];
    n->n_attr = 2;
    return n->out[0];
}

/* reshape(reshape(x)) = reshape(x), or x. */
SAMBA__FN samba_tensor *samba__join_reshapes(samba__compilation *c, samba__node *n)
{
    samba__node *inner = samba__made_by(c, n->in[0], SAMBA__OP_reshape);
    if (!inner) return NULL;
    n->in[0] = inner->in[0];
    return samba__same_shape(&n->in[0]->shape, &n->out[0]->shape) ? n->in[0] : n->out[0];
}

/* permute(permute(x)): compose, or x if they undo each other. */
SAMBA__FN samba_tensor *samba__join_permutes(samba__compilation *c, samba__node *n)
{
    samba__node *inner = samba__made_by(c, n->in[0], SAMBA__OP_permute);
    bool same = true;
    if (!inner) return NULL;
    for (int32_t i = 0; i < n->n_attr; i++) {
        n->attr[i] = inner->attr[n->attr[i]];
        same = same && n->attr[i] == i;
    }
    n->in[0] = inner->in[0];
    return same ? n->in[0] : n->out[0];
}

/* scale(x, 1) = x; neg(neg(x)) = x. */
SAMBA__FN samba_tensor *samba__drop_scale(samba__compilation *c, samba__node *n)
{
    (void)c;
    return samba_attr_float(n->attr[SAMBA__SCALE_FACTOR]) == 1.0f ? n->in[0] : NULL;
}

SAMBA__FN samba_tensor *samba__drop_negs(samba__compilation *c, samba__node *n)
{
    samba__node *inner = samba__made_by(c, n->in[0], SAMBA__OP_neg);
    return inner ? inner->in[0] : NULL;
}

/* x times a constant 1 is x; times another constant is scale. */
SAMBA__FN samba_tensor *samba__mul_to_scale(samba__compilation *c, samba__node *n)
{
    float value;
    for (int32_t i = 0; i < 2; i++) {
        samba_tensor *x = n->in[1 - i];
        if (!samba__is_full(c, n->in[i], &value) || !samba__same_shape(&x->shape, &n->out[0]->shape)
            || x->dtype != n->out[0]->dtype)
            continue;
        if (value == 1.0f) return x;

        n->op = &samba__op_table[SAMBA__OP_scale];
        n->in[0] = x;
        n->n_in = 1;
        n->attr[SAMBA__SCALE_FACTOR] = samba_float_attr(value);
        n->n_attr = 1;
        return n->out[0];
    }
    return NULL;
}

/* matmul of a matrix whose last two axes were swapped reads it the other way round instead. */
SAMBA__FN samba_tensor *samba__matmul_permuted(samba__compilation *c, samba__node *n)
{
    bool changed = false;
    for (int32_t i = 0; i < 2; i++) {
        samba__node *p = samba__made_by(c, n->in[i], SAMBA__OP_permute);
        int32_t d = p ? p->n_attr : 0;
        bool swaps = d >= 2 && p->attr[d - 1] == d - 2 && p->attr[d - 2] == d - 1;
        for (int32_t k = 0; swaps && k < d - 2; k++)
            swaps = p->attr[k] == k;
        if (!swaps) continue;

        n->in[i] = p->in[0];
        n->attr[i] = !n->attr[i];
        changed = true;
    }

    return changed ? n->out[0] : NULL;
}

/* If updates led to r, the tensor that the first of them overwrote; else r. */
SAMBA__FN samba_tensor *samba__updated_from(const samba__compilation *c, samba_tensor *r)
{
    const samba__node *n = samba__producer_of(c, r);
    int32_t k = n ? samba__updated_input(n->op, r->out_index) : -1;
    for (samba_tensor *x = r; k >= 0; k = samba__updated_input(n->op, x->out_index)) {
        x = n->in[k];
        n = samba__producer_of(c, x);
        if (!n) return r;
        if (samba__updated_input(n->op, x->out_index) < 0) return x;
    }
    return r;
}

/* The op that adds what m makes to a tensor, in its place; NULL if there is none. */
SAMBA__FN const samba_op *samba__accumulating_op(const samba__node *m)
{
    if (samba__is(m->op, SAMBA__OP_matmul)) return &samba__op_table[SAMBA__OP_matmul_accumulate];
    if (samba__is(m->op, SAMBA__OP_lookup_backward))
        return &samba__op_table[SAMBA__OP_lookup_accumulate];
    return NULL;
}

/* Makes n add to `sum` what the node of `part` makes, which nothing else reads. */
SAMBA__FN samba_tensor *samba__sum_in_place(samba__compilation *c, samba__node *n,
                                            samba_tensor *sum, samba_tensor *part)
{
    const samba__node *m = samba__producer_of(c, part);
    bool fits = m && c->uses[part->id] == 1 && m->section == n->section
        && samba__same_shape(&part->shape, &sum->shape) && !samba__reads_overwritten(c, m);
    const samba_op *op = fits ? samba__accumulating_op(m) : NULL;
    if (!op) return NULL;

    samba_tensor **in
        = (samba_tensor **)samba__temp(c->session, SAMBA__ACCUMULATE_INPUTS, sizeof *in);
    if (!in) return NULL;
    in[0] = m->in[0];
    in[1] = m->in[1];
    in[SAMBA__ACCUMULATE_SUM] = sum;

    n->op = op;
    n->in = in;
    n->n_in = SAMBA__ACCUMULATE_INPUTS;
    n->attr = m->attr;
    n->n_attr = m->n_attr;
    return n->out[0];
}

SAMBA__FN samba_tensor *samba__accumulate_in_place(samba__compilation *c, samba__node *n)
{
    return n->attr[SAMBA__ACCUMULATE_ANEW] ? NULL : samba__sum_in_place(c, n, n->in[0], n->in[1]);
}

/* In gradients, x + a later product goes on summing in x; x + the gradient of an embedding changes
   few rows of x. Traced sums keep the bits they have when they are computed at once. */
SAMBA__FN samba_tensor *samba__add_in_place(samba__compilation *c, samba__node *n)
{
    bool first = samba__made_by(c, n->in[0], SAMBA__OP_lookup_backward) != NULL;
    samba_tensor *part = n->in[!first], *x = n->in[first], *begun = samba__updated_from(c, x);
    const samba__node *m = samba__producer_of(c, begun), *last = samba__producer_of(c, part);

    bool sums = samba__made_by(c, part, SAMBA__OP_lookup_backward)
        || (n->generated && samba__made_by(c, part, SAMBA__OP_matmul));
    bool free = sums && m && last && m->id < last->id && c->uses[x->id] == 1
        && m->section == n->section && !(m->op->flags & SAMBA_OP_VIEW)
        && samba__updated_input(m->op, begun->out_index) < 0 && x->dtype == SAMBA_F32;
    return free ? samba__sum_in_place(c, n, x, part) : NULL;
}

/* A fusion looks at how often a value is used: that is known when all else is simple. */
typedef struct samba__rewrite {
    int32_t op;
    bool fuses;
    samba_tensor *(*apply)(samba__compilation *c, samba__node *n);
    const char *why;
} samba__rewrite;

static const samba__rewrite samba__rewrites[]
    = { { SAMBA__OP_dropout, false, samba__drop_dropout, "inference drops nothing" },
        { SAMBA__OP_scaled_dot_product_attention, false, samba__attend_without,
          "inference drops nothing" },
        { SAMBA__OP_affine, false, samba__affine_packed, "weights are packed" },
        { SAMBA__OP_lookup, false, samba__lookup_packed, "weights are packed" },
        { SAMBA__OP_reshape, false, samba__join_reshapes, "one reshape after another" },
        { SAMBA__OP_permute, false, samba__join_permutes, "one permutation after another" },
        { SAMBA__OP_scale, false, samba__drop_scale, "a factor of 1" },
        { SAMBA__OP_neg, false, samba__drop_negs, "negated twice" },
        { SAMBA__OP_mul, false, samba__mul_to_scale, "a constant factor" },
        { SAMBA__OP_matmul, false, samba__matmul_permuted,
          "a product reads a transposed matrix where it lies" },
        { SAMBA__OP_accumulate, true, samba__accumulate_in_place, "a sum goes on in place" },
        { SAMBA__OP_add, true, samba__add_in_place, "a sum goes on in place" } };

/* Notes that node n, which was of op `was`, has become another one. */
SAMBA__FN void samba__note_call(samba__compilation *c, const char *why, const samba__node *n,
                                const samba_op *was, const char *new_name, const char *new_op)
{
    samba__rewritten *r
        = c->program->pef ? (samba__rewritten *)samba__temp(c->session, 1, sizeof *r) : NULL;
    if (!r) return;

    r->why = why;
    r->name = n->name;
    r->op = was->name;
    r->new_name = new_name;
    r->new_op = new_op;

    if (c->last_rewritten)
        c->last_rewritten->next = r;
    else
        c->rewritten = r;
    c->last_rewritten = r;
}

/* The same, of a node that has become y. */
SAMBA__FN void samba__note_rewrite(samba__compilation *c, const char *why, const samba__node *n,
                                   const samba_op *was, const samba_tensor *y)
{
    const samba__node *by = y == n->out[0] ? n : samba__producer_of(c, y);
    samba__note_call(c, why, n, was, by ? by->name : y->name, by ? by->op->name : "leaf");
}

/* An elementwise op stretches its inputs itself: it need not read what expand wrote. */
SAMBA__FN void samba__skip_expands(samba__compilation *c, samba__node *n)
{
    if (samba__class_of(n->op) != SAMBA__IS_ELEMENTWISE) return;

    for (int32_t i = 0; i < n->n_in; i++) {
        samba__node *e = samba__made_by(c, n->in[i], SAMBA__OP_expand);
        samba_tensor *before = n->in[i];
        samba__decoded d;
        if (!e) continue;

        n->in[i] = e->in[0];
        if (!samba__infer_node(n, &d)
            || !samba__same_shape(&d.call.out[0].shape, &n->out[0]->shape))
            n->in[i] = before;
        else
            samba__note_rewrite(c, "an elementwise op stretches its input", e, e->op, n->out[0]);
    }
}

/* An elementwise op on constant scalars is computed now. */
SAMBA__FN void samba__fold_constants(samba__compilation *c, samba__node *n)
{
    float value[SAMBA_MAX_IN], result = 0.0f;
    samba_spec spec[SAMBA_MAX_IN], out;
    samba_args a = SAMBA__ZEROED;
    bool scalar = n->out[0]->dtype == SAMBA_F32 && n->out[0]->shape.ndim == 0;
    if (samba__class_of(n->op) != SAMBA__IS_ELEMENTWISE || !scalar) return;

    for (int32_t i = 0; i < n->n_in; i++) {
        if (!n->in[i] || n->in[i]->shape.ndim || !samba__is_full(c, n->in[i], &value[i])) return;
        spec[i] = samba__spec_of(n->in[i]);
        a.in[i] = &value[i];
    }

    out = samba__spec_of(n->out[0]);
    a.in_spec = spec;
    a.out_spec = &out;
    a.n_in = n->n_in;
    a.n_out = 1;
    a.attr = n->attr;
    a.n_attr = n->n_attr;
    a.out[0] = &result;
    a.end = 1;
    n->op->kernel(&a);

    const samba_op *was = n->op;
    n->op = &samba__op_table[SAMBA__OP_full];
    n->n_in = 0;
    n->attr[SAMBA__FULL_VALUE] = samba_float_attr(result);
    n->n_attr = 1;
    samba__note_rewrite(c, "constants are computed now", n, was, n->out[0]);
}

SAMBA__FN uint64_t samba__node_key(const samba__node *n)
{
    uint64_t h = samba__hash(n->attr, (size_t)n->n_attr * 4, n->op->wire);
    for (int32_t i = 0; i < n->n_in; i++)
        h = samba__hash_round(h, n->in[i] ? (uint64_t)n->in[i]->id + 1 : 0);
    return h;
}

/* Whether two nodes compute the same. What gradients may sum in place stays apart from what was
   traced: else the bits of a gradient would depend on which traced values are outputs. */
SAMBA__FN bool samba__same_call(const samba__node *a, const samba__node *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_attr != b->n_attr || samba__updates(a->op)
        || a->graph != b->graph)
        return false;
    if (a->generated != b->generated && samba__accumulating_op(a)) return false;
    if ((a->section == SAMBA_COUNT) != (b->section == SAMBA_COUNT)) return false;
    return !memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in)
        && !memcmp(a->attr, b->attr, (size_t)a->n_attr * 4);
}

/* Replaces a node by an equal earlier one; enters it into the table otherwise. What was traced may
   equal part of a gradient, which was recorded before it: that part then runs as early as the node
   that it replaces, which can be, since both read the same. */
SAMBA__FN void samba__merge_equal(samba__compilation *c, samba__node *n, samba__node **table,
                                  uint64_t mask)
{
    uint64_t i = samba__node_key(n) & mask;
    if (samba__reads_overwritten(c, n)) return; /* another value each time */
    while (table[i] && !samba__same_call(n, table[i]))
        i = (i + 1) & mask;
    if (!table[i]) {
        table[i] = n;
        return;
    }

    SAMBA_ASSERT(table[i] != n && table[i]->n_out == n->n_out);
    samba__note_rewrite(c, "computed once", n, n->op, table[i]->out[0]);
    for (int32_t o = 0; o < n->n_out; o++)
        n->out[o]->same_as = table[i]->out[o];
    if (samba__is_after(table[i]->section, n->section)) table[i]->section = n->section;
}

SAMBA__FN void samba__rewrite_node(samba__compilation *c, samba__node *n, bool fuses)
{
    for (size_t r = 0; r < sizeof samba__rewrites / sizeof *samba__rewrites; r++) {
        const samba__rewrite *w = &samba__rewrites[r];
        const samba_op *was = n->op;
        samba_tensor *y = w->fuses == fuses && samba__is(was, w->op) ? w->apply(c, n) : NULL;
        if (y && (y == n->out[0] || !samba__is_overwritten(c, y)))
            samba__note_rewrite(c, w->why, n, was, y);
        if (y && y != n->out[0] && !samba__is_overwritten(c, y)) n->out[0]->same_as = y;
    }
}

/* A tensor of the compilation's own, of the kind of t. */
SAMBA__FN samba_tensor *samba__stand_in(samba__compilation *c, const samba_tensor *t)
{
    samba_tensor *y = (samba_tensor *)samba__temp(c->session, 1, sizeof *y);
    if (!y) return NULL;
    *y = *t;
    y->id = samba__n_tensors(c->session) + c->n_stand_ins++;
    y->role = SAMBA__TEMP;
    y->same_as = NULL;
    return y;
}

/* A node that copies a value into the memory of a named tensor. */
SAMBA__FN samba__node *samba__copy_node(samba__compilation *c, samba_tensor *from, samba_tensor *to,
                                        const char *graph)
{
    samba__node *n = samba__temp_node(c->session, 1);
    if (!n) return NULL;

    n->op = &samba__op_table[SAMBA__OP_reshape];
    n->name = to->name;
    n->graph = graph;
    n->in[0] = from;
    n->out[0] = to;
    n->n_out = 1;
    n->n_attr = to->shape.ndim;
    memcpy(n->attr, to->shape.dim, sizeof to->shape.dim);
    n->section = to->role == SAMBA__GRADIENT ? SAMBA_BCKWD : SAMBA_FWD;
    return n;
}

/* A gradient may be another parameter: d ab / da = b. With mapping spatial steps read gradients
   where they are, so a step of b might come before that of a, or the other way round: it is
   copied. */
SAMBA__FN bool samba__copy_parameter(samba__compilation *c, samba_tensor *gradient)
{
    samba__node *n = samba__copy_node(c, samba__final(gradient), gradient, c->graph);
    if (!n) return false;
    n->section = SAMBA_BCKWD;
    gradient->same_as = NULL;
    c->producer[gradient->id] = n;
    c->nodes[c->n_nodes++] = n;
    return true;
}

/* What input k of node n was replaced by. */
SAMBA__FN bool samba__read_final(samba__compilation *c, samba__node *n, int32_t k)
{
    samba_tensor *t = n->in[k], *r = samba__final(t);
    bool moved = r && r != t && r->role == SAMBA__WEIGHT;
    if (moved && samba__is_after(n->section, SAMBA_BCKWD)) return samba__copy_parameter(c, t);
    n->in[k] = r;
    return true;
}

/* Once over the nodes in order: rewrites, constant folding, common subexpressions. */
SAMBA__FN bool samba__simplify(samba__compilation *c)
{
    int32_t size = 1;
    while (size < c->n_nodes * 2)
        size *= 2;
    samba__node **table = (samba__node **)samba__temp(c->session, size, sizeof *table);
    SAMBA_ASSERT((size & (size - 1)) == 0 && size > c->n_nodes); /* a search ends */
    if (!table) return false;

    for (int32_t i = 0, n_nodes = c->n_nodes; i < n_nodes; i++) { /* copies follow these */
        samba__node *n = c->nodes[i];
        for (int32_t k = 0; k < n->n_in; k++)
            if (!samba__read_final(c, n, k)) return false;
        samba__rewrite_node(c, n, false);
        samba__skip_expands(c, n);
        samba__fold_constants(c, n);
        if (!n->out[0]->same_as) samba__merge_equal(c, n, table, (uint64_t)size - 1);
    }

    return samba_ok(c->session); /* the log may have had no memory */
}

/* Once more, for what depends on how many nodes and names use a value. */
SAMBA__FN bool samba__fuse(samba__compilation *c)
{
    c->uses = (int32_t *)samba__temp(c->session, c->n_tensors, sizeof *c->uses);
    if (!c->uses) return false;

    for (int32_t i = 0; i < c->n_pairs; i++)
        c->uses[samba__final(c->pairs[i].source)->id]++;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        const samba__node *n = c->nodes[i];
        if (n->out[0]->same_as) continue;
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k]) c->uses[n->in[k]->id]++;
    }

    for (int32_t i = 0; i < c->n_nodes; i++)
        if (!c->nodes[i]->out[0]->same_as) samba__rewrite_node(c, c->nodes[i], true);
    return samba_ok(c->session);
}

/* ---- Mapping spatial: where a gradient is a product that SGD without momentum alone reads, the
   product makes the step, block by block. With more rows of a batch than these, blocks cost 5 % of
   a training step, and it is activations that take the memory. ---- */
enum { SAMBA__STEP_IN_PRODUCT_ROWS = 256 };

/* Does node m or one behind it read w, besides its step? */
SAMBA__FN bool samba__reads_from(const samba__compilation *c, const samba__node *m,
                                 const samba_tensor *w, const samba__node *step)
{
    bool behind = false;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        const samba__node *n = c->nodes[i];
        behind = behind || n == m;
        for (int32_t k = 0; behind && n != step && k < n->n_in; k++)
            if (n->in[k] == w) return true;
    }
    return false;
}

/* The product that makes the gradient and can make this step; NULL: there is none. */
SAMBA__FN samba__node *samba__product_for_step(const samba__compilation *c, const samba__node *step)
{
    if (!samba__is(step->op, SAMBA__OP_sgd)) return NULL;
    samba_tensor *w = step->in[SAMBA__SGD_W], *g = step->in[SAMBA__SGD_G];
    samba__node *m = samba__made_by(c, g, SAMBA__OP_matmul);
    bool plain = !step->in[SAMBA__SGD_V] && !step->in[SAMBA__SGD_CLIP];
    bool matrix = w->dtype == SAMBA_F32 && w->shape.ndim == 2;
    if (!m || !plain || !matrix || c->uses[g->id] != 1) return NULL;

    const samba_shape *a = &m->in[0]->shape;
    bool few = a->ndim == 2
        && a->dim[!m->attr[SAMBA__MATMUL_TRANSPOSE_A]] <= SAMBA__STEP_IN_PRODUCT_ROWS;
    bool own = m->generated && m->section == SAMBA_BCKWD;
    return few && own && !samba__reads_from(c, m, w, step) ? m : NULL;
}

/* Lets the product before it make a step, if it can. */
SAMBA__FN bool samba__step_in_product(samba__compilation *c, const samba__node *step)
{
    samba__node *m = samba__product_for_step(c, step);
    if (!m) return false;
    samba_tensor **in
        = (samba_tensor **)samba__temp(c->session, SAMBA__MATMUL_SGD_INPUTS, sizeof *in);
    if (!in) return false;

    const samba_op *op = &samba__op_table[SAMBA__OP_matmul_sgd];
    samba__note_call(c, "a product makes a step", m, m->op, step->name, op->name);
    samba__note_call(c, "a product makes a step", step, step->op, step->name, op->name);

    in[SAMBA__MATMUL_SGD_W] = step->in[SAMBA__SGD_W];
    in[SAMBA__MATMUL_SGD_A] = m->in[0];
    in[SAMBA__MATMUL_SGD_A + 1] = m->in[1];
    in[SAMBA__MATMUL_SGD_LR] = step->in[SAMBA__SGD_LR];
    in[SAMBA__MATMUL_SGD_DECAY] = step->in[SAMBA__SGD_WEIGHT_DECAY];
    in[SAMBA__MATMUL_SGD_MOMENTUM] = step->in[SAMBA__SGD_MOMENTUM];

    c->producer[m->out[0]->id] = NULL;
    c->producer[step->out[0]->id] = m;
    m->op = op;
    m->in = in;
    m->n_in = SAMBA__MATMUL_SGD_INPUTS;
    m->out[0] = step->out[0];
    m->name = step->name;
    return true;
}

SAMBA__FN bool samba__step_in_products(samba__compilation *c)
{
    int32_t kept = 0;
    if (!samba__is_spatial(c)) return true;
    for (int32_t i = 0; i < c->n_nodes; i++)
        if (!samba__step_in_product(c, c->nodes[i])) c->nodes[kept++] = c->nodes[i];
    c->n_nodes = kept;
    return samba_ok(c->session);
}

/* What an update of state makes lies in the memory of that state; as an output it gets memory of
   its own, which the state is copied to. So nodes read a stand-in. */
SAMBA__FN samba_tensor *samba__apart_from_state(samba__compilation *c, samba_tensor *t)
{
    samba_tensor *y = samba__stand_in(c, t);
    if (!y) return NULL;

    for (int32_t i = 0; i < c->n_nodes; i++) {
        samba__node *n = c->nodes[i];
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] == t) n->in[k] = y;
        for (int32_t o = 0; o < n->n_out; o++)
            if (n->out[o] == t) n->out[o] = y;
    }

    c->producer[y->id] = c->producer[t->id];
    c->producer[t->id] = NULL;
    return y;
}

/* Lets the value of pair i be computed where its name is stored, or copies it if it has another
   home. */
SAMBA__FN bool samba__bind_pair(samba__compilation *c, int32_t i)
{
    samba_tensor *named = c->pairs[i].named;
    samba_tensor *r = samba__updated_from(c, samba__final(c->pairs[i].source));
    samba__node *n = samba__producer_of(c, r);
    bool updates = n && samba__updated_input(n->op, r->out_index) >= 0;

    if (r == named && (!n || c->bound[r->id])) return true;
    if (r == named && updates) r = samba__apart_from_state(c, named);
    if (!r) return false;

    if (named->role == SAMBA__TEMP) named->role = SAMBA__OUTPUT;
    if (n && !updates && !c->bound[r->id]) {
        c->bound[r->id] = named;
        return true;
    }

    /* A leaf is of no graph: what copies it is of the graph where the copy was traced. */
    const samba__node *traced = n ? n : named->node;
    named->same_as = NULL;
    n = samba__copy_node(c, r, named, traced ? traced->graph : c->graph);
    if (!n) return false;
    c->pairs[i].source = named;
    c->bound[named->id] = named;
    c->nodes[c->n_nodes++] = n;
    return true;
}

/* Names whose own node stayed come first: another name of the same value, bound before, would take
   its place, and then nothing would write to the memory of this one. */
SAMBA__FN bool samba__bind(samba__compilation *c)
{
    for (int32_t own = 1; own >= 0; own--) {
        for (int32_t i = 0; i < c->n_pairs; i++) {
            bool stayed = c->pairs[i].named == c->pairs[i].source && !c->pairs[i].named->same_as;
            if (stayed == (own == 1) && !samba__bind_pair(c, i)) return false;
        }
    }
    return true;
}

/* Moves the nodes of one graph, by section type and in trace order, to the end of sorted. */
SAMBA__FN int32_t samba__schedule_graph(samba__compilation *c, const char *graph,
                                        samba__node **sorted, int32_t n)
{
    for (int32_t k = 0; k < SAMBA__N_TYPES; k++) {
        uint32_t type = samba__section_types[k].bit;
        for (int32_t i = 0; i < c->n_nodes; i++) {
            samba__node *node = c->nodes[i];
            if (node->live && node->section == type && node->graph == graph) sorted[n++] = node;
        }
    }
    return n;
}

/* Does node n read what `before` makes or overwrites? */
SAMBA__FN bool samba__depends(const samba__node *n, const samba__node *before)
{
    bool reads = false;
    for (int32_t o = 0; o < before->n_out; o++) {
        int32_t updated = samba__updated_input(before->op, o);
        for (int32_t k = 0; k < n->n_in; k++)
            reads = reads || n->in[k] == before->out[o]
                || (updated >= 0 && n->in[k] && n->in[k] == before->in[updated]);
    }
    return reads;
}

/* An elementwise op moves up to the product it reads, to be fused with it as its epilogue: the
   gradient rules of a layer put the products for its weights between. */
SAMBA__FN void samba__move_up(const samba__compilation *c, samba__node **nodes, int32_t i)
{
    enum { FAR = 8 };

    samba__node *n = nodes[i];
    int32_t at = i;
    if (samba__class_of(n->op) != SAMBA__IS_ELEMENTWISE || c->bound[n->out[0]->id]) return;
    if (samba__reads_overwritten(c, n)) return;

    while (at > 0 && i - at < FAR && nodes[at - 1]->section == n->section
           && nodes[at - 1]->graph == n->graph && !samba__depends(n, nodes[at - 1]))
        at--;

    int32_t product = at - 1;
    while (product > 0 && nodes[product]->op->flags & SAMBA_OP_VIEW)
        product--;
    if (at == 0 || !samba__depends(n, nodes[at - 1])) return;
    const samba_op *op = nodes[product]->op;
    if (!samba__is(op, SAMBA__OP_matmul) && !samba__is(op, SAMBA__OP_matmul_accumulate)) return;

    memmove(nodes + at + 1, nodes + at, (size_t)(i - at) * sizeof *nodes);
    nodes[at] = n;
}

/* Drops the nodes that nobody reads any more, and sorts the rest. */
SAMBA__FN bool samba__sweep_and_schedule(samba__compilation *c)
{
    samba__node **sorted = (samba__node **)samba__temp(c->session, c->n_nodes, sizeof *sorted);
    int32_t n = 0;
    if (!sorted || !samba__mark_live(c, c->nodes, c->n_nodes)) return false;

    /* What is of no named graph comes first, as a reader wants it (samba__is_in_order): if a loss
       is a parameter, gradients are, and were made last. Then graphs in the order of their first
       nodes. */
    n = samba__schedule_graph(c, NULL, sorted, 0);
    for (int32_t i = 0; i < c->n_nodes; i++) {
        bool done = !c->nodes[i]->live;
        for (int32_t k = 0; k < n && !done; k++)
            done = sorted[k]->graph == c->nodes[i]->graph;
        if (!done) n = samba__schedule_graph(c, c->nodes[i]->graph, sorted, n);
    }

    for (int32_t i = 0; i < n; i++)
        samba__move_up(c, sorted, i);

    c->nodes = sorted;
    c->n_nodes = n;
    return true;
}

/* Mapping spatial: what follows the backward pass moves up, behind the last node that reads or
   makes what it reads, but not between a product and the elementwise ops behind it. So a gradient
   lives until its parameter is stepped. */
SAMBA__FN bool samba__step_early(samba__compilation *c)
{
    int32_t n = c->n_nodes, begin = 0, done = 0;
    int32_t *behind = (int32_t *)samba__temp(c->session, c->n_tensors, sizeof *behind);
    int32_t *at = (int32_t *)samba__temp(c->session, 3 * n, sizeof *at);
    samba__node **sorted = (samba__node **)samba__temp(c->session, n, sizeof *sorted);
    if (!behind || !at || !sorted) return false;
    int32_t *next = at + n, *first = next + n; /* what comes behind a node: 1 + node */

    for (int32_t i = 0; i < n; i++) {
        const samba__node *node = c->nodes[i];
        bool moves = samba__is_after(node->section, SAMBA_BCKWD);
        if (!samba__is_after(node->section, SAMBA_FWD))
            begin = i + 1;
        else
            c->joined |= node->section | SAMBA_BCKWD; /* even if no gradient needs an op */
        at[i] = moves ? begin : i;

        for (int32_t k = 0; k < node->n_in; k++) {
            bool waits = node->in[k] && node->in[k]->role != SAMBA__ARGIN; /* no node writes it */
            int32_t *last = waits ? &behind[node->in[k]->id] : NULL;
            if (moves && last && at[i] < *last)
                at[i] = *last;
            else if (!moves && last)
                *last = i;
        }

        while (moves && at[i] + 1 < i
               && samba__class_of(c->nodes[at[i] + 1]->op) == SAMBA__IS_ELEMENTWISE)
            at[i]++;

        for (int32_t o = 0; o < node->n_out; o++) { /* moved ones overwrite what they read */
            int32_t updated = samba__updated_input(node->op, o);
            behind[node->out[o]->id] = at[i];
            if (updated >= 0) behind[node->in[updated]->id] = at[i];
        }
    }

    for (int32_t i = n - 1; i >= 0; i--) {
        next[i] = first[at[i]];
        first[at[i]] = i + 1;
    }

    for (int32_t i = 0; i < n; i++)
        for (int32_t k = first[i]; k; k = next[k - 1])
            sorted[done++] = c->nodes[k - 1];

    c->nodes = sorted;
    return true;
}

