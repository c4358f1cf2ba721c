/* ==== [pef-write] ============================================================================= */
/* Writers of one record each, the inverse of the readers: of the newest version, into zeroed bytes.
 */
#define X(bits, field, since) samba__put##bits(p + offsetof(SAMBA__RECORD, field), r->field);
#define A(bits, field, n, since) \
    for (size_t i = 0; i < n; i++) \
        samba__put##bits(p + offsetof(SAMBA__RECORD, field) + i * (bits / 8), r->field[i]);
#define Z(bytes, since)
#define SAMBA__RECORD samba__header_layout

SAMBA__FN void samba__put_header(uint8_t *p, const samba__header *r)
{
    SAMBA__HEADER_FIELDS(X, A, Z)
}

#undef SAMBA__RECORD

#define SAMBA__RECORD samba__node_layout

SAMBA__FN void samba__put_node(uint8_t *p, const samba__call_record *r)
{
    SAMBA__NODE_FIELDS(X, A, Z)
}

#undef SAMBA__RECORD

#define SAMBA__RECORD samba__section_layout

SAMBA__FN void samba__put_section(uint8_t *p, const samba__section *r)
{
    SAMBA__SECTION_FIELDS(X, A, Z)
}

#undef SAMBA__RECORD

#undef A
#define A(bits, field, n, since) /* the shape */
#define SAMBA__RECORD samba__symbol_layout

SAMBA__FN void samba__put_symbol(uint8_t *p, const samba__symbol *r)
{
    uint8_t *dim = p + offsetof(samba__symbol_layout, dim);
    SAMBA__SYMBOL_FIELDS(X, A, Z)
    for (int32_t d = 0; d < r->spec.shape.ndim; d++)
        samba__put32(dim + 4 * d, (uint32_t)r->spec.shape.dim[d]);
}

#undef SAMBA__RECORD
#undef X
#undef A
#undef Z

/* Tables that are being written. Their sizes were counted first, so nothing grows. */
typedef struct samba__writer {
    samba__header header;
    uint8_t *bytes, *symbols, *nodes, *sections, *words;
    char *strings, *trace;
    size_t size;
    uint32_t n_words, strings_at; /* words and bytes of strings written so far */
} samba__writer;

/* Bytes of the tables that w->header counts. samba__writer_begin wants so many. */
SAMBA__FN size_t samba__writer_size(samba__writer *w)
{
    w->header.magic = SAMBA__PEF_MAGIC;
    w->header.version = SAMBA__PEF_VERSION;
    return (size_t)samba__lay_tables(&w->header).data;
}

/* Lays the tables out in these bytes, which are zero. */
SAMBA__FN void samba__writer_begin(samba__writer *w, uint8_t *bytes)
{
    samba__tables_at at = samba__lay_tables(&w->header);
    w->bytes = bytes;
    w->size = (size_t)at.data;
    w->symbols = bytes + at.symbols;
    w->nodes = bytes + at.nodes;
    w->sections = bytes + at.sections;
    w->words = bytes + at.words;
    w->strings = (char *)bytes + at.strings;
    w->trace = (char *)bytes + at.trace;
}

SAMBA__FN uint32_t samba__write_string(samba__writer *w, const char *text)
{
    uint32_t at = w->strings_at;
    size_t n = strlen(text) + 1;
    SAMBA_ASSERT(at + n <= w->header.strings_size);
    memcpy(w->strings + at, text, n);
    w->strings_at += (uint32_t)n;
    return at;
}

SAMBA__FN void samba__write_word(samba__writer *w, uint32_t word)
{
    SAMBA_ASSERT(w->n_words < w->header.n_words); /* they were counted */
    samba__put32(w->words + 4 * w->n_words++, word);
}

/* 1 + the number of the symbol that holds t. */
SAMBA__FN uint32_t samba__symbol_of(const samba__plan *p, const samba_tensor *t)
{
    SAMBA_ASSERT(p->place_of[t->id] >= 0);
    return (uint32_t)p->places[p->place_of[t->id]].index + 1;
}

/* What the file says of an argin. */
SAMBA__FN uint32_t samba__filed_argin(int32_t argin)
{
    SAMBA_ASSERT(argin >= 0);
    if (argin == SAMBA__ARGIN_RATE) return SAMBA__FILED_RATE;
    if (argin == SAMBA__ARGIN_SEED) return SAMBA__FILED_SEED;
    return argin == SAMBA__ARGIN_GRAD ? SAMBA__FILED_GRAD : SAMBA__FILED_NOTHING;
}

