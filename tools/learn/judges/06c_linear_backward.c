#include "../judge.h"
#include EXERCISE

enum { MOST = 32 };

// A layer in double: x, W and bias in one row of numbers, so that differences reach all of them.
static int B, n, m;
static float dy[MOST];

static double loss(const double *p)
{
    const double *x = p, *W = p + B * n, *bias = W + m * n;
    double sum = 0;
    for (int b = 0; b < B; b++)
        for (int o = 0; o < m; o++) {
            double y = bias[o];
            for (int i = 0; i < n; i++)
                y += x[b * n + i] * W[o * n + i];
            sum += (double)dy[b * m + o] * y;
        }
    return sum;
}

static void differences(double *p, float *out)
{
    int count = B * n + m * n + m;
    for (int k = 0; k < count; k++) {
        const double kept = p[k], h = 1e-3;
        p[k] = kept + h;
        double high = loss(p);
        p[k] = kept - h;
        out[k] = (float)((high - loss(p)) / (2 * h));
        p[k] = kept;
    }
}

enum { ASSIGNED, MEAN, W_TRANSPOSED, DW_TRANSPOSED, SUM_OF_BATCH };

static void with_error(const double *p, int e, float *out)
{
    const double *x = p, *W = p + B * n;
    float *dx = out, *dW = out + B * n, *db = dW + m * n;
    for (int k = 0; k < B * n + m * n + m; k++)
        out[k] = 0;
    for (int b = 0; b < B; b++)
        for (int o = 0; o < m; o++) {
            double d = (double)dy[b * m + o];
            for (int i = 0; i < n; i++) {
                int at = e == DW_TRANSPOSED ? i * m + o : o * n + i;
                double part = d * W[e == W_TRANSPOSED ? i * m + o : o * n + i];
                double weight = d * x[b * n + i] / (e == MEAN ? B : 1);
                if (e == ASSIGNED) dx[b * n + i] = dW[at] = 0;
                dx[b * n + i] += (float)part;
                dW[at] += (float)weight;
            }
            if (e == ASSIGNED) db[o] = 0;
            db[o] += (float)(d / (e == MEAN ? B : 1));
        }
}

static const struct {
    const char *name, *sentence;
    int e;
} of_dx[] = {
    { "dx_assigned",
      "dx has the last output alone: x[b][i] was used by all outputs, and each adds its part.",
      ASSIGNED },
    { "W_transposed",
      "dx is computed with W as if it were (n,m). W[o][i] lies at o n + i, forward and backward.",
      W_TRANSPOSED },
}, of_dW[] = {
    { "dW_assigned",
      "dW has the last row of the batch alone: each row used the same weights, and each adds its "
      "part.",
      ASSIGNED },
    { "divided_by_B",
      "dW is divided by B. The 1/B of the mean is in dy already, from the loss.", MEAN },
    { "dW_transposed",
      "dW has the right numbers in the order (n,m). It has the shape of W: dW[o][i] lies at o n + "
      "i.",
      DW_TRANSPOSED },
}, of_bias[] = {
    { "dbias_assigned",
      "dbias has the last row of the batch alone: the bias was added to each row.", ASSIGNED },
    { "divided_by_B", "dbias is divided by B. The 1/B of the mean is in dy already.", MEAN },
};

// One of the three: got, right, and the wrong ones from number `from` of all derivatives on.
static float wrong[5][3 * MOST];

static void part(const char *what, const float *got, const float *want, int from, int count)
{
    float dirty[MOST];
    judge_case(what);
    judge_got(got, count);
    for (int k = 0; k < count; k++)
        dirty[k] = want[k] + 1000;
    judge_mistake("not_zeroed",
                  "the sums are right, but they were added to what was there before. Set all three "
                  "to zero first.",
                  dirty, count);
    for (unsigned i = 0; i < 3; i++) {
        if (what[1] == 'x' && i < 2)
            judge_mistake(of_dx[i].name, of_dx[i].sentence, wrong[of_dx[i].e] + from, count);
        if (what[1] == 'W')
            judge_mistake(of_dW[i].name, of_dW[i].sentence, wrong[of_dW[i].e] + from, count);
        if (what[1] == 'b' && i < 2)
            judge_mistake(of_bias[i].name, of_bias[i].sentence, wrong[of_bias[i].e] + from, count);
    }
    judge_want(want, count, 1e-5);
}

static void layer(const int *size)
{
    B = size[0];
    n = size[1];
    m = size[2];
    double p[3 * MOST];
    float want[3 * MOST];
    float *x = judge_room(B * n, 0), *W = judge_room(m * n, 0), *d = judge_room(B * m, 0);
    float *dx = judge_room(B * n, 1000), *dW = judge_room(m * n, 1000), *db = judge_room(m, 1000);
    for (int k = 0; k < B * n; k++)
        p[k] = (double)(x[k] = (float)((k * 29 + 3) % 17) / 4 - 2);
    for (int k = 0; k < m * n; k++)
        p[B * n + k] = (double)(W[k] = (float)((k * 23 + 5) % 19) / 8 - 1);
    for (int k = 0; k < m; k++)
        p[B * n + m * n + k] = k;
    for (int k = 0; k < B * m; k++)
        dy[k] = d[k] = (float)((k * 31 + 9) % 13) / 4 - 1.125f;
    differences(p, want);
    for (int e = 0; e < SUM_OF_BATCH; e++)
        with_error(p, e, wrong[e]);
    linear_backward(x, W, d, dx, dW, db, B, n, m);
    char what[3][60];
    const char *names[] = { "dx", "dW", "dbias" };
    for (int i = 0; i < 3; i++)
        snprintf(what[i], sizeof what[i], "%s for B %d, n %d, m %d", names[i], B, n, m);
    part(what[0], dx, want, 0, B * n);
    part(what[1], dW, want + B * n, B * n, m * n);
    part(what[2], db, want + B * n + m * n, B * n + m * n, m);
    float *all[] = { x, W, d, dx, dW, db };
    for (int i = 0; i < 6; i++)
        free(all[i]);
}

int main(void)
{
    judge_begin();
    layer((const int[]){ 3, 2, 4 });
    layer((const int[]){ 2, 5, 3 });
    layer((const int[]){ 4, 3, 3 });
    layer((const int[]){ 1, 1, 1 });
    return judge_end();
}
