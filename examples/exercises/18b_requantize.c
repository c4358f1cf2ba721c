// Exercise 18b: from 32 bits back to 8, with integers alone.
//
// The sum of products of bytes is an int32. To be the input of the next layer it becomes a byte
// again: it is multiplied by a number below 1, which a microcontroller without floats has as a
// multiplier and a shift, and the zero point of the next layer is added:
//
//     y  =  sum * multiplier / 2^shift,  to the nearest whole number, halves up    (2.5 is 3,
//           + zero,                                                                -2.5 is -2)
//           and what is below -128 or above 127 becomes that.
//
// multiplier is below 2^31, and shift from 1 to 62. >> of a negative number rounds down here, to
// the next smaller whole number.
//
// Fill in requantize.
#include <stdint.h>

int8_t requantize(int32_t sum, int32_t multiplier, int shift, int32_t zero)
{
    (void)sum;
    (void)multiplier;
    (void)shift;
    (void)zero;
    return 0;                                               // your code
}
