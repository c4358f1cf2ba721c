#include "../judge.h"
#include EXERCISE

enum { TENSORS = 3, MOST = 8 };

static const int sizes[TENSORS] = { 4, 1, 3 };
static const char *const tensor_names[] = { "gradients[0]", "gradients[1]", "gradients[2]" };

enum { RIGHT, NEVER, EACH_TENSOR, RUNNING, EACH_NUMBER, EACH_ABOVE, LARGEST, NO_ROOT, ROOT_OF_SUM,
       SUM_OF_NORMS, SUM_OF_SIZES, MEAN, MEAN_OF_TENSORS, FIRST_TENSOR, LAST_TENSOR, BY_SQUARE,
       SQUARED_SCALE, INVERTED, TIMES_LIMIT, UNIT, SET_TO_LIMIT, FIRST_SCALED, FIRSTS_SCALED,
       ALWAYS, SQUARE_COMPARED };

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NEVER, "not_clipped", "the gradients are as they were; their norm is above the limit." },
    { EACH_TENSOR, "each_tensor",
      "each tensor is clipped by a norm of its own, which turns the direction. One norm, of all "
      "tensors together." },
    { RUNNING, "running_norm",
      "each tensor is clipped by the norm of what has been added up so far. First add up all "
      "tensors, then multiply in a second pass." },
    { EACH_NUMBER, "each_number",
      "each number is cut at the limit, which turns the direction. All are multiplied by the "
      "same." },
    { EACH_ABOVE, "each_above",
      "each number above the limit is replaced by it. All are multiplied by the same, also the "
      "small and the negative ones." },
    { LARGEST, "largest_number", "the norm is the largest number; it is the root of the squares." },
    { NO_ROOT, "no_root", "the sum of squares is taken for the norm; the norm is its root." },
    { ROOT_OF_SUM, "no_squares",
      "the numbers are added as they are, so that positive and negative ones cancel. Square "
      "them." },
    { SUM_OF_NORMS, "sum_of_norms",
      "the norms of the tensors are added. Add their squares, and take one root at the end." },
    { SUM_OF_SIZES, "sum_of_sizes",
      "the sizes of the numbers are added; the norm is the root of the sum of their squares." },
    { MEAN, "mean", "the mean of the squares is taken. The norm is the root of their sum." },
    { MEAN_OF_TENSORS, "mean_of_tensors",
      "the sum of squares is divided by the number of tensors: it is not divided." },
    { FIRST_TENSOR, "first_tensor", "the norm is that of tensor 0; all tensors count." },
    { LAST_TENSOR, "last_tensor",
      "the norm is that of the last tensor: the sum begins anew with each. Set it to 0 once." },
    { BY_SQUARE, "divided_by_square",
      "the factor is limit / sum of squares: divide by its root, the norm." },
    { SQUARED_SCALE, "squared_factor",
      "every number is multiplied by limit / norm twice. Then the norm is below the limit: once." },
    { INVERTED, "inverted", "the factor is norm / limit, which makes it longer: limit / norm." },
    { TIMES_LIMIT, "times_limit", "all is multiplied by limit: the factor is limit / norm." },
    { UNIT, "unit_length",
      "all is divided by norm, and so has norm 1. It should have the norm limit." },
    { SET_TO_LIMIT, "all_the_limit",
      "every number is the limit. It is the norm of all together that becomes limit." },
    { FIRST_SCALED, "only_tensor_0", "only tensor 0 is multiplied; the norm is that of all." },
    { FIRSTS_SCALED, "only_first_numbers",
      "only the first number of each tensor is multiplied: tensor t has sizes[t] of them." },
    { SQUARE_COMPARED, "square_compared",
      "the sum of squares was compared with limit, so a short gradient was made longer. It is the "
      "norm that is compared." },
    { ALWAYS, "always", "a short gradient was made longer: below the limit nothing changes." },
};

static double norm_of(const float *g, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)g[i] * (double)g[i];
    return sqrt(sum);
}

// What is taken for the norm, in tensor t, which begins at g[at].
static double measure(const float *g, int t, int at, int e)
{
    double norm = norm_of(g, MOST), largest = 0, sizes_sum = 0, sum = 0, norms = 0;
    for (int i = 0; i < MOST; i++) {
        largest = fmax(largest, fabs((double)g[i]));
        sizes_sum += fabs((double)g[i]);
        sum += (double)g[i];
    }
    for (int k = 0, from = 0; k < TENSORS; from += sizes[k++])
        norms += norm_of(g + from, sizes[k]);
    switch (e) {
    case LARGEST: return largest;
    case NO_ROOT: return norm * norm;
    case ROOT_OF_SUM: return sqrt(fabs(sum));
    case SUM_OF_NORMS: return norms;
    case SUM_OF_SIZES: return sizes_sum;
    case MEAN: return norm / sqrt(MOST);
    case MEAN_OF_TENSORS: return norm / sqrt(TENSORS);
    case FIRST_TENSOR: return norm_of(g, sizes[0]);
    case LAST_TENSOR: return norm_of(g + MOST - sizes[TENSORS - 1], sizes[TENSORS - 1]);
    case EACH_TENSOR: return norm_of(g + at, sizes[t]);
    case RUNNING: return norm_of(g, at + sizes[t]);
    default: return norm;
    }
}

