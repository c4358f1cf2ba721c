/* ==== [checkpoint] ============================================================================ */
SAMBA__FN const void *samba__current_value(samba_session *s, uint32_t index, const char *name,
                                           const samba__symbol *q)
{
    (void)name;
    return samba__is_saved(q) ? s->program.rt->data[index] : NULL;
}

/* The first parameter that is not finite, or other state that is NaN; -1: none. */
SAMBA__FN int64_t samba__find_nonfinite(const samba_session *s, int64_t *element)
{
    const samba_runtime *rt = s->program.rt;
    const samba__pef *pef = &rt->pef;

    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        int64_t n = samba_count(&q.spec.shape);
        samba__lowest first[3];
        bool weight = q.role == SAMBA__WEIGHT;
        if (!samba__is_float(q.spec.dtype) || q.alias || (!weight && q.role != SAMBA__STATE))
            continue;
        if (!samba__set_of(rt->isa)->has_nonfinite(rt->data[i], n, q.spec.dtype)) continue;

        first[0] = first[1] = first[2] = SAMBA__NOWHERE;
        samba__note_nonfinite(first, (const uint8_t *)rt->data[i], 0, n, q.spec.dtype);
        for (int k = 1; k < 3 && weight; k++)
            first[0] = samba__min64(first[0], first[k]);
        *element = first[0];
        if (*element < SAMBA__NOWHERE) return i;
    }
    return -1;
}

/* Does the device have all values that a checkpoint keeps? */
SAMBA__FN bool samba__check_sent_all(samba_session *s)
{
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        if (t->symbol < 0 || !t->value.withheld || !samba__keeps(t)) continue;
        return samba_fail(
            s, SAMBA_ESTATE,
            "in %s: %s %T %S was not sent to the device (samba_set_transfer); call samba_to_device",
            samba__called(s), t->name, (int)t->dtype, &t->shape);
    }
    return true;
}

SAMBA__FN bool samba__save_with(samba_session *s, const char *path, const samba_save_opts *opts)
{
    samba__image image;
    int64_t element = 0;
    if (!samba__need_program(s, samba__called(s))) return false;
    if (!path) return samba_fail(s, SAMBA_EARG, "in %s: the path is NULL", samba__called(s));

    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->trace.tensors[i];
        bool missing = t->symbol >= 0 && t->role == SAMBA__WEIGHT && !t->value.given;
        if (missing) return samba__fail_value(s, samba__called(s), t);
    }
    if (!samba__check_sent_all(s)) return false;

    int64_t bad = opts && opts->allow_nonfinite ? -1 : samba__find_nonfinite(s, &element);
    if (bad >= 0)
        return samba_fail(
            s, SAMBA_ERANGE,
            "in %s: element %l of %s is not finite, so %s was not written; go back to an earlier checkpoint, look for the cause with samba_set_check_finite, or save with allow_nonfinite",
            samba__called(s), element,
            s->program.rt->pef.strings + samba__symbol_at(&s->program.rt->pef, (uint32_t)bad).name,
            path);

    if (!samba__image_open(&image, s, &s->program.rt->pef, samba__current_value)) return false;
    bool fine = samba__replace_file(s, path, &image);
    samba__image_close(&image);
    return fine;
}

SAMBA__FN bool samba__save_called(samba_session *s, const char *called, const char *path,
                                  const samba_save_opts *opts)
{
    const char *former = samba__call(s, called);
    samba__float_mode callers = samba__enter_float_mode();
    bool result = samba__save_with(s, path, opts);
    samba__leave_float_mode(callers);
    samba__call(s, former);
    return result;
}

SAMBA_API bool samba_save_with(samba_session *s, const char *path, const samba_save_opts *opts)
{
    return samba__save_called(s, "samba_save_with", path, opts);
}

SAMBA_API bool samba_save(samba_session *s, const char *path)
{
    return samba__save_called(s, "samba_save", path, NULL);
}

/* A value of the file, of one float type, as one of another. */
SAMBA__FN void samba__convert(uint8_t *to, samba_dtype type, const uint8_t *from,
                              samba_dtype stored)
{
    int64_t raw = 0; /* as large as any element */
    float x;
    samba__copy_data(&raw, from, samba_dtype_size(stored), samba_dtype_size(stored));
    samba__load(&x, &raw, stored, 1);
    samba__store(to, &x, type, 1);
}

/* Finds each symbol of the program in a checkpoint. Files of one program list their symbols in one
   order, so each is sought where the last was found. */
typedef struct samba__restoring {
    samba_session *session;
    const samba__pef *from;
    const char *path;
    unsigned kinds;     /* SAMBA_KEPT_...: what is taken */
    samba__symbol q, r; /* of the program, and of the file */
    uint32_t last;
    bool found; /* the file has a value; r is it */
} samba__restoring;

