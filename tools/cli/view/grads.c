/* Which tensor is the gradient of which. The compiler knows, and tells it in its map.
   Without a map it is told from the graph. The gradient of what an op makes is what its backward op
   reads beside what the op itself reads and makes:
       y = tanh(x)         dx = tanh_backward(dy, y)
       y = affine(x, W)    dx = matmul(dy, W), dW = matmul(dy, x)
       y = dropout(x, p)   dx = dropout(dy, p), with the same mask
   It is complete there: the backward pass adds up what flows into y before it goes on. So a pair of
   such nodes, and the same number of elements in y and dy, name dy. Sums and views hand the
   gradient of what they make on to what they read, if nothing else reads that. Nothing is said
   where two forward nodes fit one backward node; nor where two backward nodes fit a forward node,
   which the compiler has made of two equal ones: then each dy is a part. If the backward pass of
   two was equal as well, it adds a tensor to itself: then nothing is said at all. */
#include "grads.h"
#include "capture.h"
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = -1, SEVERAL = -2 };

typedef struct search {
    const model *m;
    gradient *found;       // the result
    int32_t *grad;         // of each tensor the one that is its gradient
    int32_t *readers;      // of each tensor: how many forward nodes read it, views aside
    int32_t *begin, *list; // of each tensor: forward nodes that read or make it, in whatever shape
    int32_t *seen;         // of each node: the last one that was compared with it
} search;

// The tensor of which i is another shape.
static int32_t root_of(const model *m, int32_t i)
{
    return i >= 0 && m->symbols[i].view_of >= 0 ? m->symbols[i].view_of : i;
}

static int64_t count_of(const model *m, int32_t i)
{
    return samba_count(&m->symbols[i].spec.shape);
}

static bool is_kind(const model *m, int32_t i, const char *kind)
{
    return strcmp(kind_of(m, i), kind) == 0;
}

static bool is_op(const node *n, const char *op)
{
    return n->op && strcmp(n->op, op) == 0;
}

// Does node f read or make the tensor, in whatever shape?
static bool has(const model *m, const node *f, int32_t tensor)
{
    for (int32_t k = 0; k < f->n_in + f->n_out; k++) {
        int32_t at = k < f->n_in ? f->in[k] : f->out[k - f->n_in];
        if (at >= 0 && root_of(m, at) == root_of(m, tensor)) return true;
    }
    return false;
}

// Is b an op of the backward pass of f's op? tanh_backward; or a product, for products.
static bool goes_back(const node *f, const node *b)
{
    size_t n = f->op ? strlen(f->op) : 0;
    bool product = is_op(f, "affine") || is_op(f, "matmul");
    if (product) return is_op(b, "matmul") || is_op(b, "matmul_accumulate");
    if (is_op(f, "dropout")) return is_op(b, "dropout"); // the same mask
    return n > 0 && b->op && strncmp(b->op, f->op, n) == 0
        && strncmp(b->op + n, "_backward", 9) == 0;
}

// What b reads that is not of f, and as large as what f makes; *shared counts what is of both.
static int32_t gradient_in(const model *m, const node *f, const node *b, int32_t *shared)
{
    int32_t found = -1, most = is_op(b, "matmul_accumulate") ? 2 : b->n_in;
    *shared = 0;
    for (int32_t k = 0; k < most; k++) {
        if (b->in[k] < 0) continue;
        if (has(m, f, b->in[k]))
            ++*shared;
        else if (found < 0 && count_of(m, b->in[k]) == count_of(m, f->out[0]))
            found = b->in[k];
    }
    return found;
}

// Calls found(s, root, node) for each tensor of each forward node.
static void each_use(search *s, void (*found)(search *s, int32_t root, int32_t node))
{
    const model *m = s->m;
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        const node *f = &m->nodes[i];
        if (!is_kind(m, i, "forward")) continue;
        for (int32_t k = 0; k < f->n_in + f->n_out; k++) {
            int32_t at = k < f->n_in ? f->in[k] : f->out[k - f->n_in];
            if (at >= 0) found(s, root_of(m, at), i);
        }
    }
}

