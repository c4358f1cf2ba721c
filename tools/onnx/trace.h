/* trace.h - of onnx_import.h: from a ModelProto to a graph of samba.h. */

enum { OX_MAX_NODES = 1 << 20, OX_SMALL = 8 };

/* ---- Nodes ---- */

static bool ox_is_default_domain(const char *domain)
{
    return !domain || !*domain || !strcmp(domain, "ai.onnx");
}

/* The version of the op set of a domain; 0: not imported. */
static int64_t ox_domain_version(const ox_import *c, const char *domain)
{
    for (size_t i = 0; i < c->model->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *o = c->model->opset_import[i];
        bool same = ox_is_default_domain(domain) ? ox_is_default_domain(o->domain)
            : o->domain && !strcmp(o->domain, domain);
        if (same) return o->has_version ? o->version : 1;
    }
    return 0;
}
static const ox_row *ox_find_row(const char *op)
{
    for (int i = 0; i < OX_N_ROWS; i++)
        if (!strcmp(ox_rows[i].op, op)) return &ox_rows[i];
    return NULL;
}
static const Onnx__FunctionProto *ox_find_function(const ox_import *c, const Onnx__NodeProto *p)
{
    for (size_t i = 0; i < c->model->n_functions; i++) {
        const Onnx__FunctionProto *f = c->model->functions[i];
        bool same_domain = f->domain && p->domain ? !strcmp(f->domain, p->domain)
            : ox_is_default_domain(f->domain) && ox_is_default_domain(p->domain);
        if (f->name && same_domain && !strcmp(f->name, p->op_type)) return f;
    }
    return NULL;
}

/* Adds to the standing error which node it is about; the innermost one says it. */
static bool ox_blame(ox_import *c, const Onnx__NodeProto *p)
{
    char text[700];
    samba_code code = samba_error_code(c->s);
    const char *what = p->op_type, *why = samba_error(c->s);
    const char *name = p->name && *p->name ? p->name : p->n_output ? p->output[0] : "";
    if (strstr(why, "ONNX ")) return false;
    const char *space = strncmp(why, "SAMBA_", 6) ? NULL : strchr(why, ' ');    /* after the code */
    if (space) why = space + 1;
    snprintf(text, sizeof text, "ONNX %.80s (%.80s): %s", what, name, samba_ok(c->s)
             ? "refused without a reason" : why);
    samba_clear_error(c->s);
    samba_set_tracing(c->s, c->tracing);
    return samba_fail(c->s, code == SAMBA_OK ? SAMBA_EOP : code, "%s", text);
}

/* A function of the model itself: its nodes, in a scope of their own. */
static bool ox_call_function(ox_node *k, const Onnx__FunctionProto *f)
{
    ox_import *c = k->c;
    ox_scope scope = { NULL, NULL }, *outer = c->scope;
    const Onnx__NodeProto *caller = c->caller;
    if (c->depth >= OX_MAX_DEPTH) return ox_refuse(k, "is nested too deep");
    c->scope = &scope;
    c->depth++;
    bool fine = true;
    for (size_t i = 0; fine && i < f->n_input && i < (size_t)k->n_in; i++)
        fine = !k->in[i] || ox_bind(c, f->input[i], k->in[i]);
    c->caller = k->p;
    fine = fine && c->run(c, f->node, f->n_node);
    for (size_t o = 0; fine && o < f->n_output && o < (size_t)k->n_out; o++)
        fine = ox_give_value(k, (int32_t)o, ox_lookup(c, f->output[o]));
    c->caller = caller;
    c->depth--;
    c->scope = outer;
    return fine || (samba_ok(c->s) && ox_refuse(k, "does not make the outputs it names"));
}
static bool ox_open_node(ox_import *c, const Onnx__NodeProto *p, ox_node *k)
{
    memset(k, 0, sizeof *k);
    k->c = c, k->p = p;
    k->n_in = (int32_t)p->n_input, k->n_out = (int32_t)p->n_output;
    k->in = (ox_value **)ox_new(c, k->n_in, sizeof *k->in);
    k->out = (ox_value **)ox_new(c, k->n_out, sizeof *k->out);
    if (!k->in || !k->out) return false;
    for (int32_t i = 0; i < k->n_in; i++) {
        if (!*p->input[i]) continue;
        k->in[i] = ox_lookup(c, p->input[i]);
        if (!k->in[i]) return ox_refuse(k, "its input %s is made by nobody", p->input[i]);
    }
    return true;
}

