// int8: integers only, so any order of sums has the bits of the executor.
#include "emit.h"
#include "tools/cli/util/text.h"
#include "windows.h"
#include <string.h>

static const piece pieces[] = {
    { "int8_y", "",
      "/* zero, least and most of the grid of a result */\n"
      "typedef struct int8_grid { int zero, least, most; } int8_grid;\n"
      "\n"
      "static inline int8_t int8_limited(int64_t q, const int8_grid *y)\n"
      "{\n"
      "    if (q < y->least) return (int8_t)y->least;\n"
      "    return (int8_t)(q > y->most ? y->most : q);\n"
      "}\n",
      0 },
    { "quantize", "",
      "/* To a grid: the nearest, halves to even. False: a NaN, for which no int8 stands. */\n"
      "SMALL static bool quantize(const float *x, int8_t *y, int n, float scale, int zero)\n"
      "{\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        float v = x[i] / scale, least = (float)(-128 - zero), most = (float)(127 - zero);\n"
      "        if (v != v) return false;\n"
      "        if (v < least) v = least;\n"
      "        if (v > most) v = most;\n"
      "        y[i] = (int8_t)(zero + (int)((v + 12582912.0f) - 12582912.0f));\n"
      "    }\n"
      "    return true;\n"
      "}\n",
      0 },
    { "dequantize", "",
      "SMALL static void dequantize(const int8_t *x, float *y, int n, float scale, int zero)\n"
      "{\n"
      "    for (int i = 0; i < n; i++) y[i] = (float)(x[i] - zero) * scale;\n"
      "}\n",
      0 },
    { "requantize", "int8_y ",
      "SMALL static void requantize(const int8_t *x, int8_t *y, int n, int zero, int32_t factor,\n"
      "                             int shift, int8_grid to)\n"
      "{\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        int32_t sum = (x[i] - zero) * factor + ((1 << shift) >> 1);\n"
      "        y[i] = int8_limited(to.zero + (sum >> shift), &to);\n"
      "    }\n"
      "}\n",
      0 },
    { "add_int8", "int8_y ",
      "SMALL static void add_int8(const int8_t *a, const int8_t *b, int8_t *y, int n, int zero_a,\n"
      "                           int zero_b, int32_t factor_a, int32_t factor_b, int shift, int8_grid to)\n"
      "{\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        int32_t sum = (a[i] - zero_a) * factor_a + (b[i] - zero_b) * factor_b;\n"
      "        y[i] = int8_limited(to.zero + ((sum + ((1 << shift) >> 1)) >> shift), &to);\n"
      "    }\n"
      "}\n",
      0 },
    { "dots_int8", "int8_y ",
      "/* What dot_rows_int8 sums: x less its zero, times each of some rows of w, which are `row` apart. Both\n"
      "   are walked by channels, rows and columns, 1 at least; behind each row and channel something is\n"
      "   skipped. The table has bias, multiplier and shift of each row. */\n"
      "typedef struct dots_int8 {\n"
      "    const int8_t *x, *w;\n"
      "    const int32_t (*table)[3];\n"
      "    int8_t *y;\n"
      "    int last, row, y_step; /* last: one less than there are rows of w */\n"
      "    int channels, rows, columns;\n"
      "    int x_step, x_row, x_channel, w_row, w_channel;\n"
      "    int32_t zero;\n"
      "    int8_grid to;\n"
      "} dots_int8;\n"
      "\n"
      "/* At most 4 rows: each x is loaded once for all. */\n"
      "FAST static void dot_rows_int8(const dots_int8 *d)\n"
      "{\n"
      "    const int8_t *x = d->x, *w0 = d->w, *w1 = w0 + (d->last > 0 ? d->row : 0);\n"
      "    const int8_t *w2 = w0 + (d->last > 1 ? 2 * d->row : 0), *w3 = w0 + (d->last > 2 ? 3 * d->row : 0);\n"
      "    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, zero = d->zero, sum[4];\n"
      "    for (int c = d->channels; c > 0; c--) {\n"
      "        for (int r = d->rows; r > 0; r--) {\n"
      "            const int8_t *end = w0 + d->columns;\n"
      "            int step = d->x_step;\n"
      "            do {\n"
      "                int32_t v = *x - zero;\n"
      "                s0 += v * *w0++;\n"
      "                s1 += v * *w1++;\n"
      "                s2 += v * *w2++;\n"
      "                s3 += v * *w3++;\n"
      "                x += step;\n"
      "            } while (w0 != end);\n"
      "            x += d->x_row;\n"
      "            w0 += d->w_row;\n"
      "            w1 += d->w_row;\n"
      "            w2 += d->w_row;\n"
      "            w3 += d->w_row;\n"
      "        }\n"
      "        x += d->x_channel;\n"
      "        w0 += d->w_channel;\n"
      "        w1 += d->w_channel;\n"
      "        w2 += d->w_channel;\n"
      "        w3 += d->w_channel;\n"
      "    }\n"
      "    sum[0] = s0;\n"
      "    sum[1] = s1;\n"
      "    sum[2] = s2;\n"
      "    sum[3] = s3;\n"
      "    int8_t *y = d->y;\n"
      "    for (int l = 0; l <= d->last; l++, y += d->y_step) {\n"
      "        const int32_t *of = d->table[l];\n"
      "        int64_t scaled = (int64_t)(sum[l] + of[0]) * of[1] + (int64_t)(((uint64_t)1 << of[2]) >> 1);\n"
      "        *y = int8_limited(d->to.zero + (scaled >> of[2]), &d->to);\n"
      "    }\n"
      "}\n",
      96 },
    { "affine_int8", "dots_int8 ",
      "/* x (rows,k) times w (n,k), transposed. */\n"
      "SMALL static void affine_int8(const int8_t *x, const int8_t *w, const int32_t (*table)[3], int8_t *y,\n"
      "                              int rows, int n, int k, int8_grid to)\n"
      "{\n"
      "    for (; rows > 0; rows--, x += k, y += n)\n"
      "        for (int j = 0; j < n; j += 4) {\n"
      "            dots_int8 d = { x, w + j * k, table + j, y + j, n - 1 - j < 3 ? n - 1 - j : 3, k, 1,\n"
      "                            1, 1, k, 1, 0, 0, 0, 0, 0, to };\n"
      "            dot_rows_int8(&d);\n"
      "        }\n"
      "}\n",
      0 },
    { "convolution_int8", "dots_int8 taps_of conv_shape ",
      "SMALL static void convolution_int8(const int8_t *x, const int8_t *w, const int32_t (*table)[3],\n"
      "                                   int8_t *y, const conv_shape *s, int32_t zero, int8_grid to)\n"
      "{\n"
      "    int side = s->side[1], plane = s->side[0] * side, out_plane = s->out[0] * s->out[1];\n"
      "    int taps = s->kernel[0] * s->kernel[1], k = s->channels * taps, step[2];\n"
      "    dots_int8 d = { x, w, table, y, 0, k, out_plane, s->channels, 0, 0, 0, 0, 0, 0, 0, zero, to };\n"
      "    step[0] = s->dilation[0] * side;\n"
      "    step[1] = d.x_step = s->dilation[1];\n"
      "    for (int g = 0; g < s->images * s->groups; g++, x += s->channels * plane)\n"
      "        for (int o = 0; o < s->outputs; o += 4) {\n"
      "            int first = g % s->groups * s->outputs + o;\n"
      "            d.last = s->outputs - 1 - o < 3 ? s->outputs - 1 - o : 3;\n"
      "            d.table = table + first;\n" CONVOLUTION_WINDOWS
      "                    dot_rows_int8(&d);\n"
      "                }\n"
      "            }\n"
      "            y += d.last * out_plane;\n"
      "        }\n"
      "}\n",
      0 },
    { "pool_int8", "taps_of pool_shape ",
      "/* The largest of each window, or its mean, where what is not in x counts as zero. */\n"
      "SMALL static void pool_int8(const int8_t *x, int8_t *y, const pool_shape *s, int mean,\n"
      "                            int exclude_padding, int zero)\n" POOLING_WINDOWS
      "            int64_t sum = (size - (end[0] - first[0]) * (end[1] - first[1])) * zero;\n"
      "            int most = -128;\n"
      "            for (int ky = first[0]; ky < end[0]; ky++)\n"
      "                for (int kx = first[1]; kx < end[1]; kx++) {\n"
      "                    int v = x[(at[0] + ky) * s->side[1] + at[1] + kx];\n"
      "                    sum += v;\n"
      "                    most = v > most ? v : most;\n"
      "                }\n"
      "            sum = 2 * sum + 257 * (int64_t)size; /* not below 0, so that / rounds down */\n"
      "            *y++ = (int8_t)(mean ? (int)(sum / (2 * size)) - 128 : most);\n"
      "        }\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

static void set_float(emitter *e, const char *word, float x)
{
    char text[32];
    float_text(text, x);
    set_word(&e->body, word, "%s", text);
}

static void set_int(emitter *e, const char *word, int64_t x)
{
    set_word(&e->body, word, "%lld", (long long)x);
}

// Sets x, y and n.
static void set_ends(emitter *e, const node *n)
{
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_int(e, "n", count_of(out_of(e, n, 0)));
}

// The grid of y with its limits, as a constant.
static bool set_grid(emitter *e, const node *n)
{
    int32_t limits[2];
    if (!has_attr(n, "limits", limits, 2)) return cannot(e, n, "no limits");
    int number = ++e->n_tables;
    write_plain(&e->data, "static const int8_grid grid%d = { %d, %d, %d };\n\n", number,
                attr_of(n, "zero_y"), limits[0], limits[1]);
    set_word(&e->body, "to", "grid%d", number);
    need(e, "int8_y");
    return true;
}

static void set_scale(emitter *e, const node *n)
{
    set_ends(e, n);
    set_float(e, "scale", attr_float(n, "scale"));
    set_int(e, "zero", attr_of(n, "zero"));
    need(e, n->op);
}

static bool emit_quantize(emitter *e, const node *n)
{
    set_scale(e, n);
    write_text(&e->body, "    if (!quantize(${x}, ${y}, ${n}, ${scale}, ${zero})) return false;\n");
    return true;
}

static bool emit_dequantize(emitter *e, const node *n)
{
    set_scale(e, n);
    write_text(&e->body, "    dequantize(${x}, ${y}, ${n}, ${scale}, ${zero});\n");
    return true;
}

static bool emit_requantize(emitter *e, const node *n)
{
    set_ends(e, n);
    set_int(e, "zero", attr_of(n, "zero_x"));
    set_int(e, "factor", attr_of(n, "factor"));
    set_int(e, "shift", attr_of(n, "shift"));
    need(e, "requantize");
    if (!set_grid(e, n)) return false;
    write_text(&e->body,
               "    requantize(${x}, ${y}, ${n}, ${zero}, ${factor}, ${shift}, ${to});\n");
    return true;
}

static bool emit_add(emitter *e, const node *n)
{
    int32_t zeros[2], factors[2];
    if (!has_attr(n, "zeros", zeros, 2) || !has_attr(n, "factors", factors, 2))
        return cannot(e, n, "no factors");
    set_ends(e, n);
    set_tensor(e, "b", n->in[1]);
    set_word(&e->body, "zeros", "%d, %d", zeros[0], zeros[1]);
    set_word(&e->body, "factors", "%d, %d", factors[0], factors[1]);
    set_int(e, "shift", attr_of(n, "shift"));
    need(e, "add_int8");
    if (!set_grid(e, n)) return false;
    write_text(&e->body,
               "    add_int8(${x}, ${b}, ${y}, ${n}, ${zeros}, ${factors}, ${shift}, "
               "${to});\n");
    return true;
}

// Bias, multiplier and shift of each channel. Sums are of x less its zero, so a bias has no part of
// that: what was taken off, zero times the weights of the channel, comes back.
static bool set_table(emitter *e, const node *n, int32_t zero)
{
    const symbol *w = in_of(e, n, 1), *t = in_of(e, n, 2);
    if (!w || !t || !w->value || !t->value || !is_constant(e, n->in[1]))
        return cannot(e, n, "weights that are no constants");
    const int8_t *weight = (const int8_t *)w->value;
    const int32_t *word = (const int32_t *)t->value;
    int32_t channels = w->spec.shape.dim[0];
    int64_t k = count_of(w) / channels;
    int number = ++e->n_tables;
    write_plain(&e->data,
                "/* %s: bias, multiplier and shift of each channel */\n"
                "static const int32_t %s_channels%d[%d][3] = {\n",
                in_c_comment(n->name), e->name, number, channels);
    for (int32_t c = 0; c < channels; c++, word += 3) {
        int32_t sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += *weight++;
        write_plain(&e->data, "    { %d, %d, %d },\n", word[0] + zero * sum, word[1], word[2] & 63);
    }
    write_plain(&e->data, "};\n\n");
    set_word(&e->body, "table", "%s_channels%d", e->name, number);
    return true;
}

static bool emit_affine(emitter *e, const node *n)
{
    const samba_shape *w = &in_of(e, n, 1)->spec.shape;
    set_ends(e, n);
    set_tensor(e, "w", n->in[1]);
    set_int(e, "n", w->dim[0]);
    set_int(e, "k", w->dim[1]);
    set_int(e, "rows", count_of(in_of(e, n, 0)) / w->dim[1]);
    need(e, "affine_int8");
    if (!set_table(e, n, 0) || !set_grid(e, n)) return false;
    write_text(&e->body,
               "    affine_int8(${x}, ${w}, ${table}, ${y}, ${rows}, ${n}, ${k}, ${to});\n");
    return true;
}

static bool emit_convolution(emitter *e, const node *n)
{
    int32_t zero = attr_of(n, "zero_x");
    set_ends(e, n);
    set_tensor(e, "w", n->in[1]);
    set_int(e, "zero", zero);
    need(e, "convolution_int8");
    if (!set_conv_shape(e, n) || !set_table(e, n, zero) || !set_grid(e, n)) return false;
    write_text(&e->body,
               "    convolution_int8(${x}, ${w}, ${table}, ${y}, &${shape}, ${zero}, "
               "${to});\n");
    return true;
}

static bool emit_pool(emitter *e, const node *n)
{
    bool mean = strcmp(n->op, "avg_pool2d_int8") == 0;
    set_ends(e, n);
    set_int(e, "mean", mean);
    set_int(e, "exclude", attr_of(n, "exclude_padding") != 0);
    set_int(e, "zero", attr_of(n, "zero"));
    need(e, "pool_int8");
    if (!set_pool_shape(e, n)) return false;
    write_text(&e->body, "    pool_int8(${x}, ${y}, &${shape}, ${mean}, ${exclude}, ${zero});\n");
    return true;
}

static const op_emitter ops[] = {
    { "quantize", emit_quantize },
    { "dequantize", emit_dequantize },
    { "requantize", emit_requantize },
    { "add_int8", emit_add },
    { "affine_int8", emit_affine },
    { "convolution_int8", emit_convolution },
    { "max_pool2d_int8", emit_pool },
    { "avg_pool2d_int8", emit_pool },
    { NULL, NULL },
};

const family int8_family = { ops, pieces };
