/* ==== [recompute] ============================================================================= */
/* A limit of memory: what the backward pass reads of the forward pass is kept, or computed once
   more just before it is read, from values of which the same holds. Cheap ones come first.
   Chen et al., "Training deep nets with sublinear memory cost", 2016. */
enum {
    SAMBA__MAX_RECOMPUTED = 100, /* the longest chain of recomputed values */
    SAMBA__MAX_COPIES = 8,       /* nodes and tensors of a schedule, by those without repetitions */
    SAMBA__NEAR = 6              /* nodes of the backward pass that one layer takes, or so */
};

typedef struct samba__reuse {
    samba__node *maker; /* its node, if of the forward pass */
    bool read;          /* by the backward pass, or a view of it is */
    bool narrow;        /* it is, or was moved from, what bf16 or f16 was cast to */
    int32_t written;    /* how often the two passes overwrite it, but for steps */
    int32_t stepped;    /* by which node of the backward pass, if it is a parameter; 0: by none */
    int32_t needed;     /* the last node of the backward pass that may ask for a copy of it */
    int32_t chain;      /* values computed again for it, with it */
    int32_t lost;       /* what chain would be; of what the backward pass does not read itself */
    int64_t flops;      /* to compute it again from what is kept */
    samba_tensor *copy; /* what the backward pass reads instead */
    int32_t copy_read;  /* by which node last */
} samba__reuse;

typedef struct samba__recompute {
    samba__node **nodes; /* the schedule without repetitions */
    int32_t n_nodes, n_tensors;
    samba__reuse *of; /* by tensor id */
    int32_t reader;   /* the node for which values are computed again */
    int32_t window;   /* a copy is kept for nodes that come so soon; later ones get a new one */
} samba__recompute;

/* The last node of the backward pass that may ask for a copy of what n makes. */
SAMBA__FN int32_t samba__needed_until(const samba__recompute *a, const samba__node *n)
{
    int32_t needed = 0;
    for (int32_t o = 0; o < n->n_out; o++)
        if (a->of[n->out[o]->id].needed > needed) needed = a->of[n->out[o]->id].needed;
    return needed;
}

SAMBA__FN bool samba__recompute_open(samba__compilation *c, samba__recompute *a)
{
    samba_session *s = c->session;
    a->nodes = c->nodes;
    a->n_nodes = c->n_nodes;
    a->n_tensors = c->n_tensors;

    a->of = (samba__reuse *)samba__temp(s, c->n_tensors, sizeof *a->of);
    int32_t most = SAMBA__MAX_COPIES * c->n_tensors;
    samba_tensor **bound = (samba_tensor **)samba__temp(s, most, sizeof *bound);
    a->window = a->n_nodes;
    if (!a->of || !bound) return false;

    memcpy(bound, c->bound, (size_t)c->n_tensors * sizeof *bound);
    c->bound = bound; /* with room for copies */

    for (int32_t i = a->n_nodes - 1; i >= 0; i--) {
        samba__node *n = a->nodes[i];
        bool forward = n->section == SAMBA_FWD, view = n->op->flags & SAMBA_OP_VIEW;
        int32_t needed = forward ? samba__needed_until(a, n) : i;

        if (samba__is(n->op, SAMBA__OP_matmul_sgd)) {
            a->of[n->in[SAMBA__MATMUL_SGD_W]->id].stepped = i;
        } else if (!samba__is_after(n->section, SAMBA_BCKWD)) {
            for (int32_t o = 0; o < n->n_out; o++) {
                int32_t updated = samba__updated_input(n->op, o);
                if (updated >= 0) a->of[n->in[updated]->id].written++;
                if (forward) a->of[n->out[o]->id].maker = n;
            }
        }

        for (int32_t k = 0; k < n->n_in; k++) {
            if (!n->in[k]) continue;
            samba__reuse *r = &a->of[n->in[k]->id];
            if (r->needed < needed) r->needed = needed;
            bool reads = forward ? view && a->of[n->out[0]->id].read
                                 : samba__is_after(n->section, SAMBA_FWD);
            if (reads) r->read = true;
        }
    }

    return true;
}

