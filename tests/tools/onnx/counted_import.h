// The ONNX importer with memory that is counted and can run out: see tests/lib/counting.h. Behind
// each block is what no model has in its values. Include after samba.h.
#ifndef COUNTED_IMPORT_H
#define COUNTED_IMPORT_H

#include "onnx.pb-c.h"
#include "tests/lib/counting.h"
#define malloc(size) counting_malloc(size)
#define calloc(n, size) counting_calloc(n, size)
#define realloc(p, size) counting_realloc(p, size)
#define free(p) counting_free(p)
#define realpath(path, to) ((char *)counting_new(realpath(path, to)))
#define SAMBA_ONNX_IMPORT_IMPLEMENTATION
#include "tools/include/samba/onnx_import.h"
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef realpath

#endif
