/* ==== [values] ================================================================================ */
/* Where the value of a tensor t is. The program may have it, on the device; and the host may, at
   t->data. What says so is in t->value:

     state          host       device     what says so
     outside        the value  -          t->symbol < 0: the program does not use it
     never given    -          zeros      not .given: a run that reads such an input is refused
     on the device  -          the value  .given and no data
     both           the value  the value  .settled and .hash is that of data: an edit of data, which
                                          nobody tells, changes the hash
     edited         newer      older      .given, but not .settled, or another hash
     stale          older      newer      as both, but .copied is not 1 + runs: a run may have
                                          changed it since (samba_is_stale)
     withheld       the value  -          .withheld: samba_set_transfer keeps it from the device
     to be given    -          -          .not_given: samba_set_output_grads wants it to be written

   What moves a value:

     samba__put_value     to the device: samba_write, feeds, samba_set; withheld and to be given end
     samba__send_newer    to the device, if it is edited or withheld: samba_send_state,
                          samba_to_device, and feeds without data
     samba_cpu            to the host; both have it then
     samba__push_values   to the device, when a program is attached; owned copies are freed
     samba__pull_values   to the host, where compiling looks: state, argins and inputs; both have it
     samba__take_values   to the host, when a program goes: all that is kept */

/* ---- Host copies: which is newer, the host's or the device's? ---- */
SAMBA__FN uint64_t samba__hash_data(const samba_tensor *t)
{
    return samba__hash(t->data, samba__copy_bytes(t), 0);
}

/* The host copy of t is now as new as the value on the device, or older. From here on it is the
   newer one only if it is edited. C tells nobody of a store through a pointer, so its hash does:
   one pass over the bytes, a fraction of the copy's own time. What the program computes is never
   sent from a list and needs none. */
SAMBA__FN void samba__settle(samba_tensor *t)
{
    t->value.settled = t->data && t->role != SAMBA__OUTPUT && t->role != SAMBA__TEMP
        && t->role != SAMBA__CONSTANT;
    if (t->value.settled) t->value.hash = samba__hash_data(t);
}

SAMBA__FN size_t samba__device_size(const samba_tensor *t)
{
    samba__symbol q = samba__symbol_at(&t->session->program.rt->pef, (uint32_t)t->symbol);
    return (size_t)samba__symbol_bytes(&t->session->program.rt->pef, &q);
}

SAMBA_API size_t samba_bytes(const samba_tensor *t)
{
    if (!t) return 0;
    return t->session->program.rt && t->symbol >= 0 ? samba__device_size(t) : samba__copy_bytes(t);
}

/* Copies a value of t, which is a transfer if the device has t. */
SAMBA__FN void samba__transfer(const samba_tensor *t, void *to, const void *from, const char *name)
{
    if (t->symbol >= 0) samba__begin(t->session, name);
    memcpy(to, from, samba_bytes(t));
    if (t->symbol >= 0) samba__end(t->session, name, true);
}

/* Has t a host copy that the program can take? */
SAMBA__FN bool samba__can_send(const samba_tensor *t, const char *what)
{
    samba_session *s = t->session;
    if (t->symbol < 0)
        return samba_fail(s, SAMBA_ESTATE, "in %s(%s): the program does not use it", what, t->name);
    if (!t->data)
        return samba_fail(s, SAMBA_ESTATE,
                          "in %s(%s): it has no host copy; call samba_cpu or make it with data",
                          what, t->name);

    if (samba_bytes(t) == samba__copy_bytes(t)) return true;
    return samba_fail(s, SAMBA_ESTATE,
                      "in %s(%s): the program wants all microbatches, %l bytes; use samba_write",
                      what, t->name, (int64_t)samba_bytes(t));
}

/* Symbol i of the program is given a value now, which may be the one that it has. What the program
   computes counts as given in any case: its section need not run then. */
SAMBA__FN void samba__note_value(samba_session *s, uint32_t i, const void *value, size_t size)
{
    samba__symbol q = samba__symbol_at(&s->program.rt->pef, i);
    bool computed = q.role == SAMBA__OUTPUT || q.role == SAMBA__GRADIENT;
    if (!computed && !memcmp(s->program.rt->data[i], value, size)) return;
    s->program.history.edited[i] = ++s->program.history.now;
}

/* What the sections of the program do with output `symbol`: does one of them that has run make it,
   and does another one than its maker read it? */
typedef struct samba__output_use {
    bool has_maker, made, read;
} samba__output_use;

SAMBA__FN samba__output_use samba__use_of_output(const samba_runtime *rt, uint32_t symbol)
{
    samba__output_use use = { false, false, false };
    uint32_t word = samba__base_word(&rt->pef, symbol + 1);

    for (uint32_t i = 0; i < rt->pef.n_sections; i++) {
        samba__section q = samba__section_at(&rt->pef, i);
        bool makes = false, reads = false, ran = false;
        for (uint32_t node = q.first; node < q.end; node++) {
            samba__call_record r = samba__record_at(&rt->pef, node);
            for (int32_t k = 0; k < r.n_in + r.n_out; k++) {
                if (samba__base_word(&rt->pef, samba__word(&r, k)) != word) continue;
                makes = makes || k >= r.n_in;
                reads = reads || k < r.n_in;
                ran = ran || rt->steps[node].has_run;
            }
        }

        use.has_maker = use.has_maker || makes;
        use.made = use.made || (makes && ran);
        use.read = use.read || (reads && !makes);
    }
    return use;
}

