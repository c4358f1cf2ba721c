void norm(int number, const float *x, float *y, int n);
void attention(const float *x, float *y, int n);
void net(const float *x, float *y, int n);
#include "../judge.h"

enum { MOST = 64, CALLS = 5, WIDTH = MOST + 1 };

// What was called, and with what: 0, 1 for the norms, 2 for attention, 3 for the net; then x.
static float calls[CALLS][WIDTH];
static int n_calls;

static void called(int what, const float *x, const float *y, int n)
{
    judge_holds(x != y, "in_place");
    judge_holds(n <= MOST && n > 0, "wrong_n");
    if (n_calls < CALLS) {
        calls[n_calls][0] = (float)(1 + what);
        memcpy(calls[n_calls] + 1, x, sizeof(float) * (size_t)n);
    }
    n_calls++;
}

// What the functions compute is of no importance, if no two orders of them give the same.
void norm(int number, const float *x, float *y, int n)
{
    double mean = 0, variance = 0;
    judge_holds(number == 0 || number == 1, "wrong_norm");
    called(number, x, y, n);
    for (int i = 0; i < n; i++) mean += (double)x[i] / n;
    for (int i = 0; i < n; i++)
        variance += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        y[i] = (float)(((double)x[i] - mean) / sqrt(variance + 1e-5) * (number + 1)
                       + (number ? -0.5 : 0.25));
}

void attention(const float *x, float *y, int n)
{
    called(2, x, y, n);
    for (int i = 0; i < n; i++) y[i] = x[(i + 1) % n] * 0.5f + x[i] * 0.125f;
}

void net(const float *x, float *y, int n)
{
    called(3, x, y, n);
    for (int i = 0; i < n; i++) y[i] = x[i] > 0 ? 1.5f * x[i] + 1 : 0.25f;
}

// Which call is the first that is not as it should be?
static void clues(void)
{
    static const char *const first_wrong[CALLS + 1] = { "not_norm_0", "not_attention", "not_norm_1",
        "not_the_net", "too_many_calls", "last_sum" };
    int call = 0;
    if (!judge_is_wrong(1e-5)) return;
    while (call < CALLS && judge_probe(1 + call, calls[call], WIDTH, 1e-5)) call++;
    judge_clue(1, first_wrong[call]);
}

static void numbers(const char *what, const float *from, int n)
{
    float *x = judge_room(n, 0);
    n_calls = 0;
    memset(calls, 0, sizeof calls);
    memcpy(x, from, sizeof(float) * (size_t)n);
    judge_case(what);
    block(x, n);
    judge_got_array("x", x, 1, n);
    judge_clue(!memcmp(x, from, sizeof(float) * (size_t)n), "unchanged");
    clues();
    judge_compare(1e-5);
}

static void judge_cases(void)
{
    float many[MOST];
    numbers("6 numbers", (const float[]){ 1, -2, 3, 0.5f, 4, -1 }, 6);
    numbers("9 numbers, large ones among them",
            (const float[]){ 100, -50, 3, 0, 0.25f, 20, -7, 8, 1 }, 9);
    for (int i = 0; i < MOST; i++) many[i] = (float)(i * i % 23) / 4 - 2;
    numbers("64 numbers", many, MOST);
}
