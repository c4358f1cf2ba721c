// Lesson 9: overfitting: a net that learns by heart, and what helps.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/09_overfitting.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 09.svg draws.
// New: overfitting, dropout, early stopping. Next: 10_layernorm.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

// How many points there are; and losses are kept every 50 steps.
enum { FEW = 12, MANY = 192, TEST = 22 };
enum { HIDDEN = 16, STEPS = 800, EVERY = 50, MARKS = STEPS / EVERY };

// What a net is to find is y = x^3 - x. It sees some places, and there y is measured with an error,
// called noise. What counts is how it answers at other places between them, without noise: the
// test.
typedef struct points {
    int n;
    float x[MANY], y[MANY];
} points;

static points measure(int n, double first, double distance, float noise)
{
    points p = { .n = n };
    samba_session *s = samba_open(NULL);
    samba_set_tracing(s, false);
    samba_tensor *random = samba_randn(s, "noise", SAMBA_SHAPE(n));
    const float *error = samba_read(samba_scale(random, noise));
    for (int i = 0; i < n; i++) {
        double x = first + i * distance;
        double cube = x * x * x;
        p.x[i] = (float)x;
        p.y[i] = (float)(cube - x) + error[i];
    }
    samba_close(s);
    return p;
}

// The net: layers of 16, 16 and 1 neurons. x is doubled, as tanh is nearly straight for small
// inputs. Layers of the same name share their weights; so, called for two sets of points, it is one
// net.
static samba_tensor *net(samba_tensor *x, float dropout)
{
    samba_tensor *h = samba_tanh(samba_linear(samba_scale(x, 2), "a", HIDDEN));
    h = samba_tanh(samba_linear(h, "b", HIDDEN));
    if (dropout > 0) h = samba_dropout(h, "drop", dropout);
    return samba_linear(h, "c", 1);
}

static samba_tensor *column(samba_session *s, const char *name, int n, const float *numbers)
{
    return samba_from_data_copy(s, name, SAMBA_F32, SAMBA_SHAPE(n, 1), numbers);
}

// After 50, 100, 200, 400 and 800 steps.
static void print_some(const char *name, const float losses[MARKS])
{
    printf("%s", name);
    for (int i = 1; i <= MARKS; i *= 2) {
        printf(" %.3f", (double)losses[i - 1]);
    }
}

// What a training leaves: both losses, every 50 steps, and the answers at the test's places.
typedef struct course {
    float train[MARKS], test[MARKS], answers[TEST];
} course;

