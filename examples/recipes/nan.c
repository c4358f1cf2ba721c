// Find the op that makes a NaN, leave that batch out, and train on.
//     cc -O2 examples/recipes/nan.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

int main(void)
{
    samba_session *s = samba_open(&(samba_desc){ .check_finite = true, .quiet = true });
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 1));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(4, 1));
    samba_tensor *out = samba_linear(samba_log(x), "out", 1); // what is below 0 has no logarithm
    samba_tensor *loss = samba_mse(out, y, SAMBA_REDUCE_MEAN);
    samba_optim sgd = { .kind = SAMBA_SGD, .lr = 0.1f };
    samba_compile(s, &(samba_program){ .loss = loss, .optim = sgd });

    const float batches[3][4] = { { 1, 2, 3, 4 }, { 1, -2, 3, 4 }, { 4, 3, 2, 1 } };
    samba_write(y, (float[]){ 1, 1, 1, 1 });
    int left_out = 0;
    for (int step = 0; step < 30; step++) {
        samba_culprit found;
        samba_write(x, batches[step % 3]);
        if (samba_run(s, 0)) continue;
        if (!samba_nonfinite(s, &found)) break; // another error, which samba_close returns
        if (left_out++ == 0)
            printf("%s makes a NaN: element %d of %s\n", found.op, (int)found.element,
                   found.tensor);
        samba_clear_error(s); // the parameters are as they were before this run
    }
    printf("%d of 30 left out, loss %.4f\n", left_out, (double)samba_read(loss)[0]);
    return samba_close(s);
}
