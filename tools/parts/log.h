/* ==== [log] =================================================================================== */
/* <pef>.log, for people: what will run, where, and what it costs. And <pef>.map, for tools such as
   the glass box: what became of the ops that were traced, and of their gradients. */
#if !defined(SAMBA_NO_STDIO)
/* A name, as people are shown it. */
SAMBA__FN void samba__log_name(FILE *f, const char *name)
{
    for (const char *p = name; *p; p++) {
        if (samba__is_control(p, name))
            fprintf(f, "\\x%02X", (unsigned)(uint8_t)*p);
        else
            fputc(*p, f);
    }
}

SAMBA__FN void samba__log_node(FILE *f, const samba__compilation *c, int32_t i, int64_t *flops,
                               int64_t *bytes)
{
    const samba__node *n = c->nodes[i];
    samba__decoded d;
    samba_work w;
    char line[2048];
    samba__text t = samba__text_in(line, sizeof line);
    int64_t moved = samba__bytes_moved(n);

    samba__cost_of(n, &d, &w);
    samba__put_call(&t, n);
    fprintf(f, "    %-100s %12lld flops %12lld bytes\n", line, (long long)w.flops,
            (long long)moved);
    *flops += w.flops;
    *bytes += moved;
}

/* Does t compute what a rewrite took from what it reads, such as scale(x, 1)? Then the gradient of
   that includes the one of t. */
SAMBA__FN bool samba__came_from_input(samba_tensor *t)
{
    const samba_tensor *same = samba__final(t);
    const samba__node *n = t->node;
    while (n) {
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] && samba__final(n->in[k]) == same) return true;
        n = n->n_in == 1 ? n->in[0]->node : NULL; /* permute(permute(x)) */
    }
    return false;
}

/* A place that holds a gradient; what `permute` made of it is it, or what expand would make. */
typedef struct samba__held {
    const samba__place *place;
    const samba__node *permute; /* or NULL */
} samba__held;

/* What is asked of c->flows. */
typedef struct samba__flows {
    int32_t *last;  /* by place: 1 + the id of the last tensor in it; 0: a leaf */
    int32_t *first; /* by id of what values became: 1 + the first flow; 0: none */
    int32_t *next;  /* by flow: 1 + the next one of the same; 0: none */
    bool *passed;   /* by id: see samba__find_passed */
} samba__flows;

/* Why a gradient is nowhere: a word for tools, and a text for people. */
enum {
    SAMBA__NOT_LOST = -1,
    SAMBA__LOST_PASSED,
    SAMBA__LOST_SUMMED,
    SAMBA__LOST_COMPUTED,
    SAMBA__LOST_MANY,
    SAMBA__N_LOST
};

static const char *const samba__lost[SAMBA__N_LOST][2]
    = { { "passed", "some ops read what it is made of" },
        { "summed", "a sum goes on in its place" },
        { "computed", "another op computes it on its way" },
        { "many", "too many equal calls became one" } };

/* Finds where gradient dx is. `last` has 1 + the id of the last tensor in each place. Returns why
   it is nowhere, or NOT_LOST. */
SAMBA__FN int32_t samba__find_held(const samba__compilation *c, const samba__plan *p,
                                   const int32_t *last, samba_tensor *dx, samba__held *h)
{
    samba_tensor *t = samba__final(dx);
    const samba__node *n = p->place_of[t->id] < 0 ? samba__producer_of(c, t) : NULL;
    bool permuted = n && samba__is(n->op, SAMBA__OP_permute);
    if (n && (permuted || samba__is(n->op, SAMBA__OP_expand))) t = samba__final(n->in[0]);

    int32_t b = p->place_of[t->id];
    if (b < 0) return SAMBA__LOST_COMPUTED;
    if (last[b] && last[b] != t->id + 1) return SAMBA__LOST_SUMMED;

    h->place = &p->places[b];
    h->permute = permuted ? n : NULL;
    return SAMBA__NOT_LOST;
}

/* Finds values that a traced op no longer reads, as a rewrite lets it read what they are made of:
   a change of such a value changes less than what was traced says. */
