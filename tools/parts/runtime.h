/* ==== [runtime] =============================================================================== */
/* What programs on a device call: runs, why they failed, symbols, modes, hyperparameters, and the
   trained state in two slots of a flash. */

/* Why a call of these failed: name, code, sentence; %s is the type of section in failed_with. Those
   that a slot can have are ordered: of two, the later one says more. */
/* clang-format off */
#define SAMBA__FAILURES(X) \
    X(NOT, OK, "no error") \
    X(VALUE, ERANGE, "") \
    X(TYPES, EARG, "the program has no section of type %s; nothing was run") \
    X(SPLIT, EARG, "with mapping spatial %s are one section: run all of them, or compile with " \
                   "mapping section; nothing was run") \
    X(PARTS, EARG, "with microbatches FWD and BCKWD run together: the activations of one are " \
                   "gone when the next one runs; nothing was run") \
    X(NORM, ESTATE, "OPT clips by the gradients' norm, which GRADNORM has not computed since " \
                    "they changed: run GRADNORM before OPT; nothing was run") \
    X(GRAPH, ENAME, "there is no graph of this name; nothing was run") \
    X(NAME, ENAME, "there is no argin of this name") \
    X(NUMBER, ERANGE, "an argin must be finite, and a seed whole and from 0 to 2^32 - 256; " \
                      "nothing was set") \
    X(TRAIN, ESTATE, "the program was compiled for inference, and has no other way") \
    X(STORAGE, EARG, "the storage lacks a function that is needed, or its slots are smaller than " \
                     "samba_runtime_state_bytes, or no multiple of SAMBA_PAGE") \
    X(WRITE, EIO, "the storage could not be erased or written; the newest whole slot stays") \
    X(EMPTY, ESTATE, "nothing was saved here yet") \
    X(BROKEN, EPEF, "no slot of the storage is whole") \
    X(OTHER, EGRAPH, "the state was saved by another PEF, or by this one with other values") \
    X(READ, EIO, "the storage could not be read") \
    X(TORN, EIO, "the storage could not be read to its end: the program has a part of the saved " \
                 "state; restore again, or open it anew")

/* clang-format on */

typedef enum samba__failure {

#define X(name, code, text) SAMBA__FAILED_##name,
    SAMBA__FAILURES(X)
#undef X
} samba__failure;

SAMBA__FN bool samba__fail_runtime(samba_runtime *rt, samba__failure failure, uint32_t with)
{
    rt->failure = (uint32_t)failure;
    rt->failed_with = with;
    return false;
}

SAMBA__FN bool samba__succeed(samba_runtime *rt)
{
    rt->failure = SAMBA__FAILED_NOT;
    return true;
}

#if !defined(SAMBA_NO_TEXTS)
/* "label holds 7 at [5], which is out of range 0 ... 2". */
SAMBA__FN void samba__print_fault(char *text, size_t size, const int32_t *fault, const char *name,
                                  const samba_shape *shape)
{
    samba__text t = samba__text_in(text, size);
    int32_t element = fault[SAMBA__FAULT_ELEMENT];
    int64_t least = samba__fault_number(fault + SAMBA__FAULT_LEAST);
    int64_t most = samba__fault_number(fault + SAMBA__FAULT_MOST);
    bool nan = least == INT64_MAX && most == INT64_MIN;

    samba__format(&t, "%s holds ", name ? name : "an input");
    if (nan)
        samba__put_text(&t, "NaN");
    else
        samba__format(&t, "%l", samba__fault_number(fault + SAMBA__FAULT_VALUE));

    bool told = shape && shape->ndim > 0 && element < INT32_MAX && element < samba_count(shape);
    int32_t dims = told ? shape->ndim : 0;
    for (int32_t i = 0; i < dims; i++) {
        int64_t inner = samba__inner(shape, i);
        samba__format(&t, i ? ",%l" : " at [%l", element / inner % shape->dim[i]);
    }
    if (told) samba__put_text(&t, "]");

    samba__put_text(&t, nan ? ", which no integer stands for" : ", which is out of range");
    if (least <= most) samba__format(&t, " %l ... %l", least, most);
}

