/* sambaflow.h - SambaFlow's session.run and its kin, for programs that are ported word for word.

   Needs samba.h before it. `#define SAMBA_SAMBAFLOW_IMPLEMENTATION` in one file enables the code;
   SAMBA_SAMBAFLOW_STATIC makes all functions private to the file. C99 or C++11.

       samba_tensor *in[2] = { image, label }, *out[1] = { loss };
       const char *types[3] = { "fwd", "bckwd", "opt" };
       samba_session_run_desc d = { .inputs = in, .n_inputs = 2, .outputs = out, .n_outputs = 1,
                                    .section_types = types, .n_section_types = 3 };
       samba_session_run(s, &d);                // samba.session.run(input_tensors=..., ...)

   samba.h itself needs none of it: samba_write, samba_run and samba_read do the same, and
   samba_run_with what they do not. tests/sambaflow/ROWS.md has all of SambaFlow's names. */
#ifndef SAMBA_SAMBAFLOW_H
#define SAMBA_SAMBAFLOW_H

#ifndef SAMBA_H
#error "sambaflow.h: include samba.h before"
#endif

#ifndef SAMBA_SAMBAFLOW_API
#if defined(SAMBA_SAMBAFLOW_STATIC)
#define SAMBA_SAMBAFLOW_API static inline
#elif defined(__cplusplus)
#define SAMBA_SAMBAFLOW_API extern "C"
#else
#define SAMBA_SAMBAFLOW_API extern
#endif
#endif

/* In section_ids: the ids between the two are independent of each other. */
enum { SAMBA_GROUP_BEGIN = -1, SAMBA_GROUP_END = -2 };

/* A gradient that is given to an output, which is a loss of the program. */
typedef struct samba_output_grad {
    samba_tensor *output;
    const void *grad;
    size_t bytes; /* of grad, which is then compared; 0: it is not */
} samba_output_grad;

/* The arguments of samba.session.run, but for those of data parallel (samba/parallel.h): all zero
   runs the whole schedule. What is refused changes nothing. */
typedef struct samba_session_run_desc {
    samba_tensor *const *inputs; /* tensors whose host copies are sent first, where they are */
    int32_t n_inputs;            /* newer than the device's: see samba_rdu. NULL: no tensor */
    const samba_feed *feeds;     /* the same by name, with sizes and the caller's data */
    int32_t n_feeds;
    const samba_value *hyperparams; /* persist until given again */
    int32_t n_hyperparams;
    const char *const *section_types; /* "fwd", "BCKWD" ...: run in this sequence. With BCKWD and */
    int32_t n_section_types;          /* OPT, and microbatches or samba_program.accumulate,
                                         gradients add up from zero between two OPTs */
    const int32_t *section_ids;       /* instead of types: ids of the .pef.log, in any order. */
    int32_t n_section_ids;            /* SAMBA_GROUP_BEGIN, ids, SAMBA_GROUP_END: independent */
    int32_t from_call_id;             /* instead: the schedule from this section on */
    int32_t until_call_id;            /* and before this one; 0: to the end */
    const samba_output_grad *grad_of_outputs; /* sent first: gradients of losses */
    int32_t n_grad_of_outputs;
    samba_tensor *const *outputs; /* their host copies are made afterwards */
    int32_t n_outputs;
    const char *graph;  /* which, if the program has several */
    bool eval;          /* train = False: dropout rates act as 0; nothing else */
    bool running_stats; /* as samba_use_running_stats, for this run */
} samba_session_run_desc;

/* samba.session.run. NULL: the whole schedule. */
SAMBA_SAMBAFLOW_API bool samba_session_run(samba_session *s, const samba_session_run_desc *desc);
/* Gradients of losses become ones; with custom ones those that are listed become these, and others
   stay. With rows > 0 those of all later rows of the batch are 0, custom ones, too: rows counts as
   the inputs do, whichever dimension of the loss has them, such as (B*T), (T,B). A loss without
   rows, such as their mean, cannot be cut: then fewer rows than the batch has are an error. */
SAMBA_SAMBAFLOW_API bool samba_init_output_grads(samba_session *s, const samba_output_grad *custom,
                                                 int32_t n, int32_t rows);
