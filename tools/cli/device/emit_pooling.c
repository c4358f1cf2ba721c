// Pooling.
#include "emit.h"
#include "windows.h"
#include <string.h>

static const piece pieces[] = {
    { "pool_shape", "",
      "/* Sides are (rows, columns). */\n"
      "typedef struct pool_shape {\n"
      "    short planes, side[2], out[2], kernel[2], stride[2], padding[2];\n"
      "} pool_shape;\n",
      0 },
    { "max_pool2d", "taps_of infinity pool_shape ",
      "/* y is the largest of a window, the first of equal ones, or a NaN. Or, if dx is not NULL, dy goes to\n"
      "   where that was. */\n"
      "SMALL static void max_pool2d(const float *x, float *y, const float *dy, float *dx, const pool_shape *s)\n"
      "{\n"
      "    int plane = s->side[0] * s->side[1];\n"
      "    for (int p = 0; p < s->planes; p++, x += plane) {\n"
      "        for (int i = 0; dx && i < plane; i++) dx[i] = 0.0f;\n"
      "        for (int oy = 0; oy < s->out[0]; oy++)\n"
      "            for (int ox = 0; ox < s->out[1]; ox++) {\n"
      "                int top, bottom, left, right, best;\n"
      "                int row = oy * s->stride[0] - s->padding[0];\n"
      "                int column = ox * s->stride[1] - s->padding[1];\n"
      "                taps_of(row, 1, s->kernel[0], s->side[0], &top, &bottom);\n"
      "                taps_of(column, 1, s->kernel[1], s->side[1], &left, &right);\n"
      "                best = (row + top) * s->side[1] + column + left;\n"
      "                float most = -INFINITE;\n"
      "                for (int ky = top; ky < bottom; ky++)\n"
      "                    for (int kx = left; kx < right; kx++) {\n"
      "                        int at = (row + ky) * s->side[1] + column + kx;\n"
      "                        if (!(x[at] > most) && x[at] == x[at]) continue;\n"
      "                        most = x[at];\n"
      "                        best = at;\n"
      "                    }\n"
      "                if (dx) dx[best] += *dy++;\n"
      "                else *y++ = most;\n"
      "            }\n"
      "        if (dx) dx += plane;\n"
      "    }\n"
      "}\n",
      0 },
    { "max_squares_backward", "",
      "/* dx of the largest of 2 x 2, without overlap: `rows` pairs of rows of 2 n elements. */\n"
      "SMALL static void max_squares_backward(const float *x, const float *dy, float *dx, int rows, int n)\n"
      "{\n"
      "    for (; rows > 0; rows--, x += 2 * n, dx += 2 * n)\n"
      "        for (int i = 0; i < n; i++, x += 2, dx += 2) {\n"
      "            int at[4] = { 0, 1, 2 * n, 2 * n + 1 }, best = 0;\n"
      "            for (int k = 0; k < 4; k++) {\n"
      "                float v = x[at[k]];\n"
      "                dx[at[k]] = 0.0f;\n"
      "                if (v > x[at[best]] || v != v) best = k;\n"
      "            }\n"
      "            dx[at[best]] = *dy++;\n"
      "        }\n"
      "}\n",
      0 },
    { "window_sum", "row_sum ",
      "/* The sum of a window; whole rows are one long row. */\n"
      "SMALL static float window_sum(const float *x, int columns, int rows, int n)\n"
      "{\n"
      "    float sum = 0.0f;\n"
      "    if (n == columns) {\n"
      "        n *= rows;\n"
      "        rows = 1;\n"
      "    }\n"
      "    for (; rows > 0; rows--, x += columns) {\n"
      "        if (n >= 32) sum += row_sum(x, n);\n"
      "        for (int i = 0; i < n && n < 32; i++) sum += x[i];\n"
      "    }\n"
      "    return sum;\n"
      "}\n",
      0 },
    { "plane_means", "window_sum ",
      "static void plane_means(const float *x, float *y, int planes, int plane)\n"
      "{\n"
      "    for (; planes > 0; planes--, x += plane) *y++ = window_sum(x, plane, 1, plane) / (float)plane;\n"
      "}\n",
      0 },
    { "avg_pool2d", "taps_of window_sum pool_shape ",
      "/* The mean of each window. Padding counts, unless excluded. */\n"
      "SMALL static void avg_pool2d(const float *x, float *y, const pool_shape *s, int exclude_padding)\n" POOLING_WINDOWS
      "            const float *from = x + (at[0] + first[0]) * s->side[1] + at[1] + first[1];\n"
      "            float sum = window_sum(from, s->side[1], end[0] - first[0], end[1] - first[1]);\n"
      "            *y++ = sum / (float)size;\n"
      "        }\n"
      "}\n",
      0 },
    { "plane_means_backward", "",
      "static void plane_means_backward(const float *dy, float *dx, int planes, int plane)\n"
      "{\n"
      "    for (; planes > 0; planes--, dy++)\n"
      "        for (int i = 0; i < plane; i++) *dx++ = 0.0f + *dy / (float)plane;\n"
      "}\n",
      0 },
    { "avg_pool2d_backward", "taps_of pool_shape ",
      "/* Each element of a window gets its share of dy; x is the gradient. */\n"
      "SMALL static void avg_pool2d_backward(const float *dy, float *x, const pool_shape *s,\n"
      "                                      int exclude_padding)\n"
      "{\n"
      "    for (int i = 0; i < s->planes * s->side[0] * s->side[1]; i++) x[i] = 0.0f;\n" POOLING_WINDOWS_INSIDE
      "            float share = *dy++ / (float)size;\n"
      "            for (int r = at[0] + first[0]; r < at[0] + end[0]; r++)\n"
      "                for (int c = at[1] + first[1]; c < at[1] + end[1]; c++)\n"
      "                    x[r * s->side[1] + c] += share;\n"
      "        }\n"
      "}\n",
      0 },
    { "adaptive_means", "window_sum ",
      "/* The means of windows that cover a plane evenly, `high` by `wide` of them; or, if y is NULL, their\n"
      "   gradient dx of dy. */\n"
      "SMALL static void adaptive_means(const float *x, float *y, const float *dy, float *dx, int planes,\n"
      "                                 int rows, int columns, int high, int wide)\n"
      "{\n"
      "    for (int i = 0; i < planes * rows * columns && dx; i++) dx[i] = 0.0f;\n"
      "    for (int o = 0; o < planes * high * wide; o++) {\n"
      "        int i = o / wide % high, j = o % wide, plane = o / wide / high * rows * columns;\n"
      "        int top = i * rows / high, bottom = ((i + 1) * rows + high - 1) / high;\n"
      "        int left = j * columns / wide, right = ((j + 1) * columns + wide - 1) / wide;\n"
      "        float size = (float)((bottom - top) * (right - left));\n"
      "        if (y) {\n"
      "            const float *from = x + plane + top * columns + left;\n"
      "            y[o] = window_sum(from, columns, bottom - top, right - left) / size;\n"
      "            continue;\n"
      "        }\n"
      "        for (int r = top; r < bottom; r++)\n"
      "            for (int c = left; c < right; c++) dx[plane + r * columns + c] += dy[o] / size;\n"
      "    }\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

typedef struct sides {
    int32_t planes, side[2], out[2], kernel[2], stride[2], padding[2];
} sides;

static bool sides_of(emitter *e, const node *n, const symbol *x, const symbol *y, sides *s)
{
    const samba_shape *from = &x->spec.shape, *to = &y->spec.shape;
    memset(s, 0, sizeof *s);
    for (int i = 0; i < 2; i++) {
        s->side[i] = from->dim[from->ndim - 2 + i];
        s->out[i] = to->dim[to->ndim - 2 + i];
    }
    s->planes = (int32_t)(count_of(x) / s->side[0] / s->side[1]);
    int32_t to_sides[2];
    if (has_attr(n, "to", to_sides, 2)) return true;
    bool fine = has_attr(n, "kernel", s->kernel, 2) && has_attr(n, "stride", s->stride, 2)
        && has_attr(n, "padding", s->padding, 2);
    const int32_t *word = &s->planes;
    for (size_t i = 0; i < sizeof *s / sizeof *word; i++)
        fine = fine && word[i] <= INT16_MAX;
    return fine || cannot(e, n, "sides this long");
}

static void write_sides(emitter *e, const sides *s)
{
    int number = ++e->n_tables;
    need(e, "pool_shape");
    write_plain(&e->data,
                "static const pool_shape shape%d = { %d, { %d, %d }, { %d, %d }, "
                "{ %d, %d }, { %d, %d },\n    { %d, %d } };\n\n",
                number, s->planes, s->side[0], s->side[1], s->out[0], s->out[1], s->kernel[0],
                s->kernel[1], s->stride[0], s->stride[1], s->padding[0], s->padding[1]);
    set_word(&e->body, "shape", "shape%d", number);
}

bool set_pool_shape(emitter *e, const node *n)
{
    sides s;
    if (!sides_of(e, n, in_of(e, n, 0), out_of(e, n, 0), &s)) return false;
    write_sides(e, &s);
    return true;
}

static bool emit_max(emitter *e, const node *n)
{
    sides s;
    if (!sides_of(e, n, in_of(e, n, 0), out_of(e, n, 0), &s)) return false;
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    write_sides(e, &s);
    need(e, "max_pool2d");
    write_text(&e->body, "    max_pool2d(${x}, ${y}, NULL, NULL, &${shape});\n");
    return true;
}

static bool emit_max_backward(emitter *e, const node *n)
{
    sides s;
    if (!sides_of(e, n, in_of(e, n, 0), in_of(e, n, 1), &s)) return false;
    bool squares = true;
    for (int i = 0; i < 2; i++)
        squares = squares && s.kernel[i] == 2 && s.stride[i] == 2 && s.side[i] == 2 * s.out[i];
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "dy", n->in[1]);
    set_tensor(e, "dx", n->out[0]);
    set_word(&e->body, "rows", "%d", s.planes * s.out[0]);
    set_word(&e->body, "n", "%d", s.out[1]);
    need(e, squares ? "max_squares_backward" : "max_pool2d");
    if (!squares) write_sides(e, &s);
    write_text(&e->body,
               squares ? "    max_squares_backward(${x}, ${dy}, ${dx}, ${rows}, ${n});\n"
                       : "    max_pool2d(${x}, NULL, ${dy}, ${dx}, &${shape});\n");
    return true;
}

// The words of adaptive_means.
static void set_adaptive(emitter *e, const sides *s)
{
    set_word(&e->body, "rows", "%d", s->side[0]);
    set_word(&e->body, "columns", "%d", s->side[1]);
    set_word(&e->body, "high", "%d", s->out[0]);
    set_word(&e->body, "wide", "%d", s->out[1]);
    need(e, "adaptive_means");
}

// Is a plane one window?
static bool is_global(const sides *s)
{
    return s->out[0] == 1 && s->out[1] == 1 && !s->kernel[0];
}

static bool emit_avg(emitter *e, const node *n)
{
    sides s;
    if (!sides_of(e, n, in_of(e, n, 0), out_of(e, n, 0), &s)) return false;
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_word(&e->body, "planes", "%d", s.planes);
    set_word(&e->body, "plane", "%d", s.side[0] * s.side[1]);
    set_word(&e->body, "exclude", "%d", attr_of(n, "exclude_padding") != 0);
    if (is_global(&s)) {
        need(e, "plane_means");
        write_text(&e->body, "    plane_means(${x}, ${y}, ${planes}, ${plane});\n");
        return true;
    }
    if (!s.kernel[0]) {
        set_adaptive(e, &s);
        write_text(&e->body,
                   "    adaptive_means(${x}, ${y}, NULL, NULL, ${planes}, ${rows}, "
                   "${columns}, ${high}, ${wide});\n");
        return true;
    }
    write_sides(e, &s);
    need(e, "avg_pool2d");
    write_text(&e->body, "    avg_pool2d(${x}, ${y}, &${shape}, ${exclude});\n");
    return true;
}

static bool emit_avg_backward(emitter *e, const node *n)
{
    sides s;
    if (!sides_of(e, n, out_of(e, n, 0), in_of(e, n, 0), &s)) return false;
    set_tensor(e, "dy", n->in[0]);
    set_tensor(e, "dx", n->out[0]);
    set_word(&e->body, "planes", "%d", s.planes);
    set_word(&e->body, "exclude", "%d", attr_of(n, "exclude_padding") != 0);
    if (s.kernel[0]) {
        write_sides(e, &s);
        need(e, "avg_pool2d_backward");
        write_text(&e->body, "    avg_pool2d_backward(${dy}, ${dx}, &${shape}, ${exclude});\n");
        return true;
    }
    if (!is_global(&s)) {
        set_adaptive(e, &s);
        write_text(&e->body,
                   "    adaptive_means(NULL, NULL, ${dy}, ${dx}, ${planes}, ${rows}, "
                   "${columns}, ${high}, ${wide});\n");
        return true;
    }
    set_word(&e->body, "plane", "%d", s.side[0] * s.side[1]);
    need(e, "plane_means_backward");
    write_text(&e->body, "    plane_means_backward(${dy}, ${dx}, ${planes}, ${plane});\n");
    return true;
}

static const op_emitter ops[] = {
    { "max_pool2d", emit_max },
    { "max_pool2d_backward", emit_max_backward },
    { "avg_pool2d", emit_avg },
    { "avg_pool2d_backward", emit_avg_backward },
    { NULL, NULL },
};

const family pooling_family = { ops, pieces };
