// The old path of tests/sambaflow/rows.c.
#include "sambaflow/rows.c"
