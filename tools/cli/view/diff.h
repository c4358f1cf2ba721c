// Two models, compared: their graphs, and what they make of the same inputs.
#ifndef SAMBA_VIEW_DIFF_H
#define SAMBA_VIEW_DIFF_H

#include "model.h"
#include "tools/cli/util/files.h"

typedef struct difference {
    char *name;
    int32_t tensor, node, step;         // of model a
    int64_t count, different, index;    // index: of the first element that differs
    double max_abs, max_rel, a, b;
    samba_shape shape;
} difference;

typedef struct comparison {
    const char *a, *b;                  // paths
    char **structure;                   // sentences
    int32_t n_structure;
    difference *tensors;                // in the order in which they are made
    int32_t n_tensors, first;           // first: that differs; -1: none
} comparison;

void write_comparison(FILE *to, const comparison *c);   // JSON
void print_comparison(const comparison *c);             // text
void free_comparison(comparison *c);

#endif
