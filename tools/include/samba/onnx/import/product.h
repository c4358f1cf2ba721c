/* product.h - of onnx_import.h: MatMul, Gemm, Einsum, Det. */

static bool ox_floats_only(ox_node *k, int32_t n)
{
    for (int32_t i = 0; i < n && i < k->n_in; i++)
        if (ox_has(k, i) && !ox_is_float(ox_type(k, i)))
            return ox_refuse(k, "of %s is not offered", ox_type_name(ox_type(k, i)));
    return true;
}

static bool ox_op_mat_mul(ox_node *k)
{
    samba_tensor *a = ox_in(k, 0), *b = ox_in(k, 1);
    return ox_floats_only(k, 2) && ox_give(k, 0, ox_type(k, 0), samba_matmul(a, b));
}

/* alpha op(A) op(B) + beta C; a layer of a net becomes samba_affine, whose weight can be packed. */
static bool ox_op_gemm(ox_node *k)
{
    samba_tensor *a = ox_in(k, 0), *b = ox_in(k, 1), *y, *c = ox_has(k, 2) ? ox_in(k, 2) : NULL;
    float alpha = ox_float(k, "alpha", 1.0f), beta = ox_float(k, "beta", 1.0f);
    bool ta = ox_int(k, "transA", 0) != 0, tb = ox_int(k, "transB", 0) != 0;
    if (!a || !b || !ox_floats_only(k, 3)) return false;
    if (a->shape.ndim != 2 || b->shape.ndim != 2) return ox_refuse(k, "needs matrices");
    bool layer = !ta && tb && alpha == 1.0f
        && (!c || (beta == 1.0f && c->shape.ndim == 1 && c->shape.dim[0] == b->shape.dim[0]));
    if (layer) return ox_give(k, 0, ox_type(k, 0), samba_affine(a, b, c));
    y = samba_matmul_transposed(a, ta, b, tb);
    if (alpha != 1.0f) y = samba_scale(y, alpha);
    if (c && beta != 0.0f) y = samba_add(y, beta == 1.0f ? c : samba_scale(c, beta));
    return ox_give(k, 0, ox_type(k, 0), y);
}

static bool ox_op_det(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    return ox_give(k, 0, ox_type(k, 0),
                   x ? samba_apply(k->c->s, "onnx_det", &x, 1, NULL, 0) : NULL);
}

/* ---- Einsum ---- */

/* A tensor whose dimensions have labels: letters, or 256 + place from the right in "...". */
typedef struct ox_labeled {
    samba_tensor *t;
    int32_t label[SAMBA_MAX_DIMS];
} ox_labeled;

static int32_t ox_place_of(const ox_labeled *x, int32_t label)
{
    for (int32_t d = 0; x->t && d < x->t->shape.ndim; d++)
        if (x->label[d] == label) return d;
    return -1;
}

/* A to Z and a to z, whatever the locale. */
static bool ox_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads the labels of one term, up to a comma or arrow; ndim < 0: of the result. */
static const char *ox_read_labels(const char *p, int32_t ndim, int32_t dots, int32_t *label,
                                  int32_t *n)
{
    int32_t letters = 0;
    for (const char *q = p; *q && *q != ',' && *q != '-'; q++)
        letters += ox_is_letter(*q);
    if (ndim >= 0) dots = ndim - letters;
    for (*n = 0; *p && *p != ',' && *p != '-'; p++) {
        if (ox_is_letter(*p) && *n < SAMBA_MAX_DIMS) label[(*n)++] = *p;
        if (p[0] != '.' || p[1] != '.' || p[2] != '.') continue;
        for (int32_t i = dots - 1; i >= 0 && *n < SAMBA_MAX_DIMS; i--)
            label[(*n)++] = 256 + i;
        p += 2;
    }
    return p;
}

/* Where a label comes twice, its diagonal is meant. */
static samba_tensor *ox_diagonal(ox_import *c, samba_tensor *x, int32_t *label)
{
    samba_shape y = samba_scalar_shape();
    int32_t first[SAMBA_MAX_DIMS] = { 0 }, kept[SAMBA_MAX_DIMS] = { 0 };
    int64_t step[SAMBA_MAX_DIMS] = { 0 };
    for (int32_t d = 0; d < x->shape.ndim; d++) {
        for (first[d] = 0; label[first[d]] != label[d];)
            first[d]++;
        if (first[d] == d) {
            kept[y.ndim] = label[d];
            y.dim[y.ndim++] = x->shape.dim[d];
        }
    }
    if (y.ndim == x->shape.ndim) return x;
    for (int32_t d = 0; d < x->shape.ndim; d++)
        for (int32_t j = 0; j < y.ndim; j++)
            if (kept[j] == label[d]) step[j] += ox_after(&x->shape, d);
    int64_t n = samba_count(&y);
    int32_t *index = (int32_t *)ox_new(c, n, sizeof *index);
    for (int64_t i = 0; index && i < n; i++)
        for (int64_t rest = i, j = y.ndim - 1; j >= 0; rest /= y.dim[j--])
            index[i] += (int32_t)(rest % y.dim[j] * step[j]);
    memcpy(label, kept, sizeof kept);
    return index ? ox_take_known(c, ox_flat(x), index, y, 0.0f) : NULL;
}

