// Lesson 9: overfitting: a net that learns by heart, and what helps.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/09_overfitting.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 09.svg draws. New: overfitting, dropout.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

enum { FEW = 12, MANY = 192, TEST = 22, HIDDEN = 16, STEPS = 800, EVERY = 50, MARKS = 16 };
// What a net is to find is y = x^3 - x. It sees some places, and there y is measured with an error,
// noise. What counts is how it answers at other places between them, without noise: the test.
typedef struct points {
    int n;
    float x[MANY], y[MANY];
} points;

static points measure(int n, double first, double step, float noise)
{
    points p = { .n = n };
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    const float *error = samba_read(samba_scale(samba_randn(s, "noise", SAMBA_SHAPE(n)), noise));
    for (int i = 0; i < n; i++) {
        double x = first + i * step, cube = x * x * x;
        p.x[i] = (float)x;
        p.y[i] = (float)(cube - x) + error[i];
    }
    samba_close(s);
    return p;
}

// The mean squared error of the net at these points, with x doubled, so that tanh bends. It is
// called twice, for both sets; but layers of the same name share their weights: it is one net.
static samba_tensor *loss_at(samba_session *s, const char *x_name, const char *t_name,
                             const points *p, float dropout, samba_tensor **y)
{
    samba_tensor *x = samba_from_data_copy(s, x_name, SAMBA_F32, SAMBA_SHAPE(p->n, 1), p->x);
    samba_tensor *t = samba_from_data_copy(s, t_name, SAMBA_F32, SAMBA_SHAPE(p->n, 1), p->y);
    samba_tensor *h = samba_tanh(samba_linear(samba_scale(x, 2), "a", HIDDEN));
    h = samba_tanh(samba_linear(h, "b", HIDDEN));
    if (dropout > 0) h = samba_dropout(h, "drop", dropout);
    *y = samba_linear(h, "c", 1);
    return samba_mse(*y, t, SAMBA_REDUCE_MEAN);
}

static void learn(const char *name, float dropout, float decay, const points *train,
                  const points *test, float losses[2][MARKS], float answers[TEST])
{
    samba_session *s = samba_open(NULL);
    samba_tensor *y, *loss[2] = { loss_at(s, "x", "t", train, dropout, &y) };
    samba_set_sharing(s, true);         // the same layers again, on purpose
    loss[1] = loss_at(s, "test x", "test t", test, 0, &y);
    samba_optim adam = { SAMBA_ADAMW, .lr = 0.01f, .weight_decay = decay };     // of loss[0] alone
    samba_compile(s, &(samba_program){ .loss = loss[0], .outputs = { loss[1], y }, .optim = adam });
    for (int i = 1; i <= STEPS; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        if (i % EVERY) continue;
        samba_run_with(s, &(samba_run_desc){ .types = { SAMBA_FWD }, .eval = true });
        for (int k = 0; k < 2; k++) losses[k][i / EVERY - 1] = samba_read(loss[k])[0];
    }
    samba_copy_out(y, answers, TEST * sizeof *answers);
    printf("%s:", name);
    for (int k = 0; k < 2; k++) {
        printf(k ? ", test" : " train");
        for (int i = 1; i <= MARKS; i *= 2) printf(" %.3f", (double)losses[k][i - 1]);
    }
    printf("\n");
    samba_close(s);
}

int main(int argc, char **argv)
{
    static float losses[4][2][MARKS], answers[4][TEST], at[MARKS];
    points few = measure(FEW, -1.5, 1.0 / 4, 0.4f), many = measure(MANY, -1.49, 1.0 / 64, 0.4f);
    points test = measure(TEST, -1.40625, 1.0 / 8, 0);
    // 1. Layers of 16, 16 and 1 neurons have 32 + 272 + 17 = 321 weights and biases. Their curve
    //    can pass through 12 points; so the training loss (after 50, 100, 200, 400 and 800 steps)
    //    nears 0. But the net learns the noise, too, and its loss elsewhere grows: it overfits.
    // > plain: train 0.066 0.043 0.025 0.000 0.002, test 0.024 0.027 0.045 0.066 0.072
    learn("plain", 0, 0, &few, &test, losses[0], answers[0]);
    // 2. So nobody judges a net by what it has learned from. A part of the examples, often a tenth,
    //    is kept apart, the test set. Who chooses by it when to stop, or how wide a layer is, fits
    //    it, too: a third set is for that, for validation. No example may be in two of the sets.
    // 3. Dropout: in each training step, each neuron of a layer is left out with probability p,
    //    here 0.3, usually 0.1 to 0.5. So none relies on a single other one. The rest is multiplied
    //    by 1 / (1 - p): sums stay the same on average. When the net is used (eval), all neurons
    //    take part, nothing is multiplied: as if many small nets had learned, and their mean spoke.
    // > dropout: train 0.133 0.081 0.080 0.055 0.040, test 0.074 0.028 0.038 0.045 0.043
    learn("dropout", 0.3f, 0, &few, &test, losses[1], answers[1]);
    // 4. Weight decay (lesson 8) pulls all weights to 0 in each step; here by lr decay, 0.01 * 1
    //    (usual decays are 0.01 to 0.1). Sharp turns need large weights; with small ones a curve is
    //    smooth. The training loss is larger, the test loss at the end smaller, and that is wanted.
    // > decay: train 0.115 0.069 0.062 0.052 0.044, test 0.056 0.020 0.019 0.023 0.029
    learn("decay", 0, 1, &few, &test, losses[2], answers[2]);
    // 5. Best is more data. A curve among 192 points cannot easily bend to the noise of each. The
    //    size of the noise is 0.4, so the true curve's own training loss is about 0.4^2, 0.16.
    // > 192 points: train 0.209 0.180 0.174 0.171 0.165, test 0.015 0.001 0.002 0.004 0.007
    learn("192 points", 0, 0, &many, &test, losses[3], answers[3]);
    // 6. All four do best at the test early. Early stopping costs no step: keep the weights of the
    //    step with the least validation loss. (We tried 20 other noises. Decay ended better than
    //    plain with all, dropout with 16; plain, stopped at its best, was nearly as good as both.)
    // 7. If even the training loss stays large, the net underfits: it has too few neurons, or too
    //    much decay. How wide, then? Begin small, and double until the validation loss falls no
    //    more. Wider than that costs time, and little accuracy if one stops early.
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "A net that learns by heart",
        "The plain net swings from noise to noise, and its test loss rises; not with 192 points.");
    picture_axes(&p, -1.6, 1.4, -2, 2, "x", "y");
    picture_line(&p, test.x, answers[0], TEST, "plain");
    picture_line(&p, test.x, answers[3], TEST, "192 points");
    picture_dots(&p, few.x, few.y, FEW, "noisy");
    picture_axes(&p, 0, STEPS, 0, 0.15, "step", "loss");
    for (int i = 0; i < MARKS; i++) at[i] = (float)(EVERY * (i + 1));
    picture_line(&p, at, losses[0][0], MARKS, "train");
    picture_line(&p, at, losses[0][1], MARKS, "test");
    picture_line(&p, at, losses[3][1], MARKS, "192 points");
    picture_close(&p);
    // Exercises 09a and 09b (make learn) are dropout and weight decay. Then answer:
    //   Why is nothing dropped when the net is used, and why is then nothing to be multiplied?
    //   Let HIDDEN be 1, 2, 4 ... 64: which is wide enough for 192 points?
    return 0;
}
