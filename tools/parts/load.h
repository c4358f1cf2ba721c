/* ==== [load] ================================================================================== */
/* ---- Symbols are bound to the session's tensors by name ---- */
/* The output whose mean over microbatches is called text, <output>__mean; NULL: none, or the user
   called one so. */
SAMBA__FN samba_tensor *samba__output_of_mean(samba_session *s, const char *text)
{
    const samba_tensor *t = samba__named(s, text);
    return t && t->node ? NULL : samba__named_before(s, text, "__" SAMBA__MEAN);
}

/* The tensor of a symbol: known, or a new handle so that it can be found by name. */
SAMBA__FN samba_tensor *samba__tensor_of_symbol(samba_session *s, const samba__pef *pef,
                                                const samba__symbol *q,
                                                const samba__symbol_facts *facts)
{
    const char *text = pef->strings + q->name;
    samba_tensor *t = facts->is_mean ? samba__output_of_mean(s, text) : NULL;
    if (!samba_ok(s)) return NULL;
    if (!t) t = samba__named(s, text);
    if (t) return t;

    char *copy = samba__arena_text(s, text);
    t = copy ? samba__new_tensor(s, copy, &q->spec, q->role) : NULL;
    if (t) t->generated = q->role != SAMBA__WEIGHT; /* of a state the PEF knows better */
    return t;
}

/* Is t what symbol q says? */
SAMBA__FN bool samba__check_binding(const samba_tensor *t, const samba__symbol *q)
{
    if (t->dtype != q->spec.dtype || !samba__same_shape(&t->shape, &q->spec.shape))
        return samba_fail(t->session, SAMBA_EGRAPH,
                          "%s is %T %S here but %T %S in the PEF; compile again", t->name,
                          (int)t->dtype, &t->shape, (int)q->spec.dtype, &q->spec.shape);

    bool made = t->role == SAMBA__OUTPUT || t->role == SAMBA__TEMP || t->role == SAMBA__CONSTANT;
    if (t->role == (int32_t)q->role || q->role == SAMBA__OUTPUT || made) return true;
    return samba_fail(
        t->session, SAMBA_EGRAPH,
        "%s has another role in the PEF than here (input, parameter, state ...); compile again",
        t->name);
}

/* Each tensor that the program has learns its symbol, and what the PEF knows better of it. */
SAMBA__FN bool samba__bind_symbols(samba_session *s)
{
    const samba__pef *pef = &s->program.rt->pef;
    samba_tensor **of = (samba_tensor **)samba__temp(s, (int32_t)pef->n_symbols, sizeof *of);
    const samba__symbol_facts *facts = samba__read_facts(s, pef);
    if (!of || !facts) return false;

    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        if (q.role >= SAMBA__TEMP) continue;
        samba_tensor *t = samba__tensor_of_symbol(s, pef, &q, &facts[i]);
        if (!t || !samba__check_binding(t, &q)) return false;

        t->symbol = (int32_t)i;
        t->argin = facts[i].argin;
        t->value.computed = t->value.overwritten = false;
        t->batch_dim = (int32_t)q.batch_dim - 1;
        if (q.role == SAMBA__STATE) t->generated = q.generated != 0;
        t->mem_type = (samba_mem)q.mem_type;
        of[i] = t;
    }

    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        if (!of[i]) continue;
        of[i]->grad = q.grad ? of[q.grad - 1] : NULL;
        if (of[i]->grad && of[i]->grad->role == SAMBA__INPUT) of[i]->grad->init = samba__all(1.0f);
    }
    return true;
}

/* The gradients of losses begin with a value, or without one. */
SAMBA__FN void samba__begin_output_grads(samba_session *s)
{
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        if (samba__seeds(t)) t->grad->value.not_given = s->modes.lacks_grads;
    }
}

/* Is there a value on the host that could stay there? */
SAMBA__FN bool samba__can_withhold(const samba_tensor *t)
{
    if (t->role == SAMBA__INPUT) return t->data != NULL;
    return t->value.given
        && (t->role == SAMBA__WEIGHT || (t->role == SAMBA__STATE && !t->generated));
}

/* Is the host's copy kept when a program has taken over its value? */
SAMBA__FN bool samba__stays_on_host(const samba_tensor *t)
{
    return t->value.borrowed || t->role == SAMBA__INPUT || t->role == SAMBA__CONSTANT;
}

/* Fills the room that the program has for t: with the host's value, or with what t begins with. All
   of it, for each microbatch, is zero so far. */
