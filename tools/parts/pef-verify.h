/* ==== [pef-verify] ============================================================================ */
/* Proves what [manual] lists of a file before anything of it is used. Nothing here trusts a number
   that it has not checked: the file may be damaged, or made to do harm.
   samba__open_pef of [pef-read] comes first: header, places of the tables, their checksum.
   samba__verify_pef, at the end of this chapter, decides the rest, in the order of its calls. Each
   check hands its condition to samba__prove, which writes the reason if it does not hold. The
   callers make an error of it: samba__file_prove for a file, samba_runtime_open for memory.
   tests/lib/pef_checker.h lists the theorems, and proves them by another algorithm; whoever changes
   a theorem changes both. */

/* May a symbol of this role live in this region? */
SAMBA__FN bool samba__may_lie(uint8_t role, uint8_t region)
{
    if (role == SAMBA__TEMP || role == SAMBA__SCRATCH) return region == SAMBA__REGION_ARENA;
    if (region != SAMBA__REGION_READONLY) return region != SAMBA__REGION_ARENA;
    return role == SAMBA__WEIGHT || role == SAMBA__CONSTANT || role == SAMBA__STATE;
}

/* A view is a temporary that shares the memory of another one and does not outlive it. */
SAMBA__FN bool samba__is_view(const samba__pef *pef, const samba__symbol *s)
{
    samba__symbol base = samba__symbol_at(pef, s->alias - 1);
    return s->role == SAMBA__TEMP && base.role == SAMBA__TEMP && !base.alias
        && base.offset == s->offset && base.first <= s->first && base.last >= s->last
        && samba__symbol_bytes(pef, &base) == samba__symbol_bytes(pef, s)
        && samba_dtype_size(base.spec.dtype) == samba_dtype_size(s->spec.dtype);
}

/* A gradient has the shape of its symbol and outlives the schedule. */
SAMBA__FN bool samba__is_gradient(const samba__pef *pef, const samba__symbol *s)
{
    samba__symbol grad = samba__symbol_at(pef, s->grad - 1);
    return grad.role < SAMBA__TEMP && samba__same_shape(&grad.spec.shape, &s->spec.shape);
}

/* Hyperparameters are written as one word of 4 bytes. */
SAMBA__FN bool samba__is_word(const samba__symbol *s)
{
    return samba_count(&s->spec.shape) == 1 && samba_dtype_size(s->spec.dtype) == 4;
}

/* What is wrong with the memory or the lifetime of a symbol whose other fields are sound; NULL if
   nothing is. */
SAMBA__FN const char *samba__wrong_place(const samba__pef *pef, const samba__symbol *s)
{
    uint64_t bytes = samba__symbol_bytes(pef, s), room = pef->region[s->region], at = s->data - 1;
    bool passing = s->region == SAMBA__REGION_ARENA;

    if (!samba__may_lie(s->role, s->region)) return SAMBA__TEXT("is in the wrong region");
    if (s->per_microbatch
        && ((s->role != SAMBA__INPUT && s->role != SAMBA__OUTPUT) || !s->batch_dim
            || s->region != SAMBA__REGION_IO))
        return SAMBA__TEXT("cannot hold microbatches");

    if (s->offset % SAMBA__ALIGN || s->offset > room || bytes > room - s->offset)
        return SAMBA__TEXT("lies outside its region");
    if (bytes > SAMBA__NO_SIZE / 2)
        return SAMBA__TEXT("is larger than the memory of this machine can be");
    if (s->data
        && (passing || at % SAMBA__ALIGN || at > pef->data_size || bytes > pef->data_size - at))
        return SAMBA__TEXT("has data outside the file");

    if (passing ? s->first > s->last || s->last >= pef->n_nodes
                : s->first != 0 || s->last != SAMBA__FOREVER)
        return SAMBA__TEXT("has an impossible lifetime");
    return NULL;
}

