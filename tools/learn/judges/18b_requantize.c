#include "../judge.h"
#include EXERCISE

enum { MOST = 64 };

enum {
    RIGHT,
    PRODUCT_32,
    ROUNDS_DOWN,
    TOWARDS_ZERO,
    HALVES_AWAY,
    ZERO_FIRST,
    NO_ZERO,
    WRAPS,
    FROM_127
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { PRODUCT_32, "product_of_32_bits",
      "the product of two 32-bit numbers is cut to 32 bits. Make one of them an int64_t before." },
    { ROUNDS_DOWN, "rounds_down",
      "it is rounded down, not to the nearest: add half of 2^shift before the shift." },
    { TOWARDS_ZERO, "towards_zero",
      "negative numbers are rounded towards 0, as / does. >> rounds down, which is needed here." },
    { HALVES_AWAY, "halves_away", "-2.5 became -3: halves go up, also below 0." },
    { ZERO_FIRST, "zero_first",
      "the zero point is added before the multiplication, and gets multiplied, too." },
    { NO_ZERO, "no_zero", "the zero point is missing." },
    { WRAPS, "wraps_around",
      "what is too large for a byte comes out on the other side: limit it to -128 ... 127." },
    { FROM_127, "from_minus_127", "-128 is a byte, too, and became -127." },
};

typedef struct sample {
    int32_t sum, multiplier;
    int shift;
    int32_t zero;
} sample;

static int64_t floor_shift(int64_t x, int shift)
{
    int64_t part = (int64_t)1 << shift, down = x / part;
    return x < 0 && down * part != x ? down - 1 : down;
}

static float compute(sample s, int e)
{
    int64_t half = (int64_t)1 << (s.shift - 1);
    int64_t product = ((int64_t)s.sum + (e == ZERO_FIRST ? s.zero : 0)) * s.multiplier;
    if (e == PRODUCT_32) product = (int32_t)(uint32_t)product;
    int64_t y = floor_shift(product + (e == ROUNDS_DOWN ? 0 : half), s.shift);
    if (e == TOWARDS_ZERO) y = (product + half) / ((int64_t)1 << s.shift);
    if (e == HALVES_AWAY && product < 0) y = -floor_shift(half - product, s.shift);
    if (e != ZERO_FIRST && e != NO_ZERO) y += s.zero;
    int64_t least = e == FROM_127 ? -127 : -128;
    if (e == WRAPS) return (float)(int8_t)(uint8_t)(uint64_t)y;
    if (y < least) y = least;
    return (float)(y > 127 ? 127 : y);
}

static void numbers(const char *what, const sample *s, int n)
{
    float got[MOST], want[MOST], wrong[MOST];
    judge_case(what);
    for (int i = 0; i < n; i++) {
        got[i] = requantize(s[i].sum, s[i].multiplier, s[i].shift, s[i].zero);
        want[i] = compute(s[i], RIGHT);
    }
    judge_got(got, n);
    for (unsigned m = 0; m < sizeof mistakes / sizeof *mistakes; m++) {
        for (int i = 0; i < n; i++)
            wrong[i] = compute(s[i], mistakes[m].e);
        judge_mistake(mistakes[m].name, mistakes[m].sentence, wrong, n);
    }
    judge_want(want, n, 0);
}

int main(void)
{
    static const sample halves[] = { { 5, 1, 1, 0 },  { -5, 1, 1, 0 }, { 7, 1, 2, 0 },
                                     { -7, 1, 2, 0 }, { -9, 1, 2, 0 }, { -1, 1, 3, 0 } };
    static const sample zeros[] = { { 40, 1, 2, 5 }, { -40, 1, 2, -100 }, { 13, 1, 1, -7 } };
    static const sample ends[] = { { 1000, 1, 1, 0 },  { -1000, 1, 1, 0 }, { -256, 1, 1, 0 },
                                   { 254, 1, 1, 0 },   { 260, 1, 1, -10 }, { 200, 1, 1, 100 } };
    static const sample large[] = { { 100000, 1518500250, 41, 3 }, { -123456, 1234567890, 42, -3 },
                                    { 2147483647, 2147483647, 55, 0 }, { 77, 1073741825, 31, 1 } };
    judge_begin();
    numbers("6 numbers near halves: 5/2, -5/2, 7/4, -7/4, -9/4, -1/8", halves, 6);
    numbers("3 numbers with a zero point", zeros, 3);
    numbers("6 numbers at the ends of a byte", ends, 6);
    numbers("4 large products", large, 4);
    return judge_end();
}