/* What a kernel refused in the run that failed. */
SAMBA__FN void samba__tell_fault(const samba_runtime *rt, samba__text *t)
{
    samba__call_record r = samba__node_at(&rt->pef, rt->fault_node);
    int32_t which = rt->fault[SAMBA__FAULT_INPUT];
    uint32_t word = which >= 0 && which < r.n_in ? samba__word(&r, which) : 0;

    samba__symbol q;
    char what[160];
    memset(&q, 0, sizeof q);
    if (word) q = samba__symbol_at(&rt->pef, word - 1);
    samba__print_fault(what, sizeof what, rt->fault, word ? rt->pef.strings + q.name : NULL,
                       word ? &q.spec.shape : NULL);

    samba__format(t, "in %s (%s): %s", rt->pef.strings + r.name, r.op->name, what);
    if (rt->pef.microbatches > 1)
        samba__format(t, " (microbatch %d of %d)", (int32_t)rt->microbatch,
                      (int32_t)rt->pef.microbatches);
    samba__put_text(t,
                    "; the run was stopped there and no parameter was changed by later sections");
}

/* Why the last call of rt failed. */
SAMBA__FN void samba__tell_failure(const samba_runtime *rt, samba__text *t)
{
    static const char *const texts[] = {
#define X(name, code, text) text,
        SAMBA__FAILURES(X)
#undef X
    };
    if (rt->failure == SAMBA__FAILED_VALUE)
        samba__tell_fault(rt, t);
    else
        samba__format(t, texts[rt->failure], samba__type_name(rt->failed_with));
}
#else
/* Its number in SAMBA__FAILURES, from 0 on. */
SAMBA__FN void samba__tell_failure(const samba_runtime *rt, samba__text *t)
{
    samba__put_text(t, "samba.h: failure ");
    samba__put_int(t, (int32_t)rt->failure);
}
#endif

SAMBA_API samba_code samba_runtime_error(const samba_runtime *rt, char *text, size_t size)
{
    static const int8_t codes[] = {
#define X(name, code, text) (int8_t) SAMBA_##code,
        SAMBA__FAILURES(X)
#undef X
    };
    samba__text t = samba__text_in(text, size);
    if (!rt) {
        samba__prove(&t, false, "the runtime is NULL");
        return SAMBA_EARG;
    }
    samba__tell_failure(rt, &t);
    return (samba_code)codes[rt->failure];
}

/* Can these types run as one schedule? samba__check_schedule asks the same of a session. */
SAMBA__FN bool samba__may_run(samba_runtime *rt, unsigned types)
{
    unsigned whole = samba__whole_step(types), there = samba__types_there(rt);
    bool blind = false;
    unsigned missing = types & ~there & ~samba__implied_types(types);
    if (missing) return samba__fail_runtime(rt, SAMBA__FAILED_TYPES, missing & (0u - missing));

    uint32_t split = samba__split_by(rt, whole);
    if (split) return samba__fail_runtime(rt, SAMBA__FAILED_SPLIT, split);
    bool alone = (whole & (SAMBA_FWD | SAMBA_BCKWD)) == SAMBA_BCKWD;
    if (alone && rt->pef.microbatches > 1) return samba__fail_runtime(rt, SAMBA__FAILED_PARTS, 0);

    samba__norm_after_types(rt, rt->norm_next, whole, &blind);
    if (blind) return samba__fail_runtime(rt, SAMBA__FAILED_NORM, 0);
    return true;
}

SAMBA_API bool samba_runtime_run(samba_runtime *rt, unsigned types)
{
    if (!rt || !samba__may_run(rt, types)) return false;
    samba__float_mode callers = samba__enter_float_mode();
    bool fine = samba__run_passes(rt, samba__whole_step(types));
    samba__leave_float_mode(callers);
    if (!fine) return samba__fail_runtime(rt, SAMBA__FAILED_VALUE, 0);
    return samba__succeed(rt);
}

