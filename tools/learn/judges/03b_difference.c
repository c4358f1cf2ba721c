#include "../judge.h"

// The functions note where they are asked: from it one sees how the learner's code goes to work.
static struct {
    double x, h;                        // of the derivative, and how far from it was asked
    int calls, at_x, rounded;           // rounded: all that was asked were floats
} asked;

static double note(double x, double y)
{
    asked.calls++;
    asked.h = fmax(asked.h, fabs(x - asked.x));
    if (x == asked.x) asked.at_x = 1;
    else if ((double)(float)x != x) asked.rounded = 0;
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

static int near(double got, double want, double relative)
{
    return fabs(got - want) <= relative * fabs(want);
}

// Formulas (a f(x + h) + b f(x) + c f(x - h)) h^power, with the learner's own h.
static const struct {
    const char *name;
    double a, b, c, power;
} formulas[] = {
    { "forward_difference", 1, -1, 0, -1 },
    { "backward_difference", 0, 1, -1, -1 },
    { "not_halved", 1, 0, -1, -1 },
    { "times_h", 2, 0, -2, 1 },
    { "sum_of_values", 0.5, 0, 0.5, -1 },
    { "halved_twice", 0.25, 0, -0.25, -1 },
    { "not_divided", 1, 0, -1, 0 },
    { "second_derivative", 1, -2, 1, -2 },
    { "multiplied_by_half", 0.5, 0, -0.5, 1 },
};

static void judge_formula(double (*f)(double), double x, double h, double got, double want)
{
    const double high = f(x + h), here = f(x), low = f(x - h);
    for (unsigned i = 0; i < sizeof formulas / sizeof *formulas && !near(got, want, 1e-8); i++) {
        double y = formulas[i].a * high + formulas[i].b * here + formulas[i].c * low;
        double wrong = y * pow(h, formulas[i].power);
        int same = near(got, wrong, formulas[i].b == -2 ? 1e-3 : 1e-7) && !near(want, wrong, 1e-2);
        if (i < 2)
            same = near(got, want, 1e-2) && fabs(got - wrong) < 1e-3 * fabs(wrong - want);
        judge_holds(!same, formulas[i].name);
        judge_holds(!near(got, -wrong, 1e-7) || i > 2 || near(got, want, 1e-6), "sign");
    }
}

static void differentiate(const char *what, double (*f)(double), double x, double want)
{
    asked.x = x;
    asked.h = asked.calls = asked.at_x = 0;
    asked.rounded = 1;
    double got = derivative(f, x), h = asked.h, size = fmax(1, fabs(x));
    const int calls = asked.calls, at_x = asked.at_x, rounded = asked.rounded;
    char line[120];
    judge_case(what);
    judge_holds(calls > 0, "not_called");
    judge_holds(h > 0 || x != 0, "h_zero_at_0");
    judge_holds(h > 0, "h_vanishes");
    judge_holds(!near(got, -want, 1e-3), "sign");
    judge_formula(f, x, h, got, want);
    judge_holds(calls != 2 || !at_x, "one_side");
    judge_holds(!near(got, 2 * want, 1e-3), "not_halved");
    judge_holds(!rounded || near(got, want, 1e-8), "float");
    judge_holds((double)(float)got != got || near(got, want, 1e-8), "float_result");
    judge_holds(near(got, want, 1e-8) || h > 1e-7 * size, "h_too_small");
    judge_holds(near(got, want, 1e-8) || h < 1e-3 * size, "h_too_large");
    snprintf(line, sizeof line, "it is %.12g, and should be %.12g.", got, want);
    judge_holds_saying(near(got, want, 1e-8), NULL, line);
}

// ---- gradient ----
static double mixed(const double *x)
{
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
    judge_holds(!near(g[0], sum, 1e-3) || near(g[0], want[0], 1e-3), "all_at_once");
    judge_holds(!twice, "gradient_not_halved");
    judge_holds(!turned, "gradient_sign");
    judge_holds(!added, "gradient_added");
    judge_holds(n < 2 || g[1] != 100 || g[0] == 100, "only_first");
}

static void partial(const char *what, double (*f)(const double *), const double *at, int n,
                    const double *want)
{
    double *x = judge_copy(at, sizeof *x * (size_t)n), *g = judge_copy(at, sizeof *g * (size_t)n);
    char line[120];
    int inexact = 0;
    judge_case(what);
    for (int i = 0; i < n; i++) g[i] = 100;
    gradient(f, x, n, g);
    for (int i = 0; i < n; i++)
        judge_holds(fabs(x[i] - at[i]) < 0.5, "x_runs_away");
    for (int i = 0; i < n; i++)
        inexact += !near(g[i], want[i], 1e-8) && near(g[i], want[i], 1e-3);
    judge_partial(n, g, want);
    judge_holds(memcmp(x, at, sizeof *x * (size_t)n) == 0, "x_changed");
    judge_holds(at[0] != 0 || g[0] == g[0], "gradient_h_zero");
    judge_holds(inexact == 0 || n == 1, "gradient_inexact");
    judge_holds(n > 1 || near(g[0], want[0], 1e-8), "gradient_h_fixed");
    for (int i = 0; i < n; i++) {
        snprintf(line, sizeof line, "g[%d] is %.12g, and should be %.12g.", i, g[i], want[i]);
        judge_holds_saying(near(g[i], want[i], 1e-8), NULL, line);
    }
}

static void judge_cases(void)
{
    const double at[3] = { 1.5, -2, 0.5 }, zero[2] = { 0, 2 }, large = 5000000.1;
    const double want[3] = { 2 * at[0] * at[1], at[0] * at[0] + 3 * at[2], exp(at[2]) + 3 * at[1] };
    const double of_zero[2] = { 3, 0 }, of_large = 2 * large;
    differentiate("x^3 at 3", cube, 3, 27);
    differentiate("exp(x) at 0.7", exponential, 0.7, exp(0.7));
    differentiate("x^2 at -3", square, -3, -6);
    differentiate("exp(x) at 0", exponential, 0, 1);
    differentiate("x^2 at 5,000,000.1", square, large, of_large);
    partial("gradient of x0^2 x1 + exp(x2) + 3 x1 x2", mixed, at, 3, want);
    partial("gradient of exp(x0) + x0 x1 at (0,2)", at_zero, zero, 2, of_zero);
    partial("gradient of x0^2 at 5,000,000.1", one_square, &large, 1, &of_large);
}
