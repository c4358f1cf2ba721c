/* ==== [run] =================================================================================== */
SAMBA_API const char *samba_section_type_name(unsigned type)
{
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
        const samba__section_type *row = &samba__section_types[i];
        if (row->bit == type && row->named) return row->name;
    }
    return NULL;
}

SAMBA_API unsigned samba_section_types(samba_session *s)
{
    return s && s->program.rt ? samba__types_there(s->program.rt) : 0;
}

SAMBA__FN bool samba__check_types(samba_session *s, unsigned types)
{
    unsigned there = samba_section_types(s), missing = types & ~there;
    missing &= ~samba__implied_types(types);   /* what runs anyhow, if there is any, is no error */
    uint32_t first = missing & (0u - missing); /* its lowest bit */
    char list[80];
    samba__text t = samba__text_in(list, sizeof list);
    if (!missing) return true;

    for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
        const samba__section_type *type = &samba__section_types[i];
        if (type->named && (there & type->bit)) samba__format(&t, " %s", type->name);
    }

    return samba_fail(s, SAMBA_EARG, "in %s: the program has no section of type %s (%d); it has%s",
                      samba__called(s), samba__type_name(first), (int32_t)first,
                      there ? list : " none at all");
}

/* The run was ended by samba_desc.check_finite. */
SAMBA__FN bool samba__fail_nonfinite(samba_session *s)
{
    const samba_culprit *q = &s->program.culprit;
    double value = (double)q->value;
    char text[640];
    samba__text t = samba__text_in(text, sizeof text);
    s->program.culprit.run = s->program.runs;

    samba__format(&t, "in run %l, section %d (%s)", (int64_t)s->program.runs, q->section,
                  q->section_type);
    if (s->program.rt->pef.microbatches > 1) samba__format(&t, ", microbatch %d", q->microbatch);

    if (q->leaf || q->vanishes)
        samba__format(&t, ": %s holds %g at element %l, and %s (%s) %s", q->tensor, value,
                      q->element, q->node, q->op,
                      q->vanishes ? "makes something finite of it" : "passes it on");
    else
        samba__format(&t, ": %s (%s) makes %g at element %l of %s", q->node, q->op, value,
                      q->element, q->tensor);

    for (int32_t i = 0; i < q->n_in; i++) {
        if (!q->in[i].name) continue;
        samba__format(&t, "; %s is ", q->in[i].name);
        if (!q->in[i].known) {
            samba__put_text(&t, "overwritten");
            continue;
        }
        samba__format(&t, "%g ... %g", (double)q->in[i].min, (double)q->in[i].max);
    }

    return samba_fail(s, SAMBA_ERANGE,
                      "%s. The run was stopped there, and no later section changed a parameter",
                      text);
}

SAMBA_API bool samba_nonfinite(const samba_session *s, samba_culprit *culprit)
{
    if (!s || !culprit || !s->program.culprit.node) return false;
    *culprit = s->program.culprit;
    return true;
}

SAMBA_API bool samba_set_check_finite(samba_session *s, bool check)
{
    if (!s) return false;
    s->desc.check_finite = check;
    if (!s->program.rt) return true;

    s->program.rt->culprit = check ? &s->program.culprit : NULL;
    for (uint32_t i = 0; i < s->program.rt->pef.n_nodes; i++)
        s->program.rt->steps[i].made = 0;
    return true;
}

