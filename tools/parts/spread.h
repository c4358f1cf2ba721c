/* ==== [spread] ================================================================================ */
/* With microbatches or replicas a program is traced for one part of the batch and runs once for
   each part. What is a tensor of the whole batch then? This chapter finds the spread of each
   tensor: how its values in the parts make that of the batch. [microbatches] acts on it.

     1. A leaf's spread follows from its role: an input counts rows in its batch_dim; parameters,
        buffers and constants are the same in each part (samba__leaf_spread).
     2. An op's spread follows from those of its inputs. Its row of the op table names the rule,
        SAMBA__SPREAD_RULES finds the function of the rule: samba__<function>_spread below.
     3. Nodes are visited as they were traced, so inputs are known before what reads them.

   An example, 8 rows in 2 parts, with w a parameter:

       x                      (4,3)  rows, row_dim 0
       y = x * w              (4,3)  rows, row_dim 0     rows times same
       t = transpose of y     (3,4)  rows, row_dim 1
       each = sum of y, axis 1  (4)  rows, row_dim 0     within each row
       total = sum of each      ()   sum                 over the rows
       m = mean of t, axis 1    (3)  mean                over the rows
       m * w                    (3)  mean                linear in m
       m * m                    (3)  mixed: the mean of the parts' squares is not the square of
                                     the batch's mean

   Three rules cover elementwise ops, and serve the others:

       a + b   same   rows   sum    mean      a * b   same   rows   sum    mean      f(a)
       same    same   rows   mixed  mean      same    same   rows   sum    mean      same
       rows    rows   rows   mixed  mixed     rows    rows   rows   mixed  mixed     rows
       sum     mixed  mixed  sum    mixed     sum     sum    mixed  mixed  mixed     mixed
       mean    mean   mixed  mixed  mean      mean    mean   mixed  mixed  mixed     mixed

   What is mixed makes all else mixed. A value that does not depend on the batch is its own mean;
   beside a sum it would be added once for each part. A product is linear in one sum or mean. f is
   any function. Division is a * f(b), and where(a, b, c) is f(a) * (b + c).

   Rows that meet must also be the same rows: be counted by one dimension, and follow each other in
   one order. Rows are in the batch's order (NULL) until cat puts those of several tensors one after
   another, or slice takes some of each part. Then the node of that cat or slice stands for the
   order; a slice that undoes a cat, and a cat that undoes slices, give the order from before. */
typedef enum samba__spread_kind {
    SAMBA__KIND_SAME = 0, /* does not depend on the batch: the same in each part */
    SAMBA__KIND_ROWS, /* a dimension counts rows: the batch's are the parts', one after another */
    SAMBA__KIND_SUM,  /* over rows: the batch's is the sum of the parts' */
    SAMBA__KIND_MEAN, /* over rows, of parts of one size: the batch's is the mean of the parts' */
    SAMBA__KIND_MIXED /* cannot be made of the parts', such as a maximum over rows */
} samba__spread_kind;

typedef struct samba__spread {
    samba__spread_kind kind;
    int32_t row_dim;          /* counts the rows; of mixed, too, if each row is still in its place;
                                 -1: none does, or it is not known which */
    const samba__node *order; /* the cat or slice that gave rows their order; NULL: the batch's */
} samba__spread;

/* What a node was traced with; [microbatches] may give it other inputs. */
typedef struct samba__traced_inputs {
    samba_tensor **in;
    int32_t n_in;
} samba__traced_inputs;

typedef struct samba__parts {
    samba__compilation *c;
    int32_t n_tensors, n_nodes; /* as traced: what the compiler adds comes after them */
    bool *needed;               /* by tensor id: does it, or its node, lead to an output? */
    samba__spread *spread;      /* by tensor id */

    /* of [microbatches] */
    bool *from_inputs;            /* by tensor id: could COUNT compute it before the first part? */
    samba__traced_inputs *traced; /* by node id */
    samba_tensor **in_count;      /* by tensor id: the same value, in a section of COUNT */
    samba_tensor **batch_value;   /* by tensor id: the leaf that has the value of the whole batch */
    samba_tensor **mean_part;     /* by tensor id: the leaf that has the mean of the parts' */
} samba__parts;

/* Of an optional input that is absent, and of what is younger than the trace: the same. */
SAMBA__FN samba__spread samba__spread_of(const samba__parts *p, const samba_tensor *t)
{
    samba__spread same = { SAMBA__KIND_SAME, -1, NULL };
    return t && t->id < p->n_tensors ? p->spread[t->id] : same;
}

