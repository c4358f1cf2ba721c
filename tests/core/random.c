// Random programs run in many ways: levels, mappings, threads, SIMD, limits of memory, reloaded,
// resumed, with microbatches, in replicas of every mode, eager. The values must be the same bits,
// but for sums in another order. A failing program is shrunk and printed as C.
//     random [N [FIRST]] [-v] [-p]      N graphs (300) from seed FIRST (0), and a tenth as many that
//                                       GraphAMP rounds; -v: a line for each; -p: as C
//     random N [FIRST] --graphamp mp1   N graphs under that preset alone; mp4 is the other one
// run: threads
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#define SAMBA_PARALLEL_IMPLEMENTATION
#include "tools/include/samba/parallel.h"
#include "tests/lib/test.h"
#include <sys/stat.h>
#include <unistd.h>

static void count_ops(samba_session *s);
#define RANDOM_COMPILED(s) count_ops(s)
#include "tests/lib/random_run.h"
#include "tests/lib/optimizers.h"

// ---- A description of a program: records, each of which makes one value ----

enum { MOST_IN = 6, MOST_ATTR = 24, MOST_OUT = 8, MOST_LOSSES = 3, ROWS = -77 };

typedef struct record {
    int op, n_in, in[MOST_IN]; // values that it reads; -1: absent
    int id;                    // of its name: records with one id share what it names
    int a[MOST_ATTR];
    float f;
} record;

typedef struct description {
    uint32_t seed;
    record r[MOST_VALUES];
    int n;
    int output[MOST_OUT], n_outputs, loss[MOST_LOSSES], n_losses;
    int n_optims, kind[MOST_OPTIMS], momentum, nesterov, decays, clips;
    int graphamp, param_dtype, weights, microbatches, rows;
    bool inference;
    bool clean; // rows of a batch do not meet: microbatches change no row
    way w;
} description;

// ---- The ops: how one is proposed, and what is called. In the expression x y z u p q are inputs,
// a[i] are integers, f is a number, SHAPE(i) is a shape from a[i] on, name is a name. The
// text of the same expression is what is printed. ----

typedef struct gen gen;
#define OPS(X) \
    X(input, leaf, leaf(n, name, (samba_dtype)a[0], SHAPE(3), a[1], a[2])) \
    X(ids, ids, leaf(n, name, SAMBA_I32, SHAPE(3), a[1], a[2])) \
    X(param, param, param(n, name, SHAPE(3), f, a[1])) \
    X(buffer, buffer, buffer(n, name, SHAPE(3), f)) \
    X(full, full, samba_full(n->s, SHAPE(0), f)) \
    X(number, number, samba_number(n->s, f)) \
    X(arange, number, samba_arange(n->s, 5, f, 0.5f)) \
    X(neg, unary, samba_neg(x)) \
    X(exp, unary, samba_exp(x)) \
    X(log, unary, samba_log(x)) \
    X(sqrt, unary, samba_sqrt(x)) \
    X(rsqrt, unary, samba_rsqrt(x)) \
    X(abs, unary, samba_abs(x)) \
    X(relu, unary, samba_relu(x)) \
    X(sigmoid, unary, samba_sigmoid(x)) \
    X(tanh, unary, samba_tanh(x)) \
    X(gelu, unary, samba_gelu(x)) \
    X(gelu_tanh, unary, samba_gelu_tanh(x)) \
    X(silu, unary, samba_silu(x)) \
    X(softplus, unary, samba_softplus(x)) \
    X(sin, unary, samba_sin(x)) \
    X(cos, unary, samba_cos(x)) \
    X(erf, unary, samba_erf(x)) \
    X(log1p, unary, samba_log1p(x)) \
    X(expm1, unary, samba_expm1(x)) \
    X(floor, unary, samba_floor(x)) \
    X(ceil, unary, samba_ceil(x)) \
    X(round, unary, samba_round(x)) \
    X(sign, unary, samba_sign(x)) \
    X(detach, unary, samba_detach(x)) \
    X(leaky_relu, unary, samba_leaky_relu(x, f)) \
    X(scale, unary, samba_scale(x, f)) \
    X(shift, unary, samba_shift(x, f)) \
    X(cast, cast, samba_cast(x, (samba_dtype)a[0])) \
    X(add, binary, samba_add(x, y)) \
    X(sub, binary, samba_sub(x, y)) \
    X(mul, binary, samba_mul(x, y)) \
    X(div, binary, samba_div(x, y)) \
    X(pow, binary, samba_pow(samba_shift(samba_abs(x), 0.25f), y)) \
    X(minimum, binary, samba_minimum(x, y)) \
    X(maximum, binary, samba_maximum(x, y)) \
    X(eq, compare, samba_eq(x, y)) \
    X(ne, compare, samba_ne(x, y)) \
    X(lt, compare, samba_lt(x, y)) \
    X(le, compare, samba_le(x, y)) \
    X(gt, compare, samba_gt(x, y)) \
    X(ge, compare, samba_ge(x, y)) \
    X(where, where, samba_where(samba_gt(x, y), x, z)) \
    X(where_mask, where_mask, samba_where(x, y, z)) \
    X(sum, reduce, samba_sum(x, SHAPE(1), a[0])) \
    X(mean, reduce, samba_mean(x, SHAPE(1), a[0])) \
    X(max, reduce, samba_max(x, SHAPE(1), a[0])) \
    X(argmax, axis, samba_argmax(x, a[0], a[1])) \
    X(argsort, axis, samba_argsort(x, a[0], 0, a[1])) \
    X(sort, axis, samba_sort(x, a[0], a[1], NULL)) \
    X(cumsum, axis, samba_cumsum(x, a[0])) \
    X(prod, axis, samba_prod(x, a[0], a[1])) \
    X(matmul, matmul, samba_matmul(x, y)) \
    X(matmul_transposed, matmul_transposed, samba_matmul_transposed(x, a[0], y, a[1])) \
    X(affine, affine, samba_affine(x, y, z)) \
    X(reshape, reshape, samba_reshape(x, SHAPE(0))) \
    X(flatten, axis, samba_flatten(x, a[0])) \
    X(expand, expand, samba_expand(x, SHAPE(0))) \
    X(squeeze, squeeze, samba_squeeze(x, a[0])) \
    X(unsqueeze, axis, samba_unsqueeze(x, a[0])) \
    X(transpose, transpose, samba_transpose(x, a[0], a[1])) \
    X(permute, permute, samba_permute(x, SHAPE(0))) \
    X(slice, slice, samba_slice(x, a[0], a[1], a[2], a[3])) \
    X(pad, pad, samba_pad(x, SHAPE(0), SHAPE(9), f)) \
    X(split, split, part_of(x, a[0], a[1], a[2])) \
    X(cat, cat, joined(x, y, z, a[0], false)) \
    X(stack, stack, joined(x, y, z, a[0], true)) \
    X(gather, gather, samba_gather(x, a[0], y)) \
    X(write_rows, write_rows, samba_write_rows(x, y, z)) \
    X(softmax, axis, samba_softmax(x, a[0])) \
    X(log_softmax, axis, samba_log_softmax(x, a[0])) \
    X(layer_norm, norm, samba_layer_normalize(x, y, z, 1e-5f)) \
    X(rms_norm, rms_norm, samba_rms_normalize(x, y, 1e-5f)) \
    X(batch_norm, batch_norm, samba_batch_normalize(x, y, z, u, p, 0.25f, 1e-5f)) \
    X(cross_entropy, labels, \
      samba_cross_entropy_with( \
          x, y, &(samba_loss_opts){ .reduction = (samba_reduction)a[0], .label_smoothing = f })) \
    X(nll, labels, samba_nll(x, y, &(samba_loss_opts){ .reduction = (samba_reduction)a[0] })) \
    X(mse, mse, samba_mse(x, y, (samba_reduction)a[0])) \
    X(convolution, convolution, \
      samba_convolution( \
          x, y, z, &(samba_conv_opts){ { a[0], a[1] }, { a[2], a[3] }, { a[4], a[5] }, a[6] })) \
    X(max_pool2d, pool, \
      samba_max_pool2d( \
          x, &(samba_pool_opts){ { a[0], a[1] }, { a[2], a[3] }, { a[4], a[5] }, a[6], a[7] })) \
    X(avg_pool2d, pool, \
      samba_avg_pool2d( \
          x, &(samba_pool_opts){ { a[0], a[1] }, { a[2], a[3] }, { a[4], a[5] }, a[6], a[7] })) \
    X(adaptive_avg_pool2d, pool, samba_adaptive_avg_pool2d(x, a[0], a[1])) \
    X(lookup, lookup, samba_lookup(x, y)) \
    X(attention, attention, \
      samba_scaled_dot_product_attention(x, y, z, u, &(samba_attention_opts){ a[0], f })) \
    X(attention_dropout, attention, \
      samba_attention_dropout((samba_tensor *const[3]){ x, y, z }, u, \
                              &(samba_attention_opts){ a[0], f }, name, a[1] * 0.5f)) \
    X(dropout, dropout, samba_dropout(x, name, f)) \
    X(noise, dropout, samba_add(x, samba_scale(samba_randn_like(x, name), f))) \
    X(linear, layer, samba_linear(x, name, a[0])) \
    X(linear_no_bias, layer, samba_linear_no_bias(x, name, a[0])) \
    X(layernorm, layer, samba_layernorm(x, name)) \
    X(rmsnorm, layer, samba_rmsnorm(x, name)) \
    X(batchnorm, layer_nchw, samba_batchnorm(x, name)) \
    X(conv2d, layer_nchw, \
      samba_conv2d(x, name, 2 * a[0], a[1], &(samba_conv_opts){ .padding = { a[2], a[2] } })) \
    X(conv1d, layer_ncl, samba_conv1d(x, name, a[0], a[1], NULL)) \
    X(embedding, embedding, samba_embedding(x, name, a[0], a[1])) \
    X(gradient, gradient, gradient(x, y)) \
    X(total, total, samba_sum(x, SAMBA_ALL_AXES, false)) \
    X(average, total, samba_mean(x, SAMBA_ALL_AXES, false))

enum {

#define X(op, propose, ...) OP_##op,
    OPS(X)
#undef X
        N_OPS
};

static samba_shape shape_of(const int *a, int rows)
{
    samba_shape shape = samba_scalar_shape();
    shape.ndim = a[0];
    for (int i = 0; i < a[0]; i++)
        shape.dim[i] = a[1 + i] == ROWS ? rows : a[1 + i];
    return shape;
}

#define SHAPE(i) shape_of(a + i, n->rows)
#define X(op, propose, ...) \
    static samba_tensor *build_##op(net *n, const record *r, const char *name) \
    { \
        samba_tensor *v[MOST_IN] = { NULL, NULL, NULL, NULL, NULL, NULL }; \
        const int *a = r->a; \
        float f = r->f; \
        for (int i = 0; i < r->n_in; i++) { \
            v[i] = r->in[i] < 0 ? NULL : n->v[r->in[i]]; \
            if (r->in[i] >= 0 && !v[i]) return NULL; \
        } \
        samba_tensor *x = v[0], *y = v[1], *z = v[2], *u = v[3], *p = v[4]; \
        (void)a, (void)f, (void)name, (void)x, (void)y, (void)z, (void)u, (void)p; \
        return __VA_ARGS__; \
    }