SAMBA__NOINLINE bool samba__check_symbol(const samba__pef *pef, uint32_t i, samba__text *why)
{
    samba__symbol s = samba__symbol_at(pef, i);
    int32_t n = (int32_t)i;
    if (!samba__prove(why, s.name < pef->strings_size, "symbol %d has no name", n)) return false;
    const char *name = pef->strings + s.name;

    bool known = s.role >= 1 && s.role < SAMBA__N_ROLES && s.dtype < SAMBA_N_DTYPES
        && s.ndim <= SAMBA_MAX_DIMS && s.region < SAMBA__N_REGIONS && s.batch_dim <= s.ndim
        && s.per_microbatch <= 1 && s.mem_type <= SAMBA_MEM_HOST
        && s.generated <= (s.role == SAMBA__STATE);
    if (!samba__prove(
            why, known,
            "symbol %d %s has a field with an unknown value: role, type, rank, region or a flag", n,
            name)
        || !samba__prove(why, samba__sound_shape(&s.spec.shape), "symbol %d %s has an absurd shape",
                         n, name))
        return false;

    if (!samba__prove(
            why, s.role == SAMBA__SCRATCH || samba__has_type(s.spec.dtype),
            "symbol %d %s is of type %T, which was left out: define SAMBA_USE_... of it where samba.h is compiled",
            n, name, (int)s.spec.dtype))
        return false;

    const char *wrong = samba__wrong_place(pef, &s);
    if (wrong) return samba__prove(why, false, "symbol %d %s %s", n, name, wrong);

    if (s.grad > pef->n_symbols || s.alias > pef->n_symbols)
        wrong = SAMBA__TEXT("refers to no symbol");
    else if (s.alias && !samba__is_view(pef, &s))
        wrong = SAMBA__TEXT("is no view of the symbol it names");
    else if (s.grad && !samba__is_gradient(pef, &s))
        wrong = SAMBA__TEXT("has a gradient of another shape");
    else if (s.role == SAMBA__ARGIN && !samba__is_word(&s))
        wrong = SAMBA__TEXT("is a hyperparameter, but not one word of 4 bytes");
    return samba__prove(why, !wrong, "symbol %d %s %s", n, name, wrong);
}

/* Checks each symbol, and that values do not overlap in the file: they come in symbol order. */
SAMBA__NOINLINE bool samba__check_symbols(const samba__pef *pef, samba__text *why)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        if (!samba__check_symbol(pef, i, why)) return false;
        samba__symbol s = samba__symbol_at(pef, i);
        if (!s.data) continue;
        if (!samba__prove(why, s.data > end, "symbol %d %s shares its data with another",
                          (int32_t)i, pef->strings + s.name))
            return false;
        end = s.data - 1 + samba__symbol_bytes(pef, &s);
    }
    return true;
}

/* The specs of a call's inputs (absent: ndim -1) and its attributes, decoded. */
typedef struct samba__decoded {
    samba_spec in[SAMBA_MAX_IN];
    int32_t attr[SAMBA_MAX_ATTR];
    samba_call call;
} samba__decoded;

/* The reason for which an op's rule refuses a call: it is asked once more, with room for it. */
SAMBA__FN void samba__put_refusal(samba__text *t, const samba_op *op, samba_call *c)
{
    if (t->len >= t->cap) return;
    c->why = t->at + t->len;
    c->why_size = t->cap - t->len;
    samba__infer(op, c);
    while (t->at[t->len])
        t->len++;
}

/* What the op of a node is asked: what it makes and needs. */
typedef struct samba__inquiry {
    const samba__pef *pef;
    const samba__call_record *r;
    uint32_t node;
    samba__text *why; /* the node is not proved yet; NULL: it is */
    samba_work work;  /* the answer */
} samba__inquiry;

/* In functions of their own, so that what they take of the stack is free again when the op is
   asked. */
SAMBA__NOINLINE void samba__decode_inputs(const samba__inquiry *q, samba_spec *in)
{
    for (int32_t i = 0; i < q->r->n_in; i++) {
        uint32_t word = samba__word(q->r, i);
        if (word)
            samba__read_spec(q->pef, word - 1, &in[i]);
        else
            in[i] = samba__absent();
    }
}

/* Of output k. */
SAMBA__FN void samba__output_spec(const samba__inquiry *q, int32_t k, samba_spec *spec)
{
    samba__read_spec(q->pef, samba__word(q->r, q->r->n_in + k) - 1, spec);
}

SAMBA__NOINLINE void samba__decode_outputs(const samba__inquiry *q, samba_call *c)
{
    c->n_out = q->r->n_out;
    for (int32_t k = 0; k < c->n_out; k++)
        samba__output_spec(q, k, &c->out[k]);
}

SAMBA__FN bool samba__same_spec(const samba_spec *a, const samba_spec *b)
{
    return a->dtype == b->dtype && samba__same_shape(&a->shape, &b->shape);
}

