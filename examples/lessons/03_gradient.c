// Lesson 3: a gradient by hand: which way is down?
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/03_gradient.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 03.svg draws. New: loss, gradient.
#include "picture.h"

// Five measurements: after x hours, a shoot of bamboo has y centimetres. We look for the line
// w x + b that fits them best. w and b, which a program is to find, are called parameters.
enum { N = 5 };
static const float x[N] = { 0, 1, 2, 3, 4 };
static const float y[N] = { 1.1f, 2.8f, 5.3f, 6.9f, 9.2f };
typedef struct pair { double w, b; } pair;              // both parameters, or a number for each

static double error(pair p, int i) { return p.w * (double)x[i] + p.b - (double)y[i]; }

// How bad a line is: the mean of the squared errors. A measure of this kind is called a loss.
// Squares, so that errors above and below do not cancel; the mean, so that N does not matter.
static double loss(pair p)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += error(p, i) * error(p, i);
    return sum / N;
}

// The derivatives of the loss. If b grows by a tiny d, each error grows by d, and its square by
// 2 error d (and d^2, far tinier). If w does, the error grows by x d, its square by 2 error x d.
static pair gradient(pair p)
{
    pair d = { 0, 0 };
    for (int i = 0; i < N; i++) {
        d.w += 2 * error(p, i) * (double)x[i] / N;
        d.b += 2 * error(p, i) / N;
    }
    return d;
}

static pair descend(int steps, double lr, pair p)
{
    for (int i = 0; i < steps; i++) {
        pair d = gradient(p);
        p.w -= lr * d.w;
        p.b -= lr * d.b;
    }
    return p;
}

int main(int argc, char **argv)
{
    // 1. A derivative says how fast the loss grows with a parameter: a tiny change d of that one
    //    changes the loss by derivative times d. Both are the gradient (dw, db), here at (0, 0).
    // 2. Is it right? Ask the loss itself, at two places close by: (f(z + h) - f(z - h)) / 2h, the
    //    central difference. It needs no calculus. A neural net, in short a net, which is a formula
    //    with many more parameters than w and b, is checked so, too.
    // > loss 33.878, gradient (-28.36, -10.12)
    // > central differences (-28.36, -10.12)
    const pair zero = { 0, 0 }, d = gradient(zero);
    printf("loss %.5g, gradient (%.4g, %.4g)\n", loss(zero), d.w, d.b);
    printf("central differences (%.4g, %.4g)\n",
           (loss((pair){ 0.001, 0 }) - loss((pair){ -0.001, 0 })) / 0.002,
           (loss((pair){ 0, 0.001 }) - loss((pair){ 0, -0.001 })) / 0.002);

    // 3. Which h? z^3 has the derivative 3 z^2, which is 3 at z = 1. A tenth of h makes the error a
    //    hundredth (from one side, (f(z + h) - f(z)) / h, only a tenth). But a tiny h drowns in
    //    rounding: floats near 1 lie about 1.2e-7 apart, so 1 + 1e-7 becomes 1 + 1.19e-7, and the
    //    growth over 1.19e-7 is divided by 1e-7. Take doubles, and h = 1e-5, or 1e-5 |z| if larger.
    // > h = 0.1: wrong by 0.0100
    // > h = 0.01: wrong by 0.0001
    // > h = 1e-07: wrong by 0.5763
    static const float hs[] = { 1e-1f, 1e-2f, 1e-7f };
    for (int i = 0; i < 3; i++) {
        const float more = 1 + hs[i], less = 1 - hs[i];
        const float up = more * more * more, down = less * less * less;
        printf("h = %g: wrong by %.4f\n", (double)hs[i], (double)((up - down) / hs[i] / 2 - 3));
    }

    // 4. The gradient points to where the loss grows fastest. So step the other way: w = w - lr dw,
    //    b = b - lr db, again and again, until the loss falls no more. That is gradient descent; lr
    //    is the learning rate. At the lowest point the gradient is 0, but no line meets all five.
    // > step 1: loss 3.9692, w 2.836, b 1.012, gradient (9.720, 3.248)
    // > step 5: loss 0.0452, w 2.106, b 0.815, gradient (0.169, -0.067)
    // > step 100: loss 0.0326, w 2.030, b 0.999, gradient (0.000, -0.000)
    static const int steps[] = { 1, 5, 100 };
    static const char *const names[] = { "step 1", "step 5", "step 100" };
    picture pic = picture_open(argc > 1 ? argv[1] : NULL, 1, "Gradient descent finds a line",
        "Five points, and three lines: after 1 step too steep, then through the points.");
    picture_axes(&pic, 0, 4, 0, 15, "hours", "cm");
    for (int i = 0; i < 3; i++) {
        const pair p = descend(steps[i], 0.1, zero), slope = gradient(p);
        printf("%s: loss %.4f, w %.3f, b %.3f, ", names[i], loss(p), p.w, p.b);
        printf("gradient (%.3f, %.3f)\n", slope.w, slope.b);
        float ends[2] = { (float)p.b, (float)(p.b + 4 * p.w) };
        picture_line(&pic, (float[]){ 0, 4 }, ends, 2, names[i]);
    }
    picture_dots(&pic, x, y, N, NULL);
    picture_close(&pic);

    // 5. From another start, the same end: this loss has one lowest point. (A formula gives it; for
    //    a net, none does.) That of a net has many low points; where descent ends depends on where
    //    it starts, and need not be the lowest.
    // > from w = 10, b = -10: w 2.030, b 1.000
    pair p = descend(200, 0.1, (pair){ 10, -10 });
    printf("from w = 10, b = -10: w %.3f, b %.3f\n", p.w, p.b);

    // 6. The learning rate decides. Too small, and descent is slow. Too large, and each step jumps
    //    over the lowest point and lands higher on the other side: the loss explodes. For a net one
    //    tries: raise lr until that happens, and go back.
    // > lr and loss after 100 steps: 0.001 2.33, 0.1 0.0326, 0.14 0.0326, 0.15 272, 0.2 4.2e+46
    // 7. Where is the bound? If w is 1 larger, each error is x larger, and dw is larger by the mean
    //    of 2 x^2, here 12. So with b fixed, a step multiplies the distance of w from its best by
    //    1 - 12 lr. That must stay above -1: lr below 2/12, a bit lower as b moves too. In minutes,
    //    x is 60 times as large, and the bound 60^2 times lower: how large inputs are matters.
    static const double lrs[] = { 0.001, 0.1, 0.14, 0.15, 0.2 };
    printf("lr and loss after 100 steps:");
    for (int i = 0; i < 5; i++)
        printf(" %g %.3g%s", lrs[i], loss(descend(100, lrs[i], zero)), i < 4 ? "," : "\n");

    // Exercises 03a and 03b (make learn) are gradient and step 2, for more parameters. Then:
    //   If all errors are positive, in which direction does b go? Why is dw 0 if all x are 0?
    //   A net has a million parameters. How many losses does step 2 need for its whole gradient?
    return 0;
}
