// What a program needs is what was promised: samba_run allocates nothing, the device's memory has
// exactly the promised size, and sharing memory changes no result.
//     cc -O2 -I. tests/core/plan.c -lm -pthread -o plan && ./plan [graphs]
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include "tests/lib/hook.h"
#include <sys/stat.h>

enum { N = 4, SIDE = 6, CLASSES = 3, GUARD = 256, PAINT = 0xC3 };

enum { MOST_TENSORS = 80, MOST_OUTPUTS = 4, N_INPUTS = 4 };

static int n_graphs = TEST_TIMES(300);

// ---- The symbols of a PEF, read as its layout says ----

typedef struct symbol_place {
    int role, region;
    uint64_t offset, bytes;
    uint32_t first, last, alias;
    const char *name;
} symbol_place;

static uint64_t read_le(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = n - 1; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static uint32_t n_places(const uint8_t *pef)
{
    return (uint32_t)read_le(pef + 32, 4);
}

static symbol_place place_at(const uint8_t *pef, uint32_t i)
{
    const uint8_t *r = pef + 128 + (size_t)i * 80;
    const uint8_t *strings = pef + 128 + (size_t)n_places(pef) * 80 + read_le(pef + 36, 4) * 32
        + read_le(pef + 40, 4) * 16 + read_le(pef + 44, 4) * 4;
    symbol_place s;
    s.role = r[4];
    s.region = r[7];
    s.bytes = samba_dtype_size((samba_dtype)r[5]);
    for (int d = 0; d < r[6]; d++)
        s.bytes *= read_le(r + 8 + 4 * d, 4);
    if (r[73]) s.bytes *= read_le(pef + 56, 4);
    s.offset = read_le(r + 40, 8);
    s.first = (uint32_t)read_le(r + 56, 4);
    s.last = (uint32_t)read_le(r + 60, 4);
    s.alias = (uint32_t)read_le(r + 64, 4);
    s.name = (const char *)strings + read_le(r, 4);
    return s;
}

static uint64_t region_size(const uint8_t *pef, int region)
{
    return read_le(pef + 64 + 8 * region, 8);
}

static uint64_t up64(uint64_t n)
{
    return (n + 63) / 64 * 64;
}

// Every region ends where its last symbol ends: the high-water mark is the promise.
static void check_regions(const uint8_t *pef)
{
    uint64_t end[4] = { 0, 0, 0, 0 };
    for (uint32_t i = 0; i < n_places(pef); i++) {
        symbol_place s = place_at(pef, i);
        if (s.offset + up64(s.bytes) > end[s.region]) end[s.region] = s.offset + up64(s.bytes);
    }
    for (int r = 0; r < 4; r++)
        CHECK(end[r] == region_size(pef, r));
}

// ---- Programs of several kinds ----

typedef struct model {
    samba_session *s;
    samba_tensor *image, *label, *logits, *loss;
    hook h;
} model;

static void open_model(model *m)
{
    samba_conv_opts same = { { 0, 0 }, { 1, 1 }, { 0, 0 }, 0 };
    samba_desc d = hook_desc(&m->h);
    d.threads = 2;
    m->s = samba_open(&d);
    m->image = samba_input(m->s, "image", SAMBA_F32, SAMBA_SHAPE(N, 1, SIDE, SIDE));
    m->label = samba_input(m->s, "label", SAMBA_I32, SAMBA_SHAPE(N));
    samba_tensor *h = samba_batchnorm(samba_conv2d(m->image, "conv", 4, 3, &same), "norm");
    h = samba_dropout(samba_relu(h), "drop", 0.25f);
    h = samba_transpose(samba_reshape(h, SAMBA_SHAPE(N, 4, SIDE * SIDE)), 1, 2);
    h = samba_scaled_dot_product_attention(h, h, h, NULL, NULL);
    m->logits = samba_linear(samba_flatten(h, 1), "head", CLASSES);
    m->loss = samba_cross_entropy(m->logits, m->label);
}

static samba_program program_of(const model *m, bool inference, int32_t microbatches)
{
    samba_program p = { 0 };
    p.loss = m->loss;
    p.outputs[0] = m->logits;
    p.inference = inference;
    p.microbatches = microbatches;
    p.optim.kind = SAMBA_ADAMW;
    p.optim.max_grad_norm = 1.0f;
    return p;
}

static void fill(const model *m)
{
    static float image[2 * N * SIDE * SIDE];
    static int32_t label[2 * N];
    for (int i = 0; i < 2 * N * SIDE * SIDE; i++)
        image[i] = 0.1f * (float)(i % 11) - 0.5f;
    for (int i = 0; i < 2 * N; i++)
        label[i] = i % CLASSES;
    CHECK(samba_write(m->image, image) && samba_write(m->label, label));
}

// ---- samba_run allocates nothing ----

static void run_all_ways(const model *m, bool inference, int32_t microbatches)
{
    samba_session *s = m->s;
    samba_run_desc d = { 0 };
    samba_value values[2] = { { "lr", 0.01 }, { "p", 0.5 } };
    int32_t ids[2] = { 0, 1 };
    fill(m);
    CHECK(samba_run(s, 0) && samba_run(s, SAMBA_FWD));
    d.eval = true;
    CHECK(samba_run_with(s, &d));
    if (inference) return;
    CHECK(samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_GRADNORM | SAMBA_OPT));
    d.eval = false;
    d.hyperparams = values;
    d.n_hyperparams = 2;
    CHECK(samba_run_with(s, &d));
    d.types[0] = SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT;
    if (microbatches < 2) CHECK(samba_run_with(s, &d));
    d.types[0] = 0;
    d.section_ids = ids;
    d.n_section_ids = 2;
    CHECK(samba_run_with(s, &d));
    CHECK(samba_set(s, "lr", 0.1) && samba_get(s, "lr") > 0.09 && samba_set_train(s, true));
    CHECK(samba_read(m->loss)[0] > 0.0f);
    CHECK(samba_read(samba_sn_grad(samba_tensor_by_name(s, "head__weight"))));
}

static void no_allocation(bool inference, int32_t microbatches, samba_opt_level level)
{
    model m;
    open_model(&m);
    samba_program p = program_of(&m, inference, microbatches);
    p.level = level;
    CHECK(samba_compile(m.s, &p));
    long n = m.h.n_calls;
    size_t live = m.h.live;
    run_all_ways(&m, inference, microbatches);
    CHECK(m.h.n_calls == n && m.h.live == live);
    if (!samba_ok(m.s)) printf("    %s\n", samba_error(m.s));
    CHECK(samba_close(m.s) == 0);
    CHECK(m.h.live == 0 && m.h.n_wrong == 0);
}

static void test_run_allocates_nothing(void)
{
    no_allocation(false, 0, SAMBA_O_DEFAULT);
    no_allocation(false, 0, SAMBA_O0);
    no_allocation(false, 2, SAMBA_O1);
    no_allocation(true, 0, SAMBA_O3);
}

