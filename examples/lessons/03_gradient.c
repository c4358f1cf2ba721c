// Lesson 3: a gradient by hand: which way is down?
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/03_gradient.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 03.svg draws. New: loss, gradient.
// It needs no samba.h. The neural nets of later lessons learn in the same way.
#include "picture.h"

// Five measurements: after x hours, a shoot of bamboo has y centimetres. We look for the line
// w x + b that fits them best. w and b, which a program is to find, are called parameters.
enum { N = 5 };
static const float x[N] = { 0, 1, 2, 3, 4 };
static const float y[N] = { 1.1f, 2.8f, 5.3f, 6.9f, 9.2f };

static double error(double w, double b, int i) { return w * (double)x[i] + b - (double)y[i]; }

// How bad a line is: the mean of the squared errors. A measure of this kind is called a loss.
// Squares, so that errors above and below do not cancel; the mean, so that N does not matter.
static double loss(double w, double b)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += error(w, b, i) * error(w, b, i);
    return sum / N;
}

// The derivatives of the loss. If b grows by a tiny d, each error grows by d, and its square by
// 2 error d (and d^2, far tinier). If w does, the error grows by x d, its square by 2 error x d.
static void gradient(double w, double b, double *dw, double *db)
{
    *dw = *db = 0;
    for (int i = 0; i < N; i++) {
        *dw += 2 * error(w, b, i) * (double)x[i] / N;
        *db += 2 * error(w, b, i) / N;
    }
}

static double descend(int steps, double lr, double line[2])
{
    line[0] = line[1] = 0;
    double dw, db;
    for (int i = 0; i < steps; i++) {
        gradient(line[0], line[1], &dw, &db);
        line[0] -= lr * dw;
        line[1] -= lr * db;
    }
    return loss(line[0], line[1]);
}

int main(int argc, char **argv)
{
    // 1. The derivative of a loss for a parameter says how fast the loss grows with it: a tiny
    //    change d of the parameter changes the loss by derivative times d. All derivatives together
    //    are the gradient. Here it is at w = 0, b = 0.
    // 2. Is it right? Ask the loss itself, at two places close by: (f(z + h) - f(z - h)) / 2h, the
    //    central difference. It needs no calculus. The derivatives of a neural net, in short a net,
    //    which is a formula with many more parameters than w and b, are checked so, too.
    // > loss 33.878, gradient (-28.36, -10.12)
    // > central differences (-28.36, -10.12)
    double dw, db, h = 1.0 / 1024;
    gradient(0, 0, &dw, &db);
    printf("loss %.5g, gradient (%.4g, %.4g)\n", loss(0, 0), dw, db);
    printf("central differences (%.4g, %.4g)\n", (loss(h, 0) - loss(-h, 0)) / (2 * h),
           (loss(0, h) - loss(0, -h)) / (2 * h));

    // 3. Why on both sides? z^3 has the derivative 3 z^2, which is 3 at z = 1. A tenth of h makes
    //    the error from one side a tenth, and from both a hundredth. But a tiny h drowns in
    //    rounding: floats near 1 lie about 1.2e-7 apart, so 1 + 1e-7 becomes 1 + 1.19e-7, and the
    //    growth over 1.19e-7 is divided by 1e-7. Take doubles, and h about 1e-5 times z.
    // > h = 0.1: wrong by 0.310 from one side, 0.0100 from both
    // > h = 0.01: wrong by 0.030 from one side, 0.0001 from both
    // > h = 1e-07: wrong by 0.576 from one side, 0.5763 from both
    static const float hs[] = { 1e-1f, 1e-2f, 1e-7f };
    for (int i = 0; i < 3; i++) {
        float more = 1 + hs[i], less = 1 - hs[i];
        more = more * more * more;
        less = less * less * less;
        printf("h = %g: wrong by %.3f from one side, %.4f from both\n", (double)hs[i],
               (double)((more - 1) / hs[i] - 3), (double)((more - less) / hs[i] / 2 - 3));
    }

    // 4. The gradient points to where the loss grows fastest. So step the other way: w = w - lr dw,
    //    b = b - lr db, again and again. That is gradient descent, and lr is the learning rate. The
    //    smaller the gradient, the shorter the step. At the lowest point the gradient is 0. The
    //    loss is not: no line meets all five. One stops when it falls no more. This loss has one
    //    such point; that of a net may have many, and descent need not end at the lowest.
    // > step 1: loss 3.9692, w 2.836, b 1.012, gradient (9.720, 3.248)
    // > step 5: loss 0.0452, w 2.106, b 0.815, gradient (0.169, -0.067)
    // > step 100: loss 0.0326, w 2.030, b 0.999, gradient (0.000, -0.000)
    double line[2];
    static const int steps[] = { 1, 5, 100 };
    static const char *const names[] = { "step 1", "step 5", "step 100" };
    picture p = picture_open(argc > 1 ? argv[1] : NULL, 1, "Gradient descent finds a line",
        "Five points, and three lines: after 1 step too steep, then through the points.");
    picture_axes(&p, 0, 4, 0, 15, "hours", "cm");
    for (int i = 0; i < 3; i++) {
        printf("%s: loss %.4f, ", names[i], descend(steps[i], 0.1, line));
        gradient(line[0], line[1], &dw, &db);
        printf("w %.3f, b %.3f, gradient (%.3f, %.3f)\n", line[0], line[1], dw, db);
        float ends[2] = { (float)line[1], (float)(line[1] + 4 * line[0]) };
        picture_line(&p, (float[]){ 0, 4 }, ends, 2, names[i]);
    }
    picture_dots(&p, x, y, N, NULL);
    picture_close(&p);

    // 5. The learning rate decides. If it is too small, descent is slow. If it is too large, each
    //    step jumps over the lowest point and lands higher on the other side: the loss explodes.
    //    Where is the bound? If w is 1 larger, each error is x larger, and dw is larger by the mean
    //    of 2 x^2, which is 2 (0 + 1 + 4 + 9 + 16) / 5 = 12. So if b is fixed, dw is 12 times the
    //    distance of w from its best value, and a step multiplies this distance by 1 - 12 lr. That
    //    must stay above -1, so lr below 2/12, and a bit lower as b moves too. For a net one tries.
    // > lr and loss after 100 steps: 0.001 2.33, 0.1 0.0326, 0.14 0.0326, 0.15 272, 0.2 4.2e+46
    static const double lrs[] = { 0.001, 0.1, 0.14, 0.15, 0.2 };
    printf("lr and loss after 100 steps:");
    for (int i = 0; i < 5; i++)
        printf("%s %g %.3g", i ? "," : "", lrs[i], descend(100, lrs[i], line));
    printf("\n");

    // Exercises 03a and 03b (make learn) are gradient and step 2, for more parameters. Then:
    //   If all errors are positive, in which direction does b go? Why is dw 0 if all x are 0?
    //   A net has a million parameters. How many losses does step 2 need for its whole gradient?
    return 0;
}