OPS(X)
#undef X
#undef SHAPE

typedef struct op_row {
    const char *name, *text;
    samba_tensor *(*build)(net *n, const record *r, const char *name);
} op_row;

static const op_row ops[N_OPS] = {
#define X(op, propose, ...) { #op, #__VA_ARGS__, build_##op },
    OPS(X)
#undef X
};

static samba_tensor *build_record(net *n, const record *r)
{
    char name[64];
    snprintf(name, sizeof name, "%s%d", ops[r->op].name, r->id);
    return ops[r->op].build(n, r, name);
}

// ---- The settings of a program ----

static void begin_settings(const description *d, net *n)
{
    if (d->inference && n->eager) {
        samba_set_train(n->s, false);
        samba_use_running_stats(n->s, true);
    }
    samba_set_graphamp(n->s, n->eager ? SAMBA_MP0 : (samba_graphamp)d->graphamp);
    if (d->param_dtype) samba_set_param_dtype(n->s, (samba_dtype)d->param_dtype);
}

static void set_optimizers(const description *d, net *n)
{
    samba_program *p = &n->program;
    for (int o = 0; o < d->n_optims; o++) {
        samba_optim *optim = &n->optim[o];
        *optim = optimizer_of_row(d->kind[o]);
        optim->lr = 0.0625f;
        if (optimizer_may_have_momentum(d->kind[o]) && d->momentum) optim->momentum = 0.5f;
        if (optim->kind == SAMBA_SGD && d->momentum) optim->nesterov = d->nesterov;
        if (d->decays) optim->weight_decay = 0.125f;
        if (d->clips == 1 + o || d->clips == 3) optim->max_grad_norm = 0.5f;
        if (o == 0 || d->n_optims == 1) continue;
        optim->params = n->listed[o];
        for (int i = 0; i < n->n_params; i += 2)
            if (!n->param[i]->frozen) n->listed[o][optim->n_params++] = n->param[i];
    }
    p->optims = n->optim;
    p->n_optims = d->n_optims;
    if (d->clips == 4 && d->n_optims) p->max_grad_norm = 0.5f;
}

static void end_settings(const description *d, net *n)
{
    samba_program *p = &n->program;
    for (int i = 0; i < d->n_outputs; i++)
        p->outputs[i] = n->v[d->output[i]];
    p->inference = d->inference;
    p->weights = (samba_weights)d->weights;
    if (d->inference) return;
    p->loss = n->v[d->loss[0]];
    for (int i = 1; i < d->n_losses; i++) { // the others are outputs, too
        p->outputs[d->n_outputs + i - 1] = n->v[d->loss[i]];
        p->loss_indices[p->n_loss_indices++] = d->n_outputs + i - 1;
    }
    set_optimizers(d, n);
}

static const description *building;

static void build_description(net *n)
{
    const description *d = building;
    begin_settings(d, n);
    for (int i = 0; i < d->n && samba_ok(n->s); i++)
        n->v[i] = build_record(n, &d->r[i]);
    end_settings(d, n);
}

// ---- Proposals: the values so far are computed at once, so that shapes and sizes are known ----

struct gen {
    description *d;
    net n[2]; // clean graphs, in a second size of the batch
    bool batched[MOST_VALUES], depends[MOST_VALUES];
    uint32_t state;
    int ids;      // names given out
    record again; // what reads a state before it is written: once more then
    bool has_again;
};

static uint32_t below(gen *g, uint32_t n)
{
    g->state = g->state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(g->state >> 8) * n >> 24);
}

static bool chance(gen *g, uint32_t percent)
{
    return below(g, 100) < percent;
}

static int between(gen *g, int low, int high)
{
    return low + (int)below(g, (uint32_t)(high - low + 1));
}

static const samba_tensor *value(const gen *g, int i)
{
    return g->n[0].v[i];
}

static int dims(const gen *g, int i)
{
    return value(g, i)->shape.ndim;
}

static int dim(const gen *g, int i, int axis)
{
    const samba_shape *s = &value(g, i)->shape;
    return s->dim[axis < 0 ? axis + s->ndim : axis];
}

static bool is_float(const samba_tensor *t)
{
    return t->dtype <= SAMBA_F16;
}

static bool is_f32(const samba_tensor *t)
{
    return t->dtype == SAMBA_F32;
}

static bool is_any(const samba_tensor *t)
{
    return t != NULL;
}

// Does value i of a clean graph have the rows of an input? A constant is one of each part.
static bool has_rows(const description *d, int i)
{
    const record *r = &d->r[i];
    if (r->op == OP_gradient) return false; // may be a constant
    if (r->op == OP_input || r->op == OP_ids) return r->a[2] != 0;
    for (int k = 0; k < r->n_in; k++)
        if (r->in[k] >= 0 && has_rows(d, r->in[k])) return true;
    return false;
}

// May this record stand in a clean graph? What is left are rules about shapes.
static bool keeps_rows_apart(const gen *g, const record *r)
{
    int n = r->n_in > 0 && r->in[0] >= 0 ? dims(g, r->in[0]) : 0;
    bool first = r->a[0] == 0 || r->a[0] == -n;
    switch (r->op) {
    case OP_softmax:
    case OP_log_softmax:
    case OP_argmax:
    case OP_argsort:
    case OP_sort:
    case OP_cumsum:
    case OP_prod:
    case OP_gather:
        return !first;
    case OP_layer_norm:
    case OP_rms_norm:
    case OP_layernorm:
    case OP_rmsnorm:
        return n > 1;
    case OP_linear:
    case OP_linear_no_bias:
        return n > 1;
    case OP_attention:
        return n > 2;
    case OP_write_rows:
    case OP_batch_norm:
    case OP_batchnorm:
    case OP_dropout:
    case OP_noise:
    case OP_attention_dropout:
        return false;
    default:
        return true;
    }
}

// Is value i of a clean graph one of single rows, or no matter of the batch?
static bool shape_is_clean(gen *g, int i, bool last)
{
    const samba_shape *s = &g->n[0].v[i]->shape, *t = &g->n[1].v[i]->shape;
    const record *r = &g->d->r[i];
    g->depends[i] = r->op == OP_input || r->op == OP_ids ? r->a[2] != 0 : false;
    if (r->op == OP_full && r->a[0] && r->a[1] == ROWS) g->depends[i] = true;
    for (int k = 0; k < r->n_in; k++)
        g->depends[i] = g->depends[i] || (r->in[k] >= 0 && g->depends[r->in[k]]);
    if (s->ndim != t->ndim) return false;
    for (int k = 1; k < s->ndim; k++)
        if (s->dim[k] != t->dim[k]) return false;
    g->batched[i] = s->ndim && s->dim[0] == g->n[0].rows && t->dim[0] == g->n[1].rows;
    if (!g->batched[i] && s->ndim && s->dim[0] != t->dim[0]) return false;
    return g->batched[i] || !g->depends[i] || last;
}

// Are the numbers of a value moderate? Others say little.
static bool is_moderate(samba_tensor *t)
{
    enum { MOST = 4096 };

    static float x[MOST];
    int64_t n = samba_count(&t->shape);
    if (n > MOST) return false;
    if (!is_float(t)) return true;
    if (!samba_copy_out_f32(t, x, n)) return false;
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] > -1e3f && x[i] < 1e3f)) return false;
    return true;
}

// Adds a record if it can be computed; its value, or -1.
static int add_record(gen *g, const record *r, bool last)
{
    description *d = g->d;
    int at = d->n;
    bool fine = at < MOST_VALUES;
    for (int k = 0; k <= d->clean && fine; k++) {
        net *n = &g->n[k];
        if (n->n_in > MOST_LEAVES - 4 || n->n_params > MOST_LEAVES - 4) return -1;
        n->v[at] = build_record(n, r);
        fine = n->v[at] && samba_ok(n->s);
        samba_clear_error(n->s);
    }
    if (!fine) return -1;
    d->r[at] = *r;
    if (d->clean && (!keeps_rows_apart(g, r) || !shape_is_clean(g, at, last))) return -1;
    if (!last && !is_moderate(g->n[0].v[at])
        && !(samba_count(&g->n[0].v[at]->shape) < 300 && chance(g, 15)))
        return -1;
    return d->n++;
}

static record record_of(gen *g, int op)
{
    record r;
    memset(&r, 0, sizeof r);
    r.op = op;
    r.id = g->ids++;
    for (int i = 0; i < MOST_IN; i++)
        r.in[i] = -1;
    return r;
}

static void put_shape(int *a, const samba_shape *s, bool batched)
{
    a[0] = s->ndim;
    for (int i = 0; i < s->ndim; i++)
        a[1 + i] = s->dim[i];
    if (batched) a[1] = ROWS;
}

// Leaves.
static int new_input(gen *g, int op, samba_dtype type, samba_shape shape, int high, bool batched)
{
    record r = record_of(g, op);
    r.a[0] = (int)type;
    r.a[1] = high;
    r.a[2] = batched || !g->d->clean;
    if (!g->d->clean && chance(g, 15)) r.a[2] = 0;
    put_shape(r.a + 3, &shape, g->d->clean && batched);
    return add_record(g, &r, false);
}

static int new_param(gen *g, samba_shape shape)
{
    record r = record_of(g, OP_param);
    put_shape(r.a + 3, &shape, false);
    r.f = 0.75f;
    r.a[1] = chance(g, 12);
    return add_record(g, &r, false);
}

static int new_buffer(gen *g, samba_shape shape, float start)
{
    record r = record_of(g, OP_buffer);
    put_shape(r.a + 3, &shape, false);
    r.f = start;
    return add_record(g, &r, false);
}

static int any_dim(gen *g)
{
    static const int some[12] = { 1, 2, 2, 3, 3, 4, 5, 5, 7, 8, 17, 33 };
    return some[below(g, 12)];
}

static samba_shape any_shape(gen *g, int least, int most)
{
    samba_shape s = samba_scalar_shape();
    int n = between(g, least, most);
    for (int64_t count = 1; s.ndim < n; s.ndim++) {
        int d = count > 60 ? between(g, 1, 2) : any_dim(g);
        if (n > 2 && d > 8) d = 8;
        s.dim[s.ndim] = d;
        count *= d;
    }
    if (g->d->clean && s.ndim) s.dim[0] = g->n[0].rows;
    return s;
}

// A value of a kind, with so many dimensions, rather a late one; -1: there is none.
static int find_value(gen *g, bool (*kind)(const samba_tensor *), int least, int most)
{
    for (int i = 0; i < 24 && g->d->n; i++) {
        uint32_t n = (uint32_t)g->d->n, back = below(g, n);
        if (chance(g, 60)) back = below(g, n < 6 ? n : 6);
        int at = g->d->n - 1 - (int)back;
        if (kind(value(g, at)) && dims(g, at) >= least && dims(g, at) <= most) return at;
    }
    return -1;
}

// The same, or a new input.
static int pick(gen *g, int least, int most)
{
    int i = find_value(g, chance(g, 90) ? is_f32 : is_float, least, most);
    if (i >= 0) return i;
    samba_shape shape = any_shape(g, least > 0 ? least : 1, most < 4 ? most : 4);
    return new_input(g, OP_input, SAMBA_F32, shape, 0, g->d->clean);
}

