/* ==== [ready] ================================================================================= */
/* What a run consists of: sections of some types, or ids one after another. */
typedef struct samba__run_list {
    const int32_t *ids;
    int32_t n;
    unsigned types; /* 0: by ids */
} samba__run_list;

SAMBA__FN samba__run_list samba__list_of_types(unsigned types)
{
    samba__run_list list = SAMBA__ZEROED;
    list.types = types;
    return list;
}

/* Is the section of the graph that was chosen? */
SAMBA__FN bool samba__is_chosen(const samba_runtime *rt, uint32_t id)
{
    samba__section_range now = samba__sections_now(rt);
    return now.first <= id && id < now.end;
}

/* Does a node of section id read this symbol? */
SAMBA__FN bool samba__section_reads(const samba__pef *pef, uint32_t id, uint32_t symbol)
{
    samba__section q = samba__section_at(pef, id);
    for (uint32_t node = q.first; node < q.end; node++) {
        samba__call_record r = samba__record_at(pef, node);
        for (int32_t k = 0; k < r.n_in; k++)
            if (samba__word(&r, k) == symbol + 1) return true;
    }
    return false;
}

/* Does a node that is to run read this symbol? */
SAMBA__FN bool samba__list_reads(const samba_runtime *rt, const samba__run_list *list,
                                 uint32_t symbol)
{
    samba__section_range now = samba__sections_now(rt);
    for (uint32_t i = now.first; list->types && i < now.end; i++) {
        bool runs = (samba__section_at(&rt->pef, i).type & list->types) != 0;
        if (runs && samba__section_reads(&rt->pef, i, symbol)) return true;
    }

    for (int32_t i = 0; !list->types && i < list->n; i++)
        if (samba__section_reads(&rt->pef, (uint32_t)list->ids[i], symbol)) return true;
    return false;
}

/* Must symbol q have a value before it is read? Parameters need none where only speed matters. */
SAMBA__FN bool samba__needs_value(const samba_session *s, const samba__symbol *q)
{
    return q->role == SAMBA__INPUT || (q->role == SAMBA__WEIGHT && !s->program.zero_params);
}

SAMBA__FN bool samba__fail_value(samba_session *s, const char *what, const samba_tensor *t)
{
    bool part = t->role == SAMBA__INPUT && t->data && samba__device_size(t) > samba__copy_bytes(t);
    if (part)
        return samba_fail(
            s, SAMBA_ESTATE,
            "in %s: input %s %T %S was given a value for one microbatch, but a run reads all %d at once: give it their rows, one part after another, by samba_write or as a feed; if each part is to read the same, call samba_set_batch_dim(%s, -1) before compiling",
            what, t->name, (int)t->dtype, &t->shape, (int32_t)s->program.rt->pef.microbatches,
            t->name);

    if (t->role == SAMBA__INPUT)
        return samba_fail(s, SAMBA_ESTATE,
                          "in %s: input %s %T %S was never given a value; call samba_write first",
                          what, t->name, (int)t->dtype, &t->shape);

    return samba_fail(
        s, SAMBA_ESTATE,
        "in %s: parameter %s %T %S has no value, for the PEF was compiled and not saved: call samba_restore with its checkpoint, or load the checkpoint itself",
        what, t->name, (int)t->dtype, &t->shape);
}

/* Will the run send a value of t, or set it, before it begins? */
SAMBA__FN bool samba__will_send(const samba_run_desc *d, const samba_tensor *t)
{
    for (int32_t i = 0; d && i < d->n_feeds; i++) {
        const samba_feed *f = &d->feeds[i];
        bool named = f->name && samba__same_text(f->name, t->name);
        bool has = f->data || t->data || t->value.withheld;
        if (has && (f->tensor == t || named)) return true;
    }

    for (int32_t i = 0; d && i < d->n_hyperparams; i++)
        if (samba__argin_is_meant(t, d->hyperparams[i].name)) return true;
    return false;
}

