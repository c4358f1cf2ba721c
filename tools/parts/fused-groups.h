/* ==== [fused-groups] ========================================================================== */
/* Runs ops: one by itself, or several on a part of their elements at a time. The device half runs
   one after another; see [execute]. */

#define SAMBA__GRAIN_FLOPS 16384 /* about 5 microseconds: worth a thread from here on */

/* A fused group: tasks that run one after another on a part of their elements, before any of them
   goes on to the next part. So a consumer reads what its producer has just left in the cache. That
   is right where each task reads, of what the others make, only the elements with the numbers of
   those it makes itself. Elementwise ops and ops from whole rows to whole rows are fused with each
   other; elementwise ops are also the epilogue of a product and run on each tile that is complete.
   Results do not change. A PEF does not say what is fused: that is found when it is loaded. */
typedef struct samba__group {
    samba__task *task;
    int32_t n;
    int64_t part;  /* elements of output 0 that a unit makes, as samba_work.part */
    int64_t count; /* elements of each task's output 0 */
    float *local;
} samba__group;

enum {
    SAMBA__GROUP_TASKS = SAMBA__IS_SMALL ? 1 : 8, /* at most */
    SAMBA__PART = 8192                            /* elements that a task makes at a time */
};

/* Computes elements [begin,end) with all tasks but the first `from`. They are the first of `rows`
   ranges, whose beginnings are `pitch` elements apart. */
SAMBA__FN void samba__run_part(const samba__group *c, int32_t from, int64_t begin, int64_t end,
                               int64_t rows, int64_t pitch, float *local)
{
    for (int32_t k = from; k < c->n; k++) {
        samba_args a = c->task[k].args;
        int64_t part = samba__max64(1, c->task[k].work->part);
        a.begin = begin / part;
        a.end = samba__ceil_div(end, part);
        a.rows = rows;
        a.pitch = pitch;
        a.local = local;

        if (c->task[k].found) samba__note_overwritten(&c->task[k], begin, end, rows, pitch);
        if (c->task[k].found && samba__is_flat(&c->task[k]))
            samba__note_state(&c->task[k], begin, end);

        samba__run_kernel(c->task[k].op, &a);
        if (c->task[k].found) samba__check_part(&c->task[k], begin, end, rows, pitch);
    }
}

/* Runs the fused consumers of a product on a tile y that is complete, while it is in the cache. */
SAMBA__FN void samba__run_epilogue(const samba_args *a, const float *y, int64_t rows, int64_t cols,
                                   int64_t pitch)
{
    const samba__group *c = (const samba__group *)a->group;
    int64_t at = y - a->out[0];
    if (c->task->found) samba__check_part(c->task, at, at + cols, rows, pitch);
    samba__run_part(c, 1, at, at + cols, rows, pitch, a->local);
}

/* Units [begin,end) of a group, for one thread of the pool. */
SAMBA__FN void samba__run_units(void *context, int64_t begin, int64_t end, int32_t thread)
{
    SAMBA_ASSERT(begin < end && thread >= 0);
    const samba__group *c = (const samba__group *)context;
    float *local = c->local + (size_t)thread * (SAMBA_LOCAL_BYTES / sizeof(float));

    bool checked = c->task->found && c->task->args.phase == 0;
    int64_t part = checked && samba__is_flat(c->task) ? 1 : c->part;
    bool by_parts = (c->n > 1 || checked) && part > 0;
    if (by_parts) {
        int64_t step = samba__max64(1, SAMBA__PART / part);
        for (int64_t at = begin; at < end; at += step) {
            int64_t next = samba__min64(at + step, end);
            samba__run_part(c, 0, at * part, samba__min64(next * part, c->count), 1, 0, local);
        }
        return;
    }

    samba_args a = c->task->args;
    a.begin = begin;
    a.end = end;
    a.local = local;
    samba__run_kernel(c->task->op, &a);
}