// ---- The numbers of bytes that are told are the ones that are asked for ----

typedef struct size_log {
    hook h;
    size_t size[64];
    int n;
} size_log;

static void *logging_alloc(size_t size, void *user)
{
    size_log *log = (size_log *)user;
    log->size[log->n++ % 64] = size;
    return hook_alloc(size, &log->h);
}

static void logging_release(void *p, size_t size, void *user)
{
    hook_release(p, size, &((size_log *)user)->h);
}

static void test_device_bytes(void)
{
    size_log log;
    samba_desc d = hook_desc(&log.h);
    log.n = 0;
    d.alloc = logging_alloc;
    d.release = logging_release;
    d.user = &log;
    samba_session *s = samba_open(&d);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(50, 70));
    samba_program p = { 0 };
    p.loss = samba_sum(samba_tanh(samba_linear(x, "fc", 90)), SAMBA_ALL_AXES, false);
    p.optim.kind = SAMBA_ADAM;
    CHECK(samba_device_bytes(s) == 0);
    for (int round = 0; round < 2; round++) {
        log.n = 0;
        CHECK(samba_compile(s, &p));
        size_t bytes = samba_device_bytes(s);
        int found = 0;
        for (int i = 0; i < log.n && i < 64; i++)
            found += log.size[i] == bytes;
        CHECK(found == 1 && log.n <= 64);
        uint64_t regions = 0;
        for (int r = 0; r < 4 && s->program.rt; r++)
            regions += region_size(s->program.file.tables, r);
        CHECK(bytes > regions && bytes < regions + 64 * 1024); // and the tables of the runtime
        CHECK(samba_held_bytes(s) == log.h.live);
        p.inference = true;
    }
    CHECK(samba_close(s) == 0);
    CHECK(log.h.live == 0 && log.h.n_wrong == 0);
}

// Compiling again and again does not pile up programs.
static void test_recompile_keeps_size(void)
{
    model m;
    open_model(&m);
    samba_program train = program_of(&m, false, 0), infer = program_of(&m, true, 0);
    size_t live[3] = { 0, 0, 0 };
    for (int round = 0; round < 6; round++) {
        CHECK(samba_compile(m.s, round % 2 ? &infer : &train));
        fill(&m);
        CHECK(samba_run(m.s, 0));
        if (round % 2) live[round / 2] = m.h.live;
    }
    if (!samba_ok(m.s)) printf("    %s\n", samba_error(m.s));
    printf("held after three rounds of compiling: %lu, %lu, %lu bytes\n", (unsigned long)live[0],
           (unsigned long)live[1], (unsigned long)live[2]);
    CHECK(live[2] < live[1] + 300 * 1024);
    CHECK(samba_close(m.s) == 0);
    CHECK(m.h.live == 0 && m.h.n_wrong == 0);
}

// ---- A block of memory given by the caller ----

// Runs pef in a block of exactly size bytes between painted guards; shift moves the block's start.
static void run_between_guards(const uint8_t *pef, size_t pef_size, size_t shift)
{
    char why[200] = { 0 };
    size_t size = samba_runtime_bytes(pef, pef_size, why, sizeof why);
    uint8_t *all = (uint8_t *)malloc(size + 2 * GUARD + 64);
    CHECK(size > 0 && all);
    if (!all) return;
    uint8_t *block = all + GUARD + shift;
    memset(all, PAINT, size + 2 * GUARD + 64);
    CHECK(!samba_runtime_open(pef, pef_size, block, size - 1, why, sizeof why));
    for (size_t i = 0; i < size + 2 * GUARD + 64; i++)
        CHECK(all[i] == PAINT || test_bad);
    samba_runtime *rt = samba_runtime_open(pef, pef_size, block, size, why, sizeof why);
    if (!rt) { // it has no values: laid out all the same
        samba__text text = samba__text_in(NULL, 0);
        samba__pef pef_in = SAMBA__ZEROED;
        CHECK(strstr(why, "there is no value of parameter"));
        CHECK(samba__open_pef(&pef_in, pef, pef_size, &text));
        samba__layout at = samba__layout_of(&pef_in, true, samba__in_file(&pef_in));
        rt = samba__runtime_layout(&pef_in, block, NULL, &at, samba__in_file(&pef_in), false);
    }
    for (int i = 0; rt && i < 3; i++)
        CHECK(samba_runtime_run(rt, 0));
    for (uint8_t *p = all; p < block; p++)
        CHECK(*p == PAINT || test_bad);
    for (uint8_t *p = block + size; p < all + size + 2 * GUARD + 64; p++) {
        CHECK(*p == PAINT || test_bad);
    }

    uint8_t *end = block; // where the last value in the block ends
    for (uint32_t i = 0; rt && i < n_places(pef); i++) {
        symbol_place s = place_at(pef, i);
        if (s.role >= 8) continue;
        uint8_t *p = (uint8_t *)samba_runtime_data(rt, s.name);
        CHECK(p != NULL && ((uintptr_t)p & 63) == 0);
        bool in_file = s.region == 3 && p >= pef && p < pef + pef_size;
        const uint8_t *from = in_file ? pef : block, *to = from + (in_file ? pef_size : size);
        CHECK(p >= from && p + s.bytes <= to);
        if (!in_file && p + s.bytes > end) end = p + s.bytes;
    }
    // alignment: 64 of the start, 64 of the end
    CHECK(end > block + size - 128 && end <= block + size);
    free(all);
}

// The bytes of a program with its values, aligned as a device would have them.
static uint8_t *aligned_copy(const uint8_t *bytes, size_t size, void **owner)
{
    uint8_t *p = (uint8_t *)malloc(size + 64);
    CHECK(p != NULL);
    *owner = p;
    if (!p) return NULL;
    p += 64 - ((uintptr_t)p & 63);
    memcpy(p, bytes, size);
    return p;
}

static const void *every_value(samba_session *s, uint32_t index, const char *name,
                               const samba__symbol *q)
{
    (void)name;
    return samba__is_saved(q) ? s->program.rt->data[index] : NULL;
}

static void guards_around(bool inference, int32_t microbatches, bool with_values)
{
    model m;
    void *owner = NULL;
    open_model(&m);
    samba_program p = program_of(&m, inference, microbatches);
    CHECK(samba_compile(m.s, &p));
    if (!m.s->program.rt)
        printf("    %s\n", samba_error(m.s));
    else
        check_regions(m.s->program.file.tables);
    samba__file file = { 0 };
    if (m.s->program.rt) {
        samba__image image;
        CHECK(samba__image_open(&image, m.s, &m.s->program.rt->pef,
                                with_values ? every_value : samba__initial_value));
        CHECK(samba__image_whole(&image, &file));
        samba__image_close(&image);
    }
    size_t size = file.size;
    uint8_t *pef = file.bytes ? aligned_copy(file.bytes, size, &owner) : NULL;
    for (size_t shift = 0; pef && shift < 64; shift += 9)
        run_between_guards(pef, size, shift);
    free(owner);
    samba__file_close(m.s, &file, false);
    CHECK(samba_close(m.s) == 0);
    CHECK(m.h.live == 0);
}

