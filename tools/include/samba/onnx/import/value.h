/* value.h - of onnx_import.h: what a name of the model stands for while it is traced. A value is
   known (host), or a tensor, or both; ops whose inputs are all known are computed at once. */

typedef struct ox_value {
    int32_t type;               /* TensorProto.DataType */
    samba_tensor *t;            /* NULL: not needed yet */
    samba_tensor *bytes;        /* of 8 bits: the same, a byte each; NULL: not needed yet */
    onnx_array *host;           /* NULL: not known, or not looked at yet */
    bool known;                 /* does not depend on inputs of the graph */
    bool leaf;                  /* a parameter or buffer: what is made of it is recorded */
    const char *from;           /* an input that it depends on */
    const onnx_array *compared; /* what the model compares that input with; NULL: nothing */
    bool sequence, none;        /* a list of n items; an optional that is absent */
    struct ox_value **item;
    int32_t n;
    const Onnx__FunctionProto *function; /* in the table of the model's functions: it alone */
    const Onnx__TensorProto *proto;      /* of an initializer */
    onnx_array *form;      /* of a large one of 8 bits, read when a node asks: its type and shape */
    int32_t reach;         /* OX_DATA ...: what it is for (reach.h) */
    bool trained, uniform; /* an initializer: a parameter; all elements are equal */
    struct ox_value *state;                /* of a parameter that is also read as a buffer: that */
    struct ox_block *block;                /* of an initializer: what holds host */
    struct ox_value *codes, *scale, *zero; /* (codes - zero) scale: t is made if it is asked for */
    int32_t axis;                          /* of scales and zeros, unless there is one of each */
    const struct ox_product *product;      /* that t is: what could be computed along with it */
    struct ox_value *gelu_of; /* it is this part of the GELU of that value: see gelu.h */
    int32_t gelu_part;
} ox_value;

typedef struct ox_binding {
    const char *name;
    ox_value *value;
    struct ox_binding *next;   /* made before it, in the same scope */
    struct ox_binding *beside; /* in the same bucket */
    uint32_t hash;
} ox_binding;

typedef struct ox_scope {
    ox_binding *first;      /* the newest */
    ox_binding **bucket;    /* by hash; NULL as long as there is no binding */
    uint32_t n_buckets, n;  /* a power of two; bindings */
    struct ox_scope *outer; /* of a subgraph: what it can also see */
} ox_scope;

typedef struct ox_block { /* what is freed at the end */
    struct ox_block *next;
    void *payload;
} ox_block;

/* An initializer that was read: that of a loop's body is not read again in each turn. */
typedef struct ox_initializer {
    const void *of; /* its TensorProto, or the Identity that is another one */
    ox_value *value;
    struct ox_initializer *beside;
} ox_initializer;

enum { OX_N_INITIALIZERS = 1024 }; /* buckets */

typedef struct ox_import {
    samba_session *s;
    const Onnx__ModelProto *model;
    const onnx_options *options;
    ox_place place; /* of the model's file */
    ox_scope *scope;
    ox_block *blocks;
    char *room; /* of the newest block of small things: what is left */
    size_t room_left;
    uint64_t held, may_hold;       /* bytes of host values, and the limit */
    ox_scope functions;            /* model-local ones: "name\ndomain" */
    ox_initializer **initializers; /* of bodies */
    struct ox_reaching *reach;     /* what nodes and initializers are for */
    ox_scope leaves;               /* names of parameters and buffers */
    struct ox_folded_mark **folds; /* NULL: nothing is folded */
    const Onnx__NodeProto *caller; /* of a model-local function: has its attributes */
    bool (*run)(struct ox_import *c, Onnx__NodeProto **node, size_t n); /* of table.h: all nodes */
    bool tracing; /* what the session did before: it goes on so */
    int32_t depth, n_constants;
    int64_t n_nodes, max_nodes;    /* that were run, and the limit */
    const char *wants;             /* the input whose value is missing */
    const onnx_array *wants_value; /* a value that the model compares it with */
    const char *inside;            /* words about the node whose body is run; "" */
    char note[200];                /* what was done otherwise than the model says; "" */
    char others[400];              /* ", nor are ...": ops that are not offered, beside the first */
} ox_import;

/* A model may run as many nodes as it has, and unroll its loops to so many more. */
enum { OX_MAX_DEPTH = 32, OX_MAX_UNROLLED = 1 << 17 };

/* One node, as the function of its op sees it. */
typedef struct ox_node {
    ox_import *c;
    const Onnx__NodeProto *p;
    int64_t version;      /* of the op set of its domain */
    int32_t arg;          /* of its row in the table */
    int32_t reach;        /* what its outputs reach: OX_DATA ... */
    ox_value **in, **out; /* in: NULL where an optional input is absent */
    int32_t n_in, n_out;
} ox_node;

