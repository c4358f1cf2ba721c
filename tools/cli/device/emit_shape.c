// Ops that move values, and casts.
#include "emit.h"
#include <string.h>

static const piece pieces[] = {
    { "int_of", "",
      "/* Towards zero; what is too large becomes the largest, and what is no number 0. */\n"
      "static int32_t int_of(float x)\n"
      "{\n"
      "    if (x != x) return 0;\n"
      "    if (x <= -2147483648.0f) return INT32_MIN;\n"
      "    return x >= 2147483648.0f ? INT32_MAX : (int32_t)x;\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

// y = x, each walked in its own way.
static void write_copy(emitter *e, const operand *y, const operand *x, const loops *l)
{
    write_loops(&e->body, l, 0, l->n, false);
    write_plain(&e->body, "%*s", 4 * l->n + 4, "");
    write_element(e, y, l);
    write_plain(&e->body, " = ");
    write_element(e, x, l);
    write_plain(&e->body, ";\n");
}

// Views lie where their input does.
static bool emit_reshape(emitter *e, const node *n)
{
    if (base_of(e, n->in[0]) == base_of(e, n->out[0])) return true;
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_word(&e->body, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    write_text(&e->body, "    for (int i = 0; i < ${n}; i++) ${y}[i] = ${x}[i];\n");
    return true;
}

// All of output 0 is one value.
static void write_fill(emitter *e, const node *n, float x)
{
    char value[32];
    samba_dtype type = out_of(e, n, 0)->spec.dtype;
    if (type == SAMBA_F32)
        number_text(e, value, x);
    else
        snprintf(value, sizeof value, "%d", type == SAMBA_BOOL ? x != 0.0f : (int)x);
    set_word(&e->body, "value", "%s", value);
    set_word(&e->body, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    set_tensor(e, "y", n->out[0]);
    write_text(&e->body, "    for (int i = 0; i < ${n}; i++) ${y}[i] = ${value};\n");
}

static bool emit_full(emitter *e, const node *n)
{
    write_fill(e, n, attr_float(n, "value"));
    return true;
}

static bool emit_arange(emitter *e, const node *n)
{
    char start[32], step[32];
    number_text(e, start, attr_float(n, "start"));
    number_text(e, step, attr_float(n, "step"));
    set_word(&e->body, "start", "%s", start);
    set_word(&e->body, "step", "%s", step);
    set_word(&e->body, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    set_tensor(e, "y", n->out[0]);
    need(e, "multiply_add");
    write_text(&e->body,
               "    for (int i = 0; i < ${n}; i++)\n"
               "        ${y}[i] = multiply_add((float)i, ${step}, ${start});\n");
    return true;
}

// The output's dimensions in order; the input begins at start and has these steps along them.
static bool write_steps(emitter *e, const node *n, int64_t start, const int64_t *x_step)
{
    const samba_shape *y = &out_of(e, n, 0)->spec.shape;
    operand both[2] = { { n->out[0], 0, { 0 } }, { n->in[0], start, { 0 } } };
    loops l = { .n = 0 };
    for (int32_t d = 0; d < y->ndim; d++) {
        int64_t step[2] = { inner_of(y, d), x_step[d] };
        add_loop(&l, both, 2, y->dim[d], step);
    }
    write_copy(e, &both[0], &both[1], &l);
    return true;
}

static bool emit_permute(emitter *e, const node *n)
{
    const samba_shape *x = &in_of(e, n, 0)->spec.shape;
    int64_t step[SAMBA_MAX_DIMS];
    for (int32_t d = 0; d < x->ndim; d++)
        step[d] = inner_of(x, n->attr[d]);
    return write_steps(e, n, 0, step);
}

static bool emit_expand(emitter *e, const node *n)
{
    const samba_shape *x = &in_of(e, n, 0)->spec.shape, *y = &out_of(e, n, 0)->spec.shape;
    int64_t step[SAMBA_MAX_DIMS];
    for (int32_t d = 0; d < y->ndim; d++)
        step[d] = step_along(x, y->ndim, d);
    return write_steps(e, n, 0, step);
}

// Attributes of slice and of pad: three words for each dimension.
enum { BEGIN, END, STEP, BEFORE = 0, AFTER, BETWEEN, WORDS };

static bool emit_slice(emitter *e, const node *n)
{
    const samba_shape *x = &in_of(e, n, 0)->spec.shape;
    int64_t step[SAMBA_MAX_DIMS], start = 0;
    for (int32_t d = 0; d < x->ndim; d++) {
        start += n->attr[WORDS * d + BEGIN] * inner_of(x, d);
        step[d] = n->attr[WORDS * d + STEP] * inner_of(x, d);
    }
    return write_steps(e, n, start, step);
}

static bool emit_pad(emitter *e, const node *n)
{
    const samba_shape *x = &in_of(e, n, 0)->spec.shape, *y = &out_of(e, n, 0)->spec.shape;
    operand both[2] = { { n->out[0], 0, { 0 } }, { n->in[0], 0, { 0 } } };
    loops l = { .n = 0 };
    for (int32_t d = 0; d < x->ndim; d++) {
        int64_t inner = inner_of(y, d);
        int64_t step[2] = { inner * (n->attr[WORDS * d + BETWEEN] + 1), inner_of(x, d) };
        both[0].start += n->attr[WORDS * d + BEFORE] * inner;
        add_loop(&l, both, 2, x->dim[d], step);
    }
    if (count_of(in_of(e, n, 0)) < count_of(out_of(e, n, 0)))
        write_fill(e, n, samba_attr_float(n->attr[n->n_attr - 1]));
    write_copy(e, &both[0], &both[1], &l);
    return true;
}

static bool emit_cat(emitter *e, const node *n)
{
    const samba_shape *y = &out_of(e, n, 0)->spec.shape;
    int32_t axis = attr_of(n, "axis");
    int64_t row = y->dim[axis] * inner_of(y, axis), at = 0;
    for (int32_t i = 0; i < n->n_in; i++) {
        int64_t width = row / y->dim[axis] * in_of(e, n, i)->spec.shape.dim[axis];
        operand both[2] = { { n->out[0], at, { 0 } }, { n->in[i], 0, { 0 } } };
        loops l = { .n = 0 };
        add_loop(&l, both, 2, count_of(in_of(e, n, i)) / width, (int64_t[]){ row, width });
        add_loop(&l, both, 2, width, (int64_t[]){ 1, 1 });
        write_copy(e, &both[0], &both[1], &l);
        at += width;
    }
    return true;
}

static bool emit_cast(emitter *e, const node *n)
{
    samba_dtype from = in_of(e, n, 0)->spec.dtype, to = out_of(e, n, 0)->spec.dtype;
    const char *value = "${x}[i]";
    if (from == SAMBA_BOOL) value = "!!${x}[i]";
    if (to == SAMBA_BOOL)
        value = "${x}[i] != 0";
    else if (to == SAMBA_F32)
        value = from == SAMBA_BOOL ? "(float)!!${x}[i]" : "(float)${x}[i]";
    else if (from == SAMBA_F32)
        value = "int_of(${x}[i])";
    bool fine = (from == SAMBA_F32 || from == SAMBA_I32 || from == SAMBA_BOOL)
        && (to == SAMBA_F32 || to == SAMBA_I32 || to == SAMBA_BOOL);
    if (!fine) return cannot(e, n, "types other than f32, i32 and bool");
    if (strncmp(value, "int_of", 6) == 0) need(e, "int_of");
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_word(&e->body, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    write_text(&e->body, "    for (int i = 0; i < ${n}; i++) ${y}[i] = ");
    write_text(&e->body, value);
    write_text(&e->body, ";\n");
    return true;
}

static const op_emitter ops[] = {
    { "reshape", emit_reshape }, { "full", emit_full },
    { "permute", emit_permute }, { "arange", emit_arange },
    { "slice", emit_slice },     { "expand", emit_expand },
    { "pad", emit_pad },         { "cat", emit_cat },
    { "cast", emit_cast },       { NULL, NULL },
};

const family shape_family = { ops, pieces };
