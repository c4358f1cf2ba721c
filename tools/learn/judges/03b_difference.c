#include "../judge.h"
#include EXERCISE

// The functions note where they are asked: from it one sees how the learner's code goes to work.
enum { MOST = 64 };

static double asked[MOST];
static int count;

static double note(double x, double y)
{
    if (count < MOST) asked[count] = x;
    count++;
    return y;
}

static double cube(double x)
{
    return note(x, x * x * x);
}

static double exponential(double x)
{
    return note(x, exp(x));
}

static double square(double x)
{
    return note(x, x * x);
}

static double farthest(double x)
{
    double h = 0;
    for (int i = 0; i < count && i < MOST; i++)
        h = fmax(h, fabs(asked[i] - x));
    return h;
}

static int asked_at(double x)
{
    for (int i = 0; i < count && i < MOST; i++)
        if (asked[i] == x) return 1;
    return 0;
}

static int single_precision(double x)
{
    for (int i = 0; i < count && i < MOST; i++)
        if (asked[i] != x && (double)(float)asked[i] != asked[i]) return 0;
    return 1;
}

static int near(double got, double want, double relative)
{
    return fabs(got - want) <= relative * fabs(want);
}

static void differentiate(const char *what, double (*f)(double), double x, double want)
{
    count = 0;
    double got = derivative(f, x), h = farthest(x), size = fmax(1, fabs(x));
    char line[120];
    judge_case(what);
    judge_holds(count > 0, NULL, "f was not called.");
    judge_holds(h > 0, "h_vanishes",
                "x + h is x: h is so small that the sum is rounded back. It must grow with x.");
    judge_holds(count != 2 || !asked_at(x), "forward_difference",
                "f was called at x and on one side of it. That is wrong by about h; with both "
                "sides, x + h and x - h, the error is about h^2.");
    judge_holds(!near(got, 2 * want, 1e-3), "not_halved",
                "it is twice as large: from x - h to x + h it is 2 h.");
    judge_holds(!near(got, -want, 1e-3), "sign",
                "the sign is turned: f on the right minus f on the left.");
    judge_holds(!single_precision(x) || near(got, want, 1e-8), "float",
                "x + h was rounded to a float, which has 7 digits. Compute in double.");
    judge_holds(near(got, want, 1e-8) || h > 1e-7 * size, "h_too_small",
                "h is too small: the two values of f agree in nearly all of their digits, and what "
                "is left of the difference is rounding. At large x, h must be large, too.");
    judge_holds(near(got, want, 1e-8) || h < 1e-3 * size, "h_too_large",
                "h is too large: the formula is wrong by about h^2.");
    snprintf(line, sizeof line, "it is %.12g, and should be %.12g.", got, want);
    judge_holds(near(got, want, 1e-8), NULL, line);
}

static double mixed(const double *x)
{
    count++;
    return x[0] * x[0] * x[1] + exp(x[2]) + 3 * x[1] * x[2];
}

static void partial(void)
{
    const double at[3] = { 1.5, -2, 0.5 };
    double x[3], g[3] = { 100, 100, 100 }, sum = 0;
    const double want[3] = { 2 * at[0] * at[1], at[0] * at[0] + 3 * at[2], exp(at[2]) + 3 * at[1] };
    char line[120];
    memcpy(x, at, sizeof x);
    judge_case("gradient of x0^2 x1 + exp(x2) + 3 x1 x2");
    gradient(mixed, x, 3, g);
    for (int i = 0; i < 3; i++) {
        sum += want[i];
        judge_holds(fabs(x[i] - at[i]) < 0.5, "x_runs_away",
                    "x is not where it was, but far from it.");
    }
    judge_holds(!near(g[0], sum, 1e-3), "all_at_once",
                "all numbers of x moved at once. For g[i] only x[i] moves.");
    judge_holds(!near(g[0], 2 * want[0], 1e-3), "gradient_not_halved",
                "g is twice as large: from x - h to x + h it is 2 h.");
    judge_holds(memcmp(x, at, sizeof x) == 0, "x_changed",
                "x is not what it was, bit for bit: keep x[i] and put it back. + h and - h lose a "
                "bit by rounding.");
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "g[%d] is %.12g, and should be %.12g.", i, g[i], want[i]);
        judge_holds(near(g[i], want[i], 1e-8), NULL, line);
    }
}

int main(void)
{
    judge_begin();
    differentiate("x^3 at 2", cube, 2, 12);
    differentiate("exp(x) at 0.7", exponential, 0.7, exp(0.7));
    differentiate("x^2 at -3", square, -3, -6);
    differentiate("exp(x) at 0", exponential, 0, 1);
    differentiate("x^2 at 5,000,000.1", square, 5000000.1, 10000000.2);
    partial();
    return judge_end();
}
