/* ==== [layout] ================================================================================ */
/* Lays a PEF that was proved out in memory, and prepares its nodes: what each needs of threads and
   scratch. From here on nothing is allocated. */

/* What the executor keeps of a node: on a device, where nothing is fused, a few words. */
#if SAMBA__DEVICE_HALF
typedef struct samba__step {
    const samba_op *op;
    intptr_t units[SAMBA_MAX_PHASES];
    uint8_t n_phases;
    bool view, has_run;
} samba__step;
#else
typedef struct samba__step {
    const samba_op *op;
    samba_work work;
    bool view;           /* output and input are the same memory: nothing to do */
    uint8_t made;        /* SAMBA__NAN_IN, SAMBA__INF_IN: found in its outputs */
    bool has_run;        /* its section has: what it makes has values */
    uint32_t group;      /* how many nodes run together, this one first */
    int64_t part, count; /* of the fused group */
} samba__step;
#endif

struct samba_runtime {
    samba__pef pef;
    void **data;        /* of each symbol */
    samba__step *steps; /* of each node */
    samba__pool *pool;  /* NULL: one thread */
    float *local;       /* SAMBA_LOCAL_BYTES for each thread */
    samba_spec *spec;   /* on a device: of what the node has that runs now */
    int32_t isa;
    bool inference, train, running_stats;
    bool adds_anew;                /* gradients that add up begin at zero with the next BCKWD */
    uint32_t types;                /* of all sections */
    uint32_t graph;                /* 1 + first section of the graph that runs now; 0: all do */
    uint32_t norm_first, norm_end; /* from the first section of GRADNORM to after the last */
    uint32_t norm_next;            /* those before it have run since the gradients changed */
    uint32_t microbatch, fault_node;
    int32_t fault[SAMBA__FAULT_WORDS]; /* SET is NONFINITE: see culprit */
    struct samba_culprit *culprit;     /* NULL: values are not checked */
    uint32_t failure, failed_with;     /* SAMBA__FAILED_...: see [runtime] */
    void (*on_event)(const char *name, int32_t section, bool begins, void *user);
    void *event_user;
#if !defined(SAMBA_RUNTIME_ONLY)
    samba_node_fn on_node; /* NULL: none */
    void *node_user;
#endif
};

SAMBA__FN void samba__forget_norm(samba_runtime *rt)
{
    rt->norm_next = rt->norm_first;
}

/* The caller has given a gradient a value: its norm is another one, and BCKWD adds to it. */
SAMBA__FN void samba__note_gradient(samba_runtime *rt)
{
    samba__forget_norm(rt);
    rt->adds_anew = false;
}

SAMBA__FN void samba__find_norm(samba_runtime *rt)
{
    for (uint32_t i = 0; i < rt->pef.n_sections; i++) {
        rt->types |= samba__section_at(&rt->pef, i).type;
        if (samba__section_at(&rt->pef, i).type != SAMBA_GRADNORM) continue;
        if (rt->norm_end == 0) rt->norm_first = i;
        rt->norm_end = i + 1;
    }
    samba__forget_norm(rt);
}

SAMBA__FN bool samba__is_little_endian(void)
{
    const uint32_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* n elements of the file, which is little-endian, to or from memory. */
SAMBA__FN void samba__copy_data(void *to, const void *from, uint64_t bytes, size_t size)
{
    uint8_t *y = (uint8_t *)to;
    const uint8_t *x = (const uint8_t *)from;
    if (size == 1 || samba__is_little_endian()) {
        memcpy(y, x, (size_t)bytes);
        return;
    }
    for (uint64_t i = 0; i < bytes; i++)
        y[i] = x[i ^ (size - 1)];
}

/* Can read-only parameters stay where they are in the file? */
SAMBA__NOINLINE bool samba__in_file(const samba__pef *pef)
{
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        if (samba__region_of(pef, i) != SAMBA__REGION_READONLY) continue;
        samba__symbol s = samba__symbol_at(pef, i);
        if (!s.data && !s.alias) return false;
    }
    return samba__is_little_endian() && ((uintptr_t)pef->data & 3u) == 0;
}

/* What a layout depends on besides the PEF. A host has two: its own, and that of the small devices
   for which it tells how much memory a PEF takes there. */
typedef struct samba__machine {
    size_t pointer, step, runtime; /* bytes of a void *, a samba__step, a samba_runtime */
    size_t align;                  /* of these, and of symbols */
    bool alone;                    /* there is no host half: nodes say what they need */
    bool places; /* the runtime places symbols that live as long as itself: the places in the PEF
                    are far apart, for vectors */
} samba__machine;

