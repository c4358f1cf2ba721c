#include "../judge.h"

void norm(int number, const float *x, float *y, int n);
void attention(const float *x, float *y, int n);
void net(const float *x, float *y, int n);

enum { MOST = 64, CALLS = 8 };

// What was called, and with what: '0', '1' for the norms, 'A', 'N' for the branches.
static struct {
    char what;
    float x[MOST];
} calls[CALLS], right_calls[CALLS];
static int n_calls;

static void called(char what, const float *x, const float *y, int n)
{
    judge_holds(x != y, "in_place",
                "x and y of norm, attention and net are the same array: they need two.");
    judge_holds(n <= MOST && n > 0, "wrong_n", "a function is called with another n.");
    if (n_calls < CALLS) {
        calls[n_calls].what = what;
        memcpy(calls[n_calls].x, x, sizeof(float) * (size_t)n);
    }
    n_calls++;
}

// What the functions compute is of no importance, if no two orders of them give the same.
void norm(int number, const float *x, float *y, int n)
{
    double mean = 0, variance = 0;
    judge_holds(number == 0 || number == 1, "wrong_norm", "there are norm 0 and norm 1 only.");
    called(number ? '1' : '0', x, y, n);
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
    called('A', x, y, n);
    for (int i = 0; i < n; i++)
        y[i] = x[(i + 1) % n] * 0.5f + x[i] * 0.125f;
}

void net(const float *x, float *y, int n)
{
    called('N', x, y, n);
    for (int i = 0; i < n; i++)
        y[i] = x[i] > 0 ? 1.5f * x[i] + 1 : 0.25f;
}

#include EXERCISE

// A block as steps between the arrays x, a, b, c. Each has a letter, from, and to: 0 and 1 are the
// norms, A attention, N the net; + adds, - subtracts, = copies; 2 doubles.
static const char *const right_steps = "0xa Aab +bx 1xa Nab +bx";

static const struct {
    const char *steps, *name, *sentence;
} mistakes[] = {
    { "Axb +bx 0xa =ax Nxb +bx 1xa =ax", "post_norm",
      "this is post-norm: the sum is normalized. Here the norm stands before the branch, and "
      "nothing after the sum." },
    { "0xa Aab =ax +bx 1xa Nab =ax +bx", "added_to_normed",
      "the branch is added to the normalized x. It is added to x itself, so that additions alone "
      "lead through the block." },
    { "0xa Aab =ax +bx 1xa Nab +bx", "added_to_normed",
      "attention is added to the normalized x. It is added to x itself." },
    { "0xa Aab +bx 1xa Nab =ax +bx", "added_to_normed",
      "the net is added to the normalized x. It is added to x itself." },
    { "0xa Aab =bx 1xa Nab =bx", "no_residual",
      "the branch replaces x: x is not added. Each branch adds to what was there." },
    { "0xa Aab =bx 1xa Nab +bx", "first_replaces",
      "what attention wrote replaces x. It is added to x." },
    { "0xa Aab +bx 1xa Nab =bx", "second_replaces", "what the net wrote replaces x. It is added." },
    { "=xc 0xa Aab =bx 1xa Nab +cb =bx", "one_sum",
      "there is one sum around both branches. Each has its own: the net reads norm 1 of x + "
      "attention." },
    { "=xc 0xa Aab +bx 1xa Nab +bc =cx", "second_from_old",
      "the net is added to the x from before attention, so that attention's share is lost. Add it "
      "to the x of the line before." },
    { "=xc 0xa Aab +bx 1xa Nab +bx +cx", "old_added_again",
      "the x from the beginning is added once more: it is in the x of the first line already." },
    { "0xa Aab +bx 1xa Nab +bx +bx", "twice", "what the net wrote is added twice." },
    { "0xa Aab 2xx +bx 1xa Nab 2xx +bx", "doubled",
      "x is added to itself, too: x += branch, or x = x + branch, but not x += x + branch." },
    { "0xa Aab -bx 1xa Nab -bx", "subtracted", "the branches are subtracted; they are added." },
    { "Axb +bx Nxb +bx", "no_norm",
      "the branches read x itself; they read it through norm 0 and norm 1." },
    { "Axb +bx 1xa Nab +bx", "no_first_norm", "attention reads x itself, and not norm 0 of it." },
    { "0xa Aab +bx Nxb +bx", "no_second_norm", "the net reads x itself, and not norm 1 of it." },
    { "0xa 1xc Aab +bx Ncb +bx", "parallel",
      "the net reads the x from before attention. It reads what the first line has made of it." },
    { "0xa Aab +bx 0xa Nab +bx", "one_norm",
      "both branches use norm 0; the second one has a norm of its own." },
    { "1xa Aab +bx 1xa Nab +bx", "one_norm",
      "both branches use norm 1; the first one has norm 0." },
    { "1xa Aab +bx 0xa Nab +bx", "norms_swapped",
      "norm 0 and norm 1 have changed places: norm 0 belongs to attention." },
    { "0xa Nab +bx 1xa Aab +bx", "swapped", "the net comes first here; attention does." },
    { "1xa Nab +bx 0xa Aab +bx", "swapped", "the net comes first here; attention does." },
    { "0xa Aab +bx 1xa Aab +bx", "attention_twice", "the second branch is attention, too." },
    { "0xa Nab +bx 1xa Nab +bx", "net_twice", "the first branch is the net, too." },
    { "Axa 0ab +bx Nxa 1ab +bx", "norm_of_branch",
      "the norm is taken of what the branch wrote. It belongs before the branch." },
    { "0xa Aab +bx Nab +bx", "not_normed_again",
      "the net reads what norm 0 wrote of the old x. Take norm 1 of the new x first." },
    { "0xa Aab +bx 1ba Nab +bx", "norm_of_attention",
      "norm 1 gets what attention wrote, alone. It gets the new x, which is the sum." },
    { "0xa Aab +bx 1ac Ncb +bx", "norm_of_norm",
      "norm 1 gets what norm 0 wrote. It gets the new x." },
    { "0xa Aab +bx Nbc +cx", "net_of_attention",
      "the net reads what attention wrote, alone. It reads norm 1 of the new x." },
    { "0xa Aab +bx", "half", "this is the first line alone; the net and its norm are missing." },
    { "1xa Nab +bx", "second_half", "this is the second line alone; attention is missing." },
    { "0xa Aab +bx 1xa Nab +bx 1xa =ax", "norm_at_the_end",
      "the result is normalized once more. Nothing comes behind the last sum." },
};