/* Host copies of all parameters and state, and back: rdu sends what was edited since the fetch. */
SAMBA_SAMBAFLOW_API bool samba_to_cpu(samba_session *s);
SAMBA_SAMBAFLOW_API bool samba_to_rdu(samba_session *s);
/* The same without the optimizers' (to_cpu(model), optims = None). */
SAMBA_SAMBAFLOW_API bool samba_model_to_cpu(samba_session *s);
SAMBA_SAMBAFLOW_API bool samba_model_to_rdu(samba_session *s);
/* The same for what samba_buffer made alone. */
SAMBA_SAMBAFLOW_API bool samba_sync_buffers_to_cpu(samba_session *s);
SAMBA_SAMBAFLOW_API bool samba_sync_buffers_to_rdu(samba_session *s);
/* Writes data to the tensor called name. NULL: the name is unknown from then on, and not free for
   another tensor. */
SAMBA_SAMBAFLOW_API bool samba_update_tensor(samba_session *s, const char *name, const void *data);

#endif /* SAMBA_SAMBAFLOW_H */

#if defined(SAMBA_SAMBAFLOW_IMPLEMENTATION) && !defined(SAMBA_SAMBAFLOW__IMPLEMENTED)
#define SAMBA_SAMBAFLOW__IMPLEMENTED

#include <stdlib.h>
#include <string.h>

static inline bool samba_sambaflow__program(samba_session *s, const char *what)
{
    if (!samba_ok(s)) return false;
    if (samba_section_types(s) || samba_device_bytes(s)) return true;
    return samba_fail(s, SAMBA_ESTATE,
                      "in %s: no program is loaded; call samba_compile or "
                      "samba_load first",
                      what);
}

/* ---- Section types by name ---- */
/* Is this the name, which is in capitals, in any case? */
static inline bool samba_sambaflow__same(const char *text, const char *name)
{
    while (*text && (*text == *name || *text == *name + ('a' - 'A'))) {
        text++;
        name++;
    }
    return !*text && !*name;
}

/* The type called text; 0 with an error if there is none. */
static inline unsigned samba_sambaflow__type_of(samba_session *s, const char *text)
{
    char known[128] = "";
    for (unsigned type = 1; type; type <<= 1) {
        const char *name = samba_section_type_name(type);
        if (!name) continue;
        if (text && samba_sambaflow__same(text, name)) return type;
        if (strlen(known) + strlen(name) + 2 > sizeof known) continue;
        strcat(known, " ");
        strcat(known, name);
    }
    samba_fail(s, SAMBA_EARG, "%s is no section type; the types are%s, in any case", text, known);
    return 0;
}

/* Types that ascend run as one schedule; where they do not, the next one begins. */
static inline bool samba_sambaflow__schedules(samba_session *s, const samba_session_run_desc *d,
                                              samba_run_desc *run)
{
    int32_t n = 0;
    for (int32_t i = 0; i < d->n_section_types; i++) {
        unsigned type = samba_sambaflow__type_of(s, d->section_types[i]);
        if (!type) return false;
        if (i > 0 && type <= run->types[n]) n++;
        if (n == SAMBA_MAX_RUNS)
            return samba_fail(s, SAMBA_ERANGE,
                              "in samba_session_run: section_types are more than "
                              "%d schedules; run them one after another",
                              SAMBA_MAX_RUNS);
        run->types[n] |= type;
    }
    return true;
}

/* ---- Sections by call ids, and in groups ---- */
static inline int32_t samba_sambaflow__sections(samba_session *s)
{
    samba_section q;
    int32_t n = 0;
    while (samba_describe_section(s, n, &q))
        n++;
    return n;
}

/* Is section q of the graph that is asked for, or of the only one? */
static inline bool samba_sambaflow__of_graph(const samba_section *q, const char *graph)
{
    return !graph || (q->graph && !strcmp(q->graph, graph));
}

/* A range of call ids says no graph: are all sections of one? */
static inline bool samba_sambaflow__one_graph(samba_session *s)
{
    samba_section first, q;
    if (!samba_describe_section(s, 0, &first)) return true;
    for (int32_t i = 1; samba_describe_section(s, i, &q); i++) {
        if (q.graph == first.graph || (q.graph && first.graph && !strcmp(q.graph, first.graph)))
            continue;
        return samba_fail(s, SAMBA_ENAME,
                          "in samba_session_run: the program has several graphs; "
                          "say which one, such as %s",
                          q.graph ? q.graph : first.graph);
    }
    return true;
}