SAMBA__FN bool samba__fail_run(samba_session *s)
{
    samba__forget_runs(s); /* some of it was not run */
    if (s->program.rt->fault[SAMBA__FAULT_SET] == SAMBA__FAULT_NONFINITE)
        return samba__fail_nonfinite(s);

    samba__call_record r = samba__node_at(&s->program.rt->pef, s->program.rt->fault_node);
    const samba__pef *pef = &s->program.rt->pef;
    int32_t which = s->program.rt->fault[SAMBA__FAULT_INPUT];
    uint32_t word = which >= 0 && which < r.n_in ? samba__word(&r, which) : 0;
    samba__symbol q;
    char what[400], batch[60];
    memset(&q, 0, sizeof q);
    if (word) q = samba__symbol_at(pef, word - 1);

    samba__print_fault(what, sizeof what, s->program.rt->fault, word ? pef->strings + q.name : NULL,
                       word ? &q.spec.shape : NULL);
    samba__print(batch, sizeof batch, pef->microbatches > 1 ? " (microbatch %d of %d)" : "",
                 (int32_t)s->program.rt->microbatch, (int32_t)pef->microbatches);

    return samba_fail(
        s, SAMBA_ERANGE,
        "in %s (%s): %s%s; the run was stopped there and no parameter was changed by later sections",
        pef->strings + r.name, r.op->name, what, batch);
}

SAMBA__FN void samba__count_run(samba_session *s)
{
    s->program.runs++;
    s->program.culprit.node = NULL;
}

SAMBA__FN bool samba__fail_norm(samba_session *s)
{
    return samba_fail(
        s, SAMBA_ESTATE,
        "in %s: OPT clips by the gradients' norm, which GRADNORM has not computed since they changed: run all sections of GRADNORM, in order, before OPT; nothing was run",
        samba__called(s));
}

/* Can these types run as one schedule? *norm is how far the norm is before and after. */
SAMBA__FN bool samba__check_schedule(samba__review *v, unsigned types, uint32_t *norm)
{
    const unsigned both = SAMBA_FWD | SAMBA_BCKWD;
    samba_session *s = v->s;
    unsigned whole = samba__whole_step(types);
    bool blind = false;

    *norm = samba__norm_after_types(s->program.rt, *norm, whole, &blind);
    uint32_t split = samba__split_by(s->program.rt, whole);

    if (!samba__check_types(s, types)) return false;
    if (split)
        return samba_fail(
            s, SAMBA_EARG,
            "in %s: with mapping spatial %s are one section: run all of them, or compile with mapping section",
            samba__called(s), samba__type_name(split));
    if (s->program.rt->pef.microbatches != 1 && (whole & both) == SAMBA_BCKWD)
        return samba_fail(
            s, SAMBA_EARG,
            "in %s: with microbatches FWD and BCKWD run together: the activations of one are gone when the next one runs",
            samba__called(s));

    if (!samba__review_types(v, whole)) return false;
    if (blind) return samba__fail_norm(s);
    return true;
}

/* Section id runs. */
SAMBA__FN void samba__note_run(samba_session *s, uint32_t id)
{
    samba__history *h = &s->program.history;
    samba__section q = samba__section_at(&s->program.rt->pef, id);
    bool trains = samba__is_forward_of_training(h, &q);
    if (trains) samba__forget_other_mode(s, h->ran, q.graph);
    h->ran[id] = ++h->now;
    samba__note_pass(&h->passes, s->program.rt, id, h->now);
    if (!trains) return;
    h->train = s->program.rt->train;
    h->running_stats = s->program.rt->running_stats;
}

SAMBA__FN void samba__note_types(samba_session *s, unsigned types)
{
    samba__section_range now = samba__sections_now(s->program.rt);
    s->program.history.passes.adds_anew = s->program.rt->adds_anew;
    for (uint32_t i = now.first; i < now.end; i++)
        if (samba__section_at(&s->program.rt->pef, i).type & types) samba__note_run(s, i);
}

/* A forward pass without dropout, and without BCKWD, is meant as a test; but batch_norm, unless
   told otherwise, takes the statistics of this batch, and counts them in. */
SAMBA__FN void samba__warn_of_test(samba_session *s, unsigned types)
{
    const samba_runtime *rt = s->program.rt;
    bool tests = (types & SAMBA_FWD) && !(types & SAMBA_BCKWD) && (rt->types & SAMBA_BCKWD);
    if (!tests || rt->train || rt->running_stats) return;

    for (uint32_t i = 0; i < rt->pef.n_nodes; i++) {
        if (!samba__is(rt->steps[i].op, SAMBA__OP_batch_norm)) continue;
        samba__warn(
            s,
            "in %s: FWD runs as a test (eval, samba_set_train), but %s takes the statistics of this batch and counts them in: samba_eval, .running_stats of the run or samba_use_running_stats take the running values",
            samba__called(s), rt->pef.strings + samba__record_at(&rt->pef, i).name);
        return;
    }
}

