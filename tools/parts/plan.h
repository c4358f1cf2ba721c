/* ==== [plan] ================================================================================== */
/* Decides where every value lies. Memory is shared in three ways: a view lies in the memory of the
   symbol that it is made from (view_of); a result takes over the memory of an input that its node
   reads last (chain); and places that are never alive at the same time may get the same addresses
   of the arena (offset). The PEF records the outcome, and [pef-verify] proves it from scratch,
   without trusting what is decided here. */

/* A symbol to be: what it stands for, how long it lives, where it lies. */
typedef struct samba__place {
    samba_tensor *tensor; /* NULL for scratch */
    const char *name;
    samba_spec spec;
    int32_t role, region, first, last;
    int32_t view_of; /* place in whose memory this one lies, as a view; -1: none */
    int32_t chain;   /* first of the places that took over from each other in place, or itself */
    bool per_microbatch, updated;
    uint64_t bytes, offset;
    int32_t index; /* number in the PEF, after sorting */
} samba__place;

/* Of a list of names in a message the first ones are named, the others counted. */
enum { SAMBA__MOST_NAMES = 8 };

typedef struct samba__section_plan {
    uint32_t type;
    int32_t first, n;
    const char *graph;
} samba__section_plan;

typedef struct samba__plan {
    samba__place *places;
    int32_t n_places, n_sections;
    int32_t *place_of;   /* by tensor id; -1: none */
    int32_t *scratch_of; /* by node; -1: none */
    samba__section_plan *sections;
    uint64_t region[SAMBA__N_REGIONS], lower_bound;
    int32_t peak; /* the node at which most is alive */
} samba__plan;

/* The region of what has this role, unless nothing writes it: see samba__place_persistent. */
SAMBA__FN int32_t samba__region_of_role(int32_t role)
{
    if (role == SAMBA__TEMP || role == SAMBA__SCRATCH) return SAMBA__REGION_ARENA;
    if (role == SAMBA__INPUT || role == SAMBA__OUTPUT) return SAMBA__REGION_IO;
    return SAMBA__REGION_STATE;
}

/* Of a tensor; of scratch, if it is NULL. */
SAMBA__FN int32_t samba__add_place(samba__plan *p, samba_tensor *t, samba_spec spec)
{
    samba__place *q = &p->places[p->n_places];
    int32_t role = t ? t->role : SAMBA__SCRATCH;

    memset(q, 0, sizeof *q);
    q->tensor = t;
    q->name = t ? t->name : "scratch";
    q->spec = spec;
    q->role = role;
    q->view_of = -1;
    q->chain = p->n_places;
    q->bytes = samba__spec_bytes(&spec);
    q->first = q->last = -1;
    q->region = samba__region_of_role(role);

    return p->n_places++;
}

/* The place of a tensor: that of the named tensor it is bound to, or its own. */
SAMBA__FN int32_t samba__place_for(const samba__compilation *c, samba__plan *p, samba_tensor *t)
{
    samba_tensor *named = c->bound[t->id] ? c->bound[t->id] : t;
    if (p->place_of[t->id] >= 0) return p->place_of[t->id];
    if (p->place_of[named->id] < 0)
        p->place_of[named->id] = samba__add_place(p, named, samba__spec_of(named));
    return p->place_of[t->id] = p->place_of[named->id];
}

/* The place whose memory place i is: that of which it is a view, or itself. */
SAMBA__FN int32_t samba__base_of(const samba__plan *p, int32_t i)
{
    int32_t base = p->places[i].view_of >= 0 ? p->places[i].view_of : i;
    SAMBA_ASSERT(p->places[base].view_of < 0); /* no view is of a view */
    return base;
}

SAMBA__FN void samba__use_place(samba__plan *p, int32_t i, int32_t node)
{
    samba__place *q = &p->places[i];
    SAMBA_ASSERT(q->last <= node); /* nodes are looked at in order */
    if (q->first < 0) q->first = node;
    q->last = p->places[samba__base_of(p, i)].last = node;
}

