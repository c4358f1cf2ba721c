// Convolutions and their gradients. Taps outside of x are left out: they would add zeros.
#include "emit.h"
#include "windows.h"
#include <string.h>

static const piece pieces[] = {
    { "taps_of", "",
      "/* Of the taps of a window that begins at `at`, `step` apart: those that meet one of n elements are\n"
      "   first ... end - 1. */\n"
      "SMALL static void taps_of(int at, int step, int taps, int n, int *first, int *end)\n"
      "{\n"
      "    *first = 0;\n"
      "    *end = taps;\n"
      "    for (int i = at; i < 0 && *first < taps; i += step) ++*first;\n"
      "    for (int i = at + (taps - 1) * step; i >= n && *end > *first; i -= step) --*end;\n"
      "}\n",
      0 },
    { "conv_shape", "",
      "/* Sides are (rows, columns); channels and outputs are those of a group. */\n"
      "typedef struct conv_shape {\n"
      "    short images, groups, channels, side[2], outputs, out[2];\n"
      "    short kernel[2], stride[2], padding[2], dilation[2];\n"
      "} conv_shape;\n",
      0 },
    { "convolution", "dots taps_of conv_shape ",
      "/* y = convolution of x with w, + bias; then relu, if asked for. */\n"
      "SMALL static void convolution(const float *x, const ${weight} *w, const float *bias, float *y,\n"
      "                        const conv_shape *s, int with_relu)\n"
      "{\n"
      "    int side = s->side[1], plane = s->side[0] * side, out_plane = s->out[0] * s->out[1];\n"
      "    int taps = s->kernel[0] * s->kernel[1], k = s->channels * taps, step[2];\n"
      "    dots d = { x, NULL, w, y, 0, k, out_plane, with_relu, s->channels, 0, 0, 0, 0, 0, 0, 0 };\n"
      "    step[0] = s->dilation[0] * side;\n"
      "    step[1] = d.x_step = s->dilation[1];\n"
      "    for (int g = 0; g < s->images * s->groups; g++, x += s->channels * plane)\n"
      "        for (int o = 0; o < s->outputs; o += LANES) {\n"
      "            int first = g % s->groups * s->outputs + o;\n"
      "            d.last = LAST_LANE(s->outputs - o);\n"
      "            if (bias) d.bias = bias + first;\n" CONVOLUTION_WINDOWS
      "                    dot_rows(&d);\n"
      "                }\n"
      "            }\n"
      "            y += d.last * out_plane;\n"
      "        }\n"
      "}\n",
      0 },
    { "depthwise", "convolution ",
      "/* The same with one channel and one output in each group. */\n"
      "#if LANES == 1\n"
      "#define depthwise convolution\n"
      "#else\n"
      "FAST static void depthwise(const float *x, const ${weight} *w, const float *bias, float *y,\n"
      "                      const conv_shape *s, int with_relu)\n"
      "{\n"
      "    int side = s->side[1], columns = s->kernel[1], step = s->dilation[1];\n"
      "    int taps = s->kernel[0] * columns, x_row = s->dilation[0] * side;\n"
      "    for (int g = 0; g < s->images * s->groups; g++, x += s->side[0] * side)\n"
      "        for (int oy = 0; oy < s->out[0]; oy++) {\n"
      "            int top, bottom, left, right, row = oy * s->stride[0] - s->padding[0];\n"
      "            int column = -s->padding[1];\n"
      "            taps_of(row, s->dilation[0], s->kernel[0], s->side[0], &top, &bottom);\n"
      "            const float *from = x + row * side + top * x_row;\n"
      "            const ${weight} *tap = w + g % s->groups * taps + top * columns;\n"
      "            for (int ox = s->out[1]; ox > 0; ox--, column += s->stride[1]) {\n"
      "                float sum = 0.0f;\n"
      "                left = 0;\n"
      "                right = columns;\n"
      "                if (column < 0 || column + (columns - 1) * step >= side)\n"
      "                    taps_of(column, step, columns, side, &left, &right);\n"
      "                const float *at = from + column + left * step;\n"
      "                const ${weight} *by = tap + left;\n"
      "                for (int r = bottom - top; r > 0 && left < right; r--) {\n"
      "                    const float *p = at;\n"
      "                    const ${weight} *q = by, *end = by + (right - left);\n"
      "                    do {\n"
      "                        sum = multiply_add(*p, ${load}*q++${done}, sum);\n"
      "                        p += step;\n"
      "                    } while (q != end);\n"
      "                    at += x_row;\n"
      "                    by += columns;\n"
      "                }\n"
      "                if (bias) sum += bias[g % s->groups];\n"
      "                *y++ = with_relu ? relu(sum) : sum;\n"
      "            }\n"
      "        }\n"
      "}\n"
      "#endif\n",
      0 },
    { "taps_back", "",
      "/* The taps that lead from an output to a position of x, with padding: n of them, `every` apart, from\n"
      "   first on. The first one leads from output `at`, the next from `by` before it. */\n"
      "typedef struct taps_back { int first, n, every, at, by; } taps_back;\n"
      "\n"
      "SMALL static taps_back taps_back_of(int position, int step, int stride, int taps, int outputs)\n"
      "{\n"
      "    taps_back t = { 0, 0, 1, 0, 0 };\n"
      "    while (t.every * step % stride) t.every++;\n"
      "    while (t.first < taps && (position - t.first * step) % stride) t.first++;\n"
      "    while (t.first < taps && (position - t.first * step) / stride >= outputs) t.first += t.every;\n"
      "    for (int k = t.first; k < taps && position - k * step >= 0; k += t.every) t.n++;\n"
      "    t.at = (position - t.first * step) / stride;\n"
      "    t.by = t.every * step / stride;\n"
      "    return t;\n"
      "}\n",
      0 },
    { "convolution_backward_input", "multiply_add conv_shape taps_back ",
      "/* dx: each element is a sum over outputs and the taps that lead to it; of some channels at a time. */\n"
      "FAST static void convolution_backward_input(const float *dy, const float *w, float *dx,\n"
      "                                            const conv_shape *s)\n"
      "{\n"
      "    int side = s->side[1], plane = s->side[0] * side, out_plane = s->out[0] * s->out[1];\n"
      "    int taps = s->kernel[0] * s->kernel[1], k = s->channels * taps;\n"
      "    for (int g = 0; g < s->images * s->groups; g++, dy += s->outputs * out_plane)\n"
      "        for (int c = 0; c < s->channels; c += LANES) {\n"
      "            int last = LAST_LANE(s->channels - c);\n"
      "            const float *weights = w + g % s->groups * s->outputs * k + c * taps;\n"
      "            for (int at = 0; at < plane; at++, dx++) {\n"
      "                taps_back row = taps_back_of(at / side + s->padding[0], s->dilation[0], s->stride[0],\n"
      "                                             s->kernel[0], s->out[0]);\n"
      "                taps_back column = taps_back_of(at % side + s->padding[1], s->dilation[1],\n"
      "                                                s->stride[1], s->kernel[1], s->out[1]);\n"
      "                float sum[LANES], result[LANES];\n"
      "                EACH_LANE for (int l = 0; l < LANES; l++) sum[l] = 0.0f;\n"
      "                for (int i = 0; i < s->outputs * row.n && column.n > 0; i++) {\n"
      "                    int o = i / row.n, r = i % row.n;\n"
      "                    const float *by = dy + o * out_plane + (row.at - r * row.by) * s->out[1] + column.at;\n"
      "                    const float *tap = weights + o * k + (row.first + r * row.every) * s->kernel[1]\n"
      "                        + column.first;\n"
      "                    for (int n = column.n; n > 0; n--, by -= column.by, tap += column.every)\n"
      "                        EACH_LANE for (int l = 0; l < LANES; l++)\n"
      "                            sum[l] = multiply_add(tap[(l < last ? l : last) * taps], *by, sum[l]);\n"
      "                }\n"
      "                EACH_LANE for (int l = 0; l < LANES; l++) result[l] = sum[l];\n"
      "                for (int l = 0; l <= last; l++) dx[l * plane] = result[l];\n"
      "            }\n"
      "            dx += last * plane;\n"
      "        }\n"
      "}\n",
      0 },
    { "convolution_backward_weight", "multiply_add conv_shape ",
      "/* The outputs whose element d + output * stride is one of n: first ... end - 1. */\n"
      "SMALL static void outputs_of(int d, int stride, int n, int outputs, int *first, int *end)\n"
      "{\n"
      "    *first = 0;\n"
      "    while (*first < outputs && d + *first * stride < 0) ++*first;\n"
      "    *end = outputs;\n"
      "    while (*end > *first && d + (*end - 1) * stride >= n) --*end;\n"
      "}\n"
      "\n"
      "/* dw: image n is of share n mod shares. A share is a sum over its images and outputs; the shares are\n"
      "   then added. Some outputs at a time: each x is loaded once for them. */\n"
      "FAST static void convolution_backward_weight(const float *x, const float *dy, float *dw,\n"
      "                                             const conv_shape *s, int shares)\n"
      "{\n"
      "    int side = s->side[1], plane = s->side[0] * side, out_plane = s->out[0] * s->out[1];\n"
      "    int taps = s->kernel[0] * s->kernel[1], k = s->channels * taps, all = s->groups * s->outputs;\n"
      "    for (int o = 0; o < all; o += LANES) {\n"
      "        int last = LAST_LANE(s->outputs - o % s->outputs);\n"
      "        for (int i = 0; i < k; i++, dw++) {\n"
      "            int tap = i % taps, top, bottom, left, right;\n"
      "            int row = tap / s->kernel[1] * s->dilation[0] - s->padding[0];\n"
      "            int column = tap % s->kernel[1] * s->dilation[1] - s->padding[1];\n"
      "            outputs_of(row, s->stride[0], s->side[0], s->out[0], &top, &bottom);\n"
      "            outputs_of(column, s->stride[1], side, s->out[1], &left, &right);\n"
      "            for (int share = 0; share < shares; share++) {\n"
      "                float sum[LANES], result[LANES];\n"
      "                EACH_LANE for (int l = 0; l < LANES; l++) sum[l] = 0.0f;\n"
      "                for (int n = share; n < s->images; n += shares)\n"
      "                    for (int oy = top; oy < bottom; oy++) {\n"
      "                        const float *from = x + ((n * s->groups + o / s->outputs) * s->channels + i / taps) * plane\n"
      "                            + (row + oy * s->stride[0]) * side + column + left * s->stride[1];\n"
      "                        const float *by = dy + (n * all + o) * out_plane + oy * s->out[1] + left;\n"
      "                        for (int ox = left; ox < right; ox++, by++, from += s->stride[1])\n"
      "                            EACH_LANE for (int l = 0; l < LANES; l++)\n"
      "                                sum[l] = multiply_add(by[(l < last ? l : last) * out_plane], *from,\n"
      "                                                      sum[l]);\n"
      "                    }\n"
      "                EACH_LANE for (int l = 0; l < LANES; l++) result[l] = sum[l];\n"
      "                for (int l = 0; l <= last; l++)\n"
      "                    dw[l * k] = share ? dw[l * k] + result[l] : result[l];\n"
      "            }\n"
      "        }\n"
      "        dw += last * k;\n"
      "        o -= LANES - 1 - last; /* a group may end here */\n"
      "    }\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

typedef struct geometry {
    int32_t images, groups, channels, side[2], outputs, out[2];
    int32_t kernel[2], stride[2], padding[2], dilation[2];
} geometry;

static int32_t side_of(const symbol *s, int i)
{
    const samba_shape *shape = &s->spec.shape;
    return shape->ndim == 3 && i == 0 ? 1 : shape->dim[shape->ndim - 2 + i];
}

static bool geometry_of(emitter *e, const node *n, const symbol *x, const symbol *w,
                        const symbol *y, geometry *g)
{
    g->images = x->spec.shape.dim[0];
    g->groups = attr_of(n, "groups");
    g->channels = w->spec.shape.dim[1];
    g->outputs = w->spec.shape.dim[0] / g->groups;
    bool fine = has_attr(n, "stride", g->stride, 2) && has_attr(n, "padding", g->padding, 2)
        && has_attr(n, "dilation", g->dilation, 2);
    for (int i = 0; i < 2; i++) {
        g->side[i] = side_of(x, i);
        g->out[i] = side_of(y, i);
        g->kernel[i] = side_of(w, i);
    }
    const int32_t *word = &g->images;
    for (size_t i = 0; i < sizeof *g / sizeof *word; i++)
        fine = fine && word[i] <= INT16_MAX;
    return fine || cannot(e, n, "sides this long");
}

// The shape as a table; sets the word shape to its name. Tables of the same shape are one.
static void write_geometry(emitter *e, const geometry *g)
{
    char text[400];
    snprintf(text, sizeof text,
             "{ %d, %d, %d, { %d, %d }, %d, { %d, %d },\n"
             "    { %d, %d }, { %d, %d }, { %d, %d }, { %d, %d } };\n",
             g->images, g->groups, g->channels, g->side[0], g->side[1], g->outputs, g->out[0],
             g->out[1], g->kernel[0], g->kernel[1], g->stride[0], g->stride[1], g->padding[0],
             g->padding[1], g->dilation[0], g->dilation[1]);
    const char *known = e->data.text ? strstr(e->data.text, text) : NULL;
    int number = 0;
    if (known) {
        while (strncmp(known, "shape", 5) != 0)
            known--;
        sscanf(known, "shape%d", &number);
    } else {
        number = ++e->n_tables;
        write_plain(&e->data, "static const conv_shape shape%d = %s\n", number, text);
    }
    set_word(&e->body, "shape", "shape%d", number);
}

bool set_conv_shape(emitter *e, const node *n)
{
    geometry g;
    if (!geometry_of(e, n, in_of(e, n, 0), in_of(e, n, 1), out_of(e, n, 0), &g)) return false;
    write_geometry(e, &g);
    return true;
}

static bool emit_convolution(emitter *e, const node *n)
{
    geometry g;
    if (!geometry_of(e, n, in_of(e, n, 0), in_of(e, n, 1), out_of(e, n, 0), &g)) return false;
    const char *function = "convolution";
    if (g.channels == 1 && g.outputs == 1) function = "depthwise";
    need(e, function);
    write_geometry(e, &g);
    set_word(&e->body, "function", "%s", function);
    set_tensor(e, "x", n->in[0]);
    if (!set_weights(e, n)) return false;
    set_tensor(e, "b", n->n_in > 2 ? n->in[2] : -1);
    take_relu(e, n);
    write_text(&e->body, "    ${function}(${x}, ${w}, ${b}, ${y}, &${shape}, ${relu});\n");
    return true;
}

static bool emit_backward_input(emitter *e, const node *n)
{
    geometry g;
    if (!geometry_of(e, n, out_of(e, n, 0), in_of(e, n, 1), in_of(e, n, 0), &g)) return false;
    need(e, "convolution_backward_input");
    write_geometry(e, &g);
    set_tensor(e, "dy", n->in[0]);
    set_tensor(e, "w", n->in[1]);
    set_tensor(e, "dx", n->out[0]);
    write_text(&e->body, "    convolution_backward_input(${dy}, ${w}, ${dx}, &${shape});\n");
    return true;
}

static bool emit_backward_weight(emitter *e, const node *n)
{
    geometry g;
    if (!geometry_of(e, n, in_of(e, n, 0), out_of(e, n, 0), in_of(e, n, 1), &g)) return false;
    int64_t shares = ((int64_t)1 << 18) / count_of(out_of(e, n, 0));
    if (shares > 8) shares = 8;
    if (shares > g.images) shares = g.images;
    if (shares < 1) shares = 1;
    need(e, "convolution_backward_weight");
    write_geometry(e, &g);
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "dy", n->in[1]);
    set_tensor(e, "dw", n->out[0]);
    set_word(&e->body, "shares", "%lld", (long long)shares);
    write_text(&e->body,
               "    convolution_backward_weight(${x}, ${dy}, ${dw}, &${shape}, ${shares});\n");
    return true;
}

static const op_emitter ops[] = {
    { "convolution", emit_convolution },
    { "convolution_backward_input", emit_backward_input },
    { "convolution_backward_weight", emit_backward_weight },
    { NULL, NULL },
};

const family convolution_family = { ops, pieces };
