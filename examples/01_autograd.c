// Autograd: an expression, its gradients, its graph.
//     cc -O2 -o autograd examples/01_autograd.c -lm -pthread && ./autograd
#define SAMBA_IMPLEMENTATION
#include "../samba.h"
#include <stdio.h>

static void print(const char *text, void *user)
{
    fputs(text, user);
}

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_param(s, "x", SAMBA_SCALAR, (samba_init){ .value = 0.5f });
    samba_tensor *y = samba_param(s, "y", SAMBA_SCALAR, (samba_init){ .value = -2.0f });
    samba_tensor *xy = samba_mul(x, y); // records the op, computes nothing
    samba_tensor *f = samba_add(xy, samba_tanh(x));
    samba_tensor *fx = samba_grad(f, x); // y + 1 - tanh(x)^2
    samba_tensor *fy = samba_grad(f, y); // x
    samba_print_graph(s, print, stdout);

    samba_compile(s, &(samba_program){ .outputs = { f, fx, fy }, .inference = true });
    samba_run(s, SAMBA_FWD);
    printf("f = x y + tanh(x) = %.6f at x = 0.5, y = -2\n", (double)samba_read(f)[0]);
    printf("df/dx = %.6f, df/dy = %.6f\n", (double)samba_read(fx)[0], (double)samba_read(fy)[0]);
    return samba_close(s); // 0, or 1 if an error stands: it was printed
}
