#include "../judge.h"
#include EXERCISE

enum { MOST = 256 };

enum { RIGHT, FLIPPED, WRAPPED, NO_BIAS, FIRST_CHANNEL, SWAPPED, FIRST_KERNEL, NO_PAD };

static float at(const float *x, sizes n, int c, int row, int column, int e)
{
    int inside = row >= 0 && row < n.h && column >= 0 && column < n.w;
    if (e == WRAPPED && c * n.h * n.w + row * n.w + column >= 0
        && c * n.h * n.w + row * n.w + column < n.c * n.h * n.w)
        inside = 1;
    return inside ? x[(c * n.h + row) * n.w + column] : 0;
}

static int compute(const float *x, const float *k, const float *bias, sizes n, int e, float *y)
{
    int rows = n.h + 2 * n.pad - n.s + 1, columns = n.w + 2 * n.pad - n.s + 1, at_y = 0;
    for (int o = 0; o < n.o; o++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++) {
                float sum = e == NO_BIAS ? 0 : bias[o];
                for (int c = 0; c < (e == FIRST_CHANNEL ? 1 : n.c); c++)
                    for (int u = 0; u < n.s; u++)
                        for (int v = 0; v < n.s; v++) {
                            int pad = e == NO_PAD ? 0 : n.pad;
                            int p = e == FLIPPED ? n.s - 1 - u : u,
                                q = e == FLIPPED ? n.s - 1 - v : v;
                            if (e == SWAPPED) {
                                p = v;
                                q = u;
                            }
                            int kernel = e == FIRST_KERNEL ? 0 : o;
                            sum += at(x, n, c, i + u - pad, j + v - pad, e)
                                * k[((kernel * n.c + c) * n.s + p) * n.s + q];
                        }
                y[at_y++] = sum;
            }
    return at_y;
}

static void image(const char *what, sizes n)
{
    static const struct {
        int e;
        const char *name, *sentence;
    } mistakes[] = {
        { FLIPPED, "flipped",
          "the kernel is turned upside down, as in mathematics. Nets do not turn it: "
          "k[o][c][u][v] meets x[c][i + u - pad][j + v - pad]." },
        { WRAPPED, "wrapped",
          "columns outside of the image read the neighboring row. Test rows and "
          "columns, each for itself." },
        { NO_PAD, "no_pad", "the kernel begins at (i,j), not pad rows and columns before it." },
        { NO_BIAS, "no_bias", "the bias is missing." },
        { FIRST_CHANNEL, "first_channel", "only channel 0 is summed; the sum runs over all." },
        { SWAPPED, "swapped", "rows and columns of the kernel have changed places." },
        { FIRST_KERNEL, "first_kernel",
          "all outputs use kernel 0; output o has kernels of its own." },
    };

    float x[MOST], k[MOST], bias[8], want[MOST], wrong[MOST];
    unsigned state = 3;
    for (int i = 0; i < MOST; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 24) / 16 - 8;
        state = state * 1664525u + 1013904223u;
        k[i] = (float)(state >> 24) / 64 - 2;
        if (i < 8) bias[i] = (float)(i + 1);
    }
    judge_case(what);
    int count = compute(x, k, bias, n, RIGHT, want);
    const size_t one = sizeof(float);
    float *own_x = judge_copy(x, one * (size_t)(n.c * n.h * n.w)), *y = judge_room(count + 1, 1000);
    float *own_k = judge_copy(k, one * (size_t)(n.o * n.c * n.s * n.s));
    float *own_bias = judge_copy(bias, one * (size_t)n.o);
    convolution(own_x, own_k, own_bias, y, n);
    free(own_x);
    free(own_k);
    free(own_bias);
    judge_got(y, count);
    for (unsigned e = 0; e < sizeof mistakes / sizeof *mistakes; e++) {
        compute(x, k, bias, n, mistakes[e].e, wrong);
        judge_mistake(mistakes[e].name, mistakes[e].sentence, wrong, count);
    }
    judge_want(want, count, 1e-4);
    judge_holds(y[count] == 1000, "past_the_end",
                "it writes behind the end of y: there are "
                "h + 2 pad - s + 1 rows and w + 2 pad - s + 1 columns.");
    free(y);
}

int main(void)
{
    judge_begin();
    image("one channel 5 x 6, one kernel 3 x 3", (sizes){ 1, 5, 6, 1, 3, 0 });
    image("three channels 4 x 5, two kernels 3 x 3, padding 1", (sizes){ 3, 4, 5, 2, 3, 1 });
    image("two channels 6 x 3, two kernels 2 x 2", (sizes){ 2, 6, 3, 2, 2, 0 });
    image("kernels 1 x 1", (sizes){ 3, 2, 2, 4, 1, 0 });
    return judge_end();
}
