/* resize.h - of onnx_import.h: Resize, Upsample, GridSample, RoiAlign. */

/* ---- Resize: each axis by itself, an index for nearest, a matrix for linear and cubic ---- */

typedef struct ox_resizing {
    int mode;                  /* 0 nearest, 1 linear, 2 cubic */
    const char *place, *round; /* coordinate_transformation_mode, nearest_mode */
    float cubic, outside;      /* cubic_coeff_a, extrapolation_value */
    bool exclude, antialias;   /* exclude_outside; */
} ox_resizing;

/* Where element i of the result lies in the original; false: outside of what is cropped. */
static bool ox_resized_place(const ox_resizing *r, int64_t i, int64_t n, double scale,
                             const double *roi, double *x)
{
    double size = scale * (double)n, at = (double)i, last = (double)(n - 1);
    if (!strcmp(r->place, "align_corners")) {
        *x = size == 1 ? 0 : at * last / (size - 1);
    } else if (!strcmp(r->place, "asymmetric")) {
        *x = at / scale;
    } else if (!strcmp(r->place, "tf_crop_and_resize")) {
        double width = roi[1] - roi[0];
        *x = (size == 1 ? width * last / 2 : at * width * last / (size - 1)) + roi[0] * last;
        return *x >= 0 && *x <= last;
    } else if (!strcmp(r->place, "tf_half_pixel_for_nn")) {
        *x = (at + 0.5) / scale;
    } else if (!strcmp(r->place, "half_pixel_symmetric")) { /* its centre stays in the centre */
        *x = (double)n / 2 * (1 - floor(size) / size) + (at + 0.5) / scale - 0.5;
    } else {
        bool single = !strcmp(r->place, "pytorch_half_pixel") && size == 1;
        *x = single ? -0.5 : (at + 0.5) / scale - 0.5;
    }
    return true;
}