/* Tells, once, that t is read before a run has computed it, or written though a run computes it. */
SAMBA__FN void samba__warn_of_output(samba_tensor *t, const char *what, bool writes)
{
    const samba_session *s = t->session;
    bool known = writes ? t->value.overwritten : t->value.computed;
    if (known || !s->program.rt || t->symbol < 0) return;
    samba__symbol q = samba__symbol_at(&s->program.rt->pef, (uint32_t)t->symbol);
    if (q.role != SAMBA__OUTPUT) return;

    samba__output_use use = samba__use_of_output(s->program.rt, (uint32_t)t->symbol);
    bool given = s->program.history.edited[t->symbol] != 0;
    if (writes) t->value.overwritten = true;
    if (!writes) t->value.computed = use.made || given || !use.has_maker;

    if (!writes && !t->value.computed)
        samba__warn(t->session, "in %s(%s): no run has computed it yet, so it is 0", what, t->name);
    if (writes && use.has_maker && !use.read)
        samba__warn(
            t->session,
            "in %s(%s): the program computes it, and no other section reads it: the next run overwrites what is written here",
            what, t->name);
}

/* Gives t the value data. */
SAMBA__FN void samba__put_value(samba_tensor *t, const void *data)
{
    samba_session *s = t->session;
    t->value.withheld = t->value.not_given = false;
    if (s->program.rt && t->symbol >= 0)
        samba__note_value(s, (uint32_t)t->symbol, data, samba_bytes(t));
    samba__transfer(t, samba__value_of(t), data, "PyRT_SET_TENSORS");
    if (s->program.rt && t->symbol >= 0 && t->role == SAMBA__GRADIENT)
        samba__note_gradient(s->program.rt);
    t->value.given = true;
    t->value.copied = data == t->data ? s->program.runs + 1 : 0;
}

SAMBA__FN bool samba__fail_not_given(const samba_tensor *t, const char *what)
{
    return samba_fail(
        t->session, SAMBA_ESTATE,
        "in %s: %s %T %S, the gradient of a loss, was not given a value (samba_set_output_grads): give it by samba_write, or as a feed",
        what, t->name, (int)t->dtype, &t->shape);
}

/* Sends the host copy of t if it is newer than the device's value; also if nobody knows. */
SAMBA__FN bool samba__send_newer(samba_tensor *t, const char *what)
{
    if (t->value.withheld && !samba__own_data(t)) return false;
    if (!t->data) return true;
    uint64_t hash = samba__hash_data(t);
    if (t->value.settled && t->value.hash == hash) return true;
    if (!samba__can_send(t, what)) return false;

    samba__put_value(t, t->data);
    t->value.settled = true;
    t->value.hash = hash;
    return true;
}

/* ---- Writing and reading ---- */
/* A hyperparameter that is written as a tensor, or fed, keeps to its range as by samba_set. The
   gradient of a loss may be any value. */
SAMBA__FN bool samba__check_scalar(const samba_tensor *t, const char *what, const void *data)
{
    float value;
    if (t->role != SAMBA__ARGIN || t->dtype != SAMBA_F32) return true;
    if (t->argin == SAMBA__ARGIN_GRAD) return true;
    memcpy(&value, data, sizeof value);
    return samba__check_hyperparam(t->session, what, t->argin, t->name, (double)value);
}

/* What the loaded program has under the name <base>__<part>; NULL: nothing. */
SAMBA__FN const samba_tensor *samba__loaded_part(const samba_tensor *base, const char *part)
{
    char buffer[256];
    const char *name
        = samba__print_name(base->session, buffer, sizeof buffer, "%s__%s", base->name, part);
    const samba_tensor *t = name ? samba__named(base->session, name) : NULL;
    return t && t->symbol >= 0 ? t : NULL;
}

/* The int8 weights of a product that reads t: itself, as fake_quantize_weight made it, or as what
   batch_norm does behind the product. */
SAMBA__FN const samba_tensor *samba__int8_of_reader(const samba_tensor *t, bool direct)
{
    samba_session *s = t->session;
    const samba_tensor *form = NULL;
    for (int32_t i = 0; !form && i < samba__n_nodes(s); i++) {
        const samba__node *n = s->trace.nodes[i];
        bool reads = false;
        for (int32_t k = 0; k < n->n_in; k++)
            reads = reads || n->in[k] == t;
        if (!reads) continue;

        form = samba__loaded_part(n->out[0], SAMBA__INT8_WEIGHTS);
        if (!form && n->in[0]) form = samba__loaded_part(n->in[0], SAMBA__INT8_WEIGHTS);
        if (!form && direct) form = samba__int8_of_reader(n->out[0], false);
    }
    return form;
}

/* A parameter that the loaded program has packed, or as int8 among its products: in a form that was
   made of the value of then. NULL: no such form. */
SAMBA__FN const samba_tensor *samba__form_in_program(const samba_tensor *w)
{
    const samba_tensor *form = NULL;
    if (!w->session->program.rt || w->symbol >= 0 || w->role == SAMBA__INPUT) return NULL;
    for (size_t i = 1; !form && i < sizeof samba__packing / sizeof *samba__packing; i++)
        form = samba__loaded_part(w, samba__packing[i].name);
    return form ? form : samba__int8_of_reader(w, true);
}

SAMBA__FN bool samba__check_form(const samba_tensor *t, const char *what)
{
    const samba_tensor *form = t->session->modes.tracing ? NULL : samba__form_in_program(t);
    if (!form) return true;
    return samba_fail(
        t->session, SAMBA_ESTATE,
        "in %s(%s): the loaded program has it as %s, made of the value it had when the program was compiled, and would not see this one; call samba_set_tracing(s, true), write it, and compile again",
        what, t->name, form->name);
}