SAMBA__FN samba__spread samba__without_rows(samba__spread_kind kind)
{
    samba__spread y = { kind, -1, NULL };
    return y;
}

SAMBA__FN samba__spread samba__leaf_spread(const samba_tensor *t)
{
    samba__spread y = samba__without_rows(SAMBA__KIND_SAME);
    if (t->role == SAMBA__INPUT && t->batch_dim >= 0) {
        y.kind = SAMBA__KIND_ROWS;
        y.row_dim = t->batch_dim;
    }
    return y;
}

/* May values of this kind have a dimension that counts rows? */
SAMBA__FN bool samba__may_have_rows(samba__spread_kind kind)
{
    return kind == SAMBA__KIND_ROWS || kind == SAMBA__KIND_MIXED;
}

/* ---- The algebra of kinds ---- */
SAMBA__FN samba__spread_kind samba__kind_added(samba__spread_kind a, samba__spread_kind b)
{
    if (a == b) return a;
    if (a != SAMBA__KIND_SAME && b != SAMBA__KIND_SAME) return SAMBA__KIND_MIXED;

    samba__spread_kind other = a == SAMBA__KIND_SAME ? b : a;
    return other == SAMBA__KIND_SUM ? SAMBA__KIND_MIXED : other;
}

SAMBA__FN samba__spread_kind samba__kind_multiplied(samba__spread_kind a, samba__spread_kind b)
{
    if (a == SAMBA__KIND_SAME) return b;
    if (b == SAMBA__KIND_SAME) return a;
    return a == SAMBA__KIND_ROWS && b == SAMBA__KIND_ROWS ? a : SAMBA__KIND_MIXED;
}

SAMBA__FN samba__spread_kind samba__kind_of_function(samba__spread_kind x)
{
    bool kept = x == SAMBA__KIND_SAME || x == SAMBA__KIND_ROWS;
    return kept ? x : SAMBA__KIND_MIXED;
}

SAMBA__FN samba__spread_kind samba__kind_of_input(const samba__parts *p, const samba__node *n,
                                                  int32_t k)
{
    return k < n->n_in ? samba__spread_of(p, n->in[k]).kind : SAMBA__KIND_SAME;
}

/* Of a function of the inputs from `first` to before `end`, all of them together. */
SAMBA__FN samba__spread_kind samba__kind_of_inputs(const samba__parts *p, const samba__node *n,
                                                   int32_t first, int32_t end)
{
    samba__spread_kind kind = SAMBA__KIND_SAME;
    for (int32_t k = first; k < end && k < n->n_in; k++) {
        samba__spread_kind x = samba__kind_of_function(samba__kind_of_input(p, n, k));
        kind = samba__kind_multiplied(kind, x);
    }
    return kind;
}

/* ---- Which rows, and in which order ---- */

/* Begin, stop and step of slice n in dimension dim. */
SAMBA__FN const int32_t *samba__slice_words(const samba__node *n, int32_t dim)
{
    SAMBA_ASSERT(samba__is(n->op, SAMBA__OP_slice) && dim >= 0 && dim < n->in[0]->shape.ndim);
    return n->attr + SAMBA__SLICE_WORDS * dim;
}

SAMBA__FN bool samba__is_order_of_slice(const samba__node *order)
{
    SAMBA_ASSERT(!order || samba__is(order->op, SAMBA__OP_slice)
                 || samba__is(order->op, SAMBA__OP_cat));
    return order && samba__is(order->op, SAMBA__OP_slice);
}

/* Do slices a and b take as much of the rows of their inputs? */
SAMBA__FN bool samba__same_share(const samba__parts *p, const samba__node *a, const samba__node *b)
{
    int32_t dim_a = samba__spread_of(p, a->in[0]).row_dim;
    int32_t dim_b = samba__spread_of(p, b->in[0]).row_dim;
    const int32_t *x = samba__slice_words(a, dim_a), *y = samba__slice_words(b, dim_b);
    int64_t rows_a = a->in[0]->shape.dim[dim_a], rows_b = b->in[0]->shape.dim[dim_b];

    return x[SAMBA__SLICE_BEGIN] * rows_b == y[SAMBA__SLICE_BEGIN] * rows_a
        && x[SAMBA__SLICE_STOP] * rows_b == y[SAMBA__SLICE_STOP] * rows_a;
}

