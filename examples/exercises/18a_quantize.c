// Exercise 18a: weights as whole numbers of one byte.
//
// A row of weights is stored as a scale and a whole number for each weight: w is nearly scale * q.
// Of n weights of a row,
//
//     scale  =  the largest |w|  /  127
//     q      =  w / scale, rounded to the nearest whole number; halves go away from 0
//
// so that q lies between -127 and 127. Each row of w (rows,n) has a scale of its own. A row of
// zeros has the scale 1.
//
// Fill in quantize: scale (rows) and q (rows,n).
#include <math.h>

void quantize(const float *w, int rows, int n, float *scale, signed char *q)
{
    (void)w;
    (void)rows;
    (void)n;
    (void)q;
    scale[0] = 0.0f;                                        // your code
}
