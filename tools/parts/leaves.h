/* ==== [leaves] ================================================================================ */
/* Names are printed, compared line by line, and get endings such as __grad. */
SAMBA__FN bool samba__good_name(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ') return false;
    return true;
}

/* The name of a new leaf is taken. What the compiler makes has no other name: the user's tensor is
   to get one. */
SAMBA__FN bool samba__fail_taken(samba_session *s, const samba_tensor *other, samba_dtype dtype,
                                 const samba_shape *shape)
{
    if (s->trace.generating)
        return samba_fail(
            s, SAMBA_ENAME,
            "the compiled program has a tensor %T %S of its own that is called %s, and so is your tensor %T %S: give yours another name",
            (int)dtype, shape, other->name, (int)other->dtype, &other->shape);
    return samba_fail(s, SAMBA_ENAME,
                      "the name %s is used twice: %T %S has it already; choose another for %T %S",
                      other->name, (int)other->dtype, &other->shape, (int)dtype, shape);
}

/* Can there be a new leaf so called? A name that is taken is an error that says by what. */
SAMBA__FN bool samba__check_leaf(samba_session *s, const char *name, samba_dtype dtype,
                                 const samba_shape *shape)
{
    if (!name || !*name)
        return samba_fail(s, SAMBA_ENAME, "a tensor %S needs a name that is not empty", shape);

    const samba_tensor *other = samba__named(s, name);
    if (!samba__good_name(name))
        return samba_fail(s, SAMBA_ENAME, "the name of a tensor %S has control characters", shape);
    if ((unsigned)dtype >= SAMBA_N_DTYPES)
        return samba_fail(s, SAMBA_EDTYPE,
                          "%s: no type has the number %d; use SAMBA_F32, SAMBA_I32 ...", name,
                          (int32_t)dtype);

    if (!samba__sound_shape(shape))
        return samba_fail(s, SAMBA_ESHAPE,
                          "%s: the shape %S cannot be made; use 0 to %d dimensions of at least 1",
                          name, shape, SAMBA_MAX_DIMS);
    if (other) return samba__fail_taken(s, other, dtype, shape);
    return true;
}

SAMBA__FN samba_tensor *samba__new_leaf(samba_session *s, const char *name, samba_dtype dtype,
                                        const samba_shape *shape, int32_t role)
{
    samba_spec spec;
    spec.dtype = dtype;
    spec.shape = *shape;
    if (!samba_ok(s) || !samba__check_leaf(s, name, dtype, shape)) return NULL;

    s->arenas.transient = s->arenas.scope && !s->modes.tracing && role == SAMBA__INPUT;
    char *copy = samba__arena_text(s, name);
    samba_tensor *t = copy ? samba__new_tensor(s, copy, &spec, role) : NULL;
    s->arenas.transient = false;
    if (t && role == SAMBA__INPUT && shape->ndim > 0) t->batch_dim = 0;
    return t;
}

/* t with host memory of its own that is about to be filled; NULL if there is none. What a loaded
   program has of t is another value from then on. */
SAMBA__FN samba_tensor *samba__with_room(samba_tensor *t, samba_init init, int32_t parts)
{
    if (!t) return NULL;
    if (t->value.borrowed) t->data = NULL; /* the caller's: not to be written */
    t->value.borrowed = t->value.settled = false;
    samba__set_parts(t, parts);
    t->init = init;
    t->value.copied = 0;
    if (!samba__own_room(t)) return NULL;
    if (t->symbol < 0) t->value.given = true;
    return t;
}

/* t with its first value in memory; NULL if there is none. */
SAMBA__FN samba_tensor *samba__with_data(samba_tensor *t, samba_init init)
{
    t = samba__with_room(t, init, 1);
    if (t) samba__begin_value(t, t->data);
    return t;
}

/* After tracing, making an input of the loaded program again means the same tensor with new data:
   applications build the inputs of each run anew. NULL: name is no such input. */
