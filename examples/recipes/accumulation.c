// A step over 32 rows, of which 8 fit at a time: the gradients of four runs add up.
//     cc -O2 examples/recipes/accumulation.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <math.h>
#include <stdio.h>

static float train(const float *points, const float *squares, int batch)
{
    samba_session *s = samba_open(NULL); // the same seed: the same first weights
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(batch, 1));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(batch, 1));
    samba_tensor *out = samba_linear(samba_tanh(samba_linear(x, "hidden", 16)), "out", 1);
    samba_program program = { .optim = { .kind = SAMBA_SGD, .lr = 0.1f }, .accumulate = true };
    program.loss = samba_name(samba_mse(out, y, SAMBA_REDUCE_MEAN), "loss");
    samba_compile(s, &program);
    samba_set(s, "loss__grad", batch / 32.0); // the mean of the batches, not their sum
    for (int step = 0; step < 100; step++) {
        for (int row = 0; row < 32; row += batch) {
            samba_write(x, points + row);
            samba_write(y, squares + row);
            samba_run(s, SAMBA_FWD | SAMBA_BCKWD);
        }
        samba_run(s, SAMBA_OPT);
    }
    float weight = samba_read(samba_tensor_by_name(s, "out__weight"))[0];
    return samba_close(s) == 0 ? weight : NAN;
}

int main(void)
{
    float points[32], squares[32];
    for (int i = 0; i < 32; i++) {
        points[i] = (float)i / 8 - 2;
        squares[i] = points[i] * points[i];
    }
    float whole = train(points, squares, 32), parts = train(points, squares, 8);
    printf("a weight after 100 steps: %.4f, in parts %.4f\n", (double)whole, (double)parts);
    return !(fabsf(whole - parts) < 1e-4f);
}
