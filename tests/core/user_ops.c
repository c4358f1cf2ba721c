// Ops that a program registers: gradients through any of their outputs.
//     cc -O2 -I. tests/core/user_ops.c -lm -pthread -o user_ops && ./user_ops
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include <string.h>

enum { N = 6 };

// ---- An op with two outputs: x and 3x -----------------------------------------------------------

static void both_kernel(const samba_args *a)
{
    for (int64_t i = a->begin; i < a->end; i++) {
        a->out[0][i] = a->in[0][i];
        a->out[1][i] = 3 * a->in[0][i];
    }
}

// What flows is told by NULLs: one output, the other, or both.
static void both_vjp(samba_vjp *g)
{
    samba_tensor *once = g->dout[0];
    samba_tensor *thrice = g->dout[1] ? samba_scale(g->dout[1], 3) : NULL;
    g->din[0] = !once ? thrice : !thrice ? once : samba_add(once, thrice);
}

static const samba_op both = { .name = "both",
                               .wire = 0x8000,
                               .signature = "*->*,*",
                               .cost = 1,
                               .kernel = both_kernel,
                               .vjp = both_vjp };

// The gradient of a sum over output `which` (2: of both, added), and x itself.
static void test_gradient_of_any_output(void)
{
    static const float wants[3] = { 2, 4, 5 };
    for (int which = 0; which < 3; which++) {
        samba_session *s = samba_open(&(samba_desc){ .quiet = true, .threads = 1 });
        samba_tensor *out[2] = { NULL, NULL };
        CHECK(samba_register_op(s, &both));
        samba_tensor *x = samba_rand(s, "x", SAMBA_SHAPE(N));
        CHECK(samba_apply_all(s, "both", &x, 1, NULL, 0, out, 2) == 2);

        samba_tensor *y = which < 2 ? out[which] : samba_add(out[0], out[1]);
        samba_tensor *dx = samba_grad(samba_sum(samba_add(y, x), SAMBA_ALL_AXES, false), x);
        CHECK(samba_compile(s, &(samba_program){ .outputs = { dx }, .inference = true }));
        CHECK(samba_run(s, SAMBA_FWD));
        for (int i = 0; i < N; i++)
            CHECK(samba_read(dx)[i] == wants[which]);
        CHECK(samba_close(s) == 0);
    }
}

// ---- A tensor of another session, under graphamp ------------------------------------------------

static void test_foreign_tensor(void)
{
    samba_session *other = samba_open(&(samba_desc){ .quiet = true });
    samba_session *s = samba_open(&(samba_desc){ .quiet = true, .graphamp = SAMBA_MP1 });
    samba_tensor *theirs = samba_rand(other, "theirs", SAMBA_SHAPE(2, 3));
    samba_tensor *ours = samba_rand(s, "ours", SAMBA_SHAPE(3, 2));
    samba_tensor *y = samba_relu(theirs);

    CHECK(!samba_matmul(ours, theirs));
    CHECK(strstr(samba_error(s), "theirs, belongs to another session"));
    CHECK(samba_ok(other));
    CHECK(samba_compile(other, &(samba_program){ .outputs = { y }, .inference = true }));
    CHECK(samba_run(other, SAMBA_FWD) && samba_close(other) == 0);
    samba_close(s);
}

int main(void)
{
    RUN(test_gradient_of_any_output);
    RUN(test_foreign_tensor);
    return test_summary();
}
