/* ==== [quantize] ============================================================================== */
/* A program that infers becomes one of int8 ops, see [quant]. With SAMBA_CALIBRATE an op observe
   follows each tensor that could be stored as int8; its range, <tensor>__observed, is state of the
   session, which the next compilation reads. With SAMBA_INT8 the nodes are walked twice, as a
   product may take in what follows it:
     choose   which nodes become int8 ops, and on which grids; weights and tables are made
     emit     the new nodes, with quantize and dequantize where the two worlds meet
   Products begin: affine, convolution, and matmul with a parameter. A batch_norm behind a
   convolution, or behind an affine of two dimensions, is folded into weights and bias; relu is a
   limit of y. Sums and cat follow if all they read is int8, and ops that move or choose values on
   the grid that they read. All else is f32, and reads what dequantize made; where nobody reads
   that, dead code elimination drops it. fake_quantize goes, and its range is that of what it reads:
   so training for int8 needs no calibration. */
typedef enum samba__int8_form {
    SAMBA__STAYS_F32,
    SAMBA__INT8_PRODUCT,
    SAMBA__INT8_FOLLOWS,
    SAMBA__INT8_SUM,
    SAMBA__INT8_CAT,
    SAMBA__INT8_RELU,
    SAMBA__INT8_ABSORBED /* by what it reads */
} samba__int8_form;

/* What becomes of a node. */
typedef struct samba__int8_choice {
    samba__int8_form form;
    samba_tensor *y;         /* of the last op that it takes in */
    const samba__node *norm; /* batch_norm, or NULL */
    bool relu;
    samba_tensor *weight, *table;
} samba__int8_choice;

typedef struct samba__quantizer {
    samba__compilation *c;
    samba__int8_choice *choice; /* by node */
    int32_t *reader;            /* by tensor id: 1 + the last node that reads it */
    samba_tensor **range;       /* by tensor id: that of a fake_quantize */
    samba__int8_grid *grid;     /* by tensor id, if stored as int8 */
    bool *is_int8;
    samba_tensor **stored; /* by tensor id: the int8 tensor */
    samba__node **nodes;   /* what is emitted */
    int32_t n_nodes, room;
} samba__quantizer;

#define SAMBA__OBSERVED "observed"
#define SAMBA__INT8_WEIGHTS "int8_weight" /* <product>__int8_weight: its weights as int8 */

/* Tensor ids that the walks may add: two leaves, two results and what each input becomes. */
SAMBA__FN int32_t samba__quantize_room(const samba__compilation *c)
{
    int32_t room = 0;
    for (int32_t i = 0; c->program->quantize && i < samba__n_nodes(c->session); i++)
        room += 4 + 2 * c->session->trace.nodes[i]->n_in;
    return room;
}

SAMBA__FN bool samba__check_quantize(samba_session *s, const samba_program *p)
{
    if (!samba__in_range(s, "samba_program", "quantize", (int32_t)p->quantize, 0.0, SAMBA_INT8))
        return false;
    if (!p->quantize) return true;

    if (!p->inference)
        return samba_fail(
            s, SAMBA_EARG,
            "program.quantize is for programs with inference; to train for int8, use samba_fake_quantize");
    if (p->weights)
        return samba_fail(s, SAMBA_EARG,
                          "program.quantize and program.weights are both given; use one of them");
    if (p->microbatches > 1 || p->replicas > 1)
        return samba_fail(
            s, SAMBA_EARG,
            "program.quantize is for programs without microbatches and replicas: trace the model for the rows of one run");
    return true;
}

/* ---- Calibration ---- */
/* May int8 ops store what this op makes, or read what it reads? */
SAMBA__FN bool samba__is_observed(const samba_op *op)
{
    static const int32_t ops[]
        = { SAMBA__OP_affine, SAMBA__OP_convolution, SAMBA__OP_matmul, SAMBA__OP_batch_norm,
            SAMBA__OP_relu,   SAMBA__OP_add,         SAMBA__OP_cat };
    bool found = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        found = found || samba__is(op, ops[i]);
    return found;
}

SAMBA__FN bool samba__observe(samba_session *s, samba_tensor *t, bool *done)
{
    const int32_t momentum = samba_float_attr(0.0f);
    const samba_shape shape = { 1, { SAMBA__RANGE_SIZE } };
    while (t && t->node && samba__is(t->node->op, SAMBA__OP_fake_quantize))
        t = t->node->in[0]; /* which is what int8 ops will read */
    if (!t || done[t->id] || t->dtype != SAMBA_F32) return true;
    done[t->id] = true;

    samba_tensor *range
        = samba__layer_param(s, t->name, SAMBA__OBSERVED, &shape, SAMBA__STATE, samba__all(0.0f));
    if (!range || !samba__own_data(range)) return false;
    memset(range->data, 0, samba__host_bytes(range)); /* each calibration begins anew */
    range->symbol = -1;
    return samba__emit2(SAMBA__OP_observe, t, range, &momentum, 1) != NULL;
}

