// Products of bytes and codes whose scales and zeros are tensors, as ONNX has them. Sums are of
// integers, so any order of them has the bits of the executor.
#include "emit.h"
#include "tools/cli/util/text.h"

// Of affine_integer, convolution_integer and matmul_integer.
enum { IN_X, IN_W, IN_ZERO_X, IN_ZERO_W, IN_SCALE, IN_OFFSET, IN_ZERO_Y };

static const piece pieces[] = {
    { "byte_at", "",
      "/* Byte i of x with some bits flipped: 0x80 makes codes from 0 to 255 such from -128 to 127. */\n"
      "static inline int byte_at(const void *x, int i, int flip)\n"
      "{\n"
      "    return (int8_t)(((const uint8_t *)x)[i] ^ flip);\n"
      "}\n",
      0 },
    { "nearest", "",
      "/* The whole number nearest to x, halves to even, from least to most. */\n"
      "static int32_t nearest(float x, int32_t least, int32_t most)\n"
      "{\n"
      "    if (x < (float)least) return least;\n"
      "    if (x > (float)most) return most;\n"
      "    return (int32_t)((x + 12582912.0f) - 12582912.0f);\n"
      "}\n",
      0 },
    { "quantize_bytes", "nearest ",
      "/* To codes from least to most: x by scale, plus zero. False: a NaN, for which no code stands. */\n"
      "SMALL static bool quantize_bytes(const float *x, void *y, int n, float scale, int zero, int least,\n"
      "                                 int most)\n"
      "{\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        float v = x[i] / scale;\n"
      "        if (v != v) return false;\n"
      "        ((uint8_t *)y)[i] = (uint8_t)(zero + nearest(v, least - zero, most - zero));\n"
      "    }\n"
      "    return true;\n"
      "}\n",
      0 },
    { "dequantize_bytes", "byte_at ",
      "SMALL static void dequantize_bytes(const void *x, float *y, int n, float scale, int zero, int flip)\n"
      "{\n"
      "    for (int i = 0; i < n; i++) y[i] = (float)(byte_at(x, i, flip) - zero) * scale;\n"
      "}\n",
      0 },
    { "quantize_dynamic", "quantize_bytes infinity ",
      "/* To codes from 0 to 255 that span the range of x and 0; makes their scale and zero, too. False:\n"
      "   x has a NaN, or a range that is not finite. */\n"
      "SMALL static bool quantize_dynamic(const float *x, uint8_t *y, int n, float *scale, uint8_t *zero)\n"
      "{\n"
      "    float least = 0.0f, most = 0.0f, span;\n"
      "    for (int i = 0; i < n; i++) {\n"
      "        if (x[i] != x[i]) return false;\n"
      "        if (x[i] < least) least = x[i];\n"
      "        if (x[i] > most) most = x[i];\n"
      "    }\n"
      "    span = most - least;\n"
      "    if (!(span < INFINITE)) return false;\n"
      "    *scale = (span > 1e-35f ? span : 1e-35f) / 255.0f;\n"
      "    *zero = (uint8_t)nearest(-least / *scale, 0, 255);\n"
      "    return quantize_bytes(x, y, n, *scale, *zero, 0, 255);\n"
      "}\n",
      0 },
    { "all_finite", "",
      "static bool all_finite(const float *x, int n)\n"
      "{\n"
      "    for (int i = 0; i < n; i++)\n"
      "        if (!(x[i] - x[i] == 0.0f)) return false;\n"
      "    return true;\n"
      "}\n",
      0 },
    { "byte_factors", "byte_at ",
      "/* What a product is of: x and w with their bits flipped, less their zeros. */\n"
      "typedef struct byte_factors {\n"
      "    const void *x, *w, *zero_w; /* no zero_w: it is 0 */\n"
      "    int flip_x, flip_w, zero_x, zero_step; /* zero_step 1: each channel has one; 0: it is of all */\n"
      "} byte_factors;\n"
      "\n"
      "static int zero_of_channel(const byte_factors *f, int channel)\n"
      "{\n"
      "    const uint8_t none = 0;\n"
      "    if (!f->zero_w) return byte_at(&none, 0, f->flip_w);\n"
      "    return byte_at(f->zero_w, channel * f->zero_step, f->flip_w);\n"
      "}\n",
      0 },
    { "byte_end", "multiply_add nearest ",
      "/* What becomes of sums. */\n"
      "typedef struct byte_end {\n"
      "    const float *scale, *offset; /* no scale: y is the sum; no offset: it is 0 */\n"
      "    int scale_step, offset_step; /* 1: each channel has one; 0: it is of all */\n"
      "    int to_bytes, zero, least, most; /* of y, if it is codes; else it is float */\n"
      "} byte_end;\n"
      "\n"
      "static void end_sum(const byte_end *e, uint32_t sum, int channel, void *y, int at)\n"
      "{\n"
      "    int32_t whole = (int32_t)sum;\n"
      "    float x, offset = e->offset ? e->offset[channel * e->offset_step] : 0.0f;\n"
      "    if (!e->scale) {\n"
      "        ((int32_t *)y)[at] = whole;\n"
      "        return;\n"
      "    }\n"
      "    x = multiply_add((float)whole, e->scale[channel * e->scale_step], offset);\n"
      "    if (!e->to_bytes)\n"
      "        ((float *)y)[at] = x;\n"
      "    else\n"
      "        ((uint8_t *)y)[at] = (uint8_t)(e->zero + nearest(x, e->least - e->zero, e->most - e->zero));\n"
      "}\n",
      0 },
    { "affine_integer", "byte_factors byte_end ",
      "/* x (rows,k) times w (n,k), transposed. */\n"
      "FAST static void affine_integer(const byte_factors *f, const byte_end *e, void *y, int rows, int n,\n"
      "                                int k)\n"
      "{\n"
      "    for (int i = 0; i < rows; i++)\n"
      "        for (int j = 0; j < n; j++) {\n"
      "            int zero = zero_of_channel(f, j);\n"
      "            uint32_t sum = 0;\n"
      "            for (int p = 0; p < k; p++) {\n"
      "                int a = byte_at(f->x, i * k + p, f->flip_x) - f->zero_x;\n"
      "                sum += (uint32_t)(a * (byte_at(f->w, j * k + p, f->flip_w) - zero));\n"
      "            }\n"
      "            end_sum(e, sum, j, y, i * n + j);\n"
      "        }\n"
      "}\n",
      0 },
    { "matmul_integer", "byte_factors ",
      "/* y = x w, for x (rows,k) and w (k,n); each row of x has a zero, or all have one. */\n"
      "FAST static void matmul_integer(const byte_factors *f, const void *zero_x, int zero_x_step, int32_t *y,\n"
      "                                int rows, int n, int k)\n"
      "{\n"
      "    for (int i = 0; i < rows; i++)\n"
      "        for (int j = 0; j < n; j++) {\n"
      "            int zero_row = zero_x ? byte_at(zero_x, i * zero_x_step, f->flip_x) : f->zero_x;\n"
      "            int zero = zero_of_channel(f, j);\n"
      "            uint32_t sum = 0;\n"
      "            for (int p = 0; p < k; p++) {\n"
      "                int a = byte_at(f->x, i * k + p, f->flip_x) - zero_row;\n"
      "                sum += (uint32_t)(a * (byte_at(f->w, p * n + j, f->flip_w) - zero));\n"
      "            }\n"
      "            y[i * n + j] = (int32_t)sum;\n"
      "        }\n"
      "}\n",
      0 },
    { "convolution_integer", "byte_factors byte_end taps_of conv_shape ",
      "/* The sum of one place of y: of a window of x that begins at `from`, in row at[0] and column at[1],\n"
      "   and of the weights from w on. What lies beside the image is zero_x, which adds nothing. */\n"
      "FAST static uint32_t window_of_bytes(const byte_factors *f, const conv_shape *s, int from, int w,\n"
      "                                     const int *at, int zero)\n"
      "{\n"
      "    int first[2], end[2], side = s->side[1];\n"
      "    uint32_t sum = 0;\n"
      "    for (int i = 0; i < 2; i++)\n"
      "        taps_of(at[i], s->dilation[i], s->kernel[i], s->side[i], &first[i], &end[i]);\n"
      "    for (int c = 0; c < s->channels; c++) {\n"
      "        for (int ky = first[0]; ky < end[0]; ky++) {\n"
      "            int row = from + (at[0] + ky * s->dilation[0]) * side + at[1];\n"
      "            for (int kx = first[1]; kx < end[1]; kx++) {\n"
      "                int a = byte_at(f->x, row + kx * s->dilation[1], f->flip_x) - f->zero_x;\n"
      "                sum += (uint32_t)(a * (byte_at(f->w, w + ky * s->kernel[1] + kx, f->flip_w) - zero));\n"
      "            }\n"
      "        }\n"
      "        from += s->side[0] * side;\n"
      "        w += s->kernel[0] * s->kernel[1];\n"
      "    }\n"
      "    return sum;\n"
      "}\n"
      "\n"
      "SMALL static void convolution_integer(const byte_factors *f, const byte_end *e, void *y,\n"
      "                                      const conv_shape *s)\n"
      "{\n"
      "    int k = s->channels * s->kernel[0] * s->kernel[1], to = 0, at[2];\n"
      "    for (int g = 0; g < s->images * s->groups; g++)\n"
      "        for (int o = 0; o < s->outputs; o++) {\n"
      "            int channel = g % s->groups * s->outputs + o, zero = zero_of_channel(f, channel);\n"
      "            for (int oy = 0; oy < s->out[0]; oy++)\n"
      "                for (int ox = 0; ox < s->out[1]; ox++) {\n"
      "                    int from = g * s->channels * s->side[0] * s->side[1];\n"
      "                    at[0] = oy * s->stride[0] - s->padding[0];\n"
      "                    at[1] = ox * s->stride[1] - s->padding[1];\n"
      "                    end_sum(e, window_of_bytes(f, s, from, channel * k, at, zero), channel, y, to++);\n"
      "                }\n"
      "        }\n"
      "}\n",
      0 },
    { NULL, NULL, NULL, 0 },
};