// An f32 value of a shape: one that is there, a parameter, or an input.
static int operand(gen *g, samba_shape shape, bool batched)
{
    for (int i = g->d->n - 1; i >= 0 && chance(g, 95); i--) {
        const samba_tensor *t = value(g, i);
        bool fits = is_f32(t) && samba__same_shape(&t->shape, &shape) && g->batched[i] == batched;
        if (fits && chance(g, 50)) return i;
    }
    if (batched || chance(g, 35)) return new_input(g, OP_input, SAMBA_F32, shape, 0, batched);
    return new_param(g, shape);
}

static int random_axis(gen *g, int n)
{
    int axis = n ? between(g, 0, n - 1) : 0;
    return chance(g, 40) ? axis - n : axis;
}

static float random_number(gen *g)
{
    static const float some[8] = { 0.5f, -1.5f, 1.0f, 2.0f, 0.125f, 0.0f, -1.0f, 3.0f };
    return some[below(g, 8)];
}

typedef bool propose_fn(gen *g, record *r);

static bool propose_leaf(gen *g, record *r)
{
    static const samba_dtype types[10]
        = { SAMBA_F32, SAMBA_F32, SAMBA_F32, SAMBA_BF16, SAMBA_F16,
            SAMBA_I32, SAMBA_I16, SAMBA_I8,  SAMBA_U8,   SAMBA_BOOL };
    samba_shape shape = any_shape(g, 0, 4);
    bool batched = g->d->clean && shape.ndim > 0;
    if (g->d->clean && !batched) return false;
    r->a[0] = (int)types[below(g, 10)];
    r->a[1] = r->a[0] == (int)SAMBA_BOOL ? 2 : r->a[0] == (int)SAMBA_U8 ? 9 : 0;
    r->a[2] = batched || chance(g, 80);
    put_shape(r->a + 3, &shape, batched);
    return true;
}

static bool propose_ids(gen *g, record *r)
{
    samba_shape shape = any_shape(g, 1, 2);
    r->a[1] = between(g, 2, 7);
    r->a[2] = 1;
    put_shape(r->a + 3, &shape, g->d->clean);
    return true;
}

static bool propose_param(gen *g, record *r)
{
    samba_shape shape = any_shape(g, 0, 3);
    if (g->d->clean && shape.ndim) shape.dim[0] = any_dim(g);
    put_shape(r->a + 3, &shape, false);
    r->f = 0.75f;
    r->a[1] = chance(g, 15);
    return true;
}

static bool propose_buffer(gen *g, record *r)
{
    propose_param(g, r);
    r->a[1] = 0;
    r->f = random_number(g);
    return true;
}

static bool propose_full(gen *g, record *r)
{
    int like = find_value(g, is_any, 0, 4);
    if (like < 0) return false;
    put_shape(r->a, &value(g, like)->shape, g->batched[like]);
    r->f = random_number(g);
    return true;
}

static bool propose_number(gen *g, record *r)
{
    r->f = random_number(g);
    return true;
}

static bool propose_unary(gen *g, record *r)
{
    r->in[0] = pick(g, 0, 6);
    r->n_in = 1;
    r->f = random_number(g);
    return r->in[0] >= 0;
}

static bool propose_cast(gen *g, record *r)
{
    r->in[0] = find_value(g, is_any, 0, 6);
    r->n_in = 1;
    r->a[0] = chance(g, 40) ? 0 : between(g, 0, 7);
    return r->in[0] >= 0;
}

// A partner that broadcasts with value x: of its shape, or with dimensions that are 1 or missing.
static int partner(gen *g, int x)
{
    samba_shape s = value(g, x)->shape;
    bool batched = g->batched[x];
    uint32_t kind = below(g, 6);
    if (kind == 0) return x;
    if (kind == 1 && s.ndim) {
        memmove(s.dim, s.dim + 1, (size_t)(s.ndim - 1) * sizeof *s.dim);
        s.ndim--;
        batched = false;
    }
    for (int i = 0; i < s.ndim && kind == 2; i++) {
        if (chance(g, 50)) continue;
        s.dim[i] = 1;
        if (i == 0) batched = false;
    }
    if (kind == 3) {
        s.ndim = 0;
        batched = false;
    }
    if (kind == 4 && !batched && s.ndim < 4) { // a view of the same memory
        record view = record_of(g, OP_reshape);
        memmove(s.dim + 1, s.dim, (size_t)s.ndim * sizeof *s.dim);
        s.dim[0] = 1;
        s.ndim++;
        put_shape(view.a, &s, false);
        view.in[0] = x;
        view.n_in = 1;
        return add_record(g, &view, false);
    }
    return operand(g, s, batched);
}

static bool propose_binary(gen *g, record *r)
{
    r->in[0] = pick(g, 0, 5);
    r->n_in = 2;
    if (r->in[0] < 0) return false;
    r->in[1] = partner(g, r->in[0]);
    if (chance(g, 30)) {
        int first = r->in[0];
        r->in[0] = r->in[1];
        r->in[1] = first;
    }
    return r->in[0] >= 0 && r->in[1] >= 0;
}

static bool propose_compare(gen *g, record *r)
{
    if (chance(g, 60)) return propose_binary(g, r);
    r->in[0] = find_value(g, is_any, 0, 5);
    r->in[1] = r->in[0];
    r->n_in = 2;
    for (int i = 0; i < g->d->n && r->in[0] >= 0; i++) {
        bool same = value(g, i)->dtype == value(g, r->in[0])->dtype;
        if (same && samba__same_shape(&value(g, i)->shape, &value(g, r->in[0])->shape))
            r->in[1] = i;
    }
    return r->in[0] >= 0;
}

static bool propose_where(gen *g, record *r)
{
    if (!propose_binary(g, r)) return false;
    r->in[2] = partner(g, r->in[0]);
    r->n_in = 3;
    return r->in[2] >= 0;
}

static bool is_bool(const samba_tensor *t)
{
    return t->dtype == SAMBA_BOOL;
}

static bool propose_where_mask(gen *g, record *r)
{
    int x = pick(g, 0, 4), mask = find_value(g, is_bool, 0, 4);
    if (x < 0) return false;
    if (mask < 0 || !samba__same_shape(&value(g, mask)->shape, &value(g, x)->shape))
        mask = new_input(g, OP_input, SAMBA_BOOL, value(g, x)->shape, 2, g->batched[x]);
    r->in[0] = mask;
    r->in[1] = x;
    r->in[2] = partner(g, x);
    r->n_in = 3;
    return mask >= 0 && r->in[2] >= 0;
}

static bool propose_reduce(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 6);
    r->n_in = 1;
    if (r->in[0] < 0) return false;
    int n = dims(g, r->in[0]);
    r->a[0] = chance(g, 50);
    for (int i = 0; i < n; i++) {
        bool taken = chance(g, 45) && !(g->d->clean && i == 0);
        if (taken) r->a[2 + r->a[1]++] = chance(g, 30) ? i - n : i;
    }
    return r->a[1] > 0;
}

static bool propose_axis(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 5);
    r->n_in = 1;
    if (r->in[0] < 0) return false;
    r->a[0] = random_axis(g, dims(g, r->in[0]));
    r->a[1] = chance(g, 50);
    return true;
}

static bool propose_matmul(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 5);
    r->n_in = 2;
    if (r->in[0] < 0) return false;
    samba_shape s = value(g, r->in[0])->shape;
    int k = dim(g, r->in[0], -1);
    bool batched = g->batched[r->in[0]] && s.ndim > 2;
    uint32_t kind = below(g, 3);
    if (kind == 0)
        s = SAMBA_SHAPE(k);
    else if (kind == 1 || s.ndim < 2)
        s = SAMBA_SHAPE(k, any_dim(g));
    else {
        s.dim[s.ndim - 2] = k;
        s.dim[s.ndim - 1] = any_dim(g);
    }
    r->in[1] = operand(g, s, batched && kind == 2);
    return r->in[1] >= 0;
}

static bool propose_matmul_transposed(gen *g, record *r)
{
    r->in[0] = pick(g, 2, 4);
    r->n_in = 2;
    if (r->in[0] < 0) return false;
    samba_shape s = value(g, r->in[0])->shape;
    r->a[0] = chance(g, 50);
    r->a[1] = chance(g, 50);
    int k = s.dim[s.ndim - 1 - r->a[0]], n = any_dim(g);
    s.dim[s.ndim - 1 - !r->a[1]] = k;
    s.dim[s.ndim - 1 - r->a[1]] = n;
    r->in[1] = operand(g, s, g->batched[r->in[0]] && s.ndim > 2);
    return r->in[1] >= 0;
}

static bool propose_affine(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 4);
    r->n_in = 3;
    if (r->in[0] < 0) return false;
    int n = any_dim(g);
    r->in[1] = chance(g, 70) ? new_param(g, SAMBA_SHAPE(n, dim(g, r->in[0], -1)))
                             : operand(g, SAMBA_SHAPE(n, dim(g, r->in[0], -1)), false);
    r->in[2] = chance(g, 70) ? operand(g, SAMBA_SHAPE(n), false) : -1;
    return r->in[1] >= 0;
}

static bool propose_reshape(gen *g, record *r)
{
    r->in[0] = find_value(g, chance(g, 85) ? is_float : is_any, 0, 6);
    r->n_in = 1;
    if (r->in[0] < 0) return false;
    bool batched = g->batched[r->in[0]];
    samba_shape s = samba_scalar_shape();
    int64_t rest = samba_count(&value(g, r->in[0])->shape);
    if (batched) {
        s.dim[s.ndim++] = g->n[0].rows;
        rest /= g->n[0].rows;
    }
    for (int i = 0; i < 3; i++) {
        int d = between(g, 1, 4);
        if (rest % d == 0) {
            s.dim[s.ndim++] = d;
            rest /= d;
        }
    }
    s.dim[s.ndim++] = chance(g, 30) ? -1 : (int32_t)rest;
    put_shape(r->a, &s, batched);
    return true;
}

static bool propose_expand(gen *g, record *r)
{
    r->in[0] = pick(g, 0, 4);
    r->n_in = 1;
    if (r->in[0] < 0) return false;
    samba_shape s = value(g, r->in[0])->shape;
    bool more = chance(g, 40) && !g->batched[r->in[0]];
    for (int i = 0; i < s.ndim; i++)
        if (s.dim[i] == 1) s.dim[i] = any_dim(g);
    if (more) {
        memmove(s.dim + 1, s.dim, (size_t)s.ndim * sizeof *s.dim);
        s.dim[0] = between(g, 1, 4);
        s.ndim++;
    }
    put_shape(r->a, &s, g->batched[r->in[0]]);
    return true;
}

static bool propose_squeeze(gen *g, record *r)
{
    r->in[0] = find_value(g, is_float, 1, 6);
    r->n_in = 1;
    if (r->in[0] < 0) return false;
    for (int i = 0; i < dims(g, r->in[0]); i++)
        if (dim(g, r->in[0], i) == 1) r->a[0] = i;
    return dim(g, r->in[0], r->a[0]) == 1;
}