/* The SAMBA_KEPT_... that a symbol is; 0: a checkpoint has none of it. */
SAMBA__FN unsigned samba__kind_of_symbol(const samba__symbol *q)
{
    if (!samba__is_saved(q)) return 0;
    if (q->role == SAMBA__WEIGHT) return SAMBA_KEPT_PARAMETERS;
    if (q->role == SAMBA__ARGIN) return SAMBA_KEPT_HYPERPARAMS;
    if (q->role != SAMBA__STATE) return 0;
    return q->generated ? SAMBA_KEPT_BY_OPTIM : SAMBA_KEPT_BUFFERS;
}

/* False if symbol i of the program is none that the restore gives a value. */
SAMBA__FN bool samba__seek_saved(samba__restoring *c, uint32_t i)
{
    const samba__pef *to = &c->session->program.rt->pef;
    c->q = samba__symbol_at(to, i);
    if (!(samba__kind_of_symbol(&c->q) & c->kinds)) return false;

    int32_t k = samba__find_symbol(c->from, to->strings + c->q.name, c->last);
    if (k >= 0) {
        c->last = (uint32_t)k;
        c->r = samba__symbol_at(c->from, (uint32_t)k);
    }

    bool argin = c->q.role == SAMBA__ARGIN; /* a tensor of its name is another thing */
    c->found = k >= 0 && c->r.data && (c->r.role == SAMBA__ARGIN) == argin;
    return c->found || c->q.role == SAMBA__WEIGHT;
}

SAMBA__FN bool samba__restores(const samba__restoring *c)
{
    bool floats = samba__is_float(c->q.spec.dtype) && samba__is_float(c->r.spec.dtype);
    return floats ? samba__same_shape(&c->q.spec.shape, &c->r.spec.shape)
                  : samba__same_spec(&c->q.spec, &c->r.spec);
}

/* What stands in a message: so many names, and " and N more". */
typedef struct samba__name_list {
    char text[440];
    samba__text t;
    int32_t n;
} samba__name_list;

SAMBA__FN void samba__begin_list(samba__name_list *list)
{
    list->t = samba__text_in(list->text, sizeof list->text);
    list->n = 0;
}

SAMBA__FN void samba__list_name(samba__name_list *list, const char *name)
{
    const char *between = list->n ? ", " : "";
    if (list->n < SAMBA__MOST_NAMES) samba__format(&list->t, "%s%s", between, name);
    list->n++;
}

SAMBA__FN void samba__end_list(samba__name_list *list)
{
    if (list->n > SAMBA__MOST_NAMES)
        samba__format(&list->t, " and %d more", list->n - SAMBA__MOST_NAMES);
}

/* The parameters that the file lacks, and what has another shape in it. */
SAMBA__FN void samba__list_unfit(samba__restoring *c, samba__name_list *missing,
                                 samba__name_list *different)
{
    const samba__pef *to = &c->session->program.rt->pef;
    char what[240];
    samba__begin_list(missing);
    samba__begin_list(different);

    for (uint32_t i = 0; i < to->n_symbols; i++) {
        if (!samba__seek_saved(c, i)) continue;
        const char *name = to->strings + c->q.name;
        if (!c->found) samba__list_name(missing, name);
        if (!c->found || samba__restores(c)) continue;
        samba__print(what, sizeof what, "%T %S for %s, which is %T %S here", (int)c->r.spec.dtype,
                     &c->r.spec.shape, name, (int)c->q.spec.dtype, &c->q.spec.shape);
        samba__list_name(different, what);
    }

    samba__end_list(missing);
    samba__end_list(different);
}

/* The parameters of the file that the program has not. */
SAMBA__FN void samba__list_unexpected(const samba__restoring *c, samba__name_list *unexpected)
{
    int32_t last = 0;
    samba__begin_list(unexpected);
    for (uint32_t i = 0; i < c->from->n_symbols; i++) {
        samba__symbol r = samba__symbol_at(c->from, i);
        const char *name = c->from->strings + r.name;
        if (!r.data || !(samba__kind_of_symbol(&r) & c->kinds & SAMBA_KEPT_PARAMETERS)) continue;

        int32_t k = samba__find_symbol(&c->session->program.rt->pef, name, (uint32_t)last);
        if (k >= 0)
            last = k;
        else
            samba__list_name(unexpected, name);
    }
    samba__end_list(unexpected);
}

