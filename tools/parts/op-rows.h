/* ==== [op-rows] =============================================================================== */
/* ---- Kernels of all ops, for each instruction set ---- */
#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
/* An op of a family: the function that they share, and which op it is. */
#define SAMBA__FAMILY_KERNEL(wire, gradient, spread, name, class, attributes, cost, flags, rule, \
                             work, run, which) \
    SAMBA__FN void SAMBA__OF_SET(samba__##name##_kernel)(const samba_args *a) \
    { \
        run(a, which); \
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
#define SAMBA__FAMILY_RULES(wire, gradient, spread, name, class, attributes, cost, flags, rule, \
                            work, run, which) \
    SAMBA__RULES(name, rule, work, which)
SAMBA__OPS(SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__FAMILY_RULES)
#if defined(SAMBA_RUNTIME_ONLY)
#define SAMBA__HOST_COLUMN(f) NULL
#else
#define SAMBA__HOST_COLUMN(f) f
#endif

/* Names of ops are for sentences. */
#if defined(SAMBA_NO_TEXTS)
#define SAMBA__NAME_COLUMN(name) ""
#else
#define SAMBA__NAME_COLUMN(name) #name
#endif

/* Shape rules are part of the proof. */
#if defined(SAMBA_TRUSTED_PEF)
#define SAMBA__SHAPE_COLUMN(f) NULL
#else
#define SAMBA__SHAPE_COLUMN(f) f
#endif

/* The gradient of ops that let none through. */
SAMBA__FN void samba__zero_vjp(samba_vjp *g)
{
    (void)g;
}

/* The argument kernel_ ends with _, as the name of a kernel that is compiled for several sets is
   itself a macro. */
/* clang-format off */
#define SAMBA__ROW(wire, gradient, name, flags, cost, shape, work, kernel, attributes) \
    SAMBA__IF(SAMBA__HAS(name), { \
      SAMBA__NAME_COLUMN(name), wire, flags, NULL, cost, \
      SAMBA__SHAPE_COLUMN(shape), work, kernel, \
      SAMBA__HOST_COLUMN(SAMBA__GRADIENT_##gradient(name)), \
      SAMBA__HOST_COLUMN("" attributes(SAMBA__ATTRIBUTE_TEXT)) },)
/* clang-format on */
#define SAMBA__ROW_MAP(wire, gradient, spread, name, arity, value, cost, attributes, type) \
    SAMBA__ROW(wire, gradient, name, SAMBA_OP_INPLACE, cost, samba__##name##_shape, \
               samba__map_work, samba__##name##_kernel_portable, SAMBA__ATTRIBUTES_##attributes)
#define SAMBA__ROW_OP(wire, gradient, spread, name, class, attributes, cost, flags, shape, work, \
                      kernel) \
    SAMBA__ROW(wire, gradient, name, SAMBA_OP_##flags, cost, shape, work, kernel, \
               SAMBA__ATTRIBUTES_##attributes)
#define SAMBA__ROW_FAST(wire, gradient, spread, name, class, attributes, cost, flags, shape, work, \
                        kernel) \
    SAMBA__ROW(wire, gradient, name, SAMBA_OP_##flags, cost, shape, work, kernel##_portable, \
               SAMBA__ATTRIBUTES_##attributes)
#define SAMBA__ROW_FAMILY(wire, gradient, spread, name, class, attributes, cost, flags, rule, \
                          work, run, which) \
    SAMBA__ROW(wire, gradient, name, SAMBA_OP_##flags, cost, samba__##name##_shape, \
               samba__##name##_work, samba__##name##_kernel_portable, \
               SAMBA__ATTRIBUTES_##attributes)
static const samba_op samba__op_table[SAMBA__N_OPS] = { SAMBA__OPS(
    SAMBA__ROW_MAP, SAMBA__ROW_MAP, SAMBA__ROW_OP, SAMBA__ROW_FAST, SAMBA__ROW_FAMILY) };

/* Is op one of samba's own? Otherwise the program registered it, or it is not known here. */
SAMBA__FN bool samba__is_builtin(const samba_op *op)
{
    return op >= samba__op_table && op < samba__op_table + SAMBA__N_OPS;
}

/* The kernels of each op, by the number of an instruction set. */
typedef void (*samba__kernel_fn)(const samba_args *args);

/* clang-format off */
#define SAMBA__OF_VECTORS(kernel_, set, vectors, eights, ...) kernel_##vectors,
#define SAMBA__OF_EIGHTS(kernel_, set, vectors, eights, ...) kernel_##eights,
#define SAMBA__OF_ALL(kernel, ...) kernel,
#define SAMBA__KERNELS(name, which, kernel) \
    SAMBA__IF(SAMBA__HAS(name), { SAMBA__EACH_SET(which, kernel) },)
/* clang-format on */
#define SAMBA__KERNELS_MAP(wire, gradient, spread, name, ...) \
    SAMBA__KERNELS(name, SAMBA__OF_EIGHTS, samba__##name##_kernel_)
#define SAMBA__KERNELS_CURVE(wire, gradient, spread, name, ...) \
    SAMBA__KERNELS(name, SAMBA__OF_VECTORS, samba__##name##_kernel_)
#define SAMBA__KERNELS_OP(wire, gradient, spread, name, class, attributes, cost, flags, shape, \
                          work, kernel) \
    SAMBA__KERNELS(name, SAMBA__OF_ALL, kernel)
#define SAMBA__KERNELS_FAST(wire, gradient, spread, name, class, attributes, cost, flags, shape, \
                            work, kernel) \
    SAMBA__KERNELS(name, SAMBA__OF_EIGHTS, kernel##_)
static const samba__kernel_fn samba__op_kernels[SAMBA__N_OPS][SAMBA__N_SETS]
    = { SAMBA__OPS(SAMBA__KERNELS_MAP, SAMBA__KERNELS_CURVE, SAMBA__KERNELS_OP, SAMBA__KERNELS_FAST,
                   SAMBA__KERNELS_CURVE) };

/* The kernel of op for an instruction set; an op of the program has one for all. */
SAMBA__FN samba__kernel_fn samba__kernel_of(const samba_op *op, int32_t isa)
{
    if (SAMBA__N_SETS == 1 || (SAMBA__OWN_OPS && !samba__is_builtin(op))) return op->kernel;
    return samba__op_kernels[op - samba__op_table][isa];
}

/* ---- The table of instruction sets ---- */
/* Whether this processor has a set. No function of a set may run before that is known, so these
   are compiled for none. */
#define SAMBA__SET_WORKS(x, set, vectors, eights, loops, dot4, tiles, works) \
    SAMBA__FN bool samba__works_##set(void) \
    { \
        return works; \
    }
SAMBA__EACH_SET(SAMBA__SET_WORKS, NONE)

/* Loops of the host half. */
#define SAMBA__LOOPS_OF(set) \
    SAMBA__FN bool samba__has_nonfinite_##set(const void *x, int64_t n, samba_dtype type); \
    SAMBA__FN void samba__extremes_##set(const uint32_t *x, int64_t n, int32_t span[2]); \
    SAMBA__FN void samba__fill_##set(const struct samba__filling *f, int64_t begin, int64_t end);
#if !defined(SAMBA_RUNTIME_ONLY)
SAMBA__LOOPS_OF(portable)
#if SAMBA__X86
SAMBA__LOOPS_OF(avx2)
#endif
#endif

/* Without the ops that run it, a column is empty, so that a linker finds its functions unused. */
enum {
    SAMBA__HAS_POOLS = SAMBA__HAS(max_pool2d) || SAMBA__HAS(max_pool2d_backward)
        || SAMBA__HAS(avg_pool2d) || SAMBA__HAS(avg_pool2d_backward),
    SAMBA__HAS_ATTENTION
    = SAMBA__HAS(scaled_dot_product_attention) || SAMBA__HAS(scaled_dot_product_attention_backward),
    SAMBA__HAS_INT8 = SAMBA__HAS(affine_int8) || SAMBA__HAS(convolution_int8),
    SAMBA__HAS_INTEGERS
    = SAMBA__HAS(matmul_integer) || SAMBA__HAS(affine_integer) || SAMBA__HAS(convolution_integer)
};

#define SAMBA__TILE_COLUMN_none NULL
#define SAMBA__TILE_COLUMN_amx &samba__tiles_amx
#define SAMBA__TILE_COLUMN_twin &samba__tiles_twin
#define SAMBA__TILE_COLUMN_twin_avx512 &samba__tiles_twin_avx512
#define SAMBA__SET_ROW(x, set, vectors, eights, loops, dot4, tiles, works) \
    { #set, \
      samba__works_##set, \
      &samba__gemm_kernels_##vectors, \
      SAMBA__HAS_POOLS ? &samba__pool_kernels_##eights : NULL, \
      SAMBA__HAS_ATTENTION ? &samba__attention_kernels_##vectors : NULL, \
      SAMBA__TILE_COLUMN_##tiles, \
      SAMBA__HAS_INT8 ? samba__dot4_##dot4 : NULL, \
      SAMBA__HAS_INTEGERS ? samba__integer_panel_##dot4 : NULL, \
      SAMBA__HOST_COLUMN(samba__has_nonfinite_##loops), \
      SAMBA__HOST_COLUMN(samba__extremes_##loops), \
      SAMBA__HOST_COLUMN(samba__fill_##loops) },
static const samba__set samba__sets[SAMBA__N_SETS] = { SAMBA__EACH_SET(SAMBA__SET_ROW, NONE) };

SAMBA__FN const samba__set *samba__set_of(int32_t isa)
{
    SAMBA_ASSERT(isa >= 0 && isa < SAMBA__N_SETS);
    return &samba__sets[SAMBA__N_SETS == 1 ? 0 : isa];
}

/* The number of the last set that works here. One with a matrix unit is of use for products in bf16
   and of bytes alone, and only for them the system is asked whether it may be used. */
SAMBA__FN int32_t samba__best_isa(bool in_tiles)
{
    int32_t isa = SAMBA__N_SETS - 1;
#if SAMBA__X86
    __builtin_cpu_init();
#endif
    while ((samba__sets[isa].tiles && !in_tiles) || !samba__sets[isa].works())
        isa--;
    return isa;
}

/* Wire numbers from here on belong to the ops of programs. */
enum { SAMBA__FIRST_USER_WIRE = 0x8000 };

/* clang-format off */
#define SAMBA__CLASS_MAP(wire, gradient, spread, name, ...) \
    SAMBA__IF(SAMBA__HAS(name), SAMBA__IS_ELEMENTWISE, )
#define SAMBA__CLASS_OP(wire, gradient, spread, name, class, ...) \
    SAMBA__IF(SAMBA__HAS(name), SAMBA__IS_##class, )

/* clang-format on */

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

/* Is op the built-in one of this number? Never, if that was left out. */
SAMBA__FN bool samba__is(const samba_op *op, int32_t number)
{
    return number < SAMBA__N_OPS && op == samba__op_table + number;
}

#if defined(SAMBA_SELECT_OPS) && !defined(SAMBA_NO_TEXTS)
/* The name of the built-in op of this wire number, if it was left out; else NULL. */
SAMBA__FN const char *samba__left_out(uint32_t wire)
{
    /* clang-format off */
#define X(number, gradient, spread, name, ...) SAMBA__IF_NOT(SAMBA__HAS(name), number, )
    static const uint16_t wires[] = { SAMBA__OPS(X, X, X, X, X) 0 };
#undef X
#define X(number, gradient, spread, name, ...) SAMBA__IF_NOT(SAMBA__HAS(name), #name "\0")
    static const char names[] = SAMBA__OPS(X, X, X, X, X) "";
#undef X
    /* clang-format on */

    const char *name = names;
    for (int32_t i = 0; wires[i]; i++) {
        if (wires[i] == wire) return name;
        while (*name++) {
        }
    }
    return NULL;
}
#else
SAMBA__FN const char *samba__left_out(uint32_t wire)
{
    (void)wire;
    return NULL;
}
#endif

/* Types that are only stored are read by ops that move values, by cast, and by users' own ops. */
SAMBA__FN bool samba__reads_types(const samba_op *op, samba_call *c)
{
    if (!samba__is_builtin(op) || samba__class_of(op) == SAMBA__IS_MOVES) return true;
    for (int32_t i = 0; i < c->n_in; i++) {
        if (samba__has(c, i) && samba__is_stored_only(c->in[i].dtype))
            return samba_refuse(
                c, SAMBA_EDTYPE,
                "input %d is %T, with which nothing is computed; use samba_cast: to i32 for ids, to f32 for numbers",
                i, (int)c->in[i].dtype);
    }
    return true;
}

SAMBA__NOINLINE bool samba__match_call(const char *signature, samba_call *c)
{
    samba__binding b;
    return samba__match(signature, c, &b);
}

/* Outputs and work of a call, from the op's own rules or from its signature. The result is checked,
   so that a careless shape rule of a user's op cannot make a tensor that does not exist. */
SAMBA__FN bool samba__infer(const samba_op *op, samba_call *c)
{
    c->code = SAMBA_OK;
    c->n_out = 0;
    memset(c->out, 0, sizeof c->out);

    if (!samba__reads_types(op, c)) return false;
    bool fits = op->shape ? op->shape(c) : samba__match_call(op->signature, c);
    if (!fits && c->code != SAMBA_OK) return false; /* the rule told why */
    if (!fits) return samba_refuse(c, SAMBA_EARG, "the op's shape rule refuses this call");

    if (c->n_out < 1 || c->n_out > SAMBA_MAX_OUT)
        return samba_refuse(c, SAMBA_EOP, "the op's shape rule makes %d outputs", c->n_out);
    for (int32_t i = 0; i < c->n_out; i++) {
        if (!samba__sound_shape(&c->out[i].shape) || (unsigned)c->out[i].dtype >= SAMBA_N_DTYPES)
            return samba_refuse(c, SAMBA_ESHAPE,
                                "output %d would be %S, which is empty or too large", i,
                                &c->out[i].shape);
    }
    return true;
}

/* The elements of '*' in an op's signature; 1 if the op has a shape rule that does not keep to it.
   The call is as it was: a copy of it would be a tenth of a device's stack. */
SAMBA__NOINLINE int64_t samba__star_of(const samba_op *op, samba_call *c)
{
    samba__binding b;
    samba_code code = c->code;
    char *why = c->why;
    c->why = NULL;
    bool fits = samba__match_inputs(op->signature, c, &b) != NULL;
    c->code = code;
    c->why = why;
    return fits ? samba_count(&b.star) : 1;
}

SAMBA__FN void samba__measure(const samba_op *op, samba_call *c, samba_work *w)
{
    memset(w, 0, sizeof *w);
    w->n_phases = 1;

    if (!samba__is_builtin(op))
        w->local = SAMBA__DEVICE_HALF ? SAMBA_LOCAL_BYTES : SAMBA__SMALL_LOCAL;
    if (op->work) {
        op->work(w, c);
    } else if (SAMBA__OWN_OPS && op->signature) {
        w->units[0] = samba__star_of(op, c);
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