SAMBA__FN bool samba__run_schedule(samba_session *s, unsigned types)
{
    samba__warn_of_test(s, types);
    samba__count_run(s);
    samba__begin(s, "PyRT_RUN");
    samba__note_types(s, types);
    bool fine = samba__run_exactly(s->program.rt, types);
    if (!samba__end(s, "PyRT_RUN", fine)) return samba__fail_run(s);
    return true;
}

/* Runs the graph that was chosen. */
SAMBA__FN bool samba__run_types(samba_session *s, unsigned types)
{
    samba__run_list list = samba__list_of_types(samba__whole_step(types));
    uint32_t norm = s->program.rt->norm_next;
    samba__review review = samba__review_of(s, NULL);
    return samba__check_schedule(&review, types, &norm) && samba__check_ready(s, &list, NULL)
        && samba__run_schedule(s, samba__whole_step(types));
}

/* Sets which graph the next run means: NULL if there is only one. */
SAMBA__FN bool samba__choose_graph(samba_session *s, const char *what, const char *graph)
{
    const samba__pef *pef = &s->program.rt->pef;
    char list[160];
    samba__text t = samba__text_in(list, sizeof list);
    uint32_t n = pef->n_sections;
    const samba__graph_entry *found = graph ? samba__graph_named(s, graph) : NULL;

    s->program.rt->graph = found ? found->value + 1 : 0;
    if (found) return true;
    bool several = n && samba__section_at(pef, 0).graph != samba__section_at(pef, n - 1).graph;
    if (!graph && !several) return true;

    for (uint32_t i = 0; i < n; i++) {
        const char *name = samba__graph_name(pef, i);
        if (samba__begins_graph(pef, i)) samba__format(&t, " %s", *name ? name : "\"\" (unnamed)");
    }

    return samba_fail(s, SAMBA_ENAME, "in %s: %s %s; call samba_run_graph with one of:%s", what,
                      graph ? "there is no graph" : "the program has several graphs",
                      graph ? graph : "", list);
}

/* The event of a run of n schedules begins or ends. */
SAMBA__FN void samba__run_event(samba_session *s, const unsigned *types, int32_t n, bool begins)
{
    char name[80];
    samba__text t = samba__text_in(name, sizeof name);
    if (!s->hooks.on_event) return;

    samba__format(&t, "SAMBA_SESSION_RUN");
    for (int32_t k = 0; k < n; k++) {
        for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
            const samba__section_type *type = &samba__section_types[i];
            if (type->named && (types[k] & type->bit)) samba__format(&t, "_%s", type->name);
        }
    }

    s->hooks.on_event(name, -1, begins, s->hooks.event_user);
}

SAMBA__FN bool samba__run_chosen(samba_session *s, const char *graph, unsigned types)
{
    if (!samba__need_program(s, samba__called(s))) return false;
    samba__run_event(s, &types, 1, true);
    bool fine = samba__choose_graph(s, samba__called(s), graph) && samba__run_types(s, types);
    s->program.rt->graph = 0;
    samba__run_event(s, &types, 1, false);
    return fine;
}

SAMBA__FN bool samba__run_called(samba_session *s, const char *called, const char *graph,
                                 unsigned types)
{
    const char *former = samba__call(s, called);
    samba__float_mode callers = samba__enter_float_mode();
    bool result = samba__run_chosen(s, graph, types);
    samba__leave_float_mode(callers);
    samba__call(s, former);
    return result;
}

SAMBA_API bool samba_run_graph(samba_session *s, const char *graph, unsigned types)
{
    return samba__run_called(s, "samba_run_graph", graph, types);
}