/* Known inputs alone: then the node is computed now, through the same ops. */
static bool ox_can_fold(const ox_node *k)
{
    for (int32_t i = 0; i < k->n_in; i++) {
        const ox_value *v = k->in[i];
        if (v && (!v->known || v->parameter || v->sequence)) return false;
    }
    return true;
}
static bool ox_bind_outputs(ox_node *k, bool folded)
{
    const char *from = NULL;
    for (int32_t i = 0; i < k->n_in && !from; i++) from = k->in[i] ? k->in[i]->from : NULL;
    for (int32_t o = 0; o < k->n_out; o++) {
        ox_value *v = k->out[o];
        if (!v && ox_asks(k, o)) return ox_refuse(k, "does not give output %d", o);
        if (!v) continue;
        if (folded) v->known = true;
        if (!v->known && !v->from) v->from = from;
        if (ox_asks(k, o) && !ox_bind(k->c, k->p->output[o], v)) return false;
    }
    return true;
}
static bool ox_run_row(ox_node *k, const ox_row *row)
{
    samba_session *s = k->c->s;
    bool fold = !row->whole && ox_can_fold(k), tracing = samba_tracing(s);
    k->arg = row->arg;
    if (fold) samba_set_tracing(s, false);
    bool fine = row->run(k) && samba_ok(s);
    if (fold && samba_ok(s)) samba_set_tracing(s, tracing);
    return fine && ox_bind_outputs(k, fold);
}
static bool ox_run_node(ox_import *c, const Onnx__NodeProto *p)
{
    ox_node k;
    if (!p->op_type) return samba_fail(c->s, SAMBA_EOP, "ONNX: a node has no op_type");
    if (++c->n_nodes > OX_MAX_NODES)
        return samba_fail(c->s, SAMBA_EOP, "ONNX: loops unroll to more than %d nodes",
                          OX_MAX_NODES);
    const Onnx__FunctionProto *f = ox_find_function(c, p);
    const ox_row *row = ox_find_row(p->op_type);
    if (!ox_open_node(c, p, &k)) return ox_blame(c, p);
    if (f) return (ox_call_function(&k, f) && ox_bind_outputs(&k, false)) || ox_blame(c, p);
    bool training = p->domain && !strcmp(p->domain, "ai.onnx.preview.training");
    k.version = ox_domain_version(c, p->domain);
    bool fine = true;
    if (!row || (!training && !ox_is_default_domain(p->domain)))
        fine = ox_refuse(&k, "this op is not offered");
    else if (k.version < row->first || k.version > row->last || training != (row->last == 1))
        fine = ox_refuse(&k, "is offered for op sets %d to %d, not for %lld", row->first, row->last,
                         (long long)k.version);
    return (fine && ox_run_row(&k, row)) || ox_blame(c, p);
}
static bool ox_run_nodes(ox_import *c, Onnx__NodeProto **node, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!ox_run_node(c, node[i])) return false;
    return true;
}

/* ---- Inputs ---- */

static const onnx_known *ox_option(const ox_import *c, const char *name)
{
    for (int32_t i = 0; c->options && i < c->options->n_known; i++)
        if (c->options->known[i].name && !strcmp(c->options->known[i].name, name))
            return &c->options->known[i];
    return NULL;
}
static char *ox_copy_text(ox_import *c, const char *text)
{
    size_t n = strlen(text);
    char *copy = (char *)ox_new(c, (int64_t)n, 1);
    if (copy) memcpy(copy, text, n);
    return copy;
}

/* A port for a value of the graph; false: too many. */
static onnx_port *ox_add_port(ox_import *c, onnx_port *list, int32_t *n, const char *name,
                              int32_t type, int32_t item)
{
    if (*n >= ONNX_MAX_PORTS) {
        samba_fail(c->s, SAMBA_EARG, "ONNX: the model has more than %d inputs or outputs: "
                   "define ONNX_MAX_PORTS larger before onnx_import.h", ONNX_MAX_PORTS);
        return NULL;
    }
    onnx_port *p = &list[(*n)++];
    memset(p, 0, sizeof *p);
    p->name = ox_copy_text(c, name);
    p->type = type, p->item = item;
    return p->name ? p : NULL;
}

