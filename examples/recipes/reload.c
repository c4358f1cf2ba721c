// Train in one program, with batches; load in another, and infer row by row.
//     cc -O2 examples/recipes/reload.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

static samba_tensor *model(samba_tensor *x) // both programs have this function
{
    return samba_linear(samba_tanh(samba_linear(x, "hidden", 8)), "out", 1);
}

static int train(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(4, 1));
    samba_tensor *loss = samba_mse(model(x), y, SAMBA_REDUCE_MEAN);
    samba_compile(s, &(samba_program){ .loss = loss, .optim = { SAMBA_ADAMW, .lr = 0.03f } });
    samba_write(x, (float[]){ 0, 0, 0, 1, 1, 0, 1, 1 });
    samba_write(y, (float[]){ 0, 1, 1, 0 });
    for (int step = 0; step < 300; step++)
        samba_run(s, 0);
    samba_save(s, "xor.ckpt");
    return samba_close(s);
}

int main(void)
{
    if (train() != 0) return 1;
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(1, 2)), *out = model(x);
    samba_compile(s, &(samba_program){ .outputs = { out }, .inference = true });
    samba_restore(s, "xor.ckpt");
    for (int row = 0; row < 4; row++) {
        samba_write(x, (float[]){ (float)(row / 2), (float)(row % 2) });
        samba_run(s, 0);
        printf("%d xor %d = %d\n", row / 2, row % 2, samba_read(out)[0] > 0.5f);
    }
    return samba_close(s);
}
