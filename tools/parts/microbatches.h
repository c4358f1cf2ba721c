/* ==== [microbatches] ========================================================================== */
/* What the parts of a batch need of the whole: samba__find_parts, between tracing and the backward
   pass.

     1. Inputs must begin with their rows: then a part of the batch is one piece of memory.
     2. Each node gets its spread. Where that is mixed only because the op is not linear in a sum or
        a mean, the op reads that of the whole batch instead, if inputs alone make it: sections of
        type COUNT compute it before the first part (samba__use_batch_values).
     3. A loss that is a mean over the targets that count divides by their number in the whole
        batch, which COUNT finds, too (samba__count_targets).
     4. What an op does anew in each part is told, if no kind shows it: masks, numbers of rows.
     5. An output that is mixed is told. If parts cannot make it, it is refused.
     6. Slices that take the rows apart are told, unless the same is done with each of them.

   An example for 2, a mean under a mask, of 8 rows in 2 parts:

       mask                      (4)  rows
       above = sum of x * mask    ()  sum
       below = sum of mask        ()  sum, made of inputs alone
       loss = above / below       ()  mixed: parts with a short mask would count as much as others

   COUNT has a copy of the nodes that make below, and adds half of it for each part to the leaf
   below__mean_part. In FWD the division reads that leaf: the mean of the parts' losses is then the
   sum of above over that of below, the loss of the batch, so it is called a mean. The user's node
   has its own input again when the PEF is written (samba__take_back).

   [compile] asks samba__output_kind how it keeps an output, and where the gradient of a loss
   begins. */

/* ---- Values of the whole batch, known before its first part ---- */

/* Inputs of a node that stand in for others while gradients are recorded and nodes copied. */
typedef struct samba__substitute {
    samba__node *node;
    samba_tensor **in; /* what the node had before */
    int32_t n_in;
    struct samba__substitute *next;
} samba__substitute;

SAMBA__FN bool samba__is_leaf_from_inputs(const samba_tensor *t)
{
    return t->role == SAMBA__INPUT || t->role == SAMBA__CONSTANT || t->role == SAMBA__ARGIN
        || (t->role == SAMBA__WEIGHT && t->frozen);
}

/* Could node n be computed before the first part, from inputs alone? Not what reads a value of the
   whole batch, a leaf that is younger than what was traced: COUNT adds that up part by part, and
   has all of it only after the last one. */
SAMBA__FN bool samba__is_from_inputs(const samba__parts *p, const samba__node *n)
{
    bool draws = samba__is(n->op, SAMBA__OP_dropout) || samba__is(n->op, SAMBA__OP_noise)
        || (samba__is(n->op, SAMBA__OP_scaled_dot_product_attention)
            && n->n_in > SAMBA__ATTENTION_RATE);
    bool has_state = samba__updates(n->op) || (n->op->flags & SAMBA_OP_HOST);
    if (!samba__is_builtin(n->op) || draws || has_state) return false;

    for (int32_t k = 0; k < n->n_in; k++) {
        const samba_tensor *x = n->in[k];
        if (x && (x->id >= p->n_tensors || !p->from_inputs[x->id])) return false;
    }
    return true;
}

/* Gives node n other inputs, until samba__take_back. */
SAMBA__FN bool samba__substitute_input(samba__parts *p, samba__node *n, int32_t n_in, int32_t k,
                                       samba_tensor *x)
{
    samba_session *s = p->c->session;
    SAMBA_ASSERT(k < n_in && n->n_in <= n_in && n_in <= SAMBA_MAX_IN);
    samba__substitute *other = (samba__substitute *)samba__temp(s, 1, sizeof *other);
    samba_tensor **in = (samba_tensor **)samba__temp(s, n_in, sizeof *in);
    if (!other || !in || !x) return false;

    memcpy(in, n->in, (size_t)n->n_in * sizeof *in);
    other->node = n;
    other->in = n->in;
    other->n_in = n->n_in;
    other->next = p->c->substitutes;
    p->c->substitutes = other;

    n->in = in;
    n->n_in = n_in;
    in[k] = x;
    return true;
}

