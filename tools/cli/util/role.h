// What a tensor is to a program, in a word that people read.
#ifndef SAMBA_ROLE_H
#define SAMBA_ROLE_H

#include "samba.h"

static inline const char *role_word(samba_role role)
{
    switch (role) {
    case SAMBA_ROLE_INPUT:
        return "input";
    case SAMBA_ROLE_OUTPUT:
        return "output";
    case SAMBA_ROLE_WEIGHT:
        return "parameter";
    case SAMBA_ROLE_STATE:
        return "state";
    case SAMBA_ROLE_ARGIN:
        return "argin";
    case SAMBA_ROLE_GRADIENT:
        return "gradient";
    case SAMBA_ROLE_CONSTANT:
        return "constant";
    case SAMBA_ROLE_TEMPORARY:
        return "temporary";
    case SAMBA_ROLE_SCRATCH:
        return "scratch";
    default:
        return "tensor";
    }
}

#endif
