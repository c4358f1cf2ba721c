// Lesson 8: from SGD to AdamW: how to walk down a surface.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/08_optimizers.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 08.svg draws. New: momentum, AdamW.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

enum { STEPS = 60 };

// The surface: f = (x^2 + 30 y^2) / 2, a valley along x, 30 times steeper across. The lowest point
// is (0,0); we begin at (-8, 1.5). An optimizer is the rule that makes a step of a gradient.
static samba_tensor *surface(samba_tensor *xy, samba_session *s)
{
    const float steep[2] = { 0.5f, 15 };
    samba_tensor *k = samba_from_data_copy(s, "k", SAMBA_F32, SAMBA_SHAPE(2), steep);
    return samba_sum(samba_mul(k, samba_mul(xy, xy)), SAMBA_ALL_AXES, false);
}

// Walks STEPS steps; path has the x of all places, then the y. Returns f at the end. Without a name
// it prints nothing.
static double walk(const char *name, samba_optim optim, float path[2][STEPS + 1])
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
    double end = (double)samba_read(f)[0];                  // at the last place of path
    samba_close(s);
    if (!name) return end;
    printf("%s:", name);
    for (int i = 1; i < 4; i++) printf(" (%.2f, %.2f)", (double)path[0][i], (double)path[1][i]);
    printf(" ... f %.2g\n", end);
    return end;
}

