// The data of a page as JSON. Strings are escaped so that they can stand in an HTML script element.
#include "data.h"
#include "fused.h"
#include "grads.h"
#include "traffic.h"
#include "tools/cli/util/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Words --------------------------------------------------------------------------------------

void write_json_number(FILE *to, double x)
{
    bool whole = fabs(x) < 0x1p53 && x == floor(x) && x != 0.0; // -0 keeps its sign
    if (!isfinite(x))
        fputs("null", to);
    else
        fprintf(to, whole ? "%.0f" : "%.9g", x);
}

static void write_field(FILE *to, const char *name, const char *text)
{
    fprintf(to, "\"%s\":", name);
    write_json_text(to, text);
}

static void write_indices(FILE *to, const int32_t *list, int32_t n)
{
    fputc('[', to);
    for (int32_t i = 0; i < n; i++)
        fprintf(to, i ? ",%d" : "%d", list[i]);
    fputc(']', to);
}

static void write_shape(FILE *to, const samba_shape *shape)
{
    write_indices(to, shape->dim, shape->ndim);
}

// ---- Tensors ------------------------------------------------------------------------------------

// Which nodes read each symbol, and which makes it: lists in one array.
typedef struct readers {
    int32_t *begin, *list, *maker;
} readers;

static bool find_readers(readers *r, const model *m)
{
    int32_t n = m->pef.n_symbols, total = 0;
    r->begin = calloc((size_t)n + 2, sizeof *r->begin);
    r->maker = malloc(((size_t)n + 1) * sizeof *r->maker);
    for (int32_t i = 0; i < m->pef.n_nodes; i++)
        total += m->nodes[i].n_in;
    r->list = malloc(((size_t)total + 1) * sizeof *r->list);
    if (!r->begin || !r->maker || !r->list) return false;
    for (int32_t i = 0; i < n; i++)
        r->maker[i] = -1;
    for (int32_t i = 0; i < m->pef.n_nodes; i++) {
        const node *q = &m->nodes[i];
        for (int32_t k = 0; k < q->n_in; k++)
            if (q->in[k] >= 0) r->begin[q->in[k] + 1]++;
        for (int32_t o = 0; o < q->n_out; o++)
            if (q->out[o] >= 0 && r->maker[q->out[o]] < 0) r->maker[q->out[o]] = i;
    }
    for (int32_t i = 0; i < n; i++)
        r->begin[i + 1] += r->begin[i];
    for (int32_t i = m->pef.n_nodes - 1; i >= 0; i--) { // lists fill from their ends
        const node *q = &m->nodes[i];
        for (int32_t k = 0; k < q->n_in; k++)
            if (q->in[k] >= 0) r->list[--r->begin[q->in[k] + 1]] = i;
    }
    for (int32_t i = 0; i < n; i++)
        r->begin[i] = r->begin[i + 1];
    r->begin[n] = total;
    for (int32_t i = 0; i < m->pef.n_nodes; i++)
        for (int32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] < 0) r->begin[n]--; // absent inputs have no reader
    return true;
}

static void free_readers(readers *r)
{
    free(r->begin);
    free(r->list);
    free(r->maker);
}

static void write_used(FILE *to, const readers *r, int32_t i)
{
    fputs(",\"used\":[", to);
    for (int32_t k = r->begin[i]; k < r->begin[i + 1]; k++) {
        bool again = k > r->begin[i] && r->list[k] == r->list[k - 1];
        if (!again) fprintf(to, k > r->begin[i] ? ",%d" : "%d", r->list[k]);
    }
    fputc(']', to);
}

// A temporary has no name of its own in some files: then it is called as what makes it.
static const char *name_of(const model *m, const readers *r, int32_t i)
{
    const char *name = m->symbols[i].name;
    if (*name) return name;
    if (r->maker[i] >= 0) return m->nodes[r->maker[i]].name;
    return m->symbols[i].role == SAMBA_ROLE_SCRATCH ? m->nodes[m->symbols[i].first].name : "";
}

static const char *word_of(const symbol *s)
{
    if (s->role == SAMBA_ROLE_STATE && !s->generated) return "buffer";
    return role_word(s->role);
}

