// How tests/core/random.c, and each program that it prints, runs one graph in several ways and
// compares the values. Include after samba.h, with its implementation, and samba/parallel.h.
#ifndef RANDOM_RUN_H
#define RANDOM_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Ways to run a program. All zero: the default level, one thread, no limit, as compiled. ----

#define AXES(X) \
    X(level, 3)    /* 0: O3, 1: O0, 2: O1 */ \
    X(sections, 2) /* 1: with level O1, cut where 2 KB are used */ \
    X(mapping, 2)  /* 1: spatial */ \
    X(threads, 4)  /* more than one */ \
    X(portable, 2) /* 1: no SIMD */ \
    X(set, 3)      /* at most this set of instructions; 0: the best */ \
    X(memory, 4)   /* less and less of it: values are computed again */ \
    X(load, 3)     /* 1: the PEF, loaded by a session that traced the graph; 2: that did not */ \
    X(resume, 2)   /* 1: a checkpoint of the first step goes on in a new session */ \
    X(parts, 2)    /* 1: the types of sections are run one after another */ \
    X(packed, 2)   /* 1: an inference program that reads plain weights reads packed f32 */ \
    X(mode, 3)     /* of replicas. 1: inorder, 2: optimal */ \
    X(place, 2)    /* of their reduction. 1: they reduce, each a share */ \
    X(second, 2)   /* 1: a graph that shares the parameters is run between the steps */ \
    X(replicas, 4) /* besides the first one: another program, not another way */ \
    X(int8, 2)     /* 1: an inference program becomes one of int8 ops: the same */ \
    X(whole, 2)    /* 1: one batch instead of microbatches: sums in another order */ \
    X(eager, 2)    /* 1: ops compute at once: the first step, without an optimizer */

enum {

#define X(name, n) AXIS_##name,
    AXES(X)
#undef X
        N_AXES
};

typedef struct way {
    int at[N_AXES];
} way;

enum {
    STEPS = 3,
    MOST_VALUES = 96,
    MOST_LEAVES = 64,
    MOST_ENTRIES = 640,
    MOST_OPTIMS = 2,
    MOST_REPLICAS = 4
};

// ---- A traced program: what `build` makes of a session ----

typedef struct net {
    samba_session *s;
    bool eager; // ops compute at once
    int rows;   // of a batch: dimension 0 of what is batched
    int microbatches;
    samba_tensor *v[MOST_VALUES]; // the values, in the order in which they are made
    samba_tensor *in[MOST_LEAVES];
    int high[MOST_LEAVES], n_in; // of input i: ids below high; negative: -100 among them
    bool batched[MOST_LEAVES];   // is dimension 0 of input i split among replicas?
    samba_tensor *param[MOST_LEAVES], *buffer[MOST_LEAVES];
    int n_params, n_buffers;
    samba_program program;
    samba_optim optim[MOST_OPTIMS];
    samba_tensor *listed[MOST_OPTIMS][MOST_LEAVES];
    struct net *second; // the same once more, as a graph of its own
    const char *prefix; // of the names of its inputs
} net;

typedef void (*build_fn)(net *n);

// The value of element i at a step: the same everywhere. Multiples of 0.5, which make ties, among
// others.
static inline float value_at(const char *name, int step, int64_t i, int high)
{
    uint64_t h = 1469598103934665603u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    h = (h ^ (uint64_t)step) * 1099511628211u;
    h = (h ^ (uint64_t)i) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9u;
    h ^= h >> 32;
    uint32_t bits = (uint32_t)(h >> 8) & 0xFFFF;
    if (high > 0) return (float)((int)bits % high);
    if (high < 0) return h % 4 == 0 ? -100.0f : (float)((int)bits % -high);
    if (h % 4 == 0) return (float)((int)(bits % 9) - 4) * 0.5f;
    return (float)((int)bits - 32768) / 16384.0f;
}

