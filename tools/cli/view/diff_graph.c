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
    if (c->n_structure >= MOST_SENTENCES) { // counted alone
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
    for (int32_t d = 0; same && d < a->shape.ndim; d++)
        same = a->shape.dim[d] == b->shape.dim[d];
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

// How many nodes one of the two has in addition before both go on alike: in a (positive), b
// (negative).
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

// While both graphs are walked: which node has made each tensor last, of a and of b; -1: none yet.
typedef struct walk {
    const model *model[2];
    int32_t *maker[2], *pair;
} walk;

// "fc1__weight f32 (32,784)", "none".
static const char *print_tensor(char *text, size_t size, const model *m, int32_t tensor)
{
    snprintf(text, size, "none");
    if (tensor < 0) return text;
    const symbol *s = &m->symbols[tensor];
    int at = snprintf(text, size, "%s %s (", s->name, samba_dtype_name(s->spec.dtype));
    for (int32_t d = 0; d < s->spec.shape.ndim && at < (int)size; d++)
        at += snprintf(text + at, size - (size_t)at, d ? ",%d" : "%d", s->spec.shape.dim[d]);
    if (at < (int)size) snprintf(text + at, size - (size_t)at, ")");
    return text;
}

static bool is_inner(const symbol *s)
{
    return s->role == SAMBA_ROLE_TEMPORARY || s->role == SAMBA_ROLE_SCRATCH;
}

// Do nodes that are a pair make these two, or are they leaves of one name, of the same kind?
static bool same_source(const walk *w, int32_t x, int32_t y)
{
    if (x < 0 || y < 0) return x < 0 && y < 0;
    const symbol *s = &w->model[0]->symbols[x], *t = &w->model[1]->symbols[y];
    int32_t i = w->maker[0][x], j = w->maker[1][y];
    bool named = !is_inner(s) && !is_inner(t);
    if (!same_spec(&s->spec, &t->spec) || (named && strcmp(s->name, t->name) != 0)) return false;
    return i >= 0 && j >= 0 ? w->pair[i] == j : i == j;
}

// Is one of them an output of the model which the other is not, or is of another name?
static bool same_output(const walk *w, int32_t x, int32_t y)
{
    if (x < 0 || y < 0) return true; // alike() has seen to it
    const symbol *s = &w->model[0]->symbols[x], *t = &w->model[1]->symbols[y];
    bool both = s->role == SAMBA_ROLE_OUTPUT && t->role == SAMBA_ROLE_OUTPUT;
    if (both) return strcmp(s->name, t->name) == 0;
    return s->role != SAMBA_ROLE_OUTPUT && t->role != SAMBA_ROLE_OUTPUT;
}

static bool compare_inputs(comparison *c, const walk *w, int32_t i, int32_t j)
{
    const node *x = &w->model[0]->nodes[i], *y = &w->model[1]->nodes[j];
    char one[256], other[256];
    bool fine = true;
    for (int32_t k = 0; fine && k < x->n_in; k++) {
        if (same_source(w, x->in[k], y->in[k])) continue;
        print_tensor(one, sizeof one, w->model[0], x->in[k]);
        print_tensor(other, sizeof other, w->model[1], y->in[k]);
        bool alike = strcmp(one, other) == 0; // but made by another node
        fine = add_sentence(c, i, "input %d of %s (%s) is %s in %s, %s%s in %s", k, x->name,
                            op_of(x), one, c->a, alike ? "another " : "", other, c->b);
    }
    return fine;
}

// Attributes, where inputs come from, and which outputs are those of the model.
static bool compare_pair(comparison *c, const walk *w, int32_t i, int32_t j)
{
    const model *a = w->model[0], *b = w->model[1];
    const node *x = &a->nodes[i], *y = &b->nodes[j];
    char one[256], other[256];
    if (!same_words(x, y)
        && !add_sentence(c, i, "%s (%s): its attributes differ", x->name, op_of(x)))
        return false;
    if (x->n_in != y->n_in)
        return add_sentence(c, i, "%s (%s) has %d inputs in %s, %d in %s", x->name, op_of(x),
                            x->n_in, c->a, y->n_in, c->b);
    bool fine = compare_inputs(c, w, i, j);
    for (int32_t o = 0; fine && o < x->n_out; o++) {
        if (same_output(w, x->out[o], y->out[o])) continue;
        print_tensor(one, sizeof one, a, x->out[o]);
        print_tensor(other, sizeof other, b, y->out[o]);
        fine = add_sentence(c, i, "what %s (%s) makes is the %s %s in %s, the %s %s in %s", x->name,
                            op_of(x), role_word(a->symbols[x->out[o]].role), one, c->a,
                            role_word(b->symbols[y->out[o]].role), other, c->b);
    }
    return fine;
}

static void note_made(walk *w, int which, int32_t i)
{
    const node *n = &w->model[which]->nodes[i];
    for (int32_t o = 0; o < n->n_out; o++)
        if (n->out[o] >= 0) w->maker[which][n->out[o]] = i;
}

static bool only_in(comparison *c, walk *w, int which, int32_t i)
{
    const model *m = w->model[which];
    note_made(w, which, i);
    return add_sentence(c, which == 0 ? i : -1, "%s (%s) is only in %s", m->nodes[i].name,
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

// Nodes i of a and j of b stand where both were alike up to here.
static bool pair_up(comparison *c, walk *w, int32_t i, int32_t j)
{
    const node *x = &w->model[0]->nodes[i], *y = &w->model[1]->nodes[j];
    bool same = alike(w->model[0], i, w->model[1], j);
    bool fine = same ? compare_pair(c, w, i, j)
                     : add_sentence(c, i, "%s (%s) stands where %s has %s (%s)", x->name, op_of(x),
                                    c->b, y->name, op_of(y));
    if (same) w->pair[i] = j;
    note_made(w, 0, i);
    note_made(w, 1, j);
    return fine;
}

static bool walk_both(comparison *c, walk *w)
{
    const model *a = w->model[0], *b = w->model[1];
    int32_t i = 0, j = 0;
    bool fine = compare_whole(c, a, b);
    while (fine && i < a->pef.n_nodes && j < b->pef.n_nodes) {
        int32_t gap = alike(a, i, b, j) ? 0 : gap_of(a, i, b, j);
        if (gap == 0) fine = pair_up(c, w, i++, j++);
        for (; fine && gap > 0; gap--)
            fine = only_in(c, w, 0, i++);
        for (; fine && gap < 0; gap++)
            fine = only_in(c, w, 1, j++);
    }
    while (fine && i < a->pef.n_nodes)
        fine = only_in(c, w, 0, i++);
    while (fine && j < b->pef.n_nodes)
        fine = only_in(c, w, 1, j++);
    return fine;
}

// n of -1; NULL: no memory.
static int32_t *minus_ones(int32_t n)
{
    int32_t *list = malloc(((size_t)n + 1) * sizeof *list);
    for (int32_t i = 0; list && i < n; i++)
        list[i] = -1;
    return list;
}

bool pair_nodes(comparison *c, const model *a, const model *b)
{
    walk w = { { a, b },
               { minus_ones(a->pef.n_symbols), minus_ones(b->pef.n_symbols) },
               minus_ones(a->pef.n_nodes) };
    c->pair = w.pair;
    c->n_pair = w.pair ? a->pef.n_nodes : 0;
    bool fine = w.maker[0] && w.maker[1] && w.pair && walk_both(c, &w);
    free(w.maker[0]);
    free(w.maker[1]);
    return fine;
}
