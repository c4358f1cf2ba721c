// One test for each row of SambaFlow's programming model, each of which proves the meaning.
// run: threads
//     rows          runs them, and looks whether README.md has the table
//     rows table    prints the table
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { B = 6, F = 5, C = 3 };

// Two layers over (B,F) -> (B,C); the loss is the mean cross entropy.
typedef struct net {
    samba_session *s;
    samba_tensor *x, *label, *out, *loss;
} net;

static net traced(float rate)
{
    net n = { samba_open(NULL), NULL, NULL, NULL, NULL };
    n.x = samba_randn(n.s, "x", SAMBA_SHAPE(B, F));
    n.label = samba_randint(n.s, "label", C, SAMBA_SHAPE(B));
    samba_tensor *h = samba_tanh(samba_linear(n.x, "fc1", 7));
    if (rate > 0) h = samba_dropout(h, "drop", rate);
    n.out = samba_linear(h, "fc2", C);
    n.loss = samba_cross_entropy(n.out, n.label);
    return n;
}

static samba_program sgd(samba_tensor *loss, samba_tensor *out)
{
    samba_program p = { .loss = loss, .outputs = { out } };
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.1f, .momentum = 0.9f };
    return p;
}

static net trained(float rate)
{
    net n = traced(rate);
    samba_program p = sgd(n.loss, n.out);
    CHECK(samba_compile(n.s, &p));
    return n;
}

static bool says(samba_session *s, const char *text)
{
    bool found = strstr(samba_error(s), text) != NULL;
    if (!found) printf("\"%s\" is not in: %s\n", text, samba_error(s));
    samba_clear_error(s);
    return found;
}

// The values of a tensor of at most 64 elements.
typedef struct values { float at[64]; } values;
static values copied(samba_tensor *t)
{
    values v = { { 0 } };
    CHECK(t && samba_copy_out(t, v.at, samba_bytes(t)));
    return v;
}
static values named(samba_session *s, const char *name) { return copied(samba_tensor_by_name(s, name)); }
static bool same(values a, values b) { return memcmp(&a, &b, sizeof a) == 0; }

// ---- Tensors ----

static void row_names(void)
{
    net n = traced(0);
    CHECK(!strcmp(n.x->name, "x") && n.x->batch_dim == 0 && n.x->dtype == SAMBA_F32);
    CHECK(!samba_input(n.s, "x", SAMBA_F32, SAMBA_SHAPE(2)) && says(n.s, "x"));
    CHECK(samba_set_batch_dim(n.x, -1)->batch_dim == -1);
    CHECK(samba_close(n.s) == 0);
}

static void row_sn_grad(void)
{
    net n = trained(0);
    CHECK(samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD));
    samba_tensor *w = samba_tensor_by_name(n.s, "fc2__bias"), *g = samba_sn_grad(w);
    CHECK(g && !strcmp(g->name, "fc2__bias__grad") && samba_read(g)[0] != 0);
    float sum = samba_read(g)[0] + samba_read(g)[1] + samba_read(g)[2];
    CHECK(fabsf(sum) < 1e-6f);                  // softmax minus one-hot sums to 0
    CHECK(!samba_sn_grad(n.x) && says(n.s, "no gradient"));
    CHECK(samba_close(n.s) == 0);
}

static void row_cpu_rdu(void)
{
    net n = trained(0);
    samba_tensor *w = samba_tensor_by_name(n.s, "fc2__bias");
    float *host = (float *)samba_cpu(w), before = host[0];
    CHECK(!samba_is_stale(w));
    CHECK(samba_run(n.s, 0));
    CHECK(samba_is_stale(w) && host[0] == before && samba_read(w)[0] != before);
    CHECK(samba_cpu(w) == host && host[0] == samba_read(w)[0] && !samba_is_stale(w));
    host[0] = 3;
    CHECK(samba_rdu(w) && samba_read(w)[0] == 3 && !samba_is_stale(w));
    CHECK(samba_close(n.s) == 0);
}

static void row_from_data(void)
{
    samba_session *s = samba_open(NULL);
    float data[4] = { 1, 2, 3, 4 };
    samba_tensor *a = samba_from_data(s, "a", SAMBA_F32, SAMBA_SHAPE(4), data);
    samba_tensor *b = samba_from_data_copy(s, "b", SAMBA_F32, SAMBA_SHAPE(4), data);
    data[0] = 9;
    CHECK(samba_read(a)[0] == 9 && samba_read(b)[0] == 1);
    CHECK(samba_close(s) == 0);
}

static void row_random(void)
{
    values first[3], again[3];
    for (int i = 0; i < 2; i++) {
        samba_session *s = samba_open(NULL);
        values *v = i ? again : first;
        v[0] = copied(samba_randn(s, "n", SAMBA_SHAPE(8, 8)));
        v[1] = copied(samba_rand(s, "u", SAMBA_SHAPE(8, 8)));
        samba_tensor *k = samba_randint(s, "i", 10, SAMBA_SHAPE(8, 8));
        v[2] = copied(k);
        for (int j = 0; j < 64; j++) CHECK(v[1].at[j] >= 0 && v[1].at[j] < 1);
        for (int j = 0; j < 64; j++) CHECK(samba_read_i32(k)[j] >= 0 && samba_read_i32(k)[j] < 10);
        CHECK(samba_close(s) == 0);
    }
    for (int j = 0; j < 3; j++) CHECK(same(first[j], again[j]));
}

static void row_must_match(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(2, 3));
    CHECK(!samba_add(x, samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(2, 4))) && says(s, "(2,4)"));
    samba_tensor *y = samba_linear(x, "fc", 2);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    CHECK(!samba_run(s, 0) && says(s, "never given a value"));
    CHECK(samba_close(s) == 0);
}

