// Exercise 03b: a derivative without a formula.
//
// Whoever writes gradients by hand needs something to check them with. Look at the function a
// little to the right and a little to the left of x:
//
//     f'(x)  is about  ( f(x + h) - f(x - h) ) / (2 h)
//
// Two errors work against each other. The formula is wrong by about h^2 (a forward difference, (f(x
// + h) - f(x)) / h, by about h). And f is rounded to 16 digits, so the difference of two nearly
// equal values has lost most of them: the smaller h, the more. Rounding is relative to the size of
// x, so that h must be, too, where x is large. But h is never 0, not even at x = 0.
//
// Fill in derivative: right to 8 digits, for x between -1e7 and 1e7. Then fill in gradient: the
// derivatives of f for each of the n numbers in x. It may change x, but must leave it as it was.
#include <math.h>

double derivative(double (*f)(double), double x)
{
    (void)f;
    (void)x;
    return 0.0;                                             // your code
}

void gradient(double (*f)(const double *), double *x, int n, double *g)
{
    (void)f;
    (void)x;
    (void)n;
    g[0] = 0.0;                                             // your code
}
