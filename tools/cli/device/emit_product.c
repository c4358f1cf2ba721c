// Products of matrices. Four sums side by side where there is an instruction for multiply-adds, as
// each x is then loaded once for four of them; one at a time where it is a call.
#include "emit.h"
#include <string.h>

static const piece pieces[] = {
    { "dots", "multiply_add relu ",
      "/* What dot_rows sums: x times each of some rows of w, which are `row` apart. Both are walked by\n"
      "   channels, rows and columns, 1 at least; behind each row and channel something is skipped. */\n"
      "typedef struct dots {\n"
      "    const float *x, *bias;\n"
      "    const ${weight} *w;\n"
      "    float *y;\n"
      "    int last, row, y_step, with_relu; /* last: one less than there are rows of w */\n"
      "    int channels, rows, columns;\n"
      "    int x_step, x_row, x_channel, w_row, w_channel;\n"
      "} dots;\n"
      "\n"
      "/* y = dot product + bias for each row; then relu, if asked for. At most LANES rows: each x is loaded\n"
      "   once for all. */\n"
      "FAST static void dot_rows(const dots *d)\n"
      "{\n"
      "    const float *x = d->x;\n"
      "    const ${weight} *w[LANES];\n"
      "    float sum[LANES], result[LANES];\n"
      "    int last = LANES > 1 ? d->last : 0;\n"
      "    EACH_LANE for (int l = 0; l < LANES; l++) {\n"
      "        w[l] = d->w + (l < last ? l : last) * d->row;\n"
      "        sum[l] = 0.0f;\n"
      "    }\n"
      "    for (int c = d->channels; c > 0; c--) {\n"
      "        for (int r = d->rows; r > 0; r--) {\n"
      "            const ${weight} *end = w[0] + d->columns;\n"
      "            int step = d->x_step;\n"
      "            do {\n"
      "                EACH_LANE for (int l = 0; l < LANES; l++)\n"
      "                    sum[l] = multiply_add(*x, ${load}*w[l]++${done}, sum[l]);\n"
      "                x += step;\n"
      "            } while (w[0] != end);\n"
      "            x += d->x_row;\n"
      "            if (d->w_row == 0) continue;\n"
      "            EACH_LANE for (int l = 0; l < LANES; l++) w[l] += d->w_row;\n"
      "        }\n"
      "        x += d->x_channel;\n"
      "        if (d->w_channel == 0) continue;\n"
      "        EACH_LANE for (int l = 0; l < LANES; l++) w[l] += d->w_channel;\n"
      "    }\n"
      "    float *y = d->y;\n"
      "    EACH_LANE for (int l = 0; l < LANES; l++) result[l] = sum[l];\n"
      "    for (int l = 0; l <= last; l++, y += d->y_step) {\n"
      "        float v = d->bias ? result[l] + d->bias[l] : result[l];\n"
      "        *y = d->with_relu ? relu(v) : v;\n"
      "    }\n"
      "}\n",
      80 },
    { "affine_dots", "dots ",
      "/* y = x w^T + bias, for x (rows,k) and w (n,k); then relu, if asked for. */\n"
      "static void affine(const float *x, const ${weight} *w, const float *bias, float *y, int rows,\n"
      "                   int n, int k, int with_relu)\n"
      "{\n"
      "    for (; rows > 0; rows--, x += k, y += n)\n"
      "        for (int j = 0; j < n; j += LANES) {\n"
      "            int last = LAST_LANE(n - j);\n"
      "            dots d = { x, bias ? bias + j : NULL, w + j * k, y + j, last, k, 1, with_relu,\n"
      "                       1, 1, k, 1, 0, 0, 0, 0 };\n"
      "            dot_rows(&d);\n"
      "        }\n"
      "}\n",
      0 },
    { "affine", "multiply_add relu ",
      "/* y = x w^T + bias, for x (rows,k) and w (n,k); then relu, if asked for. LANES rows of w at a time:\n"
      "   each x is loaded once for all. */\n"
      "FAST static void affine(const float *x, const ${weight} *weights, const float *bias, float *y,\n"
      "                        int rows, int n, int k, int with_relu)\n"
      "{\n"
      "    for (; rows > 0; rows--, x += k)\n"
      "        for (int j = 0; j < n; j += LANES) {\n"
      "            const float *from = x;\n"
      "            const ${weight} *w[LANES];\n"
      "            float sum[LANES], result[LANES];\n"
      "            EACH_LANE for (int l = 0; l < LANES; l++) {\n"
      "                w[l] = weights + (j + l < n ? j + l : n - 1) * k;\n"
      "                sum[l] = 0.0f;\n"
      "            }\n"
      "            do {\n"
      "                EACH_LANE for (int l = 0; l < LANES; l++)\n"
      "                    sum[l] = multiply_add(*from, ${load}*w[l]++${done}, sum[l]);\n"
      "            } while (++from != x + k);\n"
      "            EACH_LANE for (int l = 0; l < LANES; l++) result[l] = sum[l];\n"
      "            for (int l = 0; l < LANES && j + l < n; l++) {\n"
      "                float v = bias ? result[l] + bias[j + l] : result[l];\n"
      "                *y++ = with_relu ? relu(v) : v;\n"
      "            }\n"
      "        }\n"
      "}\n",
      0 },
    { "matmul", "multiply_add ",
      "/* y = a b, or y += a b, for a (m,k) and b (k,n), whose element (i,p) is a[i * a_row + p * a_col]. */\n"
      "FAST static void matmul(const float *a, int a_row, int a_col, const float *b, int b_row, int b_col,\n"
      "                   float *y, int m, int n, int k, int adds)\n"
      "{\n"
      "    for (int i = 0; i < m; i++, a += a_row, y += n)\n"
      "        for (int j = 0; j < n; j += LANES) {\n"
      "            const float *from = a, *column[LANES];\n"
      "            float sum[LANES];\n"
      "            EACH_LANE for (int l = 0; l < LANES; l++) {\n"
      "                int at = j + l < n ? j + l : n - 1;\n"
      "                column[l] = b + at * b_col;\n"
      "                sum[l] = adds ? y[at] : 0.0f;\n"
      "            }\n"
      "            for (int p = 0; p < k; p++, from += a_col)\n"
      "                EACH_LANE for (int l = 0; l < LANES; l++) {\n"
      "                    sum[l] = multiply_add(*from, *column[l], sum[l]);\n"
      "                    column[l] += b_row;\n"
      "                }\n"
      "            EACH_LANE for (int l = 0; l < LANES; l++)\n"
      "                if (j + l < n) y[j + l] = sum[l];\n"
      "        }\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

// Then there is a function that a dense layer can use, too.
static bool has_convolution(const emitter *e)
{
    for (int32_t i = 0; i < e->p->pef.n_nodes; i++)
        if (e->p->nodes[i].op && strcmp(e->p->nodes[i].op, "convolution") == 0) return true;
    return false;
}

static bool emit_affine(emitter *e, const node *n)
{
    const samba_shape *w = &in_of(e, n, 1)->spec.shape;
    if (!set_weights(e, n)) return false;
    set_word(&e->body, "n", "%d", w->dim[0]);
    set_word(&e->body, "k", "%d", w->dim[1]);
    set_word(&e->body, "rows", "%lld", (long long)(count_of(in_of(e, n, 0)) / w->dim[1]));
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "b", n->n_in > 2 ? n->in[2] : -1);
    take_relu(e, n);
    need(e, has_convolution(e) ? "affine_dots" : "affine");
    write_text(&e->body, "    affine(${x}, ${w}, ${b}, ${y}, ${rows}, ${n}, ${k}, ${relu});\n");
    return true;
}

// The words of a product of (m,k) and (k,n).
static void set_matmul(emitter *e, const node *n, int64_t m, int32_t k, int32_t columns)
{
    bool ta = attr_of(n, "transpose_a") != 0, tb = attr_of(n, "transpose_b") != 0;
    writer *w = &e->body;
    set_word(w, "m", "%lld", (long long)m);
    set_word(w, "k", "%d", k);
    set_word(w, "n", "%d", columns);
    set_word(w, "a_steps", ta ? "1, %lld" : "%lld, 1", ta ? (long long)m : (long long)k);
    set_word(w, "b_steps", tb ? "1, %d" : "%d, 1", tb ? k : columns);
    set_word(w, "adds", "%d", n->n_in > 2);
    need(e, "matmul");
}

// A product for each element of the leading dimensions.
static void write_batch(emitter *e, const node *n)
{
    const samba_shape *y = &out_of(e, n, 0)->spec.shape;
    operand all[3] = { { n->in[0], 0, { 0 } }, { n->in[1], 0, { 0 } }, { n->out[0], 0, { 0 } } };
    loops l = { .n = 0 };
    writer *w = &e->body;
    add_broadcast(e, &l, all, 3, y, y->ndim - 2);
    write_loops(w, &l, 0, l.n, false);
    write_plain(w, "%*smatmul(", 4 * l.n + 4, "");
    write_pointer(e, &all[0], &l);
    write_text(w, ", ${a_steps}, ");
    write_pointer(e, &all[1], &l);
    write_text(w, ", ${b_steps}, ");
    write_pointer(e, &all[2], &l);
    write_text(w, ", ${m}, ${n}, ${k}, ${adds});\n");
}

// matmul and matmul_accumulate, which adds to input 2, whose memory its output has.
static bool emit_matmul(emitter *e, const node *n)
{
    const samba_shape *a = &in_of(e, n, 0)->spec.shape, *b = &in_of(e, n, 1)->spec.shape;
    bool ta = attr_of(n, "transpose_a") != 0, tb = attr_of(n, "transpose_b") != 0;
    for (int32_t i = 0; i < n->n_in; i++)
        if (in_of(e, n, i)->spec.dtype != SAMBA_F32) return cannot(e, n, "weights of this type");
    if (n->n_in > 2) set_tensor(e, "y", n->in[2]);
    int32_t k = b->dim[b->ndim - 2 + tb], columns = b->dim[b->ndim - 1 - tb];
    bool rows = b->ndim == 2 && !ta; // the batch is only more rows
    set_matmul(e, n, rows ? count_of(in_of(e, n, 0)) / k : a->dim[a->ndim - 2 + ta], k, columns);
    if (!rows && out_of(e, n, 0)->spec.shape.ndim > 2) {
        write_batch(e, n);
        return true;
    }
    set_tensor(e, "a", n->in[0]);
    set_tensor(e, "b", n->in[1]);
    set_tensor(e, "y", n->out[0]);
    write_text(&e->body,
               "    matmul(${a}, ${a_steps}, ${b}, ${b_steps}, ${y}, ${m}, ${n}, ${k}, "
               "${adds});\n");
    return true;
}

static const op_emitter ops[] = {
    { "affine", emit_affine },
    { "matmul", emit_matmul },
    { "matmul_accumulate", emit_matmul },
    { NULL, NULL },
};

const family product_family = { ops, pieces };
