// int8: train in f32, calibrate on some batches, compile for int8, and compare.
//     cc -O2 examples/recipes/int8.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <math.h>
#include <stdio.h>

int main(void)
{
    const float points[8] = { -2, -1.5f, -1, -0.5f, 0.5f, 1, 1.5f, 2 };
    const float squares[8] = { 4, 2.25f, 1, 0.25f, 0.25f, 1, 2.25f, 4 };
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(8, 1));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(8, 1));
    samba_tensor *h = samba_relu(samba_linear(x, "hidden", 64));
    samba_tensor *out = samba_linear(samba_relu(samba_linear(h, "middle", 64)), "out", 1);
    samba_tensor *loss = samba_mse(out, y, SAMBA_REDUCE_MEAN);
    samba_optim adam = { .kind = SAMBA_ADAMW, .lr = 0.01f };
    samba_compile(s, &(samba_program){ .loss = loss, .optim = adam });
    samba_write(x, points);
    samba_write(y, squares);
    for (int step = 0; step < 300; step++)
        samba_run(s, 0);

    samba_program program = { .inference = true, .outputs = { out } };
    program.quantize = SAMBA_CALIBRATE; // in f32, with the weights that were trained
    samba_compile(s, &program);
    samba_write(x, points);
    samba_run(s, 0); // once for each batch of data like those to come
    float before = samba_read(out)[0];
    program.quantize = SAMBA_INT8;
    samba_compile(s, &program);
    samba_write(x, points);
    samba_run(s, 0);
    float after = samba_read(out)[0];
    samba_save(s, "int8.ckpt"); // has the weights as bytes
    printf("the square of -2: f32 %.3f, int8 %.3f\n", (double)before, (double)after);
    return samba_close(s) || !(fabsf(before - after) < 0.1f);
}