// Does it have a value before a run? Nodes may update it then.
static bool is_leaf(const symbol *s)
{
    return s->role == SAMBA_ROLE_INPUT || s->role == SAMBA_ROLE_WEIGHT
        || s->role == SAMBA_ROLE_STATE || s->role == SAMBA_ROLE_ARGIN
        || s->role == SAMBA_ROLE_CONSTANT;
}

// "grad" is one tensor, "grads" what the gradient is the sum of.
static void write_gradient(FILE *to, const model *m, const gradient *g, int32_t i)
{
    int32_t single = single_part(m, g, i);
    if (single >= 0) fprintf(to, ",\"grad\":%d", single);
    if (g->n > 0 && single < 0) fputs(",\"grads\":[", to);
    for (int32_t k = 0; single < 0 && k < g->n; k++) {
        const part *p = &g->parts[k];
        fprintf(to, "%s{\"tensor\":%d", k ? "," : "", p->tensor);
        if (p->n_axes) fputs(",\"axes\":", to);
        if (p->n_axes) write_indices(to, p->axes, p->n_axes);
        fputc('}', to);
    }
    if (g->n > 0 && single < 0) fputc(']', to);
    if (g->n > 0 || !g->why) return;
    fputc(',', to);
    write_field(to, "no_grad", g->why);
}

static void write_tensor(FILE *to, const model *m, const readers *r, int32_t i, const gradient *g)
{
    const symbol *s = &m->symbols[i];
    fputs(i ? ",\n{" : "{", to);
    write_field(to, "name", name_of(m, r, i));
    fprintf(to, ",\"role\":\"%s\",\"dtype\":\"%s\",\"shape\":", word_of(s),
            samba_dtype_name(s->spec.dtype));
    write_shape(to, &s->spec.shape);
    fprintf(to, ",\"bytes\":%" PRIu64, s->size);
    write_gradient(to, m, g, i);
    if (s->view_of >= 0) fprintf(to, ",\"view_of\":%d", s->view_of);
    if (s->batch_dim >= 0) fprintf(to, ",\"batch_dim\":%d", s->batch_dim);
    fprintf(to, ",\"place\":{\"pool\":%d,\"offset\":%" PRIu64 "},\"made\":%d", s->region, s->offset,
            is_leaf(s) ? -1 : r->maker[i]);
    if (is_leaf(s) && r->maker[i] >= 0) fprintf(to, ",\"updated\":%d", r->maker[i]);
    write_used(to, r, i);
    fputc('}', to);
}

static void write_tensors(FILE *to, const model *m)
{
    readers r = { NULL, NULL, NULL };
    fputs("\"tensors\":[", to);
    gradient *grads = find_gradients(m);
    bool fine = find_readers(&r, m) && grads;
    for (int32_t i = 0; fine && i < m->pef.n_symbols; i++)
        write_tensor(to, m, &r, i, &grads[i]);
    fputs("],\n", to);
    free_readers(&r);
    free(grads);
}

// ---- Nodes --------------------------------------------------------------------------------------

static void write_word(FILE *to, char kind, int32_t word)
{
    switch (kind) {
    case 'f':
        write_json_number(to, samba_attr_float(word));
        break;
    case 'b':
        fputs(word ? "true" : "false", to);
        break;
    case 't':
        fprintf(to, "\"%s\"", samba_dtype_name((samba_dtype)word));
        break;
    case 'x':
        fprintf(to, "\"%08x\"", (unsigned)word);
        break;
    default:
        fprintf(to, "%d", word);
        break;
    }
}

// A mask of axes as their list.
static void write_axes(FILE *to, int32_t mask)
{
    bool first = true;
    fputc('[', to);
    for (int32_t i = 0; i < SAMBA_MAX_DIMS; i++) {
        if (!(mask >> i & 1)) continue;
        fprintf(to, first ? "%d" : ",%d", i);
        first = false;
    }
    fputc(']', to);
}

static void write_attribute(FILE *to, const node *n, const char *name, char kind, bool list)
{
    int32_t words[SAMBA_MAX_ATTR];
    int32_t count = samba_pef_attr(n, name, words, SAMBA_MAX_ATTR);
    if (kind == 'm' && count > 0) {
        write_axes(to, words[0]);
        return;
    }
    if (count != 1 || list) fputc('[', to);
    for (int32_t i = 0; i < count; i++) {
        if (i) fputc(',', to);
        write_word(to, kind, words[i]);
    }
    if (count != 1 || list) fputc(']', to);
}