SAMBA_API bool samba_runtime_run_graph(samba_runtime *rt, const char *graph, unsigned types)
{
    const samba__pef *pef;
    uint32_t first = 0;
    if (!rt) return false;

    pef = &rt->pef;
    while (graph && first < pef->n_sections
           && !samba__same_text(samba__graph_name(pef, first), graph))
        first++;
    if (!graph || first == pef->n_sections) return samba__fail_runtime(rt, SAMBA__FAILED_GRAPH, 0);

    rt->graph = first + 1;
    bool fine = samba_runtime_run(rt, types);
    rt->graph = 0;
    return fine;
}

/* ---- Symbols, modes, hyperparameters ---- */
SAMBA_API void *samba_runtime_data(samba_runtime *rt, const char *name)
{
    int32_t i = rt && name ? samba__find_symbol(&rt->pef, name, 0) : -1;
    return i < 0 ? NULL : rt->data[i];
}

SAMBA_API int32_t samba_runtime_n_symbols(const samba_runtime *rt)
{
    return rt ? (int32_t)rt->pef.n_symbols : 0;
}

SAMBA_API bool samba_runtime_symbol_at(const samba_runtime *rt, int32_t i,
                                       samba_runtime_symbol *symbol)
{
    if (!symbol) return false;
    memset(symbol, 0, sizeof *symbol);
    if (!rt || i < 0 || (uint32_t)i >= rt->pef.n_symbols) return false;

    samba__symbol q = samba__symbol_at(&rt->pef, (uint32_t)i);
    symbol->name = rt->pef.strings + q.name;
    symbol->role = (samba_role)q.role;
    symbol->spec = q.spec;
    symbol->bytes = (size_t)samba__symbol_bytes(&rt->pef, &q);
    symbol->data = rt->data[i];
    return true;
}

SAMBA_API bool samba_runtime_find(const samba_runtime *rt, const char *name,
                                  samba_runtime_symbol *symbol)
{
    int32_t i = rt && name ? samba__find_symbol(&rt->pef, name, 0) : -1;
    return samba_runtime_symbol_at(rt, i, symbol);
}

SAMBA_API bool samba_runtime_set_train(samba_runtime *rt, bool train)
{
    if (!rt) return false;
    if (train && rt->inference) return samba__fail_runtime(rt, SAMBA__FAILED_TRAIN, 0);
    rt->train = train;
    rt->running_stats = !train;
    return samba__succeed(rt);
}

/* The argin called name; -1: there is none. */
SAMBA__FN int32_t samba__find_argin(const samba_runtime *rt, const char *name)
{
    int32_t i = name ? samba__find_symbol(&rt->pef, name, 0) : -1;
    bool is_argin = i >= 0 && samba__symbol_at(&rt->pef, (uint32_t)i).role == SAMBA__ARGIN;
    return is_argin ? i : -1;
}

/* Is argin i the norm that gradients are clipped to? */
SAMBA__FN bool samba__is_norm(const samba_runtime *rt, uint32_t i)
{
    for (uint32_t node = 0; node < rt->pef.n_nodes; node++) {
        if (!samba__is(rt->steps[node].op, SAMBA__OP_clip_factor)) continue;
        samba__call_record r = samba__record_at(&rt->pef, node);
        if (samba__word(&r, SAMBA__CLIP_FACTOR_NORM) == i + 1) return true;
    }
    return false;
}

SAMBA__FN bool samba__set_runtime(samba_runtime *rt, const char *name, float value)
{
    if (!rt) return false;
    int32_t i = samba__find_argin(rt, name);
    if (i < 0) return samba__fail_runtime(rt, SAMBA__FAILED_NAME, 0);

    bool whole = samba__symbol_at(&rt->pef, (uint32_t)i).spec.dtype == SAMBA_I32;
    uint32_t bits = samba__float_bits(value);
    bool fine = value - value == 0.0f;
    if (whole && fine) fine = value >= 0.0f && value < 4294967296.0f;
    if (whole && fine) {
        bits = (uint32_t)value;
        fine = (float)bits == value;
    }
    if (!fine) return samba__fail_runtime(rt, SAMBA__FAILED_NUMBER, 0);

    memcpy(rt->data[i], &bits, sizeof bits);
    if (samba__is_norm(rt, (uint32_t)i)) samba__forget_norm(rt);
    return samba__succeed(rt);
}