/* How many units a worker takes at a time: enough to be worth waking a thread, few enough to share
   the work evenly. Results do not depend on it. */
SAMBA__FN int64_t samba__grain_of(int64_t flops, int64_t units)
{
    int64_t per_unit = flops / samba__max64(1, units);
    return samba__max64(1, samba__ceil_div(SAMBA__GRAIN_FLOPS, samba__max64(1, per_unit)));
}

/* Phase 0 of all tasks. */
SAMBA__FN void samba__run_first_phase(samba__group *c, samba__pool *pool)
{
    int64_t flops = 0, units = c->task->work->units[0];
    for (int32_t k = 0; k < c->n; k++)
        flops += c->task[k].work->flops;

    bool fused = c->n > 1;
    if (fused && c->part > 0) units = samba__ceil_div(c->count, c->part);
    if ((fused || c->task->found) && c->part < 0) c->task->args.epilogue = samba__run_epilogue;
    c->task->args.group = c;
    SAMBA_ASSERT(!fused || c->part != 0); /* ops of a group share parts */

    int64_t grain = samba__grain_of(flops, units);
    if (c->task->work->part < 0) grain = samba__max64(grain, samba__tiles_at_once(units, pool));
    samba__pool_run(pool, samba__run_units, c, units, grain);
}

/* The phases of one task after its first: they read what all units of the phase before made. */
SAMBA__FN void samba__run_later_phases(const samba__group *c, samba__task *t, samba__pool *pool)
{
    const int32_t *fault = &t->args.fault[SAMBA__FAULT_SET];
    samba__group alone = *c;
    alone.task = t;
    alone.n = 1;

    for (int32_t phase = 1; phase < t->work->n_phases && !*fault; phase++) {
        int64_t units = t->work->units[phase];
        t->args.phase = phase;
        samba__pool_run(pool, samba__run_units, &alone, units,
                        samba__grain_of(t->work->flops, units));
    }
}

/* Runs a fused group, or a single op: nodes of a PEF and eager calls alike. False: a fault. */
SAMBA__FN bool samba__run_group(samba__group *c, samba__pool *pool)
{
    const int32_t *fault = &c->task->args.fault[SAMBA__FAULT_SET];
    SAMBA_ASSERT(c->n >= 1 && c->n <= SAMBA__GROUP_TASKS && !*fault);
    samba__run_first_phase(c, pool);
    for (int32_t k = 0; k < c->n; k++) {
        samba__run_later_phases(c, &c->task[k], pool);
        if (c->task[k].found && !*fault) samba__check_rest(&c->task[k], pool);
    }
    return !*fault;
}

/* Runs one op by itself. */
SAMBA__FN bool samba__run_op(const samba_op *op, const samba_args *a, const samba_work *w,
                             samba__pool *pool, float *local)
{
    samba__task t;
    samba__group c;
    t.op = op;
    t.work = w;
    t.args = *a;
    t.found = NULL;

    c.task = &t;
    c.n = 1;
    c.part = c.count = 0;
    c.local = local;
    return samba__run_group(&c, pool);
}

/* ---- Which nodes are fused ---- */
/* What a node reads or writes. */
typedef struct samba__operand {
    const uint8_t *begin, *end;
    size_t size; /* of an element, if parts are read or made of it; else 0 */
    bool written;
} samba__operand;

/* Operand k of node i: inputs, outputs, scratch. */
SAMBA__FN samba__operand samba__operand_at(const samba_runtime *rt, uint32_t i, int32_t k,
                                           int64_t count)
{
    samba__operand o = { NULL, NULL, 0, false };
    samba__call_record r = samba__record_at(&rt->pef, i);
    uint32_t word = k < r.n_in + r.n_out ? samba__word(&r, k) : r.scratch;
    if (!word) return o;

    samba__symbol s = samba__symbol_at(&rt->pef, word - 1);
    bool parts = k == r.n_in || (k < r.n_in && rt->steps[i].work.part > 0);
    o.begin = (const uint8_t *)rt->data[word - 1];
    o.end = o.begin + samba__symbol_bytes(&rt->pef, &s);
    if (parts && !s.per_microbatch && samba_count(&s.spec.shape) == count)
        o.size = samba_dtype_size(s.spec.dtype);
    o.written = k >= r.n_in;
    return o;
}

