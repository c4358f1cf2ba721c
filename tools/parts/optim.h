/* ==== [optim] ================================================================================= */
SAMBA__FN bool samba__optim_says(const samba_optim *o, const samba__option *option)
{
    bool set;
    memcpy(&set, (const uint8_t *)(const void *)o + option->at, sizeof set);
    return set;
}

SAMBA__FN bool samba__is_variant(const samba__optimizer_row *row)
{
    return row->variant.kind == 'b';
}

/* The row of its kind: that of a variant if it is asked for. */
SAMBA__FN const samba__optimizer_row *samba__optimizer_of(const samba_optim *o)
{
    const samba__optimizer_row *found = NULL;
    for (int32_t i = 0; i < SAMBA__N_OPTIMIZERS; i++) {
        const samba__optimizer_row *row = &samba__optimizers[i];
        if (row->kind != (int32_t)o->kind) continue;
        if (!samba__is_variant(row) || samba__optim_says(o, &row->variant)) found = row;
    }
    return found;
}

/* "SAMBA_SGD, SAMBA_ADAMW or SAMBA_ADAM", and so on, in a buffer */
SAMBA__FN const char *samba__optimizer_names(char *buffer, size_t size)
{
    samba__text t = samba__text_in(buffer, size);
    int32_t last = SAMBA__N_OPTIMIZERS - 1;
    while (last > 0 && samba__is_variant(&samba__optimizers[last]))
        last--;
    for (int32_t i = 0; i <= last; i++) {
        if (samba__is_variant(&samba__optimizers[i])) continue;
        if (i > 0) samba__put_text(&t, i < last ? ", " : " or ");
        samba__put_text(&t, samba__optimizers[i].written);
    }
    return buffer;
}

/* The field of samba_optim that gives the first value of an argin. */
SAMBA__FN float samba__optim_value(const samba_optim *o, int32_t argin)
{
#define X(name, field, most, below) o->field,
    const float value[] = { SAMBA__OPTIM_ARGINS(X) };
#undef X
    return value[argin];
}

/* Does the optimizer read what this field of samba_optim says? */
SAMBA__FN bool samba__reads_argin(const samba__optimizer_row *row, int32_t argin)
{
    bool reads = argin == SAMBA__ARGIN_MAX_GRAD_NORM;
    for (int32_t i = 0; i < row->n_argins; i++)
        reads = reads || row->argin[i].argin == argin;
    return reads;
}

SAMBA__FN bool samba__reads_option(const samba__optimizer_row *row, char kind, size_t at)
{
    bool reads = false;
    for (int32_t i = 0; i < row->n_options; i++)
        reads = reads || (row->option[i].kind == kind && row->option[i].at == (int32_t)at);
    return reads;
}

/* Tells what is given, but not read. */
SAMBA__FN void samba__warn_ignored(samba_session *s, const samba__optimizer_row *row,
                                   const samba_optim *o, const char *at)
{
    char list[120];
    samba__text t = samba__text_in(list, sizeof list);
    for (int32_t i = 0; i < SAMBA__N_OPTIM_ARGINS; i++) {
        if (samba__optim_value(o, i) == 0.0f || samba__reads_argin(row, i)) continue;
        samba__format(&t, "%s%s", t.len ? ", " : "", samba__hyperparams[i].name);
    }
    if (o->dampening != 0.0f && !samba__reads_option(row, 'f', offsetof(samba_optim, dampening)))
        samba__format(&t, "%sdampening", t.len ? ", " : "");
    if (o->nesterov && !samba__reads_option(row, 'b', offsetof(samba_optim, nesterov)))
        samba__format(&t, "%snesterov", t.len ? ", " : "");
    if (o->initial_accumulator != 0.0f && o->kind != SAMBA_ADAGRAD)
        samba__format(&t, "%sinitial_accumulator", t.len ? ", " : "");
    if (o->amsgrad && o->kind != SAMBA_ADAM && o->kind != SAMBA_ADAMW)
        samba__format(&t, "%samsgrad", t.len ? ", " : "");
    if (o->centered && o->kind != SAMBA_RMSPROP) samba__format(&t, "%scentered", t.len ? ", " : "");
    if (t.len) samba__warn(s, "in %s: %s does not use %s", at, row->name, list);
}