/* ---- Memory: everything lives until the import ends ---- */

static void *ox_keep(ox_import *c, void *payload)
{
    ox_block *b = payload ? (ox_block *)malloc(sizeof *b) : NULL;
    if (!b) {
        free(payload);
        samba_fail(c->s, SAMBA_ENOMEM, "out of memory while importing");
        return NULL;
    }
    b->next = c->blocks;
    b->payload = payload;
    c->blocks = b;
    return payload;
}

/* A few lines of a model can ask for any amount of memory: what is made here has a limit. */
static bool ox_may_hold(ox_import *c, uint64_t bytes)
{
    c->held += bytes;
    if (!c->may_hold || c->held <= c->may_hold) return true;
    return samba_fail(c->s, SAMBA_ENOMEM,
                      "the model's constants take more than %l MiB while it is "
                      "imported, for a model of its size too much; raise "
                      "that with --constants MIB (in a program: "
                      "onnx_options.max_constant_bytes) if it is meant",
                      (int64_t)(c->may_hold >> 20));
}

/* Zeroed. Small things share blocks. */
static void *ox_new(ox_import *c, int64_t n, size_t each)
{
    enum { OX_SMALL_BYTES = 1024, OX_ROOM = 32768 };

    if (n < 0 || n > OX_MAX_COUNT) {
        samba_fail(c->s, SAMBA_ERANGE, "a table of %l elements is too large", n);
        return NULL;
    }
    size_t size = (((size_t)n + 1) * each + 15) & ~(size_t)15;
    if (size > OX_SMALL_BYTES) {
        if (!ox_may_hold(c, size)) return NULL;
        return ox_keep(c, calloc(1, size));
    }
    if (size > c->room_left) {
        c->room = (char *)ox_keep(c, calloc(1, OX_ROOM));
        c->room_left = c->room ? OX_ROOM : 0;
        if (!c->room) return NULL;
    }
    void *p = c->room;
    c->room += size;
    c->room_left -= size;
    return p;
}

static void ox_free_blocks(ox_block *b)
{
    while (b) {
        ox_block *next = b->next;
        free(b->payload);
        free(b);
        b = next;
    }
}

static onnx_array *ox_host_array(ox_import *c, int32_t type, int32_t ndim, const int64_t *dim)
{
    if (!ox_type_size(type)) {
        samba_fail(c->s, SAMBA_EDTYPE, "tensors of type %s are not offered", ox_type_name(type));
        return NULL;
    }
    if (ox_count(ndim, dim) < 0) {
        samba_fail(c->s, SAMBA_ESHAPE, "a tensor of this shape is too large to be made");
        return NULL;
    }
    size_t each = ox_is_float(type) ? sizeof(float) : sizeof(int64_t);
    if (!ox_may_hold(c, (uint64_t)ox_count(ndim, dim) * each)) return NULL;
    return (onnx_array *)ox_keep(c, ox_new_array(type, ndim, dim));
}

static ox_value *ox_new_value(ox_import *c, int32_t type)
{
    ox_value *v = (ox_value *)ox_new(c, 1, sizeof *v);
    if (v) v->type = type;
    return v;
}

static ox_value *ox_host_value(ox_import *c, onnx_array *a)
{
    ox_value *v = a ? ox_new_value(c, a->type) : NULL;
    if (v) {
        v->host = a;
        v->known = true;
    }
    return v;
}

/* ---- Names: of this graph, then of those around it ---- */

/* samba.h's tensors have no control characters in their names. */
static void ox_make_sound(char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 127) *name = '_';
}

/* FNV-1a. */
static uint32_t ox_hash(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h ^ h >> 15;
}

static ox_binding *ox_find_in(const ox_scope *s, const char *name, uint32_t hash)
{
    ox_binding *b = s->bucket ? s->bucket[hash & (s->n_buckets - 1)] : NULL;
    while (b && (b->hash != hash || strcmp(b->name, name)))
        b = b->beside;
    return b;
}

static void ox_put_in_bucket(ox_scope *s, ox_binding *b)
{
    ox_binding **bucket = &s->bucket[b->hash & (s->n_buckets - 1)];
    b->beside = *bucket;
    *bucket = b;
}