static bool propose_transpose(gen *g, record *r)
{
    r->in[0] = find_value(g, chance(g, 90) ? is_float : is_any, 2, 6);
    r->n_in = 1;
    if (r->in[0] < 0) return false;
    int n = dims(g, r->in[0]);
    r->a[0] = random_axis(g, n);
    r->a[1] = random_axis(g, n);
    if (chance(g, 40)) {
        r->a[0] = -1;
        r->a[1] = -2;
    }
    return true;
}

static bool propose_permute(gen *g, record *r)
{
    r->in[0] = find_value(g, chance(g, 90) ? is_float : is_any, 1, 5);
    r->n_in = 1;
    if (r->in[0] < 0) return false;
    int n = r->a[0] = dims(g, r->in[0]), keep = g->batched[r->in[0]];
    for (int i = 0; i < n; i++)
        r->a[1 + i] = i;
    for (int i = n - 1; i > keep; i--) {
        int k = between(g, keep, i), other = r->a[1 + i];
        r->a[1 + i] = r->a[1 + k];
        r->a[1 + k] = other;
    }
    return true;
}

static bool propose_slice(gen *g, record *r)
{
    r->in[0] = find_value(g, chance(g, 90) ? is_float : is_any, 1, 5);
    r->n_in = 1;
    if (r->in[0] < 0) return false;
    int axis = r->a[0] = random_axis(g, dims(g, r->in[0])), d = dim(g, r->in[0], axis);
    r->a[1] = between(g, 0, d - 1);
    r->a[2] = between(g, r->a[1] + 1, d);
    r->a[3] = between(g, 1, 3);
    return true;
}

static bool propose_pad(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 4);
    r->n_in = 1;
    if (r->in[0] < 0) return false;
    int n = r->a[0] = r->a[9] = dims(g, r->in[0]);
    for (int i = g->batched[r->in[0]]; i < n; i++) {
        r->a[1 + i] = chance(g, 50) ? between(g, 0, 2) : 0;
        r->a[10 + i] = chance(g, 50) ? between(g, 0, 2) : 0;
    }
    r->f = chance(g, 60) ? 0.0f : 0.5f;
    return true;
}

static bool propose_split(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 5);
    r->n_in = 1;
    if (r->in[0] < 0) return false;
    int axis = random_axis(g, dims(g, r->in[0])), d = dim(g, r->in[0], axis);
    r->a[0] = between(g, 1, d);
    r->a[1] = axis;
    r->a[2] = between(g, 0, (d - 1) / r->a[0]);
    return true;
}

static bool propose_cat(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 4);
    r->n_in = between(g, 1, 3);
    if (r->in[0] < 0) return false;
    for (int i = 1; i < r->n_in; i++)
        r->in[i] = operand(g, value(g, r->in[0])->shape, g->batched[r->in[0]]);
    r->a[0] = random_axis(g, dims(g, r->in[0]));
    return r->n_in < 2 || (r->in[1] >= 0 && (r->n_in < 3 || r->in[2] >= 0));
}

#define propose_stack propose_cat

static bool propose_gather(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 4);
    r->n_in = 2;
    if (r->in[0] < 0) return false;
    samba_shape s = value(g, r->in[0])->shape;
    int axis = random_axis(g, s.ndim), high = dim(g, r->in[0], axis);
    r->a[0] = axis;
    for (int i = g->batched[r->in[0]]; i < s.ndim; i++) {
        bool along = i == (axis < 0 ? axis + s.ndim : axis);
        s.dim[i] = along ? between(g, 1, 5) : between(g, 1, s.dim[i]);
    }
    r->in[1] = new_input(g, OP_ids, SAMBA_I32, s, high, g->batched[r->in[0]]);
    return r->in[1] >= 0;
}

static bool propose_write_rows(gen *g, record *r)
{
    int rows = between(g, 1, 3), keys = between(g, rows, 6), d = any_dim(g), cache = -1;
    for (int i = 0; i < g->d->n; i++)
        if (g->d->r[i].op == OP_buffer && dims(g, i) == 2 && chance(g, 50)) cache = i;
    if (cache < 0) cache = new_buffer(g, SAMBA_SHAPE(keys, d), 0.25f);
    if (cache < 0) return false;
    keys = dim(g, cache, 0);
    d = dim(g, cache, 1);
    g->again = record_of(g, chance(g, 50) ? OP_tanh : OP_reshape);
    g->again.in[0] = cache;
    g->again.n_in = 1;
    put_shape(g->again.a, &value(g, cache)->shape, false);
    if (g->again.op == OP_reshape) {
        g->again.a[1] = d;
        g->again.a[2] = keys;
    }
    g->has_again = chance(g, 70) && add_record(g, &g->again, false) >= 0;
    r->in[0] = cache;
    r->n_in = 3;
    r->in[1] = operand(g, SAMBA_SHAPE(rows, d), false);
    r->in[2] = new_input(g, OP_ids, SAMBA_I32, SAMBA_SHAPE(rows), keys, false);
    return r->in[1] >= 0 && r->in[2] >= 0;
}

static bool propose_norm(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 5);
    r->n_in = 3;
    if (r->in[0] < 0) return false;
    samba_shape s = SAMBA_SHAPE(dim(g, r->in[0], -1));
    r->in[1] = chance(g, 70) ? operand(g, s, false) : -1;
    r->in[2] = chance(g, 70) ? operand(g, s, false) : -1;
    return true;
}

static bool propose_rms_norm(gen *g, record *r)
{
    bool fine = propose_norm(g, r);
    r->n_in = 2;
    r->in[2] = -1;
    return fine;
}

static bool propose_batch_norm(gen *g, record *r)
{
    r->in[0] = pick(g, 2, 4);
    r->n_in = 5;
    if (r->in[0] < 0) return false;
    samba_shape s = SAMBA_SHAPE(dim(g, r->in[0], 1));
    r->in[1] = operand(g, s, false);
    r->in[2] = operand(g, s, false);
    r->in[3] = new_buffer(g, s, 0);
    r->in[4] = new_buffer(g, s, 1);
    return r->in[1] >= 0 && r->in[2] >= 0 && r->in[3] >= 0 && r->in[4] >= 0;
}

static bool propose_labels(gen *g, record *r)
{
    r->in[0] = pick(g, 2, 4);
    r->n_in = 2;
    if (r->in[0] < 0) return false;
    samba_shape s = value(g, r->in[0])->shape;
    int classes = s.dim[--s.ndim];
    bool ignored = chance(g, 40) && !g->d->clean;
    r->in[1]
        = new_input(g, OP_ids, SAMBA_I32, s, ignored ? -classes : classes, g->batched[r->in[0]]);
    r->a[0] = g->d->clean ? (int)SAMBA_REDUCE_NONE : between(g, 0, 2);
    r->f = chance(g, 40) ? 0.125f : 0.0f;
    return r->in[1] >= 0;
}

static bool propose_mse(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 4);
    r->n_in = 2;
    if (r->in[0] < 0) return false;
    r->in[1] = operand(g, value(g, r->in[0])->shape, g->batched[r->in[0]]);
    r->a[0] = g->d->clean ? (int)SAMBA_REDUCE_NONE : between(g, 0, 2);
    return r->in[1] >= 0;
}

static int image(gen *g, int n) // (N,C,H,W) or (N,C,L), small
{
    int found = find_value(g, is_f32, n, n);
    if (found >= 0 && chance(g, 70)) return found;
    samba_shape s = n == 4 ? SAMBA_SHAPE(2, 2, between(g, 2, 6), between(g, 2, 6))
                           : SAMBA_SHAPE(2, 4, between(g, 3, 9));
    if (g->d->clean) s.dim[0] = g->n[0].rows;
    return operand(g, s, g->d->clean);
}

static bool propose_convolution(gen *g, record *r)
{
    int n = chance(g, 60) ? 4 : 3;
    r->in[0] = image(g, n);
    r->n_in = 3;
    if (r->in[0] < 0) return false;
    int channels = dim(g, r->in[0], 1), groups = channels % 2 == 0 && chance(g, 40) ? 2 : 1;
    int out = groups * between(g, 1, 3), k = between(g, 1, 3);
    r->in[1] = n == 4 ? new_param(g, SAMBA_SHAPE(out, channels / groups, k, between(g, 1, 3)))
                      : new_param(g, SAMBA_SHAPE(out, channels / groups, k));
    r->in[2] = chance(g, 60) ? operand(g, SAMBA_SHAPE(out), false) : -1;
    for (int i = 0; i < n - 2; i++) {
        r->a[i] = between(g, 0, 2);
        r->a[2 + i] = between(g, 0, 2);
        r->a[4 + i] = chance(g, 30) ? 2 : 0;
    }
    r->a[6] = groups;
    return r->in[1] >= 0;
}

static bool propose_pool(gen *g, record *r)
{
    r->in[0] = image(g, 4);
    r->n_in = 1;
    for (int i = 0; i < 2; i++) {
        r->a[i] = between(g, 1, 3);
        r->a[2 + i] = between(g, 0, 2);
        r->a[4 + i] = chance(g, 40) && r->a[i] > 1;
        r->a[6 + i] = chance(g, 30);
    }
    return r->in[0] >= 0;
}

static int some_ids(gen *g, int high)
{
    samba_shape s = any_shape(g, 1, 2);
    return new_input(g, OP_ids, SAMBA_I32, s, high, g->d->clean);
}

static bool propose_lookup(gen *g, record *r)
{
    int rows = between(g, 2, 6);
    r->in[0] = some_ids(g, rows);
    r->n_in = 2;
    r->in[1] = chance(g, 60) ? new_param(g, SAMBA_SHAPE(rows, any_dim(g)))
                             : operand(g, SAMBA_SHAPE(rows, any_dim(g)), false);
    return r->in[0] >= 0 && r->in[1] >= 0;
}

static bool propose_embedding(gen *g, record *r)
{
    r->a[0] = between(g, 2, 6);
    r->a[1] = any_dim(g);
    r->in[0] = some_ids(g, r->a[0]);
    r->n_in = 1;
    return r->in[0] >= 0;
}

static bool propose_attention(gen *g, record *r)
{
    r->in[0] = pick(g, 2, 4);
    r->n_in = 4;
    if (r->in[0] < 0) return false;
    samba_shape s = value(g, r->in[0])->shape;
    bool batched = g->batched[r->in[0]];
    int t = s.dim[s.ndim - 2], keys = chance(g, 50) ? t : any_dim(g);
    s.dim[s.ndim - 2] = keys;
    if (s.ndim == 2) batched = false;
    r->in[1] = operand(g, s, batched);
    if (chance(g, 40)) s.dim[s.ndim - 1] = any_dim(g);
    r->in[2] = operand(g, s, batched);
    uint32_t mask = below(g, 3);
    if (mask == 1) r->in[3] = new_input(g, OP_input, SAMBA_BOOL, SAMBA_SHAPE(t, keys), 2, false);
    if (mask == 2) r->in[3] = operand(g, SAMBA_SHAPE(t, keys), false);
    r->a[0] = chance(g, 40);
    r->a[1] = 1; // drops half, if it drops at all
    r->f = chance(g, 70) ? 0.0f : 0.25f;
    return r->in[1] >= 0 && r->in[2] >= 0;
}