SAMBA_API bool samba_run(samba_session *s, unsigned types)
{
    return samba__run_called(s, "samba_run", NULL, types);
}

/* Ids are sections, and of the graph that is asked for; NULL: of any. */
SAMBA__FN bool samba__check_ids(samba_session *s, const samba__run_list *list, const char *graph)
{
    for (int32_t i = 0; i < list->n; i++) {
        int32_t id = list->ids[i];
        if (id < 0 || (uint32_t)id >= s->program.rt->pef.n_sections)
            return samba_fail(
                s, SAMBA_ERANGE,
                "in %s: section id %d is out of range; the program has sections 0 ... %d",
                samba__called(s), id, (int32_t)s->program.rt->pef.n_sections - 1);

        if (graph && !samba__is_chosen(s->program.rt, (uint32_t)id))
            return samba_fail(s, SAMBA_EARG,
                              "in %s: section %d is not of graph %s; nothing was run",
                              samba__called(s), id, graph);
    }
    return true;
}

/* The entry behind all sections of this type, if they stand in order from entry i on; -1: no. */
SAMBA__FN int32_t samba__after_type(const samba_runtime *rt, const samba__run_list *list, int32_t i,
                                    uint32_t type)
{
    for (uint32_t id = 0; id < rt->pef.n_sections; id++) {
        if (samba__section_at(&rt->pef, id).type != type) continue;
        if (i == list->n || list->ids[i] != (int32_t)id) return -1;
        i++;
    }
    return i;
}

/* With microbatches: the entry behind the part of the schedule that is repeated for each of them,
   which begins with entry i. *types: of what. -1: it is not whole. */
SAMBA__FN int32_t samba__after_repeated(const samba_runtime *rt, const samba__run_list *list,
                                        int32_t i, unsigned *types)
{
    uint32_t type = samba__section_at(&rt->pef, (uint32_t)list->ids[i]).type;
    *types = type;
    int32_t end = type == SAMBA_BCKWD ? -1 : samba__after_type(rt, list, i, type);
    if (type != SAMBA_FWD || end < 0 || end == list->n) return end;

    type = samba__section_at(&rt->pef, (uint32_t)list->ids[end]).type;
    if (type != SAMBA_BCKWD) return end;
    *types |= SAMBA_BCKWD;
    return samba__after_type(rt, list, end, type);
}

/* Is entry i the first of what is repeated? */
SAMBA__FN bool samba__begins_repeated(const samba_runtime *rt, const samba__run_list *list,
                                      int32_t i)
{
    uint32_t type = samba__section_at(&rt->pef, (uint32_t)list->ids[i]).type;
    bool repeats = false;
    for (int32_t k = 0; k < SAMBA__N_TYPES; k++) {
        const samba__section_type *t = &samba__section_types[k];
        repeats = repeats || (t->repeats && (type & t->bit));
    }
    return repeats && rt->pef.microbatches > 1;
}

/* Are all sections of COUNT among the entries before the i-th? */
SAMBA__FN bool samba__has_counted(const samba_runtime *rt, const samba__run_list *list, int32_t i)
{
    int32_t left = 0;
    for (uint32_t id = 0; id < rt->pef.n_sections; id++)
        left += samba__section_at(&rt->pef, id).type == SAMBA_COUNT;
    for (int32_t k = 0; k < i; k++)
        left -= samba__section_at(&rt->pef, (uint32_t)list->ids[k]).type == SAMBA_COUNT;
    return left <= 0;
}

