/* ml.h - of onnx_import.h: ai.onnx.ml, in which scikit-learn's converter writes estimators, as far
   as it is about numbers. A dictionary of a class's name and probability, which ZipMap makes, stays
   the tensor of probabilities. */

/* Input i as f32, whatever numbers it has. */
static samba_tensor *ox_in_f32(ox_node *k, int32_t i)
{
    return ox_to_f32(ox_in(k, i));
}

/* Input 0 as rows (N,F); NULL after a refusal. */
static samba_tensor *ox_in_rows(ox_node *k)
{
    samba_tensor *x = ox_in_f32(k, 0);
    if (x && x->shape.ndim == 1) return samba_unsqueeze(x, 0);
    if (!x || x->shape.ndim == 2) return x;
    ox_refuse(k, "needs x (N,F)");
    return NULL;
}

/* A list of floats of an attribute as a tensor (n); NULL: it is not there, or a refusal. */
static samba_tensor *ox_floats_of(ox_node *k, const char *name, int32_t *n)
{
    ox_numbers v;
    *n = 0;
    if (!ox_read_numbers(k, name, NULL, &v) || !v.f || v.n < 1) return NULL;
    *n = (int32_t)v.n;
    return ox_constant(k->c, SAMBA_F32, SAMBA_SHAPE(*n), v.f);
}

/* ---- What becomes of scores ---- */

enum { OX_POST_NONE, OX_POST_SOFTMAX, OX_POST_LOGISTIC, OX_POST_SOFTMAX_ZERO, OX_POST_PROBIT };

/* The transform that the attribute names; -1 after a refusal. */
static int32_t ox_post_of(ox_node *k)
{
    static const char *const names[] = { "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO" };
    for (int32_t i = 0; i < (int32_t)(sizeof names / sizeof *names); i++)
        if (ox_text_is(k, "post_transform", "NONE", names[i])) return i;
    ox_refuse(k, "with this post_transform is not offered");
    return -1;
}

/* Softmax of what is not 0, and 0 stays. */
static samba_tensor *ox_softmax_zero(samba_tensor *x)
{
    if (!x) return NULL;
    samba_tensor *zero = samba_number(x->session, 0.0f), *is_zero = samba_eq(x, zero);
    samba_tensor *most = samba_max(x, SAMBA_AXES(1), true);
    samba_tensor *e = samba_exp(samba_sub(x, most));
    e = samba_where(is_zero, zero, e);
    return samba_div(e, samba_sum(e, SAMBA_AXES(1), true));
}

static samba_tensor *ox_post(ox_node *k, samba_tensor *x, int32_t post)
{
    if (!x || post == OX_POST_NONE) return x;
    if (post == OX_POST_SOFTMAX) return samba_softmax(x, x->shape.ndim - 1);
    if (post == OX_POST_LOGISTIC) return samba_sigmoid(x);
    if (post == OX_POST_SOFTMAX_ZERO) return ox_softmax_zero(x);
    ox_refuse(k, "with this post_transform is not offered");
    return NULL;
}

/* Two columns of a score (N,1) of the second of two classes: 1 - x and x, or, if x is not a
   probability, -x and x, each transformed. */
static samba_tensor *ox_two_columns(samba_tensor *x, int32_t post, bool probability)
{
    samba_tensor *both[2] = { samba_neg(x), x };
    if (probability && both[0]) both[0] = samba_shift(both[0], 1.0f);
    if (!both[0]) return NULL;
    samba_tensor *y = samba_cat(both, 2, 1);
    return probability || post != OX_POST_LOGISTIC ? y : samba_sigmoid(y);
}

/* ---- Labels ---- */

/* The labels of classes; n 0: none are given. False after a refusal. */
static bool ox_read_labels_of(ox_node *k, const char *name, const char *strings, ox_numbers *v)
{
    const Onnx__AttributeProto *texts = ox_attribute(k, strings);
    if (texts && texts->n_strings)
        return ox_refuse(k, "its classes are strings; convert the estimator with integer classes");
    if (!ox_read_numbers(k, name, NULL, v)) return false;
    for (int64_t i = 0; v->i && i < v->n; i++)
        if (v->i[i] < INT32_MIN || v->i[i] > INT32_MAX)
            return ox_refuse(k, "a label does not fit into 32 bits");
    return v->n >= 1 && v->i ? true : ox_refuse(k, "its %s is missing", name);
}

/* Gives output 0 the labels whose numbers, i32 (N), are given. */
static bool ox_give_labels(ox_node *k, const ox_numbers *labels, samba_tensor *which)
{
    int32_t n = (int32_t)labels->n;
    int32_t *words = (int32_t *)ox_new(k->c, n, sizeof *words);
    if (!words || !which) return false;
    for (int32_t i = 0; i < n; i++)
        words[i] = (int32_t)labels->i[i];
    samba_tensor *table = ox_constant(k->c, SAMBA_I32, SAMBA_SHAPE(n), words);
    return ox_give(k, 0, OX_INT64, ox_take(table, which, 0.0f));
}