/* what: the function that was called. */
SAMBA__FN bool samba__write(samba_tensor *t, const char *what, const void *data)
{
    if (!t || !samba_ok(t->session)) return false;
    samba_session *s = t->session;
    if (!data) return samba_fail(s, SAMBA_EARG, "in %s(%s): data is NULL", what, t->name);
    if (t->symbol < 0 && t->node && t->role == SAMBA__TEMP)
        return samba_fail(s, SAMBA_ESTATE, "in %s(%s): it is computed by %s and cannot be written",
                          what, t->name, t->node->op->name);

    if (!samba__check_scalar(t, what, data) || !samba__check_form(t, what)) return false;
    if (t->symbol < 0 && !samba__own_room(t)) return false;
    if (!samba__in_reach(t)) return false;

    if (t->role == SAMBA__OUTPUT || t->role == SAMBA__TEMP) samba__warn_of_output(t, what, true);
    samba__put_value(t, data);
    if (t->symbol >= 0) samba__settle(t);
    return true;
}

SAMBA_API bool samba_write(samba_tensor *t, const void *data)
{
    return samba__write(t, "samba_write", data);
}

SAMBA_API bool samba_write_bytes(samba_tensor *t, const void *data, size_t bytes)
{
    if (!t || !samba_ok(t->session)) return false;
    if (data && bytes != samba_bytes(t))
        return samba_fail(t->session, SAMBA_ESHAPE,
                          "in samba_write_bytes(%s): it is %T %S and takes %l bytes; %l were given",
                          t->name, (int)t->dtype, &t->shape, (int64_t)samba_bytes(t),
                          (int64_t)bytes);
    return samba__write(t, "samba_write_bytes", data);
}

/* What a loop over the values of t may read after an error: 4 bytes for each of its elements. */
SAMBA__FN const void *samba__zeros_for(samba_tensor *t)
{
    static const float few[4096] = { 0.0f };
    if (!t) return few;

    samba_session *s = t->session;
    size_t size = samba__mul_size(samba_bytes(t) / samba_dtype_size(t->dtype), sizeof *few);
    if (size <= sizeof few) return few;

    if (size > s->errors.zeros_size) { /* who has a smaller block keeps it */
        void *more = samba__arena_alloc(s, size);
        if (!more) return samba_dtype_size(t->dtype) < sizeof *few ? NULL : samba__place_of(t);
        s->errors.zeros = more;
        s->errors.zeros_size = size;
    }
    return s->errors.zeros;
}

/* Is t a loss that has a gradient which can be given? */
SAMBA__FN bool samba__seeds(const samba_tensor *t)
{
    const samba_tensor *g = t->grad;
    return g && g->symbol >= 0 && t->symbol >= 0 && g->dtype == SAMBA_F32
        && (g->role == SAMBA__INPUT || g->role == SAMBA__ARGIN);
}

/* Bits of a float: is it an infinity or a NaN? The caller may trap what arithmetic would raise. */
SAMBA__FN bool samba__is_nonfinite(uint32_t bits)
{
    return (bits & 0x7f800000u) == 0x7f800000u;
}

SAMBA__FN bool samba__is_nan(uint32_t bits)
{
    return samba__is_nonfinite(bits) && (bits & 0x007fffffu);
}

/* Tells once of a session that a loss which a program reads is not finite, and what finds why.
   Other scalars may be infinite for a reason, but not NaN. */
SAMBA__FN void samba__look_at_loss(const samba_tensor *t, const void *value)
{
    samba_session *s = t->session;
    const uint32_t *x = (const uint32_t *)value;
    if (s->errors.told_nonfinite || s->desc.check_finite || !x || t->dtype != SAMBA_F32) return;
    if (t->symbol < 0 || s->program.runs == 0) return;

    bool scalar = t->shape.ndim == 0 && t->role == SAMBA__OUTPUT;
    if (scalar && !samba__is_nonfinite(x[0])) return; /* as nearly always: nothing else is asked */
    bool loss = samba__seeds(t);
    if (!loss && !scalar) return;

    int64_t n = scalar ? 1 : (int64_t)(samba_bytes(t) / sizeof *x), i = 0;
    while (i < n && !(loss ? samba__is_nonfinite(x[i]) : samba__is_nan(x[i])))
        i++;
    if (i == n) return;

    s->errors.told_nonfinite = true;
    samba__float_mode callers = samba__enter_float_mode();
    samba__warn(
        s,
        "%s is %g after run %l: training has diverged, data or weights are damaged, or no target of the batch counts (labels of -100). samba_set_check_finite(session, true), or .check_finite of samba_desc, stops the next run at the op that makes the first NaN or infinity, and names it",
        t->name, (double)samba__bits_float(x[i]), (int64_t)s->program.runs);
    samba__leave_float_mode(callers);
}

/* The values of t; NULL with an error if they cannot be read as dtype. */
SAMBA__FN const void *samba__readable(samba_tensor *t, samba_dtype dtype, const char *what)
{
    if (!t || !samba_ok(t->session) || !samba__in_reach(t)) return NULL;
    if (t->value.not_given) {
        samba__fail_not_given(t, what);
        return NULL;
    }
    samba__warn_of_output(t, what, false);

    const void *p = samba__value_of(t);
    if (t->dtype != dtype) {
        samba_fail(t->session, SAMBA_EDTYPE, "in %s(%s): it is %T, not %T; use samba_copy_out",
                   what, t->name, (int)t->dtype, (int)dtype);
    } else if (!p) {
        samba_fail(
            t->session, SAMBA_ESTATE,
            "in %s(%s): it has no value: list it in program.outputs before compiling, and run FWD",
            what, t->name);
    }

    if (t->dtype == dtype && p) samba__look_at_loss(t, p);
    return t->dtype == dtype ? p : NULL;
}