// What kind the attribute has whose name ends at p: behind the next colon, as samba_op.attributes.
static char kind_at(const char *p, bool *list)
{
    const char *colon = strchr(p, ':');
    *list = colon && colon[1] && (colon[2] == '*' || (colon[2] >= '2' && colon[2] <= '9'));
    return colon ? colon[1] : 'i';
}

// "stride:i2 padding:i2", "begin,end,step:i*".
static void write_attributes(FILE *to, const node *n)
{
    const char *p = n->attributes ? n->attributes : "";
    bool first = true;
    fputs(",\"attr\":{", to);
    while (*p) {
        char name[64];
        size_t length = strcspn(p, ",: ");
        bool list;
        char kind = kind_at(p, &list);
        if (length > 0 && length < sizeof name) {
            memcpy(name, p, length);
            name[length] = 0;
            int32_t none;
            if (samba_pef_attr(n, name, &none, 0) > 0) {
                fprintf(to, first ? "\"%s\":" : ",\"%s\":", name);
                write_attribute(to, n, name, kind, list);
                first = false;
            }
        }
        p += length;
        if (*p == ':') p += strcspn(p, " ");
        p += strspn(p, ", ");
    }
    for (int32_t i = 0; !n->attributes && i < n->n_attr; i++)
        fprintf(to, i ? ",\"%d\":%d" : "\"%d\":%d", i, n->attr[i]);
    fputc('}', to);
}

static void write_layer(FILE *to, const char *path)
{
    char part[1024];
    bool first = true;
    fputs(",\"layer\":[", to);
    while (*path) {
        size_t n = strcspn(path, "\n"), kept = n < sizeof part ? n : sizeof part - 1;
        memcpy(part, path, kept);
        part[kept] = 0;
        if (!first) fputc(',', to);
        write_json_text(to, part);
        first = false;
        path += n + (path[n] == '\n');
    }
    fputc(']', to);
}

// Are its FLOPs an estimate? Attention skips blocks that its mask hides; and where dy is stretched
// by strides, some taps meet nothing, at the edges more of them.
static bool is_estimate(const node *n)
{
    int32_t stride[2] = { 1, 1 };
    if (!n->op) return false;
    if (strncmp(n->op, "scaled_dot_product_attention", 28) == 0) return true;
    samba_pef_attr(n, "stride", stride, 2);
    return strcmp(n->op, "convolution_backward_input") == 0 && (stride[0] > 1 || stride[1] > 1);
}

static void write_node(FILE *to, const page_data *d, int32_t i)
{
    const model *m = d->model;
    const node *n = &m->nodes[i];
    bool view = is_view(m, i);
    fputs(i ? ",\n{" : "{", to);
    write_field(to, "name", n->name);
    fputc(',', to);
    write_field(to, "op", n->op ? n->op : "an op of your own");
    fprintf(to, ",\"section\":%d,\"kind\":\"%s\",\"in\":", m->section_of[i], kind_of(m, i));
    write_indices(to, n->in, n->n_in);
    fputs(",\"out\":", to);
    write_indices(to, n->out, n->n_out);
    write_attributes(to, n);
    write_layer(to, m->layer[i]);
    if (is_estimate(n)) fputs(",\"about\":true", to);
    fprintf(to, ",\"flops\":%" PRId64 ",\"bytes\":%" PRId64 ",\"view\":%s", view ? 0 : n->flops,
            bytes_of(m, i), view ? "true" : "false");
    if (d->times->node) fprintf(to, ",\"seconds\":%.4g", d->times->node[i]);
    fputc('}', to);
}

static void write_nodes(FILE *to, const page_data *d)
{
    fputs("\"nodes\":[", to);
    for (int32_t i = 0; i < d->model->pef.n_nodes; i++)
        write_node(to, d, i);
    fputs("],\n", to);
}

// ---- Sections and graphs ------------------------------------------------------------------------

typedef struct section_sum {
    int64_t flops, bytes;
} section_sum;

static section_sum sum_section(const model *m, const section *q)
{
    section_sum sum = { 0, 0 };
    for (int32_t i = q->first; i < q->first + q->n; i++) {
        sum.flops += is_view(m, i) ? 0 : m->nodes[i].flops;
        sum.bytes += bytes_of(m, i);
    }
    return sum;
}

