// Sums, in the order of samba.h: lane l of 32 takes elements l, l + 32 ... of a row, and then the
// lanes are added in pairs; runs of 8192 elements, or 512 rows of columns, are summed by themselves.
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
"}\n", 0 },
{ "row_sum", "lanes_sum ",
"static float row_sum(const float *x, int n)\n"
"{\n"
"    float lane[32] = { 0.0f };\n"
"    for (int i = 0; i < n; i++) lane[i & 31] += x[i];\n"
"    return lanes_sum(lane);\n"
"}\n", 128 },
{ "row_dot", "lanes_sum multiply_add ",
"static float row_dot(const float *x, const float *y, int n)\n"
"{\n"
"    float lane[32] = { 0.0f };\n"
"    for (int i = 0; i < n; i++) lane[i & 31] = multiply_add(x[i], y[i], lane[i & 31]);\n"
"    return lanes_sum(lane);\n"
"}\n", 128 },
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
"}\n", 128 },
{ "row_max", "infinity unless_nan ",
"/* The largest of a row, or NaN if it has one. */\n"
"static float row_max(const float *x, int n)\n"
"{\n"
"    float top = -INFINITE;\n"
"    for (int i = 0; i < n; i++) top = unless_nan(x[i], x[i] > top ? x[i] : top);\n"
"    return top;\n"
"}\n", 0 },
{ "sum_all", "row_sum ",
"/* The sum of n elements: of 8192 at a time. */\n"
"static float sum_all(const float *x, int n)\n"
"{\n"
"    float sum = row_sum(x, n < 8192 ? n : 8192);\n"
"    for (int at = 8192; at < n; at += 8192)\n"
"        sum += row_sum(x + at, n - at < 8192 ? n - at : 8192);\n"
"    return sum;\n"
"}\n", 0 },
{ "squares_all", "row_squares ",
"/* The sum of the squares of n elements: of 8192 at a time. */\n"
"static float squares_all(const float *x, int n)\n"
"{\n"
"    float sum = row_squares(x, 0.0f, n < 8192 ? n : 8192);\n"
"    for (int at = 8192; at < n; at += 8192)\n"
"        sum += row_squares(x + at, 0.0f, n - at < 8192 ? n - at : 8192);\n"
"    return sum;\n"
"}\n", 0 },
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
"}\n", 0 },
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
"}\n", 0 },
{ NULL, NULL, NULL, 0 },
};

// A reduction as samba.h walks it: outer axes kept or not, then those at the end.
typedef struct reduction {
    bool rows;                      // the last axes are reduced
    int64_t inner;                  // they have so many elements
    int64_t kept, runs, step;       // of the axes before: kept; and reduced, how far apart
    bool simple;                    // at most one group of each
} reduction;

static reduction reduction_of(const samba_shape *x, int32_t mask)
{
    reduction r = { .inner = 1, .kept = 1, .runs = 1, .simple = true };
    int32_t last = x->ndim - 1;
    r.rows = last < 0 || (mask >> last & 1);
    for (; last >= 0 && (mask >> last & 1) == (int32_t)r.rows; last--) r.inner *= x->dim[last];
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

static bool emit_columns(emitter *e, const node *n, const reduction *r)
{
    writer *w = &e->body;
    if (r->kept > 1 || strcmp(n->op, "square_sum") == 0) return cannot(e, n, "these axes");
    need(e, "sum_columns");
    set_word(w, "runs", "%lld", (long long)r->runs);
    write_text(w, "    sum_columns(${x}, ${y}, ${runs}, ${inner});\n");
    return true;
}

static bool emit_rows(emitter *e, const node *n, const reduction *r)
{
    writer *w = &e->body;
    bool squares = strcmp(n->op, "square_sum") == 0;
    if (r->kept == 1 && r->runs == 1) {
        need(e, squares ? "squares_all" : "sum_all");
        set_word(w, "sum", squares ? "squares_all" : "sum_all");
        write_text(w, "    ${y}[0] = ${sum}(${x}, ${inner});\n");
        return true;
    }
    // Rows of an output are beside each other only if nothing is reduced before them.
    bool fits = r->simple && !squares && (r->runs > 1 || r->inner <= PIECE)
        && (r->runs == 1 || r->kept == 1 || r->step == r->inner * r->kept);
    if (!fits) return cannot(e, n, "these axes");
    need(e, "sum_rows");
    set_word(w, "kept", "%lld", (long long)r->kept);
    set_word(w, "runs", "%lld", (long long)r->runs);
    set_word(w, "step", "%lld", (long long)r->step);
    set_word(w, "piece", "%lld", (long long)(r->inner < PIECE ? PIECE / r->inner : 1));
    write_text(w, "    sum_rows(${x}, ${y}, ${kept}, ${runs}, ${step}, ${inner}, ${piece});\n");
    return true;
}

static bool emit_sum(emitter *e, const node *n)
{
    const symbol *x = in_of(e, n, 0), *y = out_of(e, n, 0);
    reduction r = reduction_of(&x->spec.shape, attr_of(n, "axes"));
    writer *w = &e->body;
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_word(w, "inner", "%lld", (long long)r.inner);
    if (!(r.rows ? emit_rows(e, n, &r) : emit_columns(e, n, &r))) return false;
    int64_t count = count_of(x) / count_of(y);
    if (strcmp(n->op, "mean") != 0 || count == 1) return true;
    set_word(w, "n", "%lld", (long long)count_of(y));
    set_word(w, "count", "%lld", (long long)count);
    write_text(w, "    for (int i = 0; i < ${n}; i++) ${y}[i] /= (float)${count};\n");
    return true;
}

static const op_emitter ops[] = {
    { "sum", emit_sum },
    { "mean", emit_sum },
    { "square_sum", emit_sum },
    { NULL, NULL },
};

const family reduce_family = { ops, pieces };