/* Follows what outputs depend on with observers, which the compiler's own updates keep alive. */
SAMBA__FN bool samba__add_observers(samba__compilation *c)
{
    samba_session *s = c->session;
    int32_t n = samba__n_nodes(s), n_tensors = samba__n_tensors(s);
    if (c->program->quantize != SAMBA_CALIBRATE) return true;

    bool *needed = (bool *)samba__temp(s, 3 * n_tensors, sizeof *needed);
    if (!needed) return false;
    bool *read = needed + n_tensors, *done = read + n_tensors;

    for (int32_t i = 0; i < c->n_outputs; i++)
        samba__need(c->outputs[i], needed, read);
    for (int32_t i = n - 1; i >= 0; i--) {
        const samba__node *node = s->trace.nodes[i];
        bool live = !node->eager && samba__is_needed(node, needed, read);
        if (live) samba__need_inputs(node, needed, read);
        if (!live || !samba__is_observed(node->op)) continue;

        s->modes.graph = node->graph; /* observers are of the graph whose tensors they follow */
        bool fine = samba__observe(s, node->in[0], done) && samba__observe(s, node->out[0], done);
        s->modes.graph = c->graph;
        if (!fine) return false;
    }
    return true;
}

/* ---- Choose ---- */
SAMBA__FN void samba__count_readers(samba__quantizer *q)
{
    samba__compilation *c = q->c;
    memset(c->uses, 0, sizeof *c->uses * (size_t)c->n_tensors);
    for (int32_t i = 0; i < c->n_pairs; i++)
        c->uses[samba__final(c->pairs[i].source)->id]++;

    for (int32_t i = 0; i < c->n_nodes; i++) {
        const samba__node *n = c->nodes[i];
        if (n->out[0]->same_as) continue;
        for (int32_t k = 0; k < n->n_in; k++) {
            if (!n->in[k]) continue;
            c->uses[n->in[k]->id]++;
            q->reader[n->in[k]->id] = i + 1;
        }
    }
}

/* fake_quantize gives its range to what it reads, and goes. */
SAMBA__FN void samba__drop_fake_quantize(samba__quantizer *q)
{
    samba__compilation *c = q->c;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        samba__node *n = c->nodes[i];
        for (int32_t k = 0; k < n->n_in; k++)
            n->in[k] = samba__final(n->in[k]);
        if (n->out[0]->same_as || !samba__is(n->op, SAMBA__OP_fake_quantize)) continue;
        q->range[n->in[0]->id] = n->in[1];
        n->out[0]->same_as = n->in[0];
        samba__note_rewrite(c, "its range is that of int8", n, n->op, n->in[0]);
    }
    samba__count_readers(q);
}

/* The node that alone reads t, if it is of this op; and its number. */
SAMBA__FN samba__node *samba__only_reader(const samba__quantizer *q, const samba_tensor *t,
                                          int32_t op, int32_t *number)
{
    int32_t i = q->reader[t->id] - 1;
    if (i < 0 || q->c->uses[t->id] != 1 || !samba__is(q->c->nodes[i]->op, op)) return NULL;
    *number = i;
    return q->c->nodes[i];
}

/* Ops that leave values on the grid they read. A mean over windows of unequal sizes is none. */
SAMBA__FN bool samba__follows_grid(const samba__node *n)
{
    const samba_shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    static const int32_t ops[] = { SAMBA__OP_reshape, SAMBA__OP_permute, SAMBA__OP_slice,
                                   SAMBA__OP_expand, SAMBA__OP_max_pool2d };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (samba__is(n->op, ops[i])) return true;

    if (samba__is(n->op, SAMBA__OP_pad)) return samba_attr_float(n->attr[n->n_attr - 1]) == 0.0f;
    if (!samba__is(n->op, SAMBA__OP_avg_pool2d)) return false;
    if (n->n_attr >= SAMBA__AVG_WORDS) return true;
    int32_t d = x->ndim - 2;
    return x->dim[d] % y->dim[d] == 0 && x->dim[d + 1] % y->dim[d + 1] == 0;
}

SAMBA__FN samba_tensor *samba__observed_as(samba_session *s, const char *name)
{
    char buffer[256];
    const char *observed
        = samba__print_name(s, buffer, sizeof buffer, "%s__" SAMBA__OBSERVED, name);
    return observed ? samba__named(s, observed) : NULL;
}

/* What an observer noted of t, or of a value that the compiler found to be the same as t. */
SAMBA__FN samba_tensor *samba__observed_range(samba_session *s, const samba_tensor *t)
{
    samba_tensor *range = samba__observed_as(s, t->name);
    for (int32_t i = 0; i < samba__n_nodes(s) && !range; i++) {
        samba_tensor *y = s->trace.nodes[i]->out[0];
        if (y != t && samba__final(y) == t) range = samba__observed_as(s, y->name);
    }
    return range;
}

/* The values of a range that has seen a batch; NULL: it has not, such as that of a fake_quantize
   which was not trained. */
SAMBA__FN const float *samba__range_seen(samba_tensor *range)
{
    const float *r = range && samba__own_data(range) ? (const float *)range->data : NULL;
    return r && r[SAMBA__RANGE_BATCHES] > 0.0f ? r : NULL;
}

