/* What two models make of the same inputs. Each runs in a thread of its own, and waits at each node
   for the other: so both are looked at while their values are there, and nothing is copied. */
#include "diff.h"
#include "inputs.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// ---- Elements -----------------------------------------------------------------------------------

static bool element_differs(double a, double b, double tolerance)
{
    double most = fmax(1.0, fmax(fabs(a), fabs(b)));
    if (a == b || (isnan(a) && isnan(b))) return false;
    return !(fabs(a - b) <= tolerance * most);
}

static void compare_elements(difference *d, samba_dtype type, const void *a, const void *b,
                             double tolerance)
{
    enum { CHUNK = 1024 };

    double x[CHUNK], y[CHUNK];
    d->index = -1;
    if (memcmp(a, b, (size_t)d->count * samba_dtype_size(type)) == 0) return;
    for (int64_t at = 0; at < d->count; at += CHUNK) {
        int64_t n = d->count - at < CHUNK ? d->count - at : CHUNK;
        load_doubles(x, a, type, at, n);
        load_doubles(y, b, type, at, n);
        for (int64_t i = 0; i < n; i++) {
            double p = x[i], q = y[i], away = fabs(p - q), most = fmax(fabs(p), fabs(q));
            if (isfinite(away) && away > d->max_abs) d->max_abs = away;
            if (isfinite(away) && away > d->max_rel * most) d->max_rel = away / most;
            if (!element_differs(p, q, tolerance)) continue;
            if (d->different++ > 0) continue;
            d->index = at + i;
            d->a = p;
            d->b = q;
        }
    }
}

bool add_difference(comparison *c, const difference *of, samba_dtype type, const void *a,
                    const void *b, double tolerance)
{
    difference d = *of, *more;
    size_t length = strlen(of->name) + 1;
    bool full = c->n_tensors == 0 || (c->n_tensors & (c->n_tensors - 1)) == 0;
    more = full ? realloc(c->tensors, 2 * ((size_t)c->n_tensors + 1) * sizeof *more) : c->tensors;
    if (!more) return false;
    c->tensors = more;
    d.name = malloc(length);
    if (!d.name) return false;
    memcpy(d.name, of->name, length);
    compare_elements(&d, type, a, b, tolerance);
    if (d.different > 0 && c->first < 0) c->first = c->n_tensors;
    c->n_different += d.different > 0;
    c->tensors[c->n_tensors++] = d;
    return true;
}

// ---- Side by side -------------------------------------------------------------------------------

typedef struct side {
    struct meeting *meeting;
    model model;
    int which; // 0 or 1
    bool waiting, done, go, fine;
    int32_t node;
    bool begins;
    const samba_args *args;
    fault why;
} side;

typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    side side[2];
    comparison *c;
    bool *paired; // of each node of model 1
    bool *seen;   // of each tensor of model 0: what it held at first is compared
    int32_t step;
    double tolerance;
    bool no_memory;
} meeting;

// Both tensors are of the nodes at which the two wait; which: the number of the input or output.
static void compare_tensor(meeting *m, int32_t which, const samba_spec *spec, const void *a,
                           const void *b)
{
    const side *x = &m->side[0], *y = &m->side[1];
    const node *n = &x->model.nodes[x->node], *other = &y->model.nodes[y->node];
    difference d;
    memset(&d, 0, sizeof d);
    d.tensor = x->begins ? n->in[which] : n->out[which];
    d.other_tensor = x->begins ? other->in[which] : other->out[which];
    d.node = x->begins ? -1 : x->node;
    d.other_node = x->begins ? -1 : y->node;
    d.step = m->step;
    d.microbatch = x->args->microbatch;
    d.held = -1;
    const symbol *s = &x->model.symbols[d.tensor];
    d.name = (char *)(uintptr_t)(*s->name ? s->name : n->name);
    d.shape = spec->shape;
    d.count = samba_count(&spec->shape);
    if (!add_difference(m->c, &d, spec->dtype, a, b, m->tolerance)) m->no_memory = true;
}

static bool same_size(const samba_spec *a, const samba_spec *b)
{
    return a->dtype == b->dtype && samba_count(&a->shape) == samba_count(&b->shape);
}