SAMBA__FN samba_tensor *samba__input_again(samba_session *s, const char *name)
{
    samba_tensor *t = samba_ok(s) && !s->modes.tracing && name ? samba__named(s, name) : NULL;
    return t && t->role == SAMBA__INPUT && t->symbol >= 0 ? t : NULL;
}

/* How many microbatches data of this shape has for the input t: as many as the program runs, if it
   is the whole batch; one, if it is as traced; 0: it is no value of t. */
SAMBA__FN int32_t samba__parts_in(const samba_tensor *t, const samba_shape *shape)
{
    samba_shape whole = t->shape;
    int32_t parts = (int32_t)(samba__place_size(t) / samba__host_bytes(t));
    if (samba__same_shape(&t->shape, shape)) return 1;
    if (parts < 2 || t->batch_dim < 0) return 0;
    whole.dim[t->batch_dim] *= parts;
    return samba__same_shape(&whole, shape) ? parts : 0;
}

/* An input; after tracing that of the loaded program. parts: NULL, or data may be the whole batch
   of a program with microbatches, and *parts says how many it has. */
SAMBA__FN samba_tensor *samba__input_for(samba_session *s, const char *name, samba_dtype dtype,
                                         samba_shape shape, int32_t *parts)
{
    samba_tensor *t = samba__input_again(s, name);
    if (parts) *parts = 1;
    if (!t) return samba__new_leaf(s, name, dtype, &shape, SAMBA__INPUT);

    int32_t n = samba__parts_in(t, &shape);
    bool fits = t->dtype == dtype && (n == 1 || (n > 1 && parts));
    if (!fits) {
        samba_fail(
            s, SAMBA_ESHAPE,
            "the input %s is %T %S here, but %T %S in the loaded program: data of a run has the shape and type it was compiled for; for another one, compile again",
            name, (int)dtype, &shape, (int)t->dtype, &t->shape);
        return NULL;
    }

    if (parts) *parts = n;
    t->removed = false;
    return t;
}

SAMBA_API samba_tensor *samba_input(samba_session *s, const char *name, samba_dtype dtype,
                                    samba_shape shape)
{
    return samba__input_for(s, name, dtype, shape, NULL);
}

SAMBA_API void samba_random(uint64_t seed, const char *name, uint64_t block, uint32_t words[4])
{
    if (words) samba__philox(samba__stream_key(seed, name ? name : ""), block, 0, words);
}

SAMBA_API samba_tensor *samba_randn(samba_session *s, const char *name, samba_shape shape)
{
    return samba__with_data(samba_input(s, name, SAMBA_F32, shape),
                            samba__init_of(SAMBA_INIT_NORMAL, 0.0f, 1.0f));
}

SAMBA_API samba_tensor *samba_rand(samba_session *s, const char *name, samba_shape shape)
{
    return samba__with_data(samba_input(s, name, SAMBA_F32, shape),
                            samba__init_of(SAMBA_INIT_UNIFORM, 0.5f, 0.5f));
}

SAMBA_API samba_tensor *samba_randint(samba_session *s, const char *name, int32_t high,
                                      samba_shape shape)
{
    uint32_t w[4] = { 0, 0, 0, 0 };
    if (samba_ok(s) && high < 1)
        samba_fail(s, SAMBA_EARG, "in samba_randint(%s): high is %d, not at least 1", name, high);
    samba_tensor *t = samba__with_data(samba_input(s, name, SAMBA_I32, shape), samba__all(0.0f));
    if (!t) return NULL;

    uint64_t key = samba__stream_key(s->seed, t->name);
    for (int64_t i = 0; i < samba_count(&shape); i++) {
        if (i % 4 == 0) samba__philox(key, (uint64_t)i / 4, 0, w);
        ((int32_t *)t->data)[i] = (int32_t)((uint64_t)w[i % 4] * (uint32_t)high >> 32);
    }
    return t;
}