static void count_use(search *s, int32_t root, int32_t node)
{
    (void)node;
    s->begin[root + 1]++;
}

static void list_use(search *s, int32_t root, int32_t node)
{
    s->list[s->begin[root]++] = node;
}

static bool list_uses(search *s)
{
    int32_t n = s->m->pef.n_symbols;
    s->begin = calloc((size_t)n + 2, sizeof *s->begin);
    s->seen = malloc(((size_t)s->m->pef.n_nodes + 1) * sizeof *s->seen);
    if (!s->begin || !s->seen) return false;
    for (int32_t i = 0; i < s->m->pef.n_nodes; i++)
        s->seen[i] = -1;
    each_use(s, count_use);
    for (int32_t i = 0; i < n; i++)
        s->begin[i + 1] += s->begin[i];
    s->list = malloc(((size_t)s->begin[n] + 1) * sizeof *s->list);
    if (!s->list) return false;
    each_use(s, list_use);
    for (int32_t i = n; i > 0; i--)
        s->begin[i] = s->begin[i - 1]; // list_use moved them on
    s->begin[0] = 0;
    return true;
}

// Nodes that may go back through another one. A list is not searched for each of many others.
static bool may_go_back(const node *b)
{
    return is_op(b, "matmul") || is_op(b, "matmul_accumulate") || is_op(b, "dropout")
        || (b->op && strstr(b->op, "_backward"));
}

typedef struct match {
    int32_t node, shared, gradient;
} match;

// Compares b with the forward nodes that use one of its inputs.
static void match_users(search *s, int32_t b, int32_t root, match *best)
{
    const model *m = s->m;
    for (int32_t k = s->begin[root]; k < s->begin[root + 1]; k++) {
        int32_t i = s->list[k], shared, dy;
        const node *f = &m->nodes[i];
        if (s->seen[i] == b) continue;
        s->seen[i] = b;
        if (!goes_back(f, &m->nodes[b]) || f->out[0] < 0) continue;
        dy = gradient_in(m, f, &m->nodes[b], &shared);
        if (dy < 0 || shared == 0 || shared < best->shared) continue;
        best->node = shared > best->shared ? i : -1;
        best->gradient = dy;
        best->shared = shared;
    }
}

// The forward node that b goes back through; -1: none, or several fit as well. It shares an input
// with b. Inputs that many nodes use, as the weights of all layers, are looked at last: who has
// only those in common with b has less than one that was found before.
static int32_t forward_of(search *s, int32_t b, int32_t *gradient)
{
    enum { MANY = 64 };

    const model *m = s->m;
    const node *n = &m->nodes[b];
    match best = { -1, 0, UNKNOWN };
    if (!may_go_back(n)) return -1;
    for (int many = 0; many < 2; many++) {
        int32_t left = 0;
        for (int32_t k = 0; k < n->n_in; k++) {
            int32_t root = root_of(m, n->in[k]);
            bool here = root >= 0 && (s->begin[root + 1] - s->begin[root] > MANY) == many;
            if (here && !many) match_users(s, b, root, &best);
            left += here && many;
        }
        if (!many || best.shared > left) continue;
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] >= 0) match_users(s, b, root_of(m, n->in[k]), &best);
    }
    *gradient = best.gradient;
    return best.node;
}

static void set_gradient(search *s, int32_t tensor, int32_t gradient)
{
    int32_t *known = &s->grad[tensor];
    if (s->m->symbols[tensor].role == SAMBA_ROLE_WEIGHT || *known == SEVERAL) return;
    bool same = *known == UNKNOWN || root_of(s->m, *known) == root_of(s->m, gradient);
    *known = same ? gradient : SEVERAL;
}

// Does the backward pass add a tensor to itself?
static bool has_doubles(const model *m)
{
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        const node *n = &m->nodes[i];
        bool doubles = is_op(n, "add") && n->in[0] == n->in[1];
        if (doubles && is_kind(m, i, "backward")) return true;
    }
    return false;
}

