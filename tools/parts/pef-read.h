/* ==== [pef-read] ============================================================================== */
/* The records of a PEF, field by field, and how they are read. Reader and writer are made from the
   same tables. samba__open_pef finds the tables of a file; what they say is proved in
   [pef-verify]. */

/* Roles of symbols: short names of samba_role. */
enum {
    SAMBA__INPUT = SAMBA_ROLE_INPUT,
    SAMBA__OUTPUT = SAMBA_ROLE_OUTPUT,
    SAMBA__WEIGHT = SAMBA_ROLE_WEIGHT,
    SAMBA__STATE = SAMBA_ROLE_STATE,
    SAMBA__ARGIN = SAMBA_ROLE_ARGIN,
    SAMBA__GRADIENT = SAMBA_ROLE_GRADIENT,
    SAMBA__CONSTANT = SAMBA_ROLE_CONSTANT,
    SAMBA__TEMP = SAMBA_ROLE_TEMPORARY,
    SAMBA__SCRATCH = SAMBA_ROLE_SCRATCH,
    SAMBA__N_ROLES
};

/* Regions of memory. Read-only parameters can stay in the PEF itself (in flash). */
enum {
    SAMBA__REGION_STATE = 0,
    SAMBA__REGION_ARENA,
    SAMBA__REGION_IO,
    SAMBA__REGION_READONLY,
    SAMBA__N_REGIONS
};

#define SAMBA__PEF_MAGIC 0x46455041424D4153u /* the bytes "SAMBAPEF" */
#define SAMBA__PEF_VERSION 2u                /* what is written */
#if defined(SAMBA_TRUSTED_PEF)
#define SAMBA__PROVES 0
#define SAMBA__PEF_OLDEST SAMBA__PEF_VERSION
#else
#define SAMBA__PROVES 1
#define SAMBA__PEF_OLDEST 1u /* what is still read */
#endif
#define SAMBA__PEF_INFERENCE 1u    /* flag: forward only, running statistics, no dropout */
#define SAMBA__FOREVER 0xFFFFFFFFu /* last use of a symbol that outlives the schedule */

/* What a file says of an argin. Of optimizers' it says nothing: the op that reads one tells. */
enum {
    SAMBA__FILED_NOTHING = 0,
    SAMBA__FILED_RATE = 1,
    SAMBA__FILED_SEED = 2,
    SAMBA__FILED_GRAD = 3
};

/* ---- The records of the file ----

   One row for each field, in the order of the file: X(bits, name, since), A(bits, name, n, since)
   for n numbers of so many bits, Z(bytes, since) for bytes that are 0. `since` is the first version
   whose records have these bytes. Offsets, sizes, structs, readers and writers follow from the
   rows.

   A new version appends rows at the end of a record, or names bytes that were 0; nothing moves.
   What an older file does not have is read as 0, so 0 has to mean what older programs did. Raise
   SAMBA__PEF_VERSION and SAMBA__PEF_OLDEST with it: the version before is read, older ones are not.

   Version 1 (until November 2026) has no checksum of the data and no `generated`; its tables_hash
   goes to the end of the file. */
/* clang-format off */
#define SAMBA__HEADER_FIELDS(X, A, Z) \
    X(64, magic, 1)             /* "SAMBAPEF" */ \
    X(32, version, 1) \
    Z(4, 1) \
    X(64, file_size, 1)         /* bytes of the file */ \
    X(64, tables_hash, 1)       /* XXH64, seed 0, of what follows, up to the data */ \
    X(32, n_symbols, 1) \
    X(32, n_nodes, 1) \
    X(32, n_sections, 1) \
    X(32, n_words, 1) \
    X(32, strings_size, 1) \
    X(32, trace_size, 1) \
    X(32, microbatches, 1) \
    X(32, flags, 1)             /* SAMBA__PEF_INFERENCE */ \
    A(64, region, 4, 1)         /* bytes of state (DDR), arena (HBM), in/out (HOST), read-only */ \
    X(64, data_size, 1) \
    X(64, data_hash, 1)         /* XXH64, seed 0, of the data */ \
    Z(16, 1)

