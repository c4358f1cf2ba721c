// Lesson 16: a training loop that can be trusted: schedule, clipping, checkpoint.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/16_training_loop.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson loop.svg draws. New: warmup, accumulation.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include <string.h>
enum { B = 32, WARM = 40, STEPS = 400, EVERY = 50, HALF = 200, BROKEN = 120 };
// 1. The learning rate follows a schedule. It grows from near 0 over the first steps, the warmup: a
//    large net may not recover from long steps along the gradients of random weights (this small
//    one would). A hundredth to a tenth of all steps is usual. Then it falls to 0: long steps get
//    far, short ones settle. Half a cosine is usual; this is nearly one (a line would do here).
static double rate(int step)
{
    double n = STEPS - WARM, k = step - WARM;
    return 0.5 * (step < WARM ? (step + 1.0) / WARM : 1 - k * k * (3 * n - 2 * k) / (n * n * n));
}
// Points, and whether both numbers have the same sign. Name and step alone say which points. One
// batch of the training is broken: an input is 1000 times too large.
static void send_batch(samba_session *s, const char *name, int step)
{
    float x[B][2];
    int32_t label[B];
    for (int b = 0; b < B; b++) {
        uint32_t dice[4];
        samba_random(16, name, (uint64_t)(step * B + b), dice);
        for (int i = 0; i < 2; i++) x[b][i] = (float)(dice[i] >> 8) / (1 << 23) - 1;
        label[b] = (x[b][0] > 0) == (x[b][1] > 0);
        if (step == BROKEN) x[b][0] *= 1000;
    }
    samba_write(samba_tensor_by_name(s, "x"), x);
    samba_write(samba_tensor_by_name(s, "label"), label);
}
static samba_session *start(float max_norm)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(B, 2));
    samba_tensor *label = samba_input(s, "label", SAMBA_I32, SAMBA_SHAPE(B));
    samba_tensor *h = samba_dropout(samba_relu(samba_linear(x, "first", 32)), "drop", 0.1f);
    samba_tensor *loss = samba_cross_entropy(samba_linear(h, "second", 2), label);
    samba_compile(s, &(samba_program){ .loss = samba_name(loss, "loss"), .max_grad_norm = max_norm,
                                       .optim = { .kind = SAMBA_SGD, .momentum = 0.9f } });
    return s;
}
// 2. The loss of one batch jumps, and the net has learned from it. So every 50 steps the net is
//    validated (lesson 9): the mean loss of 8 other batches, nothing dropped. One checkpoint is
//    kept of the best validation, another one of the middle, for step 5.
static void train(samba_session *s, int first, bool constant, float *loss)
{
    double least = 1e9;
    for (int step = first; step < STEPS; step++) {
        send_batch(s, "training", step);
        samba_set(s, "lr", constant ? 0.5 : rate(step));        // it stays until it is set again
        samba_run(s, 0);
        loss[step] = fminf(samba_read(samba_tensor_by_name(s, "loss"))[0], 2);  // cut, to draw it
        if ((step + 1) % EVERY) continue;
        double now = 0;
        for (int i = 0; i < 8; i++) {
            send_batch(s, "validation", i);
            samba_run_with(s, &(samba_run_desc){ .types = { SAMBA_FWD }, .eval = true });
            now += (double)samba_read(samba_tensor_by_name(s, "loss"))[0] / 8;
        }
        printf(" %.3f", now);
        if (now < least) samba_save(s, "lesson16.best");
        if (step + 1 == HALF && !constant) samba_save(s, "lesson16.half");
        least = fmin(least, now);
    }
}
int main(int argc, char **argv)
{
    static float steps[STEPS], loss[5][STEPS], again[STEPS], zeros[64];
    samba_session *s = NULL;
    // 3. The broken batch, 120, makes a huge gradient and step; from it the net does not recover.
    //    (Adam's step is not huge, but its v is: steps are tiny for long.) Clipping (lesson 8): if
    //    the norm of all gradients is above a limit, they are scaled down to it. Often it is 1; far
    //    above the usual norms it helps less. Validation after 50, 100 ... 400 (0: not clipped):
    // > limit 0: 0.157 0.181 12.703 0.584 0.513 0.498 0.509 0.509
    // > limit 10: 0.157 0.181 0.375 0.212 0.153 0.192 0.167 0.162
    // > limit 0.1: 0.271 0.166 0.094 0.089 0.123 0.077 0.067 0.066
    // > limit 1: 0.142 0.229 0.117 0.133 0.105 0.121 0.067 0.066
    // > limit 1, constant rate: 0.230 0.304 0.143 0.117 0.199 0.089 0.195 0.097
    for (int i = 0; i < 5; i++) {
        const float limit[] = { 0, 10, 0.1f, 1, 1 };
        if (i) samba_close(s);
        s = start(limit[i]);
        printf("limit %g%s:", (double)limit[i], i == 4 ? ", constant rate" : "");
        train(s, 0, i == 4, loss[i]);
        printf("\n");
    }
    // 4. At a constant rate the net keeps jumping. Which of its checkpoints is used? That of the
    //    best validation, 0.089, after 300 steps, not the last. How good it is, a test set tells.
    // 5. Machines die. A checkpoint has all that later steps depend on: parameters, momentum, and
    //    how often it trained, from which dropout draws its masks. So who restores it gets the same
    //    losses, to the bit; not so if one momentum is lost. samba_save renames a new file
    //    over the old: who dies meanwhile has the old one. Save often: what came after is lost.
    //    If a loss is NaN, so are weights and momentum: restore, and take a lower rate or limit.
    // > restored: 0.105 0.121 0.067 0.066, all losses as before
    // > less one momentum: 0.107 0.124 0.074 0.072, others
    for (int i = 0; i < 2; i++) {
        samba_restore(s, "lesson16.half");
        if (i) samba_write(samba_tensor_by_name(s, "first__weight__momentum"), zeros);
        printf(i ? "less one momentum:" : "restored:");
        train(s, HALF, false, again);
        int differ = memcmp(loss[3] + HALF, again + HALF, HALF * sizeof *again);
        printf(differ ? ", others\n" : ", all losses as before\n");
    }
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "A training",
                             "A broken batch spoils the net, unless gradients are clipped.");
    picture_axes(&p, 0, STEPS, 0, 2, "step (a loss of 2: or more)", "loss");
    for (int i = 0; i < STEPS; i++) steps[i] = (float)i;
    picture_line(&p, steps, loss[0], STEPS, "not clipped");
    picture_line(&p, steps, loss[3], STEPS, "clipped to 1");
    picture_close(&p);
    // 6. A batch too large for memory runs in parts: accumulation. The mean of their gradients,
    //    weighted by rows, is that of the batch (without BatchNorm). Clip that, not the parts.
    // Exercises 16a, 16b: warmup and cosine; accumulation. Then answer:
    //   Why are all gradients clipped by one norm, and not each parameter's by its own?
    //   A program shuffles its data with rand(). What must a checkpoint have, too?
    return samba_close(s) | remove("lesson16.half") | remove("lesson16.best");
}
