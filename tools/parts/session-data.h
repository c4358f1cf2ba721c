/* ==== [session-data] ========================================================================== */
/* What a session consists of. */
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

/* First section of each graph, by its name. */
typedef struct samba__graph_entry {
    char *key; /* in the program's file */
    uint32_t value;
} samba__graph_entry;

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

/* Backward passes, in the count of samba__history; 0: none. */
typedef struct samba__passes {
    uint64_t last, before; /* when BCKWD began last, and the time before that */
    uint64_t first;        /* since when gradients add up, where they do; else last */
    bool cleared;          /* ZEROGRAD has run after the last one */
    bool adds_anew;        /* as that of samba_runtime will be when this run is as far */
} samba__passes;

/* When sections of the program ran last and values were changed from outside, in one count of both:
   tells whether what a section is about to read was made of the values that are there now. */
typedef struct samba__history {
    uint64_t now;
    uint64_t *ran;             /* of each section; 0: not since the program was loaded */
    uint64_t *trial;           /* the same, while a run is only checked */
    uint64_t *edited;          /* of each symbol; 0: not */
    bool has_backward;         /* a graph of the program trains; only one may */
    uint32_t trained_graph;    /* which: samba__section.graph of its sections */
    bool train, running_stats; /* modes in which its FWD ran last */
    samba__passes passes;
    uint64_t forgot; /* when all that had run was forgotten: a restore, a failed run */
} samba__history;

/* What went wrong, and who is told. */
typedef struct samba__session_errors {
    samba_code code;
    char text[1024];
    bool poisoned;                        /* no memory for a container: for good */
    bool quiet, untold;                   /* errors are not printed; one was not */
    uint64_t warned[SAMBA__MAX_WARNINGS]; /* hashes of the warnings that were given */
    int32_t n_warned;
    bool told_nonfinite; /* of a loss */
    const char *context; /* in front of each error; the caller's, or NULL */
    const char *called;  /* which of several functions that share their work was called */
    const void *zeros;   /* what is read after an error */
    size_t zeros_size;
} samba__session_errors;

/* Memory, by how long it lives. */
typedef struct samba__session_arenas {
    size_t held;                /* bytes from desc.alloc now */
    samba__chunk *chunks;       /* names, tensors, nodes; freed at close */
    samba__chunk *temp_chunks;  /* of a compilation */
    samba__chunk *scope_chunks; /* what goes with a scope */
    samba__scope *scope;        /* the innermost one; NULL: none */
    bool transient;             /* what is made now goes with it */
    samba__block *blocks;       /* stb_ds */
} samba__session_arenas;

/* What was recorded so far. */
typedef struct samba__session_trace {
    samba_tensor **tensors;     /* stb_ds list */
    samba__node **nodes;        /* stb_ds list in trace order */
    samba__entry *names;        /* stb_ds string map */
    samba__graph_entry *graphs; /* the same, of the program */
    const samba_op **user_ops;  /* stb_ds list */
    uint32_t marks;             /* walks over the graph so far */
    uint32_t n_programs;        /* compiled or loaded so far: each ends a trace */
    const char *op_prefix;      /* of the names of ops traced now; NULL: none */
    const char *next_name;      /* a layer names the op it is about to emit */
    int32_t n_named;            /* counts unnamed ops */
    samba_tensor *counter;      /* of forward runs: dropout draws anew each time */
    bool generating;            /* the compiler is recording, not the user */
    bool differentiating;       /* samba_grad is recording */
} samba__session_trace;

/* What holds for the ops, parameters and runs from here on. */
typedef struct samba__session_modes {
    bool tracing, train, running_stats, legacy_names;
    bool withholds;       /* compile and load send nothing */
    bool lacks_grads;     /* and gradients of losses do not begin with ones */
    uint32_t section;     /* of the ops recorded now */
    const char *graph;    /* of the ops recorded now */
    bool freezes;         /* the parameters made now */
    bool shares;          /* layers called now may have been called before */
    samba_lazy_opts lazy; /* how parameters begin */
    bool eager_params;    /* parameters are drawn when they are made */
    bool cuts_bf16;       /* weights are packed by truncation */
    samba_graphamp graphamp;
    samba_dtype param_dtype; /* of the matrices made now */
} samba__session_modes;

/* The caller's functions; NULL: none. */
typedef struct samba__session_hooks {
    samba_trace_fn on_trace;
    void *on_trace_user;
    samba_event_fn on_event;
    void *event_user;
    samba_node_fn on_node;
    void *node_user;
} samba__session_hooks;

/* The program that was compiled or loaded, and its runs. */
typedef struct samba__session_program {
    samba__pool pool;
    bool has_pool;
    float *local;     /* scratch of the threads when ops run eagerly */
    samba__file file; /* the loaded program; bytes if values stay there */
    void *memory;     /* of the runtime */
    size_t memory_size;
    samba_runtime *rt;
    samba__history history;
    samba_culprit culprit; /* node NULL: none */
    bool inputs_ready;     /* inputs and parameters of the program have values */
    bool zero_params;      /* parameters without a value are run as zeros */
    uint64_t runs;         /* begun so far */
    double dropped_rate;   /* "p" as it was set in a program that infers, for samba_get */
} samba__session_program;

struct samba_session {
    samba_desc desc;
    uint64_t seed;
    samba__session_errors errors;
    samba__session_arenas arenas;
    samba__session_trace trace;
    samba__session_modes modes;
    samba__session_hooks hooks;
    samba__session_program program;
};