static void test_given_block(void)
{
    guards_around(false, 0, false);
    guards_around(false, 2, true);
    guards_around(true, 0, false);
    guards_around(true, 0, true);
}

// ---- Random graphs: the program's outputs are the eager ones, bit for bit ----

static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(random_state >> 8) * n >> 24);
}

typedef struct graph {
    samba_tensor *t[MOST_TENSORS], *in[N_INPUTS], *out[MOST_OUTPUTS];
    int n, n_out;
} graph;

static samba_tensor *any_of(const graph *g)
{
    return g->t[random_below((uint32_t)g->n)];
}

// Rather a late one, so that chains get long.
static samba_tensor *late_of(const graph *g)
{
    int back = (int)random_below(4);
    return g->t[g->n - 1 - back > 0 ? g->n - 1 - back : 0];
}

static int32_t axis_of(const samba_tensor *x)
{
    return (int32_t)random_below((uint32_t)x->shape.ndim) - (random_below(2) ? x->shape.ndim : 0);
}

static samba_tensor *random_unary(samba_tensor *x)
{
    switch (random_below(12)) {
    case 0:
        return samba_tanh(x);
    case 1:
        return samba_sigmoid(x);
    case 2:
        return samba_relu(x);
    case 3:
        return samba_neg(x);
    case 4:
        return samba_exp(samba_tanh(x));
    case 5:
        return samba_scale(x, random_below(3) ? 0.5f : 1.0f);
    case 6:
        return samba_shift(x, 0.25f);
    case 7:
        return samba_sqrt(samba_abs(x));
    case 8:
        return samba_gelu(x);
    case 9:
        return samba_cast(samba_cast(x, SAMBA_BF16), SAMBA_F32);
    case 10:
        return samba_leaky_relu(samba_neg(samba_neg(x)), 0.1f);
    default:
        return samba_cast(samba_cast(samba_scale(x, 3.0f), SAMBA_I8), SAMBA_F32);
    }
}

// A second operand that broadcasts with x: itself, one of its shape, a row of it, or a constant.
static samba_tensor *partner_of(const graph *g, samba_tensor *x)
{
    uint32_t kind = random_below(6);
    for (int i = 0; i < 8 && kind < 2; i++) {
        samba_tensor *y = any_of(g);
        if (samba__same_shape(&y->shape, &x->shape)) return y;
    }
    if (kind == 2 && x->shape.ndim) return samba_mean(x, SAMBA_AXES(axis_of(x)), true);
    if (kind == 3) return samba_full(x->session, x->shape, random_below(2) ? 1.0f : 0.75f);
    if (kind == 4) return samba_number(x->session, 0.5f);
    return x;
}

static samba_tensor *random_binary(const graph *g, samba_tensor *x)
{
    samba_tensor *y = partner_of(g, x);
    if (random_below(3) == 0) {
        samba_tensor *swap = x;
        x = y;
        y = swap;
    }
    switch (random_below(7)) {
    case 0:
        return samba_add(x, y);
    case 1:
        return samba_sub(x, y);
    case 2:
        return samba_tanh(samba_mul(x, y));
    case 3:
        return samba_tanh(samba_div(x, samba_shift(samba_abs(y), 1.0f)));
    case 4:
        return samba_maximum(x, y);
    case 5:
        return samba_where(samba_gt(x, y), x, samba_neg(y));
    default:
        return samba_minimum(x, y);
    }
}

static samba_tensor *random_reshape(samba_tensor *x)
{
    int32_t n = (int32_t)samba_count(&x->shape);
    switch (random_below(6)) {
    case 0:
        return samba_reshape(x, SAMBA_SHAPE(-1));
    case 1:
        return samba_reshape(x, n % 2 ? SAMBA_SHAPE(1, n) : SAMBA_SHAPE(2, n / 2));
    case 2:
        x = samba_reshape(x, SAMBA_SHAPE(n, 1));
        return samba_reshape(x, n % 3 ? SAMBA_SHAPE(n) : SAMBA_SHAPE(3, -1));
    case 3:
        return x->shape.ndim < 5 ? samba_unsqueeze(x, 0) : samba_flatten(x, 0);
    case 4:
        return samba_flatten(samba_unsqueeze(x, -1), 0);
    default:
        return samba_reshape(x, n % 4 ? SAMBA_SHAPE(n, 1, 1) : SAMBA_SHAPE(n / 4, 2, 2));
    }
}

static samba_tensor *random_movement(samba_tensor *x)
{
    samba_tensor *both[2];
    int32_t axis = x->shape.ndim ? axis_of(x) : 0;
    if (x->shape.ndim == 0) return samba_unsqueeze(x, 0);
    switch (random_below(5)) {
    case 0:
        return samba_transpose(x, axis, axis_of(x));
    case 1:
        return samba_transpose(samba_transpose(x, 0, -1), 0, axis);
    case 2:
        return samba_slice(x, axis, 0, (samba_transpose(x, 0, axis)->shape.dim[0] + 1) / 2, 1);
    case 3:
        both[0] = x;
        both[1] = samba_neg(x);
        return samba_count(&x->shape) < 200 ? samba_cat(both, 2, axis) : x;
    default:
        x = samba_unsqueeze(x, 0);
        return samba_sum(samba_expand(x, x->shape), SAMBA_AXES(0), false);
    }
}

static samba_tensor *random_reduction(samba_tensor *x)
{
    if (x->shape.ndim == 0) return samba_tanh(x);
    switch (random_below(7)) {
    case 0:
        return samba_tanh(samba_sum(x, SAMBA_AXES(axis_of(x)), random_below(2)));
    case 1:
        return samba_mean(x, random_below(2) ? SAMBA_ALL_AXES : SAMBA_AXES(axis_of(x)), true);
    case 2:
        return samba_max(x, SAMBA_AXES(axis_of(x)), random_below(2));
    case 3:
        return samba_softmax(x, axis_of(x));
    case 4:
        return samba_log_softmax(samba_tanh(x), -1);
    case 5:
        return samba_layer_normalize(x, NULL, NULL, 1e-5f);
    default:
        return samba_rms_normalize(x, NULL, 1e-5f);
    }
}

static samba_tensor *random_product(samba_tensor *x)
{
    if (x->shape.ndim < 2 || x->shape.ndim > 5) return samba_tanh(x);
    samba_tensor *t = samba_transpose(x, -1, -2);
    switch (random_below(3)) {
    case 0:
        return samba_tanh(samba_matmul(x, t));
    case 1:
        return samba_tanh(samba_matmul(t, x));
    default:
        return samba_tanh(samba_matmul(samba_matmul(x, t), x));
    }
}

