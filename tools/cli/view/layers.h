// Which layer each node belongs to, told from names.
#ifndef SAMBA_VIEW_LAYERS_H
#define SAMBA_VIEW_LAYERS_H

#include "model.h"

bool find_layers(model *m); // fills in model.layer; false: no memory

#endif