/* Nodes read again what they were traced with. */
SAMBA__FN void samba__take_back(samba__compilation *c)
{
    for (samba__substitute *i = c->substitutes; i; i = i->next) {
        i->node->in = i->in;
        i->node->n_in = i->n_in;
    }
    c->substitutes = NULL;
}

/* Marks, by tensor id, what leads to tensors that are marked, and the first output of each node
   that does. */
SAMBA__FN void samba__mark_what_leads(const samba__parts *p, bool *marked)
{
    for (int32_t i = p->n_nodes - 1; i >= 0; i--) {
        const samba__node *n = p->c->session->trace.nodes[i];
        bool leads = false;
        for (int32_t o = 0; o < n->n_out; o++)
            if (marked[n->out[o]->id]) leads = true;
        if (!leads) continue;

        marked[n->out[0]->id] = true;
        for (int32_t k = 0; k < n->n_in && !n->eager; k++)
            if (n->in[k]) marked[n->in[k]->id] = true;
    }
}

/* The value of t once more, in a section of COUNT: all that leads to it is computed there, too. */
SAMBA__FN samba_tensor *samba__copy_to_count(samba__parts *p, samba_tensor *t)
{
    samba_session *s = p->c->session;
    SAMBA_ASSERT(t->id < p->n_tensors);
    bool *wanted = (bool *)samba__temp(s, p->n_tensors, sizeof *wanted);
    if (!wanted) return NULL;
    wanted[t->id] = true;
    samba__mark_what_leads(p, wanted);

    s->modes.section = SAMBA_COUNT;
    for (int32_t i = 0; i < p->n_nodes && samba_ok(s); i++) {
        const samba__node *n = s->trace.nodes[i];
        samba_tensor *in[SAMBA_MAX_IN], *out[SAMBA_MAX_OUT];
        if (n->eager || !wanted[n->out[0]->id] || p->in_count[n->out[0]->id]) continue;

        for (int32_t k = 0; k < n->n_in; k++) {
            samba_tensor *copy = n->in[k] ? p->in_count[n->in[k]->id] : NULL;
            in[k] = copy ? copy : n->in[k];
        }
        if (!samba__emit_op(s, n->op, in, n->n_in, n->attr, n->n_attr, out)) break;
        for (int32_t o = 0; o < n->n_out; o++)
            p->in_count[n->out[o]->id] = out[o];
    }

    s->modes.section = SAMBA_FWD;
    if (!samba_ok(s)) return NULL;
    return p->in_count[t->id] ? p->in_count[t->id] : t;
}

/* The leaf owner__ending, to which COUNT adds `times` value for each part of the batch. Data
   parallel training makes it the mean of all replicas. */
SAMBA__FN samba_tensor *samba__add_up_in_count(samba__parts *p, const char *owner,
                                               const char *ending, samba_tensor *value, float times)
{
    samba_session *s = p->c->session;
    const int32_t anew = 1;
    if (!value) return NULL;

    s->modes.section = SAMBA_COUNT;
    samba_tensor *leaf
        = samba__layer_param(s, owner, ending, &value->shape, SAMBA__OUTPUT, samba__all(0.0f));
    if (leaf) samba__emit2(SAMBA__OP_accumulate, leaf, samba_scale(value, times), &anew, 1);
    s->modes.section = SAMBA_FWD;
    return samba_ok(s) ? leaf : NULL;
}

/* Does n divide by the number of its targets that count, which the parts have different ones of? */
SAMBA__FN bool samba__divides_by_targets(const samba__parts *p, const samba__node *n)
{
    return samba__spread_rule_of(n->op) == SAMBA__SPREAD_LOSS
        && n->attr[SAMBA__LOSS_REDUCTION] == SAMBA_REDUCE_MEAN
        && samba__spread_of(p, n->in[1]).kind != SAMBA__KIND_SAME;
}

/* A loss that is a mean over targets that count divides by their number in the whole batch: by the
   mean of the parts' numbers, so that the mean of the parts is the loss of the batch. */