static samba_tensor *random_op(const graph *g)
{
    samba_tensor *x = random_below(4) ? late_of(g) : any_of(g);
    switch (random_below(8)) {
    case 0:
    case 1:
        return random_unary(x);
    case 2:
    case 3:
        return random_binary(g, x);
    case 4:
        return random_reshape(x);
    case 5:
        return random_movement(x);
    case 6:
        return random_reduction(x);
    default:
        return random_product(x);
    }
}

// The same seed gives the same graph, whether it is traced or computed at once.
static void random_graph(samba_session *s, uint32_t seed, graph *g)
{
    static const int32_t dims[8] = { 1, 2, 3, 4, 5, 8, 16, 17 };
    char name[8];
    random_state = seed * 2654435761u + 1;
    memset(g, 0, sizeof *g);
    for (int i = 0; i < N_INPUTS; i++) {
        samba_shape shape = samba_scalar_shape();
        shape.ndim = (int32_t)random_below(4);
        uint32_t n_dims = shape.ndim < 3 ? 8 : 6;
        for (int32_t d = 0; d < shape.ndim; d++)
            shape.dim[d] = dims[random_below(n_dims)];
        snprintf(name, sizeof name, "in%d", i);
        g->in[i] = g->t[g->n++] = samba_randn(s, name, shape);
    }
    int n = 10 + (int)random_below(MOST_TENSORS - 14);
    for (samba_tensor *y; g->n < n && samba_ok(s); g->n += y != NULL) {
        y = random_op(g);
        g->t[g->n] = y;
    }
    g->n_out = 1 + (int)random_below(MOST_OUTPUTS);
    for (int i = 0; i < g->n_out; i++)
        g->out[i] = i == 0 ? g->t[g->n - 1] : any_of(g);
    if (seed % 3 == 0 && g->t[g->n - 1]) { // and a gradient: more values that live long
        samba_tensor *last = g->t[g->n - 1];
        samba_tensor *loss = samba_sum(samba_mul(last, last), SAMBA_ALL_AXES, false);
        samba_tensor *dx = samba_ok(s) ? samba_grad(loss, g->in[seed % N_INPUTS]) : NULL;
        if (samba_ok(s)) g->out[g->n_out - 1] = dx;
        samba_clear_error(s); // that input may have no influence
    }
}

static samba_session *graph_session(bool portable, int32_t threads)
{
    samba_desc d = { 0 };
    d.log = hook_silence;
    d.threads = threads;
    d.portable = portable;
    return samba_open(&d);
}

static bool same_bits(samba_tensor *got, samba_tensor *want)
{
    size_t n = samba_bytes(want);
    if (samba_bytes(got) != n) return false;
    return memcmp(samba_read(got), samba_read(want), n) == 0;
}

static samba_session *compiled_graph(uint32_t seed, samba_opt_level level, graph *g)
{
    samba_session *s = graph_session(seed % 2, 1 + (int32_t)(seed % 2));
    samba_program p = { 0 };
    random_graph(s, seed, g);
    p.inference = true;
    p.level = level;
    p.sram_bytes = 4096;
    for (int i = 0; i < g->n_out; i++)
        p.outputs[i] = g->out[i];
    CHECK(samba_compile(s, &p));
    if (!samba_ok(s)) printf("    %s\n", samba_error(s));
    return s;
}

static double sum_of_ratios;
static int n_ratios;

// The arena against the most bytes that are alive at one node.
static void measure_arena(const uint8_t *pef)
{
    uint32_t n_nodes = (uint32_t)read_le(pef + 36, 4);
    uint64_t most = 0;
    for (uint32_t k = 0; k < n_nodes; k++) {
        uint64_t offsets[512], live = 0;
        int n = 0;
        for (uint32_t i = 0; i < n_places(pef) && n < 512; i++) {
            symbol_place s = place_at(pef, i);
            bool counted = s.region != 1 || s.alias || s.first > k || s.last < k;
            // in place
            for (int j = 0; j < n && !counted; j++)
                counted = offsets[j] == s.offset;
            if (counted) continue;
            offsets[n++] = s.offset;
            live += up64(s.bytes);
        }
        if (live > most) most = live;
    }
    if (!most) return;
    sum_of_ratios += (double)region_size(pef, 1) / (double)most;
    n_ratios++;
}

static void one_graph(uint32_t seed)
{
    static const samba_opt_level levels[3] = { SAMBA_O0, SAMBA_O1, SAMBA_O3 };
    graph want, got, again;
    samba_session *eager = graph_session(false, 1);
    samba_set_tracing(eager, false);
    random_graph(eager, seed, &want);
    CHECK(samba_ok(eager));
    if (!samba_ok(eager)) printf("    %s\n", samba_error(eager));
    for (int l = 0; l < 3 && samba_ok(eager); l++) {
        samba_session *s = compiled_graph(seed, levels[l], &got);
        samba_session *t = compiled_graph(seed, levels[l], &again);
        for (int round = 0; round < 2 && samba_ok(s); round++) {
            CHECK(samba_run(s, 0));
            for (int i = 0; i < got.n_out; i++)
                CHECK(same_bits(got.out[i], want.out[i]));
            for (int i = 0; i < N_INPUTS; i++) {
                if (got.in[i]->symbol >= 0) CHECK(same_bits(got.in[i], want.in[i]));
            }
        }
        const uint8_t *pef = s->program.file.tables;
        CHECK(pef && t->program.file.tables
              && s->program.file.n_tables == t->program.file.n_tables);
        if (samba_ok(s) && samba_ok(t))
            CHECK(!memcmp(pef, t->program.file.tables, s->program.file.n_tables));
        if (pef) check_regions(pef);
        if (pef && levels[l] == SAMBA_O3) measure_arena(pef);
        if (test_bad) printf("    graph %lu, level %d\n", (unsigned long)seed, l);
        CHECK(samba_close(s) == 0);
        CHECK(samba_close(t) == 0);
    }
    CHECK(samba_close(eager) == 0);
}

static void test_random_graphs(void)
{
    for (int i = 0; i < n_graphs && !test_bad; i++)
        one_graph((uint32_t)i);
    printf("%d graphs; the arena is on average %.3f times what is alive at once\n", n_ratios,
           sum_of_ratios / n_ratios);
    CHECK(n_ratios > n_graphs / 2 && sum_of_ratios / n_ratios <= 1.15);
}

