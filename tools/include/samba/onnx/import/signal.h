/* signal.h - of onnx_import.h: Fourier transforms as products, windows, n-grams. */

#define OX_PI 3.14159265358979323846

/* ---- Tables that are known while tracing ---- */

enum { OX_HANN, OX_HAMMING, OX_BLACKMAN };

static bool ox_op_window(ox_node *k)
{
    static const double terms[3][3]
        = { { 0.5, -0.5, 0 }, { 25.0 / 46, 25.0 / 46 - 1, 0 }, { 0.42, -0.5, 0.08 } };
    const onnx_array *size = ox_need(k, 0, "size");
    int32_t type = (int32_t)ox_int(k, "output_datatype", OX_FLOAT);
    if (!size) return false;
    int64_t n = size->i && size->count ? size->i[0] : 0;
    if (n < 1 || n > OX_MAX_COUNT || !ox_is_float(type)) return ox_refuse(k, "of a wrong size");
    onnx_array *y = ox_host_array(k->c, type, 1, &n);
    double period = (double)(ox_int(k, "periodic", 1) || n == 1 ? n : n - 1);
    for (int64_t i = 0; y && i < n; i++) {
        const double *t = terms[k->arg];
        double at = 2 * OX_PI * (double)i / period;
        y->f[i] = (float)(t[0] + t[1] * cos(at) + t[2] * cos(2 * at));
    }
    return ox_give_host(k, 0, y);
}

static void ox_mel_column(onnx_array *y, int64_t column, int64_t low, int64_t center, int64_t high)
{
    int64_t rows = y->dim[0], bins = y->dim[1];
    for (int64_t j = low; j <= center && j < rows; j++)
        if (j >= 0)
            y->f[j * bins + column]
                = center == low ? 1.0f : (float)(j - low) / (float)(center - low);
    for (int64_t j = center; j < high && j < rows; j++)
        if (j >= 0) y->f[j * bins + column] = (float)(high - j) / (float)(high - center);
}

static bool ox_op_mel(ox_node *k)
{
    double in[5];
    static const char *const what[5]
        = { "num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz" };
    for (int i = 0; i < 5; i++) {
        const onnx_array *a = ox_need(k, i, what[i]);
        if (!a) return false;
        in[i] = a->count ? ox_number(a, 0) : 0;
    }
    if (!(in[0] >= 1 && in[0] < 65536 && in[1] >= 1 && in[1] < 65536 && in[2] >= 1 && in[3] >= 0
          && in[4] <= 1e9 && in[4] > in[3]))
        return ox_refuse(k, "has values that are out of range");
    int64_t bins = (int64_t)in[0], dim[2] = { (int64_t)in[1] / 2 + 1, bins };
    double low = 2595 * log10(1 + in[3] / 700), high = 2595 * log10(1 + in[4] / 700);
    double step = (high - low) / (double)(bins + 2);
    onnx_array *y = ox_host_array(k->c, (int32_t)ox_int(k, "output_datatype", OX_FLOAT), 2, dim);
    if (!y || !y->f) return y && ox_refuse(k, "of a type that is no float");
    int64_t edge[3] = { 0, 0, 0 };
    for (int64_t i = 0; i < bins + 2; i++) {
        double hertz = 700 * (pow(10, ((double)i * step + low) / 2595) - 1);
        edge[0] = edge[1];
        edge[1] = edge[2];
        edge[2] = (int64_t)floor((in[1] + 1) * hertz / in[2]);
        if (i >= 2) ox_mel_column(y, i - 2, edge[0], edge[1], edge[2]);
    }
    return ox_give_host(k, 0, y);
}

/* ---- Fourier: products with cosines and sines ---- */

/* (rows, n): cos or sin of 2 pi row column / period. */
static samba_tensor *ox_waves(ox_import *c, int64_t rows, int64_t n, int64_t period, bool sine)
{
    float *w = (float *)ox_new(c, rows * n, sizeof *w);
    for (int64_t r = 0; w && r < rows; r++) {
        for (int64_t i = 0; i < n; i++) {
            double at = 2 * OX_PI * (double)(r * i % period) / (double)period;
            w[r * n + i] = (float)(sine ? sin(at) : cos(at));
        }
    }
    return w ? ox_constant(c, SAMBA_F32, SAMBA_SHAPE((int32_t)rows, (int32_t)n), w) : NULL;
}