/* The tensor of a feed; NULL without an error if there is none. */
SAMBA__FN samba_tensor *samba__fed_tensor(samba_session *s, const samba_feed *f)
{
    if (f->tensor || !f->name) return f->tensor; /* a handle works on without its name */
    samba_tensor *t = samba__named(s, f->name);
    return t && t->removed ? NULL : t;
}

/* Are the integers of feed f, of another type, others than those that t has? */
SAMBA__FN bool samba__integers_differ(samba_tensor *t, const samba_feed *f)
{
    int64_t n = (int64_t)(f->bytes / samba_dtype_size(f->dtype));
    for (int64_t e = 0; e < n; e++)
        if (samba__integer_at(f->data, f->dtype, e)
            != samba__integer_at(samba__value_of(t), t->dtype, e))
            return true;
    return false;
}

/* Will the run give this symbol another value before it begins? */
SAMBA__FN bool samba__will_change(samba_session *s, const samba_run_desc *d, uint32_t symbol)
{
    const uint8_t *value = (const uint8_t *)s->program.rt->data[symbol];
    samba__symbol q = samba__symbol_at(&s->program.rt->pef, symbol);

    for (int32_t i = 0; d && i < d->n_feeds; i++) {
        const samba_feed *f = &d->feeds[i];
        samba_tensor *t = samba__fed_tensor(s, f);
        if (!t || t->symbol != (int32_t)symbol) continue;

        const void *next = f->data;
        if (!next && samba__copy_bytes(t) == samba_bytes(t)) next = t->data;
        if (f->data && f->dtype != t->dtype) return samba__integers_differ(t, f);
        return next && memcmp(next, value, samba_bytes(t)) != 0;
    }

    bool may_be_set = d && d->n_hyperparams && q.role == SAMBA__ARGIN;
    const samba_tensor *argin = may_be_set ? samba__tensor_at(s, symbol) : NULL;
    for (int32_t i = 0; d && i < d->n_hyperparams; i++) {
        const samba_value *h = &d->hyperparams[i];
        if (!samba__argin_is_meant(argin, h->name)) continue;

        uint32_t next = samba__argin_bits(&q, h->value);
        if (memcmp(&next, value, sizeof next) != 0) return true;
    }
    return false;
}

/* Every input and parameter that a run reads must have been given a value, before or by its
   description. */
SAMBA__FN bool samba__check_ready(samba_session *s, const samba__run_list *list,
                                  const samba_run_desc *d)
{
    bool all = true;
    if (s->program.inputs_ready) return true;

    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        if (t->symbol < 0 || (t->value.given && !t->value.withheld && !t->value.not_given))
            continue;
        samba__symbol q = samba__symbol_at(&s->program.rt->pef, (uint32_t)t->symbol);
        if (!t->value.withheld && !t->value.not_given && !samba__needs_value(s, &q)) continue;

        all = false;
        if (samba__will_send(d, t)) continue;
        if (!samba__list_reads(s->program.rt, list, (uint32_t)t->symbol)) continue;

        if (t->value.not_given) return samba__fail_not_given(t, samba__called(s));
        if (t->value.withheld)
            return samba_fail(
                s, SAMBA_ESTATE,
                "in %s: %s %T %S was not sent to the device (samba_set_transfer); call samba_to_device, or send it",
                samba__called(s), t->name, (int)t->dtype, &t->shape);
        return samba__fail_value(s, samba__called(s), t);
    }

    s->program.inputs_ready = all;
    return true;
}

/* ---- Is there what a section reads, and as it was made? ---- */
/* A run that is looked at before it begins, section by section. Values that are gone, or that were
   made of others than those that are there now, would give gradients that are wrong without a
   word. */
