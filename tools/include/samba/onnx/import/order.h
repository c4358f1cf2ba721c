/* order.h - of onnx_import.h: the nodes of a graph in an order in which each comes behind what it
   reads. ONNX asks for that, but tools that edit models forget it. A graph that is in order stays
   as it is. */

/* What the nodes of one graph make: in its scope each name has the number of its first maker, as
   n. */
typedef struct ox_ordering {
    ox_import *c;
    ox_scope made;
    bool twice;                    /* a name is made by two nodes */
    bool sorted;                   /* no node reads what a later one makes */
    int32_t at;                    /* the node whose reads are looked at */
    int32_t *edges, n_edges, room; /* pairs: maker, reader */
} ox_ordering;

static bool ox_add_edge(ox_ordering *o, int32_t maker)
{
    if (maker > o->at) o->sorted = false;
    if (o->n_edges == o->room) {
        int32_t room = o->room ? 2 * o->room : 64;
        int32_t *more = (int32_t *)realloc(o->edges, (size_t)room * 2 * sizeof *more);
        if (!more) return samba_fail(o->c->s, SAMBA_ENOMEM, "out of memory while importing");
        o->edges = more;
        o->room = room;
    }
    o->edges[2 * o->n_edges] = maker;
    o->edges[2 * o->n_edges + 1] = o->at;
    o->n_edges++;
    return true;
}

static bool ox_has_name(const ox_scope *s, const char *name)
{
    return ox_find_in(s, name, ox_hash(name)) != NULL;
}

/* A name that is read: is it made in this graph, and not in a body around the reader? */
static bool ox_read_name(ox_ordering *o, const ox_scope *bodies, const char *name)
{
    if (!name || !*name) return true;
    for (const ox_scope *s = bodies; s; s = s->outer)
        if (ox_has_name(s, name)) return true;
    const ox_binding *b = ox_find_in(&o->made, name, ox_hash(name));
    return !b || b->value->n == o->at || ox_add_edge(o, b->value->n);
}

static bool ox_mark_made(ox_import *c, ox_scope *s, const char *name, int32_t maker)
{
    if (!name || !*name || ox_has_name(s, name)) return true;
    ox_value *v = ox_new_value(c, 0);
    if (v) v->n = maker;
    return v && ox_bind_in(c, s, name, v);
}

/* What a body has of its own. */
static bool ox_mark_body(ox_import *c, ox_scope *s, const Onnx__GraphProto *g)
{
    bool fine = true;
    for (size_t i = 0; fine && i < g->n_input; i++)
        fine = ox_mark_made(c, s, g->input[i]->name, 0);
    for (size_t i = 0; fine && i < g->n_initializer; i++)
        fine = ox_mark_made(c, s, g->initializer[i]->name, 0);
    for (size_t i = 0; fine && i < g->n_node; i++)
        for (size_t out = 0; fine && out < g->node[i]->n_output; out++)
            fine = ox_mark_made(c, s, g->node[i]->output[out], 0);
    return fine;
}

/* All that a node reads, also in its bodies and in those of their nodes. */
static bool ox_read_node(ox_ordering *o, ox_scope *bodies, const Onnx__NodeProto *p)
{
    bool fine = true;
    for (size_t i = 0; fine && i < p->n_input; i++)
        fine = ox_read_name(o, bodies, p->input[i]);
    for (size_t i = 0; fine && i < p->n_attribute; i++) {
        const Onnx__GraphProto *g = p->attribute[i]->g;
        ox_scope own;
        if (!g) continue;
        memset(&own, 0, sizeof own);
        own.outer = bodies;
        fine = ox_mark_body(o->c, &own, g);
        for (size_t n = 0; fine && n < g->n_node; n++)
            fine = ox_read_node(o, &own, g->node[n]);
        for (size_t n = 0; fine && n < g->n_output; n++)
            fine = ox_read_name(o, &own, g->output[n]->name);
    }
    return fine;
}

/* Which nodes have read all they need, again and again: Kahn's algorithm. The readers of a node
   are a list through next[], one entry for each edge; waits[] counts the edges that a node waits
   for. */