/* May entry i run: are the gradients' norm and what COUNT makes there, if it reads them? */
SAMBA__FN bool samba__check_entry(samba_session *s, const samba__run_list *list, int32_t i,
                                  uint32_t norm)
{
    const samba_runtime *rt = s->program.rt;
    uint32_t id = (uint32_t)list->ids[i];
    if (samba__clips_blindly(rt, norm, id)) return samba__fail_norm(s);

    bool reads_counts
        = (rt->types & SAMBA_COUNT) && samba__section_at(&rt->pef, id).type == SAMBA_FWD;
    if (!reads_counts || samba__has_counted(rt, list, i)) return true;
    return samba_fail(
        s, SAMBA_EARG,
        "in %s: section %d of FWD reads what the sections of COUNT make: let all of these stand before it; nothing was run",
        samba__called(s), (int32_t)id);
}

/* May these sections run, one after another? Clipping, counting and repeating must be as in the
   schedule. */
SAMBA__FN bool samba__check_list(samba_session *s, const samba__run_list *list, bool own_order)
{
    const samba_runtime *rt = s->program.rt;
    uint32_t norm = rt->norm_next;
    int32_t end;
    unsigned types;

    for (int32_t i = 0; i < list->n; i = end) {
        uint32_t id = (uint32_t)list->ids[i];
        end = i + 1;
        if (!own_order && !samba__check_entry(s, list, i, norm)) return false;
        norm = samba__norm_after(rt, norm, id);
        if (!samba__begins_repeated(rt, list, i)) continue;

        end = samba__after_repeated(rt, list, i, &types);
        if (end < 0 && own_order) end = i + 1;
        if (end < 0)
            return samba_fail(
                s, SAMBA_EARG,
                "in %s: section %d is run for each of %d microbatches, with others: all sections of COUNT in order, all of FWD, or all of FWD and then of BCKWD; nothing was run",
                samba__called(s), (int32_t)id, (int32_t)rt->pef.microbatches);
        if (types & SAMBA_BCKWD) norm = rt->norm_first;
    }
    return true;
}

SAMBA__FN bool samba__run_list_of(samba_session *s, const samba__run_list *list)
{
    samba_runtime *rt = s->program.rt;
    bool fine = samba__begin(s, "PyRT_RUN");
    unsigned types;

    samba__count_run(s);
    rt->fault[0] = 0;
    rt->microbatch = 0;
    s->program.history.passes.adds_anew = rt->adds_anew;
    for (int32_t i = 0; i < list->n; i++)
        samba__note_run(s, (uint32_t)list->ids[i]);

    for (int32_t i = 0; fine && i < list->n; i++) {
        int32_t next
            = samba__begins_repeated(rt, list, i) ? samba__after_repeated(rt, list, i, &types) : -1;
        if (next > 0) {
            fine = samba__run_parts(rt, types);
            i = next - 1;
        } else {
            fine = samba__run_section(rt, (uint32_t)list->ids[i]);
        }
    }

    if (!samba__end(s, "PyRT_RUN", fine)) return samba__fail_run(s);
    return true;
}

/* May t be sent before a run? fed: with data of the caller's. */
SAMBA__FN bool samba__check_sent(samba_session *s, const samba_tensor *t, bool fed)
{
    if (t->session != s)
        return samba_fail(s, SAMBA_EARG, "in %s: input %s belongs to another session",
                          samba__called(s), t->name);
    if (t->symbol < 0)
        return samba_fail(s, SAMBA_ESTATE, "in %s: input %s %T %S: the program does not use it",
                          samba__called(s), t->name, (int)t->dtype, &t->shape);

    if (t->role == SAMBA__OUTPUT || t->role == SAMBA__TEMP || t->role == SAMBA__CONSTANT)
        return samba_fail(
            s, SAMBA_EARG,
            "in %s: input %s is computed by the program; samba_rdu or samba_write give it another value",
            samba__called(s), t->name);

    if (t->value.not_given && !fed && !t->data) return samba__fail_not_given(t, samba__called(s));
    if (fed || t->data || t->value.given || t->role != SAMBA__INPUT) return true;
    return samba_fail(s, SAMBA_ESTATE,
                      "in %s: input %s %T %S was never given a value; call samba_write first",
                      samba__called(s), t->name, (int)t->dtype, &t->shape);
}

