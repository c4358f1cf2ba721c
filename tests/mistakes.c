// The old path of tests/core/mistakes.c.
#include "core/mistakes.c"