// What a sum or a view makes has the gradient of what it reads, if that goes nowhere else.
static void hand_on(search *s, int32_t i, bool sums)
{
    const model *m = s->m;
    const node *f = &m->nodes[i];
    bool passes = (sums && is_op(f, "add")) || is_view(m, i);
    if (!passes || f->out[0] < 0 || s->grad[f->out[0]] < 0) return;
    for (int32_t k = 0; k < f->n_in; k++) {
        if (f->in[k] < 0 || count_of(m, f->in[k]) != count_of(m, f->out[0])) continue;
        bool alone = s->readers[f->in[k]] == 1 && s->grad[f->in[k]] == UNKNOWN;
        if (alone) set_gradient(s, f->in[k], s->grad[f->out[0]]);
    }
}

static void count_readers(search *s)
{
    const model *m = s->m;
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        const node *f = &m->nodes[i];
        for (int32_t k = 0; is_kind(m, i, "forward") && k < f->n_in; k++)
            if (f->in[k] >= 0) s->readers[f->in[k]]++;
    }
}

static void find_pairs(search *s)
{
    const model *m = s->m;
    if (!list_uses(s)) return;
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        int32_t gradient = UNKNOWN;
        if (!is_kind(m, i, "backward")) continue;
        int32_t f = forward_of(s, i, &gradient);
        if (f >= 0) set_gradient(s, m->nodes[f].out[0], gradient);
    }
    for (int32_t i = m->pef.n_nodes - 1; i >= 0; i--)
        if (is_kind(m, i, "forward")) hand_on(s, i, true);
}

// ---- The map ------------------------------------------------------------------------------------

// Can the part be permuted, or stretched, to the shape of the tensor?
static bool part_fits(const model *m, const part *p, int32_t tensor)
{
    const samba_shape *x = &m->symbols[tensor].spec.shape,
                      *from = &m->symbols[p->tensor].spec.shape;
    bool fits = p->n_axes ? p->n_axes == x->ndim && from->ndim == x->ndim : from->ndim <= x->ndim;
    if (!p->n_axes && count_of(m, p->tensor) == count_of(m, tensor)) return true;
    for (int32_t d = 0; fits && d < from->ndim; d++) {
        int32_t to = x->dim[x->ndim - from->ndim + d];
        if (p->n_axes)
            fits = p->axes[d] < from->ndim && to == from->dim[p->axes[d]];
        else
            fits = from->dim[d] == 1 || from->dim[d] == to;
    }
    return fits;
}

// Why a gradient is not kept, by the word of the map.
static const char *why_not_kept(const char *word)
{
    static const char *const reason[][2] = {
        { "summed", "Its gradient is not kept: more is added to it in its place." },
        { "computed",
          "Its gradient is not kept: another op computes it on its way, and does not write it." },
        { "many",
          "Its gradient is not kept: many equal calls became one, and each has a part of it." },
        { "passed", "Its gradient is not kept: some ops read what it is made of, and not it." },
    };
    for (size_t i = 0; i < sizeof reason / sizeof *reason; i++)
        if (strcmp(word, reason[i][0]) == 0) return reason[i][1];
    return "Its gradient is not kept.";
}

// What the compiler told. False: nothing.
static bool take_told(search *s)
{
    const model *m = s->m;
    for (int32_t i = 0; m->map && i < m->map->n_gradients; i++) {
        const told_gradient *told = &m->map->gradients[i];
        int32_t x = told->tensor;
        gradient *g = &s->found[x];
        if (m->symbols[x].gradient >= 0) continue;

        bool fits = true;
        for (int32_t k = 0; k < told->n; k++)
            fits = fits && part_fits(m, &told->parts[k], x);
        if (told->lost)
            g->why = why_not_kept(told->lost);
        else if (fits) {
            g->n = told->n;
            memcpy(g->parts, told->parts, sizeof g->parts);
        }
        s->grad[x] = single_part(m, g, x);
    }
    return m->map && m->map->n_gradients > 0;
}

