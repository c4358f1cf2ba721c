/* Which tensor is the gradient of which. The compiler knows, and its log has a line for each:
       gradient of NAME (symbol 12) is NAME (symbol 34)
   Without a log it is told from the graph. The gradient of what an op makes is what its backward op
   reads beside what the op itself reads and makes:
       y = tanh(x)         dx = tanh_backward(dy, y)
       y = affine(x, W)    dx = matmul(dy, W), dW = matmul(dy, x)
       y = dropout(x, p)   dx = dropout(dy, p), with the same mask
   It is complete there: the backward pass adds up what flows into y before it goes on. So a pair of
   such nodes, and the same number of elements in y and dy, name dy. Sums and views hand the gradient
   of what they make on to what they read, if nothing else reads that.
   Nothing is said where two forward nodes fit one backward node; nor where two backward nodes fit a
   forward node, which the compiler has made of two equal ones: then each dy is a part. If the
   backward pass of two was equal as well, it adds a tensor to itself: then nothing is said at all. */
#include "grads.h"
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = -1, SEVERAL = -2 };

typedef struct search {
    const model *m;
    int32_t *grad;          // the result
    int32_t *readers;       // of each tensor: how many forward nodes read it, views aside
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
    if (is_op(f, "dropout")) return is_op(b, "dropout");    // the same mask
    return n > 0 && b->op && strncmp(b->op, f->op, n) == 0 && strncmp(b->op + n, "_backward", 9) == 0;
}

// What b reads that is not of f, and as large as what f makes; *shared counts what is of both.
static int32_t gradient_in(const model *m, const node *f, const node *b, int32_t *shared)
{
    int32_t found = -1, most = is_op(b, "matmul_accumulate") ? 2 : b->n_in;
    *shared = 0;
    for (int32_t k = 0; k < most; k++) {
        if (b->in[k] < 0) continue;
        if (has(m, f, b->in[k])) ++*shared;
        else if (found < 0 && count_of(m, b->in[k]) == count_of(m, f->out[0])) found = b->in[k];
    }
    return found;
}

// The forward node that b goes back through; -1: none, or several fit as well.
static int32_t forward_of(const search *s, int32_t b, int32_t *gradient)
{
    const model *m = s->m;
    int32_t best = -1, most = 0;
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        const node *f = &m->nodes[i];
        int32_t shared, dy;
        if (!goes_back(f, &m->nodes[b]) || !is_kind(m, i, "forward") || f->out[0] < 0) continue;
        dy = gradient_in(m, f, &m->nodes[b], &shared);
        if (dy < 0 || shared == 0 || shared < most) continue;
        best = shared > most ? i : -1;
        *gradient = dy;
        most = shared;
    }
    return best;
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
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        int32_t gradient = UNKNOWN;
        if (!is_kind(m, i, "backward")) continue;
        int32_t f = forward_of(s, i, &gradient);
        if (f >= 0) set_gradient(s, m->nodes[f].out[0], gradient);
    }
    for (int32_t i = m->pef.n_nodes - 1; i >= 0; i--)
        if (is_kind(m, i, "forward")) hand_on(s, i, true);
}

// ---- The log ------------------------------------------------------------------------------------

// The symbol that "NAME (symbol 12)" at p names, where `behind` is what stands behind it; -1: none.
static int32_t read_symbol(const model *m, const char *p, const char *behind, const char **end)
{
    static const char mark[] = " (symbol ";
    for (const char *at = strstr(p, mark); at; at = strstr(at + 1, mark)) {
        char *rest;
        long i = strtol(at + strlen(mark), &rest, 10);
        size_t length = (size_t)(at - p);
        if (i < 0 || i >= m->pef.n_symbols) continue;
        const char *name = m->symbols[i].name;
        bool same = *name == 0 || (strlen(name) == length && strncmp(name, p, length) == 0);
        if (!same || strncmp(rest, behind, strlen(behind)) != 0) continue;
        *end = rest + strlen(behind);
        return (int32_t)i;
    }
    return -1;
}

// False: the log has no such line. If it has two of a tensor, each may be a part of its gradient.
static bool read_gradients(search *s)
{
    static const char begin[] = "\ngradient of ";
    const model *m = s->m;
    bool any = false;
    for (const char *at = m->log; at; any = true) {
        at = strstr(at, begin);
        if (!at) break;
        at += strlen(begin);
        int32_t x = read_symbol(m, at, ") is ", &at);
        int32_t dx = x < 0 ? -1 : read_symbol(m, at, ")\n", &at);
        if (dx < 0 || count_of(m, x) != count_of(m, dx)) continue;
        at--;       // at the end of the line
        if (m->symbols[x].gradient < 0) s->grad[x] = s->grad[x] == UNKNOWN ? dx : SEVERAL;
    }
    return any;
}

// The compiler joins reshapes of gradients: so a view has the gradient of what it is a view of, and
// the other way round, if nothing else reads that.
static void share_with_views(search *s)
{
    const model *m = s->m;
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        const node *f = &m->nodes[i];
        if (!is_view(m, i) || !is_kind(m, i, "forward") || s->readers[f->in[0]] != 1) continue;
        bool loss = m->symbols[f->in[0]].gradient >= 0;     // which has ones besides
        if (loss || s->readers[f->out[0]] == 0 || s->grad[f->in[0]] < 0) continue;
        if (s->grad[f->out[0]] == UNKNOWN) s->grad[f->out[0]] = s->grad[f->in[0]];
    }
    for (int32_t i = m->pef.n_nodes - 1; i >= 0; i--)
        if (is_kind(m, i, "forward")) hand_on(s, i, false);
}

int32_t *find_gradients(const model *m)
{
    size_t n = (size_t)m->pef.n_symbols + 1;
    search s = { m, malloc(n * sizeof *s.grad), calloc(n, sizeof *s.readers) };
    for (size_t i = 0; s.grad && i + 1 < n; i++) s.grad[i] = m->symbols[i].gradient;
    if (s.grad && s.readers) {
        count_readers(&s);
        if (read_gradients(&s)) share_with_views(&s);
        else if (!has_doubles(m)) find_pairs(&s);
    }
    for (size_t i = 0; s.grad && i + 1 < n; i++)
        if (s.grad[i] < 0) s.grad[i] = UNKNOWN;
    free(s.readers);
    return s.grad;
}