static bool propose_dropout(gen *g, record *r)
{
    r->in[0] = pick(g, 0, 5);
    r->n_in = 1;
    r->f = chance(g, 80) ? 0.25f : 0.0f;
    return r->in[0] >= 0;
}

static bool propose_layer(gen *g, record *r)
{
    r->in[0] = pick(g, 1, 4);
    r->n_in = 1;
    r->a[0] = any_dim(g);
    return r->in[0] >= 0;
}

static bool propose_layer_nchw(gen *g, record *r)
{
    r->in[0] = image(g, 4);
    r->n_in = 1;
    r->a[0] = between(g, 1, 3);
    r->a[1] = between(g, 1, 3);
    r->a[2] = between(g, 0, 1);
    return r->in[0] >= 0;
}

static bool propose_layer_ncl(gen *g, record *r)
{
    r->in[0] = image(g, 3);
    r->n_in = 1;
    r->a[0] = between(g, 1, 3);
    r->a[1] = between(g, 1, 3);
    return r->in[0] >= 0;
}

static bool propose_gradient(gen *g, record *r)
{
    int y = find_value(g, is_f32, 0, 6), x = y;
    for (int hops = between(g, 1, 5); hops && x >= 0 && g->d->r[x].n_in; hops--) {
        int next = g->d->r[x].in[below(g, (uint32_t)g->d->r[x].n_in)];
        if (next < 0 || !is_f32(value(g, next))) break;
        x = next;
    }
    r->in[0] = y;
    r->in[1] = x;
    r->n_in = 2;
    return y >= 0 && x != y;
}

static bool propose_total(gen *g, record *r)
{
    r->in[0] = find_value(g, is_f32, 1, 6);
    r->n_in = 1;
    return r->in[0] >= 0 && !g->d->clean;
}

static propose_fn *const proposals[N_OPS] = {
#define X(op, propose, ...) propose_##propose,
    OPS(X)
#undef X
};

// ---- A graph: records, then outputs and losses ----

static samba_graphamp preset; // of all graphs; MP0: each draws its own

static void begin_gen(gen *g, description *d, uint32_t seed)
{
    way eager = { { 0 } };
    memset(g, 0, sizeof *g);
    memset(d, 0, sizeof *d);
    eager.at[AXIS_eager] = 1;
    g->d = d;
    d->seed = seed;
    g->state = seed * 2654435761u + 12345u;
    d->clean = chance(g, 15);
    d->inference = !d->clean && chance(g, 20);
    d->rows = 2;
    d->microbatches = d->clean          ? between(g, 2, 4)
        : d->inference || chance(g, 65) ? 1
                                        : between(g, 2, 4);
    if (chance(g, 30)) d->graphamp = chance(g, 50) ? (int)SAMBA_MP1 : (int)SAMBA_MP4;
    if (preset) d->graphamp = (int)preset;
    if (chance(g, 15))
        d->param_dtype = d->inference && chance(g, 50) ? (int)SAMBA_F16 : (int)SAMBA_BF16;
    if (d->inference && chance(g, 50)) d->weights = between(g, 1, 4);
    for (int i = 0; i <= d->clean; i++) {
        g->n[i].s = open_way(&eager);
        g->n[i].eager = true;
        g->n[i].rows = 2 + i;
        samba_set_tracing(g->n[i].s, false);
        begin_settings(d, &g->n[i]);
    }
}

// ---- What rewrites look for: several records that fit together ----

static int add_unary(gen *g, int op, int x)
{
    record r = record_of(g, op);
    r.in[0] = x;
    r.n_in = 1;
    r.f = 1.0f;
    return x < 0 ? -1 : add_record(g, &r, false);
}

static int add_binary(gen *g, int op, int x, int y)
{
    record r = record_of(g, op);
    r.in[0] = x;
    r.in[1] = y;
    r.n_in = 2;
    return x < 0 || y < 0 ? -1 : add_record(g, &r, false);
}

// x + x W + tanh(x) V: the gradient of x is a sum of products, and of what is passed on.
static void add_residual(gen *g)
{
    int x = pick(g, 2, 3);
    if (x < 0) return;
    int k = dim(g, x, -1);
    int a = add_binary(g, OP_matmul, x, new_param(g, SAMBA_SHAPE(k, k)));
    int b = add_binary(g, OP_matmul, add_unary(g, OP_tanh, x), new_param(g, SAMBA_SHAPE(k, k)));
    int sum = add_binary(g, OP_add, add_binary(g, OP_add, x, a), b);
    if (chance(g, 50)) add_binary(g, OP_mul, sum, x);
    if (chance(g, 50))
        add_binary(g, OP_matmul, add_unary(g, OP_tanh, sum), new_param(g, SAMBA_SHAPE(k, 3)));
}

// Two permutations, and a product behind them.
static void add_permutations(gen *g)
{
    record r = record_of(g, OP_permute), again = record_of(g, OP_permute);
    int x = pick(g, 3, 4);
    if (x < 0) return;
    r.in[0] = x;
    r.n_in = again.n_in = 1;
    int n = dims(g, x), first = g->batched[x], turn = between(g, 1, 2);
    r.a[0] = again.a[0] = n;
    for (int i = 0; i < n; i++) {
        int span = n - first, rotated = first + (i - first + turn) % span;
        bool swapped = i >= n - 2;
        r.a[1 + i] = i < first ? i : rotated;
        again.a[1 + i] = i < first ? i : swapped ? 2 * n - 3 - i : i;
    }
    again.in[0] = add_record(g, &r, false);
    int y = again.in[0] < 0 ? -1 : add_record(g, &again, false);
    if (y >= 0) add_binary(g, OP_matmul, y, new_param(g, SAMBA_SHAPE(dim(g, y, -1), 2)));
    if (again.in[0] >= 0 && chance(g, 50)) add_binary(g, OP_mul, again.in[0], again.in[0]);
}

// What a constant of ones, or another, stretches; and what cancels.
static void add_identities(gen *g)
{
    int x = pick(g, 1, 3);
    if (x < 0) return;
    record ones = record_of(g, OP_full);
    samba_shape s = value(g, x)->shape;
    if (s.dim[s.ndim - 1] == 1) s.dim[s.ndim - 1] = 3;
    if (chance(g, 50) && s.ndim < 4 && !g->batched[x]) {
        memmove(s.dim + 1, s.dim, (size_t)s.ndim * sizeof *s.dim);
        s.dim[0] = 2;
        s.ndim++;
    }
    put_shape(ones.a, &s, g->batched[x]);
    ones.f = chance(g, 60) ? 1.0f : 0.5f;
    int one = add_record(g, &ones, false), y = add_binary(g, OP_mul, one, x);
    if (chance(g, 50)) y = add_binary(g, OP_mul, x, one);
    y = add_unary(g, OP_neg, add_unary(g, OP_neg, add_unary(g, OP_scale, y)));
    if (y >= 0 && chance(g, 50)) add_unary(g, OP_tanh, y);
}

// Slices of one value side by side: their gradients are joined; and a gap between them.
static void add_slices(gen *g)
{
    int x = pick(g, 1, 3), y[3];
    if (x < 0 || dim(g, x, -1) < 4) return;
    int n = dim(g, x, -1), gap = chance(g, 40);
    for (int i = 0; i < 3; i++) {
        record r = record_of(g, OP_slice);
        r.in[0] = x;
        r.n_in = 1;
        r.a[0] = -1;
        r.a[1] = i + (i == 2 ? gap : 0);
        r.a[2] = i == 2 ? n : i + 1;
        r.a[3] = 1;
        y[i] = add_record(g, &r, false);
    }
    add_binary(g, OP_mul, add_binary(g, OP_mul, y[0], y[1]), y[2]);
}

// What a buffer gives before it is written is read afterwards, and kept for the backward pass.
static void add_former_state(gen *g)
{
    int cache = new_buffer(g, SAMBA_SHAPE(4, 6), 0.5f);
    if (cache < 0 || g->d->clean) return;
    record flat = record_of(g, OP_reshape), write = record_of(g, OP_write_rows);
    flat.in[0] = cache;
    flat.n_in = 1;
    flat.a[0] = 2;
    flat.a[1] = 6;
    flat.a[2] = 4;
    int before = add_record(g, &flat, false), kept = add_unary(g, OP_tanh, cache);
    write.in[0] = cache;
    write.n_in = 3;
    write.in[1] = operand(g, SAMBA_SHAPE(2, 6), false);
    write.in[2] = new_input(g, OP_ids, SAMBA_I32, SAMBA_SHAPE(2), 4, false);
    if (before < 0 || write.in[1] < 0 || write.in[2] < 0 || add_record(g, &write, false) < 0)
        return;
    record shaped = record_of(g, OP_reshape);
    shaped.in[0] = before;
    shaped.n_in = 1;
    shaped.a[0] = 2;
    shaped.a[1] = 4;
    shaped.a[2] = 6;
    int again = add_record(g, &shaped, false);
    add_binary(g, OP_mul, again, new_param(g, SAMBA_SHAPE(4, 6)));
    add_binary(g, OP_mul, kept, new_param(g, SAMBA_SHAPE(4, 6)));
    add_unary(g, OP_tanh, cache);
}

// The gradient of each parameter is the other one.
static void add_parameters(gen *g)
{
    int a = new_param(g, SAMBA_SHAPE(3)), b = new_param(g, SAMBA_SHAPE(3));
    int product = add_binary(g, OP_mul, a, b);
    if (chance(g, 70)) add_unary(g, g->d->clean ? OP_average : OP_total, product);
}

static void add_pattern(gen *g)
{
    static void (*const patterns[6])(gen * g) = { add_residual, add_permutations, add_identities,
                                                  add_slices,   add_former_state, add_parameters };
    if (g->d->n < MOST_VALUES - 44) patterns[below(g, 6)](g);
    for (int k = 0; k <= g->d->clean; k++)
        samba_clear_error(g->n[k].s);
}

// An op, or now and then one that is there already, once more: an equal expression.
static bool add_op(gen *g, int op)
{
    record r = record_of(g, op);
    const record *old = g->d->n && chance(g, 12) ? &g->d->r[below(g, (uint32_t)g->d->n)] : NULL;
    if (old && old->n_in) return add_record(g, old, false) >= 0;
    bool fine = g->d->n < MOST_VALUES - 24 && proposals[op](g, &r) && add_record(g, &r, false) >= 0;
    if (fine && g->has_again) add_record(g, &g->again, false);
    g->has_again = false;
    for (int k = 0; k <= g->d->clean; k++)
        samba_clear_error(g->n[k].s);
    return fine;
}

// The op that a graph has in any case: all have their turn, under a preset those that round.
static int op_of_seed(uint32_t seed)
{
    static const int products[]
        = { OP_linear,         OP_matmul,           OP_affine,      OP_matmul_transposed,
            OP_linear_no_bias, OP_conv2d,           OP_convolution, OP_attention,
            OP_conv1d,         OP_attention_dropout };
    if (!preset) return (int)(seed % N_OPS);
    return products[seed % (sizeof products / sizeof *products)];
}

