// Lesson 16: a training loop that can be trusted: schedule, clipping, checkpoint.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/16_training_loop.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson loop.svg draws. New: warmup, clipping.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
enum { B = 32, WARM = 40, STEPS = 400, HALF = 200, BROKEN = 120 };
// 1. The learning rate follows a schedule. At first the weights are random and gradients point
//    anywhere, so it grows from near 0: the warmup. Then it falls to 0, slowly, fast, slowly: long
//    steps get far, short ones settle. Most take half a cosine; this polynomial looks the same.
static double rate(int step)
{
    double n = STEPS - WARM, k = step - WARM;
    return 0.5 * (step < WARM ? (step + 1.0) / WARM : 1 - k * k * (3 * n - 2 * k) / (n * n * n));
}

// Points, and whether both numbers have the same sign; the step says which. One batch is broken.
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
static void train(samba_session *s, int first, int end, float *loss)
{
    float x[B][2];
    int32_t label[B];
    for (int step = first; step < end; step++) {
        next_batch(step, x, label);
        samba_write(samba_tensor_by_name(s, "x"), x);
        samba_write(samba_tensor_by_name(s, "label"), label);
        samba_set(s, "lr", rate(step));             // it stays so until it is set again
        samba_run(s, 0);
        loss[step] = fminf(samba_read(samba_tensor_by_name(s, "loss"))[0], 2);      // to draw it
    }
}
// A number made of all bytes of the parameters (FNV-1a).
static uint32_t hash(samba_session *s)
{
    uint32_t h = 2166136261u;
    samba_tensor *w[4];
    for (int i = samba_parameters(s, w, 4) - 1; i >= 0; i--)
        for (size_t k = 0; k < samba_bytes(w[i]); k++)
            h = (h ^ ((const uint8_t *)samba_read(w[i]))[k]) * 16777619u;
    return h;
}
static double mean(const float *loss)
{
    float sum = 0;
    for (int i = HALF; i < STEPS; i++) sum += loss[i];
    return (double)sum / (STEPS - HALF);
}
int main(int argc, char **argv)
{
    static float steps[STEPS], rates[STEPS], wild[STEPS], clipped[STEPS], again[STEPS], zeros[64];
    // The rate in steps 0, 39, 100, 200 and 300:
    // > rate      # 0.0125
    // > rate      ######################################## 0.5
    // > rate      ##################################### 0.463
    // > rate      ####################### 0.291
    // > rate      ####### 0.0943
    for (int i = 0; i < STEPS; i++) {
        steps[i] = (float)i;
        rates[i] = (float)rate(i);
        if (i == WARM - 1 || i % 100 == 0) text_bar("rate", rate(i), 0.5);
    }
    // 2. A broken batch makes an enormous gradient, and so a step from which the net does not come
    //    back. Clipping: if the norm of all gradients together (the root of the sum of squares) is
    //    above 1, all are divided by it. The direction stays, the step has a usual length. The
    //    spoilt net is little better than one that gives both kinds one half: log 2 (lesson 7).
    // > mean loss of the second half: 0.64, clipped 0.12; log 2: 0.69
    samba_session *s = start(0), *t = start(1), *u = start(1);
    train(s, 0, STEPS, wild);
    train(t, 0, HALF, clipped);
    samba_save(t, "lesson16.ckpt");
    train(t, HALF, STEPS, clipped);
    printf("mean loss of the second half: %.2f, clipped %.2f; log 2: %.2f\n", mean(wild),
           mean(clipped), log(2));
    // 3. Machines die. A checkpoint has all that later steps depend on: parameters, but also the
    //    momentum, the counter of dropout's masks, the rate; batches follow from the step here. So
    //    who restores it ends with the same bits; not so if one matrix begins without its momentum.
    // > d03f3f4c without a stop
    // > d03f3f4c from the checkpoint
    // > 102d2cb8 from the checkpoint, less one momentum
    printf("%08x without a stop\n", (unsigned)hash(t));
    for (int i = 0; i < 2; i++) {
        samba_restore(u, "lesson16.ckpt");
        if (i) samba_write(samba_tensor_by_name(u, "first__weight__momentum"), zeros);
        train(u, HALF, STEPS, again);
        printf("%08x from the checkpoint%s\n", (unsigned)hash(u), i ? ", less one momentum" : "");
    }
    remove("lesson16.ckpt");
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "A training",
                             "A broken batch spoils the net, unless gradients are clipped.");
    picture_axes(&p, 0, STEPS, 0, 0.5, "step", "learning rate");
    picture_line(&p, steps, rates, STEPS, NULL);
    picture_axes(&p, 0, STEPS, 0, 2, "step", "loss");
    picture_line(&p, steps, wild, STEPS, "as it is");
    picture_line(&p, steps, clipped, STEPS, "clipped");
    picture_close(&p);
    // Exercises 16a, 16b: warmup and cosine; a batch too large for memory, in parts. Then answer:
    //   Why are all gradients clipped by one norm, and not each parameter's by its own?
    //   A program shuffles its data with rand(). What must a checkpoint have, too?
    return samba_close(s) | samba_close(t) | samba_close(u);
}