static void row_rounding(void)
{
    samba_session *s = samba_open(NULL);
    float x[4] = { 1.00390625f, 1.01171875f, NAN, 3.0e38f };    // halfway down, halfway up
    samba_set_tracing(s, false);
    samba_tensor *t = samba_from_data(s, "t", SAMBA_F32, SAMBA_SHAPE(4), x);
    const float *y = samba_read(samba_cast(samba_cast(t, SAMBA_BF16), SAMBA_F32));
    CHECK(y[0] == 1.0f && y[1] == 1.015625f && y[2] != y[2] && y[3] > 2.9e38f);
    CHECK(samba_close(s) == 0);
}

// ---- Tracing ----

// The same C function builds the graph when tracing, and computes when not: with the same bits.
static void row_override(void)
{
    values got[2];
    for (int eager = 0; eager < 2; eager++) {
        samba_session *s = samba_open(NULL);
        samba_set_tracing(s, !eager);
        CHECK(samba_tracing(s) == !eager);
        samba_tensor *y = samba_softmax(samba_linear(samba_randn(s, "x", SAMBA_SHAPE(B, F)), "fc", C), -1);
        if (!eager) CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }) && samba_run(s, 0));
        got[eager] = copied(y);
        CHECK(samba_close(s) == 0);
    }
    CHECK(same(got[0], got[1]));
}

// np.add of ones and zeros is ones, and a tensor.
static void row_names_of_ops(void)
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *in[2] = { samba_ones(s, "a", SAMBA_F32, SAMBA_SHAPE(2, 4)), samba_zeros(s, "b", SAMBA_F32, SAMBA_SHAPE(2, 4)) };
    const char *names[3] = { "add", "np.add", "torch.add" };
    for (int k = 0; k < 3; k++) {
        samba_tensor *y = samba_apply(s, names[k], in, 2, NULL, 0);
        CHECK(y && y->shape.ndim == 2);
        for (int i = 0; i < 8; i++) CHECK(samba_read(y)[i] == 1);
    }
    CHECK(!samba_apply(s, "np.fft", in, 1, NULL, 0) && says(s, "np.fft"));
    CHECK(samba_close(s) == 0);
}

static void row_control_flow(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(3)), *y = x;
    for (int i = 0; i < 4; i++) y = samba_scale(y, 2);          // unrolled
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    CHECK(samba_run(s, 0) && samba_read(y)[1] == 16 * samba_read(x)[1]);
    CHECK(samba_close(s) == 0);
}

static void row_graph_equality(void)
{
    net n = traced(0);
    samba_program p = sgd(n.loss, n.out);
    p.pef = "build/rows.pef";
    CHECK(samba_compile(n.s, &p) && samba_close(n.s) == 0);
    n = traced(0);
    p = sgd(n.loss, n.out);
    CHECK(samba_load(n.s, "build/rows.pef", &p) && samba_run(n.s, 0) && samba_close(n.s) == 0);
    n = traced(0.5f);
    p = sgd(n.loss, n.out);
    CHECK(!samba_load(n.s, "build/rows.pef", &p) && says(n.s, "First difference"));
    samba_close(n.s);
}

static void row_parameter_names(void)
{
    net n = trained(0);
    const char *names[8];
    CHECK(samba_weight_names(n.s, names, 8) == 4);
    for (int i = 0; i < 4; i++) CHECK(!strncmp(names[i], "fc", 2) && strstr(names[i], "__"));
    CHECK(samba_close(n.s) == 0);
}

// ---- Compiling ----

static void row_optimizers(void)
{
    net n = traced(0);
    samba_tensor *w[2] = { samba_tensor_by_name(n.s, "fc1__weight"), samba_tensor_by_name(n.s, "fc2__weight") };
    samba_optim two[2] = {
        { .kind = SAMBA_ADAMW, .lr = 0.5f, .params = &w[0], .n_params = 1, .argin_region_name = "a__" },
        { .kind = SAMBA_SGD, .lr = 0.25f, .params = &w[1], .n_params = 1, .argin_region_name = "b__" } };
    samba_program p = { .loss = n.loss, .optims = two, .n_optims = 2 };
    CHECK(samba_compile(n.s, &p));
    CHECK(samba_get(n.s, "a__lr") == 0.5 && samba_get(n.s, "b__lr") == 0.25);
    CHECK(samba_set(n.s, "lr", 0.125) && samba_get(n.s, "a__lr") == 0.125 && samba_get(n.s, "b__lr") == 0.125);
    two[1].params = &w[0];
    CHECK(!samba_compile(n.s, &p) && says(n.s, "is listed by optimizers"));
    samba_close(n.s);
}

// With index 1 only output 1 drives gradients; without indices all outputs do.
static void row_loss_indices(void)
{
    float with[2];
    for (int all = 0; all < 2; all++) {
        samba_session *s = samba_open(NULL);
        samba_tensor *a = samba_param(s, "a", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
        samba_tensor *one = samba_sum(samba_scale(a, 3), SAMBA_ALL_AXES, false), *two = samba_sum(a, SAMBA_ALL_AXES, false);
        samba_program p = { .outputs = { one, two }, .loss_indices = { 1 }, .n_loss_indices = !all };
        p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 1 };
        CHECK(samba_compile(s, &p) && samba_run(s, SAMBA_FWD | SAMBA_BCKWD));
        with[all] = samba_read(samba_sn_grad(a))[0];
        CHECK(samba_close(s) == 0);
    }
    CHECK(with[0] == 1 && with[1] == 4);
}

static void row_inference(void)
{
    net n = traced(0);
    CHECK(samba_compile(n.s, &(samba_program){ .outputs = { n.out }, .inference = true }));
    CHECK(samba_section_types(n.s) == SAMBA_FWD);
    CHECK(!samba_run(n.s, SAMBA_BCKWD) && says(n.s, "no section of type BCKWD"));
    CHECK(samba_close(n.s) == 0);
}

