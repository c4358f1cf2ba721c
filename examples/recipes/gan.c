// A GAN in one session: each step trains the critic, and the maker against it.
//     cc -O2 examples/recipes/gan.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *real = samba_input(s, "real", SAMBA_F32, SAMBA_SHAPE(64, 1));
    samba_tensor *is_real = samba_input(s, "is_real", SAMBA_F32, SAMBA_SHAPE(128, 1));
    samba_tensor *noise = samba_randn_like(real, "noise"); // another one in each step
    samba_tensor *made = samba_linear(samba_tanh(samba_linear(noise, "maker1", 16)), "maker2", 1);
    // 2 made - made is made, but its gradient has the opposite sign: the maker climbs the loss
    // that the critic descends, which is the game of Goodfellow's GAN.
    samba_tensor *turned = samba_sub(samba_scale(samba_detach(made), 2), made);
    samba_tensor *both = samba_cat((samba_tensor *[]){ real, turned }, 2, 0);
    samba_tensor *logit = samba_linear(samba_tanh(samba_linear(both, "critic1", 32)), "critic2", 1);
    samba_program program = { .outputs = { made } };
    program.loss = samba_bce_with_logits(logit, is_real, NULL, SAMBA_REDUCE_MEAN);
    program.optim = (samba_optim){ .kind = SAMBA_ADAM, .lr = 0.003f, .beta1 = 0.5f };
    samba_compile(s, &program);

    float data[64], truth[128] = { 0 };
    for (int i = 0; i < 64; i++) {
        data[i] = 2 + (float)i / 32; // from 2 to 4
        truth[i] = 1;
    }
    samba_write(real, data);
    samba_write(is_real, truth);
    for (int step = 0; step < 3000; step++)
        samba_run(s, 0);
    int like_data = 0;
    for (int i = 0; i < 64; i++)
        like_data += samba_read(made)[i] > 2 && samba_read(made)[i] < 4;
    printf("%d of 64 made numbers lie from 2 to 4, as the data do\n", like_data);
    return samba_close(s) || like_data < 48;
}