SAMBA_API const float *samba_read(samba_tensor *t)
{
    const void *p = samba__readable(t, SAMBA_F32, "samba_read");
    return (const float *)(p ? p : samba__zeros_for(t));
}

SAMBA_API const int32_t *samba_read_i32(samba_tensor *t)
{
    const void *p = samba__readable(t, SAMBA_I32, "samba_read_i32");
    return (const int32_t *)(p ? p : samba__zeros_for(t));
}

SAMBA__FN bool samba__copy_out(samba_tensor *t, const char *what, void *data, size_t size)
{
    if (!t || !samba_ok(t->session)) return false;
    bool fits = data && size == samba_bytes(t);
    if (!fits)
        samba_fail(t->session, SAMBA_EARG, "in %s(%s): %l bytes were offered, %l are needed", what,
                   t->name, (int64_t)(data ? size : 0), (int64_t)samba_bytes(t));

    const void *p = samba__readable(t, t->dtype, what);
    if (fits && samba_ok(t->session)) samba__transfer(t, data, p, "PyRT_GET_TENSORS");
    return samba_ok(t->session);
}

SAMBA_API bool samba_copy_out(samba_tensor *t, void *data, size_t size)
{
    return samba__copy_out(t, "samba_copy_out", data, size);
}

SAMBA__FN bool samba__as_f32(samba_tensor *t, const char *what, const float *from, float *to,
                             int64_t n)
{
    if (!t || !samba_ok(t->session)) return false;
    size_t size = samba_dtype_size(t->dtype), bytes = samba_bytes(t);
    if ((!from && !to) || (uint64_t)n != bytes / size)
        return samba_fail(t->session, SAMBA_EARG, "in %s: %s has %l elements; %l were offered",
                          what, t->name, (int64_t)(bytes / size), from || to ? n : 0);

    if (t->dtype == SAMBA_F32)
        return from ? samba__write(t, what, from) : samba__copy_out(t, what, to, bytes);

    void *raw = samba__alloc(t->session, bytes);
    if (raw && from) samba__store(raw, from, t->dtype, n);
    bool fine = raw && (from ? samba__write(t, what, raw) : samba__copy_out(t, what, raw, bytes));
    if (fine && to) samba__load(to, raw, t->dtype, n);
    samba__free(t->session, raw, bytes);
    return fine;
}

SAMBA__FN bool samba__write_f32(samba_tensor *t, const float *data, int64_t n)
{
    return samba__as_f32(t, "samba_write_f32", data, NULL, n);
}

SAMBA_API bool samba_write_f32(samba_tensor *t, const float *data, int64_t n)
{
    samba__float_mode callers = samba__enter_float_mode();
    bool result = samba__write_f32(t, data, n);
    samba__leave_float_mode(callers);
    return result;
}

SAMBA__FN bool samba__copy_out_f32(samba_tensor *t, float *data, int64_t n)
{
    return samba__as_f32(t, "samba_copy_out_f32", NULL, data, n);
}

SAMBA_API bool samba_copy_out_f32(samba_tensor *t, float *data, int64_t n)
{
    samba__float_mode callers = samba__enter_float_mode();
    bool result = samba__copy_out_f32(t, data, n);
    samba__leave_float_mode(callers);
    return result;
}

/* ---- Names ---- */
/* The tensor of symbol i of the program; NULL: it has none. It mostly has the symbol's name. */
SAMBA__FN samba_tensor *samba__tensor_at(samba_session *s, uint32_t i)
{
    const samba__pef *pef = &s->program.rt->pef;
    samba_tensor *t = samba__named(s, pef->strings + samba__symbol_at(pef, i).name);
    if (t && t->symbol == (int32_t)i) return t;

    for (int32_t k = 0; k < samba__n_tensors(s); k++)
        if (s->trace.tensors[k]->symbol == (int32_t)i) return s->trace.tensors[k];
    return NULL;
}

/* The tensor that the program's file calls so: what microbatches make of an output has another name
   there. */
SAMBA__FN samba_tensor *samba__named_in_file(samba_session *s, const char *name)
{
    int32_t i = s->program.rt ? samba__find_symbol(&s->program.rt->pef, name, 0) : -1;
    return i < 0 ? NULL : samba__tensor_at(s, (uint32_t)i);
}

/* The tensor whose name is text without its end; NULL: it has another end, or there is none. */
SAMBA__FN samba_tensor *samba__named_before(samba_session *s, const char *text, const char *end)
{
    size_t n = strlen(text), cut = strlen(end);
    if (n < cut || !samba__same_text(text + n - cut, end)) return NULL;

    char *base = (char *)samba__alloc(s, n + 1);
    if (!base) return NULL;
    memcpy(base, text, n - cut);
    base[n - cut] = 0;
    samba_tensor *t = samba__named(s, base);
    samba__free(s, base, n + 1);
    return t;
}

/* SambaFlow's name of an op's first output, <op>__outputs__0, and of its gradient: here it is
   called like the op. Leaves have no such name. NULL: it is none. */
