/* trace.h - of onnx_import.h: from a ModelProto to a graph of samba.h. */

enum { OX_MAX_OPSETS = 64 };

/* ---- Nodes ---- */

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

/* What a function of the model itself is found by; NULL: no memory. */
static const char *ox_function_key(ox_import *c, const char *domain, const char *name)
{
    const char *space = ox_is_default_domain(domain) ? "" : domain;
    size_t size = strlen(space) + strlen(name) + 2;
    char *key = (char *)ox_new(c, (int64_t)size, 1);
    if (key) snprintf(key, size, "%s\n%s", name, space);
    return key;
}

static bool ox_list_functions(ox_import *c)
{
    for (size_t i = 0; i < c->model->n_functions; i++) {
        Onnx__FunctionProto *f = c->model->functions[i];
        const char *key = f->name ? ox_function_key(c, f->domain, f->name) : NULL;
        ox_value *v = key ? ox_new_value(c, 0) : NULL;
        if (!f->name) continue;
        if (!v) return false;
        v->function = f;
        bool first = !ox_find_in(&c->functions, key, ox_hash(key));
        if (first && !ox_bind_in(c, &c->functions, key, v)) return false;
    }
    return true;
}

static const Onnx__FunctionProto *ox_find_function(ox_import *c, const Onnx__NodeProto *p)
{
    if (!c->functions.n) return NULL;
    const char *key = ox_function_key(c, p->domain, p->op_type);
    const ox_binding *b = key ? ox_find_in(&c->functions, key, ox_hash(key)) : NULL;
    return b ? b->value->function : NULL;
}

/* "Relu (y)": a node by its op, and by its own name or that of its first output. */
static const char *ox_name_node(char *text, size_t size, const Onnx__NodeProto *p)
{
    const char *name = p->name && *p->name ? p->name : p->n_output ? p->output[0] : "";
    snprintf(text, size, "%.80s (%.120s)", p->op_type, name);
    return text;
}

/* A function of the model itself: its nodes, in a scope of their own. */
static bool ox_call_function(ox_node *k, const Onnx__FunctionProto *f)
{
    ox_import *c = k->c;
    ox_scope scope, *outer = c->scope;
    const Onnx__NodeProto *caller = c->caller;
    char text[240];
    const char *inside = c->inside;
    if (c->depth >= OX_MAX_DEPTH) return ox_refuse(k, "is nested too deep");
    memset(&scope, 0, sizeof scope);
    c->scope = &scope;
    c->inside = ox_name_node(text, sizeof text, k->p);
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
    c->inside = inside;
    c->scope = outer;
    return fine || (samba_ok(c->s) && ox_refuse(k, "does not make the outputs it names"));
}

static bool ox_open_node(ox_import *c, const Onnx__NodeProto *p, ox_node *k)
{
    k->n_in = (int32_t)p->n_input;
    k->n_out = (int32_t)p->n_output;
    k->in = (ox_value **)ox_new(c, k->n_in, sizeof *k->in);
    k->out = (ox_value **)ox_new(c, k->n_out, sizeof *k->out);
    if (!k->in || !k->out) return false;
    for (int32_t i = 0; i < k->n_in; i++) {
        if (!*p->input[i]) continue;
        k->in[i] = ox_lookup(c, p->input[i]);
        if (!k->in[i]) return ox_refuse(k, "its input %s is made by nobody", p->input[i]);
        int32_t use = k->in[i]->state ? ox_use_of(p, i, k->reach, false) : OX_DATA;
        if (!(use & OX_DATA) && (use & OX_STATE)) k->in[i] = k->in[i]->state;
    }
    return true;
}

/* Known inputs alone: then the node is computed now, through the same ops. */
static bool ox_can_fold(const ox_node *k)
{
    for (int32_t i = 0; i < k->n_in; i++) {
        const ox_value *v = k->in[i];
        bool recorded = v && v->leaf && k->reach != OX_KNOWN;
        if (v && (!v->known || recorded || v->sequence)) return false;
    }
    return true;
}

