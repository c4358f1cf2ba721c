/* export_base.h - of onnx_export.h: what of a PEF is exported, and the parts of a ModelProto. The
   PEF was proved by samba_runtime_bytes before anything here reads it. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EX_FLOAT = 1, EX_INT32 = 6, EX_INT64 = 7, EX_BOOL = 9 }; /* TensorProto.DataType */

/* What the PEF says of a tensor. name: what it is called in the model at the moment. */
typedef struct ex_symbol {
    const char *name;
    samba_spec spec;
    samba_role role;
    const void *data;               /* its values in the file, or NULL */
    bool needed;                    /* by a call behind the one that is looked at */
    bool result, declared, written; /* an output; a buffer that the pass writes */
} ex_symbol;

typedef struct ex_call {
    samba_pef_node node; /* its inputs and outputs are symbols; -1: absent */
    const char *op;      /* also of one that is not samba.h's own */
    bool needed;
} ex_call;

typedef struct ex_block {
    struct ex_block *next;
} ex_block;

typedef struct ex_export {
    ex_symbol *symbol;
    ex_call *call; /* of the forward sections of the graph */
    int32_t n_symbols, n_calls;
    Onnx__NodeProto **node;
    Onnx__TensorProto **constant;
    int32_t n_nodes, n_constants, room_nodes, room_constants, n_names;
    ex_block *blocks;
    bool failed;
    char why[400];
} ex_export;

static bool ex_fail(ex_export *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!e->failed) vsnprintf(e->why, sizeof e->why, fmt, args);
    va_end(args);
    e->failed = true;
    return false;
}

/* Zeroed memory until the export ends; NULL, and the export has failed, if there is no more. */
static void *ex_new(ex_export *e, size_t n, size_t each)
{
    ex_block *b = n <= ((size_t)1 << 40) / each ? (ex_block *)calloc(1, 64 + n * each) : NULL;
    if (!b) {
        ex_fail(e, "out of memory");
        return NULL;
    }
    b->next = e->blocks;
    e->blocks = b;
    return (char *)b + 64;
}

static char *ex_text(ex_export *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    size_t size = n < 0 ? 1 : (size_t)n + 1;
    char *text = (char *)ex_new(e, size, 1);
    va_start(args, fmt);
    if (text) vsnprintf(text, size, fmt, args);
    va_end(args);
    return text;
}

/* A list that grows by doubling; false without memory. */
static bool ex_push(ex_export *e, void ***list, int32_t *n, int32_t *room, void *item)
{
    if (!item) return false;
    if (*n == *room) {
        int32_t more = *room ? 2 * *room : 64;
        void **copy = (void **)ex_new(e, (size_t)more, sizeof *copy);
        if (!copy) return false;
        if (*n) memcpy(copy, *list, (size_t)*n * sizeof *copy);
        *list = copy;
        *room = more;
    }
    (*list)[(*n)++] = item;
    return true;
}

/* ---- Values of the model: by name ---- */

static int32_t ex_type(samba_dtype dtype)
{
    static const int32_t type[SAMBA_N_DTYPES] = { 1, 16, 10, 6, 5, 3, 2, 9, 7, 4, 12 };
    return type[dtype];
}

static const char *ex_fresh(ex_export *e)
{
    return ex_text(e, "samba.%d", e->n_names++);
}

/* A constant; data is not copied. */
static const char *ex_tensor(ex_export *e, const char *name, int32_t type, int32_t ndim,
                             const int64_t *dim, const void *data, size_t size)
{
    Onnx__TensorProto *t = (Onnx__TensorProto *)ex_new(e, 1, sizeof *t);
    int64_t *dims = (int64_t *)ex_new(e, (size_t)ndim, sizeof *dims);
    if (!t || !dims) return "";
    onnx__tensor_proto__init(t);
    if (ndim) memcpy(dims, dim, (size_t)ndim * sizeof *dim);
    t->name = name ? (char *)(uintptr_t)name : (char *)(uintptr_t)ex_fresh(e);
    t->has_data_type = true;
    t->data_type = type;
    t->n_dims = (size_t)ndim;
    t->dims = dims;
    t->has_raw_data = true;
    t->raw_data.len = size;
    t->raw_data.data = (uint8_t *)(uintptr_t)data;
    ex_push(e, (void ***)(void *)&e->constant, &e->n_constants, &e->room_constants, t);
    return t->name;
}

static const char *ex_list(ex_export *e, int32_t n, const int64_t *values)
{
    int64_t *copy = (int64_t *)ex_new(e, (size_t)n, sizeof *copy), dim = n;
    if (!copy) return "";
    if (n) memcpy(copy, values, (size_t)n * sizeof *copy);
    return ex_tensor(e, NULL, EX_INT64, 1, &dim, copy, (size_t)n * sizeof *copy);
}

static const char *ex_shape(ex_export *e, const samba_shape *s)
{
    int64_t dim[SAMBA_MAX_DIMS];
    for (int32_t d = 0; d < s->ndim; d++)
        dim[d] = s->dim[d];
    return ex_list(e, s->ndim, dim);
}

static const char *ex_number(ex_export *e, float value)
{
    float *copy = (float *)ex_new(e, 1, sizeof *copy);
    if (!copy) return "";
    *copy = value;
    return ex_tensor(e, NULL, EX_FLOAT, 0, NULL, copy, sizeof *copy);
}