static void write_graphs(FILE *to, const model *m)
{
    fputs("\"graphs\":[", to);
    for (int32_t i = 0; i < m->pef.n_sections; i++) {
        if (!begins_graph(m, i)) continue;
        if (i > 0) fputc(',', to);
        write_json_text(to, graph_of(m, i));
    }
    fputs("],\n", to);
}

static void write_sections(FILE *to, const page_data *d)
{
    const model *m = d->model;
    int32_t graph = -1;
    fputs("\"sections\":[", to);
    for (int32_t i = 0; i < m->pef.n_sections; i++) {
        const section *q = &m->sections[i];
        graph += begins_graph(m, i);
        section_sum sum = sum_section(m, q);
        fprintf(to,
                "%s{\"type\":\"%s\",\"graph\":%d,\"first\":%d,\"end\":%d,\"flops\":%" PRId64
                ",\"bytes\":%" PRId64,
                i ? ",\n" : "", section_name(q->type), graph, q->first, q->first + q->n, sum.flops,
                sum.bytes);
        if (d->times->section) fprintf(to, ",\"seconds\":%.4g", d->times->section[i]);
        fputc('}', to);
    }
    fputs("],\n", to);
}

// ---- What was seen ------------------------------------------------------------------------------

void write_snapshot(FILE *to, const snapshot *s, const capture *c, int32_t first_block)
{
    fprintf(to, "{\"tensor\":%d,\"step\":%d,\"node\":%d", s->tensor, s->step, s->node);
    if (c->m->pef.microbatches > 1) fprintf(to, ",\"microbatch\":%d", s->microbatch);
    const double figures[] = { s->min, s->max, s->mean, s->std };
    static const char *const names[] = { "min", "max", "mean", "std" };
    for (int i = 0; i < 4; i++) {
        fprintf(to, ",\"%s\":", names[i]);
        write_json_number(to, s->no_finite ? NAN : figures[i]);
    }
    fprintf(to, ",\"zeros\":%" PRId64 ",\"nan\":%" PRId64 ",\"inf\":%" PRId64, s->zeros, s->nan,
            s->inf);
    if (!s->no_finite) {
        fputs(",\"histogram\":{\"low\":", to);
        write_json_number(to, s->low);
        fputs(",\"high\":", to);
        write_json_number(to, s->high);
        fputs(",\"counts\":[", to);
        for (int i = 0; i < BINS; i++)
            fprintf(to, i ? ",%" PRId64 : "%" PRId64, s->counts[i]);
        fputs("]}", to);
    }
    if (s->block >= 0) {
        int64_t kept = c->blocks[s->block].n;
        fprintf(to, ",\"block\":%d", first_block + s->block);
        if (kept < s->n) fprintf(to, ",\"kept\":%" PRId64, kept);
    }
    fputc('}', to);
}

static void write_runs(FILE *to, const page_data *d)
{
    fputs("\"runs\":[", to);
    for (int32_t i = 0; i < d->n_steps; i++) {
        fprintf(to, "%s{\"step\":%d", i ? "," : "", i);
        if (d->losses) fputs(",\"loss\":", to);
        if (d->losses) write_json_number(to, d->losses[i]);
        fputc('}', to);
    }
    fputs("],\n\"snapshots\":[", to);
    for (int32_t i = 0; i < d->capture->n_snapshots; i++) {
        if (i) fputs(",\n", to);
        write_snapshot(to, &d->capture->snapshots[i], d->capture, 0);
    }
    fputs("],\n", to);
}

static void write_memory(FILE *to, const memory_map *map)
{
    fprintf(to, "\"memory\":{\"promised\":%" PRIu64 ",\"peak\":%d,\"pools\":[", map->promised,
            map->peak);
    for (int i = 0; i < N_POOLS; i++) {
        fputs(i ? ",{" : "{", to);
        write_field(to, "name", map->pools[i].name);
        fprintf(to, ",\"bytes\":%" PRIu64 "}", map->pools[i].bytes);
    }
    fputs("],\"spans\":[", to);
    for (int32_t i = 0; i < map->n_spans; i++) {
        const span *s = &map->spans[i];
        fprintf(to,
                "%s{\"pool\":%d,\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64
                ",\"from\":%d,\"to\":%d,",
                i ? ",\n" : "", s->pool, s->offset, s->bytes, s->from, s->to);
        if (s->tensor >= 0)
            fprintf(to, "\"tensor\":%d", s->tensor);
        else
            write_field(to, "owner", s->owner);
        fputc('}', to);
    }
    fputs("]},\n", to);
}