// Both are at nodes that are a pair: leaves that they read first, or what they have made.
static void compare_nodes(meeting *m)
{
    const samba_args *a = m->side[0].args, *b = m->side[1].args;
    const node *n = &m->side[0].model.nodes[m->side[0].node];
    bool begins = m->side[0].begins;
    int32_t count = begins ? n->n_in : n->n_out, other = begins ? b->n_in : b->n_out;
    for (int32_t k = 0; k < count && k < other; k++) {
        int32_t tensor = begins ? n->in[k] : n->out[k];
        const void *x = begins ? (const void *)a->in[k] : (const void *)a->out[k];
        const void *y = begins ? (const void *)b->in[k] : (const void *)b->out[k];
        const samba_spec *p = begins ? &a->in_spec[k] : &a->out_spec[k];
        const samba_spec *q = begins ? &b->in_spec[k] : &b->out_spec[k];
        if (tensor < 0 || !x || !y || !same_size(p, q) || (begins && m->seen[tensor])) continue;
        m->seen[tensor] = true;
        compare_tensor(m, k, p, x, y);
    }
}

// Both wait: a pair is compared and goes on, else the one that is behind does.
static void resolve(meeting *m)
{
    side *a = &m->side[0], *b = &m->side[1];
    int32_t partner = m->c->pair[a->node];
    bool together = partner == b->node && a->begins == b->begins
        && a->args->microbatch == b->args->microbatch;
    if (together) compare_nodes(m);
    bool behind = partner < b->node || (partner == b->node && a->begins);
    a->go = together || behind;
    b->go = together || !behind;
    pthread_cond_broadcast(&m->changed);
}

static void meet(int32_t i, const char *name, const samba_op *op, const samba_args *args,
                 bool begins, void *user)
{
    side *s = user;
    meeting *m = s->meeting;
    side *other = &m->side[1 - s->which];
    (void)name;
    (void)op;
    if (s->which == 0 ? m->c->pair[i] < 0 : !m->paired[i]) return;
    pthread_mutex_lock(&m->lock);
    s->node = i;
    s->begins = begins;
    s->args = args;
    s->waiting = true;
    s->go = other->done;
    if (other->waiting && !other->go) resolve(m);
    while (!s->go)
        pthread_cond_wait(&m->changed, &m->lock);
    s->waiting = false;
    pthread_mutex_unlock(&m->lock);
}

static void *run_side(void *context)
{
    side *s = context;
    meeting *m = s->meeting;
    samba_on_node(s->model.session, meet, s);
    s->fine = run_model(&s->model, &s->why);
    samba_on_node(s->model.session, NULL, NULL);
    pthread_mutex_lock(&m->lock);
    s->done = true;
    m->side[1 - s->which].go = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

static bool run_both(meeting *m, fault *why)
{
    pthread_t thread;
    memset(m->seen, 0, (size_t)m->side[0].model.pef.n_symbols * sizeof *m->seen);
    for (int i = 0; i < 2; i++)
        m->side[i].done = m->side[i].waiting = m->side[i].go = false;
    if (pthread_create(&thread, NULL, run_side, &m->side[1]) != 0)
        return fail(why, "no thread can be made for the second model");
    run_side(&m->side[0]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++)
        if (!m->side[i].fine) return fail(why, "%s", m->side[i].why.text);
    return !m->no_memory || fail(why, "no memory for the comparison");
}

static bool prepare(meeting *m, const compare_options *o, fault *why)
{
    const char *const paths[2] = { m->c->a, m->c->b };
    for (int i = 0; i < 2; i++) {
        m->side[i].meeting = m;
        m->side[i].which = i;
        if (!open_model(&m->side[i].model, paths[i], &o->model, why)) return false;
        if (!give_values(&m->side[i].model, o->inputs, o->n_inputs, why)) return false;
    }
    const model *a = &m->side[0].model, *b = &m->side[1].model;
    bool fine = pair_nodes(m->c, a, b);
    m->paired = calloc((size_t)b->pef.n_nodes + 1, sizeof *m->paired);
    m->seen = calloc((size_t)a->pef.n_symbols + 1, sizeof *m->seen);
    m->tolerance = o->tolerance;
    if (!fine || !m->paired || !m->seen) return fail(why, "no memory for the comparison");
    for (int32_t i = 0; i < a->pef.n_nodes; i++)
        if (m->c->pair[i] >= 0) m->paired[m->c->pair[i]] = true;
    return true;
}

bool compare_models(comparison *c, const char *a, const char *b, const compare_options *o,
                    fault *why)
{
    meeting m;
    memset(&m, 0, sizeof m);
    memset(c, 0, sizeof *c);
    c->a = a;
    c->b = b;
    c->first = -1;
    m.c = c;
    pthread_mutex_init(&m.lock, NULL);
    pthread_cond_init(&m.changed, NULL);
    bool fine = prepare(&m, o, why);
    for (m.step = 0; fine && m.step < o->steps; m.step++)
        fine = run_both(&m, why);
    for (int i = 0; i < 2; i++)
        close_model(&m.side[i].model);
    free(m.paired);
    free(m.seen);
    pthread_cond_destroy(&m.changed);
    pthread_mutex_destroy(&m.lock);
    return fine;
}