/* Packed weights have names of their own, which neither a file nor a program with others knows. */
SAMBA__FN const char *samba__packing_advice(const char *missing, const char *unexpected)
{
    static const char *const ends[] = { "__f32", "__bf16", "__int8", "__int4" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strstr(missing, ends[i]) || strstr(unexpected, ends[i]))
            return ". Weights are packed when they are there: restore a program whose weights are stored as in the file, then compile with .weights; samba_load takes a file as it is";
    return "";
}

/* May the parameters be taken? Of a layer that was renamed a refusal has both names. Changes
   nothing. */
SAMBA__FN bool samba__check_restore(samba__restoring *c, const samba_restore_opts *opts,
                                    samba_restored *counts)
{
    samba__name_list missing, different, unexpected;
    samba__list_unfit(c, &missing, &different);
    samba__list_unexpected(c, &unexpected);
    counts->n_missing = missing.n;
    counts->n_unexpected = unexpected.n;

    bool lacks = missing.n && !opts->partial, surplus = unexpected.n && opts->exact;
    const char *extra = unexpected.n ? "; it has parameters that the program has not: " : "";
    if (lacks)
        return samba_fail(c->session, SAMBA_ENAME,
                          "%s has no value for the parameters %s%s%s%s%s; nothing was changed%s",
                          c->path, missing.text, different.n ? "; it has " : "", different.text,
                          extra, unexpected.text,
                          samba__packing_advice(missing.text, unexpected.text));

    if (different.n)
        return samba_fail(
            c->session, SAMBA_ESHAPE,
            "%s has %s%s%s; nothing was changed: a layer that has another shape needs another name, and partial",
            c->path, different.text, extra, unexpected.text);

    if (surplus)
        return samba_fail(c->session, SAMBA_ENAME,
                          "%s has parameters that the program has not: %s; nothing was changed",
                          c->path, unexpected.text);

    if (unexpected.n)
        samba__warn(c->session, "in %s: %s has parameters that the program has not: %s",
                    samba__called(c->session), c->path, unexpected.text);
    return true;
}

/* Hyperparameters of the file are in their ranges. *replaced: those of the program that get another
   value. */
SAMBA__FN bool samba__check_restored_argins(samba__restoring *c, samba__name_list *replaced)
{
    const samba__pef *to = &c->session->program.rt->pef;
    char what[240];

    samba__begin_list(replaced);
    for (uint32_t i = 0; i < to->n_symbols; i++) {
        if (!samba__seek_saved(c, i) || !c->found || c->q.role != SAMBA__ARGIN) continue;
        const samba_tensor *t = samba__tensor_at(c->session, i);
        int32_t argin = t && t->argin >= 0 ? t->argin : SAMBA__ARGIN_OTHER;
        if (!samba__check_argin_in_file(c->session, c->from, &c->r, argin, c->path)) return false;

        const char *name = to->strings + c->q.name;
        double value = samba__argin_in_file(c->from, &c->r);
        double here = samba__argin_number(&c->q, c->session->program.rt->data[i]);
        if (value == here) continue;
        samba__print(what, sizeof what, "%s %g by %g", name, here, value);
        samba__list_name(replaced, what);
    }
    samba__end_list(replaced);
    return true;
}

SAMBA__FN void samba__warn_replaced(const samba__restoring *c, const samba__name_list *replaced)
{
    if (!replaced->n) return;
    samba__warn(
        c->session,
        "in %s: hyperparameters of %s replace those of the program: %s; samba_restore_with(kinds) says what is meant: SAMBA_KEPT keeps the program's, SAMBA_KEPT_PARAMETERS | SAMBA_KEPT_BUFFERS its optimizer's state, too",
        samba__called(c->session), c->path, replaced->text);
}

/* Of an optimizer's state the file may have a part alone, such as the count of its steps: that of
   another kind of optimizer, or of other parameters. The rest does not belong to it. */
SAMBA__FN void samba__warn_torn_state(samba__restoring *c)
{
    const samba__pef *to = &c->session->program.rt->pef;
    samba__name_list missing;
    const char *taken = NULL;

    samba__begin_list(&missing);
    for (uint32_t i = 0; i < to->n_symbols; i++) {
        bool found = samba__seek_saved(c, i);
        const char *name = to->strings + c->q.name;
        unsigned kind = samba__kind_of_symbol(&c->q) & c->kinds;
        if (kind != SAMBA_KEPT_BY_OPTIM || samba__same_text(name, SAMBA__COUNTER)) continue;
        if (found)
            taken = name;
        else
            samba__list_name(&missing, name);
    }
    samba__end_list(&missing);

    if (!taken || !missing.n) return;
    samba__warn(
        c->session,
        "in %s: %s has %s, but not what the optimizer keeps in %s; to begin all of it anew, leave SAMBA_KEPT_BY_OPTIM out of the kinds of samba_restore_with",
        samba__called(c->session), c->path, taken, missing.text);
}