static void write_attention(FILE *to, const capture *c)
{
    fputs("\"attention\":[", to);
    for (int32_t i = 0; i < c->n_attentions; i++) {
        const attention *a = &c->attentions[i];
        fprintf(to,
                "%s{\"node\":%d,\"step\":%d,\"block\":%d,\"causal\":%s,\"shape\":", i ? "," : "",
                a->node, a->step, a->block, a->causal ? "true" : "false");
        write_shape(to, &a->shape);
        fputs(",\"whole\":", to);
        write_shape(to, &a->whole);
        fputc('}', to);
    }
    fputs("],\n", to);
}

static void write_call(FILE *to, const node *n, bool first)
{
    fputs(first ? "{" : ",{", to);
    write_field(to, "op", n->op ? n->op : "an op of your own");
    fputc(',', to);
    write_field(to, "name", n->name);
    fputc('}', to);
}

// The nodes of [begin, end) that do something, as a list of calls, or as one called A + B.
static void write_calls(FILE *to, const model *m, int32_t begin, int32_t end)
{
    bool first = true;
    fputc('[', to);
    for (int32_t i = begin; i < end; i++) {
        if (is_view(m, i)) continue;
        write_call(to, &m->nodes[i], first);
        first = false;
    }
    fputc(']', to);
}

static void write_joined(FILE *to, const model *m, int32_t begin, int32_t end)
{
    char op[512] = "";
    for (int32_t i = begin; i < end; i++) {
        const char *name = m->nodes[i].op ? m->nodes[i].op : "own op";
        if (is_view(m, i) || strlen(op) + strlen(name) + 4 > sizeof op) continue;
        if (*op) strcat(op, " + ");
        strcat(op, name);
    }
    fputs("[{", to);
    write_field(to, "op", op);
    fputc(',', to);
    write_field(to, "name", m->nodes[begin].name);
    fputs("}]", to);
}

// What is fused when the program is loaded. False: nothing.
static bool write_fused(FILE *to, const model *m)
{
    bool any = false;
    for (int32_t i = 0, end; i < m->pef.n_nodes; i = end) {
        int32_t working = 0;
        end = i + fused_nodes(m->session, i);
        for (int32_t k = i; k < end; k++)
            working += !is_view(m, k);
        if (working < 2) continue;
        fputs(any ? ",\n{" : "{", to);
        write_field(to, "pass", "run together on a part of their elements at a time");
        fputs(",\"before\":", to);
        write_calls(to, m, i, end);
        fputs(",\"after\":", to);
        write_joined(to, m, i, end);
        fputc('}', to);
        any = true;
    }
    return any;
}

static const model *sorted; // of the nodes that qsort compares

static const char *op_of(const node *n)
{
    return n->op ? n->op : "";
}

static bool alike(const node *a, const node *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(op_of(a), op_of(b)) == 0;
}

// By name, by op, then in their order.
static int by_name(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, k = *(const int32_t *)b;
    const node *x = &sorted->nodes[i], *y = &sorted->nodes[k];
    int name = strcmp(x->name, y->name), op = strcmp(op_of(x), op_of(y));
    if (name != 0) return name;
    return op != 0 ? op : (i > k) - (i < k);
}

// Of each backward node the forward node that it is a copy of, with its name and op; -1: none.
// NULL: no memory.
static int32_t *find_repeated(const model *m)
{
    size_t n = (size_t)m->pef.n_nodes;
    int32_t *list = malloc((n + 1) * sizeof *list), *of = malloc((n + 1) * sizeof *of);
    for (size_t i = 0; list && i < n; i++)
        list[i] = (int32_t)i;
    sorted = m;
    if (list) qsort(list, n, sizeof *list, by_name);

    size_t first = 0;
    for (size_t i = 0; list && of && i < n; i++) {
        const node *here = &m->nodes[list[i]];
        if (!alike(here, &m->nodes[list[first]])) first = i;
        bool copy = i > first && here->op && strcmp(kind_of(m, list[i]), "backward") == 0;
        of[list[i]] = copy ? list[first] : -1;
    }

    bool fine = list != NULL;
    free(list);
    if (fine) return of;
    free(of);
    return NULL;
}

