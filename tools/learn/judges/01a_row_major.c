#include "../judge.h"
#include EXERCISE

static double right(const int *shape, const int *index, int n)
{
    double at = 0;
    for (int d = 0; d < n; d++)
        at = at * shape[d] + index[d];
    return at;
}

static double column_major(const int *shape, const int *index, int n)
{
    double at = 0;
    for (int d = n - 1; d >= 0; d--)
        at = at * shape[d] + index[d];
    return at;
}

static double size_before(const int *shape, const int *index, int n)
{
    double at = index[0];
    for (int d = 1; d < n; d++)
        at = at * shape[d - 1] + index[d];
    return at;
}

static double sum_of_indices(const int *index, int n)
{
    double sum = 0;
    for (int d = 0; d < n; d++)
        sum += index[d];
    return sum;
}

static double from_one(const int *shape, const int *index, int n)
{
    return right(shape, index, n) + 1;
}

static double last_two(const int *shape, const int *index, int n)
{
    return n < 2 ? index[0] : (double)index[n - 2] * shape[n - 1] + index[n - 1];
}

static void place(const char *what, const int *shape, const int *index, int n)
{
    judge_case(what);
    judge_got_number((double)offset(shape, index, n));
    judge_mistake_number("column_major",
                         "this is column-major order, in which the first index runs "
                         "fastest. Here the last one does.",
                         column_major(shape, index, n));
    judge_mistake_number("size_before",
                         "each step multiplies by the size of the dimension before. "
                         "A step of index[d] passes the dimensions behind d.",
                         size_before(shape, index, n));
    judge_mistake_number("sum_of_indices",
                         "the indices are added as they are; each counts as many "
                         "elements as the dimensions behind it have.",
                         sum_of_indices(index, n));
    judge_mistake_number("from_one", "it is one too many: the first element lies at 0.",
                         from_one(shape, index, n));
    judge_mistake_number("last_two",
                         "only the last two indices count in it: tensors may have more "
                         "dimensions than a matrix.",
                         last_two(shape, index, n));
    judge_want_number(right(shape, index, n), 0);
}

int main(void)
{
    judge_begin();
    const int matrix[] = { 2, 3 }, images[] = { 4, 3, 5, 7 }, row[] = { 9 };
    place("(1,2) of a tensor (2,3)", matrix, (const int[]){ 1, 2 }, 2);
    place("(1,0) of a tensor (2,3)", matrix, (const int[]){ 1, 0 }, 2);
    place("(3,1,4,2) of a tensor (4,3,5,7)", images, (const int[]){ 3, 1, 4, 2 }, 4);
    place("(0,0,0,0) of a tensor (4,3,5,7)", images, (const int[]){ 0, 0, 0, 0 }, 4);
    place("(8) of a tensor (9)", row, (const int[]){ 8 }, 1);
    judge_case("a tensor without dimensions");
    judge_got_number((double)offset(row, row, 0));
    judge_want_number(0, 0);
    judge_case("(50000,50000) of a tensor (60000,60000)");
    judge_got_number(
        (double)offset((const int[]){ 60000, 60000 }, (const int[]){ 50000, 50000 }, 2));
    judge_holds(judge.got[0] > 0, "int_overflow",
                "3,000,050,000 is more than an int holds: compute "
                "in int64_t from the first product on.");
    judge_want_number(3000050000.0, 1e-7);
    return judge_end();
}