// Outputs that are inputs, the same value twice, views of each other, or constants.
static void test_odd_outputs(void)
{
    samba_session *s = graph_session(false, 1);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(3, 4));
    samba_tensor *y = samba_tanh(x), *same = samba_tanh(x);
    samba_tensor *view = samba_reshape(y, SAMBA_SHAPE(12)), *z = samba_neg(view);
    samba_tensor *number = samba_full(s, SAMBA_SHAPE(2), 7.0f);
    samba_tensor *flat = samba_reshape(x, SAMBA_SHAPE(2, 6));
    samba_program p = { 0 };
    samba_tensor *const outputs[8] = { x, y, view, z, same, number, flat, y };
    for (int i = 0; i < 8; i++)
        p.outputs[i] = outputs[i];
    p.inference = true;
    float want[12];
    memcpy(want, x->data, sizeof want);
    CHECK(samba_compile(s, &p) && samba_run(s, 0));
    CHECK(memcmp(samba_read(x), want, sizeof want) == 0);
    CHECK(memcmp(samba_read(flat), want, sizeof want) == 0);
    CHECK(memcmp(samba_read(y), samba_read(view), sizeof want) == 0);
    CHECK(memcmp(samba_read(y), samba_read(same), sizeof want) == 0);
    for (int i = 0; i < 12; i++)
        CHECK(samba_read(z)[i] == -samba_read(y)[i]);
    CHECK(samba_read(number)[0] == 7.0f && samba_read(number)[1] == 7.0f);
    if (!samba_ok(s)) printf("    %s\n", samba_error(s));
    CHECK(samba_close(s) == 0);
}

// ---- A limit of memory ----

enum { LAYERS = 6, WIDTH = 32, LENGTH = 16, WORDS = 50, BATCH = 4 };

// A transformer with every kind of dropout, traced for n sequences; its first layer also mixes.
static samba_tensor *deep_loss(samba_session *s, int32_t n, bool mixes)
{
    samba_tensor *ids = samba_input(s, "ids", SAMBA_I32, SAMBA_SHAPE(n, LENGTH));
    samba_tensor *target = samba_input(s, "target", SAMBA_I32, SAMBA_SHAPE(n, LENGTH));
    samba_tensor *x = samba_embedding(ids, "wte", WORDS, WIDTH);
    char name[32];
    for (int l = 0; l < LAYERS; l++) {
#define NAMED(what) (snprintf(name, sizeof name, "h%d_" what, l), name)
        samba_tensor *h = samba_layernorm(x, NAMED("ln1")), *qkv[3];
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "h%d_%c", l, "qkv"[i]);
            qkv[i]
                = samba_reshape(samba_linear(h, name, WIDTH), SAMBA_SHAPE(n, LENGTH, 4, WIDTH / 4));
            qkv[i] = samba_transpose(qkv[i], 1, 2);
        }
        h = samba_attention_dropout(qkv, NULL, &(samba_attention_opts){ .causal = true },
                                    NAMED("att"), 0.1f);
        h = samba_reshape(samba_transpose(h, 1, 2), SAMBA_SHAPE(n, LENGTH, WIDTH));
        h = samba_linear(h, NAMED("proj"), WIDTH);
        x = samba_add(x, samba_dropout(h, NAMED("drop"), 0.1f));
        h = samba_layernorm(x, NAMED("ln2"));
        h = samba_gelu(samba_linear(h, NAMED("fc"), 4 * WIDTH));
        x = samba_add(x, samba_linear(h, NAMED("out"), WIDTH));
        if (l > 0 || !mixes) continue;
        // The gradient of h reads a matrix whose own is there by then; that of the gate reads what
        // is made of h, and may compute it again.
        samba_tensor *mix
            = samba_param(s, "mix", SAMBA_SHAPE(n, LENGTH, LENGTH), (samba_init){ .value = 0.1f });
        samba_tensor *gate
            = samba_param(s, "gate", SAMBA_SHAPE(4 * WIDTH), (samba_init){ .value = 0.1f });
        samba_tensor *above = samba_gt(h, samba_full(s, h->shape, 0.0f));
        h = samba_add(samba_matmul(mix, h), samba_mul(above, gate));
        x = samba_add(x, samba_linear(h, "aside", WIDTH));
#undef NAMED
    }
    samba_tensor *wte = samba_tensor_by_name(s, "wte__weight");
    return samba_cross_entropy(samba_affine(x, wte, NULL), target);
}

static void write_batch(samba_session *s)
{
    int32_t ids[BATCH * LENGTH], next[BATCH * LENGTH];
    for (int32_t i = 0; i < BATCH * LENGTH; i++) {
        ids[i] = i * i % WORDS;
        next[i] = (i * 7 + 3) % WORDS;
    }
    samba_write(samba_tensor_by_name(s, "ids"), ids);
    samba_write(samba_tensor_by_name(s, "target"), next);
}

// Nodes of the loaded program that have this op.
static int count_op(const samba_session *s, int32_t op)
{
    int n = 0;
    for (uint32_t i = 0; i < s->program.rt->pef.n_nodes; i++)
        n += s->program.rt->steps[i].op == &samba__op_table[op];
    return n;
}

static int steps_in_products; // of the last program that was trained

// Trains three steps as p says; the losses and all parameters as one hash; 0: refused for memory.
static uint64_t trained(samba_program p, bool mixes, size_t *device)
{
    int32_t microbatches = p.microbatches ? p.microbatches : 1;
    uint64_t hash = 1;
    samba_session *s = samba_open(NULL);
    samba_tensor *loss = p.loss = deep_loss(s, BATCH / microbatches, mixes);
    if (!p.optims && !p.optim.kind) p.optim.kind = SAMBA_ADAMW;
    if (!samba_compile(s, &p)) {
        CHECK(samba_error_code(s) == SAMBA_ERANGE && says(s, "program.memory is"));
        samba_clear_error(s);
        CHECK(samba_close(s) == 0);
        return 0;
    }
    *device = samba_device_bytes(s);
    steps_in_products = count_op(s, SAMBA__OP_matmul_sgd);
    write_batch(s);
    for (int step = 0; step < 3; step++) {
        CHECK(samba_run(s, 0));
        hash = samba__hash(samba_read(loss), 4, hash);
    }
    hash = hash_weights(s, hash);
    CHECK(samba_close(s) == 0);
    return hash;
}

static uint64_t trained_within(int64_t memory, int32_t microbatches, size_t *device)
{
    return trained((samba_program){ .memory = memory, .microbatches = microbatches }, false,
                   device);
}

// Computing again changes no bit, and brings the memory down to what was asked for.
static void test_memory_limit(void)
{
    for (int32_t microbatches = 1; microbatches <= 2; microbatches++) {
        size_t all = 0, least = 0, got = 0;
        uint64_t want = trained_within(0, microbatches, &all), hash = want;
        int fewer = 0;
        least = all;
        for (int percent = 98; percent > 30 && hash; percent--) {
            hash = trained_within((int64_t)all * percent / 100, microbatches, &got);
            CHECK(!hash || hash == want);
            CHECK(!hash || got <= least + all / 20); // a way that a larger limit had no need of
            if (hash && got < least) {
                least = got;
                fewer++;
            }
        }
        printf("%d microbatches: %zu bytes without a limit, down to %zu in %d sizes\n",
               (int)microbatches, all, least, fewer);
        CHECK(hash == 0 && fewer >= 2 && least < all);
    }
}

