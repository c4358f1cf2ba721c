/* ==== [losses] ================================================================================ */
/* Losses that are made of ops. */
SAMBA__FN samba_tensor *samba__reduce_loss(samba_tensor *loss, const char *what,
                                           samba_reduction reduction)
{
    if (!loss) return NULL;
    if ((unsigned)reduction > SAMBA_REDUCE_NONE) {
        samba_fail(loss->session, SAMBA_ERANGE, "in %s: reduction %d is not mean 0, sum 1, none 2",
                   what, (int32_t)reduction);
        return NULL;
    }

    if (reduction == SAMBA_REDUCE_NONE) return loss;
    return reduction == SAMBA_REDUCE_SUM ? samba_sum(loss, samba_scalar_shape(), false)
                                         : samba_mean(loss, samba_scalar_shape(), false);
}

/* y log(1 + e^-x) + (1 - y) log(1 + e^x): neither overflows, and small losses keep their digits. */
SAMBA_API samba_tensor *samba_bce_with_logits(samba_tensor *x, samba_tensor *y,
                                              samba_tensor *weight, samba_reduction reduction)
{
    samba_tensor *truth = samba_mul(y, samba_softplus(samba_neg(x)));
    if (weight) truth = samba_mul(truth, weight);
    samba_tensor *rest = samba_shift(samba_neg(y), 1.0f);
    rest = samba_mul(rest, samba_softplus(x));
    return samba__reduce_loss(samba_add(truth, rest), "samba_bce_with_logits", reduction);
}

SAMBA_API samba_tensor *samba_l1(samba_tensor *x, samba_tensor *y, samba_reduction reduction)
{
    return samba__reduce_loss(samba_abs(samba_sub(x, y)), "samba_l1", reduction);
}

/* With d = |x - y| and c = min(d, beta): c^2 / (2 beta) + (d - c), of which the first part alone
   grows below beta, and the second alone above. */
SAMBA__FN samba_tensor *samba__smooth_distance(samba_tensor *x, samba_tensor *y, float beta)
{
    samba_tensor *d = samba_abs(samba_sub(x, y)), *c = samba_minimum(d, samba__number_for(d, beta));
    volatile float half = 0.5f / beta; /* see samba__attention_scale */
    samba_tensor *square = samba_scale(samba_mul(c, c), half);
    return samba_add(square, samba_sub(d, c));
}

SAMBA_API samba_tensor *samba_smooth_l1(samba_tensor *x, samba_tensor *y, float beta,
                                        samba_reduction reduction)
{
    if (beta == 0.0f) return samba_l1(x, y, reduction);
    if (x && !(beta > 0.0f)) {
        samba_fail(x->session, SAMBA_ERANGE, "in samba_smooth_l1 of %s: beta %g is below 0",
                   x->name, (double)beta);
        return NULL;
    }
    return samba__reduce_loss(samba__smooth_distance(x, y, beta), "samba_smooth_l1", reduction);
}

SAMBA_API samba_tensor *samba_huber(samba_tensor *x, samba_tensor *y, float delta,
                                    samba_reduction reduction)
{
    if (x && !(delta > 0.0f)) {
        samba_fail(x->session, SAMBA_ERANGE, "in samba_huber of %s: delta %g is not above 0",
                   x->name, (double)delta);
        return NULL;
    }
    samba_tensor *loss = samba_scale(samba__smooth_distance(x, y, delta), delta);
    return samba__reduce_loss(loss, "samba_huber", reduction);
}

/* y log y is 0 where y is: there the logarithm is that of 1. */
SAMBA_API samba_tensor *samba_kl_div(samba_tensor *x, samba_tensor *y, bool log_y,
                                     samba_reduction reduction)
{
    samba_tensor *share = log_y ? samba_exp(y) : y, *log = y;
    if (!log_y) {
        samba_tensor *none = samba_eq(y, samba__number_for(y, 0.0f));
        log = samba_log(samba_masked_fill(y, none, 1.0f));
    }
    samba_tensor *loss = samba_mul(share, samba_sub(log, x));
    return samba__reduce_loss(loss, "samba_kl_div", reduction);
}