// The compiler joins reshapes of gradients: so a view has the gradient of what it is a view of, and
// the other way round, if nothing else reads that.
static void share_with_views(search *s)
{
    const model *m = s->m;
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        const node *f = &m->nodes[i];
        if (!is_view(m, i) || !is_kind(m, i, "forward") || s->readers[f->in[0]] != 1) continue;
        bool loss = m->symbols[f->in[0]].gradient >= 0; // which has ones besides
        if (loss || s->readers[f->out[0]] == 0 || s->grad[f->in[0]] < 0) continue;
        if (s->grad[f->out[0]] == UNKNOWN) s->grad[f->out[0]] = s->grad[f->in[0]];
    }
    for (int32_t i = m->pef.n_nodes - 1; i >= 0; i--)
        if (is_kind(m, i, "forward")) hand_on(s, i, false);
}

// Why a tensor has none that is known; NULL: nobody would ask.
static const char *why_none(const search *s, int32_t i, bool told)
{
    const symbol *x = &s->m->symbols[i];
    bool asked = x->role == SAMBA_ROLE_INPUT || x->role == SAMBA_ROLE_OUTPUT
        || x->role == SAMBA_ROLE_TEMPORARY || x->role == SAMBA_ROLE_WEIGHT;
    if (!asked || !is_float_type(x->spec.dtype) || s->readers[i] == 0) return NULL;
    if (!told) return "Its gradient is not known: what the compiler told of it is not there.";
    if (x->view_of >= 0) return "It is a view: what it is a view of may have a gradient.";
    return "No gradient goes through it: no parameter that trains is before it, or the loss does not "
           "depend on it.";
}

static bool has_backward(const model *m)
{
    for (int32_t i = 0; i < m->pef.n_nodes; i++)
        if (is_kind(m, i, "backward")) return true;
    return false;
}

static void find_all(search *s, int32_t n)
{
    const model *m = s->m;
    for (int32_t i = 0; i < n; i++)
        s->grad[i] = m->symbols[i].gradient;
    count_readers(s);
    bool told = take_told(s), backward = has_backward(m);
    if (told)
        share_with_views(s);
    else if (!has_doubles(m))
        find_pairs(s);
    for (int32_t i = 0; i < n; i++) {
        gradient *g = &s->found[i];
        if (s->grad[i] >= 0) {
            g->n = 1;
            g->parts[0] = (part){ .tensor = s->grad[i] };
        }
        if (g->n == 0 && !g->why && backward) g->why = why_none(s, i, told);
    }
}

gradient *find_gradients(const model *m)
{
    size_t n = (size_t)m->pef.n_symbols + 1;
    search s = { .m = m,
                 .found = calloc(n, sizeof *s.found),
                 .grad = malloc(n * sizeof *s.grad),
                 .readers = calloc(n, sizeof *s.readers) };
    if (s.found && s.grad && s.readers) find_all(&s, m->pef.n_symbols);
    free(s.grad);
    free(s.readers);
    free(s.begin);
    free(s.list);
    free(s.seen);
    return s.found;
}

int32_t single_part(const model *m, const gradient *g, int32_t tensor)
{
    bool single = g->n == 1 && g->parts[0].n_axes == 0;
    return single && count_of(m, g->parts[0].tensor) == count_of(m, tensor) ? g->parts[0].tensor
                                                                            : -1;
}

int64_t element_of_part(const model *m, const part *p, int32_t tensor, int64_t element)
{
    const samba_shape *x = &m->symbols[tensor].spec.shape,
                      *from = &m->symbols[p->tensor].spec.shape;
    int64_t at = 0;
    if (!p->n_axes && count_of(m, p->tensor) == count_of(m, tensor)) return element;
    for (int32_t d = x->ndim - 1; d >= 0; d--) {
        int64_t place = element % x->dim[d], step = 1;
        int32_t axis = p->n_axes ? p->axes[d] : d - (x->ndim - from->ndim);
        element /= x->dim[d];
        if (axis < 0 || from->dim[axis] == 1) continue;
        for (int32_t k = axis + 1; k < from->ndim; k++)
            step *= from->dim[k];
        at += place * step;
    }
    return at;
}