/* Do cats a and b join as many rows of the same orders? */
SAMBA__FN bool samba__same_joins(const samba__parts *p, const samba__node *a, const samba__node *b)
{
    if (a->n_in != b->n_in) return false;
    for (int32_t k = 0; k < a->n_in; k++) {
        samba__spread x = samba__spread_of(p, a->in[k]), y = samba__spread_of(p, b->in[k]);
        bool rows = x.kind == SAMBA__KIND_ROWS && y.kind == SAMBA__KIND_ROWS;
        if (!rows || x.order != y.order) return false;
        SAMBA_ASSERT(x.row_dim >= 0
                     && y.row_dim >= 0); /* the axis, which cats with an order join */
        if (a->in[k]->shape.dim[x.row_dim] != b->in[k]->shape.dim[y.row_dim]) return false;
    }
    return true;
}

/* Do rows of orders a and b follow each other in the same way? */
SAMBA__FN bool samba__same_order(const samba__parts *p, const samba__node *a, const samba__node *b)
{
    while (a != b && samba__is_order_of_slice(a) && samba__is_order_of_slice(b)) {
        if (!samba__same_share(p, a, b)) return false;
        a = samba__spread_of(p, a->in[0]).order;
        b = samba__spread_of(p, b->in[0]).order;
    }

    if (!a || !b || a == b) return a == b;
    return a->op == b->op && samba__same_joins(p, a, b);
}

/* Dimension dim of x in y, to which x is broadcast; -1: it is stretched there, or not known. */
SAMBA__FN int32_t samba__broadcast_dim(const samba_shape *x, int32_t dim, const samba_shape *y)
{
    int32_t at = dim + y->ndim - x->ndim;
    if (dim < 0 || at < 0 || x->dim[dim] != y->dim[at]) return -1;
    return at;
}

/* Of an elementwise op, the rows that its inputs from `first` to before `end` have in common: of
   kind rows, or mixed if they are not the same rows, or the same if no input has any. */
SAMBA__FN samba__spread samba__common_rows(const samba__parts *p, const samba__node *n,
                                           int32_t first, int32_t end)
{
    samba__spread y = samba__without_rows(SAMBA__KIND_SAME);
    bool clash = false;
    for (int32_t k = first; k < end && k < n->n_in; k++) {
        samba__spread x = samba__spread_of(p, n->in[k]);
        if (!samba__may_have_rows(x.kind)) continue;

        bool rows = x.kind == SAMBA__KIND_ROWS, others = y.kind != SAMBA__KIND_SAME;
        int32_t dim = samba__broadcast_dim(&n->in[k]->shape, x.row_dim, &n->out[0]->shape);
        if (rows && x.row_dim >= 0 && dim < 0) clash = true; /* its only row is used for all */
        if (others) {
            bool known = dim >= 0 && y.row_dim >= 0;
            if (known && dim != y.row_dim) clash = true;
            if (rows && (dim < 0) != (y.row_dim < 0)) clash = true;
            if (!samba__same_order(p, x.order, y.order)) clash = true;
        }

        if (!others || dim < 0) y.row_dim = dim;
        if (!others) y.order = x.order;
        y.kind = SAMBA__KIND_ROWS;
    }

    if (clash) {
        y.kind = SAMBA__KIND_MIXED;
        y.row_dim = -1;
    }
    return y;
}

/* ---- Elementwise ops and reductions ---- */
SAMBA__FN samba__spread_kind samba__elementwise_kind(const samba__parts *p, const samba__node *n)
{
    samba__spread_kind a = samba__kind_of_input(p, n, 0), b = samba__kind_of_input(p, n, 1),
                       c = samba__kind_of_input(p, n, 2);

    switch (samba__spread_rule_of(n->op)) {
    case SAMBA__SPREAD_ADDS:
        return samba__kind_added(a, b);
    case SAMBA__SPREAD_SHIFTS: /* a number is the same in each part */
        return samba__kind_added(a, SAMBA__KIND_SAME);

    case SAMBA__SPREAD_MULTIPLIES:
        return samba__kind_multiplied(a, b);
    case SAMBA__SPREAD_DIVIDES: /* linear in what is divided */
        return samba__kind_multiplied(a, samba__kind_of_function(b));
    case SAMBA__SPREAD_CHOOSES: /* a says which of b and c: of a sum, say, for all or for none */
        return samba__kind_multiplied(samba__kind_of_function(a), samba__kind_added(b, c));

    case SAMBA__SPREAD_CASTS:
        return samba__is_float(n->out[0]->dtype) ? a : samba__kind_of_function(a);
    case SAMBA__SPREAD_DROPS: /* rate, seed and counter are no operands */
        return samba__kind_of_function(a);
    default:
        return samba__kind_of_inputs(p, n, 0, SAMBA_MAX_IN);
    }
}

