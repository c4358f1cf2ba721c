// Which tensor owns which bytes while each node runs.
#include "memory.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool add_span(memory_map *map, const span *s)
{
    if (s->bytes == 0 || s->from > s->to) return true;
    if (map->n_spans == map->cap) {
        int32_t cap = map->cap ? 2 * map->cap : 256;
        span *more = realloc(map->spans, (size_t)cap * sizeof *more);
        if (!more) return false;
        map->spans = more;
        map->cap = cap;
    }
    map->spans[map->n_spans++] = *s;
    return true;
}

// ---- Temporaries --------------------------------------------------------------------------------

static bool is_temporary(const symbol *s)
{
    return s->region == REGION_ARENA && s->view_of < 0;
}

/* Temporaries by the node with which they begin: lists, each from first[node] on through next. */
typedef struct beginnings {
    int32_t *first, *next;
} beginnings;

static bool find_beginnings(beginnings *b, const model *m)
{
    b->first = malloc(((size_t)m->pef.n_nodes + 1) * sizeof *b->first);
    b->next = malloc(((size_t)m->pef.n_symbols + 1) * sizeof *b->next);
    if (!b->first || !b->next) return false;
    for (int32_t i = 0; i < m->pef.n_nodes; i++)
        b->first[i] = -1;
    for (int32_t i = 0; i < m->pef.n_symbols; i++) {
        const symbol *s = &m->symbols[i];
        if (!is_temporary(s)) continue;
        b->next[i] = b->first[s->first];
        b->first[s->first] = i;
    }
    return true;
}

// The temporary that takes over the memory of s with the node that reads s last; -1: none.
static int32_t successor_of(const model *m, const beginnings *b, int32_t i)
{
    const symbol *s = &m->symbols[i];
    if (s->first == s->last) return -1;
    for (int32_t k = b->first[s->last]; k >= 0; k = b->next[k])
        if (k != i && m->symbols[k].offset == s->offset) return k;
    return -1;
}

/* A result may lie where the input did that its node reads last. From that node on the bytes are
   the result's; those behind it, if the input is larger, stay the input's until the node is done.
 */
static bool add_temporary(memory_map *map, const model *m, const beginnings *b, int32_t i)
{
    const symbol *s = &m->symbols[i];
    int32_t next = successor_of(m, b, i);
    span whole = { REGION_ARENA, s->first, s->last, s->offset, s->size, i, NULL };
    if (next < 0) return add_span(map, &whole);
    uint64_t taken = m->symbols[next].size;
    span rest = { REGION_ARENA, s->last, s->last, s->offset + taken, s->size - taken, i, NULL };
    whole.to = s->last - 1;
    return add_span(map, &whole) && (taken >= s->size || add_span(map, &rest));
}

// The node at which most of the arena is in use; -1: no memory to find it.
static int32_t peak_of(const memory_map *map, const model *m)
{
    int64_t *change = calloc((size_t)m->pef.n_nodes + 1, sizeof *change), bytes = 0, most = -1;
    int32_t peak = 0;
    for (int32_t i = 0; change && i < map->n_spans; i++) {
        if (map->spans[i].pool != REGION_ARENA) continue;
        change[map->spans[i].from] += (int64_t)map->spans[i].bytes;
        change[map->spans[i].to + 1] -= (int64_t)map->spans[i].bytes;
    }
    for (int32_t i = 0; change && i < m->pef.n_nodes; i++) {
        bytes += change[i];
        if (bytes <= most) continue;
        most = bytes;
        peak = i;
    }
    bool known = change != NULL;
    free(change);
    return known ? peak : -1;
}

// ---- Gaps ---------------------------------------------------------------------------------------

