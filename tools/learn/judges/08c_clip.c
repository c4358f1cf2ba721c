#include "../judge.h"
#include EXERCISE

enum { TENSORS = 3, MOST = 8 };

static const int sizes[TENSORS] = { 4, 1, 3 };

enum {
    RIGHT,
    EACH_TENSOR,
    EACH_NUMBER,
    LARGEST,
    NO_ROOT,
    ALWAYS,
    SUM_OF_NORMS,
    SUM_OF_SIZES,
    NEVER,
    FIRST_TENSOR,
    MEAN
};

static double norm_of(const float *g, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)g[i] * (double)g[i];
    return sqrt(sum);
}

static double measure(const float *g, int e)
{
    double norm = norm_of(g, MOST), largest = 0, sizes_sum = 0, norms = 0;
    int at = 0;
    for (int i = 0; i < MOST; i++) {
        largest = fmax(largest, fabs((double)g[i]));
        sizes_sum += fabs((double)g[i]);
    }
    for (int t = 0; t < TENSORS; at += sizes[t++])
        norms += norm_of(g + at, sizes[t]);
    if (e == LARGEST) return largest;
    if (e == NO_ROOT) return norm * norm;
    if (e == SUM_OF_NORMS) return norms;
    if (e == SUM_OF_SIZES) return sizes_sum;
    if (e == MEAN) return norm / sqrt(MOST);
    if (e == FIRST_TENSOR) return norm_of(g, sizes[0]);
    return norm;
}

static void compute(const float *g, double limit, int e, float *out)
{
    int at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        for (int i = at; i < at + sizes[t]; i++) {
            double norm = e == EACH_TENSOR ? norm_of(g + at, sizes[t]) : measure(g, e);
            double scale = norm > limit || e == ALWAYS ? limit / norm : 1;
            if (e == EACH_NUMBER) scale = fmin(1, limit / fabs((double)g[i]));
            out[i] = (float)((double)g[i] * (e == NEVER ? 1 : scale));
        }
}

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { NEVER, "not_clipped", "the gradients are as they were; their norm is above the limit." },
    { EACH_TENSOR, "each_tensor",
      "each tensor is clipped by a norm of its own, which turns the direction. One norm, of all "
      "tensors together." },
    { EACH_NUMBER, "each_number",
      "each number is cut at the limit, which turns the direction. All are multiplied by the "
      "same." },
    { LARGEST, "largest_number", "the norm is the largest number; it is the root of the squares." },
    { NO_ROOT, "no_root", "the sum of squares is taken for the norm; the norm is its root." },
    { SUM_OF_NORMS, "sum_of_norms",
      "the norms of the tensors are added. Add their squares, and take one root at the end." },
    { SUM_OF_SIZES, "sum_of_sizes",
      "the sizes of the numbers are added; the norm is the root of the sum of their squares." },
    { MEAN, "mean", "the mean of the squares is taken. The norm is the root of their sum." },
    { FIRST_TENSOR, "first_tensor", "the norm is that of tensor 0; all tensors count." },
    { ALWAYS, "always", "a short gradient was made longer: below the limit nothing changes." },
};

static void gradient(const char *what, const float *g, float limit)
{
    float got[MOST], out[MOST], *tensors[TENSORS];
    int at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++]) {
        tensors[t] = judge_room(sizes[t], 0);
        memcpy(tensors[t], g + at, (size_t)sizes[t] * sizeof *g);
    }
    judge_case(what);
    double norm = (double)clip(tensors, sizes, TENSORS, limit);
    at = 0;
    for (int t = 0; t < TENSORS; at += sizes[t++])
        memcpy(got + at, tensors[t], (size_t)sizes[t] * sizeof *g);
    judge_holds(measure(g, RIGHT) < 1e15 || (norm < 1e37 && got[0] != 0), "overflow",
                "the sum of squares was infinite: 1e30 squared is more than a float holds. Add in "
                "double.");
    judge_got(got, MOST);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(g, (double)limit, mistakes[i].e, out);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, out, MOST);
    }
    compute(g, (double)limit, RIGHT, out);
    judge_want(out, MOST, 1e-6);
    judge_got_number(norm);
    if (measure(g, RIGHT) > (double)limit)
        judge_mistake_number("norm_after",
                             "this is the norm behind the clipping; return that before it.",
                             (double)limit);
    judge_want_number(measure(g, RIGHT), 1e-6);
    for (int t = 0; t < TENSORS; t++)
        free(tensors[t]);
}

int main(void)
{
    judge_begin();
    gradient("numbers of norm 10, limit 2", (const float[]){ 3, -4, 1, 1, 8, 2, -2, 1 }, 2);
    gradient("numbers of norm 10, limit 20", (const float[]){ 3, -4, 1, 1, 8, 2, -2, 1 }, 20);
    gradient("numbers of norm 10, limit 6", (const float[]){ 3, -4, 1, 1, 8, 2, -2, 1 }, 6);
    gradient("zeros, limit 1", (const float[]){ 0, 0, 0, 0, 0, 0, 0, 0 }, 1);
    gradient("numbers like 1e25, limit 1",
             (const float[]){ 1e25f, 0, 3e25f, 1, 2, -1e25f, 5e24f, 0 }, 1);
    return judge_end();
}