/* The product of two rows, (N,D) -> (N). */
SAMBA__FN samba_tensor *samba__row_product(samba_tensor *a, samba_tensor *b)
{
    const int32_t last = -1;
    return samba_sum(samba_mul(a, b), samba__shape_of(&last, 1), false);
}

/* The cosine is a b / sqrt((a a + e)(b b + e)), e as in torch. */
SAMBA_API samba_tensor *samba_cosine_embedding(samba_tensor *a, samba_tensor *b, samba_tensor *y,
                                               float margin, samba_reduction reduction)
{
    samba_tensor *aa = samba_shift(samba__row_product(a, a), 1e-12f);
    samba_tensor *bb = samba_shift(samba__row_product(b, b), 1e-12f);
    samba_tensor *size = samba_sqrt(samba_mul(aa, bb));
    samba_tensor *cosine = samba_div(samba__row_product(a, b), size);

    samba_tensor *alike = samba_shift(samba_neg(cosine), 1.0f);
    samba_tensor *other = samba_relu(samba_shift(cosine, -margin));
    samba_tensor *same = samba_gt(y, samba__number_for(y, 0.0f));
    return samba__reduce_loss(samba_where(same, alike, other), "samba_cosine_embedding", reduction);
}

SAMBA__FN samba_tensor *samba__row_distance(samba_tensor *a, samba_tensor *b)
{
    samba_tensor *d = samba_shift(samba_sub(a, b), 1e-6f);
    return samba_sqrt(samba__row_product(d, d));
}

SAMBA_API samba_tensor *samba_triplet_margin(samba_tensor *anchor, samba_tensor *positive,
                                             samba_tensor *negative, float margin,
                                             samba_reduction reduction)
{
    samba_tensor *near = samba__row_distance(anchor, positive);
    samba_tensor *far = samba__row_distance(anchor, negative);
    samba_tensor *loss = samba_relu(samba_shift(samba_sub(near, far), margin));
    return samba__reduce_loss(loss, "samba_triplet_margin", reduction);
}

/* ---- cross_entropy by weights of classes ---- */
/* Each target's loss and its weight, both 0 of a target that is ignored: one_hot has no 1 for an id
   outside. The share `smooth` of each loss is that of all classes alike. */
SAMBA__FN samba_tensor *samba__weighted_losses(samba_tensor *logits, samba_tensor *target,
                                               samba_tensor *class_weights, float smooth,
                                               samba_tensor **weight)
{
    const int32_t last = -1;
    int32_t classes = logits->shape.dim[logits->shape.ndim - 1];
    samba_tensor *hit = samba_one_hot(target, classes), *logp = samba_log_softmax(logits, -1);
    *weight = samba_sum(samba_mul(hit, class_weights), samba__shape_of(&last, 1), false);

    samba_tensor *hits = samba_cast(hit, SAMBA_BOOL), *costs = samba_mul(logp, class_weights);
    samba_tensor *own = samba_where(hits, costs, samba__number_for(costs, 0.0f));
    samba_tensor *loss = samba_neg(samba_sum(own, samba__shape_of(&last, 1), false));
    if (smooth == 0.0f) return loss;

    samba_tensor *counts = samba_sum(hit, samba__shape_of(&last, 1), false);
    samba_tensor *all = samba_mul(counts, samba_sum(costs, samba__shape_of(&last, 1), false));
    volatile float share = -smooth / (float)classes; /* see samba__attention_scale */
    loss = samba_scale(loss, 1.0f - smooth);
    return samba_add(loss, samba_scale(all, share));
}