/* Does the file declare the outputs that the op makes? */
SAMBA__NOINLINE bool samba__declares(const samba__inquiry *q, const samba_call *c)
{
    if (c->n_out != q->r->n_out) return false;
    for (int32_t k = 0; k < c->n_out; k++) {
        samba_spec declared;
        samba__output_spec(q, k, &declared);
        if (!samba__same_spec(&declared, &c->out[k])) return false;
    }
    return true;
}

/* The op's own shape rule has to accept the arguments and give exactly the declared outputs. */
SAMBA__NOINLINE bool samba__check_rule(const samba__inquiry *q, samba_call *c)
{
    const samba_op *op = q->r->op;
    if (!samba__infer(op, c)) {
        samba__prove(q->why, false, "node %d %s:", (int32_t)q->node, op->name);
        samba__put_text(q->why, " ");
        samba__put_refusal(q->why, op, c);
        return false;
    }
    return samba__prove(q->why, samba__declares(q, c),
                        "node %d %s declares other outputs than the op makes", (int32_t)q->node,
                        op->name);
}

/* Asks; `in` has room for the specs of the inputs. */
SAMBA__NOINLINE bool samba__ask_with(samba__inquiry *q, samba_spec *in)
{
    samba_call c;
    int32_t attr[SAMBA_MAX_ATTR];
    memset(&c, 0, sizeof c);
    memset(attr, 0, sizeof attr); /* an op may look at more than it has */

    samba__decode_inputs(q, in);
    for (int32_t i = 0; i < q->r->n_attr && i < SAMBA_MAX_ATTR; i++)
        attr[i] = (int32_t)samba__word(q->r, q->r->n_in + q->r->n_out + i);
    c.in = in;
    c.n_in = q->r->n_in;
    c.attr = attr;
    c.n_attr = q->r->n_attr;

    if (SAMBA__PROVES && q->why) {
        if (!samba__check_rule(q, &c)) return false;
    } else { /* what the rule makes was proved to be this */
        samba__decode_outputs(q, &c);
    }
    samba__measure(q->r->op, &c, &q->work);
    return true;
}

/* Room for the inputs is most of the stack that a device needs here, so an op has no more of it
   than it may need: most have few inputs, SGD 8 at most, AdamW 11. */
enum { SAMBA__FEW_IN = 4, SAMBA__SGD_IN = 8, SAMBA__ADAMW_IN = 11 };

SAMBA__NOINLINE bool samba__ask_few(samba__inquiry *q)
{
    samba_spec in[SAMBA__FEW_IN];
    return samba__ask_with(q, in);
}

SAMBA__NOINLINE bool samba__ask_sgd(samba__inquiry *q)
{
    samba_spec in[SAMBA__SGD_IN];
    return samba__ask_with(q, in);
}

SAMBA__NOINLINE bool samba__ask_adamw(samba__inquiry *q)
{
    samba_spec in[SAMBA__ADAMW_IN];
    return samba__ask_with(q, in);
}

SAMBA__NOINLINE bool samba__ask_many(samba__inquiry *q)
{
    samba_spec in[SAMBA_MAX_IN];
    return samba__ask_with(q, in);
}

/* Asks the op of node i, which is r. False: it refuses, for the reason in why. */
SAMBA__FN bool samba__ask_op(samba__inquiry *q, const samba__pef *pef, uint32_t i,
                             const samba__call_record *r, samba__text *why)
{
    q->pef = pef;
    q->r = r;
    q->node = i;
    q->why = why;
    if (r->n_in <= SAMBA__FEW_IN) return samba__ask_few(q);
    if (r->n_in <= SAMBA__SGD_IN) return samba__ask_sgd(q);
    return r->n_in <= SAMBA__ADAMW_IN ? samba__ask_adamw(q) : samba__ask_many(q);
}

/* A node reads what is alive at that point and was made by an earlier node of its graph, whose
   nodes begin at `first`. */
SAMBA__NOINLINE bool samba__check_input(const samba__pef *pef, uint32_t node, uint32_t first,
                                        uint32_t word, samba__text *why)
{
    if (word == 0) return true;
    samba__symbol s = samba__symbol_at(pef, word - 1);
    bool alive = s.first >= first && s.first < node && s.last >= node;
    return samba__prove(why, s.role != SAMBA__SCRATCH && (alive || s.region != SAMBA__REGION_ARENA),
                        "node %d reads %s, which is not alive in its graph then", (int32_t)node,
                        pef->strings + s.name);
}

/* The symbol that owns the memory of this one, both as words have them: the base of a view, else
   the symbol itself. */
