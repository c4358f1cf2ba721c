/* initial.h - of onnx_import.h: what initializers become: parameters, buffers, or constants. */

/* Bytes that the values of an initializer take. */
static uint64_t ox_initializer_bytes(const Onnx__TensorProto *t)
{
    int64_t count = t->n_dims <= SAMBA_MAX_DIMS ? ox_count((int32_t)t->n_dims, t->dims) : -1;
    size_t each = ox_is_float(t->data_type) ? sizeof(float) : sizeof(int64_t);
    return count > 0 ? (uint64_t)count * each : 0;
}

static void *ox_refuse_initializer(ox_import *c, const Onnx__TensorProto *t, const char *why)
{
    const char *file = ox_external(t, "location"), *name = t->name && *t->name ? t->name : NULL;
    if (why == ox_no_memory) {
        samba_fail(c->s, SAMBA_ENOMEM, "out of memory while importing");
        return NULL;
    }
    samba_fail(c->s, SAMBA_EOP, "%s%s%shas %s%s%s", name ? "initializer " : "", name ? name : "",
               name ? " " : "", why, file ? ": " : "", file ? file : "");
    return NULL;
}

/* Its values, to be freed; NULL after a refusal. */
static onnx_array *ox_read_initializer(ox_import *c, const Onnx__TensorProto *t)
{
    const char *why = "";
    onnx_array *a = ox_read_tensor(t, &c->place, &why);
    return a ? a : (onnx_array *)ox_refuse_initializer(c, t, why);
}

/* ---- What was read in a body: read once, however often the body is run ---- */

static ox_initializer **ox_bucket_of(const ox_import *c, const void *of)
{
    return &c->initializers[ox_hash_pointer(of) % OX_N_INITIALIZERS];
}

static ox_value *ox_remembered(const ox_import *c, const void *of)
{
    ox_initializer *i = c->depth ? *ox_bucket_of(c, of) : NULL;
    while (i && i->of != of)
        i = i->beside;
    return i ? i->value : NULL;
}

static bool ox_remember(ox_import *c, const void *of, ox_value *v)
{
    if (!c->depth) return true;
    ox_initializer *i = (ox_initializer *)ox_new(c, 1, sizeof *i);
    if (!i || !ox_may_hold(c, ox_initializer_bytes(v->proto))) return false;
    i->of = of;
    i->value = v;
    i->beside = *ox_bucket_of(c, of);
    *ox_bucket_of(c, of) = i;
    return true;
}

/* A tensor of an attribute: a constant, as exporters write numbers of the program so, and what was
   trained as initializers. */
static ox_value *ox_attribute_value(ox_import *c, const Onnx__TensorProto *t)
{
    ox_value *v = ox_remembered(c, t);
    if (v) return v;
    onnx_array *a = ox_read_initializer(c, t);
    if (a) ox_apply_fold(c, t, a);
    v = a ? ox_host_value(c, (onnx_array *)ox_keep(c, a)) : NULL;
    if (!v) return NULL;
    v->proto = t;
    bool fine = ox_remember(c, t, v);
    v->proto = NULL;
    return fine ? v : NULL;
}

/* ---- Parameters and buffers ---- */

static bool ox_all_finite(const onnx_array *a)
{
    for (int64_t n = 0; n < a->count; n++)
        if (a->f[n] - a->f[n] != 0) return false;
    return true;
}

static bool ox_same_bits(const onnx_array *a)
{
    for (int64_t n = 1; n < a->count; n++)
        if (memcmp(&a->f[n], &a->f[0], sizeof *a->f)) return false;
    return true;
}

/* Nothing that is trained is infinite: what is, such as a mask added to scores, is a buffer. */
static onnx_role ox_role_of(ox_import *c, const char *name, const onnx_array *a, int32_t reach)
{
    if (!a->f || !a->count || !(reach & ~OX_KNOWN)) return ONNX_CONSTANT;
    onnx_role role = (reach & OX_DATA) && ox_all_finite(a) ? ONNX_PARAMETER : ONNX_BUFFER;
    bool asked = c->options && c->options->role;
    return asked ? c->options->role(name, role, c->options->role_user) : role;
}

