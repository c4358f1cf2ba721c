/* samba.h - trace, compile, train and run neural networks from one C file.

   Do this:
       #define SAMBA_IMPLEMENTATION      in exactly ONE file, before
       #include "samba.h"                and include it wherever you want without the define
       cc -O2 program.c -lm -pthread

   The programming model is SambaFlow's: you write the forward pass with named tensors, it is traced
   once, compiled into sections (forward, backward, optimizer ...) and a PEF file, and a session
   runs the sections. A reference executor, a pool of threads, plays the chip. The same PEF runs on
   a server and, without malloc or stdio, on a microcontroller, and gives the same bits on both.

   The chapter [manual] below says the rest. */

/* ==== [manual] ================================================================================ */

/* Contents: search for the tag.

     [manual]      this text
     [config]      version, options, limits
     [api]         every public type and function, but
     [pef-api]     what tools read a PEF with
     [base]        checked sizes, bits, little-endian access, hash        -+
     [report]      texts in fixed buffers, reasons                         |
     [random]      counter-based generator                                 |
     [threads]     the pool                                                |
     [tensor]      shapes, types, signatures of ops                        | the device half:
     [math]        exp, log, tanh ... with the same bits everywhere        | no malloc, no stdio
     [simd]        vectors, and templates for all instruction sets         |
     [packed-weights] weights as products want them, of fewer bits         |
     [micro-kernel] rows of A times columns of B, sums in registers        |
     [gemm]        matrix product                                          |
     [op-table]    the list of ops; what their rules share                 |
     [elementwise] maps, cast, dropout, and how they walk a broadcast      |
     [reduce]      sum, mean, max, argmax                                  |
     [matmul]      matmul, affine                                          |
     [shape-ops]   reshape ... cat, gather, lookup: ops that move values   |
     [conv]        convolution and its gradients, as an implicit GEMM      |
     [pool]        pooling                                                 |
     [norm-loss]   batch, layer and rms norm, softmax, losses              |
     [attention]   scaled dot product attention                            |
     [optim-ops]   SGD, AdamW, clipping: one step                          |
     [op-rows]     kernels of each instruction set, the table itself       |
     [pef-read]    the records of a PEF, and how they are read             |
     [pef-verify]  the PEF, proved before use                              |
     [check-finite] finds values that are not finite where they are made   |
     [fused-groups] runs ops, and several on one part after another        |
     [layout]      a PEF laid out in memory; which of its ops are fused    |
     [execute]     runs sections                                          -+
     [memory]      the session, its allocator                             -+
     [containers]  stb_ds, private and safe                                |
     [graph]       tensors and nodes, and how they are printed             |
     [initial-values] what tensors begin with; where their values are      |
     [eager]       ops that are computed at once                           |
     [record]      where each op arrives: recorded, or computed            |
     [ops-by-name] samba_apply, and ops of your own                        |
     [leaves]      inputs, parameters, constants                           |
     [autodiff]    gradients as more graph                                 |
     [layers]      ops with parameters                                     | the host half: not in
     [optim]       SGD, AdamW, Adam, clipping                              | SAMBA_RUNTIME_ONLY
     [passes]      rewrites, common subexpressions, dead code, schedule    |
     [plan]        live ranges, which tensors share memory, sections       |
     [recompute]   what the backward pass computes again, to save memory   |
     [pef-write]   from a plan to the bytes of a PEF                       |
     [files]       reading, mapping and replacing files; the log           |
     [spread]      what each tensor of a part is of that of the batch      |
     [microbatches] what the parts of a batch need of the whole            |
     [compile]     from a program to a plan                                |
     [session]     open, close, modes                                      |
     [values]      values of tensors: write, read, copies on the host      |
     [load]        compile, and load: a PEF becomes the session's program  |
     [run]         what runs, whether it can, and running it               |
     [checkpoint]  save and restore                                        |
     [inspect]     names, sections and sizes of the program               -+
     [end]         licence

   A chapter uses only chapters above it, except for public functions, samba__emit (through which
   builders in the device half record a call), and the block sizes that [simd] gives to [gemm].

   ---- Words: SambaFlow's, and ours ----

     RDU          SambaNova's chip. Here the pool of threads takes its place, and is "the device"
     trace        to call ops that are recorded, not computed; what was recorded is a graph
     eager op     one that is computed at once, because its session does not trace
     leaf         a tensor that no op makes: an input, a parameter, a buffer, a constant
     buffer       state that the forward pass writes: running statistics, a cache of keys
     PEF          the compiled program, a file: nodes (ops), symbols and sections
     symbol       a tensor as recorded in the PEF: name, type, shape, role, place
     region       one of the four memories in which symbols lie: state (DDR), arena (HBM), inputs
                  and outputs (HOST), and read-only: parameters and constants that no node writes
     arena        the region of temporaries; those that are never alive at the same time may share
                  bytes
     view         a symbol that lies in the memory of another: the result of a reshape
     argin        a scalar that a run may change without compiling: learning rate, dropout's rate
     section      a run of nodes of one type: FWD computes outputs, BCKWD gradients, ZEROGRAD,
                  REDUCE and GRADNORM prepare the step, OPT makes it
     section id   its number in the schedule; its call id, the same, since each is called once
     mapping      whether gradients are kept between sections (section), or not (spatial)
     GraphAMP     bf16 in place of f32 for what waits between ops
     microbatch   a part of the batch that runs by itself; a replica is one with its own thread
     unit         what a kernel can do alone, such as a row; a worker of the pool takes a range of
                  them, its grain
     live range   the nodes from the one that makes a temporary to the last that reads it
     fused group  ops that run together on a part of their elements, then on the next one
     epilogue     what follows a product in its fused group: it runs on each tile that is complete

   A program traces a forward pass once, compiles it, and runs it in a loop of its own:
   examples/01_autograd.c is the shortest, examples/02_res_ffn.c a whole one.

   ---- Rules of the house ----

   Options are structs in which zero means the default. The session owns what it returns, until
   samba_close. Pointer functions return NULL on failure, others false; NULL flows through ops; the
   first error stays in the session (samba_error has the tensors, the shapes and what to do) and
   later calls do nothing, so a program may check once, at the end. It is printed on stderr when it
   arises, once, unless samba_desc has a log or quiet. Nothing aborts or exits.
   A session belongs to one thread at a time; sessions know nothing of each other.

   Memory is allocated by open, tracing, compile, load, eager ops, save and restore. samba_cpu
   allocates once for each tensor, also for the outputs that a run lists. Nothing else in a run
   allocates. samba_load maps large files where it can. Parameters that no node writes then stay in
   the file: their pages are read when they are used, and only samba_restore proves their checksum.
   Replace such a file by renaming (samba_save, mv). If its bytes are changed in place (cp), the
   session's next run or eager op fails, even if the change came within one clock tick or the old
   time was restored; truncating it during a run kills the process (SIGBUS). samba_desc.no_map reads
   the whole file at once.

   A file that is written replaces the one of its name when it is complete and on disk; until then
   it is samba-<16 hex digits>.tmp in the same folder. The next save removes those that killed
   programs left behind. Only regular files are read or replaced; a link is replaced, not followed.

   Numbers: arithmetic is f32, and the result is defined by the graph alone. Each element of a
   product is one chain of fused multiply-adds in index order, sums have a fixed tree, elementary
   functions are samba's own, random numbers depend on seed, name and element. So threads, SIMD,
   compiler and its options do not change a bit. Where the compiler has no instruction for a fused
   multiply-add, samba.h does not trust the C library: it has an exact one of its own, in double or,
   on processors without it, in integers. Hence -ffast-math and x87 arithmetic are refused when
   compiling, and samba_open and samba_runtime_open refuse a processor that flushes subnormals to
   zero, rounds in another direction, or fails any of six test cases of fused multiply-add. NaN is
   NaN; which NaN is not specified. samba_desc.check_finite reports where the first one arises.

   Names: a leaf has the one it was given, a layer's parameters are <layer>__weight, <layer>__bias.
   The first output of an op is called like its layer, or <kind>_<number> without one, and the
   others <op>__outputs__1 ...; <op>__outputs__0 and <op>__outputs__0__grad find the first, too.
   An op whose name is taken gets _2, _3 ... A leaf's name must be free, or its own: a parameter or
   buffer that is asked for again is the same one. samba_name gives a tensor a name of your own.
   Names depend only on the order of tracing, so they are the same in every process.
   What the compiler adds is called after the tensor it belongs to: <tensor>__grad, __momentum,
   __exp_avg, __exp_avg_sq; with microbatches <loss>__mean, __targets and what stands below. If one
   of your tensors has such a name, compiling is refused, and the message says which to rename.

   Trace order is schedule order. C does not fix the order in which arguments are evaluated, so if
   two arguments of an op are op calls themselves, make one of them in a statement before. C control
   flow is not in the graph: the branch that was taken while tracing is, and loops are unrolled.

   ---- A batch in parts ----

   With samba_program.microbatches = n the model is traced for a part of the batch, a microbatch.
   Batched inputs, whose rows are the first dimension then, hold all n parts, one after another;
   batched outputs, too; a value given while tracing has the size of one part, and is ignored. A
   run makes FWD, or FWD and BCKWD, n times; gradients add up, from zero in a whole step. Results
   are those of all rows at once, but for the order of sums:
     - A sum over rows is the sum of the parts' (as an output, and as a loss), a mean their mean.
       What does not depend on the batch is the same in each part.
     - A loss that is a mean over the targets that count (labels of -100 do not) divides by their
       number in the whole batch; so do quotients by a sum or a mean that is made of inputs alone,
       such as that of a mask. Sections of type COUNT compute these before the first part. They stay
       in <loss>__targets, the mean of the parts, and in <tensor>__whole or __mean_part.
     - Masks of dropout go on from part to part; its counter counts runs.
     - Values that are neither rows, nor sums, nor means give a warning: a maximum over rows, the
       square of a mean, a sum plus a number, or some rows that a slice takes of a part, unless
       slices take all of them. A scalar becomes the mean of the parts'. An output that could not be
       put together is refused.
     - Row numbers given to lookup and gather count from the first row of the part, and dropout
       draws a mask for each part unless the first dimension counts rows. Both give a warning.
     - So do slices that split the rows, unless the same is done with all of them: each part is
       split, so the first half of its rows is not that of the batch.
     - batch_norm takes statistics of each part. State, such as a cache, sees them one by one.
   Replicas of data parallel training (samba_program.replicas, samba/parallel.h) are parts as well.
   By ids and call ids the sections of FWD (and BCKWD) are run as a whole, as the schedule has them.

   ---- Options: define before the include of the implementation ----

     SAMBA_STATIC            every public function is static: private to the file
     SAMBA_API               your own linkage, such as a dllexport
     SAMBA_RUNTIME_ONLY      the device half alone: load and run a PEF, nothing else
     SAMBA_NO_THREADS        one thread; implied by SAMBA_RUNTIME_ONLY
     SAMBA_NO_STDIO          no files and no printing; programs live in memory
     SAMBA_NO_SIMD           portable kernels only (the same bits)
     SAMBA_SIMD              kernels of vectors also without optimization (-O0), where they are left
                             out, as they take long to compile (the same bits)
     SAMBA_SELF              how samba.h finds itself, if it has another name; "samba.h"
     SAMBA_SMALL             block sizes for a few KiB of fast memory; implied by SAMBA_RUNTIME_ONLY
                             without SAMBA_LOCAL_BYTES
     SAMBA_LOCAL_BYTES       scratch of each thread, 1.5 MiB, or 16 KiB with SAMBA_SMALL
     SAMBA_GEMM_KC, SAMBA_GEMM_MC, SAMBA_GEMM_NC   block sizes of [gemm]
     SAMBA_STB_DS_H          the path of stb_ds.h, if it is not found as <stb/stb_ds.h>
     SAMBA_DEFAULT_SESSION   samba_default(), a session for ported samples; define it wherever it
                             is used, too
     SAMBA_ALLOW_FAST_MATH   compile with -ffast-math all the same; no promise about bits holds then
     SAMBA_ALLOW_EXCESS_PRECISION   the same for x87 arithmetic, where FLT_EVAL_METHOD is not 0
     SAMBA_ASSERTS           for who works on samba.h, beside a sanitizer: the invariants that its
                             code states are checked, and what does not hold stops the process;
                             gcc or clang, with stdio (make asan, make tsan, make random-asan)

   Needs: libc, libm, threads; the host half needs stb_ds.h (Debian: libstb-dev) at compile time.

   ---- Add an op ----

   In this file: a prototype in [api], a row in [op-table], and a block in a chapter below: builder,
   shape rule, work, kernel, gradient rule; leaving one out does not compile. The parts of op NAME
   are samba_NAME, samba__NAME_shape, _work, _kernel and _vjp; ops of a family FAMILY share
   samba__FAMILY_rule, _work and _run. Rows name them by their stem, so a search for the whole name
   finds only the definition. The row also says what the op does to the rows of a batch that runs in
   parts; UNKNOWN will do at first. In your program: fill in a samba_op and call samba_register_op;
   see examples/04_custom_op.c. A kernel gets whole rows and a range of units; the executor makes
   the threads. A gradient rule calls public ops.
   An elementwise op needs no more than its row, made of a function in [math], and one line that has
   its gradient (SAMBA__UNARY); one row of tests/lib/reference.h tests its values, its gradient, and
   the gradient of that. An optimizer is a samba_optim_kind, the row of its op, a row of
   samba__optimizers with its inputs, a line SAMBA__STEP_OP, and a kernel, all in [optim-ops]. A
   type of section is its bit in [api] and a row of samba__section_types.

   ---- The PEF file, version 2 ----

   Little-endian; fixed-width records; the tables follow each other, so there are no offsets to get
   wrong, and the file is used where it lies. A checkpoint is the same file with data filled in. In
   this order:

     header     128 bytes    magic, version, counts, sizes of the memory regions, checksums
     symbols    80 each      what has memory: roles 1 input 2 output 3 weight 4 state 5 argin
                             6 gradient 7 constant 8 temporary 9 scratch; regions 0 state (DDR),
                             1 arena (HBM), 2 in/out (HOST), 3 read-only. Sorted by region, offset
                             and first node
     nodes      32 each      calls of ops, in schedule order
     sections   16 each      type (1 ZEROGRAD 2 FWD 4 BCKWD 8 REDUCE 16 GRADNORM 32 OPT 64 COUNT,
                             between 1 and 2; with mapping spatial 4 + 32 or 4 + 16 + 32), nodes and
                             graph. They cover the nodes in order, none is empty, those of a graph
                             are together, types ascending, graphs by the places of their names.
                             The number of a section is its id and its call id
     words      4 each       arguments of the nodes
     strings                 names, each ends with 0
     trace                   the text that samba_load compares
     data                    from the next multiple of 64: values of symbols, each aligned to 64

   Each field of the records is one row of a table in [pef-read], from which reader and writer are
   made. tests/core/pef.c has the offsets once more, as numbers. Tools read through samba_pef_open.

   Files of the version before are read as well, older ones are refused: compile and save again with
   the samba.h before this one. A version appends fields to records, or gives zero bytes a meaning;
   an older file has 0 there. Loading makes a file of the newest version of it, so samba_save writes
   that one; samba_runtime_open runs it where it lies. Of version 1: it has one checksum, so opening
   reads the data, too, and parameters do not stay in the mapped file; dropout in microbatches draws
   masks that differ from those of the samba.h that wrote the file.

   What a reader proves before first use; samba_load and samba_runtime_open refuse all else:

   File      Magic, version and flags are known; tables and data fill the file. The checksum of the
             tables is right, and that of the data, unless they stay in a mapped file.
   Symbols   Role, type and region are known, and the role may lie there: temporaries and scratch in
             the arena, nothing else; weights, constants and state alone among the read-only. A
             shape has at most 8 dimensions, none below 1, and 2^40 elements. The symbol lies in its
             region, which ends with its last symbol, and its value, if any, in the data, where no
             other symbol's is. Only inputs and outputs with a batch dimension hold microbatches. A
             gradient has its symbol's shape; a hyperparameter is 4 bytes. Symbols are sorted.
   Sections  As above: they cover the nodes, and no graph comes twice.
   Names     Those of symbols, nodes and graphs lie in the table of strings, and together are no
             longer than that table, so no two records share the bytes of a name.
   Nodes     The op is known, its arguments are symbols in the table, and its own rule accepts them
             and the attributes, and gives just the outputs that are declared. Scratch suffices.
   Reading   An input outlives the schedule, or is a temporary that is still alive and that an
             earlier node of the same graph made.
   Writing   A node writes temporaries whose life begins with it, outputs and gradients; anything
             else only if its op overwrites that input; never an input of the program, nor what is
             read-only. What it writes it has nowhere else among its inputs, outputs and scratch,
             nor a view of it. Each temporary and each scratch is made by the node with which its
             life begins.
   Memory    Symbols that are alive together share none, with two exceptions: a view lies where the
             temporary does that its node, a view op, made it from; and a result may lie where the
             input did that its node reads last, if the op allows it, and has it only as that input
             (an elementwise op may have it as several).

   So a run stays in its memory, no op overwrites what it is reading, and none reads what was in
   memory before the run. This relies on kernels that touch nothing but their operands, write all of
   their fresh outputs, and check each index: samba's are tested for it, yours are trusted. Sections
   may still run in another order: what no section has made yet is zero then. Not proved are that
   names differ, that values are finite, and that a program does what its trace says. The cost is n
   log n for n symbols in samba_load; without memory of its own samba_runtime_open needs a pass over
   the symbols for each 512 nodes (64 with SAMBA_SMALL). */

/* ==== [config] ================================================================================ */
#ifndef SAMBA_H
#define SAMBA_H

#define SAMBA_VERSION_MAJOR 0
#define SAMBA_VERSION_MINOR 1
#define SAMBA_VERSION "0.1.0"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if (defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) \
     || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)) \
    && !defined(SAMBA_ALLOW_FAST_MATH)
#error "samba.h: -ffast-math (or -Ofast, or a part of it) changes results and breaks NaN checks. \
Compile without it."
#endif
/* 16 means that _Float16, which is not used here, has a precision of its own. */
#if defined(__FLT_EVAL_METHOD__) && !defined(SAMBA_ALLOW_EXCESS_PRECISION)
#if __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "samba.h: this compiler computes float with excess precision (FLT_EVAL_METHOD is not 0), \
which changes results. On 32-bit x86, compile with -msse2 -mfpmath=sse."
#endif
#endif

/* linkage of the public functions; set it to a dllexport if you like */
#ifndef SAMBA_API
#if defined(SAMBA_STATIC)
#define SAMBA_API static inline
#elif defined(__cplusplus)
#define SAMBA_API extern "C"
#else
#define SAMBA_API extern
#endif
#endif

#define SAMBA_MAX_DIMS 8     /* dimensions of a tensor */
#define SAMBA_MAX_IN 16      /* inputs of one op; cat and stack chain for more */
#define SAMBA_MAX_OUT 4      /* outputs of one op */
#define SAMBA_MAX_ATTR 32    /* integer or float attributes of one op */
#define SAMBA_MAX_OUTPUTS 64 /* outputs and losses of a program */
#define SAMBA_MAX_RUNS 32    /* schedules that one samba_run_desc runs */

/* SAMBA_ASSERT(what holds here whenever samba.h is right): for the reader, and, with SAMBA_ASSERTS
   alone, for the machine. It is no error: what a caller, a file or a user's op can get wrong is
   refused by samba_fail, samba_refuse or the verifier. Without effects; off, it costs nothing. */
#if defined(SAMBA_ASSERTS)
#include <stdio.h>
#define SAMBA_ASSERT(holds) \
    ((holds) ? (void)0 \
             : (fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds), \
                __builtin_trap()))
#else
#define SAMBA_ASSERT(holds) ((void)0)
#endif

/* ==== [api] =================================================================================== */
/* ---- Types ----------------------------------------------------------------------------------- */
/* Storage types. Arithmetic is done in f32; bool is one byte, 0 or 1. Ids and labels are i32, and
   what takes them takes i16, i64, u16 and u32, too. These last three are for ids, labels and token
   files as others store them: they are moved (reshape, slice, cat ...) and cast, and every other op
   refuses them, for f32 would silently round them. */
typedef enum samba_dtype {
    SAMBA_F32 = 0,
    SAMBA_BF16 = 1,
    SAMBA_F16 = 2,
    SAMBA_I32 = 3,
    SAMBA_I16 = 4,
    SAMBA_I8 = 5,
    SAMBA_U8 = 6,
    SAMBA_BOOL = 7,
    SAMBA_I64 = 8,
    SAMBA_U16 = 9,
    SAMBA_U32 = 10
} samba_dtype;

#define SAMBA_N_DTYPES 11

/* A shape, and equally a list of axes. Row-major; a scalar has ndim 0.
   Write SAMBA_SHAPE(64, 784), SAMBA_SCALAR, SAMBA_AXES(1, 2), SAMBA_ALL_AXES. */
typedef struct samba_shape {
    int32_t ndim;
    int32_t dim[SAMBA_MAX_DIMS];
} samba_shape;

#define SAMBA__COUNT(a, b, c, d, e, f, g, h, n, ...) n
#define SAMBA__NDIM(...) SAMBA__COUNT(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#if defined(__cplusplus)
#define SAMBA_SHAPE(...) (samba_shape{ SAMBA__NDIM(__VA_ARGS__), { __VA_ARGS__ } })
#else
#define SAMBA_SHAPE(...) ((samba_shape){ SAMBA__NDIM(__VA_ARGS__), { __VA_ARGS__ } })
#endif
#define SAMBA_SCALAR samba_scalar_shape()
#define SAMBA_AXES SAMBA_SHAPE
#define SAMBA_ALL_AXES samba_scalar_shape()

/* What a kernel or a shape rule knows of a tensor. */
typedef struct samba_spec {
    samba_dtype dtype;
    samba_shape shape;
} samba_spec;

typedef struct samba_session samba_session;
typedef struct samba_runtime samba_runtime;

/* Where a symbol lives (accounting on a CPU; NONE lets the compiler choose). */
typedef enum samba_mem {
    SAMBA_MEM_NONE = 0,
    SAMBA_MEM_DDR = 1,
    SAMBA_MEM_HBM = 2,
    SAMBA_MEM_HOST = 3
} samba_mem;

/* How a parameter starts. All zero: zeros. Values depend on seed, name and element only. */
typedef enum samba_init_kind {
    SAMBA_INIT_CONSTANT = 0, /* value */
    SAMBA_INIT_NORMAL,       /* mean value, standard deviation scale */
    SAMBA_INIT_UNIFORM       /* value - scale ... value + scale */
} samba_init_kind;

typedef struct samba_init {
    samba_init_kind kind;
    float value, scale;
} samba_init;

/* A named tensor of a session. Read every field, write none. Lives until samba_close. */
typedef struct samba_tensor {
    samba_session *session;
    const char *name;
    samba_dtype dtype;
    samba_shape shape;
    int32_t batch_dim;  /* the dimension microbatches split; -1: none */
    samba_mem mem_type; /* may be set before compiling: where it is counted; what
                           ops pass on to each other is in the HBM */
    /* private from here: the op that makes it; NULL for a leaf */
    struct samba__node *node;
    int32_t out_index;                 /* which output of that op */
    int32_t role;                      /* SAMBA__INPUT, SAMBA__WEIGHT, ... */
    int32_t id;                        /* index in the session's tensor list */
    int32_t symbol;                    /* index in the loaded PEF; -1: not there */
    bool borrowed;                     /* data belongs to the caller */
    bool has_value;                    /* an input or a parameter that was given one */
    bool frozen;                       /* a parameter that is not trained */
    bool generated;                    /* by the compiler, such as an optimizer's state */
    bool settled;                      /* data_hash is known */
    bool withheld;                     /* its value has not been sent: see samba_set_transfer */
    bool not_given;                    /* a loss's gradient: see samba_set_output_grads */
    bool outdated;                     /* data is older than the value of the program that goes */
    bool removed;                      /* by samba_forget_name: its name is not found any more */
    uint64_t copied;                   /* 1 + runs when samba_cpu copied it; 0: not current */
    bool transient;                    /* goes with the scope that it was made in */
    uint32_t mark;                     /* of the walk that saw it last, and */
    int32_t place;                     /* its number there */
    int32_t n_same;                    /* how many more names were made of this one */
    struct samba_tensor *holder;       /* the state that an op computed at once wrote into */
    struct samba_tensor *memory;       /* the leaf that an update overwrites: t is its new value */
    struct samba_tensor *last_write;   /* of a leaf: the latest such value, not the compiler's */
    struct samba_tensor *write_before; /* and the one before it */
    samba_init init;                   /* what a parameter or state is before it is anywhere */
    uint64_t data_hash;                /* of data when the device had it or got another value: only
                                          an edit makes data the newer one again */
    void *data;                        /* host value: initial, eager, or copied by samba_cpu */
    struct samba_tensor *grad;         /* set once a gradient has been asked for */
    struct samba_tensor *same_as;      /* what the compiler replaced it by */
} samba_tensor;

/* ---- Errors ---------------------------------------------------------------------------------- */
/* Every failure has one of these codes; samba_error() has the sentence. */
/* clang-format off */
#define SAMBA__CODES(X) \
    X(OK,         "no error") \
    X(ENOMEM,     "out of memory") \
    X(EARG,       "bad argument") \
    X(ESHAPE,     "shapes do not fit") \
    X(EDTYPE,     "types do not fit") \
    X(ENAME,      "unknown name, or name already taken") \
    X(ESTATE,     "call out of order") \
    X(EPEF,       "not a valid PEF") \
    X(EGRAPH,     "the PEF was compiled from another graph") \
    X(EIO,        "file cannot be read or written") \
    X(ERANGE,     "a value is out of range") \
    X(EOP,        "op unknown, or without a gradient")
typedef enum samba_code {
#define X(name, text) SAMBA_##name,
    SAMBA__CODES(X)
#undef X
    SAMBA_N_CODES
} samba_code;

/* clang-format on */

/* ---- Ops: what a kernel, a shape rule and a gradient rule see -------------------------------- */
/* Argument of a shape rule: reads in, n_in, attr, n_attr; fills out and n_out.
   A rule that refuses calls samba_refuse() with the reason and the remedy. */
typedef struct samba_call {
    const samba_spec *in;
    int32_t n_in;
    const int32_t *attr;
    int32_t n_attr;
    samba_spec out[SAMBA_MAX_OUT];
    int32_t n_out;
    samba_code code;
    char why[320];
} samba_call;

/* How an op is cut into units of work. The executor runs phases one after another; the units of a
   phase run in any order on any thread, so a unit's result must not depend on the others. */
#define SAMBA_MAX_PHASES 3

typedef struct samba_work {
    int64_t units[SAMBA_MAX_PHASES]; /* phase 0 from the '*' of the signature unless set */
    int32_t n_phases;                /* 1 unless set */
    int64_t scratch;                 /* bytes shared by all units of this op */
    int64_t part;                    /* elements of output 0 a unit of phase 0 makes, reading the
                                        same ones of inputs as large; 0: not so; -1: a product,
                                        which calls samba_args.epilogue. Ops may then run together:
                                        a samba_fault is reported of the first of them */
    int64_t flops;                   /* arithmetic of the whole op; for reports and scheduling */
} samba_work;

/* Argument of a kernel: compute units [begin,end) of the given phase. */
typedef struct samba_args {
    const float *in[SAMBA_MAX_IN]; /* NULL for an absent optional input */
    float *out[SAMBA_MAX_OUT];
    const samba_spec *in_spec;
    const samba_spec *out_spec;
    int32_t n_in, n_out;
    const int32_t *attr;
    int32_t n_attr;
    int32_t phase;
    int64_t begin, end;
    void *scratch;      /* samba_work.scratch bytes, 64-byte aligned */
    float *local;       /* SAMBA_LOCAL_BYTES of the thread's own */
    int32_t microbatch; /* which one of the batch runs now */
    int32_t isa;        /* instruction set chosen at run time */
    bool train;         /* false: no dropout */
    bool running_stats; /* batch_norm by running values, which stay */
    int32_t *fault;     /* set through samba_fault() */
    /* For fused groups. Elementwise ops compute `rows` ranges, `pitch` apart; 0: one. Products
       call epilogue, unless it is NULL, when a part of output 0 is ready: rows and columns from y
       on. */
    int64_t rows, pitch;
    void (*epilogue)(const struct samba_args *args, const float *y, int64_t rows, int64_t cols,
                     int64_t pitch);
    const void *group; /* the fused group, for its epilogue */
} samba_args;

/* Argument of a gradient rule: given out, dout (NULL where nothing flows), set din. */
typedef struct samba_vjp {
    samba_session *session;
    samba_tensor *const *in;
    int32_t n_in;
    samba_tensor *const *out;
    samba_tensor *const *dout;
    int32_t n_out;
    const int32_t *attr;
    int32_t n_attr;
    samba_tensor *din[SAMBA_MAX_IN]; /* leave NULL where the op has no gradient */
} samba_vjp;

/* One op. The built-in ones are rows of a table; yours go through samba_register_op().
   signature: a letter is one dimension, '*' any leading ones (equal in all terms), '?' makes an
   input optional; "i:", "b:" or "f:" before a term mean i32, bool, or f32 as without: "*n,n?->*n".
   Or NULL: shape decides. Without work, units are elements of '*': rows begin ... end-1. */
typedef struct samba_op {
    const char *name;
    uint32_t wire;  /* number in PEF files: 0x8000 and up for users' ops */
    uint32_t flags; /* SAMBA_OP_... */
    const char *signature;
    int32_t cost;                    /* flops per output element, if work does not say */
    bool (*shape)(samba_call *call); /* needed if signature is NULL */
    void (*work)(samba_work *work, const samba_call *call);
    void (*kernel)(const samba_args *args);
    /* The same, with the same bits, for processors with AVX2 or NEON, and with AVX-512. NULL: the
       one before. */
    void (*wide[2])(const samba_args *args);
    void (*vjp)(samba_vjp *g); /* NULL: no gradient, and samba says so */
    const char *attributes;    /* names and kinds for who prints them: "slope:f axis:i" */
} samba_op;

#define SAMBA_OP_NONE 0u
#define SAMBA_OP_INPLACE 1u   /* out 0 may lie where input 0 did, if that dies here */
#define SAMBA_OP_VIEW 2u      /* out 0 is input 0 in another shape: one memory may do */
#define SAMBA_OP_INPLACE_1 4u /* as INPLACE, of input 1 */
#define SAMBA_OP_HOST 8u      /* a section of its own, between those of the device */
/* State updates. Hex digit o, from the right: 1 + the input that output o overwrites; 0: fresh. */
#define SAMBA_OP_UPDATES(digits) ((digits) << 8)

/* Attributes are 32-bit words; floats travel as bits. samba_op.attributes lists them, as NAME:K
   where K says what it is: i number, f float, b yes or no, t dtype, m mask of axes, x bits in
   hexadecimal. Behind K, 2 ... 9 is so many, '*' as many as there are. NULL: all are numbers. */
SAMBA_API float samba_attr_float(int32_t word);
SAMBA_API int32_t samba_float_attr(float value);
/* Refuse in a shape rule: false. fmt as that of samba_fail. */
SAMBA_API bool samba_refuse(samba_call *call, samba_code code, const char *fmt, ...);
/* Report from a kernel that input `which` holds a bad value; the run ends with SAMBA_ERANGE. With
   the element that holds it and the range least ... most that it should be in, the error has them;
   of several bad elements it has the first. */
SAMBA_API void samba_fault(const samba_args *args, int32_t which, int32_t value);
SAMBA_API void samba_fault_at(const samba_args *args, int32_t which, int32_t value, int64_t element,
                              int32_t least, int32_t most);
SAMBA_API samba_shape samba_scalar_shape(void);
SAMBA_API int64_t samba_count(const samba_shape *shape);   /* elements; 1 for a scalar */
SAMBA_API size_t samba_dtype_size(samba_dtype dtype);      /* bytes of one element */
SAMBA_API const char *samba_dtype_name(samba_dtype dtype); /* "f32" ... */

/* Section types, in schedule order. */
enum {
    SAMBA_ZEROGRAD = 1,
    SAMBA_FWD = 2,
    SAMBA_BCKWD = 4,
    SAMBA_REDUCE = 8,
    SAMBA_GRADNORM = 16,
    SAMBA_OPT = 32,
    /* Between ZEROGRAD and FWD, and run by whatever runs FWD: counts what losses of a batch in
       parts divide by. See [manual], a batch in parts. */
    SAMBA_COUNT = 64
};

/* What a symbol of a PEF is. */
typedef enum samba_role {
    SAMBA_ROLE_INPUT = 1,
    SAMBA_ROLE_OUTPUT,
    SAMBA_ROLE_WEIGHT,
    SAMBA_ROLE_STATE,
    SAMBA_ROLE_ARGIN,
    SAMBA_ROLE_GRADIENT,
    SAMBA_ROLE_CONSTANT,
    SAMBA_ROLE_TEMPORARY,
    SAMBA_ROLE_SCRATCH
} samba_role;

/* ---- Device: run a PEF from one block of memory, without malloc or stdio --------------------- */
/* Verifies the whole PEF, then lays the runtime out in memory. NULL if the PEF is refused, has no
   values of its parameters (samba_save writes them) or memory is too small; why (may be NULL) gets
   the reason. pef must stay where it is, 8-byte aligned. */
SAMBA_API samba_runtime *samba_runtime_open(const void *pef, size_t size, void *memory,
                                            size_t memory_size, char *why, size_t why_size);
/* Bytes samba_runtime_open needs; 0 if the PEF is refused. It need not have values yet. */
SAMBA_API size_t samba_runtime_bytes(const void *pef, size_t size, char *why, size_t why_size);
/* Runs the sections whose type is in types (0: all) in schedule order; a whole step is as samba_run
   has it. False: bad index value; types has but a part of those of a section (mapping spatial); or
   OPT clips and GRADNORM has not run since the gradients changed (what the caller writes to them
   through a pointer is not noticed). */
SAMBA_API bool samba_runtime_run(samba_runtime *rt, unsigned types);
/* The same for one graph of a PEF that has several. False if there is no such graph. */
SAMBA_API bool samba_runtime_run_graph(samba_runtime *rt, const char *graph, unsigned types);
/* The memory of a symbol by name; NULL if there is none. */
SAMBA_API void *samba_runtime_data(samba_runtime *rt, const char *name);

#if !defined(SAMBA_RUNTIME_ONLY) || defined(SAMBA_IMPLEMENTATION)
#if defined(SAMBA_RUNTIME_ONLY) /* no tracer: the compiler drops the builders of ops */
#define SAMBA__OP_API static inline
#else
#define SAMBA__OP_API SAMBA_API
#endif

/* ---- Ops. x (2,3) means shape; broadcasting is NumPy's; NULL in, NULL out. ------------------- */
/* A constant: every element is value. */
SAMBA__OP_API samba_tensor *samba_full(samba_session *s, samba_shape shape, float value);

/* Elementwise, f32 out (or the type of the operands if it is bf16/f16). The gradient of pow in b
   needs a > 0. In minimum and maximum NaN wins, and ties share the gradient. Comparisons give bool;
   i32 is compared as f32, exact to 2^24. */
SAMBA__OP_API samba_tensor *samba_add(samba_tensor *a, samba_tensor *b); /* a + b */
SAMBA__OP_API samba_tensor *samba_sub(samba_tensor *a, samba_tensor *b); /* a - b */
SAMBA__OP_API samba_tensor *samba_mul(samba_tensor *a, samba_tensor *b); /* a b */
SAMBA__OP_API samba_tensor *samba_div(samba_tensor *a, samba_tensor *b); /* a / b */
SAMBA__OP_API samba_tensor *samba_pow(samba_tensor *a, samba_tensor *b); /* a^b */
SAMBA__OP_API samba_tensor *samba_minimum(samba_tensor *a, samba_tensor *b);
SAMBA__OP_API samba_tensor *samba_maximum(samba_tensor *a, samba_tensor *b);
SAMBA__OP_API samba_tensor *samba_eq(samba_tensor *a, samba_tensor *b); /* a == b */
SAMBA__OP_API samba_tensor *samba_ne(samba_tensor *a, samba_tensor *b); /* a != b */
SAMBA__OP_API samba_tensor *samba_lt(samba_tensor *a, samba_tensor *b); /* a < b */
SAMBA__OP_API samba_tensor *samba_le(samba_tensor *a, samba_tensor *b); /* a <= b */
SAMBA__OP_API samba_tensor *samba_gt(samba_tensor *a, samba_tensor *b); /* a > b */
SAMBA__OP_API samba_tensor *samba_ge(samba_tensor *a, samba_tensor *b); /* a >= b */
/* Element by element: cond (bool) ? a : b. And functions of one x. */
SAMBA__OP_API samba_tensor *samba_where(samba_tensor *cond, samba_tensor *a, samba_tensor *b);
SAMBA__OP_API samba_tensor *samba_neg(samba_tensor *x); /* -x */
SAMBA__OP_API samba_tensor *samba_exp(samba_tensor *x); /* e^x */
SAMBA__OP_API samba_tensor *samba_log(samba_tensor *x); /* to base e */
SAMBA__OP_API samba_tensor *samba_sqrt(samba_tensor *x);
SAMBA__OP_API samba_tensor *samba_rsqrt(samba_tensor *x);                   /* 1 / sqrt(x) */
SAMBA__OP_API samba_tensor *samba_abs(samba_tensor *x);                     /* gradient 0 at 0 */
SAMBA__OP_API samba_tensor *samba_relu(samba_tensor *x);                    /* max(x, 0) */
SAMBA__OP_API samba_tensor *samba_leaky_relu(samba_tensor *x, float slope); /* x < 0: slope x */
SAMBA__OP_API samba_tensor *samba_sigmoid(samba_tensor *x);                 /* 1 / (1 + e^-x) */
SAMBA__OP_API samba_tensor *samba_tanh(samba_tensor *x);
SAMBA__OP_API samba_tensor *samba_gelu(samba_tensor *x);                /* x Phi(x): erf */
SAMBA__OP_API samba_tensor *samba_gelu_tanh(samba_tensor *x);           /* "gelu_new" */
SAMBA__OP_API samba_tensor *samba_silu(samba_tensor *x);                /* x sigmoid(x) */
SAMBA__OP_API samba_tensor *samba_softplus(samba_tensor *x);            /* log(1 + e^x) */
SAMBA__OP_API samba_tensor *samba_scale(samba_tensor *x, float factor); /* x * factor */
SAMBA__OP_API samba_tensor *samba_shift(samba_tensor *x, float term);   /* x + term */
/* Conversion; f32 to integer truncates and saturates, NaN gives 0; to bool: x != 0. Between two
   integers, one of them i64, u16 or u32, it is exact: what does not fit ends the run with
   SAMBA_ERANGE. */
SAMBA__OP_API samba_tensor *samba_cast(samba_tensor *x, samba_dtype dtype);

/* Reductions over axes (negative count from the end; SAMBA_ALL_AXES), f32; keepdim keeps them as 1.
   Ties of max share the gradient (torch.amax); argmax is i32, the first of equals. */
SAMBA__OP_API samba_tensor *samba_sum(samba_tensor *x, samba_shape axes, bool keepdim);
SAMBA__OP_API samba_tensor *samba_mean(samba_tensor *x, samba_shape axes, bool keepdim);
SAMBA__OP_API samba_tensor *samba_max(samba_tensor *x, samba_shape axes, bool keepdim);
SAMBA__OP_API samba_tensor *samba_argmax(samba_tensor *x, int32_t axis, bool keepdim);

/* Products. matmul: (*,m,k) (*,k,n) -> (*,m,n), 1-D as torch. affine: x w^T + b, x (*,k), w (n,k),
   b (n) or NULL -> (*,n). */
SAMBA__OP_API samba_tensor *samba_matmul(samba_tensor *a, samba_tensor *b);
SAMBA__OP_API samba_tensor *samba_affine(samba_tensor *x, samba_tensor *w, samba_tensor *b);

/* Shape. Axes may be negative. A dimension of -1 is inferred, once, by reshape (view is the same),
   and kept by expand, which stretches 1s. flatten joins from_axis ... last. */
SAMBA__OP_API samba_tensor *samba_reshape(samba_tensor *x, samba_shape shape);
SAMBA__OP_API samba_tensor *samba_flatten(samba_tensor *x, int32_t from_axis);
SAMBA__OP_API samba_tensor *samba_expand(samba_tensor *x, samba_shape shape);
SAMBA__OP_API samba_tensor *samba_squeeze(samba_tensor *x, int32_t axis);
SAMBA__OP_API samba_tensor *samba_unsqueeze(samba_tensor *x, int32_t axis);
SAMBA__OP_API samba_tensor *samba_transpose(samba_tensor *x, int32_t axis0, int32_t axis1);
SAMBA__OP_API samba_tensor *samba_permute(samba_tensor *x, samba_shape axes);
/* Parts: x[begin:end:step], step >= 1; pad with one count per axis; split into parts of size, whose
   number it returns; and their inverses. gather is torch.gather, its index i32. */
SAMBA__OP_API samba_tensor *samba_slice(samba_tensor *x, int32_t axis, int32_t begin, int32_t end,
                                        int32_t step);
SAMBA__OP_API samba_tensor *samba_pad(samba_tensor *x, samba_shape before, samba_shape after,
                                      float value);
SAMBA__OP_API int32_t samba_split(samba_tensor *x, int32_t size, int32_t axis, samba_tensor **parts,
                                  int32_t max_parts);
SAMBA__OP_API samba_tensor *samba_cat(samba_tensor *const *xs, int32_t n, int32_t axis);
SAMBA__OP_API samba_tensor *samba_stack(samba_tensor *const *xs, int32_t n, int32_t axis);
SAMBA__OP_API samba_tensor *samba_gather(samba_tensor *x, int32_t axis, samba_tensor *index);
/* Overwrites rows of a buffer, such as a cache of keys: y = cache (*,S,D) after row[t] <- x (*,T,D)
   for each t. row i32 (T), or (B,T) with B the first dimension; row -1 is left out. No gradient. */
SAMBA__OP_API samba_tensor *samba_write_rows(samba_tensor *cache, samba_tensor *x,
                                             samba_tensor *row);

/* Normalization. layer_normalize: (x - mean) / sqrt(var + eps) w + b over the last axis,
   rms_normalize: x / sqrt(mean(x^2) + eps) w; w and b may be NULL. Ops say normalize, layers, which
   have parameters of their own, norm: samba_layernorm. */
SAMBA__OP_API samba_tensor *samba_softmax(samba_tensor *x, int32_t axis);
SAMBA__OP_API samba_tensor *samba_log_softmax(samba_tensor *x, int32_t axis);
SAMBA__OP_API samba_tensor *samba_layer_normalize(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                                  float eps);
SAMBA__OP_API samba_tensor *samba_rms_normalize(samba_tensor *x, samba_tensor *w, float eps);
/* x (N,C,*), w b mean var (C), w and b may be NULL. Training: batch statistics, and mean, var <-
   (1-momentum) old + momentum new (var unbiased). An inference PEF and samba_use_running_stats: the
   running values. */
SAMBA__OP_API samba_tensor *samba_batch_normalize(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                                  samba_tensor *mean, samba_tensor *var,
                                                  float momentum, float eps);

/* Their former names, an underscore away from those of the layers: they stay, and do the same. */
SAMBA__OP_API samba_tensor *samba_layer_norm(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                             float eps);
SAMBA__OP_API samba_tensor *samba_rms_norm(samba_tensor *x, samba_tensor *w, float eps);
SAMBA__OP_API samba_tensor *samba_batch_norm(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                             samba_tensor *mean, samba_tensor *var, float momentum,
                                             float eps);

/* logits (*,C), target (*) of ids as for lookup -> (), or (*) with reduction none. mse: mean
   (x - y)^2. */
typedef enum samba_reduction {
    SAMBA_REDUCE_MEAN = 0,
    SAMBA_REDUCE_SUM = 1,
    SAMBA_REDUCE_NONE = 2
} samba_reduction;

typedef struct samba_loss_opts {
    samba_reduction reduction; /* default mean (over the targets that count) */
    bool use_ignore_index;     /* false: -100, as torch */
    int32_t ignore_index;      /* targets with this id count nothing */
    float label_smoothing;     /* cross_entropy only; 0 ... 1 */
} samba_loss_opts;

SAMBA__OP_API samba_tensor *samba_cross_entropy(samba_tensor *logits, samba_tensor *target);
SAMBA__OP_API samba_tensor *samba_cross_entropy_with(samba_tensor *logits, samba_tensor *target,
                                                     const samba_loss_opts *opts);
SAMBA__OP_API samba_tensor *samba_nll(samba_tensor *logp, samba_tensor *target,
                                      const samba_loss_opts *opts);
SAMBA__OP_API samba_tensor *samba_mse(samba_tensor *x, samba_tensor *y, samba_reduction reduction);

/* Convolution, cross-correlation as torch. 2-D: x (N,C,H,W), w (O,C/groups,KH,KW), b (O) or NULL.
   1-D: x (N,C,L), w (O,C/groups,K). Zero means default: stride 1, padding 0, dilation, groups 1. */
typedef struct samba_conv_opts {
    int32_t stride[2], padding[2], dilation[2], groups;
} samba_conv_opts;

SAMBA__OP_API samba_tensor *samba_convolution(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                              const samba_conv_opts *opts);

/* Pooling over the last two axes of (N,C,H,W). stride 0 means the kernel size. */
typedef struct samba_pool_opts {
    int32_t kernel[2], stride[2], padding[2];
    bool ceil_mode, exclude_padding; /* exclude_padding: torch's count_include_pad = false */
} samba_pool_opts;

SAMBA__OP_API samba_tensor *samba_max_pool2d(samba_tensor *x, const samba_pool_opts *opts);
SAMBA__OP_API samba_tensor *samba_avg_pool2d(samba_tensor *x, const samba_pool_opts *opts);
SAMBA__OP_API samba_tensor *samba_adaptive_avg_pool2d(samba_tensor *x, int32_t out_h,
                                                      int32_t out_w);

/* Rows of w (V,C) by ids i32, i16, i64, u16 or u32 (*) -> (*,C). An id outside 0..V-1 ends the run
   with SAMBA_ERANGE. */
SAMBA__OP_API samba_tensor *samba_lookup(samba_tensor *ids, samba_tensor *w);

/* softmax(q k^T scale + mask) v. q (*,T,D), k (*,S,D), v (*,S,E) -> (*,T,E); mask bool (true:
   attend) or f32 (added), broadcast to (*,T,S), or NULL. scale 0 means 1/sqrt(D). A row with
   nothing to attend is 0. Blocks of 64 keys that a bool mask hides from the first rows are free. */
typedef struct samba_attention_opts {
    bool causal;
    float scale;
} samba_attention_opts;

SAMBA__OP_API samba_tensor *samba_scaled_dot_product_attention(samba_tensor *q, samba_tensor *k,
                                                               samba_tensor *v, samba_tensor *mask,
                                                               const samba_attention_opts *opts);

/* ---- What gradient rules are written with; samba_apply makes other gradients ----------------- */
/* op(a) op(b): the product with either factor read as its transpose, (*,m,k) (*,k,n) -> (*,m,n). */
SAMBA__OP_API samba_tensor *samba_matmul_transposed(samba_tensor *a, bool transpose_a,
                                                    samba_tensor *b, bool transpose_b);
/* The adjoints of convolution in x and in w: dy (N,O,*), w -> dx of x_shape; x, dy -> dw of
   w_shape. Each is linear in both inputs, and its gradients are again these three ops. */
SAMBA__OP_API samba_tensor *samba_convolution_backward_input(samba_tensor *dy, samba_tensor *w,
                                                             samba_shape x_shape,
                                                             const samba_conv_opts *opts);
SAMBA__OP_API samba_tensor *samba_convolution_backward_weight(samba_tensor *x, samba_tensor *dy,
                                                              samba_shape w_shape,
                                                              const samba_conv_opts *opts);
#endif

#if !defined(SAMBA_RUNTIME_ONLY)

/* ---- Session --------------------------------------------------------------------------------- */
/* A warning says what is allowed but rarely meant, each text once. Errors: as samba_error says. */
typedef enum samba_log_level { SAMBA_LOG_WARNING, SAMBA_LOG_ERROR } samba_log_level;

/* GraphAMP: results are rounded to bf16 and kept so for the backward pass; parameters, their
   gradients and all arithmetic stay f32. MP0: none. MP1: what products read. MP4: what every op
   makes, but scalars and losses. */
typedef enum samba_graphamp { SAMBA_MP0 = 0, SAMBA_MP1 = 1, SAMBA_MP4 = 4 } samba_graphamp;

/* How to open a session. All zero is a good session. */
typedef struct samba_desc {
    uint64_t seed;           /* of weights, dropout, samba_randn ...; default 256 */
    samba_graphamp graphamp; /* preset that tracing begins with; default MP0 */
    int32_t threads;         /* default: one per processor, at most 64 */
    bool portable;           /* use no SIMD kernels; the results are the same bits */
    bool no_map;             /* samba_load reads what it would map: see [manual] */
    void *(*alloc)(size_t size, void *user); /* default malloc */
    void (*release)(void *ptr, size_t size, void *user);
    void (*log)(samba_log_level level, const char *text, void *user); /* gets errors, warnings */
    void *user;                                                       /* is passed to these three */
    bool check_finite; /* see samba_set_check_finite */
    bool quiet;        /* without log, errors and warnings are printed on stderr
                          when they arise; quiet: they are not */
} samba_desc;

/* Opens a session in tracing mode. NULL only when there is no memory for the session itself. */
SAMBA_API samba_session *samba_open(const samba_desc *desc);
/* Frees everything the session owns. Returns 0, or 1 if an error is standing. NULL: returns 1. */
SAMBA_API int samba_close(samba_session *s);
#if defined(SAMBA_DEFAULT_SESSION)
/* SambaFlow's samba.session: a session for the process, opened with all defaults by the first call,
   and by the next one after samba_close(samba_default()). For one thread: it is global state. */
SAMBA_API samba_session *samba_default(void);
#endif
/* The first error stays until cleared; later calls do nothing and return NULL or false. */
SAMBA_API bool samba_ok(const samba_session *s);
SAMBA_API samba_code samba_error_code(const samba_session *s);
SAMBA_API const char *samba_error(samba_session *s); /* what, where, what to do */
SAMBA_API void samba_clear_error(samba_session *s);
SAMBA_API const char *samba_code_text(samba_code code);
/* For calls that may fail: while quiet no error is printed; afterwards the one that still stands
   is. Returns what it was before. */
SAMBA_API bool samba_set_quiet(samba_session *s, bool quiet);
/* Report an error of your own through the session (first one wins). Returns false. fmt knows %s,
   %d int32_t, %l int64_t, %g double, %S const samba_shape *, %T samba_dtype, nothing else. */
SAMBA_API bool samba_fail(samba_session *s, samba_code code, const char *fmt, ...);
/* Tell of what is allowed but rarely meant, as samba.h itself does: through the log, each text
   once; nothing while an error is standing. fmt as that of samba_fail. */
SAMBA_API void samba_warn(samba_session *s, const char *fmt, ...);
/* Words that stand in front of every error from now on: what of the caller's the session is busy
   with, such as a node of a file. The text stays the caller's and must live until the next call;
   NULL: none. Returns what stood there before, to be put back. */
SAMBA_API const char *samba_error_context(samba_session *s, const char *text);
/* Tracing, ops are recorded; else they compute at once. True from open to compile or load. */
SAMBA_API bool samba_tracing(const samba_session *s);
SAMBA_API bool samba_set_tracing(samba_session *s, bool tracing);
/* A scope frees, at its end, what was computed at once in it, and the inputs that were made in it
   while not tracing: their handles and what was read of them are void then, their names free.
   Parameters and buffers stay; so does all that was there before. A value that is to survive is
   copied out, or written to a tensor from before. A loop that computes at once needs one in each
   turn to hold its memory. Scopes may lie in each other. */
SAMBA_API bool samba_scope_begin(samba_session *s);
SAMBA_API bool samba_scope_end(samba_session *s);
/* Ops are called by their kind and a number, not by their layer. Not for models with batchnorm. */
SAMBA_API bool samba_use_legacy_names(samba_session *s, bool use);
/* For ops traced from here on; returns the former preset, to go back to. */
SAMBA_API samba_graphamp samba_set_graphamp(samba_session *s, samba_graphamp preset);
/* Ops recorded from here on belong to the graph called name: one PEF may hold several, such as
   prefill and decode. They share parameters, buffers and the memory of what passes through; only
   one of them may train. Run them with samba_run_graph. */
SAMBA_API bool samba_begin_graph(samba_session *s, const char *name);
/* Names of ops traced from here on begin with prefix, those of parameters do not: which graph an op
   belongs to can then be seen from its name. NULL: no prefix. */
SAMBA_API bool samba_set_op_prefix(samba_session *s, const char *prefix);

/* ---- Leaves: inputs, parameters, buffers, constants ------------------------------------------ */
/* A named input without a value; batch_dim 0 unless it is a scalar. */
SAMBA_API samba_tensor *samba_input(samba_session *s, const char *name, samba_dtype dtype,
                                    samba_shape shape);
/* Named inputs with values. Random ones depend on seed and name: N(0,1); U[0,1); i32 0..high-1. */
SAMBA_API samba_tensor *samba_randn(samba_session *s, const char *name, samba_shape shape);
SAMBA_API samba_tensor *samba_rand(samba_session *s, const char *name, samba_shape shape);
SAMBA_API samba_tensor *samba_randint(samba_session *s, const char *name, int32_t high,
                                      samba_shape shape);
SAMBA_API samba_tensor *samba_zeros(samba_session *s, const char *name, samba_dtype dtype,
                                    samba_shape shape);
SAMBA_API samba_tensor *samba_ones(samba_session *s, const char *name, samba_dtype dtype,
                                   samba_shape shape);
/* A named input over your data: from_data borrows it (keep it alive), from_data_copy copies. While
   tracing, a name that is taken is an error. Later these and the functions above mean the input of
   the loaded program: of its shape and type, it gets the new data as its host copy (a pointer that
   samba_cpu gave before ends), which the next run that has it among its feeds sends. */
SAMBA_API samba_tensor *samba_from_data(samba_session *s, const char *name, samba_dtype dtype,
                                        samba_shape shape, void *data);
SAMBA_API samba_tensor *samba_from_data_copy(samba_session *s, const char *name, samba_dtype dtype,
                                             samba_shape shape, const void *data);
/* Gives a tensor of the graph a name of its own, before compiling: by it the PEF has an output, and
   its log and samba_tensor_by_name any tensor. The name must be free; the old one is then. Who
   loads the PEF with a graph must give the same names. Returns t. */
SAMBA_API samba_tensor *samba_name(samba_tensor *t, const char *name);
/* The random words that element 4 block ... 4 block + 3 of a tensor called name are made of. */
SAMBA_API void samba_random(uint64_t seed, const char *name, uint64_t block, uint32_t words[4]);
/* Sets batch_dim (-1: none) before compile; returns t. */
SAMBA_API samba_tensor *samba_set_batch_dim(samba_tensor *t, int32_t batch_dim);

/* A trainable f32 parameter; the same name and shape again is the same one (weight sharing). */
SAMBA_API samba_tensor *samba_param(samba_session *s, const char *name, samba_shape shape,
                                    samba_init init);
/* How parameters of two dimensions made from here on are stored: f32, bf16, or f16, which cannot be
   trained. linear, affine, embedding, lookup and matmul (as input 1) read halves and compute with
   f32; gradients and optimizer state are f32; steps round bf16 at random, so that the mean is
   right. A checkpoint of either restores into the other. Returns the former one. */
SAMBA_API samba_dtype samba_set_param_dtype(samba_session *s, samba_dtype dtype);
/* Fills up to cap parameters in the order they were made, returns how many there are. */
SAMBA_API int32_t samba_parameters(samba_session *s, samba_tensor **list, int32_t cap);
/* State that no optimizer touches (running statistics, caches). */
SAMBA_API samba_tensor *samba_buffer(samba_session *s, const char *name, samba_shape shape,
                                     float value);

/* Parameters are lazy: placeholders until something needs their values, so that compiling alone
   takes no memory for them. How they are drawn, whatever else draws; before the first one. */
typedef struct samba_lazy_opts {
    uint64_t seed;                   /* of parameters; default: the session's */
    int32_t init_threads;            /* default 8; at most those of the session; the same bits */
    bool inverse_transform_sampling; /* normal ones, by the inverse of their distribution */
    const char *rounding;            /* of parameters packed, or begun, as bf16: "nearest_even",
                                        the default, or "truncation" */
} samba_lazy_opts;

SAMBA_API bool samba_enable_lazy_param(samba_session *s, const samba_lazy_opts *opts);
/* Each parameter is drawn when it is made. */
SAMBA_API bool samba_disable_lazy_param(samba_session *s);
SAMBA_API bool samba_use_lazy_param(const samba_session *s);
/* From here on dropout draws once more what it has drawn since the start. */
SAMBA_API bool samba_reset_random_generator(samba_session *s);
/* A constant scalar; samba_full makes a constant tensor. */
SAMBA_API samba_tensor *samba_number(samba_session *s, float value);

/* Your own ops; apply calls an op by name and returns its first output. Names of torch and NumPy,
   in their own words: samba/sambaflow.h. */
SAMBA_API bool samba_register_op(samba_session *s, const samba_op *op);
SAMBA_API samba_tensor *samba_apply(samba_session *s, const char *op, samba_tensor *const *in,
                                    int32_t n_in, const int32_t *attr, int32_t n_attr);
/* The same for all outputs: up to cap; returns how many. */
SAMBA_API int32_t samba_apply_all(samba_session *s, const char *op, samba_tensor *const *in,
                                  int32_t n_in, const int32_t *attr, int32_t n_attr,
                                  samba_tensor **out, int32_t cap);
/* Op number i, from 0: samba.h's own, then those of the session; NULL: no more. */
SAMBA_API const samba_op *samba_op_at(const samba_session *s, int32_t i);

/* ---- Layers: ops with parameters, by name. The same name again shares the parameters. -------- */
/* y = x W^T + b, (*,k) -> (*,n). name__weight (n,k), name__bias (n): U(+-1/sqrt(k)) as torch. */
SAMBA_API samba_tensor *samba_linear(samba_tensor *x, const char *name, int32_t n);
SAMBA_API samba_tensor *samba_linear_no_bias(samba_tensor *x, const char *name, int32_t n);
/* name__weight (n) ones, name__bias (n) zeros, eps 1e-5. */
SAMBA_API samba_tensor *samba_layernorm(samba_tensor *x, const char *name);
SAMBA_API samba_tensor *samba_rmsnorm(samba_tensor *x, const char *name);
/* name__weight, __bias, __running_mean, __running_var (C); momentum 0.1, eps 1e-5. */
SAMBA_API samba_tensor *samba_batchnorm(samba_tensor *x, const char *name);
/* name__weight (o,C/groups,k,k), name__bias (o): U(+-1/sqrt(C/groups k k)). opts may be NULL. */
SAMBA_API samba_tensor *samba_conv2d(samba_tensor *x, const char *name, int32_t o, int32_t kernel,
                                     const samba_conv_opts *opts);
SAMBA_API samba_tensor *samba_conv1d(samba_tensor *x, const char *name, int32_t o, int32_t kernel,
                                     const samba_conv_opts *opts);
/* name__weight (rows,n) N(0,1). */
SAMBA_API samba_tensor *samba_embedding(samba_tensor *ids, const char *name, int32_t rows,
                                        int32_t n);
/* Zeroes with probability p, scales the rest by 1/(1-p). Argins name__p and name__seed. */
SAMBA_API samba_tensor *samba_dropout(samba_tensor *x, const char *name, float p);
/* samba_scaled_dot_product_attention in which the dropout called name zeroes weights of the
   softmax: the same bits of the mask as samba_dropout would draw, and no (T,S) tensor. */
SAMBA_API samba_tensor *samba_attention_dropout(samba_tensor *const qkv[3], samba_tensor *mask,
                                                const samba_attention_opts *opts, const char *name,
                                                float p);

/* Frozen parameters get no gradient, no optimizer: one, or all made from here on; then compile. */
SAMBA_API bool samba_set_requires_grad(samba_tensor *t, bool requires_grad);
SAMBA_API bool samba_set_frozen(samba_session *s, bool frozen);

/* Shows fn each op when it has been traced: what fn returns takes the place of its first output y,
   and may be made of y by more ops, which fn is shown too (see samba/lora.h). NULL: no more. */
typedef samba_tensor *(*samba_trace_fn)(const samba_op *op, samba_tensor *const *in, int32_t n_in,
                                        samba_tensor *y, void *user);
SAMBA_API bool samba_on_trace(samba_session *s, samba_trace_fn fn, void *user);

/* ---- Gradients ------------------------------------------------------------------------------- */
/* Extends the graph by d loss / d x and returns it; loss is summed if it is not a scalar.
   NULL with an error if x does not influence loss. */
SAMBA_API samba_tensor *samba_grad(samba_tensor *loss, samba_tensor *x);
/* The gradient of a parameter in a compiled training program, called <name>__grad; or that of a
   loss: ones, until samba_write gives it others, which persist. */
SAMBA_API samba_tensor *samba_sn_grad(samba_tensor *t);

/* Fills up to cap losses of the loaded program that can be given a gradient, by samba_write to
   their samba_sn_grad; returns how many there are. */
SAMBA_API int32_t samba_losses(samba_session *s, samba_tensor **list, int32_t cap);

/* ---- Compile, load, run ---------------------------------------------------------------------- */
typedef enum samba_optim_kind {
    SAMBA_NO_OPTIM = 0,
    SAMBA_SGD,
    SAMBA_ADAMW,
    SAMBA_ADAM
} samba_optim_kind;

/* SGD as torch: g += weight_decay w; v = momentum v + (1-dampening) g; w -= lr v. AdamW decouples
   the decay; Adam adds it to g. Zero means SambaFlow's default: lr 1e-3, betas (0.9, 0.997), eps
   1e-8, weight_decay 0. max_grad_norm > 0 clips the norm of this optimizer's gradients alone, as
   SambaFlow's does; samba_program.max_grad_norm is the norm of all, as in PyTorch. Nothing is
   negative or NaN, betas are below 1, dampening is 0 ... 1; samba_set checks the same. */
typedef struct samba_optim {
    samba_optim_kind kind;
    float lr, momentum, dampening, weight_decay, beta1, beta2, eps, max_grad_norm;
    bool nesterov;
    bool momentum_state;           /* SGD: keep what momentum needs though it begins at 0, so
                                      that it may be set later */
    const char *argin_region_name; /* prefix of this optimizer's argins */
    samba_tensor *const *params;   /* default: all that no other optimizer has */
    int32_t n_params;
    /* Instead of a list: is asked of each parameter to train that no list has, once. Two that say
       true of one are an error; what all refuse is of the optimizer that has neither, if any. */
    bool (*select)(const samba_tensor *w, void *user);
    void *select_user;
} samba_optim;

/* How a program that infers stores what affine, linear, lookup and embedding read: as parameters
   (n,k), or those in f32 packed from the values they have when it is compiled, as name__f32 ...
   name__int4. Packed f32 gives the same bits sooner; int8, int4 need k % 32 = 0, else bf16. */
typedef enum samba_weights {
    SAMBA_WEIGHTS_PLAIN = 0,
    SAMBA_WEIGHTS_F32,
    SAMBA_WEIGHTS_BF16,
    SAMBA_WEIGHTS_INT8,
    SAMBA_WEIGHTS_INT4
} samba_weights;

/* How the schedule is cut into sections: O0 each op, O1 where the working set outgrows sram_bytes,
   O3 (the default) not at all but by type. The ops are the same ones, and so are the bits. */
typedef enum samba_opt_level { SAMBA_O_DEFAULT = 0, SAMBA_O0, SAMBA_O1, SAMBA_O3 } samba_opt_level;

/* spatial: BCKWD, GRADNORM and OPT are one section, which steps each parameter as soon as its
   gradient is complete and keeps no gradient (but of microbatches). Same results, less memory. */
typedef enum samba_mapping { SAMBA_MAPPING_SECTION = 0, SAMBA_MAPPING_SPATIAL } samba_mapping;

/* What to compile. */
typedef struct samba_program {
    const char *pef;    /* file to write, <pef>.log beside it; NULL: none */
    const char *name;   /* internal name; default "samba" */
    samba_tensor *loss; /* an output that is a loss */
    samba_tensor *outputs[SAMBA_MAX_OUTPUTS];
    int32_t loss_indices[SAMBA_MAX_OUTPUTS]; /* into outputs; without loss and indices */
    int32_t n_loss_indices;                  /* every output is a loss, as SambaFlow does */
    samba_optim optim;                       /* one optimizer, or */
    const samba_optim *optims;               /* several */
    int32_t n_optims;
    float max_grad_norm;   /* > 0: all gradients that optimizers use are clipped to one
                              norm, as torch.nn.utils.clip_grad_norm_ does */
    int32_t microbatches;  /* n > 1: batched inputs hold n parts as large as traced;
                              results are those of all rows at once: see [manual] */
    int32_t replicas;      /* n > 1: this session has one of n parts of the batch, and
                              someone makes means of the gradients: samba/parallel.h */
    bool inference;        /* forward only */
    samba_weights weights; /* with inference: default plain */
    bool compile_only;     /* write the PEF, do not load it */
    samba_opt_level level;
    samba_mapping mapping;
    int64_t sram_bytes;   /* working set of a section; default 1 MiB */
    int64_t mem_limit[4]; /* by samba_mem: bytes of DDR (parameters, state), HBM (what
                             passes between ops), HOST (inputs, outputs), or of what
                             has this mem_type; 0: no limit */
    int64_t memory;       /* bytes of tensors at most: parts of the forward pass are
                             computed again, as far as that takes; 0: no limit */
} samba_program;

/* Compiles what was traced, writes the PEF, loads it. Weights keep their values. */
SAMBA_API bool samba_compile(samba_session *s, const samba_program *program);
/* Loads a PEF, of the traced graph if there is one: else the error names what differs. If program
   is NULL, losses and optimizers are not compared. Without a graph, tensors are found by name.
   Hyperparameters, such as lr, are those of the file and not those of program: see samba_set. */
SAMBA_API bool samba_load(samba_session *s, const char *pef, const samba_program *program);

/* transfer_device = false: samba_compile and samba_load leave the values of inputs, parameters and
   buffers on the host, but for those that the PEF brings. A run that needs one of them fails until
   it was sent: all by to_device, which sends what is newer on the host; one by samba_rdu, a feed of
   a run, samba_write or samba_restore. Gradients of losses and optimizer state begin as always. */
SAMBA_API bool samba_set_transfer(samba_session *s, bool transfer);
SAMBA_API bool samba_to_device(samba_session *s);
/* init_output_grads = false: after samba_compile and samba_load the gradients of losses have no
   value, instead of ones. A run that reads one fails until it was given, by a feed or by
   samba_write(samba_sn_grad(loss), ...). */
SAMBA_API bool samba_set_output_grads(samba_session *s, bool init);

/* Runs the sections of these types in schedule order; 0 runs the whole schedule. Types that have
   BCKWD and OPT are a whole step: what the program has of ZEROGRAD, REDUCE and GRADNORM runs with
   them. OPT that clips needs GRADNORM since the gradients changed; else it is an error. */
SAMBA_API bool samba_run(samba_session *s, unsigned types);
/* The same for one graph of a program that has several. */
SAMBA_API bool samba_run_graph(samba_session *s, const char *graph, unsigned types);

/* While values are checked, the first op that makes a NaN or an infinity ends the run with
   SAMBA_ERANGE, and no later section changes a parameter. Precisely: an op whose output has a NaN,
   though no input has one; or an infinity, though no input has either. Infinities that come with
   inputs, constants (samba_full, attributes of ops), parameters or buffers, such as those of masks,
   are taken as meant, and so are those that an op makes of them; a NaN made of them is not. A NaN
   that comes so is reported of the tensor that holds it, by the first op that passes it on. An
   optimizer's step that overflows is found, too, but has then written. Costs 2 to 3 % of a training
   step of GPT-2; nothing while it is off. Ops that compute at once are not checked. */
SAMBA_API bool samba_set_check_finite(samba_session *s, bool check);

/* What was found, in the run that check_finite ended. Names are those of the loaded program. */
typedef struct samba_range {
    const char *name;
    float min, max;
    bool known;
} samba_range;

typedef struct samba_culprit {
    const char *tensor;    /* holds the value */
    int64_t element;       /* where: the lowest such, in its microbatch */
    float value;           /* NaN, infinity, or minus infinity */
    const char *node, *op; /* which op made it, or read it if leaf: name, kind */
    bool leaf;             /* it came with an input, parameter, constant or buffer */
    uint64_t run;          /* which run of the session, from 1 */
    int32_t section, microbatch;
    const char *section_type;
    int32_t n_in;
    samba_range in[SAMBA_MAX_IN]; /* the op's inputs without NaN; not known: the op itself */
} samba_culprit;                  /* has overwritten it, or it has no values */

/* False if no run was ended so. */
SAMBA_API bool samba_nonfinite(const samba_session *s, samba_culprit *culprit);

typedef struct samba_value {
    const char *name;
    double value;
} samba_value;

/* Data for a tensor of a run, found by handle or by name. Refused before anything is sent or run if
   the size or the type is another one than the tensor's. Integers are converted, if all of them
   fit: token ids that are int64 or uint16 are fed to an i32 input as they are. */
typedef struct samba_feed {
    samba_tensor *tensor; /* which, or */
    const char *name;     /* what it is called */
    const void *data;     /* NULL: its host copy, where it is newer: see samba_rdu */
    size_t bytes;         /* of data */
    samba_dtype dtype;    /* of data; default f32 */
} samba_feed;

/* What to run, and what to send and fetch with it; all zero runs the whole schedule. All of it is
   checked first: what is refused changes nothing. In SambaFlow's words: samba/sambaflow.h. */
typedef struct samba_run_desc {
    /* Each runs as by samba_run, one after another; 0 ends the list. Several with BCKWD and OPT are
       steps: { SAMBA_FWD | SAMBA_BCKWD, SAMBA_FWD | SAMBA_BCKWD, SAMBA_OPT } adds two gradients up,
       which begin at zero, as do those after an OPT. */
    unsigned types[SAMBA_MAX_RUNS];
    const int32_t *section_ids; /* instead: these sections, in this order */
    int32_t n_section_ids;
    const samba_feed *feeds; /* values that are sent first */
    int32_t n_feeds;
    const samba_value *hyperparams; /* set first; they persist */
    int32_t n_hyperparams;
    samba_tensor *const *outputs; /* their host copies are made afterwards: samba_cpu. Of the
                                     program: its outputs, parameters, state, gradients */
    int32_t n_outputs;
    const char *graph;  /* which, if the program has several */
    bool eval;          /* dropout rates act as 0; nothing else */
    bool running_stats; /* as samba_use_running_stats, for this run */
    bool own_order;     /* section_ids: the caller sees to it that OPT clips by the
                           norm of its gradients and FWD finds what COUNT makes;
                           less than what microbatches repeat runs for the first */
} samba_run_desc;

SAMBA_API bool samba_run_with(samba_session *s, const samba_run_desc *desc);

/* Hyperparameters (argins) by name: "lr", "weight_decay", "momentum" set every optimizer, "p" every
   dropout; "<region>lr" or "<layer>__p" one of them. They persist. */
SAMBA_API bool samba_set(samba_session *s, const char *name, double value);
SAMBA_API double samba_get(samba_session *s, const char *name);
/* Fills up to cap names in PEF order, returns how many there are. */
SAMBA_API int32_t samba_argin_names(samba_session *s, const char **names, int32_t cap);
SAMBA_API int32_t samba_dropout_rate_names(samba_session *s, const char **names, int32_t cap);
SAMBA_API int32_t samba_dropout_seed_names(samba_session *s, const char **names, int32_t cap);
SAMBA_API int32_t samba_weight_names(samba_session *s, const char **names, int32_t cap);
SAMBA_API int32_t samba_grad_names(samba_session *s, const char **names, int32_t cap);
/* What the loaded program is fed and gives: to be found by samba_tensor_by_name. */
SAMBA_API int32_t samba_input_names(samba_session *s, const char **names, int32_t cap);
SAMBA_API int32_t samba_output_names(samba_session *s, const char **names, int32_t cap);
/* What sections of COUNT make, such as <loss>__targets: sums and means over the microbatches. */
SAMBA_API int32_t samba_count_names(samba_session *s, const char **names, int32_t cap);
SAMBA_API unsigned samba_section_types(samba_session *s);
/* The name of a type that a run may ask for, such as "FWD" of SAMBA_FWD; NULL of any other. */
SAMBA_API const char *samba_section_type_name(unsigned type);
/* false: dropout rates act as 0, and nothing else changes, in all runs and eager ops until true. It
   may be said before compiling or loading. run_desc.eval says so of one run. */
SAMBA_API bool samba_set_train(samba_session *s, bool train);
/* true: batch_norm normalizes by its running values, which stay as they are, as in a program that
   infers; else a test of a training program takes the statistics of its batch, and counts them in.
   torch's model.eval() is both; for one run, .eval = true and .running_stats = true. */
SAMBA_API bool samba_use_running_stats(samba_session *s, bool use);

/* ---- Values ---------------------------------------------------------------------------------- */
/* Copies data to the tensor; an error if it has other than samba_bytes(t) bytes. samba_write trusts
   the caller that it has as many. */
SAMBA_API bool samba_write_bytes(samba_tensor *t, const void *data, size_t bytes);
SAMBA_API bool samba_write(samba_tensor *t, const void *data);
/* The current values, valid until the next run or write. After an error zeros, as many as t has,
   until samba_close (if there is no memory for them, what t holds, or NULL); NULL has 4096. */
SAMBA_API const float *samba_read(samba_tensor *t);
SAMBA_API const int32_t *samba_read_i32(samba_tensor *t);
/* Copies the current values out; size must be samba_bytes(t). */
SAMBA_API bool samba_copy_out(samba_tensor *t, void *data, size_t size);
/* Write and copy out n numbers as f32, whatever type t has: all of its elements. */
SAMBA_API bool samba_write_f32(samba_tensor *t, const float *data, int64_t n);
SAMBA_API bool samba_copy_out_f32(samba_tensor *t, float *data, int64_t n);
/* Bytes in the loaded program: of batched inputs and outputs, those of all microbatches. */
SAMBA_API size_t samba_bytes(const samba_tensor *t);
/* Any tensor of the session or of the loaded PEF; an unknown name is an error with a near name. */
SAMBA_API samba_tensor *samba_tensor_by_name(samba_session *s, const char *name);
/* Host copies: cpu copies device to host and returns it, rdu copies the host copy back, always. A
   feed without data, and samba_send_state, send the newer of the two: the host copy if it was
   edited since both were equal, or since the device got its value by samba_write, a loader, a run
   or samba_restore. A hash (XXH64) tells edits: a pass over the bytes of a host copy,
   about the time of copying it, when it is made, sent or listed. Storing what was there is none. */
SAMBA_API void *samba_cpu(samba_tensor *t);
SAMBA_API bool samba_rdu(samba_tensor *t);
/* Has a run or a write changed t, or could it have, since samba_cpu copied it? */
SAMBA_API bool samba_is_stale(const samba_tensor *t);

/* The same for all that a program keeps between runs, of these kinds: makes host copies; sends
   those that were edited since. */
enum { SAMBA_KEPT_PARAMETERS = 1, SAMBA_KEPT_BUFFERS = 2, SAMBA_KEPT_BY_OPTIM = 4, SAMBA_KEPT = 7 };

SAMBA_API bool samba_fetch_state(samba_session *s, unsigned kinds);
SAMBA_API bool samba_send_state(samba_session *s, unsigned kinds);
/* The name of t is unknown from now on, and not free for another tensor. */
SAMBA_API bool samba_forget_name(samba_tensor *t);

/* A checkpoint is the PEF with its state filled in; the old file stays until the new one is safe.
   restore reads weights, and optimizer state, counters, argins as far as the program has them. */
SAMBA_API bool samba_save(samba_session *s, const char *path);

/* samba_save refuses parameters that are not finite, and other state that is NaN; this does not if
   told so. samba_restore takes them, with a warning. */
typedef struct samba_save_opts {
    bool allow_nonfinite;
} samba_save_opts;

SAMBA_API bool samba_save_with(samba_session *s, const char *path, const samba_save_opts *opts);
SAMBA_API bool samba_restore(samba_session *s, const char *path);

/* Parameters that the file lacks are an error, which names them, and those that the program has not
   a warning. torch's strict = False is partial, strict = True exact. Another shape is an error. */
typedef struct samba_restore_opts {
    bool partial; /* parameters that the file lacks keep their values */
    bool exact;   /* those that the program has not are an error */
} samba_restore_opts;

typedef struct samba_restored {
    int32_t n_missing, n_unexpected;
} samba_restored;

/* opts and restored, which gets the counts, may be NULL. */
SAMBA_API bool samba_restore_with(samba_session *s, const char *path,
                                  const samba_restore_opts *opts, samba_restored *restored);

/* ---- Looking inside -------------------------------------------------------------------------- */
/* Writes the traced graph through emit, a line for each op. As a picture: samba/dot_graph.h. */
typedef void (*samba_emit_fn)(const char *text, void *user);
SAMBA_API void samba_print_graph(samba_session *s, samba_emit_fn emit, void *user);
SAMBA_API void samba_print_ops(samba_emit_fn emit, void *user); /* names, wire numbers */
/* Bytes the compiler promised for the device; bytes the session holds now through its allocator,
   without parameters in a mapped file. */
SAMBA_API size_t samba_device_bytes(samba_session *s);
SAMBA_API size_t samba_held_bytes(const samba_session *s);
SAMBA_API double samba_seconds(void); /* wall clock */

/* A section of the loaded program: what it is, and what one run of it does. */
typedef struct samba_section {
    const char *type;     /* "FWD" ... */
    const char *graph;    /* NULL: the program has one graph */
    const char *op;       /* of a section of one op; else NULL */
    int64_t flops, bytes; /* arithmetic; bytes that its ops read and write */
    unsigned types;       /* SAMBA_FWD ...; several with mapping spatial */
} samba_section;

/* Fills in section number id, as the .pef.log counts them; false if there is none. */
SAMBA_API bool samba_describe_section(samba_session *s, int32_t id, samba_section *section);

/* What section id does with the memory of t: SAMBA_READS, SAMBA_WRITES, both, or 0. */
enum { SAMBA_READS = 1, SAMBA_WRITES = 2 };

SAMBA_API unsigned samba_section_uses(samba_session *s, int32_t id, const samba_tensor *t);
/* May sections a and b change places, as neither writes memory that the other one uses? */
SAMBA_API bool samba_sections_commute(samba_session *s, int32_t a, int32_t b);
/* Inputs and parameters of the loaded program that have no value are zeros: to measure it without
   data. Such parameters cannot be saved. */
SAMBA_API bool samba_zero_inputs(samba_session *s);

/* Tells fn what begins and ends: SAMBA_SET_PEF, SAMBA_INIT_RUNTIME, SAMBA_SESSION_RUN (_FWD_BCKWD
   ..., if called with types) and in it PyRT_RUN, its sections alone, each of them by its type and
   with its id (others: -1), PyRT_GET_TENSORS and PyRT_SET_TENSORS, copies to host and device. name
   is gone after the call; fn must not use the session. NULL: no more. See samba/profiler.h. */
typedef void (*samba_event_fn)(const char *name, int32_t section, bool begins, void *user);
SAMBA_API void samba_on_event(samba_session *s, samba_event_fn fn, void *user);

/* ==== [pef-api] =============================================================================== */
/* The records of a PEF, for tools that read it without running it. */
/* A PEF in the caller's memory, of which nothing is copied. */
typedef struct samba_pef {
    int32_t version, n_symbols, n_nodes, n_sections, microbatches;
    bool inference;
    uint64_t state_bytes, arena_bytes, io_bytes, readonly_bytes; /* of the regions of memory */
    const char *trace;
    size_t tables_size; /* bytes of the file before the values */
    const void *bytes;  /* private from here */
    size_t size;
} samba_pef;

typedef struct samba_pef_symbol {
    const char *name;
    samba_role role;
    samba_spec spec;           /* of a microbatch */
    int32_t batch_dim;         /* -1: none */
    int32_t view_of, gradient; /* symbols; -1: none */
    bool holds_microbatches;   /* memory for all of them */
    bool generated;            /* state of an optimizer, or of dropout; version 1 does not say */
    uint64_t size;             /* bytes of its memory */
    const void *value;         /* little-endian, in the file; NULL: it has none */
    int32_t region;            /* where it lies: 0 state, 1 arena, 2 in/out, 3 read-only */
    uint64_t offset;           /* bytes from the beginning of the region */
} samba_pef_symbol;

typedef struct samba_pef_node {
    const char *name;
    const char *op; /* NULL: one of the program's own */
    int32_t wire;   /* its number in files */
    int32_t n_in, n_out, n_attr;
    int32_t in[SAMBA_MAX_IN], out[SAMBA_MAX_OUT]; /* symbols; -1: absent */
    int32_t attr[SAMBA_MAX_ATTR];
    const char *attributes; /* what attr is, as samba_op.attributes; NULL: not known */
} samba_pef_node;

typedef struct samba_pef_section {
    unsigned type;     /* SAMBA_FWD ..., a sum of them with mapping spatial */
    int32_t first, n;  /* nodes */
    const char *graph; /* NULL: the only one */
} samba_pef_section;

/* Opens a PEF of any version that samba_load reads; bytes stay where they are. size: of the whole
   file, of which memory needs to have no more than tables_size unless values are looked at. False
   with the reason in why. Proved is that every record is sound by itself, so that what the
   functions below return can be used; not that the program can run, for which its ops must be known
   (samba_runtime_bytes proves all), nor the checksum of the values. */
SAMBA_API bool samba_pef_open(samba_pef *pef, const void *bytes, size_t size, char *why,
                              size_t why_size);
/* How many bytes samba_pef_open needs of a file that begins with these 128 bytes; 0: no PEF. */
SAMBA_API size_t samba_pef_tables_size(const void *header, size_t file_size);
/* Record i; all zero if there is none. */
SAMBA_API samba_pef_symbol samba_pef_symbol_at(const samba_pef *pef, int32_t i);
SAMBA_API samba_pef_node samba_pef_node_at(const samba_pef *pef, int32_t i);
SAMBA_API samba_pef_section samba_pef_section_at(const samba_pef *pef, int32_t i);
/* Fills in up to cap words of the attribute of this name, and returns how many it has; 0: the node
   has none of this name. begin, end, step of slice, and before, after, between of pad, have a word
   for each dimension. A float is samba_attr_float of its word. */
SAMBA_API int32_t samba_pef_attr(const samba_pef_node *node, const char *name, int32_t *words,
                                 int32_t cap);

#endif /* !SAMBA_RUNTIME_ONLY */
#endif /* SAMBA_H */

/* What of the rest is read now: the implementation, all but templates (0); nothing (-1); or, when
   this file includes itself, a template: see [simd]. */
#if defined(SAMBA_IMPLEMENTATION) && !defined(SAMBA__IMPLEMENTED)
#define SAMBA__IMPLEMENTED
#define SAMBA__TEMPLATE 0
#elif !defined(SAMBA__TEMPLATE)
#define SAMBA__TEMPLATE (-1)
#endif
#define SAMBA__TEMPLATE_PACKED 1
#define SAMBA__TEMPLATE_GEMM 2
#define SAMBA__TEMPLATE_ROWS 3
#define SAMBA__TEMPLATE_POOL 4
#define SAMBA__TEMPLATE_ATTENTION 5
#define SAMBA__TEMPLATE_OPS 6
#if SAMBA__TEMPLATE == 0

/* ==== [base] ================================================================================== */
#include <math.h>
#include <stdarg.h>
#include <string.h>
/* Unused ones are dropped without a warning. Not "inline": compilers take it as a wish to copy. */
#if defined(__GNUC__)
#define SAMBA__FN static __attribute__((unused))
#define SAMBA__RESTRICT __restrict__
#define SAMBA__PREFETCH(x) __builtin_prefetch(x, 0, 2) /* to be read soon */
#define SAMBA__NOINLINE static __attribute__((noinline, unused))
#if defined(__clang__)
#define SAMBA__INLINE static inline __attribute__((always_inline, unused))
#else /* gcc does not vectorize what might trap */
#define SAMBA__INLINE \
    static inline __attribute__((always_inline, unused, optimize("no-trapping-math")))
#endif
#else
#define SAMBA__FN static inline
#define SAMBA__INLINE static inline
#define SAMBA__NOINLINE static inline
#define SAMBA__RESTRICT
#define SAMBA__PREFETCH(x) ((void)0)
#endif
#if defined(__cplusplus)
#define SAMBA__ZEROED \
    { \
    } /* what a struct begins as */
#else
#define SAMBA__ZEROED \
    { \
        0 \
    }
#endif
#define SAMBA__KERNEL SAMBA__INLINE /* a body that is instantiated once per instruction set */
/* Without optimization kernels of vectors would take long to compile and be slow: then only the
   portable ones are there, unless SAMBA_SIMD is defined. */
#if defined(__GNUC__) && !defined(SAMBA_NO_SIMD) && (defined(__OPTIMIZE__) || defined(SAMBA_SIMD))
#define SAMBA__VECTORS_WANTED 1
#else
#define SAMBA__VECTORS_WANTED 0
#endif
/* Instruction sets are chosen at run time: a kernel is compiled again under this attribute. */
#if defined(__x86_64__) && SAMBA__VECTORS_WANTED
#include <immintrin.h>
#define SAMBA__X86 1
#define SAMBA__NEON 0
#define SAMBA__AVX2 __attribute__((target("avx2,fma")))
#define SAMBA__AVX512 __attribute__((target("avx512f,avx2,fma")))
#else
#define SAMBA__X86 0
#define SAMBA__AVX2
#define SAMBA__AVX512
/* Every AArch64 has NEON with fma: what is chosen there is whether kernels are made of vectors. */
#if defined(__aarch64__) && defined(__ARM_NEON) && SAMBA__VECTORS_WANTED
#include <arm_neon.h>
#define SAMBA__NEON 1
#else
#define SAMBA__NEON 0
#endif
#endif
#define SAMBA__SIMD (SAMBA__X86 || SAMBA__NEON)
#if SAMBA__SIMD && !defined(__clang__)
/* The rest of -O3 takes long and makes layer norm half as fast. */
#define SAMBA__VECTORS \
    "O2", "tree-vectorize", "vect-cost-model=dynamic", "peel-loops", "no-trapping-math", \
        "no-tree-loop-distribute-patterns"
#define SAMBA__VECTORIZED __attribute__((optimize(SAMBA__VECTORS)))
#define SAMBA__MIXED __attribute__((optimize(SAMBA__VECTORS, "schedule-insns", "sched-pressure")))
#else
#define SAMBA__VECTORIZED
#define SAMBA__MIXED
#endif
#define SAMBA__AVX2_FN SAMBA__AVX2 SAMBA__VECTORIZED
#define SAMBA__AVX512_FN SAMBA__AVX512 SAMBA__VECTORIZED

enum { SAMBA__ISA_PORTABLE = 0, SAMBA__ISA_AVX2 = 1, SAMBA__ISA_NEON = 1, SAMBA__ISA_AVX512 = 2 };

/* How samba__fma, a b + c rounded once, is made. Where the compiler has an instruction for it, that
   is the whole story. Elsewhere it would call the C library, and libraries round twice (newlib), or
   add to a rounded product (picolibc), or err otherwise (mingw-w64). So there samba.h has its own:
   in double where the processor has that, else in integers. Inline, the first is also faster than a
   call of glibc's, which is exact. */
#define SAMBA__FMA_INTEGER 0
#define SAMBA__FMA_DOUBLE 1
#define SAMBA__FMA_INSTRUCTION 2
#define SAMBA__FMA_ASSEMBLER 3 /* an instruction that the compiler has to be told of */
#define SAMBA__FMA_CALL 4      /* an instruction in kernels for AVX2, else a call */
#if defined(__clang__) && !defined(__gnu_linux__) && !defined(__APPLE__) && !defined(_WIN32) \
    && (defined(__ARM_FEATURE_FMA) || defined(__riscv_flen))
/* Here clang thinks that fmaf may set errno, and calls it. */
#define SAMBA__FMA SAMBA__FMA_ASSEMBLER
#elif defined(__FP_FAST_FMAF) \
    || (defined(__GNUC__) \
        && (defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen) \
            || defined(__s390x__) || defined(__powerpc64__)))
#define SAMBA__FMA SAMBA__FMA_INSTRUCTION
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(SAMBA_NO_SIMD)
#define SAMBA__FMA SAMBA__FMA_CALL
#elif defined(__x86_64__) || defined(_M_X64) || defined(__SSE2_MATH__) || defined(__wasm__)
#define SAMBA__FMA SAMBA__FMA_DOUBLE
#else
#define SAMBA__FMA SAMBA__FMA_INTEGER
#endif
/* Before a loop that may work in place: no turn reads what another one writes. clang warns where it
   then makes no vectors: at -Os, and where it has no instruction for samba__fma. */
#if defined(__clang__) && __STDC_HOSTED__ && !defined(__OPTIMIZE_SIZE__) \
    && (SAMBA__FMA == SAMBA__FMA_INSTRUCTION || SAMBA__FMA == SAMBA__FMA_CALL)
#define SAMBA__IN_PLACE _Pragma("clang loop vectorize(assume_safety)")
#define SAMBA__FOUR_IN_PLACE _Pragma("clang loop vectorize(assume_safety) interleave_count(4)")
#define SAMBA__FOUR _Pragma("clang loop unroll_count(4)") /* turns in one */
#elif defined(__GNUC__) && !defined(__clang__)
#define SAMBA__IN_PLACE _Pragma("GCC ivdep")
#define SAMBA__FOUR_IN_PLACE SAMBA__IN_PLACE _Pragma("GCC unroll 8")
#define SAMBA__FOUR _Pragma("GCC unroll 4")
#else
#define SAMBA__IN_PLACE
#define SAMBA__FOUR_IN_PLACE
#define SAMBA__FOUR
#endif
/* Before a loop of constant length, whose turns become straight code, so that an array that it
   indexes can stay in registers. */
#if defined(__GNUC__)
#define SAMBA__UNROLLED _Pragma("GCC unroll 16")
#else
#define SAMBA__UNROLLED
#endif
/* Bytes of scratch that each thread owns: the packing buffers of GEMM fit in. */
#if defined(SAMBA_RUNTIME_ONLY) && !defined(SAMBA_LOCAL_BYTES) && !defined(SAMBA_SMALL)
#define SAMBA_SMALL /* block sizes for a few KiB of fast memory */
#endif
#if defined(SAMBA_SMALL)
#define SAMBA__IS_SMALL 1
#else
#define SAMBA__IS_SMALL 0
#endif
#if !defined(SAMBA_LOCAL_BYTES)
#define SAMBA_LOCAL_BYTES ((SAMBA__IS_SMALL ? 16 : 1536) * 1024)
#endif
#define SAMBA__ALIGN 64 /* of every symbol: a cache line, and any vector */
#define SAMBA__NO_SIZE ((size_t)-1)

/* a + b and a * b in size_t; SAMBA__NO_SIZE, which nothing can allocate, if they do not fit. */
SAMBA__FN size_t samba__add_size(size_t a, size_t b)
{
    return a > SAMBA__NO_SIZE - b ? SAMBA__NO_SIZE : a + b;
}

SAMBA__FN size_t samba__mul_size(size_t a, size_t b)
{
    return b && a > SAMBA__NO_SIZE / b ? SAMBA__NO_SIZE : a * b;
}

SAMBA__FN size_t samba__align_size(size_t a)
{
    size_t up = samba__add_size(a, SAMBA__ALIGN - 1);
    return up == SAMBA__NO_SIZE ? up : up & ~(size_t)(SAMBA__ALIGN - 1);
}

SAMBA__FN uint64_t samba__align_bytes(uint64_t a)
{
    return (a + SAMBA__ALIGN - 1) / SAMBA__ALIGN * SAMBA__ALIGN;
}

SAMBA__FN int64_t samba__min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

SAMBA__FN int64_t samba__max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

SAMBA__FN int64_t samba__ceil_div(int64_t a, int64_t b)
{
    SAMBA_ASSERT(b > 0);
    return (a + b - 1) / b;
}

/* Every product that feeds a sum goes through samba__fma below, so that no compiler contracts on
   its own. First our own ones.

   The nearest double of a sum, rounded to odd instead: where the sum is not exact, the neighbour
   of the two that has an odd last bit. Rounding that to a float is as if the exact sum had been
   rounded, as the last bit says "and a bit more" (Boldo and Melquiond 2008). The error of the sum
   is exact (Knuth's TwoSum). Infinite sums have the error NaN and stay. */
SAMBA__NOINLINE double samba__sum_to_odd(double a, double b, double sum)
{
    double part = sum - a;
    double error = (a - (sum - part)) + (b - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if ((bits & 1u) == 0 && (error < 0 || error > 0)) {
        if ((error > 0) == (sum > 0))
            bits++;
        else
            bits--;
    }
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

/* The product is exact in double. Its sum with c is rounded to a double and again to a float, which
   errs only where the first rounding ended in the middle between two floats: then the low 29 bits
   are 1000...; or where the float is subnormal, so that the middle lies elsewhere. */
SAMBA__INLINE float samba__fma_double(float a, float b, float c)
{
    const uint64_t least_normal = (uint64_t)(1023 - 126) << 53; /* 2^-126, without a sign */
    double product = (double)a * (double)b;
    double sum = product + (double)c;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bool middle = (bits & 0x1fffffffu) == 0x10000000u;
    bool subnormal = (bits << 1) - 1u < least_normal - 1u; /* zero is exact: not meant */
    if (middle | subnormal) sum = samba__sum_to_odd(product, (double)c, sum);
    return (float)sum;
}

/* Leading zeros of x, which is not zero. */
SAMBA__FN int samba__leading_zeros(uint32_t x)
{
#if defined(__GNUC__) && __SIZEOF_INT__ == 4
    return __builtin_clz(x);
#else
    int n = 0;
    for (; x < 0x80000000u; x <<= 1)
        n++;
    return n;
#endif
}

SAMBA__FN int samba__leading_zeros64(uint64_t x)
{
    uint32_t high = (uint32_t)(x >> 32);
    return high ? samba__leading_zeros(high) : 32 + samba__leading_zeros((uint32_t)x);
}

/* x >> n, with a last bit that says whether anything was lost. */
SAMBA__FN uint64_t samba__shift_sticky(uint64_t x, int n)
{
    if (n > 63) return x != 0;
    return x >> n | ((x & (((uint64_t)1 << n) - 1u)) != 0);
}

/* A finite number is m 2^e. Splits the bits of one, without its sign. */
SAMBA__FN uint32_t samba__split_float(uint32_t magnitude, int *e)
{
    int exponent = (int)(magnitude >> 23);
    uint32_t m = magnitude & 0x7fffffu;
    *e = (exponent ? exponent : 1) - 150;
    return exponent ? m | 0x800000u : m;
}

/* The bits of m 2^e, 2^62 <= m < 2^63, rounded to the nearest float, ties to even. */
SAMBA__FN uint32_t samba__join_float(uint64_t m, int e)
{
    int exponent = e + 62 + 127, shift = 39;
    if (exponent < 1) { /* subnormal: fewer bits stay */
        shift += 1 - exponent;
        exponent = 1;
        if (shift > 63) return 0; /* below half of the smallest */
    }
    uint64_t half = (uint64_t)1 << (shift - 1);
    uint64_t lost = m & (2u * half - 1u);
    uint32_t bits = (uint32_t)(m >> shift);
    if (lost > half || (lost == half && (bits & 1u))) bits++;
    /* The leading one of a normal number adds 1 to its exponent, as a carry out of it does. */
    bits += (uint32_t)(exponent - 1) << 23;
    return bits < 0x7f800000u ? bits : 0x7f800000u;
}

/* In integers: both terms get 62 bits, so that the sum has room for its carry, and what the smaller
   one loses on the way to the exponent of the other leaves a last bit that is set. */
SAMBA__NOINLINE float samba__fma_integer(float a, float b, float c)
{
    uint32_t x, y, z;
    int ex, ey, ez;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    memcpy(&z, &c, sizeof z);
    uint32_t sign = (x ^ y) & 0x80000000u, sign_z = z & 0x80000000u;
    x &= 0x7fffffffu;
    y &= 0x7fffffffu;
    z &= 0x7fffffffu;
    if (x >= 0x7f800000u || y >= 0x7f800000u || x == 0 || y == 0) return a * b + c;
    if (z >= 0x7f800000u) return c + c;
    uint64_t product = (uint64_t)samba__split_float(x, &ex) * samba__split_float(y, &ey);
    int shift = samba__leading_zeros64(product) - 2, e = ex + ey - shift;
    product <<= shift;
    if (z) {
        uint64_t addend = samba__split_float(z, &ez);
        shift = samba__leading_zeros64(addend) - 2;
        ez -= shift;
        addend <<= shift;
        if (e < ez) {
            product = samba__shift_sticky(product, ez - e);
            e = ez;
        } else
            addend = samba__shift_sticky(addend, e - ez);
        if (sign == sign_z)
            product += addend;
        else if (product >= addend)
            product -= addend;
        else {
            product = addend - product;
            sign = sign_z;
        }
        if (!product) return 0.0f;
    }
    shift = samba__leading_zeros64(product) - 1;
    x = sign | samba__join_float(product << shift, e - shift);
    memcpy(&c, &x, sizeof c);
    return c;
}

#if SAMBA__FMA == SAMBA__FMA_CALL && !defined(__GLIBC__) && !defined(__APPLE__)
/* Portable kernels share their text with those for AVX2, so that they, too, ask for fmaf. In this
   object file that is the one above, whatever the C library has. */
static float samba__fmaf(float a, float b, float c) __asm__("samba__fmaf")
    __attribute__((used, noinline));

static float samba__fmaf(float a, float b, float c)
{
    return samba__fma_double(a, b, c);
}

__asm__(".set fmaf, samba__fmaf");
#endif
SAMBA__INLINE float samba__fma(float a, float b, float c)
{
#if SAMBA__FMA == SAMBA__FMA_ASSEMBLER && defined(__aarch64__)
    __asm__("fmadd %s0, %s1, %s2, %s0" : "+w"(c) : "w"(a), "w"(b));
    return c;
#elif SAMBA__FMA == SAMBA__FMA_ASSEMBLER && defined(__riscv_flen)
    __asm__("fmadd.s %0, %1, %2, %0" : "+f"(c) : "f"(a), "f"(b));
    return c;
#elif SAMBA__FMA == SAMBA__FMA_ASSEMBLER
    __asm__("vfma.f32 %0, %1, %2" : "+t"(c) : "t"(a), "t"(b));
    return c;
#elif SAMBA__FMA == SAMBA__FMA_INSTRUCTION && !defined(__GNUC__)
    return fmaf(a, b, c);
#elif SAMBA__FMA == SAMBA__FMA_INSTRUCTION || SAMBA__FMA == SAMBA__FMA_CALL
    return __builtin_fmaf(a, b, c);
#elif SAMBA__FMA == SAMBA__FMA_DOUBLE
    return samba__fma_double(a, b, c);
#else
    return samba__fma_integer(a, b, c);
#endif
}

SAMBA__INLINE float samba__bits_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

SAMBA__INLINE uint32_t samba__float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

SAMBA_API float samba_attr_float(int32_t word)
{
    return samba__bits_float((uint32_t)word);
}

SAMBA_API int32_t samba_float_attr(float value)
{
    return (int32_t)samba__float_bits(value);
}

/* PEF files are little-endian whatever the machine is. */
SAMBA__FN uint8_t samba__get8(const uint8_t *p)
{
    return *p;
}

SAMBA__FN uint32_t samba__get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

SAMBA__FN uint64_t samba__get64(const uint8_t *p)
{
    return (uint64_t)samba__get32(p) | (uint64_t)samba__get32(p + 4) << 32;
}

SAMBA__FN void samba__put8(uint8_t *p, uint8_t v)
{
    *p = v;
}

SAMBA__FN void samba__put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

SAMBA__FN void samba__put64(uint8_t *p, uint64_t v)
{
    samba__put32(p, (uint32_t)v);
    samba__put32(p + 4, (uint32_t)(v >> 32));
}

SAMBA__FN bool samba__same_text(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

SAMBA__FN bool samba__ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !memcmp(text + n - m, end, m);
}

/* 64-bit hash of bytes. XXH64, Collet 2012 (public specification), used as the PEF's checksum. */
SAMBA__FN uint64_t samba__rotl64(uint64_t x, int r)
{
    return x << r | x >> (64 - r);
}

#define SAMBA__P1 0x9E3779B185EBCA87u
#define SAMBA__P2 0xC2B2AE3D27D4EB4Fu
#define SAMBA__P3 0x165667B19E3779F9u
#define SAMBA__P4 0x85EBCA77C2B2AE63u
#define SAMBA__P5 0x27D4EB2F165667C5u

SAMBA__FN uint64_t samba__hash_round(uint64_t acc, uint64_t input)
{
    return samba__rotl64(acc + input * SAMBA__P2, 31) * SAMBA__P1;
}

SAMBA__FN uint64_t samba__hash_finish(uint64_t h, const uint8_t *p, size_t n)
{
    for (; n >= 8; p += 8, n -= 8)
        h = samba__rotl64(h ^ samba__hash_round(0, samba__get64(p)), 27) * SAMBA__P1 + SAMBA__P4;
    if (n >= 4) {
        h = samba__rotl64(h ^ samba__get32(p) * SAMBA__P1, 23) * SAMBA__P2 + SAMBA__P3;
        p += 4;
        n -= 4;
    }
    for (; n > 0; p++, n--)
        h = samba__rotl64(h ^ *p * SAMBA__P5, 11) * SAMBA__P1;
    h = (h ^ h >> 33) * SAMBA__P2;
    h = (h ^ h >> 29) * SAMBA__P3;
    return h ^ h >> 32;
}

/* Whole blocks of 32 bytes, of a hash that samba__hash_begin began. */
SAMBA__FN void samba__hash_begin(uint64_t v[4], uint64_t seed)
{
    v[0] = seed + SAMBA__P1 + SAMBA__P2;
    v[1] = seed + SAMBA__P2;
    v[2] = seed;
    v[3] = seed - SAMBA__P1;
}

SAMBA__FN void samba__hash_blocks(uint64_t v[4], const uint8_t *p, size_t n)
{
    for (; n >= 32; n -= 32)
        for (int i = 0; i < 4; i++, p += 8)
            v[i] = samba__hash_round(v[i], samba__get64(p));
}

SAMBA__FN uint64_t samba__hash_join(const uint64_t v[4])
{
    uint64_t h = samba__rotl64(v[0], 1) + samba__rotl64(v[1], 7) + samba__rotl64(v[2], 12)
        + samba__rotl64(v[3], 18);
    for (int i = 0; i < 4; i++)
        h = (h ^ samba__hash_round(0, v[i])) * SAMBA__P1 + SAMBA__P4;
    return h;
}

SAMBA__FN uint64_t samba__hash(const void *data, size_t size, uint64_t seed)
{
    const uint8_t *p = (const uint8_t *)data;
    size_t tail = size % 32;
    uint64_t h = seed + SAMBA__P5, v[4];
    if (size >= 32) {
        samba__hash_begin(v, seed);
        samba__hash_blocks(v, p, size);
        h = samba__hash_join(v);
        p += size - tail; /* data may be NULL if it is empty */
    }
    return samba__hash_finish(h + (uint64_t)size, p, tail);
}

/* The hash of n bytes that came as whole blocks to samba__hash_blocks. That of no bytes does not
   have the four sums of the blocks. */
SAMBA__FN uint64_t samba__hash_end(const uint64_t v[4], uint64_t n)
{
    if (n == 0) return samba__hash(NULL, 0, 0);
    return samba__hash_finish(samba__hash_join(v) + n, NULL, 0);
}

/* The same of two pieces, one behind the other. n is a multiple of 32, and not 0. */
SAMBA__FN uint64_t samba__hash_two(const uint8_t *p, size_t n, const uint8_t *q, size_t m)
{
    size_t tail = m % 32;
    uint64_t v[4];
    samba__hash_begin(v, 0);
    samba__hash_blocks(v, p, n);
    samba__hash_blocks(v, q, m);
    return samba__hash_finish(samba__hash_join(v) + n + m, m ? q + (m - tail) : q, tail);
}

/* ==== [report] ================================================================================ */
/* Texts in buffers of fixed size, for messages that also a device without stdio or malloc can
   write: a small printf with letters for shapes (%S), types (%T) and names. */

SAMBA_API const char *samba_dtype_name(samba_dtype dtype)
{
    static const char *const names[SAMBA_N_DTYPES]
        = { "f32", "bf16", "f16", "i32", "i16", "i8", "u8", "bool", "i64", "u16", "u32" };
    return (unsigned)dtype < SAMBA_N_DTYPES ? names[dtype] : "?";
}

/* A text, written piece by piece into a buffer of fixed size, terminated; all of it is counted.
   Of a piece longer than `most` letters (0: any length is kept) the middle is left out. */
typedef struct samba__text {
    char *at;
    size_t cap, len, most;
} samba__text;

SAMBA__FN void samba__put_char(samba__text *t, char c)
{
    if (++t->len >= t->cap) return;
    t->at[t->len - 1] = c;
    t->at[t->len] = 0;
    SAMBA_ASSERT(t->len < t->cap); /* room for the end of the text */
}

SAMBA__FN void samba__put_text(samba__text *t, const char *text)
{
    if (!text) text = "NULL";
    size_t n = 0;
    while (t->most && text[n])
        n++; /* a device may lack strlen */
    if (n > t->most) {
        for (size_t i = 0; i < t->most / 2; i++)
            samba__put_char(t, *text++);
        for (int i = 0; i < 3; i++)
            samba__put_char(t, '.');
        text += n - 2 * (t->most / 2);
    }
    for (; *text; text++)
        samba__put_char(t, *text);
}

SAMBA__FN void samba__put_int(samba__text *t, int64_t value)
{
    char digits[24];
    int n = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0) samba__put_char(t, '-');
    while (n > 0)
        samba__put_char(t, digits[--n]);
}

/* Seven significant digits, in the shorter of the two ways to write them: 0.25, 1e-05, NaN. */
SAMBA__FN void samba__put_number(samba__text *t, double value)
{
    char digits[8];
    int power = 6, n = 7;
    if (value != value) {
        samba__put_text(t, "NaN");
        return;
    }
    if (value < 0.0) samba__put_char(t, '-');
    if (value < 0.0) value = -value;
    if (value > 1.7976931348623157e308) {
        samba__put_text(t, "inf");
        return;
    }
    if (value == 0.0) {
        samba__put_char(t, '0');
        return;
    }
    /* To 7 digits before the point, by a loop: a product next to the sum could be fused with it. */
    for (; value >= 1e7; value /= 10.0)
        power++;
    for (; value < 1e6; value *= 10.0)
        power--;
    int64_t whole = (int64_t)(value + 0.5);
    if (whole >= 10000000) { /* 9.9999999 is 10 */
        whole /= 10;
        power++;
    }
    for (int i = 6; i >= 0; i--) {
        digits[i] = (char)('0' + whole % 10);
        whole /= 10;
    }
    while (n > 1 && digits[n - 1] == '0')
        n--;
    bool plain = power >= -4 && power < 10;
    int point = plain ? power : 0; /* the digit that the decimal point follows */
    if (point < 0) samba__put_text(t, "0.");
    for (int i = point; i < -1; i++)
        samba__put_char(t, '0');
    for (int i = 0; i < n || i <= point; i++) {
        samba__put_char(t, i < n ? digits[i] : '0');
        if (i == point && i < n - 1) samba__put_char(t, '.');
    }
    if (plain) return;
    samba__put_text(t, power < 0 ? "e-" : "e+");
    if (power > -10 && power < 10) samba__put_char(t, '0');
    samba__put_int(t, power < 0 ? -power : power);
}

SAMBA__FN void samba__put_shape(samba__text *t, const samba_shape *shape)
{
    samba__put_char(t, '(');
    for (int32_t i = 0; i < shape->ndim && i < SAMBA_MAX_DIMS; i++) {
        if (i) samba__put_char(t, ',');
        samba__put_int(t, shape->dim[i]);
    }
    samba__put_char(t, ')');
}

/* Verbs: %s text, %d int32_t, %l int64_t, %g double, %S const samba_shape *, %T int (a dtype). */
SAMBA__FN void samba__vformat(samba__text *t, const char *fmt, va_list args)
{
    for (; *fmt; fmt++) {
        if (*fmt != '%') {
            samba__put_char(t, *fmt);
            continue;
        }
        switch (*++fmt) {
        case 's':
            samba__put_text(t, va_arg(args, const char *));
            break;
        case 'd':
            samba__put_int(t, va_arg(args, int32_t));
            break;
        case 'l':
            samba__put_int(t, va_arg(args, int64_t));
            break;
        case 'g':
            samba__put_number(t, va_arg(args, double));
            break;
        case 'S':
            samba__put_shape(t, va_arg(args, const samba_shape *));
            break;
        case 'T':
            samba__put_text(t, samba_dtype_name((samba_dtype)va_arg(args, int)));
            break;
        case 0:
            return;
        default:
            samba__put_char(t, *fmt);
            break;
        }
    }
}

SAMBA__FN void samba__format(samba__text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    samba__vformat(t, fmt, args);
    va_end(args);
}

SAMBA__FN samba__text samba__text_in(char *buffer, size_t size)
{
    samba__text t = { buffer, buffer ? size : 0, 0, 0 };
    if (t.cap) buffer[0] = 0;
    return t;
}

/* The formatted text in buffer, which it returns. */
SAMBA__FN const char *samba__print(char *buffer, size_t size, const char *fmt, ...)
{
    samba__text t = samba__text_in(buffer, size);
    va_list args;
    va_start(args, fmt);
    samba__vformat(&t, fmt, args);
    va_end(args);
    return buffer;
}

/* The letters of the longer name that stand between what both begin and what both end with. */
SAMBA__FN size_t samba__distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), begin = 0, end = 0;
    while (a[begin] && a[begin] == b[begin])
        begin++;
    while (begin + end < n && begin + end < m && a[n - 1 - end] == b[m - 1 - end])
        end++;
    return (n > m ? n : m) - begin - end;
}

SAMBA_API bool samba_refuse(samba_call *call, samba_code code, const char *fmt, ...)
{
    va_list args;
    if (!call) return false;
    samba__text t = samba__text_in(call->why, sizeof call->why);
    va_start(args, fmt);
    samba__vformat(&t, fmt ? fmt : "no reason is given", args);
    va_end(args);
    call->code = code;
    return false;
}

/* ==== [random] ================================================================================ */
/* Counter-based: block number -> four random words, keyed. Philox4x32-10: Salmon, Moraes, Dror,
   Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Order and threads do not matter. */
SAMBA__INLINE void samba__philox_words(uint64_t key, uint64_t block, uint32_t stream,
                                       uint32_t out[4])
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = stream, c3 = 0;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    SAMBA__UNROLLED
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

SAMBA__NOINLINE void samba__philox(uint64_t key, uint64_t block, uint32_t stream, uint32_t out[4])
{
    samba__philox_words(key, block, stream, out);
}

/* 24 bits of a word to [0,1); and to (0,1), for logarithms. Both exact. */
SAMBA__INLINE float samba__unit(uint32_t word)
{
    return (float)(word >> 8) * 5.9604644775390625e-08f;
}

SAMBA__INLINE float samba__open_unit(uint32_t word)
{
    return samba__fma((float)(word >> 9), 1.1920928955078125e-07f, 5.9604644775390625e-08f);
}

/* The key of a named stream: by seed and name, so that adding a tensor moves no other. */
SAMBA__FN uint64_t samba__stream_key(uint64_t seed, const char *name)
{
    return samba__hash(name, strlen(name), seed);
}

/* ==== [threads] =============================================================================== */
/* The pool. Work is a range of units, from which the threads take shares; results do not depend on
   who computes which unit. */

typedef void (*samba__job_fn)(void *context, int64_t begin, int64_t end, int32_t thread);
#if (defined(SAMBA_RUNTIME_ONLY) || !defined(__GNUC__)) && !defined(SAMBA_NO_THREADS)
#define SAMBA_NO_THREADS /* the pool needs the atomic built-ins of gcc and clang */
#endif
#define SAMBA__MAX_THREADS 64
#if !defined(SAMBA_NO_THREADS)
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/* Threads take pieces from one counter until it runs out: each time a fair share of what is left,
   so that pieces are large first and even out at the end, in multiples of `grain` units. A thread
   that comes late finds the job closed and goes back to sleep: nobody waits for idle threads. */
typedef struct samba__pool {
    int32_t n_threads; /* the caller counts */
    int32_t n_started;
    uint32_t ticket;                          /* atomic; odd while a job is open */
    int32_t active;                           /* atomic; helpers inside the open job */
    int32_t sleepers;                         /* atomic */
    int64_t next __attribute__((aligned(8))); /* atomic; first unit nobody has taken */
    samba__job_fn job;
    void *context;
    int64_t units, grain;
    bool quit; /* read and written under the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t thread[SAMBA__MAX_THREADS];
} samba__pool;

#define SAMBA__SPINS 4000 /* about 50 microseconds: longer than between two ops */

SAMBA__FN void samba__relax(void)
{
#if SAMBA__X86
    _mm_pause();
#endif
}

SAMBA__FN void samba__pool_work(samba__pool *p, int32_t thread)
{
    int64_t begin = __atomic_load_n(&p->next, __ATOMIC_RELAXED), end;
    while (begin < p->units) {
        int64_t grains = samba__ceil_div(p->units - begin, p->grain);
        end = begin + samba__ceil_div(grains, p->n_threads) * p->grain;
        SAMBA_ASSERT(end > begin);
        if (!__atomic_compare_exchange_n(&p->next, &begin, end, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        SAMBA_ASSERT(thread >= 0 && thread < p->n_threads);
        p->job(p->context, begin, samba__min64(end, p->units), thread);
        begin = __atomic_load_n(&p->next, __ATOMIC_RELAXED);
    }
}

/* Returns the next ticket that is not `seen`; spins first, then sleeps. 0 means quit. */
SAMBA__FN uint32_t samba__pool_wait(samba__pool *p, uint32_t seen)
{
    for (int spin = 0; spin < SAMBA__SPINS; spin++) {
        uint32_t ticket = __atomic_load_n(&p->ticket, __ATOMIC_ACQUIRE);
        if (ticket != seen && (ticket & 1)) return ticket;
        samba__relax();
    }
    uint32_t ticket = 0;
    pthread_mutex_lock(&p->mutex);
    __atomic_add_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
    while (!p->quit) {
        ticket = __atomic_load_n(&p->ticket, __ATOMIC_SEQ_CST);
        if (ticket != seen && (ticket & 1)) break;
        pthread_cond_wait(&p->wake, &p->mutex);
    }
    if (p->quit) ticket = 0;
    __atomic_sub_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&p->mutex);
    return ticket;
}

SAMBA__FN void *samba__helper_main(void *argument)
{
    samba__pool *p = (samba__pool *)argument;
    int32_t thread = __atomic_add_fetch(&p->n_started, 1, __ATOMIC_SEQ_CST);
    for (uint32_t ticket = 0; (ticket = samba__pool_wait(p, ticket)) != 0;) {
        __atomic_add_fetch(&p->active, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&p->ticket, __ATOMIC_SEQ_CST) == ticket) samba__pool_work(p, thread);
        __atomic_sub_fetch(&p->active, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

/* Wakes who sleeps, for a new job or to quit. */
SAMBA__FN void samba__pool_wake(samba__pool *p, bool quit)
{
    pthread_mutex_lock(&p->mutex);
    p->quit = quit;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}

/* Starts n - 1 helpers; with fewer if the system refuses, which changes nothing but the time. */
SAMBA__FN bool samba__pool_open(samba__pool *p, int32_t n)
{
    memset(p, 0, sizeof *p);
    p->n_threads = 1;
    if (pthread_mutex_init(&p->mutex, NULL)) return false;
    if (pthread_cond_init(&p->wake, NULL)) {
        pthread_mutex_destroy(&p->mutex);
        return false;
    }
    while (p->n_threads < n && p->n_threads < SAMBA__MAX_THREADS) {
        if (pthread_create(&p->thread[p->n_threads], NULL, samba__helper_main, p)) break;
        p->n_threads++;
    }
    return true;
}

SAMBA__FN void samba__pool_close(samba__pool *p)
{
    samba__pool_wake(p, true);
    for (int32_t i = 1; i < p->n_threads; i++)
        pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
}

SAMBA__FN void samba__pool_run(samba__pool *p, samba__job_fn job, void *context, int64_t units,
                               int64_t grain)
{
    if (!p || p->n_threads == 1 || units <= grain) {
        if (units > 0) job(context, 0, units, 0);
        return;
    }
    SAMBA_ASSERT(grain > 0);
    p->job = job;
    p->context = context;
    p->units = units;
    p->grain = grain;
    __atomic_store_n(&p->next, 0, __ATOMIC_RELAXED);
    __atomic_add_fetch(&p->ticket, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&p->sleepers, __ATOMIC_SEQ_CST) > 0) samba__pool_wake(p, false);
    samba__pool_work(p, 0);
    SAMBA_ASSERT(__atomic_load_n(&p->next, __ATOMIC_RELAXED) >= units); /* all are taken */
    __atomic_add_fetch(&p->ticket, 1, __ATOMIC_SEQ_CST);
    for (int spin = 0; __atomic_load_n(&p->active, __ATOMIC_SEQ_CST) > 0; spin++) {
        if (spin < SAMBA__SPINS)
            samba__relax();
        else
            sched_yield();
    }
}

SAMBA__FN int32_t samba__processors(void)
{
#if defined(_WIN32)
    long n = pthread_num_processors_np();
#else
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    if (n < 1) return 1;
    return n > SAMBA__MAX_THREADS ? SAMBA__MAX_THREADS : (int32_t)n;
}

#else /* one thread: the same calls */
typedef struct samba__pool {
    int32_t n_threads;
} samba__pool;

SAMBA__FN bool samba__pool_open(samba__pool *p, int32_t n)
{
    (void)n;
    p->n_threads = 1;
    return true;
}

SAMBA__FN void samba__pool_close(samba__pool *p)
{
    (void)p;
}

SAMBA__FN void samba__pool_run(samba__pool *p, samba__job_fn job, void *context, int64_t units,
                               int64_t grain)
{
    (void)p;
    (void)grain;
    if (units > 0) job(context, 0, units, 0);
}

SAMBA__FN int32_t samba__processors(void)
{
    return 1;
}
#endif

/* ==== [tensor] ================================================================================ */
SAMBA_API samba_shape samba_scalar_shape(void)
{
    samba_shape shape = SAMBA__ZEROED;
    return shape;
}

SAMBA_API size_t samba_dtype_size(samba_dtype dtype)
{
    static const uint8_t sizes[SAMBA_N_DTYPES] = { 4, 2, 2, 4, 2, 1, 1, 1, 8, 2, 4 };
    return (unsigned)dtype < SAMBA_N_DTYPES ? sizes[dtype] : 0;
}

/* Elements of the dimensions begin ... end - 1; those before axis, and those after it. */
SAMBA__FN int64_t samba__span(const samba_shape *shape, int32_t begin, int32_t end)
{
    SAMBA_ASSERT(begin >= 0 && end <= shape->ndim);
    int64_t n = 1;
    for (int32_t i = begin; i < end; i++)
        n *= shape->dim[i];
    return n;
}

SAMBA__FN int64_t samba__outer(const samba_shape *x, int32_t axis)
{
    return samba__span(x, 0, axis);
}

SAMBA__FN int64_t samba__inner(const samba_shape *x, int32_t axis)
{
    return samba__span(x, axis + 1, x->ndim);
}

SAMBA_API int64_t samba_count(const samba_shape *shape)
{
    return shape ? samba__outer(shape, shape->ndim) : 0;
}

#define SAMBA__MAX_COUNT ((int64_t)1 << 40) /* elements of a tensor: byte counts stay exact */

/* A shape is sound if its rank, every dimension and their product are in range. */
SAMBA__FN bool samba__sound_shape(const samba_shape *shape)
{
    int64_t n = 1;
    if (shape->ndim < 0 || shape->ndim > SAMBA_MAX_DIMS) return false;
    for (int32_t i = 0; i < shape->ndim; i++) {
        if (shape->dim[i] < 1 || n > SAMBA__MAX_COUNT / shape->dim[i]) return false;
        n *= shape->dim[i];
    }
    return true;
}

SAMBA__FN bool samba__same_shape(const samba_shape *a, const samba_shape *b)
{
    if (a->ndim != b->ndim) return false;
    for (int32_t i = 0; i < a->ndim; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

SAMBA__FN size_t samba__spec_bytes(const samba_spec *spec)
{
    return (size_t)samba_count(&spec->shape) * samba_dtype_size(spec->dtype);
}

SAMBA__FN bool samba__is_float(samba_dtype d)
{
    return d == SAMBA_F32 || d == SAMBA_BF16 || d == SAMBA_F16;
}

/* Is d a type for storing ids and labels, with which nothing is computed? */
SAMBA__FN bool samba__is_stored_only(samba_dtype d)
{
    return d == SAMBA_I64 || d == SAMBA_U16 || d == SAMBA_U32;
}

/* The values of an integer type; false if d is none. bool is none: it holds no numbers. */
SAMBA__FN bool samba__integer_range(samba_dtype d, int64_t *least, int64_t *most)
{
    *least = *most = 0;
    switch (d) {
    case SAMBA_F32:
    case SAMBA_BF16:
    case SAMBA_F16:
    case SAMBA_BOOL:
        return false;
    case SAMBA_I64:
        *least = INT64_MIN;
        *most = INT64_MAX;
        break;
    case SAMBA_I32:
        *least = INT32_MIN;
        *most = INT32_MAX;
        break;
    case SAMBA_I16:
        *least = INT16_MIN;
        *most = INT16_MAX;
        break;
    case SAMBA_I8:
        *least = INT8_MIN;
        *most = INT8_MAX;
        break;
    case SAMBA_U32:
        *most = UINT32_MAX;
        break;
    case SAMBA_U16:
        *most = UINT16_MAX;
        break;
    case SAMBA_U8:
        *most = UINT8_MAX;
        break;
    }
    return true;
}

/* Element i of x, which is of an integer type. */
SAMBA__FN int64_t samba__integer_at(const void *x, samba_dtype d, int64_t i)
{
    switch (d) {
    case SAMBA_I64:
        return ((const int64_t *)x)[i];
    case SAMBA_I32:
        return ((const int32_t *)x)[i];
    case SAMBA_I16:
        return ((const int16_t *)x)[i];
    case SAMBA_I8:
        return ((const int8_t *)x)[i];
    case SAMBA_U32:
        return ((const uint32_t *)x)[i];
    case SAMBA_U16:
        return ((const uint16_t *)x)[i];
    case SAMBA_U8:
        return ((const uint8_t *)x)[i];
    case SAMBA_F32:
    case SAMBA_BF16:
    case SAMBA_F16:
    case SAMBA_BOOL:
        break;
    }
    return 0;
}

/* Stores value, which fits, as element i of y. */
SAMBA__FN void samba__put_integer(void *y, samba_dtype d, int64_t i, int64_t value)
{
    switch (d) {
    case SAMBA_I64:
        ((int64_t *)y)[i] = value;
        break;
    case SAMBA_I32:
        ((int32_t *)y)[i] = (int32_t)value;
        break;
    case SAMBA_I16:
        ((int16_t *)y)[i] = (int16_t)value;
        break;
    case SAMBA_I8:
        ((int8_t *)y)[i] = (int8_t)value;
        break;
    case SAMBA_U32:
        ((uint32_t *)y)[i] = (uint32_t)value;
        break;
    case SAMBA_U16:
        ((uint16_t *)y)[i] = (uint16_t)value;
        break;
    case SAMBA_U8:
        ((uint8_t *)y)[i] = (uint8_t)value;
        break;
    case SAMBA_F32:
    case SAMBA_BF16:
    case SAMBA_F16:
    case SAMBA_BOOL:
        break;
    }
}

/* What stands for an optional input that is not given. */
SAMBA__FN samba_spec samba__absent(void)
{
    samba_spec spec = SAMBA__ZEROED;
    spec.shape.ndim = -1;
    return spec;
}

/* NumPy broadcasting: align at the right, 1 stretches. False if dimension *bad does not fit. */
SAMBA__FN bool samba__broadcast(const samba_shape *a, const samba_shape *b, samba_shape *out,
                                int32_t *bad)
{
    samba_shape r = samba_scalar_shape();
    r.ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int32_t i = 0; i < r.ndim; i++) {
        int32_t ia = i - (r.ndim - a->ndim), ib = i - (r.ndim - b->ndim);
        int32_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];
        if (da != db && da != 1 && db != 1) {
            *bad = i;
            return false;
        }
        r.dim[i] = da == 1 ? db : da;
    }
    *out = r;
    return true;
}

/* ---- bf16 and f16 storage ---- */
SAMBA__INLINE float samba__from_bf16(uint16_t h)
{
    return samba__bits_float((uint32_t)h << 16);
}

/* Round to nearest even; a NaN stays a quiet NaN. */
SAMBA__INLINE uint16_t samba__to_bf16(float f)
{
    uint32_t u = samba__float_bits(f), nan = (u >> 16) | 0x40u;
    uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
    return (uint16_t)((u & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
}

/* Round to zero; a NaN stays a quiet NaN, though all its bits may be among those that go. */
SAMBA__INLINE uint16_t samba__cut_bf16(float f)
{
    uint32_t u = samba__float_bits(f);
    return (uint16_t)(u >> 16 | ((u & 0x7FFFFFFFu) > 0x7F800000u ? 0x40u : 0u));
}

/* Round up as often, of all 16 random bits, as f is near to what lies above: the mean is f. */
SAMBA__INLINE uint16_t samba__dither_bf16(float f, uint32_t bits)
{
    uint32_t u = f == f ? samba__float_bits(f) : 0x7FC00000u;
    return (uint16_t)((u + bits) >> 16);
}

/* IEEE half to float by scaling: exact for normals and subnormals alike. */
SAMBA__INLINE float samba__from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = (uint32_t)(h & 0x7FFFu) << 13;
    float scaled = samba__bits_float(rest) * 5.192296858534828e33f;
    uint32_t bits = rest >= 0x0F800000u ? rest | 0x7F800000u : samba__float_bits(scaled);
    return samba__bits_float(bits | sign);
}

/* Nearest even: adding a suitable power of two makes the float unit do the rounding. */
SAMBA__INLINE uint16_t samba__to_f16(float f)
{
    uint32_t u = samba__float_bits(f), sign = (u >> 16) & 0x8000u, a = u & 0x7FFFFFFFu;
    uint32_t nan = a > 0x7F800000u ? 0x7E00u : 0x7C00u;
    uint32_t tiny
        = samba__float_bits(samba__bits_float(a < 0x38800000u ? a : 0) + 0.5f) - 0x3F000000u;
    uint32_t normal = (a - 0x38000000u + 0xFFFu + ((a >> 13) & 1u)) >> 13;
    uint32_t large = a >= 0x477FF000u ? nan : normal;
    uint32_t magnitude = a < 0x38800000u ? tiny : large;
    return (uint16_t)(sign | magnitude);
}

/* n elements of any type to f32, and back. Integers saturate, NaN gives 0. */
#define SAMBA__EACH(statement) \
    for (int64_t i = 0; i < n; i++) \
    statement

SAMBA__KERNEL void samba__load_values(float *SAMBA__RESTRICT y, const void *x, samba_dtype dtype,
                                      int64_t n)
{
    const uint16_t *h = (const uint16_t *)x;
    switch (dtype) {
    case SAMBA_F32:
        memcpy(y, x, (size_t)n * 4);
        break;
    case SAMBA_BF16:
        SAMBA__EACH(y[i] = samba__from_bf16(h[i]));
        break;
    case SAMBA_F16:
        SAMBA__EACH(y[i] = samba__from_f16(h[i]));
        break;
    case SAMBA_I32:
        SAMBA__EACH(y[i] = (float)((const int32_t *)x)[i]);
        break;
    case SAMBA_I16:
        SAMBA__EACH(y[i] = (float)((const int16_t *)x)[i]);
        break;
    case SAMBA_I8:
        SAMBA__EACH(y[i] = (float)((const int8_t *)x)[i]);
        break;
    case SAMBA_U8:
        SAMBA__EACH(y[i] = (float)((const uint8_t *)x)[i]);
        break;
    case SAMBA_BOOL:
        SAMBA__EACH(y[i] = ((const uint8_t *)x)[i] ? 1.0f : 0.0f);
        break;
    case SAMBA_I64:
        SAMBA__EACH(y[i] = (float)((const int64_t *)x)[i]);
        break;
    case SAMBA_U16:
        SAMBA__EACH(y[i] = (float)h[i]);
        break;
    case SAMBA_U32:
        SAMBA__EACH(y[i] = (float)((const uint32_t *)x)[i]);
        break;
    }
}

SAMBA__INLINE int32_t samba__saturate(float f, int32_t low, int32_t high)
{
    if (f != f) return 0;
    if (f <= (float)low) return low;
    return f >= (float)high ? high : (int32_t)f;
}

SAMBA__INLINE int64_t samba__saturate_i64(float f)
{
    if (f != f) return 0;
    if (f <= -9223372036854775808.0f) return INT64_MIN;
    return f >= 9223372036854775808.0f ? INT64_MAX : (int64_t)f;
}

SAMBA__INLINE uint32_t samba__saturate_u32(float f)
{
    if (!(f > 0.0f)) return 0;
    return f >= 4294967296.0f ? UINT32_MAX : (uint32_t)f;
}

SAMBA__KERNEL void samba__store_values(void *y, const float *SAMBA__RESTRICT x, samba_dtype dtype,
                                       int64_t n)
{
    uint16_t *h = (uint16_t *)y;
    switch (dtype) {
    case SAMBA_F32:
        memcpy(y, x, (size_t)n * 4);
        break;
    case SAMBA_BF16:
        SAMBA__EACH(h[i] = samba__to_bf16(x[i]));
        break;
    case SAMBA_F16:
        SAMBA__EACH(h[i] = samba__to_f16(x[i]));
        break;
    case SAMBA_I32:
        SAMBA__EACH(((int32_t *)y)[i] = samba__saturate(x[i], INT32_MIN, INT32_MAX));
        break;
    case SAMBA_I16:
        SAMBA__EACH(((int16_t *)y)[i] = (int16_t)samba__saturate(x[i], -32768, 32767));
        break;
    case SAMBA_I8:
        SAMBA__EACH(((int8_t *)y)[i] = (int8_t)samba__saturate(x[i], -128, 127));
        break;
    case SAMBA_U8:
        SAMBA__EACH(((uint8_t *)y)[i] = (uint8_t)samba__saturate(x[i], 0, 255));
        break;
    case SAMBA_BOOL:
        SAMBA__EACH(((uint8_t *)y)[i] = x[i] != 0.0f);
        break;
    case SAMBA_I64:
        SAMBA__EACH(((int64_t *)y)[i] = samba__saturate_i64(x[i]));
        break;
    case SAMBA_U16:
        SAMBA__EACH(h[i] = (uint16_t)samba__saturate(x[i], 0, UINT16_MAX));
        break;
    case SAMBA_U32:
        SAMBA__EACH(((uint32_t *)y)[i] = samba__saturate_u32(x[i]));
        break;
    }
}

#undef SAMBA__EACH

/* The same; [elementwise] has them for each instruction set. */
SAMBA__NOINLINE void samba__load(float *y, const void *x, samba_dtype dtype, int64_t n)
{
    samba__load_values(y, x, dtype, n);
}

SAMBA__NOINLINE void samba__store(void *y, const float *x, samba_dtype dtype, int64_t n)
{
    samba__store_values(y, x, dtype, n);
}

/* ---- Signatures: "*n,n?,n->*n". One letter is one dimension, '*' any leading ones (equal in all
   terms), '?' after a term makes it optional, "i:", "b:", "f:" before it i32, bool, f32, and "w:" a
   weight, in f32, bf16 or f16. ---- */
typedef struct samba__binding {
    int32_t letter[26]; /* 0: not bound yet */
    samba_shape star;
    bool star_bound;
} samba__binding;

typedef struct samba__term {
    samba_dtype dtype;
    bool star, optional, weights;
    char letters[SAMBA_MAX_DIMS + 1];
    int32_t n_letters;
} samba__term;

/* Reads one term; returns what follows it (after a comma or an arrow). */
SAMBA__FN const char *samba__read_term(const char *p, samba__term *t)
{
    memset(t, 0, sizeof *t);
    if ((*p == 'i' || *p == 'b' || *p == 'f' || *p == 'w') && p[1] == ':') {
        if (*p == 'i') t->dtype = SAMBA_I32;
        if (*p == 'b') t->dtype = SAMBA_BOOL;
        t->weights = *p == 'w';
        p += 2;
    }
    for (; *p && *p != ',' && *p != '-'; p++) {
        if (*p == '*')
            t->star = true;
        else if (*p == '?')
            t->optional = true;
        else if (*p >= 'a' && *p <= 'z' && t->n_letters < SAMBA_MAX_DIMS) {
            t->letters[t->n_letters++] = *p;
        }
    }
    if (*p == ',') return p + 1;
    return p[0] == '-' && p[1] == '>' ? p + 2 : p;
}

SAMBA__FN bool samba__bind_term(samba_call *call, int32_t i, const samba__term *t,
                                samba__binding *b)
{
    const samba_spec *x = &call->in[i];
    int32_t lead = x->shape.ndim - t->n_letters;
    if (x->dtype != t->dtype && !(t->weights && samba__is_float(x->dtype)))
        return samba_refuse(call, SAMBA_EDTYPE, "input %d is %T, but must be %T; use samba_cast", i,
                            (int)x->dtype, (int)t->dtype);
    if (lead < 0 || (lead > 0 && !t->star))
        return samba_refuse(call, SAMBA_ESHAPE, "input %d %S must have %s%d dimensions (%s%s)", i,
                            &x->shape, t->star ? "at least " : "", t->n_letters, t->star ? "*" : "",
                            t->letters);
    for (int32_t k = 0; k < t->n_letters; k++) {
        SAMBA_ASSERT(t->letters[k] >= 'a' && t->letters[k] <= 'z');
        int32_t *bound = &b->letter[t->letters[k] - 'a'], d = x->shape.dim[lead + k];
        if (*bound && *bound != d)
            return samba_refuse(call, SAMBA_ESHAPE,
                                "dimension %d of input %d is %d, but must be %d (%s%s)", lead + k,
                                i, d, *bound, t->star ? "*" : "", t->letters);
        *bound = d;
    }
    if (!t->star) return true;
    samba_shape star = x->shape;
    star.ndim = lead;
    if (b->star_bound && !samba__same_shape(&star, &b->star))
        return samba_refuse(call, SAMBA_ESHAPE, "leading dimensions %S of input %d must be %S",
                            &star, i, &b->star);
    b->star = star;
    b->star_bound = true;
    return true;
}

/* Checks the inputs of a call against a signature and fills in its outputs. */
SAMBA__FN bool samba__match(const char *signature, samba_call *call, samba__binding *b)
{
    samba__term t;
    const char *p = signature;
    int32_t i = 0;
    bool inputs = true;
    memset(b, 0, sizeof *b);
    for (; inputs; i++) {
        p = samba__read_term(p, &t);
        inputs = p[-1] == ',';
        bool absent = i >= call->n_in || call->in[i].shape.ndim < 0;
        if (absent && t.optional) continue;
        if (absent) return samba_refuse(call, SAMBA_EARG, "input %d is missing (%s)", i, signature);
        if (!samba__bind_term(call, i, &t, b)) return false;
    }
    if (call->n_in > i)
        return samba_refuse(call, SAMBA_EARG, "%d inputs given, at most %d fit (%s)", call->n_in, i,
                            signature);
    for (call->n_out = 0; *p && call->n_out < SAMBA_MAX_OUT; call->n_out++) {
        samba_spec *y = &call->out[call->n_out];
        p = samba__read_term(p, &t);
        y->dtype = t.dtype;
        y->shape = t.star ? b->star : samba_scalar_shape();
        if (y->shape.ndim + t.n_letters > SAMBA_MAX_DIMS)
            return samba_refuse(call, SAMBA_ESHAPE, "the result would have more than %d dimensions",
                                SAMBA_MAX_DIMS);
        for (int32_t k = 0; k < t.n_letters; k++)
            y->shape.dim[y->shape.ndim++] = b->letter[t.letters[k] - 'a'];
    }
    return true;
}

/* ==== [math] ================================================================================ */
/* The C library's expf differs from machine to machine; a checkpoint must not. So the library has
   its own functions, built only from float +, -, *, /, fma and integer operations: each of these
   has exactly one correct result, hence so has every formula below, on every compiler, one element
   or eight at a time. Three rules keep it so; code that uses this chapter obeys them too:

   1. A compiler may fuse a*b + c into one fma, or may not. So a product that feeds an addition is
      written samba__fma(a, b, c), or samba__mul(a, b) where the rounded product itself is wanted. A
      function whose last step is a product ends in samba__mul, as its caller may add to the result.
   2. No branches, no && or ||, only selects between finished values, one test each: then a plain
      loop over the function is vectorised, and every arm is defined for every input.
   3. Every NaN that leaves is the same NaN, as machines disagree which operand's NaN to pass on.

   Polynomials are minimax fits (Remez exchange, coefficients rounded one by one) unless a source is
   named. Largest errors found, in units in the last place (ulp; the best possible is 0.5):

      exp 0.90   log 0.84  log1p 1.43   sqrt 0.50   rsqrt 1.5   tanh 1.41   sigmoid 1.48
      softplus 1.6   silu 2.6   gelu 4.1   gelu_tanh 3.2   sin_2pi 1.5
      pow 1.1 + |y log x| / 14, a relative error below 5 10^-7

   The three _grad functions: 1.3 10^-7 absolute; 10 ulp beyond 1/4 from their only zero. */
#define SAMBA__INF samba__bits_float(0x7f800000u)
#define SAMBA__NAN samba__bits_float(0x7fc00000u)

/* a*b, rounded, out of reach of fusion. (-0 becomes +0.) */
SAMBA__INLINE float samba__mul(float a, float b)
{
    return samba__fma(a, b, 0.0f);
}

SAMBA__INLINE float samba__abs(float x)
{
    return samba__bits_float(samba__float_bits(x) & 0x7fffffffu);
}

/* |x|, at most limit, even for NaN: unused arms stay finite. Vectors have minima of integers. */
SAMBA__INLINE float samba__abs_upto(float x, float limit)
{
    uint32_t a = samba__float_bits(x) & 0x7fffffffu, most = samba__float_bits(limit);
    return samba__bits_float(a < most ? a : most);
}

/* The magnitude y >= 0 with the sign of x. */
SAMBA__INLINE float samba__with_sign(float y, float x)
{
    return samba__bits_float(samba__float_bits(y) | (samba__float_bits(x) & 0x80000000u));
}

/* y = f(x), or the one NaN if x is any NaN. */
SAMBA__INLINE float samba__unless_nan(float x, float y)
{
    return x == x ? y : SAMBA__NAN;
}

/* The larger number; the NaN if one is NaN. The select alone is an instruction for maxima. */
SAMBA__INLINE float samba__larger(float s, float x)
{
    return samba__unless_nan(x, x > s ? x : s);
}

/* c0 + c1 x + c2 x^2 + c3 x^3 by Horner's rule; to go on, c3 is itself a polynomial in x. */
SAMBA__INLINE float samba__poly(float x, float c0, float c1, float c2, float c3)
{
    return samba__fma(samba__fma(samba__fma(c3, x, c2), x, c1), x, c0);
}

/* The integer n nearest to a*b, |n| < 2^22, as a float and as two's complement bits. Adding
   1.5 * 2^23 leaves no room for a fraction: the sum's low bits are n; subtracting it leaves n. */
SAMBA__INLINE float samba__round_product(float a, float b, uint32_t *n)
{
    float shifted = samba__fma(a, b, 12582912.0f);
    *n = samba__float_bits(shifted) - samba__float_bits(12582912.0f);
    return shifted - 12582912.0f;
}

/* e^r, |r| <= 0.347 */
SAMBA__INLINE float samba__exp_poly(float r)
{
    return samba__poly(
        r, 1.0f, 1.0f, 0.4999999404f,
        samba__poly(r, 0.1666651517f, 0.04166808724f, 0.008369296789f, 0.001383823925f));
}

/* m e^(x + low), low a small correction to x, -170 <= x <= 126. With n = round(x / ln 2) and
   r = x - n ln 2, e^x = 2^n e^r, |r| <= 0.347. ln 2 comes in two parts (Cody and Waite 1980); the
   first fma is exact. 2^n is applied in two halves: results overflow to infinity and underflow
   gradually. m is 1 if x > 0, and |m| < 10^9. */
SAMBA__INLINE float samba__exp_scaled(float m, float x, float low)
{
    uint32_t n, half;
    float t = samba__round_product(x, 1.442695022f, &n), r, y;
    r = samba__fma(t, -0.6931471825f, x);
    r += samba__fma(t, 1.904654212e-9f, low);
    y = samba__exp_poly(r);
    n += 300u; /* now positive, and halving is a shift: 2^n = 2^(half - 150) 2^(n - half - 150) */
    half = n >> 1;
    y *= samba__bits_float((half - 23u) << 23); /* m comes after: two calls may share this */
    return samba__mul(m * y, samba__bits_float((n - half - 23u) << 23));
}

/* e^x: e^126 is infinity, and e^-126 is 0. */
SAMBA__INLINE float samba__exp(float x)
{
    float limited = samba__with_sign(samba__abs_upto(x, 126.0f), x);
    return samba__unless_nan(x, samba__exp_scaled(1.0f, limited, 0.0f));
}

/* e^x for x <= 0, as rows need it: 0 below -87, where n would leave the exponent, and for NaN. The
   low bits of the sum that rounds are n; shifted, they add to the exponent. */
SAMBA__INLINE float samba__exp_below(float x)
{
    float limited = x > -87.0f ? x : -87.0f;
    float shifted = samba__fma(limited, 1.442695022f, 12582912.0f), t = shifted - 12582912.0f;
    float r = samba__fma(t, 1.904654212e-9f, samba__fma(t, -0.6931471825f, limited));
    float y = samba__exp_poly(r);
    y = samba__bits_float(samba__float_bits(y) + (samba__float_bits(shifted) << 23));
    return x > -87.0f ? y : 0.0f;
}

/* x = 2^e (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), for x > 0; returns f. Moving the bits of
   sqrt(1/2) onto those of 1 makes the exponent field count from there. Subnormals are scaled. */
SAMBA__INLINE float samba__log_split(float x, float *e)
{
    int tiny = x < 1.17549435e-38f;
    float scaled = x * 8388608.0f;
    uint32_t u = samba__float_bits(tiny ? scaled : x) + (0x3f800000u - 0x3f3504f3u);
    *e = (float)(int32_t)(u >> 23) - (tiny ? 150.0f : 127.0f);
    return samba__bits_float((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
}

/* (log(1 + f) - f + f^2 / 2) / f^3 for f from log_split. */
SAMBA__INLINE float samba__log_poly(float f)
{
    return samba__poly(
        f, 0.3333331347f, -0.2500016689f, 0.2000222355f,
        samba__poly(f, -0.1665936708f, 0.1420955509f, -0.1254966706f,
                    samba__fma(f, samba__fma(f, 0.05339729786f, -0.1091737822f), 0.1210910156f)));
}

/* e ln 2 + log(1 + f), smallest terms first. */
SAMBA__INLINE float samba__log_join(float e, float f)
{
    float tail = samba__fma(f, samba__log_poly(f), -0.5f);
    tail = samba__fma(f * f, tail, e * -1.904654212e-9f);
    return samba__fma(e, 0.6931471825f, f + tail);
}

/* log x */
SAMBA__INLINE float samba__log(float x)
{
    float e, f = samba__log_split(x, &e), y = samba__log_join(e, f);
    y = x == SAMBA__INF ? x : y;
    y = x == 0.0f ? -SAMBA__INF : y;
    return x >= 0.0f ? y : SAMBA__NAN;
}

/* log(1 + x). 1 + x loses bits of x, so it only chooses e; f = (1 + x) 2^-e - 1 = x s + (s - 1)
   with s = 2^-e is rounded once, and is x itself near 0. From 2^24 on, the 1 no longer matters. */
SAMBA__INLINE float samba__log1p(float x)
{
    float e, f = samba__log_split(1.0f + x, &e);
    float s = samba__bits_float((uint32_t)(127 - (int32_t)e) << 23);
    float y = samba__log_join(e, x < 16777216.0f ? samba__fma(x, s, s - 1.0f) : f);
    y = x == SAMBA__INF ? x : y;
    y = x == -1.0f ? -SAMBA__INF : y;
    return x >= -1.0f ? y : SAMBA__NAN;
}

/* sqrt x, correctly rounded, hence equal to the hardware's; spelled out because compilers do not
   vectorise sqrtf while it may set errno. x = 4^k m with m in [1, 4); y -> 1 / sqrt(m) by the
   well-known integer guess and three Newton steps; then one step on s = m y with an exact residual
   (Markstein 1990). Checked against sqrtss for all floats. */
SAMBA__INLINE float samba__sqrt(float x)
{
    int tiny = x < 1.17549435e-38f;
    float scaled = x * 16777216.0f;
    uint32_t u = samba__float_bits(tiny ? scaled : x);
    uint32_t k = ((u >> 23) + 1u) >> 1; /* 64 more than the true k */
    float m = samba__bits_float(u - (k << 24) + (128u << 23));
    float y = samba__bits_float(0x5f375a86u - (samba__float_bits(m) >> 1)), h = -0.5f * m, s;
    y = samba__fma(y, samba__fma(h * y, y, 0.5f), y);
    y = samba__fma(y, samba__fma(h * y, y, 0.5f), y);
    y = samba__fma(y, samba__fma(h * y, y, 0.5f), y);
    s = m * y;
    s = samba__fma(samba__fma(-s, s, m), 0.5f * y, s);
    s = samba__mul(s, samba__bits_float((k + (tiny ? 51u : 63u)) << 23));
    s = x == 0.0f ? x : s;
    s = x == SAMBA__INF ? x : s;
    return x >= 0.0f ? s : SAMBA__NAN;
}

/* 1 / sqrt x, as two correctly rounded operations. */
SAMBA__INLINE float samba__rsqrt(float x)
{
    return samba__unless_nan(x, 1.0f / samba__sqrt(x));
}

/* tanh x = x + x^3 P(x^2) near 0, else 1 - 2 / (e^2x + 1) with the sign put back. */
SAMBA__INLINE float samba__tanh(float x)
{
    float a = samba__abs_upto(x, 63.0f), s = a * a;
    float p = samba__poly(s, -0.3333329856f, 0.133319363f, -0.05378471687f,
                          samba__fma(s, -0.005897966214f, 0.02079862542f));
    float inner = samba__fma(a * s, p, a);
    float outer = 1.0f - 2.0f / (samba__exp_scaled(1.0f, 2.0f * a, 0.0f) + 1.0f);
    return samba__unless_nan(x, samba__with_sign(a < 0.6f ? inner : outer, x));
}

/* 1 / (1 + e^-x), or e^x / (1 + e^x) if x < 0: with t = e^-|x| nothing overflows, and small results
   keep their digits. One residual step repairs the roundings of 1 + t and of the quotient. */
SAMBA__INLINE float samba__sigmoid(float x)
{
    float t = samba__exp_scaled(1.0f, -samba__abs_upto(x, 126.0f), 0.0f), top = x < 0.0f ? t : 1.0f;
    float bottom = 1.0f + t, lost = t - (bottom - 1.0f), i = 1.0f / bottom, y = top * i;
    y = samba__fma(samba__fma(-y, lost, samba__fma(-y, bottom, top)), i, y);
    return samba__unless_nan(x, y);
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|) */
SAMBA__INLINE float samba__softplus(float x)
{
    float t = samba__exp_scaled(1.0f, -samba__abs_upto(x, 126.0f), 0.0f);
    return samba__unless_nan(x, (x > 0.0f ? x : 0.0f) + samba__log1p(t));
}

/* The three smooth ReLUs are x S(x) for a step S with S(x) + S(-x) = 1. Hence, with a = |x|,
       x S(x) = max(x, 0) - a S(-a),        d/dx (x S(x)) = D if x < 0, 1 - D otherwise,
   where D is the derivative at -a: only the left tail is computed, and nothing cancels. */
SAMBA__INLINE float samba__smooth_relu(float x, float tail)
{
    return samba__unless_nan(x, (x > 0.0f ? x : 0.0f) - tail);
}

SAMBA__INLINE float samba__smooth_relu_grad(float x, float d)
{
    return samba__unless_nan(x, x < 0.0f ? d : 1.0f - d);
}

/* SiLU, x sigmoid(x): a S(-a) = a / (1 + t) e^-a with t = e^-a. */
SAMBA__INLINE float samba__silu(float x)
{
    float a = samba__abs_upto(x, 126.0f), t = samba__exp_scaled(1.0f, -a, 0.0f);
    return samba__smooth_relu(x, samba__exp_scaled(a / (1.0f + t), -a, 0.0f));
}

/* D = S (1 - a (1 - S)) at -a, where 1 - S = i = 1 / (1 + t) and S = t i. */
SAMBA__INLINE float samba__silu_grad(float x)
{
    float a = samba__abs_upto(x, 126.0f), i = 1.0f / (1.0f + samba__exp_scaled(1.0f, -a, 0.0f));
    return samba__smooth_relu_grad(x, samba__exp_scaled(i * samba__fma(-a, i, 1.0f), -a, 0.0f));
}

/* m e^(-a^2 / 2), the square kept in two parts so that the far tail stays accurate. */
SAMBA__INLINE float samba__gauss(float m, float a)
{
    float h = -0.5f * a, square = samba__mul(h, a);
    return samba__exp_scaled(m, square, samba__fma(h, a, -square));
}

/* e^(a^2 / 2) Q(a), a >= 0, where Q(a) is the normal distribution's mass above a: a slowly falling
   function, fitted as (1 - q) P(q) with q = (a - 4) / (a + 4) (Shepherd and Laframboise 1981). The
   quotient is refined by its residual a - 4 - q (a + 4). */
SAMBA__INLINE float samba__normal_tail(float a)
{
    float i = 1.0f / (a + 4.0f), q = (a - 4.0f) * i, p;
    q = samba__fma(i, samba__fma(-q, a, samba__fma(-4.0f, q + 1.0f, a)), q);
    p = samba__poly(q, 0.09441064299f, -0.0759870708f, 0.04839203134f,
                    samba__poly(q, -0.02331547067f, 0.007551398594f, -0.0009402878932f,
                                samba__poly(q, -0.0004423804639f, 0.0001944094984f, 2.619799852e-5f,
                                            -1.369322763e-5f)));
    return samba__fma(-q, p, p);
}

/* GELU, x (1 + erf(x / sqrt(2))) / 2: a smooth ReLU whose S(-a) is Q(a). */
SAMBA__INLINE float samba__gelu(float x)
{
    float a = samba__abs_upto(x, 15.0f);
    return samba__smooth_relu(x, samba__gauss(a * samba__normal_tail(a), a));
}

/* D = Q(a) - a e^(-a^2 / 2) / sqrt(2 pi) */
SAMBA__INLINE float samba__gelu_grad(float x)
{
    float a = samba__abs_upto(x, 15.0f);
    float d = samba__gauss(samba__fma(a, -0.3989422917f, samba__normal_tail(a)), a);
    return samba__smooth_relu_grad(x, d);
}

/* GELU's tanh form, x (1 + tanh u) / 2 = x sigmoid(2u), 2u = sqrt(8 / pi) (x + 0.044715 x^3) =
   x (c + d x^2). An error of 2u makes one many times as large in the result, so this returns 2u
   at -a, a <= 12, with what rounding lost in low. c has 20 bits behind the point, so that c - w is
   exact; the rest of c, 1.9e-7, the rest of d and that of s = a^2 are added to what w lost. */
SAMBA__INLINE float samba__gelu_tanh_arg(float a, float *low)
{
    const float c = 1.595768929f, d = 0.07135481387f;
    float s = samba__mul(a, a), w = samba__fma(d, s, c), y = samba__mul(-a, w), wl;
    wl = samba__fma(d, samba__fma(a, a, -s), samba__fma(s, 2.398832396e-9f, 1.930778987e-7f));
    wl += samba__fma(d, s, c - w);
    *low = samba__fma(-a, wl, samba__fma(-a, w, -y));
    return y;
}

SAMBA__INLINE float samba__gelu_tanh(float x)
{
    float low, a = samba__abs_upto(x, 12.0f), y = samba__gelu_tanh_arg(a, &low);
    float t = samba__exp_scaled(1.0f, y, low);
    return samba__smooth_relu(x, samba__exp_scaled(a / (1.0f + t), y, low));
}

/* D as for SiLU, times the inner derivative: S (1 - a (1 - S) (c + 3 d a^2)). */
SAMBA__INLINE float samba__gelu_tanh_grad(float x)
{
    float low, a = samba__abs_upto(x, 12.0f), y = samba__gelu_tanh_arg(a, &low);
    float i = 1.0f / (1.0f + samba__exp_scaled(1.0f, y, low));
    float slope = samba__fma(a * a, 0.2140644491f, 1.595769167f);
    float d = samba__exp_scaled(i * samba__fma(-a * i, slope, 1.0f), y, low);
    return samba__smooth_relu_grad(x, d);
}

/* log x for x > 0 as a sum hi + low: e ln 2 + 2 atanh s with s = f / (2 + f), |s| < 0.172. The
   large terms, e ln 2 and 2s, keep their rounding errors (ln 2 has a first part of 16 bits, whose
   product with e is exact); 2 s^3 (1/3 + s^2 / 5 + ...) is small enough to need no such care. */
SAMBA__INLINE float samba__log_pair(float x, float *low)
{
    float e, f = samba__log_split(x, &e), i = 1.0f / (2.0f + f);
    float s = samba__mul(f, i), z = s * s, two_s = s + s;
    float lost = samba__fma(-s, f, f - two_s) * i; /* of s: the quotient's residual, divided */
    float el = samba__mul(e, 0.693145752f), a = el + two_s, rest, y;
    rest = samba__fma(e, 1.428606765e-6f, 2.0f * lost);
    rest = samba__fma(two_s * z,
                      samba__poly(z, 0.3333333135f, 0.2000048608f, 0.1424940675f, 0.1213891879f),
                      rest);
    rest += (el - a) + two_s;
    y = a + rest;
    *low = (a - y) + rest;
    return y;
}

/* Is a >= 0 an integer? Adding 2^23 rounds to one; above that, every float is. */
SAMBA__INLINE int samba__is_whole(float a)
{
    a = a < 8388608.0f ? a : 8388608.0f;
    return (a + 8388608.0f) - 8388608.0f == a;
}

/* x^y = e^(y log|x|), the product kept in two parts; negative where x is and y is odd. As in C:
   x^0 = 1^y = 1, even for NaN; no real power of a negative x exists unless y is an integer. */
SAMBA__INLINE float samba__pow(float x, float y)
{
    float a = samba__abs(x), b = samba__abs(y), p, low, hi = samba__log_pair(a, &low), r, real;
    uint32_t sign = samba__is_whole(0.5f * b) ? 0u : samba__float_bits(x) & 0x80000000u;
    sign = samba__is_whole(b) ? sign : 0u;
    hi = a == 0.0f ? -SAMBA__INF : hi;
    hi = a == SAMBA__INF ? SAMBA__INF : hi;
    p = a == 1.0f ? 0.0f : samba__mul(y, hi);
    low = samba__fma(y, low, samba__fma(y, hi, -p));
    low = samba__abs(p) < 150.0f ? low : 0.0f;
    low = p == 0.0f ? 0.0f : low;
    r = samba__exp_scaled(1.0f, samba__with_sign(samba__abs_upto(p, 126.0f), p), low);
    r = samba__bits_float(samba__float_bits(r) | sign);
    real = samba__is_whole(b) ? r : SAMBA__NAN;
    real = x == -SAMBA__INF ? r : real;
    r = x < 0.0f ? real : r;
    r = samba__unless_nan(x, samba__unless_nan(y, r));
    r = x == 1.0f ? 1.0f : r;
    return y == 0.0f ? 1.0f : r;
}

/* sin(r + n pi/2), |r| <= pi/4: the low two bits of n choose sin r, cos r, -sin r or -cos r. */
SAMBA__INLINE float samba__sin_quadrant(float r, uint32_t n)
{
    float s = r * r;
    float sine = samba__fma(
        r * s, samba__poly(s, -0.1666666716f, 0.008333379403f, -0.000198530659f, 2.832548716e-6f),
        r);
    float cosine = samba__poly(s, 1.0f, -0.5f, 0.04166664556f,
                               samba__fma(s, 2.443232734e-5f, -0.001388730947f));
    float y = (n & 1u) ? cosine : sine;
    return samba__bits_float(samba__float_bits(y) ^ ((n & 2u) << 30));
}

/* sin(2 pi u + turn pi/2), u in [0, 1): the reduction u - n/4 is exact. */
SAMBA__INLINE float samba__sin_2pi(float u, uint32_t turn)
{
    uint32_t n;
    float f = samba__fma(samba__round_product(u, 4.0f, &n), -0.25f, u);
    float r = samba__fma(f, 6.283185482f, f * -1.748455531e-7f);
    return samba__abs(u) < 1048576.0f ? samba__sin_quadrant(r, n + turn) : SAMBA__NAN;
}

/* ---- Does this machine compute as this chapter assumes? ---- */
/* Rows of a, b, c and fma(a, b, c): double rounding, both ways; cancellation, of which a rounded
   product leaves nothing; the middle between two subnormals; an infinity that a product of finite
   numbers must not meet as another one; the sign of zero. */
static const uint32_t samba__fma_cases[6][4] = {
    { 0x3f800800u, 0x3f800800u, 0x21800000u, 0x3f801001u },
    { 0x3f800800u, 0x3f801800u, 0xa1800000u, 0x3f802001u },
    { 0x3f800800u, 0x3f800800u, 0xbf801000u, 0x33800000u },
    { 0x19fffffeu, 0x1a000001u, 0x00400001u, 0x00400001u },
    { 0x71800000u, 0x71800000u, 0xff800000u, 0xff800000u },
    { 0x3f800000u, 0x80000000u, 0x80000000u, 0x80000000u },
};

/* NULL, or why results would not be those of other machines. Costs less than a microsecond. */
SAMBA__NOINLINE const char *samba__wrong_arithmetic(void)
{
#if !defined(SAMBA_ALLOW_FAST_MATH) && !defined(SAMBA_ALLOW_EXCESS_PRECISION)
    volatile float one = 1.0f, half_ulp = 5.96046448e-8f, half = 0.5f, two = 2.0f;
    volatile float ulp_and_half = 1.78813934e-7f, two_ulps = 2.38418579e-7f;
    volatile float least_normal = 1.17549435e-38f, subnormal = samba__bits_float(0x00400000u);
    volatile uint32_t word;
    if ((one + half_ulp) - one != 0.0f)
        return "the processor does not round to nearest, or computes with more than the precision "
               "of float: call fesetround(FE_TONEAREST); on 32-bit x86 compile with -msse2 "
               "-mfpmath=sse";
    if ((one + ulp_and_half) - one != two_ulps)
        return "the processor does not round to nearest: call fesetround(FE_TONEAREST)";
    if (samba__float_bits(least_normal * half) != 0x00400000u
        || samba__float_bits(subnormal * two) != 0x00800000u)
        return "the processor flushes subnormal numbers to zero, which a library that was linked "
               "with -ffast-math may have asked for: switch that off (on x86 FTZ and DAZ of MXCSR, "
               "on ARM FZ of FPSCR or FPCR)";
    for (int i = 0; i < 6; i++) {
        float x[3];
        for (int k = 0; k < 3; k++) {
            word = samba__fma_cases[i][k];
            x[k] = samba__bits_float(word);
        }
        if (samba__float_bits(samba__fma(x[0], x[1], x[2])) != samba__fma_cases[i][3])
            return "fmaf of the C library, or an instruction in its place, is not exact: compile "
                   "samba.h with -DSAMBA_NO_SIMD, which has its own";
    }
#endif
    return NULL;
}

/* ==== [simd] ================================================================================== */
/* Kernels are plain C, compiled once for each instruction set. How that works:

   A set is a block of small functions over one vector, samba__vec: load, store, fma and so on. A
   template is a stretch of this file that is compiled for every set. What must control registers,
   matrix products above all, computes by the functions of the set; loops that the compiler
   vectorizes well are written as loops. Both are ordinary C, which a debugger steps through. To
   compile it for all sets, this file includes
   itself. Where a template stands, SAMBA__TEMPLATE is set to its number, and #include SAMBA_SELF
   reads the file again from the top; this time all but the blocks of the sets is skipped. Each
   block allows the compiler the instructions of its set (#pragma GCC target), says how long its
   vectors are, and includes the file once more; now all but the template is skipped. As C has no
   overloading, the functions of a template are named after the set: macros (SAMBA__OF_SET) make
   samba__micro_kernel into samba__micro_kernel_avx2 and so on, which is what debuggers show. All
   sets that the compiler knows are in the program, and samba__best_isa asks the processor which of
   them it has. All give the same bits: lanes are different elements of a result, never parts of
   one sum, and vec_fma rounds once in each of them.

   A new template: its number above [base], SAMBA__OF_SET for its names, its text between
   "#if SAMBA__TEMPLATE == number && defined(SAMBA__SUFFIX)" and "#endif", outside of every other
   #if, and after it the include. A new set: a block, and a row in SAMBA__EACH_SET. */
/* The name that the file is included by; in quotes, it is looked for beside itself. */
#ifndef SAMBA_SELF
#define SAMBA_SELF "samba.h"
#endif

/* All sets of this processor, the plainest first, and whether it has them. Their number is
   samba_args.isa. With buffers for small memory there is no room for the tiles of AVX-512. Every
   AArch64 has NEON with fma. */
#define SAMBA__CPU_HAS(feature) (__builtin_cpu_supports(feature) != 0)
#define SAMBA__HAS_AVX2 (SAMBA__CPU_HAS("avx2") && SAMBA__CPU_HAS("fma"))
#define SAMBA__HAS_AVX512 (SAMBA__HAS_AVX2 && SAMBA__CPU_HAS("avx512f"))
#if SAMBA__X86 && !SAMBA__IS_SMALL
#define SAMBA__EACH_SET(DO) \
    DO(portable, true) \
    DO(avx2, SAMBA__HAS_AVX2) \
    DO(avx512, SAMBA__HAS_AVX512)
#elif SAMBA__X86
#define SAMBA__EACH_SET(DO) \
    DO(portable, true) \
    DO(avx2, SAMBA__HAS_AVX2)
#elif SAMBA__NEON
#define SAMBA__EACH_SET(DO) \
    DO(portable, true) \
    DO(neon, true)
#else
#define SAMBA__EACH_SET(DO) DO(portable, true)
#endif

#define SAMBA__JOIN_(a, b) a##b
#define SAMBA__JOIN(a, b) SAMBA__JOIN_(a, b)
#define SAMBA__OF_SET(name) SAMBA__JOIN(name, SAMBA__SUFFIX)
/* A function that wider vectors would not make faster: AVX-512 has that of AVX2. */
#define SAMBA__OF_NARROW(name) SAMBA__JOIN(name, SAMBA__NARROW_SUFFIX)

/* What a set consists of; and, for products, SAMBA__MR x SAMBA__NR, its micro-tile, and the largest
   block of A, SAMBA__MC x SAMBA__KC. */
#define samba__vec SAMBA__OF_SET(samba__vec)           /* SAMBA__VEC_LANES floats */
#define samba__vec_set SAMBA__OF_SET(samba__vec_set)   /* x in all lanes */
#define samba__vec_load SAMBA__OF_SET(samba__vec_load) /* from any address */
#define samba__vec_store SAMBA__OF_SET(samba__vec_store)
#define samba__vec_add SAMBA__OF_SET(samba__vec_add)
#define samba__vec_mul SAMBA__OF_SET(samba__vec_mul)
#define samba__vec_fma SAMBA__OF_SET(samba__vec_fma)         /* a b + c, rounded once */
#define samba__vec_sum SAMBA__OF_SET(samba__vec_sum)         /* of all lanes, in pairs: [reduce] */
#define samba__mask SAMBA__OF_SET(samba__mask)               /* switches lanes on or off */
#define samba__mask_first SAMBA__OF_SET(samba__mask_first)   /* the first n lanes */
#define samba__vec_larger SAMBA__OF_SET(samba__vec_larger)   /* samba__larger of each lane */
#define samba__vec_largest SAMBA__OF_SET(samba__vec_largest) /* samba__larger of all lanes */
#define samba__vec_only SAMBA__OF_SET(samba__vec_only)       /* zero in lanes that are off */
/* Lanes that are off are zero, neither read nor written. `whole` says that all lanes are on: some
   sets have a faster way then. */
#define samba__vec_load_some SAMBA__OF_SET(samba__vec_load_some)
#define samba__vec_store_some SAMBA__OF_SET(samba__vec_store_some)
/* Sets with more than one lane also have the following. The first three give values of packed
   weights, without rounding: those of bf16; of int8, times d; of int4, the low or the high halves
   of bytes, less 8, times d. vec_transpose: lane j of v[q] is x[j * row + q], q < 4.
   square_transpose, where there are 16 lanes: y[q * y_row + j] = x[j * x_row + q], q < 16. */
#define samba__vec_of_bf16 SAMBA__OF_SET(samba__vec_of_bf16)
#define samba__vec_of_int8 SAMBA__OF_SET(samba__vec_of_int8)
#define samba__vec_of_int4 SAMBA__OF_SET(samba__vec_of_int4)
#define samba__vec_transpose SAMBA__OF_SET(samba__vec_transpose)
#define samba__square_transpose SAMBA__OF_SET(samba__square_transpose)
#endif /* SAMBA__TEMPLATE == 0, since [base]; the sets below are read for templates, too */

/* ---- The sets: first their functions; when a template is read, the template ------------------ */
#if SAMBA__TEMPLATE == 0 || (SAMBA__TEMPLATE > 0 && !defined(SAMBA__SUFFIX))

/* -- portable: a vector is a float -- */
#define SAMBA__SUFFIX _portable
#define SAMBA__NARROW_SUFFIX _portable
#define SAMBA__VEC_LANES 1
#define SAMBA__MR 6
#define SAMBA__NR 16
#define SAMBA__MC SAMBA__GEMM_MC_NARROW
#define SAMBA__KC SAMBA_GEMM_KC
#if SAMBA__TEMPLATE > 0
#include SAMBA_SELF
#else
typedef float samba__vec;
typedef bool samba__mask;

SAMBA__KERNEL samba__vec samba__vec_set(float x)
{
    return x;
}

SAMBA__KERNEL samba__vec samba__vec_load(const float *x)
{
    return *x;
}

SAMBA__KERNEL void samba__vec_store(float *y, samba__vec v)
{
    *y = v;
}

SAMBA__KERNEL samba__vec samba__vec_add(samba__vec a, samba__vec b)
{
    return a + b;
}

SAMBA__KERNEL samba__vec samba__vec_mul(samba__vec a, samba__vec b)
{
    return samba__mul(a, b);
}

SAMBA__KERNEL samba__vec samba__vec_fma(samba__vec a, samba__vec b, samba__vec c)
{
    return samba__fma(a, b, c);
}

SAMBA__KERNEL float samba__vec_sum(samba__vec v)
{
    return v;
}

SAMBA__KERNEL samba__vec samba__vec_larger(samba__vec s, samba__vec x)
{
    return samba__larger(s, x);
}

SAMBA__KERNEL float samba__vec_largest(samba__vec v)
{
    return v;
}

SAMBA__KERNEL samba__mask samba__mask_first(int64_t n)
{
    return n > 0;
}

SAMBA__KERNEL samba__vec samba__vec_only(samba__vec v, samba__mask mask)
{
    return mask ? v : 0.0f;
}

SAMBA__KERNEL samba__vec samba__vec_load_some(const float *x, bool whole, samba__mask mask)
{
    return whole || mask ? *x : 0.0f;
}

SAMBA__KERNEL void samba__vec_store_some(float *y, bool whole, samba__mask mask, samba__vec v)
{
    if (whole || mask) *y = v;
}
#endif
#undef SAMBA__SUFFIX
#undef SAMBA__NARROW_SUFFIX
#undef SAMBA__VEC_LANES
#undef SAMBA__MR
#undef SAMBA__NR
#undef SAMBA__MC
#undef SAMBA__KC

#if SAMBA__X86
/* -- AVX2 -- */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define SAMBA__SUFFIX _avx2
#define SAMBA__NARROW_SUFFIX _avx2
#define SAMBA__VEC_LANES 8
#define SAMBA__MR 6
#define SAMBA__NR 16
#define SAMBA__MC SAMBA__GEMM_MC_NARROW
#define SAMBA__KC SAMBA_GEMM_KC
#if SAMBA__TEMPLATE > 0
#include SAMBA_SELF
#else
typedef __m256 samba__vec;
typedef __m256i samba__mask;

SAMBA__KERNEL samba__vec samba__vec_set(float x)
{
    return _mm256_set1_ps(x);
}

SAMBA__KERNEL samba__vec samba__vec_load(const float *x)
{
    return _mm256_loadu_ps(x);
}

SAMBA__KERNEL void samba__vec_store(float *y, samba__vec v)
{
    _mm256_storeu_ps(y, v);
}

SAMBA__KERNEL samba__vec samba__vec_add(samba__vec a, samba__vec b)
{
    return _mm256_add_ps(a, b);
}

SAMBA__KERNEL samba__vec samba__vec_mul(samba__vec a, samba__vec b)
{
    return _mm256_mul_ps(a, b);
}

SAMBA__KERNEL samba__vec samba__vec_fma(samba__vec a, samba__vec b, samba__vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

SAMBA__KERNEL float samba__vec_sum(samba__vec v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* Of numbers that cannot be compared, max takes the second. */
SAMBA__KERNEL samba__vec samba__vec_larger(samba__vec s, samba__vec x)
{
    __m256 is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    return _mm256_blendv_ps(_mm256_max_ps(x, s), _mm256_set1_ps(SAMBA__NAN), is_nan);
}

SAMBA__KERNEL float samba__vec_largest(samba__vec v)
{
    v = samba__vec_larger(v, _mm256_permute2f128_ps(v, v, 1));
    v = samba__vec_larger(v, _mm256_permute_ps(v, 0x4e));
    v = samba__vec_larger(v, _mm256_permute_ps(v, 0xb1));
    return _mm256_cvtss_f32(v);
}

SAMBA__KERNEL samba__mask samba__mask_first(int64_t n)
{
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}

SAMBA__KERNEL samba__vec samba__vec_only(samba__vec v, samba__mask mask)
{
    return _mm256_and_ps(v, _mm256_castsi256_ps(mask));
}

/* Masked accesses are slow on some chips. */
SAMBA__KERNEL samba__vec samba__vec_load_some(const float *x, bool whole, samba__mask mask)
{
    return whole ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, mask);
}

SAMBA__KERNEL void samba__vec_store_some(float *y, bool whole, samba__mask mask, samba__vec v)
{
    if (whole)
        _mm256_storeu_ps(y, v);
    else
        _mm256_maskstore_ps(y, mask, v);
}

SAMBA__KERNEL samba__vec samba__vec_of_bf16(const uint8_t *x)
{
    __m256i h = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)x));
    return _mm256_castsi256_ps(_mm256_slli_epi32(h, 16));
}

SAMBA__KERNEL samba__vec samba__vec_of_int8(const uint8_t *x, samba__vec d)
{
    __m256i n = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)x));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(n), d);
}

SAMBA__KERNEL samba__vec samba__vec_of_int4(const uint8_t *x, bool high, samba__vec d)
{
    __m256i n = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)x));
    n = high ? _mm256_srli_epi32(n, 4) : _mm256_and_si256(n, _mm256_set1_epi32(15));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(n), d, _mm256_mul_ps(d, _mm256_set1_ps(-8)));
}

/* Rows i and i + 4 share a register; both halves are transposed as 4 x 4 squares. */
SAMBA__KERNEL __m256 samba__two_rows_avx2(const float *x, int64_t row)
{
    __m256 low = _mm256_castps128_ps256(_mm_loadu_ps(x));
    return _mm256_insertf128_ps(low, _mm_loadu_ps(x + 4 * row), 1);
}

SAMBA__KERNEL void samba__vec_transpose(const float *x, int64_t row, samba__vec v[4])
{
    __m256 x0 = samba__two_rows_avx2(x, row);
    __m256 x1 = samba__two_rows_avx2(x + row, row);
    __m256 x2 = samba__two_rows_avx2(x + 2 * row, row);
    __m256 x3 = samba__two_rows_avx2(x + 3 * row, row);
    __m256 low01 = _mm256_unpacklo_ps(x0, x1);
    __m256 low23 = _mm256_unpacklo_ps(x2, x3);
    __m256 high01 = _mm256_unpackhi_ps(x0, x1);
    __m256 high23 = _mm256_unpackhi_ps(x2, x3);
    v[0] = _mm256_shuffle_ps(low01, low23, 0x44);
    v[1] = _mm256_shuffle_ps(low01, low23, 0xee);
    v[2] = _mm256_shuffle_ps(high01, high23, 0x44);
    v[3] = _mm256_shuffle_ps(high01, high23, 0xee);
}
#endif
#undef SAMBA__SUFFIX
#undef SAMBA__NARROW_SUFFIX
#undef SAMBA__VEC_LANES
#undef SAMBA__MR
#undef SAMBA__NR
#undef SAMBA__MC
#undef SAMBA__KC
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#if SAMBA__X86 && !SAMBA__IS_SMALL
/* -- AVX-512F, the part that every processor with AVX-512 has. A template may leave it out where it
   gains nothing: then clang would warn that nothing has the attribute. -- */
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpragma-clang-attribute"
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#endif
#define SAMBA__SUFFIX _avx512
#define SAMBA__NARROW_SUFFIX _avx2
#define SAMBA__VEC_LANES 16
#define SAMBA__MR 12
#define SAMBA__NR 32
#define SAMBA__MC SAMBA_GEMM_MC
#define SAMBA__KC (4 * SAMBA_GEMM_KC)
#if SAMBA__TEMPLATE > 0
#include SAMBA_SELF
#else
typedef __m512 samba__vec;
typedef __mmask16 samba__mask;

SAMBA__KERNEL samba__vec samba__vec_set(float x)
{
    return _mm512_set1_ps(x);
}

SAMBA__KERNEL samba__vec samba__vec_load(const float *x)
{
    return _mm512_loadu_ps(x);
}

SAMBA__KERNEL void samba__vec_store(float *y, samba__vec v)
{
    _mm512_storeu_ps(y, v);
}

SAMBA__KERNEL samba__vec samba__vec_add(samba__vec a, samba__vec b)
{
    return _mm512_add_ps(a, b);
}

SAMBA__KERNEL samba__vec samba__vec_mul(samba__vec a, samba__vec b)
{
    return _mm512_mul_ps(a, b);
}

SAMBA__KERNEL samba__vec samba__vec_fma(samba__vec a, samba__vec b, samba__vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

SAMBA__KERNEL float samba__vec_sum(samba__vec v)
{
    __m256d high = _mm512_maskz_extractf64x4_pd(0xff, _mm512_castps_pd(v), 1);
    __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm256_castpd_ps(high));
    return samba__vec_sum_avx2(eight);
}

SAMBA__KERNEL samba__vec samba__vec_larger(samba__vec s, samba__vec x)
{
    __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(_mm512_maskz_max_ps(0xffff, x, s), is_nan,
                              _mm512_set1_ps(SAMBA__NAN));
}

SAMBA__KERNEL float samba__vec_largest(samba__vec v)
{
    __m256d high = _mm512_maskz_extractf64x4_pd(0xff, _mm512_castps_pd(v), 1);
    return samba__vec_largest_avx2(
        samba__vec_larger_avx2(_mm512_castps512_ps256(v), _mm256_castpd_ps(high)));
}

SAMBA__KERNEL samba__mask samba__mask_first(int64_t n)
{
    return (__mmask16)((1u << samba__min64(samba__max64(n, 0), 16)) - 1u);
}

SAMBA__KERNEL samba__vec samba__vec_only(samba__vec v, samba__mask mask)
{
    return _mm512_maskz_mov_ps(mask, v);
}

SAMBA__KERNEL samba__vec samba__vec_load_some(const float *x, bool whole, samba__mask mask)
{
    (void)whole;
    return _mm512_maskz_loadu_ps(mask, x);
}

SAMBA__KERNEL void samba__vec_store_some(float *y, bool whole, samba__mask mask, samba__vec v)
{
    (void)whole;
    _mm512_mask_storeu_ps(y, mask, v);
}

/* Instructions are asked for in their masked form, all lanes on, which compiles to the plain one:
   the plain functions of g++ warn of a value that is never set. */
#define SAMBA__ALL(kind, ...) _mm512_maskz_##kind(0xffff, __VA_ARGS__)

SAMBA__KERNEL samba__vec samba__vec_of_bf16(const uint8_t *x)
{
    __m256i h = _mm256_loadu_si256((const __m256i *)(const void *)x);
    return _mm512_castsi512_ps(SAMBA__ALL(slli_epi32, SAMBA__ALL(cvtepu16_epi32, h), 16));
}

SAMBA__KERNEL samba__vec samba__vec_of_int8(const uint8_t *x, samba__vec d)
{
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)x);
    return _mm512_mul_ps(SAMBA__ALL(cvtepi32_ps, SAMBA__ALL(cvtepi8_epi32, b)), d);
}

/* permutexvar looks the value up by the last 4 bits of each lane. */
SAMBA__KERNEL samba__vec samba__vec_of_int4(const uint8_t *x, bool high, samba__vec d)
{
    const __m512 less8 = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)x);
    __m512i n = SAMBA__ALL(cvtepu8_epi32, b);
    if (high) n = SAMBA__ALL(srli_epi32, n, 4);
    return _mm512_mul_ps(SAMBA__ALL(permutexvar_ps, n, less8), d);
}

typedef struct samba__four_avx512 {
    __m512 a, b, c, d;
} samba__four_avx512;

/* Each quarter of x0 ... x3 is a 4 x 4 square, and is transposed. Of one quarter, row by row:
       x0  a0 a1 a2 a3     low01   a0 b0 a1 b1      y.a  a0 b0 c0 d0
       x1  b0 b1 b2 b3     high01  a2 b2 a3 b3      y.b  a1 b1 c1 d1
       x2  c0 c1 c2 c3     low23   c0 d0 c1 d1      y.c  a2 b2 c2 d2
       x3  d0 d1 d2 d3     high23  c2 d2 c3 d3      y.d  a3 b3 c3 d3 */
SAMBA__KERNEL samba__four_avx512 samba__quarters_avx512(__m512 x0, __m512 x1, __m512 x2, __m512 x3)
{
    __m512 low01 = SAMBA__ALL(unpacklo_ps, x0, x1);
    __m512 high01 = SAMBA__ALL(unpackhi_ps, x0, x1);
    __m512 low23 = SAMBA__ALL(unpacklo_ps, x2, x3);
    __m512 high23 = SAMBA__ALL(unpackhi_ps, x2, x3);
    samba__four_avx512 y;
    y.a = SAMBA__ALL(shuffle_ps, low01, low23, 0x44);
    y.b = SAMBA__ALL(shuffle_ps, low01, low23, 0xee);
    y.c = SAMBA__ALL(shuffle_ps, high01, high23, 0x44);
    y.d = SAMBA__ALL(shuffle_ps, high01, high23, 0xee);
    return y;
}

/* Rows i, i + 4, i + 8 and i + 12 share a register. */
SAMBA__KERNEL __m512 samba__rows_avx512(const float *x, int64_t row)
{
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(x));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(x + 4 * row), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(x + 8 * row), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps(x + 12 * row), 3);
}

SAMBA__KERNEL void samba__vec_transpose(const float *x, int64_t row, samba__vec v[4])
{
    samba__four_avx512 y = samba__quarters_avx512(
        samba__rows_avx512(x, row), samba__rows_avx512(x + row, row),
        samba__rows_avx512(x + 2 * row, row), samba__rows_avx512(x + 3 * row, row));
    v[0] = y.a;
    v[1] = y.b;
    v[2] = y.c;
    v[3] = y.d;
}

/* Four whole rows: then quarter p of a, b, c, d is step 4 p, 4 p + 1, 4 p + 2, 4 p + 3 of them. */
SAMBA__KERNEL samba__four_avx512 samba__columns_avx512(const float *x, int64_t row)
{
    return samba__quarters_avx512(_mm512_loadu_ps(x), _mm512_loadu_ps(x + row),
                                  _mm512_loadu_ps(x + 2 * row), _mm512_loadu_ps(x + 3 * row));
}

/* Steps 0, 4, 8 and 12, of which x0 ... x3 have the quarters. */
SAMBA__KERNEL void samba__store_steps_avx512(float *y, int64_t row, __m512 x0, __m512 x1, __m512 x2,
                                             __m512 x3)
{
    __m512 low01 = SAMBA__ALL(shuffle_f32x4, x0, x1, 0x44);
    __m512 low23 = SAMBA__ALL(shuffle_f32x4, x2, x3, 0x44);
    __m512 high01 = SAMBA__ALL(shuffle_f32x4, x0, x1, 0xee);
    __m512 high23 = SAMBA__ALL(shuffle_f32x4, x2, x3, 0xee);
    _mm512_storeu_ps(y, SAMBA__ALL(shuffle_f32x4, low01, low23, 0x88));
    _mm512_storeu_ps(y + 4 * row, SAMBA__ALL(shuffle_f32x4, low01, low23, 0xdd));
    _mm512_storeu_ps(y + 8 * row, SAMBA__ALL(shuffle_f32x4, high01, high23, 0x88));
    _mm512_storeu_ps(y + 12 * row, SAMBA__ALL(shuffle_f32x4, high01, high23, 0xdd));
}

/* Of the 16 x 16 square, Xij is the 4 x 4 block in block row i and block column j; T is transposed.
       z0 of rows 0 ... 3     .a ... .d hold, row by row, X00T X01T X02T X03T
       z1 of rows 4 ... 7                                 X10T X11T X12T X13T
       z2, z3                                             X20T ...  X30T ...
   A step of y is a row of X0jT X1jT X2jT X3jT: quarter j of z0, z1, z2, z3 side by side.
   Each line of x is read once, as rows far apart evict each other from the cache. Inlined: a call
   would spill the sums that its caller has in registers, which made products of 1 to 4 rows 15 %
   slower. */
SAMBA__KERNEL void samba__square_transpose(const float *x, int64_t x_row, float *y, int64_t y_row)
{
    samba__four_avx512 z0 = samba__columns_avx512(x, x_row);
    samba__four_avx512 z1 = samba__columns_avx512(x + 4 * x_row, x_row);
    samba__four_avx512 z2 = samba__columns_avx512(x + 8 * x_row, x_row);
    samba__four_avx512 z3 = samba__columns_avx512(x + 12 * x_row, x_row);
    samba__store_steps_avx512(y, y_row, z0.a, z1.a, z2.a, z3.a);
    samba__store_steps_avx512(y + y_row, y_row, z0.b, z1.b, z2.b, z3.b);
    samba__store_steps_avx512(y + 2 * y_row, y_row, z0.c, z1.c, z2.c, z3.c);
    samba__store_steps_avx512(y + 3 * y_row, y_row, z0.d, z1.d, z2.d, z3.d);
}
#endif
#undef SAMBA__SUFFIX
#undef SAMBA__NARROW_SUFFIX
#undef SAMBA__VEC_LANES
#undef SAMBA__MR
#undef SAMBA__NR
#undef SAMBA__MC
#undef SAMBA__KC
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#endif
#endif

#if SAMBA__NEON
/* -- NEON: a register has 4 floats, a vector is two of them. gcc would load values so early that
   sums lose their registers: it must not reorder. -- */
#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-schedule-insns")
#endif
#define SAMBA__SUFFIX _neon
#define SAMBA__NARROW_SUFFIX _neon
#define SAMBA__VEC_LANES 8
#define SAMBA__MR 6
#define SAMBA__NR 16
#define SAMBA__MC SAMBA__GEMM_MC_NARROW
#define SAMBA__KC SAMBA_GEMM_KC
#if SAMBA__TEMPLATE > 0
#include SAMBA_SELF
#else
typedef struct samba__vec {
    float32x4_t lo, hi;
} samba__vec;

typedef int64_t samba__mask; /* how many lanes are on */

SAMBA__KERNEL samba__vec samba__pair_neon(float32x4_t lo, float32x4_t hi)
{
    samba__vec v = { lo, hi };
    return v;
}

SAMBA__KERNEL samba__vec samba__vec_set(float x)
{
    return samba__pair_neon(vdupq_n_f32(x), vdupq_n_f32(x));
}

SAMBA__KERNEL samba__vec samba__vec_load(const float *x)
{
    return samba__pair_neon(vld1q_f32(x), vld1q_f32(x + 4));
}

SAMBA__KERNEL void samba__vec_store(float *y, samba__vec v)
{
    vst1q_f32(y, v.lo);
    vst1q_f32(y + 4, v.hi);
}

SAMBA__KERNEL samba__vec samba__vec_add(samba__vec a, samba__vec b)
{
    return samba__pair_neon(vaddq_f32(a.lo, b.lo), vaddq_f32(a.hi, b.hi));
}

SAMBA__KERNEL samba__vec samba__vec_mul(samba__vec a, samba__vec b)
{
    return samba__pair_neon(vmulq_f32(a.lo, b.lo), vmulq_f32(a.hi, b.hi));
}

SAMBA__KERNEL samba__vec samba__vec_fma(samba__vec a, samba__vec b, samba__vec c)
{
    return samba__pair_neon(vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi));
}

SAMBA__KERNEL float samba__vec_sum(samba__vec v)
{
    float32x4_t four = vaddq_f32(v.lo, v.hi);
    float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

SAMBA__KERNEL float32x4_t samba__larger_neon(float32x4_t s, float32x4_t x)
{
    float32x4_t larger = vbslq_f32(vcgtq_f32(x, s), x, s);
    return vbslq_f32(vceqq_f32(x, x), larger, vdupq_n_f32(SAMBA__NAN));
}

SAMBA__KERNEL samba__vec samba__vec_larger(samba__vec s, samba__vec x)
{
    return samba__pair_neon(samba__larger_neon(s.lo, x.lo), samba__larger_neon(s.hi, x.hi));
}

SAMBA__KERNEL float samba__vec_largest(samba__vec v)
{
    float32x4_t four = samba__larger_neon(v.lo, v.hi);
    four = samba__larger_neon(four, vextq_f32(four, four, 2));
    four = samba__larger_neon(four, vextq_f32(four, four, 1));
    return vgetq_lane_f32(four, 0);
}

SAMBA__KERNEL samba__mask samba__mask_first(int64_t n)
{
    return n;
}

SAMBA__KERNEL samba__vec samba__vec_only(samba__vec v, samba__mask mask)
{
    float part[8];
    samba__vec_store(part, v);
    for (int j = 0; j < 8; j++)
        if (j >= mask) part[j] = 0.0f;
    return samba__vec_load(part);
}

SAMBA__KERNEL samba__vec samba__vec_load_some(const float *x, bool whole, samba__mask mask)
{
    float part[8] = { 0.0f };
    if (whole) return samba__vec_load(x);
    for (int j = 0; j < 8; j++)
        if (j < mask) part[j] = x[j];
    return samba__vec_load(part);
}

SAMBA__KERNEL void samba__vec_store_some(float *y, bool whole, samba__mask mask, samba__vec v)
{
    float part[8];
    if (whole) {
        samba__vec_store(y, v);
        return;
    }
    samba__vec_store(part, v);
    for (int j = 0; j < 8; j++)
        if (j < mask) y[j] = part[j];
}

SAMBA__KERNEL samba__vec samba__vec_of_bf16(const uint8_t *x)
{
    uint16x8_t h = vreinterpretq_u16_u8(vld1q_u8(x));
    return samba__pair_neon(vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(h), 16)),
                            vreinterpretq_f32_u32(vshll_n_u16(vget_high_u16(h), 16)));
}

SAMBA__KERNEL samba__vec samba__scaled_neon(uint8x8_t x, samba__vec d)
{
    int16x8_t n = vmovl_s8(vreinterpret_s8_u8(x));
    return samba__pair_neon(vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(n))), d.lo),
                            vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_high_s16(n))), d.hi));
}

SAMBA__KERNEL samba__vec samba__vec_of_int8(const uint8_t *x, samba__vec d)
{
    return samba__scaled_neon(vld1_u8(x), d);
}

SAMBA__KERNEL samba__vec samba__vec_of_int4(const uint8_t *x, bool high, samba__vec d)
{
    uint8x8_t b = vld1_u8(x);
    b = high ? vshr_n_u8(b, 4) : vand_u8(b, vdup_n_u8(15));
    return samba__scaled_neon(vsub_u8(b, vdup_n_u8(8)), d);
}

/* Two floats of a and two of b, of places 0 and 1, or 2 and 3. */
SAMBA__KERNEL float32x4_t samba__firsts_neon(float32x4_t a, float32x4_t b)
{
    return vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}

SAMBA__KERNEL float32x4_t samba__seconds_neon(float32x4_t a, float32x4_t b)
{
    return vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}

SAMBA__KERNEL void samba__square4_neon(const float *x, int64_t row, float32x4_t v[4])
{
    float32x4_t x0 = vld1q_f32(x), x1 = vld1q_f32(x + row);
    float32x4_t x2 = vld1q_f32(x + 2 * row), x3 = vld1q_f32(x + 3 * row);
    float32x4_t even01 = vtrn1q_f32(x0, x1), odd01 = vtrn2q_f32(x0, x1);
    float32x4_t even23 = vtrn1q_f32(x2, x3), odd23 = vtrn2q_f32(x2, x3);
    v[0] = samba__firsts_neon(even01, even23);
    v[1] = samba__firsts_neon(odd01, odd23);
    v[2] = samba__seconds_neon(even01, even23);
    v[3] = samba__seconds_neon(odd01, odd23);
}

SAMBA__KERNEL void samba__vec_transpose(const float *x, int64_t row, samba__vec v[4])
{
    float32x4_t lo[4], hi[4];
    samba__square4_neon(x, row, lo);
    samba__square4_neon(x + 4 * row, row, hi);
    for (int q = 0; q < 4; q++)
        v[q] = samba__pair_neon(lo[q], hi[q]);
}
#endif
#undef SAMBA__SUFFIX
#undef SAMBA__NARROW_SUFFIX
#undef SAMBA__VEC_LANES
#undef SAMBA__MR
#undef SAMBA__NR
#undef SAMBA__MC
#undef SAMBA__KC
#if !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
#endif /* the sets */
#if SAMBA__TEMPLATE == 0

/* Whether this processor has a set. No function of a set may run before that is known, so these
   are compiled for none. */
#define SAMBA__SET_WORKS(set, works) \
    SAMBA__FN bool samba__works_##set(void) \
    { \
        return works; \
    }
SAMBA__EACH_SET(SAMBA__SET_WORKS)

typedef struct samba__set {
    const char *name;
    bool (*works)(void);
} samba__set;

static const samba__set samba__sets[] = {
#define SAMBA__SET_ROW(set, ...) { #set, samba__works_##set },
    SAMBA__EACH_SET(SAMBA__SET_ROW)
};

/* The number of the last set that works here. */
SAMBA__FN int32_t samba__best_isa(void)
{
    int32_t set = (int32_t)(sizeof samba__sets / sizeof *samba__sets) - 1;
#if SAMBA__X86
    __builtin_cpu_init();
#endif
    while (!samba__sets[set].works())
        set--;
    return set;
}

/* ==== [packed-weights] ======================================================================== */
/* A program that only infers may keep the weights w (n,k) of a dense layer in the order in which a
   product reads them, so that they are streamed from memory once and need no packing, and in fewer
   bits, as reading them is what takes the time. They are cut into panels of 32 rows:

       w(j,p), which is B(p,j) of the product x w^T, is element [j / 32][p][j % 32]

   Types: f32; bf16; i8; and u8, two steps of k in a byte, the first one low, as 8 more than
   -8 ... 7. Integers are multiples of a bf16 scale, element [j / 32][p / 32][j % 32]: a row of
   w has one for each group of 32 steps. */
enum { SAMBA__PANEL = 32, SAMBA__GROUP = 32 };

/* Bytes between the steps of a panel, or the pairs of steps. */
SAMBA__FN int64_t samba__panel_row(samba_dtype type)
{
    return SAMBA__PANEL * (int64_t)samba_dtype_size(type);
}

/* dst[u][l] = B(p + u, j + l) for u < pc, l < width. Steps, or pairs of them, are `row` bytes
   apart; column j of the panel is first in q. */
SAMBA__INLINE void samba__unpack_any(float *SAMBA__RESTRICT dst, const uint8_t *q, int64_t row,
                                     const uint16_t *scale, samba_dtype type, int64_t p, int64_t pc,
                                     int64_t width)
{
    int64_t step = type == SAMBA_U8 ? 2 : 1;
    for (int64_t end = p + pc; p < end; p++, dst += width) {
        const uint16_t *d = scale ? scale + p / SAMBA__GROUP * SAMBA__PANEL : NULL;
        const uint8_t *x = q + p / step * row;
        unsigned shift = p % step ? 4 : 0;
        if (type == SAMBA_F32) {
            memcpy(dst, x, (size_t)width * 4);
        } else if (type == SAMBA_BF16) {
            for (int64_t l = 0; l < width; l++)
                dst[l] = samba__from_bf16(((const uint16_t *)(const void *)x)[l]);
        } else if (type == SAMBA_F16) {
            for (int64_t l = 0; l < width; l++)
                dst[l] = samba__from_f16(((const uint16_t *)(const void *)x)[l]);
        } else if (type == SAMBA_I8) {
            for (int64_t l = 0; l < width; l++)
                dst[l] = (float)((const int8_t *)x)[l] * samba__from_bf16(d[l]);
        } else {
            for (int64_t l = 0; l < width; l++)
                dst[l] = (float)((int32_t)(x[l] >> shift & 15u) - 8) * samba__from_bf16(d[l]);
        }
    }
}

/* Where column j is first in packed weights of k steps, and in their scales. */
SAMBA__INLINE const uint8_t *samba__packed_at(const void *packed, samba_dtype type, int64_t k,
                                              int64_t j)
{
    SAMBA_ASSERT(type != SAMBA_U8 || k % 2 == 0); /* a byte has two steps of k */
    int64_t steps = type == SAMBA_U8 ? k / 2 : k;
    return (const uint8_t *)packed + (j / SAMBA__PANEL * steps) * samba__panel_row(type)
        + j % SAMBA__PANEL * (int64_t)samba_dtype_size(type);
}

SAMBA__INLINE const uint16_t *samba__scale_at(const uint16_t *scale, int64_t k, int64_t j)
{
    int64_t row = j / SAMBA__PANEL * (k / SAMBA__GROUP);
    return scale ? scale + row * SAMBA__PANEL + j % SAMBA__PANEL : NULL;
}

enum { SAMBA__FAR = 4096 }; /* bytes ahead of integers; fewer of what is read sooner */

/* y = x w^T + bias, where x is one row of k values. */
typedef struct samba__packed_product {
    const float *x;
    const void *w;         /* packed weights (n,k) */
    const uint16_t *scale; /* of integers */
    samba_dtype type;
    int64_t k;
    const float *bias; /* or NULL */
    float *y;
} samba__packed_product;
#endif /* SAMBA__TEMPLATE == 0 */

/* ---- A template: how each set with vectors unpacks ------------------------------------------- */
#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_PACKED && defined(SAMBA__SUFFIX)
#if SAMBA__VEC_LANES > 1
#define samba__unpack SAMBA__OF_SET(samba__unpack)

/* Unpack for panels of this set. */
SAMBA__VECTORIZED SAMBA__FN void samba__unpack(float *dst, const uint8_t *q, int64_t row,
                                               const uint16_t *scale, samba_dtype type, int64_t p,
                                               int64_t pc)
{
    switch (type) {
    case SAMBA_F32:
        samba__unpack_any(dst, q, row, NULL, SAMBA_F32, p, pc, SAMBA__NR);
        break;
    case SAMBA_BF16:
        samba__unpack_any(dst, q, row, NULL, SAMBA_BF16, p, pc, SAMBA__NR);
        break;
    case SAMBA_F16:
        samba__unpack_any(dst, q, row, NULL, SAMBA_F16, p, pc, SAMBA__NR);
        break;
    case SAMBA_I8:
        samba__unpack_any(dst, q, row, scale, SAMBA_I8, p, pc, SAMBA__NR);
        break;
    default:
        samba__unpack_any(dst, q, row, scale, SAMBA_U8, p, pc, SAMBA__NR);
        break;
    }
}

#define samba__packed_vec SAMBA__OF_SET(samba__packed_vec)
#define samba__packed_scales SAMBA__OF_SET(samba__packed_scales)
#define samba__packed_panels SAMBA__OF_SET(samba__packed_panels)
#define samba__packed_row SAMBA__OF_SET(samba__packed_row)

/* A vector of weights of a type; d is the scale of integers. */
SAMBA__KERNEL samba__vec samba__packed_vec(const uint8_t *w, samba_dtype type, bool high,
                                           samba__vec d)
{
    if (type == SAMBA_F32) return samba__vec_load((const float *)(const void *)w);
    if (type == SAMBA_BF16) return samba__vec_of_bf16(w);
    if (type == SAMBA_I8) return samba__vec_of_int8(w, d);
    return samba__vec_of_int4(w, high, d);
}

/* The scales of a group of steps of one panel; those of the panel after the next come later. */
SAMBA__KERNEL void samba__packed_scales(const uint16_t *scale, int64_t k, samba__vec *d)
{
    SAMBA__UNROLLED
    for (int v = 0; v < SAMBA__PANEL / SAMBA__VEC_LANES; v++)
        d[v] = samba__vec_of_bf16((const uint8_t *)(scale + v * SAMBA__VEC_LANES));
    __builtin_prefetch(scale + 2 * k);
}

/* One row of A times two panels of packed weights: they go from memory into sums, in y. Integers
   are prefetched, with AVX-512 all: without prefetches Zen 3 streams two panels of floats at 31
   GB/s, with them at 25. */
SAMBA__KERNEL void samba__packed_panels(const samba__packed_product *s, float *y, int64_t j0,
                                        int64_t j1, samba_dtype type)
{
    enum { VECS = 2 * SAMBA__PANEL / SAMBA__VEC_LANES, HALF = VECS / 2 };

    const bool scaled = type == SAMBA_I8 || type == SAMBA_U8;
    const int64_t size = type == SAMBA_F32 ? 4 : 2 - (int)scaled;
    const int64_t step = type == SAMBA_U8 ? 2 : 1;
    const int64_t far = SAMBA__FAR / size, k = s->k, row = SAMBA__PANEL * size / step;
    const uint8_t *q0 = samba__packed_at(s->w, type, k, j0);
    const uint8_t *q1 = samba__packed_at(s->w, type, k, j1);
    const uint16_t *scale0 = samba__scale_at(s->scale, k, j0);
    const uint16_t *scale1 = samba__scale_at(s->scale, k, j1);
    samba__vec sum[VECS], d[VECS];
    SAMBA__UNROLLED
    for (int v = 0; v < VECS; v++) {
        sum[v] = samba__vec_set(0.0f);
        d[v] = sum[v];
    }
    for (int64_t p = 0; p < k;) {
        int64_t at = p / SAMBA__GROUP * SAMBA__PANEL, end = samba__min64(p + SAMBA__GROUP, k);
        int64_t ahead = p * row + far < k * row ? far : far + k * row; /* in the next pair */
        if (scaled) {
            samba__packed_scales(scale0 + at, k, d);
            samba__packed_scales(scale1 + at, k, d + HALF);
        }
        for (; p < end; p += step) {
            samba__vec x = samba__vec_set(s->x[p]);
            samba__vec z = step == 2 ? samba__vec_set(s->x[p + 1]) : x;
            if (SAMBA__VEC_LANES > 8 || scaled) {
                __builtin_prefetch(q0 + ahead);
                __builtin_prefetch(q1 + ahead);
            }
            if (SAMBA__VEC_LANES > 8 && size == 4) {
                SAMBA__PREFETCH(q0 + ahead + 64);
                SAMBA__PREFETCH(q1 + ahead + 64);
            }
            SAMBA__UNROLLED
            for (int v = 0; v < VECS; v++) {
                const uint8_t *w = (v < HALF ? q0 : q1) + v % HALF * SAMBA__VEC_LANES * size;
                sum[v] = samba__vec_fma(x, samba__packed_vec(w, type, false, d[v]), sum[v]);
                if (step == 2)
                    sum[v] = samba__vec_fma(z, samba__packed_vec(w, type, true, d[v]), sum[v]);
            }
            q0 += SAMBA__PANEL * size;
            q1 += SAMBA__PANEL * size;
        }
    }
    SAMBA__UNROLLED
    for (int v = 0; v < VECS; v++)
        samba__vec_store(y + v * SAMBA__VEC_LANES, sum[v]);
}

/* Columns [j0,j1) of a product, two panels at a time. */
SAMBA__FN void samba__packed_row(const samba__packed_product *s, int64_t j0, int64_t j1)
{
    float y[2 * SAMBA__PANEL];
    for (int64_t j = j0; j < j1; j += 2 * SAMBA__PANEL) {
        int64_t other = j + SAMBA__PANEL < j1 ? j + SAMBA__PANEL : j; /* any, past the last */
        int64_t n = samba__min64(2 * SAMBA__PANEL, j1 - j);
        if (s->type == SAMBA_F32)
            samba__packed_panels(s, y, j, other, SAMBA_F32);
        else if (s->type == SAMBA_BF16)
            samba__packed_panels(s, y, j, other, SAMBA_BF16);
        else if (s->type == SAMBA_I8)
            samba__packed_panels(s, y, j, other, SAMBA_I8);
        else
            samba__packed_panels(s, y, j, other, SAMBA_U8);
        for (int64_t l = 0; l < n; l++)
            s->y[j + l] = s->bias ? y[l] + s->bias[j + l] : y[l];
    }
}
#endif
#endif /* the template */

#if SAMBA__TEMPLATE == 0
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_PACKED
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

/* ==== [micro-kernel] ========================================================================== */
/* The inside of a product: a few rows of A times a few columns of B, the sums in registers. It has
   the names that BLIS gives to the parts (F. Van Zee, R. van de Geijn: BLIS, 2015):

       micro-panel  of B: NR columns of a block, packed so that the values of a step are adjacent:
                    a step is one or two cache lines, and the panel stays in the first-level cache
                    while it goes down the rows of a block; of A: MR rows, packed or where they are
       micro-tile   MR x NR sums in the vector registers: what the micro-kernel computes. 6 x 16 of
                    them with NEON and AVX2, 12 x 32 with AVX-512; fewer rows at the end of a block.
                    NR is two vectors

   A step is one value p of k: a column of A times a row of B. The loops, from the outside in:

       for each tile of C, by whichever thread is free
         for NC columns at a time
           for KC steps at a time, for MC rows of A at a time      a block
             for NR columns at a time                              pack a panel of B, or point at it
               for MR rows at a time                               the micro-kernel:
                 for each step: MR x NR multiply-adds

                        NR columns                      micro-panel of B, as it is packed:
                         <------>
          B  k  +---+---+--------+---+        p = 0     | b(0,j) b(0,j+1) ... b(0,j+NR-1) |
             |  |   |   | step p |   |        p = 1     | b(1,j) b(1,j+1) ... b(1,j+NR-1) |
             v  +---+---+--------+---+        ...                one step after the other
                                              p = KC-1  | b(KC-1,j)     ...               |
          A  k ->        C
          +--------+    +---+--------+---+    micro-panel of A, where it is packed:
       MR | step p |    |   |MR x NR |   |    a(i,0) ... a(i+MR-1,0) | a(i,1) ... a(i+MR-1,1) | ...
          +--------+    +---+--------+---+
          |        |    |   |        |   |    A step of the micro-kernel: two loads of B, and MR
          +--------+    +---+--------+---+    values of A, each times both: 2 MR fma's. */
/* The largest micro-tile. */
#define SAMBA__GEMM_ROWS (SAMBA__IS_SMALL ? 6 : 12)
#define SAMBA__GEMM_COLS (SAMBA__IS_SMALL ? 16 : 32)
/* Steps of k in a block (a multiple of 16; AVX-512 takes up to 4 times as many), most rows (a
   multiple of 12) and columns (a multiple of 32) of a tile: a panel should fit the first-level
   cache, sums and block of A the second. */
#if !defined(SAMBA_GEMM_KC)
#define SAMBA_GEMM_KC (SAMBA__IS_SMALL ? 32 : 256)
#endif
#if !defined(SAMBA_GEMM_MC)
#define SAMBA_GEMM_MC (SAMBA__IS_SMALL ? 12 : 384)
#endif
#ifndef SAMBA_GEMM_NC
#define SAMBA_GEMM_NC 512
#endif
typedef char samba__gemm_blocks_are_whole
    [SAMBA_GEMM_KC % 16 == 0 && SAMBA_GEMM_MC % 12 == 0 && SAMBA_GEMM_NC % 32 == 0 ? 1 : -1];

/* Rows of a block where panels are 16 columns wide: 252 x 256 floats of A are 252 KiB, half of a
   second-level cache of 512 KiB. A multiple of MR = 6. */
#define SAMBA__GEMM_MC_NARROW (SAMBA__IS_SMALL ? SAMBA_GEMM_MC : SAMBA_GEMM_MC / 9 * 6)

/* C[rows x cols] (+)= A[rows x kc] B[kc x cols], with cols <= NR, operands where the fields say.
   The halves of a panel, of NR / 2 columns, need not be beside each other, except for the portable
   set: so a convolution reads two rows of an image. */
typedef struct samba__panel_product {
    int64_t rows, cols, kc;
    int64_t cols_hi, b_hi, c_hi; /* columns of the second half, and where it is in B and C */
    /* Row r of the micro-panel that begins with row i, at step p, is a[i * a_next + r * a_row +
       p * a_col]; a_col is 0 where A is packed: then a step is as many values as the micro-panel
       has rows. */
    const float *a;
    int64_t a_next, a_row, a_col;
    const float *b; /* B(p,j) = b[p * b_row + j]; NR readable values at every p */
    int64_t b_row;
    int64_t b_next;      /* from here to what is read next; 0: not known */
    const int32_t *b_at; /* NULL, or B(p,j) = b[b_at[p] + j]; not for the portable set */
    const float *from;   /* NULL: the sums start from zero; or where they are up to now */
    float *c;
    int64_t from_row, c_row;
    const float *bias; /* NULL except in the last block of k */
    const float *row_bias;
    bool prefetch_a; /* A comes from memory: prefetch the next micro-panel */
} samba__panel_product;

/* What an instruction set does in its own way; NULL: there are no vectors for it. */
typedef struct samba__gemm_set {
    int32_t mr, nr; /* a micro-tile */
    int32_t mc, kc; /* most rows and steps of a block; kc where panels are kept */
    void (*multiply_panel)(const samba__panel_product *s);
    /* At most 4 rows, and B(p,j) = b[j * b_row + p]. */
    void (*multiply_skinny)(const samba__panel_product *s);
    /* dst[p * dst_row + j] = src[j * src_row + p] for whole vectors of j < jc, groups of 4 p < pc.
     */
    void (*transpose_panel)(const float *src, int64_t src_row, int64_t pc, int64_t jc, float *dst,
                            int64_t dst_row, int64_t ahead);
    void (*unpack)(float *dst, const uint8_t *q, int64_t row, const uint16_t *scale,
                   samba_dtype type, int64_t p, int64_t pc);
    /* One row times packed weights. */
    void (*packed_row)(const samba__packed_product *s, int64_t j0, int64_t j1);
} samba__gemm_set;

#define SAMBA__LINE_FLOATS 16 /* of a line of the cache */

enum { SAMBA__LINE = SAMBA__LINE_FLOATS, SAMBA__AHEAD = 4 * SAMBA__LINE };

/* How many of the rows that are left the next micro-tile takes. Of 16 it takes 8 and 8: 12 and 4
   would leave a tile with too few sums to hide the latency of multiply-adds. */
SAMBA__INLINE int64_t samba__micro_rows(int mr, int64_t left)
{
    if (mr == 12 && left >= 12 && left != 16) return 12;
    if (mr == 12 && left >= 8) return 8;
    return samba__min64(left, mr < 6 ? mr : 6);
}

/* Prefetch a cache line of each of some rows. */
SAMBA__KERNEL void samba__prefetch_rows(const float *src, int64_t src_row, int64_t rows)
{
    for (int64_t j = 0; j < rows; j++)
        SAMBA__PREFETCH(src + j * src_row);
}

#endif /* SAMBA__TEMPLATE == 0 */

/* ---- A template: the kernels of each set ------------------------------------------------------
 */
#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_GEMM && defined(SAMBA__SUFFIX)
#define samba__multiply_panel SAMBA__OF_SET(samba__multiply_panel)
#define samba__gemm_kernels SAMBA__OF_SET(samba__gemm_kernels)

#if SAMBA__VEC_LANES == 1
/* The portable one is the definition, 16 columns at a time. */
SAMBA__FN void samba__multiply_panel(const samba__panel_product *s)
{
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t r = i % SAMBA__MR, height = samba__micro_rows(SAMBA__MR, s->rows - i + r);
        int64_t a_col = s->a_col ? s->a_col : height;
        const float *a = s->a + (i - r) * s->a_next + r * s->a_row;
        const float *b = s->b;
        float *c = s->c + i * s->c_row;
        float acc[SAMBA__NR] = { 0.0f };
        if (s->from) memcpy(acc, s->from + i * s->from_row, (size_t)s->cols * sizeof(float));
        for (int64_t p = 0; p < s->kc; p++) {
            for (int j = 0; j < SAMBA__NR; j++)
                acc[j] = samba__fma(*a, b[j], acc[j]);
            a += a_col;
            b += s->b_row;
        }
        if (s->bias) {
            for (int64_t j = 0; j < s->cols; j++)
                acc[j] += s->bias[j];
        }
        if (s->row_bias) {
            for (int64_t j = 0; j < s->cols; j++)
                acc[j] += s->row_bias[i];
        }
        memcpy(c, acc, (size_t)s->cols * sizeof(float));
    }
}
#else
#define samba__edge SAMBA__OF_SET(samba__edge)
#define samba__sums_begin SAMBA__OF_SET(samba__sums_begin)
#define samba__sums_step SAMBA__OF_SET(samba__sums_step)
#define samba__sums_end SAMBA__OF_SET(samba__sums_end)
#define samba__micro_kernel SAMBA__OF_SET(samba__micro_kernel)
#define samba__transpose_line SAMBA__OF_SET(samba__transpose_line)
#define samba__transpose_panel SAMBA__OF_SET(samba__transpose_panel)
#define samba__skinny_kernel SAMBA__OF_SET(samba__skinny_kernel)
#define samba__multiply_skinny SAMBA__OF_SET(samba__multiply_skinny)

/* Which columns of the two vectors of a micro-tile exist, and how far the second is from the first
   in C. */
typedef struct samba__edge {
    bool whole;
    samba__mask lo, hi;
    int64_t c_hi;
} samba__edge;

/* The micro-kernel in short: acc, a micro-tile, stays in registers for the whole block. Each step
   loads one row of the panel of B, two vectors, and broadcasts one value of A after the other.
   Nothing is stored before the end. The functions below are inlined into it, where `rows` is a
   constant and `acc` is in registers, as long as the loops over rows are unrolled. */
SAMBA__KERNEL void samba__sums_begin(samba__vec acc[][2], int rows, const float *from,
                                     int64_t from_row, const samba__edge *e)
{
    SAMBA__UNROLLED
    for (int r = 0; r < rows; r++) {
        acc[r][0] = samba__vec_set(0.0f);
        acc[r][1] = samba__vec_set(0.0f);
        if (from) {
            const float *x = from + r * from_row;
            acc[r][0] = samba__vec_load_some(x, e->whole, e->lo);
            acc[r][1] = samba__vec_load_some(x + e->c_hi, e->whole, e->hi);
        }
    }
}

/* One step of k: a column of A times a row of B. x86 addresses are base + index x 1, 2, 4 or 8:
   with few multiples of a_row in registers, rows 0 to 5 are reached from a, and 6 to 11 from a6. */
SAMBA__KERNEL void samba__sums_step(samba__vec acc[][2], int rows, const float *a, const float *a6,
                                    int64_t a_row, const float *b, int64_t b_hi)
{
    samba__vec lo = samba__vec_load(b);
    samba__vec hi = samba__vec_load(b + b_hi);
    SAMBA__UNROLLED
    for (int r = 0; r < rows; r++) {
        samba__vec x = samba__vec_set((r < 6 ? a : a6)[r % 6 * a_row]);
        acc[r][0] = samba__vec_fma(x, lo, acc[r][0]);
        acc[r][1] = samba__vec_fma(x, hi, acc[r][1]);
    }
}

SAMBA__KERNEL void samba__sums_end(samba__vec acc[][2], int rows, const samba__panel_product *s,
                                   int64_t i, const samba__edge *e)
{
    float *c = s->c + i * s->c_row;
    if (s->bias) {
        samba__vec lo = samba__vec_load_some(s->bias, e->whole, e->lo);
        samba__vec hi = samba__vec_load_some(s->bias + SAMBA__VEC_LANES, e->whole, e->hi);
        SAMBA__UNROLLED
        for (int r = 0; r < rows; r++) {
            acc[r][0] = samba__vec_add(acc[r][0], lo);
            acc[r][1] = samba__vec_add(acc[r][1], hi);
        }
    }
    SAMBA__UNROLLED
    for (int r = 0; r < rows; r++) {
        if (s->row_bias) {
            samba__vec x = samba__vec_set(s->row_bias[i + r]);
            acc[r][0] = samba__vec_add(acc[r][0], x);
            acc[r][1] = samba__vec_add(acc[r][1], x);
        }
        samba__vec_store_some(c + r * s->c_row, e->whole, e->lo, acc[r][0]);
        samba__vec_store_some(c + r * s->c_row + e->c_hi, e->whole, e->hi, acc[r][1]);
    }
}

/* The micro-kernel: rows x 2 vectors of C, from row i on, (+)= a micro-panel of A times one of B.
   The next part of C is prefetched, and, if it comes from main memory, the next micro-panel of A.
 */
SAMBA__KERNEL void samba__micro_kernel(const samba__panel_product *s, const float *a, int64_t i,
                                       int rows, bool prefetch_a)
{
    const float *b = s->b, *a6 = a + 6 * s->a_row;
    const float *from = s->from ? s->from + i * s->from_row : NULL;
    const float *next = s->c + (i + 2 * rows <= s->rows ? i + rows : i) * s->c_row;
    const int32_t *at = s->b_at;
    const int64_t a_row = s->a_row, a_col = s->a_col ? s->a_col : rows, b_row = s->b_row;
    const int64_t b_hi = s->b_hi, next_a = rows * s->a_next;
    samba__vec acc[SAMBA__MR][2];
    samba__edge e;
    e.whole = s->cols == 2 * SAMBA__VEC_LANES;
    e.lo = samba__mask_first(s->cols - s->cols_hi);
    e.hi = samba__mask_first(s->cols_hi);
    e.c_hi = s->c_hi;
    samba__sums_begin(acc, rows, from, s->from_row, &e);
    SAMBA__UNROLLED
    for (int r = 0; r < rows; r++) {
        __builtin_prefetch(next + r * s->c_row, 1, 2);
        if (SAMBA__VEC_LANES > 8) __builtin_prefetch(next + r * s->c_row + e.c_hi, 1, 2);
    }
    if (at) {
        for (int64_t p = 0; p < s->kc; p++) {
            samba__sums_step(acc, rows, a, a6, a_row, b + at[p], b_hi);
            a += a_col;
            a6 += a_col;
        }
    } else {
        SAMBA__FOUR
        for (int64_t left = s->kc; left > 0; left--) {
            if (prefetch_a && left % 16 == 0) {
                SAMBA__UNROLLED
                for (int r = 0; r < rows; r++)
                    SAMBA__PREFETCH(a + next_a + r * a_row);
            }
            samba__sums_step(acc, rows, a, a6, a_row, b, b_hi);
            a += a_col;
            a6 += a_col;
            b += b_row;
        }
    }
    samba__sums_end(acc, rows, s, i, &e);
}

/* C (+)= A B, panel by panel of A. A case is a copy of the micro-kernel. */
SAMBA__FN void samba__multiply_panel(const samba__panel_product *s)
{
    int64_t height;
    for (int64_t i = 0; i < s->rows; i += height) {
        const float *a = s->a + i * s->a_next;
        height = samba__micro_rows(SAMBA__MR, s->rows - i);
        switch (height) {
#if SAMBA__MR == 12
        case 12:
            samba__micro_kernel(s, a, i, 12, false);
            break;
        case 8:
            samba__micro_kernel(s, a, i, 8, false);
            break;
        case 6:
            samba__micro_kernel(s, a, i, 6, false);
            break;
#elif SAMBA__MR == 6
        case 6:
            if (s->prefetch_a)
                samba__micro_kernel(s, a, i, 6, true);
            else
                samba__micro_kernel(s, a, i, 6, false);
            break;
#endif
#if SAMBA__MR > 4
        case 5:
            samba__micro_kernel(s, a, i, 5, false);
            break;
#endif
        case 4:
            samba__micro_kernel(s, a, i, 4, false);
            break;
        case 3:
            samba__micro_kernel(s, a, i, 3, false);
            break;
        case 2:
            samba__micro_kernel(s, a, i, 2, false);
            break;
        default:
            samba__micro_kernel(s, a, i, 1, false);
            break;
        }
    }
}

/* Transpose `some` steps (4, 8, 12 or 16) of as many columns as a vector has lanes. */
SAMBA__KERNEL void samba__transpose_line(const float *src, int64_t src_row, int64_t some,
                                         float *dst, int64_t dst_row)
{
#if SAMBA__VEC_LANES == SAMBA__LINE_FLOATS
    if (some == SAMBA__VEC_LANES) {
        samba__square_transpose(src, src_row, dst, dst_row);
        return;
    }
#endif
    for (int64_t q = 0; q < some; q += 4) {
        samba__vec v[4];
        samba__vec_transpose(src + q, src_row, v);
        samba__vec_store(dst + q * dst_row, v[0]);
        samba__vec_store(dst + (q + 1) * dst_row, v[1]);
        samba__vec_store(dst + (q + 2) * dst_row, v[2]);
        samba__vec_store(dst + (q + 3) * dst_row, v[3]);
    }
}

/* Pack jc stored rows of pc values as columns of a panel, whole groups of 4 steps and of a vector's
   columns. A line of the cache is taken of each row at once, as rows far apart evict each other
   from the first cache; what lies `ahead`, to be packed next, is prefetched. */
SAMBA__FN void samba__transpose_panel(const float *src, int64_t src_row, int64_t pc, int64_t jc,
                                      float *dst, int64_t dst_row, int64_t ahead)
{
    const int lanes = SAMBA__VEC_LANES;
    int64_t some;
    for (int64_t p = 0; p + 4 <= pc; p += some) {
        some = samba__min64(SAMBA__LINE, pc - pc % 4 - p);
        for (int64_t j = 0; j + lanes <= jc; j += lanes) {
            const float *from = src + j * src_row + p;
            float *to = dst + p * dst_row + j;
            samba__prefetch_rows(from + ahead, src_row, lanes);
            if (some == SAMBA__LINE)
                samba__transpose_line(from, src_row, SAMBA__LINE, to, dst_row);
            else
                samba__transpose_line(from, src_row, some, to, dst_row);
        }
    }
}

/* Up to 4 rows by whole panels of a B whose columns are contiguous, b(p,j) = b[j * b_row + p]: its
   values are used once, so a line of each column is transposed at a time, to a piece of a panel. */
SAMBA__KERNEL void samba__skinny_kernel(const samba__panel_product *s, int rows)
{
    enum { N = SAMBA__VEC_LANES };

    const float *a = s->a, *b = s->b;
    const int64_t far = samba__min64(SAMBA__AHEAD, s->kc);
    const int64_t over = s->b_next > 0 ? s->b_next + far - s->kc : 0; /* in the next panel */
    float piece[SAMBA__LINE * 2 * N];
    samba__vec acc[4][2];
    samba__edge e;
    e.whole = true;
    e.lo = samba__mask_first(N);
    e.hi = e.lo;
    e.c_hi = N;
    samba__sums_begin(acc, rows, s->from, s->from_row, &e);
    for (int64_t p = 0; p < s->kc; p += SAMBA__LINE) {
        int64_t some = samba__min64(SAMBA__LINE, s->kc - p);
        samba__prefetch_rows(b + (p + far < s->kc ? far : over), s->b_row, 2 * N);
        samba__transpose_line(b, s->b_row, some, piece, 2 * N);
        samba__transpose_line(b + N * s->b_row, s->b_row, some, piece + N, 2 * N);
        for (const float *at = piece; at < piece + some * 2 * N; at += 2 * N) {
            samba__sums_step(acc, rows, a, a, s->a_row, at, N);
            a++;
        }
        b += SAMBA__LINE;
    }
    samba__sums_end(acc, rows, s, 0, &e);
}

SAMBA__FN void samba__multiply_skinny(const samba__panel_product *s)
{
    switch (s->rows) {
    case 1:
        samba__skinny_kernel(s, 1);
        break;
    case 2:
        samba__skinny_kernel(s, 2);
        break;
    case 3:
        samba__skinny_kernel(s, 3);
        break;
    default:
        samba__skinny_kernel(s, 4);
        break;
    }
}

#endif

/* What [gemm] knows of the set. */
static const samba__gemm_set samba__gemm_kernels = {
#if SAMBA__VEC_LANES > 1
    SAMBA__MR,
    SAMBA__NR,
    SAMBA__MC,
    SAMBA__KC,
    samba__multiply_panel,
    samba__multiply_skinny,
    samba__transpose_panel,
    samba__unpack,
    samba__packed_row,
#else
    SAMBA__MR, SAMBA__NR, SAMBA__MC, SAMBA__KC, samba__multiply_panel, NULL, NULL, NULL, NULL,
#endif
};
#endif /* the template */

#if SAMBA__TEMPLATE == 0
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_GEMM
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

/* By the number of an instruction set. */
static const samba__gemm_set *const samba__gemm_sets[] = {
#define SAMBA__GEMM_ROW(set, ...) &samba__gemm_kernels_##set,
    SAMBA__EACH_SET(SAMBA__GEMM_ROW)
};

SAMBA__INLINE const samba__gemm_set *samba__gemm_set_of(int isa)
{
    return samba__gemm_sets[isa];
}

/* ==== [gemm] ================================================================================ */
/* Every dense layer, every attention score and every convolution ends here, so this chapter is
   fast; and every run must be repeatable, so it is exact about its arithmetic:

       acc = accumulate ? C(i,j) : 0;
       for (p = 0; p < k; p++) acc = fma(A(i,p), B(p,j), acc);
       C(i,j) = acc, plus bias(j) if given, plus row_bias(i) if given

   The order of k is never changed and no element's sum is ever split. All the speed comes from
   doing many elements side by side, which cannot change a bit: the naive loop, the portable
   path and those of NEON, AVX2 and AVX-512 agree exactly, whatever the tiling and the threads.

   How the work is cut, from the outside in; [micro-kernel] above is the inside:

       tile         a rectangle of C, the unit that threads share; tiles know nothing of each other
       block        KC steps of k, of MC rows of A and NC columns of B; between blocks, sums rest in
                    a buffer or in C
       micro-panel, micro-tile   what the micro-kernel takes of a block */
/* With at most so many rows of A the time goes into fetching B. Then blocks are one panel wide and
   so many steps long, and the next one is on its way while this one is computed: that made products
   of up to 24 rows twice as fast with AVX-512. */
enum { SAMBA__FEW_ROWS = 24, SAMBA__FEW_ROWS_KC = 64 };

/* With more, panels of B are kept in the second-level cache, beside so many rows of A: products of
   64 rows became 12 % faster with AVX2, large ones 4 %. */
enum { SAMBA__KEEP_ROWS = 96 };

/* Scratch that each thread lends to samba__gemm_run: one panel of B, one block of A, and the sums
   of a tile between blocks, which are neighbours there: rows of a wide C evict each other. */
#define SAMBA__GEMM_PANEL ((size_t)SAMBA_GEMM_KC * SAMBA__GEMM_COLS)
#define SAMBA__GEMM_SUMS (SAMBA__IS_SMALL ? 0 : (size_t)SAMBA_GEMM_MC * SAMBA_GEMM_NC)
#define SAMBA__GEMM_BLOCK ((size_t)SAMBA_GEMM_MC * SAMBA_GEMM_KC)
#define SAMBA__GEMM_LOCAL \
    ((SAMBA__GEMM_PANEL + SAMBA__GEMM_SUMS + SAMBA__GEMM_BLOCK) * sizeof(float))

/* One product. Strides say where elements are, so a transposed operand costs nothing to name. */
typedef struct samba__gemm {
    int64_t m, n, k;
    const float *a; /* A(i,p) = a[i * a_row + p * a_col] */
    int64_t a_row, a_col;
    const float *b; /* B(p,j) = b[p * b_row + j * b_col], of b_type: f32, bf16 or f16 */
    int64_t b_row, b_col;
    float *c; /* C(i,j) = c[i * c_row + j]; overlaps no operand */
    int64_t c_row;
    const float *bias;     /* NULL, or n values: one per column */
    const float *row_bias; /* NULL, or m values: one per row */
    bool accumulate;       /* add to C instead of overwriting it */
    bool transposed;       /* C(i,j) = c[j * c_row + i] instead */
    samba_dtype b_type;
    const void *packed;     /* B as packed weights, which may be of more types; NULL: b */
    const uint16_t *scale;  /* of int8 and int4 */
    const samba_args *args; /* whose epilogue, unless NULL, is told of each part that is ready */
} samba__gemm;

/* ---- packing ------------------------------------------------------------------------------- */
/* dst[p][j] = src[j][p] for p < pc and j < jc. What lies `ahead` of src is wanted next. */
SAMBA__FN void samba__transpose(const samba__gemm_set *set, const float *src, int64_t src_row,
                                int64_t pc, int64_t jc, float *dst, int64_t dst_row, int64_t ahead)
{
    int64_t p_done = 0, j_done = 0; /* this corner was filled by vectors */
    if (set->transpose_panel) {
        set->transpose_panel(src, src_row, pc, jc, dst, dst_row, ahead);
        p_done = pc - pc % 4;
        j_done = jc - jc % (set->nr / 2);
    }
    for (int64_t u = j_done < jc ? 0 : p_done; u < pc; u++)
        for (int64_t v = u < p_done ? j_done : 0; v < jc; v++)
            dst[u * dst_row + v] = src[v * src_row + u];
}

/* Pack rows [i, i + ic) and steps [p, p + pc) of an A whose columns are contiguous into
   micro-panels. Eight of them advance together, to use what a step brings into the cache. */
SAMBA__FN void samba__pack_a(const samba__gemm *g, int mr, int64_t i, int64_t ic, int64_t p,
                             int64_t pc, float *dst)
{
    for (int64_t first = 0, end = 0; first < ic; first = end) {
        for (int q = 0; q < 8; q++)
            end += samba__micro_rows(mr, ic - end);
        SAMBA_ASSERT(end > first && end <= ic); /* micro-panels cover the rows, one after another */
        for (int64_t u = 0; u < pc; u++) {
            const float *src = g->a + i + (p + u) * g->a_col;
            for (int64_t r = first; r < end; r += 16)
                SAMBA__PREFETCH(src + 8 * g->a_col + r);
            for (int64_t r = first, h; r < end; r += h) {
                h = samba__micro_rows(mr, ic - r);
                float *to = dst + r * pc + u * h;
                if (h == 12)
                    memcpy(to, src + r, 12 * sizeof(float));
                else if (h == 6)
                    memcpy(to, src + r, 6 * sizeof(float));
                else
                    memcpy(to, src + r, (size_t)h * sizeof(float));
            }
        }
    }
}

/* Points s at B(p.., j..) of packed weights: f32 as they lie, if panels of this set are as wide or
   rows are few; others unpacked in panel, unless they are there. */
SAMBA__FN void samba__open_packed(const samba__gemm_set *set, const samba__gemm *g, int64_t p,
                                  int64_t j, float *panel, bool there, samba__panel_product *s)
{
    const uint8_t *q = samba__packed_at(g->packed, g->b_type, g->k, j);
    const uint16_t *scale = samba__scale_at(g->scale, g->k, j);
    int64_t row = samba__panel_row(g->b_type);
    bool plain = g->b_type == SAMBA_F32 && (set->nr == SAMBA__PANEL || s->rows <= SAMBA__FEW_ROWS);
    s->b = plain ? (const float *)(const void *)q + p * SAMBA__PANEL : panel;
    s->b_row = plain ? SAMBA__PANEL : set->nr;
    if (plain || there) return;
    if (set->unpack)
        set->unpack(panel, q, row, scale, g->b_type, p, s->kc);
    else
        samba__unpack_any(panel, q, row, scale, g->b_type, p, s->kc, set->nr);
}

/* Rows of n <= NR values of a half type, `row` values apart, become rows of NR floats. */
SAMBA__FN void samba__widen(const samba__gemm_set *set, const uint16_t *src, int64_t row,
                            int64_t rows, int64_t n, samba_dtype type, float *dst, int64_t ahead)
{
    const uint8_t *q = (const uint8_t *)src;
    bool vectors = set->unpack && n == set->nr;
    int64_t some;
    for (int64_t r = 0; r < rows; r += some) {
        some = samba__min64(rows - r, 8);
        for (int64_t k = r; k < r + some; k++)
            SAMBA__PREFETCH(src + k * row + ahead);
        if (vectors) {
            set->unpack(dst, q + 2 * r * row, 2 * row, NULL, type, 0, some);
        } else {
            for (int64_t k = 0; k < some; k++)
                samba__load(dst + k * set->nr, src + (r + k) * row, type, n);
        }
        dst += some * set->nr;
    }
}

/* Pack columns of a B of a half type, whose element (0, 0) is src[0]. */
SAMBA__FN void samba__pack_halves(const samba__gemm_set *set, const samba__gemm *g,
                                  const uint16_t *src, int64_t pc, int64_t jc, float *dst,
                                  int64_t ahead)
{
    const int64_t nr = set->nr;
    float piece[SAMBA__GEMM_COLS * SAMBA__GEMM_COLS];
    int64_t n;
    if (g->b_row != 1) {
        samba__widen(set, src, g->b_row, pc, jc, g->b_type, dst, ahead);
        return;
    }
    for (int64_t u = 0; u < pc; u += n) {
        n = samba__min64(nr, pc - u);
        samba__widen(set, src + u, g->b_col, jc, n, g->b_type, piece, u + n < pc ? n : ahead - u);
        samba__transpose(set, piece, nr, n, jc, dst + u * nr, nr, 0);
    }
}

/* Pack B(p.., j..) into a micro-panel of pc steps, columns beyond jc zero. What lies `ahead` in B
   is prefetched. */
SAMBA__FN void samba__pack_b(const samba__gemm_set *set, const samba__gemm *g, int64_t p,
                             int64_t pc, int64_t j, int64_t jc, float *dst, int64_t ahead)
{
    const int64_t at = p * g->b_row + j * g->b_col, nr = set->nr;
    SAMBA_ASSERT(jc > 0 && jc <= nr && p + pc <= g->k);
    if (jc < nr) memset(dst, 0, (size_t)(pc * nr) * sizeof(float));
    if (g->b_type != SAMBA_F32) {
        samba__pack_halves(set, g, (const uint16_t *)(const void *)g->b + at, pc, jc, dst, ahead);
        return;
    }
    const float *src = g->b + at;
    if (g->b_row == 1) { /* as weights are stored, [out, in] */
        samba__transpose(set, src, g->b_col, pc, jc, dst, nr, ahead);
    } else if (g->b_col == 1 && jc == nr) {
        for (int64_t u = 0; u < pc; u++) {
            SAMBA__PREFETCH(src + ahead);
            SAMBA__PREFETCH(src + ahead + nr / 2);
            if (nr == 16)
                memcpy(dst, src, 16 * sizeof(float));
            else if (nr == 32)
                memcpy(dst, src, 32 * sizeof(float));
            else
                memcpy(dst, src, (size_t)nr * sizeof(float));
            src += g->b_row;
            dst += nr;
        }
    } else {
        for (int64_t u = 0; u < pc; u++)
            for (int64_t v = 0; v < jc; v++)
                dst[u * nr + v] = src[u * g->b_row + v * g->b_col];
    }
}

/* ---- tiles --------------------------------------------------------------------------------- */
/* How C is cut: into `down` x `across` tiles, each a whole number of the largest micro-tiles. */
typedef struct samba__grid {
    int64_t tall, wide; /* C in largest micro-tiles */
    int64_t down, across;
} samba__grid;

/* Few tiles mean little repeated packing, many mean that threads finish together. Eight tiles of
   equal size, or a multiple of eight, suit 2, 4 and 8 threads; but a tile of fewer than 2^17
   multiply-adds is hardly worth handing to a thread. Only the shape decides, never the threads. */
SAMBA__FN samba__grid samba__gemm_grid(int64_t m, int64_t n, int64_t k)
{
    int64_t worth = m * n / ((1 << 17) / (k + 1) + 1), wanted = 1;
    samba__grid t;
    while (wanted < 8 && wanted * 2 <= worth)
        wanted *= 2;
    t.tall = samba__ceil_div(m, SAMBA__GEMM_ROWS);
    t.wide = samba__ceil_div(n, SAMBA__GEMM_COLS);
    t.down = samba__ceil_div(m, SAMBA_GEMM_MC);
    t.across = samba__ceil_div(n, SAMBA_GEMM_NC);
    while (t.down * t.across < wanted && m > 0 && n > 0) {
        bool wide = n * t.down >= m * t.across; /* the longer side of a tile is halved */
        if (wide && t.across * 2 <= t.wide)
            t.across *= 2;
        else if (t.down * 2 <= t.tall)
            t.down *= 2;
        else
            break;
    }
    while (t.down * t.across % wanted != 0 && t.across < t.wide)
        t.across++;
    SAMBA_ASSERT(t.down <= t.tall && t.across <= t.wide); /* no tile is empty */
    return t;
}

/* The number of tiles: units of work that any threads may run in any order. */
SAMBA__FN int64_t samba__gemm_tiles(int64_t m, int64_t n, int64_t k)
{
    samba__grid t = samba__gemm_grid(m, n, k);
    return t.down * t.across;
}

/* How many tiles a thread takes at least: runs of them pack less; but each thread gets some. */
SAMBA__FN int64_t samba__tiles_at_once(int64_t tiles, const samba__pool *pool)
{
    return pool ? samba__min64(4, samba__ceil_div(tiles, pool->n_threads)) : tiles;
}

/* How much further on in B the next panel lies; 0 if that is not known. Panels follow each other,
   or, where a block is one panel wide, its steps do. */
SAMBA__INLINE int64_t samba__next_panel(const samba__gemm *g, int64_t p, int64_t kc, int64_t j,
                                        int64_t j1, int64_t width)
{
    bool single = j1 - j <= width;
    if (j + 2 * width <= j1) return width * g->b_col;
    if (single && p + 2 * kc <= g->k) return kc * g->b_row;
    return single && j + 2 * width <= g->n ? width * g->b_col - p * g->b_row : 0;
}

/* Whether B is transposed on the fly: up to 4 rows use its values once, so a panel is not worth
   writing. 10 to 50 % faster with AVX-512, 3 to 15 % with AVX2. */
SAMBA__INLINE bool samba__transposes_on_the_fly(const samba__gemm_set *set, const samba__gemm *g,
                                                int64_t cols, int64_t kc)
{
    return set->multiply_skinny && g->m <= 4 && g->a_col == 1 && g->b_row == 1 && !g->packed
        && g->b_type == SAMBA_F32 && kc % 4 == 0 && cols == SAMBA__GEMM_COLS;
}

/* ---- the plan ------------------------------------------------------------------------------ */
/* How a rectangle of C, any number of tiles, is computed. The plan follows from set, shapes and
   strides alone, so it is the same for any number of threads, and no plan changes a bit. */
typedef struct samba__gemm_plan {
    int64_t mc, nc, kc; /* most rows, columns and steps of a block */
    int64_t band;       /* rows after which panels of B are packed again */
    bool keeps;         /* panels of B are kept for all blocks of rows of a band; else a panel is
                           packed for each block anew, and sums rest in the buffer */
    bool few_rows;      /* blocks are one panel wide, of few steps */
} samba__gemm_plan;

/* Steps of k in a block. */
SAMBA__FN int64_t samba__plan_kc(const samba__gemm_set *set, const samba__gemm *g,
                                 const samba__gemm_plan *plan)
{
    int64_t k = samba__max64(g->k, 1); /* an empty sum still writes its start and biases */
    if (plan->few_rows && g->packed && g->b_type == SAMBA_F32) return k; /* read as it lies */
    /* Long blocks are for rows of A that are read where they are and do not share lines of a cache:
       half as many steps if A is transposed, or if its rows are a multiple of 4 KiB apart. */
    int64_t most = SAMBA_GEMM_KC;
    if (plan->keeps) {
        bool near = g->a_row > 1 && g->a_row % 1024;
        most = near ? set->kc : samba__max64(set->kc / 2, SAMBA_GEMM_KC);
    }
    most = samba__min64(most, plan->few_rows ? (int64_t)SAMBA__FEW_ROWS_KC : k);
    /* Blocks of equal length, a multiple of 8: the micro-kernel is unrolled. */
    return samba__ceil_div(samba__ceil_div(k, samba__ceil_div(k, most)), 8) * 8;
}

/* The plan of rows x cols of C. */
SAMBA__FN samba__gemm_plan samba__plan_gemm(const samba__gemm_set *set, const samba__gemm *g,
                                            int64_t rows, int64_t cols)
{
    const int64_t room = (int64_t)(SAMBA__GEMM_LOCAL / sizeof(float));
    samba__gemm_plan plan;
    plan.few_rows = g->a_col == 1 && g->m <= SAMBA__FEW_ROWS;
    /* Kept panels need room, at least for one, and pay if a second block of rows uses them. Where
       C is transposed, sums need the buffer that they would take. */
    bool fits = room / set->kc >= SAMBA__KEEP_ROWS + set->nr;
    bool again = rows > (g->k > SAMBA_GEMM_KC ? (int64_t)SAMBA__KEEP_ROWS : set->mc);
    plan.keeps = fits && again && !plan.few_rows && !g->transposed;
    plan.kc = samba__plan_kc(set, g, &plan);
    plan.mc = plan.keeps ? (int64_t)SAMBA__KEEP_ROWS : set->mc;
    plan.band = plan.keeps ? rows : set->mc;
    plan.nc = plan.few_rows ? SAMBA__GEMM_COLS : SAMBA_GEMM_NC;
    if (plan.keeps) { /* as many as there is room for, in parts of equal width */
        int64_t panels = samba__ceil_div(cols, set->nr);
        int64_t most = (room / plan.kc - SAMBA__KEEP_ROWS) / set->nr;
        plan.nc = samba__ceil_div(panels, samba__ceil_div(panels, most)) * set->nr;
    }
    return plan;
}

/* A block: rows [i0,i1), columns [j0,j1) and steps [p, p + kc). */
typedef struct samba__gemm_part {
    int64_t i0, i1, j0, j1, p, kc;
    bool kept; /* an earlier block has packed the panels of B */
} samba__gemm_part;

/* How a block gets at A and B. */
typedef enum samba__gemm_operand {
    SAMBA__OPERAND_DIRECT,     /* read where it is */
    SAMBA__OPERAND_PACKED,     /* packed into micro-panels */
    SAMBA__OPERAND_COPIED,     /* A: copied row by row, so that its rows are beside each other */
    SAMBA__OPERAND_WEIGHTS,    /* B: packed weights, unpacked unless floats of the right width */
    SAMBA__OPERAND_ON_THE_FLY, /* B: lines of its columns are transposed while it is used */
} samba__gemm_operand;

/* How a block is computed. */
typedef struct samba__block_plan {
    samba__gemm_operand a, b;
    bool last;       /* of the steps: biases are added now */
    bool from_sums;  /* earlier blocks of steps left their sums in the buffer */
    bool to_sums;    /* this one does */
    bool prefetch_a; /* the next micro-panel of A is prefetched */
} samba__block_plan;

/* A is read where it is, unless many columns repay a copy and caches cannot keep up. (What is done
   for each block is inline: blocks of few rows take half a microsecond, of which calls were 4 %.)
 */
SAMBA__INLINE samba__gemm_operand samba__plan_a(const samba__gemm_set *set, const samba__gemm *g,
                                                const samba__gemm_plan *plan,
                                                const samba__gemm_part *q)
{
    enum { PAGE = 1024 }; /* floats: rows so far apart share few lines of a cache */

    int64_t rows = q->i1 - q->i0, cols = q->j1 - q->j0;
    bool small = set->mr == 6;
    if (g->a_row == 1 && g->a_col != 1) {
        /* Transposed: each of its steps is on another page. With few columns, as in attention, a
           sixth of the time was packing; AVX-512 reads most of a line in each step, and minds only
           steps that evict each other. */
        bool few = cols * g->a_col <= 1 << 16;
        return !few && (small || g->a_col % PAGE == 0) ? SAMBA__OPERAND_PACKED
                                                       : SAMBA__OPERAND_DIRECT;
    }
    /* Row by row: rows that evict each other, and short parts of long rows, of which AVX2 reads
       but 6 at once, are copied if four panels and two micro-panels use them. */
    if (g->a_col != 1 || cols < 4 * set->nr || rows <= set->mr) return SAMBA__OPERAND_DIRECT;
    bool far = g->a_row % PAGE == 0 || (small && plan->keeps && g->a_row > 2 * q->kc);
    return far ? SAMBA__OPERAND_COPIED : SAMBA__OPERAND_DIRECT;
}

SAMBA__INLINE samba__gemm_operand samba__plan_b(const samba__gemm_set *set, const samba__gemm *g,
                                                const samba__gemm_plan *plan,
                                                const samba__gemm_part *q)
{
    int64_t cols = q->j1 - q->j0;
    if (g->packed) return SAMBA__OPERAND_WEIGHTS;
    if (samba__transposes_on_the_fly(set, g, cols, q->kc)) return SAMBA__OPERAND_ON_THE_FLY;
    bool adjacent = g->b_col == 1 && g->b_type == SAMBA_F32;
    bool few = q->i1 - q->i0 <= 2 * SAMBA__GEMM_ROWS; /* micro-tiles, too few to repay packing */
    return adjacent && few && !plan->keeps ? SAMBA__OPERAND_DIRECT : SAMBA__OPERAND_PACKED;
}

SAMBA__INLINE samba__block_plan samba__plan_block(const samba__gemm_set *set, const samba__gemm *g,
                                                  const samba__gemm_plan *plan,
                                                  const samba__gemm_part *q)
{
    bool buffer = SAMBA__GEMM_SUMS > 0 && !plan->keeps;
    samba__block_plan block;
    block.a = samba__plan_a(set, g, plan, q);
    block.b = samba__plan_b(set, g, plan, q);
    block.last = q->p + q->kc >= g->k;
    block.from_sums = buffer && q->p > 0;
    block.to_sums = buffer && (!block.last || g->transposed);
    /* Rows of A are those of weights, then, and come from memory. */
    block.prefetch_a = g->transposed && g->n <= SAMBA__FEW_ROWS && g->a_row % 1024 != 0;
    return block;
}

/* ---- running it ---------------------------------------------------------------------------- */
/* Points s at the rows of A, or at a copy of them in `packed`. */
SAMBA__INLINE void samba__open_a(const samba__gemm_set *set, const samba__gemm *g,
                                 const samba__gemm_part *q, samba__gemm_operand how, float *packed,
                                 samba__panel_product *s)
{
    const int64_t rows = q->i1 - q->i0, kc = q->kc;
    const float *a = g->a + q->i0 * g->a_row + q->p * g->a_col;
    s->a = a;
    s->a_next = g->a_row;
    s->a_row = g->a_row;
    s->a_col = g->a_col;
    if (how == SAMBA__OPERAND_DIRECT) return;
    s->a = packed;
    s->a_next = kc;
    if (how == SAMBA__OPERAND_PACKED) {
        s->a_col = 0; /* as the micro-panel is high */
        samba__pack_a(g, set->mr, q->i0, rows, q->p, kc, packed);
        return;
    }
    s->a_row = kc;
    for (int64_t i = 0; i < rows; i++) {
        if (i + 2 < rows) samba__prefetch_rows(a + (i + 2) * g->a_row, 16, kc / 16);
        memcpy(packed + i * kc, a + i * g->a_row, (size_t)kc * sizeof(float));
    }
}

/* Points s at columns j ... of B, or at their panel, which is packed unless it was kept. */
SAMBA__INLINE void samba__open_b(const samba__gemm_set *set, const samba__gemm *g,
                                 const samba__gemm_part *q, samba__gemm_operand how, int64_t j,
                                 float *panel, samba__panel_product *s)
{
    s->b_next = samba__next_panel(g, q->p, q->kc, j, q->j1, set->nr);
    s->b = panel;
    s->b_row = set->nr;
    if (how == SAMBA__OPERAND_WEIGHTS) {
        samba__open_packed(set, g, q->p, j, panel, q->kept, s);
    } else if (how == SAMBA__OPERAND_ON_THE_FLY) {
        s->b = g->b + j * g->b_col + q->p;
        s->b_row = g->b_col;
    } else if (how == SAMBA__OPERAND_DIRECT && s->cols == set->nr) { /* vectors read whole panels */
        s->b = g->b + q->p * g->b_row + j;
        s->b_row = g->b_row;
    } else if (!q->kept) {
        samba__pack_b(set, g, q->p, q->kc, j, s->cols, panel, s->b_next);
    }
}

/* Where the sums of a panel begin and end. */
SAMBA__INLINE void samba__open_c(const samba__gemm_set *set, const samba__gemm *g,
                                 const samba__gemm_part *q, const samba__block_plan *plan, float *c,
                                 float *sums, samba__panel_product *s)
{
    s->c = plan->to_sums ? sums : c;
    s->c_row = plan->to_sums ? set->nr : g->c_row;
    s->from = c;
    s->from_row = g->c_row;
    if (plan->from_sums) {
        s->from = sums;
        s->from_row = set->nr;
    } else if (q->p == 0 && !g->accumulate) {
        s->from = NULL;
    }
}

/* Panel by panel. In local: packed A; the panel, or all kept ones; sums. */
SAMBA__FN void samba__run_block(const samba__gemm_set *set, const samba__gemm *g,
                                const samba__gemm_plan *plan, const samba__gemm_part *q,
                                float *local)
{
    const samba__block_plan block = samba__plan_block(set, g, plan, q);
    const int64_t rows = q->i1 - q->i0;
    SAMBA_ASSERT(rows > 0 && rows <= plan->mc && q->p + q->kc <= g->k);
    float *panel = local + (plan->keeps ? (size_t)(plan->mc * q->kc) : SAMBA__GEMM_BLOCK);
    float *sums = panel + SAMBA__GEMM_PANEL; /* unless panels are kept */
    samba__panel_product s;
    s.rows = rows;
    s.kc = q->kc;
    s.b_at = NULL;
    s.b_hi = set->nr / 2;
    s.c_hi = set->nr / 2;
    s.prefetch_a = block.prefetch_a;
    s.row_bias = block.last && g->row_bias ? g->row_bias + q->i0 : NULL;
    samba__open_a(set, g, q, block.a, local, &s);
    for (int64_t j = q->j0; j < q->j1; j += set->nr) {
        float *c = g->c + (g->transposed ? j * g->c_row + q->i0 : q->i0 * g->c_row + j);
        s.cols = samba__min64(q->j1 - j, set->nr);
        SAMBA_ASSERT(s.cols > 0);
        s.cols_hi = samba__max64(s.cols - set->nr / 2, 0);
        s.bias = block.last && g->bias ? g->bias + j : NULL;
        SAMBA_ASSERT(block.b != SAMBA__OPERAND_PACKED
                     || (size_t)(panel - local + q->kc * set->nr)
                         <= SAMBA__GEMM_LOCAL / sizeof(float));
        samba__open_b(set, g, q, block.b, j, panel, &s);
        SAMBA_ASSERT(!(block.from_sums || block.to_sums)
                     || (size_t)(sums - local + set->nr * rows)
                         <= SAMBA__GEMM_LOCAL / sizeof(float));
        samba__open_c(set, g, q, &block, c, sums, &s);
        if (block.b == SAMBA__OPERAND_ON_THE_FLY)
            set->multiply_skinny(&s);
        else
            set->multiply_panel(&s);
        if (block.last && g->transposed)
            samba__transpose(set, sums, set->nr, s.cols, rows, c, g->c_row, 0);
        if (plan->keeps)
            panel += q->kc * set->nr;
        else
            sums += set->nr * rows;
    }
}

/* Run the fused consumer of this part of C now, while it is in the cache. */
SAMBA__FN void samba__gemm_epilogue(const samba__gemm *g, int64_t i0, int64_t i1, int64_t j0,
                                    int64_t j1)
{
    if (!g->args || !g->args->epilogue) return;
    const float *c = g->c + (g->transposed ? j0 * g->c_row + i0 : i0 * g->c_row + j0);
    int64_t m = i1 - i0, n = j1 - j0;
    g->args->epilogue(g->args, c, g->transposed ? n : m, g->transposed ? m : n, g->c_row);
}

/* Should C^T = B^T A^T be computed? x w^T with few x: then x is packed, and w read as it lies,
   which made linear layers of 28 to 128 rows 10 % faster. Not if a panel would be more than an
   eighth empty; not if w, beyond FEW_ROWS, is larger than caches: there its rows want to be
   packed. */
SAMBA__FN bool samba__better_transposed(const samba__gemm_set *set, const samba__gemm *g,
                                        int64_t rows, int64_t cols)
{
    int64_t filled = samba__ceil_div(rows, set->nr) * set->nr / 8 * 7;
    bool plain
        = !g->packed && g->b_type == SAMBA_F32 && !g->accumulate && !g->transposed && g->k > 0;
    bool linear = g->a_col == 1 && g->b_row == 1 && !(g->bias && g->row_bias);
    bool few = rows >= filled && rows <= 128 && 2 * rows <= cols;
    return SAMBA__GEMM_SUMS && plain && linear && few
        && (g->m <= SAMBA__FEW_ROWS || g->n * g->k <= 1 << 22);
}

/* C^T = B^T A^T */
SAMBA__FN samba__gemm samba__gemm_transposed(const samba__gemm *g)
{
    samba__gemm t = *g;
    t.m = g->n;
    t.a = g->b;
    t.a_row = g->b_col;
    t.row_bias = g->bias;
    t.transposed = true;
    t.n = g->m;
    t.b = g->a;
    t.b_col = g->a_row;
    t.bias = g->row_bias;
    return t;
}

/* Rows [i,i_end) and columns [j,j_end), which have the panels of B in common. */
SAMBA__FN void samba__run_band(const samba__gemm_set *set, const samba__gemm *g,
                               const samba__gemm_plan *plan, int64_t i, int64_t i_end, int64_t j,
                               int64_t j_end, float *local)
{
    const int64_t k = samba__max64(g->k, 1), fours = k - k % 4;
    int64_t step = plan->kc;
    /* Where B is transposed on the way, all steps are one block but the last ones, if 4 do not
       divide k. */
    if (fours > 0 && samba__transposes_on_the_fly(set, g, j_end - j, fours)) step = fours;
    SAMBA_ASSERT(step > 0);
    for (int64_t p = 0; p < k; p += step) {
        int64_t u_end;
        for (int64_t u = i; u < i_end; u = u_end) {
            u_end = samba__min64(u + plan->mc, i_end);
            samba__gemm_part q = { u, u_end, j, j_end, p, samba__min64(step, g->k - p), false };
            q.kept = plan->keeps && u > i;
            samba__run_block(set, g, plan, &q, local);
            if (p + step >= k) samba__gemm_epilogue(g, u, u_end, j, j_end);
        }
    }
}

/* Rows [i0,i1) and columns [j0,j1) of C, any number of tiles. */
SAMBA__FN void samba__gemm_rectangle(const samba__gemm_set *set, const samba__gemm *g, int64_t i0,
                                     int64_t i1, int64_t j0, int64_t j1, float *local)
{
    SAMBA_ASSERT(i0 >= 0 && i1 <= g->m && j0 >= 0 && j1 <= g->n);
    if (set->packed_row && g->m == 1 && g->packed && !g->accumulate && !g->row_bias) {
        samba__packed_product row;
        row.x = g->a;
        row.w = g->packed;
        row.scale = g->scale;
        row.type = g->b_type;
        row.k = g->k;
        row.bias = g->bias;
        row.y = g->c;
        set->packed_row(&row, j0, j1);
        samba__gemm_epilogue(g, 0, 1, j0, j1);
        return;
    }
    if (samba__better_transposed(set, g, i1 - i0, j1 - j0)) {
        SAMBA_ASSERT(!g->transposed);
        samba__gemm t = samba__gemm_transposed(g);
        samba__gemm_rectangle(set, &t, j0, j1, i0, i1, local); /* once: t is transposed */
        return;
    }
    const samba__gemm_plan plan = samba__plan_gemm(set, g, i1 - i0, j1 - j0);
    for (int64_t i = i0; i < i1; i += plan.band) {
        int64_t i_end = samba__min64(i + plan.band, i1);
        for (int64_t j = j0; j < j1; j += plan.nc)
            samba__run_band(set, g, &plan, i, i_end, j, samba__min64(j + plan.nc, j1), local);
    }
}

/* Compute tiles [begin,end). Tiles of a column follow each other where C is wide, those of a band
   where it is high, and a run of them is computed as few rectangles: threads with long runs pack
   less, and rather the smaller operand twice. local: SAMBA__GEMM_LOCAL bytes of each thread. */
SAMBA__FN void samba__gemm_run(const samba__gemm *g, int64_t begin, int64_t end, float *local,
                               int isa)
{
    const samba__gemm_set *set = samba__gemm_set_of(isa);
    samba__grid t = samba__gemm_grid(g->m, g->n, g->k);
    bool wide = g->m < g->n;
    int64_t each = wide ? t.down : t.across; /* tiles of a column, or of a band */
    for (int64_t next; begin < end; begin = next) {
        int64_t line = begin / each, first = begin % each, lines = 1, last;
        if (first == 0 && end - begin >= each) lines = (end - begin) / each;
        last = lines > 1 ? each : samba__min64(each, first + end - begin);
        next = begin + (lines > 1 ? lines * each : last - first);
        SAMBA_ASSERT(next > begin && next <= end);
        SAMBA_ASSERT(lines == 1 || first == 0); /* several lines of tiles are whole ones */
        int64_t down0 = wide ? first : line, down1 = wide ? last : line + lines;
        int64_t across0 = wide ? line : first, across1 = wide ? line + lines : last;
        int64_t i0 = t.tall * down0 / t.down * SAMBA__GEMM_ROWS;
        int64_t i1 = samba__min64(t.tall * down1 / t.down * SAMBA__GEMM_ROWS, g->m);
        int64_t j0 = t.wide * across0 / t.across * SAMBA__GEMM_COLS;
        int64_t j1 = samba__min64(t.wide * across1 / t.across * SAMBA__GEMM_COLS, g->n);
        SAMBA_ASSERT(i0 < i1 && j0 < j1);
        samba__gemm_rectangle(set, g, i0, i1, j0, j1, local);
    }
}

/* ==== [op-table] ============================================================================== */
/* The list of ops: a row for each, from which enums, prototypes of kernels, the table of [op-rows]
   and the names in tools are made; then what the shape rules and kernels of all ops share. */

/* Builders record or compute through this seam, which [record] defines; the device half has none.
 */
#if defined(SAMBA_RUNTIME_ONLY)
#define samba__emit(s, op, in, n_in, attr, n_attr, outs) \
    ((void)(s), (void)(op), (void)(in), (void)(attr), (void)(n_attr), (samba_tensor *)NULL)
#define SAMBA__FAIL(list) ((void)0)
#define SAMBA__WARN(list) ((void)0)
#else
static samba_tensor *samba__emit(samba_session *s, int32_t op, samba_tensor *const *in,
                                 int32_t n_in, const int32_t *attr, int32_t n_attr,
                                 samba_tensor **outs);
static void samba__warn(samba_session *s, const char *fmt, ...);
#define SAMBA__FAIL(list) samba_fail list
#define SAMBA__WARN(list) samba__warn list
#endif
SAMBA__FN samba_tensor *samba__emit1(int32_t op, samba_tensor *x, const int32_t *attr,
                                     int32_t n_attr)
{
    return x ? samba__emit(x->session, op, &x, 1, attr, n_attr, NULL) : NULL;
}

SAMBA__FN samba_tensor *samba__emit2(int32_t op, samba_tensor *a, samba_tensor *b,
                                     const int32_t *attr, int32_t n_attr)
{
    samba_tensor *in[2] = { a, b };
    return a ? samba__emit(a->session, op, in, 2, attr, n_attr, NULL) : NULL;
}

SAMBA__FN samba_tensor *samba__emit3(int32_t op, samba_tensor *a, samba_tensor *b, samba_tensor *c,
                                     const int32_t *attr, int32_t n_attr)
{
    samba_tensor *in[3] = { a, b, c };
    return a ? samba__emit(a->session, op, in, 3, attr, n_attr, NULL) : NULL;
}

/* Attributes of ops: lists of them, which rows of the table name. Each attribute has a name, how
   many words it takes, 0 for as many as there are, and how it is printed, as samba_op.attributes
   says. An op that has fewer words than its family has the first ones; those of slice, and of pad
   without its value, come once for each dimension. */
/* clang-format off */
#define SAMBA__ATTRIBUTES_NONE(A)
#define SAMBA__ATTRIBUTES_SLOPE(A) \
    A(SLOPE_VALUE,           1, "slope:f")
#define SAMBA__ATTRIBUTES_SCALE(A) \
    A(SCALE_FACTOR,          1, "factor:f")
#define SAMBA__ATTRIBUTES_SHIFT(A) \
    A(SHIFT_TERM,            1, "term:f")
#define SAMBA__ATTRIBUTES_FULL(A) \
    A(FULL_VALUE,            1, "value:f") \
    A(FULL_SHAPE,            0, " shape:i*")
#define SAMBA__ATTRIBUTES_CAST(A) \
    A(CAST_TYPE,             1, "type:t")
#define SAMBA__ATTRIBUTES_DROPOUT(A) \
    A(DROPOUT_KEY,           2, "key:x2")
#define SAMBA__ATTRIBUTES_COUNT(A) \
    A(COUNT_TRAINING_ONLY,   1, "training_only:b")
#define SAMBA__ATTRIBUTES_ACCUMULATE(A) \
    A(ACCUMULATE_ANEW,       1, "anew:b")
#define SAMBA__ATTRIBUTES_REDUCE(A) \
    A(REDUCE_AXES,             1, "axes:m") \
    A(REDUCE_KEEPDIM,          1, " keepdim:b")
#define SAMBA__ATTRIBUTES_ARGMAX(A) \
    A(ARGMAX_AXIS,           1, "axis:i") \
    A(ARGMAX_KEEPDIM,        1, " keepdim:b")
#define SAMBA__ATTRIBUTES_MATMUL(A) \
    A(MATMUL_TRANSPOSE_A,    1, "transpose_a:b") \
    A(MATMUL_TRANSPOSE_B,    1, " transpose_b:b")
#define SAMBA__ATTRIBUTES_PACKED(A) \
    A(PACKED_ROWS,           1, "rows:i") \
    A(PACKED_COLUMNS,        1, " columns:i")
#define SAMBA__ATTRIBUTES_SHAPE(A) \
    A(SHAPE_DIMS,            0, "shape:i*")
#define SAMBA__ATTRIBUTES_PERMUTE(A) \
    A(PERMUTE_AXES,          0, "axes:i*")
#define SAMBA__ATTRIBUTES_SLICE(A) \
    A(SLICE_BEGIN,           1, "begin,") \
    A(SLICE_STOP,            1, "end,") \
    A(SLICE_STEP,            1, "step:i*")
#define SAMBA__ATTRIBUTES_PAD(A) \
    A(PAD_BEFORE,            1, "before,") \
    A(PAD_AFTER,             1, "after,") \
    A(PAD_BETWEEN,           1, "between:i*") \
    A(PAD_VALUE,             1, " value:f")
#define SAMBA__ATTRIBUTES_AXIS(A) \
    A(AXIS_NUMBER,           1, "axis:i")
#define SAMBA__ATTRIBUTES_GATHER(A) \
    A(GATHER_AXIS,           1, "axis:i") \
    A(GATHER_SHAPE,          0, " shape:i*")
#define SAMBA__ATTRIBUTES_SGD(A) \
    A(SGD_DAMPENING,         1, "dampening:f") \
    A(SGD_NESTEROV,          1, " nesterov:b") \
    A(SGD_KEY,               0, " key:x*")
#define SAMBA__ATTRIBUTES_ADAMW(A) \
    A(ADAMW_DECOUPLED,       1, "decoupled:b") \
    A(ADAMW_KEY,             0, " key:x*")
#define SAMBA__ATTRIBUTES_CONV(A) \
    A(CONV_STRIDE,           2, "stride:i2") \
    A(CONV_PADDING,          2, " padding:i2") \
    A(CONV_DILATION,         2, " dilation:i2") \
    A(CONV_GROUPS,           1, " groups:i") \
    A(CONV_SIZE,             2, " size:i2")
#define SAMBA__ATTRIBUTES_MAX_POOL(A) \
    A(POOL_KERNEL,           2, "kernel:i2") \
    A(POOL_STRIDE,           2, " stride:i2") \
    A(POOL_PADDING,          2, " padding:i2") \
    A(POOL_CEIL_MODE,        1, " ceil_mode:b") \
    A(POOL_SIZE,             0, " size:i*")
#define SAMBA__ATTRIBUTES_AVG_POOL(A) \
    A(AVG_KERNEL,             2, "kernel:i2") \
    A(AVG_STRIDE,             2, " stride:i2") \
    A(AVG_PADDING,            2, " padding:i2") \
    A(AVG_CEIL_MODE,          1, " ceil_mode:b") \
    A(AVG_EXCLUDE_PADDING,    1, " exclude_padding:b") \
    A(AVG_SIZE,               0, " size:i*")
#define SAMBA__ATTRIBUTES_AVG_TO(A) \
    A(AVG_TO,                 2, "to:i2") \
    A(AVG_TO_SIZE,            0, " size:i*")
#define SAMBA__ATTRIBUTES_BATCH_NORM(A) \
    A(BATCH_NORM_MOMENTUM,   1, "momentum:f") \
    A(BATCH_NORM_EPS,        1, " eps:f")
#define SAMBA__ATTRIBUTES_NORM(A) \
    A(NORM_EPS,              1, "eps:f") \
    A(NORM_AFFINE,           1, " affine:b")
#define SAMBA__ATTRIBUTES_LOSS(A) \
    A(LOSS_REDUCTION,        1, "reduction:i") \
    A(LOSS_IGNORE,           1, " ignore_index:i") \
    A(LOSS_SMOOTHING,        1, " label_smoothing:f")
#define SAMBA__ATTRIBUTES_NLL(A) \
    A(NLL_REDUCTION,         1, "reduction:i") \
    A(NLL_IGNORE,            1, " ignore_index:i") \
    A(NLL_CLASSES,           1, " classes:i")
#define SAMBA__ATTRIBUTES_TABLE(A) \
    A(TABLE_ROWS,            1, "rows:i")
#define SAMBA__ATTRIBUTES_ATTENTION(A) \
    A(ATTENTION_CAUSAL,      1, "causal:b") \
    A(ATTENTION_SCALE,       1, " scale:f") \
    A(ATTENTION_KEY,         2, " key:x2")
/* clang-format on */

/* Where an attribute begins: SAMBA__CONV_STRIDE ...; SAMBA__CONV_END is behind the last one. */
#define SAMBA__ATTRIBUTE_AT(name, words, text) \
    SAMBA__##name, SAMBA__##name##_LAST = SAMBA__##name + (words)-1,
#define SAMBA__ATTRIBUTE_TEXT(name, words, text) text
#define SAMBA__ATTRIBUTES_AT(family) \
    enum { SAMBA__ATTRIBUTES_##family(SAMBA__ATTRIBUTE_AT) SAMBA__##family##_END };
SAMBA__ATTRIBUTES_AT(NONE)
SAMBA__ATTRIBUTES_AT(SLOPE)
SAMBA__ATTRIBUTES_AT(SCALE)
SAMBA__ATTRIBUTES_AT(SHIFT)
SAMBA__ATTRIBUTES_AT(FULL)
SAMBA__ATTRIBUTES_AT(CAST)
SAMBA__ATTRIBUTES_AT(DROPOUT)
SAMBA__ATTRIBUTES_AT(COUNT)
SAMBA__ATTRIBUTES_AT(ACCUMULATE)
SAMBA__ATTRIBUTES_AT(REDUCE)
SAMBA__ATTRIBUTES_AT(ARGMAX)
SAMBA__ATTRIBUTES_AT(MATMUL)
SAMBA__ATTRIBUTES_AT(PACKED)
SAMBA__ATTRIBUTES_AT(SHAPE)
SAMBA__ATTRIBUTES_AT(PERMUTE)
SAMBA__ATTRIBUTES_AT(SLICE)
SAMBA__ATTRIBUTES_AT(PAD)
SAMBA__ATTRIBUTES_AT(AXIS)
SAMBA__ATTRIBUTES_AT(GATHER)
SAMBA__ATTRIBUTES_AT(SGD)
SAMBA__ATTRIBUTES_AT(ADAMW)
SAMBA__ATTRIBUTES_AT(CONV)
SAMBA__ATTRIBUTES_AT(MAX_POOL)
SAMBA__ATTRIBUTES_AT(AVG_POOL)
SAMBA__ATTRIBUTES_AT(AVG_TO)
SAMBA__ATTRIBUTES_AT(BATCH_NORM)
SAMBA__ATTRIBUTES_AT(NORM)
SAMBA__ATTRIBUTES_AT(LOSS)
SAMBA__ATTRIBUTES_AT(NLL)
SAMBA__ATTRIBUTES_AT(TABLE)
SAMBA__ATTRIBUTES_AT(ATTENTION)

/* The key of a stream of random numbers as two words. */
enum { SAMBA__KEY_WORDS = 2 };

SAMBA__FN void samba__put_key(int32_t *word, uint64_t key)
{
    word[0] = (int32_t)(uint32_t)(key >> 32);
    word[1] = (int32_t)(uint32_t)key;
}

/* Words that slice and pad have for each dimension. */
enum { SAMBA__SLICE_WORDS = SAMBA__SLICE_END, SAMBA__PAD_WORDS = SAMBA__PAD_VALUE };

/* Inputs of ops that have many. The last ones may be absent, those of dropout together. */
enum { SAMBA__AFFINE_X, SAMBA__AFFINE_WEIGHT, SAMBA__AFFINE_BIAS, SAMBA__AFFINE_INPUTS };

enum {
    SAMBA__AFFINE_PACKED_X,
    SAMBA__AFFINE_PACKED_WEIGHT,
    SAMBA__AFFINE_PACKED_SCALE, /* of groups of weights */
    SAMBA__AFFINE_PACKED_BIAS,
    SAMBA__AFFINE_PACKED_INPUTS
};

enum {
    SAMBA__LOOKUP_IDS,
    SAMBA__LOOKUP_WEIGHT,
    SAMBA__LOOKUP_PACKED_SCALE,
    SAMBA__LOOKUP_PACKED_INPUTS
};

enum { SAMBA__WRITE_ROWS_CACHE, SAMBA__WRITE_ROWS_X, SAMBA__WRITE_ROWS_ROW };

/* The sum that is added to follows the inputs of the op that makes the addend. */
enum { SAMBA__ACCUMULATE_SUM = 2, SAMBA__ACCUMULATE_INPUTS };

enum {
    SAMBA__DROPOUT_X,
    SAMBA__DROPOUT_RATE, /* then seed and counter */
    SAMBA__DROPOUT_SEED,
    SAMBA__DROPOUT_COUNTER,
    SAMBA__DROPOUT_INPUTS
};

enum {
    SAMBA__BATCH_NORM_X,
    SAMBA__BATCH_NORM_WEIGHT,
    SAMBA__BATCH_NORM_BIAS,
    SAMBA__BATCH_NORM_MEAN,
    SAMBA__BATCH_NORM_VARIANCE,
    SAMBA__BATCH_NORM_INPUTS,
    SAMBA__BATCH_BACKWARD_DY = 0,
    SAMBA__BATCH_BACKWARD_X,
    SAMBA__BATCH_BACKWARD_WEIGHT
};

enum {
    SAMBA__ATTENTION_Q, /* then k and v */
    SAMBA__ATTENTION_MASK = 3,
    SAMBA__ATTENTION_RATE, /* as of dropout */
    SAMBA__ATTENTION_INPUTS = 7,
    SAMBA__ATTENTION_BACKWARD_DY = 0,
    SAMBA__ATTENTION_BACKWARD_Q, /* then k and v */
    SAMBA__ATTENTION_BACKWARD_Y = 4,
    SAMBA__ATTENTION_BACKWARD_LSE,
    SAMBA__ATTENTION_BACKWARD_MASK,
    SAMBA__ATTENTION_BACKWARD_DLSE,
    SAMBA__ATTENTION_BACKWARD_RATE,
    SAMBA__ATTENTION_BACKWARD_INPUTS = 11
};

/* What an op is to the parts that treat kinds of ops alike. */
typedef enum samba__class {
    SAMBA__IS_OTHER,       /* and ops of users */
    SAMBA__IS_ELEMENTWISE, /* a row MAP: may be fused with others */
    SAMBA__IS_MOVES,       /* moves values as they are, makes or converts them; any type */
    SAMBA__IS_REDUCTION,
    SAMBA__IS_PRODUCT, /* its inputs are rounded by GraphAMP */
    SAMBA__IS_LOSS,
    SAMBA__IS_UPDATE, /* overwrites an input */
    SAMBA__IS_STEP    /* the same, and a unit makes one element of every output */
} samba__class;

/* What happens to the gradient of an op in the backward pass. A RULE is a function of the op's
   block, samba__NAME_vjp. ZERO: the op is piecewise constant or has no float input, so nothing
   flows through it. NONE: it is not offered, mostly because the op is itself a gradient. */
#define SAMBA__GRADIENT_RULE(name) samba__##name##_vjp
#define SAMBA__GRADIENT_ZERO(name) samba__zero_vjp
#define SAMBA__GRADIENT_NONE(name) NULL

/* What an op does to the rows of a batch, and in which function of [microbatches] that is worked
   out: where a batch runs in parts, its result has to be put together from those of the parts. */
/* clang-format off */
#define SAMBA__SPREAD_RULES(X) \
    X(UNKNOWN, unknown)        /* rows if they seem to be in the first dimension */ \
    X(SAME, same)              /* the same for every part */ \
    X(FUNCTION, elementwise)   /* elementwise: any function of its operands */ \
    X(ADDS, elementwise)       /* ... linear in all operands together */ \
    X(MULTIPLIES, elementwise) /* ... linear in each operand */ \
    X(DIVIDES, elementwise)    /* ... linear in the first operand */ \
    X(CHOOSES, elementwise)    /* ... one of two operands, as the first says */ \
    X(SHIFTS, elementwise)     /* ... adds a number */ \
    X(CASTS, elementwise)      /* ... converts; linear between floats */ \
    X(DROPS, elementwise)      /* ... of the first operand only */ \
    X(SUM, reduced)            /* reductions: over rows, or within them */ \
    X(MEAN, reduced) \
    X(SQUARES, reduced) \
    X(REDUCE, reduced) \
    X(ARGMAX, reduced) \
    X(RESHAPE, reshaped) \
    X(PERMUTE, permuted) \
    X(EXPAND, expanded) \
    X(PAD, padded) \
    X(SLICE, slice) \
    X(CAT, cat) \
    X(MATMUL, product) \
    X(AFFINE, affine) \
    X(IMAGES, images)   /* works on images: only the first dimension counts rows */ \
    X(PLANES, planes)   /* works on planes: all dimensions but the last two may */ \
    X(VECTORS, vectors) /* works on vectors: all but the last may */ \
    X(LOSS, loss) \
    X(LOOKUP, lookup) \
    X(ATTENTION, attention)

typedef enum samba__spread_rule {
#define X(rule, function) SAMBA__SPREAD_##rule,
    SAMBA__SPREAD_RULES(X)
#undef X
    SAMBA__N_SPREAD_RULES
} samba__spread_rule;

/* The table of ops. Wire numbers are written into PEF files: never change or reuse one. Each row
   has the wire number, what happens to the gradient, the SAMBA__SPREAD_RULES, the name, and
     MAP    elementwise: number of inputs, the value (of a, b, c and attributes p[]), flops per
            element, list of attributes; BOOL if the value is a truth, else F32
     CURVE  the same, where the value takes so many steps that operations are interleaved
     OP     samba__class, list of attributes, flops per output element, flags, and whose shape rule
            and work it has; everything else is its own
     FAST   the same, with a kernel for each instruction set, as its loops gain by wide vectors
     FAMILY the same for ops that differ in little: an op family shares the functions NAME_rule,
            NAME_work and NAME_run, compiled once, and a run-time argument says which op is meant
   A row makes the enum, names, kernels and a row of samba__op_table; it needs its op's block. */
#define SAMBA__OPS(MAP, CURVE, OP, FAST, FAMILY) \
    MAP(0x0101, RULE, ADDS,       add,        2, a + b,                     1, NONE, F32) \
    MAP(0x0102, RULE, ADDS,       sub,        2, a - b,                     1, NONE, F32) \
    MAP(0x0103, RULE, MULTIPLIES, mul,        2, a * b,                     1, NONE, F32) \
    MAP(0x0104, RULE, DIVIDES,    div,        2, a / b,                     4, NONE, F32) \
    CURVE(0x0105, RULE, FUNCTION,   pow,        2, samba__pow(a, b),          40, NONE, F32) \
    MAP(0x0106, RULE, FUNCTION,   minimum, 2, \
                                  a != a ? a : b != b ? b : a < b ? a : b, 1, NONE, F32) \
    MAP(0x0107, RULE, FUNCTION,   maximum, 2, \
                                  a != a ? a : b != b ? b : a > b ? a : b, 1, NONE, F32) \
    MAP(0x0108, ZERO, FUNCTION,   eq,         2, a == b ? 1.0f : 0.0f,      1, NONE, BOOL) \
    MAP(0x0109, ZERO, FUNCTION,   ne,         2, a != b ? 1.0f : 0.0f,      1, NONE, BOOL) \
    MAP(0x010A, ZERO, FUNCTION,   lt,         2, a < b ? 1.0f : 0.0f,       1, NONE, BOOL) \
    MAP(0x010B, ZERO, FUNCTION,   le,         2, a <= b ? 1.0f : 0.0f,      1, NONE, BOOL) \
    MAP(0x010C, ZERO, FUNCTION,   gt,         2, a > b ? 1.0f : 0.0f,       1, NONE, BOOL) \
    MAP(0x010D, ZERO, FUNCTION,   ge,         2, a >= b ? 1.0f : 0.0f,      1, NONE, BOOL) \
    MAP(0x010E, RULE, CHOOSES,    where,      3, a != 0.0f ? b : c,         1, NONE, F32) \
    MAP(0x0120, RULE, MULTIPLIES, neg,        1, -a,                        1, NONE, F32) \
    CURVE(0x0121, RULE, FUNCTION,   exp,        1, samba__exp(a),             15, NONE, F32) \
    CURVE(0x0122, RULE, FUNCTION,   log,        1, samba__log(a),             15, NONE, F32) \
    MAP(0x0123, RULE, FUNCTION,   sqrt,       1, samba__sqrt(a),            5, NONE, F32) \
    MAP(0x0124, RULE, FUNCTION,   rsqrt,      1, samba__rsqrt(a),           10, NONE, F32) \
    MAP(0x0125, RULE, FUNCTION,   abs,        1, samba__abs(a),             1, NONE, F32) \
    MAP(0x0126, RULE, FUNCTION,   relu,       1, a < 0.0f ? 0.0f : a,       1, NONE, F32) \
    MAP(0x0127, RULE, FUNCTION,   leaky_relu, 1, a > 0.0f ? a : a * p[0],   2, SLOPE, F32) \
    CURVE(0x0128, RULE, FUNCTION,   sigmoid,    1, samba__sigmoid(a),         20, NONE, F32) \
    CURVE(0x0129, RULE, FUNCTION,   tanh,       1, samba__tanh(a),            20, NONE, F32) \
    CURVE(0x012A, RULE, FUNCTION,   gelu,       1, samba__gelu(a),            30, NONE, F32) \
    CURVE(0x012B, RULE, FUNCTION,   gelu_tanh,  1, samba__gelu_tanh(a),       25, NONE, F32) \
    CURVE(0x012C, RULE, FUNCTION,   silu,       1, samba__silu(a),            20, NONE, F32) \
    CURVE(0x012D, RULE, FUNCTION,   softplus,   1, samba__softplus(a),        30, NONE, F32) \
    MAP(0x012E, RULE, MULTIPLIES, scale,      1, a * p[0],                  1, SCALE, F32) \
    MAP(0x012F, RULE, SHIFTS,     shift,      1, a + p[0],                  1, SHIFT, F32) \
    MAP(0x0140, RULE, FUNCTION,   tanh_backward, 2, a * samba__fma(-b, b, 1.0f), 3, NONE, F32) \
    MAP(0x0141, RULE, FUNCTION,   sigmoid_backward, 2, a * (b * (1.0f - b)), 3, NONE, F32) \
    MAP(0x0142, RULE, FUNCTION,   relu_backward, 2, b > 0.0f ? a : 0.0f, 1, NONE, F32) \
    MAP(0x0143, RULE, FUNCTION,   leaky_relu_backward, 2, b > 0.0f ? a : a * p[0], 2, SLOPE, F32) \
    CURVE(0x0144, NONE, FUNCTION,   gelu_backward, 2, a * samba__gelu_grad(b), 40, NONE, F32) \
    CURVE(0x0145, NONE, FUNCTION,   gelu_tanh_backward, 2, \
                                  a * samba__gelu_tanh_grad(b), 35, NONE, F32) \
    CURVE(0x0146, NONE, FUNCTION,   silu_backward, 2, a * samba__silu_grad(b), 25, NONE, F32) \
    MAP(0x0147, NONE, FUNCTION,   abs_backward, 2, \
                                  b > 0.0f ? a : b < 0.0f ? -a : 0.0f, 1, NONE, F32) \
    MAP(0x0148, NONE, FUNCTION,   maximum_backward, 3, \
                                  b > c ? a : b == c ? a * 0.5f : 0.0f, 2, NONE, F32) \
    CURVE(0x0149, NONE, FUNCTION,   pow_backward, 3, \
           c == 0.0f ? 0.0f : a * (c * samba__pow(b, c - 1.0f)), 45, NONE, F32) \
    CURVE(0x014A, NONE, FUNCTION,   pow_backward_exponent, 3, \
                                  b == 0.0f ? 0.0f : a * (c * samba__log(b)), 20, NONE, F32) \
    FAST(0x0180,   ZERO, SAME,       full,        MOVES, FULL, 0, NONE, full, flat) \
    FAST(0x0181,   RULE, CASTS,      cast,        MOVES, CAST, 1, NONE, cast, cast) \
    FAST(0x0182,   RULE, DROPS,      dropout,     OTHER, DROPOUT, 12, INPLACE, dropout, dropout) \
    OP(0x0183,     ZERO, SAME,       count,       UPDATE, COUNT, 1, UPDATES(0x1u), count, single) \
    FAST(0x0184,   ZERO, UNKNOWN,    zero,        STEP, NONE, 0, UPDATES(0x1u), zero, flat) \
    FAST(0x0185,   ZERO, UNKNOWN,    accumulate, STEP, ACCUMULATE, 1, UPDATES(0x1u), \
                                     accumulate, flat) \
    OP(0x0186,     ZERO, UNKNOWN,    write_rows, UPDATE, NONE, 1, UPDATES(0x1u), \
                                     write_rows, write_rows) \
    FAMILY(0x0201, RULE, SUM,        sum, REDUCTION, REDUCE, 1, NONE, reduce, SAMBA__REDUCER_SUM) \
    FAMILY(0x0202, RULE, MEAN,       mean, REDUCTION, REDUCE, 1, NONE, \
                                     reduce, SAMBA__REDUCER_MEAN) \
    FAMILY(0x0203, RULE, REDUCE,     max, REDUCTION, REDUCE, 1, NONE, reduce, SAMBA__REDUCER_MAX) \
    FAST(0x0204,   ZERO, ARGMAX,     argmax,      REDUCTION, ARGMAX, 1, NONE, argmax, argmax) \
    FAMILY(0x0205, RULE, SQUARES,    square_sum, REDUCTION, REDUCE, 2, NONE, \
                                     reduce, SAMBA__REDUCER_SQUARES) \
    OP(0x0301,     RULE, MATMUL,     matmul,      PRODUCT, MATMUL, 0, NONE, matmul, matmul) \
    OP(0x0302,     RULE, AFFINE,     affine,      PRODUCT, NONE, 0, NONE, affine, affine) \
    OP(0x0304,     NONE, UNKNOWN,    affine_packed, OTHER, PACKED, 0, NONE, \
                                     affine_packed, affine) \
    OP(0x0303,     NONE, UNKNOWN,    matmul_accumulate, UPDATE, MATMUL, 0, UPDATES(0x3u), \
                                     matmul_accumulate, matmul) \
    OP(0x0601,     RULE, RESHAPE,    reshape,     MOVES, SHAPE, 0, VIEW, reshape, flat) \
    OP(0x0602,     RULE, PERMUTE,    permute,     MOVES, PERMUTE, 1, NONE, permute, rows) \
    OP(0x0603,     RULE, SLICE,      slice,       MOVES, SLICE, 1, NONE, slice, rows) \
    OP(0x0604,     RULE, PAD,        pad,         MOVES, PAD, 1, NONE, pad, rows) \
    OP(0x0605,     RULE, CAT,        cat,         MOVES, AXIS, 1, NONE, cat, cat) \
    OP(0x0606,     RULE, EXPAND,     expand,      MOVES, SHAPE, 1, NONE, expand, rows) \
    OP(0x0607,     RULE, UNKNOWN,    gather,      MOVES, GATHER, 0, NONE, gather, flat) \
    OP(0x0608,     RULE, UNKNOWN,    gather_backward, MOVES, GATHER, 0, NONE, \
                                     gather_backward, gather_backward) \
    FAST(0x0701,   ZERO, UNKNOWN,    sgd,         STEP, SGD, 6, UPDATES(0x31u), sgd, flat) \
    FAST(0x0702,   ZERO, UNKNOWN,    adamw,       STEP, ADAMW, 20, UPDATES(0x431u), adamw, flat) \
    OP(0x0703,     ZERO, UNKNOWN,    clip_factor, OTHER, NONE, 10, NONE, clip_factor, single) \
    OP(0x0401,     RULE, IMAGES,     convolution, PRODUCT, CONV, 0, NONE, \
                                     convolution, convolution) \
    OP(0x0402,     RULE, UNKNOWN,    convolution_backward_input, OTHER, CONV, 0, NONE, \
                                     convolution_backward_input, convolution_backward_input) \
    OP(0x0403,     RULE, UNKNOWN,    convolution_backward_weight, OTHER, CONV, 0, NONE, \
                                     convolution_backward_weight, convolution_backward_weight) \
    OP(0x0410,     RULE, PLANES,     max_pool2d, OTHER, MAX_POOL, 0, NONE, \
                                     max_pool2d, max_pool2d) \
    OP(0x0411,     NONE, UNKNOWN,    max_pool2d_backward, OTHER, MAX_POOL, 0, NONE, \
                                     max_pool2d_backward, max_pool2d_backward) \
    OP(0x0412,     RULE, PLANES,     avg_pool2d, OTHER, AVG_POOL, 0, NONE, \
                                     avg_pool2d, avg_pool2d) \
    OP(0x0413,     RULE, UNKNOWN,    avg_pool2d_backward, OTHER, AVG_POOL, 0, NONE, \
                                     avg_pool2d_backward, avg_pool2d_backward) \
    FAMILY(0x0420, RULE, IMAGES,     batch_norm, OTHER, BATCH_NORM, 10, UPDATES(0x540u), \
                                     batch, false) \
    FAMILY(0x0421, NONE, UNKNOWN,    batch_norm_backward, OTHER, NORM, 14, NONE, batch, true) \
    FAMILY(0x0501, RULE, VECTORS,    softmax,     OTHER, AXIS, 20, INPLACE, soft, 0) \
    FAMILY(0x0502, NONE, UNKNOWN,    softmax_backward, OTHER, AXIS, 4, INPLACE, \
                                     soft, SAMBA__BACKWARD) \
    FAMILY(0x0503, RULE, VECTORS,    log_softmax, OTHER, AXIS, 20, INPLACE, soft, SAMBA__LOGS) \
    FAMILY(0x0504, NONE, UNKNOWN,    log_softmax_backward, OTHER, AXIS, 18, INPLACE, \
                                     soft, SAMBA__LOGS_BACKWARD) \
    FAMILY(0x0510, RULE, VECTORS,    layer_norm,  OTHER, NORM, 8, INPLACE, norm, SAMBA__CENTERED) \
    FAMILY(0x0511, NONE, UNKNOWN,    layer_norm_backward, OTHER, NORM, 16, NONE, \
                                     norm, SAMBA__CENTERED_BACKWARD) \
    FAMILY(0x0512, RULE, VECTORS,    rms_norm,    OTHER, NORM, 5, INPLACE, norm, 0) \
    FAMILY(0x0513, NONE, UNKNOWN,    rms_norm_backward, OTHER, NORM, 12, NONE, \
                                     norm, SAMBA__BACKWARD) \
    FAMILY(0x0520, RULE, LOSS,       cross_entropy, LOSS, LOSS, 0, NONE, loss, SAMBA__LOGITS) \
    FAMILY(0x0521, NONE, UNKNOWN,    cross_entropy_backward, LOSS, LOSS, 20, INPLACE_1, \
                                     loss, SAMBA__LOGITS_BACKWARD) \
    FAMILY(0x0522, RULE, LOSS,       nll,         LOSS, NLL, 0, NONE, loss, 0) \
    FAMILY(0x0523, NONE, UNKNOWN,    nll_backward, LOSS, NLL, 1, NONE, loss, SAMBA__BACKWARD) \
    OP(0x0530,     RULE, LOOKUP,     lookup,      OTHER, NONE, 1, NONE, lookup, rows) \
    OP(0x0533,     NONE, UNKNOWN,    lookup_packed, OTHER, PACKED, 1, NONE, lookup_packed, rows) \
    FAST(0x0531,   RULE, UNKNOWN,    lookup_backward, OTHER, TABLE, 1, NONE, \
                                     lookup_backward, lookup_backward) \
    FAST(0x0532,   NONE, UNKNOWN,    lookup_accumulate, UPDATE, TABLE, 1, UPDATES(0x3u), \
                                     lookup_accumulate, lookup_backward) \
    OP(0x0540,     RULE, ATTENTION,  scaled_dot_product_attention, PRODUCT, ATTENTION, 0, NONE, \
                   scaled_dot_product_attention, scaled_dot_product_attention) \
    OP(0x0541,     NONE, UNKNOWN,    scaled_dot_product_attention_backward, \
                   OTHER, ATTENTION, 0, NONE, \
                   scaled_dot_product_attention_backward, scaled_dot_product_attention_backward)
enum {
#define X(wire, gradient, spread, name, ...) SAMBA__OP_##name,
    SAMBA__OPS(X, X, X, X, X)
#undef X
    SAMBA__N_OPS
};

/* clang-format on */

/* The shape rule and the work of an op of a family, whose kernel is compiled once. */
#define SAMBA__RULES(name, family, which) \
    SAMBA__FN bool samba__##name##_shape(samba_call *c) \
    { \
        return samba__##family##_rule(c, which); \
    } \
    SAMBA__FN void samba__##name##_work(samba_work *w, const samba_call *c) \
    { \
        samba__##family##_work(w, c, which); \
    }

/* Which op of a family: bit 0 is set in the gradient ops, bit 1 in the first of two kinds. */
enum {
    SAMBA__BACKWARD = 1,
    SAMBA__LOGS = 2,
    SAMBA__LOGS_BACKWARD,
    SAMBA__CENTERED = 2,
    SAMBA__CENTERED_BACKWARD,
    SAMBA__LOGITS = 2,
    SAMBA__LOGITS_BACKWARD
};

/* Counts an axis of an op from the front: one of the dimensions of x and `more`. False after a
   failure, or if x is NULL because something failed before. */
SAMBA__FN bool samba__find_axis(const samba_tensor *x, const char *op, int32_t *axis, int32_t more)
{
    if (!x) return false;
    int32_t given = *axis, n = x->shape.ndim + more;
    if (given < 0) *axis += n;
    if (*axis >= 0 && *axis < n && n <= SAMBA_MAX_DIMS) return true;
    (void)op;
    SAMBA__FAIL((x->session, SAMBA_EARG,
                 "in %s(%s %T %S): axis %d is out of range; axes are -%d "
                 "... %d",
                 op, x->name, (int)x->dtype, &x->shape, given, n, n - 1));
    return false;
}

/* Words of samba_args.fault. An element of 2^31 or more is not told; least > most: no range. The
   value and the range take two words each, the lower half first. */
enum {
    SAMBA__FAULT_SET,
    SAMBA__FAULT_INPUT,
    SAMBA__FAULT_ELEMENT,
    SAMBA__FAULT_VALUE,
    SAMBA__FAULT_LEAST = SAMBA__FAULT_VALUE + 2,
    SAMBA__FAULT_MOST = SAMBA__FAULT_LEAST + 2,
    SAMBA__FAULT_WORDS = SAMBA__FAULT_MOST + 2
};

/* As SET: a value that is not finite; a thread is writing the other words. */
enum { SAMBA__FAULT_NONFINITE = 2, SAMBA__FAULT_BUSY = 3 };

SAMBA__FN void samba__put_fault_number(int32_t *word, int64_t value)
{
    memcpy(word, &value, sizeof value);
}

SAMBA__FN int64_t samba__fault_number(const int32_t *word)
{
    int64_t value;
    memcpy(&value, word, sizeof value);
    return value;
}

SAMBA__FN void samba__fault_with(const samba_args *a, int32_t which, int64_t value, int64_t element,
                                 int64_t least, int64_t most)
{
    if (!a || !a->fault) return;
    int32_t *f = a->fault;
    int32_t at = element < 0 || element > INT32_MAX ? INT32_MAX : (int32_t)element;
#if defined(__GNUC__) && !defined(SAMBA_NO_THREADS)
    int32_t before = __atomic_exchange_n(&f[SAMBA__FAULT_SET], SAMBA__FAULT_BUSY, __ATOMIC_ACQUIRE);
    while (before == SAMBA__FAULT_BUSY)
        before = __atomic_exchange_n(&f[SAMBA__FAULT_SET], SAMBA__FAULT_BUSY, __ATOMIC_ACQUIRE);
#else
    int32_t before = f[SAMBA__FAULT_SET];
#endif
    if (!before || at < f[SAMBA__FAULT_ELEMENT]) { /* whatever thread comes first */
        f[SAMBA__FAULT_INPUT] = which;
        f[SAMBA__FAULT_ELEMENT] = at;
        samba__put_fault_number(f + SAMBA__FAULT_VALUE, value);
        samba__put_fault_number(f + SAMBA__FAULT_LEAST, least);
        samba__put_fault_number(f + SAMBA__FAULT_MOST, most);
    }
#if defined(__GNUC__) && !defined(SAMBA_NO_THREADS)
    __atomic_store_n(&f[SAMBA__FAULT_SET], 1, __ATOMIC_RELEASE);
#else
    f[SAMBA__FAULT_SET] = 1;
#endif
}

SAMBA_API void samba_fault_at(const samba_args *a, int32_t which, int32_t value, int64_t element,
                              int32_t least, int32_t most)
{
    samba__fault_with(a, which, value, element, least, most);
}

SAMBA_API void samba_fault(const samba_args *a, int32_t which, int32_t value)
{
    samba_fault_at(a, which, value, -1, 0, -1);
}

SAMBA__FN const int32_t *samba__in_i32(const samba_args *a, int32_t i)
{
    return (const int32_t *)(const void *)a->in[i];
}

/* Reads an index, once: what was proved is what is used, even if a mapped file changes then. */
SAMBA__INLINE int32_t samba__index(const int32_t *at)
{
    return *(const volatile int32_t *)at;
}

/* Reads an absent optional input as absent. */
SAMBA__FN bool samba__has(const samba_call *c, int32_t i)
{
    return i < c->n_in && c->in[i].shape.ndim >= 0;
}

/* Expects `least` to `most` inputs, the first `least` of them present, and n_attr attributes. */
SAMBA__FN bool samba__expect(samba_call *c, int32_t least, int32_t most, int32_t n_attr)
{
    if (c->n_in < least || c->n_in > most)
        return samba_refuse(c, SAMBA_EARG, "%d inputs given; %d to %d are needed", c->n_in, least,
                            most);
    for (int32_t i = 0; i < least; i++)
        if (!samba__has(c, i)) return samba_refuse(c, SAMBA_EARG, "input %d is missing", i);
    if (c->n_attr != n_attr)
        return samba_refuse(c, SAMBA_EARG, "%d attributes given, %d needed", c->n_attr, n_attr);
    c->n_out = 1;
    return true;
}

SAMBA__FN bool samba__expect_f32(samba_call *c, int32_t i)
{
    if (!samba__has(c, i) || c->in[i].dtype == SAMBA_F32) return true;
    return samba_refuse(c, SAMBA_EDTYPE, "input %d is %T, but must be f32; use samba_cast", i,
                        (int)c->in[i].dtype);
}

SAMBA__FN bool samba__expect_float(samba_call *c, int32_t i)
{
    return samba__is_float(c->in[i].dtype) || samba__expect_f32(c, i);
}

/* Expects inputs that are all f32, and makes output 0 one. */
SAMBA__FN bool samba__expect_all_f32(samba_call *c, int32_t least, int32_t most, int32_t n_attr)
{
    if (!samba__expect(c, least, most, n_attr)) return false;
    for (int32_t i = 0; i < most; i++)
        if (!samba__expect_f32(c, i)) return false;
    c->out[0].dtype = SAMBA_F32;
    return true;
}

SAMBA__FN int32_t samba__wrap_axis(const samba_tensor *x, int32_t axis)
{
    return x && axis < 0 ? axis + x->shape.ndim : axis;
}

SAMBA__FN bool samba__expect_axis(samba_call *c, int32_t axis)
{
    int32_t n = c->in[0].shape.ndim;
    if (axis >= 0 && axis < n) return true;
    return samba_refuse(c, SAMBA_EARG,
                        "axis %d is out of range; input 0 %S has %d dimensions, so "
                        "-%d ... %d",
                        axis, &c->in[0].shape, n, n, n - 1);
}

SAMBA__FN void samba__push_dim(samba_shape *s, int32_t dim)
{
    s->dim[s->ndim++] = dim;
}

/* n <= SAMBA_MAX_DIMS dimensions as a shape. */
SAMBA__FN samba_shape samba__shape_of(const int32_t *dim, int32_t n)
{
    samba_shape s = samba_scalar_shape();
    for (int32_t i = 0; i < n; i++)
        samba__push_dim(&s, dim[i]);
    return s;
}

SAMBA__FN int64_t samba__last_dim(const samba_spec *x)
{
    return x->shape.dim[x->shape.ndim - 1];
}

/* Appends a dimension of n to output 0. */
SAMBA__FN bool samba__append_dim(samba_call *c, int32_t n)
{
    samba_shape *y = &c->out[0].shape;
    bool fine = (n > 0
                 || samba_refuse(c, SAMBA_EARG,
                                 "a dimension of %d is asked for; make it 1 "
                                 "or more",
                                 n))
        && (y->ndim < SAMBA_MAX_DIMS
            || samba_refuse(c, SAMBA_ESHAPE, "%S and one more dimension are too many", y));
    if (fine) samba__push_dim(y, n);
    return fine;
}

/* x with the axes of the mask dropped, or 1 if they are kept. */
SAMBA__FN samba_shape samba__reduced(const samba_shape *x, int32_t mask, bool keep)
{
    samba_shape s = samba_scalar_shape();
    for (int32_t i = 0; i < x->ndim; i++) {
        bool gone = mask >> i & 1;
        if (!gone || keep) samba__push_dim(&s, gone ? 1 : x->dim[i]);
    }
    return s;
}

/* Expects one input and, as attributes, one number per dimension or axis. */
SAMBA__FN bool samba__expect_dims(samba_call *c)
{
    if (c->n_attr <= SAMBA_MAX_DIMS) return samba__expect(c, 1, 1, c->n_attr);
    return samba_refuse(c, SAMBA_ESHAPE, "more than %d dimensions", SAMBA_MAX_DIMS);
}

/* Expects what the signature says, and n_attr attributes. */
SAMBA__FN bool samba__expect_match(samba_call *c, const char *signature, int32_t n_attr)
{
    samba__binding b;
    if (c->n_attr == n_attr) return samba__match(signature, c, &b);
    return samba_refuse(c, SAMBA_EARG, "%d attributes given, %d needed", c->n_attr, n_attr);
}

/* The shape rule of an op that has only these two. */
#define SAMBA__MATCHES(name, signature, n_attr) \
    SAMBA__FN bool samba__##name##_shape(samba_call *c) \
    { \
        return samba__expect_match(c, signature, n_attr); \
    }

/* ==== [elementwise] =========================================================================== */
/* ---- Elementwise ops: one driver walks the broadcast, one loop for each row computes ---- */
/* elements per call of a loop: three such buffers stay in L1 */
#define SAMBA__RUN 256

/* Where element `at` of an input, or of output 0, lies: any type. */
SAMBA__INLINE const uint8_t *samba__in_bytes(const samba_args *a, int32_t i, int64_t at)
{
    size_t offset = (size_t)at * samba_dtype_size(a->in_spec[i].dtype);
    return (const uint8_t *)(const void *)a->in[i] + offset;
}

SAMBA__INLINE uint8_t *samba__out_bytes(const samba_args *a, int64_t at)
{
    return (uint8_t *)(void *)a->out[0] + (size_t)at * samba_dtype_size(a->out_spec[0].dtype);
}

typedef void (*samba__loop_fn)(float *y, const float *a, const float *b, const float *c,
                               const float *p, int64_t n);

/* The output's dimensions with the step of each input along them, mergeable ones merged. */
typedef struct samba__walk {
    int32_t ndim, n_in;
    int64_t dim[SAMBA_MAX_DIMS];
    int64_t step[3][SAMBA_MAX_DIMS]; /* in elements; 0 where an input is stretched */
} samba__walk;

SAMBA__FN void samba__walk_push(samba__walk *w, int64_t dim, const int64_t *step)
{
    bool merge = w->ndim > 0;
    int32_t last = w->ndim - 1;
    if (dim == 1) return;
    SAMBA_ASSERT(dim > 0);
    for (int32_t k = 0; merge && k < w->n_in; k++)
        merge = w->step[k][last] == step[k] * dim;
    SAMBA_ASSERT(merge || w->ndim < SAMBA_MAX_DIMS);
    if (!merge) last = w->ndim++;
    w->dim[last] = merge ? w->dim[last] * dim : dim;
    for (int32_t k = 0; k < w->n_in; k++)
        w->step[k][last] = step[k];
}

/* The step of x along dimension i of a result of n dimensions; 0 where x is stretched. */
SAMBA__FN int64_t samba__stretched_step(const samba_shape *x, int32_t n, int32_t i)
{
    SAMBA_ASSERT(i >= 0 && i < n && x->ndim <= n);
    int32_t own = i - (n - x->ndim);
    return own < 0 || x->dim[own] == 1 ? 0 : samba__inner(x, own);
}

/* Where x is at element `index` of the first n dimensions of y, which x is stretched to. */
SAMBA__FN int64_t samba__stretched_at(const samba_shape *x, const samba_shape *y, int32_t n,
                                      int64_t index)
{
    int64_t at = 0;
    for (int32_t i = n - 1; i >= 0; index /= y->dim[i--])
        at += index % y->dim[i] * samba__stretched_step(x, y->ndim, i);
    return at;
}

SAMBA__FN void samba__walk_open(samba__walk *w, const samba_shape *out, const samba_spec *in,
                                int32_t n_in)
{
    memset(w, 0, sizeof *w);
    w->n_in = n_in;
    for (int32_t i = 0; i < out->ndim; i++) {
        int64_t step[3] = { 0, 0, 0 };
        for (int32_t k = 0; k < n_in; k++)
            step[k] = samba__stretched_step(&in[k].shape, out->ndim, i);
        samba__walk_push(w, out->dim[i], step);
    }
    if (w->ndim == 0) w->dim[w->ndim++] = 1;
}

/* Offsets of element e in each input; returns how many elements follow in the last dimension. */
SAMBA__FN int64_t samba__walk_to(const samba__walk *w, int64_t e, int64_t *offset)
{
    int64_t left = 0, sum[3] = { 0, 0, 0 };
    for (int32_t i = w->ndim - 1; i >= 0; i--) {
        int64_t rest = i ? e / w->dim[i] : 0, at = e - rest * w->dim[i];
        SAMBA_ASSERT(at >= 0 && at < w->dim[i]); /* e is an element */
        if (i == w->ndim - 1) left = w->dim[i] - at;
        for (int32_t k = 0; k < w->n_in; k++)
            sum[k] += at * w->step[k][i];
        e = rest;
    }
    for (int32_t k = 0; k < w->n_in; k++)
        offset[k] = sum[k];
    return left;
}

/* Any types in; f32 out, or the inputs' one half type if all have it; comparisons give bool. */
SAMBA__FN bool samba__map_shape(samba_call *c, int32_t arity, int32_t n_attr, samba_dtype result)
{
    int32_t bad = 0, first = arity == 3 && c->n_in > 0 && c->in[0].dtype == SAMBA_BOOL ? 1 : 0;
    if (!samba__expect(c, arity, arity, n_attr)) return false;
    samba_shape y = c->in[0].shape;
    samba_dtype type = c->in[first].dtype;
    for (int32_t i = 1; i < arity; i++)
        if (!samba__broadcast(&y, &c->in[i].shape, &y, &bad))
            return samba_refuse(c, SAMBA_ESHAPE,
                                "the shapes differ in dimension %d of the result; "
                                "make them equal, or 1 to broadcast",
                                bad);
    for (int32_t i = first; i < arity; i++)
        type = c->in[i].dtype == type ? type : SAMBA_F32;
    if (!samba__is_float(type)) type = SAMBA_F32;
    c->out[0].dtype = result == SAMBA_BOOL ? SAMBA_BOOL : type;
    c->out[0].shape = y;
    return true;
}

SAMBA__FN void samba__map_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba_count(&c->out[0].shape);
    w->part = 1;
}

/* A unit is an element here too, but inputs as large may be read elsewhere. */
SAMBA__FN void samba__flat_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba_count(&c->out[0].shape);
}

SAMBA__FN void samba__single_work(samba_work *w, const samba_call *c)
{
    (void)c;
    w->units[0] = 1;
}

/* What an elementwise op computes, and its shape rule. */
#define SAMBA__DEFINE_MAP(wire, gradient, spread, name, arity, value, cost, attributes, type) \
    SAMBA__INLINE float samba__##name##_value(float a, float b, float c, const float *p) \
    { \
        (void)a, (void)b, (void)c, (void)p; \
        return value; \
    } \
    SAMBA__FN bool samba__##name##_shape(samba_call *c) \
    { \
        return samba__map_shape(c, arity, SAMBA__##attributes##_END, SAMBA_##type); \
    }
#define SAMBA__NO_ROW(wire, gradient, spread, name, ...)
SAMBA__OPS(SAMBA__DEFINE_MAP, SAMBA__DEFINE_MAP, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)

enum { SAMBA__CURVE_BLOCK = 32 };

/* Sums a gradient over the dimensions along which input i was stretched; a leaf's stays f32. */
SAMBA__FN samba_tensor *samba__to_input(const samba_vjp *g, int32_t i, samba_tensor *dy)
{
    const samba_tensor *x = g->in[i];
    samba_shape axes = samba_scalar_shape();
    if (!dy || !x || !samba__is_float(x->dtype)) return NULL;
    int32_t lead = dy->shape.ndim - x->shape.ndim;
    for (int32_t k = 0; k < dy->shape.ndim; k++) {
        int32_t d = k < lead ? 1 : x->shape.dim[k - lead];
        if (k < lead || d != dy->shape.dim[k]) axes.dim[axes.ndim++] = k;
    }
    if (axes.ndim) dy = samba_sum(samba_cast(dy, SAMBA_F32), axes, true);
    if (lead) dy = samba_reshape(dy, x->shape);
    return x->dtype == SAMBA_F32 || !x->node ? dy : samba_cast(dy, x->dtype);
}

/* The builders of ops without attributes, and gradients written in dy, the inputs and y. */
#define SAMBA__BUILD1(name) \
    SAMBA__OP_API samba_tensor *samba_##name(samba_tensor *x) \
    { \
        return samba__emit1(SAMBA__OP_##name, x, NULL, 0); \
    }
#define SAMBA__BUILD2(name) \
    SAMBA__OP_API samba_tensor *samba_##name(samba_tensor *a, samba_tensor *b) \
    { \
        return samba__emit2(SAMBA__OP_##name, a, b, NULL, 0); \
    }
/* The builder of an op with one float. */
#define SAMBA__BUILD1F(name, number) \
    SAMBA__OP_API samba_tensor *samba_##name(samba_tensor *x, float number) \
    { \
        int32_t attr = samba_float_attr(number); \
        return samba__emit1(SAMBA__OP_##name, x, &attr, 1); \
    }
#define SAMBA__GRAD1(name, dx) \
    SAMBA__FN void samba__##name##_vjp(samba_vjp *g) \
    { \
        samba_tensor *dy = g->dout[0], *x = g->in[0], *y = g->out[0]; \
        (void)x, (void)y; \
        g->din[0] = dx; \
    }
#define SAMBA__GRAD2(name, da, db) \
    SAMBA__FN void samba__##name##_vjp(samba_vjp *g) \
    { \
        samba_tensor *dy = g->dout[0], *a = g->in[0], *b = g->in[1], *y = g->out[0]; \
        (void)a, (void)b, (void)y; \
        g->din[0] = samba__to_input(g, 0, da); \
        g->din[1] = samba__to_input(g, 1, db); \
    }
#define SAMBA__UNARY(name, dx) \
    SAMBA__BUILD1(name) \
    SAMBA__GRAD1(name, dx)
#define SAMBA__BINARY(name, da, db) \
    SAMBA__BUILD2(name) \
    SAMBA__GRAD2(name, da, db)
/* dx of ops that have a gradient op, which needs dy and x or y; or dy and two more. */
#define SAMBA__BY_OP(name, x) samba__emit2(SAMBA__OP_##name##_backward, dy, x, g->attr, g->n_attr)
#define SAMBA__BY_OP3(name, x, y) samba__emit3(SAMBA__OP_##name, dy, x, y, NULL, 0)
SAMBA__BINARY(add, dy, dy)
SAMBA__BINARY(sub, dy, samba_neg(dy))
SAMBA__BINARY(mul, samba_mul(dy, b), samba_mul(dy, a))
SAMBA__BINARY(div, samba_div(dy, b), samba_neg(samba_mul(samba_div(dy, b), y)))
/* y = a^b: da = dy b a^(b-1), 0 where b is 0; db = dy y log(a), 0 where a is 0 */
SAMBA__BINARY(pow, SAMBA__BY_OP3(pow_backward, a, b), SAMBA__BY_OP3(pow_backward_exponent, a, y))
/* The larger operand takes the gradient; equal ones take half each. */
SAMBA__BINARY(maximum, SAMBA__BY_OP3(maximum_backward, a, b), SAMBA__BY_OP3(maximum_backward, b, a))
SAMBA__BINARY(minimum, SAMBA__BY_OP3(maximum_backward, b, a), SAMBA__BY_OP3(maximum_backward, a, b))
SAMBA__BUILD2(eq)
SAMBA__BUILD2(ne)
SAMBA__BUILD2(lt)
SAMBA__BUILD2(le)
SAMBA__BUILD2(gt)
SAMBA__BUILD2(ge)

SAMBA__OP_API samba_tensor *samba_where(samba_tensor *cond, samba_tensor *a, samba_tensor *b)
{
    return samba__emit3(SAMBA__OP_where, cond, a, b, NULL, 0);
}

SAMBA__FN void samba__where_vjp(samba_vjp *g)
{
    samba_tensor *zero = samba_full(g->session, samba_scalar_shape(), 0.0f), *dy = g->dout[0];
    g->din[1] = samba__to_input(g, 1, samba_where(g->in[0], dy, zero));
    g->din[2] = samba__to_input(g, 2, samba_where(g->in[0], zero, dy));
}
SAMBA__UNARY(neg, samba_neg(dy))
SAMBA__UNARY(exp, samba_mul(dy, y))
SAMBA__UNARY(log, samba_div(dy, x))
SAMBA__UNARY(sqrt, samba_div(samba_scale(dy, 0.5f), y))
SAMBA__UNARY(rsqrt, samba_scale(samba_mul(dy, samba_mul(y, samba_mul(y, y))), -0.5f))
SAMBA__UNARY(softplus, samba_mul(dy, samba_sigmoid(x)))
SAMBA__BUILD1F(scale, factor)
SAMBA__GRAD1(scale, samba_scale(dy, samba_attr_float(g->attr[SAMBA__SCALE_FACTOR])))
SAMBA__BUILD1F(shift, term)
SAMBA__GRAD1(shift, dy)
SAMBA__UNARY(abs, SAMBA__BY_OP(abs, x))
SAMBA__UNARY(relu, SAMBA__BY_OP(relu, y))
SAMBA__UNARY(sigmoid, SAMBA__BY_OP(sigmoid, y))
SAMBA__UNARY(tanh, SAMBA__BY_OP(tanh, y))
SAMBA__UNARY(gelu, SAMBA__BY_OP(gelu, x)) /* Hendrycks, Gimpel, "Gaussian error linear units" */
SAMBA__UNARY(gelu_tanh, SAMBA__BY_OP(gelu_tanh, x))
SAMBA__UNARY(silu, SAMBA__BY_OP(silu, x))
SAMBA__BUILD1F(leaky_relu, slope)
SAMBA__GRAD1(leaky_relu, SAMBA__BY_OP(leaky_relu, x))
/* Second derivatives: the gradients of dx = dy f'(v). That of dy is made as dx is. */
#define SAMBA__SECOND(name, dv) \
    SAMBA__FN void samba__##name##_backward_vjp(samba_vjp *g) \
    { \
        samba_tensor *dx = g->dout[0], *dy = g->in[0], *v = g->in[1]; \
        (void)dy; \
        g->din[0] = samba__emit2(SAMBA__OP_##name##_backward, dx, v, g->attr, g->n_attr); \
        g->din[1] = dv; \
    }
SAMBA__SECOND(relu, NULL)
SAMBA__SECOND(leaky_relu, NULL)
SAMBA__SECOND(tanh, samba_scale(samba_mul(samba_mul(dx, dy), v), -2.0f))
SAMBA__SECOND(sigmoid, samba_mul(samba_mul(dx, dy), samba_shift(samba_scale(v, -2.0f), 1.0f)))

/* ---- full: a tensor of one value. Attributes: the value, then the shape. ---- */
SAMBA__OP_API samba_tensor *samba_full(samba_session *s, samba_shape shape, float value)
{
    int32_t attr[1 + SAMBA_MAX_DIMS], n = 1;
    attr[SAMBA__FULL_VALUE] = samba_float_attr(value);
    for (int32_t i = 0; i < shape.ndim && i < SAMBA_MAX_DIMS; i++)
        attr[n++] = shape.dim[i];
    return samba__emit(s, SAMBA__OP_full, NULL, 0, attr, n, NULL);
}

SAMBA__FN bool samba__full_shape(samba_call *c)
{
    if (c->n_attr < 1 || c->n_attr > 1 + SAMBA_MAX_DIMS)
        return samba_refuse(c, SAMBA_EARG, "malformed call");
    if (!samba__expect(c, 0, 0, c->n_attr)) return false;
    c->out[0].dtype = SAMBA_F32;
    c->out[0].shape = samba__shape_of(c->attr + SAMBA__FULL_SHAPE, c->n_attr - SAMBA__FULL_SHAPE);
    return true;
}

/* ---- cast: dx = cast dy back; through an integer or bool nothing flows ---- */
SAMBA__OP_API samba_tensor *samba_cast(samba_tensor *x, samba_dtype dtype)
{
    int32_t attr = (int32_t)dtype;
    return x && x->dtype == dtype ? x : samba__emit1(SAMBA__OP_cast, x, &attr, 1);
}

SAMBA__FN bool samba__cast_shape(samba_call *c)
{
    if (!samba__expect(c, 1, 1, 1)) return false;
    if (c->attr[SAMBA__CAST_TYPE] < 0 || c->attr[SAMBA__CAST_TYPE] >= SAMBA_N_DTYPES)
        return samba_refuse(c, SAMBA_EDTYPE, "no type has number %d", c->attr[SAMBA__CAST_TYPE]);
    c->out[0].dtype = (samba_dtype)c->attr[SAMBA__CAST_TYPE];
    c->out[0].shape = c->in[0].shape;
    return true;
}

SAMBA__FN void samba__cast_work(samba_work *w, const samba_call *c)
{
    w->part = 16;
    w->units[0] = samba__ceil_div(samba_count(&c->out[0].shape), w->part);
}

/* Between integers, not all of which f32 holds: exact, or the run ends. */
SAMBA__FN void samba__cast_integers(const samba_args *a, int64_t begin, int64_t end)
{
    samba_dtype from = a->in_spec[0].dtype, to = a->out_spec[0].dtype;
    int64_t least, most;
    samba__integer_range(to, &least, &most);
    for (int64_t e = begin; e < end; e++) {
        int64_t value = samba__integer_at(a->in[0], from, e);
        if (value < least || value > most) {
            samba__fault_with(a, 0, value, e, least, most);
            value = 0;
        }
        samba__put_integer(a->out[0], to, e, value);
    }
}

/* Is a cast from one of these types to the other to be exact? */
SAMBA__FN bool samba__casts_exactly(samba_dtype from, samba_dtype to)
{
    int64_t least, most;
    return (samba__is_stored_only(from) || samba__is_stored_only(to))
        && samba__integer_range(from, &least, &most) && samba__integer_range(to, &least, &most);
}

/* A leaf's gradient stays f32. */
SAMBA__FN void samba__cast_vjp(samba_vjp *g)
{
    samba_tensor *dy = g->dout[0];
    const samba_tensor *x = g->in[0];
    if (!dy || !samba__is_float(x->dtype)) return;
    g->din[0] = x->node ? samba_cast(dy, x->dtype) : dy;
}

/* ---- count: n <- n + 1 at each run of its section, which microbatches share; attribute 1: at
   training runs only ---- */
SAMBA__MATCHES(count, "i:->i:", 1)

SAMBA__KERNEL void samba__count_kernel(const samba_args *a)
{
    uint32_t n;
    memcpy(&n, a->in[0], sizeof n);
    n += a->microbatch == 0 && (a->train || !a->attr[SAMBA__COUNT_TRAINING_ONLY]);
    memcpy(a->out[0], &n, sizeof n);
}

/* ---- zero: x <- 0, and accumulate: x <- x + y, for gradients and losses of microbatches;
   attribute of accumulate, 1: begin anew with the first microbatch ---- */
SAMBA__MATCHES(zero, "*->*", 0)

SAMBA__MATCHES(accumulate, "*,*->*", 1)

/* ---- dropout: y = x mask/(1-p), mask from (seed, layer, counter, element): Srivastava et al.,
   JMLR 2014. Inputs x, rate f32, seed i32, counter i32; attributes: the layer's key ---- */
/* Input `in` is a rate of dropout, which seed and counter follow; or it is absent. */
SAMBA__FN bool samba__expect_dropping(samba_call *c, int32_t in)
{
    if (!samba__has(c, in)) return true;
    for (int32_t i = in; i < in + 3; i++) {
        samba_dtype dtype = i == in ? SAMBA_F32 : SAMBA_I32;
        if (samba__has(c, i) && c->in[i].dtype == dtype && c->in[i].shape.ndim == 0) continue;
        return samba_refuse(c, SAMBA_ESHAPE,
                            "dropout has a rate, a seed and a counter: input %d "
                            "must be a %T scalar",
                            i, (int)dtype);
    }
    return true;
}
SAMBA__MATCHES(dropout, "*,,i:,i:->*", 2)

/* A layer of dropout in a run: what its mask depends on, besides the element. */
typedef struct samba__dropping {
    uint64_t key;
    uint64_t first; /* elements of the microbatches before this one */
    uint32_t counter;
    float rate, scale;
} samba__dropping;

/* in: the number of the input with the rate; seed and counter follow. count: elements of the mask,
   which continues from microbatch to microbatch, as if they were one batch. */
SAMBA__INLINE samba__dropping samba__dropping_of(const samba_args *a, int32_t in,
                                                 const int32_t *key, int64_t count)
{
    samba__dropping d;
    d.first = (uint64_t)a->microbatch * (uint64_t)count;
    d.rate = a->train && in + 2 < a->n_in && a->in[in] ? a->in[in][0] : 0.0f;
    d.scale = d.rate < 1.0f ? 1.0f / (1.0f - d.rate) : 0.0f;
    d.key = 0;
    d.counter = 0;
    if (d.rate == 0.0f) return d;
    d.key = ((uint64_t)(uint32_t)key[0] << 32 | (uint32_t)key[1])
        + (uint32_t)samba__in_i32(a, in + 1)[0] * SAMBA__P1;
    d.counter = (uint32_t)samba__in_i32(a, in + 2)[0];
    return d;
}

/* A unit is what one call of the generator decides. */
SAMBA__FN void samba__dropout_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba__ceil_div(samba_count(&c->out[0].shape), 4);
    w->part = 4;
}

SAMBA__FN void samba__dropout_vjp(samba_vjp *g)
{
    samba_tensor *in[4] = { g->dout[0], g->in[1], g->in[2], g->in[3] };
    g->din[0] = samba__emit(g->session, SAMBA__OP_dropout, in, 4, g->attr, g->n_attr, NULL);
}

#endif /* SAMBA__TEMPLATE == 0 */

#if (SAMBA__TEMPLATE == SAMBA__TEMPLATE_ROWS || SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS) \
    && defined(SAMBA__SUFFIX)
/* -- For all kernels below -- */
#if SAMBA__VEC_LANES > 1 && !defined(__clang__)
/* The rest of -O3 takes long to compile. */
#pragma GCC optimize("O2", "tree-vectorize", "vect-cost-model=dynamic")
#pragma GCC optimize("no-trapping-math", "no-tree-loop-distribute-patterns")
#endif
/* Before a loop of constant length, over some vectors: they stay in registers. */
#undef SAMBA__EACH_VEC
#if SAMBA__VEC_LANES > 1
#define SAMBA__EACH_VEC SAMBA__UNROLLED
#else
#define SAMBA__EACH_VEC
#endif
#endif

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
/* -- How ops with a kernel for each instruction set read and write: runs of any type as f32 -- */
#define samba__load_run SAMBA__OF_NARROW(samba__load_run)
#define samba__store_run SAMBA__OF_NARROW(samba__store_run)
#define samba__map_input SAMBA__OF_NARROW(samba__map_input)
#define samba__map_range SAMBA__OF_NARROW(samba__map_range)
#define samba__map_run SAMBA__OF_NARROW(samba__map_run)
#define samba__full_kernel SAMBA__OF_NARROW(samba__full_kernel)
#define samba__cast_kernel SAMBA__OF_NARROW(samba__cast_kernel)
#define samba__zero_kernel SAMBA__OF_NARROW(samba__zero_kernel)
#define samba__accumulate_kernel SAMBA__OF_NARROW(samba__accumulate_kernel)
#define samba__dropout_shifted SAMBA__OF_NARROW(samba__dropout_shifted)
#define samba__dropout_kernel SAMBA__OF_NARROW(samba__dropout_kernel)
#if SAMBA__VEC_LANES < 16

SAMBA__NOINLINE void samba__load_run(float *y, const void *x, samba_dtype dtype, int64_t n)
{
    samba__load_values(y, x, dtype, n);
}

SAMBA__NOINLINE void samba__store_run(void *y, const float *x, samba_dtype dtype, int64_t n)
{
    samba__store_values(y, x, dtype, n);
}

/* n elements of input k as f32: in place if they lie so, else stretched or converted in buffer. */
SAMBA__FN const float *samba__map_input(const samba_args *a, int32_t k, int64_t at, int64_t step,
                                        int64_t n, float *buffer)
{
    samba_dtype dtype = a->in_spec[k].dtype;
    const uint8_t *x = samba__in_bytes(a, k, at);
    if (step && dtype == SAMBA_F32) return (const float *)(const void *)x;
    samba__load_run(buffer, x, dtype, step ? n : 1);
    if (step) return buffer;
    float first = buffer[0];
    for (int64_t i = 1; i < n; i++)
        buffer[i] = first;
    return buffer;
}

/* Elements begin ... end - 1 of the output. */
SAMBA__FN void samba__map_range(const samba_args *a, samba__loop_fn loop, const samba__walk *w,
                                const float *p, int64_t begin, int64_t end)
{
    float buffer[4][SAMBA__RUN];
    const float *x[3] = { NULL, NULL, NULL };
    samba_dtype type = a->out_spec[0].dtype;
    bool direct = type == SAMBA_F32; /* no buffer is needed: runs may be long */
    for (int32_t k = 0; k < a->n_in; k++)
        direct = direct && a->in_spec[k].dtype == SAMBA_F32 && w->step[k][w->ndim - 1];
    for (int64_t e = begin, at[3], n; e < end; e += n) {
        n = samba__min64(samba__walk_to(w, e, at), end - e);
        if (!direct) n = samba__min64(n, SAMBA__RUN);
        uint8_t *y = samba__out_bytes(a, e);
        for (int32_t k = 0; k < a->n_in; k++)
            x[k] = samba__map_input(a, k, at[k], w->step[k][w->ndim - 1], n, buffer[k]);
        float *value = type == SAMBA_F32 ? (float *)(void *)y : buffer[3];
        loop(value, x[0], a->n_in > 1 ? x[1] : x[0], a->n_in > 2 ? x[2] : x[0], p, n);
        if (type != SAMBA_F32) samba__store_run(y, value, type, n);
    }
}

SAMBA__FN void samba__map_run(const samba_args *a, samba__loop_fn loop)
{
    float p[SAMBA_MAX_ATTR];
    samba__walk w;
    samba__walk_open(&w, &a->out_spec[0].shape, a->in_spec, a->n_in);
    p[0] = 0.0f;
    for (int32_t i = 0; i < a->n_attr; i++)
        p[i] = samba_attr_float(a->attr[i]);
    for (int64_t row = 0; row == 0 || row < a->rows; row++)
        samba__map_range(a, loop, &w, p, a->begin + row * a->pitch, a->end + row * a->pitch);
}

SAMBA__FN void samba__full_kernel(const samba_args *a)
{
    float value = samba_attr_float(a->attr[SAMBA__FULL_VALUE]);
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = value;
}

SAMBA__FN void samba__cast_kernel(const samba_args *a)
{
    float run[SAMBA__RUN];
    int64_t end = samba__min64(a->end * 16, samba_count(&a->out_spec[0].shape));
    if (samba__casts_exactly(a->in_spec[0].dtype, a->out_spec[0].dtype)) {
        samba__cast_integers(a, a->begin * 16, end);
        return;
    }
    samba_dtype to = a->out_spec[0].dtype;
    for (int64_t e = a->begin * 16, n; e < end; e += n) {
        uint8_t *y = samba__out_bytes(a, e);
        n = samba__min64(SAMBA__RUN, end - e);
        if (to == SAMBA_F32)
            samba__load_run((float *)(void *)y, samba__in_bytes(a, 0, e), a->in_spec[0].dtype, n);
        else
            samba__store_run(y, samba__map_input(a, 0, e, 1, n, run), to, n);
    }
}

SAMBA__FN void samba__zero_kernel(const samba_args *a)
{
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = 0.0f;
}

SAMBA__FN void samba__accumulate_kernel(const samba_args *a)
{
    bool anew = a->attr[SAMBA__ACCUMULATE_ANEW] && a->microbatch == 0;
    const float *x = a->in[1];
    float *y = a->out[0];
    if (anew)
        for (int64_t i = a->begin; i < a->end; i++)
            y[i] = x[i];
    else
        for (int64_t i = a->begin; i < a->end; i++)
            y[i] += x[i];
}

/* Elements [begin,end) where the mask begins amid a call of the generator. */
SAMBA__FN void samba__dropout_shifted(const samba_args *a, const samba__dropping *d, int64_t begin,
                                      int64_t end)
{
    uint32_t words[4];
    for (int64_t i = begin; i < end; i++) {
        uint64_t e = d->first + (uint64_t)i;
        if (i == begin || e % 4 == 0) samba__philox(d->key, e / 4, d->counter, words);
        a->out[0][i] = samba__unit(words[e % 4]) < d->rate ? 0.0f : a->in[0][i] * d->scale;
    }
}

SAMBA__FN void samba__dropout_kernel(const samba_args *a)
{
    int64_t count = samba_count(&a->out_spec[0].shape), end = samba__min64(a->end * 4, count);
    samba__dropping d = samba__dropping_of(a, 1, a->attr, count);
    uint32_t words[4];
    if (d.first % 4) {
        samba__dropout_shifted(a, &d, a->begin * 4, end);
        return;
    }
    for (int64_t e = a->begin * 4; e < end; e += 4) {
        const float *x = a->in[0] + e;
        float *y = a->out[0] + e;
        samba__philox_words(d.key, (d.first + (uint64_t)e) / 4, d.counter, words);
        if (e + 4 <= end) {
            SAMBA__UNROLLED
            for (int i = 0; i < 4; i++)
                y[i] = samba__unit(words[i]) < d.rate ? 0.0f : x[i] * d.scale;
        } else {
            for (int i = 0; i < end - e; i++)
                y[i] = samba__unit(words[i]) < d.rate ? 0.0f : x[i] * d.scale;
        }
    }
}
#endif

/* -- The loop of an elementwise op, and its kernel -- */
#if SAMBA__VEC_LANES > 1
#define samba__curve_store SAMBA__OF_SET(samba__curve_store)
#define samba__curve_pad SAMBA__OF_SET(samba__curve_pad)
#define samba__curve_rest SAMBA__OF_SET(samba__curve_rest)

SAMBA__KERNEL void samba__curve_store(float *y, const float *block)
{
    SAMBA__EACH_VEC
    for (int i = 0; i < SAMBA__CURVE_BLOCK; i++)
        y[i] = block[i];
}

SAMBA__KERNEL void samba__curve_pad(float *to, const float *x, int64_t n)
{
    for (int64_t i = 0; i < SAMBA__CURVE_BLOCK; i += SAMBA__VEC_LANES)
        samba__vec_store(to + i, samba__vec_load_some(x + i, false, samba__mask_first(n - i)));
}

/* The last elements of a curve, fewer than a block: as a whole block of copies. */
SAMBA__NOINLINE void samba__curve_rest(samba__loop_fn curve, float *y, const float *a,
                                       const float *b, const float *c, const float *p, int64_t n)
{
    float x[3][SAMBA__CURVE_BLOCK], value[SAMBA__CURVE_BLOCK];
    if (n == 0) return;
    samba__curve_pad(x[0], a, n);
    if (b != a) samba__curve_pad(x[1], b, n);
    if (c != a) samba__curve_pad(x[2], c, n);
    curve(value, x[0], b != a ? x[1] : x[0], c != a ? x[2] : x[0], p, SAMBA__CURVE_BLOCK);
    for (int64_t i = 0; i < n; i += SAMBA__VEC_LANES)
        samba__vec_store_some(y + i, false, samba__mask_first(n - i), samba__vec_load(value + i));
}
#endif

#define SAMBA__LOOP_OF(name) SAMBA__OF_SET(samba__##name##_loop)
#define SAMBA__LOOP_ARGS \
    float *y, const float *a, const float *b, const float *c, const float *p, int64_t n
#define SAMBA__MAP_LOOP(wire, gradient, spread, name, ...) \
    SAMBA__FN void SAMBA__LOOP_OF(name)(SAMBA__LOOP_ARGS) \
    { \
        SAMBA__IN_PLACE \
        for (int64_t i = 0; i < n; i++) \
            y[i] = samba__##name##_value(a[i], b[i], c[i], p); \
    }
/* Curves compute much. Each of their operations waits for the one before: so those of several
   vectors are interleaved, a block of 32 elements. */
#define SAMBA__CURVE_LOOP(wire, gradient, spread, name, ...) \
    SAMBA__FN void SAMBA__LOOP_OF(name)(SAMBA__LOOP_ARGS) \
    { \
        for (; n >= SAMBA__CURVE_BLOCK; n -= 32, y += 32, a += 32, b += 32, c += 32) { \
            float block[SAMBA__CURVE_BLOCK]; \
            SAMBA__FOUR_IN_PLACE \
            for (int i = 0; i < SAMBA__CURVE_BLOCK; i++) \
                block[i] = samba__##name##_value(a[i], b[i], c[i], p); \
            samba__curve_store(y, block); \
        } \
        samba__curve_rest(SAMBA__LOOP_OF(name), y, a, b, c, p, n); \
    }
#define SAMBA__LOOP_KERNEL(wire, gradient, spread, name, ...) \
    SAMBA__FN void SAMBA__OF_SET(samba__##name##_kernel)(const samba_args *args) \
    { \
        samba__map_run(args, SAMBA__LOOP_OF(name)); \
    }
#if SAMBA__VEC_LANES == 1
SAMBA__OPS(SAMBA__MAP_LOOP, SAMBA__MAP_LOOP, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
SAMBA__OPS(SAMBA__LOOP_KERNEL, SAMBA__LOOP_KERNEL, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
#else
#if SAMBA__VEC_LANES < 16
SAMBA__OPS(SAMBA__MAP_LOOP, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
SAMBA__OPS(SAMBA__LOOP_KERNEL, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
#endif
#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("schedule-insns", "sched-pressure")
#endif
SAMBA__OPS(SAMBA__NO_ROW, SAMBA__CURVE_LOOP, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
SAMBA__OPS(SAMBA__NO_ROW, SAMBA__LOOP_KERNEL, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
#if !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

/* ==== [reduce] ================================================================================ */
/* ---- Reductions of a row. Lane l of 32 takes elements l, l + 32, ... in order; then lanes are
   combined in pairs: l with l + 16, l + 8, ... l + 1. The lanes fill the vectors of every
   instruction set, so the order of a sum, and with it its bits, is the same on all. ---- */
#define SAMBA__LANES 32

/* A sum of exponentials is 1 or more; 0 stands for a row whose maximum is not finite. */
SAMBA__INLINE float samba__unless_zero(float sum)
{
    return sum != 0.0f ? sum : SAMBA__NAN;
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_ROWS && defined(SAMBA__SUFFIX)
/* -- Rows -- */
#define samba__vecs_sum SAMBA__OF_SET(samba__vecs_sum)
#define samba__row_part SAMBA__OF_SET(samba__row_part)
#define samba__lanes_sum SAMBA__OF_SET(samba__lanes_sum)
#define samba__row_sum SAMBA__OF_SET(samba__row_sum)
#define samba__row_dot SAMBA__OF_SET(samba__row_dot)
#define samba__row_dot3 SAMBA__OF_SET(samba__row_dot3)
#define samba__row_squares SAMBA__OF_SET(samba__row_squares)
#define samba__row_max SAMBA__OF_SET(samba__row_max)
#define samba__row_exp SAMBA__OF_SET(samba__row_exp)
#define samba__row_exp_sum SAMBA__OF_SET(samba__row_exp_sum)
#define SAMBA__LANE_VECS (SAMBA__LANES / SAMBA__VEC_LANES)

/* The sum of all lanes: of l and l + 16, and so on. */
SAMBA__KERNEL float samba__vecs_sum(samba__vec *v)
{
    SAMBA__EACH_VEC
    for (int half = SAMBA__LANE_VECS / 2; half > 0; half /= 2) {
        SAMBA__EACH_VEC
        for (int k = 0; k < half; k++)
            v[k] = samba__vec_add(v[k], v[k + half]);
    }
    return samba__vec_sum(v[0]);
}

/* Of 32 floats. */
SAMBA__KERNEL float samba__lanes_sum(const float *lane)
{
    samba__vec v[SAMBA__LANE_VECS];
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++)
        v[k] = samba__vec_load(lane + k * SAMBA__VEC_LANES);
    return samba__vecs_sum(v);
}

/* Of x, which has n more elements: SAMBA__VEC_LANES or fewer, then zeros. */
SAMBA__KERNEL samba__vec samba__row_part(const float *x, int64_t n)
{
    return samba__vec_load_some(x, false, samba__mask_first(n));
}

/* sum of x[i] */
SAMBA__FN float samba__row_sum(const float *x, int64_t n)
{
    samba__vec v[SAMBA__LANE_VECS];
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++)
        v[k] = samba__vec_set(0.0f);
    for (; n >= SAMBA__LANES; n -= SAMBA__LANES, x += SAMBA__LANES) {
        SAMBA__EACH_VEC
        for (int k = 0; k < SAMBA__LANE_VECS; k++)
            v[k] = samba__vec_add(v[k], samba__vec_load(x + k * SAMBA__VEC_LANES));
    }
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++) {
        int i = k * SAMBA__VEC_LANES;
        if (i >= n) continue;
        v[k] = samba__vec_add(v[k], samba__row_part(x + i, n - i));
    }
    return samba__vecs_sum(v);
}

/* sum of x[i] y[i] */
SAMBA__FN float samba__row_dot(const float *x, const float *y, int64_t n)
{
    samba__vec v[SAMBA__LANE_VECS];
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++)
        v[k] = samba__vec_set(0.0f);
    for (; n >= SAMBA__LANES; n -= SAMBA__LANES, x += SAMBA__LANES, y += SAMBA__LANES) {
        SAMBA__EACH_VEC
        for (int k = 0; k < SAMBA__LANE_VECS; k++) {
            int i = k * SAMBA__VEC_LANES;
            v[k] = samba__vec_fma(samba__vec_load(x + i), samba__vec_load(y + i), v[k]);
        }
    }
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++) {
        int i = k * SAMBA__VEC_LANES;
        if (i >= n) continue;
        v[k] = samba__vec_fma(samba__row_part(x + i, n - i), samba__row_part(y + i, n - i), v[k]);
    }
    return samba__vecs_sum(v);
}

/* sum of x[i] y[i] z[i] */
SAMBA__FN float samba__row_dot3(const float *x, const float *y, const float *z, int64_t n)
{
    float lane[SAMBA__LANES] = { 0.0f };
    int64_t whole = n - n % SAMBA__LANES;
    for (int64_t at = 0; at < whole; at += SAMBA__LANES) {
        SAMBA__IN_PLACE
        SAMBA__EACH_VEC
        for (int l = 0; l < SAMBA__LANES; l++)
            lane[l] = samba__fma(x[at + l] * y[at + l], z[at + l], lane[l]);
    }
    for (int64_t i = whole; i < n; i++)
        lane[i - whole] = samba__fma(x[i] * y[i], z[i], lane[i - whole]);
    return samba__lanes_sum(lane);
}

/* sum of (x[i] - mean)^2 */
SAMBA__FN float samba__row_squares(const float *x, float mean, int64_t n)
{
    samba__vec v[SAMBA__LANE_VECS], d, less = samba__vec_set(-mean);
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++)
        v[k] = samba__vec_set(0.0f);
    for (; n >= SAMBA__LANES; n -= SAMBA__LANES, x += SAMBA__LANES) {
        SAMBA__EACH_VEC
        for (int k = 0; k < SAMBA__LANE_VECS; k++) {
            d = samba__vec_add(samba__vec_load(x + k * SAMBA__VEC_LANES), less);
            v[k] = samba__vec_fma(d, d, v[k]);
        }
    }
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++) {
        int i = k * SAMBA__VEC_LANES;
        if (i >= n) continue;
        d = samba__vec_add(samba__row_part(x + i, n - i), less);
        d = samba__vec_only(d, samba__mask_first(n - i));
        v[k] = samba__vec_fma(d, d, v[k]);
    }
    return samba__vecs_sum(v);
}

/* The largest, or NaN if there is one: of any order. */
SAMBA__FN float samba__row_max(const float *x, int64_t n)
{
    float top = -SAMBA__INF;
    samba__vec v[SAMBA__LANE_VECS];
    int64_t whole = n - n % SAMBA__LANES;
    for (int64_t i = whole; i < n; i++)
        top = samba__larger(top, x[i]);
    if (whole == 0) return top;
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++)
        v[k] = samba__vec_set(top);
    for (int64_t at = 0; at < whole; at += SAMBA__LANES) {
        SAMBA__EACH_VEC
        for (int k = 0; k < SAMBA__LANE_VECS; k++)
            v[k] = samba__vec_larger(v[k], samba__vec_load(x + at + k * SAMBA__VEC_LANES));
    }
    SAMBA__EACH_VEC
    for (int half = SAMBA__LANE_VECS / 2; half > 0; half /= 2) {
        SAMBA__EACH_VEC
        for (int k = 0; k < half; k++)
            v[k] = samba__vec_larger(v[k], v[k + half]);
    }
    return samba__vec_largest(v[0]);
}

/* y = e^(x - top), in place or not, and its sum: 0 if top is not finite, else 1 or more. */
SAMBA__FN float samba__row_exp(float *y, const float *x, float top, int64_t n)
{
    for (int64_t at = 0, end; at < n; at = end) {
        end = samba__min64(at + 256, n);
        if (n > 1024) samba__prefetch_rows(x + n + at, 16, (end - at) / 16); /* the next row */
        SAMBA__IN_PLACE
        for (int64_t i = at; i < end; i++)
            y[i] = samba__exp_below(x[i] - top);
    }
    return samba__row_sum(y, n);
}

/* sum of e^(x - top), NaN if top is not finite; and top. x is read once: where a block brings a
   larger top, what was summed before shrinks by e^(old - new): Milakov, Gimelshein, "Online
   normalizer calculation for softmax", 2018. */
SAMBA__FN float samba__row_exp_sum(const float *x, int64_t n, float *top)
{
    enum { BLOCK = 256 };

    float sum = 0.0f, old = *top = -SAMBA__INF, e[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t m = samba__min64(BLOCK, n - at);
        *top = samba__row_max(x + at, m);
        if (*top <= old)
            *top = old;
        else
            sum = samba__mul(sum, samba__exp(old - *top));
        samba__prefetch_rows(x + at + 2 * BLOCK, 16, BLOCK / 16); /* memory would rest meanwhile */
        sum += samba__row_exp(e, x + at, *top, m);
        old = *top;
    }
    return samba__unless_zero(sum);
}

#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_ROWS
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

/* ---- sum, mean, max, square_sum: attributes are a bit mask of axes and keepdim ----
   The reduced elements of one output are cut into pieces, by the shape alone, so that the result
   does not depend on threads. Phase 0 reduces each piece (into scratch, if there is more than
   one), phase 1 combines the pieces in order. */

typedef enum samba__reducer {
    SAMBA__REDUCER_SUM,
    SAMBA__REDUCER_MEAN,
    SAMBA__REDUCER_MAX,
    SAMBA__REDUCER_SQUARES
} samba__reducer;

#define SAMBA__REDUCE_PIECE 8192 /* elements of a piece if the innermost axis is reduced */
#define SAMBA__REDUCE_ROWS 512   /* rows of a piece if it is kept */
#define SAMBA__REDUCE_COLUMNS 64 /* columns of a unit if it is kept */

/* The walk of a reduction: kept dimensions make the outputs, reduced ones the runs. */
typedef struct samba__reduce_plan {
    bool rows;                 /* the innermost axis is reduced: a run is `inner` long */
    bool cut;                  /* the only run is cut into runs of SAMBA__REDUCE_PIECE */
    int64_t inner;             /* merged length of the innermost group of axes */
    int64_t n_out, n_kept;     /* outputs; outputs without the innermost group */
    int64_t runs;              /* runs (or rows) that make one output */
    int64_t piece, n_pieces;   /* runs per piece */
    samba__walk kept, reduced; /* the other axes */
} samba__reduce_plan;

SAMBA__FN void samba__reduce_plan_of(samba__reduce_plan *f, const samba_shape *x, int32_t mask)
{
    const int64_t piece = SAMBA__REDUCE_PIECE;
    int32_t last = x->ndim - 1;
    memset(f, 0, sizeof *f);
    f->kept.n_in = f->reduced.n_in = 1;
    f->rows = last < 0 || (mask >> last & 1);
    f->inner = f->n_kept = f->runs = 1;
    for (; last >= 0 && (mask >> last & 1) == (int32_t)f->rows; last--)
        f->inner *= x->dim[last];
    for (int32_t i = 0; i <= last; i++) {
        int64_t step = samba__inner(x, i);
        bool gone = mask >> i & 1;
        samba__walk_push(gone ? &f->reduced : &f->kept, x->dim[i], &step);
        *(gone ? &f->runs : &f->n_kept) *= x->dim[i];
    }
    f->cut = f->rows && f->runs == 1 && f->inner > piece;
    if (f->cut) {
        f->runs = samba__ceil_div(f->inner, piece);
        samba__walk_push(&f->reduced, f->runs, &piece);
    }
    SAMBA_ASSERT(f->cut || f->n_kept * f->runs * f->inner == samba_count(x));
    f->n_out = f->rows ? f->n_kept : f->n_kept * f->inner;
    f->piece = f->rows ? samba__max64(1, piece / f->inner) : SAMBA__REDUCE_ROWS;
    f->n_pieces = samba__ceil_div(f->runs, f->piece);
}

SAMBA__FN bool samba__reduce_rule(samba_call *c, samba__reducer kind)
{
    (void)kind;
    if (!samba__expect_all_f32(c, 1, 1, 2)) return false;
    const samba_shape *x = &c->in[0].shape;
    int32_t mask = c->attr[SAMBA__REDUCE_AXES], keep = c->attr[SAMBA__REDUCE_KEEPDIM];
    if (mask < 0 || mask >> x->ndim || keep < 0 || keep > 1)
        return samba_refuse(c, SAMBA_EARG,
                            "an axis is out of range or named twice; input 0 %S has "
                            "axes -%d ... %d",
                            x, x->ndim, x->ndim - 1);
    c->out[0].shape = samba__reduced(x, mask, keep);
    return true;
}

SAMBA__FN void samba__reduce_work(samba_work *w, const samba_call *c, samba__reducer kind)
{
    samba__reduce_plan f;
    (void)kind;
    samba__reduce_plan_of(&f, &c->in[0].shape, c->attr[SAMBA__REDUCE_AXES]);
    int64_t blocks = f.rows ? 1 : samba__ceil_div(f.inner, SAMBA__REDUCE_COLUMNS);
    w->units[0] = f.n_kept * f.n_pieces * blocks;
    w->flops = samba_count(&c->in[0].shape);
    if (f.n_pieces == 1) return;
    w->n_phases = 2;
    w->units[1] = f.n_out;
    w->scratch = f.n_out * f.n_pieces * 4;
}

SAMBA__INLINE float samba__combine(samba__reducer kind, float a, float b)
{
    if (kind != SAMBA__REDUCER_MAX) return a + b;
    if (a != a || b != b) return a != a ? a : b;
    return a > b ? a : b;
}

/* Where run (or row) number i of a walk begins. */
SAMBA__FN int64_t samba__run_start(const samba__walk *w, int64_t i)
{
    int64_t at = i * w->step[0][0];
    if (w->ndim > 1) samba__walk_to(w, i, &at);
    return at;
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__reduce_row SAMBA__OF_NARROW(samba__reduce_row)
#define samba__add_columns SAMBA__OF_NARROW(samba__add_columns)
#define samba__reduce_rows SAMBA__OF_NARROW(samba__reduce_rows)
#define samba__reduce_columns SAMBA__OF_NARROW(samba__reduce_columns)
#define samba__reduce_pieces SAMBA__OF_NARROW(samba__reduce_pieces)
#define samba__reduce_run SAMBA__OF_NARROW(samba__reduce_run)
#define samba__argmax_kernel SAMBA__OF_NARROW(samba__argmax_kernel)
#if SAMBA__VEC_LANES < 16
SAMBA__FN float samba__reduce_row(samba__reducer kind, const float *x, int64_t n)
{
    if (kind == SAMBA__REDUCER_MAX) return samba__row_max(x, n);
    return kind == SAMBA__REDUCER_SQUARES ? samba__row_squares(x, 0.0f, n) : samba__row_sum(x, n);
}

/* One piece of one output whose innermost axis is reduced. */
SAMBA__FN float samba__reduce_rows(const samba__reduce_plan *f, samba__reducer kind, const float *x,
                                   int64_t begin, int64_t end)
{
    float value = 0.0f;
    for (int64_t r = begin; r < end; r++) {
        int64_t n = f->inner;
        if (f->cut) n = samba__min64(SAMBA__REDUCE_PIECE, n - r * SAMBA__REDUCE_PIECE);
        float run = samba__reduce_row(kind, x + samba__run_start(&f->reduced, r), n);
        value = r == begin ? run : samba__combine(kind, value, run);
    }
    return value;
}

/* Adds a row of 64 columns, or its squares. */
SAMBA__KERNEL void samba__add_columns(float *acc, const float *x, bool squares)
{
    if (squares) {
        SAMBA__EACH_VEC
        for (int k = 0; k < SAMBA__REDUCE_COLUMNS; k += SAMBA__VEC_LANES) {
            samba__vec v = samba__vec_load(x + k);
            samba__vec_store(acc + k, samba__vec_fma(v, v, samba__vec_load(acc + k)));
        }
        return;
    }
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__REDUCE_COLUMNS; k += SAMBA__VEC_LANES)
        samba__vec_store(acc + k, samba__vec_add(samba__vec_load(acc + k), samba__vec_load(x + k)));
}

/* One piece of up to 64 neighboring outputs whose innermost axis is kept. */
SAMBA__FN void samba__reduce_columns(const samba__reduce_plan *f, samba__reducer kind,
                                     const float *x, int64_t begin, int64_t end, float *y,
                                     int64_t n)
{
    bool max = kind == SAMBA__REDUCER_MAX, squares = kind == SAMBA__REDUCER_SQUARES;
    float acc[SAMBA__REDUCE_COLUMNS];
    const float *v = x + samba__run_start(&f->reduced, begin);
    for (int64_t j = 0; j < n; j++)
        acc[j] = squares ? v[j] * v[j] : v[j];
    for (int64_t r = begin + 1; r < end; r++) {
        v = x + samba__run_start(&f->reduced, r);
        if (n == SAMBA__REDUCE_COLUMNS && !max)
            samba__add_columns(acc, v, squares);
        else if (n == SAMBA__REDUCE_COLUMNS)
            for (int j = 0; j < SAMBA__REDUCE_COLUMNS; j++)
                acc[j] = samba__combine(kind, acc[j], v[j]);
        else if (max)
            for (int64_t j = 0; j < n; j++)
                acc[j] = samba__combine(kind, acc[j], v[j]);
        else if (squares)
            for (int64_t j = 0; j < n; j++)
                acc[j] = samba__fma(v[j], v[j], acc[j]);
        else
            for (int64_t j = 0; j < n; j++)
                acc[j] += v[j];
    }
    memcpy(y, acc, (size_t)n * sizeof *y);
}

SAMBA__FN void samba__reduce_pieces(const samba_args *a, const samba__reduce_plan *f,
                                    samba__reducer kind, float *y, float count)
{
    int64_t blocks = f->rows ? 1 : samba__ceil_div(f->inner, SAMBA__REDUCE_COLUMNS);
    for (int64_t u = a->begin; u < a->end; u++) {
        int64_t p = u / blocks % f->n_pieces, kept = u / blocks / f->n_pieces, first = p * f->piece;
        int64_t last = samba__min64(first + f->piece, f->runs);
        int64_t j = u % blocks * SAMBA__REDUCE_COLUMNS, n = 1;
        const float *x = a->in[0] + samba__run_start(&f->kept, kept) + j;
        float *to = y + p * f->n_out + kept * (f->rows ? 1 : f->inner) + j;
        if (!f->rows) n = samba__min64(SAMBA__REDUCE_COLUMNS, f->inner - j);
        if (f->rows)
            *to = samba__reduce_rows(f, kind, x, first, last);
        else
            samba__reduce_columns(f, kind, x, first, last, to, n);
        if (count == 1.0f) continue;
        for (int64_t i = 0; i < n; i++)
            to[i] /= count;
    }
}

/* Only a mean has a count other than 1; its sums are divided by it at the end. */
SAMBA__NOINLINE void samba__reduce_run(const samba_args *a, samba__reducer kind)
{
    samba__reduce_plan f;
    samba__reduce_plan_of(&f, &a->in_spec[0].shape, a->attr[SAMBA__REDUCE_AXES]);
    bool once = f.n_pieces == 1;
    float *sums = once ? a->out[0] : (float *)a->scratch, count = 1.0f;
    if (kind == SAMBA__REDUCER_MEAN) count = (float)(samba_count(&a->in_spec[0].shape) / f.n_out);
    if (a->phase == 0) {
        samba__reduce_pieces(a, &f, kind, sums, once ? count : 1.0f);
        return;
    }
    for (int64_t o = a->begin; o < a->end; o++) {
        float value = sums[o];
        for (int64_t p = 1; p < f.n_pieces; p++)
            value = samba__combine(kind, value, sums[p * f.n_out + o]);
        a->out[0][o] = value / count;
    }
}

SAMBA__FN void samba__argmax_kernel(const samba_args *a)
{
    const samba_shape *shape = &a->in_spec[0].shape;
    int64_t n = shape->dim[a->attr[SAMBA__ARGMAX_AXIS]],
            inner = samba__inner(shape, a->attr[SAMBA__ARGMAX_AXIS]);
    for (int64_t u = a->begin; u < a->end; u++) {
        const float *x = a->in[0] + u / inner * n * inner + u % inner;
        int32_t best = 0;
        for (int64_t i = 1; i < n; i++) {
            float top = x[best * inner], v = x[i * inner];
            if (v > top || (v != v && top == top)) best = (int32_t)i;
        }
        memcpy(a->out[0] + u, &best, sizeof best);
    }
}
#endif
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

/* The mask of a list of axes; -1 if one is out of range or twice there. No axes means all. */
SAMBA__FN int32_t samba__axis_mask(const samba_tensor *x, const samba_shape *axes)
{
    int32_t mask = 0;
    for (int32_t i = 0; i < axes->ndim && i < SAMBA_MAX_DIMS; i++) {
        int32_t axis = samba__wrap_axis(x, axes->dim[i]);
        if (axis < 0 || axis >= x->shape.ndim || (mask >> axis & 1)) return -1;
        mask |= 1 << axis;
    }
    return axes->ndim ? mask : (1 << x->shape.ndim) - 1;
}

/* Gives dy, from which axes were dropped, the rank of input 0 again, with 1 in their place. */
SAMBA__FN samba_tensor *samba__with_axes(const samba_vjp *g, samba_tensor *dy)
{
    return samba_reshape(dy, samba__reduced(&g->in[0]->shape, g->attr[SAMBA__REDUCE_AXES], true));
}

#define SAMBA__BUILD_REDUCTION(name) \
    SAMBA__OP_API samba_tensor *samba_##name(samba_tensor *x, samba_shape axes, bool keepdim) \
    { \
        int32_t attr[2] = { x ? samba__axis_mask(x, &axes) : 0, keepdim }; \
        return samba__emit1(SAMBA__OP_##name, x, attr, 2); \
    }
SAMBA__BUILD_REDUCTION(sum)
SAMBA__BUILD_REDUCTION(mean)
SAMBA__BUILD_REDUCTION(max)
SAMBA__GRAD1(sum, samba_expand(samba__with_axes(g, dy), x->shape))
SAMBA__GRAD1(
    mean,
    samba_expand(samba_scale(samba__with_axes(g, dy),
                             1.0f / (float)(samba_count(&x->shape) / samba_count(&y->shape))),
                 x->shape))

/* Each of the k elements that equal the maximum gets dy/k. */
SAMBA__FN void samba__max_vjp(samba_vjp *g)
{
    samba_tensor *y = samba__with_axes(g, g->out[0]), *dy = samba__with_axes(g, g->dout[0]);
    samba_tensor *top = samba_cast(samba_eq(g->in[0], y), SAMBA_F32);
    samba_tensor *ties = samba__emit1(SAMBA__OP_sum, top, g->attr, 2);
    g->din[0] = samba_mul(top, samba_div(dy, ties ? samba__with_axes(g, ties) : NULL));
}
/* Sum of squares of everything; the gradient norm is made of these. dx = 2 x dy */
SAMBA__GRAD1(square_sum, samba_scale(samba_mul(x, samba__with_axes(g, dy)), 2.0f))

/* mean, sum or all of (x - y)^2. */
SAMBA__OP_API samba_tensor *samba_mse(samba_tensor *x, samba_tensor *y, samba_reduction reduction)
{
    if ((unsigned)reduction > SAMBA_REDUCE_NONE && x)
        SAMBA__FAIL((x->session, SAMBA_ERANGE,
                     "in samba_mse of %s: reduction %d is not mean 0, "
                     "sum 1, none 2",
                     x->name, (int32_t)reduction));
    samba_tensor *d = samba_sub(x, y), *square = samba_mul(d, d);
    if (d && !samba__same_shape(&x->shape, &y->shape))
        SAMBA__WARN((x->session,
                     "in samba_mse(%s %S, %s %S): the shapes differ and are broadcast "
                     "to %S; reshape one of them if each value has one target",
                     x->name, &x->shape, y->name, &y->shape, &d->shape));
    if (reduction == SAMBA_REDUCE_NONE) return square;
    return reduction == SAMBA_REDUCE_SUM ? samba_sum(square, samba_scalar_shape(), false)
                                         : samba_mean(square, samba_scalar_shape(), false);
}

/* ---- argmax: the index of the first largest element; a NaN counts as largest ---- */
SAMBA__OP_API samba_tensor *samba_argmax(samba_tensor *x, int32_t axis, bool keepdim)
{
    int32_t attr[2] = { samba__wrap_axis(x, axis), keepdim };
    return samba__emit1(SAMBA__OP_argmax, x, attr, 2);
}

SAMBA__FN bool samba__argmax_shape(samba_call *c)
{
    if (!samba__expect_all_f32(c, 1, 1, 2) || !samba__expect_axis(c, c->attr[SAMBA__ARGMAX_AXIS]))
        return false;
    c->out[0].dtype = SAMBA_I32;
    c->out[0].shape = samba__reduced(&c->in[0].shape, 1 << c->attr[SAMBA__ARGMAX_AXIS],
                                     c->attr[SAMBA__ARGMAX_KEEPDIM] != 0);
    return true;
}

SAMBA__FN void samba__argmax_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba_count(&c->out[0].shape);
    w->flops = samba_count(&c->in[0].shape);
}

/* ==== [matmul] ================================================================================ */
/* ---- matmul: c = op(a) op(b), batched over leading dimensions; attributes: transpose a, transpose
   b ---- da = dy op(b)^T and db = op(a)^T dy, written with the transposes that avoid a copy. */

SAMBA__OP_API samba_tensor *samba_matmul_transposed(samba_tensor *a, bool transpose_a,
                                                    samba_tensor *b, bool transpose_b)
{
    int32_t attr[2] = { transpose_a, transpose_b };
    return samba__emit2(SAMBA__OP_matmul, a, b, attr, 2);
}

/* As torch: a vector on the left is a row, on the right a column, which the result lacks again. */
SAMBA__OP_API samba_tensor *samba_matmul(samba_tensor *a, samba_tensor *b)
{
    if (!a || !b) return NULL;
    bool row = a->shape.ndim == 1, column = b->shape.ndim == 1;
    if (row) a = samba_unsqueeze(a, 0);
    if (column) b = samba_unsqueeze(b, 1);
    samba_tensor *c = samba_matmul_transposed(a, false, b, false);
    if (column && c) c = samba_squeeze(c, -1);
    if (!row || !c) return c;
    return samba_squeeze(c, column ? -1 : -2);
}

/* The sizes of a product: batch shapes and m, n, k of each matrix. */
typedef struct samba__product {
    samba_shape batch, a_batch, b_batch;
    int64_t m, n, k;
    bool ta, tb;
} samba__product;

SAMBA__FN samba__product samba__product_of(const samba_spec *in, const int32_t *attr)
{
    samba__product p;
    const samba_shape *a = &in[0].shape, *b = &in[1].shape;
    int32_t bad = 0;
    p.ta = attr[SAMBA__MATMUL_TRANSPOSE_A] != 0;
    p.tb = attr[SAMBA__MATMUL_TRANSPOSE_B] != 0;
    p.m = a->dim[a->ndim - (p.ta ? 1 : 2)];
    p.k = a->dim[a->ndim - (p.ta ? 2 : 1)];
    p.n = b->dim[b->ndim - (p.tb ? 2 : 1)];
    p.a_batch = *a;
    p.b_batch = *b;
    p.a_batch.ndim -= 2;
    p.b_batch.ndim -= 2;
    if (!samba__broadcast(&p.a_batch, &p.b_batch, &p.batch, &bad)) p.batch = samba_scalar_shape();
    if (p.b_batch.ndim == 0 && !p.ta) { /* one b for all: the batch is only more rows */
        p.m *= samba_count(&p.a_batch);
        p.batch = p.a_batch = samba_scalar_shape();
    }
    return p;
}

SAMBA__FN bool samba__matmul_shape(samba_call *c)
{
    if (!samba__expect(c, 2, 2, 2) || !samba__expect_f32(c, 0) || !samba__expect_float(c, 1))
        return false;
    samba_shape a = c->in[0].shape, b = c->in[1].shape, *y = &c->out[0].shape;
    c->out[0].dtype = SAMBA_F32;
    int32_t ta = c->attr[SAMBA__MATMUL_TRANSPOSE_A], tb = c->attr[SAMBA__MATMUL_TRANSPOSE_B],
            bad = 0;
    if (a.ndim < 2 || b.ndim < 2)
        return samba_refuse(c, SAMBA_ESHAPE, "both inputs need at least 2 dimensions");
    if (ta < 0 || ta > 1 || tb < 0 || tb > 1) return samba_refuse(c, SAMBA_EARG, "malformed call");
    a.ndim -= 2;
    b.ndim -= 2;
    const int32_t *last_a = a.dim + a.ndim, *last_b = b.dim + b.ndim; /* rows and columns */
    bool fine = (last_a[!ta] == last_b[tb]
                 || samba_refuse(c, SAMBA_ESHAPE,
                                 "the inner dimensions differ: %d of input 0 "
                                 "against %d of input 1; one of them may need samba_transpose",
                                 last_a[!ta], last_b[tb]))
        && (samba__broadcast(&a, &b, y, &bad)
            || samba_refuse(c, SAMBA_ESHAPE, "the batch dimensions %S and %S do not broadcast", &a,
                            &b))
        && (y->ndim + 2 <= SAMBA_MAX_DIMS
            || samba_refuse(c, SAMBA_ESHAPE, "more than %d dimensions", SAMBA_MAX_DIMS));
    if (!fine) return false;
    samba__push_dim(y, last_a[ta]);
    samba__push_dim(y, last_b[!tb]);
    return true;
}

/* The rule of an op that adds to its last input what another op makes of those before. */
SAMBA__FN bool samba__sum_into(samba_call *c, bool (*rule)(samba_call *))
{
    int32_t n = c->n_in;
    if (n != 3 || !samba__has(c, 2)) return samba_refuse(c, SAMBA_EARG, "input 2 is missing");
    c->n_in = n - 1;
    bool fits = rule(c);
    c->n_in = n;
    return fits
        && ((c->in[2].dtype == SAMBA_F32 && samba__same_shape(&c->in[2].shape, &c->out[0].shape))
            || samba_refuse(c, SAMBA_ESHAPE,
                            "input 2 must be f32 %S, as what is added to "
                            "it",
                            &c->out[0].shape));
}

SAMBA__FN bool samba__matmul_accumulate_shape(samba_call *c)
{
    return samba__sum_into(c, samba__matmul_shape);
}

SAMBA__FN void samba__matmul_work(samba_work *w, const samba_call *c)
{
    samba__product p = samba__product_of(c->in, c->attr);
    w->units[0] = samba_count(&p.batch) * samba__gemm_tiles(p.m, p.n, p.k);
    w->flops = 2 * samba_count(&p.batch) * p.m * p.n * p.k;
    w->part = -1;
}

SAMBA__KERNEL void samba__matmul_kernel(const samba_args *a)
{
    samba__product p = samba__product_of(a->in_spec, a->attr);
    int64_t tiles = samba__gemm_tiles(p.m, p.n, p.k);
    samba__gemm g = SAMBA__ZEROED;
    g.m = p.m;
    g.n = g.c_row = p.n;
    g.k = p.k;
    g.args = a;
    g.a_row = p.ta ? 1 : p.k;
    g.a_col = p.ta ? p.m : 1;
    g.b_row = p.tb ? 1 : p.n;
    g.b_col = p.tb ? p.k : 1;
    g.accumulate = a->n_in > 2;
    g.b_type = a->in_spec[1].dtype;
    for (int64_t u = a->begin, end; u < a->end; u = end) {
        int64_t i = u / tiles;
        end = samba__min64(a->end, (i + 1) * tiles);
        g.a = a->in[0] + samba__stretched_at(&p.a_batch, &p.batch, p.batch.ndim, i) * p.m * p.k;
        int64_t b = samba__stretched_at(&p.b_batch, &p.batch, p.batch.ndim, i) * p.n * p.k;
        g.b = (const float *)(const void *)samba__in_bytes(a, 1, b);
        g.c = a->out[0] + i * p.m * p.n;
        samba__gemm_run(&g, u - i * tiles, end - i * tiles, a->local, a->isa);
    }
}

/* c <- c + op(a) op(b): gradients are summed where they are stored. */
SAMBA__KERNEL void samba__matmul_accumulate_kernel(const samba_args *a)
{
    samba__matmul_kernel(a);
}

/* x (*,k) as one matrix (rows,k). */
SAMBA__FN samba_tensor *samba__as_matrix(samba_tensor *x)
{
    int32_t dim[2] = { -1, 0 };
    if (!x || x->shape.ndim == 2) return x;
    dim[1] = x->shape.dim[x->shape.ndim - 1];
    return samba_reshape(x, samba__shape_of(dim, 2));
}

SAMBA__FN void samba__matmul_vjp(samba_vjp *g)
{
    samba_tensor *a = g->in[0], *b = g->in[1], *dy = g->dout[0];
    bool ta = g->attr[SAMBA__MATMUL_TRANSPOSE_A] != 0, tb = g->attr[SAMBA__MATMUL_TRANSPOSE_B] != 0;
    samba_tensor *da = ta ? samba_matmul_transposed(samba_cast(b, SAMBA_F32), tb, dy, true)
                          : samba_matmul_transposed(dy, false, b, !tb);
    g->din[0] = samba__to_input(g, 0, da);
    /* one product instead of a batch and its sum */
    if (b->shape.ndim == 2 && a->shape.ndim > 2 && !ta) {
        a = samba__as_matrix(a);
        dy = samba__as_matrix(dy);
    }
    samba_tensor *db = tb ? samba_matmul_transposed(dy, true, a, ta)
                          : samba_matmul_transposed(a, !ta, dy, false);
    g->din[1] = samba__to_input(g, 1, db);
}

/* ---- affine: y = x w^T + b; dx = dy w, dw = dy^T x, db = sum of dy's rows ---- */
SAMBA__OP_API samba_tensor *samba_affine(samba_tensor *x, samba_tensor *w, samba_tensor *b)
{
    return samba__emit3(SAMBA__OP_affine, x, w, b, NULL, 0);
}
SAMBA__MATCHES(affine, "*k,w:nk,n?->*n", 0)

/* The product for x (*,k) and y (*,n). */
SAMBA__FN samba__gemm samba__affine_gemm(const samba_spec *x, const samba_spec *y)
{
    samba__gemm g = SAMBA__ZEROED;
    g.n = g.c_row = samba__last_dim(y);
    g.k = g.a_row = g.b_col = samba__last_dim(x);
    g.m = samba_count(&x->shape) / g.k;
    g.a_col = g.b_row = 1;
    return g;
}

SAMBA__FN void samba__affine_work(samba_work *w, const samba_call *c)
{
    samba__gemm g = samba__affine_gemm(c->in, c->out);
    w->units[0] = samba__gemm_tiles(g.m, g.n, g.k);
    w->flops = 2 * g.m * g.n * g.k;
    w->part = -1;
}

/* w (n,k), or packed, with attribute n: then its scales stand before the bias. */
SAMBA__KERNEL void samba__affine_kernel(const samba_args *a)
{
    samba__gemm g = samba__affine_gemm(a->in_spec, a->out_spec);
    bool packed = a->n_attr > 0;
    int32_t bias = packed ? 3 : 2;
    g.a = a->in[0];
    g.c = a->out[0];
    g.bias = a->n_in > bias ? a->in[bias] : NULL;
    if (packed) {
        g.packed = a->in[1];
        g.scale = (const uint16_t *)(const void *)a->in[2];
    } else
        g.b = a->in[1];
    g.b_type = a->in_spec[1].dtype;
    g.args = a;
    samba__gemm_run(&g, a->begin, a->end, a->local, a->isa);
}

SAMBA__FN void samba__affine_vjp(samba_vjp *g)
{
    samba_tensor *dy = samba__as_matrix(g->dout[0]), *x = samba__as_matrix(g->in[0]);
    samba_shape first = samba_scalar_shape();
    first.ndim = 1;
    g->din[0] = samba_reshape(samba_matmul_transposed(dy, false, g->in[1], false), g->in[0]->shape);
    g->din[1] = samba_matmul_transposed(dy, true, x, false);
    if (g->n_in > 2 && g->in[2]) g->din[2] = samba_sum(dy, first, false);
}

/* ---- affine_packed: affine with w (n,k) as packed weights and, for integers, their scales: inputs
   x, packed, scale or NULL, b or NULL; attribute n. Only programs that infer have it. ---- */
/* Inputs 1 and 2 hold packed weights (n,k). */
SAMBA__FN bool samba__expect_packed(samba_call *c, int32_t n, int32_t k)
{
    const samba_spec *q = &c->in[1], *d = &c->in[2];
    bool integer = q->dtype == SAMBA_I8 || q->dtype == SAMBA_U8;
    int32_t panels = n > 0 ? (n - 1) / SAMBA__PANEL + 1 : 0;
    int32_t dim[3] = { panels, q->dtype == SAMBA_U8 ? k / 2 : k, SAMBA__PANEL };
    samba_shape want = samba__shape_of(dim, 3);
    dim[1] = k / SAMBA__GROUP;
    samba_shape scales = samba__shape_of(dim, 3);
    bool known = integer || q->dtype == SAMBA_F32 || q->dtype == SAMBA_BF16;
    bool fits = known && k > 0 && panels > 0 && samba__same_shape(&q->shape, &want)
        && integer == samba__has(c, 2) && (!integer || k % SAMBA__GROUP == 0);
    if (fits && integer) fits = d->dtype == SAMBA_BF16 && samba__same_shape(&d->shape, &scales);
    return fits
        || samba_refuse(c, SAMBA_ESHAPE,
                        "input 1, %T %S, is no matrix %d x %d of packed "
                        "weights with its scales",
                        (int)q->dtype, &q->shape, n, k);
}

SAMBA__FN bool samba__affine_packed_shape(samba_call *c)
{
    if (!samba__expect(c, 2, 4, 1) || !samba__expect_f32(c, 0)) return false;
    const samba_spec *x = &c->in[0], *b = &c->in[3];
    bool fine = (x->shape.ndim > 0 || samba_refuse(c, SAMBA_ESHAPE, "input 0 needs a dimension"))
        && samba__expect_packed(c, c->attr[SAMBA__PACKED_ROWS], (int32_t)samba__last_dim(x))
        && (!samba__has(c, 3)
            || (b->dtype == SAMBA_F32 && b->shape.ndim == 1
                && b->shape.dim[0] == c->attr[SAMBA__PACKED_ROWS])
            || samba_refuse(c, SAMBA_ESHAPE, "the bias must have %d values in f32",
                            c->attr[SAMBA__PACKED_ROWS]));
    c->out[0] = *x;
    if (fine) c->out[0].shape.dim[x->shape.ndim - 1] = c->attr[SAMBA__PACKED_ROWS];
    return fine;
}

SAMBA__KERNEL void samba__affine_packed_kernel(const samba_args *a)
{
    samba__affine_kernel(a);
}

/* ==== [shape-ops] ============================================================================= */
/* ---- reshape: the same elements in order, in place. Attributes: the shape ---- */
SAMBA__OP_API samba_tensor *samba_reshape(samba_tensor *x, samba_shape shape)
{
    int64_t known = 1;
    int32_t unknown = -1;
    if (!x) return NULL;
    for (int32_t i = 0; i < shape.ndim && i < SAMBA_MAX_DIMS; i++) {
        int32_t d = shape.dim[i];
        if (d == -1 && unknown < 0)
            unknown = i;
        else
            known = d > 0 && known <= SAMBA__MAX_COUNT / d ? known * d : 0; /* 0: refused */
    }
    if (unknown >= 0 && known > 0) shape.dim[unknown] = (int32_t)(samba_count(&x->shape) / known);
    return samba__same_shape(&x->shape, &shape)
        ? x
        : samba__emit1(SAMBA__OP_reshape, x, shape.dim, shape.ndim);
}

SAMBA__FN bool samba__reshape_shape(samba_call *c)
{
    if (!samba__expect_dims(c)) return false;
    samba_shape *y = &c->out[0].shape;
    int64_t count = samba_count(&c->in[0].shape);
    c->out[0].dtype = c->in[0].dtype;
    *y = samba__shape_of(c->attr, c->n_attr);
    return (samba__sound_shape(y) && samba_count(y) == count)
        || samba_refuse(c, SAMBA_ESHAPE,
                        "%l elements do not fill the new shape %S; the products "
                        "must be equal (one dimension may be -1)",
                        count, y);
}

SAMBA__KERNEL void samba__reshape_kernel(const samba_args *a)
{
    const uint8_t *x = samba__in_bytes(a, 0, a->begin);
    uint8_t *y = samba__out_bytes(a, a->begin);
    if (x != y) memcpy(y, x, (size_t)(samba__out_bytes(a, a->end) - y));
}
SAMBA__GRAD1(reshape, samba_reshape(dy, x->shape))

SAMBA__OP_API samba_tensor *samba_flatten(samba_tensor *x, int32_t from_axis)
{
    if (!samba__find_axis(x, "flatten", &from_axis, 0)) return NULL;
    samba_shape shape = x->shape;
    shape.ndim = from_axis + 1;
    shape.dim[from_axis] = -1;
    return samba_reshape(x, shape);
}

/* Removing an axis that is not 1 is refused by reshape's own rule. */
SAMBA__OP_API samba_tensor *samba_squeeze(samba_tensor *x, int32_t axis)
{
    samba_shape shape = samba_scalar_shape();
    if (!samba__find_axis(x, "squeeze", &axis, 0)) return NULL;
    for (int32_t i = 0; i < x->shape.ndim; i++)
        if (i != axis) samba__push_dim(&shape, x->shape.dim[i]);
    return samba_reshape(x, shape);
}

SAMBA__OP_API samba_tensor *samba_unsqueeze(samba_tensor *x, int32_t axis)
{
    samba_shape shape = samba_scalar_shape();
    if (!samba__find_axis(x, "unsqueeze", &axis, 1)) return NULL;
    for (int32_t i = 0; i <= x->shape.ndim; i++) {
        if (i == axis) samba__push_dim(&shape, 1);
        if (i < x->shape.ndim) samba__push_dim(&shape, x->shape.dim[i]);
    }
    return samba_reshape(x, shape);
}

/* ---- Copies with steps: permute, slice and expand read with them, pad writes with them ---- */
SAMBA__INLINE void samba__copy_run(uint8_t *y, int64_t y_step, const uint8_t *x, int64_t x_step,
                                   int64_t n, size_t size)
{
    int64_t y_bytes = y_step * (int64_t)size, x_bytes = x_step * (int64_t)size;
    if (x_step == 1 && y_step == 1)
        memcpy(y, x, (size_t)n * size);
    else if (size == 4)
        for (int64_t i = 0; i < n; i++)
            memcpy(y + i * y_bytes, x + i * x_bytes, 4);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(y + i * y_bytes, x + i * x_bytes, size);
}

/* out[i0,i1,...] = x[start + sum of i_d step_d]: one unit is one run along the last dimension. */
SAMBA__FN void samba__copy_steps(const samba_args *a, int64_t start, const int64_t *step)
{
    const samba_shape *out = &a->out_spec[0].shape;
    int32_t last = out->ndim ? out->ndim - 1 : 0;
    int64_t at, n = out->ndim ? out->dim[last] : 1;
    samba__walk w = SAMBA__ZEROED;
    w.n_in = 1;
    for (int32_t i = 0; i < last; i++)
        samba__walk_push(&w, out->dim[i], &step[i]);
    for (int64_t u = a->begin; u < a->end; u++) {
        samba__walk_to(&w, u, &at);
        samba__copy_run(samba__out_bytes(a, u * n), 1, samba__in_bytes(a, 0, start + at),
                        out->ndim ? step[last] : 1, n, samba_dtype_size(a->out_spec[0].dtype));
    }
}

SAMBA__FN void samba__rows_work(samba_work *w, const samba_call *c)
{
    const samba_shape *y = &c->out[0].shape;
    w->units[0] = y->ndim ? samba_count(y) / y->dim[y->ndim - 1] : 1;
}

/* permute: out axis i is input axis attr[i]; dx = inverse permutation of dy */
SAMBA__OP_API samba_tensor *samba_permute(samba_tensor *x, samba_shape axes)
{
    bool same = x && axes.ndim == x->shape.ndim;
    for (int32_t i = 0; i < axes.ndim && i < SAMBA_MAX_DIMS; i++) {
        axes.dim[i] = samba__wrap_axis(x, axes.dim[i]);
        same = same && axes.dim[i] == i;
    }
    return same ? x : samba__emit1(SAMBA__OP_permute, x, axes.dim, axes.ndim);
}

SAMBA__OP_API samba_tensor *samba_transpose(samba_tensor *x, int32_t axis0, int32_t axis1)
{
    if (!samba__find_axis(x, "transpose", &axis0, 0)) return NULL;
    if (!samba__find_axis(x, "transpose", &axis1, 0)) return NULL;
    samba_shape axes = x->shape;
    for (int32_t k = 0; k < axes.ndim; k++)
        axes.dim[k] = k;
    axes.dim[axis0] = axis1;
    axes.dim[axis1] = axis0;
    return samba_permute(x, axes);
}

SAMBA__FN bool samba__permute_shape(samba_call *c)
{
    if (!samba__expect_dims(c)) return false;
    const samba_shape *x = &c->in[0].shape;
    int32_t seen = 0;
    c->out[0] = c->in[0];
    int32_t named = c->n_attr == x->ndim ? x->ndim : 0;
    for (int32_t i = 0; i < named; i++) {
        if (c->attr[i] < 0 || c->attr[i] >= named) break;
        seen |= 1 << c->attr[i];
        c->out[0].shape.dim[i] = x->dim[c->attr[i]];
    }
    return (c->n_attr == x->ndim && seen == (1 << x->ndim) - 1)
        || samba_refuse(c, SAMBA_EARG, "the axes must name all %d axes of %S once", x->ndim, x);
}

SAMBA__KERNEL void samba__permute_kernel(const samba_args *a)
{
    int64_t step[SAMBA_MAX_DIMS];
    for (int32_t i = 0; i < a->n_attr; i++)
        step[i] = samba__inner(&a->in_spec[0].shape, a->attr[i]);
    samba__copy_steps(a, 0, step);
}

SAMBA__FN void samba__permute_vjp(samba_vjp *g)
{
    samba_shape inverse = g->in[0]->shape;
    for (int32_t i = 0; i < g->n_attr; i++)
        inverse.dim[g->attr[i]] = i;
    g->din[0] = samba_permute(g->dout[0], inverse);
}

/* slice: attributes begin, end, step for each axis; dx = dy padded back, step - 1 zeros between */
SAMBA__OP_API samba_tensor *samba_slice(samba_tensor *x, int32_t axis, int32_t begin, int32_t end,
                                        int32_t step)
{
    int32_t attr[SAMBA__SLICE_WORDS * SAMBA_MAX_DIMS];
    if (!samba__find_axis(x, "slice", &axis, 0)) return NULL;
    for (int32_t i = 0; i < x->shape.ndim; i++) {
        int32_t d = x->shape.dim[i], last = end < 0 ? end + d : end;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_BEGIN] = 0;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STOP] = d;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STEP] = 1;
        if (i != axis) continue;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_BEGIN] = begin < 0 ? begin + d : begin;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STOP] = last > d ? d : last;
        attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STEP] = step;
    }
    return samba__emit1(SAMBA__OP_slice, x, attr, SAMBA__SLICE_WORDS * x->shape.ndim);
}

SAMBA__FN bool samba__slice_shape(samba_call *c)
{
    if (!samba__expect(c, 1, 1, c->n_in == 1 ? SAMBA__SLICE_WORDS * c->in[0].shape.ndim : 0))
        return false;
    c->out[0] = c->in[0];
    for (int32_t i = 0; i < c->in[0].shape.ndim; i++) {
        int32_t begin = c->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_BEGIN],
                end = c->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STOP],
                step = c->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STEP];
        int32_t d = c->in[0].shape.dim[i];
        if (begin < 0 || begin >= end || end > d || step < 1)
            return samba_refuse(c, SAMBA_ERANGE,
                                "%d:%d:%d takes nothing of axis %d, which has %d "
                                "elements; begin must be below end and step at least 1",
                                begin, end, step, i, d);
        c->out[0].shape.dim[i] = (end - begin - 1) / step + 1;
    }
    return true;
}

SAMBA__KERNEL void samba__slice_kernel(const samba_args *a)
{
    int64_t step[SAMBA_MAX_DIMS], start = 0;
    for (int32_t i = 0; i < a->in_spec[0].shape.ndim; i++) {
        int64_t inner = samba__inner(&a->in_spec[0].shape, i);
        start += a->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_BEGIN] * inner;
        step[i] = a->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STEP] * inner;
    }
    samba__copy_steps(a, start, step);
}

SAMBA__FN void samba__slice_vjp(samba_vjp *g)
{
    int32_t attr[SAMBA__PAD_WORDS * SAMBA_MAX_DIMS + 1], n = 0;
    for (int32_t i = 0; i < g->in[0]->shape.ndim; i++) {
        int32_t begin = g->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_BEGIN],
                step = g->attr[SAMBA__SLICE_WORDS * i + SAMBA__SLICE_STEP],
                count = g->out[0]->shape.dim[i];
        attr[n++] = begin;
        attr[n++] = g->in[0]->shape.dim[i] - begin - ((count - 1) * step + 1);
        attr[n++] = step - 1;
    }
    attr[n++] = 0;
    g->din[0] = samba__emit1(SAMBA__OP_pad, g->dout[0], attr, n);
}

SAMBA__OP_API int32_t samba_split(samba_tensor *x, int32_t size, int32_t axis, samba_tensor **parts,
                                  int32_t max_parts)
{
    int32_t n = 0;
    if (x && !parts) {
        SAMBA__FAIL((x->session, SAMBA_EARG, "in samba_split(%s): parts is NULL", x->name));
        return 0;
    }
    if (parts)
        for (int32_t i = 0; i < max_parts; i++)
            parts[i] = NULL;
    if (!samba__find_axis(x, "slice", &axis, 0)) return 0;
    if (size < 1) {
        samba_slice(x, axis, 0, size, 1); /* reports what is wrong */
        return 0;
    }
    for (int32_t begin = 0; begin < x->shape.dim[axis] && n < max_parts; n++) {
        int32_t left = x->shape.dim[axis] - begin, end = begin + (left < size ? left : size);
        parts[n] = samba_slice(x, axis, begin, end, 1);
        begin = end;
    }
    return n;
}

/* expand: dimensions of 1 are repeated; dx = dy summed over them. Attributes: the shape */
SAMBA__OP_API samba_tensor *samba_expand(samba_tensor *x, samba_shape shape)
{
    if (!x) return NULL;
    for (int32_t i = 0; i < shape.ndim && i < SAMBA_MAX_DIMS; i++) {
        int32_t from = i - (shape.ndim - x->shape.ndim);
        if (shape.dim[i] == -1 && from >= 0) shape.dim[i] = x->shape.dim[from];
    }
    return samba__same_shape(&x->shape, &shape)
        ? x
        : samba__emit1(SAMBA__OP_expand, x, shape.dim, shape.ndim);
}

SAMBA__FN bool samba__expand_shape(samba_call *c)
{
    if (!samba__expect_dims(c)) return false;
    samba_shape to = samba__shape_of(c->attr, c->n_attr), both;
    int32_t bad = 0;
    c->out[0].dtype = c->in[0].dtype;
    c->out[0].shape = to;
    return (samba__sound_shape(&to) && samba__broadcast(&c->in[0].shape, &to, &both, &bad)
            && samba__same_shape(&both, &to))
        || samba_refuse(c, SAMBA_ESHAPE,
                        "%S cannot be expanded to %S; only dimensions of 1 "
                        "stretch",
                        &c->in[0].shape, &to);
}

SAMBA__KERNEL void samba__expand_kernel(const samba_args *a)
{
    int64_t step[SAMBA_MAX_DIMS];
    for (int32_t i = 0; i < a->n_attr; i++)
        step[i] = samba__stretched_step(&a->in_spec[0].shape, a->n_attr, i);
    samba__copy_steps(a, 0, step);
}

SAMBA__FN void samba__expand_vjp(samba_vjp *g)
{
    g->din[0] = samba__to_input(g, 0, g->dout[0]);
}

/* pad: attributes before, after, between (elements) for each axis, the value; dx = slice of dy */
SAMBA__OP_API samba_tensor *samba_pad(samba_tensor *x, samba_shape before, samba_shape after,
                                      float value)
{
    int32_t attr[SAMBA__PAD_WORDS * SAMBA_MAX_DIMS + 1], n = 0;
    for (int32_t i = 0; i < before.ndim && i < SAMBA_MAX_DIMS; i++) {
        attr[n++] = before.dim[i];
        attr[n++] = i < after.ndim ? after.dim[i] : -1;
        attr[n++] = 0;
    }
    attr[n++] = samba_float_attr(value);
    return samba__emit1(SAMBA__OP_pad, x, attr, n);
}

SAMBA__FN bool samba__pad_shape(samba_call *c)
{
    if (!samba__expect(c, 1, 1, c->n_attr)) return false;
    if (c->n_attr != SAMBA__PAD_WORDS * c->in[0].shape.ndim + 1)
        return samba_refuse(c, SAMBA_EARG,
                            "before and after must each have one count per axis of "
                            "input 0");
    c->out[0] = c->in[0];
    for (int32_t i = 0; i < c->in[0].shape.ndim; i++) {
        int64_t before = c->attr[SAMBA__PAD_WORDS * i + SAMBA__PAD_BEFORE],
                after = c->attr[SAMBA__PAD_WORDS * i + SAMBA__PAD_AFTER],
                between = c->attr[SAMBA__PAD_WORDS * i + SAMBA__PAD_BETWEEN];
        int64_t d = before + after + (c->in[0].shape.dim[i] - 1) * (between + 1) + 1;
        if (before < 0 || after < 0 || between < 0 || d > 0x7FFFFFFF)
            return samba_refuse(c, SAMBA_ERANGE, "padding of axis %d is negative or too large", i);
        c->out[0].shape.dim[i] = (int32_t)d;
    }
    return true;
}

/* Where output coordinate i of a padded axis comes from; -1: from the padding. */
SAMBA__FN int64_t samba__pad_source(const int32_t *attr, int64_t i, int32_t dim)
{
    int64_t at = i - attr[SAMBA__PAD_BEFORE], step = (int64_t)attr[SAMBA__PAD_BETWEEN] + 1;
    return at < 0 || at % step || at / step >= dim ? -1 : at / step;
}

SAMBA__KERNEL void samba__pad_kernel(const samba_args *a)
{
    static const int32_t none[SAMBA__PAD_WORDS] = { 0, 0, 0 };
    const samba_shape *x = &a->in_spec[0].shape, *y = &a->out_spec[0].shape;
    size_t size = samba_dtype_size(a->out_spec[0].dtype);
    float value = samba_attr_float(a->attr[a->n_attr - 1]);
    int32_t last = y->ndim - 1;
    const int32_t *run
        = last < 0 ? none : a->attr + SAMBA__PAD_WORDS * last; /* before, after, between */
    int64_t n = last < 0 ? 1 : y->dim[last], n_x = last < 0 ? 1 : x->dim[last];
    for (int64_t u = a->begin; u < a->end; u++) {
        uint8_t *row = samba__out_bytes(a, u * n);
        int64_t rest = u, at = 0;
        for (int32_t i = last - 1; i >= 0; i--) {
            int64_t from
                = samba__pad_source(a->attr + SAMBA__PAD_WORDS * i, rest % y->dim[i], x->dim[i]);
            at = at < 0 || from < 0 ? -1 : at + from * samba__inner(x, i);
            rest /= y->dim[i];
        }
        for (int64_t j = 0; j < n; j++)
            samba__store(row + (size_t)j * size, &value, a->out_spec[0].dtype, 1);
        if (at < 0) continue;
        samba__copy_run(row + (size_t)run[0] * size, run[2] + 1, samba__in_bytes(a, 0, at), 1, n_x,
                        size);
    }
}

SAMBA__FN void samba__pad_vjp(samba_vjp *g)
{
    int32_t attr[SAMBA__SLICE_WORDS * SAMBA_MAX_DIMS], n = 0;
    for (int32_t i = 0; i < g->in[0]->shape.ndim; i++) {
        int32_t before = g->attr[SAMBA__PAD_WORDS * i + SAMBA__PAD_BEFORE],
                step = g->attr[SAMBA__PAD_WORDS * i + SAMBA__PAD_BETWEEN] + 1;
        attr[n++] = before;
        attr[n++] = before + (g->in[0]->shape.dim[i] - 1) * step + 1;
        attr[n++] = step;
    }
    g->din[0] = samba__emit1(SAMBA__OP_slice, g->dout[0], attr, n);
}

/* cat: attribute axis; each dx is its slice of dy. Too many are joined with the result in front. */
SAMBA__FN samba_tensor *samba__join(samba_tensor *const *xs, int32_t n, int32_t axis, bool stack)
{
    samba_tensor *in[SAMBA_MAX_IN];
    int32_t m = 0;
    for (int32_t i = 0; i < n; m = 1) {
        for (; i < n && m < SAMBA_MAX_IN; i++)
            in[m++] = stack ? samba_unsqueeze(xs[i], axis) : xs[i];
        if (!in[0]) return NULL;
        if (m > 1) in[0] = samba__emit(in[0]->session, SAMBA__OP_cat, in, m, &axis, 1, NULL);
    }
    return in[0];
}

SAMBA__OP_API samba_tensor *samba_cat(samba_tensor *const *xs, int32_t n, int32_t axis)
{
    if (n < 1 || !xs || !xs[0]) return NULL;
    return samba__join(xs, n, samba__wrap_axis(xs[0], axis), false);
}

SAMBA__OP_API samba_tensor *samba_stack(samba_tensor *const *xs, int32_t n, int32_t axis)
{
    if (n < 1 || !xs || !xs[0]) return NULL;
    return samba__join(xs, n, axis < 0 ? axis + xs[0]->shape.ndim + 1 : axis, true);
}

SAMBA__FN bool samba__cat_shape(samba_call *c)
{
    if (!samba__expect(c, 1, SAMBA_MAX_IN, 1)
        || !samba__expect_axis(c, c->attr[SAMBA__AXIS_NUMBER]))
        return false;
    int64_t total = 0;
    for (int32_t i = 0; i < c->n_in; i++) {
        if (!samba__has(c, i)) return samba_refuse(c, SAMBA_EARG, "input %d is missing", i);
        samba_shape want = c->in[0].shape, got = c->in[i].shape;
        want.dim[c->attr[SAMBA__AXIS_NUMBER]]
            = got.ndim == want.ndim ? got.dim[c->attr[SAMBA__AXIS_NUMBER]] : 0;
        if (!samba__same_shape(&want, &got) || c->in[i].dtype != c->in[0].dtype)
            return samba_refuse(c, SAMBA_ESHAPE,
                                "input %d is %T %S, which cannot join input 0: "
                                "only axis %d may differ",
                                i, (int)c->in[i].dtype, &got, c->attr[SAMBA__AXIS_NUMBER]);
        total += got.dim[c->attr[SAMBA__AXIS_NUMBER]];
    }
    c->out[0] = c->in[0];
    c->out[0].shape.dim[c->attr[SAMBA__AXIS_NUMBER]] = (int32_t)samba__min64(total, INT32_MAX);
    return total <= INT32_MAX || samba_refuse(c, SAMBA_ERANGE, "the result has too many elements");
}

SAMBA__FN void samba__cat_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba__outer(&c->out[0].shape, c->attr[SAMBA__AXIS_NUMBER]);
}

SAMBA__KERNEL void samba__cat_kernel(const samba_args *a)
{
    const samba_shape *out = &a->out_spec[0].shape;
    int64_t row = samba_count(out) / samba__outer(out, a->attr[SAMBA__AXIS_NUMBER]);
    for (int64_t u = a->begin; u < a->end; u++) {
        int64_t at = u * row;
        for (int32_t i = 0; i < a->n_in; i++) {
            const samba_shape *x = &a->in_spec[i].shape;
            int64_t n = x->dim[a->attr[SAMBA__AXIS_NUMBER]]
                * samba__inner(x, a->attr[SAMBA__AXIS_NUMBER]);
            memcpy(samba__out_bytes(a, at), samba__in_bytes(a, i, u * n),
                   (size_t)n * samba_dtype_size(a->out_spec[0].dtype));
            at += n;
        }
    }
}

SAMBA__FN void samba__cat_vjp(samba_vjp *g)
{
    int32_t at = 0;
    for (int32_t i = 0; i < g->n_in; i++) {
        int32_t n = g->in[i]->shape.dim[g->attr[SAMBA__AXIS_NUMBER]];
        if (samba__is_float(g->in[i]->dtype))
            g->din[i] = samba_slice(g->dout[0], g->attr[SAMBA__AXIS_NUMBER], at, at + n, 1);
        at += n;
    }
}

/* SambaFlow's labels and ids are int16, PyTorch's and ONNX's int64, those of token files uint16 or
   uint32: an op in front makes them i32, which ends the run if one does not fit. */
SAMBA__FN samba_tensor *samba__ids_as_i32(samba_tensor *ids)
{
    bool other = ids && (ids->dtype == SAMBA_I16 || samba__is_stored_only(ids->dtype));
    return other ? samba_cast(ids, SAMBA_I32) : ids;
}

/* ---- gather: out[i][j][k] = x[i][index[i][j][k]][k] for axis 1; dx adds up dy ---- */
SAMBA__OP_API samba_tensor *samba_gather(samba_tensor *x, int32_t axis, samba_tensor *index)
{
    int32_t attr = samba__wrap_axis(x, axis);
    return samba__emit2(SAMBA__OP_gather, x, samba__ids_as_i32(index), &attr, 1);
}

/* Is the index no longer than x, but along the gathered axis? */
SAMBA__FN bool samba__gather_fits(const samba_call *c, const samba_shape *x)
{
    const samba_shape *index = &c->in[1].shape;
    bool fits = x->ndim == index->ndim && c->in[1].dtype == SAMBA_I32;
    for (int32_t i = 0; fits && i < x->ndim; i++)
        fits = i == c->attr[SAMBA__GATHER_AXIS] || index->dim[i] <= x->dim[i];
    return fits;
}

SAMBA__FN bool samba__gather_shape(samba_call *c)
{
    if (!samba__expect(c, 2, 2, 1) || !samba__expect_axis(c, c->attr[SAMBA__GATHER_AXIS]))
        return false;
    c->out[0].dtype = c->in[0].dtype;
    c->out[0].shape = c->in[1].shape;
    if (c->in[1].dtype != SAMBA_I32)
        return samba_refuse(c, SAMBA_EDTYPE, "the index must be i32; use samba_cast");
    return samba__gather_fits(c, &c->in[0].shape)
        || samba_refuse(c, SAMBA_ESHAPE,
                        "the index must have input 0's rank and, except along "
                        "axis %d, at most its dimensions",
                        c->attr[SAMBA__GATHER_AXIS]);
}

/* Offset in x of element e of the index, whose value is the gathered axis; -1 if out of range. */
SAMBA__FN int64_t samba__gather_at(const samba_args *a, const samba_shape *x, const int32_t *index,
                                   int64_t e)
{
    const samba_shape *shape = &a->in_spec[1].shape;
    int64_t at = 0, rest = e;
    for (int32_t i = shape->ndim - 1; i >= 0; i--) {
        int64_t k
            = i == a->attr[SAMBA__GATHER_AXIS] ? samba__index(index + e) : rest % shape->dim[i];
        if (k < 0 || k >= x->dim[i]) {
            samba_fault_at(a, 1, (int32_t)k, e, 0, x->dim[i] - 1);
            return -1;
        }
        at += k * samba__inner(x, i);
        rest /= shape->dim[i];
    }
    return at;
}

SAMBA__KERNEL void samba__gather_kernel(const samba_args *a)
{
    size_t size = samba_dtype_size(a->out_spec[0].dtype);
    for (int64_t e = a->begin; e < a->end; e++) {
        int64_t at = samba__gather_at(a, &a->in_spec[0].shape, samba__in_i32(a, 1), e);
        if (at < 0)
            memset(samba__out_bytes(a, e), 0, size);
        else
            memcpy(samba__out_bytes(a, e), samba__in_bytes(a, 0, at), size);
    }
}

SAMBA__FN void samba__gather_vjp(samba_vjp *g)
{
    int32_t attr[1 + SAMBA_MAX_DIMS];
    attr[SAMBA__GATHER_AXIS] = g->attr[SAMBA__GATHER_AXIS];
    for (int32_t i = 0; i < g->in[0]->shape.ndim; i++)
        attr[SAMBA__GATHER_SHAPE + i] = g->in[0]->shape.dim[i];
    samba_tensor *dy = samba_cast(g->dout[0], SAMBA_F32); /* rows that meet are summed as f32 */
    samba_tensor *dx
        = samba__emit2(SAMBA__OP_gather_backward, dy, g->in[1], attr, 1 + g->in[0]->shape.ndim);
    g->din[0] = samba__to_input(g, 0, dx);
}

/* gather_backward: attributes axis, then the shape of x. One unit is everything below one index of
   the first axis, or all if that is the gathered one: elements that may meet stay in order. */
SAMBA__FN bool samba__gather_backward_shape(samba_call *c)
{
    if (!samba__expect(c, 2, 2, c->n_attr)) return false;
    if (c->n_attr != 1 + c->in[0].shape.ndim || c->n_attr < 2)
        return samba_refuse(c, SAMBA_EARG, "malformed call");
    if (!samba__expect_f32(c, 0) || !samba__expect_axis(c, c->attr[SAMBA__GATHER_AXIS]))
        return false;
    samba_shape *x = &c->out[0].shape;
    c->out[0].dtype = SAMBA_F32;
    *x = samba__shape_of(c->attr + SAMBA__GATHER_SHAPE, c->n_attr - SAMBA__GATHER_SHAPE);
    return (samba__same_shape(&c->in[0].shape, &c->in[1].shape) && samba__gather_fits(c, x)
            && samba__sound_shape(x))
        || samba_refuse(c, SAMBA_ESHAPE, "gradient and index do not fit %S", x);
}

SAMBA__FN void samba__gather_backward_work(samba_work *w, const samba_call *c)
{
    w->units[0] = c->attr[SAMBA__GATHER_AXIS] == 0 ? 1 : c->out[0].shape.dim[0];
    w->flops = samba_count(&c->in[0].shape);
}

SAMBA__KERNEL void samba__gather_backward_kernel(const samba_args *a)
{
    const samba_shape *x = &a->out_spec[0].shape;
    int64_t units = a->attr[SAMBA__GATHER_AXIS] == 0 ? 1 : x->dim[0], size = samba_count(x) / units;
    int64_t from = a->attr[SAMBA__GATHER_AXIS] == 0 ? 1 : a->in_spec[0].shape.dim[0];
    int64_t n = samba_count(&a->in_spec[0].shape) / from;
    for (int64_t u = a->begin; u < a->end; u++) {
        memset(a->out[0] + u * size, 0, (size_t)size * 4);
        if (u >= from) continue; /* no index names this part of x */
        for (int64_t e = u * n; e < (u + 1) * n; e++) {
            int64_t at = samba__gather_at(a, x, samba__in_i32(a, 1), e);
            if (at >= 0) a->out[0][at] += a->in[0][e];
        }
    }
}
SAMBA__GRAD1(gather_backward, samba_gather(dy, g->attr[SAMBA__GATHER_AXIS], g->in[1]))

/* ---- write_rows: cache[..][row[b][t]] <- x[..][t], t in order ---- */
SAMBA__OP_API samba_tensor *samba_write_rows(samba_tensor *cache, samba_tensor *x,
                                             samba_tensor *row)
{
    return samba__emit3(SAMBA__OP_write_rows, cache, x, row, NULL, 0);
}

SAMBA__FN bool samba__write_rows_shape(samba_call *c)
{
    if (!samba__expect(c, 3, 3, 0) || !samba__expect_f32(c, 0) || !samba__expect_f32(c, 1))
        return false;
    const samba_shape *y = &c->in[0].shape, *row = &c->in[SAMBA__WRITE_ROWS_ROW].shape;
    samba_shape x = c->in[1].shape;
    int32_t T = y->ndim >= 2 && x.ndim == y->ndim ? x.dim[x.ndim - 2] : 0;
    if (T) x.dim[x.ndim - 2] = y->dim[y->ndim - 2];
    if (!T || !samba__same_shape(&x, y))
        return samba_refuse(c, SAMBA_ESHAPE,
                            "rows %S do not go into a buffer %S: only the last "
                            "dimension but one may differ",
                            &c->in[1].shape, y);
    bool fits = row->ndim >= 1 && row->ndim <= 2 && row->dim[row->ndim - 1] == T
        && (row->ndim == 1 || (y->ndim > 2 && row->dim[0] == y->dim[0]));
    if (c->in[SAMBA__WRITE_ROWS_ROW].dtype != SAMBA_I32 || !fits)
        return samba_refuse(c, SAMBA_ESHAPE,
                            "input 2 says which row each of the %d goes to: i32 "
                            "(%d), or with the first dimension before it",
                            T, T);
    c->out[0] = c->in[0];
    c->n_out = 1;
    return true;
}

SAMBA__FN void samba__write_rows_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba__outer(&c->in[0].shape, c->in[0].shape.ndim - 2);
    w->flops = samba_count(&c->in[1].shape);
}

SAMBA__KERNEL void samba__write_rows_kernel(const samba_args *a)
{
    const samba_shape *y = &a->out_spec[0].shape, *row = &a->in_spec[SAMBA__WRITE_ROWS_ROW].shape;
    int64_t S = y->dim[y->ndim - 2], D = y->dim[y->ndim - 1], T = row->dim[row->ndim - 1];
    int64_t per_list = row->ndim == 1 ? INT64_MAX : samba__outer(y, y->ndim - 2) / y->dim[0];
    for (int64_t u = a->begin; u < a->end; u++) {
        const int32_t *at = samba__in_i32(a, 2) + u / per_list * T;
        for (int64_t t = 0; t < T; t++) {
            int32_t to = samba__index(at + t);
            if (to < -1 || to >= S)
                samba_fault_at(a, 2, to, u / per_list * T + t, -1, (int32_t)S - 1);
            else if (to >= 0)
                memcpy(a->out[0] + (u * S + to) * D, a->in[1] + (u * T + t) * D, (size_t)D * 4);
        }
    }
}

/* ---- lookup: y[t] = w[id[t]]; dw[v] = sum of dy[t] over all t with id[t] = v, in order ---- */
SAMBA__OP_API samba_tensor *samba_lookup(samba_tensor *ids, samba_tensor *w)
{
    return samba__emit2(SAMBA__OP_lookup, samba__ids_as_i32(ids), w, NULL, 0);
}
SAMBA__MATCHES(lookup, "i:*,w:vc->*c", 0)

/* w (n,k), or packed: inputs ids, packed, scale or NULL; attributes n, k. */
SAMBA__KERNEL void samba__lookup_kernel(const samba_args *a)
{
    const int32_t *id = samba__in_i32(a, 0);
    const uint16_t *scale = (const uint16_t *)(const void *)a->in[SAMBA__LOOKUP_PACKED_SCALE];
    bool packed = a->n_attr > 0;
    samba_dtype type = a->in_spec[1].dtype;
    int64_t n = packed ? a->attr[SAMBA__PACKED_ROWS] : a->in_spec[1].shape.dim[0],
            k = samba__last_dim(a->out_spec);
    for (int64_t t = a->begin; t < a->end; t++) {
        int32_t row = samba__index(id + t);
        bool good = row >= 0 && row < n;
        int64_t j = good ? row : 0;
        float *y = a->out[0] + t * k;
        if (!packed)
            samba__load(y, samba__in_bytes(a, 1, j * k), type, k);
        else
            samba__unpack_any(y, samba__packed_at(a->in[1], type, k, j), samba__panel_row(type),
                              samba__scale_at(scale, k, j), type, 0, k, 1);
        if (!good) samba_fault_at(a, 0, row, t, 0, (int32_t)n - 1);
    }
}

SAMBA__FN void samba__lookup_vjp(samba_vjp *g)
{
    const int32_t *rows = g->in[1]->shape.dim;
    g->din[1] = samba__emit2(SAMBA__OP_lookup_backward, g->dout[0], g->in[0], rows, 1);
}

SAMBA__FN bool samba__lookup_packed_shape(samba_call *c)
{
    bool fits = samba__expect(c, 2, 3, 2)
        && samba__expect_packed(c, c->attr[SAMBA__PACKED_ROWS], c->attr[SAMBA__PACKED_COLUMNS]);
    if (!fits) return false;
    c->out[0].dtype = SAMBA_F32;
    c->out[0].shape = c->in[0].shape;
    return (c->in[0].dtype == SAMBA_I32 || samba_refuse(c, SAMBA_EDTYPE, "ids must be i32"))
        && samba__append_dim(c, c->attr[SAMBA__PACKED_COLUMNS]);
}

SAMBA__KERNEL void samba__lookup_packed_kernel(const samba_args *a)
{
    samba__lookup_kernel(a);
}

/* lookup_backward: attribute rows. */
SAMBA__FN bool samba__lookup_backward_shape(samba_call *c)
{
    samba__binding b;
    if (!samba__expect(c, 2, 2, 1) || !samba__match("*c,i:*->*c", c, &b)) return false;
    c->out[0].shape = samba_scalar_shape();
    return samba__append_dim(c, c->attr[SAMBA__TABLE_ROWS])
        && samba__append_dim(c, b.letter['c' - 'a']);
}

/* Zeros. Many of them are written past the cache, so that memory is not read first. */
SAMBA__FN void samba__clear(float *y, int64_t n)
{
#if SAMBA__X86
    if (n >= 1 << 20 && (uintptr_t)y % 16 == 0) {
        /* A line of the cache at a time: one store a turn takes up to twice as long. */
        for (; n >= 16; n -= 16, y += 16) {
            _mm_stream_ps(y, _mm_setzero_ps());
            _mm_stream_ps(y + 4, _mm_setzero_ps());
            _mm_stream_ps(y + 8, _mm_setzero_ps());
            _mm_stream_ps(y + 12, _mm_setzero_ps());
        }
        _mm_sfence();
    }
#endif
    memset(y, 0, (size_t)n * sizeof *y);
}

/* Phase 0 links, in scratch, the tokens of each row in order; phase 1 sums them, rows apart. */
enum { SAMBA__LOOKUP_ROWS = 64, SAMBA__LOOKUP_COLUMNS = 64 }; /* of a unit; summed at a time */

SAMBA__FN void samba__lookup_backward_work(samba_work *w, const samba_call *c)
{
    w->n_phases = 2;
    w->units[0] = 1;
    w->units[1] = samba__ceil_div(c->out[0].shape.dim[0], SAMBA__LOOKUP_ROWS);
    w->scratch = 4 * (samba_count(&c->in[1].shape) + c->out[0].shape.dim[0]);
    w->flops = samba_count(&c->in[0].shape) + samba_count(&c->out[0].shape);
}

SAMBA__FN void samba__link_tokens(const samba_args *a, int32_t *first, int64_t rows, int32_t *next)
{
    const int32_t *id = samba__in_i32(a, 1);
    for (int64_t v = 0; v < rows; v++)
        first[v] = -1;
    for (int64_t t = samba_count(&a->in_spec[1].shape) - 1; t >= 0; t--) {
        int32_t row = samba__index(id + t);
        if (row < 0 || row >= rows) {
            samba_fault_at(a, 1, row, t, 0, (int32_t)rows - 1);
            continue;
        }
        next[t] = first[row];
        first[row] = (int32_t)t;
    }
}

SAMBA__GRAD1(lookup_backward, samba_lookup(g->in[1], dy))

/* The same, added to what is there: most rows stay untouched. */
SAMBA__FN bool samba__lookup_accumulate_shape(samba_call *c)
{
    return samba__sum_into(c, samba__lookup_backward_shape);
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__lookup_backward_kernel SAMBA__OF_NARROW(samba__lookup_backward_kernel)
#define samba__lookup_accumulate_kernel SAMBA__OF_NARROW(samba__lookup_accumulate_kernel)
#if SAMBA__VEC_LANES < 16

SAMBA__FN void samba__lookup_backward_kernel(const samba_args *a)
{
    int64_t rows = a->out_spec[0].shape.dim[0], n = a->out_spec[0].shape.dim[1];
    int32_t *first = (int32_t *)a->scratch, *next = first + rows;
    bool adds = a->n_in > 2; /* to what is there */
    if (a->phase == 0) {
        samba__link_tokens(a, first, rows, next);
        return;
    }
    int64_t begin = a->begin * SAMBA__LOOKUP_ROWS, end = a->end * SAMBA__LOOKUP_ROWS;
    end = samba__min64(end, rows);
    if (!adds) samba__clear(a->out[0] + begin * n, (end - begin) * n);
    for (int64_t v = begin; v < end; v++) {
        float *SAMBA__RESTRICT dw = a->out[0] + v * n;
        if (first[v] < 0) continue;
        for (int64_t at = 0; at < n; at += SAMBA__LOOKUP_COLUMNS) {
            int64_t width = samba__min64(SAMBA__LOOKUP_COLUMNS, n - at);
            float sum[SAMBA__LOOKUP_COLUMNS] = { 0.0f };
            for (int32_t t = first[v]; t >= 0; t = next[t]) {
                const float *dy = a->in[0] + t * n + at;
                for (int64_t j = 0; j < width; j++)
                    sum[j] += dy[j];
            }
            for (int64_t j = 0; j < width; j++)
                dw[at + j] += sum[j];
        }
    }
}

SAMBA__FN void samba__lookup_accumulate_kernel(const samba_args *a)
{
    samba__lookup_backward_kernel(a);
}
#endif
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

/* ==== [conv] ================================================================================== */
/* ---- Convolution, as an implicit GEMM:
       y(n,o,oy,ox) = b(o) + sum over (c,ky,kx) of w(o,c,ky,kx) x(n,c,iy,ix),
       iy = oy stride - padding + ky dilation, ix likewise; outside x there are zeros.
   (ky,kx) is a tap of the kernel. The gradients dx and dw are ops of their own, computed here; that
   of b is a sum of dy. For each image and group of channels all three ops are products C += A B,
   where im2col(x) is the matrix whose element ((c,ky,kx), (oy,ox)) is the x that a tap meets at an
   output:
       op   rows of C        columns of C   A                        B
       y    output channels  (oy,ox)        w                        im2col(x)
       dx   input channels   (iy,ix)        w as (c, (o,ky,kx))      im2col(dy), taps backwards
       dw   output channels  (c,ky,kx)      dy of an image           im2col(x), transposed
   Chetlur et al., "cuDNN: efficient primitives for deep learning", 2014.
   A target is an element (row, column) of what is made, y or dx; for dw, targets are those of y,
   and they are summed over. B is never stored, as it is `taps` times as large as the image. A tile
   of the image, with its halo and the zeros around, is packed; then each row of B consists of
   pieces of rows of the tile, and so it does for dw if the tile has channels last. Panels of B are
   gathered from there, or read where they are. With a stride, a tap meets a dy only at every
   stride-th element of dx: the elements of dx whose coordinates have one residue modulo the stride
   share their taps, and are a product of their own. Sums are chains over (c,ky,kx) for y, (o,ky,kx)
   for dx, the outputs of a share of images for dw. Attributes: stride, padding, dilation as (rows,
   columns), groups; those that make dx or dw append its rows and columns. A 1-D convolution has one
   row. Entry points, which rows of [op-table] name by the stem conv: samba__conv_rule checks
   shapes, samba__conv_work cuts the work into units, samba__conv_run computes them;
   samba__convolution_vjp makes the graph of the gradients. ---- */
enum { SAMBA__CONV_WORDS = SAMBA__CONV_SIZE, SAMBA__CONV_BACKWARD_WORDS = SAMBA__CONV_END };

typedef enum samba__made { SAMBA__MAKES_Y, SAMBA__MAKES_DX, SAMBA__MAKES_DW } samba__made;

/* What shapes and attributes say, for all three ops. Sides are (rows, columns). */
typedef struct samba__conv_geometry {
    int64_t images, groups;
    int64_t in_channels, out_channels; /* of a group */
    int64_t input[2], kernel[2], output[2];
    int64_t stride[2], padding[2], dilation[2];
} samba__conv_geometry;

/* The product that makes one of y, dx, dw. Along each axis (rows, columns), target t of y or dx
   sees a window of the source that begins at t stride + start and has span + 1 positions; tap k
   reads position first + k step of it. start may be negative, where the zeros are.
   An example, along one axis: kernel 3, stride 2, padding 1, 5 inputs and so 3 outputs. For y:
   start -1, span 2, first 0, step 1, so y(t) reads x(2 t - 1), x(2 t), x(2 t + 1). For dx the
   inputs of one residue modulo 2 are targets: u = 2 t reads dy(t) by tap 1 alone, u = 2 t + 1
   reads dy(t + 1) by tap 0 and dy(t) by tap 2; start is 0 and span 1 for both. */
typedef struct samba__conv {
    samba__conv_geometry g;
    /* C is rows x targets, and channels x taps terms are summed; of a group. */
    int64_t rows;     /* output channels; for dx input channels */
    int64_t channels; /* of the source: input channels; for dx output channels */
    int64_t taps;     /* of the kernel, or those that a residue has */
    int64_t source[2], target[2], kernel[2];
    int64_t stride[2], start[2], span[2], first[2], step[2];
    /* A row of a packed tile has all positions of a phase, 0, phases, 2 phases ..., before those of
       the next. So neighboring targets read neighboring cells, whatever the stride. */
    int64_t phases;
    /* dx with a stride: targets are residue, residue + stride ... of all. Every every-th tap meets
       them, and the weights of `before` taps lie before those. */
    bool strided_dx;
    int64_t residues[2], residue[2], all_targets[2], most_targets[2], every[2], before;
    /* Tiles: some rows of targets, and of the source some channels. A unit of work is an image and
       group with a tile of rows; for dw a share of images and group with a tile of channels. */
    int64_t tile_rows, row_tiles, tile_channels, channel_tiles;
    int64_t shares, tiles, units;
    int64_t scratch;      /* floats: transposed weights for dx, the sums of shares for dw */
    int64_t residue_sums; /* floats: the products of one residue of columns */
    bool tile_in_scratch; /* it is too large for a thread's own memory */
} samba__conv;

/* The tile of the source that some rows of targets meet in some channels: cells from position
   first on. */
typedef struct samba__tile {
    int64_t channel, channels;
    int64_t row, target[2]; /* the first row of targets, and how many rows and columns */
    int64_t first[2], cells[2];
    int64_t width; /* cells of a phase in a row */
} samba__tile;

SAMBA__FN samba__tile samba__tile_of(const samba__conv *v, int64_t row_tile, int64_t channel_tile)
{
    samba__tile b;
    b.channel = channel_tile * v->tile_channels;
    b.channels = samba__min64(v->tile_channels, v->channels - b.channel);
    b.row = row_tile * v->tile_rows;
    b.target[0] = samba__min64(v->tile_rows, v->target[0] - b.row);
    b.target[1] = v->target[1];
    /* One tile serves all residues, so it has room for the one with most targets. */
    int64_t most[2]
        = { samba__min64(v->tile_rows, v->most_targets[0] - b.row), v->most_targets[1] };
    b.first[0] = v->start[0] + b.row * v->stride[0];
    b.first[1] = v->start[1];
    for (int i = 0; i < 2; i++)
        b.cells[i] = (most[i] - 1) * v->stride[i] + v->span[i] + 1;
    SAMBA_ASSERT(b.channels > 0 && b.cells[0] > 0 && b.cells[1] > 0);
    b.width = samba__ceil_div(b.cells[1], v->phases);
    return b;
}

/* Floats of a tile that stay in the cache, floats that vectors read or write past its end, and the
   terms that are summed at a time: with them a row of A and its offsets fit as well. */
enum { SAMBA__TILE_CACHED = 65536, SAMBA__TILE_OVERRUN = 40, SAMBA__CONV_KC = SAMBA_GEMM_KC - 8 };

/* Floats that a thread's own memory has besides the buffers of a product. */
#define SAMBA__TILE_ROOM (((int64_t)SAMBA_LOCAL_BYTES - (int64_t)SAMBA__GEMM_LOCAL) / 4)

/* The floats that a tile needs. A double, since attributes of an unchecked file could overflow an
   int64. */
SAMBA__FN double samba__tile_floats(const samba__conv *v)
{
    samba__tile b = samba__tile_of(v, 0, 0);
    double cells = (double)b.width * (double)v->phases * (double)b.channels * (double)b.cells[0];
    double sums = (double)v->rows * (double)v->tile_rows * (double)v->most_targets[1]
        * (double)v->residues[1];
    return cells + (double)SAMBA__TILE_OVERRUN + (v->strided_dx ? sums : 0.0);
}

SAMBA__FN int64_t samba__gcd(int64_t a, int64_t b)
{
    for (int64_t rest; b; a = b, b = rest)
        rest = a % b;
    return a;
}

/* Rows (0) or columns (1) of an image or a kernel; if it has only one side, that is the columns. */
SAMBA__FN int32_t samba__side(const samba_shape *s, int32_t sides, int32_t i)
{
    return i + sides < 2 ? 1 : s->dim[s->ndim - 2 + i];
}

SAMBA__FN samba__conv_geometry samba__conv_geometry_of(samba__made made, const samba_spec *in,
                                                       const samba_spec *out, const int32_t *attr)
{
    const samba_shape *x = made == SAMBA__MAKES_DX ? &out->shape : &in[0].shape;
    const samba_shape *w = made == SAMBA__MAKES_DW ? &out->shape : &in[1].shape;
    const samba_shape *y = made == SAMBA__MAKES_Y ? &out->shape : &in[made - 1].shape;
    samba__conv_geometry g;
    g.images = x->dim[0];
    g.groups = attr[SAMBA__CONV_GROUPS];
    g.in_channels = w->dim[1];
    g.out_channels = w->dim[0] / g.groups;
    for (int32_t i = 0; i < 2; i++) {
        g.input[i] = samba__side(x, x->ndim - 2, i);
        g.kernel[i] = samba__side(w, x->ndim - 2, i);
        g.output[i] = samba__side(y, x->ndim - 2, i);
        g.stride[i] = attr[SAMBA__CONV_STRIDE + i];
        g.padding[i] = attr[SAMBA__CONV_PADDING + i];
        g.dilation[i] = attr[SAMBA__CONV_DILATION + i];
    }
    return g;
}

/* y and dw along axis i: output t meets inputs t stride - padding + k dilation. */
SAMBA__FN void samba__conv_axis(samba__conv *v, int i)
{
    const samba__conv_geometry *g = &v->g;
    v->source[i] = g->input[i];
    v->target[i] = g->output[i];
    v->kernel[i] = g->kernel[i];
    v->stride[i] = g->stride[i];
    v->start[i] = -g->padding[i];
    v->span[i] = (g->kernel[i] - 1) * g->dilation[i];
    v->step[i] = g->dilation[i];
    v->residues[i] = v->every[i] = 1;
    v->all_targets[i] = v->most_targets[i] = v->target[i];
}

/* dx along axis i: input u meets output (u + padding - k dilation) / stride, if stride divides
   that. With u = t stride + residue this is t plus a number; taps whose number differs by stride /
   gcd(stride, dilation) meet the same residue. */
SAMBA__FN void samba__conv_dx_axis(samba__conv *v, int i)
{
    const samba__conv_geometry *g = &v->g;
    int64_t stride = g->stride[i], reach = (g->kernel[i] - 1) * g->dilation[i];
    v->source[i] = g->output[i];
    v->all_targets[i] = g->input[i];
    v->residues[i] = samba__min64(stride, g->input[i]);
    v->every[i] = stride / samba__gcd(stride, g->dilation[i]);
    v->target[i] = v->most_targets[i] = samba__ceil_div(g->input[i], stride);
    v->kernel[i] = samba__ceil_div(g->kernel[i], v->every[i]); /* at most */
    v->stride[i] = 1;
    v->start[i] = (g->padding[i] - reach) / stride;
    v->span[i] = (stride - 1 + g->padding[i]) / stride - v->start[i];
    v->step[i] = -(g->dilation[i] * v->every[i] / stride);
}

/* Cuts the work of v into tiles that fit into the cache, and into 8 units at least. */
SAMBA__FN void samba__conv_cut(samba__conv *v, bool makes_dw)
{
    int64_t least = samba__ceil_div(8, v->shares * v->g.groups), one = 1; /* tiles of a share */
    int64_t *cut = &v->tile_rows;
    v->tile_rows = v->target[0];
    v->tile_channels = v->channels;
    if (makes_dw)
        cut = &v->tile_channels;
    else if (v->target[0] * v->target[1] < 64 * least) /* too few targets to be shared */
        cut = &one;
    *cut = samba__ceil_div(*cut, samba__min64(least, *cut));
    double most = (double)samba__min64(SAMBA__TILE_ROOM, SAMBA__TILE_CACHED);
    while (samba__tile_floats(v) > most) {
        bool deep = v->tile_channels * v->taps > 2 * SAMBA__CONV_KC || v->tile_rows == 1;
        cut = v->tile_channels > 1 && deep ? &v->tile_channels : &v->tile_rows;
        if (*cut == 1) break;
        *cut = samba__ceil_div(*cut, 2);
    }
    v->tile_in_scratch = samba__tile_floats(v) > (double)SAMBA__TILE_ROOM;
    if (v->tile_in_scratch) v->tile_rows = v->target[0];
    v->row_tiles = samba__ceil_div(v->target[0], v->tile_rows);
    v->channel_tiles = samba__ceil_div(v->channels, v->tile_channels);
    v->tiles = makes_dw ? v->channel_tiles : v->row_tiles;
    v->units = v->shares * v->g.groups * v->tiles;
}

/* For dw, the images are dealt out to at most 8 shares, so that threads can work side by side; each
   sums a dw of its own, and these are added at the end. Fewer if w is large, as each share needs
   memory for a dw and a pass to add it. */
SAMBA__FN samba__conv samba__conv_of(samba__made made, const samba_spec *in, const samba_spec *out,
                                     const int32_t *attr)
{
    bool makes_dx = made == SAMBA__MAKES_DX, makes_dw = made == SAMBA__MAKES_DW;
    samba__conv v = SAMBA__ZEROED;
    v.g = samba__conv_geometry_of(made, in, out, attr);
    const samba__conv_geometry *g = &v.g;
    int64_t weights = samba_count(makes_dw ? &out->shape : &in[1].shape);
    v.rows = makes_dx ? g->in_channels : g->out_channels;
    v.channels = makes_dx ? g->out_channels : g->in_channels;
    v.strided_dx = makes_dx && (g->stride[0] > 1 || g->stride[1] > 1);
    for (int i = 0; i < 2; i++)
        if (makes_dx)
            samba__conv_dx_axis(&v, i);
        else
            samba__conv_axis(&v, i);
    v.taps = v.kernel[0] * v.kernel[1];
    v.phases = makes_dw ? g->dilation[1] : v.stride[1];
    v.shares = g->images;
    if (makes_dw) {
        int64_t few = samba__min64(samba__min64(g->images, 8), (1 << 18) / weights);
        v.shares = samba__max64(few, 1);
    }
    if (makes_dx) v.scratch = weights;
    if (makes_dw) v.scratch = weights * v.shares;
    samba__conv_cut(&v, makes_dw);
    if (v.strided_dx) v.residue_sums = v.rows * v.tile_rows * v.most_targets[1];
    return v;
}

/* Sets v to the taps of the residue whose first tap is `first`, and counts the taps before it. */
SAMBA__FN void samba__residue_taps(samba__conv *v, const int64_t *first)
{
    int64_t before[2];
    for (int i = 0; i < 2; i++) {
        int64_t n = v->g.kernel[i], every = v->every[i], k = first[i];
        v->kernel[i] = k < n ? samba__ceil_div(n - k, every) : 0;
        before[i] = k * (n / every) + samba__min64(k, n % every);
    }
    v->taps = v->kernel[0] * v->kernel[1];
    v->before = before[0] * v->g.kernel[1] + v->kernel[0] * before[1];
}

/* Makes v the product of one residue of dx: its targets, its first tap, and where that meets dy. */
SAMBA__FN void samba__conv_residue(samba__conv *v, int64_t number)
{
    int64_t tap[2];
    v->residue[0] = number / v->residues[1];
    v->residue[1] = number % v->residues[1];
    for (int i = 0; i < 2; i++) {
        int64_t stride = v->g.stride[i], dilation = v->g.dilation[i], n = v->g.kernel[i], k = 0;
        int64_t at = v->residue[i] + v->g.padding[i];
        while (k < n && (at - k * dilation) % stride)
            k++;
        v->target[i] = samba__ceil_div(v->all_targets[i] - v->residue[i], stride);
        v->first[i] = (at - k * dilation) / stride - v->start[i];
        tap[i] = k;
    }
    samba__residue_taps(v, tap);
}

/* The one rule behind the three ops: y is the shape that x and w make. */
SAMBA__FN bool samba__conv_shape(samba_call *c, const samba_shape *x, const samba_shape *w,
                                 samba_shape *y)
{
    const int32_t *attr = c->attr;
    int32_t n = x->ndim, groups = attr[SAMBA__CONV_GROUPS];
    bool one_row = attr[SAMBA__CONV_STRIDE] == 1 && attr[SAMBA__CONV_PADDING] == 0
        && attr[SAMBA__CONV_DILATION] == 1
        && (c->n_attr < SAMBA__CONV_BACKWARD_WORDS || attr[SAMBA__CONV_SIZE] == 1);
    if ((n != 3 && n != 4) || w->ndim != n || !samba__sound_shape(x) || !samba__sound_shape(w)
        || (n == 3 && !one_row))
        return samba_refuse(c, SAMBA_ESHAPE,
                            "x must be (N,C,H,W) with w (O,C/groups,KH,KW), or "
                            "(N,C,L) with w (O,C/groups,K) and no stride, padding or dilation of "
                            "rows; x is %S, w %S",
                            x, w);
    if (groups < 1 || x->dim[1] % groups || w->dim[0] % groups || x->dim[1] / groups != w->dim[1])
        return samba_refuse(c, SAMBA_ESHAPE,
                            "with groups %d, x %S needs a w of (O,C/groups,...) "
                            "with O a multiple of groups; w is %S",
                            groups, x, w);
    *y = *x;
    y->dim[1] = w->dim[0];
    for (int32_t d = 2; d < n; d++) {
        int32_t i = 2 - n + d; /* row or column */
        int64_t stride = attr[SAMBA__CONV_STRIDE + i], padding = attr[SAMBA__CONV_PADDING + i];
        int64_t dilation = attr[SAMBA__CONV_DILATION + i];
        int64_t reach = dilation * (w->dim[d] - 1) + 1, room = x->dim[d] + 2 * padding;
        if (stride < 1 || padding < 0 || dilation < 1 || reach > room)
            return samba_refuse(c, SAMBA_ESHAPE,
                                "stride %d, padding %d, dilation %d: the kernel "
                                "spans %l of the %l that x and padding have along dimension %d; "
                                "it must fit, stride and dilation be 1 or more, padding 0 or more",
                                (int32_t)stride, (int32_t)padding, (int32_t)dilation, reach, room,
                                d);
        y->dim[d] = (int32_t)samba__min64((room - reach) / stride + 1, INT32_MAX);
    }
    return samba__sound_shape(y)
        || samba_refuse(c, SAMBA_ESHAPE, "the output %S would be too large; use less padding", y);
}

/* Backward: dx and dw have the rank of dy and, last, the attributes' rows and columns. */
SAMBA__FN bool samba__conv_rule(samba_call *c, samba__made made)
{
    bool forward = made == SAMBA__MAKES_Y, makes_dx = made == SAMBA__MAKES_DX;
    int32_t words = forward ? SAMBA__CONV_WORDS : SAMBA__CONV_BACKWARD_WORDS;
    if (!samba__expect_all_f32(c, 2, forward ? 3 : 2, words)) return false;
    samba_shape x = c->in[0].shape, w = c->in[1].shape, y, *s = makes_dx ? &x : &w;
    const samba_shape *dy = &c->in[makes_dx ? 0 : 1].shape, *b = &c->in[2].shape;
    int32_t groups = c->attr[SAMBA__CONV_GROUPS];
    int64_t channels = (int64_t)w.dim[1] * groups;
    int32_t n = s->ndim;
    if (makes_dx) x.dim[1] = channels < 1 || channels > INT32_MAX ? 0 : (int32_t)channels;
    if (made == SAMBA__MAKES_DW) w.dim[0] = dy->dim[1];
    if (made == SAMBA__MAKES_DW) w.dim[1] = groups < 1 ? 0 : x.dim[1] / groups;
    if (!forward && n <= 4)
        for (int32_t d = 2; d < n; d++)
            s->dim[d] = c->attr[words - n + d];
    if (!samba__conv_shape(c, &x, &w, &y)) return false;
    c->out[0].shape = forward ? y : *s;
    if (!forward && !samba__same_shape(&y, dy))
        return samba_refuse(c, SAMBA_ESHAPE, "dy is %S, but x %S and w %S make %S", dy, &x, &w, &y);
    samba__conv v = samba__conv_of(made, c->in, c->out, c->attr);
    if (v.tile_in_scratch && samba__tile_floats(&v) * (double)v.units > (double)INT32_MAX)
        return samba_refuse(c, SAMBA_ESHAPE, "the kernel of w %S spans too much of x %S", &w, &x);
    return !samba__has(c, 2) || (b->ndim == 1 && b->dim[0] == w.dim[0])
        || samba_refuse(c, SAMBA_ESHAPE,
                        "the bias %S must have one value for each of the %d "
                        "output channels",
                        b, w.dim[0]);
}

SAMBA__FN void samba__conv_words(const samba_conv_opts *opts, int32_t ndim, int32_t *attr)
{
    static const samba_conv_opts none = { { 0, 0 }, { 0, 0 }, { 0, 0 }, 0 };
    const samba_conv_opts *o = opts ? opts : &none;
    for (int32_t i = 0; i < 2; i++) {
        bool row = i == 0 && ndim == 3; /* 1-D: entry 0 of the options is for the columns */
        int32_t k = ndim == 3 ? 0 : i;
        attr[SAMBA__CONV_STRIDE + i] = row || o->stride[k] == 0 ? 1 : o->stride[k];
        attr[SAMBA__CONV_PADDING + i] = row ? 0 : o->padding[k];
        attr[SAMBA__CONV_DILATION + i] = row || o->dilation[k] == 0 ? 1 : o->dilation[k];
    }
    attr[SAMBA__CONV_GROUPS] = o->groups ? o->groups : 1;
}

/* Emits one of the backward ops, for an x or w of this shape. */
SAMBA__FN samba_tensor *samba__conv_backward(samba__made made, samba_tensor *a, samba_tensor *b,
                                             const int32_t *attr, const samba_shape *s)
{
    int32_t words[SAMBA__CONV_BACKWARD_WORDS], op = SAMBA__OP_convolution_backward_input;
    if (made == SAMBA__MAKES_DW) op = SAMBA__OP_convolution_backward_weight;
    if (!a || !b || s->ndim < 3 || s->ndim > SAMBA_MAX_DIMS) return NULL;
    memcpy(words, attr, SAMBA__CONV_WORDS * sizeof *words);
    for (int32_t i = 0; i < 2; i++)
        words[SAMBA__CONV_WORDS + i] = samba__side(s, s->ndim - 2, i);
    return samba__emit2(op, a, b, words, SAMBA__CONV_BACKWARD_WORDS);
}

/* 2 a b, or the largest number there is. */
SAMBA__FN int64_t samba__flops(int64_t a, int64_t b)
{
    return a > INT64_MAX / 2 / b ? INT64_MAX : 2 * a * b;
}

/* dx first transposes w, dw at last adds the sums of its shares. */
SAMBA__FN void samba__conv_work(samba_work *w, const samba_call *c, samba__made made)
{
    samba__conv v = samba__conv_of(made, c->in, c->out, c->attr);
    int64_t rows = v.g.groups * v.rows, residues = v.residues[0] * v.residues[1];
    w->flops = samba__flops(v.g.images * rows * v.target[0] * v.target[1] * residues,
                            v.channels * v.taps);
    w->n_phases = made == SAMBA__MAKES_Y ? 1 : 2;
    w->units[0] = made == SAMBA__MAKES_DX ? rows : v.units;
    w->units[1] = made == SAMBA__MAKES_DX ? v.units : rows;
    w->scratch = v.scratch * 4;
    if (v.tile_in_scratch) w->scratch += v.units * (int64_t)samba__tile_floats(&v) * 4;
}

/* n cells of a phase of one row, `deep` channels of it: from[0], from[phases] ... to to[0],
   to[deep] ...; channels are a plane apart in the source. */
SAMBA__VECTORIZED SAMBA__FN void samba__pack_cells(const samba__conv *v, const samba__gemm_set *set,
                                                   const float *from, int64_t n, int64_t deep,
                                                   float *to)
{
    int64_t plane = v->source[0] * v->source[1], phases = v->phases;
    if (set && phases == 1)
        samba__transpose(set, from, plane, n, deep, to, deep, v->source[1]);
    else if (!set && phases == 1)
        memcpy(to, from, (size_t)n * sizeof *to);
    else if (!set && phases == 2)
        for (int64_t q = 0; q < n; q++)
            to[q] = from[2 * q];
    else
        for (int64_t c = 0; c < deep; c++, to++, from += plane)
            for (int64_t q = 0; q < n; q++)
                to[q * deep] = from[q * phases];
}

/* Packs a tile whose channels begin at x as (channel, row, phase, column), or, if there is a set to
   transpose them, as (row, phase, column, channel). */
SAMBA__FN void samba__pack_tile(const samba__conv *v, const samba__tile *b, const float *x,
                                const samba__gemm_set *set, float *tile)
{
    int64_t deep = set ? b->channels : 1, width = b->width * deep, phases = v->phases;
    int64_t plane = v->source[0] * v->source[1];
    for (int64_t i = 0; i < b->channels / deep * phases; i++) {
        /* Elements begin, begin + phases ... of a row go to cells left, left + 1 ... */
        int64_t channel = i / phases, phase = i % phases, first = b->first[1] + phase;
        int64_t left = samba__ceil_div(samba__max64(-first, 0), phases);
        int64_t begin = first + left * phases;
        int64_t n = samba__min64(samba__ceil_div(v->source[1] - begin, phases), b->width - left);
        SAMBA_ASSERT(n <= 0 || (begin >= 0 && begin + (n - 1) * phases < v->source[1]));
        /* A kernel of one column or row leaves out what a stride skips. */
        if (v->span[1] == 0 && phases == v->stride[1] && phase) continue;
        for (int64_t r = 0; r < b->cells[0]; r++) {
            int64_t row = b->first[0] + r;
            float *to = tile + ((channel * b->cells[0] + r) * phases + phase) * width;
            if (v->span[0] == 0 && r % v->stride[0]) continue;
            memset(to, 0, (size_t)width * sizeof *to); /* what lies outside the image */
            if (n <= 0 || row < 0 || row >= v->source[0]) continue;
            const float *from = x + channel * plane + row * v->source[1] + begin;
            samba__pack_cells(v, set, from, n, deep, to + left * deep);
        }
    }
}

/* The columns of B in a tile: column j is j / run * step + j % run behind the first one. */
typedef struct samba__runs {
    const float *tile;
    int64_t n, run, step;
} samba__runs;

/* Packs columns j ... of B as a panel, where B(p,j) = tile[at[p] + column j]: pieces of 8, of which
   what is too much is overwritten by the next. */
SAMBA__INLINE void samba__im2col_panel(const samba__panel_product *s, const samba__runs *q,
                                       const int32_t *at, int64_t j, float *to)
{
    int32_t from[SAMBA__GEMM_COLS], k[SAMBA__GEMM_COLS], n = 0;
    for (int64_t next = 0, x = j % q->run, base = j / q->run * q->step; next < s->cols; n++) {
        SAMBA_ASSERT(n < SAMBA__GEMM_COLS);
        int64_t left = q->run - x;
        from[n] = (int32_t)(base + x);
        k[n] = (int32_t)next;
        next += samba__min64(left, 8);
        x += 8;
        if (left <= 8) {
            x = 0;
            base += q->step;
        }
    }
    for (int64_t p = 0; p < s->kc; p++, to += s->b_row) {
        const float *x = q->tile + at[p];
        for (int32_t i = 0; i < n; i++)
            memcpy(to + k[i], x + from[i], 8 * sizeof *to);
    }
}

/* C (+)= A B for the rows of B that begin at at[]. Runs that fill halves of panels well are read
   where they are; others are packed, which costs as much as some rows of C. */
SAMBA__FN void samba__conv_product(const samba_args *a, samba__panel_product *s,
                                   const samba__runs *q, const int32_t *at, const float *rows,
                                   int64_t a_row)
{
    const samba__gemm_set *set = samba__gemm_set_of(a->isa);
    int64_t width = set->nr, half = width / 2;
    int64_t direct_cost = (samba__ceil_div(q->run, half) * (q->n / q->run) + 1) / 2 * s->rows;
    int64_t packed_cost = samba__ceil_div(q->n, width) * (s->rows + 12);
    bool direct = a->isa != 0 && direct_cost > 0 && direct_cost <= packed_cost;
    float *c = s->c, *panel = a->local;
    s->a = rows;
    s->a_row = a_row;
    s->a_col = 1;
    s->a_next = a_row;
    s->b = panel;
    s->b_row = width;
    s->b_at = direct ? at : NULL;
    s->b_hi = s->c_hi = half;
    s->bias = NULL;
    for (int64_t j = 0, x, hi; j < q->n; j += s->cols) {
        x = j % q->run;
        s->cols = samba__min64(direct ? samba__min64(half, q->run - x) : width, q->n - j);
        s->cols_hi = samba__max64(s->cols - half, 0);
        s->c = c + j;
        s->from = s->from ? s->c : NULL;
        if (direct) {
            s->b = q->tile + j / q->run * q->step + x;
            hi = j + s->cols;
            s->c_hi = s->cols;
            x = hi % q->run;
            if (hi < q->n) s->cols_hi = samba__min64(half, q->run - x);
            s->b_hi = hi < q->n ? q->tile + hi / q->run * q->step + x - s->b : 0;
            s->cols += s->cols_hi;
        } else
            samba__im2col_panel(s, q, at, j, panel);
        set->multiply_panel(s);
    }
}

/* Where rows p ... p + n - 1 of B begin in the tile: taps of its channels, or, for dw, outputs. */
SAMBA__FN void samba__im2col_rows(const samba__conv *v, const samba__tile *b, bool makes_dw,
                                  int64_t p, int64_t n, int32_t *at)
{
    const int64_t *sides = makes_dw ? b->target : v->kernel;
    const int64_t *by = makes_dw ? v->stride : v->step;
    int64_t deep = makes_dw ? b->channels : 1, phases = v->phases;
    int64_t c = p / sides[1] / sides[0], row = p / sides[1] % sides[0], x = p % sides[1];
    for (int64_t u = 0; u < n; x = 0) {
        int64_t line = (c * b->cells[0] + v->first[0] + row * by[0]) * phases * b->width;
        for (; x < sides[1] && u < n; x++, u++) {
            int64_t cell = v->first[1] + x * by[1];
            if (phases > 1) cell = cell % phases * b->width + cell / phases;
            at[u] = (int32_t)((line + cell) * deep);
        }
        if (++row == sides[0]) {
            row = 0;
            c++;
        }
    }
}

/* The sums of residues in one row of dx, of all channels of a group, go to their places: of two
   residues as pairs, which vectors can write. */
SAMBA__VECTORIZED SAMBA__FN void samba__place_residues(const samba_args *a, const samba__conv *v,
                                                       int64_t image, int64_t first,
                                                       const float *sums)
{
    int64_t rows = samba__min64(v->tile_rows, v->target[0] - first), wide = v->all_targets[1];
    int64_t by = v->g.stride[1], size = v->residue_sums, pairs = by == 2 ? wide / 2 : 0;
    for (int64_t i = 0; i < v->rows * rows; i++) {
        int64_t at = i / rows * v->tile_rows + i % rows;
        int64_t row = (first + i % rows) * v->g.stride[0] + v->residue[0];
        float *dx = a->out[0] + ((image * v->rows + i / rows) * v->all_targets[0] + row) * wide;
        const float *even = sums + at * (wide - pairs), *odd = sums + size + at * pairs;
        for (int64_t j = 0; j < pairs; j++) {
            dx[2 * j] = even[j];
            dx[2 * j + 1] = odd[j];
        }
        for (int64_t r = 0; r < v->residues[1]; r++) {
            int64_t n = samba__ceil_div(wide - r, by);
            for (int64_t j = pairs; j < n; j++)
                dx[j * by + r] = sums[r * size + at * n + j];
        }
    }
}

/* C (+)= A B with B from one packed tile: what a unit of work gives samba__conv_tile. */
typedef struct samba__conv_term {
    float *c;
    int64_t c_row;
    const float *a; /* its terms are beside each other */
    int64_t a_row;
    bool first;        /* C begins with this term */
    const float *bias; /* of rows, added after the last term; or NULL */
} samba__conv_term;

SAMBA__FN void samba__conv_tile(const samba_args *a, const samba__conv *v, bool makes_dw,
                                const samba__tile *b, const float *tile, const samba__conv_term *t)
{
    /* Rows of B are taps and columns outputs; for dw it is the other way round. */
    const int64_t *sides = makes_dw ? v->kernel : b->target;
    const int64_t *by = makes_dw ? v->step : v->stride;
    int64_t deep = makes_dw ? b->channels : 1, run = sides[1] * deep;
    int64_t terms = makes_dw ? b->target[0] * b->target[1] : b->channels * v->taps;
    int64_t kc = samba__ceil_div(terms, samba__ceil_div(terms, SAMBA__CONV_KC));
    samba__runs q = { tile, sides[0] * run, run, by[0] * v->phases * b->width * deep };
    int32_t at[SAMBA__CONV_KC];
    samba__panel_product s;
    s.c_row = t->c_row;
    s.rows = v->rows;
    s.from_row = s.c_row;
    s.prefetch_a = false;
    for (int64_t p = 0; p < terms; p += s.kc) {
        s.kc = samba__min64(kc, terms - p);
        SAMBA_ASSERT(s.kc > 0 && s.kc <= SAMBA__CONV_KC); /* at[] has room */
        s.c = t->c;
        s.from = t->first && p == 0 ? NULL : s.c;
        s.row_bias = p + s.kc == terms ? t->bias : NULL;
        samba__im2col_rows(v, b, makes_dw, p, s.kc, at);
        samba__conv_product(a, &s, &q, at, t->a + p, t->a_row);
    }
}

/* Memory of a thread for its units: sums of residues, then the tile. */
typedef struct samba__conv_memory {
    float *sums, *tile;
    bool packed; /* the tile serves all residues */
} samba__conv_memory;

SAMBA__FN const float *samba__conv_channels(const samba_args *a, const samba__conv *v,
                                            const samba__tile *b, int64_t image)
{
    int64_t plane = v->source[0] * v->source[1];
    return a->in[0] + (image * v->channels + b->channel) * plane;
}

/* A unit of y or dx: rows of targets of an image and group, from all tiles of channels in order.
   dx reads transposed weights, in scratch, after those of the residues before. */
SAMBA__FN void samba__conv_targets(const samba_args *a, const samba__conv *v, bool makes_y,
                                   int64_t unit, samba__conv_memory *m)
{
    int64_t image = unit / v->tiles, row_tile = unit % v->tiles, k = v->channels * v->taps;
    int64_t row = image % v->g.groups * v->rows, first_row = row_tile * v->tile_rows;
    const float *w = a->in[1], *bias = makes_y && a->n_in > 2 ? a->in[2] : NULL;
    if (!makes_y) w = (float *)a->scratch + v->before * v->channels * v->rows * v->g.groups;
    samba__conv_term t;
    t.c = a->out[0] + (image * v->rows * v->target[0] + first_row) * v->target[1];
    t.c_row = v->target[0] * v->target[1];
    t.a_row = k;
    if (v->strided_dx) {
        if (first_row >= v->target[0]) return;
        t.c = m->sums + v->residue[1] * v->residue_sums;
        t.c_row = v->tile_rows * v->target[1];
    }
    int64_t terms = v->channel_tiles;
    if (v->taps == 0) { /* no tap meets this residue */
        memset(t.c, 0, (size_t)(v->rows * t.c_row) * sizeof *t.c);
        terms = 0;
    }
    for (int64_t i = 0; i < terms; i++) {
        samba__tile b = samba__tile_of(v, row_tile, i);
        if (v->channel_tiles > 1 || !m->packed)
            samba__pack_tile(v, &b, samba__conv_channels(a, v, &b, image), NULL, m->tile);
        m->packed = true;
        t.a = w + row * k + b.channel * v->taps;
        t.first = i == 0;
        t.bias = bias && i == v->channel_tiles - 1 ? bias + row : NULL;
        samba__conv_tile(a, v, false, &b, m->tile, &t);
    }
    if (v->strided_dx && v->residue[1] == v->residues[1] - 1)
        samba__place_residues(a, v, image, first_row, m->sums);
}

/* A unit of dw: some channels of a group's inputs, from all tiles of rows of the images of a share,
   which are every shares-th one. Columns are in the order (tile of channels, row, column,
   channel). */
SAMBA__FN void samba__conv_weights(const samba_args *a, const samba__conv *v, int64_t unit,
                                   const samba__conv_memory *m)
{
    int64_t share = unit / v->tiles, channel_tile = unit % v->tiles, groups = v->g.groups;
    int64_t images = samba__ceil_div(v->g.images - share / groups, v->shares);
    int64_t plane = v->target[0] * v->target[1];
    for (int64_t i = 0; i < images * v->row_tiles; i++) {
        int64_t image = share + i / v->row_tiles * v->shares * groups;
        samba__tile b = samba__tile_of(v, i % v->row_tiles, channel_tile);
        samba__conv_term t;
        t.c_row = v->channels * v->taps;
        t.c = (float *)a->scratch + share * v->rows * t.c_row + b.channel * v->taps;
        t.a = a->in[1] + image * v->rows * plane + b.row * v->target[1];
        t.a_row = plane;
        t.first = i == 0;
        t.bias = NULL;
        samba__pack_tile(v, &b, samba__conv_channels(a, v, &b, image), samba__gemm_set_of(a->isa),
                         m->tile);
        samba__conv_tile(a, v, true, &b, m->tile, &t);
    }
}

/* A row of dw: the sum of its shares, back in the order (channel, row, column). */
SAMBA__FN void samba__add_shares(const samba_args *a, const samba__conv *v, int64_t o)
{
    int64_t k = v->channels * v->taps;
    for (int64_t share = 0; share < v->shares; share++) {
        const float *from = (float *)a->scratch + (share * v->g.groups * v->rows + o) * k;
        for (int64_t channel = 0, next; channel < v->channels; channel = next) {
            next = samba__min64(channel + v->tile_channels, v->channels);
            for (int64_t tap = 0; tap < v->taps; tap++) {
                float *sum = a->out[0] + o * k + tap;
                for (int64_t c = channel; c < next; c++, from++)
                    sum[c * v->taps] = share == 0 ? *from : sum[c * v->taps] + *from;
            }
        }
    }
}

/* Row c of the transposed weights of a group, for each residue that has taps. */
SAMBA__FN void samba__transpose_weights(const samba_args *a, samba__conv *v, int64_t row)
{
    int64_t group = row / v->rows, c = row % v->rows, rows = v->rows * v->g.groups;
    int64_t down = v->every[0], by = v->every[1], n = v->g.kernel[0], m = v->g.kernel[1];
    const float *w = a->in[1] + (group * v->channels * v->rows + c) * n * m;
    int64_t residues[2] = { samba__min64(n, down), samba__min64(m, by) }; /* that have taps */
    for (int64_t i = 0; i < residues[0] * residues[1]; i++) {
        int64_t k[2] = { i / residues[1], i % residues[1] };
        samba__residue_taps(v, k);
        float *to = (float *)a->scratch + (v->before * rows + row * v->taps) * v->channels;
        for (int64_t o = 0; o < v->channels; o++)
            for (int64_t y = k[0]; y < n; y += down)
                for (int64_t x = k[1]; x < m; x += by)
                    *to++ = w[(o * v->rows * n + y) * m + x];
    }
}

SAMBA__FN void samba__conv_run(const samba_args *a, samba__made made)
{
    samba__conv all = samba__conv_of(made, a->in_spec, a->out_spec, a->attr);
    SAMBA_ASSERT(all.tile_in_scratch || samba__tile_floats(&all) <= (double)SAMBA__TILE_ROOM);
    for (int64_t u = a->begin; u < a->end; u++) {
        samba__conv v = all;
        samba__conv_memory m;
        m.sums = a->local + SAMBA__GEMM_LOCAL / sizeof(float);
        if (v.tile_in_scratch)
            m.sums = (float *)a->scratch + v.scratch + u * (int64_t)samba__tile_floats(&all);
        m.tile = m.sums + v.residue_sums * v.residues[1];
        m.packed = false;
        if (made == SAMBA__MAKES_DX && a->phase == 0)
            samba__transpose_weights(a, &v, u);
        else if (made == SAMBA__MAKES_DW && a->phase == 0)
            samba__conv_weights(a, &v, u, &m);
        else if (made == SAMBA__MAKES_DW)
            samba__add_shares(a, &v, u);
        else
            for (int64_t i = 0; i < v.residues[0] * v.residues[1]; i++) {
                if (made == SAMBA__MAKES_DX) samba__conv_residue(&v, i);
                samba__conv_targets(a, &v, made == SAMBA__MAKES_Y, u, &m);
            }
    }
}

SAMBA__RULES(convolution, conv, SAMBA__MAKES_Y)
SAMBA__RULES(convolution_backward_input, conv, SAMBA__MAKES_DX)
SAMBA__RULES(convolution_backward_weight, conv, SAMBA__MAKES_DW)

SAMBA__FN void samba__convolution_kernel(const samba_args *a)
{
    samba__conv_run(a, SAMBA__MAKES_Y);
}

SAMBA__FN void samba__convolution_backward_input_kernel(const samba_args *a)
{
    samba__conv_run(a, SAMBA__MAKES_DX);
}

SAMBA__FN void samba__convolution_backward_weight_kernel(const samba_args *a)
{
    samba__conv_run(a, SAMBA__MAKES_DW);
}

/* The gradient of b is the sum of dy over all but channels. */
SAMBA__OP_API samba_tensor *samba_convolution(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                              const samba_conv_opts *opts)
{
    int32_t attr[SAMBA__CONV_WORDS];
    samba_tensor *in[3] = { x, w, b };
    if (!x || !w) return NULL;
    samba__conv_words(opts, x->shape.ndim, attr);
    return samba__emit(x->session, SAMBA__OP_convolution, in, b ? 3 : 2, attr, SAMBA__CONV_WORDS,
                       NULL);
}

SAMBA__FN void samba__convolution_vjp(samba_vjp *g)
{
    samba_tensor *x = g->in[0], *w = g->in[1], *dy = g->dout[0];
    samba_shape axes = samba_scalar_shape();
    for (int32_t d = 0; d < x->shape.ndim; d++)
        if (d != 1) axes.dim[axes.ndim++] = d;
    g->din[0] = samba__conv_backward(SAMBA__MAKES_DX, dy, w, g->attr, &x->shape);
    g->din[1] = samba__conv_backward(SAMBA__MAKES_DW, x, dy, g->attr, &w->shape);
    if (g->n_in > 2 && g->in[2]) g->din[2] = samba_sum(dy, axes, false);
}

/* Inputs dy, w: a and b in the gradient. */
SAMBA__OP_API samba_tensor *samba_convolution_backward_input(samba_tensor *dy, samba_tensor *w,
                                                             samba_shape x_shape,
                                                             const samba_conv_opts *opts)
{
    int32_t attr[SAMBA__CONV_WORDS];
    samba__conv_words(opts, x_shape.ndim, attr);
    return samba__conv_backward(SAMBA__MAKES_DX, dy, w, attr, &x_shape);
}
SAMBA__GRAD2(convolution_backward_input, /* dy is that of dx */
             samba__emit2(SAMBA__OP_convolution, dy, b, g->attr, SAMBA__CONV_WORDS),
             samba__conv_backward(SAMBA__MAKES_DW, dy, a, g->attr, &b->shape))

/* Inputs x, dy: a and b in the gradient. */
SAMBA__OP_API samba_tensor *samba_convolution_backward_weight(samba_tensor *x, samba_tensor *dy,
                                                              samba_shape w_shape,
                                                              const samba_conv_opts *opts)
{
    int32_t attr[SAMBA__CONV_WORDS];
    samba__conv_words(opts, w_shape.ndim, attr);
    return samba__conv_backward(SAMBA__MAKES_DW, x, dy, attr, &w_shape);
}
SAMBA__GRAD2(convolution_backward_weight, /* dy is that of dw */
             samba__conv_backward(SAMBA__MAKES_DX, b, dy, g->attr, &a->shape),
             samba__emit2(SAMBA__OP_convolution, a, dy, g->attr, SAMBA__CONV_WORDS))

/* ==== [pool] ================================================================================== */
/* ---- Pooling over the last two axes. Attributes of max: kernel, stride, padding as (rows,
   columns), ceil_mode; of avg also exclude_padding; of adaptive avg only the rows and columns of y.
   avg_pool2d_backward appends the rows and columns of x. Padding is at most half the kernel and no
   window starts behind x, so that each window holds an element. Units are planes. ---- */
enum {
    SAMBA__MAX_WORDS = SAMBA__POOL_SIZE,
    SAMBA__AVG_WORDS = SAMBA__AVG_SIZE,
    SAMBA__ADAPTIVE_WORDS = SAMBA__AVG_TO_SIZE
};

typedef enum samba__pooling {
    SAMBA__MAX_FORWARD,
    SAMBA__AVG_FORWARD,
    SAMBA__MAX_BACKWARD,
    SAMBA__AVG_BACKWARD
} samba__pooling;

/* Outputs along one axis of n inputs; 0 after a refusal. */
SAMBA__FN int32_t samba__pooling_side(samba_call *c, int32_t n, const int32_t *attr)
{
    int64_t kernel = attr[SAMBA__POOL_KERNEL], stride = attr[SAMBA__POOL_STRIDE],
            padding = attr[SAMBA__POOL_PADDING], up = c->attr[SAMBA__POOL_CEIL_MODE] != 0;
    if (kernel >= 1 && stride >= 1 && padding >= 0 && padding <= kernel / 2) {
        int64_t room = n + 2 * padding - kernel + up * (stride - 1);
        int64_t out = room < 0 ? 0 : room / stride + 1;
        if (up && out > 0 && (out - 1) * stride >= n + padding) out--; /* starts behind x */
        if (out >= 1 && out <= INT32_MAX) return (int32_t)out;
    }
    samba_refuse(c, SAMBA_ESHAPE,
                 "kernel %d, stride %d, padding %d do not fit %d elements: "
                 "kernel and stride must be at least 1, padding at most half the kernel, and the "
                 "kernel at most the elements with padding",
                 attr[SAMBA__POOL_KERNEL], attr[SAMBA__POOL_STRIDE], attr[SAMBA__POOL_PADDING], n);
    return 0;
}

/* The rule of the four ops. Backward: output 0 is dx, if pooling x makes a dy. */
SAMBA__FN bool samba__pooling_rule(samba_call *c, samba__pooling op)
{
    int32_t n_in = op == SAMBA__MAX_BACKWARD ? 2 : 1, more = op == SAMBA__AVG_BACKWARD ? 2 : 0;
    bool max = op == SAMBA__MAX_FORWARD || op == SAMBA__MAX_BACKWARD;
    bool adaptive = !max && c->n_attr < SAMBA__MAX_WORDS;
    int32_t words = max ? SAMBA__MAX_WORDS : SAMBA__AVG_WORDS;
    if (adaptive) words = SAMBA__ADAPTIVE_WORDS;
    if (!samba__expect_all_f32(c, n_in, n_in, words + more)) return false;
    samba_shape x = c->in[0].shape, y = x;
    const samba_shape *dy = &c->in[n_in - 1].shape;
    for (int32_t i = 0; i < 2 && x.ndim >= 2 && x.ndim <= SAMBA_MAX_DIMS; i++) {
        int32_t d = x.ndim - 2 + i;
        if (more) x.dim[d] = c->attr[words + i];
        y.dim[d] = adaptive ? c->attr[i] : samba__pooling_side(c, x.dim[d], c->attr + i);
        if (c->code) return false;
    }
    if (x.ndim < 2 || !samba__sound_shape(&x) || !samba__sound_shape(&y))
        return samba_refuse(c, SAMBA_ESHAPE,
                            "x %S must end in rows and columns; neither it nor y "
                            "%S may be empty or too large",
                            &x, &y);
    c->out[0].shape = op <= SAMBA__AVG_FORWARD ? y : x;
    return op <= SAMBA__AVG_FORWARD || samba__same_shape(&y, dy)
        || samba_refuse(c, SAMBA_ESHAPE, "dy is %S, but pooling %S makes %S", dy, &x, &y);
}

SAMBA__FN void samba__pooling_words(const samba_pool_opts *opts, int32_t *attr)
{
    static const samba_pool_opts none = { { 0, 0 }, { 0, 0 }, { 0, 0 }, false, false };
    const samba_pool_opts *o = opts ? opts : &none;
    for (int32_t i = 0; i < 2; i++) {
        attr[SAMBA__POOL_KERNEL + i] = o->kernel[i] ? o->kernel[i] : o->kernel[0];
        attr[SAMBA__POOL_STRIDE + i] = o->stride[i] ? o->stride[i] : attr[SAMBA__POOL_KERNEL + i];
        attr[SAMBA__POOL_PADDING + i] = o->padding[i];
    }
    attr[SAMBA__POOL_CEIL_MODE] = o->ceil_mode;
    attr[SAMBA__AVG_EXCLUDE_PADDING] = o->exclude_padding;
}

/* An adaptive window takes all of x once, any other a kernel for each y. */
SAMBA__FN void samba__pooling_work(samba_work *w, const samba_call *c, samba__pooling op)
{
    const samba_spec *last = &c->in[c->n_in - 1], *y = op <= SAMBA__AVG_FORWARD ? c->out : last;
    int64_t n = samba_count(&y->shape);
    w->units[0] = samba__outer(&y->shape, y->shape.ndim - 2);
    w->flops = n + samba_count(&c->in[0].shape);
    if (c->n_attr < SAMBA__MAX_WORDS) return;
    w->flops
        = samba__flops(n, (int64_t)c->attr[SAMBA__POOL_KERNEL] * c->attr[SAMBA__POOL_KERNEL + 1])
        / 2;
}

typedef struct samba__pool_sides {
    int64_t in[2], out[2], kernel[2], stride[2], padding[2]; /* rows, columns */
    bool adaptive, exclude_padding;
} samba__pool_sides;

/* Inputs begin ... end-1 of output o along an axis; size counts padding, unless it is excluded.
   Adaptive: window o of m over n inputs is floor(o n/m) ... ceil((o+1) n/m) - 1. */
typedef struct samba__window {
    int64_t begin, end, size;
} samba__window;

SAMBA__INLINE samba__window samba__window_of(const samba__pool_sides *v, int axis, int64_t o)
{
    samba__window w;
    int64_t n = v->in[axis], m = v->out[axis];
    int64_t begin = v->adaptive ? o * n / m : o * v->stride[axis] - v->padding[axis];
    int64_t end = v->adaptive ? samba__ceil_div((o + 1) * n, m) : begin + v->kernel[axis];
    w.begin = samba__max64(begin, 0);
    w.end = samba__min64(end, n);
    w.size = v->exclude_padding ? w.end - w.begin : samba__min64(end, n + v->padding[axis]) - begin;
    return w;
}

/* Maxima, as each instruction set finds them. Pooling waits for memory, but maxima of planes in the
   cache took four times as long without vectors. */
typedef struct samba__pool_set {
    void (*max_plane)(const samba__pool_sides *v, const float *x, float *y);
    void (*max_plane_backward)(const samba__pool_sides *v, const float *x, const float *dy,
                               float *dx);
    void (*max_squares)(const samba__pool_sides *v, const float *x, float *y);
    void (*max_squares_backward)(const samba__pool_sides *v, const float *x, const float *dy,
                                 float *dx);
    float (*row_sum)(const float *x, int64_t n);
    void (*row_add)(float *y, float share, int64_t n); /* to each of n elements */
} samba__pool_set;

/* One of the four elements of a window of 2 x 2. Masks instead of choices, which compilers would
   turn into branches. */
SAMBA__INLINE void samba__max_tap(float g, int32_t tap, float *most, int32_t *best)
{
    int32_t more = (g > *most) | (g != g);
    *most = more ? g : *most;
    *best += (tap - *best) & -more;
}

/* The bits of dy at the tap that was largest, else those of 0. */
SAMBA__INLINE float samba__if_best(uint32_t bits, int32_t best, int32_t tap)
{
    return samba__bits_float(bits & (0u - (uint32_t)(best == tap)));
}

#endif /* SAMBA__TEMPLATE == 0 */

/* ---- A template: maxima, for each set -------------------------------------------------------- */
#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_POOL && defined(SAMBA__SUFFIX)
#define samba__max_windows SAMBA__OF_SET(samba__max_windows)
#define samba__max_plane SAMBA__OF_SET(samba__max_plane)
#define samba__max_plane_backward SAMBA__OF_SET(samba__max_plane_backward)
#define samba__max_squares SAMBA__OF_SET(samba__max_squares)
#define samba__max_squares_backward SAMBA__OF_SET(samba__max_squares_backward)
#define samba__pool_sum SAMBA__OF_SET(samba__pool_sum)
#define samba__pool_add SAMBA__OF_SET(samba__pool_add)
#define samba__pool_kernels SAMBA__OF_SET(samba__pool_kernels)
#if SAMBA__VEC_LANES < 16

/* A plane of maxima: pieces of rows of y, tap after tap. The maximum is the first, or the last NaN;
   it is found without a branch, because nobody predicts what data decide. */
SAMBA__KERNEL void samba__max_windows(const samba__pool_sides *v, bool forward, const float *x,
                                      const float *dy, float *to)
{
    enum { COLUMNS = 64 };

    float most[COLUMNS];
    int64_t best[COLUMNS], by = v->stride[1], width = v->in[1];
    for (int64_t o = 0, n; o < v->out[0] * v->out[1]; o += n) {
        samba__window rows = samba__window_of(v, 0, o / v->out[1]);
        int64_t left = o % v->out[1] * by - v->padding[1];
        n = samba__min64(v->out[1] - o % v->out[1], COLUMNS);
        for (int64_t i = 0; i < n; i++) {
            most[i] = -SAMBA__INF;
            best[i] = rows.begin * width + samba__max64(left + i * by, 0);
        }
        for (int64_t tap = 0; tap < (rows.end - rows.begin) * v->kernel[1]; tap++) {
            int64_t column = left + tap % v->kernel[1], row = rows.begin + tap / v->kernel[1];
            int64_t at = row * width + column, end = n;
            int64_t i = column < 0 ? samba__ceil_div(-column, by) : 0;
            if (column + (n - 1) * by >= width) end = samba__ceil_div(width - column, by);
            for (; i < end; i++) {
                float g = x[at + i * by];
                bool more = g > most[i] || g != g;
                most[i] = more ? g : most[i];
                if (!forward) best[i] += (at + i * by - best[i]) & -(int64_t)more;
            }
        }
        if (forward)
            memcpy(to + o, most, (size_t)n * sizeof *to);
        else
            for (int64_t i = 0; i < n; i++)
                to[best[i]] += dy[o + i];
    }
}

SAMBA__VECTORIZED SAMBA__FN void samba__max_plane(const samba__pool_sides *v, const float *x,
                                                  float *y)
{
    samba__max_windows(v, true, x, NULL, y);
}

SAMBA__VECTORIZED SAMBA__FN void samba__max_plane_backward(const samba__pool_sides *v,
                                                           const float *x, const float *dy,
                                                           float *dx)
{
    samba__max_windows(v, false, x, dy, dx);
}

/* The same if windows of 2 x 2 fill x without overlap: every element of dx is written once. */
SAMBA__VECTORIZED SAMBA__FN void samba__max_squares(const samba__pool_sides *v, const float *x,
                                                    float *SAMBA__RESTRICT y)
{
    int64_t n = v->out[1], width = 2 * n;
    for (int64_t row = 0; row < v->out[0]; row++, x += 2 * width, y += n)
        for (int64_t i = 0; i < n; i++) {
            float most = x[2 * i];
            int32_t best = 0;
            samba__max_tap(x[2 * i + 1], 1, &most, &best);
            samba__max_tap(x[2 * i + width], 2, &most, &best);
            samba__max_tap(x[2 * i + width + 1], 3, &most, &best);
            y[i] = most;
        }
}

SAMBA__VECTORIZED SAMBA__FN void samba__max_squares_backward(const samba__pool_sides *v,
                                                             const float *x,
                                                             const float *SAMBA__RESTRICT dy,
                                                             float *SAMBA__RESTRICT dx)
{
    int64_t n = v->out[1], width = 2 * n;
    for (int64_t row = 0; row < v->out[0]; row++, x += 2 * width, dx += 2 * width, dy += n)
        for (int64_t i = 0; i < n; i++) {
            float most = x[2 * i];
            int32_t best = 0;
            samba__max_tap(x[2 * i + 1], 1, &most, &best);
            samba__max_tap(x[2 * i + width], 2, &most, &best);
            samba__max_tap(x[2 * i + width + 1], 3, &most, &best);
            uint32_t bits = samba__float_bits(dy[i]);
            dx[2 * i] = samba__if_best(bits, best, 0);
            dx[2 * i + 1] = samba__if_best(bits, best, 1);
            dx[2 * i + width] = samba__if_best(bits, best, 2);
            dx[2 * i + width + 1] = samba__if_best(bits, best, 3);
        }
}

SAMBA__VECTORIZED SAMBA__FN float samba__pool_sum(const float *x, int64_t n)
{
    return samba__row_sum(x, n);
}

SAMBA__VECTORIZED SAMBA__FN void samba__pool_add(float *y, float share, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += share;
}

static const samba__pool_set samba__pool_kernels = {
    samba__max_plane, samba__max_plane_backward, samba__max_squares, samba__max_squares_backward,
    samba__pool_sum,  samba__pool_add,
};
#else /* many rows are shorter than vectors of 16 */
static const samba__pool_set samba__pool_kernels = {
    samba__max_plane_avx2,   samba__max_plane_backward_avx2,
    samba__max_squares_avx2, samba__max_squares_backward_avx2,
    samba__pool_sum_avx2,    samba__pool_add_avx2,
};
#endif
#endif /* the template */

#if SAMBA__TEMPLATE == 0
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_POOL
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

/* By the number of an instruction set. */
static const samba__pool_set *const samba__pool_sets[] = {
#define SAMBA__POOL_ROW(set, ...) &samba__pool_kernels_##set,
    SAMBA__EACH_SET(SAMBA__POOL_ROW)
};

/* A plane of means, window by window. */
SAMBA__INLINE void samba__avg_plane(const samba__pool_set *set, const samba__pool_sides *v,
                                    const float *x, float *y)
{
    for (int64_t row = 0; row < v->out[0]; row++) {
        samba__window rows = samba__window_of(v, 0, row);
        for (int64_t column = 0; column < v->out[1]; column++, y++) {
            samba__window columns = samba__window_of(v, 1, column);
            int64_t n = columns.end - columns.begin, high = rows.end - rows.begin;
            const float *from = x + rows.begin * v->in[1] + columns.begin;
            float sum = 0.0f;
            if (n == v->in[1]) { /* whole rows are one long row */
                n *= high;
                high = 1;
            }
            for (int64_t i = 0; i < high; i++, from += v->in[1]) {
                if (n >= SAMBA__LANES) {
                    sum += set->row_sum(from, n);
                } else {
                    for (int64_t k = 0; k < n; k++)
                        sum += from[k];
                }
            }
            *y = sum / (float)(rows.size * columns.size);
        }
    }
}

/* Each element of a window gets its share of dy. */
SAMBA__INLINE void samba__avg_plane_backward(const samba__pool_set *set, const samba__pool_sides *v,
                                             const float *dy, float *dx)
{
    for (int64_t row = 0; row < v->out[0]; row++) {
        samba__window rows = samba__window_of(v, 0, row);
        for (int64_t column = 0; column < v->out[1]; column++, dy++) {
            samba__window columns = samba__window_of(v, 1, column);
            int64_t n = columns.end - columns.begin, high = rows.end - rows.begin;
            float *to = dx + rows.begin * v->in[1] + columns.begin;
            float share = *dy / (float)(rows.size * columns.size);
            if (n == v->in[1]) { /* whole rows are one long row */
                n *= high;
                high = 1;
            }
            for (int64_t i = 0; i < high; i++, to += v->in[1]) {
                if (n >= 8) {
                    set->row_add(to, share, n);
                } else {
                    for (int64_t k = 0; k < n; k++)
                        to[k] += share;
                }
            }
        }
    }
}

SAMBA__FN samba__pool_sides samba__pool_sides_of(const samba_args *a, samba__pooling op)
{
    const samba_shape *x = op == SAMBA__AVG_BACKWARD ? &a->out_spec->shape : &a->in_spec->shape;
    const samba_shape *y = &a->out_spec->shape; /* or dy, the last input */
    if (op > SAMBA__AVG_FORWARD) y = &a->in_spec[a->n_in - 1].shape;
    samba__pool_sides v = SAMBA__ZEROED;
    v.adaptive = a->n_attr < SAMBA__MAX_WORDS;
    v.exclude_padding = a->n_attr >= SAMBA__AVG_WORDS && a->attr[SAMBA__AVG_EXCLUDE_PADDING];
    for (int32_t i = 0; i < 2; i++) {
        v.in[i] = x->dim[x->ndim - 2 + i];
        v.out[i] = y->dim[y->ndim - 2 + i];
        if (v.adaptive) continue;
        v.kernel[i] = a->attr[SAMBA__POOL_KERNEL + i];
        v.stride[i] = a->attr[SAMBA__POOL_STRIDE + i];
        v.padding[i] = a->attr[SAMBA__POOL_PADDING + i];
    }
    return v;
}

/* Do windows of 2 x 2 fill x without overlap? Then there is no padding either. */
SAMBA__FN bool samba__has_squares(const samba__pool_sides *v)
{
    bool squares = true;
    for (int32_t i = 0; i < 2; i++)
        squares = squares && v->kernel[i] == 2 && v->stride[i] == 2 && v->in[i] == 2 * v->out[i];
    return squares;
}

SAMBA__FN void samba__pooling_run(const samba_args *a, samba__pooling op)
{
    const samba__pool_set *set = samba__pool_sets[a->isa];
    samba__pool_sides v = samba__pool_sides_of(a, op);
    int64_t x_plane = v.in[0] * v.in[1], y_plane = v.out[0] * v.out[1];
    bool squares = samba__has_squares(&v);
    for (int64_t u = a->begin; u < a->end; u++) {
        const float *x = a->in[0] + u * x_plane, *dy = a->in[a->n_in - 1] + u * y_plane;
        float *y = a->out[0] + u * y_plane, *dx = a->out[0] + u * x_plane;
        if (op == SAMBA__MAX_FORWARD && squares) {
            set->max_squares(&v, x, y);
        } else if (op == SAMBA__MAX_FORWARD) {
            set->max_plane(&v, x, y);
        } else if (op == SAMBA__AVG_FORWARD) {
            samba__avg_plane(set, &v, x, y);
        } else if (op == SAMBA__MAX_BACKWARD && squares) {
            set->max_squares_backward(&v, x, dy, dx);
        } else {
            memset(dx, 0, (size_t)x_plane * sizeof *dx);
            if (op == SAMBA__MAX_BACKWARD)
                set->max_plane_backward(&v, x, dy, dx);
            else
                samba__avg_plane_backward(set, &v, dy, dx);
        }
    }
}

SAMBA__RULES(max_pool2d, pooling, SAMBA__MAX_FORWARD)
SAMBA__RULES(max_pool2d_backward, pooling, SAMBA__MAX_BACKWARD)
SAMBA__RULES(avg_pool2d, pooling, SAMBA__AVG_FORWARD)
SAMBA__RULES(avg_pool2d_backward, pooling, SAMBA__AVG_BACKWARD)

SAMBA__FN void samba__max_pool2d_kernel(const samba_args *a)
{
    samba__pooling_run(a, SAMBA__MAX_FORWARD);
}

SAMBA__FN void samba__max_pool2d_backward_kernel(const samba_args *a)
{
    samba__pooling_run(a, SAMBA__MAX_BACKWARD);
}

SAMBA__FN void samba__avg_pool2d_kernel(const samba_args *a)
{
    samba__pooling_run(a, SAMBA__AVG_FORWARD);
}

SAMBA__FN void samba__avg_pool2d_backward_kernel(const samba_args *a)
{
    samba__pooling_run(a, SAMBA__AVG_BACKWARD);
}

/* ---- max_pool2d: the largest of a window, NaN if it has one; dy goes to where that is ---- */
SAMBA__OP_API samba_tensor *samba_max_pool2d(samba_tensor *x, const samba_pool_opts *opts)
{
    int32_t attr[SAMBA__AVG_WORDS];
    samba__pooling_words(opts, attr);
    return samba__emit1(SAMBA__OP_max_pool2d, x, attr, SAMBA__MAX_WORDS);
}
SAMBA__GRAD1(max_pool2d, samba__emit2(SAMBA__OP_max_pool2d_backward, x, dy, g->attr, g->n_attr))

/* ---- avg_pool2d: the mean of a window; backward dy / size goes to each of its elements ---- */
SAMBA__OP_API samba_tensor *samba_avg_pool2d(samba_tensor *x, const samba_pool_opts *opts)
{
    int32_t attr[SAMBA__AVG_WORDS];
    samba__pooling_words(opts, attr);
    return samba__emit1(SAMBA__OP_avg_pool2d, x, attr, SAMBA__AVG_WORDS);
}

SAMBA__OP_API samba_tensor *samba_adaptive_avg_pool2d(samba_tensor *x, int32_t out_h, int32_t out_w)
{
    int32_t attr[SAMBA__ADAPTIVE_WORDS] = { out_h, out_w };
    return samba__emit1(SAMBA__OP_avg_pool2d, x, attr, SAMBA__ADAPTIVE_WORDS);
}

/* Emits avg_pool2d_backward: the attributes of the pooling, then the rows and columns of x. */
SAMBA__FN samba_tensor *samba__avg_backward(samba_tensor *dy, const samba_shape *x,
                                            const int32_t *attr, int32_t n_attr)
{
    int32_t words[SAMBA__AVG_WORDS + 2];
    memcpy(words, attr, (size_t)n_attr * sizeof *words);
    memcpy(words + n_attr, &x->dim[x->ndim - 2], 2 * sizeof *words);
    return samba__emit1(SAMBA__OP_avg_pool2d_backward, dy, words, n_attr + 2);
}
SAMBA__GRAD1(avg_pool2d, samba__avg_backward(dy, &x->shape, g->attr, g->n_attr))
SAMBA__GRAD1(avg_pool2d_backward, samba__emit1(SAMBA__OP_avg_pool2d, dy, g->attr, g->n_attr - 2))

/* ==== [norm-loss] ============================================================================= */
/* ---- batch_norm: y = w h + b with h = (x - mean) rstd, rstd = 1/sqrt(var + eps) for each channel.
   Training takes mean and var of the batch, and the running ones follow. Inputs x, w or none, b or
   none, running mean and var; outputs y and the two that overwrite the running ones. Attributes:
   momentum, eps. Ioffe, Szegedy, "Batch normalization", 2015. Backward, of n elements in a channel:
   db = sum dy, dw = sum dy h, dx = w rstd (dy - db/n - h dw/n), or w rstd dy if not in training.
   Inputs dy, x, w or none, running mean and var; attribute eps. Units are channels. ---- */
/* The rule of both ops: what comes after x, if it is there, has one value per channel of x. */
SAMBA__FN bool samba__batch_rule(samba_call *c, bool backward)
{
    int32_t first = backward ? 1 : 0;
    if (!samba__expect_all_f32(c, 1 + first, SAMBA__BATCH_NORM_INPUTS, 2 - first)) return false;
    const samba_shape *x = &c->in[first].shape;
    if (x->ndim < 2 || !samba__same_shape(x, &c->in[0].shape)
        || !samba__has(c, SAMBA__BATCH_NORM_MEAN) || !samba__has(c, SAMBA__BATCH_NORM_VARIANCE))
        return samba_refuse(c, SAMBA_ESHAPE,
                            "x %S must be (N,C,...), dy %S the same, and the "
                            "running mean and variance be given",
                            x, &c->in[0].shape);
    for (int32_t i = first + 1; i < SAMBA__BATCH_NORM_INPUTS; i++) {
        const samba_shape *s = &c->in[i].shape;
        if (!samba__has(c, i) || (s->ndim == 1 && s->dim[0] == x->dim[1])) continue;
        return samba_refuse(c, SAMBA_ESHAPE,
                            "input %d is %S, but must have one value for each of "
                            "the %d channels of %S",
                            i, s, x->dim[1], x);
    }
    c->n_out = 3;
    c->out[0] = c->in[0];
    c->out[1] = c->out[2] = c->in[SAMBA__BATCH_NORM_MEAN];
    return true;
}

SAMBA__FN void samba__batch_work(samba_work *w, const samba_call *c, bool backward)
{
    w->units[0] = c->in[backward ? 1 : 0].shape.dim[1];
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__channel_sums SAMBA__OF_NARROW(samba__channel_sums)
#define samba__channel_moments SAMBA__OF_NARROW(samba__channel_moments)
#define samba__batch_forward SAMBA__OF_NARROW(samba__batch_forward)
#define samba__batch_backward SAMBA__OF_NARROW(samba__batch_backward)
#define samba__batch_run SAMBA__OF_NARROW(samba__batch_run)
#if SAMBA__VEC_LANES < 16

/* sum x and, unless it is the same, sum dy over a channel of (N,C,*), in the lanes of
   samba__row_sum. */
SAMBA__NOINLINE void samba__channel_sums(const samba_shape *s, const float *x, const float *dy,
                                         float *sum)
{
    float first[SAMBA__LANES] = { 0.0f }, second[SAMBA__LANES] = { 0.0f };
    int64_t plane = samba__inner(s, 1), next = plane * s->dim[1];
    bool both = dy != x;
    for (int64_t n = 0; n < s->dim[0]; n++, x += next, dy += next) {
        int64_t i = 0;
        for (; i + SAMBA__LANES <= plane; i += SAMBA__LANES) {
            samba__prefetch_rows(x + i + next, 16, SAMBA__LANES / 16); /* the next image */
            if (both) samba__prefetch_rows(dy + i + next, 16, SAMBA__LANES / 16);
            SAMBA__EACH_VEC
            for (int l = 0; l < SAMBA__LANES; l += SAMBA__VEC_LANES) {
                samba__vec v = samba__vec_load(x + i + l);
                samba__vec_store(first + l, samba__vec_add(samba__vec_load(first + l), v));
                if (!both) continue;
                v = samba__vec_load(dy + i + l);
                samba__vec_store(second + l, samba__vec_add(samba__vec_load(second + l), v));
            }
        }
        for (int l = 0; i < plane; i++, l++) {
            first[l] += x[i];
            if (both) second[l] += dy[i];
        }
    }
    sum[0] = samba__lanes_sum(first);
    sum[1] = samba__lanes_sum(second);
}

/* sum d d and, unless dy is x, sum d dy over a channel, d = x - mean. */
SAMBA__NOINLINE void samba__channel_moments(const samba_shape *s, const float *x, const float *dy,
                                            float mean, float *sum)
{
    float first[SAMBA__LANES] = { 0.0f }, second[SAMBA__LANES] = { 0.0f };
    int64_t plane = samba__inner(s, 1), next = plane * s->dim[1];
    bool both = dy != x;
    samba__vec less = samba__vec_set(-mean);
    for (int64_t n = 0; n < s->dim[0]; n++, x += next, dy += next) {
        int64_t i = 0;
        for (; i + SAMBA__LANES <= plane; i += SAMBA__LANES) {
            samba__prefetch_rows(x + i + next, 16, SAMBA__LANES / 16); /* the next image */
            if (both) samba__prefetch_rows(dy + i + next, 16, SAMBA__LANES / 16);
            SAMBA__EACH_VEC
            for (int l = 0; l < SAMBA__LANES; l += SAMBA__VEC_LANES) {
                samba__vec d = samba__vec_add(samba__vec_load(x + i + l), less);
                samba__vec_store(first + l, samba__vec_fma(d, d, samba__vec_load(first + l)));
                if (!both) continue;
                d = samba__vec_fma(d, samba__vec_load(dy + i + l), samba__vec_load(second + l));
                samba__vec_store(second + l, d);
            }
        }
        for (int l = 0; i < plane; i++, l++) {
            float d = x[i] - mean;
            first[l] = samba__fma(d, d, first[l]);
            if (both) second[l] = samba__fma(d, dy[i], second[l]);
        }
    }
    sum[0] = samba__lanes_sum(first);
    sum[1] = samba__lanes_sum(second);
}

/* y of channel c, and its running mean and variance: of the batch the unbiased one, var count /
   (count - 1), goes into that. */
SAMBA__FN void samba__batch_forward(const samba_args *a, int64_t c)
{
    const samba_shape *s = &a->in_spec[0].shape;
    int64_t plane = samba__inner(s, 1), step = plane * s->dim[1];
    float count = (float)(plane * s->dim[0]);
    const float *x = a->in[SAMBA__BATCH_NORM_X] + c * plane;
    float mean = a->in[SAMBA__BATCH_NORM_MEAN][c], new_mean = mean;
    float var = a->in[SAMBA__BATCH_NORM_VARIANCE][c], new_var = var;
    if (!a->running_stats) {
        float momentum = samba_attr_float(a->attr[SAMBA__BATCH_NORM_MOMENTUM]), sum[2];
        samba__channel_sums(s, x, x, sum);
        mean = sum[0] / count;
        samba__channel_moments(s, x, x, mean, sum);
        var = sum[0] / count;
        float unbiased = var * count / (count > 1.0f ? count - 1.0f : 1.0f);
        new_mean = samba__fma(momentum, mean - new_mean, new_mean);
        new_var = samba__fma(momentum, unbiased - new_var, new_var);
    }
    float rstd = samba__rsqrt(var + samba_attr_float(a->attr[SAMBA__BATCH_NORM_EPS]));
    const float *w = a->in[SAMBA__BATCH_NORM_WEIGHT], *b = a->in[SAMBA__BATCH_NORM_BIAS];
    float scale = (w ? w[c] : 1.0f) * rstd, shift = b ? b[c] : 0.0f;
    a->out[1][c] = new_mean;
    a->out[2][c] = new_var;
    for (int64_t n = 0; n < s->dim[0]; n++) {
        const float *from = x + n * step;
        float *SAMBA__RESTRICT y = a->out[0] + c * plane + n * step;
        for (int64_t i = 0; i < plane; i++)
            y[i] = samba__fma(from[i] - mean, scale, shift);
    }
}

/* dx, dw and db of channel c. By running values, mean and variance are constants. */
SAMBA__FN void samba__batch_backward(const samba_args *a, int64_t c)
{
    const samba_shape *s = &a->in_spec[0].shape;
    int64_t plane = samba__inner(s, 1), step = plane * s->dim[1];
    float count = (float)(plane * s->dim[0]), sum[2];
    const float *dy = a->in[SAMBA__BATCH_BACKWARD_DY] + c * plane;
    const float *x = a->in[SAMBA__BATCH_BACKWARD_X] + c * plane;
    float mean = a->in[SAMBA__BATCH_NORM_MEAN][c], var = a->in[SAMBA__BATCH_NORM_VARIANCE][c];
    float slope = 0.0f, shift = 0.0f;
    samba__channel_sums(s, x, dy, sum);
    float db = sum[1];
    if (!a->running_stats) mean = sum[0] / count;
    samba__channel_moments(s, x, dy, mean, sum);
    if (!a->running_stats) var = sum[0] / count;
    float rstd = samba__rsqrt(var + samba_attr_float(a->attr[SAMBA__NORM_EPS]));
    const float *w = a->in[SAMBA__BATCH_BACKWARD_WEIGHT];
    float scale = (w ? w[c] : 1.0f) * rstd, dw = sum[1] * rstd;
    if (!a->running_stats) {
        slope = dw / count * rstd;
        shift = db / count;
    }
    a->out[1][c] = dw;
    a->out[2][c] = db;
    for (int64_t n = 0; n < s->dim[0]; n++) {
        const float *from = x + n * step, *d = dy + n * step;
        float *SAMBA__RESTRICT dx = a->out[0] + c * plane + n * step;
        for (int64_t i = 0; i < plane; i++)
            dx[i] = scale * samba__fma(mean - from[i], slope, d[i] - shift);
    }
}

SAMBA__NOINLINE void samba__batch_run(const samba_args *a, bool backward)
{
    for (int64_t c = a->begin; c < a->end; c++)
        if (backward)
            samba__batch_backward(a, c);
        else
            samba__batch_forward(a, c);
}
#endif
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

SAMBA__OP_API samba_tensor *samba_batch_normalize(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                                  samba_tensor *mean, samba_tensor *var,
                                                  float momentum, float eps)
{
    samba_tensor *in[SAMBA__BATCH_NORM_INPUTS] = { x, w, b, mean, var };
    int32_t attr[2] = { samba_float_attr(momentum), samba_float_attr(eps) };
    if (!x || !mean || !var) return NULL;
    return samba__emit(x->session, SAMBA__OP_batch_norm, in, SAMBA__BATCH_NORM_INPUTS, attr, 2,
                       NULL);
}

SAMBA__OP_API samba_tensor *samba_batch_norm(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                             samba_tensor *mean, samba_tensor *var, float momentum,
                                             float eps)
{
    return samba_batch_normalize(x, w, b, mean, var, momentum, eps);
}

SAMBA__FN void samba__batch_norm_vjp(samba_vjp *g)
{
    samba_tensor *in[5] = { g->dout[0], g->in[SAMBA__BATCH_NORM_X], g->in[SAMBA__BATCH_NORM_WEIGHT],
                            g->in[SAMBA__BATCH_NORM_MEAN], g->in[SAMBA__BATCH_NORM_VARIANCE] };
    samba_tensor *out[SAMBA_MAX_OUT] = { NULL };
    g->din[0] = samba__emit(g->session, SAMBA__OP_batch_norm_backward, in, 5,
                            g->attr + SAMBA__BATCH_NORM_EPS, 1, out);
    if (g->in[1]) g->din[1] = out[1];
    if (g->in[2]) g->din[2] = out[2];
}

/* ---- softmax: y = e^(x - max) / sum e^(x - max); dx = y (dy - sum(dy y)).
   log_softmax: y = x - max - log(sum e^(x - max)); dx = dy - e^y sum(dy).
   Bridle, "Training stochastic model recognition algorithms", NIPS 1989.
   Attribute: the axis, which is the last one; the builders transpose others to there. ---- */
/* 1 or, backward, 2 inputs of one shape, all f32; the output has it too. */
SAMBA__FN bool samba__soft_rule(samba_call *c, int which)
{
    bool fits = samba__expect_match(c, which & SAMBA__BACKWARD ? "*n,*n->*n" : "*n->*n", 1);
    return fits
        && (c->attr[SAMBA__AXIS_NUMBER] == c->in[0].shape.ndim - 1
            || samba_refuse(c, SAMBA_EARG,
                            "axis %d is not the last one of %S; transpose "
                            "it to there",
                            c->attr[SAMBA__AXIS_NUMBER], &c->in[0].shape));
}

SAMBA__FN void samba__soft_work(samba_work *w, const samba_call *c, int which)
{
    (void)which;
    w->units[0] = samba__outer(&c->in[0].shape, c->attr[SAMBA__AXIS_NUMBER]);
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__softmax_row SAMBA__OF_SET(samba__softmax_row)
#define samba__softmax_row_backward SAMBA__OF_SET(samba__softmax_row_backward)
#define samba__soft_run SAMBA__OF_SET(samba__soft_run)

SAMBA__FN void samba__softmax_row(float *y, const float *x, int64_t n, bool logs)
{
    float top, sum;
    if (logs) {
        sum = samba__log(samba__row_exp_sum(x, n, &top));
        SAMBA__IN_PLACE
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - top) - sum;
        return;
    }
    top = samba__row_max(x, n);
    sum = 1.0f / samba__unless_zero(samba__row_exp(y, x, top, n));
    for (int64_t i = 0; i < n; i++)
        y[i] *= sum;
}

SAMBA__FN void samba__softmax_row_backward(float *dx, const float *dy, const float *y, int64_t n,
                                           bool logs)
{
    float sum = logs ? samba__row_sum(dy, n) : samba__row_dot(dy, y, n);
    if (logs) {
        SAMBA__IN_PLACE
        for (int64_t i = 0; i < n; i++)
            dx[i] = samba__fma(-samba__exp(y[i]), sum, dy[i]);
        return;
    }
    SAMBA__IN_PLACE
    for (int64_t i = 0; i < n; i++)
        dx[i] = y[i] * (dy[i] - sum);
}

SAMBA__NOINLINE void samba__soft_run(const samba_args *a, int which)
{
    int64_t n = samba__last_dim(a->in_spec);
    for (int64_t at = a->begin * n; at < a->end * n; at += n) {
        const float *x = a->in[0] + at;
        float *y = a->out[0] + at;
        if (which & SAMBA__BACKWARD)
            samba__softmax_row_backward(y, x, a->in[1] + at, n, which & SAMBA__LOGS);
        else
            samba__softmax_row(y, x, n, which & SAMBA__LOGS);
    }
}
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

/* A builder with an axis, and its gradient. */
#define SAMBA__ALONG_AXIS(name) \
    SAMBA__OP_API samba_tensor *samba_##name(samba_tensor *x, int32_t axis) \
    { \
        if (!samba__find_axis(x, #name, &axis, 0)) return NULL; \
        int32_t last = x->shape.ndim - 1; \
        samba_tensor *y = samba_transpose(x, axis, last); \
        return samba_transpose(samba__emit1(SAMBA__OP_##name, y, &last, 1), axis, last); \
    } \
    SAMBA__GRAD1(name, SAMBA__BY_OP(name, y))
SAMBA__ALONG_AXIS(softmax)
SAMBA__ALONG_AXIS(log_softmax)
/* ---- layer_norm: h = (x - mean) r, r = 1/sqrt(mean((x - mean)^2) + eps), y = h w + b.
   With g = dy w: dx = r (g - mean(g) - h mean(g h)), dw = sum(dy h), db = sum(dy) over rows.
   Ba, Kiros, Hinton, "Layer normalization", 2016.
   rms_norm is the same without means: h = x r, y = h w, dx = r (g - h mean(g h)).
   Zhang, Sennrich, "Root mean square layer normalization", NeurIPS 2019. ---- */
#define SAMBA__NORM_ROWS 32 /* rows whose share of dw, db is one partial sum */
#define SAMBA__COLUMNS 64   /* of a unit that sums columns */

/* Attributes: eps, and for gradients whether those of the weights are wanted. */
SAMBA__FN bool samba__norm_rule(samba_call *c, int which)
{
    static const char *const signature[4]
        = { /* rms_norm, layer_norm; and backward */
            "*n,n?->*n", "*n,*n,n?->*n,n", "*n,n?,n?->*n", "*n,*n,n?->*n,n,n"
          };
    samba__binding b;
    int32_t n_attr = which & SAMBA__BACKWARD ? 2 : 1;
    if (!samba__expect(c, 1, 3, n_attr)) return false;
    if (!(samba_attr_float(c->attr[SAMBA__NORM_EPS]) >= 0.0f))
        return samba_refuse(c, SAMBA_ERANGE, "eps is %g; it must be at least 0, such as 1e-5",
                            (double)samba_attr_float(c->attr[SAMBA__NORM_EPS]));
    if (!samba__match(signature[which], c, &b)) return false;
    if (n_attr == 2 && !c->attr[SAMBA__NORM_AFFINE]) c->n_out = 1;
    return true;
}

SAMBA__FN void samba__norm_work(samba_work *w, const samba_call *c, int which)
{
    int64_t n = samba__last_dim(c->in);
    w->units[0] = samba_count(&c->in[0].shape) / n;
    w->part = n;
    if (!(which & SAMBA__BACKWARD)) return;
    w->units[0] = samba__ceil_div(w->units[0], SAMBA__NORM_ROWS);
    w->part = n * SAMBA__NORM_ROWS;
    if (c->n_out == 1) return;
    w->n_phases = 2;
    w->units[1] = samba__ceil_div(n, SAMBA__COLUMNS);
    w->scratch = w->units[0] * n * (c->n_out - 1) * 4;
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__norm_row SAMBA__OF_SET(samba__norm_row)
#define samba__norm_forward SAMBA__OF_SET(samba__norm_forward)
#define samba__norm_row_backward SAMBA__OF_SET(samba__norm_row_backward)
#define samba__norm_backward_rows SAMBA__OF_SET(samba__norm_backward_rows)
#define samba__norm_backward_columns SAMBA__OF_SET(samba__norm_backward_columns)
#define samba__norm_run SAMBA__OF_SET(samba__norm_run)

/* h of a row, or h w + b if there are both, in place or not; returns r. */
SAMBA__FN float samba__norm_row(float *h, const float *x, const float *w, const float *b, int64_t n,
                                const int32_t *attr, bool centered)
{
    float mean = centered ? samba__row_sum(x, n) / (float)n : 0.0f;
    float r = samba__rsqrt(samba__row_squares(x, mean, n) / (float)n
                           + samba_attr_float(attr[SAMBA__NORM_EPS]));
    int64_t plain = w && b ? 0 : n;
    SAMBA__IN_PLACE
    for (int64_t i = 0; i < plain; i++)
        h[i] = samba__mul(x[i] - mean, r);
    SAMBA__IN_PLACE
    for (int64_t i = plain; i < n; i++)
        h[i] = samba__fma(samba__mul(x[i] - mean, r), w[i], b[i]);
    return r;
}

/* y of row t */
SAMBA__FN void samba__norm_forward(const samba_args *a, int64_t t, int64_t n, bool centered)
{
    const float *SAMBA__RESTRICT w = a->n_in > 1 ? a->in[1] : NULL;
    const float *SAMBA__RESTRICT b = a->n_in > 2 ? a->in[2] : NULL;
    float *SAMBA__RESTRICT y = a->out[0] + t * n;
    samba__norm_row(y, a->in[0] + t * n, w, b, n, a->attr, centered);
    if (w && !b)
        for (int64_t i = 0; i < n; i++)
            y[i] *= w[i];
    if (!w && b)
        for (int64_t i = 0; i < n; i++)
            y[i] += b[i];
}

/* A row: dx holds h and becomes the gradient. */
SAMBA__FN void samba__norm_row_backward(float *SAMBA__RESTRICT dx, const float *dy, const float *w,
                                        int64_t n, float r, bool centered)
{
    float mean_gh = (w ? samba__row_dot3(dy, w, dx, n) : samba__row_dot(dy, dx, n)) / (float)n;
    float mean_g = 0.0f;
    if (centered) mean_g = (w ? samba__row_dot(dy, w, n) : samba__row_sum(dy, n)) / (float)n;
    if (w)
        for (int64_t i = 0; i < n; i++)
            dx[i] = r * (samba__fma(-dx[i], mean_gh, samba__mul(dy[i], w[i])) - mean_g);
    else
        for (int64_t i = 0; i < n; i++)
            dx[i] = r * (samba__fma(-dx[i], mean_gh, dy[i]) - mean_g);
}

/* Phase 0: a block of rows of dx, with the block's partial sums of dw and db. */
SAMBA__FN void samba__norm_backward_rows(const samba_args *a, int64_t block, int64_t n,
                                         bool centered)
{
    int64_t first = block * SAMBA__NORM_ROWS, parts = a->n_out - 1;
    int64_t last = samba__min64(first + SAMBA__NORM_ROWS, samba_count(&a->in_spec[0].shape) / n);
    float *SAMBA__RESTRICT dw = parts > 0 ? (float *)a->scratch + block * n * parts : NULL;
    float *SAMBA__RESTRICT db = parts > 1 ? dw + n : NULL;
    if (parts) memset(dw, 0, (size_t)(n * parts) * 4);
    for (int64_t t = first; t < last; t++) {
        const float *dy = a->in[0] + t * n;
        float *SAMBA__RESTRICT h = a->out[0] + t * n, r;
        r = samba__norm_row(h, a->in[1] + t * n, NULL, NULL, n, a->attr, centered);
        if (dw)
            for (int64_t i = 0; i < n; i++)
                dw[i] = samba__fma(dy[i], h[i], dw[i]);
        if (db)
            for (int64_t i = 0; i < n; i++)
                db[i] += dy[i];
        samba__norm_row_backward(h, dy, a->n_in > 2 ? a->in[2] : NULL, n, r, centered);
    }
}

/* Phase 1: 64 columns of dw and db, the blocks in order. */
SAMBA__FN void samba__norm_backward_columns(const samba_args *a, int64_t from, int64_t n)
{
    int64_t parts = a->n_out - 1, to = samba__min64(from + SAMBA__COLUMNS, n);
    int64_t n_blocks = samba__ceil_div(samba_count(&a->in_spec[0].shape) / n, SAMBA__NORM_ROWS);
    for (int64_t p = 0; p < n_blocks * parts; p++) {
        const float *SAMBA__RESTRICT part = (const float *)a->scratch + p * n;
        float *SAMBA__RESTRICT d = a->out[1 + p % parts];
        for (int64_t j = from; j < to; j++)
            d[j] = p < parts ? part[j] : d[j] + part[j];
    }
}

SAMBA__NOINLINE void samba__norm_run(const samba_args *a, int which)
{
    int64_t n = samba__last_dim(a->in_spec);
    bool centered = which & SAMBA__CENTERED;
    for (int64_t u = a->begin; u < a->end; u++) {
        if (!(which & SAMBA__BACKWARD))
            samba__norm_forward(a, u, n, centered);
        else if (a->phase == 0)
            samba__norm_backward_rows(a, u, n, centered);
        else
            samba__norm_backward_columns(a, u * SAMBA__COLUMNS, n);
    }
}
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

/* dx, and dw and db unless both are absent: in the order of the inputs. */
SAMBA__FN void samba__norm_vjp(samba_vjp *g, int32_t op)
{
    samba_tensor *w = g->n_in > 1 ? g->in[1] : NULL, *b = g->n_in > 2 ? g->in[2] : NULL;
    samba_tensor *in[3] = { g->dout[0], g->in[0], w };
    int32_t attr[2] = { g->attr[SAMBA__NORM_EPS], w || b };
    g->din[0] = samba__emit(g->session, op, in, 3, attr, 2, g->din);
}

SAMBA__OP_API samba_tensor *samba_layer_normalize(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                                  float eps)
{
    int32_t attr = samba_float_attr(eps);
    return samba__emit3(SAMBA__OP_layer_norm, x, w, b, &attr, 1);
}

SAMBA__OP_API samba_tensor *samba_layer_norm(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                             float eps)
{
    return samba_layer_normalize(x, w, b, eps);
}

SAMBA__FN void samba__layer_norm_vjp(samba_vjp *g)
{
    samba__norm_vjp(g, SAMBA__OP_layer_norm_backward);
}

SAMBA__OP_API samba_tensor *samba_rms_normalize(samba_tensor *x, samba_tensor *w, float eps)
{
    int32_t attr = samba_float_attr(eps);
    return samba__emit2(SAMBA__OP_rms_norm, x, w, &attr, 1);
}

SAMBA__OP_API samba_tensor *samba_rms_norm(samba_tensor *x, samba_tensor *w, float eps)
{
    return samba_rms_normalize(x, w, eps);
}

SAMBA__FN void samba__rms_norm_vjp(samba_vjp *g)
{
    samba__norm_vjp(g, SAMBA__OP_rms_norm_backward);
}

/* ---- cross_entropy of a row: with p = softmax(x) and q = (1 - s) [c = target] + s/C,
   loss = -sum(q log p); dx = dloss (p - q). nll: loss = -x[target]; dx = -dloss [c = target].
   Attributes: reduction, id to ignore, then smoothing s (cross_entropy) or C (nll_backward). A last
   input that only [microbatches] adds is what a mean divides by, instead of the targets here.
   Label smoothing: Szegedy et al., CVPR 2016. ---- */

/* Fills in the attributes and returns them. */
SAMBA__FN int32_t *samba__loss_attr(const samba_loss_opts *opts, int32_t attr[3])
{
    attr[SAMBA__LOSS_REDUCTION] = opts ? (int32_t)opts->reduction : SAMBA_REDUCE_MEAN;
    attr[SAMBA__LOSS_IGNORE] = opts && opts->use_ignore_index ? opts->ignore_index : -100;
    attr[SAMBA__LOSS_SMOOTHING] = samba_float_attr(opts ? opts->label_smoothing : 0.0f);
    return attr;
}

SAMBA__FN bool samba__loss_rule(samba_call *c, int which)
{
    static const char *const signature[4]
        = { /* nll, cross_entropy; and backward */
            "*c,i:*,?->*", "*,i:*,?->*", "*c,i:*,?->*", "*,*c,i:*,?->*c"
          };
    bool logits = which & SAMBA__LOGITS, backward = which & SAMBA__BACKWARD;
    int32_t n_in = logits && backward ? 3 : 2;
    samba__binding b;
    if (!samba__expect(c, n_in, n_in + 1, logits || backward ? 3 : 2)) return false;
    int32_t reduction = c->attr[SAMBA__LOSS_REDUCTION];
    bool one = reduction != SAMBA_REDUCE_NONE; /* loss, a scalar */
    if (reduction < SAMBA_REDUCE_MEAN || reduction > SAMBA_REDUCE_NONE)
        return samba_refuse(c, SAMBA_ERANGE, "reduction %d is not mean 0, sum 1, none 2",
                            reduction);
    if (!samba__match(signature[which] + (backward && one), c, &b)) return false;
    if (!backward && one) c->out[0].shape = samba_scalar_shape();
    if (!logits) return !backward || samba__append_dim(c, c->attr[SAMBA__NLL_CLASSES]);
    float s = samba_attr_float(c->attr[SAMBA__LOSS_SMOOTHING]);
    return (s >= 0.0f && s <= 1.0f)
        || samba_refuse(c, SAMBA_ERANGE, "label_smoothing is %g; it must be 0 ... 1", (double)s);
}

/* Phases: losses of rows, then their sum; or what all rows share, then rows. */
SAMBA__FN void samba__loss_work(samba_work *w, const samba_call *c, int which)
{
    bool backward = which & SAMBA__BACKWARD, logits = which & SAMBA__LOGITS;
    int64_t rows = samba_count(&c->in[logits && backward ? 2 : 1].shape);
    w->units[0] = backward ? 1 : rows;
    if (!backward) w->flops = logits ? 20 * samba_count(&c->in[0].shape) : rows;
    if (!backward && c->attr[SAMBA__LOSS_REDUCTION] == SAMBA_REDUCE_NONE) return;
    w->n_phases = 2;
    w->units[1] = backward ? rows : 1;
    w->scratch = w->units[0] * 4;
}

/* The class of row t, or -1 where the row does not count. A class out of range is a fault. */
SAMBA__INLINE int32_t samba__target(const samba_args *a, int32_t which, int64_t t, int64_t classes)
{
    int32_t id = samba__index(samba__in_i32(a, which) + t);
    if (id == a->attr[SAMBA__LOSS_IGNORE]) return -1;
    if (id >= 0 && id < classes) return id;
    samba_fault_at(a, which, id, t, 0, (int32_t)classes - 1);
    return -1;
}

/* What a sum of losses is multiplied by. The mean is over targets that count; NaN if none does. */
SAMBA__FN float samba__loss_share(const samba_args *a, int32_t which)
{
    const int32_t *id = samba__in_i32(a, which);
    int64_t n = samba_count(&a->in_spec[which].shape), counted = 0;
    if (a->attr[SAMBA__LOSS_REDUCTION] != SAMBA_REDUCE_MEAN) return 1.0f;
    if (which + 1 < a->n_in && a->in[which + 1])
        return a->in[which + 1][0] > 0.0f ? 1.0f / a->in[which + 1][0] : SAMBA__NAN;
    for (int64_t t = 0; t < n; t++)
        counted += id[t] != a->attr[SAMBA__LOSS_IGNORE];
    return counted ? 1.0f / (float)counted : SAMBA__NAN;
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__cross_entropy_row SAMBA__OF_SET(samba__cross_entropy_row)
#define samba__loss_units SAMBA__OF_SET(samba__loss_units)
#define samba__cross_entropy_row_backward SAMBA__OF_SET(samba__cross_entropy_row_backward)
#define samba__loss_backward_units SAMBA__OF_SET(samba__loss_backward_units)
#define samba__loss_run SAMBA__OF_SET(samba__loss_run)

SAMBA__FN float samba__cross_entropy_row(const float *x, int64_t n, int32_t target, float smoothing)
{
    float top, log_sum = samba__log(samba__row_exp_sum(x, n, &top)), loss;
    loss = log_sum - (x[target] - top);
    if (smoothing == 0.0f) return loss;
    return samba__fma(smoothing, log_sum - (samba__row_sum(x, n) / (float)n - top),
                      samba__mul(1.0f - smoothing, loss));
}

/* Phase 0: a loss per row. Phase 1: their sum or mean. */
SAMBA__FN void samba__loss_units(const samba_args *a, bool logits)
{
    int64_t n = samba__last_dim(a->in_spec);
    bool none = a->attr[SAMBA__LOSS_REDUCTION] == SAMBA_REDUCE_NONE;
    float *loss = none ? a->out[0] : (float *)a->scratch;
    float smoothing = logits ? samba_attr_float(a->attr[SAMBA__LOSS_SMOOTHING]) : 0.0f;
    if (a->phase == 1) {
        float sum = samba__row_sum(loss, samba_count(&a->in_spec[1].shape));
        a->out[0][0] = sum * samba__loss_share(a, 1);
        return;
    }
    for (int64_t t = a->begin; t < a->end; t++) {
        const float *x = a->in[0] + t * n;
        int32_t target = samba__target(a, 1, t, n);
        SAMBA_ASSERT(target < n); /* or ignored */
        if (target < 0)
            loss[t] = 0.0f;
        else
            loss[t] = logits ? samba__cross_entropy_row(x, n, target, smoothing) : -x[target];
    }
}

SAMBA__FN void samba__cross_entropy_row_backward(float *dx, const float *x, int64_t n,
                                                 float smoothing, float dloss)
{
    float top = samba__row_max(x, n);
    float scale = dloss / samba__unless_zero(samba__row_exp(dx, x, top, n));
    float share = samba__mul(-dloss, smoothing / (float)n);
    SAMBA__IN_PLACE
    for (int64_t i = 0; i < n; i++)
        dx[i] = samba__fma(scale, dx[i], share);
}

/* Phase 0: the gradient of a row's loss where all rows share it, into scratch. Phase 1: rows. */
SAMBA__FN void samba__loss_backward_units(const samba_args *a, bool logits)
{
    int64_t n = samba__last_dim(a->out_spec);
    int32_t which = logits ? 2 : 1;
    bool none = a->attr[SAMBA__LOSS_REDUCTION] == SAMBA_REDUCE_NONE;
    float smoothing = logits ? samba_attr_float(a->attr[SAMBA__LOSS_SMOOTHING]) : 0.0f;
    float *shared = (float *)a->scratch;
    if (a->phase == 0) {
        *shared = a->in[0][0] * samba__loss_share(a, which);
        return;
    }
    for (int64_t t = a->begin; t < a->end; t++) {
        float *dx = a->out[0] + t * n, dloss = none ? a->in[0][t] : *shared;
        int32_t target = samba__target(a, which, t, n);
        if (target < 0 || !logits)
            memset(dx, 0, (size_t)n * 4);
        else
            samba__cross_entropy_row_backward(dx, a->in[1] + t * n, n, smoothing, dloss);
        if (target >= 0) dx[target] = samba__fma(-dloss, 1.0f - smoothing, dx[target]);
    }
}

SAMBA__NOINLINE void samba__loss_run(const samba_args *a, int which)
{
    if (which & SAMBA__BACKWARD)
        samba__loss_backward_units(a, which & SAMBA__LOGITS);
    else
        samba__loss_units(a, which & SAMBA__LOGITS);
}
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

SAMBA__OP_API samba_tensor *samba_cross_entropy_with(samba_tensor *logits, samba_tensor *target,
                                                     const samba_loss_opts *opts)
{
    int32_t attr[3];
    return samba__emit2(SAMBA__OP_cross_entropy, logits, samba__ids_as_i32(target),
                        samba__loss_attr(opts, attr), 3);
}

SAMBA__OP_API samba_tensor *samba_cross_entropy(samba_tensor *logits, samba_tensor *target)
{
    return samba_cross_entropy_with(logits, target, NULL);
}

SAMBA__FN void samba__cross_entropy_vjp(samba_vjp *g)
{
    samba_tensor *in[4] = { g->dout[0], g->in[0], g->in[1], g->n_in > 2 ? g->in[2] : NULL };
    g->din[0] = samba__emit(g->session, SAMBA__OP_cross_entropy_backward, in, g->n_in > 2 ? 4 : 3,
                            g->attr, 3, NULL);
}

SAMBA__OP_API samba_tensor *samba_nll(samba_tensor *logp, samba_tensor *target,
                                      const samba_loss_opts *opts)
{
    int32_t attr[3];
    return samba__emit2(SAMBA__OP_nll, logp, samba__ids_as_i32(target),
                        samba__loss_attr(opts, attr), 2);
}

SAMBA__FN void samba__nll_vjp(samba_vjp *g)
{
    const samba_shape *x = &g->in[0]->shape;
    int32_t attr[3]
        = { g->attr[SAMBA__NLL_REDUCTION], g->attr[SAMBA__NLL_IGNORE], x->dim[x->ndim - 1] };
    samba_tensor *in[3] = { g->dout[0], g->in[1], g->n_in > 2 ? g->in[2] : NULL };
    g->din[0]
        = samba__emit(g->session, SAMBA__OP_nll_backward, in, g->n_in > 2 ? 3 : 2, attr, 3, NULL);
}

/* ==== [attention] ============================================================================= */
/* ---- scaled_dot_product_attention: P = softmax(q k^T scale + mask), y = P v, over blocks of keys.
   A row keeps its largest score so far and the sum of e^(score - largest), as samba__row_exp_sum
   does: Rabe, Staats, "Self-attention does not need O(n^2) memory", 2021. The second output is
   lse = largest + log(sum). With it the gradient has P = e^(score - lse) again, block by block:
   dv = P^T dy, dP = dy v^T, dS = P (dP - sum(dy y)) scale, dq = dS k, dk = dS^T q:
   Dao et al., "FlashAttention", NeurIPS 2022. The size of a block of keys is part of the
   arithmetic; blocks of queries are not, as the chains of a product go on from what is in memory.
   With dropout, M its mask over (*,T,S): y = (P M) v, dv = (P M)^T dy, dP = M (dy v^T).
   Attributes: causal, scale, the key of the dropout layer. ---- */
#define SAMBA__ATTEND_KEYS 64
#define SAMBA__ATTEND_ROWS (SAMBA_LOCAL_BYTES < 65536 ? 16 : 192)
#define SAMBA__ATTEND_BLOCK (SAMBA__ATTEND_ROWS * SAMBA__ATTEND_KEYS) /* floats of a block */
/* What a thread needs: the buffers of a product, two blocks of scores. */
#define SAMBA__ATTEND_LOCAL (SAMBA__GEMM_LOCAL + 2 * SAMBA__ATTEND_BLOCK * sizeof(float))
typedef char samba__attend_fits[SAMBA__ATTEND_LOCAL <= SAMBA_LOCAL_BYTES ? 1 : -1];

typedef struct samba__attention_set samba__attention_set;

/* One element of the leading dimensions, and the current block of its scores. */
typedef struct samba__attention {
    const samba_args *args;
    const samba__attention_set *set;
    int64_t T, S, D, E, batch;
    int64_t b; /* the element */
    samba__dropping drop;
    float scale;
    bool causal;
    int32_t first, mask;    /* inputs: q, then k and v; the mask */
    const float *q, *k, *v; /* (T,D) (S,D) (S,E) */
    const float *mask_f32;  /* at most one; (t,s) is at t * t_step + s * s_step */
    const uint8_t *mask_bool;
    int64_t t_step, s_step;
    int64_t t, rows, s, keys; /* the current block */
    float *p, *ds;            /* scores of a block: the thread's buffers */
} samba__attention;

/* What is computed row by row of a block, by each instruction set in its own way; products aside,
   all that takes time. top, sum, shrink, lse, delta are those of the block's rows. */
struct samba__attention_set {
    /* p = p scale + mask; -inf where a row may not look. */
    void (*mask_scores)(const samba__attention *at);
    void (*online_softmax_update)(const samba__attention *at, float *y, float *top, float *sum);
    /* y = y / sum, lse = top + log(sum), n rows of them. */
    void (*normalize)(const samba__attention *at, int64_t n, float *y, const float *top,
                      const float *sum, float *lse);
    /* delta = sum(dy y), n rows of it. */
    void (*delta)(const samba__attention *at, int64_t n, const float *dy, const float *y,
                  float *delta);
    /* From scores p and dP in ds: p = P, ds = dS. */
    void (*recompute)(const samba__attention *at, const float *lse, const float *delta);
};

/* Shapes only. */
SAMBA__FN samba__attention samba__attention_of(const samba_spec *in, const int32_t *attr,
                                               bool backward)
{
    samba__attention at = SAMBA__ZEROED;
    at.first = backward ? (int)SAMBA__ATTENTION_BACKWARD_Q : (int)SAMBA__ATTENTION_Q;
    at.mask = backward ? (int)SAMBA__ATTENTION_BACKWARD_MASK : (int)SAMBA__ATTENTION_MASK;
    const samba_shape *q = &in[at.first].shape, *v = &in[at.first + 2].shape;
    at.T = q->dim[q->ndim - 2];
    at.D = q->dim[q->ndim - 1];
    at.S = v->dim[v->ndim - 2];
    at.E = v->dim[v->ndim - 1];
    at.batch = samba__outer(q, q->ndim - 2);
    at.causal = attr[SAMBA__ATTENTION_CAUSAL] != 0;
    at.scale = samba_attr_float(attr[SAMBA__ATTENTION_SCALE]);
    return at;
}

/* The mask of dropout for row i of the current block: 0, or what the rest is multiplied by. */
SAMBA__NOINLINE void samba__attention_keep(const samba__attention *at, int64_t i, float *keep)
{
    uint64_t e = at->drop.first + (uint64_t)(at->b * at->T + at->t + i) * (uint64_t)at->S
        + (uint64_t)at->s;
    uint32_t words[4];
    for (int64_t j = 0; j < at->keys; j++, e++) {
        if (j == 0 || e % 4 == 0) samba__philox(at->drop.key, e / 4, at->drop.counter, words);
        keep[j] = samba__unit(words[e % 4]) < at->drop.rate ? 0.0f : at->drop.scale;
    }
}

#endif /* SAMBA__TEMPLATE == 0 */

/* ---- A template: rows of a block, for each set ----------------------------------------------- */
#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_ATTENTION && defined(SAMBA__SUFFIX)
#define samba__mask_scores SAMBA__OF_SET(samba__mask_scores)
#define samba__online_softmax_update SAMBA__OF_SET(samba__online_softmax_update)
#define samba__attention_normalize SAMBA__OF_SET(samba__attention_normalize)
#define samba__attention_delta SAMBA__OF_SET(samba__attention_delta)
#define samba__attention_gradients SAMBA__OF_SET(samba__attention_gradients)
#define samba__attention_kernels SAMBA__OF_SET(samba__attention_kernels)

SAMBA__VECTORIZED SAMBA__FN void samba__mask_scores(const samba__attention *at)
{
    int64_t n = at->keys, step = at->s_step;
    for (int64_t i = 0; i < at->rows; i++) {
        float *SAMBA__RESTRICT x = at->p + i * SAMBA__ATTEND_KEYS;
        int64_t t = at->t + i, m = t * at->t_step + at->s * step;
        const float *SAMBA__RESTRICT term = at->mask_f32;
        const uint8_t *SAMBA__RESTRICT may = at->mask_bool ? at->mask_bool + m : NULL;
        if (term)
            for (int64_t j = 0; j < n; j++)
                x[j] = samba__fma(x[j], at->scale, term[m + j * step]);
        else
            for (int64_t j = 0; j < n; j++)
                x[j] *= at->scale;
        if (may && step == 1)
            for (int64_t j = 0; j < n; j++)
                x[j] = may[j] ? x[j] : -SAMBA__INF;
        else if (may)
            for (int64_t j = 0; j < n; j++)
                x[j] = may[j * step] ? x[j] : -SAMBA__INF;
        if (at->causal)
            for (int64_t j = samba__max64(0, t + 1 - at->s); j < n; j++)
                x[j] = -SAMBA__INF;
    }
}

/* The update of an online softmax by one block: its scores x become e^(x - top), where top is the
   largest score of the row so far; where that grows, the sum and the output y of former blocks
   shrink by e^(old top - top). In three passes over the rows, so that their exponentials are
   computed as vectors. */
SAMBA__VECTORIZED SAMBA__FN void samba__online_softmax_update(const samba__attention *at, float *y,
                                                              float *top, float *sum)
{
    bool drops = at->drop.rate != 0.0f;
    float shrink[SAMBA__ATTEND_ROWS], keep[SAMBA__ATTEND_KEYS];
    for (int64_t i = 0; i < at->rows; i++) {
        float most = samba__row_max(at->p + i * SAMBA__ATTEND_KEYS, at->keys);
        shrink[i] = top[i];
        top[i] = top[i] >= most ? top[i] : most;
    }
    SAMBA__IN_PLACE
    for (int64_t i = 0; i < at->rows; i++)
        shrink[i] = top[i] < SAMBA__INF ? samba__exp(shrink[i] - top[i]) : SAMBA__NAN;
    for (int64_t i = 0; i < at->rows; i++, y += at->E) {
        float *x = at->p + i * SAMBA__ATTEND_KEYS;
        if (top[i] == -SAMBA__INF) { /* nothing to attend yet */
            memset(x, 0, (size_t)at->keys * 4);
            continue;
        }
        if (shrink[i] != 1.0f)
            for (int64_t e = 0; e < at->E; e++)
                y[e] *= shrink[i];
        sum[i] = samba__fma(sum[i], shrink[i], samba__row_exp(x, x, top[i], at->keys));
        if (!drops) continue;
        samba__attention_keep(at, i, keep);
        for (int64_t j = 0; j < at->keys; j++)
            x[j] *= keep[j];
    }
}

/* A row that may look nowhere stays zero. */
SAMBA__VECTORIZED SAMBA__FN void samba__attention_normalize(const samba__attention *at, int64_t n,
                                                            float *y, const float *top,
                                                            const float *sum, float *lse)
{
    for (int64_t i = 0; i < n; i++, y += at->E) {
        float share = sum[i] > 0.0f || sum[i] != sum[i] ? sum[i] : 1.0f;
        for (int64_t e = 0; e < at->E; e++)
            y[e] /= share;
        lse[i] = top[i] + samba__log(sum[i]);
    }
}

SAMBA__VECTORIZED SAMBA__FN void samba__attention_delta(const samba__attention *at, int64_t n,
                                                        const float *dy, const float *y,
                                                        float *delta)
{
    for (int64_t i = 0; i < n; i++)
        delta[i] = samba__row_dot(dy + i * at->E, y + i * at->E, at->E);
}

SAMBA__VECTORIZED SAMBA__FN void samba__attention_gradients(const samba__attention *at,
                                                            const float *lse, const float *delta)
{
    bool drops = at->drop.rate != 0.0f;
    float keep[SAMBA__ATTEND_KEYS];
    for (int64_t i = 0; i < at->rows; i++) {
        float *SAMBA__RESTRICT x = at->p + i * SAMBA__ATTEND_KEYS;
        float *SAMBA__RESTRICT d = at->ds + i * SAMBA__ATTEND_KEYS;
        float top = lse[i] == -SAMBA__INF ? 0.0f : lse[i], sum = delta[i], zero = top - top;
        if (drops) {
            samba__attention_keep(at, i, keep);
            for (int64_t j = 0; j < at->keys; j++)
                d[j] *= keep[j];
        }
        for (int64_t j = 0; j < at->keys; j++) {
            x[j] = samba__exp_below(x[j] - top) + zero; /* or NaN */
            d[j] = x[j] * (d[j] - sum) * at->scale;
        }
        if (drops)
            for (int64_t j = 0; j < at->keys; j++)
                x[j] *= keep[j];
    }
}

static const samba__attention_set samba__attention_kernels = {
    samba__mask_scores,     samba__online_softmax_update, samba__attention_normalize,
    samba__attention_delta, samba__attention_gradients,
};
#endif /* the template */

#if SAMBA__TEMPLATE == 0
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_ATTENTION
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

/* By the number of an instruction set. */
static const samba__attention_set *const samba__attention_sets[] = {
#define SAMBA__ATTENTION_ROW(set, ...) &samba__attention_kernels_##set,
    SAMBA__EACH_SET(SAMBA__ATTENTION_ROW)
};

/* Points at element b of the batch. */
SAMBA__FN void samba__attention_seek(samba__attention *at, const samba_args *a, int64_t b)
{
    SAMBA_ASSERT(b >= 0 && b < at->batch);
    const samba_shape *q = &a->in_spec[at->first].shape;
    at->args = a;
    at->set = samba__attention_sets[a->isa];
    at->b = b;
    at->drop = samba__dropping_of(
        a, at->first ? (int)SAMBA__ATTENTION_BACKWARD_RATE : (int)SAMBA__ATTENTION_RATE,
        a->attr + SAMBA__ATTENTION_KEY, at->batch * at->T * at->S);
    at->p = a->local + SAMBA__GEMM_LOCAL / sizeof(float);
    at->ds = at->p + SAMBA__ATTEND_BLOCK;
    at->q = a->in[at->first] + b * at->T * at->D;
    at->k = a->in[at->first + 1] + b * at->S * at->D;
    at->v = a->in[at->first + 2] + b * at->S * at->E;
    if (at->mask >= a->n_in || !a->in[at->mask]) return;
    const samba_shape *m = &a->in_spec[at->mask].shape;
    int64_t offset = samba__stretched_at(m, q, q->ndim - 2, b);
    at->t_step = samba__stretched_step(m, q->ndim, q->ndim - 2);
    at->s_step = samba__stretched_step(m, q->ndim, q->ndim - 1);
    if (a->in_spec[at->mask].dtype == SAMBA_F32)
        at->mask_f32 = a->in[at->mask] + offset;
    else
        at->mask_bool = (const uint8_t *)(const void *)a->in[at->mask] + offset;
}

/* Does the mask let row t of the current block see one of its keys? */
SAMBA__FN bool samba__attention_sees(const samba__attention *at)
{
    const uint8_t *row = at->mask_bool + at->t * at->t_step + at->s * at->s_step;
    /* Bytes that are all alike, as in most blocks of a mask, are found out faster by memcmp. */
    bool alike = at->s_step == 1 && !memcmp(row, row + 1, (size_t)at->keys - 1);
    if (alike) return row[0] != 0;
    for (int64_t j = 0; j < at->keys; j++)
        if (row[j * at->s_step]) return true;
    return false;
}

/* Moves to the block of rows t ... and keys s ..., from the first row that sees a key of it. False:
   no row does. */
SAMBA__FN bool samba__attention_block(samba__attention *at, int64_t t, int64_t s)
{
    int64_t end = samba__min64(t + SAMBA__ATTEND_ROWS, at->T);
    at->t = at->causal ? samba__max64(t, s) : t;
    at->s = s;
    at->keys = samba__min64(SAMBA__ATTEND_KEYS, at->S - s);
    if (at->mask_bool)
        while (at->t < end && !samba__attention_sees(at))
            at->t++;
    at->rows = end - at->t;
    SAMBA_ASSERT(at->keys > 0 && at->keys <= SAMBA__ATTEND_KEYS);
    SAMBA_ASSERT(at->rows <= SAMBA__ATTEND_ROWS); /* a block of scores has room */
    return at->rows > 0;
}

/* The current block of x y^T, x (T,n), y (S,n). */
SAMBA__FN void samba__attention_product(const samba__attention *at, float *block, const float *x,
                                        const float *y, int64_t n)
{
    samba__gemm g = SAMBA__ZEROED;
    g.m = at->rows;
    g.n = at->keys;
    g.k = n;
    g.a = x + at->t * n;
    g.a_row = n;
    g.a_col = 1;
    g.b = y + at->s * n;
    g.b_row = 1;
    g.b_col = n;
    g.c = block;
    g.c_row = SAMBA__ATTEND_KEYS;
    samba__gemm_run(&g, 0, samba__gemm_tiles(g.m, g.n, g.k), at->args->local, at->args->isa);
}

/* to (T,n) += block x, x (S,n); or, by keys, to (S,n) += block^T x, x (T,n). */
SAMBA__FN void samba__attention_add(const samba__attention *at, float *to, const float *block,
                                    const float *x, int64_t n, bool by_keys)
{
    samba__gemm g = SAMBA__ZEROED;
    g.m = by_keys ? at->keys : at->rows;
    g.n = n;
    g.k = by_keys ? at->rows : at->keys;
    g.a = block;
    g.a_row = by_keys ? 1 : SAMBA__ATTEND_KEYS;
    g.a_col = by_keys ? SAMBA__ATTEND_KEYS : 1;
    g.b = x + (by_keys ? at->t : at->s) * n;
    g.b_row = n;
    g.b_col = 1;
    g.c = to + (by_keys ? at->s : at->t) * n;
    g.c_row = n;
    g.accumulate = true;
    samba__gemm_run(&g, 0, samba__gemm_tiles(g.m, g.n, g.k), at->args->local, at->args->isa);
}

/* The current block of p = q k^T scale + mask. */
SAMBA__FN void samba__attention_scores(const samba__attention *at)
{
    samba__attention_product(at, at->p, at->q, at->k, at->D);
    at->set->mask_scores(at);
}

/* y (T,E) and lse (T) of the rows t ... */
SAMBA__FN void samba__attention_rows(samba__attention *at, float *y, float *lse, int64_t t)
{
    int64_t rows = samba__min64(SAMBA__ATTEND_ROWS, at->T - t), E = at->E;
    float *top = at->ds, *sum = top + SAMBA__ATTEND_ROWS;
    bool few = rows <= 4; /* then most of the time goes into reading: prefetch */
    memset(y + t * E, 0, (size_t)(rows * E) * 4);
    for (int64_t i = 0; i < rows; i++) {
        top[i] = -SAMBA__INF;
        sum[i] = 0.0f;
    }
    for (int64_t s = 0; s < at->S; s += SAMBA__ATTEND_KEYS) {
        if (!samba__attention_block(at, t, s)) continue;
        SAMBA_ASSERT(at->t >= t && at->t + at->rows == t + rows);
        if (few) samba__prefetch_rows(at->v + s * E, 16, at->keys * E / 16);
        samba__attention_scores(at);
        if (few) samba__prefetch_rows(at->k + (s + at->keys) * at->D, 16, at->keys * at->D / 16);
        at->set->online_softmax_update(at, y + at->t * E, top + (at->t - t), sum + (at->t - t));
        samba__attention_add(at, y, at->p, at->v, E, false);
    }
    at->set->normalize(at, rows, y + t * E, top, sum, lse + t);
}

/* Phase 0: delta of rows t ...: sum(dy y), less what comes through lse. */
SAMBA__FN void samba__attention_begin_backward(const samba__attention *at, float *delta, int64_t t)
{
    const samba_args *a = at->args;
    int64_t row = at->b * at->T + t, n = samba__min64(SAMBA__ATTEND_ROWS, at->T - t);
    const float *dy = a->in[SAMBA__ATTENTION_BACKWARD_DY] + row * at->E;
    const float *y = a->in[SAMBA__ATTENTION_BACKWARD_Y] + row * at->E;
    bool has_dlse = a->n_in > SAMBA__ATTENTION_BACKWARD_DLSE;
    const float *dlse = has_dlse ? a->in[SAMBA__ATTENTION_BACKWARD_DLSE] : NULL;
    at->set->delta(at, n, dy, y, delta + row);
    if (!dlse) return;
    for (int64_t i = row; i < row + n; i++)
        delta[i] -= dlse[i];
}

/* Recomputes the current block from lse and delta of each row: p = P, ds = dS. */
SAMBA__FN void samba__attention_recompute(const samba__attention *at)
{
    int64_t row = at->b * at->T + at->t;
    const float *lse = at->args->in[SAMBA__ATTENTION_BACKWARD_LSE] + row;
    const float *delta = (const float *)at->args->scratch + row;
    const float *dy = at->args->in[SAMBA__ATTENTION_BACKWARD_DY] + at->b * at->T * at->E;
    samba__attention_scores(at);
    samba__attention_product(at, at->ds, dy, at->v, at->E);
    at->set->recompute(at, lse, delta);
}

/* Many elements keep all threads busy: then phase 1 takes whole ones and computes P and dS once.
   Few are cut into blocks of keys, for dk and dv, and once more into blocks of rows, for dq. All
   sums have the same order either way. */
SAMBA__FN bool samba__attention_whole(const samba__attention *at)
{
    return at->batch >= 8;
}

/* By keys: dk and dv of the keys from ..., from all rows in order, and their part of dq if at once.
   Else: dq of the rows from ..., from all keys in order. */
SAMBA__FN void samba__attention_backward(samba__attention *at, int64_t from, bool by_keys)
{
    bool at_once = by_keys && samba__attention_whole(at);
    int64_t b = at->b;
    const float *dy = at->args->in[SAMBA__ATTENTION_BACKWARD_DY] + b * at->T * at->E;
    float *dq = at->args->out[0] + b * at->T * at->D, *dk = at->args->out[1] + b * at->S * at->D;
    float *dv = at->args->out[2] + b * at->S * at->E;
    int64_t size = by_keys ? samba__min64(SAMBA__ATTEND_KEYS, at->S - from)
                           : samba__min64(SAMBA__ATTEND_ROWS, at->T - from);
    int64_t step = by_keys ? SAMBA__ATTEND_ROWS : SAMBA__ATTEND_KEYS;
    memset((by_keys ? dk : dq) + from * at->D, 0, (size_t)(size * at->D) * 4);
    if (by_keys) memset(dv + from * at->E, 0, (size_t)(size * at->E) * 4);
    if (at_once && from == 0) memset(dq, 0, (size_t)(at->T * at->D) * 4);
    for (int64_t i = 0, end = by_keys ? at->T : at->S; i < end; i += step) {
        if (!samba__attention_block(at, by_keys ? i : from, by_keys ? from : i)) continue;
        samba__attention_recompute(at);
        if (by_keys) {
            samba__attention_add(at, dv, at->p, dy, at->E, true);
            samba__attention_add(at, dk, at->ds, at->q, at->D, true);
        }
        if (!by_keys || at_once) samba__attention_add(at, dq, at->ds, at->k, at->D, false);
    }
}

SAMBA__FN void samba__attention_run(const samba_args *a, bool backward)
{
    samba__attention at = samba__attention_of(a->in_spec, a->attr, backward);
    int64_t step = a->phase == 1 ? SAMBA__ATTEND_KEYS : SAMBA__ATTEND_ROWS;
    int64_t blocks = samba__ceil_div(a->phase == 1 ? at.S : at.T, step);
    int64_t each = a->phase == 1 && samba__attention_whole(&at) ? blocks : 1; /* of a unit */
    for (int64_t u = a->begin * each; u < a->end * each; u++) {
        int64_t b = u / blocks, i = u % blocks * step;
        SAMBA_ASSERT(i < (a->phase == 1 ? at.S : at.T));
        float *y = a->out[0] + b * at.T * at.E;
        samba__attention_seek(&at, a, b);
        if (!backward)
            samba__attention_rows(&at, y, a->out[1] + b * at.T, i);
        else if (a->phase == 0)
            samba__attention_begin_backward(&at, (float *)a->scratch, i);
        else
            samba__attention_backward(&at, i, a->phase == 1);
    }
}

/* The mask is bool or f32 and fits (*,T,S) by broadcasting; q is input `first`, k the next. */
SAMBA__FN bool samba__expect_mask(samba_call *c, int32_t first, int32_t mask)
{
    samba_shape score = c->in[first].shape, both;
    int32_t bad = 0;
    if (c->attr[SAMBA__ATTENTION_CAUSAL] < 0 || c->attr[SAMBA__ATTENTION_CAUSAL] > 1)
        return samba_refuse(c, SAMBA_EARG, "malformed call");
    float scale = samba_attr_float(c->attr[SAMBA__ATTENTION_SCALE]);
    if (scale - scale != 0.0f)
        return samba_refuse(c, SAMBA_ERANGE, "scale is %g; it must be finite", (double)scale);
    if (!samba__has(c, mask)) return true;
    const samba_spec *m = &c->in[mask];
    score.dim[score.ndim - 1] = c->in[first + 1].shape.dim[score.ndim - 2];
    return (m->dtype == SAMBA_F32 || m->dtype == SAMBA_BOOL
            || samba_refuse(c, SAMBA_EDTYPE,
                            "the mask is %T, but must be bool or f32; use "
                            "samba_cast",
                            (int)m->dtype))
        && ((samba__broadcast(&score, &m->shape, &both, &bad) && samba__same_shape(&score, &both))
            || samba_refuse(c, SAMBA_ESHAPE,
                            "mask %S does not fit the scores %S; make dimensions "
                            "equal, or 1 to broadcast",
                            &m->shape, &score));
}

SAMBA__FN bool samba__attention_rule(samba_call *c, bool backward)
{
    int32_t n_in = c->n_in,
            first = backward ? (int)SAMBA__ATTENTION_BACKWARD_Q : (int)SAMBA__ATTENTION_Q;
    int32_t mask = backward ? (int)SAMBA__ATTENTION_BACKWARD_MASK : (int)SAMBA__ATTENTION_MASK;
    int32_t drop = backward ? (int)SAMBA__ATTENTION_BACKWARD_RATE : (int)SAMBA__ATTENTION_RATE;
    samba__binding b;
    if (!samba__expect(c, mask, drop + 3, 4)) return false;
    c->n_in = mask; /* the optional inputs behind have rules of their own */
    bool fits = samba__match(
        backward ? "*te,*td,*sd,*se,*te,*t->*td,*sd,*se" : "*td,*sd,*se->*te,*t", c, &b);
    c->n_in = n_in;
    if (!fits || !samba__expect_mask(c, first, mask)) return false;
    if (!samba__expect_dropping(c, drop)) return false;
    const samba_spec *lse = &c->in[SAMBA__ATTENTION_BACKWARD_LSE],
                     *dlse = &c->in[SAMBA__ATTENTION_BACKWARD_DLSE];
    return !backward || !samba__has(c, SAMBA__ATTENTION_BACKWARD_DLSE)
        || (dlse->dtype == SAMBA_F32 && samba__same_shape(&dlse->shape, &lse->shape))
        || samba_refuse(c, SAMBA_ESHAPE, "the gradient of lse must be f32 %S", &lse->shape);
}

SAMBA__FN void samba__attention_work(samba_work *w, const samba_call *c, bool backward)
{
    samba__attention at = samba__attention_of(c->in, c->attr, backward);
    w->units[0] = at.batch * samba__ceil_div(at.T, SAMBA__ATTEND_ROWS);
    bool whole = samba__attention_whole(&at);
    /* In floating point, as T S may be more than any tensor's count. */
    double pairs = (double)(at.batch * at.T) * (double)at.S * (at.causal ? 0.5 : 1.0);
    int products = 2; /* multiply-adds for each element of a row of q, k, v, y */
    if (backward) products = whole ? 6 : 8;
    double flops = pairs * ((double)(at.D + at.E) * products + 20.0);
    w->flops = flops < 1e18 ? (int64_t)flops : 1000000000000000000;
    if (!backward) return;
    w->n_phases = whole ? 2 : 3;
    w->units[1] = at.batch * (whole ? 1 : samba__ceil_div(at.S, SAMBA__ATTEND_KEYS));
    w->units[2] = w->units[0];
    w->scratch = at.batch * at.T * 4;
}

SAMBA__RULES(scaled_dot_product_attention, attention, false)
SAMBA__RULES(scaled_dot_product_attention_backward, attention, true)

SAMBA__FN void samba__scaled_dot_product_attention_kernel(const samba_args *a)
{
    samba__attention_run(a, false);
}

SAMBA__FN void samba__scaled_dot_product_attention_backward_kernel(const samba_args *a)
{
    samba__attention_run(a, true);
}

/* drop: rate, seed and counter of a dropout layer with this key, or NULL. */
SAMBA__FN samba_tensor *samba__attend(samba_tensor *const qkv[3], samba_tensor *mask,
                                      const samba_attention_opts *opts, samba_tensor *const *drop,
                                      uint64_t key, samba_tensor **out)
{
    samba_tensor *in[SAMBA__ATTENTION_INPUTS] = { qkv[0], qkv[1], qkv[2], mask, NULL, NULL, NULL };
    if (!qkv[0]) return NULL;
    const samba_shape *q = &qkv[0]->shape;
    float scale = opts ? opts->scale : 0.0f;
    if (scale == 0.0f) scale = samba__rsqrt(q->ndim ? (float)q->dim[q->ndim - 1] : 1.0f);
    int32_t attr[SAMBA__ATTENTION_END];
    attr[SAMBA__ATTENTION_CAUSAL] = opts && opts->causal;
    attr[SAMBA__ATTENTION_SCALE] = samba_float_attr(scale);
    samba__put_key(attr + SAMBA__ATTENTION_KEY, key);
    if (drop) memcpy(in + SAMBA__ATTENTION_RATE, drop, 3 * sizeof *in);
    (void)out; /* the device half does not trace */
    return samba__emit(qkv[0]->session, SAMBA__OP_scaled_dot_product_attention, in,
                       drop ? (int)SAMBA__ATTENTION_INPUTS : (int)SAMBA__ATTENTION_RATE, attr,
                       SAMBA__ATTENTION_END, out);
}

SAMBA__OP_API samba_tensor *samba_scaled_dot_product_attention(samba_tensor *q, samba_tensor *k,
                                                               samba_tensor *v, samba_tensor *mask,
                                                               const samba_attention_opts *opts)
{
    samba_tensor *qkv[3] = { q, k, v };
    return samba__attend(qkv, mask, opts, NULL, 0, NULL);
}

SAMBA__FN void samba__scaled_dot_product_attention_vjp(samba_vjp *g)
{
    samba_tensor *dy = g->dout[0],
                 *mask = g->n_in > SAMBA__ATTENTION_MASK ? g->in[SAMBA__ATTENTION_MASK] : NULL;
    if (!dy) dy = samba_full(g->session, g->out[0]->shape, 0.0f);
    samba_tensor *in[SAMBA__ATTENTION_BACKWARD_INPUTS]
        = { dy, g->in[0], g->in[1], g->in[2], g->out[0], g->out[1], mask, g->dout[1] };
    for (int32_t i = SAMBA__ATTENTION_RATE; i < g->n_in; i++)
        in[SAMBA__ATTENTION_BACKWARD_RATE - SAMBA__ATTENTION_RATE + i] = g->in[i];
    g->din[0] = samba__emit(g->session, SAMBA__OP_scaled_dot_product_attention_backward, in,
                            g->n_in > SAMBA__ATTENTION_RATE ? (int)SAMBA__ATTENTION_BACKWARD_INPUTS
                                                            : (int)SAMBA__ATTENTION_BACKWARD_RATE,
                            g->attr, 4, g->din);
}

/* ==== [optim-ops] ============================================================================= */
/* ---- Optimizer steps: they overwrite the parameter and its state. A parameter in bf16 is rounded
   at random, or else steps below half its last bit would all be lost: Gupta et al., "Deep learning
   with limited numerical precision", 2015. Two more attributes are the key of its numbers. ---- */
/* What optimizers read from argins: a field of samba_optim each, and the ends of its range. */
/* clang-format off */
#define SAMBA__OPTIM_ARGINS(X) \
    X(LR,            lr,            SAMBA__MOST,     SAMBA__NO_LIMIT) \
    X(WEIGHT_DECAY,  weight_decay,  SAMBA__MOST,     SAMBA__NO_LIMIT) \
    X(MOMENTUM,      momentum,      SAMBA__MOST,     SAMBA__NO_LIMIT) \
    X(BETA1,         beta1,         1.0,             1.0) \
    X(BETA2,         beta2,         1.0,             1.0) \
    X(EPS,           eps,           SAMBA__MOST,     SAMBA__NO_LIMIT) \
    X(MAX_GRAD_NORM, max_grad_norm, SAMBA__NO_LIMIT, SAMBA__NO_LIMIT)

/* What the op of an optimizer reads besides w and g. First S, states: a name, the end of the
   tensor's name, "?" if it may be absent. Then A, argins: a name, which one, what 0 means. */
#define SAMBA__SGD_INPUTS(S, A) \
    S(SGD_V,             "momentum", "?") \
    A(SGD_LR,            LR,           1e-3f) \
    A(SGD_WEIGHT_DECAY,  WEIGHT_DECAY, 0.0f) \
    A(SGD_MOMENTUM,      MOMENTUM,     0.0f)
#define SAMBA__ADAMW_INPUTS(S, A) \
    S(ADAMW_M,            "exp_avg",    "") \
    S(ADAMW_V,            "exp_avg_sq", "") \
    A(ADAMW_LR,           LR,           1e-3f) \
    A(ADAMW_WEIGHT_DECAY, WEIGHT_DECAY, 0.0f) \
    A(ADAMW_BETA1,        BETA1,        0.9f) \
    A(ADAMW_BETA2,        BETA2,        0.997f) \
    A(ADAMW_EPS,          EPS,          1e-8f)
/* clang-format on */

#define SAMBA__ARGIN_AT(name, field, most, below) SAMBA__ARGIN_##name,

enum { SAMBA__OPTIM_ARGINS(SAMBA__ARGIN_AT) SAMBA__N_OPTIM_ARGINS, SAMBA__NO_ARGIN = -1 };

#define SAMBA__INPUT_AT(name, ...) SAMBA__##name,
#define SAMBA__INPUT_NONE(name, ...)

enum { SAMBA__MOST_STATES = 3, SAMBA__MOST_ARGINS = 7, SAMBA__MOST_OPTIONS = 3 };

/* An attribute of an optimizer's op: 'f' a float and 'b' a bool of samba_optim, 'c' the number. */
typedef struct samba__option {
    char kind;
    int32_t at;
} samba__option;

/* One optimizer. The inputs of its op are w, g, states, the step counter, argins, clip (or absent);
   it overwrites w and the states. Attributes are the options and, for a parameter in bf16, the two
   words of the key of its rounding. */
typedef struct samba__optimizer_row {
    int32_t kind;               /* samba_optim_kind */
    const char *name, *written; /* for messages: "Adam", "SAMBA_ADAM" */
    int32_t op;
    const char *signature;
    const char *state[SAMBA__MOST_STATES];
    int32_t kept_for; /* states exist only if this argin may be other than 0; NO_ARGIN: always */

    struct {
        int32_t argin; /* SAMBA__ARGIN_..., beginning with LR */
        float initial;
    } argin[SAMBA__MOST_ARGINS];

    int32_t n_argins, n_options;
    samba__option option[SAMBA__MOST_OPTIONS];
} samba__optimizer_row;

/* clang-format off */
#if defined(SAMBA_RUNTIME_ONLY) /* it has no samba_optim */
#define SAMBA__KIND(kind) 0
#define SAMBA__OPTION(letter, field) { letter, 0 }
#else
#define SAMBA__KIND(kind) SAMBA_##kind
#define SAMBA__OPTION(letter, field) { letter, (int32_t)offsetof(samba_optim, field) }
#endif
#define SAMBA__STATE_NAME(name, text, optional) text,
#define SAMBA__STATE_TERM(name, text, optional) ",*" optional
#define SAMBA__STATE_RESULT(name, text, optional) ",*"
#define SAMBA__ARGIN_VALUE(name, argin, initial) { SAMBA__ARGIN_##argin, initial },
#define SAMBA__ARGIN_TERM(name, argin, initial) ","
#define SAMBA__ARGIN_ONE(name, argin, initial) +1
#define SAMBA__STEP_SIGNATURE(inputs) \
    "w:*,*" inputs(SAMBA__STATE_TERM, SAMBA__INPUT_NONE) ",i:" \
    inputs(SAMBA__INPUT_NONE, SAMBA__ARGIN_TERM) ",?->*" \
    inputs(SAMBA__STATE_RESULT, SAMBA__INPUT_NONE)
#define SAMBA__OPTIMIZER(kind, name, op, inputs, kept_for, n_options, ...) \
    { SAMBA__KIND(kind), name, "SAMBA_" #kind, SAMBA__OP_##op, SAMBA__STEP_SIGNATURE(inputs), \
      { inputs(SAMBA__STATE_NAME, SAMBA__INPUT_NONE) NULL }, SAMBA__##kept_for, \
      { inputs(SAMBA__INPUT_NONE, SAMBA__ARGIN_VALUE) }, \
      0 inputs(SAMBA__INPUT_NONE, SAMBA__ARGIN_ONE), n_options, { __VA_ARGS__ } },

static const samba__optimizer_row samba__optimizers[] = {
    SAMBA__OPTIMIZER(SGD, "SGD", sgd, SAMBA__SGD_INPUTS, ARGIN_MOMENTUM, 2,
                     SAMBA__OPTION('f', dampening), SAMBA__OPTION('b', nesterov))
    SAMBA__OPTIMIZER(ADAMW, "AdamW", adamw, SAMBA__ADAMW_INPUTS, NO_ARGIN, 1, { 'c', 1 })
    SAMBA__OPTIMIZER(ADAM, "Adam", adamw, SAMBA__ADAMW_INPUTS, NO_ARGIN, 1, { 'c', 0 })
};

/* clang-format on */
enum { SAMBA__N_OPTIMIZERS = sizeof samba__optimizers / sizeof *samba__optimizers };

/* The first row with this op; NULL if it is no optimizer's. */
SAMBA__FN const samba__optimizer_row *samba__optimizer_with(int32_t op)
{
    for (int32_t i = 0; i < SAMBA__N_OPTIMIZERS; i++)
        if (samba__optimizers[i].op == op) return &samba__optimizers[i];
    return NULL;
}

SAMBA__FN bool samba__step_rule(samba_call *c, int32_t op)
{
    const samba__optimizer_row *row = samba__optimizer_with(op);
    samba_dtype type = c->n_in > 0 ? c->in[0].dtype : SAMBA_F32;
    if (!row) return samba_refuse(c, SAMBA_EOP, "no optimizer has this op");
    int32_t n_attr = row->n_options + (type == SAMBA_F32 ? 0 : 2);
    if (!samba__expect_match(c, row->signature, n_attr)) return false;
    c->out[0].dtype = type;
    if (row->state[0] && !samba__has(c, 2)) c->n_out = 1; /* the states follow w and g */
    return type != SAMBA_F16
        || samba_refuse(c, SAMBA_EDTYPE, "a parameter in f16 cannot be trained; store it as bf16");
}

/* What the op of an optimizer has by its row: its inputs by name, SAMBA__SGD_W ..., its shape rule,
   and no gradient. It needs a kernel besides. */
#define SAMBA__STEP_INPUTS(NAME) \
    enum { \
        SAMBA__##NAME##_W, \
        SAMBA__##NAME##_G, \
        SAMBA__##NAME##_INPUTS(SAMBA__INPUT_AT, SAMBA__INPUT_NONE) SAMBA__##NAME##_STEP, \
        SAMBA__##NAME##_INPUTS(SAMBA__INPUT_NONE, SAMBA__INPUT_AT) SAMBA__##NAME##_CLIP \
    };
#define SAMBA__STEP_OP(name, NAME) \
    SAMBA__STEP_INPUTS(NAME) \
    SAMBA__FN bool samba__##name##_shape(samba_call *c) \
    { \
        return samba__step_rule(c, SAMBA__OP_##name); \
    }
SAMBA__STEP_OP(sgd, SGD)
SAMBA__STEP_OP(adamw, ADAMW)

/* Elements [i, i + n) of the parameter as f32, and back, all in one run. The generator seeds a run
   at step t; the last lines of Appleby's MurmurHash3 make 16 bits for each element of it. */
enum { SAMBA__STEP_RUN = 128 };

/* beta^step by repeated squaring, in double: 1 - beta^step must be right for the first steps. Not
   inlined, so that no compiler joins its last product and the caller's subtraction. */
SAMBA__NOINLINE double samba__power(double base, int32_t n)
{
    double r = 1.0;
    for (; n > 0; n >>= 1, base *= base)
        r *= n & 1 ? base : 1.0;
    return r;
}

/* The factor of the gradients; 1 if the op has no such input. */
SAMBA__FN float samba__clip_of(const samba_args *a, int32_t input)
{
    return a->n_in > input && a->in[input] ? a->in[input][0] : 1.0f;
}
#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__open_weights SAMBA__OF_NARROW(samba__open_weights)
#define samba__close_weights SAMBA__OF_NARROW(samba__close_weights)
#define samba__sgd_kernel SAMBA__OF_NARROW(samba__sgd_kernel)
#define samba__roots SAMBA__OF_NARROW(samba__roots)
#define samba__adamw_kernel SAMBA__OF_NARROW(samba__adamw_kernel)
#if SAMBA__VEC_LANES < 16

SAMBA__FN float *samba__open_weights(const samba_args *a, int64_t i, int64_t n, float *block)
{
    if (a->out_spec[0].dtype == SAMBA_F32) return a->out[0] + i;
    samba__load(block, samba__out_bytes(a, i), SAMBA_BF16, n);
    return block;
}

SAMBA__FN void samba__close_weights(const samba_args *a, int64_t i, int64_t n, const float *w,
                                    int32_t t)
{
    SAMBA_ASSERT(n > 0 && i % SAMBA__STEP_RUN + n <= SAMBA__STEP_RUN); /* all in one run */
    uint32_t bits[SAMBA__STEP_RUN], seed[4];
    uint16_t *to = (uint16_t *)(void *)samba__out_bytes(a, i);
    if (a->out_spec[0].dtype == SAMBA_F32) return;
    const int32_t *key = a->attr + a->n_attr - 2;
    samba__philox((uint64_t)(uint32_t)key[0] << 32 | (uint32_t)key[1],
                  (uint64_t)i / SAMBA__STEP_RUN, (uint32_t)t, seed);
    for (uint32_t k = 0; k < SAMBA__STEP_RUN / 2; k++) {
        uint32_t x = seed[0] + k * 0x9E3779B9u;
        x = (x ^ x >> 16) * 0x85EBCA6Bu;
        x = (x ^ x >> 13) * 0xC2B2AE35u;
        x ^= x >> 16 ^ seed[1];
        bits[k] = x & 0xFFFFu;
        bits[k + SAMBA__STEP_RUN / 2] = x >> 16;
    }
    const uint32_t *random = bits + i % SAMBA__STEP_RUN;
    for (int64_t k = 0; k < n; k++)
        to[k] = samba__dither_bf16(w[k], random[k]);
}

/* torch.optim.SGD: g += wd w; v = mu v + (1 - damp) g, at first g; w -= lr v */
SAMBA__FN void samba__sgd_kernel(const samba_args *a)
{
    const float *g = a->in[SAMBA__SGD_G];
    float *v = a->n_out > 1 ? a->out[1] : NULL, block[SAMBA__STEP_RUN];
    float lr = a->in[SAMBA__SGD_LR][0], decay = a->in[SAMBA__SGD_WEIGHT_DECAY][0];
    float momentum = a->in[SAMBA__SGD_MOMENTUM][0], clip = samba__clip_of(a, SAMBA__SGD_CLIP);
    int32_t t = samba__in_i32(a, SAMBA__SGD_STEP)[0];
    bool first = t <= 1, nesterov = a->attr[SAMBA__SGD_NESTEROV] != 0;
    float fresh = first ? 1.0f : 1.0f - samba_attr_float(a->attr[SAMBA__SGD_DAMPENING]);
    float kept = first ? 0.0f : momentum;
    for (int64_t i = a->begin, n; i < a->end; i += n) {
        n = samba__min64(SAMBA__STEP_RUN - i % SAMBA__STEP_RUN, a->end - i);
        float *w = samba__open_weights(a, i, n, block);
        if (v) {
            SAMBA__IN_PLACE
            for (int64_t k = 0; k < n; k++) {
                float d = samba__fma(decay, w[k], g[i + k] * clip);
                float moved = samba__fma(kept, v[i + k], d * fresh);
                float step = nesterov ? samba__fma(momentum, moved, d) : moved;
                v[i + k] = moved;
                w[k] = samba__fma(-lr, step, w[k]);
            }
        } else {
            SAMBA__IN_PLACE
            for (int64_t k = 0; k < n; k++)
                w[k] = samba__fma(-lr, samba__fma(decay, w[k], g[i + k] * clip), w[k]);
        }
        samba__close_weights(a, i, n, w, t);
    }
}

/* The square roots of a run. The processor has them, but gcc makes no vectors of sqrtf. */
SAMBA__FN void samba__roots(float *x)
{
#if SAMBA__X86 && SAMBA__VEC_LANES > 1
    for (int k = 0; k < SAMBA__STEP_RUN; k += 8)
        _mm256_storeu_ps(x + k, _mm256_sqrt_ps(_mm256_loadu_ps(x + k)));
#else
    for (int k = 0; k < SAMBA__STEP_RUN; k++)
        x[k] = samba__sqrt(x[k]);
#endif
}

/* AdamW (decay decoupled: Loshchilov, Hutter 2019) and Adam (decay in the gradient), as
   torch.optim. m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
   w -= lr/(1-b1^t) m / (sqrt(v)/sqrt(1-b2^t) + eps) */
SAMBA__FN void samba__adamw_kernel(const samba_args *a)
{
    float *SAMBA__RESTRICT m = a->out[1], *SAMBA__RESTRICT v = a->out[2];
    float block[SAMBA__STEP_RUN], size[SAMBA__STEP_RUN] = { 0.0f };
    const float *g = a->in[SAMBA__ADAMW_G], lr = a->in[SAMBA__ADAMW_LR][0];
    float decay = a->in[SAMBA__ADAMW_WEIGHT_DECAY][0], clip = samba__clip_of(a, SAMBA__ADAMW_CLIP);
    float b1 = a->in[SAMBA__ADAMW_BETA1][0], b2 = a->in[SAMBA__ADAMW_BETA2][0];
    float eps = a->in[SAMBA__ADAMW_EPS][0];
    int32_t step = samba__in_i32(a, SAMBA__ADAMW_STEP)[0];
    float rate = (float)((double)lr / (1.0 - samba__power((double)b1, step)));
    float root = 1.0f / samba__sqrt((float)(1.0 - samba__power((double)b2, step)));
    bool decoupled = a->attr[SAMBA__ADAMW_DECOUPLED]
        != 0; /* AdamW; else Adam, where decay is part of the gradient */
    float shrink = decoupled ? samba__fma(-lr, decay, 1.0f) : 1.0f;
    float l2 = decoupled ? 0.0f : decay;
    float c1 = 1.0f - b1, c2 = 1.0f - b2;
    for (int64_t i = a->begin, n; i < a->end; i += n) { /* memory is what takes the time */
        n = samba__min64(SAMBA__STEP_RUN - i % SAMBA__STEP_RUN, a->end - i);
        for (int64_t l = i + 512; l < i + n + 512; l += 16) {
            SAMBA__PREFETCH(samba__out_bytes(a, l));
            SAMBA__PREFETCH(g + l);
            SAMBA__PREFETCH(m + l);
            SAMBA__PREFETCH(v + l);
        }
        float *SAMBA__RESTRICT w = samba__open_weights(a, i, n, block);
        SAMBA__IN_PLACE
        for (int64_t k = 0; k < n; k++) {
            float d = samba__fma(l2, w[k], g[i + k] * clip);
            m[i + k] = samba__fma(c1, d, b1 * m[i + k]);
            size[k] = v[i + k] = samba__fma(c2 * d, d, b2 * v[i + k]);
        }
        samba__roots(size);
        SAMBA__IN_PLACE
        for (int64_t k = 0; k < n; k++)
            w[k] = samba__fma(-rate, m[i + k] / samba__fma(size[k], root, eps), w[k] * shrink);
        samba__close_weights(a, i, n, w, step);
    }
}
#endif
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

/* clip_factor: min(1, max_norm / (sqrt(sum of squares) + 1e-6)), as torch's clip_grad_norm_. */
SAMBA__MATCHES(clip_factor, "f:,f:->f:", 0)

SAMBA__KERNEL void samba__clip_factor_kernel(const samba_args *a)
{
    float factor = a->in[1][0] / (samba__sqrt(a->in[0][0]) + 1e-6f);
    a->out[0][0] = factor < 1.0f ? factor : 1.0f;
}

/* ==== [op-rows] =============================================================================== */
/* ---- Kernels of all ops, for each instruction set ---- */
#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
/* An op of a family: the function that they share, and which op it is. */
#define SAMBA__FAMILY_KERNEL(wire, gradient, spread, name, class, attributes, cost, flags, family, \
                             which) \
    SAMBA__FN void SAMBA__OF_SET(samba__##name##_kernel)(const samba_args *a) \
    { \
        samba__##family##_run(a, which); \
    }
SAMBA__OPS(SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__FAMILY_KERNEL)
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_OPS
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

/* ---- The table itself ---- */
#define SAMBA__FAMILY_RULES(wire, gradient, spread, name, class, attributes, cost, flags, family, \
                            which) \
    SAMBA__RULES(name, family, which)
SAMBA__OPS(SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__FAMILY_RULES)
#if defined(SAMBA_RUNTIME_ONLY)
#define SAMBA__HOST_COLUMN(f) NULL
#else
#define SAMBA__HOST_COLUMN(f) f
#endif

/* The gradient of ops that let none through. */
SAMBA__FN void samba__zero_vjp(samba_vjp *g)
{
    (void)g;
}

/* samba_op.wide of an op with a kernel for each instruction set; of one that gains nothing by
   AVX-512; and of one with a single kernel. */
/* clang-format off */
#if SAMBA__X86 && !SAMBA__IS_SMALL
#define SAMBA__WIDE(kernel) { kernel##_avx2, kernel##_avx512 }
#define SAMBA__NARROW(kernel) { kernel##_avx2, NULL }
#elif SAMBA__X86
#define SAMBA__WIDE(kernel) { kernel##_avx2, NULL }
#define SAMBA__NARROW SAMBA__WIDE
#elif SAMBA__NEON
#define SAMBA__WIDE(kernel) { kernel##_neon, NULL }
#define SAMBA__NARROW SAMBA__WIDE
#else
#define SAMBA__WIDE(kernel) { NULL, NULL }
#define SAMBA__NARROW SAMBA__WIDE
#endif
#define SAMBA__NOT_WIDE(kernel) { NULL, NULL }
#define SAMBA__ROW(wire, gradient, name, flags, cost, shape, work, kernel, wide, attributes) \
    { #name, wire, flags, NULL, cost, \
      samba__##shape##_shape, samba__##work##_work, samba__##name##_##kernel, \
      wide(samba__##name##_kernel), \
      SAMBA__HOST_COLUMN(SAMBA__GRADIENT_##gradient(name)), \
      SAMBA__HOST_COLUMN("" attributes(SAMBA__ATTRIBUTE_TEXT)) },
/* clang-format on */
#define SAMBA__ROW_MAP(wire, gradient, spread, name, arity, value, cost, attributes, type) \
    SAMBA__ROW(wire, gradient, name, SAMBA_OP_INPLACE, cost, name, map, kernel_portable, \
               SAMBA__NARROW, SAMBA__ATTRIBUTES_##attributes)
#define SAMBA__ROW_CURVE(wire, gradient, spread, name, arity, value, cost, attributes, type) \
    SAMBA__ROW(wire, gradient, name, SAMBA_OP_INPLACE, cost, name, map, kernel_portable, \
               SAMBA__WIDE, SAMBA__ATTRIBUTES_##attributes)
#define SAMBA__ROW_OP(wire, gradient, spread, name, class, attributes, cost, flags, shape, work) \
    SAMBA__ROW(wire, gradient, name, SAMBA_OP_##flags, cost, shape, work, kernel, SAMBA__NOT_WIDE, \
               SAMBA__ATTRIBUTES_##attributes)
#define SAMBA__ROW_FAST(wire, gradient, spread, name, class, attributes, cost, flags, shape, work) \
    SAMBA__ROW(wire, gradient, name, SAMBA_OP_##flags, cost, shape, work, kernel_portable, \
               SAMBA__NARROW, SAMBA__ATTRIBUTES_##attributes)
#define SAMBA__ROW_FAMILY(wire, gradient, spread, name, class, attributes, cost, flags, family, \
                          which) \
    SAMBA__ROW(wire, gradient, name, SAMBA_OP_##flags, cost, name, name, kernel_portable, \
               SAMBA__WIDE, SAMBA__ATTRIBUTES_##attributes)
static const samba_op samba__op_table[SAMBA__N_OPS] = { SAMBA__OPS(
    SAMBA__ROW_MAP, SAMBA__ROW_CURVE, SAMBA__ROW_OP, SAMBA__ROW_FAST, SAMBA__ROW_FAMILY) };

/* Is op one of samba's own? Otherwise the program registered it, or it is not known here. */
SAMBA__FN bool samba__is_builtin(const samba_op *op)
{
    return op >= samba__op_table && op < samba__op_table + SAMBA__N_OPS;
}

/* Wire numbers from here on belong to the ops of programs. */
enum { SAMBA__FIRST_USER_WIRE = 0x8000 };

#define SAMBA__CLASS_MAP(wire, gradient, spread, name, ...) SAMBA__IS_ELEMENTWISE,
#define SAMBA__CLASS_OP(wire, gradient, spread, name, class, ...) SAMBA__IS_##class,

/* The class of a built-in op; those of users have none. */
SAMBA__FN samba__class samba__class_of(const samba_op *op)
{
    static const uint8_t of[SAMBA__N_OPS]
        = { SAMBA__OPS(SAMBA__CLASS_MAP, SAMBA__CLASS_MAP, SAMBA__CLASS_OP, SAMBA__CLASS_OP,
                       SAMBA__CLASS_OP) };

    return samba__is_builtin(op) ? (samba__class)of[op - samba__op_table] : SAMBA__IS_OTHER;
}

#if !defined(SAMBA_RUNTIME_ONLY)
/* What a built-in op does to the rows of a batch; of those of users it is not known. */
SAMBA__FN samba__spread_rule samba__spread_rule_of(const samba_op *op)
{
    static const uint8_t of[SAMBA__N_OPS] = {
#define X(wire, gradient, spread, ...) SAMBA__SPREAD_##spread,
        SAMBA__OPS(X, X, X, X, X)
#undef X
    };

    bool known = samba__is_builtin(op);
    return known ? (samba__spread_rule)of[op - samba__op_table] : SAMBA__SPREAD_UNKNOWN;
}
#endif

/* Is op the built-in one of this number? */
SAMBA__FN bool samba__is(const samba_op *op, int32_t number)
{
    return op == &samba__op_table[number];
}

/* Types that are only stored are read by ops that move values, by cast, and by users' own ops. */
SAMBA__FN bool samba__reads_types(const samba_op *op, samba_call *c)
{
    if (!samba__is_builtin(op) || samba__class_of(op) == SAMBA__IS_MOVES) return true;
    for (int32_t i = 0; i < c->n_in; i++) {
        if (!samba__has(c, i) || !samba__is_stored_only(c->in[i].dtype)) continue;
        return samba_refuse(c, SAMBA_EDTYPE,
                            "input %d is %T, with which nothing is computed; use "
                            "samba_cast: to i32 for ids, to f32 for numbers",
                            i, (int)c->in[i].dtype);
    }
    return true;
}

/* Outputs and work of a call, from the op's own rules or from its signature. The result is checked,
   so that a careless shape rule of a user's op cannot make a tensor that does not exist. */
SAMBA__FN bool samba__infer(const samba_op *op, samba_call *c)
{
    samba__binding b;
    c->code = SAMBA_OK;
    c->why[0] = 0;
    c->n_out = 0;
    memset(c->out, 0, sizeof c->out);
    if (!samba__reads_types(op, c)) return false;
    if (!(op->shape ? op->shape(c) : samba__match(op->signature, c, &b))) {
        if (c->code == SAMBA_OK)
            samba_refuse(c, SAMBA_EARG, "the op's shape rule refuses this call");
        return false;
    }
    if (c->n_out < 1 || c->n_out > SAMBA_MAX_OUT)
        return samba_refuse(c, SAMBA_EOP, "the op's shape rule makes %d outputs", c->n_out);
    for (int32_t i = 0; i < c->n_out; i++) {
        if (samba__sound_shape(&c->out[i].shape) && (unsigned)c->out[i].dtype < SAMBA_N_DTYPES)
            continue;
        return samba_refuse(c, SAMBA_ESHAPE, "output %d would be %S, which is empty or too large",
                            i, &c->out[i].shape);
    }
    return true;
}

SAMBA__FN void samba__measure(const samba_op *op, const samba_call *c, samba_work *w)
{
    samba__binding b;
    samba_call copy;
    memset(w, 0, sizeof *w);
    w->n_phases = 1;
    if (op->work) {
        op->work(w, c);
    } else if (op->signature) {
        copy = *c;
        w->units[0] = samba__match(op->signature, &copy, &b) ? samba_count(&b.star) : 1;
    }
    if (w->n_phases < 1 || w->n_phases > SAMBA_MAX_PHASES) w->n_phases = 1;
    if (w->part < 0 && !samba__is_builtin(op)) w->part = 0; /* samba's products only */
    if (!w->flops) w->flops = op->cost * samba_count(&c->out[0].shape);
}

/* The input in whose place output 0 may lie, if nothing reads that later; -1 if none. */
SAMBA__FN int32_t samba__inplace_input(const samba_op *op)
{
    if (op->flags & SAMBA_OP_INPLACE) return 0;
    return op->flags & SAMBA_OP_INPLACE_1 ? 1 : -1;
}

/* The input that output o overwrites; -1 if o is fresh. SAMBA_OP_UPDATES has four bits for each. */
SAMBA__FN int32_t samba__updated_input(const samba_op *op, int32_t o)
{
    return (int32_t)(op->flags >> (8 + 4 * o) & 15u) - 1;
}

/* Does op overwrite an input? */
SAMBA__FN bool samba__updates(const samba_op *op)
{
    return op->flags >> 8 != 0;
}

/* ==== [pef-read] ============================================================================== */
/* The records of a PEF, field by field, and how they are read. Reader and writer are made from the
   same tables. samba__open_pef finds the tables of a file; what they say is proved in
   [pef-verify]. */

/* Roles of symbols: short names of samba_role. */
enum {
    SAMBA__INPUT = SAMBA_ROLE_INPUT,
    SAMBA__OUTPUT = SAMBA_ROLE_OUTPUT,
    SAMBA__WEIGHT = SAMBA_ROLE_WEIGHT,
    SAMBA__STATE = SAMBA_ROLE_STATE,
    SAMBA__ARGIN = SAMBA_ROLE_ARGIN,
    SAMBA__GRADIENT = SAMBA_ROLE_GRADIENT,
    SAMBA__CONSTANT = SAMBA_ROLE_CONSTANT,
    SAMBA__TEMP = SAMBA_ROLE_TEMPORARY,
    SAMBA__SCRATCH = SAMBA_ROLE_SCRATCH,
    SAMBA__N_ROLES
};

/* Regions of memory. Read-only parameters can stay in the PEF itself (in flash). */
enum {
    SAMBA__REGION_STATE = 0,
    SAMBA__REGION_ARENA,
    SAMBA__REGION_IO,
    SAMBA__REGION_READONLY,
    SAMBA__N_REGIONS
};

#define SAMBA__PEF_MAGIC 0x46455041424D4153u /* the bytes "SAMBAPEF" */
#define SAMBA__PEF_VERSION 2u                /* what is written */
#define SAMBA__PEF_OLDEST 1u                 /* what is still read */
#define SAMBA__PEF_INFERENCE 1u    /* flag: forward only, running statistics, no dropout */
#define SAMBA__FOREVER 0xFFFFFFFFu /* last use of a symbol that outlives the schedule */

/* ---- The records of the file ----

   One row for each field, in the order of the file: X(bits, name, since), A(bits, name, n, since)
   for n numbers of so many bits, Z(bytes, since) for bytes that are 0. `since` is the first version
   whose records have these bytes. Offsets, sizes, structs, readers and writers follow from the
   rows.

   A new version appends rows at the end of a record, or names bytes that were 0; nothing moves.
   What an older file does not have is read as 0, so 0 has to mean what older programs did. Raise
   SAMBA__PEF_VERSION and SAMBA__PEF_OLDEST with it: the version before is read, older ones are not.

   Version 1 (until November 2026) has no checksum of the data and no `generated`; its tables_hash
   goes to the end of the file. */
/* clang-format off */
#define SAMBA__HEADER_FIELDS(X, A, Z) \
    X(64, magic, 1)             /* "SAMBAPEF" */ \
    X(32, version, 1) \
    Z(4, 1) \
    X(64, file_size, 1)         /* bytes of the file */ \
    X(64, tables_hash, 1)       /* XXH64, seed 0, of what follows, up to the data */ \
    X(32, n_symbols, 1) \
    X(32, n_nodes, 1) \
    X(32, n_sections, 1) \
    X(32, n_words, 1) \
    X(32, strings_size, 1) \
    X(32, trace_size, 1) \
    X(32, microbatches, 1) \
    X(32, flags, 1)             /* SAMBA__PEF_INFERENCE */ \
    A(64, region, 4, 1)         /* bytes of state (DDR), arena (HBM), in/out (HOST), read-only */ \
    X(64, data_size, 1) \
    X(64, data_hash, 1)         /* XXH64, seed 0, of the data */ \
    Z(16, 1)

/* Sorted by region, offset and first node. */
#define SAMBA__SYMBOL_FIELDS(X, A, Z) \
    X(32, name, 1)              /* place in the strings */ \
    X(8, role, 1) \
    X(8, dtype, 1) \
    X(8, ndim, 1) \
    X(8, region, 1) \
    A(32, dim, 8, 1)            /* the shape; 0 behind ndim */ \
    X(64, offset, 1)            /* in the region */ \
    X(64, data, 1)              /* 1 + offset of its value in the data, or 0 */ \
    X(32, first, 1)             /* node that uses it first; 0 if it outlives the schedule */ \
    X(32, last, 1)              /* and last; SAMBA__FOREVER then */ \
    X(32, alias, 1)             /* 1 + symbol it is a view of, or 0 */ \
    X(32, grad, 1)              /* 1 + symbol of its gradient, or 0 */ \
    X(8, batch_dim, 1)          /* 1 + batch dimension, or 0 */ \
    X(8, per_microbatch, 1)     /* 1: holds all microbatches */ \
    X(8, mem_type, 1)           /* memory type asked for */ \
    X(8, generated, 1)          /* 1: state of an optimizer, or of dropout */ \
    X(32, argin, 1)             /* kind of argin */

/* In schedule order. */
#define SAMBA__NODE_FIELDS(X, A, Z) \
    X(32, wire, 1)              /* number of the op */ \
    X(8, n_in, 1) \
    X(8, n_out, 1) \
    X(8, n_attr, 1) \
    Z(1, 1) \
    X(32, name, 1)              /* place in the strings */ \
    X(32, first_word, 1)        /* words: inputs (1 + symbol, 0 absent), outputs, attributes */ \
    X(32, scratch, 1)           /* 1 + symbol of its scratch, or 0 */ \
    Z(12, 1)

#define SAMBA__SECTION_FIELDS(X, A, Z) \
    X(32, type, 1)              /* SAMBA_FWD ..., or a sum of them with mapping spatial */ \
    X(32, first, 1)             /* node */ \
    X(32, n, 1)                 /* nodes */ \
    X(32, graph, 1)             /* 1 + name of its graph in the strings; 0: the only one */
/* clang-format on */

/* The records as they lie in the file. All members are bytes, so there is no padding, and offsetof
   gives the place of a field. */
#define X(bits, field, since) uint8_t field[bits / 8];
#define A(bits, field, n, since) uint8_t field[n * (bits / 8)];
#define Z(bytes, since) uint8_t zero##bytes[bytes];

typedef struct samba__header_layout {
    SAMBA__HEADER_FIELDS(X, A, Z)
} samba__header_layout;

typedef struct samba__symbol_layout {
    SAMBA__SYMBOL_FIELDS(X, A, Z)
} samba__symbol_layout;

typedef struct samba__node_layout {
    SAMBA__NODE_FIELDS(X, A, Z)
} samba__node_layout;

typedef struct samba__section_layout {
    SAMBA__SECTION_FIELDS(X, A, Z)
} samba__section_layout;

#undef X
#undef A
#undef Z

/* The records as plain structs. */
#define X(bits, field, since) uint##bits##_t field;
#define A(bits, field, n, since) uint##bits##_t field[n];
#define Z(bytes, since)

typedef struct samba__header {
    SAMBA__HEADER_FIELDS(X, A, Z)
} samba__header;

typedef struct samba__call_record {
    SAMBA__NODE_FIELDS(X, A, Z)
    const samba_op *op;
    const uint8_t *words; /* from first_word on */
} samba__call_record;

typedef struct samba__section {
    SAMBA__SECTION_FIELDS(X, A, Z)
    uint32_t end; /* the node behind its last one */
} samba__section;

#undef A
#define A(bits, field, n, since) /* the shape: in spec */

typedef struct samba__symbol {
    SAMBA__SYMBOL_FIELDS(X, A, Z)
    samba_spec spec; /* dtype, ndim and the shape; sound if these are */
} samba__symbol;

#undef X
#undef A
#undef Z

/* Bytes of a record in a file of this version. */
#define X(bits, field, since) +(since <= version ? bits / 8u : 0u)
#define A(bits, field, n, since) +(since <= version ? n * (bits / 8u) : 0u)
#define Z(bytes, since) +(since <= version ? bytes##u : 0u)

SAMBA__FN uint32_t samba__header_size(uint32_t version)
{
    return 0u SAMBA__HEADER_FIELDS(X, A, Z);
}

SAMBA__FN uint32_t samba__symbol_size(uint32_t version)
{
    return 0u SAMBA__SYMBOL_FIELDS(X, A, Z);
}

SAMBA__FN uint32_t samba__node_size(uint32_t version)
{
    return 0u SAMBA__NODE_FIELDS(X, A, Z);
}

SAMBA__FN uint32_t samba__section_size(uint32_t version)
{
    return 0u SAMBA__SECTION_FIELDS(X, A, Z);
}

#undef X
#undef A
#undef Z

/* A PEF in memory: its header and where its tables begin. Nothing is copied. */
typedef struct samba__pef {
    const uint8_t *base;
    uint64_t size;
    uint32_t version, flags;
    uint32_t n_symbols, n_nodes, n_sections, n_words, strings_size, trace_size, microbatches;
    uint32_t symbol_size, node_size, section_size; /* bytes of a record */
    const uint8_t *symbols, *nodes, *sections, *words;
    const char *strings, *trace;
    const uint8_t *data;
    uint64_t data_size, data_hash, region[SAMBA__N_REGIONS];
    const samba_op *const *user_ops;
    int32_t n_user_ops;
} samba__pef;

/* The op of this wire number (0: none has it) or name (NULL: none). */
SAMBA__FN const samba_op *samba__find_op(uint32_t wire, const char *name,
                                         const samba_op *const *user, int32_t n_user)
{
    for (int32_t i = 0; i < SAMBA__N_OPS + n_user; i++) {
        const samba_op *op = i < SAMBA__N_OPS ? &samba__op_table[i] : user[i - SAMBA__N_OPS];
        if (op->wire == wire || (name && samba__same_text(op->name, name))) return op;
    }
    return NULL;
}

/* Readers of one record each. Fields that this version of the file does not have are 0; the
   compiler drops the question for fields that every readable version has. */
#define X(bits, field, since) \
    r.field = since <= SAMBA__PEF_OLDEST || since <= version \
        ? samba__get##bits(p + offsetof(SAMBA__RECORD, field)) \
        : (uint##bits##_t)0;
#define A(bits, field, n, since) \
    for (size_t i = 0; i < n; i++) \
        r.field[i] = since <= SAMBA__PEF_OLDEST || since <= version \
            ? samba__get##bits(p + offsetof(SAMBA__RECORD, field) + i * (bits / 8)) \
            : (uint##bits##_t)0;
#define Z(bytes, since)
#define SAMBA__RECORD samba__header_layout

SAMBA__FN samba__header samba__read_header(const uint8_t *p, uint32_t version)
{
    samba__header r;
    SAMBA__HEADER_FIELDS(X, A, Z)
    (void)version;
    return r;
}

#undef SAMBA__RECORD

#define SAMBA__RECORD samba__section_layout

SAMBA__FN samba__section samba__section_at(const samba__pef *pef, uint32_t i)
{
    SAMBA_ASSERT(i < pef->n_sections);
    const uint8_t *p = pef->sections + (size_t)i * pef->section_size;
    const uint32_t version = pef->version;
    samba__section r;
    SAMBA__SECTION_FIELDS(X, A, Z)
    (void)version;
    r.end = r.first + r.n;
    return r;
}

#undef SAMBA__RECORD

/* A node; its op is found only where the op itself is wanted. */
#define SAMBA__RECORD samba__node_layout

SAMBA__FN samba__call_record samba__record_at(const samba__pef *pef, uint32_t i)
{
    SAMBA_ASSERT(i < pef->n_nodes);
    const uint8_t *p = pef->nodes + (size_t)i * pef->node_size;
    const uint32_t version = pef->version;
    samba__call_record r;
    SAMBA__NODE_FIELDS(X, A, Z)
    (void)version;
    r.op = NULL;
    r.words = pef->words + (size_t)(r.first_word < pef->n_words ? r.first_word : 0) * 4;
    return r;
}

#undef SAMBA__RECORD

#undef A
#define A(bits, field, n, since) /* the shape */
#define SAMBA__RECORD samba__symbol_layout

SAMBA__FN samba__symbol samba__symbol_at(const samba__pef *pef, uint32_t i)
{
    SAMBA_ASSERT(i < pef->n_symbols);
    const uint8_t *p = pef->symbols + (size_t)i * pef->symbol_size;
    const uint32_t version = pef->version;
    samba__symbol r;
    SAMBA__SYMBOL_FIELDS(X, A, Z)
    (void)version;
    r.spec.dtype = (samba_dtype)(r.dtype < SAMBA_N_DTYPES ? r.dtype : 0);
    r.spec.shape.ndim = r.ndim <= SAMBA_MAX_DIMS ? r.ndim : 0;
    for (size_t d = 0; d < SAMBA_MAX_DIMS; d++)
        r.spec.shape.dim[d]
            = (int32_t)samba__get32(p + offsetof(samba__symbol_layout, dim) + 4 * d);
    return r;
}

#undef SAMBA__RECORD
#undef X
#undef A
#undef Z

SAMBA__FN samba__call_record samba__node_at(const samba__pef *pef, uint32_t i)
{
    samba__call_record c = samba__record_at(pef, i);
    c.op = samba__find_op(c.wire, NULL, pef->user_ops, pef->n_user_ops);
    return c;
}

SAMBA__FN uint32_t samba__word(const samba__call_record *c, int32_t i)
{
    SAMBA_ASSERT(i >= 0 && i < c->n_in + c->n_out + c->n_attr);
    return samba__get32(c->words + 4 * i);
}

/* In 64 bits: a file may claim more memory than a small device can address. */
SAMBA__FN uint64_t samba__symbol_bytes(const samba__pef *pef, const samba__symbol *s)
{
    uint64_t count = (uint64_t)samba_count(&s->spec.shape);
    return count * samba_dtype_size(s->spec.dtype) * (s->per_microbatch ? pef->microbatches : 1);
}

/* The number of the symbol called name, or -1. The search begins at number `start`, because callers
   usually look symbols up in the order of the file. */
SAMBA__FN int32_t samba__find_symbol(const samba__pef *pef, const char *name, uint32_t start)
{
    for (uint32_t k = 0; k < pef->n_symbols; k++) {
        uint32_t i = (start + k) % pef->n_symbols;
        samba__symbol s = samba__symbol_at(pef, i);
        if (s.role < SAMBA__TEMP && samba__same_text(pef->strings + s.name, name))
            return (int32_t)i;
    }
    return -1;
}

/* Returns `holds`; if it is false, writes the reason for which the PEF is refused. */
SAMBA__FN bool samba__prove(samba__text *why, bool holds, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!holds) samba__vformat(why, fmt, args);
    va_end(args);
    return holds;
}

/* Magic, version and flags are known, and the file is as long as it says. */
SAMBA__FN bool samba__check_header(const uint8_t *p, size_t size, samba__text *why)
{
    const uint32_t oldest = samba__header_size(SAMBA__PEF_OLDEST);
    if (!samba__prove(why, p && size >= oldest, "the file is shorter than a PEF header"))
        return false;
    samba__header h = samba__read_header(p, SAMBA__PEF_OLDEST);
    if (!samba__prove(why, h.magic == SAMBA__PEF_MAGIC,
                      "this is not a PEF: the magic number is missing"))
        return false;
    if (!samba__prove(why, h.version >= SAMBA__PEF_OLDEST && h.version <= SAMBA__PEF_VERSION,
                      "PEF version %d, but this samba.h reads versions %d and %d; compile it again",
                      (int32_t)h.version, (int32_t)SAMBA__PEF_OLDEST, (int32_t)SAMBA__PEF_VERSION))
        return false;
    const uint8_t *zero = p + offsetof(samba__header_layout, zero4);
    if (!samba__prove(why, !samba__get32(zero) && !(h.flags & ~SAMBA__PEF_INFERENCE),
                      "the header has an unknown flag; a newer samba.h may have written it"))
        return false;
    if (!samba__prove(why, h.file_size == size,
                      "the file has %l bytes but its header says %l: it was cut or extended",
                      (int64_t)size, (int64_t)h.file_size))
        return false;
    uint32_t header = samba__header_size(h.version);
    return samba__prove(why, size >= header && h.data_size <= size - header,
                        "the header claims more bytes of data than its file of %l has",
                        (int64_t)size);
}

/* Where each table begins, counted from the start of the file: they follow each other. */
typedef struct samba__tables_at {
    uint64_t symbols, nodes, sections, words, strings, trace, data;
} samba__tables_at;

SAMBA__FN samba__tables_at samba__lay_tables(const samba__header *h)
{
    samba__tables_at at;
    at.symbols = samba__header_size(h->version);
    at.nodes = at.symbols + (uint64_t)h->n_symbols * samba__symbol_size(h->version);
    at.sections = at.nodes + (uint64_t)h->n_nodes * samba__node_size(h->version);
    at.words = at.sections + (uint64_t)h->n_sections * samba__section_size(h->version);
    at.strings = at.words + (uint64_t)h->n_words * 4;
    at.trace = at.strings + h->strings_size;
    at.data = samba__align_bytes(at.trace + h->trace_size);
    return at;
}

/* Finds the tables of a header. Do they and the data fill the file? */
SAMBA__FN bool samba__find_tables(samba__pef *pef, const samba__header *h)
{
    samba__tables_at at = samba__lay_tables(h);
    if (at.data != pef->size - pef->data_size) return false;
    pef->symbols = pef->base + at.symbols;
    pef->nodes = pef->base + at.nodes;
    pef->sections = pef->base + at.sections;
    pef->words = pef->base + at.words;
    pef->strings = (const char *)(pef->base + at.strings);
    pef->trace = (const char *)(pef->base + at.trace);
    pef->data = pef->base + at.data;
    pef->symbol_size = samba__symbol_size(h->version);
    pef->node_size = samba__node_size(h->version);
    pef->section_size = samba__section_size(h->version);
    return true;
}

/* What tables_hash says of a file: of the tables; in version 1 of the data behind them, too. */
SAMBA__FN bool samba__check_tables_hash(const samba__pef *pef, samba__text *why)
{
    const size_t begin = offsetof(samba__header_layout, tables_hash) + 8;
    const uint8_t *tables = pef->base + begin;
    size_t n = (size_t)(pef->size - pef->data_size) - begin, n_data = 0;
    if (pef->version == 1) n_data = (size_t)pef->data_size;
    uint64_t hash = samba__read_header(pef->base, pef->version).tables_hash;
    return samba__prove(why, hash == samba__hash_two(tables, n, pef->data, n_data),
                        "the checksum is wrong: the file was damaged");
}

SAMBA__FN bool samba__check_data_hash(const samba__pef *pef, samba__text *why)
{
    return samba__prove(why, pef->data_hash == samba__hash(pef->data, (size_t)pef->data_size, 0),
                        "the checksum of the data is wrong: the file was damaged");
}

/* Reads the header and finds the tables. */
SAMBA__FN bool samba__read_counts(samba__pef *pef, const void *bytes, size_t size, samba__text *why)
{
    const uint8_t *p = (const uint8_t *)bytes;
    if (!samba__check_header(p, size, why)) return false;
    uint32_t version = samba__read_header(p, SAMBA__PEF_OLDEST).version;
    samba__header h = samba__read_header(p, version);
    pef->base = p;
    pef->size = size;
    pef->version = version;
    pef->flags = h.flags;
    pef->n_symbols = h.n_symbols;
    pef->n_nodes = h.n_nodes;
    pef->n_sections = h.n_sections;
    pef->n_words = h.n_words;
    pef->strings_size = h.strings_size;
    pef->trace_size = h.trace_size;
    pef->microbatches = h.microbatches;
    pef->data_size = h.data_size;
    pef->data_hash = h.data_hash;
    for (int i = 0; i < SAMBA__N_REGIONS; i++)
        pef->region[i] = h.region[i];
    return samba__prove(why, samba__find_tables(pef, &h),
                        "the tables and the data do not fill the file");
}

/* Opens a PEF; pef is zero but for the user's ops. The data are neither read nor proved; in version
   1, whose checksum is that of both, nor is that of the tables. */
SAMBA__FN bool samba__open_pef(samba__pef *pef, const void *bytes, size_t size, samba__text *why)
{
    if (!samba__read_counts(pef, bytes, size, why)) return false;
    if (pef->version > 1 && !samba__check_tables_hash(pef, why)) return false;
    bool ends = pef->strings_size && !pef->strings[pef->strings_size - 1] && pef->trace_size
        && !pef->trace[pef->trace_size - 1];
    if (!samba__prove(why, ends, "a table of strings does not end")
        || !samba__prove(why, pef->microbatches >= 1 && pef->microbatches <= 65536,
                         "the number of microbatches is absurd"))
        return false;
    for (int i = 0; i < SAMBA__N_REGIONS; i++) {
        bool sound = pef->region[i] <= (uint64_t)1 << 46 && pef->region[i] % SAMBA__ALIGN == 0;
        if (!samba__prove(why, sound, "region %d has an absurd size", i)) return false;
    }
    return true;
}

/* ==== [pef-verify] ============================================================================ */
/* Proves what [manual] lists of a file before anything of it is used. Nothing here trusts a number
   that it has not checked: the file may be damaged, or made to do harm.
   samba__open_pef of [pef-read] comes first: header, places of the tables, their checksum.
   samba__verify_pef, at the end of this chapter, decides the rest, in the order of its calls. Each
   check hands its condition to samba__prove, which writes the reason if it does not hold. The
   callers make an error of it: samba__file_prove for a file, samba_runtime_open for memory. */

/* May a symbol of this role live in this region? */
SAMBA__FN bool samba__may_lie(uint8_t role, uint8_t region)
{
    if (role == SAMBA__TEMP || role == SAMBA__SCRATCH) return region == SAMBA__REGION_ARENA;
    if (region != SAMBA__REGION_READONLY) return region != SAMBA__REGION_ARENA;
    return role == SAMBA__WEIGHT || role == SAMBA__CONSTANT || role == SAMBA__STATE;
}

/* A view is a temporary that shares the memory of another one and does not outlive it. */
SAMBA__FN bool samba__is_view(const samba__pef *pef, const samba__symbol *s)
{
    samba__symbol base = samba__symbol_at(pef, s->alias - 1);
    return s->role == SAMBA__TEMP && base.role == SAMBA__TEMP && !base.alias
        && base.offset == s->offset && base.first <= s->first && base.last >= s->last
        && samba__symbol_bytes(pef, &base) == samba__symbol_bytes(pef, s)
        && samba_dtype_size(base.spec.dtype) == samba_dtype_size(s->spec.dtype);
}

/* A gradient has the shape of its symbol and outlives the schedule. */
SAMBA__FN bool samba__is_gradient(const samba__pef *pef, const samba__symbol *s)
{
    samba__symbol grad = samba__symbol_at(pef, s->grad - 1);
    return grad.role < SAMBA__TEMP && samba__same_shape(&grad.spec.shape, &s->spec.shape);
}

/* Hyperparameters are written as one word of 4 bytes. */
SAMBA__FN bool samba__is_word(const samba__symbol *s)
{
    return samba_count(&s->spec.shape) == 1 && samba_dtype_size(s->spec.dtype) == 4;
}

/* What is wrong with the memory or the lifetime of a symbol whose other fields are sound; NULL if
   nothing is. */
SAMBA__FN const char *samba__wrong_place(const samba__pef *pef, const samba__symbol *s)
{
    uint64_t bytes = samba__symbol_bytes(pef, s), room = pef->region[s->region], at = s->data - 1;
    bool passing = s->region == SAMBA__REGION_ARENA;
    if (!samba__may_lie(s->role, s->region)) return "is in the wrong region";
    if (s->per_microbatch
        && ((s->role != SAMBA__INPUT && s->role != SAMBA__OUTPUT) || !s->batch_dim
            || s->region != SAMBA__REGION_IO))
        return "cannot hold microbatches";
    if (s->offset % SAMBA__ALIGN || s->offset > room || bytes > room - s->offset)
        return "lies outside its region";
    if (bytes > SAMBA__NO_SIZE) return "is larger than the memory of this machine can be";
    if (s->data
        && (passing || at % SAMBA__ALIGN || at > pef->data_size || bytes > pef->data_size - at))
        return "has data outside the file";
    if (passing ? s->first > s->last || s->last >= pef->n_nodes
                : s->first != 0 || s->last != SAMBA__FOREVER)
        return "has an impossible lifetime";
    return NULL;
}

SAMBA__FN bool samba__check_symbol(const samba__pef *pef, uint32_t i, samba__text *why)
{
    samba__symbol s = samba__symbol_at(pef, i);
    int32_t n = (int32_t)i;
    if (!samba__prove(why, s.name < pef->strings_size, "symbol %d has no name", n)) return false;
    const char *name = pef->strings + s.name;
    bool known = s.role >= 1 && s.role < SAMBA__N_ROLES && s.dtype < SAMBA_N_DTYPES
        && s.ndim <= SAMBA_MAX_DIMS && s.region < SAMBA__N_REGIONS && s.batch_dim <= s.ndim
        && s.per_microbatch <= 1 && s.mem_type <= SAMBA_MEM_HOST
        && s.generated <= (s.role == SAMBA__STATE);
    if (!samba__prove(
            why, known,
            "symbol %d %s has a field with an unknown value: role, type, rank, region or a flag", n,
            name)
        || !samba__prove(why, samba__sound_shape(&s.spec.shape), "symbol %d %s has an absurd shape",
                         n, name))
        return false;
    const char *wrong = samba__wrong_place(pef, &s);
    if (wrong) return samba__prove(why, false, "symbol %d %s %s", n, name, wrong);
    if (s.grad > pef->n_symbols || s.alias > pef->n_symbols)
        wrong = "refers to no symbol";
    else if (s.alias && !samba__is_view(pef, &s))
        wrong = "is no view of the symbol it names";
    else if (s.grad && !samba__is_gradient(pef, &s))
        wrong = "has a gradient of another shape";
    else if (s.role == SAMBA__ARGIN && !samba__is_word(&s))
        wrong = "is a hyperparameter, but not one word of 4 bytes";
    return samba__prove(why, !wrong, "symbol %d %s %s", n, name, wrong);
}

/* Checks each symbol, and that values do not overlap in the file: they come in symbol order. */
SAMBA__FN bool samba__check_symbols(const samba__pef *pef, samba__text *why)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        if (!samba__check_symbol(pef, i, why)) return false;
        samba__symbol s = samba__symbol_at(pef, i);
        if (!s.data) continue;
        if (!samba__prove(why, s.data > end, "symbol %d %s shares its data with another",
                          (int32_t)i, pef->strings + s.name))
            return false;
        end = s.data - 1 + samba__symbol_bytes(pef, &s);
    }
    return true;
}

/* The specs of a call's inputs (absent: ndim -1) and its attributes, decoded. */
typedef struct samba__decoded {
    samba_spec in[SAMBA_MAX_IN];
    int32_t attr[SAMBA_MAX_ATTR];
    samba_call call;
} samba__decoded;

SAMBA__FN void samba__decode_call(const samba__pef *pef, const samba__call_record *r,
                                  samba__decoded *d)
{
    memset(&d->call, 0, sizeof d->call);
    memset(d->attr, 0, sizeof d->attr); /* an op may look at more than it has */
    for (int32_t i = 0; i < r->n_in; i++) {
        uint32_t word = samba__word(r, i);
        d->in[i] = word ? samba__symbol_at(pef, word - 1).spec : samba__absent();
    }
    for (int32_t i = 0; i < r->n_attr && i < SAMBA_MAX_ATTR; i++)
        d->attr[i] = (int32_t)samba__word(r, r->n_in + r->n_out + i);
    d->call.in = d->in;
    d->call.n_in = r->n_in;
    d->call.attr = d->attr;
    d->call.n_attr = r->n_attr;
}

/* A node reads what is alive at that point and was made by an earlier node of its graph, whose
   nodes begin at `first`. */
SAMBA__FN bool samba__check_input(const samba__pef *pef, uint32_t node, uint32_t first,
                                  uint32_t word, samba__text *why)
{
    if (word == 0) return true;
    samba__symbol s = samba__symbol_at(pef, word - 1);
    bool alive = s.first >= first && s.first < node && s.last >= node;
    return samba__prove(why, s.role != SAMBA__SCRATCH && (alive || s.region != SAMBA__REGION_ARENA),
                        "node %d reads %s, which is "
                        "not alive in its graph then",
                        (int32_t)node, pef->strings + s.name);
}

/* The symbol that owns the memory of this one, both as words have them: the base of a view, else
   the symbol itself. */
SAMBA__FN uint32_t samba__base_word(const samba__pef *pef, uint32_t word)
{
    uint32_t base = word ? samba__symbol_at(pef, word - 1).alias : 0;
    return base ? base : word;
}

/* Output o writes to the memory of symbol `base`. The node may not have that memory as another
   output or as an input, except the input that the output updates or is a view of. */
SAMBA__FN bool samba__is_alone(const samba__pef *pef, const samba__call_record *r, int32_t o,
                               uint32_t base)
{
    int32_t updated = samba__updated_input(r->op, o);
    bool views = (r->op->flags & SAMBA_OP_VIEW) && o == 0
        && samba__symbol_at(pef, samba__word(r, r->n_in) - 1).alias;
    for (int32_t k = 0; k < r->n_in + o; k++) {
        bool expected = k == updated || (views && k == 0);
        if (!expected && samba__base_word(pef, samba__word(r, k)) == base) return false;
    }
    return true;
}

/* Is output 0 of this node a view of its input 0, and does that live in the memory of `base`? */
SAMBA__FN bool samba__makes_view(const samba__pef *pef, const samba__call_record *r, uint32_t base)
{
    return (r->op->flags & SAMBA_OP_VIEW) && r->n_in > 0
        && samba__base_word(pef, samba__word(r, 0)) == base;
}

/* A node writes temporaries whose life begins with it, outputs and gradients; it overwrites
   anything else only where its op says that it updates that input. */
SAMBA__FN bool samba__check_output(const samba__pef *pef, uint32_t node,
                                   const samba__call_record *r, int32_t o, samba__text *why)
{
    uint32_t word = samba__word(r, r->n_in + o);
    samba__symbol s = samba__symbol_at(pef, word - 1);
    int32_t updated = samba__updated_input(r->op, o);
    bool fine = s.role == SAMBA__TEMP ? s.first == node
                                      : s.role == SAMBA__OUTPUT || s.role == SAMBA__GRADIENT;
    if (updated >= 0)
        fine = updated < r->n_in && samba__word(r, updated) == word && s.role != SAMBA__INPUT;
    else if (s.alias)
        fine = fine && o == 0 && samba__makes_view(pef, r, s.alias);
    return samba__prove(why, fine && s.region != SAMBA__REGION_READONLY, "node %d may not write %s",
                        (int32_t)node, pef->strings + s.name)
        && samba__prove(why, samba__is_alone(pef, r, o, s.alias ? s.alias : word),
                        "node %d writes "
                        "%s while it reads or writes it elsewhere",
                        (int32_t)node, pef->strings + s.name);
}

SAMBA__FN bool samba__same_spec(const samba_spec *a, const samba_spec *b)
{
    return a->dtype == b->dtype && samba__same_shape(&a->shape, &b->shape);
}

SAMBA__FN bool samba__check_scratch(const samba__pef *pef, uint32_t node,
                                    const samba__call_record *r, const samba_work *w,
                                    samba__text *why)
{
    bool enough = r->scratch ? r->scratch <= pef->n_symbols : w->scratch == 0;
    if (enough && r->scratch) {
        samba__symbol s = samba__symbol_at(pef, r->scratch - 1);
        enough = s.role == SAMBA__SCRATCH && s.first == node && s.last == node && !s.alias
            && samba__symbol_bytes(pef, &s) >= (uint64_t)w->scratch;
    }
    return samba__prove(why, enough, "node %d has too little scratch", (int32_t)node);
}

/* The arguments of a node lie within the words, and name symbols that exist. */
SAMBA__FN bool samba__check_words(const samba__pef *pef, uint32_t i, samba__text *why)
{
    samba__call_record r = samba__record_at(pef, i);
    uint64_t n_words = (uint64_t)r.n_in + r.n_out + r.n_attr;
    bool few = r.n_in <= SAMBA_MAX_IN && r.n_out <= SAMBA_MAX_OUT && r.n_attr <= SAMBA_MAX_ATTR;
    if (!samba__prove(why, r.first_word + n_words <= pef->n_words,
                      "the arguments of node %d lie outside the file", (int32_t)i)
        || !samba__prove(why, r.name < pef->strings_size, "node %d has no name", (int32_t)i)
        || !samba__prove(why, few, "node %d has too many arguments", (int32_t)i)
        || !samba__prove(why, r.n_out >= 1, "node %d has no output", (int32_t)i))
        return false;
    for (int32_t k = 0; k < r.n_in + r.n_out; k++) {
        uint32_t word = samba__word(&r, k);
        bool sound = word <= pef->n_symbols && (k < r.n_in || word);
        if (!samba__prove(why, sound, "node %d refers to no symbol", (int32_t)i)) return false;
    }
    return true;
}

/* The op's own shape rule has to accept the arguments and give exactly the declared outputs.
   `first` is the first node of its graph. */
SAMBA__FN bool samba__check_node(const samba__pef *pef, uint32_t i, uint32_t first,
                                 samba__text *why)
{
    samba__decoded d;
    samba_work w;
    if (!samba__check_words(pef, i, why)) return false;
    samba__call_record r = samba__node_at(pef, i);
    if (!samba__prove(why, r.op != NULL,
                      "%s uses op number %d, which is not known here; register it before loading",
                      pef->strings + r.name, (int32_t)r.wire))
        return false;
    samba__decode_call(pef, &r, &d);
    if (!samba__prove(why, samba__infer(r.op, &d.call), "node %d %s: %s", (int32_t)i, r.op->name,
                      d.call.why))
        return false;
    bool same = d.call.n_out == r.n_out;
    for (int32_t k = 0; same && k < r.n_out; k++) {
        samba__symbol s = samba__symbol_at(pef, samba__word(&r, r.n_in + k) - 1);
        same = samba__same_spec(&s.spec, &d.call.out[k]);
    }
    if (!samba__prove(why, same, "node %d %s declares other outputs than the op makes", (int32_t)i,
                      r.op->name))
        return false;
    for (int32_t k = 0; k < r.n_in; k++)
        if (!samba__check_input(pef, i, first, samba__word(&r, k), why)) return false;
    for (int32_t k = 0; k < r.n_out; k++)
        if (!samba__check_output(pef, i, &r, k, why)) return false;
    samba__measure(r.op, &d.call, &w);
    return samba__check_scratch(pef, i, &r, &w, why);
}

/* Section types, in schedule order. A run goes through the schedule in passes, those that repeat
   once for each microbatch. */
typedef struct samba__section_type {
    const char *name;
    uint32_t bit;
    uint32_t runs_with; /* it runs whenever all of these do; 0: if it is asked for alone */
    int32_t pass;
    bool repeats, named; /* in each microbatch; by callers */
    bool changes_gradients;
} samba__section_type;

/* clang-format off */
#define SAMBA__TYPE(name) #name, SAMBA_##name
#define SAMBA__STEP_TYPES (SAMBA_BCKWD | SAMBA_OPT)
static const samba__section_type samba__section_types[] = {
    /*                         runs with          pass repeats named  changes gradients */
    { SAMBA__TYPE(ZEROGRAD),   SAMBA__STEP_TYPES, 0,   false,  true,  true  },
    { SAMBA__TYPE(COUNT),      SAMBA_FWD,         1,   true,   false, false },
    { SAMBA__TYPE(FWD),        0,                 2,   true,   true,  false },
    { SAMBA__TYPE(BCKWD),      0,                 2,   true,   true,  true  },
    { SAMBA__TYPE(REDUCE),     SAMBA__STEP_TYPES, 3,   false,  true,  true  },
    { SAMBA__TYPE(GRADNORM),   SAMBA__STEP_TYPES, 3,   false,  true,  false },
    { SAMBA__TYPE(OPT),        0,                 3,   false,  true,  false }
};

/* clang-format on */
enum { SAMBA__N_TYPES = sizeof samba__section_types / sizeof *samba__section_types };

/* The name of a section's type; "" for what is none. A section of mapping spatial has several. */
SAMBA__FN const char *samba__type_name(uint32_t type)
{
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++)
        if (type == samba__section_types[i].bit) return samba__section_types[i].name;
    if (type == (SAMBA_BCKWD | SAMBA_OPT)) return "BCKWD_OPT";
    return type == (SAMBA_BCKWD | SAMBA_GRADNORM | SAMBA_OPT) ? "BCKWD_GRADNORM_OPT" : "";
}

/* Do sections of this type come after those of the other one? */
SAMBA__FN bool samba__is_after(uint32_t type, uint32_t other)
{
    int32_t first = SAMBA__N_TYPES, last = -1;
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
        if (samba__section_types[i].bit & other) last = i;
        if (samba__section_types[i].bit & type && first == SAMBA__N_TYPES) first = i;
    }
    return first > last;
}

/* The types which a run of `types` has besides: COUNT with FWD, all of a step with BCKWD and OPT.
 */
SAMBA__FN unsigned samba__implied_types(unsigned types)
{
    unsigned implied = 0;
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
        unsigned with = samba__section_types[i].runs_with;
        if (with && (types & with) == with) implied |= samba__section_types[i].bit;
    }
    return implied;
}

/* Section i is not empty, begins where the previous one ends, and its type comes in schedule order.
   The places of graph names ascend, so no graph can come twice. */
SAMBA__FN bool samba__is_in_order(const samba__pef *pef, uint32_t i)
{
    samba__section s = samba__section_at(pef, i), before = SAMBA__ZEROED;
    bool first = i == 0;
    if (!first) before = samba__section_at(pef, i - 1);
    if (s.first != before.end || s.end <= s.first || s.end > pef->n_nodes) return false;
    if (!*samba__type_name(s.type) || s.graph > pef->strings_size) return false;
    if (first || s.graph > before.graph) return true;
    return s.graph == before.graph
        && (s.type == before.type || samba__is_after(s.type & (0u - s.type), before.type));
}

/* The sections, and the nodes in each. */
SAMBA__FN bool samba__check_sections(const samba__pef *pef, samba__text *why)
{
    uint32_t graph = 0, start = 0, next = 0;
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section s = samba__section_at(pef, i);
        if (!samba__prove(why, samba__is_in_order(pef, i), "section %d is out of order",
                          (int32_t)i))
            return false;
        if (s.graph != graph) start = s.first;
        graph = s.graph;
        next = s.end;
        for (uint32_t k = s.first; k < s.end; k++)
            if (!samba__check_node(pef, k, start, why)) return false;
    }
    return samba__prove(why, next == pef->n_nodes, "the sections do not cover the nodes");
}

/* Charges the letters of the name at this place to a budget; false if they exceed what is left. */
SAMBA__FN bool samba__take_name(const samba__pef *pef, uint32_t at, uint32_t *left)
{
    const char *name = pef->strings + at;
    uint32_t n = 0;
    while (n <= *left && name[n])
        n++;
    if (n > *left) return false;
    *left -= n;
    return true;
}

/* All names together have no more letters than the table of strings. If names could overlap, a
   small file could make a reader copy the whole table once for each name. */
SAMBA__FN bool samba__names_fit(const samba__pef *pef)
{
    uint32_t left = pef->strings_size, before = 0;
    for (uint32_t i = 0; i < pef->n_symbols; i++)
        if (!samba__take_name(pef, samba__symbol_at(pef, i).name, &left)) return false;
    for (uint32_t i = 0; i < pef->n_nodes; i++)
        if (!samba__take_name(pef, samba__record_at(pef, i).name, &left)) return false;
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        uint32_t graph = samba__section_at(pef, i).graph;
        bool named = graph && graph != before;
        if (named && !samba__take_name(pef, graph - 1, &left)) return false;
        before = graph;
    }
    return true;
}

SAMBA__FN bool samba__check_names(const samba__pef *pef, samba__text *why)
{
    return samba__prove(why, samba__names_fit(pef),
                        "names share letters: together they are longer than the table of strings");
}

/* Does the node with which the life of temporary i begins make it, or have it as its scratch? */
SAMBA__FN bool samba__is_made(const samba__pef *pef, uint32_t i, const samba__symbol *s)
{
    samba__call_record r = samba__record_at(pef, s->first);
    if (s->role == SAMBA__SCRATCH) return r.scratch == i + 1;
    for (int32_t o = 0; o < r.n_out; o++)
        if (samba__word(&r, r.n_in + o) == i + 1) return true;
    return false;
}

/* An op may compute in place: symbol b takes over the memory of an input that its node reads last.
   Returns the end of that input's memory; 0 if b takes over from nobody. The node may not use the
   input anywhere else, but for elementwise ops: f(x, x) reads element i before it writes it. */
SAMBA__FN uint64_t samba__end_below(const samba__pef *pef, uint32_t ib, const samba__symbol *b)
{
    samba__call_record r = samba__node_at(pef, b->first);
    int32_t place = samba__inplace_input(r.op);
    uint32_t word = place >= 0 && place < r.n_in ? samba__word(&r, place) : 0;
    uint32_t base = samba__base_word(pef, word);
    if (!word || samba__word(&r, r.n_in) != ib + 1) return 0;
    samba__symbol a = samba__symbol_at(pef, base - 1);
    uint64_t bytes = samba__symbol_bytes(pef, &a);
    if (a.region != b->region || a.offset != b->offset || a.last != b->first
        || bytes != samba__symbol_bytes(pef, b)
        || samba_dtype_size(a.spec.dtype) != samba_dtype_size(b->spec.dtype))
        return 0;
    for (int32_t k = 0; k < r.n_in + r.n_out; k++) {
        uint32_t other = samba__word(&r, k);
        bool again = k < r.n_in && other == word && samba__class_of(r.op) == SAMBA__IS_ELEMENTWISE;
        if (k != place && !again && samba__base_word(pef, other) == base) return 0;
    }
    return a.offset + bytes;
}

/* The skyline of the arena: for each node of a range, the end of the memory in use while it runs. A
   segment tree in an array: vertex v has the children 2 v and 2 v + 1, the nodes are the leaves
   n ... 2 n - 1. `all` is the height to which a whole subtree was raised at once, `any` the highest
   leaf below a vertex. */
enum { SAMBA__SKYLINE = SAMBA__IS_SMALL ? 64 : 512 }; /* nodes at a time on the stack */

typedef struct samba__skyline {
    uint64_t *any, *all;
    uint32_t start, n; /* the first node, and how many */
} samba__skyline;

SAMBA__FN uint64_t samba__higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The highest address that is taken while one of the nodes first ... last runs. */
SAMBA__FN uint64_t samba__skyline_top(const samba__skyline *k, uint32_t first, uint32_t last)
{
    uint32_t low = first - k->start + k->n, high = last - k->start + k->n;
    uint64_t top = 0;
    for (uint32_t v = low / 2; v; v /= 2)
        top = samba__higher(top, k->all[v]);
    for (uint32_t v = high / 2; v; v /= 2)
        top = samba__higher(top, k->all[v]);
    for (; low <= high; low = (low + 1) / 2, high = (high - 1) / 2) {
        top = samba__higher(top, k->any[low]);
        top = samba__higher(top, k->any[high]);
    }
    return top;
}

/* Raises the skyline of these nodes to `end`, which is above all of it. */
SAMBA__FN void samba__skyline_raise(samba__skyline *k, uint32_t first, uint32_t last, uint64_t end)
{
    uint32_t low = first - k->start + k->n, high = last - k->start + k->n;
    for (uint32_t v = low / 2; v; v /= 2)
        k->any[v] = samba__higher(k->any[v], end);
    for (uint32_t v = high / 2; v; v /= 2)
        k->any[v] = samba__higher(k->any[v], end);
    for (; low <= high; low = (low + 1) / 2, high = (high - 1) / 2) {
        if (low & 1) k->any[low] = k->all[low] = end;
        if (!(high & 1)) k->any[high] = k->all[high] = end;
    }
}

/* Names the symbol that symbol i shares memory with. A linear search: it runs once, for the error.
 */
SAMBA__FN bool samba__fail_shared(const samba__pef *pef, uint32_t i, samba__text *why)
{
    samba__symbol b = samba__symbol_at(pef, i), a = b;
    for (uint32_t k = 0; k < i; k++) {
        a = samba__symbol_at(pef, k);
        if (a.region == b.region && !a.alias && a.first <= b.last && b.first <= a.last
            && a.offset + samba__symbol_bytes(pef, &a) > b.offset)
            break;
    }
    return samba__prove(why, false, "%s and %s share memory while both are alive",
                        pef->strings + a.name, pef->strings + b.name);
}

/* Adds symbol i to the skyline if it lives in the arena and in this range of nodes; false if memory
   that it needs is in use. */
SAMBA__FN bool samba__enter(const samba__pef *pef, samba__skyline *k, uint32_t i, samba__text *why)
{
    /* Each range of nodes looks at every symbol, and few concern it: these fields tell that without
       decoding the record. */
    const uint8_t *p = pef->symbols + (size_t)i * pef->symbol_size;
    uint32_t first = samba__get32(p + offsetof(samba__symbol_layout, first));
    uint32_t last = samba__get32(p + offsetof(samba__symbol_layout, last));
    uint32_t end = k->start + k->n - 1;
    if (first > end || last < k->start) return true;
    if (samba__get8(p + offsetof(samba__symbol_layout, region)) != SAMBA__REGION_ARENA) return true;
    if (samba__get32(p + offsetof(samba__symbol_layout, alias))) return true;
    samba__symbol s = samba__symbol_at(pef, i);
    first = first > k->start ? first : k->start;
    last = last < end ? last : end;
    uint64_t top = samba__skyline_top(k, first, last);
    bool fine = top <= s.offset;
    if (!fine && first == s.first) { /* may it take over from what ends there? */
        bool rest = first == last || samba__skyline_top(k, first + 1, last) <= s.offset;
        fine = rest && samba__skyline_top(k, first, first) == samba__end_below(pef, i, &s);
    }
    if (!fine) return samba__fail_shared(pef, i, why);
    samba__skyline_raise(k, first, last, s.offset + samba__symbol_bytes(pef, &s));
    return true;
}

/* No two symbols of the arena that are alive together share memory, except views and results that
   take over in place. Symbols come in the order of their addresses, so each has to lie above all
   that came before it. `room` limits how many nodes the skyline has at a time. */
SAMBA__FN bool samba__check_arena(const samba__pef *pef, uint64_t *room, uint32_t n_room,
                                  samba__text *why)
{
    samba__skyline k;
    uint32_t most = n_room / 4;
    for (k.start = 0; k.start < pef->n_nodes; k.start += k.n) {
        k.n = most < pef->n_nodes - k.start ? most : pef->n_nodes - k.start;
        k.any = room;
        k.all = room + 2 * (size_t)k.n;
        memset(room, 0, (size_t)k.n * 4 * sizeof *room);
        for (uint32_t i = 0; i < pef->n_symbols; i++)
            if (!samba__enter(pef, &k, i, why)) return false;
    }
    return true;
}

/* May symbol a come before b? */
SAMBA__FN bool samba__in_order(const samba__symbol *a, const samba__symbol *b)
{
    if (a->region != b->region) return a->region < b->region;
    if (a->offset != b->offset) return a->offset < b->offset;
    return a->first <= b->first;
}

/* Symbols are sorted, those outside the arena do not overlap, and each region ends with its last
   symbol. */
SAMBA__FN bool samba__check_order(const samba__pef *pef, samba__text *why)
{
    uint64_t end[SAMBA__N_REGIONS] = { 0, 0, 0, 0 };
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol before = samba__symbol_at(pef, i > 0 ? i - 1 : 0);
        samba__symbol b = samba__symbol_at(pef, i);
        bool passing = b.region == SAMBA__REGION_ARENA;
        bool sorted = samba__in_order(&before, &b);
        if (!samba__prove(why, sorted, "the symbols are not sorted")) return false;
        if (!passing && b.offset < end[b.region]) return samba__fail_shared(pef, i, why);
        end[b.region] = samba__higher(end[b.region], b.offset + samba__symbol_bytes(pef, &b));
    }
    for (int r = 0; r < SAMBA__N_REGIONS; r++)
        if (!samba__prove(why, pef->region[r] == samba__align_bytes(end[r]),
                          "region %d does not "
                          "end with its last symbol",
                          r))
            return false;
    return true;
}

/* Each temporary is made by the node with which its life begins. */
SAMBA__FN bool samba__check_made(const samba__pef *pef, samba__text *why)
{
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol s = samba__symbol_at(pef, i);
        if (s.region != SAMBA__REGION_ARENA) continue;
        if (!samba__prove(why, samba__is_made(pef, i, &s),
                          "%s is not made by node %d, with which "
                          "its life begins",
                          pef->strings + s.name, (int32_t)s.first))
            return false;
    }
    return true;
}

/* Proves all of it; the checksum of the data only if `data` is set. `room` is optional memory with
   which a large file is proved faster. */
SAMBA__FN bool samba__verify_pef(const samba__pef *pef, bool data, uint64_t *room, uint32_t n_room,
                                 samba__text *why)
{
    uint64_t own[4 * SAMBA__SKYLINE];
    bool enough = n_room >= 4 * SAMBA__SKYLINE;
    if (pef->version == 1 && !samba__check_tables_hash(pef, why)) return false;
    if (pef->version > 1 && data && !samba__check_data_hash(pef, why)) return false;
    return samba__check_symbols(pef, why) && samba__check_order(pef, why)
        && samba__check_sections(pef, why) && samba__check_names(pef, why)
        && samba__check_made(pef, why)
        && samba__check_arena(pef, enough ? room : own, enough ? n_room : 4 * SAMBA__SKYLINE, why);
}

#if !defined(SAMBA_RUNTIME_ONLY)
/* ---- The records, for tools ---- */
/* Finds the tables again: samba_pef keeps no pointers to them. Its file was proved. */
SAMBA__FN samba__pef samba__reopen(const samba_pef *file)
{
    samba__pef pef = SAMBA__ZEROED;
    samba__text nobody = samba__text_in(NULL, 0);
    samba__read_counts(&pef, file->bytes, file->size, &nobody);
    return pef;
}

/* Each record is sound, whatever the ops do with it. */
SAMBA__FN bool samba__check_records(const samba__pef *pef, samba__text *why)
{
    const uint32_t most = INT32_MAX;
    bool countable = pef->n_symbols < most && pef->n_nodes < most && pef->n_sections < most;
    if (!samba__prove(why, countable, "it has too many records")) return false;
    if (!samba__check_symbols(pef, why)) return false;
    for (uint32_t i = 0; i < pef->n_nodes; i++)
        if (!samba__check_words(pef, i, why)) return false;
    for (uint32_t i = 0; i < pef->n_sections; i++)
        if (!samba__prove(why, samba__is_in_order(pef, i), "section %d is out of order",
                          (int32_t)i))
            return false;
    return true;
}

SAMBA_API bool samba_pef_open(samba_pef *file, const void *bytes, size_t size, char *why,
                              size_t why_size)
{
    samba__pef pef = SAMBA__ZEROED;
    samba__text text = samba__text_in(why, why_size);
    if (!file) return samba__prove(&text, false, "in samba_pef_open: file is missing");
    memset(file, 0, sizeof *file);
    if (!samba__open_pef(&pef, bytes, size, &text) || !samba__check_records(&pef, &text))
        return false;
    file->version = (int32_t)pef.version;
    file->n_symbols = (int32_t)pef.n_symbols;
    file->n_nodes = (int32_t)pef.n_nodes;
    file->n_sections = (int32_t)pef.n_sections;
    file->microbatches = (int32_t)pef.microbatches;
    file->inference = (pef.flags & SAMBA__PEF_INFERENCE) != 0;
    file->state_bytes = pef.region[SAMBA__REGION_STATE];
    file->arena_bytes = pef.region[SAMBA__REGION_ARENA];
    file->io_bytes = pef.region[SAMBA__REGION_IO];
    file->readonly_bytes = pef.region[SAMBA__REGION_READONLY];
    file->trace = pef.trace;
    file->tables_size = (size_t)(pef.size - pef.data_size);
    file->bytes = bytes;
    file->size = size;
    return true;
}

SAMBA_API size_t samba_pef_tables_size(const void *header, size_t file_size)
{
    samba__text nobody = samba__text_in(NULL, 0);
    const uint8_t *p = (const uint8_t *)header;
    if (!samba__check_header(p, file_size, &nobody)) return 0; /* looks at the header alone */
    return file_size - (size_t)samba__read_header(p, SAMBA__PEF_OLDEST).data_size;
}

SAMBA_API samba_pef_symbol samba_pef_symbol_at(const samba_pef *file, int32_t i)
{
    samba_pef_symbol symbol = SAMBA__ZEROED;
    if (!file || i < 0 || i >= file->n_symbols) return symbol;
    samba__pef pef = samba__reopen(file);
    samba__symbol s = samba__symbol_at(&pef, (uint32_t)i);
    symbol.name = pef.strings + s.name;
    symbol.role = (samba_role)s.role;
    symbol.spec = s.spec;
    symbol.batch_dim = (int32_t)s.batch_dim - 1;
    symbol.view_of = (int32_t)s.alias - 1;
    symbol.gradient = (int32_t)s.grad - 1;
    symbol.holds_microbatches = s.per_microbatch != 0;
    symbol.generated = s.generated != 0;
    symbol.size = samba__symbol_bytes(&pef, &s);
    symbol.value = s.data ? pef.data + (s.data - 1) : NULL;
    symbol.region = (int32_t)s.region;
    symbol.offset = s.offset;
    return symbol;
}

/* ---- Attributes by name ---- */
/* The attributes of a call. An average to a given size has fewer than one over windows. */
SAMBA__FN const char *samba__attributes_of(const samba_op *op, int32_t n_attr)
{
    bool average = op == &samba__op_table[SAMBA__OP_avg_pool2d]
        || op == &samba__op_table[SAMBA__OP_avg_pool2d_backward];
    if (average && n_attr < SAMBA__AVG_SIZE) return SAMBA__ATTRIBUTES_AVG_TO(SAMBA__ATTRIBUTE_TEXT);
    return op->attributes ? op->attributes : "";
}

/* How many words the items of a list have that is not '*'. */
SAMBA__FN int32_t samba__counted_words(const char *list)
{
    int32_t n = 0;
    for (const char *p = list; *p; p++) {
        if (*p != ':' || !p[1] || p[2] == '*') continue;
        n += p[2] >= '2' && p[2] <= '9' ? p[2] - '0' : 1;
    }
    return n;
}

/* One item of a list of attributes, such as "keepdim:b" or "begin,end,step:i*", and its words. */
typedef struct samba__attribute {
    const char *names; /* with commas between them, if the item has several */
    int32_t length;    /* letters of names; 0: these words are not in the list */
    char kind;
    int32_t first, n; /* words */
    int32_t starred;  /* how many words an item with a '*' has */
    int32_t n_attr;   /* words of all items */
    const char *rest; /* of the list */
} samba__attribute;

SAMBA__FN samba__attribute samba__attributes_begin(const char *list, int32_t n_attr)
{
    samba__attribute a = SAMBA__ZEROED;
    a.rest = list;
    a.n_attr = n_attr;
    a.starred = n_attr - samba__counted_words(list);
    return a;
}

/* Goes on to the next item; false behind the last word. A call may have fewer words than the list,
   whose last items have none then, and more, which are an item without a name. */
SAMBA__FN bool samba__next_attribute(samba__attribute *a)
{
    a->first += a->n;
    int32_t left = a->n_attr - a->first;
    if (left <= 0) return false;
    const char *colon = strchr(a->rest, ':');
    if (!colon) {
        a->length = 0;
        a->kind = 'i';
        a->n = left;
        return true;
    }
    char amount = colon[1] ? colon[2] : 0;
    a->names = a->rest;
    a->length = (int32_t)(colon - a->rest);
    a->kind = colon[1];
    a->n = 1;
    if (amount == '*') a->n = a->starred > 0 ? a->starred : 0;
    if (amount >= '2' && amount <= '9') a->n = amount - '0';
    if (a->n > left) a->n = left;
    a->rest = colon + strcspn(colon, " ");
    if (*a->rest == ' ') a->rest++;
    return true;
}

/* Which of the names of an item this is; -1: none. n_names gets how many it has. */
SAMBA__FN int32_t samba__attribute_place(const samba__attribute *a, const char *name,
                                         int32_t *n_names)
{
    int32_t place = -1, begin = 0;
    *n_names = 0;
    for (int32_t end = 0; end <= a->length && a->length; end++) {
        if (end < a->length && a->names[end] != ',') continue;
        size_t letters = (size_t)(end - begin);
        if (strlen(name) == letters && !memcmp(a->names + begin, name, letters)) place = *n_names;
        *n_names += 1;
        begin = end + 1;
    }
    return place;
}

SAMBA_API int32_t samba_pef_attr(const samba_pef_node *node, const char *name, int32_t *words,
                                 int32_t cap)
{
    if (!node || !name || !node->attributes) return 0;
    samba__attribute a = samba__attributes_begin(node->attributes, node->n_attr);
    while (samba__next_attribute(&a)) {
        int32_t n_names, place = samba__attribute_place(&a, name, &n_names);
        if (place < 0) continue;
        int32_t n = a.n / n_names;
        for (int32_t i = 0; words && i < n && i < cap; i++)
            words[i] = node->attr[a.first + i * n_names + place];
        return n;
    }
    return 0;
}

SAMBA_API samba_pef_node samba_pef_node_at(const samba_pef *file, int32_t i)
{
    samba_pef_node node = SAMBA__ZEROED;
    if (!file || i < 0 || i >= file->n_nodes) return node;
    samba__pef pef = samba__reopen(file);
    samba__call_record r = samba__node_at(&pef, (uint32_t)i);
    int32_t word = 0;
    node.name = pef.strings + r.name;
    node.op = r.op ? r.op->name : NULL;
    node.attributes = r.op ? samba__attributes_of(r.op, r.n_attr) : NULL;
    node.wire = (int32_t)r.wire;
    node.n_in = r.n_in;
    node.n_out = r.n_out;
    node.n_attr = r.n_attr;
    for (int32_t k = 0; k < node.n_in; k++)
        node.in[k] = (int32_t)samba__word(&r, word++) - 1;
    for (int32_t k = 0; k < node.n_out; k++)
        node.out[k] = (int32_t)samba__word(&r, word++) - 1;
    for (int32_t k = 0; k < node.n_attr; k++)
        node.attr[k] = (int32_t)samba__word(&r, word++);
    return node;
}

SAMBA_API samba_pef_section samba_pef_section_at(const samba_pef *file, int32_t i)
{
    samba_pef_section section = SAMBA__ZEROED;
    if (!file || i < 0 || i >= file->n_sections) return section;
    samba__pef pef = samba__reopen(file);
    samba__section s = samba__section_at(&pef, (uint32_t)i);
    section.type = s.type;
    section.first = (int32_t)s.first;
    section.n = (int32_t)s.n;
    section.graph = s.graph ? pef.strings + s.graph - 1 : NULL;
    return section;
}
#endif

/* ==== [check-finite] ========================================================================== */
/* samba_desc.check_finite: the thread that makes values checks them while they are in its cache.
   What was found there lets [execute] name the op that made the first value that is not finite. */

/* A call of an op that is about to run. */
typedef struct samba__task {
    const samba_op *op;
    const samba_work *work;
    samba_args args;
    struct samba__findings *found; /* NULL: values are not checked */
} samba__task;

enum { SAMBA__NAN_IN = 1, SAMBA__INF_IN = 2 };
#if !defined(SAMBA_RUNTIME_ONLY)
#define SAMBA__NOWHERE INT64_MAX
#if defined(__GNUC__)
typedef int64_t samba__lowest __attribute__((aligned(8))); /* so that 32 bits have it atomic */
#else
typedef int64_t samba__lowest;
#endif
/* What is found in the outputs of an op at work. All of it but `overwritten` is atomic. */
typedef struct samba__findings {
    /* of each output the lowest element that is NaN, infinity, minus infinity */
    samba__lowest first[SAMBA_MAX_OUT][3];
    int32_t overwritten; /* the input that output 0 overwrites, or -1 */
    int32_t least, most; /* of its elements but NaN, as samba__rank */
} samba__findings;

#if defined(SAMBA_NO_THREADS)
SAMBA__FN void samba__atomic_min64(samba__lowest *least, int64_t x)
{
    *least = samba__min64(*least, x);
}

SAMBA__FN void samba__atomic_min32(int32_t *least, int32_t x)
{
    *least = x < *least ? x : *least;
}
#else
SAMBA__FN void samba__atomic_min64(samba__lowest *least, int64_t x)
{
    int64_t old = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (x < old
           && !__atomic_compare_exchange_n(least, &old, x, false, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED)) {
    }
}

SAMBA__FN void samba__atomic_min32(int32_t *least, int32_t x)
{
    int32_t old = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (x < old
           && !__atomic_compare_exchange_n(least, &old, x, false, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED)) {
    }
}
#endif

/* Floats in their order as integers, -NaN first and NaN last. Its own inverse. */
SAMBA__INLINE int32_t samba__rank(uint32_t bits)
{
    return (int32_t)(bits ^ (bits >> 31 ? 0x7fffffffu : 0u));
}

SAMBA__FN float samba__ranked(int32_t rank)
{
    uint32_t bits = (uint32_t)rank;
    return samba__bits_float((uint32_t)samba__rank(bits));
}

/* Is one of n elements not finite? Their exponent bits are then all ones, or more with a fraction.
   Maxima of integers are vectorized as they stand. */
SAMBA__KERNEL bool samba__has_nonfinite(const void *x, int64_t n, samba_dtype type)
{
    if (type != SAMBA_F32) {
        const uint16_t *h = (const uint16_t *)x;
        uint16_t most = 0;
        for (int64_t i = 0; i < n; i++) {
            uint16_t a = (uint16_t)(h[i] & 0x7fffu);
            most = a > most ? a : most;
        }
        return most >= (type == SAMBA_BF16 ? 0x7f80u : 0x7c00u);
    }
    const uint32_t *f = (const uint32_t *)x;
    uint32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t a = f[i] & 0x7fffffffu;
        most = a > most ? a : most;
    }
    return most >= 0x7f800000u;
}

/* Widens span to the least and the largest samba__rank of x (n). */
SAMBA__KERNEL void samba__extremes(const uint32_t *x, int64_t n, int32_t span[2])
{
    int32_t least = span[0], most = span[1];
    for (int64_t i = 0; i < n; i++) {
        int32_t rank = samba__rank(x[i]);
        least = rank < least ? rank : least;
        most = rank > most ? rank : most;
    }
    span[0] = least;
    span[1] = most;
}
#if SAMBA__X86
SAMBA__AVX2_FN SAMBA__FN bool samba__has_nonfinite_avx2(const void *x, int64_t n, samba_dtype type)
{
    return samba__has_nonfinite(x, n, type);
}

SAMBA__AVX2_FN SAMBA__FN void samba__extremes_avx2(const uint32_t *x, int64_t n, int32_t span[2])
{
    samba__extremes(x, n, span);
}
#endif
SAMBA__VECTORIZED SAMBA__FN bool samba__has_nonfinite_here(const void *x, int64_t n,
                                                           samba_dtype type, int32_t isa)
{
#if SAMBA__X86
    if (isa != SAMBA__ISA_PORTABLE) return samba__has_nonfinite_avx2(x, n, type);
#endif
    (void)isa;
    return samba__has_nonfinite(x, n, type);
}

SAMBA__VECTORIZED SAMBA__FN void samba__extremes_here(const uint32_t *x, int64_t n, int32_t isa,
                                                      int32_t span[2])
{
#if SAMBA__X86
    if (isa != SAMBA__ISA_PORTABLE) {
        samba__extremes_avx2(x, n, span);
        return;
    }
#endif
    (void)isa;
    samba__extremes(x, n, span);
}

/* Notes which of n elements, the first of which is number `at`, are not finite. */
SAMBA__NOINLINE void samba__note_nonfinite(samba__lowest first[3], const uint8_t *x, int64_t at,
                                           int64_t n, samba_dtype type)
{
    bool seen[3] = { false, false, false };
    for (int64_t i = 0; i < n; i++) {
        float value;
        samba__load(&value, x + (size_t)i * samba_dtype_size(type), type, 1);
        if (value - value == 0.0f) continue;
        int which = 0;
        if (value == value) which = value > 0.0f ? 1 : 2;
        if (!seen[which]) samba__atomic_min64(&first[which], at + i);
        seen[which] = true;
    }
}

SAMBA__FN void samba__check_elements(const samba__task *t, int32_t o, int64_t begin, int64_t end)
{
    samba_dtype type = t->args.out_spec[o].dtype;
    if (!t->args.out[o] || !samba__is_float(type) || begin >= end) return;
    const uint8_t *x = (const uint8_t *)t->args.out[o] + (size_t)begin * samba_dtype_size(type);
    if (samba__has_nonfinite_here(x, end - begin, type, t->args.isa))
        samba__note_nonfinite(t->found->first[o], x, begin, end - begin, type);
}

/* Is it an update of which a unit makes one element of every output? Its samba_work.part is 0, but
   it may be run, and checked, in parts. */
SAMBA__FN bool samba__is_flat(const samba__task *t)
{
    return samba__class_of(t->op) == SAMBA__IS_STEP;
}

/* Is output o checked part by part, or is it complete only when the op is? */
SAMBA__FN bool samba__has_parts(const samba__task *t, int32_t o)
{
    const samba_spec *spec = t->args.out_spec;
    if (samba__is_flat(t)) return samba_count(&spec[o].shape) == samba_count(&spec[0].shape);
    return t->work->part != 0 && o == 0;
}

/* Checks `rows` ranges of elements that were just made. The first one is [begin,end). */
SAMBA__FN void samba__check_part(const samba__task *t, int64_t begin, int64_t end, int64_t rows,
                                 int64_t pitch)
{
    for (int32_t o = 0; o < t->args.n_out; o++) {
        if (!samba__has_parts(t, o)) continue;
        for (int64_t r = 0; r < rows; r++)
            samba__check_elements(t, o, begin + r * pitch, end + r * pitch);
    }
}

/* Notes the range of the same elements of an input that is about to be overwritten in place. NaN
   has ranks beyond those of the infinities: where there is one, it is left out, slowly. */
SAMBA__FN void samba__note_overwritten(const samba__task *t, int64_t begin, int64_t end,
                                       int64_t rows, int64_t pitch)
{
    const int32_t low = samba__rank(0xff800000u), high = samba__rank(0x7f800000u);
    if (t->found->overwritten < 0) return;
    for (int64_t r = 0; r < rows; r++) {
        const float *x = t->args.in[t->found->overwritten] + begin + r * pitch;
        const uint32_t *bits = (const uint32_t *)(const void *)x;
        int32_t span[2] = { INT32_MAX, INT32_MIN };
        samba__extremes_here(bits, end - begin, t->args.isa, span);
        if (span[0] < low || span[1] > high) {
            span[0] = INT32_MAX;
            span[1] = INT32_MIN;
            for (int64_t i = 0; i < end - begin; i++)
                if (x[i] == x[i]) samba__extremes(bits + i, 1, span);
        }
        samba__atomic_min32(&t->found->least, span[0]);
        samba__atomic_min32(&t->found->most, -1 - span[1]); /* upside down: the order of ~rank */
    }
}

/* An output that is checked as a whole. */
typedef struct samba__rest {
    const samba__task *task;
    int32_t out;
} samba__rest;

SAMBA__FN void samba__check_job(void *context, int64_t begin, int64_t end, int32_t thread)
{
    const samba__rest *rest = (const samba__rest *)context;
    (void)thread;
    samba__check_elements(rest->task, rest->out, begin, end);
}

/* Checks the outputs that were not checked part by part. */
SAMBA__FN void samba__check_rest(const samba__task *t, samba__pool *pool)
{
    for (int32_t o = 0; o < t->args.n_out; o++) {
        samba__rest rest = { t, o };
        /* Attention notes for its gradient that a row has nothing to attend: -inf. */
        bool note = o > 0 && samba__is(t->op, SAMBA__OP_scaled_dot_product_attention);
        if (note || samba__has_parts(t, o)) continue;
        samba__pool_run(pool, samba__check_job, &rest, samba_count(&t->args.out_spec[o].shape),
                        1 << 16);
    }
}

SAMBA__FN void samba__begin_findings(samba__findings *f, const samba_args *a, int64_t part)
{
    for (int32_t o = 0; o < SAMBA_MAX_OUT; o++)
        for (int32_t k = 0; k < 3; k++)
            f->first[o][k] = SAMBA__NOWHERE;
    f->least = f->most = INT32_MAX;
    f->overwritten = -1;
    if (part <= 0) return;
    for (int32_t k = 0; k < a->n_in; k++) {
        bool as_large = samba_count(&a->in_spec[k].shape) == samba_count(&a->out_spec[0].shape);
        bool overwritten = a->in[k] == a->out[0] && a->in_spec[k].dtype == SAMBA_F32 && as_large;
        if (overwritten) f->overwritten = k;
    }
}
#else /* a device does not check */
SAMBA__FN bool samba__is_flat(const samba__task *t)
{
    (void)t;
    return false;
}

SAMBA__FN void samba__check_part(const samba__task *t, int64_t begin, int64_t end, int64_t rows,
                                 int64_t pitch)
{
    (void)t;
    (void)begin;
    (void)end;
    (void)rows;
    (void)pitch;
}

SAMBA__FN void samba__note_overwritten(const samba__task *t, int64_t begin, int64_t end,
                                       int64_t rows, int64_t pitch)
{
    (void)t;
    (void)begin;
    (void)end;
    (void)rows;
    (void)pitch;
}

SAMBA__FN void samba__check_rest(const samba__task *t, samba__pool *pool)
{
    (void)t;
    (void)pool;
}
#endif

/* ==== [fused-groups] ========================================================================== */
/* Runs ops: one by itself, or several on a part of their elements at a time. */

#define SAMBA__GRAIN_FLOPS 16384 /* about 5 microseconds: worth a thread from here on */

/* Clears the upper halves of the vector registers after 256-bit code: SSE code that follows would
   be slow. Compilers insert vzeroupper themselves, but miss a rare return. */
#if SAMBA__X86
SAMBA__AVX2 SAMBA__FN void samba__leave_avx(void)
{
    _mm256_zeroupper();
}
#else
SAMBA__FN void samba__leave_avx(void)
{
}
#endif

/* A fused group: tasks that run one after another on a part of their elements, before any of them
   goes on to the next part. So a consumer reads what its producer has just left in the cache. That
   is right where each task reads, of what the others make, only the elements with the numbers of
   those it makes itself. Elementwise ops and ops from whole rows to whole rows are fused with each
   other; elementwise ops are also the epilogue of a product and run on each tile that is complete.
   Results do not change. A PEF does not say what is fused: [layout] decides when it is loaded. */
typedef struct samba__group {
    samba__task *task;
    int32_t n;
    int64_t part;  /* elements of output 0 that a unit makes, as samba_work.part */
    int64_t count; /* elements of each task's output 0 */
    float *local;
} samba__group;

enum {
    SAMBA__GROUP_TASKS = SAMBA__IS_SMALL ? 1 : 8, /* at most */
    SAMBA__PART = 8192                            /* elements that a task makes at a time */
};

SAMBA__FN void samba__run_kernel(const samba_op *op, const samba_args *a)
{
    bool wide = a->isa != SAMBA__ISA_PORTABLE;
    if (a->isa == SAMBA__ISA_AVX512 && op->wide[1])
        op->wide[1](a);
    else if (wide && op->wide[0])
        op->wide[0](a);
    else
        op->kernel(a);
    if (wide) samba__leave_avx(); /* a portable kernel may have called a product */
}

/* Computes elements [begin,end) with all tasks but the first `from`. They are the first of `rows`
   ranges, whose beginnings are `pitch` elements apart. */
SAMBA__FN void samba__run_part(const samba__group *c, int32_t from, int64_t begin, int64_t end,
                               int64_t rows, int64_t pitch, float *local)
{
    for (int32_t k = from; k < c->n; k++) {
        samba_args a = c->task[k].args;
        int64_t part = samba__max64(1, c->task[k].work->part);
        a.begin = begin / part;
        a.end = samba__ceil_div(end, part);
        a.rows = rows;
        a.pitch = pitch;
        a.local = local;
        if (c->task[k].found) samba__note_overwritten(&c->task[k], begin, end, rows, pitch);
        samba__run_kernel(c->task[k].op, &a);
        if (c->task[k].found) samba__check_part(&c->task[k], begin, end, rows, pitch);
    }
}

/* Runs the fused consumers of a product on a tile y that is complete, while it is in the cache. */
SAMBA__FN void samba__run_epilogue(const samba_args *a, const float *y, int64_t rows, int64_t cols,
                                   int64_t pitch)
{
    const samba__group *c = (const samba__group *)a->group;
    int64_t at = y - a->out[0];
    if (c->task->found) samba__check_part(c->task, at, at + cols, rows, pitch);
    samba__run_part(c, 1, at, at + cols, rows, pitch, a->local);
}

/* Units [begin,end) of a group, for one thread of the pool. */
SAMBA__FN void samba__run_units(void *context, int64_t begin, int64_t end, int32_t thread)
{
    SAMBA_ASSERT(begin < end && thread >= 0);
    const samba__group *c = (const samba__group *)context;
    float *local = c->local + (size_t)thread * (SAMBA_LOCAL_BYTES / sizeof(float));
    bool checked = c->task->found && c->task->args.phase == 0;
    int64_t part = checked && samba__is_flat(c->task) ? 1 : c->part;
    bool by_parts = (c->n > 1 || checked) && part > 0;
    if (by_parts) {
        int64_t step = samba__max64(1, SAMBA__PART / part);
        for (int64_t at = begin; at < end; at += step) {
            int64_t next = samba__min64(at + step, end);
            samba__run_part(c, 0, at * part, samba__min64(next * part, c->count), 1, 0, local);
        }
        return;
    }
    samba_args a = c->task->args;
    a.begin = begin;
    a.end = end;
    a.local = local;
    samba__run_kernel(c->task->op, &a);
}

/* How many units a worker takes at a time: enough to be worth waking a thread, few enough to share
   the work evenly. Results do not depend on it. */
SAMBA__FN int64_t samba__grain_of(int64_t flops, int64_t units)
{
    int64_t per_unit = flops / samba__max64(1, units);
    return samba__max64(1, samba__ceil_div(SAMBA__GRAIN_FLOPS, samba__max64(1, per_unit)));
}

/* Phase 0 of all tasks. */
SAMBA__FN void samba__run_first_phase(samba__group *c, samba__pool *pool)
{
    int64_t flops = 0, units = c->task->work->units[0];
    for (int32_t k = 0; k < c->n; k++)
        flops += c->task[k].work->flops;
    bool fused = c->n > 1;
    if (fused && c->part > 0) units = samba__ceil_div(c->count, c->part);
    if ((fused || c->task->found) && c->part < 0) c->task->args.epilogue = samba__run_epilogue;
    c->task->args.group = c;
    SAMBA_ASSERT(!fused || c->part != 0); /* ops of a group share parts */
    int64_t grain = samba__grain_of(flops, units);
    if (c->task->work->part < 0) grain = samba__max64(grain, samba__tiles_at_once(units, pool));
    samba__pool_run(pool, samba__run_units, c, units, grain);
}

/* The phases of one task after its first: they read what all units of the phase before made. */
SAMBA__FN void samba__run_later_phases(const samba__group *c, samba__task *t, samba__pool *pool)
{
    const int32_t *fault = &t->args.fault[SAMBA__FAULT_SET];
    samba__group alone = *c;
    alone.task = t;
    alone.n = 1;
    for (int32_t phase = 1; phase < t->work->n_phases && !*fault; phase++) {
        int64_t units = t->work->units[phase];
        t->args.phase = phase;
        samba__pool_run(pool, samba__run_units, &alone, units,
                        samba__grain_of(t->work->flops, units));
    }
}

/* Runs a fused group, or a single op: nodes of a PEF and eager calls alike. False: a fault. */
SAMBA__FN bool samba__run_group(samba__group *c, samba__pool *pool)
{
    const int32_t *fault = &c->task->args.fault[SAMBA__FAULT_SET];
    SAMBA_ASSERT(c->n >= 1 && c->n <= SAMBA__GROUP_TASKS && !*fault);
    samba__run_first_phase(c, pool);
    for (int32_t k = 0; k < c->n; k++) {
        samba__run_later_phases(c, &c->task[k], pool);
        if (c->task[k].found && !*fault) samba__check_rest(&c->task[k], pool);
    }
    return !*fault;
}

/* Runs one op by itself. */
SAMBA__FN bool samba__run_op(const samba_op *op, const samba_args *a, const samba_work *w,
                             samba__pool *pool, float *local)
{
    samba__task t;
    samba__group c;
    t.op = op;
    t.work = w;
    t.args = *a;
    t.found = NULL;
    c.task = &t;
    c.n = 1;
    c.part = c.count = 0;
    c.local = local;
    return samba__run_group(&c, pool);
}

/* ==== [layout] ================================================================================ */
/* Lays a PEF that was proved out in memory, and prepares its nodes: what each needs of threads and
   scratch, and which are fused. From here on nothing is allocated. */

/* What the executor keeps of a node. */
typedef struct samba__step {
    const samba_op *op;
    samba_work work;
    bool view;           /* output and input are the same memory: nothing to do */
    uint8_t made;        /* SAMBA__NAN_IN, SAMBA__INF_IN: found in its outputs */
    bool has_run;        /* its section has: what it makes has values */
    uint32_t group;      /* how many nodes run together, this one first */
    int64_t part, count; /* of the fused group */
} samba__step;

struct samba_runtime {
    samba__pef pef;
    void **data;        /* of each symbol */
    samba__step *steps; /* of each node */
    samba__pool *pool;  /* NULL: one thread */
    float *local;       /* SAMBA_LOCAL_BYTES for each thread */
    int32_t isa;
    bool inference, train, running_stats;
    uint32_t types;                /* of all sections */
    uint32_t graph;                /* that runs now: its name as sections have it; 0: all */
    uint32_t norm_first, norm_end; /* from the first section of GRADNORM to after the last */
    uint32_t norm_next;            /* those before it have run since the gradients changed */
    uint32_t microbatch, fault_node;
    int32_t fault[SAMBA__FAULT_WORDS]; /* SET is NONFINITE: see culprit */
    struct samba_culprit *culprit;     /* NULL: values are not checked */
    void (*on_event)(const char *name, int32_t section, bool begins, void *user);
    void *event_user;
};

SAMBA__FN void samba__forget_norm(samba_runtime *rt)
{
    rt->norm_next = rt->norm_first;
}

SAMBA__FN void samba__find_norm(samba_runtime *rt)
{
    for (uint32_t i = 0; i < rt->pef.n_sections; i++) {
        rt->types |= samba__section_at(&rt->pef, i).type;
        if (samba__section_at(&rt->pef, i).type != SAMBA_GRADNORM) continue;
        if (rt->norm_end == 0) rt->norm_first = i;
        rt->norm_end = i + 1;
    }
    samba__forget_norm(rt);
}

SAMBA__FN bool samba__is_little_endian(void)
{
    const uint32_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* n elements of the file, which is little-endian, to or from memory. */
SAMBA__FN void samba__copy_data(void *to, const void *from, uint64_t bytes, size_t size)
{
    uint8_t *y = (uint8_t *)to;
    const uint8_t *x = (const uint8_t *)from;
    if (size == 1 || samba__is_little_endian()) {
        memcpy(y, x, (size_t)bytes);
        return;
    }
    for (uint64_t i = 0; i < bytes; i++)
        y[i] = x[i ^ (size - 1)];
}

/* Can read-only parameters stay where they are in the file? */
SAMBA__FN bool samba__in_file(const samba__pef *pef)
{
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol s = samba__symbol_at(pef, i);
        if (s.region == SAMBA__REGION_READONLY && !s.data && !s.alias) return false;
    }
    return samba__is_little_endian() && ((uintptr_t)pef->data & 3u) == 0;
}

/* Where the parts of a runtime lie behind its struct, which is the first. A size that does not fit
   size_t is SAMBA__NO_SIZE. */
typedef struct samba__layout {
    size_t data, steps, local, regions;
    size_t size; /* of all, with room to align the beginning */
} samba__layout;

SAMBA__FN samba__layout samba__layout_of(const samba__pef *pef, int32_t n_threads, bool in_file)
{
    samba__layout at;
    size_t data_bytes = samba__align_size((size_t)pef->n_symbols * sizeof(void *));
    size_t steps_bytes = samba__align_size((size_t)pef->n_nodes * sizeof(samba__step));
    at.data = samba__align_size(sizeof(samba_runtime));
    at.steps = samba__add_size(at.data, data_bytes);
    at.local = samba__add_size(at.steps, steps_bytes);
    at.regions = samba__add_size(at.local, (size_t)n_threads * SAMBA_LOCAL_BYTES);
    at.size = at.regions;
    for (int r = 0; r < SAMBA__N_REGIONS; r++) {
        if (r == SAMBA__REGION_READONLY && in_file) continue;
        uint64_t bytes = pef->region[r];
        at.size = samba__add_size(at.size, bytes > SAMBA__NO_SIZE ? SAMBA__NO_SIZE : (size_t)bytes);
    }
    at.size = samba__add_size(at.size, SAMBA__ALIGN); /* memory may begin anywhere */
    return at;
}

SAMBA__FN void samba__zero_job(void *context, int64_t begin, int64_t end, int32_t thread)
{
    (void)thread;
    memset((uint8_t *)context + begin, 0, (size_t)(end - begin));
}

/* Points each symbol at its place and fills in the data the file has, or zeros. Threads share the
   first writes to the state: it is then that the system clears pages, which takes longer. */
SAMBA__FN void samba__place_symbols(samba_runtime *rt, uint8_t *regions, bool in_file)
{
    uint8_t *base[SAMBA__N_REGIONS];
    size_t at = 0;
    for (int r = 0; r < SAMBA__N_REGIONS; r++) {
        base[r] = regions + at;
        if (r != SAMBA__REGION_READONLY || !in_file) at += (size_t)rt->pef.region[r];
    }
    samba__pool_run(rt->pool, samba__zero_job, base[SAMBA__REGION_STATE],
                    (int64_t)rt->pef.region[SAMBA__REGION_STATE], 1 << 20);
    for (uint32_t i = 0; i < rt->pef.n_symbols; i++) {
        samba__symbol s = samba__symbol_at(&rt->pef, i),
                      home = s.alias ? samba__symbol_at(&rt->pef, s.alias - 1) : s;
        const uint8_t *stored = home.data ? rt->pef.data + (home.data - 1) : NULL;
        if (s.region == SAMBA__REGION_READONLY && in_file) {
            /* nodes never write here: the verifier proved it */
            uintptr_t constant = (uintptr_t)stored;
            rt->data[i] = (void *)constant;
            continue;
        }
        rt->data[i] = base[s.region] + s.offset;
        uint64_t bytes = samba__symbol_bytes(&rt->pef, &s);
        SAMBA_ASSERT(s.offset + bytes <= rt->pef.region[s.region]);
        SAMBA_ASSERT(!stored || home.data - 1 + bytes <= rt->pef.data_size);
        if (s.alias || s.region == SAMBA__REGION_ARENA) continue;
        if (stored)
            samba__copy_data(rt->data[i], stored, bytes, samba_dtype_size(s.spec.dtype));
        else if (s.region != SAMBA__REGION_STATE)
            memset(rt->data[i], 0, (size_t)bytes);
    }
}

/* What a node reads or writes. */
typedef struct samba__operand {
    const uint8_t *begin, *end;
    size_t size; /* of an element, if parts are read or made of it; else 0 */
    bool written;
} samba__operand;

/* Operand k of node i: inputs, outputs, scratch. */
SAMBA__FN samba__operand samba__operand_at(const samba_runtime *rt, uint32_t i, int32_t k,
                                           int64_t count)
{
    samba__operand o = { NULL, NULL, 0, false };
    samba__call_record r = samba__record_at(&rt->pef, i);
    uint32_t word = k < r.n_in + r.n_out ? samba__word(&r, k) : r.scratch;
    if (!word) return o;
    samba__symbol s = samba__symbol_at(&rt->pef, word - 1);
    bool parts = k == r.n_in || (k < r.n_in && rt->steps[i].work.part > 0);
    o.begin = (const uint8_t *)rt->data[word - 1];
    o.end = o.begin + samba__symbol_bytes(&rt->pef, &s);
    if (parts && !s.per_microbatch && samba_count(&s.spec.shape) == count)
        o.size = samba_dtype_size(s.spec.dtype);
    o.written = k >= r.n_in;
    return o;
}

SAMBA__FN samba__operand samba__output_at(const samba_runtime *rt, uint32_t i, int64_t count)
{
    return samba__operand_at(rt, i, samba__record_at(&rt->pef, i).n_in, count);
}

/* Two nodes may be fused if for each pair of their operands of which at least one is written: they
   are the same memory, walked element by element, or do not overlap. */
SAMBA__FN bool samba__share_safely(const samba_runtime *rt, uint32_t i, uint32_t j, int64_t count)
{
    samba__call_record a = samba__record_at(&rt->pef, i), b = samba__record_at(&rt->pef, j);
    for (int32_t k = 0; k <= a.n_in + a.n_out; k++) {
        samba__operand x = samba__operand_at(rt, i, k, count);
        for (int32_t l = 0; l <= b.n_in + b.n_out; l++) {
            samba__operand y = samba__operand_at(rt, j, l, count);
            bool apart = x.end <= y.begin || y.end <= x.begin || !(x.written || y.written);
            bool same = x.begin == y.begin && x.size == y.size && x.size > 0;
            if (!apart && !same) return false;
        }
    }
    return true;
}

/* Can node i join the fused group of the nodes from `first` on? The epilogue of a product must work
   in its place: the rows of a tile are far apart, and a second output beside them would drive the
   operands of the product from the cache. */
SAMBA__FN bool samba__can_fuse(samba_runtime *rt, uint32_t first, uint32_t i)
{
    samba__step *head = &rt->steps[first];
    int64_t part = rt->steps[i].work.part, whole = samba__max64(part, head->part);
    if (rt->steps[i].view) return true;
    if (part < 1 || head->part == 0 || whole % part || whole % head->part) return false;
    samba__operand x = samba__output_at(rt, first, head->count);
    samba__operand y = samba__output_at(rt, i, head->count);
    bool behind = head->part > 0 || (part == 1 && y.begin == x.begin);
    if (!behind || !y.size) return false;
    for (uint32_t j = first; j < i; j++)
        if (!rt->steps[j].view && !samba__share_safely(rt, j, i, head->count)) return false;
    if (head->part > 0) head->part = whole;
    return true;
}

/* Fuses the nodes of a section that follow each other. */
SAMBA__FN void samba__find_groups(samba_runtime *rt, const samba__section *q)
{
    SAMBA_ASSERT(q->first < q->end && q->end <= rt->pef.n_nodes);
    for (uint32_t i = q->first; i < q->end; i += rt->steps[i].group) {
        SAMBA_ASSERT(i < q->end);
        samba__step *head = &rt->steps[i];
        samba__call_record r = samba__record_at(&rt->pef, i);
        samba__symbol y = samba__symbol_at(&rt->pef, samba__word(&r, r.n_in) - 1);
        head->part = head->work.part;
        head->count = samba_count(&y.spec.shape);
        head->group = 1;
        while (!head->view && head->group < SAMBA__GROUP_TASKS && i + head->group < q->end
               && samba__can_fuse(rt, i, i + head->group))
            head->group++;
    }
}

SAMBA__FN void samba__prepare_steps(samba_runtime *rt)
{
    for (uint32_t i = 0; i < rt->pef.n_nodes; i++) {
        samba__call_record r = samba__node_at(&rt->pef, i);
        samba__step *step = &rt->steps[i];
        samba__decoded d;
        samba__decode_call(&rt->pef, &r, &d);
        samba__infer(r.op, &d.call);
        step->op = r.op;
        step->has_run = false;
        samba__measure(r.op, &d.call, &step->work);
        step->view = (r.op->flags & SAMBA_OP_VIEW)
            && samba__symbol_at(&rt->pef, samba__word(&r, 1) - 1).alias
            && rt->data[samba__word(&r, 0) - 1] == rt->data[samba__word(&r, 1) - 1];
    }
    for (uint32_t i = 0; i < rt->pef.n_sections; i++) {
        samba__section q = samba__section_at(&rt->pef, i);
        samba__find_groups(rt, &q);
    }
}

/* Lays a verified PEF out in memory of samba__layout_of().size bytes. The threads may be NULL. */
SAMBA__FN samba_runtime *samba__runtime_layout(const samba__pef *pef, void *memory,
                                               samba__pool *pool, int32_t n_threads, bool in_file)
{
    uintptr_t start = ((uintptr_t)memory + SAMBA__ALIGN - 1) & ~(uintptr_t)(SAMBA__ALIGN - 1);
    uint8_t *base = (uint8_t *)memory + (start - (uintptr_t)memory);
    samba__layout at = samba__layout_of(pef, n_threads, in_file);
    samba_runtime *rt = (samba_runtime *)(void *)base;
    memset(rt, 0, sizeof *rt);
    rt->pef = *pef;
    rt->pool = pool;
    rt->data = (void **)(void *)(base + at.data);
    rt->steps = (samba__step *)(void *)(base + at.steps);
    rt->local = (float *)(void *)(base + at.local);
    rt->isa = samba__best_isa();
    rt->inference = (pef->flags & SAMBA__PEF_INFERENCE) != 0;
    rt->train = !rt->inference;
    rt->running_stats = rt->inference;
    samba__find_norm(rt);
    samba__place_symbols(rt, base + at.regions, in_file);
    samba__prepare_steps(rt);
    return rt;
}

/* The name of a parameter of which the file has no value; NULL: it has them all. */
SAMBA__FN const char *samba__missing_value(const samba__pef *pef)
{
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol s = samba__symbol_at(pef, i);
        if (s.role == SAMBA__WEIGHT && !s.data) return pef->strings + s.name;
    }
    return NULL;
}

SAMBA_API size_t samba_runtime_bytes(const void *bytes, size_t size, char *why, size_t why_size)
{
    samba__pef pef = SAMBA__ZEROED;
    samba__text text = samba__text_in(why, why_size);
    if (!samba__open_pef(&pef, bytes, size, &text)
        || !samba__verify_pef(&pef, true, NULL, 0, &text))
        return 0;
    return samba__layout_of(&pef, 1, samba__in_file(&pef)).size;
}

SAMBA_API samba_runtime *samba_runtime_open(const void *bytes, size_t size, void *memory,
                                            size_t memory_size, char *why, size_t why_size)
{
    samba__pef pef = SAMBA__ZEROED;
    samba__text text = samba__text_in(why, why_size);
    const char *wrong = samba__wrong_arithmetic();
    if (wrong) {
        samba__put_text(&text, wrong);
        return NULL;
    }
    if (!samba__open_pef(&pef, bytes, size, &text)
        || !samba__verify_pef(&pef, true, NULL, 0, &text))
        return NULL;
    const char *missing = samba__missing_value(&pef);
    if (!samba__prove(&text, !missing,
                      "there is no value of parameter %s: the PEF was compiled, "
                      "but not saved; load it, restore its checkpoint, and open what samba_save "
                      "writes then",
                      missing))
        return NULL;
    bool in_file = samba__in_file(&pef);
    size_t needed = samba__layout_of(&pef, 1, in_file).size;
    if (!memory || memory_size < needed) {
        samba__format(&text, "%l bytes of memory are needed, %l were given", (int64_t)needed,
                      (int64_t)memory_size);
        return NULL;
    }
    return samba__runtime_layout(&pef, memory, NULL, 1, in_file);
}

/* ==== [execute] =============================================================================== */
/* Runs the nodes of sections, and sections in the order of the schedule. */

/* Opens node i as a task; its arguments point into d. */
SAMBA__FN void samba__open_task(samba_runtime *rt, uint32_t i, samba__task *t, samba__decoded *d)
{
    samba__call_record r = samba__record_at(&rt->pef, i);
    samba_args *a = &t->args;
    memset(a, 0, sizeof *a);
    t->op = rt->steps[i].op;
    t->work = &rt->steps[i].work;
    t->found = NULL;
    samba__decode_call(&rt->pef, &r, d);
    for (int32_t k = 0; k < r.n_in + r.n_out; k++) {
        uint32_t word = samba__word(&r, k);
        if (!word) continue;
        SAMBA_ASSERT(rt->data[word - 1] && rt->microbatch < rt->pef.microbatches);
        samba__symbol s = samba__symbol_at(&rt->pef, word - 1);
        size_t window = s.per_microbatch ? rt->microbatch * samba__spec_bytes(&s.spec) : 0;
        float *data = (float *)(void *)((uint8_t *)rt->data[word - 1] + window);
        if (k < r.n_in)
            a->in[k] = data;
        else {
            a->out[k - r.n_in] = data;
            d->call.out[k - r.n_in] = s.spec;
        }
    }
    a->in_spec = d->in;
    a->out_spec = d->call.out;
    a->n_in = r.n_in;
    a->n_out = r.n_out;
    a->attr = d->attr;
    a->n_attr = r.n_attr;
    a->scratch = r.scratch ? rt->data[r.scratch - 1] : NULL;
    a->microbatch = (int32_t)rt->microbatch;
    a->isa = rt->isa;
    a->fault = rt->fault;
    a->train = rt->train;
    a->running_stats = rt->running_stats;
}

#if !defined(SAMBA_RUNTIME_ONLY)
/* Which values that are not finite were found: their lowest elements are NaN, infinity, minus
   infinity. */
SAMBA__FN uint32_t samba__kinds_of(const samba__lowest first[3])
{
    uint32_t kinds = first[0] < SAMBA__NOWHERE ? SAMBA__NAN_IN : 0;
    if (first[1] < SAMBA__NOWHERE || first[2] < SAMBA__NOWHERE) kinds |= SAMBA__INF_IN;
    return kinds;
}

/* Which op before node `node` made symbol *word - 1, looking through views; -1: it is a leaf. */
SAMBA__FN int64_t samba__maker_of(const samba_runtime *rt, uint32_t node, uint32_t *word)
{
    for (uint32_t i = node; i-- > 0;) {
        samba__call_record r = samba__record_at(&rt->pef, i);
        bool makes = false;
        for (int32_t o = 0; o < r.n_out; o++)
            makes = makes || samba__word(&r, r.n_in + o) == *word;
        if (!makes) continue;
        if (!rt->steps[i].view) return i;
        *word = samba__word(&r, 0);
    }
    return -1;
}

/* What input k of node i has. Of a leaf, first gets where. What the op has overwritten is not
   looked at: had it not been finite, the op before would have been found. */
SAMBA__FN uint32_t samba__input_kinds(const samba_runtime *rt, const samba__task *t, uint32_t i,
                                      int32_t k, samba__lowest first[3])
{
    samba__call_record r = samba__record_at(&rt->pef, i);
    uint32_t word = samba__word(&r, k);
    const samba_spec *spec = &t->args.in_spec[k];
    first[0] = first[1] = first[2] = SAMBA__NOWHERE;
    if (!word || !samba__is_float(spec->dtype)) return 0;
    int64_t maker = samba__maker_of(rt, i, &word);
    if (maker >= 0) return rt->steps[maker].made;
    for (int32_t o = 0; o < t->args.n_out; o++)
        if (t->args.in[k] == t->args.out[o]) return 0;
    samba__note_nonfinite(first, (const uint8_t *)t->args.in[k], 0, samba_count(&spec->shape),
                          spec->dtype);
    /* An infinite hyperparameter is a mistake. */
    bool meant = samba__symbol_at(&rt->pef, word - 1).role != SAMBA__ARGIN;
    return samba__kinds_of(first) & (meant ? ~0u : (uint32_t)~SAMBA__INF_IN);
}

/* The range of input k of task n of a fused group. A later task may have overwritten the input;
   then the range is what it noted before. */
SAMBA__FN samba_range samba__input_range(const samba__group *c, int32_t n, int32_t k)
{
    const samba_args *a = &c->task[n].args;
    samba_range range = { NULL, SAMBA__INF, -SAMBA__INF, false };
    if (!a->in[k]) return range;
    for (int32_t j = n; j < c->n; j++) {
        const samba__findings *f = c->task[j].found;
        if (f->overwritten >= 0 && c->task[j].args.in[f->overwritten] == a->in[k]) {
            range.min = samba__ranked(f->least);
            range.max = samba__ranked(-1 - f->most);
            range.known = range.min <= range.max;
            return range;
        }
        for (int32_t o = 0; o < c->task[j].args.n_out; o++)
            if (c->task[j].args.out[o] == a->in[k]) return range;
    }
    samba_dtype type = a->in_spec[k].dtype;
    int64_t count = samba_count(&a->in_spec[k].shape);
    for (int64_t i = 0; i < count; i++) {
        float x;
        samba__load(&x, (const uint8_t *)a->in[k] + (size_t)i * samba_dtype_size(type), type, 1);
        if (x < range.min) range.min = x;
        if (x > range.max) range.max = x;
    }
    range.known = range.min <= range.max;
    return range;
}

/* Names the culprit: task n of the group, which is node i. It made the first value that is not
   finite, in output `out`; or, if leaf is not -1, read it in that input, which no op makes. */
SAMBA__FN void samba__record_culprit(samba_runtime *rt, const samba__group *c, int32_t n,
                                     uint32_t i, int32_t leaf, const samba__lowest first[3],
                                     int32_t out)
{
    samba_culprit *q = rt->culprit;
    samba__call_record r = samba__record_at(&rt->pef, i);
    uint32_t word = samba__word(&r, leaf >= 0 ? leaf : r.n_in + out);
    const float value[3] = { SAMBA__NAN, SAMBA__INF, -SAMBA__INF };
    int which = 0; /* of a leaf it is NaN */
    memset(q, 0, sizeof *q);
    if (leaf < 0) {
        for (int k = 1; k < 3; k++)
            if (first[k] < first[which]) which = k;
    } else {
        (void)samba__maker_of(rt, i, &word);
    }
    q->tensor = rt->pef.strings + samba__symbol_at(&rt->pef, word - 1).name;
    q->element = first[which];
    q->value = value[which];
    q->node = rt->pef.strings + r.name;
    q->op = rt->steps[i].op->name;
    q->leaf = leaf >= 0;
    q->microbatch = (int32_t)rt->microbatch;
    for (uint32_t id = 0; id < rt->pef.n_sections; id++) {
        samba__section section = samba__section_at(&rt->pef, id);
        if (i < section.first || i >= section.end) continue;
        q->section = (int32_t)id;
        q->section_type = samba__type_name(section.type);
    }
    q->n_in = r.n_in;
    for (int32_t k = 0; k < r.n_in; k++) {
        q->in[k] = samba__input_range(c, n, k);
        if (!samba__word(&r, k)) continue;
        samba__symbol in = samba__symbol_at(&rt->pef, samba__word(&r, k) - 1);
        q->in[k].name = rt->pef.strings + in.name;
    }
    rt->fault[SAMBA__FAULT_SET] = SAMBA__FAULT_NONFINITE;
    rt->fault_node = i;
}

/* Are all values that task n of a group, node i, made finite, or not its doing? */
SAMBA__FN bool samba__check_task(samba_runtime *rt, const samba__group *c, int32_t n, uint32_t i)
{
    const samba__task *t = &c->task[n];
    uint32_t made = 0, got = 0;
    samba__lowest first[3];
    for (int32_t o = 0; o < t->args.n_out; o++)
        made |= samba__kinds_of(t->found->first[o]);
    rt->steps[i].made = (uint8_t)made;
    if (!made) return true;
    for (int32_t k = 0; k < t->args.n_in; k++) {
        uint32_t kinds = samba__input_kinds(rt, t, i, k, first);
        got |= kinds;
        if (!(kinds & SAMBA__NAN_IN) || first[0] == SAMBA__NOWHERE) continue;
        samba__record_culprit(rt, c, n, i, k, first, 0);
        return false;
    }
    bool new_nan = (made & SAMBA__NAN_IN) && !(got & SAMBA__NAN_IN);
    bool constant = t->args.n_in == 0; /* samba_full: as asked for */
    for (int32_t k = 0; k < t->args.n_attr; k++)
        constant = constant || samba__abs(samba_attr_float(t->args.attr[k])) == SAMBA__INF;
    bool new_inf = (made & SAMBA__INF_IN) && !got && !constant;
    if (!new_nan && !new_inf) return true;
    for (int32_t o = 0; o < t->args.n_out; o++) {
        const samba__lowest *found = t->found->first[o];
        for (int k = 0; k < 3; k++)
            first[k] = k == 0 || new_inf ? found[k] : SAMBA__NOWHERE;
        if (!samba__kinds_of(first)) continue;
        samba__record_culprit(rt, c, n, i, -1, first, o);
        return false;
    }
    return true;
}

/* Runs the group that begins with node i, and checks what it made. */
SAMBA__NOINLINE bool samba__run_checked(samba_runtime *rt, samba__group *c, uint32_t i)
{
    samba__findings found[SAMBA__GROUP_TASKS];
    for (int32_t k = 0; k < c->n; k++) {
        c->task[k].found = &found[k];
        samba__begin_findings(&found[k], &c->task[k].args, c->task[k].work->part);
    }
    bool fine = samba__run_group(c, rt->pool);
    for (int32_t k = 0; fine && k < c->n; i++) {
        if (rt->steps[i].view) continue;
        fine = samba__check_task(rt, c, k, i);
        k++;
    }
    return fine;
}
#else
SAMBA__FN bool samba__run_checked(samba_runtime *rt, samba__group *c, uint32_t i)
{
    (void)i;
    return samba__run_group(c, rt->pool);
}
#endif

/* Runs the fused group that begins with node i. */
SAMBA__FN bool samba__run_node(samba_runtime *rt, uint32_t i)
{
    samba__task task[SAMBA__GROUP_TASKS];
    samba__decoded decoded[SAMBA__GROUP_TASKS];
    samba__group c;
    c.task = task;
    c.n = 0;
    c.local = rt->local;
    c.part = rt->steps[i].part;
    c.count = rt->steps[i].count;
    for (uint32_t k = i; k < i + rt->steps[i].group; k++) {
        if (rt->steps[k].view) continue;
        SAMBA_ASSERT(c.n < SAMBA__GROUP_TASKS);
        samba__open_task(rt, k, &task[c.n], &decoded[c.n]);
        c.n++;
    }
    rt->fault_node = i;
    if (c.n == 0) return true;
    return rt->culprit ? samba__run_checked(rt, &c, i) : samba__run_group(&c, rt->pool);
}

/* How far the norm is (see samba_runtime.norm_next) once section id has run. */
SAMBA__FN uint32_t samba__norm_after(const samba_runtime *rt, uint32_t next, uint32_t id)
{
    uint32_t type = samba__section_at(&rt->pef, id).type;
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
        const samba__section_type *t = &samba__section_types[i];
        if (t->changes_gradients && (type & t->bit)) return rt->norm_first;
    }
    return type == SAMBA_GRADNORM && id == next ? next + 1 : next;
}

/* Would section id clip by the norm of other gradients? */
SAMBA__FN bool samba__clips_blindly(const samba_runtime *rt, uint32_t next, uint32_t id)
{
    return samba__section_at(&rt->pef, id).type == SAMBA_OPT && next != rt->norm_end;
}

/* Sections may run alone, and before those that make what they read. That is zero then, and never
   what the memory held before the runtime got it. */
SAMBA__FN void samba__clear_unwritten(samba_runtime *rt, const samba__section *q)
{
    for (uint32_t i = q->first; i < q->end; i++) {
        samba__call_record r = samba__record_at(&rt->pef, i);
        for (int32_t k = 0; k < r.n_in; k++) {
            uint32_t word = samba__base_word(&rt->pef, samba__word(&r, k));
            if (!word) continue;
            samba__symbol s = samba__symbol_at(&rt->pef, word - 1);
            bool unmade = s.region == SAMBA__REGION_ARENA && s.first < q->first
                && !rt->steps[s.first].has_run;
            if (unmade) memset(rt->data[word - 1], 0, (size_t)samba__symbol_bytes(&rt->pef, &s));
        }
    }
}

SAMBA__FN bool samba__run_section(samba_runtime *rt, uint32_t id)
{
    samba__section q = samba__section_at(&rt->pef, id);
    SAMBA_ASSERT(q.first < q.end && q.end <= rt->pef.n_nodes);
    bool fine = true, anew = !rt->steps[q.first].has_run;
    rt->norm_next = samba__norm_after(rt, rt->norm_next, id);
    if (anew) samba__clear_unwritten(rt, &q);
    if (rt->on_event) rt->on_event(samba__type_name(q.type), (int32_t)id, true, rt->event_user);
    for (uint32_t i = q.first; fine && i < q.end; i += rt->steps[i].group)
        fine = samba__run_node(rt, i);
    for (uint32_t i = q.first; fine && anew && i < q.end; i++)
        rt->steps[i].has_run = true;
    if (rt->on_event) rt->on_event(samba__type_name(q.type), (int32_t)id, false, rt->event_user);
    return fine;
}

/* Is the section of the graph that runs now? */
SAMBA__FN bool samba__runs_now(const samba_runtime *rt, const samba__section *q)
{
    return !rt->graph || rt->graph == q->graph;
}

SAMBA__FN bool samba__run_sections(samba_runtime *rt, unsigned types)
{
    bool fine = true;
    for (uint32_t i = 0; fine && i < rt->pef.n_sections; i++) {
        samba__section q = samba__section_at(&rt->pef, i);
        uint32_t first = q.type & (0u - q.type); /* of several, which run as one */
        if ((first & types) && samba__runs_now(rt, &q)) fine = samba__run_section(rt, i);
    }
    return fine;
}

/* The types of a section of which `types` has some, but not all; 0: there is none. */
SAMBA__FN uint32_t samba__split_by(const samba_runtime *rt, unsigned types)
{
    for (uint32_t i = 0; i < rt->pef.n_sections; i++) {
        samba__section q = samba__section_at(&rt->pef, i);
        if ((q.type & types) && (q.type & ~types) && samba__runs_now(rt, &q)) return q.type;
    }
    return 0;
}

/* The types that run: all of them for 0, and a whole step has what belongs to it. */
SAMBA__FN unsigned samba__whole_step(unsigned types)
{
    return types == 0 ? ~0u : types | samba__implied_types(types);
}

/* How far the norm is after a run of these types; *blind: OPT would clip by an old one. */
SAMBA__FN uint32_t samba__norm_after_types(const samba_runtime *rt, uint32_t next, unsigned types,
                                           bool *blind)
{
    for (uint32_t i = 0; i < rt->pef.n_sections; i++) {
        samba__section q = samba__section_at(&rt->pef, i);
        if (!(q.type & types) || !samba__runs_now(rt, &q)) continue;
        *blind = *blind || samba__clips_blindly(rt, next, i);
        next = samba__norm_after(rt, next, i);
    }
    return next;
}

/* Runs the sections of these types for each microbatch. */
SAMBA__FN bool samba__run_parts(samba_runtime *rt, unsigned types)
{
    SAMBA_ASSERT(rt->pef.microbatches >= 1);
    bool fine = true;
    if (types) {
        for (uint32_t m = 0; fine && m < rt->pef.microbatches; m++) {
            rt->microbatch = m;
            fine = samba__run_sections(rt, types);
        }
    }
    if (fine) rt->microbatch = 0; /* else the error tells which one it was */
    return fine;
}

/* Pass after pass: ZEROGRAD, then COUNT for each microbatch, forward and backward for each, then
   the rest. */
SAMBA__FN bool samba__run_exactly(samba_runtime *rt, unsigned types)
{
    bool fine = true, blind = false;
    samba__norm_after_types(rt, rt->norm_next, types, &blind);
    rt->fault[0] = 0;
    rt->microbatch = 0;
    if (blind || samba__split_by(rt, types)) return false;
    for (int32_t i = 0; fine && i < SAMBA__N_TYPES;) {
        const samba__section_type *first = &samba__section_types[i];
        unsigned pass = 0;
        for (; i < SAMBA__N_TYPES && samba__section_types[i].pass == first->pass; i++)
            pass |= samba__section_types[i].bit & types & rt->types;
        fine = first->repeats ? samba__run_parts(rt, pass) : samba__run_sections(rt, pass);
    }
    return fine;
}

SAMBA_API bool samba_runtime_run(samba_runtime *rt, unsigned types)
{
    return rt && samba__run_exactly(rt, samba__whole_step(types));
}

/* Finds the graph called name; *graph is what its sections have in their records. */
SAMBA__FN bool samba__find_graph(const samba__pef *pef, const char *name, uint32_t *graph)
{
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        *graph = samba__section_at(pef, i).graph;
        if (*graph && samba__same_text(pef->strings + *graph - 1, name)) return true;
    }
    return false;
}

SAMBA_API bool samba_runtime_run_graph(samba_runtime *rt, const char *graph, unsigned types)
{
    if (!rt || !graph || !samba__find_graph(&rt->pef, graph, &rt->graph)) return false;
    bool fine = samba_runtime_run(rt, types);
    rt->graph = 0;
    return fine;
}

SAMBA_API void *samba_runtime_data(samba_runtime *rt, const char *name)
{
    int32_t i = rt && name ? samba__find_symbol(&rt->pef, name, 0) : -1;
    return i < 0 ? NULL : rt->data[i];
}

#if !defined(SAMBA_RUNTIME_ONLY)

/* ==== [memory] ================================================================================ */
#include <stdlib.h>
#if !defined(SAMBA_NO_STDIO)
#include <stdio.h>
#endif
typedef struct samba__chunk {
    struct samba__chunk *next;
    size_t size, used;
} samba__chunk;

/* One recorded call of an op. */
typedef struct samba__node {
    const samba_op *op;
    const char *name;
    int32_t n_in, n_out, n_attr;
    samba_tensor **in; /* NULL where an optional input is absent */
    samba_tensor *out[SAMBA_MAX_OUT];
    int32_t *attr;
    uint32_t section;  /* SAMBA_FWD, ... */
    const char *graph; /* name, the same pointer for all its nodes; NULL: none */
    int32_t id;        /* place in trace order */
    bool live;         /* some output is needed */
    bool eager;        /* computed at once; not part of a program */
    bool generated;    /* by the compiler, not traced from the user's calls */
    bool transient;    /* goes with its scope */
    uint32_t mark;     /* of the walk that saw it last */
    bool gradient;     /* recorded by samba_grad */
} samba__node;

/* A mark: what there was when a scope began. It lies itself in memory that the end of the scope
   frees. */
typedef struct samba__scope {
    struct samba__scope *outer;
    samba__chunk *chunk; /* the latest one then, and how far it was used */
    size_t used;
    int32_t n_tensors, n_nodes, n_named;
} samba__scope;

typedef struct samba__block { /* in front of every stb_ds allocation */
    struct samba__block *prev, *next;
    samba_session *session;
    size_t size;
} samba__block;

typedef struct samba__entry {
    char *key;
    samba_tensor *value;
} samba__entry;

/* A proved PEF: all of it, in memory or mapped, and a copy of its tables: what was proved of them
   stays true, whoever writes into the file. */
typedef struct samba__file {
    uint8_t *bytes, *tables;
    size_t size, n_tables;
    bool mapped; /* bytes are the mapped file fd */
    int fd;
    int64_t modified, changed;      /* nanoseconds: its bytes, its inode. See [files] */
    bool stays;                     /* read-only parameters are used where they are */
    bool (*kept)(samba_session *s); /* of a mapped file: samba__file_kept, a chapter below */
    samba__pef pef;
} samba__file;

#define SAMBA__MAX_WARNINGS 64 /* of a session; after these it gives no more */

struct samba_session {
    samba_desc desc;
    uint64_t seed;
    samba_code code;
    char error[1024];
    bool poisoned;                        /* no memory for a container: for good */
    bool quiet, untold;                   /* errors are not printed; one was not */
    uint64_t warned[SAMBA__MAX_WARNINGS]; /* hashes of the warnings that were given */
    int32_t n_warned;
    const char *error_context; /* in front of each error; the caller's, or NULL */
    const void *zeros;         /* what is read after an error */
    size_t zeros_size;
    size_t held;                /* bytes from desc.alloc now */
    samba__chunk *chunks;       /* arena: names, tensors, nodes; freed at close */
    samba__chunk *temp_chunks;  /* arena of a compilation */
    samba__chunk *scope_chunks; /* arena of what goes with a scope */
    samba__scope *scope;        /* the innermost one; NULL: none */
    bool transient;             /* what is made now goes with it */
    uint32_t marks;             /* walks over the graph so far */
    samba__block *blocks;       /* stb_ds */
    samba_tensor **tensors;     /* stb_ds list */
    samba__node **nodes;        /* stb_ds list in trace order */
    samba__entry *names;        /* stb_ds string map */
    const samba_op **user_ops;  /* stb_ds list */
    bool tracing, train, running_stats, legacy_names, has_pool;
    bool withholds;               /* compile and load send nothing */
    bool lacks_grads;             /* and gradients of losses do not begin with ones */
    uint32_t section;             /* of the ops recorded now */
    const char *graph;            /* of the ops recorded now */
    bool freezes;                 /* the parameters made now */
    samba_lazy_opts lazy;         /* how parameters begin */
    bool eager_params, cuts_bf16; /* drawn when they are made; packed by truncation */
    samba_trace_fn on_trace;      /* NULL: nobody looks */
    void *on_trace_user;
    samba_event_fn on_event; /* NULL: none */
    void *event_user;
    bool generating;       /* the compiler is recording, not the user */
    bool differentiating;  /* samba_grad is recording */
    const char *op_prefix; /* of the names of ops traced now; NULL: none */
    const char *next_name; /* a layer names the op it is about to emit */
    int32_t n_named;       /* counts unnamed ops */
    samba_tensor *counter; /* of forward runs: dropout draws anew each time */
    samba__pool pool;
    float *local;     /* scratch of the threads when ops run eagerly */
    samba__file file; /* the loaded program; bytes if values stay there */
    void *memory;     /* of the runtime */
    size_t memory_size;
    samba_runtime *rt;
    samba_culprit culprit; /* node NULL: none */
    bool inputs_ready;     /* inputs and parameters of the program have values */
    bool zero_params;      /* parameters without a value are run as zeros */
    uint64_t runs;         /* begun so far */
    samba_graphamp graphamp;
    samba_dtype param_dtype; /* of the matrices made now */
};

/* The name and the text of each code, then of all others. */
static const char *const samba__codes[SAMBA_N_CODES + 1][2] = {
#define X(name, text) { "SAMBA_" #name, text },
    SAMBA__CODES(X)
#undef X
        { "?", "unknown error" }
};

SAMBA__FN const char *samba__code_text(samba_code code, int column)
{
    return samba__codes[(unsigned)code < SAMBA_N_CODES ? code : SAMBA_N_CODES][column];
}

SAMBA_API const char *samba_code_text(samba_code code)
{
    return samba__code_text(code, 1);
}

SAMBA_API bool samba_ok(const samba_session *s)
{
    return s && s->code == SAMBA_OK;
}

SAMBA_API samba_code samba_error_code(const samba_session *s)
{
    return s ? s->code : SAMBA_ENOMEM;
}

SAMBA_API const char *samba_error(samba_session *s)
{
    return s ? s->error : "SAMBA_ENOMEM: there is no session: samba_open() found no memory";
}

SAMBA_API void samba_clear_error(samba_session *s)
{
    if (!s || s->poisoned) return;
    s->next_name = NULL; /* of the layer that failed: the text is the caller's */
    s->code = SAMBA_OK;
    s->error[0] = 0;
    s->untold = false;
}

SAMBA__FN void samba__print_error(samba_session *s)
{
    s->untold = s->quiet;
#if !defined(SAMBA_NO_STDIO)
    if (!s->quiet) fprintf(stderr, "samba: %s\n", s->error);
#endif
}

SAMBA__FN void samba__tell_warning(const samba_session *s, const char *text)
{
    if (s->desc.log) s->desc.log(SAMBA_LOG_WARNING, text, s->desc.user);
#if !defined(SAMBA_NO_STDIO)
    else if (!s->desc.quiet)
        fprintf(stderr, "samba: warning: %s\n", text);
#endif
}

SAMBA_API bool samba_set_quiet(samba_session *s, bool quiet)
{
    bool former = s && s->quiet;
    if (!s) return false;
    s->quiet = quiet;
    if (!quiet && s->untold) samba__print_error(s);
    return former;
}

/* Warns of what is allowed, but rarely meant. A loop that warns must not flood the log: each text
   is given once, and a session gives SAMBA__MAX_WARNINGS of them. */
SAMBA__FN void samba__vwarn(samba_session *s, const char *fmt, va_list args)
{
    char text[1024];
    if (!samba_ok(s) || !fmt || s->n_warned == SAMBA__MAX_WARNINGS) return;
    samba__text t = samba__text_in(text, sizeof text);
    samba__vformat(&t, fmt, args);
    uint64_t hash = samba__hash(text, strlen(text), 0);
    for (int32_t i = 0; i < s->n_warned; i++) {
        if (s->warned[i] == hash) return;
    }
    s->warned[s->n_warned++] = hash;
    samba__tell_warning(s, text);
    if (s->n_warned == SAMBA__MAX_WARNINGS)
        samba__tell_warning(s, "this session gives no more warnings");
}

static void samba__warn(samba_session *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    samba__vwarn(s, fmt, args);
    va_end(args);
}

SAMBA_API void samba_warn(samba_session *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    samba__vwarn(s, fmt, args);
    va_end(args);
}

SAMBA_API const char *samba_error_context(samba_session *s, const char *text)
{
    const char *former = s ? s->error_context : NULL;
    if (s) s->error_context = text;
    return former;
}

/* Keeps the first error, and prints it or passes it to the log. It returns false, so that checks
   read as a list: holds || samba_fail(...). */
SAMBA_API bool samba_fail(samba_session *s, samba_code code, const char *fmt, ...)
{
    va_list args;
    if (!s || s->code != SAMBA_OK) return false;
    if (code <= SAMBA_OK || code >= SAMBA_N_CODES) code = SAMBA_EARG; /* it is an error */
    samba__text t = samba__text_in(s->error, sizeof s->error);
    for (int turn = 0; turn < 2; turn++) {
        samba__format(&t, "%s ", samba__code_text(code, 0));
        if (s->error_context) samba__put_text(&t, s->error_context);
        va_start(args, fmt);
        samba__vformat(&t, fmt ? fmt : samba_code_text(code), args);
        va_end(args);
        if (t.len < t.cap) break;
        t = samba__text_in(s->error, sizeof s->error);
        t.most = 200; /* long names are shortened, so that the remedy is read */
    }
    s->code = code;
    s->next_name = NULL;
    if (s->desc.log)
        s->desc.log(SAMBA_LOG_ERROR, s->error, s->desc.user);
    else
        samba__print_error(s);
    return false;
}

/* From least to most, and less than below: what a field or a hyperparameter may be. */
typedef struct samba__range {
    const char *name;
    double least, most, below;
    bool whole; /* no fractions */
} samba__range;

#define SAMBA__MOST 3.4028234663852886e38      /* the largest float */
#define SAMBA__NO_LIMIT 1.7976931348623157e308 /* as most: infinity is inside, too */

SAMBA__FN void samba__put_range(samba__text *t, const samba__range *r)
{
    if (r->below < SAMBA__NO_LIMIT)
        samba__format(t, "at least %g and below %g", r->least, r->below);
    else if (r->most == SAMBA__NO_LIMIT)
        samba__format(t, "at least %g", r->least);
    else if (r->most < SAMBA__MOST)
        samba__format(t, "%g ... %g", r->least, r->most);
    else if (r->least <= -SAMBA__MOST)
        samba__put_text(t, "finite");
    else
        samba__format(t, "at least %g, and finite", r->least);
    if (r->whole) samba__put_text(t, ", and whole");
}

/* Is the value in its range? NaN is in none. If not: an error that names where and what it is. */
SAMBA__FN bool samba__check_range(samba_session *s, const char *where, const samba__range *r,
                                  double value)
{
    char range[80];
    bool unlimited = r->most == SAMBA__NO_LIMIT;
    bool inside = value >= r->least && (unlimited || value <= r->most);
    if (r->below < SAMBA__NO_LIMIT) inside = inside && (double)(float)value < r->below;
    if (inside && r->whole) inside = value == (double)(int64_t)value;
    if (inside) return true;
    samba__text t = samba__text_in(range, sizeof range);
    samba__put_range(&t, r);
    return samba_fail(s, SAMBA_ERANGE, "in %s: %s is %g; it must be %s", where, r->name, value,
                      range);
}

/* The same with both ends, for a field of a struct. */
SAMBA__FN bool samba__in_range(samba_session *s, const char *where, const char *field, double value,
                               double least, double most)
{
    const samba__range r = { field, least, most, SAMBA__NO_LIMIT, false };
    return samba__check_range(s, where, &r, value);
}

/* What each hyperparameter may be: torch's rules, those of optimizers first. samba_set finds them
   by the ends of names. */
#define SAMBA__ARGIN_RANGE(name, field, most, below) { #field, 0.0, most, below, false },
static const samba__range samba__hyperparams[]
    = { SAMBA__OPTIM_ARGINS(SAMBA__ARGIN_RANGE) /**/
        { "p", 0.0, 1.0, SAMBA__NO_LIMIT, false },
        { "seed", 0.0, 4294967295.0, SAMBA__NO_LIMIT, true } };

SAMBA__FN bool samba__check_hyperparam(samba_session *s, const char *where, const char *name,
                                       double value)
{
    size_t n = sizeof samba__hyperparams / sizeof *samba__hyperparams;
    for (size_t i = 0; i < n; i++) {
        samba__range r = samba__hyperparams[i];
        if (!samba__ends_with(name, r.name)) continue;
        r.name = name;
        return samba__check_range(s, where, &r, value);
    }
    return samba__in_range(s, where, name, value, -SAMBA__MOST, SAMBA__MOST);
}

/* NULL, for functions that return a tensor: return samba__none(samba_fail(...)). */
SAMBA__FN samba_tensor *samba__none(bool failed)
{
    (void)failed;
    return NULL;
}

SAMBA__FN void *samba__alloc(samba_session *s, size_t size)
{
    void *p = size == SAMBA__NO_SIZE ? NULL : s->desc.alloc(size, s->desc.user);
    if (!p) {
        samba_fail(s, SAMBA_ENOMEM, "while asking for %l bytes; the session holds %l",
                   (int64_t)size, (int64_t)s->held);
        return NULL;
    }
    s->held += size;
    return p;
}

SAMBA__FN void samba__free(samba_session *s, void *p, size_t size)
{
    if (!p) return;
    SAMBA_ASSERT(size <= s->held); /* what goes was taken, with the same size */
    s->held -= size;
    s->desc.release(p, size, s->desc.user);
}

#define SAMBA__CHUNK ((size_t)32 * 1024)

SAMBA__FN void *samba__arena_alloc_in(samba_session *s, samba__chunk **chunks, size_t size)
{
    size_t need = samba__add_size(size, 15) & ~(size_t)15;
    samba__chunk *c = *chunks;
    if (!c || c->size - c->used < need) {
        size_t chunk = samba__add_size(need > SAMBA__CHUNK ? need : SAMBA__CHUNK, sizeof *c + 16);
        c = (samba__chunk *)samba__alloc(s, chunk);
        if (!c) return NULL;
        c->size = chunk;
        c->used = (sizeof *c + 15) & ~(size_t)15;
        c->next = *chunks;
        *chunks = c;
    }
    uint8_t *p = (uint8_t *)c + c->used;
    c->used += need;
    SAMBA_ASSERT(c->used <= c->size && (uintptr_t)p % 16 == 0);
    memset(p, 0, need);
    return p;
}

SAMBA__FN void samba__arena_free(samba_session *s, samba__chunk **chunks)
{
    while (*chunks) {
        samba__chunk *c = *chunks;
        *chunks = c->next;
        samba__free(s, c, c->size);
    }
}

/* Zeroed memory until the session is closed, or the scope ends; n zeroed elements until a
   compilation ends. */
SAMBA__FN void *samba__arena_alloc(samba_session *s, size_t size)
{
    return samba__arena_alloc_in(s, s->transient ? &s->scope_chunks : &s->chunks, size);
}

SAMBA__FN void *samba__temp(samba_session *s, int32_t n, size_t size)
{
    SAMBA_ASSERT(n >= 0);
    return samba__arena_alloc_in(s, &s->temp_chunks, samba__mul_size((size_t)n, size));
}

SAMBA__FN char *samba__arena_text(samba_session *s, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = (char *)samba__arena_alloc(s, n);
    if (copy) memcpy(copy, text, n);
    return copy;
}

/* A name made of others: in buffer if it fits, otherwise in memory that lives until the next
   compilation or load ends. NULL: no memory. */
SAMBA__FN const char *samba__print_name(samba_session *s, char *buffer, size_t size,
                                        const char *fmt, ...)
{
    samba__text t = samba__text_in(buffer, size);
    va_list args;
    va_start(args, fmt);
    samba__vformat(&t, fmt, args);
    va_end(args);
    if (t.len < t.cap) return buffer;
    size_t whole = t.len + 1;
    char *name = (char *)samba__arena_alloc_in(s, &s->temp_chunks, whole);
    if (!name) return NULL;
    t = samba__text_in(name, whole);
    va_start(args, fmt);
    samba__vformat(&t, fmt, args);
    va_end(args);
    return name;
}

SAMBA__FN size_t samba__local_bytes(const samba_session *s)
{
    return (size_t)s->pool.n_threads * SAMBA_LOCAL_BYTES;
}

/* Of large blocks the system is asked for large pages: these are cleared and found sooner. */
#if defined(__linux__)
#include <sys/mman.h>
#endif
SAMBA__FN void *samba__default_alloc(size_t size, void *user)
{
    void *p = malloc(size);
#if defined(MADV_HUGEPAGE)
    const size_t page = (size_t)2 << 20, before = (page - (size_t)(uintptr_t)p % page) % page;
    if (p && size >= 4 * page)
        (void)madvise((uint8_t *)p + before, (size - before) / page * page, MADV_HUGEPAGE);
#endif
    (void)user;
    return p;
}

SAMBA__FN void samba__default_release(void *p, size_t size, void *user)
{
    (void)size;
    (void)user;
    free(p);
}

/* What follows prepares programs, and gains nothing by more than -Og: gcc takes half as long. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define SAMBA__QUICK 1
#pragma GCC push_options
#pragma GCC optimize("Og", "strict-aliasing")
#else
#define SAMBA__QUICK 0
#endif

/* ==== [containers] ============================================================================ */
/* stb_ds, private to this file: static, without short names, and safe when memory runs out. It
   cannot report a failed allocation, so ours does not return to it: it jumps to the guard that the
   wrapper below has set. Blocks are linked to their session, which frees them whatever state the
   container was left in. Only the array and string map halves of stb_ds are used. */
#include <setjmp.h>
#if defined(INCLUDE_STB_DS_H)
#error "samba.h: this file included stb_ds.h before: put SAMBA_IMPLEMENTATION in a file of its own"
#endif
#if defined(__cplusplus) && __cplusplus >= 201103L
#define SAMBA__THREAD_LOCAL thread_local
#elif defined(__GNUC__)
#define SAMBA__THREAD_LOCAL __thread
#else
#define SAMBA__THREAD_LOCAL
#endif
typedef struct samba__guard {
    jmp_buf env;
    samba_session *session;
} samba__guard;

static SAMBA__THREAD_LOCAL samba__guard *samba__current_guard;

SAMBA__FN void samba__ds_free(void *p)
{
    samba__block *b = p ? (samba__block *)p - 1 : NULL;
    if (!b) return;
    if (b->prev)
        b->prev->next = b->next;
    else
        b->session->blocks = b->next;
    if (b->next) b->next->prev = b->prev;
    samba__free(b->session, b, b->size);
}

SAMBA__FN void *samba__ds_realloc(void *old, size_t size)
{
    samba_session *s = samba__current_guard->session;
    size_t total = samba__add_size(size, sizeof(samba__block));
    samba__block *b = (samba__block *)samba__alloc(s, total);
    if (!b) longjmp(samba__current_guard->env, 1);
    b->session = s;
    b->size = total;
    b->prev = NULL;
    b->next = s->blocks;
    if (s->blocks) s->blocks->prev = b;
    s->blocks = b;
    if (old) {
        size_t had = ((samba__block *)old - 1)->size - sizeof *b;
        memcpy(b + 1, old, had < size ? had : size);
        samba__ds_free(old);
    }
    return b + 1;
}

#define STBDS_REALLOC(context, p, size) samba__ds_realloc(p, size)
#define STBDS_FREE(context, p) samba__ds_free(p)
#define STBDS_NO_SHORT_NAMES
#define STBDS_ASSERT(x) ((void)0)
#if defined(__cplusplus)
extern "C" {
#endif
struct stbds_string_arena;
static void stbds_rand_seed(size_t), stbds_strreset(struct stbds_string_arena *);
static void stbds_arrfreef(void *), stbds_hmfree_func(void *, size_t);
static size_t stbds_hash_bytes(void *, size_t, size_t), stbds_hash_string(char *, size_t);
static char *stbds_stralloc(struct stbds_string_arena *, char *);
static void *stbds_arrgrowf(void *, size_t, size_t, size_t), *stbds_hmput_default(void *, size_t);
static void *stbds_hmget_key(void *, size_t, void *, size_t, int);
static void *stbds_hmget_key_ts(void *, size_t, void *, size_t, ptrdiff_t *, int);
static void *stbds_hmput_key(void *, size_t, void *, size_t, int);
static void *stbds_hmdel_key(void *, size_t, void *, size_t, size_t, int);
static void *stbds_shmode_func(size_t, int);
#if defined(__cplusplus)
}
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#define STB_DS_IMPLEMENTATION
#if defined(SAMBA_STB_DS_H)
#include SAMBA_STB_DS_H
#elif defined(__has_include)
#if __has_include(<stb/stb_ds.h>)
#include <stb/stb_ds.h>
#elif __has_include("stb_ds.h")
#include "stb_ds.h"
#else
#error "samba.h needs stb_ds.h. Debian: apt install libstb-dev. Or define SAMBA_STB_DS_H"
#endif
#else
#include <stb/stb_ds.h>
#endif
#undef STB_DS_IMPLEMENTATION
/* stb_ds draws the seed of a new map from a variable that all sessions share: one at a time. */
#if defined(SAMBA_NO_THREADS)
SAMBA__FN void samba__lock_maps(void)
{
}

SAMBA__FN void samba__unlock_maps(void)
{
}
#else
static int32_t samba__maps_locked;

SAMBA__FN void samba__lock_maps(void)
{
    while (__atomic_exchange_n(&samba__maps_locked, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

SAMBA__FN void samba__unlock_maps(void)
{
    __atomic_store_n(&samba__maps_locked, 0, __ATOMIC_RELEASE);
}
#endif
/* Runs body where stb_ds may allocate. False, with the session poisoned, if memory ran out. */
SAMBA__FN bool samba__guarded(samba_session *s, void (*body)(samba_session *s, void *argument),
                              void *argument)
{
    samba__guard guard, *outer = samba__current_guard;
    guard.session = s;
    samba__current_guard = &guard;
    samba__lock_maps();
    if (setjmp(guard.env) == 0)
        body(s, argument);
    else
        s->poisoned = true;
    samba__unlock_maps();
    samba__current_guard = outer;
    return !s->poisoned;
}

SAMBA__FN void samba__push_node_body(samba_session *s, void *n)
{
    stbds_arrput(s->nodes, (samba__node *)n);
}

SAMBA__FN void samba__push_op_body(samba_session *s, void *op)
{
    stbds_arrput(s->user_ops, (const samba_op *)op);
}

SAMBA__FN void samba__put_tensor_body(samba_session *s, void *argument)
{
    samba_tensor *t = (samba_tensor *)argument;
    samba__entry e = SAMBA__ZEROED;
    uintptr_t key = (uintptr_t)t->name;
    e.key = (char *)key;
    e.value = t;
    stbds_arrput(s->tensors, t);
    stbds_shputs(s->names, e);
}

/* A tensor's next name, and the map that finds it by either. */
typedef struct samba__renaming {
    samba_tensor *tensor;
    const char *name;
} samba__renaming;

SAMBA__FN void samba__rename_body(samba_session *s, void *argument)
{
    const samba__renaming *r = (const samba__renaming *)argument;
    uintptr_t old = (uintptr_t)r->tensor->name, key = (uintptr_t)r->name;
    samba__entry e = SAMBA__ZEROED;
    e.key = (char *)key;
    e.value = r->tensor;
    stbds_shputs(s->names, e);
    (void)stbds_shdel(s->names, (char *)old);
    r->tensor->name = r->name;
    r->tensor->n_same = 0; /* of the name it had */
}

/* Takes what goes with a scope out of the lists; the rest keeps its order. */
SAMBA__FN void samba__drop_scope_body(samba_session *s, void *argument)
{
    const samba__scope *q = (const samba__scope *)argument;
    ptrdiff_t n = q->n_tensors, n_nodes = q->n_nodes;
    for (ptrdiff_t i = n; i < stbds_arrlen(s->tensors); i++) {
        samba_tensor *t = s->tensors[i];
        if (t->transient) {
            uintptr_t key = (uintptr_t)t->name;
            (void)stbds_shdel(s->names, (char *)key);
            continue;
        }
        t->id = (int32_t)n;
        s->tensors[n++] = t;
    }
    stbds_arrsetlen(s->tensors, (size_t)n);
    for (ptrdiff_t i = n_nodes; i < stbds_arrlen(s->nodes); i++) {
        samba__node *node = s->nodes[i];
        if (node->transient) continue;
        node->id = (int32_t)n_nodes;
        s->nodes[n_nodes++] = node;
    }
    stbds_arrsetlen(s->nodes, (size_t)n_nodes);
}

SAMBA__FN int32_t samba__n_tensors(const samba_session *s)
{
    return (int32_t)stbds_arrlen(s->tensors);
}

SAMBA__FN int32_t samba__n_nodes(const samba_session *s)
{
    return (int32_t)stbds_arrlen(s->nodes);
}

SAMBA__FN int32_t samba__n_user_ops(const samba_session *s)
{
    return (int32_t)stbds_arrlen(s->user_ops);
}

/* The tensor called name, or NULL. A map exists since its first put: this does not allocate. */
SAMBA__FN samba_tensor *samba__named(samba_session *s, const char *name)
{
    uintptr_t key = (uintptr_t)name;
    ptrdiff_t i = s->names ? stbds_shgeti(s->names, (char *)key) : -1;
    return i < 0 ? NULL : s->names[i].value;
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* ==== [graph] ================================================================================= */
/* The graph: tensors, and the nodes that made them. */
SAMBA__FN samba_tensor *samba__new_tensor(samba_session *s, const char *name,
                                          const samba_spec *spec, int32_t role)
{
    SAMBA_ASSERT(samba__sound_shape(&spec->shape));
    samba_tensor *t = (samba_tensor *)samba__arena_alloc(s, sizeof *t);
    if (!t) return NULL;
    t->session = s;
    t->name = name;
    t->role = role;
    t->dtype = spec->dtype;
    t->shape = spec->shape;
    t->batch_dim = t->symbol = -1;
    t->id = samba__n_tensors(s);
    t->transient = s->transient;
    return samba__guarded(s, samba__put_tensor_body, t) ? t : NULL;
}

SAMBA__FN samba_spec samba__spec_of(const samba_tensor *t)
{
    samba_spec spec = samba__absent();
    if (t) {
        spec.dtype = t->dtype;
        spec.shape = t->shape;
    }
    return spec;
}

SAMBA__FN size_t samba__host_bytes(const samba_tensor *t)
{
    samba_spec spec = samba__spec_of(t);
    return samba__spec_bytes(&spec);
}

/* base, or base_2, base_3 ... if it is taken. */
SAMBA__FN const char *samba__free_name(samba_session *s, const char *base)
{
    char buffer[160];
    samba_tensor *first = samba__named(s, base);
    if (!first) return samba__arena_text(s, base);
    for (int32_t n = first->n_same + 2; n < INT32_MAX; n++) { /* where the last search ended */
        const char *name = samba__print_name(s, buffer, sizeof buffer, "%s_%d", base, n);
        if (!name) return NULL;
        if (samba__named(s, name)) continue;
        first->n_same = n - 1;
        return samba__arena_text(s, name);
    }
    samba_fail(s, SAMBA_ENAME, "no free name is left for %s", base);
    return NULL;
}

/* "x f32 (2,3), y f32 (3)": the inputs of a failed call. */
SAMBA__FN void samba__put_inputs(samba__text *t, samba_tensor *const *in, int32_t n_in)
{
    for (int32_t i = 0; i < n_in; i++) {
        if (i) samba__put_text(t, ", ");
        if (in[i])
            samba__format(t, "%s %T %S", in[i]->name, (int)in[i]->dtype, &in[i]->shape);
        else
            samba__put_text(t, "none");
    }
}

SAMBA__FN bool samba__fail_call(samba_session *s, const samba_op *op, samba_tensor *const *in,
                                const samba_call *c)
{
    char inputs[512];
    samba__text t = samba__text_in(inputs, sizeof inputs);
    samba__put_inputs(&t, in, c->n_in);
    if (t.len >= t.cap) {
        t = samba__text_in(inputs, sizeof inputs);
        t.most = 80;
        samba__put_inputs(&t, in, c->n_in);
    }
    return samba_fail(s, c->code, "in %s%s%s(%s): %s", s->next_name ? s->next_name : "",
                      s->next_name ? ": " : "", op->name, inputs, c->why);
}

SAMBA__FN bool samba__check_inputs(samba_session *s, const samba_op *op, samba_tensor *const *in,
                                   int32_t n_in)
{
    for (int32_t i = 0; i < n_in; i++) {
        const samba__node *n = in[i] && in[i]->session == s ? in[i]->node : NULL;
        if (n && s->tracing && !n->eager && n->graph != s->graph)
            return samba_fail(s, SAMBA_EARG,
                              "in %s: input %d, %s, is computed in graph %s, but "
                              "this is graph %s; graphs share parameters, buffers and inputs only",
                              op->name, i, in[i]->name, n->graph ? n->graph : "(none)",
                              s->graph ? s->graph : "(none)");
        if (!in[i] || in[i]->session == s) continue;
        return samba_fail(s, SAMBA_EARG,
                          "in %s: input %d, %s, belongs to another session; copy "
                          "its values with samba_copy_out and samba_from_data_copy",
                          op->name, i, in[i]->name);
    }
    return true;
}

/* The leaf in whose memory t lies: that which the updates that led to t overwrote; or t. */
SAMBA__FN const samba_tensor *samba__memory_of_state(const samba_tensor *t)
{
    return t->memory ? t->memory : t;
}

/* Notes which leaves a new node overwrites. */
SAMBA__FN void samba__note_updates(samba__node *n)
{
    for (int32_t o = 0; o < n->n_out; o++) {
        int32_t i = samba__updated_input(n->op, o);
        samba_tensor *y = n->out[o], *state = i < 0 ? NULL : n->in[i];
        if (!state) continue;
        y->memory = state->memory ? state->memory : state;
        SAMBA_ASSERT(!y->memory->memory); /* a leaf has the memory */
        if (n->generated) continue;
        y->write_before = y->memory->last_write;
        y->memory->last_write = y;
    }
}

/* The last node of the current graph that overwrites x; NULL: none. */
SAMBA__FN const samba__node *samba__last_writer(const samba_session *s, const samba_tensor *x)
{
    const samba_tensor *y = samba__memory_of_state(x)->last_write;
    while (y && y->node->graph != s->graph)
        y = y->write_before;
    return y ? y->node : NULL;
}

SAMBA__FN samba__node *samba__new_node(samba_session *s, const samba_op *op,
                                       samba_tensor *const *in, const samba_call *c)
{
    char buffer[160], prefixed[160];
    samba__node *n = (samba__node *)samba__arena_alloc(s, sizeof *n);
    if (!n) return NULL;
    SAMBA_ASSERT(c->n_in <= SAMBA_MAX_IN && c->n_out >= 1 && c->n_out <= SAMBA_MAX_OUT);
    n->op = op;
    n->n_in = c->n_in;
    n->n_out = c->n_out;
    n->n_attr = c->n_attr;
    n->in = (samba_tensor **)samba__arena_alloc(s, sizeof *n->in * (size_t)(c->n_in + 1));
    n->attr = (int32_t *)samba__arena_alloc(s, sizeof *n->attr * (size_t)(c->n_attr + 1));
    const char *base = s->next_name;
    if (!base || s->legacy_names)
        base = samba__print_name(s, buffer, sizeof buffer, "%s_%d", op->name, ++s->n_named);
    s->next_name = NULL;
    if (base && s->op_prefix && !s->generating)
        base = samba__print_name(s, prefixed, sizeof prefixed, "%s%s", s->op_prefix, base);
    n->name = base ? samba__free_name(s, base) : NULL;
    if (!n->in || !n->attr || !n->name) return NULL;
    for (int32_t i = 0; i < c->n_in; i++)
        n->in[i] = in[i];
    for (int32_t i = 0; i < c->n_attr; i++)
        n->attr[i] = c->attr[i];
    n->section = s->section;
    n->graph = s->graph;
    n->generated = s->generating;
    n->gradient = s->differentiating;
    n->id = samba__n_nodes(s);
    n->transient = s->transient;
    for (int32_t o = 0; o < n->n_out; o++) {
        const char *name = o
            ? samba__print_name(s, buffer, sizeof buffer, "%s__outputs__%d", n->name, o)
            : n->name;
        if (o && name) name = samba__free_name(s, name);
        n->out[o] = name ? samba__new_tensor(s, name, &c->out[o], SAMBA__TEMP) : NULL;
        if (!n->out[o]) return NULL;
        n->out[o]->node = n;
        n->out[o]->out_index = o;
    }
    samba__note_updates(n);
    return samba__guarded(s, samba__push_node_body, n) ? n : NULL;
}

/* ---- Printing ---- */
/* Bits in hexadecimal, without leading zeros. */
SAMBA__FN void samba__put_hex(samba__text *t, uint32_t word)
{
    bool begun = false;
    samba__put_text(t, "0x");
    for (int32_t shift = 28; shift >= 0; shift -= 4) {
        uint32_t digit = word >> shift & 15u;
        begun = begun || digit || shift == 0;
        if (begun) samba__put_char(t, (char)(digit < 10 ? '0' + digit : 'a' + digit - 10));
    }
}

SAMBA__FN void samba__put_mask(samba__text *t, uint32_t mask)
{
    const char *before = "(";
    for (int32_t i = 0; i < 32; i++) {
        if (!(mask >> i & 1)) continue;
        samba__format(t, "%s%d", before, i);
        before = ",";
    }
    samba__put_text(t, mask ? ")" : "()");
}

SAMBA__FN void samba__put_attribute(samba__text *t, char kind, int32_t word)
{
    if (kind == 'm')
        samba__put_mask(t, (uint32_t)word);
    else if (kind == 'f')
        samba__format(t, "%g", (double)samba_attr_float(word));
    else if (kind == 'x')
        samba__put_hex(t, (uint32_t)word);
    else if (kind == 't' && word >= 0 && word < SAMBA_N_DTYPES)
        samba__format(t, "%T", word);
    else if (kind == 'b' && (word == 0 || word == 1))
        samba__put_text(t, word ? "yes" : "no");
    else
        samba__format(t, "%d", word);
}

/* " [eps=1e-05 affine=yes]": attributes as what they are; those the list has not, as numbers. */
SAMBA__FN void samba__put_attributes(samba__text *t, const samba_op *op, const int32_t *attr,
                                     int32_t n_attr)
{
    samba__attribute a = samba__attributes_begin(samba__attributes_of(op, n_attr), n_attr);
    if (n_attr == 0) return;
    samba__put_text(t, " [");
    while (samba__next_attribute(&a)) {
        if (a.first && a.n > 0) samba__put_char(t, ' ');
        for (int32_t i = 0; a.n > 0 && i < a.length; i++)
            samba__put_char(t, a.names[i]);
        for (int32_t k = 0; k < a.n; k++) {
            if (k || a.length) samba__put_char(t, k ? ' ' : '=');
            samba__put_attribute(t, a.kind, attr[a.first + k]);
        }
    }
    samba__put_char(t, ']');
}

SAMBA__FN void samba__put_outputs(samba__text *t, const samba__node *n)
{
    samba__put_text(t, " ->");
    for (int32_t o = 0; o < n->n_out; o++)
        samba__format(t, " %T %S", (int)n->out[o]->dtype, &n->out[o]->shape);
}

/* A call for people. And one for comparing: its attributes are the words that they are. */
SAMBA__FN void samba__put_call(samba__text *t, const samba__node *n)
{
    samba__format(t, "%s = %s(", n->name, n->op->name);
    samba__put_inputs(t, n->in, n->n_in);
    samba__put_char(t, ')');
    samba__put_attributes(t, n->op, n->attr, n->n_attr);
    samba__put_outputs(t, n);
}

SAMBA__FN void samba__put_exact_call(samba__text *t, const samba__node *n)
{
    samba__format(t, "%s = %s(", n->name, n->op->name);
    samba__put_inputs(t, n->in, n->n_in);
    samba__put_char(t, ')');
    for (int32_t i = 0; i < n->n_attr; i++)
        samba__format(t, i ? " %d" : " [%d", n->attr[i]);
    if (n->n_attr) samba__put_char(t, ']');
    samba__put_outputs(t, n);
}

SAMBA_API void samba_print_graph(samba_session *s, samba_emit_fn emit, void *user)
{
    char line[2048];
    if (s && emit) {
        for (int32_t i = 0; i < samba__n_nodes(s); i++) {
            samba__text t = samba__text_in(line, sizeof line);
            samba__put_call(&t, s->nodes[i]);
            samba__put_char(&t, '\n');
            if (t.len >= t.cap) memcpy(line + sizeof line - 5, "...\n", 5);
            emit(line, user);
        }
    }
}

SAMBA_API void samba_print_ops(samba_emit_fn emit, void *user)
{
    char line[256];
    if (emit) {
        for (int32_t i = 0; i < SAMBA__N_OPS; i++) {
            const samba_op *op = &samba__op_table[i];
            emit(samba__print(line, sizeof line, "%s\t%d\n", op->name, (int32_t)op->wire), user);
        }
    }
}

/* ==== [initial-values] ======================================================================== */
/* The values that tensors begin with, and where their current ones are. */
/* The x below which the normal distribution has the mass u = (k + 1/2) / 2^32. On the side with
   less than half of it, p: x = t - N(t) / D(t) with t = sqrt(-2 log p), fitted to 3.3 10^-5 (the
   form is Hastings', 1955), and one step of Newton's to Q(x) = p. Absolute error 2.7 10^-7. */
SAMBA__INLINE float samba__normal_quantile(uint32_t k)
{
    uint32_t upper = k >> 31, m = upper ? ~k : k;
    float p = samba__fma((float)(int32_t)m, 2.3283064365386963e-10f, 1.1641532182693481e-10f);
    float t = samba__sqrt(-2.0f * samba__log(p));
    float n = samba__poly(t, 2.70013623f, 1.63829539f, 0.02066536f, 0.0f);
    float x = t - n / samba__poly(t, 1.0f, 1.99313959f, 0.439501f, 0.0f);
    x = samba__fma(2.506628275f, samba__normal_tail(x) - p / samba__gauss(1.0f, x), x);
    return upper ? x : -x;
}

/* The values y (n) of a tensor; threads share them by blocks of four. */
typedef struct samba__filling {
    uint8_t *y;
    samba_dtype dtype;
    int64_t n;
    samba_init init;
    bool inverse, cut; /* transform sampling of normal values; bf16 is cut */
    uint64_t key;
} samba__filling;

/* Values of an initial distribution, four for each block of the generator, whose number and key
   decide alone. Many blocks beside each other suit vectors. */
enum { SAMBA__DRAWN = 256 };

/* x[i] in [-1,1). */
SAMBA__KERNEL void samba__draw_uniform(const uint32_t *w, float *x)
{
    for (int i = 0; i < SAMBA__DRAWN; i++)
        x[i] = samba__fma(samba__unit(w[i]), 2.0f, -1.0f);
}

/* Pairs of independent normal values: Box, Muller, "A note on the generation of random normal
   deviates", 1958. */
SAMBA__KERNEL void samba__draw_normal(const uint32_t *w, float *x)
{
    for (int i = 0; i < SAMBA__DRAWN; i += 2) {
        float r = samba__sqrt(-2.0f * samba__log(samba__open_unit(w[i])));
        float u = samba__unit(w[i + 1]);
        x[i] = r * samba__sin_2pi(u, 1); /* cos */
        x[i + 1] = r * samba__sin_2pi(u, 0);
    }
}

/* Normal values, one for each word, by the inverse of their distribution. */
SAMBA__KERNEL void samba__draw_inverse(const uint32_t *w, float *x)
{
    for (int i = 0; i < SAMBA__DRAWN; i++)
        x[i] = samba__normal_quantile(w[i]);
}

/* What is drawn has one of three types; all others begin as zeros. */
SAMBA__KERNEL void samba__store_drawn(uint8_t *y, const float *x, samba_dtype dtype, int64_t n)
{
    if (dtype == SAMBA_F32)
        samba__store(y, x, SAMBA_F32, n);
    else if (dtype == SAMBA_BF16)
        samba__store(y, x, SAMBA_BF16, n);
    else
        samba__store(y, x, SAMBA_F16, n);
}

SAMBA__KERNEL void samba__fill_kernel(const samba__filling *f, int64_t begin, int64_t end)
{
    uint32_t w[SAMBA__DRAWN];
    float x[SAMBA__DRAWN];
    for (int64_t block = begin, n; block < end; block += n) {
        n = samba__min64(SAMBA__DRAWN / 4, end - block);
        for (int b = 0; b < SAMBA__DRAWN / 4; b++) /* the last ones may be too many */
            samba__philox_words(f->key, (uint64_t)(block + b), 0, w + 4 * b);
        if (f->init.kind != SAMBA_INIT_NORMAL)
            samba__draw_uniform(w, x);
        else if (f->inverse)
            samba__draw_inverse(w, x);
        else
            samba__draw_normal(w, x);
        for (int i = 0; i < SAMBA__DRAWN; i++)
            x[i] = samba__fma(f->init.scale, x[i], f->init.value);
        if (f->cut) {
            for (int i = 0; i < SAMBA__DRAWN; i++)
                x[i] = samba__from_bf16(samba__cut_bf16(x[i]));
        }
        uint8_t *y = f->y + 4 * block * (int64_t)samba_dtype_size(f->dtype);
        samba__store_drawn(y, x, f->dtype, samba__min64(4 * n, f->n - 4 * block));
    }
}

#if SAMBA__SIMD
SAMBA__AVX2_FN SAMBA__FN void samba__fill_run_avx2(const samba__filling *f, int64_t begin,
                                                   int64_t end)
{
    samba__fill_kernel(f, begin, end);
}
#endif

SAMBA__FN void samba__fill_job(void *context, int64_t begin, int64_t end, int32_t thread)
{
    const samba__filling *f = (const samba__filling *)context;
    (void)thread;
#if SAMBA__SIMD
    if (samba__best_isa() != SAMBA__ISA_PORTABLE) {
        samba__fill_run_avx2(f, begin, end);
        return;
    }
#endif
    samba__fill_kernel(f, begin, end);
}

SAMBA__FN samba_init samba__init_of(samba_init_kind kind, float value, float scale)
{
    samba_init init;
    init.kind = kind;
    init.value = value;
    init.scale = scale;
    return init;
}

SAMBA__FN samba_init samba__all(float value)
{
    return samba__init_of(SAMBA_INIT_CONSTANT, value, 0.0f);
}

SAMBA__FN bool samba__begins_zero(const samba_tensor *t)
{
    return !samba__is_float(t->dtype)
        || (t->init.kind == SAMBA_INIT_CONSTANT && t->init.value == 0.0f);
}

/* The value t begins with. As many threads draw as there are pieces. */
SAMBA__FN void samba__begin_value(const samba_tensor *t, void *to)
{
    samba_session *s = t->session;
    bool param = t->role == SAMBA__WEIGHT;
    samba__filling f;
    if (samba__begins_zero(t)) {
        memset(to, 0, samba__host_bytes(t));
        return;
    }
    f.y = (uint8_t *)to;
    f.dtype = t->dtype;
    f.n = samba_count(&t->shape);
    f.init = t->init;
    f.cut = t->dtype == SAMBA_BF16 && s->cuts_bf16;
    f.inverse = param && s->lazy.inverse_transform_sampling && f.init.kind == SAMBA_INIT_NORMAL;
    f.key = samba__stream_key(param && s->lazy.seed ? s->lazy.seed : s->seed, t->name);
    int64_t blocks = samba__ceil_div(f.n, 4);
    int64_t pieces = param && s->lazy.init_threads ? s->lazy.init_threads : blocks;
    samba__pool_run(&s->pool, samba__fill_job, &f, blocks,
                    samba__max64(samba__ceil_div(blocks, pieces), 1024));
}

/* Host memory for a value that is about to be written, once. */
SAMBA__FN bool samba__own_room(samba_tensor *t)
{
    if (!t->data) t->data = samba__alloc(t->session, samba__host_bytes(t));
    return t->data != NULL;
}

/* Host memory with the value a tensor begins with, unless it has another already. */
SAMBA__FN bool samba__own_data(samba_tensor *t)
{
    if (t->data) return true;
    if (samba__own_room(t)) samba__begin_value(t, t->data);
    return t->data != NULL;
}

/* Parameters, state and gradients of losses get their first values when something needs them, most
   of them straight in the memory of a loaded program. */
SAMBA__FN bool samba__begins_late(const samba_tensor *t)
{
    bool grad = t->role == SAMBA__INPUT && t->init.value != 0.0f; /* of a loss */
    return (grad || t->role == SAMBA__WEIGHT || t->role == SAMBA__STATE) && !t->data;
}

/* Its memory, in the loaded program or on the host; NULL if it has none. */
SAMBA__FN void *samba__place_of(const samba_tensor *t)
{
    const samba_session *s = t->session;
    return s->rt && t->symbol >= 0 && !t->withheld ? s->rt->data[t->symbol] : t->data;
}

/* Where the current value of t is: in the loaded program, or on the host; NULL if it has none. */
SAMBA__FN void *samba__value_of(samba_tensor *t)
{
    const samba_session *s = t->session;
    if (t->holder) t = t->holder;
    bool on_device = s->rt && t->symbol >= 0 && !t->withheld;
    if (samba__begins_late(t) && !on_device) samba__own_data(t);
    return samba__place_of(t);
}

/* May the memory of t be touched? Not if it lies in a mapped file that somebody cut. */
SAMBA__FN bool samba__in_reach(const samba_tensor *t)
{
    samba_session *s = t->session;
    const samba__file *file = &s->file;
    const uint8_t *at = (const uint8_t *)samba__place_of(t->holder ? t->holder : t);
    bool mapped = file->mapped && at >= file->bytes && at < file->bytes + file->size;
    return !mapped || file->kept(s);
}

/* Does t hold the rows of all microbatches? Its shape is that of one. */
SAMBA__FN bool samba__holds_parts(const samba_tensor *t)
{
    const samba_session *s = t->session;
    bool loaded = s->rt && t->symbol >= 0 && !t->withheld;
    return loaded && samba__symbol_at(&s->rt->pef, (uint32_t)t->symbol).per_microbatch;
}

/* ==== [eager] ================================================================================= */
/* Ops that are computed at once, and the scopes that free what they made. */
SAMBA__FN bool samba__eager_pointers(samba__node *n, samba_args *a)
{
    samba_session *s = n->out[0]->session;
    for (int32_t i = 0; i < n->n_in; i++) {
        samba_tensor *x = n->in[i];
        if (x && samba__holds_parts(x))
            return samba_fail(s, SAMBA_ESTATE,
                              "in %s: %s %S holds the rows of all microbatches; "
                              "to compute with them, copy them to a tensor of as many rows: "
                              "samba_copy_out, samba_from_data",
                              n->op->name, x->name, &x->shape);
        if (x && !samba__in_reach(x)) return false;
        a->in[i] = x ? (const float *)samba__value_of(x) : NULL;
        if (!x || a->in[i]) continue;
        return samba_fail(s, SAMBA_ESTATE,
                          "in %s: %s has no value to compute with; give it one "
                          "with samba_write, or record the op with samba_set_tracing(s, true)",
                          n->op->name, x->name);
    }
    for (int32_t o = 0; o < n->n_out; o++) {
        int32_t updated = samba__updated_input(n->op, o);
        if (updated < 0 && !samba__own_data(n->out[o])) return false;
        a->out[o] = (float *)samba__value_of(updated < 0 ? n->out[o] : n->in[updated]);
        n->out[o]->role = SAMBA__CONSTANT;
        samba_tensor *state = updated < 0 ? NULL : n->in[updated];
        n->out[o]->holder = state && state->holder ? state->holder : state;
    }
    return true;
}

/* "label holds 7 at [5], which is out of range 0 ... 2". */
SAMBA__FN void samba__print_fault(char *text, size_t size, const int32_t *fault, const char *name,
                                  const samba_shape *shape)
{
    samba__text t = samba__text_in(text, size);
    int32_t element = fault[SAMBA__FAULT_ELEMENT];
    samba__format(&t, "%s holds %l", name ? name : "an input",
                  samba__fault_number(fault + SAMBA__FAULT_VALUE));
    bool told = shape && shape->ndim > 0 && element < INT32_MAX && element < samba_count(shape);
    int32_t dims = told ? shape->ndim : 0;
    for (int32_t i = 0; i < dims; i++) {
        int64_t inner = samba__inner(shape, i);
        samba__format(&t, i ? ",%l" : " at [%l", element / inner % shape->dim[i]);
    }
    samba__put_text(&t, told ? "], which is out of range" : ", which is out of range");
    int64_t least = samba__fault_number(fault + SAMBA__FAULT_LEAST);
    int64_t most = samba__fault_number(fault + SAMBA__FAULT_MOST);
    if (least <= most) samba__format(&t, " %l ... %l", least, most);
}

/* Computes a recorded node at once, through the same kernels as a compiled program. */
SAMBA__FN bool samba__run_eager(samba_session *s, samba__node *n, const samba_call *c)
{
    int32_t fault[SAMBA__FAULT_WORDS] = { 0 };
    samba_work w;
    samba_args a = SAMBA__ZEROED;
    n->eager = true;
    if (!samba__eager_pointers(n, &a)) return false;
    samba__measure(n->op, c, &w);
    a.in_spec = c->in;
    a.out_spec = c->out;
    a.n_in = n->n_in;
    a.n_out = n->n_out;
    a.attr = n->attr;
    a.n_attr = n->n_attr;
    a.isa = s->desc.portable ? SAMBA__ISA_PORTABLE : samba__best_isa();
    a.train = s->train;
    a.running_stats = s->running_stats;
    a.fault = fault;
    void *scratch = w.scratch ? samba__alloc(s, (size_t)w.scratch + SAMBA__ALIGN) : NULL;
    if (w.scratch && !scratch) return false;
    a.scratch
        = scratch ? (uint8_t *)scratch + (SAMBA__ALIGN - (uintptr_t)scratch % SAMBA__ALIGN) : NULL;
    SAMBA_ASSERT((uintptr_t)a.scratch % SAMBA__ALIGN == 0);
    bool fine = samba__run_op(n->op, &a, &w, &s->pool, s->local);
    samba__free(s, scratch, (size_t)w.scratch + SAMBA__ALIGN);
    if (fine) return true;
    int32_t which = fault[SAMBA__FAULT_INPUT];
    const samba_tensor *x = which >= 0 && which < n->n_in ? n->in[which] : NULL;
    char what[200];
    samba__print_fault(what, sizeof what, fault, x ? x->name : NULL, x ? &x->shape : NULL);
    return samba_fail(s, SAMBA_ERANGE, "in %s: %s", n->op->name, what);
}

/* ---- Scopes ---- */
SAMBA_API bool samba_scope_begin(samba_session *s)
{
    if (!samba_ok(s)) return false;
    samba__chunk *chunk = s->scope_chunks;
    size_t used = chunk ? chunk->used : 0;
    samba__scope *q = (samba__scope *)samba__arena_alloc_in(s, &s->scope_chunks, sizeof *q);
    if (!q) return false;
    q->outer = s->scope;
    q->chunk = chunk;
    q->used = used;
    q->n_tensors = samba__n_tensors(s);
    q->n_nodes = samba__n_nodes(s);
    q->n_named = s->n_named;
    s->scope = q;
    return true;
}

/* A scope cannot end if the loaded program has one of its tensors, or a traced op reads one. */
SAMBA__FN bool samba__scope_can_end(samba_session *s, const samba__scope *q)
{
    for (int32_t i = q->n_tensors; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->tensors[i];
        if (t->transient && s->rt && t->symbol >= 0)
            return samba_fail(s, SAMBA_ESTATE,
                              "in samba_scope_end: the loaded program has %s, "
                              "which was made in the scope; nothing was freed",
                              t->name);
    }
    for (int32_t i = q->n_nodes; i < samba__n_nodes(s); i++) {
        const samba__node *n = s->nodes[i];
        if (!n->transient) {
            for (int32_t k = 0; k < n->n_in; k++)
                if (n->in[k] && n->in[k]->transient)
                    return samba_fail(s, SAMBA_ESTATE,
                                      "in samba_scope_end: %s, which was made in the "
                                      "scope, is read by %s, which was traced; nothing was freed",
                                      n->in[k]->name, n->name);
        }
    }
    return true;
}

/* Frees the chunks behind the mark but for one, which the next scope takes: a loop over scopes then
   allocates nothing. */
SAMBA__FN void samba__scope_rewind(samba_session *s, const samba__scope *scope)
{
    samba__scope q = *scope; /* it lies in what goes */
    while (s->scope_chunks != q.chunk && (q.chunk || s->scope_chunks->next)) {
        SAMBA_ASSERT(s->scope_chunks); /* the mark is in the list */
        samba__chunk *c = s->scope_chunks;
        s->scope_chunks = c->next;
        samba__free(s, c, c->size);
    }
    samba__chunk *first = s->scope_chunks;
    first->used = q.chunk ? q.used : (sizeof *first + 15) & ~(size_t)15;
    s->scope = q.outer;
    s->n_named = q.n_named;
    samba__arena_free(s, &s->temp_chunks); /* of long names */
}

SAMBA_API bool samba_scope_end(samba_session *s)
{
    if (!s) return false;
    if (!s->scope) return samba_fail(s, SAMBA_ESTATE, "in samba_scope_end: no scope has begun");
    samba__scope *q = s->scope;
    if (s->poisoned || !samba__scope_can_end(s, q)) {
        s->scope = q->outer; /* its memory stays until an outer one ends, or all */
        return false;
    }
    for (int32_t i = samba__n_tensors(s) - 1; i >= q->n_tensors; i--) { /* the latest first */
        samba_tensor *t = s->tensors[i];
        if (!t->transient) continue;
        if (t->memory && t->memory->last_write == t) t->memory->last_write = t->write_before;
        if (t->borrowed) continue;
        samba__free(s, t->data, samba__host_bytes(t));
        t->data = NULL;
    }
    if (!samba__guarded(s, samba__drop_scope_body, q)) return false;
    samba__scope_rewind(s, q);
    return samba_ok(s);
}

/* ==== [record] ================================================================================ */
/* Where every op arrives: it is recorded as a node, and computed at once unless the session
   traces. */
/* Do the results of op become bf16? Sums and losses do not. */
SAMBA__FN bool samba__is_rounded(const samba_op *op, const samba_tensor *y)
{
    samba__class is = samba__class_of(op);
    bool kept = is == SAMBA__IS_MOVES || is == SAMBA__IS_REDUCTION || is == SAMBA__IS_LOSS
        || samba__updates(op);
    return !kept && y->dtype == SAMBA_F32 && y->shape.ndim > 0;
}

static samba_tensor *samba__rounded(samba_tensor *x)
{
    const int32_t half = SAMBA_BF16, full = SAMBA_F32;
    if (!x || x->dtype != SAMBA_F32 || x->role == SAMBA__WEIGHT) return x;
    const samba__node *n = x->node;
    if (n && samba__is(n->op, SAMBA__OP_cast) && n->in[0]->dtype == SAMBA_BF16) return x;
    return samba__emit1(SAMBA__OP_cast, samba__emit1(SAMBA__OP_cast, x, &half, 1), &full, 1);
}

/* Does op overwrite, through another input, the state in whose memory input k lies? */
SAMBA__FN bool samba__overwrites_input(const samba_op *op, samba_tensor *const *in, int32_t n_in,
                                       int32_t k)
{
    bool other = false;
    if (!in[k]) return false;
    for (int32_t o = 0; o < SAMBA_MAX_OUT; o++) {
        int32_t u = samba__updated_input(op, o);
        if (u == k) return false;
        if (u < 0 || u >= n_in || !in[u]) continue;
        other = other || samba__memory_of_state(in[u]) == samba__memory_of_state(in[k]);
    }
    return other;
}

SAMBA__FN samba_tensor *samba__emit_op(samba_session *s, const samba_op *op,
                                       samba_tensor *const *in, int32_t n_in, const int32_t *attr,
                                       int32_t n_attr, samba_tensor **outs)
{
    samba_spec spec[SAMBA_MAX_IN];
    samba_call c = SAMBA__ZEROED;
    if (!samba_ok(s)) return NULL;
    c.in = spec;
    c.attr = attr;
    c.n_in = n_in;
    c.n_attr = n_attr;
    if (n_in > SAMBA_MAX_IN || n_attr > SAMBA_MAX_ATTR)
        return samba__none(samba_fail(s, SAMBA_EARG,
                                      "in %s: %d inputs and %d attributes are "
                                      "too many",
                                      op->name, n_in, n_attr));
    bool user = s->tracing && !s->generating;
    samba_tensor *read[SAMBA_MAX_IN];
    if (user && s->graphamp && samba__class_of(op) == SAMBA__IS_PRODUCT) {
        for (int32_t i = 0; i < n_in; i++)
            read[i] = samba__rounded(in[i]);
        in = read;
    }
    if (!samba__check_inputs(s, op, in, n_in)) return NULL;
    if (!s->generating) {
        for (int32_t i = 0; i < n_in; i++) { /* it is read as it was: a copy */
            if (!samba__overwrites_input(op, in, n_in, i)) continue;
            if (in != read) {
                memcpy(read, in, (size_t)n_in * sizeof *read);
                in = read;
            }
            read[i] = samba__emit1(SAMBA__OP_reshape, in[i], in[i]->shape.dim, in[i]->shape.ndim);
        }
    }
    for (int32_t i = 0; i < n_in; i++)
        spec[i] = samba__spec_of(in[i]);
    if (s->legacy_names && samba__is(op, SAMBA__OP_batch_norm))
        return samba__none(samba_fail(s, SAMBA_ESTATE,
                                      "in samba_batch_normalize: legacy names must "
                                      "be off for models with batchnorm"));
    if (!samba__infer(op, &c)) return samba__none(samba__fail_call(s, op, in, &c));
    s->transient = s->scope && !s->tracing;
    samba__node *n = samba__new_node(s, op, in, &c);
    s->transient = false;
    if (!n || (!s->tracing && !samba__run_eager(s, n, &c))) return NULL;
    if (outs) {
        for (int32_t o = 0; o < n->n_out; o++)
            outs[o] = n->out[o];
    }
    samba_tensor *y = n->out[0];
    if (user && s->graphamp == SAMBA_MP4 && samba__is_rounded(op, y)) y = samba__rounded(y);
    return user && s->on_trace ? s->on_trace(op, n->in, n_in, y, s->on_trace_user) : y;
}

static samba_tensor *samba__emit(samba_session *s, int32_t op, samba_tensor *const *in,
                                 int32_t n_in, const int32_t *attr, int32_t n_attr,
                                 samba_tensor **outs)
{
    return samba__emit_op(s, &samba__op_table[op], in, n_in, attr, n_attr, outs);
}

SAMBA_API bool samba_on_trace(samba_session *s, samba_trace_fn fn, void *user)
{
    if (!samba_ok(s)) return false;
    s->on_trace = fn;
    s->on_trace_user = user;
    return true;
}

SAMBA_API samba_graphamp samba_set_graphamp(samba_session *s, samba_graphamp preset)
{
    samba_graphamp former = s ? s->graphamp : SAMBA_MP0;
    if (!samba_ok(s)) return former;
    if (preset == SAMBA_MP0 || preset == SAMBA_MP1 || preset == SAMBA_MP4)
        s->graphamp = preset;
    else
        samba_fail(s, SAMBA_EARG,
                   "in samba_set_graphamp: there is no preset mp%d; there are mp0, "
                   "mp1 and mp4",
                   (int32_t)preset);
    return former;
}

SAMBA_API bool samba_use_legacy_names(samba_session *s, bool use)
{
    if (!samba_ok(s)) return false;
    if (use) {
        for (int32_t i = 0; i < samba__n_nodes(s); i++)
            if (samba__is(s->nodes[i]->op, SAMBA__OP_batch_norm))
                return samba_fail(s, SAMBA_ESTATE,
                                  "in samba_use_legacy_names: legacy names must be "
                                  "off for models with batchnorm, and there is %s",
                                  s->nodes[i]->name);
    }
    s->legacy_names = use;
    return true;
}

SAMBA_API bool samba_set_op_prefix(samba_session *s, const char *prefix)
{
    if (!samba_ok(s)) return false;
    if (s->scope) /* whose memory the copy would be in */
        return samba_fail(s, SAMBA_ESTATE, "in samba_set_op_prefix: call it outside of scopes");
    s->op_prefix = prefix ? samba__arena_text(s, prefix) : NULL;
    return !prefix || s->op_prefix;
}

SAMBA_API bool samba_begin_graph(samba_session *s, const char *name)
{
    if (!samba_ok(s)) return false;
    if (!name || !*name) return samba_fail(s, SAMBA_EARG, "in samba_begin_graph: a name is needed");
    s->counter = NULL; /* each graph counts its own runs */
    for (int32_t i = 0; i < samba__n_nodes(s); i++) {
        s->graph = s->nodes[i]->graph;
        if (s->graph && samba__same_text(s->graph, name)) return true;
    }
    s->graph = samba__arena_text(s, name);
    return s->graph != NULL;
}

/* ==== [ops-by-name] =========================================================================== */
/* samba_apply: ops by their names; and ops of your own. */
SAMBA_API const samba_op *samba_op_at(const samba_session *s, int32_t i)
{
    if (i < 0) return NULL;
    if (i < SAMBA__N_OPS) return &samba__op_table[i];
    return s && i - SAMBA__N_OPS < samba__n_user_ops(s) ? s->user_ops[i - SAMBA__N_OPS] : NULL;
}

SAMBA__FN bool samba__fail_op(samba_session *s, const char *name)
{
    const char *nearest = "";
    size_t best = SAMBA__NO_SIZE;
    if (!name) return samba_fail(s, SAMBA_EARG, "in samba_apply: the name of the op is NULL");
    for (int32_t i = 0; samba_op_at(s, i); i++) {
        const samba_op *op = samba_op_at(s, i);
        size_t d = samba__distance(op->name, name);
        if (d < best) {
            best = d;
            nearest = op->name;
        }
    }
    return samba_fail(s, SAMBA_EOP,
                      "no op is called %s; the nearest name is %s; register your "
                      "own with samba_register_op before its first use",
                      name, nearest);
}

/* Records or computes the op called name, with room for all of its outputs. */
SAMBA__FN samba_tensor *samba__apply(samba_session *s, const char *name, samba_tensor *const *in,
                                     int32_t n_in, const int32_t *attr, int32_t n_attr,
                                     samba_tensor **outs)
{
    if (!samba_ok(s)) return NULL;
    if (n_in < 0 || (n_in && !in) || n_attr < 0 || (n_attr && !attr))
        return samba__none(samba_fail(s, SAMBA_EARG,
                                      "in samba_apply(%s): %d inputs and %d "
                                      "attributes are announced but not given",
                                      name, n_in, n_attr));
    const samba_op *op = samba__find_op(0, name, s->user_ops, samba__n_user_ops(s));
    if (!op) return samba__none(samba__fail_op(s, name));
    samba_tensor *y = samba__emit_op(s, op, in, n_in, attr, n_attr, outs);
    outs[0] = y; /* samba_on_trace may have put another one in its place */
    return y;
}

SAMBA_API samba_tensor *samba_apply(samba_session *s, const char *name, samba_tensor *const *in,
                                    int32_t n_in, const int32_t *attr, int32_t n_attr)
{
    samba_tensor *outs[SAMBA_MAX_OUT] = { NULL, NULL, NULL, NULL };
    return samba__apply(s, name, in, n_in, attr, n_attr, outs);
}

SAMBA_API int32_t samba_apply_all(samba_session *s, const char *name, samba_tensor *const *in,
                                  int32_t n_in, const int32_t *attr, int32_t n_attr,
                                  samba_tensor **out, int32_t cap)
{
    samba_tensor *outs[SAMBA_MAX_OUT] = { NULL, NULL, NULL, NULL };
    int32_t n = 0;
    if (!samba__apply(s, name, in, n_in, attr, n_attr, outs)) return 0;
    for (; n < SAMBA_MAX_OUT && outs[n]; n++)
        if (out && n < cap) out[n] = outs[n];
    return n;
}

SAMBA_API bool samba_register_op(samba_session *s, const samba_op *op)
{
    if (!samba_ok(s)) return false;
    bool complete = op && op->name && op->kernel && (op->shape || op->signature);
    bool fine = (complete
                 || samba_fail(s, SAMBA_EARG,
                               "in samba_register_op: an op needs a name, "
                               "a kernel, and a signature or a shape rule"))
        && (op->wire >= SAMBA__FIRST_USER_WIRE
            || samba_fail(s, SAMBA_EARG,
                          "in samba_register_op: %s has wire number %d; numbers "
                          "below 32768 belong to samba.h",
                          op->name, (int32_t)op->wire))
        && (!samba__find_op(op->wire, op->name, s->user_ops, samba__n_user_ops(s))
            || samba_fail(s, SAMBA_ENAME,
                          "in samba_register_op: the name %s or the number %d "
                          "is taken",
                          op->name, (int32_t)op->wire));
    if (!fine) return false;
    samba_op *copy = (samba_op *)samba__arena_alloc(s, sizeof *copy);
    if (!copy) return false;
    *copy = *op;
    return samba__guarded(s, samba__push_op_body, copy);
}

/* ==== [leaves] ================================================================================ */
/* Names are printed, compared line by line, and get endings such as __grad. */
SAMBA__FN bool samba__good_name(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ') return false;
    return true;
}

/* The name of a new leaf is taken. What the compiler makes has no other name: the user's tensor is
   to get one. */
SAMBA__FN bool samba__fail_taken(samba_session *s, const samba_tensor *other, samba_dtype dtype,
                                 const samba_shape *shape)
{
    if (s->generating)
        return samba_fail(s, SAMBA_ENAME,
                          "the compiled program has a tensor %T %S of its own that "
                          "is called %s, and so is your tensor %T %S: give yours another name",
                          (int)dtype, shape, other->name, (int)other->dtype, &other->shape);
    return samba_fail(s, SAMBA_ENAME,
                      "the name %s is used twice: %T %S has it already; choose "
                      "another for %T %S",
                      other->name, (int)other->dtype, &other->shape, (int)dtype, shape);
}

/* Can there be a new leaf so called? A name that is taken is an error that says by what. */
SAMBA__FN bool samba__check_leaf(samba_session *s, const char *name, samba_dtype dtype,
                                 const samba_shape *shape)
{
    if (!name || !*name)
        return samba_fail(s, SAMBA_ENAME, "a tensor %S needs a name that is not empty", shape);
    const samba_tensor *other = samba__named(s, name);
    return (samba__good_name(name)
            || samba_fail(s, SAMBA_ENAME, "the name of a tensor %S has control characters", shape))
        && ((unsigned)dtype < SAMBA_N_DTYPES
            || samba_fail(s, SAMBA_EDTYPE,
                          "%s: no type has the number %d; use SAMBA_F32, "
                          "SAMBA_I32 ...",
                          name, (int32_t)dtype))
        && (samba__sound_shape(shape)
            || samba_fail(s, SAMBA_ESHAPE,
                          "%s: the shape %S cannot be made; use 0 to %d "
                          "dimensions of at least 1",
                          name, shape, SAMBA_MAX_DIMS))
        && (!other || samba__fail_taken(s, other, dtype, shape));
}

SAMBA__FN samba_tensor *samba__new_leaf(samba_session *s, const char *name, samba_dtype dtype,
                                        const samba_shape *shape, int32_t role)
{
    samba_spec spec;
    spec.dtype = dtype;
    spec.shape = *shape;
    if (!samba_ok(s) || !samba__check_leaf(s, name, dtype, shape)) return NULL;
    s->transient = s->scope && !s->tracing && role == SAMBA__INPUT;
    char *copy = samba__arena_text(s, name);
    samba_tensor *t = copy ? samba__new_tensor(s, copy, &spec, role) : NULL;
    s->transient = false;
    if (t && role == SAMBA__INPUT && shape->ndim > 0) t->batch_dim = 0;
    return t;
}

/* t with host memory of its own that is about to be filled; NULL if there is none. What a loaded
   program has of t is another value from then on. */
SAMBA__FN samba_tensor *samba__with_room(samba_tensor *t, samba_init init)
{
    if (!t) return NULL;
    if (t->borrowed) t->data = NULL; /* the caller's: not to be written */
    t->borrowed = t->settled = false;
    t->init = init;
    t->copied = 0;
    if (!samba__own_room(t)) return NULL;
    if (t->symbol < 0) t->has_value = true;
    return t;
}

/* t with its first value in memory; NULL if there is none. */
SAMBA__FN samba_tensor *samba__with_data(samba_tensor *t, samba_init init)
{
    t = samba__with_room(t, init);
    if (t) samba__begin_value(t, t->data);
    return t;
}

/* After tracing, making an input of the loaded program again means the same tensor with new data:
   applications build the inputs of each run anew. NULL: name is no such input. */
SAMBA__FN samba_tensor *samba__input_again(samba_session *s, const char *name)
{
    samba_tensor *t = samba_ok(s) && !s->tracing && name ? samba__named(s, name) : NULL;
    return t && t->role == SAMBA__INPUT && t->symbol >= 0 ? t : NULL;
}

SAMBA_API samba_tensor *samba_input(samba_session *s, const char *name, samba_dtype dtype,
                                    samba_shape shape)
{
    samba_tensor *t = samba__input_again(s, name);
    if (!t) return samba__new_leaf(s, name, dtype, &shape, SAMBA__INPUT);
    if (t->dtype != dtype || !samba__same_shape(&t->shape, &shape))
        return samba__none(samba_fail(s, SAMBA_ESHAPE,
                                      "the input %s is %T %S here, but %T %S in "
                                      "the loaded program: data of a run has the shape and type it "
                                      "was compiled for; for another one, compile again",
                                      name, (int)dtype, &shape, (int)t->dtype, &t->shape));
    t->removed = false;
    return t;
}

SAMBA_API void samba_random(uint64_t seed, const char *name, uint64_t block, uint32_t words[4])
{
    if (words) samba__philox(samba__stream_key(seed, name ? name : ""), block, 0, words);
}

SAMBA_API samba_tensor *samba_randn(samba_session *s, const char *name, samba_shape shape)
{
    return samba__with_data(samba_input(s, name, SAMBA_F32, shape),
                            samba__init_of(SAMBA_INIT_NORMAL, 0.0f, 1.0f));
}

SAMBA_API samba_tensor *samba_rand(samba_session *s, const char *name, samba_shape shape)
{
    return samba__with_data(samba_input(s, name, SAMBA_F32, shape),
                            samba__init_of(SAMBA_INIT_UNIFORM, 0.5f, 0.5f));
}

SAMBA_API samba_tensor *samba_randint(samba_session *s, const char *name, int32_t high,
                                      samba_shape shape)
{
    uint32_t w[4] = { 0, 0, 0, 0 };
    if (samba_ok(s) && high < 1)
        samba_fail(s, SAMBA_EARG, "in samba_randint(%s): high is %d, not at least 1", name, high);
    samba_tensor *t = samba__with_data(samba_input(s, name, SAMBA_I32, shape), samba__all(0.0f));
    if (!t) return NULL;
    uint64_t key = samba__stream_key(s->seed, t->name);
    for (int64_t i = 0; i < samba_count(&shape); i++) {
        if (i % 4 == 0) samba__philox(key, (uint64_t)i / 4, 0, w);
        ((int32_t *)t->data)[i] = (int32_t)((uint64_t)w[i % 4] * (uint32_t)high >> 32);
    }
    return t;
}

/* A named input of one value, whatever its type. */
SAMBA__FN samba_tensor *samba__constant_input(samba_session *s, const char *name, samba_dtype dtype,
                                              samba_shape shape, float value)
{
    samba_tensor *t = samba__with_data(samba_input(s, name, dtype, shape), samba__all(0.0f));
    if (!t) return NULL;
    for (int64_t i = 0; i < samba_count(&shape); i++)
        samba__store((uint8_t *)t->data + (size_t)i * samba_dtype_size(dtype), &value, dtype, 1);
    return t;
}

SAMBA_API samba_tensor *samba_zeros(samba_session *s, const char *name, samba_dtype dtype,
                                    samba_shape shape)
{
    return samba__constant_input(s, name, dtype, shape, 0.0f);
}

SAMBA_API samba_tensor *samba_ones(samba_session *s, const char *name, samba_dtype dtype,
                                   samba_shape shape)
{
    return samba__constant_input(s, name, dtype, shape, 1.0f);
}

SAMBA_API samba_tensor *samba_from_data(samba_session *s, const char *name, samba_dtype dtype,
                                        samba_shape shape, void *data)
{
    if (samba_ok(s) && !data)
        samba_fail(s, SAMBA_EARG, "in samba_from_data(%s): data is NULL", name);
    samba_tensor *t = samba_input(s, name, dtype, shape);
    if (!t) return NULL;
    t->settled = false;
    t->copied = 0;
    if (t->symbol < 0) t->has_value = true;
    if (t->data == data) return t; /* its own host copy, or lent again */
    if (!t->borrowed) samba__free(s, t->data, samba__host_bytes(t));
    t->data = data;
    t->borrowed = true;
    return t;
}

SAMBA_API samba_tensor *samba_from_data_copy(samba_session *s, const char *name, samba_dtype dtype,
                                             samba_shape shape, const void *data)
{
    if (samba_ok(s) && !data)
        samba_fail(s, SAMBA_EARG, "in samba_from_data_copy(%s): data is NULL", name);
    samba_tensor *t = samba__with_room(samba_input(s, name, dtype, shape), samba__all(0.0f));
    if (t && t->data != data) memcpy(t->data, data, samba__host_bytes(t));
    return t;
}

SAMBA_API samba_tensor *samba_name(samba_tensor *t, const char *name)
{
    samba__renaming r = { t, NULL };
    if (!t || !samba_ok(t->session)) return NULL;
    samba_session *s = t->session;
    if (name && samba__same_text(t->name, name)) return t;
    if (s->rt && t->symbol >= 0)
        return samba__none(samba_fail(s, SAMBA_ESTATE,
                                      "in samba_name: the loaded program knows %s "
                                      "by this name; give names before compiling",
                                      t->name));
    if (!samba__check_leaf(s, name, t->dtype, &t->shape)) return NULL;
    s->transient = t->transient;
    r.name = samba__arena_text(s, name);
    s->transient = false;
    if (!r.name || !samba__guarded(s, samba__rename_body, &r)) return NULL;
    if (t->node && t->out_index == 0) t->node->name = r.name;
    return t;
}

SAMBA_API int32_t samba_parameters(samba_session *s, samba_tensor **list, int32_t cap)
{
    int32_t n = 0;
    if (!s) return 0;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->tensors[i];
        if (t->role != SAMBA__WEIGHT || t->generated) continue;
        if (list && n < cap) list[n] = t;
        n++;
    }
    return n;
}

SAMBA_API samba_tensor *samba_set_batch_dim(samba_tensor *t, int32_t batch_dim)
{
    if (!t || !samba_ok(t->session)) return NULL;
    if (batch_dim < -1 || batch_dim >= t->shape.ndim)
        return samba__none(samba_fail(t->session, SAMBA_EARG,
                                      "batch_dim %d of %s %S is out of "
                                      "range; -1 means none",
                                      batch_dim, t->name, &t->shape));
    t->batch_dim = batch_dim;
    return t;
}

/* The leaf of this role, name and shape, new or known; init is used when it is new. What the user
   made is never taken for something of the compiler's, nor the other way round; but a packed form
   is known by its shape, whoever loaded it. */
SAMBA__FN samba_tensor *samba__shared_leaf(samba_session *s, const char *name, samba_dtype dtype,
                                           const samba_shape *shape, int32_t role, samba_init init)
{
    samba_tensor *t = s && name ? samba__named(s, name) : NULL;
    if (!samba_ok(s)) return NULL;
    bool known = t && t->role == role && t->dtype == dtype && samba__same_shape(&t->shape, shape);
    if (known && (role == SAMBA__WEIGHT || t->generated == s->generating)) return t;
    t = samba__new_leaf(s, name, dtype, shape, role);
    if (!t) return NULL;
    t->frozen = s->freezes && role == SAMBA__WEIGHT;
    t->generated = s->generating;
    t->init = init;
    t->has_value = true;
    bool now = role == SAMBA__ARGIN || (role == SAMBA__WEIGHT && s->eager_params);
    return now ? samba__with_data(t, init) : t;
}

SAMBA__FN bool samba__check_init(samba_session *s, const char *name, const samba_init *init)
{
    char at[64];
    samba__print(at, sizeof at, "samba_init of %s", name);
    return samba__in_range(s, at, "kind", (int32_t)init->kind, 0.0, SAMBA_INIT_UNIFORM)
        && samba__in_range(s, at, "value", (double)init->value, -SAMBA__MOST, SAMBA__MOST)
        && samba__in_range(s, at, "scale", (double)init->scale, 0.0, SAMBA__MOST);
}

SAMBA_API samba_tensor *samba_param(samba_session *s, const char *name, samba_shape shape,
                                    samba_init init)
{
    samba_dtype dtype = s && shape.ndim == 2 ? s->param_dtype : SAMBA_F32;
    if (samba_ok(s) && name && samba__sound_shape(&shape) && !samba__check_init(s, name, &init))
        return NULL;
    return samba__shared_leaf(s, name, dtype, &shape, SAMBA__WEIGHT, init);
}

SAMBA_API samba_dtype samba_set_param_dtype(samba_session *s, samba_dtype dtype)
{
    samba_dtype former = s ? s->param_dtype : SAMBA_F32;
    if (samba_ok(s) && !samba__is_float(dtype))
        samba_fail(s, SAMBA_EDTYPE,
                   "in samba_set_param_dtype: parameters are f32, bf16 or f16, "
                   "not %T",
                   (int)dtype);
    else if (samba_ok(s))
        s->param_dtype = dtype;
    return former;
}

SAMBA_API samba_tensor *samba_buffer(samba_session *s, const char *name, samba_shape shape,
                                     float value)
{
    return samba__shared_leaf(s, name, SAMBA_F32, &shape, SAMBA__STATE, samba__all(value));
}

/* Parameters that are there may have begun: they are not to begin otherwise. */
SAMBA__FN bool samba__choose_lazy(samba_session *s, const char *what, bool lazy,
                                  const samba_lazy_opts *opts)
{
    static const char *const roundings[2] = { "nearest_even", "truncation" };
    if (!samba_ok(s)) return false;
    for (int32_t i = 0; i < samba__n_tensors(s); i++)
        if (s->tensors[i]->role == SAMBA__WEIGHT)
            return samba_fail(s, SAMBA_ESTATE,
                              "in %s: there is a parameter, %s, already; call it "
                              "before the first one is made",
                              what, s->tensors[i]->name);
    if (opts && !samba__in_range(s, what, "init_threads", opts->init_threads, 0.0, 65536.0))
        return false;
    const char *rounding = opts && opts->rounding ? opts->rounding : roundings[0];
    bool cuts = samba__same_text(rounding, roundings[1]);
    if (!cuts && !samba__same_text(rounding, roundings[0]))
        return samba_fail(s, SAMBA_EARG, "in %s: the rounding %s is unknown; use %s or %s", what,
                          rounding, roundings[0], roundings[1]);
    memset(&s->lazy, 0, sizeof s->lazy);
    if (opts) s->lazy = *opts;
    s->lazy.rounding = NULL; /* the text is the caller's */
    if (lazy && s->lazy.init_threads < 1) s->lazy.init_threads = 8;
    s->eager_params = !lazy;
    s->cuts_bf16 = cuts;
    return true;
}

SAMBA_API bool samba_enable_lazy_param(samba_session *s, const samba_lazy_opts *opts)
{
    return samba__choose_lazy(s, "samba_enable_lazy_param", true, opts);
}

SAMBA_API bool samba_disable_lazy_param(samba_session *s)
{
    return samba__choose_lazy(s, "samba_disable_lazy_param", false, NULL);
}

SAMBA_API bool samba_use_lazy_param(const samba_session *s)
{
    return s && !s->eager_params;
}

/* An argin; or an i32 state that counts. */
SAMBA__FN samba_tensor *samba__scalar(samba_session *s, const char *name, samba_dtype dtype,
                                      int32_t role, float value)
{
    samba_shape scalar = samba_scalar_shape();
    return samba__shared_leaf(s, name, dtype, &scalar, role, samba__all(value));
}

SAMBA_API samba_tensor *samba_number(samba_session *s, float value)
{
    return samba_full(s, samba_scalar_shape(), value);
}

/* ==== [autodiff] ============================================================================== */
/* Reverse mode over the recorded graph; every gradient is made of ops, recorded like any other. It
   visits only what the losses depend on: a session that computes at once has recorded far more. */
typedef struct samba__tape {
    samba_session *session;
    uint32_t mark; /* of the nodes and tensors below */
    int32_t n_nodes, n_tensors;
    int32_t n_before;        /* tensors of the session: what comes later is gradient */
    samba__node **nodes;     /* in trace order, which is topological order */
    samba_tensor **grad;     /* by the place of a tensor */
    bool *needed;            /* depends on something whose gradient is asked for */
    size_t nodes_size, size; /* bytes of the list of nodes, of the two others */
    int32_t room;            /* nodes that fit into their list */
} samba__tape;

SAMBA__FN void samba__tape_close(samba__tape *t)
{
    samba__free(t->session, t->nodes, t->nodes_size);
    samba__free(t->session, t->grad, t->size);
}

SAMBA__FN bool samba__tape_has(const samba__tape *t, const samba_tensor *x)
{
    return x && x->mark == t->mark;
}

SAMBA__FN bool samba__tape_needs(const samba__tape *t, const samba_tensor *x)
{
    return samba__tape_has(t, x) && t->needed[x->place];
}

/* The gradient that x has so far; NULL: none. */
SAMBA__FN samba_tensor *samba__tape_grad(const samba__tape *t, const samba_tensor *x)
{
    return samba__tape_has(t, x) ? t->grad[x->place] : NULL;
}

SAMBA__FN void samba__tape_see_tensor(samba__tape *t, samba_tensor *x)
{
    if (!x || x->mark == t->mark) return;
    x->mark = t->mark;
    x->place = t->n_tensors++;
}

/* Gives x a place in the lists, and appends the node that makes it. */
SAMBA__FN bool samba__tape_see(samba__tape *t, samba_tensor *x)
{
    samba__node *n = x ? x->node : NULL;
    samba__tape_see_tensor(t, x);
    if (!n || n->mark == t->mark) return true;
    if (t->n_nodes == t->room) {
        int32_t room = t->room ? 2 * t->room : 64;
        size_t size = samba__mul_size((size_t)room, sizeof *t->nodes);
        samba__node **more = (samba__node **)samba__alloc(t->session, size);
        if (!more) return false;
        if (t->n_nodes) memcpy(more, t->nodes, (size_t)t->n_nodes * sizeof *more);
        samba__free(t->session, t->nodes, t->nodes_size);
        t->nodes = more;
        t->nodes_size = size;
        t->room = room;
    }
    n->mark = t->mark;
    t->nodes[t->n_nodes++] = n;
    for (int32_t o = 0; o < n->n_out; o++)
        samba__tape_see_tensor(t, n->out[o]);
    return true;
}

SAMBA__FN int samba__by_trace(const void *a, const void *b)
{
    const samba__node *x = *(samba__node *const *)a, *y = *(samba__node *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Finds what the losses depend on. */
SAMBA__FN bool samba__tape_open(samba__tape *t, samba_session *s, samba_tensor *const *losses,
                                int32_t n)
{
    memset(t, 0, sizeof *t);
    t->session = s;
    t->mark = ++s->marks;
    t->n_before = samba__n_tensors(s);
    bool fine = true;
    for (int32_t i = 0; fine && i < n; i++)
        fine = samba__tape_see(t, losses[i]);
    for (int32_t i = 0; fine && i < t->n_nodes; i++) {
        const samba__node *node = t->nodes[i];
        for (int32_t k = 0; fine && k < node->n_in; k++)
            fine = samba__tape_see(t, node->in[k]);
    }
    t->size = (size_t)t->n_tensors * (sizeof *t->grad + sizeof *t->needed);
    if (fine) t->grad = (samba_tensor **)samba__alloc(s, t->size);
    if (!t->grad) {
        t->size = 0;
        samba__tape_close(t);
        return false;
    }
    memset(t->grad, 0, t->size);
    t->needed = (bool *)(t->grad + t->n_tensors);
    if (t->n_nodes) qsort(t->nodes, (size_t)t->n_nodes, sizeof *t->nodes, samba__by_trace);
    return true;
}

SAMBA__FN void samba__tape_want(samba__tape *t, const samba_tensor *x)
{
    if (samba__tape_has(t, x)) t->needed[x->place] = true;
}

/* Marks what depends on the tensors that are wanted. */
SAMBA__FN void samba__tape_spread(samba__tape *t)
{
    for (int32_t i = 0; i < t->n_nodes; i++) {
        const samba__node *n = t->nodes[i];
        bool needed = false;
        for (int32_t k = 0; k < n->n_in; k++)
            needed = needed || samba__tape_needs(t, n->in[k]);
        if (!needed) continue;
        for (int32_t o = 0; o < n->n_out; o++)
            if (samba__is_float(n->out[o]->dtype)) samba__tape_want(t, n->out[o]);
    }
}

/* The axis along which two paddings lie side by side, a before b, and agree otherwise; -1: they do
   not. Both sources are surrounded by zeros. */
SAMBA__FN int32_t samba__side_by_side(const samba__node *a, const samba__node *b)
{
    const samba_shape *x = &a->in[0]->shape, *y = &b->in[0]->shape;
    int32_t axis = -1;
    for (int32_t i = 0; i < x->ndim; i++) {
        const int32_t *p = a->attr + SAMBA__PAD_WORDS * i, *q = b->attr + SAMBA__PAD_WORDS * i;
        if (x->dim[i] == y->dim[i] && !memcmp(p, q, SAMBA__PAD_WORDS * sizeof *p)) continue;
        bool stretched = p[SAMBA__PAD_BETWEEN] || q[SAMBA__PAD_BETWEEN];
        bool follows = p[SAMBA__PAD_BEFORE] + x->dim[i] == q[SAMBA__PAD_BEFORE];
        if (axis >= 0 || stretched || !follows) return -1;
        axis = i;
    }
    int32_t value = SAMBA__PAD_WORDS * x->ndim; /* behind the words of all dimensions */
    return a->attr[value] == 0 && b->attr[value] == 0 ? axis : -1;
}

/* The gradients of slices are padded with zeros: a + b where b continues a is a and b in one piece,
   in which nothing is added. NULL if this is no such sum, or an error. */
SAMBA__FN samba_tensor *samba__join_slices(samba_tensor *a, samba_tensor *b)
{
    const samba_op *pad = &samba__op_table[SAMBA__OP_pad], *cat = &samba__op_table[SAMBA__OP_cat];
    const samba__node *m = a->node, *n = b->node;
    samba_tensor *part[SAMBA_MAX_IN];
    int32_t attr[SAMBA__PAD_WORDS * SAMBA_MAX_DIMS + 1], count = 0, n_attr = m ? m->n_attr : 0;
    if (!m || !n || m->op != pad || n->op != pad) return NULL;
    int32_t axis = samba__side_by_side(m, n);
    const samba__node *rest = n->in[0]->node; /* b may have been joined before */
    bool more = rest && rest->op == cat && rest->attr[SAMBA__AXIS_NUMBER] == axis
        && rest->n_in < SAMBA_MAX_IN;
    if (axis < 0) return NULL;
    part[count++] = m->in[0];
    if (more) {
        for (int32_t i = 0; i < rest->n_in; i++)
            part[count++] = rest->in[i];
    } else {
        part[count++] = n->in[0];
    }
    samba_tensor *joined = samba_cat(part, count, axis);
    memcpy(attr, m->attr, (size_t)n_attr * sizeof *attr);
    int32_t after = SAMBA__PAD_WORDS * axis + SAMBA__PAD_AFTER;
    attr[after] = n->attr[after];
    for (int32_t i = 0; i < n_attr; i++)
        if (attr[i]) return samba__emit1(SAMBA__OP_pad, joined, attr, n_attr);
    return joined;
}

SAMBA__FN bool samba__tape_add(samba__tape *t, const samba__node *n, int32_t i, samba_tensor *din)
{
    samba_tensor *x = n->in[i];
    SAMBA_ASSERT(x->mark == t->mark && x->place < t->n_tensors);
    if (!samba__same_shape(&din->shape, &x->shape))
        return samba_fail(t->session, SAMBA_ESHAPE,
                          "the gradient rule of %s gives %S for input "
                          "%d, %s %S; it must have the input's shape",
                          n->op->name, &din->shape, i, x->name, &x->shape);
    samba_tensor **sum = &t->grad[x->place];
    if (!*sum) {
        *sum = din;
        return true;
    }
    samba_tensor *joined = samba__join_slices(din, *sum);
    if (!joined && samba_ok(t->session)) joined = samba__join_slices(*sum, din);
    *sum = joined ? joined : samba_add(*sum, din);
    return *sum != NULL;
}

/* The gradient of n, nodes from `first` on, comes after the whole forward pass: it cannot read
   state of which n read a former value. batch_norm reads statistics only where none are updated. */
SAMBA__FN bool samba__tape_reads_current(const samba__tape *t, const samba__node *n, int32_t first)
{
    for (int32_t i = first; i < samba__n_nodes(t->session); i++) {
        const samba__node *g = t->session->nodes[i];
        if (samba__is(g->op, SAMBA__OP_batch_norm_backward)) continue;
        for (int32_t k = 0; k < g->n_in; k++) {
            const samba_tensor *x = g->in[k];
            if (!x || x->id >= t->n_before) continue;
            const samba__node *writer = samba__last_writer(t->session, x);
            if (!writer || writer->id <= n->id) continue;
            return samba_fail(t->session, SAMBA_ESTATE,
                              "the gradient of %s reads %s, which %s "
                              "overwrites before; let %s read a copy of it, samba_scale(%s, 1)",
                              n->name, x->name, writer->name, n->name, x->name);
        }
    }
    return true;
}

SAMBA__FN bool samba__tape_node(samba__tape *t, const samba__node *n)
{
    samba_tensor *dout[SAMBA_MAX_OUT] = { NULL, NULL, NULL, NULL };
    SAMBA_ASSERT(n->mark == t->mark);
    bool flows = false, needed = false;
    samba_vjp g = SAMBA__ZEROED;
    for (int32_t o = 0; o < n->n_out; o++) {
        dout[o] = samba__tape_grad(t, n->out[o]);
        flows = flows || dout[o];
    }
    for (int32_t i = 0; i < n->n_in; i++)
        needed = needed || samba__tape_needs(t, n->in[i]);
    if (!flows || !needed) return true;
    if (!n->op->vjp && !samba__is_builtin(n->op))
        return samba_fail(t->session, SAMBA_EOP,
                          "%s has no gradient rule; give its samba_op a "
                          "vjp, or keep it out of what leads from a parameter to the loss",
                          n->op->name);
    if (!dout[0]) return true; /* side outputs alone are not differentiable */
    if (!n->op->vjp)
        return samba_fail(t->session, SAMBA_EOP,
                          "%s has no gradient: a second derivative through this op is not offered; "
                          "build the expression from elementwise ops, matmul and sums instead",
                          n->op->name);
    g.session = t->session;
    g.in = n->in;
    g.n_in = n->n_in;
    g.out = n->out;
    g.n_out = n->n_out;
    g.dout = dout;
    g.attr = n->attr;
    g.n_attr = n->n_attr;
    int32_t first = samba__n_nodes(t->session);
    n->op->vjp(&g);
    if (!samba__tape_reads_current(t, n, first)) return false;
    for (int32_t i = 0; i < n->n_in && samba_ok(t->session); i++) {
        bool wanted = g.din[i] && samba__tape_needs(t, n->in[i]);
        if (wanted && !samba__tape_add(t, n, i, g.din[i])) return false;
    }
    return samba_ok(t->session);
}

SAMBA__FN bool samba__tape_run(samba__tape *t)
{
    for (int32_t i = t->n_nodes - 1; i >= 0 && samba_ok(t->session); i--)
        if (!samba__tape_node(t, t->nodes[i])) break;
    return samba_ok(t->session);
}

/* Where the backward pass begins: dloss = value. */
SAMBA__FN bool samba__tape_seed(samba__tape *t, samba_tensor *loss, samba_tensor *grad)
{
    SAMBA_ASSERT(loss->mark == t->mark && loss->place < t->n_tensors);
    samba_tensor **sum = &t->grad[loss->place];
    *sum = *sum ? samba_add(*sum, grad) : grad;
    return *sum != NULL;
}

SAMBA_API samba_tensor *samba_grad(samba_tensor *loss, samba_tensor *x)
{
    samba__tape t;
    if (!loss || !x || !samba_ok(loss->session)) return NULL;
    samba_session *s = loss->session;
    bool fine = (x->session == s
                 || samba_fail(s, SAMBA_EARG,
                               "in samba_grad: %s and %s belong to "
                               "different sessions",
                               loss->name, x->name))
        && ((samba__is_float(loss->dtype) && samba__is_float(x->dtype))
            || samba_fail(s, SAMBA_EDTYPE,
                          "in samba_grad: %s is %T and %s is %T; both must "
                          "be floats",
                          loss->name, (int)loss->dtype, x->name, (int)x->dtype));
    if (!fine || !samba__tape_open(&t, s, &loss, 1)) return NULL;
    s->differentiating = true;
    samba__tape_want(&t, x);
    samba__tape_spread(&t);
    fine = (samba__tape_needs(&t, loss)
            || samba_fail(s, SAMBA_EARG, "in samba_grad: %s does not depend on %s", loss->name,
                          x->name))
        && samba__tape_seed(&t, loss, samba_full(s, loss->shape, 1.0f)) && samba__tape_run(&t);
    samba_dtype dtype = x->role == SAMBA__WEIGHT ? SAMBA_F32 : x->dtype; /* as optimizers read */
    samba_tensor *dx = fine ? samba_cast(samba__tape_grad(&t, x), dtype) : NULL;
    s->differentiating = false;
    if (!dx) { /* the first error stays */
        samba_fail(s, SAMBA_EOP, "in samba_grad: no gradient from %s to %s", loss->name, x->name);
    }
    samba__tape_close(&t);
    return dx;
}

/* ==== [layers] ================================================================================ */
/* The f32 leaf called layer__part: a parameter, or what belongs to one. */
SAMBA__FN samba_tensor *samba__layer_param(samba_session *s, const char *layer, const char *part,
                                           const samba_shape *shape, int32_t role, samba_init init)
{
    char buffer[256];
    if (!samba_ok(s)) return NULL;
    if (!layer || !*layer)
        return samba__none(samba_fail(s, SAMBA_ENAME, "a layer needs a name for its %s", part));
    const char *name = samba__print_name(s, buffer, sizeof buffer, "%s__%s", layer, part);
    if (!name) return NULL;
    return role == SAMBA__WEIGHT ? samba_param(s, name, *shape, init)
                                 : samba__shared_leaf(s, name, SAMBA_F32, shape, role, init);
}

SAMBA__FN samba_shape samba__shape2(int32_t a, int32_t b)
{
    const int32_t dim[2] = { a, b };
    return samba__shape_of(dim, 2);
}

/* A layer's input must have a last dimension (or a given axis) to take its size from. */
SAMBA__FN int32_t samba__layer_size(samba_tensor *x, const char *layer, int32_t axis)
{
    if (axis < 0) axis += x->shape.ndim;
    if (axis >= 0 && axis < x->shape.ndim) return x->shape.dim[axis];
    samba_fail(x->session, SAMBA_ESHAPE, "in layer %s: %s %S has too few dimensions", layer,
               x->name, &x->shape);
    return 0;
}

SAMBA__FN samba_tensor *samba__linear_layer(samba_tensor *x, const char *name, int32_t n, bool bias)
{
    int32_t k = x ? samba__layer_size(x, name, -1) : 0;
    if (!k) return NULL;
    samba_shape w_shape = samba__shape2(n, k), b_shape = samba__shape_of(&n, 1);
    samba_init init = samba__init_of(SAMBA_INIT_UNIFORM, 0.0f, 1.0f / samba__sqrt((float)k));
    samba_tensor *w = samba__layer_param(x->session, name, "weight", &w_shape, SAMBA__WEIGHT, init);
    samba_tensor *b
        = bias ? samba__layer_param(x->session, name, "bias", &b_shape, SAMBA__WEIGHT, init) : NULL;
    x->session->next_name = name;
    return samba_affine(x, w, b);
}

SAMBA_API samba_tensor *samba_linear(samba_tensor *x, const char *name, int32_t n)
{
    return samba__linear_layer(x, name, n, true);
}

SAMBA_API samba_tensor *samba_linear_no_bias(samba_tensor *x, const char *name, int32_t n)
{
    return samba__linear_layer(x, name, n, false);
}

/* A vector of n equal values: a weight, or the state of a norm. */
SAMBA__FN samba_tensor *samba__layer_vector(samba_tensor *x, const char *layer, const char *part,
                                            int32_t n, int32_t role, float value)
{
    samba_shape shape = samba__shape_of(&n, 1);
    return samba__layer_param(x->session, layer, part, &shape, role, samba__all(value));
}

SAMBA_API samba_tensor *samba_layernorm(samba_tensor *x, const char *name)
{
    int32_t n = x ? samba__layer_size(x, name, -1) : 0;
    if (!n) return NULL;
    samba_tensor *w = samba__layer_vector(x, name, "weight", n, SAMBA__WEIGHT, 1.0f);
    samba_tensor *b = samba__layer_vector(x, name, "bias", n, SAMBA__WEIGHT, 0.0f);
    x->session->next_name = name;
    return samba_layer_normalize(x, w, b, 1e-5f);
}

SAMBA_API samba_tensor *samba_rmsnorm(samba_tensor *x, const char *name)
{
    int32_t n = x ? samba__layer_size(x, name, -1) : 0;
    if (!n) return NULL;
    samba_tensor *w = samba__layer_vector(x, name, "weight", n, SAMBA__WEIGHT, 1.0f);
    x->session->next_name = name;
    return samba_rms_normalize(x, w, 1e-5f);
}

SAMBA_API samba_tensor *samba_batchnorm(samba_tensor *x, const char *name)
{
    int32_t n = x ? samba__layer_size(x, name, 1) : 0;
    if (!n) return NULL;
    if (x->session->legacy_names)
        return samba__none(samba_fail(x->session, SAMBA_ESTATE,
                                      "in samba_batchnorm of %s: legacy "
                                      "names must be off for models with batchnorm",
                                      name));
    samba_tensor *w = samba__layer_vector(x, name, "weight", n, SAMBA__WEIGHT, 1.0f);
    samba_tensor *b = samba__layer_vector(x, name, "bias", n, SAMBA__WEIGHT, 0.0f);
    samba_tensor *mean = samba__layer_vector(x, name, "running_mean", n, SAMBA__STATE, 0.0f);
    samba_tensor *var = samba__layer_vector(x, name, "running_var", n, SAMBA__STATE, 1.0f);
    x->session->next_name = name;
    return samba_batch_normalize(x, w, b, mean, var, 0.1f, 1e-5f);
}

SAMBA__FN samba_tensor *samba__conv_layer(samba_tensor *x, const char *name, int32_t o,
                                          int32_t kernel, int32_t spatial,
                                          const samba_conv_opts *opts)
{
    int32_t c = x ? samba__layer_size(x, name, 1) : 0;
    int32_t groups = opts && opts->groups > 0 ? opts->groups : 1;
    if (!c) return NULL;
    if (c % groups)
        return samba__none(samba_fail(x->session, SAMBA_ESHAPE,
                                      "in layer %s: the %d channels of "
                                      "%s %S cannot be split into groups %d",
                                      name, c, x->name, &x->shape, groups));
    const int32_t dim[4] = { o, c / groups, kernel, kernel };
    samba_shape w_shape = samba__shape_of(dim, 2 + spatial), b_shape = samba__shape_of(&o, 1);
    double taps = spatial == 2 ? (double)kernel * kernel : kernel, fan_in = c / groups * taps;
    samba_init init = samba__init_of(SAMBA_INIT_UNIFORM, 0.0f, 1.0f / samba__sqrt((float)fan_in));
    samba_tensor *w = samba__layer_param(x->session, name, "weight", &w_shape, SAMBA__WEIGHT, init);
    samba_tensor *b = samba__layer_param(x->session, name, "bias", &b_shape, SAMBA__WEIGHT, init);
    x->session->next_name = name;
    return samba_convolution(x, w, b, opts);
}

SAMBA_API samba_tensor *samba_conv2d(samba_tensor *x, const char *name, int32_t o, int32_t kernel,
                                     const samba_conv_opts *opts)
{
    return samba__conv_layer(x, name, o, kernel, 2, opts);
}

SAMBA_API samba_tensor *samba_conv1d(samba_tensor *x, const char *name, int32_t o, int32_t kernel,
                                     const samba_conv_opts *opts)
{
    return samba__conv_layer(x, name, o, kernel, 1, opts);
}

SAMBA_API samba_tensor *samba_embedding(samba_tensor *ids, const char *name, int32_t rows,
                                        int32_t n)
{
    if (!ids) return NULL;
    samba_shape shape = samba__shape2(rows, n);
    samba_tensor *w = samba__layer_param(ids->session, name, "weight", &shape, SAMBA__WEIGHT,
                                         samba__init_of(SAMBA_INIT_NORMAL, 0.0f, 1.0f));
    ids = samba__ids_as_i32(ids); /* before the name is given to the lookup */
    if (!ids) return NULL;
    ids->session->next_name = name;
    return samba_lookup(ids, w);
}

#define SAMBA__COUNTER "forward_runs"

/* The counter of training runs, which every dropout layer of the session shares. */
SAMBA__FN samba_tensor *samba__forward_counter(samba_session *s)
{
    const int32_t training = 1;
    if (s->tracing && s->counter) return s->counter;
    samba_tensor *runs = samba_ok(s) ? samba__named(s, SAMBA__COUNTER) : NULL;
    bool known = runs && runs->generated && runs->role == SAMBA__STATE && runs->dtype == SAMBA_I32;
    if (!known) runs = samba__scalar(s, SAMBA__COUNTER, SAMBA_I32, SAMBA__STATE, 0.0f);
    if (runs) runs->generated = true; /* it is no buffer of the user's */
    samba_tensor *count = samba__emit1(SAMBA__OP_count, runs, &training, 1);
    if (s->tracing) s->counter = count; /* a program counts once a run, eager ops at every call */
    return count;
}

SAMBA_API bool samba_reset_random_generator(samba_session *s)
{
    samba_tensor *runs = samba_ok(s) ? samba__named(s, SAMBA__COUNTER) : NULL;
    void *count = runs ? samba__value_of(runs) : NULL;
    if (count && runs->role == SAMBA__STATE) memset(count, 0, samba__host_bytes(runs));
    return samba_ok(s);
}

/* What a layer of dropout needs besides x: its key, and the inputs from SAMBA__DROPOUT_RATE on. */
typedef struct samba__dropout_parts {
    samba_tensor *rate, *seed, *counter;
    uint64_t key;
} samba__dropout_parts;

SAMBA__FN bool samba__dropout_layer(samba_tensor *x, const char *name, float p,
                                    samba__dropout_parts *d)
{
    char full[256];
    if (!x || !samba_ok(x->session)) return false;
    samba_session *s = x->session;
    if (!name || !*name)
        return samba_fail(s, SAMBA_EARG, "in samba_dropout of %s: the layer needs a name", x->name);
    char where[300];
    samba__print(where, sizeof where, "samba_dropout of %s", x->name);
    if (!samba__check_hyperparam(s, where, "p", (double)p)) return false;
    const char *part = samba__print_name(s, full, sizeof full, "%s__p", name);
    d->rate = part ? samba__scalar(s, part, SAMBA_F32, SAMBA__ARGIN, p) : NULL;
    part = samba__print_name(s, full, sizeof full, "%s__seed", name);
    d->seed = part ? samba__scalar(s, part, SAMBA_I32, SAMBA__ARGIN, 0.0f) : NULL;
    d->counter = samba__forward_counter(s);
    d->key = samba__stream_key(s->seed, name);
    s->next_name = name;
    return d->rate && d->seed && d->counter;
}

SAMBA_API samba_tensor *samba_dropout(samba_tensor *x, const char *name, float p)
{
    samba__dropout_parts d;
    if (!samba__dropout_layer(x, name, p, &d)) return NULL;
    samba_tensor *in[SAMBA__DROPOUT_INPUTS] = { x, d.rate, d.seed, d.counter };
    int32_t attr[SAMBA__DROPOUT_END];
    samba__put_key(attr, d.key);
    return samba__emit(x->session, SAMBA__OP_dropout, in, SAMBA__DROPOUT_INPUTS, attr,
                       SAMBA__DROPOUT_END, NULL);
}

SAMBA_API samba_tensor *samba_attention_dropout(samba_tensor *const qkv[3], samba_tensor *mask,
                                                const samba_attention_opts *opts, const char *name,
                                                float p)
{
    samba__dropout_parts d;
    bool given = qkv && qkv[0] && qkv[1] && qkv[2];
    if (!given || !samba__dropout_layer(qkv[0], name, p, &d)) return NULL;
    samba_tensor *drop[] = { d.rate, d.seed, d.counter };
    return samba__attend(qkv, mask, opts, drop, d.key, NULL);
}

SAMBA_API bool samba_set_requires_grad(samba_tensor *t, bool requires_grad)
{
    if (!t || !samba_ok(t->session)) return false;
    if (t->role != SAMBA__WEIGHT)
        return samba_fail(t->session, SAMBA_EARG, "in samba_set_requires_grad: %s is no parameter",
                          t->name);
    t->frozen = !requires_grad;
    return true;
}

SAMBA_API bool samba_set_frozen(samba_session *s, bool frozen)
{
    if (!samba_ok(s)) return false;
    s->freezes = frozen;
    return true;
}

/* ==== [optim] ================================================================================= */
SAMBA__FN const samba__optimizer_row *samba__optimizer_of(const samba_optim *o)
{
    for (int32_t i = 0; i < SAMBA__N_OPTIMIZERS; i++)
        if (samba__optimizers[i].kind == (int32_t)o->kind) return &samba__optimizers[i];
    return NULL;
}

/* "SAMBA_SGD, SAMBA_ADAMW or SAMBA_ADAM", in a buffer */
SAMBA__FN const char *samba__optimizer_names(char *buffer, size_t size)
{
    samba__text t = samba__text_in(buffer, size);
    for (int32_t i = 0; i < SAMBA__N_OPTIMIZERS; i++) {
        if (i > 0) samba__put_text(&t, i < SAMBA__N_OPTIMIZERS - 1 ? ", " : " or ");
        samba__put_text(&t, samba__optimizers[i].written);
    }
    return buffer;
}

/* The field of samba_optim that gives the first value of an argin. */
SAMBA__FN float samba__optim_value(const samba_optim *o, int32_t argin)
{
#define X(name, field, most, below) o->field,
    const float value[] = { SAMBA__OPTIM_ARGINS(X) };
#undef X
    return value[argin];
}

/* Does the optimizer read what this field of samba_optim says? */
SAMBA__FN bool samba__reads_argin(const samba__optimizer_row *row, int32_t argin)
{
    bool reads = argin == SAMBA__ARGIN_MAX_GRAD_NORM;
    for (int32_t i = 0; i < row->n_argins; i++)
        reads = reads || row->argin[i].argin == argin;
    return reads;
}

SAMBA__FN bool samba__reads_option(const samba__optimizer_row *row, char kind, size_t at)
{
    bool reads = false;
    for (int32_t i = 0; i < row->n_options; i++)
        reads = reads || (row->option[i].kind == kind && row->option[i].at == (int32_t)at);
    return reads;
}

/* Tells what is given, but not read. */
SAMBA__FN void samba__warn_ignored(samba_session *s, const samba__optimizer_row *row,
                                   const samba_optim *o, const char *at)
{
    char list[120];
    samba__text t = samba__text_in(list, sizeof list);
    for (int32_t i = 0; i < SAMBA__N_OPTIM_ARGINS; i++) {
        if (samba__optim_value(o, i) == 0.0f || samba__reads_argin(row, i)) continue;
        samba__format(&t, "%s%s", t.len ? ", " : "", samba__hyperparams[i].name);
    }
    if (o->dampening != 0.0f && !samba__reads_option(row, 'f', offsetof(samba_optim, dampening)))
        samba__format(&t, "%sdampening", t.len ? ", " : "");
    if (t.len) samba__warn(s, "in %s: %s does not use %s", at, row->name, list);
}

/* Options of one optimizer: their ranges, and what its kind would ignore. */
SAMBA__FN bool samba__check_optim(samba_session *s, const samba_optim *o, int32_t number)
{
    const samba__optimizer_row *row = samba__optimizer_of(o);
    char at[40], names[120];
    samba__print(at, sizeof at, "optimizer %d", number);
    if (!row)
        return samba_fail(s, SAMBA_ERANGE, "%s has no kind, but %d; use %s", at, (int32_t)o->kind,
                          samba__optimizer_names(names, sizeof names));
    bool fine = true;
    for (int32_t i = 0; fine && i < SAMBA__N_OPTIM_ARGINS; i++) {
        double value = (double)samba__optim_value(o, i);
        fine = samba__check_hyperparam(s, at, samba__hyperparams[i].name, value);
    }
    fine = fine && samba__in_range(s, at, "dampening", (double)o->dampening, 0.0, 1.0)
        && samba__in_range(s, at, "n_params", o->n_params, 0.0, 2147483647.0);
    if (!fine) return false;
    if (o->n_params && !o->params)
        return samba_fail(s, SAMBA_EARG, "in %s: n_params is %d, but params is NULL", at,
                          o->n_params);
    if (o->params && o->select)
        return samba_fail(s, SAMBA_EARG, "in %s: params and select are both given; use one of them",
                          at);
    if (o->nesterov && (o->momentum == 0.0f || o->dampening != 0.0f))
        return samba_fail(s, SAMBA_EARG, "in %s: nesterov needs a momentum and no dampening", at);
    samba__warn_ignored(s, row, o, at);
    return true;
}

/* The argins and the step counter that all parameters of one optimizer share. */
typedef struct samba__optimizer {
    const samba_optim *desc;
    const samba__optimizer_row *row;
    const char *prefix;
    samba_tensor *argin[SAMBA__MOST_ARGINS]; /* in the order of the row */
    samba_tensor *max_norm, *step, *clip;
} samba__optimizer;

SAMBA__FN float samba__or(float value, float otherwise)
{
    return value != 0.0f ? value : otherwise;
}

SAMBA__FN samba_tensor *samba__optim_argin(samba_session *s, const samba__optimizer *o,
                                           const char *name, float value)
{
    char buffer[160];
    const char *full = samba__print_name(s, buffer, sizeof buffer, "%s%s", o->prefix, name);
    const samba_tensor *other = full ? samba__named(s, full) : NULL;
    if (!full) return NULL;
    if (other && other->role != SAMBA__ARGIN)
        return samba__none(samba_fail(s, SAMBA_ENAME,
                                      "the optimizer's argin %s and the tensor %s %T %S have one "
                                      "name; rename the tensor or set argin_region_name",
                                      full, other->name, (int)other->dtype, &other->shape));
    samba_tensor *argin = samba__scalar(s, full, SAMBA_F32, SAMBA__ARGIN, value);
    if (argin && argin->data) memcpy(argin->data, &value, 4); /* a new program, new defaults */
    return argin;
}

/* clip: what all optimizers multiply their gradients by, or NULL. */
SAMBA__FN bool samba__optimizer_open(samba_session *s, samba__optimizer *o, const samba_optim *desc,
                                     const char *prefix, samba_tensor *clip)
{
    char buffer[160];
    const int32_t always = 0;
    memset(o, 0, sizeof *o);
    o->desc = desc;
    o->prefix = prefix;
    o->clip = clip;
    o->row = samba__optimizer_of(desc);
    for (int32_t i = 0; i < o->row->n_argins; i++) {
        int32_t argin = o->row->argin[i].argin;
        float value = samba__or(samba__optim_value(desc, argin), o->row->argin[i].initial);
        o->argin[i] = samba__optim_argin(s, o, samba__hyperparams[argin].name, value);
    }
    if (desc->max_grad_norm > 0.0f)
        o->max_norm = samba__optim_argin(s, o, "max_grad_norm", desc->max_grad_norm);
    const char *name = samba__print_name(s, buffer, sizeof buffer, "%sstep", prefix);
    s->section = SAMBA_OPT;
    samba_tensor *steps = name ? samba__scalar(s, name, SAMBA_I32, SAMBA__STATE, 0.0f) : NULL;
    o->step = samba__emit1(SAMBA__OP_count, steps, &always, 1);
    s->section = SAMBA_FWD;
    return samba_ok(s);
}

/* GRADNORM: min(1, max_norm / |all of these gradients|). */
SAMBA__FN samba_tensor *samba__clip_factor(samba_session *s, samba_tensor *const *grads, int32_t n,
                                           samba_tensor *max_norm)
{
    samba_tensor *sum = NULL;
    s->section = SAMBA_GRADNORM;
    for (int32_t i = 0; i < n && samba_ok(s); i++) {
        int32_t attr[SAMBA__REDUCE_END];
        attr[SAMBA__REDUCE_AXES] = (1 << grads[i]->shape.ndim) - 1;
        attr[SAMBA__REDUCE_KEEPDIM] = 0;
        samba_tensor *square
            = samba__emit1(SAMBA__OP_square_sum, grads[i], attr, SAMBA__REDUCE_END);
        sum = sum ? samba_add(sum, square) : square;
    }
    samba_tensor *clip = samba__emit2(SAMBA__OP_clip_factor, sum, max_norm, NULL, 0);
    s->section = SAMBA_FWD;
    return clip;
}

SAMBA__FN samba_tensor *samba__optim_state(samba_tensor *w, const char *part)
{
    return samba__layer_param(w->session, w->name, part, &w->shape, SAMBA__STATE, samba__all(0.0f));
}

/* The attributes of the op that makes a step of w; returns how many. */
SAMBA__FN int32_t samba__step_options(const samba__optimizer *o, const samba_tensor *w,
                                      int32_t *attr)
{
    const uint8_t *desc = (const uint8_t *)(const void *)o->desc;
    int32_t n = 0;
    for (; n < o->row->n_options; n++) {
        const samba__option *option = &o->row->option[n];
        float value;
        bool set;
        if (option->kind == 'c') attr[n] = option->at;
        if (option->kind == 'f') {
            memcpy(&value, desc + option->at, sizeof value);
            attr[n] = samba_float_attr(value);
        }
        if (option->kind == 'b') {
            memcpy(&set, desc + option->at, sizeof set);
            attr[n] = set;
        }
    }
    if (w->dtype == SAMBA_F32) return n;
    samba__put_key(attr + n, samba__stream_key(w->session->seed, w->name)); /* to round to bf16 */
    return n + SAMBA__KEY_WORDS;
}

SAMBA__FN bool samba__optimizer_step(const samba__optimizer *o, samba_tensor *w, samba_tensor *g)
{
    samba_session *s = w->session;
    const samba__optimizer_row *row = o->row;
    samba_tensor *in[4 + SAMBA__MOST_STATES + SAMBA__MOST_ARGINS] = { w, g };
    int32_t attr[SAMBA__MOST_OPTIONS + SAMBA__KEY_WORDS], n = 2;
    bool keeps = row->kept_for < 0 || samba__optim_value(o->desc, row->kept_for) != 0.0f
        || o->desc->momentum_state;
    s->section = SAMBA_OPT;
    for (int32_t i = 0; row->state[i]; i++)
        in[n++] = keeps ? samba__optim_state(w, row->state[i]) : NULL;
    in[n++] = o->step;
    for (int32_t i = 0; i < row->n_argins; i++)
        in[n++] = o->argin[i];
    in[n++] = o->clip;
    int32_t n_attr = samba__step_options(o, w, attr);
    samba__emit(s, row->op, in, n, attr, n_attr, NULL);
    s->section = SAMBA_FWD;
    return samba_ok(s);
}

/* ==== [passes] ================================================================================ */
/* From what was traced to the nodes that will run: copies of the nodes that outputs, losses and
   steps need, rewritten (common subexpressions once, dead code gone), in an order that is safe. */

/* An output or a gradient: the caller's handle, and the tensor of the graph whose value it gets. */
typedef struct samba__binding_pair {
    samba_tensor *named, *source;
} samba__binding_pair;

/* One compilation: the program, then copies of the nodes it needs, rewritten and scheduled. */
typedef struct samba__compilation {
    samba_session *session;
    const samba_program *program;
    samba_tensor *outputs[SAMBA_MAX_OUTPUTS + 1];
    samba_tensor *losses[SAMBA_MAX_OUTPUTS + 1];
    int32_t n_outputs, n_losses, microbatches, replicas;
    const char *graph;              /* of the losses */
    samba_tensor **params, **grads; /* trainable, with their optimizer */
    int32_t *optim_of;              /* by tensor id: 1 + its optimizer; 0: none, -1: yet */
    int32_t n_params;
    samba__binding_pair *pairs; /* named tensors and the values they are to hold */
    int32_t n_pairs;
    samba_tensor **bound;            /* by tensor id: the named tensor this value is stored as */
    int32_t *uses;                   /* by tensor id: by nodes and names, before fusion */
    bool *overwritten;               /* by id of a leaf: is a state that traced nodes update */
    int32_t n_tensors;               /* ids; with room for stand-ins */
    int32_t n_stand_ins;             /* tensors of the compilation's own, after the session's */
    int32_t first_generated;         /* id of the first node of the compiler's own */
    samba__node **nodes, **producer; /* producer: by tensor id, among nodes */
    int32_t n_nodes;
    uint32_t joined;                       /* types of sections that are one; 0: each is its own */
    struct samba__parts *parts;            /* how parts make the batch; NULL: it is one part */
    struct samba__substitute *substitutes; /* inputs that nodes have for the time being */
} samba__compilation;

SAMBA__FN const samba_optim *samba__optim_at(const samba_program *p, int32_t i)
{
    return p->optims ? &p->optims[i] : &p->optim;
}

SAMBA__FN int32_t samba__n_optims(const samba_program *p)
{
    if (p->optims) return p->n_optims;
    return p->optim.kind ? 1 : 0;
}

/* Does BCKWD also step the parameters? The gradients of microbatches must last, so it cannot. */
SAMBA__FN bool samba__is_spatial(const samba__compilation *c)
{
    return c->program->mapping == SAMBA_MAPPING_SPATIAL && c->microbatches == 1;
}

/* What rewrites put in the place of t, or t. */
SAMBA__FN samba_tensor *samba__final(samba_tensor *t)
{
    while (t && t->same_as) {
        SAMBA_ASSERT(t->same_as != t);
        t = t->same_as;
    }
    return t;
}

SAMBA__FN samba__node *samba__producer_of(const samba__compilation *c, const samba_tensor *t)
{
    return t && t->id < c->n_tensors ? c->producer[t->id] : NULL;
}

/* A node that only the compilation has, with n_in inputs. */
SAMBA__FN samba__node *samba__temp_node(samba_session *s, int32_t n_in)
{
    samba__node *n = (samba__node *)samba__temp(s, 1, sizeof *n);
    if (!n) return NULL;
    n->n_in = n_in;
    n->in = (samba_tensor **)samba__temp(s, n_in, sizeof *n->in);
    n->attr = (int32_t *)samba__temp(s, SAMBA_MAX_ATTR, sizeof *n->attr);
    return n->in && n->attr ? n : NULL;
}

SAMBA__FN samba__node *samba__own_copy(samba_session *s, const samba__node *n)
{
    samba__node *copy = samba__temp_node(s, n->n_in), own;
    if (!copy) return NULL;
    own = *copy;
    *copy = *n;
    copy->in = own.in;
    copy->attr = own.attr;
    memcpy(copy->in, n->in, (size_t)n->n_in * sizeof *copy->in);
    memcpy(copy->attr, n->attr, (size_t)n->n_attr * sizeof *copy->attr);
    return copy;
}

/* Marks as live the nodes that lead to an output, a gradient or an update by the compiler. Who
   reads a state needs the nodes that overwrote it before, whether it reads their results or not. */
SAMBA__FN bool samba__mark_live(samba__compilation *c, samba__node *const *nodes, int32_t n)
{
    bool *needed = (bool *)samba__temp(c->session, 2 * c->n_tensors, sizeof *needed);
    bool *read = needed ? needed + c->n_tensors : NULL; /* memory, by the leaf that has it */
    if (!needed) return false;
    for (int32_t i = 0; i < c->n_pairs; i++) {
        const samba_tensor *t = samba__final(c->pairs[i].source);
        SAMBA_ASSERT(t->id < c->n_tensors);
        needed[t->id] = read[samba__memory_of_state(t)->id] = true;
    }
    for (int32_t i = n - 1; i >= 0; i--) {
        samba__node *node = nodes[i];
        bool live = node->id >= c->first_generated && samba__updates(node->op);
        for (int32_t o = 0; o < node->n_out; o++) {
            bool updates = !node->generated && samba__updated_input(node->op, o) >= 0;
            live = live || needed[node->out[o]->id]
                || (updates && read[samba__memory_of_state(node->out[o])->id]);
            needed[node->out[o]->id] = false; /* who wrote it before a copy did so in vain */
        }
        node->live = live && !node->eager && !node->out[0]->same_as;
        if (node->live) {
            for (int32_t k = 0; k < node->n_in; k++) {
                if (!node->in[k]) continue;
                needed[node->in[k]->id] = read[samba__memory_of_state(node->in[k])->id] = true;
            }
        }
    }
    return true;
}

/* Does what the user traced overwrite the memory of t, at one time or another? */
SAMBA__FN bool samba__is_overwritten(const samba__compilation *c, const samba_tensor *t)
{
    return t && c->overwritten[samba__memory_of_state(t)->id];
}

SAMBA__FN bool samba__reads_overwritten(const samba__compilation *c, const samba__node *n)
{
    for (int32_t k = 0; k < n->n_in; k++)
        if (samba__is_overwritten(c, n->in[k])) return true;
    return false;
}

SAMBA__FN bool samba__collect_live(samba__compilation *c)
{
    samba_session *s = c->session;
    int32_t n = samba__n_nodes(s);
    c->nodes = (samba__node **)samba__temp(s, n + c->n_pairs + c->n_params, sizeof *c->nodes);
    c->producer = (samba__node **)samba__temp(s, c->n_tensors, sizeof *c->producer);
    c->overwritten = (bool *)samba__temp(s, c->n_tensors, sizeof *c->overwritten);
    for (int32_t i = 0; i < samba__n_tensors(s); i++)
        s->tensors[i]->same_as = NULL;
    if (!c->nodes || !c->producer || !c->overwritten || !samba__mark_live(c, s->nodes, n))
        return false;
    for (int32_t i = 0; i < n; i++) {
        const samba__node *node = s->nodes[i];
        if (!node->live) continue;
        SAMBA_ASSERT(node->id == i); /* nodes stand in the order of tracing */
        samba__node *copy = samba__own_copy(s, node);
        if (!copy) return false;
        c->nodes[c->n_nodes++] = copy;
        for (int32_t o = 0; o < copy->n_out; o++) {
            samba_tensor *y = copy->out[o];
            bool updates = samba__updated_input(copy->op, o) >= 0;
            c->producer[y->id] = copy;
            if (updates && !copy->generated) c->overwritten[samba__memory_of_state(y)->id] = true;
        }
    }
    return true;
}

/* The node of this op that makes t, if what it reads may as well be read later; or NULL. */
SAMBA__FN samba__node *samba__made_by(const samba__compilation *c, const samba_tensor *t,
                                      int32_t op)
{
    samba__node *n = samba__producer_of(c, t);
    return n && samba__is(n->op, op) && !samba__reads_overwritten(c, n) ? n : NULL;
}

/* The only value of a constant scalar or tensor made by full. */
SAMBA__FN bool samba__is_full(const samba__compilation *c, const samba_tensor *t, float *value)
{
    const samba__node *n = samba__producer_of(c, t);
    while (n && (samba__is(n->op, SAMBA__OP_expand) || samba__is(n->op, SAMBA__OP_reshape)))
        n = samba__producer_of(c, n->in[0]);
    bool full = n && samba__is(n->op, SAMBA__OP_full);
    if (full) *value = samba_attr_float(n->attr[SAMBA__FULL_VALUE]);
    return full;
}

/* What a node reads and makes, by its op's own rules. */
SAMBA__FN bool samba__infer_node(const samba__node *n, samba__decoded *d)
{
    memset(&d->call, 0, sizeof d->call);
    for (int32_t i = 0; i < n->n_in; i++)
        d->in[i] = samba__spec_of(n->in[i]);
    d->call.in = d->in;
    d->call.n_in = n->n_in;
    d->call.attr = n->attr;
    d->call.n_attr = n->n_attr;
    return samba__infer(n->op, &d->call);
}

/* And what it costs. */
SAMBA__FN bool samba__cost_of(const samba__node *n, samba__decoded *d, samba_work *w)
{
    bool fine = samba__infer_node(n, d);
    if (fine) samba__measure(n->op, &d->call, w);
    return fine;
}

/* What a node reads and writes, in bytes. */
SAMBA__FN int64_t samba__bytes_moved(const samba__node *n)
{
    size_t bytes = 0;
    for (int32_t k = 0; k < n->n_in; k++)
        bytes += n->in[k] ? samba__host_bytes(n->in[k]) : 0;
    for (int32_t o = 0; o < n->n_out; o++)
        bytes += samba__host_bytes(n->out[o]);
    return (int64_t)bytes;
}

/* ---- Rewrites. A rule returns what replaces the node's output, the output itself if it changed
   the node in place, or NULL if it does not apply. ---- */
/* In a program that only infers, dropout does nothing. */
SAMBA__FN samba_tensor *samba__attend_without(samba__compilation *c, samba__node *n)
{
    if (!c->program->inference || n->n_in <= SAMBA__ATTENTION_RATE) return NULL;
    n->n_in = SAMBA__ATTENTION_RATE; /* the inputs before */
    return n->out[0];
}

SAMBA__FN samba_tensor *samba__drop_dropout(samba__compilation *c, samba__node *n)
{
    return c->program->inference ? n->in[0] : NULL;
}

/* A packed tensor of a parameter: name__int8 and the like, or its scales. NULL: not there yet. */
SAMBA__FN samba_tensor *samba__packed_of(const samba_tensor *w, const char *kind)
{
    char buffer[256];
    const char *name
        = samba__print_name(w->session, buffer, sizeof buffer, "%s__%s", w->name, kind);
    return name ? samba__named(w->session, name) : NULL;
}

/* The type that w (n,k) is packed as. */
SAMBA__FN samba_weights samba__packs_as(const samba_tensor *w, samba_weights weights)
{
    if (w->role != SAMBA__WEIGHT || w->shape.ndim != 2 || w->dtype != SAMBA_F32)
        return SAMBA_WEIGHTS_PLAIN;
    bool groups = w->shape.dim[1] % SAMBA__GROUP == 0;
    return weights >= SAMBA_WEIGHTS_INT8 && !groups ? SAMBA_WEIGHTS_BF16 : weights;
}

static const struct {
    const char *name, *scale;
    samba_dtype type;
} samba__packing[] = { { NULL, NULL, SAMBA_F32 },
                       { "f32", NULL, SAMBA_F32 },
                       { "bf16", NULL, SAMBA_BF16 },
                       { "int8", "int8_scale", SAMBA_I8 },
                       { "int4", "int4_scale", SAMBA_U8 } };

/* Products and lookups read parameters that were packed: samba__pack_weights made them. The inputs
   up to the scale are the same in both ops. */
SAMBA__FN bool samba__read_packed(samba__compilation *c, samba__node *n, samba_tensor *w,
                                  int32_t n_in)
{
    samba_weights as = samba__packs_as(w, c->program->weights);
    if (as == SAMBA_WEIGHTS_PLAIN) return false;
    samba_tensor **in = (samba_tensor **)samba__temp(c->session, n_in, sizeof *in);
    if (!in) return false;
    const char *scale = samba__packing[as].scale;
    in[0] = n->in[0];
    in[SAMBA__AFFINE_PACKED_WEIGHT] = samba__packed_of(w, samba__packing[as].name);
    if (scale) in[SAMBA__AFFINE_PACKED_SCALE] = samba__packed_of(w, scale);
    n->in = in;
    n->n_in = n_in;
    n->attr[SAMBA__PACKED_ROWS] = w->shape.dim[0];
    return true;
}

SAMBA__FN samba_tensor *samba__affine_packed(samba__compilation *c, samba__node *n)
{
    samba_tensor *bias = n->n_in > SAMBA__AFFINE_BIAS ? n->in[SAMBA__AFFINE_BIAS] : NULL;
    samba_tensor *w = n->in[SAMBA__AFFINE_WEIGHT];
    if (!samba__read_packed(c, n, w, SAMBA__AFFINE_PACKED_INPUTS)) return NULL;
    n->op = &samba__op_table[SAMBA__OP_affine_packed];
    n->in[SAMBA__AFFINE_PACKED_BIAS] = bias;
    n->n_attr = 1; /* x has as many columns */
    return n->out[0];
}

SAMBA__FN samba_tensor *samba__lookup_packed(samba__compilation *c, samba__node *n)
{
    samba_tensor *w = n->in[SAMBA__LOOKUP_WEIGHT];
    if (!samba__read_packed(c, n, w, SAMBA__LOOKUP_PACKED_INPUTS)) return NULL;
    n->op = &samba__op_table[SAMBA__OP_lookup_packed];
    n->attr[SAMBA__PACKED_COLUMNS] = w->shape.dim[1];
    n->n_attr = 2;
    return n->out[0];
}

/* reshape(reshape(x)) = reshape(x), or x. */
SAMBA__FN samba_tensor *samba__join_reshapes(samba__compilation *c, samba__node *n)
{
    samba__node *inner = samba__made_by(c, n->in[0], SAMBA__OP_reshape);
    if (!inner) return NULL;
    n->in[0] = inner->in[0];
    return samba__same_shape(&n->in[0]->shape, &n->out[0]->shape) ? n->in[0] : n->out[0];
}

/* permute(permute(x)): compose, or x if they undo each other. */
SAMBA__FN samba_tensor *samba__join_permutes(samba__compilation *c, samba__node *n)
{
    samba__node *inner = samba__made_by(c, n->in[0], SAMBA__OP_permute);
    bool same = true;
    if (!inner) return NULL;
    for (int32_t i = 0; i < n->n_attr; i++) {
        n->attr[i] = inner->attr[n->attr[i]];
        same = same && n->attr[i] == i;
    }
    n->in[0] = inner->in[0];
    return same ? n->in[0] : n->out[0];
}

/* scale(x, 1) = x; neg(neg(x)) = x. */
SAMBA__FN samba_tensor *samba__drop_scale(samba__compilation *c, samba__node *n)
{
    (void)c;
    return samba_attr_float(n->attr[SAMBA__SCALE_FACTOR]) == 1.0f ? n->in[0] : NULL;
}

SAMBA__FN samba_tensor *samba__drop_negs(samba__compilation *c, samba__node *n)
{
    samba__node *inner = samba__made_by(c, n->in[0], SAMBA__OP_neg);
    return inner ? inner->in[0] : NULL;
}

/* x times a constant 1 is x; times another constant is scale. */
SAMBA__FN samba_tensor *samba__mul_to_scale(samba__compilation *c, samba__node *n)
{
    float value;
    for (int32_t i = 0; i < 2; i++) {
        samba_tensor *x = n->in[1 - i];
        if (!samba__is_full(c, n->in[i], &value) || !samba__same_shape(&x->shape, &n->out[0]->shape)
            || x->dtype != n->out[0]->dtype)
            continue;
        if (value == 1.0f) return x;
        n->op = &samba__op_table[SAMBA__OP_scale];
        n->in[0] = x;
        n->n_in = 1;
        n->attr[SAMBA__SCALE_FACTOR] = samba_float_attr(value);
        n->n_attr = 1;
        return n->out[0];
    }
    return NULL;
}

/* matmul of a matrix whose last two axes were swapped reads it the other way round instead. */
SAMBA__FN samba_tensor *samba__matmul_permuted(samba__compilation *c, samba__node *n)
{
    bool changed = false;
    for (int32_t i = 0; i < 2; i++) {
        samba__node *p = samba__made_by(c, n->in[i], SAMBA__OP_permute);
        int32_t d = p ? p->n_attr : 0;
        bool swaps = d >= 2 && p->attr[d - 1] == d - 2 && p->attr[d - 2] == d - 1;
        for (int32_t k = 0; swaps && k < d - 2; k++)
            swaps = p->attr[k] == k;
        if (!swaps) continue;
        n->in[i] = p->in[0];
        n->attr[i] = !n->attr[i];
        changed = true;
    }
    return changed ? n->out[0] : NULL;
}

/* If updates led to r, the tensor that the first of them overwrote; else r. */
SAMBA__FN samba_tensor *samba__updated_from(const samba__compilation *c, samba_tensor *r)
{
    const samba__node *n = samba__producer_of(c, r);
    int32_t k = n ? samba__updated_input(n->op, r->out_index) : -1;
    for (samba_tensor *x = r; k >= 0; k = samba__updated_input(n->op, x->out_index)) {
        x = n->in[k];
        n = samba__producer_of(c, x);
        if (!n) return r;
        if (samba__updated_input(n->op, x->out_index) < 0) return x;
    }
    return r;
}

/* The op that adds what m makes to a tensor, in its place; NULL if there is none. */
SAMBA__FN const samba_op *samba__accumulating_op(const samba__node *m)
{
    if (samba__is(m->op, SAMBA__OP_matmul)) return &samba__op_table[SAMBA__OP_matmul_accumulate];
    if (samba__is(m->op, SAMBA__OP_lookup_backward))
        return &samba__op_table[SAMBA__OP_lookup_accumulate];
    return NULL;
}

/* Makes n add to `sum` what the node of `part` makes, which nothing else reads. */
SAMBA__FN samba_tensor *samba__sum_in_place(samba__compilation *c, samba__node *n,
                                            samba_tensor *sum, samba_tensor *part)
{
    const samba__node *m = samba__producer_of(c, part);
    bool fits = m && c->uses[part->id] == 1 && m->section == n->section
        && samba__same_shape(&part->shape, &sum->shape) && !samba__reads_overwritten(c, m);
    const samba_op *op = fits ? samba__accumulating_op(m) : NULL;
    if (!op) return NULL;
    samba_tensor **in
        = (samba_tensor **)samba__temp(c->session, SAMBA__ACCUMULATE_INPUTS, sizeof *in);
    if (!in) return NULL;
    in[0] = m->in[0];
    in[1] = m->in[1];
    in[SAMBA__ACCUMULATE_SUM] = sum;
    n->op = op;
    n->in = in;
    n->n_in = SAMBA__ACCUMULATE_INPUTS;
    n->attr = m->attr;
    n->n_attr = m->n_attr;
    return n->out[0];
}

SAMBA__FN samba_tensor *samba__accumulate_in_place(samba__compilation *c, samba__node *n)
{
    return n->attr[SAMBA__ACCUMULATE_ANEW] ? NULL : samba__sum_in_place(c, n, n->in[0], n->in[1]);
}

/* In gradients, x + a later product goes on summing in x; x + the gradient of an embedding changes
   few rows of x. Traced sums keep the bits they have when they are computed at once. */
SAMBA__FN samba_tensor *samba__add_in_place(samba__compilation *c, samba__node *n)
{
    bool first = samba__made_by(c, n->in[0], SAMBA__OP_lookup_backward) != NULL;
    samba_tensor *part = n->in[!first], *x = n->in[first], *begun = samba__updated_from(c, x);
    const samba__node *m = samba__producer_of(c, begun), *last = samba__producer_of(c, part);
    bool sums = samba__made_by(c, part, SAMBA__OP_lookup_backward)
        || (n->generated && samba__made_by(c, part, SAMBA__OP_matmul));
    bool free = sums && m && last && m->id < last->id && c->uses[x->id] == 1
        && m->section == n->section && !(m->op->flags & SAMBA_OP_VIEW)
        && samba__updated_input(m->op, begun->out_index) < 0 && x->dtype == SAMBA_F32;
    return free ? samba__sum_in_place(c, n, x, part) : NULL;
}

/* A fusion looks at how often a value is used: that is known when all else is simple. */
typedef struct samba__rewrite {
    int32_t op;
    bool fuses;
    samba_tensor *(*apply)(samba__compilation *c, samba__node *n);
} samba__rewrite;

static const samba__rewrite samba__rewrites[]
    = { { SAMBA__OP_dropout, false, samba__drop_dropout },
        { SAMBA__OP_scaled_dot_product_attention, false, samba__attend_without },
        { SAMBA__OP_affine, false, samba__affine_packed },
        { SAMBA__OP_lookup, false, samba__lookup_packed },
        { SAMBA__OP_reshape, false, samba__join_reshapes },
        { SAMBA__OP_permute, false, samba__join_permutes },
        { SAMBA__OP_scale, false, samba__drop_scale },
        { SAMBA__OP_neg, false, samba__drop_negs },
        { SAMBA__OP_mul, false, samba__mul_to_scale },
        { SAMBA__OP_matmul, false, samba__matmul_permuted },
        { SAMBA__OP_accumulate, true, samba__accumulate_in_place },
        { SAMBA__OP_add, true, samba__add_in_place } };

/* An elementwise op stretches its inputs itself: it need not read what expand wrote. */
SAMBA__FN void samba__skip_expands(samba__compilation *c, samba__node *n)
{
    if (samba__class_of(n->op) != SAMBA__IS_ELEMENTWISE) return;
    for (int32_t i = 0; i < n->n_in; i++) {
        samba__node *e = samba__made_by(c, n->in[i], SAMBA__OP_expand);
        samba_tensor *before = n->in[i];
        samba__decoded d;
        if (!e) continue;
        n->in[i] = e->in[0];
        if (!samba__infer_node(n, &d)
            || !samba__same_shape(&d.call.out[0].shape, &n->out[0]->shape))
            n->in[i] = before;
    }
}

/* An elementwise op on constant scalars is computed now. */
SAMBA__FN void samba__fold_constants(samba__compilation *c, samba__node *n)
{
    float value[SAMBA_MAX_IN], result = 0.0f;
    samba_spec spec[SAMBA_MAX_IN], out;
    samba_args a = SAMBA__ZEROED;
    bool scalar = n->out[0]->dtype == SAMBA_F32 && n->out[0]->shape.ndim == 0;
    if (samba__class_of(n->op) != SAMBA__IS_ELEMENTWISE || !scalar) return;
    for (int32_t i = 0; i < n->n_in; i++) {
        if (!n->in[i] || n->in[i]->shape.ndim || !samba__is_full(c, n->in[i], &value[i])) return;
        spec[i] = samba__spec_of(n->in[i]);
        a.in[i] = &value[i];
    }
    out = samba__spec_of(n->out[0]);
    a.in_spec = spec;
    a.out_spec = &out;
    a.n_in = n->n_in;
    a.n_out = 1;
    a.attr = n->attr;
    a.n_attr = n->n_attr;
    a.out[0] = &result;
    a.end = 1;
    n->op->kernel(&a);
    n->op = &samba__op_table[SAMBA__OP_full];
    n->n_in = 0;
    n->attr[SAMBA__FULL_VALUE] = samba_float_attr(result);
    n->n_attr = 1;
}

SAMBA__FN uint64_t samba__node_key(const samba__node *n)
{
    uint64_t h = samba__hash(n->attr, (size_t)n->n_attr * 4, n->op->wire);
    for (int32_t i = 0; i < n->n_in; i++)
        h = samba__hash_round(h, n->in[i] ? (uint64_t)n->in[i]->id + 1 : 0);
    return h;
}

/* Whether two nodes compute the same. What gradients may sum in place stays apart from what was
   traced: else the bits of a gradient would depend on which traced values are outputs. */
SAMBA__FN bool samba__same_call(const samba__node *a, const samba__node *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_attr != b->n_attr || samba__updates(a->op)
        || a->graph != b->graph)
        return false;
    if (a->generated != b->generated && samba__accumulating_op(a)) return false;
    if ((a->section == SAMBA_COUNT) != (b->section == SAMBA_COUNT)) return false;
    return !memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in)
        && !memcmp(a->attr, b->attr, (size_t)a->n_attr * 4);
}

/* Replaces a node by an equal earlier one; enters it into the table otherwise. What was traced may
   equal part of a gradient, which was recorded before it: that part then runs as early as the node
   that it replaces, which can be, since both read the same. */
SAMBA__FN void samba__merge_equal(const samba__compilation *c, samba__node *n, samba__node **table,
                                  uint64_t mask)
{
    uint64_t i = samba__node_key(n) & mask;
    if (samba__reads_overwritten(c, n)) return; /* another value each time */
    while (table[i] && !samba__same_call(n, table[i]))
        i = (i + 1) & mask;
    if (!table[i]) {
        table[i] = n;
        return;
    }
    SAMBA_ASSERT(table[i] != n && table[i]->n_out == n->n_out);
    for (int32_t o = 0; o < n->n_out; o++)
        n->out[o]->same_as = table[i]->out[o];
    if (samba__is_after(table[i]->section, n->section)) table[i]->section = n->section;
}

SAMBA__FN void samba__rewrite_node(samba__compilation *c, samba__node *n, bool fuses)
{
    for (size_t r = 0; r < sizeof samba__rewrites / sizeof *samba__rewrites; r++) {
        const samba__rewrite *w = &samba__rewrites[r];
        samba_tensor *y = w->fuses == fuses && samba__is(n->op, w->op) ? w->apply(c, n) : NULL;
        if (y && y != n->out[0] && !samba__is_overwritten(c, y)) n->out[0]->same_as = y;
    }
}

/* A tensor of the compilation's own, of the kind of t. */
SAMBA__FN samba_tensor *samba__stand_in(samba__compilation *c, const samba_tensor *t)
{
    samba_tensor *y = (samba_tensor *)samba__temp(c->session, 1, sizeof *y);
    if (!y) return NULL;
    *y = *t;
    y->id = samba__n_tensors(c->session) + c->n_stand_ins++;
    y->role = SAMBA__TEMP;
    y->same_as = NULL;
    return y;
}

/* A node that copies a value into the memory of a named tensor. */
SAMBA__FN samba__node *samba__copy_node(samba__compilation *c, samba_tensor *from, samba_tensor *to,
                                        const char *graph)
{
    samba__node *n = samba__temp_node(c->session, 1);
    if (!n) return NULL;
    n->op = &samba__op_table[SAMBA__OP_reshape];
    n->name = to->name;
    n->graph = graph;
    n->in[0] = from;
    n->out[0] = to;
    n->n_out = 1;
    n->n_attr = to->shape.ndim;
    memcpy(n->attr, to->shape.dim, sizeof to->shape.dim);
    n->section = to->role == SAMBA__GRADIENT ? SAMBA_BCKWD : SAMBA_FWD;
    return n;
}

/* A gradient may be another parameter: d ab / da = b. With mapping spatial steps read gradients
   where they are, so a step of b might come before that of a, or the other way round: it is
   copied. */
SAMBA__FN bool samba__copy_parameter(samba__compilation *c, samba_tensor *gradient)
{
    samba__node *n = samba__copy_node(c, samba__final(gradient), gradient, c->graph);
    if (!n) return false;
    n->section = SAMBA_BCKWD;
    gradient->same_as = NULL;
    c->producer[gradient->id] = n;
    c->nodes[c->n_nodes++] = n;
    return true;
}

/* What input k of node n was replaced by. */
SAMBA__FN bool samba__read_final(samba__compilation *c, samba__node *n, int32_t k)
{
    samba_tensor *t = n->in[k], *r = samba__final(t);
    bool moved = r && r != t && r->role == SAMBA__WEIGHT;
    if (moved && samba__is_after(n->section, SAMBA_BCKWD)) return samba__copy_parameter(c, t);
    n->in[k] = r;
    return true;
}

/* Once over the nodes in order: rewrites, constant folding, common subexpressions. */
SAMBA__FN bool samba__simplify(samba__compilation *c)
{
    int32_t size = 1;
    while (size < c->n_nodes * 2)
        size *= 2;
    samba__node **table = (samba__node **)samba__temp(c->session, size, sizeof *table);
    SAMBA_ASSERT((size & (size - 1)) == 0 && size > c->n_nodes); /* a search ends */
    if (!table) return false;
    for (int32_t i = 0, n_nodes = c->n_nodes; i < n_nodes; i++) { /* copies follow these */
        samba__node *n = c->nodes[i];
        for (int32_t k = 0; k < n->n_in; k++)
            if (!samba__read_final(c, n, k)) return false;
        samba__rewrite_node(c, n, false);
        samba__skip_expands(c, n);
        samba__fold_constants(c, n);
        if (!n->out[0]->same_as) samba__merge_equal(c, n, table, (uint64_t)size - 1);
    }
    return true;
}

/* Once more, for what depends on how many nodes and names use a value. */
SAMBA__FN bool samba__fuse(samba__compilation *c)
{
    c->uses = (int32_t *)samba__temp(c->session, c->n_tensors, sizeof *c->uses);
    if (!c->uses) return false;
    for (int32_t i = 0; i < c->n_pairs; i++)
        c->uses[samba__final(c->pairs[i].source)->id]++;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        const samba__node *n = c->nodes[i];
        if (n->out[0]->same_as) continue;
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k]) c->uses[n->in[k]->id]++;
    }
    for (int32_t i = 0; i < c->n_nodes; i++)
        if (!c->nodes[i]->out[0]->same_as) samba__rewrite_node(c, c->nodes[i], true);
    return true;
}

/* What an update of state makes lies in the memory of that state; as an output it gets memory of
   its own, which the state is copied to. So nodes read a stand-in. */
SAMBA__FN samba_tensor *samba__apart_from_state(samba__compilation *c, samba_tensor *t)
{
    samba_tensor *y = samba__stand_in(c, t);
    if (!y) return NULL;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        samba__node *n = c->nodes[i];
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k] == t) n->in[k] = y;
        for (int32_t o = 0; o < n->n_out; o++)
            if (n->out[o] == t) n->out[o] = y;
    }
    c->producer[y->id] = c->producer[t->id];
    c->producer[t->id] = NULL;
    return y;
}

/* Lets the value of pair i be computed where its name is stored, or copies it if it has another
   home. */
SAMBA__FN bool samba__bind_pair(samba__compilation *c, int32_t i)
{
    samba_tensor *named = c->pairs[i].named;
    samba_tensor *r = samba__updated_from(c, samba__final(c->pairs[i].source));
    samba__node *n = samba__producer_of(c, r);
    bool updates = n && samba__updated_input(n->op, r->out_index) >= 0;
    if (r == named && (!n || c->bound[r->id])) return true;
    if (r == named && updates) r = samba__apart_from_state(c, named);
    if (!r) return false;
    if (named->role == SAMBA__TEMP) named->role = SAMBA__OUTPUT;
    if (n && !updates && !c->bound[r->id]) {
        c->bound[r->id] = named;
        return true;
    }
    named->same_as = NULL;
    n = samba__copy_node(c, r, named, n ? n->graph : NULL);
    if (!n) return false;
    c->pairs[i].source = named;
    c->bound[named->id] = named;
    c->nodes[c->n_nodes++] = n;
    return true;
}

/* Names whose own node stayed come first: another name of the same value, bound before, would take
   its place, and then nothing would write to the memory of this one. */
SAMBA__FN bool samba__bind(samba__compilation *c)
{
    for (int32_t own = 1; own >= 0; own--) {
        for (int32_t i = 0; i < c->n_pairs; i++) {
            bool stayed = c->pairs[i].named == c->pairs[i].source && !c->pairs[i].named->same_as;
            if (stayed == (own == 1) && !samba__bind_pair(c, i)) return false;
        }
    }
    return true;
}

/* Moves the nodes of one graph, by section type and in trace order, to the end of sorted. */
SAMBA__FN int32_t samba__schedule_graph(samba__compilation *c, const char *graph,
                                        samba__node **sorted, int32_t n)
{
    for (int32_t k = 0; k < SAMBA__N_TYPES; k++) {
        uint32_t type = samba__section_types[k].bit;
        for (int32_t i = 0; i < c->n_nodes; i++) {
            samba__node *node = c->nodes[i];
            if (node->live && node->section == type && node->graph == graph) sorted[n++] = node;
        }
    }
    return n;
}

/* Does node n read what `before` makes or overwrites? */
SAMBA__FN bool samba__depends(const samba__node *n, const samba__node *before)
{
    bool reads = false;
    for (int32_t o = 0; o < before->n_out; o++) {
        int32_t updated = samba__updated_input(before->op, o);
        for (int32_t k = 0; k < n->n_in; k++)
            reads = reads || n->in[k] == before->out[o]
                || (updated >= 0 && n->in[k] && n->in[k] == before->in[updated]);
    }
    return reads;
}

/* An elementwise op moves up to the product it reads, to be fused with it as its epilogue: the
   gradient rules of a layer put the products for its weights between. */
SAMBA__FN void samba__move_up(const samba__compilation *c, samba__node **nodes, int32_t i)
{
    enum { FAR = 8 };

    samba__node *n = nodes[i];
    int32_t at = i;
    if (samba__class_of(n->op) != SAMBA__IS_ELEMENTWISE || c->bound[n->out[0]->id]) return;
    if (samba__reads_overwritten(c, n)) return;
    while (at > 0 && i - at < FAR && nodes[at - 1]->section == n->section
           && nodes[at - 1]->graph == n->graph && !samba__depends(n, nodes[at - 1]))
        at--;
    int32_t product = at - 1;
    while (product > 0 && nodes[product]->op->flags & SAMBA_OP_VIEW)
        product--;
    if (at == 0 || !samba__depends(n, nodes[at - 1])) return;
    const samba_op *op = nodes[product]->op;
    if (!samba__is(op, SAMBA__OP_matmul) && !samba__is(op, SAMBA__OP_matmul_accumulate)) return;
    memmove(nodes + at + 1, nodes + at, (size_t)(i - at) * sizeof *nodes);
    nodes[at] = n;
}

/* Drops the nodes that nobody reads any more, and sorts the rest. */
SAMBA__FN bool samba__sweep_and_schedule(samba__compilation *c)
{
    samba__node **sorted = (samba__node **)samba__temp(c->session, c->n_nodes, sizeof *sorted);
    int32_t n = 0;
    if (!sorted || !samba__mark_live(c, c->nodes, c->n_nodes)) return false;
    for (int32_t i = 0; i < c->n_nodes; i++) { /* graphs in the order of their first nodes */
        bool done = !c->nodes[i]->live;
        for (int32_t k = 0; k < n && !done; k++)
            done = sorted[k]->graph == c->nodes[i]->graph;
        if (!done) n = samba__schedule_graph(c, c->nodes[i]->graph, sorted, n);
    }
    for (int32_t i = 0; i < n; i++)
        samba__move_up(c, sorted, i);
    c->nodes = sorted;
    c->n_nodes = n;
    return true;
}

/* Mapping spatial: what follows the backward pass moves up, behind the last node that reads or
   makes what it reads, but not between a product and the elementwise ops behind it. So a gradient
   lives until its parameter is stepped. */
SAMBA__FN bool samba__step_early(samba__compilation *c)
{
    int32_t n = c->n_nodes, begin = 0, done = 0;
    int32_t *behind = (int32_t *)samba__temp(c->session, c->n_tensors, sizeof *behind);
    int32_t *at = (int32_t *)samba__temp(c->session, 3 * n, sizeof *at);
    samba__node **sorted = (samba__node **)samba__temp(c->session, n, sizeof *sorted);
    if (!behind || !at || !sorted) return false;
    int32_t *next = at + n, *first = next + n; /* what comes behind a node: 1 + node */
    for (int32_t i = 0; i < n; i++) {
        const samba__node *node = c->nodes[i];
        bool moves = samba__is_after(node->section, SAMBA_BCKWD);
        if (!samba__is_after(node->section, SAMBA_FWD))
            begin = i + 1;
        else
            c->joined |= node->section | SAMBA_BCKWD; /* even if no gradient needs an op */
        at[i] = moves ? begin : i;
        for (int32_t k = 0; k < node->n_in; k++) {
            int32_t *last = node->in[k] ? &behind[node->in[k]->id] : NULL;
            if (moves && last && at[i] < *last)
                at[i] = *last;
            else if (!moves && last)
                *last = i;
        }
        while (moves && at[i] + 1 < i
               && samba__class_of(c->nodes[at[i] + 1]->op) == SAMBA__IS_ELEMENTWISE)
            at[i]++;
        for (int32_t o = 0; o < node->n_out; o++) { /* moved ones overwrite what they read */
            int32_t updated = samba__updated_input(node->op, o);
            behind[node->out[o]->id] = at[i];
            if (updated >= 0) behind[node->in[updated]->id] = at[i];
        }
    }
    for (int32_t i = n - 1; i >= 0; i--) {
        next[i] = first[at[i]];
        first[at[i]] = i + 1;
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = first[i]; k; k = next[k - 1])
            sorted[done++] = c->nodes[k - 1];
    c->nodes = sorted;
    return true;
}

/* ==== [plan] ================================================================================== */
/* Decides where every value lies. Memory is shared in three ways: a view lies in the memory of the
   symbol that it is made from (view_of); a result takes over the memory of an input that its node
   reads last (chain); and places that are never alive at the same time may get the same addresses
   of the arena (offset). The PEF records the outcome, and [pef-verify] proves it from scratch,
   without trusting what is decided here. */

/* A symbol to be: what it stands for, how long it lives, where it lies. */
typedef struct samba__place {
    samba_tensor *tensor; /* NULL for scratch */
    const char *name;
    samba_spec spec;
    int32_t role, region, first, last;
    int32_t view_of; /* place in whose memory this one lies, as a view; -1: none */
    int32_t chain;   /* first of the places that took over from each other in place, or itself */
    bool per_microbatch, updated;
    uint64_t bytes, offset;
    int32_t index; /* number in the PEF, after sorting */
} samba__place;

typedef struct samba__section_plan {
    uint32_t type;
    int32_t first, n;
    const char *graph;
} samba__section_plan;

typedef struct samba__plan {
    samba__place *places;
    int32_t n_places, n_sections;
    int32_t *place_of;   /* by tensor id; -1: none */
    int32_t *scratch_of; /* by node; -1: none */
    samba__section_plan *sections;
    uint64_t region[SAMBA__N_REGIONS], lower_bound;
    int32_t peak; /* the node at which most is alive */
} samba__plan;

/* The region of what has this role, unless nothing writes it: see samba__place_persistent. */
SAMBA__FN int32_t samba__region_of_role(int32_t role)
{
    if (role == SAMBA__TEMP || role == SAMBA__SCRATCH) return SAMBA__REGION_ARENA;
    if (role == SAMBA__INPUT || role == SAMBA__OUTPUT) return SAMBA__REGION_IO;
    return SAMBA__REGION_STATE;
}

/* Of a tensor; of scratch, if it is NULL. */
SAMBA__FN int32_t samba__add_place(samba__plan *p, samba_tensor *t, samba_spec spec)
{
    samba__place *q = &p->places[p->n_places];
    int32_t role = t ? t->role : SAMBA__SCRATCH;
    memset(q, 0, sizeof *q);
    q->tensor = t;
    q->name = t ? t->name : "scratch";
    q->spec = spec;
    q->role = role;
    q->view_of = -1;
    q->chain = p->n_places;
    q->bytes = samba__spec_bytes(&spec);
    q->first = q->last = -1;
    q->region = samba__region_of_role(role);
    return p->n_places++;
}

/* The place of a tensor: that of the named tensor it is bound to, or its own. */
SAMBA__FN int32_t samba__place_for(const samba__compilation *c, samba__plan *p, samba_tensor *t)
{
    samba_tensor *named = c->bound[t->id] ? c->bound[t->id] : t;
    if (p->place_of[t->id] >= 0) return p->place_of[t->id];
    if (p->place_of[named->id] < 0)
        p->place_of[named->id] = samba__add_place(p, named, samba__spec_of(named));
    return p->place_of[t->id] = p->place_of[named->id];
}

/* The place whose memory place i is: that of which it is a view, or itself. */
SAMBA__FN int32_t samba__base_of(const samba__plan *p, int32_t i)
{
    int32_t base = p->places[i].view_of >= 0 ? p->places[i].view_of : i;
    SAMBA_ASSERT(p->places[base].view_of < 0); /* no view is of a view */
    return base;
}

SAMBA__FN void samba__use_place(samba__plan *p, int32_t i, int32_t node)
{
    samba__place *q = &p->places[i];
    SAMBA_ASSERT(q->last <= node); /* nodes are looked at in order */
    if (q->first < 0) q->first = node;
    q->last = p->places[samba__base_of(p, i)].last = node;
}

/* Gives every tensor and every scratch its place, with lifetimes. */
SAMBA__FN bool samba__find_places(const samba__compilation *c, samba__plan *p)
{
    samba_session *s = c->session;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        samba__node *n = c->nodes[i];
        samba_spec scratch;
        samba__decoded d;
        samba_work w;
        if (!samba__cost_of(n, &d, &w)) return samba__fail_call(s, n->op, n->in, &d.call);
        for (int32_t k = 0; k < n->n_in; k++)
            if (n->in[k]) samba__use_place(p, samba__place_for(c, p, n->in[k]), i);
        for (int32_t o = 0; o < n->n_out; o++) {
            int32_t updated = samba__updated_input(n->op, o);
            if (updated >= 0) p->place_of[n->out[o]->id] = samba__place_for(c, p, n->in[updated]);
            int32_t at = samba__place_for(c, p, n->out[o]);
            samba__place *q = &p->places[at];
            bool view = (n->op->flags & SAMBA_OP_VIEW) && o == 0 && q->role == SAMBA__TEMP;
            int32_t base = view ? samba__base_of(p, p->place_of[n->in[0]->id]) : at;
            if (view && p->places[base].region == SAMBA__REGION_ARENA) q->view_of = base;
            samba__use_place(p, at, i);
        }
        p->scratch_of[i] = -1;
        if (!w.scratch) continue;
        scratch.dtype = SAMBA_U8;
        scratch.shape = samba__shape2((int32_t)samba__ceil_div(w.scratch, 1024), 1024);
        p->scratch_of[i] = samba__add_place(p, NULL, scratch);
        samba__use_place(p, p->scratch_of[i], i);
    }
    for (int32_t i = 0; i < c->n_outputs; i++) /* a leaf that no node reads */
        if (!c->outputs[i]->node) samba__place_for(c, p, c->outputs[i]);
    return true;
}

/* A result takes over the memory of the input that its op allows, if that is read no more. */
SAMBA__FN void samba__share_in_place(const samba__compilation *c, samba__plan *p)
{
    for (int32_t i = 0; i < c->n_nodes; i++) {
        const samba__node *n = c->nodes[i];
        int32_t over = samba__inplace_input(n->op);
        if (over < 0 || over >= n->n_in || !n->in[over]) continue;
        int32_t in = p->place_of[n->in[over]->id], base = samba__base_of(p, in);
        samba__place *x = &p->places[base], *y = &p->places[p->place_of[n->out[0]->id]];
        /* f(x, x) may take over x if it reads element i for element i alone */
        bool elementwise = samba__class_of(n->op) == SAMBA__IS_ELEMENTWISE;
        bool fits = x->role == SAMBA__TEMP && y->role == SAMBA__TEMP && y->view_of < 0
            && x->last == i && x->bytes == y->bytes
            && samba_dtype_size(x->spec.dtype) == samba_dtype_size(y->spec.dtype);
        for (int32_t k = 0; fits && k < n->n_in; k++) {
            if (k == over || !n->in[k]) continue;
            int32_t other = p->place_of[n->in[k]->id];
            fits = (other == in && elementwise) || samba__base_of(p, other) != base;
        }
        if (!fits) continue;
        SAMBA_ASSERT(y->first == i && y->chain == p->place_of[n->out[0]->id]);
        y->chain = x->chain;
    }
}

/* A block of arena memory: a chain of places that take over from each other. */
typedef struct samba__arena_block {
    int32_t id, first, last;
    uint64_t bytes, offset;
} samba__arena_block;

SAMBA__FN int samba__by_size(const void *a, const void *b)
{
    const samba__arena_block *x = (const samba__arena_block *)a, *y = (const samba__arena_block *)b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Addresses that are taken: extents in order, which neither overlap nor touch. */
typedef struct samba__extent {
    uint64_t begin, end;
    struct samba__extent *next;
} samba__extent;

/* Which addresses are taken when: an interval tree, whose vertex 1 is the whole schedule; 2 v and
   2 v + 1 are the first and the second half of v. */
typedef struct samba__interval_tree {
    samba_session *session;
    samba__extent **sometimes;  /* by vertex: taken at some time of it, and */
    samba__extent **throughout; /* all the time */
} samba__interval_tree;

/* Adds begin ... end to a list of extents. */
SAMBA__FN bool samba__add_extent(samba_session *s, samba__extent **at, uint64_t begin, uint64_t end)
{
    SAMBA_ASSERT(begin <= end);
    while (*at && (*at)->end < begin)
        at = &(*at)->next;
    samba__extent *r = *at;
    if (!r || r->begin > end) {
        r = (samba__extent *)samba__temp(s, 1, sizeof *r);
        if (!r) return false;
        r->begin = begin;
        r->end = end;
        r->next = *at;
        *at = r;
    }
    if (begin < r->begin) r->begin = begin;
    if (end > r->end) r->end = end;
    for (; r->next && r->next->begin <= r->end; r->next = r->next->next)
        if (r->next->end > r->end) r->end = r->next->end;
    SAMBA_ASSERT(!r->next || r->end < r->next->begin);
    return true;
}

/* Enters block b at vertex v, which is the time `from` to `to`, and below it. */
SAMBA__FN bool samba__tree_insert(samba__interval_tree *t, const samba__arena_block *b, int32_t v,
                                  int32_t from, int32_t to)
{
    uint64_t begin = b->offset, end = b->offset + b->bytes;
    if (b->last < from || to < b->first) return true;
    if (!samba__add_extent(t->session, &t->sometimes[v], begin, end)) return false;
    if (b->first <= from && to <= b->last)
        return samba__add_extent(t->session, &t->throughout[v], begin, end);
    int32_t middle = from + (to - from) / 2;
    return samba__tree_insert(t, b, 2 * v, from, middle)
        && samba__tree_insert(t, b, 2 * v + 1, middle + 1, to);
}

/* Adds to *taken what the blocks take at vertex v and below it that live together with b. */
SAMBA__FN bool samba__tree_query(const samba__interval_tree *t, const samba__arena_block *b,
                                 int32_t v, int32_t from, int32_t to, samba__extent **taken)
{
    if (b->last < from || to < b->first) return true;
    bool whole = b->first <= from && to <= b->last;
    const samba__extent *r = whole ? t->sometimes[v] : t->throughout[v];
    for (; r; r = r->next)
        if (!samba__add_extent(t->session, taken, r->begin, r->end)) return false;
    if (whole) return true;
    int32_t middle = from + (to - from) / 2;
    return samba__tree_query(t, b, 2 * v, from, middle, taken)
        && samba__tree_query(t, b, 2 * v + 1, middle + 1, to, taken);
}

/* Largest first, each into the smallest gap among the ones it lives together with. Greedy by size:
   Pisarchyk, Lee, "Efficient memory management for deep neural net inference", 2020. */
SAMBA__FN bool samba__place_block(samba__interval_tree *t, samba__arena_block *b, int32_t n_nodes)
{
    const uint64_t none = ~(uint64_t)0;
    uint64_t smallest_gap = none, end = 0;
    samba__extent *taken = NULL;
    SAMBA_ASSERT(b->first >= 0 && b->first <= b->last && b->last < n_nodes);
    if (!samba__tree_query(t, b, 1, 0, n_nodes - 1, &taken)) return false;
    for (; taken; taken = taken->next) {
        SAMBA_ASSERT(taken->begin >= end); /* extents are in order */
        uint64_t gap = taken->begin - end;
        if (gap >= b->bytes && gap < smallest_gap) {
            b->offset = end;
            smallest_gap = gap;
        }
        end = taken->end;
    }
    if (smallest_gap == none) b->offset = end;
    return samba__tree_insert(t, b, 1, 0, n_nodes - 1);
}

/* The blocks of the arena, and how long each is alive; returns their number. */
SAMBA__FN int32_t samba__collect_blocks(samba__plan *p, samba__arena_block *all)
{
    int32_t n = 0;
    for (int32_t i = 0; i < p->n_places; i++) {
        samba__place *q = &p->places[i];
        if (q->region != SAMBA__REGION_ARENA || q->view_of >= 0) continue;
        SAMBA_ASSERT(p->places[q->chain].chain == q->chain); /* of the first of its chain */
        if (q->chain == i) {
            q->index = n;
            all[n].id = i;
            all[n].first = q->first;
            all[n].last = q->last;
            all[n++].bytes = samba__align_bytes(q->bytes);
        } else if (all[p->places[q->chain].index].last < q->last) {
            all[p->places[q->chain].index].last = q->last;
        }
    }
    return n;
}

SAMBA__FN bool samba__place_arena(samba_session *s, samba__plan *p, int32_t n_nodes)
{
    samba__arena_block *all = (samba__arena_block *)samba__temp(s, p->n_places, sizeof *all);
    samba__interval_tree t = SAMBA__ZEROED;
    t.session = s;
    t.sometimes = (samba__extent **)samba__temp(s, 4 * n_nodes, sizeof *t.sometimes);
    t.throughout = (samba__extent **)samba__temp(s, 4 * n_nodes, sizeof *t.throughout);
    if (!all || !t.sometimes || !t.throughout) return false;
    int32_t n = samba__collect_blocks(p, all);
    qsort(all, (size_t)n, sizeof *all, samba__by_size);
    for (int32_t i = 0; i < n; i++) {
        if (!samba__place_block(&t, &all[i], n_nodes)) return false;
        uint64_t end = all[i].offset + all[i].bytes;
        SAMBA_ASSERT(all[i].offset % SAMBA__ALIGN == 0);
        p->places[all[i].id].offset = all[i].offset;
        if (end > p->region[SAMBA__REGION_ARENA]) p->region[SAMBA__REGION_ARENA] = end;
    }
    for (int32_t i = 0; i < p->n_places; i++) {
        samba__place *q = &p->places[i], *base = &p->places[samba__base_of(p, i)];
        if (base->region == SAMBA__REGION_ARENA)
            q->offset = p->places[base->chain].offset;
        else
            q->offset = base->offset;
    }
    return true;
}

/* What lives outside the arena lies one after another. Parameters nobody writes are read-only. */
SAMBA__FN void samba__place_persistent(const samba__compilation *c, samba__plan *p)
{
    for (int32_t i = 0; i < c->n_nodes; i++) {
        for (int32_t o = 0; o < c->nodes[i]->n_out; o++) {
            if (samba__updated_input(c->nodes[i]->op, o) < 0) continue;
            p->places[p->place_of[c->nodes[i]->out[o]->id]].updated = true;
        }
    }
    for (int32_t i = 0; i < p->n_places; i++) {
        samba__place *q = &p->places[i];
        if (q->region == SAMBA__REGION_ARENA) continue;
        if (!q->updated && (q->role == SAMBA__WEIGHT || q->role == SAMBA__CONSTANT))
            q->region = SAMBA__REGION_READONLY;
        q->per_microbatch
            = q->region == SAMBA__REGION_IO && c->microbatches > 1 && q->tensor->batch_dim >= 0;
        q->offset = p->region[q->region];
        uint64_t bytes = q->bytes * (q->per_microbatch ? (uint64_t)c->microbatches : 1);
        p->region[q->region] += samba__align_bytes(bytes);
    }
}

/* The fewest bytes that any plan needs: the most that is alive at one node, from what comes to life
   and what has died there. What takes over in place counts from the node after. */
SAMBA__FN bool samba__measure_bound(const samba__compilation *c, samba__plan *p)
{
    uint64_t *change = (uint64_t *)samba__temp(c->session, c->n_nodes + 1, sizeof *change),
             live = 0;
    for (int32_t k = 0; change && k < p->n_places; k++) {
        const samba__place *q = &p->places[k];
        int32_t from = q->chain == k ? q->first : q->first + 1;
        if (q->region != SAMBA__REGION_ARENA || q->view_of >= 0 || from > q->last) continue;
        change[from] += q->bytes;
        change[q->last + 1] -= q->bytes;
    }
    for (int32_t i = 0; change && i < c->n_nodes; i++) {
        live += change[i];
        SAMBA_ASSERT(live <= p->region[SAMBA__REGION_ARENA]); /* what is alive has room */
        if (live > p->lower_bound) {
            p->lower_bound = live;
            p->peak = i;
        }
    }
    return change != NULL;
}

/* Sections: ranges of one type; o0: each op; o1: cut where the working set outgrows sram_bytes. */
SAMBA__FN bool samba__cut_sections(const samba__compilation *c, samba__plan *p)
{
    samba_opt_level level = c->program->level;
    int64_t budget = c->program->sram_bytes ? c->program->sram_bytes : (int64_t)1 << 20, used = 0;
    p->sections = (samba__section_plan *)samba__temp(c->session, c->n_nodes, sizeof *p->sections);
    bool after_host = false;
    if (!p->sections) return false;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        const samba__node *n = c->nodes[i];
        samba__section_plan *last = p->n_sections ? &p->sections[p->n_sections - 1] : NULL;
        SAMBA_ASSERT(!last || last->first + last->n == i); /* sections cover the nodes */
        int64_t bytes = samba__bytes_moved(n);
        bool host = n->op->flags & SAMBA_OP_HOST, alone = host || after_host;
        uint32_t type = n->section & c->joined ? c->joined : n->section;
        used += bytes;
        after_host = host;
        if (last && !alone && last->type == type && last->graph == n->graph && level != SAMBA_O0
            && (level != SAMBA_O1 || used <= budget)) {
            last->n++;
            continue;
        }
        last = &p->sections[p->n_sections++];
        last->type = type;
        last->first = i;
        last->n = 1;
        last->graph = n->graph;
        used = bytes;
    }
    return true;
}

SAMBA__FN int samba__by_address(const void *a, const void *b)
{
    const samba__place *x = *(samba__place *const *)a, *y = *(samba__place *const *)b;
    if (x->region != y->region) return x->region < y->region ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Numbers the places by address: the order in which a PEF lists its symbols. */
SAMBA__FN samba__place **samba__sort_places(samba_session *s, samba__plan *p)
{
    samba__place **sorted = (samba__place **)samba__temp(s, p->n_places, sizeof *sorted);
    if (!sorted) return NULL;
    for (int32_t i = 0; i < p->n_places; i++) {
        sorted[i] = &p->places[i];
        sorted[i]->index = i;
    }
    qsort(sorted, (size_t)p->n_places, sizeof *sorted, samba__by_address);
    for (int32_t i = 0; i < p->n_places; i++)
        sorted[i]->index = i;
    return sorted;
}

SAMBA__FN int64_t samba__planned_bytes(const samba__plan *p)
{
    uint64_t bytes = 0;
    for (int32_t r = 0; r < SAMBA__N_REGIONS; r++)
        bytes += p->region[r];
    return (int64_t)bytes;
}

SAMBA__FN bool samba__make_plan(samba__compilation *c, samba__plan *p)
{
    samba_session *s = c->session;
    if (samba__is_spatial(c) && !samba__step_early(c)) return false;
    memset(p, 0, sizeof *p);
    p->places = (samba__place *)samba__temp(s, c->n_tensors + c->n_nodes, sizeof *p->places);
    p->place_of = (int32_t *)samba__temp(s, c->n_tensors, sizeof *p->place_of);
    p->scratch_of = (int32_t *)samba__temp(s, c->n_nodes, sizeof *p->scratch_of);
    if (!p->places || !p->place_of || !p->scratch_of) return false;
    for (int32_t i = 0; i < c->n_tensors; i++)
        p->place_of[i] = -1;
    if (!samba__find_places(c, p)) return false;
    samba__share_in_place(c, p);
    samba__place_persistent(c, p);
    bool fine = samba__place_arena(s, p, c->n_nodes) && samba__cut_sections(c, p)
        && samba__measure_bound(c, p);
    bool limited = c->program->mapping == SAMBA_MAPPING_SPATIAL && c->program->sram_bytes;
    if (!fine || !limited) return fine;
    return samba__planned_bytes(p) <= c->program->sram_bytes
        || samba_fail(s, SAMBA_ERANGE,
                      "mapping spatial keeps everything on chip: %l bytes are "
                      "needed, sram_bytes is %l; use mapping section or a smaller batch",
                      samba__planned_bytes(p), c->program->sram_bytes);
}

/* ==== [recompute] ============================================================================= */
/* A limit of memory: what the backward pass reads of the forward pass is kept, or computed once
   more just before it is read, from values of which the same holds. Cheap ones come first.
   Chen et al., "Training deep nets with sublinear memory cost", 2016. */
enum { SAMBA__MAX_RECOMPUTED = 100 }; /* the longest chain of recomputed values */

typedef struct samba__reuse {
    samba__node *maker; /* its node, if of the forward pass */
    bool read;          /* by the backward pass, or a view of it is */
    bool narrow;        /* it is, or was moved from, what bf16 or f16 was cast to */
    int32_t written;    /* how often the two passes overwrite it */
    int32_t chain;      /* values computed again for it, with it */
    samba_tensor *copy; /* what the backward pass reads instead */
} samba__reuse;

typedef struct samba__recompute {
    samba__node **nodes; /* the schedule without repetitions */
    int32_t n_nodes, n_tensors;
    samba__reuse *of; /* by tensor id */
} samba__recompute;

SAMBA__FN bool samba__recompute_open(samba__compilation *c, samba__recompute *a)
{
    samba_session *s = c->session;
    a->nodes = c->nodes;
    a->n_nodes = c->n_nodes;
    a->n_tensors = c->n_tensors;
    a->of = (samba__reuse *)samba__temp(s, c->n_tensors, sizeof *a->of);
    samba_tensor **bound = (samba_tensor **)samba__temp(s, 2 * c->n_tensors, sizeof *bound);
    if (!a->of || !bound) return false;
    memcpy(bound, c->bound, (size_t)c->n_tensors * sizeof *bound);
    c->bound = bound; /* with room for copies */
    for (int32_t i = a->n_nodes - 1; i >= 0; i--) {
        samba__node *n = a->nodes[i];
        bool forward = n->section == SAMBA_FWD, view = n->op->flags & SAMBA_OP_VIEW;
        if (!samba__is_after(n->section, SAMBA_BCKWD)) {
            for (int32_t o = 0; o < n->n_out; o++) {
                int32_t updated = samba__updated_input(n->op, o);
                if (updated >= 0) a->of[n->in[updated]->id].written++;
                if (forward) a->of[n->out[o]->id].maker = n;
            }
        }
        for (int32_t k = 0; k < n->n_in; k++) {
            bool reads = forward ? view && a->of[n->out[0]->id].read
                                 : samba__is_after(n->section, SAMBA_FWD);
            if (reads && n->in[k]) a->of[n->in[k]->id].read = true;
        }
    }
    return true;
}

/* How many values are computed again if n is; 0 if something it reads is lost or overwritten. */
SAMBA__FN int32_t samba__chain_of(const samba__compilation *c, const samba__recompute *a,
                                  const samba__node *n)
{
    bool fine = n->section == SAMBA_FWD && !samba__updates(n->op);
    int32_t chain = 1;
    for (int32_t k = 0; k < n->n_in; k++) {
        const samba_tensor *t = n->in[k];
        if (!t) continue;
        const samba__reuse *r = &a->of[t->id];
        const samba__node *m = r->maker;
        int32_t state = m ? samba__updated_input(m->op, t->out_index) : -1;
        fine = fine && (m ? r->read : t->role != SAMBA__TEMP) && !r->written
            && (state < 0 || a->of[m->in[state]->id].written == 1);
        chain += r->chain;
    }
    for (int32_t o = 0; o < n->n_out; o++)
        fine = fine && n->out[o]->role == SAMBA__TEMP && !c->bound[n->out[o]->id];
    return fine && chain <= SAMBA__MAX_RECOMPUTED ? chain : 0;
}

/* Chooses values that cost at most `price` operations a byte, until `wanted` bytes are free. */
SAMBA__FN bool samba__choose_recomputed(const samba__compilation *c, samba__recompute *a,
                                        int64_t price, int64_t wanted)
{
    bool any = false;
    for (int32_t i = 0; i < a->n_nodes && wanted > 0; i++) {
        samba__node *n = a->nodes[i];
        samba__decoded d;
        samba_work w;
        int64_t bytes = 0;
        bool needed = false, view = n->op->flags & SAMBA_OP_VIEW;
        for (int32_t o = 0; o < n->n_out; o++) {
            const samba__reuse *r = &a->of[n->out[o]->id];
            if (!r->read || r->chain) continue;
            needed = true;
            bytes += view ? 0 : (int64_t)samba__host_bytes(n->out[o]);
        }
        int32_t chain = needed ? samba__chain_of(c, a, n) : 0;
        if (!chain || !samba__cost_of(n, &d, &w) || w.flops > price * bytes) continue;
        for (int32_t o = 0; o < n->n_out; o++)
            a->of[n->out[o]->id].chain = chain;
        wanted -= bytes;
        any = true;
    }
    return any;
}

/* What the backward pass reads for t: the copy that its node, repeated before, makes. */
SAMBA__FN samba_tensor *samba__recomputed_tensor(samba__compilation *c, samba__recompute *a,
                                                 samba_tensor *t)
{
    if (!t || t->id >= a->n_tensors || !a->of[t->id].chain) return t;
    samba__node *m = a->of[t->id].copy ? NULL : samba__own_copy(c->session, a->of[t->id].maker);
    if (!m) return a->of[t->id].copy;
    for (int32_t k = 0; k < m->n_in; k++)
        m->in[k] = samba__recomputed_tensor(c, a, m->in[k]);
    for (int32_t o = 0; o < m->n_out; o++) {
        samba_tensor *y = (samba_tensor *)samba__temp(c->session, 1, sizeof *y);
        if (!y) return NULL;
        *y = *m->out[o];
        SAMBA_ASSERT(c->n_tensors < 2 * a->n_tensors); /* bound has room for a copy of each */
        y->id = c->n_tensors++;
        m->out[o] = a->of[a->of[t->id].maker->out[o]->id].copy = y;
    }
    m->section = SAMBA_BCKWD;
    SAMBA_ASSERT(c->n_nodes < 2 * a->n_nodes);
    c->nodes[c->n_nodes++] = m;
    return a->of[t->id].copy;
}

/* The schedule with what was chosen so far repeated. */
SAMBA__FN bool samba__repeat_chosen(samba__compilation *c, samba__recompute *a)
{
    c->nodes = (samba__node **)samba__temp(c->session, 2 * a->n_nodes, sizeof *c->nodes);
    c->n_nodes = 0;
    c->n_tensors = a->n_tensors;
    if (!c->nodes) return false;
    for (int32_t i = 0; i < a->n_tensors; i++)
        a->of[i].copy = NULL;
    for (int32_t i = 0; i < a->n_nodes; i++) {
        samba__node *n = a->nodes[i];
        if (samba__is_after(n->section, SAMBA_FWD)) {
            n = samba__own_copy(c->session, n);
            if (!n) return false;
            for (int32_t k = 0; k < n->n_in; k++)
                n->in[k] = samba__recomputed_tensor(c, a, n->in[k]);
        }
        if (!samba_ok(c->session)) return false;
        c->nodes[c->n_nodes++] = n;
    }
    return true;
}

/* Chooses what is cast from half the bytes, and what is moved from that: the half is kept. */
SAMBA__FN bool samba__choose_narrow(const samba__compilation *c, samba__recompute *a)
{
    bool any = false;
    for (int32_t i = 0; i < a->n_nodes; i++) {
        const samba__node *n = a->nodes[i];
        const samba_tensor *x = n->n_in ? n->in[0] : NULL, *y = n->out[0];
        bool widens = samba__is(n->op, SAMBA__OP_cast) && samba_dtype_size(x->dtype) == 2;
        if (n->section == SAMBA_FWD && y->dtype == SAMBA_F32)
            a->of[y->id].narrow
                = widens || (samba__class_of(n->op) == SAMBA__IS_MOVES && x && a->of[x->id].narrow);
    }
    for (int32_t i = a->n_nodes - 1; i >= 0; i--) {
        const samba__node *n = a->nodes[i];
        const samba__reuse *y = &a->of[n->out[0]->id];
        if (y->narrow && y->read) a->of[n->in[0]->id].read = true;
    }
    for (int32_t i = 0; i < a->n_nodes; i++) {
        samba__reuse *y = &a->of[a->nodes[i]->out[0]->id];
        if (y->narrow && y->read && !y->chain) y->chain = samba__chain_of(c, a, a->nodes[i]);
        any = any || y->chain;
    }
    return any;
}

/* The smallest plan that was tried. */
typedef struct samba__smallest {
    int64_t bytes; /* -1: none yet */
    samba__plan plan;
    const char *peak; /* the node at which most is alive */
} samba__smallest;

SAMBA__FN void samba__keep_smallest(const samba__compilation *c, const samba__plan *p,
                                    samba__smallest *least)
{
    int64_t bytes = samba__planned_bytes(p);
    if (least->bytes >= 0 && bytes >= least->bytes) return;
    least->bytes = bytes;
    least->plan = *p;
    least->peak = c->n_nodes ? c->nodes[p->peak]->name : "no op";
}

/* Says what is largest where most is alive. */
SAMBA__FN bool samba__refuse_memory(const samba__compilation *c, const samba__smallest *least)
{
    const samba__plan *p = &least->plan;
    const samba__place *top = NULL;
    for (int32_t i = 0; i < p->n_places; i++) {
        const samba__place *q = &p->places[i];
        bool alive = q->region == SAMBA__REGION_ARENA && q->first <= p->peak && q->last >= p->peak;
        if (alive && (!top || q->bytes > top->bytes)) top = q;
    }
    int64_t lasting = least->bytes - (int64_t)p->region[SAMBA__REGION_ARENA];
    return samba_fail(c->session, SAMBA_ERANGE,
                      "program.memory is %l bytes, but no plan was found "
                      "that takes less than %l, %l of them for parameters, state and inputs, "
                      "whatever of the forward pass is computed again. Most is alive at %s; %s has "
                      "%l bytes then. Use a smaller batch, or microbatches",
                      c->program->memory, least->bytes, lasting, least->peak,
                      top ? top->name : "nothing", (int64_t)(top ? top->bytes : 0));
}

/* The memory a place counts for: as its tensor asks, or by its region. */
SAMBA__FN samba_mem samba__memory_of(const samba__place *q)
{
    static const samba_mem home[SAMBA__N_REGIONS]
        = { SAMBA_MEM_DDR, SAMBA_MEM_HBM, SAMBA_MEM_HOST, SAMBA_MEM_DDR };
    bool asks = q->tensor && q->tensor->mem_type && q->region != SAMBA__REGION_ARENA;
    return asks ? q->tensor->mem_type : home[q->region];
}

/* Refuses what is above a limit, and names what is largest there. */
SAMBA__FN bool samba__keep_limits(const samba__compilation *c, const samba__plan *p)
{
    for (int32_t m = SAMBA_MEM_DDR; m <= SAMBA_MEM_HOST; m++) {
        static const char *const names[] = { "", "DDR", "HBM", "HOST" };
        int64_t limit = c->program->mem_limit[m], used = 0;
        const samba__place *top = NULL;
        if (limit <= 0) continue;
        for (int32_t i = 0; i < p->n_places; i++) {
            const samba__place *q = &p->places[i];
            if (q->view_of >= 0 || (int32_t)samba__memory_of(q) != m) continue;
            if (q->region != SAMBA__REGION_ARENA) used += (int64_t)samba__align_bytes(q->bytes);
            if (!top || q->bytes > top->bytes) top = q;
        }
        if (m == SAMBA_MEM_HBM) used += (int64_t)p->region[SAMBA__REGION_ARENA];
        if (used > limit)
            return samba_fail(c->session, SAMBA_ERANGE,
                              "program.mem_limit of %s is %l bytes, but "
                              "%l are needed; the largest there is %s with %l",
                              names[m], limit, used,
                              top && top->tensor ? top->tensor->name : "scratch",
                              (int64_t)(top ? top->bytes : 0));
    }
    return true;
}

/* Nothing is computed again but what samba__choose_narrow says. */
SAMBA__FN bool samba__begin_recompute(samba__compilation *c, samba__recompute *a, samba__plan *p)
{
    for (int32_t i = 0; i < a->n_tensors; i++)
        a->of[i].chain = 0;
    if (samba__choose_narrow(c, a) && !samba__repeat_chosen(c, a)) return false;
    return samba__make_plan(c, p);
}

/* Plans with more and more computed again, until one is within the limit, or all is chosen: what is
   chosen each time has `step` bytes, or 0: as many as the plan has too many. */
SAMBA__FN bool samba__repeat_more(samba__compilation *c, samba__recompute *a, samba__plan *p,
                                  int64_t step, samba__smallest *least)
{
    const int64_t limit = c->program->memory;
    int64_t price = 0;
    while (samba__planned_bytes(p) > limit) {
        int64_t wanted = step > 0 ? step : samba__planned_bytes(p) - limit;
        while (!samba__choose_recomputed(c, a, price, wanted)) {
            if (price > 1 << 20) return true;
            price = price ? price * 4 : 1;
        }
        if (!samba__repeat_chosen(c, a) || !samba__make_plan(c, p)) return false;
        samba__keep_smallest(c, p, least);
    }
    return true;
}

/* The plan, with as much computed again as the limit asks for. First with few plans. More of them,
   in small steps, find smaller ones: a copy, too, takes memory from its making to its last use. */
SAMBA__FN bool samba__plan_within(samba__compilation *c, samba__plan *p)
{
    const int64_t limit = c->program->memory;
    samba__smallest least;
    samba__recompute a;
    if (!samba__recompute_open(c, &a) || !samba__begin_recompute(c, &a, p)) return false;
    if (limit <= 0) return samba__keep_limits(c, p);
    least.bytes = -1;
    samba__keep_smallest(c, p, &least);
    if (!samba__repeat_more(c, &a, p, 0, &least)) return false;
    if (samba__planned_bytes(p) > limit) {
        if (!samba__begin_recompute(c, &a, p)) return false;
        int64_t step = (int64_t)(p->region[SAMBA__REGION_ARENA] / 32) + 1;
        if (!samba__repeat_more(c, &a, p, step, &least)) return false;
    }
    if (samba__planned_bytes(p) > limit) return samba__refuse_memory(c, &least);
    return samba__keep_limits(c, p);
}

/* ==== [pef-write] ============================================================================= */
/* Writers of one record each, the inverse of the readers: of the newest version, into zeroed bytes.
 */
#define X(bits, field, since) samba__put##bits(p + offsetof(SAMBA__RECORD, field), r->field);
#define A(bits, field, n, since) \
    for (size_t i = 0; i < n; i++) \
        samba__put##bits(p + offsetof(SAMBA__RECORD, field) + i * (bits / 8), r->field[i]);
#define Z(bytes, since)
#define SAMBA__RECORD samba__header_layout

SAMBA__FN void samba__put_header(uint8_t *p, const samba__header *r)
{
    SAMBA__HEADER_FIELDS(X, A, Z)
}

#undef SAMBA__RECORD

#define SAMBA__RECORD samba__node_layout

SAMBA__FN void samba__put_node(uint8_t *p, const samba__call_record *r)
{
    SAMBA__NODE_FIELDS(X, A, Z)
}

#undef SAMBA__RECORD

#define SAMBA__RECORD samba__section_layout

SAMBA__FN void samba__put_section(uint8_t *p, const samba__section *r)
{
    SAMBA__SECTION_FIELDS(X, A, Z)
}

#undef SAMBA__RECORD

#undef A
#define A(bits, field, n, since) /* the shape */
#define SAMBA__RECORD samba__symbol_layout

SAMBA__FN void samba__put_symbol(uint8_t *p, const samba__symbol *r)
{
    uint8_t *dim = p + offsetof(samba__symbol_layout, dim);
    SAMBA__SYMBOL_FIELDS(X, A, Z)
    for (int32_t d = 0; d < r->spec.shape.ndim; d++)
        samba__put32(dim + 4 * d, (uint32_t)r->spec.shape.dim[d]);
}

#undef SAMBA__RECORD
#undef X
#undef A
#undef Z

/* Tables that are being written. Their sizes were counted first, so nothing grows. */
typedef struct samba__writer {
    samba__header header;
    uint8_t *bytes, *symbols, *nodes, *sections, *words;
    char *strings, *trace;
    size_t size;
    uint32_t n_words, strings_at; /* words and bytes of strings written so far */
} samba__writer;

/* Bytes of the tables that w->header counts. samba__writer_begin wants so many. */
SAMBA__FN size_t samba__writer_size(samba__writer *w)
{
    w->header.magic = SAMBA__PEF_MAGIC;
    w->header.version = SAMBA__PEF_VERSION;
    return (size_t)samba__lay_tables(&w->header).data;
}

/* Lays the tables out in these bytes, which are zero. */
SAMBA__FN void samba__writer_begin(samba__writer *w, uint8_t *bytes)
{
    samba__tables_at at = samba__lay_tables(&w->header);
    w->bytes = bytes;
    w->size = (size_t)at.data;
    w->symbols = bytes + at.symbols;
    w->nodes = bytes + at.nodes;
    w->sections = bytes + at.sections;
    w->words = bytes + at.words;
    w->strings = (char *)bytes + at.strings;
    w->trace = (char *)bytes + at.trace;
}

SAMBA__FN uint32_t samba__write_string(samba__writer *w, const char *text)
{
    uint32_t at = w->strings_at;
    size_t n = strlen(text) + 1;
    SAMBA_ASSERT(at + n <= w->header.strings_size);
    memcpy(w->strings + at, text, n);
    w->strings_at += (uint32_t)n;
    return at;
}

SAMBA__FN void samba__write_word(samba__writer *w, uint32_t word)
{
    SAMBA_ASSERT(w->n_words < w->header.n_words); /* they were counted */
    samba__put32(w->words + 4 * w->n_words++, word);
}

/* Which argin an ARGIN symbol is; the rest of the name says whose. */
enum {
    SAMBA__ARGIN_OTHER = 0,
    SAMBA__ARGIN_RATE = 1,
    SAMBA__ARGIN_SEED = 2,
    SAMBA__ARGIN_GRAD = 3
};

/* 1 + the number of the symbol that holds t. */
SAMBA__FN uint32_t samba__symbol_of(const samba__plan *p, const samba_tensor *t)
{
    SAMBA_ASSERT(p->place_of[t->id] >= 0);
    return (uint32_t)p->places[p->place_of[t->id]].index + 1;
}

/* Which argin the name of an ARGIN symbol says it is. */
SAMBA__FN uint32_t samba__argin_kind(const char *name)
{
    if (samba__ends_with(name, "__p")) return SAMBA__ARGIN_RATE;
    if (samba__ends_with(name, "__seed")) return SAMBA__ARGIN_SEED;
    return samba__ends_with(name, "__grad") ? SAMBA__ARGIN_GRAD : SAMBA__ARGIN_OTHER;
}

/* The symbol that place q becomes. */
SAMBA__FN void samba__write_symbol(samba__writer *w, const samba__plan *plan, int32_t i,
                                   const samba__place *q)
{
    bool forever = q->region != SAMBA__REGION_ARENA;
    SAMBA_ASSERT(q->index == i && (forever || (q->first >= 0 && q->first <= q->last)));
    const samba_tensor *g = q->tensor ? q->tensor->grad : NULL;
    samba__symbol s = SAMBA__ZEROED;
    s.name = samba__write_string(w, q->name);
    s.role = (uint8_t)q->role;
    s.spec = q->spec;
    s.dtype = (uint8_t)q->spec.dtype;
    s.ndim = (uint8_t)q->spec.shape.ndim;
    s.region = (uint8_t)q->region;
    s.offset = q->offset;
    s.first = forever ? 0 : (uint32_t)q->first;
    s.last = forever ? SAMBA__FOREVER : (uint32_t)q->last;
    s.alias = q->view_of < 0 ? 0 : (uint32_t)plan->places[q->view_of].index + 1;
    s.grad = g && plan->place_of[g->id] >= 0 ? samba__symbol_of(plan, g) : 0;
    s.batch_dim = (uint8_t)(q->tensor && forever ? q->tensor->batch_dim + 1 : 0);
    s.per_microbatch = q->per_microbatch;
    s.mem_type = (uint8_t)(q->tensor ? q->tensor->mem_type : 0);
    s.generated = q->tensor && q->role == SAMBA__STATE && q->tensor->generated;
    if (q->role == SAMBA__ARGIN) s.argin = samba__argin_kind(q->name);
    samba__put_symbol(w->symbols + (size_t)i * sizeof(samba__symbol_layout), &s);
}

SAMBA__FN void samba__write_node(samba__writer *w, const samba__compilation *c,
                                 const samba__plan *p, int32_t i)
{
    const samba__node *n = c->nodes[i];
    int32_t scratch = p->scratch_of[i];
    samba__call_record r = SAMBA__ZEROED;
    r.wire = n->op->wire;
    r.n_in = (uint8_t)n->n_in;
    r.n_out = (uint8_t)n->n_out;
    r.n_attr = (uint8_t)n->n_attr;
    r.name = samba__write_string(w, n->name);
    r.first_word = w->n_words;
    r.scratch = scratch < 0 ? 0 : (uint32_t)p->places[scratch].index + 1;
    samba__put_node(w->nodes + (size_t)i * sizeof(samba__node_layout), &r);
    for (int32_t k = 0; k < n->n_in; k++)
        samba__write_word(w, n->in[k] ? samba__symbol_of(p, n->in[k]) : 0);
    for (int32_t o = 0; o < n->n_out; o++)
        samba__write_word(w, samba__symbol_of(p, n->out[o]));
    for (int32_t k = 0; k < n->n_attr; k++)
        samba__write_word(w, (uint32_t)n->attr[k]);
}

/* The description that a later load compares: traced calls; if it is whole, then outputs, losses,
   parameters with their optimizers, microbatches. */
SAMBA__FN void samba__put_trace(samba__text *t, const samba__compilation *c, bool whole)
{
    for (int32_t i = 0; i < samba__n_nodes(c->session); i++) {
        const samba__node *n = c->session->nodes[i];
        if (n->generated || n->eager) continue;
        if (n->graph) samba__format(t, "%s: ", n->graph);
        samba__put_exact_call(t, n);
        samba__put_char(t, '\n');
    }
    if (!whole) return;
    for (int32_t i = 0; i < c->n_outputs; i++)
        samba__format(t, "output %s\n", c->outputs[i]->name);
    for (int32_t i = 0; i < c->n_losses; i++)
        samba__format(t, "loss %s\n", c->losses[i]->name);
    for (int32_t i = 0; i < c->n_params; i++) {
        int32_t k = c->optim_of[c->params[i]->id] - 1;
        const samba_optim *o = k < 0 ? NULL : samba__optim_at(c->program, k);
        samba__format(t, "parameter %s: optimizer %d %s%s%s\n", c->params[i]->name, k,
                      o && o->kind ? samba__optimizer_of(o)->name : "none",
                      o && (o->momentum != 0.0f || o->momentum_state) ? " momentum" : "",
                      o && o->max_grad_norm > 0.0f ? " clipped" : "");
    }
    if (c->program->max_grad_norm > 0.0f) samba__format(t, "clipped by one norm\n");
    samba__format(t, "microbatches %d%s\n", c->microbatches,
                  c->program->inference ? " inference" : "");
    if (c->replicas > 1) samba__format(t, "replicas %d\n", c->replicas);
}

/* The same text in temporary memory of *size bytes. */
SAMBA__FN const char *samba__trace_of(const samba__compilation *c, bool whole, size_t *size)
{
    samba__text t = samba__text_in(NULL, 0);
    samba__put_trace(&t, c, whole);
    *size = t.len + 1;
    char *text = (char *)samba__temp(c->session, 1, *size);
    t = samba__text_in(text, *size);
    samba__put_trace(&t, c, whole);
    SAMBA_ASSERT(t.len + 1 == *size); /* both times the same text */
    return text;
}

/* Completes the header: how long the file is, and the checksum of the tables. */
SAMBA__FN void samba__seal(uint8_t *tables, size_t n_tables, size_t file_size)
{
    const size_t begin = offsetof(samba__header_layout, tables_hash) + 8;
    samba__header h = samba__read_header(tables, SAMBA__PEF_VERSION);
    h.file_size = file_size;
    samba__put_header(tables, &h);
    h.tables_hash = samba__hash(tables + begin, n_tables - begin, 0);
    samba__put_header(tables, &h);
}

SAMBA__FN void samba__write_sections(samba__writer *w, const samba__plan *p)
{
    uint32_t name = 0;
    for (int32_t i = 0; i < p->n_sections; i++) {
        const samba__section_plan *q = &p->sections[i];
        SAMBA_ASSERT(q->n >= 1);
        samba__section r = SAMBA__ZEROED;
        if (i == 0 || q->graph != q[-1].graph)
            name = q->graph ? samba__write_string(w, q->graph) + 1 : 0;
        r.type = q->type;
        r.first = (uint32_t)q->first;
        r.n = (uint32_t)q->n;
        r.graph = name;
        samba__put_section(w->sections + (size_t)i * sizeof(samba__section_layout), &r);
    }
}

/* What the header says of a program, and how large its tables become. */
SAMBA__FN void samba__count_tables(const samba__compilation *c, const samba__plan *p,
                                   size_t trace_size, samba__header *h)
{
    size_t strings = 0, words = 0;
    for (int32_t i = 0; i < p->n_places; i++)
        strings += strlen(p->places[i].name) + 1;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        strings += strlen(c->nodes[i]->name) + 1;
        words += (size_t)(c->nodes[i]->n_in + c->nodes[i]->n_out + c->nodes[i]->n_attr);
    }
    for (int32_t i = 0; i < p->n_sections; i++) {
        const char *graph = p->sections[i].graph;
        if (graph && (i == 0 || p->sections[i - 1].graph != graph)) strings += strlen(graph) + 1;
    }
    h->n_symbols = (uint32_t)p->n_places;
    h->n_nodes = (uint32_t)c->n_nodes;
    h->n_sections = (uint32_t)p->n_sections;
    h->n_words = (uint32_t)words;
    h->strings_size = strings ? (uint32_t)strings : 1;
    h->trace_size = (uint32_t)trace_size;
    h->microbatches = (uint32_t)c->microbatches;
    h->flags = c->program->inference ? SAMBA__PEF_INFERENCE : 0;
    for (int i = 0; i < SAMBA__N_REGIONS; i++)
        h->region[i] = p->region[i];
}

/* The PEF without data, in temporary memory. */
SAMBA__FN bool samba__write_tables(const samba__compilation *c, samba__plan *p, samba__writer *w)
{
    samba_session *s = c->session;
    samba__place **sorted = samba__sort_places(s, p);
    size_t trace_size;
    const char *trace = samba__trace_of(c, true, &trace_size);
    memset(w, 0, sizeof *w);
    samba__count_tables(c, p, trace_size, &w->header);
    uint8_t *bytes = (uint8_t *)samba__temp(s, 1, samba__writer_size(w));
    if (!bytes || !sorted || !trace) return false;
    samba__writer_begin(w, bytes);
    samba__put_header(bytes, &w->header);
    for (int32_t i = 0; i < p->n_places; i++)
        samba__write_symbol(w, p, i, sorted[i]);
    for (int32_t i = 0; i < c->n_nodes; i++)
        samba__write_node(w, c, p, i);
    samba__write_sections(w, p);
    memcpy(w->trace, trace, trace_size);
    SAMBA_ASSERT(w->n_words == w->header.n_words && w->strings_at <= w->header.strings_size);
    samba__seal(w->bytes, w->size, w->size);
    return true;
}

/* Where the value of a symbol comes from when a file is written; NULL: it has none. */
typedef const void *(*samba__value_fn)(samba_session *s, uint32_t index, const char *name,
                                       const samba__symbol *symbol);

/* A PEF with the values that value_of gives. They are streamed from front to back, so a checkpoint
   is never held in memory twice. Everything in it begins at a multiple of 64 bytes. */
enum { SAMBA__WINDOW = 1 << 16 };

typedef struct samba__image {
    samba_session *session;
    const samba__pef *pef;
    samba__value_fn value_of;
    uint8_t *tables, *window; /* all before the values; a buffer of SAMBA__WINDOW bytes */
    size_t n_tables, size;
    uint32_t symbol; /* whose value is being streamed */
    size_t within;   /* bytes of it that are done */
} samba__image;

SAMBA__FN void samba__image_close(samba__image *m)
{
    samba__free(m->session, m->tables, m->n_tables + SAMBA__WINDOW);
}

/* Streams the next at most n bytes of the values, n a multiple of 64. Returns 0 at the end, and
   then starts over. */
SAMBA__FN size_t samba__image_read(samba__image *m, uint8_t *to, size_t n)
{
    for (; m->symbol < m->pef->n_symbols; m->symbol++, m->within = 0) {
        samba__symbol q = samba__symbol_at(m->pef, m->symbol);
        const char *name = m->pef->strings + q.name;
        const void *value = m->value_of(m->session, m->symbol, name, &q);
        size_t left = (size_t)samba__symbol_bytes(m->pef, &q) - m->within;
        if (!value || left == 0) continue;
        size_t part = left < n ? left : n, padded = samba__align_size(part);
        SAMBA_ASSERT(n % SAMBA__ALIGN == 0 && padded <= n);
        samba__copy_data(to, (const uint8_t *)value + m->within, part,
                         samba_dtype_size(q.spec.dtype));
        memset(to + part, 0, padded - part);
        m->within += part;
        return padded;
    }
    m->symbol = 0;
    return 0;
}

/* Assigns each value its place in the file, and computes the checksums. */
SAMBA__FN bool samba__image_open(samba__image *m, samba_session *s, const samba__pef *pef,
                                 samba__value_fn value_of)
{
    uint64_t v[4];
    memset(m, 0, sizeof *m);
    m->session = s;
    m->pef = pef;
    m->value_of = value_of;
    m->n_tables = m->size = (size_t)(pef->size - pef->data_size);
    m->tables = (uint8_t *)samba__alloc(s, m->n_tables + SAMBA__WINDOW);
    if (!m->tables) return false;
    m->window = m->tables + m->n_tables;
    memcpy(m->tables, pef->base, m->n_tables);
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        bool has = value_of(s, i, pef->strings + q.name, &q) != NULL;
        uint8_t *record = m->tables + (pef->symbols - pef->base) + (size_t)i * pef->symbol_size;
        q.data = has ? m->size - m->n_tables + 1 : 0;
        samba__put_symbol(record, &q);
        if (!has) continue;
        m->size = samba__add_size(m->size, samba__align_size((size_t)samba__symbol_bytes(pef, &q)));
    }
    size_t n_data = m->size - m->n_tables;
    samba__hash_begin(v, 0);
    size_t n;
    while ((n = samba__image_read(m, m->window, SAMBA__WINDOW)) > 0)
        samba__hash_blocks(v, m->window, n);
    samba__header h = samba__read_header(m->tables, SAMBA__PEF_VERSION);
    h.data_size = n_data;
    h.data_hash = samba__hash_end(v, n_data);
    samba__put_header(m->tables, &h);
    samba__seal(m->tables, m->n_tables, m->size);
    return true;
}

SAMBA__FN bool samba__image_whole(samba__image *m, samba__file *file)
{
    file->size = m->size;
    file->bytes = (uint8_t *)samba__alloc(m->session, file->size);
    if (!file->bytes) return false;
    memcpy(file->bytes, m->tables, m->n_tables);
    uint8_t *to = file->bytes + m->n_tables;
    size_t n;
    while ((n = samba__image_read(m, to, SAMBA__WINDOW)) > 0)
        to += n;
    return true;
}

/* ==== [files] ================================================================================= */
/* Only regular files are read and written, and a file is replaced only when the new one is safely
   on disk. */
#include <errno.h>
#if !defined(SAMBA_NO_STDIO) && (defined(__unix__) || defined(__APPLE__))
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#define SAMBA__POSIX_FILES 1
#if !defined(__cplusplus) /* strict -std=c99 hides these */
extern int fsync(int fd);
extern FILE *fdopen(int fd, const char *mode);
#endif
#if !defined(O_CLOEXEC)
#define O_CLOEXEC 0
#endif
/* The nanoseconds of a time in struct stat, which has them under three names. */
#if defined(__APPLE__) && defined(st_mtime)
#define SAMBA__NANOSECONDS(about, time) ((about)->st_##time##timespec.tv_nsec)
#elif defined(st_mtime)
#define SAMBA__NANOSECONDS(about, time) ((about)->st_##time##tim.tv_nsec)
#elif defined(__APPLE__) || defined(__GLIBC__)
#define SAMBA__NANOSECONDS(about, time) ((about)->st_##time##timensec)
#else
#define SAMBA__NANOSECONDS(about, time) 0
#endif
#else
#define SAMBA__POSIX_FILES 0
#endif

SAMBA__FN bool samba__fail_io(samba_session *s, const char *what, const char *path)
{
    return samba_fail(s, SAMBA_EIO, "cannot %s %s: %s", what, path, strerror(errno));
}

#if SAMBA__POSIX_FILES
/* What a file system says of a file's last change: of its bytes; of its inode, too. */
SAMBA__FN void samba__stamp_file(samba__file *file, const struct stat *about)
{
    const int64_t second = 1000000000;
    file->modified = (int64_t)about->st_mtime * second + (int64_t)SAMBA__NANOSECONDS(about, m);
    file->changed = (int64_t)about->st_ctime * second + (int64_t)SAMBA__NANOSECONDS(about, c);
}

/* Reads the next n bytes of the file; goes on after a signal. */
SAMBA__FN bool samba__read_bytes(int fd, uint8_t *to, size_t n)
{
    const size_t most = (size_t)1 << 30; /* some systems read no more at once */
    while (n > 0) {
        ssize_t got = read(fd, to, n < most ? n : most);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = EIO; /* the file has been truncated */
        if (got <= 0) return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

SAMBA__FN bool samba__write_bytes(int fd, const uint8_t *from, size_t n)
{
    const size_t most = (size_t)1 << 30;
    while (n > 0) {
        ssize_t put = write(fd, from, n < most ? n : most);
        if (put < 0 && errno == EINTR) continue;
        if (put == 0) errno = EIO;
        if (put <= 0) return false;
        from += put;
        n -= (size_t)put;
    }
    return true;
}

SAMBA__FN bool samba__sync_file(int fd)
{
    int failed;
    do
        failed = fsync(fd);
    while (failed && errno == EINTR);
    return !failed;
}

/* Does the file still hold the values whose checksum its tables have? The buffer is the workers'
   scratch, because a run allocates nothing. */
SAMBA__FN bool samba__same_data(samba_session *s)
{
    const samba__file *file = &s->file;
    uint8_t *window = (uint8_t *)s->local;
    size_t room = samba__local_bytes(s) / SAMBA__ALIGN * SAMBA__ALIGN, part;
    size_t size = file->size - file->n_tables, left = size;
    uint64_t v[4];
    if (lseek(file->fd, (off_t)file->n_tables, SEEK_SET) < 0) return false;
    samba__hash_begin(v, 0);
    for (; left > 0; left -= part) { /* data are padded to whole blocks */
        part = left < room ? left : room;
        if (!samba__read_bytes(file->fd, window, part)) return false;
        samba__hash_blocks(v, window, part);
    }
    return samba__hash_end(v, size) == file->pef.data_hash;
}
#endif

/* The values in a mapped file are those that were loaded, unless somebody wrote into it: then a
   time in its inode changed. So it does when the file gets another name, or none; then the
   checksum tells. */
SAMBA__FN bool samba__file_kept(samba_session *s)
{
#if SAMBA__POSIX_FILES
    samba__file *file = &s->file;
    samba__file now = *file;
    struct stat about;
    if (!file->mapped || s->code != SAMBA_OK) return s->code == SAMBA_OK;
    bool kept = !fstat(file->fd, &about) && (uint64_t)about.st_size == file->size;
    if (kept) samba__stamp_file(&now, &about);
    if (kept && (now.modified != file->modified || now.changed != file->changed)) {
        kept = samba__same_data(s);
        samba__stamp_file(file, &about);
    }
    if (!kept) {
        file->changed = -1; /* the next run is to look again */
        samba_fail(s, SAMBA_EIO,
                   "somebody wrote into the PEF whose parameters are in use: they "
                   "are lost. Load it in a new session; replace files by renaming (mv) or set "
                   "samba_desc.no_map");
    }
#endif
    return s->code == SAMBA_OK;
}

/* Frees the bytes, and the tables unless `keep`. */
SAMBA__FN void samba__file_close(samba_session *s, samba__file *file, bool keep)
{
#if SAMBA__POSIX_FILES
    if (file->mapped) {
        munmap(file->bytes, file->size);
        close(file->fd);
    }
#endif
    if (!file->mapped) samba__free(s, file->bytes, file->size);
    if (!keep) {
        samba__free(s, file->tables, file->n_tables);
        file->tables = NULL;
    }
    file->bytes = NULL;
    file->mapped = false;
}

/* How much room samba__verify_pef gets: enough for a large PEF to be proved in 64 passes over its
   symbols, which is far less memory than the file takes. Small files need none. */
SAMBA__FN uint32_t samba__room_for(uint32_t n_nodes)
{
    return n_nodes / 64 > SAMBA__SKYLINE ? n_nodes / 64 * 4 : 0;
}

/* ---- Files of the version before ---- */
/* Version 1 does not say which state the compiler made: what optimizers step, and the counter that
   dropout reads. Marks it in the tables that become of the file. */
SAMBA__FN void samba__mark_generated(const samba__pef *old, samba__writer *w)
{
    const size_t size = sizeof(samba__symbol_layout);
    uint8_t *generated = w->symbols + offsetof(samba__symbol_layout, generated);
    for (uint32_t i = 0; i < old->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(old, i);
        bool counts = samba__same_text(old->strings + q.name, SAMBA__COUNTER);
        if (q.role == SAMBA__STATE && q.spec.dtype == SAMBA_I32 && counts) generated[i * size] = 1;
    }
    for (uint32_t i = 0; i < old->n_sections; i++) {
        samba__section section = samba__section_at(old, i);
        if (!(section.type & SAMBA_OPT)) continue;
        for (uint32_t node = section.first; node < section.end; node++) {
            samba__call_record r = samba__record_at(old, node);
            for (int32_t o = 0; o < r.n_out; o++) {
                uint32_t symbol = samba__word(&r, r.n_in + o) - 1;
                bool state = samba__symbol_at(old, symbol).role == SAMBA__STATE;
                if (state) generated[symbol * size] = 1;
            }
        }
    }
}

/* The tables of a proved file of an older version as this one has them, in *size bytes of the
   session; NULL without memory. */
SAMBA__FN uint8_t *samba__upgrade_tables(samba_session *s, const samba__pef *old, size_t *size)
{
    samba__writer w;
    memset(&w, 0, sizeof w);
    w.header = samba__read_header(old->base, old->version);
    *size = samba__writer_size(&w);
    uint8_t *bytes = (uint8_t *)samba__alloc(s, *size);
    if (!bytes) return NULL;
    memset(bytes, 0, *size);
    samba__writer_begin(&w, bytes);
    w.header.data_hash = samba__hash(old->data, (size_t)old->data_size, 0);
    samba__put_header(bytes, &w.header);
    for (uint32_t i = 0; i < old->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(old, i);
        samba__put_symbol(w.symbols + i * sizeof(samba__symbol_layout), &q);
    }
    for (uint32_t i = 0; i < old->n_nodes; i++) {
        samba__call_record r = samba__record_at(old, i);
        samba__put_node(w.nodes + i * sizeof(samba__node_layout), &r);
    }
    for (uint32_t i = 0; i < old->n_sections; i++) {
        samba__section q = samba__section_at(old, i);
        samba__put_section(w.sections + i * sizeof(samba__section_layout), &q);
    }
    memcpy(w.words, old->words, (size_t)old->n_words * 4);
    memcpy(w.strings, old->strings, old->strings_size);
    memcpy(w.trace, old->trace, old->trace_size);
    if (old->version == 1) samba__mark_generated(old, &w);
    samba__seal(bytes, *size, *size + (size_t)old->data_size);
    return bytes;
}

/* Replaces the tables of an older file by those of this version, so that the rest of the session
   knows one version alone. The values do not stay in a mapped file then: its own tables lack the
   checksum that samba__same_data compares with. */
SAMBA__FN bool samba__file_upgrade(samba_session *s, samba__file *file, samba__text *why)
{
    samba__pef *pef = &file->pef;
    const uint8_t *data = pef->data;
    if (pef->version == SAMBA__PEF_VERSION) return true;
    size_t n_tables;
    uint8_t *tables = samba__upgrade_tables(s, pef, &n_tables);
    if (!samba__prove(why, tables != NULL, "no memory for its tables")) return false;
    samba__free(s, file->tables, file->n_tables);
    file->tables = tables;
    file->n_tables = n_tables;
    file->stays = false;
    bool fine = samba__open_pef(pef, tables, n_tables + (size_t)pef->data_size, why);
    pef->data = data;
    return fine;
}

/* The bytes of a file that are not data, by its header. */
SAMBA__FN size_t samba__n_tables(const uint8_t *header, size_t file_size)
{
    return file_size - (size_t)samba__read_header(header, SAMBA__PEF_OLDEST).data_size;
}

/* Copies the tables of file->bytes, so that nobody else changes them, and opens the PEF there. */
SAMBA__FN bool samba__copy_tables(samba_session *s, samba__file *file, samba__text *why)
{
    samba__pef *pef = &file->pef;
    pef->user_ops = s->user_ops;
    pef->n_user_ops = samba__n_user_ops(s);
    file->n_tables = 0;
    file->tables = NULL;
    if (!samba__check_header(file->bytes, file->size, why)) return false;
    file->n_tables = samba__n_tables(file->bytes, file->size);
    file->tables = (uint8_t *)samba__alloc(s, file->n_tables);
    if (!file->tables) return false;
    memcpy(file->tables, file->bytes, file->n_tables);
    return samba__prove(why, samba__n_tables(file->tables, file->size) == file->n_tables,
                        "the file was changed while it was read")
        && samba__open_pef(pef, file->tables, file->size, why);
}

/* Proves the PEF that file->bytes are, or closes the file. If most of its data are never written,
   these stay where they are; of a mapped file they are not even read, unless all are wanted. */
SAMBA__FN bool samba__file_prove(samba_session *s, samba__file *file, bool all, const char *path)
{
    char why[400];
    samba__text text = samba__text_in(why, sizeof why);
    samba__pef *pef = &file->pef;
    bool fine = samba__copy_tables(s, file, &text);
    pef->data = file->bytes + file->n_tables;
    file->stays
        = fine && pef->region[SAMBA__REGION_READONLY] > pef->data_size / 2 && samba__in_file(pef);
    bool data = all || !file->stays || !file->mapped;
    uint32_t n_room = fine ? samba__room_for(pef->n_nodes) : 0;
    size_t room_size = (size_t)n_room * sizeof(uint64_t);
    uint64_t *room = n_room ? (uint64_t *)samba__alloc(s, room_size) : NULL;
    fine = fine && (room || !n_room) && samba__verify_pef(pef, data, room, n_room, &text);
    samba__free(s, room, room_size);
    fine = fine && samba__file_upgrade(s, file, &text);
    if (!fine) samba__file_close(s, file, false);
    return fine || samba_fail(s, SAMBA_EPEF, "%s: %s", path, why);
}

#if SAMBA__POSIX_FILES
/* Opens a regular file, and no other: a FIFO would wait for a writer, a device may have no end.
   -1 after an error. */
SAMBA__FN int samba__open_regular(samba_session *s, const char *path, struct stat *about)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        samba__fail_io(s, "read", path);
        return -1;
    }
    bool fine = !fstat(fd, about) || samba__fail_io(s, "read", path);
    if (fine && S_ISDIR(about->st_mode)) {
        errno = EISDIR;
        fine = samba__fail_io(s, "read", path);
    }
    if (fine && !S_ISREG(about->st_mode))
        fine = samba_fail(s, SAMBA_EIO, "cannot read %s: it is no regular file", path);
    if (fine && about->st_size == 0)
        fine = samba_fail(s, SAMBA_EPEF, "%s: the file is empty", path);
    if (fine) return fd;
    close(fd);
    return -1;
}

/* Changes within one tick of the file system's clock have one time, so nobody could see that a file
   changed after it was mapped. Waits out the tick of the last change, at most 20 ms. False: this
   file system counts whole seconds, and one of them is not over. */
SAMBA__FN bool samba__wait_out_tick(const samba__file *file)
{
    const int64_t tick = 20 * 1000000, second = 1000000000;
    struct timeval time;
    gettimeofday(&time, NULL);
    int64_t now = (int64_t)time.tv_sec * second + (int64_t)time.tv_usec * 1000;
    int64_t age = now - samba__max64(file->modified, file->changed);
    bool coarse = file->modified % second == 0 && file->changed % second == 0;
    if (coarse && age < 3 * second) return false;
    if (age >= 0 && age < tick) poll(NULL, 0, (int)((tick - age) / 1000000 + 1));
    return true;
}

/* Maps a large file, so that pages come when they are read first, and are the session's own once it
   writes there. False if that cannot be, and the file is to be read. */
SAMBA__FN bool samba__map_file(samba_session *s, samba__file *file, int fd, struct stat *about)
{
    if (file->size < 1 << 20 || s->desc.no_map) return false;
    samba__stamp_file(file, about);
    if (!samba__wait_out_tick(file) || fstat(fd, about)) return false;
    samba__stamp_file(file, about);
    if ((uint64_t)about->st_size != file->size) return false;
    void *map = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) return false;
    file->bytes = (uint8_t *)map;
    file->fd = fd;
    file->mapped = true;
    file->kept = samba__file_kept;
    return true;
}

/* Opens and proves a PEF, which the caller closes. */
SAMBA__FN bool samba__read_file(samba_session *s, samba__file *file, bool all, const char *path)
{
    struct stat about;
    memset(file, 0, sizeof *file);
    int fd = samba__open_regular(s, path, &about);
    if (fd < 0) return false;
    file->size = (size_t)about.st_size;
    if ((uint64_t)about.st_size > SAMBA__NO_SIZE - SAMBA__ALIGN) {
        close(fd);
        return samba_fail(s, SAMBA_EPEF, "%s: the file is too large for this machine", path);
    }
    if (samba__map_file(s, file, fd, &about)) return samba__file_prove(s, file, all, path);
    file->bytes = (uint8_t *)samba__alloc(s, file->size);
    bool fine = file->bytes && samba__read_bytes(fd, file->bytes, file->size);
    if (!fine) {
        samba__fail_io(s, "read", path);
        samba__file_close(s, file, false);
    }
    close(fd);
    return fine && samba__file_prove(s, file, all, path);
}

/* A file next to the one it will replace, under a unique name. It stays locked while it is being
   written, which tells others that it is not a leftover. */
typedef struct samba__temporary {
    samba_session *session;
    char *name;
    size_t name_size;
    int fd; /* -1: none */
} samba__temporary;

/* "samba-<16 hex digits>.tmp" */
SAMBA__FN bool samba__is_temporary_name(const char *name)
{
    static const char prefix[] = "samba-";
    size_t n = sizeof prefix - 1;
    if (strncmp(name, prefix, n)) return false;
    for (size_t i = n; i < n + 16; i++) {
        bool digit = (name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f');
        if (!digit) return false;
    }
    return samba__same_text(name + n + 16, ".tmp");
}

/* Removes temporary files that killed programs left in the folder: nobody holds their locks.
   name begins with the folder, folder_size characters, and has room for a temporary name. */
SAMBA__FN void samba__sweep_temporaries(char *name, size_t name_size, size_t folder_size)
{
    char *base = name + folder_size;
    size_t room = name_size - folder_size;
    samba__print(base, room, "%s", folder_size ? "" : ".");
    DIR *folder = opendir(name);
    if (!folder) return;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (!samba__is_temporary_name(entry->d_name)) continue;
        samba__print(base, room, "%s", entry->d_name);
        int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (!flock(fd, LOCK_EX | LOCK_NB)) unlink(name);
        close(fd);
    }
    closedir(folder);
}

/* Removes the temporary file, unless it was renamed to its final name. */
SAMBA__FN void samba__temporary_close(samba__temporary *t, bool named)
{
    if (t->fd >= 0 && !named) unlink(t->name);
    if (t->fd >= 0) close(t->fd);
    t->fd = -1;
    samba__free(t->session, t->name, t->name_size);
}

/* Creates and locks a file under a new name. Another process may sweep it away between open and
   lock; it has no link then, and the next name is tried. */
SAMBA__FN int samba__create_temporary(char *base, size_t room, const char *name, mode_t mode)
{
    struct timeval now;
    struct stat about;
    for (uint64_t attempt = 0; attempt < 100; attempt++) {
        gettimeofday(&now, NULL);
        uint64_t key[4] = { (uint64_t)now.tv_sec, (uint64_t)now.tv_usec, (uint64_t)getpid(),
                            (uint64_t)(uintptr_t)base + attempt };
        uint64_t hash = samba__hash(key, sizeof key, 0);
        char hex[17];
        for (int i = 0; i < 16; i++)
            hex[i] = "0123456789abcdef"[hash >> 4 * i & 15];
        hex[16] = 0;
        samba__print(base, room, "samba-%s.tmp", hex);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST && errno != EINTR) return -1;
        if (fd < 0) continue;
        flock(fd, LOCK_EX); /* file systems without locks have no sweepers either */
        if (!fstat(fd, &about) && about.st_nlink > 0) return fd;
        close(fd);
    }
    errno = EEXIST;
    return -1;
}

/* Opens a temporary file in the folder of path, which must be a regular file or none. */
SAMBA__FN bool samba__temporary_open(samba_session *s, samba__temporary *t, const char *path)
{
    enum { NAME = sizeof "samba-0123456789abcdef.tmp" };

    const char *slash = strrchr(path, '/');
    size_t folder_size = slash ? (size_t)(slash - path) + 1 : 0;
    struct stat about;
    t->session = s;
    t->fd = -1;
    t->name_size = folder_size + NAME;
    t->name = NULL;
    bool replaces = !stat(path, &about);
    if (replaces && !S_ISREG(about.st_mode))
        return samba_fail(s, SAMBA_EIO, "cannot write %s: what has this name is no regular file",
                          path);
    t->name = (char *)samba__alloc(s, t->name_size);
    if (!t->name) return false;
    memcpy(t->name, path, folder_size);
    samba__sweep_temporaries(t->name, t->name_size, folder_size);
    /* whoever may not read the old file may not read the new one */
    mode_t mode = replaces ? about.st_mode & 0666 : 0666;
    t->fd = samba__create_temporary(t->name + folder_size, NAME, t->name, mode | S_IWUSR);
    if (t->fd >= 0) return true;
    samba__fail_io(s, "write", path);
    samba__temporary_close(t, false);
    return false;
}

/* The directory entry has to reach the disk as well, or a power cut could bring the old file back.
 */
SAMBA__FN void samba__sync_directory(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash) slash[slash == path] = 0;
    int fd = open(slash ? path : ".", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    samba__sync_file(fd);
    close(fd);
}

SAMBA__FN bool samba__write_image(int fd, samba__image *m)
{
    size_t n;
    bool fine = samba__write_bytes(fd, m->tables, m->n_tables);
    while (fine && (n = samba__image_read(m, m->window, SAMBA__WINDOW)) > 0)
        fine = samba__write_bytes(fd, m->window, n);
    return fine && samba__sync_file(fd);
}

/* Temporary file beside the target, sync, rename, sync of the directory. Pillai et al., "All file
   systems are not created equal", OSDI 2014. */
SAMBA__FN bool samba__replace_file(samba_session *s, const char *path, samba__image *m)
{
    samba__temporary t;
    if (!samba__temporary_open(s, &t, path)) return false;
    bool fine = samba__write_image(t.fd, m) || samba__fail_io(s, "write", path);
    fine = fine && (!rename(t.name, path) || samba__fail_io(s, "replace", path));
    if (fine) samba__sync_directory(t.name);
    samba__temporary_close(&t, fine);
    return fine;
}

#elif !defined(SAMBA_NO_STDIO)
/* Opens and proves a PEF, which the caller closes. */
SAMBA__FN bool samba__read_file(samba_session *s, samba__file *file, bool all, const char *path)
{
    FILE *f = fopen(path, "rb");
    long n = -1;
    memset(file, 0, sizeof *file);
    bool fine = f && fgetc(f) != EOF && !fseek(f, 0, SEEK_END) && (n = ftell(f)) > 0
        && !fseek(f, 0, SEEK_SET);
    if (f && feof(f)) samba_fail(s, SAMBA_EPEF, "%s: the file is empty", path);
    file->size = fine ? (size_t)n : 0;
    if (fine) file->bytes = (uint8_t *)samba__alloc(s, file->size);
    fine = file->bytes && fread(file->bytes, 1, file->size, f) == file->size;
    if (!fine) {
        samba__fail_io(s, "read", path);
        samba__file_close(s, file, false);
    }
    if (f) fclose(f);
    return fine && samba__file_prove(s, file, all, path);
}

SAMBA__FN bool samba__write_image(const char *path, samba__image *m)
{
    FILE *f = fopen(path, "wb");
    bool fine = f && fwrite(m->tables, 1, m->n_tables, f) == m->n_tables;
    size_t n;
    while (fine && (n = samba__image_read(m, m->window, SAMBA__WINDOW)) > 0)
        fine = fwrite(m->window, 1, n, f) == n;
    return f && !fclose(f) && fine;
}

/* Writes a temporary file first: if the program dies on the way, one of the two files is whole. */
SAMBA__FN bool samba__replace_file(samba_session *s, const char *path, samba__image *m)
{
    size_t n = strlen(path) + 5;
    char *temporary = (char *)samba__alloc(s, n);
    if (!temporary) return false;
    samba__print(temporary, n, "%s.tmp", path);
    bool fine = samba__write_image(temporary, m) || samba__fail_io(s, "write", temporary);
    if (fine) remove(path); /* here, rename does not replace */
    fine = fine && (!rename(temporary, path) || samba__fail_io(s, "replace", path));
    if (!fine) remove(temporary);
    samba__free(s, temporary, n);
    return fine;
}
#endif

#if !defined(SAMBA_NO_STDIO)
/* ---- <pef>.log: what will run, where, and what it costs ---- */
SAMBA__FN void samba__log_node(FILE *f, const samba__compilation *c, int32_t i, int64_t *flops,
                               int64_t *bytes)
{
    const samba__node *n = c->nodes[i];
    samba__decoded d;
    samba_work w;
    char line[2048];
    samba__text t = samba__text_in(line, sizeof line);
    int64_t moved = samba__bytes_moved(n);
    samba__cost_of(n, &d, &w);
    samba__put_call(&t, n);
    fprintf(f, "    %-100s %12lld flops %12lld bytes\n", line, (long long)w.flops,
            (long long)moved);
    *flops += w.flops;
    *bytes += moved;
}

SAMBA__FN void samba__put_log(FILE *f, const samba__compilation *c, const samba__plan *p,
                              size_t pef_size)
{
    fprintf(f, "%s: %d nodes in %d sections, %d symbols, PEF %lld bytes\n",
            c->program->name ? c->program->name : "samba", c->n_nodes, p->n_sections, p->n_places,
            (long long)pef_size);
    fprintf(f,
            "memory: state (DDR) %lld, arena (HBM) %lld (at least %lld are alive at once), "
            "input and output (HOST) %lld, read-only parameters %lld bytes\n",
            (long long)p->region[SAMBA__REGION_STATE], (long long)p->region[SAMBA__REGION_ARENA],
            (long long)p->lower_bound, (long long)p->region[SAMBA__REGION_IO],
            (long long)p->region[SAMBA__REGION_READONLY]);
    for (int32_t i = 0; i < p->n_sections; i++) {
        const samba__section_plan *q = &p->sections[i];
        int64_t flops = 0, bytes = 0;
        fprintf(f, "call %d: section %d %s%s%s\n", i, i, samba__type_name(q->type),
                q->graph ? " of graph " : "", q->graph ? q->graph : "");
        for (int32_t k = q->first; k < q->first + q->n; k++)
            samba__log_node(f, c, k, &flops, &bytes);
        fprintf(f, "    total %lld flops, %lld bytes moved\n", (long long)flops, (long long)bytes);
    }
}

/* Like the PEF itself, the log is written whole or not at all. */
SAMBA__FN bool samba__write_log(const samba__compilation *c, const samba__plan *p, size_t pef_size)
{
    samba_session *s = c->session;
    size_t n = strlen(c->program->pef) + 5;
    char *path = (char *)samba__temp(s, 1, n);
    if (!path) return false;
    samba__print(path, n, "%s.log", c->program->pef);
#if SAMBA__POSIX_FILES
    samba__temporary t;
    if (!samba__temporary_open(s, &t, path)) return false;
    FILE *f = fdopen(t.fd, "w");
    if (f) samba__put_log(f, c, p, pef_size);
    bool fine = f && !fflush(f) && !ferror(f) && !rename(t.name, path);
    if (!fine) samba__fail_io(s, "write", path);
    if (!fine) unlink(t.name);
    if (f)
        fclose(f); /* and t.fd with it */
    else
        close(t.fd);
    t.fd = -1;
    samba__temporary_close(&t, true);
#else
    FILE *f = fopen(path, "w");
    if (f) samba__put_log(f, c, p, pef_size);
    bool fine = f && !fflush(f) && !ferror(f);
    if (f && fclose(f)) fine = false;
    if (!fine) samba__fail_io(s, "write", path);
#endif
    return fine;
}

#else /* SAMBA_NO_STDIO: programs live in memory only */
SAMBA__FN bool samba__no_files(samba_session *s, const char *path)
{
    return samba_fail(s, SAMBA_EIO, "%s: this build has no files (SAMBA_NO_STDIO)", path);
}

#define samba__read_file(s, file, all, path) ((void)(file), samba__no_files(s, path))
#define samba__replace_file(s, path, image) ((void)(image), samba__no_files(s, path))

SAMBA__FN bool samba__write_log(const samba__compilation *c, const samba__plan *p, size_t pef_size)
{
    (void)c;
    (void)p;
    (void)pef_size;
    return true;
}
#endif

/* ==== [spread] ================================================================================ */
/* What a batch that runs in parts means. The program is traced for one part, a microbatch; here it
   is found out how the values of the parts make that of the whole batch:

     independent   does not depend on the batch: the same in each part
     rows          one dimension counts rows: the whole is the parts one after another
     sum           sums over rows: the whole is the sum of the parts
     mean          means over rows, of parts of one size: the whole is the mean of the parts
     mixed         anything else, such as the maximum over rows or the square of a mean */
typedef enum samba__spread_kind {
    SAMBA__SAME = 0,
    SAMBA__ROWS,
    SAMBA__SUMS,
    SAMBA__MEANS,
    SAMBA__OTHER
} samba__spread_kind;

typedef struct samba__spread {
    samba__spread_kind kind;
    int32_t dim;               /* the dimension that counts rows; -1: none, or not known */
    bool given;                /* computed from inputs alone, by ops that have no state */
    const samba__node *joined; /* the cat or slice behind which rows in dim are those of
                                  several tensors, one after another, or some of each part;
                                  NULL: all rows, in the batch's order */
} samba__spread;

/* Inputs of a node that stand in for others while gradients are recorded and nodes copied. */
typedef struct samba__substitute {
    samba__node *node;
    samba_tensor **in; /* what the node had before */
    int32_t n_in;
    struct samba__substitute *next;
} samba__substitute;

typedef struct samba__parts {
    samba__compilation *c;
    samba__spread *of;      /* by tensor id */
    samba_tensor **copy;    /* by tensor id: the same value, in a section of COUNT */
    samba_tensor **whole;   /* by tensor id: the value of the whole batch */
    samba_tensor ***traced; /* by node: the inputs that it was traced with */
    bool *needed;           /* by tensor id: does it, or its node, lead to an output? */
    int32_t n_tensors, n_nodes;
} samba__parts;

SAMBA__FN samba__spread samba__spread_of(const samba__parts *p, const samba_tensor *t)
{
    samba__spread none = { SAMBA__SAME, -1, true, NULL };
    return t && t->id < p->n_tensors ? p->of[t->id] : none;
}

SAMBA__FN samba__spread samba__leaf_spread(const samba_tensor *t)
{
    samba__spread s = { SAMBA__SAME, -1, true, NULL };
    bool input = t->role == SAMBA__INPUT;
    if (input && t->batch_dim >= 0) {
        s.kind = SAMBA__ROWS;
        s.dim = t->batch_dim;
    }
    s.given = input || t->role == SAMBA__CONSTANT || t->role == SAMBA__ARGIN
        || (t->role == SAMBA__WEIGHT && t->frozen);
    return s;
}

/* A dimension of an operand, counted as the result of a broadcast counts it; -1: it is lost. */
SAMBA__FN int32_t samba__aligned(const samba_shape *x, int32_t dim, const samba_shape *y)
{
    int32_t at = dim + y->ndim - x->ndim;
    if (dim < 0 || at < 0 || x->dim[dim] != y->dim[at]) return -1;
    return at;
}

/* Do rows follow each other in the same order? They do behind two cats of equally many rows, and
   behind two slices that take as much from tensors of one order. */
SAMBA__FN bool samba__same_order(const samba__parts *p, const samba__node *a, const samba__node *b)
{
    if (!a || !b || a == b) return a == b;
    if (a->op != b->op || a->n_in != b->n_in) return false;
    if (samba__is(a->op, SAMBA__OP_slice)) {
        samba__spread x = samba__spread_of(p, a->in[0]), y = samba__spread_of(p, b->in[0]);
        const int32_t *c = a->attr + SAMBA__SLICE_WORDS * x.dim,
                      *d = b->attr + SAMBA__SLICE_WORDS * y.dim;
        int64_t n = a->in[0]->shape.dim[x.dim], m = b->in[0]->shape.dim[y.dim];
        return samba__same_order(p, x.joined, y.joined) && c[0] * m == d[0] * n
            && c[1] * m == d[1] * n;
    }
    for (int32_t k = 0; k < a->n_in; k++) {
        samba__spread x = samba__spread_of(p, a->in[k]), y = samba__spread_of(p, b->in[k]);
        if (x.kind != SAMBA__ROWS || y.kind != SAMBA__ROWS || x.joined != y.joined) return false;
        if (a->in[k]->shape.dim[x.dim] != b->in[k]->shape.dim[y.dim]) return false;
    }
    return true;
}

/* What elementwise ops read of all operands together: how many of each kind, and where rows are. */
typedef struct samba__operands {
    int32_t n[SAMBA__OTHER + 1];
    int32_t dim;               /* of rows; -1: not known, or operands differ */
    bool clash;                /* operands have rows in different dimensions, or orders */
    const samba__node *joined; /* of the rows */
} samba__operands;

SAMBA__FN samba__operands samba__look_at_operands(const samba__parts *p, const samba__node *n,
                                                  int32_t from, int32_t to)
{
    samba__operands o;
    memset(&o, 0, sizeof o);
    o.dim = -1;
    for (int32_t k = from; k < to && k < n->n_in; k++) {
        if (!n->in[k]) continue;
        samba__spread s = samba__spread_of(p, n->in[k]);
        bool first = o.n[SAMBA__ROWS] + o.n[SAMBA__OTHER] == 0;
        o.n[s.kind]++;
        if (s.kind != SAMBA__ROWS && s.kind != SAMBA__OTHER) continue;
        int32_t dim = samba__aligned(&n->in[k]->shape, s.dim, &n->out[0]->shape);
        o.clash = o.clash || (!first && o.dim >= 0 && dim >= 0 && dim != o.dim)
            || (s.kind == SAMBA__ROWS && s.dim >= 0 && dim < 0)
            || (!first && s.kind == SAMBA__ROWS && (dim < 0) != (o.dim < 0))
            || (!first && !samba__same_order(p, s.joined, o.joined));
        if (first || dim < 0) o.dim = dim;
        if (first) o.joined = s.joined;
    }
    if (o.clash) o.dim = -1;
    return o;
}

/* Values of rows beside values of the part: what a row makes depends on other rows. */
SAMBA__FN samba__spread_kind samba__kind_of_rows(const samba__operands *o)
{
    bool reduced = o->n[SAMBA__SUMS] || o->n[SAMBA__MEANS];
    if (o->n[SAMBA__OTHER] || o->clash || reduced) return SAMBA__OTHER;
    return SAMBA__ROWS;
}

/* Of a + b, a - b, the branches of where, the parts of cat: sums add to sums; what does not depend
   on the batch is its own mean. */
SAMBA__FN samba__spread_kind samba__kind_of_sum(const samba__operands *o)
{
    if (o->n[SAMBA__OTHER]) return SAMBA__OTHER;
    if (o->n[SAMBA__SUMS] && (o->n[SAMBA__MEANS] || o->n[SAMBA__SAME])) return SAMBA__OTHER;
    if (o->n[SAMBA__SUMS]) return SAMBA__SUMS;
    return o->n[SAMBA__MEANS] ? SAMBA__MEANS : SAMBA__SAME;
}

/* Of products: linear in one operand that is a sum or a mean. */
SAMBA__FN samba__spread_kind samba__kind_of_product(const samba__operands *o)
{
    if (o->n[SAMBA__OTHER] || o->n[SAMBA__SUMS] + o->n[SAMBA__MEANS] > 1) return SAMBA__OTHER;
    if (o->n[SAMBA__SUMS]) return SAMBA__SUMS;
    return o->n[SAMBA__MEANS] ? SAMBA__MEANS : SAMBA__SAME;
}

/* Of any function of values none of which is of rows. */
SAMBA__FN samba__spread_kind samba__kind_of_function(const samba__operands *o)
{
    return o->n[SAMBA__OTHER] || o->n[SAMBA__SUMS] || o->n[SAMBA__MEANS] ? SAMBA__OTHER
                                                                         : SAMBA__SAME;
}

/* Of elementwise ops, if no operand has rows. */
SAMBA__FN samba__spread_kind samba__kind_without_rows(const samba__parts *p, const samba__node *n,
                                                      const samba__operands *o)
{
    samba__operands first = samba__look_at_operands(p, n, 0, 1);
    samba__operands second = samba__look_at_operands(p, n, 1, 2);
    samba__operands others = samba__look_at_operands(p, n, 1, 3);
    switch (samba__spread_rule_of(n->op)) {
    case SAMBA__SPREAD_ADDS:
        return samba__kind_of_sum(o);
    case SAMBA__SPREAD_MULTIPLIES:
        return samba__kind_of_product(o);
    case SAMBA__SPREAD_CASTS:
        if (samba__is_float(n->out[0]->dtype)) return samba__kind_of_product(o);
        return samba__kind_of_function(o);
    case SAMBA__SPREAD_DIVIDES: /* linear in what is divided */
        return second.n[SAMBA__SAME] ? samba__kind_of_product(o) : SAMBA__OTHER;
    case SAMBA__SPREAD_CHOOSES:
        return first.n[SAMBA__SAME] ? samba__kind_of_sum(&others) : SAMBA__OTHER;
    case SAMBA__SPREAD_SHIFTS:
        return o->n[SAMBA__MEANS] ? SAMBA__MEANS : samba__kind_of_function(o);
    default:
        return samba__kind_of_function(o);
    }
}

SAMBA__FN samba__spread samba__elementwise_spread(const samba__parts *p, const samba__node *n,
                                                  int32_t out)
{
    /* rate, seed and counter of dropout are no operands */
    bool first_only = samba__spread_rule_of(n->op) == SAMBA__SPREAD_DROPS;
    samba__operands o = samba__look_at_operands(p, n, 0, first_only ? 1 : SAMBA_MAX_IN);
    samba__spread s = { SAMBA__OTHER, o.dim, false, o.joined };
    (void)out;
    if (o.n[SAMBA__ROWS] || (o.n[SAMBA__OTHER] && o.dim >= 0))
        s.kind = samba__kind_of_rows(&o);
    else
        s.kind = samba__kind_without_rows(p, n, &o);
    return s;
}

/* Of a reduction over rows. */
SAMBA__FN samba__spread_kind samba__kind_over_rows(samba__spread_rule rule)
{
    if (rule == SAMBA__SPREAD_SUM || rule == SAMBA__SPREAD_SQUARES) return SAMBA__SUMS;
    return rule == SAMBA__SPREAD_MEAN ? SAMBA__MEANS : SAMBA__OTHER;
}

/* sum, mean, max, square_sum, argmax: over rows, or within them. */
SAMBA__FN samba__spread samba__reduced_spread(const samba__parts *p, const samba__node *n,
                                              int32_t out)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = { SAMBA__OTHER, -1, false, NULL };
    samba__spread_rule rule = samba__spread_rule_of(n->op);
    int32_t mask = n->attr[SAMBA__REDUCE_AXES];
    bool kept = n->attr[SAMBA__REDUCE_KEEPDIM] != 0;
    (void)out;
    if (rule == SAMBA__SPREAD_ARGMAX) {
        mask = 1 << n->attr[SAMBA__ARGMAX_AXIS];
        kept = n->attr[SAMBA__ARGMAX_KEEPDIM] != 0;
    }
    if (x.kind == SAMBA__SAME) {
        y.kind = SAMBA__SAME;
        return y;
    }
    if (x.kind == SAMBA__SUMS || x.kind == SAMBA__MEANS) {
        if (rule == SAMBA__SPREAD_SUM || rule == SAMBA__SPREAD_MEAN) y.kind = x.kind;
        return y;
    }
    int32_t all = (1 << n->in[0]->shape.ndim) - 1;
    bool over_rows = x.dim < 0 ? mask == all : mask >> x.dim & 1;
    if (over_rows) {
        if (x.kind == SAMBA__ROWS) y.kind = samba__kind_over_rows(rule);
        return y;
    }
    if (x.dim < 0) return y;
    y.kind = x.kind;
    y.dim = x.dim;
    y.joined = x.joined;
    if (kept) return y;
    for (int32_t i = 0; i < x.dim; i++)
        y.dim -= mask >> i & 1;
    return y;
}

/* Where reshape leaves the dimension of rows: where as many elements stand before it. */
SAMBA__FN int32_t samba__reshaped_dim(const samba_shape *x, int32_t dim, const samba_shape *y)
{
    int64_t before = 1, outer = 1;
    if (dim < 0) return -1;
    for (int32_t i = 0; i < dim; i++)
        before *= x->dim[i];
    for (int32_t i = 0; i < y->ndim; outer *= y->dim[i], i++) {
        bool fits = y->dim[i] % x->dim[dim] == 0 || x->dim[dim] % y->dim[i] == 0;
        if (outer == before && fits && (y->dim[i] > 1 || x->dim[dim] == 1)) return i;
    }
    return -1;
}

/* Does cat n put together again what slices took apart? Then rows have the order from before. */
SAMBA__FN bool samba__puts_together(const samba__parts *p, const samba__node *n,
                                    const samba__node **order)
{
    int64_t at = 0, at_of = 1; /* where the next slice begins: at / at_of of the rows */
    for (int32_t k = 0; k < n->n_in; k++) {
        const samba__node *slice = samba__spread_of(p, n->in[k]).joined;
        if (!slice || !samba__is(slice->op, SAMBA__OP_slice)) return false;
        samba__spread x = samba__spread_of(p, slice->in[0]);
        int64_t size = slice->in[0]->shape.dim[x.dim];
        const int32_t *attr = slice->attr + SAMBA__SLICE_WORDS * x.dim;
        if (attr[SAMBA__SLICE_BEGIN] * at_of != at * size) return false;
        if (k > 0 && !samba__same_order(p, x.joined, *order)) return false;
        *order = x.joined;
        at = attr[SAMBA__SLICE_STOP];
        at_of = size;
    }
    return at == at_of;
}

/* Do slices of one tensor that are used, n among them, together take each of its rows once? */
SAMBA__FN bool samba__one_of_all(const samba__parts *p, const samba__node *n, int32_t dim)
{
    int32_t size = n->in[0]->shape.dim[dim], at = 0;
    bool met = false;
    while (at < size) {
        const samba__node *next = NULL;
        for (int32_t i = 0; i < p->n_nodes; i++) {
            const samba__node *m = p->c->session->nodes[i];
            bool sibling = samba__is(m->op, SAMBA__OP_slice) && m->in[0] == n->in[0]
                && p->needed[m->out[0]->id];
            if (!sibling || m->attr[SAMBA__SLICE_WORDS * dim + SAMBA__SLICE_BEGIN] != at
                || m->attr[SAMBA__SLICE_WORDS * dim + SAMBA__SLICE_STEP] != 1)
                continue;
            if (!next || m == n) next = m;
        }
        if (!next) return false;
        met = met || next == n;
        at = next->attr[SAMBA__SLICE_WORDS * dim + SAMBA__SLICE_STOP];
    }
    return met;
}

/* cat: in another dimension than that of the rows, or of rows, which then have an order of their
   own. */
SAMBA__FN samba__spread samba__cat_spread(const samba__parts *p, const samba__node *n, int32_t out)
{
    (void)out;
    samba__spread y = { SAMBA__OTHER, -1, false, NULL };
    bool rows = false;
    samba__operands o;
    memset(&o, 0, sizeof o);
    for (int32_t k = 0; k < n->n_in; k++) {
        samba__spread s = samba__spread_of(p, n->in[k]);
        o.n[s.kind]++;
        if (s.kind != SAMBA__ROWS && s.kind != SAMBA__OTHER) continue;
        bool joins = s.dim == n->attr[SAMBA__AXIS_NUMBER];
        o.clash = o.clash || (rows && s.dim != y.dim)
            || (rows && !joins && !samba__same_order(p, s.joined, y.joined));
        y.dim = s.dim;
        y.joined = s.joined;
        rows = true;
    }
    if (o.clash) {
        y.dim = -1;
        y.joined = NULL;
    }
    y.kind = rows ? samba__kind_of_rows(&o) : samba__kind_of_sum(&o);
    bool joined = y.dim >= 0 && y.dim == n->attr[SAMBA__AXIS_NUMBER] && n->n_in > 1;
    if (!joined) return y;
    y.joined = n;
    if (samba__puts_together(p, n, &y.joined)) return y;
    if (o.n[SAMBA__SAME]) y.kind = SAMBA__OTHER; /* each part has them once */
    return y;
}

/* Of the rows in dimension x.dim, slice may take all, every k-th of the batch, what one tensor gave
   to a cat, or, with other slices, each of them once: so each part is worked on in pieces. Which
   the first ten are, say, differs from part to part. */
SAMBA__FN samba__spread samba__slice_spread(const samba__parts *p, const samba__node *n, int32_t o)
{
    const samba_shape *shape = &n->in[0]->shape, *out = &n->out[0]->shape;
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;
    (void)o;
    y.given = false;
    if (x.kind != SAMBA__ROWS && x.kind != SAMBA__OTHER) return y;
    if (x.dim < 0) {
        if (!samba__same_shape(shape, out)) y.kind = SAMBA__OTHER;
        return y;
    }
    const int32_t *attr = n->attr + SAMBA__SLICE_WORDS * x.dim;
    int32_t begin = attr[SAMBA__SLICE_BEGIN], end = attr[SAMBA__SLICE_STOP],
            step = attr[SAMBA__SLICE_STEP], size = shape->dim[x.dim];
    if (begin == 0 && end == size && step == 1) return y;
    if (!x.joined || samba__is(x.joined->op, SAMBA__OP_slice)) {
        bool every = size % step == 0 && begin < step && out->dim[x.dim] == size / step;
        if (every) return y;
        y.joined = n;
        if (step != 1 || !samba__one_of_all(p, n, x.dim)) y.kind = SAMBA__OTHER;
        return y;
    }
    const samba__node *cat = x.joined;
    int32_t axis = cat->attr[SAMBA__AXIS_NUMBER];
    int64_t total = cat->out[0]->shape.dim[axis], from = 0;
    y.kind = SAMBA__OTHER;
    if (step != 1) return y;
    for (int32_t k = 0; k < cat->n_in; k++) {
        int64_t to = from + cat->in[k]->shape.dim[axis];
        if (begin * total == from * size && end * total == to * size) {
            y.kind = x.kind;
            y.joined = samba__spread_of(p, cat->in[k]).joined;
        }
        from = to;
    }
    return y;
}

/* Rows that several tensors had, one after another, are in no order once a dimension of them is
   split. */
SAMBA__FN samba__spread samba__reshaped_spread(const samba__parts *p, const samba__node *n,
                                               int32_t out)
{
    const samba_shape *from = &n->in[0]->shape, *to = &n->out[0]->shape;
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;
    (void)out;
    y.given = false;
    y.dim = samba__reshaped_dim(from, x.dim, to);
    bool split = y.dim >= 0 && to->dim[y.dim] < from->dim[x.dim];
    bool several = x.joined && samba__is(x.joined->op, SAMBA__OP_cat);
    if (several && split) y.kind = SAMBA__OTHER;
    return y;
}

SAMBA__FN samba__spread samba__permuted_spread(const samba__parts *p, const samba__node *n,
                                               int32_t out)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;
    (void)out;
    y.given = false;
    if (x.dim < 0) return y;
    for (int32_t i = 0; i < n->n_attr; i++)
        if (n->attr[i] == x.dim) y.dim = i;
    return y;
}

SAMBA__FN samba__spread samba__expanded_spread(const samba__parts *p, const samba__node *n,
                                               int32_t out)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;
    bool rows = x.kind == SAMBA__ROWS && x.dim >= 0;
    (void)out;
    y.given = false;
    y.dim = samba__aligned(&n->in[0]->shape, x.dim, &n->out[0]->shape);
    if (rows && y.dim < 0) y.kind = SAMBA__OTHER;
    return y;
}

/* Each part has what is added: it does not add up, and rows are no longer one after another. */
SAMBA__FN samba__spread samba__padded_spread(const samba__parts *p, const samba__node *n,
                                             int32_t out)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = x;
    bool rows = x.kind == SAMBA__ROWS && x.dim >= 0;
    bool zeros = n->attr[n->n_attr - 1] == 0;
    (void)out;
    y.given = false;
    if (x.kind == SAMBA__SUMS && !zeros) y.kind = SAMBA__OTHER;
    if (rows && n->in[0]->shape.dim[x.dim] != n->out[0]->shape.dim[x.dim]) y.kind = SAMBA__OTHER;
    return y;
}

/* Does x have rows in a dimension that is known, or none? */
SAMBA__FN bool samba__has_known_rows(const samba__spread *x)
{
    return x->kind == SAMBA__SAME || (x->kind == SAMBA__ROWS && x->dim >= 0);
}

SAMBA__FN samba__spread samba__product_spread(const samba__parts *p, const samba__node *n,
                                              int32_t out)
{
    (void)out;
    samba__spread a = samba__spread_of(p, n->in[0]), b = samba__spread_of(p, n->in[1]);
    samba__spread y = { SAMBA__OTHER, -1, false, NULL };
    int32_t i = n->in[0]->shape.ndim, j = n->in[1]->shape.ndim, dims = n->out[0]->shape.ndim;
    if (a.kind != SAMBA__ROWS && b.kind != SAMBA__ROWS) {
        samba__operands o;
        memset(&o, 0, sizeof o);
        o.n[a.kind]++;
        o.n[b.kind]++;
        y.kind = samba__kind_of_product(&o);
        return y;
    }
    if (!samba__has_known_rows(&a) || !samba__has_known_rows(&b) || i < 2 || j < 2) return y;
    if (a.kind == b.kind && !samba__same_order(p, a.joined, b.joined)) return y;
    int32_t sum_a = i - (n->attr[SAMBA__MATMUL_TRANSPOSE_A] ? 2 : 1),
            sum_b = j - (n->attr[SAMBA__MATMUL_TRANSPOSE_B] ? 1 : 2);
    bool adds_a = a.kind == SAMBA__ROWS && a.dim == sum_a;
    bool adds_b = b.kind == SAMBA__ROWS && b.dim == sum_b;
    if (adds_a || adds_b) { /* over rows, unless the other one has rows elsewhere */
        if ((adds_a || a.kind != SAMBA__ROWS) && (adds_b || b.kind != SAMBA__ROWS))
            y.kind = SAMBA__SUMS;
        return y;
    }
    int32_t at_a = -1, at_b = -1; /* where the result has the rows of each */
    if (a.kind == SAMBA__ROWS) at_a = a.dim < i - 2 ? a.dim + dims - i : dims - 2;
    if (b.kind == SAMBA__ROWS) at_b = b.dim < j - 2 ? b.dim + dims - j : dims - 1;
    y.dim = at_a >= 0 ? at_a : at_b;
    y.joined = at_a >= 0 ? a.joined : b.joined;
    y.kind = at_a >= 0 && at_b >= 0 && at_a != at_b ? SAMBA__OTHER : SAMBA__ROWS;
    return y;
}

/* Ops that work within rows, which their first input has: all dimensions before `last` may count
   them. Other operands are the same for all rows. */
SAMBA__FN samba__spread samba__within_spread(const samba__parts *p, const samba__node *n,
                                             int32_t last)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = { SAMBA__OTHER, -1, false, NULL };
    samba__operands rest = samba__look_at_operands(p, n, 1, SAMBA_MAX_IN);
    bool alone = !rest.n[SAMBA__ROWS] && !rest.n[SAMBA__SUMS] && !rest.n[SAMBA__MEANS]
        && !rest.n[SAMBA__OTHER];
    if (x.kind == SAMBA__ROWS && x.dim >= 0 && x.dim < last && alone) {
        y.kind = SAMBA__ROWS;
        y.dim = x.dim;
        y.joined = x.joined;
    }
    if (x.kind == SAMBA__OTHER && x.dim >= 0 && x.dim < last) y.dim = x.dim;
    if (x.kind == SAMBA__SAME && alone) y.kind = SAMBA__SAME;
    return y;
}

/* Ops that work on whole images, (N,...); batch_norm has statistics as further outputs. */
SAMBA__FN samba__spread samba__images_spread(const samba__parts *p, const samba__node *n,
                                             int32_t out)
{
    samba__spread none = { SAMBA__SAME, -1, false, NULL };
    return out ? none : samba__within_spread(p, n, 1);
}

SAMBA__FN samba__spread samba__planes_spread(const samba__parts *p, const samba__node *n,
                                             int32_t out)
{
    (void)out;
    return samba__within_spread(p, n, n->in[0]->shape.ndim - 2);
}

SAMBA__FN samba__spread samba__vectors_spread(const samba__parts *p, const samba__node *n,
                                              int32_t out)
{
    (void)out;
    return samba__within_spread(p, n, n->in[0]->shape.ndim - 1);
}

/* x w^T + b works on vectors, and is linear in x if that has no rows. */
SAMBA__FN samba__spread samba__affine_spread(const samba__parts *p, const samba__node *n,
                                             int32_t out)
{
    samba__spread x = samba__spread_of(p, n->in[0]), y = { SAMBA__OTHER, -1, false, NULL };
    if (x.kind == SAMBA__ROWS || x.kind == SAMBA__OTHER) return samba__vectors_spread(p, n, out);
    samba__operands product = samba__look_at_operands(p, n, SAMBA__AFFINE_X, SAMBA__AFFINE_BIAS);
    samba__operands sum = samba__look_at_operands(p, n, SAMBA__AFFINE_BIAS, SAMBA__AFFINE_INPUTS);
    if (product.n[SAMBA__ROWS]) return y;
    sum.n[samba__kind_of_product(&product)]++;
    y.kind = sum.n[SAMBA__ROWS] ? SAMBA__OTHER : samba__kind_of_sum(&sum);
    return y;
}

/* Rows of a table by ids, which may be rows of the part: then they count from its first one. */
SAMBA__FN samba__spread samba__lookup_spread(const samba__parts *p, const samba__node *n,
                                             int32_t out)
{
    (void)out;
    samba__spread ids = samba__spread_of(p, n->in[0]), w = samba__spread_of(p, n->in[1]);
    samba__spread y = { SAMBA__OTHER, -1, false, NULL };
    if (ids.kind == SAMBA__ROWS && (w.kind == SAMBA__ROWS || w.kind == SAMBA__SAME))
        y = ids;
    else if (ids.kind == SAMBA__SAME && w.kind != SAMBA__ROWS)
        y = w;
    y.given = false;
    return y;
}

/* Queries, keys and values of the same rows; the mask may be the same for all. */
SAMBA__FN samba__spread samba__attention_spread(const samba__parts *p, const samba__node *n,
                                                int32_t out)
{
    (void)out;
    samba__operands o;
    samba__spread y = { SAMBA__OTHER, -1, false, NULL };
    memset(&o, 0, sizeof o);
    for (int32_t k = 0; k < 4 && k < n->n_in; k++) {
        samba__spread x = samba__spread_of(p, n->in[k]);
        if (!n->in[k]) continue;
        o.n[x.kind]++;
        if (x.kind != SAMBA__ROWS) continue;
        int32_t dims = n->in[k]->shape.ndim;
        int32_t dim = x.dim < 0 ? -1 : x.dim + n->out[0]->shape.ndim - dims;
        o.clash = o.clash || x.dim < 0 || x.dim >= dims - 2
            || (o.n[SAMBA__ROWS] > 1 && dim != y.dim)
            || (o.n[SAMBA__ROWS] > 1 && !samba__same_order(p, x.joined, y.joined));
        y.dim = dim;
        y.joined = x.joined;
    }
    if (o.n[SAMBA__ROWS])
        y.kind = samba__kind_of_rows(&o);
    else
        y.kind = samba__kind_of_function(&o);
    if (y.kind != SAMBA__ROWS && o.clash) y.dim = -1;
    return y;
}

/* cross_entropy and nll. */
SAMBA__FN samba__spread samba__loss_spread(const samba__parts *p, const samba__node *n, int32_t out)
{
    (void)out;
    samba__spread x = samba__spread_of(p, n->in[0]), t = samba__spread_of(p, n->in[1]);
    samba__spread y = { SAMBA__OTHER, -1, false, NULL };
    bool rows = (x.kind == SAMBA__ROWS || t.kind == SAMBA__ROWS)
        && (x.kind == SAMBA__ROWS || x.kind == SAMBA__SAME)
        && (t.kind == SAMBA__ROWS || t.kind == SAMBA__SAME)
        && (x.kind != SAMBA__ROWS || x.dim < n->in[0]->shape.ndim - 1)
        && (x.kind != t.kind
            || ((x.dim < 0) == (t.dim < 0) && samba__same_order(p, x.joined, t.joined)));
    int32_t reduction = n->attr[SAMBA__LOSS_REDUCTION];
    if (x.kind == SAMBA__SAME && t.kind == SAMBA__SAME)
        y.kind = SAMBA__SAME;
    else if (rows && reduction == SAMBA_REDUCE_MEAN)
        y.kind = SAMBA__MEANS;
    else if (rows && reduction == SAMBA_REDUCE_SUM)
        y.kind = SAMBA__SUMS;
    else if (rows) {
        y.kind = SAMBA__ROWS;
        y.dim = x.dim >= 0 ? x.dim : t.dim;
    }
    if (y.kind == SAMBA__ROWS) y.joined = x.kind == SAMBA__ROWS ? x.joined : t.joined;
    return y;
}

/* Ops of the program's own, and those of which nothing is known: they keep the rows of the first
   dimension if they have as many. */
SAMBA__FN samba__spread samba__unknown_spread(const samba__parts *p, const samba__node *n,
                                              int32_t out)
{
    samba__spread y = { SAMBA__SAME, -1, false, NULL };
    const samba_shape *shape = &n->out[out]->shape;
    for (int32_t k = 0; k < n->n_in; k++) {
        samba__spread x = samba__spread_of(p, n->in[k]);
        if (!n->in[k] || x.kind == SAMBA__SAME) continue;
        bool keeps = x.kind == SAMBA__ROWS && x.dim == 0 && shape->ndim > 0
            && shape->dim[0] == n->in[k]->shape.dim[0];
        if (y.kind == SAMBA__SAME && keeps) {
            y.kind = SAMBA__ROWS;
            y.dim = 0;
            y.joined = x.joined;
        }
        if (!keeps || !samba__same_order(p, x.joined, y.joined)) y.kind = SAMBA__OTHER;
    }
    if (y.kind == SAMBA__OTHER) y.dim = -1;
    return y;
}

SAMBA__FN samba__spread samba__same_spread(const samba__parts *p, const samba__node *n, int32_t out)
{
    samba__spread same = { SAMBA__SAME, -1, false, NULL };
    (void)p;
    (void)n;
    (void)out;
    return same;
}

typedef samba__spread (*samba__spread_fn)(const samba__parts *p, const samba__node *n, int32_t out);

SAMBA__FN samba__spread samba__node_spread(const samba__parts *p, const samba__node *n, int32_t out)
{
    static const samba__spread_fn by_rule[SAMBA__N_SPREAD_RULES] = {
#define X(rule, function) samba__##function##_spread,
        SAMBA__SPREAD_RULES(X)
#undef X
    };

    bool unknown_loss = n->gradient && samba__is_builtin(n->op); /* of samba_grad */
    if (!unknown_loss) return by_rule[samba__spread_rule_of(n->op)](p, n, out);
    samba__spread s = samba__unknown_spread(p, n, out);
    if (s.kind == SAMBA__ROWS) s.kind = SAMBA__OTHER;
    return s;
}

/* ==== [microbatches] ========================================================================== */
/* What the parts of a batch need of the whole. Means whose divisor is not the number of rows
   (targets that count; the sum of a mask) take the divisor of the whole batch, which sections of
   type COUNT compute before the first part. What cannot be put together is told, or refused. */
/* Could t be computed before the first part, from inputs alone? */
SAMBA__FN bool samba__is_given(const samba__parts *p, const samba__node *n)
{
    bool known = samba__is_builtin(n->op);
    bool draws = samba__is(n->op, SAMBA__OP_dropout)
        || (samba__is(n->op, SAMBA__OP_scaled_dot_product_attention)
            && n->n_in > SAMBA__ATTENTION_RATE);
    bool given = known && !draws && !samba__updates(n->op) && !(n->op->flags & SAMBA_OP_HOST);
    for (int32_t k = 0; given && k < n->n_in; k++)
        given = !n->in[k] || (n->in[k]->id < p->n_tensors && samba__spread_of(p, n->in[k]).given);
    return given;
}

/* Gives node n other inputs, until samba__take_back. */
SAMBA__FN bool samba__substitute_input(samba__parts *p, samba__node *n, int32_t n_in, int32_t k,
                                       samba_tensor *x)
{
    samba_session *s = p->c->session;
    SAMBA_ASSERT(k < n_in && n->n_in <= n_in && n_in <= SAMBA_MAX_IN);
    samba__substitute *other = (samba__substitute *)samba__temp(s, 1, sizeof *other);
    samba_tensor **in = (samba_tensor **)samba__temp(s, n_in, sizeof *in);
    if (!other || !in || !x) return false;
    memcpy(in, n->in, (size_t)n->n_in * sizeof *in);
    other->node = n;
    other->in = n->in;
    other->n_in = n->n_in;
    other->next = p->c->substitutes;
    p->c->substitutes = other;
    n->in = in;
    n->n_in = n_in;
    in[k] = x;
    return true;
}

/* Nodes read again what they were traced with. */
SAMBA__FN void samba__take_back(samba__compilation *c)
{
    for (samba__substitute *i = c->substitutes; i; i = i->next) {
        i->node->in = i->in;
        i->node->n_in = i->n_in;
    }
    c->substitutes = NULL;
}

/* The value of t once more, in a section of COUNT: all that leads to it is computed there, too. */
SAMBA__FN samba_tensor *samba__counted(samba__parts *p, samba_tensor *t)
{
    samba_session *s = p->c->session;
    SAMBA_ASSERT(t->id < p->n_tensors);
    bool *wanted = (bool *)samba__temp(s, p->n_tensors, sizeof *wanted);
    if (!wanted) return NULL;
    wanted[t->id] = true;
    for (int32_t i = p->n_nodes - 1; i >= 0; i--) {
        const samba__node *n = s->nodes[i];
        bool leads = false;
        for (int32_t o = 0; o < n->n_out; o++)
            leads = leads || wanted[n->out[o]->id];
        if (leads && !n->eager) {
            for (int32_t k = 0; k < n->n_in; k++)
                if (n->in[k]) wanted[n->in[k]->id] = true;
        }
    }
    s->section = SAMBA_COUNT;
    for (int32_t i = 0; i < p->n_nodes && samba_ok(s); i++) {
        const samba__node *n = s->nodes[i];
        samba_tensor *in[SAMBA_MAX_IN], *out[SAMBA_MAX_OUT];
        if (n->eager || !wanted[n->out[0]->id] || p->copy[n->out[0]->id]) continue;
        for (int32_t k = 0; k < n->n_in; k++)
            in[k] = n->in[k] && p->copy[n->in[k]->id] ? p->copy[n->in[k]->id] : n->in[k];
        if (!samba__emit_op(s, n->op, in, n->n_in, n->attr, n->n_attr, out)) break;
        for (int32_t o = 0; o < n->n_out; o++)
            p->copy[n->out[o]->id] = out[o];
    }
    s->section = SAMBA_FWD;
    if (!samba_ok(s)) return NULL;
    return p->copy[t->id] ? p->copy[t->id] : t;
}

/* The leaf owner__part, to which COUNT adds `times` value for each part of the batch. Data parallel
   training makes it the mean of all replicas. */
SAMBA__FN samba_tensor *samba__counted_leaf(samba__parts *p, const char *owner, const char *part,
                                            samba_tensor *value, float times)
{
    samba_session *s = p->c->session;
    const int32_t anew = 1;
    if (!value) return NULL;
    s->section = SAMBA_COUNT;
    samba_tensor *leaf
        = samba__layer_param(s, owner, part, &value->shape, SAMBA__OUTPUT, samba__all(0.0f));
    if (leaf) samba__emit2(SAMBA__OP_accumulate, leaf, samba_scale(value, times), &anew, 1);
    s->section = SAMBA_FWD;
    return samba_ok(s) ? leaf : NULL;
}

/* A loss that is a mean over targets that count divides by their number in the whole batch: by the
   mean of the parts' numbers, so that the mean of the parts is the loss of the batch. */
SAMBA__FN bool samba__count_targets(samba__parts *p, samba__node *n)
{
    samba_session *s = p->c->session;
    samba__spread target = samba__spread_of(p, n->in[1]);
    if (!target.given)
        return samba_fail(s, SAMBA_EARG,
                          "%s is a mean over the targets %s that count. With "
                          "microbatches or replicas these are counted before the forward pass, so "
                          "they must be inputs or made of inputs alone: no parameters that are "
                          "trained, no state, no dropout",
                          n->out[0]->name, n->in[1]->name);
    samba_tensor *ids = samba__counted(p, n->in[1]);
    if (!ids) return false;
    s->section = SAMBA_COUNT;
    samba_tensor *ignored = samba_full(s, samba_scalar_shape(), (float)n->attr[SAMBA__LOSS_IGNORE]);
    samba_tensor *counts = samba_cast(samba_ne(ids, ignored), SAMBA_F32);
    counts = samba_sum(counts, SAMBA_ALL_AXES, false);
    s->section = SAMBA_FWD;
    samba_tensor *leaf = samba__counted_leaf(p, n->out[0]->name, "targets", counts,
                                             1.0f / (float)p->c->microbatches);
    return leaf && samba__substitute_input(p, n, 3, 2, leaf);
}

/* Where node n is not linear in input k, a sum or a mean of given values: it may read that of the
   whole batch. The quotient of two sums becomes one of their means, which is a mean. */
SAMBA__FN bool samba__use_whole(samba__parts *p, samba__node *n, int32_t k, bool *is_mean)
{
    samba_tensor *x = n->in[k];
    samba__spread s = samba__spread_of(p, x), first = samba__spread_of(p, n->in[0]);
    bool reduced = s.kind == SAMBA__SUMS || s.kind == SAMBA__MEANS;
    if (!reduced || !s.given || x->dtype != SAMBA_F32 || x->id >= p->n_tensors) return true;
    bool quotient = samba__is(n->op, SAMBA__OP_div) && k == 1 && s.kind == SAMBA__SUMS
        && first.kind == SAMBA__SUMS;
    float times = 1.0f / (float)p->c->microbatches;
    if (s.kind == SAMBA__SUMS && !quotient) times = (float)p->c->replicas;
    samba_tensor **whole = &p->whole[2 * x->id + quotient];
    if (!*whole)
        *whole = samba__counted_leaf(p, x->name, quotient ? "mean_part" : "whole",
                                     samba__counted(p, x), times);
    *is_mean = *is_mean || quotient;
    return *whole && samba__substitute_input(p, n, n->n_in, k, *whole);
}

/* What an op does in each part anew, though its result is of a kind that can be put together. */
SAMBA__FN void samba__tell_of_part(const samba__parts *p, const samba__node *n)
{
    samba_session *s = p->c->session;
    samba__spread x = samba__spread_of(p, n->in[0]);
    const samba_shape *shape = &n->in[0]->shape;
    bool drops = samba__is(n->op, SAMBA__OP_dropout);
    int64_t before = 1;
    for (int32_t i = 0; i < x.dim; i++)
        before *= shape->dim[i];
    bool in_order = x.kind == SAMBA__ROWS && x.dim >= 0 && before == 1 && !x.joined;
    if (drops && !in_order)
        samba__warn(s,
                    "dropout of %s %S, whose first dimension does not count the rows of the "
                    "batch in their order: with microbatches or replicas its mask is drawn for "
                    "each part, and is not that of the whole batch",
                    n->in[0]->name, shape);
    samba__spread table = x, ids = x;
    if (samba__is(n->op, SAMBA__OP_lookup))
        table = samba__spread_of(p, n->in[1]);
    else if (samba__is(n->op, SAMBA__OP_gather) && x.dim == n->attr[SAMBA__GATHER_AXIS])
        ids = samba__spread_of(p, n->in[1]);
    else
        return;
    if (table.kind == SAMBA__ROWS && ids.kind == SAMBA__ROWS)
        samba__warn(s,
                    "%s takes rows of the batch by their numbers: with microbatches or replicas "
                    "these count from the first row of the part",
                    n->out[0]->name);
}

/* Is an input of n neither rows, nor a sum, nor a mean? */
SAMBA__FN bool samba__reads_mixed(const samba__parts *p, const samba__node *n)
{
    for (int32_t k = 0; k < n->n_in; k++)
        if (samba__spread_of(p, n->in[k]).kind == SAMBA__OTHER) return true;
    return false;
}

/* Lets n read values of the whole batch, where these can be known, so that its result is not
   mixed. */
SAMBA__FN bool samba__use_wholes(samba__parts *p, samba__node *n, samba__spread *s)
{
    bool is_mean = false;
    /* in a quotient it is the divisor that must be known */
    int32_t from = samba__is(n->op, SAMBA__OP_div) ? 1 : 0;
    for (int32_t k = from; k < n->n_in; k++)
        if (!samba__use_whole(p, n, k, &is_mean)) return false;
    *s = samba__node_spread(p, n, 0);
    if (is_mean && s->kind == SAMBA__SUMS) s->kind = SAMBA__MEANS;
    return true;
}

/* Does n divide by the number of its targets that count, which the parts have different ones of? */
SAMBA__FN bool samba__divides_by_targets(const samba__parts *p, const samba__node *n)
{
    return samba__spread_rule_of(n->op) == SAMBA__SPREAD_LOSS
        && n->attr[SAMBA__LOSS_REDUCTION] == SAMBA_REDUCE_MEAN
        && samba__spread_of(p, n->in[1]).kind != SAMBA__SAME;
}

SAMBA__FN bool samba__spread_node(samba__parts *p, samba__node *n)
{
    bool given = samba__is_given(p, n), fine = true;
    samba__spread s = samba__node_spread(p, n, 0);
    if (s.kind == SAMBA__OTHER && !samba__reads_mixed(p, n) && !n->gradient)
        fine = samba__use_wholes(p, n, &s);
    for (int32_t o = 0; o < n->n_out; o++) {
        if (o > 0) s = samba__node_spread(p, n, o);
        p->of[n->out[o]->id] = s;
        p->of[n->out[o]->id].given = given && samba__is_given(p, n);
    }
    if (n->n_in && n->in[0] && !n->gradient) samba__tell_of_part(p, n);
    return fine && (!samba__divides_by_targets(p, n) || samba__count_targets(p, n));
}

/* ---- Slices that together take all rows: each part is cut like the batch, so that they take other
   rows of it. That changes nothing if the same is done with each of them. Of each tensor two hashes
   say what is done: how it is computed, and what is computed with it up to the outputs; in both,
   slices of one tensor look alike whatever rows they take. ---- */
typedef struct samba__pieces {
    const samba__parts *parts;
    uint64_t *made; /* by tensor id: how it is computed */
    uint64_t *used; /* by tensor id: a sum over its uses */
} samba__pieces;

SAMBA__FN uint64_t samba__mixed(uint64_t h, uint64_t word)
{
    return samba__hash(&word, 8, h);
}

/* Does n take some rows, of which other slices take the rest? */
SAMBA__FN bool samba__is_piece(const samba__parts *p, const samba__node *n)
{
    if (!samba__is(n->op, SAMBA__OP_slice)) return false;
    samba__spread y = samba__spread_of(p, n->out[0]);
    return y.kind == SAMBA__ROWS && y.joined == n;
}

/* The attributes of a slice of first, whose rows are dimension dim: begin, end and step of each
   dimension, without those of rows that it takes whole, or as a piece. */
SAMBA__FN uint64_t samba__hash_of_slice(const samba__parts *p, const samba__node *n,
                                        const samba_tensor *first, int32_t dim, uint64_t h)
{
    for (int32_t i = 0; i < n->n_attr; i++) {
        int32_t axis = i / 3;
        bool whole = n->out[0]->shape.dim[axis] == first->shape.dim[axis];
        bool hidden = axis == dim && (whole || samba__is_piece(p, n));
        h = samba__mixed(h, hidden ? 0 : (uint64_t)n->attr[i]);
    }
    return h;
}

/* The op and its attributes, without the number of rows and which of them a slice takes: pieces may
   have different sizes. A mean gives the rows of a larger piece less weight, so there it counts. */
SAMBA__FN uint64_t samba__hash_of_call(const samba__pieces *q, const samba__node *n)
{
    const samba__parts *p = q->parts;
    const samba_tensor *first = n->n_in ? p->traced[n->id][0] : NULL;
    samba__spread x = samba__spread_of(p, first), y = samba__spread_of(p, n->out[0]);
    uint64_t h = samba__mixed((uint64_t)n->op->wire, (uint64_t)n->n_in);
    if (samba__is(n->op, SAMBA__OP_reshape) || samba__is(n->op, SAMBA__OP_expand)) {
        const samba_shape *shape = &n->out[0]->shape;
        for (int32_t i = 0; i < shape->ndim; i++)
            h = samba__mixed(h, i == y.dim ? 0 : (uint64_t)shape->dim[i]);
        return h;
    }
    if (samba__is(n->op, SAMBA__OP_slice)) return samba__hash_of_slice(p, n, first, x.dim, h);
    bool loss = samba__spread_rule_of(n->op) == SAMBA__SPREAD_LOSS;
    bool mean = samba__is(n->op, SAMBA__OP_mean)
        || (loss && n->attr[SAMBA__LOSS_REDUCTION] == SAMBA_REDUCE_MEAN);
    if (mean && x.dim >= 0) h = samba__mixed(h, (uint64_t)first->shape.dim[x.dim]);
    return samba__hash(n->attr, (size_t)n->n_attr * sizeof *n->attr, h);
}

SAMBA__FN void samba__hash_how_made(const samba__pieces *q, const samba__node *n)
{
    samba_tensor **in = q->parts->traced[n->id];
    uint64_t h = samba__hash_of_call(q, n);
    for (int32_t k = 0; k < n->n_in; k++)
        h = samba__mixed(h, in[k] ? q->made[in[k]->id] : 0);
    for (int32_t o = 0; o < n->n_out; o++)
        q->made[n->out[o]->id] = samba__mixed(h, (uint64_t)o);
}

/* Does only a sum or a mean over its axis read what cat makes? Then the order does not matter. */
SAMBA__FN bool samba__is_summed(const samba__parts *p, const samba__node *cat)
{
    bool any = false;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const samba__node *n = p->c->session->nodes[i];
        for (int32_t k = 0; k < n->n_in; k++) {
            if (p->traced[i][k] != cat->out[0]) continue;
            bool sums = samba__is(n->op, SAMBA__OP_sum) || samba__is(n->op, SAMBA__OP_mean);
            if (!sums || !(n->attr[SAMBA__REDUCE_AXES] >> cat->attr[SAMBA__AXIS_NUMBER] & 1))
                return false;
            any = true;
        }
    }
    return any;
}

/* What node n does with its inputs is added to what is known of their uses. */
SAMBA__FN void samba__hash_uses(const samba__pieces *q, const samba__node *n)
{
    const samba__parts *p = q->parts;
    samba_tensor **in = p->traced[n->id];
    samba__spread y = samba__spread_of(p, n->out[0]);
    bool cats = samba__is(n->op, SAMBA__OP_cat);
    bool unordered = cats
        && (y.kind == SAMBA__ROWS ? y.dim == n->attr[SAMBA__AXIS_NUMBER] && y.joined != n
                                  : samba__is_summed(p, n));
    uint64_t call = samba__hash_of_call(q, n), then = 0;
    for (int32_t o = 0; o < n->n_out; o++)
        then = samba__mixed(then, q->used[n->out[o]->id]);
    for (int32_t k = 0; k < n->n_in; k++) {
        bool adds = samba__is(n->op, SAMBA__OP_add) || (samba__is(n->op, SAMBA__OP_sub) && k == 0);
        uint64_t h = samba__mixed(call, then);
        if (!in[k]) continue;
        if (adds && y.kind != SAMBA__ROWS) { /* sums of pieces may be added in any order */
            q->used[in[k]->id] += q->used[n->out[0]->id];
            continue;
        }
        if (!unordered) h = samba__mixed(h, (uint64_t)k);
        for (int32_t j = 0; j < n->n_in && !unordered; j++)
            h = samba__mixed(h, j != k && in[j] ? q->made[in[j]->id] : 0);
        q->used[in[k]->id] += h;
    }
}

/* What is done with the rows that piece n takes, by whatever slices. */
SAMBA__FN uint64_t samba__use_of_piece(const samba__pieces *q, samba__node *const *piece, int32_t n,
                                       const samba__node *of)
{
    uint64_t used = 0;
    for (int32_t i = 0; i < n; i++) {
        bool same = piece[i]->in[0] == of->in[0]
            && !memcmp(piece[i]->attr, of->attr, (size_t)of->n_attr * sizeof *of->attr);
        if (same) used += q->used[piece[i]->out[0]->id];
    }
    return used;
}

SAMBA__FN void samba__compare_pieces(const samba__pieces *q, samba__node *const *piece, int32_t n)
{
    for (int32_t i = 1; i < n; i++) {
        int32_t k = i - 1;
        while (k >= 0 && piece[k]->in[0] != piece[i]->in[0])
            k--;
        if (k < 0) continue;
        uint64_t one = samba__use_of_piece(q, piece, n, piece[k]);
        uint64_t other = samba__use_of_piece(q, piece, n, piece[i]);
        if (one == other) continue;
        samba__warn(q->parts->c->session,
                    "%s and %s take rows of %s apart, which are then not "
                    "treated alike: with microbatches or replicas they take such rows of each "
                    "part, which are others than those of the whole batch",
                    piece[k]->out[0]->name, piece[i]->out[0]->name, piece[i]->in[0]->name);
        return;
    }
}

/* Tells of pieces of the rows with which different things are done. */
SAMBA__FN bool samba__judge_pieces(const samba__parts *p)
{
    samba_session *s = p->c->session;
    const bool *needed = p->needed;
    samba__pieces q = { p, NULL, NULL };
    samba__node **piece = (samba__node **)samba__temp(s, p->n_nodes, sizeof *piece);
    int32_t n = 0;
    if (!piece) return false;
    for (int32_t i = 0; i < p->n_nodes; i++)
        if (needed[s->nodes[i]->out[0]->id] && samba__is_piece(p, s->nodes[i]))
            piece[n++] = s->nodes[i];
    if (n == 0) return true;
    q.made = (uint64_t *)samba__temp(s, 2 * p->n_tensors, sizeof *q.made);
    if (!q.made) return false;
    q.used = q.made + p->n_tensors;
    for (int32_t i = 0; i < p->n_tensors; i++)
        q.made[i] = samba__mixed(1, (uint64_t)i);
    for (int32_t i = 0; i < p->c->n_outputs; i++) {
        const samba_tensor *t = p->c->outputs[i];
        const samba__node *joined = samba__spread_of(p, t).joined;
        bool told = joined && samba__is(joined->op, SAMBA__OP_slice); /* samba__judge_output */
        if (!told) q.used[t->id] += samba__mixed(2, (uint64_t)i);
    }
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const samba__node *node = s->nodes[i];
        if (needed[node->out[0]->id] && !node->eager) samba__hash_how_made(&q, node);
    }
    for (int32_t i = p->n_nodes - 1; i >= 0; i--) {
        const samba__node *node = s->nodes[i];
        if (needed[node->out[0]->id] && !node->eager) samba__hash_uses(&q, node);
    }
    samba__compare_pieces(&q, piece, n);
    return true;
}

/* An output, or a loss, of a kind that parts cannot make is told of, or refused. */
SAMBA__FN bool samba__judge_output(const samba__parts *p, const samba_tensor *t)
{
    samba_session *s = p->c->session;
    samba__spread y = samba__spread_of(p, t);
    int64_t before = 1;
    if (y.kind == SAMBA__ROWS && y.joined && samba__is(y.joined->op, SAMBA__OP_slice))
        y.kind = SAMBA__OTHER; /* some rows of each part */
    for (int32_t i = 0; i < y.dim; i++)
        before *= t->shape.dim[i];
    bool rows = y.kind == SAMBA__ROWS || (y.kind == SAMBA__OTHER && t->shape.ndim > 0);
    if (y.kind == SAMBA__OTHER)
        samba__warn(s,
                    "%s %S is neither of rows nor a sum or a mean over rows: %s, which is not "
                    "that of the whole batch",
                    t->name, &t->shape,
                    t->shape.ndim == 0
                        ? "with microbatches or replicas it is the mean of the parts'"
                        : "each microbatch or replica has its own");
    if (p->c->microbatches == 1) return true;
    if (t->shape.ndim == 0 && t->dtype != SAMBA_F32)
        return samba_fail(s, SAMBA_EDTYPE,
                          "output %s is %T: with microbatches a scalar is made of "
                          "those of the parts, as f32; use samba_cast",
                          t->name, (int)t->dtype);
    if (rows && (y.dim < 0 || before > 1))
        return samba_fail(s, SAMBA_EARG,
                          "output %s %S: with microbatches the first dimension of "
                          "an output must count the rows of the batch, or it must be a sum or a "
                          "mean over all of them",
                          t->name, &t->shape);
    if (y.kind == SAMBA__ROWS && y.joined)
        return samba_fail(s, SAMBA_EARG,
                          "output %s %S: %s joins rows, which so lie one tensor "
                          "after another in each part; with microbatches a slice of one of them is "
                          "an output, or cat in another dimension",
                          t->name, &t->shape, y.joined->out[0]->name);
    return rows || y.kind == SAMBA__SAME || t->dtype == SAMBA_F32
        || samba_fail(s, SAMBA_EDTYPE,
                      "output %s is %T: with microbatches a sum or a mean over "
                      "rows must be f32; use samba_cast",
                      t->name, (int)t->dtype);
}

/* Rows of an input must follow each other in memory, so that a part of the batch is one piece. */
SAMBA__FN bool samba__judge_input(const samba__parts *p, const samba_tensor *t)
{
    int64_t before = 1;
    for (int32_t i = 0; i < t->batch_dim; i++)
        before *= t->shape.dim[i];
    return p->c->microbatches == 1 || before == 1
        || samba_fail(p->c->session, SAMBA_EARG,
                      "input %s %S has its rows in dimension %d: with "
                      "microbatches that must be the first one; permute it in the program",
                      t->name, &t->shape, t->batch_dim);
}

/* Room for what is known of each tensor, with the leaves filled in; NULL after a failure. */
SAMBA__FN samba__parts *samba__open_parts(samba__compilation *c)
{
    samba_session *s = c->session;
    int32_t n = samba__n_tensors(s);
    samba__parts *p = (samba__parts *)samba__temp(s, 1, sizeof *p);
    if (!p) return NULL;
    p->c = c;
    p->n_tensors = n;
    p->n_nodes = samba__n_nodes(s);
    p->of = (samba__spread *)samba__temp(s, n, sizeof *p->of);
    p->copy = (samba_tensor **)samba__temp(s, 3 * n, sizeof *p->copy);
    p->needed = (bool *)samba__temp(s, n, sizeof *p->needed);
    p->traced = (samba_tensor ***)samba__temp(s, p->n_nodes, sizeof *p->traced);
    if (!p->of || !p->copy || !p->needed || !p->traced) return NULL;
    p->whole = p->copy + n;
    for (int32_t i = 0; i < p->n_nodes; i++)
        p->traced[i] = s->nodes[i]->in;
    for (int32_t i = 0; i < n; i++)
        p->of[i] = samba__leaf_spread(s->tensors[i]);
    return p;
}

/* Marks what leads to an output, and the first output of each node that does. */
SAMBA__FN void samba__mark_needed(samba__parts *p)
{
    for (int32_t i = 0; i < p->c->n_outputs; i++)
        p->needed[p->c->outputs[i]->id] = true;
    for (int32_t i = p->n_nodes - 1; i >= 0; i--) {
        const samba__node *n = p->c->session->nodes[i];
        bool leads = false;
        for (int32_t o = 0; o < n->n_out; o++)
            leads = leads || p->needed[n->out[o]->id];
        if (!leads) continue;
        for (int32_t k = 0; k < n->n_in && !n->eager; k++)
            if (n->in[k]) p->needed[n->in[k]->id] = true;
        p->needed[n->out[0]->id] = true;
    }
}

/* Finds out how parts make the whole. Nothing to do for a batch that runs as one. */
SAMBA__FN bool samba__find_parts(samba__compilation *c)
{
    samba_session *s = c->session;
    if (c->microbatches == 1 && c->replicas == 1) return true;
    samba__parts *p = samba__open_parts(c);
    if (!p) return false;
    samba__mark_needed(p);
    bool fine = true;
    for (int32_t i = 0; fine && i < p->n_tensors; i++)
        if (p->needed[i] && s->tensors[i]->role == SAMBA__INPUT)
            fine = samba__judge_input(p, s->tensors[i]);
    for (int32_t i = 0; fine && i < p->n_nodes; i++) {
        samba__node *node = s->nodes[i];
        bool mine = !node->eager && !node->generated && node->graph == c->graph;
        if (mine && p->needed[node->out[0]->id]) fine = samba__spread_node(p, node);
    }
    for (int32_t i = 0; fine && i < c->n_outputs; i++)
        fine = samba__judge_output(p, c->outputs[i]);
    fine = fine && samba__judge_pieces(p);
    c->parts = p;
    return fine;
}

/* How the parts of t make the whole; of one part, as rows. */
SAMBA__FN samba__spread_kind samba__kind_of(const samba__compilation *c, const samba_tensor *t)
{
    if (!c->parts) return t->shape.ndim ? SAMBA__ROWS : SAMBA__MEANS;
    samba__spread_kind kind = samba__spread_of(c->parts, t).kind;
    if (kind == SAMBA__OTHER) kind = t->shape.ndim ? SAMBA__ROWS : SAMBA__MEANS;
    return kind;
}

/* The dimension that counts the rows of an output that has rows. */
SAMBA__FN int32_t samba__row_dim(const samba__compilation *c, const samba_tensor *t)
{
    int32_t dim = c->parts ? samba__spread_of(c->parts, t).dim : t->batch_dim;
    return dim < 0 ? 0 : dim;
}

/* ==== [compile] =============================================================================== */
SAMBA__FN bool samba__add_output(samba__compilation *c, samba_tensor *t)
{
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (c->outputs[i] == t) return true;
    const char *graph = t->node ? t->node->graph : NULL;
    bool fine = (t->session == c->session
                 || samba_fail(c->session, SAMBA_EARG,
                               "output %s belongs "
                               "to another session",
                               t->name))
        && (!graph || c->microbatches == 1
            || samba_fail(c->session, SAMBA_EARG,
                          "%s is of graph %s: microbatches are for "
                          "programs without named graphs",
                          t->name, graph));
    if (fine) c->outputs[c->n_outputs++] = t;
    return fine;
}

SAMBA__FN bool samba__add_loss(samba__compilation *c, samba_tensor *t)
{
    if (!samba__is_float(t->dtype))
        return samba_fail(c->session, SAMBA_EDTYPE,
                          "%s is %T and cannot be a loss; name the "
                          "losses with program.loss or loss_indices, or compile with inference",
                          t->name, (int)t->dtype);
    for (int32_t i = 0; i < c->n_losses; i++)
        if (c->losses[i] == t) return true; /* named twice, it is one loss */
    c->losses[c->n_losses++] = t;
    const samba__node *first = c->losses[0]->node, *n = t->node;
    c->graph = n ? n->graph : NULL;
    if (!first || !n || first->graph == n->graph) return true;
    return samba_fail(c->session, SAMBA_EARG,
                      "losses %s and %s are of different graphs; one graph "
                      "of a program trains",
                      c->losses[0]->name, t->name);
}

/* SambaFlow's default suits one scalar output; of more, some were hardly meant as losses. */
SAMBA__FN void samba__warn_of_losses(const samba__compilation *c)
{
    char list[600];
    samba__text t = samba__text_in(list, sizeof list);
    if (!samba__n_optims(c->program)) return;
    if (c->n_losses == 1 && c->losses[0]->shape.ndim == 0) return;
    samba__put_inputs(&t, c->losses, c->n_losses);
    samba__warn(c->session,
                "no loss is named, so every output is one and is trained to be small: "
                "%s; name the loss with program.loss or loss_indices",
                list);
}

/* Outputs: the loss first, as SambaFlow has (loss, out). Losses: as program says, or all. */
SAMBA__FN bool samba__collect_outputs(samba__compilation *c)
{
    const samba_program *p = c->program;
    samba_session *s = c->session;
    int32_t n = 0;
    bool fine = !p->loss || samba__add_output(c, p->loss);
    for (; fine && n < SAMBA_MAX_OUTPUTS && p->outputs[n]; n++)
        fine = samba__add_output(c, p->outputs[n]);
    fine = fine
        && (c->n_outputs || samba_fail(s, SAMBA_EARG, "a program needs a loss or an output"));
    if (!fine || p->inference) return fine;
    if (p->loss) fine = samba__add_loss(c, p->loss);
    for (int32_t i = 0; fine && i < p->n_loss_indices && i < SAMBA_MAX_OUTPUTS; i++) {
        int32_t k = p->loss_indices[i];
        fine = ((k >= 0 && k < n)
                || samba_fail(s, SAMBA_ERANGE,
                              "loss index %d is out of range; there are %d "
                              "outputs",
                              k, n))
            && samba__add_loss(c, p->outputs[k]);
    }
    if (p->loss || p->n_loss_indices || !fine) return fine;
    for (int32_t i = 0; fine && i < c->n_outputs; i++)
        fine = samba__add_loss(c, c->outputs[i]);
    if (fine) samba__warn_of_losses(c);
    return fine;
}

/* Argins are found by name, so two optimizers must not have the same region. */
SAMBA__FN bool samba__own_region(const samba__compilation *c, int32_t o)
{
    const char *mine = samba__optim_at(c->program, o)->argin_region_name;
    for (int32_t i = 0; mine && i < o; i++) {
        const char *other = samba__optim_at(c->program, i)->argin_region_name;
        if (!other || !samba__same_text(mine, other)) continue;
        return samba_fail(c->session, SAMBA_ENAME,
                          "optimizers %d and %d have the same "
                          "argin_region_name %s; give each its own",
                          i, o, mine);
    }
    return true;
}

SAMBA__FN bool samba__assign_listed(samba__compilation *c, int32_t o)
{
    samba_session *s = c->session;
    const samba_optim *d = samba__optim_at(c->program, o);
    bool fine = true;
    if (d->params) {
        for (int32_t i = 0; fine && i < d->n_params; i++) {
            const samba_tensor *w = d->params[i];
            int32_t other = w && w->session == s ? c->optim_of[w->id] : 0;
            fine = (other
                    || samba_fail(s, SAMBA_EARG,
                                  "optimizer %d lists %s, which is no parameter "
                                  "to train of this session",
                                  o, w ? w->name : "NULL"))
                && (other < 0
                    || samba_fail(s, SAMBA_EARG,
                                  "%s is listed by optimizers %d and %d; a parameter "
                                  "has one optimizer",
                                  w->name, other - 1, o));
            if (fine) c->optim_of[w->id] = o + 1;
        }
    }
    return fine;
}

/* Gives an optimizer the parameters that its select wants, of those that no list has. */
SAMBA__FN bool samba__assign_selected(samba__compilation *c, int32_t o)
{
    const samba_optim *d = samba__optim_at(c->program, o);
    if (d->select) {
        for (int32_t i = 0; i < c->n_params; i++) {
            const samba_tensor *w = c->params[i];
            int32_t *optim = &c->optim_of[w->id], other = *optim - 1;
            bool listed = other >= 0 && !samba__optim_at(c->program, other)->select;
            if (listed || !d->select(w, d->select_user)) continue;
            if (other >= 0)
                return samba_fail(c->session, SAMBA_EARG,
                                  "%s is selected by optimizers %d and %d; a "
                                  "parameter has one optimizer",
                                  w->name, other, o);
            *optim = o + 1;
        }
    }
    return true;
}

/* Assigns each weight its optimizer: the one that lists it, else the one without a list. */
SAMBA__FN bool samba__collect_params(samba__compilation *c)
{
    samba_session *s = c->session;
    const samba_program *p = c->program;
    int32_t n = samba__n_tensors(s), rest = -1;
    c->params = (samba_tensor **)samba__temp(s, 2 * n, sizeof *c->params);
    c->grads = c->params ? c->params + n : NULL;
    c->optim_of = (int32_t *)samba__temp(s, n, sizeof *c->optim_of);
    bool fine = c->params && c->optim_of;
    if (!p->inference) {
        for (int32_t i = 0; fine && i < n; i++) {
            if (s->tensors[i]->role != SAMBA__WEIGHT || s->tensors[i]->frozen) continue;
            c->optim_of[i] = -1;
            c->params[c->n_params++] = s->tensors[i];
        }
        for (int32_t o = 0; fine && o < samba__n_optims(p); o++) {
            const samba_optim *d = samba__optim_at(p, o);
            fine = samba__own_region(c, o) && samba__check_optim(s, d, o)
                && (!(p->max_grad_norm > 0.0f) || !(d->max_grad_norm > 0.0f)
                    || samba_fail(
                        s, SAMBA_EARG,
                        "program.max_grad_norm clips the gradients of all "
                        "optimizers, max_grad_norm of optimizer %d its own; set one of them",
                        o))
                && (d->params || d->select || rest < 0
                    || samba_fail(s, SAMBA_EARG,
                                  "optimizers %d and %d both list no parameters; each "
                                  "must own its own",
                                  rest, o))
                && samba__assign_listed(c, o);
            if (!d->params && !d->select) rest = o;
        }
        for (int32_t o = 0; fine && o < samba__n_optims(p); o++)
            fine = samba__assign_selected(c, o);
    }
    for (int32_t i = 0; i < c->n_params; i++) {
        int32_t *optim = &c->optim_of[c->params[i]->id];
        if (*optim < 0) *optim = rest + 1;
    }
    return fine;
}

SAMBA__FN bool samba__add_pair(samba__compilation *c, samba_tensor *named, samba_tensor *source)
{
    c->pairs[c->n_pairs].named = named;
    c->pairs[c->n_pairs++].source = source;
    return named && source;
}

/* With microbatches a sum or a mean over rows is kept, as f32, where reading it finds it by this
   ending. */
#define SAMBA__MEAN "mean"

SAMBA__FN bool samba__accumulate_loss(samba__compilation *c, samba_tensor *loss)
{
    samba_session *s = c->session;
    const int32_t anew = 1;
    samba_tensor *mean = samba__layer_param(s, loss->name, SAMBA__MEAN, &loss->shape, SAMBA__OUTPUT,
                                            samba__all(0.0f));
    if (mean) mean->mem_type = loss->mem_type;
    bool sums = samba__kind_of(c, loss) == SAMBA__SUMS;
    samba_tensor *share = sums ? loss : samba_scale(loss, 1.0f / (float)c->microbatches);
    samba__emit2(SAMBA__OP_accumulate, mean, share, &anew, 1);
    if (mean) mean->grad = loss->grad;
    return samba_ok(s);
}

/* An output: of rows, a sum or mean, or the same for all parts. */
SAMBA__FN bool samba__keep_output(samba__compilation *c, samba_tensor *t)
{
    samba__spread_kind kind = samba__kind_of(c, t);
    bool input = t->role == SAMBA__INPUT;
    if (c->microbatches == 1 || kind == SAMBA__ROWS || kind == SAMBA__SAME) {
        if (c->microbatches > 1 && !input)
            t->batch_dim = kind == SAMBA__ROWS ? samba__row_dim(c, t) : -1;
        return samba__add_pair(c, t, t);
    }
    return samba__accumulate_loss(c, t);
}

/* What a loss's gradient begins with: ones, or what the caller says through <loss>__grad; of a mean
   each part has its share, and of a sum each replica all of it, as their gradients are averaged. A
   scalar's is an argin, so that files have it and a device needs no one to write it. */
SAMBA__FN samba_tensor *samba__loss_grad(samba__compilation *c, samba_tensor *loss)
{
    char buffer[256];
    samba_session *s = c->session;
    samba__spread_kind kind = samba__kind_of(c, loss);
    const char *name = samba__print_name(s, buffer, sizeof buffer, "%s__grad", loss->name);
    if (!name) return NULL;
    if (loss->role == SAMBA__WEIGHT && s->lacks_grads)
        return samba__none(samba_fail(s, SAMBA_EARG,
                                      "%s is a parameter and a loss: its gradient "
                                      "as a loss is 1 and cannot be given: "
                                      "samba_set_output_grads(s, true), or another loss",
                                      loss->name));
    if (loss->role == SAMBA__WEIGHT) /* whose gradient has this name, as a parameter's */
        return samba_full(s, loss->shape, 1.0f / (float)c->microbatches);
    if (loss->shape.ndim) {
        loss->grad = samba__layer_param(s, loss->name, "grad", &loss->shape, SAMBA__INPUT,
                                        samba__all(1.0f));
        if (loss->grad) loss->grad->batch_dim = kind == SAMBA__ROWS ? samba__row_dim(c, loss) : -1;
    } else {
        loss->grad = samba__scalar(s, name, SAMBA_F32, SAMBA__ARGIN, 1.0f);
    }
    bool adds = kind == SAMBA__ROWS || kind == SAMBA__SUMS;
    float times = adds ? (float)c->replicas : 1.0f / (float)c->microbatches;
    samba_tensor *grad = times == 1.0f ? loss->grad : samba_scale(loss->grad, times);
    return loss->dtype == SAMBA_F32 ? grad : samba_cast(grad, loss->dtype);
}

/* Backward pass: gradients of the losses in every trainable parameter. */
SAMBA__FN bool samba__add_backward(samba__compilation *c)
{
    samba_session *s = c->session;
    const int32_t onward = 0;
    samba__tape t;
    if (!c->n_params || !c->n_losses) return true;
    if (!samba__tape_open(&t, s, c->losses, c->n_losses)) return false;
    for (int32_t i = 0; i < c->n_params; i++)
        samba__tape_want(&t, c->params[i]);
    samba__tape_spread(&t);
    s->section = SAMBA_BCKWD;
    for (int32_t i = 0; i < c->n_losses && samba_ok(s); i++)
        if (samba__tape_needs(&t, c->losses[i]))
            samba__tape_seed(&t, c->losses[i], samba__loss_grad(c, c->losses[i]));
    if (samba_ok(s)) samba__tape_run(&t);
    for (int32_t i = 0; i < c->n_params && samba_ok(s); i++) {
        samba_tensor *w = c->params[i];
        samba_tensor *dw = c->grads[i] = samba_cast(samba__tape_grad(&t, w), SAMBA_F32);
        if (samba__is_spatial(c) && c->optim_of[w->id] > 0) continue;
        w->grad = c->grads[i] = dw
            ? samba__layer_param(s, w->name, "grad", &w->shape, SAMBA__GRADIENT, samba__all(0.0f))
            : NULL;
        if (w->grad && c->microbatches == 1) samba__add_pair(c, w->grad, dw);
        if (!w->grad || c->microbatches == 1) continue;
        s->section = SAMBA_ZEROGRAD;
        samba__emit1(SAMBA__OP_zero, w->grad, NULL, 0);
        s->section = SAMBA_BCKWD;
        samba__emit2(SAMBA__OP_accumulate, w->grad, dw, &onward, 1);
    }
    s->section = SAMBA_FWD;
    samba__tape_close(&t);
    return samba_ok(s);
}

/* The factor that clips these gradients, kept as the scalar <prefix>clip_factor. */
SAMBA__FN samba_tensor *samba__add_clip(samba__compilation *c, samba_tensor *const *grads,
                                        int32_t n, const char *prefix, samba_tensor *max_norm)
{
    char buffer[160];
    samba_session *s = c->session;
    samba_tensor *clip = max_norm ? samba__clip_factor(s, grads, n, max_norm) : NULL;
    const char *name = samba__print_name(s, buffer, sizeof buffer, "%sclip_factor", prefix);
    if (!clip || !name) return NULL;
    samba_tensor *kept = samba__scalar(s, name, SAMBA_F32, SAMBA__OUTPUT, 0.0f);
    return samba__add_pair(c, kept, clip) ? clip : NULL;
}

/* The factor for the gradients of all optimizers, if the program has one norm. */
SAMBA__FN bool samba__add_program_clip(samba__compilation *c, samba_tensor **clip)
{
    samba_session *s = c->session;
    const samba_program *p = c->program;
    samba__optimizer no_region = SAMBA__ZEROED;
    int32_t n = 0;
    *clip = NULL;
    if (!(p->max_grad_norm > 0.0f) || p->inference) return true;
    samba_tensor **grads = (samba_tensor **)samba__temp(s, c->n_params, sizeof *grads);
    if (!grads) return false;
    for (int32_t i = 0; i < c->n_params; i++)
        if (c->optim_of[c->params[i]->id] > 0 && c->grads[i]) grads[n++] = c->grads[i];
    if (!n) return true; /* which the first optimizer reports, if there is one */
    no_region.prefix = "";
    samba_tensor *max_norm = samba__optim_argin(s, &no_region, "max_grad_norm", p->max_grad_norm);
    *clip = max_norm ? samba__add_clip(c, grads, n, "", max_norm) : NULL;
    return *clip != NULL;
}

/* GRADNORM and OPT sections of one optimizer over the parameters that got a gradient. clip: that of
   all optimizers, or NULL. */
SAMBA__FN bool samba__add_optimizer(samba__compilation *c, int32_t o, samba_tensor *clip)
{
    samba_session *s = c->session;
    const samba_optim *d = samba__optim_at(c->program, o);
    samba_tensor **mine = (samba_tensor **)samba__temp(s, 2 * c->n_params, sizeof *mine), **grads;
    char region[32];
    samba__optimizer opt;
    int32_t n = 0;
    if (!mine) return false;
    grads = mine + c->n_params;
    samba__print(region, sizeof region, samba__n_optims(c->program) > 1 ? "optim%d__" : "", o);
    for (int32_t i = 0; i < c->n_params; i++) {
        samba_tensor *w = c->params[i];
        if (c->optim_of[w->id] == o + 1 && c->grads[i]) {
            grads[n] = c->grads[i];
            mine[n++] = w;
        }
    }
    if (!n)
        return samba_fail(s, SAMBA_EARG, "optimizer %d has no parameter that influences a loss", o);
    const char *prefix = d->argin_region_name ? d->argin_region_name : region;
    if (!samba__optimizer_open(s, &opt, d, prefix, clip)) return false;
    if (opt.max_norm) opt.clip = samba__add_clip(c, grads, n, prefix, opt.max_norm);
    bool fine = samba_ok(s);
    for (int32_t i = 0; fine && i < n; i++)
        fine = samba__optimizer_step(&opt, mine[i], grads[i]);
    return fine;
}

/* The bf16 scale of a group of weights x[0], x[step] ...: the largest becomes 127, or -8. */
SAMBA__FN uint16_t samba__group_scale(const float *x, bool four)
{
    float most = 0.0f;
    for (int32_t i = 0; i < SAMBA__GROUP; i++)
        most = samba__abs(x[i]) > samba__abs(most) ? x[i] : most;
    return samba__to_bf16(four ? most / -8.0f : samba__abs(most) / 127.0f);
}

SAMBA__FN int32_t samba__quantized(float x, uint16_t scale, int32_t least, int32_t most)
{
    float d = samba__from_bf16(scale), q = d != 0.0f ? x / d : 0.0f;
    float shifted = q < 0.0f ? q - 0.5f : q + 0.5f; /* so that the cast rounds to the nearest */
    if (shifted > (float)most) return most;
    return shifted > (float)least ? (int32_t)shifted : least;
}

/* Writes row j of a matrix of k columns, x, into its packed form; bf16 is cut or rounded. */
SAMBA__FN void samba__pack_weight_row(uint8_t *packed, uint16_t *scales, samba_dtype type,
                                      const float *x, int64_t k, int64_t j, bool cut)
{
    uint8_t *q = packed + (samba__packed_at(packed, type, k, j) - packed);
    uint16_t *scale = scales ? scales + (samba__scale_at(scales, k, j) - scales) : NULL;
    bool four = type == SAMBA_U8;
    int64_t row = samba__panel_row(type);
    for (int64_t p = 0; p < k; p++) {
        uint8_t *to = q + (four ? p / 2 : p) * row;
        uint16_t *d = scale ? scale + p / SAMBA__GROUP * SAMBA__PANEL : NULL, h;
        if (d && p % SAMBA__GROUP == 0) *d = samba__group_scale(x + p, four);
        if (type == SAMBA_F32)
            memcpy(to, x + p, 4);
        else if (type == SAMBA_BF16) {
            h = cut ? samba__cut_bf16(x[p]) : samba__to_bf16(x[p]);
            memcpy(to, &h, 2);
        } else if (!four)
            *to = (uint8_t)samba__quantized(x[p], *d, -127, 127);
        else
            *to |= (uint8_t)((samba__quantized(x[p], *d, -8, 7) + 8) << p % 2 * 4);
    }
}

/* A part of the packed form of w (n,k), (n / 32, rows, 32), to be filled; NULL after a failure. */
SAMBA__FN samba_tensor *samba__packed_leaf(samba_tensor *w, const char *kind, samba_dtype type,
                                           int32_t rows)
{
    char buffer[256];
    int32_t dim[3] = { (w->shape.dim[0] - 1) / SAMBA__PANEL + 1, rows, SAMBA__PANEL };
    samba_shape shape = samba__shape_of(dim, 3);
    const char *name
        = samba__print_name(w->session, buffer, sizeof buffer, "%s__%s", w->name, kind);
    samba_tensor *t = name
        ? samba__shared_leaf(w->session, name, type, &shape, SAMBA__WEIGHT, samba__all(0.0f))
        : NULL;
    if (!t || !samba__own_data(t)) return NULL;
    t->frozen = true;
    t->symbol = -1; /* what a program has of it is out of date */
    return t;
}

/* Makes, or fills anew, the packed form of w. */
SAMBA__FN bool samba__pack_weight(samba_tensor *w, samba_weights as)
{
    int32_t n = w->shape.dim[0], k = w->shape.dim[1];
    const char *kind = samba__packing[as].scale;
    samba_tensor *scale = NULL,
                 *packed = samba__packed_leaf(w, samba__packing[as].name, samba__packing[as].type,
                                              as == SAMBA_WEIGHTS_INT4 ? k / 2 : k);
    if (packed && kind) scale = samba__packed_leaf(w, kind, SAMBA_BF16, k / SAMBA__GROUP);
    if (!packed || (kind && !scale) || !samba__own_data(w)) return false;
    memset(packed->data, 0, samba__host_bytes(packed));
    for (int32_t j = 0; j < n; j++)
        samba__pack_weight_row((uint8_t *)packed->data, scale ? (uint16_t *)scale->data : NULL,
                               packed->dtype, (const float *)w->data + (int64_t)j * k, k, j,
                               w->session->cuts_bf16);
    return true;
}

/* Packs what the ops of the program can read packed. */
SAMBA__FN bool samba__pack_weights(samba__compilation *c)
{
    samba_session *s = c->session;
    if (!c->program->weights) return true;
    bool *done = (bool *)samba__temp(s, samba__n_tensors(s), sizeof *done);
    for (int32_t i = 0; done && i < samba__n_nodes(s); i++) {
        const samba__node *n = s->nodes[i];
        bool reads = samba__is(n->op, SAMBA__OP_affine) || samba__is(n->op, SAMBA__OP_lookup);
        samba_tensor *w = reads ? n->in[1] : NULL;
        samba_weights as = w ? samba__packs_as(w, c->program->weights) : SAMBA_WEIGHTS_PLAIN;
        if (!as || done[w->id]) continue;
        done[w->id] = true;
        if (!samba__pack_weight(w, as)) return false;
    }
    return done != NULL;
}

/* Memories exist, and what lies between ops asks for none but the one it is in. */
SAMBA__FN bool samba__check_memories(const samba__compilation *c)
{
    samba_session *s = c->session;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->tensors[i];
        bool placed = !t->node || t->mem_type == SAMBA_MEM_NONE || t->mem_type == SAMBA_MEM_HBM;
        if ((unsigned)t->mem_type > SAMBA_MEM_HOST)
            return samba_fail(s, SAMBA_ERANGE,
                              "%s.mem_type is %d; there are SAMBA_MEM_NONE, "
                              "SAMBA_MEM_DDR, SAMBA_MEM_HBM and SAMBA_MEM_HOST",
                              t->name, (int32_t)t->mem_type);
        for (int32_t k = 0; !placed && k < c->n_outputs; k++)
            placed = c->outputs[k] == t;
        if (!placed)
            return samba_fail(s, SAMBA_ERANGE,
                              "%s.mem_type is %d, but what ops pass on to each "
                              "other shares memory in the HBM: leave it SAMBA_MEM_NONE, or make "
                              "it an output",
                              t->name, (int32_t)t->mem_type);
    }
    return true;
}

/* Everything before the PEF's bytes: from the program to the plan. */
SAMBA__FN bool samba__lower(samba__compilation *c, samba__plan *p)
{
    samba_session *s = c->session;
    int32_t room = c->n_params + SAMBA_MAX_OUTPUTS + 1 + samba__n_optims(c->program) + 1;
    samba_tensor *clip = NULL;
    c->pairs = (samba__binding_pair *)samba__temp(s, room, sizeof *c->pairs);
    if (!c->pairs) return false;
    for (int32_t i = 0; i < samba__n_tensors(s); i++)
        if (s->tensors[i]->role == SAMBA__OUTPUT && s->tensors[i]->node)
            s->tensors[i]->role = SAMBA__TEMP;
    c->first_generated = samba__n_nodes(s);
    s->generating = true;
    s->graph = c->graph;
    if (!samba__pack_weights(c) || !samba__find_parts(c) || !samba__add_backward(c)) return false;
    for (int32_t i = 0; i < c->n_outputs; i++) {
        if (!samba__keep_output(c, c->outputs[i])) return false;
    }
    if (!samba__add_program_clip(c, &clip)) return false;
    if (!c->program->inference) {
        for (int32_t o = 0; o < samba__n_optims(c->program); o++)
            if (!samba__add_optimizer(c, o, clip)) return false;
    }
    s->generating = false;
    c->n_tensors = samba__n_tensors(s) + c->n_pairs + c->n_params;
    c->bound = (samba_tensor **)samba__temp(s, c->n_tensors, sizeof *c->bound);
    return c->bound && samba__collect_live(c) && samba__simplify(c) && samba__fuse(c)
        && samba__bind(c) && samba__sweep_and_schedule(c) && samba__plan_within(c, p);
}

/* What the PEF itself carries: constants and the first values of argins. */
SAMBA__FN const void *samba__initial_value(samba_session *s, uint32_t index, const char *name,
                                           const samba__symbol *q)
{
    samba_tensor *t
        = q->role == SAMBA__CONSTANT || q->role == SAMBA__ARGIN ? samba__named(s, name) : NULL;
    (void)index;
    return t ? t->data : NULL;
}

SAMBA__FN bool samba__check_program(samba_session *s, const samba_program *p)
{
    static const char *const limit[4]
        = { "mem_limit[0]", "mem_limit[1]", "mem_limit[2]", "mem_limit[3]" };
    const char *at = "samba_program";
    bool fine = samba__in_range(s, at, "microbatches", p->microbatches, 0.0, 65536.0)
        && samba__in_range(s, at, "replicas", p->replicas, 0.0, 65536.0)
        && samba__in_range(s, at, "n_loss_indices", p->n_loss_indices, 0.0, SAMBA_MAX_OUTPUTS)
        && samba__in_range(s, at, "n_optims", p->n_optims, 0.0, 65536.0)
        && samba__in_range(s, at, "weights", (int32_t)p->weights, 0.0, SAMBA_WEIGHTS_INT4)
        && samba__in_range(s, at, "level", (int32_t)p->level, 0.0, SAMBA_O3)
        && samba__in_range(s, at, "mapping", (int32_t)p->mapping, 0.0, SAMBA_MAPPING_SPATIAL)
        && samba__in_range(s, at, "sram_bytes", (double)p->sram_bytes, 0.0, SAMBA__NO_LIMIT)
        && samba__check_hyperparam(s, at, "max_grad_norm", (double)p->max_grad_norm)
        && samba__in_range(s, at, "memory", (double)p->memory, 0.0, SAMBA__NO_LIMIT);
    for (int i = 0; fine && i < 4; i++)
        fine = samba__in_range(s, at, limit[i], (double)p->mem_limit[i], 0.0, SAMBA__NO_LIMIT);
    if (!fine) return false;
    if (p->n_optims && !p->optims)
        return samba_fail(s, SAMBA_EARG, "in samba_program: n_optims is %d, but optims is NULL",
                          p->n_optims);
    if (p->optims && p->optim.kind)
        return samba_fail(s, SAMBA_EARG,
                          "in samba_program: optim and optims are both given; use "
                          "one of them");
    const samba_optim *o = &p->optim;
    bool given = o->params || o->select || o->argin_region_name;
    for (int32_t i = 0; i < SAMBA__N_OPTIM_ARGINS; i++)
        given = given || samba__optim_value(o, i) != 0.0f;
    if (o->kind || !given) return true;
    char names[120];
    return samba_fail(s, SAMBA_EARG, "in samba_program: optim has fields, but no kind; use %s",
                      samba__optimizer_names(names, sizeof names));
}

SAMBA__FN bool samba__begin_compilation(samba_session *s, samba__compilation *c,
                                        const samba_program *program)
{
    memset(c, 0, sizeof *c);
    c->session = s;
    c->program = program;
    c->microbatches = program->microbatches > 1 ? program->microbatches : 1;
    c->replicas = program->replicas > 1 ? program->replicas : 1;
    if (!samba__check_program(s, program)) return false;
    if ((unsigned)program->weights > (program->inference ? SAMBA_WEIGHTS_INT4 : 0))
        return samba_fail(s, SAMBA_EARG,
                          "program.weights is %d; it says how a program with "
                          "inference stores its weights, 0 ... 4",
                          (int32_t)program->weights);
    return samba__collect_outputs(c) && samba__collect_params(c);
}

/* ==== [session] =============================================================================== */
SAMBA__FN void samba__check_desc(samba_session *s, const samba_desc *desc)
{
    if (!desc) return;
    samba__in_range(s, "samba_open", "threads", desc->threads, 0.0, 65536.0);
    if (!desc->alloc != !desc->release)
        samba_fail(s, SAMBA_EARG,
                   "in samba_open: alloc and release come together; one of them is "
                   "NULL");
    if (desc->threads > SAMBA__MAX_THREADS)
        samba__warn(s, "in samba_open: %d threads are asked for; there will be %d", desc->threads,
                    SAMBA__MAX_THREADS);
}

SAMBA_API samba_session *samba_open(const samba_desc *desc)
{
    samba_desc d = SAMBA__ZEROED;
    if (desc) d = *desc;
    if (!d.alloc || !d.release) {
        d.alloc = samba__default_alloc;
        d.release = samba__default_release;
    }
    samba_session *s = (samba_session *)d.alloc(sizeof *s, d.user);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->desc = d;
    s->held = sizeof *s;
    s->seed = d.seed ? d.seed : 256;
    s->tracing = s->train = true;
    s->section = SAMBA_FWD;
    s->quiet = d.quiet;
    s->has_pool = samba__pool_open(&s->pool, d.threads > 0 ? d.threads : samba__processors());
    s->local = (float *)samba__alloc(s, samba__local_bytes(s));
    s->poisoned = !s->local; /* no op can run: this error stays */
    samba_set_graphamp(s, d.graphamp);
    const char *wrong = samba__wrong_arithmetic();
    if (wrong) samba_fail(s, SAMBA_ESTATE, "samba_open: %s", wrong);
    samba__check_desc(s, desc);
    return s;
}
#if defined(SAMBA_DEFAULT_SESSION)
static samba_session *samba__default_session;

SAMBA_API samba_session *samba_default(void)
{
    if (!samba__default_session) samba__default_session = samba_open(NULL);
    return samba__default_session;
}
#endif

SAMBA__FN void samba__unload(samba_session *s)
{
    s->culprit.node = NULL; /* its names are those of the program */
    samba__free(s, s->memory, s->memory_size);
    samba__file_close(s, &s->file, false);
    s->memory = NULL;
    s->rt = NULL;
    for (int32_t i = 0; i < samba__n_tensors(s); i++)
        s->tensors[i]->symbol = -1;
}

SAMBA_API int samba_close(samba_session *s)
{
    if (!s) return 1;
    int failed = s->code != SAMBA_OK;
    samba__unload(s);
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->tensors[i];
        if (!t->borrowed) samba__free(s, t->data, samba__host_bytes(t));
    }
#if defined(SAMBA_DEFAULT_SESSION)
    if (s == samba__default_session) samba__default_session = NULL;
#endif
    if (s->has_pool) samba__pool_close(&s->pool);
    samba__free(s, s->local, samba__local_bytes(s));
    while (s->blocks)
        samba__ds_free(s->blocks + 1);
    samba__arena_free(s, &s->temp_chunks);
    samba__arena_free(s, &s->scope_chunks);
    samba__arena_free(s, &s->chunks);
    s->desc.release(s, sizeof *s, s->desc.user);
    return failed;
}

SAMBA_API bool samba_tracing(const samba_session *s)
{
    return s && s->tracing;
}

SAMBA_API bool samba_set_tracing(samba_session *s, bool tracing)
{
    if (!s) return false;
    s->tracing = tracing; /* after a failure, too: it can be switched back */
    return samba_ok(s);
}

SAMBA_API void samba_on_event(samba_session *s, samba_event_fn fn, void *user)
{
    if (s) {
        s->on_event = fn;
        s->event_user = user;
    }
    if (s && s->rt) {
        s->rt->on_event = fn;
        s->rt->event_user = user;
    }
}

/* What is called name begins; ends, and how. Both are for expressions. */
SAMBA__FN bool samba__begin(const samba_session *s, const char *name)
{
    if (s->on_event) s->on_event(name, -1, true, s->event_user);
    return true;
}

SAMBA__FN bool samba__end(const samba_session *s, const char *name, bool fine)
{
    if (s->on_event) s->on_event(name, -1, false, s->event_user);
    return fine;
}

SAMBA__FN bool samba__need_program(samba_session *s, const char *what)
{
    return samba_ok(s) && samba__file_kept(s)
        && (s->rt
            || samba_fail(s, SAMBA_ESTATE,
                          "in %s: no program is loaded; call samba_compile "
                          "or samba_load first",
                          what));
}

/* "did you mean": the named tensor nearest to name, of the given role (0: any). */
SAMBA__FN bool samba__fail_name(samba_session *s, const char *what, const char *name, int32_t role)
{
    const char *nearest = "none";
    size_t best = SAMBA__NO_SIZE;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->tensors[i];
        if (t->removed || (role && (t->role != role || t->symbol < 0))) continue;
        size_t d = samba__distance(t->name, name);
        if (d < best) {
            best = d;
            nearest = t->name;
        }
    }
    return samba_fail(s, SAMBA_ENAME, "%s %s is unknown; the nearest name is %s", what, name,
                      nearest);
}

/* ---- Modes ---- */
/* What samba_set_train and samba_use_running_stats said, before or after the program was loaded; a
   program that infers has no other way. */
SAMBA__FN void samba__apply_mode(samba_session *s)
{
    if (!s->rt) return;
    s->rt->train = s->train && !s->rt->inference;
    s->rt->running_stats = s->running_stats || s->rt->inference;
}

SAMBA_API bool samba_set_train(samba_session *s, bool train)
{
    if (!samba_ok(s)) return false;
    s->train = train;
    samba__apply_mode(s);
    return true;
}

SAMBA_API bool samba_use_running_stats(samba_session *s, bool use)
{
    if (!samba_ok(s)) return false;
    s->running_stats = use;
    samba__apply_mode(s);
    return true;
}

SAMBA_API bool samba_set_transfer(samba_session *s, bool transfer)
{
    if (!samba_ok(s)) return false;
    s->withholds = !transfer;
    return true;
}

SAMBA_API bool samba_set_output_grads(samba_session *s, bool init)
{
    if (!samba_ok(s)) return false;
    s->lacks_grads = !init;
    return true;
}

/* ==== [values] ================================================================================ */
/* ---- Host copies: which is newer, the host's or the device's? ---- */
SAMBA__FN uint64_t samba__hash_data(const samba_tensor *t)
{
    return samba__hash(t->data, samba__host_bytes(t), 0);
}

/* The host copy of t is now as new as the value on the device, or older. From here on it is the
   newer one only if it is edited. C tells nobody of a store through a pointer, so its hash does:
   one pass over the bytes, a fraction of the copy's own time. What the program computes is never
   sent from a list and needs none. */
SAMBA__FN void samba__settle(samba_tensor *t)
{
    t->settled = t->data && t->role != SAMBA__OUTPUT && t->role != SAMBA__TEMP
        && t->role != SAMBA__CONSTANT;
    if (t->settled) t->data_hash = samba__hash_data(t);
}

SAMBA__FN size_t samba__device_size(const samba_tensor *t)
{
    samba__symbol q = samba__symbol_at(&t->session->rt->pef, (uint32_t)t->symbol);
    return (size_t)samba__symbol_bytes(&t->session->rt->pef, &q);
}

SAMBA_API size_t samba_bytes(const samba_tensor *t)
{
    if (!t) return 0;
    return t->session->rt && t->symbol >= 0 ? samba__device_size(t) : samba__host_bytes(t);
}

/* Copies a value of t, which is a transfer if the device has t. */
SAMBA__FN void samba__transfer(const samba_tensor *t, void *to, const void *from, const char *name)
{
    if (t->symbol >= 0) samba__begin(t->session, name);
    memcpy(to, from, samba_bytes(t));
    if (t->symbol >= 0) samba__end(t->session, name, true);
}

/* Has t a host copy that the program can take? */
SAMBA__FN bool samba__can_send(const samba_tensor *t, const char *what)
{
    samba_session *s = t->session;
    if (t->symbol < 0)
        return samba_fail(s, SAMBA_ESTATE, "in %s(%s): the program does not use it", what, t->name);
    if (!t->data)
        return samba_fail(s, SAMBA_ESTATE,
                          "in %s(%s): it has no host copy; call samba_cpu or make "
                          "it with data",
                          what, t->name);
    if (samba_bytes(t) == samba__host_bytes(t)) return true;
    return samba_fail(s, SAMBA_ESTATE,
                      "in %s(%s): the program wants all microbatches, %l bytes; "
                      "use samba_write",
                      what, t->name, (int64_t)samba_bytes(t));
}

/* Gives t the value data. */
SAMBA__FN void samba__put_value(samba_tensor *t, const void *data)
{
    samba_session *s = t->session;
    t->withheld = t->not_given = false;
    samba__transfer(t, samba__value_of(t), data, "PyRT_SET_TENSORS");
    if (s->rt && t->symbol >= 0 && t->role == SAMBA__GRADIENT) samba__forget_norm(s->rt);
    t->has_value = true;
    t->copied = data == t->data ? s->runs + 1 : 0;
}

SAMBA__FN bool samba__fail_not_given(const samba_tensor *t, const char *what)
{
    return samba_fail(
        t->session, SAMBA_ESTATE,
        "in %s: %s %T %S, the gradient of a loss, was not "
        "given a value (samba_set_output_grads): give it by samba_write, or as a feed",
        what, t->name, (int)t->dtype, &t->shape);
}

/* Sends the host copy of t if it is newer than the device's value; also if nobody knows. */
SAMBA__FN bool samba__send_newer(samba_tensor *t)
{
    if (t->withheld && !samba__own_data(t)) return false;
    if (!t->data) return true;
    uint64_t hash = samba__hash_data(t);
    if (t->settled && t->data_hash == hash) return true;
    if (!samba__can_send(t, "samba_run_with")) return false;
    samba__put_value(t, t->data);
    t->settled = true;
    t->data_hash = hash;
    return true;
}

/* ---- Writing and reading ---- */
SAMBA_API bool samba_write(samba_tensor *t, const void *data)
{
    if (!t || !samba_ok(t->session)) return false;
    samba_session *s = t->session;
    if (!data) return samba_fail(s, SAMBA_EARG, "in samba_write(%s): data is NULL", t->name);
    if (t->symbol < 0 && t->node && t->role == SAMBA__TEMP)
        return samba_fail(s, SAMBA_ESTATE,
                          "in samba_write(%s): it is computed by %s and cannot "
                          "be written",
                          t->name, t->node->op->name);
    if (t->symbol < 0 && !samba__own_room(t)) return false;
    if (!samba__in_reach(t)) return false;
    samba__put_value(t, data);
    if (t->symbol >= 0) samba__settle(t);
    return true;
}

SAMBA_API bool samba_write_bytes(samba_tensor *t, const void *data, size_t bytes)
{
    if (!t || !samba_ok(t->session)) return false;
    if (data && bytes != samba_bytes(t))
        return samba_fail(t->session, SAMBA_ESHAPE,
                          "in samba_write_bytes(%s): it is %T %S and "
                          "takes %l bytes; %l were given",
                          t->name, (int)t->dtype, &t->shape, (int64_t)samba_bytes(t),
                          (int64_t)bytes);
    return samba_write(t, data);
}

/* What a loop over the values of t may read after an error: 4 bytes for each of its elements. */
SAMBA__FN const void *samba__zeros_for(samba_tensor *t)
{
    static const float few[4096] = { 0.0f };
    if (!t) return few;
    samba_session *s = t->session;
    size_t size = samba__mul_size(samba_bytes(t) / samba_dtype_size(t->dtype), sizeof *few);
    if (size <= sizeof few) return few;
    if (size > s->zeros_size) { /* who has a smaller block keeps it */
        void *more = samba__arena_alloc(s, size);
        if (!more) return samba_dtype_size(t->dtype) < sizeof *few ? NULL : samba__place_of(t);
        s->zeros = more;
        s->zeros_size = size;
    }
    return s->zeros;
}

/* The values of t; NULL with an error if they cannot be read as dtype. */
SAMBA__FN const void *samba__readable(samba_tensor *t, samba_dtype dtype, const char *what)
{
    if (!t || !samba_ok(t->session) || !samba__in_reach(t)) return NULL;
    if (t->not_given) return samba__none(samba__fail_not_given(t, what));
    const void *p = samba__value_of(t);
    if (t->dtype != dtype) {
        samba_fail(t->session, SAMBA_EDTYPE, "in %s(%s): it is %T, not %T; use samba_copy_out",
                   what, t->name, (int)t->dtype, (int)dtype);
    } else if (!p) {
        samba_fail(t->session, SAMBA_ESTATE,
                   "in %s(%s): it has no value: list it in "
                   "program.outputs before compiling, and run FWD",
                   what, t->name);
    }
    return t->dtype == dtype ? p : NULL;
}

SAMBA_API const float *samba_read(samba_tensor *t)
{
    const void *p = samba__readable(t, SAMBA_F32, "samba_read");
    return (const float *)(p ? p : samba__zeros_for(t));
}

SAMBA_API const int32_t *samba_read_i32(samba_tensor *t)
{
    const void *p = samba__readable(t, SAMBA_I32, "samba_read_i32");
    return (const int32_t *)(p ? p : samba__zeros_for(t));
}

SAMBA_API bool samba_copy_out(samba_tensor *t, void *data, size_t size)
{
    if (!t || !samba_ok(t->session)) return false;
    bool fits = (data && size == samba_bytes(t))
        || samba_fail(t->session, SAMBA_EARG,
                      "in samba_copy_out(%s): %l bytes were offered, %l "
                      "are needed",
                      t->name, (int64_t)(data ? size : 0), (int64_t)samba_bytes(t));
    const void *p = samba__readable(t, t->dtype, "samba_copy_out");
    if (fits && samba_ok(t->session)) samba__transfer(t, data, p, "PyRT_GET_TENSORS");
    return samba_ok(t->session);
}

SAMBA__FN bool samba__as_f32(samba_tensor *t, const float *from, float *to, int64_t n)
{
    if (!t || !samba_ok(t->session)) return false;
    size_t size = samba_dtype_size(t->dtype), bytes = samba_bytes(t);
    if ((!from && !to) || (uint64_t)n != bytes / size)
        return samba_fail(t->session, SAMBA_EARG, "%s has %l elements; %l were offered", t->name,
                          (int64_t)(bytes / size), from || to ? n : 0);
    if (t->dtype == SAMBA_F32) return from ? samba_write(t, from) : samba_copy_out(t, to, bytes);
    void *raw = samba__alloc(t->session, bytes);
    if (raw && from) samba__store(raw, from, t->dtype, n);
    bool fine = raw && (from ? samba_write(t, raw) : samba_copy_out(t, raw, bytes));
    if (fine && to) samba__load(to, raw, t->dtype, n);
    samba__free(t->session, raw, bytes);
    return fine;
}

SAMBA_API bool samba_write_f32(samba_tensor *t, const float *data, int64_t n)
{
    return samba__as_f32(t, data, NULL, n);
}

SAMBA_API bool samba_copy_out_f32(samba_tensor *t, float *data, int64_t n)
{
    return samba__as_f32(t, NULL, data, n);
}

/* ---- Names ---- */
/* SambaFlow's name of an op's first output, <op>__outputs__0, and of its gradient: here it is
   called like the op. Leaves have no such name. NULL: it is none. */
SAMBA__FN samba_tensor *samba__first_output(samba_session *s, const char *name)
{
    static const char part[] = "__outputs__0", grad[] = "__outputs__0__grad";
    bool of_grad = samba__ends_with(name, grad);
    size_t cut = of_grad ? sizeof grad - 1 : sizeof part - 1, n = strlen(name);
    if (!of_grad && !samba__ends_with(name, part)) return NULL;
    char *base = (char *)samba__alloc(s, n + 1);
    if (!base) return NULL;
    memcpy(base, name, n - cut);
    base[n - cut] = 0;
    samba_tensor *t = samba__named(s, base);
    samba__free(s, base, n + 1);
    if (!t || t->removed || (!t->node && t->role != SAMBA__OUTPUT) || t->out_index) return NULL;
    return of_grad ? t->grad : t;
}

SAMBA_API samba_tensor *samba_tensor_by_name(samba_session *s, const char *name)
{
    if (!samba_ok(s)) return NULL;
    if (!name) return samba__none(samba_fail(s, SAMBA_EARG, "the name of a tensor is NULL"));
    samba_tensor *t = samba__named(s, name);
    if (!t) t = samba__first_output(s, name);
    if (t && !t->removed) return t;
    if (t)
        samba_fail(s, SAMBA_ENAME,
                   "tensor %s is unknown: it was taken out of the session by "
                   "samba_forget_name; keep its handle to use it still",
                   name);
    else
        samba__fail_name(s, "tensor", name, 0);
    return NULL;
}

SAMBA_API bool samba_forget_name(samba_tensor *t)
{
    if (!t || !samba_ok(t->session)) return false;
    t->removed = true; /* for who looks for it; programs may have it still */
    return true;
}

/* ---- Copies to the host and back ---- */
/* The host copy of a tensor is made by the first transfer to it. */
SAMBA_API void *samba_cpu(samba_tensor *t)
{
    if (!t || !samba_ok(t->session) || !samba__in_reach(t)) return NULL;
    if (t->not_given) return samba__none(samba__fail_not_given(t, "samba_cpu"));
    samba_session *s = t->session;
    if (!s->rt || t->symbol < 0 || t->withheld) {
        void *value = samba__value_of(t);
        if (!value)
            samba_fail(s, SAMBA_ESTATE,
                       "in samba_cpu(%s): it has no value: list it in "
                       "program.outputs before compiling",
                       t->name);
        return value;
    }
    bool fits = samba_bytes(t) == samba__host_bytes(t)
        || samba_fail(s, SAMBA_ESTATE,
                      "in samba_cpu(%s): it holds several microbatches; use "
                      "samba_copy_out",
                      t->name);
    if (!fits || !samba__own_room(t)) return NULL;
    samba__transfer(t, t->data, s->rt->data[t->symbol], "PyRT_GET_TENSORS");
    t->copied = s->runs + 1;
    samba__settle(t);
    return t->data;
}

SAMBA_API bool samba_is_stale(const samba_tensor *t)
{
    return t && t->session->rt && t->symbol >= 0 && t->copied != t->session->runs + 1;
}

SAMBA_API bool samba_rdu(samba_tensor *t)
{
    return t && samba__need_program(t->session, "samba_rdu") && (!t->withheld || samba__own_data(t))
        && samba__can_send(t, "samba_rdu") && samba_write(t, t->data);
}

/* Of which kind is this: something that the program keeps between runs? 0: no. */
SAMBA__FN unsigned samba__kept_kind(const samba_tensor *t)
{
    if (t->symbol < 0) return 0;
    if (t->role == SAMBA__WEIGHT) return SAMBA_KEPT_PARAMETERS;
    if (t->role != SAMBA__STATE) return 0;
    return t->generated ? SAMBA_KEPT_BY_OPTIM : SAMBA_KEPT_BUFFERS;
}

SAMBA_API bool samba_fetch_state(samba_session *s, unsigned kinds)
{
    if (!samba__need_program(s, "samba_fetch_state")) return false;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->tensors[i];
        if ((samba__kept_kind(t) & kinds) && !samba_cpu(t)) return false;
    }
    return true;
}

SAMBA_API bool samba_send_state(samba_session *s, unsigned kinds)
{
    if (!samba__need_program(s, "samba_send_state")) return false;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->tensors[i];
        if ((samba__kept_kind(t) & kinds) && !samba__send_newer(t)) return false;
    }
    return true;
}

SAMBA_API bool samba_to_device(samba_session *s)
{
    if (!samba__need_program(s, "samba_to_device")) return false;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->tensors[i];
        bool kept = samba__kept_kind(t) != 0;
        bool frees = t->withheld && kept;
        if (t->symbol < 0 || (!kept && t->role != SAMBA__INPUT)) continue;
        if (samba_bytes(t) != samba__host_bytes(t)) continue; /* dummies of one microbatch */
        if (!samba__send_newer(t)) return false;
        if (!frees || t->borrowed) continue;
        samba__free(s, t->data, samba__host_bytes(t));
        t->data = NULL;
    }
    return true;
}

/* ---- Gradients of outputs ---- */
SAMBA_API samba_tensor *samba_sn_grad(samba_tensor *t)
{
    if (!t || !samba_ok(t->session)) return NULL;
    if (t->grad) return t->grad;
    return samba__none(samba_fail(t->session, SAMBA_ESTATE,
                                  "%s has no gradient: compile for "
                                  "training a loss it influences, with mapping section",
                                  t->name));
}

/* Is t a loss that has a gradient which can be given? */
SAMBA__FN bool samba__seeds(const samba_tensor *t)
{
    const samba_tensor *g = t->grad;
    return g && g->symbol >= 0 && t->symbol >= 0 && g->dtype == SAMBA_F32
        && (g->role == SAMBA__INPUT || g->role == SAMBA__ARGIN);
}

SAMBA_API int32_t samba_losses(samba_session *s, samba_tensor **list, int32_t cap)
{
    int32_t n = 0;
    if (!s || !s->rt) return 0;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        if (!samba__seeds(s->tensors[i])) continue;
        if (list && n < cap) list[n] = s->tensors[i];
        n++;
    }
    return n;
}

/* ---- Hyperparameters ---- */
SAMBA__FN bool samba__argin_matches(const samba__pef *pef, const samba__symbol *q, const char *name,
                                    bool exact)
{
    const char *text = pef->strings + q->name;
    if (q->role != SAMBA__ARGIN) return false;
    if (exact) return samba__same_text(text, name);
    if (samba__same_text(name, "p")) return q->argin == SAMBA__ARGIN_RATE;
    for (int32_t i = 0; i < SAMBA__N_OPTIM_ARGINS; i++)
        if (samba__same_text(name, samba__hyperparams[i].name)) return samba__ends_with(text, name);
    return false;
}

/* Visits the argins that name means; returns how many. Stores *value, or reads the first one. */
SAMBA__FN int32_t samba__visit_argins(samba_session *s, const char *name, bool set, double *value)
{
    const samba__pef *pef = &s->rt->pef;
    int32_t n = 0;
    for (int exact = 1; exact >= 0 && n == 0; exact--) {
        for (uint32_t i = 0; i < pef->n_symbols; i++) {
            samba__symbol q = samba__symbol_at(pef, i);
            if (!samba__argin_matches(pef, &q, name, exact)) continue;
            float f = (float)*value;
            uint32_t k = set && q.spec.dtype == SAMBA_I32 ? (uint32_t)*value : samba__float_bits(f);
            if (set) memcpy(s->rt->data[i], &k, 4);
            memcpy(&k, s->rt->data[i], 4);
            f = samba__bits_float(k);
            if (n++ == 0 && !set) *value = q.spec.dtype == SAMBA_I32 ? (double)k : (double)f;
        }
    }
    return n;
}

/* Is this the step of an optimizer without the state that this argin needs? */
SAMBA__FN bool samba__lacks_state(const samba_op *op, const samba__call_record *r, uint32_t argin)
{
    for (int32_t i = 0; i < SAMBA__N_OPTIMIZERS; i++) {
        const samba__optimizer_row *row = &samba__optimizers[i];
        int32_t at = 2; /* behind w and g */
        if (!samba__is(op, row->op) || row->kept_for < 0 || samba__word(r, at)) continue;
        while (row->state[at - 2])
            at++;
        for (int32_t k = 0; k < row->n_argins; k++)
            if (row->argin[k].argin == row->kept_for)
                return samba__word(r, at + 1 + k) == argin + 1;
    }
    return false;
}

/* Has the program such a step? The argin was 0 when it was compiled. */
SAMBA__FN bool samba__lacks_momentum(const samba_session *s, uint32_t argin)
{
    const samba__pef *pef = &s->rt->pef;
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section q = samba__section_at(pef, i);
        if (!(q.type & SAMBA_OPT)) continue;
        for (uint32_t node = q.first; node < q.end; node++) {
            samba__call_record r = samba__record_at(pef, node);
            if (samba__lacks_state(s->rt->steps[node].op, &r, argin)) return true;
        }
    }
    return false;
}

/* May this hyperparameter be set so? Nothing is set here. */
SAMBA__FN bool samba__check_argin(samba_session *s, const char *name, double value)
{
    const samba__pef *pef = &s->rt->pef;
    int32_t n = 0;
    if (!name) return samba_fail(s, SAMBA_EARG, "in samba_set: the name is NULL");
    if (!samba__check_hyperparam(s, "samba_set", name, value)) return false;
    for (int exact = 1; exact >= 0 && n == 0; exact--) {
        for (uint32_t i = 0; i < pef->n_symbols; i++) {
            samba__symbol q = samba__symbol_at(pef, i);
            if (!samba__argin_matches(pef, &q, name, exact)) continue;
            n++;
            if (value == 0.0 || !samba__ends_with(name, "momentum")) continue;
            if (samba__lacks_momentum(s, i))
                return samba_fail(s, SAMBA_ESTATE,
                                  "in samba_set: the program was compiled without "
                                  "%s: compile with samba_optim.momentum, or with "
                                  ".momentum_state if it begins at 0",
                                  pef->strings + q.name);
        }
    }
    return n > 0 || samba__fail_name(s, "hyperparameter", name, SAMBA__ARGIN);
}

SAMBA_API bool samba_set(samba_session *s, const char *name, double value)
{
    if (!samba__need_program(s, "samba_set") || !samba__check_argin(s, name, value)) return false;
    if (samba__ends_with(name, "max_grad_norm")) samba__forget_norm(s->rt);
    samba_tensor *grad = samba__named(s, name); /* of a scalar loss */
    if (grad) grad->not_given = false;
    return samba__visit_argins(s, name, true, &value) > 0;
}

SAMBA_API double samba_get(samba_session *s, const char *name)
{
    double value = 0.0;
    if (!samba__need_program(s, "samba_get") || !name) return 0.0;
    if (!samba__visit_argins(s, name, false, &value))
        samba__fail_name(s, "hyperparameter", name, SAMBA__ARGIN);
    return value;
}

SAMBA_API bool samba_zero_inputs(samba_session *s)
{
    if (!samba__need_program(s, "samba_zero_inputs")) return false;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->tensors[i];
        if (t->role != SAMBA__INPUT) continue;
        t->has_value = true;
        t->withheld = false;
    }
    s->zero_params = true;
    return true;
}

/* ==== [load] ================================================================================== */
/* ---- Symbols are bound to the session's tensors by name ---- */
/* The tensor of a symbol: known, or a new handle so that it can be found by name. What microbatches
   made of an output is called <output>__mean; an output that the user called so is itself. */
SAMBA__FN samba_tensor *samba__tensor_of_symbol(samba_session *s, const samba__pef *pef,
                                                const samba__symbol *q)
{
    const char *text = pef->strings + q->name;
    size_t n = strlen(text), cut = sizeof "__" SAMBA__MEAN - 1;
    samba_tensor *t = samba__named(s, text);
    if (q->role == SAMBA__OUTPUT && pef->microbatches > 1 && !(t && t->node)
        && samba__ends_with(text, "__" SAMBA__MEAN)) {
        char *name = (char *)samba__temp(s, 1, n + 1);
        if (!name) return NULL;
        memcpy(name, text, n - cut); /* the rest is zero */
        samba_tensor *output = samba__named(s, name);
        if (output) return output;
    }
    if (t) return t;
    char *copy = samba__arena_text(s, text);
    t = copy ? samba__new_tensor(s, copy, &q->spec, q->role) : NULL;
    if (t) t->generated = q->role != SAMBA__WEIGHT; /* of a state the PEF knows better */
    return t;
}

/* Is t what symbol q says? */
SAMBA__FN bool samba__check_binding(const samba_tensor *t, const samba__symbol *q)
{
    if (t->dtype != q->spec.dtype || !samba__same_shape(&t->shape, &q->spec.shape))
        return samba_fail(t->session, SAMBA_EGRAPH,
                          "%s is %T %S here but %T %S in the PEF; compile again", t->name,
                          (int)t->dtype, &t->shape, (int)q->spec.dtype, &q->spec.shape);
    bool made = t->role == SAMBA__OUTPUT || t->role == SAMBA__TEMP || t->role == SAMBA__CONSTANT;
    if (t->role == (int32_t)q->role || q->role == SAMBA__OUTPUT || made) return true;
    return samba_fail(t->session, SAMBA_EGRAPH,
                      "%s has another role in the PEF than here (input, "
                      "parameter, state ...); compile again",
                      t->name);
}

/* Each tensor that the program has learns its symbol, and what the PEF knows better of it. */
SAMBA__FN bool samba__bind_symbols(samba_session *s)
{
    const samba__pef *pef = &s->rt->pef;
    samba_tensor **of = (samba_tensor **)samba__temp(s, (int32_t)pef->n_symbols, sizeof *of);
    if (!of) return false;
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        if (q.role >= SAMBA__TEMP) continue;
        samba_tensor *t = samba__tensor_of_symbol(s, pef, &q);
        if (!t || !samba__check_binding(t, &q)) return false;
        t->symbol = (int32_t)i;
        t->batch_dim = (int32_t)q.batch_dim - 1;
        if (q.role == SAMBA__STATE) t->generated = q.generated != 0;
        t->mem_type = (samba_mem)q.mem_type;
        of[i] = t;
    }
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        if (!of[i]) continue;
        of[i]->grad = q.grad ? of[q.grad - 1] : NULL;
        if (of[i]->grad && of[i]->grad->role == SAMBA__INPUT) of[i]->grad->init = samba__all(1.0f);
    }
    return true;
}

/* The gradients of losses begin with a value, or without one. */
SAMBA__FN void samba__begin_output_grads(samba_session *s)
{
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->tensors[i];
        if (samba__seeds(t)) t->grad->not_given = s->lacks_grads;
    }
}

/* Is there a value on the host that could stay there? */
SAMBA__FN bool samba__can_withhold(const samba_tensor *t)
{
    if (t->role == SAMBA__INPUT) return t->data != NULL;
    return t->has_value && (t->role == SAMBA__WEIGHT || (t->role == SAMBA__STATE && !t->generated));
}

/* Fills the room that the program has for t: with the host's value, or with what t begins with. All
   of it, for each microbatch, is zero so far. */
SAMBA__FN void samba__fill_room(samba_tensor *t, bool fits)
{
    uint8_t *to = (uint8_t *)t->session->rt->data[t->symbol];
    size_t bytes = samba__host_bytes(t), room = samba__device_size(t);
    if (fits && t->data) {
        memcpy(to, t->data, bytes);
        return;
    }
    if (!samba__begins_late(t) || samba__begins_zero(t)) return;
    for (size_t at = 0; at < room; at += bytes)
        samba__begin_value(t, to + at);
}

/* The value of t goes to the device, unless the file brought one. */
SAMBA__FN void samba__push_value(samba_tensor *t, bool from_file)
{
    samba_session *s = t->session;
    bool fits = samba__device_size(t) == samba__host_bytes(t);
    if (!from_file) samba__fill_room(t, fits);
    if (t->role == SAMBA__INPUT)
        t->has_value = samba__begins_late(t) || (t->data != NULL && fits);
    else if (from_file)
        t->has_value = true;
    t->settled = false; /* a copy that does not fit has not been sent */
    if (t->borrowed || t->role == SAMBA__INPUT || t->role == SAMBA__CONSTANT) {
        if (fits) samba__settle(t);
        return;
    }
    samba__free(s, t->data, samba__host_bytes(t));
    t->data = NULL;
}

/* Host values go to the device; owned copies are then freed. */
SAMBA__FN void samba__push_values(samba_session *s)
{
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        samba_tensor *t = s->tensors[i];
        if (t->symbol < 0) continue;
        bool from_file = samba__symbol_at(&s->rt->pef, (uint32_t)t->symbol).data != 0;
        t->withheld = s->withholds && !from_file && samba__can_withhold(t);
        if (t->withheld) {
            t->settled = false;
            if (t->role == SAMBA__INPUT) t->has_value = false;
        } else if (t->outdated) {
            t->outdated = t->has_value = false;
        } else {
            samba__push_value(t, from_file);
        }
    }
}

/* What a checkpoint, and another program of the session, go on with. */
SAMBA__FN bool samba__keeps(const samba_tensor *t)
{
    return t->role == SAMBA__WEIGHT || t->role == SAMBA__STATE || t->role == SAMBA__ARGIN;
}

/* An input that began with a value and was given another one since keeps the newer. The caller's
   own memory is not written into: such an input is to be given a value again. */
SAMBA__FN bool samba__pull_input(samba_tensor *t)
{
    const void *value = t->session->rt->data[t->symbol];
    size_t size = samba__host_bytes(t);
    bool began = t->data || samba__begins_late(t);
    bool edited = t->data && (!t->settled || samba__hash_data(t) != t->data_hash);
    if (!began || edited || !t->has_value || samba__device_size(t) != size) return true;
    if (t->borrowed) {
        t->outdated = memcmp(t->data, value, size) != 0;
        return true;
    }
    if (!samba__own_room(t)) return false;
    memcpy(t->data, value, size);
    return true;
}

/* Brings parameters, state and argins back to the host before the program that holds them goes. */
SAMBA__FN bool samba__pull_values(samba_session *s)
{
    if (!samba__file_kept(s)) return false;
    if (s->rt) {
        for (int32_t i = 0; i < samba__n_tensors(s); i++) {
            samba_tensor *t = s->tensors[i];
            if (t->symbol < 0 || t->withheld) continue;
            if (t->role == SAMBA__INPUT && !samba__pull_input(t)) return false;
            if (!samba__keeps(t) || t->borrowed) continue;
            if (!samba__own_room(t)) return false;
            memcpy(t->data, s->rt->data[t->symbol], samba__device_size(t));
        }
    }
    return true;
}

/* Makes a proved PEF the session's program, which owns it from now on. */
SAMBA__FN bool samba__attach(samba_session *s, samba__file *file)
{
    size_t need = samba__layout_of(&file->pef, 0, file->stays).size;
    void *memory = samba__alloc(s, need);
    if (!memory || !samba__pull_values(s)) {
        samba__free(s, memory, need);
        samba__file_close(s, file, false);
        return false;
    }
    samba__unload(s);
    s->memory = memory;
    s->memory_size = need;
    samba__begin(s, "SAMBA_INIT_RUNTIME");
    s->rt = samba__runtime_layout(&file->pef, memory, &s->pool, 0, file->stays);
    samba_on_event(s, s->on_event, s->event_user);
    s->rt->local = s->local;
    s->rt->culprit = s->desc.check_finite ? &s->culprit : NULL;
    if (!file->stays) samba__file_close(s, file, true);
    s->file = *file;
    if (s->desc.portable) s->rt->isa = SAMBA__ISA_PORTABLE;
    samba__apply_mode(s);
    s->inputs_ready = s->zero_params = false;
    bool fine = samba__bind_symbols(s);
    if (fine) {
        samba__push_values(s);
        samba__begin_output_grads(s);
    } else
        samba__unload(s);
    s->tracing = s->tracing && !fine;
    return samba__end(s, "SAMBA_INIT_RUNTIME", fine);
}

/* ---- Compiling, and loading what was compiled ---- */
SAMBA_API bool samba_compile(samba_session *s, const samba_program *program)
{
    samba__compilation c = SAMBA__ZEROED; /* even if values cannot be fetched first */
    samba__plan plan;
    samba__writer w;
    samba__pef pef;
    samba__file file;
    samba__image image;
    if (!samba_ok(s)) return false;
    if (!program) return samba_fail(s, SAMBA_EARG, "in samba_compile: program is NULL");
    bool tracing = s->tracing;
    s->tracing = true; /* gradients and optimizer steps are recorded */
    bool fine = samba__pull_values(s) && samba__begin_compilation(s, &c, program)
        && samba__check_memories(&c) && samba__lower(&c, &plan);
    samba__take_back(&c);
    fine = fine && samba__write_tables(&c, &plan, &w);
    s->tracing = tracing;
    s->generating = false;
    s->section = SAMBA_FWD;
    s->graph = NULL;
    if (fine) {
        samba__text no_text = samba__text_in(NULL, 0);
        memset(&pef, 0, sizeof pef);
        samba__open_pef(&pef, w.bytes, w.size, &no_text);
        fine = samba__image_open(&image, s, &pef, samba__initial_value);
    }
    if (fine) {
        const char *path = program->pef, *name = path ? path : "the compiled program";
        memset(&file, 0, sizeof file);
        fine = !path
            || (samba__replace_file(s, path, &image) && samba__write_log(&c, &plan, image.size));
        if (fine && !program->compile_only) fine = samba__image_whole(&image, &file);
        samba__image_close(&image);
        if (file.bytes)
            fine = samba__begin(s, "SAMBA_SET_PEF")
                && samba__end(s, "SAMBA_SET_PEF", samba__file_prove(s, &file, true, name))
                && samba__attach(s, &file);
    }
    samba__arena_free(s, &s->temp_chunks);
    return fine;
}

/* The first line of a text, in a buffer. */
SAMBA__FN const char *samba__first_line(char *line, size_t size, const char *text)
{
    samba__text t = samba__text_in(line, size);
    for (; *text && *text != '\n'; text++)
        samba__put_char(&t, *text);
    if (!t.len) samba__put_text(&t, "nothing more");
    return line;
}

/* The op of a line "y = op(x) ..."; NULL if it is none. */
SAMBA__FN const samba_op *samba__op_of_line(const samba_session *s, const char *line)
{
    const char *name = strstr(line, " = ");
    if (!name) return NULL;
    name += 3;
    size_t n = strcspn(name, "(");
    for (int32_t i = 0; i < SAMBA__N_OPS + samba__n_user_ops(s); i++) {
        const samba_op *op = i < SAMBA__N_OPS ? &samba__op_table[i] : s->user_ops[i - SAMBA__N_OPS];
        if (strlen(op->name) == n && memcmp(op->name, name, n) == 0) return op;
    }
    return NULL;
}

/* Reads the words of "[1 -2 3]"; -1 if the text is something else. */
SAMBA__FN int32_t samba__read_words(const char *text, int32_t *attr)
{
    for (int32_t n = 0; n < SAMBA_MAX_ATTR; n++) {
        text++;
        int64_t value = 0, sign = *text == '-' ? -1 : 1;
        if (*text == '-') text++;
        if (*text < '0' || *text > '9') return -1;
        for (; *text >= '0' && *text <= '9' && value < INT32_MAX; text++)
            value = value * 10 + (*text - '0');
        attr[n] = (int32_t)(sign * value);
        if (*text == ']') return n + 1;
        if (*text != ' ') return -1;
    }
    return -1;
}

/* The first line for people: a PEF has attributes as words, so that they can be compared. */
SAMBA__FN void samba__spell_line(const samba_session *s, char *line, size_t size, const char *text)
{
    char exact[512];
    int32_t attr[SAMBA_MAX_ATTR], n = -1;
    const char *first = samba__first_line(exact, sizeof exact, text), *at = strstr(first, ") [");
    const samba_op *op = at ? samba__op_of_line(s, first) : NULL;
    if (op) n = samba__read_words(at + 2, attr);
    samba__text t = samba__text_in(line, size);
    for (const char *p = first; *p && (n < 0 || p <= at); p++)
        samba__put_char(&t, *p);
    if (n < 0) return;
    samba__put_attributes(&t, op, attr, n);
    samba__put_text(&t, strchr(at, ']') + 1);
}

/* Compares the PEF's description with this session's: whole, or the calls alone. */
SAMBA__FN bool samba__same_graph(samba_session *s, const samba__compilation *c,
                                 const samba__pef *pef, const char *path, bool whole)
{
    char line[2][512];
    size_t size, at = 0, begin = 0; /* begin: of the line that differs */
    const char *mine = samba__trace_of(c, whole, &size), *theirs = pef->trace;
    for (; mine && mine[at] && mine[at] == theirs[at]; at++)
        if (mine[at] == '\n') begin = at + 1;
    if (!mine || (!mine[at] && (!whole || !theirs[at]))) return mine != NULL;
    samba__spell_line(s, line[0], sizeof line[0], theirs + begin);
    samba__spell_line(s, line[1], sizeof line[1], mine + begin);
    if (samba__same_text(line[0], line[1])) { /* floats that differ in digits which are not shown */
        samba__first_line(line[0], sizeof line[0], theirs + begin);
        samba__first_line(line[1], sizeof line[1], mine + begin);
    }
    return samba_fail(s, SAMBA_EGRAPH,
                      "%s was compiled from another graph. First difference: the "
                      "PEF has \"%s\", this program has \"%s\". Compile again, or restore the "
                      "model it was compiled from",
                      path, line[0], line[1]);
}

SAMBA__FN bool samba__has_traced(const samba_session *s)
{
    for (int32_t i = 0; i < samba__n_nodes(s); i++)
        if (!s->nodes[i]->eager && !s->nodes[i]->generated) return true;
    return false;
}

SAMBA_API bool samba_load(samba_session *s, const char *path, const samba_program *program)
{
    samba__compilation c = SAMBA__ZEROED;
    samba_program nothing = SAMBA__ZEROED;
    samba__file file;
    if (!samba_ok(s)) return false;
    if (!path) return samba_fail(s, SAMBA_EARG, "in samba_load: the path is NULL");
    samba__begin(s, "SAMBA_SET_PEF");
    if (!samba__end(s, "SAMBA_SET_PEF", samba__read_file(s, &file, false, path))) return false;
    c.session = s;
    c.program = &nothing;
    c.microbatches = c.replicas = 1;
    bool fine = !program || samba__begin_compilation(s, &c, program);
    fine = fine
        && (!samba__has_traced(s) || samba__same_graph(s, &c, &file.pef, path, program != NULL));
    if (fine)
        fine = samba__attach(s, &file);
    else
        samba__file_close(s, &file, false);
    samba__arena_free(s, &s->temp_chunks);
    return fine;
}

/* ==== [run] =================================================================================== */
SAMBA_API const char *samba_section_type_name(unsigned type)
{
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
        const samba__section_type *row = &samba__section_types[i];
        if (row->bit == type && row->named) return row->name;
    }
    return NULL;
}

SAMBA_API unsigned samba_section_types(samba_session *s)
{
    unsigned types = 0;
    if (s && s->rt) {
        for (uint32_t i = 0; i < s->rt->pef.n_sections; i++) {
            samba__section q = samba__section_at(&s->rt->pef, i);
            if (samba__runs_now(s->rt, &q)) types |= q.type;
        }
    }
    return types;
}

SAMBA__FN bool samba__check_types(samba_session *s, unsigned types)
{
    unsigned there = samba_section_types(s), missing = types & ~there;
    missing &= ~samba__implied_types(types);   /* what runs anyhow, if there is any, is no error */
    uint32_t first = missing & (0u - missing); /* its lowest bit */
    char list[80];
    samba__text t = samba__text_in(list, sizeof list);
    if (!missing) return true;
    for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
        const samba__section_type *type = &samba__section_types[i];
        if (type->named && (there & type->bit)) samba__format(&t, " %s", type->name);
    }
    return samba_fail(s, SAMBA_EARG,
                      "in samba_run: the program has no section of type %s (%d); "
                      "it has%s",
                      samba__type_name(first), (int32_t)first, list);
}

/* What a run consists of: sections of some types, or ids one after another. */
typedef struct samba__run_list {
    const int32_t *ids;
    int32_t n;
    unsigned types; /* 0: by ids */
} samba__run_list;

SAMBA__FN samba__run_list samba__list_of_types(unsigned types)
{
    samba__run_list list = SAMBA__ZEROED;
    list.types = types;
    return list;
}

/* Does this section run? */
SAMBA__FN bool samba__is_listed(const samba_runtime *rt, const samba__run_list *list, uint32_t id)
{
    samba__section q = samba__section_at(&rt->pef, id);
    if (list->types) return samba__runs_now(rt, &q) && (q.type & list->types);
    for (int32_t i = 0; i < list->n; i++)
        if (list->ids[i] == (int32_t)id) return true;
    return false;
}

/* Does a node that is to run read this symbol? */
SAMBA__FN bool samba__list_reads(const samba_runtime *rt, const samba__run_list *list,
                                 uint32_t symbol)
{
    for (uint32_t i = 0; i < rt->pef.n_sections; i++) {
        samba__section q = samba__section_at(&rt->pef, i);
        if (!samba__is_listed(rt, list, i)) continue;
        for (uint32_t node = q.first; node < q.end; node++) {
            samba__call_record r = samba__record_at(&rt->pef, node);
            for (int32_t k = 0; k < r.n_in; k++)
                if (samba__word(&r, k) == symbol + 1) return true;
        }
    }
    return false;
}

/* Must symbol q have a value before it is read? Parameters need none where only speed matters. */
SAMBA__FN bool samba__needs_value(const samba_session *s, const samba__symbol *q)
{
    return q->role == SAMBA__INPUT || (q->role == SAMBA__WEIGHT && !s->zero_params);
}

SAMBA__FN bool samba__fail_value(samba_session *s, const char *what, const samba_tensor *t)
{
    bool part = t->role == SAMBA__INPUT && t->data && samba__device_size(t) > samba__host_bytes(t);
    if (part)
        return samba_fail(
            s, SAMBA_ESTATE,
            "in %s: input %s %T %S was given a value for one "
            "microbatch, but a run reads all %d at once: give it their rows, one part "
            "after another, by samba_write or as a feed; if each part is to read the "
            "same, call samba_set_batch_dim(%s, -1) before compiling",
            what, t->name, (int)t->dtype, &t->shape, (int32_t)s->rt->pef.microbatches, t->name);
    if (t->role == SAMBA__INPUT)
        return samba_fail(s, SAMBA_ESTATE,
                          "in %s: input %s %T %S was never given a value; call "
                          "samba_write first",
                          what, t->name, (int)t->dtype, &t->shape);
    return samba_fail(s, SAMBA_ESTATE,
                      "in %s: parameter %s %T %S has no value, for the PEF was "
                      "compiled and not saved: call samba_restore with its checkpoint, or load "
                      "the checkpoint itself",
                      what, t->name, (int)t->dtype, &t->shape);
}

/* Will the run send a value of t before it begins? */
SAMBA__FN bool samba__will_send(const samba_run_desc *d, const samba_tensor *t)
{
    if (d) {
        for (int32_t i = 0; i < d->n_feeds; i++) {
            const samba_feed *f = &d->feeds[i];
            bool named = f->name && samba__same_text(f->name, t->name);
            bool has = f->data || t->data || t->withheld;
            if (has && (f->tensor == t || named)) return true;
        }
    }
    return false;
}

/* Every input and parameter that a run reads must have been given a value, before or by its
   description. */
SAMBA__FN bool samba__check_ready(samba_session *s, const samba__run_list *list,
                                  const samba_run_desc *d)
{
    bool all = true;
    if (s->inputs_ready) return true;
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->tensors[i];
        if (t->symbol < 0 || (t->has_value && !t->withheld && !t->not_given)) continue;
        samba__symbol q = samba__symbol_at(&s->rt->pef, (uint32_t)t->symbol);
        if (!t->withheld && !t->not_given && !samba__needs_value(s, &q)) continue;
        all = false;
        if (samba__will_send(d, t)) continue;
        if (!samba__list_reads(s->rt, list, (uint32_t)t->symbol)) continue;
        if (t->not_given) return samba__fail_not_given(t, "samba_run");
        if (t->withheld)
            return samba_fail(s, SAMBA_ESTATE,
                              "in samba_run: %s %T %S was not sent to the device "
                              "(samba_set_transfer); call samba_to_device, or send it",
                              t->name, (int)t->dtype, &t->shape);
        return samba__fail_value(s, "samba_run", t);
    }
    s->inputs_ready = all;
    return true;
}

/* The run was ended by samba_desc.check_finite. */
SAMBA__FN bool samba__fail_nonfinite(samba_session *s)
{
    const samba_culprit *q = &s->culprit;
    double value = (double)q->value;
    char text[640];
    samba__text t = samba__text_in(text, sizeof text);
    s->culprit.run = s->runs;
    samba__format(&t, "in run %l, section %d (%s)", (int64_t)s->runs, q->section, q->section_type);
    if (s->rt->pef.microbatches > 1) samba__format(&t, ", microbatch %d", q->microbatch);
    if (q->leaf)
        samba__format(&t, ": %s holds %g at element %l, and %s (%s) passes it on", q->tensor, value,
                      q->element, q->node, q->op);
    else
        samba__format(&t, ": %s (%s) makes %g at element %l of %s", q->node, q->op, value,
                      q->element, q->tensor);
    for (int32_t i = 0; i < q->n_in; i++) {
        if (!q->in[i].name) continue;
        samba__format(&t, "; %s is ", q->in[i].name);
        if (!q->in[i].known) {
            samba__put_text(&t, "overwritten");
            continue;
        }
        samba__format(&t, "%g ... %g", (double)q->in[i].min, (double)q->in[i].max);
    }
    return samba_fail(s, SAMBA_ERANGE,
                      "%s. The run was stopped there, and no later section "
                      "changed a parameter",
                      text);
}

SAMBA_API bool samba_nonfinite(const samba_session *s, samba_culprit *culprit)
{
    if (!s || !culprit || !s->culprit.node) return false;
    *culprit = s->culprit;
    return true;
}

SAMBA_API bool samba_set_check_finite(samba_session *s, bool check)
{
    if (!s) return false;
    s->desc.check_finite = check;
    if (s->rt) {
        for (uint32_t i = 0; i < s->rt->pef.n_nodes; i++)
            s->rt->steps[i].made = 0;
    }
    if (s->rt) s->rt->culprit = check ? &s->culprit : NULL;
    return true;
}

SAMBA__FN bool samba__fail_run(samba_session *s)
{
    if (s->rt->fault[SAMBA__FAULT_SET] == SAMBA__FAULT_NONFINITE) return samba__fail_nonfinite(s);
    samba__call_record r = samba__node_at(&s->rt->pef, s->rt->fault_node);
    const samba__pef *pef = &s->rt->pef;
    int32_t which = s->rt->fault[SAMBA__FAULT_INPUT];
    uint32_t word = which >= 0 && which < r.n_in ? samba__word(&r, which) : 0;
    samba__symbol q;
    char what[400], batch[60];
    memset(&q, 0, sizeof q);
    if (word) q = samba__symbol_at(pef, word - 1);
    samba__print_fault(what, sizeof what, s->rt->fault, word ? pef->strings + q.name : NULL,
                       word ? &q.spec.shape : NULL);
    samba__print(batch, sizeof batch, pef->microbatches > 1 ? " (microbatch %d of %d)" : "",
                 (int32_t)s->rt->microbatch, (int32_t)pef->microbatches);
    return samba_fail(s, SAMBA_ERANGE,
                      "in %s (%s): %s%s; the run was stopped there and no "
                      "parameter was changed by later sections",
                      pef->strings + r.name, r.op->name, what, batch);
}

SAMBA__FN void samba__count_run(samba_session *s)
{
    s->runs++;
    s->culprit.node = NULL;
}

SAMBA__FN bool samba__fail_norm(samba_session *s)
{
    return samba_fail(s, SAMBA_ESTATE,
                      "in samba_run: OPT clips by the gradients' norm, which "
                      "GRADNORM has not computed since they changed: run all sections of GRADNORM, "
                      "in order, before OPT; nothing was run");
}

/* Can these types run as one schedule? *norm is how far the norm is before and after. */
SAMBA__FN bool samba__check_schedule(samba_session *s, unsigned types, uint32_t *norm)
{
    const unsigned both = SAMBA_FWD | SAMBA_BCKWD;
    unsigned whole = samba__whole_step(types);
    bool blind = false;
    *norm = samba__norm_after_types(s->rt, *norm, whole, &blind);
    uint32_t split = samba__split_by(s->rt, whole);
    return samba__check_types(s, types)
        && (!split
            || samba_fail(s, SAMBA_EARG,
                          "in samba_run: with mapping spatial %s are one "
                          "section: run all of them, or compile with mapping section",
                          samba__type_name(split)))
        && (s->rt->pef.microbatches == 1 || (whole & both) != SAMBA_BCKWD
            || samba_fail(s, SAMBA_EARG,
                          "in samba_run: with microbatches FWD and BCKWD run "
                          "together: the activations of one are gone when the next one runs"))
        && (!blind || samba__fail_norm(s));
}

SAMBA__FN bool samba__run_schedule(samba_session *s, unsigned types)
{
    samba__count_run(s);
    samba__begin(s, "PyRT_RUN");
    bool fine = samba__run_exactly(s->rt, types);
    return samba__end(s, "PyRT_RUN", fine) || samba__fail_run(s);
}

/* Runs the graph that rt->graph names. */
SAMBA__FN bool samba__run_types(samba_session *s, unsigned types)
{
    samba__run_list list = samba__list_of_types(samba__whole_step(types));
    uint32_t norm = s->rt->norm_next;
    return samba__check_schedule(s, types, &norm) && samba__check_ready(s, &list, NULL)
        && samba__run_schedule(s, samba__whole_step(types));
}

/* Sets which graph the next run means: NULL if there is only one. */
SAMBA__FN bool samba__choose_graph(samba_session *s, const char *what, const char *graph)
{
    const samba__pef *pef = &s->rt->pef;
    char list[160];
    samba__text t = samba__text_in(list, sizeof list);
    uint32_t n = pef->n_sections, last = n ? samba__section_at(pef, n - 1).graph : 0;
    if (graph && samba__find_graph(pef, graph, &s->rt->graph)) return true;
    s->rt->graph = 0;
    if (!graph && (!n || samba__section_at(pef, 0).graph == last)) return true;
    for (uint32_t i = 0; i < n; i++) { /* the sections of a graph stand together */
        uint32_t g = samba__section_at(pef, i).graph;
        if (i == 0 || g != last) samba__format(&t, " %s", g ? pef->strings + g - 1 : "(unnamed)");
        last = g;
    }
    return samba_fail(s, SAMBA_ENAME, "in %s: %s %s; call samba_run_graph with one of:%s", what,
                      graph ? "there is no graph" : "the program has several graphs",
                      graph ? graph : "", list);
}

/* The event of a run of n schedules begins or ends. */
SAMBA__FN void samba__run_event(samba_session *s, const unsigned *types, int32_t n, bool begins)
{
    char name[80];
    samba__text t = samba__text_in(name, sizeof name);
    if (!s->on_event) return;
    samba__format(&t, "SAMBA_SESSION_RUN");
    for (int32_t k = 0; k < n; k++) {
        for (int32_t i = 0; i < SAMBA__N_TYPES; i++) {
            const samba__section_type *type = &samba__section_types[i];
            if (type->named && (types[k] & type->bit)) samba__format(&t, "_%s", type->name);
        }
    }
    s->on_event(name, -1, begins, s->event_user);
}

SAMBA_API bool samba_run_graph(samba_session *s, const char *graph, unsigned types)
{
    const char *what = graph ? "samba_run_graph" : "samba_run";
    if (!samba__need_program(s, what)) return false;
    samba__run_event(s, &types, 1, true);
    bool fine = samba__choose_graph(s, what, graph) && samba__run_types(s, types);
    s->rt->graph = 0;
    samba__run_event(s, &types, 1, false);
    return fine;
}

SAMBA_API bool samba_run(samba_session *s, unsigned types)
{
    return samba_run_graph(s, NULL, types);
}

/* Ids are sections, and of the graph that is asked for; NULL: of any. */
SAMBA__FN bool samba__check_ids(samba_session *s, const samba__run_list *list, const char *graph)
{
    for (int32_t i = 0; i < list->n; i++) {
        int32_t id = list->ids[i];
        if (id < 0 || (uint32_t)id >= s->rt->pef.n_sections)
            return samba_fail(s, SAMBA_ERANGE,
                              "section id %d is out of range; the program has "
                              "sections 0 ... %d",
                              id, (int32_t)s->rt->pef.n_sections - 1);
        samba__section q = samba__section_at(&s->rt->pef, (uint32_t)id);
        if (graph && !samba__runs_now(s->rt, &q))
            return samba_fail(s, SAMBA_EARG, "section %d is not of graph %s; nothing was run", id,
                              graph);
    }
    return true;
}

/* The entry behind all sections of this type, if they stand in order from entry i on; -1: no. */
SAMBA__FN int32_t samba__after_type(const samba_runtime *rt, const samba__run_list *list, int32_t i,
                                    uint32_t type)
{
    for (uint32_t id = 0; id < rt->pef.n_sections; id++) {
        if (samba__section_at(&rt->pef, id).type != type) continue;
        if (i == list->n || list->ids[i] != (int32_t)id) return -1;
        i++;
    }
    return i;
}

/* With microbatches: the entry behind the part of the schedule that is repeated for each of them,
   which begins with entry i. *types: of what. -1: it is not whole. */
SAMBA__FN int32_t samba__after_repeated(const samba_runtime *rt, const samba__run_list *list,
                                        int32_t i, unsigned *types)
{
    uint32_t type = samba__section_at(&rt->pef, (uint32_t)list->ids[i]).type;
    *types = type;
    int32_t end = type == SAMBA_BCKWD ? -1 : samba__after_type(rt, list, i, type);
    if (type != SAMBA_FWD || end < 0 || end == list->n) return end;
    type = samba__section_at(&rt->pef, (uint32_t)list->ids[end]).type;
    if (type != SAMBA_BCKWD) return end;
    *types |= SAMBA_BCKWD;
    return samba__after_type(rt, list, end, type);
}

/* Is entry i the first of what is repeated? */
SAMBA__FN bool samba__begins_repeated(const samba_runtime *rt, const samba__run_list *list,
                                      int32_t i)
{
    uint32_t type = samba__section_at(&rt->pef, (uint32_t)list->ids[i]).type;
    bool repeats = false;
    for (int32_t k = 0; k < SAMBA__N_TYPES; k++) {
        const samba__section_type *t = &samba__section_types[k];
        repeats = repeats || (t->repeats && (type & t->bit));
    }
    return repeats && rt->pef.microbatches > 1;
}

/* Are all sections of COUNT among the entries before the i-th? */
SAMBA__FN bool samba__has_counted(const samba_runtime *rt, const samba__run_list *list, int32_t i)
{
    int32_t left = 0;
    for (uint32_t id = 0; id < rt->pef.n_sections; id++)
        left += samba__section_at(&rt->pef, id).type == SAMBA_COUNT;
    for (int32_t k = 0; k < i; k++)
        left -= samba__section_at(&rt->pef, (uint32_t)list->ids[k]).type == SAMBA_COUNT;
    return left <= 0;
}

/* May entry i run: are the gradients' norm and what COUNT makes there, if it reads them? */
SAMBA__FN bool samba__check_entry(samba_session *s, const samba__run_list *list, int32_t i,
                                  uint32_t norm)
{
    const samba_runtime *rt = s->rt;
    uint32_t id = (uint32_t)list->ids[i];
    if (samba__clips_blindly(rt, norm, id)) return samba__fail_norm(s);
    bool reads_counts
        = (rt->types & SAMBA_COUNT) && samba__section_at(&rt->pef, id).type == SAMBA_FWD;
    if (!reads_counts || samba__has_counted(rt, list, i)) return true;
    return samba_fail(s, SAMBA_EARG,
                      "in samba_run_with: section %d of FWD reads what the "
                      "sections of COUNT make: let all of these stand before it; nothing "
                      "was run",
                      (int32_t)id);
}

/* May these sections run, one after another? Clipping, counting and repeating must be as in the
   schedule. */
SAMBA__FN bool samba__check_list(samba_session *s, const samba__run_list *list, bool own_order)
{
    const samba_runtime *rt = s->rt;
    uint32_t norm = rt->norm_next;
    int32_t end;
    unsigned types;
    for (int32_t i = 0; i < list->n; i = end) {
        uint32_t id = (uint32_t)list->ids[i];
        end = i + 1;
        if (!own_order && !samba__check_entry(s, list, i, norm)) return false;
        norm = samba__norm_after(rt, norm, id);
        if (!samba__begins_repeated(rt, list, i)) continue;
        end = samba__after_repeated(rt, list, i, &types);
        if (end < 0 && own_order) end = i + 1;
        if (end < 0)
            return samba_fail(s, SAMBA_EARG,
                              "in samba_run_with: section %d is run for each of %d "
                              "microbatches, with others: all sections of COUNT in order, all of "
                              "FWD, or all of FWD and then of BCKWD; nothing was run",
                              (int32_t)id, (int32_t)rt->pef.microbatches);
        if (types & SAMBA_BCKWD) norm = rt->norm_first;
    }
    return true;
}

SAMBA__FN bool samba__run_list_of(samba_session *s, const samba__run_list *list)
{
    samba_runtime *rt = s->rt;
    bool fine = samba__begin(s, "PyRT_RUN");
    unsigned types;
    samba__count_run(s);
    rt->fault[0] = 0;
    rt->microbatch = 0;
    for (int32_t i = 0; fine && i < list->n; i++) {
        int32_t next
            = samba__begins_repeated(rt, list, i) ? samba__after_repeated(rt, list, i, &types) : -1;
        if (next > 0) {
            fine = samba__run_parts(rt, types);
            i = next - 1;
        } else {
            fine = samba__run_section(rt, (uint32_t)list->ids[i]);
        }
    }
    return samba__end(s, "PyRT_RUN", fine) || samba__fail_run(s);
}

/* May t be sent before a run? fed: with data of the caller's. */
SAMBA__FN bool samba__check_sent(samba_session *s, const samba_tensor *t, bool fed)
{
    if (t->session != s)
        return samba_fail(s, SAMBA_EARG, "in samba_run_with: input %s belongs to another session",
                          t->name);
    if (t->symbol < 0)
        return samba_fail(s, SAMBA_ESTATE,
                          "in samba_run_with: input %s %T %S: the program does "
                          "not use it",
                          t->name, (int)t->dtype, &t->shape);
    if (t->role == SAMBA__OUTPUT || t->role == SAMBA__TEMP || t->role == SAMBA__CONSTANT)
        return samba_fail(s, SAMBA_EARG,
                          "in samba_run_with: input %s is computed by the program; "
                          "samba_rdu or samba_write give it another value",
                          t->name);
    if (t->not_given && !fed && !t->data) return samba__fail_not_given(t, "samba_run_with");
    if (fed || t->data || t->has_value || t->role != SAMBA__INPUT) return true;
    return samba_fail(s, SAMBA_ESTATE,
                      "in samba_run_with: input %s %T %S was never given a value; "
                      "call samba_write first",
                      t->name, (int)t->dtype, &t->shape);
}

/* The tensor of a feed; NULL without an error if there is none. */
SAMBA__FN samba_tensor *samba__fed_tensor(samba_session *s, const samba_feed *f)
{
    samba_tensor *t = f->tensor || !f->name ? f->tensor : samba__named(s, f->name);
    return t && t->removed ? NULL : t;
}

SAMBA__FN size_t samba__fed_bytes(const samba_feed *f, const samba_tensor *t)
{
    return samba_bytes(t) / samba_dtype_size(t->dtype) * samba_dtype_size(f->dtype);
}

/* Does t, of another integer type, hold all the integers of feed i? */
SAMBA__FN bool samba__check_fed_integers(samba_session *s, const samba_feed *f,
                                         const samba_tensor *t, int32_t i)
{
    int64_t least, most, n = (int64_t)(f->bytes / samba_dtype_size(f->dtype));
    samba__integer_range(t->dtype, &least, &most);
    for (int64_t e = 0; e < n; e++) {
        int64_t value = samba__integer_at(f->data, f->dtype, e);
        if (value >= least && value <= most) continue;
        return samba_fail(s, SAMBA_ERANGE,
                          "in samba_run_with: feed %d has %l as element %l for %s "
                          "%T %S, which holds %l ... %l",
                          i, value, e, t->name, (int)t->dtype, &t->shape, least, most);
    }
    return true;
}

/* Gives t, which the program has, integers of another type, all of which it holds. */
SAMBA__FN bool samba__write_integers(samba_tensor *t, const samba_feed *f)
{
    samba_session *s = t->session;
    int64_t n = (int64_t)(f->bytes / samba_dtype_size(f->dtype));
    if (!samba_ok(s) || !samba__in_reach(t)) return false;
    t->withheld = t->not_given = false;
    samba__begin(s, "PyRT_SET_TENSORS");
    for (int64_t e = 0; e < n; e++)
        samba__put_integer(samba__value_of(t), t->dtype, e,
                           samba__integer_at(f->data, f->dtype, e));
    samba__end(s, "PyRT_SET_TENSORS", true);
    t->has_value = true;
    t->copied = 0;
    samba__settle(t);
    return true;
}

SAMBA__FN bool samba__check_feed(samba_session *s, const samba_feed *f, int32_t i)
{
    const samba_tensor *t = samba__fed_tensor(s, f);
    if (!t && f->name && !f->tensor) return samba__fail_name(s, "tensor", f->name, 0);
    if (!t)
        return samba_fail(s, SAMBA_EARG,
                          "in samba_run_with: feed %d has neither a tensor nor a "
                          "name",
                          i);
    if (f->name && !samba__same_text(f->name, t->name))
        return samba_fail(s, SAMBA_EARG,
                          "in samba_run_with: feed %d has the tensor %s and the "
                          "name %s; give one of them",
                          i, t->name, f->name);
    if (!samba__check_sent(s, t, f->data != NULL)) return false;
    bool other = f->data && f->dtype != t->dtype;
    int64_t least, most;
    if (other
        && !(samba__integer_range(f->dtype, &least, &most)
             && samba__integer_range(t->dtype, &least, &most)))
        return samba_fail(s, SAMBA_EDTYPE,
                          "in samba_run_with: feed %d has data of type %T for %s, "
                          "which is %T",
                          i, (int)f->dtype, t->name, (int)t->dtype);
    size_t bytes = f->data ? samba__fed_bytes(f, t) : 0;
    if (f->bytes != bytes)
        return samba_fail(s, SAMBA_ESHAPE,
                          "in samba_run_with: feed %d has %l bytes for %s %T %S, "
                          "which takes %l",
                          i, (int64_t)f->bytes, t->name, (int)t->dtype, &t->shape, (int64_t)bytes);
    return !other || samba__check_fed_integers(s, f, t, i);
}

SAMBA__FN bool samba__send_feed(samba_session *s, const samba_feed *f)
{
    samba_tensor *t = samba__fed_tensor(s, f);
    if (f->data && f->dtype != t->dtype) return samba__write_integers(t, f);
    return f->data ? samba_write(t, f->data) : samba__send_newer(t);
}

/* Can the host copy of t be made when the run is over? */
SAMBA__FN bool samba__check_fetched(samba_session *s, const samba_tensor *t, int32_t i)
{
    if (!t) return samba_fail(s, SAMBA_EARG, "in samba_run_with: output %d is NULL", i);
    if (t->session != s)
        return samba_fail(s, SAMBA_EARG,
                          "in samba_run_with: output %d, %s, belongs to another "
                          "session",
                          i, t->name);
    if (t->symbol < 0)
        return samba_fail(s, SAMBA_ESTATE,
                          "in samba_run_with: output %d, %s %T %S, is not kept by "
                          "the program: list it in program.outputs before compiling",
                          i, t->name, (int)t->dtype, &t->shape);
    if (samba_bytes(t) == samba__host_bytes(t)) return true;
    return samba_fail(s, SAMBA_ESTATE,
                      "in samba_run_with: output %d, %s, holds several "
                      "microbatches; use samba_copy_out after the run",
                      i, t->name);
}

/* Refuses the lists of tensors before anything is sent or run. */
SAMBA__FN bool samba__check_lists(samba_session *s, const samba_run_desc *d)
{
    for (int32_t i = 0; i < d->n_feeds; i++)
        if (!samba__check_feed(s, &d->feeds[i], i)) return false;
    for (int32_t i = 0; i < d->n_outputs; i++)
        if (!samba__check_fetched(s, d->outputs[i], i)) return false;
    return true;
}

/* Sets hyperparameters and sends values before a run. */
SAMBA__FN bool samba__send(samba_session *s, const samba_run_desc *d)
{
    for (int32_t i = 0; i < d->n_hyperparams; i++)
        if (!samba_set(s, d->hyperparams[i].name, d->hyperparams[i].value)) return false;
    for (int32_t i = 0; i < d->n_feeds; i++)
        if (!samba__send_feed(s, &d->feeds[i])) return false;
    return true;
}

/* How many schedules run: without a list one, with all types. */
SAMBA__FN int32_t samba__n_schedules(const samba_run_desc *d)
{
    int32_t n = 1;
    while (n < SAMBA_MAX_RUNS && d->types[n - 1] && d->types[n])
        n++;
    return n;
}

/* Can all schedules run, one after another? *types becomes all that they have. */
SAMBA__FN bool samba__check_schedules(samba_session *s, const samba_run_desc *d, unsigned *types)
{
    uint32_t norm = s->rt->norm_next;
    for (int32_t i = 0; i < samba__n_schedules(d); i++) {
        if (!samba__check_schedule(s, d->types[i], &norm)) return false;
        *types |= samba__whole_step(d->types[i]);
    }
    return true;
}

/* Schedules that have BCKWD and OPT are a whole step, or several: ZEROGRAD runs before the first
   backward pass and before that which follows an OPT. Of those between, the gradients add up. */
SAMBA__FN bool samba__run_schedules(samba_session *s, const samba_run_desc *d)
{
    bool steps = false;
    for (int32_t i = 0; i < samba__n_schedules(d); i++)
        steps = steps || (d->types[i] & SAMBA_OPT);
    bool anew = steps;
    for (int32_t i = 0; i < samba__n_schedules(d); i++) {
        unsigned named = d->types[i], types = samba__whole_step(named);
        if (named & SAMBA_BCKWD) {
            types = (types & ~(unsigned)SAMBA_ZEROGRAD) | (named & SAMBA_ZEROGRAD);
            if (anew) types |= SAMBA_ZEROGRAD;
            anew = false;
        }
        anew = anew || (steps && (named & SAMBA_OPT));
        if (!samba__run_schedule(s, types)) return false;
    }
    return true;
}

/* First all is checked, so that what is refused changes nothing. */
SAMBA__FN bool samba__run_described(samba_session *s, const samba_run_desc *d)
{
    samba__run_list list = SAMBA__ZEROED;
    bool fine;
    list.ids = d->section_ids;
    list.n = d->n_section_ids;
    if (list.n)
        fine = samba__check_ids(s, &list, d->graph) && samba__check_list(s, &list, d->own_order);
    else
        fine = samba__check_schedules(s, d, &list.types);
    for (int32_t i = 0; fine && i < d->n_hyperparams; i++)
        fine = samba__check_argin(s, d->hyperparams[i].name, d->hyperparams[i].value);
    if (!fine || !samba__check_ready(s, &list, d) || !samba__send(s, d)) return false;
    return list.n ? samba__run_list_of(s, &list) : samba__run_schedules(s, d);
}

/* Has each list that has a count an address, and no list a count below 0? */
SAMBA__FN bool samba__check_counts(samba_session *s, const samba_run_desc *d)
{
    const int32_t count[4] = { d->n_section_ids, d->n_feeds, d->n_hyperparams, d->n_outputs };
    const void *const list[4] = { d->section_ids, d->feeds, d->hyperparams, d->outputs };
    for (int i = 0; i < 4; i++) {
        if (count[i] == 0 || (count[i] > 0 && list[i])) continue;
        return samba_fail(s, SAMBA_EARG,
                          "in samba_run_with: a list that has a count is NULL, or "
                          "its count is negative");
    }
    if (!d->types[0] || !d->n_section_ids) return true;
    return samba_fail(s, SAMBA_EARG,
                      "in samba_run_with: types and section_ids exclude each "
                      "other; nothing was run");
}

/* Runs d in the modes that it asks for. */
SAMBA__FN bool samba__run_in_modes(samba_session *s, const samba_run_desc *d)
{
    bool train = s->rt->train, running_stats = s->rt->running_stats;
    if (d->eval) s->rt->train = false;
    if (d->running_stats) s->rt->running_stats = true;
    bool fine = samba__run_described(s, d);
    s->rt->train = train;
    s->rt->running_stats = running_stats;
    return fine;
}

SAMBA_API bool samba_run_with(samba_session *s, const samba_run_desc *d)
{
    if (!samba__need_program(s, "samba_run_with")) return false;
    if (!d) return samba_run(s, 0);
    if (!samba__check_counts(s, d) || !samba__check_lists(s, d)) return false;
    bool any_graph = d->n_section_ids && !d->graph;
    if (!any_graph && !samba__choose_graph(s, "samba_run_with", d->graph)) return false;
    samba__run_event(s, d->types, samba__n_schedules(d), true);
    bool fine = samba__run_in_modes(s, d);
    s->rt->graph = 0;
    for (int32_t i = 0; fine && i < d->n_outputs; i++)
        fine = samba_cpu(d->outputs[i]) != NULL;
    samba__run_event(s, d->types, samba__n_schedules(d), false);
    return fine;
}

/* ==== [checkpoint] ============================================================================ */
SAMBA__FN bool samba__is_saved(const samba__symbol *q)
{
    bool kept = q->role == SAMBA__WEIGHT || q->role == SAMBA__STATE || q->role == SAMBA__ARGIN
        || q->role == SAMBA__CONSTANT;
    return kept && !q->alias;
}

SAMBA__FN const void *samba__current_value(samba_session *s, uint32_t index, const char *name,
                                           const samba__symbol *q)
{
    (void)name;
    return samba__is_saved(q) ? s->rt->data[index] : NULL;
}

/* The first parameter that is not finite, or other state that is NaN; -1: none. */
SAMBA__FN int64_t samba__find_nonfinite(const samba_session *s, int64_t *element)
{
    const samba__pef *pef = &s->rt->pef;
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        int64_t n = samba_count(&q.spec.shape);
        samba__lowest first[3];
        bool weight = q.role == SAMBA__WEIGHT;
        if (!samba__is_float(q.spec.dtype) || q.alias || (!weight && q.role != SAMBA__STATE))
            continue;
        if (!samba__has_nonfinite_here(s->rt->data[i], n, q.spec.dtype, s->rt->isa)) continue;
        first[0] = first[1] = first[2] = SAMBA__NOWHERE;
        samba__note_nonfinite(first, (const uint8_t *)s->rt->data[i], 0, n, q.spec.dtype);
        for (int k = 1; k < 3 && weight; k++)
            first[0] = samba__min64(first[0], first[k]);
        *element = first[0];
        if (*element < SAMBA__NOWHERE) return i;
    }
    return -1;
}

/* Does the device have all values that a checkpoint keeps? */
SAMBA__FN bool samba__check_sent_all(samba_session *s)
{
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->tensors[i];
        if (t->symbol < 0 || !t->withheld || !samba__keeps(t)) continue;
        return samba_fail(s, SAMBA_ESTATE,
                          "in samba_save: %s %T %S was not sent to the device "
                          "(samba_set_transfer); call samba_to_device",
                          t->name, (int)t->dtype, &t->shape);
    }
    return true;
}

SAMBA_API bool samba_save_with(samba_session *s, const char *path, const samba_save_opts *opts)
{
    samba__image image;
    int64_t element = 0;
    if (!samba__need_program(s, "samba_save")) return false;
    if (!path) return samba_fail(s, SAMBA_EARG, "in samba_save: the path is NULL");
    for (int32_t i = 0; i < samba__n_tensors(s); i++) {
        const samba_tensor *t = s->tensors[i];
        bool missing = t->symbol >= 0 && t->role == SAMBA__WEIGHT && !t->has_value;
        if (missing) return samba__fail_value(s, "samba_save", t);
    }
    if (!samba__check_sent_all(s)) return false;
    int64_t bad = opts && opts->allow_nonfinite ? -1 : samba__find_nonfinite(s, &element);
    if (bad >= 0)
        return samba_fail(
            s, SAMBA_ERANGE,
            "in samba_save: element %l of %s is not finite, so %s "
            "was not written; go back to an earlier checkpoint, look for the cause "
            "with samba_set_check_finite, or save with allow_nonfinite",
            element, s->rt->pef.strings + samba__symbol_at(&s->rt->pef, (uint32_t)bad).name, path);
    if (!samba__image_open(&image, s, &s->rt->pef, samba__current_value)) return false;
    bool fine = samba__replace_file(s, path, &image);
    samba__image_close(&image);
    return fine;
}

SAMBA_API bool samba_save(samba_session *s, const char *path)
{
    return samba_save_with(s, path, NULL);
}

/* A value of the file, of one float type, as one of another. */
SAMBA__FN void samba__convert(uint8_t *to, samba_dtype type, const uint8_t *from,
                              samba_dtype stored)
{
    int64_t raw = 0; /* as large as any element */
    float x;
    samba__copy_data(&raw, from, samba_dtype_size(stored), samba_dtype_size(stored));
    samba__load(&x, &raw, stored, 1);
    samba__store(to, &x, type, 1);
}

/* Finds each symbol of the program in a checkpoint. Files of one program list their symbols in one
   order, so each is sought where the last was found. */
typedef struct samba__restoring {
    samba_session *session;
    const samba__pef *from;
    const char *path;
    samba__symbol q, r; /* of the program, and of the file */
    uint32_t last;
    bool found; /* the file has a value; r is it */
} samba__restoring;

/* False if symbol i of the program is none that a checkpoint gives a value. */
SAMBA__FN bool samba__seek_saved(samba__restoring *c, uint32_t i)
{
    const samba__pef *to = &c->session->rt->pef;
    c->q = samba__symbol_at(to, i);
    if (!samba__is_saved(&c->q) || c->q.role == SAMBA__CONSTANT) return false;
    int32_t k = samba__find_symbol(c->from, to->strings + c->q.name, c->last);
    if (k >= 0) {
        c->last = (uint32_t)k;
        c->r = samba__symbol_at(c->from, (uint32_t)k);
    }
    c->found = k >= 0 && c->r.data;
    return c->found || c->q.role == SAMBA__WEIGHT;
}

SAMBA__FN bool samba__restores(const samba__restoring *c)
{
    bool floats = samba__is_float(c->q.spec.dtype) && samba__is_float(c->r.spec.dtype);
    return floats ? samba__same_shape(&c->q.spec.shape, &c->r.spec.shape)
                  : samba__same_spec(&c->q.spec, &c->r.spec);
}

/* One more name of a list that is bounded: the first ones are named, the others counted. */
enum { SAMBA__MOST_NAMES = 8 };

SAMBA__FN void samba__list_name(samba__text *t, int32_t *n, const char *first, const char *next,
                                const char *name)
{
    if (*n < SAMBA__MOST_NAMES) samba__format(t, "%s%s", *n ? next : first, name);
    ++*n;
}

SAMBA__FN void samba__end_list(samba__text *t, int32_t n)
{
    if (n > SAMBA__MOST_NAMES) samba__format(t, " and %d more", n - SAMBA__MOST_NAMES);
}

/* Names the parameters that the file lacks, and what has another shape in it. Changes nothing. */
SAMBA__FN bool samba__check_restore(samba__restoring *c, bool partial, int32_t *n_missing)
{
    const samba__pef *to = &c->session->rt->pef;
    char lacks[440], differs[440], what[240];
    samba__text t = samba__text_in(lacks, sizeof lacks);
    samba__text u = samba__text_in(differs, sizeof differs);
    int32_t missing = 0, different = 0;
    for (uint32_t i = 0; i < to->n_symbols; i++) {
        if (!samba__seek_saved(c, i)) continue;
        const char *name = to->strings + c->q.name;
        if (!c->found) {
            samba__list_name(&t, &missing, " no value for parameter ",
                             missing == 1 ? ", nor for " : ", ", name);
        } else if (!samba__restores(c)) {
            samba__print(what, sizeof what, "%T %S for %s, which is %T %S here",
                         (int)c->r.spec.dtype, &c->r.spec.shape, name, (int)c->q.spec.dtype,
                         &c->q.spec.shape);
            samba__list_name(&u, &different, " ", ", ", what);
        }
    }
    samba__end_list(&t, missing);
    samba__end_list(&u, different);
    *n_missing = missing;
    if (partial) missing = 0;
    if (!missing && !different) return true;
    return samba_fail(c->session, missing ? SAMBA_ENAME : SAMBA_ESHAPE,
                      "%s has%s%s%s; nothing was "
                      "changed",
                      c->path, missing ? lacks : "", missing && different ? ";" : "",
                      different ? differs : "");
}

/* Names the parameters of the file that the program has not: a warning, or an error. */
SAMBA__FN bool samba__check_unexpected(const samba__restoring *c, bool exact, int32_t *n_unexpected)
{
    char names[600];
    samba__text t = samba__text_in(names, sizeof names);
    int32_t n = 0, last = 0;
    for (uint32_t i = 0; i < c->from->n_symbols; i++) {
        samba__symbol r = samba__symbol_at(c->from, i);
        const char *name = c->from->strings + r.name;
        if (r.role != SAMBA__WEIGHT || !r.data) continue;
        int32_t k = samba__find_symbol(&c->session->rt->pef, name, (uint32_t)last);
        if (k >= 0)
            last = k;
        else
            samba__list_name(&t, &n, "", ", ", name);
    }
    samba__end_list(&t, n);
    *n_unexpected = n;
    if (!n) return true;
    if (exact)
        return samba_fail(c->session, SAMBA_ENAME,
                          "%s has parameters that the program has not: "
                          "%s; nothing was changed",
                          c->path, names);
    samba__warn(c->session, "in samba_restore: %s has parameters that the program has not: %s",
                c->path, names);
    return true;
}

SAMBA__FN void samba__copy_restored(samba__restoring *c)
{
    const samba__pef *to = &c->session->rt->pef;
    for (uint32_t i = 0; i < to->n_symbols; i++) {
        if (!samba__seek_saved(c, i) || !c->found) continue;
        samba_dtype type = c->q.spec.dtype, stored = c->r.spec.dtype;
        size_t size = samba_dtype_size(type), old = samba_dtype_size(stored);
        size_t n = type == stored ? 0 : (size_t)samba_count(&c->q.spec.shape);
        const uint8_t *data = c->from->data + (c->r.data - 1);
        uint8_t *value = (uint8_t *)c->session->rt->data[i];
        if (type == stored) samba__copy_data(value, data, samba__symbol_bytes(to, &c->q), size);
        for (size_t k = 0; k < n; k++)
            samba__convert(value + k * size, type, data + k * old, stored);
    }
}

/* What was restored has been sent, and edits of its host copy from before are older. */
SAMBA__FN void samba__after_restore(samba__restoring *c, samba_tensor *t)
{
    if (t->symbol < 0 || !samba__keeps(t) || !samba__seek_saved(c, (uint32_t)t->symbol)) return;
    if (!c->found) return;
    t->has_value = true;
    t->withheld = false;
    samba__settle(t);
}

SAMBA__FN void samba__warn_nonfinite(samba_session *s, const char *path)
{
    int64_t element = 0, bad = samba__find_nonfinite(s, &element);
    if (bad >= 0)
        samba__warn(s, "in samba_restore: element %l of %s in %s is not finite", element,
                    s->rt->pef.strings + samba__symbol_at(&s->rt->pef, (uint32_t)bad).name, path);
}

SAMBA_API bool samba_restore_with(samba_session *s, const char *path,
                                  const samba_restore_opts *opts, samba_restored *restored)
{
    samba__file file;
    samba__restoring c;
    samba_restored counts = { 0, 0 };
    if (restored) *restored = counts;
    if (!samba__need_program(s, "samba_restore")) return false;
    if (!path) return samba_fail(s, SAMBA_EARG, "in samba_restore: the path is NULL");
    if (!samba__read_file(s, &file, true, path)) return false;
    memset(&c, 0, sizeof c);
    c.session = s;
    c.from = &file.pef;
    c.path = path;
    bool fine = samba__check_restore(&c, opts && opts->partial, &counts.n_missing)
        && samba__check_unexpected(&c, opts && opts->exact, &counts.n_unexpected);
    if (restored) *restored = counts;
    if (fine) samba__copy_restored(&c);
    for (int32_t i = 0; fine && i < samba__n_tensors(s); i++)
        samba__after_restore(&c, s->tensors[i]);
    if (fine) samba__warn_nonfinite(s, path);
    samba__file_close(s, &file, false);
    samba__forget_norm(s->rt); /* max_grad_norm may be another one */
    return fine;
}

SAMBA_API bool samba_restore(samba_session *s, const char *path)
{
    return samba_restore_with(s, path, NULL, NULL);
}

/* ==== [inspect] =============================================================================== */
SAMBA_API size_t samba_device_bytes(samba_session *s)
{
    return s && s->rt ? samba__layout_of(&s->rt->pef, 0, false).size : 0;
}

SAMBA_API size_t samba_held_bytes(const samba_session *s)
{
    return s ? s->held : 0;
}

/* argin: of this kind alone; 0: any. */
SAMBA__FN int32_t samba__names_of_role(samba_session *s, int32_t role, uint32_t argin,
                                       const char **names, int32_t cap)
{
    int32_t n = 0;
    if (s && s->rt) {
        for (uint32_t i = 0; i < s->rt->pef.n_symbols; i++) {
            samba__symbol q = samba__symbol_at(&s->rt->pef, i);
            if (q.role != role || (argin && q.argin != argin)) continue;
            if (q.argin == SAMBA__ARGIN_GRAD) continue; /* of a loss: no hyperparameter */
            if (n < cap && names) names[n] = s->rt->pef.strings + q.name;
            n++;
        }
    }
    return n;
}

#define SAMBA__NAMES(of, role, argin) \
    SAMBA_API int32_t samba_##of##_names(samba_session *s, const char **names, int32_t cap) \
    { \
        return samba__names_of_role(s, role, argin, names, cap); \
    }
SAMBA__NAMES(argin, SAMBA__ARGIN, 0)
SAMBA__NAMES(dropout_rate, SAMBA__ARGIN, SAMBA__ARGIN_RATE)
SAMBA__NAMES(dropout_seed, SAMBA__ARGIN, SAMBA__ARGIN_SEED)
SAMBA__NAMES(weight, SAMBA__WEIGHT, 0)
SAMBA__NAMES(grad, SAMBA__GRADIENT, 0)

SAMBA_API int32_t samba_count_names(samba_session *s, const char **names, int32_t cap)
{
    int32_t n = 0;
    if (s && s->rt) {
        for (uint32_t i = 0; i < s->rt->pef.n_sections; i++) {
            samba__section q = samba__section_at(&s->rt->pef, i);
            if (q.type == SAMBA_COUNT) {
                for (uint32_t node = q.first; node < q.end; node++) {
                    samba__call_record r = samba__record_at(&s->rt->pef, node);
                    samba__symbol out = samba__symbol_at(&s->rt->pef, samba__word(&r, r.n_in) - 1);
                    if (out.role != SAMBA__OUTPUT) continue;
                    if (n < cap && names) names[n] = s->rt->pef.strings + out.name;
                    n++;
                }
            }
        }
    }
    return n;
}

/* Marks what is no port of the program: gradients, which have calls of their own, what clips, and
   what COUNT makes. */
SAMBA__FN void samba__mark_own(const samba_runtime *rt, bool *own)
{
    const samba__pef *pef = &rt->pef;
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        uint32_t grad = samba__symbol_at(pef, i).grad;
        if (grad) own[grad - 1] = true;
    }
    for (uint32_t i = 0; i < pef->n_sections; i++) {
        samba__section q = samba__section_at(pef, i);
        for (uint32_t node = q.first; node < q.end; node++) {
            bool counts = q.type == SAMBA_COUNT;
            if (!counts && !samba__is(rt->steps[node].op, SAMBA__OP_clip_factor)) continue;
            samba__call_record r = samba__record_at(pef, node);
            own[samba__word(&r, r.n_in) - 1] = true;
        }
    }
}

/* Names of the session's tensors, in PEF order: those of losses are without SAMBA__MEAN. Inputs
   that are gradients of losses have a call of their own. */
SAMBA__FN int32_t samba__port_names(samba_session *s, int32_t role, const char **names, int32_t cap)
{
    int32_t n = 0;
    if (!s || !s->rt) return 0;
    const samba__pef *pef = &s->rt->pef;
    bool *own = (bool *)samba__alloc(s, pef->n_symbols * sizeof *own);
    if (!own) return 0;
    memset(own, 0, pef->n_symbols * sizeof *own);
    samba__mark_own(s->rt, own);
    for (uint32_t i = 0; i < pef->n_symbols; i++) {
        samba__symbol q = samba__symbol_at(pef, i);
        if (q.role != role || own[i]) continue;
        const samba_tensor *t = samba__tensor_of_symbol(s, pef, &q);
        if (names && n < cap) names[n] = t ? t->name : pef->strings + q.name;
        n++;
    }
    samba__free(s, own, pef->n_symbols * sizeof *own);
    return n;
}

SAMBA_API int32_t samba_input_names(samba_session *s, const char **names, int32_t cap)
{
    return samba__port_names(s, SAMBA__INPUT, names, cap);
}

SAMBA_API int32_t samba_output_names(samba_session *s, const char **names, int32_t cap)
{
    return samba__port_names(s, SAMBA__OUTPUT, names, cap);
}

SAMBA_API bool samba_describe_section(samba_session *s, int32_t id, samba_section *section)
{
    const samba_runtime *rt = s ? s->rt : NULL;
    if (!rt || !section || id < 0 || (uint32_t)id >= rt->pef.n_sections) return false;
    memset(section, 0, sizeof *section);
    samba__section q = samba__section_at(&rt->pef, (uint32_t)id);
    section->type = samba__type_name(q.type);
    section->types = q.type;
    section->graph = q.graph ? rt->pef.strings + q.graph - 1 : NULL;
    section->op = q.end == q.first + 1 ? rt->steps[q.first].op->name : NULL;
    for (uint32_t i = q.first; i < q.end; i++) {
        samba__call_record r = samba__record_at(&rt->pef, i);
        if (rt->steps[i].view) continue;
        section->flops += rt->steps[i].work.flops;
        for (int32_t k = 0; k < r.n_in + r.n_out; k++) {
            uint32_t word = samba__word(&r, k);
            samba_spec spec = samba__symbol_at(&rt->pef, word ? word - 1 : 0).spec;
            section->bytes += word ? (int64_t)samba__spec_bytes(&spec) : 0;
        }
    }
    return true;
}

SAMBA__FN bool samba__has_section(const samba_session *s, int32_t id)
{
    return s && s->rt && id >= 0 && (uint32_t)id < s->rt->pef.n_sections;
}

SAMBA_API unsigned samba_section_uses(samba_session *s, int32_t id, const samba_tensor *t)
{
    unsigned use = 0;
    if (!samba__has_section(s, id) || !t || t->session != s || t->symbol < 0) return 0;
    const uint8_t *begin = (const uint8_t *)s->rt->data[t->symbol];
    const uint8_t *end = begin + samba__device_size(t);
    samba__section q = samba__section_at(&s->rt->pef, (uint32_t)id);
    for (uint32_t i = q.first; i < q.end; i++) {
        samba__call_record r = samba__record_at(&s->rt->pef, i);
        if (!s->rt->steps[i].view) {
            for (int32_t k = 0; k <= r.n_in + r.n_out; k++) {
                samba__operand o = samba__operand_at(s->rt, i, k, 0);
                if (o.begin < end && begin < o.end) use |= o.written ? SAMBA_WRITES : SAMBA_READS;
            }
        }
    }
    return use;
}

/* Neither of two sections writes where the other reads or writes. */
SAMBA__FN bool samba__independent(const samba_runtime *rt, int32_t a, int32_t b)
{
    samba__section x = samba__section_at(&rt->pef, (uint32_t)a);
    samba__section y = samba__section_at(&rt->pef, (uint32_t)b);
    for (uint32_t i = x.first; i < x.end; i++)
        for (uint32_t k = y.first; k < y.end; k++)
            if (!rt->steps[i].view && !rt->steps[k].view && !samba__share_safely(rt, i, k, 0))
                return false;
    return true;
}

SAMBA_API bool samba_sections_commute(samba_session *s, int32_t a, int32_t b)
{
    return samba__has_section(s, a) && samba__has_section(s, b) && samba__independent(s->rt, a, b);
}

#if !defined(SAMBA_NO_STDIO)
#include <time.h>
#if defined(_WIN32) || (defined(SAMBA_NO_THREADS) && !defined(CLOCK_MONOTONIC))
SAMBA_API double samba_seconds(void) /* strict -std=c99 hides the better clock */
{
    return (double)clock() / CLOCKS_PER_SEC;
}
#else
#if !defined(CLOCK_MONOTONIC) /* hidden, too, but its types are known from pthread.h */
#define CLOCK_MONOTONIC 1
extern int clock_gettime(int clock, struct timespec *t);
#endif
SAMBA_API double samba_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif
#endif
#if SAMBA__QUICK
#pragma GCC pop_options
#endif
#endif /* !SAMBA_RUNTIME_ONLY: host half */
#endif /* SAMBA__TEMPLATE == 0 */
#if SAMBA__TEMPLATE <= 0
#undef SAMBA__TEMPLATE
#endif
/* ==== [end] =================================================================================== */
/* MIT License. Copyright (c) 2026 the samba.h contributors.  Permission is hereby granted, free of
   charge, to any person obtaining a copy of this software and associated documentation files (the
   "Software"), to deal in the Software without restriction, including without limitation the rights
   to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software,
   and to permit persons to whom the Software is furnished to do so, subject to the following
   conditions: the above copyright notice and this permission notice shall be included in all copies
   or substantial portions of the Software.  THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF
   ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
   FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT
   HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
   TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER
   DEALINGS IN THE SOFTWARE. */