/* Twice the buckets, as soon as there are as many bindings. */
static bool ox_grow_scope(ox_import *c, ox_scope *s)
{
    uint32_t n = s->n_buckets ? 2 * s->n_buckets : 8;
    ox_binding **bucket = (ox_binding **)ox_new(c, n, sizeof *bucket);
    if (!bucket) return false;
    s->bucket = bucket;
    s->n_buckets = n;
    for (ox_binding *b = s->first; b; b = b->next)
        ox_put_in_bucket(s, b);
    return true;
}

/* A name that is bound again means the newer value. */
static bool ox_bind_in(ox_import *c, ox_scope *s, const char *name, ox_value *v)
{
    uint32_t hash = ox_hash(name);
    ox_binding *b = ox_find_in(s, name, hash);
    if (b) {
        b->value = v;
        return true;
    }
    if (s->n >= s->n_buckets && !ox_grow_scope(c, s)) return false;
    b = (ox_binding *)ox_new(c, 1, sizeof *b);
    if (!b) return false;
    b->name = name;
    b->value = v;
    b->hash = hash;
    b->next = s->first;
    s->first = b;
    s->n++;
    ox_put_in_bucket(s, b);
    return true;
}

static bool ox_bind(ox_import *c, const char *name, ox_value *v)
{
    if (!name || !*name) return true;
    return v && ox_bind_in(c, c->scope, name, v);
}

static ox_value *ox_lookup(const ox_import *c, const char *name)
{
    uint32_t hash = name ? ox_hash(name) : 0;
    if (!name) return NULL;
    for (const ox_scope *s = c->scope; s; s = s->outer) {
        const ox_binding *b = ox_find_in(s, name, hash);
        if (b) return b->value;
    }
    return NULL;
}

/* ---- Refusals: the first one stays in the session ---- */

static bool ox_refuse(ox_node *k, const char *fmt, ...)
{
    char text[800];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return samba_fail(k->c->s, SAMBA_EOP, "%s", text);
}

/* ---- Attributes ---- */

static bool ox_is_default_domain(const char *domain)
{
    return !domain || !*domain || !strcmp(domain, "ai.onnx");
}

static const Onnx__AttributeProto *ox_find_attribute(const Onnx__NodeProto *p, const char *name)
{
    for (size_t i = 0; p && i < p->n_attribute; i++)
        if (p->attribute[i]->name && !strcmp(p->attribute[i]->name, name)) return p->attribute[i];
    return NULL;
}

static const Onnx__AttributeProto *ox_attribute(const ox_node *k, const char *name)
{
    const Onnx__AttributeProto *a = ox_find_attribute(k->p, name);
    if (!a || !a->ref_attr_name || !*a->ref_attr_name) return a;
    return ox_find_attribute(k->c->caller, a->ref_attr_name);
}

static int64_t ox_int(const ox_node *k, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = ox_attribute(k, name);
    return a && a->has_i                                             ? a->i
        : a && a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT ? 0
                                                                     : otherwise;
}

static float ox_float(const ox_node *k, const char *name, float otherwise)
{
    const Onnx__AttributeProto *a = ox_attribute(k, name);
    return a && a->has_f ? a->f : otherwise;
}

static bool ox_text_is(const ox_node *k, const char *name, const char *otherwise, const char *text)
{
    const Onnx__AttributeProto *a = ox_attribute(k, name);
    if (!a || !a->has_s) return !strcmp(otherwise, text);
    return a->s.len == strlen(text) && !memcmp(a->s.data, text, a->s.len);
}

/* A list of integers; NULL (n 0) if it is not given. */
static const int64_t *ox_ints(const ox_node *k, const char *name, int32_t *n)
{
    const Onnx__AttributeProto *a = ox_attribute(k, name);
    *n = a && a->n_ints <= 1 << 20 ? (int32_t)a->n_ints : 0;
    return *n ? a->ints : NULL;
}

/* ---- Shapes ---- */

static samba_dtype ox_carrier(int32_t type)
{
    return ox_is_float(type) ? SAMBA_F32 : type == OX_BOOL ? SAMBA_BOOL : SAMBA_I32;
}

/* A tensor that has the shape of v, if there is one. */
static const samba_tensor *ox_shaped(const ox_value *v)
{
    while (!v->t && !v->bytes && !v->host && v->codes)
        v = v->codes;
    return v->t ? v->t : v->bytes;
}

/* The values of v, or of what has its shape. */
static const onnx_array *ox_shaped_host(const ox_value *v)
{
    while (!v->host && v->codes)
        v = v->codes;
    return v->host ? v->host : v->form;
}

static int32_t ox_ndim(const ox_value *v)
{
    const samba_tensor *t = ox_shaped(v);
    const onnx_array *host = t ? NULL : ox_shaped_host(v);
    return t ? t->shape.ndim : host ? host->ndim : 0;
}