/* re, im (*,n), im may be NULL -> (*,rows,2), of the transform of this length. */
static samba_tensor *ox_transform(ox_import *c, samba_tensor *re, samba_tensor *im, int64_t rows,
                                  int64_t length, bool inverse)
{
    int64_t n = re ? re->shape.dim[re->shape.ndim - 1] : 0;
    samba_tensor *cosine = re ? ox_waves(c, rows, n, length, false) : NULL;
    samba_tensor *sine = cosine ? ox_waves(c, rows, n, length, true) : NULL;
    if (!sine) return NULL;
    float sign = inverse ? 1.0f : -1.0f, share = inverse ? 1.0f / (float)length : 1.0f;
    samba_tensor *part[2];
    part[0] = samba_affine(re, cosine, NULL);
    part[1] = samba_scale(samba_affine(re, sine, NULL), sign);
    if (im) part[0] = samba_sub(part[0], samba_scale(samba_affine(im, sine, NULL), sign));
    if (im) part[1] = samba_add(part[1], samba_affine(im, cosine, NULL));
    samba_tensor *y = part[0] ? samba_stack(part, 2, part[0]->shape.ndim) : NULL;
    return inverse ? samba_scale(y, share) : y;
}

/* Part 0 or 1 of the last dimension, without it; NULL if there is none. */
static samba_tensor *ox_complex_part(samba_tensor *x, int32_t part)
{
    int32_t last = x->shape.ndim - 1;
    if (part >= x->shape.dim[last]) return NULL;
    return samba_squeeze(samba_slice(x, last, part, part + 1, 1), last);
}

static bool ox_op_dft(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    int64_t length = 0;
    if (!x || !ox_floats_only(k, 1)) return false;
    if (x->shape.ndim < 2 || x->shape.dim[x->shape.ndim - 1] > 2)
        return ox_refuse(k, "needs real or complex numbers in the last dimension");
    int32_t axis = -1;
    if (k->version < 20)
        axis = ox_axis(k, ox_int(k, "axis", 1), x->shape.ndim - 1);
    else if (!ox_has(k, 2))
        axis = ox_axis(k, -2, x->shape.ndim);
    else { /* counted with the last dimension, which it cannot be */
        const onnx_array *a = ox_need(k, 2, "axis");
        if (a) axis = ox_axis(k, a->i && a->count ? a->i[0] : INT64_MAX, x->shape.ndim);
    }
    if (axis == x->shape.ndim - 1) return ox_refuse(k, "its axis is that of the complex parts");
    if (axis < 0) return false;
    if (ox_has(k, 1)) {
        const onnx_array *a = ox_need(k, 1, "dft_length");
        if (!a) return false;
        length = a->i && a->count ? a->i[0] : 0;
    } else
        length = x->shape.dim[axis];
    if (length < 1 || length > 65536) return ox_refuse(k, "its dft_length is out of range");
    samba_tensor *part[2];
    for (int p = 0; p < 2; p++) {
        part[p] = ox_to_last(ox_complex_part(x, p), axis);
        int32_t last = part[p] ? part[p]->shape.ndim - 1 : 0;
        if (part[p])
            part[p] = ox_pad_axis(k, part[p], last, 0, length - part[p]->shape.dim[last],
                                  OX_PAD_CONSTANT, 0);
    }
    if (!part[0]) return false;
    bool inverse = ox_int(k, "inverse", 0) != 0, half = ox_int(k, "onesided", 0) != 0;
    if (inverse && half) return ox_refuse(k, "cannot be inverse and onesided");
    int64_t rows = half ? length / 2 + 1 : length;
    samba_tensor *y = ox_transform(k->c, part[0], part[1], rows, length, inverse);
    return ox_give(k, 0, ox_type(k, 0), y ? ox_move_axis(y, y->shape.ndim - 2, axis) : NULL);
}

/* Overlapping frames (B,frames,n) of x (B,L). */
static samba_tensor *ox_frames(ox_import *c, samba_tensor *x, int64_t frames, int64_t n,
                               int64_t step)
{
    int32_t *index = (int32_t *)ox_new(c, frames * n, sizeof *index);
    for (int64_t i = 0; index && i < frames * n; i++)
        index[i] = (int32_t)(i / n * step + i % n);
    return x && index ? ox_take_known(c, x, index, SAMBA_SHAPE((int32_t)frames, (int32_t)n), 0.0f)
                      : NULL;
}