// Fills t with part number `part` of what is t's for all parts.
static inline bool fill_part(samba_tensor *t, int high, int step, int part)
{
    int64_t n = (int64_t)(samba_bytes(t) / samba_dtype_size(t->dtype));
    float *x = (float *)malloc((size_t)n * sizeof *x + 1);
    for (int64_t i = 0; i < n; i++)
        x[i] = value_at(t->name, step, part * n + i, high);
    bool fine = samba_write_f32(t, x, n);
    free(x);
    return fine;
}

static inline bool fill(samba_tensor *t, int high, int step)
{
    return fill_part(t, high, step, 0);
}

// Leaves. batched: microbatches split dimension 0.
static inline samba_tensor *leaf(net *n, const char *name, samba_dtype type, samba_shape shape,
                                 int high, bool batched)
{
    char own[128];
    snprintf(own, sizeof own, "%s%s", n->prefix ? n->prefix : "", name);
    samba_tensor *t
        = n->eager ? samba_zeros(n->s, own, type, shape) : samba_input(n->s, own, type, shape);
    if (!t) return NULL;
    if (n->eager) fill(t, high, 0);
    if (!batched) samba_set_batch_dim(t, -1);
    n->high[n->n_in] = high;
    n->batched[n->n_in] = batched;
    n->in[n->n_in++] = t;
    return t;
}

static inline samba_tensor *param(net *n, const char *name, samba_shape shape, float scale,
                                  bool frozen)
{
    samba_init init = { SAMBA_INIT_NORMAL, 0.0f, scale };
    samba_tensor *t = samba_param(n->s, name, shape, init);
    for (int i = 0; i < n->n_params; i++)
        if (n->param[i] == t) return t;
    if (!t) return NULL;
    if (frozen) samba_set_requires_grad(t, false);
    n->param[n->n_params++] = t;
    return t;
}

static inline samba_tensor *buffer(net *n, const char *name, samba_shape shape, float value)
{
    samba_tensor *t = samba_buffer(n->s, name, shape, value);
    for (int i = 0; i < n->n_buffers; i++)
        if (n->buffer[i] == t) return t;
    if (t) n->buffer[n->n_buffers++] = t;
    return t;
}

static inline samba_tensor *part_of(samba_tensor *x, int size, int axis, int which)
{
    samba_tensor *parts[64];
    int n = samba_split(x, size, axis, parts, 64);
    return which < n ? parts[which] : NULL;
}

static inline samba_tensor *joined(samba_tensor *x, samba_tensor *y, samba_tensor *z, int axis,
                                   bool stacks)
{
    samba_tensor *list[3] = { x, y, z };
    int n = z ? 3 : y ? 2 : 1;
    return stacks ? samba_stack(list, n, axis) : samba_cat(list, n, axis);
}

static inline samba_tensor *gradient(samba_tensor *y, samba_tensor *x)
{
    return samba_grad(samba_sum(y, SAMBA_ALL_AXES, false), x);
}

// ---- What a run gives ----

typedef struct entry {
    char name[320];
    int step;
    int64_t n;
    float *x;
    double loose; // > 0: a sum whose order is not the compiler's
} entry;

typedef struct results {
    entry e[MOST_ENTRIES];
    int n;
    int replica; // of what is kept from now on; 0: there are none
    bool refused;
    char why[1024];
} results;

static inline void results_free(results *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->e[i].x);
    r->n = 0;
}

static inline bool keep_value(results *r, samba_tensor *t, const char *name, int step, double loose)
{
    if (!t || r->n == MOST_ENTRIES) return false;
    entry *e = &r->e[r->n];
    e->n = (int64_t)(samba_bytes(t) / samba_dtype_size(t->dtype));
    e->step = step;
    e->loose = loose;
    if (r->replica)
        snprintf(e->name, sizeof e->name, "%s of replica %d", name, r->replica - 1);
    else
        snprintf(e->name, sizeof e->name, "%s", name);
    e->x = (float *)malloc((size_t)e->n * sizeof *e->x + 1);
    if (samba_copy_out_f32(t, e->x, e->n)) {
        r->n++;
        return true;
    }
    free(e->x);
    return false;
}