SAMBA_API bool samba_runtime_set(samba_runtime *rt, const char *name, float value)
{
    samba__float_mode callers = samba__enter_float_mode();
    bool result = samba__set_runtime(rt, name, value);
    samba__leave_float_mode(callers);
    return result;
}

SAMBA_API float samba_runtime_get(samba_runtime *rt, const char *name)
{
    uint32_t bits;
    int32_t i = rt ? samba__find_argin(rt, name) : -1;
    if (i < 0) return 0.0f;
    memcpy(&bits, rt->data[i], sizeof bits);
    bool whole = samba__symbol_at(&rt->pef, (uint32_t)i).spec.dtype == SAMBA_I32;
    return whole ? (float)bits : samba__bits_float(bits);
}

/* ---- The trained state ----

   A slot is a page with the header, then pages with the values, one after another in the order of
   the symbols, each from a multiple of 8 on. The header is written when all pages are, and its
   checksum is that of its fields, one of which is the checksum of the pages. So what a failing
   power leaves of a slot is no slot. */

/* Does a checkpoint keep the value of this symbol? */
SAMBA__FN bool samba__is_saved(const samba__symbol *q)
{
    bool kept = q->role == SAMBA__WEIGHT || q->role == SAMBA__STATE || q->role == SAMBA__ARGIN
        || q->role == SAMBA__CONSTANT;
    return kept && !q->alias;
}

/* Does a slot? What no run changes is in the PEF. */
SAMBA__FN bool samba__is_trained(const samba__symbol *q)
{
    return samba__is_saved(q) && q->role != SAMBA__CONSTANT && q->region != SAMBA__REGION_READONLY;
}

#define SAMBA__SLOT_MAGIC 0x54534142u /* the bytes "BAST" */

/* Places in the header of a slot. */
enum {
    SAMBA__SLOT_ID = 0,       /* magic */
    SAMBA__SLOT_SEQUENCE = 8, /* counts saves: the larger one is newer */
    SAMBA__SLOT_PROGRAM = 16, /* the checksum of the PEF's tables, values and all */
    SAMBA__SLOT_VALUES = 24,  /* of the pages */
    SAMBA__SLOT_CHECKSUM = 32 /* of the fields before */
};

typedef enum samba__pass { SAMBA__PASS_WRITE, SAMBA__PASS_CHECK, SAMBA__PASS_TAKE } samba__pass;

/* A pass over the pages of a slot. */
typedef struct samba__slot {
    const samba_storage *storage;
    size_t at;   /* of this page in the storage */
    size_t used; /* bytes of this page */
    samba__pass pass;
    uint64_t hash;   /* of the pages before */
    uint64_t values; /* the same of all pages of the newest whole slot */
    uint8_t page[SAMBA_PAGE];
} samba__slot;

SAMBA__FN bool samba__read_page(samba__slot *c)
{
    const samba_storage *st = c->storage;
    if (!st->memory) return st->read(c->at, c->page, SAMBA_PAGE, st->user);
    memcpy(c->page, (const uint8_t *)st->memory + c->at, SAMBA_PAGE);
    return true;
}

SAMBA__FN bool samba__begin_page(samba__slot *c)
{
    c->used = 0;
    if (c->pass != SAMBA__PASS_WRITE) return samba__read_page(c);
    memset(c->page, 0, sizeof c->page);
    return true;
}

SAMBA__FN bool samba__end_page(samba__slot *c)
{
    const samba_storage *st = c->storage;
    c->hash = samba__hash(c->page, SAMBA_PAGE, c->hash);
    if (c->pass == SAMBA__PASS_WRITE && !st->write(c->at, c->page, SAMBA_PAGE, st->user))
        return false;
    c->at += SAMBA_PAGE;
    c->used = 0;
    return true;
}

