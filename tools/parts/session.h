/* ==== [session] =============================================================================== */
SAMBA__FN void samba__check_desc(samba_session *s, const samba_desc *desc)
{
    if (!desc) return;
    samba__in_range(s, "samba_open", "threads", desc->threads, 0.0, 65536.0);
    if (!desc->alloc != !desc->release)
        samba_fail(s, SAMBA_EARG,
                   "in samba_open: alloc and release come together; one of them is NULL");
    if (desc->threads > SAMBA__MAX_THREADS)
        samba__warn(s, "in samba_open: %d threads are asked for; there will be %d", desc->threads,
                    SAMBA__MAX_THREADS);
}

SAMBA_API samba_session *samba_open(const samba_desc *desc)
{
    samba_desc d = SAMBA__ZEROED;
    if (desc) d = *desc;
    if (!d.alloc || !d.release) {
        d.alloc = samba__default_alloc;
        d.release = samba__default_release;
    }

    samba_session *s = (samba_session *)d.alloc(sizeof *s, d.user);
    if (!s) return NULL;

    memset(s, 0, sizeof *s);
    s->desc = d;
    s->arenas.held = sizeof *s;
    s->seed = d.seed ? d.seed : 256;
    s->modes.tracing = s->modes.train = true;
    s->modes.section = SAMBA_FWD;
    s->errors.quiet = d.quiet;

    s->program.has_pool
        = samba__pool_open(&s->program.pool, d.threads > 0 ? d.threads : samba__processors());
    s->program.local = (float *)samba__alloc(s, samba__local_bytes(s));
    s->errors.poisoned = !s->program.local; /* no op can run: this error stays */

    samba__choose_graphamp(s, "samba_open", d.graphamp);
    const char *wrong = samba__wrong_arithmetic();
    if (wrong) samba_fail(s, SAMBA_ESTATE, "samba_open: %s", wrong);
    samba__check_desc(s, desc);
    return s;
}
#if defined(SAMBA_DEFAULT_SESSION)
static samba_session *samba__default_session;

SAMBA_API samba_session *samba_default(void)
{
    if (!samba__default_session) samba__default_session = samba_open(NULL);
    return samba__default_session;
}
#endif

SAMBA__FN size_t samba__history_bytes(const samba__pef *pef)
{
    return (2 * (size_t)pef->n_sections + pef->n_symbols) * sizeof(uint64_t);
}

/* Nothing of this program has run. False without memory. */
SAMBA__FN bool samba__begin_history(samba_session *s, samba__history *h, const samba__pef *pef)
{
    size_t bytes = samba__history_bytes(pef);
    memset(h, 0, sizeof *h);
    h->ran = (uint64_t *)samba__alloc(s, bytes);
    if (!h->ran) return false;
    memset(h->ran, 0, bytes);
    h->trial = h->ran + pef->n_sections;
    h->edited = h->trial + pef->n_sections;

    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section q = samba__section_at(pef, i);
        if (!(q.type & SAMBA_BCKWD)) continue;
        h->has_backward = true;
        h->trained_graph = q.graph;
    }
    return true;
}

SAMBA__FN void samba__free_history(samba_session *s, samba__history *h, const samba__pef *pef)
{
    samba__free(s, h->ran, samba__history_bytes(pef));
    memset(h, 0, sizeof *h);
}

/* Nothing that sections made is to be read by sections that run alone. */
SAMBA__FN void samba__forget_runs(samba_session *s)
{
    samba__history *h = &s->program.history;
    memset(h->ran, 0, s->program.rt->pef.n_sections * sizeof *h->ran);
    memset(&h->passes, 0, sizeof h->passes);
    h->forgot = ++h->now;
    s->program.rt->adds_anew = true;
}

SAMBA__FN void samba__unload(samba_session *s)
{
    s->program.culprit.node = NULL; /* its names are those of the program */
    if (s->program.rt) samba__free_history(s, &s->program.history, &s->program.rt->pef);
    samba__free(s, s->program.memory, s->program.memory_size);
    samba__file_close(s, &s->program.file, false);
    samba__free_graphs(s->trace.graphs);
    s->program.memory = NULL;
    s->trace.graphs = NULL;
    s->program.rt = NULL;
    for (int32_t i = 0; i < samba__n_tensors(s); i++)
        s->trace.tensors[i]->symbol = -1;
}

SAMBA_API int samba_close(samba_session *s)
{
    if (!s) return 1;
    int failed = s->errors.code != SAMBA_OK;

    samba__unload(s);
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->trace.tensors[i];
        if (!t->value.borrowed) samba__free(s, t->data, samba__copy_bytes(t));
    }

