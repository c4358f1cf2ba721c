// Ops that read or write at indices: tables of rows, gather, argmax. An index out of range ends the
// run.
#include "emit.h"
#include <string.h>

static const piece pieces[] = {
    { "lookup", "",
      "/* y = rows id[0], id[1] ... of a table (rows,k); false if there is none. */\n"
      "static bool lookup(const int32_t *id, const ${weight} *table, float *y, int n, int rows, int k)\n"
      "{\n"
      "    for (int t = 0; t < n; t++, y += k) {\n"
      "        if (id[t] < 0 || id[t] >= rows) return false;\n"
      "        for (int j = 0; j < k; j++) y[j] = ${load}table[id[t] * k + j]${done};\n"
      "    }\n"
      "    return true;\n"
      "}\n",
      0 },
    { "lookup_backward", "",
      "/* Row v of the gradient: the sum of dy[t] over all t whose id is v, in order. */\n"
      "static bool lookup_backward(const float *dy, const int32_t *id, float *dw, int n, int rows, int k)\n"
      "{\n"
      "    for (int i = 0; i < rows * k; i++) dw[i] = 0.0f;\n"
      "    for (int t = 0; t < n; t++, dy += k) {\n"
      "        if (id[t] < 0 || id[t] >= rows) return false;\n"
      "        for (int j = 0; j < k; j++) dw[id[t] * k + j] += dy[j];\n"
      "    }\n"
      "    return true;\n"
      "}\n",
      0 },
    { "lookup_accumulate", "",
      "/* The same, added to what is there: each row is summed first. */\n"
      "static bool lookup_accumulate(const float *dy, const int32_t *id, float *dw, int n, int rows,\n"
      "                              int k)\n"
      "{\n"
      "    for (int t = 0; t < n; t++) {\n"
      "        int first = 0;\n"
      "        if (id[t] < 0 || id[t] >= rows) return false;\n"
      "        while (id[first] != id[t]) first++;\n"
      "        for (int j = 0; j < k && first == t; j++) {\n"
      "            float sum = 0.0f;\n"
      "            for (int u = t; u < n; u++)\n"
      "                if (id[u] == id[t]) sum += dy[u * k + j];\n"
      "            dw[id[t] * k + j] += sum;\n"
      "        }\n"
      "    }\n"
      "    return true;\n"
      "}\n",
      0 },
    { "write_rows", "",
      "/* Row at[t] of y becomes row t of x, in each of `heads` matrices; `per_list` of them share a list.\n"
      "   -1: none. */\n"
      "static bool write_rows(float *y, const float *x, const int32_t *row, int heads, int per_list,\n"
      "                       int rows, int n, int k)\n"
      "{\n"
      "    for (int h = 0; h < heads; h++, y += rows * k) {\n"
      "        const int32_t *at = row + h / per_list * n;\n"
      "        for (int t = 0; t < n; t++, x += k) {\n"
      "            if (at[t] < -1 || at[t] >= rows) return false;\n"
      "            for (int j = 0; j < k && at[t] >= 0; j++) y[at[t] * k + j] = x[j];\n"
      "        }\n"
      "    }\n"
      "    return true;\n"
      "}\n",
      0 },
    { "argmax", "",
      "/* The first of the largest of n elements, `step` apart; a NaN counts as largest. */\n"
      "static int32_t argmax(const float *x, int n, int step)\n"
      "{\n"
      "    int best = 0;\n"
      "    for (int i = 1; i < n; i++) {\n"
      "        float top = x[best * step], v = x[i * step];\n"
      "        if (v > top || (v != v && top == top)) best = i;\n"
      "    }\n"
      "    return (int32_t)best;\n"
      "}\n",
      0 },
    { "argsort", "",
      "/* The first `count` of the n numbers of x in order, by their numbers; equal ones keep theirs, and NaN\n"
      "   is the largest. */\n"
      "static void argsort(const float *x, int n, int32_t *y, int count, int descending)\n"
      "{\n"
      "    int have = 0;\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        int at = have;\n"
      "        while (at > 0) {\n"
      "            float a = x[i], b = x[y[at - 1]];\n"
      "            int below = a < b || (b != b && a == a), above = b < a || (a != a && b == b);\n"
      "            if (!(descending ? above : below)) break;\n"
      "            at--;\n"
      "        }\n"
      "        if (at == count) continue;\n"
      "        if (have < count) have++;\n"
      "        for (int j = have - 1; j > at; j--) y[j] = y[j - 1];\n"
      "        y[at] = (int32_t)i;\n"
      "    }\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

static bool emit_lookup(emitter *e, const node *n)
{
    const samba_shape *w = &in_of(e, n, 1)->spec.shape;
    if (!set_weights(e, n)) return false;
    set_tensor(e, "id", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_word(&e->body, "n", "%lld", (long long)count_of(in_of(e, n, 0)));
    set_word(&e->body, "rows", "%d", w->dim[0]);
    set_word(&e->body, "k", "%d", w->dim[1]);
    need(e, "lookup");
    write_text(&e->body,
               "    if (!lookup(${id}, ${w}, ${y}, ${n}, ${rows}, ${k})) return false;\n");
    return true;
}

static bool emit_lookup_backward(emitter *e, const node *n)
{
    const samba_shape *w = &out_of(e, n, 0)->spec.shape;
    set_tensor(e, "dy", n->in[0]);
    set_tensor(e, "id", n->in[1]);
    set_tensor(e, "dw", n->out[0]);
    set_word(&e->body, "op", "%s", n->op);
    set_word(&e->body, "n", "%lld", (long long)count_of(in_of(e, n, 1)));
    set_word(&e->body, "rows", "%d", w->dim[0]);
    set_word(&e->body, "k", "%d", w->dim[1]);
    need(e, n->op);
    write_text(&e->body,
               "    if (!${op}(${dy}, ${id}, ${dw}, ${n}, ${rows}, ${k})) return false;\n");
    return true;
}

static bool emit_write_rows(emitter *e, const node *n)
{
    const samba_shape *y = &in_of(e, n, 0)->spec.shape, *row = &in_of(e, n, 2)->spec.shape;
    int32_t rows = y->dim[y->ndim - 2], k = y->dim[y->ndim - 1];
    int64_t heads = count_of(in_of(e, n, 0)) / rows / k;
    set_tensor(e, "y", n->in[0]); // is what output 0 is
    set_tensor(e, "y", n->out[0]);
    set_tensor(e, "x", n->in[1]);
    set_tensor(e, "row", n->in[2]);
    set_word(&e->body, "heads", "%lld", (long long)heads);
    set_word(&e->body, "per_list", "%lld", (long long)(row->ndim == 1 ? heads : heads / y->dim[0]));
    set_word(&e->body, "rows", "%d", rows);
    set_word(&e->body, "n", "%d", row->dim[row->ndim - 1]);
    set_word(&e->body, "k", "%d", k);
    need(e, "write_rows");
    write_text(&e->body,
               "    if (!write_rows(${y}, ${x}, ${row}, ${heads}, ${per_list}, ${rows}, ${n}, "
               "${k})) return false;\n");
    return true;
}

static bool emit_argmax(emitter *e, const node *n)
{
    const samba_shape *x = &in_of(e, n, 0)->spec.shape;
    int32_t axis = attr_of(n, "axis");
    int64_t inner = inner_of(x, axis), row = inner * x->dim[axis];
    operand both[2] = { { n->out[0], 0, { 0 } }, { n->in[0], 0, { 0 } } };
    loops l = { .n = 0 };
    add_loop(&l, both, 2, count_of(in_of(e, n, 0)) / row, (int64_t[]){ inner, row });
    add_loop(&l, both, 2, inner, (int64_t[]){ 1, 1 });
    need(e, "argmax");
    write_loops(&e->body, &l, 0, l.n, false);
    write_plain(&e->body, "%*s", 4 * l.n + 4, "");
    write_element(e, &both[0], &l);
    write_plain(&e->body, " = argmax(");
    write_pointer(e, &both[1], &l);
    write_plain(&e->body, ", %d, %lld);\n", x->dim[axis], (long long)inner);
    return true;
}

static bool emit_argsort(emitter *e, const node *n)
{
    const samba_shape *x = &in_of(e, n, 0)->spec.shape;
    int32_t size = x->dim[x->ndim - 1];
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_word(&e->body, "rows", "%lld", (long long)(count_of(in_of(e, n, 0)) / size));
    set_word(&e->body, "n", "%d", size);
    set_word(&e->body, "count", "%d", attr_of(n, "count"));
    set_word(&e->body, "descending", "%d", attr_of(n, "descending"));
    need(e, "argsort");
    write_text(
        &e->body,
        "    for (int i = 0; i < ${rows}; i++)\n"
        "        argsort(${x} + i * ${n}, ${n}, ${y} + i * ${count}, ${count}, ${descending});\n");
    return true;
}

// Loops over the index, with `at`, the place along the axis that it names. x has the index's
// dimensions but along the axis, and may have more.
static void begin_gather(emitter *e, const node *n, const samba_shape *x, operand *all, loops *l)
{
    const samba_shape *index = &in_of(e, n, 1)->spec.shape;
    int32_t axis = n->attr[0];
    for (int32_t d = 0; d < index->ndim; d++) {
        int64_t inner = inner_of(index, d);
        int64_t step[3] = { inner, inner, d == axis ? 0 : inner_of(x, d) };
        add_loop(l, all, 3, index->dim[d], step);
    }
    int indent = 4 * l->n + 4;
    if (!l->n) indent = 8;
    write_loops(&e->body, l, 0, l->n, true);
    write_plain(&e->body, "%*sint at = ", indent, "");
    write_element(e, &all[1], l);
    write_plain(&e->body, ";\n%*sif (at < 0 || at >= %d) return false;\n%*s", indent, "",
                x->dim[axis], indent, "");
}

// The element of x at the index, and the end of the loops.
static void write_at(emitter *e, const operand *x, const loops *l, int64_t step)
{
    write_plain(&e->body, "(");
    write_pointer(e, x, l);
    write_plain(&e->body, ")[at");
    if (step != 1) write_plain(&e->body, " * %lld", (long long)step);
    write_plain(&e->body, "]");
}

static void end_gather(emitter *e, const loops *l)
{
    write_plain(&e->body, ";\n%*s}\n", l->n ? 4 * l->n : 4, "");
}

static bool emit_gather(emitter *e, const node *n)
{
    const samba_shape *x = &in_of(e, n, 0)->spec.shape;
    operand all[3] = { { n->out[0], 0, { 0 } }, { n->in[1], 0, { 0 } }, { n->in[0], 0, { 0 } } };
    loops l = { .n = 0 };
    begin_gather(e, n, x, all, &l);
    write_element(e, &all[0], &l);
    write_plain(&e->body, " = ");
    write_at(e, &all[2], &l, inner_of(x, n->attr[0]));
    end_gather(e, &l);
    return true;
}

static bool emit_gather_backward(emitter *e, const node *n)
{
    const samba_shape *x = &out_of(e, n, 0)->spec.shape;
    operand all[3] = { { n->in[0], 0, { 0 } }, { n->in[1], 0, { 0 } }, { n->out[0], 0, { 0 } } };
    loops l = { .n = 0 };
    set_tensor(e, "dx", n->out[0]);
    set_word(&e->body, "n", "%lld", (long long)count_of(out_of(e, n, 0)));
    write_text(&e->body, "    for (int i = 0; i < ${n}; i++) ${dx}[i] = 0.0f;\n");
    begin_gather(e, n, x, all, &l);
    write_at(e, &all[2], &l, inner_of(x, n->attr[0]));
    write_plain(&e->body, " += ");
    write_element(e, &all[0], &l);
    end_gather(e, &l);
    return true;
}

static const op_emitter ops[] = {
    { "lookup", emit_lookup },
    { "lookup_backward", emit_lookup_backward },
    { "lookup_accumulate", emit_lookup_backward },
    { "write_rows", emit_write_rows },
    { "argmax", emit_argmax },
    { "argsort", emit_argsort },
    { "gather", emit_gather },
    { "gather_backward", emit_gather_backward },
    { NULL, NULL },
};

const family table_family = { ops, pieces };
