// Lesson 9: overfitting: a net that learns by heart, and what helps.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/09_overfitting.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 09.svg draws. New: overfitting, dropout.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

enum { N = 12, HIDDEN = 32, STEPS = 2000, EVERY = 100, MARKS = STEPS / EVERY };

// What a net is to find is y = x^3 - x. It sees N places, and there y is measured with an error,
// noise. What counts is how it answers at N other places, without noise: that is the test.
typedef struct points {
    float x[N], y[N];
} points;

static void measure(points *p, float first, float noise)
{
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    const float *error = samba_read(samba_scale(samba_randn(s, "noise", SAMBA_SHAPE(N)), noise));
    for (int i = 0; i < N; i++) {
        double x = (double)first + i / 4.0, cube = x * x * x;
        p->x[i] = (float)x;
        p->y[i] = (float)(cube - x) + error[i];
    }
    samba_close(s);
}

// The loss at these points, with all neurons (eval: dropout off), and the answers.
static float loss_at(const points *p, samba_tensor *in, samba_tensor *t, samba_tensor *loss)
{
    samba_write(in, p->x);
    samba_write(t, p->y);
    samba_run_with(in->session, &(samba_run_desc){ .types = { SAMBA_FWD }, .eval = true });
    return samba_read(loss)[0];
}

static void learn(const char *name, float dropout, float decay, const points *train,
                  const points *test, float losses[2][MARKS], float answers[N])
{
    samba_session *s = samba_open(NULL);
    samba_tensor *in = samba_input(s, "x", SAMBA_F32, SAMBA_SHAPE(N, 1));
    samba_tensor *t = samba_input(s, "t", SAMBA_F32, SAMBA_SHAPE(N, 1));
    samba_tensor *h = samba_tanh(samba_linear(samba_scale(in, 2), "a", HIDDEN));
    h = samba_tanh(samba_linear(h, "b", HIDDEN));
    if (dropout > 0) h = samba_dropout(h, "drop", dropout);
    samba_tensor *y = samba_linear(h, "c", 1), *loss = samba_mse(y, t, SAMBA_REDUCE_MEAN);
    samba_optim adamw = { SAMBA_ADAMW, .lr = 0.01f, .weight_decay = decay };
    samba_compile(s, &(samba_program){ .loss = loss, .outputs = { y }, .optim = adamw });
    for (int i = 0; i < STEPS; i++) {
        samba_write(in, train->x);
        samba_write(t, train->y);
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        if ((i + 1) % EVERY) continue;
        losses[0][i / EVERY] = loss_at(train, in, t, loss);
        losses[1][i / EVERY] = loss_at(test, in, t, loss);
    }
    samba_copy_out(y, answers, N * sizeof *answers);
    printf("%s:", name);
    for (int k = 0; k < 2; k++) {
        printf(k ? ", test" : " train");
        for (int i = 0; i < MARKS; i = 2 * i + 1) printf(" %.3f", (double)losses[k][i]);
    }
    printf("\n");
    samba_close(s);
}

int main(int argc, char **argv)
{
    static float losses[3][2][MARKS], answers[3][N], at[MARKS];
    points train, test;
    measure(&train, -1.5f, 0.4f);
    measure(&test, -1.375f, 0);

    // 1. The net has far more weights than there are points, N, so it can pass through all of
    //    them. After 100, 200, 400, 800 and 1600 steps, the training loss goes to 0. But it
    //    learns the noise, too, and the loss at the other points grows: it overfits. So nobody
    //    judges a net by what it has learned from: a test set is kept apart for that. And a third
    //    one, for validation, if one wants to choose: when to stop, and how large p and decay are.
    // > weights: 1153
    // > plain: train 0.040 0.021 0.000 0.000 0.000, test 0.063 0.083 0.119 0.118 0.114
    printf("weights: %d\n", 2 * HIDDEN + HIDDEN * (HIDDEN + 1) + HIDDEN + 1);
    learn("plain", 0, 0, &train, &test, losses[0], answers[0]);

    // 2. Dropout: in each training step, each neuron of a layer is left out with probability p,
    //    0.3 here. None can rely on a single other one, as if many smaller nets were trained that
    //    have to agree. The others are multiplied by 1 / (1 - p): sums stay the same on average.
    //    When the net is used (eval), all neurons take part and nothing is multiplied.
    // > dropout: train 0.084 0.065 0.054 0.028 0.007, test 0.065 0.064 0.080 0.092 0.096
    learn("dropout", 0.3f, 0, &train, &test, losses[1], answers[1]);

    // 3. Weight decay (lesson 8) pulls all weights to 0 in each step. Sharp turns between points
    //    need large weights; with small ones a curve is smooth. It cannot learn all of the noise:
    //    the training loss is larger, the test loss smaller, and that is what is wanted. Too much
    //    of it, or too few neurons, and both losses stay large: the net underfits.
    // > decay: train 0.063 0.054 0.036 0.032 0.034, test 0.044 0.047 0.068 0.081 0.077
    learn("decay", 0, 1, &train, &test, losses[2], answers[2]);

    // 4. All three do best at the test early, and get worse. To stop there, early stopping, costs
    //    nothing. Best of all are more data: the more points, the less noise can be learned.
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 2, "A net that learns by heart",
        "The plain net swings from noise to noise, with decay less; its test loss rises.");
    picture_axes(&p, -1.6, 1.4, -2, 2, "x", "y");
    picture_line(&p, test.x, answers[0], N, "plain");
    picture_line(&p, test.x, answers[2], N, "decay");
    picture_dots(&p, train.x, train.y, N, "noisy");
    picture_axes(&p, 0, STEPS, 0, 0.15, "step", "loss");
    for (int i = 0; i < MARKS; i++) at[i] = (float)(EVERY * (i + 1));
    picture_line(&p, at, losses[0][0], MARKS, "train");
    picture_line(&p, at, losses[0][1], MARKS, "test");
    picture_line(&p, at, losses[2][1], MARKS, "decay");
    picture_close(&p);

    // Exercises 09a and 09b (make learn) are dropout and weight decay. Then answer:
    //   The training loss is tiny, the test loss large. What has happened? And if both are large?
    //   Why is nothing dropped when the net is used, and why is then nothing to be multiplied?
    return 0;
}