typedef struct samba__review {
    samba_session *s;
    const samba_run_desc *d; /* what is sent first; NULL: nothing */
    uint64_t *ran;           /* of each section: as if those before had run */
    uint64_t now, begin;     /* sections that ran after begin are of this run */
    uint32_t id;             /* the section that is looked at, */
    samba__section q;        /* and its record */
    bool anew;               /* FWD is in this run, */
    uint64_t forward;        /* and ran then, in graph: */
    uint32_t graph;
    samba__passes passes;
} samba__review;

SAMBA__FN samba__review samba__review_of(samba_session *s, const samba_run_desc *d)
{
    samba__review v = SAMBA__ZEROED;
    v.s = s;
    v.d = d;
    v.ran = s->program.history.trial;
    v.now = v.begin = s->program.history.now;
    memcpy(v.ran, s->program.history.ran, s->program.rt->pef.n_sections * sizeof *v.ran);
    v.passes = s->program.history.passes;
    v.passes.adds_anew = s->program.rt->adds_anew;
    return v;
}

/* The bit of a section that ran, and has read what was made anew since. */
#define SAMBA__OUTDATED ((uint64_t)1 << 63)

/* When section i ran last; 0: it has not. */
SAMBA__FN uint64_t samba__when(const samba__review *v, uint32_t i)
{
    return v->ran[i] & ~SAMBA__OUTDATED;
}

/* Has section i made its results, of what is there now? */
SAMBA__FN bool samba__has_made(const samba__review *v, uint32_t i)
{
    return v->ran[i] && !(v->ran[i] & SAMBA__OUTDATED);
}

SAMBA__FN uint32_t samba__section_of_node(const samba__pef *pef, uint32_t node)
{
    uint32_t i = 0;
    while (i + 1 < pef->n_sections && samba__section_at(pef, i).end <= node)
        i++;
    return i;
}

/* Has a node of section q this symbol, or a view of it, among its inputs, or its outputs? */
SAMBA__FN bool samba__section_has(const samba__pef *pef, const samba__section *q, uint32_t symbol,
                                  bool output)
{
    for (uint32_t node = q->first; node < q->end; node++) {
        samba__call_record r = samba__record_at(pef, node);
        int32_t first = output ? r.n_in : 0, end = output ? r.n_in + r.n_out : r.n_in;
        for (int32_t k = first; k < end; k++)
            if (samba__base_word(pef, samba__word(&r, k)) == symbol + 1) return true;
    }
    return false;
}

/* Which section makes this symbol, for others to read; -1: it is no result of ops. */
SAMBA__FN int32_t samba__section_making(const samba__pef *pef, uint32_t symbol)
{
    samba__symbol a = samba__symbol_at(pef, symbol);
    if (a.role == SAMBA__TEMP) return (int32_t)samba__section_of_node(pef, a.first);
    for (uint32_t i = 0; a.role == SAMBA__OUTPUT && i < pef->n_sections; i++) {
        samba__section q = samba__section_at(pef, i);
        if (samba__section_has(pef, &q, symbol, true)) return (int32_t)i;
    }
    return -1;
}

/* Does section q write to memory of a, which is a temporary? */
SAMBA__FN bool samba__takes_memory(const samba__pef *pef, const samba__section *q,
                                   const samba__symbol *a)
{
    uint64_t end = a->offset + samba__symbol_bytes(pef, a);
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol b = samba__symbol_at(pef, i);
        bool there = b.region == SAMBA__REGION_ARENA && !b.alias && q->first <= b.first
            && b.first < q->end;
        if (there && b.offset < end && a->offset < b.offset + samba__symbol_bytes(pef, &b))
            return true;
    }
    return false;
}

/* Have the sections that precede q in its graph run in order, and others not since? Then nothing
   that q reads can be gone: while a temporary lives nobody else has its memory. */
