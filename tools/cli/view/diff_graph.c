// The graphs of two models, compared: which node of one is which of the other.
#include "diff.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 64 };

// A sentence about a node of a, or, if that is -1, about both programs or a node of b.
bool add_sentence(comparison *c, int32_t node, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (c->n_structure >= MOST_SENTENCES) {     // counted alone
        c->n_structure++;
        return true;
    }
    if (!c->structure) c->structure = calloc(MOST_SENTENCES, sizeof *c->structure);
    if (!c->places) c->places = calloc(MOST_SENTENCES, sizeof *c->places);
    char *copy = c->structure && c->places ? malloc(strlen(text) + 1) : NULL;
    if (!copy) return false;
    memcpy(copy, text, strlen(text) + 1);
    c->places[c->n_structure] = node;
    c->structure[c->n_structure++] = copy;
    return true;
}

static bool same_spec(const samba_spec *a, const samba_spec *b)
{
    bool same = a->dtype == b->dtype && a->shape.ndim == b->shape.ndim;
    for (int32_t d = 0; same && d < a->shape.ndim; d++) same = a->shape.dim[d] == b->shape.dim[d];
    return same;
}

static const char *op_of(const node *n)
{
    return n->op ? n->op : "an op of your own";
}

// Could they be one node: the same op, of outputs of the same types and shapes?
static bool alike(const model *a, int32_t i, const model *b, int32_t j)
{
    const node *x = &a->nodes[i], *y = &b->nodes[j];
    bool same = strcmp(op_of(x), op_of(y)) == 0 && x->n_out == y->n_out;
    for (int32_t o = 0; same && o < x->n_out; o++) {
        bool both = x->out[o] >= 0 && y->out[o] >= 0;
        same = both ? same_spec(&a->symbols[x->out[o]].spec, &b->symbols[y->out[o]].spec)
                    : x->out[o] == y->out[o];
    }
    return same;
}

// How many nodes one of the two has in addition before both go on alike: in a (positive), b (negative).
static int32_t gap_of(const model *a, int32_t i, const model *b, int32_t j)
{
    for (int named = 1; named >= 0; named--)
        for (int32_t d = 1; d <= AHEAD; d++) {
            bool in_a = i + d < a->pef.n_nodes && alike(a, i + d, b, j);
            bool in_b = j + d < b->pef.n_nodes && alike(a, i, b, j + d);
            if (in_a && (!named || strcmp(a->nodes[i + d].name, b->nodes[j].name) == 0)) return d;
            if (in_b && (!named || strcmp(a->nodes[i].name, b->nodes[j + d].name) == 0)) return -d;
        }
    return 0;
}

static bool same_words(const node *x, const node *y)
{
    return x->n_attr == y->n_attr
        && memcmp(x->attr, y->attr, (size_t)x->n_attr * sizeof *x->attr) == 0;
}

// Attributes, and where inputs come from: from nodes that are a pair, or leaves of one name.
static bool compare_pair(comparison *c, const model *a, int32_t i, const model *b, int32_t j)
{
    const node *x = &a->nodes[i], *y = &b->nodes[j];
    if (!same_words(x, y)
        && !add_sentence(c, i, "%s (%s): its attributes differ", x->name, op_of(x)))
        return false;
    if (x->n_in != y->n_in)
        return add_sentence(c, i, "%s (%s) has %d inputs in %s, %d in %s", x->name, op_of(x),
                            x->n_in, c->a, y->n_in, c->b);
    for (int32_t k = 0; k < x->n_in; k++) {
        const symbol *s = x->in[k] < 0 ? NULL : &a->symbols[x->in[k]];
        const symbol *t = y->in[k] < 0 ? NULL : &b->symbols[y->in[k]];
        bool leaves = s && t && s->role != SAMBA_ROLE_TEMPORARY && t->role != SAMBA_ROLE_TEMPORARY;
        bool same = (s != NULL) == (t != NULL) && (!s || same_spec(&s->spec, &t->spec));
        if (leaves && strcmp(s->name, t->name) != 0) same = false;
        if (!same
            && !add_sentence(c, i, "input %d of %s (%s) is %s in %s, %s in %s", k, x->name,
                             op_of(x), s ? s->name : "none", c->a, t ? t->name : "none", c->b))
            return false;
    }
    return true;
}

static bool only_in(comparison *c, const model *m, int32_t i)
{
    return add_sentence(c, m->path == c->a ? i : -1, "%s (%s) is only in %s", m->nodes[i].name,
                        op_of(&m->nodes[i]), m->path);
}

static bool compare_whole(comparison *c, const model *a, const model *b)
{
    bool fine = true;
    if (a->pef.n_sections != b->pef.n_sections)
        fine = add_sentence(c, -1, "%s has %d sections, %s %d", c->a, a->pef.n_sections, c->b,
                            b->pef.n_sections);
    if (fine && a->pef.microbatches != b->pef.microbatches)
        fine = add_sentence(c, -1, "%s runs in %d microbatches, %s in %d", c->a,
                            a->pef.microbatches, c->b, b->pef.microbatches);
    if (fine && a->pef.inference != b->pef.inference)
        fine = add_sentence(c, -1, "%s infers, %s trains", a->pef.inference ? c->a : c->b,
                            a->pef.inference ? c->b : c->a);
    return fine;
}

bool pair_nodes(comparison *c, const model *a, const model *b)
{
    int32_t n = a->pef.n_nodes, i = 0, j = 0;
    int32_t *pair = malloc(((size_t)n + 1) * sizeof *pair);
    bool fine = pair && compare_whole(c, a, b);
    c->pair = pair;
    c->n_pair = pair ? n : 0;
    for (int32_t k = 0; pair && k < n; k++) pair[k] = -1;
    while (fine && i < n && j < b->pef.n_nodes) {
        int32_t gap = alike(a, i, b, j) ? 0 : gap_of(a, i, b, j);
        if (gap == 0 && alike(a, i, b, j)) {
            pair[i] = j;
            fine = compare_pair(c, a, i++, b, j++);
        } else if (gap == 0) {
            const node *x = &a->nodes[i], *y = &b->nodes[j++];
            fine = add_sentence(c, i++, "%s (%s) stands where %s has %s (%s)", x->name, op_of(x),
                                c->b, y->name, op_of(y));
        }
        for (; fine && gap > 0; gap--) fine = only_in(c, a, i++);
        for (; fine && gap < 0; gap++) fine = only_in(c, b, j++);
    }
    while (fine && i < n) fine = only_in(c, a, i++);
    while (fine && j < b->pef.n_nodes) fine = only_in(c, b, j++);
    return fine;
}