SAMBA__FN void samba__copy_restored(samba__restoring *c)
{
    const samba__pef *to = &c->session->program.rt->pef;
    samba__forget_runs(c->session); /* they were of other parameters */

    for (uint32_t i = 0; i < to->n_symbols; i++) {
        if (!samba__seek_saved(c, i) || !c->found) continue;
        samba_dtype type = c->q.spec.dtype, stored = c->r.spec.dtype;
        size_t size = samba_dtype_size(type), old = samba_dtype_size(stored);
        size_t n = type == stored ? 0 : (size_t)samba_count(&c->q.spec.shape);
        const uint8_t *data = c->from->data + (c->r.data - 1);
        uint8_t *value = (uint8_t *)c->session->program.rt->data[i];

        if (type == stored) samba__copy_data(value, data, samba__symbol_bytes(to, &c->q), size);
        for (size_t k = 0; k < n; k++)
            samba__convert(value + k * size, type, data + k * old, stored);
    }
}

/* What was restored has been sent, and edits of its host copy from before are older. */
SAMBA__FN void samba__after_restore(samba__restoring *c, samba_tensor *t)
{
    if (t->symbol < 0 || !samba__keeps(t) || !samba__seek_saved(c, (uint32_t)t->symbol)) return;
    if (!c->found) return;
    t->value.given = true;
    t->value.withheld = false;
    samba__settle(t);
}

SAMBA__FN void samba__warn_nonfinite(samba_session *s, const char *path)
{
    int64_t element = 0, bad = samba__find_nonfinite(s, &element);
    if (bad >= 0)
        samba__warn(s, "in %s: element %l of %s in %s is not finite", samba__called(s), element,
                    s->program.rt->pef.strings
                        + samba__symbol_at(&s->program.rt->pef, (uint32_t)bad).name,
                    path);
}

SAMBA__FN bool samba__restore_with(samba_session *s, const char *path,
                                   const samba_restore_opts *opts, samba_restored *restored)
{
    samba__file file;
    samba__restoring c;
    samba__name_list replaced;
    samba_restored counts = { 0, 0 };
    samba_restore_opts o = SAMBA__ZEROED;
    if (opts) o = *opts;
    if (restored) *restored = counts;

    if (!samba__need_program(s, samba__called(s))) return false;
    if (o.kinds & ~(unsigned)SAMBA_KEPT_ALL)
        return samba_fail(
            s, SAMBA_EARG,
            "in samba_restore_with: kinds is %d; it is made of SAMBA_KEPT_PARAMETERS, _BUFFERS, _BY_OPTIM and _HYPERPARAMS",
            (int32_t)o.kinds);
    if (!path) return samba_fail(s, SAMBA_EARG, "in %s: the path is NULL", samba__called(s));

    if (!samba__read_file(s, &file, true, path)) return false;
    memset(&c, 0, sizeof c);
    c.session = s;
    c.from = &file.pef;
    c.path = path;
    c.kinds = o.kinds ? o.kinds : (unsigned)SAMBA_KEPT_ALL;

    bool fine
        = samba__check_restore(&c, &o, &counts) && samba__check_restored_argins(&c, &replaced);
    if (restored) *restored = counts;

    if (fine && !o.kinds) samba__warn_replaced(&c, &replaced);
    if (fine) samba__warn_torn_state(&c);
    if (fine) samba__copy_restored(&c);
    for (int32_t i = 0; fine && i < samba__n_tensors(s); i++)
        samba__after_restore(&c, s->trace.tensors[i]);
    if (fine) samba__warn_nonfinite(s, path);

    samba__file_close(s, &file, false);
    if (fine) samba__forget_norm(s->program.rt); /* max_grad_norm may be another one */
    return fine;
}

SAMBA__FN bool samba__restore_called(samba_session *s, const char *called, const char *path,
                                     const samba_restore_opts *opts, samba_restored *restored)
{
    const char *former = samba__call(s, called);
    samba__float_mode callers = samba__enter_float_mode();
    bool result = samba__restore_with(s, path, opts, restored);
    samba__leave_float_mode(callers);
    samba__call(s, former);
    return result;
}

SAMBA_API bool samba_restore_with(samba_session *s, const char *path,
                                  const samba_restore_opts *opts, samba_restored *restored)
{
    return samba__restore_called(s, "samba_restore_with", path, opts, restored);
}

SAMBA_API bool samba_restore(samba_session *s, const char *path)
{
    return samba__restore_called(s, "samba_restore", path, NULL, NULL);
}