SAMBA__FN bool samba__ran_in_order(const samba__review *v)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    uint64_t first = 0, last = 0;
    for (uint32_t i = 0; i < v->id; i++) {
        samba__section o = samba__section_at(pef, i);
        if (o.graph != v->q.graph || o.type == SAMBA_ZEROGRAD) continue;
        if (!samba__has_made(v, i) || v->ran[i] <= last) return false;
        last = v->ran[i];
        if (!first) first = last;
    }

    for (uint32_t i = 0; i < pef->n_sections && first; i++) {
        samba__section o = samba__section_at(pef, i);
        bool precedes = i < v->id && o.graph == v->q.graph;
        if (!precedes && samba__when(v, i) > first) return false;
    }
    return true;
}

/* Section q reads this symbol, and that is wrong, for the reason in why. */
SAMBA__FN bool samba__fail_review(const samba__review *v, uint32_t symbol, const char *why)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    return samba_fail(v->s, SAMBA_ESTATE, "in %s: %s (section %d) reads %s, %s",
                      samba__called(v->s), samba__type_name(v->q.type), (int32_t)v->id,
                      pef->strings + samba__symbol_at(pef, symbol).name, why);
}

/* The same, for what section `maker` makes: `what` happened to it, by section `by`. */
SAMBA__FN bool samba__fail_result(const samba__review *v, uint32_t symbol, uint32_t maker,
                                  const char *what, uint32_t by)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    const char *type = samba__type_name(samba__section_at(pef, maker).type);
    char why[240];
    samba__print(
        why, sizeof why,
        "which %s (section %d) makes, and %s (section %d) has %s: run %s before it, or with it; nothing was run",
        type, (int32_t)maker, samba__type_name(samba__section_at(pef, by).type), (int32_t)by, what,
        type);
    return samba__fail_review(v, symbol, why);
}

/* Is a result that section q reads there? */
SAMBA__FN bool samba__check_result(const samba__review *v, uint32_t symbol)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    samba__symbol a = samba__symbol_at(pef, symbol);
    int32_t maker = samba__section_making(pef, symbol);
    if (maker < 0 || (uint32_t)maker == v->id) return true;

    uint64_t made = samba__when(v, (uint32_t)maker);
    if (v->s->program.history.edited[symbol] > made)
        return true; /* the caller has given it a value */
    if (!samba__has_made(v, (uint32_t)maker))
        return samba__fail_result(v, symbol, (uint32_t)maker,
                                  "not run since the program was loaded, or what it reads changed",
                                  (uint32_t)maker);

    if (a.region != SAMBA__REGION_ARENA) return true;
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section o = samba__section_at(pef, i);
        if (samba__when(v, i) > made && samba__takes_memory(pef, &o, &a))
            return samba__fail_result(v, symbol, (uint32_t)maker, "taken its memory since", i);
    }
    return true;
}

/* Marks the sections that have read what was made anew since. In program order, so that this
   reaches those that have read their results. */
SAMBA__FN void samba__mark_outdated(samba__review *v)
{
    const samba__pef *pef = &v->s->program.rt->pef;

    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section q = samba__section_at(pef, i);
        for (uint32_t node = q.first; node < q.end; node++) {
            samba__call_record r = samba__record_at(pef, node);
            for (int32_t k = 0; k < r.n_in; k++) {
                uint32_t word = samba__base_word(pef, samba__word(&r, k));
                int32_t maker = word ? samba__section_making(pef, word - 1) : -1;
                if (maker < 0 || (uint32_t)maker >= i) continue;

                uint64_t made = samba__when(v, (uint32_t)maker);
                bool given = v->s->program.history.edited[word - 1] > made;
                bool newer = !samba__has_made(v, (uint32_t)maker) || made > samba__when(v, i);
                if (newer && !given) v->ran[i] |= SAMBA__OUTDATED;
            }
        }
    }
}

/* When the first of the sections of FWD ran that read this symbol; 0: none has. */
SAMBA__FN uint64_t samba__read_forward(const samba__review *v, uint32_t symbol)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    uint64_t first = 0;
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section o = samba__section_at(pef, i);
        uint64_t when = samba__when(v, i);
        if (o.graph != v->q.graph || o.type != SAMBA_FWD || !when) continue;
        if ((!first || when < first) && samba__section_has(pef, &o, symbol, false)) first = when;
    }
    return first;
}