SAMBA__FN samba__machine samba__this_machine(void)
{
    samba__machine m;
    m.pointer = sizeof(void *);
    m.step = sizeof(samba__step);
    m.runtime = sizeof(samba_runtime);
    m.alone = SAMBA__DEVICE_HALF;
    m.places = SAMBA__DEVICE_HALF && SAMBA__DIRECT;
    m.align = m.places ? 8 : SAMBA__ALIGN;
    return m;
}

/* The same of a 32-bit device without vectors. It is checked whenever samba.h is compiled for one:
   on ARM, RISC-V, Xtensa and wasm an int64_t begins at a multiple of 8. (i386, where that is 4,
   needs less.) */
enum { SAMBA__STEP_ON_DEVICE = 20, SAMBA__RUNTIME_ON_DEVICE = 264 };

typedef struct samba__eight {
    char first;
    int64_t second;
} samba__eight;

enum {
    SAMBA__IS_DEVICE = SAMBA__DEVICE_HALF && SAMBA__DIRECT && sizeof(void *) == 4
        && offsetof(samba__eight, second) == 8,
    SAMBA__SIZES_ARE_RIGHT = sizeof(samba__step) == SAMBA__STEP_ON_DEVICE
        && sizeof(samba_runtime) == SAMBA__RUNTIME_ON_DEVICE
};

typedef char samba__device_sizes[!SAMBA__IS_DEVICE || SAMBA__SIZES_ARE_RIGHT ? 1 : -1];

SAMBA__FN samba__machine samba__device_machine(void)
{
    samba__machine m;
    m.pointer = 4;
    m.step = SAMBA__STEP_ON_DEVICE;
    m.runtime = SAMBA__RUNTIME_ON_DEVICE;
    m.align = 8;
    m.alone = true;
    m.places = true;
    return m;
}

/* What of a PEF a layout depends on. */
typedef struct samba__needs {
    uint32_t symbols, nodes;
    uint32_t specs; /* of inputs and outputs of a node, at most */
    int64_t local;  /* bytes of samba_args.local, at most */
    uint64_t region[SAMBA__N_REGIONS];
} samba__needs;

SAMBA__FN size_t samba__align_to(const samba__machine *m, size_t a)
{
    size_t up = samba__add_size(a, m->align - 1);
    return up == SAMBA__NO_SIZE ? up : up & ~(m->align - 1);
}

SAMBA__FN bool samba__places(const samba__machine *m, int r)
{
    return m->places && r != SAMBA__REGION_ARENA;
}

SAMBA__FN uint64_t samba__region_bytes(const samba__machine *m, const samba__pef *pef, int r)
{
    uint64_t bytes = 0;
    if (!samba__places(m, r)) return pef->region[r];
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        if ((int)samba__region_of(pef, i) != r) continue;
        samba__symbol s = samba__symbol_at(pef, i);
        if (!s.alias) bytes += (samba__symbol_bytes(pef, &s) + 7) / 8 * 8;
    }
    return bytes;
}

SAMBA__NOINLINE void samba__needs_of(samba__needs *needs, const samba__machine *m,
                                     const samba__pef *pef)
{
    needs->symbols = pef->n_symbols;
    needs->nodes = pef->n_nodes;
    needs->specs = 0;
    needs->local = 0;
    for (int r = 0; r < SAMBA__N_REGIONS; r++)
        needs->region[r] = samba__region_bytes(m, pef, r);

    for (uint32_t i = 0; m->alone && i < pef->n_nodes; i++) {
        samba__call_record r = samba__node_at(pef, i);
        samba__inquiry q;
        samba__ask_op(&q, pef, i, &r, NULL);
        needs->local = samba__max64(needs->local, q.work.local);
        if (needs->specs < (uint32_t)r.n_in + r.n_out) needs->specs = (uint32_t)r.n_in + r.n_out;
    }
}

/* Where the parts of a runtime lie behind its struct, which is the first. A size that does not fit
   size_t is SAMBA__NO_SIZE. */
typedef struct samba__layout {
    size_t data, steps, specs, local, regions;
    size_t size; /* of all, with room to align the beginning */
} samba__layout;

SAMBA__FN samba__layout samba__layout_on(const samba__machine *m, const samba__needs *needs,
                                         bool in_file)
{
    samba__layout at;
    at.data = samba__align_to(m, m->runtime);
    at.steps = samba__align_to(m, at.data + (size_t)needs->symbols * m->pointer);
    at.specs = samba__align_to(m, at.steps + (size_t)needs->nodes * m->step);
    at.local = samba__align_to(m, at.specs + needs->specs * sizeof(samba_spec));
    size_t end = samba__add_size(at.local, samba__fit_size((uint64_t)needs->local));
    at.regions = samba__align_to(m, end);

    at.size = at.regions;
    for (int r = 0; r < SAMBA__N_REGIONS; r++) {
        if (r == SAMBA__REGION_READONLY && in_file) continue;
        at.size = samba__add_size(at.size, samba__fit_size(needs->region[r]));
    }
    at.size = samba__add_size(at.size, m->align); /* memory may begin anywhere */
    return at;
}