SAMBA__FN void samba__fill_room(samba_tensor *t, bool fits)
{
    uint8_t *to = (uint8_t *)t->session->program.rt->data[t->symbol];
    size_t bytes = samba__host_bytes(t), room = samba__device_size(t);

    if (fits && t->data && samba__stays_on_host(t)) {
        memcpy(to, t->data, room);
        return;
    }
    if (fits && t->data) {
        samba__move_value(t->session, to, t->data, room);
        return;
    }

    if (!samba__begins_late(t) || samba__begins_zero(t)) return;
    for (size_t at = 0; at < room; at += bytes)
        samba__begin_value(t, to + at);
}

/* The value of t goes to the device, unless the file brought one. */
SAMBA__FN void samba__push_value(samba_tensor *t, bool from_file)
{
    samba_session *s = t->session;
    bool fits = samba__device_size(t) == (t->data ? samba__copy_bytes(t) : samba__host_bytes(t));
    if (!from_file) samba__fill_room(t, fits);

    if (t->role == SAMBA__INPUT)
        t->value.given = samba__begins_late(t) || (t->data != NULL && fits);
    else if (from_file)
        t->value.given = true;

    t->value.settled = false; /* a copy that does not fit has not been sent */
    if (samba__stays_on_host(t)) {
        if (fits) samba__settle(t);
        return;
    }

    samba__free(s, t->data, samba__copy_bytes(t));
    t->data = NULL;
    t->value.parts = 0;
}

/* The place of a tensor in the memory of a program. */
typedef struct samba__value_place {
    uintptr_t at;
    int32_t tensor;
} samba__value_place;

SAMBA__FN int samba__by_value_place(const void *a, const void *b)
{
    const samba__value_place *x = (const samba__value_place *)a, *y = (const samba__value_place *)b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->tensor < y->tensor ? -1 : 1; /* views of one memory, as they were made */
}

/* The tensors that the program has, in the order of its memory; NULL: no memory for the list. */
SAMBA__FN samba__value_place *samba__tensors_by_place(samba_session *s, int32_t *n)
{
    samba__value_place *list
        = (samba__value_place *)samba__temp(s, samba__n_tensors(s), sizeof *list);
    *n = 0;
    for (int32_t i = 0; list && i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        if (t->symbol < 0) continue;
        list[*n].at = (uintptr_t)s->program.rt->data[t->symbol];
        list[(*n)++].tensor = i;
    }
    if (list) qsort(list, (size_t)*n, sizeof *list, samba__by_value_place);
    return list;
}

/* Host values go to the device; owned copies are then freed. In the order of its memory, of which
   the system gives a large page at the first touch: in another order all of them would be there
   while the host's copies still are. */
SAMBA__FN void samba__push_values(samba_session *s, const samba__value_place *order, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        samba_tensor *t = s->trace.tensors[order[i].tensor];
        bool from_file = samba__symbol_at(&s->program.rt->pef, (uint32_t)t->symbol).data != 0;
        t->value.withheld = s->modes.withholds && !from_file && samba__can_withhold(t);

        if (t->value.withheld) {
            t->value.settled = false;
            if (t->role == SAMBA__INPUT) t->value.given = false;
        } else if (t->value.outdated) {
            t->value.outdated = t->value.given = false;
        } else {
            samba__push_value(t, from_file);
        }
    }
}

/* What a checkpoint, and another program of the session, go on with. */
SAMBA__FN bool samba__keeps(const samba_tensor *t)
{
    return t->role == SAMBA__WEIGHT || t->role == SAMBA__STATE || t->role == SAMBA__ARGIN;
}

/* An input that began with a value and was given another one since keeps the newer. The caller's
   own memory is not written into: such an input is to be given a value again. */
SAMBA__FN bool samba__pull_input(samba_tensor *t)
{
    const void *value = t->session->program.rt->data[t->symbol];
    size_t size = samba__copy_bytes(t);
    bool began = t->data || samba__begins_late(t);
    bool edited = t->data && (!t->value.settled || samba__hash_data(t) != t->value.hash);
    if (!began || edited || !t->value.given || samba__device_size(t) != size) return true;

    if (t->value.borrowed) {
        t->value.outdated = memcmp(t->data, value, size) != 0;
        return true;
    }

    if (!samba__own_room(t)) return false;
    memcpy(t->data, value, size);
    samba__settle(t);
    return true;
}

/* Gives parameters, state and argins of the program a place on the host, and fetches inputs. If
   that fails the program stays: a place that nothing was written to must not pass for a newer
   value. */