SAMBA__FN samba__spread samba__elementwise_spread(const samba__parts *p, const samba__node *n)
{
    bool drops = samba__spread_rule_of(n->op) == SAMBA__SPREAD_DROPS;
    samba__spread y = samba__common_rows(p, n, 0, drops ? 1 : SAMBA_MAX_IN);
    if (y.kind != SAMBA__KIND_MIXED) y.kind = samba__elementwise_kind(p, n);
    return y;
}

/* What a reduction over all rows makes of them. */
SAMBA__FN samba__spread_kind samba__kind_over_rows(samba__spread_rule rule)
{
    if (rule == SAMBA__SPREAD_SUM || rule == SAMBA__SPREAD_SQUARES) return SAMBA__KIND_SUM;
    return rule == SAMBA__SPREAD_MEAN ? SAMBA__KIND_MEAN : SAMBA__KIND_MIXED;
}

/* sum, mean, max, square_sum, argmax: over rows, or within them. */
SAMBA__FN samba__spread samba__reduced_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;
    samba__spread_rule rule = samba__spread_rule_of(n->op);
    int32_t axes = n->attr[SAMBA__REDUCE_AXES], keeps_dims = n->attr[SAMBA__REDUCE_KEEPDIM];

    if (rule == SAMBA__SPREAD_ARGMAX) {
        axes = 1 << n->attr[SAMBA__ARGMAX_AXIS];
        keeps_dims = n->attr[SAMBA__ARGMAX_KEEPDIM];
    }

    if (!samba__may_have_rows(x.kind)) {
        bool linear = rule == SAMBA__SPREAD_SUM || rule == SAMBA__SPREAD_MEAN;
        return samba__without_rows(linear ? x.kind : samba__kind_of_function(x.kind));
    }

    int32_t all = (1 << n->in[0]->shape.ndim) - 1;
    bool over_rows = x.row_dim < 0 ? axes == all : axes >> x.row_dim & 1;
    if (over_rows && x.kind == SAMBA__KIND_ROWS)
        return samba__without_rows(samba__kind_over_rows(rule));
    if (over_rows || x.row_dim < 0) return samba__without_rows(SAMBA__KIND_MIXED);

    for (int32_t i = 0; i < x.row_dim && !keeps_dims; i++)
        y.row_dim -= axes >> i & 1;
    return y;
}

/* ---- Ops that move values ---- */

/* Where reshape leaves the dimension of rows: where as many elements stand before it, and its rows
   are whole ones, or pieces of one; -1: nowhere. */
SAMBA__FN int32_t samba__reshaped_dim(const samba_shape *x, int32_t dim, const samba_shape *y)
{
    if (dim < 0) return -1;
    int32_t rows = x->dim[dim];
    for (int32_t i = 0; i < y->ndim; i++) {
        int32_t d = y->dim[i];
        bool divides = d % rows == 0 || rows % d == 0;
        bool alone = d == 1 && rows != 1; /* a dimension that reshape put in front */
        if (samba__outer(y, i) == samba__outer(x, dim) && divides && !alone) return i;
    }
    return -1;
}

/* Rows that several tensors had, one after another, are in no order once their dimension is
   split. */
SAMBA__FN samba__spread samba__reshaped_spread(const samba__parts *p, const samba__node *n)
{
    const samba_shape *from = &n->in[0]->shape, *to = &n->out[0]->shape;
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;

    y.row_dim = samba__reshaped_dim(from, x.row_dim, to);
    bool splits = y.row_dim >= 0 && to->dim[y.row_dim] < from->dim[x.row_dim];
    bool several = x.order && !samba__is_order_of_slice(x.order);
    if (several && splits) y.kind = SAMBA__KIND_MIXED;
    return y;
}

SAMBA__FN samba__spread samba__permuted_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;
    for (int32_t i = 0; i < n->n_attr; i++)
        if (x.row_dim >= 0 && n->attr[i] == x.row_dim) y.row_dim = i;
    return y;
}

SAMBA__FN samba__spread samba__expanded_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;
    bool known = x.kind == SAMBA__KIND_ROWS && x.row_dim >= 0;
    y.row_dim = samba__broadcast_dim(&n->in[0]->shape, x.row_dim, &n->out[0]->shape);
    if (known && y.row_dim < 0) y.kind = SAMBA__KIND_MIXED;
    return y;
}

