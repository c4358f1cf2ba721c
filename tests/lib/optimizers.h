// Options of samba_optim by the rows of samba__optimizers, which the tests that try all of them go
// through. Needs samba.h with its implementation.
#ifndef OPTIMIZERS_H
#define OPTIMIZERS_H

#include <string.h>

// The kind of row k, and the bool that asks for it if it is a variant, such as amsgrad.
static inline samba_optim optimizer_of_row(int k)
{
    const samba__optimizer_row *row = &samba__optimizers[k];
    const bool yes = true;
    samba_optim optim;
    memset(&optim, 0, sizeof optim);
    optim.kind = (samba_optim_kind)row->kind;
    if (row->variant.kind == 'b') memcpy((char *)&optim + row->variant.at, &yes, sizeof yes);
    return optim;
}

// Does the optimizer of row k keep a state only if it has momentum?
static inline bool optimizer_may_have_momentum(int k)
{
    return samba__optimizers[k].kept_for == SAMBA__ARGIN_MOMENTUM;
}

#endif