static void row_mapping(void)
{
    values got[2];
    for (int spatial = 0; spatial < 2; spatial++) {
        net n = traced(0);
        samba_program p = sgd(n.loss, n.out);
        p.mapping = spatial ? SAMBA_MAPPING_SPATIAL : SAMBA_MAPPING_SECTION;
        CHECK(samba_compile(n.s, &p) && samba_run(n.s, 0));
        got[spatial] = named(n.s, "fc1__weight");
        p.sram_bytes = 64;
        if (spatial) CHECK(!samba_compile(n.s, &p) && says(n.s, "bytes are needed"));
        samba_close(n.s);
    }
    CHECK(same(got[0], got[1]));
}

// What is counted where is refused above a limit, and the largest tensor named.
static void row_mem_type(void)
{
    net n = traced(0);
    samba_program p = sgd(n.loss, n.out);
    CHECK(samba_compile(n.s, &p));
    int64_t arena = (int64_t)n.s->rt->pef.region[SAMBA__REGION_ARENA];
    p.mem_limit[SAMBA_MEM_HBM] = arena;
    CHECK(samba_compile(n.s, &p));
    p.mem_limit[SAMBA_MEM_HBM] = arena - 1;
    CHECK(!samba_compile(n.s, &p) && says(n.s, "mem_limit of HBM"));
    p.mem_limit[SAMBA_MEM_HBM] = 0, p.mem_limit[SAMBA_MEM_DDR] = 64;
    CHECK(!samba_compile(n.s, &p) && says(n.s, "the largest there is fc1__weight"));
    p.mem_limit[SAMBA_MEM_DDR] = 0, p.mem_limit[SAMBA_MEM_HOST] = 448;  // x 120, label, out, loss
    CHECK(samba_compile(n.s, &p));
    samba_tensor_by_name(n.s, "fc1__weight")->mem_type = SAMBA_MEM_HOST;
    CHECK(!samba_compile(n.s, &p) && says(n.s, "mem_limit of HOST"));
    samba_close(n.s);
}

static void row_legacy_names(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(2, 3, 4, 4));
    CHECK(!strcmp(samba_conv2d(x, "conv", 3, 3, NULL)->name, "conv"));
    CHECK(samba_use_legacy_names(s, true));
    CHECK(!strncmp(samba_conv2d(x, "other", 3, 3, NULL)->name, "convolution_", 12));
    CHECK(samba_tensor_by_name(s, "other__weight") != NULL);
    CHECK(!samba_batchnorm(x, "bn") && says(s, "legacy names must be off"));
    CHECK(samba_use_legacy_names(s, false) && samba_batchnorm(x, "bn"));
    CHECK(samba_close(s) == 0);
}

// An op on the host splits the forward pass: what is before, itself, what is after.
static int host_calls;
static void host_kernel(const samba_args *a)
{
    host_calls++;
    for (int64_t i = a->begin; i < a->end; i++) a->out[0][i] = 2 * a->in[0][i];
}

static void row_host_op(void)
{
    static const samba_op twice = { .name = "twice", .wire = 0x8001, .flags = SAMBA_OP_HOST, .signature = "*->*", .kernel = host_kernel };
    samba_session *s = samba_open(NULL);
    CHECK(samba_register_op(s, &twice));
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4)), *h = samba_tanh(x);
    h = samba_apply(s, "twice", &h, 1, NULL, 0);
    samba_tensor *y = samba_shift(h, 1);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    CHECK(s->rt->pef.n_sections == 3 && samba_run(s, 0) && host_calls == 1);
    CHECK(fabsf(samba_read(y)[1] - (2 * tanhf(samba_read(x)[1]) + 1)) < 1e-6f);
    CHECK(samba_close(s) == 0);
}

static void row_levels(void)
{
    values got[3];
    int32_t sections[3];
    for (int i = 0; i < 3; i++) {
        net n = traced(0);
        samba_program p = sgd(n.loss, n.out);
        p.level = (samba_opt_level)(SAMBA_O0 + i), p.sram_bytes = 256;
        CHECK(samba_compile(n.s, &p) && samba_run(n.s, 0));
        sections[i] = (int32_t)n.s->rt->pef.n_sections;
        got[i] = named(n.s, "fc1__weight");
        CHECK(samba_close(n.s) == 0);
    }
    CHECK(same(got[0], got[1]) && same(got[1], got[2]));
    CHECK(sections[0] > sections[1] && sections[1] > sections[2] && sections[2] == 3);
}

// Gradients of two microbatches add up to that of the batch.
static void row_microbatches(void)
{
    values grad[2];
    for (int m = 1; m <= 2; m++) {
        samba_session *s = samba_open(NULL);
        float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4 / m, 2));
        samba_tensor *y = samba_linear(in, "fc", 1), *loss = samba_mean(samba_mul(y, y), SAMBA_ALL_AXES, false);
        samba_program p = sgd(loss, NULL);
        p.microbatches = m;
        CHECK(samba_compile(s, &p) && samba_write(in, x));
        CHECK(((samba_section_types(s) & SAMBA_ZEROGRAD) != 0) == (m == 2));
        CHECK(samba_run(s, 0));
        grad[m - 1] = named(s, "fc__weight__grad");
        CHECK(samba_close(s) == 0);
    }
    for (int i = 0; i < 2; i++) CHECK(fabsf(grad[0].at[i] - grad[1].at[i]) < 1e-5f);
}

// ---- Running ----

