// The implementation, as C and as C++. The macro is defined twice: the second include adds nothing.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#undef SAMBA_IMPLEMENTATION
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
