/* reach.h - of onnx_import.h: what each initializer is for, found by following it to the inputs of
   ops that it reaches, before anything is traced. From the outputs of the graph backwards: a result
   that reaches an output is data, and so is what it is made of, but for inputs that mean something
   else: the running mean of a normalization, the limit of a Clip, the scales of a Resize. */

enum {
    OX_DATA = 1,  /* flows into an output, with a gradient: is trained */
    OX_STATE = 2, /* must not be trained: statistics */
    OX_READ = 4,  /* is read, and no gradient comes from there: thresholds */
    OX_KNOWN = 8  /* must be known while tracing, or is a number of the op */
};

enum { OX_SHAPE = 0 }; /* in the table: only type and shape matter */

/* Inputs first ... last of an op that are not simply data. */
typedef struct ox_use {
    const char *op;
    int32_t first, last, use;
} ox_use;

static const ox_use ox_uses[] = {
    { "BatchNormalization", 3, 4, OX_STATE },
    { "RNN", 4, 5, OX_STATE },
    { "GRU", 4, 5, OX_STATE },
    { "LSTM", 4, 6, OX_STATE },
    { "NegativeLogLikelihoodLoss", 1, 2, OX_STATE },
    { "SoftmaxCrossEntropyLoss", 1, 2, OX_STATE },
    { "RotaryEmbedding", 1, 3, OX_STATE },
    { "GridSample", 1, 1, OX_STATE },
    { "RoiAlign", 1, 2, OX_STATE },
    { "STFT", 2, 2, OX_STATE },
    { "Mod", 1, 1, OX_STATE },
    { "Pow", 1, 1, OX_DATA }, /* unless it is a scalar: see ox_use_of */
    { "Equal", 0, 1, OX_READ },
    { "Less", 0, 1, OX_READ },
    { "Greater", 0, 1, OX_READ },
    { "LessOrEqual", 0, 1, OX_READ },
    { "GreaterOrEqual", 0, 1, OX_READ },
    { "IsNaN", 0, 0, OX_READ },
    { "IsInf", 0, 1, OX_READ },
    { "ArgMax", 0, 0, OX_READ },
    { "ArgMin", 0, 0, OX_READ },
    { "OneHot", 0, 0, OX_READ },
    { "Where", 0, 0, OX_READ },
    { "Shape", 0, 0, OX_SHAPE },
    { "Size", 0, 0, OX_SHAPE },
    { "EyeLike", 0, 0, OX_SHAPE },
    { "CastLike", 1, 1, OX_SHAPE },
    { "Clip", 1, 2, OX_KNOWN },
    { "Reshape", 1, 1, OX_KNOWN },
    { "Squeeze", 1, 1, OX_KNOWN },
    { "Unsqueeze", 1, 1, OX_KNOWN },
    { "Split", 1, 1, OX_KNOWN },
    { "Slice", 1, 4, OX_KNOWN },
    { "Pad", 1, 3, OX_KNOWN },
    { "Tile", 1, 1, OX_KNOWN },
    { "Expand", 1, 1, OX_KNOWN },
    { "ConstantOfShape", 0, 0, OX_KNOWN },
    { "Range", 0, 2, OX_KNOWN },
    { "Trilu", 1, 1, OX_KNOWN },
    { "OneHot", 1, 2, OX_KNOWN },
    { "TopK", 1, 1, OX_KNOWN },
    { "Compress", 1, 1, OX_KNOWN },
    { "NonZero", 0, 0, OX_KNOWN },
    { "Unique", 0, 0, OX_KNOWN },
    { "NonMaxSuppression", 0, 4, OX_KNOWN },
    { "CumSum", 1, 1, OX_KNOWN },
    { "CumProd", 0, 0, OX_READ },
    { "CumProd", 1, 1, OX_KNOWN },
    { "CenterCropPad", 1, 1, OX_KNOWN },
    { "MaxUnpool", 2, 2, OX_KNOWN },
    { "Resize", 1, 3, OX_KNOWN },
    { "Upsample", 1, 1, OX_KNOWN },
    { "Dropout", 1, 2, OX_KNOWN },
    { "QuantizeLinear", 1, 2, OX_KNOWN },
    { "DequantizeLinear", 1, 2, OX_KNOWN },
    { "QLinearMatMul", 1, 2, OX_KNOWN },
    { "QLinearMatMul", 4, 7, OX_KNOWN },
    { "QLinearConv", 1, 2, OX_KNOWN },
    { "QLinearConv", 4, 8, OX_KNOWN },
    { "MatMulNBits", 2, 3, OX_KNOWN },
    { "GatherBlockQuantized", 2, 3, OX_KNOWN },
    { "QLinearAdd", 1, 2, OX_KNOWN },
    { "QLinearAdd", 4, 7, OX_KNOWN },
    { "QLinearMul", 1, 2, OX_KNOWN },
    { "QLinearMul", 4, 7, OX_KNOWN },
    { "QLinearSigmoid", 1, 4, OX_KNOWN },
    { "QLinearLeakyRelu", 1, 4, OX_KNOWN },
    { "QLinearSoftmax", 1, 4, OX_KNOWN },
    { "QLinearAveragePool", 1, 4, OX_KNOWN },
    { "QLinearGlobalAveragePool", 1, 4, OX_KNOWN },
    { "QLinearReduceMean", 1, 4, OX_KNOWN },
    { "QLinearConcat", 0, INT32_MAX, OX_KNOWN },
    { "QLinearWhere", 2, 3, OX_KNOWN },
    { "QLinearWhere", 5, 8, OX_KNOWN },
    { "QGemm", 1, 2, OX_KNOWN },
    { "QGemm", 4, 8, OX_KNOWN },
    { "QAttention", 3, 4, OX_KNOWN },
    { "QAttention", 6, 7, OX_KNOWN },
    { "MatMulIntegerToFloat", 3, 3, OX_KNOWN },
    { "MatMulIntegerToFloat", 5, 5, OX_KNOWN },
    { "DynamicQuantizeMatMul", 2, 3, OX_KNOWN },
    { "DynamicQuantizeLSTM", 8, 11, OX_KNOWN },
    { "GroupQueryAttention", 6, 6, OX_KNOWN },
    { "GroupQueryAttention", 7, 8, OX_STATE },
    { "MelWeightMatrix", 0, 4, OX_KNOWN },
    { "HannWindow", 0, 0, OX_KNOWN },
    { "HammingWindow", 0, 0, OX_KNOWN },
    { "BlackmanWindow", 0, 0, OX_KNOWN },
    { "DFT", 1, 2, OX_KNOWN },
    { "STFT", 1, 1, OX_KNOWN },
    { "STFT", 3, 3, OX_KNOWN },
    { "SequenceAt", 1, 1, OX_KNOWN },
    { "SequenceErase", 1, 1, OX_KNOWN },
    { "SequenceInsert", 2, 2, OX_KNOWN },
    { "SplitToSequence", 1, 1, OX_KNOWN },
    { "If", 0, 0, OX_KNOWN },
    { "Loop", 0, 1, OX_KNOWN },
    { "Adam", 0, 1, OX_KNOWN },
    { "Adagrad", 0, 1, OX_KNOWN },
    { "Momentum", 0, 1, OX_KNOWN },
};