SAMBA__FN bool samba__count_targets(samba__parts *p, samba__node *n)
{
    samba_session *s = p->c->session;
    SAMBA_ASSERT(n->in[1]->id < p->n_tensors);
    if (!p->from_inputs[n->in[1]->id])
        return samba_fail(
            s, SAMBA_EARG,
            "%s is a mean over the targets %s that count. With microbatches or replicas these are counted before the forward pass, so they must be inputs or made of inputs alone: no parameters that are trained, no state, no dropout",
            n->out[0]->name, n->in[1]->name);

    samba_tensor *ids = samba__copy_to_count(p, n->in[1]);
    if (!ids) return false;
    s->modes.section = SAMBA_COUNT;
    samba_tensor *ignored = samba_full(s, samba_scalar_shape(), (float)n->attr[SAMBA__LOSS_IGNORE]);
    samba_tensor *counts = samba_cast(samba_ne(ids, ignored), SAMBA_F32);
    counts = samba_sum(counts, SAMBA_ALL_AXES, false);
    s->modes.section = SAMBA_FWD;

    samba_tensor *leaf = samba__add_up_in_count(p, n->out[0]->name, "targets", counts,
                                                1.0f / (float)p->c->microbatches);
    return leaf && samba__substitute_input(p, n, 3, 2, leaf);
}

/* Input k of node n, which is not linear in it, is that of the whole batch from now on, if it is a
   sum or a mean of inputs alone. The quotient of two sums becomes one of their means, which is a
   mean: *is_mean. */
SAMBA__FN bool samba__use_batch_value(samba__parts *p, samba__node *n, int32_t k, bool *is_mean)
{
    samba_tensor *x = n->in[k];
    samba__spread_kind kind = samba__kind_of_input(p, n, k);
    bool sum = kind == SAMBA__KIND_SUM, mean = kind == SAMBA__KIND_MEAN;
    if ((!sum && !mean) || !p->from_inputs[x->id] || x->dtype != SAMBA_F32) return true;

    bool divides = samba__is(n->op, SAMBA__OP_div) && k == 1;
    bool quotient = divides && sum && samba__kind_of_input(p, n, 0) == SAMBA__KIND_SUM;
    samba_tensor **leaf = quotient ? &p->mean_part[x->id] : &p->batch_value[x->id];
    if (!*leaf) {
        float times = 1.0f / (float)p->c->microbatches;
        if (sum && !quotient) times = (float)p->c->replicas; /* whose mean is taken */
        *leaf = samba__add_up_in_count(p, x->name, quotient ? "mean_part" : "whole",
                                       samba__copy_to_count(p, x), times);
    }
    if (quotient) *is_mean = true;
    return *leaf && samba__substitute_input(p, n, n->n_in, k, *leaf);
}

/* Lets n, whose spread is mixed, read values of the whole batch where these can be known; *y
   becomes its new spread. */
SAMBA__FN bool samba__use_batch_values(samba__parts *p, samba__node *n, samba__spread *y)
{
    bool is_mean = false;
    /* in a quotient it is the divisor that must be known */
    int32_t first = samba__is(n->op, SAMBA__OP_div) ? 1 : 0;
    for (int32_t k = first; k < n->n_in; k++)
        if (!samba__use_batch_value(p, n, k, &is_mean)) return false;

    *y = samba__node_spread(p, n, 0);
    if (is_mean && y->kind == SAMBA__KIND_SUM) y->kind = SAMBA__KIND_MEAN;
    return true;
}

/* ---- What the parts do anew: told, as no kind shows it ---- */
SAMBA__FN void samba__warn_of_masks(const samba__parts *p, const samba__node *n)
{
    const samba_tensor *x = n->in[0];
    samba__spread spread = samba__spread_of(p, x);
    bool in_order = spread.kind == SAMBA__KIND_ROWS && spread.row_dim >= 0 && !spread.order
        && samba__outer(&x->shape, spread.row_dim) == 1;
    if (in_order) return;

    samba__warn(
        p->c->session,
        "dropout of %s %S, whose first dimension does not count the rows of the batch in their order: with microbatches or replicas its mask is drawn for each part, and is not that of the whole batch",
        x->name, &x->shape);
}

