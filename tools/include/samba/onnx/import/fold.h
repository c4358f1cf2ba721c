/* fold.h - of onnx_import.h: batch normalizations behind convolutions, as numbers of these.

       y = (conv(x, w) + b - mean) scale / sqrt(var + eps) + shift
         = conv(x, w f) + (b - mean) f + shift, with f = scale / sqrt(var + eps) of each channel

   An inference computes so without passes over y. Where onnx_options.inference is set and what
   takes part is read by nobody else, the initializer w holds w f, and shift (b - mean) f + shift;
   so they keep their names, and are read from the file once. Numbers are multiplied in double, and
   rounded to f32 once. */

typedef struct ox_folded {
    const Onnx__NodeProto *conv, *norm;
    const Onnx__TensorProto *w, *shift;
    int64_t channels;
    double *factor; /* of w, for each channel */
    float *bias;    /* instead of shift */
} ox_folded;

/* What a fold is found by: its nodes and its initializers. */
typedef struct ox_folded_mark {
    const void *of;
    ox_folded *fold;
    struct ox_folded_mark *beside;
} ox_folded_mark;

enum { OX_N_FOLDS = 1024 }; /* buckets */

static ox_folded *ox_folded_of(const ox_import *c, const void *of)
{
    ox_folded_mark *m = c->folds ? c->folds[ox_hash_pointer(of) % OX_N_FOLDS] : NULL;
    while (m && m->of != of)
        m = m->beside;
    return m ? m->fold : NULL;
}

static bool ox_mark_fold(ox_import *c, const void *of, ox_folded *f)
{
    ox_folded_mark *m = (ox_folded_mark *)ox_new(c, 1, sizeof *m);
    if (!m) return false;
    m->of = of;
    m->fold = f;
    m->beside = c->folds[ox_hash_pointer(of) % OX_N_FOLDS];
    c->folds[ox_hash_pointer(of) % OX_N_FOLDS] = m;
    return true;
}

/* ---- The names of the model's graph ---- */

static bool ox_is_op(const Onnx__NodeProto *p, const char *op)
{
    return p && p->op_type && !strcmp(p->op_type, op) && ox_is_default_domain(p->domain);
}

/* The tensor that a Constant is; NULL: the node is something else. */
static const Onnx__TensorProto *ox_constant_tensor(const Onnx__NodeProto *p)
{
    const Onnx__AttributeProto *a = ox_is_op(p, "Constant") ? ox_find_attribute(p, "value") : NULL;
    return a ? a->t : NULL;
}

typedef struct ox_named {
    const Onnx__TensorProto *proto; /* it is an initializer, or the value of a Constant */
    const Onnx__NodeProto *maker;   /* it is made by a node */
    int64_t reads;
} ox_named;

typedef struct ox_names {
    ox_import *c;
    ox_scope index; /* of each name its number, as n */
    ox_named *name;
    int32_t n;
} ox_names;

static ox_named *ox_named_of(const ox_names *t, const char *name)
{
    const ox_binding *b = name && *name ? ox_find_in(&t->index, name, ox_hash(name)) : NULL;
    return b ? &t->name[b->value->n] : NULL;
}

static bool ox_add_name(ox_names *t, const char *name, const Onnx__TensorProto *proto,
                        const Onnx__NodeProto *maker)
{
    if (!name || !*name || ox_named_of(t, name)) return true;
    ox_value *v = ox_new_value(t->c, 0);
    if (!v) return false;
    v->n = t->n;
    t->name[t->n].proto = proto;
    t->name[t->n++].maker = maker;
    return ox_bind_in(t->c, &t->index, name, v);
}

static void ox_count_read(const ox_names *t, const char *name)
{
    ox_named *named = ox_named_of(t, name);
    if (named) named->reads++;
}

/* What a graph reads, in bodies too: a name that a body has itself counts for the outer one as
   well, which only means that something is not folded. */
static void ox_count_reads(const ox_names *t, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *p = g->node[i];
        for (size_t k = 0; k < p->n_input; k++)
            ox_count_read(t, p->input[k]);
        for (size_t k = 0; k < p->n_attribute; k++) {
            const Onnx__AttributeProto *a = p->attribute[k];
            if (a->g) ox_count_reads(t, a->g);
            for (size_t b = 0; b < a->n_graphs; b++)
                ox_count_reads(t, a->graphs[b]);
        }
    }
    for (size_t i = 0; i < g->n_output; i++)
        ox_count_read(t, g->output[i]->name);
}

/* Initializers first: one that is an input, too, has a value in the model, which is used. */
static bool ox_open_names(ox_names *t, const Onnx__GraphProto *g)
{
    size_t most = g->n_initializer + g->n_input;
    bool fine = true;
    for (size_t i = 0; i < g->n_node; i++)
        most += g->node[i]->n_output;
    if (most > INT32_MAX) return true;
    t->name = (ox_named *)ox_new(t->c, (int64_t)most, sizeof *t->name);
    if (!t->name) return false;

    for (size_t i = 0; fine && i < g->n_initializer; i++)
        fine = ox_add_name(t, g->initializer[i]->name, g->initializer[i], NULL);
    for (size_t i = 0; fine && i < g->n_node; i++)
        for (size_t o = 0; fine && o < g->node[i]->n_output; o++)
            fine
                = ox_add_name(t, g->node[i]->output[o], ox_constant_tensor(g->node[i]), g->node[i]);
    if (fine) ox_count_reads(t, g);
    return fine;
}

/* ---- What can be folded ---- */

/* Is input i of a node known, and of f32? */
static const Onnx__TensorProto *ox_known_floats(const ox_names *t, const Onnx__NodeProto *p,
                                                size_t i)
{
    const ox_named *named = i < p->n_input ? ox_named_of(t, p->input[i]) : NULL;
    const Onnx__TensorProto *proto = named ? named->proto : NULL;
    return proto && proto->data_type == OX_FLOAT ? proto : NULL;
}

