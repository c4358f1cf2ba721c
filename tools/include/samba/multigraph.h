/* multigraph.h - several graphs in one PEF, each a function: SambaFlow's add_graph and its kin.

   Needs samba.h before it. `#define SAMBA_MULTIGRAPH_IMPLEMENTATION` in one file enables the code;
   SAMBA_MULTIGRAPH_STATIC makes all functions private to the file. C99 or C++11.

       samba_graphs graphs = { 0 };
       samba_graph train = { "train", trace_training, &net }, eval = { "eval", trace_eval, &net };
       samba_add_graph(s, &graphs, &train, false);
       samba_add_graph(s, &graphs, &eval, false);
       samba_compile_multigraph(s, &graphs, &(samba_program){ .pef = "net.pef" });
       samba_run_graph(s, "train", 0);

   The graphs share what has the same name: parameters, buffers, inputs. One of them trains, the one
   whose function sets a loss: gradients and optimizer state have one place each in a program. So
   optimizers are given for this graph (samba_graph.optims) or in the program, which says the same;
   for another graph they are an error. Several losses over the same parameters are losses of one
   graph; models that train by turns are sessions of their own. SambaFlow's trace_multigraph also
   takes a mapping and init_output_grads: here they are the program's and the session's (see
   samba_program.mapping, samba_set_output_grads), for all graphs are in one PEF. */
#ifndef SAMBA_MULTIGRAPH_H
#define SAMBA_MULTIGRAPH_H

#ifndef SAMBA_H
#error "multigraph.h: include samba.h before"
#endif

#ifndef SAMBA_MULTIGRAPH_API
#if defined(SAMBA_MULTIGRAPH_STATIC)
#define SAMBA_MULTIGRAPH_API static inline
#elif defined(__cplusplus)
#define SAMBA_MULTIGRAPH_API extern "C"
#else
#define SAMBA_MULTIGRAPH_API extern
#endif
#endif

#define SAMBA_MAX_GRAPHS 16

/* A graph: trace records its ops, sets program->loss, if it trains, and adds its outputs. False:
   stop, s has the error. */
typedef struct samba_graph {
    const char *name;
    bool (*trace)(samba_session *s, samba_program *program, void *user);
    void *user;
    const char *trace_prefix;  /* names of its ops begin so; NULL: no prefix */
    const samba_optim *optims; /* of the graph that trains: its optimizers, if program has */
    int32_t n_optims;          /* none; they are read when the program is compiled */
    bool traced;               /* set by the functions below */
} samba_graph;

/* An ordered collection; all zero is empty. */
typedef struct samba_graphs {
    samba_graph list[SAMBA_MAX_GRAPHS];
    int32_t n;
} samba_graphs;

/* Adds a graph behind the others: this is the order in which they are traced and compiled. One of
   the same name is an error, or with overwrite goes, and the new one is the last; but not if it was
   traced, for its ops are recorded. */
SAMBA_MULTIGRAPH_API bool samba_add_graph(samba_session *s, samba_graphs *graphs,
                                          const samba_graph *graph, bool overwrite);
/* Traces one graph, and completes program: with its loss, if it trains, its outputs and its
   optimizers. program may hold more: how to compile, a path, optimizers. Each graph is traced once;
   another session takes another collection. */
SAMBA_MULTIGRAPH_API bool samba_trace_one_graph(samba_session *s, samba_graphs *graphs,
                                                const char *name, samba_program *program);
/* The same for all graphs that were not traced yet, in their order; an error if there is none. */
SAMBA_MULTIGRAPH_API bool samba_trace_multigraph(samba_session *s, samba_graphs *graphs,
                                                 samba_program *program);
/* Puts y behind the outputs of program. False, with an error in y's session, if that is full. */
SAMBA_MULTIGRAPH_API bool samba_add_output(samba_program *program, samba_tensor *y);
/* Traces, and compiles them into one PEF. program may be NULL. To load that PEF in a new session,
   init_multigraph_runtime: samba_trace_multigraph and samba_load, or samba_load alone. */
SAMBA_MULTIGRAPH_API bool samba_compile_multigraph(samba_session *s, samba_graphs *graphs,
                                                   const samba_program *program);

#endif /* SAMBA_MULTIGRAPH_H */

#if defined(SAMBA_MULTIGRAPH_IMPLEMENTATION) && !defined(SAMBA_MULTIGRAPH__IMPLEMENTED)
#define SAMBA_MULTIGRAPH__IMPLEMENTED

#include <string.h>

static inline samba_graph *samba_multigraph__graph_named(samba_graphs *graphs, const char *name)
{
    for (int32_t i = 0; i < graphs->n; i++)
        if (!strcmp(graphs->list[i].name, name)) return &graphs->list[i];
    return NULL;
}

