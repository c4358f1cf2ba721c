// The proof of [pef-verify] once more, by another algorithm: what each theorem says is written down
// in the plainest way, without regard to time or memory. The schedule is played node by node with a
// list of who is alive, and every two symbols that could meet are compared. Records are read by the
// numbers of pef_bytes.h. Only what an op asks of its arguments comes from samba.h: its rule, its
// scratch and its flags, for the op is defined by them.
// Include after the implementation of samba.h and tests/lib/pef_bytes.h.
#ifndef PEF_CHECKER_H
#define PEF_CHECKER_H

// The theorems: X(name, kind, what holds, what samba.h says where it does not). FRAME: what follows
// could not be read without it; MEANING: the file could be read all the same.
#define PEF_THEOREMS(X) \
    X(HEADER, FRAME, "the file has a header", "shorter than a PEF header") \
    X(MAGIC, FRAME, "it begins with SAMBAPEF", "the magic number is missing") \
    X(VERSION, FRAME, "its version is 1 or 2", "but this samba.h reads versions") \
    X(FLAGS, MEANING, "no flag is set but that of inference", "unknown flag") \
    X(FILE_SIZE, MEANING, "the header knows the size of the file", "it was cut or extended") \
    X(DATA_SIZE, FRAME, "the data are shorter than the file", "claims more bytes of data") \
    X(TABLES, FRAME, "tables and data fill the file", "do not fill the file") \
    X(TABLES_SUM, MEANING, "the checksum of the tables is right", "the checksum is wrong") \
    X(STRINGS, FRAME, "names and trace end with 0", "a table of strings does not end") \
    X(MICROBATCHES, MEANING, "1 ... 65536 microbatches", "microbatches is absurd") \
    X(REGIONS, MEANING, "regions have 2^46 bytes at most, a multiple of 64", "an absurd size") \
    X(DATA_SUM, MEANING, "the checksum of the data is right", "checksum of the data is wrong") \
    X(NAMED, FRAME, "a symbol's name is in the strings", "symbol 0 has no name") \
    X(KNOWN, FRAME, "role, type, rank, region and flags are known", "with an unknown value") \
    X(SHAPE, FRAME, "no dimension is below 1; 2^40 elements at most", "has an absurd shape") \
    X(PLACE, MEANING, "the role may lie in this region", "is in the wrong region") \
    X(WINDOWS, MEANING, "inputs and outputs with a batch hold microbatches, nothing else", \
      "cannot hold microbatches") \
    X(INSIDE, MEANING, "a symbol lies in its region, at a multiple of 64", "outside its region") \
    X(DATA_INSIDE, MEANING, "what lasts may have a value, which lies in the data", \
      "has data outside the file") \
    X(LIFETIME, FRAME, "temporaries live within the schedule, the others outlive it", \
      "has an impossible lifetime") \
    X(REFERS, FRAME, "gradients and bases of views are symbols", "refers to no symbol") \
    X(VIEW, MEANING, "a view lies where a temporary does that outlives it, and is as large", \
      "is no view of the symbol it names") \
    X(GRADIENT, MEANING, "a gradient outlives the schedule and has its symbol's shape", \
      "has a gradient of another shape") \
    X(HYPERPARAMETER, MEANING, "a hyperparameter is one word of 4 bytes", "not one word of 4") \
    X(DATA_APART, MEANING, "values follow each other in the order of symbols", \
      "shares its data with another") \
    X(SORTED, MEANING, "symbols are sorted", "the symbols are not sorted") \
    X(APART, MEANING, "what lasts shares no memory", "share memory while both are alive") \
    X(REGION_ENDS, MEANING, "a region ends with its last symbol", "end with its last symbol") \
    X(SECTIONS, FRAME, "sections follow each other, by graph and type", "is out of order") \
    X(COVER, FRAME, "the sections cover the nodes", "do not cover the nodes") \
    X(WORDS, FRAME, "a node's arguments are in the words", "lie outside the file") \
    X(NODE_NAMED, FRAME, "a node's name is in the strings", "node 0 has no name") \
    X(FEW, FRAME, "16 inputs, 4 outputs and 32 attributes at most", "has too many arguments") \
    X(MAKES, FRAME, "a node has an output", "node 0 has no output") \
    X(ARGUMENTS, FRAME, "arguments are symbols; inputs may be absent", "refers to no symbol") \
    X(OP, FRAME, "the op is known", "which is not known here") \
    X(RULE, MEANING, "the op's rule accepts inputs and attributes", "node 0 neg: ") \
    X(DECLARES, MEANING, "the outputs are those that the op makes", "declares other outputs") \
    X(READS, MEANING, "a node reads what lasts, or what its graph made and is alive", \
      "which is not alive in its graph then") \
    X(WRITES, MEANING, "a node writes what is born with it, outputs and gradients, or updates", \
      "may not write") \
    X(ALONE, MEANING, "what a node writes it has nowhere else among its operands", \
      "while it reads or writes it elsewhere") \
    X(SCRATCH, MEANING, "an op that needs scratch has enough of its own", "too little scratch") \
    X(NAMES, MEANING, "all names together are no longer than the strings", "names share letters") \
    X(MADE, MEANING, "a temporary is made by the node with which it is born", "is not made by") \
    X(MEMORY, MEANING, "what is alive together shares no memory but views and results in place", \
      "share memory while both are alive")

