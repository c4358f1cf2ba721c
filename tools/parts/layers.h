/* ==== [layers] ================================================================================ */
/* The f32 leaf called layer__part: a parameter, or what belongs to one. */
SAMBA__FN samba_tensor *samba__layer_param(samba_session *s, const char *layer, const char *part,
                                           const samba_shape *shape, int32_t role, samba_init init)
{
    char buffer[256];
    if (!samba_ok(s)) return NULL;
    if (!layer || !*layer) {
        samba_fail(s, SAMBA_ENAME, "a layer needs a name for its %s", part);
        return NULL;
    }
    const char *name = samba__print_name(s, buffer, sizeof buffer, "%s__%s", layer, part);
    if (!name) return NULL;
    return role == SAMBA__WEIGHT ? samba_param(s, name, *shape, init)
                                 : samba__shared_leaf(s, name, SAMBA_F32, shape, role, init);
}

SAMBA_API bool samba_set_sharing(samba_session *s, bool meant)
{
    bool former = s && s->modes.shares;
    if (!samba_ok(s)) return former;
    s->modes.shares = meant;
    return former;
}

/* What a second call of a layer shares with the first, by its op. */
SAMBA__FN const char *samba__shared_by(int32_t op)
{
    bool drops = op == SAMBA__OP_dropout || op == SAMBA__OP_scaled_dot_product_attention;
    if (drops) return "both draw the same mask";
    return op == SAMBA__OP_fake_quantize ? "both have one range" : "both have the same parameters";
}

/* The layer `name`, whose first parameter is `leaf`, has made y by this op. A second call is told
   unless the graph is another one, or the op: lookup and affine share embeddings on purpose. */
SAMBA__FN samba_tensor *samba__layer_called(samba_tensor *y, const char *name, int32_t op,
                                            samba_tensor *leaf)
{
    if (!y || !leaf || !y->session->modes.tracing) return y;

    samba_session *s = y->session;
    uint32_t trace = s->trace.n_programs + 1;
    bool again
        = leaf->layer.trace == trace && leaf->layer.graph == s->modes.graph && leaf->layer.op == op;
    if (again && !s->modes.shares)
        samba__warn(
            s,
            "in layer %s: it is called a second time, so %s; give this call a name of its own, or, if it is meant, call samba_set_sharing(s, true) before it",
            name, samba__shared_by(op));

    leaf->layer.trace = trace;
    leaf->layer.graph = s->modes.graph;
    leaf->layer.op = op;
    return y;
}

SAMBA__FN samba_shape samba__shape2(int32_t a, int32_t b)
{
    const int32_t dim[2] = { a, b };
    return samba__shape_of(dim, 2);
}

/* A layer's input must have a last dimension (or a given axis) to take its size from. */
SAMBA__FN int32_t samba__layer_size(samba_tensor *x, const char *layer, int32_t axis)
{
    if (axis < 0) axis += x->shape.ndim;
    if (axis >= 0 && axis < x->shape.ndim) return x->shape.dim[axis];
    samba_fail(x->session, SAMBA_ESHAPE, "in layer %s: %s %S has too few dimensions", layer,
               x->name, &x->shape);
    return 0;
}

/* How a layer's parameters begin, by the inputs of each of its outputs: U(+-1/sqrt(fan_in)).
   Volatile for the reason that samba__attention_scale says. */
SAMBA__FN samba_init samba__init_of_layer(double fan_in)
{
    samba__float_mode callers = samba__enter_float_mode();
    volatile double inputs = fan_in;
    volatile float bound = 1.0f / samba__sqrt((float)inputs);
    samba__leave_float_mode(callers);
    return samba__init_of(SAMBA_INIT_UNIFORM, 0.0f, bound);
}

SAMBA__FN samba_tensor *samba__linear_layer(samba_tensor *x, const char *name, int32_t n, bool bias)
{
    int32_t k = x ? samba__layer_size(x, name, -1) : 0;
    if (!k) return NULL;

    samba_shape w_shape = samba__shape2(n, k), b_shape = samba__shape_of(&n, 1);
    samba_init init = samba__init_of_layer((double)k);
    samba_tensor *w = samba__layer_param(x->session, name, "weight", &w_shape, SAMBA__WEIGHT, init);
    samba_tensor *b
        = bias ? samba__layer_param(x->session, name, "bias", &b_shape, SAMBA__WEIGHT, init) : NULL;

    x->session->trace.next_name = name;
    return samba__layer_called(samba_affine(x, w, b), name, SAMBA__OP_affine, w);
}

