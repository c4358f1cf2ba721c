// Validate while training, and stop when that no longer helps; the best weights are kept.
//     cc -O2 examples/recipes/early_stopping.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <math.h>
#include <stdio.h>

int main(void)
{
    const float x[8] = { -2, -1.5f, -1, -0.5f, 0.5f, 1, 1.5f, 2 };
    const float train[8] = { 3.1f, 2.9f, 0.2f, 0.9f, -0.4f, 1.6f, 1.7f, 4.6f }; // x^2, with noise
    const float valid[8] = { 4.4f, 1.8f, 1.3f, 0, 0.6f, 0.5f, 2.6f, 3.7f };     // with other noise
    samba_session *s = samba_open(NULL);
    samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(8, 1));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(8, 1));
    samba_tensor *out = samba_linear(samba_tanh(samba_linear(in, "hidden", 64)), "out", 1);
    samba_tensor *loss = samba_mse(out, y, SAMBA_REDUCE_MEAN);
    samba_optim adam = { .kind = SAMBA_ADAMW, .lr = 0.01f };
    samba_compile(s, &(samba_program){ .loss = loss, .optim = adam });
    samba_write(in, x);

    float lowest = INFINITY;
    int patience = 50, epoch = 0;
    for (; epoch < 2000 && patience > 0 && samba_ok(s); epoch++, patience--) {
        samba_write(y, train);
        samba_run(s, 0);
        samba_write(y, valid);
        samba_eval(s);
        if (samba_read(loss)[0] >= lowest) continue;
        lowest = samba_read(loss)[0];
        samba_save(s, "best.ckpt");
        patience = 50;
    }
    float last = samba_read(loss)[0];
    samba_restore(s, "best.ckpt");
    samba_eval(s);
    float best = samba_read(loss)[0];
    printf("stopped at %d: validation %.4f, restored %.4f\n", epoch, (double)last, (double)best);
    return samba_close(s) || best != lowest;
}
