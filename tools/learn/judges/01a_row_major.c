#include "../judge.h"
#include EXERCISE

enum { RIGHT, COLUMN_MAJOR, SIZE_BEFORE, SUM, FROM_ONE, FROM_END, LAST_TWO, OWN_SIZE, NEXT_SIZE,
       TIMES_SIZE, NO_FIRST, NO_LAST, TURNED, ONE_SIZE, LAST_SIZE, BYTES, ALL, PRODUCT, FROM_1 };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { COLUMN_MAJOR, "column_major",
      "this is column-major order, in which the first index runs fastest. Here the last one "
      "does." },
    { SIZE_BEFORE, "size_before",
      "each step multiplies by the size of the dimension before. A step of index[d] passes the "
      "dimensions behind d." },
    { SUM, "sum_of_indices",
      "the indices are added as they are; each counts as many elements as the dimensions behind it "
      "have." },
    { FROM_ONE, "from_one", "it is one too many: the first element lies at 0." },
    { FROM_END, "one_too_few", "it is one too few: indices begin at 0, and so do places." },
    { LAST_TWO, "last_two",
      "only the last two indices count in it: tensors may have more dimensions than a matrix." },
    { OWN_SIZE, "own_size",
      "each index is multiplied by the size of its own dimension, too. A step of index[d] passes "
      "the dimensions behind d only, so the last index counts 1." },
    { NEXT_SIZE, "next_size",
      "each index is multiplied by one size, the next. It is the product of all sizes behind it." },
    { TIMES_SIZE, "times_its_size",
      "this is the sum of index[d] * shape[d]. A step of index[d] passes as many elements as the "
      "dimensions behind d have together." },
    { NO_FIRST, "no_first_index", "the first index does not count: does the loop begin at 1?" },
    { NO_LAST, "no_last_index",
      "the last index does not count: does the loop end one too early? It runs fastest, and counts "
      "1." },
    { TURNED, "indices_turned",
      "the indices are taken from the last to the first, and the sizes from the first to the "
      "last: index[d] belongs to shape[d]." },
    { ONE_SIZE, "first_size",
      "each step multiplies by shape[0]. Each dimension has its own size: shape[d]." },
    { LAST_SIZE, "last_size",
      "each step multiplies by the last size. Each dimension has its own: shape[d]." },
    { BYTES, "bytes", "this is the place in bytes; it is asked for in floats." },
    { ALL, "number_of_elements",
      "this is how many elements the tensor has; the indices are not in it." },
    { PRODUCT, "product",
      "the product of the sizes behind an index is added to the index. It is multiplied by it." },
    { FROM_1, "begins_at_1",
      "the place begins at 1, and grows with each size. It begins at 0: nothing has been passed." },
};

static double compute(const int *shape, const int *index, int n, int e)
{
    double at = e == FROM_1, weighed = 0, elements = 1;
    for (int k = 0; k < n; k++) {
        int d = e == COLUMN_MAJOR ? n - 1 - k : k, size = shape[d];
        if (e == SIZE_BEFORE) size = d ? shape[d - 1] : 0;
        if (e == SUM) size = 1;
        if (e == ONE_SIZE || e == LAST_SIZE) size = shape[e == ONE_SIZE ? 0 : n - 1];
        if ((e == NO_LAST && k == n - 1) || (e == LAST_TWO && k < n - 2)) continue;
        if (e == NO_FIRST && k == 0) continue;
        at = at * size + index[e == TURNED ? n - 1 - d : d];
        if (e == OWN_SIZE) at += index[d] * (size - 1.0);
    }
    for (int d = n - 1; d >= 0; d--) {
        if (e == PRODUCT) weighed += index[d] + (d < n - 1 ? elements : 0);
        elements *= shape[d];
        if (e == OWN_SIZE) weighed += index[d] * elements;
        if (e == NEXT_SIZE) weighed += index[d] * (d + 1 < n ? shape[d + 1] : 1.0);
        if (e == TIMES_SIZE) weighed += index[d] * (double)shape[d];
    }
    if (e == ALL) return elements;
    if (e == OWN_SIZE || e == NEXT_SIZE || e == TIMES_SIZE || e == PRODUCT) return weighed;
    return e == BYTES ? 4 * at : at + (e == FROM_ONE) - (e == FROM_END);
}

// A mistake is one that explains the places in all of them.
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

static void compute_all(int e, float *out)
{
    for (int i = 0; i < PLACES; i++)
        out[i] = (float)compute(places[i].shape, places[i].index, places[i].n, e);
}

static double offset_of(const int *from_shape, const int *from_index, int n)
{
    int *shape = judge_copy(from_shape, sizeof(int) * (size_t)n);
    int *index = judge_copy(from_index, sizeof(int) * (size_t)n);
    double at = (double)offset(shape, index, n);
    free(shape);
    free(index);
    return at;
}

int main(void)
{
    float got[PLACES], out[PLACES];
    judge_begin();
    for (int i = 0; i < PLACES; i++) {
        judge_case(places[i].name);
        got[i] = (float)offset_of(places[i].shape, places[i].index, places[i].n);
    }
    judge.what = "offset";
    judge_got(got, PLACES);
    for (int i = 0; i < PLACES; i++)
        judge_part(places[i].name, 1, 1);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute_all(mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, PLACES);
    }
    for (int i = 0; i < PLACES; i++)
        judge_clue(fabs((double)got[i]) > 1e8, "reads_outside",
                   "a place is huge: is index[n] or shape[n] read? The last ones are those at n - "
                   "1.");
    compute_all(RIGHT, out);
    judge_want(out, PLACES, 0);
    judge_case("a tensor without dimensions");
    judge_got_number((double)offset((const int[]){ 5 }, (const int[]){ 3 }, 0));
    judge_holds(judge.got[0] == 0, "no_dimensions",
                "with n = 0 there is no index to read; the only element lies at 0.");
    judge_case("(50000,50000) of a tensor (60000,60000)");
    judge_got_number(
        (double)offset((const int[]){ 60000, 60000 }, (const int[]){ 50000, 50000 }, 2));
    double off = fabs(judge.got[0] - 3000050000.0);
    judge_holds(off == 0 || off > 300, "float",
                "3,000,050,000 has more digits than a float holds: compute in int64_t.");
    judge_holds(judge.got[0] > 0, "int_overflow",
                "3,000,050,000 is more than an int holds: compute "
                "in int64_t from the first product on.");
    judge_want_number(3000050000.0, 1e-7);
    return judge_end();
}