/* On this machine; alone: there is no session. */
SAMBA__FN samba__layout samba__layout_of(const samba__pef *pef, bool alone, bool in_file)
{
    samba__machine m = samba__this_machine();
    samba__needs needs;
    samba__needs_of(&needs, &m, pef);
    if (alone && !m.alone) needs.local = SAMBA_LOCAL_BYTES; /* a host: what its kernels expect */
    return samba__layout_on(&m, &needs, in_file);
}

SAMBA__FN void samba__zero_job(void *context, int64_t begin, int64_t end, int32_t thread)
{
    (void)thread;
    memset((uint8_t *)context + begin, 0, (size_t)(end - begin));
}

/* Points each symbol at its place and fills in the data the file has, or zeros. Threads share the
   first writes to the state: it is then that the system clears pages, which takes longer. */
SAMBA__NOINLINE void samba__place_symbols(samba_runtime *rt, uint8_t *regions, bool in_file,
                                          bool zeros)
{
    const samba__machine m = samba__this_machine();
    uint8_t *base[SAMBA__N_REGIONS];
    size_t at = 0;
    for (int r = 0; r < SAMBA__N_REGIONS; r++) {
        base[r] = regions + at;
        if (r == SAMBA__REGION_READONLY && in_file) continue;
        size_t bytes = (size_t)samba__region_bytes(&m, &rt->pef, r);
        if (r == SAMBA__REGION_STATE && !zeros)
            samba__pool_run(rt->pool, samba__zero_job, base[r], (int64_t)bytes, 1 << 20);
        at += bytes;
    }

    for (uint32_t i = 0; i < rt->pef.n_symbols; i++) {
        samba__symbol s = samba__symbol_at(&rt->pef, i),
                      home = s.alias ? samba__symbol_at(&rt->pef, s.alias - 1) : s;
        const uint8_t *stored = home.data ? rt->pef.data + (home.data - 1) : NULL;

        if (s.region == SAMBA__REGION_READONLY && in_file) {
            /* nodes never write here: the verifier proved it */
            uintptr_t constant = (uintptr_t)stored;
            rt->data[i] = (void *)constant;
            continue;
        }

        uint64_t bytes = samba__symbol_bytes(&rt->pef, &s);
        SAMBA_ASSERT(s.offset + bytes <= rt->pef.region[s.region]);
        rt->data[i] = base[s.region] + (samba__places(&m, s.region) ? 0 : s.offset);
        if (samba__places(&m, s.region)) base[s.region] += (size_t)((bytes + 7) / 8 * 8);

        SAMBA_ASSERT(!stored || home.data - 1 + bytes <= rt->pef.data_size);
        if (s.alias || s.region == SAMBA__REGION_ARENA) continue;
        if (stored)
            samba__copy_data(rt->data[i], stored, bytes, samba_dtype_size(s.spec.dtype));
        else if (s.region != SAMBA__REGION_STATE && !zeros)
            memset(rt->data[i], 0, (size_t)bytes);
    }
}

#if !SAMBA__DEVICE_HALF
/* Fuses the nodes of a section that follow each other: [fused-groups]. */
SAMBA__FN void samba__find_groups(samba_runtime *rt, const samba__section *q);
#endif

/* What `step` keeps of node i. */
SAMBA__NOINLINE void samba__prepare_step(samba_runtime *rt, uint32_t i, samba__step *step)
{
    samba__call_record r = samba__node_at(&rt->pef, i);
    samba__inquiry q;
    samba__ask_op(&q, &rt->pef, i, &r, NULL);

    step->op = r.op;
    step->has_run = false;
    step->view = (r.op->flags & SAMBA_OP_VIEW) && samba__alias_of(&rt->pef, samba__word(&r, 1) - 1)
        && rt->data[samba__word(&r, 0) - 1] == rt->data[samba__word(&r, 1) - 1];
#if SAMBA__DEVICE_HALF
    step->n_phases = (uint8_t)q.work.n_phases;
    for (int32_t k = 0; k < q.work.n_phases; k++)
        step->units[k] = (intptr_t)q.work.units[k];
#else
    step->work = q.work;
#endif
}

