// Which nodes run together. samba.h is implemented here, once for the whole tool, as this looks
// inside its session.
#define SAMBA_IMPLEMENTATION
#include "fused.h"

int32_t fused_nodes(const samba_session *s, int32_t node)
{
    bool known = s && s->program.rt && node >= 0 && (uint32_t)node < s->program.rt->pef.n_nodes;
    int32_t n = known ? (int32_t)s->program.rt->steps[node].group : 1;
    SAMBA_ASSERT(n >= 1);
    return n;
}