SAMBA__FN uint32_t samba__base_word(const samba__pef *pef, uint32_t word)
{
    uint32_t base = word ? samba__alias_of(pef, word - 1) : 0;
    return base ? base : word;
}

/* Output o writes to the memory of symbol `base`. The node may not have that memory as another
   output or as an input, except the input that the output updates or is a view of. */
SAMBA__FN bool samba__is_alone(const samba__pef *pef, const samba__call_record *r, int32_t o,
                               uint32_t base)
{
    int32_t updated = samba__updated_input(r->op, o);
    bool views = (r->op->flags & SAMBA_OP_VIEW) && o == 0
        && samba__alias_of(pef, samba__word(r, r->n_in) - 1);
    for (int32_t k = 0; k < r->n_in + o; k++) {
        bool expected = k == updated || (views && k == 0);
        if (!expected && samba__base_word(pef, samba__word(r, k)) == base) return false;
    }
    return true;
}

/* Is output 0 of this node a view of its input 0, and does that live in the memory of `base`? */
SAMBA__FN bool samba__makes_view(const samba__pef *pef, const samba__call_record *r, uint32_t base)
{
    return (r->op->flags & SAMBA_OP_VIEW) && r->n_in > 0
        && samba__base_word(pef, samba__word(r, 0)) == base;
}

/* A node writes temporaries whose life begins with it, outputs and gradients; it overwrites
   anything else only where its op says that it updates that input. */
SAMBA__NOINLINE bool samba__check_output(const samba__pef *pef, uint32_t node,
                                         const samba__call_record *r, int32_t o, samba__text *why)
{
    uint32_t word = samba__word(r, r->n_in + o);
    samba__symbol s = samba__symbol_at(pef, word - 1);
    int32_t updated = samba__updated_input(r->op, o);

    bool fine = s.role == SAMBA__TEMP ? s.first == node
                                      : s.role == SAMBA__OUTPUT || s.role == SAMBA__GRADIENT;
    if (updated >= 0)
        fine = updated < r->n_in && samba__word(r, updated) == word && s.role != SAMBA__INPUT;
    else if (s.alias)
        fine = fine && o == 0 && samba__makes_view(pef, r, s.alias);

    return samba__prove(why, fine && s.region != SAMBA__REGION_READONLY, "node %d may not write %s",
                        (int32_t)node, pef->strings + s.name)
        && samba__prove(why, samba__is_alone(pef, r, o, s.alias ? s.alias : word),
                        "node %d writes %s while it reads or writes it elsewhere", (int32_t)node,
                        pef->strings + s.name);
}

SAMBA__NOINLINE bool samba__check_scratch(const samba__pef *pef, uint32_t node,
                                          const samba__call_record *r, const samba_work *w,
                                          samba__text *why)
{
    bool enough = r->scratch ? r->scratch <= pef->n_symbols : w->scratch == 0;
    if (enough && r->scratch) {
        samba__symbol s = samba__symbol_at(pef, r->scratch - 1);
        enough = s.role == SAMBA__SCRATCH && s.first == node && s.last == node && !s.alias
            && samba__symbol_bytes(pef, &s) >= (uint64_t)w->scratch;
    }
    return samba__prove(why, enough, "node %d has too little scratch", (int32_t)node);
}

/* The arguments of a node lie within the words, and name symbols that exist. */
SAMBA__NOINLINE bool samba__check_words(const samba__pef *pef, uint32_t i, samba__text *why)
{
    samba__call_record r = samba__record_at(pef, i);
    uint64_t n_words = (uint64_t)r.n_in + r.n_out + r.n_attr;
    bool few = r.n_in <= SAMBA_MAX_IN && r.n_out <= SAMBA_MAX_OUT && r.n_attr <= SAMBA_MAX_ATTR;
    if (!samba__prove(why, r.first_word + n_words <= pef->n_words,
                      "the arguments of node %d lie outside the file", (int32_t)i)
        || !samba__prove(why, r.name < pef->strings_size, "node %d has no name", (int32_t)i)
        || !samba__prove(why, few, "node %d has too many arguments", (int32_t)i)
        || !samba__prove(why, r.n_out >= 1, "node %d has no output", (int32_t)i))
        return false;

    for (int32_t k = 0; k < r.n_in + r.n_out; k++) {
        uint32_t word = samba__word(&r, k);
        bool sound = word <= pef->n_symbols && (k < r.n_in || word);
        if (!samba__prove(why, sound, "node %d refers to no symbol", (int32_t)i)) return false;
    }
    return true;
}