/* A named input of one value, whatever its type. */
SAMBA__FN samba_tensor *samba__constant_input(samba_session *s, const char *name, samba_dtype dtype,
                                              samba_shape shape, float value)
{
    samba_tensor *t = samba__with_data(samba_input(s, name, dtype, shape), samba__all(0.0f));
    if (!t) return NULL;
    for (int64_t i = 0; i < samba_count(&shape); i++)
        samba__store((uint8_t *)t->data + (size_t)i * samba_dtype_size(dtype), &value, dtype, 1);
    return t;
}

SAMBA_API samba_tensor *samba_zeros(samba_session *s, const char *name, samba_dtype dtype,
                                    samba_shape shape)
{
    return samba__constant_input(s, name, dtype, shape, 0.0f);
}

SAMBA_API samba_tensor *samba_ones(samba_session *s, const char *name, samba_dtype dtype,
                                   samba_shape shape)
{
    return samba__constant_input(s, name, dtype, shape, 1.0f);
}

/* Does data lie in the host copy of t, which a copy of so many microbatches replaces? */
SAMBA__FN bool samba__goes_with_copy(const samba_tensor *t, int32_t parts, const void *data)
{
    uintptr_t from = (uintptr_t)t->data, at = (uintptr_t)data;
    bool same_size = (t->value.parts > 1 ? t->value.parts : 1) == parts;
    if (!from || t->value.borrowed || same_size) return false;
    return at >= from && at < from + samba__copy_bytes(t);
}

SAMBA_API samba_tensor *samba_from_data(samba_session *s, const char *name, samba_dtype dtype,
                                        samba_shape shape, void *data)
{
    if (samba_ok(s) && !data)
        samba_fail(s, SAMBA_EARG, "in samba_from_data(%s): data is NULL", name);

    int32_t parts;
    samba_tensor *t = samba__input_for(s, name, dtype, shape, &parts);
    if (!t) return NULL;
    if (samba__goes_with_copy(t, parts, data)) {
        samba_fail(
            s, SAMBA_EARG,
            "in samba_from_data(%s): data is the tensor's host copy, which goes, as the new one has another size; give memory of your own, or use samba_from_data_copy",
            name);
        return NULL;
    }

    t->value.settled = false;
    t->value.copied = 0;
    if (t->symbol < 0) t->value.given = true;

    bool same_size = (t->value.parts > 1 ? t->value.parts : 1) == parts;
    if (t->data == data && same_size) return t; /* its own host copy, or lent again */
    if (!t->value.borrowed) samba__free(s, t->data, samba__copy_bytes(t));
    t->data = data;
    t->value.borrowed = true;
    t->value.parts = parts > 1 ? parts : 0;
    return t;
}

SAMBA_API samba_tensor *samba_from_data_copy(samba_session *s, const char *name, samba_dtype dtype,
                                             samba_shape shape, const void *data)
{
    if (samba_ok(s) && !data)
        samba_fail(s, SAMBA_EARG, "in samba_from_data_copy(%s): data is NULL", name);
    int32_t parts;
    samba_tensor *t = samba__input_for(s, name, dtype, shape, &parts);

    /* What is copied may lie in the copy that goes: that one goes last. */
    void *former = NULL;
    size_t former_bytes = 0;
    if (t && samba__goes_with_copy(t, parts, data)) {
        former = t->data;
        former_bytes = samba__copy_bytes(t);
        t->data = NULL;
    }
    t = samba__with_room(t, samba__all(0.0f), parts);
    if (t && t->data != data) memcpy(t->data, data, samba__copy_bytes(t));
    samba__free(s, former, former_bytes);
    return t;
}

SAMBA_API samba_tensor *samba_name(samba_tensor *t, const char *name)
{
    samba__renaming r = { t, NULL };
    if (!t || !samba_ok(t->session)) return NULL;
    samba_session *s = t->session;
    if (name && samba__same_text(t->name, name)) return t;

    if (s->program.rt && t->symbol >= 0) {
        samba_fail(
            s, SAMBA_ESTATE,
            "in samba_name: the loaded program knows %s by this name; give names before compiling",
            t->name);
        return NULL;
    }
    if (!samba__check_leaf(s, name, t->dtype, &t->shape)) return NULL;

    s->arenas.transient = t->transient;
    r.name = samba__arena_text(s, name);
    s->arenas.transient = false;
    if (!r.name || !samba__guarded(s, samba__rename_body, &r)) return NULL;
    if (t->node && t->out_index == 0) t->node->name = r.name;
    return t;
}

