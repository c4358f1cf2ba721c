/* ==== [errors] ================================================================================ */
/* Errors and warnings of a session, and the ranges that numbers must be in. */
/* The name and the text of each code, then of all others. */
static const char *const samba__codes[SAMBA_N_CODES + 1][2] = {
#define X(name, text) { "SAMBA_" #name, text },
    SAMBA__CODES(X)
#undef X
        { "?", "unknown error" }
};

SAMBA__FN const char *samba__code_text(samba_code code, int column)
{
    return samba__codes[(unsigned)code < SAMBA_N_CODES ? code : SAMBA_N_CODES][column];
}

SAMBA_API const char *samba_code_text(samba_code code)
{
    return samba__code_text(code, 1);
}

SAMBA_API bool samba_ok(const samba_session *s)
{
    return s && s->errors.code == SAMBA_OK;
}

SAMBA_API samba_code samba_error_code(const samba_session *s)
{
    return s ? s->errors.code : SAMBA_ENOMEM;
}

SAMBA_API const char *samba_error(samba_session *s)
{
    return s ? s->errors.text : "SAMBA_ENOMEM: there is no session: samba_open() found no memory";
}

SAMBA_API void samba_clear_error(samba_session *s)
{
    if (!s || s->errors.poisoned) return;
    s->trace.next_name = NULL; /* of the layer that failed: the text is the caller's */
    s->errors.code = SAMBA_OK;
    s->errors.text[0] = 0;
    s->errors.untold = false;
}

SAMBA__FN void samba__print_error(samba_session *s)
{
    s->errors.untold = s->errors.quiet;
#if !defined(SAMBA_NO_STDIO)
    if (!s->errors.quiet) fprintf(stderr, "samba: %s\n", s->errors.text);
#endif
}

SAMBA__FN void samba__tell_warning(const samba_session *s, const char *text)
{
    if (s->desc.log) s->desc.log(SAMBA_LOG_WARNING, text, s->desc.user);
#if !defined(SAMBA_NO_STDIO)
    else if (!s->desc.quiet)
        fprintf(stderr, "samba: warning: %s\n", text);
#endif
}

SAMBA_API bool samba_set_quiet(samba_session *s, bool quiet)
{
    bool former = s && s->errors.quiet;
    if (!s) return false;
    s->errors.quiet = quiet;
    if (!quiet && s->errors.untold) samba__print_error(s);
    return former;
}

/* Warns of what is allowed, but rarely meant. A loop that warns must not flood the log: each text
   is given once, and a session gives SAMBA__MAX_WARNINGS of them. */
SAMBA__FN void samba__vwarn(samba_session *s, const char *fmt, va_list args)
{
    char text[1024];
    if (!samba_ok(s) || !fmt || s->errors.n_warned == SAMBA__MAX_WARNINGS) return;

    samba__text t = samba__text_in(text, sizeof text);
    samba__vformat(&t, fmt, args);
    uint64_t hash = samba__hash(text, strlen(text), 0);
    for (int32_t i = 0; i < s->errors.n_warned; i++) {
        if (s->errors.warned[i] == hash) return;
    }

    s->errors.warned[s->errors.n_warned++] = hash;
    samba__tell_warning(s, text);
    if (s->errors.n_warned == SAMBA__MAX_WARNINGS)
        samba__tell_warning(s, "this session gives no more warnings");
}

static void samba__warn(samba_session *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    samba__vwarn(s, fmt, args);
    va_end(args);
}

SAMBA_API void samba_warn(samba_session *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    samba__vwarn(s, fmt, args);
    va_end(args);
}

SAMBA_API const char *samba_error_context(samba_session *s, const char *text)
{
    const char *former = s ? s->errors.context : NULL;
    if (s) s->errors.context = text;
    return former;
}

/* Several public functions run programs, and several save or restore them: messages name the one
   that was called. */
SAMBA__FN const char *samba__call(samba_session *s, const char *name)
{
    const char *former = s ? s->errors.called : NULL;
    if (s) s->errors.called = name;
    return former;
}

SAMBA__FN const char *samba__called(const samba_session *s)
{
    return s && s->errors.called ? s->errors.called : "samba_run";
}

/* Keeps the first error, and prints it or passes it to the log. It returns false, so that a
   function reads as a list of rules: if (bad) return samba_fail(...). */