SAMBA__FN samba__operand samba__output_at(const samba_runtime *rt, uint32_t i, int64_t count)
{
    return samba__operand_at(rt, i, samba__record_at(&rt->pef, i).n_in, count);
}

/* Two nodes may be fused if for each pair of their operands of which at least one is written: they
   are the same memory, walked element by element, or do not overlap. */
SAMBA__FN bool samba__share_safely(const samba_runtime *rt, uint32_t i, uint32_t j, int64_t count)
{
    samba__call_record a = samba__record_at(&rt->pef, i), b = samba__record_at(&rt->pef, j);
    for (int32_t k = 0; k <= a.n_in + a.n_out; k++) {
        samba__operand x = samba__operand_at(rt, i, k, count);
        for (int32_t l = 0; l <= b.n_in + b.n_out; l++) {
            samba__operand y = samba__operand_at(rt, j, l, count);
            bool apart = x.end <= y.begin || y.end <= x.begin || !(x.written || y.written);
            bool same = x.begin == y.begin && x.size == y.size && x.size > 0;
            if (!apart && !same) return false;
        }
    }
    return true;
}

/* May node i be the epilogue of a product whose output is x, and which makes y? It must work in the
   place of the product: the rows of a tile are far apart, and a second output beside them would
   drive the operands of the product from the cache. And its kernel must walk these rows, as those
   of elementwise ops do; part is 1 for softmax or a norm, too, where rows have one element. */
SAMBA__FN bool samba__can_be_epilogue(const samba_runtime *rt, uint32_t i, const samba__operand *x,
                                      const samba__operand *y)
{
    bool elementwise = samba__class_of(rt->steps[i].op) == SAMBA__IS_ELEMENTWISE;
    return elementwise && rt->steps[i].work.part == 1 && y->begin == x->begin;
}

/* Can node i join the fused group of the nodes from `first` on? */
SAMBA__FN bool samba__can_fuse(samba_runtime *rt, uint32_t first, uint32_t i)
{
    samba__step *head = &rt->steps[first];
    int64_t part = rt->steps[i].work.part, whole = samba__max64(part, head->part);
    if (rt->steps[i].view) return true;
    if (part < 1 || head->part == 0 || whole % part || whole % head->part) return false;

    samba__operand x = samba__output_at(rt, first, head->count);
    samba__operand y = samba__output_at(rt, i, head->count);
    bool behind = head->part > 0 || samba__can_be_epilogue(rt, i, &x, &y);
    if (!behind || !y.size) return false;

    for (uint32_t j = first; j < i; j++)
        if (!rt->steps[j].view && !samba__share_safely(rt, j, i, head->count)) return false;
    if (head->part > 0) head->part = whole;
    return true;
}

/* Fuses the nodes of a section that follow each other. */
SAMBA__FN void samba__find_groups(samba_runtime *rt, const samba__section *q)
{
    SAMBA_ASSERT(q->first < q->end && q->end <= rt->pef.n_nodes);
    for (uint32_t i = q->first; i < q->end; i += rt->steps[i].group) {
        SAMBA_ASSERT(i < q->end);
        samba__step *head = &rt->steps[i];
        samba__call_record r = samba__record_at(&rt->pef, i);
        samba__symbol y = samba__symbol_at(&rt->pef, samba__word(&r, r.n_in) - 1);

        head->part = head->work.part;
        head->count = samba_count(&y.spec.shape);
        head->group = 1;
        while (!head->view && head->group < SAMBA__GROUP_TASKS && i + head->group < q->end
               && samba__can_fuse(rt, i, i + head->group))
            head->group++;
    }
}