/* The range of t: of a fake_quantize behind it, or behind ops that only follow; or as observed. */
SAMBA__FN const float *samba__range_of(const samba__quantizer *q, const samba_tensor *t)
{
    samba_session *s = q->c->session;
    const samba_tensor *at = t;
    while (!q->range[at->id] && q->c->uses[at->id] == 1 && q->reader[at->id]) {
        const samba__node *n = q->c->nodes[q->reader[at->id] - 1];
        if (!samba__follows_grid(n)) break;
        at = n->out[0];
    }

    const float *r = samba__range_seen(q->range[at->id]);
    if (!r) r = samba__range_seen(samba__observed_range(s, t));
    if (!r) {
        samba_fail(
            s, SAMBA_ESTATE,
            "%s has no range: compile with .quantize = SAMBA_CALIBRATE and run some batches, then compile with SAMBA_INT8; or train with samba_fake_quantize",
            t->name);
        return NULL;
    }

    if (samba__abs(r[SAMBA__RANGE_LEAST]) < SAMBA__INF
        && samba__abs(r[SAMBA__RANGE_MOST]) < SAMBA__INF)
        return r;
    samba_fail(
        s, SAMBA_ERANGE,
        "the range of %s is %g ... %g, so data it was calibrated with made a NaN or an infinity; samba_set_check_finite finds where. Calibrate again",
        t->name, (double)r[SAMBA__RANGE_LEAST], (double)r[SAMBA__RANGE_MOST]);
    return NULL;
}

SAMBA__FN bool samba__give_grid(samba__quantizer *q, const samba_tensor *t)
{
    if (q->is_int8[t->id]) return true;
    const float *r = samba__range_of(q, t);
    if (!r) return false;
    q->grid[t->id] = samba__grid_of(r[SAMBA__RANGE_LEAST], r[SAMBA__RANGE_MOST]);
    return true;
}

/* The parameter whose values a product reads as its input 1; NULL: there is none. */
SAMBA__FN samba_tensor *samba__int8_parameter(const samba__quantizer *q, const samba__node *n)
{
    samba_tensor *w = n->in[1];
    const samba__node *fake = samba__made_by(q->c, w, SAMBA__OP_fake_quantize_weight);
    if (fake) w = fake->in[0];
    return w->role == SAMBA__WEIGHT && w->dtype == SAMBA_F32 ? w : NULL;
}

/* Channels and terms of the weights of a product: of matmul columns may be channels. */
SAMBA__FN int32_t samba__int8_channels(const samba__node *n, const samba_tensor *w)
{
    bool columns = samba__is(n->op, SAMBA__OP_matmul) && !n->attr[SAMBA__MATMUL_TRANSPOSE_B];
    return w->shape.dim[columns ? 1 : 0];
}

SAMBA__FN bool samba__can_be_int8(const samba__quantizer *q, const samba__node *n)
{
    bool matmul = samba__is(n->op, SAMBA__OP_matmul);
    bool product
        = matmul || samba__is(n->op, SAMBA__OP_affine) || samba__is(n->op, SAMBA__OP_convolution);
    const samba_tensor *w = product ? samba__int8_parameter(q, n) : NULL;
    if (w && n->in[0]->dtype == SAMBA_BF16 && samba__quantizes(q->c, n))
        samba__warn(
            q->c->session,
            "%s computes in bf16, as GraphAMP had it traced: it stays so; trace with mp0 for int8",
            n->out[0]->name);
    if (!w || n->in[0]->dtype != SAMBA_F32) return false;
    if (matmul && (w->shape.ndim != 2 || n->attr[SAMBA__MATMUL_TRANSPOSE_A])) return false;

    if (!samba__quantizes(q->c, n)) return false;

    int64_t k = samba_count(&w->shape) / samba__int8_channels(n, w);
    if (k <= SAMBA__INT8_MOST_K) return true;
    samba__warn(
        q->c->session,
        "%s sums %l products, which could overflow an int32: it stays f32; split it to have it in int8",
        n->out[0]->name, k);
    return false;
}

/* Lets node i take in the batch_norm and the relu behind it, if nobody else reads between. */
SAMBA__FN void samba__absorb(samba__quantizer *q, int32_t i)
{
    samba__int8_choice *h = &q->choice[i];
    int32_t k = 0;
    h->y = q->c->nodes[i]->out[0];

    bool norms = samba__is(q->c->nodes[i]->op, SAMBA__OP_convolution)
        || (samba__is(q->c->nodes[i]->op, SAMBA__OP_affine) && h->y->shape.ndim == 2);
    h->norm = norms ? samba__only_reader(q, h->y, SAMBA__OP_batch_norm, &k) : NULL;
    if (h->norm && h->norm->in[0] == h->y) {
        q->choice[k].form = SAMBA__INT8_ABSORBED;
        h->y = h->norm->out[0];
    } else
        h->norm = NULL;

    const samba__node *relu = samba__only_reader(q, h->y, SAMBA__OP_relu, &k);
    if (!relu) return;
    q->choice[k].form = SAMBA__INT8_ABSORBED;
    h->relu = true;
    h->y = relu->out[0];
}

SAMBA__FN const float *samba__values_of(samba_tensor *t)
{
    return t ? (const float *)samba__value_of(t) : NULL;
}

