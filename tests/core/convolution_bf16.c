// Convolutions in bf16 of drawn geometry against their definition, bit for bit, on every
// instruction set and with any threads; those of a traced net against double; and their bits, which
// are the same on a small device and however a batch is cut.
//     cc -O2 -I. tests/core/convolution_bf16.c -lm -pthread -o convolution_bf16 && ./convolution_bf16
#define SAMBA_IMPLEMENTATION
#include "samba.h"
#include "tests/lib/test.h"
#include "tests/lib/convolution.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(SAMBA_TILE_TWIN) // the twin of a matrix unit is slow: tests/core/tiles.sh
enum { TWIN = 1, CASES = TEST_TIMES(60) };
#else
enum { TWIN = 0, CASES = TEST_TIMES(240) };
#endif

static uint64_t n_drawn;

static int draw(int n) // 0 ... n - 1
{
    uint32_t bits[4];
    samba__philox(1937, n_drawn++, 0, bits);
    return (int)(bits[0] % (uint32_t)n);
}

// ---- Values ----
typedef enum kind { USUAL, TINY, ANY, ODD, N_KINDS } kind;

static float number(kind of)
{
    static const float odd[] = { INFINITY, -INFINITY, NAN, -0.0f, 1e-40f, 3e38f };
    float x = (float)(draw(2001) - 1000) / 333.0f;
    if (of == TINY) return x * (draw(2) ? 1e-19f : 3e-20f); // products underflow
    if (of == ANY && draw(4) == 0) {
        uint32_t bits = (uint32_t)draw(65536) << 16 | (uint32_t)draw(65536);
        return (bits >> 23 & 255) == 255 ? 0.0f : samba__bits_float(bits & 0xBFFFFFFFu);
    }
    return of == ODD && draw(40) == 0 ? odd[draw(6)] : x;
}

static float *numbers(int n, kind of)
{
    float *x = (float *)malloc((size_t)n * sizeof *x);
    CHECK(x);
    for (int i = 0; x && i < n; i++)
        x[i] = number(of);
    return x;
}

static uint16_t half_of(float x)
{
    uint16_t half;
    samba__store(&half, &x, SAMBA_BF16, 1);
    return half;
}

static uint16_t *halves_of(const float *x, int n)
{
    uint16_t *y = (uint16_t *)malloc((size_t)n * sizeof *y);
    CHECK(y);
    for (int i = 0; y && i < n; i++)
        y[i] = half_of(x[i]);
    return y;
}

// As an operand: rounded to bf16, and then subnormals are zero.
static float operand(float x)
{
    if (samba__abs(x) < SAMBA__LEAST_NORMAL) return x * 0.0f;
    return samba__bits_float((uint32_t)half_of(x) << 16);
}

// ---- Geometry ----
static geometry complete(geometry g)
{
    for (int i = 0; i < 2; i++) {
        int span = g.dilation[i] * (g.kernel[i] - 1) + 1;
        g.out[i] = (g.in[i] + 2 * g.padding[i] - span) / g.stride[i] + 1;
    }
    g.taps = g.kernel[0] * g.kernel[1];
    return g;
}

// Channels and kernels that need several blocks of 32 steps, tiles of channels and tiles of rows.
static geometry draw_geometry(int number)
{
    geometry g = { 1 + draw(number % 5 ? 3 : 11),
                   1 + draw(2) * draw(3),
                   1 + draw(number % 10 ? 7 : 90),
                   1 + draw(number % 7 ? 9 : 40),
                   { 1, 1 },
                   { 1, 1 },
                   { 1, 1 },
                   { 1, 1 },
                   { 0, 0 },
                   { 1, 1 },
                   1,
                   number % 4 == 0 };
    if (number % 11 == 0) { // depthwise
        g.groups = 1 + draw(9);
        g.cg = g.og = 1;
    }
    for (int i = g.one ? 1 : 0; i < 2; i++) {
        g.kernel[i] = 1 + draw(number % 9 ? 4 : 9);
        g.stride[i] = 1 + draw(number % 6 ? 3 : 6);
        g.padding[i] = draw(4);
        g.dilation[i] = 1 + draw(2) * draw(3);
        g.in[i] = g.dilation[i] * (g.kernel[i] - 1) + 1 + draw(number % 3 ? 12 : 30);
    }
    return complete(g);
}

