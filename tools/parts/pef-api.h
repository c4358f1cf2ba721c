/* ==== [pef-api] =============================================================================== */
/* The records of a PEF, for tools that read it without running it. */
/* A PEF in the caller's memory, of which nothing is copied. */
typedef struct samba_pef {
    int32_t version, n_symbols, n_nodes, n_sections, microbatches;
    bool inference;
    uint64_t state_bytes, arena_bytes, io_bytes, readonly_bytes; /* of the regions of memory */
    const char *trace;
    size_t tables_size; /* bytes of the file before the values */
    const void *bytes;  /* private from here */
    size_t size;
} samba_pef;

typedef struct samba_pef_symbol {
    const char *name;
    samba_role role;
    samba_spec spec;           /* of a microbatch */
    int32_t batch_dim;         /* -1: none */
    int32_t view_of, gradient; /* symbols; -1: none */
    bool holds_microbatches;   /* memory for all of them */
    bool generated;            /* state of an optimizer, or of dropout; version 1 does not say */
    uint64_t size;             /* bytes of its memory */
    const void *value;         /* little-endian, in the file; NULL: it has none */
    int32_t region;            /* where it lies: 0 state, 1 arena, 2 in/out, 3 read-only */
    uint64_t offset;           /* bytes from the beginning of the region */
    int32_t first, last;       /* it is alive from node first to node last, which may make another
                                  one in its place; all nodes, but for temporaries and scratch */
} samba_pef_symbol;

typedef struct samba_pef_node {
    const char *name;
    const char *op; /* NULL: one of the program's own */
    int32_t wire;   /* its number in files */
    int32_t n_in, n_out, n_attr;
    int32_t in[SAMBA_MAX_IN], out[SAMBA_MAX_OUT]; /* symbols; -1: absent */
    int32_t attr[SAMBA_MAX_ATTR];
    const char *attributes; /* what attr is, as samba_op.attributes; NULL: not known */
    int64_t flops; /* arithmetic of one run of it; 0: its op is not known, or would refuse */
} samba_pef_node;

typedef struct samba_pef_section {
    unsigned type;     /* SAMBA_FWD ..., a sum of them with mapping spatial */
    int32_t first, n;  /* nodes */
    const char *graph; /* NULL: the only one */
} samba_pef_section;

/* Opens a PEF of any version that samba_load reads; bytes stay where they are. size: of the whole
   file, of which memory needs to have no more than tables_size unless values are looked at. False
   with the reason in why. Proved is that every record is sound by itself, so that what the
   functions below return can be used; not that the program can run, for which its ops must be known
   (samba_runtime_bytes proves all), nor the checksum of the values. */
SAMBA_API bool samba_pef_open(samba_pef *pef, const void *bytes, size_t size, char *why,
                              size_t why_size);
/* How many bytes samba_pef_open needs of a file that begins with these 128 bytes; 0: no PEF. */
SAMBA_API size_t samba_pef_tables_size(const void *header, size_t file_size);
/* What SAMBA_TRUSTED_PEF wants of a file that samba_runtime_bytes has proved; 0 if that is not of
   the newest version: load it and save it again. */
SAMBA_API uint64_t samba_pef_fingerprint(const void *bytes, size_t size);
/* Record i; all zero if there is none. */
SAMBA_API samba_pef_symbol samba_pef_symbol_at(const samba_pef *pef, int32_t i);
SAMBA_API samba_pef_node samba_pef_node_at(const samba_pef *pef, int32_t i);
SAMBA_API samba_pef_section samba_pef_section_at(const samba_pef *pef, int32_t i);
/* Fills in up to cap words of the attribute of this name, and returns how many it has; 0: the node
   has none of this name. begin, end, step of slice, and before, after, between of pad, have a word
   for each dimension. A float is samba_attr_float of its word. */
SAMBA_API int32_t samba_pef_attr(const samba_pef_node *node, const char *name, int32_t *words,
                                 int32_t cap);

#endif /* !SAMBA_RUNTIME_ONLY */