/* Weights of a channel, in f32 as batch_norm would have them, and its bias. */
typedef struct samba__int8_source {
    const float *w, *bias, *gamma, *beta, *mean, *var; /* NULL: none */
    float eps;
    int64_t k, row, step; /* w of channel o, term p: at o row + p step */
} samba__int8_source;

SAMBA__FN bool samba__int8_source_of(samba__quantizer *q, const samba__node *n,
                                     const samba__int8_choice *h, samba__int8_source *r)
{
    samba_tensor *w = samba__int8_parameter(q, n);
    samba_tensor *bias = n->n_in > SAMBA__AFFINE_BIAS ? n->in[SAMBA__AFFINE_BIAS] : NULL;
    const samba__node *m = h->norm;
    int32_t channels = samba__int8_channels(n, w);

    memset(r, 0, sizeof *r);
    r->w = samba__values_of(w);
    r->bias = bias && bias->role == SAMBA__WEIGHT ? samba__values_of(bias) : NULL;
    r->k = samba_count(&w->shape) / channels;

    bool columns = channels != w->shape.dim[0]
        || (samba__is(n->op, SAMBA__OP_matmul) && !n->attr[SAMBA__MATMUL_TRANSPOSE_B]);
    r->row = columns ? 1 : r->k;
    r->step = columns ? channels : 1;

    if (m) {
        r->gamma = samba__values_of(m->in[SAMBA__BATCH_NORM_WEIGHT]);
        r->beta = samba__values_of(m->in[SAMBA__BATCH_NORM_BIAS]);
        r->mean = samba__values_of(m->in[SAMBA__BATCH_NORM_MEAN]);
        r->var = samba__values_of(m->in[SAMBA__BATCH_NORM_VARIANCE]);
        r->eps = samba_attr_float(m->attr[SAMBA__BATCH_NORM_EPS]);
    }

    return r->w && samba_ok(q->c->session);
}

/* sum scale = multiplier / 2^shift, with 31 bits of it where they fit. */
SAMBA__FN void samba__int8_multiplier(double scale, samba__int8_channel *to)
{
    int32_t shift = 0;
    while (shift < 62 && scale < 1073741824.0) {
        scale *= 2.0;
        shift++;
    }
    int64_t multiplier = (int64_t)(scale + 0.5);
    to->multiplier = (int32_t)samba__min64(multiplier, INT32_MAX);
    to->shift = shift;
}

/* The steps of a channel of weights, the largest of this size. A bias that is large beside them
   gets them coarser steps, so that an int32 holds it; a channel without weights, such as a pruned
   one, has the finest that do. */
SAMBA__FN double samba__int8_step(float most, float bias, samba__int8_grid x)
{
    double least = (double)samba__abs(bias) / SAMBA__INT8_MOST_BIAS / (double)x.scale;
    float step = samba__weight_scale(most);
    if (most < SAMBA__LEAST_WEIGHT && least > 0.0) return least * 1.0001;
    if ((double)step < least) step = (float)least * 1.0001f;
    return (double)step;
}

/* Row o of the weights and of the table. */
SAMBA__FN bool samba__int8_row(const samba__int8_source *r, int64_t o, samba__int8_grid x,
                               float y_scale, int8_t *w, samba__int8_channel *to)
{
    float by = 1.0f, bias = r->bias ? r->bias[o] : 0.0f, most = 0.0f;
    if (r->var) {
        by = (r->gamma ? r->gamma[o] : 1.0f) * samba__rsqrt(r->var[o] + r->eps);
        bias = samba__fma(bias - r->mean[o], by, r->beta ? r->beta[o] : 0.0f);
    }
    for (int64_t p = 0; p < r->k; p++)
        most = samba__larger(most, samba__abs(r->w[o * r->row + p * r->step] * by));
    if (!(samba__abs(bias) < SAMBA__INF) || !(most < SAMBA__INF)) return false;

    double step = samba__int8_step(most, bias, x);
    samba__int8_grid g = { (float)step, 0 };
    int32_t sum = 0;
    for (int64_t p = 0; p < r->k; p++) {
        float weight = r->w[o * r->row + p * r->step] * by;
        w[p] = (int8_t)(most < SAMBA__LEAST_WEIGHT ? 0 : samba__to_grid(weight, g));
        sum += w[p];
    }

    double unit = (double)x.scale * step, steps = (double)bias / unit;
    SAMBA_ASSERT(steps <= SAMBA__INT8_MOST_BIAS && steps >= -SAMBA__INT8_MOST_BIAS);
    int64_t whole = (int64_t)(steps < 0.0 ? steps - 0.5 : steps + 0.5);
    to->bias = (int32_t)(whole - (int64_t)x.zero * sum);
    samba__int8_multiplier(unit / (double)y_scale, to);
    return true;
}