/* The weights of the neighbours of x; returns the first one, may be outside. */
static int64_t ox_neighbours(const ox_resizing *r, double x, int *n, double *weight)
{
    double floor_x = floor(x), t = x == floor_x ? 1 : x - floor_x, a = (double)r->cubic, u = 1 - t;
    int64_t first = (int64_t)floor_x - (x == floor_x);
    *n = r->mode == 2 ? 4 : 2;
    if (r->mode == 0) {
        bool up = !strcmp(r->round, "ceil") || (t > 0.5 && !!strcmp(r->round, "floor"))
            || (t == 0.5 && !strcmp(r->round, "round_prefer_ceil"));
        if (t == 1) up = true;
        weight[0] = !up;
        weight[1] = up;
    } else if (r->mode == 1) {
        weight[0] = u;
        weight[1] = t;
    } else {
        weight[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
        weight[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
        weight[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
        weight[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
        first--;
    }
    return first;
}

/* ---- With antialias a smaller result sees as many more neighbours: the curve is stretched ---- */

/* The curve at a distance. */
static double ox_curve_at(const ox_resizing *r, double x)
{
    double a = (double)r->cubic;
    x = fabs(x);
    if (r->mode == 1) return x < 1 ? 1 - x : 0;
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* The first of the neighbours, counted from the one before x. */
static int64_t ox_first_of_many(const ox_resizing *r, double scale)
{
    return (int64_t)floor(-(double)r->mode / scale) + 1;
}

static int ox_taps(const ox_resizing *r, double scale)
{
    bool many = r->antialias && r->mode && scale < 1;
    return many ? (int)(2 - 2 * ox_first_of_many(r, scale)) : r->mode == 2 ? 4 : 2;
}

/* As ox_neighbours; weights are to be divided by their sum. */
static int64_t ox_many_neighbours(const ox_resizing *r, double x, double scale, int n,
                                  double *weight)
{
    double floor_x = floor(x), t = x == floor_x ? 1 : x - floor_x;
    int64_t start = ox_first_of_many(r, scale);
    for (int i = 0; i < n; i++)
        weight[i] = ox_curve_at(r, ((double)(start + i) - t) * scale);
    return (int64_t)floor_x - (x == floor_x) + start;
}

static int64_t ox_clamped(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static samba_tensor *ox_resize_nearest(ox_node *k, samba_tensor *x, int32_t axis, int64_t m,
                                       double scale, const double *roi, const ox_resizing *r)
{
    int64_t n = x->shape.dim[axis];
    int32_t *index = (int32_t *)ox_new(k->c, m, sizeof *index);
    for (int64_t i = 0; index && i < m; i++) {
        double at = 0, weight[4];
        int taps;
        index[i] = -1;
        if (!ox_resized_place(r, i, n, scale, roi, &at)) continue;
        int64_t first = ox_neighbours(r, at, &taps, weight);
        index[i] = (int32_t)ox_clamped(first + (weight[1] > 0), n);
    }
    x = index ? ox_take_known(k->c, ox_to_last(x, axis), index, SAMBA_SHAPE((int32_t)m), r->outside)
              : NULL;
    return ox_from_last(x, axis);
}

static samba_tensor *ox_resize_smooth(ox_node *k, samba_tensor *x, int32_t axis, int64_t m,
                                      double scale, const double *roi, const ox_resizing *r)
{
    int64_t n = x->shape.dim[axis];
    bool many = r->antialias && scale < 1, any = false;
    int taps = scale * (double)n >= 0.5 ? ox_taps(r, scale) : 0;
    if (!taps || taps > 1 << 20) {
        ox_refuse(k, "a scale is too small");
        return NULL;
    }
    float *matrix = (float *)ox_new(k->c, m * n, sizeof *matrix);
    float *bias = (float *)ox_new(k->c, m, sizeof *bias);
    double *weight = (double *)ox_new(k->c, taps, sizeof *weight);
    for (int64_t i = 0; matrix && bias && weight && i < m; i++) {
        double at = 0, sum = 0;
        if (!ox_resized_place(r, i, n, scale, roi, &at)) {
            bias[i] = r->outside;
            any = true;
            continue;
        }
        int64_t first = many ? ox_many_neighbours(r, at, scale, taps, weight)
                             : ox_neighbours(r, at, &taps, weight);
        for (int t = 0; t < taps; t++) {
            if (r->exclude && (first + t < 0 || first + t >= n)) weight[t] = 0;
            sum += weight[t];
        }
        for (int t = 0; t < taps; t++)
            matrix[i * n + ox_clamped(first + t, n)]
                += (float)(r->exclude || many ? weight[t] / sum : weight[t]);
    }
    if (!matrix || !bias || !weight) return NULL;
    samba_tensor *y = ox_mix(k->c, ox_to_last(x, axis), matrix, (int32_t)m, (int32_t)n);
    if (any) y = samba_add(y, ox_constant(k->c, SAMBA_F32, SAMBA_SHAPE((int32_t)m), bias));
    return ox_from_last(y, axis);
}

static const char *ox_choice(const ox_node *k, const char *name, const char *const *choices)
{
    for (; *choices; choices++)
        if (ox_text_is(k, name, "", *choices)) return *choices;
    return NULL;
}

static bool ox_read_resizing(ox_node *k, ox_resizing *r)
{
    static const char *const places[] = { "half_pixel",           "align_corners",
                                          "asymmetric",           "pytorch_half_pixel",
                                          "tf_crop_and_resize",   "tf_half_pixel_for_nn",
                                          "half_pixel_symmetric", NULL };
    static const char *const rounds[]
        = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL };
    bool old = k->version < 11;
    const char *place = ox_choice(k, "coordinate_transformation_mode", places);
    const char *round = ox_choice(k, "nearest_mode", rounds);
    if (ox_attribute(k, "coordinate_transformation_mode") && !place)
        return ox_refuse(k, "its coordinate_transformation_mode is not offered");
    r->antialias = ox_int(k, "antialias", 0) != 0;
    r->place = place ? place : old ? "asymmetric" : "half_pixel";
    r->round = round ? round : old ? "floor" : "round_prefer_floor";
    r->mode = ox_text_is(k, "mode", "nearest", "cubic") ? 2
        : ox_text_is(k, "mode", "nearest", "nearest")   ? 0
                                                        : 1;
    r->cubic = ox_float(k, "cubic_coeff_a", -0.75f);
    r->outside = ox_float(k, "extrapolation_value", 0.0f);
    r->exclude = ox_int(k, "exclude_outside", 0) != 0;
    return true;
}

/* The scale and new size of each axis. */
typedef struct ox_new_sizes {
    double scale[SAMBA_MAX_DIMS], roi[SAMBA_MAX_DIMS][2];
    int64_t size[SAMBA_MAX_DIMS];
} ox_new_sizes;

/* One scale for all axes, the smallest or the largest of those that the sizes ask for; False after
   a refusal. */
static bool ox_keep_aspect(ox_node *k, const samba_shape *x, const int64_t *axes, int32_t n,
                           ox_new_sizes *s)
{
    bool smallest = ox_text_is(k, "keep_aspect_ratio_policy", "stretch", "not_larger");
    bool largest = ox_text_is(k, "keep_aspect_ratio_policy", "stretch", "not_smaller");
    if (!smallest && !largest) return true;
    double scale = -1;
    for (int32_t i = 0; i < n; i++) {
        int32_t d = axes ? ox_axis(k, axes[i], x->ndim) : i;
        bool better = scale < 0 || (smallest ? s->scale[d] < scale : s->scale[d] > scale);
        if (better) scale = s->scale[d];
    }
    for (int32_t i = 0; i < n; i++) {
        int32_t d = axes ? ox_axis(k, axes[i], x->ndim) : i;
        double size = floor(scale * x->dim[d] + 0.5);
        if (!(size >= 1 && size <= 1 << 24)) return ox_refuse(k, "a new size is out of range");
        s->scale[d] = scale;
        s->size[d] = (int64_t)size;
    }
    return true;
}

static bool ox_read_sizes(ox_node *k, const samba_shape *x, ox_new_sizes *s)
{
    int32_t n_axes = 0, n = x->ndim, at_scales = k->version >= 11 ? 2 : 1;
    const int64_t *axes = ox_ints(k, "axes", &n_axes);
    const onnx_array *scales = NULL, *sizes = NULL, *roi = NULL;
    int32_t n_floats = 0;
    const Onnx__AttributeProto *floats = k->version < 9 ? ox_attribute(k, "scales") : NULL;
    if (!floats && ox_has(k, at_scales)) scales = ox_need(k, at_scales, "scales");
    if (k->version >= 11 && ox_has(k, 3) && samba_ok(k->c->s)) sizes = ox_need(k, 3, "sizes");
    if (ox_text_is(k, "coordinate_transformation_mode", "", "tf_crop_and_resize"))
        roi = ox_need(k, 1, "roi");
    if (!samba_ok(k->c->s)) return false;
    if (floats) n_floats = (int32_t)floats->n_floats;
    int64_t given = sizes && sizes->count ? sizes->count : scales ? scales->count : n_floats;
    int64_t wanted = axes ? n_axes : n;
    if (given != wanted || (roi && roi->count != 2 * wanted))
        return ox_refuse(k, "needs one scale or size for each axis");
    for (int32_t d = 0; d < n; d++) {
        s->scale[d] = 1;
        s->size[d] = x->dim[d];
        s->roi[d][0] = 0;
        s->roi[d][1] = 1;
    }
    for (int32_t i = 0; i < wanted; i++) {
        int32_t d = axes ? ox_axis(k, axes[i], n) : i;
        if (d < 0) return false;
        bool by_size = sizes && sizes->count;
        s->scale[d] = by_size ? ox_number(sizes, i) / x->dim[d]
            : scales          ? ox_number(scales, i)
                              : (double)floats->floats[i];
        double size = by_size ? ox_number(sizes, i) : floor(s->scale[d] * x->dim[d]);
        if (!(size >= 1 && size <= 1 << 24)) return ox_refuse(k, "a new size is out of range");
        s->size[d] = (int64_t)size;
        for (int e = 0; roi && e < 2; e++)
            s->roi[d][e] = ox_number(roi, i + e * wanted);
    }
    bool by_size = sizes && sizes->count;
    return !by_size || ox_keep_aspect(k, x, axes, (int32_t)wanted, s);
}

static bool ox_op_resize(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    ox_resizing r;
    ox_new_sizes s;
    if (!x || !ox_read_resizing(k, &r) || !ox_read_sizes(k, &x->shape, &s)) return false;
    if (r.mode && !ox_floats_only(k, 1)) return false;
    bool crops = !strcmp(r.place, "tf_crop_and_resize");
    for (int32_t d = 0; d < x->shape.ndim; d++) {
        bool whole = s.roi[d][0] == 0 && s.roi[d][1] == 1;
        if (s.scale[d] == 1 && s.size[d] == x->shape.dim[d] && (!crops || whole)) continue;
        x = r.mode ? ox_resize_smooth(k, x, d, s.size[d], s.scale[d], s.roi[d], &r)
                   : ox_resize_nearest(k, x, d, s.size[d], s.scale[d], s.roi[d], &r);
        if (!x) return false;
    }
    return ox_give(k, 0, ox_type(k, 0), x);
}

/* ---- Sampling at places that are computed: kernels ---- */

enum { OX_LINEAR, OX_NEAREST, OX_CUBIC };

enum { OX_ZEROS, OX_BORDER, OX_REFLECTION };

/* x mirrored at low and high until it is inside. */
static double ox_mirrored(double x, double low, double high)
{
    double span = high - low, over;
    if (span <= 0) return low;
    over = fmod(fabs(x - low), 2 * span);
    return low + (over > span ? 2 * span - over : over);
}

static double ox_in_padding(double x, int64_t n, int padding, bool align)
{
    double last = (double)(n - 1);
    if (padding == OX_ZEROS) return x;
    if (padding == OX_REFLECTION)
        x = align ? ox_mirrored(x, 0, last) : ox_mirrored(x, -0.5, last + 0.5);
    return x < 0 ? 0 : x > last ? last : x;
}

/* x from -1 ... 1 to 0 ... n-1 */
static double ox_grid_place(double x, int64_t n, bool align)
{
    return align ? (x + 1) / 2 * (double)(n - 1) : ((x + 1) * (double)n - 1) / 2;
}

static double ox_pixel(const float *image, int64_t h, int64_t w, double y, double x, int padding,
                       bool align)
{
    y = ox_in_padding(y, h, padding, align);
    x = ox_in_padding(x, w, padding, align);
    if (!(y >= 0 && y < (double)h && x >= 0 && x < (double)w)) return 0;
    return (double)image[(int64_t)y * w + (int64_t)x];
}

static void ox_sample_weights(int mode, double t, double *weight)
{
    ox_resizing r = { mode == OX_CUBIC ? 2 : 1, "", "", -0.75f, 0, false, false };
    int n;
    if (mode == OX_CUBIC)
        (void)ox_neighbours(&r, t == 0 ? 1e-300 : t, &n, weight);
    else {
        weight[0] = 1 - t;
        weight[1] = t;
    }
}

enum { OX_GRID_MODE, OX_GRID_PADDING, OX_GRID_ALIGN, OX_GRID_ATTRS }; /* attributes */

static double ox_sample(const float *image, int64_t h, int64_t w, double y, double x,
                        const int32_t *attr)
{
    int mode = attr[OX_GRID_MODE], padding = attr[OX_GRID_PADDING], taps = mode == OX_CUBIC ? 4 : 2;
    bool align = attr[OX_GRID_ALIGN];
    double wy[4], wx[4], sum = 0;
    if (mode == OX_NEAREST)
        return ox_pixel(image, h, w, rint(ox_in_padding(y, h, padding, align)),
                        rint(ox_in_padding(x, w, padding, align)), padding, align);
    if (mode == OX_LINEAR) {
        y = ox_in_padding(y, h, padding, align);
        x = ox_in_padding(x, w, padding, align);
    }
    ox_sample_weights(mode, y - floor(y), wy);
    ox_sample_weights(mode, x - floor(x), wx);
    for (int i = 0; i < taps; i++)
        for (int j = 0; j < taps; j++)
            sum += wy[i] * wx[j]
                * ox_pixel(image, h, w, floor(y) + i - (mode == OX_CUBIC),
                           floor(x) + j - (mode == OX_CUBIC), padding, align);
    return sum;
}

static bool ox_grid_shape(samba_call *c)
{
    if (!ox_expect(c, 2, 3)) return false;
    const samba_shape *x = &c->in[0].shape, *g = &c->in[1].shape;
    if (x->ndim != 4 || g->ndim != 4 || g->dim[3] != 2 || g->dim[0] != x->dim[0])
        return samba_refuse(c, SAMBA_ESHAPE, "x must be (N,C,H,W), the grid (N,h,w,2)");
    c->out[0].shape.dim[2] = g->dim[1];
    c->out[0].shape.dim[3] = g->dim[2];
    return ox_expect_type(c, 0, SAMBA_F32) && ox_expect_type(c, 1, SAMBA_F32);
}

static void ox_grid_kernel(const samba_args *a)
{
    ox_range r = ox_elements(a);
    const samba_shape *x = &a->in_spec[0].shape, *y = &a->out_spec[0].shape;
    int64_t h = x->dim[2], w = x->dim[3], inner = (int64_t)y->dim[2] * y->dim[3];
    for (int64_t i = r.begin; i < r.end; i++) {
        int64_t image = i / inner, n = image / x->dim[1];
        const float *at = a->in[1] + 2 * (n * inner + i % inner);
        double px = ox_grid_place((double)at[0], w, a->attr[OX_GRID_ALIGN]);
        double py = ox_grid_place((double)at[1], h, a->attr[OX_GRID_ALIGN]);
        a->out[0][i] = (float)ox_sample(a->in[0] + image * h * w, h, w, py, px, a->attr);
    }
}

static bool ox_op_grid_sample(ox_node *k)
{
    samba_tensor *in[2];
    in[0] = ox_in(k, 0);
    in[1] = ox_in(k, 1);
    int mode = OX_LINEAR, padding = OX_ZEROS;
    if (ox_text_is(k, "mode", "", "nearest")) mode = OX_NEAREST;
    if (ox_text_is(k, "mode", "", "bicubic") || ox_text_is(k, "mode", "", "cubic")) mode = OX_CUBIC;
    if (ox_text_is(k, "padding_mode", "", "border")) padding = OX_BORDER;
    if (ox_text_is(k, "padding_mode", "", "reflection")) padding = OX_REFLECTION;
    int32_t attr[OX_GRID_ATTRS];
    attr[OX_GRID_MODE] = mode;
    attr[OX_GRID_PADDING] = padding;
    attr[OX_GRID_ALIGN] = ox_int(k, "align_corners", 0) != 0;
    return in[0] && in[1] && ox_floats_only(k, 2)
        && ox_give(k, 0, ox_type(k, 0),
                   samba_apply(k->c->s, "onnx_grid_sample", in, 2, attr, OX_GRID_ATTRS));
}

/* RoiAlign. */
enum { OX_ROI_HEIGHT, OX_ROI_WIDTH, OX_ROI_RATIO, OX_ROI_SCALE, OX_ROI_HALF_PIXEL, OX_ROI_ATTRS };

static bool ox_roi_shape(samba_call *c)
{
    if (!ox_expect(c, 3, OX_ROI_ATTRS)) return false;
    const samba_shape *x = &c->in[0].shape, *r = &c->in[1].shape, *b = &c->in[2].shape;
    if (x->ndim != 4 || r->ndim != 2 || r->dim[1] != 4 || b->ndim != 1 || b->dim[0] != r->dim[0])
        return samba_refuse(c, SAMBA_ESHAPE, "x must be (N,C,H,W), the regions (R,4) and (R)");
    c->out[0].shape.dim[0] = r->dim[0];
    c->out[0].shape.dim[2] = c->attr[OX_ROI_HEIGHT];
    c->out[0].shape.dim[3] = c->attr[OX_ROI_WIDTH];
    return ox_expect_type(c, 0, SAMBA_F32) && ox_expect_type(c, 1, SAMBA_F32)
        && ox_expect_type(c, 2, SAMBA_I32);
}

static double ox_roi_pixel(const float *image, int64_t h, int64_t w, double y, double x)
{
    static const int32_t border[OX_GRID_ATTRS] = { OX_LINEAR, OX_BORDER, true };
    if (y < -1 || y > (double)h || x < -1 || x > (double)w) return 0;
    return ox_sample(image, h, w, y, x, border);
}

static float ox_roi_bin(const samba_args *a, const float *image, const float *roi, int64_t row,
                        int64_t column)
{
    const samba_shape *x = &a->in_spec[0].shape;
    bool half_pixel = a->attr[OX_ROI_HALF_PIXEL];
    int32_t ratio = a->attr[OX_ROI_RATIO]; /* 0: as many points as the bin has pixels */
    double scale = (double)samba_attr_float(a->attr[OX_ROI_SCALE]), shift = half_pixel ? 0.5 : 0;
    double left = (double)roi[0] * scale - shift, top = (double)roi[1] * scale - shift;
    double width = (double)roi[2] * scale - shift - left;
    double height = (double)roi[3] * scale - shift - top, sum = 0;
    if (!half_pixel) {
        width = width > 1 ? width : 1;
        height = height > 1 ? height : 1;
    }
    double bin_h = height / a->attr[OX_ROI_HEIGHT], bin_w = width / a->attr[OX_ROI_WIDTH];
    int64_t nh = ratio > 0 ? ratio : (int64_t)ceil(bin_h < 4096 ? bin_h : 4096);
    int64_t nw = ratio > 0 ? ratio : (int64_t)ceil(bin_w < 4096 ? bin_w : 4096);
    for (int64_t i = 0; i < nh; i++) {
        for (int64_t j = 0; j < nw; j++) {
            double py = top + (double)row * bin_h + ((double)i + 0.5) * bin_h / (double)nh;
            double px = left + (double)column * bin_w + ((double)j + 0.5) * bin_w / (double)nw;
            sum += ox_roi_pixel(image, x->dim[2], x->dim[3], py, px);
        }
    }
    double count = (double)(nh * nw > 1 ? nh * nw : 1);
    return (float)(sum / count);
}

static void ox_roi_kernel(const samba_args *a)
{
    ox_range r = ox_elements(a);
    const samba_shape *x = &a->in_spec[0].shape, *y = &a->out_spec[0].shape;
    int64_t bins = (int64_t)y->dim[2] * y->dim[3], side = (int64_t)x->dim[2] * x->dim[3];
    for (int64_t i = r.begin; i < r.end; i++) {
        int64_t region = i / bins / y->dim[1], channel = i / bins % y->dim[1];
        int32_t image = ox_i32(a, 2)[region];
        if (image < 0 || image >= x->dim[0]) {
            samba_fault(a, 2, image);
            continue;
        }
        a->out[0][i] = ox_roi_bin(a, a->in[0] + (image * x->dim[1] + channel) * side,
                                  a->in[1] + 4 * region, i % bins / y->dim[3], i % y->dim[3]);
    }
}

static bool ox_op_roi_align(ox_node *k)
{
    samba_tensor *in[3];
    for (int i = 0; i < 3; i++)
        in[i] = ox_in(k, i);
    int64_t h = ox_int(k, "output_height", 1), w = ox_int(k, "output_width", 1);
    int64_t ratio = ox_int(k, "sampling_ratio", 0);
    if (h < 1 || w < 1 || h > 4096 || w > 4096 || ratio < 0 || ratio > 4096)
        return ox_refuse(k, "its sizes are out of range");
    bool half = ox_text_is(k, "coordinate_transformation_mode",
                           k->version >= 16 ? "half_pixel" : "output_half_pixel", "half_pixel");
    if (ox_text_is(k, "mode", "avg", "max")) return ox_refuse(k, "with mode max is not offered");
    int32_t attr[OX_ROI_ATTRS];
    attr[OX_ROI_HEIGHT] = (int32_t)h;
    attr[OX_ROI_WIDTH] = (int32_t)w;
    attr[OX_ROI_RATIO] = (int32_t)ratio;
    attr[OX_ROI_SCALE] = samba_float_attr(ox_float(k, "spatial_scale", 1.0f));
    attr[OX_ROI_HALF_PIXEL] = half;
    return in[0] && in[1] && in[2]
        && ox_give(k, 0, ox_type(k, 0),
                   samba_apply(k->c->s, "onnx_roi_align", in, 3, attr, OX_ROI_ATTRS));
}

static const samba_op ox_sampling_kernels[] = {
    { .name = "onnx_grid_sample",
      .wire = 0x9010,
      .shape = ox_grid_shape,
      .work = ox_flat_work,
      .kernel = ox_grid_kernel,
      .cost = 30 },
    { .name = "onnx_roi_align",
      .wire = 0x9011,
      .shape = ox_roi_shape,
      .work = ox_flat_work,
      .kernel = ox_roi_kernel,
      .cost = 100 },
};
