// Every op against PyTorch: values and gradients of the golden files, eagerly and as programs.
//     cc -O2 -I. tests/ops.c -lm -pthread -o ops && ./ops [GOLDEN_DIR [op]]
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "op_calls.h"
#include "test.h"

// Relative, and a tenth of it times the largest element absolutely.
static const double out_rtol = 1e-5, grad_rtol = 1e-4;

typedef struct worst_errors { double eager, program, grad; } worst_errors;

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
    test_bad = !golden_read(&file, dir, op->name);
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

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : GOLDEN_DIR;
    printf("%-30s %5s %9s %9s %9s   worst relative errors\n", "op", "cases", "eager", "program",
           "gradient");
    for (int i = 0; i < N_OP_CALLS; i++) {
        if (argc < 3 || !strcmp(argv[2], op_calls[i].name)) test_op(&op_calls[i], dir);
    }
    return test_summary();
}
