/* Which layer each node belongs to. A PEF has names alone: those of parameters, and of ops that a
   layer called, are paths, such as transformer__h__0__attn__c_attn__weight. So
     - a node that reads or steps a parameter is of the parameter's layer, and so is one that makes
       its gradient;
     - one whose own name is a path is of the path without its last part;
     - any other is of what the nodes before and behind it have in common: an addition between
       h.0.attn and h.0.mlp is of h.0. */
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
        if (divides && n > 0 && path[n - 1] != '\n') path[n++] = '\n';
        else if (!divides && *p != '\n') path[n++] = *p;
        if (*p == '_' && divides) p++;
    }
    path[n] = 0;
    for (; drop > 0; drop--) {
        char *last = strrchr(path, '\n');
        *(last ? last : path) = 0;
    }
}

// The layer of the first parameter among symbols list (n), or of which one is the gradient.
static bool parameter_path(const model *m, const int32_t *list, int32_t n, char path[LONGEST])
{
    for (int32_t k = 0; k < n; k++) {
        const symbol *s = list[k] < 0 ? NULL : &m->symbols[list[k]];
        if (!s) continue;
        if (s->role == SAMBA_ROLE_WEIGHT) path_of(path, s->name, 1);
        else if (s->role == SAMBA_ROLE_GRADIENT) path_of(path, s->name, 2);
        else continue;
        if (*path) return true;
    }
    return false;
}

static bool own_path(const model *m, int32_t i, char path[LONGEST])
{
    const node *n = &m->nodes[i];
    if (parameter_path(m, n->in, n->n_in, path)) return true;
    if (parameter_path(m, n->out, n->n_out, path)) return true;
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

bool find_layers(model *m)
{
    char path[LONGEST];
    int32_t n = m->pef.n_nodes;
    m->layer = calloc((size_t)n + 1, sizeof *m->layer);
    bool *known = calloc((size_t)n + 1, sizeof *known);
    bool fine = m->layer && known;
    for (int32_t i = 0; fine && i < n; i++) {
        known[i] = own_path(m, i, path);
        m->layer[i] = copy_of(known[i] ? path : "");
        fine = m->layer[i] != NULL;
    }
    const char *before = "";
    for (int32_t i = 0, next = 0; fine && i < n; i++) {
        if (known[i]) {
            before = m->layer[i];
            continue;
        }
        while (next < n && (next <= i || !known[next])) next++;
        bool same = next < n && m->section_of[next] == m->section_of[i];
        common(path, before, same ? m->layer[next] : before);
        free(m->layer[i]);
        m->layer[i] = copy_of(path);
        fine = m->layer[i] != NULL;
    }
    free(known);
    return fine;
}