static void add_ops(gen *g)
{
    int want = between(g, 4, 26), first = op_of_seed(g->d->seed);
    add_op(g, OP_input);
    add_op(g, OP_param);
    for (int tries = 0; tries < 10 && !add_op(g, first); tries++)
        continue;
    for (int tries = 0; tries < 8 * want && g->d->n < want; tries++) {
        if (chance(g, 7))
            add_pattern(g);
        else
            add_op(g, (int)below(g, N_OPS));
    }
    for (int tries = 0; tries < 20 && !add_op(g, first); tries++)
        continue;
    for (int tries = 0; tries < 3; tries++)
        add_op(g, (int)below(g, N_OPS));
}

static int add_simple(gen *g, int op, int x, int y)
{
    record r = record_of(g, op);
    r.in[0] = x;
    r.in[1] = y;
    r.n_in = y < 0 ? 1 : 2;
    r.f = 0.5f;
    return add_record(g, &r, true);
}

// The number that a value adds to a loss; -1: none.
static int share_of_loss(gen *g, int i)
{
    if (!is_float(value(g, i))) i = add_simple(g, OP_cast, i, -1);
    if (i >= 0 && !is_f32(value(g, i))) i = add_simple(g, OP_cast, i, -1);
    if (i >= 0 && chance(g, 70)) i = add_simple(g, OP_tanh, i, -1);
    if (i >= 0 && dims(g, i))
        i = add_simple(g, g->d->clean || chance(g, 50) ? OP_average : OP_total, i, -1);
    return i;
}

// One loss of the values that nothing reads, so that most of the graph is trained.
static void add_losses(gen *g)
{
    description *d = g->d;
    bool read[MOST_VALUES] = { false };
    int n = d->n, sum = -1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < d->r[i].n_in; k++)
            if (d->r[i].in[k] >= 0) read[d->r[i].in[k]] = true;
    for (int i = n - 1; i >= 0 && d->n < MOST_VALUES - 6; i--) {
        bool leaf = d->r[i].n_in == 0 && d->r[i].op != OP_param;
        if (read[i] || leaf || (!is_f32(value(g, i)) && chance(g, 70))) continue;
        int share = share_of_loss(g, i);
        if (share < 0) continue;
        sum = sum < 0 ? share : add_simple(g, OP_add, sum, share);
        if (sum < 0) sum = share;
        if (chance(g, 12) && d->n_losses < MOST_LOSSES - 1) {
            d->loss[d->n_losses++] = sum;
            sum = -1;
        }
    }
    if (sum >= 0) d->loss[d->n_losses++] = sum;
    if (!d->clean && chance(g, 8) && d->n_losses < MOST_LOSSES) { // a loss that is no scalar
        int more = find_value(g, is_f32, 1, 4);
        if (more >= 0 && d->r[more].n_in) d->loss[d->n_losses++] = more;
    }
    if (d->n_losses) return;
    int w = new_param(g, SAMBA_SHAPE(3));
    if (w >= 0) d->loss[d->n_losses++] = add_simple(g, OP_average, w, -1);
}

static void choose_outputs(gen *g)
{
    description *d = g->d;
    int want = between(g, d->inference ? 1 : 0, MOST_OUT - 2);
    for (int i = 0; i < 4 * want && d->n_outputs < want; i++) {
        int at = (int)below(g, (uint32_t)d->n);
        bool fine = !d->clean || (g->batched[at] && has_rows(d, at));
        if (d->n_outputs && chance(g, 8)) at = d->output[0];
        if (fine) d->output[d->n_outputs++] = at;
    }
    if (!d->n_outputs && d->inference) d->output[d->n_outputs++] = d->n - 1;
}

static void choose_optimizers(gen *g)
{
    description *d = g->d;
    d->n_optims = chance(g, 15) ? 0 : chance(g, 75) ? 1 : 2;
    if (d->inference) d->n_optims = 0;
    for (int o = 0; o < d->n_optims; o++)
        d->kind[o] = between(g, 0, SAMBA__N_OPTIMIZERS - 1);
    d->momentum = chance(g, 50);
    d->nesterov = chance(g, 40);
    d->decays = chance(g, 50);
    d->clips = chance(g, 40) ? between(g, 1, 4) : 0;
}

static void generate(description *d, uint32_t seed)
{
    gen *g = (gen *)malloc(sizeof *g);
    begin_gen(g, d, seed);
    add_ops(g);
    if (!d->inference) add_losses(g);
    choose_outputs(g);
    choose_optimizers(g);
    for (int i = 0; i <= d->clean; i++)
        samba_close(g->n[i].s);
    free(g);
}

// ---- Coverage ----

static int64_t op_met[SAMBA__N_OPS], axis_met[N_AXES][4], axis_differs[N_AXES];
static int64_t n_runs, n_refused, n_different, n_half_products;

static void count_ops(samba_session *s)
{
    const samba__pef *pef = &s->program.rt->pef;
    for (uint32_t i = 0; i < pef->n_nodes; i++) {
        samba__call_record call = samba__node_at(pef, i);
        op_met[call.op - samba__op_table]++;
        if (samba__class_of(call.op) != SAMBA__IS_PRODUCT) continue;
        samba__symbol first = samba__symbol_at(pef, samba__word(&call, 0) - 1); // 0: absent
        n_half_products += first.spec.dtype == SAMBA_BF16;
    }
}

// ---- Does a program give the same values in two ways? ----

static char files[64];

// What microbatches may change: the order of sums, and what is rounded to bf16 on the way.
static double tolerance(const description *d, const way *w)
{
    if (!w->at[AXIS_whole]) return 0;
    bool halves = d->graphamp || d->param_dtype;
    for (int i = 0; i < d->n; i++)
        halves = halves || d->r[i].op == OP_cast || (d->r[i].op == OP_input && d->r[i].a[0]);
    return halves ? 0.25 : 2e-3;
}

// What a way is compared with: the same program as it is compiled by default, and run at once.
static way plain_way(const way *w)
{
    way plain = { { 0 } };
    plain.at[AXIS_replicas] = w->at[AXIS_replicas];
    plain.at[AXIS_int8] = w->at[AXIS_int8];
    return plain;
}

// One batch has the outputs of all replicas in another form: only the gradients are compared.
static void run_base(const description *d, const way *w, results *base)
{
    way plain = plain_way(w);
    run_way(&plain, build_description, d->rows, d->microbatches, files, base);
    if (w->at[AXIS_replicas] && w->at[AXIS_whole]) keep_reduced_gradients(base);
}

static bool differs(const description *d, const way *w, char *why, size_t size)
{
    static results base, got;
    building = d;
    run_base(d, w, &base);
    run_way(w, build_description, d->rows, d->microbatches, files, &got);
    bool different = !agree(&base, &got, tolerance(d, w), why, size);
    results_free(&base);
    results_free(&got);
    return different;
}

// ---- Shrinking: whatever can go while the values still differ ----

// What is wrong: values, a value that is not there, or the end of an error, which names no tensors.
// A smaller graph must fail in the same way.
static char failing_as[32];

static void kind_of_failure(const char *why, char kind[32])
{
    size_t length = strlen(why);
    bool is_refused = !strncmp(why, "SAMBA_", 6);
    if (is_refused)
        snprintf(kind, 32, "%s", why + (length > 20 ? length - 20 : 0));
    else
        snprintf(kind, 32, "%s", strstr(why, "is not there") ? "is not there" : "values");
}

static bool fails_alike(const char *why)
{
    char kind[32];
    kind_of_failure(why, kind);
    return !strcmp(kind, failing_as);
}

static bool is_used(const description *d, int i)
{
    for (int k = 0; k < d->n; k++)
        for (int m = 0; m < d->r[k].n_in; m++)
            if (d->r[k].in[m] == i) return true;
    for (int k = 0; k < d->n_outputs; k++)
        if (d->output[k] == i) return true;
    for (int k = 0; k < d->n_losses; k++)
        if (d->loss[k] == i) return true;
    return false;
}

static void replace_number(int *at, int from, int to)
{
    if (*at == from) *at = to;
}

static void replace_uses(description *d, int from, int to)
{
    for (int k = 0; k < d->n; k++)
        for (int m = 0; m < d->r[k].n_in; m++)
            replace_number(&d->r[k].in[m], from, to);
    for (int k = 0; k < d->n_outputs; k++)
        replace_number(&d->output[k], from, to);
    for (int k = 0; k < d->n_losses; k++)
        replace_number(&d->loss[k], from, to);
}

static void drop_record(description *d, int i)
{
    memmove(d->r + i, d->r + i + 1, (size_t)(d->n - i - 1) * sizeof *d->r);
    d->n--;
    for (int k = i + 1; k <= d->n; k++)
        replace_uses(d, k, k - 1);
}

static void drop_number(int *list, int *n, int i)
{
    for (int k = i; k + 1 < *n; k++)
        list[k] = list[k + 1];
    --*n;
}

// Are the rows of a batch still apart?
static bool still_clean(const description *next)
{
    static gen g;
    static description d;
    bool fine = true;
    begin_gen(&g, &d, next->seed);
    d.clean = true;
    d.n = 0;
    for (int i = 0; i < next->n && fine; i++) {
        bool last
            = next->r[i].op == OP_average || next->r[i].op == OP_add || next->r[i].op == OP_tanh;
        fine = add_record(&g, &next->r[i], last) == i;
    }
    for (int i = 0; i < next->n_losses && fine; i++)
        fine = dims(&g, next->loss[i]) == 0;
    for (int i = 0; i < next->n_outputs && fine; i++)
        fine = g.batched[next->output[i]] && has_rows(next, next->output[i]);
    for (int i = 0; i < 2; i++)
        samba_close(g.n[i].s);
    return fine;
}

// Has it masks? Those of replicas are other ones.
static bool drops(const description *d)
{
    for (int i = 0; i < d->n; i++)
        if (d->r[i].op == OP_dropout || d->r[i].op == OP_attention_dropout
            || d->r[i].op == OP_noise)
            return true;
    return false;
}

// A second graph leaves the first one's results as they are, unless the forward pass changes what
// the next one reads. Microbatches are for programs of one graph.
static bool may_have_second(const description *d)
{
    int result = d->inference ? d->output[0] : d->loss[0];
    for (int i = 0; i < d->n; i++) {
        int op = d->r[i].op;
        if (op == OP_buffer || op == OP_batch_norm || op == OP_batchnorm) return false;
    }
    return !drops(d) && d->microbatches == 1 && d->r[result].n_in > 0;
}

// Tries `next` in place of `d`.
static bool try_smaller(description *d, const description *next)
{
    char why[1100];
    if (!next->inference && !next->n_losses) return false;
    if (next->w.at[AXIS_second] && !may_have_second(next)) return false;
    if (next->clean && next->w.at[AXIS_whole] && !still_clean(next)) return false;
    if (!differs(next, &next->w, why, sizeof why) || !fails_alike(why)) return false;
    *d = *next;
    return true;
}

static bool shrink_settings(description *d)
{
    bool any = false;
    int *const settings[] = { &d->n_optims, &d->momentum, &d->nesterov,    &d->decays,
                              &d->clips,    &d->graphamp, &d->param_dtype, &d->weights };
    for (int i = 0; i < N_AXES; i++) {
        description next = *d;
        if (!d->w.at[i]) continue;
        next.w.at[i] = i == AXIS_replicas ? d->w.at[i] - 1 : 0;
        any = try_smaller(d, &next) || any;
    }
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        description next = *d, before = *d;
        if (!*settings[i]) continue;
        --*settings[i];
        next = *d;
        *d = before;
        any = try_smaller(d, &next) || any;
    }
    if (d->microbatches > 1) {
        description next = *d;
        next.microbatches--;
        any = try_smaller(d, &next) || any;
    }
    return any;
}

