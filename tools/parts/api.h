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
    SAMBA_INIT_CONSTANT = 0, /* value; scale must be 0 */
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
    int32_t out_index;            /* which output of that op */
    int32_t role;                 /* SAMBA__INPUT, SAMBA__WEIGHT, ... */
    int32_t id;                   /* index in the session's tensor list */
    int32_t symbol;               /* index in the loaded PEF; -1: not there */
    bool frozen;                  /* a parameter that is not trained */
    int32_t argin;                /* a hyperparameter: which, SAMBA__ARGIN_LR ...; else -1 */
    bool generated;               /* by the compiler, such as an optimizer's state */
    bool removed;                 /* by samba_forget_name: its name is not found any more */
    bool transient;               /* goes with the scope that it was made in */
    bool rounded;                 /* by GraphAMP: products read the bf16 that it is cast from */
    int32_t n_same;               /* how many more names were made of this one */
    samba_init init;              /* what a parameter or state is before it is anywhere */
    void *data;                   /* host value: initial, eager, or copied by samba_cpu */
    struct samba_tensor *grad;    /* set once a gradient has been asked for */
    struct samba_tensor *same_as; /* what the compiler replaced it by */

    struct {              /* where its value is, and which copy is newer: a table in [values] */
        bool given;       /* an input or a parameter that was given one */
        bool borrowed;    /* data belongs to the caller */
        bool settled;     /* hash is known */
        bool withheld;    /* it has not been sent: see samba_set_transfer */
        bool not_given;   /* a loss's gradient: see samba_set_output_grads */
        bool outdated;    /* data is older than the value of the program that goes */
        bool computed;    /* an output that a run of the program has made */
        bool overwritten; /* an output of which samba_write was looked at */
        int32_t parts;    /* data holds so many microbatches; 0: it is one value */
        uint64_t copied;  /* 1 + runs when samba_cpu copied it; 0: not current */
        uint64_t hash;    /* of data when the device had it or got another value: only an edit
                             makes data the newer one again */
    } value;

    struct {               /* of a layer's first parameter: its last call */
        const char *graph; /* in which it was called */
        int32_t op;        /* by which op */
        uint32_t trace;    /* 1 + the number of programs before that trace; 0: it was not called */
    } layer;

    struct {                         /* of state that ops write */
        struct samba_tensor *holder; /* the state that an op computed at once wrote into */
        struct samba_tensor *leaf;   /* which an update overwrites: this is its new value */
        struct samba_tensor *last;   /* of a leaf: the latest such value, not the compiler's */
        struct samba_tensor *before; /* and the one before it */
    } writes;

    struct { /* of the walk over the graph that saw it last */
        uint32_t mark;
        int32_t place; /* its number there */
    } walk;
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

/* ---- Ops of your own: what a kernel, a shape rule and a gradient rule see -------------------- */
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
    char *why; /* for samba_refuse: where the reason goes, of why_size bytes; NULL: nowhere */
    size_t why_size;
} samba_call;

/* How an op is cut into units of work. The executor runs phases one after another; the units of a
   phase run in any order on any thread, so a unit's result must not depend on the others. */
#define SAMBA_MAX_PHASES 3