/* Each part has what is added: it does not add up, and rows are no longer one after another. */
SAMBA__FN samba__spread samba__padded_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;
    const samba_shape *from = &n->in[0]->shape, *to = &n->out[0]->shape;
    bool zeros = n->attr[n->n_attr - 1] == 0;

    if (x.kind == SAMBA__KIND_SUM && !zeros) y.kind = SAMBA__KIND_MIXED;
    bool known = x.kind == SAMBA__KIND_ROWS && x.row_dim >= 0;
    if (known && from->dim[x.row_dim] != to->dim[x.row_dim]) y.kind = SAMBA__KIND_MIXED;
    return y;
}

/* Among the slices that are used of what n slices, one that begins at row `begin`: n, if it does.
   Slices that no output needs do not count, however the program splits. */
SAMBA__FN const samba__node *samba__slice_from(const samba__parts *p, const samba__node *n,
                                               int32_t dim, int32_t begin)
{
    const samba__node *found = NULL;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const samba__node *other = p->c->session->trace.nodes[i];
        bool sibling = samba__is(other->op, SAMBA__OP_slice) && other->in[0] == n->in[0];
        if (!sibling || !p->needed[other->out[0]->id]) continue;

        const int32_t *words = samba__slice_words(other, dim);
        bool fits = words[SAMBA__SLICE_BEGIN] == begin && words[SAMBA__SLICE_STEP] == 1;
        if (fits && (!found || other == n)) found = other;
    }
    return found;
}

/* Do slices of one tensor, n among them, together take each of its rows once? */
SAMBA__FN bool samba__takes_its_share(const samba__parts *p, const samba__node *n, int32_t dim)
{
    int32_t begin = 0, rows = n->in[0]->shape.dim[dim];
    bool met = false;
    while (begin < rows) {
        const samba__node *next = samba__slice_from(p, n, dim, begin);
        if (!next) return false;
        if (next == n) met = true;

        int32_t stop = samba__slice_words(next, dim)[SAMBA__SLICE_STOP];
        SAMBA_ASSERT(stop > begin);
        begin = stop;
    }
    return met;
}

/* A slice of rows x that cat put one after another may take just those of one tensor: they have the
   order they had before. */
SAMBA__FN samba__spread samba__slice_of_cat_spread(const samba__parts *p, const samba__node *n,
                                                   samba__spread x)
{
    const samba__node *cat = x.order;
    const int32_t *words = samba__slice_words(n, x.row_dim);
    int32_t axis = cat->attr[SAMBA__AXIS_NUMBER];
    int64_t total = cat->out[0]->shape.dim[axis], size = n->in[0]->shape.dim[x.row_dim], from = 0;
    samba__spread y = x;
    y.kind = SAMBA__KIND_MIXED;
    if (words[SAMBA__SLICE_STEP] != 1) return y;

    for (int32_t k = 0; k < cat->n_in; k++) {
        int64_t to = from + cat->in[k]->shape.dim[axis];
        /* in parts of all rows, as they may have been reshaped since */
        bool these = words[SAMBA__SLICE_BEGIN] * total == from * size
            && words[SAMBA__SLICE_STOP] * total == to * size;
        if (these) {
            y.kind = x.kind;
            y.order = samba__spread_of(p, cat->in[k]).order;
        }
        from = to;
    }
    return y;
}

/* Of the rows slice may take all, every k-th of the batch, what one tensor gave to a cat, or, with
   other slices, each of them once: so each part is worked on in pieces. Which the first ten are,
   say, differs from part to part. */
SAMBA__FN samba__spread samba__slice_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;
    if (!samba__may_have_rows(x.kind)) return x;
    if (x.row_dim < 0) {
        if (!samba__same_shape(&n->in[0]->shape, &n->out[0]->shape)) y.kind = SAMBA__KIND_MIXED;
        return y;
    }

    const int32_t *words = samba__slice_words(n, x.row_dim);
    int32_t begin = words[SAMBA__SLICE_BEGIN], stop = words[SAMBA__SLICE_STOP],
            step = words[SAMBA__SLICE_STEP], size = n->in[0]->shape.dim[x.row_dim];
    if (begin == 0 && stop == size && step == 1) return x;
    if (x.order && !samba__is_order_of_slice(x.order)) return samba__slice_of_cat_spread(p, n, x);

    bool every = size % step == 0 && begin < step && n->out[0]->shape.dim[x.row_dim] == size / step;
    if (every) return x;

    y.order = n;
    if (step != 1 || !samba__takes_its_share(p, n, x.row_dim)) y.kind = SAMBA__KIND_MIXED;
    return y;
}

