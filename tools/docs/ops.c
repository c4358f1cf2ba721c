// The op table as text, for make docs: name, number in a PEF, attributes, what it does with memory,
// with tabs between.
#ifndef SAMBA_ELSEWHERE
#define SAMBA_IMPLEMENTATION
#endif
#include "samba.h"
#include <stdio.h>

static const char *memory(uint32_t flags)
{
    if (flags & SAMBA_OP_VIEW) return "a view of its input";
    if (flags & SAMBA_OP_INPLACE) return "may lie where its input did";
    if (flags & SAMBA_OP_UPDATES(0xffffu)) return "overwrites an input";
    return "";
}

int main(void)
{
    samba_session *s = samba_open(NULL);
    for (int32_t i = 0; samba_op_at(s, i); i++) {
        const samba_op *op = samba_op_at(s, i);
        printf("%s\t%#x\t%s\t%s\n", op->name, (unsigned)op->wire,
               op->attributes ? op->attributes : "", memory(op->flags));
    }
    return samba_close(s);
}