/* n ones or zeros. */
static const char *ex_uniform(ex_export *e, int64_t n, float value)
{
    float *copy = (float *)ex_new(e, (size_t)n, sizeof *copy);
    for (int64_t i = 0; copy && i < n; i++)
        copy[i] = value;
    return ex_tensor(e, NULL, EX_FLOAT, 1, &n, copy, (size_t)n * sizeof *copy);
}

/* ---- Nodes ---- */

/* A node with one output, called out (NULL: a new name), which is returned. Inputs end with NULL;
   "" is an absent one. */
static const char *ex_node(ex_export *e, const char *op, const char *out, ...)
{
    Onnx__NodeProto *p = (Onnx__NodeProto *)ex_new(e, 1, sizeof *p);
    char **list = (char **)ex_new(e, 17, sizeof *list);
    if (!p || !list) return "";
    onnx__node_proto__init(p);
    va_list args;
    va_start(args, out);
    for (const char *name; p->n_input < 16 && (name = va_arg(args, const char *)) != NULL;)
        list[p->n_input++] = (char *)(uintptr_t)name;
    va_end(args);
    p->op_type = (char *)(uintptr_t)op;
    p->input = list;
    p->output = list + 16;
    p->n_output = 1;
    list[16] = (char *)(uintptr_t)(out ? out : ex_fresh(e));
    ex_push(e, (void ***)(void *)&e->node, &e->n_nodes, &e->room_nodes, p);
    return list[16] ? list[16] : "";
}

/* Attributes of the last node. */
static Onnx__AttributeProto *ex_attribute(ex_export *e, const char *name)
{
    Onnx__NodeProto *p = e->n_nodes ? e->node[e->n_nodes - 1] : NULL;
    Onnx__AttributeProto *a = (Onnx__AttributeProto *)ex_new(e, 1, sizeof *a);
    if (!a || !p) return NULL;
    onnx__attribute_proto__init(a);
    a->name = (char *)(uintptr_t)name;
    a->has_type = true;
    if (!p->attribute) p->attribute = (Onnx__AttributeProto **)ex_new(e, 16, sizeof *p->attribute);
    if (!p->attribute || p->n_attribute >= 16) return NULL;
    p->attribute[p->n_attribute++] = a;
    return a;
}

static void ex_int(ex_export *e, const char *name, int64_t value)
{
    Onnx__AttributeProto *a = ex_attribute(e, name);
    if (!a) return;
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    a->has_i = true;
    a->i = value;
}

static void ex_float(ex_export *e, const char *name, float value)
{
    Onnx__AttributeProto *a = ex_attribute(e, name);
    if (!a) return;
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    a->has_f = true;
    a->f = value;
}

static void ex_word(ex_export *e, const char *name, const char *value)
{
    Onnx__AttributeProto *a = ex_attribute(e, name);
    if (!a) return;
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
    a->has_s = true;
    a->s.data = (uint8_t *)(uintptr_t)value;
    a->s.len = strlen(value);
}

static void ex_ints(ex_export *e, const char *name, int32_t n, const int32_t *values)
{
    Onnx__AttributeProto *a = ex_attribute(e, name);
    int64_t *copy = (int64_t *)ex_new(e, (size_t)n, sizeof *copy);
    if (!a || !copy) return;
    for (int32_t i = 0; i < n; i++)
        copy[i] = values[i];
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    a->ints = copy;
    a->n_ints = (size_t)n;
}

/* ---- What the rows of ops use ---- */

static const ex_symbol *ex_in_symbol(ex_export *e, const ex_call *c, int32_t i)
{
    return &e->symbol[c->node.in[i]];
}

static bool ex_has(const ex_call *c, int32_t i)
{
    return i < c->node.n_in && c->node.in[i] >= 0;
}

static const char *ex_in(ex_export *e, const ex_call *c, int32_t i)
{
    return ex_has(c, i) ? e->symbol[c->node.in[i]].name : "";
}

static const samba_shape *ex_in_shape(ex_export *e, const ex_call *c, int32_t i)
{
    return &e->symbol[c->node.in[i]].spec.shape;
}

/* Input i as f32, with a Cast where it is something else. */
static const char *ex_in_f32(ex_export *e, const ex_call *c, int32_t i)
{
    const char *name = ex_in(e, c, i);
    if (!ex_has(c, i) || ex_in_symbol(e, c, i)->spec.dtype == SAMBA_F32) return name;
    name = ex_node(e, "Cast", NULL, name, NULL);
    ex_int(e, "to", EX_FLOAT);
    return name;
}

/* Attributes of a call, by the names that samba_print_ops has: a number, a float, or a list, of
   which those up to cap are filled in and the others, if it has fewer, stay. */
static int32_t ex_list_attr(const ex_call *c, const char *name, int32_t *words, int32_t cap)
{
    return samba_pef_attr(&c->node, name, words, cap);
}

static int32_t ex_attr(const ex_call *c, const char *name)
{
    int32_t word = 0;
    ex_list_attr(c, name, &word, 1);
    return word;
}

static float ex_float_attr(const ex_call *c, const char *name)
{
    return samba_attr_float(ex_attr(c, name));
}

/* What output o is called: made up, unless the program knows it. */
static const char *ex_out(ex_export *e, const ex_call *c, int32_t o)
{
    ex_symbol *s = &e->symbol[c->node.out[o]];
    if (s->written || !s->name) s->name = s->written ? ex_text(e, "%s__new", s->name) : ex_fresh(e);
    return s->name ? s->name : "";
}

static const samba_spec *ex_out_spec(const ex_export *e, const ex_call *c)
{
    return &e->symbol[c->node.out[0]].spec;
}