static void row_run_all(void)
{
    net a = trained(0), b = trained(0);
    CHECK(samba_run(a.s, 0) && samba_run(b.s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
    CHECK(same(named(a.s, "fc1__weight"), named(b.s, "fc1__weight")));
    CHECK(samba_close(a.s) == 0 && samba_close(b.s) == 0);
}

static void row_inputs(void)
{
    net n = trained(0);
    float *x = (float *)samba_cpu(n.x);
    CHECK(samba_run(n.s, SAMBA_FWD));
    float before = samba_read(n.loss)[0];
    x[0] += 1;                                          // not on the device yet
    CHECK(samba_run(n.s, SAMBA_FWD) && samba_read(n.loss)[0] == before);
    samba_tensor *inputs[3] = { NULL, n.x, NULL };      // None keeps its place
    CHECK(samba_run_with(n.s, &(samba_run_desc){ .inputs = inputs, .n_inputs = 3 }));
    CHECK(samba_read(n.loss)[0] != before);
    CHECK(samba_close(n.s) == 0);
}

static void row_outputs(void)
{
    net n = trained(0);
    samba_run_desc d = { .outputs = &n.out, .n_outputs = 1 };
    CHECK(samba_run_with(n.s, &d) && !samba_is_stale(n.out) && samba_is_stale(n.loss));
    CHECK(samba_run(n.s, SAMBA_OPT) && samba_is_stale(n.out));
    CHECK(samba_close(n.s) == 0);
}

static void row_hyperparams(void)
{
    net n = trained(0);
    samba_value lr = { "lr", 0 }, wrong = { "learning_rate", 1 };
    values before = named(n.s, "fc1__weight");
    CHECK(samba_get(n.s, "lr") == (double)0.1f);
    CHECK(samba_run_with(n.s, &(samba_run_desc){ .hyperparams = &lr, .n_hyperparams = 1 }));
    CHECK(samba_run(n.s, 0) && samba_get(n.s, "lr") == 0);      // persists
    CHECK(same(named(n.s, "fc1__weight"), before));
    CHECK(!samba_run_with(n.s, &(samba_run_desc){ .hyperparams = &wrong, .n_hyperparams = 1 }) && says(n.s, "nearest name"));
    CHECK(samba_close(n.s) == 0);
}

static void row_section_types(void)
{
    net a = trained(0), b = trained(0);
    const char *types[3] = { "fwd", "BCKWD", "Opt" }, *backward[2] = { "OPT", "fwd" }, *wrong = "update";
    CHECK(samba_run_with(a.s, &(samba_run_desc){ .section_types = types, .n_section_types = 3 }) && samba_run(b.s, 0));
    CHECK(same(named(a.s, "fc1__weight"), named(b.s, "fc1__weight")));
    CHECK(samba_run_with(a.s, &(samba_run_desc){ .section_types = backward, .n_section_types = 2 }));
    CHECK(samba_run(b.s, SAMBA_OPT) && samba_run(b.s, SAMBA_FWD));
    CHECK(samba_read(a.loss)[0] == samba_read(b.loss)[0]);
    CHECK(!samba_run_with(a.s, &(samba_run_desc){ .section_types = &wrong, .n_section_types = 1 }) && says(a.s, "zerograd, fwd"));
    CHECK(samba_close(a.s) == 0 && samba_close(b.s) == 0);
}

static void row_gradnorm(void)
{
    for (int clips = 0; clips < 2; clips++) {
        net n = traced(0);
        samba_program p = sgd(n.loss, n.out);
        p.optim.max_grad_norm = clips ? 1e-3f : 0;
        CHECK(samba_compile(n.s, &p));
        CHECK(((samba_section_types(n.s) & SAMBA_GRADNORM) != 0) == clips);
        values before = named(n.s, "fc2__bias");
        CHECK(samba_run(n.s, 0));
        values after = named(n.s, "fc2__bias");
        if (clips) CHECK(fabsf(after.at[0] - before.at[0]) <= 1e-4f);
        CHECK(samba_close(n.s) == 0);
    }
}

static net by_ops(void)                 // each op is a section
{
    net n = traced(0);
    samba_program p = sgd(n.loss, n.out);
    p.level = SAMBA_O0;
    CHECK(samba_compile(n.s, &p));
    return n;
}

static void row_section_ids(void)
{
    net a = by_ops(), b = by_ops();
    int32_t ids[64], n = (int32_t)a.s->rt->pef.n_sections, far = n;
    for (int32_t i = 0; i < n; i++) ids[i] = i;
    CHECK(samba_run_with(a.s, &(samba_run_desc){ .section_ids = ids, .n_section_ids = n }) && samba_run(b.s, 0));
    CHECK(same(named(a.s, "fc1__weight"), named(b.s, "fc1__weight")));
    CHECK(!samba_run_with(a.s, &(samba_run_desc){ .section_ids = &far, .n_section_ids = 1 }) && says(a.s, "out of range"));
    const char *type = "fwd";
    samba_run_desc both = { .section_ids = ids, .n_section_ids = 1, .section_types = &type, .n_section_types = 1 };
    CHECK(!samba_run_with(a.s, &both) && says(a.s, "exclude each other"));
    CHECK(samba_close(a.s) == 0 && samba_close(b.s) == 0);
}

// The optimizer's sections of two parameters are independent, a layer and the next one are not.
static void row_section_groups(void)
{
    net a = by_ops(), b = by_ops();
    int32_t n = (int32_t)a.s->rt->pef.n_sections;
    int32_t group[4] = { SAMBA_GROUP_BEGIN, n - 2, n - 1, SAMBA_GROUP_END }, plain[2] = { n - 2, n - 1 };
    CHECK(samba_run(a.s, SAMBA_FWD | SAMBA_BCKWD) && samba_run(b.s, SAMBA_FWD | SAMBA_BCKWD));
    CHECK(samba_run_with(a.s, &(samba_run_desc){ .section_ids = group, .n_section_ids = 4 }));
    CHECK(samba_run_with(b.s, &(samba_run_desc){ .section_ids = plain, .n_section_ids = 2 }));
    CHECK(same(named(a.s, "fc2__weight"), named(b.s, "fc2__weight")));
    group[1] = 0, group[2] = 1;
    CHECK(!samba_run_with(a.s, &(samba_run_desc){ .section_ids = group, .n_section_ids = 4 }) && says(a.s, "depend on each other"));
    CHECK(!samba_run_with(a.s, &(samba_run_desc){ .section_ids = group, .n_section_ids = 3 }) && samba_error_code(a.s) != SAMBA_OK);
    samba_clear_error(a.s);
    CHECK(samba_close(a.s) == 0 && samba_close(b.s) == 0);
}

// run(until = k), run(from = k) is run().
static void row_call_ids(void)
{
    net b = by_ops();
    int32_t n = (int32_t)b.s->rt->pef.n_sections;
    CHECK(samba_run(b.s, 0));
    for (int32_t k = 1; k < n; k += 3) {
        net a = by_ops();
        CHECK(samba_run_with(a.s, &(samba_run_desc){ .until_call_id = k }) && samba_run_with(a.s, &(samba_run_desc){ .from_call_id = k }));
        CHECK(same(named(a.s, "fc1__weight"), named(b.s, "fc1__weight")));
        CHECK(samba_close(a.s) == 0);
    }
    CHECK(!samba_run_with(b.s, &(samba_run_desc){ .from_call_id = n }) && says(b.s, "out of range"));
    CHECK(samba_close(b.s) == 0);
}

// The loss on the host: the model's output and its gradient cross over. The same step as in one go.
static void row_grad_of_outputs(void)
{
    net whole = trained(0), part = traced(0);
    samba_program p = sgd(NULL, part.out);
    CHECK(samba_compile(part.s, &p));
    for (int step = 0; step < 5; step++) {
        CHECK(samba_run(whole.s, 0) && samba_run(part.s, SAMBA_FWD));
        float dout[B * C];
        for (int i = 0; i < B; i++) {                   // (softmax - one-hot) / B
            const float *z = samba_read(part.out) + i * C;
            float sum = expf(z[0]) + expf(z[1]) + expf(z[2]);
            for (int k = 0; k < C; k++) dout[i * C + k] = (expf(z[k]) / sum - (float)(samba_read_i32(part.label)[i] == k)) / B;
        }
        samba_output_grad grad = { part.out, dout };
        const char *types[2] = { "bckwd", "opt" };
        samba_run_desc d = { .section_types = types, .n_section_types = 2, .grad_of_outputs = &grad, .n_grad_of_outputs = 1 };
        CHECK(samba_run_with(part.s, &d));
    }
    values a = named(whole.s, "fc1__weight"), b = named(part.s, "fc1__weight");
    CHECK_CLOSE(b.at, a.at, 35, 1e-5, 1e-6);
    CHECK(samba_close(whole.s) == 0 && samba_close(part.s) == 0);
}

// The same with samba's own ops on the host, computed at once and differentiated.
static void row_host_autograd(void)
{
    net whole = trained(0), part = traced(0);
    samba_program p = sgd(NULL, part.out);
    CHECK(samba_compile(part.s, &p));
    samba_session *host = samba_open(NULL);
    samba_set_tracing(host, false);
    samba_tensor *label = samba_from_data(host, "label", SAMBA_I32, SAMBA_SHAPE(B), samba_cpu(part.label));
    CHECK(samba_run(whole.s, 0) && samba_run(part.s, SAMBA_FWD));
    samba_tensor *z = samba_from_data(host, "z", SAMBA_F32, SAMBA_SHAPE(B, C), samba_cpu(part.out));
    samba_tensor *loss = samba_cross_entropy(z, label);
    CHECK(fabsf(samba_read(loss)[0] - samba_read(whole.loss)[0]) < 1e-6f);
    CHECK(samba_write(samba_sn_grad(part.out), samba_read(samba_grad(loss, z))));
    CHECK(samba_run(part.s, SAMBA_BCKWD | SAMBA_OPT));
    CHECK(same(named(whole.s, "fc1__weight"), named(part.s, "fc1__weight")));
    CHECK(samba_close(whole.s) == 0 && samba_close(part.s) == 0 && samba_close(host) == 0);
}

// Ones on a vector are the gradient of its sum; assigned ones persist; rows cut a smaller batch.
static void row_init_output_grads(void)
{
    values grad[4];
    float two[B * C];
    for (int i = 0; i < B * C; i++) two[i] = 2;
    net n = traced(0);
    samba_program p = sgd(NULL, n.out);
    CHECK(samba_compile(n.s, &p));
    samba_output_grad custom = { n.out, two };
    for (int i = 0; i < 4; i++) {
        if (i == 1) CHECK(samba_init_output_grads(n.s, &custom, 1, 0));
        if (i == 3) CHECK(samba_init_output_grads(n.s, NULL, 0, 2));
        CHECK(samba_run(n.s, SAMBA_FWD | SAMBA_BCKWD));         // i = 2: as assigned before
        grad[i] = named(n.s, "fc2__bias__grad");
    }
    CHECK(grad[0].at[0] == B && grad[1].at[0] == 2 * B && grad[2].at[0] == 2 * B && grad[3].at[0] == 2);
    custom.output = n.x;
    CHECK(!samba_init_output_grads(n.s, &custom, 1, 0) && says(n.s, "no gradient"));
    samba_close(n.s);
}

static void row_train_flag(void)
{
    net n = trained(0.5f);
    CHECK(samba_run(n.s, SAMBA_FWD));
    float noisy = samba_read(n.loss)[0];
    samba_value p = { "p", 0.25 };
    samba_run_desc eval = { .eval = true, .hyperparams = &p, .n_hyperparams = 1 };
    const char *fwd = "fwd";
    eval.section_types = &fwd, eval.n_section_types = 1;
    CHECK(samba_run_with(n.s, &eval));
    float quiet = samba_read(n.loss)[0];
    CHECK(samba_run_with(n.s, &eval) && samba_read(n.loss)[0] == quiet && quiet != noisy);
    CHECK(samba_get(n.s, "p") == 0.25);                 // stored, and used again in training
    CHECK(samba_run(n.s, SAMBA_FWD) && samba_read(n.loss)[0] != quiet);
    CHECK(samba_close(n.s) == 0);
}

static void row_order_of_calls(void)
{
    samba_session *s = samba_open(NULL);
    CHECK(!samba_run(s, 0) && says(s, "samba_compile or samba_load first"));
    CHECK(samba_close(s) == 0);
}

// ---- Queries and transfers ----

static void row_argin_names(void)
{
    net n = trained(0.5f);
    const char *all[16], *rate[4], *seed[4];
    int32_t count = samba_argin_names(n.s, all, 16);
    CHECK(samba_dropout_rate_names(n.s, rate, 4) == 1 && !strcmp(rate[0], "drop__p"));
    CHECK(samba_dropout_seed_names(n.s, seed, 4) == 1 && !strcmp(seed[0], "drop__seed"));
    CHECK(count > 2 && samba_argin_names(n.s, NULL, 0) == count);
    for (int32_t i = 0; i < count; i++) CHECK(samba_get(n.s, all[i]) >= 0 && samba_ok(n.s));
    CHECK(samba_close(n.s) == 0);
}

static void row_section_types_of(void)
{
    net n = trained(0);
    CHECK(samba_section_types(n.s) == (SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT));
    CHECK(samba_close(n.s) == 0);
}

static void row_by_name(void)
{
    net n = trained(0);
    CHECK(samba_tensor_by_name(n.s, "fc1__weight") && samba_run(n.s, 0));
    CHECK(named(n.s, "fc1__weight__grad").at[0] != 0);                  // gradients,
    CHECK(named(n.s, "fc1__weight__momentum").at[0] != 0);              // optimizer state
    CHECK(!samba_tensor_by_name(n.s, "fc1__wieght") && says(n.s, "nearest name is fc1__weight"));
    CHECK(samba_close(n.s) == 0);
}

static void row_update_tensor(void)
{
    net n = trained(0);
    float zero[B * F] = { 0 };
    CHECK(samba_update_tensor(n.s, "x", zero) && samba_read(n.x)[3] == 0);
    CHECK(samba_update_tensor(n.s, "x", NULL));
    CHECK(!samba_tensor_by_name(n.s, "x") && says(n.s, "unknown"));
    CHECK(samba_run(n.s, 0));                           // the program still has it
    CHECK(samba_close(n.s) == 0);
}

static void row_to_cpu(void)
{
    net n = trained(0);
    CHECK(samba_run(n.s, 0) && samba_to_cpu(n.s));
    samba_tensor *w = samba_tensor_by_name(n.s, "fc1__weight");
    float *host = (float *)w->data, kept = host[0];
    CHECK(kept == samba_read(w)[0]);
    CHECK(samba_run(n.s, 0) && samba_read(w)[0] != kept && host[0] == kept);
    CHECK(samba_to_rdu(n.s) && samba_read(w)[0] == kept);       // back to where it was
    CHECK(samba_close(n.s) == 0);
}

static void row_sync_buffers(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(4, 2, 3, 3));
    samba_tensor *loss = samba_mean(samba_batchnorm(x, "bn"), SAMBA_ALL_AXES, false);
    samba_program p = sgd(loss, NULL);
    CHECK(samba_compile(s, &p) && samba_run(s, 0) && samba_sync_buffers_to_cpu(s));
    samba_tensor *mean = samba_tensor_by_name(s, "bn__running_mean"), *w = samba_tensor_by_name(s, "bn__weight");
    CHECK(!samba_is_stale(mean) && samba_is_stale(w) && !w->data);
    ((float *)mean->data)[0] = 5;
    CHECK(samba_sync_buffers_to_rdu(s) && samba_read(mean)[0] == 5);
    CHECK(samba_close(s) == 0);
}

// ---- Several graphs ----

static samba_tensor *evaluation(samba_session *s, const char *graph)
{
    CHECK(samba_begin_graph(s, graph));
    return samba_scale(samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 1 }), 10);
}