SAMBA__FN size_t samba__fed_bytes(const samba_feed *f, const samba_tensor *t)
{
    return samba_bytes(t) / samba_dtype_size(t->dtype) * samba_dtype_size(f->dtype);
}

/* Does t, of another integer type, hold all the integers of feed i? */
SAMBA__FN bool samba__check_fed_integers(samba_session *s, const samba_feed *f,
                                         const samba_tensor *t, int32_t i)
{
    int64_t least, most, n = (int64_t)(f->bytes / samba_dtype_size(f->dtype));
    samba__integer_range(t->dtype, &least, &most);

    for (int64_t e = 0; e < n; e++) {
        int64_t value = samba__integer_at(f->data, f->dtype, e);
        if (value >= least && value <= most) continue;
        return samba_fail(s, SAMBA_ERANGE,
                          "in %s: feed %d has %l as element %l for %s %T %S, which holds %l ... %l",
                          samba__called(s), i, value, e, t->name, (int)t->dtype, &t->shape, least,
                          most);
    }
    return true;
}

/* Gives t, which the program has, integers of another type, all of which it holds. */
SAMBA__FN bool samba__write_integers(samba_tensor *t, const samba_feed *f)
{
    samba_session *s = t->session;
    int64_t n = (int64_t)(f->bytes / samba_dtype_size(f->dtype));
    if (!samba_ok(s) || !samba__in_reach(t)) return false;

    t->value.withheld = t->value.not_given = false;
    if (samba__integers_differ(t, f)) samba__note_edit(t);

    samba__begin(s, "PyRT_SET_TENSORS");
    for (int64_t e = 0; e < n; e++)
        samba__put_integer(samba__value_of(t), t->dtype, e,
                           samba__integer_at(f->data, f->dtype, e));
    samba__end(s, "PyRT_SET_TENSORS", true);

    t->value.given = true;
    t->value.copied = 0;
    samba__settle(t);
    return true;
}

SAMBA__FN bool samba__check_feed(samba_session *s, const samba_feed *f, int32_t i)
{
    const samba_tensor *t = samba__fed_tensor(s, f);
    if (!t && f->name && !f->tensor) return samba__fail_name(s, "tensor", f->name, 0);
    if (!t)
        return samba_fail(s, SAMBA_EARG, "in %s: feed %d has neither a tensor nor a name",
                          samba__called(s), i);

    if (f->name && !samba__same_text(f->name, t->name))
        return samba_fail(s, SAMBA_EARG,
                          "in %s: feed %d has the tensor %s and the name %s; give one of them",
                          samba__called(s), i, t->name, f->name);
    if (!samba__check_sent(s, t, f->data != NULL)) return false;

    bool other = f->data && f->dtype != t->dtype;
    int64_t least, most;
    if (other
        && !(samba__integer_range(f->dtype, &least, &most)
             && samba__integer_range(t->dtype, &least, &most)))
        return samba_fail(s, SAMBA_EDTYPE, "in %s: feed %d has data of type %T for %s, which is %T",
                          samba__called(s), i, (int)f->dtype, t->name, (int)t->dtype);

    size_t bytes = f->data ? samba__fed_bytes(f, t) : 0;
    if (f->bytes != bytes)
        return samba_fail(s, SAMBA_ESHAPE,
                          "in %s: feed %d has %l bytes for %s %T %S, which takes %l",
                          samba__called(s), i, (int64_t)f->bytes, t->name, (int)t->dtype, &t->shape,
                          (int64_t)bytes);

    const void *value = f->data ? f->data : t->data;
    if (value && !samba__check_scalar(t, samba__called(s), value)) return false;
    return !other || samba__check_fed_integers(s, f, t, i);
}

SAMBA__FN bool samba__send_feed(samba_session *s, const samba_feed *f)
{
    samba_tensor *t = samba__fed_tensor(s, f);
    if (f->data && f->dtype != t->dtype) return samba__write_integers(t, f);
    return f->data ? samba__write(t, samba__called(t->session), f->data)
                   : samba__send_newer(t, samba__called(t->session));
}