SAMBA__FN samba_tensor *samba__first_output(samba_session *s, const char *name)
{
    samba_tensor *of_grad = samba__named_before(s, name, "__outputs__0__grad");
    samba_tensor *t = of_grad ? of_grad : samba__named_before(s, name, "__outputs__0");
    if (!t || t->removed || (!t->node && t->role != SAMBA__OUTPUT) || t->out_index) return NULL;
    return of_grad ? t->grad : t;
}

SAMBA_API samba_tensor *samba_tensor_by_name(samba_session *s, const char *name)
{
    if (!samba_ok(s)) return NULL;
    if (!name) {
        samba_fail(s, SAMBA_EARG, "the name of a tensor is NULL");
        return NULL;
    }

    samba_tensor *t = samba__named(s, name);
    bool unused = t && t->generated && t->symbol < 0; /* the compiler has made it for the file */
    samba_tensor *in_file = !t || unused ? samba__named_in_file(s, name) : NULL;
    if (in_file) t = in_file;
    if (!t) t = samba__first_output(s, name);
    if (t && !t->removed) return t;

    if (t)
        samba_fail(
            s, SAMBA_ENAME,
            "tensor %s is unknown: it was taken out of the session by samba_forget_name; keep its handle to use it still",
            name);
    else
        samba__fail_name(s, "tensor", name, 0);
    return NULL;
}

SAMBA_API bool samba_forget_name(samba_tensor *t)
{
    if (!t || !samba_ok(t->session)) return false;
    t->removed = true; /* for who looks for it; programs may have it still */
    return true;
}

/* ---- Copies to the host and back ---- */
/* The host copy of a tensor is made by the first transfer to it. */
SAMBA_API void *samba_cpu(samba_tensor *t)
{
    if (!t || !samba_ok(t->session) || !samba__in_reach(t)) return NULL;
    if (t->value.not_given) {
        samba__fail_not_given(t, "samba_cpu");
        return NULL;
    }

    samba_session *s = t->session;
    if (!s->program.rt || t->symbol < 0 || t->value.withheld) {
        void *value = samba__value_of(t);
        if (!value)
            samba_fail(
                s, SAMBA_ESTATE,
                "in samba_cpu(%s): it has no value: list it in program.outputs before compiling",
                t->name);
        return value;
    }

    samba__warn_of_output(t, "samba_cpu", false);
    int32_t parts = (int32_t)(samba_bytes(t) / samba__host_bytes(t));
    samba__set_parts(t, parts); /* of the caller's memory, of one microbatch, there is no more */
    if (!samba__own_room(t)) return NULL;
    samba__transfer(t, t->data, s->program.rt->data[t->symbol], "PyRT_GET_TENSORS");

    samba__look_at_loss(t, t->data);
    t->value.copied = s->program.runs + 1;
    samba__settle(t);
    return t->data;
}

SAMBA_API bool samba_is_stale(const samba_tensor *t)
{
    return t && t->session->program.rt && t->symbol >= 0
        && t->value.copied != t->session->program.runs + 1;
}

SAMBA_API bool samba_rdu(samba_tensor *t)
{
    return t && samba__need_program(t->session, "samba_rdu")
        && (!t->value.withheld || samba__own_data(t)) && samba__can_send(t, "samba_rdu")
        && samba__write(t, "samba_rdu", t->data);
}

/* Of which kind is this: something that the program keeps between runs? 0: no. */
SAMBA__FN unsigned samba__kept_kind(const samba_tensor *t)
{
    if (t->symbol < 0) return 0;
    if (t->role == SAMBA__WEIGHT) return SAMBA_KEPT_PARAMETERS;
    if (t->role != SAMBA__STATE) return 0;
    return t->generated ? SAMBA_KEPT_BY_OPTIM : SAMBA_KEPT_BUFFERS;
}

/* Hyperparameters have no host copies: samba_get and samba_set reach them. */
SAMBA__FN bool samba__check_kinds(samba_session *s, const char *call, unsigned kinds)
{
    if (!(kinds & ~(unsigned)SAMBA_KEPT)) return true;
    return samba_fail(
        s, SAMBA_EARG,
        "in %s: kinds is %d; it is made of SAMBA_KEPT_PARAMETERS, SAMBA_KEPT_BUFFERS and SAMBA_KEPT_BY_OPTIM",
        call, (int)kinds);
}

SAMBA_API bool samba_fetch_state(samba_session *s, unsigned kinds)
{
    if (!samba__need_program(s, "samba_fetch_state")) return false;
    if (!samba__check_kinds(s, "samba_fetch_state", kinds)) return false;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->trace.tensors[i];
        if ((samba__kept_kind(t) & kinds) && !samba_cpu(t)) return false;
    }
    return true;
}

SAMBA_API bool samba_send_state(samba_session *s, unsigned kinds)
{
    if (!samba__need_program(s, "samba_send_state")) return false;
    if (!samba__check_kinds(s, "samba_send_state", kinds)) return false;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->trace.tensors[i];
        if ((samba__kept_kind(t) & kinds) && !samba__send_newer(t, "samba_send_state"))
            return false;
    }
    return true;
}

SAMBA_API bool samba_to_device(samba_session *s)
{
    if (!samba__need_program(s, "samba_to_device")) return false;

    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->trace.tensors[i];
        bool kept = samba__kept_kind(t) != 0;
        bool frees = t->value.withheld && kept;
        if (t->symbol < 0 || (!kept && t->role != SAMBA__INPUT)) continue;
        if (samba_bytes(t) != samba__copy_bytes(t)) continue; /* dummies of one microbatch */

        if (!samba__send_newer(t, "samba_to_device")) return false;
        if (!frees || t->value.borrowed) continue;
        samba__free(s, t->data, samba__copy_bytes(t));
        t->data = NULL;
    }
    return true;
}