/* Options of one optimizer: their ranges, and what its kind would ignore. */
SAMBA__FN bool samba__check_optim(samba_session *s, const samba_optim *o, int32_t number)
{
    const samba__optimizer_row *row = samba__optimizer_of(o);
    char at[40], names[200];
    samba__print(at, sizeof at, "optimizer %d", number);
    if (!row)
        return samba_fail(s, SAMBA_ERANGE, "%s has no kind, but %d; use %s", at, (int32_t)o->kind,
                          samba__optimizer_names(names, sizeof names));

    for (int32_t i = 0; i < SAMBA__N_OPTIM_ARGINS; i++) {
        double value = (double)samba__optim_value(o, i);
        if (!samba__check_range(s, at, &samba__hyperparams[i], value)) return false;
    }
    double begins = (double)o->initial_accumulator;
    if (!samba__in_range(s, at, "dampening", (double)o->dampening, 0.0, 1.0)) return false;
    if (!samba__in_range(s, at, "initial_accumulator", begins, 0.0, SAMBA__MOST)) return false;
    if (!samba__in_range(s, at, "n_params", o->n_params, 0.0, 2147483647.0)) return false;

    if (o->n_params && !o->params)
        return samba_fail(s, SAMBA_EARG, "in %s: n_params is %d, but params is NULL", at,
                          o->n_params);
    if (o->params && o->select)
        return samba_fail(s, SAMBA_EARG, "in %s: params and select are both given; use one of them",
                          at);
    if (o->nesterov && (o->momentum == 0.0f || o->dampening != 0.0f))
        return samba_fail(s, SAMBA_EARG, "in %s: nesterov needs a momentum and no dampening", at);

    samba__warn_ignored(s, row, o, at);
    return true;
}

/* The argins and the step counter that all parameters of one optimizer share. */
typedef struct samba__optimizer {
    const samba_optim *desc;
    const samba__optimizer_row *row;
    const char *prefix;
    samba_tensor *argin[SAMBA__MOST_ARGINS]; /* in the order of the row */
    samba_tensor *max_norm, *step, *clip;
} samba__optimizer;

/* <prefix>lr, <prefix>step ...; optim__lr if a tensor of the user's has that name, so that an input
   may be called eps. */
SAMBA__FN const char *samba__optim_name(samba_session *s, char *buffer, size_t size,
                                        const char *prefix, const char *name)
{
    const char *full = samba__print_name(s, buffer, size, "%s%s", prefix, name);
    const samba_tensor *other = full ? samba__named(s, full) : NULL;
    bool theirs = other && !other->generated;
    return theirs ? samba__print_name(s, buffer, size, "%soptim__%s", prefix, name) : full;
}

SAMBA__FN samba_tensor *samba__optim_argin(samba_session *s, const samba__optimizer *o,
                                           int32_t which, float value)
{
    char buffer[160];
    const char *name = samba__hyperparams[which].name;
    const char *full = samba__optim_name(s, buffer, sizeof buffer, o->prefix, name);
    const samba_tensor *other = full ? samba__named(s, full) : NULL;
    if (!full) return NULL;
    if (other && other->role != SAMBA__ARGIN) {
        samba_fail(
            s, SAMBA_ENAME,
            "the optimizer's argin %s and the tensor %s %T %S have one name; rename the tensor or set argin_region_name",
            full, other->name, (int)other->dtype, &other->shape);
        return NULL;
    }

    samba_tensor *argin = samba__argin(s, full, which, value);
    if (argin && argin->data) memcpy(argin->data, &value, 4); /* a new program, new defaults */
    return argin;
}

/* clip: what all optimizers multiply their gradients by, or NULL. */
SAMBA__FN bool samba__optimizer_open(samba_session *s, samba__optimizer *o, const samba_optim *desc,
                                     const char *prefix, samba_tensor *clip)
{
    char buffer[160];
    const int32_t always = 0;

    memset(o, 0, sizeof *o);
    o->desc = desc;
    o->prefix = prefix;
    o->clip = clip;
    o->row = samba__optimizer_of(desc);

    for (int32_t i = 0; i < o->row->n_argins; i++) {
        int32_t argin = o->row->argin[i].argin;
        float value = samba__or(samba__optim_value(desc, argin), o->row->argin[i].initial);
        o->argin[i] = samba__optim_argin(s, o, argin, value);
    }
    if (desc->max_grad_norm > 0.0f)
        o->max_norm = samba__optim_argin(s, o, SAMBA__ARGIN_MAX_GRAD_NORM, desc->max_grad_norm);

    const char *name = samba__optim_name(s, buffer, sizeof buffer, prefix, "step");
    s->modes.section = SAMBA_OPT;
    samba_tensor *steps = name ? samba__scalar(s, name, SAMBA_I32, SAMBA__STATE, 0.0f) : NULL;
    o->step = samba__emit1(SAMBA__OP_count, steps, &always, 1);
    s->modes.section = SAMBA_FWD;
    return samba_ok(s);
}

