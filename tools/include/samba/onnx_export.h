/* onnx_export.h - programs of samba.h as ONNX models.

   Needs samba.h before it, libprotobuf-c and onnx.pb-c.[ch]: see onnx_import.h.
   `#define SAMBA_ONNX_EXPORT_IMPLEMENTATION` in one file enables the code.

   What is exported is the forward pass of a compiled program, out of its PEF with the values filled
   in: a checkpoint of samba_save, of training or inference. Inputs, outputs and parameters keep
   their names. Dropout passes everything through, batch norm has its running values. The model is
   of op set 17 (2022), which every runtime of today knows.

       samba_save(s, "model.ckpt");
       onnx_export_file("model.ckpt", "model.onnx", NULL, why, sizeof why)

   Buffers that the forward pass writes (caches of keys) become an input and an output, NAME and
   NAME__new. Without a counterpart in ONNX, and refused by name: ops of the user, packed weights
   (compile with .weights = SAMBA_WEIGHTS_PLAIN), microbatches. */
#ifndef SAMBA_ONNX_EXPORT_H
#define SAMBA_ONNX_EXPORT_H

#include "base.h"
#include "onnx/api.h" /* needs samba.h before it */

/* Writes the graph (NULL: the only one, or the first) of a PEF in memory, 8-byte aligned, as an
   ONNX file. False with the reason in why. */
SAMBA_ONNX_API bool onnx_export(const void *pef, size_t size, const char *path, const char *graph,
                                char *why, size_t why_size);
SAMBA_ONNX_API bool onnx_export_file(const char *pef, const char *path, const char *graph,
                                     char *why, size_t why_size);
#endif

#if defined(SAMBA_ONNX_EXPORT_IMPLEMENTATION) && !defined(SAMBA_ONNX_EXPORT__IMPLEMENTED)
#define SAMBA_ONNX_EXPORT__IMPLEMENTED
#include "onnx.pb-c.h"
#include "onnx/file.h"
#include "onnx/export/base.h" /* the PEF read; the model written */
#include "onnx/export/ops.h"  /* one row for each op of samba.h */
#include "onnx/export/file.h" /* the whole */
#endif