typedef struct samba_work {
    int64_t units[SAMBA_MAX_PHASES]; /* phase 0 from the '*' of the signature unless set */
    int32_t n_phases;                /* 1 unless set */
    int32_t local;                   /* bytes of samba_args.local that a unit uses: all there are
                                        unless set; a device reserves no more than its PEF needs */
    int64_t scratch;                 /* bytes shared by all units of this op */
    int64_t part;                    /* elements of output 0 that a unit of phase 0 writes, if of
                                        inputs as large it reads only the same ones: the op may be
                                        fused, and a samba_fault is reported of the first op of its
                                        group. 0: it may not. -1: a product, which calls
                                        samba_args.epilogue for what it has finished */
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
    float *local;       /* SAMBA_LOCAL_BYTES, or samba_work.local, of the thread's own */
    int32_t microbatch; /* which one of the batch runs now */
    int32_t isa;        /* instruction set chosen at run time */
    bool train;         /* false: no dropout */
    bool running_stats; /* batch_norm by running values, which stay, as do ranges */
    int32_t *fault;     /* set through samba_fault() */
    /* For fused groups. A built-in elementwise op computes [begin,end) `rows` times, the r-th time
       r * pitch elements further on; rows = 0: once. Products call epilogue, unless it is NULL,
       when a part of output 0 is ready: rows and columns from y on. */
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

#if !defined(SAMBA_RUNTIME_ONLY) || defined(SAMBA_IMPLEMENTATION)
#if defined(SAMBA_RUNTIME_ONLY) /* no tracer: the compiler drops the builders of ops */
#define SAMBA__OP_API static inline
#else
#define SAMBA__OP_API SAMBA_API
#endif

/* ---- Ops. x (2,3) means shape; broadcasting is NumPy's; NULL in, NULL out. ------------------- */
/* A constant: every element is value. */
SAMBA__OP_API samba_tensor *samba_full(samba_session *s, samba_shape shape, float value);
/* (count) numbers: start, start + step, start + 2 step ... Integers are exact to 2^24; samba_cast
   makes them i32. */
SAMBA__OP_API samba_tensor *samba_arange(samba_session *s, int32_t count, float start, float step);

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
SAMBA__OP_API samba_tensor *samba_gelu(samba_tensor *x);      /* x Phi(x): erf */
SAMBA__OP_API samba_tensor *samba_gelu_tanh(samba_tensor *x); /* "gelu_new" */
SAMBA__OP_API samba_tensor *samba_silu(samba_tensor *x);      /* x sigmoid(x) */
SAMBA__OP_API samba_tensor *samba_softplus(samba_tensor *x);  /* log(1 + e^x) */
SAMBA__OP_API samba_tensor *samba_sin(samba_tensor *x);       /* of radians, any size */
SAMBA__OP_API samba_tensor *samba_cos(samba_tensor *x);
SAMBA__OP_API samba_tensor *samba_erf(samba_tensor *x);
SAMBA__OP_API samba_tensor *samba_log1p(samba_tensor *x);               /* log(1 + x) */
SAMBA__OP_API samba_tensor *samba_expm1(samba_tensor *x);               /* e^x - 1 */
SAMBA__OP_API samba_tensor *samba_floor(samba_tensor *x);               /* no gradient flows */
SAMBA__OP_API samba_tensor *samba_ceil(samba_tensor *x);                /* ... nor here */
SAMBA__OP_API samba_tensor *samba_round(samba_tensor *x);               /* halves to even */
SAMBA__OP_API samba_tensor *samba_sign(samba_tensor *x);                /* -1, 0, 1 */
SAMBA__OP_API samba_tensor *samba_detach(samba_tensor *x);              /* x; no gradient flows */
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
/* i32: where the first `count` (0: all) of the sorted elements along axis are. Equal ones keep
   their order; NaN is the largest. */
SAMBA__OP_API samba_tensor *samba_argsort(samba_tensor *x, int32_t axis, int32_t count,
                                          bool descending);

/* Products. matmul: (*,m,k) (*,k,n) -> (*,m,n), 1-D as torch. affine: x w^T + b, x (*,k), w (n,k),
   b (n) or NULL -> (*,n). A first operand of bf16 makes it a product in bf16, whose result is f32:
   the second one is rounded, too. */
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
   for each t, both of one type. row i32 (T), or (B,T) with B the first dimension; row -1 is left
   out. No gradient. */
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
   1-D: x (N,C,L), w (O,C/groups,K). Zero means default: stride 1, padding 0, dilation, groups 1. An
   x of bf16 makes it a product in bf16, whose result is f32: [conv] says in which order. */
typedef struct samba_conv_opts {
    int32_t stride[2], padding[2], dilation[2], groups;
} samba_conv_opts;

SAMBA__OP_API samba_tensor *samba_convolution(samba_tensor *x, samba_tensor *w, samba_tensor *b,
                                              const samba_conv_opts *opts);

/* Pooling over the last two axes of (N,C,H,W). kernel[1] = 0 means kernel[0]; a stride of 0 means
   the kernel's size along the same axis. */
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

/* Training for int8, as samba_fake_quantize below: w to the nearest of 127 steps of either sign, of
   which the largest of each index along axis has all. For affine and convolution that is axis 0. */
SAMBA__OP_API samba_tensor *samba_fake_quantize_weight(samba_tensor *w, int32_t axis);

/* softmax(q k^T scale + mask) v. q (*,T,D), k (*,S,D), v (*,S,E) -> (*,T,E); mask bool (true:
   attend) or f32 (added), broadcast to (*,T,S), or NULL. scale 0 means 1/sqrt(D), SAMBA_ZERO 0. A
   row with nothing to attend is 0. Blocks of 64 keys that a bool mask hides from the first rows are
   free. q, k and v of bf16, all three, make its products those in bf16 of [micro-kernel], which
   round softmax to bf16, too; the result is f32. */
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
   w_shape. Each is linear in both inputs, and its gradients are again these three ops. A first
   input of bf16 makes them products in bf16. */
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

/* GraphAMP: what waits between ops is rounded to bf16 and kept so for the backward pass;
   parameters, their gradients and sums stay f32. MP0: none. MP1: what products read. MP4: what
   every op makes, but scalars and losses. Products of matmul, linear, convolution and attention are
   computed in bf16, as a matrix unit does it: their definition stands in [micro-kernel]. */
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
/* Warns of a legal call that is usually a mistake, as samba.h itself does: through the log, each
   text once per session; nothing while an error is standing. fmt as that of samba_fail. */
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
   samba_cpu gave before ends), which the next run that has it among its feeds sends. With
   microbatches from_data and from_data_copy also take the whole batch: as many rows as all parts
   have, along batch_dim. */
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
/* The same of another type: f32, bf16, f16 or i8, for caches that are to take less memory. */
SAMBA_API samba_tensor *samba_buffer_of(samba_session *s, const char *name, samba_dtype dtype,
                                        samba_shape shape, float value);