/* Section i has written state that FWD reads. Was that within FWD, and have the later sections of
   FWD that read it run after it? Then it is what they have read. */
SAMBA__FN bool samba__wrote_for_forward(const samba__review *v, uint32_t i, uint32_t symbol)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    samba__section writer = samba__section_at(pef, i);
    if (writer.graph != v->q.graph || writer.type != SAMBA_FWD) return false;

    for (uint32_t k = i + 1; k < pef->n_sections; k++) {
        samba__section o = samba__section_at(pef, k);
        if (o.graph != v->q.graph || o.type != SAMBA_FWD) continue;
        if (!samba__section_has(pef, &o, symbol, false)) continue;
        if (samba__when(v, k) < samba__when(v, i)) return false;
    }
    return true;
}

/* Section q of BCKWD reads state or a hyperparameter, such as those of dropout. Which section of
   FWD that reads it has not run, or in another mode than the others? -1: none. */
SAMBA__FN int32_t samba__unread_by(const samba__review *v, uint32_t symbol)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    uint32_t role = samba__symbol_at(pef, symbol).role;
    if (role != SAMBA__STATE && role != SAMBA__ARGIN) return -1;

    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section o = samba__section_at(pef, i);
        if (o.graph != v->q.graph || o.type != SAMBA_FWD || samba__when(v, i)) continue;
        if (samba__section_has(pef, &o, symbol, false)) return (int32_t)i;
    }
    return -1;
}

SAMBA__FN bool samba__fail_unread(const samba__review *v, uint32_t symbol, int32_t i)
{
    char why[240];
    samba__print(
        why, sizeof why,
        "which FWD (section %d) has not read since the program was loaded or restored, or has read in another mode (samba_set_train, eval): run FWD before it, or with it; nothing was run",
        i);
    return samba__fail_review(v, symbol, why);
}

/* Section i has written symbol since FWD read it. */
SAMBA__FN bool samba__fail_rewritten(const samba__review *v, uint32_t i, uint32_t symbol)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    samba__section writer = samba__section_at(pef, i);
    char why[240];
    samba__text t = samba__text_in(why, sizeof why);

    samba__format(&t, "which %s (section %d", samba__type_name(writer.type), (int32_t)i);
    if (writer.graph != v->q.graph)
        samba__format(&t, ", of another graph%s%s", writer.graph ? ", " : "",
                      writer.graph ? pef->strings + writer.graph - 1 : "");
    samba__put_text(&t, ") has written since FWD read it: run FWD again, with it; nothing was run");
    return samba__fail_review(v, symbol, why);
}

/* Section q of BCKWD reads a value that came from outside, a parameter, or state. It must be the
   one which FWD has read. */
SAMBA__FN bool samba__check_same(const samba__review *v, uint32_t symbol)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    uint64_t read = samba__read_forward(v, symbol);
    int32_t unread = samba__unread_by(v, symbol);
    if (unread >= 0) return samba__fail_unread(v, symbol, unread);
    if (!read) return true;

    bool sent = read <= v->begin && samba__will_change(v->s, v->d, symbol);
    if (sent || v->s->program.history.edited[symbol] > read)
        return samba__fail_review(
            v, symbol,
            "which has another value than when FWD read it: run FWD again, with it; nothing was run");

    if (samba__symbol_at(pef, symbol).role == SAMBA__TEMP) return true; /* samba__check_result */
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section o = samba__section_at(pef, i);
        if (samba__when(v, i) <= read || !samba__section_has(pef, &o, symbol, true)) continue;
        if (o.type & SAMBA_OPT)
            return samba__fail_review(
                v, symbol,
                "which OPT has stepped since FWD read it: run FWD again, with it; nothing was run");
        if (!samba__wrote_for_forward(v, i, symbol)) return samba__fail_rewritten(v, i, symbol);
    }
    return true;
}