/* Sorted by region, offset and first node. */
#define SAMBA__SYMBOL_FIELDS(X, A, Z) \
    X(32, name, 1)              /* place in the strings */ \
    X(8, role, 1) \
    X(8, dtype, 1) \
    X(8, ndim, 1) \
    X(8, region, 1) \
    A(32, dim, 8, 1)            /* the shape; 0 behind ndim */ \
    X(64, offset, 1)            /* in the region */ \
    X(64, data, 1)              /* 1 + offset of its value in the data, or 0 */ \
    X(32, first, 1)             /* node that uses it first; 0 if it outlives the schedule */ \
    X(32, last, 1)              /* and last; SAMBA__FOREVER then */ \
    X(32, alias, 1)             /* 1 + symbol it is a view of, or 0 */ \
    X(32, grad, 1)              /* 1 + symbol of its gradient, or 0 */ \
    X(8, batch_dim, 1)          /* 1 + batch dimension, or 0 */ \
    X(8, per_microbatch, 1)     /* 1: holds all microbatches */ \
    X(8, mem_type, 1)           /* memory type asked for */ \
    X(8, generated, 1)          /* 1: state of an optimizer, or of dropout */ \
    X(32, argin, 1)             /* SAMBA__FILED_...: which argin it is */

/* In schedule order. */
#define SAMBA__NODE_FIELDS(X, A, Z) \
    X(32, wire, 1)              /* number of the op */ \
    X(8, n_in, 1) \
    X(8, n_out, 1) \
    X(8, n_attr, 1) \
    Z(1, 1) \
    X(32, name, 1)              /* place in the strings */ \
    X(32, first_word, 1)        /* words: inputs (1 + symbol, 0 absent), outputs, attributes */ \
    X(32, scratch, 1)           /* 1 + symbol of its scratch, or 0 */ \
    Z(12, 1)

#define SAMBA__SECTION_FIELDS(X, A, Z) \
    X(32, type, 1)              /* SAMBA_FWD ..., or a sum of them with mapping spatial */ \
    X(32, first, 1)             /* node */ \
    X(32, n, 1)                 /* nodes */ \
    X(32, graph, 1)             /* 1 + name of its graph in the strings; 0: the only one */
/* clang-format on */

/* The records as they lie in the file. All members are bytes, so there is no padding, and offsetof
   gives the place of a field. */
#define X(bits, field, since) uint8_t field[bits / 8];
#define A(bits, field, n, since) uint8_t field[n * (bits / 8)];
#define Z(bytes, since) uint8_t zero##bytes[bytes];

typedef struct samba__header_layout {
    SAMBA__HEADER_FIELDS(X, A, Z)
} samba__header_layout;

typedef struct samba__symbol_layout {
    SAMBA__SYMBOL_FIELDS(X, A, Z)
} samba__symbol_layout;

typedef struct samba__node_layout {
    SAMBA__NODE_FIELDS(X, A, Z)
} samba__node_layout;

typedef struct samba__section_layout {
    SAMBA__SECTION_FIELDS(X, A, Z)
} samba__section_layout;

#undef X
#undef A
#undef Z

/* The records as plain structs. */
#define X(bits, field, since) uint##bits##_t field;
#define A(bits, field, n, since) uint##bits##_t field[n];
#define Z(bytes, since)

typedef struct samba__header {
    SAMBA__HEADER_FIELDS(X, A, Z)
} samba__header;

typedef struct samba__call_record {
    SAMBA__NODE_FIELDS(X, A, Z)
    const samba_op *op;
    const uint8_t *words; /* from first_word on */
} samba__call_record;