/* Which graph was looked at: its names, and what its outputs reached when it was. */
typedef struct ox_region {
    const void *graph; /* GraphProto or FunctionProto */
    ox_scope names;    /* reach of each */
    int32_t *outputs;  /* reach of each; -1: not looked at yet */
    struct ox_region *beside;
} ox_region;

/* Of a node what its outputs reach, of an initializer what it reaches itself. */
typedef struct ox_note {
    const void *of;
    int32_t reach;
    struct ox_note *beside;
} ox_note;

enum { OX_N_REGIONS = 256 };

typedef struct ox_reaching {
    ox_note **note;   /* buckets */
    uint32_t n_notes; /* a power of two */
    ox_region *region[OX_N_REGIONS];
    int32_t depth;
} ox_reaching;

static uint32_t ox_hash_pointer(const void *p)
{
    uint64_t h = (uint64_t)(uintptr_t)p * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static ox_note *ox_find_note(const ox_reaching *r, const void *of)
{
    ox_note *n = r ? r->note[ox_hash_pointer(of) & (r->n_notes - 1)] : NULL;
    while (n && n->of != of)
        n = n->beside;
    return n;
}

/* What a node or an initializer reaches; 0 before that is known, and where nobody reads it. */
static int32_t ox_reach_of(const ox_import *c, const void *of)
{
    const ox_note *n = ox_find_note(c->reach, of);
    return n ? n->reach : 0;
}

static bool ox_note_reach(ox_import *c, const void *of, int32_t reach)
{
    ox_note *n = ox_find_note(c->reach, of);
    if (!n) {
        n = (ox_note *)ox_new(c, 1, sizeof *n);
        ox_note **bucket = &c->reach->note[ox_hash_pointer(of) & (c->reach->n_notes - 1)];
        if (!n) return false;
        n->of = of;
        n->beside = *bucket;
        *bucket = n;
    }
    n->reach |= reach;
    return true;
}

/* ---- Names ---- */

/* NULL: none has this name, or it is none. */
static ox_value *ox_reached(ox_scope *s, const char *name)
{
    uint32_t hash = name ? ox_hash(name) : 0;
    if (!name) return NULL;
    for (; s; s = s->outer) {
        const ox_binding *b = ox_find_in(s, name, hash);
        if (b) return b->value;
    }
    return NULL;
}

static void ox_reach_name(ox_scope *s, const char *name, int32_t reach)
{
    ox_value *v = name && *name ? ox_reached(s, name) : NULL;
    if (v) v->reach |= reach;
}

static bool ox_is_scalar_initializer(ox_scope *s, const char *name)
{
    const ox_value *v = ox_reached(s, name);
    return v && v->proto && v->proto->n_dims == 0;
}

/* Is the node an Identity of an initializer? PyTorch's exporter joins parameters that have the same
   values so; its output is then an initializer of its own. */
static bool ox_is_alias(const ox_scope *s, const Onnx__NodeProto *p)
{
    if (strcmp(p->op_type, "Identity") || p->n_input != 1 || p->n_output != 1) return false;
    const ox_binding *b = ox_find_in(s, p->input[0], ox_hash(p->input[0]));
    return b && b->value->proto;
}

/* What input i of a node reaches through it, whose outputs reach this. */
static int32_t ox_use_of(const Onnx__NodeProto *p, int32_t i, int32_t reach, bool scalar)
{
    int32_t use = OX_DATA;
    for (size_t n = 0; n < sizeof ox_uses / sizeof *ox_uses; n++)
        if (i >= ox_uses[n].first && i <= ox_uses[n].last && !strcmp(ox_uses[n].op, p->op_type))
            use = ox_uses[n].use;
    const Onnx__AttributeProto *to = strcmp(p->op_type, "Cast") ? NULL : ox_find_attribute(p, "to");
    if (to && !ox_is_float((int32_t)to->i) && !to->has_s) use = OX_READ;
    if (scalar && i == 1 && !strcmp(p->op_type, "Pow")) use = OX_KNOWN;

    if (use == OX_KNOWN || use == OX_SHAPE) return use;
    if (use == OX_DATA && !(reach & OX_DATA)) return reach;
    bool runs = (reach & (OX_DATA | OX_STATE | OX_READ)) != 0;
    return (reach & OX_KNOWN) | (runs ? use : 0);
}

/* ---- Graphs ---- */

static bool ox_reach_nodes(ox_import *c, ox_scope *names, Onnx__NodeProto **node, size_t n);

/* The names a graph makes, each new; of its initializers also the protos. */
static ox_region *ox_find_region(ox_import *c, const void *graph)
{
    ox_region **bucket = &c->reach->region[ox_hash_pointer(graph) % OX_N_REGIONS];
    ox_region *r = *bucket;
    while (r && r->graph != graph)
        r = r->beside;
    if (r) return r;
    r = (ox_region *)ox_new(c, 1, sizeof *r);
    if (!r) return NULL;
    r->graph = graph;
    r->beside = *bucket;
    *bucket = r;
    return r;
}

static bool ox_open_name(ox_import *c, ox_scope *s, const char *name, const Onnx__TensorProto *t)
{
    if (!name || !*name || ox_has_name(s, name)) return true;
    ox_value *v = ox_new_value(c, 0);
    if (v) v->proto = t;
    return v && ox_bind_in(c, s, name, v);
}

static bool ox_open_nodes(ox_import *c, ox_scope *s, Onnx__NodeProto **node, size_t n)
{
    bool fine = true;
    for (size_t i = 0; fine && i < n; i++) {
        const Onnx__TensorProto *same = NULL;
        if (node[i]->op_type && ox_is_alias(s, node[i]))
            same = ox_reached(s, node[i]->input[0])->proto;
        for (size_t o = 0; fine && o < node[i]->n_output; o++)
            fine = ox_open_name(c, s, node[i]->output[o], same);
    }
    return fine;
}

static bool ox_open_graph(ox_import *c, ox_region *r, const Onnx__GraphProto *g, ox_scope *outer)
{
    bool fine = true;
    r->names.outer = outer;
    for (size_t i = 0; fine && i < g->n_initializer; i++)
        fine = ox_open_name(c, &r->names, g->initializer[i]->name, g->initializer[i]);
    for (size_t i = 0; fine && i < g->n_input; i++)
        fine = ox_open_name(c, &r->names, g->input[i]->name, NULL);
    return fine && ox_open_nodes(c, &r->names, g->node, g->n_node);
}

/* Does a region's output reach more than when it was looked at? Then it must be looked at again. */
static bool ox_output_reaches(ox_region *r, int32_t o, const char *name, int32_t reach)
{
    const ox_value *v = name ? ox_reached(&r->names, name) : NULL;
    ox_reach_name(&r->names, name, reach);
    if (v) reach |= v->reach;
    if (r->outputs[o] >= 0 && (r->outputs[o] | reach) == r->outputs[o]) return false;
    r->outputs[o] = reach | (r->outputs[o] < 0 ? 0 : r->outputs[o]);
    return true;
}

static bool ox_new_outputs(ox_import *c, ox_region *r, size_t n)
{
    r->outputs = (int32_t *)ox_new(c, (int64_t)n, sizeof *r->outputs);
    for (size_t o = 0; r->outputs && o < n; o++)
        r->outputs[o] = -1;
    return r->outputs != NULL;
}

/* How inputs and outputs of a node and of its body belong together: input i of the body is input
   i + in of the node, output o is output o - out; the first `carried` outputs after `out` come back
   as inputs, from `back` on. */
typedef struct ox_ports {
    int32_t in, out, carried, back;
} ox_ports;

static ox_ports ox_ports_of(const Onnx__NodeProto *p, const Onnx__GraphProto *g)
{
    ox_ports ports = { 0, 0, 0, 0 };
    int32_t n = (int32_t)p->n_input;
    if (!strcmp(p->op_type, "Loop")) {
        ports.out = 1;
        ports.carried = n - 2;
        ports.back = 2;
    } else if (!strcmp(p->op_type, "Scan")) {
        const Onnx__AttributeProto *scanned = ox_find_attribute(p, "num_scan_inputs");
        int64_t n_scan = scanned ? scanned->i : 0;
        ports.in = n - (int32_t)g->n_input;
        ports.carried = n_scan >= 0 && n_scan <= n ? n - ports.in - (int32_t)n_scan : 0;
    }
    return ports;
}

/* A body, until what its results reach no longer changes what they are made of. How deep bodies
   are in each other is limited where the model is parsed. */
static bool ox_reach_body(ox_import *c, ox_scope *names, const Onnx__NodeProto *p,
                          const Onnx__GraphProto *g)
{
    ox_region *r = ox_find_region(c, g);
    ox_ports ports = ox_ports_of(p, g);
    bool again = true;
    if (!r) return false;
    if (!r->outputs && (!ox_new_outputs(c, r, g->n_output) || !ox_open_graph(c, r, g, names)))
        return false;
    c->reach->depth++;
    for (bool fine = true; again;) {
        again = false;
        for (int32_t o = 0; o < (int32_t)g->n_output; o++) {
            int32_t of = o - ports.out, back = of + ports.back, reach = of < 0 ? OX_KNOWN : 0;
            if (of >= 0 && of < (int32_t)p->n_output && *p->output[of]) {
                const ox_value *v = ox_reached(names, p->output[of]);
                reach |= v ? v->reach : 0;
            }
            if (of >= 0 && of < ports.carried && back < (int32_t)g->n_input) {
                const ox_value *v = ox_reached(&r->names, g->input[back]->name);
                reach |= v ? v->reach : 0;
            }
            again = ox_output_reaches(r, o, g->output[o]->name, reach) || again;
        }
        if (again) fine = ox_reach_nodes(c, &r->names, g->node, g->n_node);
        if (!fine) return false;
    }
    c->reach->depth--;

    for (size_t i = 0; i < g->n_initializer; i++) {
        const ox_value *v = ox_reached(&r->names, g->initializer[i]->name);
        if (v && !ox_note_reach(c, g->initializer[i], v->reach)) return false;
    }
    for (int32_t i = 0; i < (int32_t)g->n_input; i++) {
        const ox_value *v = ox_reached(&r->names, g->input[i]->name);
        int32_t to = i + ports.in;
        if (v && to >= 0 && to < (int32_t)p->n_input) ox_reach_name(names, p->input[to], v->reach);
    }
    for (int32_t i = 0; ports.out && i < ports.carried && i < (int32_t)p->n_output; i++) {
        const ox_value *v = *p->output[i] ? ox_reached(names, p->output[i]) : NULL;
        if (v) ox_reach_name(names, p->input[2 + i], v->reach); /* a loop without a turn */
    }
    return true;
}

/* A function of the model: looked at with what its results reach wherever it is called. */
static bool ox_reach_function(ox_import *c, ox_scope *names, const Onnx__NodeProto *p,
                              const Onnx__FunctionProto *f)
{
    ox_region *r = ox_find_region(c, f);
    bool again = false, fine = r != NULL;
    if (!r || c->reach->depth > OX_MAX_DEPTH) return fine;
    if (!r->outputs) {
        fine = ox_new_outputs(c, r, f->n_output);
        for (size_t i = 0; fine && i < f->n_input; i++)
            fine = ox_open_name(c, &r->names, f->input[i], NULL);
        fine = fine && ox_open_nodes(c, &r->names, f->node, f->n_node);
    }
    for (size_t o = 0; fine && o < f->n_output; o++) {
        bool asked = o < p->n_output && *p->output[o];
        const ox_value *v = asked ? ox_reached(names, p->output[o]) : NULL;
        again = ox_output_reaches(r, (int32_t)o, f->output[o], v ? v->reach : 0) || again;
    }
    c->reach->depth++;
    if (fine && again) fine = ox_reach_nodes(c, &r->names, f->node, f->n_node);
    c->reach->depth--;
    for (size_t i = 0; fine && i < f->n_input && i < p->n_input; i++) {
        const ox_value *v = ox_reached(&r->names, f->input[i]);
        if (v) ox_reach_name(names, p->input[i], v->reach);
    }
    return fine;
}

static const Onnx__FunctionProto *ox_find_function(ox_import *c, const Onnx__NodeProto *p);

static bool ox_reach_node(ox_import *c, ox_scope *names, const Onnx__NodeProto *p)
{
    int32_t reach = 0;
    bool fine = true, has_body = false;
    if (!p->op_type) return true; /* refused when it is run */
    for (size_t o = 0; o < p->n_output; o++) {
        const ox_value *v = *p->output[o] ? ox_reached(names, p->output[o]) : NULL;
        reach |= v ? v->reach : 0;
    }
    if (!ox_note_reach(c, p, reach)) return false;
    if (ox_is_alias(names, p)) return true;
    const Onnx__FunctionProto *f = ox_find_function(c, p);
    if (f) return ox_reach_function(c, names, p, f);
    for (size_t i = 0; fine && i < p->n_attribute; i++) {
        if (!p->attribute[i]->g) continue;
        has_body = true;
        fine = ox_reach_body(c, names, p, p->attribute[i]->g);
    }
    for (size_t i = 0; fine && i < p->n_input; i++) {
        bool scalar = ox_is_scalar_initializer(names, p->input[i]);
        int32_t use = ox_use_of(p, (int32_t)i, reach, scalar);
        if (!has_body || use == OX_KNOWN) ox_reach_name(names, p->input[i], use);
    }
    return fine;
}

static bool ox_reach_nodes(ox_import *c, ox_scope *names, Onnx__NodeProto **node, size_t n)
{
    bool fine = samba_ok(c->s);
    for (size_t i = n; fine && i-- > 0;)
        fine = ox_reach_node(c, names, node[i]);
    return fine;
}

/* The whole model, whose nodes are sorted: fills c->reach. */
static bool ox_reach_model(ox_import *c)
{
    const Onnx__GraphProto *g = c->model->graph;
    ox_region *r;
    c->reach = (ox_reaching *)ox_new(c, 1, sizeof *c->reach);
    if (!c->reach) return false;
    c->reach->n_notes = 64;
    while (c->reach->n_notes < 2 * (g->n_node + g->n_initializer))
        c->reach->n_notes *= 2;
    c->reach->note = (ox_note **)ox_new(c, c->reach->n_notes, sizeof *c->reach->note);
    r = c->reach->note ? ox_find_region(c, g) : NULL;
    if (!r || !ox_open_graph(c, r, g, NULL)) return false;
    for (size_t o = 0; o < g->n_output; o++)
        ox_reach_name(&r->names, g->output[o]->name, OX_DATA);
    if (!ox_reach_nodes(c, &r->names, g->node, g->n_node)) return false;
    for (size_t i = 0; i < g->n_initializer; i++) {
        const ox_value *v = ox_reached(&r->names, g->initializer[i]->name);
        if (v && !ox_note_reach(c, g->initializer[i], v->reach)) return false;
    }
    return true;
}
