// Weights of a file in which they have other names.
//     cc -O2 examples/recipes/other_names.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

static samba_tensor *net(samba_session *s, const char *first, const char *second)
{
    samba_tensor *x = samba_ones(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 2));
    samba_tensor *out = samba_linear(samba_tanh(samba_linear(x, first, 8)), second, 1);
    samba_compile(s, &(samba_program){ .outputs = { out }, .inference = true });
    return out;
}

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *out = net(s, "fc1", "fc2");
    samba_save(s, "old.ckpt");
    samba_run(s, 0);
    float expected = samba_read(out)[0];
    if (samba_close(s) != 0) return 1;

    const char *const old_names[] = { "fc1__weight", "fc1__bias", "fc2__weight", "fc2__bias" };
    const char *const names[] = { "hidden__weight", "hidden__bias", "out__weight", "out__bias" };
    samba_session *old = samba_open(NULL);
    samba_load(old, "old.ckpt", NULL);
    s = samba_open(&(samba_desc){ .seed = 2 }); // it begins with other weights
    out = net(s, "hidden", "out");
    for (int i = 0; i < 4; i++) {
        samba_tensor *from = samba_tensor_by_name(old, old_names[i]);
        samba_tensor *to = samba_tensor_by_name(s, names[i]);
        samba_write_bytes(to, samba_read(from), samba_bytes(from)); // refuses another size
    }
    samba_run(s, 0);
    float got = samba_read(out)[0];
    printf("before %.6f, under other names %.6f\n", (double)expected, (double)got);
    return samba_close(old) || samba_close(s) || got != expected;
}
