/* inputs.h - of onnx_import.h: the inputs of a model, and what the caller says of them. */

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
        samba_fail(c->s, SAMBA_EARG,
                   "the model has more than %d inputs or outputs: "
                   "define ONNX_MAX_PORTS larger before onnx_import.h",
                   ONNX_MAX_PORTS);
        return NULL;
    }
    onnx_port *p = &list[(*n)++];
    memset(p, 0, sizeof *p);
    p->name = ox_copy_text(c, name);
    p->type = type;
    p->item = item;
    return p->name ? p : NULL;
}

/* An input of a shape; one without elements has nothing to say and is a constant. */
static ox_value *ox_input_value(ox_import *c, onnx_graph *g, const char *name, int32_t type,
                                int32_t ndim, const int64_t *dim, int32_t item)
{
    char count[24] = "";
    onnx_port *p = ox_add_port(c, g->in, &g->n_in, name, type, item);
    ox_value *v = p ? ox_new_value(c, type) : NULL;
    if (!v || !ox_type_size(type)) return v; /* a type that whoever uses it will refuse */
    if (ox_count(ndim, dim) == 0) return ox_host_value(c, ox_host_array(c, type, ndim, dim));
    if (item >= 0) snprintf(count, sizeof count, "[%d]", item);
    const char *graph = c->options ? c->options->graph : NULL;
    size_t size = strlen(name) + sizeof count + (graph ? strlen(graph) + 1 : 0);
    char *text = (char *)ox_new(c, (int64_t)size, 1);
    if (!text) return NULL;
    snprintf(text, size, "%s%s%s%s", name, count, graph ? "@" : "", graph ? graph : "");
    ox_make_sound(text);
    v->t = p->tensor = samba_input(c->s, text, ox_carrier(type), ox_shape(ndim, dim));
    v->from = p->name;
    if (v->t && samba_set_batch_dim(v->t, -1) == NULL) return NULL;
    return v->t ? v : NULL;
}

/* ---- What the model declares, and what the caller says ---- */

static bool ox_is_number(const Onnx__TensorShapeProto__Dimension *d)
{
    return d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE
        && d->dim_value >= 0; /* some exporters write -1 for what is open */
}

/* The shape a model declares; false if it is not all numbers. */
static bool ox_declared_shape(const Onnx__TensorShapeProto *shape, int32_t *ndim, int64_t *dim)
{
    if (!shape || shape->n_dim > SAMBA_MAX_DIMS) return false;
    *ndim = (int32_t)shape->n_dim;
    for (int32_t d = 0; d < *ndim; d++) {
        if (!ox_is_number(shape->dim[d])) return false;
        dim[d] = shape->dim[d]->dim_value;
    }
    return true;
}

/* Text that grows at the end of a buffer; what does not fit is left out. */
static void ox_say(char *text, size_t size, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + used, size - used, fmt, args);
    va_end(args);
}

/* "batch,3,?": the dimensions as the model has them. */
static void ox_say_shape(char *text, size_t size, const Onnx__TensorShapeProto *shape)
{
    if (!shape) ox_say(text, size, "...");
    for (size_t d = 0; shape && d < shape->n_dim; d++) {
        const Onnx__TensorShapeProto__Dimension *x = shape->dim[d];
        bool named = x->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
            && x->dim_param && *x->dim_param;
        if (d) ox_say(text, size, ",");
        if (ox_is_number(x))
            ox_say(text, size, "%lld", (long long)x->dim_value);
        else
            ox_say(text, size, "%.40s", named ? x->dim_param : "?");
    }
}

/* Of an input the tensor type, also that inside an optional; NULL: it is a sequence or another. */
static const Onnx__TypeProto__Tensor *ox_tensor_type(const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto *type = info->type;
    if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE)
        type = type->optional_type->elem_type;
    return type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? type->tensor_type
                                                                           : NULL;
}

/* Is what is said of an input what the model declares? Only a shape of one value may be another:
   whoever gives a value need not know whether it is a scalar. */