/* ---- Gradients of outputs ---- */
SAMBA_API samba_tensor *samba_sn_grad(samba_tensor *t)
{
    if (!t || !samba_ok(t->session)) return NULL;
    if (t->grad) return t->grad;

    if (t->role == SAMBA__WEIGHT && t->frozen) {
        samba_fail(
            t->session, SAMBA_ESTATE,
            "%s is frozen and has no gradient: samba_set_requires_grad(%s, true), and compile again",
            t->name, t->name);
        return NULL;
    }

    if (t->role != SAMBA__WEIGHT && t->session->program.rt) {
        samba_fail(
            t->session, SAMBA_ESTATE,
            "%s has no gradient: the program keeps those of parameters and of its losses, and it is neither; name it with loss or loss_indices, or add samba_grad(loss, %s) to the outputs",
            t->name, t->name);
        return NULL;
    }

    samba_fail(
        t->session, SAMBA_ESTATE,
        "%s has no gradient: compile for training a loss it influences, with mapping section",
        t->name);
    return NULL;
}

SAMBA_API int32_t samba_losses(samba_session *s, samba_tensor **list, int32_t cap)
{
    int32_t n = 0;
    if (!s || !s->program.rt) return 0;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        if (!samba__seeds(s->trace.tensors[i])) continue;
        if (list && n < cap) list[n] = s->trace.tensors[i];
        n++;
    }
    return n;
}

/* ---- Hyperparameters ---- */
/* An argin's value, of 4 bytes as the processor has them. */
SAMBA__FN double samba__argin_number(const samba__symbol *q, const void *bytes)
{
    uint32_t bits;
    memcpy(&bits, bytes, sizeof bits);
    return q->spec.dtype == SAMBA_I32 ? (double)bits : (double)samba__bits_float(bits);
}

/* The 4 bytes of an argin with this value. */
SAMBA__FN uint32_t samba__argin_bits(const samba__symbol *q, double value)
{
    return q->spec.dtype == SAMBA_I32 ? (uint32_t)value : samba__float_bits((float)value);
}

/* The value that a file has for one of its argins. */
SAMBA__FN double samba__argin_in_file(const samba__pef *pef, const samba__symbol *q)
{
    uint32_t bits = 0;
    samba__copy_data(&bits, pef->data + (q->data - 1), sizeof bits, sizeof bits);
    return samba__argin_number(q, &bits);
}

/* Which hyperparameter of an optimizer input k of an op is; NO_ARGIN: none. */
SAMBA__FN int32_t samba__argin_of_input(const samba_op *op, int32_t k)
{
    if (samba__is(op, SAMBA__OP_clip_factor))
        return k == SAMBA__CLIP_FACTOR_NORM ? SAMBA__ARGIN_MAX_GRAD_NORM : SAMBA__NO_ARGIN;
    if (samba__is(op, SAMBA__OP_matmul_sgd)) {
        if (k == SAMBA__MATMUL_SGD_LR) return SAMBA__ARGIN_LR;
        if (k == SAMBA__MATMUL_SGD_DECAY) return SAMBA__ARGIN_WEIGHT_DECAY;
        return k == SAMBA__MATMUL_SGD_MOMENTUM ? SAMBA__ARGIN_MOMENTUM : SAMBA__NO_ARGIN;
    }

    for (int32_t i = 0; i < SAMBA__N_OPTIMIZERS; i++) {
        const samba__optimizer_row *row = &samba__optimizers[i];
        if (!samba__is(op, row->op)) continue;

        int32_t first = 3 + samba__count_states(row); /* behind w, g and the counter of steps */
        bool reads = k >= first && k < first + row->n_argins;
        return reads ? row->argin[k - first].argin : SAMBA__NO_ARGIN;
    }
    return SAMBA__NO_ARGIN;
}

/* What a file tells of a symbol, in its own words or by the ops that use it. */
typedef struct samba__symbol_facts {
    int32_t argin; /* SAMBA__ARGIN_...; NO_ARGIN: it is no hyperparameter */
    bool is_mean;  /* an output of all microbatches, of which each adds its share */
} samba__symbol_facts;

/* What the file itself says of an argin. Whole numbers are seeds, whatever it says. */
SAMBA__FN int32_t samba__argin_as_filed(const samba__symbol *q)
{
    if (q->role != SAMBA__ARGIN) return SAMBA__NO_ARGIN;
    if (q->spec.dtype == SAMBA_I32) return SAMBA__ARGIN_SEED;
    if (q->argin == SAMBA__FILED_RATE) return SAMBA__ARGIN_RATE;
    return q->argin == SAMBA__FILED_GRAD ? SAMBA__ARGIN_GRAD : SAMBA__ARGIN_OTHER;
}

/* What node i tells of the symbols that it uses. */
SAMBA__FN void samba__read_facts_of_node(const samba__pef *pef, uint32_t i, uint32_t type,
                                         samba__symbol_facts *facts)
{
    samba__call_record r = samba__node_at(pef, i);
    for (int32_t k = 0; k < r.n_in; k++) {
        uint32_t word = samba__word(&r, k);
        int32_t argin = word ? samba__argin_of_input(r.op, k) : SAMBA__NO_ARGIN;
        bool asked = argin >= 0 && facts[word - 1].argin == SAMBA__ARGIN_OTHER;
        if (asked) facts[word - 1].argin = argin;
    }

    uint32_t sum = r.n_out ? samba__word(&r, r.n_in) : 0;
    bool adds = sum && type == SAMBA_FWD && samba__is(r.op, SAMBA__OP_accumulate);
    if (adds && samba__symbol_at(pef, sum - 1).role == SAMBA__OUTPUT) facts[sum - 1].is_mean = true;
}