/* How many values are computed again if n is; 0 if something it reads is overwritten. What the
   backward pass does not read, such as what goes into a relu, is computed again, too: *flops is the
   work of that and of n. */
SAMBA__FN int32_t samba__chain_of(const samba__compilation *c, const samba__recompute *a,
                                  samba__node *n, int64_t *flops)
{
    bool fine = n->section == SAMBA_FWD && !samba__updates(n->op);
    int32_t chain = 1;
    samba__decoded d;
    samba_work w;
    *flops = fine && samba__cost_of(n, &d, &w) ? w.flops : 0;
    const int32_t needed = samba__needed_until(a, n);

    for (int32_t k = 0; k < n->n_in; k++) {
        const samba_tensor *t = n->in[k];
        if (!t) continue;
        const samba__reuse *r = &a->of[t->id];
        const samba__node *m = r->maker;
        int32_t state = m ? samba__updated_input(m->op, t->out_index) : -1;
        bool again = m && !r->read && !r->chain;

        fine = fine && (m ? !again || r->lost : t->role != SAMBA__TEMP) && !r->written
            && (!r->stepped || r->stepped > needed)
            && (state < 0 || a->of[m->in[state]->id].written == 1);
        chain += again ? r->lost : r->chain;
        if (m && !r->read) *flops += r->flops;
    }

    for (int32_t o = 0; o < n->n_out; o++)
        fine = fine && n->out[o]->role == SAMBA__TEMP && !c->bound[n->out[o]->id];
    return fine && chain <= SAMBA__MAX_RECOMPUTED ? chain : 0;
}

/* What n makes is computed again, and with it what it reads and nobody keeps. */
SAMBA__FN void samba__choose_node(samba__recompute *a, const samba__node *n, int32_t chain)
{
    for (int32_t o = 0; o < n->n_out; o++)
        a->of[n->out[o]->id].chain = chain;
    for (int32_t k = 0; k < n->n_in; k++) {
        const samba__reuse *r = n->in[k] ? &a->of[n->in[k]->id] : NULL;
        if (r && r->maker && !r->read && !r->chain) samba__choose_node(a, r->maker, r->lost);
    }
}

/* Chooses values that cost at most `price` operations a byte, until `wanted` bytes are free. */
SAMBA__FN bool samba__choose_recomputed(const samba__compilation *c, samba__recompute *a,
                                        int64_t price, int64_t wanted)
{
    bool any = false;
    for (int32_t i = 0; i < a->n_nodes && wanted > 0; i++) {
        samba__node *n = a->nodes[i];
        int64_t bytes = 0, flops;
        bool needed = false, view = n->op->flags & SAMBA_OP_VIEW;
        int32_t chain = samba__chain_of(c, a, n, &flops);

        for (int32_t o = 0; o < n->n_out; o++) {
            samba__reuse *r = &a->of[n->out[o]->id];
            r->lost = chain;
            r->flops = flops;
            if (!r->read || r->chain) continue;
            needed = true;
            bytes += view ? 0 : (int64_t)samba__host_bytes(n->out[o]);
        }

        if (!chain || !needed || flops > price * bytes) continue;
        samba__choose_node(a, n, chain);
        wanted -= bytes;
        any = true;
    }

    return any;
}

/* Is there room for a copy more, and for the first copies of all others? */
SAMBA__FN bool samba__room_for_copy(const samba__compilation *c, const samba__recompute *a)
{
    const int32_t most = SAMBA__MAX_COPIES - 2;
    return c->n_nodes < most * a->n_nodes && c->n_tensors < most * a->n_tensors;
}