SAMBA__FN void samba__find_passed(const samba__compilation *c, bool *passed)
{
    for (int32_t i = 0; i < c->first_generated; i++) {
        const samba__node *n = c->session->trace.nodes[i];
        const samba_tensor *y = samba__final(n->out[0]);
        const samba__node *now = samba__producer_of(c, y);
        bool gone = y != n->out[0];
        bool asked = gone ? samba__came_from_input(n->out[0]) : now != NULL;

        for (int32_t k = 0; asked && k < n->n_in; k++) {
            const samba_tensor *x = samba__final(n->in[k]);
            bool read = !x || x == y;
            for (int32_t j = 0; now && !gone && j < now->n_in; j++)
                read = read || now->in[j] == x;
            if (!read) passed[x->id] = true;
        }
    }
}

enum { SAMBA__MOST_HELD = 8 };

/* The gradient of a value: the sum of what these places hold, or why it is nowhere. */
typedef struct samba__kept_gradient {
    const samba__place *of;
    samba__held held[SAMBA__MOST_HELD];
    int32_t n, lost;
} samba__kept_gradient;

/* That of the value which is of `flow` and those that `next` leads to: of equal calls that became
   one, each has a part of it. */
SAMBA__FN void samba__find_gradient(const samba__compilation *c, const samba__plan *p,
                                    const samba__flows *flows, int32_t flow,
                                    samba__kept_gradient *g)
{
    const samba_tensor *x = samba__final(c->flows[flow].named);
    const int32_t *next = flows->next;
    bool several = next[flow] > 0;

    g->of = &p->places[p->place_of[x->id]];
    g->n = 0;
    g->lost = flows->passed[x->id] ? SAMBA__LOST_PASSED : SAMBA__NOT_LOST;

    for (int32_t i = flow; i >= 0 && g->lost < 0; i = next[i] - 1) {
        if (several && samba__came_from_input(c->flows[i].named)) continue;
        if (g->n == SAMBA__MOST_HELD)
            g->lost = SAMBA__LOST_MANY;
        else
            g->lost = samba__find_held(c, p, flows->last, c->flows[i].source, &g->held[g->n++]);
    }
}

/* A line of the log. */
SAMBA__FN void samba__log_gradient(FILE *f, const samba__kept_gradient *g)
{
    fprintf(f, "gradient of ");
    samba__log_name(f, g->of->name);
    fprintf(f, " (symbol %d) is ", g->of->index);

    if (g->lost >= 0) fprintf(f, "not kept: %s", samba__lost[g->lost][1]);
    for (int32_t i = 0; i < g->n && g->lost < 0; i++) {
        const samba__node *m = g->held[i].permute;
        fprintf(f, "%s", i ? " + " : "");
        samba__log_name(f, g->held[i].place->name);
        fprintf(f, " (symbol %d)", g->held[i].place->index);
        for (int32_t k = 0; m && k < m->n_attr; k++)
            fprintf(f, "%s%d", k ? "," : " by axes ", m->attr[k]);
    }
    fprintf(f, "\n");
}

/* A line of the map. */
SAMBA__FN void samba__map_gradient(FILE *f, const samba__kept_gradient *g)
{
    fprintf(f, "%s\t%d", g->lost < 0 ? "gradient" : "lost", g->of->index);
    if (g->lost >= 0) fprintf(f, "\t%s", samba__lost[g->lost][0]);
    for (int32_t i = 0; i < g->n && g->lost < 0; i++) {
        const samba__node *m = g->held[i].permute;
        fprintf(f, "\t%d", g->held[i].place->index);
        for (int32_t k = 0; m && k < m->n_attr; k++)
            fprintf(f, "%c%d", k ? ',' : ':', m->attr[k]);
    }
    fprintf(f, "\n");
}

