// Lesson 7: losses: what a net is told to make small.
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/07_losses.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 07.svg draws.
// New: classification, softmax, cross-entropy. Next: 08_optimizers.c
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include "picture.h"
#include "show.h"

static samba_session *s;

// A tensor of n numbers.
static samba_tensor *row(const char *name, const float *x, int n)
{
    return samba_from_data_copy(s, name, SAMBA_F32, SAMBA_SHAPE(n), x);
}

static int is_nan(float x)
{
    return x != x; // nothing else differs from itself
}

// The cross-entropy (step 5) of x, a batch of one row of scores, if class 0 is the right one.
static double loss_of(samba_tensor *x, samba_tensor *class_0, const float scores[3])
{
    samba_write(x, scores);
    return number_at(samba_cross_entropy(x, class_0), 0);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted
    s = samba_open(NULL);
    samba_set_tracing(s, false); // compute at once

    // 1. A net gets good at what its loss asks for, and at nothing else. To predict a number is
    //    called regression, and its usual loss is the mean squared error, mse (lesson 3). With the
    //    sum in place of the mean, slopes grow with the batch, and lr must shrink.
    // > errors 1, 1, 10: mse: 34.0000
    // > their sum: 102.0000
    const float zeros[3] = { 0, 0, 0 };
    const float errors[3] = { 1, 1, 10 };
    samba_tensor *off = row("off", errors, 3);
    samba_tensor *exact = row("exact", zeros, 3);
    print_tensor("errors 1, 1, 10: mse", samba_mse(off, exact, SAMBA_REDUCE_MEAN), 4);
    print_tensor("their sum", samba_mse(off, exact, SAMBA_REDUCE_SUM), 4);

    // 2. Squares have a weakness: an error of 10 costs 100 times as much as one of 1, so a single
    //    odd target rules the loss. Where that does harm, take the mean of |error|. The slope of an
    //    error is then 1/N or -1/N, at any size. That has a price: near 0 it does not shrink, so
    //    steps do not get shorter there, and do not settle.
    // > mean of |error|: 4.0000
    print_tensor("mean of |error|", samba_mean(samba_abs(off), SAMBA_ALL_AXES, false), 4);

    // 3. Often no number is wanted but a choice: cat, dog or hen? To choose one of n classes is
    //    classification. The net gives each class a score (also called a logit), of any size.
    //    Softmax makes probabilities of scores: e^score, so that all are positive, divided by their
    //    sum, so that they add up to 1. (Squares are positive, too, but a score of -3 would count
    //    as much as one of 3.)
    //
    //    One more point of score makes a class e times as likely, compared with the others.
    // > softmax of 1, 2, 3: 0.0900 0.2447 0.6652
    const float scores[3] = { 1, 2, 3 };
    print_tensor("softmax of 1, 2, 3", samba_softmax(row("scores", scores, 3), 0), 4);

    // 4. Written down as it stands, the formula fails: e^1000 is more than a float can hold, so it
    //    is infinity, and infinity / infinity is not a number, NaN. But softmax does not change if
    //    the same number c is subtracted from all scores: above and below, a factor e^-c cancels.
    //    Subtract the largest. Then the greatest power is e^0 = 1, and nothing overflows.
    // > as it stands, of 1001, 1002, 1003: 3 are NaN
    // > less the largest: 0.0900 0.2447 0.6652
    const float large[3] = { 1001, 1002, 1003 };
    samba_tensor *x = row("large", large, 3);
    samba_tensor *power = samba_exp(x);
    samba_tensor *sum = samba_sum(power, SAMBA_AXES(0), true);
    const float *bad = samba_read(samba_div(power, sum));
    int n_bad = is_nan(bad[0]) + is_nan(bad[1]) + is_nan(bad[2]);
    printf("as it stands, of 1001, 1002, 1003: %d are NaN\n", n_bad);

    power = samba_exp(samba_sub(x, samba_max(x, SAMBA_AXES(0), true)));
    sum = samba_sum(power, SAMBA_AXES(0), true);
    print_tensor("less the largest", samba_div(power, sum), 4);

    // 5. The loss should ask for a high probability of the right class. So it is -log(probability
    //    of the right class), with log to the base e. It is called the cross-entropy; for a batch,
    //    take the mean. It is 0 if the net is sure and right, and grows without bound if it is sure
    //    and wrong. The target here is the number of the right class, its label.
    //
    //    Why the log? The probability that all answers are right is the product of theirs, and -log
    //    makes a sum of it. (Tiny probabilities are rounded to 0, which has no log. So
    //    samba_cross_entropy takes scores, and does softmax and log in one.)
    // > -log p for p = 0.9, 0.5, 0.1, 0.001: 0.1054 0.6931 2.3026 6.9078
    const float p[4] = { 0.9f, 0.5f, 0.1f, 0.001f };
    samba_tensor *minus_log = samba_neg(samba_log(row("p", p, 4)));
    print_tensor("-log p for p = 0.9, 0.5, 0.1, 0.001", minus_log, 4);

    // 6. One loss is worth knowing by heart, as it tells whether a net has learned anything. If n
    //    classes are equally frequent, a net that knows nothing gives each 1/n, and its loss is
    //    log n. Far above that is worse than no knowledge.
    // > three equal scores: 1.0986
    samba_tensor *class_0 = samba_zeros(s, "class 0", SAMBA_I32, SAMBA_SHAPE(1));
    samba_tensor *z = samba_zeros(s, "z", SAMBA_F32, SAMBA_SHAPE(1, 3));
    printf("three equal scores: %.4f\n", loss_of(z, class_0, zeros));

    // 7. The gradient for the scores is the beauty of it: probability - 1 for the right class,
    //    probability for the others. So its sum is 0: what one class gains, others lose. Why? The
    //    loss is log(sum of all e^score) - right score. The slope of the first part is
    //    e^score / sum, the probability; the second takes 1 from that of the right class.
    //
    //    Here are the central differences of lesson 3 for scores 1, 2, 3, if class 0 is right.
    //    Compare step 3.
    //
    //    (To count right answers gives no such slope: a count is a step. It can judge, not teach.)
    // > gradient: -0.91 0.24 0.67
    const float h = 0.0625f;
    printf("gradient:");
    for (int i = 0; i < 3; i++) {
        float more[3] = { 1, 2, 3 };
        float less[3] = { 1, 2, 3 };
        more[i] += h;
        less[i] -= h;
        double up = loss_of(z, class_0, more);
        double down = loss_of(z, class_0, less);
        printf(" %.2f", (up - down) / (2 * (double)h));
    }
    printf("\n");

    // 8. Two classes need only one score: the sigmoid y (lesson 5) is the softmax of it and 0, as
    //    e^s / (e^s + e^0) is 1 / (1 + e^-s).
    //
    //    Why not train it with mse, as we did there? If the target is 1 and the score very low, the
    //    slope of mse, 2 (y - 1) y (1 - y), is almost 0: sure, wrong, and it hardly learns. That of
    //    cross-entropy, -log y, is y - 1: almost -1.
    //
    //    (If more than one class can be right, each takes a sigmoid of its own.)
    // > score -8, -4, 0, 4, 8, slope of mse: -0.0007 -0.0347 -0.2500 -0.0006 -0.0000
    // > slope of cross-entropy: -0.9997 -0.9820 -0.5000 -0.0180 -0.0003
    const float axis[5] = { -8, -4, 0, 4, 8 };
    samba_tensor *y = samba_sigmoid(row("axis", axis, 5));
    samba_tensor *error = samba_shift(y, -1); // y - 1
    samba_tensor *slope = samba_scale(samba_mul(samba_mul(error, y), error), -2);
    print_tensor("score -8, -4, 0, 4, 8, slope of mse", slope, 4);
    print_tensor("slope of cross-entropy", error, 4);

    picture pic = picture_open(path, 1, "Sure and wrong: who still learns?",
        "Slopes by score. Cross-entropy: from -1 up to 0. Mse: 0 at both ends, a dip between.");
    picture_axes(&pic, -8, 8, -1, 0, "score of the right class", "slope");
    picture_line(&pic, axis, samba_read(slope), 5, "mse");
    picture_line(&pic, axis, samba_read(error), 5, "cross-entropy");
    picture_close(&pic);

    // To think about:
    //   Two classes have scores 0 and 3. What is the loss if the second is right? Add 5 to both.
    //   A net with 10 classes begins with loss 9. What is wrong? (Log 10 is 2.3.)
    //
    // Now you: exercise 07a is softmax, 07b cross-entropy, 07c their gradient. `make learn` begins
    // with the first that is open, `tools/learn/learn.sh watch 07a` with 07a.
    return samba_close(s);
}
