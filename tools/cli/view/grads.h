// Which tensor is the gradient of which: of parameters the file says so, of what ops make it is
// told from the backward pass.
#ifndef SAMBA_VIEW_GRADS_H
#define SAMBA_VIEW_GRADS_H

#include "model.h"

// Of each tensor: the tensor that holds the loss's gradient in it; -1: none, or it is not known.
// NULL: no memory.
int32_t *find_gradients(const model *m);

#endif