/* What the backward pass reads for t: the copy that its node, repeated before, makes. */
SAMBA__FN samba_tensor *samba__recomputed_tensor(samba__compilation *c, samba__recompute *a,
                                                 samba_tensor *t)
{
    if (!t || t->id >= a->n_tensors || !a->of[t->id].chain) return t;
    samba__reuse *r = &a->of[t->id];
    bool near = r->copy && a->reader - r->copy_read <= a->window;
    r->copy_read = a->reader;
    if (near) return r->copy;

    bool anew = !r->copy || samba__room_for_copy(c, a);
    samba__node *m = anew ? samba__own_copy(c->session, r->maker) : NULL;
    if (!m) return r->copy;

    for (int32_t k = 0; k < m->n_in; k++)
        m->in[k] = samba__recomputed_tensor(c, a, m->in[k]);

    for (int32_t o = 0; o < m->n_out; o++) {
        samba_tensor *y = (samba_tensor *)samba__temp(c->session, 1, sizeof *y);
        if (!y) return NULL;
        *y = *m->out[o];
        SAMBA_ASSERT(c->n_tensors < SAMBA__MAX_COPIES * a->n_tensors); /* as bound has room */
        y->id = c->n_tensors++;
        m->out[o] = a->of[r->maker->out[o]->id].copy = y;
    }

    m->section = SAMBA_BCKWD;
    SAMBA_ASSERT(c->n_nodes < SAMBA__MAX_COPIES * a->n_nodes);
    c->nodes[c->n_nodes++] = m;
    return r->copy;
}

/* The schedule with what was chosen so far repeated. */
SAMBA__FN bool samba__repeat_chosen(samba__compilation *c, samba__recompute *a)
{
    int32_t most = SAMBA__MAX_COPIES * a->n_nodes;
    c->nodes = (samba__node **)samba__temp(c->session, most, sizeof *c->nodes);
    c->n_nodes = 0;
    c->n_tensors = a->n_tensors;
    if (!c->nodes) return false;

    for (int32_t i = 0; i < a->n_tensors; i++)
        a->of[i].copy = NULL;

    for (int32_t i = 0; i < a->n_nodes; i++) {
        samba__node *n = a->nodes[i];
        if (samba__is_after(n->section, SAMBA_FWD)) {
            n = samba__own_copy(c->session, n);
            if (!n) return false;
            a->reader = i;
            for (int32_t k = 0; k < n->n_in; k++)
                n->in[k] = samba__recomputed_tensor(c, a, n->in[k]);
        }
        if (!samba_ok(c->session)) return false;
        c->nodes[c->n_nodes++] = n;
    }

    return true;
}

/* Chooses what is cast from half the bytes, and what is moved from that: the half is kept. */
SAMBA__FN bool samba__choose_narrow(const samba__compilation *c, samba__recompute *a)
{
    bool any = false;

    for (int32_t i = 0; i < a->n_nodes; i++) {
        const samba__node *n = a->nodes[i];
        const samba_tensor *x = n->n_in ? n->in[0] : NULL, *y = n->out[0];
        bool widens = samba__is(n->op, SAMBA__OP_cast) && samba_dtype_size(x->dtype) == 2;
        if (n->section == SAMBA_FWD && y->dtype == SAMBA_F32)
            a->of[y->id].narrow
                = widens || (samba__class_of(n->op) == SAMBA__IS_MOVES && x && a->of[x->id].narrow);
    }

    for (int32_t i = a->n_nodes - 1; i >= 0; i--) {
        const samba__node *n = a->nodes[i];
        const samba__reuse *y = &a->of[n->out[0]->id];
        if (y->narrow && y->read) a->of[n->in[0]->id].read = true;
    }

    for (int32_t i = 0; i < a->n_nodes; i++) {
        samba__reuse *y = &a->of[a->nodes[i]->out[0]->id];
        int64_t flops;
        if (y->narrow && y->read && !y->chain)
            y->chain = samba__chain_of(c, a, a->nodes[i], &flops);
        any = any || y->chain;
    }

    return any;
}

/* What program.memory limits. */
SAMBA__FN int64_t samba__counted_bytes(const samba__compilation *c, const samba__plan *p)
{
    if (c->program->target != SAMBA_DEVICE32) return samba__planned_bytes(p);
    return (int64_t)samba__planned_memory(c, p).bytes;
}

