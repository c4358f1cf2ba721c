// The device half of samba.h: the one file of a firmware that compiles it.
#define SAMBA_RUNTIME_ONLY
#define SAMBA_IMPLEMENTATION
#include "samba.h"