static int64_t ox_dim(const ox_value *v, int32_t d)
{
    const samba_tensor *t = ox_shaped(v);
    return t ? t->shape.dim[d] : ox_shaped_host(v)->dim[d];
}

static int64_t ox_size(const ox_value *v)
{
    const samba_tensor *t = ox_shaped(v);
    const onnx_array *host = t ? NULL : ox_shaped_host(v);
    return t ? samba_count(&t->shape) : host ? host->count : 0;
}

static samba_shape ox_shape(int32_t ndim, const int64_t *dim)
{
    samba_shape s = samba_scalar_shape();
    s.ndim = ndim;
    for (int32_t d = 0; d < ndim && d < SAMBA_MAX_DIMS; d++)
        s.dim[d] = dim[d] > INT32_MAX || dim[d] < -1 ? 0 : (int32_t)dim[d];
    return s;
}

static void ox_dims(const ox_value *v, int64_t *dim)
{
    for (int32_t d = 0; d < ox_ndim(v); d++)
        dim[d] = ox_dim(v, d);
}

/* An axis counted from the front; -1 after a refusal. */
static int32_t ox_axis(ox_node *k, int64_t axis, int32_t ndim)
{
    int64_t a = axis < 0 ? axis + ndim : axis;
    if (a >= 0 && a < ndim) return (int32_t)a;
    ox_refuse(k, "axis %lld is out of range for %d dimensions", (long long)axis, ndim);
    return -1;
}

/* ---- Constants ---- */

/* A constant of the graph, as if computed by an op. Data is lent to an input while the op copies
   it: large values are not to lie in memory three times. Nobody finds that input afterwards. */
static samba_tensor *ox_constant(ox_import *c, samba_dtype dtype, samba_shape shape,
                                 const void *data)
{
    char name[120];
    bool tracing = samba_tracing(c->s);
    const char *graph = c->options && c->options->graph ? c->options->graph : "";
    snprintf(name, sizeof name, "onnx constant %d%s%.80s", c->n_constants++, *graph ? "@" : "",
             graph);
    samba_tensor *lent = samba_from_data(c->s, name, dtype, shape, (void *)(uintptr_t)data);
    if (!lent) return NULL;
    samba_set_tracing(c->s, false);
    samba_tensor *t = samba_apply(c->s, "onnx_copy", &lent, 1, NULL, 0);
    if (!t || !samba_forget_name(lent)) return NULL;
    samba_set_tracing(c->s, tracing);
    return t;
}

static samba_tensor *ox_full(ox_import *c, samba_shape shape, float value)
{
    bool tracing = samba_tracing(c->s);
    samba_set_tracing(c->s, false);
    samba_tensor *t = samba_full(c->s, shape, value);
    samba_set_tracing(c->s, tracing);
    return t;
}

static samba_tensor *ox_i32_scalar(ox_import *c, int32_t value)
{
    return ox_constant(c, SAMBA_I32, SAMBA_SCALAR, &value);
}

static bool ox_uniform(const onnx_array *a)
{
    for (int64_t n = 1; n < a->count; n++)
        if (memcmp(&a->f[n], &a->f[0], sizeof *a->f)) return false;
    return true;
}

/* Memory for a while; NULL, and an error, if there is none. */
static int32_t *ox_words(samba_session *s, int64_t n)
{
    int32_t *words = (int32_t *)malloc(((size_t)n + 1) * sizeof *words);
    if (!words) samba_fail(s, SAMBA_ENOMEM, "out of memory while importing");
    return words;
}

/* Host integers as i32 or bool, to be freed; NULL after a refusal. */
static void *ox_narrow(samba_session *s, const onnx_array *a)
{
    int32_t *words = ox_words(s, a->count);
    uint8_t *bytes = (uint8_t *)words;
    for (int64_t n = 0; words && n < a->count; n++) {
        if (a->i[n] < INT32_MIN || a->i[n] > INT32_MAX) {
            samba_fail(s, SAMBA_ERANGE,
                       "the %s value %l does not fit into 32 bits, with which "
                       "integers are computed",
                       ox_type_name(a->type), a->i[n]);
            free(words);
            return NULL;
        }
        if (a->type == OX_BOOL)
            bytes[n] = a->i[n] != 0;
        else
            words[n] = (int32_t)a->i[n];
    }
    return words;
}