/* Sums over the labels that nobody needs any more: not in want, not in other. */
static bool ox_sum_labels(ox_labeled *x, const int32_t *want, int32_t n_want,
                          const ox_labeled *other)
{
    samba_shape axes = samba_scalar_shape();
    int32_t kept[SAMBA_MAX_DIMS], n = 0;
    for (int32_t d = 0; x->t && d < x->t->shape.ndim; d++) {
        bool needed = other && ox_place_of(other, x->label[d]) >= 0;
        for (int32_t i = 0; i < n_want; i++)
            needed = needed || want[i] == x->label[d];
        if (needed)
            kept[n++] = x->label[d];
        else
            axes.dim[axes.ndim++] = d;
    }
    if (axes.ndim) x->t = samba_sum(x->t, axes, false);
    memcpy(x->label, kept, (size_t)n * sizeof *kept);
    return x->t != NULL;
}

/* Drops dimensions of 1 that the other one stretches. */
static void ox_drop_ones(ox_labeled *x, const ox_labeled *other)
{
    for (int32_t d = 0; x->t && d < x->t->shape.ndim;) {
        int32_t at = ox_place_of(other, x->label[d]);
        bool drop = x->t->shape.dim[d] == 1 && at >= 0 && other->t->shape.dim[at] > 1;
        if (drop) x->t = samba_squeeze(x->t, d);
        for (int32_t i = d; drop && i + 1 < SAMBA_MAX_DIMS; i++)
            x->label[i] = x->label[i + 1];
        if (!drop) d++;
    }
}

/* x in the order of three groups of labels, as (group 0, group 1, group 2). */
typedef struct ox_group {
    int32_t label[SAMBA_MAX_DIMS], n, size;
} ox_group;

static samba_tensor *ox_grouped(const ox_labeled *x, const ox_group *a, const ox_group *b,
                                const ox_group *c)
{
    const ox_group *group[3] = { a, b, c };
    samba_shape axes = samba_scalar_shape();
    for (int g = 0; g < 3; g++)
        for (int32_t i = 0; i < group[g]->n; i++)
            axes.dim[axes.ndim++] = ox_place_of(x, group[g]->label[i]);
    samba_tensor *t = axes.ndim ? samba_permute(x->t, axes) : x->t;
    return samba_reshape(t, SAMBA_SHAPE(a->size, b->size, c->size));
}

static void ox_join_group(ox_group *g, const ox_labeled *x, int32_t d)
{
    g->label[g->n++] = x->label[d];
    g->size *= x->t->shape.dim[d];
}

/* The product of two, summed over what is not wanted later. */
static bool ox_contract(ox_labeled *x, ox_labeled *y, const int32_t *want, int32_t n_want)
{
    ox_group both = { { 0 }, 0, 1 }, inner = both, left = both, right = both;
    samba_shape shape = samba_scalar_shape();
    if (!ox_sum_labels(x, want, n_want, y) || !ox_sum_labels(y, want, n_want, x)) return false;
    ox_drop_ones(x, y);
    ox_drop_ones(y, x);
    for (int32_t d = 0; x->t && y->t && d < x->t->shape.ndim; d++) {
        bool wanted = false;
        for (int32_t i = 0; i < n_want; i++)
            wanted = wanted || want[i] == x->label[d];
        bool shared = ox_place_of(y, x->label[d]) >= 0;
        ox_join_group(!shared ? &left : wanted ? &both : &inner, x, d);
    }
    for (int32_t d = 0; x->t && y->t && d < y->t->shape.ndim; d++)
        if (ox_place_of(x, y->label[d]) < 0) ox_join_group(&right, y, d);
    if (!x->t || !y->t || both.n + left.n + right.n > SAMBA_MAX_DIMS) return false;
    samba_tensor *a = ox_grouped(x, &both, &left, &inner);
    samba_tensor *product = samba_matmul(a, ox_grouped(y, &both, &inner, &right));
    const ox_group *group[3] = { &both, &left, &right };
    ox_labeled r = { NULL, { 0 } };
    for (int g = 0; g < 3; g++) {
        for (int32_t i = 0; i < group[g]->n; i++) {
            const ox_labeled *from = g < 2 ? x : y;
            int32_t d = ox_place_of(from, group[g]->label[i]);
            r.label[shape.ndim] = group[g]->label[i];
            shape.dim[shape.ndim++] = from->t->shape.dim[d];
        }
    }
    r.t = product ? samba_reshape(product, shape) : NULL;
    *x = r;
    return r.t && samba_count(&r.t->shape) <= INT32_MAX;
}

