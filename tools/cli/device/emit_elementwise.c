// Elementwise ops: a loop for each, or for several that follow each other.
#include "emit.h"
#include <stdlib.h>
#include <string.h>

// The value of an op: of $a, $b, $c, and $p, its attribute.
typedef struct row { const char *op; int arity; const char *value, *needs; } row;

static const row rows[] = {
    { "add", 2, "$a + $b", "" },
    { "sub", 2, "$a - $b", "" },
    { "mul", 2, "$a * $b", "" },
    { "div", 2, "$a / $b", "" },
    { "minimum", 2, "smaller($a, $b)", "smaller" },
    { "maximum", 2, "larger($a, $b)", "larger" },
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
    { "scale", 1, "$a * $p", "" },
    { "shift", 1, "$a + $p", "" },
    { "tanh_backward", 2, "tanh_backward($a, $b)", "tanh_backward" },
    { "sigmoid_backward", 2, "sigmoid_backward($a, $b)", "sigmoid_backward" },
    { "relu_backward", 2, "relu_backward($a, $b)", "relu_backward" },
    { "leaky_relu_backward", 2, "leaky_relu_backward($a, $b, $p)", "leaky_relu_backward" },
    { "gelu_backward", 2, "$a * gelu_grad($b)", "gelu_grad" },
    { "gelu_tanh_backward", 2, "$a * gelu_tanh_grad($b)", "gelu_tanh_grad" },
    { "silu_backward", 2, "$a * silu_grad($b)", "silu_grad" },
};

static const piece pieces[] = {
{ "smaller", "",
"static inline float smaller(float a, float b)\n"
"{\n"
"    if (a != a) return a;\n"
"    if (b != b) return b;\n"
"    return a < b ? a : b;\n"
"}\n", 0 },
{ "larger", "",
"static inline float larger(float a, float b)\n"
"{\n"
"    if (a != a) return a;\n"
"    if (b != b) return b;\n"
"    return a > b ? a : b;\n"
"}\n", 0 },
{ "leaky_relu", "",
"static inline float leaky_relu(float x, float slope)\n"
"{\n"
"    return x > 0.0f ? x : x * slope;\n"
"}\n", 0 },
{ "tanh_backward", "multiply_add ",
"/* dx, of dy and y */\n"
"static inline float tanh_backward(float dy, float y)\n"
"{\n"
"    return dy * multiply_add(-y, y, 1.0f);\n"
"}\n", 0 },
{ "sigmoid_backward", "",
"/* dx, of dy and y */\n"
"static inline float sigmoid_backward(float dy, float y)\n"
"{\n"
"    return dy * (y * (1.0f - y));\n"
"}\n", 0 },
{ "relu_backward", "",
"/* dx, of dy and y */\n"
"static inline float relu_backward(float dy, float y)\n"
"{\n"
"    return y > 0.0f ? dy : 0.0f;\n"
"}\n", 0 },
{ "leaky_relu_backward", "",
"/* dx, of dy and x */\n"
"static inline float leaky_relu_backward(float dy, float x, float slope)\n"
"{\n"
"    return x > 0.0f ? dy : dy * slope;\n"
"}\n", 0 },
{ NULL, NULL, NULL, 0 },
};

static const row *row_of(const char *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (op && strcmp(rows[i].op, op) == 0) return &rows[i];
    return NULL;
}

// The loops of a chain: dimensions that all operands walk alike are one.
typedef struct loops {
    int n;
    int64_t dim[SAMBA_MAX_DIMS];
} loops;

enum { MAX_OPERANDS = 8 };

typedef struct operand {
    int32_t symbol;
    int64_t step[SAMBA_MAX_DIMS];       // along each of the loops
} operand;

static int64_t step_along(const samba_shape *x, const samba_shape *y, int32_t d)
{
    int32_t own = d - (y->ndim - x->ndim);
    if (own < 0 || x->dim[own] == 1) return 0;
    int64_t step = 1;
    for (int32_t i = own + 1; i < x->ndim; i++) step *= x->dim[i];
    return step;
}

static void make_loops(const emitter *e, const samba_shape *y, operand *operands, int n, loops *l)
{
    l->n = 0;
    for (int32_t d = 0; d < y->ndim; d++) {
        if (y->dim[d] == 1) continue;
        bool merge = l->n > 0;
        for (int k = 0; k < n; k++) {
            int64_t step = step_along(&e->p->symbols[operands[k].symbol].spec.shape, y, d);
            operands[k].step[l->n] = step;
            merge = merge && operands[k].step[l->n - 1] == step * y->dim[d];
        }
        if (!merge) {
            l->dim[l->n++] = y->dim[d];
            continue;
        }
        l->dim[l->n - 1] *= y->dim[d];
        for (int k = 0; k < n; k++) operands[k].step[l->n - 1] = operands[k].step[l->n];
    }
}

