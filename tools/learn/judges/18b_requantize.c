#include "../judge.h"
#include EXERCISE

enum { MOST = 64 };

enum {
    RIGHT, NO_MULTIPLIER, DIVIDED, PRODUCT_32, FLOAT, SHIFT_FIRST, ONE_LESS, ONE_MORE, ROUNDS_DOWN,
    CUT_OFF, TOWARDS_ZERO, HALVES_AWAY, HALVES_EVEN, ROUNDS_UP, WHOLE_ADDED, HALF_32, HALF_AGAIN,
    LOGICAL, ZERO_FIRST, ZERO_IN_SUM, NO_ZERO, ZERO_MINUS, ZERO_LATE, WRAPS, UPPER_ONLY, LOWER_ONLY,
    FROM_127, FROM_0, TO_128, NO_SIGN
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NO_MULTIPLIER, "no_multiplier", "the multiplier has no effect: sum * multiplier." },
    { DIVIDED, "divided", "the sum is divided by the multiplier; multiply." },
    { PRODUCT_32, "product_of_32_bits",
      "the product of two 32-bit numbers is cut to 32 bits. Make one of them an int64_t before." },
    { FLOAT, "float",
      "the product went through a float, which has 24 bits: too few for 62. Take int64_t." },
    { SHIFT_FIRST, "shift_first",
      "the sum is shifted before the multiplication, and its low bits are lost: multiply first." },
    { ONE_LESS, "one_bit_less", "it is shifted by one bit less than shift." },
    { ONE_MORE, "one_bit_more", "it is shifted by one bit more than shift." },
    { ROUNDS_DOWN, "rounds_down",
      "it is rounded down, not to the nearest: add half of 2^shift before the shift." },
    { CUT_OFF, "cut_off",
      "what is behind the point is cut off, as / does. To the nearest: add half of 2^shift, then "
      ">> shift." },
    { TOWARDS_ZERO, "towards_zero",
      "negative numbers are rounded towards 0, as / does. >> rounds down, which is needed here." },
    { HALVES_AWAY, "halves_away", "-2.5 became -3: halves go up, also below 0." },
    { HALVES_EVEN, "halves_even", "2.5 became 2, the even number: halves go up." },
    { ROUNDS_UP, "rounds_up",
      "it is rounded up: 2^shift - 1 is added before the shift. Half of 2^shift gives the "
      "nearest." },
    { WHOLE_ADDED, "whole_added",
      "it is 1 too large: 2^shift is added before the shift; half of it is 2^(shift - 1)." },
    { HALF_32, "half_of_32_bits",
      "1 << (shift - 1) is an int, and shift goes to 62: make the 1 an int64_t." },
    { HALF_AGAIN, "half_subtracted",
      "half is subtracted from negative numbers, and >> rounds down: that is 1 too small. Add it "
      "to all." },
    { LOGICAL, "unsigned",
      "negative numbers were shifted as unsigned ones, and became very large: shift an int64_t." },
    { ZERO_FIRST, "zero_first",
      "the zero point is added before the multiplication, and gets multiplied, too." },
    { ZERO_IN_SUM, "zero_before_shift",
      "the zero point is added before the shift, and gets shifted away: add it behind." },
    { NO_ZERO, "no_zero", "the zero point is missing." },
    { ZERO_MINUS, "zero_subtracted", "the zero point is subtracted; here it is added." },
    { ZERO_LATE, "zero_after_limit",
      "the zero point is added behind the limit, so that it may lead out of the byte again: add it "
      "before." },
    { WRAPS, "wraps_around",
      "what is too large for a byte comes out on the other side: limit it to -128 ... 127." },
    { UPPER_ONLY, "no_lower_limit",
      "what is below -128 comes out on the other side: both ends are limited." },
    { LOWER_ONLY, "no_upper_limit",
      "what is above 127 comes out on the other side: both ends are limited." },
    { FROM_127, "from_minus_127", "-128 is a byte, too, and became -127." },
    { FROM_0, "from_0", "negative numbers became 0: the lower limit is -128." },
    { TO_128, "to_128", "128 is no byte: the largest is 127." },
    { NO_SIGN, "no_sign", "the sign is lost: the result may be negative." },
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

static int64_t product_of(sample s, int e)
{
    int64_t sum = s.sum, product = sum * s.multiplier;
    if (e == ZERO_FIRST) return (sum + s.zero) * s.multiplier;
    if (e == PRODUCT_32) return (int32_t)(uint32_t)product;
    if (e == FLOAT) return (int64_t)((float)sum * (float)s.multiplier);
    if (e == DIVIDED) return s.multiplier ? sum / s.multiplier : 0;
    if (e == SHIFT_FIRST) return floor_shift(sum, s.shift) * s.multiplier;
    return e == NO_MULTIPLIER ? sum : product;
}