static bool ox_bind_outputs(ox_node *k, bool folded)
{
    const char *from = NULL;
    const onnx_array *compared = NULL;
    for (int32_t i = 0; i < k->n_in && !from; i++) {
        from = k->in[i] ? k->in[i]->from : NULL;
        compared = from ? k->in[i]->compared : NULL;
    }
    for (int32_t o = 0; o < k->n_out; o++) {
        ox_value *v = k->out[o];
        if (!v && ox_asks(k, o)) return ox_refuse(k, "does not give output %d", o);
        if (!v) continue;
        if (folded) v->known = true;
        uint64_t bytes = folded && v->t ? (uint64_t)samba_count(&v->t->shape) * sizeof(float) : 0;
        if (!ox_may_hold(k->c, bytes)) return false;
        if (!v->known && !v->from) {
            v->from = from;
            v->compared = compared;
        }
        if (ox_asks(k, o) && !ox_bind(k->c, k->p->output[o], v)) return false;
    }
    return true;
}

static bool ox_run_row(ox_node *k, const ox_row *row)
{
    samba_session *s = k->c->s;
    bool fold = !row->whole && ox_can_fold(k), tracing = samba_tracing(s);
    k->arg = row->arg;
    ox_run_fn nothing = row->whole ? NULL : ox_on_nothing(k, row);
    if (fold) samba_set_tracing(s, false);
    bool fine = (nothing ? nothing(k) : row->run(k)) && samba_ok(s);
    if (fold && samba_ok(s)) samba_set_tracing(s, tracing);
    return fine && ox_bind_outputs(k, fold);
}

static const ox_row *ox_row_of(const Onnx__NodeProto *p)
{
    return ox_find_row(ox_is_default_domain(p->domain) ? "" : p->domain, p->op_type);
}

/* The row of a node's op; NULL after a refusal. */
static const ox_row *ox_offered(ox_node *k)
{
    const Onnx__NodeProto *p = k->p;
    const ox_row *row = ox_row_of(p);
    bool ours = ox_is_default_domain(p->domain);
    k->version = ox_domain_version(k->c, p->domain);
    if (!row) {
        ox_refuse(k,
                  "this op%s%.80s is not offered%.400s: tools/samba onnx-ops lists those that are",
                  ours ? "" : " of domain ", ours ? "" : p->domain, k->c->others);
        return NULL;
    }
    if (k->version >= row->first && k->version <= row->last) return row;
    ox_refuse(k, "is offered for op sets %d to %d, not for %lld", row->first, row->last,
              (long long)k->version);
    return NULL;
}

static bool ox_run_known_node(ox_node *k)
{
    ox_import *c = k->c;
    const Onnx__NodeProto *p = k->p;
    k->reach = ox_reach_of(c, p);
    if (++c->n_nodes > c->max_nodes)
        return ox_refuse(k, "loops unroll to more than %d nodes", OX_MAX_UNROLLED);
    if (!ox_open_node(c, p, k)) return false;
    const Onnx__FunctionProto *f = ox_find_function(c, p);
    if (f) return ox_call_function(k, f) && ox_bind_outputs(k, false);
    const ox_row *row = ox_offered(k);
    bool fine = row && ox_run_row(k, row);
    for (int32_t i = 0; fine && i < k->n_in; i++)
        ox_drop_host(k->in[i]);
    return fine;
}

/* A refusal that needs no values: reading the weights of a large model takes a while. */
static bool ox_check_node(ox_node *k)
{
    if (ox_find_function(k->c, k->p)) return true;
    const ox_row *row = ox_offered(k);
    bool never = row && (row->run == ox_op_random || row->run == ox_op_strings);
    return never ? row->run(k) : row != NULL;
}

/* What fails in a node is an error that names the node, the innermost one. */
static bool ox_with_node(ox_import *c, const Onnx__NodeProto *p, bool (*run)(ox_node *k))
{
    ox_node k;
    char name[240], context[600];
    if (!p->op_type) return samba_fail(c->s, SAMBA_EOP, "a node has no op_type");
    snprintf(context, sizeof context, "ONNX %s%s%s: ", ox_name_node(name, sizeof name, p),
             c->inside ? ", inside " : "", c->inside ? c->inside : "");
    const char *outer = samba_error_context(c->s, context);
    memset(&k, 0, sizeof k);
    k.c = c;
    k.p = p;
    bool fine = run(&k);
    if (!fine && samba_ok(c->s)) ox_refuse(&k, "refused without a reason");
    samba_error_context(c->s, outer);
    return fine;
}

