/* Which layer each node belongs to. A PEF has names alone: those of parameters, and of ops that a
   layer called, are paths, such as transformer__h__0__attn__c_attn__weight. So
     - a node that reads or steps a parameter is of the parameter's layer, and so is one that makes
       its gradient; but of a parameter that several kinds of ops read, the first kind alone is of
   its layer: logits, for which a table of words is multiplied, are not of the embedding;
     - one whose own name is a path is of the path without its last part;
     - any other is of what the nodes before and behind it have in common: an addition between
       h.0.attn and h.0.mlp is of h.0, and a loss, behind which nothing stands, of no layer. */
#include "layers.h"
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1024 };

// The parts of a name, divided by '\n', without the last `drop` ones; "" if there are no more.
static void path_of(char path[LONGEST], const char *name, int drop)
{
    size_t n = 0;
    for (const char *p = name; *p && n + 1 < LONGEST; p++) {
        bool divides = *p == '.' || *p == '/' || (p[0] == '_' && p[1] == '_' && p > name);
        if (divides && n > 0 && path[n - 1] != '\n')
            path[n++] = '\n';
        else if (!divides && *p != '\n')
            path[n++] = *p;
        if (*p == '_' && divides) p++;
    }
    path[n] = 0;
    for (; drop > 0; drop--) {
        char *last = strrchr(path, '\n');
        *(last ? last : path) = 0;
    }
}

// Of each parameter that several kinds of ops read in the forward pass, the first kind; else NULL.
static const char **find_kinds(const model *m)
{
    const char **first = calloc((size_t)m->pef.n_symbols + 1, sizeof *first);
    bool *several = calloc((size_t)m->pef.n_symbols + 1, sizeof *several);
    for (int32_t i = 0; first && several && i < m->pef.n_nodes; i++) {
        const node *n = &m->nodes[i];
        const char *op = n->op ? n->op : "";
        for (int32_t k = 0; strcmp(kind_of(m, i), "forward") == 0 && k < n->n_in; k++) {
            int32_t at = n->in[k];
            if (at < 0 || m->symbols[at].role != SAMBA_ROLE_WEIGHT) continue;
            if (!first[at])
                first[at] = op;
            else if (strcmp(first[at], op) != 0)
                several[at] = true;
        }
    }
    for (int32_t i = 0; first && several && i < m->pef.n_symbols; i++)
        if (!several[i]) first[i] = NULL;
    bool fine = first && several;
    free(several);
    if (fine) return first;
    free(first);
    return NULL;
}

// Is node i of the kind that makes the parameter its layer's? Its backward op is called after it.
static bool is_at_home(const model *m, int32_t i, const char *kind)
{
    const char *op = m->nodes[i].op ? m->nodes[i].op : "";
    if (!kind || strcmp(kind_of(m, i), "optimizer") == 0) return true;
    return strncmp(op, kind, strlen(kind)) == 0;
}

// The layer of the first parameter among symbols list (n), or of which one is the gradient.
static bool parameter_path(const model *m, int32_t node, const char *const *kinds,
                           const int32_t *list, int32_t n, char path[LONGEST])
{
    for (int32_t k = 0; k < n; k++) {
        const symbol *s = list[k] < 0 ? NULL : &m->symbols[list[k]];
        if (!s || !is_at_home(m, node, kinds[list[k]])) continue;
        if (s->role == SAMBA_ROLE_WEIGHT)
            path_of(path, s->name, 1);
        else if (s->role == SAMBA_ROLE_GRADIENT)
            path_of(path, s->name, 2);
        else
            continue;
        if (*path) return true;
    }
    return false;
}

static bool own_path(const model *m, int32_t i, const char *const *kinds, char path[LONGEST])
{
    const node *n = &m->nodes[i];
    if (parameter_path(m, i, kinds, n->in, n->n_in, path)) return true;
    if (parameter_path(m, i, kinds, n->out, n->n_out, path)) return true;
    path_of(path, n->name, 1);
    return *path != 0;
}

// What a and b begin with, whole parts alone.
static void common(char *to, const char *a, const char *b)
{
    size_t n = 0, whole = 0;
    while (a[n] && a[n] == b[n]) {
        n++;
        if ((a[n] == 0 || a[n] == '\n') && (b[n] == 0 || b[n] == '\n')) whole = n;
    }
    memcpy(to, a, whole);
    to[whole] = 0;
}

static char *copy_of(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = malloc(n);
    if (copy) memcpy(copy, text, n);
    return copy;
}

// Do nodes i and k belong to one pass of one graph, perhaps in sections of their own?
static bool same_pass(const model *m, int32_t i, int32_t k)
{
    bool same_kind = strcmp(kind_of(m, i), kind_of(m, k)) == 0;
    return same_kind && strcmp(graph_of(m, m->section_of[i]), graph_of(m, m->section_of[k])) == 0;
}

// Nodes that are not known yet are of what those before and behind them have in common.
static bool fill_between(model *m, const bool *known)
{
    char path[LONGEST];
    bool fine = true;
    for (int32_t i = 0, before = -1, next = 0; fine && i < m->pef.n_nodes; i++) {
        if (known[i]) {
            before = i;
            continue;
        }
        while (next < m->pef.n_nodes && (next <= i || !known[next]))
            next++;
        bool between = before >= 0 && next < m->pef.n_nodes && same_pass(m, before, i)
            && same_pass(m, i, next);
        common(path, between ? m->layer[before] : "", between ? m->layer[next] : "");
        free(m->layer[i]);
        m->layer[i] = copy_of(path);
        fine = m->layer[i] != NULL;
    }
    return fine;
}

bool find_layers(model *m)
{
    char path[LONGEST];
    int32_t n = m->pef.n_nodes;
    m->layer = calloc((size_t)n + 1, sizeof *m->layer);
    bool *known = calloc((size_t)n + 1, sizeof *known);
    const char **kinds = find_kinds(m);
    bool fine = m->layer && known && kinds;
    for (int32_t i = 0; fine && i < n; i++) {
        known[i] = own_path(m, i, kinds, path);
        m->layer[i] = copy_of(known[i] ? path : "");
        fine = m->layer[i] != NULL;
    }
    fine = fine && fill_between(m, known);
    free(known);
    free(kinds);
    return fine;
}