/* An input of a shape; one without elements has nothing to say and is a constant. */
static ox_value *ox_input_value(ox_import *c, onnx_graph *g, const char *name, int32_t type,
                                int32_t ndim, const int64_t *dim, int32_t item)
{
    char text[300], count[24] = "";
    onnx_port *p = ox_add_port(c, g->in, &g->n_in, name, type, item);
    ox_value *v = p ? ox_new_value(c, type) : NULL;
    if (!v || !ox_type_size(type)) return v;    /* a type that whoever uses it will refuse */
    if (ox_count(ndim, dim) == 0) return ox_host_value(c, ox_host_array(c, type, ndim, dim));
    if (item >= 0) snprintf(count, sizeof count, "[%d]", item);
    snprintf(text, sizeof text, "%.200s%s", name, count);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ') *at = '_';
    v->t = p->tensor = samba_input(c->s, text, ox_carrier(type), ox_shape(ndim, dim));
    v->from = p->name;
    if (v->t && samba_set_batch_dim(v->t, -1) == NULL) return NULL;
    return v->t ? v : NULL;
}

/* The shape a model declares; false if it is not all numbers. */
static bool ox_declared_shape(const Onnx__TensorShapeProto *shape, int32_t *ndim, int64_t *dim)
{
    if (!shape || shape->n_dim > SAMBA_MAX_DIMS) return false;
    *ndim = (int32_t)shape->n_dim;
    for (int32_t d = 0; d < *ndim; d++) {
        const Onnx__TensorShapeProto__Dimension *x = shape->dim[d];
        if (x->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) return false;
        dim[d] = x->dim_value;
    }
    return true;
}
static ox_value *ox_tensor_input(ox_import *c, onnx_graph *g, const char *name,
                                 const Onnx__TypeProto__Tensor *type)
{
    const onnx_known *known = ox_option(c, name);
    const onnx_array *a = known ? known->array : NULL;
    int64_t dim[SAMBA_MAX_DIMS] = { 0 };
    int32_t ndim = a ? a->ndim : 0;
    if (a && known->fixed) {
        onnx_array *copy = ox_host_array(c, a->type, a->ndim, a->dim);
        for (int64_t n = 0; copy && n < a->count; n++) {
            if (a->f) copy->f[n] = a->f[n];
            else copy->i[n] = a->i[n];
        }
        return ox_host_value(c, copy);
    }
    if (a) memcpy(dim, a->dim, sizeof dim);
    else if (!ox_declared_shape(type->shape, &ndim, dim)) {
        samba_fail(c->s, SAMBA_ESHAPE, "ONNX: the shape of input %s is not fixed in the model; "
                   "give it in onnx_options.known", name);
        return NULL;
    }
    return ox_input_value(c, g, name, type->elem_type, ndim, dim, -1);
}
static ox_value *ox_sequence_input(ox_import *c, onnx_graph *g, const char *name,
                                   const Onnx__TypeProto *element)
{
    const onnx_known *known = ox_option(c, name);
    bool tensors = element && element->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    int32_t type = tensors ? element->tensor_type->elem_type : 0;
    if (!known || !tensors || known->n_items < 0) {
        samba_fail(c->s, SAMBA_ESHAPE, "ONNX: input %s is a sequence: its elements must be given "
                   "in onnx_options.known", name);
        return NULL;
    }
    ox_value *v = ox_new_sequence(c, type, known->n_items);
    for (int32_t i = 0; v && i < v->n; i++) {
        const onnx_array *a = known->items[i];
        v->item[i] = ox_input_value(c, g, name, type, a->ndim, a->dim, i);
        if (!v->item[i]) return NULL;
    }
    return v;
}
static bool ox_bind_input(ox_import *c, onnx_graph *g, const Onnx__ValueInfoProto *info)
{
    const char *name = info->name ? info->name : "";
    const Onnx__TypeProto *type = info->type;
    const onnx_known *known = ox_option(c, name);
    ox_value *v = NULL;
    if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE) {
        type = type->optional_type->elem_type;
        if (known && known->none) {
            v = ox_new_value(c, OX_FLOAT);
            if (v) v->none = true;
            return ox_bind(c, name, v);
        }
    }
    if (!type || !*name) return samba_fail(c->s, SAMBA_EOP, "ONNX: an input has no name or type");
    if (type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        v = ox_tensor_input(c, g, name, type->tensor_type);
    else if (type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE)
        v = ox_sequence_input(c, g, name, type->sequence_type->elem_type);
    else samba_fail(c->s, SAMBA_EOP, "ONNX: input %s is a map or sparse tensor", name);
    return v && ox_bind(c, name, v);
}

