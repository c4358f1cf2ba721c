// Two optimizers: AdamW for matrices, SGD for biases, each with a learning rate of its own.
//     cc -O2 examples/recipes/two_optimizers.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

static bool is_matrix(const samba_tensor *w, void *user) // asked of each parameter, when compiling
{
    (void)user;
    return w->shape.ndim == 2;
}

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(4, 2));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(4, 1));
    samba_tensor *out = samba_linear(samba_tanh(samba_linear(x, "hidden", 8)), "out", 1);
    samba_tensor *loss = samba_mse(out, y, SAMBA_REDUCE_MEAN);
    samba_optim optims[2] = { { SAMBA_ADAMW, .lr = 0.03f, .weight_decay = 0.01f },
                              { SAMBA_SGD, .lr = 0.1f, .argin_region_name = "bias_" } };
    optims[0].argin_region_name = "matrix_"; // goes before the names of its rates
    optims[0].select = is_matrix;            // the others are of the optimizer without
    samba_compile(s, &(samba_program){ .loss = loss, .optims = optims, .n_optims = 2 });

    samba_write(x, (float[]){ 0, 0, 0, 1, 1, 0, 1, 1 });
    samba_write(y, (float[]){ 0, 1, 1, 0 });
    for (int step = 0; step < 40; step++)
        samba_run(s, 0);
    printf("loss %.4f\n", (double)samba_read(loss)[0]);

    samba_set(s, "matrix_lr", 0); // only the biases move now
    float weight = samba_read(samba_tensor_by_name(s, "out__weight"))[0];
    float bias = samba_read(samba_tensor_by_name(s, "out__bias"))[0];
    samba_run(s, 0);
    weight -= samba_read(samba_tensor_by_name(s, "out__weight"))[0];
    bias -= samba_read(samba_tensor_by_name(s, "out__bias"))[0];
    printf("then weights move by %.5f, biases by %.5f\n", (double)weight, (double)bias);
    return samba_close(s) || weight != 0 || bias == 0;
}
