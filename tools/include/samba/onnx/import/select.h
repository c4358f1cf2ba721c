/* select.h - of onnx_import.h: NonZero, Unique, NonMaxSuppression. The values of their data decide
   the shape of the result, so these must be known while tracing, and so is the result. */

/* A matrix or list of places as int64. */
static onnx_array *ox_places(ox_import *c, int32_t ndim, int64_t rows, int64_t columns)
{
    int64_t dim[2] = { rows, columns };
    return ox_host_array(c, OX_INT64, ndim, dim);
}

/* ---- NonZero: (rank, how many), each column the place of an element that is not 0 ---- */

static bool ox_op_non_zero(ox_node *k)
{
    const onnx_array *x = ox_need(k, 0, "data, which decides the size of the result,");
    int64_t n = 0, at = 0;
    if (!x) return false;
    if (x->ndim < 1) return ox_refuse(k, "of a scalar is not offered");
    for (int64_t i = 0; i < x->count; i++)
        n += ox_number(x, i) != 0;
    onnx_array *y = ox_places(k->c, 2, x->ndim, n);
    for (int64_t i = 0; y && i < x->count; i++) {
        if (ox_number(x, i) == 0) continue;
        int64_t rest = i;
        for (int32_t d = x->ndim - 1; d >= 0; rest /= x->dim[d--])
            y->i[d * n + at] = rest % x->dim[d];
        at++;
    }
    return ox_give_host(k, 0, y);
}

/* ---- Unique ---- */

/* x in n slices along an axis, (before, n, after); without an axis, its elements. */
typedef struct ox_slices {
    const onnx_array *x;
    int64_t before, after;
    int32_t n;
} ox_slices;

/* -1, 0, 1: slice a comes before b, is the same, comes behind. A NaN is the largest number. */
static int ox_compare_slices(const ox_slices *s, int32_t a, int32_t b)
{
    for (int64_t i = 0; i < s->before * s->after; i++) {
        int64_t row = i / s->after * s->n, column = i % s->after;
        int64_t at = (row + a) * s->after + column, bt = (row + b) * s->after + column;
        if (s->x->i && s->x->i[at] != s->x->i[bt]) return s->x->i[at] < s->x->i[bt] ? -1 : 1;
        if (s->x->i) continue;
        float p = s->x->f[at], q = s->x->f[bt];
        if (p != p || q != q) {
            if ((p != p) != (q != q)) return q != q ? -1 : 1;
        } else if (p != q)
            return p < q ? -1 : 1;
    }
    return 0;
}