/* ---- Which op made the first value that is not finite? ---- */
/* Which values that are not finite were found: their lowest elements are NaN, infinity, minus
   infinity. */
SAMBA__FN uint32_t samba__kinds_of(const samba__lowest first[3])
{
    uint32_t kinds = first[0] < SAMBA__NOWHERE ? SAMBA__NAN_IN : 0;
    if (first[1] < SAMBA__NOWHERE || first[2] < SAMBA__NOWHERE) kinds |= SAMBA__INF_IN;
    return kinds;
}

/* Which op before node `node` made symbol *word - 1, looking through views; -1: it is a leaf. */
SAMBA__FN int64_t samba__maker_of(const samba_runtime *rt, uint32_t node, uint32_t *word)
{
    for (uint32_t i = node; i-- > 0;) {
        samba__call_record r = samba__record_at(&rt->pef, i);
        bool makes = false;
        for (int32_t o = 0; o < r.n_out; o++)
            makes = makes || samba__word(&r, r.n_in + o) == *word;
        if (!makes) continue;
        if (!rt->steps[i].view) return i;
        *word = samba__word(&r, 0);
    }
    return -1;
}

/* Notes in first which elements of input k are not finite now. */
SAMBA__FN void samba__note_input(const samba__task *t, int32_t k, samba__lowest first[3])
{
    const samba_spec *spec = &t->args.in_spec[k];
    const uint8_t *x = (const uint8_t *)t->args.in[k];
    int64_t count = samba_count(&spec->shape);
    if (samba__set_of(t->args.isa)->has_nonfinite(x, count, spec->dtype))
        samba__note_nonfinite(first, x, 0, count, spec->dtype);
}

/* What input k of node i has. Of a leaf, first gets where. Of what the op has overwritten, that is
   known of state; the rest was finite, or the op before would have been found. */
SAMBA__FN uint32_t samba__input_kinds(const samba_runtime *rt, const samba__task *t, uint32_t i,
                                      int32_t k, samba__lowest first[3])
{
    samba__call_record r = samba__record_at(&rt->pef, i);
    uint32_t word = samba__word(&r, k);
    const samba_spec *spec = &t->args.in_spec[k];
    first[0] = first[1] = first[2] = SAMBA__NOWHERE;
    if (!word || !samba__is_float(spec->dtype)) return 0;

    int64_t maker = samba__maker_of(rt, i, &word);
    if (maker >= 0) return rt->steps[maker].made;

    int32_t over = samba__output_over(&t->args, k);
    if (over >= 0)
        memcpy(first, t->found->before[over], sizeof t->found->before[over]);
    else
        samba__note_input(t, k, first);

    /* An infinite hyperparameter is a mistake. */
    bool meant = samba__symbol_at(&rt->pef, word - 1).role != SAMBA__ARGIN;
    return samba__kinds_of(first) & (meant ? ~0u : (uint32_t)~SAMBA__INF_IN);
}

/* The range of input k of task n of a fused group. A later task may have overwritten the input;
   then the range is what it noted before. */
SAMBA__FN samba_range samba__input_range(const samba__group *c, int32_t n, int32_t k)
{
    const samba_args *a = &c->task[n].args;
    samba_range range = { NULL, SAMBA__INF, -SAMBA__INF, false };
    if (!a->in[k]) return range;

    for (int32_t j = n; j < c->n; j++) {
        const samba__findings *f = c->task[j].found;
        if (f->overwritten >= 0 && c->task[j].args.in[f->overwritten] == a->in[k]) {
            range.min = samba__ranked(f->least);
            range.max = samba__ranked(-1 - f->most);
            range.known = range.min <= range.max;
            return range;
        }
        for (int32_t o = 0; o < c->task[j].args.n_out; o++)
            if (c->task[j].args.out[o] == a->in[k]) return range;
    }

    samba_dtype type = a->in_spec[k].dtype;
    int64_t count = samba_count(&a->in_spec[k].shape);
    for (int64_t i = 0; i < count; i++) {
        float x;
        samba__load(&x, (const uint8_t *)a->in[k] + (size_t)i * samba_dtype_size(type), type, 1);
        if (x < range.min) range.min = x;
        if (x > range.max) range.max = x;
    }
    range.known = range.min <= range.max;
    return range;
}