/* The ids of the schedule from a section on, up to another (0: all). */
static inline bool samba_sambaflow__calls(samba_session *s, const samba_session_run_desc *d,
                                          int32_t *ids, int32_t *n_ids)
{
    int32_t n = samba_sambaflow__sections(s), from = d->from_call_id;
    int32_t end = d->until_call_id ? d->until_call_id : n;
    samba_section q;
    if (from < 0 || from >= end || end > n)
        return samba_fail(s, SAMBA_ERANGE,
                          "call ids %d up to %d are out of range or order; the "
                          "schedule has calls 0 ... %d",
                          from, d->until_call_id, n - 1);
    if (!d->graph && !samba_sambaflow__one_graph(s)) return false;
    for (int32_t i = from; i < end && samba_describe_section(s, i, &q); i++)
        if (samba_sambaflow__of_graph(&q, d->graph)) ids[(*n_ids)++] = i;
    if (*n_ids) return true;
    return samba_fail(s, SAMBA_ERANGE, "no call from %d up to %d is of graph %s; nothing was run",
                      from, end, d->graph);
}

/* Is ids[i] independent of the sections of its group before it, which begins with ids[first]? */
static inline bool samba_sambaflow__commutes(samba_session *s, const int32_t *ids, int32_t first,
                                             int32_t i)
{
    for (int32_t k = first; k < i; k++) {
        if (ids[k] != ids[i] && samba_sections_commute(s, ids[k], ids[i])) continue;
        return samba_fail(s, SAMBA_EARG,
                          "sections %d and %d depend on each other and cannot be in "
                          "one group; nothing was run",
                          ids[k], ids[i]);
    }
    return true;
}

/* The ids without the marks of groups: those end before they begin again, and what they hold is
   independent. */
static inline bool samba_sambaflow__groups(samba_session *s, const samba_session_run_desc *d,
                                           int32_t *ids, int32_t *n_ids)
{
    int32_t n = samba_sambaflow__sections(s), group = -1; /* of ids: where the group began */
    for (int32_t i = 0; i < d->n_section_ids; i++) {
        int32_t id = d->section_ids[i];
        if (id == (group < 0 ? SAMBA_GROUP_BEGIN : SAMBA_GROUP_END)) {
            group = group < 0 ? *n_ids : -1;
            continue;
        }
        if (id < 0 || id >= n)
            return samba_fail(s, SAMBA_ERANGE,
                              "section id %d is out of range; the program has "
                              "sections 0 ... %d, and groups that begin must end",
                              id, n - 1);
        ids[(*n_ids)++] = id;
        if (group >= 0 && !samba_sambaflow__commutes(s, ids, group, *n_ids - 1)) return false;
    }
    if (group >= 0) return samba_fail(s, SAMBA_EARG, "a group of section ids has no end");
    return *n_ids > 0 || samba_fail(s, SAMBA_EARG, "in samba_session_run: section_ids has no id");
}

/* ---- Gradients of outputs ---- */
static inline bool samba_sambaflow__is_loss(samba_session *s, const samba_tensor *t)
{
    samba_tensor *losses[SAMBA_MAX_OUTPUTS];
    int32_t n = samba_losses(s, losses, SAMBA_MAX_OUTPUTS);
    for (int32_t i = 0; i < n && i < SAMBA_MAX_OUTPUTS; i++)
        if (losses[i] == t) return true;
    return false;
}

static inline bool samba_sambaflow__check_grad(samba_session *s, const samba_output_grad *g)
{
    samba_tensor *grad = samba_sn_grad(g->output);
    if (!grad) return false;
    if (!samba_sambaflow__is_loss(s, g->output))
        return samba_fail(s, SAMBA_EARG,
                          "%s is no loss of the program: only a loss can be given a "
                          "gradient",
                          g->output->name);
    if (!g->bytes || g->bytes == samba_bytes(grad)) return true;
    return samba_fail(s, SAMBA_EARG, "the gradient of %s has %l bytes; %l are needed",
                      g->output->name, (int64_t)g->bytes, (int64_t)samba_bytes(grad));
}