#if defined(SAMBA_DEFAULT_SESSION)
    if (s == samba__default_session) samba__default_session = NULL;
#endif

    if (s->program.has_pool) samba__pool_close(&s->program.pool);
    samba__free(s, s->program.local, samba__local_bytes(s));
    while (s->arenas.blocks)
        samba__ds_free(s->arenas.blocks + 1);
    samba__arena_free(s, &s->arenas.temp_chunks);
    samba__arena_free(s, &s->arenas.scope_chunks);
    samba__arena_free(s, &s->arenas.chunks);

    s->desc.release(s, sizeof *s, s->desc.user);
    return failed;
}

SAMBA_API bool samba_tracing(const samba_session *s)
{
    return s && s->modes.tracing;
}

SAMBA_API bool samba_set_tracing(samba_session *s, bool tracing)
{
    if (!s) return false;
    s->modes.tracing = tracing; /* after a failure, too: it can be switched back */
    return samba_ok(s);
}

SAMBA_API void samba_on_event(samba_session *s, samba_event_fn fn, void *user)
{
    if (s) {
        s->hooks.on_event = fn;
        s->hooks.event_user = user;
    }
    if (s && s->program.rt) {
        s->program.rt->on_event = fn;
        s->program.rt->event_user = user;
    }
}

SAMBA_API void samba_on_node(samba_session *s, samba_node_fn fn, void *user)
{
    if (s) {
        s->hooks.on_node = fn;
        s->hooks.node_user = user;
    }
    if (s && s->program.rt) {
        s->program.rt->on_node = fn;
        s->program.rt->node_user = user;
    }
}

/* What is called name begins; ends, and how. Both are for expressions. */
SAMBA__FN bool samba__begin(const samba_session *s, const char *name)
{
    if (s->hooks.on_event) s->hooks.on_event(name, -1, true, s->hooks.event_user);
    return true;
}

SAMBA__FN bool samba__end(const samba_session *s, const char *name, bool fine)
{
    if (s->hooks.on_event) s->hooks.on_event(name, -1, false, s->hooks.event_user);
    return fine;
}

SAMBA__FN bool samba__need_program(samba_session *s, const char *what)
{
    if (!samba_ok(s) || !samba__file_kept(s)) return false;
    if (!s->program.rt)
        return samba_fail(s, SAMBA_ESTATE,
                          "in %s: no program is loaded; call samba_compile or samba_load first",
                          what);
    return true;
}

/* "did you mean": the named tensor nearest to name, of the given role (0: any). */
SAMBA__FN bool samba__fail_name(samba_session *s, const char *what, const char *name, int32_t role)
{
    const char *nearest = "none";
    size_t best = SAMBA__NO_SIZE;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        if (t->removed || (role && (t->role != role || t->symbol < 0))) continue;
        size_t d = samba__distance(t->name, name);
        if (d < best) {
            best = d;
            nearest = t->name;
        }
    }

    return samba_fail(s, SAMBA_ENAME, "%s %s is unknown; the nearest name is %s", what, name,
                      nearest);
}

/* ---- Modes ---- */
/* What samba_set_train and samba_use_running_stats said, before or after the program was loaded; a
   program that infers has no other way. */
SAMBA__FN void samba__apply_mode(samba_session *s)
{
    if (!s->program.rt) return;
    s->program.rt->train = s->modes.train && !s->program.rt->inference;
    s->program.rt->running_stats = s->modes.running_stats || s->program.rt->inference;
}

SAMBA_API bool samba_set_train(samba_session *s, bool train)
{
    if (!samba_ok(s)) return false;
    s->modes.train = train;
    samba__apply_mode(s);
    return true;
}

SAMBA_API void samba_modes(const samba_session *s, bool *train, bool *running_stats)
{
    if (train) *train = s && s->modes.train;
    if (running_stats) *running_stats = s && s->modes.running_stats;
}

SAMBA_API bool samba_use_running_stats(samba_session *s, bool use)
{
    if (!samba_ok(s)) return false;
    s->modes.running_stats = use;
    samba__apply_mode(s);
    return true;
}

SAMBA_API bool samba_set_transfer(samba_session *s, bool transfer)
{
    if (!samba_ok(s)) return false;
    s->modes.withholds = !transfer;
    return true;
}

SAMBA_API bool samba_set_output_grads(samba_session *s, bool init)
{
    if (!samba_ok(s)) return false;
    s->modes.lacks_grads = !init;
    return true;
}

SAMBA_API uint64_t samba_enter_float_mode(void)
{
    return (uint64_t)samba__enter_float_mode();
}

SAMBA_API void samba_leave_float_mode(uint64_t callers)
{
    samba__leave_float_mode((samba__float_mode)callers);
}

