// Lesson 16: a training loop that can be trusted: schedule, clipping, checkpoint.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/16_training_loop.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson loop.svg draws.
// New: schedule, checkpoint. Next: 16_accumulation.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"
#include <string.h>

// Steps 1 and 2 stand above their functions, the others in main.
enum { B = 32, WARM = 40, STEPS = 400, EVERY = 50, HALF = 200, BROKEN = 120 };

// 1. The learning rate follows a schedule, because a training wants different steps at its ends. It
//    grows from near 0 over the first steps, the warmup: a large net may not recover from long
//    steps along the gradients of random weights (this small one would). A hundredth to a tenth of
//    all steps is usual.
//
//    Then it falls to 0: long steps get far, short ones settle. Half a cosine is usual. This curve
//    is nearly one: 1 - 3 part^2 + 2 part^3, where part is how much of the fall is over. (A
//    straight line would do here, too.)
//
//    A schedule must know where it ends. So the number of steps is chosen first: try a short
//    training, then take what time allows.
static double rate(int step)
{
    double n = STEPS - WARM;
    double k = step - WARM;
    if (step < WARM) return 0.5 * (step + 1.0) / WARM;
    return 0.5 * (1 - k * k * (3 * n - 2 * k) / (n * n * n));
}

// Writes a batch of points; the label is 1 if both numbers have the same sign. The same name and
// step give the same points. One batch of the training is broken: its first numbers are 1000 times
// too large.
//
// Here each step has new points. Real data ends; then the net goes through it again. One pass
// through all of it is an epoch: N examples are N / B steps. Some trainings have one epoch, some
// have hundreds.
//
// Before each epoch the data is shuffled, put into another random order. If all cats stood before
// all dogs, the net would forget cats while it learns dogs. And if the same examples met in a batch
// each time, its gradient would err the same way each time; shuffled, errors average out.
static void send_batch(samba_session *s, const char *name, int step)
{
    float x[B][2];
    int32_t label[B];
    for (int b = 0; b < B; b++) {
        uint32_t dice[4];
        samba_random(16, name, (uint64_t)(step * B + b), dice);
        for (int i = 0; i < 2; i++) {
            x[b][i] = (float)(dice[i] >> 8) / (1 << 23) - 1; // from -1 to 1
        }
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
    samba_tensor *h = samba_relu(samba_linear(x, "first", 32));
    h = samba_dropout(h, "drop", 0.1f);
    samba_tensor *loss = samba_cross_entropy(samba_linear(h, "second", 2), label);
    samba_name(loss, "loss");

    samba_program program = { .loss = loss, .max_grad_norm = max_norm };
    program.optim = (samba_optim){ .kind = SAMBA_SGD, .momentum = 0.9f };
    samba_compile(s, &program);
    return s;
}

static float loss_of(samba_session *s)
{
    return samba_read(samba_tensor_by_name(s, "loss"))[0];
}

// 2. The loss of one batch jumps, and neurons were dropped for it. (With real data, from the second
//    epoch on, the net has also learned these rows already.) So every 50 steps the net is validated
//    (lesson 9): the mean loss of 8 other batches, with nothing dropped.
static double validate(samba_session *s)
{
    double mean = 0;
    for (int i = 0; i < 8; i++) {
        send_batch(s, "validation", i);
        samba_run_with(s, &(samba_run_desc){ .types = { SAMBA_FWD }, .eval = true });
        mean += (double)loss_of(s) / 8;
    }
    return mean;
}

// Trains from step first on, and prints each validation. One checkpoint, a file, is kept of the
// best validation, another one of the middle, for step 6.
static void train(samba_session *s, int first, bool constant, float *loss)
{
    double least = 1e9;
    for (int step = first; step < STEPS; step++) {
        send_batch(s, "training", step);
        samba_set(s, "lr", constant ? 0.5 : rate(step)); // it stays until it is set again
        samba_run(s, 0); // 0: forward, backward, step
        loss[step] = fminf(loss_of(s), 2); // cut, to draw it
        if ((step + 1) % EVERY) continue;

        double now = validate(s);
        printf(" %.3f", now);
        if (now < least) samba_save(s, "lesson16.best");
        if (step + 1 == HALF && !constant) samba_save(s, "lesson16.half");
        least = fmin(least, now);
    }
}

// Goes back to the middle, and trains again: samba_restore_with takes from the file what .kinds
// names, here everything. (The momentum of a parameter is called as it is, with __momentum behind.)
// The losses of the first time, from the middle on, are in before.
static void train_again(samba_session *s, const char *name, bool forget, const float *before)
{
    static const float zeros[64];
    float again[STEPS];
    const samba_restore_opts everything = { .kinds = SAMBA_KEPT_ALL };
    samba_restore_with(s, "lesson16.half", &everything, NULL);
    if (forget) samba_write(samba_tensor_by_name(s, "first__weight__momentum"), zeros);

    printf("%s:", name);
    train(s, HALF, false, again);
    bool same = memcmp(before + HALF, again + HALF, HALF * sizeof *again) == 0;
    printf(same ? ", all losses as before\n" : ", others\n");
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    static float losses[5][STEPS];

    // 3. Data of the real world is broken somewhere. Here it is batch 120: it makes a huge
    //    gradient, and a huge step, from which the net does not recover. (Adam's step is not huge,
    //    but its v is, so its steps are tiny for long.)
    //
    //    The loss of validation after 50, 100 ... 400 steps (to guess is log 2, 0.69). Limit 0 is
    //    no limit:
    // > limit 0: 0.157 0.181 12.703 0.584 0.513 0.498 0.509 0.509
    samba_session *s = start(0);
    printf("limit 0:");
    train(s, 0, false, losses[0]);
    printf("\n");
    samba_close(s);

    // 4. Clipping (lesson 8) makes it harmless: if the norm of all gradients is above a limit, they
    //    are scaled down to it. The limit is often 1. One far above the usual norms helps less. One
    //    far below makes nearly all steps short: 0.1 is behind after 50 steps; here it catches up.
    // > limit 10: 0.157 0.181 0.375 0.212 0.153 0.192 0.167 0.162
    // > limit 0.1: 0.271 0.166 0.094 0.089 0.123 0.077 0.067 0.066
    // > limit 1: 0.142 0.229 0.117 0.133 0.105 0.121 0.067 0.066
    static const float limits[] = { 0, 10, 0.1f, 1 };
    for (int i = 1; i < 4; i++) {
        s = start(limits[i]);
        printf("limit %g:", (double)limits[i]);
        train(s, 0, false, losses[i]);
        printf("\n");
        samba_close(s);
    }

    // 5. What is the schedule worth? At a constant rate the loss jumps until the end: 0.097, not
    //    0.066. Then which of its checkpoints is to be used? That of the best validation, 0.089,
    //    after 300 steps, not the last. How good it is, a test set tells (lesson 9).
    // > limit 1, constant rate: 0.230 0.304 0.143 0.117 0.199 0.089 0.195 0.097
    s = start(1);
    printf("limit 1, constant rate:");
    train(s, 0, true, losses[4]);
    printf("\n");

    // 6. Machines die in the middle of a training. A checkpoint has all that later steps depend on:
    //    parameters, momentum, and the number of steps so far, from which dropout draws the neurons
    //    to leave out. So who restores it gets the same losses, to the bit; but not if one momentum
    //    is lost.
    //
    //    samba_save writes a new file and renames it over the old: who dies meanwhile has the old
    //    one. If a loss is NaN, so are weights and momentum: restore, and take a lower rate or
    //    limit.
    // > restored: 0.105 0.121 0.067 0.066, all losses as before
    // > less one momentum: 0.107 0.124 0.074 0.072, others
    train_again(s, "restored", false, losses[3]);
    train_again(s, "less one momentum", true, losses[3]);

    float steps[STEPS];
    for (int i = 0; i < STEPS; i++) {
        steps[i] = (float)i;
    }
    picture p = picture_open(path, 1, "A training",
                             "A broken batch spoils the net, unless gradients are clipped.");
    picture_axes(&p, 0, STEPS, 0, 2, "step (a loss of 2: or more)", "loss");
    picture_line(&p, steps, losses[0], STEPS, "not clipped");
    picture_line(&p, steps, losses[3], STEPS, "clipped to 1");
    picture_close(&p);

    // To think about:
    //   Why are all gradients clipped by one norm, and not each parameter's by its own?
    //   A program shuffles its data with rand(). What must a checkpoint have, too?
    //
    // Now you: exercise 16a is warmup and cosine. `make learn` begins with the first that
    // is open, `tools/learn/learn.sh watch 16a` with 16a.
    remove("lesson16.half");
    remove("lesson16.best");
    return samba_close(s);
}