/* Does cat n put together again what slices took apart? Then *order is that from before. */
SAMBA__FN bool samba__puts_together(const samba__parts *p, const samba__node *n,
                                    const samba__node **order)
{
    const samba__node *before = NULL;
    int64_t stop = 0, size = 1; /* of the rows, stop / size are there */
    for (int32_t k = 0; k < n->n_in; k++) {
        const samba__node *slice = samba__spread_of(p, n->in[k]).order;
        if (!samba__is_order_of_slice(slice)) return false;

        samba__spread x = samba__spread_of(p, slice->in[0]);
        const int32_t *words = samba__slice_words(slice, x.row_dim);
        int64_t rows = slice->in[0]->shape.dim[x.row_dim];
        if (words[SAMBA__SLICE_BEGIN] * size != stop * rows) return false;
        if (k > 0 && !samba__same_order(p, x.order, before)) return false;

        before = x.order;
        stop = words[SAMBA__SLICE_STOP];
        size = rows;
    }

    if (stop != size) return false;
    *order = before;
    return true;
}

/* cat: in another dimension than that of the rows, or of rows, which then have an order of their
   own. */
SAMBA__FN samba__spread samba__cat_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread y = samba__spread_of(p, n->in[0]);
    int32_t axis = n->attr[SAMBA__AXIS_NUMBER];
    bool any_rows = samba__may_have_rows(y.kind), any_same = y.kind == SAMBA__KIND_SAME;
    bool clash = false;

    for (int32_t k = 1; k < n->n_in; k++) {
        samba__spread x = samba__spread_of(p, n->in[k]);
        y.kind = samba__kind_added(y.kind, x.kind);
        if (x.kind == SAMBA__KIND_SAME) any_same = true;
        if (!samba__may_have_rows(x.kind)) continue;

        if (any_rows && x.row_dim != y.row_dim) clash = true;
        if (any_rows && x.row_dim != axis && !samba__same_order(p, x.order, y.order)) clash = true;
        y.row_dim = x.row_dim;
        y.order = x.order;
        any_rows = true;
    }
    if (clash) return samba__without_rows(SAMBA__KIND_MIXED);

    bool joins = y.row_dim >= 0 && y.row_dim == axis && n->n_in > 1;
    if (!joins || samba__puts_together(p, n, &y.order)) return y;
    y.order = n;
    if (any_same) y.kind = SAMBA__KIND_MIXED; /* each part has them once */
    return y;
}

/* ---- Products ---- */

/* Does x have rows in a dimension that is known, or none? */
SAMBA__FN bool samba__has_known_rows(const samba__spread *x)
{
    return x->kind == SAMBA__KIND_SAME || (x->kind == SAMBA__KIND_ROWS && x->row_dim >= 0);
}

/* matmul: over the rows, where its inner dimension counts them, gives a sum; else it works on each
   row, as long as not both inputs bring rows of their own. */
SAMBA__FN samba__spread samba__product_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread a = samba__spread_of(p, n->in[0]), b = samba__spread_of(p, n->in[1]);
    samba__spread y = samba__without_rows(SAMBA__KIND_MIXED);
    int32_t dims_a = n->in[0]->shape.ndim, dims_b = n->in[1]->shape.ndim;
    int32_t dims = n->out[0]->shape.ndim;
    bool rows_a = a.kind == SAMBA__KIND_ROWS, rows_b = b.kind == SAMBA__KIND_ROWS;

    if (!rows_a && !rows_b) return samba__without_rows(samba__kind_multiplied(a.kind, b.kind));
    if (!samba__has_known_rows(&a) || !samba__has_known_rows(&b)) return y;
    if (dims_a < 2 || dims_b < 2) return y;
    if (rows_a && rows_b && !samba__same_order(p, a.order, b.order)) return y;

    int32_t inner_a = dims_a - (n->attr[SAMBA__MATMUL_TRANSPOSE_A] ? 2 : 1),
            inner_b = dims_b - (n->attr[SAMBA__MATMUL_TRANSPOSE_B] ? 1 : 2);
    bool over_a = rows_a && a.row_dim == inner_a, over_b = rows_b && b.row_dim == inner_b;
    if (over_a || over_b) {
        bool all = over_a == rows_a && over_b == rows_b;
        return samba__without_rows(all ? SAMBA__KIND_SUM : SAMBA__KIND_MIXED);
    }

    int32_t at_a = -1, at_b = -1; /* where the result has the rows of each */
    if (rows_a) at_a = a.row_dim < dims_a - 2 ? a.row_dim + dims - dims_a : dims - 2;
    if (rows_b) at_b = b.row_dim < dims_b - 2 ? b.row_dim + dims - dims_b : dims - 1;
    y.kind = rows_a && rows_b && at_a != at_b ? SAMBA__KIND_MIXED : SAMBA__KIND_ROWS;
    y.row_dim = rows_a ? at_a : at_b;
    y.order = rows_a ? a.order : b.order;
    return y;
}