/* 1 where x (N,1) is above a limit, else 0, as i32 (N). */
static samba_tensor *ox_is_above(samba_tensor *x, float limit)
{
    if (!x) return NULL;
    samba_tensor *above = samba_gt(x, samba_number(x->session, limit));
    return above ? samba_reshape(ox_to_i32(above), SAMBA_SHAPE(x->shape.dim[0])) : NULL;
}

static samba_tensor *ox_best(samba_tensor *scores)
{
    return scores ? samba_argmax(scores, 1, false) : NULL;
}

/* ---- Trees ---- */

/* Adds base_values, one for each column, or none. */
static samba_tensor *ox_add_base(ox_node *k, samba_tensor *y)
{
    ox_numbers base;
    if (!y || !ox_read_numbers(k, "base_values", "base_values_as_tensor", &base)) return NULL;
    if (!base.n) return y;
    if (!base.f || (base.n != y->shape.dim[1] && base.n != 1)) {
        ox_refuse(k, "its base_values do not fit");
        return NULL;
    }
    samba_shape s = SAMBA_SHAPE((int32_t)base.n);
    return samba_add(y, ox_constant(k->c, SAMBA_F32, s, base.f));
}

static bool ox_op_tree_regressor(ox_node *k)
{
    ox_trees t;
    int32_t post = ox_post_of(k);
    if (post < 0 || !ox_read_trees(k, &t, "target", ox_int(k, "n_targets", 1))) return false;
    if (ox_text_is(k, "aggregate_function", "SUM", "AVERAGE"))
        t.aggregate = OX_TREE_AVERAGE;
    else if (ox_text_is(k, "aggregate_function", "SUM", "MIN"))
        t.aggregate = OX_TREE_MIN;
    else if (ox_text_is(k, "aggregate_function", "SUM", "MAX"))
        t.aggregate = OX_TREE_MAX;
    samba_tensor *y = ox_add_base(k, ox_apply_trees(k, &t, ox_in_f32(k, 0)));
    return ox_give(k, 0, OX_FLOAT, ox_post(k, y, post));
}

static bool ox_op_tree_ensemble(ox_node *k)
{
    ox_trees t;
    if (!ox_read_ensemble(k, &t)) return false;
    samba_tensor *y = ox_apply_trees(k, &t, ox_in_f32(k, 0));
    int64_t post = ox_int(k, "post_transform", 0);
    if (post < 0 || post > OX_POST_SOFTMAX_ZERO)
        return ox_refuse(k, "with this post_transform is not offered");
    return ox_give(k, 0, ox_type(k, 0), ox_post(k, y, (int32_t)post));
}

/* Two classes of which the trees score one: column 1 becomes column 0, and none of the other is
   left. Then a probability (all weights are positive) is compared with 1/2, another score with 0.
 */
static bool ox_give_binary_trees(ox_node *k, ox_trees *t, const ox_numbers *labels, int32_t post)
{
    bool positive = true;
    for (int32_t i = 0; i < t->n_weights; i++) {
        positive = positive && t->weight[i] >= 0;
        t->target[i] = 0;
    }
    t->targets = 1;
    ox_numbers base;
    samba_tensor *x = ox_apply_trees(k, t, ox_in_f32(k, 0));
    if (!ox_read_numbers(k, "base_values", "base_values_as_tensor", &base)) return false;
    if (base.f && base.n == 2) { /* that of the second class counts */
        samba_tensor *more = samba_number(k->c->s, base.f[1]);
        x = samba_add(x, more);
        positive = false;
    } else {
        x = ox_add_base(k, x);
    }
    if (!ox_give_labels(k, labels, ox_is_above(x, positive ? 0.5f : 0.0f))) return false;
    return ox_give(k, 1, OX_FLOAT, ox_two_columns(x, post, positive));
}

static bool ox_op_tree_classifier(ox_node *k)
{
    ox_trees t;
    ox_numbers labels;
    int32_t post = ox_post_of(k);
    if (post < 0 || !ox_read_labels_of(k, "classlabels_int64s", "classlabels_strings", &labels))
        return false;
    if (!ox_read_trees(k, &t, "class", labels.n)) return false;
    bool one = labels.n == 2;
    for (int32_t i = 0; i < t.n_weights; i++)
        one = one && t.target[i] == t.target[0];
    if (one) return ox_give_binary_trees(k, &t, &labels, post);
    samba_tensor *y = ox_add_base(k, ox_apply_trees(k, &t, ox_in_f32(k, 0)));
    if (!ox_give_labels(k, &labels, ox_best(y))) return false;
    return ox_give(k, 1, OX_FLOAT, ox_post(k, y, post));
}

