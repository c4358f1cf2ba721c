// Hint 1: sum * multiplier does not fit into 32 bits. What type does a product have in C?
// Hint 2: >> shift rounds down. If half of 2^shift is added before, that is the nearest number,
//   halves up.
// Hint 3: int64_t y = (((int64_t)sum * multiplier + (1LL << (shift - 1))) >> shift) + zero; then
//   limit y to -128 ... 127.
// Why: Each step is an integer of a known size, so every processor gives the same byte: no rounding
//   mode, no float unit. The multiplier of 31 bits is more exact than a float with its 24.
// Another way: The upper 32 bits of the product (one instruction on ARM: SMMULR), then a shift of
//   what is left: two roundings, which may differ from this one by 1.
// A tempting wrong way: / (1LL << shift) instead of >>. C divides towards 0, so negative numbers
//   are rounded the other way: a drift that adds up over layers.
#include <stdint.h>

int8_t requantize(int32_t sum, int32_t multiplier, int shift, int32_t zero)
{
    int64_t half = (int64_t)1 << (shift - 1);
    int64_t y = (((int64_t)sum * multiplier + half) >> shift) + zero;
    if (y < -128) y = -128;
    if (y > 127) y = 127;
    return (int8_t)y;
}