SAMBA_API samba_tensor *samba_linear(samba_tensor *x, const char *name, int32_t n)
{
    return samba__linear_layer(x, name, n, true);
}

SAMBA_API samba_tensor *samba_linear_no_bias(samba_tensor *x, const char *name, int32_t n)
{
    return samba__linear_layer(x, name, n, false);
}

/* A vector of n equal values: a weight, or the state of a norm. */
SAMBA__FN samba_tensor *samba__layer_vector(samba_tensor *x, const char *layer, const char *part,
                                            int32_t n, int32_t role, float value)
{
    samba_shape shape = samba__shape_of(&n, 1);
    return samba__layer_param(x->session, layer, part, &shape, role, samba__all(value));
}

SAMBA_API samba_tensor *samba_layernorm(samba_tensor *x, const char *name)
{
    int32_t n = x ? samba__layer_size(x, name, -1) : 0;
    if (!n) return NULL;
    samba_tensor *w = samba__layer_vector(x, name, "weight", n, SAMBA__WEIGHT, 1.0f);
    samba_tensor *b = samba__layer_vector(x, name, "bias", n, SAMBA__WEIGHT, 0.0f);
    x->session->trace.next_name = name;
    return samba__layer_called(samba_layer_normalize(x, w, b, 1e-5f), name, SAMBA__OP_layer_norm,
                               w);
}

SAMBA_API samba_tensor *samba_rmsnorm(samba_tensor *x, const char *name)
{
    int32_t n = x ? samba__layer_size(x, name, -1) : 0;
    if (!n) return NULL;
    samba_tensor *w = samba__layer_vector(x, name, "weight", n, SAMBA__WEIGHT, 1.0f);
    x->session->trace.next_name = name;
    return samba__layer_called(samba_rms_normalize(x, w, 1e-5f), name, SAMBA__OP_rms_norm, w);
}

SAMBA_API samba_tensor *samba_batchnorm(samba_tensor *x, const char *name)
{
    int32_t n = x ? samba__layer_size(x, name, 1) : 0;
    if (!n) return NULL;
    if (x->session->modes.legacy_names) {
        samba_fail(x->session, SAMBA_ESTATE,
                   "in samba_batchnorm of %s: legacy names must be off for models with batchnorm",
                   name);
        return NULL;
    }

    samba_tensor *w = samba__layer_vector(x, name, "weight", n, SAMBA__WEIGHT, 1.0f);
    samba_tensor *b = samba__layer_vector(x, name, "bias", n, SAMBA__WEIGHT, 0.0f);
    samba_tensor *mean = samba__layer_vector(x, name, "running_mean", n, SAMBA__STATE, 0.0f);
    samba_tensor *var = samba__layer_vector(x, name, "running_var", n, SAMBA__STATE, 1.0f);

    x->session->trace.next_name = name;
    return samba__layer_called(samba_batch_normalize(x, w, b, mean, var, 0.1f, 1e-5f), name,
                               SAMBA__OP_batch_norm, w);
}

/* Images of 1 or 3 colours whose last dimension is the colour: a kernel would run over rows and
   colours, and the columns would be channels. */
SAMBA__FN void samba__warn_of_channels_last(const samba_tensor *x, const char *name, int32_t kernel,
                                            int32_t spatial)
{
    const int32_t *dim = x->shape.dim;
    if (x->node) return; /* a feature map may have any shape */
    bool image = spatial == 2 && x->shape.ndim == 4 && (dim[3] == 1 || dim[3] == 3);
    if (!image || kernel < 2 || dim[1] < 8 || dim[2] < 8) return;
    samba__warn(
        x->session,
        "in layer %s: %s %S looks like images (N,H,W,C), but a convolution takes (N,C,H,W): samba_permute(x, SAMBA_AXES(0, 3, 1, 2)) before it",
        name, x->name, &x->shape);
}

