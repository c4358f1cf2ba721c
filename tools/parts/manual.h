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
     [functions-api] functions and layers made of ops,
     [pef-api]     what tools read a PEF with, and
     [device-api]  what runs one on a small device
     [base]        checked sizes, bits, little-endian access, hash        -+
     [report]      texts in fixed buffers, reasons                         |
     [random]      counter-based generator                                 |
     [threads]     the pool                                                |
     [tensor]      shapes, types, signatures of ops                        | the device half:
     [math]        exp, log, tanh ... with the same bits everywhere        | no malloc, no stdio
     [simd]        templates, which are compiled for all instruction sets  |
     [simd-sets]   their vectors: AVX2, AVX-512, NEON, WebAssembly         |
     [packed-weights] weights as products want them, of fewer bits         |
     [micro-kernel] rows of A times columns of B, sums in registers        |
     [tiles]       products in bf16 by a matrix unit, AMX                  |
     [gemm]        matrix product                                          |
     [direct]      the same without buffers, for small devices             |
     [op-table]    the list of ops; what their rules share                 |
     [elementwise] maps, cast, dropout, and how they walk a broadcast      |
     [reduce]      sum, mean, max, argmax                                  |
     [matmul]      matmul, affine                                          |
     [shape-ops]   reshape ... cat, gather, lookup: ops that move values   |
     [conv]        convolution and its gradients, as an implicit GEMM      |
     [pool]        pooling                                                 |
     [quant]       grids of int8, observers, fake quantization             |
     [int-ops]     the ops of int8: conversions, sums, products, pooling   |
     [int-matmul]  matmul_integer: products of bytes, with sums of i32     |
     [int-products] such products that end as floats or bytes             |
     [byte-codes]  to bytes and back, by scales that are tensors           |
     [norm-loss]   batch, layer and rms norm, softmax, losses              |
     [attention]   scaled dot product attention                            |
     [optim-ops]   SGD, AdamW, RMSprop, Adagrad, Lion, clipping: one step  |
     [op-rows]     kernels of each instruction set, the table itself       |
     [pef-read]    the records of a PEF, and how they are read             |
     [pef-verify]  the PEF, proved before use                              |
     [layout]      a PEF laid out in memory                                |
     [execute]     runs sections                                           |
     [runtime]     what programs on a device call, and saved states       -+
     [pef-records] what tools ask of a PEF                                -+
     [check-finite] finds values that are not finite where they are made   |
     [fused-groups] runs ops, and several on one part after another        |
     [session-data] what a session consists of                             |
     [errors]      errors, warnings, ranges of numbers                     |
     [memory]      allocators                                              |
     [containers]  stb_ds, private and safe                                |
     [graph]       tensors and nodes, and how they are printed             |
     [initial-values] what tensors begin with; where their values are      |
     [eager]       ops that are computed at once                           |
     [record]      where each op arrives: recorded, or computed            |
     [ops-by-name] samba_apply, and ops of your own                        |
     [leaves]      inputs, parameters, constants                           |
     [autodiff]    gradients as more graph                                 |
     [layers]      ops with parameters                                     | the host half: not in
     [functions]   what is made of ops: clamp, var, cumsum, sort, noise    | SAMBA_RUNTIME_ONLY
     [recurrent]   LSTM, GRU and RNN, unrolled                             |
     [blocks]      group norm, conv_transpose, interpolate, rotary, heads  |
     [losses]      l1, huber, kl_div, triplet, weights of classes, CTC     |
     [optim]       optimizers for parameters, clipping                     |
     [passes]      rewrites, common subexpressions, dead code, schedule    |
     [plan]        live ranges, which tensors share memory, sections       |
     [recompute]   what the backward pass computes again, to save memory   |
     [pef-write]   from a plan to the bytes of a PEF                       |
     [files]       reading, mapping and replacing files                    |
     [log]         what a compiled program is, for people and for tools    |
     [spread]      what each tensor of a part is of that of the batch      |
     [microbatches] what the parts of a batch need of the whole            |
     [quantize]    calibration; a program that infers becomes one of int8 ops
     [pack]        weights of fewer bits, in the order of products         |
     [compile]     from a program to a plan                                |
     [session]     open, close, modes                                      |
     [values]      values of tensors: write, read, copies on the host      |
     [load]        compile, and load: a PEF becomes the session's program  |
     [ready]       is there all that a run reads?                          |
     [run]         what runs, whether it can, and running it               |
     [checkpoint]  save and restore                                        |
     [inspect]     names, sections and sizes of the program               -+
     [end]         licence

   A chapter uses only chapters above it. Exceptions: public functions; samba__emit, through which
   builders in the device half record a call; samba__set_of, by which kernels get at the table of
   sets, which [op-rows] makes of all of them, loops of the host half among them; samba__find_groups
   and samba__run_nodes, by which the device half runs [fused-groups]; and the sizes of blocks,
   which are those of [simd-sets], in [gemm].

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
     GraphAMP     bf16 in place of f32 for what waits between ops, and in products
     microbatch   a part of the batch that runs by itself; a replica is one with its own thread
     unit         what a kernel can do alone, such as a row; a worker of the pool takes a range of
                  them, its grain
     live range   the nodes from the one that makes a temporary to the last that reads it
     fused group  ops that run together on a part of their elements, then on the next one
     epilogue     what follows a product in its fused group: it runs on each tile that is complete

   A program traces a forward pass once, compiles it, and runs it in a loop of its own:
   examples/01_autograd.c is the shortest, examples/02_res_ffn.c a whole one.

   ---- Rules of the house ----

   Options are structs in which zero means the default; where that is another number, SAMBA_ZERO
   says 0, such as .beta1 = SAMBA_ZERO, and whole numbers, such as seeds, have no 0. The session
   owns what it returns, until samba_close. Pointer functions return NULL on failure, others false;
   NULL flows through ops; the first error stays in the session (samba_error has the tensors, the
   shapes and what to do) and later calls do nothing, so a program may check once, at the end. It is
   printed on stderr when it arises, once, unless samba_desc has a log or quiet. Nothing aborts or
   exits.
   A session belongs to one thread at a time; sessions know nothing of each other. A child of fork
   has the sessions that no other thread was using then. Their helpers stayed with the parent: the
   first run of the child that wants some starts its own, and samba_close ends no others.

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
   compiling. NaN is NaN; which NaN is not specified. samba_desc.check_finite reports where the
   first one arises.

   A thread may round in another direction, flush subnormals to zero or trap, since a library, an
   audio host or a debugger has set it so. No bit depends on that: whatever computes sets the mode
   of IEEE 754 in each of its threads, and puts the caller's back, with its exception flags.
   Functions that you pass, such as kernels, run in that mode. That takes gcc or clang, and x86 with
   SSE, ARM, RISC-V, s390x, WebAssembly, or arithmetic in software. Elsewhere a thread that calls
   samba.h must have that mode itself; only samba_open and samba_runtime_open look, and refuse
   another one. They also refuse a processor that fails any of six test cases of fused
   multiply-add.

   Names: a leaf has the one it was given, a layer's parameters are <layer>__weight, <layer>__bias.
   The first output of an op is called like its layer, or <kind>_<number> without one, and the
   others <op>__outputs__1 ...; <op>__outputs__0 and <op>__outputs__0__grad find the first, too.
   A layer that is called again shares its parameters; in one trace that is told, unless
   samba_set_sharing says that it is meant.
   An op whose name is taken gets _2, _3 ... A leaf's name must be free, or its own: a parameter or
   buffer that is asked for again is the same one. samba_name gives a tensor a name of your own.
   Names depend only on the order of tracing, so they are the same in every process.
   What the compiler adds is called after the tensor it belongs to: <tensor>__grad, __momentum,
   __exp_avg, __exp_avg_sq, __max_exp_avg_sq, __square_avg, __grad_avg, __sum; with microbatches
   <loss>__mean, __targets and what stands below. If one of your tensors has such a name, compiling
   is refused, and the message says which to rename.
   Errors, warnings, printed graphs and logs show the bytes of control characters, which names in
   files may have, as \xNN: so no file tells a terminal what to do.

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

   ---- A step over several batches ----

   With samba_program.accumulate gradients add up over runs, so that a step may see more rows than
   the inputs hold at once:

       for (int k = 0; k < 4; k++) {
           next_batch(x, y);                                // samba_write
           samba_run(s, SAMBA_FWD | SAMBA_BCKWD);
       }
       samba_run(s, SAMBA_GRADNORM | SAMBA_OPT);            // GRADNORM if the program clips

   The first backward pass after OPT begins at zero; so does one after ZEROGRAD, samba_restore or a
   run that failed. A whole step in one run (FWD, BCKWD and OPT) begins at zero, too. Each batch
   counts as it would alone: for the mean of 4 batches give the loss the gradient 1/4, once, by
   samba_set(s, "<loss>__grad", 0.25). If the batches have different numbers of targets that count,
   let the loss be their sum (SAMBA_REDUCE_SUM), and its gradient 1 / all targets of the step.
   Without accumulate (and microbatches) a backward pass overwrites the gradients of the one before.

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
     SAMBA_SELECT_OPS        with SAMBA_RUNTIME_ONLY: compile only the ops whose SAMBA_USE_<op> is
                             defined, such as SAMBA_USE_affine; a PEF with another op is refused,
                             and the message names the macro (samba_print_ops prints all names)
     SAMBA_SELECT_TYPES      the same for types of tensors besides f32: SAMBA_USE_BF16, ..._I32 ...
     SAMBA_USE_own_ops       with SAMBA_SELECT_OPS: the program has ops of its own, too
     SAMBA_TRUSTED_PEF       with SAMBA_RUNTIME_ONLY: samba_pef_fingerprint of the file that is run,
                             or several with commas: such a file was proved where the firmware was
                             made, so that opening compares this alone, and refuses other files;
                             for flash that nobody else writes
     SAMBA_NO_TEXTS          with SAMBA_RUNTIME_ONLY: without the sentences of what is refused; in
                             their place stands "samba.h:" and the number of the line where this
                             file has the sentence, or, of samba_runtime_error, of the failure
     SAMBA_LOCAL_BYTES       scratch of each thread, 1.5 MiB; with SAMBA_SMALL 16 KiB, or 20 KiB
                             if there are vectors
     SAMBA_GEMM_KC, SAMBA_GEMM_MC, SAMBA_GEMM_NC   block sizes of [gemm]
     SAMBA_STB_DS_H          the path of stb_ds.h, if it is not found as <stb/stb_ds.h>
     SAMBA_DEFAULT_SESSION   samba_default(), a session for ported samples; define it wherever it
                             is used, too
     SAMBA_ALLOW_FAST_MATH   compile with -ffast-math all the same; no promise about bits holds then
     SAMBA_ALLOW_EXCESS_PRECISION   the same for x87 arithmetic, where FLT_EVAL_METHOD is not 0
     SAMBA_TILE_TWIN         for tests: a matrix unit in plain C, beside the instruction sets
     SAMBA_ASSERTS           for who works on samba.h, beside a sanitizer: the invariants that its
                             code states are checked, and what does not hold stops the process;
                             gcc or clang, with stdio (make asan, make tsan, make random-asan)

   Needs: libc, libm, threads; the host half needs stb_ds.h (Debian: libstb-dev) at compile time.

   ---- Add an op ----

   In this file: a prototype in [api], a row in [op-table], and a block in a chapter below: builder,
   shape rule, work, kernel, gradient rule; leaving one out does not compile. The parts of op NAME
   are samba_NAME, samba__NAME_shape, _work, _kernel and _vjp; ops of a family FAMILY share
   samba__FAMILY_rule, _work and _run. The row names all but the first and the last. It also says
   what the op does to the rows of a batch that runs in parts; UNKNOWN will do at first. In your
   program: fill in a samba_op and call samba_register_op; see examples/04_custom_op.c. A kernel
   gets whole rows and a range of units; the executor makes the threads. A gradient rule calls
   public ops.
   An elementwise op has, besides its prototype, no more than its row, made of a function in [math],
   and one line that has its gradient (SAMBA__UNARY); one row of tests/lib/reference.h tests its
   values, its gradient, and the gradient of that. An optimizer is a samba_optim_kind in [api]; the
   row of its op and the list of its attributes in [op-table]; and in [optim-ops] its inputs, a row
   of samba__optimizers, a line SAMBA__STEP_OP, and a kernel with its line SAMBA__OF_NARROW. A type
   of section is its bit in [api], a row of samba__section_types, and what makes its nodes.
   tests/CONTRIBUTING.md says more of each, and which tests notice what is missing.

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
                             are together, types ascending, graphs in the ascending order of
                             their names' offsets in the strings. The number of a section is its
                             id and its call id
     words      4 each       arguments of the nodes
     strings                 names, each ends with 0
     trace                   the text that samba_load compares
     data                    from the next multiple of 64: values of symbols in their order, each
                             aligned to 64

   Each field of the records is one row of a table in [pef-read], from which reader and writer are
   made. tests/lib/pef_bytes.h has the offsets, as numbers. Tools read through samba_pef_open.

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
   may still run in another order: a temporary that no section has written yet reads as zero. Not
   proved are that names differ, that values are finite, and that a program does what its trace
   says. The cost is n log n for n symbols in samba_load; without memory of its own
   samba_runtime_open needs a pass over the symbols for each 512 nodes (16 on a device). */