SAMBA_API samba_tensor *samba_cross_entropy_weighted(samba_tensor *logits, samba_tensor *target,
                                                     samba_tensor *class_weights,
                                                     const samba_loss_opts *opts, bool zero_if_none)
{
    samba_loss_opts o = SAMBA__ZEROED;
    samba_tensor *weight;
    if (opts) o = *opts;
    if (!logits || !target || !samba_ok(logits->session)) return NULL;
    samba_session *s = logits->session;
    if (logits->shape.ndim < 1 || (unsigned)o.reduction > SAMBA_REDUCE_NONE
        || !(o.label_smoothing >= 0.0f && o.label_smoothing <= 1.0f)) {
        samba_fail(
            s, SAMBA_EARG,
            "in samba_cross_entropy_weighted of %s %S: it must be (*,C), the reduction mean 0, sum 1 or none 2, and label_smoothing 0 to 1",
            logits->name, &logits->shape);
        return NULL;
    }

    samba_tensor *ids = samba__ids_as_i32(target);
    int32_t ignored = o.use_ignore_index ? o.ignore_index : -100;
    samba_tensor *left_out = samba_eq(ids, samba_number(s, (float)ignored));
    ids = samba_cast(samba_masked_fill(ids, left_out, -1.0f), SAMBA_I32);
    if (!class_weights) class_weights = samba_number(s, 1.0f);
    samba_tensor *loss
        = samba__weighted_losses(logits, ids, class_weights, o.label_smoothing, &weight);
    if (o.reduction == SAMBA_REDUCE_NONE) return loss;

    loss = samba_sum(loss, samba_scalar_shape(), false);
    if (o.reduction == SAMBA_REDUCE_SUM) return loss;
    samba_tensor *total = samba_sum(weight, samba_scalar_shape(), false);
    if (zero_if_none) {
        samba_tensor *none = samba_eq(total, samba_number(s, 0.0f));
        total = samba_masked_fill(total, none, 1.0f);
    }
    return samba_div(loss, total);
}

/* ---- CTC: Graves et al., "Connectionist temporal classification", 2006 ----
   A target with blanks around each class has L = 2 S + 1 places; a path stays, or goes on by one
   place, or by two where that skips a blank between classes that differ. alpha[l] is the logarithm
   of all paths to place l so far; SAMBA__NO_PATH stands for that of 0, as an infinity would make a
   NaN of differences. */
#define SAMBA__NO_PATH (-1e30f)

/* (N,L): the classes at all places, i32. */
SAMBA__FN samba_tensor *samba__ctc_places(samba_tensor *target, int32_t blank)
{
    int32_t n = target->shape.dim[0], count = target->shape.dim[1];
    const int32_t one[3] = { n, count, 1 }, rows[2] = { n, 2 * count }, edge[2] = { n, 1 };
    samba_tensor *number = samba_cast(target, SAMBA_F32);
    samba_tensor *pair[2] = { samba_full(target->session, samba__shape_of(one, 3), (float)blank),
                              samba_reshape(number, samba__shape_of(one, 3)) };
    samba_tensor *part[2]
        = { samba_reshape(samba_cat(pair, 2, 2), samba__shape_of(rows, 2)), NULL };
    part[1] = samba_full(target->session, samba__shape_of(edge, 2), (float)blank);
    return samba_cast(samba_cat(part, 2, 1), SAMBA_I32);
}

/* x (N,L), moved on by so many places. */
SAMBA__FN samba_tensor *samba__moved_on(samba_tensor *x, int32_t places, float value)
{
    const int32_t before[2] = { 0, places }, after[2] = { 0, 0 };
    if (!x) return NULL;
    int32_t L = x->shape.dim[1];
    if (places >= L) return samba_full(x->session, x->shape, value);
    x = samba_slice(x, 1, 0, L - places, 1);
    return samba_pad(x, samba__shape_of(before, 2), samba__shape_of(after, 2), value);
}

/* One step: the paths that lead to each place. skips: where one may come from two places before. */
SAMBA__FN samba_tensor *samba__ctc_step(samba_tensor *alpha, samba_tensor *skips)
{
    const int32_t first = 0;
    samba_tensor *from[3] = { alpha, NULL, NULL };
    from[1] = samba__moved_on(alpha, 1, SAMBA__NO_PATH);
    from[2] = samba__moved_on(alpha, 2, SAMBA__NO_PATH);
    from[2] = samba_where(skips, from[2], samba__number_for(alpha, SAMBA__NO_PATH));
    return samba_logsumexp(samba_stack(from, 3, 0), samba__shape_of(&first, 1), false);
}