static void set_int(emitter *e, const char *word, int64_t x)
{
    set_word(&e->body, word, "%lld", (long long)x);
}

static bool is_unsigned(const symbol *s)
{
    return s->spec.dtype == SAMBA_U8;
}

static int flip_of(const symbol *s)
{
    return is_unsigned(s) ? 0x80 : 0;
}

// Sets a word to input i of n, or to NULL, and another one to 1 if each channel has a number, else
// to 0.
static void set_each(emitter *e, const node *n, const char *word, const char *step, int32_t i)
{
    const symbol *s = in_of(e, n, i);
    set_tensor(e, word, s ? n->in[i] : -1);
    set_int(e, step, s && count_of(s) > 1);
}

// Sets a word to the zero of what x is, with its bits flipped: input i of n, or 0.
static void set_zero(emitter *e, const node *n, const char *word, int32_t i, const symbol *x)
{
    if (in_of(e, n, i))
        set_word(&e->body, word, "byte_at(%s, 0, %d)", tensor_name(e, n->in[i]), flip_of(x));
    else
        set_int(e, word, is_unsigned(x) ? -128 : 0);
}

// Sets zero, least and most of codes like s, of which input i of n is the zero.
static void set_codes(emitter *e, const node *n, int32_t i, const symbol *s)
{
    set_word(&e->body, "zero_y", "%s[0]", tensor_name(e, n->in[i]));
    set_int(e, "least", is_unsigned(s) ? 0 : -128);
    set_int(e, "most", is_unsigned(s) ? 255 : 127);
}