/* Large float initializers become parameters of the same name. */
static bool ox_make_parameters(ox_import *c)
{
    for (ox_binding *b = c->scope->first; b; b = b->next) {
        ox_value *v = b->value;
        if (!v->host || !v->host->f || v->host->ndim < 1 || v->host->count <= OX_SMALL) continue;
        samba_init zeros = { SAMBA_INIT_CONSTANT, 0.0f, 0.0f };
        v->t = samba_param(c->s, b->name, ox_shape(v->host->ndim, v->host->dim), zeros);
        v->parameter = true;
        if (!v->t || !samba_write(v->t, v->host->f)) return false;
    }
    return true;
}
static bool ox_bind_inputs(ox_import *c, onnx_graph *out, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_input; i++) {
        bool given = g->input[i]->name && ox_lookup(c, g->input[i]->name);
        if (!given && !ox_bind_input(c, out, g->input[i])) return false;
    }
    return true;
}

/* ---- Outputs ---- */

static bool ox_is_leaf(const ox_import *c, const onnx_graph *g, const samba_tensor *t)
{
    for (int32_t i = 0; i < g->n_in; i++)
        if (g->in[i].tensor == t) return true;
    for (const ox_binding *b = c->scope->first; b; b = b->next)
        if (b->value->parameter && b->value->t == t) return true;
    return false;
}
static bool ox_add_output(ox_import *c, onnx_graph *g, const char *name, ox_value *v, int32_t item)
{
    onnx_port *p = ox_add_port(c, g->out, &g->n_out, name, v->type, item);
    if (!p) return false;
    if (v->none) return true;
    if (v->known && !v->parameter) {
        p->constant = ox_known_array(c, v);
        return p->constant != NULL;
    }
    p->tensor = ox_tensor(c, v);
    if (v->type == OX_FLOAT16 || v->type == OX_BFLOAT16)        /* what is seen is rounded */
        p->tensor = ox_convert(c, p->tensor, OX_FLOAT, v->type);
    if (p->tensor && ox_is_leaf(c, g, p->tensor))
        p->tensor = samba_apply(c->s, "onnx_copy", &p->tensor, 1, NULL, 0);
    return p->tensor != NULL;
}
static bool ox_collect_outputs(ox_import *c, onnx_graph *g, const Onnx__GraphProto *from)
{
    for (size_t o = 0; o < from->n_output; o++) {
        const char *name = from->output[o]->name ? from->output[o]->name : "";
        ox_value *v = ox_lookup(c, name);
        if (!v) return samba_fail(c->s, SAMBA_EOP, "ONNX: output %s is made by nobody", name);
        for (int32_t i = 0; v->sequence && i < v->n; i++)
            if (!ox_add_output(c, g, name, v->item[i], i)) return false;
        if (!v->sequence && !ox_add_output(c, g, name, v, -1)) return false;
    }
    return true;
}

/* ---- The whole ---- */