/* The smallest plan that was tried. */
typedef struct samba__smallest {
    int64_t bytes; /* -1: none yet */
    samba__plan plan;
    const char *peak; /* the node at which most is alive */
} samba__smallest;

SAMBA__FN void samba__keep_smallest(const samba__compilation *c, const samba__plan *p,
                                    samba__smallest *least)
{
    int64_t bytes = samba__counted_bytes(c, p);
    if (least->bytes >= 0 && bytes >= least->bytes) return;
    least->bytes = bytes;
    least->plan = *p;
    least->peak = c->n_nodes ? c->nodes[p->peak]->name : "no op";
}

/* Does place i take memory of the arena at the peak that no place counted before takes? */
SAMBA__FN bool samba__counts_at_peak(const samba__plan *p, int32_t i)
{
    const samba__place *q = &p->places[i];
    int32_t from = q->chain == i ? q->first : q->first + 1;
    return q->region == SAMBA__REGION_ARENA && q->view_of < 0 && from <= p->peak
        && q->last >= p->peak;
}

/* The largest place at the peak that is smaller than `above`, or behind it; NULL: there is none. */
SAMBA__FN const samba__place *samba__next_at_peak(const samba__plan *p, const samba__place *above)
{
    const samba__place *next = NULL;
    for (int32_t i = 0; i < p->n_places; i++) {
        const samba__place *q = &p->places[i];
        bool later = !above || q->bytes < above->bytes || (q->bytes == above->bytes && q > above);
        if (later && samba__counts_at_peak(p, i) && (!next || q->bytes > next->bytes)) next = q;
    }
    return next;
}

/* "a 5120, b 2560 and 3 more with 960 bytes, 64 between them": together the whole arena. */
SAMBA__FN void samba__put_peak(samba__text *t, const samba__plan *p)
{
    uint64_t rest = 0, between = p->region[SAMBA__REGION_ARENA];
    int32_t n = 0;
    const samba__place *q = NULL;
    while ((q = samba__next_at_peak(p, q)) != NULL) {
        between -= q->bytes;
        if (n++ >= SAMBA__MOST_NAMES)
            rest += q->bytes;
        else
            samba__format(t, "%s%s %l", n > 1 ? ", " : "", q->name, (int64_t)q->bytes);
    }

    if (n > SAMBA__MOST_NAMES)
        samba__format(t, " and %d more with %l", n - SAMBA__MOST_NAMES, (int64_t)rest);
    samba__put_text(t, n ? " bytes" : "nothing");
    if (between) samba__format(t, ", %l between them", (int64_t)between);
}

/* Says what is alive where most is. */
SAMBA__FN bool samba__refuse_memory(const samba__compilation *c, const samba__smallest *least)
{
    char alive[640];
    samba__text t = samba__text_in(alive, sizeof alive);
    bool device = c->program->target == SAMBA_DEVICE32;
    samba__put_peak(&t, &least->plan);
    int64_t lasting = least->bytes - (int64_t)least->plan.region[SAMBA__REGION_ARENA];
    return samba_fail(
        c->session, SAMBA_ERANGE,
        "program.memory is %l bytes, but no plan was found that takes less than %l%s, %l of them for %s, whatever of the forward pass is computed again. Most is alive at %s: %s. Use a smaller batch, or microbatches",
        c->program->memory, least->bytes, device ? " on a 32-bit device" : "", lasting,
        device ? "state, inputs, scratch and tables" : "parameters, state and inputs", least->peak,
        alive);
}

/* The memory a place counts for: as its tensor asks, or by its region. */
SAMBA__FN samba_mem samba__memory_of(const samba__place *q)
{
    static const samba_mem home[SAMBA__N_REGIONS]
        = { SAMBA_MEM_DDR, SAMBA_MEM_HBM, SAMBA_MEM_HOST, SAMBA_MEM_DDR };
    bool asks = q->tensor && q->tensor->mem_type && q->region != SAMBA__REGION_ARENA;
    return asks ? q->tensor->mem_type : home[q->region];
}