static inline bool samba_sambaflow__check_grads(samba_session *s, const samba_output_grad *list,
                                                int32_t n)
{
    if (n < 0) return samba_fail(s, SAMBA_EARG, "a list of %d gradients was given", n);
    for (int32_t i = 0; i < n; i++) {
        const samba_output_grad *g = list ? &list[i] : NULL;
        if (!g || !g->output || !g->grad || g->output->session != s)
            return samba_fail(s, SAMBA_EARG,
                              "gradient %d of %d has no values, or its output is "
                              "not one of this session",
                              i, n);
        if (!samba_sambaflow__check_grad(s, g)) return false;
    }
    return true;
}

/* Rows of the batch, in all microbatches: those of the batched inputs. 0: there is none, or inputs
   count them differently, and none as a multiple of the others. */
static inline int64_t samba_sambaflow__rows(samba_session *s)
{
    const char *names[SAMBA_MAX_OUTPUTS];
    int32_t n = samba_input_names(s, names, SAMBA_MAX_OUTPUTS);
    int64_t least = 0, common = 0;
    for (int32_t i = 0; i < n && i < SAMBA_MAX_OUTPUTS; i++) {
        const samba_tensor *x = samba_tensor_by_name(s, names[i]);
        if (!x || x->batch_dim < 0 || !x->shape.ndim) continue;
        int64_t one = samba_count(&x->shape) * (int64_t)samba_dtype_size(x->dtype);
        int64_t rows = x->shape.dim[x->batch_dim] * ((int64_t)samba_bytes(x) / one);
        if (!least || rows < least) least = rows;
        for (int64_t b = rows; b;) { /* Euclid: the largest number that divides all */
            int64_t rest = common % b;
            common = b;
            b = rest;
        }
    }
    return common == least ? least : 0;
}

/* How the gradient of a loss lies in memory: `inner` elements follow each other in each of `size`
   places along the dimension of the rows, of which each row of the batch has `each`. */
typedef struct samba_sambaflow__cut {
    int64_t inner, size, each;
} samba_sambaflow__cut;

/* False: the gradient has no rows of this batch. */
static inline bool samba_sambaflow__find_cut(const samba_tensor *g, int64_t rows,
                                             samba_sambaflow__cut *cut)
{
    if (g->batch_dim < 0 || g->batch_dim >= g->shape.ndim || rows < 1) return false;
    int64_t parts = (int64_t)(samba_bytes(g) / sizeof(float)) / samba_count(&g->shape);
    cut->inner = 1;
    cut->size = g->shape.dim[g->batch_dim] * parts;
    cut->each = cut->size / rows;
    for (int32_t i = g->batch_dim + 1; i < g->shape.ndim; i++)
        cut->inner *= g->shape.dim[i];
    return cut->size % rows == 0;
}

/* May the gradient of this loss be cut behind `rows` rows, of the `all` that the batch has? */
static inline bool samba_sambaflow__check_rows(samba_tensor *loss, int32_t rows, int64_t all)
{
    samba_sambaflow__cut cut;
    if (rows == 0) return true;
    if (rows < 0 || (all && rows > all))
        return samba_fail(loss->session, SAMBA_ERANGE,
                          "in samba_init_output_grads: rows is %d; the "
                          "batch of %s has %l, and 0 means all",
                          rows, loss->name, all);
    if (rows == all || samba_sambaflow__find_cut(samba_sn_grad(loss), all, &cut)) return true;
    return samba_fail(
        loss->session, SAMBA_EARG,
        "in samba_init_output_grads: %s %S has no dimension "
        "that counts the rows of the batch, so it cannot be cut behind row %d: let the "
        "loss be one of each row (without its sum or mean), or give the gradient as "
        "it is to be",
        loss->name, &loss->shape, rows);
}

static inline bool samba_sambaflow__listed(const samba_tensor *t, const samba_output_grad *list,
                                           int32_t n)
{
    bool listed = n == 0;
    for (int32_t i = 0; i < n; i++)
        listed = listed || list[i].output == t;
    return listed;
}

/* The given value of a gradient, or ones; zeros for rows that do not count. all: rows of the batch.
 */