/* Gives every tensor and every scratch its place, with lifetimes. */
SAMBA__FN bool samba__find_places(const samba__compilation *c, samba__plan *p)
{
    samba_session *s = c->session;

    for (int32_t i = 0; i < c->n_nodes; i++) {
        samba__node *n = c->nodes[i];
        samba_spec scratch;
        samba__decoded d;
        samba_work w;
        if (!samba__cost_of(n, &d, &w)) return samba__fail_call(s, n->op, n->in, &d.call);

        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k]) samba__use_place(p, samba__place_for(c, p, n->in[k]), i);

        for (int32_t o = 0; o < n->n_out; o++) {
            int32_t updated = samba__updated_input(n->op, o);
            if (updated >= 0) p->place_of[n->out[o]->id] = samba__place_for(c, p, n->in[updated]);
            int32_t at = samba__place_for(c, p, n->out[o]);
            samba__place *q = &p->places[at];
            bool view = (n->op->flags & SAMBA_OP_VIEW) && o == 0 && q->role == SAMBA__TEMP;
            int32_t base = view ? samba__base_of(p, p->place_of[n->in[0]->id]) : at;
            if (view && p->places[base].region == SAMBA__REGION_ARENA) q->view_of = base;
            samba__use_place(p, at, i);
        }

        p->scratch_of[i] = -1;
        if (!w.scratch) continue;
        scratch.dtype = SAMBA_U8;
        scratch.shape = samba__shape2((int32_t)samba__ceil_div(w.scratch, 1024), 1024);
        p->scratch_of[i] = samba__add_place(p, NULL, scratch);
        samba__use_place(p, p->scratch_of[i], i);
    }

    for (int32_t i = 0; i < c->n_outputs; i++) /* a leaf that no node reads */
        if (!c->outputs[i]->node) samba__place_for(c, p, c->outputs[i]);
    return true;
}

/* A result takes over the memory of the input that its op allows, if that is read no more. */
SAMBA__FN void samba__share_in_place(const samba__compilation *c, samba__plan *p)
{
    for (int32_t i = 0; i < c->n_nodes; i++) {
        const samba__node *n = c->nodes[i];
        int32_t over = samba__inplace_input(n->op);
        if (over < 0 || over >= n->n_in || !n->in[over]) continue;

        int32_t in = p->place_of[n->in[over]->id], base = samba__base_of(p, in);
        samba__place *x = &p->places[base], *y = &p->places[p->place_of[n->out[0]->id]];

        /* f(x, x) may take over x if it reads element i for element i alone */
        bool elementwise = samba__class_of(n->op) == SAMBA__IS_ELEMENTWISE;
        bool fits = x->role == SAMBA__TEMP && y->role == SAMBA__TEMP && y->view_of < 0
            && x->last == i && x->bytes == y->bytes
            && samba_dtype_size(x->spec.dtype) == samba_dtype_size(y->spec.dtype);
        for (int32_t k = 0; fits && k < n->n_in; k++) {
            if (k == over || !n->in[k]) continue;
            int32_t other = p->place_of[n->in[k]->id];
            fits = (other == in && elementwise) || samba__base_of(p, other) != base;
        }
        if (!fits) continue;

        SAMBA_ASSERT(y->first == i && y->chain == p->place_of[n->out[0]->id]);
        y->chain = x->chain;
    }
}

/* A block of arena memory: a chain of places that take over from each other. */
typedef struct samba__arena_block {
    int32_t id, first, last;
    uint64_t bytes, offset;
} samba__arena_block;

