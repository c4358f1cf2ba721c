// Fused groups: ops that the executor runs part by part, one behind the other, give the bits that
// they give one at a time; and the groups that matter are found.
// run: threads
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"
#include <string.h>

// ---- Which fused groups a program has ----

// The ops of the group that begins with node i, such as "add+layer_norm"; returns its nodes.
static uint32_t group_at(const samba_runtime *rt, uint32_t i, char *text, size_t size)
{
    text[0] = 0;
    for (uint32_t k = i; k < i + rt->steps[i].group; k++) {
        if (rt->steps[k].view) continue;
        snprintf(text + strlen(text), size - strlen(text), "%s%s", text[0] ? "+" : "",
                 rt->steps[k].op->name);
    }
    return rt->steps[i].group;
}

static int groups_called(const samba_session *s, const char *want)
{
    char text[400];
    int n = 0;
    for (uint32_t i = 0; i < s->program.rt->pef.n_nodes;) {
        i += group_at(s->program.rt, i, text, sizeof text);
        n += strcmp(text, want) == 0;
    }
    return n;
}

static int ops_behind_others(const samba_session *s)
{
    int n = 0;
    for (uint32_t i = 0; i < s->program.rt->pef.n_nodes; i += s->program.rt->steps[i].group)
        n += (int)s->program.rt->steps[i].group - 1;
    return n;
}

// A block of a transformer without attention.
static void test_found(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_linear(samba_randn(s, "x", SAMBA_SHAPE(8, 16)), "in", 48);
    samba_tensor *h = samba_layernorm(samba_add(x, samba_linear(x, "mix", 48)), "norm");
    h = samba_linear(samba_gelu_tanh(samba_linear(h, "up", 96)), "down", 48);
    samba_tensor *y = samba_silu(samba_scale(samba_tanh(samba_add(x, h)), 0.5f));
    samba_tensor *loss = samba_sum(samba_mul(y, y), SAMBA_ALL_AXES, false);
    samba_program p = { .loss = loss };
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.1f };
    CHECK(samba_compile(s, &p));
    CHECK(groups_called(s, "add+layer_norm") == 1);
    CHECK(groups_called(s, "matmul+gelu_tanh_backward") == 1);
    CHECK(groups_called(s, "add+tanh+scale+silu+mul") == 1);
    CHECK(samba_close(s) == 0);

    s = samba_open(NULL);
    x = samba_randn(s, "x", SAMBA_SHAPE(40, 16));
    y = samba_linear(samba_gelu(samba_linear(x, "up", 70)), "down", 16);
    CHECK(samba_compile(s, &(samba_program){ .outputs = { y }, .inference = true }));
    CHECK(groups_called(s, "affine+gelu") == 1);
    p = (samba_program){ .outputs = { y }, .inference = true, .level = SAMBA_O0 };
    CHECK(samba_compile(s, &p) && ops_behind_others(s) == 0);
    CHECK(samba_close(s) == 0);
}

// ---- Random programs ----

enum { VALUES = 24 };

static uint32_t state;