SAMBA__FN void samba__prepare_steps(samba_runtime *rt)
{
    for (uint32_t i = 0; i < rt->pef.n_nodes; i++)
        samba__prepare_step(rt, i, &rt->steps[i]);
#if !SAMBA__DEVICE_HALF
    for (uint32_t i = 0; i < rt->pef.n_sections; i++) {
        samba__section q = samba__section_at(&rt->pef, i);
        samba__find_groups(rt, &q);
    }
#endif
}

/* Does a node multiply operands of bf16 or bytes, for which there are matrix units? */
SAMBA__FN bool samba__multiplies_in_tiles(const samba__pef *pef)
{
#if SAMBA__TILES
    for (uint32_t i = 0; i < pef->n_nodes; i++) {
        samba__call_record r = samba__node_at(pef, i);
        int32_t operand = r.op->flags & SAMBA_OP_MULTIPLIES_1 ? 1 : 0;
        if (!samba__is_builtin(r.op)
            || !(r.op->flags & (SAMBA_OP_MULTIPLIES | SAMBA_OP_MULTIPLIES_1)))
            continue;

        samba_spec first;
        samba__read_spec(pef, samba__word(&r, operand) - 1, &first);
        if (first.dtype == SAMBA_BF16 || samba__is_byte(first.dtype)) return true;
    }
#else
    (void)pef;
#endif
    return false;
}

/* Lays a verified PEF out in memory of samba__layout_of().size bytes. The threads may be NULL. */
SAMBA__NOINLINE samba_runtime *samba__runtime_layout(const samba__pef *pef, void *memory,
                                                     samba__pool *pool, const samba__layout *at,
                                                     bool in_file, bool zeros)
{
    const uintptr_t align = samba__this_machine().align;
    uintptr_t start = ((uintptr_t)memory + align - 1) & ~(align - 1);
    uint8_t *base = (uint8_t *)memory + (start - (uintptr_t)memory);
    samba_runtime *rt = (samba_runtime *)(void *)base;

    memset(rt, 0, sizeof *rt);
    rt->pef = *pef;
    rt->pool = pool;
    rt->data = (void **)(void *)(base + at->data);
    rt->steps = (samba__step *)(void *)(base + at->steps);
    rt->spec = (samba_spec *)(void *)(base + at->specs);
    rt->local = (float *)(void *)(base + at->local);

    rt->isa = samba__best_isa(samba__multiplies_in_tiles(pef));
    rt->inference = (pef->flags & SAMBA__PEF_INFERENCE) != 0;
    rt->train = !rt->inference;
    rt->running_stats = rt->inference;

    samba__find_norm(rt);
    rt->adds_anew = true;
    samba__place_symbols(rt, base + at->regions, in_file, zeros);
    samba__prepare_steps(rt);
    return rt;
}

/* The name of a parameter of which the file has no value; NULL: it has them all, as every file
   that is trusted. */
SAMBA__NOINLINE const char *samba__missing_value(const samba__pef *pef)
{
#if defined(SAMBA_TRUSTED_PEF)
    (void)pef;
#else
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol s = samba__symbol_at(pef, i);
        if (s.role == SAMBA__WEIGHT && !s.data) return pef->strings + s.name;
    }
#endif
    return NULL;
}

/* Are the program's own ops complete, and is none called as another one? */
SAMBA__NOINLINE bool samba__check_own_ops(const samba_runtime_desc *desc, samba__text *why)
{
    if (!samba__prove(why, desc->n_ops >= 0 && (desc->n_ops == 0 || desc->ops),
                      "samba_runtime_desc has a count of ops, but no ops"))
        return false;

    for (int32_t i = 0; i < desc->n_ops; i++) {
        const samba_op *op = desc->ops[i];
        bool complete = op && op->name && op->kernel && (op->shape || op->signature);
        if (!samba__prove(
                why, complete,
                "op %d of samba_runtime_desc lacks a name, a kernel, or a signature and a shape rule",
                i))
            return false;

        if (!samba__prove(why, op->wire >= SAMBA__FIRST_USER_WIRE,
                          "op %s has wire number %d; numbers below 32768 belong to samba.h",
                          op->name, (int32_t)op->wire)
            || !samba__prove(why, !samba__find_op(op->wire, op->name, desc->ops, i),
                             "the name of op %s or its number %d is taken", op->name,
                             (int32_t)op->wire))
            return false;
    }
    return true;
}

