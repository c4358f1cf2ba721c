// Values that are not finite, and extreme ones, in programs: each op with its gradients compiled as
// at once, steps of optimizers with and without clipping, packed weights. tests/core/reference.c
// judges the ops themselves, each against its definition.
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/op_calls.h"
#include "tests/lib/optimizers.h"
#include "tests/lib/test.h"

enum { N_ODD = 9 };

static float odd_value(int i)
{
    const float value[N_ODD]
        = { NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 3e38f, -3e38f, 1e-40f, -0.0f };
    return value[i];
}

static size_t place_of(int place, size_t n)
{
    return place == 0 ? 0 : place == 1 ? n / 2 : n - 1;
}

// ---- Each op and its gradients: compiled, which fuses and rewrites, and at once -----------------

// One NaN is like another, and 0 like -0, which a sum of gradients may make of it.
static bool same(samba_tensor *a, samba_tensor *b, const char *what, const golden_case *c)
{
    size_t n = samba_bytes(a) / sizeof(float);
    bool both = a && b && a->dtype == b->dtype && samba_bytes(a) == samba_bytes(b);
    if (!both) return false;
    if (a->dtype != SAMBA_F32) return true;
    const float *x = samba_read(a), *y = samba_read(b);
    for (size_t i = 0; i < n; i++) {
        if (x[i] == y[i] || (isnan(x[i]) && isnan(y[i]))) continue;
        printf("    %s of %s, element %d: compiled %g, at once %g\n", what, c->op, (int)i,
               (double)x[i], (double)y[i]);
        return false;
    }
    return true;
}

static samba_tensor *loss_at_once(op_run *run, const golden_case *c)
{
    char name[LEAF_NAME];
    samba_tensor *loss = NULL;
    for (int32_t i = 0; i < run->n_out; i++) {
        if (!c->out[i].marked) continue;
        op_leaf_name(name, 'r', i);
        samba_tensor *r
            = samba_from_data_copy(run->s, name, SAMBA_F32, op_shape(&c->out[i]), c->out[i].mate);
        samba_tensor *term = samba_sum(samba_mul(run->out[i], r), SAMBA_ALL_AXES, false);
        loss = loss ? samba_add(loss, term) : term;
    }
    return loss;
}

static void compare(const op_call *op, const golden_case *c)
{
    op_run compiled, at_once;
    CHECK(op_run_traced(&compiled, op, c) && op_run_eager(&at_once, op, c, false));
    compiled.s->desc.quiet = true; // losses that are NaN are told
    samba_tensor *loss = compiled.has_gradients ? loss_at_once(&at_once, c) : NULL;
    for (int32_t i = 0; i < c->n_out && !test_bad; i++)
        if (!op_is_state(c, i + 2)) CHECK(same(compiled.out[i], at_once.out[i], "output", c));
    for (int32_t i = 0; i < c->n_in && !test_bad; i++)
        if (c->in[i].marked)
            CHECK(same(samba_sn_grad(compiled.in[i]), samba_grad(loss, at_once.in[i]), "gradient",
                       c));
    op_complain(&compiled, c);
    op_close(&compiled);
    op_close(&at_once);
}

static void plant(const op_call *op, const golden_case *c, int32_t input)
{
    golden_tensor *t = (golden_tensor *)&c->in[input];
    float *data = (float *)malloc(t->size);
    const void *before = t->data;
    for (int k = 0; k < 3 * N_ODD && !test_bad; k++) {
        memcpy(data, before, t->size);
        data[place_of(k % 3, t->count)] = odd_value(k / 3);
        t->data = (uint8_t *)data;
        compare(op, c);
        if (test_bad)
            printf("    with %g in input %d, place %d\n", (double)odd_value(k / 3), (int)input,
                   k % 3);
    }
    t->data = (uint8_t *)before;
    free(data);
}

static void test_compiled(void)
{
    for (int i = 0; i < N_OP_CALLS && !test_bad; i++) {
        golden_file file;
        if (!op_cases(&file, GOLDEN_DIR, &op_calls[i])) {
            printf("%s: no cases\n", op_calls[i].name);
            test_bad++;
        }
        for (int32_t k = 0; file.n_cases && k < file.cases[0].n_in; k++)
            if (file.cases[0].in[k].dtype == SAMBA_F32 && file.cases[0].in[k].count)
                plant(&op_calls[i], &file.cases[0], k);
        golden_free(&file);
    }
}

// ---- Steps: w -= f(c), where c, the gradient of w, has an odd value -----------------------------

enum { ROWS = 3, COLS = 11, COUNT = ROWS * COLS };

static void step(const samba_optim *optim, samba_dtype type, float max_norm, const float *gradient,
                 float *w)
{
    samba_session *s = samba_open(NULL);
    samba_set_param_dtype(s, type);
    samba_tensor *param = samba_param(s, "w", SAMBA_SHAPE(ROWS, COLS),
                                      (samba_init){ SAMBA_INIT_CONSTANT, 1.0f, 0.0f });
    samba_tensor *c
        = samba_set_batch_dim(samba_input(s, "c", SAMBA_F32, SAMBA_SHAPE(ROWS, COLS)), -1);
    samba_tensor *loss = samba_sum(samba_mul(param, c), SAMBA_ALL_AXES, false);
    samba_program p = { .loss = loss, .max_grad_norm = max_norm, .optim = *optim };
    CHECK(samba_compile(s, &p) && samba_write(c, gradient) && samba_run(s, 0));
    CHECK(samba_copy_out_f32(param, w, COUNT) && samba_close(s) == 0);
}