// A limit that cannot be kept is refused with the smallest plan there was, which can be had.
static void test_memory_refused(void)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_program p = { .optim.kind = SAMBA_ADAMW };
    long long found = 0;
    p.loss = deep_loss(s, BATCH, false);
    CHECK(samba_compile(s, &p));
    size_t all = samba_device_bytes(s);
    p.memory = 1;
    CHECK(!samba_compile(s, &p) && samba_error_code(s) == SAMBA_ERANGE);
    const char *figure = strstr(samba_error(s), "less than ");
    CHECK(figure && sscanf(figure, "less than %lld", &found) == 1);
    printf("%zu bytes, or %lld: %s\n", all, found, samba_error(s));
    samba_clear_error(s);
    CHECK(found > 0 && (size_t)found < all - all / 20);
    p.memory = found;
    CHECK(samba_compile(s, &p) && samba_device_bytes(s) < all);
    CHECK(samba_close(s) == 0);
}

// Mapping spatial steps a parameter when its gradient is there, and nothing reads it any more: the
// same bits, without the memory of the gradients, however much is computed again meanwhile.
static void test_spatial(void)
{
    for (int way = 0; way < 4; way++) { // also: a clipped norm, each op alone, microbatches
        samba_program p = { .optim.max_grad_norm = way == 1 ? 0.5f : 0,
                            .level = way == 2 ? SAMBA_O0 : SAMBA_O3,
                            .microbatches = way == 3 ? 2 : 1 };
        size_t apart = 0, all = 0, got = 0;
        uint64_t want = trained(p, true, &apart), hash;
        int sizes = 0;
        p.mapping = SAMBA_MAPPING_SPATIAL;
        CHECK(trained(p, true, &all) == want);
        CHECK(way == 3 ? all == apart : all + apart / 10 < apart); // gradients of microbatches stay
        for (int percent = 98; percent > 30; percent -= 4, sizes++) {
            p.memory = (int64_t)all * percent / 100;
            if (!(hash = trained(p, true, &got))) break;
            CHECK(hash == want && got <= all);
        }
        printf("spatial %d: %zu bytes instead of %zu; %d times less\n", way, all, apart, sizes);
        CHECK(sizes >= 1 && (way == 3 || got < all));
    }
}

static bool of_layer_1(const samba_tensor *w, void *user)
{
    (void)user;
    return !strncmp(w->name, "h1_", 3);
}

// With SGD, products step the parameters whose gradients they make: the gradient is never whole.
// Not with momentum, a clipped norm, microbatches or mapping section. The bits are the same in any
// case.
static void test_steps_in_products(void)
{
    static const samba_optim sgd = { .kind = SAMBA_SGD, .lr = 0.05f, .weight_decay = 0.1f };
    static const samba_optim two[2] = { { .kind = SAMBA_SGD, .lr = 0.1f, .select = of_layer_1 },
                                        { .kind = SAMBA_SGD, .lr = 0.02f } };
    const int all = 6 * LAYERS + 1; // q, k, v, proj, fc, out; aside. wte is read twice
    for (int way = 0; way < 7; way++) {
        size_t apart = 0, together = 0, got = 0;
        int sizes = 0, fused = way < 3 ? all : 0;
        samba_program p = { .optim = sgd, .level = way == 1 ? SAMBA_O0 : SAMBA_O3 };
        if (way == 2) p = (samba_program){ .optims = two, .n_optims = 2 };
        if (way == 3) p.optim.momentum = 0.9f;
        if (way == 4) p.optim.momentum_state = true;
        if (way == 5) p.max_grad_norm = 0.5f;
        if (way == 6) p.microbatches = 2;
        uint64_t want = trained(p, true, &apart), hash;
        CHECK(want && steps_in_products == 0);
        p.mapping = SAMBA_MAPPING_SPATIAL;
        CHECK(trained(p, true, &together) == want);
        CHECK(steps_in_products == fused);
        for (int percent = 98; percent > 30; percent -= 4, sizes++) {
            p.memory = (int64_t)together * percent / 100;
            if (!(hash = trained(p, true, &got))) break;
            CHECK(hash == want && got <= together && steps_in_products == fused);
        }
        printf("steps in products %d: %d; %zu bytes instead of %zu; %d times less\n", way, fused,
               together, apart, sizes);
        CHECK(sizes >= 1);
    }
}

// What becomes of a net of one layer without bias after two steps; twins: of two layers whose sum
// it makes.
static uint64_t layer_trained(samba_mapping mapping, int32_t rows, bool twins, int *fused)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 2 });
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(rows, 40));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(20, 40), (samba_init){ .value = 0.1f });
    samba_tensor *y = samba_affine(x, w, NULL);
    if (twins)
        y = samba_add(
            y, samba_affine(x, samba_param(s, "v", w->shape, (samba_init){ .value = 0.2f }), NULL));
    y = samba_tanh(y);
    samba_program p
        = { .loss = samba_sum(samba_mul(y, y), SAMBA_ALL_AXES, false), .mapping = mapping };
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.01f };
    CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_run(s, 0));
    *fused = count_op(s, SAMBA__OP_matmul_sgd);
    uint64_t hash = hash_weights(s, 1);
    CHECK(!samba_set(s, "momentum", 0.5) && samba_error_code(s) == SAMBA_ESTATE);
    samba_clear_error(s);
    if (mapping == SAMBA_MAPPING_SPATIAL) CHECK(!samba_run(s, SAMBA_OPT)); // a part of a section
    samba_clear_error(s);
    CHECK(samba_close(s) == 0);
    return hash;
}

// Where it does not apply: the batch has many rows; two parameters have the same gradient. A
// program without any other step still has its section, and refuses momentum.
static void test_steps_apart(void)
{
    for (int way = 0; way < 3; way++) {
        int fused = 0, none = 0;
        int32_t rows = way == 1 ? 257 : 256;
        uint64_t want = layer_trained(SAMBA_MAPPING_SECTION, rows, way == 2, &none);
        CHECK(layer_trained(SAMBA_MAPPING_SPATIAL, rows, way == 2, &fused) == want);
        CHECK(none == 0 && fused == (way == 0));
    }
}

static samba_tensor *spread_param(samba_session *s, const char *name, int32_t rows)
{
    return samba_param(s, name, SAMBA_SHAPE(rows, 8),
                       (samba_init){ .kind = SAMBA_INIT_NORMAL, .scale = 0.3f });
}

// A product of parameters: the gradient of each reads the others.
static samba_tensor *product_loss(samba_session *s)
{
    samba_tensor *u = spread_param(s, "u", 8);
    samba_tensor *y = samba_matmul(spread_param(s, "w", 8), spread_param(s, "v", 8));
    return samba_sum(samba_tanh(samba_matmul(y, samba_matmul(u, u))), SAMBA_ALL_AXES, false);
}