static inline bool same_value(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

// The first element at which two values differ; -1: none. loose: by more than this part of the
// largest.
static inline int64_t first_difference(const entry *a, const entry *b, double loose)
{
    double largest = 0;
    if (a->n != b->n) return 0;
    for (int64_t i = 0; loose > 0 && i < a->n; i++) {
        double x = a->x[i] < 0 ? -(double)a->x[i] : (double)a->x[i];
        if (x > largest && x - x == 0) largest = x;
    }
    for (int64_t i = 0; i < a->n; i++) {
        double d = (double)a->x[i] - (double)b->x[i];
        if (same_value(a->x[i], b->x[i])) continue;
        if (loose > 0 && (d < 0 ? -d : d) <= 1e-4 + loose * largest) continue;
        return i;
    }
    return -1;
}

// Do all values agree that both runs have? Outputs must be in both. loose 0: to the bit.
static inline bool agree(const results *a, const results *b, double loose, char *why, size_t size)
{
    if (a->refused || b->refused) {
        snprintf(why, size, "%s", a->refused ? a->why : b->why);
        return a->refused && b->refused;
    }
    for (int i = 0; i < a->n; i++) {
        const entry *x = &a->e[i], *y = NULL;
        bool later = false; // the other run took as many steps
        for (int k = 0; k < b->n; k++) {
            later = later || b->e[k].step >= x->step;
            if (b->e[k].step == x->step && !strcmp(b->e[k].name, x->name)) y = &b->e[k];
        }
        if (!y && later && !strncmp(x->name, "output", 6)) {
            snprintf(why, size, "%s of step %d is not there", x->name, x->step);
            return false;
        }
        if (!y) continue;
        int64_t at = first_difference(x, y,
                                      x->loose > 0       ? x->loose
                                          : y->loose > 0 ? y->loose
                                                         : loose);
        if (at < 0) continue;
        snprintf(why, size, "%s, step %d: element %ld of %ld is %.9g, and %.9g", x->name, x->step,
                 (long)at, (long)x->n, (double)x->x[at], (double)y->x[at < y->n ? at : 0]);
        return false;
    }
    return true;
}

// ---- Running ----

static inline void hear_nothing(samba_log_level level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

static inline samba_session *open_way(const way *w)
{
    samba_desc d = { 0 };
    d.threads = 1 + w->at[AXIS_threads];
    d.portable = w->at[AXIS_portable] == 1;
    d.log = hear_nothing;
    return samba_open(&d);
}

// The same records as a second graph of the session, which makes no step.
static inline void trace_second(net *n, build_fn build)
{
    samba_program *p = &n->program;
    net *second = (net *)calloc(1, sizeof *second);
    n->second = second;
    if (!second || !samba_begin_graph(n->s, "second")) return;
    second->s = n->s;
    second->rows = n->rows;
    second->microbatches = n->microbatches;
    second->prefix = "second";
    build(second);

    samba_tensor *result = second->program.loss ? second->program.loss : second->program.outputs[0];
    int32_t n_outputs = 0;
    while (p->outputs[n_outputs])
        n_outputs++;
    p->outputs[n_outputs] = result;
    if (!result->node) { // an input as it is: no op of this graph is left to run
        free(second);
        n->second = NULL;
    }
}

static inline void trace(net *n, const way *w, build_fn build, int rows, int microbatches)
{
    memset(n, 0, sizeof *n);
    n->s = open_way(w);
    n->eager = w->at[AXIS_eager] == 1;
    n->rows = rows;
    n->microbatches = microbatches;
    if (w->at[AXIS_whole]) {
        n->rows *= microbatches * (1 + w->at[AXIS_replicas]);
        n->microbatches = 1;
    }
    if (n->eager) samba_set_tracing(n->s, false);
    if (w->at[AXIS_second]) samba_begin_graph(n->s, "first");
    build(n);
    n->program.microbatches = n->microbatches;
    if (w->at[AXIS_second]) trace_second(n, build);
}

static inline void set_program(samba_program *p, const way *w)
{
    static const samba_opt_level levels[3] = { SAMBA_O_DEFAULT, SAMBA_O0, SAMBA_O1 };
    p->level = levels[w->at[AXIS_level]];
    p->sram_bytes = w->at[AXIS_sections] && p->level == SAMBA_O1 && !w->at[AXIS_mapping] ? 2048 : 0;
    p->mapping = w->at[AXIS_mapping] ? SAMBA_MAPPING_SPATIAL : SAMBA_MAPPING_SECTION;
}

static inline bool compile_way(net *n, const way *w, const char *pef)
{
    samba_program *p = &n->program;
    set_program(p, w);
    p->pef = pef;
    if (w->at[AXIS_packed] && p->inference && p->weights == SAMBA_WEIGHTS_PLAIN)
        p->weights = SAMBA_WEIGHTS_F32;
    if (!samba_compile(n->s, p) || !w->at[AXIS_memory]) return samba_ok(n->s);
    size_t all = samba_device_bytes(n->s);
    for (size_t percent = 100 - 20 * (size_t)w->at[AXIS_memory]; percent <= 100; percent += 5) {
        p->memory = (int64_t)(all * percent / 100);
        if (samba_compile(n->s, p)) break;
        if (samba_error_code(n->s) != SAMBA_ERANGE) return false;
        samba_clear_error(n->s); // all that can be is computed again, and it is too much
        p->memory = 0;
    }
    return p->memory || samba_compile(n->s, p);
}

// The tensor of s that is called as t; NULL without an error if there is none.
static inline samba_tensor *in_session(samba_session *s, samba_tensor *t, const char *ending)
{
    char name[256];
    if (!t || !samba_ok(s)) return NULL;
    if (!*ending && t->session == s) return t;
    snprintf(name, sizeof name, "%s%s", t->name, ending);
    samba_tensor *found = samba_tensor_by_name(s, name);
    if (!found) samba_clear_error(s);
    if (found || *ending) return found;
    return in_session(s, t, "__mean"); // what microbatches make of a scalar
}

// graph: NULL if there is one alone.
static inline bool run_types(samba_session *s, bool parts, const char *graph)
{
    unsigned types = samba_section_types(s);
    if (!parts || types & SAMBA_ZEROGRAD) return samba_run_graph(s, graph, 0);
    for (unsigned type = SAMBA_FWD; type <= SAMBA_OPT; type *= 2)
        if (types & type && !samba_run_graph(s, graph, type)) return false;
    return true;
}

// Is t a parameter? The optimizer has stepped it, of which eager ops know nothing.
static inline bool is_param(const net *n, const samba_tensor *t)
{
    for (int i = 0; i < n->n_params; i++)
        if (n->param[i] == t) return true;
    return false;
}

static inline void keep_outputs(const net *n, samba_session *s, int step, results *r)
{
    char name[32];
    samba_tensor *loss = n->program.loss;
    for (int i = 0; n->program.outputs[i]; i++) {
        samba_tensor *t = in_session(s, n->program.outputs[i], "");
        snprintf(name, sizeof name, "output %d", i);
        if (t && !is_param(n, n->program.outputs[i])) keep_value(r, t, name, step, 0);
    }
    if (loss && !is_param(n, loss)) keep_value(r, in_session(s, loss, ""), "output loss", step, 0);
}

static inline bool fill_inputs(const net *n, samba_session *s, int step)
{
    for (int i = 0; i < n->n_in; i++) {
        samba_tensor *t = in_session(s, n->in[i], "");
        if (t && !fill(t, n->high[i], step)) return false;
    }
    return true;
}

static inline bool one_step(const net *n, samba_session *s, const way *w, int step, results *r)
{
    const char *names[MOST_LEAVES], *graph = n->second ? "first" : NULL;
    bool parts = w->at[AXIS_parts] && !w->at[AXIS_mapping];
    if (n->second
        && !(fill_inputs(n->second, s, step + 1) && samba_run_graph(s, "second", SAMBA_FWD)))
        return false;
    if (!fill_inputs(n, s, step) || !run_types(s, parts, graph)) return false;
    keep_outputs(n, s, step, r);
    int32_t n_grads = samba_grad_names(s, names, MOST_LEAVES);
    for (int32_t i = 0; i < n_grads && i < MOST_LEAVES; i++)
        keep_value(r, samba_tensor_by_name(s, names[i]), names[i], step, 0);
    return samba_ok(s);
}

// A parameter, or what an optimizer keeps for it.
static inline void keep_part(samba_session *s, results *r, const char *parameter, const char *state)
{
    char name[256], end[64];
    snprintf(end, sizeof end, "%s%s", *state ? "__" : "", state);
    snprintf(name, sizeof name, "%s%s", parameter, end);
    samba_tensor *t = in_session(s, samba_tensor_by_name(s, parameter), end);
    if (t) keep_value(r, t, name, STEPS, 0);
}

// Has no row before the k-th this state? Adam has AdamW's.
static inline bool is_first_with(int k, const char *state)
{
    for (int row = 0; row < k; row++)
        for (int j = 0; samba__optimizers[row].state[j]; j++)
            if (!strcmp(samba__optimizers[row].state[j], state)) return false;
    return true;
}

static inline void keep_state(const net *n, samba_session *s, results *r)
{
    const char *names[MOST_LEAVES];
    int32_t count = samba_weight_names(s, names, MOST_LEAVES);
    for (int32_t i = 0; i < count && i < MOST_LEAVES; i++) {
        keep_part(s, r, names[i], "");
        for (int k = 0; k < SAMBA__N_OPTIMIZERS; k++) {
            for (int j = 0; samba__optimizers[k].state[j]; j++)
                if (is_first_with(k, samba__optimizers[k].state[j]))
                    keep_part(s, r, names[i], samba__optimizers[k].state[j]);
        }
    }
    for (int i = 0; i < n->n_buffers; i++) {
        samba_tensor *t = in_session(s, n->buffer[i], "");
        if (t && !keep_value(r, t, n->buffer[i]->name, STEPS, 0)) samba_clear_error(s);
    }
}

// Random programs train to NaN now and then: that goes on after a checkpoint, too.
static inline void save_any(samba_session *s, const char *path)
{
    samba_save_with(s, path, &(samba_save_opts){ .allow_nonfinite = true });
}

static inline bool refused(results *r, samba_session *s)
{
    r->refused = true;
    snprintf(r->why, sizeof r->why, "%s", samba_error(s));
    samba_clear_error(s);
    return false;
}

// Ops computed at once, and gradients by samba_grad.
static inline void run_eager(net *n, results *r)
{
    char name[256];
    const samba_program *p = &n->program;
    if (!samba_ok(n->s)) {
        refused(r, n->s);
        return;
    }
    keep_outputs(n, n->s, 0, r);
    // Each loss brings its own gradient, where a program adds up before it rounds to bf16.
    double loose = 2e-3;
    for (int i = 0; i < MOST_VALUES; i++) {
        const samba_tensor *t = n->v[i];
        if (t && (t->dtype == SAMBA_BF16 || t->dtype == SAMBA_F16)) loose = 1.0 / 64;
    }
    for (int i = 0; i < n->n_params && !p->inference; i++) {
        samba_tensor *sum = NULL;
        if (n->param[i]->frozen) continue;
        for (int k = -1; k < p->n_loss_indices; k++) {
            samba_tensor *loss = k < 0 ? p->loss : p->outputs[p->loss_indices[k]];
            samba_tensor *g = loss ? gradient(loss, n->param[i]) : NULL;
            bool none = samba_error_code(n->s) == SAMBA_EARG; // it does not depend on it
            samba_clear_error(n->s);
            if (loss && !g && !none) return;
            if (g) sum = sum ? samba_add(sum, g) : g;
        }
        snprintf(name, sizeof name, "%s__grad", n->param[i]->name);
        if (sum && sum->dtype == SAMBA_F32) keep_value(r, sum, name, 0, loose);
    }
}

#ifndef RANDOM_COMPILED
#define RANDOM_COMPILED(s) ((void)(s)) // a look at what was compiled
#endif

// The program that s has loaded uses no better instructions than the way says.
static inline void limit_set(samba_session *s, const way *w)
{
    int32_t most = w->at[AXIS_set];
    if (most && samba_ok(s) && s->program.rt->isa > most) s->program.rt->isa = most;
}

// A new session that goes on with the program of n, from a checkpoint or from its beginning.
static inline samba_session *go_on(const way *w, net *other, build_fn build, const net *n,
                                   const char *pef, const char *checkpoint, bool traces)
{
    samba_session *s = NULL;
    if (!traces) {
        s = open_way(w);
        samba_load(s, checkpoint, NULL);
        limit_set(s, w);
        return s;
    }
    free(other->second); // of the session before this one, if there was any
    trace(other, w, build, n->rows, n->microbatches);
    s = other->s;
    other->program.level = n->program.level;
    other->program.mapping = n->program.mapping;
    other->program.memory = n->program.memory;
    other->program.sram_bytes = n->program.sram_bytes;
    other->program.weights = n->program.weights;
    other->program.quantize = n->program.quantize;
    if (samba_load(s, pef, &other->program) && checkpoint) samba_restore(s, checkpoint);
    limit_set(s, w);
    return s;
}

// ---- Replicas: the program in several sessions, each of which has a part of the batch ----

typedef struct replicas {
    net n[MOST_REPLICAS];
    int count, n_traced, rows, microbatches;
    const way *w;
    build_fn build;
    samba_parallel *p;
} replicas;

static inline bool trace_replica(samba_session *s, int32_t batch, samba_program *program,
                                 void *user)
{
    replicas *all = (replicas *)user;
    net *n = &all->n[all->n_traced++];
    memset(n, 0, sizeof *n);
    n->s = s;
    n->rows = all->rows;
    n->microbatches = all->microbatches;
    if (batch != n->rows * n->microbatches) return false;
    all->build(n);
    n->program.microbatches = n->microbatches;
    set_program(&n->program, all->w);
    *program = n->program;
    return samba_ok(s);
}

static inline bool open_replicas(replicas *all)
{
    static const char *const modes[3] = { "normal", "inorder", "optimal" };
    const way *w = all->w;
    samba_parallel_desc d = { 0 };
    d.replicas = all->count;
    d.batch = all->rows * all->microbatches * all->count;
    d.mode = modes[w->at[AXIS_mode]];
    d.reduce_on_rdu = w->at[AXIS_place] == 1;
    d.trace = trace_replica;
    d.user = all;
    d.session.threads = 1 + w->at[AXIS_threads];
    d.session.portable = w->at[AXIS_portable] == 1;
    d.session.log = hear_nothing;
    all->n_traced = 0;
    all->p = samba_parallel_open(&d);
    return samba_parallel_ok(all->p);
}

static inline bool run_replica_types(samba_parallel *p, bool parts)
{
    unsigned types = samba_section_types(samba_parallel_session(p, 0));
    samba_parallel_run_desc run = { 0 };
    if (!parts || types & SAMBA_ZEROGRAD) return samba_parallel_run(p, &run);
    static const unsigned passes[3]
        = { SAMBA_FWD, SAMBA_BCKWD, SAMBA_REDUCE | SAMBA_GRADNORM | SAMBA_OPT };
    for (int i = 0; i < 3; i++) {
        run.types = passes[i] & (types | SAMBA_REDUCE);
        if (i == 2 && !(types & SAMBA_OPT)) run.types = SAMBA_REDUCE;
        if (i > 0 && !(types & SAMBA_BCKWD)) break;
        if (!samba_parallel_run(p, &run)) return false;
    }
    return true;
}

static inline bool step_replicas(replicas *all, int step, results *r)
{
    const char *names[MOST_LEAVES];
    for (int k = 0; k < all->count; k++) {
        const net *n = &all->n[k];
        for (int i = 0; i < n->n_in; i++) {
            samba_tensor *t = in_session(n->s, n->in[i], "");
            if (t && !fill_part(t, n->high[i], step, n->batched[i] ? k : 0)) return false;
        }
    }
    if (!run_replica_types(all->p, all->w->at[AXIS_parts] && !all->w->at[AXIS_mapping]))
        return false;
    for (int k = 0; k < all->count; k++) {
        const net *n = &all->n[k];
        r->replica = 1 + k;
        keep_outputs(n, n->s, step, r);
        int32_t n_grads = samba_grad_names(n->s, names, MOST_LEAVES);
        for (int32_t i = 0; i < n_grads && i < MOST_LEAVES; i++)
            keep_value(r, samba_tensor_by_name(n->s, names[i]), names[i], step, 0);
    }
    return samba_parallel_ok(all->p);
}

// Have all replicas the same parameters, and the same of what the optimizer keeps? Else the results
// are refused. What the forward pass writes is each replica's own.
static inline bool is_shared(const net *n, const entry *e)
{
    if (e->step != STEPS || strstr(e->name, "__running_")) return false;
    for (int i = 0; i < n->n_buffers; i++) {
        size_t length = strlen(n->buffer[i]->name);
        if (!strncmp(e->name, n->buffer[i]->name, length) && e->name[length] == ' ') return false;
    }
    return true;
}

static inline void compare_replicas(const net *n, results *r)
{
    char mine[320];
    for (int i = 0; i < r->n && !r->refused; i++) {
        const char *at = strstr(r->e[i].name, " of replica 0");
        if (!at || !is_shared(n, &r->e[i])) continue;
        for (int k = 0; k < r->n; k++) {
            snprintf(mine, sizeof mine, "%.*s of replica ", (int)(at - r->e[i].name), r->e[i].name);
            bool twin = r->e[k].step == STEPS && !strncmp(r->e[k].name, mine, strlen(mine));
            if (!twin || first_difference(&r->e[i], &r->e[k], 0) < 0) continue;
            r->refused = true;
            snprintf(r->why, sizeof r->why, "replicas part: %s", r->e[k].name);
            return;
        }
    }
}

// Running statistics and what else the forward pass writes is each replica's own, so a checkpoint
// that one of them wrote cannot bring back the others'.
static inline bool writes_buffers(const net *n)
{
    if (n->n_buffers) return true;
    const char *names[MOST_LEAVES];
    int32_t count = samba_weight_names(n->s, names, MOST_LEAVES);
    for (int32_t i = 0; i < count && i < MOST_LEAVES; i++)
        if (strstr(names[i], "__running_")) return true;
    return false;
}

static inline bool resume_replicas(replicas *all, const char *checkpoint)
{
    if (writes_buffers(&all->n[0])) return true;
    save_any(samba_parallel_session(all->p, 0), checkpoint);
    samba_parallel_close(all->p);
    return open_replicas(all) && samba_parallel_restore(all->p, checkpoint);
}

// Keeps of the results the gradients of replica 0 alone, as a program without replicas calls them.
static inline void keep_reduced_gradients(results *r)
{
    int kept = 0;
    for (int i = 0; i < r->n; i++) {
        char *at = strstr(r->e[i].name, "__grad of replica 0");
        if (!at || r->e[i].step > 0) {
            free(r->e[i].x);
            continue;
        }
        at[strlen("__grad")] = 0;
        r->e[kept++] = r->e[i];
    }
    r->n = kept;
}

static inline void run_replicas(const way *w, build_fn build, int rows, int microbatches,
                                const char *files, results *r)
{
    static replicas all;
    char checkpoint[256];
    memset(&all, 0, sizeof all);
    all.count = 1 + w->at[AXIS_replicas];
    all.rows = rows;
    all.microbatches = microbatches;
    all.w = w;
    all.build = build;
    snprintf(checkpoint, sizeof checkpoint, "%s.ckpt", files);
    bool fine = open_replicas(&all);
    for (int step = 0; step < STEPS && fine; step++) {
        fine = step_replicas(&all, step, r);
        if (fine && step == 0 && w->at[AXIS_resume]) fine = resume_replicas(&all, checkpoint);
    }
    for (int k = 0; k < all.count && fine; k++) {
        r->replica = 1 + k;
        keep_state(&all.n[k], all.n[k].s, r);
    }
    r->replica = 0;
    if (!samba_parallel_ok(all.p)) {
        r->refused = true;
        snprintf(r->why, sizeof r->why, "%s", samba_parallel_error(all.p));
    }
    if (fine) compare_replicas(&all.n[0], r);
    samba_parallel_close(all.p);
}

// Calibrates in two batches, then compiles as int8.
static inline bool compile_int8(net *n, const way *w, const char *pef)
{
    n->program.weights = SAMBA_WEIGHTS_PLAIN;
    n->program.quantize = SAMBA_CALIBRATE;
    if (!compile_way(n, w, NULL)) return false;
    for (int step = 0; step < 2; step++)
        if (!fill_inputs(n, n->s, step) || !samba_run(n->s, 0)) return false;
    n->program.quantize = SAMBA_INT8;
    n->program.memory = 0;
    return compile_way(n, w, pef);
}

// Runs the program that `build` traces, `rows` rows in each microbatch, and keeps the values.
// `files` is where files are: endings are added.
static inline void run_way(const way *w, build_fn build, int rows, int microbatches,
                           const char *files, results *r)
{
    net n, other = { 0 };
    char pef[256], checkpoint[256];
    r->n = 0;
    r->refused = false;
    if (w->at[AXIS_replicas] && !w->at[AXIS_whole] && !w->at[AXIS_eager]) {
        run_replicas(w, build, rows, microbatches, files, r);
        return;
    }
    snprintf(pef, sizeof pef, "%s.pef", files);
    snprintf(checkpoint, sizeof checkpoint, "%s.ckpt", files);
    trace(&n, w, build, rows, microbatches);
    if (n.eager) run_eager(&n, r);
    bool stores = w->at[AXIS_load] || w->at[AXIS_resume];
    bool int8 = w->at[AXIS_int8] && n.program.inference;
    const char *stored = stores ? pef : NULL;
    if (!n.eager && !(int8 ? compile_int8(&n, w, stored) : compile_way(&n, w, stored)))
        refused(r, n.s);
    samba_session *s = n.s, *first = NULL;
    if (!n.eager && !r->refused) {
        RANDOM_COMPILED(s);
        limit_set(s, w);
        if (w->at[AXIS_load]) {
            bool traces = w->at[AXIS_load] == 1;
            // Packed weights and those of int8 are in no graph.
            bool restores = !traces || n.program.weights || n.program.quantize;
            if (restores) save_any(s, checkpoint);
            way plain = *w;
            plain.at[AXIS_whole] = 0;
            s = first = go_on(&plain, &other, build, &n, pef, restores ? checkpoint : NULL, traces);
        }
        for (int step = 0; step < (w->at[AXIS_whole] ? 1 : STEPS) && samba_ok(s) && samba_ok(n.s);
             step++) {
            if (!one_step(&n, s, w, step, r) || step || !w->at[AXIS_resume]) continue;
            save_any(s, checkpoint);
            way plain = *w;
            plain.at[AXIS_whole] = 0;
            if (first) samba_close(first);
            s = first = go_on(&plain, &other, build, &n, pef, checkpoint, w->at[AXIS_load] != 2);
        }
        if (samba_ok(s) && !w->at[AXIS_whole]) keep_state(&n, s, r);
        if (!samba_ok(s)) refused(r, s);
        if (!samba_ok(n.s)) refused(r, n.s);
    }
    if (first) samba_close(first);
    samba_close(n.s);
    free(n.second);
    free(other.second);
}

#endif