SAMBA__FN bool samba__read_flows(const samba__compilation *c, const samba__plan *p,
                                 samba__flows *flows)
{
    flows->last = (int32_t *)samba__temp(c->session, p->n_places, sizeof *flows->last);
    flows->first = (int32_t *)samba__temp(c->session, c->n_tensors, sizeof *flows->first);
    flows->next = (int32_t *)samba__temp(c->session, c->n_flows, sizeof *flows->next);
    flows->passed = (bool *)samba__temp(c->session, c->n_tensors, sizeof *flows->passed);
    if (!flows->last || !flows->first || !flows->next || !flows->passed) return false;

    for (int32_t i = 0; i < c->n_nodes; i++)
        for (int32_t o = 0; o < c->nodes[i]->n_out; o++)
            flows->last[p->place_of[c->nodes[i]->out[o]->id]] = c->nodes[i]->out[o]->id + 1;

    for (int32_t i = c->n_flows - 1; i >= 0; i--) {
        int32_t *head = &flows->first[samba__final(c->flows[i].named)->id];
        flows->next[i] = *head;
        *head = i + 1;
    }

    samba__find_passed(c, flows->passed);
    return true;
}

/* Which symbol is the gradient of which, where the memory of both is theirs to the end: one line
   for each. */
SAMBA__FN void samba__put_gradients(FILE *f, const samba__compilation *c, const samba__plan *p,
                                    void (*put)(FILE *f, const samba__kept_gradient *g))
{
    samba__flows flows;
    samba__kept_gradient g;
    if (!c->n_flows || !samba__read_flows(c, p, &flows)) return;

    for (int32_t i = 0; i < c->n_flows; i++) {
        const samba_tensor *x = samba__final(c->flows[i].named);
        int32_t a = p->place_of[x->id];
        bool kept = a >= 0 && (x->role == SAMBA__WEIGHT || flows.last[a] == x->id + 1);
        if (!kept || flows.first[x->id] != i + 1) continue;
        samba__find_gradient(c, p, &flows, i, &g);
        put(f, &g);
    }
}

SAMBA__FN void samba__put_log(FILE *f, const samba__compilation *c, const samba__plan *p,
                              size_t pef_size)
{
    samba__log_name(f, c->program->name ? c->program->name : "samba");
    fprintf(f, ": %d nodes in %d sections, %d symbols, PEF %lld bytes\n", c->n_nodes, p->n_sections,
            p->n_places, (long long)pef_size);
    fprintf(
        f,
        "memory: state (DDR) %lld, arena (HBM) %lld (at least %lld are alive at once), input and output (HOST) %lld, read-only parameters %lld bytes\n",
        (long long)p->region[SAMBA__REGION_STATE], (long long)p->region[SAMBA__REGION_ARENA],
        (long long)p->lower_bound, (long long)p->region[SAMBA__REGION_IO],
        (long long)p->region[SAMBA__REGION_READONLY]);

    samba_device_memory m = samba__planned_memory(c, p);
    fprintf(
        f,
        "on a 32-bit device: RAM %lld bytes, of them scratch %lld, tables %lld (tools/samba device-report has more)\n",
        (long long)m.bytes, (long long)m.scratch, (long long)m.tables);

    for (const samba__rewritten *r = c->rewritten; r; r = r->next) {
        fprintf(f, "rewrite %s: ", r->why);
        samba__log_name(f, r->name);
        fprintf(f, " (%s) -> ", r->op);
        samba__log_name(f, r->new_name);
        fprintf(f, " (%s)\n", r->new_op);
    }
    samba__put_gradients(f, c, p, samba__log_gradient);

    for (int32_t i = 0; i < p->n_sections; i++) {
        const samba__section_plan *q = &p->sections[i];
        int64_t flops = 0, bytes = 0;
        fprintf(f, "call %d: section %d %s%s", i, i, samba__type_name(q->type),
                q->graph ? " of graph " : "");
        if (q->graph) samba__log_name(f, q->graph);
        fprintf(f, "\n");
        for (int32_t k = q->first; k < q->first + q->n; k++)
            samba__log_node(f, c, k, &flops, &bytes);
        fprintf(f, "    total %lld flops, %lld bytes moved\n", (long long)flops, (long long)bytes);
    }
}