// Tiles cut the channels of y and dx, and the rows of dw; kernels that span more of x than a
// thread's memory holds; parts of dx that meet nothing.
static const geometry special[] = {
    { 1, 1, 300, 9, { 40, 41 }, { 0, 0 }, { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1 }, 0, false },
    { 1, 1, 9, 150, { 33, 35 }, { 0, 0 }, { 3, 3 }, { 2, 1 }, { 1, 1 }, { 1, 1 }, 0, false },
    { 1, 1, 20, 3, { 90, 91 }, { 0, 0 }, { 5, 3 }, { 1, 1 }, { 2, 1 }, { 1, 1 }, 0, false },
    { 1, 1, 2, 3, { 601, 600 }, { 0, 0 }, { 2, 2 }, { 1, 1 }, { 0, 0 }, { 590, 590 }, 0, false },
    { 2, 2, 1, 2, { 2, 5 }, { 0, 0 }, { 2, 2 }, { 7, 3 }, { 0, 0 }, { 1, 1 }, 0, false },
    { 1, 1, 3, 40, { 32, 32 }, { 0, 0 }, { 16, 16 }, { 16, 16 }, { 0, 0 }, { 1, 1 }, 0, false },
};

enum { N_SPECIAL = sizeof special / sizeof *special };

static void print_geometry(const geometry *g)
{
    printf(
        "    images %d, groups %d of %d to %d, x %d x %d, w %d x %d, stride %d %d, padding %d %d, "
        "dilation %d %d\n",
        g->images, g->groups, g->cg, g->og, g->in[0], g->in[1], g->kernel[0], g->kernel[1],
        g->stride[0], g->stride[1], g->padding[0], g->padding[1], g->dilation[0], g->dilation[1]);
}

// ---- The definition ----
// Sums of products in blocks of 32 steps: of each the even ones and the odd ones.
typedef struct sums {
    float total, chain[2];
    int step;
} sums;

static void end_block(sums *s)
{
    if (s->step > 0) {
        float both = samba__flush(s->chain[0] + s->chain[1]);
        s->total = samba__flush(s->total + both);
    }
    s->chain[0] = s->chain[1] = 0.0f;
    s->step = 0;
}

static void add_product(sums *s, float a, float b)
{
    float *chain = &s->chain[s->step % 2];
    *chain = samba__fma_flushed(a, b, *chain);
    if (++s->step == 32) end_block(s);
}

TEST_UNCHECKED static void define_y(const geometry *g, const float *x, const float *w,
                                    const float *b, float *y)
{
    int plane = g->out[0] * g->out[1], channels = g->groups * g->og;
    for (int i = 0; i < g->images * channels * plane; i++) {
        int o = i / plane % channels;
        sums s = { 0, { 0, 0 }, 0 };
        for (int c = 0; c < g->cg; c++)
            for (int t = 0; t < g->taps; t++)
                add_product(&s, w[(o * g->cg + c) * g->taps + t],
                            met(g, x, i / plane / channels, o / g->og * g->cg + c, t, i % plane));
        end_block(&s);
        y[i] = s.total + b[o];
    }
}

// Of the element (row, column) of dx all taps that can meet a dy count, as if dy had zeros around.
TEST_UNCHECKED static void define_dx(const geometry *g, const float *dy, const float *w, float *dx)
{
    int channels = g->groups * g->cg, plane = g->in[0] * g->in[1];
    for (int i = 0; i < g->images * channels * plane; i++) {
        int c = i / plane % channels, image = i / plane / channels, at[2];
        sums s = { 0, { 0, 0 }, 0 };
        for (int o = c / g->cg * g->og; o < (c / g->cg + 1) * g->og; o++) {
            for (int t = 0; t < g->taps; t++) {
                bool meets = true, inside = true;
                for (int d = 0; d < 2; d++) {
                    int k = d == 0 ? t / g->kernel[1] : t % g->kernel[1];
                    at[d] = d == 0 ? i % plane / g->in[1] : i % g->in[1];
                    at[d] += g->padding[d] - k * g->dilation[d];
                    meets = meets && at[d] % g->stride[d] == 0;
                    inside = inside && at[d] >= 0 && at[d] / g->stride[d] < g->out[d];
                    at[d] /= g->stride[d];
                }
                if (!meets) continue;
                int row = (image * g->groups * g->og + o) * g->out[0] + at[0];
                add_product(&s, w[(o * g->cg + c % g->cg) * g->taps + t],
                            inside ? dy[row * g->out[1] + at[1]] : 0.0f);
            }
        }
        end_block(&s);
        dx[i] = s.total;
    }
}