static bool shrink_lists(description *d)
{
    bool any = false;
    for (int i = d->n_outputs - 1; i >= 0; i--) {
        description next = *d;
        drop_number(next.output, &next.n_outputs, i);
        any = try_smaller(d, &next) || any;
    }
    for (int i = d->n_losses - 1; i >= 0; i--) {
        description next = *d;
        drop_number(next.loss, &next.n_losses, i);
        any = try_smaller(d, &next) || any;
    }
    return any;
}

static bool shrink_records(description *d)
{
    bool any = false;
    for (int i = d->n - 1; i >= 0; i--) {
        if (i >= d->n) continue;
        bool gone = false;
        if (!is_used(d, i)) {
            description next = *d;
            drop_record(&next, i);
            gone = try_smaller(d, &next);
        }
        for (int to = i - 1; to >= 0 && !gone; to--) { // something before it in its place
            description next = *d;
            replace_uses(&next, i, to);
            drop_record(&next, i);
            gone = try_smaller(d, &next);
        }
        for (int k = 0; k < d->r[i].n_in && !gone; k++) {
            description next = *d;
            if (d->r[i].in[k] < 0) continue;
            next.r[i].in[k] = -1;
            any = try_smaller(d, &next) || any;
        }
        any = any || gone;
    }
    return any;
}

static void shrink(description *d)
{
    for (int round = 0; round < 20; round++) {
        bool any = shrink_settings(d);
        any = shrink_lists(d) || any;
        any = shrink_records(d) || any;
        if (!any) return;
    }
}

// ---- Printing as C ----

static void print_shape(FILE *f, const int *a)
{
    fprintf(f, a[0] ? "SAMBA_SHAPE(" : "SAMBA_SCALAR");
    for (int i = 0; i < a[0]; i++) {
        if (i) fprintf(f, ", ");
        if (a[1 + i] == ROWS)
            fprintf(f, "n->rows");
        else
            fprintf(f, "%d", a[1 + i]);
    }
    if (a[0]) fprintf(f, ")");
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// One word of the expression of a record, with what it stands for; returns what comes after it.
static const char *print_word(FILE *f, const record *r, const char *at)
{
    static const char inputs[] = "xyzup";
    size_t n = 0;
    while (is_word(at[n]))
        n++;
    const char *input = n == 1 ? strchr(inputs, *at) : NULL;
    int which = input ? r->in[input - inputs] : -1;
    if (input && which < 0)
        fprintf(f, "NULL");
    else if (input)
        fprintf(f, "v[%d]", which);
    else if (n == 1 && *at == 'f')
        fprintf(f, "%#.9gf", (double)r->f);
    else if (n == 1 && *at == 'a' && at[1] == '[') {
        fprintf(f, "%d", r->a[at[2] - '0']);
        return at + 4;
    } else if (n == 4 && !strncmp(at, "name", 4))
        fprintf(f, "\"%s%d\"", ops[r->op].name, r->id);
    else if (n == 5 && !strncmp(at, "SHAPE", 5)) {
        print_shape(f, r->a + (at[6] - '0'));
        return at + 8;
    } else
        fprintf(f, "%.*s", (int)n, at);
    return at + n;
}

static void print_record(FILE *f, const description *d, int i)
{
    const record *r = &d->r[i];
    fprintf(f, "    v[%d] = ", i);
    for (const char *at = ops[r->op].text; *at;) {
        if (is_word(*at))
            at = print_word(f, r, at);
        else
            fputc(*at++, f);
    }
    fprintf(f, ";\n");
}

static void print_optimizers(FILE *f, const description *d)
{
    for (int o = 0; o < d->n_optims; o++) {
        fprintf(f, "    n->optim[%d].kind = %s;\n", o, samba__optimizers[d->kind[o]].written);
        fprintf(f, "    n->optim[%d].lr = 0.0625f;\n", o);
        if (optimizer_of_row(d->kind[o]).amsgrad)
            fprintf(f, "    n->optim[%d].amsgrad = true;\n", o);
        if (optimizer_of_row(d->kind[o]).centered)
            fprintf(f, "    n->optim[%d].centered = true;\n", o);
        if (optimizer_may_have_momentum(d->kind[o]) && d->momentum)
            fprintf(f, "    n->optim[%d].momentum = 0.5f;\n", o);
        if (d->kind[o] == 0 && d->momentum && d->nesterov)
            fprintf(f, "    n->optim[%d].nesterov = true;\n", o);
        if (d->decays) fprintf(f, "    n->optim[%d].weight_decay = 0.125f;\n", o);
        if (d->clips == 1 + o || d->clips == 3)
            fprintf(f, "    n->optim[%d].max_grad_norm = 0.5f;\n", o);
        if (o == 0) continue;
        fprintf(f, "    n->optim[%d].params = n->listed[%d];\n", o, o);
        fprintf(f,
                "    for (int i = 0; i < n->n_params; i += 2)\n        if (!n->param[i]->frozen) "
                "n->listed[%d][n->optim[%d].n_params++] = n->param[i];\n",
                o, o);
    }
    fprintf(f, "    p->optims = n->optim, p->n_optims = %d;\n", d->n_optims);
    if (d->clips == 4 && d->n_optims) fprintf(f, "    p->max_grad_norm = 0.5f;\n");
}

static void print_settings(FILE *f, const description *d)
{
    fprintf(f, "    samba_program *p = &n->program;\n");
    for (int i = 0; i < d->n_outputs; i++)
        fprintf(f, "    p->outputs[%d] = v[%d];\n", i, d->output[i]);
    if (d->weights) fprintf(f, "    p->weights = (samba_weights)%d;\n", d->weights);
    if (d->inference) {
        fprintf(f, "    p->inference = true;\n");
        return;
    }
    fprintf(f, "    p->loss = v[%d];\n", d->loss[0]);
    for (int i = 1; i < d->n_losses; i++) {
        int at = d->n_outputs + i - 1;
        fprintf(f, "    p->outputs[%d] = v[%d];\n    p->loss_indices[p->n_loss_indices++] = %d;\n",
                at, d->loss[i], at);
    }
    print_optimizers(f, d);
}

static void print_run_header(FILE *f)
{
    char line[512];
    FILE *header = fopen("tests/lib/random_run.h", "r");
    if (!header) {
        fprintf(f, "#include \"random_run.h\"\n");
        return;
    }
    while (fgets(line, sizeof line, header))
        fputs(line, f);
    fclose(header);
}

static void print_program(FILE *f, const description *d)
{
    static const char *const axes[] = {
#define X(name, n) #name,
        AXES(X)
#undef X
    };
    fprintf(f, "// Graph %u of tests/core/random.c.  cc -O1 -I. THIS.c -lm -pthread && ./a.out\n",
            d->seed);
    fprintf(f, "#define SAMBA_IMPLEMENTATION\n#include \"samba.h\"\n");
    fprintf(f,
            "#define SAMBA_PARALLEL_IMPLEMENTATION\n#include \"tools/include/samba/parallel.h\"\n");
    print_run_header(f);
    fprintf(f, "\nstatic void build(net *n)\n{\n    samba_tensor **v = n->v;\n");
    if (d->inference)
        fprintf(
            f,
            "    if (n->eager) samba_set_train(n->s, false), samba_use_running_stats(n->s, true);\n");
    if (d->graphamp)
        fprintf(f, "    samba_set_graphamp(n->s, n->eager ? SAMBA_MP0 : SAMBA_MP%d);\n",
                d->graphamp);
    if (d->param_dtype)
        fprintf(f, "    samba_set_param_dtype(n->s, (samba_dtype)%d);\n", d->param_dtype);
    for (int i = 0; i < d->n; i++)
        print_record(f, d, i);
    print_settings(f, d);
    fprintf(
        f,
        "}\n\nint main(void)\n{\n    static results a, b;\n    way plain = { { 0 } }, other = { { 0 } };\n    char why[1100];\n");
    for (int i = 0; i < N_AXES; i++)
        if (d->w.at[i]) fprintf(f, "    other.at[AXIS_%s] = %d;\n", axes[i], d->w.at[i]);
    fprintf(f, "    plain.at[AXIS_replicas] = other.at[AXIS_replicas];\n");
    fprintf(f, "    plain.at[AXIS_int8] = other.at[AXIS_int8];\n");
    fprintf(f, "    run_way(&plain, build, %d, %d, \"random\", &a);\n", d->rows, d->microbatches);
    if (d->w.at[AXIS_replicas] && d->w.at[AXIS_whole])
        fprintf(f, "    keep_reduced_gradients(&a);\n");
    fprintf(f, "    run_way(&other, build, %d, %d, \"random\", &b);\n", d->rows, d->microbatches);
    fprintf(f,
            "    bool same = agree(&a, &b, %g, why, sizeof why);\n"
            "    printf(\"%%s\\n\", same ? \"the same\" : why);\n    return !same;\n}\n",
            tolerance(d, &d->w));
}

// ---- One graph ----

static bool verbose, prints;
static int most_printed = 5;

static void report(description *d, const char *why)
{
    char path[96];
    n_different++;
    test_bad++;
    printf("graph %u: %s\n", d->seed, why);
    for (int i = 0; i < N_AXES; i++)
        printf("%s%d", i ? " " : "    way ", d->w.at[i]);
    printf("\n");
    if (most_printed <= 0) return;
    most_printed--;
    kind_of_failure(why, failing_as);
    shrink(d);
    for (int i = 0; i < N_AXES; i++)
        axis_differs[i] += d->w.at[i] != 0;
    snprintf(path, sizeof path, "build/random_%u.c", d->seed);
    FILE *f = fopen(path, "w");
    if (f) {
        print_program(f, d);
        fclose(f);
    }
    printf("    shrunk to %d values, %d microbatches; build/random_%u.c shows it:\n", d->n,
           d->microbatches, d->seed);
    for (int i = 0; i < d->n; i++)
        print_record(stdout, d, i);
    print_settings(stdout, d);
    for (int i = 0; i < N_AXES; i++)
        printf("%s%d", i ? " " : "    way ", d->w.at[i]);
    printf("\n");
}

static way any_way(uint32_t *state)
{
    static const int sizes[] = {
#define X(name, n) n,
        AXES(X)
#undef X
    };
    way w = { { 0 } };
    for (int i = 0; i < AXIS_whole; i++) {
        *state = *state * 1664525u + 1013904223u;
        uint32_t bits = *state >> 8;
        if (i == AXIS_replicas || i == AXIS_int8) continue;
        if (bits % 100 < 35) w.at[i] = 1 + (int)(bits / 100 % (uint32_t)(sizes[i] - 1));
    }
    return w;
}

static void try_way(const description *d, const results *base, way w)
{
    static results got;
    char why[1100];
    run_way(&w, build_description, d->rows, d->microbatches, files, &got);
    n_runs++;
    for (int i = 0; i < N_AXES; i++)
        axis_met[i][w.at[i]]++;
    if (!agree(base, &got, tolerance(d, &w), why, sizeof why)) {
        description failing = *d;
        failing.w = w;
        report(&failing, why);
        building = d;
    }
    results_free(&got);
}

// The program without what eager ops do not do - GraphAMP, microbatches, packed weights, dropout
// that counts its runs - against eager ops: they know nothing of what the compiler rewrites.
static void against_eager(const description *d)
{
    static description plain;
    static results base;
    way w = { { 0 } };
    plain = *d;
    plain.graphamp = 0;
    plain.microbatches = 1;
    plain.weights = 0;
    for (int i = 0; i < plain.n; i++) {
        if (plain.r[i].op == OP_dropout || plain.r[i].op == OP_noise) plain.r[i].f = 0;
        if (plain.r[i].op == OP_attention_dropout) plain.r[i].a[1] = 0;
    }
    building = &plain;
    run_way(&w, build_description, plain.rows, plain.microbatches, files, &base);
    w.at[AXIS_eager] = 1;
    if (!base.refused) try_way(&plain, &base, w);
    results_free(&base);
}

// Takes out of a graph what a program must not ask for, if that is why it was refused.
static bool make_acceptable(description *d, const char *why)
{
    bool no_rows = strstr(why, "must count the rows")
        || strstr(why, "is made of those of the parts")
        || strstr(why, "joins rows"); // an output of microbatches
    if (strstr(why, "has no parameter that influences") && d->n_optims)
        d->n_optims--;
    else if (no_rows && d->n_outputs)
        d->n_outputs--;
    else if (no_rows && d->n_losses > 1)
        d->n_losses--;
    else if (no_rows && d->microbatches > 1)
        d->microbatches = 1;
    else
        return false;
    return true;
}

// What a random graph cannot know: all else that is refused is a fault of the compiler.
static bool may_be_refused(const char *why)
{
    static const char *const reasons[]
        = { "a second derivative through this op is not offered", "overwrites before",
            "has no parameter that influences",
            // a NaN, in int8
            "which no integer stands for", "data it was calibrated with made a NaN" };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strstr(why, reasons[i])) return true;
    return false;
}

