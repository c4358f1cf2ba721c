// Sums, in the order of samba.h: lane l of 32 takes elements l, l + 32 ... of a row, and then the
// lanes are added in pairs; runs of 8192 elements, or 512 rows of columns, are summed by
// themselves.
#include "emit.h"
#include <string.h>

enum { PIECE = 8192 };

static const piece pieces[] = {
    { "lanes_sum", "",
      "/* The sum of 32 lanes: of l and l + 16, then of l and l + 8 ... */\n"
      "static float lanes_sum(float *lane)\n"
      "{\n"
      "    for (int half = 16; half > 0; half /= 2)\n"
      "        for (int l = 0; l < half; l++) lane[l] += lane[l + half];\n"
      "    return lane[0];\n"
      "}\n",
      0 },
    { "row_sum", "lanes_sum ",
      "static float row_sum(const float *x, int n)\n"
      "{\n"
      "    float lane[32] = { 0.0f };\n"
      "    for (int i = 0; i < n; i++) lane[i & 31] += x[i];\n"
      "    return lanes_sum(lane);\n"
      "}\n",
      128 },
    { "row_dot", "lanes_sum multiply_add ",
      "static float row_dot(const float *x, const float *y, int n)\n"
      "{\n"
      "    float lane[32] = { 0.0f };\n"
      "    for (int i = 0; i < n; i++) lane[i & 31] = multiply_add(x[i], y[i], lane[i & 31]);\n"
      "    return lanes_sum(lane);\n"
      "}\n",
      128 },
    { "row_squares", "lanes_sum multiply_add ",
      "/* The sum of (x - mean)^2. */\n"
      "static float row_squares(const float *x, float mean, int n)\n"
      "{\n"
      "    float lane[32] = { 0.0f };\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        float d = x[i] - mean;\n"
      "        lane[i & 31] = multiply_add(d, d, lane[i & 31]);\n"
      "    }\n"
      "    return lanes_sum(lane);\n"
      "}\n",
      128 },
    { "row_max", "infinity unless_nan ",
      "/* The largest of a row, or NaN if it has one. */\n"
      "static float row_max(const float *x, int n)\n"
      "{\n"
      "    float top = -INFINITE;\n"
      "    for (int i = 0; i < n; i++) top = unless_nan(x[i], x[i] > top ? x[i] : top);\n"
      "    return top;\n"
      "}\n",
      0 },
    { "sum_all", "row_sum ",
      "/* The sum of n elements: of 8192 at a time. */\n"
      "static float sum_all(const float *x, int n)\n"
      "{\n"
      "    float sum = row_sum(x, n < 8192 ? n : 8192);\n"
      "    for (int at = 8192; at < n; at += 8192)\n"
      "        sum += row_sum(x + at, n - at < 8192 ? n - at : 8192);\n"
      "    return sum;\n"
      "}\n",
      0 },
    { "squares_all", "row_squares ",
      "/* The sum of the squares of n elements: of 8192 at a time. */\n"
      "static float squares_all(const float *x, int n)\n"
      "{\n"
      "    float sum = row_squares(x, 0.0f, n < 8192 ? n : 8192);\n"
      "    for (int at = 8192; at < n; at += 8192)\n"
      "        sum += row_squares(x + at, 0.0f, n - at < 8192 ? n - at : 8192);\n"
      "    return sum;\n"
      "}\n",
      0 },
    { "sum_rows", "row_sum ",
      "/* For each of `kept` outputs the sum of `runs` rows of n, a step apart; `piece` rows are summed by\n"
      "   themselves. */\n"
      "static void sum_rows(const float *x, float *y, int kept, int runs, int step, int n, int piece)\n"
      "{\n"
      "    for (; kept > 0; kept--, x += n, y++)\n"
      "        for (int r = 0; r < runs; r += piece) {\n"
      "            int end = r + piece < runs ? r + piece : runs;\n"
      "            float sum = row_sum(x + r * step, n);\n"
      "            for (int i = r + 1; i < end; i++) sum += row_sum(x + i * step, n);\n"
      "            *y = r ? *y + sum : sum;\n"
      "        }\n"
      "}\n",
      0 },
    { "sum_columns", "",
      "/* The sums of n columns: of 512 rows at a time. */\n"
      "static void sum_columns(const float *x, float *y, int rows, int n)\n"
      "{\n"
      "    for (int j = 0; j < n; j++)\n"
      "        for (int r = 0; r < rows; r += 512) {\n"
      "            int end = r + 512 < rows ? r + 512 : rows;\n"
      "            float sum = x[r * n + j];\n"
      "            for (int i = r + 1; i < end; i++) sum += x[i * n + j];\n"
      "            y[j] = r ? y[j] + sum : sum;\n"
      "        }\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

enum { ROWS = 512 }; // of columns

// A reduction as samba.h walks it: outer axes kept or not, then those at the end.
typedef struct reduction {
    bool rows;                // the last axes are reduced
    int64_t inner;            // they have so many elements
    int64_t kept, runs, step; // of the axes before: kept; and reduced, how far apart
    bool simple;              // at most one group of each
} reduction;

static reduction reduction_of(const samba_shape *x, int32_t mask)
{
    reduction r = { .inner = 1, .kept = 1, .runs = 1, .simple = true };
    int32_t last = x->ndim - 1;
    r.rows = last < 0 || (mask >> last & 1);
    for (; last >= 0 && (mask >> last & 1) == (int32_t)r.rows; last--)
        r.inner *= x->dim[last];
    int64_t step = r.inner;
    bool before = r.rows;
    int groups = 0;
    for (; last >= 0; last--) {
        bool gone = mask >> last & 1;
        if (x->dim[last] == 1) continue;
        if (gone != before) groups++;
        before = gone;
        if (gone && r.runs == 1) r.step = step;
        *(gone ? &r.runs : &r.kept) *= x->dim[last];
        step *= x->dim[last];
    }
    r.simple = groups <= 2;
    return r;
}

static bool is_op(const node *n, const char *op)
{
    return strcmp(n->op, op) == 0;
}

// What a reduction begins with: -0 + x is x, even if that is -0.
static const char *begin_of(const node *n)
{
    return is_op(n, "max") ? "-INFINITE" : "-0.0f";
}

// How a value joins those before: a run of a row, or an element.
static void write_joined(emitter *e, const node *n, const operand *x, const loops *l, int64_t inner)
{
    writer *w = &e->body;
    const char *row = is_op(n, "max") ? "row_max" : "row_sum";
    if (is_op(n, "max"))
        write_plain(w, "value = larger(value, ");
    else if (is_op(n, "square_sum") && !inner)
        write_plain(w, "value = multiply_add(");
    else
        write_plain(w, "value += ");
    if (!inner) write_element(e, x, l);
    if (!inner && is_op(n, "square_sum")) {
        write_plain(w, ", ");
        write_element(e, x, l);
        write_plain(w, ", value");
    }
    if (inner) {
        write_plain(w, "%s(", is_op(n, "square_sum") ? "row_squares" : row);
        write_pointer(e, x, l);
        write_plain(w, is_op(n, "square_sum") ? ", 0.0f, %lld)" : ", %lld)", (long long)inner);
    }
    bool closes = is_op(n, "max") || (is_op(n, "square_sum") && !inner);
    write_plain(w, closes ? ");\n" : ";\n");
}

// Loops over axes that are kept, and in them over those that are reduced, but the last ones if they
// are a row.
static bool emit_loops(emitter *e, const node *n, const reduction *r)
{
    const samba_shape *x = &in_of(e, n, 0)->spec.shape;
    int32_t mask = attr_of(n, "axes"), end = x->ndim;
    int64_t kept_step = 1, runs = 1, most = r->rows ? PIECE / r->inner : ROWS;
    operand both[2] = { { n->out[0], 0, { 0 } }, { n->in[0], 0, { 0 } } };
    loops l = { .n = 0 };
    while (r->rows && end > 0 && (mask >> (end - 1) & 1))
        end--;
    for (int32_t d = 0; d < end; d++)
        *(mask >> d & 1 ? &runs : &kept_step) *= x->dim[d];
    // Beyond that the executor adds up pieces, each summed by itself.
    bool whole = r->rows && runs == 1 && r->inner <= PIECE;
    if (!is_op(n, "max") && !whole && runs > (most > 1 ? most : 1))
        return cannot(e, n, "these axes");
    if (!is_op(n, "max") && r->rows && r->inner > PIECE && runs == 1)
        return cannot(e, n, "these axes");
    for (int32_t d = 0; d < end; d++) {
        if (mask >> d & 1) continue;
        kept_step /= x->dim[d];
        add_loop(&l, both, 2, x->dim[d], (int64_t[]){ kept_step, inner_of(x, d) });
    }
    int kept = l.apart = l.n;
    writer *w = &e->body;
    write_loops(w, &l, 0, kept, true);
    for (int32_t d = 0; d < end; d++)
        if (mask >> d & 1) add_loop(&l, both, 2, x->dim[d], (int64_t[]){ 0, inner_of(x, d) });
    int indent = kept ? 4 * kept + 4 : 8, deeper = kept ? 0 : 4;
    write_plain(w, "%*sfloat value = %s;\n", indent, "", begin_of(n));
    write_loops(w, &l, kept, l.n, false);
    write_plain(w, "%*s", 4 * l.n + 4 + deeper, "");
    write_joined(e, n, &both[1], &l, r->rows ? r->inner : 0);
    write_plain(w, "%*s", indent, "");
    write_element(e, &both[0], &l);
    write_plain(w, " = value;\n%*s}\n", indent - 4, "");
    if (is_op(n, "max")) {
        need(e, "larger");
        need(e, "infinity");
    }
    const char *row = is_op(n, "max") ? "row_max" : "row_sum";
    if (r->rows)
        need(e, is_op(n, "square_sum") ? "row_squares" : row);
    else if (is_op(n, "square_sum"))
        need(e, "multiply_add");
    return true;
}

static bool emit_columns(emitter *e, const node *n, const reduction *r)
{
    writer *w = &e->body;
    bool sums = is_op(n, "sum") || is_op(n, "mean");
    if (r->kept > 1 || !sums) return emit_loops(e, n, r);
    need(e, "sum_columns");
    set_word(w, "runs", "%lld", (long long)r->runs);
    write_text(w, "    sum_columns(${x}, ${y}, ${runs}, ${inner});\n");
    return true;
}

static bool emit_rows(emitter *e, const node *n, const reduction *r)
{
    writer *w = &e->body;
    bool squares = is_op(n, "square_sum");
    if (is_op(n, "max")) return emit_loops(e, n, r);
    if (r->kept == 1 && r->runs == 1) {
        need(e, squares ? "squares_all" : "sum_all");
        set_word(w, "sum", squares ? "squares_all" : "sum_all");
        write_text(w, "    ${y}[0] = ${sum}(${x}, ${inner});\n");
        return true;
    }
    // Rows of an output are beside each other only if nothing is reduced before them.
    bool fits = r->simple && !squares && (r->runs > 1 || r->inner <= PIECE)
        && (r->runs == 1 || r->kept == 1 || r->step == r->inner * r->kept);
    if (!fits) return emit_loops(e, n, r);
    need(e, "sum_rows");
    set_word(w, "kept", "%lld", (long long)r->kept);
    set_word(w, "runs", "%lld", (long long)r->runs);
    set_word(w, "step", "%lld", (long long)r->step);
    set_word(w, "piece", "%lld", (long long)(r->inner < PIECE ? PIECE / r->inner : 1));
    write_text(w, "    sum_rows(${x}, ${y}, ${kept}, ${runs}, ${step}, ${inner}, ${piece});\n");
    return true;
}

static bool emit_reduction(emitter *e, const node *n)
{
    const symbol *x = in_of(e, n, 0), *y = out_of(e, n, 0);
    reduction r = reduction_of(&x->spec.shape, attr_of(n, "axes"));
    writer *w = &e->body;
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_word(w, "inner", "%lld", (long long)r.inner);
    if (!(r.rows ? emit_rows(e, n, &r) : emit_columns(e, n, &r))) return false;
    int64_t count = count_of(x) / count_of(y);
    if (!is_op(n, "mean") || count == 1) return true;
    set_word(w, "n", "%lld", (long long)count_of(y));
    set_word(w, "count", "%lld", (long long)count);
    write_text(w, "    for (int i = 0; i < ${n}; i++) ${y}[i] /= (float)${count};\n");
    return true;
}

static const op_emitter ops[] = {
    { "sum", emit_reduction },
    { "mean", emit_reduction },
    { "square_sum", emit_reduction },
    { "max", emit_reduction },
    { NULL, NULL },
};

const family reduce_family = { ops, pieces };