static inline bool samba_sambaflow__init_grad(samba_tensor *g, const float *given, int32_t rows,
                                              int64_t all)
{
    samba_sambaflow__cut cut = { 1, 1, 1 };
    bool cuts = rows > 0 && rows < all && samba_sambaflow__find_cut(g, all, &cut);
    int64_t n = (int64_t)(samba_bytes(g) / sizeof(float));
    float *x = (float *)malloc((size_t)n * sizeof *x);
    if (!x)
        return samba_fail(g->session, SAMBA_ENOMEM, "out of memory for the gradient %s", g->name);

    for (int64_t k = 0; k < n; k++) {
        bool late = cuts && k / cut.inner % cut.size / cut.each >= rows;
        float value = given ? given[k] : 1.0f;
        x[k] = late ? 0.0f : value;
    }

    bool fine = samba_write(g, x);
    free(x);
    return fine;
}

/* The last value that the list has for t; NULL: none. */
static inline const float *samba_sambaflow__given(const samba_tensor *t,
                                                  const samba_output_grad *list, int32_t n)
{
    const float *given = NULL;
    for (int32_t i = 0; i < n; i++)
        if (list[i].output == t) given = (const float *)list[i].grad;
    return given;
}

SAMBA_SAMBAFLOW_API bool samba_init_output_grads(samba_session *s, const samba_output_grad *custom,
                                                 int32_t n, int32_t rows)
{
    samba_tensor *losses[SAMBA_MAX_OUTPUTS];
    if (!samba_sambaflow__program(s, "samba_init_output_grads")) return false;
    if (!samba_sambaflow__check_grads(s, custom, n)) return false;
    int32_t n_losses = samba_losses(s, losses, SAMBA_MAX_OUTPUTS);
    if (n_losses > SAMBA_MAX_OUTPUTS) n_losses = SAMBA_MAX_OUTPUTS;
    int64_t all = rows ? samba_sambaflow__rows(s) : 0;
    for (int32_t i = 0; i < n_losses; i++) {
        if (!samba_sambaflow__listed(losses[i], custom, n)) continue;
        if (!samba_sambaflow__check_rows(losses[i], rows, all)) return false;
    }
    for (int32_t i = 0; i < n_losses; i++) {
        const float *given = samba_sambaflow__given(losses[i], custom, n);
        if (!samba_sambaflow__listed(losses[i], custom, n)) continue;
        if (!samba_sambaflow__init_grad(samba_sn_grad(losses[i]), given, rows, all)) return false;
    }
    return true;
}

/* ---- Running ---- */
static inline bool samba_sambaflow__check(samba_session *s, const samba_session_run_desc *d)
{
    const int32_t count[5]
        = { d->n_inputs, d->n_feeds, d->n_section_types, d->n_section_ids, d->n_grad_of_outputs };
    const void *const list[4] = { d->inputs, d->feeds, d->section_types, d->section_ids };
    for (int i = 0; i < 5; i++) {
        if (count[i] == 0 || (count[i] > 0 && (i == 4 || list[i]))) continue;
        return samba_fail(s, SAMBA_EARG,
                          "in samba_session_run: a list that has a count is NULL, "
                          "or its count is negative");
    }
    bool by_call = d->from_call_id || d->until_call_id;
    if ((d->n_section_types > 0) + (d->n_section_ids > 0) + by_call > 1)
        return samba_fail(s, SAMBA_EARG,
                          "in samba_session_run: section_types, section_ids and "
                          "call ids exclude each other; nothing was run");
    return samba_sambaflow__check_grads(s, d->grad_of_outputs, d->n_grad_of_outputs);
}

/* What is sent: the feeds, then host copies of inputs, then gradients. */
static inline int32_t samba_sambaflow__feeds(const samba_session_run_desc *d, samba_feed *feeds)
{
    int32_t n = 0;
    while (n < d->n_feeds) {
        feeds[n] = d->feeds[n];
        n++;
    }
    for (int32_t i = 0; i < d->n_inputs; i++)
        if (d->inputs[i]) feeds[n++].tensor = d->inputs[i];
    for (int32_t i = 0; i < d->n_grad_of_outputs; i++) {
        samba_tensor *grad = samba_sn_grad(d->grad_of_outputs[i].output);
        feeds[n].tensor = grad;
        feeds[n].data = d->grad_of_outputs[i].grad;
        feeds[n].bytes = samba_bytes(grad);
        feeds[n++].dtype = grad->dtype;
    }
    return n;
}