/* Refuses what is above a limit, and names what is largest there. */
SAMBA__FN bool samba__keep_limits(const samba__compilation *c, const samba__plan *p)
{
    for (int32_t m = SAMBA_MEM_DDR; m <= SAMBA_MEM_HOST; m++) {
        static const char *const names[] = { "", "DDR", "HBM", "HOST" };
        int64_t limit = c->program->mem_limit[m], used = 0;
        const samba__place *top = NULL;
        if (limit <= 0) continue;

        for (int32_t i = 0; i < p->n_places; i++) {
            const samba__place *q = &p->places[i];
            if (q->view_of >= 0 || (int32_t)samba__memory_of(q) != m) continue;
            uint64_t bytes = samba__bytes_of_place(c, q);
            if (q->region != SAMBA__REGION_ARENA) used += (int64_t)samba__align_bytes(bytes);
            if (!top || bytes > samba__bytes_of_place(c, top)) top = q;
        }
        if (m == SAMBA_MEM_HBM) used += (int64_t)p->region[SAMBA__REGION_ARENA];

        if (used > limit)
            return samba_fail(
                c->session, SAMBA_ERANGE,
                "program.mem_limit of %s is %l bytes, but %l are needed; the largest there is %s with %l",
                names[m], limit, used, top && top->tensor ? top->tensor->name : "scratch",
                (int64_t)(top ? samba__bytes_of_place(c, top) : 0));
    }

    return true;
}

/* Nothing is computed again but what samba__choose_narrow says. */
SAMBA__FN bool samba__begin_recompute(samba__compilation *c, samba__recompute *a, samba__plan *p)
{
    for (int32_t i = 0; i < a->n_tensors; i++)
        a->of[i].chain = a->of[i].lost = 0;
    if (samba__choose_narrow(c, a) && !samba__repeat_chosen(c, a)) return false;
    return samba__make_plan(c, p);
}

/* Plans with more and more computed again, until one is within the limit, or all is chosen: what is
   chosen each time has `step` bytes, or 0: as many as the plan has too many. */
SAMBA__FN bool samba__repeat_more(samba__compilation *c, samba__recompute *a, samba__plan *p,
                                  int64_t step, samba__smallest *least)
{
    const int64_t limit = c->program->memory;
    int64_t price = 0;
    while (samba__counted_bytes(c, p) > limit) {
        int64_t wanted = step > 0 ? step : samba__counted_bytes(c, p) - limit;
        while (!samba__choose_recomputed(c, a, price, wanted)) {
            if (price > 1 << 20) return true;
            price = price ? price * 4 : 1;
        }

        if (!samba__repeat_chosen(c, a) || !samba__make_plan(c, p)) return false;
        samba__keep_smallest(c, p, least);
    }
    return true;
}

/* The plan, with as much computed again as the limit asks for. First with few plans. More of them,
   in small steps, find smaller ones: a copy, too, takes memory from its making to its last use. The
   smallest ones keep no copy from layer to layer: a chain is computed for each layer it leads to.
 */
SAMBA__FN bool samba__plan_within(samba__compilation *c, samba__plan *p)
{
    const int64_t limit = c->program->memory;
    samba__smallest least;
    samba__recompute a;

    if (!samba__recompute_open(c, &a) || !samba__begin_recompute(c, &a, p)) return false;
    if (limit <= 0) return samba__keep_limits(c, p);

    least.bytes = -1;
    samba__keep_smallest(c, p, &least);
    if (!samba__repeat_more(c, &a, p, 0, &least)) return false;

    const int32_t window[2] = { a.window, SAMBA__NEAR };
    for (int32_t i = 0; i < 2 && samba__counted_bytes(c, p) > limit; i++) {
        a.window = window[i];
        if (!samba__begin_recompute(c, &a, p)) return false;
        int64_t step = (int64_t)(p->region[SAMBA__REGION_ARENA] / 32) + 1;
        if (!samba__repeat_more(c, &a, p, step, &least)) return false;
    }

    if (samba__counted_bytes(c, p) > limit) return samba__refuse_memory(c, &least);
    return samba__keep_limits(c, p);
}