static bool ox_fits_declared(ox_import *c, const Onnx__ValueInfoProto *info, const onnx_known *said)
{
    const Onnx__TypeProto__Tensor *type = ox_tensor_type(info);
    const onnx_array *a = said->array;
    const Onnx__TensorShapeProto *shape = type ? type->shape : NULL;
    char text[400] = "", given[160] = "";
    if (!a || !shape) return true;
    bool fits = (size_t)a->ndim == shape->n_dim;
    int64_t count = 1;
    for (size_t d = 0; d < shape->n_dim; d++) {
        bool fixed = ox_is_number(shape->dim[d]);
        if (fits && fixed && shape->dim[d]->dim_value != a->dim[d]) fits = false;
        count
            = fixed && count >= 0 && count <= OX_MAX_COUNT ? count * shape->dim[d]->dim_value : -1;
    }
    if (fits || (said->fixed && a->ndim == 1 && count == a->count)) return true;
    ox_say_shape(text, sizeof text, shape);
    for (int32_t d = 0; d < a->ndim; d++)
        ox_say(given, sizeof given, "%s%lld", d ? "," : "", (long long)a->dim[d]);
    return samba_fail(c->s, SAMBA_ESHAPE,
                      "%s is (%s) in the model, and cannot be (%s), as "
                      "it is given",
                      info->name, text, given);
}

/* Every name that is given is an input's, and fits what the model declares of it. */
static bool ox_check_options(ox_import *c, const Onnx__GraphProto *g)
{
    char text[500] = "";
    for (size_t i = 0; i < g->n_input; i++)
        ox_say(text, sizeof text, "%s%.100s", i ? ", " : "", g->input[i]->name);
    for (int32_t n = 0; c->options && n < c->options->n_known; n++) {
        const onnx_known *known = &c->options->known[n];
        const Onnx__ValueInfoProto *info = NULL;
        for (size_t i = 0; i < g->n_input && known->name && !info; i++)
            if (g->input[i]->name && !strcmp(g->input[i]->name, known->name)) info = g->input[i];
        if (!known->name) continue;
        if (!info)
            return samba_fail(c->s, SAMBA_ENAME, "the model has no input %s; it has %s",
                              known->name, *text ? text : "none");
        if (known->fixed && ox_lookup(c, known->name))
            return samba_fail(c->s, SAMBA_ENAME,
                              "input %s has a value in the model itself "
                              "(an initializer), which is used; none can be given",
                              known->name);
        if (!ox_fits_declared(c, info, known)) return false;
    }
    return true;
}

/* Names all inputs whose shape is missing, in the words in which it can be given. */
static bool ox_check_shapes(ox_import *c, const Onnx__GraphProto *g)
{
    char text[760] = "";
    int64_t dim[SAMBA_MAX_DIMS];
    int32_t ndim, n = 0;
    for (size_t i = 0; i < g->n_input; i++) {
        const char *name = g->input[i]->name ? g->input[i]->name : "";
        const Onnx__TypeProto__Tensor *type = ox_tensor_type(g->input[i]);
        const onnx_known *known = ox_option(c, name);
        if (!type || ox_lookup(c, name) || (known && (known->array || known->none))) continue;
        if (type->shape && type->shape->n_dim > SAMBA_MAX_DIMS)
            return samba_fail(c->s, SAMBA_ESHAPE,
                              "input %s has %l dimensions; at most %d "
                              "are offered",
                              name, (int64_t)type->shape->n_dim, SAMBA_MAX_DIMS);
        if (ox_declared_shape(type->shape, &ndim, dim)) continue;
        n++;
        ox_say(text, sizeof text, " --shape %.200s=", name);
        ox_say_shape(text, sizeof text, type->shape);
    }
    return n == 0
        || samba_fail(c->s, SAMBA_ESHAPE,
                      "the model leaves dimensions of inputs "
                      "open; give them, a number for each name or question mark:%s (in a "
                      "program: onnx_options.known)",
                      text);
}

/* ---- Values and tensors ---- */