/* ---- Linear models ---- */

/* x w^T + b of the attributes coefficients (n,F) and intercepts; NULL after a refusal. */
static samba_tensor *ox_linear_scores(ox_node *k, const char *intercepts, int64_t n)
{
    samba_tensor *x = ox_in_rows(k);
    int32_t n_w, n_b;
    samba_tensor *w = ox_floats_of(k, "coefficients", &n_w);
    samba_tensor *b = ox_floats_of(k, intercepts, &n_b);
    if (!x || !samba_ok(k->c->s)) return NULL;
    bool fits = w && n >= 1 && n <= INT32_MAX && n_w == n * x->shape.dim[1]
        && (!b || n_b == n || n_b == 1);
    if (!fits) {
        ox_refuse(k, "its coefficients or %s do not fit x %d and %lld targets", intercepts,
                  x->shape.dim[1], (long long)n);
        return NULL;
    }
    w = samba_reshape(w, SAMBA_SHAPE((int32_t)n, x->shape.dim[1]));
    samba_tensor *y = samba_matmul_transposed(x, false, w, true);
    return b ? samba_add(y, b) : y;
}

static bool ox_op_linear_regressor(ox_node *k)
{
    int32_t post = ox_post_of(k);
    samba_tensor *y = post < 0 ? NULL : ox_linear_scores(k, "intercepts", ox_int(k, "targets", 1));
    return ox_give(k, 0, OX_FLOAT, ox_post(k, y, post));
}

static bool ox_op_linear_classifier(ox_node *k)
{
    ox_numbers labels, coefficients;
    int32_t post = ox_post_of(k);
    samba_tensor *x = ox_in_rows(k);
    if (!x || post < 0 || !ox_read_numbers(k, "coefficients", NULL, &coefficients)) return false;
    if (!ox_read_labels_of(k, "classlabels_ints", "classlabels_strings", &labels)) return false;
    bool one = labels.n == 2 && coefficients.n == x->shape.dim[1];
    samba_tensor *y = ox_linear_scores(k, "intercepts", one ? 1 : labels.n);
    if (one) {
        samba_tensor *which = ox_is_above(y, 0.0f);
        return ox_give_labels(k, &labels, which)
            && ox_give(k, 1, OX_FLOAT, ox_two_columns(y, post, false));
    }
    return ox_give_labels(k, &labels, ox_best(y)) && ox_give(k, 1, OX_FLOAT, ox_post(k, y, post));
}

/* ---- Support vectors ---- */

/* The kernel of each row of x with each of n vectors: (N,n); NULL after a refusal. */
static samba_tensor *ox_svm_kernel(ox_node *k, samba_tensor *x, samba_tensor *vectors, int64_t n)
{
    ox_numbers params;
    float gamma = 0, coef0 = 0, degree = 0;
    if (!x || !vectors || !ox_read_numbers(k, "kernel_params", NULL, &params)) return NULL;
    if (params.f && params.n == 3) {
        gamma = params.f[0];
        coef0 = params.f[1];
        degree = params.f[2];
    }
    vectors = samba_reshape(vectors, SAMBA_SHAPE((int32_t)n, x->shape.dim[1]));
    samba_tensor *product = samba_matmul_transposed(x, false, vectors, true);
    if (ox_text_is(k, "kernel_type", "LINEAR", "LINEAR")) return product;
    if (ox_text_is(k, "kernel_type", "LINEAR", "POLY")) {
        samba_tensor *base = samba_shift(samba_scale(product, gamma), coef0);
        samba_tensor *power = samba_number(k->c->s, degree);
        return samba_pow(base, power);
    }
    if (ox_text_is(k, "kernel_type", "LINEAR", "SIGMOID"))
        return samba_tanh(samba_shift(samba_scale(product, gamma), coef0));
    if (!ox_text_is(k, "kernel_type", "LINEAR", "RBF")) {
        ox_refuse(k, "its kernel_type is not offered");
        return NULL;
    }
    samba_tensor *left = samba_unsqueeze(x, 1), *right = samba_unsqueeze(vectors, 0);
    samba_tensor *apart = samba_sub(left, right); /* exact where a row is near a vector */
    samba_tensor *squares = samba_sum(samba_mul(apart, apart), SAMBA_AXES(2), false);
    return samba_exp(samba_scale(squares, -gamma));
}

/* Kernels times known weights (m,n), plus m numbers: (N,m). */
static samba_tensor *ox_weigh(ox_node *k, samba_tensor *kernels, const float *w, const float *more,
                              int32_t m, int32_t n)
{
    samba_tensor *weights = ox_constant(k->c, SAMBA_F32, SAMBA_SHAPE(m, n), w);
    samba_tensor *offset = ox_constant(k->c, SAMBA_F32, SAMBA_SHAPE(m), more);
    samba_tensor *y = samba_matmul_transposed(kernels, false, weights, true);
    return samba_add(y, offset);
}

