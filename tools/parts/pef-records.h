/* ==== [pef-records] =========================================================================== */
/* What tools ask of a PEF: its records, and the memory that a device would need for it. */

/* Finds the tables again: samba_pef keeps no pointers to them. Its file was proved. */
SAMBA__FN samba__pef samba__reopen(const samba_pef *file)
{
    samba__pef pef = SAMBA__ZEROED;
    samba__text nobody = samba__text_in(NULL, 0);
    samba__read_counts(&pef, file->bytes, file->size, &nobody);
    return pef;
}

/* Each record is sound, whatever the ops do with it. */
SAMBA__FN bool samba__check_records(const samba__pef *pef, samba__text *why)
{
    const uint32_t most = INT32_MAX;
    bool countable = pef->n_symbols < most && pef->n_nodes < most && pef->n_sections < most;
    if (!samba__prove(why, countable, "it has too many records")) return false;
    if (!samba__check_symbols(pef, why)) return false;

    for (uint32_t i = 0; i < pef->n_nodes; i++)
        if (!samba__check_words(pef, i, why)) return false;
    for (uint32_t i = 0; i < pef->n_sections; i++)
        if (!samba__prove(why, samba__is_in_order(pef, i), "section %d is out of order",
                          (int32_t)i))
            return false;
    return true;
}

SAMBA_API bool samba_pef_open(samba_pef *file, const void *bytes, size_t size, char *why,
                              size_t why_size)
{
    samba__pef pef = SAMBA__ZEROED;
    samba__text text = samba__text_in(why, why_size);
    if (!file) return samba__prove(&text, false, "in samba_pef_open: file is missing");
    memset(file, 0, sizeof *file);
    if (!samba__open_pef(&pef, bytes, size, &text) || !samba__check_records(&pef, &text))
        return false;

    file->version = (int32_t)pef.version;
    file->n_symbols = (int32_t)pef.n_symbols;
    file->n_nodes = (int32_t)pef.n_nodes;
    file->n_sections = (int32_t)pef.n_sections;
    file->microbatches = (int32_t)pef.microbatches;
    file->inference = (pef.flags & SAMBA__PEF_INFERENCE) != 0;

    file->state_bytes = pef.region[SAMBA__REGION_STATE];
    file->arena_bytes = pef.region[SAMBA__REGION_ARENA];
    file->io_bytes = pef.region[SAMBA__REGION_IO];
    file->readonly_bytes = pef.region[SAMBA__REGION_READONLY];

    file->trace = pef.trace;
    file->tables_size = (size_t)(pef.size - pef.data_size);
    file->bytes = bytes;
    file->size = size;
    return true;
}

SAMBA_API size_t samba_pef_tables_size(const void *header, size_t file_size)
{
    samba__text nobody = samba__text_in(NULL, 0);
    const uint8_t *p = (const uint8_t *)header;
    if (!samba__check_header(p, file_size, &nobody)) return 0; /* looks at the header alone */
    return file_size - (size_t)samba__read_header(p, SAMBA__PEF_OLDEST).data_size;
}

SAMBA_API uint64_t samba_pef_fingerprint(const void *bytes, size_t size)
{
    samba__text nobody = samba__text_in(NULL, 0);
    if (!samba__check_header((const uint8_t *)bytes, size, &nobody)) return 0;
    samba__header h = samba__read_header((const uint8_t *)bytes, SAMBA__PEF_OLDEST);
    return h.version == SAMBA__PEF_VERSION ? samba__fingerprint(bytes, size) : 0;
}