/* A leaf of the product that makes y, to be filled. */
SAMBA__FN samba_tensor *samba__int8_leaf(samba__quantizer *q, const samba_tensor *y,
                                         const char *kind, samba_dtype type,
                                         const samba_shape *shape)
{
    char buffer[256];
    samba_session *s = q->c->session;
    const char *name = samba__print_name(s, buffer, sizeof buffer, "%s__%s", y->name, kind);

    bool generating = s->trace.generating;
    s->trace.generating = true;
    samba_tensor *t
        = name ? samba__shared_leaf(s, name, type, shape, SAMBA__WEIGHT, samba__all(0.0f)) : NULL;
    s->trace.generating = generating;
    if (!t || !samba__own_data(t)) return NULL;

    t->frozen = true;
    t->symbol = -1;
    return t;
}

/* The weights and the table of a product. */
SAMBA__FN bool samba__int8_fill(const samba__quantizer *q, const samba__node *n,
                                const samba__int8_choice *h, const samba__int8_source *r, int8_t *w)
{
    samba__int8_channel *table = (samba__int8_channel *)h->table->data;
    int32_t channels = h->table->shape.dim[0];
    for (int32_t o = 0; o < channels; o++)
        if (!samba__int8_row(r, o, q->grid[n->in[0]->id], q->grid[h->y->id].scale, w + o * r->k,
                             table + o))
            return samba_fail(q->c->session, SAMBA_ERANGE,
                              "weights or bias of %s, channel %d, are not finite, or too large",
                              n->out[0]->name, o);
    return true;
}

/* The int8 weights that an earlier product has of the parameter of node i, in the same shape. */
SAMBA__FN samba_tensor *samba__int8_tied(const samba__quantizer *q, int32_t i,
                                         const samba_shape *shape)
{
    const samba_tensor *w = samba__int8_parameter(q, q->c->nodes[i]);
    for (int32_t k = 0; k < i; k++)
        if (q->choice[k].form == SAMBA__INT8_PRODUCT
            && samba__int8_parameter(q, q->c->nodes[k]) == w
            && samba__same_shape(&q->choice[k].weight->shape, shape))
            return q->choice[k].weight;
    return NULL;
}

/* Weights that two products share are stored once, if both have the same steps: batch_norm or a
   large bias may give one of them others. */
SAMBA__FN bool samba__int8_weights(samba__quantizer *q, int32_t i, const samba__int8_source *r,
                                   const samba_shape *shape)
{
    samba__node *n = q->c->nodes[i];
    samba__int8_choice *h = &q->choice[i];
    samba_tensor *tied = samba__int8_tied(q, i, shape);
    size_t bytes = (size_t)samba_count(shape);

    if (tied) {
        int8_t *w = (int8_t *)samba__temp(q->c->session, h->table->shape.dim[0], (size_t)r->k);
        if (!w || !samba__int8_fill(q, n, h, r, w)) return false;
        if (!memcmp(w, tied->data, bytes)) {
            h->weight = tied;
            return true;
        }
    }

    h->weight = samba__int8_leaf(q, n->out[0], SAMBA__INT8_WEIGHTS, SAMBA_I8, shape);
    return h->weight && samba__int8_fill(q, n, h, r, (int8_t *)h->weight->data);
}

SAMBA__FN bool samba__choose_product(samba__quantizer *q, int32_t i)
{
    samba__node *n = q->c->nodes[i];
    samba__int8_choice *h = &q->choice[i];
    samba__int8_source r;
    samba_tensor *w = samba__int8_parameter(q, n);
    int32_t channels = samba__int8_channels(n, w);
    const samba_tensor *bias = n->n_in > SAMBA__AFFINE_BIAS ? n->in[SAMBA__AFFINE_BIAS] : NULL;
    if (bias && bias->role != SAMBA__WEIGHT) return true; /* it stays f32 */

    samba__absorb(q, i);
    if (!samba__int8_source_of(q, n, h, &r) || !samba__give_grid(q, n->in[0])
        || !samba__give_grid(q, h->y))
        return false;
    q->is_int8[n->in[0]->id] = q->is_int8[h->y->id] = true;

    samba_shape table = { 2, { channels, 3 } }, rows = { 2, { channels, (int32_t)r.k } };
    if (samba__is(n->op, SAMBA__OP_convolution)) rows = w->shape;
    h->table = samba__int8_leaf(q, n->out[0], "int8_table", SAMBA_I32, &table);
    if (!h->table || !samba__int8_weights(q, i, &r, &rows)) return false;
    h->form = SAMBA__INT8_PRODUCT;
    return true;
}

/* Factors and the shift of ratios r of n scales: the largest factor has 21 bits. One above that is
   cut; as the only one, it still takes all but 0 to a limit of y, and sums with such ones are left
   in f32. */
SAMBA__FN void samba__sum_factors(const double *r, int32_t n, int32_t *factor, int32_t *shift)
{
    double most = n > 1 && r[1] > r[0] ? r[1] : r[0], unit = 1.0;
    for (*shift = 0; *shift < SAMBA__SUM_MOST_SHIFT && most * unit < 1048576.0; ++*shift)
        unit *= 2.0;
    for (int32_t i = 0; i < n; i++)
        factor[i] = (int32_t)(r[i] * unit < 2097151.0 ? r[i] * unit + 0.5 : 2097152.0);
}

/* Is y = a + b worth an int8 op? Not where a and b nearly cancel out: if one step of a is wider
   than all that y holds, y would be noise; far beyond, factors would not fit. */