/* Ops that work within rows, which their first input has: any of its first `n_dims` dimensions may
   count them. Other inputs must be the same for all rows. */
SAMBA__FN samba__spread samba__within_spread(const samba__parts *p, const samba__node *n,
                                             int32_t n_dims)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = samba__without_rows(SAMBA__KIND_MIXED);
    bool alone = samba__kind_of_inputs(p, n, 1, SAMBA_MAX_IN) == SAMBA__KIND_SAME;
    bool within = x.row_dim >= 0 && x.row_dim < n_dims;

    if (x.kind == SAMBA__KIND_SAME && alone) y.kind = SAMBA__KIND_SAME;
    if (x.kind == SAMBA__KIND_ROWS && within && alone) y = x;
    if (x.kind == SAMBA__KIND_MIXED && within) y.row_dim = x.row_dim;
    return y;
}

/* Ops that work on whole images, (N,...). */
SAMBA__FN samba__spread samba__images_spread(const samba__parts *p, const samba__node *n)
{
    return samba__within_spread(p, n, 1);
}

SAMBA__FN samba__spread samba__planes_spread(const samba__parts *p, const samba__node *n)
{
    return samba__within_spread(p, n, n->in[0]->shape.ndim - 2);
}

SAMBA__FN samba__spread samba__vectors_spread(const samba__parts *p, const samba__node *n)
{
    return samba__within_spread(p, n, n->in[0]->shape.ndim - 1);
}

/* x w^T + b works on vectors, and is linear in x if that has no rows. */
SAMBA__FN samba__spread samba__affine_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread_kind x = samba__kind_of_input(p, n, SAMBA__AFFINE_X);
    samba__spread_kind w = samba__kind_of_input(p, n, SAMBA__AFFINE_WEIGHT);
    samba__spread_kind b = samba__kind_of_input(p, n, SAMBA__AFFINE_BIAS);
    bool has_b = n->n_in > SAMBA__AFFINE_BIAS && n->in[SAMBA__AFFINE_BIAS];

    if (samba__may_have_rows(x)) return samba__vectors_spread(p, n);
    if (w == SAMBA__KIND_ROWS || b == SAMBA__KIND_ROWS)
        return samba__without_rows(SAMBA__KIND_MIXED);

    samba__spread_kind kind = samba__kind_multiplied(x, w);
    return samba__without_rows(has_b ? samba__kind_added(kind, b) : kind);
}

/* Rows of a table by ids, which may be rows of the part: then they count from its first one. */
SAMBA__FN samba__spread samba__lookup_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread ids = samba__spread_of(p, n->in[SAMBA__LOOKUP_IDS]);
    samba__spread table = samba__spread_of(p, n->in[SAMBA__LOOKUP_WEIGHT]);
    bool each = table.kind == SAMBA__KIND_ROWS || table.kind == SAMBA__KIND_SAME;

    if (ids.kind == SAMBA__KIND_ROWS && each) return ids;
    if (ids.kind == SAMBA__KIND_SAME && table.kind != SAMBA__KIND_ROWS) return table;
    return samba__without_rows(SAMBA__KIND_MIXED);
}

/* Queries, keys and values of the same rows; the mask may be the same for all. */
SAMBA__FN samba__spread samba__attention_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread y = samba__without_rows(SAMBA__KIND_SAME);
    bool clash = false, any_rows = false;

    for (int32_t k = 0; k <= SAMBA__ATTENTION_MASK && k < n->n_in; k++) {
        samba__spread x = samba__spread_of(p, n->in[k]);
        if (x.kind != SAMBA__KIND_ROWS) continue;

        int32_t dims = n->in[k]->shape.ndim, dim = x.row_dim + n->out[0]->shape.ndim - dims;
        if (x.row_dim < 0 || x.row_dim >= dims - 2) clash = true;
        if (any_rows && (dim != y.row_dim || !samba__same_order(p, x.order, y.order))) clash = true;
        y.row_dim = dim;
        y.order = x.order;
        any_rows = true;
    }

    y.kind = samba__kind_of_inputs(p, n, 0, SAMBA__ATTENTION_MASK + 1);
    if (clash) {
        y.kind = SAMBA__KIND_MIXED;
        y.row_dim = -1;
    }
    return y;
}

