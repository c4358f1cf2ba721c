/* export_file.h - of onnx_export.h: reading the PEF, writing the file. */

enum { EX_OPSET = 17, EX_IR = 8 };

static bool ex_read_symbols(ex_export *e, const samba_pef *pef)
{
    e->n_symbols = pef->n_symbols;
    e->symbol = (ex_symbol *)ex_new(e, (size_t)pef->n_symbols, sizeof *e->symbol);
    for (int32_t i = 0; e->symbol && i < e->n_symbols; i++) {
        samba_pef_symbol q = samba_pef_symbol_at(pef, i);
        ex_symbol *s = &e->symbol[i];
        s->role = q.role;
        s->spec = q.spec;
        s->data = q.value;
        if (s->role <= SAMBA_ROLE_STATE) s->name = q.name;
    }
    return e->symbol != NULL;
}

static bool ex_read_call(ex_export *e, const samba_pef *pef, int32_t node, ex_call *c)
{
    c->node = samba_pef_node_at(pef, node);
    c->op = c->node.op;
    if (!c->op) c->op = ex_text(e, "number %u, an op of the user's own", (unsigned)c->node.wire);
    return !e->failed;
}

/* The calls of the forward sections of a graph. */
static bool ex_read_calls(ex_export *e, const samba_pef *pef, const char *graph)
{
    bool found = false;
    const char *chosen = NULL;
    e->call = (ex_call *)ex_new(e, (size_t)pef->n_nodes, sizeof *e->call);
    for (int32_t i = 0; e->call && i < pef->n_sections; i++) {
        samba_pef_section q = samba_pef_section_at(pef, i);
        bool mine = graph ? q.graph && !strcmp(graph, q.graph) : !found || q.graph == chosen;
        if (!mine) continue;
        found = true;
        chosen = q.graph;
        if (q.type != SAMBA_FWD) continue;
        for (int32_t n = 0; n < q.n; n++)
            if (!ex_read_call(e, pef, q.first + n, &e->call[e->n_calls++])) return false;
    }
    return found || ex_fail(e, "there is no graph %s", graph ? graph : "in this file");
}

/* How many of its inputs a call reads where nobody trains: dropout has nothing to draw. */
static int32_t ex_n_read(const ex_call *c)
{
    bool attends = strstr(c->op, "attention") != NULL;
    if (!strcmp(c->op, "dropout")) return 1;
    return attends && c->node.n_in > EX_MASK ? EX_MASK + 1 : c->node.n_in;
}

/* Marks what the outputs need, from the end; and buffers that are written on the way. A value that
   is written over before anybody reads it is needed by nobody. */
static void ex_mark_needed(ex_export *e)
{
    for (int32_t i = 0; i < e->n_calls; i++) {
        const ex_call *c = &e->call[i];
        bool makes = c->node.n_out && c->node.out[0] >= 0;
        ex_symbol *first = makes ? &e->symbol[c->node.out[0]] : NULL;
        bool rows = !strcmp(c->op, "write_rows");
        if (first && (first->role == SAMBA_ROLE_OUTPUT || rows))
            first->needed = first->result = true;
        if (first && rows) first->written = true;
    }
    for (int32_t i = e->n_calls - 1; i >= 0; i--) {
        ex_call *c = &e->call[i];
        for (int32_t o = 0; o < c->node.n_out; o++)
            c->needed = c->needed || (c->node.out[o] >= 0 && e->symbol[c->node.out[o]].needed);
        for (int32_t o = 0; c->needed && o < c->node.n_out; o++)
            if (c->node.out[o] >= 0) e->symbol[c->node.out[o]].needed = false;
        for (int32_t k = 0; c->needed && k < ex_n_read(c); k++)
            if (c->node.in[k] >= 0) e->symbol[c->node.in[k]].needed = true;
    }
}

/* ---- Inputs and outputs ---- */