SAMBA__FN bool samba__sum_fits(const samba__quantizer *q, const samba__node *n,
                               const samba_tensor *y)
{
    float range = 255.0f * q->grid[y->id].scale;
    for (int32_t k = 0; k < 2; k++) {
        float step = q->grid[n->in[k]->id].scale;
        if (step <= range) continue;
        samba__warn(q->c->session,
                    "%s spans %g, less than the step of %s in int8, %g: this sum stays f32",
                    y->name, (double)range, n->in[k]->name, (double)step);
        return false;
    }
    return true;
}

/* Sums of two grids, cat and relu have a grid of their own. */
SAMBA__FN bool samba__choose_own_grid(samba__quantizer *q, int32_t i, samba__int8_form form)
{
    const samba__node *n = q->c->nodes[i];
    samba__int8_choice *h = &q->choice[i];
    samba_tensor *y = n->out[0];
    int32_t k = 0;
    const samba__node *relu
        = form == SAMBA__INT8_SUM ? samba__only_reader(q, y, SAMBA__OP_relu, &k) : NULL;
    if (relu) y = relu->out[0];

    if (!samba__give_grid(q, y)) return false;
    if (form == SAMBA__INT8_SUM && !samba__sum_fits(q, n, y)) return true; /* it stays f32 */
    if (form == SAMBA__INT8_SUM) samba__absorb(q, i);

    h->y = y;
    h->form = form;
    q->is_int8[y->id] = true;
    return true;
}

/* Is all that n reads int8, f32 by name, and as large as y if `same`? */
SAMBA__FN bool samba__reads_int8(const samba__quantizer *q, const samba__node *n, bool same)
{
    bool fits = n->n_in > 0;
    for (int32_t k = 0; k < n->n_in; k++)
        fits = fits && n->in[k] && q->is_int8[n->in[k]->id]
            && (!same || samba__same_shape(&n->in[k]->shape, &n->out[0]->shape));
    return fits;
}

SAMBA__FN bool samba__choose(samba__quantizer *q, int32_t i)
{
    samba__node *n = q->c->nodes[i];
    samba__int8_choice *h = &q->choice[i];
    if (n->out[0]->same_as || h->form == SAMBA__INT8_ABSORBED) return true;
    if (samba__can_be_int8(q, n)) return samba__choose_product(q, i);

    bool follows = n->n_in == 1 && n->in[0] && samba__follows_grid(n);
    if (follows && q->is_int8[n->in[0]->id]) {
        h->form = SAMBA__INT8_FOLLOWS;
        h->y = n->out[0];
        q->grid[h->y->id] = q->grid[n->in[0]->id];
        q->is_int8[h->y->id] = true;
        return true;
    }

    if (samba__is(n->op, SAMBA__OP_add) && samba__reads_int8(q, n, true))
        return samba__choose_own_grid(q, i, SAMBA__INT8_SUM);
    if (samba__is(n->op, SAMBA__OP_cat) && samba__reads_int8(q, n, false))
        return samba__choose_own_grid(q, i, SAMBA__INT8_CAT);
    if (samba__is(n->op, SAMBA__OP_relu) && samba__reads_int8(q, n, true))
        return samba__choose_own_grid(q, i, SAMBA__INT8_RELU);
    return true;
}

/* ---- Emit ---- */
SAMBA__FN void samba__push_node(samba__quantizer *q, samba__node *n)
{
    SAMBA_ASSERT(q->n_nodes < q->room);
    q->nodes[q->n_nodes++] = n;
    for (int32_t o = 0; o < n->n_out; o++)
        q->c->producer[n->out[o]->id] = n;
}

/* A node of n_in inputs in place of `like`, which makes y, or a stand-in for it in int8. */
SAMBA__FN samba__node *samba__int8_node(samba__quantizer *q, int32_t op, const samba__node *like,
                                        int32_t n_in, samba_tensor *y, bool stands_in)
{
    samba__node *n = samba__temp_node(q->c->session, n_in);
    if (n && stands_in) y = samba__stand_in(q->c, y);
    if (!n || !y) return NULL;
    if (stands_in) y->dtype = SAMBA_I8;

    n->op = &samba__op_table[op];
    n->name = like->name;
    n->graph = like->graph;
    n->section = like->section;
    n->id = like->id;
    n->out[0] = y;
    n->n_out = 1;
    return n;
}

SAMBA__FN void samba__grid_words(samba__node *n, samba__int8_grid g)
{
    n->attr[SAMBA__GRID_SCALE] = samba_float_attr(g.scale);
    n->attr[SAMBA__GRID_ZERO] = g.zero;
    n->n_attr = SAMBA__GRID_END;
}

/* x as int8, for node `like`: as it is stored, or quantized. */
SAMBA__FN samba_tensor *samba__as_int8(samba__quantizer *q, const samba__node *like,
                                       samba_tensor *x)
{
    if (q->stored[x->id]) return q->stored[x->id];
    samba__node *n = samba__int8_node(q, SAMBA__OP_quantize, like, 1, x, true);
    if (!n) return NULL;
    n->in[0] = x;
    samba__grid_words(n, q->grid[x->id]);
    samba__push_node(q, n);
    q->stored[x->id] = n->out[0];
    return n->out[0];
}