/* Names the culprit: task n of the group, which is node i. It made the first value that is not
   finite, in output `out`; or, if leaf is not -1, read it in that input, which no op makes. */
SAMBA__FN void samba__record_culprit(samba_runtime *rt, const samba__group *c, int32_t n,
                                     uint32_t i, int32_t leaf, const samba__lowest first[3],
                                     int32_t out)
{
    samba_culprit *q = rt->culprit;
    samba__call_record r = samba__record_at(&rt->pef, i);
    uint32_t word = samba__word(&r, leaf >= 0 ? leaf : r.n_in + out);
    const float value[3] = { SAMBA__NAN, SAMBA__INF, -SAMBA__INF };

    int which = 0; /* of a leaf it is NaN, if it has one */
    memset(q, 0, sizeof *q);
    if (leaf < 0 || first[0] == SAMBA__NOWHERE) {
        for (int k = 1; k < 3; k++)
            if (first[k] < first[which]) which = k;
    }

    if (leaf >= 0) (void)samba__maker_of(rt, i, &word);
    q->tensor = rt->pef.strings + samba__symbol_at(&rt->pef, word - 1).name;
    q->element = first[which];
    q->value = value[which];
    q->node = rt->pef.strings + r.name;
    q->op = rt->steps[i].op->name;
    q->leaf = leaf >= 0;
    q->microbatch = (int32_t)rt->microbatch;

    for (uint32_t id = 0; id < rt->pef.n_sections; id++) {
        samba__section section = samba__section_at(&rt->pef, id);
        if (i < section.first || i >= section.end) continue;
        q->section = (int32_t)id;
        q->section_type = samba__type_name(section.type);
    }

    q->n_in = r.n_in;
    for (int32_t k = 0; k < r.n_in; k++) {
        q->in[k] = samba__input_range(c, n, k);
        if (!samba__word(&r, k)) continue;
        samba__symbol in = samba__symbol_at(&rt->pef, samba__word(&r, k) - 1);
        q->in[k].name = rt->pef.strings + in.name;
    }

    rt->fault[SAMBA__FAULT_SET] = SAMBA__FAULT_NONFINITE;
    rt->fault_node = i;
}

/* Which values that are not finite the op of a task turns into others, of those in its input k.
   Those that only choose, or whose result shows what they read, do to none. */
SAMBA__FN uint32_t samba__swallows(const samba__task *t, int32_t k)
{
    static const int32_t ops[] = { SAMBA__OP_eq, SAMBA__OP_ne, SAMBA__OP_lt,  SAMBA__OP_le,
                                   SAMBA__OP_gt, SAMBA__OP_ge, SAMBA__OP_pow, SAMBA__OP_argmax };
    const samba_args *a = &t->args;
    bool asks_for_nan = a->n_in == 2 && a->in[0] == a->in[1];

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (samba__is(t->op, ops[i])) return asks_for_nan ? 0 : SAMBA__NAN_IN;
    if (samba__is(t->op, SAMBA__OP_where)) return k == 0 ? SAMBA__NAN_IN : 0;

    bool rounds = samba__is(t->op, SAMBA__OP_cast) || samba__is(t->op, SAMBA__OP_quantize);
    if (!rounds || samba__is_float(a->out_spec[0].dtype)) return 0;
    return a->out_spec[0].dtype == SAMBA_BOOL ? SAMBA__NAN_IN : SAMBA__NAN_IN | SAMBA__INF_IN;
}