/* Of each symbol of a proved PEF; NULL: no memory. This is the one place that finds out. */
SAMBA__FN samba__symbol_facts *samba__read_facts(samba_session *s, const samba__pef *pef)
{
    samba__symbol_facts *facts
        = (samba__symbol_facts *)samba__temp(s, (int32_t)pef->n_symbols, sizeof *facts);
    if (!facts) return NULL;

    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        facts[i].argin = samba__argin_as_filed(&q);
    }

    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section q = samba__section_at(pef, i);
        for (uint32_t node = q.first; node < q.end; node++)
            samba__read_facts_of_node(pef, node, q.type, facts);
    }
    return facts;
}

/* May an argin be what a file says? The gradient of a loss may be any value. */
SAMBA__FN bool samba__check_argin_in_file(samba_session *s, const samba__pef *pef,
                                          const samba__symbol *q, int32_t argin, const char *path)
{
    if (argin == SAMBA__ARGIN_GRAD) return true;
    return samba__check_hyperparam(s, path, argin, pef->strings + q->name,
                                   samba__argin_in_file(pef, q));
}

SAMBA__FN bool samba__check_argins_in_file(samba_session *s, const samba__pef *pef,
                                           const char *path)
{
    const samba__symbol_facts *facts = samba__read_facts(s, pef);
    for (uint32_t i = 0; facts && i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        if (q.role != SAMBA__ARGIN || !q.data) continue;
        if (!samba__check_argin_in_file(s, pef, &q, facts[i].argin, path)) return false;
    }
    return facts != NULL;
}

/* The hyperparameters that a word means wherever they are, such as "lr", or "p" of every dropout;
   NO_ARGIN: it is no such word. */
SAMBA__FN int32_t samba__argin_of_word(const char *word)
{
    for (int32_t i = 0; i <= SAMBA__ARGIN_RATE; i++)
        if (samba__same_text(word, samba__hyperparams[i].name)) return i;
    return SAMBA__NO_ARGIN;
}

/* Is t an argin of the program that has just this name, or (exact = false) is what it says? */
SAMBA__FN bool samba__argin_matches(const samba_tensor *t, const char *name, bool exact)
{
    if (t->argin < 0 || t->symbol < 0) return false;
    if (!exact) return t->argin == samba__argin_of_word(name);

    const samba__pef *pef = &t->session->program.rt->pef;
    return samba__same_text(pef->strings + samba__symbol_at(pef, (uint32_t)t->symbol).name, name);
}

/* Has the program an argin of just this name? It goes before all that are what the name says. */
SAMBA__FN bool samba__has_argin(samba_session *s, const char *name)
{
    for (int32_t i = 0; i < samba__n_tensors(s); i++)
        if (samba__argin_matches(s->trace.tensors[i], name, true)) return true;
    return false;
}

/* Does name mean this argin of the program? */
SAMBA__FN bool samba__argin_is_meant(const samba_tensor *t, const char *name)
{
    return t && samba__argin_matches(t, name, samba__has_argin(t->session, name));
}

/* The argin that name means, or the first of several in the order of the PEF; NULL: none. */
SAMBA__FN const samba_tensor *samba__first_argin(samba_session *s, const char *name)
{
    bool exact = samba__has_argin(s, name);
    const samba_tensor *first = NULL;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        bool meant = samba__argin_matches(t, name, exact);
        if (meant && (!first || t->symbol < first->symbol)) first = t;
    }
    return first;
}

/* Gives the argins that name means this value. */
SAMBA__FN void samba__put_argins(samba_session *s, const char *name, double value)
{
    bool exact = samba__has_argin(s, name);
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->trace.tensors[i];
        if (!samba__argin_matches(t, name, exact)) continue;

        samba__symbol q = samba__symbol_at(&s->program.rt->pef, (uint32_t)t->symbol);
        uint32_t bits = samba__argin_bits(&q, value);
        samba__note_value(s, (uint32_t)t->symbol, &bits, sizeof bits);
        memcpy(s->program.rt->data[t->symbol], &bits, sizeof bits);

        t->value.not_given = false; /* the gradient of a scalar loss */
        if (t->argin == SAMBA__ARGIN_MAX_GRAD_NORM) samba__forget_norm(s->program.rt);
    }
}

/* Is this the step of an optimizer without the state that this argin needs? */
SAMBA__FN bool samba__lacks_state(const samba_op *op, const samba__call_record *r, uint32_t argin)
{
    if (samba__is(op, SAMBA__OP_matmul_sgd))
        return samba__word(r, SAMBA__MATMUL_SGD_MOMENTUM) == argin + 1;

    for (int32_t i = 0; i < SAMBA__N_OPTIMIZERS; i++) {
        const samba__optimizer_row *row = &samba__optimizers[i];
        int32_t at = 2 + samba__count_states(row); /* the counter: behind w and g */
        bool may_lack = samba__is(op, row->op) && row->kept_for >= 0;
        if (!may_lack || samba__word(r, at - 1)) continue;

        for (int32_t k = 0; k < row->n_argins; k++)
            if (row->argin[k].argin == row->kept_for)
                return samba__word(r, at + 1 + k) == argin + 1;
    }
    return false;
}

