#include "../judge.h"

void norm(int number, const float *x, float *y, int n);
void attention(const float *x, float *y, int n);
void net(const float *x, float *y, int n);

static void not_in_place(const float *x, const float *y)
{
    judge_holds(x != y, "in_place",
                "x and y of norm, attention and net are the same array: they need two.");
}

// What the functions compute is of no importance, if no two orders of them give the same.
void norm(int number, const float *x, float *y, int n)
{
    double mean = 0, variance = 0;
    not_in_place(x, y);
    for (int i = 0; i < n; i++)
        mean += (double)x[i] / n;
    for (int i = 0; i < n; i++)
        variance += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        y[i] = (float)(((double)x[i] - mean) / sqrt(variance + 1e-5) * (number + 1)
                       + (number ? -0.5 : 0.25));
}

void attention(const float *x, float *y, int n)
{
    not_in_place(x, y);
    for (int i = 0; i < n; i++)
        y[i] = x[(i + 1) % n] * 0.5f + x[i] * 0.125f;
}

void net(const float *x, float *y, int n)
{
    not_in_place(x, y);
    for (int i = 0; i < n; i++)
        y[i] = x[i] > 0 ? 1.5f * x[i] + 1 : 0.25f;
}

#include EXERCISE

enum { MOST = 16 };

enum {
    RIGHT,
    POST_NORM,
    FROM_NORMED,
    NO_RESIDUAL,
    NO_NORM,
    PARALLEL,
    ONE_NORM,
    SWAPPED,
    NORM_OF_BRANCH,
    SECOND_FROM_FIRST,
    NO_SECOND
};

static const struct {
    int e;
    const char *name, *sentence;
} mistakes[] = {
    { POST_NORM, "post_norm",
      "this is post-norm: the sum is normalized. Here the norm stands before the branch, and "
      "nothing after the sum." },
    { FROM_NORMED, "added_to_normed",
      "the branch is added to the normalized x. It is added to x itself, so that additions alone "
      "lead through the block." },
    { NO_RESIDUAL, "no_residual",
      "the branch replaces x: x is not added. Each branch adds to what was there." },
    { NO_NORM, "no_norm", "the branches read x itself; they read it through norm 0 and norm 1." },
    { PARALLEL, "parallel",
      "the net reads the x from before attention. It reads what the first line has made of it." },
    { ONE_NORM, "one_norm", "both branches use norm 0; the second one has a norm of its own." },
    { SWAPPED, "swapped", "the net comes first here; attention does." },
    { NORM_OF_BRANCH, "norm_of_branch",
      "the norm is taken of what the branch wrote. It belongs before the branch." },
    { SECOND_FROM_FIRST, "not_normed_again",
      "the net reads what norm 0 wrote of the old x. Take norm 1 of the new x first." },
    { NO_SECOND, "half", "this is the first line alone; the net and its norm are missing." },
};

// x += branch(norm(x)), or what is mistaken for it.
static void half(void (*branch)(const float *, float *, int), int number, float *x, int n, int e)
{
    float a[MOST], b[MOST];
    const float *in = x;
    if (e == ONE_NORM) number = 0;
    if (e != POST_NORM && e != NO_NORM && e != NORM_OF_BRANCH) {
        norm(number, x, a, n);
        in = a;
    }
    branch(in, b, n);
    if (e == NORM_OF_BRANCH) {
        norm(number, b, a, n);
        memcpy(b, a, sizeof b);
    }
    for (int i = 0; i < n; i++) {
        float from = e == FROM_NORMED ? a[i] : x[i];
        x[i] = (e == NO_RESIDUAL ? 0 : from) + b[i];
    }
    if (e == POST_NORM) {
        norm(number, x, a, n);
        memcpy(x, a, sizeof(float) * (size_t)n);
    }
}

static void compute(const float *from, int n, int e, float *x)
{
    float old[MOST], a[MOST] = { 0 }, b[MOST];
    memcpy(old, from, sizeof(float) * (size_t)n);
    memcpy(x, from, sizeof(float) * (size_t)n);
    if (e == SWAPPED) {
        half(net, 0, x, n, e);
        half(attention, 1, x, n, e);
        return;
    }
    half(attention, 0, x, n, e);
    if (e == PARALLEL || e == SECOND_FROM_FIRST) {
        norm(e == PARALLEL ? 1 : 0, old, a, n);
        net(a, b, n);
        for (int i = 0; i < n; i++)
            x[i] += b[i];
        return;
    }
    if (e != NO_SECOND) half(net, 1, x, n, e);
}

static void numbers(const char *what, const float *from, int n)
{
    float want[MOST], wrong[MOST], *x = judge_room(n, 0);
    memcpy(x, from, sizeof(float) * (size_t)n);
    judge_case(what);
    block(x, n);
    judge_got(x, n);
    compute(from, n, RIGHT, want);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(from, n, mistakes[i].e, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, n);
    }
    judge_want(want, n, 1e-5);
    free(x);
}

int main(void)
{
    judge_begin();
    numbers("6 numbers", (const float[]){ 1, -2, 3, 0.5f, 4, -1 }, 6);
    numbers("9 numbers, large ones among them",
            (const float[]){ 100, -50, 3, 0, 0.25f, 20, -7, 8, 1 }, 9);
    return judge_end();
}