static bool ox_run_nodes(ox_import *c, Onnx__NodeProto **node, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!ox_with_node(c, node[i], ox_run_known_node)) return false;
    return true;
}

/* ---- Ops that are not offered: all are named at once ---- */

/* Has the op been seen? It is from now on. */
static bool ox_seen_op(ox_import *c, ox_scope *seen, const Onnx__NodeProto *p)
{
    const char *key = ox_function_key(c, p->domain, p->op_type);
    if (!key || ox_find_in(seen, key, ox_hash(key))) return true;
    ox_value *mark = ox_new_value(c, 0);
    return !mark || !ox_bind_in(c, seen, key, mark);
}

/* Adds what has no row among these nodes, and in their bodies, to c->others; but for `first`. */
static void ox_list_unknown(ox_import *c, ox_scope *seen, Onnx__NodeProto **node, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const Onnx__NodeProto *p = node[i];
        for (size_t a = 0; a < p->n_attribute; a++) {
            const Onnx__GraphProto *g = p->attribute[a]->g;
            if (g) ox_list_unknown(c, seen, g->node, g->n_node);
        }
        if (!p->op_type || ox_row_of(p) || ox_find_function(c, p) || ox_seen_op(c, seen, p))
            continue;
        size_t used = strlen(c->others), room = sizeof c->others - used;
        bool ours = ox_is_default_domain(p->domain);
        if (room > 200)
            snprintf(c->others + used, room, "%s%.80s%s%.80s", used ? ", " : ", nor are ",
                     p->op_type, ours ? "" : " of domain ", ours ? "" : p->domain);
        else if (c->others[used - 1] != '.')
            snprintf(c->others + used, room, " ...");
    }
}

/* What is not offered beside the op of a node, in the graph and in functions of the model. */
static void ox_list_others(ox_import *c, const Onnx__GraphProto *g, const Onnx__NodeProto *first)
{
    ox_scope seen;
    memset(&seen, 0, sizeof seen);
    if (!first->op_type || ox_row_of(first) || ox_seen_op(c, &seen, first)) return;
    ox_list_unknown(c, &seen, g->node, g->n_node);
    for (size_t i = 0; i < c->model->n_functions; i++)
        ox_list_unknown(c, &seen, c->model->functions[i]->node, c->model->functions[i]->n_node);
}

static bool ox_check_ops(ox_import *c, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnx__NodeProto *p = g->node[i];
        bool unknown = p->op_type && !ox_row_of(p) && !ox_find_function(c, p);
        if (unknown) ox_list_others(c, g, p);
        if (!ox_with_node(c, p, ox_check_node)) return false;
    }
    return true;
}

/* ---- Outputs ---- */

static bool ox_is_leaf(const ox_import *c, const onnx_graph *g, const samba_tensor *t)
{
    for (int32_t i = 0; i < g->n_in; i++)
        if (g->in[i].tensor == t) return true;
    for (const ox_binding *b = c->scope->first; b; b = b->next)
        if (b->value->leaf && b->value->t == t) return true;
    return false;
}

/* Is the name like those that samba.h gives to what has none, as add_3? It may be taken. */
static bool ox_looks_given(const char *name)
{
    const char *number = strrchr(name, '_');
    return number && number[1] && strspn(number + 1, "0123456789") == strlen(number + 1);
}

/* An output has the model's name in the PEF, too, as an input has, unless it is another output
   already, or an input has that name. */
static bool ox_name_output(ox_import *c, const onnx_graph *g, const onnx_port *p)
{
    if (p->item >= 0 || !*p->name || ox_looks_given(p->name)) return true;
    for (int32_t i = 0; i < g->n_out; i++)
        if (&g->out[i] != p && g->out[i].tensor == p->tensor) return true;
    for (int32_t i = 0; i < g->n_in; i++)
        if (!strcmp(g->in[i].name, p->name)) return true;

    const char *graph = c->options ? c->options->graph : NULL;
    size_t size = graph ? strlen(graph) + 2 : 1;
    char *end = (char *)ox_new(c, (int64_t)size, 1);
    if (!end) return false;
    if (graph) snprintf(end, size, "@%s", graph);
    const char *name = ox_leaf_name(c, p->name, end);
    return name && samba_name(p->tensor, name);
}

