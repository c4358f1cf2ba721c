// Convolutions of drawn geometry against their specification, bit for bit, with and without SIMD:
// elements of y are chains over (c,ky,kx), of dx over (o,ky,kx), of dw over the outputs of a set.
//     cc -O2 -I. tests/core/convolution.c -lm -pthread -o convolution && ./convolution
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include "tests/lib/convolution.h"
#include <stdlib.h>

enum { CASES = TEST_TIMES(300) };

static uint64_t n_drawn;

static int draw(int n) // 0 ... n - 1
{
    uint32_t bits[4];
    samba__philox(2026, n_drawn++, 0, bits);
    return (int)(bits[0] % (uint32_t)n);
}

static float *numbers(int n)
{
    float *x = (float *)malloc((size_t)n * sizeof *x);
    CHECK(x);
    for (int i = 0; x && i < n; i++)
        x[i] = (float)(draw(2001) - 1000) / 333.0f;
    return x;
}

static geometry draw_geometry(int number)
{
    geometry g = { 1 + draw(number % 5 ? 4 : 11),
                   1 + draw(2) * draw(3),
                   1 + draw(number % 10 ? 7 : 70),
                   1 + draw(number % 7 ? 9 : 40),
                   { 1, 1 },
                   { 1, 1 },
                   { 1, 1 },
                   { 1, 1 },
                   { 0, 0 },
                   { 1, 1 },
                   1,
                   number % 4 == 0 };
    for (int i = g.one ? 1 : 0; i < 2; i++) {
        g.kernel[i] = 1 + draw(number % 9 ? 5 : 12);
        g.stride[i] = 1 + draw(number % 6 ? 3 : 6);
        g.padding[i] = draw(4);
        g.dilation[i] = 1 + draw(2) * draw(3);
        int span = g.dilation[i] * (g.kernel[i] - 1) + 1;
        g.in[i] = span + draw(number % 3 ? 12 : 40);
        g.out[i] = (g.in[i] + 2 * g.padding[i] - span) / g.stride[i] + 1;
    }
    g.taps = g.kernel[0] * g.kernel[1];
    return g;
}

TEST_UNCHECKED static void naive_y(const geometry *g, const float *x, const float *w,
                                   const float *b, float *y)
{
    int plane = g->out[0] * g->out[1], channels = g->groups * g->og;
    for (int i = 0; i < g->images * channels * plane; i++) {
        int o = i / plane % channels;
        float sum = 0.0f;
        for (int c = 0; c < g->cg; c++)
            for (int t = 0; t < g->taps; t++)
                sum = samba__fma(
                    w[(o * g->cg + c) * g->taps + t],
                    met(g, x, i / plane / channels, o / g->og * g->cg + c, t, i % plane), sum);
        y[i] = sum + b[o];
    }
}

TEST_UNCHECKED static void naive_dx(const geometry *g, const float *dy, const float *w, float *dx)
{
    int channels = g->groups * g->cg, plane = g->in[0] * g->in[1];
    for (int i = 0; i < g->images * channels * plane; i++) {
        int c = i / plane % channels, image = i / plane / channels, at[2];
        float sum = 0.0f;
        for (int o = c / g->cg * g->og; o < (c / g->cg + 1) * g->og; o++) {
            for (int t = 0; t < g->taps; t++) {
                bool meets = true;
                for (int d = 0; d < 2; d++) {
                    int k = d == 0 ? t / g->kernel[1] : t % g->kernel[1];
                    at[d] = d == 0 ? i % plane / g->in[1] : i % g->in[1];
                    at[d] += g->padding[d] - k * g->dilation[d];
                    meets = meets && at[d] >= 0 && at[d] % g->stride[d] == 0;
                    at[d] /= g->stride[d];
                    meets = meets && at[d] < g->out[d];
                }
                if (!meets) continue;
                int row = (image * g->groups * g->og + o) * g->out[0] + at[0];
                sum = samba__fma(w[(o * g->cg + c % g->cg) * g->taps + t],
                                 dy[row * g->out[1] + at[1]], sum);
            }
        }
        dx[i] = sum;
    }
}

