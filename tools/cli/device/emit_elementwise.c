// Elementwise ops: a loop for each, or for several that follow each other.
#include "emit.h"
#include <stdlib.h>
#include <string.h>

// The value of an op: of $a, $b, $c, and $p, its attribute.
typedef struct row {
    const char *op;
    int arity;
    const char *value, *needs;
} row;

static const row rows[] = {
    { "add", 2, "$a + $b", "" },
    { "sub", 2, "$a - $b", "" },
    { "mul", 2, "$a * $b", "" },
    { "div", 2, "$a / $b", "" },
    { "minimum", 2, "smaller($a, $b)", "smaller" },
    { "maximum", 2, "larger($a, $b)", "larger" },
    { "pow", 2, "pow_of($a, $b)", "pow_of" },
    { "eq", 2, "$a == $b", "" },
    { "ne", 2, "$a != $b", "" },
    { "lt", 2, "$a < $b", "" },
    { "le", 2, "$a <= $b", "" },
    { "gt", 2, "$a > $b", "" },
    { "ge", 2, "$a >= $b", "" },
    { "where", 3, "$a != 0.0f ? $b : $c", "" },
    { "neg", 1, "-$a", "" },
    { "exp", 1, "exp_of($a)", "exp_of" },
    { "log", 1, "log_of($a)", "log_of" },
    { "sqrt", 1, "sqrt_of($a)", "sqrt_of" },
    { "rsqrt", 1, "rsqrt_of($a)", "rsqrt_of" },
    { "abs", 1, "abs_of($a)", "abs_of" },
    { "relu", 1, "relu($a)", "relu" },
    { "leaky_relu", 1, "leaky_relu($a, $p)", "leaky_relu" },
    { "sigmoid", 1, "sigmoid($a)", "sigmoid" },
    { "tanh", 1, "tanh_of($a)", "tanh_of" },
    { "gelu", 1, "gelu($a)", "gelu" },
    { "gelu_tanh", 1, "gelu_tanh($a)", "gelu_tanh" },
    { "silu", 1, "silu($a)", "silu" },
    { "softplus", 1, "softplus($a)", "softplus" },
    { "sin", 1, "sin_of($a)", "sin_of" },
    { "cos", 1, "cos_of($a)", "cos_of" },
    { "erf", 1, "erf_of($a)", "erf_of" },
    { "log1p", 1, "log1p_of($a)", "log1p_of" },
    { "expm1", 1, "expm1_of($a)", "expm1_of" },
    { "floor", 1, "floor_of($a)", "floor_of" },
    { "ceil", 1, "ceil_of($a)", "ceil_of" },
    { "round", 1, "round_of($a)", "round_of" },
    { "sign", 1, "sign_of($a)", "sign_of" },
    { "detach", 1, "$a", "" },
    { "scale", 1, "$a * $p", "" },
    { "shift", 1, "$a + $p", "" },
    { "tanh_backward", 2, "tanh_backward($a, $b)", "tanh_backward" },
    { "sigmoid_backward", 2, "sigmoid_backward($a, $b)", "sigmoid_backward" },
    { "relu_backward", 2, "relu_backward($a, $b)", "relu_backward" },
    { "leaky_relu_backward", 2, "leaky_relu_backward($a, $b, $p)", "leaky_relu_backward" },
    { "gelu_backward", 2, "$a * gelu_grad($b)", "gelu_grad" },
    { "gelu_tanh_backward", 2, "$a * gelu_tanh_grad($b)", "gelu_tanh_grad" },
    { "silu_backward", 2, "$a * silu_grad($b)", "silu_grad" },
    { "abs_backward", 2, "abs_backward($a, $b)", "abs_backward" },
    { "maximum_backward", 3, "maximum_backward($a, $b, $c)", "maximum_backward" },
    { "pow_backward", 3, "pow_backward($a, $b, $c)", "pow_backward" },
    { "pow_backward_exponent", 3, "pow_backward_exponent($a, $b, $c)", "pow_backward_exponent" },
};