/* cross_entropy and nll of x and its targets. */
SAMBA__FN samba__spread samba__loss_spread(const samba__parts *p, const samba__node *n)
{
    samba__spread x = samba__spread_of(p, n->in[0]), target = samba__spread_of(p, n->in[1]);
    samba__spread mixed = samba__without_rows(SAMBA__KIND_MIXED);
    samba__spread_kind kind = samba__kind_of_inputs(p, n, 0, 2);
    if (kind != SAMBA__KIND_ROWS) return samba__without_rows(kind);

    if (x.kind == SAMBA__KIND_ROWS && x.row_dim == n->in[0]->shape.ndim - 1) return mixed;
    if (x.kind == target.kind) {
        bool one_known = (x.row_dim < 0) != (target.row_dim < 0);
        if (one_known || !samba__same_order(p, x.order, target.order)) return mixed;
    }

    int32_t reduction = n->attr[SAMBA__LOSS_REDUCTION];
    if (reduction == SAMBA_REDUCE_MEAN) return samba__without_rows(SAMBA__KIND_MEAN);
    if (reduction == SAMBA_REDUCE_SUM) return samba__without_rows(SAMBA__KIND_SUM);

    samba__spread y = x.kind == SAMBA__KIND_ROWS ? x : target;
    if (x.row_dim < 0) y.row_dim = target.row_dim;
    return y;
}

/* Ops of the program's own, and those of which nothing is known: they keep the rows of the first
   dimension if they have as many. */
SAMBA__FN samba__spread samba__spread_of_unknown(const samba__parts *p, const samba__node *n,
                                                 const samba_shape *shape)
{
    samba__spread y = samba__without_rows(SAMBA__KIND_SAME);
    for (int32_t k = 0; k < n->n_in; k++) {
        samba__spread x = samba__spread_of(p, n->in[k]);
        if (x.kind == SAMBA__KIND_SAME) continue;

        bool keeps = x.kind == SAMBA__KIND_ROWS && x.row_dim == 0 && shape->ndim > 0
            && shape->dim[0] == n->in[k]->shape.dim[0];
        if (y.kind == SAMBA__KIND_SAME && keeps) y = x;
        if (!keeps || !samba__same_order(p, x.order, y.order)) y.kind = SAMBA__KIND_MIXED;
    }

    if (y.kind == SAMBA__KIND_MIXED) y.row_dim = -1;
    return y;
}

SAMBA__FN samba__spread samba__unknown_spread(const samba__parts *p, const samba__node *n)
{
    return samba__spread_of_unknown(p, n, &n->out[0]->shape);
}

SAMBA__FN samba__spread samba__same_spread(const samba__parts *p, const samba__node *n)
{
    (void)p;
    (void)n;
    return samba__without_rows(SAMBA__KIND_SAME);
}

/* ---- Any node ---- */
SAMBA__FN samba__spread samba__first_output_spread(const samba__parts *p, const samba__node *n)
{
    typedef samba__spread (*function)(const samba__parts *p, const samba__node *n);
    static const function by_rule[SAMBA__N_SPREAD_RULES] = {
#define X(rule, function) samba__##function##_spread,
        SAMBA__SPREAD_RULES(X)
#undef X
    };

    return by_rule[samba__spread_rule_of(n->op)](p, n);
}

/* Of output number `out`. A second output is mostly of the rows of the first, such as the sums of
   exponentials that attention keeps; those of batch_norm and fake_quantize are state. */
SAMBA__FN samba__spread samba__node_spread(const samba__parts *p, const samba__node *n, int32_t out)
{
    samba__spread_rule rule = samba__spread_rule_of(n->op);
    bool of_gradient = n->gradient && samba__is_builtin(n->op); /* made by samba_grad */
    samba__spread y = samba__without_rows(SAMBA__KIND_SAME);

    if (of_gradient || rule == SAMBA__SPREAD_UNKNOWN)
        y = samba__spread_of_unknown(p, n, &n->out[out]->shape);
    else if (out == 0 || rule != SAMBA__SPREAD_IMAGES)
        y = samba__first_output_spread(p, n);

    /* how the loss weighs rows is not known: a gradient of rows is that of the part's loss */
    if (of_gradient && y.kind == SAMBA__KIND_ROWS) y.kind = SAMBA__KIND_MIXED;
    SAMBA_ASSERT(y.kind != SAMBA__KIND_ROWS || y.row_dim < n->out[out]->shape.ndim);
    SAMBA_ASSERT(samba__may_have_rows(y.kind) || (y.row_dim < 0 && !y.order));
    return y;
}

