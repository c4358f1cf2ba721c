/* ==== [execute] =============================================================================== */
/* Runs the nodes of sections, and sections in the order of the schedule. */

/* Clears the upper halves of the vector registers after 256-bit code: SSE code that follows would
   be slow. Compilers insert vzeroupper themselves, but miss a rare return. */
#if SAMBA__X86
SAMBA__AVX2 SAMBA__FN void samba__leave_avx(void)
{
    _mm256_zeroupper();
}
#else
SAMBA__FN void samba__leave_avx(void)
{
}
#endif

SAMBA__FN void samba__run_kernel(const samba_op *op, const samba_args *a)
{
    samba__kernel_of(op, a->isa)(a);
    /* A kernel that is the same for all sets may have called a product. */
    if (a->isa != SAMBA__ISA_PORTABLE) samba__leave_avx();
    if (SAMBA__OWN_OPS && !samba__is_builtin(op))
        samba__enter_float_mode(); /* it may have changed */
}

/* The arguments of node i. Their specs and attributes are put where spec and attr point. In the
   beginning a and attr are zero, or those of another node: clearing them for each would take a
   device as long as some nodes. */
SAMBA__NOINLINE void samba__open_args(samba_runtime *rt, uint32_t i, samba_args *a,
                                      samba_spec *spec, int32_t *attr)
{
    samba__call_record r = samba__record_at(&rt->pef, i);
    for (int32_t k = r.n_in; k < a->n_in; k++)
        a->in[k] = NULL;
    for (int32_t k = r.n_out; k < a->n_out; k++)
        a->out[k] = NULL;

    for (int32_t k = 0; k < r.n_in + r.n_out; k++) {
        uint32_t word = samba__word(&r, k);
        if (!word) {
            spec[k] = samba__absent();
            a->in[k] = NULL;
            continue;
        }

        SAMBA_ASSERT(rt->data[word - 1] && rt->microbatch < rt->pef.microbatches);
        samba__read_spec(&rt->pef, word - 1, &spec[k]);
        uint8_t *data = (uint8_t *)rt->data[word - 1];
        if (rt->microbatch > 0 && samba__symbol_at(&rt->pef, word - 1).per_microbatch)
            data += rt->microbatch * samba__spec_bytes(&spec[k]);

        if (k < r.n_in)
            a->in[k] = (float *)(void *)data;
        else
            a->out[k - r.n_in] = (float *)(void *)data;
    }

    for (int32_t k = 0; k < r.n_attr && k < SAMBA_MAX_ATTR; k++)
        attr[k] = (int32_t)samba__word(&r, r.n_in + r.n_out + k);
    for (int32_t k = r.n_attr; k < a->n_attr; k++)
        attr[k] = 0; /* an op may look at more than it has */

    a->in_spec = spec;
    a->out_spec = spec + r.n_in;
    a->n_in = r.n_in;
    a->n_out = r.n_out;
    a->attr = attr;
    a->n_attr = r.n_attr;

    a->scratch = r.scratch ? rt->data[r.scratch - 1] : NULL;
    a->microbatch = (int32_t)rt->microbatch;
    a->isa = rt->isa;
    a->fault = rt->fault;
    a->train = rt->train;
    a->running_stats = rt->running_stats;
}

/* Runs the nodes of a section. In the host half, [fused-groups]: several on a part of their
   elements at a time, by all threads. On a device: */
SAMBA__FN bool samba__run_nodes(samba_runtime *rt, const samba__section *q);

#if SAMBA__DEVICE_HALF
/* Arguments, in memory that all nodes of a section have in common. */
typedef struct samba__arguments {
    samba_args args;
    int32_t attr[SAMBA_MAX_ATTR];
} samba__arguments;

/* Runs node i, phase after phase. */
SAMBA__FN bool samba__run_node(samba_runtime *rt, uint32_t i, samba__arguments *with)
{
    const samba__step *step = &rt->steps[i];
    samba_args *a = &with->args;
    if (step->view) return true;
    samba__open_args(rt, i, a, rt->spec, with->attr);
    rt->fault_node = i;
    a->local = rt->local;

    for (int32_t k = 0; k < step->n_phases && !rt->fault[SAMBA__FAULT_SET]; k++) {
        a->phase = k;
        a->end = step->units[k];
        if (a->end > 0) samba__run_kernel(step->op, a);
    }
    return !rt->fault[SAMBA__FAULT_SET];
}

