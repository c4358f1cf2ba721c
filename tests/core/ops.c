// Every op against PyTorch: values and gradients of the golden files, eagerly and as programs.
//     cc -O2 -I. tests/core/ops.c -lm -pthread -o ops && ./ops [GOLDEN_DIR [op]]
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/op_calls.h"
#include "tests/lib/test.h"
#include <math.h>

// Relative, and a tenth of it times the largest element absolutely.
static const double out_rtol = 1e-5, grad_rtol = 1e-4;

typedef struct worst_errors {
    double eager, program, grad;
} worst_errors;

static void compare_floats(const float *got, const float *want, size_t n, double rtol,
                           double *worst)
{
    double error = golden_error(got, want, n);
    if (error > *worst) *worst = error;
    CHECK_CLOSE(got, want, n, rtol, 0.1 * rtol * golden_scale(want, n));
}

static bool same_shape(const samba_tensor *t, const golden_tensor *want)
{
    if ((int32_t)t->dtype != want->dtype || t->shape.ndim != want->ndim) return false;
    for (int32_t i = 0; i < want->ndim; i++) {
        if (t->shape.dim[i] != want->dim[i]) return false;
    }
    return true;
}

static void compare_bytes(samba_tensor *t, const golden_tensor *want)
{
    uint8_t *bytes = (uint8_t *)malloc(want->size);
    CHECK(bytes != NULL);
    if (!bytes) return;
    CHECK(samba_copy_out(t, bytes, want->size));
    CHECK(memcmp(bytes, want->data, want->size) == 0);
    free(bytes);
}

// f32 outputs within the tolerance; every other type byte for byte.
static void compare_outputs(op_run *run, const golden_case *c, double *worst)
{
    for (int32_t i = 0; i < c->n_out; i++) {
        const golden_tensor *want = &c->out[i];
        bool fits = same_shape(run->out[i], want) && samba_bytes(run->out[i]) == want->size;
        CHECK(fits && "the type, shape and size of the output");
        if (!fits) continue;
        if (want->dtype == SAMBA_F32) {
            const float *values = (const float *)want->data;
            compare_floats(samba_read(run->out[i]), values, want->count, out_rtol, worst);
        } else {
            compare_bytes(run->out[i], want);
        }
    }
    CHECK(samba_ok(run->s));
}

static void compare_gradients(op_run *run, const golden_case *c, double *worst)
{
    for (int32_t i = 0; i < c->n_in; i++) {
        const golden_tensor *x = &c->in[i];
        if (!x->marked) continue;
        samba_tensor *grad = samba_sn_grad(run->in[i]);
        bool fits = grad && samba_bytes(grad) == x->size;
        CHECK(fits && "the size of the gradient");
        if (fits) compare_floats(samba_read(grad), x->mate, x->count, grad_rtol, worst);
    }
    CHECK(samba_ok(run->s));
}

static void test_eager(const op_call *op, const golden_case *c, bool portable, worst_errors *worst)
{
    op_run run;
    bool ran = op_run_eager(&run, op, c, portable);
    CHECK(ran);
    if (ran) compare_outputs(&run, c, &worst->eager);
    if (test_bad) printf("    eagerly, %s kernels\n", portable ? "portable" : "fast");
    op_complain(&run, c);
    op_close(&run);
}

static void test_program(const op_call *op, const golden_case *c, worst_errors *worst)
{
    op_run run;
    bool ran = op_run_traced(&run, op, c);
    int before = test_bad;
    CHECK(ran);
    if (ran) compare_outputs(&run, c, &worst->program);
    if (test_bad > before) printf("    in the program\n");
    before = test_bad;
    if (ran) compare_gradients(&run, c, &worst->grad);
    if (test_bad > before) printf("    in its gradients\n");
    op_complain(&run, c);
    op_close(&run);
}

// Eager runs take the portable kernels in every other case; programs always take the fast ones.
static void test_op(const op_call *op, const char *dir)
{
    golden_file file;
    worst_errors worst = { 0, 0, 0 };
    int failed = test_failed;
    test_bad = !op_cases(&file, dir, op);
    if (test_bad) {
        printf("%s/ops_%s.bin: %s\n", dir, op->name, file.why);
        test_end(op->name);
        golden_free(&file);
        return;
    }
    for (uint32_t i = 0; i < file.n_cases; i++) {
        test_bad = 0;
        test_eager(op, &file.cases[i], i % 2 == 1, &worst);
        test_program(op, &file.cases[i], &worst);
        if (test_bad) {
            printf("    %s case %u:", op->name, (unsigned)i);
            golden_print(&file.cases[i]);
        }
        test_end(op->name);
    }
    printf("%-30s %5u %9.1e %9.1e %9.1e %s\n", op->name, (unsigned)file.n_cases, worst.eager,
           worst.program, worst.grad, test_failed > failed ? "FAILED" : "");
    golden_free(&file);
}

