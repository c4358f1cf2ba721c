// Lesson 8: from SGD to AdamW: how to walk down a surface.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/08_optimizers.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 08.svg draws.
// New: momentum, AdamW, clipping. Next: 09_overfitting.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

enum { STEPS = 60 };

// The surface: f = (x^2 + 30 y^2) / 2, a valley along x that is 30 times steeper across. Losses of
// nets have many such valleys. The lowest point is (0,0).
static samba_tensor *surface(samba_tensor *xy, samba_session *s)
{
    const float steepness[2] = { 0.5f, 15 };
    samba_tensor *k = samba_from_data_copy(s, "k", SAMBA_F32, SAMBA_SHAPE(2), steepness);
    return samba_sum(samba_mul(k, samba_mul(xy, xy)), SAMBA_ALL_AXES, false);
}

// An optimizer is the rule that makes a step of a gradient. Walks STEPS steps from (-8, 1.5); path
// gets the x of all places, then the y. Returns f at the end.
static double walk(samba_optim optim, float path[2][STEPS + 1])
{
    const float start[2] = { -8, 1.5f };
    samba_session *s = samba_open(NULL);
    samba_tensor *xy = samba_param(s, "xy", SAMBA_SHAPE(2), (samba_init){ .value = 0 });
    samba_tensor *f = surface(xy, s);
    samba_compile(s, &(samba_program){ .loss = f, .optim = optim });

    samba_write(xy, start);
    for (int i = 0; i <= STEPS; i++) {
        path[0][i] = samba_read(xy)[0];
        path[1][i] = samba_read(xy)[1];
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
    }
    double end = number_at(f, 0); // at the last place of path
    samba_close(s);
    return end;
}

// The same, and prints the first three places, and f at the end.
static void show_walk(const char *name, samba_optim optim, float path[2][STEPS + 1])
{
    double end = walk(optim, path);
    printf("%s:", name);
    for (int i = 1; i < 4; i++) {
        printf(" (%.2f, %.2f)", (double)path[0][i], (double)path[1][i]);
    }
    printf(" ... f %.2g\n", end);
}