/* lookup (ids, table) and gather (table, ids), along the dimension of rows. */
SAMBA__FN void samba__warn_of_row_numbers(const samba__parts *p, const samba__node *n)
{
    bool looks_up = samba__is(n->op, SAMBA__OP_lookup);
    samba__spread ids = samba__spread_of(p, n->in[looks_up ? 0 : 1]);
    samba__spread table = samba__spread_of(p, n->in[looks_up ? 1 : 0]);
    if (table.kind != SAMBA__KIND_ROWS || ids.kind != SAMBA__KIND_ROWS) return;
    if (!looks_up && table.row_dim != n->attr[SAMBA__GATHER_AXIS]) return;

    samba__warn(
        p->c->session,
        "%s takes rows of the batch by their numbers: with microbatches or replicas these count from the first row of the part",
        n->out[0]->name);
}

SAMBA__FN void samba__warn_of_parts(const samba__parts *p, const samba__node *n)
{
    bool draws = samba__is(n->op, SAMBA__OP_dropout) || samba__is(n->op, SAMBA__OP_noise);
    if (draws) samba__warn_of_masks(p, n);
    if (samba__is(n->op, SAMBA__OP_lookup) || samba__is(n->op, SAMBA__OP_gather))
        samba__warn_of_row_numbers(p, n);
}

/* ---- Slices that together take all rows. Each part is cut like the batch, so that they take other
   rows of it: the first half of each part, say, is not the first half of the batch. That changes
   nothing if the program treats all of these pieces alike. It does if two of them can change places
   and the program computes the same:

       sum(tanh(a)) + sum(tanh(b))     a sum has no order: alike
       sum(tanh(a)) + sum(b * b)       another sum with a and b exchanged: a warning

   So each tensor gets a recipe, a hash of how it is computed, in which a piece is known by its
   share of the rows alone. That of the outputs must not change when two pieces exchange shares.
   This decides on a warning, nothing else; what it cannot see to be the same is told. ---- */
typedef struct samba__pieces {
    const samba__parts *p;
    const samba__node *one, *other; /* have changed places; NULL: none have */
    int32_t *share;                 /* by node id: which rows of its input a piece takes, as a
                                       number; 0: it is no piece */
    uint64_t *recipe;               /* by tensor id */
} samba__pieces;

SAMBA__FN uint64_t samba__recipe_and(uint64_t recipe, uint64_t word)
{
    return samba__hash(&word, sizeof word, recipe);
}

/* The share that n takes, while two pieces and all that take the same rows have changed places. */
SAMBA__FN int32_t samba__share_of(const samba__pieces *pieces, const samba__node *n)
{
    const samba__node *one = pieces->one, *other = pieces->other;
    int32_t share = pieces->share[n->id];
    if (!share || !one) return share;

    if (samba__same_order(pieces->p, n, one)) return pieces->share[other->id];
    return samba__same_order(pieces->p, n, other) ? pieces->share[one->id] : share;
}

/* Does attribute i of n say how many rows there are, or which? Pieces may have several sizes. */
SAMBA__FN bool samba__is_about_rows(const samba__pieces *pieces, const samba__node *n, int32_t i)
{
    const samba__parts *p = pieces->p;
    const samba_tensor *y = n->out[0];
    if (samba__is(n->op, SAMBA__OP_reshape) || samba__is(n->op, SAMBA__OP_expand))
        return i == samba__spread_of(p, y).row_dim;

    if (!samba__is(n->op, SAMBA__OP_slice)) return false;
    const samba_tensor *x = p->traced[n->id].in[0];
    int32_t dim = samba__spread_of(p, x).row_dim;
    if (i / SAMBA__SLICE_WORDS != dim) return false;
    return pieces->share[n->id] || x->shape.dim[dim] == y->shape.dim[dim];
}

/* The op, its attributes, and the rows of a piece. A mean gives the rows of a larger piece less
   weight, so there it counts how many they are. */