static const piece pieces[] = {
    { "smaller", "",
      "static inline float smaller(float a, float b)\n"
      "{\n"
      "    if (a != a) return a;\n"
      "    if (b != b) return b;\n"
      "    return a < b ? a : b;\n"
      "}\n",
      0 },
    { "larger", "",
      "static inline float larger(float a, float b)\n"
      "{\n"
      "    if (a != a) return a;\n"
      "    if (b != b) return b;\n"
      "    return a > b ? a : b;\n"
      "}\n",
      0 },
    { "leaky_relu", "",
      "static inline float leaky_relu(float x, float slope)\n"
      "{\n"
      "    return x > 0.0f ? x : x * slope;\n"
      "}\n",
      0 },
    { "tanh_backward", "multiply_add ",
      "/* dx, of dy and y */\n"
      "static inline float tanh_backward(float dy, float y)\n"
      "{\n"
      "    return dy * multiply_add(-y, y, 1.0f);\n"
      "}\n",
      0 },
    { "sigmoid_backward", "",
      "/* dx, of dy and y */\n"
      "static inline float sigmoid_backward(float dy, float y)\n"
      "{\n"
      "    return dy * (y * (1.0f - y));\n"
      "}\n",
      0 },
    { "relu_backward", "",
      "/* dx, of dy and y */\n"
      "static inline float relu_backward(float dy, float y)\n"
      "{\n"
      "    return y <= 0.0f ? 0.0f : dy;\n"
      "}\n",
      0 },
    { "leaky_relu_backward", "",
      "/* dx, of dy and x */\n"
      "static inline float leaky_relu_backward(float dy, float x, float slope)\n"
      "{\n"
      "    return x > 0.0f ? dy : dy * slope;\n"
      "}\n",
      0 },
    { "abs_backward", "unless_nan ",
      "/* dx, of dy and x */\n"
      "static inline float abs_backward(float dy, float x)\n"
      "{\n"
      "    if (x > 0.0f) return dy;\n"
      "    return x < 0.0f ? -dy : unless_nan(x, 0.0f);\n"
      "}\n",
      0 },
    { "maximum_backward", "",
      "/* What a has of dy, the gradient of the larger of a and b: half, if they are equal; all, if one is\n"
      "   NaN. */\n"
      "static inline float maximum_backward(float dy, float a, float b)\n"
      "{\n"
      "    if (a < b) return 0.0f;\n"
      "    return a == b ? dy * 0.5f : dy;\n"
      "}\n",
      0 },
    { "pow_backward", "pow_of ",
      "/* da, of dy, a and b, for y = a^b */\n"
      "static float pow_backward(float dy, float a, float b)\n"
      "{\n"
      "    return b == 0.0f ? 0.0f : dy * (b * pow_of(a, b - 1.0f));\n"
      "}\n",
      0 },
    { "pow_backward_exponent", "log_of infinity ",
      "/* db, of dy, a and y = a^b */\n"
      "static float pow_backward_exponent(float dy, float a, float y)\n"
      "{\n"
      "    if (a == 0.0f) return y < INFINITE ? 0.0f : dy * -y;\n"
      "    return dy * (y * log_of(a));\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

static const row *row_of(const char *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (op && strcmp(rows[i].op, op) == 0) return &rows[i];
    return NULL;
}

// The nodes of a chain, and its operands in the order in which the values name them.
typedef struct chain {
    const node *node[MAX_OPERANDS];
    int n;
    operand operands[MAX_OPERANDS + 1]; // and what it makes
    int n_operands;
} chain;

// Takes a node: its inputs, but that which is the value before.
static void take(emitter *e, chain *c, const node *n)
{
    const row *r = row_of(n->op);
    int32_t before = c->n ? c->node[c->n - 1]->out[0] : -1;
    for (int i = 0; i < r->arity; i++)
        if (n->in[i] != before) c->operands[c->n_operands++].symbol = n->in[i];
    c->node[c->n++] = n;
    if (*r->needs) need(e, r->needs);
}

static bool is_readable(samba_dtype type, bool floats_only)
{
    return type == SAMBA_F32 || (!floats_only && (type == SAMBA_I32 || type == SAMBA_BOOL));
}

// Are inputs and output of types that can be written? With `only`, are they floats?
static bool all_readable(const emitter *e, const node *n, bool only)
{
    samba_dtype y = out_of(e, n, 0)->spec.dtype;
    bool fine = n->n_out == 1 && (y == SAMBA_F32 || (!only && y == SAMBA_BOOL));
    for (int32_t i = 0; i < n->n_in; i++)
        fine = fine && in_of(e, n, i) && is_readable(in_of(e, n, i)->spec.dtype, only);
    return fine;
}

static bool goes_on(emitter *e, const chain *c)
{
    const node *last = c->node[c->n - 1], *m = next_alone(e, last);
    if (!m || !row_of(m->op) || !all_readable(e, m, true)) return false;
    bool fits = c->n < 4 && c->n_operands + row_of(m->op)->arity <= MAX_OPERANDS
        && same_shape(out_of(e, m, 0), out_of(e, last, 0));
    for (int32_t i = 0; i < m->n_in; i++) {
        const symbol *x = in_of(e, m, i);
        // What is stretched may be written before it is read for the last time.
        fits = fits && (same_shape(x, out_of(e, m, 0)) || is_constant(e, m->in[i]));
    }
    return fits;
}

// As a float: what is true is 1.
static void write_operand(emitter *e, const operand *o, const loops *l)
{
    samba_dtype type = e->p->symbols[o->symbol].spec.dtype;
    write_plain(&e->body, type == SAMBA_I32 ? "(float)" : type == SAMBA_BOOL ? "(float)!!" : "");
    write_element(e, o, l);
}

// The value of node k of the chain. Operands are read where they stand in the list, from *at on.
static void write_value(emitter *e, const chain *c, const loops *l, int k)
{
    writer *w = &e->body;
    const node *n = c->node[k];
    int32_t before = k ? c->node[k - 1]->out[0] : -1;
    int at = 0;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < row_of(c->node[i]->op)->arity; j++)
            at += !i || c->node[i]->in[j] != c->node[i - 1]->out[0];
    int place[3] = { -1, -1, -1 };
    for (int i = 0; i < row_of(n->op)->arity; i++)
        if (n->in[i] != before) place[i] = at++;
    for (const char *t = row_of(n->op)->value; *t; t++) {
        if (*t != '$') {
            write_plain(w, "%c", *t);
            continue;
        }
        t++;
        if (*t == 'p') {
            char text[32];
            number_text(e, text, samba_attr_float(n->attr[0]));
            write_plain(w, "%s", text);
        } else if (place[*t - 'a'] < 0)
            write_plain(w, "v");
        else {
            write_operand(e, &c->operands[place[*t - 'a']], l);
        }
    }
}

static void write_chain(emitter *e, chain *c)
{
    writer *w = &e->body;
    loops l = { .n = 0 };
    int32_t out = c->node[c->n - 1]->out[0];
    const samba_shape *shape = &e->p->symbols[out].spec.shape;
    operand *y = &c->operands[c->n_operands];
    y->symbol = out;
    add_broadcast(e, &l, c->operands, c->n_operands + 1, shape, shape->ndim);
    write_loops(w, &l, 0, l.n, c->n > 1);
    int indent = l.n || c->n == 1 ? 4 * l.n + 4 : 8;
    for (int k = 0; k < c->n - 1; k++) {
        write_plain(w, "%*s%sv = ", indent, "", k ? "" : "float ");
        write_value(e, c, &l, k);
        write_plain(w, ";\n");
    }
    write_plain(w, "%*s", indent, "");
    write_element(e, y, &l);
    write_plain(w, " = ");
    write_value(e, c, &l, c->n - 1);
    write_plain(w, ";\n");
    if (c->n > 1) write_plain(w, "%*s}\n", indent - 4, "");
}

static bool emit_map(emitter *e, const node *n)
{
    if (!all_readable(e, n, false)) return cannot(e, n, "types other than f32, i32 and bool");
    chain c = { .n = 0 };
    take(e, &c, n);
    while (goes_on(e, &c)) {
        const node *m = next_alone(e, c.node[c.n - 1]);
        take(e, &c, m);
        e->taken++;
    }
    write_chain(e, &c);
    return true;
}

static const op_emitter ops[] = {
    { "add", emit_map },
    { "sub", emit_map },
    { "mul", emit_map },
    { "div", emit_map },
    { "minimum", emit_map },
    { "maximum", emit_map },
    { "neg", emit_map },
    { "exp", emit_map },
    { "log", emit_map },
    { "sqrt", emit_map },
    { "rsqrt", emit_map },
    { "abs", emit_map },
    { "relu", emit_map },
    { "leaky_relu", emit_map },
    { "sigmoid", emit_map },
    { "tanh", emit_map },
    { "gelu", emit_map },
    { "gelu_tanh", emit_map },
    { "silu", emit_map },
    { "softplus", emit_map },
    { "sin", emit_map },
    { "cos", emit_map },
    { "erf", emit_map },
    { "log1p", emit_map },
    { "expm1", emit_map },
    { "floor", emit_map },
    { "ceil", emit_map },
    { "round", emit_map },
    { "sign", emit_map },
    { "detach", emit_map },
    { "scale", emit_map },
    { "shift", emit_map },
    { "tanh_backward", emit_map },
    { "sigmoid_backward", emit_map },
    { "relu_backward", emit_map },
    { "leaky_relu_backward", emit_map },
    { "gelu_backward", emit_map },
    { "gelu_tanh_backward", emit_map },
    { "silu_backward", emit_map },
    { "abs_backward", emit_map },
    { "maximum_backward", emit_map },
    { "pow_backward", emit_map },
    { "pow_backward_exponent", emit_map },
    { "pow", emit_map },
    { "eq", emit_map },
    { "ne", emit_map },
    { "lt", emit_map },
    { "le", emit_map },
    { "gt", emit_map },
    { "ge", emit_map },
    { "where", emit_map },
    { NULL, NULL },
};

const family elementwise_family = { ops, pieces };
