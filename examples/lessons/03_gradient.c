// Lesson 3: a gradient by hand: which way is down?
//     cc -O1 -DSAMBA_NO_SIMD -o lesson examples/lessons/03_gradient.c -lm -pthread && ./lesson
// Lines after `>` are what this program prints; ./lesson 03.svg draws.
// New: loss, gradient, learning rate. Next: 04_autodiff.c
#include "picture.h"

// Five measurements: after x hours, a shoot of bamboo has y centimetres. We look for the line
// w x + b that fits them best. w and b, which a program is to find, are called parameters.
enum { N = 5 };

static const float x[N] = { 0, 1, 2, 3, 4 };
static const float y[N] = { 1.1f, 2.8f, 5.3f, 6.9f, 9.2f };

// Both parameters, or a number for each.
typedef struct pair {
    double w, b;
} pair;

// How far the line is above a measurement; below it, the error is negative.
static double error(pair p, int i)
{
    return p.w * (double)x[i] + p.b - (double)y[i];
}

// How bad a line is: the mean of the squared errors. A number that says how bad something is, is
// called a loss. Squares, so that errors above and below do not cancel (|error| would do, too, but
// has a corner at 0; lesson 7 compares them); the mean, so that it does not matter how many
// measurements there are.
static double loss(pair p)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        sum += error(p, i) * error(p, i);
    }
    return sum / N;
}

// How fast the loss grows with b, and with w. If b grows by a tiny d, each error grows by d, and
// its square by 2 error d: (error + d)^2 is error^2 + 2 error d + d^2, and d^2 is far tinier. If w
// grows by d, the error grows by x d, and its square by 2 error x d. Divided by d, and the mean
// taken:
static pair gradient(pair p)
{
    pair d = { 0, 0 };
    for (int i = 0; i < N; i++) {
        d.w += 2 * error(p, i) * (double)x[i] / N;
        d.b += 2 * error(p, i) / N;
    }
    return d;
}

// Step 4 says what this does.
static pair descend(int steps, double lr, pair p)
{
    for (int i = 0; i < steps; i++) {
        pair d = gradient(p);
        p.w -= lr * d.w;
        p.b -= lr * d.b;
    }
    return p;
}