static bool ox_op_svm_regressor(ox_node *k)
{
    samba_tensor *x = ox_in_rows(k), *vectors, *kernels = x, *y;
    int64_t n = ox_int(k, "n_supports", 0);
    ox_numbers w, rho;
    int32_t n_v, post = ox_post_of(k);
    if (!x || post < 0) return false;
    if (!ox_need_numbers(k, "coefficients", NULL, true, -1, &w)
        || !ox_need_numbers(k, "rho", NULL, true, -1, &rho))
        return false;
    if (n > 0) {
        vectors = ox_floats_of(k, "support_vectors", &n_v);
        if (!vectors || n > n_v || n_v != n * x->shape.dim[1] || w.n != n)
            return ox_refuse(k, "its support vectors do not fit x");
        kernels = ox_svm_kernel(k, x, vectors, n);
    } else if (w.n != x->shape.dim[1]) {
        return ox_refuse(k, "its coefficients do not fit x");
    }
    y = ox_weigh(k, kernels, w.f, rho.f, 1, (int32_t)w.n);
    if (ox_int(k, "one_class", 0)) {
        samba_tensor *inside = samba_gt(y, samba_number(k->c->s, 0.0f));
        y = samba_shift(samba_scale(ox_to_f32(inside), 2.0f), -1.0f);
    }
    return ox_give(k, 0, OX_FLOAT, ox_post(k, y, post));
}

/* How the classes of an SVM share its vectors. */
typedef struct ox_svm {
    int32_t classes, pairs, n;
    const int64_t *each; /* vectors of each class */
    ox_numbers w, rho;
} ox_svm;

/* The weights (pairs,n) with which kernels count for pair i < j: those of class i count by row
   j - 1 of the coefficients, those of class j by row i. */
static float *ox_pair_weights(ox_node *k, const ox_svm *s)
{
    float *w = (float *)ox_new(k->c, (int64_t)s->pairs * s->n, sizeof *w);
    int64_t *first = (int64_t *)ox_new(k->c, s->classes + 1, sizeof *first), pair = 0;
    if (!w || !first) return NULL;
    for (int32_t i = 0; i < s->classes; i++)
        first[i + 1] = first[i] + s->each[i];
    for (int32_t i = 0; i < s->classes; i++) {
        for (int32_t j = i + 1; j < s->classes; j++, pair++) {
            for (int64_t v = first[i]; v < first[i + 1]; v++)
                w[pair * s->n + v] = s->w.f[(int64_t)(j - 1) * s->n + v];
            for (int64_t v = first[j]; v < first[j + 1]; v++)
                w[pair * s->n + v] = s->w.f[(int64_t)i * s->n + v];
        }
    }
    return w;
}

/* The class that wins most pairs: scores (N,pairs) above 0 count for the first of each. */
static samba_tensor *ox_svm_votes(ox_node *k, const ox_svm *s, samba_tensor *scores)
{
    float *win = (float *)ox_new(k->c, (int64_t)s->classes * s->pairs, sizeof *win);
    float *lose = (float *)ox_new(k->c, s->classes, sizeof *lose);
    int64_t pair = 0;
    if (!win || !lose || !scores) return NULL;
    for (int32_t i = 0; i < s->classes; i++) {
        for (int32_t j = i + 1; j < s->classes; j++, pair++) {
            win[(int64_t)i * s->pairs + pair] = 1;
            win[(int64_t)j * s->pairs + pair] = -1;
            lose[j] += 1;
        }
    }
    samba_tensor *won = ox_to_f32(samba_gt(scores, samba_number(k->c->s, 0.0f)));
    return ox_weigh(k, won, win, lose, s->classes, s->pairs);
}

/* ---- onnx_couple: p (N,pairs), the probability that the first class of each pair is right, i < j
   -> (N,classes): the probabilities that agree best with all of them. Wu, Lin and Weng,
   "Probability Estimates for Multi-class Classification by Pairwise Coupling" (2004), their second
   method, with the iterations of LIBSVM. The attribute is the number of classes. ---- */

enum { OX_COUPLE_MOST = 64 }; /* classes */

static bool ox_couple_shape(samba_call *c)
{
    if (!ox_expect(c, 1, 1) || !ox_expect_type(c, 0, SAMBA_F32)) return false;
    int32_t n = c->attr[0];
    samba_shape *y = &c->out[0].shape;
    bool fits = n >= 2 && n <= OX_COUPLE_MOST && y->ndim == 2 && y->dim[1] == n * (n - 1) / 2;
    if (!fits) return samba_refuse(c, SAMBA_ESHAPE, "p must be (N,pairs) of %d classes", n);
    y->dim[1] = n;
    return true;
}

