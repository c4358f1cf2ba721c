// A loaded model, and what it is fed and gives.
#ifndef SAMBA_RUN_PROGRAM_H
#define SAMBA_RUN_PROGRAM_H

#include "arrays.h"

typedef struct port {
    const char *name;
    samba_tensor *tensor;
    samba_shape shape; // of all microbatches
    bool has_rows;     // an input whose dimension 0 counts the rows of the batch
} port;

typedef struct program {
    const char *path;
    const char *graph; // that is run, of several; NULL: the only one
    samba_session *session;
    port *in, *out;
    int n_in, n_out;
    bool trains;
    int64_t flops; // of a forward pass
} program;

// weights: a checkpoint with what the file lacks, or NULL.
bool load_program(program *p, const char *path, const char *weights, int32_t threads, fault *why);
// Registers the ops of imported models; false, with an error in s.
bool register_own_ops(samba_session *s);
// Says why s could not load a model, and what to do; false.
bool fail_to_load(samba_session *s, fault *why);
void drop_program(program *p);
// Runs this graph of several: of inputs and outputs that are called NAME@GRAPH, as those of an
// imported model are, only its own are left.
void choose_graph(program *p, const char *graph);
// The graph that a name says, or NULL.
const char *graph_in_name(const char *name);
// The one of this name; NULL, with near names.
const port *find_port(const port *list, int n, const char *what, const char *name, size_t length,
                      const char *path, fault *why);
bool forward(program *p, fault *why); // runs it as a test: nothing is learned
void list_ports(const program *p);

#endif