/* Dropout and batch_norm work otherwise in other modes. Was it in this one that FWD has run? */
SAMBA__FN bool samba__check_mode(const samba__review *v, uint32_t node, uint32_t symbol)
{
    const samba_session *s = v->s;
    bool drops = samba__symbol_at(&s->program.rt->pef, symbol).argin == SAMBA__FILED_RATE;
    bool norm = samba__is(s->program.rt->steps[node].op, SAMBA__OP_batch_norm_backward);
    bool other = (drops && s->program.history.train != s->program.rt->train)
        || (norm && s->program.history.running_stats != s->program.rt->running_stats);
    if (!other || (v->anew && v->graph == v->q.graph)) return true;
    return samba__fail_review(
        v, symbol,
        "but FWD has run in another mode (samba_set_train, samba_use_running_stats, eval): run FWD again, with it; nothing was run");
}

SAMBA__FN bool samba__review_read(const samba__review *v, uint32_t node, uint32_t word)
{
    if (word == 0) return true;
    if (!samba__check_result(v, word - 1)) return false;
    if (!(v->q.type & SAMBA_BCKWD)) return true;
    return samba__check_same(v, word - 1) && samba__check_mode(v, node, word - 1);
}

/* Is this a section of FWD of the graph that trains? */
SAMBA__FN bool samba__is_forward_of_training(const samba__history *h, const samba__section *q)
{
    return q->type == SAMBA_FWD && h->has_backward && q->graph == h->trained_graph;
}

/* Sections of FWD of the graph that trains are about to run in the modes of now. Those that have
   run in others do not count any longer: a backward pass of both would be that of neither. */
SAMBA__FN void samba__forget_other_mode(const samba_session *s, uint64_t *ran, uint32_t graph)
{
    const samba__history *h = &s->program.history;
    const samba__pef *pef = &s->program.rt->pef;
    if (h->train == s->program.rt->train && h->running_stats == s->program.rt->running_stats)
        return;
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section q = samba__section_at(pef, i);
        if (q.type == SAMBA_FWD && q.graph == graph) ran[i] = 0;
    }
}

SAMBA__FN bool samba__begins_pass(const samba__pef *pef, uint32_t id)
{
    if (!(samba__section_at(pef, id).type & SAMBA_BCKWD)) return false;
    return id == 0 || !(samba__section_at(pef, id - 1).type & SAMBA_BCKWD);
}

/* Section id, which runs now, begins a backward pass, or clears gradients. */
SAMBA__FN void samba__note_pass(samba__passes *passes, const samba_runtime *rt, uint32_t id,
                                uint64_t now)
{
    samba__section q = samba__section_at(&rt->pef, id);
    bool adds = (rt->types & SAMBA_ZEROGRAD) && !passes->cleared && !passes->adds_anew;
    if (q.type == SAMBA_ZEROGRAD) passes->cleared = true;
    if (q.type & SAMBA_BCKWD) passes->adds_anew = false; /* as in samba__run_section */
    if (q.type & SAMBA_OPT) passes->adds_anew = true;
    if (!samba__begins_pass(&rt->pef, id)) return;

    passes->before = passes->last;
    passes->last = now;
    if (!adds) passes->first = now;
    passes->cleared = false;
}

SAMBA__FN void samba__review_run(samba__review *v, uint32_t id, const samba__section *q)
{
    bool again = v->anew && v->graph == q->graph;
    bool trains = samba__is_forward_of_training(&v->s->program.history, q);
    if (trains && !again) samba__forget_other_mode(v->s, v->ran, q->graph);
    v->ran[id] = ++v->now;
    samba__note_pass(&v->passes, v->s->program.rt, id, v->now);
    if (q->type != SAMBA_FWD) return;
    v->anew = true;
    v->forward = v->now;
    v->graph = q->graph;
}