static bool ox_op_stft(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *window = ox_has(k, 2) ? ox_in(k, 2) : NULL, *part[2];
    const onnx_array *step = x ? ox_need(k, 1, "frame_step") : NULL, *length = NULL;
    if (!step || !ox_floats_only(k, 1)) return false;
    if (ox_has(k, 3) && !(length = ox_need(k, 3, "frame_length"))) return false;
    if (x->shape.ndim == 2) x = samba_unsqueeze(x, 2);
    if (!x || x->shape.ndim != 3 || x->shape.dim[2] > 2) return ox_refuse(k, "needs (B,L,1 or 2)");
    int64_t by = step->i && step->count ? step->i[0] : 0;
    int64_t n = length ? (length->i && length->count ? length->i[0] : 0)
        : window       ? samba_count(&window->shape)
                       : 0;
    if (by < 1 || n < 1 || n > x->shape.dim[1] || n > 65536)
        return ox_refuse(k, "its frames are out of range");
    int64_t frames = (x->shape.dim[1] - n) / by + 1;
    for (int p = 0; p < 2; p++) {
        samba_tensor *row = ox_complex_part(x, p);
        part[p] = row ? ox_frames(k->c, row, frames, n, by) : NULL;
        if (part[p] && window) part[p] = samba_mul(part[p], window);
    }
    int64_t rows = ox_int(k, "onesided", 1) ? n / 2 + 1 : n;
    return ox_give(k, 0, ox_type(k, 0), ox_transform(k->c, part[0], part[1], rows, n, false));
}

/* ---- TfIdfVectorizer: counts of n-grams of ids. Inputs: ids (N,L), pool, where n-grams of each
   length begin in it, the place of each in the result, weights. The lengths go from SHORTEST to
   LONGEST; SIZE is that of the result ---- */

enum { OX_GRAM_TF, OX_GRAM_IDF, OX_GRAM_TFIDF }; /* modes */

enum {
    OX_GRAM_SHORTEST,
    OX_GRAM_LONGEST,
    OX_GRAM_SKIPS,
    OX_GRAM_MODE,
    OX_GRAM_SIZE,
    OX_GRAM_ATTRS
};

static bool ox_grams_shape(samba_call *c)
{
    if (!ox_expect(c, 5, OX_GRAM_ATTRS)) return false;
    samba_shape *y = &c->out[0].shape;
    c->out[0].dtype = SAMBA_F32;
    if (y->ndim < 1 || y->ndim > 2)
        return samba_refuse(c, SAMBA_ESHAPE, "ids must be (L) or (N,L)");
    y->dim[y->ndim - 1] = c->attr[OX_GRAM_SIZE];
    for (int32_t i = 0; i < 4; i++)
        if (!ox_expect_type(c, i, SAMBA_I32)) return false;
    return ox_expect_type(c, 4, SAMBA_F32);
}

/* Adds what the n-grams of length n count, `skip` apart, in a text of L ids. */
static void ox_count_grams(const samba_args *a, const int32_t *text, int64_t L, int32_t n,
                           int32_t skip, float *y)
{
    int64_t pool_size = samba_count(&a->in_spec[1].shape);
    int64_t lengths = samba_count(&a->in_spec[2].shape);
    const int32_t *pool = ox_i32(a, 1), *begin = ox_i32(a, 2), *place = ox_i32(a, 3);
    int64_t from = begin[n - 1], end = n < lengths ? begin[n] : pool_size, id = 0;
    for (int32_t m = 1; m < n; m++)
        id += (begin[m] - begin[m - 1]) / m;
    for (; from + n <= end; from += n, id++) {
        for (int64_t at = 0; at + (int64_t)(n - 1) * skip < L; at++) {
            bool same = true;
            for (int32_t j = 0; same && j < n; j++)
                same = text[at + (int64_t)j * skip] == pool[from + j];
            if (same) y[place[id]] += 1.0f;
        }
    }
}

static void ox_grams_kernel(const samba_args *a)
{
    const samba_shape *x = &a->in_spec[0].shape;
    int64_t L = x->dim[x->ndim - 1], size = a->attr[OX_GRAM_SIZE];
    int32_t mode = a->attr[OX_GRAM_MODE], longest = a->attr[OX_GRAM_LONGEST];
    int64_t lengths = samba_count(&a->in_spec[2].shape);
    int64_t n_grams = samba_count(&a->in_spec[3].shape);
    for (int64_t row = a->begin; row < a->end; row++) {
        float *y = a->out[0] + row * size;
        memset(y, 0, (size_t)size * sizeof *y);
        for (int32_t skip = 1; skip <= a->attr[OX_GRAM_SKIPS] + 1; skip++)
            for (int32_t n = a->attr[OX_GRAM_SHORTEST]; n <= longest && n <= lengths; n++)
                if (n > 1 || skip == 1) ox_count_grams(a, ox_i32(a, 0) + row * L, L, n, skip, y);
        for (int64_t g = 0; mode != OX_GRAM_TF && g < n_grams; g++) {
            float *at = &y[ox_i32(a, 3)[g]];
            *at = mode == OX_GRAM_IDF ? (*at > 0 ? a->in[4][g] : 0.0f) : *at * a->in[4][g];
        }
    }
}