// What is not finite shows in the weights. So does a norm, or a square, beyond f32. Every kind but
// SGD and Lion is taken for one that squares the gradient, as Adam does: SGD alone has room for
// steps of 1e30, and Lion's are signs. An optimizer of another sort has to be told apart here.
static void check_step(int row, samba_dtype type, bool clips, float odd, size_t at)
{
    float gradient[COUNT], w[COUNT];
    samba_optim optim = optimizer_of_row(row);
    samba_optim_kind kind = optim.kind;
    bool squares = kind != SAMBA_SGD && kind != SAMBA_LION;
    bool finite = isfinite(odd), extreme = finite && fabsf(odd) > 1e19f;
    for (int i = 0; i < COUNT; i++)
        gradient[i] = 0.5f;
    gradient[at] = odd;
    optim.lr = 0.25f;
    step(&optim, type, clips ? 1 : 0, gradient, w);
    for (size_t i = 0; i < COUNT; i++) {
        bool seen = (!finite || extreme) && (clips || (i == at && (!finite || squares)));
        if (seen)
            CHECK(!isfinite(w[i]));
        else
            CHECK(isfinite(w[i]) && (w[i] < 1 || i == at));
    }
    if (kind == SAMBA_SGD && extreme && !clips)
        CHECK(fabsf(w[at] + 0.25f * odd) < 0.01f * fabsf(odd));
    if (test_bad)
        printf("    optimizer %s, type %d, %g at %d, %s\n", samba__optimizers[row].name, (int)type,
               (double)odd, (int)at, clips ? "clipped" : "not clipped");
}

static void test_steps(void)
{
    for (int row = 0; row < SAMBA__N_OPTIMIZERS; row++)
        for (int i = 0; i < 2 * 2 * N_ODD * 3 && !test_bad; i++)
            check_step(row, i % 2 ? SAMBA_BF16 : SAMBA_F32, i / 2 % 2, odd_value(i / 4 % N_ODD),
                       place_of(i / 4 / N_ODD, COUNT));
}

// ---- Packed weights -----------------------------------------------------------------------------

enum { X_ROWS = 3, K = 64, OUT = 37 };

static samba_session *open_packed(samba_tensor **x, samba_tensor **w, samba_tensor **y)
{
    float values[OUT * K];
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    for (int i = 0; i < OUT * K; i++)
        values[i] = 0.01f * (float)(1 + i % 13);
    *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(X_ROWS, K));
    *w = samba_param(s, "w", SAMBA_SHAPE(OUT, K), (samba_init){ 0 });
    CHECK(samba_write(*w, values));
    *y = samba_affine(*x, *w, NULL);
    return s;
}

// An odd x reaches all of its row and no other.
static void check_packed_x(samba_weights as, float odd, int place)
{
    samba_tensor *x, *w, *y;
    samba_session *s = open_packed(&x, &w, &y);
    samba_program p = { .inference = true, .outputs = { y }, .weights = as };
    float row[X_ROWS * K], out[X_ROWS * OUT];
    for (int i = 0; i < X_ROWS * K; i++)
        row[i] = 0.5f;
    size_t at = place_of(place, X_ROWS * K);
    row[at] = odd;
    CHECK(samba_compile(s, &p) && samba_write(x, row) && samba_run(s, 0)
          && samba_copy_out(y, out, sizeof out));
    for (size_t i = 0; i < X_ROWS * OUT; i++) {
        bool mine = i / OUT == at / K;
        if (mine && !isfinite(odd))
            CHECK(!isfinite(out[i]));
        else
            CHECK(mine && fabsf(odd) > 1 ? fabsf(out[i]) > 1e-3f * fabsf(odd)
                                         : out[i] > 0 && out[i] < 100);
    }
    CHECK(samba_close(s) == 0);
}

// An odd weight reaches its column and no other; it is refused where only integers are kept.
static void check_packed_weight(samba_weights as, float odd, int place)
{
    samba_tensor *x, *w, *y;
    samba_session *s = open_packed(&x, &w, &y);
    samba_program p = { .inference = true, .outputs = { y }, .weights = as };
    float row[X_ROWS * K], weights[OUT * K], out[X_ROWS * OUT];
    size_t bad = place_of(place, OUT * K);
    bool refused = as >= SAMBA_WEIGHTS_INT8 && !isfinite(odd);
    for (int i = 0; i < X_ROWS * K; i++)
        row[i] = 0.5f;
    CHECK(samba_copy_out(w, weights, sizeof weights));
    weights[bad] = odd;
    CHECK(samba_write(w, weights) && samba_compile(s, &p) == !refused);
    if (refused)
        CHECK(samba_error_code(s) == SAMBA_ERANGE
              && strstr(samba_error(s), "w cannot be packed as int"));
    else
        CHECK(samba_write(x, row) && samba_run(s, 0) && samba_copy_out(y, out, sizeof out));
    for (size_t i = 0; !refused && i < X_ROWS * OUT; i++)
        CHECK(isfinite(out[i]) == (isfinite(odd) || i % OUT != bad / K) || fabsf(odd) > 1e38f);
    samba_clear_error(s);
    CHECK(samba_close(s) == 0);
}

static void test_packed(void)
{
    for (int i = 0; i < 5 * 3 * N_ODD && !test_bad; i++) {
        check_packed_x((samba_weights)(i % 5), odd_value(i / 15), i / 5 % 3);
        check_packed_weight((samba_weights)(i % 5), odd_value(i / 15), i / 5 % 3);
        if (test_bad)
            printf("    packed as %d, %g at place %d\n", i % 5, (double)odd_value(i / 15),
                   i / 5 % 3);
    }
}

int main(void)
{
    RUN(test_compiled);
    RUN(test_steps);
    RUN(test_packed);
    return test_summary();
}