/* The result's labels when there is no arrow: those of "...", then letters that come once. */
static int32_t ox_implied_labels(const char *equation, int32_t dots, int32_t *label)
{
    int32_t n = 0, count[128] = { 0 };
    for (const char *p = equation; *p; p++)
        if (ox_is_letter(*p)) count[(uint8_t)*p & 127]++;
    for (int32_t i = dots - 1; i >= 0 && n < SAMBA_MAX_DIMS; i--)
        label[n++] = 256 + i;
    for (int32_t c = 0; c < 128; c++)
        if (count[c] == 1 && n < SAMBA_MAX_DIMS) label[n++] = c;
    return n;
}

/* Reads operands and the result's labels. False after a refusal. */
static bool ox_read_equation(ox_node *k, char *equation, ox_labeled *x, int32_t *want,
                             int32_t *n_want)
{
    int32_t most_dots = 0, n = 0;
    const char *p = equation;
    for (int32_t i = 0; i < k->n_in; i++) {
        x[i].t = ox_in(k, i);
        if (!x[i].t) return false;
        const char *begin = p;
        int32_t letters = 0, ndim = x[i].t->shape.ndim;
        p = ox_read_labels(p, ndim, 0, x[i].label, &n);
        if (n != ndim) return ox_refuse(k, "\"%s\" does not fit input %d", equation, i);
        for (; begin < p; begin++)
            letters += ox_is_letter(*begin);
        if (ndim - letters > most_dots) most_dots = ndim - letters;
        if (i + 1 < k->n_in && *p++ != ',')
            return ox_refuse(k, "\"%s\" has fewer terms than there are inputs", equation);
        x[i].t = ox_diagonal(k->c, x[i].t, x[i].label);
        if (!x[i].t) return false;
    }
    if (*p == ',') return ox_refuse(k, "\"%s\" has more terms than there are inputs", equation);
    if (p[0] == '-' && p[1] == '>')
        ox_read_labels(p + 2, -1, most_dots, want, n_want);
    else
        *n_want = ox_implied_labels(equation, most_dots, want);
    return true;
}

static bool ox_op_einsum(ox_node *k)
{
    const Onnx__AttributeProto *a = ox_attribute(k, "equation");
    char equation[160];
    int32_t want[SAMBA_MAX_DIMS], n_want = 0, n = 0, later[64];
    ox_labeled *x = (ox_labeled *)ox_new(k->c, k->n_in, sizeof *x);
    if (!x || !ox_floats_only(k, k->n_in)) return false;
    for (size_t i = 0; a && a->has_s && i < a->s.len && n < 159; i++)
        if (a->s.data[i] != ' ') equation[n++] = (char)a->s.data[i];
    equation[n] = 0;
    if (k->n_in < 1 || k->n_in > 6) return ox_refuse(k, "takes 1 to 6 inputs");
    if (!ox_read_equation(k, equation, x, want, &n_want)) return false;
    for (int32_t i = 1; i < k->n_in; i++) {
        int32_t n_later = 0;
        for (int32_t j = 0; j < n_want; j++)
            later[n_later++] = want[j];
        for (int32_t j = i + 1; j < k->n_in; j++)
            for (int32_t d = 0; d < x[j].t->shape.ndim; d++)
                later[n_later++] = x[j].label[d];
        if (!ox_contract(&x[0], &x[i], later, n_later)) return ox_refuse(k, "is too large");
    }
    if (!ox_sum_labels(&x[0], want, n_want, NULL)) return false;
    samba_shape axes = samba_scalar_shape();
    for (int32_t i = 0; i < n_want; i++) {
        axes.dim[axes.ndim++] = ox_place_of(&x[0], want[i]);
        if (axes.dim[i] < 0)
            return ox_refuse(k, "\"%s\" wants a label that no input has", equation);
    }
    if (axes.ndim != x[0].t->shape.ndim) return ox_refuse(k, "\"%s\" is not understood", equation);
    return ox_give(k, 0, ox_type(k, 0), axes.ndim ? samba_permute(x[0].t, axes) : x[0].t);
}