SAMBA__FN samba_tensor *samba__conv_layer(samba_tensor *x, const char *name, int32_t o,
                                          int32_t kernel, int32_t spatial,
                                          const samba_conv_opts *opts)
{
    int32_t c = x ? samba__layer_size(x, name, 1) : 0;
    int32_t groups = opts && opts->groups > 0 ? opts->groups : 1;
    if (!c) return NULL;
    if (c % groups) {
        samba_fail(x->session, SAMBA_ESHAPE,
                   "in layer %s: the %d channels of %s %S cannot be split into groups %d", name, c,
                   x->name, &x->shape, groups);
        return NULL;
    }
    samba__warn_of_channels_last(x, name, kernel, spatial);

    const int32_t dim[4] = { o, c / groups, kernel, kernel };
    samba_shape w_shape = samba__shape_of(dim, 2 + spatial), b_shape = samba__shape_of(&o, 1);
    double taps = spatial == 2 ? (double)kernel * kernel : kernel, fan_in = c / groups * taps;
    samba_init init = samba__init_of_layer(fan_in);
    samba_tensor *w = samba__layer_param(x->session, name, "weight", &w_shape, SAMBA__WEIGHT, init);
    samba_tensor *b = samba__layer_param(x->session, name, "bias", &b_shape, SAMBA__WEIGHT, init);

    x->session->trace.next_name = name;
    return samba__layer_called(samba_convolution(x, w, b, opts), name, SAMBA__OP_convolution, w);
}

SAMBA_API samba_tensor *samba_conv2d(samba_tensor *x, const char *name, int32_t o, int32_t kernel,
                                     const samba_conv_opts *opts)
{
    return samba__conv_layer(x, name, o, kernel, 2, opts);
}

SAMBA_API samba_tensor *samba_conv1d(samba_tensor *x, const char *name, int32_t o, int32_t kernel,
                                     const samba_conv_opts *opts)
{
    return samba__conv_layer(x, name, o, kernel, 1, opts);
}

SAMBA_API samba_tensor *samba_embedding(samba_tensor *ids, const char *name, int32_t rows,
                                        int32_t n)
{
    if (!ids) return NULL;
    samba_shape shape = samba__shape2(rows, n);
    samba_tensor *w = samba__layer_param(ids->session, name, "weight", &shape, SAMBA__WEIGHT,
                                         samba__init_of(SAMBA_INIT_NORMAL, 0.0f, 1.0f));
    ids = samba__ids_as_i32(ids); /* before the name is given to the lookup */
    if (!ids) return NULL;
    ids->session->trace.next_name = name;
    return samba__layer_called(samba_lookup(ids, w), name, SAMBA__OP_lookup, w);
}

#define SAMBA__COUNTER "forward_runs"

/* The counter of training runs, which every dropout layer of the session shares. */
SAMBA__FN samba_tensor *samba__forward_counter(samba_session *s)
{
    const int32_t training = 1;
    if (s->modes.tracing && s->trace.counter) return s->trace.counter;

    samba_tensor *runs = samba_ok(s) ? samba__named(s, SAMBA__COUNTER) : NULL;
    bool known = runs && runs->generated && runs->role == SAMBA__STATE && runs->dtype == SAMBA_I32;
    if (!known) runs = samba__scalar(s, SAMBA__COUNTER, SAMBA_I32, SAMBA__STATE, 0.0f);
    if (runs) runs->generated = true; /* it is no buffer of the user's */

    samba_tensor *count = samba__emit1(SAMBA__OP_count, runs, &training, 1);
    if (s->modes.tracing)
        s->trace.counter = count; /* a program counts once a run, eager ops at every call */
    return count;
}

SAMBA_API bool samba_reset_random_generator(samba_session *s)
{
    samba_tensor *runs = samba_ok(s) ? samba__named(s, SAMBA__COUNTER) : NULL;
    void *count = runs ? samba__value_of(runs) : NULL;
    const int32_t none = 0;
    bool counted = count && runs->role == SAMBA__STATE && memcmp(count, &none, sizeof none);
    if (!counted) return samba_ok(s);
    memcpy(count, &none, sizeof none);
    if (s->program.rt && runs->symbol >= 0) samba__note_edit(runs);
    return true;
}

/* What a layer of dropout needs besides x: its key, and the inputs from SAMBA__DROPOUT_RATE on. */
typedef struct samba__dropout_parts {
    samba_tensor *rate, *seed, *counter;
    uint64_t key;
} samba__dropout_parts;

