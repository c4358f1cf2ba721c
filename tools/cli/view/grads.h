// Which tensor is the gradient of which: of parameters the file says so, of what ops make the
// compiler's log does, or it is told from the backward pass.
#ifndef SAMBA_VIEW_GRADS_H
#define SAMBA_VIEW_GRADS_H

#include "model.h"

enum { MOST_PARTS = 8 };

// A tensor that a gradient is, or is the sum of. It may be smaller than the gradient: then it is
// stretched, as NumPy does it.
typedef struct part {
    int32_t tensor;
    int32_t n_axes;               // 0: elements are in the order of the gradient
    int32_t axes[SAMBA_MAX_DIMS]; // else axis d of the gradient is axis axes[d] of the tensor
} part;

typedef struct gradient {
    int32_t n; // 0: it is not known
    part parts[MOST_PARTS];
    const char *why; // it is not known: a sentence, or NULL
} gradient;

// Of each tensor the loss's gradient in it. The caller frees the array; NULL: no memory.
gradient *find_gradients(const model *m);

// Is it one tensor, element by element? Else -1.
int32_t single_part(const model *m, const gradient *g, int32_t tensor);

// The element of a part that belongs to an element of the tensor whose gradient this is.
int64_t element_of_part(const model *m, const part *p, int32_t tensor, int64_t element);

#endif