// What the backward pass computes again. True: something stands in the list now.
static bool write_repeated(FILE *to, const model *m, bool any)
{
    int32_t *repeated = find_repeated(m);
    for (int32_t i = 0; repeated && i < m->pef.n_nodes; i++) {
        int32_t of = repeated[i];
        if (of < 0) continue;
        fputs(any ? ",\n{" : "{", to);
        write_field(to, "pass", "computed again in the backward pass, to save memory");
        fputs(",\"before\":[", to);
        write_call(to, &m->nodes[of], true);
        fputs("],\"after\":[", to);
        write_call(to, &m->nodes[of], true);
        write_call(to, &m->nodes[i], false);
        fputs("]}", to);
        any = true;
    }
    free(repeated);
    return any;
}

static void write_rewritten(FILE *to, const char *side, const rewrite_call *call)
{
    fprintf(to, ",\"%s\":[{", side);
    write_field(to, "op", call->op);
    fputc(',', to);
    write_field(to, "name", call->name);
    fputs("}]", to);
}

static void write_rewrites(FILE *to, const model *m)
{
    fputs("\"rewrites\":[", to);
    bool any = write_repeated(to, m, write_fused(to, m));
    for (int32_t i = 0; m->map && i < m->map->n_rewrites; i++) {
        const rewrite *r = &m->map->rewrites[i];
        fputs(i || any ? ",\n{" : "{", to);
        write_field(to, "pass", r->pass);
        write_rewritten(to, "before", &r->before);
        write_rewritten(to, "after", &r->after);
        fputc('}', to);
    }
    fputs("],\n", to);
}

static void write_notes(FILE *to, const char *notes)
{
    bool first = true;
    fputs("\"notes\":[", to);
    while (notes && *notes) {
        char line[1100];
        size_t n = strcspn(notes, "\n"), kept = n < sizeof line ? n : sizeof line - 1;
        memcpy(line, notes, kept);
        line[kept] = 0;
        if (!first) fputc(',', to);
        write_json_text(to, line);
        first = false;
        notes += n + (notes[n] == '\n');
    }
    fputs("],\n", to);
}

static void write_tokens(FILE *to, const page_data *d)
{
    fputs("\"text\":{\"tokens\":[", to);
    for (int32_t i = 0; i < d->n_tokens; i++) {
        if (i) fputc(',', to);
        write_json_text(to, d->tokens[i]);
    }
    fputs("]},\n", to);
}

void write_data(FILE *to, const page_data *d)
{
    const machine *k = d->machine;
    fputs("{\"format\":1,", to);
    write_field(to, "title", d->title);
    fputc(',', to);
    write_field(to, "command", d->command);
    fprintf(to, ",\"samba\":\"%s\",\n\"machine\":{", SAMBA_VERSION);
    write_field(to, "name", k->name);
    fprintf(to, ",\"threads\":%d", k->threads);
    if (k->gflops > 0.0) fprintf(to, ",\"gflops\":%.4g,\"gbytes\":%.4g", k->gflops, k->gbytes);
    fprintf(to, ",\"runs\":%d},\n\"microbatches\":%d,", d->times->runs, d->model->pef.microbatches);
    if (d->model->is_drawn) fputs("\"drawn\":true,", to);
    write_notes(to, d->model->notes);
    write_graphs(to, d->model);
    write_tensors(to, d->model);
    write_nodes(to, d);
    write_sections(to, d);
    write_runs(to, d);
    write_memory(to, d->memory);
    write_attention(to, d->capture);
    write_rewrites(to, d->model);
    if (d->comparison) write_comparison(to, d->comparison, d->other, d->capture->n_blocks);
    if (d->open_node >= 0) {
        fprintf(to, "\"open\":{\"node\":%d,", d->open_node);
        if (d->open_tensor >= 0) fprintf(to, "\"tensor\":%d,", d->open_tensor);
        write_field(to, "message", d->open_message);
        fputs("},\n", to);
    }
    if (d->n_tokens) write_tokens(to, d);
    fputs("\"end\":true}\n", to);
}