/* Node i calls an op that is not here. */
SAMBA__FN bool samba__refuse_op(const samba__pef *pef, uint32_t i, const samba__call_record *r,
                                samba__text *why)
{
    const char *left_out = samba__left_out(r->wire);
    if (left_out)
        return samba__prove(
            why, false,
            "node %d %s uses op %s, which was left out: define SAMBA_USE_%s where samba.h is compiled",
            (int32_t)i, pef->strings + r->name, left_out, left_out);

    samba__prove(
        why, false,
        "%s uses op number %d, which is not known here; register it before loading (on a device: samba_runtime_desc)",
        pef->strings + r->name, (int32_t)r->wire);
#if defined(SAMBA_NO_TEXTS)
    samba__put_text(why, " op ");
    samba__put_int(why, (int32_t)r->wire);
#endif
    return false;
}

/* A node's op is known, accepts its arguments, and may read and write them. `first` is the first
   node of its graph. */
SAMBA__NOINLINE bool samba__check_node(const samba__pef *pef, uint32_t i, uint32_t first,
                                       samba__text *why)
{
    samba__inquiry q;
    if (!samba__check_words(pef, i, why)) return false;
    samba__call_record r = samba__node_at(pef, i);
    if (!r.op) return samba__refuse_op(pef, i, &r, why);
    if (!samba__ask_op(&q, pef, i, &r, why)) return false;

    for (int32_t k = 0; k < r.n_in; k++)
        if (!samba__check_input(pef, i, first, samba__word(&r, k), why)) return false;
    for (int32_t k = 0; k < r.n_out; k++)
        if (!samba__check_output(pef, i, &r, k, why)) return false;
    return samba__check_scratch(pef, i, &r, &q.work, why);
}

/* Section types, in schedule order. A run goes through the schedule in passes, those that repeat
   once for each microbatch. */
typedef struct samba__section_type {
    const char *name;
    uint32_t bit;
    uint32_t runs_with; /* it runs whenever all of these do; 0: if it is asked for alone */
    int32_t pass;
    bool repeats, named; /* in each microbatch; by callers */
    bool changes_gradients;
} samba__section_type;

/* clang-format off */
#define SAMBA__TYPE(name) #name, SAMBA_##name
#define SAMBA__STEP_TYPES (SAMBA_BCKWD | SAMBA_OPT)
static const samba__section_type samba__section_types[] = {
    /*                         runs with          pass repeats named  changes gradients */
    { SAMBA__TYPE(ZEROGRAD),   SAMBA__STEP_TYPES, 0,   false,  true,  true  },
    { SAMBA__TYPE(COUNT),      SAMBA_FWD,         1,   true,   false, false },
    { SAMBA__TYPE(FWD),        0,                 2,   true,   true,  false },
    { SAMBA__TYPE(BCKWD),      0,                 2,   true,   true,  true  },
    { SAMBA__TYPE(REDUCE),     SAMBA__STEP_TYPES, 3,   false,  true,  true  },
    { SAMBA__TYPE(GRADNORM),   SAMBA__STEP_TYPES, 3,   false,  true,  false },
    { SAMBA__TYPE(OPT),        0,                 3,   false,  true,  false }
};

/* clang-format on */
enum { SAMBA__N_TYPES = sizeof samba__section_types / sizeof *samba__section_types };

/* The name of a section's type; "" for what is none. A section of mapping spatial has several. */
SAMBA__FN const char *samba__type_name(uint32_t type)
{
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++)
        if (type == samba__section_types[i].bit) return samba__section_types[i].name;
    if (type == (SAMBA_BCKWD | SAMBA_OPT)) return "BCKWD_OPT";
    return type == (SAMBA_BCKWD | SAMBA_GRADNORM | SAMBA_OPT) ? "BCKWD_GRADNORM_OPT" : "";
}

/* Do sections of this type come after those of the other one? */
SAMBA__FN bool samba__is_after(uint32_t type, uint32_t other)
{
    int32_t first = SAMBA__N_TYPES, last = -1;
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
        if (samba__section_types[i].bit & other) last = i;
        if (samba__section_types[i].bit & type && first == SAMBA__N_TYPES) first = i;
    }
    return first > last;
}

/* The types which a run of `types` has besides: COUNT with FWD, all of a step with BCKWD and OPT.
 */
