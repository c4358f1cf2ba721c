/* api.h - of onnx_import.h and onnx_export.h: how their functions are declared. */
#ifndef SAMBA_H
#error "onnx_import.h, onnx_export.h: include samba.h before"
#endif

#ifndef SAMBA_ONNX_API
#if defined(SAMBA_ONNX_STATIC)
#define SAMBA_ONNX_API static inline
#else
#define SAMBA_ONNX_API extern
#endif
#endif