#define X(name, kind, holds, refusal) PEF_##name,

enum { PEF_HOLDS, PEF_THEOREMS(X) PEF_N_THEOREMS };

#undef X

typedef struct pef_theorem {
    const char *name;
    bool frame;
    const char *holds, *refusal;
} pef_theorem;

enum { PEF_IS_MEANING, PEF_IS_FRAME };

#define X(name, kind, holds, refusal) { #name, PEF_IS_##kind == PEF_IS_FRAME, holds, refusal },
static const pef_theorem pef_theorems[PEF_N_THEOREMS]
    = { { "HOLDS", false, "", "" }, PEF_THEOREMS(X) };
#undef X

typedef struct pef_symbol {
    uint64_t offset, bytes, data;
    uint32_t first, last, alias, grad, name;
    int role, type, ndim, region, batch, windows, memory, generated;
    samba_spec spec;
    uint32_t born_in; // 1 + first node of the graph that made it; 0: not born yet
} pef_symbol;

typedef struct pef_node {
    const samba_op *op;
    uint32_t in[SAMBA_MAX_IN], out[SAMBA_MAX_OUT], scratch; // 1 + symbol
    int32_t attr[SAMBA_MAX_ATTR], n_in, n_out, n_attr;
} pef_node;

typedef struct pef_check {
    bytes b;
    int ignored; // the theorem that need not hold
    uint32_t version, n_strings, microbatches;
    uint64_t n_data, region[4];
    const char *strings;
    pef_symbol *symbol;
    uint32_t n; // symbols
} pef_check;

// Needed by what follows; or may be ignored.
#define PEF_NEED(theorem, holds) \
    do { \
        if (!(holds)) return PEF_##theorem; \
    } while (0)