/* Q of the paper: p'Qp is to be least. r[i][j]: that i is right, of i and j. */
static void ox_couple_matrix(int32_t n, const float *pair, double q[][OX_COUPLE_MOST])
{
    double r[OX_COUPLE_MOST][OX_COUPLE_MOST] = { { 0 } };
    int64_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = i + 1; j < n; j++, at++) {
            double p = (double)pair[at];
            r[i][j] = p < 1e-7 ? 1e-7 : p > 1 - 1e-7 ? 1 - 1e-7 : p;
            r[j][i] = 1 - r[i][j];
        }
    }
    for (int32_t i = 0; i < n; i++) {
        q[i][i] = 0;
        for (int32_t j = 0; j < n; j++) {
            if (j == i) continue;
            q[i][i] = fma(r[j][i], r[j][i], q[i][i]);
            q[i][j] = -r[j][i] * r[i][j];
        }
    }
}

static void ox_couple_row(int32_t n, const float *pair, float *y)
{
    double q[OX_COUPLE_MOST][OX_COUPLE_MOST], p[OX_COUPLE_MOST], qp[OX_COUPLE_MOST];
    ox_couple_matrix(n, pair, q);
    for (int32_t i = 0; i < n; i++)
        p[i] = 1.0 / n;
    for (int turn = 0; turn < 100; turn++) {
        double pqp = 0, worst = 0;
        for (int32_t i = 0; i < n; i++) {
            qp[i] = 0;
            for (int32_t j = 0; j < n; j++)
                qp[i] = fma(q[i][j], p[j], qp[i]);
            pqp = fma(p[i], qp[i], pqp);
        }
        for (int32_t i = 0; i < n; i++)
            worst = fabs(qp[i] - pqp) > worst ? fabs(qp[i] - pqp) : worst;
        if (worst < 0.005 / n) break;
        for (int32_t i = 0; i < n; i++) {
            double d = (pqp - qp[i]) / q[i][i], all = 1 + d;
            p[i] += d;
            pqp = fma(d, fma(d, q[i][i], 2 * qp[i]), pqp) / all / all;
            for (int32_t j = 0; j < n; j++) {
                qp[j] = fma(d, q[i][j], qp[j]) / all;
                p[j] /= all;
            }
        }
    }
    for (int32_t i = 0; i < n; i++)
        y[i] = (float)p[i];
}

static void ox_couple_kernel(const samba_args *a)
{
    int64_t pairs = a->in_spec[0].shape.dim[1], n = a->attr[0];
    for (int64_t r = a->begin; r < a->end; r++)
        ox_couple_row((int32_t)n, a->in[0] + r * pairs, a->out[0] + r * n);
}

/* Probabilities of scores of pairs by LIBSVM's sigmoids, prob_a and prob_b; (N,classes). */
static samba_tensor *ox_svm_probabilities(ox_node *k, const ox_svm *s, samba_tensor *scores,
                                          const ox_numbers *a, const ox_numbers *b)
{
    samba_shape each = SAMBA_SHAPE(s->pairs);
    if (s->classes > OX_COUPLE_MOST || a->n != s->pairs || !b->f || b->n != s->pairs) {
        ox_refuse(k, "its prob_a and prob_b do not fit, or it has more than %d classes",
                  OX_COUPLE_MOST);
        return NULL;
    }
    samba_tensor *x = samba_mul(scores, ox_constant(k->c, SAMBA_F32, each, a->f));
    x = samba_add(x, ox_constant(k->c, SAMBA_F32, each, b->f));
    samba_tensor *p = samba_sigmoid(samba_neg(x));
    return p ? samba_apply(k->c->s, "onnx_couple", &p, 1, &s->classes, 1) : NULL;
}

/* Of classes by pairs: labels, and probabilities or the scores of pairs. */
static bool ox_give_svm(ox_node *k, samba_tensor *x, ox_svm *s, const ox_numbers *labels,
                        int32_t post)
{
    ox_numbers a, b;
    int32_t n_v;
    samba_tensor *vectors = ox_floats_of(k, "support_vectors", &n_v);
    bool fits = vectors && n_v == (int64_t)s->n * x->shape.dim[1]
        && s->w.n == (int64_t)s->n * (s->classes - 1) && s->rho.n >= s->pairs;
    if (!fits) return ox_refuse(k, "its support vectors, coefficients or rho do not fit");
    if (!ox_read_numbers(k, "prob_a", NULL, &a) || !ox_read_numbers(k, "prob_b", NULL, &b))
        return false;
    float *w = ox_pair_weights(k, s);
    samba_tensor *kernels = w ? ox_svm_kernel(k, x, vectors, s->n) : NULL;
    samba_tensor *scores = kernels ? ox_weigh(k, kernels, w, s->rho.f, s->pairs, s->n) : NULL;
    if (a.f && a.n) {
        samba_tensor *p = ox_svm_probabilities(k, s, scores, &a, &b);
        return ox_give_labels(k, labels, ox_best(p)) && ox_give(k, 1, OX_FLOAT, p);
    }
    samba_tensor *votes = ox_svm_votes(k, s, scores);
    if (!ox_give_labels(k, labels, ox_best(votes))) return false;
    if (labels->n == 2) return ox_give(k, 1, OX_FLOAT, ox_two_columns(scores, post, false));
    return ox_give(k, 1, OX_FLOAT, ox_post(k, scores, post));
}