static Onnx__ValueInfoProto *ex_info(ex_export *e, const char *name, const samba_spec *spec)
{
    Onnx__ValueInfoProto *v = (Onnx__ValueInfoProto *)ex_new(e, 1, sizeof *v);
    Onnx__TypeProto *type = (Onnx__TypeProto *)ex_new(e, 1, sizeof *type);
    Onnx__TypeProto__Tensor *t = (Onnx__TypeProto__Tensor *)ex_new(e, 1, sizeof *t);
    Onnx__TensorShapeProto *shape = (Onnx__TensorShapeProto *)ex_new(e, 1, sizeof *shape);
    if (!v || !type || !t || !shape) return NULL;
    onnx__value_info_proto__init(v);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(t);
    onnx__tensor_shape_proto__init(shape);
    v->name = (char *)(uintptr_t)name;
    v->type = type;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = t;
    t->has_elem_type = true;
    t->elem_type = ex_type(spec->dtype);
    t->shape = shape;
    shape->dim
        = (Onnx__TensorShapeProto__Dimension **)ex_new(e, SAMBA_MAX_DIMS, sizeof *shape->dim);
    if (!shape->dim) return NULL;
    for (int32_t d = 0; d < spec->shape.ndim; d++) {
        Onnx__TensorShapeProto__Dimension *x
            = (Onnx__TensorShapeProto__Dimension *)ex_new(e, 1, sizeof *x);
        if (!x) return NULL;
        onnx__tensor_shape_proto__dimension__init(x);
        x->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        x->dim_value = spec->shape.dim[d];
        shape->dim[shape->n_dim++] = x;
    }
    return v;
}

/* Declares a symbol that is read before any call makes it. */
static bool ex_declare(ex_export *e, Onnx__GraphProto *g, ex_symbol *s)
{
    int64_t dim[SAMBA_MAX_DIMS];
    if (s->declared
        || (s->role != SAMBA_ROLE_INPUT && s->role != SAMBA_ROLE_WEIGHT
            && s->role != SAMBA_ROLE_STATE && s->role != SAMBA_ROLE_CONSTANT))
        return true;
    s->declared = true;
    if (!s->name) s->name = ex_fresh(e);
    if (s->role == SAMBA_ROLE_INPUT || s->written) {
        Onnx__ValueInfoProto *v = ex_info(e, s->name, &s->spec);
        if (v) g->input[g->n_input++] = v;
        return v != NULL;
    }
    if (!s->data)
        return ex_fail(e, "%s has no values in this file: export a checkpoint (samba_save)",
                       s->name);
    for (int32_t d = 0; d < s->spec.shape.ndim; d++)
        dim[d] = s->spec.shape.dim[d];
    size_t size = (size_t)samba_count(&s->spec.shape) * samba_dtype_size(s->spec.dtype);
    return *ex_tensor(e, s->name, ex_type(s->spec.dtype), s->spec.shape.ndim, dim, s->data, size)
        != 0;
}

static bool ex_write_call(ex_export *e, const ex_call *c)
{
    for (int i = 0; i < EX_N_ROWS; i++)
        if (!strcmp(ex_rows[i].op, c->op))
            return (ex_rows[i].write(e, c, ex_rows[i].word) && !e->failed)
                || ex_fail(e, "%s (%s) cannot be written", c->op, c->node.name);
    return ex_fail(e, "%s (%s) has no counterpart in ONNX%s", c->op, c->node.name,
                   strstr(c->op, "packed") ? ": compile with plain weights" : "");
}