SAMBA_API bool samba_fail(samba_session *s, samba_code code, const char *fmt, ...)
{
    va_list args;
    if (!s || s->errors.code != SAMBA_OK) return false;
    if (code <= SAMBA_OK || code >= SAMBA_N_CODES) code = SAMBA_EARG; /* it is an error */

    for (int turn = 0; turn < 2; turn++) {
        samba__text t = samba__text_in(s->errors.text, sizeof s->errors.text);
        if (turn > 0) t.most = 200; /* long names are shortened, so that the remedy is read */

        samba__format(&t, "%s ", samba__code_text(code, 0));
        if (s->errors.context) samba__put_text(&t, s->errors.context);
        va_start(args, fmt);
        samba__vformat(&t, fmt ? fmt : samba_code_text(code), args);
        va_end(args);
        if (t.len < t.cap) break;
    }

    s->errors.code = code;
    s->trace.next_name = NULL;
    if (s->desc.log)
        s->desc.log(SAMBA_LOG_ERROR, s->errors.text, s->desc.user);
    else
        samba__print_error(s);
    return false;
}

/* From least to most, and less than below: what a field or a hyperparameter may be. */
typedef struct samba__range {
    const char *name;
    double least, most, below;
    bool whole; /* no fractions */
} samba__range;

#define SAMBA__MOST 3.4028234663852886e38      /* the largest float */
#define SAMBA__NO_LIMIT 1.7976931348623157e308 /* as most: infinity is inside, too */

SAMBA__FN void samba__put_range(samba__text *t, const samba__range *r)
{
    if (r->below < SAMBA__NO_LIMIT)
        samba__format(t, "at least %g and below %g", r->least, r->below);
    else if (r->most == SAMBA__NO_LIMIT)
        samba__format(t, "at least %g", r->least);
    else if (r->most < SAMBA__MOST)
        samba__format(t, "%g ... %g", r->least, r->most);
    else if (r->least <= -SAMBA__MOST)
        samba__put_text(t, "finite");
    else
        samba__format(t, "at least %g, and finite", r->least);
    if (r->whole) samba__put_text(t, ", and whole");
}

/* Not inlined: compilers convert a value before they know that they need it, which a caller's mode
   may let trap. */
SAMBA__NOINLINE bool samba__is_in_range(const samba__range *r, double value)
{
    bool unlimited = r->most == SAMBA__NO_LIMIT;
    bool inside = value >= r->least && (unlimited || value <= r->most);
    if (r->below < SAMBA__NO_LIMIT) inside = inside && (double)(float)value < r->below;
    if (inside && r->whole) inside = value == (double)(int64_t)value;
    return inside;
}

/* Is the value in its range? NaN is in none. If not: an error that names where and what it is. */
SAMBA__FN bool samba__check_range(samba_session *s, const char *where, const samba__range *r,
                                  double value)
{
    samba__float_mode callers = samba__enter_float_mode();
    bool inside = samba__is_in_range(r, value);
    samba__leave_float_mode(callers);
    if (inside) return true;

    char range[80];

    samba__text t = samba__text_in(range, sizeof range);
    samba__put_range(&t, r);
    return samba_fail(s, SAMBA_ERANGE, "in %s: %s is %g; it must be %s", where, r->name, value,
                      range);
}

/* The same with both ends, for a field of a struct. */
SAMBA__FN bool samba__in_range(samba_session *s, const char *where, const char *field, double value,
                               double least, double most)
{
    const samba__range r = { field, least, most, SAMBA__NO_LIMIT, false };
    return samba__check_range(s, where, &r, value);
}

/* What each hyperparameter may be, by SAMBA__ARGIN_...: torch's rules. */
#define SAMBA__ARGIN_RANGE(name, field, most, below) { #field, 0.0, most, below, false },
static const samba__range samba__hyperparams[SAMBA__N_RANGED_ARGINS]
    = { SAMBA__OPTIM_ARGINS(SAMBA__ARGIN_RANGE) /**/
        { "p", 0.0, 1.0, SAMBA__NO_LIMIT, false },
        { "seed", 0.0, 4294967295.0, SAMBA__NO_LIMIT, true } };

/* May hyperparameter `argin`, which messages call `name`, be that? Of those without a range: is it
   finite? */
SAMBA__FN bool samba__check_hyperparam(samba_session *s, const char *where, int32_t argin,
                                       const char *name, double value)
{
    SAMBA_ASSERT(argin >= 0);
    if (argin >= SAMBA__N_RANGED_ARGINS)
        return samba__in_range(s, where, name, value, -SAMBA__MOST, SAMBA__MOST);

    samba__range r = samba__hyperparams[argin];
    r.name = name;
    return samba__check_range(s, where, &r, value);
}