static const samba_op ox_signal_kernels[] = {
    { .name = "onnx_count_grams",
      .wire = 0x9012,
      .shape = ox_grams_shape,
      .work = ox_row_work,
      .kernel = ox_grams_kernel },
};

/* A list attribute as an i32 constant. */
static samba_tensor *ox_list_constant(ox_node *k, const char *name, int32_t *n, int64_t most)
{
    const int64_t *list = ox_ints(k, name, n);
    int32_t *words = list ? (int32_t *)ox_new(k->c, *n, sizeof *words) : NULL;
    for (int32_t i = 0; words && i < *n; i++) {
        if (list[i] < INT32_MIN || list[i] > most) return NULL;
        words[i] = (int32_t)list[i];
    }
    return words ? ox_constant(k->c, SAMBA_I32, SAMBA_SHAPE(*n), words) : NULL;
}

/* Are the n-grams where the attributes say? Then the kernel needs no checks. */
static bool ox_grams_are_sound(ox_node *k, int32_t *size)
{
    int32_t n_pool = 0, n_counts = 0, n_places = 0;
    (void)ox_ints(k, "pool_int64s", &n_pool);
    const int64_t *counts = ox_ints(k, "ngram_counts", &n_counts);
    const int64_t *places = ox_ints(k, "ngram_indexes", &n_places);
    int64_t grams = 0;
    *size = 0;
    for (int32_t i = 0; i < n_counts; i++) {
        int64_t end = i + 1 < n_counts ? counts[i + 1] : n_pool;
        if (counts[i] < 0 || end < counts[i] || end > n_pool || (end - counts[i]) % (i + 1))
            return false;
        grams += (end - counts[i]) / (i + 1);
    }
    if (n_counts == 0 || counts[0] != 0 || grams != n_places) return false;
    for (int32_t i = 0; i < n_places; i++) {
        if (places[i] < 0 || places[i] > 1 << 20) return false;
        if (places[i] >= *size) *size = (int32_t)places[i] + 1;
    }
    return true;
}

static bool ox_op_tf_idf(ox_node *k)
{
    int32_t n = 0, size = 0;
    if (ox_attribute(k, "pool_strings")) return ox_refuse(k, "works on strings");
    if (!ox_grams_are_sound(k, &size)) return ox_refuse(k, "has n-grams that are not sound");
    samba_tensor *in[5];
    in[0] = ox_in(k, 0);
    in[1] = ox_list_constant(k, "pool_int64s", &n, INT32_MAX);
    in[2] = ox_list_constant(k, "ngram_counts", &n, INT32_MAX);
    in[3] = ox_list_constant(k, "ngram_indexes", &n, INT32_MAX);
    const Onnx__AttributeProto *w = ox_attribute(k, "weights");
    if (w && w->n_floats && w->n_floats != (size_t)n) return ox_refuse(k, "has too few weights");
    in[4] = w && w->n_floats ? ox_constant(k->c, SAMBA_F32, SAMBA_SHAPE(n), w->floats)
                             : ox_full(k->c, SAMBA_SHAPE(n), 1.0f);
    int64_t least = ox_int(k, "min_gram_length", 1), most = ox_int(k, "max_gram_length", 1);
    int64_t skips = ox_int(k, "max_skip_count", 0);
    if (least < 1 || most < least || most > 64 || skips < 0 || skips > 4096)
        return ox_refuse(k, "has lengths that are out of range");
    int32_t attr[OX_GRAM_ATTRS];
    attr[OX_GRAM_SHORTEST] = (int32_t)least;
    attr[OX_GRAM_LONGEST] = (int32_t)most;
    attr[OX_GRAM_SKIPS] = (int32_t)skips;
    attr[OX_GRAM_MODE] = OX_GRAM_TFIDF;
    if (ox_text_is(k, "mode", "TF", "TF")) attr[OX_GRAM_MODE] = OX_GRAM_TF;
    if (ox_text_is(k, "mode", "TF", "IDF")) attr[OX_GRAM_MODE] = OX_GRAM_IDF;
    attr[OX_GRAM_SIZE] = size;
    for (int i = 0; i < 5; i++)
        if (!in[i]) return ox_refuse(k, "its input or lists are missing, or beyond 32 bits");
    return ox_give(k, 0, OX_FLOAT,
                   samba_apply(k->c->s, "onnx_count_grams", in, 5, attr, OX_GRAM_ATTRS));
}
