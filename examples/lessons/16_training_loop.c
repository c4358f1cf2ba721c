// Lesson 16: a training loop that can be trusted: schedule, clipping, checkpoint.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/16_training_loop.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson loop.svg draws. New: warmup, accumulation.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include <string.h>
enum { B = 32, WARM = 40, STEPS = 400, HALF = 200, BROKEN = 120 };
// 1. The learning rate follows a schedule. It grows from near 0 over the first steps, the warmup: a
//    large net may not recover from long steps along the gradients of random weights (this small
//    one would). Then it falls to 0, slowly, fast, slowly: long steps get far, short ones settle.
//    Mostly that is half a cosine; this polynomial is nearly that, and equal on all machines.
static double rate(int step)
{
    double n = STEPS - WARM, k = step - WARM;
    return 0.5 * (step < WARM ? (step + 1.0) / WARM : 1 - k * k * (3 * n - 2 * k) / (n * n * n));
}
// Points, and whether both numbers have the same sign. The step alone says which points. One batch
// is broken: an input is 1000 times too large.
static void next_batch(int step, float x[B][2], int32_t label[B])
{
    for (int b = 0; b < B; b++) {
        uint32_t dice[4];
        samba_random(16, "batch", (uint64_t)(step * B + b), dice);
        for (int i = 0; i < 2; i++) x[b][i] = (float)(dice[i] >> 8) / (1 << 23) - 1;
        label[b] = (x[b][0] > 0) == (x[b][1] > 0);
        if (step == BROKEN) x[b][0] *= 1000;
    }
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
static void train(samba_session *s, int first, int end, bool constant, float *loss)
{
    float x[B][2];
    int32_t label[B];
    for (int step = first; step < end; step++) {
        next_batch(step, x, label);
        samba_write(samba_tensor_by_name(s, "x"), x);
        samba_write(samba_tensor_by_name(s, "label"), label);
        samba_set(s, "lr", constant ? 0.5 : rate(step));        // it stays until it is set again
        samba_run(s, 0);
        loss[step] = samba_read(samba_tensor_by_name(s, "loss"))[0];
    }
}
// Prints the second half's smallest, mean and largest loss, and cuts all at 2, to draw them.
static void report(const char *name, float *loss)
{
    double least = 1e9, most = 0, sum = 0;
    for (int i = HALF; i < STEPS; i++) {
        least = fmin(least, (double)loss[i]);
        most = fmax(most, (double)loss[i]);
        sum += (double)loss[i];
    }
    for (int i = 0; i < STEPS; i++) loss[i] = fminf(loss[i], 2);
    printf("%s: %.2f, mean %.2f, %.2f\n", name, least, sum / (STEPS - HALF), most);
}
int main(int argc, char **argv)
{
    static float steps[STEPS], rates[STEPS], wild[STEPS], clipped[STEPS], again[STEPS], zeros[64];
    // > rate in steps 0, 39, 100, 200, 300: 0.0125 0.5 0.463 0.291 0.0943
    printf("rate in steps 0, 39, 100, 200, 300:");
    for (int i = 0; i < STEPS; i++) {
        steps[i] = (float)i;
        rates[i] = (float)rate(i);
        if (i == WARM - 1 || i % 100 == 0) printf(i < 300 ? " %.3g" : " %.3g\n", rate(i));
    }
    // 2. The broken batch makes a huge gradient, and so a huge step, from which the net does not
    //    recover. (Adam's step is not huge, but its v is: steps are tiny for long.) Clipping
    //    (lesson 8): if the norm of all gradients together is above 1, they are divided by it.
    //    Smallest, mean and largest loss of steps 200 to 399; last, at a constant rate:
    // > not clipped: 0.16, mean 72.50, 3945.08
    // > clipped: 0.01, mean 0.12, 0.47
    // > clipped, constant rate: 0.01, mean 0.18, 0.73
    samba_session *s = start(0), *t = start(1), *u = start(1);
    train(u, 0, STEPS, true, again);
    train(s, 0, STEPS, false, wild);
    train(t, 0, HALF, false, clipped);
    samba_save(t, "lesson16.ckpt");
    train(t, HALF, STEPS, false, clipped);
    report("not clipped", wild);
    report("clipped", clipped);
    report("clipped, constant rate", again);
    // 3. Machines die. A checkpoint has all that later steps depend on: parameters, momentum, and
    //    how often it ran, from which dropout draws its masks. So u, which restores it, gets the
    //    same losses, to the bit; not so if one matrix has no momentum. samba_save renames a new
    //    file over the old: who dies meanwhile has the old one.
    // > from the checkpoint: losses agree
    // > from the checkpoint, less one momentum: losses differ
    for (int i = 0; i < 2; i++) {
        samba_restore(u, "lesson16.ckpt");
        if (i) samba_write(samba_tensor_by_name(u, "first__weight__momentum"), zeros);
        train(u, HALF, STEPS, false, again);
        printf("from the checkpoint%s: losses %s\n", i ? ", less one momentum" : "",
               memcmp(clipped + HALF, again + HALF, HALF * sizeof *again) ? "differ" : "agree");
    }
    remove("lesson16.ckpt");
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "A training",
                             "A broken batch spoils the net, unless gradients are clipped.");
    picture_axes(&p, 0, STEPS, 0, 0.5, "step", "learning rate");
    picture_line(&p, steps, rates, STEPS, NULL);
    picture_axes(&p, 0, STEPS, 0, 2, "step (a loss of 2: or more)", "loss");
    picture_line(&p, steps, wild, STEPS, "not clipped");
    picture_line(&p, steps, clipped, STEPS, "clipped");
    picture_close(&p);
    // 4. A batch too large for memory runs in parts: accumulation. The mean of gradients, weighted
    //    by rows, is the whole batch's (without BatchNorm). Clip that, not the parts; then step.
    // Exercises 16a, 16b: warmup and cosine; accumulation. Then answer:
    //   Why are all gradients clipped by one norm, and not each parameter's by its own?
    //   A program shuffles its data with rand(). What must a checkpoint have, too?
    return samba_close(s) | samba_close(t) | samba_close(u);
}