/* Of alpha at the end, the places of the last class and of the blank behind it: (N). */
SAMBA__FN samba_tensor *samba__ctc_total(samba_tensor *alpha, samba_tensor *target_lengths)
{
    const int32_t last = -1;
    samba_tensor *end = samba_scale(samba_unsqueeze(target_lengths, 1), 2.0f);
    samba_tensor *place = samba_arange(alpha->session, alpha->shape.dim[1], 0.0f, 1.0f);
    samba_tensor *before = samba_ge(place, samba_shift(end, -1.0f));
    samba_tensor *counts = samba_logical_and(before, samba_le(place, end));
    alpha = samba_where(counts, alpha, samba__number_for(alpha, SAMBA__NO_PATH));
    return samba_logsumexp(alpha, samba__shape_of(&last, 1), false);
}

SAMBA__FN samba_tensor *samba__ctc_paths(samba_tensor *logp, samba_tensor *places,
                                         samba_tensor *skips, samba_tensor *input_lengths)
{
    samba_session *s = logp->session;
    samba_tensor *place = samba_arange(s, places->shape.dim[1], 0.0f, 1.0f);
    samba_tensor *begins = samba_le(place, samba_number(s, 1.0f)), *alpha = NULL;
    samba_tensor *lengths = samba_unsqueeze(input_lengths, 1);

    for (int32_t t = 0; t < logp->shape.dim[0] && samba_ok(s); t++) {
        samba_tensor *seen = samba_gather(samba__nth(logp, t), 1, places);
        if (t == 0) {
            alpha = samba_where(begins, seen, samba_number(s, SAMBA__NO_PATH));
            continue;
        }
        samba_tensor *next = samba_add(samba__ctc_step(alpha, skips), seen);
        samba_tensor *within = samba_gt(lengths, samba_number(s, (float)t));
        alpha = samba_where(within, next, alpha);
    }
    return alpha;
}

SAMBA_API samba_tensor *samba_ctc(samba_tensor *logp, samba_tensor *target,
                                  samba_tensor *input_lengths, samba_tensor *target_lengths,
                                  int32_t blank, bool zero_infinity)
{
    if (!logp || !target || !input_lengths || !target_lengths || !samba_ok(logp->session))
        return NULL;
    samba_session *s = logp->session;
    bool fits = logp->shape.ndim == 3 && target->shape.ndim == 2
        && target->shape.dim[0] == logp->shape.dim[1] && input_lengths->shape.ndim == 1
        && target_lengths->shape.ndim == 1 && blank >= 0 && blank < logp->shape.dim[2];
    if (!fits) {
        samba_fail(
            s, SAMBA_ESHAPE,
            "in samba_ctc(%s %S, %s %S): (T,N,C), (N,S), lengths (N) and a blank below C are needed",
            logp->name, &logp->shape, target->name, &target->shape);
        return NULL;
    }

    samba_tensor *places = samba__ctc_places(samba__ids_as_i32(target), blank);
    samba_tensor *number = samba_cast(places, SAMBA_F32);
    samba_tensor *differs = samba_ne(number, samba__moved_on(number, 2, (float)blank));
    samba_tensor *is_class = samba_ne(number, samba_number(s, (float)blank));
    samba_tensor *skips = samba_logical_and(is_class, differs);

    samba_tensor *alpha = samba__ctc_paths(logp, places, skips, samba__ids_as_i32(input_lengths));
    if (!alpha) return NULL;
    samba_tensor *loss = samba_neg(samba__ctc_total(alpha, samba__ids_as_i32(target_lengths)));
    samba_tensor *none = samba_gt(loss, samba_number(s, 1e29f));
    return samba_masked_fill(loss, none, zero_infinity ? 0.0f : SAMBA__INF);
}

