// Loops over the elements of tensors: dimensions that all operands walk alike are one.
#include "emit.h"

int64_t inner_of(const samba_shape *x, int32_t axis)
{
    int64_t n = 1;
    for (int32_t i = axis + 1; i < x->ndim; i++)
        n *= x->dim[i];
    return n;
}

int64_t step_along(const samba_shape *x, int32_t ndim, int32_t d)
{
    int32_t own = d - (ndim - x->ndim);
    return own < 0 || x->dim[own] == 1 ? 0 : inner_of(x, own);
}

void add_loop(loops *l, operand *operands, int n, int64_t dim, const int64_t *step)
{
    if (dim == 1) return;
    bool merge = l->n > l->apart;
    for (int k = 0; k < n; k++)
        merge = merge && operands[k].step[l->n - 1] == step[k] * dim;
    int at = merge ? l->n - 1 : l->n++;
    l->dim[at] = merge ? l->dim[at] * dim : dim;
    for (int k = 0; k < n; k++)
        operands[k].step[at] = step[k];
}

void add_broadcast(const emitter *e, loops *l, operand *operands, int n, const samba_shape *y,
                   int32_t ndim)
{
    for (int32_t d = 0; d < ndim; d++) {
        int64_t step[MAX_OPERANDS + 1];
        for (int k = 0; k < n; k++)
            step[k] = step_along(&e->p->symbols[operands[k].symbol].spec.shape, y->ndim, d);
        add_loop(l, operands, n, y->dim[d], step);
    }
}

static const char variables[] = "ijklmnop";

void write_loops(writer *w, const loops *l, int from, int to, bool block)
{
    for (int d = from; d < to; d++)
        write_plain(w, "%*sfor (int %c = 0; %c < %lld; %c++)%s\n", 4 * d + 4, "", variables[d],
                    variables[d], (long long)l->dim[d], variables[d],
                    d == to - 1 && block ? " {" : "");
    if (from == to && block) write_plain(w, "%*s{\n", 4 * to + 4, "");
}

// Such as i * 12 + j + 3; false: it is 0, and nothing is written.
static bool write_sum(writer *w, const operand *o, const loops *l, const char *before)
{
    bool any = false;
    for (int d = 0; d < l->n; d++) {
        if (!o->step[d]) continue;
        write_plain(w, "%s%c", any ? " + " : before, variables[d]);
        if (o->step[d] != 1) write_plain(w, " * %lld", (long long)o->step[d]);
        any = true;
    }
    if (o->start) write_plain(w, "%s%lld", any ? " + " : before, (long long)o->start);
    return any || o->start;
}

void write_element(emitter *e, const operand *o, const loops *l)
{
    write_plain(&e->body, "%s[", tensor_name(e, o->symbol));
    write_plain(&e->body, write_sum(&e->body, o, l, "") ? "]" : "0]");
}

void write_pointer(emitter *e, const operand *o, const loops *l)
{
    write_plain(&e->body, "%s", tensor_name(e, o->symbol));
    write_sum(&e->body, o, l, " + ");
}