/* Parameters are lazy: placeholders until something needs their values, so that compiling alone
   takes no memory for them. Call it before the first parameter is made. Their values depend on
   these options alone, not on what else is drawn. */
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
/* Restarts the random stream of dropout: the same masks come again. */
SAMBA_API bool samba_reset_random_generator(samba_session *s);
/* A constant scalar; samba_full makes a constant tensor. */
SAMBA_API samba_tensor *samba_number(samba_session *s, float value);

/* Your own ops; apply calls an op by name and returns its first output. Names of torch and NumPy,
   in their own words: samba/torch_names.h, which also says what of torch is not here, and why. */
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
/* While a program is traced, a second call of a layer in the same graph gives a warning, once for
   each name, for most of them are slips: of a name, in a loop over blocks. Around those that are
   meant, of a recurrent net or twins, this is true; returns what it was. What computes at once may
   call its layers again and again. */
SAMBA_API bool samba_set_sharing(samba_session *s, bool meant);
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
/* Training for int8: y is the nearest of 256 steps of a range, dx is dy within it. name__range
   (least, most, batches) follows x slowly, and stays where batch_norm takes running values. Put it
   behind what int8 would store: x, and each affine, convolution or add with its relu. */
SAMBA_API samba_tensor *samba_fake_quantize(samba_tensor *x, const char *name);
/* Zeroes with probability p, scales the rest by 1/(1-p). Argins name__p and name__seed. The same
   name again draws the same mask, and must have the same p. */
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
    SAMBA_ADAM,
    SAMBA_RMSPROP,
    SAMBA_ADAGRAD,
    SAMBA_LION
} samba_optim_kind;

/* SGD as torch: g += weight_decay w; v = momentum v + (1-dampening) g; w -= lr v. AdamW decouples
   the decay; Adam adds it to g. Zero means SambaFlow's default: lr 1e-3, betas (0.9, 0.997), eps
   1e-8, weight_decay 0; SAMBA_ZERO is 0. max_grad_norm > 0 clips the norm of this optimizer's
   gradients alone, as SambaFlow's does; samba_program.max_grad_norm is the norm of all, as in
   PyTorch. A norm that is not finite, or whose square f32 does not hold (beyond 1.8e19), makes the
   parameters NaN: so it is seen; and so does such a gradient in all kinds but SGD. Nothing is
   negative or NaN, betas and alpha are below 1, dampening is 0 ... 1; samba_set checks the same.
   The other kinds have PyTorch's defaults. RMSprop: alpha 0.99, lr 1e-2, eps 1e-8; a variance that
   rounding makes negative is 0 in the centered one, and not NaN. Adagrad: lr 1e-2, eps 1e-10,
   lr_decay and initial_accumulator 0. Lion (Chen et al. 2023): lr 1e-4, betas (0.9, 0.99), decay
   decoupled. */