static bool emit_quantize(emitter *e, const node *n)
{
    const symbol *y = out_of(e, n, 0);
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "scale", n->in[1]);
    set_tensor(e, "y", n->out[0]);
    set_int(e, "n", count_of(y));
    set_codes(e, n, 2, y);
    need(e, "quantize_bytes");
    write_text(&e->body,
               "    if (!quantize_bytes(${x}, ${y}, ${n}, ${scale}[0], ${zero_y}, ${least}, "
               "${most})) return false;\n");
    return true;
}

static bool emit_dequantize(emitter *e, const node *n)
{
    const symbol *x = in_of(e, n, 0);
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "scale", n->in[1]);
    set_tensor(e, "y", n->out[0]);
    set_int(e, "n", count_of(x));
    set_int(e, "flip", flip_of(x));
    set_zero(e, n, "zero", 2, x);
    need(e, "dequantize_bytes");
    write_text(&e->body,
               "    dequantize_bytes(${x}, ${y}, ${n}, ${scale}[0], ${zero}, ${flip});\n");
    return true;
}

static bool emit_quantize_dynamic(emitter *e, const node *n)
{
    set_tensor(e, "x", n->in[0]);
    set_tensor(e, "y", n->out[0]);
    set_tensor(e, "scale", n->out[1]);
    set_tensor(e, "zero", n->out[2]);
    set_int(e, "n", count_of(in_of(e, n, 0)));
    need(e, "quantize_dynamic");
    write_text(&e->body,
               "    if (!quantize_dynamic(${x}, ${y}, ${n}, ${scale}, ${zero})) return false;\n");
    return true;
}