static const char variables[] = "ijklmnop";

static void write_index(writer *w, const int64_t *step, int n)
{
    bool any = false;
    write_plain(w, "[");
    for (int d = 0; d < n; d++) {
        if (!step[d]) continue;
        if (any) write_plain(w, " + ");
        if (step[d] == 1) write_plain(w, "%c", variables[d]);
        else write_plain(w, "%c * %lld", variables[d], (long long)step[d]);
        any = true;
    }
    write_plain(w, any ? "]" : "0]");
}

// The nodes of a chain, and its operands in the order in which the values name them.
typedef struct chain {
    const node *node[MAX_OPERANDS];
    int n;
    operand operands[MAX_OPERANDS];
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

static bool all_floats(const emitter *e, const node *n)
{
    bool fine = n->n_out == 1 && out_of(e, n, 0)->spec.dtype == SAMBA_F32;
    for (int32_t i = 0; i < n->n_in; i++)
        fine = fine && in_of(e, n, i) && in_of(e, n, i)->spec.dtype == SAMBA_F32;
    return fine;
}

static bool goes_on(emitter *e, const chain *c)
{
    const node *last = c->node[c->n - 1], *m = next_alone(e, last);
    if (!m || !row_of(m->op) || !all_floats(e, m)) return false;
    bool fits = c->n < 4 && c->n_operands + row_of(m->op)->arity <= MAX_OPERANDS
        && same_shape(out_of(e, m, 0), out_of(e, last, 0));
    for (int32_t i = 0; i < m->n_in; i++) {
        const symbol *x = in_of(e, m, i);
        // What is stretched may be written before it is read for the last time.
        fits = fits && (same_shape(x, out_of(e, m, 0)) || is_constant(e, m->in[i]));
    }
    return fits;
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
            int32_t word = n->attr[0];
            write_float(w, samba_attr_float(word));
        } else if (place[*t - 'a'] < 0)
            write_plain(w, "v");
        else {
            const operand *o = &c->operands[place[*t - 'a']];
            write_plain(w, "%s", tensor_name(e, o->symbol));
            write_index(w, o->step, l->n);
        }
    }
}

static void write_chain(emitter *e, chain *c)
{
    writer *w = &e->body;
    loops l;
    int32_t out = c->node[c->n - 1]->out[0];
    operand y = { out, { 0 } };
    operand all[MAX_OPERANDS + 1];
    memcpy(all, c->operands, sizeof c->operands);
    all[c->n_operands] = y;
    make_loops(e, &e->p->symbols[out].spec.shape, all, c->n_operands + 1, &l);
    memcpy(c->operands, all, sizeof c->operands);
    y = all[c->n_operands];
    for (int d = 0; d < l.n; d++)
        write_plain(w, "%*sfor (int %c = 0; %c < %lld; %c++)%s\n", 4 * d + 4, "", variables[d],
                    variables[d], (long long)l.dim[d], variables[d],
                    d == l.n - 1 && c->n > 1 ? " {" : "");
    int indent = 4 * l.n + 4;
    if (!l.n && c->n > 1) write_plain(w, "    {\n");
    if (!l.n && c->n > 1) indent = 8;
    for (int k = 0; k < c->n - 1; k++) {
        write_plain(w, "%*s%sv = ", indent, "", k ? "" : "float ");
        write_value(e, c, &l, k);
        write_plain(w, ";\n");
    }
    write_plain(w, "%*s%s", indent, "", tensor_name(e, out));
    write_index(w, y.step, l.n);
    write_plain(w, " = ");
    write_value(e, c, &l, c->n - 1);
    write_plain(w, ";\n");
    if (c->n > 1) write_plain(w, "%*s}\n", indent - 4, "");
}

static bool emit_map(emitter *e, const node *n)
{
    if (!all_floats(e, n)) return cannot(e, n, "types other than f32");
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
    { "add", emit_map }, { "sub", emit_map }, { "mul", emit_map }, { "div", emit_map },
    { "minimum", emit_map }, { "maximum", emit_map }, { "neg", emit_map }, { "exp", emit_map },
    { "log", emit_map }, { "sqrt", emit_map }, { "rsqrt", emit_map }, { "abs", emit_map },
    { "relu", emit_map }, { "leaky_relu", emit_map }, { "sigmoid", emit_map },
    { "tanh", emit_map }, { "gelu", emit_map }, { "gelu_tanh", emit_map }, { "silu", emit_map },
    { "softplus", emit_map }, { "scale", emit_map }, { "shift", emit_map },
    { "tanh_backward", emit_map }, { "sigmoid_backward", emit_map },
    { "relu_backward", emit_map }, { "leaky_relu_backward", emit_map },
    { "gelu_backward", emit_map }, { "gelu_tanh_backward", emit_map },
    { "silu_backward", emit_map }, { NULL, NULL },
};

const family elementwise_family = { ops, pieces };