static bool ox_op_svm_classifier(ox_node *k)
{
    samba_tensor *x = ox_in_rows(k);
    ox_numbers labels, each;
    ox_svm s;
    int64_t n = 0;
    int32_t post = ox_post_of(k);
    memset(&s, 0, sizeof s);
    if (!x || post < 0) return false;
    if (!ox_read_labels_of(k, "classlabels_ints", "classlabels_strings", &labels)) return false;
    if (!ox_need_numbers(k, "coefficients", NULL, true, -1, &s.w)
        || !ox_need_numbers(k, "rho", NULL, true, -1, &s.rho)
        || !ox_read_numbers(k, "vectors_per_class", NULL, &each))
        return false;
    if (!each.n)
        return ox_refuse(k, "without support vectors is not offered: a LinearClassifier is");
    for (int64_t i = 0; i < each.n; i++) {
        bool sound = each.i && each.i[i] >= 0 && each.i[i] <= OX_MAX_COUNT;
        if (!sound) return ox_refuse(k, "its vectors_per_class is out of range");
        n += each.i[i];
    }
    if (each.n != labels.n || labels.n < 2 || labels.n > 1024 || n < 1 || n > OX_MAX_COUNT / 1024)
        return ox_refuse(k, "its classes and vectors_per_class do not fit");
    s.classes = (int32_t)labels.n;
    s.pairs = s.classes * (s.classes - 1) / 2;
    s.n = (int32_t)n;
    s.each = each.i;
    return ox_give_svm(k, x, &s, &labels, post);
}

/* ---- What is done to features ---- */

/* (x - offset) scale, each one number or one for each feature. */
static bool ox_op_scaler(ox_node *k)
{
    samba_tensor *x = ox_in_f32(k, 0);
    int32_t n_offset, n_scale;
    samba_tensor *offset = ox_floats_of(k, "offset", &n_offset);
    samba_tensor *scale = ox_floats_of(k, "scale", &n_scale);
    if (!x || !samba_ok(k->c->s)) return false;
    int32_t n = x->shape.ndim ? x->shape.dim[x->shape.ndim - 1] : 1;
    bool fits = (n_offset <= 1 || n_offset == n) && (n_scale <= 1 || n_scale == n);
    if (!fits) return ox_refuse(k, "its offset or scale does not fit x");
    if (offset) x = samba_sub(x, offset);
    if (scale) x = samba_mul(x, scale);
    return ox_give(k, 0, OX_FLOAT, x);
}

/* Rows divided by their sum of sizes, length or largest number; rows of zeros stay. */
static bool ox_op_normalizer(ox_node *k)
{
    samba_tensor *x = ox_in_f32(k, 0), *norm;
    if (!x) return false;
    if (x->shape.ndim < 1 || x->shape.ndim > 2) return ox_refuse(k, "needs x (N,F)");
    samba_shape last = SAMBA_AXES(x->shape.ndim - 1);
    if (ox_text_is(k, "norm", "MAX", "L1"))
        norm = samba_sum(samba_abs(x), last, true);
    else if (ox_text_is(k, "norm", "MAX", "L2"))
        norm = samba_sqrt(samba_sum(samba_mul(x, x), last, true));
    else
        norm = samba_max(x, last, true);
    samba_tensor *zero = samba_number(k->c->s, 0.0f), *none = samba_eq(norm, zero);
    return ox_give(k, 0, OX_FLOAT, samba_where(none, x, samba_div(x, norm)));
}

static bool ox_op_binarizer(ox_node *k)
{
    samba_tensor *x = ox_in_f32(k, 0);
    samba_tensor *limit = samba_number(k->c->s, ox_float(k, "threshold", 0.0f));
    samba_tensor *y = ox_to_f32(samba_gt(x, limit));
    return ox_give(k, 0, ox_type(k, 0), ox_is_float(ox_type(k, 0)) ? y : ox_to_i32(y));
}