/* zero, least and most of y, from this word on. */
SAMBA__FN void samba__y_words(samba__quantizer *q, samba__node *n, const samba__int8_choice *h,
                              int32_t at, bool relu)
{
    int32_t zero = q->grid[h->y->id].zero;
    n->attr[at] = zero;
    n->attr[at + 1] = relu ? zero : SAMBA__INT8_LEAST;
    n->attr[at + 2] = SAMBA__INT8_MOST;
    n->n_attr = at + 3;
}

SAMBA__FN samba__node *samba__emit_product(samba__quantizer *q, const samba__node *n,
                                           const samba__int8_choice *h)
{
    bool convolves = samba__is(n->op, SAMBA__OP_convolution);
    int32_t op = convolves ? SAMBA__OP_convolution_int8 : SAMBA__OP_affine_int8;
    int32_t at = convolves ? (int32_t)SAMBA__CONV_INT8_ZERO_Y : (int32_t)SAMBA__AFFINE_INT8_ZERO_Y;
    samba_tensor *x = samba__as_int8(q, n, n->in[0]);
    samba__node *m = x ? samba__int8_node(q, op, n, SAMBA__INT8_INPUTS, h->y, true) : NULL;
    if (!m) return NULL;

    m->in[SAMBA__INT8_X] = x;
    m->in[SAMBA__INT8_WEIGHT] = h->weight;
    m->in[SAMBA__INT8_TABLE] = h->table;
    if (convolves) memcpy(m->attr, n->attr, SAMBA__CONV_WORDS * sizeof *m->attr);
    if (convolves) m->attr[SAMBA__CONV_INT8_ZERO_X] = q->grid[n->in[0]->id].zero;
    samba__y_words(q, m, h, at, h->relu);
    return m;
}

/* x on the grid of h->y: for relu, and what cat joins. */
SAMBA__FN samba__node *samba__emit_requantize(samba__quantizer *q, const samba__node *n,
                                              samba_tensor *x, const samba__int8_choice *h)
{
    samba__int8_grid from = q->grid[x->id], to = q->grid[h->y->id];
    double ratio = (double)from.scale / (double)to.scale;
    samba__node *m = samba__int8_node(q, SAMBA__OP_requantize, n, 1, x, true);
    if (!m) return NULL;

    m->in[0] = samba__as_int8(q, n, x);
    m->attr[SAMBA__REQUANTIZE_ZERO_X] = from.zero;
    samba__sum_factors(&ratio, 1, &m->attr[SAMBA__REQUANTIZE_FACTOR],
                       &m->attr[SAMBA__REQUANTIZE_SHIFT]);
    samba__y_words(q, m, h, SAMBA__REQUANTIZE_ZERO_Y, h->form == SAMBA__INT8_RELU);
    return m->in[0] ? m : NULL;
}

SAMBA__FN samba__node *samba__emit_sum(samba__quantizer *q, const samba__node *n,
                                       const samba__int8_choice *h)
{
    samba__node *m = samba__int8_node(q, SAMBA__OP_add_int8, n, 2, h->y, true);
    double ratio[2];
    if (!m) return NULL;

    for (int32_t i = 0; i < 2; i++) {
        samba__int8_grid g = q->grid[n->in[i]->id];
        m->in[i] = samba__as_int8(q, n, n->in[i]);
        m->attr[SAMBA__ADD_INT8_ZEROS + i] = g.zero;
        ratio[i] = (double)g.scale / (double)q->grid[h->y->id].scale;
        if (!m->in[i]) return NULL;
    }

    samba__sum_factors(ratio, 2, &m->attr[SAMBA__ADD_INT8_FACTORS],
                       &m->attr[SAMBA__ADD_INT8_SHIFT]);
    samba__y_words(q, m, h, SAMBA__ADD_INT8_ZERO_Y, h->relu);
    return m;
}

SAMBA__FN samba__node *samba__emit_cat(samba__quantizer *q, const samba__node *n,
                                       const samba__int8_choice *h)
{
    samba__node *m = samba__int8_node(q, SAMBA__OP_cat, n, n->n_in, h->y, true);
    if (!m) return NULL;
    for (int32_t k = 0; k < n->n_in; k++) {
        samba__node *r = samba__emit_requantize(q, n, n->in[k], h);
        if (!r) return NULL;
        samba__push_node(q, r);
        m->in[k] = r->out[0];
    }

    m->attr[SAMBA__AXIS_NUMBER] = n->attr[SAMBA__AXIS_NUMBER];
    m->n_attr = 1;
    return m;
}

