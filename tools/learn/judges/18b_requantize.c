#include "../judge.h"

enum { MOST = 64 };

typedef struct sample {
    int32_t sum, multiplier;
    int shift;
    int32_t zero;
} sample;

// The steps of the first number that is wrong.
static void clue(const sample *s, const double *got, int n)
{
    static char sentence[400];
    const double *want = judge_wanted();
    for (int i = 0; i < n && !judge.clue; i++) {
        double y = (double)s[i].sum * (double)s[i].multiplier / pow(2, s[i].shift);
        double nearest = floor(y + 0.5), zero = (double)s[i].zero;
        if (got[i] == want[i]) continue;
        snprintf(sentence, sizeof sentence,
                 "sum %ld, multiplier %ld, shift %d, zero %ld: sum * multiplier / 2^shift is %.6g, "
                 "the nearest whole number %.0f, with zero %.0f, as a byte %g. It returns %g.",
                 (long)s[i].sum, (long)s[i].multiplier, s[i].shift, (long)s[i].zero, y, nearest,
                 nearest + zero, want[i], got[i]);
        judge_clue_saying(1, "other_byte", sentence);
    }
}

static void numbers(const char *what, const sample *s, int n)
{
    float got[MOST];
    judge_case(what);
    for (int i = 0; i < n; i++)
        got[i] = requantize(s[i].sum, s[i].multiplier, s[i].shift, s[i].zero);
    judge_got(got, n);
    clue(s, judge.got, n);
    judge_compare(0);
}

static void judge_cases(void)
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
    numbers("8 numbers near halves: 5/2, -5/2, 7/4, -7/4, -9/4, -1/8, 21/4, 8/8", halves, 8);
    numbers("3 numbers with a zero point", zeros, 3);
    numbers("9 numbers at the ends of a byte", ends, 9);
    numbers("7 large products", large, 7);
}