/* ---- Has OPT gradients to step by? ---- */
/* When BCKWD made this gradient last; 0: it has not. */
SAMBA__FN uint64_t samba__gradient_made(const samba__review *v, uint32_t symbol, int32_t *maker)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    uint64_t made = 0;
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section o = samba__section_at(pef, i);
        if (!(o.type & SAMBA_BCKWD) || !samba__section_has(pef, &o, symbol, true)) continue;
        *maker = (int32_t)i;
        if (samba__when(v, i) > made) made = samba__when(v, i);
    }
    return made;
}

/* Section q of OPT reads this gradient. It must have been made, and by this run if that has a
   forward pass; mostly it should not have been used before. */
SAMBA__FN bool samba__check_gradient(const samba__review *v, uint32_t symbol)
{
    int32_t maker = -1;
    uint64_t made = samba__gradient_made(v, symbol, &maker), stepped = samba__when(v, v->id);
    uint64_t given = v->s->program.history.edited[symbol];
    bool by_caller = given > made && given > stepped && given > v->s->program.history.forgot;
    if (by_caller) return true;

    if (!made && maker >= 0)
        return samba__fail_result(v, symbol, (uint32_t)maker,
                                  "not run since the program was loaded or restored",
                                  (uint32_t)maker);

    if (v->forward > made && made <= v->begin && v->graph == v->q.graph)
        return samba__fail_review(
            v, symbol,
            "which is the gradient of an earlier forward pass: run BCKWD between FWD and OPT, or OPT before FWD; nothing was run");

    if (stepped > made)
        samba__warn(
            v->s,
            "in %s: OPT has stepped by these gradients before; each run of it needs one of BCKWD, or gradients that samba_write gave",
            samba__called(v->s));
    return true;
}

/* The parameter that section q of OPT steps may have been given a value since BCKWD read it. */
SAMBA__FN void samba__check_stepped(const samba__review *v, uint32_t symbol)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    uint64_t edited = v->s->program.history.edited[symbol];
    if (edited <= v->passes.first || !v->passes.first || edited <= samba__when(v, v->id)) return;
    samba__warn(
        v->s,
        "in %s: OPT steps %s, which was given another value after BCKWD began: its gradient is that of the former value",
        samba__called(v->s), pef->strings + samba__symbol_at(pef, symbol).name);
}

/* Two backward passes before OPT, of which only the last one would count. */
SAMBA__FN bool samba__check_passes(const samba__review *v)
{
    const char *remedy
        = "compile with samba_program.accumulate, or let samba_program.microbatches split a batch that is in the inputs at once";
    if ((v->s->program.rt->types & SAMBA_ZEROGRAD) || v->passes.before <= samba__when(v, v->id))
        return true;

    if (v->passes.before > v->begin)
        return samba_fail(
            v->s, SAMBA_ESTATE,
            "in %s: BCKWD runs more than once before OPT, and in this program its gradients do not add up: %s; nothing was run",
            samba__called(v->s), remedy);

    samba__warn(
        v->s,
        "in %s: BCKWD has run more than once since OPT has stepped, and the gradients are those of the last time alone; if they are to add up, %s",
        samba__called(v->s), remedy);
    return true;
}

/* Has all of BCKWD run since this section of OPT has, and since FWD in this run? Then gradient by
   gradient need not be looked at. */
SAMBA__FN bool samba__gradients_are_fresh(const samba__review *v)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    uint64_t since = samba__when(v, v->id);
    if (v->graph == v->q.graph && v->forward > since) since = v->forward;

    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section o = samba__section_at(pef, i);
        bool makes = o.graph == v->q.graph && (o.type & SAMBA_BCKWD);
        if (makes && samba__when(v, i) <= since) return false;
    }
    return true;
}

