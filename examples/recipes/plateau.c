// Lower the learning rate when the loss no longer falls; what that remembers is in the checkpoint.
//     cc -O2 examples/recipes/plateau.c -lm -pthread
#define SAMBA_IMPLEMENTATION
#define SAMBA_SCHEDULE_IMPLEMENTATION
#include "../../samba.h"
#include "../../tools/include/samba/schedule.h"
#include <stdio.h>

// A net that learns x^2 from step `from` on; it begins with a checkpoint if there is one.
static float train(const char *checkpoint, int from, int to)
{
    const float x[8] = { -2, -1.5f, -1, -0.5f, 0.5f, 1, 1.5f, 2 };
    const float squares[8] = { 4, 2.25f, 1, 0.25f, 0.25f, 1, 2.25f, 4 };
    const samba_plateau plateau = { .learning_rate = 0.03, .factor = 0.5, .patience = 3 };
    samba_session *s = samba_open(&(samba_desc){ .quiet = true });
    samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(8, 1));
    samba_tensor *y = samba_input(s, "y", SAMBA_F32, SAMBA_SHAPE(8, 1));
    samba_tensor *memory = samba_buffer(s, "plateau", SAMBA_SHAPE(SAMBA_PLATEAU_FLOATS), 0);
    samba_tensor *out = samba_linear(samba_tanh(samba_linear(in, "hidden", 16)), "out", 1);
    samba_tensor *loss = samba_mse(out, y, SAMBA_REDUCE_MEAN);
    samba_program p = { .loss = loss, .outputs = { memory }, .optim = { SAMBA_RMSPROP, 0.03f } };
    if (samba_compile(s, &p) && from > 0) samba_restore(s, checkpoint);
    for (samba_write(in, x), samba_write(y, squares); from < to && samba_ok(s); from++) {
        float state[SAMBA_PLATEAU_FLOATS];
        samba_run(s, 0);
        samba_copy_out(memory, state, sizeof state);
        samba_set(s, "lr", samba_plateau_next(&plateau, state, (double)samba_read(loss)[0]));
        samba_write(memory, state);
    }
    samba_save(s, checkpoint);
    float last = samba_read(loss)[0];
    printf("after step %d: loss %.6f, lr %g\n", to, (double)last, samba_get(s, "lr"));
    return samba_close(s) ? -1 : last;
}

int main(void)
{
    float whole = train("whole.ckpt", 0, 200), half = train("half.ckpt", 0, 77);
    return half < whole || train("half.ckpt", 77, 200) != whole;
}
