// Lesson 7: losses: what a net is told to make small.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/07_losses.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 07.svg draws. New: softmax, cross-entropy.
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"

static samba_session *s;

static samba_tensor *row(const char *name, const float *x, int n)
{
    return samba_from_data_copy(s, name, SAMBA_F32, SAMBA_SHAPE(n), x);
}

static void print(const char *name, samba_tensor *t)
{
    printf("%s:", name);
    for (int i = 0; i < samba_count(&t->shape); i++) printf(" %.4f", (double)samba_read(t)[i]);
    printf("\n");
}

// The cross-entropy of x, a batch of one row of scores, if class 0 is the right one.
static double loss_of(samba_tensor *x, samba_tensor *class_0, const float scores[3])
{
    samba_write(x, scores);
    return (double)samba_read(samba_cross_entropy(x, class_0))[0];
}

int main(int argc, char **argv)
{
    s = samba_open(NULL);
    samba_set_tracing(s, false);                            // compute at once

    // 1. To predict a number is called regression. Its usual loss is the mean squared error, mse
    //    (lesson 3). Slopes of a sum grow with the batch; it wants a smaller lr. An error of
    //    10 costs 100 times as much as one of 1: a single odd target rules the loss. Where that
    //    does harm, take the mean of |error|: the slope of an error is 1/N or -1/N at any size.
    // > errors 1, 1, 10: mse: 34.0000
    // > their sum: 102.0000
    // > mean of |error|: 4.0000
    const float zeros[3] = { 0, 0, 0 }, odd[3] = { 1, 1, 10 };
    samba_tensor *off = row("off", odd, 3), *exact = row("exact", zeros, 3);
    print("errors 1, 1, 10: mse", samba_mse(off, exact, SAMBA_REDUCE_MEAN));
    print("their sum", samba_mse(off, exact, SAMBA_REDUCE_SUM));
    print("mean of |error|", samba_mean(samba_abs(off), SAMBA_ALL_AXES, false));

    // 2. To choose one of n classes is classification. The net gives each class a score, also
    //    called a logit, of any size. Softmax makes probabilities of them: e^score, so that all are
    //    positive, divided by their sum, so that they add up to 1. One more point of score makes a
    //    class e times as likely, compared with the others.
    // > softmax of 1, 2, 3: 0.0900 0.2447 0.6652
    const float scores[3] = { 1, 2, 3 };
    print("softmax of 1, 2, 3", samba_softmax(row("scores", scores, 3), 0));

    // 3. Written down as it stands, it fails: e^1000 is more than a float can hold, infinity, and
    //    infinity / infinity is not a number, NaN. But softmax does not change if the same number
    //    is subtracted from all scores: above and below, a factor e^-c cancels. Subtract the
    //    largest: then the greatest power is e^0 = 1, and nothing overflows. Tiny probabilities are
    //    still rounded to 0, which has no log; so samba_cross_entropy (step 4) does both in one.
    // > as it stands, of 1001, 1002, 1003: 3 are NaN
    // > less the largest: 0.0900 0.2447 0.6652
    const float large[3] = { 1001, 1002, 1003 };
    samba_tensor *x = row("large", large, 3);
    samba_tensor *power = samba_exp(x);
    const float *bad = samba_read(samba_div(power, samba_sum(power, SAMBA_AXES(0), true)));
    printf("as it stands, of 1001, 1002, 1003: %d are NaN\n",
           (bad[0] != bad[0]) + (bad[1] != bad[1]) + (bad[2] != bad[2]));
    power = samba_exp(samba_sub(x, samba_max(x, SAMBA_AXES(0), true)));
    print("less the largest", samba_div(power, samba_sum(power, SAMBA_AXES(0), true)));

    // 4. The loss is -log(probability of the right class), the cross-entropy; for a batch, the
    //    mean. It is 0 if the net is sure and right, and unbounded if it is sure and wrong. Why the
    //    log? All are right with the product of their probabilities; -log makes it a sum.
    //    If n classes are equally frequent, a net that knows nothing gives each 1/n; its loss is
    //    log n, base e. Far above that is worse than no knowledge.
    // > -log p for p = 0.9, 0.5, 0.1, 0.001: 0.1054 0.6931 2.3026 6.9078
    // > three equal scores: 1.0986
    const float p[4] = { 0.9f, 0.5f, 0.1f, 0.001f };
    print("-log p for p = 0.9, 0.5, 0.1, 0.001", samba_neg(samba_log(row("p", p, 4))));
    samba_tensor *class_0 = samba_zeros(s, "class 0", SAMBA_I32, SAMBA_SHAPE(1));
    samba_tensor *z = samba_zeros(s, "z", SAMBA_F32, SAMBA_SHAPE(1, 3));
    printf("three equal scores: %.4f\n", loss_of(z, class_0, zeros));

    // 5. Its gradient for the scores is short: probability - 1 for the right class, probability for
    //    the others. Its sum is 0: what one class gains, others lose. Here are the central
    //    differences of lesson 3 for scores 1, 2, 3, if class 0 is right; compare step 2.
    //    (A count of right answers has no such slope: it is a step. It can judge, not teach.)
    // > gradient: -0.91 0.24 0.67
    printf("gradient:");
    for (int i = 0; i < 3; i++) {
        float more[3] = { 1, 2, 3 }, less[3] = { 1, 2, 3 };
        more[i] += 0.0625f;
        less[i] -= 0.0625f;
        const double up = loss_of(z, class_0, more), down = loss_of(z, class_0, less);
        printf(" %.2f%s", (up - down) / 0.125, i < 2 ? "" : "\n");
    }

    // 6. Two classes need one score: the sigmoid y (lesson 5) is the softmax of it and 0. (If more
    //    than one class can be right, each takes a sigmoid of its own.) Why not mse? If the target
    //    is 1 and the score very low, its slope 2 (y - 1) y (1 - y) is almost 0: sure, wrong, and
    //    it hardly learns. That of cross-entropy, -log y, is y - 1, almost -1.
    // > score -8, -4, 0, 4, 8, slope of mse: -0.0007 -0.0347 -0.2500 -0.0006 -0.0000
    // > slope of cross-entropy: -0.9997 -0.9820 -0.5000 -0.0180 -0.0003
    const float axis[5] = { -8, -4, 0, 4, 8 };              // error: y - 1
    samba_tensor *y = samba_sigmoid(row("axis", axis, 5)), *error = samba_shift(y, -1);
    samba_tensor *slope = samba_scale(samba_mul(samba_mul(error, y), error), -2);
    print("score -8, -4, 0, 4, 8, slope of mse", slope);
    print("slope of cross-entropy", error);
    picture pic = picture_open(argc > 1 ? argv[1] : NULL, 1, "Sure and wrong: who still learns?",
        "Slopes by score. Cross-entropy: from -1 up to 0. Mse: 0 at both ends, a dip between.");
    picture_axes(&pic, -8, 8, -1, 0, "score of the right class", "slope");
    picture_line(&pic, axis, samba_read(slope), 5, "mse");
    picture_line(&pic, axis, samba_read(error), 5, "cross-entropy");
    picture_close(&pic);

    // Exercises 07a, 07b and 07c (make learn) are softmax, cross-entropy, and their gradient. Then:
    //   Two classes have scores 0 and 3. What is the loss if the second is right? Add 5 to both.
    //   A net with 10 classes begins with loss 9. What is wrong? (Log 10 is 2.3.)
    return samba_close(s);
}