/* A name that no other leaf of the model has: bodies may use one twice. NULL: no memory. */
static const char *ox_leaf_name(ox_import *c, const char *name, const char *end)
{
    size_t size = strlen(name) + strlen(end) + 16;
    char *text = (char *)ox_new(c, (int64_t)size, 1);
    if (!text) return NULL;
    snprintf(text, size, "%s%s", name, end);
    ox_make_sound(text);
    ox_binding *taken = ox_find_in(&c->leaves, text, ox_hash(text));
    ox_value *first = taken ? taken->value : NULL; /* counts those that asked for its name */
    while (taken) {
        snprintf(text, size, "%s%s__%d", name, end, ++first->n + 1);
        ox_make_sound(text);
        taken = ox_find_in(&c->leaves, text, ox_hash(text));
    }
    ox_value *mark = ox_new_value(c, 0);
    return mark && ox_bind_in(c, &c->leaves, text, mark) ? text : NULL;
}

static bool ox_make_leaf(ox_import *c, ox_value *v, const char *name, const onnx_array *a,
                         onnx_role role)
{
    const samba_init zeros = { SAMBA_INIT_CONSTANT, 0.0f, 0.0f };
    samba_shape shape = ox_shape(a->ndim, a->dim);
    if (!name) return false;
    v->t = role == ONNX_PARAMETER ? samba_param(c->s, name, shape, zeros)
                                  : samba_buffer(c->s, name, shape, 0.0f);
    v->leaf = v->known = true;
    v->trained = role == ONNX_PARAMETER;
    return v->t != NULL;
}

enum { OX_LARGE = 1 << 18 }; /* elements of what is not to lie in memory twice */

/* Large values that have become a tensor: the host's copy goes, and comes back if it is asked for.
   A node that looks at it has ended. */
static void ox_drop_host(ox_value *v)
{
    if (v && v->codes) ox_drop_host(v->codes);
    if (!v || !v->t || !v->block || !v->host || v->host->count < OX_LARGE) return;
    free(v->block->payload);
    v->block->payload = NULL;
    v->block = NULL;
    v->host = NULL;
}

/* Gives a leaf its values. a, which is freed, has them; but large ones are read once more, into the
   memory of the leaf, when a is gone: a model of gigabytes is not to lie in memory twice. */
static bool ox_give_leaf(ox_import *c, ox_value *v, const Onnx__TensorProto *t, onnx_array *a)
{
    const char *why = "";
    bool direct = a->count >= OX_LARGE && v->t->dtype == SAMBA_F32 && v->t->symbol < 0;
    if (!direct) {
        bool fine = samba_write_f32(v->t, a->f, a->count);
        free(a);
        return fine;
    }
    onnx_array place = *a;
    free(a);
    place.f = (float *)samba_cpu(v->t);
    if (!place.f) return false;
    if (!ox_fill_array(&place, t, &c->place, &why)) return ox_refuse_initializer(c, t, why) != NULL;
    ox_apply_fold(c, t, &place);
    return true;
}

/* Large integers of 8 bits that only the program reads stay bytes: on the host each would take 8.
 */
static bool ox_stays_bytes(const Onnx__TensorProto *t, int32_t reach)
{
    bool byte = t->data_type == OX_INT8 || t->data_type == OX_UINT8;
    return byte && !(reach & OX_KNOWN) && ox_initializer_bytes(t) / sizeof(int64_t) >= OX_LARGE;
}

/* They are read when a node asks for them: here only their shape. */
static bool ox_fill_form(ox_import *c, ox_value *v)
{
    const Onnx__TensorProto *t = v->proto;
    const char *why = "";
    int64_t count = ox_check_tensor(t, &c->place, &why);
    if (count < 0) return ox_refuse_initializer(c, t, why) != NULL;
    v->form = (onnx_array *)ox_new(c, 1, sizeof *v->form);
    if (!v->form) return false;
    v->form->type = v->type = t->data_type;
    v->form->ndim = (int32_t)t->n_dims;
    memcpy(v->form->dim, t->dims, t->n_dims * sizeof *t->dims);
    v->form->count = count;
    v->known = true;
    return true;
}