static int by_offset(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

// Copies of the spans of a pool that live while node i runs, by offset; NULL: no memory.
static span *alive(const memory_map *map, int32_t p, int32_t node, int32_t *n)
{
    span *list = malloc(((size_t)map->n_spans + 1) * sizeof *list);
    *n = 0;
    for (int32_t i = 0; list && i < map->n_spans; i++) {
        const span *s = &map->spans[i];
        if (s->pool == p && s->from <= node && node <= s->to) list[(*n)++] = *s;
    }
    if (list) qsort(list, (size_t)*n, sizeof *list, by_offset);
    return list;
}

// What no span of the pool has at this node gets an owner, for the nodes from ... to.
static bool fill_gaps(memory_map *map, int32_t node, span gap)
{
    int32_t n;
    span *list = alive(map, gap.pool, node, &n);
    uint64_t at = 0;
    bool fine = list != NULL;
    for (int32_t i = 0; fine && i <= n; i++) {
        uint64_t next = i < n ? list[i].offset : map->pools[gap.pool].bytes;
        gap.offset = at;
        gap.bytes = next > at ? next - at : 0;
        fine = add_span(map, &gap);
        if (i < n) at = list[i].offset + list[i].bytes;
    }
    free(list);
    return fine;
}

// ---- All of it ----------------------------------------------------------------------------------

// The last node; a program may have none.
static int32_t last_node(const model *m)
{
    return m->pef.n_nodes > 0 ? m->pef.n_nodes - 1 : 0;
}

static bool map_region(memory_map *map, const model *m, int32_t region)
{
    bool fine = true;
    for (int32_t i = 0; fine && i < m->pef.n_symbols; i++) {
        const symbol *s = &m->symbols[i];
        if (s->region != region || s->view_of >= 0) continue;
        span all = { region, 0, last_node(m), s->offset, s->size, i, NULL };
        fine = add_span(map, &all);
    }
    span gap = { region, 0, last_node(m), 0, 0, -1, "alignment to 64 bytes" };
    return fine && fill_gaps(map, 0, gap);
}

static bool map_arena(memory_map *map, const model *m)
{
    beginnings b = { NULL, NULL };
    bool fine = find_beginnings(&b, m);
    for (int32_t i = 0; fine && i < m->pef.n_symbols; i++)
        if (is_temporary(&m->symbols[i])) fine = add_temporary(map, m, &b, i);
    free(b.first);
    free(b.next);
    if (!fine) return false;
    map->peak = peak_of(map, m);
    if (map->peak < 0) return false;
    span gap
        = { REGION_ARENA, map->peak, map->peak, 0, 0, -1, "free at the peak: gaps, alignment" };
    return fill_gaps(map, map->peak, gap);
}

bool map_memory(memory_map *map, const model *m, fault *why)
{
    const samba_pef *pef = &m->pef;
    memset(map, 0, sizeof *map);
    map->promised = samba_device_bytes(m->session);
    const pool pools[N_POOLS] = {
        { "state: parameters that train, gradients, optimizer", pef->state_bytes },
        { "arena: what passes between ops", pef->arena_bytes },
        { "inputs and outputs", pef->io_bytes },
        { "read-only: parameters, constants", pef->readonly_bytes },
        { "runtime: tables of tensors and nodes", 0 },
    };
    memcpy(map->pools, pools, sizeof pools);
    uint64_t sum = pef->state_bytes + pef->arena_bytes + pef->io_bytes + pef->readonly_bytes;
    if (!m->session) map->promised = sum; // nobody has made the tables of the runtime
    if (sum > map->promised)
        return fail(
            why, "%s: its regions have %" PRIu64 " bytes, and all of it is said to have %" PRIu64,
            m->path, sum, map->promised);
    uint64_t tables = map->promised - sum;
    map->pools[POOL_RUNTIME].bytes = tables;
    span own = {
        POOL_RUNTIME, 0, last_node(m), 0, tables, -1, "tables of tensors and nodes, alignment"
    };
    bool fine = add_span(map, &own) && map_arena(map, m);
    for (int32_t r = 0; fine && r < N_REGIONS; r++)
        if (r != REGION_ARENA) fine = map_region(map, m, r);
    return fine || fail(why, "no memory for the map of memory");
}

void free_memory_map(memory_map *map)
{
    free(map->spans);
    memset(map, 0, sizeof *map);
}

bool check_memory_map(const memory_map *map, int32_t node, fault *why)
{
    uint64_t owned = 0;
    for (int32_t p = 0; p < N_POOLS; p++) {
        int32_t n;
        span *list = alive(map, p, node, &n);
        uint64_t at = 0;
        bool fine = list != NULL;
        for (int32_t i = 0; fine && i < n; i++) {
            fine = list[i].offset >= at;
            if (!fine) fail(why, "byte %" PRIu64 " of pool %d has two owners", list[i].offset, p);
            at = list[i].offset + list[i].bytes;
            owned += list[i].bytes;
        }
        free(list);
        if (fine && at > map->pools[p].bytes) fine = fail(why, "pool %d ends before its spans", p);
        if (!fine) return false;
    }
    bool all = node != map->peak || owned == map->promised;
    return all
        || fail(why, "%" PRIu64 " bytes have an owner, %" PRIu64 " are promised", owned,
                map->promised);
}