SAMBA__FN unsigned samba__implied_types(unsigned types)
{
    unsigned implied = 0;
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
        unsigned with = samba__section_types[i].runs_with;
        if (with && (types & with) == with) implied |= samba__section_types[i].bit;
    }
    return implied;
}

/* Section i is not empty, begins where the previous one ends, and its type comes in schedule order.
   The places of graph names ascend, so no graph can come twice. */
SAMBA__NOINLINE bool samba__is_in_order(const samba__pef *pef, uint32_t i)
{
    samba__section s = samba__section_at(pef, i), before = SAMBA__ZEROED;
    bool first = i == 0;
    if (!first) before = samba__section_at(pef, i - 1);
    if (s.first != before.end || s.end <= s.first || s.end > pef->n_nodes) return false;
    if (!*samba__type_name(s.type) || s.graph > pef->strings_size) return false;
    if (first || s.graph > before.graph) return true;
    return s.graph == before.graph
        && (s.type == before.type || samba__is_after(s.type & (0u - s.type), before.type));
}

/* The sections, and the nodes in each. */
SAMBA__NOINLINE bool samba__check_sections(const samba__pef *pef, samba__text *why)
{
    uint32_t graph = 0, start = 0, next = 0;
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section s = samba__section_at(pef, i);
        if (!samba__prove(why, samba__is_in_order(pef, i), "section %d is out of order",
                          (int32_t)i))
            return false;

        if (s.graph != graph) start = s.first;
        graph = s.graph;
        next = s.end;
        for (uint32_t k = s.first; k < s.end; k++)
            if (!samba__check_node(pef, k, start, why)) return false;
    }
    return samba__prove(why, next == pef->n_nodes, "the sections do not cover the nodes");
}

/* Charges the letters of the name at this place to a budget; false if they exceed what is left. */
SAMBA__FN bool samba__take_name(const samba__pef *pef, uint32_t at, uint32_t *left)
{
    const char *name = pef->strings + at;
    uint32_t n = 0;
    while (n <= *left && name[n])
        n++;
    if (n > *left) return false;
    *left -= n;
    return true;
}

/* All names together have no more letters than the table of strings. If names could overlap, a
   small file could make a reader copy the whole table once for each name. */
SAMBA__FN bool samba__names_fit(const samba__pef *pef)
{
    uint32_t left = pef->strings_size, before = 0;
    for (uint32_t i = 0; i < pef->n_symbols; i++)
        if (!samba__take_name(pef, samba__symbol_at(pef, i).name, &left)) return false;
    for (uint32_t i = 0; i < pef->n_nodes; i++)
        if (!samba__take_name(pef, samba__record_at(pef, i).name, &left)) return false;
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        uint32_t graph = samba__section_at(pef, i).graph;
        bool named = graph && graph != before;
        if (named && !samba__take_name(pef, graph - 1, &left)) return false;
        before = graph;
    }
    return true;
}

SAMBA__NOINLINE bool samba__check_names(const samba__pef *pef, samba__text *why)
{
    return samba__prove(why, samba__names_fit(pef),
                        "names share letters: together they are longer than the table of strings");
}

/* Does the node with which the life of temporary i begins make it, or have it as its scratch? */
SAMBA__FN bool samba__is_made(const samba__pef *pef, uint32_t i, const samba__symbol *s)
{
    samba__call_record r = samba__record_at(pef, s->first);
    if (s->role == SAMBA__SCRATCH) return r.scratch == i + 1;
    for (int32_t o = 0; o < r.n_out; o++)
        if (samba__word(&r, r.n_in + o) == i + 1) return true;
    return false;
}

/* An op may compute in place: symbol b takes over the memory of an input that its node reads last.
   Returns the end of that input's memory; 0 if b takes over from nobody. The node may not use the
   input anywhere else, but for elementwise ops: f(x, x) reads element i before it writes it. */
SAMBA__FN uint64_t samba__end_of_donor(const samba__pef *pef, uint32_t ib, const samba__symbol *b)
{
    samba__call_record r = samba__node_at(pef, b->first);
    int32_t place = samba__inplace_input(r.op);
    uint32_t word = place >= 0 && place < r.n_in ? samba__word(&r, place) : 0;
    uint32_t base = samba__base_word(pef, word);
    if (!word || samba__word(&r, r.n_in) != ib + 1) return 0;

    samba__symbol a = samba__symbol_at(pef, base - 1);
    uint64_t bytes = samba__symbol_bytes(pef, &a);
    if (a.region != b->region || a.offset != b->offset || a.last != b->first
        || bytes != samba__symbol_bytes(pef, b)
        || samba_dtype_size(a.spec.dtype) != samba_dtype_size(b->spec.dtype))
        return 0;

    for (int32_t k = 0; k < r.n_in + r.n_out; k++) {
        uint32_t other = samba__word(&r, k);
        bool again = k < r.n_in && other == word && samba__class_of(r.op) == SAMBA__IS_ELEMENTWISE;
        if (k != place && !again && samba__base_word(pef, other) == base) return 0;
    }
    return a.offset + bytes;
}