/* The same op on int8, or that of int8 where it is another one. */
SAMBA__FN samba__node *samba__emit_follower(samba__quantizer *q, const samba__node *n,
                                            const samba__int8_choice *h)
{
    int32_t op = (int32_t)(n->op - samba__op_table), zero = q->grid[h->y->id].zero;
    bool mean = samba__is(n->op, SAMBA__OP_avg_pool2d);
    if (mean) op = SAMBA__OP_avg_pool2d_int8;
    if (samba__is(n->op, SAMBA__OP_max_pool2d)) op = SAMBA__OP_max_pool2d_int8;
    samba__node *m = samba__int8_node(q, op, n, 1, h->y, true);
    if (!m) return NULL;

    m->in[0] = samba__as_int8(q, n, n->in[0]);
    m->n_attr = n->n_attr;
    memcpy(m->attr, n->attr, (size_t)n->n_attr * sizeof *m->attr);
    if (samba__is(n->op, SAMBA__OP_pad)) m->attr[n->n_attr - 1] = samba_float_attr((float)zero);

    if (mean && n->n_attr < SAMBA__AVG_WORDS) { /* windows of one size, side by side */
        const samba_shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
        memset(m->attr, 0, SAMBA__AVG_INT8_END * sizeof *m->attr);
        for (int32_t i = 0; i < 2; i++)
            m->attr[SAMBA__AVG_KERNEL + i] = m->attr[SAMBA__AVG_STRIDE + i]
                = x->dim[x->ndim - 2 + i] / y->dim[y->ndim - 2 + i];
    }
    if (mean) m->attr[SAMBA__AVG_INT8_ZERO] = zero;
    if (mean) m->n_attr = SAMBA__AVG_INT8_END;

    return m->in[0] ? m : NULL;
}

/* Notes what int8 op m stands for: n, and the batch_norm and relu behind it that it took in. */
SAMBA__FN void samba__note_int8(samba__quantizer *q, const samba__node *n,
                                const samba__int8_choice *h, const samba__node *m)
{
    const samba__node *last = samba__producer_of(q->c, h->y);
    const char *why = "computed in int8";
    samba__note_call(q->c, why, n, n->op, m->name, m->op->name);
    if (h->norm) samba__note_call(q->c, why, h->norm, h->norm->op, m->name, m->op->name);
    if (h->relu && last) samba__note_call(q->c, why, last, last->op, m->name, m->op->name);
}

/* The int8 op of a choice, and what makes f32 of it for who reads that. */
SAMBA__FN bool samba__emit_choice(samba__quantizer *q, samba__node *n, const samba__int8_choice *h)
{
    samba__node *m = NULL;
    if (h->form == SAMBA__INT8_PRODUCT) m = samba__emit_product(q, n, h);
    if (h->form == SAMBA__INT8_FOLLOWS) m = samba__emit_follower(q, n, h);
    if (h->form == SAMBA__INT8_SUM) m = samba__emit_sum(q, n, h);
    if (h->form == SAMBA__INT8_CAT) m = samba__emit_cat(q, n, h);
    if (h->form == SAMBA__INT8_RELU) m = samba__emit_requantize(q, n, n->in[0], h);

    samba__node *back = m ? samba__int8_node(q, SAMBA__OP_dequantize, n, 1, h->y, false) : NULL;
    if (!back) return false;

    samba__note_int8(q, n, h, m);
    samba__push_node(q, m);
    q->stored[h->y->id] = m->out[0];
    back->in[0] = m->out[0];
    samba__grid_words(back, q->grid[h->y->id]);
    samba__push_node(q, back);
    return true;
}

SAMBA__FN bool samba__quantizer_open(samba__quantizer *q, samba__compilation *c)
{
    samba_session *s = c->session;
    int32_t n = c->n_tensors;
    memset(q, 0, sizeof *q);
    q->c = c;
    q->room = 2 * c->n_nodes + samba__quantize_room(c) + c->n_pairs + c->n_params;

    q->choice = (samba__int8_choice *)samba__temp(s, c->n_nodes, sizeof *q->choice);
    q->reader = (int32_t *)samba__temp(s, n, sizeof *q->reader);
    q->range = (samba_tensor **)samba__temp(s, 2 * n, sizeof *q->range);
    q->grid = (samba__int8_grid *)samba__temp(s, n, sizeof *q->grid);
    q->is_int8 = (bool *)samba__temp(s, n, sizeof *q->is_int8);
    q->nodes = (samba__node **)samba__temp(s, q->room, sizeof *q->nodes);
    q->stored = q->range ? q->range + n : NULL;
    return q->choice && q->reader && q->range && q->grid && q->is_int8 && q->nodes;
}

SAMBA__FN bool samba__quantize_program(samba__compilation *c)
{
    samba__quantizer q;
    if (c->program->quantize != SAMBA_INT8) return true;
    if (!samba__quantizer_open(&q, c)) return false;

    samba__drop_fake_quantize(&q);
    for (int32_t i = 0; i < c->n_nodes; i++)
        if (!samba__choose(&q, i)) return false;

    for (int32_t i = 0; i < c->n_nodes; i++) {
        samba__node *n = c->nodes[i];
        const samba__int8_choice *h = &q.choice[i];
        if (h->form == SAMBA__INT8_ABSORBED) continue;
        if (h->form == SAMBA__STAYS_F32)
            samba__push_node(&q, n);
        else if (!samba__emit_choice(&q, n, h))
            return false;
    }

    c->nodes = q.nodes;
    c->n_nodes = q.n_nodes;
    return true;
}