SAMBA_API int32_t samba_parameters(samba_session *s, samba_tensor **list, int32_t cap)
{
    int32_t n = 0;
    if (!s) return 0;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->trace.tensors[i];
        if (t->role != SAMBA__WEIGHT || t->generated) continue;
        if (list && n < cap) list[n] = t;
        n++;
    }
    return n;
}

SAMBA_API samba_tensor *samba_set_batch_dim(samba_tensor *t, int32_t batch_dim)
{
    if (!t || !samba_ok(t->session)) return NULL;
    if (batch_dim < -1 || batch_dim >= t->shape.ndim) {
        samba_fail(t->session, SAMBA_EARG, "batch_dim %d of %s %S is out of range; -1 means none",
                   batch_dim, t->name, &t->shape);
        return NULL;
    }
    t->batch_dim = batch_dim;
    return t;
}

/* The leaf of this role, name and shape, new or known; init is used when it is new. What the user
   made is never taken for something of the compiler's, nor the other way round; but a packed form
   is known by its shape, whoever loaded it. */
SAMBA__FN samba_tensor *samba__shared_leaf(samba_session *s, const char *name, samba_dtype dtype,
                                           const samba_shape *shape, int32_t role, samba_init init)
{
    samba_tensor *t = s && name ? samba__named(s, name) : NULL;
    if (!samba_ok(s)) return NULL;
    bool known = t && t->role == role && t->dtype == dtype && samba__same_shape(&t->shape, shape);
    if (known && (role == SAMBA__WEIGHT || t->generated == s->trace.generating)) return t;

    t = samba__new_leaf(s, name, dtype, shape, role);
    if (!t) return NULL;
    t->frozen = s->modes.freezes && role == SAMBA__WEIGHT;
    t->generated = s->trace.generating;
    t->init = init;
    t->value.given = true;

    bool now = role == SAMBA__ARGIN || (role == SAMBA__WEIGHT && s->modes.eager_params);
    return now ? samba__with_data(t, init) : t;
}

SAMBA__FN bool samba__check_init(samba_session *s, const char *name, const samba_init *init)
{
    char at[64];
    samba__print(at, sizeof at, "samba_init of %s", name);
    if (!samba__in_range(s, at, "kind", (int32_t)init->kind, 0.0, SAMBA_INIT_UNIFORM)
        || !samba__in_range(s, at, "value", (double)init->value, -SAMBA__MOST, SAMBA__MOST)
        || !samba__in_range(s, at, "scale", (double)init->scale, 0.0, SAMBA__MOST))
        return false;

    if (init->kind == SAMBA_INIT_CONSTANT && init->scale != 0.0f)
        return samba_fail(
            s, SAMBA_EARG,
            "in samba_init of %s: a constant has no scale, and it is %g; set kind to SAMBA_INIT_NORMAL or SAMBA_INIT_UNIFORM, or scale to 0",
            name, (double)init->scale);
    return true;
}

SAMBA_API samba_tensor *samba_param(samba_session *s, const char *name, samba_shape shape,
                                    samba_init init)
{
    samba_dtype dtype = s && shape.ndim == 2 ? s->modes.param_dtype : SAMBA_F32;
    if (samba_ok(s) && name && samba__sound_shape(&shape) && !samba__check_init(s, name, &init))
        return NULL;
    return samba__shared_leaf(s, name, dtype, &shape, SAMBA__WEIGHT, init);
}

SAMBA_API samba_dtype samba_set_param_dtype(samba_session *s, samba_dtype dtype)
{
    samba_dtype former = s ? s->modes.param_dtype : SAMBA_F32;
    if (samba_ok(s) && !samba__is_float(dtype))
        samba_fail(s, SAMBA_EDTYPE,
                   "in samba_set_param_dtype: parameters are f32, bf16 or f16, not %T", (int)dtype);
    else if (samba_ok(s))
        s->modes.param_dtype = dtype;
    return former;
}

