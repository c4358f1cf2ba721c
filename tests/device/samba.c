// The device half of samba.h: the one file of a firmware that compiles it.
#include CONFIG_H // by tools/samba device-config: what the nets need
#define SAMBA_IMPLEMENTATION
#include "samba.h"