// z^3, in floats; for step 3.
static float cube(float z)
{
    return z * z * z;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL; // of the picture, if one is wanted

    // 1. We want less loss, so we ask which way it grows. A derivative, or slope, says how fast: a
    //    tiny change d of one parameter changes the loss by derivative times d. The derivatives for
    //    all parameters together are the gradient, (dw, db). Here it is at w = 0, b = 0. Both are
    //    negative: more of either, and the loss falls.
    // > loss 33.878, gradient (-28.36, -10.12)
    const pair zero = { 0, 0 };
    const pair d = gradient(zero);
    printf("loss %.5g, gradient (%.4g, %.4g)\n", loss(zero), d.w, d.b);

    // 2. A formula may be wrong, so check it. Ask the loss itself at two places close by, h above
    //    and h below: (f(z + h) - f(z - h)) / 2h. This is the central difference, and it needs no
    //    calculus, the art of finding derivatives as formulas. Neural networks, in short nets, are
    //    formulas with many more parameters than w and b; they are checked like this, too.
    // > central differences (-28.36, -10.12)
    const double h = 0.001;
    const pair more_w = { h, 0 }, less_w = { -h, 0 };
    const pair more_b = { 0, h }, less_b = { 0, -h };
    double by_w = (loss(more_w) - loss(less_w)) / (2 * h);
    double by_b = (loss(more_b) - loss(less_b)) / (2 * h);
    printf("central differences (%.4g, %.4g)\n", by_w, by_b);

    // 3. Which h is right? Try z^3, whose derivative 3 z^2 is 3 at z = 1. A tenth of h makes the
    //    error a hundredth. But a tiny h drowns in rounding: floats near 1 lie about 1.2e-7 apart,
    //    so 1 + 1e-7 becomes 1 + 1.19e-7, and the growth over 1.19e-7 is divided by 1e-7.
    //
    //    Take doubles, and h = 1e-5, or 1e-5 |z| if that is larger. And take both sides: from one
    //    alone, (f(z + h) - f(z)) / h is wrong by 0.31 for h = 0.1. Most of that has another sign
    //    on the other side, and cancels.
    // > h = 0.1: wrong by 0.0100
    // > h = 0.01: wrong by 0.0001
    // > h = 1e-07: wrong by 0.5763
    static const float widths[] = { 1e-1f, 1e-2f, 1e-7f };
    for (int i = 0; i < 3; i++) {
        const float width = widths[i];
        const float above = 1 + width;
        const float below = 1 - width;
        const float slope = (cube(above) - cube(below)) / width / 2;
        printf("h = %g: wrong by %.4f\n", (double)width, (double)(slope - 3));
    }

    // 4. Now we can walk. For a line there is a formula for the best w and b, for a net there is
    //    none; but nearly everywhere there is a way down.
    //
    //    A small step (p, q) changes the loss by dw p + db q. That is the length of (p, q) times
    //    that of (dw, db) times the cosine of the angle between them. So of all steps of one
    //    length, the one along the gradient, at angle 0, changes it most.
    //
    //    The gradient points to where the loss grows fastest, so step the other way: w = w - lr dw,
    //    b = b - lr db, again and again, until the loss falls no more. That is gradient descent,
    //    and lr is the learning rate.
    //
    //    At the lowest point the gradient is 0. The loss is not: no line meets all five points.
    // > step 1: loss 3.9692, w 2.836, b 1.012, gradient (9.720, 3.248)
    // > step 5: loss 0.0452, w 2.106, b 0.815, gradient (0.169, -0.067)
    // > step 100: loss 0.0326, w 2.030, b 0.999, gradient (0.000, -0.000)
    static const int steps[] = { 1, 5, 100 };
    static const char *const names[] = { "step 1", "step 5", "step 100" };
    static const float first_and_last_hour[2] = { 0, 4 };

    picture pic = picture_open(path, 1, "Gradient descent finds a line",
        "Five points, and three lines: after 1 step too steep, then through the points.");
    picture_axes(&pic, 0, 4, 0, 15, "hours", "cm");
    for (int i = 0; i < 3; i++) {
        const pair p = descend(steps[i], 0.1, zero);
        const pair slope = gradient(p);
        printf("%s: loss %.4f, w %.3f, b %.3f, ", names[i], loss(p), p.w, p.b);
        printf("gradient (%.3f, %.3f)\n", slope.w, slope.b);

        float ends[2] = { (float)p.b, (float)(p.b + 4 * p.w) };
        picture_line(&pic, first_and_last_hour, ends, 2, names[i]);
    }
    picture_dots(&pic, x, y, N, NULL);
    picture_close(&pic);

    // 5. Does it matter where one starts? Not here: this loss is a bowl with one lowest point. The
    //    loss of a net has many low points. Where descent ends depends on where it starts, and need
    //    not be the lowest.
    // > from w = 10, b = -10: w 2.030, b 1.000
    const pair far_away = { 10, -10 };
    pair p = descend(200, 0.1, far_away);
    printf("from w = 10, b = -10: w %.3f, b %.3f\n", p.w, p.b);

    // 6. The learning rate decides whether anything is learned. Too small, and descent is slow. Too
    //    large, and each step jumps over the lowest point and lands higher on the other side: the
    //    loss explodes. For a net one tries: raise lr until that happens, and go back.
    // > lr and loss after 100 steps: 0.001 2.33, 0.1 0.0326, 0.14 0.0326, 0.15 272, 0.2 4.2e+46
    static const double rates[] = { 0.001, 0.1, 0.14, 0.15, 0.2 };
    printf("lr and loss after 100 steps:");
    for (int i = 0; i < 5; i++) {
        double end = loss(descend(100, rates[i], zero));
        printf(" %g %.3g%s", rates[i], end, i < 4 ? "," : "\n");
    }

    // 7. Where exactly is the bound? If w is 1 larger, each error is x larger, and dw is larger by
    //    the mean of 2 x^2, here 12. So with b fixed, a step multiplies the distance of w from its
    //    best by 1 - 12 lr. That must stay above -1: lr below 2/12, a bit lower as b moves too.
    //
    //    In minutes, x is 60 times as large, and the bound 60^2 times lower. So how large the
    //    inputs are matters; lesson 5 comes back to this.

    // To think about:
    //   If all errors are positive, in which direction does b go? Why is dw 0 if all x are 0?
    //   A net has a million parameters. How many losses does step 2 need for its whole gradient?
    //
    // Now you: exercise 03a is the gradient, 03b is step 2, for more parameters. `make learn`
    // begins with the first that is open, `tools/learn/learn.sh watch 03a` with 03a.
    return 0;
}