static void step(const char *s, float array[4][MOST], int n)
{
    const float *from = array[s[1] == 'x' ? 3 : s[1] - 'a'];
    float *to = array[s[2] == 'x' ? 3 : s[2] - 'a'];
    if (*s == '0' || *s == '1') norm(*s - '0', from, to, n);
    if (*s == 'A') attention(from, to, n);
    if (*s == 'N') net(from, to, n);
    for (int i = 0; i < n; i++) {
        if (*s == '+') to[i] += from[i];
        if (*s == '-') to[i] -= from[i];
        if (*s == '=') to[i] = from[i];
        if (*s == '2') to[i] *= 2;
    }
}

static void compute(const float *from, int n, const char *steps, float *x)
{
    float array[4][MOST] = { { 0 } };
    n_calls = 0;
    memcpy(array[3], from, sizeof(float) * (size_t)n);
    for (const char *s = steps; *s; s += s[3] ? 4 : 3)
        step(s, array, n);
    memcpy(x, array[3], sizeof(float) * (size_t)n);
}

static const char *const clues[6][2] = {
    { "not_norm_0", "the first call is not norm 0 of x, as x was at the beginning." },
    { "not_attention", "the second call is not attention of what norm 0 wrote." },
    { "not_norm_1", "the third call is not norm 1 of x + what attention wrote." },
    { "not_the_net", "the fourth call is not the net of what norm 1 wrote." },
    { "last_sum",
      "norms, attention and net get what they should. The last sum is wrong: x of the first line + "
      "what the net wrote." },
    { "too_many_calls", "the first four calls are right, and there are more of them." },
};

// The number of the first call that is not the right one, 4 if all are right, 5 if there are more.
static int first_wrong_call(int count, int n)
{
    for (int c = 0; c < 4; c++) {
        if (c >= count || calls[c].what != right_calls[c].what) return c;
        for (int i = 0; i < n; i++)
            if (!judge_close((double)calls[c].x[i], (double)right_calls[c].x[i], 1e-5)) return c;
    }
    return count > 4 ? 5 : 4;
}

static void numbers(const char *what, const float *from, int n)
{
    float want[MOST], wrong[MOST], *x = judge_room(n, 0);
    judge_case(what);
    compute(from, n, right_steps, want);
    memcpy(right_calls, calls, sizeof calls);
    n_calls = 0;
    memcpy(x, from, sizeof(float) * (size_t)n);
    block(x, n);
    int call = first_wrong_call(n_calls, n);
    judge_got(x, n);
    judge_part("x", 1, n);
    for (unsigned i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        compute(from, n, mistakes[i].steps, wrong);
        judge_mistake(mistakes[i].name, mistakes[i].sentence, wrong, n);
    }
    judge_clue(!memcmp(x, from, sizeof(float) * (size_t)n), "unchanged",
               "x is as it was: the sums go to x itself.");
    judge_clue(1, clues[call][0], clues[call][1]);
    judge_want(want, n, 1e-5);
    free(x);
}

int main(void)
{
    float many[MOST];
    judge_begin();
    numbers("6 numbers", (const float[]){ 1, -2, 3, 0.5f, 4, -1 }, 6);
    numbers("9 numbers, large ones among them",
            (const float[]){ 100, -50, 3, 0, 0.25f, 20, -7, 8, 1 }, 9);
    for (int i = 0; i < MOST; i++)
        many[i] = (float)(i * i % 23) / 4 - 2;
    numbers("64 numbers", many, MOST);
    return judge_end();
}