static uint32_t choice(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

// One more op on values made before: elementwise, of rows, stretched, a product, dropout.
static samba_tensor *random_op(samba_tensor **v, int n, int32_t columns, int number)
{
    samba_session *s = v[0]->session;
    samba_tensor *a = v[choice((uint32_t)n)], *b = choice(3) ? v[n - 1] : v[choice((uint32_t)n)];
    samba_init scattered = { .kind = SAMBA_INIT_UNIFORM, .scale = 1 };
    char name[32];
    snprintf(name, sizeof name, "layer%d", number);
    switch (choice(12)) {
    case 0:
        return samba_add(a, b);
    case 1:
        return samba_mul(b, samba_param(s, name, SAMBA_SHAPE(columns), scattered));
    case 2:
        return samba_tanh(b);
    case 3:
        return samba_layernorm(b, name);
    case 4:
        return samba_softmax(b, -1);
    case 5:
        return samba_linear(b, name, columns);
    case 6:
        return samba_gelu(b);
    case 7:
        return samba_where(samba_gt(a, b), a, b);
    case 8:
        return samba_dropout(b, name, 0.3f);
    case 9:
        return samba_reshape(samba_sigmoid(b), b->shape);
    case 10:
        return samba_sub(b, samba_mean(a, SAMBA_AXES(1), true));
    default:
        return samba_rmsnorm(samba_add(a, b), name);
    }
}

// The hash of loss, a value and weights after two steps; threads 0: ops one at a time.
static uint64_t trained(uint32_t seed, int threads, bool portable, int *behind)
{
    samba_session *s = samba_open(&(samba_desc){ .threads = threads, .portable = portable });
    state = seed;
    int32_t rows = 1 + (int32_t)choice(70), columns = 1 + (int32_t)choice(300);
    samba_tensor *x = samba_randn(s, "x", SAMBA_SHAPE(rows, columns));
    samba_tensor *v[VALUES] = { samba_linear(x, "first", columns) };
    int n = 1, last = 4 + (int)choice(VALUES - 4);
    for (; n < last; n++)
        v[n] = random_op(v, n, columns, n);
    samba_tensor *square = samba_mul(v[n - 1], v[n - 1]), *middle = v[n / 2];
    samba_program p = { .loss = samba_mean(square, SAMBA_ALL_AXES, false) };
    p.outputs[0] = middle;
    p.optim = (samba_optim){ .kind = SAMBA_SGD, .lr = 0.01f };
    CHECK(samba_compile(s, &p));
    *behind = ops_behind_others(s);
    for (uint32_t i = 0; threads == 0 && i < s->program.rt->pef.n_nodes; i++)
        s->program.rt->steps[i].group = 1;
    CHECK(samba_run(s, 0) && samba_run(s, 0));
    if (!samba_ok(s)) {
        printf("%s\n", samba_error(s));
        samba_close(s);
        return 0;
    }
    uint64_t hash = samba__hash(samba_read(p.loss), 4, 0);
    hash = samba__hash(samba_read(middle), samba_bytes(middle), hash);
    hash = hash_weights(s, hash);
    CHECK(samba_close(s) == 0);
    return hash;
}

static void test_same_bits(void)
{
    int with = 0, behind;
    for (uint32_t seed = 1; seed <= 150; seed++) {
        uint64_t want = trained(seed, 0, false, &behind);
        for (int threads = 1; threads <= 3; threads++) {
            uint64_t got = trained(seed, threads, threads == 2, &behind);
            if (got != want) printf("seed %u, %d threads: other bits\n", (unsigned)seed, threads);
            CHECK(got == want);
        }
        with += behind > 0;
    }
    printf("%d of 150 random programs have fused groups\n", with);
    CHECK(with > 100);
}

// ---- Rows of one element, which are no elementwise op's ----

// A product, and an op from whole rows to whole rows behind it.
static samba_tensor *one_wide(samba_tensor *x, bool batched, int op)
{
    samba_tensor *column = samba_reshape(
        samba_param(x->session, "column", SAMBA_SHAPE(2), (samba_init){ SAMBA_INIT_NORMAL, 0, 1 }),
        SAMBA_SHAPE(2, 1));
    samba_tensor *y = batched ? samba_matmul(samba_reshape(x, SAMBA_SHAPE(64, 1, 2)), column)
                              : samba_matmul(x, column);
    switch (op) {
    case 0:
        return samba_softmax(y, -1);
    case 1:
        return samba_log_softmax(y, -1);
    case 2:
        return samba_layernorm(y, "norm");
    case 3:
        return samba_rms_normalize(y, NULL, 1e-5f);
    default:
        return samba_relu(samba_rms_normalize(y, NULL, 1e-5f));
    }
}

static void read_one_wide(bool compiled, bool batched, int op, float y[64])
{
    samba_session *s = samba_open(NULL);
    float x[128];
    for (int i = 0; i < 128; i++)
        x[i] = (float)(i * 37 % 101) / 50.0f - 1.0f;
    samba_set_tracing(s, compiled);
    samba_tensor *input = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(64, 2), x);
    samba_tensor *result = one_wide(input, batched, op);
    samba_program p = { .inference = true, .outputs = { result } };
    if (compiled) CHECK(samba_compile(s, &p) && samba_run(s, SAMBA_FWD));
    CHECK(samba_copy_out_f32(result, y, 64));
    CHECK(samba_close(s) == 0);
}

static void test_rows_of_one_element(void)
{
    for (int op = 0; op < 5; op++) {
        for (int batched = 0; batched < 2; batched++) {
            float compiled[64], at_once[64];
            read_one_wide(true, batched, op, compiled);
            read_one_wide(false, batched, op, at_once);
            CHECK(!memcmp(compiled, at_once, sizeof compiled));
        }
    }
}

int main(void)
{
    RUN(test_rows_of_one_element);
    RUN(test_found);
    RUN(test_same_bits);
    return test_summary();
}