SAMBA__FN uint64_t samba__recipe_of_call(const samba__pieces *pieces, const samba__node *n)
{
    uint64_t recipe = samba__recipe_and(n->op->wire, (uint64_t)n->n_out);
    recipe = samba__recipe_and(recipe, (uint64_t)samba__share_of(pieces, n));
    for (int32_t i = 0; i < n->n_attr; i++) {
        bool hidden = samba__is_about_rows(pieces, n, i);
        recipe = samba__recipe_and(recipe, hidden ? 0 : (uint64_t)n->attr[i]);
    }

    bool mean = samba__is(n->op, SAMBA__OP_mean)
        || (samba__spread_rule_of(n->op) == SAMBA__SPREAD_LOSS
            && n->attr[SAMBA__LOSS_REDUCTION] == SAMBA_REDUCE_MEAN);
    const samba_tensor *x = mean ? pieces->p->traced[n->id].in[0] : NULL;
    int32_t dim = samba__spread_of(pieces->p, x).row_dim;
    return dim < 0 ? recipe : samba__recipe_and(recipe, (uint64_t)x->shape.dim[dim]);
}

/* The cat whose inputs may change places in what n computes: n itself, if it puts pieces together
   again, or the one of which n takes the sum or the mean; NULL: none. */
SAMBA__FN const samba__node *samba__unordered_cat(const samba__parts *p, const samba__node *n)
{
    const samba__node *cat = samba__is(n->op, SAMBA__OP_cat) ? n : NULL;
    if (cat) {
        samba__spread y = samba__spread_of(p, n->out[0]);
        bool rows = y.kind == SAMBA__KIND_ROWS && y.row_dim == n->attr[SAMBA__AXIS_NUMBER];
        return rows && y.order != n ? n : NULL;
    }

    if (!samba__is(n->op, SAMBA__OP_sum) && !samba__is(n->op, SAMBA__OP_mean)) return NULL;
    const samba_tensor *x = p->traced[n->id].in[0];
    cat = x->node;
    if (!cat || cat->eager || !samba__is(cat->op, SAMBA__OP_cat)) return NULL;
    bool rows = samba__spread_of(p, x).kind == SAMBA__KIND_ROWS;
    bool over = n->attr[SAMBA__REDUCE_AXES] >> cat->attr[SAMBA__AXIS_NUMBER] & 1;
    return over && !rows ? cat : NULL;
}

/* Sums of pieces may be added in any order, so their recipes are. */
SAMBA__FN uint64_t samba__recipe_of_node(const samba__pieces *pieces, const samba__node *n)
{
    const samba__parts *p = pieces->p;
    uint64_t recipe = samba__recipe_of_call(pieces, n), sum = 0;
    bool sums = samba__spread_of(p, n->out[0]).kind != SAMBA__KIND_ROWS;
    bool add = samba__is(n->op, SAMBA__OP_add), sub = samba__is(n->op, SAMBA__OP_sub);
    const samba__node *cat = samba__unordered_cat(p, n);
    const samba__traced_inputs *from = &p->traced[cat ? cat->id : n->id];

    for (int32_t k = 0; k < from->n_in; k++) {
        const samba_tensor *x = from->in[k];
        uint64_t of_x = x ? pieces->recipe[x->id] : 0;
        bool any_order = cat || (sums && (add || (sub && k == 0)));
        if (any_order)
            sum += of_x;
        else
            recipe = samba__recipe_and(recipe, of_x);
    }

    if (sums && add) return sum;
    if (sums && sub) return sum + recipe;
    return samba__recipe_and(recipe, sum);
}