#if defined(SAMBA_TRUSTED_PEF)
/* Is it a file that was proved where the firmware was made? */
SAMBA__FN bool samba__is_trusted(const void *bytes, size_t size)
{
    static const uint64_t trusted[] = { SAMBA_TRUSTED_PEF };
    if (!bytes || size < sizeof(samba__header_layout)) return false;
    uint64_t found = samba__fingerprint(bytes, size);
    bool same = false;
    for (size_t i = 0; i < sizeof trusted / sizeof *trusted; i++)
        same = same || found == trusted[i];
    return same && samba__read_header((const uint8_t *)bytes, 0).version == SAMBA__PEF_VERSION;
}
#endif

/* Opens a PEF, whose ops may be those of desc (NULL: none), and proves it. */
SAMBA__FN bool samba__open_proved(samba__pef *pef, const void *bytes, size_t size,
                                  const samba_runtime_desc *desc, samba__text *why)
{
    memset(pef, 0, sizeof *pef);
    if (desc && !SAMBA__OWN_OPS) {
        if (!samba__prove(
                why, desc->n_ops == 0,
                "ops of the program's own were left out: define SAMBA_USE_own_ops where samba.h is compiled"))
            return false;
    } else if (desc) {
        if (!samba__check_own_ops(desc, why)) return false;
        pef->user_ops = desc->ops;
        pef->n_user_ops = desc->n_ops;
    }

#if defined(SAMBA_TRUSTED_PEF)
    return samba__prove(
               why, samba__is_trusted(bytes, size),
               "this is no file whose fingerprint SAMBA_TRUSTED_PEF has: make that anew by tools/samba device-config, and compile samba.h with it")
        && samba__take_header(pef, bytes, size);
#else
    samba__float_mode callers = samba__enter_float_mode(); /* rules look at attributes */
    bool fine
        = samba__open_pef(pef, bytes, size, why) && samba__verify_pef(pef, true, NULL, 0, why);
    samba__leave_float_mode(callers);
    return fine;
#endif
}

SAMBA__FN size_t samba__runtime_bytes(const void *bytes, size_t size,
                                      const samba_runtime_desc *desc, samba__text *why)
{
    samba__pef pef;
    if (!samba__open_proved(&pef, bytes, size, desc, why)) return 0;
    return samba__layout_of(&pef, true, samba__in_file(&pef)).size;
}

SAMBA_API size_t samba_runtime_bytes(const void *bytes, size_t size, char *why, size_t why_size)
{
    samba__text text = samba__text_in(why, why_size);
    return samba__runtime_bytes(bytes, size, NULL, &text);
}

SAMBA_API size_t samba_runtime_bytes_with(const void *bytes, size_t size,
                                          const samba_runtime_desc *desc, char *why,
                                          size_t why_size)
{
    samba__text text = samba__text_in(why, why_size);
    return samba__runtime_bytes(bytes, size, desc, &text);
}

/* Lays a PEF that was proved out in `memory`. In a function of its own, so that the proof has the
   stack for itself. */
SAMBA__NOINLINE samba_runtime *samba__open_in(const samba__pef *pef, void *memory,
                                              size_t memory_size, samba__text *why)
{
    const char *missing = samba__missing_value(pef);
    if (!samba__prove(
            why, !missing,
            "there is no value of parameter %s: the PEF was compiled, but not saved; load it, restore its checkpoint, and open what samba_save writes then",
            missing))
        return NULL;

    bool in_file = samba__in_file(pef);
    samba__layout at = samba__layout_of(pef, true, in_file);
    size_t needed = at.size;
    if (!samba__prove(why, memory && memory_size >= needed,
                      "%l bytes of memory are needed, %l were given", (int64_t)needed,
                      (int64_t)memory_size))
        return NULL;
    return samba__runtime_layout(pef, memory, NULL, &at, in_file, false);
}

SAMBA_API samba_runtime *samba_runtime_open_with(const void *bytes, size_t size, void *memory,
                                                 size_t memory_size, const samba_runtime_desc *desc,
                                                 char *why, size_t why_size)
{
    samba__pef pef;
    samba__text text = samba__text_in(why, why_size);
    const char *wrong = samba__wrong_arithmetic();
    if (wrong) {
        samba__put_text(&text, wrong);
        return NULL;
    }

    if (!samba__open_proved(&pef, bytes, size, desc, &text)) return NULL;
    samba__float_mode callers = samba__enter_float_mode(); /* rules look at attributes */
    samba_runtime *rt = samba__open_in(&pef, memory, memory_size, &text);
    samba__leave_float_mode(callers);
    return rt;
}

SAMBA_API samba_runtime *samba_runtime_open(const void *bytes, size_t size, void *memory,
                                            size_t memory_size, char *why, size_t why_size)
{
    return samba_runtime_open_with(bytes, size, memory, memory_size, NULL, why, why_size);
}