static bool ox_add_output(ox_import *c, onnx_graph *g, const char *name, ox_value *v, int32_t item)
{
    onnx_port *p = ox_add_port(c, g->out, &g->n_out, name, v->type, item);
    if (!p) return false;
    if (v->none) return true;
    if (v->known && !v->leaf) {
        p->constant = ox_known_array(c, v);
        return p->constant != NULL;
    }
    p->tensor = ox_tensor(c, v);
    if (v->type == OX_FLOAT16 || v->type == OX_BFLOAT16) /* what is seen is rounded */
        p->tensor = ox_convert(c, p->tensor, OX_FLOAT, v->type);
    if (p->tensor && ox_is_leaf(c, g, p->tensor))
        p->tensor = samba_apply(c->s, "onnx_copy", &p->tensor, 1, NULL, 0);
    return p->tensor && ox_name_output(c, g, p);
}

static bool ox_collect_outputs(ox_import *c, onnx_graph *g, const Onnx__GraphProto *from)
{
    for (size_t o = 0; o < from->n_output; o++) {
        const char *name = from->output[o]->name ? from->output[o]->name : "";
        ox_value *v = ox_lookup(c, name);
        if (!v) return samba_fail(c->s, SAMBA_EOP, "output %s is made by nobody", name);
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
    ox_scope scope;
    memset(&scope, 0, sizeof scope);
    if (!from) return samba_fail(c->s, SAMBA_EOP, "the model has no graph");
    if (c->model->n_opset_import > OX_MAX_OPSETS)
        return samba_fail(c->s, SAMBA_EOP, "the model imports more than %d op sets", OX_MAX_OPSETS);
    c->scope = &scope;
    c->run = ox_run_nodes;
    c->max_nodes = (int64_t)from->n_node + OX_MAX_UNROLLED;
    c->initializers = (ox_initializer **)ox_new(c, OX_N_INITIALIZERS, sizeof *c->initializers);
    return c->initializers && ox_list_functions(c) && ox_check_ops(c, from) && ox_sort_model(c)
        && ox_reach_model(c) && ox_declare_initializers(c, from) && ox_check_inputs(c, from)
        && ox_find_folds(c, from) && ox_fill_initializers(c, from) && ox_bind_inputs(c, g, from)
        && ox_run_nodes(c, from->node, from->n_node) && ox_collect_outputs(c, g, from);
}

/* Bytes that constants may take: see onnx_options. */
static uint64_t ox_constant_limit(const onnx_options *options, size_t model_size)
{
    if (options && options->max_constant_bytes) return options->max_constant_bytes;
    return ((uint64_t)256 << 20) + 16 * (uint64_t)model_size;
}

/* What the caller could say to get further. */
static void ox_say_wants(const ox_import *c, onnx_graph *g)
{
    const onnx_array *v = c->wants_value;
    if (!c->wants || strlen(c->wants) >= sizeof g->wants) return;
    snprintf(g->wants, sizeof g->wants, "%s", c->wants);
    if (v && v->count == 1 && v->i)
        snprintf(g->wants_value, sizeof g->wants_value, "%lld", (long long)v->i[0]);
    else if (v && v->count == 1)
        snprintf(g->wants_value, sizeof g->wants_value, "%.9g", (double)v->f[0]);
}

/* Unpacks a model without its weights; NULL after a refusal. */
static ProtobufCMessage *ox_unpack_model(samba_session *s, ox_skeleton *k)
{
    errno = 0;
    bool sound
        = k->from->size > 0 && ox_copy_message(k, OX_M_MODEL, 0, k->from->size, OX_MAX_NESTING);
    ProtobufCMessage *m = sound ? ox_unpack(&onnx__model_proto__descriptor, k->bytes, k->n) : NULL;
    free(k->bytes);
    k->bytes = NULL;
    if (m) return m;
    if (!k->from->error && (errno == ENOMEM || k->why == ox_no_memory)) k->from->error = ENOMEM;
    if (k->from->error) {
        samba_fail(s, k->from->error == ENOMEM ? SAMBA_ENOMEM : SAMBA_EIO,
                   "ONNX: the model cannot be read: %s", strerror(k->from->error));
        return NULL;
    }
    const char *why = k->why ? k->why : "cut off, damaged, or nested too deep";
    samba_fail(s, k->why ? SAMBA_EOP : SAMBA_EIO, "ONNX: not a ModelProto: %s", why);
    return NULL;
}

/* path: of the model, whose folder may have files of weights; NULL: it has no folder. */
static bool ox_trace_from(samba_session *s, ox_source *from, const char *path,
                          const onnx_options *options, onnx_graph *g)
{
    ox_import c;
    ox_skeleton k;
    memset(&c, 0, sizeof c);
    memset(&k, 0, sizeof k);
    memset(g, 0, sizeof *g);
    if (!samba_ok(s)) return false;
    k.from = from;
    ProtobufCMessage *m = ox_unpack_model(s, &k);
    if (!m) {
        free(k.left_out);
        return false;
    }
    c.s = s;
    c.options = options;
    c.tracing = samba_tracing(s);
    c.may_hold = ox_constant_limit(options, (size_t)from->size);
    c.model = (const Onnx__ModelProto *)(const void *)m;
    c.place.model = from;
    c.place.left_out = k.left_out;
    c.place.n_left_out = k.n_left_out;
    const char *context = samba_error_context(s, "ONNX: ");
    bool fine = ox_find_place(&c.place, path)
        || samba_fail(s, SAMBA_ENOMEM, "out of memory while importing");
    if (fine && options && options->graph) fine = samba_begin_graph(s, options->graph);
    fine = fine && ox_trace_model(&c, g) && samba_ok(s);
    ox_leave_place(&c.place);
    free(k.left_out);
    if (!fine && samba_ok(s)) samba_fail(s, SAMBA_EOP, "refused without a reason");
    samba_error_context(s, context);
    samba_set_tracing(s, c.tracing);
    if (!fine) ox_say_wants(&c, g);
    memcpy(g->note, c.note, sizeof g->note);
    protobuf_c_message_free_unpacked(m, NULL);
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
    ox_source from = { (const uint8_t *)bytes, NULL, (int64_t)size, NULL, 0, 0, 0 };
    return ox_trace_from(s, &from, NULL, options, g);
}

SAMBA_ONNX_API bool onnx_trace(samba_session *s, const char *path, const onnx_options *options,
                               onnx_graph *g)
{
    const char *why = "";
    ox_source from = { NULL, NULL, 0, NULL, 0, 0, 0 };
    memset(g, 0, sizeof *g);
    from.f = onnx__open(path, &why);
    from.size = from.f ? onnx__file_size(from.f) : 0;
    if (from.f && from.size <= 0) why = from.size == 0 ? "is empty" : "cannot be read";
    bool fine = from.size > 0 ? ox_trace_from(s, &from, path, options, g)
                              : samba_fail(s, SAMBA_EIO, "ONNX: %s %s", path, why);
    ox_close_source(&from);
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
    while (n < SAMBA_MAX_OUTPUTS && p->outputs[n])
        n++;
    for (int32_t o = 0; o < g->n_out; o++) {
        samba_tensor *t = g->out[o].tensor;
        if (t && n < SAMBA_MAX_OUTPUTS) p->outputs[n] = t;
        if (t && n++ == SAMBA_MAX_OUTPUTS)
            return samba_fail(t->session, SAMBA_EARG,
                              "ONNX: the model has %d outputs for each graph, and a "
                              "program at most %d: raise SAMBA_MAX_OUTPUTS in samba.h",
                              g->n_out, SAMBA_MAX_OUTPUTS);
    }
    return true;
}

/* ---- Values of ports ---- */

SAMBA_ONNX_API bool onnx_send(const onnx_port *port, const onnx_array *a)
{
    if (!port->tensor) return true; /* nothing to send */
    samba_session *s = port->tensor->session;
    if (!a || a->count != samba_count(&port->tensor->shape)
        || ox_carrier(a->type) != port->tensor->dtype)
        return samba_fail(s, SAMBA_ESHAPE,
                          "ONNX: the values for input %s %S are others in type "
                          "or number",
                          port->name, &port->tensor->shape);
    void *narrow = a->f ? NULL : ox_narrow(s, a);
    const void *data = a->f ? a->f : narrow;
    bool fine = data && samba_write(port->tensor, data);
    free(narrow);
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
