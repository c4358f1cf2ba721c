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

// What a formula of two or three values would give.
enum { FORWARD, BACKWARD, NOT_HALVED, TIMES_H, SUM, HALVED, H_ALONE, SECOND, MEAN_OF_TWO,
       FORMULAS };

static const char *const formulas[FORMULAS][2] = {
    { "forward_difference",
      "this is (f(x + h) - f(x)) / h, which is wrong by about h. With both sides, x + h and x - h, "
      "the error is about h^2." },
    { "backward_difference",
      "this is (f(x) - f(x - h)) / h, which is wrong by about h. With both sides, x + h and x - h, "
      "the error is about h^2." },
    { "not_halved", "it is twice as large: from x - h to x + h it is 2 h." },
    { "times_h", "f(x + h) - f(x - h) is multiplied by 2 h; it is divided: a slope is a "
    "quotient." },
    { "sum_of_values", "f(x + h) and f(x - h) are added; their difference is the change." },
    { "halved_twice", "it is half of what is right: from x - h to x + h it is 2 h, and no more." },
    { "not_divided", "this is f(x + h) - f(x - h), which must be divided by the way, 2 h." },
    { "second_derivative", "this is (f(x + h) - 2 f(x) + f(x - h)) / h^2, the second derivative." },
    { "multiplied_by_half", "this is (f(x + h) - f(x - h)) / 2 h: in C that is half of it, times "
                            "h. Put 2 h in ( )." },
};

static double formula(double (*f)(double), double x, double h, int e)
{
    double high = f(x + h), low = f(x - h), here = f(x);
    switch (e) {
    case FORWARD: return (high - here) / h;
    case BACKWARD: return (here - low) / h;
    case NOT_HALVED: return (high - low) / h;
    case TIMES_H: return (high - low) * (2 * h);
    case SUM: return (high + low) / (2 * h);
    case HALVED: return (high - low) / (4 * h);
    case H_ALONE: return high - low;
    case SECOND: return (high - 2 * here + low) / (h * h);
    default: return (high - low) / 2 * h;
    }
}

static void judge_formula(double (*f)(double), double x, double h, double got, double want)
{
    for (int e = 0; e < FORMULAS; e++) {
        double wrong = formula(f, x, h, e);
        int same = near(got, wrong, e == SECOND ? 1e-3 : 1e-7) && !near(want, wrong, 1e-2);
        if (e == FORWARD || e == BACKWARD)
            same = !near(got, want, 1e-8) && near(got, want, 1e-2)
                && fabs(got - wrong) < 1e-3 * fabs(wrong - want);
        judge_holds(!same || near(got, want, 1e-8), formulas[e][0], formulas[e][1]);
        judge_holds(!near(got, -wrong, 1e-7) || e > NOT_HALVED || near(got, want, 1e-6), "sign",
                    "the sign is turned: f on the right minus f on the left.");
    }
}

static void differentiate(const char *what, double (*f)(double), double x, double want)
{
    count = 0;
    double got = derivative(f, x), h = farthest(x), size = fmax(1, fabs(x));
    const int calls = count, at_x = asked_at(x), rounded = single_precision(x);
    char line[120];
    judge_case(what);
    judge_holds(calls > 0, "not_called", "f was not called: its slope comes from its values.");
    judge_holds(h > 0 || x != 0, "h_zero_at_0",
                "h is 0 at x = 0: it grows with fabs(x) only where that is more than 1.");
    judge_holds(h > 0, "h_vanishes",
                "x + h is x: h is so small that the sum is rounded back. It must grow with x.");
    judge_holds(!near(got, -want, 1e-3), "sign",
                "the sign is turned: f on the right minus f on the left.");
    judge_formula(f, x, h, got, want);
    judge_holds(calls != 2 || !at_x, "forward_difference",
                "f was called at x and on one side of it. That is wrong by about h; with both "
                "sides, x + h and x - h, the error is about h^2.");
    judge_holds(!near(got, 2 * want, 1e-3), "not_halved",
                "it is twice as large: from x - h to x + h it is 2 h.");
    judge_holds(!rounded || near(got, want, 1e-8), "float",
                "x + h was rounded to a float, which has 7 digits. Compute in double.");
    judge_holds((double)(float)got != got || near(got, want, 1e-8), "float_result",
                "the result was rounded to a float, which has 7 digits. Compute in double.");
    judge_holds(near(got, want, 1e-8) || h > 1e-7 * size, "h_too_small",
                "h is too small: the two values of f agree in nearly all of their digits, and what "
                "is left of the difference is rounding. At large x, h must be large, too.");
    judge_holds(near(got, want, 1e-8) || h < 1e-3 * size, "h_too_large",
                "h is too large: the formula is wrong by about h^2.");
    snprintf(line, sizeof line, "it is %.12g, and should be %.12g.", got, want);
    judge_holds(near(got, want, 1e-8), NULL, line);
}