typedef struct samba__section {
    SAMBA__SECTION_FIELDS(X, A, Z)
    uint32_t end; /* the node behind its last one */
} samba__section;

#undef A
#define A(bits, field, n, since) /* the shape: in spec */

typedef struct samba__symbol {
    SAMBA__SYMBOL_FIELDS(X, A, Z)
    samba_spec spec; /* dtype, ndim and the shape; sound if these are */
} samba__symbol;

#undef X
#undef A
#undef Z

/* Bytes of a record in a file of this version. */
#define X(bits, field, since) +(since <= version ? bits / 8u : 0u)
#define A(bits, field, n, since) +(since <= version ? n * (bits / 8u) : 0u)
#define Z(bytes, since) +(since <= version ? bytes##u : 0u)

SAMBA__FN uint32_t samba__header_size(uint32_t version)
{
    return 0u SAMBA__HEADER_FIELDS(X, A, Z);
}

SAMBA__FN uint32_t samba__symbol_size(uint32_t version)
{
    return 0u SAMBA__SYMBOL_FIELDS(X, A, Z);
}

SAMBA__FN uint32_t samba__node_size(uint32_t version)
{
    return 0u SAMBA__NODE_FIELDS(X, A, Z);
}

SAMBA__FN uint32_t samba__section_size(uint32_t version)
{
    return 0u SAMBA__SECTION_FIELDS(X, A, Z);
}

#undef X
#undef A
#undef Z

/* A PEF in memory: its header and where its tables begin. Nothing is copied. */
typedef struct samba__pef {
    const uint8_t *base;
    uint64_t size;
    uint32_t version, flags;
    uint32_t n_symbols, n_nodes, n_sections, n_words, strings_size, trace_size, microbatches;
    uint32_t symbol_size, node_size, section_size; /* bytes of a record */
    const uint8_t *symbols, *nodes, *sections, *words;
    const char *strings, *trace;
    const uint8_t *data;
    uint64_t data_size, data_hash, region[SAMBA__N_REGIONS];
    const samba_op *const *user_ops;
    int32_t n_user_ops;
} samba__pef;

/* The op of this wire number (0: none has it) or name (NULL: none). */
SAMBA__FN const samba_op *samba__find_op(uint32_t wire, const char *name,
                                         const samba_op *const *user, int32_t n_user)
{
    for (int32_t i = 0; i < SAMBA__N_OPS + n_user; i++) {
        const samba_op *op = i < SAMBA__N_OPS ? &samba__op_table[i] : user[i - SAMBA__N_OPS];
        if (op->wire == wire || (name && samba__same_text(op->name, name))) return op;
    }
    return NULL;
}

/* Readers of one record each. Fields that this version of the file does not have are 0; the
   compiler drops the question for fields that every readable version has. */