SAMBA__NOINLINE bool samba__run_nodes(samba_runtime *rt, const samba__section *q)
{
    samba__arguments with;
    memset(&with, 0, sizeof with);
    for (uint32_t i = q->first; i < q->end; i++)
        if (!samba__run_node(rt, i, &with)) return false;
    return true;
}
#endif

/* How far the norm is (see samba_runtime.norm_next) once section id has run. */
SAMBA__FN uint32_t samba__norm_after(const samba_runtime *rt, uint32_t next, uint32_t id)
{
    uint32_t type = samba__section_at(&rt->pef, id).type;
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
        const samba__section_type *t = &samba__section_types[i];
        if (t->changes_gradients && (type & t->bit)) return rt->norm_first;
    }
    return type == SAMBA_GRADNORM && id == next ? next + 1 : next;
}

/* Would section id clip by the norm of other gradients? */
SAMBA__FN bool samba__clips_blindly(const samba_runtime *rt, uint32_t next, uint32_t id)
{
    return samba__section_at(&rt->pef, id).type == SAMBA_OPT && next != rt->norm_end;
}

/* Sections may run alone, and before those that make what they read. That is zero then, and never
   what the memory held before the runtime got it. */
SAMBA__FN void samba__clear_unwritten(samba_runtime *rt, const samba__section *q)
{
    for (uint32_t i = q->first; i < q->end; i++) {
        samba__call_record r = samba__record_at(&rt->pef, i);
        for (int32_t k = 0; k < r.n_in; k++) {
            uint32_t word = samba__base_word(&rt->pef, samba__word(&r, k));
            if (!word || samba__region_of(&rt->pef, word - 1) != SAMBA__REGION_ARENA) continue;
            samba__symbol s = samba__symbol_at(&rt->pef, word - 1);
            bool unmade = s.first < q->first && !rt->steps[s.first].has_run;
            if (unmade) memset(rt->data[word - 1], 0, (size_t)samba__symbol_bytes(&rt->pef, &s));
        }
    }
}

/* Tells the session's observer that a section begins or ends. */
SAMBA__FN void samba__tell_event(const samba_runtime *rt, const samba__section *q, uint32_t id,
                                 bool begins)
{
#if defined(SAMBA_RUNTIME_ONLY)
    (void)rt;
    (void)q;
    (void)id;
    (void)begins;
#else
    if (!rt->on_event) return;
    rt->on_event(samba__type_name(q->type), (int32_t)id, begins, rt->event_user);
    samba__enter_float_mode(); /* the observer may have changed it */
#endif
}

SAMBA__FN bool samba__run_section(samba_runtime *rt, uint32_t id)
{
    samba__section q = samba__section_at(&rt->pef, id);
    SAMBA_ASSERT(q.first < q.end && q.end <= rt->pef.n_nodes);
    bool anew = !rt->steps[q.first].has_run;

    rt->norm_next = samba__norm_after(rt, rt->norm_next, id);
    if (q.type & SAMBA_BCKWD) rt->adds_anew = false;
    if (q.type & SAMBA_OPT) rt->adds_anew = true;
    if (anew) samba__clear_unwritten(rt, &q);

    samba__tell_event(rt, &q, id, true);
    bool fine = samba__run_nodes(rt, &q);
    for (uint32_t i = q.first; fine && anew && i < q.end; i++)
        rt->steps[i].has_run = true;
    samba__tell_event(rt, &q, id, false);
    return fine;
}

/* Sections first ... end - 1. */
typedef struct samba__section_range {
    uint32_t first, end;
} samba__section_range;

/* The sections of the graph that runs now, which stand together; or all of them. */
SAMBA__FN samba__section_range samba__sections_now(const samba_runtime *rt)
{
    const samba__pef *pef = &rt->pef;
    samba__section_range now = { 0, pef->n_sections };
    if (!rt->graph) return now;

    now.first = rt->graph - 1;
    uint32_t graph = samba__section_at(pef, now.first).graph;
    now.end = now.first + 1;
    while (now.end < pef->n_sections && samba__section_at(pef, now.end).graph == graph)
        now.end++;
    return now;
}

