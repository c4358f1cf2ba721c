// Where temporaries lie. The compiler planned that, with places for vectors of 64 bytes and for
// scratch of kernels; C without them may need less.
#include "emit.h"
#include <stdlib.h>

// Tensors that share a place, as one is computed in that of another; and when it is needed.
typedef struct group { uint64_t size, at; int32_t first, last; bool placed; } group;

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

// The group of each temporary in of[]; returns how many there are.
static int32_t make_groups(const emitter *e, int32_t *of, group *groups)
{
    int32_t n = 0;
    for (int32_t i = 0; i < e->p->pef.n_symbols; i++) of[i] = -1;
    // By the node that makes them, so that a place is known before it is taken over.
    for (int32_t at = 0; at < e->p->pef.n_nodes; at++)
        for (int32_t i = 0; i < e->p->pef.n_symbols; i++) {
            if (!is_temporary(e, i) || e->first[i] != at) continue;
            uint64_t size = (bytes_of(&e->p->symbols[i]) + 3) / 4 * 4;
            for (int32_t k = 0; k < e->p->pef.n_symbols && of[i] < 0; k++)
                if (of[k] >= 0 && in_place_of(e, i, k)) of[i] = of[k];
            if (of[i] < 0) {
                groups[n] = (group){ .size = size, .first = at, .last = e->last[i] };
                of[i] = n++;
                continue;
            }
            group *g = &groups[of[i]];
            if (e->last[i] > g->last) g->last = e->last[i];
        }
    return n;
}

// The lowest place where nothing lies that is needed at the same time.
static uint64_t lowest_place(const group *g, const group *groups, int32_t n)
{
    uint64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t i = 0; i < n; i++) {
            const group *o = &groups[i];
            bool overlaps = o->placed && meet(g, o) && at < o->at + o->size && o->at < at + g->size;
            if (!overlaps) continue;
            at = o->at + o->size;
            moved = true;
        }
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
static uint64_t place_in_order(group *groups, int32_t n, const int32_t *order)
{
    uint64_t end = 0;
    for (int32_t i = 0; i < n; i++) groups[i].placed = false;
    for (int32_t i = 0; i < n; i++) {
        group *g = &groups[order[i]];
        g->at = lowest_place(g, groups, n);
        g->placed = true;
        if (g->at + g->size > end) end = g->at + g->size;
    }
    return end;
}

// What is needed at once, at most: no order can do with less.
static uint64_t least_end(const emitter *e, const group *groups, int32_t n)
{
    uint64_t least = 0;
    for (int32_t at = 0; at < e->p->pef.n_nodes; at++) {
        uint64_t sum = 0;
        for (int32_t i = 0; i < n; i++)
            if (groups[i].first <= at && at <= groups[i].last) sum += groups[i].size;
        if (sum > least) least = sum;
    }
    return least;
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t other = *a;
    *a = *b;
    *b = other;
}

static void order_by_size(const group *groups, int32_t n, int32_t *order)
{
    for (int32_t i = 0; i < n; i++) {
        order[i] = i;
        for (int32_t k = i; k > 0 && groups[order[k]].size > groups[order[k - 1]].size; k--)
            swap(&order[k], &order[k - 1]);
    }
}

static void shuffle(int32_t *order, int32_t n, uint32_t seed)
{
    for (int32_t i = n - 1; i > 0; i--) {
        seed = seed * 1664525u + 1013904223u;
        swap(&order[i], &order[(seed >> 8) % (uint32_t)(i + 1)]);
    }
}

// The largest first; then, as long as that takes more than the least, by chance.
static uint64_t find_places(const emitter *e, group *groups, int32_t n, int32_t *order)
{
    uint64_t least = least_end(e, groups, n), best;
    uint32_t best_seed = 0, tries = n ? 1 + 100000 / (uint32_t)n / (uint32_t)n : 1;
    order_by_size(groups, n, order);
    best = place_in_order(groups, n, order);
    for (uint32_t seed = 1; seed <= tries && best > least; seed++) {
        order_by_size(groups, n, order);
        shuffle(order, n, seed);
        uint64_t end = place_in_order(groups, n, order);
        if (end >= best) continue;
        best = end;
        best_seed = seed;
    }
    order_by_size(groups, n, order);
    if (best_seed) shuffle(order, n, best_seed);
    return place_in_order(groups, n, order);
}

uint64_t place_temporaries(const emitter *e, uint64_t *at)
{
    int32_t n_symbols = e->p->pef.n_symbols;
    int32_t *of = malloc(((size_t)n_symbols + 1) * sizeof *of);
    int32_t *order = malloc(((size_t)n_symbols + 1) * sizeof *order);
    group *groups = calloc((size_t)n_symbols + 1, sizeof *groups);
    int32_t n = of && order && groups ? make_groups(e, of, groups) : 0;
    uint64_t planned = planned_end(e), end = n ? find_places(e, groups, n, order) : planned;
    bool better = end < planned;
    for (int32_t i = 0; i < n_symbols; i++)
        at[i] = better && of[i] >= 0 ? groups[of[i]].at : e->p->symbols[i].offset;
    free(of);
    free(order);
    free(groups);
    return better ? end : planned;
}
