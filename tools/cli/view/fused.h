// Which nodes run together: samba.h decides when it loads a PEF, and does not say so elsewhere.
#ifndef SAMBA_VIEW_FUSED_H
#define SAMBA_VIEW_FUSED_H

#include "samba.h"

// How many nodes run together from this one on; 0: it runs with one before it.
int32_t fused_nodes(const samba_session *s, int32_t node);

#endif