static int32_t ox_list_ready(const ox_ordering *o, int32_t n, int32_t *order, int32_t *waits,
                             int32_t *first, int32_t *next)
{
    int32_t done = 0, ready = 0;
    for (int32_t i = 0; i < n; i++) {
        waits[i] = 0;
        first[i] = -1;
    }
    for (int32_t e = o->n_edges - 1; e >= 0; e--) {
        int32_t maker = o->edges[2 * e];
        next[e] = first[maker];
        first[maker] = e;
        waits[o->edges[2 * e + 1]]++;
    }

    for (int32_t i = 0; i < n; i++)
        if (!waits[i]) order[ready++] = i;
    for (; done < ready; done++) {
        for (int32_t e = first[order[done]]; e >= 0; e = next[e]) {
            int32_t reader = o->edges[2 * e + 1];
            if (--waits[reader] == 0) order[ready++] = reader;
        }
    }
    return ready;
}

static const char *ox_name_node(char *text, size_t size, const Onnx__NodeProto *p);

/* A node of a circle: from one that still waits, back along what still waits, as often as there are
   nodes. before gets a maker for each node. */
static int32_t ox_find_circle(const ox_ordering *o, int32_t n, const int32_t *waits,
                              int32_t *before)
{
    int32_t at = 0;
    for (int32_t e = 0; e < o->n_edges; e++)
        if (waits[o->edges[2 * e]]) before[o->edges[2 * e + 1]] = o->edges[2 * e];
    while (!waits[at])
        at++;
    for (int32_t i = 0; i < n; i++)
        at = before[at];
    return at;
}

/* Puts nodes that are out of order in order. */
static bool ox_reorder(ox_ordering *o, Onnx__NodeProto **node, int32_t n)
{
    ox_import *c = o->c;
    char text[240];
    if (o->twice)
        return samba_fail(c->s, SAMBA_EOP,
                          "the nodes are not sorted, and a name is made by two of "
                          "them: which one is meant cannot be known");
    int32_t *order = (int32_t *)ox_new(c, n, sizeof *order);
    int32_t *waits = (int32_t *)ox_new(c, n, sizeof *waits);
    int32_t *first = (int32_t *)ox_new(c, n, sizeof *first);
    int32_t *next = (int32_t *)ox_new(c, o->n_edges, sizeof *next);
    Onnx__NodeProto **sorted = (Onnx__NodeProto **)ox_new(c, n, sizeof *sorted);
    if (!order || !waits || !first || !next || !sorted) return false;

    if (ox_list_ready(o, n, order, waits, first, next) < n) {
        int32_t at = ox_find_circle(o, n, waits, first);
        return samba_fail(c->s, SAMBA_EOP,
                          "%s reads what is made of its own result: the graph has "
                          "a circle",
                          ox_name_node(text, sizeof text, node[at]));
    }
    for (int32_t i = 0; i < n; i++)
        sorted[i] = node[order[i]];
    memcpy(node, sorted, (size_t)n * sizeof *sorted);
    return true;
}

/* Sorts the nodes of a graph, and those of all its bodies. */
static bool ox_sort_nodes(ox_import *c, Onnx__NodeProto **node, size_t n)
{
    ox_ordering o;
    bool fine = n <= OX_MAX_COUNT;
    memset(&o, 0, sizeof o);
    o.c = c;
    o.sorted = true;
    for (size_t i = 0; fine && i < n; i++) {
        for (size_t out = 0; fine && out < node[i]->n_output; out++) {
            const char *name = node[i]->output[out];
            if (*name && ox_has_name(&o.made, name)) o.twice = true;
            fine = ox_mark_made(c, &o.made, name, (int32_t)i);
        }
    }
    for (o.at = 0; fine && o.at < (int32_t)n; o.at++)
        fine = ox_read_node(&o, NULL, node[o.at]);
    if (fine && !o.sorted) fine = ox_reorder(&o, node, (int32_t)n);
    free(o.edges);

    for (size_t i = 0; fine && i < n; i++) {
        for (size_t a = 0; fine && a < node[i]->n_attribute; a++) {
            Onnx__GraphProto *g = node[i]->attribute[a]->g;
            if (g) fine = ox_sort_nodes(c, g->node, g->n_node);
        }
    }
    return fine;
}

static bool ox_sort_model(ox_import *c)
{
    const Onnx__ModelProto *m = c->model;
    bool fine = ox_sort_nodes(c, m->graph->node, m->graph->n_node);
    for (size_t i = 0; fine && i < m->n_functions; i++)
        fine = ox_sort_nodes(c, m->functions[i]->node, m->functions[i]->n_node);
    return fine;
}