/* Moves a value to or from the pages; elements have `size` bytes. */
SAMBA__FN bool samba__pass_value(samba__slot *c, uint8_t *value, size_t bytes, size_t size)
{
    while (bytes > 0) {
        if (c->used == 0 && !samba__begin_page(c)) return false;
        size_t room = SAMBA_PAGE - c->used, n = bytes < room ? bytes : room;
        if (c->pass == SAMBA__PASS_WRITE) samba__copy_data(c->page + c->used, value, n, size);
        if (c->pass == SAMBA__PASS_TAKE) samba__copy_data(value, c->page + c->used, n, size);
        value += n;
        bytes -= n;
        c->used += (n + 7) / 8 * 8;
        if (c->used == SAMBA_PAGE && !samba__end_page(c)) return false;
    }
    return true;
}

/* All values of slot `slot`; c->hash becomes the checksum of its pages. */
SAMBA__FN bool samba__pass_values(samba_runtime *rt, samba__slot *c, int slot, samba__pass pass)
{
    c->at = (size_t)slot * c->storage->slot_size + SAMBA_PAGE;
    c->used = 0;
    c->hash = 0;
    c->pass = pass;

    for (uint32_t i = 0; i < rt->pef.n_symbols; i++) {
        samba__symbol q = samba__symbol_at(&rt->pef, i);
        if (!samba__is_trained(&q)) continue;
        size_t bytes = (size_t)samba__symbol_bytes(&rt->pef, &q);
        if (!samba__pass_value(c, (uint8_t *)rt->data[i], bytes, samba_dtype_size(q.spec.dtype)))
            return false;
    }
    return c->used == 0 || samba__end_page(c);
}

SAMBA__FN uint64_t samba__program_hash(const samba_runtime *rt)
{
    return samba__read_header(rt->pef.base, rt->pef.version).tables_hash;
}

/* Is the slot whole, and of this program? *sequence is its number. */
SAMBA__FN samba__failure samba__check_slot(samba_runtime *rt, samba__slot *c, int slot,
                                           uint64_t *sequence)
{
    c->at = (size_t)slot * c->storage->slot_size;
    if (!samba__read_page(c)) return SAMBA__FAILED_READ;
    if (samba__get64(c->page + SAMBA__SLOT_ID) != SAMBA__SLOT_MAGIC) return SAMBA__FAILED_EMPTY;

    uint64_t hash = samba__hash(c->page, SAMBA__SLOT_CHECKSUM, 0);
    if (samba__get64(c->page + SAMBA__SLOT_CHECKSUM) != hash) return SAMBA__FAILED_BROKEN;
    if (samba__get64(c->page + SAMBA__SLOT_PROGRAM) != samba__program_hash(rt))
        return SAMBA__FAILED_OTHER;

    *sequence = samba__get64(c->page + SAMBA__SLOT_SEQUENCE);
    uint64_t values = samba__get64(c->page + SAMBA__SLOT_VALUES);
    if (!samba__pass_values(rt, c, slot, SAMBA__PASS_CHECK)) return SAMBA__FAILED_READ;
    return c->hash == values ? SAMBA__FAILED_NOT : SAMBA__FAILED_BROKEN;
}

/* The newest whole slot; -1: there is none, and *why says more. */
SAMBA__FN int samba__newest_slot(samba_runtime *rt, samba__slot *c, uint64_t *newest,
                                 samba__failure *why)
{
    int found = -1;
    *newest = 0;
    *why = SAMBA__FAILED_EMPTY;
    for (int slot = 0; slot < 2; slot++) {
        uint64_t sequence = 0;
        samba__failure failure = samba__check_slot(rt, c, slot, &sequence);
        if (failure > *why) *why = failure;
        if (failure != SAMBA__FAILED_NOT || sequence <= *newest) continue;
        found = slot;
        *newest = sequence;
        c->values = c->hash;
    }
    return found;
}