static samba_tensor *ox_constant_of(ox_import *c, const onnx_array *a)
{
    samba_shape shape = ox_shape(a->ndim, a->dim);
    if (a->count == 0) {
        samba_fail(c->s, SAMBA_ESHAPE, "a tensor without elements, %S, cannot be computed with",
                   &shape);
        return NULL;
    }
    if (!a->f) {
        void *narrow = ox_narrow(c->s, a);
        samba_tensor *t = narrow ? ox_constant(c, ox_carrier(a->type), shape, narrow) : NULL;
        free(narrow);
        return t;
    }
    return ox_uniform(a) ? ox_full(c, shape, a->f[0]) : ox_constant(c, SAMBA_F32, shape, a->f);
}

static samba_tensor *ox_dequantized(ox_import *c, ox_value *v); /* of quantize.h */
static samba_tensor *ox_bytes(ox_import *c, ox_value *v);

/* Runs ops on values that are known: what they make is computed now. Returns what to restore. */
static bool ox_begin_known(ox_import *c, bool known)
{
    bool tracing = samba_tracing(c->s);
    if (known) samba_set_tracing(c->s, false);
    return tracing;
}

/* What is only there in another form: codes, or bytes. */
static samba_tensor *ox_made_of(ox_import *c, ox_value *v)
{
    if (v->form && !ox_bytes(c, v)) return NULL;
    if (!v->codes && !v->bytes) return NULL;
    bool tracing = ox_begin_known(c, v->known && !v->leaf);
    samba_tensor *t = v->codes ? ox_dequantized(c, v) : samba_cast(v->bytes, SAMBA_I32);
    if (samba_ok(c->s)) samba_set_tracing(c->s, tracing);
    return t;
}

/* The tensor of a value. It has fewer than 2^31 elements, so that i32 can count and name them. */
static samba_tensor *ox_tensor(ox_import *c, ox_value *v)
{
    if (!v || v->sequence || v->none) {
        samba_fail(c->s, SAMBA_EOP,
                   v ? "a sequence or an empty optional is used as a tensor"
                     : "an input that is needed is missing");
        return NULL;
    }
    if (!v->t && v->host) v->t = ox_constant_of(c, v->host);
    if (!v->t && !v->host && samba_ok(c->s)) v->t = ox_made_of(c, v);
    if (!v->t && !v->host && samba_ok(c->s))
        samba_fail(c->s, SAMBA_EDTYPE, "tensors of type %s are not offered", ox_type_name(v->type));
    if (v->t && samba_count(&v->t->shape) > INT32_MAX) {
        samba_fail(c->s, SAMBA_ESHAPE, "%S has too many elements: 2^31 or more", &v->t->shape);
        return NULL;
    }
    return v->t;
}

/* The values of a tensor that was computed. */
static onnx_array *ox_read_out(ox_import *c, samba_tensor *t, int32_t type)
{
    int64_t dim[SAMBA_MAX_DIMS];
    for (int32_t d = 0; d < t->shape.ndim; d++)
        dim[d] = t->shape.dim[d];
    onnx_array *a = ox_host_array(c, type, t->shape.ndim, dim);
    int32_t *words = a ? ox_words(c->s, a->count) : NULL;
    const uint8_t *bytes = (const uint8_t *)words;
    bool fine = words && samba_copy_out(t, words, (size_t)a->count * samba_dtype_size(t->dtype));
    for (int64_t n = 0; fine && n < a->count; n++) {
        if (a->f)
            memcpy(&a->f[n], &words[n], sizeof *a->f);
        else
            a->i[n] = t->dtype == SAMBA_BOOL ? bytes[n] : words[n];
    }
    free(words);
    return fine ? a : NULL;
}

/* The values of a value that is known; NULL if it is not (no refusal). */
static const onnx_array *ox_known_array(ox_import *c, ox_value *v)
{
    bool made = v && v->known && !v->host && !v->t && (v->codes || v->bytes || v->form);
    if (made && !ox_tensor(c, v)) return NULL;
    if (v && v->known && !v->host && v->t) v->host = ox_read_out(c, v->t, v->type);
    return v && v->known ? v->host : NULL;
}

/* ---- Inputs and outputs of a node ---- */

static bool ox_has(const ox_node *k, int32_t i)
{
    return i < k->n_in && k->in[i];
}

static samba_tensor *ox_in(ox_node *k, int32_t i)
{
    if (ox_has(k, i)) return ox_tensor(k->c, k->in[i]);
    ox_refuse(k, "input %d is missing", i);
    return NULL;
}

static int32_t ox_type(const ox_node *k, int32_t i)
{
    return ox_has(k, i) ? k->in[i]->type : 0;
}

/* Refuses because of a value that depends on an input, which the caller may fix. */
static void ox_want(ox_node *k, const ox_value *v, const char *what)
{
    k->c->wants = v->from;
    k->c->wants_value = v->compared;
    if (v->from)
        ox_refuse(k, "its %s must be known while tracing, but depends on input %s", what, v->from);
    else
        ox_refuse(k, "its %s must be known while tracing", what);
}