// A training and an evaluation graph share weights.
static void row_multigraph(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *eval = evaluation(s, "eval");
    CHECK(samba_begin_graph(s, "train"));
    samba_tensor *w = samba_param(s, "w", SAMBA_SHAPE(2), (samba_init){ .value = 1 });
    samba_tensor *loss = samba_sum(samba_mul(w, w), SAMBA_ALL_AXES, false);
    samba_program p = sgd(loss, eval);
    p.pef = "build/rows_graphs.pef";
    CHECK(samba_compile(s, &p));
    CHECK(samba_run_graph(s, "eval", 0) && samba_read(eval)[0] == 10);
    CHECK(samba_run_graph(s, "train", 0) && samba_run_graph(s, "eval", 0));
    CHECK(fabsf(samba_read(eval)[0] - 8) < 1e-5f);              // w = 1 - 0.1 * 2
    CHECK(!samba_run(s, 0) && says(s, "eval train"));
    CHECK(!samba_run_graph(s, "test", 0) && says(s, "no graph"));
    CHECK(samba_close(s) == 0);

    s = samba_open(NULL);                                       // the runtime alone
    CHECK(samba_load(s, "build/rows_graphs.pef", NULL) && samba_run_graph(s, "eval", 0));
    CHECK(samba_close(s) == 0);
}