/* Is there nothing among the inputs of task n of a group, node i, that vanishes in it? */
SAMBA__FN bool samba__check_vanishing(samba_runtime *rt, const samba__group *c, int32_t n,
                                      uint32_t i)
{
    const samba__task *t = &c->task[n];
    samba__lowest first[3];

    for (int32_t k = 0; k < t->args.n_in; k++) {
        uint32_t lost = samba__swallows(t, k);
        if (lost) lost &= samba__input_kinds(rt, t, i, k, first);
        if (!lost) continue;
        if (first[0] == SAMBA__NOWHERE) samba__note_input(t, k, first);
        if (!samba__kinds_of(first)) continue; /* it is overwritten */

        samba__call_record r = samba__record_at(&rt->pef, i);
        uint32_t word = samba__word(&r, k);
        samba__record_culprit(rt, c, n, i, k, first, 0);
        rt->culprit->leaf = samba__maker_of(rt, i, &word) < 0;
        rt->culprit->vanishes = true;
        return false;
    }
    return true;
}

/* Are all values that task n of a group, node i, made finite, or not its doing? */
SAMBA__FN bool samba__check_task(samba_runtime *rt, const samba__group *c, int32_t n, uint32_t i)
{
    const samba__task *t = &c->task[n];
    uint32_t made = 0, got = 0;
    samba__lowest first[3];

    for (int32_t o = 0; o < t->args.n_out; o++)
        made |= samba__kinds_of(t->found->first[o]);
    rt->steps[i].made = (uint8_t)made;
    if (!(made & SAMBA__NAN_IN) && !samba__check_vanishing(rt, c, n, i)) return false;
    if (!made) return true;

    for (int32_t k = 0; k < t->args.n_in; k++) {
        uint32_t kinds = samba__input_kinds(rt, t, i, k, first);
        got |= kinds;
        if (!(kinds & SAMBA__NAN_IN) || first[0] == SAMBA__NOWHERE) continue;
        samba__record_culprit(rt, c, n, i, k, first, 0);
        return false;
    }

    bool new_nan = (made & SAMBA__NAN_IN) && !(got & SAMBA__NAN_IN);
    bool constant = t->args.n_in == 0; /* samba_full: as asked for */
    for (int32_t k = 0; k < t->args.n_attr; k++)
        constant = constant || samba__abs(samba_attr_float(t->args.attr[k])) == SAMBA__INF;
    bool new_inf = (made & SAMBA__INF_IN) && !got && !constant;
    if (!new_nan && !new_inf) return true;

    for (int32_t o = 0; o < t->args.n_out; o++) {
        const samba__lowest *found = t->found->first[o];
        for (int k = 0; k < 3; k++)
            first[k] = k == 0 || new_inf ? found[k] : SAMBA__NOWHERE;
        if (!samba__kinds_of(first)) continue;
        samba__record_culprit(rt, c, n, i, -1, first, o);
        return false;
    }

    return true;
}

/* Notes what is not finite in a tensor of the program, such as running statistics or a cache, that
   node i is about to overwrite. A step's state is looked at part by part: see samba__note_state. */
SAMBA__FN void samba__note_kept(const samba_runtime *rt, const samba__task *t, uint32_t i)
{
    samba__call_record r = samba__record_at(&rt->pef, i);
    for (int32_t k = 0; k < t->args.n_in && !samba__is_flat(t); k++) {
        int32_t o = samba__output_over(&t->args, k);
        uint32_t word = samba__word(&r, k);
        if (o < 0 || samba__symbol_at(&rt->pef, word - 1).role >= SAMBA__TEMP) continue;
        int64_t count = samba_count(&t->args.out_spec[o].shape);
        samba__check_memory(t, o, 0, count, t->found->before[o]);
    }
}