/* The values of input i, which decide a shape or are a table: what is it? */
static const onnx_array *ox_need(ox_node *k, int32_t i, const char *what)
{
    if (!ox_has(k, i)) {
        ox_refuse(k, "input %d (%s) is missing", i, what);
        return NULL;
    }
    const onnx_array *a = ox_known_array(k->c, k->in[i]);
    if (!a && samba_ok(k->c->s)) ox_want(k, k->in[i], what);
    return a;
}

static bool ox_give_value(ox_node *k, int32_t o, ox_value *v)
{
    if (v && o < k->n_out) k->out[o] = v;
    return v != NULL;
}

static bool ox_give(ox_node *k, int32_t o, int32_t type, samba_tensor *t)
{
    ox_value *v = t ? ox_new_value(k->c, type) : NULL;
    if (v) v->t = t;
    return ox_give_value(k, o, v);
}

static bool ox_give_host(ox_node *k, int32_t o, onnx_array *a)
{
    return ox_give_value(k, o, ox_host_value(k->c, a));
}

static bool ox_asks(const ox_node *k, int32_t o)
{
    return o < k->n_out && k->p->output[o] && *k->p->output[o];
}

/* ---- Small things that many ops are made of ---- */

/* t in a shape of more leading 1s and stretched dimensions. */
static samba_tensor *ox_stretch(samba_tensor *t, const samba_shape *to)
{
    if (!t) return NULL;
    samba_shape wide = *to;
    bool same = t->shape.ndim == to->ndim;
    for (int32_t d = 0; d < to->ndim; d++) {
        int32_t own = d - (to->ndim - t->shape.ndim);
        wide.dim[d] = own < 0 ? 1 : t->shape.dim[own];
        same = same && wide.dim[d] == to->dim[d];
    }
    if (same) return t;
    return samba_expand(t->shape.ndim == to->ndim ? t : samba_reshape(t, wide), *to);
}

/* x, but at least low and at most high. */
static samba_tensor *ox_clamp(samba_tensor *x, float low, float high)
{
    if (!x) return NULL;
    samba_tensor *least = samba_number(x->session, low), *most = samba_number(x->session, high);
    x = samba_maximum(x, least);
    return samba_minimum(x, most);
}

/* a x + b y */
static samba_tensor *ox_blend(samba_tensor *x, float a, samba_tensor *y, float b)
{
    samba_tensor *left = samba_scale(x, a), *right = samba_scale(y, b);
    return samba_add(left, right);
}

/* The shape both broadcast to; false if there is none. */
static bool ox_common(const samba_shape *a, const samba_shape *b, samba_shape *y)
{
    samba_shape r = samba_scalar_shape();
    r.ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int32_t d = 0; d < r.ndim; d++) {
        int32_t ia = d - (r.ndim - a->ndim), ib = d - (r.ndim - b->ndim);
        int32_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];
        if (da != db && da != 1 && db != 1) return false;
        r.dim[d] = da == 1 ? db : da;
    }
    *y = r;
    return true;
}

/* a (kind) b for i32 that stand for this ONNX type; broadcasts. */
static samba_tensor *ox_integers(samba_tensor *a, samba_tensor *b, int32_t kind, int32_t type)
{
    samba_shape y;
    int32_t attr[OX_INTEGER_ATTRS];
    attr[OX_INTEGER_OP] = kind;
    attr[OX_INTEGER_TYPE] = type;
    if (!a || !b) return NULL;
    if (!ox_common(&a->shape, &b->shape, &y)) {
        samba_fail(a->session, SAMBA_ESHAPE, "%S and %S do not broadcast", &a->shape, &b->shape);
        return NULL;
    }
    samba_tensor *in[2];
    in[0] = ox_stretch(a, &y);
    in[1] = ox_stretch(b, &y);
    return samba_apply(a->session, "onnx_integer", in, 2, attr, OX_INTEGER_ATTRS);
}

static samba_tensor *ox_select(samba_tensor *cond, samba_tensor *a, samba_tensor *b)
{
    samba_shape y;
    if (!cond || !a || !b) return NULL;
    if (!ox_common(&cond->shape, &a->shape, &y) || !ox_common(&y, &b->shape, &y)) {
        samba_fail(a->session, SAMBA_ESHAPE, "condition, %S and %S do not broadcast", &a->shape,
                   &b->shape);
        return NULL;
    }
    samba_tensor *in[3];
    in[0] = ox_stretch(cond, &y);
    in[1] = ox_stretch(a, &y);
    in[2] = ox_stretch(b, &y);
    return samba_apply(a->session, "onnx_select", in, 3, NULL, 0);
}

