/* ==== [device-api] ============================================================================ */
/* Running a PEF from one block of memory, without malloc or stdio. */
/* Verifies the whole PEF, then lays the runtime out in memory. NULL if the PEF is refused, has no
   values of its parameters (samba_save writes them) or memory is too small; why (may be NULL) gets
   the reason. pef must stay where it is, 8-byte aligned. */
SAMBA_API samba_runtime *samba_runtime_open(const void *pef, size_t size, void *memory,
                                            size_t memory_size, char *why, size_t why_size);
/* Bytes samba_runtime_open needs; 0 if the PEF is refused. It need not have values yet. */
SAMBA_API size_t samba_runtime_bytes(const void *pef, size_t size, char *why, size_t why_size);

/* Zero is the default. */
typedef struct samba_runtime_desc {
    const samba_op *const *ops; /* your own, as samba_register_op takes them on the host; they and
                                   the list stay where they are */
    int32_t n_ops;
} samba_runtime_desc;

/* The same for a PEF that has ops of your own. desc may be NULL. */
SAMBA_API samba_runtime *samba_runtime_open_with(const void *pef, size_t size, void *memory,
                                                 size_t memory_size, const samba_runtime_desc *desc,
                                                 char *why, size_t why_size);
SAMBA_API size_t samba_runtime_bytes_with(const void *pef, size_t size,
                                          const samba_runtime_desc *desc, char *why,
                                          size_t why_size);

/* Bytes of stack that these functions take at most on a 32-bit device, beside your own and those of
   interrupts: measured on Cortex-M and RISC-V. */
#define SAMBA_DEVICE_STACK 2816

#if !defined(SAMBA_RUNTIME_ONLY)
/* What samba_runtime_bytes will say of a PEF on a 32-bit device (ARM, RISC-V, Xtensa, wasm) where
   samba.h was compiled without SAMBA_LOCAL_BYTES and block sizes of your own: before there is one.
   The PEF need not have values, but is taken to have got them: read-only parameters stay in it. */
typedef struct samba_device_memory {
    size_t bytes;   /* the sum of these: */
    size_t tables;  /* what the runtime keeps of symbols and nodes, and room to align it */
    size_t scratch; /* of kernels */
    size_t state;   /* parameters that train, state of their optimizers, gradients */
    size_t arena;   /* what passes between ops */
    size_t io;      /* inputs and outputs */
} samba_device_memory;

/* desc may be NULL. False, with the reason in why, if a device would refuse the PEF. */
SAMBA_API bool samba_measure_device(const void *pef, size_t size, const samba_runtime_desc *desc,
                                    samba_device_memory *memory, char *why, size_t why_size);
#endif

/* Runs the sections whose type is in types (0: all) in schedule order; a whole step is as samba_run
   has it. False: bad index value; types has but a part of those of a section (mapping spatial); or
   OPT clips and GRADNORM has not run since the gradients changed (what the caller writes to them
   through a pointer is not noticed). */
SAMBA_API bool samba_runtime_run(samba_runtime *rt, unsigned types);
/* The same for one graph of a PEF that has several. False if there is no such graph. */
SAMBA_API bool samba_runtime_run_graph(samba_runtime *rt, const char *graph, unsigned types);
/* The memory of a symbol by name; NULL if there is none. */
SAMBA_API void *samba_runtime_data(samba_runtime *rt, const char *name);

/* Why the last run, setting, save or restore of rt was refused or failed: its code; SAMBA_OK if it
   was not. text (may be NULL) gets the sentence, such as what an index held, where, and what it may
   hold. A firmware that never calls this has none of the sentences. */
SAMBA_API samba_code samba_runtime_error(const samba_runtime *rt, char *text, size_t size);

/* A tensor of the PEF. Temporaries and scratch share memory, and have values only while they are
   used. */
typedef struct samba_runtime_symbol {
    const char *name;
    samba_role role;
    samba_spec spec; /* type and shape, of one microbatch */
    size_t bytes;    /* of its memory, for all microbatches that it holds */
    void *data;      /* read-only parameters and constants may lie in flash: do not write them */
} samba_runtime_symbol;

/* How many symbols there are, and which: by number, or by name as samba_runtime_data. False, and
   all zero, if there is none. */
SAMBA_API int32_t samba_runtime_n_symbols(const samba_runtime *rt);
SAMBA_API bool samba_runtime_symbol_at(const samba_runtime *rt, int32_t i,
                                       samba_runtime_symbol *symbol);
SAMBA_API bool samba_runtime_find(const samba_runtime *rt, const char *name,
                                  samba_runtime_symbol *symbol);
/* train = false: dropout does nothing, batch_norm takes running statistics. A program compiled for
   training begins with true; one for inference refuses it. */
SAMBA_API bool samba_runtime_set_train(samba_runtime *rt, bool train);
/* Sets an argin, such as "lr", to a finite value, and reads it (0 if there is none). */
SAMBA_API bool samba_runtime_set(samba_runtime *rt, const char *name, float value);
SAMBA_API float samba_runtime_get(samba_runtime *rt, const char *name);

/* Where the trained state of a runtime is kept when the power is off: two slots, slot 1 directly
   behind slot 0. Offsets count from the beginning of slot 0. */
#define SAMBA_PAGE 256 /* bytes of each write, whose offsets are multiples of it */

typedef struct samba_storage {
    size_t slot_size;   /* samba_runtime_state_bytes at least; a multiple of SAMBA_PAGE and of what
                           the flash erases at once */
    const void *memory; /* both slots as memory, such as mapped flash; or NULL, and: */
    bool (*read)(size_t offset, void *bytes, size_t n, void *user);
    bool (*erase)(size_t offset, size_t n, void *user); /* a slot; NULL: writes overwrite */
    bool (*write)(size_t offset, const void *bytes, size_t n, void *user);
    void *user;
} samba_storage;

/* Bytes of a slot: parameters that train, state of optimizers and of dropout, statistics, argins,
   each once, and a header of a page. */
SAMBA_API size_t samba_runtime_state_bytes(const samba_runtime *rt);
/* Saves the state between steps (gradients are not saved): erases the slot that is not the newest
   whole one, writes its pages in order, its header last, and reads it back. So the power may fail
   at any time: one whole slot stays. */
SAMBA_API bool samba_runtime_save(samba_runtime *rt, const samba_storage *storage);
/* Takes the newest whole slot; training goes on with the bits that it would have had, and gradients
   begin at zero. False, and nothing is changed: nothing was saved yet (SAMBA_ESTATE), another PEF,
   or this one with other values, saved it (SAMBA_EGRAPH), or no slot is whole (SAMBA_EPEF). A part
   is changed if a read fails that had worked before (SAMBA_EIO says so). On a host, tools/samba
   device-import makes a checkpoint of a copy of the two slots: it opens the same PEF, restores the
   copy, and gives samba_write_bytes what samba_runtime_symbol_at has. */
SAMBA_API bool samba_runtime_restore(samba_runtime *rt, const samba_storage *storage);

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