/* The number that is replaced, by one number or by one for each feature. */
static bool ox_op_imputer(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *is_old;
    ox_numbers fresh;
    if (!x) return false;
    bool floats = x->dtype == SAMBA_F32;
    if (!ox_need_numbers(k, floats ? "imputed_value_floats" : "imputed_value_int64s", NULL, floats,
                         -1, &fresh))
        return false;
    int32_t n = x->shape.ndim ? x->shape.dim[x->shape.ndim - 1] : 1;
    if (fresh.n != 1 && fresh.n != n) return ox_refuse(k, "its imputed values do not fit x");
    samba_shape each = SAMBA_SHAPE((int32_t)fresh.n);
    if (!floats) {
        onnx_array *a = ox_host_array(k->c, OX_INT64, 1, &fresh.n);
        if (!a) return false;
        memcpy(a->i, fresh.i, (size_t)fresh.n * sizeof *a->i);
        int64_t old = ox_int(k, "replaced_value_int64", 0);
        if (old < INT32_MIN || old > INT32_MAX)
            return ox_refuse(k, "its replaced value is too large");
        is_old = ox_integers(x, ox_i32_scalar(k->c, (int32_t)old), OX_EQ, OX_INT32);
        samba_tensor *values = ox_constant_of(k->c, a);
        return ox_give(k, 0, ox_type(k, 0),
                       ox_select(is_old ? samba_cast(is_old, SAMBA_BOOL) : NULL, values, x));
    }
    float old = ox_float(k, "replaced_value_float", 0.0f);
    is_old = old != old ? samba_cast(ox_unary(x, OX_IS_NAN), SAMBA_BOOL)
                        : samba_eq(x, samba_number(k->c->s, old));
    samba_tensor *values = ox_constant(k->c, SAMBA_F32, each, fresh.f);
    return ox_give(k, 0, ox_type(k, 0), ox_select(is_old, values, x));
}

/* Inputs side by side, each as f32 rows. */
static bool ox_op_feature_vectorizer(ox_node *k)
{
    samba_tensor **part = (samba_tensor **)ox_new(k->c, k->n_in, sizeof *part);
    if (!part) return false;
    for (int32_t i = 0; i < k->n_in; i++) {
        part[i] = ox_in_f32(k, i);
        if (part[i] && part[i]->shape.ndim == 1) part[i] = samba_unsqueeze(part[i], 0);
        if (!part[i]) return false;
        if (part[i]->shape.ndim != 2) return ox_refuse(k, "needs inputs (N,F)");
    }
    return ox_give(k, 0, OX_FLOAT, ox_cat(k, part, k->n_in, 1, false));
}

/* Columns of x, which indices choose. */
static bool ox_op_feature_extractor(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0), *index = ox_to_i32(ox_in(k, 1));
    if (!x || !index) return false;
    if (x->shape.ndim < 1) return ox_refuse(k, "x is a scalar");
    if (x->shape.ndim == 1) x = samba_unsqueeze(x, 0);
    if (!x) return false;
    int32_t last = x->shape.ndim - 1;
    index = ox_wrap_index(k->c, ox_flat(index), x->shape.dim[last]);
    return ox_give(k, 0, ox_type(k, 0), ox_gather_axis(x, index, last));
}

/* ---- Tables from numbers to numbers ---- */

/* Keys or values of an attribute, of integers or floats, in a tensor (n). */
static samba_tensor *ox_table_of(ox_node *k, const char *of, int32_t *type)
{
    char name[3][40];
    ox_numbers v;
    static const char *const ends[3] = { "int64s", "floats", "tensor" };
    for (int i = 0; i < 3; i++)
        snprintf(name[i], sizeof name[i], "%s_%s", of, ends[i]);
    if (!ox_read_numbers(k, name[0], name[2], &v)) return NULL;
    if (!v.n && !ox_read_numbers(k, name[1], NULL, &v)) return NULL;
    if (v.n < 1 || (!v.i && !v.f)) {
        ox_refuse(k, "maps strings, or its %s are missing", of);
        return NULL;
    }
    *type = v.i ? OX_INT64 : OX_FLOAT;
    onnx_array *a = ox_host_array(k->c, *type, 1, &v.n);
    if (!a) return NULL;
    if (v.i) memcpy(a->i, v.i, (size_t)v.n * sizeof *a->i);
    if (v.f) memcpy(a->f, v.f, (size_t)v.n * sizeof *a->f);
    return ox_constant_of(k->c, a);
}