// ---- The table ----

// What SambaFlow calls it, what samba.h does, and its test: here, or the file that has it.
typedef struct row { const char *id, *sambaflow, *samba; void (*test)(void); const char *elsewhere; } row;

static const row rows[] = {
    { "T1 T2", "SambaTensor: sn_name, batch_dim, dtype", "samba_tensor: name, batch_dim, dtype; samba_set_batch_dim", row_names, NULL },
    { "T2", "t.sn_grad, read or assigned", "samba_sn_grad(t), samba_write", row_sn_grad, NULL },
    { "T3", "t.cpu(), t.rdu(), stale copies", "samba_cpu, samba_rdu, samba_is_stale", row_cpu_rdu, NULL },
    { "T6 T7", "samba.from_torch_tensor, to_torch", "samba_from_data (borrows), samba_from_data_copy, samba_read", row_from_data, NULL },
    { "T8", "samba.randn, rand, randint, zeros, ones", "samba_randn, samba_rand, samba_randint, samba_zeros, samba_ones", row_random, NULL },
    { "T9", "dummy tensors must match at run", "samba_input; shapes are checked where they meet", row_must_match, NULL },
    { "T13", "f32 to bf16, nearest even", "samba_cast(t, SAMBA_BF16)", row_rounding, NULL },
    { "O1 TR2", "torch function override, session.tracing", "ops record or compute: samba_tracing, samba_set_tracing", row_override, NULL },
    { "O2", "np.add, torch.add, F.relu by name", "samba_apply(s, \"np.add\", ...)", row_names_of_ops, NULL },
    { "O4 R10", "loss on the host with autograd", "eager ops in a second session, samba_grad", row_host_autograd, NULL },
    { "TR4", "loops unroll, branches are those taken", "the same", row_control_flow, NULL },
    { "TR6 U1", "utils.trace_graph(model, inputs, optim, pef=...)", "trace again, then samba_load(s, pef, &program)", row_graph_equality, NULL },
    { "TR8 M1", "from_torch_model_: names such as gemm1__weight", "layers name their parameters", row_parameter_names, NULL },
    { "M3 M4 C6", "samba.optim.SGD, AdamW; several; region names", "samba_optim in samba_program: optim or optims", row_optimizers, NULL },
    { "C4 C7", "session.compile(..., loss_indices)", "samba_compile, samba_program: loss, outputs, loss_indices", row_loss_indices, NULL },
    { "C8", "compile --inference", "samba_program.inference", row_inference, NULL },
    { "U4", "mapping: section, spatial", "samba_program.mapping, sram_bytes", row_mapping, NULL },
    { "T4 C9", "mem_type, io_host_memory: DDR, HBM, HOST", "samba_tensor.mem_type, samba_program.mem_limit; inputs and outputs are HOST", row_mem_type, NULL },
    { "TR7", "use_legacy_names", "samba_use_legacy_names", row_legacy_names, NULL },
    { "A1", "o0, o1, o3", "samba_program.level", row_levels, NULL },
    { "A4 R6", "--microbatch-size, ZEROGRAD", "samba_program.microbatches", row_microbatches, NULL },
    { "R1 R7", "session.run(): the whole schedule", "samba_run(s, 0), samba_run(s, SAMBA_FWD \\| SAMBA_BCKWD \\| SAMBA_OPT)", row_run_all, NULL },
    { "R2 T10", "run(input_tensors), None", "samba_run_desc.inputs; samba_write", row_inputs, NULL },
    { "R3", "run(output_tensors)", "samba_run_desc.outputs; samba_read", row_outputs, NULL },
    { "R4", "run(hyperparam_dict)", "samba_run_desc.hyperparams; samba_set, samba_get", row_hyperparams, NULL },
    { "R5", "run(section_types)", "samba_run_desc.section_types, any case, any order", row_section_types, NULL },
    { "R6", "GRADNORM, max_grad_norm", "samba_optim.max_grad_norm, SAMBA_GRADNORM", row_gradnorm, NULL },
    { "R8 R9", "run(section_ids)", "samba_run_desc.section_ids", row_section_ids, NULL },
    { "R8", "section_ids, nested", "SAMBA_GROUP_BEGIN ... SAMBA_GROUP_END", row_section_groups, NULL },
    { "R10", "run(grad_of_outputs)", "samba_run_desc.grad_of_outputs", row_grad_of_outputs, NULL },
    { "R11 R12", "run_until_call_id (exclusive), run_from_call_id (inclusive)", "samba_run_desc: until_call_id, from_call_id", row_call_ids, NULL },
    { "R16", "run(train=False)", "samba_run_desc.eval, samba_set_train", row_train_flag, NULL },
    { "R18", "trace_graph before run", "an error says what is missing", row_order_of_calls, NULL },
    { "U2 R20", "utils.init_output_grads", "samba_init_output_grads", row_init_output_grads, NULL },
    { "Q1 Q2 Q3", "get_argin_names, get_dropout_rate_, _seed_argin_names", "samba_argin_names, samba_dropout_rate_names, samba_dropout_seed_names", row_argin_names, NULL },
    { "Q4 Q5", "get_section_types, get_weight_names", "samba_section_types, samba_weight_names", row_section_types_of, NULL },
    { "Q6 Q7 Q8", "get_samba_tensor_by_name, get_tensors, get_tensors_by_name", "samba_tensor_by_name, samba_read, samba_copy_out", row_by_name, NULL },
    { "Q9", "update_tensor(name, tensor or None)", "samba_update_tensor", row_update_tensor, NULL },
    { "X1 X2 X3 X4", "to_device, to_cpu, to_cpu_, to_rdu", "samba_to_cpu, samba_to_rdu", row_to_cpu, NULL },
    { "X5 M2", "sync_buffers_to_cpu, sync_buffers_to_rdu", "samba_sync_buffers_to_cpu, samba_sync_buffers_to_rdu", row_sync_buffers, NULL },
    { "C12 C13 C14 C15 U3 R17", "add_graph, compile_multigraph, trace_multigraph, init_multigraph_runtime, run(graph_name)", "samba_begin_graph, samba_compile, samba_load, samba_run_graph", row_multigraph, NULL },
    { "", "nn.Linear, LayerNorm, Conv2d, BatchNorm, Embedding, Dropout", "samba_linear, samba_layernorm, samba_conv2d, samba_batchnorm, samba_embedding, samba_dropout", NULL, "tests/ops.c" },
    { "TR9", "torch operators", "samba_print_ops lists them; samba_apply calls one by name", NULL, "tests/ops.c" },
    { "C1 C2", "SambaSession, reset", "samba_open, samba_close", NULL, "tests/api.c" },
    { "C11", "disable_graphamp, --graphamp-preset mp0, mp1, mp4", "samba_set_graphamp, samba_desc.graphamp; bf16 between ops, f32 parameters", NULL, "tests/graphamp.c" },
    { "C10", "PEF name and place", "samba_program.pef; --pef-name, --output-folder", NULL, "tests/api.c" },
    { "M9", "load_state_dict, torch.save", "samba_save, samba_restore; tools/safetensors.h", NULL, "tests/resume.c" },
    { "O5", "ops the device has not", "samba_register_op; with SAMBA_OP_HOST in a section of their own", row_host_op, NULL },
    { "A1 A2 A3 A4 A5 U6", "parse_app_args, common_app_driver", "samba_parse_app_args, samba_app_driver (tools/driver.h)", NULL, "tests/api.c" },
    { "P1 P2 P3", "start_samba_profile, end_samba_profile, samba_profile, profiler", "samba_profiler_open, samba_start_profile, samba_end_profile (tools/profiler.h)", NULL, "tests/profiler.c" },
    { "P4", "SAMBA_SESSION_RUN_FWD_BCKWD_OPT, SAMBA_SET_PEF, PyRT_RUN ...", "the same names; samba_on_event; samba_profile_stats, samba_profile_latencies", NULL, "tests/profiler.c" },
    { "P5", "start_runtime_profile, end_runtime_profile, ENABLE_RUNTIME_PERF", "samba_start_runtime_profile, samba_end_runtime_profile", NULL, "tests/profiler.c" },
    { "A4", "flags without a meaning on a CPU (--arch, --num-tiles ...); SAMBA_SEED, SN_NUM_THREADS, OMP_NUM_THREADS", "accepted with a line that says so; read by samba_parse_app_args", NULL, "tests/api.c" },
    { "U5 U7", "utils.get_file_dir", "samba_file_dir (tools/driver.h)", NULL, "tests/api.c" },
    { "P6 P7", "measure_performance, measure_sections", "the driver's commands of these names, --trace; samba_profile_performance", NULL, "tests/profiler.c" },
    { "D1 D2", "generative_data_prep: data_prep.py, pipeline.py, decode_hdf5.py", "tools/samba prepare-data, prepare-data --pipeline, decode-data", NULL, "tests/prepare_data.sh" },
    { "G1 G3 G4 G5", "tutorial_train.py, gpt2_patch_helper, AutoConfig", "examples/06_gpt2_train.c; gpt2_logits, gpt2_config_read (tools/gpt2.h)", NULL, "tests/tutorial.sh" },
    { "G2 G6 G7 G8 G9 O3", "tutorial_generative_inference.py, model.generate", "examples/07_gpt2_generate.c; samba_generate (tools/generate.h)", NULL, "tests/gpt2_generate.c" },
    { "G10", "AutoTokenizer, from_pretrained", "samba_tokenizer_open (tools/tokenizer.h), gpt2_load_folder", NULL, "tests/tokenizer.c" },
    { "G11", "sentiment of movie reviews by generation", "examples/06_gpt2_train.c and 07", NULL, "tests/movie_reviews.sh" },
    { "M5 M6 M7 TR3", "enable_lazy_param(seed, init_threads, inverse_transform_sampling, fp32_to_bf16_rounding), disable_, use_lazy_param", "samba_enable_lazy_param, samba_disable_lazy_param, samba_use_lazy_param", NULL, "tests/lazy.c" },
    { "M8", "reset_random_generator", "samba_reset_random_generator", NULL, "tests/lazy.c" },
    { "R13 R14 R15", "run(data_parallel, reduce_on_rdu, data_parallel_mode), REDUCE", "samba_parallel_open, samba_parallel_run (tools/parallel.h); MPI with SAMBA_MPI", NULL, "tests/parallel.c" },
    { "E1 E2", "use_abexit, atexit_register", "samba_use_abexit, samba_atexit_register (tools/parallel.h)", NULL, "tests/parallel.c" },
    { "L1 L2", "SambaLoader(torch_loader, names)", "samba_loader_open, samba_loader_next, samba_loader_rewind (tools/loader.h)", NULL, "tests/loader.c" },
    { "L3 N1 T5", "enable_pinned_memory, disable_, use_pinned_memory", "samba_enable_pinned_memory, samba_disable_, samba_use_pinned_memory (tools/loader.h)", NULL, "tests/loader.c" },
    { "U1", "trace_graph of an ONNX ModelProto", "tools/onnx_import.h; tools/samba import-onnx, export-onnx", NULL, "tests/onnx.c" },
    { "A6 A8 A9", "hello_world/logreg.py, lenet.py", "examples/09_tutorials.c", NULL, "tests/run.sh" },
    { "TR10", "ResFFNLogReg", "examples/02_res_ffn.c", NULL, "tests/run.sh" },
    { "", "PEFT's LoRA", "samba_lora (tools/lora.h)", NULL, "tests/graphs.c" },
};

// The line of the table, without its end.
static void line_of(const row *r, char *text, size_t size)
{
    snprintf(text, size, "| %s | %s | %s | %s |", r->id, r->sambaflow, r->samba, r->test ? "tests/rows.c" : r->elsewhere);
}

static void test_readme(void)
{
    static char readme[1 << 17];
    FILE *f = fopen("README.md", "rb");
    CHECK(f != NULL);
    if (!f) return;
    readme[fread(readme, 1, sizeof readme - 1, f)] = 0;
    fclose(f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[600];
        line_of(&rows[i], line, sizeof line);
        if (!strstr(readme, line)) test_fail(line, "README.md", 0);
        f = rows[i].test ? NULL : fopen(rows[i].elsewhere, "rb");
        if (!rows[i].test && !f) test_fail(rows[i].elsewhere, "no such file", 0);
        if (f) fclose(f);
    }
}

int main(int argc, char **argv)
{
    bool prints = argc > 1 && !strcmp(argv[1], "table");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[600];
        line_of(&rows[i], line, sizeof line);
        if (prints) puts(line);
        else if (rows[i].test) test_bad = 0, rows[i].test(), test_end(rows[i].id);
    }
    if (prints) return 0;
    RUN(test_readme);
    return test_summary();
}