SAMBA_API samba_pef_symbol samba_pef_symbol_at(const samba_pef *file, int32_t i)
{
    samba_pef_symbol symbol = SAMBA__ZEROED;
    if (!file || i < 0 || i >= file->n_symbols) return symbol;
    samba__pef pef = samba__reopen(file);
    samba__symbol s = samba__symbol_at(&pef, (uint32_t)i);

    symbol.name = pef.strings + s.name;
    symbol.role = (samba_role)s.role;
    symbol.spec = s.spec;
    symbol.batch_dim = (int32_t)s.batch_dim - 1;
    symbol.view_of = (int32_t)s.alias - 1;
    symbol.gradient = (int32_t)s.grad - 1;
    symbol.holds_microbatches = s.per_microbatch != 0;
    symbol.generated = s.generated != 0;

    symbol.size = samba__symbol_bytes(&pef, &s);
    symbol.value = s.data ? pef.data + (s.data - 1) : NULL;
    symbol.region = (int32_t)s.region;
    symbol.offset = s.offset;
    symbol.first = (int32_t)(s.first < pef.n_nodes ? s.first : 0);
    symbol.last = (int32_t)(s.last < pef.n_nodes ? s.last : pef.n_nodes) - (s.last >= pef.n_nodes);
    return symbol;
}

/* ---- Attributes by name ---- */
/* The attributes of a call. An average to a given size has fewer than one over windows. */
SAMBA__FN const char *samba__attributes_of(const samba_op *op, int32_t n_attr)
{
    bool average = op == &samba__op_table[SAMBA__OP_avg_pool2d]
        || op == &samba__op_table[SAMBA__OP_avg_pool2d_backward];
    if (average && n_attr < SAMBA__AVG_SIZE) return SAMBA__ATTRIBUTES_AVG_TO(SAMBA__ATTRIBUTE_TEXT);
    return op->attributes ? op->attributes : "";
}

/* How many words the items of a list have that is not '*'. */
SAMBA__FN int32_t samba__counted_words(const char *list)
{
    int32_t n = 0;
    for (const char *p = list; *p; p++) {
        if (*p != ':' || !p[1] || p[2] == '*') continue;
        n += p[2] >= '2' && p[2] <= '9' ? p[2] - '0' : 1;
    }
    return n;
}

/* One item of a list of attributes, such as "keepdim:b" or "begin,end,step:i*", and its words. */
typedef struct samba__attribute {
    const char *names; /* with commas between them, if the item has several */
    int32_t length;    /* letters of names; 0: these words are not in the list */
    char kind;
    int32_t first, n; /* words */
    int32_t starred;  /* how many words an item with a '*' has */
    int32_t n_attr;   /* words of all items */
    const char *rest; /* of the list */
} samba__attribute;

SAMBA__FN samba__attribute samba__attributes_begin(const char *list, int32_t n_attr)
{
    samba__attribute a = SAMBA__ZEROED;
    a.rest = list;
    a.n_attr = n_attr;
    a.starred = n_attr - samba__counted_words(list);
    return a;
}

/* Goes on to the next item; false behind the last word. A call may have fewer words than the list,
   whose last items have none then, and more, which are an item without a name. */
SAMBA__FN bool samba__next_attribute(samba__attribute *a)
{
    a->first += a->n;
    int32_t left = a->n_attr - a->first;
    if (left <= 0) return false;

    const char *colon = strchr(a->rest, ':');
    if (!colon) {
        a->length = 0;
        a->kind = 'i';
        a->n = left;
        return true;
    }

    char amount = colon[1] ? colon[2] : 0;
    a->names = a->rest;
    a->length = (int32_t)(colon - a->rest);
    a->kind = colon[1];
    a->n = 1;
    if (amount == '*') a->n = a->starred > 0 ? a->starred : 0;
    if (amount >= '2' && amount <= '9') a->n = amount - '0';
    if (a->n > left) a->n = left;

    a->rest = colon + strcspn(colon, " ");
    if (*a->rest == ' ') a->rest++;
    return true;
}

/* Which of the names of an item this is; -1: none. n_names gets how many it has. */
SAMBA__FN int32_t samba__attribute_place(const samba__attribute *a, const char *name,
                                         int32_t *n_names)
{
    int32_t place = -1, begin = 0;
    *n_names = 0;
    for (int32_t end = 0; end <= a->length && a->length; end++) {
        if (end < a->length && a->names[end] != ',') continue;
        size_t letters = (size_t)(end - begin);
        if (strlen(name) == letters && !memcmp(a->names + begin, name, letters)) place = *n_names;
        *n_names += 1;
        begin = end + 1;
    }
    return place;
}