/* Element n of a in the type of y. False: it is not the same number there. */
static bool ox_convert_element(onnx_array *y, const onnx_array *a, int64_t n)
{
    double x = ox_number(a, n);
    if (y->f && a->f)
        y->f[n] = a->f[n];
    else if (y->f)
        y->f[n] = (float)a->i[n];
    else if (a->i)
        y->i[n] = a->i[n];
    else if (x == floor(x) && fabs(x) < 9e18)
        y->i[n] = (int64_t)x;
    else
        return false;
    return y->f ? a->f || (double)y->f[n] == x : ox_wrapped(y->i[n], y->type) == y->i[n];
}

/* A value that the caller gives, in the type and shape of the model. */
static ox_value *ox_fixed_input(ox_import *c, const char *name, const onnx_array *a,
                                const Onnx__TypeProto__Tensor *type)
{
    int64_t dim[SAMBA_MAX_DIMS] = { 0 };
    int32_t ndim = a->ndim;
    memcpy(dim, a->dim, sizeof dim);
    if (a->ndim == 1 && type->shape && type->shape->n_dim != 1
        && ox_declared_shape(type->shape, &ndim, dim) && ox_count(ndim, dim) != a->count) {
        ndim = a->ndim;
        memcpy(dim, a->dim, sizeof dim);
    }
    onnx_array *copy = ox_host_array(c, type->elem_type, ndim, dim);
    for (int64_t n = 0; copy && n < a->count; n++) {
        if (ox_convert_element(copy, a, n)) continue;
        samba_fail(c->s, SAMBA_ERANGE, "the value given for input %s is no %s", name,
                   ox_type_name(type->elem_type));
        return NULL;
    }
    return ox_host_value(c, copy);
}

static ox_value *ox_tensor_input(ox_import *c, onnx_graph *g, const char *name,
                                 const Onnx__TypeProto__Tensor *type)
{
    const onnx_known *known = ox_option(c, name);
    const onnx_array *a = known ? known->array : NULL;
    int64_t dim[SAMBA_MAX_DIMS] = { 0 };
    int32_t ndim = a ? a->ndim : 0;
    if (a && known->fixed) return ox_fixed_input(c, name, a, type);
    if (a)
        memcpy(dim, a->dim, sizeof dim);
    else
        ox_declared_shape(type->shape, &ndim, dim); /* ox_check_shapes has seen that it is whole */
    return ox_input_value(c, g, name, type->elem_type, ndim, dim, -1);
}

static ox_value *ox_sequence_input(ox_import *c, onnx_graph *g, const char *name,
                                   const Onnx__TypeProto *element)
{
    const onnx_known *known = ox_option(c, name);
    bool tensors = element && element->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    int32_t type = tensors ? element->tensor_type->elem_type : 0;
    if (!known || !tensors || known->n_items < 0) {
        samba_fail(c->s, SAMBA_ESHAPE,
                   "input %s is a sequence: its elements must be given "
                   "in onnx_options.known, in a program of your own",
                   name);
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
    if (!type || !*name) return samba_fail(c->s, SAMBA_EOP, "an input has no name or type");
    if (type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        v = ox_tensor_input(c, g, name, type->tensor_type);
    else if (type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE)
        v = ox_sequence_input(c, g, name, type->sequence_type->elem_type);
    else
        samba_fail(c->s, SAMBA_EOP, "input %s is a map or sparse tensor", name);
    return v && ox_bind(c, name, v);
}

static bool ox_check_inputs(ox_import *c, const Onnx__GraphProto *g)
{
    return ox_check_options(c, g) && ox_check_shapes(c, g);
}

static bool ox_bind_inputs(ox_import *c, onnx_graph *out, const Onnx__GraphProto *g)
{
    for (size_t i = 0; i < g->n_input; i++) {
        bool given = g->input[i]->name && ox_lookup(c, g->input[i]->name);
        if (!given && !ox_bind_input(c, out, g->input[i])) return false;
    }
    return true;
}
