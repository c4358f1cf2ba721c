// The session for the process, which ported samples may use: SambaFlow's samba.session.
//     cc -O2 -I. tests/core/default_session.c -lm -pthread -o default_session && ./default_session
// run: threads
#define SAMBA_DEFAULT_SESSION
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include "tests/lib/session.h"

// It is there from the first use on, and is one: sessions that are opened beside it are others.
static void test_one(void)
{
    samba_session *other = samba_open(NULL);
    samba_tensor *x = samba_ones(samba_default(), "x", SAMBA_F32, SAMBA_SHAPE(2));
    samba_tensor *y = samba_scale(x, 3);
    CHECK(samba_compile(samba_default(), &(samba_program){ .outputs = { y }, .inference = true }));
    CHECK(samba_run(samba_default(), 0) && samba_read(y)[1] == 3);
    CHECK(samba_default() == x->session && samba_default() != other);
    CHECK(samba_close(other) == 0 && samba_read(y)[1] == 3);
    CHECK(samba_close(samba_default()) == 0);
}

// After it was closed, there is a new one, which has nothing of the old one.
static void test_again(void)
{
    CHECK(!samba__default_session);
    CHECK(!samba_tensor_by_name(samba_default(), "x") && said(samba_default(), "x is unknown"));
    CHECK(samba_tracing(samba_default()) && samba_ok(samba_default()));
    CHECK(samba_close(samba_default()) == 0);
    CHECK(!samba__default_session);
}

int main(void)
{
    RUN(test_one);
    RUN(test_again);
    return test_summary();
}
