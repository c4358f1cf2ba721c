// Test a net that has batch norm and dropout: samba_eval.
//     cc -O2 examples/recipes/batch_norm.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

// What the net says of the first row, if the other rows are `others`.
static float first_row(samba_session *s, samba_tensor *x, samba_tensor *out, float others)
{
    samba_write(x, (float[]){ 0.5f, others, others, others });
    samba_eval(s);
    return samba_read(out)[0];
}

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 1));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(4, 1));
    samba_tensor *h = samba_relu(samba_batchnorm(samba_linear(x, "hidden", 32), "norm"));
    samba_tensor *out = samba_linear(samba_dropout(h, "drop", 0.1f), "out", 1);
    samba_tensor *loss = samba_mse(out, y, SAMBA_REDUCE_MEAN);
    samba_optim adam = { .kind = SAMBA_ADAMW, .lr = 0.01f };
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { out }, .optim = adam });
    samba_write(x, (float[]){ -1, 0, 0.5f, 1 });
    samba_write(y, (float[]){ 1, 0, 0.25f, 1 });
    for (int step = 0; step < 500; step++)
        samba_run(s, 0);

    samba_eval(s); // running statistics, which stay; no dropout
    printf("test loss %.4f\n", (double)samba_read(loss)[0]);
    float small = first_row(s, x, out, 0), large = first_row(s, x, out, 9);
    printf("the first row: %.4f, beside other rows %.4f\n", (double)small, (double)large);
    return samba_close(s) || small != large;
}
