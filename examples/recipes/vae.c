// A variational autoencoder of points on a parabola: noise in the graph, two losses, new points.
//     cc -O2 examples/recipes/vae.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

static samba_tensor *decode(samba_tensor *z)
{
    return samba_linear(samba_tanh(samba_linear(z, "decoder", 32)), "point", 2);
}

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(64, 2));
    samba_tensor *h = samba_tanh(samba_linear(x, "encoder", 32));
    samba_tensor *mean = samba_linear(h, "mean", 1), *log_var = samba_linear(h, "log_var", 1);
    samba_tensor *spread = samba_exp(samba_scale(log_var, 0.5f));
    samba_tensor *noise = samba_randn_like(mean, "noise"); // another one in each step
    samba_tensor *again = decode(samba_add(mean, samba_mul(spread, noise)));
    // Twice the KL divergence from N(0,1), but for a constant: mean^2 - log_var + e^log_var.
    samba_tensor *kl = samba_sub(samba_mul(mean, mean), log_var);
    kl = samba_sum(samba_add(kl, samba_exp(log_var)), SAMBA_ALL_AXES, false);
    samba_program program = { .optim = { .kind = SAMBA_ADAMW, .lr = 0.01f } };
    samba_tensor *wrong = samba_mse(again, x, SAMBA_REDUCE_SUM);
    program.loss = samba_add(samba_scale(wrong, 100), kl);
    samba_begin_graph(s, "sample"); // the decoder alone, with the same parameters
    program.outputs[0] = decode(samba_randn(s, "z", SAMBA_SHAPE(1, 1)));
    samba_compile(s, &program);
    float curve[128]; // x, and behind it x^2
    for (int i = 0; i < 128; i++)
        curve[i] = i % 2 ? curve[i - 1] * curve[i - 1] : (float)i / 64 - 1;
    samba_write(x, curve);
    for (int step = 0; step < 800; step++)
        samba_run_graph(s, "", 0); // the graph that was traced first
    samba_run_graph(s, "sample", 0);
    const float *new = samba_read(program.outputs[0]);
    printf("a new point: x^2 %.2f, y %.2f\n", (double)(new[0] * new[0]), (double)new[1]);
    return samba_close(s);
}