SAMBA_API samba_tensor *samba_buffer_of(samba_session *s, const char *name, samba_dtype dtype,
                                        samba_shape shape, float value)
{
    bool kept = samba__is_float(dtype) || dtype == SAMBA_I8;
    if (samba_ok(s) && !kept) {
        samba_fail(s, SAMBA_EDTYPE, "in samba_buffer_of(%s): buffers are f32, bf16, f16 or i8",
                   name ? name : "NULL");
        return NULL;
    }
    return samba__shared_leaf(s, name, dtype, &shape, SAMBA__STATE, samba__all(value));
}

SAMBA_API samba_tensor *samba_buffer(samba_session *s, const char *name, samba_shape shape,
                                     float value)
{
    return samba_buffer_of(s, name, SAMBA_F32, shape, value);
}

/* Parameters that are there may have begun: they are not to begin otherwise. */
SAMBA__FN bool samba__choose_lazy(samba_session *s, const char *what, bool lazy,
                                  const samba_lazy_opts *opts)
{
    static const char *const roundings[2] = { "nearest_even", "truncation" };
    if (!samba_ok(s)) return false;

    for (int32_t i = 0; i < samba__n_tensors(s); i++)
        if (s->trace.tensors[i]->role == SAMBA__WEIGHT)
            return samba_fail(
                s, SAMBA_ESTATE,
                "in %s: there is a parameter, %s, already; call it before the first one is made",
                what, s->trace.tensors[i]->name);

    if (opts && !samba__in_range(s, what, "init_threads", opts->init_threads, 0.0, 65536.0))
        return false;
    const char *rounding = opts && opts->rounding ? opts->rounding : roundings[0];
    bool cuts = samba__same_text(rounding, roundings[1]);
    if (!cuts && !samba__same_text(rounding, roundings[0]))
        return samba_fail(s, SAMBA_EARG, "in %s: the rounding %s is unknown; use %s or %s", what,
                          rounding, roundings[0], roundings[1]);

    memset(&s->modes.lazy, 0, sizeof s->modes.lazy);
    if (opts) s->modes.lazy = *opts;
    s->modes.lazy.rounding = NULL; /* the text is the caller's */
    if (lazy && s->modes.lazy.init_threads < 1) s->modes.lazy.init_threads = 8;
    s->modes.eager_params = !lazy;
    s->modes.cuts_bf16 = cuts;
    return true;
}

SAMBA_API bool samba_enable_lazy_param(samba_session *s, const samba_lazy_opts *opts)
{
    return samba__choose_lazy(s, "samba_enable_lazy_param", true, opts);
}

SAMBA_API bool samba_disable_lazy_param(samba_session *s)
{
    return samba__choose_lazy(s, "samba_disable_lazy_param", false, NULL);
}

SAMBA_API bool samba_use_lazy_param(const samba_session *s)
{
    return s && !s->modes.eager_params;
}

SAMBA__FN samba_tensor *samba__scalar(samba_session *s, const char *name, samba_dtype dtype,
                                      int32_t role, float value)
{
    samba_shape scalar = samba_scalar_shape();
    return samba__shared_leaf(s, name, dtype, &scalar, role, samba__all(value));
}

/* A hyperparameter, SAMBA__ARGIN_..., of this name. */
SAMBA__FN samba_tensor *samba__argin(samba_session *s, const char *name, int32_t argin, float value)
{
    samba_dtype dtype = argin == SAMBA__ARGIN_SEED ? SAMBA_I32 : SAMBA_F32;
    samba_tensor *t = samba__scalar(s, name, dtype, SAMBA__ARGIN, value);
    if (t) t->argin = argin;
    return t;
}

SAMBA_API samba_tensor *samba_number(samba_session *s, float value)
{
    return samba_full(s, samba_scalar_shape(), value);
}