static bool ox_is_read_once(const ox_names *t, const char *name)
{
    const ox_named *named = ox_named_of(t, name);
    return named && named->reads == 1;
}

/* Does a batch norm use the statistics it is given, and nothing else? */
static bool ox_norm_is_plain(const Onnx__NodeProto *p)
{
    const Onnx__AttributeProto *training = ox_find_attribute(p, "training_mode");
    const Onnx__AttributeProto *spatial = ox_find_attribute(p, "spatial");
    bool plain = p->n_input == 5 && (!training || !training->i) && (!spatial || spatial->i);
    for (size_t o = 1; o < p->n_output; o++)
        plain = plain && !*p->output[o];
    return plain;
}

/* `channels` numbers of input i, or zeros where it is absent; NULL: it is something else. */
static float *ox_channel_floats(ox_names *t, const Onnx__NodeProto *p, size_t i, int64_t channels)
{
    const char *why = "";
    bool absent = i >= p->n_input || !*p->input[i];
    const Onnx__TensorProto *proto = absent ? NULL : ox_known_floats(t, p, i);
    float *numbers = (float *)ox_new(t->c, channels, sizeof *numbers);
    if (absent || !numbers) return numbers;

    onnx_array *a = proto ? ox_read_tensor(proto, &t->c->place, &why) : NULL;
    bool fits = a && a->f && a->count == channels;
    if (fits) memcpy(numbers, a->f, (size_t)channels * sizeof *numbers);
    onnx_array_free(a);
    return fits ? numbers : NULL;
}

/* Fills in factor and bias; false: they are not finite, or not known. */
static bool ox_fold_numbers(ox_names *t, ox_folded *f)
{
    const Onnx__AttributeProto *e = ox_find_attribute(f->norm, "epsilon");
    double eps = e ? (double)e->f : 1e-5;
    const float *number[4], *b = ox_channel_floats(t, f->conv, 2, f->channels);
    for (size_t i = 0; i < 4; i++)
        number[i] = ox_channel_floats(t, f->norm, i + 1, f->channels);
    f->factor = (double *)ox_new(t->c, f->channels, sizeof *f->factor);
    f->bias = (float *)ox_new(t->c, f->channels, sizeof *f->bias);
    if (!b || !number[0] || !number[1] || !number[2] || !number[3] || !f->factor || !f->bias)
        return false;

    bool finite = true;
    for (int64_t o = 0; o < f->channels; o++) {
        double scale = (double)number[0][o], shift = (double)number[1][o];
        double mean = (double)number[2][o], var = (double)number[3][o];
        f->factor[o] = scale / sqrt(var + eps);
        f->bias[o] = (float)(((double)b[o] - mean) * f->factor[o] + shift);
        finite = finite && f->factor[o] - f->factor[o] == 0 && f->bias[o] - f->bias[o] == 0;
    }
    return finite;
}

/* Folds a batch norm into the convolution before it, if that can be done. False: no memory. */
static bool ox_try_fold(ox_names *t, const Onnx__NodeProto *norm)
{
    if (!ox_is_op(norm, "BatchNormalization") || !ox_norm_is_plain(norm)) return true;
    const ox_named *x = ox_named_of(t, norm->input[0]);
    const Onnx__NodeProto *conv = x && x->reads == 1 ? x->maker : NULL;
    if (!ox_is_op(conv, "Conv") || conv->n_input < 2 || conv->n_input > 3) return true;

    const Onnx__TensorProto *w = ox_known_floats(t, conv, 1), *shift = ox_known_floats(t, norm, 2);
    if (!w || !shift || w->n_dims < 3 || w->dims[0] < 1 || w->dims[0] > INT32_MAX) return true;
    if (!ox_is_read_once(t, conv->input[1]) || !ox_is_read_once(t, norm->input[2])) return true;

    ox_folded *f = (ox_folded *)ox_new(t->c, 1, sizeof *f);
    if (!f) return false;
    f->conv = conv;
    f->norm = norm;
    f->w = w;
    f->shift = shift;
    f->channels = w->dims[0];
    if (!ox_fold_numbers(t, f)) return samba_ok(t->c->s);
    return ox_mark_fold(t->c, conv, f) && ox_mark_fold(t->c, norm, f) && ox_mark_fold(t->c, w, f)
        && ox_mark_fold(t->c, shift, f);
}

/* Before initializers are read. False: no memory. */
static bool ox_find_folds(ox_import *c, const Onnx__GraphProto *g)
{
    ox_names t;
    memset(&t, 0, sizeof t);
    t.c = c;
    if (!c->options || !c->options->inference) return true;
    c->folds = (ox_folded_mark **)ox_new(c, OX_N_FOLDS, sizeof *c->folds);
    if (!c->folds || !ox_open_names(&t, g)) return false;

    bool fine = true;
    for (size_t i = 0; fine && i < g->n_node && t.name; i++)
        fine = ox_try_fold(&t, g->node[i]);
    return fine;
}

/* Changes the values of an initializer that takes part in a fold. */
static void ox_apply_fold(const ox_import *c, const Onnx__TensorProto *proto, onnx_array *a)
{
    const ox_folded *f = ox_folded_of(c, proto);
    if (!f || !a->f || a->ndim < 1 || a->dim[0] != f->channels) return;
    if (proto == f->shift) {
        memcpy(a->f, f->bias, (size_t)f->channels * sizeof *a->f);
        return;
    }

    int64_t each = a->count / f->channels;
    for (int64_t n = 0; n < a->count; n++)
        a->f[n] = (float)((double)a->f[n] * f->factor[n / each]);
}