static double factor(double norm, double limit, int e)
{
    double compared = e == SQUARE_COMPARED ? norm * norm : norm;
    if (e == NEVER || (compared <= limit && e != ALWAYS)) return 1;
    switch (e) {
    case BY_SQUARE: return limit / norm / norm;
    case SQUARED_SCALE: return limit / norm * limit / norm;
    case INVERTED: return norm / limit;
    case TIMES_LIMIT: return limit;
    case UNIT: return 1 / norm;
    default: return limit / norm;
    }
}

static void compute(const float *g, double limit, int e, float *out)
{
    int at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        for (int i = at; i < at + sizes[t]; i++) {
            double scale = factor(measure(g, t, at, e), limit, e), x = (double)g[i];
            if (e == EACH_NUMBER) scale = fmin(1, limit / fabs(x));
            if (e == EACH_ABOVE) scale = x > limit ? limit / x : 1;
            if (e == SET_TO_LIMIT && scale < 1) scale = limit / x;
            if ((e == FIRST_SCALED && t > 0) || (e == FIRSTS_SCALED && i > at)) scale = 1;
            out[i] = (float)(x * scale);
        }
}

static void returned(const float *g, double limit, double norm)
{
    double right = measure(g, 0, 0, RIGHT);
    judge_case("the norm that is returned for the same");
    judge_got_number(norm);
    if (right > limit)
        judge_mistake_number("norm_after",
                             "this is the limit, which is the norm behind the clipping; return "
                             "that before it.", limit);
    judge_mistake_number("square_returned",
                         "this is the sum of squares; return its root, the norm.", right * right);
    judge_mistake_number("factor_returned",
                         "this is the factor; return the norm before clipping.", limit / right);
    judge_mistake_number("nothing_returned", "it returns 0; return the norm before clipping.", 0);
    judge_want_number(right, 1e-6);
}

static void gradient(const char *what, const float *g, float limit)
{
    float got[MOST], out[MOST], *tensors[TENSORS];
    int at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        tensors[t] = judge_copy(g + at, (size_t)sizes[t] * sizeof *g);
    judge_case(what);
    double norm = (double)clip(tensors, sizes, TENSORS, limit);
    at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        memcpy(got + at, tensors[t], (size_t)sizes[t] * sizeof *g);
    judge_holds(measure(g, 0, 0, RIGHT) < 1e15 || (norm < 1e37 && got[0] != 0), "overflow",
                "the sum of squares was infinite: 1e30 squared is more than a float holds. Add in "
                "double.");
    judge_holds(g[0] != 0 || (got[0] == 0 && got[1] == 0), "zero_by_zero",
                "a gradient of zeros became something else, such as 0 / 0: its norm is below the "
                "limit, and then nothing is divided.");
    judge_got(got, MOST);
    for (int t = 0; t < TENSORS; t++)
        judge_part(tensor_names[t], 1, sizes[t]);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        int root = judge_close(norm, measure(g, 0, 0, RIGHT), 1e-5);
        if (mistakes[i].e == NO_ROOT && root) continue;         // then it is divided_by_square
        compute(g, (double)limit, mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, MOST);
    }
    compute(g, (double)limit, RIGHT, out);
    judge_want(out, MOST, 1e-6);
    returned(g, (double)limit, norm);
    for (int t = 0; t < TENSORS; t++)
        free(tensors[t]);
}

int main(void)
{
    static const float ten[MOST] = { 3, -4, -1, 1, 8, -2, 2, -1 }, zeros[MOST] = { 0 };
    judge_begin();
    gradient("numbers of norm 10, limit 2", ten, 2);
    gradient("numbers of norm 10, limit 200", ten, 200);
    gradient("numbers of norm 10, limit 20", ten, 20);
    gradient("numbers of norm 10, limit 6", ten, 6);
    gradient("zeros, limit 1", zeros, 1);
    gradient("numbers like 1e25, limit 1",
             (const float[]){ 1e25f, 0, 3e25f, 1, 2, -1e25f, 5e24f, 0 }, 1);
    return judge_end();
}