/* The symbol that place q becomes. */
SAMBA__FN void samba__write_symbol(samba__writer *w, const samba__plan *plan, int32_t i,
                                   const samba__place *q)
{
    bool forever = q->region != SAMBA__REGION_ARENA;
    SAMBA_ASSERT(q->index == i && (forever || (q->first >= 0 && q->first <= q->last)));
    const samba_tensor *g = q->tensor ? q->tensor->grad : NULL;

    samba__symbol s = SAMBA__ZEROED;
    s.name = samba__write_string(w, q->name);
    s.role = (uint8_t)q->role;
    s.spec = q->spec;
    s.dtype = (uint8_t)q->spec.dtype;
    s.ndim = (uint8_t)q->spec.shape.ndim;

    s.region = (uint8_t)q->region;
    s.offset = q->offset;
    s.first = forever ? 0 : (uint32_t)q->first;
    s.last = forever ? SAMBA__FOREVER : (uint32_t)q->last;
    s.alias = q->view_of < 0 ? 0 : (uint32_t)plan->places[q->view_of].index + 1;

    s.grad = g && plan->place_of[g->id] >= 0 ? samba__symbol_of(plan, g) : 0;
    s.batch_dim = (uint8_t)(q->tensor && forever ? q->tensor->batch_dim + 1 : 0);
    s.per_microbatch = q->per_microbatch;
    s.mem_type = (uint8_t)(q->tensor ? q->tensor->mem_type : 0);
    s.generated = q->tensor && q->role == SAMBA__STATE && q->tensor->generated;
    if (q->role == SAMBA__ARGIN) s.argin = samba__filed_argin(q->tensor->argin);

    samba__put_symbol(w->symbols + (size_t)i * sizeof(samba__symbol_layout), &s);
}

SAMBA__FN void samba__write_node(samba__writer *w, const samba__compilation *c,
                                 const samba__plan *p, int32_t i)
{
    const samba__node *n = c->nodes[i];
    int32_t scratch = p->scratch_of[i];

    samba__call_record r = SAMBA__ZEROED;
    r.wire = n->op->wire;
    r.n_in = (uint8_t)n->n_in;
    r.n_out = (uint8_t)n->n_out;
    r.n_attr = (uint8_t)n->n_attr;
    r.name = samba__write_string(w, n->name);
    r.first_word = w->n_words;
    r.scratch = scratch < 0 ? 0 : (uint32_t)p->places[scratch].index + 1;
    samba__put_node(w->nodes + (size_t)i * sizeof(samba__node_layout), &r);

    for (int32_t k = 0; k < n->n_in; k++)
        samba__write_word(w, n->in[k] ? samba__symbol_of(p, n->in[k]) : 0);
    for (int32_t o = 0; o < n->n_out; o++)
        samba__write_word(w, samba__symbol_of(p, n->out[o]));
    for (int32_t k = 0; k < n->n_attr; k++)
        samba__write_word(w, (uint32_t)n->attr[k]);
}

/* The description that a later load compares: traced calls; if it is whole, then outputs, losses,
   parameters with their optimizers, microbatches. */
SAMBA__FN void samba__put_trace(samba__text *t, const samba__compilation *c, bool whole)
{
    for (int32_t i = 0; i < samba__n_nodes(c->session); i++) {
        const samba__node *n = c->session->trace.nodes[i];
        if (n->generated || n->eager) continue;
        if (n->graph) samba__format(t, "%s: ", n->graph);
        samba__put_exact_call(t, n);
        samba__put_char(t, '\n');
    }
    if (!whole) return;

    for (int32_t i = 0; i < c->n_outputs; i++)
        samba__format(t, "output %s\n", c->outputs[i]->name);
    for (int32_t i = 0; i < c->n_losses; i++)
        samba__format(t, "loss %s\n", c->losses[i]->name);

    for (int32_t i = 0; i < c->n_params; i++) {
        int32_t k = c->optim_of[c->params[i]->id] - 1;
        const samba_optim *o = k < 0 ? NULL : samba__optim_at(c->program, k);
        samba__format(t, "parameter %s: optimizer %d %s%s%s\n", c->params[i]->name, k,
                      o && o->kind ? samba__optimizer_of(o)->name : "none",
                      o && (o->momentum != 0.0f || o->momentum_state) ? " momentum" : "",
                      o && o->max_grad_norm > 0.0f ? " clipped" : "");
    }

    if (c->program->max_grad_norm > 0.0f) samba__format(t, "clipped by one norm\n");
    samba__format(t, "microbatches %d%s%s\n", c->microbatches,
                  c->program->inference ? " inference" : "",
                  c->program->accumulate ? " accumulate" : "");
    if (c->replicas > 1) samba__format(t, "replicas %d\n", c->replicas);
}