// Writes what the product is of, as f; weights: the table they are in, or NULL for input 1.
static void write_factors(emitter *e, const node *n, const char *weights)
{
    const symbol *x = in_of(e, n, IN_X), *w = in_of(e, n, IN_W);
    set_tensor(e, "x", n->in[IN_X]);
    if (weights)
        set_word(&e->body, "w", "%s", weights);
    else
        set_tensor(e, "w", n->in[IN_W]);
    set_int(e, "flip_x", flip_of(x));
    set_int(e, "flip_w", flip_of(w));
    set_each(e, n, "zero_w", "zero_w_step", IN_ZERO_W);
    need(e, "byte_factors");
    write_text(&e->body,
               "    {\n"
               "        const byte_factors f = { ${x}, ${w}, ${zero_w}, ${flip_x}, ${flip_w}, "
               "${zero_x}, ${zero_w_step} };\n");
}

// Writes that a run ends if input i of n has a number that is not finite.
static void write_finite_check(emitter *e, const node *n, int32_t i)
{
    const symbol *s = in_of(e, n, i);
    if (!s) return;
    need(e, "all_finite");
    set_tensor(e, "numbers", n->in[i]);
    set_int(e, "count", count_of(s));
    write_text(&e->body, "        if (!all_finite(${numbers}, ${count})) return false;\n");
}

// Writes what becomes of sums, as e.
static void write_end(emitter *e, const node *n)
{
    const symbol *y = out_of(e, n, 0);
    bool to_bytes = y->spec.dtype == SAMBA_I8 || is_unsigned(y);
    set_tensor(e, "y", n->out[0]);
    set_each(e, n, "scale", "scale_step", IN_SCALE);
    set_each(e, n, "offset", "offset_step", IN_OFFSET);
    set_int(e, "to_bytes", to_bytes);
    if (to_bytes) {
        set_codes(e, n, IN_ZERO_Y, y);
        write_finite_check(e, n, IN_SCALE);
        write_finite_check(e, n, IN_OFFSET);
    } else {
        set_word(&e->body, "zero_y", "0");
        set_int(e, "least", 0);
        set_int(e, "most", 0);
    }
    need(e, "byte_end");
    write_text(&e->body,
               "        const byte_end e = { ${scale}, ${offset}, ${scale_step}, ${offset_step}, "
               "${to_bytes}, ${zero_y}, ${least}, ${most} };\n");
}