/* The skyline of the arena: for each node of a range, the end of the memory in use while it runs. A
   segment tree in an array: vertex v has the children 2 v and 2 v + 1, the nodes are the leaves
   n ... 2 n - 1. `all` is the height to which a whole subtree was raised at once, `any` the highest
   leaf below a vertex. */
enum { SAMBA__SKYLINE = SAMBA__DEVICE_HALF ? 16 : 512 }; /* nodes at a time on the stack */

typedef struct samba__skyline {
    uint64_t *any, *all;
    uint32_t start, n; /* the first node, and how many */
} samba__skyline;

SAMBA__FN uint64_t samba__higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The highest address that is taken while one of the nodes first ... last runs. */
SAMBA__FN uint64_t samba__skyline_top(const samba__skyline *k, uint32_t first, uint32_t last)
{
    uint32_t low = first - k->start + k->n, high = last - k->start + k->n;
    uint64_t top = 0;
    for (uint32_t v = low / 2; v; v /= 2)
        top = samba__higher(top, k->all[v]);
    for (uint32_t v = high / 2; v; v /= 2)
        top = samba__higher(top, k->all[v]);

    for (; low <= high; low = (low + 1) / 2, high = (high - 1) / 2) {
        top = samba__higher(top, k->any[low]);
        top = samba__higher(top, k->any[high]);
    }
    return top;
}

/* Raises the skyline of these nodes to `end`, which is above all of it. */
SAMBA__FN void samba__skyline_raise(samba__skyline *k, uint32_t first, uint32_t last, uint64_t end)
{
    uint32_t low = first - k->start + k->n, high = last - k->start + k->n;
    for (uint32_t v = low / 2; v; v /= 2)
        k->any[v] = samba__higher(k->any[v], end);
    for (uint32_t v = high / 2; v; v /= 2)
        k->any[v] = samba__higher(k->any[v], end);

    for (; low <= high; low = (low + 1) / 2, high = (high - 1) / 2) {
        if (low & 1) k->any[low] = k->all[low] = end;
        if (!(high & 1)) k->any[high] = k->all[high] = end;
    }
}

/* Names the symbol that symbol i shares memory with. A linear search: it runs once, for the error.
 */
SAMBA__FN bool samba__fail_shared(const samba__pef *pef, uint32_t i, samba__text *why)
{
    samba__symbol b = samba__symbol_at(pef, i), a = b;
    for (uint32_t k = 0; k < i; k++) {
        a = samba__symbol_at(pef, k);
        if (a.region == b.region && !a.alias && a.first <= b.last && b.first <= a.last
            && a.offset + samba__symbol_bytes(pef, &a) > b.offset)
            break;
    }
    return samba__prove(why, false, "%s and %s share memory while both are alive",
                        pef->strings + a.name, pef->strings + b.name);
}

/* Adds symbol i to the skyline if it lives in the arena and in this range of nodes; false if memory
   that it needs is in use. */
SAMBA__FN bool samba__enter(const samba__pef *pef, samba__skyline *k, uint32_t i, samba__text *why)
{
    /* Each range of nodes looks at every symbol, and few concern it: these fields tell that without
       decoding the record. */
    const uint8_t *p = pef->symbols + (size_t)i * pef->symbol_size;
    uint32_t first = samba__get32(p + offsetof(samba__symbol_layout, first));
    uint32_t last = samba__get32(p + offsetof(samba__symbol_layout, last));
    uint32_t end = k->start + k->n - 1;
    if (first > end || last < k->start) return true;
    if (samba__get8(p + offsetof(samba__symbol_layout, region)) != SAMBA__REGION_ARENA) return true;
    if (samba__get32(p + offsetof(samba__symbol_layout, alias))) return true;

    samba__symbol s = samba__symbol_at(pef, i);
    first = first > k->start ? first : k->start;
    last = last < end ? last : end;

    uint64_t top = samba__skyline_top(k, first, last);
    bool fine = top <= s.offset;
    if (!fine && first == s.first) { /* may it take over from what ends there? */
        bool rest = first == last || samba__skyline_top(k, first + 1, last) <= s.offset;
        fine = rest && samba__skyline_top(k, first, first) == samba__end_of_donor(pef, i, &s);
    }
    if (!fine) return samba__fail_shared(pef, i, why);

    samba__skyline_raise(k, first, last, s.offset + samba__symbol_bytes(pef, &s));
    return true;
}