SAMBA__FN bool samba__make_room_for_values(samba_session *s)
{
    int32_t n = s->program.rt ? samba__n_tensors(s) : 0;
    bool *taken = (bool *)samba__temp(s, n, sizeof *taken), fine = taken != NULL;
    for (int32_t i = 0; fine && i < n; i++) {
        samba_tensor *t = s->trace.tensors[i];
        if (t->symbol < 0 || t->value.withheld) continue;
        if (t->role == SAMBA__INPUT) fine = samba__pull_input(t);
        if (!samba__keeps(t) || t->value.borrowed) continue;
        taken[i] = !t->data;
        fine = fine && samba__own_room(t);
    }

    for (int32_t i = 0; taken && !fine && i < n; i++) {
        samba_tensor *t = s->trace.tensors[i];
        if (!taken[i] || !t->data) continue;
        samba__free(s, t->data, samba__copy_bytes(t));
        t->data = NULL;
    }
    return fine;
}

/* Brings what a program keeps back to the host before it goes; it has no values any more then, and
   goes for sure. */
SAMBA__FN bool samba__take_values(samba_session *s)
{
    if (!samba__file_kept(s) || !samba__make_room_for_values(s)) return false;
    for (int32_t i = 0; s->program.rt && i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->trace.tensors[i];
        if (t->symbol < 0 || t->value.withheld || !samba__keeps(t) || t->value.borrowed) continue;
        samba__move_value(s, t->data, s->program.rt->data[t->symbol], samba__device_size(t));
    }
    return true;
}

/* Brings state, argins and inputs to the host, where compiling looks for them. Parameters, which
   may be large, are read where they are. The copies are settled: if compiling fails, the program
   goes on, and what it makes then is newer. */
SAMBA__FN bool samba__pull_values(samba_session *s)
{
    if (!samba__file_kept(s)) return false;
    for (int32_t i = 0; s->program.rt && i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->trace.tensors[i];
        if (t->symbol < 0 || t->value.withheld) continue;
        if (t->role == SAMBA__INPUT && !samba__pull_input(t)) return false;
        if (!samba__keeps(t) || t->value.borrowed || t->role == SAMBA__WEIGHT) continue;
        if (!samba__own_room(t)) return false;
        memcpy(t->data, s->program.rt->data[t->symbol], samba__device_size(t));
        samba__settle(t);
    }
    return true;
}

/* Makes a proved PEF the session's program, which owns it from now on. */
SAMBA__FN bool samba__attach(samba_session *s, samba__file *file)
{
    const samba__layout at = samba__layout_of(&file->pef, false, file->stays);
    size_t need = at.size;
    bool zeros;
    void *memory = samba__alloc_program(s, need, &zeros);
    samba__history history = SAMBA__ZEROED;
    samba__graph_entry *graphs = NULL;
    if (!memory || !samba__begin_history(s, &history, &file->pef)
        || !samba__map_graphs(s, &file->pef, &graphs) || !samba__take_values(s)) {
        samba__free_graphs(graphs);
        samba__free_history(s, &history, &file->pef);
        samba__free(s, memory, need);
        samba__file_close(s, file, false);
        return false;
    }

    samba__unload(s);
    s->program.history = history;
    s->trace.graphs = graphs;
    s->program.memory = memory;
    s->program.memory_size = need;

    samba__begin(s, "SAMBA_INIT_RUNTIME");
    s->program.rt
        = samba__runtime_layout(&file->pef, memory, &s->program.pool, &at, file->stays, zeros);
    samba_on_event(s, s->hooks.on_event, s->hooks.event_user);
    samba_on_node(s, s->hooks.on_node, s->hooks.node_user);
    s->program.rt->local = s->program.local;
    s->program.rt->culprit = s->desc.check_finite ? &s->program.culprit : NULL;

    if (!file->stays) samba__file_close(s, file, true);
    s->program.file = *file;
    if (s->desc.portable) s->program.rt->isa = SAMBA__ISA_PORTABLE;
    samba__apply_mode(s);
    s->program.inputs_ready = s->program.zero_params = false;
    s->program.dropped_rate = 0.0;

    int32_t n_places = 0;
    bool fine = samba__bind_symbols(s);
    samba__value_place *order = fine ? samba__tensors_by_place(s, &n_places) : NULL;
    fine = order != NULL;
    if (fine) {
        samba__push_values(s, order, n_places);
        samba__begin_output_grads(s);
    } else
        samba__unload(s);

    s->modes.tracing = s->modes.tracing && !fine;
    return samba__end(s, "SAMBA_INIT_RUNTIME", fine);
}