/* Section id of OPT is to run next, by itself: is what it steps by that which the caller means? */
SAMBA__FN bool samba__review_step(samba__review *v, uint32_t id)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    v->id = id;
    v->q = samba__section_at(pef, id);
    if (!samba__check_passes(v)) return false;

    bool fresh = samba__gradients_are_fresh(v);
    for (uint32_t node = v->q.first; node < v->q.end; node++) {
        samba__call_record r = samba__record_at(pef, node);
        for (int32_t k = 0; k < r.n_in; k++) {
            uint32_t word = samba__base_word(pef, samba__word(&r, k));
            if (!word) continue;
            int32_t role = (int32_t)samba__symbol_at(pef, word - 1).role;
            bool looks = role == SAMBA__GRADIENT && !fresh;
            if (looks && !samba__check_gradient(v, word - 1)) return false;
            if (role == SAMBA__WEIGHT) samba__check_stepped(v, word - 1);
        }
    }
    return true;
}

/* Section id is to run next. */
SAMBA__FN bool samba__review_section(samba__review *v, uint32_t id)
{
    const samba__pef *pef = &v->s->program.rt->pef;
    v->id = id;
    v->q = samba__section_at(pef, id);
    if (v->q.type == SAMBA_OPT && !samba__review_step(v, id)) return false;

    bool in_order = samba__ran_in_order(v);
    if (!in_order) samba__mark_outdated(v);
    for (uint32_t node = v->q.first; node < v->q.end; node++) {
        samba__call_record r = samba__record_at(pef, node);
        if (in_order && !(v->q.type & SAMBA_BCKWD)) break;
        for (int32_t k = 0; k < r.n_in; k++)
            if (!samba__review_read(v, node, samba__base_word(pef, samba__word(&r, k))))
                return false;
    }

    samba__review_run(v, id, &v->q);
    return true;
}

/* Can a schedule of these types run? With FWD in it all is made anew, in order. */
SAMBA__FN bool samba__review_types(samba__review *v, unsigned types)
{
    const samba_runtime *rt = v->s->program.rt;
    bool alone = (types & (SAMBA_FWD | SAMBA_BCKWD)) == SAMBA_BCKWD;
    bool several = v->now > v->begin; /* schedules of one run */

    samba__section_range now = samba__sections_now(rt);
    for (uint32_t i = now.first; i < now.end; i++) {
        samba__section q = samba__section_at(&rt->pef, i);
        if (!(q.type & types)) continue;

        bool backward = alone && (q.type & SAMBA_BCKWD);
        bool steps = q.type == SAMBA_OPT && (several || !(types & SAMBA_BCKWD));
        if (backward && !samba__review_section(v, i)) return false;
        if (steps && !samba__review_step(v, i)) return false;
        if (!backward) samba__review_run(v, i, &q);
    }
    return true;
}

/* By types the first backward pass after a step clears the gradients that add up. A list of ids
   runs what it says and no more: without ZEROGRAD in it, those of the former step count again. */
SAMBA__FN void samba__warn_of_former_step(const samba__review *v, uint32_t id)
{
    const samba_runtime *rt = v->s->program.rt;
    bool adds_up = (rt->types & SAMBA_ZEROGRAD) && v->passes.adds_anew && v->passes.last;
    if (!adds_up || v->passes.cleared || !samba__begins_pass(&rt->pef, id)) return;
    samba__warn(
        v->s,
        "in %s: section %d begins a backward pass after OPT, and no section of ZEROGRAD has run: its gradients are added to those of the last step. List the sections of ZEROGRAD before it, or run by types, which clears them",
        samba__called(v->s), (int)id);
}

/* Is there what these sections read, each when its turn comes? */
SAMBA__FN bool samba__review_list(samba_session *s, const samba__run_list *list,
                                  const samba_run_desc *d)
{
    samba__review v = samba__review_of(s, d);
    for (int32_t i = 0; i < list->n; i++) {
        samba__warn_of_former_step(&v, (uint32_t)list->ids[i]);
        if (!samba__review_section(&v, (uint32_t)list->ids[i])) return false;
    }
    return true;
}