/* The same text in temporary memory of *size bytes. */
SAMBA__FN const char *samba__trace_of(const samba__compilation *c, bool whole, size_t *size)
{
    samba__text t = samba__text_in(NULL, 0);
    t.raw = true; /* PEFs are compared by it */
    samba__put_trace(&t, c, whole);
    *size = t.len + 1;

    char *text = (char *)samba__temp(c->session, 1, *size);
    t = samba__text_in(text, *size);
    t.raw = true;
    samba__put_trace(&t, c, whole);
    SAMBA_ASSERT(t.len + 1 == *size); /* both times the same text */
    return text;
}

/* Completes the header: how long the file is, and the checksum of the tables. */
SAMBA__FN void samba__seal(uint8_t *tables, size_t n_tables, size_t file_size)
{
    const size_t begin = offsetof(samba__header_layout, tables_hash) + 8;
    samba__header h = samba__read_header(tables, SAMBA__PEF_VERSION);
    h.file_size = file_size;
    samba__put_header(tables, &h);
    h.tables_hash = samba__hash(tables + begin, n_tables - begin, 0);
    samba__put_header(tables, &h);
}

SAMBA__FN void samba__write_sections(samba__writer *w, const samba__plan *p)
{
    uint32_t name = 0;
    for (int32_t i = 0; i < p->n_sections; i++) {
        const samba__section_plan *q = &p->sections[i];
        SAMBA_ASSERT(q->n >= 1);
        samba__section r = SAMBA__ZEROED;
        if (i == 0 || q->graph != q[-1].graph)
            name = q->graph ? samba__write_string(w, q->graph) + 1 : 0;

        r.type = q->type;
        r.first = (uint32_t)q->first;
        r.n = (uint32_t)q->n;
        r.graph = name;
        samba__put_section(w->sections + (size_t)i * sizeof(samba__section_layout), &r);
    }
}

/* What the header says of a program, and how large its tables become. */
SAMBA__FN void samba__count_tables(const samba__compilation *c, const samba__plan *p,
                                   size_t trace_size, samba__header *h)
{
    size_t strings = 0, words = 0;
    for (int32_t i = 0; i < p->n_places; i++)
        strings += strlen(p->places[i].name) + 1;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        strings += strlen(c->nodes[i]->name) + 1;
        words += (size_t)(c->nodes[i]->n_in + c->nodes[i]->n_out + c->nodes[i]->n_attr);
    }
    for (int32_t i = 0; i < p->n_sections; i++) {
        const char *graph = p->sections[i].graph;
        if (graph && (i == 0 || p->sections[i - 1].graph != graph)) strings += strlen(graph) + 1;
    }

    h->n_symbols = (uint32_t)p->n_places;
    h->n_nodes = (uint32_t)c->n_nodes;
    h->n_sections = (uint32_t)p->n_sections;
    h->n_words = (uint32_t)words;
    h->strings_size = strings ? (uint32_t)strings : 1;
    h->trace_size = (uint32_t)trace_size;
    h->microbatches = (uint32_t)c->microbatches;
    h->flags = c->program->inference ? SAMBA__PEF_INFERENCE : 0;
    for (int i = 0; i < SAMBA__N_REGIONS; i++)
        h->region[i] = p->region[i];
}

/* The PEF without data, in temporary memory. */
SAMBA__FN bool samba__write_tables(const samba__compilation *c, samba__plan *p, samba__writer *w)
{
    samba_session *s = c->session;
    samba__place **sorted = samba__sort_places(s, p);
    size_t trace_size;
    const char *trace = samba__trace_of(c, true, &trace_size);

    memset(w, 0, sizeof *w);
    samba__count_tables(c, p, trace_size, &w->header);
    uint8_t *bytes = (uint8_t *)samba__temp(s, 1, samba__writer_size(w));
    if (!bytes || !sorted || !trace) return false;

    samba__writer_begin(w, bytes);
    samba__put_header(bytes, &w->header);
    for (int32_t i = 0; i < p->n_places; i++)
        samba__write_symbol(w, p, i, sorted[i]);
    for (int32_t i = 0; i < c->n_nodes; i++)
        samba__write_node(w, c, p, i);
    samba__write_sections(w, p);
    memcpy(w->trace, trace, trace_size);

    SAMBA_ASSERT(w->n_words == w->header.n_words && w->strings_at <= w->header.strings_size);
    samba__seal(w->bytes, w->size, w->size);
    return true;
}