/* Can the host copy of t be made when the run is over? */
SAMBA__FN bool samba__check_fetched(samba_session *s, const samba_tensor *t, int32_t i)
{
    if (!t) return samba_fail(s, SAMBA_EARG, "in %s: output %d is NULL", samba__called(s), i);
    if (t->session != s)
        return samba_fail(s, SAMBA_EARG, "in %s: output %d, %s, belongs to another session",
                          samba__called(s), i, t->name);
    if (t->symbol < 0)
        return samba_fail(
            s, SAMBA_ESTATE,
            "in %s: output %d, %s %T %S, is not kept by the program: list it in program.outputs before compiling",
            samba__called(s), i, t->name, (int)t->dtype, &t->shape);
    return true;
}

/* Refuses the lists of tensors before anything is sent or run. */
SAMBA__FN bool samba__check_lists(samba_session *s, const samba_run_desc *d)
{
    for (int32_t i = 0; i < d->n_feeds; i++)
        if (!samba__check_feed(s, &d->feeds[i], i)) return false;
    for (int32_t i = 0; i < d->n_outputs; i++)
        if (!samba__check_fetched(s, d->outputs[i], i)) return false;
    return true;
}

/* Sets hyperparameters and sends values before a run. */
SAMBA__FN bool samba__send(samba_session *s, const samba_run_desc *d)
{
    for (int32_t i = 0; i < d->n_hyperparams; i++)
        if (!samba_set(s, d->hyperparams[i].name, d->hyperparams[i].value)) return false;
    for (int32_t i = 0; i < d->n_feeds; i++)
        if (!samba__send_feed(s, &d->feeds[i])) return false;
    return true;
}

/* How many schedules run: without a list one, with all types. */
SAMBA__FN int32_t samba__n_schedules(const samba_run_desc *d)
{
    int32_t n = 1;
    while (n < SAMBA_MAX_RUNS && d->types[n - 1] && d->types[n])
        n++;
    return n;
}

/* Can all schedules run, one after another? *types becomes all that they have. */
SAMBA__FN bool samba__check_schedules(samba_session *s, const samba_run_desc *d, unsigned *types)
{
    uint32_t norm = s->program.rt->norm_next;
    samba__review review = samba__review_of(s, d);
    for (int32_t i = 0; i < samba__n_schedules(d); i++) {
        if (!samba__check_schedule(&review, d->types[i], &norm)) return false;
        *types |= samba__whole_step(d->types[i]);
    }
    return true;
}

/* Schedules that have BCKWD and OPT are a whole step, or several: ZEROGRAD runs before the first
   backward pass and before that which follows an OPT. Of those between, the gradients add up. */
SAMBA__FN bool samba__run_schedules(samba_session *s, const samba_run_desc *d)
{
    bool steps = false;
    for (int32_t i = 0; i < samba__n_schedules(d); i++)
        steps = steps || (d->types[i] & SAMBA_OPT);

    bool anew = steps;
    for (int32_t i = 0; i < samba__n_schedules(d); i++) {
        unsigned named = d->types[i], types = samba__whole_step(named);
        if (named & SAMBA_BCKWD) {
            types = (types & ~(unsigned)SAMBA_ZEROGRAD) | (named & SAMBA_ZEROGRAD);
            if (anew) types |= SAMBA_ZEROGRAD;
            anew = false;
        }
        anew = anew || (steps && (named & SAMBA_OPT));
        if (!samba__run_schedule(s, types)) return false;
    }
    return true;
}

/* May what d says run, one section after another or by types? */
SAMBA__FN bool samba__check_described(samba_session *s, samba__run_list *list,
                                      const samba_run_desc *d)
{
    if (!list->n) return samba__check_schedules(s, d, &list->types);
    if (!samba__check_ids(s, list, d->graph)) return false;
    if (!samba__check_list(s, list, d->own_order)) return false;
    return d->own_order || samba__review_list(s, list, d);
}

