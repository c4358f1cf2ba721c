// Where temporaries lie. The compiler planned that, with places for vectors of 64 bytes and for
// scratch of kernels; C without them may need less.
#include "emit.h"
#include <stdlib.h>

// Tensors that share a place, as one is computed in that of another; and when it is needed.
typedef struct group {
    uint64_t size, at;
    int32_t first, last;
    bool placed;
} group;

static bool meet(const group *a, const group *b)
{
    return a->first <= b->last && b->first <= a->last;
}

// Does symbol i take the place of symbol k, at the node that reads k for the last time?
static bool in_place_of(const emitter *e, int32_t i, int32_t k)
{
    const symbol *y = &e->p->symbols[i], *x = &e->p->symbols[k];
    return x->offset == y->offset && x->size == y->size && e->first[i] == e->last[k];
}

// The temporaries by a node of theirs, the first or the last that names them: lists in the order of
// their numbers, each from head[node] on through next; -1 ends one.
typedef struct lists {
    int32_t *head, *next;
} lists;

static bool make_lists(lists *l, const emitter *e, const int32_t *node)
{
    l->head = malloc(((size_t)e->p->pef.n_nodes + 1) * sizeof *l->head);
    l->next = malloc(((size_t)e->p->pef.n_symbols + 1) * sizeof *l->next);
    if (!l->head || !l->next) return false;
    for (int32_t i = 0; i < e->p->pef.n_nodes; i++)
        l->head[i] = -1;
    for (int32_t i = e->p->pef.n_symbols; i-- > 0;) {
        if (!is_temporary(e, i)) continue;
        l->next[i] = l->head[node[i]];
        l->head[node[i]] = i;
    }
    return true;
}

static void free_lists(lists *l)
{
    free(l->head);
    free(l->next);
}

// The group of each temporary in of[]; returns how many there are; -1: no memory.
static int32_t make_groups(const emitter *e, int32_t *of, group *groups)
{
    int32_t n = 0;
    lists begin = { NULL, NULL }, end = { NULL, NULL };
    bool fine = make_lists(&begin, e, e->first) && make_lists(&end, e, e->last);
    for (int32_t i = 0; i < e->p->pef.n_symbols; i++)
        of[i] = -1;
    // By the node that makes them, so that a place is known before it is taken over.
    for (int32_t at = 0; fine && at < e->p->pef.n_nodes; at++)
        for (int32_t i = begin.head[at]; i >= 0; i = begin.next[i]) {
            uint64_t size = (bytes_of(&e->p->symbols[i]) + 3) / 4 * 4;
            for (int32_t k = end.head[at]; k >= 0 && of[i] < 0; k = end.next[k])
                if (of[k] >= 0 && in_place_of(e, i, k)) of[i] = of[k];
            if (of[i] < 0) {
                groups[n] = (group){ .size = size, .first = at, .last = e->last[i] };
                of[i] = n++;
                continue;
            }
            group *g = &groups[of[i]];
            if (e->last[i] > g->last) g->last = e->last[i];
        }
    free_lists(&begin);
    free_lists(&end);
    return fine ? n : -1;
}

static int by_place(const void *a, const void *b)
{
    const group *x = *(group *const *)a, *y = *(group *const *)b;
    return (x->at > y->at) - (x->at < y->at);
}

// The lowest place where nothing lies that is needed at the same time. met: room for n groups.
static uint64_t lowest_place(const group *g, group *groups, int32_t n, group **met)
{
    uint64_t at = 0;
    int32_t n_met = 0;
    for (int32_t i = 0; i < n; i++)
        if (groups[i].placed && meet(g, &groups[i])) met[n_met++] = &groups[i];
    qsort(met, (size_t)n_met, sizeof *met, by_place);
    for (int32_t i = 0; i < n_met && met[i]->at < at + g->size; i++) {
        uint64_t end = met[i]->at + met[i]->size;
        if (end > at) at = end;
    }
    return at;
}

static uint64_t planned_end(const emitter *e)
{
    uint64_t end = 0;
    for (int32_t i = 0; i < e->p->pef.n_symbols; i++) {
        uint64_t last = e->p->symbols[i].offset + bytes_of(&e->p->symbols[i]);
        if (is_temporary(e, i) && last > end) end = last;
    }
    return (end + 3) / 4 * 4;
}

