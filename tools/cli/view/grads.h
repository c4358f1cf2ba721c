// Which tensor is the gradient of which: of parameters the file says so, of what ops make the
// compiler's map does, or it is told from the backward pass.
#ifndef SAMBA_VIEW_GRADS_H
#define SAMBA_VIEW_GRADS_H

#include "map.h"

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