// Writes packed weights (panels,fours,64,4) as a table (n,k), without what fills them up; sets its
// name.
static bool write_packed(emitter *e, const node *n, int64_t columns, int64_t k, char name[64])
{
    const symbol *w = in_of(e, n, IN_W);
    if (!w->value || !is_constant(e, n->in[IN_W]))
        return cannot(e, n, "weights that are no constants");

    const int8_t *packed = (const int8_t *)w->value;
    int64_t fours = w->spec.shape.dim[1];
    snprintf(name, 64, "weights%d", ++e->n_tables);
    write_plain(&e->data, "/* %s: %lldx%lld */\nstatic const int8_t %s[%lld] = {\n",
                in_c_comment(w->name), (long long)columns, (long long)k, name,
                (long long)(columns * k));
    for (int64_t j = 0; j < columns; j++)
        for (int64_t p = 0; p < k; p++) {
            int64_t four = j / 64 * fours + p / 4, i = j * k + p;
            write_plain(&e->data, "%s%d,%s", i % 16 ? " " : "    ",
                        packed[(four * 64 + j % 64) * 4 + p % 4],
                        (i + 1) % 16 && i + 1 < columns * k ? "" : "\n");
        }
    write_plain(&e->data, "};\n\n");
    return true;
}

static bool emit_affine(emitter *e, const node *n)
{
    const symbol *x = in_of(e, n, IN_X);
    int64_t k = x->spec.shape.dim[x->spec.shape.ndim - 1], columns = attr_of(n, "columns");
    char weights[64];
    if (!write_packed(e, n, columns, k, weights)) return false;
    need(e, "affine_integer");
    set_int(e, "rows", count_of(x) / k);
    set_int(e, "n", columns);
    set_int(e, "k", k);
    set_zero(e, n, "zero_x", IN_ZERO_X, x);
    write_factors(e, n, weights);
    write_end(e, n);
    write_text(&e->body,
               "        affine_integer(&f, &e, ${y}, ${rows}, ${n}, ${k});\n"
               "    }\n");
    return true;
}

static bool emit_convolution(emitter *e, const node *n)
{
    need(e, "convolution_integer");
    if (!set_conv_shape(e, n)) return false;
    set_zero(e, n, "zero_x", IN_ZERO_X, in_of(e, n, IN_X));
    write_factors(e, n, NULL);
    write_end(e, n);
    write_text(&e->body, "        convolution_integer(&f, &e, ${y}, &${shape});\n    }\n");
    return true;
}

static bool emit_matmul(emitter *e, const node *n)
{
    const symbol *x = in_of(e, n, IN_X), *w = in_of(e, n, IN_W);
    int64_t k = w->spec.shape.dim[0];
    need(e, "matmul_integer");
    set_tensor(e, "y", n->out[0]);
    set_int(e, "rows", count_of(x) / k);
    set_int(e, "n", w->spec.shape.dim[1]);
    set_int(e, "k", k);
    set_int(e, "zero_x", is_unsigned(x) ? -128 : 0);
    set_each(e, n, "zeros", "zeros_step", IN_ZERO_X);
    write_factors(e, n, NULL);
    write_text(&e->body,
               "        matmul_integer(&f, ${zeros}, ${zeros_step}, ${y}, ${rows}, ${n}, ${k});\n"
               "    }\n");
    return true;
}

static const op_emitter ops[] = {
    { "quantize_bytes", emit_quantize },
    { "dequantize_bytes", emit_dequantize },
    { "quantize_dynamic", emit_quantize_dynamic },
    { "affine_integer", emit_affine },
    { "convolution_integer", emit_convolution },
    { "matmul_integer", emit_matmul },
    { NULL, NULL },
};

const family bytes_family = { ops, pieces };
