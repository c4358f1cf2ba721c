// How many bytes a node reads and writes: all of its inputs and outputs, but of a table its rows.
#include "traffic.h"
#include <string.h>

static bool is_op(const node *n, const char *op)
{
    return n->op && strcmp(n->op, op) == 0;
}

static int64_t elements(const model *m, int32_t symbol)
{
    return symbol < 0 ? 0 : samba_count(&m->symbols[symbol].spec.shape);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Elements of a table of `rows` rows that so many ids reach, if they are all different.
static int64_t reached(int64_t table, int64_t rows, int64_t ids)
{
    return rows > 0 ? table / rows * least(rows, ids) : table;
}

static int64_t read_of(const model *m, const node *n, int32_t k)
{
    int64_t all = elements(m, n->in[k]), y = elements(m, n->out[0]);
    int32_t rows = 0;
    if (is_op(n, "lookup") && k == 1)
        return reached(all, m->symbols[n->in[1]].spec.shape.dim[0], elements(m, n->in[0]));
    if (is_op(n, "lookup_packed") && k > 0 && samba_pef_attr(n, "rows", &rows, 1))
        return reached(all, rows, elements(m, n->in[0]));
    if (is_op(n, "lookup_accumulate") && k == 2)
        return reached(all, m->symbols[n->in[2]].spec.shape.dim[0], elements(m, n->in[1]));
    if ((is_op(n, "gather") || is_op(n, "slice")) && k == 0) return least(all, y);
    bool overwritten = is_op(n, "zero") || is_op(n, "write_rows");
    return overwritten && k == 0 ? 0 : all;
}

static int64_t written_of(const model *m, const node *n, int32_t o)
{
    int64_t all = elements(m, n->out[o]);
    if (is_op(n, "lookup_accumulate") && o == 0)
        return reached(all, m->symbols[n->out[0]].spec.shape.dim[0], elements(m, n->in[1]));
    return is_op(n, "write_rows") && o == 0 ? least(all, elements(m, n->in[1])) : all;
}

int64_t bytes_of(const model *m, int32_t i)
{
    const node *n = &m->nodes[i];
    int64_t bytes = 0;
    if (is_view(m, i)) return 0;
    for (int32_t k = 0; k < n->n_in; k++)
        if (n->in[k] >= 0)
            bytes += read_of(m, n, k) * (int64_t)samba_dtype_size(m->symbols[n->in[k]].spec.dtype);
    for (int32_t o = 0; o < n->n_out; o++)
        if (n->out[o] >= 0)
            bytes += written_of(m, n, o)
                * (int64_t)samba_dtype_size(m->symbols[n->out[o]].spec.dtype);
    return bytes;
}