// The nearest whole number to product / 2^shift.
static int64_t nearest(sample s, int e)
{
    int64_t product = product_of(s, e), half = (int64_t)1 << (s.shift - 1);
    int64_t down = floor_shift(product, s.shift), y = floor_shift(product + half, s.shift);
    const int64_t all = (int64_t)1 << s.shift;
    int is_half = product - down * all == half;
    switch (e) {
    case SHIFT_FIRST: return product;
    case ONE_LESS: return floor_shift(product + half / 2, s.shift - 1);
    case ONE_MORE: return floor_shift(floor_shift(product, s.shift) + 1, 1);
    case ROUNDS_DOWN: return down;
    case CUT_OFF: return product / all;
    case TOWARDS_ZERO: return (product + half) / all;
    case HALVES_AWAY: return product < 0 ? -floor_shift(half - product, s.shift) : y;
    case HALVES_EVEN: return is_half && y % 2 ? y - 1 : y;
    case ROUNDS_UP: return floor_shift(product + all - 1, s.shift);
    case WHOLE_ADDED: return down + 1;
    case HALF_32: return floor_shift(product + (int32_t)(1u << (s.shift - 1) % 32), s.shift);
    case HALF_AGAIN: return product < 0 ? floor_shift(product - half, s.shift) : y;
    case LOGICAL: return (int64_t)((uint64_t)(product + half) >> s.shift);
    case ZERO_IN_SUM: return floor_shift(product + half + s.zero, s.shift);
    default: return y;
    }
}

static int64_t limited(int64_t y, int64_t least, int64_t most)
{
    return y < least ? least : y > most ? most : y;
}

static float compute(sample s, int e)
{
    int64_t y = nearest(s, e), least = -128, most = 127;
    if (e == ZERO_LATE) return (float)(int8_t)(uint8_t)(limited(y, -128, 127) + s.zero);
    if (e == ZERO_MINUS) y -= s.zero;
    else if (e != ZERO_FIRST && e != NO_ZERO && e != ZERO_IN_SUM) y += s.zero;
    if (e == WRAPS || e == UPPER_ONLY) least = INT64_MIN;
    if (e == WRAPS || e == LOWER_ONLY) most = INT64_MAX;
    if (e == FROM_127) least = -127;
    if (e == FROM_0) least = 0;
    if (e == TO_128) most = 128;
    y = limited(y, least, most);
    if (e == NO_SIGN && y < 0) y = -y;
    return (float)(int8_t)(uint8_t)(uint64_t)y;
}

// The steps of the first number that is wrong.
static void clue(const sample *s, const float *got, const float *want, int n)
{
    static char sentence[400];
    for (int i = 0; i < n; i++) {
        if (got[i] == want[i]) continue;
        double product = (double)s[i].sum * (double)s[i].multiplier;
        snprintf(sentence, sizeof sentence,
                 "sum %ld, multiplier %ld, shift %d, zero %ld: sum * multiplier / 2^shift is %.6g, "
                 "the nearest whole number %.0f, with zero %.0f, as a byte %g. It returns %g.",
                 (long)s[i].sum, (long)s[i].multiplier, s[i].shift, (long)s[i].zero,
                 product / pow(2, s[i].shift), (double)nearest(s[i], RIGHT),
                 (double)(nearest(s[i], RIGHT) + s[i].zero), (double)want[i], (double)got[i]);
        judge_clue(1, "other_byte", sentence);
        return;
    }
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
    clue(s, got, want, n);
    judge_want(want, n, 0);
}

int main(void)
{
    static const sample halves[] = { { 5, 1, 1, 0 },  { -5, 1, 1, 0 }, { 7, 1, 2, 0 },
                                     { -7, 1, 2, 0 }, { -9, 1, 2, 0 }, { -1, 1, 3, 0 },
                                     { 7, 3, 2, 0 },  { 8, 1, 3, 0 } };
    static const sample zeros[] = { { 40, 3, 2, 5 }, { -40, 3, 2, -90 }, { 13, 1, 1, -7 } };
    static const sample ends[] = { { 1000, 1, 1, 0 },  { -1000, 1, 1, 0 }, { -256, 1, 1, 0 },
                                   { 254, 1, 1, 0 },   { 260, 1, 1, -10 }, { 200, 1, 1, 100 },
                                   { -258, 1, 1, 0 },  { 256, 1, 1, 0 },   { -250, 1, 1, -40 } };
    static const sample large[] = { { 100000, 1518500250, 41, 3 }, { -123456, 1234567890, 42, -3 },
                                    { 2147483647, 2147483647, 55, 0 }, { 77, 1073741825, 31, 1 },
                                    { -2147483647, 2147483647, 62, 50 }, { 3, 1431655765, 32, 0 },
                                    { -16777217, 5, 25, 0 } };
    judge_begin();
    numbers("8 numbers near halves: 5/2, -5/2, 7/4, -7/4, -9/4, -1/8, 21/4, 8/8", halves, 8);
    numbers("3 numbers with a zero point", zeros, 3);
    numbers("9 numbers at the ends of a byte", ends, 9);
    numbers("7 large products", large, 7);
    return judge_end();
}