/* No two symbols of the arena that are alive together share memory, except views and results that
   take over in place. Symbols come in the order of their addresses, so each has to lie above all
   that came before it. `room` limits how many nodes the skyline has at a time. */
SAMBA__FN bool samba__check_arena(const samba__pef *pef, uint64_t *room, uint32_t n_room,
                                  samba__text *why)
{
    samba__skyline k;
    uint32_t most = n_room / 4;
    for (k.start = 0; k.start < pef->n_nodes; k.start += k.n) {
        k.n = most < pef->n_nodes - k.start ? most : pef->n_nodes - k.start;
        k.any = room;
        k.all = room + 2 * (size_t)k.n;
        memset(room, 0, (size_t)k.n * 4 * sizeof *room);
        for (uint32_t i = 0; i < pef->n_symbols; i++)
            if (!samba__enter(pef, &k, i, why)) return false;
    }
    return true;
}

/* May symbol a come before b? */
SAMBA__FN bool samba__in_order(const samba__symbol *a, const samba__symbol *b)
{
    if (a->region != b->region) return a->region < b->region;
    if (a->offset != b->offset) return a->offset < b->offset;
    return a->first <= b->first;
}

/* Symbols are sorted, those outside the arena do not overlap, and each region ends with its last
   symbol. */
SAMBA__NOINLINE bool samba__check_order(const samba__pef *pef, samba__text *why)
{
    uint64_t end[SAMBA__N_REGIONS] = { 0, 0, 0, 0 };
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol before = samba__symbol_at(pef, i > 0 ? i - 1 : 0);
        samba__symbol b = samba__symbol_at(pef, i);
        bool passing = b.region == SAMBA__REGION_ARENA;
        bool sorted = samba__in_order(&before, &b);
        if (!samba__prove(why, sorted, "the symbols are not sorted")) return false;
        if (!passing && b.offset < end[b.region]) return samba__fail_shared(pef, i, why);
        end[b.region] = samba__higher(end[b.region], b.offset + samba__symbol_bytes(pef, &b));
    }

    for (int r = 0; r < SAMBA__N_REGIONS; r++)
        if (!samba__prove(why, pef->region[r] == samba__align_bytes(end[r]),
                          "region %d does not end with its last symbol", r))
            return false;
    return true;
}

/* Each temporary is made by the node with which its life begins. */
SAMBA__NOINLINE bool samba__check_made(const samba__pef *pef, samba__text *why)
{
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        if (samba__region_of(pef, i) != SAMBA__REGION_ARENA) continue;
        samba__symbol s = samba__symbol_at(pef, i);
        if (!samba__prove(why, samba__is_made(pef, i, &s),
                          "%s is not made by node %d, with which its life begins",
                          pef->strings + s.name, (int32_t)s.first))
            return false;
    }
    return true;
}

/* With room on the stack. */
SAMBA__NOINLINE bool samba__check_arena_here(const samba__pef *pef, samba__text *why)
{
    uint64_t room[4 * SAMBA__SKYLINE];
    return samba__check_arena(pef, room, 4 * SAMBA__SKYLINE, why);
}

/* Proves all of it; the checksum of the data only if `data` is set. `room` is optional memory with
   which a large file is proved faster. */
SAMBA__FN bool samba__verify_pef(const samba__pef *pef, bool data, uint64_t *room, uint32_t n_room,
                                 samba__text *why)
{
    bool enough = n_room >= 4 * SAMBA__SKYLINE;
    if (pef->version == 1 && !samba__check_tables_hash(pef, why)) return false;
    if (pef->version > 1 && data && !samba__check_data_hash(pef, why)) return false;
    return samba__check_symbols(pef, why) && samba__check_order(pef, why)
        && samba__check_sections(pef, why) && samba__check_names(pef, why)
        && samba__check_made(pef, why)
        && (enough ? samba__check_arena(pef, room, n_room, why)
                   : samba__check_arena_here(pef, why));
}