typedef struct samba_optim {
    samba_optim_kind kind;
    float lr, momentum, dampening, weight_decay, beta1, beta2, eps, max_grad_norm;
    float alpha, lr_decay, initial_accumulator;
    bool nesterov;
    bool amsgrad;                  /* Adam, AdamW: divide by the largest exp_avg_sq so far */
    bool centered;                 /* RMSprop: divide by the variance's root */
    bool momentum_state;           /* SGD, RMSprop: keep what momentum needs though it begins at
                                      0, so that it may be set later */
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
   name__int4. Packed f32 gives the same bits sooner; int8, int4 need k % 32 = 0, else bf16. A NaN
   or an infinity has no integer: compiling such weights as int8 or int4 fails with SAMBA_ERANGE. */
typedef enum samba_weights {
    SAMBA_WEIGHTS_PLAIN = 0,
    SAMBA_WEIGHTS_F32,
    SAMBA_WEIGHTS_BF16,
    SAMBA_WEIGHTS_INT8,
    SAMBA_WEIGHTS_INT4
} samba_weights;

/* CALIBRATE: in f32, notes ranges of what int8 would store. INT8: products with parameters, and
   what follows and is known in int8, with the same bits everywhere; needs ranges, of CALIBRATE's
   runs or of samba_fake_quantize, and has the weights of when it is compiled. See [quantize]. */
typedef enum samba_quantize { SAMBA_NO_QUANTIZE = 0, SAMBA_CALIBRATE, SAMBA_INT8 } samba_quantize;

/* How the schedule is cut into sections: O0 each op, O1 where the working set outgrows sram_bytes,
   O3 (the default) not at all but by type. The ops are the same ones, and so are the bits. */
typedef enum samba_opt_level { SAMBA_O_DEFAULT = 0, SAMBA_O0, SAMBA_O1, SAMBA_O3 } samba_opt_level;

/* spatial: BCKWD, GRADNORM and OPT are one section, which steps parameters when their gradients are
   complete, or while plain SGD has them made, and keeps none (but of microbatches). Same bits. */
typedef enum samba_mapping { SAMBA_MAPPING_SECTION = 0, SAMBA_MAPPING_SPATIAL } samba_mapping;

/* What memory counts. HOST: tensors, those in the file as well. DEVICE32: what samba_runtime_bytes
   will say on a 32-bit device, as samba_measure_device tells it, for which flash holds the file. */
typedef enum samba_target { SAMBA_HOST = 0, SAMBA_DEVICE32, SAMBA_N_TARGETS } samba_target;

/* What to compile. */
typedef struct samba_program {
    const char *pef;    /* file to write; beside it <pef>.log, for people, and <pef>.map,
                           for tools; NULL: none */
    const char *name;   /* internal name; default "samba" */
    samba_tensor *loss; /* an output that is a loss */
    samba_tensor *outputs[SAMBA_MAX_OUTPUTS];
    int32_t loss_indices[SAMBA_MAX_OUTPUTS]; /* into outputs; without loss and indices */
    int32_t n_loss_indices;                  /* every output is a loss, as SambaFlow does */
    samba_optim optim;                       /* one optimizer, or */
    const samba_optim *optims;               /* several */
    int32_t n_optims;
    float max_grad_norm;     /* > 0: all gradients that optimizers use are clipped to one
                                norm, as torch.nn.utils.clip_grad_norm_ does */
    int32_t microbatches;    /* n > 1: batched inputs hold n parts as large as traced;
                                results are those of all rows at once: see [manual] */
    bool accumulate;         /* gradients of several runs of BCKWD add up, until OPT has
                                stepped or ZEROGRAD has cleared them: see [manual]. Runs by
                                section ids list those of ZEROGRAD themselves */
    int32_t replicas;        /* n > 1: this session has one of n parts of the batch, and
                                someone makes means of the gradients: samba/parallel.h */
    bool inference;          /* forward only */
    samba_weights weights;   /* with inference: default plain */
    samba_quantize quantize; /* with inference: int8 arithmetic */
    /* Asked of what products and lookups make: shall they be int8, or read packed weights? NULL:
       all. It may be asked more than once, and gives one answer. */
    bool (*quantizes)(const samba_tensor *y, void *user);
    void *quantizes_user;
    /* With weights: gives rows first ... first+n-1 of a parameter (N,K) that is packed, which then
       takes no memory of its own: a file is packed while it is read. False, after samba_fail, ends
       the compilation. NULL: the values that parameters have. */
    bool (*weight_rows)(const samba_tensor *w, int32_t first, int32_t n, float *rows, void *user);
    void *weight_rows_user;
    bool compile_only; /* write the PEF, do not load it */
    samba_opt_level level;
    samba_mapping mapping;
    int64_t sram_bytes;   /* working set of a section; default 1 MiB */
    int64_t mem_limit[4]; /* by samba_mem: bytes of DDR (parameters, state), HBM (what
                             passes between ops), HOST (inputs, outputs), or of what
                             has this mem_type; 0: no limit */
    int64_t memory;       /* bytes of tensors at most: parts of the forward pass are
                             computed again, as far as that takes; 0: no limit */
    samba_target target;  /* DEVICE32: memory is all the RAM of a small device */
} samba_program;

/* Compiles what was traced, writes the PEF, loads it. What a program of the session has had before
   keeps its value: weights, buffers, state; but hyperparameters begin with what samba_optim and
   samba_dropout say, whatever samba_set or samba_restore made of them. Gradients and steps are ops
   of the program, not of the session: that has what was traced, however often it compiles. */
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

/* Runs the sections of these types in schedule order; 0: all. Types with BCKWD and OPT are a whole
   step, of which ZEROGRAD, REDUCE and GRADNORM are, too. An error: BCKWD, if what FWD made is gone,
   or other values are there than FWD read: inputs, parameters, state such as the counter of
   dropout, rates, modes; OPT without gradients, or by those of an earlier FWD than that of the run;
   OPT that clips, without GRADNORM of its gradients. A warning: OPT that steps again by the same
   gradients, a parameter that is written between BCKWD and OPT, and BCKWD more than once before OPT
   where gradients do not add up. */
SAMBA_API bool samba_run(samba_session *s, unsigned types);
/* The same for one graph of a program that has several; "" is what was traced before the first
   samba_begin_graph. */
SAMBA_API bool samba_run_graph(samba_session *s, const char *graph, unsigned types);
/* Runs FWD as a test of a program that trains, in one call: dropout rates act as 0, batch_norm
   takes its running values, which stay, as do ranges of fake_quantize and the counter of dropout.
   So the modes of the session, parameters, gradients and what the next steps compute are as without
   it; only buffers that the model itself writes, such as a cache, go on. What torch does by
   model.eval(), a forward pass, model.train(). Of several graphs: samba_run_desc with graph, eval
   and running_stats. BCKWD needs a FWD of its own afterwards. */
SAMBA_API bool samba_eval(samba_session *s);

/* While values are checked, the first op that makes a NaN or an infinity ends the run with
   SAMBA_ERANGE, and no later section changes a parameter. Precisely: an op whose output has a NaN,
   though no input has one; or an infinity, though no input has either. Infinities that come with
   inputs, constants (samba_full, attributes of ops), parameters or buffers, such as those of masks,
   are taken as meant, and so are those that an op makes of them; a NaN made of them is not. A NaN
   that comes so is reported of the tensor that holds it, by the first op that passes it on, or that
   makes a number or a truth of it: a comparison (but x != x, which asks for NaN), argmax, pow, a
   cast to integers, the condition of where. Integers are no place for infinities either. What
   slice, gather, where or a mask leave out is not used, and is no finding. An optimizer's step that
   overflows is found, too, but has then written. Costs 2 to 3 % of a training step of GPT-2;
   nothing while it is off. Ops that compute at once are not checked. */
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
    bool vanishes;         /* the op reads it, and makes something finite of it */
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
       steps. With microbatches or samba_program.accumulate { SAMBA_FWD | SAMBA_BCKWD, SAMBA_FWD |
       SAMBA_BCKWD, SAMBA_OPT } adds two gradients up, which begin at zero, as do those after an
       OPT; in other programs the last one alone would count, and that is refused. */
    unsigned types[SAMBA_MAX_RUNS];
    const int32_t *section_ids; /* instead: these sections, in this order */
    int32_t n_section_ids;
    const samba_feed *feeds; /* values that are sent first */
    int32_t n_feeds;
    const samba_value *hyperparams; /* set first; they persist */
    int32_t n_hyperparams;
    samba_tensor *const *outputs; /* their host copies are made afterwards: samba_cpu. Of the
                                     program: its outputs, parameters, state, gradients; of what
                                     is batched the rows of all microbatches */
    int32_t n_outputs;
    const char *graph;  /* which, if the program has several */
    bool eval;          /* dropout rates act as 0; nothing else */
    bool running_stats; /* as samba_use_running_stats, for this run */
    bool own_order;     /* section_ids: the caller sees to it that sections find
                           what others make, and OPT the norm of its gradients;
                           less than what microbatches repeat runs for the first */
    bool check_only;    /* would it be refused? Nothing is sent, set or run */
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
/* Of buffers, and of what optimizers keep. */
SAMBA_API int32_t samba_buffer_names(samba_session *s, const char **names, int32_t cap);
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
/* true: batch_norm normalizes by its running values, which stay, as in a program that infers, and
   fake_quantize keeps its range; else a test of a training program takes the statistics of its
   batch, and counts them in. torch's model.eval() is both. samba_modes tells what was said last. */
SAMBA_API bool samba_use_running_stats(samba_session *s, bool use);
SAMBA_API void samba_modes(const samba_session *s, bool *train, bool *running_stats);

/* ---- Values ---------------------------------------------------------------------------------- */
/* Copies data to the tensor; an error if it has other than samba_bytes(t) bytes. samba_write trusts
   the caller that it has as many. Refused: a hyperparameter out of its range; and a parameter that
   the loaded program has packed or as int8, unless the session traces for the next program. */
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
   those that were edited since. BY_OPTIM: state of optimizers, and the counter of dropout. */
enum {
    SAMBA_KEPT_PARAMETERS = 1,
    SAMBA_KEPT_BUFFERS = 2,
    SAMBA_KEPT_BY_OPTIM = 4,
    SAMBA_KEPT = 7,
    SAMBA_KEPT_HYPERPARAMS = 8, /* lr, dropout's p and seed ...: for samba_restore_opts alone */
    SAMBA_KEPT_ALL = 15
};

SAMBA_API bool samba_fetch_state(samba_session *s, unsigned kinds);
SAMBA_API bool samba_send_state(samba_session *s, unsigned kinds);
/* The name of t is unknown from now on, and not free for another tensor; the handle works on. To
   make it known again: samba_from_data and its kin, of an input of the loaded program. */
SAMBA_API bool samba_forget_name(samba_tensor *t);

/* A checkpoint is the PEF with its state filled in; the old file stays until the new one is safe.
   restore takes weights, and buffers, optimizer state, counters and hyperparameters as far as both
   have them, so that training goes on where it stopped. A warning tells what that replaces, such as
   the lr of samba_optim by the file's: to train on with the program's own, see samba_restore_opts.
*/
SAMBA_API bool samba_save(samba_session *s, const char *path);

/* samba_save refuses parameters that are not finite, and other state that is NaN; this does not if
   told so. samba_restore takes them, with a warning. */
typedef struct samba_save_opts {
    bool allow_nonfinite;
} samba_save_opts;

SAMBA_API bool samba_save_with(samba_session *s, const char *path, const samba_save_opts *opts);
SAMBA_API bool samba_restore(samba_session *s, const char *path);

/* A parameter that the file lacks is an error, which names it; one that only the file has is a
   warning. torch's strict = False is partial, strict = True exact. Another shape is an error. */
typedef struct samba_restore_opts {
    bool partial;   /* parameters that the file lacks keep their values */
    bool exact;     /* parameters that only the file has are an error */
    unsigned kinds; /* SAMBA_KEPT_...: what is taken, without a word about what that replaces. To
                       tune what another training has made, with lr, p and optimizer of one's own:
                       PARAMETERS | BUFFERS. To go on with another lr: SAMBA_KEPT. 0: as
                       SAMBA_KEPT_ALL, and the warning */
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
/* samba.h computes in one mode of the processor, whatever that of the caller is (see [manual]). The
   first sets it in this thread and returns the caller's, the second puts that back, and its
   exception flags: for arithmetic of your own whose bits are to be the same everywhere. */
SAMBA_API uint64_t samba_enter_float_mode(void);
SAMBA_API void samba_leave_float_mode(uint64_t callers);

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
/* Tells fn each node of the loaded program before and after it runs, with the values that it reads
   and makes as they are then: later temporaries hold others, as they share memory. node counts as
   samba_pef_node_at; args is for reading, until fn returns. Views, which run nothing, are told of,
   too. Meanwhile no ops are fused: the same bits, slower. fn must not use the session. NULL: no
   more. */
typedef void (*samba_node_fn)(int32_t node, const char *name, const samba_op *op,
                              const samba_args *args, bool begins, void *user);
SAMBA_API void samba_on_node(samba_session *s, samba_node_fn fn, void *user);

