// The default session, for programs that are ported from SambaFlow.
//     cc -O1 -o default examples/reference/default_session.c -lm -pthread && ./default
#define SAMBA_DEFAULT_SESSION // before samba.h, wherever it is included
#include "reference.h"

// samba_default: one session for the process, opened by the first call.
static void default_session(samba_session *unused)
{
    (void)unused;
    samba_tensor *x = samba_input(samba_default(), "x", SAMBA_F32, SAMBA_SHAPE(2));
    holds(x->session == samba_default());
    holds(samba_close(samba_default()) == 0);
}

int main(void)
{
    RUN(default_session);
    return finish_examples();
}