/* ---- Compiling, and loading what was compiled ---- */
/* A program that is compiled begins with the hyperparameters that were written down: those of
   samba_optim are given when its argins are made, and here the rates and seeds of dropout.
   Gradients of losses are values, and stay. */
SAMBA__FN bool samba__begin_hyperparams(samba_session *s)
{
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        bool grad = t->argin == SAMBA__ARGIN_GRAD;
        if (t->role == SAMBA__ARGIN && t->data && !grad) samba__begin_value(t, t->data);
    }
    return true;
}

/* The program's file: written to its path, if it has one, and in *file, if it is to be loaded. */
SAMBA__FN bool samba__write_program(const samba__compilation *c, const samba__plan *plan,
                                    const samba__writer *w, samba__file *file)
{
    samba_session *s = c->session;
    const char *path = c->program->pef;
    samba__text no_text = samba__text_in(NULL, 0);
    samba__pef pef = SAMBA__ZEROED;
    samba__image image;
    samba__open_pef(&pef, w->bytes, w->size, &no_text);
    if (!samba__image_open(&image, s, &pef, samba__initial_value)) return false;

    bool fine
        = !path || (samba__replace_file(s, path, &image) && samba__write_logs(c, plan, image.size));
    if (fine && !c->program->compile_only) fine = samba__image_whole(&image, file);
    samba__image_close(&image);
    return fine;
}

/* Gradients and optimizer steps are recorded like what was traced, but in a scope: when the file is
   written the session has again what the user traced, and nothing else. */
SAMBA__FN bool samba__compile_in_scope(samba__compilation *c, samba__file *file)
{
    samba_session *s = c->session;
    samba__plan plan;
    samba__writer w;
    if (!samba__open_scope(s)) return false;

    bool tracing = s->modes.tracing;
    s->modes.tracing = true;
    bool fine = samba__check_memories(c) && samba__lower(c, &plan);
    samba__take_back(c);
    fine = fine && samba__write_tables(c, &plan, &w);
    s->modes.tracing = tracing;
    s->trace.generating = false;
    s->modes.section = SAMBA_FWD;
    s->modes.graph = NULL;

    fine = fine && samba__write_program(c, &plan, &w, file);
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        s->trace.tensors[i]->same_as = NULL;
        s->trace.tensors[i]->n_same = 0; /* names of the compiler's are free again */
    }
    return samba__close_scope(s) && fine;
}

SAMBA__FN bool samba__compile_program(samba_session *s, const samba_program *program)
{
    samba__compilation c;
    samba__file file = SAMBA__ZEROED;
    if (!samba_ok(s)) return false;
    if (!program) return samba_fail(s, SAMBA_EARG, "in samba_compile: program is NULL");

    bool fine = samba__pull_values(s) && samba__begin_hyperparams(s)
        && samba__begin_compilation(s, &c, program) && samba__compile_in_scope(&c, &file);
    if (!fine)
        samba__file_close(s, &file, false);
    else if (file.bytes) {
        const char *name = program->pef ? program->pef : "the compiled program";
        fine = samba__begin(s, "SAMBA_SET_PEF")
            && samba__end(s, "SAMBA_SET_PEF", samba__file_prove(s, &file, true, name))
            && samba__attach(s, &file);
    }

    if (fine) s->trace.n_programs++;
    samba__arena_free(s, &s->arenas.temp_chunks);
    return fine;
}

SAMBA_API bool samba_compile(samba_session *s, const samba_program *program)
{
    samba__float_mode callers = samba__enter_float_mode();
    bool result = samba__compile_program(s, program);
    samba__leave_float_mode(callers);
    return result;
}

/* The first line of a text, in a buffer. */
SAMBA__FN const char *samba__first_line(char *line, size_t size, const char *text)
{
    samba__text t = samba__text_in(line, size);
    for (; *text && *text != '\n'; text++)
        samba__put_char(&t, *text);
    if (!t.len) samba__put_text(&t, "nothing more");
    return line;
}

/* The op of a line "y = op(x) ..."; NULL if it is none. */
SAMBA__FN const samba_op *samba__op_of_line(const samba_session *s, const char *line)
{
    const char *name = strstr(line, " = ");
    if (!name) return NULL;
    name += 3;
    size_t n = strcspn(name, "(");

    for (int32_t i = 0; i < SAMBA__N_OPS + samba__n_user_ops(s); i++) {
        const samba_op *op
            = i < SAMBA__N_OPS ? &samba__op_table[i] : s->trace.user_ops[i - SAMBA__N_OPS];
        if (strlen(op->name) == n && memcmp(op->name, name, n) == 0) return op;
    }
    return NULL;
}

