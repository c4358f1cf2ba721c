// Hint 1: Write the error as h^2 + 1e-16 / h, and try h = 1e-3, 1e-5, 1e-8. Which is best?
// Hint 2: About 1e-5, the cube root of 1e-16; times fabs(x) where that is more than 1.
// Hint 3: In gradient, for each i: keep x[i], set it to kept + h, call f; to kept - h, call f; then
//   put kept back.
// Why: In f(x + h) and f(x - h) the terms with h^2 are equal and cancel; what is left of Taylor's
//   series is f'''(x) h^2 / 6. With h = 1e-5 this and the rounding are both near 1e-10. It takes
//   two calls of f for each number, so nobody trains with it; as a judge it is perfect.
// Another way: Four calls, (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / (12 h), with an error
//   of h^4: then h may be 1e-3 and twelve digits are right. Or f(x + ih) with complex numbers,
//   which subtracts nothing at all.
// A tempting wrong way: h as small as possible. With h = 1e-15, x + h is x for every x above 9, and
//   the derivative 0.
#include <math.h>

static double step_at(double x)
{
    return 1e-5 * fmax(1.0, fabs(x));
}

double derivative(double (*f)(double), double x)
{
    double h = step_at(x);
    return (f(x + h) - f(x - h)) / (2.0 * h);
}

void gradient(double (*f)(const double *), double *x, int n, double *g)
{
    for (int i = 0; i < n; i++) {
        double kept = x[i], h = step_at(kept);
        x[i] = kept + h;
        double right = f(x);
        x[i] = kept - h;
        double left = f(x);
        x[i] = kept;
        g[i] = (right - left) / (2.0 * h);
    }
}