/* GRADNORM: min(1, max_norm / |all of these gradients|). */
SAMBA__FN samba_tensor *samba__clip_factor(samba_session *s, samba_tensor *const *grads, int32_t n,
                                           samba_tensor *max_norm)
{
    samba_tensor *sum = NULL;
    s->modes.section = SAMBA_GRADNORM;
    for (int32_t i = 0; i < n && samba_ok(s); i++) {
        int32_t attr[SAMBA__REDUCE_END];
        attr[SAMBA__REDUCE_AXES] = (1 << grads[i]->shape.ndim) - 1;
        attr[SAMBA__REDUCE_KEEPDIM] = 0;
        samba_tensor *square
            = samba__emit1(SAMBA__OP_square_sum, grads[i], attr, SAMBA__REDUCE_END);
        sum = sum ? samba_add(sum, square) : square;
    }

    samba_tensor *clip = samba__emit2(SAMBA__OP_clip_factor, sum, max_norm, NULL, 0);
    s->modes.section = SAMBA_FWD;
    return clip;
}

SAMBA__FN samba_tensor *samba__optim_state(samba_tensor *w, const char *part, float initial)
{
    return samba__layer_param(w->session, w->name, part, &w->shape, SAMBA__STATE,
                              samba__all(initial));
}

/* The attributes of the op that makes a step of w; returns how many. */
SAMBA__FN int32_t samba__step_options(const samba__optimizer *o, const samba_tensor *w,
                                      int32_t *attr)
{
    const uint8_t *desc = (const uint8_t *)(const void *)o->desc;
    int32_t n = 0;
    for (; n < o->row->n_options; n++) {
        const samba__option *option = &o->row->option[n];
        float value;

        if (option->kind == 'c') attr[n] = option->at;
        if (option->kind == 'f') {
            memcpy(&value, desc + option->at, sizeof value);
            attr[n] = samba_float_attr(value);
        }
        if (option->kind == 'b') attr[n] = samba__optim_says(o->desc, option);
    }

    if (w->dtype == SAMBA_F32) return n;
    samba__put_key(attr + n, samba__stream_key(w->session->seed, w->name)); /* to round to bf16 */
    return n + SAMBA__KEY_WORDS;
}

SAMBA__FN bool samba__optimizer_step(const samba__optimizer *o, samba_tensor *w, samba_tensor *g)
{
    samba_session *s = w->session;
    const samba__optimizer_row *row = o->row;
    samba_tensor *in[4 + SAMBA__MOST_STATES + SAMBA__MOST_ARGINS] = { w, g };
    int32_t attr[(int32_t)SAMBA__MOST_OPTIONS + (int32_t)SAMBA__KEY_WORDS], n = 2;
    bool keeps_last = row->kept_for < 0 || samba__optim_value(o->desc, row->kept_for) != 0.0f
        || o->desc->momentum_state;
    float initial = row->kind == SAMBA_ADAGRAD ? o->desc->initial_accumulator : 0.0f;

    s->modes.section = SAMBA_OPT;
    for (int32_t i = 0; row->state[i]; i++) {
        bool keeps = keeps_last || row->state[i + 1];
        in[n++] = keeps ? samba__optim_state(w, row->state[i], initial) : NULL;
    }
    in[n++] = o->step;
    for (int32_t i = 0; i < row->n_argins; i++)
        in[n++] = o->argin[i];
    in[n++] = o->clip;

    int32_t n_attr = samba__step_options(o, w, attr);
    samba__emit(s, row->op, in, n, attr, n_attr, NULL);
    s->modes.section = SAMBA_FWD;
    return samba_ok(s);
}