/* Of all outputs together, but for some rows of each part: samba__check_batch_output tells them. */
SAMBA__FN uint64_t samba__recipe_of_outputs(const samba__pieces *pieces)
{
    const samba__parts *p = pieces->p;
    uint64_t recipe = 0;
    for (int32_t i = 0; i < p->n_tensors; i++)
        pieces->recipe[i] = samba__recipe_and(1, (uint64_t)i);

    for (int32_t i = 0; i < p->n_nodes; i++) {
        const samba__node *n = p->c->session->trace.nodes[i];
        if (n->eager || !p->needed[n->out[0]->id]) continue;
        uint64_t of_n = samba__recipe_of_node(pieces, n);
        for (int32_t o = 0; o < n->n_out; o++)
            pieces->recipe[n->out[o]->id] = o ? samba__recipe_and(of_n, (uint64_t)o) : of_n;
    }

    for (int32_t i = 0; i < p->c->n_outputs; i++) {
        const samba_tensor *t = p->c->outputs[i];
        bool told = samba__is_order_of_slice(samba__spread_of(p, t).order);
        recipe = samba__recipe_and(recipe, told ? 0 : pieces->recipe[t->id]);
    }
    return recipe;
}

/* Numbers the shares of the pieces: slices that take some rows, of which others take the rest. */
SAMBA__FN bool samba__find_pieces(const samba__pieces *pieces)
{
    const samba__parts *p = pieces->p;
    samba__node *const *nodes = p->c->session->trace.nodes;
    bool any = false;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const samba__node *n = nodes[i];
        samba__spread y = samba__spread_of(p, n->out[0]);
        bool piece = y.kind == SAMBA__KIND_ROWS && y.order == n && samba__is_order_of_slice(n);
        if (!piece || !p->needed[n->out[0]->id]) continue;

        int32_t k = 0; /* the first that takes as much */
        while (k < i && (!pieces->share[k] || !samba__same_share(p, nodes[k], n)))
            k++;
        pieces->share[i] = k + 1;
        any = true;
    }
    return any;
}

/* Tells of the first two pieces of one tensor that cannot change places. */
SAMBA__FN bool samba__check_pieces(const samba__parts *p)
{
    samba_session *s = p->c->session;
    samba__pieces pieces = { p, NULL, NULL, NULL, NULL };
    pieces.share = (int32_t *)samba__temp(s, p->n_nodes, sizeof *pieces.share);
    pieces.recipe = (uint64_t *)samba__temp(s, p->n_tensors, sizeof *pieces.recipe);
    if (!pieces.share || !pieces.recipe) return false;
    if (!samba__find_pieces(&pieces)) return true;

    uint64_t recipe = samba__recipe_of_outputs(&pieces);
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const samba__node *one = NULL, *other = s->trace.nodes[i];
        if (!pieces.share[i]) continue;
        for (int32_t k = 0; k < i; k++)
            if (pieces.share[k] && s->trace.nodes[k]->in[0] == other->in[0])
                one = s->trace.nodes[k];

        pieces.one = one;
        pieces.other = other;
        if (!one || samba__recipe_of_outputs(&pieces) == recipe) continue;
        samba__warn(
            s,
            "%s and %s take rows of %s apart, which are then not treated alike: with microbatches or replicas they take such rows of each part, which are others than those of the whole batch",
            one->out[0]->name, other->out[0]->name, other->in[0]->name);
        return true;
    }
    return true;
}

