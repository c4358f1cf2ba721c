// Two models, compared: their graphs, and what they make of the same inputs.
#ifndef SAMBA_VIEW_DIFF_H
#define SAMBA_VIEW_DIFF_H

#include "capture.h"

enum { MOST_SENTENCES = 40 }; // of a comparison of graphs

// A tensor that both make, or read.
typedef struct difference {
    char *name;                       // in a
    int32_t tensor, node, step;       // of a; node -1: it was there before any node ran
    int32_t other_tensor, other_node; // of b
    int32_t microbatch;
    int32_t held;                    // the snapshot of b's capture; -1: none is known
    int64_t count, different, index; // index: of the first element that differs; -1: none
    double max_abs, max_rel;         // over all elements that are finite in both
    double a, b;                     // what they have at index
    samba_shape shape;
} difference;

typedef struct comparison {
    const char *a, *b;     // paths
    char **structure;      // sentences, MOST_SENTENCES at most
    int32_t *places;       // of each sentence: a node of a that it is about; -1: none
    int32_t n_structure;   // how many there would be
    int32_t *pair, n_pair; // of each node of a: the node of b; -1: none
    difference *tensors;   // in the order in which they are made
    int32_t n_tensors, n_different, first; // first: that differs; -1: none
} comparison;

typedef struct compare_options {
    const char *const *inputs; // as give_values takes them
    int n_inputs, steps;
    double tolerance; // elements differ above tolerance max(1, |a|, |b|)
    model_options model;
} compare_options;

// Runs both, node by node, side by side. False: one of them cannot be opened or run.
bool compare_models(comparison *c, const char *a, const char *b, const compare_options *o,
                    fault *why);
bool are_equal(const comparison *c);
void print_comparison(const comparison *c); // text, on stdout
// Finds what each tensor that differs held in b, of which this is the capture. Blocks of values
// that none of them has are emptied.
void find_held(comparison *c, capture *b);
// A field of the page's JSON. b: as above, or NULL; its blocks are numbered from first_block on.
void write_comparison(FILE *to, const comparison *c, const capture *b, int32_t first_block);
void free_comparison(comparison *c);

// ---- Between the files of this module ----

// Fills in pair; what differs becomes sentences. False: no memory.
bool pair_nodes(comparison *c, const model *a, const model *b);
bool add_sentence(comparison *c, int32_t node, const char *format, ...) LIKE_PRINTF(3, 4);
// Compares n elements; name is copied. False: no memory.
bool add_difference(comparison *c, const difference *d, samba_dtype type, const void *a,
                    const void *b, double tolerance);

#endif
