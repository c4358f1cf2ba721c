/* onnx_import.h - ONNX models as graphs of samba.h.

   Needs samba.h before it, libprotobuf-c, and onnx.pb-c.[ch], which protoc-c makes of the
   onnx.proto of Debian's libonnx-dev (make build/onnx/onnx.pb-c.c).
   `#define SAMBA_ONNX_IMPORT_IMPLEMENTATION` in one file enables the code:
       cc -O2 -Ibuild/onnx program.c build/onnx/onnx.pb-c.c -lprotobuf-c -lm -pthread

   onnx_trace records a model in a session, like a forward pass written by hand, so that it can be
   compiled for inference or trained: its inputs are samba_input of the same names, its float
   initializers samba_param or samba_buffer. Which of them follows from the inputs of ops that they
   reach: the mean and variance of a BatchNormalization, thresholds, the first state of an LSTM and
   masks of -infinity are buffers, which no optimizer touches; limits, exponents and what decides a
   shape are constants; all else is a parameter, also a scalar. Tensors of Constant nodes are
   constants, as exporters write the numbers of a program so. onnx_options.role changes that.
   Nodes may stand in any order.

       samba_session *s = samba_open(NULL);
       onnx_graph g;
       if (!onnx_register_ops(s) || !onnx_trace(s, "model.onnx", NULL, &g)) ... samba_error(s)
       samba_program p = { .pef = "model.pef", .inference = true };
       onnx_set_outputs(&g, &p);
       samba_compile(s, &p);

   Types: double, float16 and bfloat16 are computed as f32 (casts and outputs round to them);
   integers of all widths as i32, where a value that does not fit ends the run with SAMBA_ERANGE;
   int64 values that are known while tracing (shapes, axes) stay exact. Infinity as an integer is
   the nearest of 32 bits; NaN as an integer ends the run with SAMBA_ERANGE. No strings, no complex
   numbers, no tensors without elements, but for constants of the tracer.

   Shapes are static. An input whose value decides a shape (a Reshape's target, a Range's limit, the
   data of NonZero) can be given as a constant: onnx_known.fixed. onnx_graph.wants names the one
   that was missing.

   Judged by the backend test set of ONNX 1.12 (Debian's libonnx-testdata): 1,040 of its 1,072 cases
   pass (tests/golden/onnx_cases.txt, a list that only grows); of the other 32, all refused with the
   op's name and the reason, 18 are about strings, 10 draw random numbers, and 4 expect what the
   model does not say (named in tests/tools/onnx.c). Of the 1,884 cases of onnx 1.23, 1,760 pass,
   and the others are refused by name (tests/tools/onnx_opsets.sh). Op sets 6 to 28; 185 ops of
   ai.onnx. Recurrent layers and loops are unrolled.

   Offered are also 36 ops of com.microsoft, which onnxruntime's optimizer (level EXTENDED) and its
   quantizers write, and 16 of ai.onnx.ml, in which scikit-learn's converter writes estimators:
   judged by onnxruntime, and by what the estimators predict (tests/tools/onnx_runtime.sh). Weights
   of 2, 4 and 8 bits in blocks (MatMulNBits) stay packed. DynamicQuantizeLSTM is computed in f32.
   Classes must be integers; a ZipMap is left out, which onnx_graph.note says. All ops that are not
   offered are named at once, before a weight is read.

   A line of the list with "fixed:" names inputs whose values must be known when the model is
   imported, because they decide shapes, such as the target of a Reshape: --value NAME=2,3.

   Some ops are the importer's own, registered under numbers from 0x9000: a program that loads a PEF
   made here calls onnx_register_ops first. Their kernels use the C library's functions, so that
   their last bits are those of the machine's libm. */
#ifndef SAMBA_ONNX_IMPORT_H
#define SAMBA_ONNX_IMPORT_H

#include "onnx/api.h" /* needs samba.h before it */

/* Values on the host, as a TensorProto has them: floats of all widths are f, integers and bools
   are i. */
typedef struct onnx_array {
    int32_t type; /* TensorProto.DataType: 1 float, 7 int64, 9 bool ... */
    int32_t ndim;
    int64_t dim[SAMBA_MAX_DIMS];
    int64_t count;
    float *f;
    int64_t *i;
} onnx_array;

/* What is known of an input before tracing. */
typedef struct onnx_known {
    const char *name;
    const onnx_array *array;        /* its shape, for inputs of symbolic dimensions */
    bool fixed;                     /* and its values: it becomes a constant */
    bool none;                      /* an optional that is absent */
    const onnx_array *const *items; /* instead, for a sequence: one array for each element */
    int32_t n_items;
} onnx_known;

/* What a float initializer becomes, by the inputs of ops that it reaches. Is asked of each that is
   read by the graph and need not be known while tracing. A model does not say whether what it adds,
   such as a table of positions, was trained: who knows better returns another role. */
typedef enum onnx_role { ONNX_CONSTANT, ONNX_BUFFER, ONNX_PARAMETER } onnx_role;

typedef onnx_role (*onnx_role_fn)(const char *name, onnx_role by_use, void *user);