SAMBA_API size_t samba_runtime_state_bytes(const samba_runtime *rt)
{
    size_t bytes = 0;
    if (!rt) return 0;
    for (uint32_t i = 0; i < rt->pef.n_symbols; i++) {
        samba__symbol q = samba__symbol_at(&rt->pef, i);
        if (samba__is_trained(&q)) bytes += ((size_t)samba__symbol_bytes(&rt->pef, &q) + 7) / 8 * 8;
    }
    return SAMBA_PAGE + (bytes + SAMBA_PAGE - 1) / SAMBA_PAGE * SAMBA_PAGE;
}

/* Is there all that is needed to read, and the room? */
SAMBA__FN bool samba__is_usable(const samba_runtime *rt, const samba_storage *st)
{
    return st && (st->memory || st->read) && st->slot_size % SAMBA_PAGE == 0
        && st->slot_size >= samba_runtime_state_bytes(rt);
}

/* The header of a slot whose pages have been written. */
SAMBA__FN bool samba__write_slot_header(const samba_runtime *rt, samba__slot *c, int slot,
                                        uint64_t sequence)
{
    const samba_storage *st = c->storage;
    memset(c->page, 0, sizeof c->page);
    samba__put64(c->page + SAMBA__SLOT_ID, SAMBA__SLOT_MAGIC);
    samba__put64(c->page + SAMBA__SLOT_SEQUENCE, sequence);
    samba__put64(c->page + SAMBA__SLOT_PROGRAM, samba__program_hash(rt));
    samba__put64(c->page + SAMBA__SLOT_VALUES, c->hash);
    samba__put64(c->page + SAMBA__SLOT_CHECKSUM, samba__hash(c->page, SAMBA__SLOT_CHECKSUM, 0));
    return st->write((size_t)slot * st->slot_size, c->page, SAMBA_PAGE, st->user);
}

SAMBA_API bool samba_runtime_save(samba_runtime *rt, const samba_storage *storage)
{
    samba__slot c;
    uint64_t sequence, written = 0;
    samba__failure why;

    if (!rt) return false;
    if (!samba__is_usable(rt, storage) || !storage->write)
        return samba__fail_runtime(rt, SAMBA__FAILED_STORAGE, 0);

    c.storage = storage;
    int slot = samba__newest_slot(rt, &c, &sequence, &why) == 0 ? 1 : 0;
    size_t at = (size_t)slot * storage->slot_size;

    bool fine = (!storage->erase || storage->erase(at, storage->slot_size, storage->user))
        && samba__pass_values(rt, &c, slot, SAMBA__PASS_WRITE)
        && samba__write_slot_header(rt, &c, slot, sequence + 1)
        && samba__check_slot(rt, &c, slot, &written) == SAMBA__FAILED_NOT
        && written == sequence + 1;
    if (!fine) return samba__fail_runtime(rt, SAMBA__FAILED_WRITE, 0);
    return samba__succeed(rt);
}

SAMBA_API bool samba_runtime_restore(samba_runtime *rt, const samba_storage *storage)
{
    samba__slot c;
    uint64_t sequence;
    samba__failure why;

    if (!rt) return false;
    if (!samba__is_usable(rt, storage)) return samba__fail_runtime(rt, SAMBA__FAILED_STORAGE, 0);

    c.storage = storage;
    int slot = samba__newest_slot(rt, &c, &sequence, &why);
    if (slot < 0) return samba__fail_runtime(rt, why, 0);

    samba__forget_norm(rt);
    rt->adds_anew = true; /* gradients that were not stepped by are of other parameters */

    /* once more, for the checksum must be known before anything is changed */
    if (!samba__pass_values(rt, &c, slot, SAMBA__PASS_TAKE) || c.hash != c.values)
        return samba__fail_runtime(rt, SAMBA__FAILED_TORN, 0);
    return samba__succeed(rt);
}

#if !defined(SAMBA_RUNTIME_ONLY)