SAMBA__FN bool samba__dropout_layer(samba_tensor *x, const char *what, const char *name, float p,
                                    samba__dropout_parts *d)
{
    char full[256];
    if (!x || !samba_ok(x->session)) return false;
    samba_session *s = x->session;
    if (!name || !*name)
        return samba_fail(s, SAMBA_EARG, "in %s of %s: the layer needs a name", what, x->name);

    char where[300];
    samba__print(where, sizeof where, "%s of %s", what, x->name);
    if (!samba__check_hyperparam(s, where, SAMBA__ARGIN_RATE, "p", (double)p)) return false;

    const char *part = samba__print_name(s, full, sizeof full, "%s__p", name);
    d->rate = part ? samba__argin(s, part, SAMBA__ARGIN_RATE, p) : NULL;
    if (d->rate && d->rate->init.value != p)
        return samba_fail(
            s, SAMBA_EARG,
            "in %s: there is a layer %s with p = %g, and this one has p = %g: give it a name of its own; samba_set changes the rate of a program",
            where, name, (double)d->rate->init.value, (double)p);

    part = samba__print_name(s, full, sizeof full, "%s__seed", name);
    d->seed = part ? samba__argin(s, part, SAMBA__ARGIN_SEED, 0.0f) : NULL;
    d->counter = samba__forward_counter(s);
    d->key = samba__stream_key(s->seed, name);
    s->trace.next_name = name;
    return d->rate && d->seed && d->counter;
}

SAMBA_API samba_tensor *samba_dropout(samba_tensor *x, const char *name, float p)
{
    samba__dropout_parts d;
    if (!samba__dropout_layer(x, "samba_dropout", name, p, &d)) return NULL;
    samba_tensor *in[SAMBA__DROPOUT_INPUTS] = { x, d.rate, d.seed, d.counter };
    int32_t attr[SAMBA__DROPOUT_END];
    samba__put_key(attr, d.key);
    samba_tensor *y = samba__emit(x->session, SAMBA__OP_dropout, in, SAMBA__DROPOUT_INPUTS, attr,
                                  SAMBA__DROPOUT_END, NULL);
    return samba__layer_called(y, name, SAMBA__OP_dropout, d.rate);
}

SAMBA_API samba_tensor *samba_attention_dropout(samba_tensor *const qkv[3], samba_tensor *mask,
                                                const samba_attention_opts *opts, const char *name,
                                                float p)
{
    samba__dropout_parts d;
    bool given = qkv && qkv[0] && qkv[1] && qkv[2];
    if (!given || !samba__dropout_layer(qkv[0], "samba_attention_dropout", name, p, &d))
        return NULL;
    samba_tensor *drop[] = { d.rate, d.seed, d.counter };
    samba_tensor *y = samba__attend(qkv, mask, opts, drop, d.key, NULL);
    return samba__layer_called(y, name, SAMBA__OP_scaled_dot_product_attention, d.rate);
}

SAMBA_API samba_tensor *samba_fake_quantize(samba_tensor *x, const char *name)
{
    if (!x || !samba_ok(x->session)) return NULL;
    samba_tensor *range
        = samba__layer_vector(x, name, "range", SAMBA__RANGE_SIZE, SAMBA__STATE, 0.0f);
    int32_t momentum = samba_float_attr(0.01f);
    x->session->trace.next_name = name;
    if (!range) return NULL;
    samba_tensor *y = samba__emit2(SAMBA__OP_fake_quantize, x, range, &momentum, 1);
    return samba__layer_called(y, name, SAMBA__OP_fake_quantize, range);
}

SAMBA_API bool samba_set_requires_grad(samba_tensor *t, bool requires_grad)
{
    if (!t || !samba_ok(t->session)) return false;
    if (t->role != SAMBA__WEIGHT)
        return samba_fail(t->session, SAMBA_EARG, "in samba_set_requires_grad: %s is no parameter",
                          t->name);
    t->frozen = !requires_grad;
    return true;
}

SAMBA_API bool samba_set_frozen(samba_session *s, bool frozen)
{
    if (!samba_ok(s)) return false;
    s->modes.freezes = frozen;
    return true;
}

