// The old path of tests/core/graphs.c.
#include "core/graphs.c"