/* Sorts the numbers of slices, equal ones in the order of x: merges runs of 1, 2, 4 ... */
static int32_t *ox_sort_slices(ox_import *c, const ox_slices *s)
{
    int32_t *from = (int32_t *)ox_new(c, s->n, sizeof *from);
    int32_t *to = (int32_t *)ox_new(c, s->n, sizeof *to);
    for (int32_t i = 0; from && i < s->n; i++)
        from[i] = i;
    for (int64_t run = 1; from && to && run < s->n; run *= 2) {
        for (int64_t begin = 0; begin < s->n; begin += 2 * run) {
            int64_t middle = begin + run < s->n ? begin + run : s->n;
            int64_t end = middle + run < s->n ? middle + run : s->n, a = begin, b = middle;
            for (int64_t i = begin; i < end; i++) {
                bool first
                    = b == end || (a < middle && ox_compare_slices(s, from[a], from[b]) <= 0);
                to[i] = first ? from[a++] : from[b++];
            }
        }
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    return to ? from : NULL;
}

/* Which slices are kept: first[i] is the place of kind i in x, kind_of[j] the kind of slice j. */
typedef struct ox_kinds {
    int32_t *first, *kind_of, *count;
    int32_t n;
} ox_kinds;

static bool ox_find_kinds(ox_import *c, const ox_slices *s, bool sorted, ox_kinds *kinds)
{
    int32_t *order = ox_sort_slices(c, s), n = 0;
    int32_t *same_as = (int32_t *)ox_new(c, s->n, sizeof *same_as);
    kinds->first = (int32_t *)ox_new(c, s->n, sizeof *kinds->first);
    kinds->kind_of = (int32_t *)ox_new(c, s->n, sizeof *kinds->kind_of);
    kinds->count = (int32_t *)ox_new(c, s->n, sizeof *kinds->count);
    if (!order || !same_as || !kinds->first || !kinds->kind_of || !kinds->count) return false;
    for (int32_t i = 0; i < s->n; i++) { /* equal ones follow each other, the first first */
        bool fresh = i == 0 || ox_compare_slices(s, order[i - 1], order[i]) != 0;
        same_as[order[i]] = fresh ? order[i] : same_as[order[i - 1]];
    }
    for (int32_t i = 0; i < s->n; i++) {
        int32_t slice = sorted ? order[i] : i;
        if (same_as[slice] == slice) {
            kinds->first[n] = slice;
            kinds->kind_of[slice] = n++;
        }
    }
    for (int32_t i = 0; i < s->n; i++) {
        kinds->kind_of[i] = kinds->kind_of[same_as[i]];
        kinds->count[kinds->kind_of[i]]++;
    }
    kinds->n = n;
    return true;
}

static bool ox_give_numbers(ox_node *k, int32_t o, const int32_t *values, int32_t n)
{
    onnx_array *y = ox_places(k->c, 1, n, 0);
    for (int32_t i = 0; y && i < n; i++)
        y->i[i] = values[i];
    return ox_give_host(k, o, y);
}

/* Outputs: the kinds, where each is first, the kind of each slice, how many there are of each. */
static bool ox_op_unique(ox_node *k)
{
    const onnx_array *x = ox_need(k, 0, "data, which decides the size of the result,");
    ox_slices s = { x, 1, 1, x ? (int32_t)x->count : 0 };
    ox_kinds kinds;
    int64_t dim[SAMBA_MAX_DIMS];
    bool by_axis = ox_attribute(k, "axis") != NULL;
    int32_t axis = x && by_axis ? ox_axis(k, ox_int(k, "axis", 0), x->ndim) : 0;
    if (!x || axis < 0) return false;
    if (x->count == 0) return ox_refuse(k, "of a tensor without elements is not offered");
    memcpy(dim, x->dim, sizeof dim);
    if (by_axis) {
        s.n = (int32_t)dim[axis];
        for (int32_t d = 0; d < x->ndim; d++) {
            if (d < axis) s.before *= dim[d];
            if (d > axis) s.after *= dim[d];
        }
    }
    if (!ox_find_kinds(k->c, &s, ox_int(k, "sorted", 1) != 0, &kinds)) return false;
    dim[axis] = kinds.n;
    onnx_array *y = ox_host_array(k->c, x->type, by_axis ? x->ndim : 1, dim);
    for (int64_t i = 0; y && i < y->count; i++) {
        int64_t row = i / s.after / kinds.n, kind = i / s.after % kinds.n;
        int64_t at = (row * s.n + kinds.first[kind]) * s.after + i % s.after;
        if (y->f)
            y->f[i] = x->f[at];
        else
            y->i[i] = x->i[at];
    }
    return ox_give_host(k, 0, y) && ox_give_numbers(k, 1, kinds.first, kinds.n)
        && ox_give_numbers(k, 2, kinds.kind_of, s.n) && ox_give_numbers(k, 3, kinds.count, kinds.n);
}

/* ---- NonMaxSuppression: the best boxes of each class that do not overlap better ones ---- */

typedef struct ox_boxes {
    const onnx_array *box, *score; /* (batches, boxes, 4), (batches, classes, boxes) */
    bool centered;                 /* (x, y, width, height), not two corners (y, x) */
    double overlap;                /* intersection over union; above, the worse one goes */
    double least;                  /* only what scores more is chosen, if there is a limit */
    bool limited;
} ox_boxes;

/* low[2], high[2] of a box. */
static void ox_corners(const ox_boxes *b, int64_t box, double *low, double *high)
{
    const float *p = b->box->f + 4 * box;
    for (int i = 0; i < 2; i++) {
        double first = (double)p[i], second = (double)p[2 + i];
        if (b->centered) {
            low[i] = first - second / 2;
            high[i] = first + second / 2;
        } else {
            low[i] = first < second ? first : second;
            high[i] = first < second ? second : first;
        }
    }
}

static bool ox_overlap(const ox_boxes *b, int64_t one, int64_t other)
{
    double low[2][2], high[2][2], area[2], common = 1;
    ox_corners(b, one, low[0], high[0]);
    ox_corners(b, other, low[1], high[1]);
    for (int i = 0; i < 2; i++) {
        area[i] = (high[i][0] - low[i][0]) * (high[i][1] - low[i][1]);
        double from = low[0][i] > low[1][i] ? low[0][i] : low[1][i];
        double to = high[0][i] < high[1][i] ? high[0][i] : high[1][i];
        common *= to > from ? to - from : 0;
    }
    return common > 0 && common / (area[0] + area[1] - common) > b->overlap;
}

/* Chooses boxes of one class, the best first, of equal ones the first; returns how many. */
static int32_t ox_choose_boxes(const ox_boxes *b, int64_t batch, const float *score, int32_t most,
                               int32_t *chosen, bool *gone)
{
    int32_t n_boxes = (int32_t)b->box->dim[1], n = 0;
    int64_t first = batch * n_boxes;
    memset(gone, 0, (size_t)n_boxes * sizeof *gone);
    while (n < most) {
        int32_t best = -1;
        for (int32_t i = 0; i < n_boxes; i++)
            if (!gone[i] && (!b->limited || (double)score[i] > b->least) && score[i] == score[i]
                && (best < 0 || score[i] > score[best]))
                best = i;
        if (best < 0) break;
        gone[best] = true;
        chosen[n++] = best;
        for (int32_t i = 0; i < n_boxes; i++)
            gone[i] = gone[i] || ox_overlap(b, first + best, first + i);
    }
    return n;
}

/* An optional number; false after a refusal. */
static bool ox_optional_number(ox_node *k, int32_t i, const char *what, double *value)
{
    if (!ox_has(k, i)) return true;
    const onnx_array *a = ox_need(k, i, what);
    if (a && a->count) *value = ox_number(a, 0);
    return a != NULL;
}

static bool ox_read_boxes(ox_node *k, ox_boxes *b, double *most)
{
    b->box = ox_need(k, 0, "boxes, which decide the size of the result,");
    b->score = b->box ? ox_need(k, 1, "scores, which decide the size of the result,") : NULL;
    if (!b->score) return false;
    b->centered = ox_int(k, "center_point_box", 0) != 0;
    b->overlap = 0;
    b->least = 0;
    b->limited = ox_has(k, 4);
    const int64_t *box = b->box->dim, *score = b->score->dim;
    if (!b->box->f || !b->score->f || b->box->ndim != 3 || b->score->ndim != 3 || box[2] != 4
        || box[0] != score[0] || box[1] != score[2])
        return ox_refuse(k, "needs boxes (batches,boxes,4) and scores (batches,classes,boxes)");
    return ox_optional_number(k, 2, "max_output_boxes_per_class", most)
        && ox_optional_number(k, 3, "iou_threshold", &b->overlap)
        && ox_optional_number(k, 4, "score_threshold", &b->least);
}

/* The result: (batch, class, box) of each that is chosen. */
static bool ox_op_non_max_suppression(ox_node *k)
{
    ox_boxes b;
    double limit = 0;
    if (!ox_read_boxes(k, &b, &limit)) return false;
    int32_t n_boxes = (int32_t)b.box->dim[1], n = 0;
    int32_t most = limit >= n_boxes ? n_boxes : limit > 0 ? (int32_t)limit : 0;
    int64_t rows = b.score->dim[0] * b.score->dim[1];
    int32_t *chosen = (int32_t *)ox_new(k->c, rows * most, sizeof *chosen);
    int32_t *row_of = (int32_t *)ox_new(k->c, rows * most, sizeof *row_of);
    bool *gone = (bool *)ox_new(k->c, n_boxes, sizeof *gone);
    if (!chosen || !row_of || !gone) return false;
    for (int64_t row = 0; row < rows; row++) {
        int32_t more = ox_choose_boxes(&b, row / b.score->dim[1], b.score->f + row * n_boxes, most,
                                       chosen + n, gone);
        for (int32_t i = 0; i < more; i++)
            row_of[n++] = (int32_t)row;
    }
    onnx_array *y = ox_places(k->c, 2, n, 3);
    for (int32_t i = 0; y && i < n; i++) {
        y->i[3 * i] = row_of[i] / b.score->dim[1];
        y->i[3 * i + 1] = row_of[i] % b.score->dim[1];
        y->i[3 * i + 2] = chosen[i];
    }
    return ox_give_host(k, 0, y);
}