TEST_UNCHECKED static void naive_dw(const geometry *g, const float *x, const float *dy, float *dw)
{
    int channels = g->groups * g->og, n = channels * g->cg * g->taps, plane = g->out[0] * g->out[1];
    int sets = g->images < 8 ? g->images : 8;
    if (sets > (1 << 18) / n) sets = (1 << 18) / n;
    for (int i = 0; i < n; i++) {
        int o = i / g->taps / g->cg, c = o / g->og * g->cg + i / g->taps % g->cg;
        for (int set = 0; set < sets; set++) {
            float sum = 0.0f;
            for (int image = set; image < g->images; image += sets)
                for (int p = 0; p < plane; p++)
                    sum = samba__fma(dy[(image * channels + o) * plane + p],
                                     met(g, x, image, c, i % g->taps, p), sum);
            dw[i] = set == 0 ? sum : dw[i] + sum;
        }
    }
}

static void same(const geometry *g, const char *what, samba_tensor *t, const float *want)
{
    const float *got = t ? samba_read(t) : NULL;
    CHECK(got);
    for (int64_t i = 0; got && i < samba_count(&t->shape); i++) {
        if (!memcmp(got + i, want + i, sizeof *got)) continue;
        printf(
            "%s differs at %d: %.9g, not %.9g; images %d, groups %d of %d to %d, x %d x %d, w %d x %d, "
            "stride %d %d, padding %d %d, dilation %d %d\n",
            what, (int)i, (double)got[i], (double)want[i], g->images, g->groups, g->cg, g->og,
            g->in[0], g->in[1], g->kernel[0], g->kernel[1], g->stride[0], g->stride[1],
            g->padding[0], g->padding[1], g->dilation[0], g->dilation[1]);
        test_bad++;
        return;
    }
}

static void compare(const geometry *g, bool portable, int32_t threads, float *const data[4],
                    float *const want[3])
{
    samba_session *s = samba_open(&(samba_desc){ .threads = threads, .portable = portable });
    int first = g->one ? 1 : 0, x_channels = g->groups * g->cg, channels = g->groups * g->og;
    samba_conv_opts opts = { { g->stride[first], g->stride[1] },
                             { g->padding[first], g->padding[1] },
                             { g->dilation[first], g->dilation[1] },
                             g->groups };
    samba_shape x_shape = shape_of(g, g->images, x_channels, g->in);
    samba_shape w_shape = shape_of(g, channels, g->cg, g->kernel);
    samba_tensor *x = samba_from_data_copy(s, "x", SAMBA_F32, x_shape, data[0]);
    samba_tensor *w = samba_from_data_copy(s, "w", SAMBA_F32, w_shape, data[1]);
    samba_tensor *b = samba_from_data_copy(s, "b", SAMBA_F32, SAMBA_SHAPE(channels), data[2]);
    samba_tensor *dy = samba_from_data_copy(s, "dy", SAMBA_F32,
                                            shape_of(g, g->images, channels, g->out), data[3]);
    s->modes.tracing = false; // compute at once
    same(g, "y", samba_convolution(x, w, b, &opts), want[0]);
    same(g, "dx", samba_convolution_backward_input(dy, w, x_shape, &opts), want[1]);
    same(g, "dw", samba_convolution_backward_weight(x, dy, w_shape, &opts), want[2]);
    CHECK(samba_close(s) == 0);
}

// Kernels that span more of x than a thread's memory holds; strides above what they go over, so
// that parts of dx, or all, meet nothing; more rows than fit beside a copy; images of one column,
// which are taken as rows.
static const geometry special[] = {
    { 2, 1, 2, 3, { 601, 600 }, { 11, 10 }, { 2, 2 }, { 1, 1 }, { 0, 0 }, { 590, 590 }, 4, false },
    { 1, 1, 2, 3, { 601, 600 }, { 4, 5 }, { 2, 2 }, { 3, 2 }, { 0, 0 }, { 590, 591 }, 4, false },
    { 2, 1, 2, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, 1, false },
    { 2, 2, 1, 2, { 2, 5 }, { 1, 2 }, { 2, 2 }, { 7, 3 }, { 0, 0 }, { 1, 1 }, 4, false },
    { 1, 1, 300, 2, { 40, 41 }, { 20, 21 }, { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1 }, 9, false },
    { 1, 1, 3, 40, { 32, 32 }, { 2, 2 }, { 16, 16 }, { 16, 16 }, { 0, 0 }, { 1, 1 }, 256, false },
    { 2, 2, 5, 7, { 41, 1 }, { 21, 1 }, { 5, 1 }, { 2, 3 }, { 4, 0 }, { 2, 2 }, 5, false },
    { 3, 1, 70, 40, { 97, 1 }, { 93, 1 }, { 5, 1 }, { 1, 1 }, { 0, 0 }, { 1, 1 }, 5, false },
};