static bool ox_trace_model(ox_import *c, onnx_graph *g)
{
    const Onnx__GraphProto *from = c->model->graph;
    ox_scope scope = { NULL, NULL };
    if (!from) return samba_fail(c->s, SAMBA_EOP, "ONNX: the model has no graph");
    if (ox_domain_version(c, "") > OX_LATEST)
        return samba_fail(c->s, SAMBA_EOP, "ONNX: op set %l is newer than %d, the newest that is "
                          "known here", ox_domain_version(c, ""), OX_LATEST);
    c->scope = &scope;
    c->run = ox_run_nodes;
    return ox_bind_initializers(c, from) && ox_make_parameters(c) && ox_bind_inputs(c, g, from)
        && ox_run_nodes(c, from->node, from->n_node) && ox_collect_outputs(c, g, from);
}
static bool ox_trace_from(samba_session *s, const void *bytes, size_t size, const char *folder,
                          const onnx_options *options, onnx_graph *g)
{
    ox_import c;
    memset(&c, 0, sizeof c);
    memset(g, 0, sizeof *g);
    if (!samba_ok(s)) return false;
    ProtobufCMessage *m = ox_unpack(&onnx__model_proto__descriptor, bytes, size);
    if (!m)
        return samba_fail(s, SAMBA_EIO, "ONNX: not a ModelProto: cut off, damaged, or nested too "
                          "deep");
    c.s = s, c.options = options, c.folder = folder, c.tracing = samba_tracing(s);
    c.model = (const Onnx__ModelProto *)(const void *)m;
    bool quiet = samba_set_quiet(s, true);          /* the error is told when it names the node */
    bool fine = ox_trace_model(&c, g) && samba_ok(s);
    samba_set_quiet(s, quiet);
    protobuf_c_message_free_unpacked(m, NULL);
    snprintf(g->wants, sizeof g->wants, "%s", c.wants);
    g->memory = c.blocks;
    if (!fine) {
        onnx_release(g);
        g->n_in = g->n_out = 0;
    }
    return fine;
}
SAMBA_ONNX_API bool onnx_trace_bytes(samba_session *s, const void *bytes, size_t size,
                                     const onnx_options *options, onnx_graph *g)
{
    return ox_trace_from(s, bytes, size, NULL, options, g);
}
SAMBA_ONNX_API bool onnx_trace(samba_session *s, const char *path, const onnx_options *options,
                               onnx_graph *g)
{
    size_t size, length = strlen(path);
    char *folder = (char *)malloc(length + 2);
    void *bytes = folder ? onnx__read_file(path, &size) : NULL;
    memset(g, 0, sizeof *g);
    while (length > 0 && path[length - 1] != '/') length--;
    if (folder) snprintf(folder, length + 2, "%.*s.", (int)length, path);       /* "models/." */
    bool fine = bytes ? ox_trace_from(s, bytes, size, folder, options, g)
        : samba_fail(s, SAMBA_EIO, "ONNX: %s cannot be read, or is empty", path);
    free(folder);
    free(bytes);
    return fine;
}
SAMBA_ONNX_API void onnx_release(onnx_graph *g)
{
    ox_free_blocks((ox_block *)g->memory);
    g->memory = NULL;
}
SAMBA_ONNX_API bool onnx_set_outputs(const onnx_graph *g, samba_program *p)
{
    int32_t n = 0;
    for (int32_t o = 0; o < g->n_out; o++) {
        samba_tensor *t = g->out[o].tensor;
        if (t && n < SAMBA_MAX_OUTPUTS) p->outputs[n] = t;
        if (t && n++ == SAMBA_MAX_OUTPUTS)
            return samba_fail(t->session, SAMBA_EARG, "ONNX: the model has %d outputs, and a "
                              "program at most %d: raise SAMBA_MAX_OUTPUTS in samba.h",
                              g->n_out, SAMBA_MAX_OUTPUTS);
    }
    return true;
}

/* ---- Values of ports ---- */

SAMBA_ONNX_API bool onnx_send(const onnx_port *port, const onnx_array *a)
{
    ox_import c;
    memset(&c, 0, sizeof c);
    if (!port->tensor) return true;     /* nothing to send */
    c.s = port->tensor->session;
    if (!a || a->count != samba_count(&port->tensor->shape) || ox_carrier(a->type)
        != port->tensor->dtype)
        return samba_fail(c.s, SAMBA_ESHAPE, "ONNX: the values for input %s %S are others in type "
                          "or number", port->name, &port->tensor->shape);
    const void *data = a->f ? a->f : ox_narrow(&c, a);
    bool fine = data && samba_write(port->tensor, data);
    ox_free_blocks(c.blocks);
    return fine;
}
SAMBA_ONNX_API onnx_array *onnx_fetch(const onnx_port *port)
{
    ox_import c;
    memset(&c, 0, sizeof c);
    const onnx_array *from = port->constant;
    if (port->tensor) {
        c.s = port->tensor->session;
        from = ox_read_out(&c, port->tensor, port->type);
    }
    onnx_array *copy = from ? ox_new_array(from->type, from->ndim, from->dim) : NULL;
    if (copy && copy->f) memcpy(copy->f, from->f, (size_t)copy->count * sizeof *copy->f);
    if (copy && copy->i) memcpy(copy->i, from->i, (size_t)copy->count * sizeof *copy->i);
    ox_free_blocks(c.blocks);
    return copy;
}