/* x (*,n)[index] with an index tensor, shared by all rows. */
static samba_tensor *ox_take(samba_tensor *x, samba_tensor *index, float fill)
{
    samba_tensor *in[2] = { x, index };
    int32_t word = samba_float_attr(fill);
    return x && index ? samba_apply(x->session, "onnx_take", in, 2, &word, 1) : NULL;
}

/* The same for an index that is known, of shape s. Fill is for f32 where index is -1. */
static samba_tensor *ox_take_known(ox_import *c, samba_tensor *x, const int32_t *index,
                                   samba_shape s, float fill)
{
    return ox_take(x, ox_constant(c, SAMBA_I32, s, index), fill);
}

/* x as (rows, n): n from axis on. */
static samba_tensor *ox_as_rows(samba_tensor *x, int32_t axis)
{
    int32_t n = 1;
    if (!x) return NULL;
    for (int32_t d = axis; d < x->shape.ndim; d++)
        n *= x->shape.dim[d];
    return samba_reshape(x, SAMBA_SHAPE((int32_t)(samba_count(&x->shape) / n), n));
}

/* x with axis `from` moved to `to`. */
static samba_tensor *ox_move_axis(samba_tensor *x, int32_t from, int32_t to)
{
    samba_shape axes = samba_scalar_shape();
    if (!x || from == to) return x;
    axes.ndim = x->shape.ndim;
    for (int32_t d = 0, next = 0; d < axes.ndim; d++) {
        if (next == from) next++;
        axes.dim[d] = d == to ? from : next++;
    }
    return samba_permute(x, axes);
}

static samba_tensor *ox_to_last(samba_tensor *x, int32_t axis)
{
    return x ? ox_move_axis(x, axis, x->shape.ndim - 1) : NULL;
}

static samba_tensor *ox_from_last(samba_tensor *x, int32_t axis)
{
    return x ? ox_move_axis(x, x->shape.ndim - 1, axis) : NULL;
}

static samba_tensor *ox_fold(samba_tensor *x, int32_t kind)
{
    return x ? samba_apply(x->session, "onnx_fold", &x, 1, &kind, 1) : NULL;
}

/* The rows of a matrix (m,n) from their first number that is not 0 to behind the last one. */
static samba_tensor *ox_spans(ox_import *c, const float *w, int32_t m, int32_t n)
{
    int32_t *span = (int32_t *)ox_new(c, 2 * (int64_t)m, sizeof *span);
    for (int64_t j = 0; span && j < m; j++) {
        int32_t first = 0, end = n;
        while (end > 0 && w[j * n + end - 1] == 0)
            end--;
        while (first < end && w[j * n + first] == 0)
            first++;
        span[2 * j] = first;
        span[2 * j + 1] = end;
    }
    return span ? ox_constant(c, SAMBA_I32, SAMBA_SHAPE(m, 2), span) : NULL;
}

/* x (*,n) times the transpose of a known w (m,n), of which most is 0. */
static samba_tensor *ox_mix(ox_import *c, samba_tensor *x, const float *w, int32_t m, int32_t n)
{
    float *turned = (float *)ox_new(c, (int64_t)m * n, sizeof *turned);
    if (!x || !w || !turned) return NULL;
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < n; i++)
            turned[i * m + j] = w[j * n + i];
    samba_tensor *in[5];
    in[0] = x;
    in[1] = ox_constant(c, SAMBA_F32, SAMBA_SHAPE(m, n), w);
    in[2] = ox_spans(c, w, m, n);
    in[3] = ox_constant(c, SAMBA_F32, SAMBA_SHAPE(n, m), turned);
    in[4] = ox_spans(c, turned, n, m);
    return samba_ok(c->s) ? samba_apply(c->s, "onnx_mix", in, 5, NULL, 0) : NULL;
}

static samba_tensor *ox_to_f32(samba_tensor *x)
{
    return x && x->dtype != SAMBA_F32 ? samba_cast(x, SAMBA_F32) : x;
}

static samba_tensor *ox_to_i32(samba_tensor *x)
{
    return x && x->dtype != SAMBA_I32 ? samba_cast(x, SAMBA_I32) : x;
}

/* Integers of 8 bits that are known, a byte each, to be freed: weights take no more in the file. */
static uint8_t *ox_bytes_of(ox_import *c, const onnx_array *a)
{
    uint8_t *bytes = (uint8_t *)malloc((size_t)a->count + 1);
    if (!bytes) samba_fail(c->s, SAMBA_ENOMEM, "out of memory while importing");
    for (int64_t n = 0; bytes && n < a->count; n++)
        bytes[n] = (uint8_t)a->i[n];
    return bytes;
}

