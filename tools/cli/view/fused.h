// Which nodes run together: samba.h decides when it loads a PEF, and does not say so elsewhere.
#ifndef SAMBA_VIEW_FUSED_H
#define SAMBA_VIEW_FUSED_H

#include "samba.h"

// How many nodes run together from this one on, which is node 0, or follows such nodes: of others
// samba.h keeps nothing.
int32_t fused_nodes(const samba_session *s, int32_t node);

#endif