SAMBA__FN bool samba__run_sections(samba_runtime *rt, unsigned types)
{
    samba__section_range now = samba__sections_now(rt);
    for (uint32_t i = now.first; i < now.end; i++) {
        samba__section q = samba__section_at(&rt->pef, i);
        uint32_t first = q.type & (0u - q.type); /* of several, which run as one */
        if ((first & types) && !samba__run_section(rt, i)) return false;
    }
    return true;
}

/* The types of the sections that can run now. */
SAMBA__FN unsigned samba__types_there(const samba_runtime *rt)
{
    unsigned types = 0;
    samba__section_range now = samba__sections_now(rt);
    for (uint32_t i = now.first; i < now.end; i++)
        types |= samba__section_at(&rt->pef, i).type;
    return types;
}

/* The types of a section of which `types` has some, but not all; 0: there is none. */
SAMBA__FN uint32_t samba__split_by(const samba_runtime *rt, unsigned types)
{
    samba__section_range now = samba__sections_now(rt);
    for (uint32_t i = now.first; i < now.end; i++) {
        uint32_t type = samba__section_at(&rt->pef, i).type;
        if ((type & types) && (type & ~types)) return type;
    }
    return 0;
}

/* The types that run: all of them for 0, and a whole step has what belongs to it. */
SAMBA__FN unsigned samba__whole_step(unsigned types)
{
    return types == 0 ? ~0u : types | samba__implied_types(types);
}

/* How far the norm is after a run of these types; *blind: OPT would clip by an old one. */
SAMBA__FN uint32_t samba__norm_after_types(const samba_runtime *rt, uint32_t next, unsigned types,
                                           bool *blind)
{
    samba__section_range now = samba__sections_now(rt);
    for (uint32_t i = now.first; i < now.end; i++) {
        if (!(samba__section_at(&rt->pef, i).type & types)) continue;
        *blind = *blind || samba__clips_blindly(rt, next, i);
        next = samba__norm_after(rt, next, i);
    }
    return next;
}

/* Runs the sections of these types for each microbatch. */
SAMBA__FN bool samba__run_parts(samba_runtime *rt, unsigned types)
{
    SAMBA_ASSERT(rt->pef.microbatches >= 1);
    uint32_t n = types ? rt->pef.microbatches : 0;
    for (uint32_t m = 0; m < n; m++) {
        rt->microbatch = m; /* which the error tells */
        if (!samba__run_sections(rt, types)) return false;
    }
    rt->microbatch = 0;
    return true;
}

/* Pass after pass: ZEROGRAD, then COUNT for each microbatch, forward and backward for each, then
   the rest. */
SAMBA__FN bool samba__run_passes(samba_runtime *rt, unsigned types)
{
    bool fine = true;
    rt->fault[0] = 0;
    rt->microbatch = 0;
    if ((types & SAMBA_BCKWD) && rt->adds_anew) types |= SAMBA_ZEROGRAD;

    for (int32_t i = 0; fine && i < SAMBA__N_TYPES;) {
        const samba__section_type *first = &samba__section_types[i];
        unsigned pass = 0;
        for (; i < SAMBA__N_TYPES && samba__section_types[i].pass == first->pass; i++)
            pass |= samba__section_types[i].bit & types & rt->types;
        fine = first->repeats ? samba__run_parts(rt, pass) : samba__run_sections(rt, pass);
    }

    if (!fine) rt->adds_anew = true; /* gradients may have part of what was to be added */
    return fine;
}

/* The same, unless these types cannot run as one schedule. */
SAMBA__FN bool samba__run_exactly(samba_runtime *rt, unsigned types)
{
    bool blind = false;
    samba__norm_after_types(rt, rt->norm_next, types, &blind);
    if (!blind && !samba__split_by(rt, types)) return samba__run_passes(rt, types);
    rt->fault[0] = 0; /* nothing was run */
    rt->microbatch = 0;
    return false;
}

/* Is section i the first of its graph? The sections of a graph stand together. */
SAMBA__FN bool samba__begins_graph(const samba__pef *pef, uint32_t i)
{
    return i == 0 || samba__section_at(pef, i).graph != samba__section_at(pef, i - 1).graph;
}

/* Of section i; "": it belongs to no named graph. */
SAMBA__FN const char *samba__graph_name(const samba__pef *pef, uint32_t i)
{
    uint32_t place = samba__section_at(pef, i).graph;
    return place ? pef->strings + place - 1 : "";
}