/* First all is checked, so that what is refused changes nothing. */
SAMBA__FN bool samba__run_described(samba_session *s, const samba_run_desc *d)
{
    samba__run_list list = SAMBA__ZEROED;
    list.ids = d->section_ids;
    list.n = d->n_section_ids;

    for (int32_t i = 0; i < d->n_hyperparams; i++) { /* before anything looks at them */
        const samba_value *h = &d->hyperparams[i];
        if (!samba__check_argin(s, samba__called(s), h->name, h->value)) return false;
    }
    if (!samba__check_described(s, &list, d)) return false;
    if (!samba__check_ready(s, &list, d)) return false;

    if (d->check_only) return true;
    if (!samba__send(s, d)) return false;
    return list.n ? samba__run_list_of(s, &list) : samba__run_schedules(s, d);
}

/* Has each list that has a count an address, and no list a count below 0? */
SAMBA__FN bool samba__check_counts(samba_session *s, const samba_run_desc *d)
{
    const int32_t count[4] = { d->n_section_ids, d->n_feeds, d->n_hyperparams, d->n_outputs };
    const void *const list[4] = { d->section_ids, d->feeds, d->hyperparams, d->outputs };
    for (int i = 0; i < 4; i++) {
        if (count[i] == 0 || (count[i] > 0 && list[i])) continue;
        return samba_fail(s, SAMBA_EARG,
                          "in %s: a list that has a count is NULL, or its count is negative",
                          samba__called(s));
    }

    if (!d->types[0] || !d->n_section_ids) return true;
    return samba_fail(s, SAMBA_EARG,
                      "in %s: types and section_ids exclude each other; nothing was run",
                      samba__called(s));
}

/* Runs d in the modes that it asks for. */
SAMBA__FN bool samba__run_in_modes(samba_session *s, const samba_run_desc *d)
{
    bool train = s->program.rt->train, running_stats = s->program.rt->running_stats;
    if (d->eval) s->program.rt->train = false;
    if (d->running_stats) s->program.rt->running_stats = true;

    bool fine = samba__run_described(s, d);
    s->program.rt->train = train;
    s->program.rt->running_stats = running_stats;
    return fine;
}

SAMBA__FN bool samba__run_with(samba_session *s, const samba_run_desc *d)
{
    if (!samba__need_program(s, samba__called(s))) return false;
    if (!d) return samba__run_chosen(s, NULL, 0);
    if (!samba__check_counts(s, d) || !samba__check_lists(s, d)) return false;

    bool any_graph = d->n_section_ids && !d->graph;
    if (!any_graph && !samba__choose_graph(s, samba__called(s), d->graph)) return false;

    if (d->check_only) {
        bool accepted = samba__run_in_modes(s, d);
        s->program.rt->graph = 0;
        return accepted;
    }

    samba__run_event(s, d->types, samba__n_schedules(d), true);
    bool fine = samba__run_in_modes(s, d);
    s->program.rt->graph = 0;
    for (int32_t i = 0; fine && i < d->n_outputs; i++)
        fine = samba_cpu(d->outputs[i]) != NULL;
    samba__run_event(s, d->types, samba__n_schedules(d), false);
    return fine;
}

SAMBA__FN bool samba__run_with_called(samba_session *s, const char *called, const samba_run_desc *d)
{
    const char *former = samba__call(s, called);
    samba__float_mode callers = samba__enter_float_mode();
    bool result = samba__run_with(s, d);
    samba__leave_float_mode(callers);
    samba__call(s, former);
    return result;
}

SAMBA_API bool samba_run_with(samba_session *s, const samba_run_desc *d)
{
    return samba__run_with_called(s, "samba_run_with", d);
}

SAMBA_API bool samba_eval(samba_session *s)
{
    samba_run_desc d;
    memset(&d, 0, sizeof d);
    d.types[0] = SAMBA_FWD;
    d.eval = d.running_stats = true;
    return samba__run_with_called(s, "samba_eval", &d);
}