TEST_UNCHECKED static void define_dw(const geometry *g, const float *x, const float *dy, float *dw)
{
    int channels = g->groups * g->og, n = channels * g->cg * g->taps, plane = g->out[0] * g->out[1];
    int shares = g->images < 8 ? g->images : 8;
    if (shares > (1 << 18) / n) shares = (1 << 18) / n;
    if (shares < 1) shares = 1;
    for (int i = 0; i < n; i++) {
        int o = i / g->taps / g->cg, c = o / g->og * g->cg + i / g->taps % g->cg;
        for (int share = 0; share < shares; share++) {
            sums s = { 0, { 0, 0 }, 0 };
            for (int image = share; image < g->images; image += shares) {
                for (int p = 0; p < plane; p++)
                    add_product(&s, dy[(image * channels + o) * plane + p],
                                met(g, x, image, c, i % g->taps, p));
                end_block(&s);
            }
            dw[i] = share == 0 ? s.total : dw[i] + s.total;
        }
    }
}

// ---- The ops ----
typedef struct sizes {
    int x, w, b, y;
} sizes;

static sizes sizes_of(const geometry *g)
{
    sizes n;
    n.x = g->images * g->groups * g->cg * g->in[0] * g->in[1];
    n.w = g->groups * g->og * g->cg * g->taps;
    n.b = g->groups * g->og;
    n.y = g->images * g->groups * g->og * g->out[0] * g->out[1];
    return n;
}

static samba_conv_opts opts_of(const geometry *g)
{
    int first = g->one ? 1 : 0;
    samba_conv_opts opts = { { g->stride[first], g->stride[1] },
                             { g->padding[first], g->padding[1] },
                             { g->dilation[first], g->dilation[1] },
                             g->groups };
    return opts;
}

static bool same_float(float a, float b)
{
    return samba__float_bits(a) == samba__float_bits(b) || (a != a && b != b);
}

static void same(const geometry *g, const char *what, int isa, samba_tensor *t, const float *want)
{
    const float *got = t ? (const float *)samba_read(t) : NULL;
    CHECK(got);
    for (int i = 0; got && i < (int)samba_count(&t->shape); i++) {
        if (same_float(got[i], want[i])) continue;
        printf("%s of set %d differs at %d: %.9g, not %.9g\n", what, isa, i, (double)got[i],
               (double)want[i]);
        print_geometry(g);
        test_bad++;
        return;
    }
}

// The operands are in bf16, or, of input 1, in f32.
static samba_tensor *leaf(samba_session *s, const char *name, bool half, samba_shape shape,
                          const float *x)
{
    samba_tensor *t;
    uint16_t *halves = halves_of(x, (int)samba_count(&shape));
    if (half)
        t = samba_from_data_copy(s, name, SAMBA_BF16, shape, halves);
    else
        t = samba_from_data_copy(s, name, SAMBA_F32, shape, x);
    free(halves);
    return t;
}