int main(int argc, char **argv)
{
    const char *picture_path = argc > 1 ? argv[1] : NULL; // if a picture is wanted
    static float sgd[2][STEPS + 1], momentum[2][STEPS + 1], adam[2][STEPS + 1];
    static float other[2][STEPS + 1];

    // 1. The gradient of all examples is costly. So a net takes a few at a time, a batch, drawn at
    //    random; its gradient is right on average, and the larger the batch, the less it errs. Then
    //    w = w - lr g, as before: stochastic gradient descent, SGD. (Here nothing is drawn.)
    //
    //    The steep side decides: if lr is above 2/30, y explodes. So x must creep, while y jumps
    //    from side to side.
    // > SGD: (-7.52, -1.20) (-7.07, 0.96) (-6.64, -0.77) ... f 0.019
    // > SGD, lr 0.07: (-7.44, -1.65) (-6.92, 1.82) (-6.43, -2.00) ... f 3.1e+06
    show_walk("SGD", (samba_optim){ SAMBA_SGD, .lr = 0.06f }, sgd);
    show_walk("SGD, lr 0.07", (samba_optim){ SAMBA_SGD, .lr = 0.07f }, other);

    // 2. A ball in the valley would do better: it gathers speed along x, and the pushes across
    //    cancel. So let the step be a velocity: v = momentum v + g, then w = w - lr v.
    //
    //    What all gradients have in common adds up, to 1 / (1 - momentum) times as much (so lr is
    //    smaller here); what changes sign cancels. (Here that is 5 times: if g stays the same, v
    //    comes to 5 g, as 0.8 * 5 g + g is 5 g again.)
    //
    //    Usual is 0.9. It costs one more number to keep for each weight.
    // > momentum 0.8: (-7.76, 0.15) (-7.34, -1.06) (-6.78, -1.08) ... f 6.5e-05
    samba_optim with_momentum = { SAMBA_SGD, .lr = 0.03f, .momentum = 0.8f };
    show_walk("momentum 0.8", with_momentum, momentum);

    // 3. Weights of a net have gradients of very different sizes, and one lr must suit all. Adam
    //    divides each weight's step by the size of its gradients: lr m / sqrt(v). m is the mean of
    //    the recent gradients, a kind of momentum; v is the mean of their squares.
    //
    //    While g hardly changes, m is g and sqrt(v) is |g|, so the step is lr, whatever the scale:
    //    the first is 0.5 for x and for y, though their gradients are -8 and 45. (A tiny eps, 1e-8,
    //    is added to the root, lest the step divide by 0.)
    // > AdamW, lr 0.5: (-7.50, 1.00) (-7.00, 0.51) (-6.50, 0.07) ... f 0.071
    show_walk("AdamW, lr 0.5", (samba_optim){ SAMBA_ADAMW, .lr = 0.5f }, adam);

    // 4. A mean of what comes one by one needs no list: m = beta1 m + (1 - beta1) g. Of the past,
    //    beta1 stays, so m reaches back about 1 / (1 - beta1) steps. v has beta2. Usual are 0.9 and
    //    0.999: 10 steps, and 1000. (samba.h has 0.997 if nothing is said.)
    //
    //    v has the longer memory, as it is a scale, which should not change from batch to batch.
    //    The price: m and v are two more numbers to keep for each weight.
    //
    //    A long memory is slow: where g turns, m still goes on. x runs past 0, and comes back.
    // > its x at 0, 15, 30, 45, 60: -8.00 -1.13 1.40 0.04 -0.30
    printf("its x at 0, 15, 30, 45, 60:");
    for (int i = 0; i <= STEPS; i += 15) {
        printf(" %.2f", (double)adam[0][i]);
    }
    printf("\n");

    // 5. Both means begin at 0, so the first ones are too small: after one step m is 0.1 g, and v
    //    is 0.001 g^2. So at step t, m is divided by 1 - beta1^t before it is used, and v by
    //    1 - beta2^t. At t = 1 that leaves g and g^2.
    //
    //    Without it, the first step would be lr 0.1 g / sqrt(0.001 g^2), 3 times too long.

    // 6. The W is for weight decay: each step also multiplies w by 1 - lr decay, so weights that no
    //    gradient holds up go to 0. In a net it keeps weights from growing (lesson 9). The first
    //    Adam added the decay to the gradient, so it was divided, too, and weights with large
    //    gradients decayed least; AdamW keeps it apart.
    //
    //    The first x is -8 (1 - 0.5 * 0.1) + 0.5. It helps here, as the lowest point is at 0.
    // > AdamW, decay 0.1: (-7.10, 0.92) (-6.25, 0.40) (-5.44, -0.05) ... f 0.00093
    samba_optim decaying = { SAMBA_ADAMW, .lr = 0.5f, .weight_decay = 0.1f };
    show_walk("AdamW, decay 0.1", decaying, other);

    // 7. A single huge gradient can throw a net far away. Clipping limits it: if the norm of the
    //    gradient, the root of the sum of its squares, is above c, the gradient is multiplied by
    //    c / norm. The direction stays. c is often 1. Above it, each step has the length lr c.
    // > SGD, clipped to 1: (-7.99, 1.44) (-7.98, 1.38) (-7.97, 1.32) ... f 14
    samba_optim clipped = { SAMBA_SGD, .lr = 0.06f, .max_grad_norm = 1 };
    show_walk("SGD, clipped to 1", clipped, other);

    // 8. Which lr? Nobody knows; one tries. Take some, each 10 times the one before, then some
    //    between the best. Too small is slow. Too large explodes with SGD, and with Adam jumps
    //    about the lowest point, as lr is about how far a weight goes in a step.
    //
    //    That should be little beside the weights; for nets, a first try is often 0.001. Here,
    //    where x has 8 to go, that is far too little. (With random batches w jumps at any lr, so lr
    //    falls at the end: lesson 16.)
    // > lr 0.001: f 29 with SGD, 63 with AdamW
    // > lr 0.01: f 9.6 with SGD, 41 with AdamW
    // > lr 0.1: f 4.5e+37 with SGD, 3.9 with AdamW
    for (float lr = 0.001f; lr < 0.5f; lr *= 10) {
        double f_sgd = walk((samba_optim){ SAMBA_SGD, .lr = lr }, other);
        double f_adam = walk((samba_optim){ SAMBA_ADAMW, .lr = lr }, other);
        printf("lr %g: f %.2g with SGD, %.2g with AdamW\n", (double)lr, f_sgd, f_adam);
    }

    // 9. Which optimizer? AdamW is the usual first choice: one lr suits weights of all scales. SGD
    //    with momentum may end better, as here, but it takes more trials to find its lr.
    picture p = picture_open(picture_path, 1, "Three ways down a valley",
        "SGD zigzags and creeps; momentum swings and arrives; AdamW runs past, and comes back.");
    picture_axes(&p, -9, 3, -2, 2, "x", "y");
    picture_line(&p, sgd[0], sgd[1], STEPS + 1, "SGD");
    picture_line(&p, momentum[0], momentum[1], STEPS + 1, "momentum");
    picture_line(&p, adam[0], adam[1], STEPS + 1, "AdamW");
    picture_close(&p);

    // To think about:
    //   Why is 2/30 the limit of step 1? (One step makes y (1 - 30 lr) y.) And that of x alone?
    //   All gradients become 10 times as large. Which of SGD and Adam needs another lr?
    //   Momentum 0.9, and always the same gradient g: how long do the steps get?
    //
    // Now you: exercise 08a is momentum, 08b AdamW, 08c clipping. `make learn` begins with the
    // first that is open, `tools/learn/learn.sh watch 08a` with 08a.
    return 0;
}