// ---- gradient ----
static double mixed(const double *x)
{
    count++;
    return x[0] * x[0] * x[1] + exp(x[2]) + 3 * x[1] * x[2];
}

static double at_zero(const double *x)
{
    return exp(x[0]) + x[0] * x[1];
}

static double one_square(const double *x)
{
    return x[0] * x[0];
}

// Of the formulas, those that a learner may write in gradient alone.
static void judge_partial(int n, const double *g, const double *want)
{
    double sum = 0;
    int turned = 1, twice = 1, added = 1;
    for (int i = 0; i < n; i++) {
        sum += want[i];
        turned = turned && near(g[i], -want[i], 1e-6);
        twice = twice && near(g[i], 2 * want[i], 1e-6);
        added = added && near(g[i], want[i] + 100, 1e-6);
    }
    judge_holds(!near(g[0], sum, 1e-3) || near(g[0], want[0], 1e-3), "all_at_once",
                "all numbers of x moved at once. For g[i] only x[i] moves.");
    judge_holds(!twice, "gradient_not_halved",
                "g is twice as large: from x - h to x + h it is 2 h.");
    judge_holds(!turned, "gradient_sign",
                "g has the opposite sign: f on the right minus f on the left.");
    judge_holds(!added, "gradient_added", "g is added to what it held before: = and not +=.");
    judge_holds(n < 2 || g[1] != 100 || g[0] == 100, "only_first",
                "only g[0] is written: g has n numbers, one for each of x.");
}

static void partial(const char *what, double (*f)(const double *), const double *at, int n,
                    const double *want)
{
    double *x = judge_copy(at, sizeof *x * (size_t)n), *g = judge_copy(at, sizeof *g * (size_t)n);
    char line[120];
    int inexact = 0;
    judge_case(what);
    for (int i = 0; i < n; i++)
        g[i] = 100;
    gradient(f, x, n, g);
    for (int i = 0; i < n; i++)
        judge_holds(fabs(x[i] - at[i]) < 0.5, "x_runs_away",
                    "x is not where it was, but far from it.");
    for (int i = 0; i < n; i++)
        inexact += !near(g[i], want[i], 1e-8) && near(g[i], want[i], 1e-3);
    judge_partial(n, g, want);
    judge_holds(memcmp(x, at, sizeof *x * (size_t)n) == 0, "x_changed",
                "x is not what it was, bit for bit: keep x[i] and put it back. + h and - h lose a "
                "bit by rounding.");
    judge_holds(at[0] != 0 || g[0] == g[0], "gradient_h_zero",
                "at x = 0 g is not a number: is h 0 there, and 0 / 0 the quotient?");
    judge_holds(inexact == 0 || n == 1, "gradient_inexact",
                "g is right to a few digits only. Is it f(x + h) - f(x), on one side alone, or h "
                "too small or too large? It takes x[i] + h and x[i] - h, as derivative does.");
    judge_holds(n > 1 || near(g[0], want[0], 1e-8), "gradient_h_fixed",
                "at a large x it is inexact: in gradient, too, h must grow with the size of x[i].");
    for (int i = 0; i < n; i++) {
        snprintf(line, sizeof line, "g[%d] is %.12g, and should be %.12g.", i, g[i], want[i]);
        judge_holds(near(g[i], want[i], 1e-8), NULL, line);
    }
    free(x);
    free(g);
}

int main(void)
{
    const double at[3] = { 1.5, -2, 0.5 }, zero[2] = { 0, 2 }, large = 5000000.1;
    const double want[3] = { 2 * at[0] * at[1], at[0] * at[0] + 3 * at[2], exp(at[2]) + 3 * at[1] };
    const double of_zero[2] = { 3, 0 }, of_large = 2 * large;
    judge_begin();
    differentiate("x^3 at 3", cube, 3, 27);
    differentiate("exp(x) at 0.7", exponential, 0.7, exp(0.7));
    differentiate("x^2 at -3", square, -3, -6);
    differentiate("exp(x) at 0", exponential, 0, 1);
    differentiate("x^2 at 5,000,000.1", square, large, of_large);
    partial("gradient of x0^2 x1 + exp(x2) + 3 x1 x2", mixed, at, 3, want);
    partial("gradient of exp(x0) + x0 x1 at (0,2)", at_zero, zero, 2, of_zero);
    partial("gradient of x0^2 at 5,000,000.1", one_square, &large, 1, &of_large);
    return judge_end();
}
