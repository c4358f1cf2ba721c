#include "../judge.h"

static const struct {
    const char *name;
    int n, shape[4], index[4];
} places[] = {
    { "the place of (1,2) in (2,3)", 2, { 2, 3 }, { 1, 2 } },
    { "the place of (1,0) in (2,3)", 2, { 2, 3 }, { 1, 0 } },
    { "the place of (2,1,3) in (3,4,5)", 3, { 3, 4, 5 }, { 2, 1, 3 } },
    { "the place of (3,1,4,2) in (4,3,5,7)", 4, { 4, 3, 5, 7 }, { 3, 1, 4, 2 } },
    { "the place of (0,0,0,0) in (4,3,5,7)", 4, { 4, 3, 5, 7 }, { 0, 0, 0, 0 } },
    { "the place of (8) in (9)", 1, { 9 }, { 8 } },
};

enum { PLACES = sizeof places / sizeof *places };

static double offset_of(const int *from_shape, const int *from_index, int n)
{
    int *shape = judge_copy(from_shape, sizeof(int) * (size_t)n);
    int *index = judge_copy(from_index, sizeof(int) * (size_t)n);
    double at = (double)offset(shape, index, n);
    return at;
}

static void judge_cases(void)
{
    const int large[] = { 60000, 60000 }, far[] = { 50000, 50000 };
    float got[PLACES];
    judge_case("offset");
    for (int i = 0; i < PLACES; i++)
        got[i] = (float)offset_of(places[i].shape, places[i].index, places[i].n);
    judge_got(got, PLACES);
    for (int i = 0; i < PLACES; i++) {
        judge_part(places[i].name, 1, 1);
        judge_clue(fabs((double)got[i]) > 1e8, "reads_outside");
    }
    judge_compare(0);
    judge_case("a tensor without dimensions");
    judge_got_number((double)offset((const int[]){ 5 }, (const int[]){ 3 }, 0));
    judge_holds(judge.got[0] == 0, "no_dimensions");
    judge_case("(50000,50000) of a tensor (60000,60000)");
    judge_got_number((double)offset(large, far, 2));
    double off = fabs(judge.got[0] - 3000050000.0);
    judge_holds(off == 0 || off > 300, "float");
    judge_holds(judge.got[0] > 0, "int_overflow");
    judge_compare(1e-7);
}