static void learn(const char *name, float dropout, float decay, const points *train,
                  const points *test, course *c)
{
    samba_session *s = samba_open(NULL);
    samba_tensor *x = column(s, "x", train->n, train->x);
    samba_tensor *t = column(s, "t", train->n, train->y);
    samba_tensor *loss = samba_mse(net(x, dropout), t, SAMBA_REDUCE_MEAN);

    samba_set_sharing(s, true); // the same layers again, on purpose
    samba_tensor *test_x = column(s, "test x", test->n, test->x);
    samba_tensor *test_t = column(s, "test t", test->n, test->y);
    samba_tensor *y = net(test_x, 0);
    samba_tensor *test_loss = samba_mse(y, test_t, SAMBA_REDUCE_MEAN);

    // It trains by loss alone; test_loss is an output, to be looked at.
    samba_program program = { .loss = loss, .outputs = { test_loss, y } };
    program.optim = (samba_optim){ SAMBA_ADAMW, .lr = 0.01f, .weight_decay = decay };
    samba_compile(s, &program);
    for (int i = 1; i <= STEPS; i++) {
        samba_run(s, SAMBA_FWD | SAMBA_BCKWD | SAMBA_OPT);
        if (i % EVERY) continue;

        // Without .eval this run would drop neurons: the training loss would be too large, and
        // later steps would drop others. (The test's half of the net never drops any.)
        samba_run_with(s, &(samba_run_desc){ .types = { SAMBA_FWD }, .eval = true });
        c->train[i / EVERY - 1] = samba_read(loss)[0];
        c->test[i / EVERY - 1] = samba_read(test_loss)[0];
    }
    samba_copy_out(y, c->answers, sizeof c->answers);
    samba_close(s);

    printf("%s:", name);
    print_some(" train", c->train);
    print_some(", test", c->test);
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    static course plain, dropped, decayed, fed;
    points few = measure(FEW, -1.5, 1.0 / 4, 0.4f);
    points many = measure(MANY, -1.49, 1.0 / 64, 0.4f);
    points test = measure(TEST, -1.40625, 1.0 / 8, 0);

    // 1. A small loss in training says little. Our layers have 32 + 272 + 17 = 321 weights and
    //    biases, so their curve can pass through 12 points, and the training loss nears 0. But the
    //    net learns the noise, too. Its loss elsewhere grows: it overfits. (Losses after 50, 100,
    //    200, 400 and 800 steps.)
    // > plain: train 0.066 0.043 0.025 0.000 0.002, test 0.024 0.027 0.045 0.066 0.072
    learn("plain", 0, 0, &few, &test, &plain);

    // 2. So nobody judges a net by what it has learned from. A part of the examples, often a tenth,
    //    is kept apart: the test set.
    //
    //    If you choose by the test set when to stop, or how wide a layer is, your choices fit that
    //    set's chances, and its loss is too good. So a third set is for such choices, for
    //    validation. (Here the test serves for both, to be short.) No example may be in two of the
    //    sets.
    //
    //    Draw them at random: the last tenth of a file may be of another kind than the rest.

    // 3. Dropout helps, because it forbids to rely on a single neuron. In each training step, each
    //    neuron of a layer is left out with probability p, here 0.3, usually 0.1 to 0.5. The rest
    //    is multiplied by 1 / (1 - p), so that sums stay the same on average.
    //
    //    When the net is used (eval), all neurons take part, and nothing is multiplied: as if many
    //    small nets had learned, and their mean spoke.
    // > dropout: train 0.133 0.081 0.080 0.055 0.040, test 0.074 0.028 0.038 0.045 0.043
    learn("dropout", 0.3f, 0, &few, &test, &dropped);

    // 4. Weight decay (lesson 8) helps, because sharp turns need large weights; with small ones a
    //    curve is smooth. Each step takes from all weights a part of themselves, here lr times
    //    decay, 0.01 * 1. The training loss is larger, the test loss at the end smaller, and that
    //    is wanted.
    //
    //    (Usual decays are 0.01 to 0.1. In so few steps they do little: with 0.1 the test loss
    //    still ends at 0.066.)
    // > decay: train 0.115 0.069 0.062 0.052 0.044, test 0.056 0.020 0.019 0.023 0.029
    learn("decay", 0, 1, &few, &test, &decayed);

    // 5. Best is more data. A curve among 192 points cannot easily bend to the noise of each. The
    //    noise has the size 0.4; so even the true curve has a training loss of about 0.4^2, 0.16. A
    //    net far below that has learned noise.
    // > 192 points: train 0.209 0.180 0.174 0.171 0.165, test 0.015 0.001 0.002 0.004 0.007
    learn("192 points", 0, 0, &many, &test, &fed);

    // 6. Look at the test losses again: all four are best early. What many points say adds up in
    //    the gradient, so a net learns that first; what a single one says, its noise, it learns
    //    later. Early stopping uses that, and takes no extra steps: keep the weights of the step
    //    with the least validation loss.
    //
    //    (One noise proves little. We tried 20 others: decay ended better than plain with all of
    //    them, dropout with 16; plain, stopped at its best, was nearly as good as both.)

    // 7. If even the training loss stays large, the net underfits: it has too few neurons, or too
    //    much decay. How wide should it be, then? Begin small, and double until the validation loss
    //    falls no more. A wider net costs time; but with early stopping its answers are hardly
    //    worse.
    picture p = picture_open(path, 2, "A net that learns by heart",
        "The plain net swings from noise to noise, and its test loss rises; not with 192 points.");
    picture_axes(&p, -1.6, 1.4, -2, 2, "x", "y");
    picture_line(&p, test.x, plain.answers, TEST, "plain");
    picture_line(&p, test.x, fed.answers, TEST, "192 points");
    picture_dots(&p, few.x, few.y, FEW, "noisy");

    float steps[MARKS];
    for (int i = 0; i < MARKS; i++) {
        steps[i] = (float)(EVERY * (i + 1));
    }
    picture_axes(&p, 0, STEPS, 0, 0.15, "step", "loss");
    picture_line(&p, steps, plain.train, MARKS, "train");
    picture_line(&p, steps, plain.test, MARKS, "test");
    picture_line(&p, steps, fed.test, MARKS, "192 points");
    picture_close(&p);

    // To think about:
    //   Why is nothing dropped when the net is used, and why is then nothing to be multiplied?
    //   Let HIDDEN be 1, 2, 4 ... 64: which is wide enough for 192 points?
    //
    // Now you: exercise 09a is dropout, 09b weight decay. `make learn` begins with the first that
    // is open, `tools/learn/learn.sh watch 09a` with 09a.
    return 0;
}