/* Reads the words of "[1 -2 3]"; -1 if the text is something else. */
SAMBA__FN int32_t samba__read_words(const char *text, int32_t *attr)
{
    for (int32_t n = 0; n < SAMBA_MAX_ATTR; n++) {
        text++;
        int64_t value = 0, sign = *text == '-' ? -1 : 1;
        if (*text == '-') text++;
        if (*text < '0' || *text > '9') return -1;
        for (; *text >= '0' && *text <= '9' && value < INT32_MAX; text++)
            value = value * 10 + (*text - '0');

        attr[n] = (int32_t)(sign * value);
        if (*text == ']') return n + 1;
        if (*text != ' ') return -1;
    }
    return -1;
}

/* The first line for people: a PEF has attributes as words, so that they can be compared. */
SAMBA__FN void samba__spell_line(const samba_session *s, char *line, size_t size, const char *text)
{
    char exact[512];
    int32_t attr[SAMBA_MAX_ATTR], n = -1;
    const char *first = samba__first_line(exact, sizeof exact, text), *at = strstr(first, ") [");
    const samba_op *op = at ? samba__op_of_line(s, first) : NULL;
    if (op) n = samba__read_words(at + 2, attr);

    samba__text t = samba__text_in(line, size);
    for (const char *p = first; *p && (n < 0 || p <= at); p++)
        samba__put_char(&t, *p);
    if (n < 0) return;
    samba__put_attributes(&t, op, attr, n);
    samba__put_text(&t, strchr(at, ']') + 1);
}

/* Compares the PEF's description with this session's: whole, or the calls alone. */
SAMBA__FN bool samba__same_graph(samba_session *s, const samba__compilation *c,
                                 const samba__pef *pef, const char *path, bool whole)
{
    char line[2][512];
    size_t size, at = 0, begin = 0; /* begin: of the line that differs */
    const char *mine = samba__trace_of(c, whole, &size), *theirs = pef->trace;
    for (; mine && mine[at] && mine[at] == theirs[at]; at++)
        if (mine[at] == '\n') begin = at + 1;
    if (!mine || (!mine[at] && (!whole || !theirs[at]))) return mine != NULL;

    samba__spell_line(s, line[0], sizeof line[0], theirs + begin);
    samba__spell_line(s, line[1], sizeof line[1], mine + begin);
    if (samba__same_text(line[0], line[1])) { /* floats that differ in digits which are not shown */
        samba__first_line(line[0], sizeof line[0], theirs + begin);
        samba__first_line(line[1], sizeof line[1], mine + begin);
    }

    return samba_fail(
        s, SAMBA_EGRAPH,
        "%s was compiled from another graph. First difference: the PEF has \"%s\", this program has \"%s\". Compile again, or restore the model it was compiled from",
        path, line[0], line[1]);
}

SAMBA__FN bool samba__has_traced(const samba_session *s)
{
    for (int32_t i = 0; i < samba__n_nodes(s); i++)
        if (!s->trace.nodes[i]->eager) return true;
    return false;
}

SAMBA__FN bool samba__load_program(samba_session *s, const char *path, const samba_program *program)
{
    samba__compilation c = SAMBA__ZEROED;
    samba_program nothing = SAMBA__ZEROED;
    samba__file file;
    if (!samba_ok(s)) return false;
    if (!path) return samba_fail(s, SAMBA_EARG, "in samba_load: the path is NULL");

    samba__begin(s, "SAMBA_SET_PEF");
    if (!samba__end(s, "SAMBA_SET_PEF", samba__read_file(s, &file, false, path))) return false;

    c.session = s;
    c.program = &nothing;
    c.microbatches = c.replicas = 1;
    bool fine = !program || samba__begin_compilation(s, &c, program);
    fine = fine && samba__check_argins_in_file(s, &file.pef, path)
        && (!samba__has_traced(s) || samba__same_graph(s, &c, &file.pef, path, program != NULL));

    if (fine)
        fine = samba__attach(s, &file);
    else
        samba__file_close(s, &file, false);
    if (fine) s->trace.n_programs++;
    samba__arena_free(s, &s->arenas.temp_chunks);
    return fine;
}

SAMBA_API bool samba_load(samba_session *s, const char *path, const samba_program *program)
{
    samba__float_mode callers = samba__enter_float_mode();
    bool result = samba__load_program(s, path, program);
    samba__leave_float_mode(callers);
    return result;
}