// Rows whose largest element is not finite have no softmax: NaN, whatever the kernels and the
// length of the row. -inf in other rows is 0, as what lies far below is.
static void test_rows_of_infinities(void)
{
    enum { ROWS = 5, COLUMNS = 300 };

    static float x[ROWS * COLUMNS];
    const float first[ROWS] = { NAN, INFINITY, -INFINITY, 1, 0 };
    int32_t label[ROWS] = { 0 };
    for (int portable = 0; portable < 2; portable++) {
        for (int n = 1; n <= COLUMNS; n += n < 40 ? 13 : 240) {
            for (int i = 0; i < ROWS * n; i++)
                x[i] = i / n == 2 || i % n ? -INFINITY : first[i / n];
            if (n > 1) x[5 * n - 1] = -1000;
            samba_session *s = samba_open(&(samba_desc){ .threads = 1, .portable = portable });
            samba_set_tracing(s, false);
            samba_tensor *t = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(ROWS, n), x);
            samba_tensor *at = samba_from_data_copy(s, "at", SAMBA_I32, SAMBA_SHAPE(ROWS), label);
            samba_tensor *loss = samba_cross_entropy_with(
                t, at, &(samba_loss_opts){ .reduction = SAMBA_REDUCE_NONE });
            const int32_t attr[3] = { SAMBA_REDUCE_NONE, -100, 0 };
            samba_tensor *y[5] = { samba_softmax(t, 1), samba_log_softmax(t, 1),
                                   samba_softmax(samba_transpose(t, 0, 1), 0), loss,
                                   samba_apply(s, "cross_entropy_backward",
                                               (samba_tensor *[]){ loss, t, at }, 3, attr, 3) };
            const float *rows = samba_read(y[0]), *logs = samba_read(y[1]);
            const float *columns = samba_read(y[2]), *losses = samba_read(y[3]);
            const float *dx = samba_read(y[4]);
            for (int i = 0; i < ROWS * n; i++) {
                int r = i / n, c = i % n;
                float want = r < 3 ? NAN : c ? 0 : 1, column = columns[c * ROWS + r];
                CHECK_CLOSE(&rows[i], &want, 1, 0, 0);
                CHECK_CLOSE(&column, &want, 1, 0, 0);
                CHECK(r < 3 ? logs[i] != logs[i] : c ? logs[i] <= -1000 : logs[i] == 0);
                CHECK(r < 3 ? dx[i] != dx[i] : dx[i] == 0);
            }
            for (int r = 0; r < ROWS; r++)
                CHECK(r < 3 ? losses[r] != losses[r] : losses[r] == 0);
            CHECK(samba_ok(s));
            samba_close(s);
        }
    }
}

// Scores that overflow make NaN, in any block of keys; so does a NaN.
static void test_attention_of_infinities(void)
{
    for (int portable = 0; portable < 2; portable++) {
        for (int at = 0; at < 130; at += 43) {
            float q[3] = { 1e30f, NAN, 1 }, k[130] = { 0 }, v[130];
            for (int i = 0; i < 130; i++)
                v[i] = 1;
            k[at] = 1e30f;
            samba_session *s = samba_open(&(samba_desc){ .threads = 1, .portable = portable });
            samba_set_tracing(s, false);
            samba_tensor *y = samba_scaled_dot_product_attention(
                samba_from_data_copy(s, "q", SAMBA_F32, SAMBA_SHAPE(3, 1), q),
                samba_from_data_copy(s, "k", SAMBA_F32, SAMBA_SHAPE(130, 1), k),
                samba_from_data_copy(s, "v", SAMBA_F32, SAMBA_SHAPE(130, 1), v), NULL, NULL);
            const float *got = samba_read(y), want[3] = { NAN, NAN, 1 };
            CHECK(got != NULL);
            if (got) CHECK_CLOSE(got, want, 3, 0, 0);
            samba_close(s);
        }
    }
}