#define X(bits, field, since) \
    r.field = since <= SAMBA__PEF_OLDEST || since <= version \
        ? samba__get##bits(p + offsetof(SAMBA__RECORD, field)) \
        : (uint##bits##_t)0;
#define A(bits, field, n, since) \
    for (size_t i = 0; i < n; i++) \
        r.field[i] = since <= SAMBA__PEF_OLDEST || since <= version \
            ? samba__get##bits(p + offsetof(SAMBA__RECORD, field) + i * (bits / 8)) \
            : (uint##bits##_t)0;
#define Z(bytes, since)
#define SAMBA__RECORD samba__header_layout

SAMBA__FN samba__header samba__read_header(const uint8_t *p, uint32_t version)
{
    samba__header r;
    SAMBA__HEADER_FIELDS(X, A, Z)
    (void)version;
    return r;
}

#undef SAMBA__RECORD

#define SAMBA__RECORD samba__section_layout

SAMBA__FN samba__section samba__section_at(const samba__pef *pef, uint32_t i)
{
    SAMBA_ASSERT(i < pef->n_sections);
    const uint8_t *p = pef->sections + (size_t)i * pef->section_size;
    const uint32_t version = pef->version;
    samba__section r;
    SAMBA__SECTION_FIELDS(X, A, Z)
    (void)version;
    r.end = r.first + r.n;
    return r;
}

#undef SAMBA__RECORD

/* A node; its op is found only where the op itself is wanted. */
#define SAMBA__RECORD samba__node_layout

SAMBA__FN samba__call_record samba__record_at(const samba__pef *pef, uint32_t i)
{
    SAMBA_ASSERT(i < pef->n_nodes);
    const uint8_t *p = pef->nodes + (size_t)i * pef->node_size;
    const uint32_t version = pef->version;
    samba__call_record r;
    SAMBA__NODE_FIELDS(X, A, Z)
    (void)version;
    r.op = NULL;
    r.words = pef->words + (size_t)(r.first_word < pef->n_words ? r.first_word : 0) * 4;
    return r;
}

#undef SAMBA__RECORD

#undef A
#define A(bits, field, n, since) /* the shape */
#define SAMBA__RECORD samba__symbol_layout

/* The shape and type of the symbol at p, sound if these are. */
SAMBA__INLINE void samba__load_spec(const uint8_t *p, samba_spec *spec)
{
    unsigned dtype = p[offsetof(samba__symbol_layout, dtype)];
    unsigned ndim = p[offsetof(samba__symbol_layout, ndim)];
    spec->dtype = (samba_dtype)(dtype < SAMBA_N_DTYPES ? dtype : 0);
    spec->shape.ndim = ndim <= SAMBA_MAX_DIMS ? (int32_t)ndim : 0;
    p += offsetof(samba__symbol_layout, dim);
    for (size_t d = 0; d < SAMBA_MAX_DIMS; d++)
        spec->shape.dim[d] = (int32_t)samba__load32(p + 4 * d);
}

SAMBA__FN void samba__read_spec(const samba__pef *pef, uint32_t i, samba_spec *spec)
{
    SAMBA_ASSERT(i < pef->n_symbols);
    samba__load_spec(pef->symbols + (size_t)i * pef->symbol_size, spec);
}

SAMBA__FN samba__symbol samba__symbol_at(const samba__pef *pef, uint32_t i)
{
    SAMBA_ASSERT(i < pef->n_symbols);
    const uint8_t *p = pef->symbols + (size_t)i * pef->symbol_size;
    const uint32_t version = pef->version;
    samba__symbol r;
    SAMBA__SYMBOL_FIELDS(X, A, Z)
    (void)version;
    samba__load_spec(p, &r.spec); /* inline: else r could not be built where the caller wants it */
    return r;
}

#undef SAMBA__RECORD
#undef X
#undef A
#undef Z

/* Fields of symbol i alone: decoding all of it takes a hundred instructions. */
SAMBA__FN uint32_t samba__region_of(const samba__pef *pef, uint32_t i)
{
    SAMBA_ASSERT(i < pef->n_symbols);
    return pef->symbols[(size_t)i * pef->symbol_size + offsetof(samba__symbol_layout, region)];
}

SAMBA__NOINLINE uint32_t samba__alias_of(const samba__pef *pef, uint32_t i)
{
    SAMBA_ASSERT(i < pef->n_symbols);
    const uint8_t *p = pef->symbols + (size_t)i * pef->symbol_size;
    return samba__get32(p + offsetof(samba__symbol_layout, alias));
}

SAMBA__FN samba__call_record samba__node_at(const samba__pef *pef, uint32_t i)
{
    samba__call_record c = samba__record_at(pef, i);
    c.op = samba__find_op(c.wire, NULL, pef->user_ops, SAMBA__OWN_OPS ? pef->n_user_ops : 0);
    return c;
}

SAMBA__FN uint32_t samba__word(const samba__call_record *c, int32_t i)
{
    SAMBA_ASSERT(i >= 0 && i < c->n_in + c->n_out + c->n_attr);
    return samba__get32(c->words + 4 * i);
}

/* In 64 bits: a file may claim more memory than a small device can address. */
SAMBA__FN uint64_t samba__symbol_bytes(const samba__pef *pef, const samba__symbol *s)
{
    uint64_t count = (uint64_t)samba_count(&s->spec.shape);
    return count * samba_dtype_size(s->spec.dtype) * (s->per_microbatch ? pef->microbatches : 1);
}

/* The number of the symbol called name, or -1. The search begins at number `start`, because callers
   usually look symbols up in the order of the file. */
SAMBA__FN int32_t samba__find_symbol(const samba__pef *pef, const char *name, uint32_t start)
{
    for (uint32_t k = 0; k < pef->n_symbols; k++) {
        uint32_t i = (start + k) % pef->n_symbols;
        samba__symbol s = samba__symbol_at(pef, i);
        if (s.role < SAMBA__TEMP && samba__same_text(pef->strings + s.name, name))
            return (int32_t)i;
    }
    return -1;
}

/* Magic, version and flags are known, and the file is as long as it says. */
SAMBA__FN bool samba__check_header(const uint8_t *p, size_t size, samba__text *why)
{
    const uint32_t oldest = samba__header_size(SAMBA__PEF_OLDEST);
    if (!samba__prove(why, p && size >= oldest, "the file is shorter than a PEF header"))
        return false;

    samba__header h = samba__read_header(p, SAMBA__PEF_OLDEST);
    if (!samba__prove(why, h.magic == SAMBA__PEF_MAGIC,
                      "this is not a PEF: the magic number is missing"))
        return false;
    if (!samba__prove(why, h.version >= SAMBA__PEF_OLDEST && h.version <= SAMBA__PEF_VERSION,
                      "PEF version %d, but this samba.h reads versions %d and %d; compile it again",
                      (int32_t)h.version, (int32_t)SAMBA__PEF_OLDEST, (int32_t)SAMBA__PEF_VERSION))
        return false;

    const uint8_t *zero = p + offsetof(samba__header_layout, zero4);
    if (!samba__prove(why, !samba__get32(zero) && !(h.flags & ~SAMBA__PEF_INFERENCE),
                      "the header has an unknown flag; a newer samba.h may have written it"))
        return false;
    if (!samba__prove(why, h.file_size == size,
                      "the file has %l bytes but its header says %l: it was cut or extended",
                      (int64_t)size, (int64_t)h.file_size))
        return false;

    uint32_t header = samba__header_size(h.version);
    return samba__prove(why, size >= header && h.data_size <= size - header,
                        "the header claims more bytes of data than its file of %l has",
                        (int64_t)size);
}

/* Where each table begins, counted from the start of the file: they follow each other. */
typedef struct samba__tables_at {
    uint64_t symbols, nodes, sections, words, strings, trace, data;
} samba__tables_at;

SAMBA__FN samba__tables_at samba__lay_tables(const samba__header *h)
{
    samba__tables_at at;
    at.symbols = samba__header_size(h->version);
    at.nodes = at.symbols + (uint64_t)h->n_symbols * samba__symbol_size(h->version);
    at.sections = at.nodes + (uint64_t)h->n_nodes * samba__node_size(h->version);
    at.words = at.sections + (uint64_t)h->n_sections * samba__section_size(h->version);
    at.strings = at.words + (uint64_t)h->n_words * 4;
    at.trace = at.strings + h->strings_size;
    at.data = samba__align_bytes(at.trace + h->trace_size);
    return at;
}

/* Finds the tables of a header. Do they and the data fill the file? */
SAMBA__FN bool samba__find_tables(samba__pef *pef, const samba__header *h)
{
    samba__tables_at at = samba__lay_tables(h);
    if (at.data != pef->size - pef->data_size) return false;

    pef->symbols = pef->base + at.symbols;
    pef->nodes = pef->base + at.nodes;
    pef->sections = pef->base + at.sections;
    pef->words = pef->base + at.words;
    pef->strings = (const char *)(pef->base + at.strings);
    pef->trace = (const char *)(pef->base + at.trace);
    pef->data = pef->base + at.data;

    pef->symbol_size = samba__symbol_size(h->version);
    pef->node_size = samba__node_size(h->version);
    pef->section_size = samba__section_size(h->version);
    return true;
}

/* What tables_hash says of a file: of the tables; in version 1 of the data behind them, too. */
SAMBA__FN bool samba__check_tables_hash(const samba__pef *pef, samba__text *why)
{
    const size_t begin = offsetof(samba__header_layout, tables_hash) + 8;
    const uint8_t *tables = pef->base + begin;
    size_t n = (size_t)(pef->size - pef->data_size) - begin, n_data = 0;
    if (pef->version == 1) n_data = (size_t)pef->data_size;
    uint64_t hash = samba__read_header(pef->base, pef->version).tables_hash;
    return samba__prove(why, hash == samba__hash_two(tables, n, pef->data, n_data),
                        "the checksum is wrong: the file was damaged");
}

SAMBA__FN bool samba__check_data_hash(const samba__pef *pef, samba__text *why)
{
    return samba__prove(why, pef->data_hash == samba__hash(pef->data, (size_t)pef->data_size, 0),
                        "the checksum of the data is wrong: the file was damaged");
}

/* Reads a sound header and finds the tables. */
SAMBA__FN bool samba__take_header(samba__pef *pef, const void *bytes, size_t size)
{
    const uint8_t *p = (const uint8_t *)bytes;
    uint32_t version = samba__read_header(p, SAMBA__PEF_OLDEST).version;
    samba__header h = samba__read_header(p, version);

    pef->base = p;
    pef->size = size;
    pef->version = version;
    pef->flags = h.flags;

    pef->n_symbols = h.n_symbols;
    pef->n_nodes = h.n_nodes;
    pef->n_sections = h.n_sections;
    pef->n_words = h.n_words;
    pef->strings_size = h.strings_size;
    pef->trace_size = h.trace_size;
    pef->microbatches = h.microbatches;

    pef->data_size = h.data_size;
    pef->data_hash = h.data_hash;
    for (int i = 0; i < SAMBA__N_REGIONS; i++)
        pef->region[i] = h.region[i];
    return samba__find_tables(pef, &h);
}

/* Reads the header and finds the tables. */
SAMBA__NOINLINE bool samba__read_counts(samba__pef *pef, const void *bytes, size_t size,
                                        samba__text *why)
{
    return samba__check_header((const uint8_t *)bytes, size, why)
        && samba__prove(why, samba__take_header(pef, bytes, size),
                        "the tables and the data do not fill the file");
}

/* Opens a PEF; pef is zero but for the user's ops. The data are neither read nor proved; in version
   1, whose checksum is that of both, nor is that of the tables. */
SAMBA__FN bool samba__open_pef(samba__pef *pef, const void *bytes, size_t size, samba__text *why)
{
    if (!samba__read_counts(pef, bytes, size, why)) return false;
    if (pef->version > 1 && !samba__check_tables_hash(pef, why)) return false;

    bool ends = pef->strings_size && !pef->strings[pef->strings_size - 1] && pef->trace_size
        && !pef->trace[pef->trace_size - 1];
    if (!samba__prove(why, ends, "a table of strings does not end")
        || !samba__prove(why, pef->microbatches >= 1 && pef->microbatches <= 65536,
                         "the number of microbatches is absurd"))
        return false;

    for (int i = 0; i < SAMBA__N_REGIONS; i++) {
        bool sound = pef->region[i] <= (uint64_t)1 << 46 && pef->region[i] % SAMBA__ALIGN == 0;
        if (!samba__prove(why, sound, "region %d has an absurd size", i)) return false;
    }
    return true;
}