SAMBA__FN int samba__by_size(const void *a, const void *b)
{
    const samba__arena_block *x = (const samba__arena_block *)a, *y = (const samba__arena_block *)b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Addresses that are taken: extents in order, which neither overlap nor touch. */
typedef struct samba__extent {
    uint64_t begin, end;
    struct samba__extent *next;
} samba__extent;

/* Which addresses are taken when: an interval tree, whose vertex 1 is the whole schedule; 2 v and
   2 v + 1 are the first and the second half of v. */
typedef struct samba__interval_tree {
    samba_session *session;
    samba__extent **sometimes;  /* by vertex: taken at some time of it, and */
    samba__extent **throughout; /* all the time */
} samba__interval_tree;

/* Adds begin ... end to a list of extents. */
SAMBA__FN bool samba__add_extent(samba_session *s, samba__extent **at, uint64_t begin, uint64_t end)
{
    SAMBA_ASSERT(begin <= end);
    while (*at && (*at)->end < begin)
        at = &(*at)->next;

    samba__extent *r = *at;
    if (!r || r->begin > end) {
        r = (samba__extent *)samba__temp(s, 1, sizeof *r);
        if (!r) return false;
        r->begin = begin;
        r->end = end;
        r->next = *at;
        *at = r;
    }

    if (begin < r->begin) r->begin = begin;
    if (end > r->end) r->end = end;
    for (; r->next && r->next->begin <= r->end; r->next = r->next->next)
        if (r->next->end > r->end) r->end = r->next->end;
    SAMBA_ASSERT(!r->next || r->end < r->next->begin);
    return true;
}

/* Enters block b at vertex v, which is the time `from` to `to`, and below it. */
SAMBA__FN bool samba__tree_insert(samba__interval_tree *t, const samba__arena_block *b, int32_t v,
                                  int32_t from, int32_t to)
{
    uint64_t begin = b->offset, end = b->offset + b->bytes;
    if (b->last < from || to < b->first) return true;
    if (!samba__add_extent(t->session, &t->sometimes[v], begin, end)) return false;
    if (b->first <= from && to <= b->last)
        return samba__add_extent(t->session, &t->throughout[v], begin, end);

    int32_t middle = from + (to - from) / 2;
    return samba__tree_insert(t, b, 2 * v, from, middle)
        && samba__tree_insert(t, b, 2 * v + 1, middle + 1, to);
}

/* Adds to *taken what the blocks take at vertex v and below it that live together with b. */
SAMBA__FN bool samba__tree_query(const samba__interval_tree *t, const samba__arena_block *b,
                                 int32_t v, int32_t from, int32_t to, samba__extent **taken)
{
    if (b->last < from || to < b->first) return true;
    bool whole = b->first <= from && to <= b->last;
    const samba__extent *r = whole ? t->sometimes[v] : t->throughout[v];
    for (; r; r = r->next)
        if (!samba__add_extent(t->session, taken, r->begin, r->end)) return false;
    if (whole) return true;

    int32_t middle = from + (to - from) / 2;
    return samba__tree_query(t, b, 2 * v, from, middle, taken)
        && samba__tree_query(t, b, 2 * v + 1, middle + 1, to, taken);
}

/* Largest first, each into the smallest gap among the ones it lives together with. Greedy by size:
   Pisarchyk, Lee, "Efficient memory management for deep neural net inference", 2020. */
SAMBA__FN bool samba__place_block(samba__interval_tree *t, samba__arena_block *b, int32_t n_nodes)
{
    const uint64_t none = ~(uint64_t)0;
    uint64_t smallest_gap = none, end = 0;
    samba__extent *taken = NULL;

    SAMBA_ASSERT(b->first >= 0 && b->first <= b->last && b->last < n_nodes);
    if (!samba__tree_query(t, b, 1, 0, n_nodes - 1, &taken)) return false;

    for (; taken; taken = taken->next) {
        SAMBA_ASSERT(taken->begin >= end); /* extents are in order */
        uint64_t gap = taken->begin - end;
        if (gap >= b->bytes && gap < smallest_gap) {
            b->offset = end;
            smallest_gap = gap;
        }
        end = taken->end;
    }

    if (smallest_gap == none) b->offset = end;
    return samba__tree_insert(t, b, 1, 0, n_nodes - 1);
}

/* The blocks of the arena, and how long each is alive; returns their number. */
SAMBA__FN int32_t samba__collect_blocks(samba__plan *p, samba__arena_block *all)
{
    int32_t n = 0;
    for (int32_t i = 0; i < p->n_places; i++) {
        samba__place *q = &p->places[i];
        if (q->region != SAMBA__REGION_ARENA || q->view_of >= 0) continue;
        SAMBA_ASSERT(p->places[q->chain].chain == q->chain); /* of the first of its chain */

        if (q->chain == i) {
            q->index = n;
            all[n].id = i;
            all[n].first = q->first;
            all[n].last = q->last;
            all[n++].bytes = samba__align_bytes(q->bytes);
        } else if (all[p->places[q->chain].index].last < q->last) {
            all[p->places[q->chain].index].last = q->last;
        }
    }

    return n;
}

SAMBA__FN bool samba__place_arena(samba_session *s, samba__plan *p, int32_t n_nodes)
{
    samba__arena_block *all = (samba__arena_block *)samba__temp(s, p->n_places, sizeof *all);
    samba__interval_tree t = SAMBA__ZEROED;
    t.session = s;
    t.sometimes = (samba__extent **)samba__temp(s, 4 * n_nodes, sizeof *t.sometimes);
    t.throughout = (samba__extent **)samba__temp(s, 4 * n_nodes, sizeof *t.throughout);
    if (!all || !t.sometimes || !t.throughout) return false;

    int32_t n = samba__collect_blocks(p, all);
    qsort(all, (size_t)n, sizeof *all, samba__by_size);
    for (int32_t i = 0; i < n; i++) {
        if (!samba__place_block(&t, &all[i], n_nodes)) return false;
        uint64_t end = all[i].offset + all[i].bytes;
        SAMBA_ASSERT(all[i].offset % SAMBA__ALIGN == 0);
        p->places[all[i].id].offset = all[i].offset;
        if (end > p->region[SAMBA__REGION_ARENA]) p->region[SAMBA__REGION_ARENA] = end;
    }

    for (int32_t i = 0; i < p->n_places; i++) {
        samba__place *q = &p->places[i], *base = &p->places[samba__base_of(p, i)];
        if (base->region == SAMBA__REGION_ARENA)
            q->offset = p->places[base->chain].offset;
        else
            q->offset = base->offset;
    }

    return true;
}

/* What a place takes for all microbatches together. */
SAMBA__FN uint64_t samba__bytes_of_place(const samba__compilation *c, const samba__place *q)
{
    return q->bytes * (q->per_microbatch ? (uint64_t)c->microbatches : 1);
}

/* What lives outside the arena lies one after another. Parameters nobody writes are read-only. */
SAMBA__FN void samba__place_persistent(const samba__compilation *c, samba__plan *p)
{
    for (int32_t i = 0; i < c->n_nodes; i++) {
        for (int32_t o = 0; o < c->nodes[i]->n_out; o++) {
            if (samba__updated_input(c->nodes[i]->op, o) < 0) continue;
            p->places[p->place_of[c->nodes[i]->out[o]->id]].updated = true;
        }
    }

    for (int32_t i = 0; i < p->n_places; i++) {
        samba__place *q = &p->places[i];
        if (q->region == SAMBA__REGION_ARENA) continue;
        if (!q->updated && (q->role == SAMBA__WEIGHT || q->role == SAMBA__CONSTANT))
            q->region = SAMBA__REGION_READONLY;
        q->per_microbatch
            = q->region == SAMBA__REGION_IO && c->microbatches > 1 && q->tensor->batch_dim >= 0;

        q->offset = p->region[q->region];
        uint64_t bytes = samba__bytes_of_place(c, q);
        p->region[q->region] += samba__align_bytes(bytes);
    }
}

/* The fewest bytes that any plan needs: the most that is alive at one node, from what comes to life
   and what has died there. What takes over in place counts from the node after. */
SAMBA__FN bool samba__measure_bound(const samba__compilation *c, samba__plan *p)
{
    uint64_t *change = (uint64_t *)samba__temp(c->session, c->n_nodes + 1, sizeof *change),
             live = 0;

    for (int32_t k = 0; change && k < p->n_places; k++) {
        const samba__place *q = &p->places[k];
        int32_t from = q->chain == k ? q->first : q->first + 1;
        if (q->region != SAMBA__REGION_ARENA || q->view_of >= 0 || from > q->last) continue;
        change[from] += q->bytes;
        change[q->last + 1] -= q->bytes;
    }

    for (int32_t i = 0; change && i < c->n_nodes; i++) {
        live += change[i];
        SAMBA_ASSERT(live <= p->region[SAMBA__REGION_ARENA]); /* what is alive has room */
        if (live > p->lower_bound) {
            p->lower_bound = live;
            p->peak = i;
        }
    }

    return change != NULL;
}

/* Sections: ranges of one type; o0: each op; o1: cut where the working set outgrows sram_bytes. */
SAMBA__FN bool samba__cut_sections(const samba__compilation *c, samba__plan *p)
{
    samba_opt_level level = c->program->level;
    int64_t budget = c->program->sram_bytes ? c->program->sram_bytes : (int64_t)1 << 20, used = 0;
    p->sections = (samba__section_plan *)samba__temp(c->session, c->n_nodes, sizeof *p->sections);
    bool after_host = false;
    if (!p->sections) return false;

    for (int32_t i = 0; i < c->n_nodes; i++) {
        const samba__node *n = c->nodes[i];
        samba__section_plan *last = p->n_sections ? &p->sections[p->n_sections - 1] : NULL;
        SAMBA_ASSERT(!last || last->first + last->n == i); /* sections cover the nodes */

        int64_t bytes = samba__bytes_moved(n);
        bool host = n->op->flags & SAMBA_OP_HOST, alone = host || after_host;
        uint32_t type = n->section & c->joined ? c->joined : n->section;
        used += bytes;
        after_host = host;

        if (last && !alone && last->type == type && last->graph == n->graph && level != SAMBA_O0
            && (level != SAMBA_O1 || used <= budget)) {
            last->n++;
            continue;
        }

        last = &p->sections[p->n_sections++];
        last->type = type;
        last->first = i;
        last->n = 1;
        last->graph = n->graph;
        used = bytes;
    }

    return true;
}

SAMBA__FN int samba__by_address(const void *a, const void *b)
{
    const samba__place *x = *(samba__place *const *)a, *y = *(samba__place *const *)b;
    if (x->region != y->region) return x->region < y->region ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Numbers the places by address: the order in which a PEF lists its symbols. */
SAMBA__FN samba__place **samba__sort_places(samba_session *s, samba__plan *p)
{
    samba__place **sorted = (samba__place **)samba__temp(s, p->n_places, sizeof *sorted);
    if (!sorted) return NULL;
    for (int32_t i = 0; i < p->n_places; i++) {
        sorted[i] = &p->places[i];
        sorted[i]->index = i;
    }
    qsort(sorted, (size_t)p->n_places, sizeof *sorted, samba__by_address);
    for (int32_t i = 0; i < p->n_places; i++)
        sorted[i]->index = i;
    return sorted;
}

SAMBA__FN int64_t samba__planned_bytes(const samba__plan *p)
{
    uint64_t bytes = 0;
    for (int32_t r = 0; r < SAMBA__N_REGIONS; r++)
        bytes += p->region[r];
    return (int64_t)bytes;
}

/* The memory that a plan will take on a small device: that of the PEF it becomes. */
SAMBA__FN samba_device_memory samba__planned_memory(const samba__compilation *c,
                                                    const samba__plan *p)
{
    samba__needs needs = SAMBA__ZEROED;
    const samba__machine machine = samba__device_machine();
    needs.symbols = (uint32_t)p->n_places;
    needs.nodes = (uint32_t)c->n_nodes;

    for (int32_t i = 0; i < c->n_nodes; i++) {
        const samba__node *n = c->nodes[i];
        samba__decoded d;
        samba_work w;
        if (samba__cost_of(n, &d, &w)) needs.local = samba__max64(needs.local, w.local);
        if (needs.specs < (uint32_t)(n->n_in + n->n_out))
            needs.specs = (uint32_t)(n->n_in + n->n_out);
    }

    for (int r = 0; r < SAMBA__N_REGIONS; r++)
        needs.region[r] = samba__places(&machine, r) ? 0 : p->region[r];
    for (int32_t i = 0; i < p->n_places; i++) {
        const samba__place *q = &p->places[i];
        uint64_t bytes = samba__bytes_of_place(c, q);
        if (samba__places(&machine, q->region) && q->view_of < 0)
            needs.region[q->region] += (bytes + 7) / 8 * 8;
    }

    return samba__device_memory_of(&needs);
}

SAMBA__FN bool samba__make_plan(samba__compilation *c, samba__plan *p)
{
    samba_session *s = c->session;
    if (samba__is_spatial(c) && !samba__step_early(c)) return false;

    memset(p, 0, sizeof *p);
    p->places = (samba__place *)samba__temp(s, c->n_tensors + c->n_nodes, sizeof *p->places);
    p->place_of = (int32_t *)samba__temp(s, c->n_tensors, sizeof *p->place_of);
    p->scratch_of = (int32_t *)samba__temp(s, c->n_nodes, sizeof *p->scratch_of);
    if (!p->places || !p->place_of || !p->scratch_of) return false;
    for (int32_t i = 0; i < c->n_tensors; i++)
        p->place_of[i] = -1;

    if (!samba__find_places(c, p)) return false;
    samba__share_in_place(c, p);
    samba__place_persistent(c, p);
    bool fine = samba__place_arena(s, p, c->n_nodes) && samba__cut_sections(c, p)
        && samba__measure_bound(c, p);

    bool limited = c->program->mapping == SAMBA_MAPPING_SPATIAL && c->program->sram_bytes;
    if (!fine || !limited) return fine;
    if (samba__planned_bytes(p) > c->program->sram_bytes)
        return samba_fail(
            s, SAMBA_ERANGE,
            "mapping spatial keeps everything on chip: %l bytes are needed, sram_bytes is %l; use mapping section or a smaller batch",
            samba__planned_bytes(p), c->program->sram_bytes);
    return true;
}