/* ---- What parts cannot make is told of, or refused ---- */
SAMBA__FN bool samba__check_batch_output(const samba__parts *p, const samba_tensor *t)
{
    samba_session *s = p->c->session;
    samba__spread y = samba__spread_of(p, t);
    bool scalar = t->shape.ndim == 0;
    if (y.kind == SAMBA__KIND_ROWS && samba__is_order_of_slice(y.order))
        y.kind = SAMBA__KIND_MIXED; /* some rows of each part */

    if (y.kind == SAMBA__KIND_MIXED)
        samba__warn(
            s,
            "%s %S is neither of rows nor a sum or a mean over rows: %s, which is not that of the whole batch",
            t->name, &t->shape,
            scalar ? "with microbatches or replicas it is the mean of the parts'"
                   : "each microbatch or replica has its own");

    if (p->c->microbatches == 1) return true;
    if (scalar && t->dtype != SAMBA_F32)
        return samba_fail(
            s, SAMBA_EDTYPE,
            "output %s is %T: with microbatches a scalar is made of those of the parts, as f32; use samba_cast",
            t->name, (int)t->dtype);

    bool rows = y.kind == SAMBA__KIND_ROWS || (y.kind == SAMBA__KIND_MIXED && !scalar);
    if (rows && (y.row_dim < 0 || samba__outer(&t->shape, y.row_dim) > 1))
        return samba_fail(
            s, SAMBA_EARG,
            "output %s %S: with microbatches the first dimension of an output must count the rows of the batch, or it must be a sum or a mean over all of them",
            t->name, &t->shape);

    if (y.kind == SAMBA__KIND_ROWS && y.order)
        return samba_fail(
            s, SAMBA_EARG,
            "output %s %S: %s joins rows, which so lie one tensor after another in each part; with microbatches a slice of one of them is an output, or cat in another dimension",
            t->name, &t->shape, y.order->out[0]->name);

    if (!rows && y.kind != SAMBA__KIND_SAME && t->dtype != SAMBA_F32)
        return samba_fail(
            s, SAMBA_EDTYPE,
            "output %s is %T: with microbatches a sum or a mean over rows must be f32; use samba_cast",
            t->name, (int)t->dtype);
    return true;
}

SAMBA__FN bool samba__check_batch_input(const samba__parts *p, const samba_tensor *t)
{
    if (p->c->microbatches == 1 || samba__outer(&t->shape, t->batch_dim) == 1) return true;
    return samba_fail(
        p->c->session, SAMBA_EARG,
        "input %s %S has its rows in dimension %d: with microbatches that must be the first one; permute it in the program",
        t->name, &t->shape, t->batch_dim);
}

/* ---- All of it ---- */

/* Room for what is known of each tensor, with what is known of leaves, and what leads to an output;
   NULL after a failure. */
SAMBA__FN samba__parts *samba__open_parts(samba__compilation *c)
{
    samba_session *s = c->session;
    int32_t n = samba__n_tensors(s);
    samba__parts *p = (samba__parts *)samba__temp(s, 1, sizeof *p);
    if (!p) return NULL;

    p->c = c;
    p->n_tensors = n;
    p->n_nodes = samba__n_nodes(s);
    p->spread = (samba__spread *)samba__temp(s, n, sizeof *p->spread);
    p->needed = (bool *)samba__temp(s, 2 * n, sizeof *p->needed);
    p->in_count = (samba_tensor **)samba__temp(s, 3 * n, sizeof *p->in_count);
    p->traced = (samba__traced_inputs *)samba__temp(s, p->n_nodes, sizeof *p->traced);
    if (!p->spread || !p->needed || !p->in_count || !p->traced) return NULL;
    p->from_inputs = p->needed + n;
    p->batch_value = p->in_count + n;
    p->mean_part = p->batch_value + n;

    for (int32_t i = 0; i < p->n_nodes; i++) {
        SAMBA_ASSERT(s->trace.nodes[i]->id == i);
        p->traced[i].in = s->trace.nodes[i]->in;
        p->traced[i].n_in = s->trace.nodes[i]->n_in;
    }
    for (int32_t i = 0; i < n; i++) {
        p->spread[i] = samba__leaf_spread(s->trace.tensors[i]);
        p->from_inputs[i] = samba__is_leaf_from_inputs(s->trace.tensors[i]);
    }

    for (int32_t i = 0; i < c->n_outputs; i++)
        p->needed[c->outputs[i]->id] = true;
    samba__mark_what_leads(p, p->needed);
    return p;
}

/* Is n a node of this program, traced by the user, that leads to an output? */
SAMBA__FN bool samba__is_in_parts(const samba__parts *p, const samba__node *n)
{
    bool traced = !n->eager && !n->generated && n->graph == p->c->graph;
    return traced && p->needed[n->out[0]->id];
}

/* The batch runs as one; but whoever gives a loss its gradient asks which dimension of it counts
   the rows of the batch: its batch_dim, -1 if none does. Nothing is warned of or refused here. */