/* Has the program such a step? The argin was 0 when it was compiled. */
SAMBA__FN bool samba__lacks_momentum(const samba_session *s, uint32_t argin)
{
    const samba__pef *pef = &s->program.rt->pef;
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section q = samba__section_at(pef, i);
        if (!(q.type & SAMBA_OPT)) continue;
        for (uint32_t node = q.first; node < q.end; node++) {
            samba__call_record r = samba__record_at(pef, node);
            if (samba__lacks_state(s->program.rt->steps[node].op, &r, argin)) return true;
        }
    }
    return false;
}

/* A program that infers has no dropout any more, and so none of its rates and seeds: but
   SambaFlow's loops give them to every run. Is this one of those names? It may be set, and changes
   nothing. */
SAMBA__FN bool samba__is_dropped_argin(samba_session *s, const char *name)
{
    if (!s->program.rt->inference) return false;
    const samba_tensor *t = samba__named(s, name);
    bool dropped
        = t && t->symbol < 0 && (t->argin == SAMBA__ARGIN_RATE || t->argin == SAMBA__ARGIN_SEED);
    return dropped || samba__argin_of_word(name) == SAMBA__ARGIN_RATE;
}

SAMBA__FN bool samba__fail_hyperparam(samba_session *s, const char *name)
{
    bool trains = s->program.rt->types & SAMBA_OPT;
    int32_t argin = samba__argin_of_word(name);
    bool of_optim = argin >= 0 && argin < SAMBA__N_OPTIM_ARGINS;

    if (argin == SAMBA__ARGIN_RATE)
        return samba_fail(
            s, SAMBA_ENAME,
            "hyperparameter p is unknown: the program has no dropout, of which it would be the rate");

    if (of_optim && !trains)
        return samba_fail(s, SAMBA_ENAME,
                          "hyperparameter %s is unknown: the program has no optimizer%s", name,
                          s->program.rt->inference ? ", for it infers" : "");
    return samba__fail_name(s, "hyperparameter", name, SAMBA__ARGIN);
}

/* May this argin, which is called so, be set to that? */
SAMBA__FN bool samba__check_setting(const samba_tensor *t, const char *what, const char *name,
                                    double value)
{
    samba_session *s = t->session;
    const samba__pef *pef = &s->program.rt->pef;
    if (!samba__check_hyperparam(s, what, t->argin, name, value)) return false;
    if (value == 0.0 || t->argin != SAMBA__ARGIN_MOMENTUM) return true;
    if (!samba__lacks_momentum(s, (uint32_t)t->symbol)) return true;

    return samba_fail(
        s, SAMBA_ESTATE,
        "in %s: the program was compiled without %s: compile with samba_optim.momentum, or with .momentum_state if it begins at 0",
        what, pef->strings + samba__symbol_at(pef, (uint32_t)t->symbol).name);
}

/* May this hyperparameter be set so? Nothing is set here. */
SAMBA__FN bool samba__check_argin(samba_session *s, const char *what, const char *name,
                                  double value)
{
    if (!name)
        return samba_fail(s, SAMBA_EARG, "in %s: the name of a hyperparameter is NULL", what);

    bool exact = samba__has_argin(s, name);
    int32_t n = 0;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        if (!samba__argin_matches(t, name, exact)) continue;
        if (!samba__check_setting(t, what, name, value)) return false;
        n++;
    }
    if (n > 0) return true;

    if (!samba__is_dropped_argin(s, name)) return samba__fail_hyperparam(s, name);
    const samba_tensor *dropped = samba__named(s, name);
    int32_t argin = dropped && dropped->argin >= 0 ? dropped->argin : SAMBA__ARGIN_RATE;
    return samba__check_hyperparam(s, what, argin, name, value);
}

SAMBA__FN bool samba__set_argin(samba_session *s, const char *name, double value)
{
    if (!samba__need_program(s, "samba_set") || !samba__check_argin(s, "samba_set", name, value))
        return false;
    bool dropped = !samba__first_argin(s, name);
    samba__put_argins(s, name, value);
    if (dropped && samba__same_text(name, "p")) s->program.dropped_rate = value;
    return true;
}

SAMBA_API bool samba_set(samba_session *s, const char *name, double value)
{
    samba__float_mode callers = samba__enter_float_mode();
    bool result = samba__set_argin(s, name, value);
    samba__leave_float_mode(callers);
    return result;
}

SAMBA__FN double samba__get_argin(samba_session *s, const char *name)
{
    if (!samba__need_program(s, "samba_get")) return 0.0;
    if (!name) {
        samba_fail(s, SAMBA_EARG, "in samba_get: the name of a hyperparameter is NULL");
        return 0.0;
    }

    const samba_tensor *t = samba__first_argin(s, name);
    if (t) {
        samba__symbol q = samba__symbol_at(&s->program.rt->pef, (uint32_t)t->symbol);
        return samba__argin_number(&q, s->program.rt->data[t->symbol]);
    }
    if (!samba__is_dropped_argin(s, name)) samba__fail_hyperparam(s, name);
    return samba__same_text(name, "p") ? s->program.dropped_rate : 0.0;
}

SAMBA_API double samba_get(samba_session *s, const char *name)
{
    samba__float_mode callers = samba__enter_float_mode();
    double result = samba__get_argin(s, name);
    samba__leave_float_mode(callers);
    return result;
}

SAMBA_API bool samba_zero_inputs(samba_session *s)
{
    if (!samba__need_program(s, "samba_zero_inputs")) return false;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->trace.tensors[i];
        if (t->role != SAMBA__INPUT) continue;
        t->value.given = true;
        t->value.withheld = false;
    }
    s->program.zero_params = true;
    return true;
}