#define PEF_HOLD(theorem, holds) \
    do { \
        if (c->ignored != PEF_##theorem && !(holds)) return PEF_##theorem; \
    } while (0)

// ---- The file ----

static inline int pef_check_file(pef_check *c)
{
    const bytes *b = &c->b;
    PEF_NEED(HEADER, b->size >= HEADER);
    PEF_NEED(MAGIC, memcmp(b->at, "SAMBAPEF", 8) == 0);
    c->version = get32(b, 8);
    PEF_NEED(VERSION, c->version == 1 || c->version == 2);
    PEF_HOLD(FLAGS, get32(b, 12) == 0 && get32(b, 60) <= 1);
    PEF_HOLD(FILE_SIZE, get64(b, 16) == b->size);
    c->n_data = get64(b, 96);
    PEF_NEED(DATA_SIZE, c->n_data <= b->size - HEADER);

    uint64_t end = HEADER + (uint64_t)get32(b, 32) * SYMBOL + (uint64_t)get32(b, 36) * NODE
        + (uint64_t)get32(b, 40) * SECTION + (uint64_t)get32(b, 44) * 4;
    uint64_t strings = end, n_trace = get32(b, 52);
    c->n_strings = get32(b, 48);
    end = (end + c->n_strings + n_trace + 63) / 64 * 64;
    PEF_NEED(TABLES, end + c->n_data == b->size);
    uint64_t summed = c->version == 1 ? b->size : end;
    PEF_HOLD(TABLES_SUM, get64(b, 24) == xxh64(b->at + 32, (size_t)summed - 32, 0));

    c->strings = (const char *)b->at + strings;
    PEF_NEED(STRINGS, c->n_strings && !c->strings[c->n_strings - 1]);
    PEF_NEED(STRINGS, n_trace && !c->strings[c->n_strings + n_trace - 1]);
    c->microbatches = get32(b, 56);
    PEF_HOLD(MICROBATCHES, c->microbatches >= 1 && c->microbatches <= 65536);
    for (int r = 0; r < 4; r++) {
        c->region[r] = get64(b, 64 + 8 * (size_t)r);
        PEF_HOLD(REGIONS, c->region[r] <= (uint64_t)1 << 46 && c->region[r] % 64 == 0);
    }
    uint64_t sum = xxh64(b->at + end, (size_t)c->n_data, 0);
    if (c->version == 2) PEF_HOLD(DATA_SUM, get64(b, 104) == sum);
    return PEF_HOLDS;
}

// ---- Symbols ----

static inline void pef_read_symbol(const pef_check *c, uint32_t i, pef_symbol *s)
{
    size_t at = symbol_at(i);
    const uint8_t *p = c->b.at + at;
    s->name = get32(&c->b, at);
    s->role = p[4];
    s->type = p[5];
    s->ndim = p[6];
    s->region = p[7];
    s->offset = get64(&c->b, at + 40);
    s->data = get64(&c->b, at + 48);
    s->first = get32(&c->b, at + 56);
    s->last = get32(&c->b, at + 60);
    s->alias = get32(&c->b, at + 64);
    s->grad = get32(&c->b, at + 68);
    s->batch = p[72];
    s->windows = p[73];
    s->memory = p[74];
    s->generated = p[75]; // version 1 has a 0 there
    s->spec.dtype = (samba_dtype)s->type;
    s->spec.shape.ndim = s->ndim;
    for (size_t d = 0; d < 8; d++)
        s->spec.shape.dim[d] = (int32_t)get32(&c->b, at + 8 + 4 * d);
}

// 1, 2 or more bytes of a type, in the order of samba_dtype.
static const uint8_t pef_type_bytes[] = { 4, 2, 2, 4, 2, 1, 1, 1, 8, 2, 4 };

// Role, type and so on, and the shape, whose bytes it counts.
static inline int pef_check_kind(const pef_check *c, pef_symbol *s)
{
    const uint64_t most = (uint64_t)1 << 40;
    uint64_t n = 1;
    PEF_NEED(NAMED, s->name < c->n_strings);
    PEF_NEED(KNOWN, s->role >= 1 && s->role <= 9 && s->type <= 10 && s->ndim <= 8);
    PEF_NEED(KNOWN, s->region <= 3 && s->batch <= s->ndim && s->windows <= 1 && s->memory <= 3);
    PEF_NEED(KNOWN, s->generated == 0 || (s->generated == 1 && s->role == 4));
    for (int d = 0; d < s->ndim; d++) {
        PEF_NEED(SHAPE, s->spec.shape.dim[d] >= 1);
        PEF_NEED(SHAPE, n <= most / (uint64_t)s->spec.shape.dim[d]);
        n *= (uint64_t)s->spec.shape.dim[d];
    }
    s->bytes = n * pef_type_bytes[s->type] * (s->windows ? c->microbatches : 1);
    return PEF_HOLDS;
}

static inline int pef_check_place(const pef_check *c, const pef_symbol *s)
{
    bool passes = s->role >= 8, in_arena = s->region == 1;
    PEF_HOLD(PLACE, passes == in_arena);
    PEF_HOLD(PLACE, s->region != 3 || s->role == 3 || s->role == 4 || s->role == 7);
    PEF_HOLD(WINDOWS, !s->windows || (s->role <= 2 && s->batch && s->region == 2));
    PEF_HOLD(INSIDE, s->offset % 64 == 0 && s->offset <= c->region[s->region]);
    PEF_HOLD(INSIDE, s->bytes <= c->region[s->region] - s->offset);
    if (s->data) {
        uint64_t at = s->data - 1;
        PEF_HOLD(DATA_INSIDE, !in_arena && at % 64 == 0 && at <= c->n_data);
        PEF_HOLD(DATA_INSIDE, s->bytes <= c->n_data - at);
    }
    if (in_arena)
        PEF_NEED(LIFETIME, s->first <= s->last && s->last < n_nodes(&c->b));
    else
        PEF_NEED(LIFETIME, s->first == 0 && s->last == FOREVER);
    return PEF_HOLDS;
}

static inline int pef_check_relations(const pef_check *c, const pef_symbol *s)
{
    PEF_NEED(REFERS, s->grad <= c->n && s->alias <= c->n);
    if (s->alias) {
        const pef_symbol *base = &c->symbol[s->alias - 1];
        PEF_HOLD(VIEW, s->role == 8 && base->role == 8 && base->alias == 0);
        PEF_HOLD(VIEW, base->first <= s->first && s->last <= base->last);
        PEF_HOLD(VIEW, base->offset == s->offset && base->bytes == s->bytes);
        PEF_HOLD(VIEW, pef_type_bytes[base->type] == pef_type_bytes[s->type]);
    }
    if (s->grad) {
        const pef_symbol *g = &c->symbol[s->grad - 1];
        PEF_HOLD(GRADIENT, g->role < 8 && g->ndim == s->ndim);
        for (int d = 0; d < s->ndim; d++)
            PEF_HOLD(GRADIENT, g->spec.shape.dim[d] == s->spec.shape.dim[d]);
    }
    if (s->role == 5) PEF_HOLD(HYPERPARAMETER, s->bytes == 4 && pef_type_bytes[s->type] == 4);
    return PEF_HOLDS;
}

static inline bool pef_meet(uint64_t a, uint64_t n_a, uint64_t b, uint64_t n_b)
{
    return a < b + n_b && b < a + n_a;
}

// Every symbol that lasts against all those before it.
static inline int pef_check_lasting(const pef_check *c)
{
    uint64_t end[4] = { 0, 0, 0, 0 };
    for (uint32_t i = 0; i < c->n; i++) {
        const pef_symbol *b = &c->symbol[i];
        for (uint32_t k = 0; k < i; k++) {
            const pef_symbol *a = &c->symbol[k];
            bool near = a->region == b->region;
            if (a->data && b->data) PEF_HOLD(DATA_APART, a->data + a->bytes <= b->data);
            PEF_HOLD(SORTED, a->region <= b->region);
            PEF_HOLD(SORTED, !near || a->offset <= b->offset);
            PEF_HOLD(SORTED, !near || a->offset != b->offset || a->first <= b->first);
            if (near && b->region != 1)
                PEF_HOLD(APART, !pef_meet(a->offset, a->bytes, b->offset, b->bytes));
        }
        if (b->offset + b->bytes > end[b->region]) end[b->region] = b->offset + b->bytes;
    }
    for (int r = 0; r < 4; r++)
        PEF_HOLD(REGION_ENDS, c->region[r] == (end[r] + 63) / 64 * 64);
    return PEF_HOLDS;
}

static inline int pef_check_symbols(const pef_check *c)
{
    int wrong = PEF_HOLDS;
    for (uint32_t i = 0; i < c->n; i++)
        pef_read_symbol(c, i, &c->symbol[i]);
    for (uint32_t i = 0; i < c->n && !wrong; i++)
        wrong = pef_check_kind(c, &c->symbol[i]);
    for (uint32_t i = 0; i < c->n && !wrong; i++)
        wrong = pef_check_place(c, &c->symbol[i]);
    for (uint32_t i = 0; i < c->n && !wrong; i++)
        wrong = pef_check_relations(c, &c->symbol[i]);
    return wrong ? wrong : pef_check_lasting(c);
}

// ---- A node ----

static inline int pef_read_node(const pef_check *c, uint32_t i, pef_node *k)
{
    size_t at = node_at(&c->b, i);
    const uint8_t *p = c->b.at + at;
    uint64_t word = get32(&c->b, at + 12);
    memset(k, 0, sizeof *k);
    k->n_in = p[4];
    k->n_out = p[5];
    k->n_attr = p[6];
    k->scratch = get32(&c->b, at + 16);
    PEF_NEED(WORDS, word + p[4] + p[5] + p[6] <= n_words(&c->b));
    PEF_NEED(NODE_NAMED, get32(&c->b, at + 8) < c->n_strings);
    PEF_NEED(FEW, p[4] <= 16 && p[5] <= 4 && p[6] <= 32);
    PEF_NEED(MAKES, p[5] >= 1);
    at = word_at(&c->b, (uint32_t)word);
    for (int j = 0; j < k->n_in; j++, at += 4) {
        k->in[j] = get32(&c->b, at);
        PEF_NEED(ARGUMENTS, k->in[j] <= c->n);
    }
    for (int j = 0; j < k->n_out; j++, at += 4) {
        k->out[j] = get32(&c->b, at);
        PEF_NEED(ARGUMENTS, k->out[j] >= 1 && k->out[j] <= c->n);
    }
    for (int j = 0; j < k->n_attr; j++, at += 4)
        k->attr[j] = (int32_t)get32(&c->b, at);
    for (int j = 0; j < SAMBA__N_OPS; j++)
        if (samba__op_table[j].wire == get32(&c->b, node_at(&c->b, i))) k->op = &samba__op_table[j];
    PEF_NEED(OP, k->op);
    return PEF_HOLDS;
}

static inline int pef_check_call(const pef_check *c, const pef_node *k, uint64_t *scratch)
{
    samba_spec in[SAMBA_MAX_IN];
    samba_call call;
    samba_work work;
    memset(&call, 0, sizeof call);
    memset(in, 0, sizeof in);
    *scratch = 0;
    for (int j = 0; j < k->n_in; j++) {
        in[j].shape.ndim = -1;
        if (k->in[j]) in[j] = c->symbol[k->in[j] - 1].spec;
    }
    call.in = in;
    call.n_in = k->n_in;
    call.attr = k->attr;
    call.n_attr = k->n_attr;
    bool accepted = samba__infer(k->op, &call);
    PEF_HOLD(RULE, accepted);
    if (!accepted) return PEF_HOLDS;
    PEF_HOLD(DECLARES, call.n_out == k->n_out);
    for (int j = 0; j < k->n_out && j < call.n_out; j++) {
        const samba_spec *declared = &c->symbol[k->out[j] - 1].spec, *made = &call.out[j];
        PEF_HOLD(DECLARES, declared->dtype == made->dtype);
        PEF_HOLD(DECLARES, declared->shape.ndim == made->shape.ndim);
        for (int d = 0; d < made->shape.ndim; d++)
            PEF_HOLD(DECLARES, declared->shape.dim[d] == made->shape.dim[d]);
    }
    samba__measure(k->op, &call, &work);
    *scratch = (uint64_t)work.scratch;
    return PEF_HOLDS;
}

// Whose memory this is: 1 + symbol; 0: nobody's.
static inline uint32_t pef_owner(const pef_check *c, uint32_t word)
{
    if (word == 0) return 0;
    return c->symbol[word - 1].alias ? c->symbol[word - 1].alias : word;
}

// The input that output o overwrites; -1: none.
static inline int pef_updated(const pef_node *k, int o)
{
    return (int)(k->op->flags >> (8 + 4 * o) & 15u) - 1;
}

static inline bool pef_is_view(const pef_check *c, const pef_node *k, int o)
{
    return o == 0 && (k->op->flags & SAMBA_OP_VIEW) && c->symbol[k->out[0] - 1].alias;
}

static inline int pef_check_writes(const pef_check *c, const pef_node *k, int o, uint32_t node)
{
    const pef_symbol *s = &c->symbol[k->out[o] - 1];
    int updated = pef_updated(k, o);
    uint32_t owner = pef_owner(c, k->out[o]);
    PEF_HOLD(WRITES, s->region != 3);
    if (updated >= 0) {
        PEF_HOLD(WRITES, updated < k->n_in && k->in[updated] == k->out[o] && s->role != 1);
    } else {
        PEF_HOLD(WRITES, s->role == 2 || s->role == 6 || (s->role == 8 && s->first == node));
        if (s->alias)
            PEF_HOLD(WRITES, pef_is_view(c, k, o) && k->n_in && pef_owner(c, k->in[0]) == owner);
    }
    for (int j = 0; j < k->n_in; j++) {
        bool expected = j == updated || (j == 0 && pef_is_view(c, k, o));
        PEF_HOLD(ALONE, expected || pef_owner(c, k->in[j]) != owner);
    }
    for (int j = 0; j < k->n_out; j++)
        PEF_HOLD(ALONE, j == o || pef_owner(c, k->out[j]) != owner);
    return PEF_HOLDS;
}

// Does s, which is born here, lie where input t did, which dies here, as the op allows?
static inline bool pef_takes_over(const pef_check *c, const pef_node *k, uint32_t node, uint32_t s,
                                  uint32_t t)
{
    const pef_symbol *to = &c->symbol[s], *from = &c->symbol[t];
    int place = k->op->flags & SAMBA_OP_INPLACE ? 0 : k->op->flags & SAMBA_OP_INPLACE_1 ? 1 : -1;
    bool elementwise = samba__class_of(k->op) == SAMBA__IS_ELEMENTWISE;
    if (place < 0 || place >= k->n_in || k->out[0] != s + 1) return false;
    if (pef_owner(c, k->in[place]) != t + 1 || from->last != node) return false;
    if (to->offset != from->offset || to->bytes != from->bytes) return false;
    if (pef_type_bytes[to->type] != pef_type_bytes[from->type]) return false;
    for (int j = 0; j < k->n_out; j++)
        if (pef_owner(c, k->out[j]) == t + 1) return false;
    for (int j = 0; j < k->n_in; j++) {
        bool same = elementwise && k->in[j] == k->in[place];
        if (j != place && !same && pef_owner(c, k->in[j]) == t + 1) return false;
    }
    return true;
}

// What is born with this node: the node makes it, and nobody who is alive lies there.
static inline int pef_check_births(pef_check *c, const pef_node *k, uint32_t node, uint32_t graph)
{
    for (uint32_t i = 0; i < c->n; i++) {
        pef_symbol *s = &c->symbol[i];
        bool made = s->role == 9 && k->scratch == i + 1;
        if (s->region != 1 || s->first != node) continue;
        for (int o = 0; o < k->n_out; o++)
            if (s->role != 9 && k->out[o] == i + 1) made = true;
        PEF_HOLD(MADE, made);
        s->born_in = graph + 1;
        for (uint32_t j = 0; j < c->n && !s->alias; j++) {
            const pef_symbol *t = &c->symbol[j];
            bool alive = t->region == 1 && t->born_in && t->last >= node && !t->alias && j != i;
            if (!alive || !pef_meet(s->offset, s->bytes, t->offset, t->bytes)) continue;
            PEF_HOLD(MEMORY, pef_takes_over(c, k, node, i, j));
        }
    }
    return PEF_HOLDS;
}

static inline int pef_play_node(pef_check *c, uint32_t node, uint32_t graph)
{
    pef_node k;
    uint64_t scratch;
    int wrong = pef_read_node(c, node, &k);
    if (!wrong) wrong = pef_check_call(c, &k, &scratch);
    if (wrong) return wrong;
    for (int j = 0; j < k.n_in; j++) {
        if (k.in[j] == 0) continue;
        const pef_symbol *s = &c->symbol[k.in[j] - 1];
        PEF_HOLD(READS, s->role != 9);
        if (s->region == 1) PEF_HOLD(READS, s->born_in == graph + 1 && s->last >= node);
    }
    for (int o = 0; o < k.n_out && !wrong; o++)
        wrong = pef_check_writes(c, &k, o, node);
    if (wrong) return wrong;
    PEF_HOLD(SCRATCH, k.scratch || scratch == 0);
    PEF_HOLD(SCRATCH, k.scratch <= c->n);
    if (k.scratch && k.scratch <= c->n) {
        const pef_symbol *s = &c->symbol[k.scratch - 1];
        PEF_HOLD(SCRATCH, s->role == 9 && !s->alias && s->bytes >= scratch);
        PEF_HOLD(SCRATCH, s->first == node && s->last == node);
    }
    return pef_check_births(c, &k, node, graph);
}

// ---- The schedule ----

// The place of a type in the schedule, of the first or the last one that it is made of; -1: none.
static inline int pef_rank(uint32_t type, bool last)
{
    static const uint8_t order[] = { 1, 64, 2, 4, 8, 16, 32 };
    bool known = type == 36 || type == 52;
    int rank = -1;
    for (int i = 0; i < 7; i++) {
        known = known || type == order[i];
        if (type & order[i] && (last || rank < 0)) rank = i;
    }
    return known ? rank : -1;
}

static inline int pef_check_schedule(pef_check *c)
{
    const bytes *b = &c->b;
    uint32_t next = 0, graph = 0, start = 0, before = 0;
    for (uint32_t i = 0; i < n_sections(b); i++) {
        size_t at = section_at(b, i);
        uint32_t type = get32(b, at), n = get32(b, at + 8), mine = get32(b, at + 12);
        PEF_NEED(SECTIONS, get32(b, at + 4) == next && n >= 1 && n <= n_nodes(b) - next);
        PEF_NEED(SECTIONS, pef_rank(type, false) >= 0 && mine <= c->n_strings && mine >= graph);
        bool follows = i == 0 || mine > graph || type == before
            || pef_rank(type, false) > pef_rank(before, true);
        PEF_NEED(SECTIONS, follows);
        if (mine > graph) start = next;
        graph = mine;
        before = type;
        for (uint32_t end = next + n; next < end; next++) {
            int wrong = pef_play_node(c, next, start);
            if (wrong) return wrong;
        }
    }
    PEF_NEED(COVER, next == n_nodes(b));
    return PEF_HOLDS;
}

// Letters of all names.
static inline int pef_check_names(const pef_check *c)
{
    const bytes *b = &c->b;
    uint64_t letters = 0;
    uint32_t before = 0;
    for (uint32_t i = 0; i < c->n; i++)
        letters += strlen(c->strings + c->symbol[i].name);
    for (uint32_t i = 0; i < n_nodes(b); i++)
        letters += strlen(c->strings + get32(b, node_at(b, i) + 8));
    for (uint32_t i = 0; i < n_sections(b); i++) {
        uint32_t graph = get32(b, section_at(b, i) + 12);
        if (graph && graph != before) letters += strlen(c->strings + graph - 1);
        before = graph;
    }
    PEF_HOLD(NAMES, letters <= c->n_strings);
    return PEF_HOLDS;
}

// The first theorem that does not hold, of all but `ignored`; PEF_HOLDS: there is none.
static inline int pef_broken_theorem(const bytes *b, int ignored)
{
    pef_check c;
    memset(&c, 0, sizeof c);
    c.b = *b;
    c.ignored = ignored;
    int wrong = pef_check_file(&c);
    if (wrong) return wrong;
    c.n = n_symbols(b);
    c.symbol = (pef_symbol *)calloc(c.n + 1, sizeof *c.symbol);
    if (!c.symbol) return -1;
    wrong = pef_check_symbols(&c);
    if (!wrong) wrong = pef_check_schedule(&c);
    if (!wrong) wrong = pef_check_names(&c);
    free(c.symbol);
    return wrong;
}

#endif