/* Where the value of a symbol comes from when a file is written; NULL: it has none. */
typedef const void *(*samba__value_fn)(samba_session *s, uint32_t index, const char *name,
                                       const samba__symbol *symbol);

/* A PEF with the values that value_of gives. They are streamed from front to back, so a checkpoint
   is never held in memory twice. Everything in it begins at a multiple of 64 bytes. */
enum { SAMBA__WINDOW = 1 << 16 };

typedef struct samba__image {
    samba_session *session;
    const samba__pef *pef;
    samba__value_fn value_of;
    uint8_t *tables, *window; /* all before the values; a buffer of SAMBA__WINDOW bytes */
    size_t n_tables, size;
    uint32_t symbol; /* whose value is being streamed */
    size_t within;   /* bytes of it that are done */
} samba__image;

SAMBA__FN void samba__image_close(samba__image *m)
{
    samba__free(m->session, m->tables, m->n_tables + SAMBA__WINDOW);
}

/* Streams the next at most n bytes of the values, n a multiple of 64. Returns 0 at the end, and
   then starts over. */
SAMBA__FN size_t samba__image_read(samba__image *m, uint8_t *to, size_t n)
{
    for (; m->symbol < m->pef->n_symbols; m->symbol++, m->within = 0) {
        samba__symbol q = samba__symbol_at(m->pef, m->symbol);
        const char *name = m->pef->strings + q.name;
        const void *value = m->value_of(m->session, m->symbol, name, &q);
        size_t left = (size_t)samba__symbol_bytes(m->pef, &q) - m->within;
        if (!value || left == 0) continue;

        size_t part = left < n ? left : n, padded = samba__align_size(part);
        SAMBA_ASSERT(n % SAMBA__ALIGN == 0 && padded <= n);
        samba__copy_data(to, (const uint8_t *)value + m->within, part,
                         samba_dtype_size(q.spec.dtype));
        memset(to + part, 0, padded - part);
        m->within += part;
        return padded;
    }

    m->symbol = 0;
    return 0;
}

/* Assigns each value its place in the file, and computes the checksums. */
SAMBA__FN bool samba__image_open(samba__image *m, samba_session *s, const samba__pef *pef,
                                 samba__value_fn value_of)
{
    uint64_t v[4];
    memset(m, 0, sizeof *m);
    m->session = s;
    m->pef = pef;
    m->value_of = value_of;

    m->n_tables = m->size = (size_t)(pef->size - pef->data_size);
    m->tables = (uint8_t *)samba__alloc(s, m->n_tables + SAMBA__WINDOW);
    if (!m->tables) return false;
    m->window = m->tables + m->n_tables;
    memcpy(m->tables, pef->base, m->n_tables);

    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        bool has = value_of(s, i, pef->strings + q.name, &q) != NULL;
        uint8_t *record = m->tables + (pef->symbols - pef->base) + (size_t)i * pef->symbol_size;
        q.data = has ? m->size - m->n_tables + 1 : 0;
        samba__put_symbol(record, &q);
        if (!has) continue;
        m->size = samba__add_size(m->size, samba__align_size((size_t)samba__symbol_bytes(pef, &q)));
    }

    size_t n_data = m->size - m->n_tables;
    samba__hash_begin(v, 0);
    size_t n;
    while ((n = samba__image_read(m, m->window, SAMBA__WINDOW)) > 0)
        samba__hash_blocks(v, m->window, n);

    samba__header h = samba__read_header(m->tables, SAMBA__PEF_VERSION);
    h.data_size = n_data;
    h.data_hash = samba__hash_end(v, n_data);
    samba__put_header(m->tables, &h);
    samba__seal(m->tables, m->n_tables, m->size);
    return true;
}

SAMBA__FN bool samba__image_whole(samba__image *m, samba__file *file)
{
    file->size = m->size;
    file->bytes = (uint8_t *)samba__alloc(m->session, file->size);
    if (!file->bytes) return false;

    memcpy(file->bytes, m->tables, m->n_tables);
    uint8_t *to = file->bytes + m->n_tables;
    size_t n;
    while ((n = samba__image_read(m, to, SAMBA__WINDOW)) > 0)
        to += n;
    return true;
}