/* Runs d with room for its ids and its feeds. */
static inline bool samba_sambaflow__run(samba_session *s, const samba_session_run_desc *d,
                                        int32_t *ids, samba_feed *feeds)
{
    samba_run_desc run;
    memset(&run, 0, sizeof run);
    run.hyperparams = d->hyperparams;
    run.n_hyperparams = d->n_hyperparams;
    run.outputs = d->outputs;
    run.n_outputs = d->n_outputs;
    run.graph = d->graph;
    run.eval = d->eval;
    run.running_stats = d->running_stats;
    run.section_ids = ids;
    bool fine = samba_sambaflow__schedules(s, d, &run);
    if (fine && d->n_section_ids) fine = samba_sambaflow__groups(s, d, ids, &run.n_section_ids);
    if (fine && (d->from_call_id || d->until_call_id))
        fine = samba_sambaflow__calls(s, d, ids, &run.n_section_ids);
    run.feeds = feeds;
    run.n_feeds = samba_sambaflow__feeds(d, feeds);
    return fine && samba_run_with(s, &run);
}

SAMBA_SAMBAFLOW_API bool samba_session_run(samba_session *s, const samba_session_run_desc *desc)
{
    if (!samba_sambaflow__program(s, "samba_session_run")) return false;
    if (!desc) return samba_run(s, 0);
    if (!samba_sambaflow__check(s, desc)) return false;
    int32_t sections = samba_sambaflow__sections(s), n_ids = desc->n_section_ids;
    size_t n_feeds
        = (size_t)desc->n_feeds + (size_t)desc->n_inputs + (size_t)desc->n_grad_of_outputs;
    int32_t *ids
        = (int32_t *)calloc((size_t)(n_ids > sections ? n_ids : sections) + 1, sizeof *ids);
    samba_feed *feeds = (samba_feed *)calloc(n_feeds + 1, sizeof *feeds);
    bool fine = ids && feeds && samba_sambaflow__run(s, desc, ids, feeds);
    if (!ids || !feeds) samba_fail(s, SAMBA_ENOMEM, "out of memory in samba_session_run");
    free(ids);
    free(feeds);
    return fine;
}

/* ---- Copies to the host and back ---- */
static inline bool samba_sambaflow__fetch(samba_session *s, const char *what, unsigned kinds)
{
    return samba_sambaflow__program(s, what) && samba_fetch_state(s, kinds);
}

static inline bool samba_sambaflow__send(samba_session *s, const char *what, unsigned kinds)
{
    return samba_sambaflow__program(s, what) && samba_send_state(s, kinds);
}

SAMBA_SAMBAFLOW_API bool samba_to_cpu(samba_session *s)
{
    return samba_sambaflow__fetch(s, "samba_to_cpu", SAMBA_KEPT);
}

SAMBA_SAMBAFLOW_API bool samba_to_rdu(samba_session *s)
{
    return samba_sambaflow__send(s, "samba_to_rdu", SAMBA_KEPT);
}

SAMBA_SAMBAFLOW_API bool samba_model_to_cpu(samba_session *s)
{
    return samba_sambaflow__fetch(s, "samba_model_to_cpu",
                                  SAMBA_KEPT_PARAMETERS | SAMBA_KEPT_BUFFERS);
}

SAMBA_SAMBAFLOW_API bool samba_model_to_rdu(samba_session *s)
{
    return samba_sambaflow__send(s, "samba_model_to_rdu",
                                 SAMBA_KEPT_PARAMETERS | SAMBA_KEPT_BUFFERS);
}

SAMBA_SAMBAFLOW_API bool samba_sync_buffers_to_cpu(samba_session *s)
{
    return samba_sambaflow__fetch(s, "samba_sync_buffers_to_cpu", SAMBA_KEPT_BUFFERS);
}

SAMBA_SAMBAFLOW_API bool samba_sync_buffers_to_rdu(samba_session *s)
{
    return samba_sambaflow__send(s, "samba_sync_buffers_to_rdu", SAMBA_KEPT_BUFFERS);
}

SAMBA_SAMBAFLOW_API bool samba_update_tensor(samba_session *s, const char *name, const void *data)
{
    samba_tensor *t = samba_tensor_by_name(s, name);
    if (!data) return samba_forget_name(t);
    return t && samba_write(t, data);
}
#endif /* SAMBA_SAMBAFLOW_IMPLEMENTATION */
/* MIT license, as samba.h. */
