// The old path of tests/core/same_bits.c.
#include "core/same_bits.c"
