/* ==== [ops-by-name] =========================================================================== */
/* samba_apply: ops by their names; and ops of your own. */
SAMBA_API const samba_op *samba_op_at(const samba_session *s, int32_t i)
{
    if (i < 0) return NULL;
    if (i < SAMBA__N_OPS) return &samba__op_table[i];
    return s && i - SAMBA__N_OPS < samba__n_user_ops(s) ? s->trace.user_ops[i - SAMBA__N_OPS]
                                                        : NULL;
}

SAMBA__FN bool samba__fail_op(samba_session *s, const char *what, const char *name)
{
    const char *nearest = "";
    size_t best = SAMBA__NO_SIZE;
    if (!name) return samba_fail(s, SAMBA_EARG, "in %s: the name of the op is NULL", what);

    for (int32_t i = 0; samba_op_at(s, i); i++) {
        const samba_op *op = samba_op_at(s, i);
        size_t d = samba__distance(op->name, name);
        if (d < best) {
            best = d;
            nearest = op->name;
        }
    }

    size_t n = strlen(name), m = strlen(nearest);
    bool near = 2 * best < (n > m ? n : m); /* half of another name means nothing */
    return samba_fail(
        s, SAMBA_EOP,
        "no op is called %s%s%s; register your own with samba_register_op before its first use; samba/torch_names.h has names of torch",
        name, near ? "; the nearest name is " : "", near ? nearest : "");
}

/* Records or computes the op called name, with room for all of its outputs. */
SAMBA__FN samba_tensor *samba__apply(samba_session *s, const char *what, const char *name,
                                     samba_tensor *const *in, int32_t n_in, const int32_t *attr,
                                     int32_t n_attr, samba_tensor **outs)
{
    if (!samba_ok(s)) return NULL;
    if (n_in < 0 || (n_in && !in) || n_attr < 0 || (n_attr && !attr)) {
        samba_fail(s, SAMBA_EARG,
                   "in %s(%s): %d inputs and %d attributes are announced but not given", what, name,
                   n_in, n_attr);
        return NULL;
    }

    const samba_op *op = samba__find_op(0, name, s->trace.user_ops, samba__n_user_ops(s));
    if (!op) {
        samba__fail_op(s, what, name);
        return NULL;
    }

    samba_tensor *y = samba__emit_op(s, op, in, n_in, attr, n_attr, outs);
    outs[0] = y; /* samba_on_trace may have put another one in its place */
    return y;
}

SAMBA_API samba_tensor *samba_apply(samba_session *s, const char *name, samba_tensor *const *in,
                                    int32_t n_in, const int32_t *attr, int32_t n_attr)
{
    samba_tensor *outs[SAMBA_MAX_OUT] = { NULL, NULL, NULL, NULL };
    return samba__apply(s, "samba_apply", name, in, n_in, attr, n_attr, outs);
}

SAMBA_API int32_t samba_apply_all(samba_session *s, const char *name, samba_tensor *const *in,
                                  int32_t n_in, const int32_t *attr, int32_t n_attr,
                                  samba_tensor **out, int32_t cap)
{
    samba_tensor *outs[SAMBA_MAX_OUT] = { NULL, NULL, NULL, NULL };
    int32_t n = 0;
    if (!samba__apply(s, "samba_apply_all", name, in, n_in, attr, n_attr, outs)) return 0;
    for (; n < SAMBA_MAX_OUT && outs[n]; n++)
        if (out && n < cap) out[n] = outs[n];
    return n;
}

SAMBA_API bool samba_register_op(samba_session *s, const samba_op *op)
{
    if (!samba_ok(s)) return false;
    bool complete = op && op->name && op->kernel && (op->shape || op->signature);
    if (!complete)
        return samba_fail(
            s, SAMBA_EARG,
            "in samba_register_op: an op needs a name, a kernel, and a signature or a shape rule");
    if (op->wire < SAMBA__FIRST_USER_WIRE)
        return samba_fail(
            s, SAMBA_EARG,
            "in samba_register_op: %s has wire number %d; numbers below 32768 belong to samba.h",
            op->name, (int32_t)op->wire);
    if (samba__find_op(op->wire, op->name, s->trace.user_ops, samba__n_user_ops(s)))
        return samba_fail(s, SAMBA_ENAME,
                          "in samba_register_op: the name %s or the number %d is taken", op->name,
                          (int32_t)op->wire);

    samba_op *copy = (samba_op *)samba__arena_alloc(s, sizeof *copy);
    if (!copy) return false;
    *copy = *op;
    return samba__guarded(s, samba__push_op_body, copy);
}