// Places groups in this order; returns where the last one ends.
static uint64_t place_in_order(group *groups, int32_t n, const int32_t *order, group **met)
{
    uint64_t end = 0;
    for (int32_t i = 0; i < n; i++)
        groups[i].placed = false;
    for (int32_t i = 0; i < n; i++) {
        group *g = &groups[order[i]];
        g->at = lowest_place(g, groups, n, met);
        g->placed = true;
        if (g->at + g->size > end) end = g->at + g->size;
    }
    return end;
}

// What is needed at once, at most: no order can do with less. 0: it is not known, for want of
// memory.
static uint64_t least_end(const emitter *e, const group *groups, int32_t n)
{
    uint64_t *change = calloc((size_t)e->p->pef.n_nodes + 2, sizeof *change), sum = 0, least = 0;
    for (int32_t i = 0; change && i < n; i++) {
        change[groups[i].first] += groups[i].size;
        change[groups[i].last + 1] -= groups[i].size; // modulo 2^64: sums are right
    }
    for (int32_t at = 0; change && at < e->p->pef.n_nodes; at++) {
        sum += change[at];
        if (sum > least) least = sum;
    }
    free(change);
    return least;
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t other = *a;
    *a = *b;
    *b = other;
}

static const group *ordered; // those that qsort orders

static int by_size(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, k = *(const int32_t *)b;
    uint64_t x = ordered[i].size, y = ordered[k].size;
    if (x != y) return x > y ? -1 : 1;
    return (i > k) - (i < k);
}

static void order_by_size(const group *groups, int32_t n, int32_t *order)
{
    for (int32_t i = 0; i < n; i++)
        order[i] = i;
    ordered = groups;
    qsort(order, (size_t)n, sizeof *order, by_size);
}

static void shuffle(int32_t *order, int32_t n, uint32_t seed)
{
    for (int32_t i = n - 1; i > 0; i--) {
        seed = seed * 1664525u + 1013904223u;
        swap(&order[i], &order[(seed >> 8) % (uint32_t)(i + 1)]);
    }
}

// The largest first; then, as long as that takes more than the least, by chance.
static uint64_t find_places(const emitter *e, group *groups, int32_t n, int32_t *order, group **met)
{
    uint64_t least = least_end(e, groups, n), best;
    uint32_t best_seed = 0, tries = n ? 1 + 100000 / (uint32_t)n / (uint32_t)n : 1;
    order_by_size(groups, n, order);
    best = place_in_order(groups, n, order, met);
    for (uint32_t seed = 1; seed <= tries && best > least; seed++) {
        order_by_size(groups, n, order);
        shuffle(order, n, seed);
        uint64_t end = place_in_order(groups, n, order, met);
        if (end >= best) continue;
        best = end;
        best_seed = seed;
    }
    order_by_size(groups, n, order);
    if (best_seed) shuffle(order, n, best_seed);
    return place_in_order(groups, n, order, met);
}

// Of more groups the compiler's plan is taken as it is: a better one is looked for in the time of
// their number squared.
enum { MOST_GROUPS = 4000 };

uint64_t place_temporaries(const emitter *e, uint64_t *at)
{
    int32_t n_symbols = e->p->pef.n_symbols;
    size_t room = (size_t)n_symbols + 1;
    int32_t *of = malloc(room * sizeof *of), *order = malloc(room * sizeof *order);
    group *groups = calloc(room, sizeof *groups), **met = calloc(room, sizeof *met);
    int32_t n = of && order && groups && met ? make_groups(e, of, groups) : 0;
    uint64_t planned = planned_end(e), end = planned;
    if (n > 0 && n <= MOST_GROUPS) end = find_places(e, groups, n, order, met);
    bool better = end < planned;
    for (int32_t i = 0; i < n_symbols; i++)
        at[i] = better && of[i] >= 0 ? groups[of[i]].at : e->p->symbols[i].offset;
    free(of);
    free(order);
    free(groups);
    free(met);
    return better ? end : planned;
}