// All three ops on every instruction set. `half`: w and dy of dw are bf16, too.
static void compare(const geometry *g, bool half, int32_t threads, float *const data[4],
                    float *const want[3])
{
    samba_desc desc;
    samba_program program;
    memset(&desc, 0, sizeof desc);
    memset(&program, 0, sizeof program);
    desc.threads = threads;
    samba_session *s = samba_open(&desc);

    int x_channels = g->groups * g->cg, channels = g->groups * g->og;
    samba_conv_opts opts = opts_of(g);
    samba_shape x_shape = shape_of(g, g->images, x_channels, g->in);
    samba_shape w_shape = shape_of(g, channels, g->cg, g->kernel);
    samba_shape y_shape = shape_of(g, g->images, channels, g->out);
    samba_tensor *x = leaf(s, "x", true, x_shape, data[0]);
    samba_tensor *w = leaf(s, "w", half, w_shape, data[1]);
    samba_tensor *b = leaf(s, "b", false, SAMBA_SHAPE(channels), data[2]);
    samba_tensor *dy = leaf(s, "dy", true, y_shape, data[3]);
    samba_tensor *other = leaf(s, "other", half, y_shape, data[3]);

    program.inference = true;
    program.outputs[0] = samba_convolution(x, w, b, &opts);
    program.outputs[1] = samba_convolution_backward_input(dy, w, x_shape, &opts);
    program.outputs[2] = samba_convolution_backward_weight(x, other, w_shape, &opts);
    CHECK(samba_compile(s, &program));
    for (int32_t isa = 0; samba_ok(s) && isa <= samba__best_isa(true); isa++) {
        s->program.rt->isa = isa;
        CHECK(samba_run(s, 0));
        same(g, "y", (int)isa, program.outputs[0], want[0]);
        same(g, "dx", (int)isa, program.outputs[1], want[1]);
        same(g, "dw", (int)isa, program.outputs[2], want[2]);
    }
    if (!samba_ok(s)) printf("%s\n", samba_error(s));
    CHECK(samba_close(s) == 0);
}

static void round_all(const float *from, int n, float *to)
{
    for (int i = 0; i < n; i++)
        to[i] = operand(from[i]);
}

static void test_every_bit(void)
{
    for (int i = 0; i < CASES; i++) {
        geometry g = i < N_SPECIAL ? complete(special[i]) : draw_geometry(i);
        kind of = i < N_SPECIAL ? USUAL : (kind)(i % N_KINDS);
        sizes n = sizes_of(&g);
        if (TWIN && i < N_SPECIAL && i > 1) continue;

        float *data[4]
            = { numbers(n.x, of), numbers(n.w, of), numbers(n.b, USUAL), numbers(n.y, of) };
        float *want[3] = { numbers(n.y, USUAL), numbers(n.x, USUAL), numbers(n.w, USUAL) };
        float *x = numbers(n.x, USUAL), *w = numbers(n.w, USUAL), *dy = numbers(n.y, USUAL);
        round_all(data[0], n.x, x);
        round_all(data[1], n.w, w);
        round_all(data[3], n.y, dy);
        define_y(&g, x, w, data[2], want[0]);
        define_dx(&g, dy, w, want[1]);
        define_dw(&g, x, dy, want[2]);
        compare(&g, i % 2 == 1, 1 + i % 3, data, want);

        for (int k = 0; k < 4; k++)
            free(data[k]);
        for (int k = 0; k < 3; k++)
            free(want[k]);
        free(x);
        free(w);
        free(dy);
    }
}

// ---- A net that GraphAMP rounds ----
typedef struct values {
    float *x, *w, *b, *dy, *y, *dx, *dw, *db;
} values;

static values draw_values(const geometry *g)
{
    sizes n = sizes_of(g);
    values v;
    n_drawn = 1 << 20;
    v.x = numbers(n.x, USUAL);
    v.w = numbers(n.w, USUAL);
    v.b = numbers(n.b, USUAL);
    v.dy = numbers(n.y, USUAL);
    v.y = numbers(n.y, USUAL);
    v.dx = numbers(n.x, USUAL);
    v.dw = numbers(n.w, USUAL);
    v.db = numbers(n.b, USUAL);
    return v;
}

static void free_values(values *v)
{
    float *const all[8] = { v->x, v->w, v->b, v->dy, v->y, v->dx, v->dw, v->db };
    for (int i = 0; i < 8; i++)
        free(all[i]);
}