int main(int argc, char **argv)
{
    static float path[4][2][STEPS + 1];

    // 1. Gradient descent, w = w - lr g. A net takes the gradient of a few examples at a time, a
    //    batch, drawn at random: stochastic gradient descent, SGD. A batch costs less than all
    //    examples, and its gradient is right on average; the larger the batch, the less it errs.
    //    (Here nothing is drawn.) The first 3 places are printed, and f after 60 steps. The steep
    //    side decides: if lr is above 2/30, y explodes. So x creeps, and y jumps from side to side.
    // > SGD: (-7.52, -1.20) (-7.07, 0.96) (-6.64, -0.77) ... f 0.019
    // > SGD, lr 0.07: (-7.44, -1.65) (-6.92, 1.82) (-6.43, -2.00) ... f 3.1e+06
    walk("SGD", (samba_optim){ SAMBA_SGD, .lr = 0.06f }, path[0]);
    walk("SGD, lr 0.07", (samba_optim){ SAMBA_SGD, .lr = 0.07f }, path[3]);
    // 2. Momentum: the step is a velocity, v = momentum v + g and w = w - lr v. What all gradients
    //    have in common adds up, to 1 / (1 - momentum) times as much (so lr is smaller here); what
    //    changes sign cancels. Usual is 0.9. It costs a number more to keep for each weight.
    // > momentum 0.8: (-7.76, 0.15) (-7.34, -1.06) (-6.78, -1.08) ... f 6.5e-05
    walk("momentum 0.8", (samba_optim){ SAMBA_SGD, .lr = 0.03f, .momentum = 0.8f }, path[1]);
    // 3. Adam divides each weight's step by the size of its gradients: lr m / sqrt(v). m is the
    //    mean of the recent gradients, a kind of momentum; v is the mean of their squares (not the
    //    velocity of step 2). While g hardly changes, m is g and sqrt(v) is |g|: the step is lr,
    //    whatever the scale. So the first is 0.5 for x and for y, though their gradients are -8 and
    //    45. (To the root, a tiny eps is added, usually 1e-8, lest the step divide by 0.)
    // > AdamW, lr 0.5: (-7.50, 1.00) (-7.00, 0.51) (-6.50, 0.07) ... f 0.071
    walk("AdamW, lr 0.5", (samba_optim){ SAMBA_ADAMW, .lr = 0.5f }, path[2]);
    // 4. How is a mean kept of what comes one by one? m = beta1 m + (1 - beta1) g: of the past,
    //    beta1 stays, so m reaches back about 1 / (1 - beta1) steps. v has beta2. Usual are 0.9 and
    //    0.999: 10 steps and 1000. (samba.h has 0.997 if nothing is said.) A memory has its price:
    //    where g turns, m still goes on. x runs past 0, and comes back.
    // > its x at 0, 15, 30, 45, 60: -8.00 -1.13 1.40 0.04 -0.30
    printf("its x at 0, 15, 30, 45, 60:");
    for (int i = 0; i <= STEPS; i += 15) printf(" %.2f", (double)path[2][0][i]);
    printf("\n");
    // 5. Both means begin at 0, so the first are too small: after one step m is 0.1 g, and v is
    //    0.001 g^2. So, at step t, m is divided by 1 - beta1^t first, and v by 1 - beta2^t; at
    //    t = 1 that leaves g and g^2. Without it, the step would be lr 0.1 g / sqrt(0.001 g^2), 3
    //    times as long as it should be.
    // 6. The W is weight decay: each step also multiplies w by 1 - lr decay, so weights that no
    //    gradient holds up go to 0. The first Adam added the decay to the gradient, so it was
    //    divided, too; AdamW keeps it apart. The first x is -8 (1 - 0.5 * 0.1) + 0.5. Here
    //    it helps, as the lowest point is at 0; in a net it keeps weights from growing (lesson 9).
    // > AdamW, decay 0.1: (-7.10, 0.92) (-6.25, 0.40) (-5.44, -0.05) ... f 0.00093
    samba_optim adamw = { SAMBA_ADAMW, .lr = 0.5f, .weight_decay = 0.1f };
    walk("AdamW, decay 0.1", adamw, path[3]);
    // 7. A single huge gradient can throw a net far away. Clipping limits it: if the norm of the
    //    gradient, the root of the sum of its squares, is above c, it is multiplied by c / norm.
    //    The direction stays. c is often 1. Above it, each step has length lr c.
    // > SGD, clipped to 1: (-7.99, 1.44) (-7.98, 1.38) (-7.97, 1.32) ... f 14
    walk("SGD, clipped to 1", (samba_optim){ SAMBA_SGD, .lr = 0.06f, .max_grad_norm = 1 }, path[3]);
    // 8. Which lr? Try some, each 10 times the one before, then some between the best. Too small is
    //    slow; too large explodes with SGD, and with Adam jumps about the lowest point: there, lr
    //    is about how far a weight goes in a step. This should be little beside the weights: for
    //    nets, a first try is often 0.001. Here, where x has 8 to go, that is far too little.
    //    With random batches w jumps at any lr; so lr falls at the end (lesson 16).
    // > lr 0.001: f 29 with SGD, 63 with AdamW
    // > lr 0.01: f 9.6 with SGD, 41 with AdamW
    // > lr 0.1: f 4.5e+37 with SGD, 3.9 with AdamW
    for (float lr = 0.001f; lr < 0.5f; lr *= 10) {
        double sgd = walk(NULL, (samba_optim){ SAMBA_SGD, .lr = lr }, path[3]);
        double adam = walk(NULL, (samba_optim){ SAMBA_ADAMW, .lr = lr }, path[3]);
        printf("lr %g: f %.2g with SGD, %.2g with AdamW\n", (double)lr, sgd, adam);
    }
    // 9. Which optimizer? AdamW is the usual first choice: one lr suits weights of all scales. SGD
    //    with momentum may end better, as here, but takes more trials for its lr.
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "Three ways down a valley",
        "SGD zigzags and creeps; momentum swings and arrives; AdamW runs past, and comes back.");
    picture_axes(&p, -9, 3, -2, 2, "x", "y");
    static const char *const names[] = { "SGD", "momentum", "AdamW" };
    for (int i = 0; i < 3; i++) picture_line(&p, path[i][0], path[i][1], STEPS + 1, names[i]);
    picture_close(&p);

    // Exercises 08a, 08b and 08c (make learn) are momentum, AdamW and clipping. Then answer:
    //   Why is 2/30 the limit of step 1? (One step makes y (1 - 30 lr) y.) And that of x alone?
    //   All gradients become 10 times as large. Which of SGD and Adam needs another lr?
    //   Momentum 0.9, and always the same gradient g: how long do the steps get?
    return 0;
}