// Kernels take elements in blocks of 32 and then what is left: any length gives the elements of a
// longer row, also in place; and a maximum sees each of them, a NaN before all.
static void test_rows_of_any_length(void)
{
    enum { MOST = 100 };

    float x[MOST], all[MOST];
    for (int i = 0; i < MOST; i++)
        x[i] = (float)((i * 37 + 11) % MOST) / 10 - 7;
    for (int portable = 1; portable >= 0; portable--) {
        for (int n = MOST; n > 0; n--) {
            samba_session *s = samba_open(&(samba_desc){ .threads = 1, .portable = portable });
            samba_tensor *t = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(n), x);
            samba_program p = { .inference = true };
            p.outputs[0] = samba_tanh(samba_gelu(samba_sigmoid(samba_gelu_tanh(t))));
            CHECK(samba_compile(s, &p) && samba_run(s, 0));
            const float *y = samba_read(p.outputs[0]);
            if (n == MOST && portable) memcpy(all, y, sizeof all);
            CHECK(!memcmp(y, all, (size_t)n * sizeof *y));
            float want = x[0], got;
            for (int i = 1; i < n; i++)
                want = x[i] > want ? x[i] : want;
            samba_set_tracing(s, false);
            samba_tensor *row = samba_from_data_copy(s, "row", SAMBA_F32, SAMBA_SHAPE(n), x);
            CHECK(samba_read(samba_max(row, SAMBA_AXES(0), false))[0] == want);
            for (int at = 0; at < n; at += 7) {
                float whole[MOST];
                memcpy(whole, x, sizeof whole);
                whole[at] = NAN;
                CHECK(samba_write(row, whole));
                got = samba_read(samba_max(row, SAMBA_AXES(0), false))[0];
                CHECK(got != got);
            }
            CHECK(samba_ok(s));
            samba_close(s);
        }
    }
}

// What f32 would round is cast exactly: the ends of a type pass, and what lies beyond ends the run.
static void test_ends_of_integers(void)
{
    static const struct {
        samba_dtype type;
        int64_t least, most;
    } ends[] = {
        { SAMBA_I8, INT8_MIN, INT8_MAX },    { SAMBA_U8, 0, UINT8_MAX },
        { SAMBA_I16, INT16_MIN, INT16_MAX }, { SAMBA_U16, 0, UINT16_MAX },
        { SAMBA_I32, INT32_MIN, INT32_MAX }, { SAMBA_U32, 0, UINT32_MAX },
    };

    enum { N = 35 }; // some pieces of 16, and a rest

    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true });
        int64_t value[N], got[N];
        char said[160];
        for (int i = 0; i < N; i++)
            value[i] = i % 2 ? ends[k].most - i / 2 : ends[k].least + i / 2;
        samba_tensor *x = samba_input(s, "x", SAMBA_I64, SAMBA_SHAPE(N));
        samba_tensor *y = samba_cast(samba_cast(x, ends[k].type), SAMBA_I64);
        CHECK(samba_compile(s, &(samba_program){ .inference = true, .outputs = { y } }));
        CHECK(samba_write(x, value) && samba_run(s, 0) && samba_copy_out(y, got, sizeof got));
        CHECK(!memcmp(got, value, sizeof got));
        for (int beyond = 0; beyond < 2; beyond++) {
            value[N - 1] = beyond ? ends[k].most + 1 : ends[k].least - 1;
            snprintf(said, sizeof said, "x holds %lld at [34], which is out of range %lld ... %lld",
                     (long long)value[N - 1], (long long)ends[k].least, (long long)ends[k].most);
            CHECK(samba_write(x, value) && !samba_run(s, 0) && strstr(samba_error(s), said));
            samba_clear_error(s);
        }
        CHECK(samba_close(s) == 0);
    }
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : GOLDEN_DIR;
    printf("%-30s %5s %9s %9s %9s   worst relative errors\n", "op", "cases", "eager", "program",
           "gradient");
    for (int i = 0; i < N_OP_CALLS; i++) {
        if (argc < 3 || !strcmp(argv[2], op_calls[i].name)) test_op(&op_calls[i], dir);
    }
    if (argc < 3) {
        RUN(test_rows_of_infinities);
        RUN(test_attention_of_infinities);
        RUN(test_rows_of_any_length);
        RUN(test_ends_of_integers);
    }
    return test_summary();
}