// relu(convolution) and the gradients of sum(y dy), of a batch in so many parts.
static bool run(const geometry *g, values *v, int threads, int32_t isa, int parts)
{
    samba_desc desc;
    samba_program program;
    memset(&desc, 0, sizeof desc);
    memset(&program, 0, sizeof program);
    desc.threads = threads;
    desc.graphamp = SAMBA_MP1;
    samba_session *s = samba_open(&desc);

    const samba_init zero = { SAMBA_INIT_CONSTANT, 0, 0 };
    int channels = g->groups * g->og;
    samba_conv_opts opts = opts_of(g);
    samba_shape x_shape = shape_of(g, g->images / parts, g->groups * g->cg, g->in);
    samba_shape y_shape = shape_of(g, g->images / parts, channels, g->out);
    samba_tensor *x = samba_input(s, "x", SAMBA_F32, x_shape);
    samba_tensor *dy = samba_input(s, "dy", SAMBA_F32, y_shape);
    samba_tensor *w = samba_param(s, "w", shape_of(g, channels, g->cg, g->kernel), zero);
    samba_tensor *b = samba_param(s, "b", SAMBA_SHAPE(channels), zero);
    samba_tensor *y = samba_relu(samba_convolution(x, w, b, &opts));
    samba_tensor *loss = samba_sum(samba_mul(y, dy), SAMBA_ALL_AXES, false);

    program.loss = loss;
    program.outputs[0] = y;
    if (parts == 1) program.outputs[1] = samba_grad(loss, x); // no output of parts
    program.microbatches = parts;
    bool fine = samba_compile(s, &program);
    if (fine && isa >= 0) s->program.rt->isa = isa;
    fine = fine && samba_write(x, v->x) && samba_write(dy, v->dy) && samba_write(w, v->w)
        && samba_write(b, v->b) && samba_run(s, 0) && samba_copy_out(y, v->y, samba_bytes(y))
        && (parts > 1 || samba_copy_out(program.outputs[1], v->dx, samba_bytes(x)))
        && samba_copy_out(samba_sn_grad(w), v->dw, samba_bytes(w))
        && samba_copy_out(samba_sn_grad(b), v->db, samba_bytes(b));
    if (!fine) printf("%s\n", samba_error(s));
    return samba_close(s) == 0 && fine;
}

// What products read, in double, in the same geometry.
TEST_UNCHECKED static void reference(const geometry *g, values *v)
{
    sizes n = sizes_of(g);
    int plane = g->out[0] * g->out[1], channels = g->groups * g->og;
    double *dx = (double *)calloc((size_t)n.x, sizeof *dx);
    double *dw = (double *)calloc((size_t)n.w, sizeof *dw);
    memset(v->db, 0, (size_t)n.b * sizeof *v->db);

    for (int i = 0; i < n.y; i++) {
        int o = i / plane % channels, image = i / plane / channels, p = i % plane;
        int first = o / g->og * g->cg;
        double sum = (double)v->b[o];
        for (int c = 0; c < g->cg * g->taps; c++)
            sum += (double)operand(v->w[o * g->cg * g->taps + c])
                * (double)operand(met(g, v->x, image, first + c / g->taps, c % g->taps, p));

        v->y[i] = sum > 0 ? (float)sum : 0.0f;
        float slope = sum > 0 ? v->dy[i] : 0.0f;
        v->db[o] += slope;
        for (int c = 0; c < g->cg * g->taps; c++) {
            int tap = c % g->taps, k[2] = { tap / g->kernel[1], tap % g->kernel[1] };
            int row = p / g->out[1] * g->stride[0] - g->padding[0] + k[0] * g->dilation[0];
            int column = p % g->out[1] * g->stride[1] - g->padding[1] + k[1] * g->dilation[1];
            if (row < 0 || row >= g->in[0] || column < 0 || column >= g->in[1]) continue;

            int channel = image * g->groups * g->cg + first + c / g->taps;
            int at = (channel * g->in[0] + row) * g->in[1] + column;
            double part = (double)operand(slope);
            dx[at] += part * (double)operand(v->w[o * g->cg * g->taps + c]);
            dw[o * g->cg * g->taps + c] += part * (double)operand(v->x[at]);
        }
    }

    for (int i = 0; i < n.x; i++)
        v->dx[i] = (float)dx[i];
    for (int i = 0; i < n.w; i++)
        v->dw[i] = (float)dw[i];
    free(dx);
    free(dw);
}

// Their distance, of the size of `want`.
static double distance(const float *got, const float *want, int n)
{
    double far = 0, size = 1e-30;
    for (int i = 0; i < n; i++) {
        far += fabs((double)got[i] - (double)want[i]);
        size += fabs((double)want[i]);
    }
    return far / size;
}