/* 1 where x (...,1) is a key (n), as i32; NaN is NaN. */
static samba_tensor *ox_is_key(samba_tensor *x, samba_tensor *keys)
{
    if (!x || !keys) return NULL;
    samba_tensor *wide = samba_unsqueeze(x, x->shape.ndim);
    if (x->dtype != SAMBA_F32) return ox_integers(ox_to_i32(wide), keys, OX_EQ, OX_INT32);
    samba_tensor *same = ox_to_i32(samba_eq(wide, keys));
    samba_tensor *x_nan = ox_to_i32(ox_unary(wide, OX_IS_NAN));
    samba_tensor *key_nan = ox_to_i32(ox_unary(keys, OX_IS_NAN));
    samba_tensor *both = ox_integers(x_nan, key_nan, OX_AND, OX_INT32);
    return ox_integers(same, both, OX_OR, OX_INT32);
}

static samba_tensor *ox_default_of(ox_node *k, int32_t type)
{
    ox_numbers v;
    if (!ox_read_numbers(k, "default_tensor", NULL, &v)) return NULL;
    if (type == OX_FLOAT)
        return samba_number(k->c->s,
                            v.f && v.n == 1 ? v.f[0] : ox_float(k, "default_float", -0.0f));
    int64_t usual = v.i && v.n == 1 ? v.i[0] : ox_int(k, "default_int64", -1);
    if (usual >= INT32_MIN && usual <= INT32_MAX) return ox_i32_scalar(k->c, (int32_t)usual);
    ox_refuse(k, "its default does not fit into 32 bits");
    return NULL;
}

static bool ox_op_label_encoder(ox_node *k)
{
    int32_t key_type = 0, type = 0;
    samba_tensor *x = ox_in(k, 0), *keys, *values, *otherwise;
    if (!x || x->shape.ndim >= SAMBA_MAX_DIMS)
        return x && ox_refuse(k, "x has too many dimensions");
    keys = ox_table_of(k, "keys", &key_type);
    values = keys ? ox_table_of(k, "values", &type) : NULL;
    otherwise = values ? ox_default_of(k, type) : NULL;
    if (!otherwise) return false;
    if (keys->shape.dim[0] != values->shape.dim[0])
        return ox_refuse(k, "has not as many values as keys");
    if ((key_type == OX_FLOAT) != (x->dtype == SAMBA_F32))
        return ox_refuse(k, "its keys are of another type than x");

    /* The last of equal keys counts: places count from the end. */
    int32_t n = keys->shape.dim[0];
    samba_tensor *is_key = ox_is_key(x, keys), *places = ox_steps(k->c, 1, 0, n, 1);
    places = ox_plus(places, ox_i32_scalar(k->c, 1));
    samba_tensor *found = ox_fold(ox_integers(is_key, places, OX_MUL, OX_INT32), OX_FOLD_MAX);
    samba_tensor *at = ox_plus(found, ox_i32_scalar(k->c, -1));
    at = ox_integers(at, ox_i32_scalar(k->c, 0), OX_MAX, OX_INT32);
    samba_tensor *is_there = found ? samba_cast(found, SAMBA_BOOL) : NULL;
    return ox_give(k, 0, type, ox_select(is_there, ox_take(values, at, 0.0f), otherwise));
}

/* What is no category has zeros, also where the model would rather fail (zeros = 0). */
static bool ox_op_one_hot_encoder(ox_node *k)
{
    samba_tensor *x = ox_in(k, 0);
    ox_numbers cats;
    if (!x || !ox_read_numbers(k, "cats_int64s", NULL, &cats)) return false;
    if (!cats.i || cats.n < 1) return ox_refuse(k, "works on strings, or has no cats_int64s");
    if (x->shape.ndim >= SAMBA_MAX_DIMS) return ox_refuse(k, "x has too many dimensions");
    onnx_array *a = ox_host_array(k->c, OX_INT64, 1, &cats.n);
    if (!a) return false;
    memcpy(a->i, cats.i, (size_t)cats.n * sizeof *a->i);
    samba_tensor *is_key = ox_is_key(ox_to_i32(x), ox_constant_of(k->c, a));
    return ox_give(k, 0, OX_FLOAT, ox_to_f32(is_key));
}

/* A list of dictionaries is not offered: who wants the probabilities has them in the tensor. */
static bool ox_op_zip_map(ox_node *k)
{
    if (!ox_has(k, 0)) return ox_refuse(k, "input 0 is missing");
    if (!*k->c->note)
        snprintf(k->c->note, sizeof k->c->note,
                 "ZipMap is left out: its output is the tensor of probabilities, a column for each "
                 "class in ascending order");
    return ox_give_value(k, 0, k->in[0]);
}

static const samba_op ox_ml_kernels[] = {
    { .name = "onnx_trees",
      .wire = 0x9022,
      .shape = ox_trees_shape,
      .work = ox_row_work,
      .kernel = ox_trees_kernel },
    { .name = "onnx_couple",
      .wire = 0x9023,
      .shape = ox_couple_shape,
      .work = ox_row_work,
      .kernel = ox_couple_kernel },
};