SAMBA_API int32_t samba_pef_attr(const samba_pef_node *node, const char *name, int32_t *words,
                                 int32_t cap)
{
    if (!node || !name || !node->attributes) return 0;
    samba__attribute a = samba__attributes_begin(node->attributes, node->n_attr);
    while (samba__next_attribute(&a)) {
        int32_t n_names, place = samba__attribute_place(&a, name, &n_names);
        if (place < 0) continue;
        int32_t n = a.n / n_names;
        for (int32_t i = 0; words && i < n && i < cap; i++)
            words[i] = node->attr[a.first + i * n_names + place];
        return n;
    }
    return 0;
}

SAMBA_API samba_pef_node samba_pef_node_at(const samba_pef *file, int32_t i)
{
    samba_pef_node node = SAMBA__ZEROED;
    if (!file || i < 0 || i >= file->n_nodes) return node;
    samba__pef pef = samba__reopen(file);
    samba__call_record r = samba__node_at(&pef, (uint32_t)i);
    int32_t word = 0;

    node.name = pef.strings + r.name;
    node.op = r.op ? r.op->name : NULL;
    node.attributes = r.op ? samba__attributes_of(r.op, r.n_attr) : NULL;
    node.wire = (int32_t)r.wire;
    node.n_in = r.n_in;
    node.n_out = r.n_out;
    node.n_attr = r.n_attr;

    for (int32_t k = 0; k < node.n_in; k++)
        node.in[k] = (int32_t)samba__word(&r, word++) - 1;
    for (int32_t k = 0; k < node.n_out; k++)
        node.out[k] = (int32_t)samba__word(&r, word++) - 1;
    for (int32_t k = 0; k < node.n_attr; k++)
        node.attr[k] = (int32_t)samba__word(&r, word++);

    if (!r.op) return node;
    samba__inquiry q;
    samba__text nobody = samba__text_in(NULL, 0);
    if (samba__ask_op(&q, &pef, (uint32_t)i, &r, &nobody)) node.flops = q.work.flops;
    return node;
}

SAMBA_API samba_pef_section samba_pef_section_at(const samba_pef *file, int32_t i)
{
    samba_pef_section section = SAMBA__ZEROED;
    if (!file || i < 0 || i >= file->n_sections) return section;
    samba__pef pef = samba__reopen(file);
    samba__section s = samba__section_at(&pef, (uint32_t)i);
    section.type = s.type;
    section.first = (int32_t)s.first;
    section.n = (int32_t)s.n;
    section.graph = s.graph ? pef.strings + s.graph - 1 : NULL;
    return section;
}

/* ---- The memory of a device ---- */
/* On a device read-only parameters stay in the file. */
SAMBA__FN samba_device_memory samba__device_memory_of(const samba__needs *needs)
{
    samba__machine machine = samba__device_machine();
    samba__layout at = samba__layout_on(&machine, needs, true);
    samba_device_memory m;
    m.bytes = at.size;
    m.scratch = at.regions - at.local;
    m.state = (size_t)needs->region[SAMBA__REGION_STATE];
    m.arena = (size_t)needs->region[SAMBA__REGION_ARENA];
    m.io = (size_t)needs->region[SAMBA__REGION_IO];
    m.tables = m.bytes - m.scratch - m.state - m.arena - m.io;
    return m;
}

SAMBA_API bool samba_measure_device(const void *bytes, size_t size, const samba_runtime_desc *desc,
                                    samba_device_memory *memory, char *why, size_t why_size)
{
    samba__text text = samba__text_in(why, why_size);
    samba__pef pef;
    samba_device_memory none = SAMBA__ZEROED;
    if (memory) *memory = none;
    if (!samba__prove(&text, memory != NULL, "in samba_measure_device: memory is NULL")
        || !samba__open_proved(&pef, bytes, size, desc, &text))
        return false;

    samba__machine machine = samba__device_machine();
    samba__needs needs;
    samba__needs_of(&needs, &machine, &pef);
    *memory = samba__device_memory_of(&needs);
    return samba__prove(&text, memory->bytes < UINT32_MAX,
                        "it takes %l bytes, more than 32 bits can address", (int64_t)memory->bytes);
}