/* Runs the group that begins with node i, and checks what it made. */
SAMBA__NOINLINE bool samba__run_checked(samba_runtime *rt, samba__group *c, uint32_t i)
{
    samba__findings found[SAMBA__GROUP_TASKS];
    uint32_t node = i;
    for (int32_t k = 0; k < c->n; node++) {
        if (rt->steps[node].view) continue;
        samba__begin_findings(&found[k], &c->task[k]);
        samba__note_kept(rt, &c->task[k], node);
        k++;
    }

    if (!samba__run_group(c, rt->pool)) return false;
    for (int32_t k = 0; k < c->n; i++) {
        if (rt->steps[i].view) continue;
        if (!samba__check_task(rt, c, k, i)) return false;
        k++;
    }
    return true;
}

SAMBA__FN void samba__open_task(samba_runtime *rt, uint32_t i, samba__task *t, samba_spec *spec,
                                int32_t *attr)
{
    memset(&t->args, 0, sizeof t->args);
    memset(attr, 0, SAMBA_MAX_ATTR * sizeof *attr);
    samba__open_args(rt, i, &t->args, spec, attr);
    t->op = rt->steps[i].op;
    t->work = &rt->steps[i].work;
    t->found = NULL;
}

/* How many nodes run together: one, if somebody watches. */
SAMBA__FN uint32_t samba__nodes_of(const samba_runtime *rt, uint32_t i)
{
    return rt->on_node ? 1 : rt->steps[i].group;
}

/* Runs node i by itself, and tells the session's observer before and after. */
SAMBA__NOINLINE bool samba__run_watched(samba_runtime *rt, uint32_t i)
{
    samba__task task;
    samba_spec spec[SAMBA_MAX_IN + SAMBA_MAX_OUT];
    int32_t attr[SAMBA_MAX_ATTR];
    const samba__step *step = &rt->steps[i];
    const char *name = rt->pef.strings + samba__record_at(&rt->pef, i).name;
    samba__group c;

    samba__open_task(rt, i, &task, spec, attr);
    c.task = &task;
    c.n = 1;
    c.local = rt->local;
    c.part = step->work.part;
    c.count = samba_count(&task.args.out_spec[0].shape);

    rt->fault_node = i;
    rt->on_node((int32_t)i, name, step->op, &task.args, true, rt->node_user);
    samba__enter_float_mode(); /* the observer may have changed it */

    bool fine = true;
    if (!step->view)
        fine = rt->culprit ? samba__run_checked(rt, &c, i) : samba__run_group(&c, rt->pool);

    rt->on_node((int32_t)i, name, step->op, &task.args, false, rt->node_user);
    samba__enter_float_mode();
    return fine;
}

/* Runs the fused group that begins with node i. */
SAMBA__FN bool samba__run_node(samba_runtime *rt, uint32_t i)
{
    samba__task task[SAMBA__GROUP_TASKS];
    samba_spec spec[SAMBA__GROUP_TASKS][SAMBA_MAX_IN + SAMBA_MAX_OUT];
    int32_t attr[SAMBA__GROUP_TASKS][SAMBA_MAX_ATTR];
    samba__group c;
    if (rt->on_node) return samba__run_watched(rt, i);

    c.task = task;
    c.n = 0;
    c.local = rt->local;
    c.part = rt->steps[i].part;
    c.count = rt->steps[i].count;
    for (uint32_t k = i; k < i + rt->steps[i].group; k++) {
        if (rt->steps[k].view) continue;
        SAMBA_ASSERT(c.n < SAMBA__GROUP_TASKS);
        samba__task *t = &task[c.n];
        samba__open_task(rt, k, t, spec[c.n], attr[c.n]);
        c.n++;
    }

    rt->fault_node = i;
    if (c.n == 0) return true;
    return rt->culprit ? samba__run_checked(rt, &c, i) : samba__run_group(&c, rt->pool);
}

SAMBA__FN bool samba__run_nodes(samba_runtime *rt, const samba__section *q)
{
    for (uint32_t i = q->first; i < q->end; i += samba__nodes_of(rt, i))
        if (!samba__run_node(rt, i)) return false;
    return true;
}

