// What the compiler told of a program, in <pef>.map: what it rewrote, and which tensor is the
// gradient of which. samba__put_map of samba.h writes it, and says what its lines are.
#ifndef SAMBA_VIEW_MAP_H
#define SAMBA_VIEW_MAP_H

#include "model.h"

enum { MOST_PARTS = 8 };

typedef struct rewrite_call {
    const char *name, *op;
} rewrite_call;

typedef struct rewrite {
    const char *pass;
    rewrite_call before, after;
} rewrite;

// A tensor that a gradient is, or is the sum of. It may be smaller than the gradient: then it is
// stretched, as NumPy does it.
typedef struct part {
    int32_t tensor;
    int32_t n_axes;               // 0: elements are in the order of the gradient
    int32_t axes[SAMBA_MAX_DIMS]; // else axis d of the gradient is axis axes[d] of the tensor
} part;

typedef struct told_gradient {
    int32_t tensor; // whose gradient it is
    int32_t n;      // parts
    part parts[MOST_PARTS];
    const char *lost; // why it is not kept, a word; NULL: it is
} told_gradient;

typedef struct map {
    char *text; // which the names are in
    rewrite *rewrites;
    told_gradient *gradients;
    int32_t n_rewrites, n_gradients;
} map;

// Fills in model.map, of PATH.map, or of the PEF's that a checkpoint may have been saved from; or
// of the file that is named. A map of another program is refused if it is named, else it is not
// used, and the page says so.
bool find_map(model *m, const char *named, fault *why);
void free_map(map *told); // may be NULL

#endif