/* A text of the map. A backslash and control characters are \xNN there, so it has no tab and no end
   of a line. */
SAMBA__FN void samba__map_text(FILE *f, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (samba__is_control(p, text) || *p == '\\')
            fprintf(f, "\\x%02X", (unsigned)(uint8_t)*p);
        else
            fputc(*p, f);
    }
}

/* Lines of words with tabs between them; symbols are numbers. MAP_VERSION counts changes of:

     samba-map  VERSION
     node       NAME  OP                            each, in the order of the PEF
     rewrite    WHY  NAME  OP  NEW_NAME  NEW_OP     a node, and what is in its place
     gradient   SYMBOL  PART ...                    it is the sum of the parts: a symbol, or
                                                    SYMBOL:AXIS,AXIS... whose axes are permuted
     lost       SYMBOL  WORD                        why it has none: samba__lost

   The one reader is tools/cli/view/map.c. */
SAMBA__FN void samba__put_map(FILE *f, const samba__compilation *c, const samba__plan *p,
                              size_t pef_size)
{
    enum { MAP_VERSION = 1 };

    (void)pef_size;
    fprintf(f, "samba-map\t%d\n", MAP_VERSION);
    for (int32_t i = 0; i < c->n_nodes; i++) {
        fprintf(f, "node\t");
        samba__map_text(f, c->nodes[i]->name);
        fprintf(f, "\t");
        samba__map_text(f, c->nodes[i]->op->name);
        fprintf(f, "\n");
    }

    for (const samba__rewritten *r = c->rewritten; r; r = r->next) {
        const char *const word[] = { r->why, r->name, r->op, r->new_name, r->new_op };
        fprintf(f, "rewrite");
        for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
            fprintf(f, "\t");
            samba__map_text(f, word[i]);
        }
        fprintf(f, "\n");
    }
    samba__put_gradients(f, c, p, samba__map_gradient);
}

/* Writes <pef><end>. With POSIX files it is written whole or not at all, as the PEF is. Elsewhere
   it is written in place: a program does not need it. */
SAMBA__FN bool samba__write_beside(const samba__compilation *c, const samba__plan *p,
                                   size_t pef_size, const char *end,
                                   void (*put)(FILE *f, const samba__compilation *c,
                                               const samba__plan *p, size_t pef_size))
{
    samba_session *s = c->session;
    size_t n = strlen(c->program->pef) + strlen(end) + 1;
    char *path = (char *)samba__temp(s, 1, n);
    if (!path) return false;
    samba__print(path, n, "%s%s", c->program->pef, end);

#if SAMBA__POSIX_FILES
    samba__temporary t;
    if (!samba__temporary_open(s, &t, path)) return false;

    FILE *f = fdopen(t.fd, "w");
    if (f) put(f, c, p, pef_size);
    bool fine = f && !fflush(f) && !ferror(f) && samba__sync_file(t.fd) && !rename(t.name, path);
    if (!fine) samba__fail_io(s, "write", path);
    if (!fine) unlink(t.name);
    fine = fine && samba__sync_directory(s, t.name, path);

    if (f)
        fclose(f); /* and t.fd with it */
    else
        close(t.fd);
    t.fd = -1;
    samba__temporary_close(&t, true);
#else
    FILE *f = fopen(path, "w");
    if (f) put(f, c, p, pef_size);
    bool fine = f && !fflush(f) && !ferror(f);
    if (f && fclose(f)) fine = false;
    if (!fine) samba__fail_io(s, "write", path);
#endif
    return fine;
}

/* What lies beside the PEF. */
SAMBA__FN bool samba__write_logs(const samba__compilation *c, const samba__plan *p, size_t pef_size)
{
    return samba__write_beside(c, p, pef_size, ".log", samba__put_log)
        && samba__write_beside(c, p, pef_size, ".map", samba__put_map);
}

#else
SAMBA__FN bool samba__write_logs(const samba__compilation *c, const samba__plan *p, size_t pef_size)
{
    (void)c;
    (void)p;
    (void)pef_size;
    return true;
}
#endif