enum { N_SPECIAL = sizeof special / sizeof *special };

static void every_bit(void)
{
    for (int i = 0; i < CASES; i++) {
        geometry g = i < N_SPECIAL ? special[i] : draw_geometry(i);
        int n_x = g.images * g.groups * g.cg * g.in[0] * g.in[1],
            n_w = g.groups * g.og * g.cg * g.taps;
        int n_y = g.images * g.groups * g.og * g.out[0] * g.out[1];
        float *data[4] = { numbers(n_x), numbers(n_w), numbers(g.groups * g.og), numbers(n_y) };
        float *want[3] = { numbers(n_y), numbers(n_x), numbers(n_w) };
        naive_y(&g, data[0], data[1], data[2], want[0]);
        naive_dx(&g, data[3], data[1], want[1]);
        naive_dw(&g, data[0], data[3], want[2]);
        compare(&g, false, 1 + i % 3, data, want);
        compare(&g, true, 1, data, want);
        for (int k = 0; k < 4; k++)
            free(data[k]);
        for (int k = 0; k < 3; k++)
            free(want[k]);
    }
}

// The largest of each window, the first of equal ones, the last NaN; dy goes there. Windows that
// fill x without overlap have code of their own: ties, zeros of both signs, and what is no number.
static void max_pooling(void)
{
    static const float odd[] = { 0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 2.0f };
    for (int i = 0; i < TEST_TIMES(200); i++) {
        int planes = 1 + draw(5), kernel = i % 4 ? 2 : 1 + draw(3),
            stride = i % 4 ? 2 : 1 + draw(3), H, W;
        do {
            H = kernel + draw(20);
            W = kernel + draw(40);
        } while (i % 4 == 1 && (H % 2 || W % 2));
        int oh = (H - kernel) / stride + 1, ow = (W - kernel) / stride + 1;
        float *x = numbers(planes * H * W), *dy = numbers(planes * oh * ow),
              *want = numbers(planes * oh * ow);
        float *dx = (float *)calloc((size_t)(planes * H * W), sizeof *dx);
        for (int k = 0; k < planes * H * W; k++)
            if (i % 2) x[k] = odd[draw(i % 3 ? 4 : 8)];
        for (int o = 0; o < planes * oh * ow; o++) {
            const int top = o / ow / oh * H + o / ow % oh * stride, left = o % ow * stride;
            int at = top * W + left;
            for (int k = 0; k < kernel * kernel; k++) {
                int next = (top + k / kernel) * W + left + k % kernel;
                if (x[next] > x[at] || x[next] != x[next]) at = next;
            }
            want[o] = x[at];
            dx[at] += dy[o];
        }
        for (int variant = 0; variant < 2; variant++) {
            samba_session *s
                = samba_open(&(samba_desc){ .threads = 1 + i % 3, .portable = variant == 1 });
            samba_tensor *t = samba_from_data_copy(s, "x", SAMBA_F32, SAMBA_SHAPE(planes, H, W), x);
            samba_tensor *d
                = samba_from_data_copy(s, "dy", SAMBA_F32, SAMBA_SHAPE(planes, oh, ow), dy);
            samba_tensor *y = samba_max_pool2d(
                t, &(samba_pool_opts){ .kernel = { kernel }, .stride = { stride, stride } });
            samba_tensor *loss = samba_sum(samba_mul(y, d), SAMBA_ALL_AXES, false),
                         *g = samba_grad(loss, t);
            CHECK(samba_compile(s, &(samba_program){ .outputs = { y, g }, .inference = true })
                  && samba_run(s, 0));
            CHECK(!memcmp(samba_read(y), want, sizeof *want * (size_t)(planes * oh * ow)));
            CHECK(!memcmp(samba_read(g), dx, sizeof *dx * (size_t)(planes * H * W)));
            if (test_bad)
                printf("    %d planes of %d x %d, kernel %d, stride %d\n", planes, H, W, kernel,
                       stride);
            CHECK(samba_close(s) == 0);
        }
        free(x);
        free(dy);
        free(want);
        free(dx);
    }
}

int main(void)
{
    RUN(every_bit);
    RUN(max_pooling);
    return test_summary();
}