SAMBA__FN bool samba__find_rows_of_losses(samba__compilation *c)
{
    bool any = false;
    for (int32_t i = 0; i < c->n_losses; i++)
        if (c->losses[i]->shape.ndim > 0) any = true;
    if (!any) return true;

    samba__parts *p = samba__open_parts(c);
    if (!p) return false;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const samba__node *n = c->session->trace.nodes[i];
        for (int32_t o = 0; o < n->n_out && samba__is_in_parts(p, n); o++)
            p->spread[n->out[o]->id] = samba__node_spread(p, n, o);
    }

    for (int32_t i = 0; i < c->n_losses; i++) {
        samba__spread y = samba__spread_of(p, c->losses[i]);
        bool rows = y.kind == SAMBA__KIND_ROWS && !y.order;
        if (c->losses[i]->node) c->losses[i]->batch_dim = rows ? y.row_dim : -1;
    }
    return true;
}

/* Is an input of n neither rows, nor a sum, nor a mean? */
SAMBA__FN bool samba__reads_mixed(const samba__parts *p, const samba__node *n)
{
    for (int32_t k = 0; k < n->n_in; k++)
        if (samba__kind_of_input(p, n, k) == SAMBA__KIND_MIXED) return true;
    return false;
}

/* Finds the spreads of n's outputs, having let n read the whole batch where it must. */
SAMBA__FN bool samba__spread_node(samba__parts *p, samba__node *n)
{
    bool from_inputs = samba__is_from_inputs(p, n), fine = true;
    samba__spread y = samba__node_spread(p, n, 0);
    if (y.kind == SAMBA__KIND_MIXED && !samba__reads_mixed(p, n) && !n->gradient)
        fine = samba__use_batch_values(p, n, &y);
    if (fine && samba__divides_by_targets(p, n)) fine = samba__count_targets(p, n);
    from_inputs = from_inputs && samba__is_from_inputs(p, n); /* it may read the batch by now */

    for (int32_t o = 0; o < n->n_out; o++) {
        if (o > 0) y = samba__node_spread(p, n, o);
        p->spread[n->out[o]->id] = y;
        p->from_inputs[n->out[o]->id] = from_inputs;
    }

    if (n->n_in && n->in[0] && !n->gradient) samba__warn_of_parts(p, n);
    return fine;
}

/* Finds out how parts make the whole: the steps at the top. */
SAMBA__FN bool samba__find_parts(samba__compilation *c)
{
    samba_session *s = c->session;
    if (c->microbatches == 1 && c->replicas == 1) return samba__find_rows_of_losses(c);
    samba__parts *p = samba__open_parts(c);
    if (!p) return false;

    for (int32_t i = 0; i < p->n_tensors; i++) {
        bool input = p->needed[i] && s->trace.tensors[i]->role == SAMBA__INPUT;
        if (input && !samba__check_batch_input(p, s->trace.tensors[i])) return false;
    }
    for (int32_t i = 0; i < p->n_nodes; i++)
        if (samba__is_in_parts(p, s->trace.nodes[i]) && !samba__spread_node(p, s->trace.nodes[i]))
            return false;
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (!samba__check_batch_output(p, c->outputs[i])) return false;

    if (!samba__check_pieces(p)) return false;
    c->parts = p;
    return true;
}

/* How the parts of t make the whole; of one part, as rows. What is mixed is kept like them, and a
   scalar as a mean. */
SAMBA__FN samba__spread_kind samba__output_kind(const samba__compilation *c, const samba_tensor *t)
{
    samba__spread_kind kind = c->parts ? samba__spread_of(c->parts, t).kind : SAMBA__KIND_MIXED;
    if (kind != SAMBA__KIND_MIXED) return kind;
    return t->shape.ndim ? SAMBA__KIND_ROWS : SAMBA__KIND_MEAN;
}

/* The dimension that counts the rows of an output that has rows. */
SAMBA__FN int32_t samba__output_row_dim(const samba__compilation *c, const samba_tensor *t)
{
    int32_t dim = c->parts ? samba__spread_of(c->parts, t).row_dim : t->batch_dim;
    return dim < 0 ? 0 : dim;
}