// One number for all values of all graphs as compiled: versions of samba.h that print the same one
// compute the same bits.
static uint64_t hash_of_values = 1469598103934665603u;

static void hash_results(const results *r)
{
    for (int k = 0; k < r->n; k++) {
        for (int64_t i = 0; i < r->e[k].n; i++) {
            uint32_t bits = 0x7fc00000u; // all NaNs are one
            if (r->e[k].x[i] == r->e[k].x[i]) memcpy(&bits, &r->e[k].x[i], sizeof bits);
            hash_of_values = (hash_of_values ^ bits) * 1099511628211u;
        }
    }
}

// Inference programs once more as int8: ways of compiling and running change no bit of these
// either.
static void in_int8(const description *d, uint32_t *state)
{
    static results base;
    way w = { { 0 } };
    if (!d->inference) return;
    w.at[AXIS_int8] = 1;
    building = d;
    run_base(d, &w, &base);
    if (base.refused && !may_be_refused(base.why)) {
        printf("graph %u in int8: %s\n", d->seed, base.why);
        test_bad++;
    }
    for (int i = 0; i < 2 && !base.refused; i++) {
        way other = any_way(state);
        other.at[AXIS_int8] = 1;
        other.at[AXIS_packed] = other.at[AXIS_second] = 0;
        try_way(d, &base, other);
    }
    results_free(&base);
}

// A third of the programs that train, in 2 to 4 replicas: all modes, places of the reduction and
// ways of compiling give the bits of the plain ones; where rows do not meet, one batch about the
// same.
static void in_replicas(const description *d, uint32_t *state)
{
    static results base;
    way w = { { 0 } };
    if (d->inference || d->seed % 3) return;
    w.at[AXIS_replicas] = 1 + (int)(d->seed / 3 % 3);
    building = d;
    run_base(d, &w, &base);
    if (base.refused && !may_be_refused(base.why)) {
        printf("graph %u in %d replicas: %s\n", d->seed, 1 + w.at[AXIS_replicas], base.why);
        test_bad++;
    }
    for (int i = 0; i < 3 && !base.refused; i++) {
        way other = any_way(state);
        other.at[AXIS_replicas] = w.at[AXIS_replicas];
        other.at[AXIS_mode] = i;
        other.at[AXIS_mapping] = 0; // spatial keeps no gradients to reduce
        other.at[AXIS_second] = 0;
        try_way(d, &base, other);
    }
    w.at[AXIS_whole] = 1;
    if (d->clean && !drops(d) && !base.refused) {
        keep_reduced_gradients(&base);
        try_way(d, &base, w);
    }
    results_free(&base);
}

// The graph of a seed, as compiled by default.
static void run_graph_of(uint32_t seed, description *d, results *base)
{
    way w = { { 0 } };
    generate(d, seed);
    building = d;
    do
        run_way(&w, build_description, d->rows, d->microbatches, files, base);
    while (base->refused && make_acceptable(d, base->why));
    if (verbose)
        printf("graph %u: %d values%s%s\n", seed, d->n, base->refused ? ", refused: " : "",
               base->refused ? base->why : "");
    if (prints) print_program(stdout, d);
    n_refused += base->refused;
    hash_results(base);
    if (base->refused && !may_be_refused(base->why)) {
        printf("graph %u: %s\n", seed, base->why);
        test_bad++;
    }
}

static void one_graph(uint32_t seed)
{
    static description d;
    static results base;
    way w = { { 0 } };
    uint32_t state = seed * 2246822519u + 99u;
    run_graph_of(seed, &d, &base);
    for (int i = 0; i < 4; i++) {
        way other = any_way(&state);
        if (!may_have_second(&d)) other.at[AXIS_second] = 0;
        try_way(&d, &base, other);
    }
    w.at[AXIS_whole] = 1;
    if (d.clean) try_way(&d, &base, w);
    bool was_refused = base.refused;
    results_free(&base);
    if (!was_refused) in_replicas(&d, &state);
    if (!was_refused) in_int8(&d, &state);
    against_eager(&d);
}

// A graph under a preset: on every instruction set, with 1 to 4 threads, at every level. Some are
// loaded; those that train go on from a checkpoint.
static void graph_under_preset(uint32_t seed)
{
    static description d;
    static results base;
    run_graph_of(seed, &d, &base);
    for (int k = 0; k < 6 && !base.refused; k++) {
        way w = { { 0 } };
        w.at[AXIS_threads] = (k + 1) % 4;
        w.at[AXIS_level] = (int)(seed + (uint32_t)k) % 3;
        w.at[AXIS_portable] = k == 0 || k == 5;
        w.at[AXIS_set] = k < 3 ? k : 0;
        w.at[AXIS_load] = k % 3;
        w.at[AXIS_resume] = k > 2;
        w.at[AXIS_memory] = k == 4 ? (int)(seed % 4) : 0;
        w.at[AXIS_packed] = k == 3 || k == 5;
        try_way(&d, &base, w);
    }
    results_free(&base);
}

static uint32_t n_graphs = 300, first_graph;

static void test_random_programs(void)
{
    for (uint32_t i = 0; i < n_graphs; i++)
        one_graph(first_graph + i);
}

static void graphs_under(samba_graphamp chosen, uint32_t n)
{
    n_half_products = 0;
    preset = chosen;
    for (uint32_t i = 0; i < n; i++)
        graph_under_preset(first_graph + i);
    preset = SAMBA_MP0;
    printf("mp%d: %u graphs, %ld products in bf16\n", (int)chosen, n, (long)n_half_products);
    CHECK(n_half_products >= n);
}

static samba_graphamp only; // MP0: all that is tested

static void test_only(void)
{
    graphs_under(only, n_graphs);
}

static void test_mp1(void)
{
    graphs_under(SAMBA_MP1, n_graphs / 10);
}

static void test_mp4(void)
{
    graphs_under(SAMBA_MP4, n_graphs / 10);
}

// May programs do without an op? An elementwise one that is not drawn is tested by its row in
// tests/lib/reference.h, and ops of int8 by random programs of their own in quantize.c. A list that
// grows draws other programs.
static bool is_optional(const samba_op *op)
{
    static const char *const drawn[] = {
#define X(name, kind, call) #name,
        OPS(X)
#undef X
    };
    if (op->wire >> 8 == 8) return true; // int8
    if (samba__class_of(op) != SAMBA__IS_ELEMENTWISE || strstr(op->name, "_backward")) return false;
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        if (!strcmp(drawn[i], op->name)) return false;
    return true;
}

static void test_every_op_and_axis(void)
{
    for (int i = 0; i < SAMBA__N_OPS; i++) {
        if (op_met[i] || is_optional(&samba__op_table[i])) continue;
        printf("op %s was never met\n", samba__op_table[i].name);
        CHECK(n_graphs < 300);
    }
#define X(name, n) \
    for (int k = 0; k < n; k++) \
        CHECK(axis_met[AXIS_##name][k] || n_graphs < 300);
    AXES(X)
#undef X
}

static void print_counts(void)
{
    printf("%u graphs, %ld runs, %ld refused, %ld differ\n", n_graphs, (long)n_runs,
           (long)n_refused, (long)n_different);
    printf("the hash of all values is %016llx\n", (unsigned long long)hash_of_values);
#define X(name, n) \
    printf("%-10s met %ld, differs %ld\n", #name, (long)(n_runs - axis_met[AXIS_##name][0]), \
           (long)axis_differs[AXIS_##name]);
    AXES(X)
#undef X
    if (!verbose) return;
    for (int i = 0; i < SAMBA__N_OPS; i++)
        printf("%-40s %ld\n", samba__op_table[i].name, (long)op_met[i]);
}

static void remove_files(void)
{
    static const char *const endings[4] = { ".pef", ".pef.log", ".pef.map", ".ckpt" };
    char path[96];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", files, endings[i]);
        remove(path);
    }
}

static void choose_preset(const char *name)
{
    if (!strcmp(name, "mp1"))
        only = SAMBA_MP1;
    else if (!strcmp(name, "mp4"))
        only = SAMBA_MP4;
    else {
        fprintf(stderr, "--graphamp takes mp1 or mp4\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    uint32_t *const numbers[2] = { &n_graphs, &first_graph };
    for (int i = 1, k = 0; i < argc; i++) {
        if (!strcmp(argv[i], "-v"))
            verbose = true;
        else if (!strcmp(argv[i], "-p"))
            prints = true;
        else if (!strcmp(argv[i], "--graphamp"))
            choose_preset(i + 1 < argc ? argv[++i] : "");
        else if (k < 2)
            *numbers[k++] = (uint32_t)strtoul(argv[i], NULL, 10);
    }
    mkdir("build", 0777);
    snprintf(files, sizeof files, "build/random_%ld", (long)getpid());
    printf("graphs %u to %u\n", first_graph, first_graph + n_graphs - 1);
    if (only)
        RUN(test_only);
    else {
        RUN(test_random_programs);
        RUN(test_every_op_and_axis);
        RUN(test_mp1);
        RUN(test_mp4);
    }
    print_counts();
    remove_files();
    return test_summary();
}