static const geometry nets[] = {
    { 6, 1, 3, 8, { 28, 28 }, { 0, 0 }, { 5, 5 }, { 1, 1 }, { 2, 2 }, { 1, 1 }, 0, false },
    { 12, 1, 16, 33, { 15, 17 }, { 0, 0 }, { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1 }, 0, false },
    { 6, 2, 9, 10, { 14, 9 }, { 0, 0 }, { 3, 2 }, { 1, 3 }, { 2, 0 }, { 2, 1 }, 0, false },
    { 6, 1, 40, 24, { 1, 50 }, { 0, 0 }, { 1, 4 }, { 1, 2 }, { 0, 1 }, { 1, 3 }, 0, true },
    { 6, 8, 1, 1, { 12, 12 }, { 0, 0 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 0, false },
};

enum { N_NETS = sizeof nets / sizeof *nets };

// Only sums differ: they are of f32, and of double.
static void test_double(void)
{
    for (int i = 0; i < N_NETS; i++) {
        geometry g = complete(nets[i]);
        sizes n = sizes_of(&g);
        values got = draw_values(&g), want = draw_values(&g);
        CHECK(run(&g, &got, 2, -1, 1));
        reference(&g, &want);

        double error[4] = { distance(got.y, want.y, n.y), distance(got.dx, want.dx, n.x),
                            distance(got.dw, want.dw, n.w), distance(got.db, want.db, n.b) };
        bool near = true;
        for (int k = 0; k < 4; k++)
            near = near && error[k] <= 1e-6;
        if (!near)
            printf("net %d: y %g, dx %g, dw %g, db %g\n", i, error[0], error[1], error[2],
                   error[3]);
        CHECK(near);
        free_values(&got);
        free_values(&want);
    }
}

// A part of a batch has the y of the whole one; dw is a sum of sums.
static void test_parts(void)
{
    for (int i = 0; i < N_NETS; i++) {
        geometry g = complete(nets[i]);
        sizes n = sizes_of(&g);
        values whole = draw_values(&g), cut = draw_values(&g);
        CHECK(run(&g, &whole, 1, -1, 1));
        CHECK(run(&g, &cut, 3, -1, 3));
        CHECK(!memcmp(whole.y, cut.y, (size_t)n.y * sizeof *cut.y));
        CHECK(distance(cut.dw, whole.dw, n.w) < 1e-6);
        CHECK(distance(cut.db, whole.db, n.b) < 1e-6);
        free_values(&whole);
        free_values(&cut);
    }
}

// ---- Bits ----
static uint64_t add_to_hash(uint64_t hash, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        hash = (hash ^ samba__float_bits(x[i])) * 1099511628211u;
    return hash;
}

static uint64_t hash_of(const geometry *g, const values *v, int parts)
{
    sizes n = sizes_of(g);
    uint64_t hash = add_to_hash(14695981039346656037u, v->y, n.y);
    if (parts == 1) hash = add_to_hash(hash, v->dx, n.x);
    return add_to_hash(add_to_hash(hash, v->dw, n.w), v->db, n.b);
}

static void test_bits(void)
{
    static const uint64_t want[N_NETS][2] = { { 0x427f3aacab4c4d57u, 0x2939d6e6561bc613u },
                                              { 0x294734075cc5efa7u, 0xcd21b67f31bbb055u },
                                              { 0x9d9462294c51f726u, 0xc3a59be506442645u },
                                              { 0x6b6e20a040af28efu, 0xc4aa6fae83e9f07cu },
                                              { 0x8d5a1252a143cf35u, 0x28004c2dadd8c267u } };
    for (int i = 0; i < N_NETS; i++)
        for (int32_t isa = 0; isa <= samba__best_isa(true); isa++)
            for (int k = 0; k < 4; k++) {
                int threads = k < 2 ? 1 : 3, parts = k % 2 ? 3 : 1;
                // The twin of a matrix unit is slow.
                if (samba__set_of(isa)->tiles && TWIN && threads == 1) continue;

                geometry g = complete(nets[i]);
                values v = draw_values(&g);
                CHECK(run(&g, &v, threads, isa, parts));
                uint64_t hash = hash_of(&g, &v, parts);
                if (hash != want[i][k % 2])
                    printf("net %d, set %d, threads %d, parts %d: 0x%016llx\n", i, (int)isa,
                           threads, parts, (unsigned long long)hash);
                CHECK(hash == want[i][k % 2]);
                free_values(&v);
            }
}

int main(void)
{
    RUN(test_every_bit);
#if !defined(SAMBA_TILE_TWIN)
    RUN(test_double);
    RUN(test_parts);
#endif
    RUN(test_bits);
    return test_summary();
}