static void gate_kernel(const samba_args *a)
{
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = a->in[0][i] * a->in[1][i];
}

static void gate_vjp(samba_vjp *g)
{
    g->din[0] = g->in[1];
    g->din[1] = g->in[0];
}

// The gradient of a gate is what a layer makes, where a loss is a sum of gates times layers and
// nothing else: the step of the gate may compute it again, but not with stepped weights.
static samba_tensor *gated_loss(samba_session *s)
{
    static const samba_op gate = { .name = "gate",
                                   .wire = 0x8001,
                                   .signature = "*,*->*",
                                   .kernel = gate_kernel,
                                   .vjp = gate_vjp };
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(200, 8)), *loss = NULL;
    CHECK(samba_register_op(s, &gate));
    for (int i = 0; i < 6; i++) {
        char name[2][16];
        snprintf(name[0], sizeof name[0], "layer%d", i);
        snprintf(name[1], sizeof name[1], "gate%d", i);
        samba_tensor *in[2] = { spread_param(s, name[1], 200), NULL };
        in[1] = samba_affine(x, spread_param(s, name[0], 8), NULL);
        samba_tensor *y = samba_sum(samba_apply(s, "gate", in, 2, NULL, 0), SAMBA_ALL_AXES, false);
        loss = loss ? samba_add(loss, y) : y;
    }
    return loss;
}

// The hash of what loss_of has become after three steps; 0: refused for memory.
static uint64_t trained_in_order(samba_tensor *(*loss_of)(samba_session *s), samba_mapping mapping,
                                 int64_t memory, size_t *device)
{
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_program p = { .loss = loss_of(s), .mapping = mapping, .memory = memory };
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.1f };
    uint64_t hash = 0;
    if (samba_compile(s, &p)) {
        *device = samba_device_bytes(s);
        for (int i = 0; i < 3; i++)
            CHECK(samba_run(s, 0));
        hash = hash_weights(s, 1);
    } else {
        CHECK(samba_error_code(s) == SAMBA_ERANGE);
        samba_clear_error(s);
    }
    CHECK(samba_close(s) == 0);
    return hash;
}

// A parameter is stepped when all that read it have read it, and what is computed again of it.
static void test_steps_in_order(void)
{
    samba_tensor *(*const losses[])(samba_session * s) = { product_loss, gated_loss };
    for (int i = 0; i < 2; i++) {
        size_t apart = 0, together = 0, got = 0;
        int sizes = 0;
        uint64_t hash, want = trained_in_order(losses[i], SAMBA_MAPPING_SECTION, 0, &apart);
        CHECK(want && trained_in_order(losses[i], SAMBA_MAPPING_SPATIAL, 0, &together) == want);
        for (int percent = 99; percent > 10; percent -= 3, sizes++) {
            int64_t memory = (int64_t)together * percent / 100;
            if (!(hash = trained_in_order(losses[i], SAMBA_MAPPING_SPATIAL, memory, &got))) break;
            CHECK(hash == want);
        }
        printf("steps in order: %zu bytes instead of %zu, %d times less\n", together, apart, sizes);
    }
}

// A checkpoint of either mapping is one of the other; the program of spatial loads without its
// graph.
static void test_spatial_checkpoint(void)
{
    static const char pef[] = "build/memory_spatial.pef",
                      checkpoint[] = "build/memory_spatial.ckpt";
    uint64_t hash[4] = { 0 };
    mkdir("build", 0777);
    for (int i = 0; i < 4; i++) { // both ways through; the second half of the first one
        samba_session *s = samba_open(NULL);
        samba_program p = { .optim.kind = SAMBA_ADAMW, .pef = i == 1 ? pef : NULL };
        p.mapping = i == 1 ? SAMBA_MAPPING_SPATIAL : SAMBA_MAPPING_SECTION;
        if (i < 3) p.loss = deep_loss(s, BATCH, true);
        CHECK(i < 3 ? samba_compile(s, &p) : samba_load(s, pef, NULL));
        if (i > 1) CHECK(samba_restore(s, checkpoint));
        write_batch(s);
        for (int step = 0; step < (i ? 2 : 4); step++)
            CHECK(samba_run(s, 0));
        if (i == 1) CHECK(samba_save(s, checkpoint));
        hash[i] = hash_weights(s, 1);
        if (!samba_ok(s)) printf("%s\n", samba_error(s));
        CHECK(samba_close(s) == 0);
    }
    CHECK(hash[1] != hash[0] && hash[2] == hash[0] && hash[3] == hash[0]);
    remove(pef);
    remove("build/memory_spatial.pef.log");
    remove("build/memory_spatial.pef.map");
    remove(checkpoint);
}

// The gradient of w (64,64) after a run with these rows, and closes the session. False: the limit
// of memory is refused.
static bool gradient_within(samba_session *s, const samba_program *p, samba_tensor *row,
                            const int32_t *rows, samba_tensor *w, float *grad)
{
    bool fits = samba_compile(s, p);
    if (fits) {
        CHECK(samba_write(row, rows) && samba_run(s, 0));
        CHECK(samba_copy_out(samba_sn_grad(w), grad, 4 * 64 * 64));
    } else {
        CHECK(samba_error_code(s) == SAMBA_ERANGE);
        samba_clear_error(s);
    }
    CHECK(samba_close(s) == 0);
    return fits;
}

// The gradient of a net that reads a cache and then overwrites it; false: the limit is refused.
static bool gradient_before_write(int64_t memory, float *grad)
{
    int32_t rows[64];
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(64, 64));
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(64, 64), 0.5f);
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(64, 64), (samba_init){ .value = 0.1f });
    samba_tensor *row = samba_input(s, "row", SAMBA_I32, SAMBA_SHAPE(64));
    samba_tensor *before[4]
        = { samba_tanh(cache), samba_sigmoid(cache), samba_gelu(cache), samba_silu(cache) };
    samba_tensor *after = samba_write_rows(cache, samba_scale(x, 3.0f), row);
    samba_tensor *loss = samba_sum(after, SAMBA_ALL_AXES, false);
    for (int i = 0; i < 4; i++) {
        samba_tensor *y = samba_mul(before[i], w);
        loss = samba_add(loss, samba_sum(samba_mul(y, y), SAMBA_ALL_AXES, false));
    }
    for (int32_t i = 0; i < 64; i++)
        rows[i] = 63 - i;
    return gradient_within(
        s, &(samba_program){ .loss = loss, .optim.kind = SAMBA_SGD, .memory = memory }, row, rows,
        w, grad);
}