static uint8_t *ox_read_raw(ox_import *c, const Onnx__TensorProto *t); /* of initial.h */

/* The bytes of a known value of 8 bits, to be freed; NULL after a refusal. */
static uint8_t *ox_known_bytes(ox_import *c, ox_value *v)
{
    if (v->form && !v->host) return ox_read_raw(c, v->proto);
    const onnx_array *a = ox_known_array(c, v);
    return a ? ox_bytes_of(c, a) : NULL;
}

static bool ox_is_byte(int32_t type)
{
    return type == OX_UINT8 || type == OX_INT8;
}

/* A value of 8 bits, a byte each, while other ops read it as i32. */
static samba_tensor *ox_bytes(ox_import *c, ox_value *v)
{
    samba_dtype stored = v->type == OX_INT8 ? SAMBA_I8 : SAMBA_U8;
    if (v->bytes || v->sequence || v->none) return v->bytes ? v->bytes : ox_tensor(c, v);
    if (!ox_is_byte(v->type)) {
        samba_fail(c->s, SAMBA_EDTYPE, "%s is used where uint8 or int8 is needed",
                   ox_type_name(v->type));
        return NULL;
    }
    if (!v->known) {
        samba_tensor *x = ox_tensor(c, v);
        v->bytes = x ? samba_cast(x, stored) : NULL;
        return v->bytes;
    }
    uint8_t *bytes = ox_known_bytes(c, v);
    const onnx_array *a = bytes ? ox_shaped_host(v) : NULL;
    samba_shape shape = a ? ox_shape(a->ndim, a->dim) : samba_scalar_shape();
    if (a && a->count == 0)
        samba_fail(c->s, SAMBA_ESHAPE, "a tensor without elements, %S, cannot be computed with",
                   &shape);
    else if (a)
        v->bytes = ox_constant(c, stored, shape, bytes);
    free(bytes);
    return v->bytes;
}

/* The same of input i. NULL after a refusal. */
static samba_tensor *ox_in_bytes(ox_node *k, int32_t i)
{
    int32_t type = ox_type(k, i);
    if (ox_is_byte(type)) return ox_bytes(k->c, k->in[i]);
    ox_refuse(k, "of %s is not offered", ox_type_name(type));
    return NULL;
}

/* Gives a tensor of bytes: they become i32 if that is asked for. */
static bool ox_give_bytes(ox_node *k, int32_t o, int32_t type, samba_tensor *bytes)
{
    ox_value *v = bytes ? ox_new_value(k->c, type) : NULL;
    if (v) v->bytes = bytes;
    return ox_give_value(k, o, v);
}

static samba_tensor *ox_as_tiny(samba_tensor *x, int32_t type, bool saturate, int32_t round)
{
    int32_t attr[OX_TINY_ATTRS] = { type, saturate, round };
    x = ox_to_f32(x);
    return x ? samba_apply(x->session, "onnx_tiny", &x, 1, attr, OX_TINY_ATTRS) : NULL;
}

/* A tensor of one type as another: between floats, integers and bool. */
static samba_tensor *ox_convert(ox_import *c, samba_tensor *x, int32_t from, int32_t to)
{
    if (!x) return NULL;
    if (to == OX_FLOAT16 && from != OX_FLOAT16)
        return samba_cast(samba_cast(ox_to_f32(x), SAMBA_F16), SAMBA_F32);
    if (to == OX_BFLOAT16 && from != OX_BFLOAT16)
        return samba_cast(samba_cast(ox_to_f32(x), SAMBA_BF16), SAMBA_F32);
    if (ox_is_tiny(to) && from != to) return ox_as_tiny(x, to, true, OX_ROUND_UP);
    if (ox_is_float(to)) return ox_to_f32(x);
    if (to == OX_BOOL) return x->dtype == SAMBA_BOOL ? x : samba_cast(x, SAMBA_BOOL);
    bool exact = to == OX_INT64 || to == OX_UINT32 || to == OX_UINT64;
    if (exact && x->dtype == SAMBA_F32) return samba_apply(c->s, "onnx_truncate", &x, 1, NULL, 0);
    x = ox_to_i32(x);
    bool wide = (to >= OX_UINT32 && !ox_is_few_bits(to)) || to == OX_INT64 || to == OX_INT32;
    if (to == from || from == OX_BOOL || wide) return x;
    return ox_integers(x, ox_i32_scalar(c, 0), OX_WRAP, to);
}