static uint8_t *ox_read_raw(ox_import *c, const Onnx__TensorProto *t)
{
    const char *why = "";
    uint8_t *bytes = ox_read_bytes(t, &c->place, &why);
    return bytes ? bytes : (uint8_t *)ox_refuse_initializer(c, t, why);
}

/* Reads a value and makes of it what its use says. The host's copy stays only where it is asked. */
static bool ox_fill(ox_import *c, ox_value *v, const char *name, int32_t reach)
{
    if (ox_stays_bytes(v->proto, reach)) return ox_fill_form(c, v);
    onnx_array *a = ox_read_initializer(c, v->proto);
    if (!a) return false;
    ox_apply_fold(c, v->proto, a);
    onnx_role role = ox_role_of(c, name, a, reach);
    bool twice = role == ONNX_PARAMETER && (reach & OX_DATA) && (reach & OX_STATE), fine = true;
    v->type = a->type;
    v->known = true;
    v->uniform = a->f && ox_same_bits(a);
    if (role == ONNX_CONSTANT || (reach & OX_KNOWN)) {
        v->host = (onnx_array *)ox_keep(c, a);
        v->block = v->host ? c->blocks : NULL;
        if (!v->host || role == ONNX_CONSTANT) return v->host != NULL;
    }
    fine = ox_make_leaf(c, v, ox_leaf_name(c, name, ""), a, role);
    if (fine && twice) {
        v->state = ox_new_value(c, a->type);
        fine = v->state
            && ox_make_leaf(c, v->state, ox_leaf_name(c, name, "__state"), a, ONNX_BUFFER)
            && samba_write_f32(v->state->t, a->f, a->count);
    }
    if (fine && v->host) return samba_write_f32(v->t, a->f, a->count);
    if (fine) return ox_give_leaf(c, v, v->proto, a);
    if (!v->host) free(a);
    return false;
}

/* ---- The initializers of a graph ---- */

/* Their names are there before their values are read, so that what is refused without these is
   refused soon. */
static bool ox_declare_initializers(ox_import *c, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        const Onnx__TensorProto *t = g->initializer[i];
        ox_value *v = ox_remembered(c, t);
        if (!v) v = ox_new_value(c, t->data_type);
        if (!v) return false;
        v->proto = t;
        if (!ox_bind(c, t->name, v)) return false;
    }
    if (g->n_sparse_initializer)
        return samba_fail(c->s, SAMBA_EOP, "sparse initializers are not offered");
    return true;
}

/* The Identity of an initializer. Two that are trained are one, as weights are tied so, unless all
   their elements are equal: PyTorch's exporter joins biases of zeros, and those were not tied. */
static ox_value *ox_alias_value(ox_import *c, ox_value *source, const Onnx__NodeProto *p)
{
    int32_t reach = ox_reach_of(c, p);
    bool own = (reach & OX_STATE) || ((reach & OX_DATA) && (!source->trained || source->uniform));
    if (!own) return source;
    ox_value *v = ox_remembered(c, p);
    if (v) return v;
    v = ox_new_value(c, source->type);
    if (!v) return NULL;
    v->proto = source->proto;
    return ox_fill(c, v, p->output[0], reach) && ox_remember(c, p, v) ? v : NULL;
}

static bool ox_fill_initializers(ox_import *c, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_initializer; i++) {
        const Onnx__TensorProto *t = g->initializer[i];
        const char *name = t->name ? t->name : "";
        const ox_binding *b = *name ? ox_find_in(c->scope, name, ox_hash(name)) : NULL;
        ox_value *v = b ? b->value : NULL;
        if (!v || v->proto != t || v->known) continue;
        if (!ox_fill(c, v, name, ox_reach_of(c, t)) || !ox_remember(c, t, v)) return false;
    }
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *p = g->node[i];
        if (!p->op_type || !ox_is_alias(c->scope, p) || !*p->output[0]) continue;
        ox_value *v = ox_alias_value(c, ox_lookup(c, p->input[0]), p);
        if (!v || !ox_bind(c, p->output[0], v)) return false;
    }
    return true;
}