static bool ex_build(ex_export *e, Onnx__GraphProto *g)
{
    size_t most = (size_t)e->n_symbols + 1;
    g->input = (Onnx__ValueInfoProto **)ex_new(e, most, sizeof *g->input);
    g->output = (Onnx__ValueInfoProto **)ex_new(e, most, sizeof *g->output);
    if (!g->input || !g->output) return false;
    for (int32_t i = 0; i < e->n_calls; i++) {
        const ex_call *c = &e->call[i];
        for (int32_t k = 0; c->needed && k < ex_n_read(c); k++)
            if (c->node.in[k] >= 0 && !ex_declare(e, g, &e->symbol[c->node.in[k]])) return false;
        if (c->needed && !ex_write_call(e, c)) return false;
    }
    for (int32_t i = 0; i < e->n_calls; i++) {
        ex_symbol *s = e->call[i].node.n_out ? &e->symbol[e->call[i].node.out[0]] : NULL;
        if (!s || !s->result || !e->call[i].needed) continue;
        Onnx__ValueInfoProto *v = ex_info(e, s->name, &s->spec);
        if (!v) return false;
        g->output[g->n_output++] = v;
        s->result = false; /* once */
    }
    g->node = e->node;
    g->n_node = (size_t)e->n_nodes;
    g->initializer = e->constant;
    g->n_initializer = (size_t)e->n_constants;
    if (e->failed) return false;
    return g->n_output > 0 || ex_fail(e, "the forward pass has no output");
}

/* ---- The file ---- */

typedef struct ex_sink {
    ProtobufCBuffer base;
    FILE *f;
    bool failed;
} ex_sink;

static void ex_append(ProtobufCBuffer *buffer, size_t n, const uint8_t *data)
{
    ex_sink *s = (ex_sink *)(void *)buffer;
    if (n && fwrite(data, 1, n, s->f) != n) s->failed = true;
}

static bool ex_write_model(ex_export *e, Onnx__GraphProto *g, const char *path)
{
    Onnx__ModelProto m;
    Onnx__OperatorSetIdProto opset, *list = &opset;
    onnx__model_proto__init(&m);
    onnx__operator_set_id_proto__init(&opset);
    opset.domain = (char *)(uintptr_t) "";
    opset.has_version = true;
    opset.version = EX_OPSET;
    m.has_ir_version = true;
    m.ir_version = EX_IR;
    m.producer_name = (char *)(uintptr_t) "samba.h";
    m.producer_version = (char *)(uintptr_t)SAMBA_VERSION;
    m.opset_import = &list;
    m.n_opset_import = 1;
    m.graph = g;
    samba_base_output o;
    char why[sizeof e->why] = "";
    if (!samba_base_begin(&o, path, NULL, why, sizeof why)) return ex_fail(e, "%s", why);
    ex_sink sink = { { ex_append }, o.file, false };
    protobuf_c_message_pack_to_buffer(&m.base, &sink.base);
    return samba_base_end(&o, !sink.failed, why, sizeof why) || ex_fail(e, "%s", why);
}

SAMBA_ONNX_API bool onnx_export(const void *pef, size_t size, const char *path, const char *graph,
                                char *why, size_t why_size)
{
    ex_export e;
    Onnx__GraphProto g;
    memset(&e, 0, sizeof e);
    onnx__graph_proto__init(&g);
    g.name = (char *)(uintptr_t)(graph ? graph : "samba");
    samba_pef f;
    bool fine = samba_runtime_bytes(pef, size, e.why, sizeof e.why) > 0
        && samba_pef_open(&f, pef, size, e.why, sizeof e.why);
    e.failed = !fine;
    if (fine) {
        if (f.microbatches > 1)
            ex_fail(&e,
                    "a program with microbatches has no pass "
                    "over a whole batch: compile it without");
        fine = !e.failed && ex_read_symbols(&e, &f) && ex_read_calls(&e, &f, graph);
    }
    if (fine) ex_mark_needed(&e);
    fine = fine && ex_build(&e, &g) && ex_write_model(&e, &g, path);
    if (!fine && why_size) snprintf(why, why_size, "%s", e.why);
    while (e.blocks) {
        ex_block *next = e.blocks->next;
        free(e.blocks);
        e.blocks = next;
    }
    return fine;
}

SAMBA_ONNX_API bool onnx_export_file(const char *pef, const char *path, const char *graph,
                                     char *why, size_t why_size)
{
    size_t size;
    const char *reason = "";
    void *bytes = onnx__read_file(pef, &size, &reason);
    if (!bytes && why_size) snprintf(why, why_size, "%s %s", pef, reason);
    bool fine = bytes && onnx_export(bytes, size, path, graph, why, why_size);
    free(bytes);
    return fine;
}