typedef struct onnx_options {
    const onnx_known *known;
    int32_t n_known;
    uint64_t max_constant_bytes; /* that values known while tracing may take, but for the
                                    initializers; default 256 MiB + 16 times the model */
    bool inference;    /* batch normalizations may be folded into the weights of convolutions, which
                          are then no longer those of the file: an inference is faster */
    const char *graph; /* records the model as a graph of this name (samba_begin_graph), whose
                          inputs and outputs are called NAME@GRAPH: several graphs, such as one for
                          each shape, share the parameters. NULL: the only graph */
    onnx_role_fn role; /* NULL: initializers are what their use says */
    void *role_user;
} onnx_options;

/* An input or output. Of a sequence, each element is one. */
typedef struct onnx_port {
    const char *name;           /* in the model */
    int32_t type;               /* TensorProto.DataType */
    int32_t item;               /* place in the sequence; -1: no sequence */
    samba_tensor *tensor;       /* NULL: nothing is there (optional, empty sequence) or */
    const onnx_array *constant; /* an output that does not depend on inputs */
} onnx_port;

#ifndef ONNX_MAX_PORTS
#define ONNX_MAX_PORTS 256 /* inputs of a model, and outputs */
#endif
typedef struct onnx_graph {
    onnx_port in[ONNX_MAX_PORTS], out[ONNX_MAX_PORTS];
    int32_t n_in, n_out;
    char wants[1024];     /* after a refusal: the input whose value is needed, */
    char wants_value[40]; /* and a value that the model compares it with, or "" */
    char note[200];       /* what was done otherwise than the model says, such as a ZipMap that was
                             left out; "" */
    void *memory;         /* private: onnx_release frees it */
} onnx_graph;

/* The importer's own ops, once per session. */
SAMBA_ONNX_API bool onnx_register_ops(samba_session *s);
/* Records the model of a file, or of bytes. False with an error in s that names the op. Weights in
   files of their own (external_data) are read from the folder of the model's file, or below. */
SAMBA_ONNX_API bool onnx_trace(samba_session *s, const char *path, const onnx_options *options,
                               onnx_graph *g);
SAMBA_ONNX_API bool onnx_trace_bytes(samba_session *s, const void *bytes, size_t size,
                                     const onnx_options *options, onnx_graph *g);
/* Names the outputs that have to be computed in a program, behind those that it has. False, with an
   error in their session: more than SAMBA_MAX_OUTPUTS. */
SAMBA_ONNX_API bool onnx_set_outputs(const onnx_graph *g, samba_program *p);
/* Sends values to an input; fetches those of an output, to be freed with onnx_array_free. */
SAMBA_ONNX_API bool onnx_send(const onnx_port *port, const onnx_array *a);
SAMBA_ONNX_API onnx_array *onnx_fetch(const onnx_port *port);
/* A serialized TensorProto, or the elements of a SequenceProto or OptionalProto: up to max arrays.
   Returns how many, -1 if it cannot be read (why). */
SAMBA_ONNX_API int32_t onnx_read_arrays(const void *bytes, size_t size, int32_t kind,
                                        onnx_array **to, int32_t max, char *why, size_t why_size);

enum { ONNX_KIND_TENSOR, ONNX_KIND_SEQUENCE, ONNX_KIND_OPTIONAL, ONNX_KIND_OPTIONAL_SEQUENCE };

SAMBA_ONNX_API void onnx_array_free(onnx_array *a);
/* What onnx_trace keeps for g; ports are void then, tensors are not. */
SAMBA_ONNX_API void onnx_release(onnx_graph *g);
/* Writes the table of what can be imported: "op first-version". */
SAMBA_ONNX_API void onnx_print_ops(samba_emit_fn emit, void *user);
#endif

#if defined(SAMBA_ONNX_IMPORT_IMPLEMENTATION) && !defined(SAMBA_ONNX_IMPORT__IMPLEMENTED)
#define SAMBA_ONNX_IMPORT__IMPLEMENTED
#include "onnx.pb-c.h"
#include "onnx/file.h"
#include "onnx/import/model.h"   /* protobuf to host arrays; attributes */
#include "onnx/import/kernels.h" /* the ops of our own */
#include "onnx/import/value.h"   /* values while tracing: known, or tensors */
#include "onnx/import/order.h"   /* nodes that are not sorted */
#include "onnx/import/reach.h"   /* what initializers are for */
#include "onnx/import/fold.h"    /* batch norms that become weights */
#include "onnx/import/initial.h" /* parameters, buffers, constants */
#include "onnx/import/elementwise.h"
#include "onnx/import/shape.h"
#include "onnx/import/index.h"
#include "onnx/import/select.h"
#include "onnx/import/reduce.h"
#include "onnx/import/product.h"
#include "onnx/import/window.h"
#include "onnx/import/resize.h"
#include "onnx/import/norm.h"
#include "onnx/import/transformer.h"
#include "onnx/import/recurrent.h"
#include "onnx/import/gelu.h"  /* GELU that is written in parts */
#include "onnx/import/codes.h" /* products of 8 bits, and what follows them */
#include "onnx/import/quantize.h"
#include "onnx/import/nbits.h"
#include "onnx/import/microsoft.h"
#include "onnx/import/microsoft_attention.h"
#include "onnx/import/trees.h"
#include "onnx/import/ml.h"
#include "onnx/import/signal.h"
#include "onnx/import/training.h"
#include "onnx/import/sequence.h"
#include "onnx/import/control.h"
#include "onnx/import/table.h"
#include "onnx/import/nothing.h" /* tensors without elements */
#include "onnx/import/inputs.h"
#include "onnx/import/trace.h"
#endif
