// How many bytes a node reads and writes.
#ifndef SAMBA_VIEW_TRAFFIC_H
#define SAMBA_VIEW_TRAFFIC_H

#include "model.h"

int64_t bytes_of(const model *m, int32_t node); // in one run of it

#endif