// The same of a cache that is written four times, by the handle of the write before or by its own:
// what was taken of it between is not taken again.
static bool gradient_between_writes(bool chained, int64_t memory, float *grad)
{
    int32_t rows[64];
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(64, 64));
    samba_tensor *row = samba_input(s, "row", SAMBA_I32, SAMBA_SHAPE(64));
    samba_tensor *cache = samba_buffer(s, "cache", SAMBA_SHAPE(64, 64), 0.5f), *between[4];
    samba_tensor *loss = NULL, *state = cache;
    for (int i = 0; i < 4; i++) {
        samba_tensor *now
            = samba_write_rows(chained ? cache : state, samba_scale(x, 1 + (float)i), row);
        between[i] = samba_reshape(now, SAMBA_SHAPE(64 * 64));
        cache = now;
    }
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(64 * 64), (samba_init){ .value = 0.1f });
    for (int i = 0; i < 4; i++) {
        samba_tensor *y = samba_tanh(samba_mul(between[i], w));
        y = samba_sum(samba_mul(y, y), SAMBA_ALL_AXES, false);
        loss = loss ? samba_add(loss, y) : y;
    }
    for (int32_t i = 0; i < 64; i++)
        rows[i] = 63 - i;
    samba_program p
        = { .loss = loss, .outputs = { cache }, .optim.kind = SAMBA_SGD, .memory = memory };
    return gradient_within(s, &p, row, rows, w, grad);
}

// What was computed from state is not computed again once the state has changed.
static void test_memory_limit_and_state(void)
{
    static float want[64 * 64], got[64 * 64];
    int sizes = 0;
    CHECK(gradient_before_write(0, want));
    for (int64_t memory = 250000; gradient_before_write(memory, got); memory -= 2000, sizes++)
        CHECK(!memcmp(want, got, sizeof want));
    CHECK(sizes >= 5);
    for (int chained = 0; chained < 2; chained++) {
        CHECK(gradient_between_writes(chained, 0, want));
        sizes = 0;
        for (int64_t memory = 400000; gradient_between_writes(chained, memory, got);
             memory -= 4000, sizes++)
            CHECK(!memcmp(want, got, sizeof want));
        CHECK(sizes >= 5);
    }
}

// A net whose backward pass reads sums through a view alone, or, in `turned` ones, tanh and not
// what it is made of. The hash of its parameters after a step; 0: the limit is refused.
static uint64_t views_within(bool turned, int64_t memory, size_t *device)
{
    enum { R = 64, W = 64 };

    char name[2][20];
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(R, W)),
                 *h = samba_linear(x, "in", W);
    for (int i = 0; i < 6; i++) {
        snprintf(name[0], sizeof name[0], "fc%d", i);
        snprintf(name[1], sizeof name[1], "view%d", i);
        samba_tensor *y = samba_tanh(samba_linear(h, name[0], W));
        if (turned) {
            y = samba_transpose(samba_gelu(y), 0, 1);
            h = samba_add(h, samba_reshape(y, SAMBA_SHAPE(R, W)));
            continue;
        }
        y = samba_reshape(samba_add(y, h), SAMBA_SHAPE(R / 4, 4 * W));
        h = samba_reshape(samba_linear(y, name[1], 4 * W), SAMBA_SHAPE(R, W));
    }
    samba_program p
        = { .loss = samba_sum(samba_mul(h, h), SAMBA_ALL_AXES, false), .memory = memory };
    p.optim.kind = SAMBA_SGD;
    uint64_t hash = 0;
    if (samba_compile(s, &p)) {
        *device = samba_device_bytes(s);
        CHECK(samba_run(s, 0));
        hash = hash_weights(s, 1);
    } else {
        CHECK(samba_error_code(s) == SAMBA_ERANGE);
        samba_clear_error(s);
    }
    CHECK(samba_close(s) == 0);
    return hash;
}

// What is read through a view is computed again like what is read itself; what the backward pass
// does not read is not kept for it.
static void test_memory_limit_and_views(void)
{
    const int64_t limit[2] = { 3660000, 471000 };
    for (int turned = 0; turned < 2; turned++) {
        size_t all = 0, within = 0;
        uint64_t want = views_within(turned, 0, &all);
        uint64_t got = views_within(turned, limit[turned], &within);
        CHECK(want && got == want && within < all);
    }
}

// Layers of a convolution and a relu with as many values each, of which the backward pass reads
// those of relu alone. The hash of all parameters after a step; 0: refused, and *least is the
// smallest plan.
static uint64_t relus_within(int64_t memory, long long *least)
{
    enum { LAYERS = 10, CHANNELS = 8, SIDE = 16 };

    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
    samba_tensor *h = samba_randn(s, "x", SAMBA_SHAPE(1, CHANNELS, SIDE, SIDE));
    for (int i = 0; i < LAYERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "conv%d", i);
        h = samba_relu(
            samba_conv2d(h, name, CHANNELS, 3, &(samba_conv_opts){ .padding = { 1, 1 } }));
    }
    samba_program p = { .loss = samba_sum(samba_mul(h, h), SAMBA_ALL_AXES, false),
                        .memory = memory,
                        .mapping = SAMBA_MAPPING_SPATIAL };
    p.optim.kind = SAMBA_SGD;
    uint64_t hash = 0;
    if (samba_compile(s, &p)) {
        *least = (long long)samba_device_bytes(s);
        CHECK(samba_run(s, 0));
        hash = hash_weights(s, 1);
    } else {
        const char *figure = strstr(samba_error(s), "less than ");
        CHECK(figure && sscanf(figure, "less than %lld", least) == 1);
        samba_clear_error(s);
    }
    CHECK(samba_close(s) == 0);
    return hash;
}

// What goes into a relu is kept by nobody, and computed again with it. Where memory is short, it is
// so for each layer anew: instead of the values of ten layers, those of four and their gradients
// are there at once.
static void test_memory_limit_and_relus(void)
{
    long long all = 0, least = 0, within = 0;
    const long long layer = 4 * 8 * 16 * 16;
    uint64_t want = relus_within(0, &all);
    CHECK(want && relus_within(1, &least) == 0);
    CHECK(relus_within(least, &within) == want);
    printf("relus: %lld bytes, or %lld with a limit of %lld\n", all, within, least);
    CHECK(within < all - 5 * layer);
    for (long long limit = least; limit < all; limit += layer / 2)
        CHECK(relus_within(limit, &within) == want);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (argc > 1) n_graphs = atoi(argv[1]);
    RUN(test_run_allocates_nothing);
    RUN(test_device_bytes);
    RUN(test_recompile_keeps_size);
    RUN(test_given_block);
    RUN(test_odd_outputs);
    RUN(test_random_graphs);
    RUN(test_memory_limit);
    RUN(test_memory_refused);
    RUN(test_memory_limit_and_state);
    RUN(test_memory_limit_and_views);
    RUN(test_memory_limit_and_relus);
    RUN(test_spatial);
    RUN(test_steps_in_products);
    RUN(test_steps_apart);
    RUN(test_steps_in_order);
    RUN(test_spatial_checkpoint);
    return test_summary();
}