SAMBA_MULTIGRAPH_API bool samba_add_graph(samba_session *s, samba_graphs *graphs,
                                          const samba_graph *graph, bool overwrite)
{
    int32_t n = 0;
    if (!samba_ok(s)) return false;
    if (!graphs) return samba_fail(s, SAMBA_EARG, "in samba_add_graph: graphs is NULL");
    if (!graph || !graph->name || !*graph->name || !graph->trace)
        return samba_fail(s, SAMBA_EARG, "in samba_add_graph: a name and a function are needed");
    if (graph->n_optims < 0 || (graph->n_optims > 0) != (graph->optims != NULL))
        return samba_fail(s, SAMBA_EARG,
                          "in samba_add_graph: graph %s has n_optims %d and %s "
                          "optims",
                          graph->name, graph->n_optims, graph->optims ? "a list of" : "no list of");
    const samba_graph *there = samba_multigraph__graph_named(graphs, graph->name);
    if (there && there->traced)
        return samba_fail(s, SAMBA_ESTATE,
                          "in samba_add_graph: graph %s was traced already; "
                          "begin another collection and session",
                          graph->name);
    if (there && !overwrite)
        return samba_fail(s, SAMBA_ENAME,
                          "in samba_add_graph: there is a graph %s already; choose "
                          "another name, or overwrite it",
                          graph->name);
    if (!there && graphs->n == SAMBA_MAX_GRAPHS)
        return samba_fail(s, SAMBA_ERANGE, "in samba_add_graph: there are %d graphs already",
                          SAMBA_MAX_GRAPHS);
    for (int32_t i = 0; i < graphs->n; i++)
        if (strcmp(graphs->list[i].name, graph->name) != 0) graphs->list[n++] = graphs->list[i];
    graphs->list[n] = *graph;
    graphs->list[n].traced = false;
    graphs->n = n + 1;
    return true;
}

SAMBA_MULTIGRAPH_API bool samba_add_output(samba_program *program, samba_tensor *y)
{
    int32_t n = 0;
    if (!y) return false;
    while (n < SAMBA_MAX_OUTPUTS && program->outputs[n])
        n++;
    if (n == SAMBA_MAX_OUTPUTS)
        return samba_fail(y->session, SAMBA_ERANGE,
                          "in samba_add_output: there are %d outputs "
                          "already",
                          n);
    program->outputs[n] = y;
    return true;
}

/* Gives program the optimizers of g, which has been traced; begun is what program was before. */
static inline bool samba_multigraph__take_optims(samba_session *s, const samba_graph *g,
                                                 const samba_program *begun, samba_program *program)
{
    bool had_loss = begun->loss || begun->n_loss_indices > 0;
    bool trains = program->loss != begun->loss || program->n_loss_indices != begun->n_loss_indices;
    if (had_loss && trains)
        return samba_fail(s, SAMBA_EARG,
                          "graph %s sets a loss, but program has one of another "
                          "graph already; one graph of a program trains",
                          g->name);
    if (!g->n_optims || program->inference) return true;
    if (!trains)
        return samba_fail(s, SAMBA_EARG,
                          "graph %s is given optimizers, but its function sets no "
                          "loss; one graph of a program trains, and optimizers are given for that "
                          "one",
                          g->name);
    if (program->optim.kind || program->optims || program->n_optims)
        return samba_fail(s, SAMBA_EARG,
                          "graph %s is given optimizers, but program has some, too; "
                          "give them in one of the two places",
                          g->name);
    program->optims = g->optims;
    program->n_optims = g->n_optims;
    return true;
}

static inline bool samba_multigraph__trace_graph(samba_session *s, samba_graph *g,
                                                 samba_program *program)
{
    if (g->traced)
        return samba_fail(s, SAMBA_ESTATE,
                          "graph %s was traced already; a session traces a graph "
                          "once",
                          g->name);
    if (!samba_begin_graph(s, g->name)) return false;
    const samba_program begun = *program;
    g->traced = true;
    bool traced = samba_set_op_prefix(s, g->trace_prefix) && g->trace(s, program, g->user);
    samba_set_op_prefix(s, NULL);
    if (!traced || !samba_ok(s))
        return samba_fail(s, SAMBA_ESTATE, "tracing graph %s failed", g->name);
    return samba_multigraph__take_optims(s, g, &begun, program);
}

SAMBA_MULTIGRAPH_API bool samba_trace_one_graph(samba_session *s, samba_graphs *graphs,
                                                const char *name, samba_program *program)
{
    if (!samba_ok(s)) return false;
    if (!graphs || !name || !program)
        return samba_fail(s, SAMBA_EARG,
                          "in samba_trace_one_graph: graphs, name or program is "
                          "NULL");
    samba_graph *g = samba_multigraph__graph_named(graphs, name);
    if (!g)
        return samba_fail(s, SAMBA_ENAME, "in samba_trace_one_graph: no graph %s was added", name);
    return samba_multigraph__trace_graph(s, g, program);
}

SAMBA_MULTIGRAPH_API bool samba_trace_multigraph(samba_session *s, samba_graphs *graphs,
                                                 samba_program *program)
{
    int32_t n = 0;
    if (!samba_ok(s)) return false;
    if (!graphs || !graphs->n)
        return samba_fail(s, SAMBA_EARG, "in samba_trace_multigraph: no graph was added");
    if (!program) return samba_fail(s, SAMBA_EARG, "in samba_trace_multigraph: program is NULL");
    for (int32_t i = 0; i < graphs->n; i++) {
        if (graphs->list[i].traced) continue;
        if (!samba_multigraph__trace_graph(s, &graphs->list[i], program)) return false;
        n++;
    }
    if (n) return true;
    return samba_fail(s, SAMBA_ESTATE,
                      "in samba_trace_multigraph: graph %s and the others were "
                      "traced already; a session traces a graph once",
                      graphs->list[0].name);
}

SAMBA_MULTIGRAPH_API bool samba_compile_multigraph(samba_session *s, samba_graphs *graphs,
                                                   const samba_program *program)
{
    samba_program p;
    memset(&p, 0, sizeof p);
    if (program) p = *program;
    return samba_trace_multigraph(s, graphs, &p) && samba_compile(s, &p);
}
#endif /* SAMBA_MULTIGRAPH_IMPLEMENTATION */
/* MIT license, as samba.h. */
