// Probabilities of attention, per head, from the q and k that a node reads.
#include "capture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The part of an attention that is kept: (batch, heads, queries, keys).
typedef struct scores {
    const float *q, *k;
    int64_t batch, heads, queries, keys, width; // of all
    int64_t b, t, s;                            // kept
    float scale;
    bool causal;
    const samba_args *args; // for the mask, its input 3
} scores;

// Dimension d of a shape, counted from its end; 1 if there are not as many.
static int64_t from_end(const samba_shape *shape, int32_t d)
{
    return shape->ndim > d ? shape->dim[shape->ndim - 1 - d] : 1;
}

// What the mask adds to a score; -INFINITY: the key may not be looked at.
static float masked(const scores *a, int64_t b, int64_t h, int64_t t, int64_t s)
{
    const samba_args *args = a->args;
    if (a->causal && s > t) return -INFINITY;
    if (args->n_in < 4 || !args->in[3]) return 0.0f;
    const samba_spec *mask = &args->in_spec[3];
    const int64_t place[4] = { s, t, h, b };
    int64_t at = 0, step = 1;
    for (int32_t d = 0; d < 4; d++) {
        int64_t dim = from_end(&mask->shape, d);
        if (dim > 1) at += place[d] * step;
        step *= dim;
    }
    if (mask->dtype == SAMBA_BOOL) return ((const uint8_t *)args->in[3])[at] ? 0.0f : -INFINITY;
    float term;
    load_numbers(&term, args->in[3], mask->dtype, at, 1);
    return term;
}

static void softmax_row(const scores *a, int64_t b, int64_t h, int64_t t, double *row, float *to)
{
    const float *q = a->q + ((b * a->heads + h) * a->queries + t) * a->width;
    double most = -INFINITY, sum = 0.0;
    for (int64_t s = 0; s < a->keys; s++) {
        const float *k = a->k + ((b * a->heads + h) * a->keys + s) * a->width;
        double dot = 0.0, term = masked(a, b, h, t, s);
        if (term == -INFINITY) {
            row[s] = -INFINITY;
            continue;
        }
        for (int64_t d = 0; d < a->width; d++)
            dot += (double)q[d] * k[d];
        row[s] = dot * a->scale + term;
        if (row[s] > most || isnan(row[s])) most = row[s]; // a NaN stays, and makes all NaN
    }
    for (int64_t s = 0; s < a->keys; s++) {
        row[s] = most == -INFINITY ? 0.0 : exp(row[s] - most);
        sum += row[s];
    }
    for (int64_t s = 0; s < a->s; s++)
        to[s] = most == -INFINITY ? 0.0f : (float)(row[s] / sum);
}

// As many elements of the batch as there is room for, or the first tokens of one.
static void choose_part(scores *a, int64_t budget)
{
    int64_t each = a->heads * a->queries * a->keys;
    a->b = budget / each < a->batch ? budget / each : a->batch;
    a->t = a->queries;
    a->s = a->keys;
    if (a->b > 0) return;
    a->b = 1;
    while (a->t > 1 && a->heads * a->t * (a->t < a->s ? a->t : a->s) > budget)
        a->t--;
    if (a->s > a->t && a->causal) a->s = a->t;
    while (a->s > 1 && a->heads * a->t * a->s > budget)
        a->s--;
}

static bool add_attention(capture *c, const attention *a)
{
    attention *more = realloc(c->attentions, ((size_t)c->n_attentions + 1) * sizeof *more);
    if (!more) return false;
    c->attentions = more;
    c->attentions[c->n_attentions++] = *a;
    return true;
}

static samba_shape shape_of(int64_t b, int64_t h, int64_t t, int64_t s)
{
    samba_shape shape = { 4, { (int32_t)b, (int32_t)h, (int32_t)t, (int32_t)s } };
    return shape;
}

// The attributes of the op: causal, scale.
static void describe(scores *a, const node *n, const samba_args *args)
{
    const samba_shape *q = &args->in_spec[0].shape;
    int32_t word = 0;
    memset(a, 0, sizeof *a);
    a->args = args;
    a->width = from_end(q, 0);
    a->queries = from_end(q, 1);
    a->heads = from_end(q, 2);
    a->batch = samba_count(q) / (a->width * a->queries * a->heads);
    a->keys = from_end(&args->in_spec[1].shape, 1);
    a->causal = samba_pef_attr(n, "causal", &word, 1) && word;
    a->scale = samba_pef_attr(n, "scale", &word, 1) ? samba_attr_float(word) : 1.0f;
}

static float *as_floats(const void *data, const samba_spec *spec)
{
    int64_t n = samba_count(&spec->shape);
    float *to = malloc((size_t)n * sizeof *to);
    if (to) load_numbers(to, data, spec->dtype, 0, n);
    return to;
}

void capture_attention(capture *c, int32_t node, const samba_args *args)
{
    scores a;
    describe(&a, &c->m->nodes[node], args);
    // Of all steps, if there is room for all of each; else of the first one.
    int64_t each = a.batch * a.heads * a.queries * a.keys, share = c->attention_budget / c->n_steps;
    if (c->step > 0 && each > share) return;
    choose_part(&a, c->attention_budget);
    int64_t n = a.b * a.heads * a.t * a.s;
    float *q = as_floats(args->in[0], &args->in_spec[0]);
    float *k = as_floats(args->in[1], &args->in_spec[1]);
    float *p = malloc((size_t)n * sizeof *p);
    double *row = malloc((size_t)a.keys * sizeof *row);
    if (q && k && p && row) {
        float *to = p;
        a.q = q;
        a.k = k;
        for (int64_t b = 0; b < a.b; b++)
            for (int64_t h = 0; h < a.heads; h++)
                for (int64_t t = 0; t < a.t; t++, to += a.s)
                    softmax_row(&a, b, h, t, row, to);
        attention found = { node,
                            c->step,
                            keep_values(c, p, n),
                            a.causal,
                            shape_of(a.b, a.heads, a.t, a.s),
                            shape_of(a.batch, a.heads, a.queries, a.keys) };
        if (!add_attention(c, &found)) c->failed = true;
    } else
        c->failed = true;
    free(q);
    free(k);
    free(p);
    free(row);
}
