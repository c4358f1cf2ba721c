// Freeze layers: they keep their weights, the others train.
//     cc -O2 examples/recipes/freeze.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>
#include <string.h>

int main(void)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(16, 1));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(16, 1));
    samba_set_frozen(s, true); // what is made from here on
    samba_tensor *features = samba_tanh(samba_linear(x, "body", 32));
    samba_set_frozen(s, false);
    samba_tensor *loss = samba_mse(samba_linear(features, "head", 1), y, SAMBA_REDUCE_MEAN);
    samba_optim adam = { .kind = SAMBA_ADAMW, .lr = 0.01f };
    samba_compile(s, &(samba_program){ .loss = loss, .optim = adam });
    // Weights of another training come in here: samba_restore_with, partial, before the steps.

    float points[16], targets[16], body[32], head[32];
    for (int i = 0; i < 16; i++) {
        points[i] = (float)i / 4 - 2;
        targets[i] = points[i] * points[i];
    }
    samba_write(x, points);
    samba_write(y, targets);
    samba_tensor *body_weight = samba_tensor_by_name(s, "body__weight");
    samba_tensor *head_weight = samba_tensor_by_name(s, "head__weight");
    samba_copy_out(body_weight, body, sizeof body);
    samba_copy_out(head_weight, head, sizeof head);
    for (int step = 0; step < 500; step++)
        samba_run(s, 0);

    bool kept = memcmp(body, samba_read(body_weight), sizeof body) == 0;
    bool moved = memcmp(head, samba_read(head_weight), sizeof head) != 0;
    printf("body %s, head %s, loss %.4f\n", kept ? "kept" : "changed", moved ? "trained" : "kept",
           (double)samba_read(loss)[0]);
    return samba_close(s) || !kept || !moved;
}
